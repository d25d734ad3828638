"""Means of judges like these: each facet with its t, differences of systems, refusals, coverage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import assay
from assay.data.annotations import Annotations
from assay.errors import DataError, DesignError
from assay.estimates.judge_means import CrossedLabels, mean_of_cells, mean_of_judges
from selection import keep_rows


def crossed(values: np.ndarray, scale: Any = None, **items: Sequence[Any]) -> Annotations:
    """Labels of (items, judges, prompts)."""
    n, size, ways = values.shape
    rows = [
        {"item": f"i{i:04d}", "annotator": f"j{j}", "prompt": f"p{p}", "label": float(values[i, j, p])}
        for i in range(n) for j in range(size) for p in range(ways)
    ]  # fmt: skip
    about = pl.DataFrame({"item": [f"i{i:04d}" for i in range(n)], **items})
    conditions = ["prompt"] if ways > 1 else None
    frame = pl.DataFrame(rows)
    frame = frame if ways > 1 else frame.drop("prompt")
    return Annotations.from_frame(
        frame, judges=[f"j{j}" for j in range(size)], scale=scale or assay.Interval(), items=about,
        conditions=conditions or (),
    )  # fmt: skip


def study(rng: np.random.Generator, n: int, size: int, ways: int, judge: float = 0.35, prompt: float = 0.2) -> Any:
    """Items sd 1, judges, prompts, their interactions with items (.4, .3), noise .5: (items, judges, prompts)."""
    x = rng.normal(size=(n, 1, 1)) + judge * rng.normal(size=(1, size, 1)) + prompt * rng.normal(size=(1, 1, ways))
    x = x + 0.4 * rng.normal(size=(n, size, 1)) + 0.3 * rng.normal(size=(n, 1, ways))
    return x + 0.5 * rng.normal(size=(n, size, ways))


def half_width(x: np.ndarray, level: float = 0.95) -> float:
    """By the mean squares of the crossed design, one facet at a time."""
    n, size, ways = x.shape
    a, b, c = x.mean(axis=(1, 2)), x.mean(axis=(0, 2)), x.mean(axis=(0, 1))
    parts = [(a.var(ddof=1) / n, n - 1)]
    for levels, cells, k in ((b, x.mean(axis=2), size), (c, x.mean(axis=1), ways)):
        if k > 1:
            rest = cells - a[:, None] - levels + x.mean()
            shared = (rest**2).sum() / ((n - 1) * (k - 1)) / (n * k)
            parts.append((max(levels.var(ddof=1) / k - shared, 0.0), k - 1))
    return math.sqrt(sum(stats.t.ppf((1 + level) / 2, df) ** 2 * v for v, df in parts))


@pytest.mark.parametrize(("size", "ways"), [(3, 1), (4, 3)])
def test_each_facet_has_its_t(size: int, ways: int) -> None:
    x = study(np.random.default_rng(1), 40, size, ways)
    found = assay.estimate(crossed(x), judges="random", prompts="prompt" if ways > 1 else None)
    line = found.at()
    assert line.estimate == pytest.approx(x.mean())
    assert (line.low, line.high) == pytest.approx((x.mean() - half_width(x), x.mean() + half_width(x)))
    assert line.interval(0.8)[1] == pytest.approx(x.mean() + half_width(x, 0.8))
    first = found.summary().splitlines()[0]
    prompts = ", prompts like these 3" if ways == 3 else ""
    assert f"(judges like these {size}{prompts}; items like these 40)" in first
    assert "errors that all judges share are not in the intervals" in found.summary()


def test_differences_of_systems_are_paired_by_source() -> None:
    rng = np.random.default_rng(2)
    one, other = study(rng, 30, 4, 2), study(rng, 30, 4, 2) + 0.5
    both = np.concatenate([one, other])
    labels = crossed(both, system=["a"] * 30 + ["b"] * 30, source=[f"s{i}" for i in range(30)] * 2)
    found = assay.estimate(labels, judges="random", prompts="prompt", contrast="system", sources="source")
    x = one - other
    line = found.at(quantity="a − b")
    assert (line.estimate, line.high) == pytest.approx((x.mean(), x.mean() + half_width(x)))
    assert found.table["quantity"].to_list() == ["mean", "mean", "a − b"]
    assert "for judges like these" in found.summary()
    assert found.at(slice="b").estimate == pytest.approx(other.mean())


def test_shares_are_means_of_indicators_and_slices_are_simultaneous() -> None:
    rng = np.random.default_rng(3)
    yes = (study(rng, 60, 5, 1) > 0).astype(int)
    rows = [
        {"item": f"i{i:02d}", "annotator": f"j{j}", "label": ["no", "yes"][yes[i, j, 0]]}
        for i in range(60) for j in range(5)
    ]  # fmt: skip
    items = pl.DataFrame({"item": [f"i{i:02d}" for i in range(60)], "language": ["en", "de"] * 30})
    labels = Annotations.from_frame(
        pl.DataFrame(rows), judges=[f"j{j}" for j in range(5)], scale=assay.Nominal(["no", "yes"]), items=items
    )
    found = assay.estimate(labels, judges="random").at(quantity="yes")
    assert (found.estimate, found.high) == pytest.approx((yes.mean(), yes.mean() + half_width(yes.astype(float))))
    by = assay.estimate(labels, judges="random", by="language")
    assert "Brackets: 95% confidence intervals, simultaneous for the 2 slices." in by.summary()
    sliced, en = by.at(slice="en", quantity="yes"), yes[::2].astype(float)
    assert sliced.high == pytest.approx(en.mean() + half_width(en, 0.975))


def test_documents_widen_the_interval_if_their_items_are_alike() -> None:
    rng = np.random.default_rng(4)
    x = np.repeat(study(rng, 20, 3, 1), 4, axis=0) + 0.01 * rng.normal(size=(80, 3, 1))
    labels = crossed(x, document=[f"d{i // 4}" for i in range(80)])
    one, whole = (assay.estimate(labels, judges="random", clusters=c).at() for c in (None, "document"))
    assert whole.high - whole.low > one.high - one.low
    assert whole.estimate == pytest.approx(one.estimate)


def test_runs_are_averaged() -> None:
    x = study(np.random.default_rng(5), 30, 3, 1)
    again = x + 0.1
    frame = pl.concat([
        crossed(values).labels.with_columns(repeat=pl.lit(k)) for k, values in ((1, x), (2, again))
    ])  # fmt: skip
    labels = Annotations.from_frame(frame, judges=["j0", "j1", "j2"], scale=assay.Interval(), repeat="repeat")
    assert assay.estimate(labels, judges="random").at().estimate == pytest.approx(x.mean() + 0.05)


def test_one_judge_has_no_interval_and_bad_options_are_refused() -> None:
    x = study(np.random.default_rng(6), 30, 3, 2)
    labels = crossed(x)
    alone = assay.estimate(labels, "j1", judges="random", prompts="prompt")
    assert alone.table["reason"][0] == "the variance among judges cannot be estimated from one judge"
    assert "no interval" in alone.summary()
    with pytest.raises(DesignError, match=r"under several values of 'prompt'.*name it with prompts="):
        assay.estimate(labels, judges="random")
    with pytest.raises(DesignError, match=r"prompts=\.\.\. requires judges='random'"):
        assay.estimate(labels, "j0", prompts="prompt")
    with pytest.raises(DesignError, match="judges='random' uses no human labels; omit gold="):
        assay.estimate(labels, judges="random", prompts="prompt", gold="x")
    with pytest.raises(DesignError, match="means or shares from the judges' labels alone"):
        assay.estimate(labels, judges="random", prompts="prompt", raters="random")
    with pytest.raises(DataError, match="'j9' is not"):
        assay.estimate(labels, ["j0", "j9"], judges="random", prompts="prompt")


@pytest.mark.slow
@pytest.mark.parametrize(("n", "size", "ways"), [(60, 3, 1), (300, 5, 3), (300, 3, 3)])
def test_coverage_for_judges_and_prompts_like_these(n: int, size: int, ways: int) -> None:
    """400 studies a cell, SE .011; items alone cover far less, and less with more items."""
    rng, inside, items = np.random.default_rng([7, n, size]), [], []
    for _ in range(400):
        x = study(rng, n, size, ways)
        found = CrossedLabels.over_items(x).estimate(0.95)
        inside.append(found.low <= 0 <= found.high)
        a = x.mean(axis=(1, 2))
        items.append(abs(a.mean()) <= stats.t.ppf(0.975, n - 1) * a.std(ddof=1) / math.sqrt(n))
    print(f"{n=} {size=} {ways=}: {np.mean(inside):.3f}, items only {np.mean(items):.3f}")
    assert 0.92 <= np.mean(inside) <= 0.99
    assert np.mean(items) < 0.8


# -- judges rotated over items ----------------------------------------------------------------------------


def rotated(values: np.ndarray, judge: np.ndarray, shared: Sequence[int] = (), **items: Sequence[Any]) -> Annotations:
    """Labels of (items, judges), of which each item keeps one, and shared items all."""
    whole = crossed(values[:, :, None], **items)
    place = {f"i{i:04d}": f"j{judge[i]}" for i in range(len(values))}
    every = {f"i{i:04d}" for i in shared}
    kept = [who == place[item] or item in every for item, who in whole.labels.select("item", "annotator").iter_rows()]
    return keep_rows(whole, pl.Series(kept))


def test_rotated_judges_have_the_spread_of_their_means() -> None:
    rng = np.random.default_rng(7)
    x, judge = study(rng, 60, 4, 1)[:, :, 0], np.arange(60) % 4
    line = assay.estimate(rotated(x, judge), judges="random").at()
    means = np.array([x[judge == j, j].mean() for j in range(4)])
    half = stats.t.ppf(0.975, 3) * means.std(ddof=1) / 2
    assert (line.estimate, line.low, line.high) == pytest.approx(
        (means.mean(), means.mean() - half, means.mean() + half), abs=1e-12
    )
    # Items of all judges count for each of them; what they add to all is a further part.
    shared = [0, 1, 2, 3, 4, 5]
    found = assay.estimate(rotated(x, judge, shared), judges="random")
    line = found.at()
    has = (judge[:, None] == np.arange(4)) | np.isin(np.arange(60), shared)[:, None]
    means = np.array([x[has[:, j], j].mean() for j in range(4)])
    size = has.sum(axis=0)
    c = np.mean([len(shared) / (size[j] * size[k]) for j in range(4) for k in range(4) if j != k])
    v = (x[shared] - means).mean(axis=1).var(ddof=1)
    half = math.sqrt(stats.t.ppf(0.975, 3) ** 2 * means.var(ddof=1) / 4 + stats.t.ppf(0.975, 5) ** 2 * c * v)
    assert (line.estimate, line.high) == pytest.approx((means.mean(), means.mean() + half), abs=1e-12)
    assert "items dealt to judges: the mean of 4 judges' means" in " ".join(found.run.notes)
    assert not found.run.exclusions


def test_names_and_order_of_rotated_judges_change_nothing() -> None:
    rng = np.random.default_rng(10)
    x, judge = study(rng, 60, 3, 1)[:, :, 0], np.arange(60) % 3
    labels = rotated(x, judge, range(0, 60, 5))
    lines = [assay.estimate(labels, names, judges="random").at() for names in (["j0", "j1", "j2"], ["j2", "j0", "j1"])]
    frame = labels.to_polars().with_columns(
        item=pl.concat_str(pl.lit("x"), (1000 - pl.col("item").str.slice(1).cast(pl.Int64)).cast(pl.String)),
        annotator=pl.col("annotator").replace({"j0": "z", "j1": "a", "j2": "k"}),
    )
    other = Annotations.from_frame(
        frame.sample(fraction=1, shuffle=True, seed=1), judges=["z", "a", "k"], scale=assay.Interval()
    )
    lines.append(assay.estimate(other, judges="random").at())
    for one in lines[1:]:
        assert (one.estimate, one.low, one.high) == pytest.approx(
            (lines[0].estimate, lines[0].low, lines[0].high), abs=1e-12
        )


def test_rotated_differences_are_those_of_one_judge_by_source() -> None:
    rng = np.random.default_rng(8)
    x, judge = study(rng, 80, 4, 1)[:, :, 0], np.arange(80) // 2 % 4
    about = {"system": ["a", "b"] * 40, "source": [f"s{i // 2}" for i in range(80)]}
    labels = rotated(x, judge, **about)
    found = assay.estimate(labels, judges="random", contrast="system", sources="source").at(quantity="a − b")
    mine = x[np.arange(80), judge]
    apart = np.array([(mine[::2] - mine[1::2])[judge[::2] == j].mean() for j in range(4)])
    half = stats.t.ppf(0.975, 3) * apart.std(ddof=1) / 2
    assert (found.estimate, found.high) == pytest.approx((apart.mean(), apart.mean() + half))
    # Sources of all judges count for each of them.
    labels = rotated(x, judge, [*range(10), *range(40, 44)], **about)
    found = assay.estimate(labels, judges="random", contrast="system", sources="source").at(quantity="a − b")
    each = x[::2] - x[1::2]
    has = (judge[::2, None] == np.arange(4)) | np.isin(np.arange(40), [*range(5), 20, 21])[:, None]
    assert found.estimate == pytest.approx(np.mean([each[has[:, j], j].mean() for j in range(4)]), abs=1e-12)


def dealt_to_cells(
    x: np.ndarray, every: Sequence[int] = (), *, all_prompts: bool = False
) -> tuple[Annotations, np.ndarray]:
    """Items of which each has one judge and one prompt in turn, or one judge and all prompts; some have all."""
    n, judges, prompts = x.shape
    values, turn = np.full(x.shape, np.nan), np.arange(n) % (judges if all_prompts else judges * prompts)
    for i, at in enumerate(turn):
        place = at if all_prompts else divmod(at, prompts)
        values[i][place] = x[i][place]
    values[list(every)] = x[list(every)]
    whole = crossed(x)
    kept = [not np.isnan(values[int(item[1:]), int(who[1:]), int(prompt[1:])])
            for item, who, prompt in whole.labels.select("item", "annotator", "prompt").iter_rows()]  # fmt: skip
    return keep_rows(whole, pl.Series(kept)), values


@pytest.mark.parametrize("all_prompts", [False, True])
def test_items_dealt_to_judges_under_prompts_have_the_spread_of_the_cells(all_prompts: bool) -> None:
    x = study(np.random.default_rng(12), 90, 3, 2)
    labels, values = dealt_to_cells(x, all_prompts=all_prompts)
    found = assay.estimate(labels, judges="random", prompts="prompt")
    line, m = found.at(), np.nanmean(values, axis=0)
    rest = m - m.mean(axis=1, keepdims=True) - m.mean(axis=0) + m.mean()
    v_jp = (rest**2).sum() / 2 / 6
    v_j, v_p = m.mean(axis=1).var(ddof=1) / 3, m.mean(axis=0).var(ddof=1) / 2
    number = (~np.isnan(values)).sum(axis=0)
    w = (np.nanvar(values, axis=0, ddof=1) / number).sum() / 36
    two, one = stats.t.ppf(0.975, 2) ** 2, stats.t.ppf(0.975, 1) ** 2
    cells = two * v_jp if all_prompts or v_jp >= w else stats.t.ppf(0.975, 84) ** 2 * w
    half = math.sqrt(cells + two * max(v_j - v_jp, 0) + one * max(v_p - v_jp, 0))
    assert (line.estimate, line.low, line.high) == pytest.approx((m.mean(), m.mean() - half, m.mean() + half))
    assert "items dealt to judges and prompts" in " ".join(found.run.notes)


def test_items_of_all_judges_and_prompts_widen_the_interval_by_what_they_share() -> None:
    x = study(np.random.default_rng(14), 120, 3, 2)
    every = range(12)
    labels, values = dealt_to_cells(x, every)
    line, m = assay.estimate(labels, judges="random", prompts="prompt").at(), np.nanmean(values, axis=0)
    number = (~np.isnan(values)).sum(axis=0).reshape(-1)
    judge = np.repeat(np.arange(3), 2)
    c = np.mean([12 / (number[a] * number[b]) for a in range(6) for b in range(6) if judge[a] != judge[b]])
    v = (x[:12] - m).mean(axis=(1, 2)).var(ddof=1)
    alone = values.copy()
    rest = m - m.mean(axis=1, keepdims=True) - m.mean(axis=0) + m.mean()
    v_jp = (rest**2).sum() / 2 / 6
    v_j, v_p = m.mean(axis=1).var(ddof=1) / 3, m.mean(axis=0).var(ddof=1) / 2
    w = (np.nanvar(alone, axis=0, ddof=1) / number.reshape(3, 2)).sum() / 36
    two, one = stats.t.ppf(0.975, 2) ** 2, stats.t.ppf(0.975, 1) ** 2
    cells = two * v_jp if v_jp >= w else stats.t.ppf(0.975, 114) ** 2 * w
    shared = stats.t.ppf(0.975, 11) ** 2 * c * v
    half = math.sqrt(cells + two * max(v_j - v_jp, 0) + one * max(v_p - v_jp, 0) + shared)
    assert (line.estimate, line.high) == pytest.approx((m.mean(), m.mean() + half))


def test_few_items_of_a_judge_under_a_prompt_have_no_interval() -> None:
    labels, _ = dealt_to_cells(study(np.random.default_rng(15), 24, 3, 2))
    line = assay.estimate(labels, judges="random", prompts="prompt").at()
    assert math.isnan(line.low)
    assert line.reason == "a judge has 4 items under a prompt; 5 are required"


@pytest.mark.slow
@pytest.mark.parametrize("every", [0.0, 0.1])
@pytest.mark.parametrize("all_prompts", [False, True])
@pytest.mark.parametrize(("judges", "prompts"), [(3, 3), (6, 2)])
def test_coverage_of_items_dealt_to_judges_under_prompts(
    judges: int, prompts: int, all_prompts: bool, every: float
) -> None:
    # Judges sd .35, prompts .2, both .1, of 90 items, 200 studies: .945 to .988 in the recorded run.
    rng, inside = np.random.default_rng([21, judges, all_prompts, int(10 * every)]), []
    for _ in range(200):
        sd = ((90, 1, 1), 1.0), ((1, judges, 1), 0.35), ((1, 1, prompts), 0.2), ((1, judges, prompts), 0.1)
        x = sum(rng.normal(0, one, shape) for shape, one in (*sd, ((90, judges, 1), 0.4), ((90, judges, prompts), 0.5)))
        values, order = np.full(x.shape, np.nan), rng.permutation(90)
        for k, i in enumerate(order):
            at = k % judges if all_prompts else divmod(k % (judges * prompts), prompts)
            place = slice(None) if k < 90 * every else at
            values[i][place] = x[i][place]
        line = mean_of_cells(values, np.arange(90), 0.95)
        inside.append(line.low <= 0 <= line.high)
    print(f"{judges=} {prompts=} {all_prompts=} {every=}: {np.mean(inside):.3f}")
    assert 0.91 <= np.mean(inside) <= 1


def test_gaps_of_a_judge_are_no_rotation() -> None:
    """One judge has every item, the others only some of them: the items of all are crossed."""
    x = study(np.random.default_rng(13), 60, 3, 1)[:, :, 0]
    found = assay.estimate(rotated(x, np.zeros(60, dtype=int), range(12)), judges="random")
    assert found.at().estimate == pytest.approx(x[:12].mean(), abs=1e-12)
    assert [str(one) for one in found.run.exclusions] == ["48 items: without a label of every judge and prompt"]


def test_rotated_judges_of_few_items_have_no_interval() -> None:
    x = study(np.random.default_rng(9), 12, 3, 1)[:, :, 0]
    line = assay.estimate(rotated(x, np.arange(12) % 3), judges="random").at()
    assert math.isnan(line.low)
    assert line.reason == "a judge has 4 items; 5 are required"


@pytest.mark.slow
@pytest.mark.parametrize(("n", "size", "judge"), [(90, 3, 0.5), (90, 9, 0.5), (450, 5, 0.0), (450, 5, 0.5)])
def test_coverage_of_rotated_judges(n: int, size: int, judge: float) -> None:
    """400 studies a cell, SE .011; the truth is 0. An interval over labels as if of one judge is far too narrow."""
    rng, inside, plain = np.random.default_rng([9, n, size, int(10 * judge)]), [], []
    for _ in range(400):
        x = study(rng, n, size, 1, judge=judge, prompt=0)[:, :, 0]
        turn = rng.permutation(np.arange(n) % size)
        dealt = np.where(turn[:, None] == np.arange(size), x, np.nan)
        line = mean_of_judges(dealt, np.arange(n), 0.95)
        inside.append(line.low <= 0 <= line.high)
        mine = x[np.arange(n), turn]
        plain.append(abs(mine.mean()) <= 1.96 * mine.std(ddof=1) / math.sqrt(n))
    print(f"{n=} {size=} {judge=}: {np.mean(inside):.3f}, as of one judge {np.mean(plain):.3f}")
    assert 0.925 <= np.mean(inside) <= 0.98
    assert judge == 0 or np.mean(plain) < 0.85


@pytest.mark.slow
@pytest.mark.parametrize("dealt", ["items", "documents"])
@pytest.mark.parametrize("document", [0.0, 1.0])
def test_coverage_of_rotated_judges_in_documents(dealt: str, document: float) -> None:
    """300 studies a cell, SE .013: 30 documents of 10 items, a tenth of the items of all judges, 5 judges."""
    rng, inside, unit = np.random.default_rng([11, len(dealt), int(document)]), [], np.arange(300) // 10
    for _ in range(300):
        x = study(rng, 300, 5, 1, judge=0.2, prompt=0)[:, :, 0] + document * rng.normal(size=30)[unit][:, None]
        turn = rng.permutation(np.arange(300) % 5) if dealt == "items" else rng.permutation(np.arange(30) % 5)[unit]
        shared = np.isin(np.arange(300), rng.choice(300, 30, replace=False))
        labels = np.where((turn[:, None] == np.arange(5)) | shared[:, None], x, np.nan)
        line = mean_of_judges(labels, unit, 0.95)
        inside.append(line.low <= 0 <= line.high)
    print(f"{dealt=} {document=}: {np.mean(inside):.3f}")
    assert 0.91 <= np.mean(inside) <= 0.995
