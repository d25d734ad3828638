"""On which scale to ask."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from matplotlib.text import Text
from scipy import stats
from studies import from_grid, row, scale_study

from assay.concordance.coefficient import GradingScaleSettings
from assay.concordance.grading_scale import (
    ScaleTables,
    _range,
    grading_scale_study,
    row_means,
)
from assay.concordance.measures import icc, nmae
from assay.concordance.words import JUDGES_MEAN, ONE_JUDGE, POOLED, minus_others, scale_number
from assay.data.annotations import Annotations
from assay.data.scales import Interval
from assay.errors import DataError, DesignError


@pytest.fixture(scope="module")
def labels():
    return scale_study()


@pytest.fixture(scope="module")
def study(labels):
    return grading_scale_study(labels, by="benchmark", group="gender")


def unit_cells(labels: Annotations, scale: str, benchmark: str | None = None) -> np.ndarray:
    part = labels.where(scale=scale) if benchmark is None else labels.where(scale=scale, benchmark=benchmark)
    return part.matrix() / float(scale.split("-")[1])


@pytest.fixture(scope="module")
def these(labels):
    return grading_scale_study(labels, by="benchmark", raters="fixed")


@pytest.mark.parametrize("scale", ["0-5", "0-10", "0-100"])
@pytest.mark.parametrize("benchmark", [None, "essay"])
def test_alignment_is_the_icc_of_two_columns_of_means(labels, these, scale, benchmark):
    cells = unit_cells(labels, scale, benchmark)
    pair = from_grid(np.stack([cells[:, :6].mean(axis=1), cells[:, 6:].mean(axis=1)], axis=1), Interval(0, 1))
    place = {"scale": scale, "benchmark": benchmark or POOLED, "judge": JUDGES_MEAN}
    for measure, alone in (("icc", icc(pair, raters="fixed")), ("nmae", nmae(pair))):
        found = row(these.alignment, **place, measure=measure)
        assert (found["estimate"], found["low"], found["high"]) == pytest.approx(
            (alone.estimate, alone.low, alone.high)
        )
        assert found["n"] == len(cells)


@pytest.mark.slow
def test_reliability_is_the_icc_of_each_panel(labels, study):
    cells = unit_cells(labels, "0-10", "toxic")
    place = {"scale": "0-10", "benchmark": "toxic", "form": "ICC(A,k)"}
    humans, judges = (icc(from_grid(c, Interval(0, 1)), form="ICC(A,k)") for c in (cells[:, :6], cells[:, 6:]))
    assert row(study.reliability, **place, panel="humans")["estimate"] == pytest.approx(humans.estimate)
    assert row(study.reliability, **place, panel="judges")["estimate"] == pytest.approx(judges.estimate)
    less = row(study.reliability, **place, panel="humans - judges")
    assert less["estimate"] == pytest.approx(humans.estimate - judges.estimate)
    assert less["low"] < less["estimate"] < less["high"]


def test_consistency_across_scales_and_its_average(labels, study):
    gpt = np.stack([unit_cells(labels, s)[:, 6] for s in ("0-5", "0-10", "0-100")], axis=1)
    place = {"benchmark": POOLED, "scales": "0-5, 0-10, 0-100"}
    assert row(study.consistency, **place, judge="gpt")["estimate"] == pytest.approx(
        icc(from_grid(gpt, Interval(0, 1))).estimate
    )
    each = study.consistency.filter((pl.col("scales") == "0-5 vs 0-10") & (pl.col("benchmark") == "sts"))
    judges = each.filter(pl.col("judge") != "average")["estimate"]
    assert each.filter(pl.col("judge") == "average")["estimate"][0] == pytest.approx(judges.mean())


def test_summary_names_best_scale(study):
    assert study.best == "0-5"
    text = study.summary()
    lead = "No significant difference between scales. Highest ICC(A,1) of humans and judges: 0-5, 0.9"
    assert text.startswith(lead)
    assert "; minus 0-10: 0.0" in text
    assert "Reliability illusion: the pooled ICC of humans and judges, 0.9" in text
    assert "(essay 0." in text
    assert "A single judge on 0-5 (gpt 0.97, llama 0.96, qwen 0.97): ICC(A,1) 0.9" in text
    assert study.illusion().filter("significant")["benchmark"][0] == "essay"
    assert text.splitlines()[-1] == study.signature


def test_differences_are_paired_and_mirrored(study):
    place = {"benchmark": POOLED, "judge": JUDGES_MEAN}
    one, two = (
        row(study.differences, **place, scale="0-5", other="0-10"),
        row(study.differences, **place, scale="0-10", other="0-5"),
    )
    assert one["estimate"] == pytest.approx(-two["estimate"])
    assert one["low"] == pytest.approx(-two["high"])
    assert one["p_adjusted"] == two["p_adjusted"]
    icc_of = {s: row(study.alignment, **place, scale=s, measure="icc") for s in study.scales}
    # Paired: narrower than the two intervals would allow if they were independent.
    apart = np.hypot(*((icc_of[s]["high"] - icc_of[s]["low"]) for s in ("0-5", "0-10")))
    assert one["high"] - one["low"] < apart * 1.05


def test_groups_of_annotators(labels, study):
    cells = unit_cells(labels, "0-5")
    women = [0, 2, 4]
    pair = from_grid(np.stack([cells[:, women].mean(axis=1), cells[:, 6:].mean(axis=1)], axis=1), Interval(0, 1))
    assert row(study.groups, group="f", scale="0-5", measure="icc", benchmark=POOLED)["estimate"] == pytest.approx(
        icc(pair).estimate
    )
    within = row(study.groups, group="f", scale="0-5", measure="icc within group", benchmark=POOLED)
    assert within["estimate"] == pytest.approx(
        icc(from_grid(cells[:, women], Interval(0, 1)), form="ICC(A,k)").estimate
    )


def test_items_are_listed_with_their_text_worst_first(study):
    assert (study.items["nmae"].diff().drop_nulls() <= 0).all()
    assert study.items["aligned"].to_list() == (study.items["nmae"] <= 0.1).to_list()
    assert study.items["text"][0] == f"text of {study.items['item'][0]}"


@pytest.mark.slow
def test_another_condition_needs_a_baseline():
    labels = scale_study(temperatures=(0.1, 1.0), per_benchmark=10)
    with pytest.raises(DesignError, match="condition="):
        grading_scale_study(labels)
    with pytest.raises(DesignError, match="baseline="):
        grading_scale_study(labels, condition="temperature")
    study = grading_scale_study(labels, condition="temperature", baseline=1.0)
    assert study.conditions["temperature"].unique().sort().to_list() == [0.1, 1.0]
    main = row(study.alignment, scale="0-5", benchmark=POOLED, judge="gpt", measure="icc")
    same = row(study.conditions, scale="0-5", judge="gpt", temperature=1.0, measure="icc")
    assert main["estimate"] == pytest.approx(same["estimate"])
    assert "temperature 1.0" in study.summary()


@pytest.mark.slow
def test_repeats_and_missing_labels():
    repeated = scale_study(repeats=2, per_benchmark=10)
    with pytest.raises(DesignError, match="repeats='first'"):
        grading_scale_study(repeated)
    mean = grading_scale_study(repeated, repeats="mean")
    assert "Repeated labels: mean" in mean.summary()
    assert "too narrow" not in mean.summary(), "that is said where each repeat counts"
    holes = grading_scale_study(scale_study(missing=0.2), by="benchmark")
    assert "some labels are missing" in holes.summary().lower()
    assert holes.reliability["estimate"].null_count() == 0


@pytest.mark.slow
def test_one_seed_one_number_and_bootstraps_too(labels):
    one, two = (grading_scale_study(labels, method="percentile", n_resamples=300, seed=4) for _ in range(2))
    assert one.alignment.equals(two.alignment)
    assert "bootstrap" in one.run.interval


def test_pictures_and_storage(study):
    assert study.plot().get_ylabel() == "ICC(A,1), humans and judges"
    assert len(study.plot_icc_nmae(scale="0-5").get_lines()) == 2 + 2 * 4  # points, threshold, intervals of both
    assert "essay, 0-5" in study.plot_consensus(benchmark="essay").get_title(loc="left")
    with pytest.raises(DesignError, match="did you mean '0-10'"):
        study.plot_consensus(scale="0-11")
    stored = json.loads(json.dumps(study.to_dict()))
    assert stored["best"] == "0-5"


@pytest.mark.slow
def test_names_in_a_picture_do_not_overlap(study):
    """Neither each other nor a point, also where benchmarks lie close together."""
    ax = study.plot_icc_nmae()
    ax.figure.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in ax.texts]  # of an annotation it has its line, too
    assert {text.get_text() for text in ax.texts} == {"all", "essay", "sts", "toxic"}
    assert not any(one.overlaps(two) for i, one in enumerate(boxes) for two in boxes[i + 1 :])
    points = [p for line in ax.get_lines() if line.get_linestyle() == "None" for p in line.get_xydata()]
    places = ax.transData.transform(np.array(points))
    assert len(places) == 12
    assert not any(box.contains(*place) for box in boxes for place in places)
    assert all(ax.get_window_extent().contains(*box.min) and box.width for box in boxes)


@pytest.mark.slow
def test_errors_name_the_problem(labels):
    with pytest.raises(DataError, match="did you mean 'scale'"):
        grading_scale_study(labels, scale_column="scales")
    rows = labels.labels.filter(pl.col("scale") != "0-100")
    worded = rows.with_columns(scale=pl.col("scale").replace({"0-10": "ten"}))
    ten = Annotations.from_frame(worded, judges=labels.judges, scale=Interval(0, 100), conditions=["scale"])
    with pytest.raises(DataError, match="is not a range"):
        grading_scale_study(ten)
    assert grading_scale_study(ten, ranges={"ten": (0, 10)}).scales == ("0-5", "ten")
    with pytest.raises(DataError, match="outside the range"):
        grading_scale_study(labels, ranges={"0-100": (0, 10)})
    with pytest.raises(DesignError, match="two or more"):
        grading_scale_study(labels.where(scale="0-5"))
    with pytest.raises(DesignError, match="only humans"):
        grading_scale_study(labels.where(kind="human"))


def test_parts_of_a_page_can_be_drawn(study):
    from assay.concordance.page import grading_scale_parts

    parts = grading_scale_parts(study)
    assert parts[0].title == "Choice of rating scale"
    assert "\n".join((*parts[0].words, study.signature)) == study.summary()
    assert "By group of annotators" in [p.title for p in parts]
    for part in parts:
        assert all(caption and frame.height for caption, frame in part.frames)
        assert all(draw().figure is not None for _, draw in part.pictures)


def test_tables_name_the_form_of_each_icc(study):
    """A panel's mean is as reliable as ICC(A,k) says, one rater as ICC(A,1)."""
    from assay.concordance.page import grading_scale_parts

    forms = dict(study.table.select("what", "form").unique().rows())
    assert forms == {
        "humans": "ICC(A,k)", "judges": "ICC(A,k)", "humans - judges": "ICC(A,k)", "icc": "ICC(A,1)", "nmae": None,
        "pearson": None,
    }  # fmt: skip
    parts = {part.title: dict(part.frames) for part in grading_scale_parts(study)}
    panels = parts["Reliability of humans and judges"][
        "ICC of each panel: (A,k) of its mean label, (A,1) of one rater."
    ]
    assert set(panels["form"]) == {"ICC(A,k)", "ICC(A,1)"}
    # Table 4b: the ICC and the nMAE of each judge.
    for measure, caption in (
        ("icc", "ICC(A,1) with the mean human label."),
        ("nmae", "Distance from the mean human label (nMAE)."),
    ):
        shown = parts["Agreement by judge"][caption]
        kept = study.alignment.filter(pl.col("judge") != "judges' mean", measure=measure)
        assert shown.select("judge", "scale", "estimate").equals(kept.select("judge", "scale", "estimate"))


def test_groups_are_compared_by_benchmark(study):
    """Table 5 with its difference: women less men, pooled and on each benchmark."""
    for benchmark in (POOLED, "essay", "sts"):
        place = {"benchmark": benchmark, "scale": "0-10", "measure": "icc"}
        women, men, less = (row(study.groups, group=group, **place) for group in ("f", "m", "f - m"))
        assert less["estimate"] == pytest.approx(women["estimate"] - men["estimate"])
        assert less["low"] < less["estimate"] < less["high"]
        assert 0 <= less["p"] <= 1
        assert women["p"] is None


@pytest.mark.slow
def test_temperatures_are_compared_on_the_same_items():
    """Table 6 as a paired test: the same items and people, another temperature."""
    study = grading_scale_study(
        scale_study(per_benchmark=10, temperatures=(0.1, 1.0)), condition="temperature", baseline=1.0
    )
    place = {"scale": "0-5", "judge": "gpt"}
    cold, warm = (row(study.conditions, **place, temperature=t, measure="icc")["estimate"] for t in (0.1, 1.0))
    less = row(study.conditions, **place, temperature=0.1, measure="icc, minus 1.0")
    assert less["estimate"] == pytest.approx(cold - warm)
    assert 0 <= less["p"] <= 1


def test_items_are_shown_in_the_units_of_their_scale(study):
    shown = study.items.filter(pl.col("scale") == "0-10")
    assert shown["humans_label"].to_list() == pytest.approx((10 * shown["humans"]).to_list())


def test_judges_alone_have_table_1(labels, study):
    alone = grading_scale_study(labels.where(kind="judge"), by="benchmark")
    assert alone.best is None
    assert alone.consistency["estimate"].to_list() == pytest.approx(study.consistency["estimate"].to_list())
    judges = study.reliability.filter(pl.col("panel") == "judges")
    assert alone.reliability["estimate"].to_list() == pytest.approx(judges["estimate"].to_list())
    assert "gpt, consistency across 0-5, 0-10, 0-100: ICC(A,1)" in alone.summary()
    assert "Scales cannot be compared by human–judge agreement" in alone.summary()
    assert alone.table.height
    assert alone.plot().figure is not None
    json.dumps(alone.to_dict())
    with pytest.raises(DesignError, match="only judges"):
        alone.plot_consensus()
    with pytest.raises(DesignError, match="only humans"):
        grading_scale_study(labels.where(kind="human"))


@pytest.mark.slow
def test_repeats_have_separate_reliability():
    repeated = scale_study(repeats=3, per_benchmark=6)
    study = grading_scale_study(repeated, repeats="first", by="benchmark")
    part = repeated.labels.filter((pl.col("annotator") == "llama") & (pl.col("scale") == "0-10"))
    cells = part.pivot("repeat", index="item", values="label").drop("item").to_numpy() / 10
    found = row(study.repeats, annotator="llama", scale="0-10", benchmark=POOLED)
    alone = icc(from_grid(cells, Interval(0, 1)), form="ICC(1)", raters="fixed")
    assert (found["estimate"], found["low"], found["high"]) == pytest.approx((alone.estimate, alone.low, alone.high))
    assert (found["n"], found["repeats"]) == (18, 3)
    assert set(study.repeats["annotator"]) == {"gpt", "llama", "qwen"}
    assert "Reliability of repeated labels on 0-5, ICC(1): gpt 0." in study.summary()
    assert grading_scale_study(scale_study(per_benchmark=5)).repeats is None
    each = grading_scale_study(repeated, repeats="each")
    assert "intervals for random raters are too narrow" in each.summary()
    judges = grading_scale_study(repeated.where(kind="judge"), repeats="first")
    assert "Reliability of repeated labels on" in judges.summary()


@pytest.mark.slow
def test_items_of_judges_alone_are_said_and_panels_compared_on_the_same_items(labels, study):
    some = set(labels.items["item"].to_list()[::3])
    fewer = labels.labels.filter(pl.col("annotator").str.starts_with("p") & pl.col("item").is_in(some)).height
    kept = labels.labels.filter(~(pl.col("annotator").is_in(labels.humans) & pl.col("item").is_in(some)))
    assert fewer
    extra = Annotations.from_frame(kept, judges=labels.judges, scale=Interval(0, 100), conditions=["scale"])
    same = Annotations.from_frame(
        kept.filter(~pl.col("item").is_in(some)), judges=labels.judges, scale=Interval(0, 100), conditions=["scale"]
    )
    one, two = (grading_scale_study(x, raters="fixed") for x in (extra, same))
    place = {"scale": "0-5", "form": "ICC(A,k)"}
    assert row(one.reliability, **place, panel="judges") == row(two.reliability, **place, panel="judges")
    assert row(one.reliability, **place, panel="judges, all items")["n"] == 75
    assert row(one.reliability, **place, panel="humans")["n"] == 50
    assert row(one.reliability, **place, panel="humans - judges") == row(
        two.reliability, **place, panel="humans - judges"
    )
    assert "25 items labelled only by judges: used in the tables of reliability" in one.summary()
    assert "alone:" not in two.summary()


@pytest.mark.slow
def test_no_interval_is_no_verdict(labels):
    """Without intervals, or if a value of ``by`` is one cluster, the reason replaces the result."""
    none = grading_scale_study(labels, by="benchmark", method="none")
    assert none.summary().startswith("Highest ICC(A,1) of humans and judges: 0-5, 0.9")
    assert "Differences between scales are not tested without intervals" in none.summary()
    assert "Whether pooling inflates the ICC is not testable" in none.summary()
    assert none.differences["estimate"].null_count() == 0
    assert not none.differences["significant"].any()
    alone = grading_scale_study(labels, by="benchmark", clusters="benchmark")
    words = "No interval for essay, sts, toxic: the variance cannot be estimated from one benchmark (the clusters)"
    assert words in alone.summary()
    assert alone.alignment.filter(pl.col("benchmark") == "sts")["low"].null_count() == 39
    one = labels.items.with_columns(
        benchmark=pl.when(pl.col("item") == "sts-000").then(pl.lit("single")).otherwise("benchmark")
    )
    tiny = Annotations.from_frame(
        labels.labels, judges=labels.judges, scale=Interval(0, 100), conditions=["scale"], items=one
    )
    found = grading_scale_study(tiny, by="benchmark", group=None)
    assert "No interval for single: the variance cannot be estimated from one item" in found.summary()


def test_row_means_ignores_missing_values():
    means = row_means(np.array([[1.0, 2.0, np.nan], [np.nan, np.nan, np.nan], [3.0, np.nan, np.nan], [0.0, 0.0, 0.0]]))
    np.testing.assert_array_equal(means, [1.5, np.nan, 3.0, 0.0])


# -- sentences on scales and pooling, with and without results ---------------------------------------------


def two_scales(
    seed: int, *, items: int = 60, people: int = 12, judges: int = 6, noise: float = 1.0, shared: float = 0.0,
    unequal: float = 0.0,
) -> Annotations:  # fmt: skip
    """Two scales that differ only in judges' noise on 0-10; judges can share errors on an item."""
    rng = np.random.default_rng(seed)
    m, truth, frames = people + judges, rng.normal(size=(items, 1)), []
    names = [*(f"p{j:02d}" for j in range(people)), *(f"j{j}" for j in range(judges))]
    own = 0.6 * np.exp(unequal * rng.normal(size=m))
    for scale, more in (("0-5", 1.0), ("0-10", noise)):
        error = rng.normal(size=(items, m))
        error[:, people:] *= np.sqrt(1 - shared)
        error[:, people:] += np.sqrt(shared) * rng.normal(size=(items, 1))
        error *= own
        error[:, people:] *= more
        unit = np.clip(0.5 + (truth + 0.3 * rng.normal(size=m) + error) / 12, 0, 1)
        cells = unit * float(scale.split("-")[1])
        frames.append(pl.DataFrame({
            "item": np.repeat([f"i{i:03d}" for i in range(items)], m), "annotator": np.tile(names, items),
            "label": cells.ravel(), "scale": scale,
        }))  # fmt: skip
    frame = pl.concat(frames)
    return Annotations.from_frame(frame, judges=names[people:], scale=Interval(0, 10), conditions=["scale"])


def shown_for_one_judge(seeds: int, **world) -> int:
    found = 0
    for seed in range(seeds):
        tables = ScaleTables(two_scales(seed, **world), GradingScaleSettings())
        one = tables.align(ONE_JUDGE, np.arange(len(tables.items)))["icc"]
        found += tables.compare(one, {})[0]["significant"]
    return found


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("size", "world"),
    [((5, 3, 60), {}), ((12, 6, 60), {"shared": 0.5}), ((12, 3, 30), {"shared": 0.9}), ((5, 3, 60), {"unequal": 0.5})],
    ids=str,
)
def test_equal_scales_are_not_called_better_for_one_judge(size, world):
    people, judges, items = size
    found = shown_for_one_judge(60, people=people, judges=judges, items=items, **world)
    assert found <= stats.binom.ppf(0.999, 60, 0.05)


@pytest.mark.slow
def test_noisy_scale_is_detected_for_single_judge():
    """12 people, 6 judges, 60 items: power .8 and more, also where judges differ or share errors."""
    assert shown_for_one_judge(30, noise=2.0) >= 24
    assert shown_for_one_judge(30, noise=2.0, shared=0.9) >= 24
    assert shown_for_one_judge(30, noise=2.0, unequal=0.5) >= 21


@pytest.mark.slow
def test_two_judges_give_no_interval_for_single_judge():
    found = grading_scale_study(two_scales(0, judges=2, people=4, items=30))
    line = row(found.alignment, judge=ONE_JUDGE, scale=found.best, measure="icc", benchmark=POOLED)
    assert line["estimate"] is not None
    assert line["low"] is None
    assert "A single judge on" in found.summary()
    assert "two judges are too few to estimate the variation among judges" in found.summary()
    each = row(found.alignment, judge="j0", scale=found.best, measure="icc", benchmark=POOLED)["estimate"]
    other = row(found.alignment, judge="j1", scale=found.best, measure="icc", benchmark=POOLED)["estimate"]
    assert line["estimate"] == pytest.approx((each + other) / 2)
    assert f"A single judge on {found.best} (j0 {each:.2f}, j1 {other:.2f}): ICC(A,1)" in found.summary()
    # A mean distance is at most the range, although the variance between two judges has one degree of freedom.
    errors = found.alignment.filter(measure="nmae", judge=JUDGES_MEAN, benchmark=POOLED)
    assert errors["high"].max() <= 1
    assert (errors["low"] > 0).all()
    wide = next(one for r, one in zip(found.rows.iter_rows(named=True), found.estimates, strict=True)
                if r["what"] == "nmae" and r["benchmark"] == POOLED)  # fmt: skip
    assert wide.interval(0.999)[1] <= 1
    assert wide.interval(0.95) == pytest.approx((wide.low, wide.high))
    assert "Intervals are for other judges of the same kind; two are too few" in found.summary()
    fixed = grading_scale_study(two_scales(0, judges=2, people=4, items=30), raters="fixed")
    assert "two are too few" not in fixed.summary()


def three_benchmarks(seed: int, spreads=(0.2, 0.2, 0.2), noise=(0.07, 0.07, 0.07), per: int = 20) -> Annotations:
    """Twelve people and six judges; a benchmark with very similar items has a low ICC."""
    rng = np.random.default_rng(seed)
    names, severity = [*(f"p{j:02d}" for j in range(12)), *(f"j{j}" for j in range(6))], 0.03 * rng.normal(size=18)
    rows, items = [], []
    for b, (spread, error, mean) in enumerate(zip(spreads, noise, (0.5, 0.4, 0.7), strict=True)):
        for i in range(per):
            item, truth = f"b{b}-{i:03d}", (mean if spread < 0.1 else 0.5) + spread * rng.normal()
            items.append((item, f"b{b}"))
            for scale, top in (("0-5", 5.0), ("0-10", 10.0)):
                more = np.r_[np.full(12, 0.07), np.full(6, error)] * rng.normal(size=18)
                given = np.clip(truth + severity + more, 0, 1) * top
                rows += [(item, name, value, scale) for name, value in zip(names, given, strict=True)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "scale"], orient="row")
    about = pl.DataFrame(items, schema=["item", "benchmark"], orient="row")
    return Annotations.from_frame(frame, judges=names[12:], scale=Interval(0, 10), conditions=["scale"], items=about)


def illusions(seeds: int, **world) -> int:
    studies = (ScaleTables(three_benchmarks(seed, **world), GradingScaleSettings()) for seed in range(seeds))
    return sum(any(row["significant"] for row in study.pooling("0-5")) for study in studies)


@pytest.mark.slow
def test_illusion_is_detected_by_default():
    essay = {"spreads": (0.25, 0.25, 0.05), "noise": (0.06, 0.06, 0.11)}
    assert illusions(8, **essay) >= 6
    found = grading_scale_study(three_benchmarks(1, **essay))
    assert found.by == "benchmark"
    assert "Items are split by their column 'benchmark'; choose another with by=..." in found.summary()
    assert "higher than the ICC within 1 of 3 values of 'benchmark' (b2 0." in found.summary()
    assert found.illusion()["benchmark"][0] == "b2"
    assert "name a column with by=..." in grading_scale_study(three_benchmarks(1), by="none").summary()


@pytest.mark.simulation
def test_equal_benchmarks_are_rarely_called_inflated():
    assert illusions(50) <= stats.binom.ppf(0.999, 50, 0.05)
    assert illusions(50, spreads=(0.12, 0.12, 0.12), noise=(0.12, 0.12, 0.12)) <= stats.binom.ppf(0.999, 50, 0.05)


def test_guess_by_requires_benchmark_name_for_two_columns():
    labels = three_benchmarks(0, per=12)
    extra = labels.items.with_columns(half=pl.Series([f"h{i % 2}" for i in range(labels.items.height)]))

    def by(columns: pl.DataFrame) -> str | None:
        rows = labels.labels
        table = Annotations.from_frame(
            rows, judges=labels.judges, scale=Interval(0, 10), conditions=["scale"], items=columns
        )
        return ScaleTables(table, GradingScaleSettings()).by

    assert by(extra) == "benchmark"
    assert by(extra.rename({"benchmark": "colour"})) is None
    assert by(extra.drop("benchmark")) == "half"


def test_conditions_compare_each_judge_with_own_baseline():
    """A mean absolute error of 0.1 at the baseline, of 0.2 and 0.3 elsewhere; one judge was never asked at it."""
    people = {"p": 0.5, "q": 0.5}
    wrong = {("one", 0.1): 0.2, ("one", 1.0): 0.1, ("one", 2.0): 0.3, ("other", 0.1): 0.2, ("other", 2.0): 0.4}
    rows = []
    for i in range(6):
        truth = 0.1 * i
        for scale, top in (("0-5", 5.0), ("0-10", 10.0)):
            rows += [(f"i{i}", name, truth * top, scale, None) for name in people]
            rows += [
                (f"i{i}", name, (truth + (-1 if i > 3 else 1) * off) * top, scale, t)
                for (name, t), off in wrong.items()
            ]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "scale", "temperature"], orient="row")
    labels = Annotations.from_frame(
        frame, judges=["one", "other"], scale=Interval(0, 10), conditions=["scale", "temperature"]
    )
    found = grading_scale_study(labels, condition="temperature", baseline=1.0, method="none").conditions
    found = found.filter(scale="0-5")
    less = found.filter(measure="nmae, minus 1.0")
    assert less.select("judge", "temperature").rows() == [("one", 0.1), ("one", 2.0)]
    assert less["estimate"].to_list() == pytest.approx([0.1, 0.2])
    each = found.filter(measure="nmae").select("judge", "temperature", "estimate").rows()
    assert [(judge, t) for judge, t, _ in each] == list(wrong)
    assert [value for *_, value in each] == pytest.approx(list(wrong.values()))
    assert found["n"].to_list() == [6] * found.height


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.1, 0.3, "0.200 [0.100, 0.300]"), (0.1, None, "0.200 [0.100, ?]"), (0.1, np.inf, "0.200 [0.100, ?]"),
        (None, 0.3, "0.200 (no interval)"), (-np.inf, 0.3, "0.200 (no interval)"),
        (np.nan, None, "0.200 (no interval)"),
    ],
)  # fmt: skip
def test_scale_number_marks_missing_ends(low, high, words):
    assert scale_number({"estimate": 0.2, "low": low, "high": high}) == words
    assert scale_number({"estimate": None, "low": low, "high": high}) == "not estimable"


def test_minus_others_marks_significance():
    rows = pl.DataFrame({"other": ["a", "b"], "estimate": [0.1, -0.2], "low": [0.05, -0.3], "high": [0.2, 0.1],
                         "significant": [True, False], "p_adjusted": [0.0004, None]})  # fmt: skip
    assert minus_others(rows) == (
        "; minus a: 0.100 [0.050, 0.200] (significant, adjusted p < 0.001); minus b: −0.200 [−0.300, 0.100]"
    )  # fmt: skip


def test_range_is_read_from_scale_name():
    for name, ends in (("0-10", (0, 10)), (" -1 to 1 ", (-1, 1)), ("1..5", (1, 5)), ("0.5–2.5", (0.5, 2.5))):
        assert _range(name, None) == _range(name, {"other": (3, 4)}) == ends
    assert _range("0-10", {"0-10": (2, 3)}) == (2, 3)
    for ranges in ({"a": (1, 1)}, {"a": (2, 1)}):
        with pytest.raises(DataError, match="the range of scale 'a' must be ascending; got"):
            _range("a", ranges)
    with pytest.raises(DataError, match="the name of scale 'a' is not a range"):
        _range("a", {"b": (0, 1)})


def test_items_can_have_a_column_named_as_a_count(labels):
    items = labels.items.with_columns(count=pl.lit("few"))
    assert grading_scale_study(replace(labels, items=items), n_resamples=20).rows.height
