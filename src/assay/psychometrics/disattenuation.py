"""Do people and judges measure the same thing? Correlations across lessons, corrected for unreliability."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunks import Chunks
from assay.data.ratings import Faceted, facet_ratings
from assay.errors import DesignError, listing, unknown
from assay.estimation.intervals import Estimate, missing
from assay.estimation.options import IntervalSettings, number_in, question
from assay.estimation.resampling import estimate_replicates
from assay.estimation.result import Exclusion, Result, Run, fingerprint_with
from assay.estimation.statistic import Floats, Ints
from assay.psychometrics.components import Fitted, fit_components, weights
from assay.psychometrics.design import CoefficientName, Design, DisattenuationSettings, design_of
from assay.reporting import pictures
from assay.reporting.tables import estimated, interval, said
from assay.statistics.bivariate import FURTHEST, Family, JointFit, fit_joint
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


@dataclass(frozen=True, kw_only=True)
class StructuralEstimate(Estimate):
    """The objects' correlation, whose intervals and p-values come from the likelihood of both families.

    Attributes
    ----------
    fit : JointFit
    df : float
        Of the t distribution that a profile is compared with: objects less one.
    """

    fit: JointFit = field(repr=False, compare=False, metadata={"json": False})
    df: float = field(repr=False, compare=False, metadata={"json": False})

    def interval(self, level: float) -> tuple[float, float]:
        """The profile-likelihood interval, within −1 and 1 where the estimate is."""
        number_in("level", level, above=0, below=1)
        return self.fit.interval(level, self.df, min(-1.0, self.estimate), max(1.0, self.estimate))

    def p(self, null: float = 0.0) -> float:
        """Two-sided p-value of a true correlation of ``null``: the level at which the interval would end there."""
        return self.fit.p(null, self.df)


@dataclass(frozen=True, eq=False)
class FamilyCorrelation:
    """The correlation of two families' scores on one criterion, as observed and as implied without error.

    Attributes
    ----------
    criterion : str or None
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
        The correlation of both families' universe scores: their covariance over their standard deviations, from the
        restricted likelihood of both families at once. Unbiased, so that it may be above 1. The answer to read.
    resampled : (float, float, float)
        The paper's way: mean and interval of equation 3 over resamples of pairs. It takes pairs as independent, and is
        too narrow.
    reliabilities : polars.DataFrame
        Eρ², Φ and the variance of objects of each family.
    finding : {"spurious", "shared", "unclear", "cannot be told"}
    n_objects, n_pairs : int
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

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The five correlations, as in `NAMES`."""
        return self.observed, self.across, self.published, self.dependable, self.structural

    def sentences(self, name: str = "") -> tuple[str, ...]:
        """The finding, then what it rests on."""
        first, second = self.families
        words: Mapping[Finding, str] = {
            "spurious": "agreement on the same lesson is not about the object: the implied correlation is low",
            "shared": "both measure something in common",
            "unclear": "the implied correlation is not known well enough to say what both share",
            "cannot be told": "what both share cannot be told: scores hardly tell objects apart",
        }
        implied = self.structural
        lines = [f"{name}{first} and {second}: {words[self.finding]}."]
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


@dataclass(frozen=True, eq=False)
class Disattenuation(Result):
    """Correlations of families' scores, as observed and as implied without error: of each criterion and two families.

    Where there is one, the result itself answers what `FamilyCorrelation` holds: ``found.structural``.

    Attributes
    ----------
    each : tuple of FamilyCorrelation
        ``found["CLPC"]`` is the one of a criterion, ``found["CLPC", "human", "gpt"]`` of a criterion and two families.
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
            Where that is none, or several.
        """
        wanted = {name} if isinstance(name, str) else set(name)
        found = [one for one in self.each if wanted <= {one.criterion, *one.families}]
        if len(found) != 1:
            several = [", ".join(str(v) for v in (c.criterion, *c.families) if v is not None) for c in self.each]
            raise DesignError(unknown("correlation", listing(sorted(wanted)), several, "this result"))
        return found[0]

    def one(self, what: str) -> FamilyCorrelation:
        """The correlation, where there is one.

        Raises
        ------
        DesignError
            Where there are several.
        """
        if len(self.each) > 1:
            raise DesignError(f"there are {len(self.each)} correlations; take one, such as found[...].{what}")
        return self.each[0]

    @property
    def families(self) -> tuple[str, str]:
        """Both families, where there is one correlation."""
        return self.one("families").families

    @property
    def observed(self) -> Estimate:
        """Of scores of the same object at the same lesson, where there is one correlation."""
        return self.one("observed").observed

    @property
    def across(self) -> Estimate:
        """Of scores of the same object at different lessons, where there is one correlation."""
        return self.one("across").across

    @property
    def published(self) -> Estimate:
        """Equation 3, where there is one correlation."""
        return self.one("published").published

    @property
    def dependable(self) -> Estimate:
        """Over √(Φ Φ), where there is one correlation."""
        return self.one("dependable").dependable

    @property
    def structural(self) -> Estimate:
        """Of universe scores: the answer to read, where there is one correlation."""
        return self.one("structural").structural

    @property
    def resampled(self) -> tuple[float, float, float]:
        """Equation 3 over resamples of pairs: mean and interval, where there is one correlation."""
        return self.one("resampled").resampled

    @property
    def finding(self) -> Finding:
        """What is found, where there is one correlation."""
        return self.one("finding").finding

    @property
    def n_objects(self) -> int:
        """Objects with scores of both, where there is one correlation."""
        return self.one("n_objects").n_objects

    @property
    def n_pairs(self) -> int:
        """Pairs of scores at different lessons, where there is one correlation."""
        return self.one("n_pairs").n_pairs

    @property
    def table(self) -> pl.DataFrame:
        """One row a correlation."""
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
        """The five of each."""
        return tuple(one for c in self.each for one in c.estimates)

    def sentences(self) -> tuple[str, ...]:
        """Each finding, then what it rests on."""
        if len(self.each) == 1:
            return self.each[0].sentences()
        findings = Counter(c.finding for c in self.each)
        first = ", ".join(f"{n} {finding}" for finding, n in findings.most_common())
        lines = [f"Of {len(self.each)} correlations: {first} (findings at a level corrected for their number)."]
        return (*lines, *(line for c in self.each for line in c.sentences(f"{c.criterion}, " if c.criterion else "")))

    def summary(self) -> str:
        """The finding in sentences fit to paste."""
        low, high = self.each[0].resampled[1:]
        more = []
        if len(self.each) == 1 and np.isfinite(low):
            why = "too narrow, for pairs of one object are not independent"
            more = [f"Resamples of pairs, as published: {interval(low, high)}; {why}."]
        return "\n".join([*self.sentences(), *more, f"{self.run.interval}.", *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """All correlations as a forest plot; of several, observed (faint) and implied by criterion, as figure 2."""
        if len(self.each) == 1:
            ax = super().plot(ax)
            ax.set_xlabel(f"correlation of {' and '.join(self.each[0].families)}")
        else:
            ax = self._plot_several(ax)
        for end in (0, 1):
            ax.axvline(end, color=pictures.FAINT, linewidth=1, zorder=0)
        return ax

    def _plot_several(self, ax: Axes | None) -> Axes:
        """A row a criterion; two families are a colour, faint where observed on the same lesson, full where implied."""
        names = list(dict.fromkeys(str(c.criterion or "") for c in self.each))
        pairs = list(dict.fromkeys(c.families for c in self.each))
        ax = pictures.axes(ax, height=1.2 + 0.3 * len(names) * max(len(pairs), 2) ** 0.5)
        for k, pair in enumerate(pairs):
            colour = pictures.PALETTE[k % len(pictures.PALETTE)]
            mine = {str(c.criterion or ""): c for c in self.each if c.families == pair}
            for what, shade, step in (("observed", f"{colour}66", 0.12), ("structural", colour, -0.0)):
                some = [getattr(mine[n], what) if n in mine else missing("none") for n in names]
                ends = ([getattr(e, end) for e in some] for end in ("estimate", "low", "high"))
                word = "observed" if what == "observed" else "implied"
                pictures.forest(
                    ax, names, *ends, colour=shade, offset=step + 0.5 * (0.5 - (k + 0.5) / len(pairs)),
                    label=f"{' and '.join(pair)}, {word}",
                )  # fmt: skip
        ax.set_xlabel("correlation: observed on the same (faint), implied without error")
        pictures.legend(ax, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
        return ax


@question(DisattenuationSettings)
def disattenuated_correlation(labels: Annotations | Chunks, settings: DisattenuationSettings) -> Disattenuation:
    """Would people and judges rank objects alike, were there no error in either?

    Hardy, "All that glitters", section 4.3, equation 3: scores of the same object at *different* lessons, so that what
    both see in one lesson does not count, corrected by the reliabilities of both families.

    Parameters
    ----------
    labels : Annotations
        Labels that are numbers, of two families or more. Each criterion and each two families have their own.

    Returns
    -------
    Disattenuation

    Raises
    ------
    DesignError
        Where there are not two families, or no object with scores of both at different lessons.
    """
    labels = labels.in_memory("a disattenuated correlation")
    design, columns = design_of(settings)
    pairs = _families(labels, settings)
    used = {labels.column_name(c) for c in columns.values()}
    criteria = labels.criteria if len(labels.criteria) > 1 and "criterion" not in used else (None,)
    asked = [(criterion, pair) for criterion in criteria for pair in pairs]
    each, excluded, data = [], [], []
    notes: list[str] = []
    for criterion, pair in asked:
        part = labels if criterion is None else labels.where(criterion=criterion)
        try:
            table, family = _family_table(part, columns, settings, pair)
            study = _Pairs(table, family, design, _lesson_facet(design, settings), settings, pair)
        except DesignError as reason:
            if len(asked) == 1:
                raise
            name = ", ".join(v for v in (criterion, *pair) if v is not None)
            excluded.append(Exclusion("correlation", 1, str(reason), (name,)))
            continue
        each.append(_correlate_families(study, criterion, pair, settings, len(asked)))
        data.append(fingerprint_with(table.fingerprint, families=pair))
        notes += table.notes
    if not each:
        raise DesignError(f"no correlation can be made: {excluded[0].reason}")
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
        f"bootstrap, {s.n_resamples:,} resamples of {of} ({s.object}), variances estimated anew in each, seed {s.seed}"
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
    """Each two values of the column."""
    table = labels if settings.annotators is None else labels.where(annotator=list(settings.annotators))
    there = [str(v) for v in table.values_of(settings.by) if v is not None]
    chosen = settings.families or there
    for name in chosen:
        if name not in there:
            raise DesignError(unknown("family", name, there, f"the column '{settings.by}'"))
    if len(set(chosen)) < 2:
        raise DesignError(
            f"two families are correlated; '{settings.by}' has {listing(there)}. Name two with families=(..., ...)"
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
        raise DesignError(f"say in which facet two scores must differ: different=..., one of {listing(facets)}")
    return inside[0]


def _family_table(
    labels: Annotations, columns: Mapping[str, str], settings: DisattenuationSettings, pair: tuple[str, str]
) -> tuple[Faceted, Ints]:
    """Labels of both families with their facets, and which family each is of."""
    if settings.annotators is not None:
        there = {*labels.humans, *labels.judges}
        labels = labels.where(annotator=[name for name in settings.annotators if name in there])
    wanted = {str(v): v for v in labels.values_of(settings.by)}
    if absent := [name for name in pair if name not in wanted]:
        raise DesignError(f"no label is of {listing(absent)}, a value of '{settings.by}'")
    labels = labels.where(**{settings.by: [wanted[name] for name in pair]})
    table = facet_ratings(
        labels, {**columns, "\0family": settings.by}, repeats=settings.repeats, reverse=settings.reverse or ()
    )
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
        self.codes = table.codes
        self.object = table.codes[settings.object]
        self.n = int(self.object.max()) + 1
        self.design = design
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
        """All but the structural correlation, from sums of pairs and the variances of both families."""
        across = _correlation(cross)
        found = np.array([_correlation(same), across, np.nan, np.nan])
        universe = [float(t @ w.universe) for t, w in zip(thetas, self.weights, strict=True)]
        if not all(u > VANISHING * float(t.sum()) for u, t in zip(universe, thetas, strict=True)):
            return found
        for k, name in ((2, "generalizability"), (3, "dependability")):
            each = [float(getattr(w, name).value(t)) for w, t in zip(self.weights, thetas, strict=True)]
            if min(each) > LEAST_RELIABILITY:
                found[k] = across / np.sqrt(each[0] * each[1])
        return found

    def replicates(self) -> Floats:
        """All four where objects are drawn with replacement."""
        s = self.settings
        found = np.empty((s.n_resamples, 4))
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
            estimate_replicates(value[k : k + 1], drawn[:, k : k + 1], how, n_items=self.n, n_units=self.n)[0]
            for k in range(len(value))
        ]
        names: tuple[CoefficientName, ...] = ("generalizability", "dependability")
        for k, name in enumerate(names, 2):
            lost = float(np.isnan(drawn[:, k]).mean())
            if np.isnan(value[k]) or lost > MOST_ZERO or self._untold(name):
                found[k] = missing(f"cannot be told: {self._untold(name) or self._no_variance(lost)}")
        return [*found, self.structural()]

    def structural(self) -> Estimate:
        """The correlation of universe scores, from the likelihood of both families."""
        if why := self._untold("generalizability"):
            return missing(f"cannot be told: {why}")
        own = self.design.nests[self.settings.object] | {self.settings.object}
        block = self.design.codes_of(own, self.codes)
        fit = fit_joint(self.value, (self._joint(0), self._joint(1)), own, block)
        if fit is None:
            return missing("cannot be told: too many labels of an object for a likelihood of both families; take means")
        value, df = fit.correlation, self.n_shared - 1
        if not abs(value) <= FURTHEST:
            return missing(f"cannot be told: {self._no_variance(0.0)}")
        found = StructuralEstimate(value, np.nan, np.nan, fit.standard_error, fit=fit, df=df)
        low, high = found.interval(self.settings.confidence)
        return replace(found, low=low, high=high)

    def _joint(self, k: int) -> Family:
        """One family's fit, with its terms coded for both alike."""
        fitted, mine = self.fits[k], self.family == k
        found = fitted.confounding
        terms = [(t.effects[0].index, found.design.codes_of(t.effects[0].index, self.codes)) for t in found.terms[:-1]]
        rest = found.terms[-1]
        cell = found.design.codes_of(rest.cell, self.codes)
        alone = bool(rest.effects) and len(np.unique(cell[mine])) == int(mine.sum())
        last = (rest.cell, cell) if alone else (frozenset({f"error of {self.pair[k]}"}), np.arange(len(mine)))
        strata = [e.index for e in found.design.effects]
        return Family(mine, [*terms, last], np.maximum(fitted.theta, 0.0), found.complete, strata)

    def _untold(self, name: CoefficientName) -> str | None:
        """Why a coefficient of a family cannot be told."""
        for family, f in zip(self.pair, self.fits, strict=True):
            if why := f.confounding.why_not(name, {}):
                return f"{family}: {why}"
        return None

    def _no_variance(self, lost: float) -> str:
        each = zip(self.pair, self.fits, self.weights, strict=True)
        if zero := [name for name, f, w in each if not f.theta @ w.universe > VANISHING * float(f.theta.sum())]:
            return f"scores of {listing(zero)} hold no variance of objects"
        if lost:
            return f"in {100 * lost:.0f}% of the resamples a family's scores hold no variance of objects"
        return "a family's scores hardly hold variance of objects"

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


def finding_of(
    observed: Estimate, implied: Estimate, settings: DisattenuationSettings, several: int = 1
) -> Finding:  # fmt: skip
    """Whether a good correlation on the same lesson is about the object at all; of several, at Bonferroni's level."""
    if not np.isfinite(implied.estimate):
        return "cannot be told"
    low, high = implied.low, implied.high
    if several > 1:
        low, high = implied.interval(1 - (1 - settings.confidence) / several)
    if observed.estimate >= settings.observed_high and high < settings.implied_low:
        return "spurious"
    return "shared" if low > 0 else "unclear"


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


def _correlation(sums: Floats) -> float:
    """Pearson's correlation over all pairs."""
    number, x, y, xx, yy, xy = (float(v) for v in (sums.sum(axis=0) if sums.ndim > 1 else sums))
    if not number > 0:
        return np.nan
    covariance = xy / number - x * y / number**2
    spread = (xx / number - (x / number) ** 2) * (yy / number - (y / number) ** 2)
    return float(covariance / np.sqrt(spread)) if spread > 1e-12 else np.nan


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
