"""Coverage and false sentences of opinions in studies with known truth; slow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from opinion_worlds import drawn, heated, opinions_of, softmax, table

import assay
from assay.estimation.intervals import Estimate
from assay.variation.distances import ItemDistances, JudgeDistribution, LabelSlots, item_distances
from assay.variation.intervals import LeaveOuts, RatioSample, jackknife, repeated_slope, slope_hc3

pytestmark = pytest.mark.simulation

STUDIES = 400
"""Studies of a cell: a standard error of .011 at a rate of .95. Intervals are those of arrays, a tenth of the time of a
table; a table of each cell has the same ones."""

ASKED = 150
"""Studies that are asked as tables: a standard error of .018 at a rate of .95."""


def distances(labels: Any, judge: Any, *, ordered: bool = False) -> ItemDistances:
    """The distances of each item, of labels (items, people) and of a judge's probabilities (float) or repeats (int)."""
    n, people = labels.shape
    slots = LabelSlots(labels.astype(float), np.tile(np.arange(people), (n, 1)))
    shares = judge.dtype.kind == "f"
    given = JudgeDistribution(np.arange(judge.shape[1]) * 1.0, judge) if shares else JudgeDistribution(judge * 1.0)
    return item_distances(slots, given, ordered=ordered)


def relative_distance(found: ItemDistances) -> Estimate:
    return RatioSample(found.energy, found.human).relative_distance(0.95, int((found.human > 0).sum()))


def relative_distance_for_others(found: ItemDistances, people: int) -> Estimate:
    """For annotators like these: each item has a label of each."""
    moments = np.stack([found.energy, found.human], axis=1)
    energy = 2 * found.left_cross - found.left_human - found.spread[found.left_item]
    change = np.stack([energy, found.left_human], axis=1) - moments[found.left_item]
    units = LeaveOuts(moments, found.left_item, found.left_person, change, people)
    return units.estimate(lambda sums: sums[..., 0] / sums[..., 1], 0.95)


def slope_on_repeats(found: ItemDistances) -> Estimate:
    s, h = found.spread, found.human
    moments = np.stack([np.ones(len(s)), s, h, s * h, s**2, found.quadruples], axis=1)
    total = moments.sum(axis=0)
    return jackknife(float(repeated_slope(total)), repeated_slope(total - moments), 0.95)


def assert_as_of_table(found: Estimate, asked: assay.Opinions, quantity: str, judge: str = "j") -> None:
    same = asked.at(judge=judge, quantity=quantity)
    assert (found.estimate, found.low, found.high) == pytest.approx((same.estimate, same.low, same.high))


def far(k: int, *, ordered: bool) -> Any:
    steps = np.abs(np.arange(k)[:, None] - np.arange(k))
    return steps.astype(float) if ordered else (steps > 0).astype(float)


def energies(p: Any, q: Any, d: Any) -> tuple[Any, Any]:
    """The true D and h of each item."""
    human = np.einsum("ik,kl,il->i", p, d, p)
    return 2 * np.einsum("ik,kl,il->i", q, d, p) - human - np.einsum("ik,kl,il->i", q, d, q), human


def noisy(rng: np.random.Generator, p: Any, sd: float) -> Any:
    return softmax(np.log(p) + sd * rng.normal(size=p.shape))


JUDGES = {"sure": lambda rng, p: heated(p, 0.5), "noisy": lambda rng, p: noisy(rng, p, 0.8)}


@pytest.mark.parametrize(
    ("k", "ordered", "people", "n"), [(3, False, 2, 100), (3, False, 3, 40), (5, True, 3, 150), (5, True, 5, 60)]
)
def test_coverage_of_the_relative_distance_and_the_spread(k: int, ordered: bool, people: int, n: int) -> None:
    """Interval and bias of ψ and of the spread ratio: .915 to .985 in a cell, bias below a fifth of the half-width."""
    d, rng = far(k, ordered=ordered), np.random.default_rng([60, k, people, n])
    big = opinions_of(rng, 200_000, k)
    for name, make in JUDGES.items():
        q = make(rng, big)
        energy, human = energies(big, q, d)
        spread = np.einsum("ik,kl,il->i", q, d, q)
        truth = {"relative distance": energy.mean() / human.mean(), "spread ratio": spread.mean() / human.mean()}
        inside, off, halves = ({one: [] for one in truth} for _ in range(3))
        for study in range(STUDIES):
            p = opinions_of(rng, n, k)
            labels, judge = drawn(rng, p, people), make(rng, p)
            found = distances(labels, judge, ordered=ordered)
            spreads = RatioSample(found.spread, found.human).ratio(0.95)
            each = {"relative distance": relative_distance(found), "spread ratio": spreads}
            asked = assay.opinions(table(labels, {"j": judge}, ordered=ordered, k=k)) if study == 0 else None
            for one, value in truth.items():
                estimate = each[one]
                if asked is not None:
                    assert_as_of_table(estimate, asked, one)
                if np.isnan(estimate.low):  # fewer than 20 items with disagreement
                    continue
                inside[one].append(estimate.low <= value <= estimate.high)
                off[one].append(estimate.estimate - value)
                halves[one].append((estimate.high - estimate.low) / 2)
        for one in truth:
            assert len(inside[one]) > 0.9 * STUDIES
            assert 0.915 <= np.mean(inside[one]) <= 0.985, (name, one, np.mean(inside[one]))
            assert abs(np.mean(off[one])) < 0.2 * np.mean(halves[one]), (name, one)
            print(f"{k=} {ordered=} {people=} {n=} {name} {one}: {np.mean(inside[one]):.3f}")


@pytest.mark.parametrize("habit", [0.0, 0.5, 1.0])
def test_coverage_for_annotators_like_these(habit: float) -> None:
    """Five people with habits; the truth is what people like them say on average."""
    rng, n, people, k = np.random.default_rng([61, int(10 * habit)]), 80, 5, 3
    d = far(k, ordered=False)

    def study(n: int, people: int) -> tuple[Any, Any]:
        base = np.log(opinions_of(rng, n, k))
        return base, habit * rng.normal(size=(people, k))

    base, habits = study(4000, 400)
    each = [softmax(base + one) for one in habits]
    p = np.mean(each, axis=0)
    judge = lambda base: heated(softmax(base), 0.7)  # noqa: E731 - the judge knows the opinions without habits
    energy, human = energies(p, judge(base), d)
    truth = energy.mean() / human.mean()
    fixed, random = [], []
    for number in range(STUDIES):
        base, habits = study(n, people)
        labels = np.concatenate([drawn(rng, softmax(base + one), 1) for one in habits], axis=1)
        found = distances(labels, judge(base))
        each = {"fixed": relative_distance(found), "random": relative_distance_for_others(found, people)}
        for (raters, estimate), kept in zip(each.items(), (fixed, random), strict=True):
            if number == 0:
                asked = assay.opinions(table(labels, {"j": judge(base)}, k=k), raters=raters)
                assert_as_of_table(estimate, asked, "relative distance")
            kept.append(estimate.low <= truth <= estimate.high)
    print(f"{habit=}: items {np.mean(fixed):.3f}, annotators too {np.mean(random):.3f}")
    assert 0.915 <= np.mean(random) <= 0.985
    assert habit < 1 or np.mean(fixed) < 0.85


def test_coverage_of_the_slope_on_probabilities_and_on_repeats() -> None:
    rng, n, people = np.random.default_rng(62), 150, 4
    d = far(3, ordered=False)
    big = opinions_of(rng, 200_000)
    q = heated(big, 0.7)
    s = np.einsum("ik,kl,il->i", q, d, q)
    truth = np.cov(s, energies(big, q, d)[1])[0, 1] / s.var()
    inside: dict[str, list[bool]] = {"soft": [], "again": []}
    for study in range(STUDIES):
        p = opinions_of(rng, n)
        q = heated(p, 0.7)
        labels, again = drawn(rng, p, people), drawn(rng, q, 10)
        soft = distances(labels, q)
        each = {"soft": slope_hc3(soft.spread, soft.human, 0.95), "again": slope_on_repeats(distances(labels, again))}
        asked = assay.opinions(table(labels, {"soft": q, "again": again}, k=3)) if study == 0 else None
        for judge, kept in inside.items():
            estimate = each[judge]
            if asked is not None:
                assert_as_of_table(estimate, asked, "spread slope", judge)
            kept.append(estimate.low <= truth <= estimate.high)
    print({judge: float(np.mean(kept)) for judge, kept in inside.items()})
    assert all(0.915 <= np.mean(kept) <= 0.985 for kept in inside.values())


def test_good_judges_get_their_claims() -> None:
    """60 items, 3 people: the distribution itself is closer than the shares in .9 of studies; two equals are not."""
    rng = np.random.default_rng(63)
    claimed, unequal, less = [], [], []
    for study in range(STUDIES):
        p = opinions_of(rng, 60)
        one, other = noisy(rng, p, 0.5), noisy(rng, p, 0.5)
        labels = drawn(rng, p, 3)
        apart = distances(labels, one).energy - distances(labels, other).energy
        p_value = RatioSample(apart, np.ones(60)).mean(0.95).p(0.0)
        unequal.append(p_value < 0.05)
        if study < ASKED:
            judges = {"truth": p, "x": one, "y": other} if study == 0 else {"truth": p}
            found = assay.opinions(table(labels, judges, k=3))
            if study == 0:
                assert found.rows.filter(judge="x", other="y")["p"].item() == pytest.approx(p_value)
            psi = found.rows.filter(judge="truth", quantity="relative distance")
            claimed.append(psi["people"].item() is not None or psi["people_at_least"].item() is not None)
            ratio = found.at(judge="truth", quantity="spread ratio")
            less.append(not ratio.low <= 1 <= ratio.high)
    print(np.mean(claimed), np.mean(unequal), np.mean(less))
    assert np.mean(claimed) >= 0.9
    assert np.mean(unequal) <= 0.085
    assert np.mean(less) <= 0.1
