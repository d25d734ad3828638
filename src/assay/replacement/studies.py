"""How the outcome of an alt-test moves: with epsilon, with the number of items, with more data than there is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assay.data.annotations import Answers
from assay.errors import DesignError
from assay.estimation.intervals import Estimates
from assay.estimation.options import Settings, option
from assay.estimation.resampling import estimate_open, estimate_sums
from assay.estimation.result import Result, Run, json_safe
from assay.estimation.statistic import Bools, Floats, Ints, add_rows
from assay.replacement import decision
from assay.replacement.closeness import DENSE_CELLS, Panel, signs
from assay.replacement.decision import Clustering, Tally
from assay.replacement.panel import AltTestSettings, Rule, labels_of
from assay.reporting import pictures
from assay.reporting.tables import said
from assay.statistics.wins import LOSS, WIN, NeededEpsilon, average_advantage, count_wins, score

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# -- How would studies of other sizes end, given what the labels at hand leave open? ---------------
# Power is the chance of a verdict if the truth is this; nobody knows the truth, and a pilot that is taken for it plans
# too small wherever the judge is near epsilon. *Assurance* (O'Hagan, Stevens & Campbell 2005) is power averaged over
# what
# the pilot leaves open. Here: of each item it is known who was closer to whom, over all annotators and constant answers
# together, so what is correlated stays so. How common each kind of item is, is drawn from its posterior (Dirichlet: the
# Bayesian bootstrap of Rubin 1981), then a study of N items from that, then its verdict.
#
# Half an item that the judge wins from everybody, half a tie and half a loss are added to the pilot: each annotator's
# rates have Jeffreys' prior, and what a pilot happens not to show is not taken for impossible. Only win counts are
# drawn;
# no label is compared again.

LIMIT, GROWTH = 2000, 20
"""Studies are looked at up to so many items, or so many times those at hand, whichever is more."""

STEP = 1.5
"""Each number of items that is looked at is about so many times the one before."""

TRUTHS, EACH = 120, 6
"""Truths that are drawn for the number of items, and studies of each."""

OPEN = 0.8
"""The range of the number holds this share of the truths, as much left out at either end."""

MOST_KINDS = 500
"""Where more different items than so many occur, items are merged at random into so many blocks."""

BINDING = 3
"""Constant answers that studies are compared with: those that the pilot's judge is the least ahead of."""

NEWTON, STEEPEST = 4, 3.0
"""Steps by which shares of kinds are tilted, and how far at most."""

PRIOR = 0.5
"""Weight of the item that is won, tied or lost against everybody: Jeffreys' prior."""


@dataclass(frozen=True, eq=False)
class SimulatedStudies:
    """Win counts of many studies, of each after its first so many items.

    Attributes
    ----------
    counts : (studies, sizes, annotators, classes, 3) float
        Of the judge against each annotator.
    over : (studies, sizes, constants, classes, 3) float
        Of the judge against each constant answer; no constants where they were not asked for.
    quality : (studies, annotators) float
        Weights of the annotators.
    exact : bool
        Whether tests are exact; else, as where many sizes are looked at, their score tests.
    shared, shared_over : Clustering or None
        What shared clusters take from the tests.
    """

    counts: Floats
    over: Floats
    quality: Floats
    exact: bool = True
    shared: Clustering | None = None
    shared_over: Clustering | None = None

    def tested(self, settings: AltTestSettings) -> Bools:
        """Which annotators have enough items: (studies, sizes, annotators)."""
        return np.asarray(self.counts.sum(axis=(-1, -2)) > max(settings.min_items, 2) - 0.5)

    def ends(self, settings: AltTestSettings, epsilon: float) -> Ints:
        """How each study ends, as the position in `decision.VERDICTS`: (studies, sizes)."""
        enough = self.tested(settings)
        p, reverse = (np.where(enough, one, np.nan) for one in self._p(self.counts, epsilon, self.shared))
        quality = self.quality[:, None, :]
        as_good, worse, _, _ = decision.conjunctions(p, reverse, quality, settings.threshold)
        looks = self._p(self.over, 0.0, self.shared_over)[0].max(axis=-1, initial=0.0)
        told = decision.verdicts(as_good, worse, looks, settings.alpha)
        refused = self._small_classes(enough, settings.min_class) if settings.balance else np.zeros(told.shape, bool)
        return np.where(refused, decision.VERDICTS.index("cannot tell yet"), told)

    def _small_classes(self, enough: Bools, least: int) -> Bools:
        """Studies that the alt-test refuses to balance, as a class has too few items: (studies, sizes)."""
        items = np.where(enough[..., None], self.counts.sum(axis=-1), 0.0)
        there = items.sum(axis=-2, keepdims=True) > 0
        small = there & enough[..., None] & (items < least - 1e-9)
        return np.asarray(small.any(axis=(-1, -2)))

    def _p(self, counts: Floats, epsilon: float, shared: Clustering | None) -> tuple[Floats, Floats]:
        """The two one-sided p-values of each comparison."""
        from scipy.special import ndtr

        if self.exact or shared is not None or counts.shape[-2] > 1:
            return decision.best_p(counts, epsilon, shared)
        whole = counts[..., 0, :]
        z, _ = score(whole[..., WIN], whole[..., LOSS], whole.sum(axis=-1), epsilon)
        return ndtr(z), ndtr(-z)


SETTLED = tuple(verdict != "cannot tell yet" for verdict in decision.VERDICTS)
"""Which verdicts tell something."""


def settles(ends: Ints) -> Bools:
    """Which studies end in a verdict, either way."""
    return np.array(SETTLED)[ends]


# -- a pilot, and studies drawn from what it leaves open ------------------------------------------------


@dataclass(frozen=True, eq=False)
class Posterior:
    """What units at hand leave open: how common each kind of unit is.

    Attributes
    ----------
    rows : (kinds, comparisons, classes, 3) float
        Wins, ties and losses in a unit of each kind.
    weight : (kinds,) float
        How many units of a kind there are, with the prior: the parameters of the Dirichlet distribution.
    per_unit : float
        Items in a unit: 1, unless they are clustered or too many to be held apart.
    """

    rows: Floats
    weight: Floats
    per_unit: float

    @classmethod
    def of(cls, by_unit: Floats, n_items: int) -> Posterior:
        """From the units of so many items, (units, comparisons, classes, 3); those that show nothing are none."""
        used = by_unit[by_unit.any(axis=(1, 2, 3))]
        kinds, times = np.unique(used.reshape(len(used), -1), axis=0, return_counts=True)
        if len(kinds) > MOST_KINDS:
            block = np.random.default_rng(len(used)).permutation(len(used)) % MOST_KINDS
            kinds, times = add_rows(used.reshape(len(used), -1), block, MOST_KINDS), np.ones(MOST_KINDS, dtype=np.int64)
        per_unit = n_items / max(times.sum(), 1)
        # The three items of the prior, each as large as a unit and so much the rarer.
        of_class = used.sum(axis=(0, 1, 3))
        prior = np.zeros((3, *used.shape[1:]))
        for outcome in range(3):
            prior[outcome, ..., outcome] = per_unit * of_class / max(of_class.sum(), 1e-300)
        rows = np.concatenate([kinds.reshape(-1, *used.shape[1:]), prior])
        return cls(rows, np.concatenate([times, np.full(3, PRIOR / per_unit)]), per_unit)

    def truths(self, n: int, rng: np.random.Generator) -> Floats:
        """The share of each kind, drawn: (n, kinds)."""
        drawn = rng.standard_gamma(self.weight, (n, len(self.weight)))
        return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Pilot:
    """Items at hand, by who was closer to whom on them: against the annotators, then against constant answers.

    Attributes
    ----------
    posterior : Posterior
    quality : (annotators,) float
        Weights of the annotators.
    shared, shared_over : Clustering or None
        What shared clusters take from the tests.
    """

    posterior: Posterior
    quality: Floats
    shared: Clustering | None = None
    shared_over: Clustering | None = None

    @classmethod
    def of(
        cls, by_unit: Floats, n_items: int, quality: Floats, shared: Clustering | None = None,
        shared_over: Clustering | None = None,
    ) -> Pilot:  # fmt: skip
        """From what each unit shows: (units, annotators + constants, classes, 3), as `by_unit` gives it."""
        m = len(quality)
        used = by_unit[by_unit[:, :m].any(axis=(1, 2, 3))]
        lead = (used[:, m:, :, WIN] - used[:, m:, :, LOSS]).sum(axis=(0, 2))
        binding = np.sort(np.argsort(lead, kind="stable")[:BINDING])
        if shared_over is not None:
            shared_over = shared_over.part(binding)
        posterior = Posterior.of(np.concatenate([used[:, :m], used[:, m:][:, binding]], axis=1), n_items)
        return cls(posterior, quality, shared, shared_over)

    def studies(self, sizes: Sequence[int], n_truths: int, n_each: int, rng: np.random.Generator) -> SimulatedStudies:
        """Studies of ascending sizes, the smaller ones the beginning of the larger: so many of each truth drawn."""
        of, m = self.posterior, len(self.quality)
        share = np.repeat(self._alike(of.truths(n_truths, rng), rng), n_each, axis=0)
        units = np.maximum(np.rint(np.array(sizes) / of.per_unit).astype(np.int64), 1)
        rows = of.rows.reshape(len(of.rows), -1)
        added = np.stack([rng.multinomial(k, share).astype(float) @ rows for k in np.diff(units, prepend=0)], axis=1)
        found = added.cumsum(axis=1).reshape(*added.shape[:2], *of.rows.shape[1:])
        quality = np.tile(self.quality, (len(found), 1))
        return SimulatedStudies(found[:, :, :m], found[:, :, m:], quality, False, self.shared, self.shared_over)

    def _alike(self, share: Floats, rng: np.random.Generator) -> Floats:
        """Shares of kinds, (truths, kinds), under which annotators differ no more than the pilot shows that they do.

        Few items make annotators look different who are not, and drawing from few items does so again; studies would
        then seem to find that people differ. So each truth draws how much of the variance among annotators is real, a
        share B, from its posterior (τ² + noise is scaled inverse χ²), and has differences from their mean of B times
        the pilot's, with a variance of B times the noise (as if normal). The shares of kinds are tilted to have them.
        """
        m = len(self.quality)
        if m < 2:
            return share
        rows, weight = self.posterior.rows[:, :m], self.posterior.weight / self.posterior.weight.sum()
        behind, n = (rows[..., LOSS] - rows[..., WIN]).sum(axis=2), rows.sum(axis=(2, 3))
        observed = weight @ behind / (weight @ n)
        centred = (behind - observed * n) / (weight @ n)
        noise = centred.T @ (centred * weight[:, None]) / self.posterior.weight.sum()
        within = (m * np.trace(noise) - noise.sum()) / (m * (m - 1))
        total = observed.var(ddof=1) * (m - 1) / rng.chisquare(m - 1, len(share))
        real = np.maximum(total - within, 0.0) / np.maximum(total, 1e-300)
        drawn = share @ behind / (share @ n)
        own, at_hand = drawn - drawn.mean(axis=1, keepdims=True), observed - observed.mean()
        wanted = drawn - own + real[:, None] * at_hand + np.sqrt(real)[:, None] * (own - at_hand)
        return _tilted(share, behind, n, wanted)


def _tilted(share: Floats, behind: Floats, n: Floats, wanted: Floats) -> Floats:
    """Shares of kinds closest to those given whose mean differences are as wanted (exponential tilting, by Newton).

    Parameters
    ----------
    share : (truths, kinds) float
    behind, n : (kinds, annotators) float
        Losses less wins in a unit of each kind, and comparisons.
    wanted : (truths, annotators) float
    """
    m = behind.shape[1]
    logs, slope = np.log(np.maximum(share, 1e-300)), np.zeros(wanted.shape)
    found = share
    for _ in range(NEWTON):
        mean, known = found @ behind, found @ n
        off = mean - wanted * known
        outer = behind[:, :, None] * behind[:, None, :]
        spread = (found @ outer.reshape(len(behind), -1)).reshape(-1, m, m) - mean[:, :, None] * mean[:, None, :]
        spread[:, np.arange(m), np.arange(m)] += 1e-3 * known
        slope = np.clip(slope - np.linalg.solve(spread, off[..., None])[..., 0], -STEEPEST, STEEPEST)
        tilted = logs + slope @ behind.T
        found = np.exp(tilted - tilted.max(axis=1, keepdims=True))
        found /= found.sum(axis=1, keepdims=True)
    return found


def by_unit(rule: Rule, panel: Panel, judge: Floats, unit: Ints, n_units: int) -> Floats:
    """Wins, ties and losses of each unit, against each annotator, then each constant.

    Returns
    -------
    (units, annotators + constants and drawn judges, classes, 3) float
    """
    m, k = panel.n_annotators, len(rule.constants) + len(rule.score.drawn)
    compared = rule.compare(panel, judge)
    group = unit[panel.item[compared.row]] * m + panel.annotator[compared.row]
    wins = compared.counts(group, n_units * m)
    n_classes = wins.shape[1]
    found = np.zeros((n_units, m + k, n_classes, 3))
    found[:, :m] = wins.reshape(n_units, m, n_classes, 3)
    shares = rule.item_shares(panel)
    for c, (item, sign) in enumerate(signs(rule.score, panel, rule.asked(panel, judge), rule.constants)):
        mine = unit[item] >= 0
        of_item = None if shares is None else shares[item[mine]]
        found[:, m + c] = count_wins(sign[mine], unit[item[mine]], n_units, of_item)
    return found


def pilot_of(test: Tally) -> Pilot:
    """The items of a test as a pilot for further studies by those who were tested."""
    table, units = test.table, test.table.units
    if table.ratings.in_chunks:
        found = table.ratings.add_up(partial(_slice, table.rule, test.code, units.n), units, 1)
    else:
        found = by_unit(table.rule, table.panel, test.judge, units.of_item, units.n)
    kept = np.concatenate([test.tested, np.arange(len(table.humans), found.shape[1])])
    return Pilot.of(found[:, kept], test.n_items, test.quality, test.clustering, test.constants_clustering)


def pilot_of_panel(rule: Rule, panel: Panel, judge: Floats, members: Ints) -> Pilot:
    """The items of some annotators alone, who are compared with each other, as a pilot for further studies by them."""
    place = np.full(panel.n_annotators, -1)
    place[members] = np.arange(len(members))
    annotator = place[panel.annotator]
    keep = annotator >= 0
    part = replace(
        panel, item=panel.item[keep], annotator=annotator[keep], value=panel.value[keep], n_annotators=len(members),
        quality=panel.quality[members],
    )  # fmt: skip
    found = by_unit(rule, part, judge, np.arange(panel.n_items), panel.n_items)
    shown = found[:, : len(members)].any(axis=(1, 2, 3))
    return Pilot.of(found, int(np.count_nonzero(shown)), part.quality)


def _slice(rule: Rule, code: int, n_units: int, answers: Answers, unit: Ints) -> Floats:
    """`by_unit` of one slice of a folder."""
    return by_unit(rule, rule.panel_of(answers), labels_of(answers, code), unit, n_units)


# -- how many items are enough ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Enough:
    """How many items would probably tell, yes or no.

    Attributes
    ----------
    n_items : int or None
        The smallest study that ends in a verdict with the assurance ``power``; None where none of those looked at does.
    low, high : int or None
        Its range: the pilot leaves open, with probability .8 (`OPEN`), that so many items have this power. None for
        ``high`` where they may be more than ``limit``.
    limit : int
        The largest study that was looked at.
    power : float
    sizes : (sizes,) int
        Studies that were looked at.
    settled : (sizes,) float
        The assurance of each: the share that ends in a verdict.
    reason : str or None
        Why there is no number, or no upper end of its range.
    """

    n_items: int | None
    low: int | None
    high: int | None
    limit: int
    power: float
    sizes: Ints
    settled: Floats
    reason: str | None = None

    @property
    def range(self) -> str:
        """The range in words."""
        if self.n_items is None or self.low is None:
            return "no range"
        return f"{self.low:,} to " + (f"more than {self.limit:,}" if self.high is None else f"{self.high:,}")


def planned(settings: AltTestSettings, n_domains: int) -> AltTestSettings:
    """The options that further studies are put to: at the level that each of several domains surely has (Holm)."""
    return replace(settings, alpha=settings.alpha / max(n_domains, 1))


def sizes_up_to(limit: int, first: int) -> Ints:
    """Numbers of items from the first to the limit, in even ratios."""
    steps = max(int(np.ceil(np.log(limit / first) / np.log(STEP))), 1)
    return np.unique(np.rint(first * (limit / first) ** (np.arange(steps + 1) / steps)).astype(np.int64))


def nobody(power: float) -> Enough:
    """Where no annotator has enough items for a test."""
    none = np.empty(0)
    return Enough(None, None, None, 0, power, none.astype(np.int64), none, "nobody has enough items")


def enough(pilot: Pilot, n_items: int, settings: AltTestSettings, power: float = 0.8) -> Enough:
    """How many items until a study would probably tell, with the range that a pilot of so many items leaves open."""
    first = max(settings.min_items, 2)
    limit = max(LIMIT, GROWTH * n_items, 2 * first)
    sizes = sizes_up_to(limit, first)
    studies = pilot.studies(sizes.tolist(), TRUTHS, EACH, np.random.default_rng(settings.seed))
    found = settles(studies.ends(settings, settings.tolerance)).reshape(TRUTHS, EACH, -1)
    settled = rising(found.mean(axis=(0, 1)))
    number = crossing(sizes, settled[None], power)[0]
    made = Enough(None, None, None, limit, power, sizes, settled)
    if not np.isfinite(number):
        return replace(made, reason=_reason(studies, settings, power))
    low, high = range_of(sizes, found.mean(axis=1), power)
    low, high = min(low, number), max(high, number)
    if not np.isfinite(high):
        made = replace(made, reason="the pilot leaves open that the judge is about as good as epsilon allows")
    return replace(made, n_items=about(number), low=about(low), high=about(high) if np.isfinite(high) else None)


def _reason(studies: SimulatedStudies, settings: AltTestSettings, power: float) -> str:
    """Why even the largest studies would not tell."""
    alone = replace(studies, counts=studies.counts[:, -1:], over=studies.over[:, -1:, :0], shared_over=None)
    if settles(alone.ends(settings, settings.tolerance)).mean() >= power:
        return "a judge that never looks may be as close"
    return "the judge is about as good as epsilon allows"


def range_of(sizes: Ints, by_truth: Floats, power: float) -> tuple[float, float]:
    """How many items have the power in so many truths, (truths, sizes): both ends, infinite beyond all sizes."""
    ordered = np.sort(crossing(sizes, rising(by_truth), power))
    out = round(len(ordered) * (1 - OPEN) / 2)
    return float(ordered[out]), float(ordered[len(ordered) - 1 - out])


def rising(share: Floats) -> Floats:
    """Shares that never fall along the last axis: half way between the highest so far and the lowest to come."""
    highest = np.maximum.accumulate(share, axis=-1)
    lowest = np.minimum.accumulate(share[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray((highest + lowest) / 2)


def crossing(sizes: Ints, share: Floats, power: float) -> Floats:
    """The number of items at which each rising row reaches the power, between sizes by their ratio: (rows,)."""
    reached = share >= power
    after = np.argmax(reached, axis=1)
    before = np.maximum(after - 1, 0)
    row = np.arange(len(share))
    low, high = share[row, before], share[row, after]
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(after > 0, (power - low) / (high - low), 0.0)
    between = sizes[before] * (sizes[after] / sizes[before]) ** part
    return np.where(reached.any(axis=1), between, np.inf)


def about(number: float) -> int:
    """Rounded up to two digits."""
    unit = 10 ** max(int(np.floor(np.log10(number))) - 1, 0)
    return int(np.ceil(number / unit - 1e-9) * unit)


# -- which epsilon is needed ----------------------------------------------------------------------------


def needed_epsilon(test: Tally) -> Estimates:
    """The smallest epsilon at which the judge is truly as good as half of the annotators, with its interval."""
    s = test.table.settings
    statistic = NeededEpsilon(test.quality, s.threshold)
    unit = test.table.units.name
    if test.table.ratings.clusters is not None:
        return estimate_sums(statistic, test.units, s, unit=unit)
    units = test.units.reshape(len(test.units), len(test.tested), -1, 3)

    def drawn(n: int) -> Floats:
        left = Posterior.of(units, test.n_items)
        return left.truths(n, np.random.default_rng(s.seed)) @ left.rows.reshape(len(left.rows), -1)

    return estimate_open(statistic, test.units, drawn, s, unit=unit)


# -- How the outcome of an alt-test moves ----------------------------------------------------------

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
    rng, n_truths = np.random.default_rng(chosen.seed), math.ceil(TRUTHS / len(pilots))
    studies = [one.studies(sizes, n_truths, EACH, rng) for one in pilots]
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
) -> SimulatedStudies:
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
    return SimulatedStudies(counts.cumsum(axis=1), over.cumsum(axis=1), quality)
