"""How far apart are two systems, where one judge labelled the outputs of both and people some of each?

Differences are paired on sources: what a source adds to the error of one system's mean is taken with what it adds to
the other's. The judge's own difference stands beside the corrected one, and how much of it goes with length.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import stdtrit

from assay.errors import DesignError, unknown
from assay.estimates.checked import SpotChecks
from assay.estimates.difference import JudgeMean, MeanSpread, difference, sum_at
from assay.estimation.intervals import Estimate, missing
from assay.estimation.statistic import Bools, Floats, Ints
from assay.reporting.tables import estimated, interval, p_value, signed

LEAST_SOURCES = 5
"""Labelled sources from which a difference has an interval: degrees of freedom are three fewer."""


@dataclass(frozen=True, eq=False)
class SystemContrast:
    """A difference of two systems.

    Attributes
    ----------
    first, second : str
        The difference is first less second.
    found : Estimate
        Corrected.
    people : Estimate
        From people's labels alone.
    judge : Estimate
        From the judge's labels alone.
    by_length : Estimate
        The part of the judge's difference that goes with the difference in length; missing without a column.
    p, p_adjusted : float
        Of no difference.
    n : int
        Sources with a label of a person.
    n_all : int
        Sources.
    """

    first: str
    second: str
    found: Estimate
    people: Estimate
    judge: Estimate
    by_length: Estimate
    p: float
    n: int
    n_all: int
    p_adjusted: float = field(default=math.nan)

    def adjusted(self, p: float) -> SystemContrast:
        """The same with its p-value among others."""
        return replace(self, p_adjusted=p)

    def row(self) -> dict[str, Any]:
        """Its row of the table."""
        return {
            "slice": None, "of": f"{self.first} − {self.second}", **self.found.row(), "n": self.n, "items": self.n_all,
            "judge_alone": self.judge.estimate, "people_alone": self.people.estimate,
            "people_alone_low": self.people.low, "people_alone_high": self.people.high, "saved": None, "weight": None,
            "reason": self.found.reason, "p": self.p, "p_adjusted": self.p_adjusted,
            "length": self.by_length.estimate if math.isfinite(self.by_length.estimate) else None,
        }  # fmt: skip

    def sentence(self, confidence: float) -> str:
        """What the judge says, and what is left of it."""
        judge = f"{signed(self.judge.estimate)} {interval(self.judge.low, self.judge.high)}"
        lead = f"{self.first} against {self.second}: the judge says {judge}"
        if math.isnan(self.found.low):
            return f"{lead}; corrected {signed(self.found.estimate)}, no interval: {self.found.reason}."
        shown = self.p_adjusted <= 1 - confidence
        ahead = self.first if self.found.estimate > 0 else self.second
        verdict = f"{ahead} is ahead" if shown else "no difference is shown"
        length = ""
        if math.isfinite(self.by_length.estimate):
            length = f" Of the judge's difference, {_estimated(self.by_length)} goes with length."
        return (
            f"{lead}; corrected {_estimated(self.found)}: {verdict} "
            f"({p_value(self.p_adjusted)}, corrected for the number of comparisons).{length}"
        )


def _estimated(one: Estimate) -> str:
    text = estimated(one.estimate, one.low, one.high)
    return text if text.startswith("−") else f"+{text}"


Outputs = tuple[SpotChecks, JudgeMean, Bools]
"""A system's labels, what the judge or a prediction says of all its outputs, and which items these are."""


def contrast_systems(
    systems: Mapping[str, Outputs], sources: Ints, length: Floats | None, baseline: str | None, confidence: float,
    weights: Mapping[str, float],
) -> list[SystemContrast]:  # fmt: skip
    """Differences of every two systems, or of each with the baseline.

    Parameters
    ----------
    systems : mapping of name to Outputs
    sources : (items,) int
        Which source each item answers.
    length : (items,) float, optional
    weights : mapping of name to float
        λ of each system.
    """
    names = list(systems)
    if baseline is not None and baseline not in names:
        raise DesignError(
            unknown("system", baseline, names, "the column of systems"), option="baseline", value=baseline
        )
    pairs = [(a, baseline) for a in names if a != baseline] if baseline is not None else list(combinations(names, 2))
    n_sources = int(sources.max()) + 1
    made = {name: _means(one, sources, n_sources, weights[name]) for name, one in systems.items()}
    found = []
    for a, b in pairs:
        first, second = made[a], made[b]
        labelled = first.labelled | second.labelled
        n, both = int(labelled.sum()), int((first.judged & second.judged).sum())
        judge, by_length = _judge_alone(systems[a], systems[b], sources, length, n_sources, confidence)
        if n < LEAST_SOURCES:
            corrected = alone = missing(f"people labelled outputs of {n} sources, and {LEAST_SOURCES} are needed")
        else:
            corrected, alone = (
                _difference(x.value - y.value, (x.phi - y.phi), n, confidence)
                for x, y in ((first, second), (first.alone, second.alone))
            )
        p = corrected.p(0.0) if math.isfinite(corrected.low) else math.nan
        found.append(SystemContrast(a, b, corrected, alone, judge, by_length, p, n, both))
    return found


@dataclass(frozen=True, eq=False)
class SystemMean:
    """A system's mean and what each source adds to its error, with the judge and without."""

    value: float
    phi: Floats
    labelled: Bools
    judged: Bools
    without: tuple[float, Floats]

    @property
    def alone(self) -> SystemMean:
        """From people alone."""
        value, phi = self.without
        return SystemMean(value, phi, self.labelled, self.judged, self.without)


def _means(one: Outputs, sources: Ints, n_sources: int, weight: float) -> SystemMean:
    checks, judged, mine = one
    source = sources[mine]
    drawn = checks.drawn("infinite")
    here = source[checks.position]
    found = [difference(drawn, checks.y, judged, w) for w in (weight, 0.0)]
    assert judged.everywhere is not None
    line = (checks.n - 1) / max(checks.n - 2, 1)
    phi = sum_at(here, found[0].contributions, n_sources) * math.sqrt(line)
    phi = phi + weight * sum_at(source, judged.everywhere - judged.mean, n_sources) / checks.n_all
    alone = sum_at(here, found[1].contributions, n_sources)
    there = np.zeros((2, n_sources), dtype=bool)
    there[0, here], there[1, source] = True, True
    return SystemMean(found[0].value, phi, there[0], there[1], (found[1].value, alone))


def _difference(value: float, phi: Floats, n: int, confidence: float) -> Estimate:
    variance = float(phi @ phi)
    if variance <= 0:
        return Estimate(value, math.nan, math.nan, math.nan, "the labels do not vary")
    return MeanSpread(value, variance, max(n - 3.0, 1.0), n).estimate(confidence)


def _judge_alone(
    first: Outputs, second: Outputs, sources: Ints, length: Floats | None, n_sources: int, confidence: float
) -> tuple[Estimate, Estimate]:
    """The judge's own difference, paired on sources; and the part of it that goes with length.

    The part is the slope of the judge's difference on the difference in length, times its mean.
    """
    d = _by_source(first, sources, n_sources, None) - _by_source(second, sources, n_sources, None)
    longer = np.full(n_sources, np.nan)
    if length is not None:
        longer = _by_source(first, sources, n_sources, length) - _by_source(second, sources, n_sources, length)
    known = np.isfinite(d)
    n = int(known.sum())
    none = missing("no column of lengths")
    if n < 3:
        return missing("the judge labelled outputs of both systems for fewer than 3 sources"), none
    pairs = d[known]
    judge = _difference_of_pairs(float(pairs.mean()), float(pairs.var(ddof=1)) / n, n - 1, confidence)
    both = known & np.isfinite(longer)
    if int(both.sum()) < LEAST_SOURCES or not np.ptp(longer[both]) > 0:
        return judge, none
    x, y = longer[both], d[both]
    dx = x - x.mean()
    b = float(dx @ y) / float(dx @ dx)
    rest = y - y.mean() - b * dx
    error = float(rest @ rest) / max(len(x) - 2, 1) / float(dx @ dx) * x.mean() ** 2
    return judge, _difference_of_pairs(b * float(x.mean()), error, len(x) - 2, confidence)


def _difference_of_pairs(value: float, variance: float, df: int, confidence: float) -> Estimate:
    half = float(stdtrit(df, (1 + confidence) / 2)) * math.sqrt(variance)
    return Estimate(value, value - half, value + half, math.sqrt(variance))


def _by_source(one: Outputs, sources: Ints, n_sources: int, values: Floats | None) -> Floats:
    """The mean of a system's outputs of each source; NaN where there is none."""
    checks, _, mine = one
    given = checks.values[:, 0] if values is None else values[mine]
    there = np.isfinite(given)
    source = sources[mine][there]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.bincount(source, given[there], n_sources) / np.bincount(source, minlength=n_sources)
