"""Disattenuated correlations: universe-score correlations of two families of raters across lessons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunked.chunks import Chunks
from assay.data.ratings import Faceted, facet_ratings
from assay.errors import DesignError, listing, unknown
from assay.estimation.intervals import Estimate, missing
from assay.estimation.options import IntervalSettings, number_in, question
from assay.estimation.resampling import estimate_replicates
from assay.estimation.result import Exclusion, Result, Run, fingerprint_with
from assay.estimation.statistic import Floats, Ints
from assay.psychometrics import words
from assay.psychometrics.components import Fitted, fit_components, weights
from assay.psychometrics.design import CoefficientName, Design, DisattenuationSettings, Term, design_of, require_columns
from assay.psychometrics.words import Finding
from assay.reporting import pictures
from assay.reporting.tables import interval
from assay.statistics.components.bivariate import FURTHEST, Family, JointFit, fit_joint
from assay.statistics.components.blocks import cross_codes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ZERO = 0.05
"""Largest share of resamples in which a family has no variance of objects: with more, as elsewhere, no interval is
estimable."""

LEAST_OBJECTS = 3
"""Smallest number of objects: with two any correlation is ±1."""

VANISHING, LEAST_RELIABILITY = 1e-6, 1e-9
"""A share of variance, and a reliability, that count as 0: a correlation divided by their roots is meaningless."""

CORRECTED: tuple[CoefficientName, ...] = ("generalizability", "dependability")
"""The coefficients that a correlation is corrected with."""

NAMES = ("observed, same", "observed, different", "eq. 3 (Eρ²)", "by Φ", "structural")


@dataclass(frozen=True, kw_only=True)
class StructuralEstimate(Estimate):
    """The objects' correlation, with intervals and p-values from the likelihood of both families.

    Attributes
    ----------
    fit : JointFit
    df : float
        Degrees of freedom of the t distribution for a profile: objects minus one.
    """

    fit: JointFit = field(repr=False, compare=False, metadata={"json": False})
    df: float = field(repr=False, compare=False, metadata={"json": False})

    def interval(self, level: float) -> tuple[float, float]:
        """The profile-likelihood interval, within −1 and 1 if the estimate is."""
        number_in("level", level, above=0, below=1)
        return self.fit.interval(level, self.df, min(-1.0, self.estimate), max(1.0, self.estimate))

    def p(self, null: float = 0.0) -> float:
        """Two-sided p-value for a true correlation of ``null``, by inverting the interval."""
        return self.fit.p(null, self.df)


@dataclass(frozen=True, eq=False)
class FamilyCorrelation:
    """The correlation of two families' scores on one criterion, as observed and as implied without error.

    Attributes
    ----------
    criterion : str or None
    families : (str, str)
    observed : Estimate
        Correlation of scores of the same object at the same lesson.
    across : Estimate
        Correlation of scores of the same object at different lessons: all cross pairs.
    published : Estimate
        Equation 3: ``across`` over √(Eρ² Eρ²). Its numerator contains variance of raters and lessons that Eρ² excludes,
        so that it corrects too little.
    dependable : Estimate
        ``across`` over √(Φ Φ), whose denominator is the whole variance of a score.
    structural : Estimate
        The correlation of both families' universe scores: their covariance over their standard deviations, from the
        restricted likelihood of both families. It is unbiased, so that it can exceed 1. Report this estimate.
    resampled : (float, float, float)
        The published method: mean and interval of equation 3 over resamples of pairs. It assumes independent pairs, so
        that the interval is too narrow.
    reliabilities : polars.DataFrame
        Eρ², Φ and the variance of objects of each family.
    finding : {"spurious", "shared", "undecided", "not_estimable"}
    n_objects, n_pairs : int
    lesson : str
        The column of the facet in which scores are the same or different.
    """

    criterion: str | None
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
    cautions: tuple[str, ...]
    lesson: str = field(default="lesson", metadata={"json": False})

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The five correlations, as in `NAMES`."""
        return self.observed, self.across, self.published, self.dependable, self.structural

    def sentences(self, name: str = "") -> tuple[str, ...]:
        """The finding, then the correlations."""
        return words.correlation_lines(name, self.families, self.finding, self.estimates, self.lesson)


@dataclass(frozen=True, eq=False)
class Disattenuation(Result):
    """Observed and universe-score correlations of two families, for each criterion and pair of families.

    If there is one correlation, the result has the attributes of `FamilyCorrelation`: ``found.structural``.

    Attributes
    ----------
    each : tuple of FamilyCorrelation
        ``found["CLPC"]`` is that of a criterion, ``found["CLPC", "human", "gpt"]`` that of a criterion and two
        families.
    run : Run
    """

    counted: ClassVar[str] = "objects"

    each: tuple[FamilyCorrelation, ...]
    run: Run

    def __getitem__(self, name: str | tuple[str, ...]) -> FamilyCorrelation:
        """The correlation of a criterion, of two families, or of both.

        Raises
        ------
        DesignError
            If there is none, or several.
        """
        wanted = {name} if isinstance(name, str) else set(name)
        found = [one for one in self.each if wanted <= {one.criterion, *one.families}]
        if len(found) != 1:
            several = [", ".join(str(v) for v in (c.criterion, *c.families) if v is not None) for c in self.each]
            raise DesignError(unknown("correlation", listing(sorted(wanted)), several, "this result"))
        return found[0]

    def one(self, what: str) -> FamilyCorrelation:
        """The correlation, if there is one.

        Raises
        ------
        DesignError
            If there are several.
        """
        if len(self.each) > 1:
            raise DesignError(f"there are {len(self.each)} correlations; take one, such as found[...].{what}")
        return self.each[0]

    @property
    def families(self) -> tuple[str, str]:
        """Both families, if there is one correlation."""
        return self.one("families").families

    @property
    def observed(self) -> Estimate:
        """Correlation of scores of the same object at the same lesson, if there is one correlation."""
        return self.one("observed").observed

    @property
    def across(self) -> Estimate:
        """Correlation of scores of the same object at different lessons, if there is one correlation."""
        return self.one("across").across

    @property
    def published(self) -> Estimate:
        """Equation 3, if there is one correlation."""
        return self.one("published").published

    @property
    def dependable(self) -> Estimate:
        """Over √(Φ Φ), if there is one correlation."""
        return self.one("dependable").dependable

    @property
    def structural(self) -> Estimate:
        """Universe-score correlation, if there is one correlation."""
        return self.one("structural").structural

    @property
    def resampled(self) -> tuple[float, float, float]:
        """Equation 3 over resamples of pairs: mean and interval, if there is one correlation."""
        return self.one("resampled").resampled

    @property
    def finding(self) -> Finding:
        """The finding, if there is one correlation."""
        return self.one("finding").finding

    @property
    def n_objects(self) -> int:
        """Objects with scores of both, if there is one correlation."""
        return self.one("n_objects").n_objects

    @property
    def n_pairs(self) -> int:
        """Pairs of scores at different lessons, if there is one correlation."""
        return self.one("n_pairs").n_pairs

    @property
    def table(self) -> pl.DataFrame:
        """One row per correlation."""
        rows = [
            {"criterion": c.criterion, "families": " and ".join(c.families), "correlation": name, **one.row(),
             "n": c.n_objects, "reason": one.reason}
            for c in self.each for name, one in zip(NAMES, c.estimates, strict=True)
        ]  # fmt: skip
        found = pl.DataFrame(rows, schema_overrides={"reason": pl.String, "criterion": pl.String})
        several = {"criterion": len({c.criterion for c in self.each}), "families": len({c.families for c in self.each})}
        return found.drop([name for name, n in several.items() if n == 1])

    @property
    def reliabilities(self) -> pl.DataFrame:
        """Eρ², Φ and the variance of objects of each family and criterion."""
        if len(self.each) == 1:
            return self.each[0].reliabilities
        frames = [
            c.reliabilities.select(pl.lit(c.criterion, pl.String).alias("criterion"), pl.all()) for c in self.each
        ]
        return pl.concat(frames).unique(["criterion", "family"], maintain_order=True)

    def row_estimates(self) -> Sequence[Estimate]:
        """The five estimates of each."""
        return tuple(one for c in self.each for one in c.estimates)

    def sentences(self) -> tuple[str, ...]:
        """Each finding, then its correlations."""
        if len(self.each) == 1:
            return self.each[0].sentences()
        findings = Counter(c.finding.replace("_", " ") for c in self.each)
        first = ", ".join(f"{n} {finding}" for finding, n in findings.most_common())
        lines = [f"Of {len(self.each)} correlations: {first} (Bonferroni-adjusted)."]
        return (*lines, *(line for c in self.each for line in c.sentences(f"{c.criterion}, " if c.criterion else "")))

    def summary(self) -> str:
        """The findings and correlations in sentences."""
        low, high = self.each[0].resampled[1:]
        more = []
        if len(self.each) == 1 and np.isfinite(low):
            why = "too narrow, because pairs of one object are not independent"
            more = [f"Published interval (resampled pairs): {interval(low, high)}; {why}."]
        return "\n".join([*self.sentences(), *more, f"{self.run.interval}.", *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Forest plot of all correlations; for several, observed (faint) and universe-score by criterion, as figure
        2."""
        if len(self.each) == 1:
            ax = super().plot(ax)
            ax.set_xlabel(f"correlation of {' and '.join(self.each[0].families)}")
        else:
            ax = self._plot_several(ax)
        for end in (0, 1):
            ax.axvline(end, color=pictures.FAINT, linewidth=1, zorder=0)
        return ax

    def _plot_several(self, ax: Axes | None) -> Axes:
        """A row per criterion and a colour per pair of families: observed faint, universe-score full."""
        names = list(dict.fromkeys(str(c.criterion or "") for c in self.each))
        pairs = list(dict.fromkeys(c.families for c in self.each))
        ax = pictures.axes(ax, height=1.2 + 0.3 * len(names) * max(len(pairs), 2) ** 0.5)
        for k, pair in enumerate(pairs):
            colour = pictures.PALETTE[k % len(pictures.PALETTE)]
            mine = {str(c.criterion or ""): c for c in self.each if c.families == pair}
            for what, shade, step in (("observed", f"{colour}66", 0.12), ("structural", colour, -0.0)):
                some = [getattr(mine[n], what) if n in mine else missing("none") for n in names]
                ends = ([getattr(e, end) for e in some] for end in ("estimate", "low", "high"))
                name = "observed" if what == "observed" else "universe score"
                pictures.forest(
                    ax, names, *ends, colour=shade, offset=step + 0.5 * (0.5 - (k + 0.5) / len(pairs)),
                    label=f"{' and '.join(pair)}, {name}",
                )  # fmt: skip
        ax.set_xlabel("correlation: observed on the same lesson (faint), universe score")
        pictures.legend(ax, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
        return ax


@question(DisattenuationSettings)
def disattenuated_correlation(labels: Annotations | Chunks, settings: DisattenuationSettings) -> Disattenuation:
    """Estimate the universe-score correlation of two families, such as humans and judges.

    Hardy, "All that glitters", section 4.3, equation 3: the correlation of scores of the same object at *different*
    lessons, which excludes agreement on the lesson itself, corrected for the reliabilities of both families.

    Parameters
    ----------
    labels : Annotations
        Numeric labels of at least two families. Each criterion and pair of families has one correlation.

    Returns
    -------
    Disattenuation

    Raises
    ------
    DesignError
        With fewer than two families, or too few objects with scores of both at different lessons.

    Examples
    --------
    >>> import assay, numpy as np, polars as pl
    >>> draw = np.random.default_rng(1)
    >>> rows = [
    ...     (f"t{t}-{o}", f"t{t}", o, rater, "human" if rater < "c" else "judge", round(skill + draw.normal(0, 0.7), 1))
    ...     for t, skill in enumerate(draw.normal(3, 1, 20)) for o in range(3) for rater in "abcd"
    ... ]
    >>> columns = ["item", "teacher", "lesson", "annotator", "kind", "label"]
    >>> labels = assay.read(pl.DataFrame(rows, schema=columns, orient="row"), scale="interval")
    >>> facets = {"r": "annotator", "o": "lesson", "i": "teacher"}
    >>> found = assay.disattenuated_correlation(labels, "r x (o:i)", "i", facets=facets, n_resamples=20)
    >>> found.table.select("correlation", pl.col("estimate").round(2)).row(0)
    ('observed, same', 0.43)
    """
    labels = labels.in_memory("a disattenuated correlation")
    design, columns = design_of(settings)
    pairs = _families(labels, settings)
    used = require_columns(labels, columns)
    criteria = labels.criteria if len(labels.criteria) > 1 and "criterion" not in used else (None,)
    combinations_ = [(criterion, pair) for criterion in criteria for pair in pairs]
    each, excluded, data = [], [], []
    notes: list[str] = []
    for criterion, pair in combinations_:
        part = labels if criterion is None else labels.where(criterion=criterion)
        try:
            table, family = _family_table(part, columns, settings, pair)
            facet = _lesson_facet(design, settings)
            study = _Pairs(table, family, design, facet, settings, pair)
        except DesignError as reason:
            if len(combinations_) == 1:
                raise
            name = ", ".join(v for v in (criterion, *pair) if v is not None)
            excluded.append(Exclusion("correlation", 1, str(reason), (name,)))
            continue
        found = _correlate_families(study, criterion, pair, settings, len(combinations_))
        each.append(replace(found, lesson=columns.get(facet, facet)))
        data.append(fingerprint_with(table.fingerprint, families=pair))
        notes += table.notes
    if not each:
        raise DesignError(f"no correlation is estimable: {excluded[0].reason}")
    return Disattenuation(tuple(each), _run(each, excluded, data, notes, columns, settings))


def _correlate_families(
    study: _Pairs, criterion: str | None, pair: tuple[str, str], settings: DisattenuationSettings, several: int
) -> FamilyCorrelation:
    """All correlations of two families on one criterion."""
    reliabilities = [
        {"family": p, "generalizability": float(w.generalizability.value(f.theta)),
         "dependability": np.nan if f.confounding.single else float(w.dependability.value(f.theta)),
         "object_variance": float(f.theta @ w.universe)}
        for p, f, w in zip(pair, study.fits, study.weights, strict=True)
    ]  # fmt: skip
    cautions = tuple(f"{p}: {c}" for p, f in zip(pair, study.fits, strict=True) for c in f.confounding.cautions)
    observed, across, published, dependable, structural = study.estimates()
    resampled = study.published_interval() if published.reason is None else (np.nan, np.nan, np.nan)
    return FamilyCorrelation(
        criterion, pair, observed, across, published, dependable, structural, resampled, pl.DataFrame(reliabilities),
        finding_of(observed, structural, settings, several), study.n_shared, study.n_pairs, cautions,
    )  # fmt: skip


def _run(
    each: Sequence[FamilyCorrelation], excluded: Sequence[Exclusion], data: Sequence[str], notes: Sequence[str],
    columns: Mapping[str, str], s: DisattenuationSettings,
) -> Run:  # fmt: skip
    objects = each[0].n_objects if len({c.n_objects for c in each}) == 1 else None
    of = f"{objects:,} objects" if objects else "the objects"
    how = (
        f"{100 * s.confidence:g}% intervals: structural by profile likelihood of both families; others percentile "
        f"bootstrap, {s.n_resamples:,} resamples of {of} ({s.object}), variances re-estimated in each, seed {s.seed}"
    )
    facts = {
        "correlations": len(each) if len(each) > 1 else None,
        "objects": objects,
        "pairs": sum(c.n_pairs for c in each),
        "facets": ",".join(f"{f}={c}" for f, c in columns.items()),
    }
    one = data[0] if len(data) == 1 else fingerprint_with(data[0], parts=tuple(data))
    cautions = tuple(dict.fromkeys(
        f"{c.criterion}, {w}" if c.criterion and len(each) > 1 else w for c in each for w in c.cautions
    ))  # fmt: skip
    return Run("disattenuated-correlation", s, one, facts, how, tuple(excluded), tuple(dict.fromkeys(notes)), cautions)


def _families(labels: Annotations, settings: DisattenuationSettings) -> list[tuple[str, str]]:
    """Each pair of values of the column."""
    table = labels if settings.annotators is None else labels.where(annotator=list(settings.annotators))
    there = [str(v) for v in table.values_of(settings.by) if v is not None]
    chosen = settings.families or there
    for name in chosen:
        if name not in there:
            raise DesignError(unknown("family", name, there, f"the column '{settings.by}'"))
    if len(set(chosen)) < 2:
        raise DesignError(
            f"a correlation needs two families; '{settings.by}' has {listing(there)}. Name two with families=(..., ...)"
        )
    return list(combinations(chosen, 2))


def _lesson_facet(design: Design, settings: DisattenuationSettings) -> str:
    """The facet in which scores must differ."""
    facets = [f for f in design.facets if f != settings.object]
    if settings.different is not None:
        design.check_facets([settings.different], among=facets)
        return settings.different
    inside = [f for f in facets if design.nests[f] == design.nests[settings.object] | {settings.object}]
    if len(inside) != 1:
        raise DesignError(f"name the facet in which two scores must differ: different=..., one of {listing(facets)}")
    return inside[0]


def _family_table(
    labels: Annotations, columns: Mapping[str, str], settings: DisattenuationSettings, pair: tuple[str, str]
) -> tuple[Faceted, Ints]:
    """Labels of both families with their facets, and the family of each label."""
    if settings.annotators is not None:
        there = {*labels.humans, *labels.judges}
        labels = labels.where(annotator=[name for name in settings.annotators if name in there])
    wanted = {str(v): v for v in labels.values_of(settings.by)}
    if absent := [name for name in pair if name not in wanted]:
        raise DesignError(f"no label has '{settings.by}' = {listing(absent, cut=True)}")
    labels = labels.where(**{settings.by: [wanted[name] for name in pair]})
    table = facet_ratings(
        labels, {**columns, "\0family": settings.by}, repeats=settings.repeats, reverse=settings.reverse or ()
    )
    # Codes follow the order of names, families the order in which they were named.
    code = table.codes["\0family"]
    family = code if sorted(pair) == list(pair) else 1 - code
    return replace(table, codes={f: table.codes[f] for f in columns}), family


class _Pairs:
    """Sums of pairs by object, reliabilities, and both for resampled objects."""

    def __init__(
        self, table: Faceted, family: Ints, design: Design, different: str, settings: DisattenuationSettings,
        pair: tuple[str, str],
    ) -> None:  # fmt: skip
        self.value, self.family, self.settings, self.pair = table.value, family, settings, pair
        self.codes = table.codes
        self.object = table.codes[settings.object]
        self.n = int(self.object.max()) + 1
        self.design = design
        nest = [table.codes[f] for f in design.facets if f in design.nests[different]]
        self.lesson, n_lessons = cross_codes(*nest, self.object, table.codes[different])
        self.fits = [self._fit(design, table, k) for k in (0, 1)]
        self.weights = [weights(f.confounding.terms, f.confounding.design, settings.object, (), {}) for f in self.fits]
        value = table.value - table.value.mean()
        whole = pair_sums(value, family, self.object, self.n)
        same = pair_sums(value, family, self.lesson, n_lessons)
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
                f"{self.n_shared} objects have scores of both families at different {different}; at least three are "
                "needed"
            )

    def _fit(self, design: Design, table: Faceted, k: int) -> Fitted:
        # Objects keep their codes, so that both families use the same resamples.
        mine = table.rows(np.flatnonzero(self.family == k))
        try:
            return fit_components(design, mine.value, mine.codes, self.settings)
        except DesignError as reason:
            raise DesignError(f"{self.pair[k]}: {reason}") from reason

    def values(self, cross: Floats, same: Floats, thetas: Sequence[Floats]) -> Floats:
        """All but the structural correlation, from sums of pairs and the variances of both families."""
        across = pair_correlation(cross)
        found = np.array([pair_correlation(same), across, np.nan, np.nan])
        universe = [float(t @ w.universe) for t, w in zip(thetas, self.weights, strict=True)]
        if not all(u > VANISHING * float(t.sum()) for u, t in zip(universe, thetas, strict=True)):
            return found
        for k, name in ((2, "generalizability"), (3, "dependability")):
            each = [float(getattr(w, name).value(t)) for w, t in zip(self.weights, thetas, strict=True)]
            if min(each) > LEAST_RELIABILITY:
                found[k] = across / np.sqrt(each[0] * each[1])
        return found

    def replicates(self) -> Floats:
        """All four correlations with objects drawn with replacement."""
        s = self.settings
        found, zero = np.empty((s.n_resamples, 4)), [np.zeros(len(f.theta)) for f in self.fits]
        # Where no corrected correlation is reported, none is estimated again.
        corrected = not (self._without_variance or all(map(self._not_estimable, CORRECTED)))
        for i in range(s.n_resamples):
            rng = np.random.default_rng(np.random.SeedSequence(s.seed, spawn_key=(i,)))
            counts = np.bincount(rng.integers(0, self.n, self.n), minlength=self.n)
            thetas = [f.refit_objects(counts) for f in self.fits] if corrected else zero
            if not all(np.isfinite(t).all() for t in thetas):
                thetas = zero
            found[i] = self.values(counts @ self.cross, counts @ self.same, thetas)
        return found

    def estimates(self) -> list[Estimate]:
        """Values with intervals; missing if a family has no variance of objects."""
        s = self.settings
        value = self.values(self.cross.sum(axis=0), self.same.sum(axis=0), [f.theta for f in self.fits])
        drawn = self.replicates()
        how = IntervalSettings(
            method="percentile", n_resamples=s.n_resamples, confidence=s.confidence, seed=s.seed
        )  # fmt: skip
        found = [
            estimate_replicates(value[k : k + 1], drawn[:, k : k + 1], how, n_items=self.n, n_units=self.n)[0]
            for k in range(len(value))
        ]
        for k, name in enumerate(CORRECTED, 2):
            lost = float(np.isnan(drawn[:, k]).mean())
            if np.isnan(value[k]) or lost > MOST_ZERO or self._not_estimable(name):
                found[k] = missing(self._not_estimable(name) or self._no_variance(lost))
        return [*found, self.structural()]

    def structural(self) -> Estimate:
        """The correlation of universe scores, from the likelihood of both families."""
        if why := self._not_estimable("generalizability"):
            return missing(why)
        own = self.design.nests[self.settings.object] | {self.settings.object}
        block = self.design.codes_of(own, self.codes)
        fit = fit_joint(self.value, (self._joint(0), self._joint(1)), own, block)
        if fit is None:
            return missing("too many labels per object for a likelihood of both families; use means")
        value, df = fit.correlation, self.n_shared - 1
        if not abs(value) <= FURTHEST:
            return missing(self._no_variance(0.0))
        found = StructuralEstimate(value, np.nan, np.nan, fit.standard_error, fit=fit, df=df)
        low, high = found.interval(self.settings.confidence)
        return replace(found, low=low, high=high)

    def _joint(self, k: int) -> Family:
        """One family's fit, with the same codes of terms for both families."""
        fitted, mine = self.fits[k], self.family == k
        found = fitted.confounding
        terms = [(t.effects[0].index, found.design.codes_of(t.effects[0].index, self.codes)) for t in found.terms[:-1]]
        last = self._residual(found.terms[-1], found.design, k)
        strata = [e.index for e in found.design.effects]
        return Family(mine, [*terms, last], np.maximum(fitted.theta, 0.0), found.complete, strata)

    def _residual(self, rest: Term, design: Design, k: int) -> tuple[frozenset[str], Ints]:
        """The index and codes of a family's residual: of the coarsest effect in it that has one label a level.

        The other family can have a term with this index: a single judge's scores of persons by cases (``pc``) share
        what is particular to a person in a case with those of several raters.
        """
        mine = self.family == k
        for index in sorted({rest.cell, *(effect.index for effect in rest.effects)}, key=len) if rest.effects else ():
            codes = design.codes_of(index, self.codes)
            if len(np.unique(codes[mine])) == int(mine.sum()):
                return index, codes
        return frozenset({f"error of {self.pair[k]}"}), np.arange(len(mine))

    def _not_estimable(self, name: CoefficientName) -> str | None:
        """Why a coefficient of a family is not estimable."""
        for family, f in zip(self.pair, self.fits, strict=True):
            if why := f.confounding.why_not(name, {}):
                return f"{family}: {why}"
        return None

    @cached_property
    def _without_variance(self) -> list[str]:
        """The families whose scores have no variance of objects."""
        each = zip(self.pair, self.fits, self.weights, strict=True)
        return [name for name, f, w in each if not f.theta @ w.universe > VANISHING * float(f.theta.sum())]

    def _no_variance(self, lost: float) -> str:
        if self._without_variance:
            return f"scores of {listing(self._without_variance)} have no variance of objects"
        if lost:
            return f"in {100 * lost:.0f}% of the resamples a family's scores have no variance of objects"
        return "a family's scores have almost no variance of objects"

    def published_interval(self) -> tuple[float, float, float]:
        """Mean and interval of equation 3 over resamples of pairs, as published."""
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


def finding_of(
    observed: Estimate, implied: Estimate, settings: DisattenuationSettings, several: int = 1
) -> Finding:  # fmt: skip
    """The code of a finding; for several correlations, at Bonferroni's level."""
    if not np.isfinite(implied.estimate):
        return "not_estimable"
    low, high = implied.low, implied.high
    if several > 1:
        low, high = implied.interval(1 - (1 - settings.confidence) / several)
    if observed.estimate >= settings.observed_high and high < settings.implied_low:
        return "spurious"
    return "shared" if low > 0 else "undecided"


def pair_sums(value: Floats, family: Ints, group: Ints, n: int) -> Floats:
    """Sums over all pairs of labels of the two families in a group: number, Σx, Σy, Σx², Σy², Σxy."""
    sums = []
    for k in (0, 1):
        mine = family == k
        sums.append([
            np.bincount(group[mine], weights=value[mine] ** power, minlength=n) for power in (0, 1, 2)
        ])  # fmt: skip
    (n_x, x, xx), (n_y, y, yy) = sums
    return np.stack([n_x * n_y, x * n_y, y * n_x, xx * n_y, yy * n_x, x * y], axis=1)


def pair_correlation(sums: Floats) -> float:
    """Pearson's correlation over all pairs, from their `pair_sums`: (6,) or (groups, 6). NaN without any variance."""
    number, x, y, xx, yy, xy = (float(v) for v in (sums.sum(axis=0) if sums.ndim > 1 else sums))
    if not number > 0:
        return np.nan
    covariance = xy / number - x * y / number**2
    spread = (xx / number - (x / number) ** 2) * (yy / number - (y / number) ** 2)
    return float(covariance / np.sqrt(spread)) if spread > 1e-12 else np.nan


def _rows_of_objects(rows: Ints, of: Ints, n: int) -> tuple[Ints, Ints, Ints]:
    """Rows in the order of their objects, with the start and the number of each object's rows."""
    size = np.bincount(of[rows], minlength=n)
    return rows[np.argsort(of[rows], kind="stable")], np.cumsum(size) - size, size


def _draw_correlation(
    objects: Ints, families: Sequence[tuple[Ints, Ints, Ints]], lesson: Ints, value: Floats, rng: np.random.Generator
) -> float:
    """The correlation of one pair of scores per drawn object, at different lessons; other pairs are redrawn."""
    pair = np.empty((2, len(objects)), dtype=np.int64)
    left = np.arange(len(objects))
    while len(left):
        at = objects[left]
        for k, (rows, start, size) in enumerate(families):
            pair[k, left] = rows[start[at] + rng.integers(0, size[at])]
        left = left[lesson[pair[0, left]] == lesson[pair[1, left]]]
    return float(np.corrcoef(value[pair[0]], value[pair[1]])[0, 1])
