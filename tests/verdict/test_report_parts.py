"""Parts of the report: each package's page makes its parts if the table allows the analysis, with shared options."""

from __future__ import annotations

import dataclasses
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import assay
from assay.concordance import page as concordance
from assay.data.annotations import Annotations
from assay.estimates import page as estimates
from assay.ideas import page as ideas
from assay.preference import page as preference
from assay.psychometrics import page as psychometrics
from assay.reporting.page import Part, PartOptions
from assay.verdict.report import ReportSettings

LABELS: dict[str, list[Any]] = {
    "ordinal": [1, 2, 3, 4, 5], "interval": [0.0, 0.25, 0.5, 0.75, 1.0], "nominal": ["a", "b", "c", "d", "e"],
    "text": ["red fox", "red hen", "old hen", "old cat", "new cat"], "preference": [-1, -1, 0, 1, 1],
    "odd-one-out": ["A", "B", "C", "A", "B"],
}  # fmt: skip
SCALES = {"ordinal": "1-5", "interval": "interval:0-1"}


@cache
def labels_with(*kinds: str, humans: int = 3, judges: int = 1, n_items: int = 12) -> Annotations:
    """Labels of items by everyone, with a criterion of each kind; a truth, one label in three another, by chance."""
    rng = np.random.default_rng(3)
    names = [f"h{k}" for k in range(humans)] + [f"m{k}" for k in range(judges)]
    texts = {"first_item": "x", "second_item": "y", "third_item": "z"}
    rows = []
    for j, kind in enumerate(kinds):
        truth = rng.integers(0, 5, n_items)
        for who in names:
            for i in range(n_items):
                label = LABELS[kind][truth[i] if rng.random() < 0.66 else rng.integers(5)]
                row = {"item": f"i{i:04}", "annotator": who, "criterion": f"{j}{kind}", "label": label}
                rows.append(row | texts | {"first": "s1", "second": "s2"})
    sides = ["first", "second"] if "preference" in kinds else []
    places = list(texts) if "odd-one-out" in kinds else []
    kept = ["item", "annotator", "label", *(["criterion"] if len(kinds) > 1 else []), *sides, *places]
    mixed = len({type(row["label"]) for row in rows}) > 1
    frame = pl.DataFrame([{**row, "label": str(row["label"]) if mixed else row["label"]} for row in rows]).select(kept)
    scale: Any = {f"{j}{kind}": SCALES.get(kind, kind) for j, kind in enumerate(kinds)}
    return assay.read(
        frame, scale=scale if len(kinds) > 1 else next(iter(scale.values())), judges=names[humans:],
        humans=names[:humans],
    )  # fmt: skip


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


def contents(parts: tuple[Part, ...]) -> list[Any]:
    """What a page shows of some parts, except for pictures."""
    return [
        (part.title, part.words, part.lines, [(caption, repr(frame.rows())) for caption, frame in part.frames])
        for part in parts
    ]


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
    wanted = {"quick": True, "repeats": "each", "confidence": 0.95, "seed": 3}
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
        (("preference",), (), False),
    ],
)  # fmt: skip
def test_report_position_requires_positions(kinds: tuple[str, ...], columns: tuple[str, ...], found: bool) -> None:
    table = labels_with(*kinds)
    given = {name: 1 + pl.int_range(pl.len()) % 2 for name in columns}
    table = dataclasses.replace(table, labels=table.labels.with_columns(**given))
    assert titles_of(preference.report_position, table) == ["Position bias"] * found


@pytest.mark.parametrize("kinds", [("text",), ("odd-one-out",), ("nominal", "text"), ("nominal",)])
def test_report_agreement_requires_comparable_labels(kinds: tuple[str, ...]) -> None:
    table, options = labels_with(*kinds), {"n_resamples": 50}
    agreed = contents(concordance.report_agreement(table, shared(**options)))
    disagreed = contents(concordance.report_disagreement(table, shared(**options)))
    if kinds != ("nominal",):
        assert (agreed, disagreed) == ([], [])
        return
    who = ("humans", "judges", "human pairs", "pairs")
    found = assay.agreement(table, coefficients=["krippendorff-alpha-nominal"], who=who, **options)
    assert agreed == contents(concordance.agreement_parts(found))
    assert disagreed == contents(concordance.disagreement_parts(assay.disagreement(table, **options)))


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
        (("text",), None, "words"), (("text",), "chrf", "chrf"), (("text",), len, None),
        (("text",), {("a", "b"): 0.5}, "words"),
    ],
)  # fmt: skip
def test_report_ideas_uses_similarity_of_test(kinds: tuple[str, ...], similarity: Any, named: str | None) -> None:
    table = labels_with(*kinds)
    if named is None:
        similarity = named = lambda a, b: float(a == b)
    found = ideas.report_ideas(table, shared(similarity=similarity, n_resamples=20))
    wanted = assay.annotator_similarity(table, similarity=named, n_resamples=20)
    assert contents(found) == contents(ideas.annotator_parts(wanted))


@pytest.mark.parametrize("kinds", [("nominal",), ("text", "text")])
def test_report_ideas_requires_texts_of_one_criterion(kinds: tuple[str, ...]) -> None:
    assert ideas.report_ideas(labels_with(*kinds), shared()) == ()


@cache
def choices(n_texts: int = 6) -> Annotations:
    """Choices of the odd text of each three among some by people and a judge: the first, or another one in four."""
    rng = np.random.default_rng(1)
    texts = {f"t{k}": " ".join(["word"] * (k + 1)) for k in range(n_texts)}
    rows = [
        {"item": f"{a}{b}{c}", "annotator": who, "first_item": a, "second_item": b, "third_item": c,
         "label": "A" if rng.random() < 0.75 else "BC"[rng.integers(2)]}
        for i, a in enumerate(texts) for j, b in enumerate(texts) for k, c in enumerate(texts) if i < j < k
        for who in ("ann", "bob", "cho", "gpt")
    ]  # fmt: skip
    return assay.read(pl.DataFrame(rows), scale="odd-one-out", humans=["ann", "bob", "cho"], judges=["gpt"])


@pytest.mark.parametrize(("resamples", "draws"), [(2000, 1000), (1000, 1000), (999, 999)])
def test_report_ideas_uses_at_most_a_thousand_permutations(resamples: int, draws: int) -> None:
    labels = choices()
    found = ideas.report_ideas(labels, shared(n_resamples=resamples, seed=2, confidence=0.9))
    wanted = (
        *ideas.validation_parts(assay.validate_similarity(labels, n_resamples=draws, seed=2, confidence=0.9)),
        *ideas.reliability_parts(assay.odd_one_out_agreement(labels, n_resamples=resamples, seed=2, confidence=0.9)),
        *ideas.triplet_parts(assay.triplet_similarity(labels, confidence=0.9)),
    )
    assert contents(found) == contents(wanted)


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


@pytest.mark.parametrize(("votes", "separable"), [(True, True), (True, False), (False, True)])
def test_report_votes_requires_votes(votes: bool, separable: bool) -> None:
    rows = [
        {"item": f"i{k}", "annotator": "h", "first": "a", "second": "b", "label": (-1, 1, -1, 0)[k % 4],
         "separability": k / 10}
        for k in range(8)
    ]  # fmt: skip
    frame = pl.DataFrame(rows)
    frame = frame if separable else frame.drop("separability")
    labels = assay.read(frame, scale="preference" if votes else "nominal", humans=["h"], judges=[])
    found = preference.report_votes(labels, shared(n_resamples=20))
    if not votes:
        assert found == ()
        return
    by = "separability" if separable else None
    wanted = (
        *preference.leaderboard_parts(assay.ratings(labels, n_resamples=20)),
        *preference.consistency_parts(assay.consistency(labels, by=by, n_resamples=20)),
    )
    assert contents(found) == contents(wanted)


@pytest.mark.parametrize("judges", [4, 5])
def test_report_estimates_at_most_four_judges(judges: int) -> None:
    whole = labels_with("ordinal", judges=judges, n_items=60)
    checked = whole.labels.filter(
        pl.col("annotator").str.starts_with("m") | pl.col("item").is_in([f"i{k:04}" for k in range(30)])
    )
    names = [f"m{k}" for k in range(judges)]
    labels = Annotations.from_frame(checked, scale=whole.scale, judges=names)
    assert titles_of(estimates.report_estimates, labels) == [
        f"Corrected estimates from the labels of m{k}" for k in range(4)
    ]
