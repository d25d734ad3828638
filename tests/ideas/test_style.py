"""Style: by hand, a measure that does not move, judges' numbers, what is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

import assay
import references
from assay.errors import DataError, DesignError
from assay.estimation.resampling import resampling_counts
from assay.ideas.style import StyleEffect, _PercentChange

NONE = float("nan")

COLUMNS = ["first", "second", "first_after", "second_after"]


def frame(*rows):
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def test_by_hand():
    # Before: 0.5 and 0, after: 0.5 and 0.5; the mean doubles.
    found = assay.style_effect(frame(("a b", "a c", "a b", "a c"), ("d e", "f g", "d e", "d g")), "words")
    row = found.table.row(0, named=True)
    assert (row["before"], row["after"], row["estimate"], row["n"]) == pytest.approx((0.25, 0.5, 100.0, 2))


def test_stable_measures_sort_first():
    rows = [(f"x{i} good", f"y{i % 3} bad", f"x{i} indeed", f"y{i % 3} indeed") for i in range(12)]

    def ideas(a: str, b: str) -> float:
        return 0.2 + 0.1 * (a[1] == b[1])

    def tone(a: str, b: str) -> float:
        return 0.1 + 0.05 * (a[1] == b[1]) + 0.5 * (a.endswith("indeed") and b.endswith("indeed"))

    found = assay.style_effect(frame(*rows), {"ideas": ideas, "tone": tone})
    assert found.table["measure"].to_list() == ["ideas", "tone"]
    assert found.table["estimate"][0] == 0
    assert found.table["low"][1] > 100
    assert "tone: +" in found.summary()
    assert "ideas: +0.0% with the style; no interval: " in found.summary()


def drifting(**means: float) -> pl.DataFrame:
    """Numbers of judges for 30 pairs: before 0.5 with some noise, after so much more, with independent noise."""
    rng = np.random.default_rng(4)
    before = 0.5 + 0.1 * rng.normal(size=30)
    columns: dict[str, np.ndarray] = {}
    for name, mean in means.items():
        columns |= {f"{name}_before": before, f"{name}_after": before + mean + 0.05 * rng.normal(size=30)}
    return pl.DataFrame(columns)


def test_the_interval_is_the_bootstrap_of_the_ratio_of_means():
    table = drifting(up=0.2)
    found = assay.style_effect(table, [], method="percentile", n_resamples=100, confidence=0.9, seed=3)

    def change(pairs):
        first, second = (sum(one[k] for one in pairs) for k in (0, 1))
        return 100 * (second - first) / first

    pairs = list(table.iter_rows())
    replicates = references.resampled(change, pairs, resampling_counts(30, 100, seed=3))
    # Blocks of 64 resamples have separate random streams.
    replicates = replicates[:64] + references.resampled(change, pairs, resampling_counts(30, 36, seed=3, block=1))
    row = found.table.row(0, named=True)
    assert row["estimate"] == pytest.approx(change(pairs))
    assert (row["low"], row["high"]) == pytest.approx(references.percentile_interval(replicates, 0.9))


def test_interval_of_few_pairs_covers_no_change():
    """By hand: 100 · (mean after − mean before) / mean before, without each pair; t of n − 1 degrees of freedom."""
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(100):
        before = rng.beta(2, 4, 5)
        after = before * np.exp(rng.normal(-(0.25**2) / 2, 0.25, 5))
        found = assay.style_effect(pl.DataFrame({"m_before": before, "m_after": after}), [])
        row = found.table.row(0, named=True)
        covered += row["low"] <= 0 <= row["high"]
    change = [100 * (np.delete(after, k).sum() / np.delete(before, k).sum() - 1) for k in range(5)]
    error = np.sqrt(4 / 5 * ((change - np.mean(change)) ** 2).sum())
    reach = stats.t.ppf(0.975, 4) * error
    assert (row["low"], row["high"]) == pytest.approx((row["estimate"] - reach, row["estimate"] + reach))
    assert covered >= 88  # percentile intervals: 82


def test_each_sentence_says_what_its_interval_says():
    """Up, down, neither shown, and no interval at all: a verdict only where 0 is outside."""
    table = drifting(up=0.2, down=-0.2, still=0.005)
    found = assay.style_effect(table, [])
    of = {row["measure"]: row for row in found.table.iter_rows(named=True)}
    assert of["up"]["low"] > 0 > of["down"]["high"]
    assert of["still"]["low"] < 0 < of["still"]["high"]
    moves = {"up": (": +", "; significant"), "down": (": −", "; significant"),
             "still": (": ", "; not significant")}  # fmt: skip
    lines = found.summary().splitlines()
    for name, (sign, test) in moves.items():
        row = of[name]
        (line,) = [one for one in lines if one.startswith(f"{name}:")]
        assert line.startswith(f"{name}{sign}")
        numbers = f"{row['estimate']:+.1f}% [{row['low']:.1f}, {row['high']:.1f}]".replace("-", "−")
        assert numbers in line
        assert line.endswith(f"{test} ({row['before']:.3f} to {row['after']:.3f}, 30 pairs).")
    alone = assay.style_effect(table.head(1).select("up_before", "up_after"), [])
    assert alone.summary().startswith("up: +")
    assert "with the style; no interval: a single unit cannot be resampled (" in alone.summary()


@pytest.mark.parametrize(
    ("low", "high", "sure"),
    [
        (0.2, 9.0, True),
        (-9.0, -0.2, True),
        (0.0, 9.0, False),
        (-9.0, 0.0, False),
        (-1.0, 1.0, False),
        (NONE, 9.0, False),
    ],
)
def test_less_than_one_percent_may_be_shown(low, high, sure):
    row = {
        "measure": "m",
        "estimate": 0.5,
        "low": low,
        "high": high,
        "before": 0.5,
        "after": 0.6,
        "n": 30,
        "reason": "one",
    }
    found = assay.style_effect(drifting(up=0.2), [])
    said = StyleEffect(pl.DataFrame([row]), found.run, found.estimates).summary()
    test = "no interval: one" if np.isnan(low) else "significant" if sure else "not significant"
    assert said.splitlines()[0].split("; ")[1].startswith(test)


def test_what_judges_said_is_a_measure_too():
    table = frame(("a b", "a c", "a", "a")).with_columns(gpt_before=0.5, gpt_after=0.4)
    found = assay.style_effect(table, [])
    assert found.table.select("measure", pl.col("estimate").round(6)).rows() == [("gpt", -20.0)]
    assert np.isnan(found.table["low"][0])
    assert found.table["reason"][0] == "a single unit cannot be resampled"


def test_nothing_alike_before_leaves_no_percentage():
    found = assay.style_effect(frame(("a", "b", "c", "c")), "words")
    assert np.isnan(found.table["estimate"][0])
    assert "the mean similarity before is 0" in found.summary()


@pytest.mark.parametrize(
    ("table", "measures", "error", "words"),
    [
        (frame(("a", "b", "c", "d")).drop("second_after"), "words", DataError, "there is no 'second_after'"),
        (frame(("a", None, "c", "d")), "words", DataError, "row 1 of the pairs has nothing in 'second'"),
        (frame(("a", "b", "c", "d")), [], DesignError, "there is no measure"),
        (frame(("a", "b", "c", "d")).with_columns(x_before=1.0), [], DataError, "'x_before' and no 'x_after'"),
    ],
)
def test_what_cannot_be_compared_is_refused(table, measures, error, words):
    with pytest.raises(error, match=words):
        assay.style_effect(table, measures)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (0.5, 0.75, 50.0),
        (0.5, 0.25, -50.0),
        (-2.0, -1.0, 50.0),  # from below 0 it rises by half of its size
        (2e-12, 1e-12, -50.0),
        (1e-12, 1.0, np.nan),  # at most rounding error
        (-1e-12, 1.0, np.nan),
        (0.0, 0.0, np.nan),
    ],
)
def test_the_change_is_a_share_of_the_size_before(before, after, change):
    found = _PercentChange().value(np.array([[before, after], [1.0, 1.0]]))
    assert found.shape == (2, 1)
    assert found[:, 0].tolist() == pytest.approx([change, 0.0], nan_ok=True)
