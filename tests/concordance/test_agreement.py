"""Agreement tables."""

from __future__ import annotations

import dataclasses
import itertools
import json

import numpy as np
import polars as pl
import pytest
from studies import from_grid

import assay
from assay.concordance import agreement as module
from assay.concordance import words
from assay.concordance.agreement import PERMUTATION, agreement
from assay.concordance.comparisons import WHO
from assay.concordance.measures import all_measures, bias, correlation, icc, krippendorff_alpha
from assay.concordance.page import agreement_parts
from assay.data.annotations import Annotations
from assay.data.scales import Interval, Nominal, Ordinal
from assay.errors import DataError, DesignError
from assay.reporting import tables


def panel(*, seed: int = 0, n: int = 120, judge_noise: float = 0.5) -> Annotations:
    """Four people of noise .7; a good judge and one that guesses; benchmark by item, gender by person."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, 1))
    noise = np.array([0.7, 0.7, 0.7, 0.7, judge_noise])
    cells = truth + noise * rng.normal(size=(n, 5))
    cells = np.concatenate([cells, rng.normal(size=(n, 1))], axis=1)
    cells = np.clip(np.round(3 + 1.1 * cells), 1, 5)
    return from_grid(
        cells,
        Ordinal(1, 5),
        names=["ann", "bob", "cas", "dee", "good", "guess"],
        judges=["good", "guess"],
        items=pl.DataFrame({"item": [f"i{i:06d}" for i in range(n)], "benchmark": ["a", "b", "b"] * (n // 3)}),
        annotator_table=pl.DataFrame({"annotator": ["ann", "bob", "cas", "dee"], "gender": ["f", "m", "f", "m"]}),
    )


@pytest.fixture(scope="module")
def found():
    return agreement(panel())


def value(found, who, coefficient, first=None, second=None, group=None) -> dict:
    rows = found.table.filter(
        (pl.col("who") == who) & (pl.col("coefficient") == coefficient) & pl.col("group").eq_missing(group)
    )
    if first is not None:
        rows = rows.filter(pl.col("first") == first)
    if second is not None:
        rows = rows.filter(pl.col("second") == second)
    assert rows.height == 1, rows
    return rows.row(0, named=True)


@pytest.mark.slow
def test_every_kind_of_comparison_is_there(found):
    kinds = dict(found.select().group_by("who").len().iter_rows())
    assert kinds == {
        "humans": 1, "judges": 1, "pairs": 15, "consensus": 3, "rest": 4, "human pairs": 3, "random human": 8,
    }  # fmt: skip
    assert set(found.table["coefficient"]) == set(all_measures())


def test_rows_are_the_coefficients_themselves(found):
    labels = panel()
    people = labels.where(kind="human")
    row = value(found, "humans", "krippendorff-alpha-ordinal")
    alone = krippendorff_alpha(people, level="ordinal")
    assert (row["estimate"], row["low"], row["high"]) == pytest.approx((alone.estimate, alone.low, alone.high))
    row = value(found, "humans", "icc(a,k)")
    assert row["estimate"] == pytest.approx(icc(people, form="ICC(A,k)").estimate)
    row = value(found, "pairs", "spearman", "ann", "good")
    alone = correlation(labels, ["ann", "good"])
    assert (row["estimate"], row["low"], row["high"]) == pytest.approx((alone.estimate, alone.low, alone.high))
    assert value(found, "pairs", "bias", "ann", "good")["estimate"] == pytest.approx(
        bias(labels, ["ann", "good"]).estimate
    )


def test_consensus_by_hand():
    cells = np.array([[1, 2, 3, 2], [4, 4, 5, 4], [2, 2, 1, 1], [5, 4, 3, 5], [1, 1, 2, 1], [3, 3, 4, 5]])
    labels = from_grid(cells, Ordinal(1, 5), names=["a", "b", "c", "j"], judges=["j"])
    found = agreement(labels, who=["consensus"])
    means = cells[:, :3].mean(axis=1)
    assert value(found, "consensus", "mae")["estimate"] == pytest.approx(np.abs(means - cells[:, 3]).mean())
    assert value(found, "consensus", "pearson")["estimate"] == pytest.approx(np.corrcoef(means, cells[:, 3])[0, 1])
    # Medians: 2, 4, 2, 4, 1, 3; the judge says 2, 4, 1, 5, 1, 5.
    row = value(found, "consensus", "exact-agreement")
    assert (row["estimate"], row["n"]) == (pytest.approx(3 / 6), 6)
    assert found.exclusions == ()


@pytest.mark.slow
def test_consensus_median_rounds_to_scale_middle():
    # Medians 1.5, 2.5, 3 (of 1 and 5), 3.5, 4.5, and of one label 5; the judge gives them rounded onto 1 to 5.
    cells = np.array([[1, 2, 2], [2, 3, 3], [1, 5, 3], [3, 4, 3], [4, 5, 4], [5, np.nan, 5]])
    for turned in (cells, 6 - cells):
        labels = from_grid(turned, Ordinal(1, 5), names=["a", "b", "j"], judges=["j"])
        row = value(agreement(labels, who=["consensus"]), "consensus", "exact-agreement")
        assert (row["estimate"], row["n"]) == (1, 6)


@pytest.mark.slow
def test_consensus_of_two_judges_on_ordered_scale_keeps_all_items():
    found = agreement(panel(), who=["consensus", "rest"])
    categorical = ["exact-agreement", "cohen-kappa", "krippendorff-alpha-nominal", "krippendorff-alpha-ordinal"]
    assert set(found.table.filter(pl.col("coefficient").is_in(categorical))["n"]) == {120}
    names = Ordinal(["bad", "poor", "fair", "good", "best"])
    words = panel().labels.with_columns(label=pl.col("label").replace_strict(dict(enumerate(names.categories, 1))))
    named = agreement(Annotations.from_frame(words, judges=["good", "guess"], scale=names), who=["consensus", "rest"])
    same = found.table.filter(pl.col("coefficient").is_in(categorical)).sort("who", "first", "second", "coefficient")
    assert named.table.filter(pl.col("coefficient").is_in(categorical)).sort("who", "first", "second", "coefficient")[
        "estimate"
    ].to_list() == pytest.approx(same["estimate"].to_list())


@pytest.mark.slow
def test_tied_majorities_of_categories_are_counted():
    # People are divided on i1 and i4, judges on i0 and i4; on i3 only a judge has a label.
    votes = ["xxyzx", "xyzxx", "xxxyy", "---x-", "yx-xy"]
    rows = [(f"i{i}", who, v) for i, row in enumerate(votes) for who, v in zip("abcjk", row, strict=True) if v != "-"]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    labels = Annotations.from_frame(frame, judges=["j", "k"], scale=Nominal(["x", "y", "z"]))
    found = agreement(labels, who=["consensus"])
    assert value(found, "consensus", "exact-agreement", second="j")["n"] == 2
    said = "no majority, a tie between categories in the"
    assert [(e.what, e.count, e.reason) for e in found.exclusions if e.what == "item"] == [
        ("item", 2, f"{said} humans' consensus"),
        ("item", 2, f"{said} judges' consensus"),
    ]
    assert f"Excluded: 2 items: {said} humans' consensus." in found.summary()
    rest = agreement(labels, who=["rest"])
    # Without a: i0 (x y), i1 (y z); without b: i0, i1; without c: i1, i4.
    assert [e.count for e in rest.exclusions if e.what == "item"] == [6]
    by_criterion = pl.concat([frame.with_columns(criterion=pl.lit(c)) for c in ("clear", "true")])
    both = agreement(Annotations.from_frame(by_criterion, judges=["j", "k"]), who=["consensus"])
    assert [e.reason for e in both.exclusions if e.what == "item"][:2] == [
        f"clear: {said} humans' consensus",
        f"clear: {said} judges' consensus",
    ]


@pytest.mark.slow
def test_ties_in_chunks_are_those_in_memory(tmp_path):
    from assay.data.chunked.chunks import scan

    rng = np.random.default_rng(3)
    rows = pl.DataFrame(
        {
            "item": np.repeat(np.arange(60), 4),
            "annotator": ["a", "b", "c", "j"] * 60,
            "label": np.array(["x", "y", "z"])[rng.integers(0, 3, 240)],
        }
    )
    rows.write_parquet(tmp_path / "rows.parquet")
    scale = Nominal(["x", "y", "z"])
    chunks = scan(tmp_path, scale=scale, judges=["j"], labels_per_chunk=40)
    found = [
        agreement(labels, who=["consensus"])
        for labels in (chunks, Annotations.from_frame(rows, judges=["j"], scale=scale))
    ]
    assert found[0].exclusions == found[1].exclusions
    assert found[0].exclusions[0].count > 0


@pytest.mark.slow
def test_agreement_counts_repeated_coefficient_once():
    once = agreement(panel(), coefficients=["cohen-kappa"], who=["pairs"])
    twice = agreement(panel(), coefficients=["cohen-kappa", "cohen-kappa"], who=["pairs", "pairs"])
    assert twice.table.equals(once.table)
    assert twice.signature == once.signature


def test_differences_flag_accurate_judge_as_closer_but_not_guesser(found):
    closer = {
        r["judge"]: r["closer"] for r in found.differences.iter_rows(named=True) if r["coefficient"] == "icc(a,1)"
    }
    assert closer == {"good": "yes", "guess": "no"}
    errors = {r["judge"]: r["closer"] for r in found.differences.iter_rows(named=True) if r["coefficient"] == "rmse"}
    assert errors == {"good": "yes", "guess": "no"}


@pytest.mark.slow
def test_differences_of_humanlike_judge_are_undecided():
    shown = [
        agreement(panel(seed=s, judge_noise=0.7), who=["human pairs"], coefficients=["qwk"]).differences["closer"][0]
        for s in range(12)
    ]
    assert shown.count("undecided") >= 10


def test_any_human_is_the_mean_over_people_for_an_average(found):
    labels = panel()
    each = [bias(labels, [name, "good"]).estimate for name in labels.humans]
    assert value(found, "human pairs", "bias", second="good")["estimate"] == pytest.approx(np.mean(each))


def test_drawn_humans_hover_around_any_human(found):
    drawn = value(found, "random human", "spearman", second="good")
    any_human = value(found, "human pairs", "spearman", second="good")
    assert drawn["estimate"] == pytest.approx(any_human["estimate"], abs=0.01)
    # One person for each item shows less than all four do.
    assert drawn["high"] - drawn["low"] > any_human["high"] - any_human["low"]
    assert "1,000 draws" in drawn["interval"]


@pytest.mark.slow
def test_drawn_humans_by_brute_force():
    labels = panel(n=30)
    row = value(
        agreement(labels, who=["random human"], coefficients=["pearson"], draws=3000),
        "random human",
        "pearson",
        second="good",
    )
    cells, rng = labels.matrix(), np.random.default_rng(9)
    slow = [np.corrcoef(cells[np.arange(30), rng.integers(0, 4, 30)], cells[:, 4])[0, 1] for _ in range(3000)]
    assert row["estimate"] == pytest.approx(np.mean(slow), abs=0.01)


@pytest.mark.slow
def test_by_a_column_of_items_or_of_annotators():
    labels = panel()
    found = agreement(labels, by="benchmark", who=["humans"], coefficients=["icc(a,1)"])
    assert found.table["group"].to_list() == [None, "a", "b"]
    assert value(found, "humans", "icc(a,1)", group="b")["estimate"] == pytest.approx(
        icc(labels.where(kind="human", benchmark="b")).estimate
    )
    found = agreement(labels, by="gender", who=["humans", "consensus"], coefficients=["icc(a,1)"])
    assert value(found, "humans", "icc(a,1)", group="f")["estimate"] == pytest.approx(
        icc(labels.where(annotator=["ann", "cas"])).estimate
    )
    with pytest.raises(DataError, match="did you mean 'gender'"):
        agreement(labels, by="genders")


def test_p_values_are_adjusted_within_a_coefficient(found):
    rows = found.select("pairs", coefficient="cohen-kappa")
    assert (rows["p_adjusted"] >= rows["p"]).all()
    guess = value(found, "pairs", "cohen-kappa", "ann", "guess")
    assert guess["p_adjusted"] > 0.05
    assert value(found, "humans", "cohen-kappa")["p_adjusted"] < 1e-6
    assert found.select(coefficient="mae")["p"].null_count() == found.select(coefficient="mae").height


@pytest.mark.slow
def test_agreement_selects_coefficients_for_nominal_labels():
    cells = np.random.default_rng(0).integers(1, 4, (50, 3))
    votes = pl.DataFrame(
        {
            "item": [f"i{i:06d}" for i in range(50) for _ in range(3)],
            "annotator": ["a", "b", "j"] * 50,
            "label": np.array(["x", "y", "z"])[cells.ravel() - 1],
        }
    )
    found = agreement(Annotations.from_frame(votes, judges=["j"], scale=Nominal(["x", "y", "z"])))
    # Categories called 1, 2, 3 are no numbers either: the same coefficients with the same values.
    figures = agreement(from_grid(cells, Nominal([1, 2, 3]), names=["a", "b", "j"], judges=["j"]))
    assert figures.table["estimate"].equals(found.table["estimate"])
    assert figures.table["coefficient"].equals(found.table["coefficient"])
    assert set(found.table["coefficient"]) == {
        "exact-agreement", "cohen-kappa", "scott-pi", "fleiss-kappa", "gwet-ac1", "krippendorff-alpha-nominal",
        "brennan-prediger", "conger-kappa",
    }  # fmt: skip
    assert found.headline == "krippendorff-alpha-nominal"


def test_agreement_counts_impossible_comparisons():
    cells = np.full((40, 3), np.nan)
    cells[:20, :2] = np.random.default_rng(1).integers(1, 6, (20, 2))
    cells[20:, 1:] = np.random.default_rng(2).integers(1, 6, (20, 2))
    found = agreement(from_grid(cells, Ordinal(1, 5)), who=["humans", "pairs"])
    assert found.select("pairs").height == 2


def test_unknown_names_are_refused():
    with pytest.raises(DesignError, match="did you mean 'qwk'"):
        agreement(panel(), coefficients=["qwkk"])
    with pytest.raises(DesignError, match="did you mean 'consensus'"):
        agreement(panel(), who=["concensus"])
    with pytest.raises(DesignError, match="nothing to compare"):
        agreement(panel().where(annotator=["good", "ann"]), who=["humans"])


@pytest.mark.slow
def test_summary_table_and_pictures(found):
    text = found.summary()
    assert "; it agrees more with humans than they do with each other." in text
    assert "; it agrees less with humans than they do with each other." in text
    assert text.splitlines()[-1] == found.signature
    json.dumps(found.to_dict())
    assert found.plot().get_xlabel() == "Krippendorff's α, ordinal"
    grid = found.heat_map(coefficient="qwk")
    assert [t.get_text() for t in grid.get_xticklabels()] == ["ann", "bob", "cas", "dee", "good", "guess"]
    with pytest.raises(DesignError, match="pairs"):
        agreement(panel(), who=["humans"], coefficients=["qwk"]).heat_map()
    assert set(WHO) == set(found.table["who"])


@pytest.mark.slow
@pytest.mark.real_data
def test_lesion_per_feature(real_data):
    from assay.reading import read

    labels = read(real_data / "alt_test" / "lesion", split_item="__", scale={
        "Asymmetry": "0-2", "Blue": "0-2", "Border": "0-2", "Dermo": "0-2", "Color": "1-6",
    })  # fmt: skip
    found = agreement(labels, who=["humans", "judges", "human pairs"])
    assert found.criteria == ("Asymmetry", "Blue", "Border", "Color", "Dermo")
    assert value_of_criterion(found, "Asymmetry") == pytest.approx(0.508, abs=0.001)
    closer = found.differences.filter((pl.col("coefficient") == "icc(a,1)") & (pl.col("criterion") == "Asymmetry"))
    assert closer["closer"].to_list() == ["no"] * 4


def value_of_criterion(found, criterion: str) -> float:
    return found.select("humans").filter(pl.col("criterion") == criterion)["estimate"][0]


def test_parts_of_a_page_can_be_drawn(found):
    from assay.concordance.page import agreement_parts

    parts = agreement_parts(found)
    assert [p.title for p in parts] == [
        "Agreement among annotators",
        "Judge agreement compared with human agreement",
    ]
    assert [caption.endswith("of pairs.") for caption, _ in parts[1].frames] == [False, True]
    for part in parts:
        assert all(caption and frame.height for caption, frame in part.frames)
        assert all(draw().figure is not None for _, draw in part.pictures)
    assert parts[1].frames[0][1]["closer"].to_list() == ["yes", "no"]


@pytest.mark.parametrize(("people", "pictures"), [(22, 2), (23, 1)])
def test_heat_map_draws_few_annotators(found, people, pictures):
    many = dataclasses.replace(found, humans=tuple(f"p{i}" for i in range(people)))
    assert len(agreement_parts(many)[0].pictures) == pictures


def test_agreement_is_simply_a_function():
    import assay

    assert assay.agreement is agreement
    assert assay.agreement(panel(n=30), who=["humans"], coefficients=["qwk"]).table.height == 1


def test_each_coefficient_is_resampled_over_its_own_items():
    """Items with one label count for Fleiss's prevalence, not for alpha: few pairs must not look like many items."""
    rng = np.random.default_rng(3)
    cells = np.full((300, 3), np.nan)
    cells[:, 0] = rng.integers(1, 6, 300)
    cells[:12, 1] = np.clip(cells[:12, 0] + rng.integers(-1, 2, 12), 1, 5)
    labels = from_grid(cells[:, :2], Ordinal(1, 5))
    row = value(agreement(labels, who=["humans"]), "humans", "krippendorff-alpha-ordinal")
    alone = krippendorff_alpha(labels)
    assert row["n"] == alone.n_items == 12
    assert (row["low"], row["high"]) == pytest.approx((alone.low, alone.high))
    assert "12 items" in row["interval"]


def test_heat_map_of_bias_has_two_signs():
    cells = np.array([[1, 2, 4], [2, 3, 5], [1, 3, 4], [3, 3, 5]])
    found = agreement(from_grid(cells, Ordinal(1, 5), names=["a", "b", "c"]), coefficients=["bias"], who=["pairs"])
    texts = [t.get_text() for t in found.heat_map(coefficient="bias").texts]
    # b labels 1.00 higher than a, c 2.75 higher than a and 1.75 higher than b.
    assert sorted(texts) == sorted(["1.0", "−1.0", "2.8", "−2.8", "1.8", "−1.8"])


@pytest.mark.slow
def test_summary_counts_omitted_rows_of_large_tables():
    """Six judges on five criteria: the fifth would be gone after 24 rows."""
    rng = np.random.default_rng(0)
    names = [f"p{j}" for j in range(3)] + [f"m{j}" for j in range(6)]
    rows = [
        (f"i{i}", name, int(rng.integers(1, 4)), criterion)
        for criterion in ("one", "two", "three", "four", "five")
        for i in range(12)
        for name in names
    ]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "criterion"], orient="row")
    labels = Annotations.from_frame(frame, judges=names[3:], scale=Ordinal(1, 3))
    found = agreement(
        labels, coefficients=["qwk"], who=["humans", "judges", "consensus", "human pairs"], n_resamples=20
    )
    text = found.summary()
    shown = found.select("humans", "judges", "consensus")
    assert f"The table has {shown.height - 24} more rows for qwk, including all of " in text
    assert "The table of differences has 18 more comparisons, including all of " in text


def test_coefficients_say_when_judges_are_among_the_annotators():
    labels = panel(n=30)
    assert "of the 6 annotators, good, guess are judges" in krippendorff_alpha(labels).summary().lower()
    assert "judge" not in krippendorff_alpha(labels.where(kind="human")).summary()


@pytest.mark.slow
def test_random_judge_of_family_matches_brute_force():
    labels = panel(n=30)
    people = labels.annotators.with_columns(
        maker=pl.when(pl.col("kind") == "judge").then(pl.lit("lab")).otherwise(None)
    )
    labels = Annotations.from_frame(
        labels.labels, judges=["good", "guess"], scale=labels.scale, items=labels.items, annotator_table=people
    )
    ask = {"who": ["random human"], "coefficients": ["mae", "pearson"], "draws": 3000}
    found = agreement(labels, family="maker", **ask)
    row = value(found, "random human", "pearson", second="a random judge of lab")
    cells, rng = labels.matrix(), np.random.default_rng(9)
    rows = np.arange(30)
    slow = [
        np.corrcoef(cells[rows, rng.integers(0, 4, 30)], cells[rows, rng.integers(4, 6, 30)])[0, 1] for _ in range(3000)
    ]
    assert row["estimate"] == pytest.approx(np.mean(slow), abs=0.02)
    assert (row["first"], row["n"]) == ("a random human", 30)
    assert "a random judge" in agreement(labels, **ask).table["second"].to_list()
    # A random human against another: the mean over all pairs of people.
    pairs = [np.abs(cells[:, a] - cells[:, b]).mean() for a in range(4) for b in range(4) if a != b]
    human = value(found, "random human", "mae", "another random human", "a random human")
    assert human["estimate"] == pytest.approx(np.mean(pairs), abs=0.02)
    with pytest.raises(DataError, match="did you mean 'maker'"):
        agreement(labels, family="makers", **ask)


@pytest.mark.slow
def test_than_humans_compares_with_two_random_humans():
    """Better, worse or undecided; also for a family; higher is worse for an error."""
    found = agreement(panel(n=240, judge_noise=0.0), who=["random human"], coefficients=["pearson", "mae"], draws=400)
    rows = found.table.filter(pl.col("second").is_in(["good", "guess"]))
    assert rows.select("second", "coefficient", "than_humans").rows() == [
        ("good", "pearson", "better"), ("good", "mae", "better"),
        ("guess", "pearson", "worse"), ("guess", "mae", "worse"),
    ]  # fmt: skip
    assert set(found.table["first"]) == {"a random human", "another random human"}
    people = found.table.filter(pl.col("second").is_in(["ann", "a random human"]))
    assert people["than_humans"].null_count() == people.height == 4
    family = found.table.filter(pl.col("second") == "a random judge")
    assert family["than_humans"].null_count() == 0
    same = agreement(panel(n=60, judge_noise=0.7), who=["random human"], coefficients=["pearson"], draws=200)
    assert value(same, "random human", "pearson", second="good")["than_humans"] == "undecided"
    assert agreement(panel(n=60), who=["human pairs"]).table["than_humans"].null_count()


@pytest.mark.slow
def test_table_fits_terminal_width(tmp_path, capsys):
    from assay.cli.app import main

    path = tmp_path / "labels.csv"
    labels = panel(n=30)
    labels.labels.join(labels.items, on="item").write_csv(path)
    asked = ["agreement", str(path), "--judges", "good,guess", "--scale", "1-5"]
    names = "qwk,nmae,gwet-ac2-quadratic"
    several = ["--by", "benchmark", "--coefficients", names, "--who", "rest,random human", "--draws", "20"]
    for more in ([], several):
        with pytest.raises(SystemExit):
            main([*asked, *more])
        table = capsys.readouterr().out.split("\n\n")[0].splitlines()
        assert max(map(len, table)) <= 80
        assert len(table) > 10
        assert "between" in table[0]


def test_wide_tables_are_broken_between_words():
    table = tables.shown(pl.DataFrame({"who": ["the first of several", "b"], "p_adjusted": [0.5, 0.25]}))
    whole, narrow = tables.to_text(table, 80), tables.to_text(table, 24)
    assert len(whole.splitlines()) == 3
    assert max(map(len, narrow.splitlines())) <= 24
    assert " ".join(narrow.split()) == "who p (adjusted) the first of 0.50 several b 0.25"


def test_agreement_counts_impossible_comparison_once():
    y = np.round(np.random.default_rng(5).normal(size=(30, 5)), 3)
    labels = from_grid(y, Interval(), judges=["r3", "r4"])
    found = agreement(labels, who=["human pairs"], coefficients=["mae", "spearman"])
    assert found.table.height == found.differences.height + 1 == 3
    assert [(e.count, e.reason) for e in found.run.exclusions] == [
        (3, "Spearman's ρ with human pairs: too many different labels for a table")
    ]


# -- the first sentence, and the coefficient to report ------------------------------------------------


def coins(seed: int, m: int = 3) -> Annotations:
    return from_grid(np.random.default_rng(seed).integers(1, 6, (40, m)), Ordinal(1, 5))


@pytest.mark.slow
def test_summary_starts_with_human_agreement_and_recommended_coefficient(found):
    first, second = found.summary().splitlines()[:2]
    assert first.startswith("Human agreement: Krippendorff's α (ordinal) = 0.")
    assert first.endswith(", better than chance (adjusted p < 0.001); 120 items.")
    assert second == (
        "Recommended coefficient: Krippendorff's α (ordinal labels, any number of annotators, missing labels)."
    )
    texts = [agreement(coins(seed), who=["humans"]).summary() for seed in range(20)]
    assert sum(", better than chance (" in text for text in texts) <= 2
    assert sum(", not significantly better than chance (" in text for text in texts) >= 18


@pytest.mark.slow
def test_headline_is_first_requested_coefficient():
    labels = panel()
    asked = agreement(labels, coefficients=["qwk", "cohen-kappa", "mae"], who=["humans"])
    assert asked.headline == "qwk"
    assert "Recommended coefficient for these labels, not computed here: Krippendorff's α (ordinal" in asked.summary()
    assert (
        agreement(labels, coefficients=["mae", "krippendorff-alpha-ordinal"]).headline == "krippendorff-alpha-ordinal"
    )
    numbers = from_grid(np.random.default_rng(0).normal(size=(20, 3)), Interval())
    assert agreement(numbers, who=["humans"]).headline == "icc(a,1)"
    words = krippendorff_alpha(labels, level="nominal").summary()
    assert "Recommended coefficient for these labels: Krippendorff's α (ordinal labels" in words
    assert "Recommended" not in krippendorff_alpha(labels).summary()


@pytest.mark.slow
def test_heat_map_of_signed_values_has_two_colours():
    from matplotlib.colors import to_hex

    from assay.reporting import pictures

    cells = np.random.default_rng(0).normal(size=(30, 2))
    labels = from_grid(np.c_[cells, -cells[:, 0] + 0.3 * cells[:, 1]], Interval())
    found = agreement(labels, coefficients=["pearson", "bias", "mae"], who=["pairs"])
    colours = {
        name: {to_hex(patch.get_facecolor()[:3]) for patch in found.heat_map(coefficient=name).patches}
        for name in ("pearson", "bias", "mae")
    }
    both = {to_hex(pictures.HUMAN), to_hex(pictures.JUDGE)}
    assert colours["pearson"] == both == colours["bias"]
    assert colours["mae"] == {to_hex(pictures.JUDGE)}


def test_summary_counts_omitted_rows(found):
    """A summary has 24 rows of the headline and 12 comparisons of a judge, and names the criteria that it omits."""
    row, closer = found.select("humans"), found.differences.filter(coefficient=found.headline).head(1)
    title = f": {row['title'][0]} "
    for rows, comparisons in ((24, 12), (25, 13), (26, 14)):
        many, closers = (
            pl.concat([one.with_columns(criterion=pl.lit(f"c{i:02d}")) for i in range(n)])
            for one, n in ((row, rows), (closer, comparisons))
        )
        text = dataclasses.replace(found, rows=many, differences=closers).summary()
        lines = text.splitlines()
        assert sum(line.startswith("c") and title in line for line in lines) == 24
        assert sum(f": {closer['judge'][0]}: Krippendorff" in line for line in lines) == 12
        further = [line for line in lines if line.startswith(("The table has ", "The table of differences has "))]
        assert (
            further
            == {
                24: [],
                25: [
                    f"The table has 1 more row for {found.headline}, including all of c24.",
                    "The table of differences has 1 more comparison, including all of c12.",
                ],
                26: [
                    f"The table has 2 more rows for {found.headline}, including all of c24, c25.",
                    "The table of differences has 2 more comparisons, including all of c12, c13.",
                ],
            }[rows]
        )


# -- the parts of which a table is made ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("fixed", "moving", "wanted"),
    [
        ([0.2, 0.4, np.nan], [0.0, 0.5, np.nan, 1.0], (0.3, 0.05, 0.95, None)),
        ([0.2, 0.4], [0.7, 0.7], (0.3, np.nan, np.nan, "every draw gives the same value")),
        ([np.nan], [0.1, 0.2], (np.nan, np.nan, np.nan, "undefined in every draw")),
        ([0.1], [np.nan], (np.nan, np.nan, np.nan, "undefined in every draw")),
    ],
)
def test_draws_have_their_mean_and_the_percentiles_with_items_resampled(fixed, moving, wanted):
    found = module.summarize_draws(np.array(fixed), np.array(moving), 0.9)
    assert (found.estimate, found.low, found.high) == pytest.approx(wanted[:3], nan_ok=True)
    assert found.reason == wanted[3] or wanted[3] is None


def rows_of(**columns) -> pl.DataFrame:
    given = {"who": "pairs" if "second" in columns else "humans", "coefficient": "krippendorff-alpha-ordinal",
             "criterion": None, "group": None, "first": "humans", "second": None, "title": "κ", "estimate": 0.5,
             "low": 0.4, "high": 0.6, "n": 9, "p": 0.01, "p_adjusted": 0.05, "reason": None} | columns  # fmt: skip
    n = max(len(v) for v in given.values() if isinstance(v, list)) if any(map(lists, given.values())) else 1
    whole = {k: v if isinstance(v, list) else [v] * n for k, v in given.items()}
    numbers, texts = ("low", "p", "p_adjusted"), ("criterion", "group", "second", "reason")
    return pl.DataFrame(whole, schema_overrides=dict.fromkeys(numbers, pl.Float64) | dict.fromkeys(texts, pl.String))


def lists(value) -> bool:
    return isinstance(value, list)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({}, "Human agreement: κ = 0.500 [0.400, 0.600], better than chance (adjusted p = 0.050); 9 items."),
        (
            {"p_adjusted": 0.051},
            "Human agreement: κ = 0.500 [0.400, 0.600], not significantly better than chance (adjusted p = 0.051); 9 "
            "items.",
        ),
        (
            {"estimate": -0.5},
            "Human agreement: κ = −0.500 [0.400, 0.600], not significantly better than chance (adjusted p = 0.050); 9 "
            "items.",
        ),
        (
            {"estimate": 0.0},
            "Human agreement: κ = 0.000 [0.400, 0.600], not significantly better than chance (adjusted p = 0.050); 9 "
            "items.",
        ),
        ({"p": None, "p_adjusted": None}, "Human agreement: κ = 0.500 [0.400, 0.600]; 9 items."),
        (
            {"p": None, "p_adjusted": None, "first": "a", "second": "b"},
            "Agreement between a and b: κ = 0.500 [0.400, 0.600]; 9 items.",
        ),
        ({"p": [None] * 3, "p_adjusted": None}, "Human agreement: κ from 0.500 to 0.500 in 3 criteria."),
        (
            {"estimate": [0.5, -0.25, 0.75], "p_adjusted": [0.01, 0.01, 0.06], "p": [0.01, None, 0.02]},
            "Human agreement: κ from −0.250 to 0.750 in 3 criteria, significantly better than chance in 1 of 3.",
        ),
        (
            {"estimate": [0.5, 0.25], "first": ["a", "a"], "second": ["b", "c"]},
            "Pairwise agreement: κ from 0.250 to 0.500 in 2 pairs, significantly better than chance in 2 of 2.",
        ),
    ],
)
def test_first_sentence_counts_significant_criteria(found, columns, sentence):
    assert dataclasses.replace(found, rows=rows_of(**columns)).summary().splitlines()[0] == sentence


def test_summary_names_criterion_group_and_what_it_omits(found):
    listed = [("c", "g"), ("c", None), (None, "g"), (None, None), ("", "")]
    further = [*(("a", None) for _ in range(19)), ("c", None), ("d", "g"), ("d", "g"), (None, None)]
    rows = rows_of(criterion=[c for c, _ in (*listed, *further)], group=[g for _, g in (*listed, *further)])
    lines = dataclasses.replace(found, rows=rows).summary().splitlines()
    assert [line for line in lines if line.endswith("κ 0.500 [0.400, 0.600], 9 items.")][:5] == [
        f"{place}humans: κ 0.500 [0.400, 0.600], 9 items." for place in ("c, g: ", "c: ", "g: ", "", "")
    ]
    assert f"The table has 4 more rows for {found.headline}, including all of d, g." in lines


@pytest.mark.parametrize("low", [None, float("nan")])
def test_summary_gives_the_reason_for_no_interval(found, low):
    rows = rows_of(low=low, reason="few")
    assert "humans: κ 0.500 (no interval: few), 9 items." in dataclasses.replace(found, rows=rows).summary()


def holm(p: list[float]) -> list[float]:
    """The smallest of m times m, the next times m - 1; none below the one before, and none above 1."""
    order, highest, adjusted = np.argsort(p, kind="stable"), 0.0, [0.0] * len(p)
    for k, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p) - k) * p[i]))
        adjusted[i] = highest
    return adjusted


def test_p_values_are_adjusted_over_a_coefficient_and_a_kind_of_comparison(found):
    for family in found.table.filter(pl.col("p").is_not_null()).partition_by("coefficient", "who"):
        assert family["p_adjusted"].to_list() == pytest.approx(holm(family["p"].to_list()))
    for family in found.differences.partition_by("coefficient"):
        assert family["p_adjusted"].to_list() == pytest.approx(holm(family["p"].to_list()))
    assert found.table.filter(pl.col("p").is_null())["p_adjusted"].null_count() > 0


def test_closer_requires_significance_and_direction(found):
    """Of errors lower is better. Both judges, all coefficients: closer, not closer or undecided at 5%."""
    seen = set()
    for row in found.differences.iter_rows(named=True):
        nearer = row["estimate"] * (-1 if row["coefficient"] in ("mae", "nmae", "rmse") else 1) > 0
        alone = row["without"] is not None and row["p_without"] > 0.05
        kind = "depends on one" if alone else "yes" if nearer else "no"
        assert row["closer"] == (kind if row["p_adjusted"] <= 0.05 else "undecided")
        seen.add((row["closer"], nearer, row["estimate"] > 0))
    assert seen >= {("yes", True, True), ("yes", True, False), ("no", False, True), ("undecided", True, True)}


def errs(n: int, m: int, seed: int, judge: str) -> Annotations:
    """People who err in three of ten items, and a judge that repeats the second or knows the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    cells = [np.where(rng.random(n) < 0.3, 1 - truth, truth) for _ in range(m)]
    cells.append(cells[1] if judge == "repeats" else truth)
    return from_grid(
        np.array(cells, dtype=float).T, Nominal([0, 1]), names=[*(f"p{k}" for k in range(m)), "j"], judges=["j"]
    )


def test_closer_depends_on_one_for_copied_annotator():
    found = agreement(errs(80, 3, 1, "repeats"), coefficients=["exact-agreement"], who=["human pairs"])
    row = found.differences.row(0, named=True)
    assert (row["closer"], row["without"]) == ("depends on one", "p1")
    assert row["p"] < 0.01
    # Without p1 the judge is one of three exchangeable raters: p0 and p2 with each other, and the judge with both.
    alone = agreement(
        errs(80, 3, 1, "repeats").where(annotator=["p0", "p2", "j"]), coefficients=["exact-agreement"],
        who=["human pairs"],
    )  # fmt: skip
    assert row["p_without"] == alone.differences["p"][0]
    (line,) = words.judge_comparisons(found)
    assert line.startswith(f"j: Exact agreement with humans minus that among humans = +{row['estimate']:.3f} [")
    assert line.endswith(
        "; it agrees more with humans than they do with each other, but not significantly without p1, the closest "
        "annotator."
    )


def test_closer_is_robust_to_left_out_annotator_for_accurate_judge():
    found = agreement(errs(80, 4, 2, "knows"), coefficients=["exact-agreement", "cohen-kappa"], who=["human pairs"])
    assert found.differences["closer"].to_list() == ["yes", "yes"]
    assert set(found.differences["without"]) <= {"p0", "p1", "p2", "p3"}
    assert (found.differences["p_without"] <= 0.05).all()
    assert "; it agrees more with humans than they do with each other.\n" in found.summary()


def test_comparison_mentions_copies_with_two_humans():
    found = agreement(errs(80, 2, 3, "repeats"), coefficients=["exact-agreement"], who=["human pairs"])
    assert found.differences.row(0, named=True)["without"] is None
    (line,) = words.judge_comparisons(found)
    assert line.endswith(
        "; it agrees more with humans than they do with each other. A copy of either human's labels would get the same "
        "result."
    )


def test_comparison_mentions_copies_if_two_humans_answered():
    labels = errs(80, 3, 3, "repeats")
    rare = labels.labels.with_columns(
        criterion=pl.when(pl.col("annotator") == "p2").then(pl.lit("other")).otherwise(pl.lit("tone"))
    )
    both = Annotations.from_frame(
        pl.concat([rare, rare.filter(pl.col("annotator") == "p0").with_columns(criterion=pl.lit("other"))]),
        judges=["j"], scale=labels.scale,
    )  # fmt: skip
    found = agreement(both, coefficients=["exact-agreement"], who=["human pairs"])
    assert len(found.humans) == 3
    (line,) = (line for line in words.judge_comparisons(found) if line.startswith("tone: j"))
    assert line.endswith(". A copy of one human's labels would get the same result.")


def test_undecided_judge_has_no_left_out_annotator():
    labels = panel(seed=3, judge_noise=0.7)
    found = agreement(labels, coefficients=["qwk"], who=["human pairs"]).differences
    assert found["closer"].to_list() == ["undecided", "no"]
    assert found["without"].is_null().all()
    assert found["p_without"].is_null().all()


ALPHA, NOMINAL = "krippendorff-alpha-ordinal", "krippendorff-alpha-nominal"
SCALES = {"o": Ordinal(1, 5), "i": Interval(), "n": Nominal([1, 2, 3, 4, 5])}


@pytest.mark.parametrize(
    ("scales", "asked", "wanted"),
    [
        # On one scale its own; on several the one that all allow, and ICC last.
        ("o", ["qwk", ALPHA], ALPHA), ("i", ["pearson", "icc(a,1)"], "icc(a,1)"),
        ("io", ["icc(a,1)", ALPHA], ALPHA), ("on", [ALPHA, NOMINAL], NOMINAL), ("on", [ALPHA, "qwk"], ALPHA),
        ("o", ["mae", "qwk"], "mae"),
    ],
)  # fmt: skip
def test_headline_is_allowed_by_all_criteria(scales, asked, wanted):
    of = {f"c{k}": SCALES[one] for k, one in enumerate(scales)}
    rows = [(f"i{i}", who, one, float((i + k) % 4 + 1)) for i in range(8) for k, who in enumerate("pqr") for one in of]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "criterion", "label"], orient="row")
    labels = Annotations.from_frame(frame, judges=[], scale=of)
    assert agreement(labels, coefficients=asked, who=["humans"], method="none").headline == wanted


def test_coefficients_with_one_transform_are_listed_together():
    """Shares, then Fisher's z; otherwise in the order of the question."""
    asked = ["exact-agreement", "qwk", "agreement-within-1", "pearson"]
    found = agreement(panel(n=12), coefficients=asked, who=["pairs"], method="none").table
    wanted = ["exact-agreement", "agreement-within-1", "qwk", "pearson"]
    assert found["coefficient"].unique(maintain_order=True).to_list() == wanted


@pytest.mark.parametrize(
    ("draws", "among", "lower", "wanted"),
    [
        ([1.0] * 40, [0.5] * 40, False, "better"), ([1.0] * 40, [0.5] * 40, True, "worse"),
        ([0.5] * 40, [1.0] * 40, False, "worse"), ([1.0] * 40, [1.0] * 40, False, "undecided"),
        # One draw of 40 on the other side is a 2.5% tail, at its edge; two are more.
        ([1.0] * 39 + [0.0], [0.5] * 40, False, "better"), ([1.0] * 38 + [0.0] * 2, [0.5] * 40, False, "undecided"),
        # Up to a twentieth may be undefined.
        ([1.0] * 38 + [np.nan] * 2, [0.5] * 40, False, "better"),
        ([1.0] * 37 + [np.nan] * 3, [0.5] * 40, False, "undecided"),
    ],
)  # fmt: skip
def test_random_human_contrast_uses_paired_draws(draws, among, lower, wanted):
    difference = (np.array(draws) - np.array(among)) * (-1.0 if lower else 1.0)
    assert module.compare_draws(difference, 0.95) == wanted


def test_families_are_the_people_and_the_judges_of_each_value():
    labels = from_grid(
        np.arange(24.0).reshape(4, 6) % 5 + 1, Ordinal(1, 5), names=list("pjklmn"), judges=list("jklmn"),
        annotator_table=pl.DataFrame({"annotator": ["j", "k", "l", "n"], "maker": ["b", "a", "b", "a"]}),
    )  # fmt: skip
    options = {"who": ["random human"], "coefficients": ["exact-agreement"], "draws": 2, "method": "none"}
    families = [set(agreement(labels, **options, **more).table["second"]) - set("jklmn")
                for more in ({}, {"family": "maker"})]  # fmt: skip
    assert families == [{"a random judge"}, {"a random judge of a", "a random judge of b"}]


def test_groups_are_all_and_each_value_of_people_or_items():
    options = {"who": ["humans"], "coefficients": ["exact-agreement"], "method": "none"}
    labels = panel(n=6)
    found = agreement(labels, by="gender", **options).table
    assert found["group"].to_list() == [None, "f", "m"]
    wanted = [agreement(labels.where(annotator=names), **options).table["estimate"][0]
              for names in (["ann", "cas"], ["bob", "dee"])]  # fmt: skip
    assert found["estimate"].to_list()[1:] == wanted
    by_item = agreement(labels, by="benchmark", **options).table
    assert by_item.select("group", "n").rows() == [(None, 6), ("a", 2), ("b", 4)]


@pytest.mark.parametrize(("kind", "most"), [("pairs", 30), ("rest", 100), ("random human", 100)])
def test_many_annotators_are_not_compared_one_by_one(kind, most):
    labels = from_grid(np.arange(3.0 * (most + 1)).reshape(3, most + 1) % 5 + 1, Ordinal(1, 5))
    with pytest.raises(DesignError, match=f"nothing to compare: '{kind}' with more than {most} annotators"):
        agreement(labels, who=[kind], coefficients=["exact-agreement"], method="none")


@pytest.mark.slow
def test_p_and_intervals_are_said_with_how_they_were_adjusted(found):
    lines = words.interval_sentence(found)
    assert "; p-values adjusted within each coefficient and kind of comparison (holm). Judge minus human" in lines
    assert lines.endswith(f"{PERMUTATION} test, adjusted for 2 comparisons (holm); intervals are not adjusted.")
    plain = agreement(panel(n=30), adjust="none", who=["human pairs"], coefficients=["qwk"], n_resamples=20)
    assert (
        "; p-values not adjusted. Judge minus human differences: within-item permutation test, not adjusted; "
        in words.interval_sentence(plain)
    )
    bare = dataclasses.replace(found, headline="bias")
    assert words.interval_sentence(bare).endswith("(holm).")


def test_heat_map_and_plot_raters_name_unknown_values(found):
    with pytest.raises(DesignError, match="'qwks'"):
        found.heat_map(coefficient="qwks")
    with pytest.raises(DesignError, match="criterion 'x'"):
        found.heat_map(criterion="x")
    with pytest.raises(DesignError, match=r"'qwks'.*random humans"):
        found.plot_raters(coefficient="qwks")


def test_answer_describes_judges_only_without_humans(found):
    rows = found.rows
    starts = {}
    for without in ((), ("humans",), ("humans", "judges")):
        left = dataclasses.replace(found, rows=rows.filter(~pl.col("who").is_in(without)))
        starts[len(without)] = words.agreement_answer(left)[0].split(" ")[0]
    assert starts == {0: "Human", 1: "Judge", 2: "Pairwise"}
    none = dataclasses.replace(found, rows=rows.filter(~pl.col("who").is_in(["humans", "judges", "pairs"])))
    assert [line.split(" ")[0] for line in words.agreement_answer(none)] == ["Recommended"]


def test_one_item_has_no_interval_and_nothing_is_compared():
    frame = pl.DataFrame({"item": ["a"] * 4, "annotator": ["ann", "bob", "cho", "m"], "label": [1, 2, 2, 1]})
    found = agreement(Annotations.from_frame(frame, judges=["m"], scale="1-5"))
    bounded = found.rows.filter(pl.col("low").is_finite())  # a share that is 0 or 1 has an exact bound
    assert set(bounded["coefficient"]) <= {"exact-agreement", "agreement-within-1"}
    assert set(bounded["interval"]) == {"95% exact bound for 1 items with equal values"}
    assert found.differences.height == 0
    assert "3 humans and 1 judge on 1 item (4 labels, scale ordinal:1-5)." in found.summary()


def _criteria(n_raters: int, *, gaps: bool = False) -> Annotations:
    """Labels of two criteria by raters with their own severities; with gaps, some items have one label."""
    rng = np.random.default_rng(12)
    rows = []
    for c, criterion in enumerate(("fit", "tone")):
        quality, severity = rng.normal(size=40), rng.normal(scale=1.2, size=n_raters)
        for i, a in itertools.product(range(40), range(n_raters)):
            label = int(np.clip(round(3 + quality[i] + severity[a] + rng.normal(scale=0.7)), 1, 5))
            if not gaps or a == i % n_raters or i % (4 + c):
                rows.append({"item": f"q{i}", "annotator": f"r{a}", "criterion": criterion, "label": label})
    return Annotations.from_frame(pl.DataFrame(rows), scale="1-5")


def test_summary_gives_the_range_of_items_of_all_criteria():
    found = agreement(_criteria(3, gaps=True), coefficients=["krippendorff-alpha-ordinal"], who=["humans"])
    low, high = sorted(found.rows["n"])
    assert low < high
    assert f"over {low} to {high} items, raters fixed" in found.summary()


def test_summary_says_why_intervals_of_few_raters_are_wide():
    few = "The intervals are wide because 4 raters represent all raters like them; for these 4 alone set raters='fixed'"
    table = _criteria(4)
    assert few in agreement(table, coefficients=["icc(a,1)"]).summary()
    assert few in icc(table.where(criterion="fit")).summary()
    assert "intervals are wide" not in agreement(table, coefficients=["icc(a,1)"], raters="fixed").summary()
    assert "intervals are wide" not in agreement(_criteria(12), coefficients=["icc(a,1)"]).summary()


def test_summary_has_no_note_on_an_icc_that_it_does_not_print():
    table = _criteria(3, gaps=True)
    every = agreement(table, coefficients=["krippendorff-alpha-ordinal", "icc(a,1)"])
    assert any(note.startswith("ICC: labels are missing") for note in every.notes)
    assert every.headline == "krippendorff-alpha-ordinal"
    assert "ICC: labels are missing" not in every.summary()
    assert "ICC: labels are missing" in agreement(table, coefficients=["icc(a,1)"]).summary()


def test_agreement_leaves_out_criteria_with_one_annotator():
    """A judge can have labelled a criterion before the humans have."""
    table = _criteria(3)
    alone = table.labels.filter(annotator="r0", criterion="fit").with_columns(criterion=pl.lit("new"))
    more = Annotations.from_frame(pl.concat([table.labels, alone]), scale="1-5")
    found = agreement(more, coefficients=["krippendorff-alpha-ordinal"])
    assert set(found.rows["criterion"]) == {"fit", "tone"}
    assert [str(one) for one in found.exclusions] == ["1 comparison: new: labels of only r0"]
    with pytest.raises(DesignError, match="agreement requires 2 annotators; the table has 1"):
        agreement(Annotations.from_frame(alone, scale="1-5"))


def test_coefficients_excluded_for_one_reason_are_one_line():
    cells = np.random.default_rng(0).integers(1, 4, (12, 32)).astype(float)
    labels = from_grid(cells, Ordinal(1, 3), names=[f"w{k:02}" for k in range(32)])
    found = agreement(labels, who=["humans"], coefficients=["cohen-kappa", "scott-pi", "krippendorff-alpha-ordinal"])
    (excluded,) = found.exclusions
    assert (excluded.count, excluded.names) == (2, ("Cohen's κ", "Scott's π"))
    assert excluded.reason == "compares two annotators, and 32 annotators have too many pairs"


def test_difference_of_a_judge_that_skips_hard_items_is_over_the_items_that_it_labelled():
    """The judge is like the annotators; humans agree less on the items that it left unanswered."""
    rng = np.random.default_rng(5)
    n = 150
    hard, truth = rng.random(n) < 0.3, rng.normal(3, 1, n)
    label = np.clip(np.round(truth + rng.normal(0, 1, (5, n)) * np.where(hard, 1.6, 0.4)), 1, 5).astype(int)
    names = np.array([f"i{k:03d}" for k in range(n)])
    frame = pl.DataFrame({
        "item": np.tile(names, 5), "annotator": np.repeat(["m", "a", "b", "c", "d"], n), "label": label.ravel(),
    })  # fmt: skip
    skips = (pl.col("annotator") != "m") | ~pl.col("item").is_in(names[hard].tolist())
    how = {"coefficients": ["krippendorff-alpha-ordinal"], "seed": 1}
    found = assay.agreement(assay.read(frame.filter(skips), judges=["m"], scale="1-5"), **how)
    easy = frame.filter(~pl.col("item").is_in(names[hard].tolist()))
    alone = assay.agreement(assay.read(easy, judges=["m"], scale="1-5"), **how)
    one, other = (each.differences.row(0, named=True) for each in (found, alone))
    assert [one[k] for k in ("estimate", "low", "high", "n")] == pytest.approx(
        [other[k] for k in ("estimate", "low", "high", "n")]
    )
    assert one["low"] < 0 < one["high"]
    assert f"minus that among humans on the {n - hard.sum()} items that it labelled = " in found.summary()
    assert "that it labelled" not in alone.summary()
