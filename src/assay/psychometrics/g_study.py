"""How far do these scores carry? Generalizability studies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunks import Chunks, in_memory
from assay.data.ratings import Faceted, faceted
from assay.errors import DesignError, listing, unknown
from assay.estimation.intervals import Estimate, missing
from assay.estimation.result import Exclusion, Run, fingerprint_with
from assay.psychometrics import plots
from assay.psychometrics.components import (
    Component,
    CriterionStudy,
    DesignStudies,
    Fitted,
    Uncertainty,
    Weights,
    fit_components,
    uncertainty,
    weights,
)
from assay.psychometrics.d_study import DStudy, d_study, human_in_the_loop
from assay.psychometrics.design import (
    Coefficient,
    Design,
    DesignOptions,
    DesignSettings,
    GStudySettings,
    How,
    LoopOptions,
    Merged,
    parse,
)
from assay.reporting.tables import estimated
from assay.statistics.blocks import grouped
from assay.statistics.blocks import within as within_nest
from assay.statistics.reml import Ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes


HOW = {
    "profile": "profile-likelihood interval",
    "delta": "interval by the delta method, on the logarithm of variances and the logit of coefficients",
    "parametric": "percentile interval, {n} samples drawn from the fitted variances, seed {seed}",
    "objects": "percentile bootstrap interval, {n} resamples of the objects, seed {seed}",
}


@dataclass(frozen=True, eq=False)
class GStudy(DesignStudies):
    """Variance components and how far scores carry, for each criterion and group that was asked for.

    Attributes
    ----------
    design, object : str
    fixed : tuple of str
    studies : tuple of Study
        ``study["CLPC"]`` is the one of a criterion.
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
        empty = [c for c in ("criterion", "group") if found[c].null_count() == found.height]
        return found.drop(empty)

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
            lines.append(
                f"{place}Eρ² = {estimated(g.estimate, g.low, g.high, 3)}, "
                f"Φ = {estimated(d.estimate, d.low, d.high, 3)} for one score; "
                f"standard error of measurement {s.absolute_sem:.2f} "
                f"({s.relative_sem:.2f} for comparisons); most variance is {largest.name}'s ({largest.percent:.0f}%)."
            )
            zero = [c.name for c in s.components if c.at_zero]
            if zero:
                lines.append(f"{place}{listing(zero)} at 0, the bound: no such variance is seen.")
        return tuple(lines)

    def summary(self) -> str:
        """Each study in a sentence, how it was made, what could not be told apart."""
        lines = [f"{self.design}, object {self.object}.", *self.sentences()]
        return "\n".join([*lines, *([f"{self.run.interval}."] if self.run.interval else []), *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Each study's variance as a stacked bar."""
        return plots.bars([(s.name, [(c.name, c.percent) for c in s.components]) for s in self.studies], ax)

    def d_study(
        self, sizes: Mapping[str, Sequence[int] | int] | None = None, *, target: float = 0.7,
        coefficient: Coefficient = "dependability", along: str | None = None, price: float | None = None,
        prices: Mapping[str, float] | None = None, merged: Merged = "careful", **facets: Sequence[int] | int,
    ) -> DStudy:  # fmt: skip
        """Which coefficients would other numbers of raters and lessons have? See `assay.psychometrics.d_study`."""
        return d_study(
            self, {**(sizes or {}), **facets}, target=target, coefficient=coefficient, along=along, price=price,
            prices=prices, merged=merged,
        )  # fmt: skip

    def human_in_the_loop(self, **options: Unpack[LoopOptions]) -> DStudy:
        """Would a judge do instead of a second person? See `assay.psychometrics.d_study.human_in_the_loop`."""
        return human_in_the_loop(self, **options)


_TEXT = {"criterion": pl.String, "group": pl.String, "reason": pl.String}


def g_study(
    labels: Annotations | Chunks,
    design: str,
    object: str,  # noqa: A002 - Brennan's word
    *,
    fixed: Sequence[str] | str | None = None,
    by: str | None = None,
    method: How | None = None,
    n_resamples: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
    **options: Unpack[DesignOptions],
) -> GStudy:
    """How far do these scores carry: to other raters, lessons, segments?

    Parameters
    ----------
    labels : Annotations
        Labels that are numbers. Where there are several criteria, each has a study of its own, unless ``criterion``
        is a facet of the design.
    design : str
        Facets crossed (``x``) and nested (``:``): ``r x (s:o:i)`` is raters crossed with segments in lessons in
        teachers.
    object : str
        The facet whose levels are measured.
    fixed : list of str, optional
        Facets whose levels are all there are: scores are means over them, and what the object has with them is a
        part of its universe score.
    by : str, optional
        A column whose values are studied one by one: ``kind`` for people and judges apart. Together, they are one
        population of raters, or families in the design: ``(r:f) x (o:i)`` with ``facets={"f": "kind"}``.
    method : {"profile", "delta", "parametric", "objects", "none"}, optional
        Profile likelihood; the delta method; samples drawn from the fitted variances; resampled objects. When not
        given: profile, delta for unbalanced tables of more than 20,000 labels, and parametric for the analysis of
        variance.
    n_resamples, confidence, seed
        See `assay.estimation.options.Intervals`.
    **options
        ``facets``, ``annotators``, ``repeats``, ``omit``, ``reverse``, ``confounded``, ``least_contrasts``,
        ``estimator``, see `assay.psychometrics.design.DesignOptions`.

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
    given = {
        **options, "fixed": _names(fixed), "annotators": _names(options.get("annotators")),
        "omit": _names(options.get("omit")), "reverse": _names(options.get("reverse")),
    }  # fmt: skip
    settings = GStudySettings.of(
        {**given, "design": design, "object": object, "by": by, "method": method, "n_resamples": n_resamples,
         "confidence": confidence, "seed": seed}, "g_study",
    )  # fmt: skip
    labels = in_memory(labels, "a G-study")
    parsed, columns = design_of(settings)
    _check_facets(parsed, settings.fixed or (), settings.object)
    for name in settings.reverse or ():
        if name not in labels.criteria:
            raise DesignError(
                f"reverse names '{name}', which is no criterion; there are {listing(labels.criteria) or 'none'}"
            )
    studies, excluded, data = [], [], []
    for criterion, group, part in parts_of(labels, columns, settings.by, settings.annotators):
        table = faceted(
            part, columns, annotators=_present(part, settings.annotators), repeats=settings.repeats,
            reverse=[c for c in settings.reverse or () if criterion in (None, c)],
        )  # fmt: skip
        data.append(table.fingerprint)
        try:
            studies.append(_study(criterion, group, parsed, table, settings))
        except DesignError as reason:
            if criterion is None and group is None:
                raise
            excluded.append(
                Exclusion("study", 1, str(reason), (", ".join(str(v) for v in (criterion, group) if v is not None),))
            )
    if not studies:
        raise DesignError(f"no study can be made: {excluded[0].reason}" if excluded else "there are no labels")
    return GStudy(settings.design, settings.object, settings.fixed or (), tuple(studies),
                  _run(labels, settings, columns, studies, excluded, data))  # fmt: skip


def _names(given: Sequence[str] | str | None) -> tuple[str, ...] | None:
    return None if given is None else (given,) if isinstance(given, str) else tuple(given)


def design_of(settings: DesignSettings) -> tuple[Design, dict[str, str]]:
    """The design, and the column of each facet.

    Raises
    ------
    DesignError
        For a design that cannot be read, an object that is no facet, or columns of facets that it does not have.
    """
    parsed = parse(settings.design)
    if settings.object not in parsed.facets:
        raise DesignError(unknown("object", settings.object, parsed.facets, f"the design {settings.design}"))
    named = dict(settings.facets or {})
    for facet in named:
        if facet not in parsed.facets:
            raise DesignError(unknown("facet", facet, parsed.facets, f"the design {settings.design}"))
    return parsed, {f: named.get(f, f) for f in parsed.facets}


def _check_facets(design: Design, fixed: Sequence[str], measured: str) -> None:
    for one in fixed:
        if one not in design.facets:
            raise DesignError(unknown("fixed facet", one, design.facets, f"the design {design.text}"))
        if one == measured:
            raise DesignError(f"'{one}' is measured; a facet that is fixed is one that scores are averaged over")
    if not set(design.facets) - set(fixed) - {measured}:
        raise DesignError("every facet is fixed, so that there is no error; leave one random")


def parts_of(
    labels: Annotations, columns: Mapping[str, str], by: str | None, annotators: Sequence[str] | None = None
) -> Iterator[tuple[str | None, str | None, Annotations]]:
    """Each criterion and each value of a column, where the design does not hold them."""
    used = {labels.column_name(c) for c in columns.values()}
    if annotators is not None:
        labels = labels.where(annotator=list(annotators))
    apart = len(labels.criteria) > 1 and "criterion" not in used
    if by is not None and labels.column_name(by) == "criterion":
        apart, by = True, None
    for criterion in labels.criteria if apart else (None,):
        part = labels if criterion is None else labels.where(criterion=criterion)
        if by is None:
            yield criterion, None, part
        else:
            yield from ((criterion, str(value), one) for value, one in part.split(by))


def _present(part: Annotations, annotators: Sequence[str] | None) -> list[str] | None:
    """Of the annotators asked for, those of this part."""
    if annotators is None:
        return None
    there = {*part.humans, *part.judges}
    return [a for a in annotators if a in there]


def _study(
    criterion: str | None, group: str | None, design: Design, table: Faceted, settings: GStudySettings
) -> CriterionStudy:  # fmt: skip
    """Fit one table and value it."""
    fitted = fit_components(design, table.value, table.codes, settings)
    sure = uncertainty(fitted, settings.method, settings.n_resamples, settings.confidence, settings.seed)
    found = fitted.identified
    levels = levels_of(design, table)
    by_size = weights(
        found.terms, found.design, settings.object, settings.fixed or (),
        {f: float(levels[f]) for f in settings.fixed or () if f in found.design.facets},
    )  # fmt: skip
    total = float(fitted.theta.sum())
    unit = np.eye(len(fitted.theta))
    components = tuple(
        Component(t.name, sure.of(Ratio(unit[k])), 100 * float(fitted.theta[k]) / total, t.levels, t.apart_by,
                  bool(fitted.theta[k] <= 0), float(fitted.raw[k]))
        for k, t in enumerate(found.terms)
    )  # fmt: skip
    eg, phi, relative, absolute = _valued(fitted, sure, by_size)
    below = [c for c in components if c.raw < 0]
    notes = (*found.notes, *_shared_names(design, table), *table.notes)
    if below:
        named = ", ".join(f"{c.name} (−{-c.raw:.4g})" for c in below)
        notes += (f"below 0 by the analysis of variance, and set to 0: {named}",)
    cautions = found.cautions
    if fitted.fit is not None and not fitted.fit.converged:
        cautions += ("the search did not end where nothing is gained; the variances are not the most likely ones.",)
    converged, deviance = (True, np.nan) if fitted.fit is None else (fitted.fit.converged, fitted.fit.deviance)
    return CriterionStudy(
        criterion, group, len(table), levels, components, eg, phi, relative, absolute, fitted.is_balanced, converged,
        deviance, cautions, notes, sure,
    )  # fmt: skip


def _valued(
    fitted: Fitted, sure: Uncertainty, by_size: Weights
) -> tuple[Estimate, Estimate, Estimate, Estimate]:  # fmt: skip
    """Eρ², Φ and both errors; no coefficient where the object's variance does not stand alone."""
    asked = by_size.quantities()
    if not fitted.known:
        reason = "the object's variance cannot be told from that of its interactions"
        return (missing(reason), missing(reason), sure.of(asked["σ²(δ)"]), sure.of(asked["σ²(Δ)"]))
    return sure.of(asked["Eρ²"]), sure.of(asked["Φ"]), sure.of(asked["σ²(δ)"]), sure.of(asked["σ²(Δ)"])


def levels_of(design: Design, table: Faceted) -> dict[str, int]:
    """How many levels each facet has: of a nested facet, within each level of what it is nested in, at most."""
    found = {}
    for f in design.facets:
        nest = [table.codes[g] for g in design.facets if g in design.nests[f]]
        found[f] = int(within_nest(table.codes[f], grouped(*nest)[0] if nest else None).max()) + 1
    return found


def _shared_names(design: Design, table: Faceted) -> tuple[str, ...]:
    """Whether levels of a nested facet have names that occur under several of what they are nested in."""
    found: list[str] = []
    for f in design.facets:
        nest = [table.codes[g] for g in design.facets if g in design.nests[f]]
        if nest and len(np.unique(table.codes[f])) < grouped(*nest, table.codes[f])[1]:
            found.append(
                f"names of {f} occur within several levels of what {f} is nested in; they are taken as different"
            )
    return tuple(found)


def _run(
    labels: Annotations, settings: GStudySettings, columns: Mapping[str, str], studies: Sequence[CriterionStudy],
    excluded: Sequence[Exclusion], data: Sequence[str],
) -> Run:  # fmt: skip
    how = studies[0].uncertainty.how
    words = HOW.get(how, "no interval").format(n=settings.n_resamples, seed=settings.seed)
    interval = f"{100 * settings.confidence:g}% {words}" if how != "none" else "no interval"
    facts = {
        "labels": sum(s.n_labels for s in studies),
        "studies": len(studies) if len(studies) > 1 else None,
        "facets": ",".join(f"{f}={c}" for f, c in columns.items()),
    }
    cautions = list(_gathered([(s.name, c) for s in studies for c in s.cautions]))
    if (
        settings.by is None
        and "kind" not in columns.values()
        and labels.humans
        and labels.judges
        and settings.annotators is None
    ):
        cautions.append("people and judges are taken as one population of raters; by='kind' studies them apart.")
    notes = tuple(_gathered([(s.name, n) for s in studies for n in s.notes]))
    mixed = data[0] if len(data) == 1 else fingerprint_with(data[0], parts=tuple(data))
    return Run("g-study", settings, mixed, facts, interval, tuple(excluded), notes, tuple(cautions))


def _gathered(said_of: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Each remark once, with the studies that it is about."""
    names: dict[str, list[str]] = {}
    for name, what in said_of:
        names.setdefault(what, []).append(name)
    for what, of in names.items():
        yield what if of == ["all"] else f"{listing(of)}: {what}"
