"""Parts of the report: each package's page makes its parts if the table allows the analysis, with shared options."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import polars as pl
import pytest

import assay
from assay.concordance import page as concordance
from assay.estimates import page as estimates
from assay.ideas import page as ideas
from assay.preference import page as preference
from assay.psychometrics import page as psychometrics
from assay.reporting.page import Part, PartOptions
from assay.verdict.report import ReportSettings


def table_with(*kinds: str, humans: int = 3, judges: int = 1, columns: tuple[str, ...] = (), n: int = 10) -> Any:
    """A table with n labels and a scale of each kind."""

    class Table(SimpleNamespace):
        def __len__(self) -> int:
            return n

    scales = {k: SimpleNamespace(kind=kind, numeric=kind in ("ordinal", "interval")) for k, kind in enumerate(kinds)}
    return Table(
        scales=scales, criteria=kinds if len(kinds) > 1 else (), scale=scales[0], humans=("h",) * humans,
        judges=("m",) * judges, labels=pl.DataFrame(schema=list(columns)),
    )  # fmt: skip


def replace_analyses(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, *names: str, refused: str = ""
) -> list[tuple[str, dict[Any, Any]]]:
    """Record the options of these analyses, whose parts have their names as titles; ``refused`` is not estimable."""
    seen: list[tuple[str, dict[Any, Any]]] = []

    def analysis(name: str) -> Any:
        def run(labels: object, *given: object, **options: object) -> str:
            seen.append((name, dict(enumerate(given)) | options))
            if name == refused:
                raise assay.errors.DesignError("no room")
            return name

        return run

    for name in names:
        monkeypatch.setattr(module, name, analysis(name))
    for name in [name for name in vars(module) if name.endswith("_parts")]:
        monkeypatch.setattr(module, name, lambda found: (Part(found),))
    return seen


def shared(**options: Any) -> PartOptions:
    return ReportSettings(epsilon=0.0, **options).shared(None)


def titles_of(make: Any, table: Any, **options: Any) -> list[str]:
    return [part.title for part in make(table, shared(**options))]


@pytest.mark.parametrize(
    ("humans", "judges", "kinds", "n", "titles"),
    [
        (2, 1, ("ordinal",), 20_000, ["rater_model"]),
        (1, 2, ("ordinal", "ordinal"), 9, ["rater_model"]),
        (1, 1, ("ordinal",), 9, []),  # with two raters it is not identified which one errs
        (3, 1, ("ordinal", "nominal"), 9, []),
        (3, 1, ("ordinal",), 20_001, ["Severity and variability of raters"]),
    ],
)
def test_report_raters_requires_three_raters_and_ordered_labels(
    humans: int, judges: int, kinds: tuple[str, ...], n: int, titles: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = replace_analyses(monkeypatch, psychometrics, "rater_model")
    table = table_with(*kinds, humans=humans, judges=judges, n=n)
    assert titles_of(psychometrics.report_raters, table, repeats="mean", seed=3) == titles
    wanted = {"quick": True, "starts": 2, "repeats": "each", "confidence": 0.95, "seed": 3}
    assert seen == ([("rater_model", wanted)] if titles == ["rater_model"] else [])


def test_report_raters_explains_large_table(monkeypatch: pytest.MonkeyPatch) -> None:
    (part,) = psychometrics.report_raters(table_with("ordinal", n=20_001), shared(repeats="first"))
    assert part.lines == (
        "Not estimated here: the table has more than 20,000 labels; run assay.rater_model(labels, quick=True).",
    )
    seen = replace_analyses(monkeypatch, psychometrics, "rater_model", refused="rater_model")
    (part,) = psychometrics.report_raters(table_with("ordinal"), shared(repeats="first"))
    assert (part.title, part.lines) == ("Severity and variability of raters", ("Not estimable: no room.",))
    assert seen[0][1]["repeats"] == "first"


@pytest.mark.parametrize(
    ("kinds", "columns", "found"),
    [
        (("preference",), ("position",), True), (("odd-one-out",), ("position",), True),
        (("nominal", "preference"), ("position",), True), (("nominal",), ("position",), False),
        (("preference",), ("label",), False),
    ],
)  # fmt: skip
def test_report_position_requires_positions(
    kinds: tuple[str, ...], columns: tuple[str, ...], found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_analyses(monkeypatch, preference, "position_bias")
    titles = titles_of(preference.report_position, table_with(*kinds, columns=columns))
    assert titles == (["position_bias"] if found else [])


@pytest.mark.parametrize("kinds", [("text",), ("odd-one-out",), ("nominal", "text"), ("nominal",)])
def test_report_agreement_requires_comparable_labels(kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = replace_analyses(monkeypatch, concordance, "agreement", "disagreement")
    monkeypatch.setattr(concordance, "level_of", lambda scale: scale.kind)
    comparable = kinds == ("nominal",)
    assert titles_of(concordance.report_agreement, table_with(*kinds)) == (["agreement"] if comparable else [])
    assert titles_of(concordance.report_disagreement, table_with(*kinds)) == (["disagreement"] if comparable else [])
    if comparable:
        assert seen[0][1]["coefficients"] == ["krippendorff-alpha-nominal"]


@pytest.mark.parametrize(("more", "pairs"), [(0, True), (1, False)])
def test_report_agreement_compares_pairs_of_few_annotators(
    more: int, pairs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = replace_analyses(monkeypatch, concordance, "agreement")
    monkeypatch.setattr(concordance, "level_of", lambda scale: "nominal")
    table = table_with("nominal", "nominal", humans=concordance.MOST_ANNOTATORS - 2 + more, judges=2)
    titles_of(concordance.report_agreement, table)
    assert seen[0][1]["who"] == ("humans", "judges", "human pairs") + (("pairs",) if pairs else ())
    assert seen[0][1]["coefficients"] == ["krippendorff-alpha-nominal"]  # once for two criteria of one kind


@pytest.mark.parametrize(
    ("kinds", "humans", "judges", "clusters", "titles"),
    [
        (("ordinal", "interval"), 2, 1, "teacher", ["g_study", "disattenuated_correlation"]),
        (("ordinal",), 2, 0, "teacher", ["g_study"]),
        (("ordinal",), 0, 2, "teacher", ["g_study"]),
        (("ordinal",), 2, 1, None, []),
        (("ordinal", "nominal"), 2, 1, "teacher", []),
    ],
)
def test_report_generalizability_requires_clusters_and_numbers(
    kinds: tuple[str, ...], humans: int, judges: int, clusters: str | None, titles: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    seen = replace_analyses(monkeypatch, psychometrics, "g_study", "disattenuated_correlation")
    table, make = table_with(*kinds, humans=humans, judges=judges), psychometrics.report_generalizability
    assert titles_of(make, table, clusters=clusters, seed=4) == titles
    if titles:
        facets = {"r": "annotator", "o": "item", "i": "teacher"}
        given = {0: "r x (o:i)", 1: "i", "facets": facets, "repeats": "error", "confidence": 0.95, "seed": 4}
        assert seen[0][1] == given | {"by": "kind" if humans and judges else None}
    if len(titles) == 2:
        assert seen[1][1] == given | {"n_resamples": 200}  # each is a separate fit
        titles_of(make, table, clusters=clusters, n_resamples=150)
        assert seen[3][1]["n_resamples"] == 150


@pytest.mark.parametrize("refused", ["g_study", "disattenuated_correlation"])
def test_report_generalizability_explains_missing_estimate(refused: str, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_analyses(monkeypatch, psychometrics, "g_study", "disattenuated_correlation", refused=refused)
    parts = psychometrics.report_generalizability(table_with("ordinal"), shared(clusters="t"))
    assert [part.title for part in parts[:-1]] == (["g_study"] if refused == "disattenuated_correlation" else [])
    assert parts[-1].lines == ("Not estimable: no room.",)


@pytest.mark.parametrize(
    ("kinds", "similarity", "named"),
    [
        (("text",), None, "words"), (("text",), "rouge-l", "rouge-l"), (("text",), len, len),
        (("text",), {("a", "b"): 0.5}, "words"),
        (("nominal",), None, None), (("text", "text"), None, None),
    ],
)  # fmt: skip
def test_report_ideas_uses_similarity_of_test(
    kinds: tuple[str, ...], similarity: object, named: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = replace_analyses(monkeypatch, ideas, "annotator_similarity")
    monkeypatch.setattr(ideas, "has_choices", lambda labels: False)
    titles = titles_of(ideas.report_ideas, table_with(*kinds), similarity=similarity)
    assert titles == ([] if named is None else ["annotator_similarity"])
    given = [getattr(options["similarity"], "name", options["similarity"]) for _, options in seen]
    assert given == ([] if named is None else [named])


@pytest.mark.parametrize(("resamples", "draws"), [(2000, 1000), (1000, 1000), (999, 999)])
def test_report_ideas_uses_at_most_a_thousand_permutations(
    resamples: int, draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("validate_similarity", "odd_one_out_agreement", "triplet_similarity")
    seen = replace_analyses(monkeypatch, ideas, *names)
    monkeypatch.setattr(ideas, "has_choices", lambda labels: True)
    table = table_with("odd-one-out")
    assert titles_of(ideas.report_ideas, table, n_resamples=resamples, seed=2, confidence=0.9) == list(names)
    assert seen[0][1] == {"n_resamples": draws, "seed": 2, "confidence": 0.9}
    assert seen[2][1] == {"confidence": 0.9}


@pytest.mark.parametrize(
    ("refused", "kept", "reasons"),
    [
        ("validate_similarity", ["triplet_similarity"], 1),
        ("odd_one_out_agreement", ["validate_similarity", "triplet_similarity"], 1),
        ("triplet_similarity", ["validate_similarity", "odd_one_out_agreement"], 0),
    ],
)
def test_report_ideas_keeps_other_parts_after_error(
    refused: str, kept: list[str], reasons: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("validate_similarity", "odd_one_out_agreement", "triplet_similarity")
    replace_analyses(monkeypatch, ideas, *names, refused=refused)
    monkeypatch.setattr(ideas, "has_choices", lambda labels: True)
    parts = ideas.report_ideas(table_with("odd-one-out"), shared())
    assert [part.title for part in parts if not part.lines] == kept
    assert [part.lines for part in parts if part.lines] == [("Not estimable: no room.",)] * reasons


@pytest.mark.parametrize(("votes", "separable", "titles"), [(True, True, 2), (True, False, 2), (False, True, 0)])
def test_report_votes_requires_votes(
    votes: bool, separable: bool, titles: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = replace_analyses(monkeypatch, preference, "ratings", "consistency")
    monkeypatch.setattr(preference, "has_votes", lambda labels: votes)
    monkeypatch.setattr(preference, "has_separability", lambda labels: separable)
    assert titles_of(preference.report_votes, table_with("preference")) == ["ratings", "consistency"][:titles]
    if titles:
        assert seen[1][1]["by"] == ("separability" if separable else None)


@pytest.mark.parametrize(("judges", "estimated"), [(4, 4), (5, 4)])
def test_report_estimates_at_most_four_judges(judges: int, estimated: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "judges_with_more_items", lambda labels: [f"m{k}" for k in range(judges)])
    monkeypatch.setattr(estimates, "estimate", lambda labels, judge, **options: judge)
    monkeypatch.setattr(estimates, "estimate_parts", lambda judge: (Part(judge),))
    assert titles_of(estimates.report_estimates, table_with("nominal")) == [f"m{k}" for k in range(estimated)]
