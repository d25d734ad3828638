"""Generalizability studies: variance components, and the generalizability and dependability of scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunked.chunks import Chunks
from assay.data.ratings import Faceted, facet_ratings
from assay.errors import DesignError, listing
from assay.estimation.intervals import Estimate
from assay.estimation.options import question
from assay.estimation.result import Exclusion, Run, fingerprint_with
from assay.psychometrics import plots, words
from assay.psychometrics.components import (
    Component,
    CriterionStudy,
    DesignStudies,
    fit_components,
    uncertainty,
    weights,
)
from assay.psychometrics.d_study import DStudy, compare_scenarios, project
from assay.psychometrics.design import (
    Design,
    DStudySettings,
    Estimator,
    GStudySettings,
    LoopSettings,
    design_of,
    require_columns,
)
from assay.statistics.components.reml import Ratio

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
"""Names of the estimators of variances."""


def _accept_facets(method: Callable[Concatenate[A, P], R]) -> Callable[Concatenate[A, ...], R]:
    """A method that also takes the facets of a design as keywords: ``r=[1, 2]``."""
    own = signature(method)
    facets = Parameter("facets", Parameter.VAR_KEYWORD, annotation=int | Sequence[int])
    method.__signature__ = own.replace(parameters=[*own.parameters.values(), facets])  # type: ignore[attr-defined]
    return method


@dataclass(frozen=True, eq=False)
class GStudy(DesignStudies):
    """Variance components and generalizability of scores, for each criterion and group.

    Attributes
    ----------
    design, object : str
    fixed : tuple of str
    studies : tuple of CriterionStudy
        ``study["CLPC"]`` is the study of one criterion. The ``variance`` of its components, its ``generalizability``
        and its other estimates have the methods ``.interval(level)`` and ``.p(null)``.
    run : Run
    """

    @property
    def generalizability(self) -> float:
        """Eρ² of a single score, if there is one study."""
        return self.one("generalizability").generalizability.estimate

    @property
    def dependability(self) -> float:
        """Φ of a single score, if there is one study."""
        return self.one("dependability").dependability.estimate

    @property
    def components(self) -> pl.DataFrame:
        """One row per variance: estimate, interval, percent, levels and the contrasts that identify it."""
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
        """One row per variance: ``df``, ``squares`` and ``mean_square``; ``anova``, the variance from expected mean
        squares (negative values are kept); ``estimate`` and ``percent`` of the study.

        With missing cells, the squares of each term are given the preceding terms (type I), NaN above three million
        entries of the design, and ``anova`` is Henderson's method 1.
        """
        return pl.DataFrame([row for s in self.studies for row in s.anova_rows()], schema_overrides=_TEXT)

    @property
    def scores(self) -> pl.DataFrame:
        """One row per object: ``estimate``, its universe score (mean + best linear unbiased prediction, in units of the
        labels), ``low``, ``high`` and ``standard_error`` given the variances; ``mean`` and number of its ``labels``.

        With few labels a score is shrunk to the overall mean. NaN with a reason if the score is not estimable.
        """
        level = self.confidence
        rows = [row for s in self.studies for row in s.score_rows(level)]
        return pl.DataFrame(rows, schema_overrides=_TEXT)

    @property
    def coefficients(self) -> pl.DataFrame:
        """One row per study: Eρ², Φ, error variances, standard errors of measurement."""
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
        """One row per variance, coefficient or standard error of measurement."""
        rows = [row for s in self.studies for row in s.rows()]
        numbers = dict.fromkeys(("estimate", "low", "high", "percent"), pl.Float64)
        found = pl.DataFrame(rows, schema_overrides={**_TEXT, **numbers}, infer_schema_length=None)
        return found.drop([c for c in ("criterion", "group") if found[c].null_count() == found.height])

    def row_estimates(self) -> Sequence[Estimate]:
        """The estimate in each row of the table."""
        return tuple(one for s in self.studies for one in s.estimates())

    def sentences(self) -> tuple[str, ...]:
        """One sentence for each study, and one for variances estimated as 0."""
        return words.study_lines(self.studies)

    def summary(self) -> str:
        """Each study in a sentence, the method, and confounded effects."""
        interval = [f"{self.run.interval}."] if self.run.interval else []
        return "\n".join(
            [f"{self.design}, object {self.object}.", *self.sentences(), *interval, *self.run.closing()]
        )  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Axes:
        """Stacked bars of the variance components of each study."""
        return plots.variance_bars([(s.name, [(c.name, c.percent) for c in s.components]) for s in self.studies], ax)

    @_accept_facets
    @question(DStudySettings)
    def d_study(self, settings: DStudySettings) -> DStudy:
        """Project Eρ² and Φ for means over other numbers of raters and lessons.

        Call it as ``study.d_study(r=[1, 2, 3], o=range(1, 11))``.

        Returns
        -------
        DStudy
            Intervals are of the kind of the G-study: profile likelihood by default, or from its samples, or the delta
            method. ``smallest`` has the interval of each smallest number.

        Raises
        ------
        DesignError
            For a facet that the design does not have, the object, or numbers below 1.
        """
        return project(self, settings)

    @question(LoopSettings)
    def human_in_the_loop(self, settings: LoopSettings) -> DStudy:
        """Compare adding a judge with adding a second human (equations 8 and 12 of Hardy, "All that glitters").

        Requires a G-study with ``by="kind"``: ``study.human_in_the_loop(of_human={"s": 2}, of_judge={"s": 8})``.

        Returns
        -------
        DStudy
            With a column ``scenario``; only Φ, as in the paper.

        Raises
        ------
        DesignError
            Without a study of humans and one of judges.
        """
        return compare_scenarios(self, settings)


_TEXT = {"criterion": pl.String, "group": pl.String, "reason": pl.String}


@question(GStudySettings)
def g_study(labels: Annotations | Chunks, settings: GStudySettings) -> GStudy:
    """Estimate variance components and generalizability coefficients (G-study).

    Parameters
    ----------
    labels : Annotations
        Numeric labels. Each criterion is studied separately, unless ``criterion`` is a facet of the design.

    Returns
    -------
    GStudy

    Raises
    ------
    DesignError
        For a design that cannot be parsed or is not identified by these labels, or labels that are not numbers.
    DataError
        For a missing column, or labels without a level of a facet.

    Examples
    --------
    Three raters score four persons on two tasks; `p` are the persons.

    >>> import assay, polars as pl
    >>> scores = [[4, 3, 4, 5, 4, 5], [2, 2, 1, 3, 2, 3], [5, 4, 4, 5, 5, 4], [3, 2, 2, 2, 3, 3]]
    >>> rows = [{"item": f"{p}{t}", "person": p, "task": t, "annotator": f"r{r}", "label": scores[p][3 * t + r]}
    ...         for p in range(4) for t in range(2) for r in range(3)]
    >>> labels = assay.read(pl.DataFrame(rows), scale="1-5")
    >>> facets = {"p": "person", "t": "task", "r": "annotator"}
    >>> study = assay.g_study(labels, "p x t x r", "p", facets=facets, method="none")
    >>> round(study.generalizability, 2)
    0.82

    For ranking persons by one rater's score on one task, 82% of the variance is between persons.
    """
    labels = labels.in_memory("a G-study")
    design, columns = design_of(settings)
    _check_fixed(design, settings.fixed or (), settings.object)
    for name in settings.reverse or ():
        if name not in labels.criteria:
            raise DesignError(f"reverse='{name}' is not a criterion; criteria: {listing(labels.criteria) or 'none'}")
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
        raise DesignError(f"no study is possible: {excluded[0].reason}" if excluded else "there are no labels")
    run = _run(labels, settings, columns, studies, excluded, data)
    return GStudy(settings.design, settings.object, tuple(settings.fixed or ()), tuple(studies), run)


def _check_fixed(design: Design, fixed: Sequence[str], measured: str) -> None:
    design.check_facets(fixed, "fixed facet")
    if measured in fixed:
        raise DesignError(
            f"'{measured}' is the object of measurement and cannot be fixed; fix a facet of the conditions"
        )
    if not set(design.facets) - set(fixed) - {measured}:
        raise DesignError("every facet is fixed, so that there is no error variance; leave at least one facet random")


def _parts(
    labels: Annotations, columns: Mapping[str, str], settings: GStudySettings
) -> Iterator[tuple[str | None, str | None, Annotations]]:
    """Each criterion and each value of the column ``by``, unless they are facets of the design."""
    by, used = settings.by, require_columns(labels, columns)
    if settings.annotators is not None:
        labels = labels.where(annotator=list(settings.annotators))
    separate = len(labels.criteria) > 1 and "criterion" not in used
    if by is not None and labels.column_name(by) == "criterion":
        separate, by = True, None
    for criterion in labels.criteria if separate else (None,):
        part = labels if criterion is None else labels.where(criterion=criterion)
        if by is None:
            yield criterion, None, part
        else:
            yield from ((criterion, str(value), one) for value, one in part.split(by))


def _raters_of_one(
    part: Annotations, columns: Mapping[str, str], settings: GStudySettings
) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """The prompts or repeats of a single annotator as levels of the rater facet."""
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
                f"{annotators[0]} is the only annotator: the {n} values of its '{name}' are the levels of {raters}. "
                "Severity describes these levels; differences from other annotators are not estimable.",
            )
    return columns, ()


def _study(
    criterion: str | None, group: str | None, design: Design, table: Faceted, settings: GStudySettings
) -> CriterionStudy:  # fmt: skip
    """Fit one table and value it."""
    fitted = fit_components(design, table.value, table.codes, settings)
    intervals = uncertainty(fitted, settings.method, settings.n_resamples, settings.confidence, settings.seed)
    found = fitted.confounding
    # For a nested facet, the largest number of levels within one level of its outer facets.
    levels = {f: int(design.nested_levels(f, table.codes).max()) + 1 for f in design.facets}
    fixed = {f: float(levels[f]) for f in settings.fixed or () if f in found.design.facets}
    one = weights(found.terms, found.design, settings.object, settings.fixed or (), fixed)
    lone = [(f, table.names[f][0]) for f in found.single]
    total = float(fitted.theta.sum())
    unit = np.eye(len(fitted.theta))
    components = tuple(
        Component(t.name, intervals.estimate(Ratio(unit[k])), 100 * float(fitted.theta[k]) / total, t.levels,
        t.contrasts,
                  bool(fitted.theta[k] <= 0), float(fitted.raw[k]))
        for k, t in enumerate(found.terms)
    )  # fmt: skip
    notes = (*found.notes, *_repeated_ids(design, table, settings.facets or {}), *table.notes)
    if below := [f"{c.name} (−{-c.raw:.4g})" for c in components if c.raw < 0]:
        notes += (f"negative ANOVA estimates set to 0: {', '.join(below)}",)
    cautions = found.cautions
    converged, deviance = (True, np.nan) if fitted.fit is None else (fitted.fit.converged, fitted.fit.deviance)
    if not converged:
        cautions += ("the optimization did not converge; the variances are not the maximum-likelihood estimates.",)
    return CriterionStudy(
        criterion, group, len(table), levels, components, intervals.coefficient("generalizability", one),
        intervals.coefficient("dependability", one), intervals.error("generalizability", one),
        intervals.error("dependability", one), fitted.is_balanced, converged, deviance, cautions, notes, intervals,
        table.names[settings.object], tuple(f"{f} ({name})" for f, name in lone),
    )  # fmt: skip


def _repeated_ids(design: Design, table: Faceted, columns: Mapping[str, str]) -> Iterator[str]:
    """Notes about levels of a nested facet whose ids repeat across levels of its outer facets."""
    for f in design.facets:
        nests = design.nests[f]
        if nests and len(np.unique(table.codes[f])) <= int(design.codes_of({f, *nests}, table.codes).max()):
            inner, outer = (
                words.facet_noun(f, columns, 1),
                listing([words.facet_noun(g, columns) for g in sorted(nests)]),
            )
            ids = f"{inner} ids" if len(inner) > 1 else f"ids of {inner}"
            levels = words.facet_noun(f, columns) if len(inner) > 1 else f"levels of {inner}"
            yield f"{ids} repeat across {outer} and are treated as different {levels}"


def _run(
    labels: Annotations, settings: GStudySettings, columns: Mapping[str, str], studies: Sequence[CriterionStudy],
    excluded: Sequence[Exclusion], data: Sequence[str],
) -> Run:  # fmt: skip
    how = studies[0].uncertainty.how
    interval = "no interval"
    if how != "none":
        method = INTERVALS[how].format(n=settings.n_resamples, seed=settings.seed)
        interval = f"{100 * settings.confidence:g}% {method}"
    facts = {
        "labels": sum(s.n_labels for s in studies),
        "studies": len(studies) if len(studies) > 1 else None,
        "facets": ",".join(f"{f}={c}" for f, c in columns.items()),
    }
    cautions = list(_remarks_once([(s.name, c) for s in studies for c in s.cautions]))
    mixed = labels.humans and labels.judges and settings.annotators is None
    if mixed and settings.by is None and "kind" not in columns.values():
        cautions.append("humans and judges are pooled as raters; use by='kind' to analyse them separately.")
    estimator = ESTIMATORS[settings.estimator]
    if settings.estimator == "anova" and not all(s.balanced for s in studies):
        estimator = "Henderson's method 1"
    notes = (f"variances by {estimator}", *_remarks_once([(s.name, n) for s in studies for n in s.notes]))
    fingerprint = data[0] if len(data) == 1 else fingerprint_with(data[0], parts=tuple(data))
    return Run("g-study", settings, fingerprint, facts, interval, tuple(excluded), notes, tuple(cautions))


def _remarks_once(remarks: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Each remark once, with its studies."""
    names: dict[str, list[str]] = {}
    for name, what in remarks:
        names.setdefault(what, []).append(name)
    for what, of in names.items():
        # The name of a study of a criterion and a kind of rater has a comma.
        studies = "; ".join(of) if any(", " in name for name in of) else listing(of)
        yield what if of == ["all"] else f"{studies}: {what}"
