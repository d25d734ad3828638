"""Contrasts of the cells of a card, from sums with known covariances and variances, by formulas in plain numbers."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from assay.psychometrics.covariances import JudgeMoments, LabelTables, Leftout
from assay.verdict import cells
from assay.verdict.cells import TOWARD, Boundaries, CellMeasure, JudgeCells, SpreadContrast, cell_p_values

NAN = math.nan
NUMBERS = np.array([7.0, 40.0, 9.0, 30.0, 5.0, 20.0, 11.0, 12.0, 13.0, 14.0])
"""Of pairs, by which each sum is divided: of one object and of others for hh, hm and mm; of squares and products."""


def rows(**means):
    """Means of the whole table, and of it without each of six units, as a dict of arrays (7,)."""
    rng = np.random.default_rng(7)
    return {name: np.r_[value, value * (1 + 0.02 * rng.normal(size=6))] for name, value in means.items()}


WORLD = {
    "c_h": 4.0, "c_hm": 3.0, "c_m": 9.0, "o_h": 0.5, "o_hm": -0.4, "o_m": 1.5,
    "square_h": 16.5, "within_h": 6.0, "square_m": 26.5, "within_m": 8.0,
}  # fmt: skip


def leftout(sums):
    none = np.zeros((0, sums.shape[1]))
    return Leftout(sums[0], sums[1:], none, none)


def sums_of(m):
    """As `JudgeMoments.sums` has them: each a mean times its number, then the number."""
    means = np.stack([
        m["c_h"] + m["o_h"], m["o_h"], m["c_hm"] + m["o_hm"], m["o_hm"], m["c_m"] + m["o_m"], m["o_m"],
        m["square_h"], m["square_h"] - m["within_h"], m["square_m"], m["square_m"] - m["within_m"],
    ], axis=1)  # fmt: skip
    return np.stack([means * NUMBERS, np.broadcast_to(NUMBERS, means.shape)], axis=2).reshape(len(means), 20)


def judge_cells(means=None, *, members=2, people=3, at=None, **kept):
    judge = np.array([False] * people + [True] * members)
    rater = np.arange(len(judge))
    tables = LabelTables.of(
        np.ones((len(judge), 1)), 0 * rater, rater, np.arange(1), np.zeros(1, int), ~judge, lessons=True
    )
    found = JudgeCells(tables, judge, None, (), True, at or Boundaries(), 0.05)
    made = JudgeMoments(None, judge)
    if means is not None:
        made.__dict__["sums"] = leftout(sums_of(means))
    made.__dict__.update(kept)
    found.__dict__["moments"] = made
    return found


def assert_contrast(one, values):
    """The jackknife of a value over six units: corrected for bias, its error, and t with 5 degrees of freedom."""
    whole, without = values[0], values[1:]
    value = 6 * whole - 5 * without.mean()
    error = math.sqrt(5 / 6 * ((without - without.mean()) ** 2).sum())
    assert (one.found.estimate, one.found.standard_error) == pytest.approx((value, error))
    assert one.above == pytest.approx(stats.t.sf(value / error, 5))
    assert one.below == pytest.approx(stats.t.cdf(value / error, 5))
    reach = stats.t.ppf(0.95, 5) * error  # 90%, as each end has .05
    assert (one.found.low, one.found.high) == pytest.approx((value - reach, value + reach))


def test_confidence_of_family_by_hand():
    """Eρ² is c / V within a rater, Φ c / V over all: annotators 4 / 6 and 4 / 16, the family 9 / 8 and 9 / 25."""
    m = rows(**WORLD)
    relative, absolute = judge_cells(m, at=Boundaries(confidence=0.6)).confidence()
    assert (relative.measure, absolute.measure) == ("Eρ²", "Φ")
    assert (relative.judge, relative.human) == pytest.approx((9 / 8, 4 / 6))
    assert (absolute.judge, absolute.human) == pytest.approx((9 / 25, 4 / 16))
    assert_contrast(relative, m["c_m"] / m["within_m"] - 0.6 * m["c_h"] / m["within_h"])
    v_h, v_m = m["square_h"] - m["o_h"], m["square_m"] - m["o_m"]
    assert_contrast(absolute, m["c_m"] / v_m - 0.6 * m["c_h"] / v_h)


def test_correlation_of_single_label_with_scores_by_hand():
    """Correlation with universe scores, whose SD is 2: 3 / (2 · 5), and of an annotator's label 4 / (2 · 4)."""
    m = rows(**WORLD)
    none, toward = judge_cells(m, members=1, at=Boundaries(confidence=0.64)).confidence()
    assert none.found.reason == "requires two or more judges of one family (--family)"
    assert (toward.measure, toward.judge, toward.human) == (TOWARD, pytest.approx(0.3), pytest.approx(0.5))
    v_h, v_m = m["square_h"] - m["o_h"], m["square_m"] - m["o_m"]
    assert_contrast(toward, m["c_hm"] / np.sqrt(v_m) - 0.8 * m["c_h"] / np.sqrt(v_h))
    quarter = judge_cells(rows(**WORLD | {"c_h": 0.25}), members=1).confidence()[1]
    assert (quarter.judge, quarter.human) == pytest.approx((3 / (0.5 * 5), 0.25 / (0.5 * 4)))


@pytest.mark.parametrize(("c_h", "finding"), [(NAN, "not estimable"), (-4.0, "not demonstrated at level 0.05")])
@pytest.mark.parametrize(("members", "c_m"), [(1, 9.0), (1, -4.0), (2, 9.0), (2, -4.0)])
def test_score_cells_are_absent_without_demonstrated_covariance(c_h, finding, members, c_m):
    """Also for a judge drawn like the annotators, whose c_hm and c_m are the same −4."""
    means = rows(**WORLD | {"c_h": c_h, "c_m": c_m, "c_hm": min(c_m, 3.0)})
    for make in (JudgeCells.confidence, JudgeCells.validity, JudgeCells.helpfulness):
        (one,) = make(judge_cells(means, members=members))
        assert one.found.reason.startswith(f"agreement among annotators on the objects is {finding}; collect labels of")
        assert np.isnan(cell_p_values((one,))).all()


@pytest.mark.parametrize(
    ("c_h", "c_m", "root"),
    [(4.0, 9.0, 6), (0.25, 0.36, 0.3), (4.0, -9.0, None), (4, 0, None)],
)  # fmt: skip
def test_validity_by_hand(c_h, c_m, root):
    """3 / √(4 · 9); without a variance of the judge there is no correlation, and the covariance itself is tested."""
    m = rows(**WORLD | {"c_h": c_h, "c_m": c_m})
    (one,) = judge_cells(m, at=Boundaries(validity=0.4)).validity()
    assert one.measure == "universe-score correlation"
    assert one.judge == pytest.approx(3 / root if root else NAN, nan_ok=True)
    assert math.isnan(one.human)
    assert_contrast(one, m["c_hm"] - 0.4 * np.sqrt(np.maximum(m["c_h"], 0) * np.maximum(m["c_m"], 0)))
    for p, name in zip(one.needs, ("c_h", "c_m"), strict=True):  # ✓ asks for both variances
        if m[name][0] == 0:
            continue
        value = 6 * m[name][0] - 5 * m[name][1:].mean()
        error = math.sqrt(5 / 6 * ((m[name][1:] - m[name][1:].mean()) ** 2).sum())
        assert p == pytest.approx(stats.t.sf(value / error, 5))


def test_helpfulness_by_hand(monkeypatch):
    """(4 + 3) / √(16 + 25 + 2 · 2) and 4 / √16, each over the annotators' SD of 2; 2 is their covariance on an item:
    mean products of 1.6 there less −.4 on other objects."""
    m = rows(**WORLD, same=1.6)
    there = np.full(7, 8.0)
    pairs = leftout(np.stack([there, there * m["same"], *np.ones((4, 7))], axis=1))
    asked = []
    made = judge_cells(m).moments
    made.__dict__["sides"] = ("people", "judge")
    object.__setattr__(made, "products", SimpleNamespace(same_item=lambda *sides: asked.append(sides) or pairs))
    monkeypatch.setattr(cells, "Products", lambda tables: tables)
    monkeypatch.setattr(cells, "JudgeMoments", lambda products, judge, d: made)
    (one,) = judge_cells(m).helpfulness()
    assert asked == [("people", "judge")]
    assert one.measure == "correlation with universe scores"
    assert (one.judge, one.human) == pytest.approx((7 / math.sqrt(45) / 2, 4 / 4 / 2))
    v_h, v_m = m["square_h"] - m["o_h"], m["square_m"] - m["o_m"]
    both = (m["c_h"] + m["c_hm"]) / np.sqrt(v_h + v_m + 2 * (m["same"] - m["o_hm"]))
    assert_contrast(one, both - m["c_h"] / np.sqrt(v_h))
    for c_h, alone in ((0.25, 0.25 / 4 / 0.5), (0.0, NAN), (-0.1, NAN)):
        made.__dict__["sums"] = leftout(sums_of(rows(**WORLD | {"c_h": c_h})))
        (one,) = judge_cells(m).helpfulness()
        assert one.human == pytest.approx(alone, nan_ok=True)
        assert math.isnan(one.judge) == math.isnan(alone)
    made.__dict__["sums"] = leftout(sums_of(m))
    assert judge_cells(m, people=2).helpfulness()[0].found.reason is None
    assert judge_cells(people=1).helpfulness()[0].found.reason == "requires two or more annotators"


def test_concordance_by_hand():
    """Of pairs of labels with means x, y, mean squares xx, yy and mean product p: r, and 1 − (xx + yy − 2 p) over
    (xx + yy − 2 x y)."""
    h = rows(p=3.0, x=1.0, y=1.2, xx=5.0, yy=6.0)
    j = rows(p=2.5, x=1.0, y=0.5, xx=5.0, yy=4.0)
    sums = [
        np.stack([np.full(7, n), *(n * one[k] for k in ("p", "x", "y", "xx", "yy"))]) for one, n in ((h, 9), (j, 6))
    ]
    on_items = leftout(np.concatenate(sums).T)
    r, agreement = judge_cells(at=Boundaries(concordance=0.7), on_items=on_items, constant=False).concordance()
    assert (r.measure, agreement.measure) == ("correlation", "chance-corrected agreement")
    each = [
        (
            (one["p"] - one["x"] * one["y"]) / np.sqrt((one["xx"] - one["x"] ** 2) * (one["yy"] - one["y"] ** 2)),
            1 - (one["xx"] + one["yy"] - 2 * one["p"]) / (one["xx"] + one["yy"] - 2 * one["x"] * one["y"]),
        )
        for one in (h, j)
    ]
    for i, one in enumerate((r, agreement)):
        assert (one.judge, one.human) == pytest.approx((each[1][i][0], each[0][i][0]))
        assert_contrast(one, each[1][i] - 0.7 * each[0][i])
    none = leftout(np.zeros((7, 12)))
    with np.errstate(all="ignore"):
        absent = judge_cells(on_items=none, constant=False).concordance()
    assert [one.found.reason for one in absent] == [
        "requires items with labels of two annotators, and labels that vary"
    ]


@pytest.mark.parametrize(("people", "enough"), [(1, False), (2, True)])
def test_score_cells_require_two_annotators(people, enough):
    for make in (JudgeCells.confidence, JudgeCells.validity):
        reason = make(judge_cells(rows(**WORLD), people=people))[0].found.reason
        assert (reason is None) == enough
        assert enough or reason == "requires two or more annotators"


def test_boundaries_are_those_that_are_documented():
    one = Boundaries()
    assert (one.concordance, one.confidence, one.validity, one.bias, one.fairness) == (0.75, 0.5, 0.5, 1.5, 0.25)


def test_cell_passes_by_all_measures_and_fails_by_one():
    def measure(above, below, *needs):
        return CellMeasure("x", None, above, below, needs=needs)

    assert cell_p_values(()) == pytest.approx((NAN, NAN), nan_ok=True)
    assert cell_p_values((measure(0.01, 0.99),)) == (0.01, 0.99)
    assert cell_p_values((measure(0.01, 0.3), measure(0.02, 0.2))) == (0.02, 0.4)  # twice the smaller
    assert cell_p_values((measure(0.01, 0.9, 0.03, 0.005),)) == (0.03, 0.9)
    assert cell_p_values((measure(0.6, 0.6), measure(0.6, 0.7))) == (0.6, 1.0)
    assert np.isnan(cell_p_values((measure(0.01, 0.9), measure(NAN, NAN)))).all()
    assert cell_p_values((measure(0.01, 0.9, 0.02, NAN),)) == (1.0, 0.9), "a need without a p-value is not demonstrated"
    assert (measure(0.1, 0.9).judge, measure(0.1, 0.9).human) == pytest.approx((NAN, NAN), nan_ok=True)


# -- severity -------------------------------------------------------------------------------------------


SPREAD = SpreadContrast(0.3, np.array([0.1, 0.5, -0.2, 0.8, 0.3]), 0.03, 1.5, 0.2)
"""φ .3; five annotators, whose severities have variance .145, of which .03 is error."""


def test_spread_contrast_boundary_is_corrected_spread_with_floor():
    assert SPREAD.spread == pytest.approx(math.sqrt(0.115))
    assert SPREAD.bound(0.115) == pytest.approx(math.sqrt(2.25 * 0.115 + 0.04))
    assert SPREAD.bound(-1.0) == pytest.approx(0.2)
    assert SPREAD.value == pytest.approx(math.sqrt(2.25 * 0.115 + 0.04) - 0.3)
    assert SpreadContrast(-0.3, SPREAD.d, 0.03, 1.5, 0.2).value == SPREAD.value
    assert SpreadContrast(0.3, SPREAD.d, 0.2, 1.5, 0.2).spread == 0
    assert SpreadContrast(0.3, SPREAD.d, 0.2, 1.5, 0.2).value == pytest.approx(-0.1)


@pytest.mark.parametrize("phi", [0.3, -0.3, 0.9, 0.0])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_spread_contrast_ends_combine_spread_and_distance(phi, level):
    """MOVER: φ by t with 4 degrees of freedom, the variance by 4 · .145 over quantiles of χ² with 4."""
    found = SpreadContrast(phi, SPREAD.d, 0.03, 1.5, 0.2)
    reach = stats.t.ppf((1 + level) / 2, 4) * math.sqrt(0.145 / 5)
    far, near = abs(phi) + reach, max(abs(phi) - reach, 0)
    low, high = (
        math.sqrt(2.25 * max(4 * 0.145 / stats.chi2.ppf(q, 4) - 0.03, 0) + 0.04)
        for q in ((1 + level) / 2, (1 - level) / 2)
    )
    here = math.sqrt(2.25 * 0.115 + 0.04)
    value = here - abs(phi)
    ends = value - math.hypot(far - abs(phi), here - low), value + math.hypot(abs(phi) - near, high - here)
    assert found.ends(level) == pytest.approx(ends)


@pytest.mark.parametrize("null", [0.0, 0.9, -0.4])
def test_spread_contrast_p_value_inverts_interval(null):
    """The level at which an end equals the null; .5 if the value is beyond."""
    low, high = SPREAD.one_sided(0, null), SPREAD.one_sided(1, null)
    assert max(low, high) == pytest.approx(0.5, abs=1e-6)
    side = int(null > SPREAD.value)
    p = (low, high)[side]
    assert p < 0.49
    assert SPREAD.ends(1 - 2 * p)[side] == pytest.approx(null, abs=1e-6)
    part = SPREAD.part("severity", 0.9)
    assert part.found.p(null) == pytest.approx(2 * p)
    assert (part.found.low, part.found.high) == pytest.approx(SPREAD.ends(0.9))
    assert (part.above, part.below) == (SPREAD.one_sided(0), SPREAD.one_sided(1))
    assert (part.measure, part.judge, part.human) == ("severity", 0.3, SPREAD.spread)


def severe(labels, judge, objects, *, group_of=None, groups=(), numeric=True, bias=1.0, fairness=0.5) -> JudgeCells:
    """Cells of labels (items, annotators), NaN if there is none; the last columns are those of the judge."""
    labels, objects = np.asarray(labels, dtype=float), np.asarray(objects)
    item, rater = np.nonzero(~np.isnan(labels))
    mask = np.arange(labels.shape[1]) >= labels.shape[1] - judge
    tables = LabelTables.of(
        labels[item, rater][:, None], item, rater, np.arange(len(labels)), objects, ~mask, lessons=True
    )
    return JudgeCells(tables, mask, group_of, groups, numeric, Boundaries(bias=bias, fairness=fairness), 0.05)


def test_apart_uses_items_labelled_by_both():
    """Two judges, whose mean counts: 3 and 4, 5 alone, and none."""
    found = severe([[1, 2, 3, 4], [2, NAN, 5, NAN], [3, 3, NAN, NAN]], 2, [0, 0, 1])
    difference, both = found.apart
    np.testing.assert_allclose(difference, [[2.5, 1.5], [3, 0], [0, 0]], atol=1e-12)
    assert both.tolist() == [[1, 1], [1, 0], [0, 0]]


def test_errors_of_mean_differences_have_objects_as_clusters():
    rng = np.random.default_rng(4)
    labels = rng.integers(1, 6, (9, 3)).astype(float)
    labels[[0, 4], 0] = NAN
    objects = [0, 0, 1, 1, 2, 2, 3, 3, 3]
    difference, both = severe(labels, 1, objects).apart
    found = severe(labels, 1, objects)._errors(difference, both)
    for j in range(2):
        here = [i for i in range(9) if both[i, j]]
        mean = np.mean([difference[i, j] for i in here])
        sums = [sum(difference[i, j] - mean for i in here if objects[i] == o) for o in range(4)]
        assert found[j] == pytest.approx(math.sqrt(sum(x**2 for x in sums) * 4 / 3) / len(here))
    # Of one object alone no factor is known; two are taken.
    alone = severe(labels[:3, 1:], 1, [0, 0, 0])
    assert alone._errors(*alone.apart) == pytest.approx([0], abs=1e-12)


@pytest.mark.parametrize("other", [1, 2])
def test_fairness_is_a_regression_within_annotators_with_objects_as_clusters(other):
    rng = np.random.default_rng(5)
    group = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 1])
    objects = np.arange(12) // 2 * 2 // 2
    labels = rng.integers(1, 6, (12, 4)).astype(float)
    labels[[1, 5], 0] = NAN
    labels[3, 3] = NAN
    cells_of = severe(labels, 1, objects, group_of=group, groups=("a", "b", "c"))
    sizes = np.array([6, 4, 5])
    difference, both = cells_of.apart
    rows = [(i, j) for i in range(12) for j in range(3) if both[i, j] and group[i] in (0, other)]
    # A mean of each person and one step for the other group.
    design = np.array([[*(float(j == k) for k in range(3)), float(group[i] == other)] for i, j in rows])
    y = np.array([difference[i, j] for i, j in rows])
    fitted = np.linalg.lstsq(design, y, rcond=None)[0]
    bread = np.linalg.inv(design.T @ design)
    meat = np.zeros((4, 4))
    for o in set(objects.tolist()):
        mine = [k for k, (i, _) in enumerate(rows) if objects[i] == o]
        score = design[mine].T @ (y - design @ fitted)[mine]
        meat += np.outer(score, score)
    n = sizes[0] + sizes[other]
    error = math.sqrt((bread @ meat @ bread)[3, 3] * n / (n - 1))
    one = cells_of.group_difference(0, other, sizes)
    assert one.measure == f"{'abc'[other]} minus a"
    assert one.judge == pytest.approx(fitted[3])
    value = 0.5 * cells_of.deviation - abs(fitted[3])
    assert (one.found.estimate, one.found.standard_error) == pytest.approx((value, error))
    assert one.above == pytest.approx(stats.t.sf(value / error, sizes[other] - 1))


def test_fairness_without_an_exception_is_decided():
    """Annotators agree; the judge is 1 higher in each object of group b, or nowhere."""
    truth = np.tile([1.0, 2.0, 3.0, 4.0], 10)
    group = np.arange(40) % 2
    for shift, decided in ((1.0, "below"), (0.0, "above")):
        labels = np.column_stack([truth, truth, truth, truth + shift * group])
        one = severe(labels, 1, np.arange(40), group_of=group, groups=("a", "b")).group_difference(
            0, 1, np.array([20, 20])
        )
        # One object with z = 1/2 for each of three annotators, off by one standard deviation; Σ z² = 3 · 40 / 4.
        error = 1.5 * truth.std() * math.sqrt(40 / 39) / 30
        assert one.judge == pytest.approx(shift)
        assert one.found.standard_error == pytest.approx(error, rel=0.02)  # deviations may be those of a sample
        assert getattr(one, decided) < 0.001
