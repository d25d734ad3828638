"""How far do these scores carry? Generalizability studies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunks import Chunks
from assay.data.ratings import Faceted, facet_ratings
from assay.errors import DesignError, listing
from assay.estimation.intervals import Estimate
from assay.estimation.options import question
from assay.estimation.result import Exclusion, Run, fingerprint_with
from assay.psychometrics import plots
from assay.psychometrics.components import (
    Component,
    CriterionStudy,
    DesignStudies,
    fit_components,
    uncertainty,
    weights,
)
from assay.psychometrics.d_study import DStudy, compare_scenarios, project
from assay.psychometrics.design import Design, DStudySettings, Estimator, GStudySettings, LoopSettings, design_of
from assay.reporting.tables import estimated
from assay.statistics.reml import Ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes

P = ParamSpec("P")
A = TypeVar("A")
R = TypeVar("R")

INTERVALS = {
    "profile": "profile-likelihood interval",
    "delta": "interval by the delta method, on the logarithm of variances and the logit of coefficients",
    "parametric": "percentile interval, {n} samples drawn from the fitted variances, seed {seed}",
    "objects": "percentile bootstrap interval, {n} resamples of the objects, seed {seed}",
}


ESTIMATORS: Mapping[Estimator, str] = {
    "reml": "restricted maximum likelihood (REML)",
    "ml": "full maximum likelihood",
    "anova": "analysis of variance",
}
"""How variances are estimated, by its name in the field."""


def _accept_facets(method: Callable[Concatenate[A, P], R]) -> Callable[Concatenate[A, ...], R]:
    """A method that takes the facets of a design as keywords too: ``r=[1, 2]``."""
    shown = signature(method)
    facets = Parameter("facets", Parameter.VAR_KEYWORD, annotation=int | Sequence[int])
    method.__signature__ = shown.replace(parameters=[*shown.parameters.values(), facets])  # type: ignore[attr-defined]
    return method


@dataclass(frozen=True, eq=False)
class GStudy(DesignStudies):
    """Variance components and how far scores carry, for each criterion and group that was asked for.

    Attributes
    ----------
    design, object : str
    fixed : tuple of str
    studies : tuple of CriterionStudy
        ``study["CLPC"]`` is the one of a criterion. Its components' ``variance``, its ``generalizability`` and the rest
        are estimates that answer ``.interval(level)`` and ``.p(null)``.
    run : Run
    """

    @property
    def generalizability(self) -> float:
        """Eρ² of a single score, where there is one study."""
        return self.one("generalizability").generalizability.estimate

    @property
    def dependability(self) -> float:
        """Φ of a single score, where there is one study."""
        return self.one("dependability").dependability.estimate

    @property
    def components(self) -> pl.DataFrame:
        """One row a variance: estimate, interval, percent, levels and the differences that tell it apart."""
        return pl.DataFrame(
            [
                {"criterion": s.criterion, "group": s.group, "effect": c.name, **c.variance.row(),
                 "standard_error": c.variance.standard_error, "percent": c.percent, "levels": c.levels,
                 "contrasts": c.contrasts, "at_zero": c.at_zero, "reason": c.variance.reason}
                for s in self.studies for c in s.components
            ],
            schema_overrides=_TEXT,
        )  # fmt: skip

    @property
    def anova(self) -> pl.DataFrame:
        """One row a variance: ``df``, ``squares`` and ``mean_square``; ``anova``, the variance that expected mean
        squares give (below 0 where they do); ``estimate`` and ``percent`` of the study.

        Of a table with missing cells, squares are those of each term given the ones before it (type I), NaN above three
        million entries of its design, and ``anova`` is Henderson's method 1.
        """
        return pl.DataFrame([row for s in self.studies for row in s.anova_rows()], schema_overrides=_TEXT)

    @property
    def scores(self) -> pl.DataFrame:
        """One row an object: ``estimate``, its universe score (mean + best linear unbiased prediction, in units of the
        labels), ``low``, ``high`` and ``standard_error`` given the variances; ``mean`` and number of its ``labels``.

        With few labels a score is drawn to the mean of all. NaN with a reason where the object cannot be told.
        """
        level = self.confidence
        rows = [row for s in self.studies for row in s.score_rows(level)]
        return pl.DataFrame(rows, schema_overrides=_TEXT)

    @property
    def coefficients(self) -> pl.DataFrame:
        """One row a study: Eρ², Φ, error variances, standard errors of measurement."""
        return pl.DataFrame(
            [
                {"criterion": s.criterion, "group": s.group,
                 "generalizability": s.generalizability.estimate, "dependability": s.dependability.estimate,
                 "relative_error": s.relative_error.estimate, "absolute_error": s.absolute_error.estimate,
                 "relative_sem": s.relative_sem, "absolute_sem": s.absolute_sem, "labels": s.n_labels}
                for s in self.studies
            ],
            schema_overrides=_TEXT,
        )  # fmt: skip

    @property
    def table(self) -> pl.DataFrame:
        """One row a variance, a coefficient or a standard error of measurement."""
        rows = [row for s in self.studies for row in s.rows()]
        numbers = dict.fromkeys(("estimate", "low", "high", "percent"), pl.Float64)
        found = pl.DataFrame(rows, schema_overrides={**_TEXT, **numbers}, infer_schema_length=None)
        return found.drop([c for c in ("criterion", "group") if found[c].null_count() == found.height])

    def row_estimates(self) -> Sequence[Estimate]:
        """Of each row of the table."""
        return tuple(one for s in self.studies for one in s.estimates())

    def sentences(self) -> tuple[str, ...]:
        """One sentence a study, and one for each variance at 0."""
        lines = []
        for s in self.studies:
            place = "" if s.name == "all" else f"{s.name}: "
            g, d = s.generalizability, s.dependability
            if g.reason and not np.isfinite(g.estimate):
                lines.append(f"{place}no coefficient: {g.reason}.")
                continue
            largest = max(s.components, key=lambda c: c.percent)
            most = f"most variance is {largest.name}'s ({largest.percent:.0f}%)."
            if s.lone:
                lines.append(
                    f"{place}Eρ² = {estimated(g.estimate, g.low, g.high, 3)} is the consistency of this one "
                    f"{listing(s.lone)}, without its severity; Φ is not known: {d.reason}. Standard error of "
                    f"measurement {s.relative_sem:.2f} for comparisons; {most}"
                )
                continue
            lines.append(
                f"{place}Eρ² = {estimated(g.estimate, g.low, g.high, 3)}, "
                f"Φ = {estimated(d.estimate, d.low, d.high, 3)} for one score; "
                f"standard error of measurement {s.absolute_sem:.2f} ({s.relative_sem:.2f} for comparisons); {most}"
            )
            if zero := [c.name for c in s.components if c.at_zero]:
                lines.append(f"{place}{listing(zero)} at 0, the bound: no such variance is seen.")
        return tuple(lines)

    def summary(self) -> str:
        """Each study in a sentence, how it was made, which effects were confounded."""
        interval = [f"{self.run.interval}."] if self.run.interval else []
        return "\n".join(
            [f"{self.design}, object {self.object}.", *self.sentences(), *interval, *self.run.closing()]
        )  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Axes:
        """Each study's variance as a stacked bar."""
        return plots.variance_bars([(s.name, [(c.name, c.percent) for c in s.components]) for s in self.studies], ax)

    @_accept_facets
    @question(DStudySettings)
    def d_study(self, settings: DStudySettings) -> DStudy:
        """Which Eρ² and Φ would means over other numbers of raters and lessons have?

        Called as ``study.d_study(r=[1, 2, 3], o=range(1, 11))``.

        Returns
        -------
        DStudy
            Intervals are those of the G-study's samples where it drew some; otherwise by the delta method, on the logit
            scale.

        Raises
        ------
        DesignError
            For a facet that the design does not have, the object, or numbers below 1.
        """
        return project(self, settings)

    @question(LoopSettings)
    def human_in_the_loop(self, settings: LoopSettings) -> DStudy:
        """Would a judge do instead of a second person? Equations 8 and 12 of Hardy, "All that glitters".

        Asked of a G-study with ``by="kind"``: ``study.human_in_the_loop(of_human={"s": 2}, of_judge={"s": 8})``.

        Returns
        -------
        DStudy
            With a column ``scenario``; Φ only, as in the paper.

        Raises
        ------
        DesignError
            Where there is no study of people and one of judges.
        """
        return compare_scenarios(self, settings)


_TEXT = {"criterion": pl.String, "group": pl.String, "reason": pl.String}


@question(GStudySettings)
def g_study(labels: Annotations | Chunks, settings: GStudySettings) -> GStudy:
    """How far do these scores carry: to other raters, lessons, segments?

    Parameters
    ----------
    labels : Annotations
        Labels that are numbers. Where there are several criteria, each has a study of its own, unless ``criterion``
        is a facet of the design.

    Returns
    -------
    GStudy

    Raises
    ------
    DesignError
        For a design that cannot be read or that these labels do not identify, or labels that are no numbers.
    DataError
        For a column that is not there, or labels without a level of a facet.

    Examples
    --------
    Three raters score four people on two tasks; `p` are the people.

    >>> import assay, polars as pl
    >>> scores = [[4, 3, 4, 5, 4, 5], [2, 2, 1, 3, 2, 3], [5, 4, 4, 5, 5, 4], [3, 2, 2, 2, 3, 3]]
    >>> rows = [{"item": f"{p}{t}", "person": p, "task": t, "annotator": f"r{r}", "label": scores[p][3 * t + r]}
    ...         for p in range(4) for t in range(2) for r in range(3)]
    >>> labels = assay.read(pl.DataFrame(rows), scale="1-5")
    >>> facets = {"p": "person", "t": "task", "r": "annotator"}
    >>> study = assay.g_study(labels, "p x t x r", "p", facets=facets, method="none")
    >>> round(study.generalizability, 2)
    0.82

    Of the variance of one rater's score on one task, as far as it ranks people, 82% is theirs.
    """
    labels = labels.in_memory("a G-study")
    design, columns = design_of(settings)
    _check_fixed(design, settings.fixed or (), settings.object)
    for name in settings.reverse or ():
        if name not in labels.criteria:
            raise DesignError(
                f"reverse names '{name}', which is no criterion; there are {listing(labels.criteria) or 'none'}"
            )
    studies, excluded, data = [], [], []
    for criterion, group, part in _parts(labels, columns, settings):
        present = {*part.humans, *part.judges}
        mine, caution = _raters_of_one(part, columns, settings)
        table = facet_ratings(
            part, mine, repeats=settings.repeats,
            annotators=None if settings.annotators is None else [a for a in settings.annotators if a in present],
            reverse=[c for c in settings.reverse or () if criterion in (None, c)],
        )  # fmt: skip
        data.append(table.fingerprint)
        try:
            one = _study(criterion, group, design, table, settings)
            studies.append(replace(one, cautions=(*one.cautions, *caution)))
        except DesignError as reason:
            if criterion is None and group is None:
                raise
            name = ", ".join(str(v) for v in (criterion, group) if v is not None)
            excluded.append(Exclusion("study", 1, str(reason), (name,)))
    if not studies:
        raise DesignError(f"no study can be made: {excluded[0].reason}" if excluded else "there are no labels")
    run = _run(labels, settings, columns, studies, excluded, data)
    return GStudy(settings.design, settings.object, tuple(settings.fixed or ()), tuple(studies), run)


def _check_fixed(design: Design, fixed: Sequence[str], measured: str) -> None:
    design.check_facets(fixed, "fixed facet")
    if measured in fixed:
        raise DesignError(f"'{measured}' is measured; a facet that is fixed is one that scores are averaged over")
    if not set(design.facets) - set(fixed) - {measured}:
        raise DesignError("every facet is fixed, so that there is no error; leave one random")


def _parts(
    labels: Annotations, columns: Mapping[str, str], settings: GStudySettings
) -> Iterator[tuple[str | None, str | None, Annotations]]:
    """Each criterion and each value of the column ``by``, where the design does not hold them."""
    by, used = settings.by, {labels.column_name(c) for c in columns.values()}
    if settings.annotators is not None:
        labels = labels.where(annotator=list(settings.annotators))
    apart = len(labels.criteria) > 1 and "criterion" not in used
    if by is not None and labels.column_name(by) == "criterion":
        apart, by = True, None
    for criterion in labels.criteria if apart else (None,):
        part = labels if criterion is None else labels.where(criterion=criterion)
        if by is None:
            yield criterion, None, part
        else:
            yield from ((criterion, str(value), one) for value, one in part.split(by))


def _raters_of_one(
    part: Annotations, columns: Mapping[str, str], settings: GStudySettings
) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Where one annotator answered under several prompts, or several times, these in the place of raters."""
    used = {f: part.column_name(c) for f, c in columns.items()}
    raters = next((f for f, c in used.items() if c == "annotator"), None)
    annotators = (*part.humans, *part.judges)
    if raters is None or len(annotators) != 1:
        return columns, ()
    several = [*part.conditions, *(["repeat"] if part.has_repeats and settings.repeats == "error" else [])]
    for name in several:
        values = part.column(name)
        n = values.n_unique()
        if name not in used.values() and n > 1 and not values.null_count():
            return {**columns, raters: name}, (
                f"{annotators[0]} is the only annotator: the {n} values of its '{name}' stand for {raters}, so that "
                "severity is that of these, and how other annotators would differ is not known.",
            )
    return columns, ()


def _study(
    criterion: str | None, group: str | None, design: Design, table: Faceted, settings: GStudySettings
) -> CriterionStudy:  # fmt: skip
    """Fit one table and value it."""
    fitted = fit_components(design, table.value, table.codes, settings)
    sure = uncertainty(fitted, settings.method, settings.n_resamples, settings.confidence, settings.seed)
    found = fitted.confounding
    # Of a nested facet, levels within each level of what it is nested in, at most.
    levels = {f: int(design.nested_levels(f, table.codes).max()) + 1 for f in design.facets}
    fixed = {f: float(levels[f]) for f in settings.fixed or () if f in found.design.facets}
    one = weights(found.terms, found.design, settings.object, settings.fixed or (), fixed)
    lone = [(f, table.names[f][0]) for f in found.single]
    total = float(fitted.theta.sum())
    unit = np.eye(len(fitted.theta))
    components = tuple(
        Component(t.name, sure.estimate(Ratio(unit[k])), 100 * float(fitted.theta[k]) / total, t.levels, t.apart_by,
                  bool(fitted.theta[k] <= 0), float(fitted.raw[k]))
        for k, t in enumerate(found.terms)
    )  # fmt: skip
    notes = (*found.notes, *_shared_names(design, table), *table.notes)
    if below := [f"{c.name} (−{-c.raw:.4g})" for c in components if c.raw < 0]:
        notes += (f"below 0 by the analysis of variance, and set to 0: {', '.join(below)}",)
    cautions = found.cautions
    converged, deviance = (True, np.nan) if fitted.fit is None else (fitted.fit.converged, fitted.fit.deviance)
    if not converged:
        cautions += ("the search did not end where nothing is gained; the variances are not the most likely ones.",)
    return CriterionStudy(
        criterion, group, len(table), levels, components, sure.coefficient("generalizability", one),
        sure.coefficient("dependability", one), sure.error("generalizability", one), sure.error("dependability", one),
        fitted.is_balanced, converged, deviance, cautions, notes, sure, table.names[settings.object],
        tuple(f"{f} ({name})" for f, name in lone),
    )  # fmt: skip


def _shared_names(design: Design, table: Faceted) -> Iterator[str]:
    """Whether levels of a nested facet have names that occur under several of what they are nested in."""
    for f in design.facets:
        nests = design.nests[f]
        if nests and len(np.unique(table.codes[f])) <= int(design.codes_of({f, *nests}, table.codes).max()):
            yield f"names of {f} occur within several levels of what {f} is nested in; they are taken as different"


def _run(
    labels: Annotations, settings: GStudySettings, columns: Mapping[str, str], studies: Sequence[CriterionStudy],
    excluded: Sequence[Exclusion], data: Sequence[str],
) -> Run:  # fmt: skip
    how = studies[0].uncertainty.how
    interval = "no interval"
    if how != "none":
        words = INTERVALS[how].format(n=settings.n_resamples, seed=settings.seed)
        interval = f"{100 * settings.confidence:g}% {words}"
    facts = {
        "labels": sum(s.n_labels for s in studies),
        "studies": len(studies) if len(studies) > 1 else None,
        "facets": ",".join(f"{f}={c}" for f, c in columns.items()),
    }
    cautions = list(_remarks_once([(s.name, c) for s in studies for c in s.cautions]))
    mixed = labels.humans and labels.judges and settings.annotators is None
    if mixed and settings.by is None and "kind" not in columns.values():
        cautions.append("people and judges are taken as one population of raters; by='kind' studies them apart.")
    estimator = ESTIMATORS[settings.estimator]
    if settings.estimator == "anova" and not all(s.balanced for s in studies):
        estimator = "Henderson's method 1"
    notes = (f"variances by {estimator}", *_remarks_once([(s.name, n) for s in studies for n in s.notes]))
    fingerprint = data[0] if len(data) == 1 else fingerprint_with(data[0], parts=tuple(data))
    return Run("g-study", settings, fingerprint, facts, interval, tuple(excluded), notes, tuple(cautions))


def _remarks_once(remarks: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Each remark once, with the studies that it is about."""
    names: dict[str, list[str]] = {}
    for name, what in remarks:
        names.setdefault(what, []).append(name)
    for what, of in names.items():
        yield what if of == ["all"] else f"{listing(of)}: {what}"
