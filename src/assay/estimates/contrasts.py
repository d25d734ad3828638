"""Corrected differences of systems from judge labels of all outputs and human labels of some.

Differences are paired by source: the contribution of a source to the error of one system's mean is subtracted from its
contribution to the other's. The judge-only difference is reported with its part that is associated with length.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np
from scipy.special import stdtrit

from assay.errors import DesignError, unknown
from assay.estimates.checked import ONE_HUMAN, SpotChecks
from assay.estimates.difference import LEAST_SHARED, Checked, Corrected, JudgeMean, MeanSpread, difference, sum_at
from assay.estimation.intervals import (
    Estimate,
    EstimateByRule,
    ends_of_difference,
    missing,
    p_of_ends,
    same_everywhere,
    without_interval,
)
from assay.estimation.statistic import Bools, Floats, Ints

LEAST_SOURCES = 5
"""Least labelled sources, or clusters of sources, for an interval of a difference."""


@dataclass(frozen=True, eq=False)
class SystemContrast:
    """A difference of two systems.

    Attributes
    ----------
    first, second : str
        The difference is first minus second.
    found : Estimate
        The corrected difference.
    humans_only : Estimate
        From human labels only.
    judge : Estimate
        From the judge's labels only.
    by_length : Estimate
        The part of the judge's difference that is associated with the difference in length; missing without a column.
    p, p_adjusted : float
        Of no difference.
    n : int
        Sources with human labels.
    n_all : int
        All sources of either system.
    label : str or None
        The label whose shares are compared; None for means.
    adjusted_for : str or None
        ``severity`` if labels are humans' only, and the difference is adjusted for the severity of the annotators.
    """

    first: str
    second: str
    found: Estimate
    humans_only: Estimate
    judge: Estimate
    by_length: Estimate
    p: float
    n: int
    n_all: int
    p_adjusted: float = field(default=math.nan)
    label: str | None = None
    adjusted_for: Literal["severity"] | None = None

    def adjusted(self, p: float) -> SystemContrast:
        """Return the contrast with an adjusted p-value."""
        return replace(self, p_adjusted=p)

    def row(self) -> dict[str, Any]:
        """Return its row of the table."""
        only, systems = self.humans_only, f"{self.first} − {self.second}"
        named = (None, systems) if self.label is None else (systems, self.label)
        return {
            "slice": named[0], "quantity": named[1], **self.found.row(), "n": self.n,
            "items": self.n_all, "judge_only": self.judge.estimate, "humans_only": only.estimate,
            "humans_only_low": only.low, "humans_only_high": only.high, "equivalent_labels": None, "weight": None,
            "reason": self.found.reason, "p": self.p, "p_adjusted": self.p_adjusted,
            "length": self.by_length.estimate if math.isfinite(self.by_length.estimate) else None,
        }  # fmt: skip


Outputs = tuple[SpotChecks, JudgeMean, Bools]
"""A system's labels, the labels of a judge or a prediction for all its outputs, and a mask of its items."""


@dataclass(frozen=True, eq=False)
class SourcePairs:
    """The sources and clusters of outputs.

    Attributes
    ----------
    sources : (items,) int
        The source of each item.
    clusters : (items,) int, optional
        The cluster of each item; clusters contain whole sources.
    length : (items,) float, optional
    random : bool
        Whether annotators are a random sample.
    finite : bool
        Whether the difference is for these outputs only.
    """

    sources: Ints
    clusters: Ints | None = None
    length: Floats | None = None
    random: bool = False
    finite: bool = False

    @cached_property
    def n_sources(self) -> int:
        """The number of sources."""
        return int(self.sources.max()) + 1

    @cached_property
    def units(self) -> Ints:
        """The independent unit of each item: its source, or the cluster of the source."""
        return self.sources if self.clusters is None else self.clusters

    @cached_property
    def unit_of_source(self) -> Ints:
        """(sources,): the source itself, or its cluster."""
        found = np.zeros(self.n_sources, dtype=np.int64)
        found[self.sources] = self.units
        return found

    @property
    def divided(self) -> Ints:
        """Sources with outputs in several clusters."""
        return np.unique(self.sources[self.unit_of_source[self.sources] != self.units])

    def same_outputs(self, systems: Mapping[str, Outputs]) -> SourcePairs | None:
        """Return the pairing for a difference on these outputs only. None if sums over sources are not sufficient:
        several outputs of one source and system, or partly labelled clusters."""
        if any(np.bincount(self.sources[mine]).max() > 1 for _, _, mine in systems.values()):
            return None
        drawn = [checks.drawn("finite") for checks, _, _ in systems.values()]
        if self.clusters is None or all(one.whole for one in drawn):
            return replace(self, finite=True)
        return replace(self, clusters=None, finite=True) if all(one.scattered for one in drawn) else None


def contrast_systems(
    systems: Mapping[str, Outputs], pairing: SourcePairs, baseline: str | None, confidence: float,
    weights: Mapping[str, float], bounds: tuple[float, float] | None = None,
) -> list[SystemContrast]:  # fmt: skip
    """Estimate the differences of all pairs of systems, or of each system with the baseline.

    Parameters
    ----------
    systems : mapping of name to Outputs
    pairing : SourcePairs
    weights : mapping of name to float
        λ of each system.
    bounds : (float, float), optional
        The ends of a share, or of the scale.
    """
    names = list(systems)
    if baseline is not None and baseline not in names:
        raise DesignError(
            unknown("system", baseline, names, "the column of systems"), option="baseline", value=baseline
        )
    pairs = [(a, baseline) for a in names if a != baseline] if baseline is not None else list(combinations(names, 2))
    made = {name: _means(one, pairing, weights[name], bounds) for name, one in systems.items()}
    found = []
    for a, b in pairs:
        first, second = made[a], made[b]
        judge, by_length = judge_only_difference(systems[a], systems[b], pairing, confidence)
        corrected, alone = (
            corrected_difference(x, y, pairing, confidence) for x, y in ((first, second), (first.alone, second.alone))
        )
        p = corrected.p(0.0) if math.isfinite(corrected.low) else math.nan
        n, n_all = (int((x | y).sum()) for x, y in ((first.labelled, second.labelled), (first.judged, second.judged)))
        found.append(SystemContrast(a, b, corrected, alone, judge, by_length, p, n, n_all))
    return found


@dataclass(frozen=True, eq=False)
class SystemMean:
    """A system's mean and the contribution of each unit (source or cluster) to its error, with the judge and without.

    Attributes
    ----------
    value : float
    phi : (units,) float
    mass : (units,) float
        The weight of each unit's labels in the mean.
    labelled, judged : (sources,) bool
    by_person : mapping of person to float
        Each person's own mean.
    cells : (units, columns) float
        The contribution of each unit to the error by annotator, or in total if units are clusters or stratified; NaN
        if it is not labelled.
    strata : (units,) int
        The stratum of each unit, −1 if the system has no output of it.
    spread : MeanSpread or None
        Of this system alone, without the variance between annotators.
    without : SystemMean or None
        From human labels only.
    """

    value: float
    phi: Floats
    mass: Floats
    labelled: Bools
    judged: Bools
    by_person: Mapping[str, float]
    cells: Floats
    strata: Ints
    spread: MeanSpread | None = None
    without: SystemMean | None = None

    @property
    def alone(self) -> SystemMean:
        """The mean from human labels only."""
        return self if self.without is None else self.without

    @property
    def people(self) -> dict[str, float]:
        """The contribution of each annotator to the error of a mean over a population of annotators."""
        m = len(self.by_person)
        factor = math.sqrt(m / (m - 1)) / m if m > 1 else math.nan
        return {name: (value - self.value) * factor for name, value in self.by_person.items()}


def _means(one: Outputs, pairing: SourcePairs, weight: float, bounds: tuple[float, float] | None) -> SystemMean:
    checks, judged, mine = one
    n_units = int(pairing.units.max()) + 1
    unit, source = pairing.units[mine], pairing.sources[mine]
    drawn = checks.drawn("finite" if pairing.finite else "infinite")
    here = unit[checks.position]
    there = np.zeros((2, pairing.n_sources), dtype=bool)
    there[0, source[checks.position]], there[1, source] = True, True
    mass = sum_at(here, drawn.by_item(drawn.share), n_units)
    strata = np.full(n_units, -1)
    strata[unit] = 0 if checks.stratum is None else checks.stratum

    def at(one_weight: float, without: SystemMean | None) -> SystemMean:
        found = difference(drawn, checks.y, judged, one_weight)
        line = math.sqrt((checks.n - 1) / max(checks.n - 2, 1) if one_weight else 1.0)
        e, everywhere = drawn.apart(found.contributions * line)
        phi = sum_at(here, e, n_units)
        cells = np.full((n_units, 1), math.nan)
        cells[here, 0] = phi[here]
        if checks.stratum is None and pairing.clusters is None:
            cells = _cells_by_person(drawn, found, here, n_units) * line
        if not pairing.finite:
            if everywhere is not None and checks.stratum is not None:
                phi = phi + sum_at(unit, everywhere[checks.stratum], n_units)
            assert judged.everywhere is not None
            phi = phi + one_weight * sum_at(unit, judged.everywhere - judged.mean, n_units) / checks.n_all
        people = dict(zip(checks.people, map(float, found.by_person), strict=True))
        spread = MeanSpread.of(found, bounds, random=False)
        return SystemMean(found.value, phi, mass, there[0], there[1], people, cells, strata, spread, without)

    return at(weight, at(0.0, None))


def _cells_by_person(drawn: Checked, found: Corrected, here: Ints, n_units: int) -> Floats:
    """(units, annotators): the contribution of each label to the error, weighted by the inverse probability."""
    cells = np.full((n_units, drawn.n_people), math.nan)
    w = drawn.weight[drawn.row]
    typical = sum_at(drawn.person, w, drawn.n_people) / np.maximum(np.bincount(drawn.person), 1)
    cells[here[drawn.row], drawn.person] = found.by_label * np.sqrt(typical[drawn.person] / w)
    return cells


def known_output_variance(first: SystemMean, second: SystemMean) -> float:
    """The finite-population correction of the variance of a difference on these N outputs.

    For annotators r and s, each of either system, with n_r, n_s and n_rs labelled sources (own and shared), out of N_r,
    N_s and N_rs sources of the systems: Σ ± (Σ e_r e_s) · n_r n_s / n_rs · N_rs / (N_r N_s), in each stratum. If all
    annotators labelled the same n of N sources, it is n/N of the variance. Two annotators who share fewer than
    `LEAST_SHARED` sources count as uncorrelated within a system, and as perfectly correlated across the two: both only
    widen the interval.
    """
    lost = 0.0
    columns = [one.cells.shape[1] for one in (first, second)]
    side = np.repeat([1.0, -1.0], columns)
    sign = np.outer(side, side)
    for stratum in np.unique(np.concatenate([first.strata, second.strata])):
        if stratum < 0:
            continue
        own = [(one.strata == stratum)[:, None] for one in (first, second)]
        cells = np.hstack([np.where(o, one.cells, math.nan) for o, one in zip(own, (first, second), strict=True)])
        there, x = np.isfinite(cells).astype(float), np.nan_to_num(cells)
        all_of = np.hstack([np.repeat(o, k, axis=1) for o, k in zip(own, columns, strict=True)]).astype(float)
        number, present = there.T @ there, all_of.T @ all_of
        n, n_all = np.diag(number), np.maximum(np.diag(present), 1)
        together = x.T @ x * np.outer(n, n) / np.maximum(number, 1)
        most = np.sqrt(np.outer(np.diag(together), np.diag(together)))
        known = (number >= LEAST_SHARED) | ((number == n) & (number == n[:, None]))
        together = np.where(known, together, np.where(sign < 0, most, 0.0))
        lost += float((sign * together * present / np.outer(n_all, n_all)).sum())
    return max(lost, 0.0)


def corrected_difference(first: SystemMean, second: SystemMean, pairing: SourcePairs, confidence: float) -> Estimate:
    """The difference of two systems' estimated human means, paired by source, with t of the effective number of units.

    With random annotators, the variance between annotators is added. Without an interval, there is a reason.
    """
    value, phi, mass = first.value - second.value, first.phi - second.phi, first.mass + second.mass
    n, variance = int((mass > 0).sum()), float(phi @ phi)
    if pairing.finite:
        variance = max(variance - known_output_variance(first, second), 0.0)
    if n < LEAST_SOURCES:
        what = "sources" if pairing.clusters is None else "clusters"
        return missing(f"humans labelled outputs of {n} {what}; {LEAST_SOURCES} are required")
    people = min(len(first.by_person), len(second.by_person))
    if pairing.random and people < 2:
        return Estimate(value, math.nan, math.nan, math.nan, ONE_HUMAN)
    between = 0.0
    if pairing.random:
        a, b = first.people, second.people
        between = sum((a.get(name, 0.0) - b.get(name, 0.0)) ** 2 for name in sorted({*a, *b}))
    every = pairing.finite and all(bool((one.labelled >= one.judged).all()) for one in (first, second))
    paired = bool(((first.mass > 0) & (second.mass > 0)).any())
    few = not every and any(one.spread is not None and one.spread.bounds is not None for one in (first, second))
    same = float(phi @ phi) <= ROUNDED * float(first.phi @ first.phi + second.phi @ second.phi)
    if same and not (between or every) and (paired or not few):
        return same_difference(value, n, confidence)
    if few:
        return _difference_of_few(first, second, between, people, confidence)
    if variance + between <= 1e-12 * float(phi @ phi):
        why = (
            "humans labelled every output, so this is a count without sampling error"
            if every
            else "the labels do not vary"
        )
        return without_interval(value, why)
    # The effective number of units; one more degree of freedom is lost with sources, as for one system's mean.
    df = float((mass**2).sum() ** 2 / (mass**4).sum()) - (3 if pairing.clusters is None else 2)
    return MeanSpread(value, variance, max(df, 1.0), n, between=between, n_people=people).estimate(confidence)


def _difference_of_few(
    first: SystemMean, second: SystemMean, between: float, n_people: int, confidence: float
) -> EstimateByRule:
    """The difference of two means, if few labels of one system differ from its most frequent.

    From the ends of each mean, whose intervals are score intervals, and their correlation.
    """
    assert first.spread is not None
    assert second.spread is not None
    x, y, value = first.spread, second.spread, first.value - second.value
    size = math.sqrt(float(first.phi @ first.phi) * float(second.phi @ second.phi))
    r = min(max(float(first.phi @ second.phi) / size, -1.0), 1.0) if size > 0 else 0.0

    def added(level: float) -> float:
        return float(stdtrit(n_people - 1, (1 + level) / 2)) ** 2 * between if between else 0.0

    ends = ends_of_difference((x.value, x.ends), (y.value, y.ends), r, added)
    error = math.sqrt(max(x.variance + y.variance - 2 * r * math.sqrt(x.variance * y.variance), 0.0) + between)
    return EstimateByRule(value, *ends(confidence), error, ends=ends, test=lambda null: p_of_ends(ends, value, null))


ROUNDED = 1e-20
"""A variance up to this share of its parts is rounding."""


def same_difference(value: float, n: int, confidence: float) -> Estimate:
    """A difference that is the same in each of ``n`` units: by the sign test, unless it is 0."""
    if abs(value) <= math.sqrt(ROUNDED):
        return without_interval(0.0, "the systems do not differ in any pair")
    return same_everywhere(value, n, 2.0 ** (1 - n), confidence)


def judge_only_difference(
    first: Outputs, second: Outputs, pairing: SourcePairs, confidence: float
) -> tuple[Estimate, Estimate]:
    """The judge-only difference, paired by source, and the part of it that is associated with length.

    The part is the slope of the judge's difference on the difference in length, times its mean.
    """
    sources, n_sources, length = pairing.sources, pairing.n_sources, pairing.length
    d = _source_means(first, sources, n_sources, None) - _source_means(second, sources, n_sources, None)
    longer = np.full(n_sources, np.nan)
    if length is not None:
        longer = _source_means(first, sources, n_sources, length) - _source_means(second, sources, n_sources, length)
    known = np.isfinite(d)
    n = int(known.sum())
    none = missing("no column of lengths")
    if n < 3:
        value = float(np.nanmean(first[0].values[:, 0]) - np.nanmean(second[0].values[:, 0]))
        return without_interval(value, "the judge labelled outputs of both systems for fewer than 3 sources"), none
    pairs = d[known]
    if np.ptp(pairs) ** 2 <= ROUNDED * max(1.0, float(pairs @ pairs)):
        n_units = len(np.unique(pairing.unit_of_source[known]))
        return same_difference(float(pairs.mean()), n_units, confidence), none
    error, df = _spread_of_sums((pairs - pairs.mean()) / n, pairing, known, 1)
    judge = _difference_of_pairs(float(pairs.mean()), error, df, confidence)
    both = known & np.isfinite(longer)
    if int(both.sum()) < LEAST_SOURCES or not np.ptp(longer[both]) > 0:
        return judge, none
    x, y = longer[both], d[both]
    dx = x - x.mean()
    b = float(dx @ y) / float(dx @ dx)
    rest = y - y.mean() - b * dx
    if pairing.clusters is None:
        error, df = float(rest @ rest) / max(len(x) - 2, 1) / float(dx @ dx), len(x) - 2
    else:
        error, df = _spread_of_sums(dx * rest / float(dx @ dx), pairing, both, 2)
    return judge, _difference_of_pairs(b * float(x.mean()), error * x.mean() ** 2, df, confidence)


def _spread_of_sums(each: Floats, pairing: SourcePairs, there: Bools, fitted: int) -> tuple[float, int]:
    """Variance of the sum of the contributions of sources, and its degrees of freedom; clusters are summed first."""
    unit = np.unique(pairing.unit_of_source[there], return_inverse=True)[1]
    sums = sum_at(unit, each)
    df = len(sums) - fitted
    return (float(sums @ sums) * len(sums) / df, df) if df > 0 else (math.nan, 1)


def _difference_of_pairs(value: float, variance: float, df: int, confidence: float) -> Estimate:
    if math.isnan(variance):
        return Estimate(value, math.nan, math.nan, math.nan, "the sources are in too few clusters")
    half = float(stdtrit(df, (1 + confidence) / 2)) * math.sqrt(variance)
    return Estimate(value, value - half, value + half, math.sqrt(variance))


def _source_means(one: Outputs, sources: Ints, n_sources: int, values: Floats | None) -> Floats:
    """The mean of a system's outputs of each source; NaN if there are none."""
    checks, _, mine = one
    given = checks.values[:, 0] if values is None else values[mine]
    there = np.isfinite(given)
    source = sources[mine][there]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.bincount(source, given[there], n_sources) / np.bincount(source, minlength=n_sources)
