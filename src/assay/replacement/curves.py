"""How the outcome of an alt-test moves: with epsilon, with the number of items, with more data than there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.errors import DesignError
from assay.estimation.options import Settings, number_in, option
from assay.estimation.result import Result, Run
from assay.estimation.statistic import Floats, Ints
from assay.replacement import decision
from assay.replacement.alignment import DENSE_CELLS, Panel
from assay.replacement.panel import Rule
from assay.replacement.tally import Tally, tally
from assay.replacement.trivial import signs
from assay.reporting import pictures
from assay.statistics.wins import average_advantage, count_wins

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = (30, 40, 50, 75, 100, 150, 200, 300)
"""Numbers of items for which `size_curve` looks, as far as figure 2 of the paper goes."""

GROWTH = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 15, 20)
"""How many times the items at hand `items_to_decide` looks ahead."""


@dataclass(frozen=True)
class EpsilonCurveSettings(Settings):
    """Options of an epsilon curve."""

    epsilons: tuple[float, ...] = option((), "Values of epsilon.", low=0, high=1)


@dataclass(frozen=True)
class SizeCurveSettings(Settings):
    """Options of a size curve."""

    sizes: tuple[int, ...] = option(SIZES, "Numbers of items.", low=2)
    n_annotators: int = option(3, "Annotators in each panel.", low=2, key="panel", always=True)
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


def epsilon_curve(test: Tally, run: Run, epsilons: Floats | None = None) -> EpsilonCurve:
    """The winning rate of a finished test at other values of epsilon.

    Parameters
    ----------
    test : Tally
        The win counts of the test.
    run : Run
        The test's.
    epsilons : (values,) float, optional
        Between 0 and 1; 0 to .5 in steps of .01 when not given.
    """
    grid = np.linspace(0, 0.5, 51) if epsilons is None else np.sort(np.asarray(epsilons, dtype=float))
    if len(grid) == 0 or not (grid[0] >= 0 and grid[-1] <= 1):
        raise DesignError("epsilons must lie between 0 and 1")
    s = test.table.settings
    found = _winning(test, grid) if len(test.tested) else np.full(len(grid), np.nan)
    said = EpsilonCurveSettings(() if epsilons is None else tuple(grid.tolist()))
    return EpsilonCurve(
        test.name, grid, found, smallest_epsilon(test), s.tolerance, s.threshold,
        Run("epsilon-curve", said, run.data, of=run),
    )  # fmt: skip


def smallest_epsilon(test: Tally) -> float:
    """The smallest epsilon at which the judge passes; NaN where it does not pass at 1."""
    s = test.table.settings
    threshold, smallest = s.threshold, np.nan
    low, high = 0.0, 1.0
    if len(test.tested) and decision.passes(_winning(test, np.array([1.0]))[0], threshold):
        # omega never falls as epsilon grows, so three rounds of a thousand steps find where it passes; an exact
        # test costs more, and is not looked for beyond the sixth digit.
        for n_steps in (20, *[2] * 16) if s.test == "exact" else (1000,) * 3:
            steps = np.linspace(low, high, n_steps + 1)
            first = int(np.argmax(decision.passes(_winning(test, steps), threshold)))
            smallest, low, high = steps[first], steps[max(first - 1, 0)], steps[first]
    return float(smallest)


def _winning(test: Tally, epsilons: Floats) -> Floats:
    """The winning rate at each epsilon: (values,)."""
    p = decision.winning_p(test.counts[None], epsilons[:, None], test.table.settings.test, test.clustering)
    for j in np.flatnonzero(np.array(test.decided.tests) == "wilcoxon"):
        p[:, j] = decision.wilcoxon_p(test.counts[j, 0], epsilons)[0]
    return np.asarray(decision.by_rejects(p, test.table.settings.fdr) @ (test.quality / test.quality.sum()))


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
        Share of the draws in which the judge passes.
    n_annotators, n_draws, seed : int
        Annotators in a panel, draws for each size.
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
            }
        )

    def summary(self) -> str:
        """omega and rho at the smallest and the largest size."""
        a, b = 0, len(self.size) - 1
        words = (
            f"{self.judge}, panels of {self.n_annotators} annotators: winning rate {self.winning_rate[a]:.2f} with "
            f"{self.size[a]} items and {self.winning_rate[b]:.2f} with {self.size[b]}; passes in "
            f"{100 * self.passing[a]:.0f}% and {100 * self.passing[b]:.0f}% of {self.n_draws} draws."
        )
        return "\n".join([words, *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """omega and rho against the number of items."""
        ax = pictures.axes(ax, height=3.0)
        ax.fill_between(self.size, self.low, self.high, color=pictures.HUMAN, alpha=0.15, linewidth=0)
        ax.plot(self.size, self.advantage_probability, color=pictures.HUMAN, linestyle="--", label="ρ, middle 90%")
        ax.plot(self.size, self.winning_rate, color=pictures.JUDGE, marker="o", markersize=3.5, label="ω")
        ax.axhline(self.threshold, color=pictures.MUTED, linewidth=1, linestyle=":")
        ax.set_xlabel(f"items, each with up to {self.n_annotators} annotators")
        ax.set_ylim(-0.03, 1.05)
        pictures.legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
        return ax


def size_curve(
    test: Tally, run: Run, sizes: tuple[int, ...] | None = None, n_annotators: int = 3, n_draws: int = 100,
    seed: int = 0,
) -> SizeCurve:  # fmt: skip
    """omega and rho for studies of other sizes, by drawing panels and items from the table (section 5.1).

    Parameters
    ----------
    sizes : tuple of int
        Numbers of items; `SIZES` when not given. Sizes beyond the items at hand are drawn with replacement,
        as all sizes are: they say what more items like these would bring.
    n_annotators : int
        Annotators in each panel, at least 2; everybody where the table has fewer.
    n_draws : int
        Panels and sets of items drawn for each size.

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
    n_annotators = max(2, min(n_annotators, panel.n_annotators))
    grid = np.full((panel.n_items, panel.n_annotators), np.nan)
    grid[panel.item, panel.annotator] = panel.value
    grid[np.isnan(test.judge)] = np.nan
    panels = draw_panels(~np.isnan(grid), n_annotators, n_draws, rng)
    results = [_study(test, grid, panels, size, rng) for size in chosen.sizes]
    omega, rho, passing = (np.array(column) for column in zip(*results, strict=True))
    low, high = np.nanquantile(rho, [0.05, 0.95], axis=1)
    return SizeCurve(
        judge=test.name,
        size=np.array(chosen.sizes),
        winning_rate=omega.mean(axis=1),
        passing=passing.mean(axis=1),
        advantage_probability=np.nanmean(rho, axis=1),
        low=low,
        high=high,
        n_annotators=n_annotators,
        n_draws=n_draws,
        seed=seed,
        epsilon=table.settings.tolerance,
        threshold=table.settings.threshold,
        run=Run("size-curve", chosen, run.data, of=run),
    )


def items_to_decide(test: Tally, power: float = 0.8, n_resamples: int = 400, seed: int = 0) -> int | None:
    """How many items, by these same annotators, until the test would probably tell, yes or no?

    Studies of growing size are drawn with replacement from the items at hand; the answer is the smallest
    size at which the share that ends in a verdict reaches ``power``. It assumes that further items are like
    these, and says None where even 20 times as many would not do. T-tests stand in for the exact ones.
    """
    number_in("power", power, above=0, below=1)
    if not len(test.tested):
        return None
    s, units = test.table.settings, _sampled(test)
    rng = np.random.default_rng(seed)
    share = np.full(len(units), 1 / len(units))
    against = np.array(test.trivial.outcome, dtype=float)
    looks = against / against.sum()
    for growth in GROWTH:
        n_units = int(np.ceil(growth * len(units)))
        drawn = rng.multinomial(n_units, share, size=n_resamples)
        counts = (drawn @ units).reshape(n_resamples, len(test.tested), -1, 3)
        over = rng.multinomial(n_units, looks, size=n_resamples)[:, None, None, :].astype(float)
        _, p, reverse = decision.p_values(counts, s.tolerance, test.clustering)
        _, p_trivial, _ = decision.p_values(over, 0.0)
        as_good, worse, _, _ = decision.conjunctions(p, reverse, test.quality, s.threshold)
        told = decision.verdicts(as_good, worse, p_trivial[:, 0], s.alpha) != decision.VERDICTS.index("cannot tell yet")
        if told.mean() >= power:
            return int(np.ceil(growth * test.n_items))
    return None


def _sampled(test: Tally) -> Floats:
    """Win counts of each unit, also where the test itself was made without an interval."""
    if test.table.settings.method != "none":
        return test.units
    table = replace(
        test.table, rule=replace(test.table.rule, settings=replace(test.table.settings, method="jackknife"))
    )
    return tally(table, [(test.name, test.code)])[0].units


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


def draw_panels(answered: NDArray[np.bool_], size: int, n_draws: int, rng: np.random.Generator) -> Panels:
    """Panels whose members meet others on at least 30 items; or the best panel found, where none does."""
    members = np.zeros((0, size), dtype=np.int64)
    least = np.zeros(0, dtype=np.int64)
    shared: list[NDArray[np.bool_]] = []
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


@dataclass(frozen=True, eq=False)
class Scored:
    """Win counts of many studies, of each after its first so many items.

    Attributes
    ----------
    counts : (studies, sizes, annotators, classes, 3) float
        Of the judge against each annotator.
    over : (studies, sizes, constants, classes, 3) float
        Of the judge against each constant answer; no constants where they were not asked for.
    """

    counts: Floats
    over: Floats


def score_studies(
    rule: Rule, values: Floats, judge: Floats, quality: Floats, sizes: Sequence[int], constants: bool = False
) -> Scored:
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
        asked = np.where((step < n_sizes) & (panel.people > rule.least), judge.ravel(), np.nan)
        shares = rule.item_shares(panel)
        each = [
            count_wins(sign, where // n_items * n_sizes + step[where], n_studies * n_sizes,
                       None if shares is None else shares[where])
            for where, sign in signs(rule.score, panel, asked, rule.constants)
        ]  # fmt: skip
        over = np.stack(each, axis=1).reshape(n_studies, n_sizes, len(each), n_classes, 3)
    return Scored(counts.cumsum(axis=1), over.cumsum(axis=1))
