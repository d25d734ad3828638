"""Figures that others published, each with its source."""

from __future__ import annotations

import numpy as np
import pytest
from studies import from_grid

from assay.concordance.measures import (
    cohen_kappa,
    correlation,
    exact_agreement,
    fleiss_kappa,
    gwet_ac,
    icc,
    icc_table,
    krippendorff_alpha,
    scott_pi,
)
from assay.data.scales import Nominal, Ordinal

X = np.nan

# Shrout & Fleiss (1979), table 2: six targets, four judges.
SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]

# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", section C: four observers, twelve units.
KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, X, X, X],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, X, 3],
        [X, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, X],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, X],
    ]
).T

# Fleiss (1971), table 1: how many of six psychiatrists chose each of five diagnoses, thirty patients.
FLEISS = [
    (0, 0, 0, 6, 0), (0, 3, 0, 0, 3), (0, 1, 4, 0, 1), (0, 0, 0, 0, 6), (0, 3, 0, 3, 0), (2, 0, 4, 0, 0),
    (0, 0, 4, 0, 2), (2, 0, 3, 1, 0), (2, 0, 0, 4, 0), (0, 0, 0, 0, 6), (1, 0, 0, 5, 0), (1, 1, 0, 4, 0),
    (0, 3, 3, 0, 0), (1, 0, 0, 5, 0), (0, 2, 0, 3, 1), (0, 0, 5, 0, 1), (3, 0, 0, 1, 2), (5, 1, 0, 0, 0),
    (0, 2, 0, 4, 0), (1, 0, 2, 0, 3), (0, 0, 0, 0, 6), (0, 1, 0, 5, 0), (0, 2, 0, 1, 3), (2, 0, 0, 4, 0),
    (1, 0, 0, 4, 1), (0, 5, 0, 1, 0), (4, 0, 0, 0, 2), (0, 2, 0, 4, 0), (1, 0, 5, 0, 0), (0, 0, 0, 0, 6),
]  # fmt: skip

# https://en.wikipedia.org/wiki/Fleiss%27_kappa (Fleiss 1971's method): fourteen raters, ten items, five categories.
WIKIPEDIA_FLEISS = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip


def from_counts(counts, high: int):
    cells = [np.repeat(np.arange(1, len(row) + 1), row) for row in counts]
    return from_grid(cells, Nominal(range(1, high + 1)))


def from_table(table, scale):
    """Two annotators from their cross table."""
    pairs = [(i, j) for i, row in enumerate(table) for j, n in enumerate(row) for _ in range(n)]
    return from_grid(np.array(pairs) + 1, scale)


@pytest.mark.parametrize(
    ("form", "published"),
    [
        ("ICC(1,1)", 0.17),
        ("ICC(2,1)", 0.29),
        ("ICC(3,1)", 0.71),
        ("ICC(1,k)", 0.44),
        ("ICC(2,k)", 0.62),
        ("ICC(3,k)", 0.91),
    ],
)
def test_shrout_and_fleiss_1979_table_4(form, published):
    found = icc(from_grid(SHROUT_FLEISS, Ordinal(1, 10)), form=form)
    # They cut ICC(1,1) = .1657 and ICC(3,1) = .7148 to two digits.
    assert found.estimate == pytest.approx(published, abs=0.0051)


def test_intervals_of_shrout_and_fleiss_data_from_r_psych():
    # R psych 2.x, ICC(sf): lower and upper bounds of the six, as printed in its help page.
    rows = {r.alias: r for r in icc_table(from_grid(SHROUT_FLEISS, Ordinal(1, 10))).rows[:6]}
    printed = {
        "ICC(1,1)": (-0.133, 0.72), "ICC(2,1)": (0.019, 0.76), "ICC(3,1)": (0.342, 0.95),
        "ICC(1,k)": (-0.884, 0.91), "ICC(2,k)": (0.071, 0.93), "ICC(3,k)": (0.676, 0.99),
    }  # fmt: skip
    for alias, (low, high) in printed.items():
        assert rows[alias].f_test.low == pytest.approx(low, abs=0.0006)
        assert rows[alias].f_test.high == pytest.approx(high, abs=0.006)


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_krippendorff_2011_reliability_data(level, published):
    found = krippendorff_alpha(from_grid(KRIPPENDORFF, Ordinal(1, 5)), level=level)
    assert found.estimate == pytest.approx(published, abs=0.0005)
    assert found.n_items == 11
    assert [str(e) for e in found.exclusions] == ["1 item: no two labels to compare"]


def test_ratio_alpha_counts_zero_as_a_label():
    # δ²(0, 1) = δ²(0, 3) = 1 and δ²(1, 3) = (2 / 4)². Observed: 2 × 0.25 / 6 = 1 / 12.
    # Expected, of labels 0, 0, 1, 1, 1, 3: 2 × (6 + 2 + 3 × 0.25) / 30 = 7 / 12.
    labels = from_grid(np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 3.0]]), Ordinal(0, 3))
    assert krippendorff_alpha(labels, level="ratio").estimate == pytest.approx(6 / 7)


def test_fleiss_1971_psychiatric_diagnoses():
    assert fleiss_kappa(from_counts(FLEISS, 5)).estimate == pytest.approx(0.430, abs=0.0005)


def test_fleiss_kappa_of_the_encyclopedia():
    assert fleiss_kappa(from_counts(WIKIPEDIA_FLEISS, 5)).estimate == pytest.approx(0.210, abs=0.0005)


def test_gwet_on_the_same_units():
    # Gwet (2014), Handbook of Inter-Rater Reliability, 4th ed., the same twelve units: AC1 .775, Fleiss .761.
    labels = from_grid(KRIPPENDORFF, Nominal(range(1, 6)))
    assert gwet_ac(labels).estimate == pytest.approx(0.77544, abs=5e-6)
    assert fleiss_kappa(labels).estimate == pytest.approx(0.76117, abs=5e-6)


def test_cohen_kappa_of_the_encyclopedia():
    # https://en.wikipedia.org/wiki/Cohen%27s_kappa: 20 and 15 agree, 5 and 10 do not; observed .7, expected .5.
    assert cohen_kappa(from_table([[20, 5], [10, 15]], Nominal([1, 2]))).estimate == pytest.approx(0.4, abs=1e-12)


def test_kappa_of_fleiss_cohen_and_everitt_1969():
    # 3 x 3 table of Fleiss, Cohen & Everitt (1969), table 1, as 200 patients: kappa .429.
    table = [[106, 10, 4], [22, 28, 10], [2, 12, 6]]
    assert cohen_kappa(from_table(table, Nominal([1, 2, 3]))).estimate == pytest.approx(0.429, abs=0.0005)


def test_scott_pi_of_the_encyclopedia():
    # https://en.wikipedia.org/wiki/Scott%27s_pi: 45 texts, observed .333, expected .369.
    table = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    # By hand: observed 15/45; joint shares 18/90, 30/90, 42/90; expected .04 + .1111 + .2178 = .3689.
    expected = (18**2 + 30**2 + 42**2) / 90**2
    assert scott_pi(from_table(table, Nominal([1, 2, 3]))).estimate == pytest.approx(
        (15 / 45 - expected) / (1 - expected)
    )


def test_kendall_1945_ties():
    # Kendall (1948), Rank correlation methods, section 3.3: rankings with ties, tau-b.
    x, y = [1, 2.5, 2.5, 4.5, 4.5, 6.5, 6.5, 8, 9.5, 9.5], [1, 2, 4.5, 4.5, 4.5, 4.5, 8, 8, 8, 10]
    cells = np.array([[int(2 * a), int(2 * b)] for a, b in zip(x, y, strict=True)])
    assert correlation(from_grid(cells, Ordinal(1, 20)), kind="kendall").estimate == pytest.approx(0.859, abs=0.0005)


def test_two_of_three_items():
    labels = from_grid([[1, 1], [2, 3], [4, 4]], Ordinal(1, 5))
    assert exact_agreement(labels).estimate == pytest.approx(2 / 3)
