"""Simulated further studies: of other sizes, by other panels, at other margins; and the required sample size.

Power is the probability of a conclusive verdict for a given truth. The truth is unknown, and a plan that equates it
with the pilot's estimates is too small if the judge is close to epsilon. *Assurance* (O'Hagan, Stevens & Campbell 2005)
is power averaged over the uncertainty of the pilot, here over its middle 80% (`middle`). For each item it is known who
was closer to the others, over all annotators together, so that correlations are preserved. The frequencies of the kinds
of items are drawn from their posterior (Dirichlet: the Bayesian bootstrap of Rubin 1981, see
`assay.statistics.wins.Posterior`), then a study of N items, then its verdict. Only win counts are drawn; labels are not
compared again.

`SimulatedStudies` are studies from any source, with their verdicts. `Pilot` draws them from existing labels,
`score_studies` computes them from simulated labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assay.data.annotations import Answers
from assay.errors import DesignError
from assay.estimation.intervals import DECIDING, Estimate, hall_statistic, quantile_estimate
from assay.estimation.options import Settings, option
from assay.estimation.result import Result, Run, json_safe
from assay.estimation.statistic import Bools, Floats, Ints
from assay.replacement import decision, words
from assay.replacement.decision import WinCounts
from assay.replacement.panel import AltTestSettings, AltTestTable, Rule, labels_of
from assay.reporting import pictures
from assay.statistics.clusters import Clustering
from assay.statistics.item_agreement import AgreementRatioStudies
from assay.statistics.panels import DENSE_CELLS, Panel, are_few
from assay.statistics.wins import FEWEST_SUMMED, LOSS, MOST_SUMMED, WIN, Posterior, average_advantage, score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LIMIT, GROWTH = 2000, 20
"""The largest study considered has this number of items, or this multiple of the pilot, if that is more: larger studies
are rarely feasible, and a pilot has little information about a study twenty times its size."""

STEP = 1.5
"""The ratio of consecutive sizes: a dozen sizes up to `LIMIT`."""

TRUTHS, EACH = 240, 6
"""The numbers of truths that are drawn and of studies of each, in .04 to .2 s. Between seeds the sample size varies by
5 to 8% (standard deviation of 20; four pilots of 60 to 400 items)."""

OPEN = 0.8
"""The share of truths that the sample size and its range include, with equal tails. For a judge at epsilon no study of
any size is conclusive, and part of a pilot's uncertainty is always near it. Averaged over all truths, .87 of the
studies were conclusive at a nominal .8 (undecided pilots, judges better or worse than epsilon by .05 to .2); over this
share .83, without judges at epsilon (.73 with them)."""

MOST_PANELS = 50
"""Panels over which the assurance of smaller panels is averaged, which takes time."""

STUDY_CELLS = 4_000_000
"""Kinds of items that are drawn together, so that memory does not depend on the number of studies: 32 MB."""


@dataclass(frozen=True, eq=False)
class OutcomeSums:
    """Moments of the outcomes against annotators: 1 if the judge is closer, 0 for a tie or none, -1 if it is further.

    Attributes
    ----------
    products : (studies, sizes, annotators, annotators) float
        Sums over units of the product of the outcomes against two annotators.
    cubes : (studies, sizes) float
        Sums over units of the third power of the sum over annotators.
    n_units : (sizes,) int
    """

    products: Floats
    cubes: Floats
    n_units: Ints

    @classmethod
    def are_tested(cls, m: int) -> bool:
        """Return whether sums over this number of annotators are tested."""
        return FEWEST_SUMMED <= m <= MOST_SUMMED

    @classmethod
    def columns(cls, outcome: Floats) -> Floats:
        """Return what is added up, from the outcomes, (..., annotators): each two once, and the third power."""
        one, other = np.triu_indices(outcome.shape[-1])
        return np.concatenate([outcome[..., one] * outcome[..., other], outcome.sum(axis=-1, keepdims=True) ** 3], -1)

    @classmethod
    def of(cls, added: Floats, n_units: Ints) -> OutcomeSums:
        """Return the moments from the sums of `columns`: (studies, sizes, columns)."""
        m = math.isqrt(2 * (added.shape[-1] - 1))  # of m (m + 1) / 2 pairs
        one, other = np.triu_indices(m)
        products = np.empty((*added.shape[:-1], m, m))
        products[..., one, other] = products[..., other, one] = added[..., :-1]
        return cls(products, added[..., -1], n_units)

    def p(self, counts: Floats, p: Floats, least: Ints, epsilon: float) -> Floats:
        """Return the p-value of the sums in `assay.statistics.wins.noninferior_p`: (studies, sizes).

        Of the intersections only that of the annotators with the largest p-values is tested, which nearly always has
        the largest p-value, and with the skewness of the sum over all annotators.
        """
        from scipy.special import stdtr

        m, n = p.shape[-1], self.n_units.astype(float)
        place = np.argsort(np.argsort(-p, axis=-1, kind="stable"), axis=-1)
        member = (place < m - np.asarray(least)[..., None] + 1).astype(float)
        whole = counts.sum(axis=-2)
        lead, compared = whole[..., WIN] - whole[..., LOSS], whole.sum(axis=-1)
        mean = (member * lead).sum(axis=-1) / n
        spread = np.sqrt(np.maximum(np.einsum("...i,...ij,...j->...", member, self.products, member) / n - mean**2, 0))
        every, square = lead.sum(axis=-1) / n, self.products.sum(axis=(-1, -2)) / n
        cube = self.cubes / n - 3 * every * square + 2 * every**3
        with np.errstate(divide="ignore", invalid="ignore"):
            skewness = cube / np.maximum(square - every**2, 0.0) ** 1.5
            t = (mean + epsilon * (member * compared).sum(axis=-1) / n) / spread * np.sqrt(n - 1)
            found = stdtr(np.maximum(n - 1, 1), -hall_statistic(t, skewness, n))
        return np.where((n > 1) & (spread > SAME) & ~np.isnan(found), found, 1.0)


SAME = 1e-6
"""Standard deviation of outcomes without variation, whose sums are not tested."""


@dataclass(frozen=True, eq=False)
class SimulatedStudies:
    """Win counts of many studies, each after its first items, for all sizes.

    Attributes
    ----------
    counts : (studies, sizes, annotators, classes, 3) float
        Of the judge against each annotator.
    quality : (studies, annotators) float
        Weights of the annotators.
    ratio_z : (studies, sizes) float or None
        A(judge, annotators) minus ``min_agreement_ratio`` times A(annotators), in standard errors; None if the
        agreement ratio is not tested.
    agreement_z : (studies, sizes) float or None
        A(annotators) in standard errors; None if agreement among annotators is assumed.
    exact : bool
        Whether tests are exact, or score tests, as for many sizes.
    clustering : Clustering or None
        The effect of clusters on the tests.
    sums : OutcomeSums or None
        None if sums over annotators are not tested.
    """

    counts: Floats
    quality: Floats
    ratio_z: Floats | None = None
    agreement_z: Floats | None = None
    exact: bool = True
    clustering: Clustering | None = None
    sums: OutcomeSums | None = None

    def of_largest_size(self) -> SimulatedStudies:
        """Return the studies of the largest size alone."""
        ratio_z, agreement_z = (None if z is None else z[:, -1:] for z in (self.ratio_z, self.agreement_z))
        sums = self.sums and OutcomeSums(self.sums.products[:, -1:], self.sums.cubes[:, -1:], self.sums.n_units[-1:])
        return replace(self, counts=self.counts[:, -1:], ratio_z=ratio_z, agreement_z=agreement_z, sums=sums)

    def tested(self, settings: AltTestSettings) -> Bools:
        """Return which annotators have enough items: (studies, sizes, annotators)."""
        return np.asarray(self.counts.sum(axis=(-1, -2)) > max(settings.min_items, 2) - 0.5)

    def ends(self, settings: AltTestSettings, epsilon: float, level: float | None = None) -> Ints:
        """Return the verdict of each study, as the position in `decision.VERDICTS`: (studies, sizes).

        ``level`` is the level of each test; by default that of the settings.
        """
        enough = self.tested(settings)
        p, reverse = (np.where(enough, one, np.nan) for one in self._p(self.counts, epsilon, self.clustering))
        as_good, worse, least, _ = decision.conjunctions(p, reverse, self.quality[:, None, :], settings.threshold)
        if self.sums is not None:
            both = np.minimum(2 * np.minimum(as_good, self.sums.p(self.counts, p, least, epsilon)), 1.0)
            as_good = np.where(enough.all(axis=-1), both, as_good)
        few = are_few(self.counts.sum(axis=(-1, -2)), enough)
        as_good, worse = (np.where(few, 1.0, one) for one in (as_good, worse))
        above, below = self._p_ratio(as_good.shape)
        ends = decision.verdicts(as_good, worse, above, below, settings.level if level is None else level)
        if not settings.balance:
            return ends
        # Studies that the test refuses with balance, as a class has too few items.
        items = np.where(enough[..., None], self.counts.sum(axis=-1), 0.0)
        there = items.sum(axis=-2, keepdims=True) > 0
        small = there & enough[..., None] & (items < settings.min_class - 1e-9)
        return np.where(small.any(axis=(-1, -2)), UNDECIDED, ends)

    def _p_ratio(self, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
        """Return the p-values of an agreement ratio above and below the required one: (studies, sizes) each."""
        from scipy.special import ndtr

        if self.ratio_z is None:
            return np.zeros(shape), np.ones(shape)
        if self.agreement_z is None:
            return ndtr(-self.ratio_z), ndtr(self.ratio_z)
        # Without demonstrated agreement among annotators, R is undecided, as in `decision.VerdictTests`.
        p_agreement = ndtr(-self.agreement_z)
        return np.maximum(ndtr(-self.ratio_z), p_agreement), np.maximum(ndtr(self.ratio_z), p_agreement)

    def _p(self, counts: Floats, epsilon: float, clustering: Clustering | None) -> tuple[Floats, Floats]:
        """Return the two one-sided p-values of each comparison."""
        from scipy.special import ndtr

        if self.exact or clustering is not None or counts.shape[-2] > 1:
            return decision.best_p(counts, epsilon, clustering)
        whole = counts[..., 0, :]
        z, _ = score(whole[..., WIN], whole[..., LOSS], whole.sum(axis=-1), epsilon)
        return ndtr(z), ndtr(-z)


UNDECIDED = decision.VERDICTS.index("undecided")


def is_conclusive(ends: Ints) -> Bools:
    """Return which studies end in a conclusive verdict."""
    return np.asarray(ends != UNDECIDED)


# -- a pilot, and studies drawn from its posterior ------------------------------------------------------


@dataclass(frozen=True)
class AgreementRatio:
    """A(judge, annotators) minus the required multiple of A(annotators) in standard errors, and the number of items."""

    errors: float
    n_items: int

    def studies(self, sizes: Sequence[int], n_truths: int, n_each: int, rng: np.random.Generator) -> Floats:
        """Return the same for studies: truths are drawn around the estimate, studies around a truth. (studies, sizes)

        Both are assumed normal; smaller studies are the first part of larger ones (a random walk over items).
        """
        n = np.asarray(sizes, dtype=float)
        truth = (self.errors + rng.standard_normal(n_truths)) / math.sqrt(self.n_items)
        steps = rng.standard_normal((n_truths * n_each, len(n))) * np.sqrt(np.diff(n, prepend=0.0))
        return np.asarray(np.sqrt(n) * np.repeat(truth, n_each)[:, None] + steps.cumsum(axis=1) / np.sqrt(n))


@dataclass(frozen=True, eq=False)
class Pilot:
    """The items of a pilot by the winner against each annotator, and the agreement ratio.

    Attributes
    ----------
    posterior : Posterior
    quality : (annotators,) float
        Weights of the annotators.
    agreement_ratio : AgreementRatio or None
        None if it is not estimable, so that it is not tested.
    clustering : Clustering or None
        The effect of clusters on the tests.
    """

    posterior: Posterior
    quality: Floats
    agreement_ratio: AgreementRatio | None = None
    clustering: Clustering | None = None

    @classmethod
    def of(
        cls, by_unit: Floats, n_items: int, quality: Floats, agreement_ratio: AgreementRatio | None = None,
        clustering: Clustering | None = None,
    ) -> Pilot:  # fmt: skip
        """Return the pilot from the counts of each unit, (units, annotators, classes, 3), of `unit_wins`."""
        used = by_unit[by_unit.any(axis=(1, 2, 3))]
        return cls(Posterior.of(used, n_items), quality, agreement_ratio, clustering)

    def studies(self, sizes: Sequence[int], n_truths: int, n_each: int, rng: np.random.Generator) -> SimulatedStudies:
        """Return studies of ascending sizes, smaller ones the first part of larger ones: ``n_each`` of each truth."""
        of = self.posterior
        units = np.maximum(np.rint(np.array(sizes) / of.per_unit).astype(np.int64), 1)
        share, m = of.truths(n_truths, rng), len(self.quality)
        summed = OutcomeSums.are_tested(m) and self.clustering is None and of.rows.shape[2] == 1
        outcome = of.rows[:, :m, 0, WIN] - of.rows[:, :m, 0, LOSS]
        found, added = of.totals(share, n_each, units, rng, OutcomeSums.columns(outcome) if summed else None)
        quality = np.tile(self.quality, (len(found), 1))
        ratio_z = None if self.agreement_ratio is None else self.agreement_ratio.studies(sizes, n_truths, n_each, rng)
        sums = OutcomeSums.of(added, units) if summed else None
        return SimulatedStudies(found, quality, ratio_z, exact=False, clustering=self.clustering, sums=sums)


def pilot_of_test(test: WinCounts) -> Pilot:
    """Return the items of a test as a pilot for further studies by the tested annotators."""
    table, units = test.table, test.table.units
    if table.ratings.in_chunks:
        found = table.ratings.add_up(partial(_slice_wins, table.rule, test.code, units.n), units, 1)
    else:
        found = unit_wins(table.rule, table.panel, test.judge, units.of_item, units.n)
    return Pilot.of(found[:, test.tested], test.n_items, test.quality, agreement_ratio_of(test), test.clustering)


def agreement_ratio_of(test: WinCounts) -> AgreementRatio | None:
    """Return the agreement ratio of a test in standard errors; None if it is not estimable."""
    item_agreement = test.item_agreement
    contrast = item_agreement.for_ratio.contrast(test.table.settings.min_agreement_ratio, 0.9)
    if contrast.reason or not contrast.standard_error > 0:
        return None
    return AgreementRatio(contrast.estimate / contrast.standard_error, item_agreement.n_items)


def pilot_of_panel(rule: Rule, panel: Panel, judge: Floats, members: Ints) -> Pilot:
    """Return the items of some annotators, compared with each other, as a pilot for further studies by them."""
    place = np.full(panel.n_annotators, -1)
    place[members] = np.arange(len(members))
    annotator = place[panel.annotator]
    keep = annotator >= 0
    part = replace(
        panel, item=panel.item[keep], annotator=annotator[keep], value=panel.value[keep],
        n_annotators=len(members), quality=panel.quality[members],
    )  # fmt: skip
    found = unit_wins(rule, part, judge, np.arange(panel.n_items), panel.n_items)
    shown = found[:, : len(members)].any(axis=(1, 2, 3))
    return Pilot.of(found, int(np.count_nonzero(shown)), part.quality)


def unit_wins(rule: Rule, panel: Panel, judge: Floats, unit: Ints, n_units: int) -> Floats:
    """Return wins, ties and losses of each unit against each annotator: (units, annotators, classes, 3)."""
    m = panel.n_annotators
    compared = rule.compare(panel, judge)
    group = unit[panel.item[compared.row]] * m + panel.annotator[compared.row]
    wins = compared.counts(group, n_units * m)
    return wins.reshape(n_units, m, *wins.shape[1:])


def _slice_wins(rule: Rule, code: int, n_units: int, answers: Answers, unit: Ints) -> Floats:
    """Return `unit_wins` of one slice of a folder."""
    return unit_wins(rule, rule.panel_of(answers), labels_of(answers, code), unit, n_units)


# -- panels of annotators, and studies by them --------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Panels:
    """Random panels of annotators, and the items with labels of at least two members of each."""

    members: Ints
    """(draws, annotators)"""
    items: Ints
    """The items of the first panel, then of the second, ..."""
    start: Ints
    """The start of each panel's items in ``items``: (draws + 1,)."""

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Return ``size`` items of each panel, with replacement: (draws, size)."""
        count = np.diff(self.start)[:, None]
        return np.asarray(self.items[self.start[:-1, None] + rng.integers(0, count, (len(count), size))])


def draw_panels(answered: Bools, size: int, n_draws: int, rng: np.random.Generator) -> Panels:
    """Return panels whose members share at least 30 items with others, or the best panel found."""
    members = np.zeros((0, size), dtype=np.int64)
    least = np.zeros(0, dtype=np.int64)
    shared: list[Bools] = []
    step = max(1, min(n_draws, DENSE_CELLS // max(answered.shape[0] * size, 1)))
    # Twenty tries for each panel: if fewer than one in twenty shares items, the best ones are used.
    while len(least) < 20 * n_draws and np.count_nonzero(least >= decision.SMALL) < n_draws:
        drawn = np.sort(np.argsort(rng.random((step, answered.shape[1])), axis=1)[:, :size], axis=1)
        part = answered[:, drawn]
        meet = part.sum(axis=2) >= 2
        members = np.concatenate([members, drawn])
        least = np.concatenate([least, (part & meet[:, :, None]).sum(axis=0).min(axis=1)])
        shared += list(meet.T)
    if least.max() < 2:
        raise DesignError(f"no {size} annotators share items, so that no panel can be drawn")
    enough = np.flatnonzero(least >= decision.SMALL)
    if not len(enough):
        enough = np.flatnonzero(least == least.max())
    chosen = np.resize(enough, n_draws)
    items = [np.flatnonzero(shared[c]) for c in chosen]
    return Panels(members[chosen], np.concatenate(items), np.cumsum([0, *map(len, items)]))


def studies_by_panels(
    table: AltTestTable, judge: Floats, members: Ints, n_truths: Sequence[int], sizes: Sequence[int],
    rng: np.random.Generator,
) -> Iterator[SimulatedStudies]:  # fmt: skip
    """Yield studies by panels, (panels, annotators), drawn from the posterior of the items of each."""
    for one, n in zip(members, n_truths, strict=True):
        pilot = pilot_of_panel(table.rule, table.panel, judge, one)
        step = max(1, STUDY_CELLS // (EACH * len(sizes) * len(pilot.posterior.weight)))
        for start in range(0, n, step):
            yield pilot.studies(sizes, min(step, n - start), EACH, rng)


def grid_of(table: AltTestTable, judge: Floats) -> Floats:
    """Return the human labels of the items with a label of the judge, NaN elsewhere: (items, annotators)."""
    panel = table.panel
    grid = np.full((panel.n_items, panel.n_annotators), np.nan)
    grid[panel.item, panel.annotator] = panel.value
    grid[np.isnan(judge)] = np.nan
    return grid


def score_studies(
    rule: Rule, values: Floats, judge: Floats, quality: Floats, sizes: Sequence[int], least: float | None = None
) -> SimulatedStudies:
    """Return the win counts of many studies at once.

    All studies are one table with a separate item for every item of every study, so that scores are computed once for
    all sizes.

    Parameters
    ----------
    rule : Rule
        The comparison of labels.
    values : (studies, items, annotators) float
        Human labels, NaN if missing.
    judge : (studies, items) float
    quality : (studies, annotators) float
    sizes : sequence of int
        Ascending, the last at most the number of items.
    least : float, optional
        The required agreement ratio; without it, it is not tested.
    """
    n_studies, n_items, k = values.shape
    flat = values.ravel()
    cell = np.flatnonzero(~np.isnan(flat))
    item, member = cell // k, cell % k
    panel = Panel(
        item=item, annotator=item // n_items * k + member, value=flat[cell], n_items=n_studies * n_items,
        n_annotators=n_studies * k, quality=quality.ravel(), labels=rule.labels,
    )  # fmt: skip
    compared = rule.compare(panel, judge.ravel())
    n_sizes = len(sizes)
    # Items between two sizes are counted together, then added up from the smallest size to the largest.
    step = np.searchsorted(np.asarray(sizes), np.arange(n_items), side="right")
    step = np.tile(step, n_studies)
    compared = compared.where(step[item[compared.row]] < n_sizes)
    place = item[compared.row]
    group = (place // n_items * n_sizes + step[place]) * k + member[compared.row]
    counts = compared.counts(group, n_studies * n_sizes * k).reshape(n_studies, n_sizes, k, -1, 3)
    ratio_z, agreement_z = None, None
    if least is not None:
        ratio_z, agreement_z = _ratio_errors(
            AgreementRatioStudies.of(rule.score, panel, rule.usable_labels(panel, judge.ravel()), n_studies),
            sizes,
            least,
        )
    found = SimulatedStudies(counts.cumsum(axis=1), quality, ratio_z, agreement_z)
    if not OutcomeSums.are_tested(k) or counts.shape[-2] > 1:
        return found
    outcome = np.zeros((n_studies * n_items, k))
    outcome[place, member[compared.row]] = compared.sign
    parts = np.split(outcome.reshape(n_studies, n_items, k), np.asarray(sizes), axis=1)[:n_sizes]
    products = np.stack([part.transpose(0, 2, 1) @ part for part in parts], axis=1).cumsum(axis=1)
    cubes = np.stack([(part.sum(axis=2) ** 3).sum(axis=1) for part in parts], axis=1).cumsum(axis=1)
    return replace(found, sums=OutcomeSums(products, cubes, np.asarray(sizes)))


def _ratio_errors(studies: AgreementRatioStudies, sizes: Sequence[int], least: float) -> Floats:
    """Return the excess agreement of each judge and the agreement of annotators, in standard errors, by size.

    From the pseudo-values of the largest study: those of the first items are used for a study of these items. Studies
    without an estimate have 0.

    Returns
    -------
    (2, studies, sizes) float
        Of A(judge, annotators) minus ``least`` times A(annotators), and of A(annotators).
    """
    from scipy.special import ndtri, stdtr

    estimable = studies.n_items > 0
    found = np.zeros((2, len(estimable), len(sizes)))
    each = np.moveaxis(studies.values[estimable] @ np.array([[1.0, 0.0], [-least, 1.0]]), -1, 0)
    of = studies.n_items[estimable][:, None]
    n = np.minimum(np.asarray(sizes), of)
    sums = (each.cumsum(axis=-1), (each**2).cumsum(axis=-1), (each**2 * each).cumsum(axis=-1))
    mean, square, cube = (one[:, np.arange(len(n))[:, None], n - 1] / n for one in sums)
    variance = np.maximum(square - mean**2, 1e-12) * n / (n - 1)
    skewness = (cube - 3 * mean * square + 2 * mean**3) / variance**1.5
    df = np.maximum(np.minimum(DECIDING * studies.deciding[estimable][:, None] * n / of, n) - 1, 1.0)
    # In standard errors: the normal quantile of the p-value.
    found[:, estimable] = -ndtri(stdtr(df, -hall_statistic(mean / np.sqrt(variance / n), skewness, n)))
    return found


# -- sample size --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SampleSize:
    """The number of items that is likely to give a conclusive verdict.

    Attributes
    ----------
    n_items : int or None
        The smallest study with the assurance ``power``: power averaged over the middle 80% of the pilot's uncertainty.
        None if no size considered has it.
    low, high : int or None
        Its range: 80% (`OPEN`) of the pilot's uncertainty. ``high`` is None above ``limit``.
    limit : int
        The largest size considered.
    power : float
    sizes : (sizes,) int
        The sizes considered.
    assurance : (sizes,) float
        The assurance of each: the probability of a conclusive verdict.
    reason : str or None
        The reason for a missing number, or a missing upper end of its range.
    """

    n_items: int | None
    low: int | None
    high: int | None
    limit: int
    power: float
    sizes: Ints
    assurance: Floats
    reason: str | None = None

    def chance(self, n_items: int) -> float:
        """Return the assurance of a study of this size, of those considered: the nearest one below."""
        return float(self.assurance[max(int(np.searchsorted(self.sizes, n_items, side="right")) - 1, 0)])

    @property
    def even(self) -> int | None:
        """The smallest size considered that is as likely as not to be conclusive; None if no size is."""
        likely = np.flatnonzero(self.assurance >= EVEN)
        return min(about(float(self.sizes[likely[0]])), self.limit) if len(likely) else None


EVEN = 0.5
"""Assurance of a study that is as likely as not to be conclusive."""

NO_ANNOTATOR = SampleSize(
    None, None, None, 0, math.nan, np.empty(0, np.int64), np.empty(0), "no annotator has enough items"
)
"""The sample size if no annotator has enough items for a test."""

_SAMPLE_SIZES: dict[bytes, SampleSize] = {}
"""Cache for pilots: tests of the same counts share it, as do the card, the table and the picture of a report."""


def level_of_domain(settings: AltTestSettings, n_domains: int) -> AltTestSettings:
    """Return the options of further studies: at the Bonferroni level of several domains."""
    return replace(settings, alpha=settings.alpha / max(n_domains, 1))


def sizes_up_to(limit: int, first: int) -> Ints:
    """Return sizes from the first to the limit, in constant ratios."""
    steps = max(int(np.ceil(np.log(limit / first) / np.log(STEP))), 1)
    return np.unique(np.rint(first * (limit / first) ** (np.arange(steps + 1) / steps)).astype(np.int64))


def sample_size(pilot: Pilot, n_items: int, settings: AltTestSettings, power: float = 0.8) -> SampleSize:
    """Return the sample size of a conclusive verdict, with its range from a pilot of ``n_items``."""
    s = settings
    decides = (s.level, s.threshold, s.tolerance, s.min_items, s.balance, s.min_class, s.seed)
    key = decision.content_key(pilot, n_items, decides, power, TRUTHS)
    return decision.remember(_SAMPLE_SIZES, key, lambda: _sample_size(pilot, n_items, settings, power))


def _sample_size(pilot: Pilot, n_items: int, settings: AltTestSettings, power: float) -> SampleSize:
    first = max(settings.min_items, 2)
    limit = max(LIMIT, GROWTH * n_items, 2 * first)
    sizes = sizes_up_to(limit, first)
    studies = pilot.studies(sizes.tolist(), TRUTHS, EACH, np.random.default_rng(settings.seed))
    found = power_of_truths(studies, settings)
    assurance = rising(middle(found))
    number = crossing(sizes, assurance[None], power)[0]
    made = SampleSize(None, None, None, limit, power, sizes, assurance)
    if not np.isfinite(number):
        # Would the largest studies be conclusive if the agreement ratio were not tested?
        alone = replace(studies.of_largest_size(), ratio_z=None)
        conclusive = middle(power_of_truths(alone, settings))[-1] >= power
        ratio, margin = "the agreement ratio is close to the required one", "the judge is close to the margin ε"
        return replace(made, reason=ratio if conclusive else margin)
    low, high = range_of(sizes, found, power)
    low, high = min(low, number), max(high, number)
    if not np.isfinite(high):
        made = replace(made, reason="the pilot does not exclude that the judge is at the margin ε")
    return replace(made, n_items=about(number), low=about(low), high=about(high) if np.isfinite(high) else None)


def power_of_truths(studies: SimulatedStudies, settings: AltTestSettings) -> Floats:
    """Return the share of the `EACH` studies of each truth with a conclusive verdict: (truths, sizes)."""
    found = is_conclusive(studies.ends(settings, settings.tolerance))
    return np.asarray(found.reshape(-1, EACH, found.shape[-1]).mean(axis=1))


def middle(by_truth: Floats, of: Floats | None = None) -> Floats:
    """Return the assurance: power averaged over the middle truths (`OPEN`), ordered by power.

    Parameters
    ----------
    by_truth : (..., truths, sizes) float
        The share of conclusive studies of each truth.
    of : (..., truths, sizes) float, optional
        What is averaged over these truths; by default the power.

    Returns
    -------
    (..., sizes) float
    """
    n = by_truth.shape[-2]
    out = round(n * (1 - OPEN) / 2)
    order = np.argsort(by_truth.sum(axis=-1), axis=-1, kind="stable")[..., out : n - out]
    return np.asarray(np.take_along_axis(by_truth if of is None else of, order[..., None], axis=-2).mean(axis=-2))


def range_of(sizes: Ints, by_truth: Floats, power: float) -> tuple[float, float]:
    """Return the range of the sample size over truths, (truths, sizes): infinite above all sizes."""
    ordered = np.sort(crossing(sizes, rising(by_truth), power))
    out = round(len(ordered) * (1 - OPEN) / 2)
    return float(ordered[out]), float(ordered[len(ordered) - 1 - out])


def rising(share: Floats) -> Floats:
    """Return monotone shares along the last axis: midway between the highest so far and the lowest to come."""
    highest = np.maximum.accumulate(share, axis=-1)
    lowest = np.minimum.accumulate(share[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray((highest + lowest) / 2)


def crossing(sizes: Ints, share: Floats, power: float) -> Floats:
    """Return the size at which each monotone row reaches the power, interpolated by ratio: (rows,)."""
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
    """Round up to two digits."""
    unit = 10 ** max(int(np.floor(np.log10(number))) - 1, 0)
    return int(np.ceil(number / unit - 1e-9) * unit)


# -- omega at other margins -----------------------------------------------------------------------------


@dataclass(frozen=True)
class EpsilonCurveSettings(Settings):
    """Options of an epsilon curve."""

    epsilons: Sequence[float] | Floats | None = option(
        None, "Values of epsilon.", low=0, high=1, details="0 to .5 in steps of .01 when not given."
    )

    def __post_init__(self) -> None:
        if isinstance(self.epsilons, np.ndarray):
            object.__setattr__(self, "epsilons", self.epsilons.tolist())
        super().__post_init__()
        if self.epsilons is not None:
            if not len(self.epsilons):
                raise DesignError("epsilons is empty; give values between 0 and 1", option="epsilons", value=())
            object.__setattr__(self, "epsilons", tuple(sorted(map(float, self.epsilons))))


@dataclass(frozen=True, eq=False)
class EpsilonCurve(Result):
    """omega against epsilon (figure 3 of the paper), for one judge.

    Attributes
    ----------
    judge : str
    epsilon, winning_rate : (values,) float
        The winning rate at each epsilon; it never decreases with epsilon.
    smallest : float
        The smallest passing margin; NaN if it does not pass at 1.
    chosen : float
        The epsilon of the test.
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
        """One row for each value of epsilon."""
        return pl.DataFrame({"epsilon": self.epsilon, "estimate": self.winning_rate})

    def summary(self) -> str:
        """Return the smallest margin at which the published rule passes."""
        return words.epsilon_curve_summary(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw omega as steps, the threshold, and the epsilon of the test."""
        ax = pictures.axes(ax, height=3.0)
        ax.step(self.epsilon, self.winning_rate, where="post", color=pictures.JUDGE, linewidth=1.8, label=self.judge)
        ax.axhline(self.threshold, color=pictures.MUTED, linewidth=1, linestyle=":")
        ax.axvline(self.chosen, color=pictures.FAINT, linewidth=1.2)
        ax.set_xlabel("margin ε")
        ax.set_ylabel("winning rate ω")
        ax.set_ylim(-0.03, 1.05)
        return ax


def epsilon_curve(
    test: WinCounts, run: Run, settings: EpsilonCurveSettings, among: Sequence[WinCounts] = ()
) -> EpsilonCurve:
    """Return the winning rate of a test at other margins; ``among``: the tests that it is corrected with."""
    grid = np.linspace(0, 0.5, 51) if settings.epsilons is None else np.array(settings.epsilons)
    s = test.table.settings
    found = decision.winning_at(test, grid, among) if len(test.tested) else np.full(len(grid), np.nan)
    smallest = decision.smallest_epsilon(test, among)
    run = Run("epsilon-curve", settings, run.data, of=run)
    return EpsilonCurve(test.name, grid, found, smallest, s.tolerance, s.threshold, run)


# -- omega, rho and assurance at other sizes -----------------------------------------------------------

SIZES = (30, 40, 50, 75, 100, 150, 200, 300)
"""Sizes of `size_curve`, up to those of figure 2 of the paper."""


@dataclass(frozen=True)
class SizeCurveSettings(Settings):
    """Options of a size curve."""

    sizes: Sequence[int] | None = option(
        SIZES, "Numbers of items.", low=2,
        details="Items are drawn with replacement, so that larger sizes show the effect of more items like these.",
    )  # fmt: skip
    n_annotators: int | None = option(
        None, "Annotators in each panel (default: all).", low=2, key="panel", always=True,
        details="That is, all tested annotators. The paper draws 3.",
    )  # fmt: skip
    n_draws: int = option(100, "Panels and sets of items drawn for each size.", low=1, key="draws", always=True)
    seed: int = option(0, "Random seed.", low=0, always=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "sizes", tuple(sorted(set(SIZES if self.sizes is None else self.sizes))))
        if not self.sizes:
            raise DesignError("sizes is empty; give whole numbers of at least 2", option="sizes", value=())


MIDDLE = 0.9
"""The share of draws between the limits of a size curve."""


@dataclass(frozen=True, eq=False)
class SizeCurve(Result):
    """omega and rho against the number of items, over random panels and items (figure 2 of the paper).

    Attributes
    ----------
    judge : str
    size : (sizes,) int
        Items drawn, with replacement, from those with labels of at least two panel members.
    winning_rate, advantage_probability : (sizes,) float
        Means over the draws.
    low, high : (sizes,) float
        The middle 90% of rho over the draws: the variation of studies of this size, and not a confidence interval of
        the test.
    passing : (sizes,) float
        Share of the draws in which the published rule passes.
    n_annotators, n_draws, seed : int
        Annotators in a panel, and draws for each size.
    studies : function
        Simulates the studies of `assurance`.
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
    draws: Floats = field(repr=False, metadata={"json": False})
    """rho in each draw: (sizes, draws)."""

    @property
    def confidence(self) -> float:
        """The share of draws between `low` and `high`."""
        return MIDDLE

    def row_estimates(self) -> Sequence[Estimate | None]:
        """Return rho at each size, with limits that contain the middle share of the draws."""
        drawn = zip(self.advantage_probability.tolist(), self.draws, strict=True)
        return [quantile_estimate(rho, each, MIDDLE) for rho, each in drawn]

    @cached_property
    def assurance(self) -> Floats:
        """The assurance: the probability of a conclusive verdict: (sizes,).

        Averaged over the middle 80% of the uncertainty of these labels; NaN for smaller panels with clusters. Computed
        on access, since it takes longer than the rest.
        """
        return self.studies()

    def to_dict(self) -> dict[str, Any]:
        """Return everything, safe for JSON."""
        return {**super().to_dict(), "assurance": json_safe(self.assurance)}

    @property
    def table(self) -> pl.DataFrame:
        """One row for each size; ``estimate`` is rho."""
        columns = {
            "n": self.size, "estimate": self.advantage_probability, "low": self.low, "high": self.high,
            "winning_rate": self.winning_rate, "passing": self.passing, "assurance": self.assurance,
        }  # fmt: skip
        return pl.DataFrame(columns)

    def summary(self) -> str:
        """Return ω, the published rule and the assurance at the smallest and the largest size."""
        return words.size_curve_summary(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw omega and rho by number of items."""
        ax = pictures.axes(ax, height=3.0)
        ax.fill_between(self.size, self.low, self.high, color=pictures.HUMAN, alpha=0.15, linewidth=0)
        ax.plot(self.size, self.advantage_probability, color=pictures.HUMAN, linestyle="--", label="ρ, middle 90%")
        ax.plot(self.size, self.winning_rate, color=pictures.JUDGE, marker="o", markersize=3.5, label="ω")
        ax.plot(self.size, self.assurance, color=pictures.JUDGE, linestyle=":", label="P(conclusive verdict)")
        ax.axhline(self.threshold, color=pictures.MUTED, linewidth=1, linestyle=":")
        ax.set_xlabel(f"items, each with up to {self.n_annotators} annotators")
        ax.set_ylim(-0.03, 1.05)
        pictures.legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
        return ax


def size_curve(test: WinCounts, run: Run, settings: SizeCurveSettings, among: Sequence[WinCounts] = ()) -> SizeCurve:
    """Return omega and rho for studies of other sizes, by drawing panels and items from the table (section 5.1).

    Raises
    ------
    DesignError
        If no panel shares items, or with a fixed reference.
    """
    table, rule, panel = test.table, test.table.rule, test.table.panel
    s = table.settings
    if s.fixed_reference:
        raise DesignError("the size curve compares annotators with each other; omit expert=... or gold=...")
    rng, n_draws, sizes = np.random.default_rng(settings.seed), settings.n_draws, tuple(settings.sizes or ())
    n_tested = len(test.tested) or panel.n_annotators
    n_annotators = max(2, min(settings.n_annotators or n_tested, panel.n_annotators))
    grid = grid_of(table, test.judge)
    panels = draw_panels(~np.isnan(grid), n_annotators, n_draws, rng)
    weight = rule.quality[panels.members]
    omega, rho = np.empty((2, len(sizes), n_draws))
    for i, size in enumerate(sizes):
        items = panels.draw(size, rng)
        values = grid[items[:, :, None], panels.members[:, None, :]]
        counts = score_studies(rule, values, test.judge[items], weight, (size,)).counts[:, 0]
        rejected = decision.by_rejects(decision.winning_p(counts, s.tolerance, s.test), s.fdr)
        omega[i], rho[i] = (rejected * weight).sum(axis=1) / weight.sum(axis=1), average_advantage(counts)
    low, high = np.nanquantile(rho, [(1 - MIDDLE) / 2, (1 + MIDDLE) / 2], axis=1)
    notes = ("omega is corrected within this domain, verdicts for the number of domains",) if among else ()
    return SizeCurve(
        judge=test.name,
        size=np.array(sizes),
        winning_rate=omega.mean(axis=1),
        passing=decision.passes(omega, s.threshold).astype(float).mean(axis=1),
        studies=partial(_assurance, test, panels, settings, level_of_domain(s, len(among))),
        advantage_probability=np.nanmean(rho, axis=1),
        low=low,
        high=high,
        n_annotators=n_annotators,
        n_draws=n_draws,
        seed=settings.seed,
        epsilon=s.tolerance,
        threshold=s.threshold,
        run=Run("size-curve", settings, run.data, notes=notes, of=run),
        draws=rho,
    )


def _assurance(test: WinCounts, panels: Panels, chosen: SizeCurveSettings, s: AltTestSettings) -> Floats:
    """Return the share of studies by such panels with a conclusive verdict: (sizes,)."""
    table, sizes, rng = test.table, tuple(chosen.sizes or ()), np.random.default_rng(chosen.seed)
    if panels.members.shape[1] == len(test.tested):
        studies = [pilot_of_test(test).studies(sizes, TRUTHS, EACH, rng)]
    elif table.ratings.clusters is not None:
        return np.full(len(sizes), np.nan)
    else:
        members = np.unique(panels.members, axis=0)[:MOST_PANELS]
        each = [math.ceil(TRUTHS / len(members))] * len(members)
        studies = list(studies_by_panels(table, test.judge, members, each, sizes, rng))
    return rising(middle(np.concatenate([power_of_truths(one, s) for one in studies])))
