"""Do people and judges measure the same thing? Correlations across lessons, corrected for unreliability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunks import Chunks, in_memory
from assay.data.ratings import Faceted, faceted
from assay.errors import DesignError, listing, unknown
from assay.estimation.intervals import Estimate, missing
from assay.estimation.options import IntervalSettings, question
from assay.estimation.resampling import of_replicates
from assay.estimation.result import Result, Run, fingerprint_with
from assay.estimation.statistic import Floats, Ints
from assay.psychometrics.components import Fitted, fit_components, weights
from assay.psychometrics.design import Design, DisattenuationSettings, design_of
from assay.reporting import pictures
from assay.reporting.tables import estimated, interval, said
from assay.statistics.blocks import cross_codes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Finding = Literal["spurious", "shared", "unclear", "cannot be told"]

MOST_ZERO = 0.05
"""A correction is given while at most this share of the resamples leaves a family without variance of objects: the
share of undefined resamples from which no interval is given anywhere."""

LEAST_OBJECTS = 3
"""Objects whose scores are correlated: through two points any correlation is ±1."""

VANISHING, LEAST_RELIABILITY = 1e-6, 1e-9
"""A share of variance, and a reliability, that are nothing: a correlation divided by their roots says nothing."""

NAMES = ("observed, same", "observed, different", "eq. 3 (Eρ²)", "by Φ", "structural")


@dataclass(frozen=True, eq=False)
class Disattenuation(Result):
    """The correlation of two families' scores, as observed and as implied without error.

    Attributes
    ----------
    families : (str, str)
    observed : Estimate
        Of scores of the same object at the same lesson.
    across : Estimate
        Of scores of the same object at different lessons: all cross pairs.
    published : Estimate
        Equation 3: ``across`` over √(Eρ² Eρ²). Its numerator holds variance of raters and lessons that Eρ² leaves out,
        so that it corrects too little.
    dependable : Estimate
        ``across`` over √(Φ Φ), whose denominator is the whole variance of a score.
    structural : Estimate
        Covariance of scores at different lessons over the families' standard deviations between objects: what both
        families' universe scores share. The answer to read.
    resampled : (float, float, float)
        The paper's way: mean and interval of equation 3 over resamples of pairs. It takes pairs as independent, and is
        too narrow.
    reliabilities : polars.DataFrame
        Eρ², Φ and the variance of objects of each family.
    finding : {"spurious", "shared", "unclear", "cannot be told"}
    n_objects, n_pairs : int
    run : Run
    """

    counted: ClassVar[str] = "objects"

    families: tuple[str, str]
    observed: Estimate
    across: Estimate
    published: Estimate
    dependable: Estimate
    structural: Estimate
    resampled: tuple[float, float, float]
    reliabilities: pl.DataFrame
    finding: Finding
    n_objects: int
    n_pairs: int
    run: Run

    @property
    def table(self) -> pl.DataFrame:
        """One row a correlation."""
        rows = [
            {"correlation": name, **one.row(), "n": self.n_objects, "reason": one.reason}
            for name, one in zip(NAMES, self.row_estimates(), strict=True)
        ]
        return pl.DataFrame(rows, schema_overrides={"reason": pl.String})

    def row_estimates(self) -> Sequence[Estimate]:
        """The five correlations."""
        return self.observed, self.across, self.published, self.dependable, self.structural

    def sentences(self) -> tuple[str, ...]:
        """The finding, then what it rests on."""
        first, second = self.families
        words: Mapping[Finding, str] = {
            "spurious": "agreement on the same lesson is not about the object: the implied correlation is low",
            "shared": "both measure something in common",
            "unclear": "the implied correlation is not known well enough to say what both share",
            "cannot be told": "what both share cannot be told: scores hardly tell objects apart",
        }
        implied = self.structural
        lines = [f"{first} and {second}: {words[self.finding]}."]
        same, other = (estimated(e.estimate, e.low, e.high) for e in (self.observed, self.across))
        lines.append(f"Observed correlation {same} on the same, {other} on different ones.")
        if implied.reason is not None and not np.isfinite(implied.estimate):
            return (*lines, f"Implied correlation: {implied.reason}.")
        lines.append(
            f"Implied correlation {estimated(implied.estimate, implied.low, implied.high)} (structural); "
            f"equation 3 as published gives {said(self.published.estimate)}, over Φ {said(self.dependable.estimate)}."
        )
        if implied.estimate > 1:
            lines.append("An implied correlation above 1 is one of about 1 with its error.")
        return tuple(lines)

    def summary(self) -> str:
        """The finding in sentences fit to paste."""
        low, high = self.resampled[1:]
        more = []
        if np.isfinite(low):
            why = "too narrow, for pairs of one object are not independent"
            more = [f"Resamples of pairs, as published: {interval(low, high)}; {why}."]
        return "\n".join([*self.sentences(), *more, f"{self.run.interval}.", *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """All correlations as a forest plot."""
        ax = super().plot(ax)
        for end in (0, 1):
            ax.axvline(end, color=pictures.FAINT, linewidth=1, zorder=0)
        ax.set_xlabel(f"correlation of {self.families[0]} and {self.families[1]}")
        return ax


@question(DisattenuationSettings)
def disattenuated_correlation(labels: Annotations | Chunks, settings: DisattenuationSettings) -> Disattenuation:
    """Would people and judges rank objects alike, were there no error in either?

    Hardy, "All that glitters", section 4.3, equation 3: scores of the same object at *different* lessons, so that what
    both see in one lesson does not count, corrected by the reliabilities of both families.

    Parameters
    ----------
    labels : Annotations
        One criterion, labels that are numbers, of two families.

    Returns
    -------
    Disattenuation

    Raises
    ------
    DesignError
        Where there are not two families, or no object with scores of both at different lessons.
    """
    labels = in_memory(labels, "a disattenuated correlation")
    design, columns = design_of(settings)
    pair = _families(labels, settings)
    table, family = _family_table(labels, columns, settings, pair)
    study = _Pairs(table, family, design, _lesson_facet(design, settings), settings, pair)
    s = settings
    reliabilities = [
        {"family": p, "generalizability": float(w.generalizability.value(f.theta)),
         "dependability": float(w.dependability.value(f.theta)), "object_variance": float(f.theta @ w.universe)}
        for p, f, w in zip(pair, study.fits, study.weights, strict=True)
    ]  # fmt: skip
    cautions = tuple(f"{p}: {c}" for p, f in zip(pair, study.fits, strict=True) for c in f.confounding.cautions)
    interval = (
        f"{100 * s.confidence:g}% percentile bootstrap interval, {s.n_resamples:,} resamples of {study.n:,} objects "
        f"({s.object}), variances estimated anew in each, seed {s.seed}"
    )
    facts = {
        "objects": study.n_shared,
        "pairs": study.n_pairs,
        "facets": ",".join(f"{f}={c}" for f, c in columns.items()),
    }
    data = fingerprint_with(table.fingerprint, families=pair)
    run = Run("disattenuated-correlation", s, data, facts, interval, notes=table.notes, cautions=cautions)
    observed, across, published, dependable, structural = study.estimates()
    resampled = study.published_interval() if published.reason is None else (np.nan, np.nan, np.nan)
    return Disattenuation(
        pair, observed, across, published, dependable, structural, resampled, pl.DataFrame(reliabilities),
        finding_of(observed, structural, s), study.n_shared, study.n_pairs, run,
    )  # fmt: skip


def _families(labels: Annotations, settings: DisattenuationSettings) -> tuple[str, str]:
    """The two values of the column."""
    table = labels if settings.annotators is None else labels.where(annotator=list(settings.annotators))
    there = [str(v) for v in table.values_of(settings.by) if v is not None]
    chosen = settings.families or there
    for name in chosen:
        if name not in there:
            raise DesignError(unknown("family", name, there, f"the column '{settings.by}'"))
    if len(chosen) != 2:
        raise DesignError(
            f"two families are correlated; '{settings.by}' has {listing(there)}. Name two with families=(..., ...)"
        )
    return chosen[0], chosen[1]


def _lesson_facet(design: Design, settings: DisattenuationSettings) -> str:
    """The facet in which scores must differ."""
    facets = [f for f in design.facets if f != settings.object]
    if settings.different is not None:
        design.check_facets([settings.different], among=facets)
        return settings.different
    inside = [f for f in facets if design.nests[f] == design.nests[settings.object] | {settings.object}]
    if len(inside) != 1:
        raise DesignError(f"say in which facet two scores must differ: different=..., one of {listing(facets)}")
    return inside[0]


def _family_table(
    labels: Annotations, columns: Mapping[str, str], settings: DisattenuationSettings, pair: tuple[str, str]
) -> tuple[Faceted, Ints]:
    """Labels of both families with their facets, and which family each is of."""
    wanted = {str(v): v for v in labels.values_of(settings.by)}
    labels = labels.where(**{settings.by: [wanted[name] for name in pair]})
    table = faceted(
        labels, {**columns, "\0family": settings.by}, annotators=settings.annotators, repeats=settings.repeats,
        reverse=settings.reverse or (),
    )  # fmt: skip
    # Codes follow the order of names, families the order in which they were named.
    code = table.codes["\0family"]
    family = code if sorted(pair) == list(pair) else 1 - code
    return replace(table, codes={f: table.codes[f] for f in columns}), family


class _Pairs:
    """Sums of pairs by object, reliabilities, and both again for resampled objects."""

    def __init__(
        self, table: Faceted, family: Ints, design: Design, different: str, settings: DisattenuationSettings,
        pair: tuple[str, str],
    ) -> None:  # fmt: skip
        self.value, self.family, self.settings, self.pair = table.value, family, settings, pair
        self.object = table.codes[settings.object]
        self.n = int(self.object.max()) + 1
        nest = [table.codes[f] for f in design.facets if f in design.nests[different]]
        self.lesson, n_lessons = cross_codes(*nest, self.object, table.codes[different])
        self.fits = [self._fit(design, table, k) for k in (0, 1)]
        self.weights = [weights(f.confounding.terms, f.confounding.design, settings.object, (), {}) for f in self.fits]
        value = table.value - table.value.mean()
        whole = _pair_sums(value, family, self.object, self.n)
        same = _pair_sums(value, family, self.lesson, n_lessons)
        of_lesson = np.zeros(n_lessons, dtype=np.int64)
        of_lesson[self.lesson] = self.object
        self.same = np.zeros((self.n, 6))
        np.add.at(self.same, of_lesson, same)
        self.cross = whole - self.same
        self.n_pairs = int(whole[:, 0].sum() - same[:, 0].sum())
        self.n_shared = int((self.cross[:, 0] > 0).sum())
        if settings.weights == "objects":
            for sums in (self.same, self.cross):
                sums /= np.maximum(sums[:, :1], 1.0)
        if self.n_shared < LEAST_OBJECTS:
            raise DesignError(
                f"{self.n_shared} objects have scores of both families at different {different}; three are needed at "
                "least"
            )

    def _fit(self, design: Design, table: Faceted, k: int) -> Fitted:
        # Objects keep their codes, so that both families are resampled alike.
        mine = table.rows(np.flatnonzero(self.family == k))
        try:
            return fit_components(design, mine.value, mine.codes, self.settings)
        except DesignError as reason:
            raise DesignError(f"{self.pair[k]}: {reason}") from reason

    def values(self, cross: Floats, same: Floats, thetas: Sequence[Floats]) -> Floats:
        """The five correlations from sums of pairs and the variances of both families."""
        across, covariance = _correlation(cross)
        found = np.array([_correlation(same)[0], across, np.nan, np.nan, np.nan])
        universe = [float(t @ w.universe) for t, w in zip(thetas, self.weights, strict=True)]
        if not all(u > VANISHING * float(t.sum()) for u, t in zip(universe, thetas, strict=True)):
            return found
        for k, name in ((2, "generalizability"), (3, "dependability")):
            each = [float(getattr(w, name).value(t)) for w, t in zip(self.weights, thetas, strict=True)]
            if min(each) > LEAST_RELIABILITY:
                found[k] = across / np.sqrt(each[0] * each[1])
        found[4] = covariance / np.sqrt(universe[0] * universe[1])
        return found

    def replicates(self) -> Floats:
        """All five where objects are drawn with replacement."""
        s = self.settings
        found = np.empty((s.n_resamples, 5))
        for i in range(s.n_resamples):
            rng = np.random.default_rng(np.random.SeedSequence(s.seed, spawn_key=(i,)))
            counts = np.bincount(rng.integers(0, self.n, self.n), minlength=self.n)
            thetas = [f.refit_objects(counts) for f in self.fits]
            if not all(np.isfinite(t).all() for t in thetas):
                thetas = [np.zeros(len(f.theta)) for f in self.fits]
            found[i] = self.values(counts @ self.cross, counts @ self.same, thetas)
        return found

    def estimates(self) -> list[Estimate]:
        """Values with intervals; none where a family's scores do not tell objects apart."""
        s = self.settings
        value = self.values(self.cross.sum(axis=0), self.same.sum(axis=0), [f.theta for f in self.fits])
        drawn = self.replicates()
        how = IntervalSettings(
            method="percentile", n_resamples=s.n_resamples, confidence=s.confidence, seed=s.seed
        )  # fmt: skip
        found = [
            of_replicates(value[k : k + 1], drawn[:, k : k + 1], how, n_items=self.n, n_units=self.n)[0]
            for k in range(len(value))
        ]
        lost = float(np.isnan(drawn[:, 4]).mean())
        if np.isnan(value[4]) or lost > MOST_ZERO or any(f.confounding.untold for f in self.fits):
            found[2:] = [missing(f"cannot be told: {self._why_not(lost)}")] * 3
        return found

    def _why_not(self, lost: float) -> str:
        for name, f in zip(self.pair, self.fits, strict=True):
            if f.confounding.untold:
                return f"{name}: {f.confounding.untold}"
        each = zip(self.pair, self.fits, self.weights, strict=True)
        if zero := [name for name, f, w in each if not f.theta @ w.universe > 0]:
            return f"scores of {listing(zero)} hold no variance of objects"
        return f"in {100 * lost:.0f}% of the resamples a family's scores hold no variance of objects"

    def published_interval(self) -> tuple[float, float, float]:
        """Equation 3 over resamples of pairs, as in the paper: its mean and interval."""
        s = self.settings
        each = [float(w.generalizability.value(f.theta)) for w, f in zip(self.weights, self.fits, strict=True)]
        if not min(each) > LEAST_RELIABILITY:
            return np.nan, np.nan, np.nan
        rng = np.random.default_rng(np.random.SeedSequence(s.seed, spawn_key=(2**20,)))
        sorted_rows = [_rows_of_objects(np.flatnonzero(self.family == k), self.object, self.n) for k in (0, 1)]
        chance = self.cross[:, 0] / self.cross[:, 0].sum()
        found = [
            _draw_correlation(rng.choice(self.n, s.n_pairs, p=chance), sorted_rows, self.lesson, self.value, rng)
            for _ in range(s.n_resamples)
        ]
        values = np.array(found) / np.sqrt(each[0] * each[1])
        tails = np.nanquantile(values, [(1 - s.confidence) / 2, (1 + s.confidence) / 2])
        return float(np.nanmean(values)), float(tails[0]), float(tails[1])


def finding_of(observed: Estimate, implied: Estimate, settings: DisattenuationSettings) -> Finding:
    """Whether a good correlation on the same lesson is about the object at all."""
    if not np.isfinite(implied.estimate):
        return "cannot be told"
    if observed.estimate >= settings.observed_high and implied.high < settings.implied_low:
        return "spurious"
    return "shared" if implied.low > 0 else "unclear"


def _pair_sums(value: Floats, family: Ints, group: Ints, n: int) -> Floats:
    """Of all pairs of a label of one family with one of the other in a group: number, Σx, Σy, Σx², Σy², Σxy."""
    sums = []
    for k in (0, 1):
        mine = family == k
        sums.append([
            np.bincount(group[mine], weights=value[mine] ** power, minlength=n) for power in (0, 1, 2)
        ])  # fmt: skip
    (n_x, x, xx), (n_y, y, yy) = sums
    return np.stack([n_x * n_y, x * n_y, y * n_x, xx * n_y, yy * n_x, x * y], axis=1)


def _correlation(sums: Floats) -> tuple[float, float]:
    """Pearson's correlation and the covariance over all pairs."""
    number, x, y, xx, yy, xy = (float(v) for v in (sums.sum(axis=0) if sums.ndim > 1 else sums))
    if not number > 0:
        return np.nan, np.nan
    covariance = xy / number - x * y / number**2
    spread = (xx / number - (x / number) ** 2) * (yy / number - (y / number) ** 2)
    return (covariance / np.sqrt(spread) if spread > 1e-12 else np.nan), covariance


def _rows_of_objects(rows: Ints, of: Ints, n: int) -> tuple[Ints, Ints, Ints]:
    """Rows in the order of their objects, where each object's begin, and how many there are."""
    size = np.bincount(of[rows], minlength=n)
    return rows[np.argsort(of[rows], kind="stable")], np.cumsum(size) - size, size


def _draw_correlation(
    objects: Ints, families: Sequence[tuple[Ints, Ints, Ints]], lesson: Ints, value: Floats, rng: np.random.Generator
) -> float:
    """Of one pair of scores for each object drawn, at different lessons; pairs at one lesson are drawn again."""
    pair = np.empty((2, len(objects)), dtype=np.int64)
    left = np.arange(len(objects))
    while len(left):
        at = objects[left]
        for k, (rows, start, size) in enumerate(families):
            pair[k, left] = rows[start[at] + rng.integers(0, size[at])]
        left = left[lesson[pair[0, left]] == lesson[pair[1, left]]]
    return float(np.corrcoef(value[pair[0]], value[pair[1]])[0, 1])
