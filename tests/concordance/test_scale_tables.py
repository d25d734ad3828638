"""A study of grading scales, part by part: input, errors and sentences, calculated by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from studies import from_grid

from assay.concordance import words
from assay.concordance.coefficient import GradingScaleSettings
from assay.concordance.grading_scale import (
    ScaleTables,
    grading_scale_study,
    panel_icc,
)
from assay.concordance.measures import icc
from assay.concordance.words import JUDGES_MEAN, ONE_JUDGE, POOLED
from assay.data.annotations import Annotations
from assay.data.scales import Interval
from assay.errors import DataError, DesignError
from assay.statistics.components.variance import Components, TwoWay

SCALES = (("0-5", 5.0), ("0-10", 10.0))
NAN = float("nan")


def labels_of(cells, judges=("j",), scales=SCALES, repeats=1, about=None, items=None, change=None, **columns):
    """The same labels of 0-1 on each scale: ``cells`` by annotator, one value an item, None for no answer."""
    rows = [
        {"item": f"i{i:02d}", "annotator": name, "label": value * top, "scale": scale, "repeat": r + 1}
        for scale, top in scales for name, values in cells.items() for i, value in enumerate(values)
        for r in range(repeats) if value is not None
    ]  # fmt: skip
    frame = pl.DataFrame(rows).with_columns(**columns)
    frame = frame if change is None else change(frame)
    if repeats == 1:
        frame = frame.drop("repeat")
    there = [name for name in judges if name in cells]
    return Annotations.from_frame(
        frame, judges=there, scale=Interval(0, 100), conditions=["scale", *columns], annotator_table=about, items=items,
        repeat="repeat" if repeats > 1 else None,
    )  # fmt: skip


CELLS = {"p": [0.0, 0.4, 0.8, 1.0], "q": [0.2, 0.4, 0.6, 1.0], "j": [0.1, 0.6, 0.7, None], "k": [0.3, 0.6, 0.5, 0.9]}


def tables_of(labels=None, **options):
    labels = labels_of(CELLS, judges=("j", "k")) if labels is None else labels
    return ScaleTables(labels, GradingScaleSettings(**{"method": "none"} | options))


# -- input --------------------------------------------------------------------------------------


def test_labels_are_mapped_to_0_to_1_by_the_range_of_their_scale():
    found = tables_of()
    assert (found.scales, found.ranges) == (("0-5", "0-10"), {"0-5": (0, 5), "0-10": (0, 10)})
    wanted = np.array([[np.nan if v is None else v for v in values] for values in CELLS.values()]).T
    assert found.names == ("p", "q", "j", "k")
    for scale in found.scales:
        assert found.cells[scale] == pytest.approx(wanted, nan_ok=True)
    assert found.frame.height == 30
    pair = found.item_table().filter(scale="0-10").sort("item").select("humans", "judges").to_numpy()
    assert pair == pytest.approx(np.array([[0.1, 0.2], [0.4, 0.6], [0.7, 0.6], [1.0, 0.9]]))  # k alone on the last
    turned = tables_of(labels_of(CELLS, scales=(("0-10", 10.0), ("-1 to 1", 1.0), ("0-7", 7.0))))
    assert turned.scales == ("-1 to 1", "0-7", "0-10")  # the narrowest first


def with_label(old, new):
    """The first label of p that was one is another."""
    frame = labels_of(CELLS).labels
    changed = pl.when((pl.col("label") == old) & (pl.col("annotator") == "p")).then(new).otherwise("label")
    frame = frame.with_columns(label=changed)
    return Annotations.from_frame(frame, judges=["j"], scale=Interval(-100, 100), conditions=["scale"])


def test_labels_may_leave_their_range_by_rounding_alone():
    assert tables_of(with_label(10.0, 10 + 5e-9)).frame.height == 30
    assert tables_of(with_label(0.0, -2e-9)).frame.height == 30
    words = r"outside the range of their scale \(item"
    with pytest.raises(DataError, match=rf"1 labels are {words} 'i03', scale 0-10: 10.1\)"):
        tables_of(with_label(10.0, 10.1))
    with pytest.raises(DataError, match=rf"2 labels are {words} 'i00', scale [0-9-]+: -0.1, item 'i00', scale"):
        tables_of(with_label(0.0, -0.1))


def test_labels_without_a_scale_are_counted_and_left_out():
    def change(frame):
        bare = (pl.col("item") == "i01") & (pl.col("annotator") == "q")
        return frame.with_columns(scale=pl.when(bare & (pl.col("scale") == "0-5")).then(None).otherwise("scale"))

    found = tables_of(labels_of(CELLS, change=change))
    assert [(one.what, one.count, one.reason) for one in found.exclusions] == [("label", 1, "no scale")]
    assert found.frame.height == 29
    at = 1, found.names.index("q")
    assert np.isnan(found.cells["0-5"][at])
    assert found.cells["0-10"][at] == pytest.approx(0.4)
    assert tables_of().exclusions == []


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ((10, 10), "topic"), ((10, 9), None), ((20,), None), ((10,) * 12, "topic"), ((10,) * 13, None),
    ],
)  # fmt: skip
def test_items_are_split_by_a_column_of_few_values_with_items_enough(sizes, found):
    n = sum(sizes)
    topics = pl.DataFrame({"item": [f"i{i:02d}" for i in range(n)],
                           "topic": [f"t{k}" for k, size in enumerate(sizes) for _ in range(size)]})  # fmt: skip
    if n > 100:
        topics = topics.with_columns(item=pl.format("i{}", pl.int_range(n).cast(pl.String).str.zfill(2)))
    cells = {"p": [0.5] * n, "j": [0.4] * n}
    assert tables_of(labels_of(cells, items=topics)).by == found
    assert tables_of(labels_of(cells, items=topics), by="none").by is None
    assert tables_of(labels_of(cells, items=topics), by="topic").by == "topic"
    numbers = topics.with_columns(topic=pl.col("topic").str.slice(1).cast(pl.Int64))
    assert tables_of(labels_of(cells, items=numbers)).by is None
    alone = {"j": [0.4] * n, "k": [0.3] * n}
    assert tables_of(labels_of(alone, judges=("j", "k"), items=topics)).by is None


def test_parts_of_items_are_in_natural_order_and_those_of_none_are_one():
    topics = pl.DataFrame({"item": ["i00", "i01", "i02", "i03"], "topic": ["t10", "t9", None, "t10"]})
    found = tables_of(labels_of(CELLS, items=topics), by="topic")
    assert [(name, items.tolist()) for name, items in found.benchmarks] == [
        (POOLED, [0, 1, 2, 3]), ("(none)", [2]), ("t9", [1]), ("t10", [0, 3]),
    ]  # fmt: skip


# -- errors -----------------------------------------------------------------------------------


def test_scale_tables_requirements():
    with pytest.raises(DesignError, match="column 'scale' has 1 value; a study of scales requires two or more"):
        tables_of(labels_of(CELLS, scales=SCALES[:1]))
    with pytest.raises(DesignError, match="requires judges; the table has only humans"):
        tables_of(labels_of(CELLS, judges=()))
    with pytest.raises(DataError, match=r"'scal'.*did you mean 'scale'"):
        tables_of(scale_column="scal")
    with pytest.raises(DataError, match="'heat'"):
        tables_of(condition="heat")
    with pytest.raises(DataError, match=r"'topic'.*the table of items"):
        tables_of(by="topic")
    alone = labels_of({"j": [0.1, 0.5], "k": [0.2, 0.3]}, judges=("j", "k"), heat=pl.lit(1.0))
    for options, message in (
        ({"group": "sex"}, "the tables by group compare humans and judges; the table has only judges"),
        ({"condition": "heat"}, "the tables by condition compare humans"),
        ({"group": "sex", "condition": "heat"}, "the tables by group, by condition compare humans"),
    ):
        with pytest.raises(DesignError, match=message):
            tables_of(alone, **options)
    assert tables_of(alone).judges == ("j", "k")


def warm(**options):
    """Judges answered warm and cold, people once."""
    cells = CELLS | {"j": [0.1, 0.6, 0.7, 0.9]}
    both = [
        labels_of({name: cells[name] for name in names}, judges=("j", "k")).labels.with_columns(heat=pl.lit(heat))
        for names, heat in ((("p", "q"), None), (("j", "k"), 0.1), (("j", "k"), 1.0))
    ]
    frame = pl.concat([part.with_columns(pl.col("heat").cast(pl.Float64)) for part in both])
    labels = Annotations.from_frame(frame, judges=["j", "k"], scale=Interval(0, 10), conditions=["scale", "heat"])
    return tables_of(labels, **options)


def test_baseline_is_required_for_several_values():
    with pytest.raises(
        DesignError, match=r"labelled items more than once on scale 0-5; name the experimental condition"
    ):
        warm()
    with pytest.raises(DesignError, match=r"the judges' labels have several values of 'heat' \(0.1, 1.0\).*baseline="):
        warm(condition="heat")
    with pytest.raises(DataError, match="heat"):
        warm(condition="heat", baseline=0.5)
    found = warm(condition="heat", baseline=1.0)
    assert (found.varied, found.baseline) == ((0.1, 1.0), 1.0)
    assert "judges' labels have heat 1.0, except in the table by condition" in found.notes
    once = tables_of(labels_of(CELLS, heat=pl.lit(1.0)), condition="heat")
    assert (once.varied, once.baseline) == ((1.0,), 1.0)
    assert not any("heat" in note for note in once.notes)


# -- notes -------------------------------------------------------------------------------


def test_missing_answers_and_items_of_one_side_are_noted():
    hole = "some labels are missing; a consensus is the mean of the available labels"
    assert hole in tables_of().notes
    assert tables_of(labels_of({"p": [0.1, 0.5], "j": [0.2, 0.4]})).notes == []
    lone = {"p": [0.1, 0.5, None, None, 0.5], "j": [0.2, None, 0.4, 0.3, 0.1]}
    assert tables_of(labels_of(lone)).notes == [
        hole,
        "2 items labelled only by judges: used in the tables of reliability and consistency, not in comparisons of "
        "humans with judges",
        "1 item labelled only by humans: used in the table of reliability, not in comparisons of humans with judges",
    ]
    judges = {"j": [0.2, None, 0.4], "k": [0.1, 0.3, 0.2]}
    assert tables_of(labels_of(judges, judges=("j", "k"))).notes == [hole]


def test_parts_of_one_unit_have_no_interval():
    topics = pl.DataFrame({"item": ["i00", "i01", "i02"], "topic": ["a", "a", "b"], "book": ["x", "x", "y"]})
    labels = labels_of({"p": [0.1, 0.5, 0.3], "j": [0.2, 0.4, 0.3]}, items=topics)
    none = "no interval for {}: the variance cannot be estimated from one {}"
    assert tables_of(labels, by="topic", method="jackknife").notes == [none.format("b", "item")]
    assert tables_of(labels, by="topic", clusters="book", method="jackknife").notes == [
        none.format("a, b", "book (the clusters)")
    ]
    assert tables_of(labels, by="topic").notes == []  # no intervals requested


def test_repeats_are_reported_in_notes():
    labels = labels_of(CELLS, repeats=2)
    assert tables_of(labels, repeats="mean").notes[0] == "repeated labels: mean"
    narrow = "each repeat counts as an annotator, so intervals for random raters are too narrow"
    assert tables_of(labels, repeats="each").notes[-1] == narrow
    assert narrow not in tables_of(labels, repeats="first").notes


# -- tables --------------------------------------------------------------------------------------------


def test_repeated_answers_have_their_own_reliability():
    """ICC(1) of the repeats of an item, on each scale; for annotators who labelled two items twice."""
    noise = pl.when(pl.col("repeat") == 2).then(0.1).otherwise(0.0) * pl.when(pl.col("item") == "i01").then(
        -1
    ).otherwise(1)
    top = pl.when(pl.col("scale") == "0-5").then(5.0).otherwise(10.0)

    def change(frame):
        once = (
            (pl.col("repeat") == 1)
            | (pl.col("annotator") == "j")
            | ((pl.col("annotator") == "p") & (pl.col("item") == "i02"))
        )
        judge = pl.col("annotator") == "j"
        return frame.filter(once).with_columns(
            label=pl.when(judge).then((pl.col("label") / top + noise) * top).otherwise("label")
        )

    cells = {"p": [0.1, 0.5, 0.7], "j": [0.2, 0.6, 0.8]}
    found = pl.DataFrame(tables_of(labels_of(cells, repeats=2, change=change), repeats="first").repeats())
    alone = icc(from_grid(np.array([[0.2, 0.3], [0.6, 0.5], [0.8, 0.9]]), Interval(0, 1)), form="ICC(1)", method="none")
    assert found.select("scale", "benchmark", "annotator", "repeats", "n").rows() == [
        ("0-5", POOLED, "j", 2, 3), ("0-10", POOLED, "j", 2, 3),
    ]  # fmt: skip
    assert found["estimate"].to_list() == pytest.approx([alone.estimate] * 2)
    assert tables_of().repeats() is None


def test_item_table_sorts_by_distance():
    found = tables_of(well_aligned=0.1).item_table()
    assert found.columns[:8] == [
        "item", "scale", "humans", "judges", "nmae", "aligned", "humans_label", "judges_label",
    ]  # fmt: skip
    rows = {(r["item"], r["scale"]): r for r in found.iter_rows(named=True)}
    # People's and judges' means: .1 and .2, .4 and .6, .7 and .6, 1 and .9.
    assert {key: round(r["nmae"], 9) for key, r in rows.items()} == {
        (f"i0{i}", scale): far for scale, _ in SCALES for i, far in enumerate((0.1, 0.2, 0.1, 0.1))
    }
    assert [r[0] for r in found.rows()][:2] == ["i01", "i01"]  # the worst first
    assert not rows["i01", "0-5"]["aligned"]
    assert rows["i01", "0-5"]["humans_label"] == pytest.approx(2.0)
    assert rows["i01", "0-10"]["judges_label"] == pytest.approx(6.0)
    turned = tables_of(labels_of(CELLS, judges=("j", "k"), scales=(("-1 to 1", 1.0), ("0-10", 10.0)))).item_table()
    row = turned.filter(item="i01", scale="-1 to 1").row(0, named=True)
    assert (row["humans"], row["humans_label"]) == pytest.approx((0.7, 0.4))  # .4 on −1 to 1 is .7 of the way
    lone = {"p": [0.1, 0.5, None], "j": [0.2, None, 0.4]}
    assert tables_of(labels_of(lone)).item_table()["item"].to_list() == ["i00", "i00"]


@pytest.mark.parametrize(("well", "aligned"), [(0.125, True), (0.1249, False)])
def test_aligned_includes_limit(well, aligned):
    found = tables_of(labels_of({"p": [0.5, 0.25], "j": [0.375, 0.25]}), well_aligned=well).item_table()
    assert found.filter(item="i00")["aligned"].to_list() == [aligned] * 2
    assert found.filter(item="i01")["aligned"].to_list() == [True] * 2


def of_one_judge(tables):
    found = tables.align(ONE_JUDGE, np.arange(12))["icc"]
    return found.values, found.n


def test_single_judge_averages_judges_and_leaves_each_out():
    """Three judges show how much others would differ: without each, the mean is that of the other two."""
    rng = np.random.default_rng(1)
    truth = rng.uniform(0.2, 0.8, 12)
    cells = {name: np.clip(truth + s * rng.normal(size=12), 0, 1) for name, s in (
        ("p", 0.05), ("q", 0.1), ("a", 0.05), ("b", 0.1), ("c", 0.2),
    )}  # fmt: skip
    found = tables_of(labels_of(cells, judges=("a", "b", "c")), method="jackknife")
    one, n = of_one_judge(found)
    people = (cells["p"] + cells["q"]) / 2
    each = [icc(from_grid(np.stack([people, cells[j]], axis=1), Interval(0, 1)), method="none").estimate for j in "abc"]
    assert one.value == pytest.approx([np.mean(each)] * 2)
    assert n == (12, 12)
    others = np.array([np.mean(each[1:]), np.mean([each[0], each[2]]), np.mean(each[:2])])
    assert one.without_annotator[-1] == pytest.approx(np.column_stack([others, others]))
    assert np.isfinite([one.low, one.high]).all()
    lone = [
        np.mean([icc(from_grid(np.stack([cells[p], cells[j]], axis=1), Interval(0, 1)), method="none").estimate
                 for j in "abc"]) for p in "qp"
    ]  # fmt: skip
    assert one.without_annotator[0] == pytest.approx(np.column_stack([lone, lone]))
    two = tables_of(labels_of({k: v for k, v in cells.items() if k != "c"}, judges=("a", "b")), method="jackknife")
    assert np.isnan(of_one_judge(two)[0].low).all()
    fixed = tables_of(labels_of(cells, judges=("a", "b", "c")), method="jackknife", raters="fixed")
    assert of_one_judge(fixed)[0].without_annotator == ()


def test_panels_with_holes_are_estimated_by_components():
    whole, hole = np.array([[0.1, 0.2], [0.4, 0.5]]), np.array([[0.1, NAN], [0.4, 0.5]])
    for cells, kind in ((whole, TwoWay), (hole, Components)):
        assert isinstance(panel_icc(cells, "A,k", 2).components, kind)


# -- sentences --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plain():
    cells = {"p": [0.0, 0.4, 0.8, 1.0], "q": [0.2, 0.4, 0.6, 1.0], "j": [0.1, 0.6, 0.7, 0.9], "k": [0.3, 0.6, 0.5, 0.9]}
    return grading_scale_study(labels_of(cells, judges=("j", "k")), method="none")


def alignment_rows(*rows):
    names = ["scale", "judge", "estimate", "low", "high"]
    kinds = {**dict.fromkeys(names[:2], pl.String), **dict.fromkeys(names[2:], pl.Float64)}
    return pl.DataFrame(rows, schema=kinds, orient="row").with_columns(
        benchmark=pl.lit(POOLED), measure=pl.lit("icc"), n=pl.lit(4)
    )


def differences_rows(*rows):
    names = ["judge", "scale", "other", "estimate", "low", "high", "significant", "p_adjusted"]
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(benchmark=pl.lit(POOLED))


ALIGNED = alignment_rows(
    ("0-5", JUDGES_MEAN, 0.91, 0.85, 0.95), ("0-10", JUDGES_MEAN, 0.8, 0.7, 0.9), ("0-5", ONE_JUDGE, 0.7, 0.5, 0.8)
)
LESS = differences_rows(
    (JUDGES_MEAN, "0-5", "0-10", 0.11, 0.05, 0.2, True, 0.012),
    (JUDGES_MEAN, "0-10", "0-5", -0.11, -0.2, -0.05, True, 0.012),
    (ONE_JUDGE, "0-5", "0-10", 0.02, -0.1, 0.1, False, 0.6),
)  # fmt: skip


def test_summary_names_best_scale_and_differences(plain):
    found = dataclasses.replace(plain, best="0-5", alignment=ALIGNED, differences=LESS, judges=("j", "k", "l"))
    lines = found.summary().splitlines()
    assert lines[:4] == [
        "Use scale 0-5. ICC(A,1) of humans and judges: 0.910 [0.850, 0.950]; minus 0-10: 0.110 [0.050, 0.200] "
        "(significant, adjusted p = 0.012).",
        "A single judge on 0-5: ICC(A,1) 0.700 [0.500, 0.800]; minus 0-10: 0.020 [−0.100, 0.100] (adjusted p = 0.600).",
        "Other scales: 0-10 0.800 [0.700, 0.900].",
        "This ICC is pooled over all items. To test whether pooling inflates it, name a column with by=...",
    ]
    assert lines[4] == "On 0-5, the means of humans and judges differ by more than 0.1 of the range on 1 of 4 items."
    unsure = LESS.with_columns(significant=pl.lit(False), p_adjusted=pl.lit(0.095))
    assert dataclasses.replace(found, differences=unsure).summary().splitlines()[0] == (
        "No significant difference between scales. Highest ICC(A,1) of humans and judges: 0-5, 0.910 [0.850, 0.950]; "
        "minus 0-10: 0.110 [0.050, 0.200] (adjusted p = 0.095; the interval is not adjusted)."
    )
    settings = dataclasses.replace(found.run.settings, method="jackknife")
    two = dataclasses.replace(found, judges=("j", "k"), run=dataclasses.replace(found.run, settings=settings))
    assert words.one_judge_sentence(two) == [
        "A single judge on 0-5: ICC(A,1) 0.700 [0.500, 0.800]; two judges are too few to estimate the variation among "
        "judges."
    ]
    run = dataclasses.replace(two.run, settings=dataclasses.replace(two.run.settings, raters="fixed"))
    assert "; minus 0-10: 0.020" in words.one_judge_sentence(dataclasses.replace(two, run=run))[0]
    assert words.one_judge_sentence(dataclasses.replace(found, best="0-10")) == []


def test_without_intervals_no_scale_is_called_better(plain):
    bare = ALIGNED.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))
    found = dataclasses.replace(plain, best="0-5", alignment=bare, differences=LESS)
    assert found.summary().splitlines()[0] == (
        "Highest ICC(A,1) of humans and judges: 0-5, 0.910 (no interval). Differences between scales are not tested "
        "without intervals."
    )


def pooling_rows(*rows):
    names = ["what", "benchmark", "estimate", "low", "high", "pooled", "p", "significant"]
    return pl.DataFrame(rows, schema=names, schema_overrides={"p": pl.Float64}, orient="row")


def test_pooling_sentences_name_inflated_benchmarks(plain):
    both, panel = "humans and judges", "judges' panel"
    rows = [
        (both, "a", 0.4, 0.3, 0.5, 0.9, 0.01, True), (both, "b", 0.95, 0.9, 1.0, 0.9, 0.5, False),
        (both, "c", 0.2, 0.1, 0.3, 0.9, 0.01, True), (panel, "a", 0.8, 0.7, 0.9, 0.85, 0.4, False),
        (panel, "b", 0.85, 0.7, 0.9, 0.85, 0.4, True), (panel, "c", 0.5, 0.4, 0.6, 0.85, 0.01, True),
    ]  # fmt: skip
    found = dataclasses.replace(plain, by="topic", pooling=pooling_rows(*rows))
    assert found.illusion().select("what", "benchmark").rows() == [
        ("humans and judges", "c"), ("humans and judges", "a"), ("judges' panel", "c"), ("judges' panel", "a"),
    ]  # fmt: skip
    assert words.pooling_sentences(found) == [
        "Reliability illusion: the pooled ICC of humans and judges, 0.900, is significantly higher than the ICC within "
        "2 of 3 values of 'topic' (c 0.200 [0.100, 0.300]; a 0.400 [0.300, 0.500]).",
        "Reliability illusion: the pooled ICC of the panel of judges, 0.850, is significantly higher than the ICC "
        "within 1 of 3 values of 'topic' (c 0.500 [0.400, 0.600]).",
    ]
    none = dataclasses.replace(found, pooling=pooling_rows(rows[1], rows[3]))
    assert words.pooling_sentences(none) == [
        "Inflation of the ICC by pooling is not significant: no value of 'topic' has an ICC significantly below the "
        "pooled one."
    ]
    unknown = dataclasses.replace(found, pooling=pooling_rows((*rows[0][:6], None, False)))
    assert words.pooling_sentences(unknown) == [
        "Whether pooling inflates the ICC is not testable: no value of 'topic' has an interval."
    ]


def test_repeats_sentences_cover_best_scale_or_all_scales(plain):
    rows = [("0-5", POOLED, "j", 0.9), ("0-5", POOLED, "k", 0.8), ("0-10", POOLED, "j", 0.7), ("0-5", "a", "j", 0.1)]
    repeats = pl.DataFrame(rows, schema=["scale", "benchmark", "annotator", "estimate"], orient="row")
    repeats = repeats.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))
    found = dataclasses.replace(plain, best="0-5", repeats=repeats)
    best = "Reliability of repeated labels on 0-5, ICC(1): j 0.900 (no interval); k 0.800 (no interval)."
    assert words.repeats_sentences(found) == [best]
    other = "Reliability of repeated labels on 0-10, ICC(1): j 0.700 (no interval)."
    assert words.repeats_sentences(dataclasses.replace(found, best=None)) == [best, other]
    some = repeats.filter(pl.col("scale") == "0-5")
    assert words.repeats_sentences(dataclasses.replace(found, best=None, repeats=some)) == [best]
    assert words.repeats_sentences(plain) == []


@pytest.mark.parametrize(("scales", "joint"), [(("0-5", "0-10"), "0-5 vs 0-10"), (("a", "b", "c"), "a, b, c")])
def test_judges_only_summary_reports_consistency(plain, scales, joint):
    rows = [
        (POOLED, joint, "j", 0.9, 0.8, 0.95),
        ("x", joint, "j", 0.1, 0.0, 0.2),
        (POOLED, "a vs b", "j", 0.3, 0.2, 0.4),
    ]
    names = ["benchmark", "scales", "judge", "estimate", "low", "high"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    found = dataclasses.replace(plain, best=None, scales=scales, consistency=frame).summary().splitlines()
    assert found[:2] == [
        f"j, consistency across {joint}: ICC(A,1) 0.900 [0.800, 0.950].",
        "Scales cannot be compared by human–judge agreement: the table has no human labels.",
    ]


# -- p-values ---------------------------------------------------------------------------------------


def three_scales(seed=3, **options):
    """Judges' noise differs by scale and benchmark, so that some of the differences are significant."""
    rng = np.random.default_rng(seed)
    items = [f"{topic}{i:02d}" for topic in ("law", "art") for i in range(15)]
    rows = []
    for item in items:
        truth = rng.uniform(0.1, 0.9) if item.startswith("law") else rng.uniform(0.45, 0.55)
        for scale, top, noise in (("0-2", 2.0, 0.02), ("0-5", 5.0, 0.2), ("0-10", 10.0, 0.2)):
            rows += [
                (item, name, float(np.clip(truth + rng.normal(0, 0.03 if name < "k" else noise), 0, 1)) * top, scale)
                for name in ("a", "b", "c", "k", "l", "m")
            ]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "scale"], orient="row")
    topics = pl.DataFrame({"item": items, "topic": [item[:3] for item in items]})
    labels = Annotations.from_frame(
        frame, judges=["k", "l", "m"], scale=Interval(0, 10), conditions=["scale"], items=topics
    )
    return grading_scale_study(labels, by="topic", **options)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_scale_differences_are_adjusted_over_unordered_pairs(confidence):
    """Three pairs of scales are three hypotheses, each of them in two rows."""
    found = three_scales(confidence=confidence, raters="fixed").differences.filter(benchmark=POOLED, judge=JUDGES_MEAN)
    order = [("0-2", "0-5"), ("0-2", "0-10"), ("0-5", "0-2"), ("0-5", "0-10"), ("0-10", "0-2"), ("0-10", "0-5")]
    assert found.select("scale", "other").rows() == order
    by_pair = {(r["scale"], r["other"]): r for r in found.iter_rows(named=True)}
    single = [by_pair[a, b] for a, b in (("0-2", "0-5"), ("0-2", "0-10"), ("0-5", "0-10"))]
    p = [r["p"] for r in single]
    ranked = np.sort(p) * [3, 2, 1]  # Holm: the least three times, the next twice
    wanted = np.minimum(np.maximum.accumulate(ranked), 1)[np.argsort(np.argsort(p))]
    assert [r["p_adjusted"] for r in single] == pytest.approx(wanted)
    for one in single:
        other = by_pair[one["other"], one["scale"]]
        assert [other[name] for name in ("estimate", "low", "high")] == [-one["estimate"], -one["high"], -one["low"]]
        assert (other["p"], other["p_adjusted"]) == (one["p"], one["p_adjusted"])
        assert one["significant"] == other["significant"] == (one["p_adjusted"] <= 1 - confidence)
    assert {r["significant"] for r in single} == {True, False}


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_pooling_is_adjusted_over_benchmarks_and_kinds(confidence):
    study = three_scales(confidence=confidence)
    found = study.pooling
    assert found.select("what", "benchmark").rows() == [
        (what, topic) for what in ("humans and judges", "judges' panel") for topic in ("art", "law")
    ]  # fmt: skip
    both = study.alignment.filter(scale=study.best, judge=JUDGES_MEAN, measure="icc")
    values = dict(both.select("benchmark", "estimate").iter_rows())
    for row in found.filter(what="humans and judges").iter_rows(named=True):
        assert row["estimate"] == pytest.approx(values[row["benchmark"]])
        assert row["pooled"] == pytest.approx(values[POOLED])
        assert row["inflation"] == pytest.approx(values[POOLED] - values[row["benchmark"]])
    p = found["p"].to_numpy()
    ranked = np.sort(p) * [4, 3, 2, 1]
    wanted = np.minimum(np.maximum.accumulate(ranked), 1)[np.argsort(np.argsort(p))]
    assert found["p_adjusted"].to_list() == pytest.approx(wanted)
    higher = (found["p_adjusted"] <= 1 - confidence) & (found["inflation"] > 0)
    assert found["significant"].to_list() == higher.to_list()
    assert set(found.filter("significant")["benchmark"]) == {"art"}
    assert (found.filter(benchmark="law")["inflation"] <= 0).any()


def test_pooling_requires_benchmarks_and_humans():
    assert tables_of().pooling("0-5") == tables_of().pooling(None) == []
    one = grading_scale_study(labels_of(CELLS, judges=("j",)), by="none", method="none").pooling
    assert (one.height, one.columns[:2]) == (0, ["what", "benchmark"])
