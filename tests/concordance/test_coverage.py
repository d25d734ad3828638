"""Do 95% intervals contain the true value about 95% of the time?

Annotators are fixed, items are a sample: the truth is the coefficient of the same annotators on a million items.
``python tests/agreement/test_coverage.py`` prints the table of docs/agreement.md.
"""

from __future__ import annotations

import numpy as np
import pytest

from assay.concordance.coefficient import bounded, pairs_of
from assay.concordance.sheet import Sheet
from assay.concordance.summary import all_measures
from assay.data.annotations import Answers
from assay.data.scales import Ordinal
from assay.errors import DesignError

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
NAMES = sorted(all_measures())


def sheet_of(cells: np.ndarray) -> Sheet:
    item, annotator = np.nonzero(~np.isnan(cells))
    names = tuple(f"r{j}" for j in range(cells.shape[1]))
    answers = Answers(item, annotator, cells[item, annotator], tuple(f"{i:07d}" for i in range(len(cells))), names)
    return Sheet(answers, names, Ordinal(1, 5), len(cells), len(answers), "")


def estimate(name: str, cells: np.ndarray, **how):
    """The coefficient of a panel, or of its first two annotators for one of two."""
    measure = all_measures()[name]
    sheet = sheet_of(cells[:, :2] if measure.pair is not None else cells)
    ends = pairs_of(sheet, measure)[:2] if measure.pair is not None else ()
    found = sheet.estimate(measure.statistic(sheet, *ends), measure.transform, **how)
    return bounded(measure, found, found[0])[0]


def covered(names, design: str, n: int, simulations: int, seed: int = 0, **how) -> dict[str, float]:
    """Share of intervals that contain the truth, for each coefficient."""
    rng = np.random.default_rng(seed)
    big = DESIGNS[design](300_000, 4, np.random.default_rng(10_000))
    truth = {name: estimate(name, big, method="none").estimate for name in names}
    hits = dict.fromkeys(names, 0)
    for _ in range(simulations):
        cells = DESIGNS[design](n, 4, rng)
        for name in names:
            found = estimate(name, cells, **how)
            hits[name] += found.low <= truth[name] <= found.high
    return {name: hits[name] / simulations for name in names}


@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_cover_roughly(design):
    some = [
        "cohen-kappa",
        "fleiss-kappa",
        "gwet-ac1",
        "krippendorff-alpha-ordinal",
        "qwk",
        "icc(a,1)",
        "spearman",
        "rmse",
    ]
    for name, share in covered(some, design, 50, 120).items():
        # 120 simulations of a 95% interval lie in .88-1 but for one time in a thousand.
        assert share >= 0.88, name


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 200])
@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_cover(design, n):
    simulations = 800  # the how-to's table has 2,000
    error = 3 * np.sqrt(0.95 * 0.05 / simulations)
    for name, share in covered(NAMES, design, n, simulations, seed=1).items():
        assert 0.93 - error / 2 <= share <= 0.97 + error / 2, f"{name}: {share:.3f}"


@pytest.mark.slow
@pytest.mark.parametrize("k", [4, 8])
def test_f_intervals_cover_a_population_of_annotators(k):
    """Annotators drawn anew each time: intervals over items are too narrow for ICC(A,1), those from F are not."""
    from assay.concordance.icc import _icc

    rng = np.random.default_rng(k)
    truth = 1 / (1 + 0.3**2 + 0.7**2)
    inside = {"f": 0, "items": 0}
    for _ in range(1_000):
        cells = rng.normal(size=(50, 1)) + rng.normal(0, 0.3, k) + rng.normal(0, 0.7, (50, k))
        found = _icc(sheet_of(cells), "A,1", "random", None, None)
        inside["f"] += found.f_test.low <= truth <= found.f_test.high
        inside["items"] += found.low <= truth <= found.high
    assert 0.93 <= inside["f"] / 1_000 <= 0.975
    assert inside["items"] < inside["f"]


def test_a_mean_of_pairs_needs_a_pair():
    with pytest.raises(DesignError, match="two items in common"):
        estimate("qwk", np.array([[1.0, np.nan], [np.nan, 2.0]]))


def main() -> None:
    """The table of the how-to."""
    print("| coefficient | " + " | ".join(f"{d}, n = {n}" for d in DESIGNS for n in (50, 200)) + " |")
    columns = [covered(NAMES, d, n, 2_000, seed=1) for d in DESIGNS for n in (50, 200)]
    for name in NAMES:
        print(f"| {name} | " + " | ".join(f"{c[name]:.3f}" for c in columns) + " |")


if __name__ == "__main__":
    main()
