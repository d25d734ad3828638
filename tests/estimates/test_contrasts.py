"""Differences of systems that one judge labelled: paired on sources, corrected for what the judge likes."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy.special import stdtrit

import assay
from assay.errors import DataError, DesignError


def two_systems(
    seed: int, *, effect: float = 0.0, liked: float = 0.0, sources: int = 400, labelled: int = 80
) -> assay.Annotations:
    """Two systems answer the same sources; the judge likes length, and new outputs are longer.

    ``effect`` is the true difference of people's labels, ``liked`` what the judge adds for the new system's length.
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

    ``lean`` is the spread of what each person adds to one system.
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


def test_the_difference_is_that_of_the_means_and_pairing_narrows_it():
    found = contrast(two_systems(1, effect=0.3))
    rows = {row["of"] if row["slice"] is None else row["slice"]: row for row in found.table.iter_rows(named=True)}
    new, old, both = rows["new"], rows["old"], rows["new − old"]
    assert both["estimate"] == pytest.approx(new["estimate"] - old["estimate"])
    apart = np.hypot(new["high"] - new["low"], old["high"] - old["low"])
    assert both["high"] - both["low"] < 0.9 * apart
    assert both["n"] == 80


@pytest.mark.slow
def test_what_the_judge_likes_is_no_difference():
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


def test_a_true_difference_is_shown_and_said_beside_the_judge_s():
    found = contrast(two_systems(4, effect=0.6, liked=0.5), length="length")
    words = found.summary()
    assert "new against old: the judge says +1." in words
    assert "new is ahead (p" in words
    one = found.contrasts[0]
    assert one.found.low < 0.6 < one.found.high
    assert one.judge.low > one.found.estimate
    assert one.by_length.low < 0.5 < one.by_length.high
    assert "goes with length" in words


def test_a_part_that_length_makes_needs_five_sources():
    labels = two_systems(3, sources=5, labelled=5, effect=0.5)
    assert np.isfinite(contrast(labels, length="length").contrasts[0].by_length.estimate)
    unknown = pl.when(pl.col("source") != "s0000").then("length")
    fewer = assay.Annotations.from_frame(
        labels.labels, judges=["judge"], scale=assay.Interval(), items=labels.items.with_columns(length=unknown)
    )
    assert np.isnan(contrast(fewer, length="length").contrasts[0].by_length.estimate)


@pytest.mark.slow
def test_a_judge_that_does_not_see_length_has_no_part_of_it():
    inside = []
    for seed in range(100):
        one = contrast(two_systems(seed, sources=100, labelled=30), length="length").contrasts[0]
        inside.append(one.by_length.low <= 0 <= one.by_length.high)
    assert np.mean(inside) > 0.95 - 2 * 0.022


def test_a_board_has_one_correction_and_a_baseline():
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
    assert same.found.reason == "the labels do not vary"  # a copy differs in nothing
    assert all(c.p_adjusted >= c.p for c in board.contrasts if np.isfinite(c.p))
    against = contrast(labels, baseline="old")
    assert [(c.first, c.second) for c in against.contrasts] == [("mid", "old"), ("new", "old")]
    with pytest.raises(DesignError, match="did you mean 'old'"):
        contrast(labels, baseline="olds")


def test_one_system_or_no_sources_are_refused():
    labels = two_systems(1)
    with pytest.raises(DesignError, match="names one system"):
        contrast(labels.where(system="new"))
    with pytest.raises(DesignError, match="paired on sources"):
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


def test_a_system_of_which_people_labelled_more_is_no_doubt_about_the_sample():
    labels = two_systems(2)
    seen = labels.labels.filter((pl.col("annotator") == "ann") & pl.col("item").str.starts_with("old"))["item"]
    few = seen.sample(25, seed=1)
    kept = ~(
        labels.labels["annotator"].is_in(["ann", "bob"])
        & labels.labels["item"].str.starts_with("old")
        & ~labels.labels["item"].is_in(few.implode())
    )
    found = contrast(labels._keep_rows(kept))
    assert [line.n for line in found.lines] == [80, 25]
    assert not found.cautions
    first = two_systems(2)
    early = first.labels["item"].str.slice(4) < "0080"
    only = (first.labels["annotator"] == "judge") | early
    with pytest.raises(DesignError, match="early in the order"):
        contrast(first._keep_rows(only))


def test_people_like_these_widen_a_difference_by_how_they_lean():
    labels = drawn_by(5, "alike", people=3, lean=0.3)
    fixed, random = (contrast(labels, raters=who).contrasts[0] for who in ("fixed", "random"))
    assert random.found.estimate == fixed.found.estimate
    each = [
        contrast(labels, annotators=[p]).contrasts[0].people.estimate for p in ("p0", "p1", "p2")
    ]  # of each person alone, with all of them labelling alike
    half = (random.people.high - random.people.low) / 2
    own = (fixed.people.high - fixed.people.low) / 2
    between = float(stdtrit(2, 0.975)) * np.std(each, ddof=1) / math.sqrt(3)
    assert half == pytest.approx(math.hypot(own, between), rel=1e-10)
    lone = contrast(drawn_by(5, "alike"), raters="random").contrasts[0]
    assert math.isnan(lone.found.low)
    assert "one person cannot show" in lone.found.reason


def test_what_cannot_be_paired_is_refused():
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
    assert "differences of systems are of sources like these" in " ".join(whole.notes)


def spread(labels: assay.Annotations, **options) -> tuple[float, float]:
    """Variances of the difference, of outputs like these and of these alone, people's labels only."""
    return tuple(
        contrast(labels, population=p, sampling="trust", **options).contrasts[0].people.standard_error ** 2
        for p in ("infinite", "finite")
    )


@pytest.mark.parametrize("design", ["alike", "clusters"])
def test_of_these_outputs_alone_the_part_that_was_labelled_is_known(design):
    """80 of 240 sources by the same people, or 8 of 24 whole documents: a third of the variance is known."""
    wide, narrow = spread(drawn_by(3, design, sources=240, labelled=80, people=2), **DESIGNS.get(design, {}))
    assert narrow == pytest.approx(wide * 2 / 3, rel=1e-10)


def test_of_sources_that_differ_from_system_to_system_each_has_its_own_part():
    """Unequal loads, half of the sources shared: by a double loop over people and systems."""
    labels = drawn_by(6, "alike", sources=120, labelled=60, people=2)
    given, item = labels.labels["annotator"], labels.labels["item"]
    number = item.str.slice(4).cast(pl.Int64)
    gone = ((given == "p0") & item.str.starts_with("new") & (number < 40)) | (
        (given == "p1") & item.str.starts_with("old") & (number > 60)
    )
    labels = labels._keep_rows(~gone)
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


def test_of_outputs_that_are_all_labelled_a_difference_is_a_count():
    found = contrast(drawn_by(1, "alike", sources=40, labelled=40), population="finite").contrasts[0]
    assert math.isnan(found.found.low)
    assert "a count and no estimate" in found.found.reason
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
    return whole._keep_rows(pl.Series(kept) | ~person), truth


@pytest.mark.slow
@pytest.mark.parametrize("design", ["alike", "apart", "loads"])
def test_differences_of_these_outputs_cover_the_difference_of_these(design):
    """100 studies: standard error .0218."""
    inside, narrower = [], []
    for seed in range(100):
        labels, truth = same_outputs(seed, design)
        one, wide = (
            contrast(labels, sampling="trust", population=p).contrasts[0].found for p in ("finite", "infinite")
        )
        inside.append(one.low <= truth <= one.high)
        narrower.append((one.high - one.low) / (wide.high - wide.low))
    assert 0.95 - 2 * 0.0218 < np.mean(inside) < 0.995
    assert np.mean(narrower) < 0.9


@pytest.mark.slow
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
                                                                     [c.people for c in found]))  # fmt: skip
    assert width <= 1.03 * alone
