"""Differences between systems labelled by one judge: paired by source, corrected for judge bias."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import stdtrit

import assay
import references
from assay.data.scales import Interval
from assay.errors import DataError, DesignError
from assay.estimates.checked import ONE_HUMAN, SpotChecks
from assay.estimates.contrasts import (
    SourcePairs,
    SystemContrast,
    SystemMean,
    _source_means,
    corrected_difference,
    judge_only_difference,
    known_output_variance,
)
from assay.estimates.words import contrast_sentence
from assay.estimation.intervals import Estimate, missing
from selection import keep_rows


def two_systems(
    seed: int, *, effect: float = 0.0, liked: float = 0.0, sources: int = 400, labelled: int = 80
) -> assay.Annotations:
    """Two systems answer the same sources; the judge likes length, and new outputs are longer.

    ``effect`` is the true difference of human labels, ``liked`` the judge's bias for the length of the new system.
    """
    rng = np.random.default_rng(seed)
    easy = rng.normal(size=sources)
    some = np.sort(rng.permutation(sources)[:labelled])
    rows, items = [], []
    for system in ("new", "old"):
        z = easy + 0.7 * rng.normal(size=sources) + (effect if system == "new" else 0.0)
        length = 100 + 30 * rng.normal(size=sources) + (40 if system == "new" else 0)
        judge = z + 0.6 * rng.normal(size=sources) + liked * (length - 100) / 40
        names = [f"{system} {s:04d}" for s in range(sources)]
        items += [
            {"item": n, "system": system, "source": f"s{s:04d}", "length": x}
            for s, (n, x) in enumerate(zip(names, length, strict=True))
        ]
        rows += [{"item": n, "annotator": "judge", "label": v} for n, v in zip(names, judge, strict=True)]
        rows += [
            {"item": names[s], "annotator": who, "label": z[s] + 0.5 * rng.normal()}
            for who in ("ann", "bob")
            for s in some
        ]
    return assay.Annotations.from_frame(
        pl.DataFrame(rows), judges=["judge"], scale=assay.Interval(), items=pl.DataFrame(items)
    )


def drawn_by(seed: int, design: str, *, sources: int = 400, labelled: int = 80, people: int = 1, lean: float = 0.0):
    """Two systems as good as each other, whose judge adds .4 to the first; sources drawn for people by a design.

    ``lean`` is the standard deviation of each annotator's bias for one system.
    """
    rng = np.random.default_rng(seed)
    cluster = np.arange(sources) // 10
    easy = rng.normal(size=sources)
    tilt = np.zeros(sources)
    if design == "clusters":
        tilt = 0.6 * rng.normal(size=sources // 10)[cluster]
    hard = easy + 0.3 * rng.normal(size=sources) > 1
    chance = np.full(sources, labelled / sources)
    some = [np.sort(rng.permutation(sources)[:labelled])] * 2
    if design == "probabilities":
        chance = np.minimum(np.where(hard, 3.0, 1.0) * labelled / np.where(hard, 3.0, 1.0).sum(), 1)
        some = [np.flatnonzero(rng.random(sources) < chance)] * 2
    if design == "clusters":
        some = [np.flatnonzero(np.isin(cluster, rng.permutation(sources // 10)[: labelled // 10]))] * 2
    if design == "strata":  # drawn for each system apart
        some = [
            np.sort(np.concatenate([rng.permutation(np.flatnonzero(hard == h))[: labelled // 2] for h in (0, 1)]))
            for _ in range(2)
        ]
    rows, items = [], []
    for k, system in enumerate(("new", "old")):
        z = easy + (0.5 - k) * tilt + 0.5 * rng.normal(size=sources)
        judge = z + 0.6 * rng.normal(size=sources) + (0.4 if k == 0 else 0.0)
        names = np.array([f"{system} {s:04d}" for s in range(sources)])
        items.append(pl.DataFrame({
            "item": names, "system": system, "source": [f"s{s:04d}" for s in range(sources)],
            "document": [f"d{c:03d}" for c in cluster], "hard": hard.astype(str), "chance": chance,
        }))  # fmt: skip
        rows.append(pl.DataFrame({"item": names, "annotator": "judge", "label": judge}))
        for p in range(people):
            given = z[some[k]] + 0.5 * rng.normal(size=len(some[k])) + lean * rng.normal()
            rows.append(pl.DataFrame({"item": names[some[k]], "annotator": f"p{p}", "label": given}))
    return assay.Annotations.from_frame(
        pl.concat(rows), judges=["judge"], scale=assay.Interval(), items=pl.concat(items)
    )


DESIGNS = {
    "probabilities": {"probabilities": "chance"}, "clusters": {"clusters": "document"}, "strata": {"strata": "hard"},
}  # fmt: skip


def slow_contrast(labels: assay.Annotations, design: str, weights: dict[str, float]) -> tuple[float, float, float]:
    """The difference, its standard error and its half-width, unit by unit, from the formulas."""
    about = {row["item"]: row for row in labels.items.iter_rows(named=True)}
    judge, person = ({row["item"]: row["label"] for row in labels.labels.filter(pl.col("annotator") == who)
                      .iter_rows(named=True)} for who in ("judge", "p0"))  # fmt: skip
    unit = {name: row["document" if design == "clusters" else "source"] for name, row in about.items()}
    stratum = {name: row["hard"] if design == "strata" else "" for name, row in about.items()}
    phi, mass, value = dict.fromkeys(unit.values(), 0.0), dict.fromkeys(unit.values(), 0.0), 0.0
    for system, sign in (("new", 1.0), ("old", -1.0)):
        everything = [name for name, row in about.items() if row["system"] == system]
        mine = [name for name in everything if name in person]
        n_of = {h: sum(stratum[i] == h for i in mine) for h in stratum.values()}
        all_of = {h: sum(stratum[i] == h for i in everything) for h in stratum.values()}
        w = {i: 1 / about[i]["chance"] if design == "probabilities" else all_of[stratum[i]] / n_of[stratum[i]]
             for i in mine}  # fmt: skip
        total, lam = sum(w.values()), weights[system]
        y, f = (sum(w[i] * x[i] for i in mine) / total for x in (person, judge))
        overall = sum(judge[i] for i in everything) / len(everything)
        value += sign * (y + lam * (overall - f))
        loads = len({unit[i] for i in mine}) if design == "clusters" else len(mine)
        factor = math.sqrt(loads / (loads - 1) * (len(mine) - 1) / (len(mine) - 2))
        e = {i: w[i] / total * (person[i] - y - lam * (judge[i] - f)) * factor for i in mine}
        sums = {h: sum(e[i] for i in mine if stratum[i] == h) for h in n_of}
        for i in everything:
            h = stratum[i]
            add = lam * (judge[i] - overall) / len(everything)
            if i in e:
                apart = (e[i] - sums[h] / n_of[h]) * math.sqrt(n_of[h] / (n_of[h] - 1)) if design == "strata" else e[i]
                add += apart
                mass[unit[i]] += w[i] / total
            if design == "strata":
                add += sums[h] / all_of[h]
            phi[unit[i]] += sign * add
    error = math.sqrt(sum(x * x for x in phi.values()))
    a = np.array(list(mass.values()))
    df = (a**2).sum() ** 2 / (a**4).sum() - (2 if design == "clusters" else 3)
    return value, error, float(stdtrit(df, 0.975)) * error


def contrast(labels, **options):
    return assay.estimate(labels, "judge", contrast="system", sources="source", **options)


def test_contrast_is_difference_of_means_and_pairing_narrows_it():
    found = contrast(two_systems(1, effect=0.3))
    rows = {row["quantity"] if row["slice"] is None else row["slice"]: row for row in found.table.iter_rows(named=True)}
    new, old, both = rows["new"], rows["old"], rows["new − old"]
    assert both["estimate"] == pytest.approx(new["estimate"] - old["estimate"])
    apart = np.hypot(new["high"] - new["low"], old["high"] - old["low"])
    assert both["high"] - both["low"] < 0.9 * apart
    assert both["n"] == 80


@pytest.mark.simulation
def test_judge_preference_is_not_a_difference():
    """The judge says +.09 and more where the truth is 0; a difference is shown in at most 5%, and .95 are covered."""
    shown, covered, judge = [], [], []
    for seed in range(200):
        row = contrast(two_systems(seed, liked=0.4)).contrasts[0]
        shown.append(row.p_adjusted <= 0.05)
        covered.append(row.found.low <= 0 <= row.found.high)
        judge.append(row.judge.low > 0)
    assert np.mean(judge) > 0.95
    assert np.mean(shown) < 0.05 + 2 * 0.0154
    assert np.mean(covered) > 0.95 - 2 * 0.0154


def test_true_difference_is_significant_with_judge_only_estimate():
    found = contrast(two_systems(4, effect=0.6, liked=0.5), length="length")
    words = found.summary()
    assert "new − old: +" in words
    assert "; new is significantly higher. Judge only: +1." in words
    one = found.contrasts[0]
    assert one.found.low < 0.6 < one.found.high
    assert one.judge.low > one.found.estimate
    assert one.by_length.low < 0.5 < one.by_length.high
    assert "is associated with length" in words


def test_length_part_requires_five_sources():
    labels = two_systems(3, sources=5, labelled=5, effect=0.5)
    assert np.isfinite(contrast(labels, length="length").contrasts[0].by_length.estimate)
    unknown = pl.when(pl.col("source") != "s0000").then("length")
    fewer = assay.Annotations.from_frame(
        labels.labels, judges=["judge"], scale=assay.Interval(), items=labels.items.with_columns(length=unknown)
    )
    assert np.isnan(contrast(fewer, length="length").contrasts[0].by_length.estimate)


@pytest.mark.slow
def test_length_part_of_indifferent_judge_is_zero():
    inside = []
    for seed in range(100):
        one = contrast(two_systems(seed, sources=100, labelled=30), length="length").contrasts[0]
        inside.append(one.by_length.low <= 0 <= one.by_length.high)
    assert np.mean(inside) > 0.95 - 2 * 0.022


def test_contrasts_are_adjusted_together_and_use_baseline():
    labels = two_systems(5, effect=0.5)
    third = labels.labels.filter(pl.col("item").str.starts_with("old")).with_columns(
        item="mid" + pl.col("item").str.slice(3)
    )
    items = labels.items.filter(pl.col("system") == "old").with_columns(
        item="mid" + pl.col("item").str.slice(3), system=pl.lit("mid")
    )
    labels = assay.Annotations.from_frame(
        pl.concat([labels.labels, third]), judges=["judge"], scale=assay.Interval(),
        items=pl.concat([labels.items, items]),
    )  # fmt: skip
    board = contrast(labels)
    assert [c.first + c.second for c in board.contrasts] == ["midnew", "midold", "newold"]
    same = board.contrasts[1]
    assert same.found.reason == "the systems do not differ in any pair"  # a copy
    assert all(c.p_adjusted >= c.p for c in board.contrasts if np.isfinite(c.p))
    against = contrast(labels, baseline="old")
    assert [(c.first, c.second) for c in against.contrasts] == [("mid", "old"), ("new", "old")]
    with pytest.raises(DesignError, match="did you mean 'old'"):
        contrast(labels, baseline="olds")


def test_one_system_or_no_sources_are_refused():
    labels = two_systems(1)
    with pytest.raises(DesignError, match="has one system"):
        contrast(labels.where(system="new"))
    with pytest.raises(DesignError, match="paired by source"):
        assay.estimate(labels, "judge", contrast="system")


@pytest.mark.parametrize("design", DESIGNS)
def test_differences_of_drawn_outputs_are_those_of_the_formulas(design):
    labels = drawn_by(3, design, sources=240, labelled=80)
    found = contrast(labels, **DESIGNS[design])
    one = found.contrasts[0]
    value, error, half = slow_contrast(labels, design, {line.slice: line.weight for line in found.lines})
    assert one.found.estimate == pytest.approx(value, rel=1e-10)
    assert one.found.standard_error == pytest.approx(error, rel=1e-10)
    assert one.found.high - one.found.estimate == pytest.approx(half, rel=1e-10)
    plain = contrast(labels, sampling="trust").contrasts[0]
    assert plain.found.high - plain.found.low != pytest.approx(2 * half, rel=1e-3)


def test_clusters_widen_and_the_judge_s_own_difference_too():
    labels = drawn_by(4, "clusters")
    drawn, plain = (contrast(labels, **how).contrasts[0] for how in ({"clusters": "document"}, {"sampling": "trust"}))
    for one, other in ((drawn.found, plain.found), (drawn.judge, plain.judge)):
        assert one.high - one.low > 1.3 * (other.high - other.low)
    sums = labels.items.join(labels.labels.filter(pl.col("annotator") == "judge"), on="item")
    wide = sums.pivot("system", index=["source", "document"], values="label")
    by = wide.select("document", d=pl.col("new") - pl.col("old")).group_by("document").agg(pl.col("d").mean())["d"]
    # Forty documents of ten sources each: the judge's difference is the mean of their means.
    assert drawn.judge.standard_error == pytest.approx(by.std() / math.sqrt(40), rel=1e-10)


def test_unequal_labelling_of_systems_is_a_valid_sample():
    labels = two_systems(2)
    seen = labels.labels.filter((pl.col("annotator") == "ann") & pl.col("item").str.starts_with("old"))["item"]
    few = seen.sample(25, seed=1)
    kept = ~(
        labels.labels["annotator"].is_in(["ann", "bob"])
        & labels.labels["item"].str.starts_with("old")
        & ~labels.labels["item"].is_in(few.implode())
    )
    found = contrast(keep_rows(labels, kept))
    assert [line.n for line in found.lines] == [80, 25]
    assert not found.cautions
    first = two_systems(2)
    early = first.labels["item"].str.slice(4) < "0080"
    only = (first.labels["annotator"] == "judge") | early
    with pytest.raises(DesignError, match="early in the order"):
        contrast(keep_rows(first, only))


def test_people_like_these_widen_a_difference_by_how_they_lean():
    labels = drawn_by(5, "alike", people=3, lean=0.3)
    fixed, random = (contrast(labels, raters=who).contrasts[0] for who in ("fixed", "random"))
    assert random.found.estimate == fixed.found.estimate
    each = [
        contrast(labels, annotators=[p]).contrasts[0].humans_only.estimate for p in ("p0", "p1", "p2")
    ]  # of each annotator, with all of them giving the same labels
    half = (random.humans_only.high - random.humans_only.low) / 2
    own = (fixed.humans_only.high - fixed.humans_only.low) / 2
    between = float(stdtrit(2, 0.975)) * np.std(each, ddof=1) / math.sqrt(3)
    assert half == pytest.approx(math.hypot(own, between), rel=1e-10)
    lone = contrast(drawn_by(5, "alike"), raters="random").contrasts[0]
    assert math.isnan(lone.found.low)
    assert "cannot be estimated from one annotator" in lone.found.reason


def test_contrast_refuses_unpaired_data():
    labels = drawn_by(1, "strata", sources=60, labelled=20)
    seen = labels.labels.filter(pl.col("annotator") == "p0")["item"].implode()
    odd = labels.items.with_columns(
        document=pl.when(pl.col("item") == "old 0003").then(pl.lit("d005")).otherwise("document"),
        gap=pl.when(pl.col("item") == "new 0002").then(None).otherwise("source"),
        third=pl.when(pl.col("item").is_in(seen)).then(pl.lit("a")).otherwise(pl.lit("b")) + pl.col("system"),
    )
    labels = assay.Annotations.from_frame(labels.labels, judges=["judge"], scale=assay.Interval(), items=odd)
    with pytest.raises(DesignError, match="'source' s0003 has outputs in several clusters of 'document'"):
        contrast(labels, clusters="document", sampling="trust")
    with pytest.raises(DataError, match="1 item without 'gap', such as 'new 0002'"):
        assay.estimate(labels, "judge", contrast="system", sources="gap", sampling="trust")
    with pytest.raises(DesignError, match="2 strata of 'third' have no labelled item"):
        contrast(labels, strata="third")
    twice = labels.items.with_columns(source=pl.col("source").str.replace("s0001", "s0000"))
    labels = assay.Annotations.from_frame(labels.labels, judges=["judge"], scale=assay.Interval(), items=twice)
    whole = contrast(labels, sampling="trust", population="finite")
    assert "differences of systems are for sources like these" in " ".join(whole.notes)


def spread(labels: assay.Annotations, **options) -> tuple[float, float]:
    """Variances of the difference, of outputs like these and of these alone, people's labels only."""
    return tuple(
        contrast(labels, population=p, sampling="trust", **options).contrasts[0].humans_only.standard_error ** 2
        for p in ("infinite", "finite")
    )


@pytest.mark.parametrize("design", ["alike", "clusters"])
def test_finite_contrast_removes_known_part(design):
    """80 of 240 sources by the same people, or 8 of 24 whole documents: a third of the variance is known."""
    wide, narrow = spread(drawn_by(3, design, sources=240, labelled=80, people=2), **DESIGNS.get(design, {}))
    assert narrow == pytest.approx(wide * 2 / 3, rel=1e-10)


def test_finite_contrast_with_different_sources_per_system():
    """Unequal loads, half of the sources shared: by a double loop over people and systems."""
    labels = drawn_by(6, "alike", sources=120, labelled=60, people=2)
    given, item = labels.labels["annotator"], labels.labels["item"]
    number = item.str.slice(4).cast(pl.Int64)
    gone = ((given == "p0") & item.str.starts_with("new") & (number < 40)) | (
        (given == "p1") & item.str.starts_with("old") & (number > 60)
    )
    labels = keep_rows(labels, ~gone)
    wide, narrow = spread(labels)
    columns = {}
    for system, sign in (("new", 1), ("old", -1)):
        for person in ("p0", "p1"):
            mine = labels.labels.filter((pl.col("annotator") == person) & pl.col("item").str.starts_with(system))
            y = dict(zip(mine["item"].str.slice(4), mine["label"], strict=True))
            mean, n = np.mean(list(y.values())), len(y)
            columns[system, person] = sign, {s: (v - mean) / 2 / math.sqrt(n * (n - 1)) for s, v in y.items()}
    lost = 0.0
    for sign, first in columns.values():
        for other, second in columns.values():
            both = first.keys() & second.keys()
            assert len(both) >= 10
            ratio = len(first) * len(second) / len(both) / 120
            lost += sign * other * ratio * sum(first[s] * second[s] for s in both)
    assert narrow == pytest.approx(wide - lost, rel=1e-10)


def test_finite_contrast_of_labelled_outputs_is_a_count():
    found = contrast(drawn_by(1, "alike", sources=40, labelled=40), population="finite").contrasts[0]
    assert math.isnan(found.found.low)
    assert "a count without sampling error" in found.found.reason
    apart = contrast(drawn_by(1, "strata", sources=60, labelled=40), population="finite", strata="hard").contrasts[0]
    assert apart.found.standard_error < contrast(drawn_by(1, "strata", sources=60, labelled=40), strata="hard"
                                                 ).contrasts[0].found.standard_error  # fmt: skip


def same_outputs(seed: int, design: str) -> tuple[assay.Annotations, float]:
    """Labels of half of 200 sources by three people, and their true difference on all 200."""
    whole = drawn_by(seed, "alike", sources=200, labelled=200, people=3, lean=0.3)
    person = whole.labels["annotator"] != "judge"
    item, label = whole.labels["item"], whole.labels["label"]
    new = item.str.starts_with("new")
    truth = label.filter(person & new).mean() - label.filter(person & ~new).mean()
    rng = np.random.default_rng(10_000 + seed)
    number = item.str.slice(4).cast(pl.Int64).to_numpy()
    draw = {key: rng.permutation(200) < 100 for key in ("new", "old")}
    if design != "apart":
        draw["old"] = draw["new"]
    kept = np.where(new.to_numpy(), draw["new"][number], draw["old"][number])
    if design == "loads":
        lazy = (whole.labels["annotator"] == "p0").to_numpy()
        kept &= ~lazy | (rng.permutation(200) < 80)[number]
    return keep_rows(whole, pl.Series(kept) | ~person), truth


@pytest.mark.simulation
@pytest.mark.parametrize("design", ["alike", "apart", "loads"])
def test_differences_of_these_outputs_cover_the_difference_of_these(design):
    """100 studies: standard error .0218."""
    inside, narrower = [], []
    for seed in range(100):
        labels, truth = same_outputs(seed, design)
        one = contrast(labels, sampling="trust", population="finite").contrasts[0].found
        inside.append(one.low <= truth <= one.high)
        if seed < 20:  # widths differ little between studies
            wide = contrast(labels, sampling="trust", population="infinite").contrasts[0].found
            narrower.append((one.high - one.low) / (wide.high - wide.low))
    assert 0.95 - 2 * 0.0218 < np.mean(inside) < 0.995
    assert np.mean(narrower) < 0.9


@pytest.mark.simulation
@pytest.mark.parametrize("design", [*DESIGNS, "alike"])
def test_differences_cover_however_outputs_were_drawn(design):
    """The judge adds .4 to one system; the truth is 0. 150 studies: standard error .0178."""
    found = [
        contrast(drawn_by(seed, design, labelled=100, people=1 + (design == "clusters")), sampling="trust",
                 **DESIGNS.get(design, {})).contrasts[0]
        for seed in range(150)
    ]  # fmt: skip
    assert np.mean([one.found.low <= 0 <= one.found.high for one in found]) > 0.95 - 2 * 0.0178
    # The judge alone is nearly always wrong.
    assert np.mean([one.judge.low <= 0 <= one.judge.high for one in found]) < 0.1
    width, alone = (np.mean([x.high - x.low for x in xs]) for xs in ([c.found for c in found],
                                                                     [c.humans_only for c in found]))  # fmt: skip
    assert width <= 1.03 * alone


def test_systems_without_a_shared_source_are_compared_by_all_their_outputs():
    labels = two_systems(1, effect=0.3)
    apart = labels.items.with_columns(source=pl.col("item"))
    found = contrast(dataclasses.replace(labels, items=apart))
    (one,) = found.contrasts
    assert (one.n, one.n_all) == (160, 800)
    assert one.found.estimate == pytest.approx(found.lines[0].found.estimate - found.lines[1].found.estimate)
    assert one.judge.estimate == pytest.approx(found.lines[0].judge_only - found.lines[1].judge_only)
    assert "adjusted for severity" not in found.summary()
    assert " corrected (adjusted p" in found.summary()


@pytest.mark.parametrize("clusters", [None, "document"])
def test_judge_adds_nothing_if_annotators_labelled_all_items(clusters):
    labels = two_systems(2, sources=60, labelled=60)
    number = pl.col("source").str.slice(1).cast(pl.Int64) // 4
    found = contrast(dataclasses.replace(labels, items=labels.items.with_columns(document=number)), clusters=clusters)
    for one in (*found.lines, *found.contrasts):
        each = [(x.estimate, x.low, x.high) for x in (one.found, one.humans_only)]
        assert each[0] == pytest.approx(each[1], rel=1e-12)
    assert [one.equivalent_labels for one in found.lines] == [0, 0]


def test_shares_of_categories_are_compared_by_label():
    """The shares of a label are the means of its indicator; of two labels, the difference of one is that of the other
    with another sign, and both are one test."""
    labels = two_systems(1, effect=0.5)
    cut = pl.when(pl.col("label") > 0.6).then(pl.lit("good")).when(pl.col("label") > -0.4).then(pl.lit("fair"))
    names = {"judges": ["judge"], "items": labels.items}
    words = labels.labels.with_columns(label=cut.otherwise(pl.lit("bad")))
    found = contrast(assay.Annotations.from_frame(words, scale="nominal:bad,fair,good", **names))
    assert [(one.label, one.first, one.second) for one in found.contrasts] == [
        (word, "new", "old") for word in ("bad", "fair", "good")
    ]  # fmt: skip
    row = found.table.filter(slice="new − old", quantity="good").row(0, named=True)
    shares = {one.slice: one.found.estimate for one in found.lines if one.quantity == "good"}
    assert row["estimate"] == pytest.approx(shares["new"] - shares["old"])
    assert found.at(slice="new − old", quantity="good").estimate == row["estimate"]
    assert "new − old, share of 'good': +0." in found.summary()
    number = words.with_columns(label=(pl.col("label") == "good").cast(pl.Int64))
    alone = contrast(assay.Annotations.from_frame(number, scale="0-1", **names)).contrasts[0]
    assert (alone.humans_only.estimate, alone.judge.estimate) == pytest.approx(
        (row["humans_only"], row["judge_only"])
    )  # fmt: skip
    p = sorted(one.p for one in found.contrasts)
    holm = np.maximum.accumulate([min(p[0] * 3, 1), min(p[1] * 2, 1), p[2]])
    assert sorted(one.p_adjusted for one in found.contrasts) == pytest.approx(holm)
    two = words.with_columns(pl.col("label").replace("bad", "fair"))
    first, second = contrast(assay.Annotations.from_frame(two, scale="nominal:fair,good", **names)).contrasts
    assert first.found.estimate == pytest.approx(-second.found.estimate)
    assert (first.p_adjusted, second.p_adjusted) == pytest.approx((second.p, second.p))


# -- one difference by hand -----------------------------------------------------------------------------

ONE = SystemContrast(
    "new", "old", Estimate(0.3, 0.1, 0.5, 0.1), Estimate(0.2, -0.1, 0.5, 0.15), Estimate(0.6, 0.5, 0.7, 0.05),
    missing("no column of lengths"), 0.004, 80, 400, 0.05,
)  # fmt: skip


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "+0.30 [0.10, 0.50] corrected (adjusted p = 0.050); new is significantly higher."),
        ({"p_adjusted": 0.051}, "+0.30 [0.10, 0.50] corrected (adjusted p = 0.051); no significant difference."),
        ({"found": Estimate(-0.3, -0.5, -0.1, 0.1)},
         "−0.30 [−0.50, −0.10] corrected (adjusted p = 0.050); old is significantly higher."),
        ({"found": Estimate(-0.3, math.nan, math.nan, math.nan, "the labels do not vary")},
         "−0.30, no interval: the labels do not vary."),
    ],
)  # fmt: skip
def test_contrast_sentence(given, words):
    text = contrast_sentence(dataclasses.replace(ONE, **given), 0.95, "holm")
    assert text == f"new − old: {words} Judge only: +0.60 [0.50, 0.70]. Humans only: +0.20 [−0.10, 0.50]."


def test_contrast_sentence_without_adjustment():
    assert "corrected (p = 0.050); new is" in contrast_sentence(ONE, 0.95, "none")


def test_contrast_sentence_reports_length():
    text = contrast_sentence(dataclasses.replace(ONE, by_length=Estimate(0.2, 0.1, 0.3, 0.05)), 0.95, "holm")
    assert "Judge only: +0.60 [0.50, 0.70], of which +0.20 [0.10, 0.30] is associated with length. Humans" in text


def test_contrast_sentence_names_severity_only_where_it_was_adjusted():
    """Without a shared source, the judge's difference has no interval."""
    one = dataclasses.replace(ONE, judge=Estimate(0.6, math.nan, math.nan, math.nan, "no shared source"))
    assert contrast_sentence(one, 0.95, "holm") == (
        "new − old: +0.30 [0.10, 0.50] corrected (adjusted p = 0.050); new is significantly higher. Judge only: +0.60. "
        "Humans only: +0.20 [−0.10, 0.50]."
    )
    severe = dataclasses.replace(ONE, judge=missing("no judge"), adjusted_for="severity")
    assert contrast_sentence(severe, 0.95, "holm") == (
        "new − old: +0.30 [0.10, 0.50] adjusted for severity (adjusted p = 0.050); new is significantly higher. "
        "Without adjustment: +0.20 [−0.10, 0.50]."
    )


def test_contrast_row():
    assert ONE.adjusted(0.5).row() == {
        "slice": None, "quantity": "new − old", "estimate": 0.3, "low": 0.1, "high": 0.5, "n": 80, "items": 400,
        "judge_only": 0.6, "humans_only": 0.2, "humans_only_low": -0.1, "humans_only_high": 0.5,
        "equivalent_labels": None, "weight": None, "reason": None, "p": 0.004, "p_adjusted": 0.5, "length": None,
    }  # fmt: skip
    assert dataclasses.replace(ONE, by_length=Estimate(0.2, 0.1, 0.3, 0.05)).row()["length"] == 0.2


def mean_of(value, phi, mass, *, people=None, labelled=True, cells=None):
    n = len(phi)
    return SystemMean(
        value, np.array(phi, float), np.array(mass, float), np.full(n, labelled), np.ones(n, bool),
        people or {"a": value}, np.full((n, 1), math.nan) if cells is None else cells, np.zeros(n, int),
    )  # fmt: skip


@pytest.mark.parametrize(("clusters", "df"), [(None, 3), (np.arange(6), 4)])
def test_contrast_by_hand(clusters, df):
    """Six units of equal mass count as six: three degrees of freedom, four of clusters. Σ (φ₁ − φ₂)² = 6 · .01."""
    first, second = mean_of(0.7, [0.2] * 6, [1 / 6] * 6), mean_of(0.4, [0.1] * 6, [1 / 6] * 6)
    one = corrected_difference(first, second, SourcePairs(np.arange(6), clusters), 0.9)
    half = stats.t.ppf(0.95, df) * math.sqrt(0.06)
    assert (one.estimate, one.low, one.high) == pytest.approx((0.3, 0.3 - half, 0.3 + half))
    # Masses of 3, 1, 1, 1, 1 squared add up to 13, their fourth powers to 85: 1.99 units leave one degree at the least.
    uneven = mean_of(0.7, [0.2] * 6, [3, 1, 1, 1, 1, 0])
    one = corrected_difference(uneven, mean_of(0.4, [0.1] * 6, [0] * 6), SourcePairs(np.arange(6), clusters), 0.9)
    assert one.high - one.estimate == pytest.approx(stats.t.ppf(0.95, 1) * math.sqrt(0.06))


@pytest.mark.parametrize(("n", "clusters", "reason"), [
    (5, None, None), (4, None, "humans labelled outputs of 4 sources; 5 are required"),
    (4, np.arange(6), "humans labelled outputs of 4 clusters; 5 are required"),
])  # fmt: skip
def test_contrast_requires_five_labelled_units(n, clusters, reason):
    """Whichever of the two systems has the label."""
    mass = np.r_[np.ones(n), np.zeros(6 - n)]
    first, second = (
        mean_of(0.7, [0.2] * 6, mass * [1, 0, 1, 0, 1, 0]),
        mean_of(0.4, [0.1] * 6, mass * [0, 1, 0, 1, 0, 1]),
    )
    one = corrected_difference(first, second, SourcePairs(np.arange(6), clusters), 0.9)
    assert one.reason == reason
    assert math.isnan(one.estimate) == (reason is not None)


def test_people_like_these_lean_to_one_system():
    """Of a: .9 and .5, of b: .7 and .7. Each adds √2 / 2 of what it is off: .4 less .2 is .2 for a, −.2 for b."""
    first = mean_of(0.8, [0.2] * 6, [1] * 6, people={"a": 0.9, "b": 0.7})
    second = mean_of(0.6, [0.1] * 6, [1] * 6, people={"a": 0.5, "b": 0.7})
    assert first.people == pytest.approx({"a": 0.1 * math.sqrt(2) / 2, "b": -0.1 * math.sqrt(2) / 2})
    one = corrected_difference(first, second, SourcePairs(np.arange(6), random=True), 0.9)
    between = 2 * (0.2 * math.sqrt(2) / 2) ** 2
    half = math.sqrt(stats.t.ppf(0.95, 3) ** 2 * 0.06 + stats.t.ppf(0.95, 1) ** 2 * between)
    assert one.high - one.estimate == pytest.approx(half)
    fixed = corrected_difference(first, second, SourcePairs(np.arange(6)), 0.9)
    assert fixed.high - fixed.estimate == pytest.approx(stats.t.ppf(0.95, 3) * math.sqrt(0.06))
    # An annotator of one system alone leans by all of it.
    other = mean_of(0.6, [0.1] * 6, [1] * 6, people={"a": 0.5, "c": 0.7})
    apart = corrected_difference(first, other, SourcePairs(np.arange(6), random=True), 0.9)
    between = (0.2**2 + 0.1**2 + 0.1**2) / 2
    half = math.sqrt(stats.t.ppf(0.95, 3) ** 2 * 0.06 + stats.t.ppf(0.95, 1) ** 2 * between)
    assert apart.high - apart.estimate == pytest.approx(half)
    lone = corrected_difference(first, mean_of(0.6, [0.1] * 6, [1] * 6), SourcePairs(np.arange(6), random=True), 0.9)
    assert lone.estimate == pytest.approx(0.2)
    assert lone.reason == ONE_HUMAN
    assert math.isnan(mean_of(0.5, [0.1], [1], people={"a": 0.7}).people["a"])


def test_equal_differences_have_the_sign_test_and_a_count_has_no_interval():
    def found(finite, labelled, phi=0.1, cells=None):
        first = mean_of(0.8, [phi] * 6, [1] * 6, labelled=labelled, cells=cells)
        return corrected_difference(
            first, mean_of(0.6, [0.1] * 6, [1] * 6), SourcePairs(np.arange(6), finite=finite), 0.9
        )

    for one in (found(finite=False, labelled=True), found(finite=True, labelled=False)):
        assert (one.reason, one.p()) == (None, pytest.approx(2 / 2**6))
        assert (one.low, one.high) == pytest.approx((0.2 * references.wilson(6, 6, 0.9)[0], 0.2))
    assert (
        found(finite=True, labelled=True).reason
        == "humans labelled every output, so this is a count without sampling error"
    )
    assert found(finite=True, labelled=True, phi=0.2).reason is None


def test_known_output_variance_by_hand():
    """A system whose lone person labelled all six loses all of its variance, Σ e² = .06; of six in twelve, half."""
    every = mean_of(0.8, [0.1] * 6, [1] * 6, cells=np.full((6, 1), 0.1))
    none = mean_of(0.6, [0] * 6, [1] * 6, cells=np.zeros((6, 1)))
    assert known_output_variance(every, none) == pytest.approx(0.06)
    assert known_output_variance(none, every) == pytest.approx(0.06)
    assert known_output_variance(every, every) == pytest.approx(0)
    half = mean_of(0.8, [0.1] * 12, [1] * 12, cells=np.r_[np.full(6, 0.1), np.full(6, math.nan)][:, None])
    nothing = mean_of(0.6, [0] * 12, [1] * 12, cells=np.zeros((12, 1)))
    assert known_output_variance(half, nothing) == pytest.approx(0.03)
    # If the system has at most nine outputs, six of nine.
    strata = dataclasses.replace(half, strata=np.r_[np.zeros(9, int), np.full(3, -1)])
    assert known_output_variance(strata, nothing) == pytest.approx(0.06 * 6 / 9)


# -- the judge alone ------------------------------------------------------------------------------------


def outputs(values, mine):
    none = np.empty(0)
    labels = SpotChecks(
        judges=("m",), people=("ann",), scale=Interval(0, 10), categories=None, n_all=len(values),
        values=np.array(values, float)[:, None], counts=None, position=none.astype(int), row=none.astype(int),
        person=none.astype(int), y=none, judged=none, weight=none, fingerprint="",
    )  # fmt: skip
    return labels, lambda values, counts: values[:, 0], np.array(mine)


def judged_pairs(first, second, **more):
    """Outputs of each source by two systems: the first system's come first."""
    n = len(first)
    here = np.arange(2 * n) < n
    sources = np.tile(np.arange(n), 2)
    return outputs(first, here), outputs(second, ~here), SourcePairs(sources, **more)


def test_judge_only_difference_is_paired():
    """1, 2, 3, 6: their mean is 3, Σ off² = 14, and the variance of the mean 14 / 3 / 4."""
    judge, length = judge_only_difference(*judged_pairs([2, 3, 4, 7], [1, 1, 1, 1]), 0.9)
    error = math.sqrt(14 / 12)
    half = stats.t.ppf(0.95, 3) * error
    assert (judge.estimate, judge.low, judge.high, judge.standard_error) == pytest.approx(
        (3, 3 - half, 3 + half, error)
    )
    assert length.reason == "no column of lengths"
    # Sources of one system only are not pairs; three pairs are needed.
    unpaired, _ = judge_only_difference(*judged_pairs([2, 3, 4, 7], [1, 1, 1, math.nan]), 0.9)
    assert (unpaired.estimate, unpaired.standard_error) == pytest.approx((2, math.sqrt(2 / 2 / 3)))
    few, _ = judge_only_difference(*judged_pairs([2, 3, 4, 7], [1, 1, math.nan, math.nan]), 0.9)
    assert (few.estimate, math.isnan(few.low)) == (4 - 1, True)
    assert few.reason == "the judge labelled outputs of both systems for fewer than 3 sources"
    # In two clusters: (−2 − 1) / 4 and (0 + 3) / 4 squared, twice over one degree of freedom.
    clusters = np.tile([0, 0, 1, 1], 2)
    judge, _ = judge_only_difference(*judged_pairs([2, 3, 4, 7], [1, 1, 1, 1], clusters=clusters), 0.9)
    assert judge.standard_error == pytest.approx(math.sqrt(2 * 2 * 9 / 16))
    assert judge.high - judge.estimate == pytest.approx(stats.t.ppf(0.95, 1) * judge.standard_error)
    one, _ = judge_only_difference(*judged_pairs([2, 3, 4, 7], [1, 1, 1, 1], clusters=np.zeros(8, int)), 0.9)
    assert (one.estimate, one.reason) == (3, "the sources are in too few clusters")


def test_a_difference_that_is_the_same_in_every_pair_has_the_sign_test():
    """Of 80 questions, two annotators label 40; A is 1 lower than B in each pair, by everyone."""
    rows = [
        {"item": f"q{i:02}-{s}", "annotator": who, "label": i % 3 + 1 + (s == "B"), "system": s, "question": f"q{i:02}"}
        for i in range(80)
        for s in "AB"
        for who in (("gpt", "ann", "bob") if i % 2 else ("gpt",))
    ]
    labels = assay.read(pl.DataFrame(rows), judges=["gpt"], scale="1-5", item="item")
    found = assay.estimate(labels, "gpt", contrast="system", sources="question")
    (one,) = found.contrasts
    for estimate, n in ((one.found, 40), (one.judge, 80)):
        assert (estimate.low, estimate.high) == pytest.approx((-1, -references.wilson(n, n)[0]))
        assert estimate.p() == pytest.approx(2 / 2**n)
    assert one.p == pytest.approx(2 / 2**40)
    assert "A − B: −1.00 [−1.00, −0.91]" in found.summary()
    # By rounding alone: .1 is not exact.
    judge, _ = judge_only_difference(*judged_pairs(np.arange(9) + 0.1, np.arange(9.0)), 0.9)
    assert (judge.estimate, judge.high > 0.1 * 0.75) == (pytest.approx(0.1), True)
    assert judge.low == pytest.approx(0.1 * references.wilson(9, 9, 0.9)[0])


def test_length_part_is_slope_times_mean():
    d, longer = np.array([1.0, 2, 2, 4, 6, 5]), np.array([1.0, 2, 3, 4, 5, 9])
    fit = stats.linregress(longer, d)
    first, second, pairs = judged_pairs(d + 1, np.ones(6), length=np.r_[longer + 7, np.full(6, 7.0)])
    _, part = judge_only_difference(first, second, pairs, 0.9)
    error = fit.stderr * longer.mean()
    half = stats.t.ppf(0.95, 4) * error
    assert (part.estimate, part.standard_error) == pytest.approx((fit.slope * longer.mean(), error))
    assert (part.low, part.high) == pytest.approx((part.estimate - half, part.estimate + half))
    # Three clusters of two: what each adds to the slope is summed there, over one degree of freedom.
    clustered = dataclasses.replace(pairs, clusters=np.tile([0, 0, 1, 1, 2, 2], 2))
    _, part = judge_only_difference(first, second, clustered, 0.9)
    dx = longer - longer.mean()
    sums = (dx * (d - fit.intercept - fit.slope * longer)).reshape(3, 2).sum(axis=1) / (dx @ dx)
    assert part.standard_error == pytest.approx(math.sqrt(3 * sums @ sums) * longer.mean())
    same = dataclasses.replace(pairs, length=np.full(12, 7.0))
    assert judge_only_difference(first, second, same, 0.9)[1].reason == "no column of lengths"
    for n, known in ((5, True), (4, False)):
        some = dataclasses.replace(pairs, length=np.where(np.tile(np.arange(6) < n, 2), pairs.length, math.nan))
        assert math.isfinite(judge_only_difference(first, second, some, 0.9)[1].estimate) == known


def test_outputs_of_a_source_count_by_their_mean():
    sources = np.array([0, 0, 1, 2, 2, 0])
    one = outputs([1, 3, 5, math.nan], np.arange(6) < 4)
    assert _source_means(one, sources, 3, None)[:2].tolist() == [2, 5]
    assert np.isnan(_source_means(one, sources, 3, None)[2])
    assert _source_means(one, sources, 3, np.array([2.0, 4, 8, 16, 32, 64])).tolist() == [3, 8, 16]


def test_sources_lie_in_units():
    plain = SourcePairs(np.array([0, 1, 1, 2]))
    assert (plain.n_sources, plain.units.tolist(), plain.unit_of_source.tolist()) == (3, [0, 1, 1, 2], [0, 1, 2])
    assert len(plain.divided) == 0
    apart = SourcePairs(np.array([0, 1, 1, 2]), np.array([3, 3, 4, 4]))
    assert (apart.units.tolist(), apart.divided.tolist()) == ([3, 3, 4, 4], [1])
    assert SourcePairs(np.array([0, 1, 1, 2]), np.array([3, 4, 4, 4])).unit_of_source.tolist() == [3, 4, 4]


@pytest.mark.parametrize(
    ("clusters", "whole", "scattered", "kept"),
    [(False, False, False, False), (True, True, False, True), (True, False, True, False), (True, False, False, None),
     (True, True, True, True)],
)  # fmt: skip
def test_when_a_difference_may_be_of_these_outputs_alone(clusters, whole, scattered, kept):
    """Without clusters, or with those that are labelled whole; scattered items leave the clusters away."""
    drawn = SimpleNamespace(whole=whole, scattered=scattered)
    checks = SimpleNamespace(drawn=lambda population: drawn if population == "finite" else None)
    pairs = SourcePairs(np.array([0, 1, 0, 1]), np.array([0, 0, 0, 0]) if clusters else None)
    here = np.array([True, True, False, False])
    systems = {"a": (checks, None, here), "b": (checks, None, ~here)}
    found = pairs.same_outputs(systems)
    assert (found and found.finite, found and found.clusters is not None) == (
        (True, kept) if kept is not None else (None,) * 2
    )
    assert pairs.same_outputs({"a": (checks, None, np.array([True, True, True, False]))}) is None


def rare_in_groups(seed: int, bias: float = 0.0) -> assay.Annotations:
    """600 items in three groups with 5% positives in each, 100 labelled by two people; the judge errs on 3%."""
    rng = np.random.default_rng(seed)
    group, truth = rng.choice(3, 600), rng.random(600) < 0.05
    names = [f"i{k:03d}" for k in range(600)]
    some = rng.permutation(600)[:100]

    def by(wrong: np.ndarray | float) -> np.ndarray:
        return np.where(rng.random(600) < wrong, ~truth, truth).astype(int)

    judge, ann, bob = by(0.03 + bias * (group == 1)), by(0.01), by(0.01)
    rows = [{"item": n, "annotator": "judge", "label": int(y)} for n, y in zip(names, judge, strict=True)]
    rows += [
        {"item": names[k], "annotator": w, "label": int(y[k])} for w, y in (("ann", ann), ("bob", bob)) for k in some
    ]
    items = pl.DataFrame({"item": names, "group": [f"g{g}" for g in group], "source": names})
    return assay.Annotations.from_frame(pl.DataFrame(rows), judges=["judge"], scale="0-1", items=items)


def test_contrast_of_rare_labels_is_from_the_ends_of_both_means():
    """Newcombe's method 10, of independent groups: √((a − l)² + (u − b)²) from the ends of each group's own mean."""
    found = assay.estimate(rare_in_groups(3), "judge", contrast="group", sources="source")
    ends = {line.slice: line.found for line in found.lines}
    for one in found.contrasts:
        a, b = ends[one.first], ends[one.second]
        low = one.found.estimate - math.hypot(a.estimate - a.low, b.high - b.estimate)
        high = one.found.estimate + math.hypot(a.high - a.estimate, b.estimate - b.low)
        assert (one.found.low, one.found.high) == pytest.approx((low, high), abs=1e-12)
        level = 1 - one.p
        assert min(abs(end) for end in one.found.interval(level)) == pytest.approx(0, abs=1e-6)


def test_contrast_of_groups_without_any_positive_label_has_an_interval():
    labels = rare_in_groups(3)
    none = labels.labels.with_columns(label=pl.lit(0))
    quiet = assay.Annotations.from_frame(
        none.select("item", "annotator", "label"), judges=["judge"], scale="0-1", items=labels.items
    )
    for one in assay.estimate(quiet, "judge", contrast="group", sources="source").contrasts:
        assert one.found.estimate == 0
        assert -0.2 < one.found.low < 0 < one.found.high < 0.2
        assert one.p > 0.9


@pytest.mark.simulation
def test_contrasts_of_rare_labels_are_seldom_false():
    """By normal intervals 26% of such studies had a significant difference of groups that do not differ."""
    found = [
        assay.estimate(
            rare_in_groups(seed, bias=0.05), "judge", contrast="group", sources="source", sampling="trust"
        ).contrasts
        for seed in range(150)
    ]
    assert sum(any(one.p_adjusted <= 0.05 for one in each) for each in found) <= 15  # 5% of 150, and 2.7 errors
    covered = [one.found.low <= 0 <= one.found.high for each in found for one in each]
    assert sum(covered) >= 0.93 * len(covered)
