"""Do 95% intervals contain the true value about 95% of the time?

Annotators are fixed, items are a sample: the truth is the coefficient of the same annotators on 300,000 items.
``python tests/concordance/test_coverage.py`` prints what docs/coverage.md says; with ``truths`` it writes
coverage_truths.json again.
"""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from assay.concordance.coefficient import describe_values, pairs_of, sums_of
from assay.concordance.measures import all_measures
from assay.data.annotations import Answers
from assay.data.ratings import Ratings
from assay.data.scales import Ordinal
from assay.errors import DesignError
from assay.estimation.options import IntervalSettings

SEVERITY = np.array([-0.3, 0.0, 0.2, 0.4])
NOISE = np.array([0.6, 0.8, 0.7, 0.9])


def moderate(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """1 to 5, alpha about .55."""
    y = rng.normal(size=(n, 1)) + SEVERITY[:m] + NOISE[:m] * rng.normal(size=(n, m))
    return np.clip(np.round(3 + 1.2 * y), 1, 5)


def high(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """1 to 5, alpha about .87."""
    y = rng.normal(size=(n, 1)) + 0.3 * SEVERITY[:m] + 0.35 * NOISE[:m] * rng.normal(size=(n, m))
    return np.clip(np.round(3 + 1.2 * y), 1, 5)


def holes(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """As `moderate`, three labels in ten missing at random."""
    cells = moderate(n, m, rng)
    cells[rng.random(cells.shape) < 0.3] = np.nan
    return cells


DESIGNS = {"moderate": moderate, "high": high, "missing": holes}
MEASURES = all_measures()
NAMES = sorted(MEASURES)


@functools.cache
def item_names(n: int) -> tuple[str, ...]:
    return tuple(f"{i:07d}" for i in range(n))


def sheet_of(cells: np.ndarray) -> Ratings:
    item, annotator = np.nonzero(~np.isnan(cells))
    names = tuple(f"r{j}" for j in range(cells.shape[1]))
    answers = Answers(item, annotator, cells[item, annotator], item_names(len(cells)), names)
    return Ratings(answers, names, names, (), Ordinal(1, 5), len(cells), len(answers), "")


def sheets_of(cells: np.ndarray) -> tuple[Ratings, Ratings]:
    """The labels of a panel, and of its first two annotators."""
    return sheet_of(cells), sheet_of(cells[:, :2])


def estimate(name: str, sheets: tuple[Ratings, Ratings], **how):
    """The coefficient of a panel, or of its first two annotators for one of two."""
    measure = MEASURES[name]
    sheet = sheets[measure.pair is not None]
    ends = pairs_of(sheet, measure)[:2] if measure.pair is not None else ()
    found = sums_of(sheet, measure.statistic(sheet, *ends)).estimate(IntervalSettings(**how), measure.transform)
    return describe_values([measure], found)[0][0]


TRUTHS = Path(__file__).with_name("coverage_truths.json")


def truths_of(design: str) -> dict[str, float]:
    """Every coefficient on 300,000 items: they take a while, so they are kept in a file."""
    sheets = sheets_of(DESIGNS[design](300_000, 4, np.random.default_rng(10_000)))
    return {name: estimate(name, sheets, method="none").estimate for name in NAMES}


@functools.cache
def truths() -> dict[str, dict[str, float]]:
    return json.loads(TRUTHS.read_text())


@pytest.mark.simulation
@pytest.mark.parametrize("design", DESIGNS)
def test_truths_on_file_match_300_000_items(design):
    assert truths_of(design) == pytest.approx(truths()[design], rel=1e-9)


def likely(simulations: int, low: float, high: float) -> tuple[float, float]:
    """Between which shares chance leaves all but one in a thousand, if the true one is between ``low`` and ``high``."""
    return stats.binom.ppf(0.0005, simulations, low) / simulations, stats.binom.ppf(
        0.9995, simulations, high
    ) / simulations


def covered(names, design: str, n: int, simulations: int, seed: int = 0, **how) -> dict[str, float]:
    """Share of intervals that contain the truth, for each coefficient."""
    rng = np.random.default_rng(seed)
    truth = truths()[design]
    hits = dict.fromkeys(names, 0)
    for _ in range(simulations):
        sheets = sheets_of(DESIGNS[design](n, 4, rng))
        for name in names:
            found = estimate(name, sheets, **how)
            hits[name] += found.low <= truth[name] <= found.high
    return {name: hits[name] / simulations for name in names}


@pytest.mark.simulation
@pytest.mark.parametrize("n", [50, 200])
@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_cover(design, n):
    # The how-to's table has 2,000 studies a cell: the lowest there is AC2 with missing labels and 50 items, .92 to .93.
    simulations = 120
    low, high = likely(simulations, 0.92, 0.975)
    for name, share in covered(NAMES, design, n, simulations, seed=1).items():
        assert low <= share <= high, f"{name}: {share:.3f}"


@pytest.mark.simulation
@pytest.mark.parametrize("k", [4, 8])
def test_f_intervals_cover_a_population_of_annotators(k):
    """New annotators each time: intervals over items are too narrow for ICC(A,1), those from F are not."""
    from assay.concordance.coefficient import ICCSettings
    from assay.concordance.measures import intraclass_measure

    rng = np.random.default_rng(k)
    truth = 1 / (1 + 0.3**2 + 0.7**2)
    inside = {"f": 0, "items": 0, "sample": 0}
    for _ in range(400):
        cells = rng.normal(size=(50, 1)) + rng.normal(0, 0.3, k) + rng.normal(0, 0.7, (50, k))
        found = intraclass_measure(sheet_of(cells), "A,1", ICCSettings())
        these = intraclass_measure(sheet_of(cells), "A,1", ICCSettings(raters="fixed"))
        inside["f"] += found.f_test.low <= truth <= found.f_test.high
        inside["items"] += these.low <= truth <= these.high
        inside["sample"] += found.low <= truth <= found.high
    low, high = likely(400, 0.94, 0.965)
    assert low <= inside["f"] / 400 <= high
    assert inside["items"] < inside["f"]
    assert inside["sample"] / 400 >= low


def test_mean_of_pairs_requires_a_pair():
    with pytest.raises(DesignError, match="two items in common"):
        estimate("qwk", sheets_of(np.array([[1.0, np.nan], [np.nan, 2.0]])))


def main() -> None:
    """The table of the how-to."""
    print("| coefficient | " + " | ".join(f"{d}, n = {n}" for d in DESIGNS for n in (50, 200)) + " |")
    columns = [covered(NAMES, d, n, 2_000, seed=1) for d in DESIGNS for n in (50, 200)]
    for name in NAMES:
        print(f"| {name} | " + " | ".join(f"{c[name]:.3f}" for c in columns) + " |")


if __name__ == "__main__":
    if sys.argv[1:] == ["truths"]:
        TRUTHS.write_text(json.dumps({design: truths_of(design) for design in DESIGNS}, indent=2) + "\n")
    else:
        main()
