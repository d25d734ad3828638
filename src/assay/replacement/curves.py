"""How the outcome of an alt-test moves: with epsilon, with the number of items, with more data than there is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assay.errors import DesignError
from assay.estimation.options import Settings, option
from assay.estimation.result import Result, Run, json_safe
from assay.estimation.statistic import Bools, Floats, Ints
from assay.replacement import assurance, decision
from assay.replacement.alignment import DENSE_CELLS, Panel
from assay.replacement.assurance import Studies, pilot_of, pilot_of_panel, planned, rising, settles
from assay.replacement.panel import Rule
from assay.replacement.settings import AltTestSettings
from assay.replacement.tally import Tally
from assay.replacement.trivial import signs
from assay.reporting import pictures
from assay.reporting.words import said
from assay.statistics.wins import average_advantage, count_wins

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = (30, 40, 50, 75, 100, 150, 200, 300)
"""Numbers of items for which `size_curve` looks, as far as figure 2 of the paper goes."""

MOST_PANELS = 50
"""Panels that the assurance of smaller panels is averaged over."""


@dataclass(frozen=True)
class EpsilonCurveSettings(Settings):
    """Options of an epsilon curve."""

    epsilons: tuple[float, ...] = option((), "Values of epsilon.", low=0, high=1)


@dataclass(frozen=True)
class SizeCurveSettings(Settings):
    """Options of a size curve."""

    sizes: tuple[int, ...] = option(SIZES, "Numbers of items.", low=2)
    n_annotators: int | None = option(
        None, "Annotators in each panel; all of them when not given.", low=2, key="panel", always=True
    )
    n_draws: int = option(100, "Panels and sets of items drawn for each size.", low=1, key="draws", always=True)
    seed: int = option(0, "Same seed, same numbers.", low=0, always=True)


@dataclass(frozen=True, eq=False)
class EpsilonCurve(Result):
    """omega against epsilon (figure 3 of the paper), for one judge.

    Attributes
    ----------
    judge : str
    epsilon, winning_rate : (values,) float
        The winning rate at each epsilon; it never falls as epsilon grows.
    smallest : float
        The smallest epsilon at which the judge passes; NaN where it does not pass at 1.
    chosen : float
        The epsilon of the test itself.
    """

    judge: str
    epsilon: Floats
    winning_rate: Floats
    smallest: float
    chosen: float
    threshold: float
    run: Run

    @property
    def table(self) -> pl.DataFrame:
        """One row a value of epsilon."""
        return pl.DataFrame({"epsilon": self.epsilon, "estimate": self.winning_rate})

    def summary(self) -> str:
        """The smallest epsilon in a sentence."""
        if np.isnan(self.smallest):
            words = f"{self.judge} does not pass at any epsilon."
        else:
            words = f"{self.judge} passes from epsilon = {self.smallest:.3f} up (the test was made at {self.chosen:g})."
        return "\n".join([words, *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """omega as steps, the threshold, and the epsilon that was chosen."""
        ax = pictures.axes(ax, height=3.0)
        ax.step(self.epsilon, self.winning_rate, where="post", color=pictures.JUDGE, linewidth=1.8, label=self.judge)
        ax.axhline(self.threshold, color=pictures.MUTED, linewidth=1, linestyle=":")
        ax.axvline(self.chosen, color=pictures.FAINT, linewidth=1.2)
        ax.set_xlabel("ε, what the judge's low cost is worth")
        ax.set_ylabel("winning rate ω")
        ax.set_ylim(-0.03, 1.05)
        return ax


def epsilon_curve(test: Tally, run: Run, epsilons: Floats | None = None, among: Sequence[Tally] = ()) -> EpsilonCurve:
    """The winning rate of a finished test at other values of epsilon.

    Parameters
    ----------
    test : Tally
        The win counts of the test.
    run : Run
        The test's.
    epsilons : (values,) float, optional
        Between 0 and 1; 0 to .5 in steps of .01 when not given.
    among : sequence of Tally, optional
        Tests that are corrected together with this one, which is among them.
    """
    grid = np.linspace(0, 0.5, 51) if epsilons is None else np.sort(np.asarray(epsilons, dtype=float))
    if len(grid) == 0 or not (grid[0] >= 0 and grid[-1] <= 1):
        raise DesignError("epsilons must lie between 0 and 1")
    s = test.table.settings
    found = _winning(test, grid, among) if len(test.tested) else np.full(len(grid), np.nan)
    said = EpsilonCurveSettings(() if epsilons is None else tuple(grid.tolist()))
    return EpsilonCurve(
        test.name, grid, found, smallest_epsilon(test, among), s.tolerance, s.threshold,
        Run("epsilon-curve", said, run.data, of=run),
    )  # fmt: skip


def smallest_epsilon(test: Tally, among: Sequence[Tally] = ()) -> float:
    """The smallest epsilon at which the judge passes; NaN where it does not pass at 1.

    Where the test is ``among`` others that are corrected together with it, epsilon is the same for all of them.
    """
    s = test.table.settings

    def passing(epsilons: Floats) -> Bools:
        return np.asarray(decision.passes(_winning(test, epsilons, among), s.threshold))

    if not len(test.tested) or not passing(np.ones(1))[0]:
        return math.nan
    return _halved(passing) if s.test == "exact" else _stepped(passing)


def _stepped(passing: Callable[[Floats], Bools]) -> float:
    """Where omega, which never falls as epsilon grows, first passes: nine rounds of ten steps."""
    low, high = 0.0, 1.0
    for _ in range(9):
        steps = np.linspace(low, high, 11)
        first = int(np.argmax(passing(steps)))
        low, high = steps[max(first - 1, 0)], steps[first]
    return float(high)


def _halved(passing: Callable[[Floats], Bools]) -> float:
    """The same to the sixth digit, by few tests, which cost more where they are exact."""
    low, high = 0.0, 0.0 if passing(np.zeros(1))[0] else 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if passing(np.array([middle]))[0] else (middle, high)
    return high


def _winning(test: Tally, epsilons: Floats, among: Sequence[Tally] = ()) -> Floats:
    """The winning rate at each epsilon: (values,)."""
    together = among or (test,)
    mine = next(i for i, one in enumerate(together) if one is test)
    rejected = decision.by_rejects(
        np.concatenate([_winning_p(one, epsilons) for one in together], axis=1), test.table.settings.fdr
    )
    start = sum(len(one.tested) for one in together[:mine])
    return np.asarray(rejected[:, start : start + len(test.tested)] @ (test.quality / test.quality.sum()))


def _winning_p(test: Tally, epsilons: Floats) -> Floats:
    """The p-value of each annotator by which the judge wins, at each epsilon: (values, annotators)."""
    p = decision.winning_p(test.counts[None], epsilons[:, None], test.table.settings.test, test.clustering)
    for j in np.flatnonzero(np.array(test.decided.tests) == "wilcoxon"):
        p[:, j] = decision.wilcoxon_p(test.counts[j, 0], epsilons)[0]
    return p


@dataclass(frozen=True, eq=False)
class SizeCurve(Result):
    """omega and rho against the number of items, over random panels and items (figure 2 of the paper).

    Attributes
    ----------
    judge : str
    size : (sizes,) int
        Items drawn, with replacement, from those that at least two of the panel answered.
    winning_rate, advantage_probability : (sizes,) float
        Means over the draws.
    low, high : (sizes,) float
        The middle 90% of rho over the draws: how far a study of that size scatters, not a confidence
        interval of the test at hand.
    passing : (sizes,) float
        Share of the draws in which the judge passes as published.
    n_annotators, n_draws, seed : int
        Annotators in a panel, draws for each size.
    studies : function
        Simulates the studies that `settled` counts.
    """

    judge: str
    size: Ints
    winning_rate: Floats
    passing: Floats
    advantage_probability: Floats
    low: Floats
    high: Floats
    n_annotators: int
    n_draws: int
    seed: int
    epsilon: float
    threshold: float
    run: Run
    studies: Callable[[], Floats] = field(repr=False, metadata={"json": False})

    @cached_property
    def settled(self) -> Floats:
        """The assurance: the share of studies that end in a verdict, either way: (sizes,).

        Averaged over what the items at hand leave open; NaN for smaller panels of items that are clustered. Made when
        asked for, since it takes longer than the rest.
        """
        return self.studies()

    def to_dict(self) -> dict[str, Any]:
        """Everything, safe for JSON."""
        return {**super().to_dict(), "settled": json_safe(self.settled)}

    @property
    def table(self) -> pl.DataFrame:
        """One row a size; ``estimate`` is rho."""
        return pl.DataFrame(
            {
                "n": self.size,
                "estimate": self.advantage_probability,
                "low": self.low,
                "high": self.high,
                "winning_rate": self.winning_rate,
                "passing": self.passing,
                "settled": self.settled,
            }
        )

    def summary(self) -> str:
        """omega and rho at the smallest and the largest size."""
        a, b = 0, len(self.size) - 1
        words = (
            f"{self.judge}, panels of {self.n_annotators} annotators: winning rate {self.winning_rate[a]:.2f} with "
            f"{self.size[a]} items and {self.winning_rate[b]:.2f} with {self.size[b]}; passes in "
            f"{100 * self.passing[a]:.0f}% and {100 * self.passing[b]:.0f}% of {self.n_draws} draws. "
            f"A study ends in a verdict with assurance {said(self.settled[a])} and {said(self.settled[b])}."
        )
        return "\n".join([words, *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """omega and rho against the number of items."""
        ax = pictures.axes(ax, height=3.0)
        ax.fill_between(self.size, self.low, self.high, color=pictures.HUMAN, alpha=0.15, linewidth=0)
        ax.plot(self.size, self.advantage_probability, color=pictures.HUMAN, linestyle="--", label="ρ, middle 90%")
        ax.plot(self.size, self.winning_rate, color=pictures.JUDGE, marker="o", markersize=3.5, label="ω")
        ax.plot(self.size, self.settled, color=pictures.JUDGE, linestyle=":", label="ends in a verdict")
        ax.axhline(self.threshold, color=pictures.MUTED, linewidth=1, linestyle=":")
        ax.set_xlabel(f"items, each with up to {self.n_annotators} annotators")
        ax.set_ylim(-0.03, 1.05)
        pictures.legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
        return ax


def size_curve(
    test: Tally, run: Run, sizes: tuple[int, ...] | None = None, n_annotators: int | None = None, n_draws: int = 100,
    seed: int = 0, among: Sequence[Tally] = (),
) -> SizeCurve:  # fmt: skip
    """omega and rho for studies of other sizes, by drawing panels and items from the table (section 5.1).

    Parameters
    ----------
    sizes : tuple of int
        Numbers of items; `SIZES` when not given. Sizes beyond the items at hand are drawn with replacement,
        as all sizes are: they say what more items like these would bring.
    n_annotators : int
        Annotators in each panel, at least 2; those who are tested when not given, or where they are fewer. The paper
        draws 3.
    n_draws : int
        Panels and sets of items drawn for each size.
    among : sequence of Tally, optional
        Tests that are corrected together with this one, which is among them.

    Raises
    ------
    DesignError
        Where no panel shares items, or where everybody is compared with one reference.
    """
    table = test.table
    if table.settings.fixed_reference:
        raise DesignError("the size curve draws panels that are compared with each other; there is one reference here")
    chosen = SizeCurveSettings(tuple(sorted(set(SIZES if sizes is None else sizes))), n_annotators, n_draws, seed)
    if not chosen.sizes:
        raise DesignError("sizes must be whole numbers of at least 2")
    panel, rng = table.panel, np.random.default_rng(seed)
    n_tested = len(test.tested) or panel.n_annotators
    n_annotators = max(2, min(n_annotators or n_tested, panel.n_annotators))
    grid = np.full((panel.n_items, panel.n_annotators), np.nan)
    grid[panel.item, panel.annotator] = panel.value
    grid[np.isnan(test.judge)] = np.nan
    panels = draw_panels(~np.isnan(grid), n_annotators, n_draws, rng)
    notes = ("omega is corrected within this domain, verdicts for the number of domains",) if among else ()
    results = [_study(test, grid, panels, size, rng) for size in chosen.sizes]
    omega, rho, passing = (np.array(column) for column in zip(*results, strict=True))
    low, high = np.nanquantile(rho, [0.05, 0.95], axis=1)
    return SizeCurve(
        judge=test.name,
        size=np.array(chosen.sizes),
        winning_rate=omega.mean(axis=1),
        passing=passing.mean(axis=1),
        studies=partial(_settled, test, panels, chosen, planned(table.settings, len(among))),
        advantage_probability=np.nanmean(rho, axis=1),
        low=low,
        high=high,
        n_annotators=n_annotators,
        n_draws=n_draws,
        seed=seed,
        epsilon=table.settings.tolerance,
        threshold=table.settings.threshold,
        run=Run("size-curve", chosen, run.data, notes=notes, of=run),
    )


def _settled(test: Tally, panels: Panels, chosen: SizeCurveSettings, s: AltTestSettings) -> Floats:
    """The assurance of studies by such panels: (sizes,)."""
    table, sizes = test.table, chosen.sizes
    if panels.members.shape[1] == len(test.tested):
        pilots = [pilot_of(test)]
    elif table.ratings.clusters is not None:
        return np.full(len(sizes), np.nan)
    else:
        members = np.unique(panels.members, axis=0)[:MOST_PANELS]
        pilots = [pilot_of_panel(table.rule, table.panel, test.judge, one) for one in members]
    rng, n_truths = np.random.default_rng(chosen.seed), math.ceil(assurance.TRUTHS / len(pilots))
    studies = [one.studies(sizes, n_truths, assurance.EACH, rng) for one in pilots]
    each = [settles(one.ends(s, s.tolerance)).mean(axis=0) for one in studies]
    return rising(np.mean(each, axis=0))


@dataclass(frozen=True, eq=False)
class Panels:
    """Random panels of annotators, and the items that at least two members of each answered."""

    members: Ints
    """(draws, annotators)"""
    items: Ints
    """The items of the first panel, then of the second, ..."""
    start: Ints
    """Where each panel's items begin in ``items``: (draws + 1,)."""

    def some(self, first: int, last: int) -> Panels:
        """The panels from ``first`` up to but not ``last``."""
        start = self.start[first : last + 1]
        return Panels(self.members[first:last], self.items[start[0] : start[-1]], start - start[0])

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """``size`` items of each panel, with replacement: (draws, size)."""
        count = np.diff(self.start)[:, None]
        return np.asarray(self.items[self.start[:-1, None] + rng.integers(0, count, (len(count), size))])


def draw_panels(answered: Bools, size: int, n_draws: int, rng: np.random.Generator) -> Panels:
    """Panels whose members meet others on at least 30 items; or the best panel found, where none does."""
    members = np.zeros((0, size), dtype=np.int64)
    least = np.zeros(0, dtype=np.int64)
    shared: list[Bools] = []
    step = max(1, min(n_draws, DENSE_CELLS // max(answered.shape[0] * size, 1)))
    while len(least) < 20 * n_draws and np.count_nonzero(least >= decision.SMALL) < n_draws:
        drawn = np.sort(np.argsort(rng.random((step, answered.shape[1])), axis=1)[:, :size], axis=1)
        part = answered[:, drawn]
        meet = part.sum(axis=2) >= 2
        members = np.concatenate([members, drawn])
        least = np.concatenate([least, (part & meet[:, :, None]).sum(axis=0).min(axis=1)])
        shared += list(meet.T)
    if least.max() < 2:
        raise DesignError(f"no {size} annotators share items, so there is no panel to draw")
    enough = np.flatnonzero(least >= decision.SMALL)
    if not len(enough):
        enough = np.flatnonzero(least == least.max())
    chosen = np.resize(enough, n_draws)
    items = [np.flatnonzero(shared[c]) for c in chosen]
    return Panels(members[chosen], np.concatenate(items), np.cumsum([0, *map(len, items)]))


def _study(
    test: Tally, grid: Floats, panels: Panels, size: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """omega, rho and whether the judge passes in each drawn study of ``size`` items: (draws,) each."""
    rule = test.table.rule
    items = panels.draw(size, rng)
    values = grid[items[:, :, None], panels.members[:, None, :]]
    weight = rule.quality[panels.members]
    counts = score_studies(rule, values, test.judge[items], weight, (size,)).counts[:, 0]
    p = decision.winning_p(counts, rule.settings.tolerance, rule.settings.test)
    omega = np.asarray((decision.by_rejects(p, rule.settings.fdr) * weight).sum(axis=1) / weight.sum(axis=1))
    return omega, average_advantage(counts), decision.passes(omega, rule.settings.threshold).astype(float)


def score_studies(
    rule: Rule, values: Floats, judge: Floats, quality: Floats, sizes: Sequence[int], constants: bool = False
) -> Studies:
    """The win counts of many studies at once.

    All studies are one table in which every item of every study is an item of its own, so the scores are
    taken once, and once for all sizes.

    Parameters
    ----------
    rule : Rule
        How labels are compared.
    values : (studies, items, annotators) float
        People's labels, NaN where there is none.
    judge : (studies, items) float
    quality : (studies, annotators) float
    sizes : sequence of int
        Ascending, the last no more than the number of items.
    constants : bool
        Whether the judge is compared with constant answers, too.
    """
    n_studies, n_items, k = values.shape
    flat = values.ravel()
    cell = np.flatnonzero(~np.isnan(flat))
    item, member = cell // k, cell % k
    panel = Panel(
        item=item,
        annotator=item // n_items * k + member,
        value=flat[cell],
        n_items=n_studies * n_items,
        n_annotators=n_studies * k,
        quality=quality.ravel(),
        labels=rule.labels,
    )
    compared = rule.compare(panel, judge.ravel())
    n_sizes = len(sizes)
    # Items between two sizes are counted together, then added up from the smallest size to the largest.
    step = np.searchsorted(np.asarray(sizes), np.arange(n_items), side="right")
    step = np.tile(step, n_studies)
    compared = compared.where(step[item[compared.row]] < n_sizes)
    place = item[compared.row]
    group = (place // n_items * n_sizes + step[place]) * k + member[compared.row]
    counts = compared.counts(group, n_studies * n_sizes * k).reshape(n_studies, n_sizes, k, -1, 3)
    n_classes = counts.shape[3]
    over = np.zeros((n_studies, n_sizes, 0, n_classes, 3))
    if constants:
        asked = np.where(step < n_sizes, rule.asked(panel, judge.ravel()), np.nan)
        shares = rule.item_shares(panel)
        each = [
            count_wins(sign, where // n_items * n_sizes + step[where], n_studies * n_sizes,
                       None if shares is None else shares[where])
            for where, sign in signs(rule.score, panel, asked, rule.constants)
        ]  # fmt: skip
        over = np.stack(each, axis=1).reshape(n_studies, n_sizes, len(each), n_classes, 3)
    return Studies(counts.cumsum(axis=1), over.cumsum(axis=1), quality)
