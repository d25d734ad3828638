"""Intraclass correlations: the share of the variance of labels that is due to the items."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assay.concordance import words
from assay.concordance.coefficient import (
    Coefficient,
    Estimator,
    ICCSettings,
    ICCTableSettings,
    Measure,
    Model,
    leave_raters_out,
    ratings_of,
    without_each,
    wrap,
)
from assay.data.annotations import Annotations
from assay.data.chunks import Chunks
from assay.data.ratings import Ratings
from assay.errors import DesignError, unknown
from assay.estimation.intervals import Estimate, EstimateByRule
from assay.estimation.options import question
from assay.estimation.result import Exclusion, Result, Run
from assay.estimation.statistic import Floats
from assay.reporting import pictures
from assay.statistics.categories import Together
from assay.statistics.variance import Components, Form, IntraclassCorrelation, OneWay, TwoWay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMS: dict[Form, tuple[str, str]] = {
    "1": ("ICC(1)", "ICC(1,1)"),
    "k": ("ICC(1,k)", "ICC(1,k)"),
    "C,1": ("ICC(C,1)", "ICC(3,1)"),
    "C,k": ("ICC(C,k)", "ICC(3,k)"),
    "A,1": ("ICC(A,1)", "ICC(2,1)"),
    "A,k": ("ICC(A,k)", "ICC(2,k)"),
}
"""The name in assay (McGraw & Wong 1996; they write ICC(k) for ICC(1,k)) and that of Shrout & Fleiss (1979)."""

TEN: tuple[tuple[str, Form, str], ...] = (
    ("one-way random", "1", "case 1"),
    ("one-way random", "k", "case 1"),
    *(("two-way random", form, "case 2") for form in ("C,1", "C,k", "A,1", "A,k")),
    *(("two-way mixed", form, "case 3") for form in ("C,1", "C,k", "A,1", "A,k")),
)
"""The ten ICCs of McGraw & Wong (1996, table 4). Cases 2 and 3 have the same formula for different populations."""


ANOVA = "analysis of variance"

ESTIMATORS: Mapping[Estimator, str] = {"anova": ANOVA, "components": "Henderson's method 1"}
"""Names of the estimators of variances. In a complete table both give the same values."""

MOST_ALONE = 10
"""There is no ICC with fewer items with several labels than this and at least this number of items with one label: the
error variance would depend on very few items."""


@dataclass(frozen=True)
class FTest:
    """The F test of no variance between items, and the interval from F distributions."""

    low: float
    high: float
    f: float
    df1: float
    df2: float
    p: float
    exact: bool
    """False for absolute agreement, whose interval uses Satterthwaite's degrees of freedom, and for unequal numbers."""
    balanced: bool = True
    """False if items have different numbers of labels; each is replaced by the harmonic mean."""
    at_level: Callable[[float], FTest | None] = field(
        default=lambda _: None, repr=False, compare=False, metadata={"json": False}
    )
    """Returns the same test at another level."""

    @property
    def words(self) -> str:
        """The kind of interval and its assumptions."""
        if self.exact:
            made = "exact F"
        elif self.balanced:
            made = "F with Satterthwaite's degrees of freedom"
        else:
            made = "F with harmonic mean numbers of labels"
        return f"{made}, assuming equal rater noise and normal labels"

    def ends(self, level: float) -> tuple[float, float]:
        """Return the interval at a level."""
        other = self.at_level(level)
        return (np.nan, np.nan) if other is None else (other.low, other.high)


@dataclass(frozen=True, eq=False)
class ICC(Coefficient):
    """An intraclass correlation with its interval.

    Attributes
    ----------
    form, alias : str
        ``ICC(A,1)`` and, in the notation of Shrout & Fleiss, ``ICC(2,1)``.
    model : str
        One-way random, two-way random or two-way mixed.
    k : float
        Number of labels that are averaged in the forms for means. Default: the number of annotators, or, if labels are
        missing, the harmonic mean number of labels per item.
    variance_items, variance_annotators, variance_error : float
        The variance components; that of annotators is 0 in the one-way model. Estimates can be below 0 by chance.
    estimator : {"anova", "components"}
        Their estimator: the analysis of variance of complete items or, for two-way models with missing labels,
        Henderson's (1953) method 1. Neither is REML, which `g_study` fits.
    f_test : FTest or None
        The interval from F distributions, which assumes equal rater noise and normal labels. It is exact for forms 1
        and C if all items have the same number of labels; otherwise it uses the harmonic mean of the numbers. None if
        there is no error variance, or if its lower end is below the least possible ICC.
    """

    form: str
    alias: str
    model: str
    k: float
    variance_items: float
    variance_annotators: float
    variance_error: float
    estimator: Estimator
    f_test: FTest | None

    @property
    def estimator_words(self) -> str:
        """The name of the estimator of the components."""
        return ANOVA if self.model.startswith("one-way") else ESTIMATORS[self.estimator]

    @property
    def table(self) -> pl.DataFrame:
        """The estimate with its interval and, if available, the interval from F distributions."""
        row = {"coefficient": self.form, "estimate": self.estimate}
        rows = [{**row, "low": self.low, "high": self.high, "n": self.n_items, "interval": self.run.interval}]
        if self.f_test is not None:
            f = self.f_test
            rows.append({**row, "low": f.low, "high": f.high, "n": self.n_items, "interval": f.words})
        return pl.DataFrame(rows)

    def row_estimates(self) -> Sequence[Estimate | None]:
        """The ICC with each of its intervals."""
        first, f = super().row_estimates()[0], self.f_test
        if f is None:
            return (first,)
        return first, EstimateByRule(self.estimate, f.low, f.high, np.nan, ends=f.ends)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the ICC with both of its intervals, on a fixed axis."""
        return _draw_forest([self], [self.form], ax)

    def summary(self) -> str:
        """Return the estimate, both intervals and the variance components."""
        return words.lines_of(self, words.icc_lines(self))


@question(ICCSettings)
def icc(labels: Annotations | Chunks, settings: ICCSettings) -> ICC:
    """Estimate the share of the variance of a label, or of the mean of k labels, that is due to the items.

    McGraw & Wong (1996, table 4), Shrout & Fleiss (1979). ``A``: absolute agreement. ``C``: consistency, which ignores
    differences in severity between annotators. ``1``: a single label. ``k``: the mean of k labels. ``ICC(1)`` and
    ``ICC(1,k)`` ignore which annotator gave which label. At most 1; below 0 if items vary less than by chance.

    Parameters
    ----------
    labels : Annotations or Chunks
        One criterion, labels that are numbers.

    Returns
    -------
    ICC
        ``low`` and ``high`` treat annotators as a random sample, without a distribution of the labels; they require
        three annotators. With ``model="mixed"``, ``raters="fixed"`` or a bootstrap the annotators are fixed. ``f_test``
        has the interval from F distributions, which assumes random annotators, normal labels and equal noise of all
        annotators. If these do not hold, a 95% interval can cover .58 to .83, so it is not the reported interval.

    Raises
    ------
    DesignError
        For an unknown form, labels that are not numbers, repeats, several criteria, one annotator.

    Notes
    -----
    For the ICC of a population of annotators, an interval over items alone is too narrow for any number of items.
    """
    form = parse_form(settings.form)
    settings = replace(settings, form=FORMS[form][0])
    ratings = ratings_of(labels, settings)
    intraclass(form).check(ratings)
    return _icc(ratings, form, settings)


def _draw_forest(rows: Sequence[ICC], names: Sequence[str], ax: Axes | None) -> Axes:
    """Draw ICCs with their interval and, below it, the interval from F distributions, on a fixed axis."""
    ax = pictures.axes(ax, width=7.2, height=1.4 + 0.34 * len(rows))
    values = [r.estimate for r in rows]
    method = "jackknife" if rows[0].found.method == "jackknife" else "bootstrap"
    pictures.forest(ax, names, values, [r.low for r in rows], [r.high for r in rows], offset=0.12, label=method)
    f = [r.f_test for r in rows]
    low, high = ([np.nan if one is None else getattr(one, end) for one in f] for end in ("low", "high"))
    pictures.forest(
        ax, names, values, low, high, colour=pictures.HUMAN, marker="s", offset=-0.12, label="F, equal noise"
    )
    ax.set_xlim(-0.5, 1.02)
    ax.set_xlabel("ICC")
    pictures.legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    return ax


@dataclass(frozen=True, eq=False)
class ICCTable(Result):
    """The ten intraclass correlations of McGraw & Wong."""

    rows: tuple[ICC, ...]
    run: Run

    @property
    def table(self) -> pl.DataFrame:
        """One row per correlation."""
        tests = {"f_low": "low", "f_high": "high", "f": "f", "df1": "df1", "df2": "df2", "p": "p"}
        rows = [
            {
                **{"coefficient": r.form, "alias": r.alias, "model": r.model, "case": case},
                **{"estimate": r.estimate, "low": r.low, "high": r.high},
                **{column: getattr(r.f_test, name, None) for column, name in tests.items()},
                "n": r.n_items,
            }
            for r, (_, _, case) in zip(self.rows, TEN, strict=True)
        ]
        frame = pl.DataFrame(rows, infer_schema_length=None)
        # If no form has an F test, its columns are empty but numeric.
        return frame.with_columns(pl.col(pl.Null).cast(pl.Float64))

    def row_estimates(self) -> Sequence[Estimate | None]:
        """Each correlation."""
        return [r.row_estimates()[0] for r in self.rows]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every form with both of its intervals, on a fixed axis."""
        return _draw_forest(self.rows, [f"{r.form}, {r.model}" for r in self.rows], ax)

    def summary(self) -> str:
        """Return a line for each correlation."""
        return words.lines_of(self, words.icc_table_lines(self))


@question(ICCTableSettings)
def icc_table(labels: Annotations | Chunks, settings: ICCTableSettings) -> ICCTable:
    """Estimate all ten intraclass correlations of McGraw & Wong (1996); errors as in `icc`."""
    ratings = ratings_of(labels, settings)
    intraclass("A,1").check(ratings)
    each = {f.name: getattr(settings, f.name) for f in fields(settings)}
    kinds = {(form, _kind(model)): None for model, form, _ in TEN}
    found = {
        (form, kind): _icc(ratings, form, ICCSettings(**each, form=FORMS[form][0], model=kind)) for form, kind in kinds
    }
    one = found["A,1", "random"].run
    return ICCTable(
        tuple(replace(found[form, _kind(model)], model=model) for model, form, _ in TEN),
        Run("icc-table", settings, one.data, one.facts, one.interval, one.exclusions, one.notes),
    )


def _kind(model: str) -> Model:
    return "mixed" if model.endswith("mixed") else "random"


def parse_form(form: str) -> Form:
    """Return the form for a name, in any common spelling."""
    key_of_name = re.sub(r"[\s\[\]()]|icc", "", form.lower())
    names: dict[str, Form] = {
        re.sub(r"[\s()]|icc", "", name.lower()): key for key, both in FORMS.items() for name in both
    }
    names["k"] = "k"
    if key_of_name not in names:
        raise DesignError(unknown("form", form, sorted({n for both in FORMS.values() for n in both}), "the ICCs"))
    return names[key_of_name]


def intraclass(form: Form) -> Measure:
    """Return an ICC as a row of `agreement`."""
    return Measure(
        FORMS[form][0].lower(),
        FORMS[form][0],
        "numbers",
        panel=lambda s: intraclass_statistic(s, (form,), default_estimator(s), labels_per_item(s)),
        takes_means=True,
        random_raters=True,
        note=None if form in ("1", "k") else lambda s: _estimator_note(default_estimator(s)),
    )


def _estimator_note(estimator: Estimator) -> str | None:
    """The note on the estimator of a two-way ICC if labels are missing."""
    if estimator == "anova":
        return None
    return (
        f"ICC: labels are missing, so variances are estimated by {ESTIMATORS[estimator]}; REML (g_study) gives "
        "different values"
    )


def default_estimator(ratings: Ratings) -> Estimator:
    """Return ANOVA for complete tables."""
    return "anova" if ratings.complete else "components"


def intraclass_statistic(
    ratings: Ratings, forms: tuple[Form, ...], estimator: Estimator, k: float
) -> IntraclassCorrelation:
    """Return the statistic of one or more forms of one model.

    Raises
    ------
    DesignError
        If nearly every item has only one label: the error variance would depend on the few others.
    """
    m = len(ratings.annotators)
    number = ratings.labels_of_item
    single, several = np.count_nonzero(number == 1), np.count_nonzero(number > 1)
    if several < MOST_ALONE <= single:
        raise DesignError(
            f"an ICC requires items with two labels or more; only {several} of {single + several} items have them. "
            "Label more items twice, or use a coarser item (the lesson instead of its segments)"
        )
    if forms[0] in ("1", "k"):
        return IntraclassCorrelation(OneWay(ratings.centre), forms, k)
    components = TwoWay(ratings.centre, m) if estimator == "anova" else Components(ratings.centre, m)
    return IntraclassCorrelation(components, forms, k)


def labels_per_item(ratings: Ratings) -> float:
    """Return the harmonic mean number of labels per item: the number of annotators in a complete table."""
    if ratings.complete:
        return len(ratings.annotators)
    number = ratings.labels_of_item
    return float(1 / np.mean(1 / number[number > 0]))


def _icc(ratings: Ratings, form: Form, settings: ICCSettings) -> ICC:
    one_way = form in ("1", "k")
    estimator = settings.estimator or default_estimator(ratings)
    averaged = labels_per_item(ratings) if settings.k is None else settings.k
    if estimator == "anova" and not one_way and settings.k is None:
        averaged = len(ratings.annotators)
    statistic = intraclass_statistic(ratings, (form,), estimator, averaged)
    sums = ratings.sums(Together((statistic,)))
    found = sums.estimate(settings, "fisher")
    if settings.raters_for(random=one_way or settings.model == "random") == "random":

        def one_less(rest: Ratings) -> IntraclassCorrelation:
            """The ICC of the other annotators, for means of the same number of labels."""
            return intraclass_statistic(rest, (form,), settings.estimator or default_estimator(rest), averaged)

        found = leave_raters_out(found, ratings, without_each(ratings, one_less, sums))
    n_items = sums.n_items[0]
    exclusions = []
    if n_items < ratings.n_items:
        exclusions.append(Exclusion("item", ratings.n_items - n_items, "a missing label"))
    components = statistic.components.value(sums.sums.sum(axis=0))
    items, annotators, error = (float(v) for v in components)
    base = wrap(intraclass(form), ratings, found, (), exclusions, settings)
    note = None if one_way or ratings.complete else _estimator_note(estimator)
    run = replace(base.run, notes=(*base.run.notes, note)) if note else base.run
    name, alias = FORMS[form]
    counts = _TableCounts.of(ratings, n_items, form, estimator)
    f_test = _f_test(form, components, counts, averaged, found.confidence)
    return ICC(
        **{f.name: getattr(base, f.name) for f in fields(Coefficient) if f.name != "run"},
        run=run,
        form=name,
        alias=alias,
        model="one-way random" if one_way else f"two-way {settings.model}",
        k=averaged,
        variance_items=items,
        variance_annotators=annotators,
        variance_error=error,
        estimator=estimator,
        f_test=f_test,
    )


@dataclass(frozen=True)
class _TableCounts:
    """The numbers of items, annotators and labels for the F distributions.

    If labels are missing, the numbers of labels per item and per annotator are harmonic means (Thomas & Hultquist
    1978), and the interval is not exact.
    """

    items: int
    annotators: int
    labels: int
    per_item: float
    per_annotator: float
    balanced: bool

    @classmethod
    def of(cls, ratings: Ratings, n_items: int, form: Form, estimator: Estimator) -> _TableCounts:
        m, number = len(ratings.annotators), ratings.labels_of_item
        number = number[number > 0]
        if form in ("1", "k"):
            equal = len(number) > 0 and bool((number == number[0]).all())
            return cls(len(number), m, int(number.sum()), float(1 / np.mean(1 / number)), n_items, equal)
        if ratings.complete or estimator == "anova":
            return cls(n_items, m, n_items * m, m, n_items, True)
        answered = np.diagonal(ratings.joint)
        each = float(1 / np.mean(1 / answered[answered > 0]))
        per_item = float(1 / np.mean(1 / number))
        return cls(len(number), int((answered > 0).sum()), int(number.sum()), per_item, each, False)


def _f_test(form: Form, components: Floats, counts: _TableCounts, k: float, confidence: float) -> FTest | None:
    """The interval of McGraw & Wong (1996, table 7) for single labels, transformed for means of k."""
    from scipy.special import fdtrc, fdtri

    of_items, of_annotators, error = (float(v) for v in components)
    n, m, each = counts.items, counts.per_item, counts.per_annotator
    item, annotator = m * of_items + error, each * of_annotators + error
    one_way = form in ("1", "k")
    df1 = n - 1
    df2 = counts.labels - n if one_way else counts.labels - n - counts.annotators + 1
    if not error > 0 or df1 < 1 or df2 < 1 or not item > 0:
        return None
    f = item / error
    upper = (1 + confidence) / 2
    if form.startswith("A"):
        low, high = _absolute_interval(item, annotator, error, counts, upper)
    else:
        f_low, f_high = f / fdtri(df1, df2, upper), f * fdtri(df2, df1, upper)
        low, high = float((f_low - 1) / (f_low + m - 1)), float((f_high - 1) / (f_high + m - 1))
    if form.endswith("k"):
        low, high = (k * x / (1 + (k - 1) * x) for x in (low, high))
    if not low < high <= 1:
        return None  # an end is beyond the pole of its formula, below the least possible ICC
    exact = counts.balanced and not form.startswith("A")
    again = partial(_f_test, form, components, counts, k)
    return FTest(float(low), float(high), f, df1, df2, float(fdtrc(df1, df2, f)), exact, counts.balanced, again)


def _absolute_interval(
    item: float, annotator: float, error: float, counts: _TableCounts, upper: float
) -> tuple[float, float]:
    """The ends for absolute agreement of single labels, from mean squares."""
    from scipy.special import fdtri

    n, m = counts.per_annotator, counts.per_item
    of_annotators, left = counts.annotators - 1, counts.labels - counts.items - counts.annotators + 1
    r = (item - error) / (item + (m - 1) * error + m * (annotator - error) / n)
    a, b = m * r / (n * (1 - r)), 1 + m * r * (n - 1) / (n * (1 - r))
    v = (a * annotator + b * error) ** 2 / ((a * annotator) ** 2 / of_annotators + (b * error) ** 2 / left)
    down, up = fdtri(counts.items - 1, v, upper), fdtri(v, counts.items - 1, upper)
    rest = m * annotator + (m * n - m - n) * error
    low, high = n * (item - down * error) / (down * rest + n * item), n * (up * item - error) / (rest + n * up * item)
    return float(low), float(high)
