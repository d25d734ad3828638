"""Corrected estimates of human means, shares and quantiles from judge labels and a human-labelled sample.

Each estimate comes with the judge-only and the human-only estimate, and with the gain in precision from the judge. The
formulas are in `difference`, the arrays in `checked`, the differences of systems in `contrasts`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl
from scipy.special import ndtri

from assay.data.annotations import Annotations, Repeats, digest_of_columns
from assay.data.chunked.chunks import Chunks
from assay.data.names import natural
from assay.data.words import PROVENANCE
from assay.errors import DataError, DesignError, counted, cut_text, listing, unknown, unknown_judge
from assay.estimates import words
from assay.estimates.checked import (
    DOUBTED,
    ONE_HUMAN,
    REFUSED,
    Population,
    SpotChecks,
    annotator_checks,
    item_column,
    missing_check,
    sampling_checks,
)
from assay.estimates.coefficients import (
    LEAST_CLUSTERS,
    Regressors,
    coefficient_errors,
    corrected_coefficients,
)
from assay.estimates.contrasts import Outputs, SourcePairs, SystemContrast, contrast_systems
from assay.estimates.difference import LEAST_ITEMS, Corrected, JudgeMean, MeanSpread, difference, slope, tune_lambda
from assay.estimates.judge_means import JudgeRuns, RotatedRuns
from assay.estimates.severity import RatedOutputs, SeverityFit, shares_words
from assay.estimation.intervals import Estimate, EstimateByRule, adjust_p, missing
from assay.estimation.options import Adjustment, Raters, Settings, level_option, option, question, seed_option
from assay.estimation.result import Exclusion, Result, Run, choice_caution, fingerprint_with
from assay.estimation.statistic import Bools, Floats, Ints
from assay.reporting import pictures
from assay.reporting.tables import decimals, p_value
from assay.statistics.clusters import FEW_CLUSTERS, dependence, grouped_items
from assay.statistics.guard import Guard
from assay.statistics.rogan_gladen import true_shares
from assay.statistics.words import INSTEAD_OF_STRATA, dependence_cautions, dependent_items

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Target = Literal["mean", "shares", "quantiles", "coefficients"]
Estimator = Literal["auto", "difference", "ppi++", "rogan-gladen"]
Sampling = Literal["test", "trust"]
Severity = Literal["ignored", "adjusted"]

MOST_SHARES = 40
"""Most labels of a scale whose shares are estimated; more are treated as numbers."""

LEAST_VALUES = 10
"""Least different labels for quantiles; with fewer, the shares of the labels are more informative."""

MOST_THRESHOLDS = 400
"""Points at which a distribution is estimated for its quantiles: finer than the interval from 10,000 labelled items."""

SKEWED, MANY = 2.0, 100
"""A caution is printed for unbounded numbers with a larger skewness and fewer labelled items than these: the 95%
interval covers .90 to .915 at 30 items of skewness 2.6, and .92 to .935 at 100."""


MOST_PAIRS = 45
"""Pairs of systems that are checked for dependent sources."""

_APART = (("strata", "clusters"), ("strata", "probabilities"), ("contrast", "by"))
"""Options that exclude each other."""


@dataclass(frozen=True)
class EstimateSettings(Settings):
    """Options of `assay.estimate`."""

    judge: str | Sequence[str] | None = option(
        None,
        "Judge that labelled all items; several are combined into one prediction.",
        details="Default: the only judge of the table.",
    )
    _: KW_ONLY
    target: Target | None = option(
        None, "Quantity to estimate.", details="Default: the mean of numbers, the shares of categories.", first=True
    )
    quantiles: Sequence[float] = option((0.25, 0.5, 0.75), "Quantiles for target quantiles.", above=0, below=1)
    regress: Sequence[str] = option(
        (), "Item columns for target coefficients: regressors of the mean human label.",
        details="Least squares with an intercept; an indicator for each level of a text column but the first.",
    )  # fmt: skip
    by: str | None = option(
        None,
        "Item column of slices, each with an estimate.",
        details="The intervals are simultaneous for all slices.",
        first=True,
    )
    contrast: str | None = option(
        None,
        "Item column with the system, to compare the means, or the shares of labels, of systems.",
        details="Differences are paired by source.",
        first=True,
    )
    sources: str | None = option(
        None, "With contrast: item column with the source that an output answers, or with the item ids.", first=True,
    )  # fmt: skip
    baseline: str | None = option(
        None, "With contrast: system that the others are compared with.", details="Default: all pairs."
    )
    length: str | None = option(None, "With contrast: item column with the length of an output.")
    severity: Severity = option(
        "ignored", "With contrast: adjust the human labels for the severity of the annotators.",
        details="adjusted uses human labels alone, for annotators who labelled different shares of the systems.",
    )  # fmt: skip
    adjust: Adjustment = option("holm", "With contrast: multiplicity adjustment of the p-values.")
    raters: Raters = option("fixed", "Treat annotators as fixed, or as a random sample of annotators.", first=True)
    judges: Raters = option(
        "fixed", "Correct the labels of these judges, or estimate the mean label of judges like these.",
        details="random uses no human labels: the interval includes the variance among judges and prompts, but no "
        "error that all judges share.",
    )  # fmt: skip
    prompts: str | None = option(None, "With judges random: column of the prompt under which a label was given.")
    annotators: Sequence[str] | None = option(None, "Annotators whose labels are used (default: all).")
    clusters: str | None = option(None, "Item column of clusters of items, such as documents or lessons.", first=True)
    probabilities: str | None = option(
        None, "Item column with the probability that humans labelled the item.", first=True
    )
    strata: str | None = option(None, "Item column of the strata within which items were sampled for humans.")
    population: Population = option(
        "infinite", "Estimate for items like these (infinite), or for these items (finite)."
    )
    covariates: Sequence[str] = option((), "Item columns as predictors of human labels.")
    folds: int = option(10, "Folds of the cross-fitted prediction from several judges or covariates.", low=2)
    gold: str | None = option(None, "Item column with true labels, used instead of human labels.")
    estimator: Estimator = option(
        "auto", "Estimator that corrects the judge's errors.",
        details="auto is the difference estimator, or Rogan–Gladen if the items with a gold label are not a random "
        "sample; ppi++ reproduces ppi_py.ppi_mean_ci.",
    )  # fmt: skip
    sampling: Sampling = option(
        "test", "Test whether the labelled items are a random sample and refuse others, or trust them."
    )
    repeats: Repeats = option("error", "How to combine repeated labels.")
    confidence: float = level_option()
    seed: int = seed_option("Random seed of the folds.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.contrast is None:
            for name in ("sources", "baseline", "length"):
                if getattr(self, name) is not None:
                    raise DesignError(f"{name}=... requires systems; name their column with contrast=...", option=name)
        elif self.sources is None:
            raise DesignError(
                "a contrast is paired by source; name the item column of sources with sources=... (the column of item "
                "ids if no two items share a source)", option="sources",
            )  # fmt: skip
        self._check_random_judges()
        self._check_severity()
        self._check_coefficients()
        for one, other in _APART:
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise DesignError(f"{one}=... and {other}=... exclude each other; omit one", option=other)

    def _check_coefficients(self) -> None:
        """Refuse coefficients without regressors, regressors without coefficients, and options that do not fit."""
        if (self.target == "coefficients") != bool(self.regress):
            given, lacks = (
                ("regress=...", "target='coefficients'") if self.regress else ("target='coefficients'", "regress=...")
            )
            raise DesignError(f"{given} requires {lacks}", option="regress" if self.regress else "target")
        if not self.regress:
            return
        others = ("by", "contrast", "probabilities", "strata", "gold")
        given_too = [name for name in others if getattr(self, name) is not None]
        given_too += [name for name, on in (
            ("covariates", bool(self.covariates)), ("raters", self.raters == "random"),
            ("population", self.population == "finite"), ("judges", self.judges == "random"),
        ) if on]  # fmt: skip
        if given_too:
            raise DesignError(f"target='coefficients' excludes {given_too[0]}=...; omit it", option=given_too[0])

    def _check_severity(self) -> None:
        """Refuse options about the judge's labels and the sample for differences of human labels."""
        if self.severity == "ignored":
            return
        if self.contrast is None:
            raise DesignError(
                "severity='adjusted' compares systems; name their column with contrast=...", option="severity"
            )
        others = ("length", "clusters", "probabilities", "strata", "gold", "judge")
        given = [name for name in others if getattr(self, name) is not None]
        given += ["judges"] if self.judges == "random" else ["covariates"] if self.covariates else []
        if given or self.target not in (None, "mean"):
            raise DesignError(
                f"severity='adjusted' compares means of human labels; omit {given[0] if given else 'target'}=...",
                option=given[0] if given else "target",
            )

    def _check_random_judges(self) -> None:
        """Refuse options about human labels for a mean of judges' labels, and prompts without it."""
        if self.judges == "fixed":
            if self.prompts is not None:
                raise DesignError("prompts=... requires judges='random'", option="prompts")
            return
        for name in ("probabilities", "strata", "gold", "annotators", "length"):
            if getattr(self, name) is not None:
                raise DesignError(f"judges='random' uses no human labels; omit {name}=...", option=name)
        if self.covariates or self.raters == "random" or self.population == "finite" or self.target == "quantiles":
            raise DesignError(
                "judges='random' estimates means or shares from the judges' labels alone; omit covariates=..., "
                "raters=..., population=... and target='quantiles'", option="judges",
            )  # fmt: skip


@dataclass(frozen=True, eq=False)
class EstimateLine:
    """An estimate with its judge-only and human-only counterparts.

    Attributes
    ----------
    slice : str or None
    quantity : str
        ``mean``, a label, ``quantile 0.5``.
    found : Estimate
        The corrected estimate.
    humans_only : Estimate
        From human labels only.
    judge_only : float
        From the judge's labels only.
    equivalent_labels : int or None
        Additional labelled items that give the same precision without the judge.
    weight : float
        λ, the weight of the judge's labels.
    n, n_all : int
        Human-labelled items, and all items.
    """

    slice: str | None
    quantity: str
    found: Estimate
    humans_only: Estimate
    judge_only: float
    equivalent_labels: int | None
    weight: float
    n: int
    n_all: int

    def row(self) -> dict[str, Any]:
        """Return its row of the table."""
        only = self.humans_only
        return {
            "slice": self.slice, "quantity": self.quantity, **self.found.row(), "n": self.n, "items": self.n_all,
            "judge_only": self.judge_only, "humans_only": only.estimate, "humans_only_low": only.low,
            "humans_only_high": only.high, "equivalent_labels": self.equivalent_labels, "weight": self.weight,
            "reason": self.found.reason,
        }  # fmt: skip


_TEXT = ("slice", "quantity", "reason")
_WHOLE = ("n", "items", "equivalent_labels")


@dataclass(frozen=True, eq=False)
class CorrectedEstimate(Result):
    """Estimated human means or shares over all items, with judge-only and human-only estimates.

    Attributes
    ----------
    table : polars.DataFrame
        One row per estimate: ``slice``, ``quantity`` (mean, a label, a quantile; a difference ``a − b`` of systems),
        ``estimate``, ``low``, ``high``, ``n`` (human-labelled items), ``items``, ``judge_only``, ``humans_only`` with
        its interval, ``equivalent_labels`` (additional human-labelled items that give the same precision without the
        judge), ``weight`` (λ), ``reason``; for systems also ``p`` and ``p_adjusted``.
    lines : tuple of EstimateLine
    contrasts : tuple of SystemContrast
    """

    leads: ClassVar[bool] = True
    counted: ClassVar[str] = "human-labelled"

    lines: tuple[EstimateLine, ...] = field(repr=False, metadata={"json": False})
    contrasts: tuple[SystemContrast, ...] = field(repr=False, metadata={"json": False})
    humans: tuple[str, ...]
    judges: tuple[str, ...]
    target: str
    run: Run

    def row_estimates(self) -> Sequence[Estimate]:
        """The estimate in each row."""
        return (*(one.found for one in self.lines), *(one.found for one in self.contrasts))

    @property
    def table(self) -> pl.DataFrame:
        """One row per estimate."""
        rows = [one.row() for one in self.lines] + [one.row() for one in self.contrasts]
        names = list(dict.fromkeys(name for row in rows for name in row))
        kinds = {name: pl.String if name in _TEXT else pl.Int64 if name in _WHOLE else pl.Float64 for name in names}
        frame = pl.DataFrame(rows, schema=kinds)
        return frame if "p" not in names else frame.select(*(c for c in names if c != "reason"), "reason")

    def summary(self) -> str:
        """Return the estimates, the exclusions, the notes and the signature."""
        return "\n".join([*words.estimate_lines(self), *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the corrected and the human-only estimates with intervals, and the judge-only estimates."""
        if not self.lines:
            return super().plot(ax)
        lines = self.lines[: pictures.MOST_ROWS]
        ax = pictures.axes(ax, height=1.3 + 0.45 * max(len(lines), 2))
        names = [", ".join(x for x in (one.slice, one.quantity) if x is not None) for one in lines]
        nan = [math.nan] * len(lines)
        for offset, colour, label, values in (
            (0.2, pictures.PASS, "corrected", [one.found for one in lines]),
            (0.0, pictures.HUMAN, "humans only", [one.humans_only for one in lines]),
        ):
            columns = [[one.estimate for one in values], [one.low for one in values], [one.high for one in values]]
            pictures.forest(ax, names, *columns, colour=colour, offset=offset, label=label)
        pictures.forest(
            ax, names, [one.judge_only for one in lines], nan, nan, colour=pictures.JUDGE, marker="x", offset=-0.2,
            label="judge only",
        )  # fmt: skip
        ax.set_xlabel(self.target)
        pictures.legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3)
        return ax


# -- the analysis --------------------------------------------------------------------------------------


@question(EstimateSettings)
def estimate(labels: Annotations | Chunks, settings: EstimateSettings) -> CorrectedEstimate:
    """Estimate human means or shares over all items from judge labels and a human-labelled sample.

    Human labels of a sample correct the errors of the judge's labels: the difference estimator with a tuned weight
    (prediction-powered inference). Annotators have equal weights for any number of labels. No gold label is required.

    Parameters
    ----------
    labels : Annotations or Chunks
        One criterion: the judge's labels of all items, human labels of a random sample.

    Raises
    ------
    DataError
        For an unknown judge, annotator or column.
    DesignError
        If the labelled items are not a random sample, or nothing can be estimated.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=400, n_annotators=3, scale="1-5", seed=3)
    >>> few = labels.items["item"].sample(80, seed=1)
    >>> mine = (labels.column("kind") == "judge") | labels.labels["item"].is_in(few.implode())
    >>> found = assay.estimate(assay.read(labels.labels.filter(mine), judges=["judge"], scale="1-5"), "judge")
    >>> found.table.select("quantity", "n", "items").row(0)
    ('mean', 80, 400)

    The estimated mean label of the three annotators over all 400 items, from the 80 items that they labelled.
    """
    if settings.judges == "random":
        return _judges_like_these(labels.in_memory("an estimate for judges like these"), settings)
    if settings.severity == "adjusted":
        return _adjusted_for_severity(labels.in_memory("adjustment for severity"), settings)
    judges = _judges_of(labels, settings)
    _fit_estimator(settings, judges)
    checks = SpotChecks.of(
        labels, judges, settings.annotators, repeats=settings.repeats, clusters=settings.clusters,
        strata=settings.strata, probabilities=settings.probabilities,
        columns=settings.regress or settings.covariates, gold=settings.gold,
    )  # fmt: skip
    target = settings.target or ("mean" if checks.scale.numeric else "shares")
    _fit_target(checks, target)
    found, cautions = _choose_estimator(checks, settings)
    contrasts: tuple[SystemContrast, ...] = ()
    errors: list[Floats] = []
    if found == "rogan-gladen":
        lines, notes = (
            _rogan_gladen(checks, settings, target),
            ["Rogan–Gladen estimates, for the items without a gold label"],
        )
    elif settings.regress:
        (lines, errors), notes = _coefficients(checks, settings), []
    elif settings.contrast is not None:
        lines, contrasts, notes = _systems(checks, settings, target)
    else:
        parts, notes = _slices(checks, settings)
        lines = [line for name, part, _ in parts for line in _lines(part, settings, target, name, len(parts))]
        errors = _item_errors(checks, parts, settings, target)
    if checks.n_unjudged:
        notes.append(words.unjudged(checks.n_unjudged, checks.n_all, imputed=not settings.regress))
    notes += list(dict.fromkeys(PROVENANCE[labels.reading.provenance(judge)] for judge in judges))
    gone = _unlabelled(labels, checks)
    n_gone = sum(one.count for one in gone)
    cautions = (
        *cautions, *_annotator_cautions(checks, settings), *_missing_cautions(checks, n_gone, settings),
        *_match_cautions(labels, checks, judges, settings),
        *_choice_cautions(labels, judges), *_dependent_items(checks, settings, errors),
        *_cluster_cautions(checks, settings),
    )  # fmt: skip
    facts = {
        "items": checks.n_all, "excluded": n_gone or None, "labelled": checks.n,
        "humans": len(checks.people), "target": target,
    }  # fmt: skip
    run = Run(
        "estimate", settings, checks.fingerprint, facts, "", (*gone, *checks.exclusions), (*checks.notes, *notes),
        (*cautions, *_skew_caution(checks, target)),
    )  # fmt: skip
    return CorrectedEstimate(tuple(lines), tuple(contrasts), checks.people, tuple(judges), target, run)


def _unlabelled(labels: Annotations | Chunks, checks: SpotChecks) -> tuple[Exclusion, ...]:
    """The items of the source without a label of the judges and annotators."""
    if isinstance(labels, Chunks):
        return ()
    rest = 0 if labels.unlabelled is None else labels.unlabelled.height
    number = labels.n_items - checks.n_all + rest
    return (Exclusion("item", number, words.without_labels(checks.judges)),) if number else ()


def _choice_cautions(labels: Annotations | Chunks, judges: Sequence[str]) -> list[str]:
    """Return a caution if other judges or prompts than the named ones were tried: the best of them is optimistic."""
    tried = labels.reading.n_tried(labels.judges)
    return choice_caution(tried, len(judges), "the interval is too narrow", "report all settings")


def _cluster_cautions(checks: SpotChecks, settings: EstimateSettings) -> list[str]:
    """Return a caution for coefficients with few labelled clusters."""
    if not settings.regress or checks.cluster is None:
        return []
    number = len(np.unique(checks.cluster[checks.position]))
    return [words.few_clusters(number, FEW_CLUSTERS)] if LEAST_CLUSTERS <= number < FEW_CLUSTERS else []


def _dependent_items(checks: SpotChecks, settings: EstimateSettings, errors: Sequence[Floats]) -> tuple[str, ...]:
    """A caution if items, or sources, depend on one another within documents that are not named as clusters."""
    if checks.cluster is not None or checks.table is None or checks.n < 2:
        return ()
    if settings.contrast is not None and settings.sources is not None:
        return _dependent_sources(checks, settings.contrast, settings.sources)
    scattered: list[str] = []
    if settings.population == "finite":
        # Items that are sampled across documents are independent, for a mean of these items.
        each = {name: replace(checks, cluster=code) for name, code in grouped_items(checks.table.items).items()}
        scattered = ["", *(name for name, one in each.items() if one.drawn("finite").scattered)]
    if checks.stratum is None or settings.strata is None:
        return dependence_cautions(errors, checks.table, scattered)
    # Strata are no groups: what all items of a stratum share is no error.
    mine, apart = checks.stratum[checks.position], [one.copy() for one in errors]
    for one in apart:
        one[checks.position] -= (np.bincount(mine, one[checks.position]) / np.maximum(np.bincount(mine), 1))[mine]
    return tuple(f"{one} {INSTEAD_OF_STRATA}"
                 for one in dependence_cautions(apart, checks.table, [*scattered, settings.strata]))  # fmt: skip


def _dependent_sources(checks: SpotChecks, contrast: str, sources: str) -> tuple[str, ...]:
    """The same for human labels of sources."""
    items = _table_of(checks, contrast).items
    system, source = (items[name].cast(pl.String) for name in (contrast, sources))
    # The columns of the sources: those with one value for all outputs of a source.
    own = [name for name in items.columns if name not in ("item", contrast, sources)]
    counts = items.group_by(sources, maintain_order=True).agg(pl.col(own).n_unique())
    about = items.group_by(sources, maintain_order=True).first()
    kept = [name for name in own if (counts[name] == 1).all()]
    about = about.select(pl.col(sources).cast(pl.String).alias("item"), *kept)
    place = {name: i for i, name in enumerate(about["item"].to_list())}
    unit = np.array([place[name] for name in source.to_list()])[checks.position]
    mine = np.array(system.fill_null("").to_list())[checks.position]
    names, found = sorted(set(mine.tolist()) - {""}), list[Floats]()
    human = np.bincount(checks.row, checks.y, checks.n) / np.bincount(checks.row, minlength=checks.n)
    for a, b in itertools.islice(itertools.combinations(names, 2), MOST_PAIRS):
        part, here = np.zeros(about.height), np.isin(mine, (a, b))
        for name, sign in ((a, 1.0), (b, -1.0)):
            y = human[mine == name]
            part += np.bincount(unit[mine == name], sign * (y - y.mean()) / len(y), about.height)
        part[np.bincount(unit[here], minlength=about.height) == 0] = np.nan
        found.append(part)
    effect = dependence(np.stack(found), about) if found else None
    return () if effect is None else (dependent_items(effect),)


def _match_cautions(
    labels: Annotations | Chunks, checks: SpotChecks, judges: Sequence[str], settings: EstimateSettings
) -> list[str]:
    """Return a caution for each judge whose labels match one annotator: it may have been shown them."""
    if isinstance(labels, Chunks) or settings.gold is not None or len(checks.people) < 3 or labels.scale.kind == "text":
        return []
    found = []
    for judge in judges:
        guard = Guard.of(
            labels, judge, epsilon=0.0, min_agreement_ratio=0.0, annotators=checks.people, clusters=settings.clusters,
            repeats="first" if settings.repeats == "error" else settings.repeats,
        )  # fmt: skip
        if guard.matched is not None:
            found.append(
                f"the labels of '{judge}' match {guard.matched}'s more often than agreement with the others explains. "
                "If it was shown these labels, its errors on the other items are larger, and the estimate is wrong."
            )
    return found


def _judges_of(labels: Annotations | Chunks, settings: EstimateSettings) -> list[str]:
    given = settings.judge
    if given is not None:
        return [given] if isinstance(given, str) else list(given)
    if len(labels.judges) != 1:
        raise DesignError(
            f"specify the judge with judge=...; the table has {listing(labels.judges) or 'no judge'}", option="judge"
        )
    return list(labels.judges)


def _fit_estimator(settings: EstimateSettings, judges: Sequence[str]) -> None:
    """Refuse options that the estimator does not support."""
    if settings.estimator == "rogan-gladen" and settings.gold is None:
        raise DesignError("Rogan–Gladen requires true labels; name their column with gold=...", option="gold")
    plain = settings.estimator in ("ppi++", "rogan-gladen")
    known = {"clusters", "strata", "probabilities", "contrast"} | (
        {"by"} if settings.estimator == "rogan-gladen" else set()
    )
    wrong = [name for name in known if getattr(settings, name) is not None]
    if plain and (wrong or len(judges) > 1 or settings.covariates or settings.raters == "random"):
        raise DesignError(
            f"estimator='{settings.estimator}' supports one judge, and no clusters, strata, probabilities, "
            "covariates, contrasts or random raters; use estimator='auto'",
            option="estimator",
        )


def _fit_target(checks: SpotChecks, target: str) -> None:
    if target in ("mean", "quantiles") and not checks.scale.numeric:
        raise DesignError(
            f"a mean requires numbers; the labels are on the scale '{checks.scale.spec}'. Use target='shares'",
            option="target",
        )
    seen = np.unique(np.concatenate([checks.y, *checks.judged.T]))
    different = len(seen[np.isfinite(seen)])
    if target == "quantiles" and different < LEAST_VALUES:
        raise DesignError(
            f"{different} different labels are too few for quantiles; use target='shares'", option="target"
        )
    if target == "shares" and len(_labels_of(checks)) > MOST_SHARES:
        raise DesignError(
            f"{len(_labels_of(checks))} different labels are too many for shares; use target='mean' or "
            "target='quantiles'", option="target",
        )  # fmt: skip


def _choose_estimator(checks: SpotChecks, settings: EstimateSettings) -> tuple[str, tuple[str, ...]]:
    """The estimator, and a caution if the labelled items differ from a random sample.

    Raises
    ------
    DesignError
        If the difference is too large for a random sample.
    """
    if settings.estimator == "rogan-gladen":
        return "rogan-gladen", ()
    skip = (settings.gold, settings.strata, settings.probabilities)
    found = sampling_checks(_group_by_system(checks, settings), skip=skip)
    if not found or found[0].p >= DOUBTED:
        return settings.estimator, ()
    worst = [one.words for one in found if one.p < DOUBTED][:2]
    lead = f"the {checks.n:,} labelled items are not a random sample of the {checks.n_all:,}: {'; '.join(worst)}"
    if found[0].p >= REFUSED or settings.sampling == "trust":
        whole = "" if settings.clusters else " If documents were sampled whole, set clusters=... (--clusters)."
        trusted = f" They are used anyway.{whole}" if settings.sampling == "trust" else ""
        return settings.estimator, (f"it is likely that {lead} ({p_value(found[0].p)}).{trusted}",)
    if settings.gold is not None and settings.estimator == "auto":
        return "rogan-gladen", (f"{lead}, so the judge's error rates on them correct its labels of the other items.",)
    described = [f"{name}=..." for name in ("probabilities", "strata", "clusters") if getattr(settings, name) is None]
    apart = [one for one in described if len(described) == 3 or one != "strata=..."]
    instead = " instead of strata" if settings.strata is not None else ""
    named = " or ".join([*filter(None, [", ".join(apart[:-1])]), *apart[-1:]])
    as_it_is = f"or describe the sampling with {named}{instead}; " if apart else ""
    raise DesignError(
        f"{lead} (p < {REFUSED:g}). Human labels of them cannot correct the other items. Draw a random sample of items "
        f"for humans; {as_it_is}or use sampling='trust'",
        option="sampling",
    )


def _annotator_cautions(checks: SpotChecks, settings: EstimateSettings) -> list[str]:
    """Return a caution for annotators whose items differ from the others, if humans labelled different items.

    Each annotator's labels and the judge's on the same items are compared to estimate the annotator's mean of all.
    """
    if settings.gold is not None or settings.probabilities is not None or settings.covariates:
        return []
    found = annotator_checks(_group_by_system(checks, settings), skip=(settings.strata,))
    if not found:
        return []
    listed = [f"{name}'s items are not like the others: {one.words} ({p_value(one.p)})" for name, one in found]
    return [
        f"{'; '.join(listed[:2])}{f'; and those of {len(listed) - 2} more' if len(listed) > 2 else ''}. If the judge's "
        "errors on them differ, the estimate is wrong: set covariates=... to the columns by which items were given to "
        "annotators, or annotators=... to those who labelled a random sample."
    ]


def _missing_cautions(checks: SpotChecks, further: int, settings: EstimateSettings) -> list[str]:
    """Return a caution if labels of the judge are missing for another share of the labelled items than of the others,
    among which are further items without any label."""
    if not checks.n_unjudged + further or checks.n >= checks.n_all:
        return []
    found = missing_check(_group_by_system(checks, settings), further)
    return [found.words] if found.p < DOUBTED else []


def _group_by_system(checks: SpotChecks, settings: EstimateSettings) -> SpotChecks:
    """The checks for systems with separate samples: humans can have labelled more outputs of one system than of
    another, and outputs of the same source are sampled together."""
    if settings.contrast is None or settings.sources is None or settings.probabilities is not None:
        return checks
    table = _table_of(checks, settings.contrast)
    system, source = (_codes(item_column(table, name)) for name in (settings.contrast, settings.sources))
    return checks.balance(system, source if checks.cluster is None else checks.cluster)


Slice = tuple[str | None, SpotChecks, Ints]
"""The name of a slice, its labels, and the positions of its items."""


def _slices(checks: SpotChecks, settings: EstimateSettings) -> tuple[list[Slice], list[str]]:
    """The slices; all items if there are none."""
    if settings.by is None:
        return [(None, checks, np.arange(checks.n_all))], []
    column = item_column(_table_of(checks, settings.by), settings.by)
    if (different := column.drop_nulls().n_unique()) > checks.n:
        numbers = f", or use target='coefficients' with regress=['{settings.by}']" if column.dtype.is_numeric() else ""
        raise DesignError(
            f"'{settings.by}' has {different:,} values, more than the {checks.n} human-labelled items: slices without "
            f"human labels cannot be corrected. Group the values{numbers}", option="by",
        )  # fmt: skip
    parts, notes = list[Slice](), []
    for value in natural([v for v in column.unique().to_list() if v is not None]):
        mine = (column == value).fill_null(value=False).to_numpy()
        part = checks.where(mine)
        there = part.present()
        if gone := [name for name in part.people if name not in there.people]:
            notes.append(
                f"{settings.by} {cut_text(str(value))}: {listing(gone)} excluded (fewer than 2 labelled items)"
            )
        parts.append((str(value), there, np.flatnonzero(mine)))
    if column.null_count():
        notes.append(f"{counted(column.null_count(), 'item')} without '{settings.by}' are in no slice")
    return parts, notes


def _table_of(checks: SpotChecks, column: str) -> Annotations:
    if checks.table is None:
        raise DesignError(f"'{column}' is a column of the items, which requires the whole table in memory")
    return checks.table


# -- one slice -----------------------------------------------------------------------------------------

Number = Callable[[Floats], Floats]


def _labels_of(checks: SpotChecks) -> list[tuple[str, float]]:
    """The labels whose shares are estimated, and their numbers."""
    if checks.categories is not None:
        return [(str(word), float(i)) for i, word in enumerate(checks.categories)]
    listed = checks.scale.categories
    values = (
        np.array(listed, dtype=float) if listed is not None else np.unique(np.concatenate([checks.y, *checks.values.T]))
    )
    return [(f"{value:g}", float(value)) for value in values[np.isfinite(values)]]


def _is(value: float) -> Number:
    return lambda x: np.where(np.isnan(x), np.nan, (x == value).astype(float))


def _share_up_to(value: float) -> Number:
    return lambda x: np.where(np.isnan(x), np.nan, (x <= value).astype(float))


def _itself(x: Floats) -> Floats:
    return x


def _lines(
    checks: SpotChecks, settings: EstimateSettings, target: str, name: str | None, tests: int = 1
) -> list[EstimateLine]:
    """The estimates of one slice."""
    if target == "quantiles":
        return _quantile_lines(checks, settings, name, tests)
    asked = _asked(checks, target)
    if settings.estimator == "ppi++":
        return [_ppi_line(checks, settings, word, number, name, tests) for word, number, _, _ in asked]
    drawn = checks.drawn(settings.population)
    if not drawn.n_people or drawn.n < 2:
        return [_no_line(checks, word, name, "too few labelled items") for word, *_ in asked]
    judged = [_prediction(checks, settings, number) for _, number, *_ in asked]
    labels = [number(checks.y) for _, number, *_ in asked]
    weight = _weight(checks, drawn, labels, judged, settings)
    found = []
    for (word, number, ends, score), f, y in zip(asked, judged, labels, strict=True):
        corrected, alone = difference(drawn, y, f, weight), difference(drawn, y, f, 0.0)
        made, own = (_spread(one, ends, score, settings, checks, tests) for one in (corrected, alone))
        judge = _judge_mean(checks, number)
        found.append(
            EstimateLine(name, word, made, own, judge, _labels_saved(corrected, alone), weight, checks.n, checks.n_all)
        )
    return found


Asked = tuple[str, Number, "tuple[float, float] | None", "bool | None"]
"""What is estimated: its name, the numbers of labels, their bounds, and whether the interval is a score interval."""


def _asked(checks: SpotChecks, target: str) -> list[Asked]:
    if target != "mean":
        return [(word, _is(value), (0.0, 1.0), True) for word, value in _labels_of(checks)]
    bounds = checks.scale.bounds
    two = bounds is not None and checks.scale.categories is not None and len(checks.scale.categories) == 2
    return [("mean", _itself, bounds, True if two else None)]


def _item_errors(
    checks: SpotChecks, slices: Sequence[Slice], settings: EstimateSettings, target: str
) -> list[Floats]:  # fmt: skip
    """The contribution of each labelled item to the error of each estimate, in all slices: (items,) each."""
    if checks.cluster is not None or checks.table is None:
        return []
    asked = [] if target == "quantiles" else [number for _, number, *_ in _asked(checks, target)]
    errors = np.full((len(asked or settings.quantiles), checks.n_all), np.nan)
    for _, part, places in slices:
        drawn = part.drawn("infinite")
        if not drawn.n_people or drawn.n < 2:
            continue
        ends = [float(np.quantile(part.y, q, method="inverted_cdf")) for q in settings.quantiles]
        numbers = asked or [_share_up_to(end) for end in ends]
        judged, labels = ([_prediction(part, settings, one) for one in numbers], [one(part.y) for one in numbers])
        weight = _weight(part, drawn, labels, judged, settings)
        for error, y, f in zip(errors, labels, judged, strict=True):
            of_judge = weight * (f.row - f.mean) / part.n_all
            error[places[part.position]] = drawn.n * (difference(drawn, y, f, weight).contributions + of_judge)
    return list(errors)


def _has_several(checks: SpotChecks, settings: EstimateSettings) -> bool:
    return len(checks.judges) > 1 or bool(settings.covariates)


def _prediction(checks: SpotChecks, settings: EstimateSettings, number: Number) -> JudgeMean:
    if _has_several(checks, settings):
        return checks.predict_people(number, settings.folds, settings.seed)
    return checks.seen(number)


def _weight(
    checks: SpotChecks, drawn: Any, labels: Sequence[Floats], judged: Sequence[JudgeMean], settings: EstimateSettings
) -> float:
    """One λ for all labels, so that the shares sum to 1; 0 without items whose human labels are missing."""
    if drawn.complete:
        return 0.0
    u, v = (np.stack(parts) for parts in zip(*(slope(drawn, y, f.row) for y, f in zip(labels, judged, strict=True)),
                                             strict=True))  # fmt: skip
    return tune_lambda(u.T, v.T, clip=_has_several(checks, settings))


def _judge_mean(checks: SpotChecks, number: Number) -> float:
    """The mean of the (first) judge over all items."""
    return checks.seen(number).mean


def _labels_saved(corrected: Corrected, alone: Corrected) -> int | None:
    """Additional labelled items for the same variance without the judge."""
    if not corrected.variance > 0 or not alone.variance > 0:
        return None
    return max(int(corrected.n * (alone.variance / corrected.variance - 1)), 0)


def _spread(
    found: Corrected, bounds: Any, score: bool | None, settings: EstimateSettings, checks: SpotChecks, tests: int
) -> Estimate:
    """The estimate with its interval, or the reason for none."""
    reason = None
    random = settings.raters == "random"
    spread = MeanSpread.of(found, bounds, random=random and len(found.by_person) > 1, score=score)
    units = found.df
    if random and len(found.by_person) < 2:
        reason = ONE_HUMAN
    elif found.n < LEAST_ITEMS:
        reason = f"{counted(found.n, 'labelled item')}; an interval requires {LEAST_ITEMS}"
    elif settings.population == "finite" and found.n >= checks.n_all and found.variance <= 0:
        reason = "humans labelled every item, so this is a count without sampling error"
    elif checks.cluster is not None and units < 1 and len(np.unique(checks.cluster[checks.position])) < 3:
        reason = "labelled items are in fewer than 3 clusters; label items of more clusters"
    elif spread.bounds is None and found.variance + spread.between <= 0:
        reason = "the labels do not vary"
    if reason is not None:
        return Estimate(found.value, math.nan, math.nan, math.nan, reason)
    return spread.estimate(settings.confidence, tests)


def _no_line(checks: SpotChecks, of: str, name: str | None, reason: str) -> EstimateLine:
    none = missing(reason)
    return EstimateLine(name, of, none, none, math.nan, None, math.nan, checks.n, checks.n_all)


def _ppi_line(
    checks: SpotChecks, settings: EstimateSettings, of: str, number: Number, name: str | None, tests: int
) -> EstimateLine:
    """The estimate of ``ppi_py.ppi_mean_ci`` (ppi-python 0.2.3): the judge's mean over unlabelled items, the divisor n,
    normal quantiles, λ between 0 and 1."""
    y = np.bincount(checks.row, number(checks.y), checks.n) / np.bincount(checks.row, minlength=checks.n)
    f = number(checks.judged[:, 0])
    rest = np.ones(checks.n_all, dtype=bool)
    if checks.counts is not None:
        raise DesignError(
            "estimator='ppi++' requires the whole table in memory; read a part of the folder with assay.read"
        )
    rest[checks.position] = False
    others = number(checks.values[rest, 0])
    others, n = others[np.isfinite(others)], len(y)
    if not len(others) or not np.isfinite(f).all():
        return _no_line(checks, of, name, "estimator='ppi++' requires the judge's label of every labelled item, and "
                        "items without human labels")  # fmt: skip
    cov = float((y - y.mean()) @ (f - f.mean())) / n
    pooled = float(np.var(np.concatenate([f, others]), ddof=1))
    weight = min(max(cov / ((1 + n / len(others)) * pooled), 0.0), 1.0) if pooled > 0 else 0.0

    def at(one: float) -> Estimate:
        value = float((one * others).mean() + (y - one * f).mean())
        error = math.sqrt(np.var(one * others) / len(others) + np.var(y - one * f) / n)

        def ends(level: float) -> tuple[float, float]:
            z = float(ndtri(1 - (1 - level) / tests / 2))
            return value - z * error, value + z * error

        if not error > 0:
            return Estimate(value, math.nan, math.nan, math.nan, "the labels do not vary")
        return EstimateByRule(value, *ends(settings.confidence), error, ends=ends)

    found, alone = at(weight), at(0.0)
    ratio = (alone.standard_error / found.standard_error) ** 2 if found.standard_error > 0 else 1.0
    saved = max(int(n * (ratio - 1)), 0) if math.isfinite(ratio) else None
    return EstimateLine(name, of, found, alone, float(others.mean()), saved, weight, n, checks.n_all)


def _quantile_lines(checks: SpotChecks, settings: EstimateSettings, name: str | None, tests: int) -> list[EstimateLine]:
    """Quantiles from the distribution function, estimated at many points.

    Woodruff (1952): the values at which the interval of the distribution function covers the quantile.
    """
    seen = np.unique(np.concatenate([checks.y, *checks.judged.T]))
    places = seen[np.isfinite(seen)]
    if len(places) > MOST_THRESHOLDS:
        places = np.unique(np.quantile(places, np.linspace(0, 1, MOST_THRESHOLDS), method="nearest"))
    drawn = checks.drawn(settings.population)
    if not drawn.n_people or drawn.n < LEAST_ITEMS:
        return [_no_line(checks, f"quantile {q:g}", name, "too few labelled items") for q in settings.quantiles]
    spreads: dict[bool, list[MeanSpread]] = {True: [], False: []}
    weights = []
    for place in places:
        number = _share_up_to(float(place))
        f, y = _prediction(checks, settings, number), number(checks.y)
        weights.append(_weight(checks, drawn, [y], [f], settings))
        for corrected, weight in ((True, weights[-1]), (False, 0.0)):
            random = settings.raters == "random" and drawn.n_people > 1
            spreads[corrected].append(
                MeanSpread.of(difference(drawn, y, f, weight), (0.0, 1.0), random=random, score=True)
            )
    lone = settings.raters == "random" and drawn.n_people < 2
    found = []
    for q in settings.quantiles:
        made, alone = (_quantile(places, spreads[c], q, settings.confidence, tests, lone=lone) for c in (True, False))
        own = checks.values[:, 0][np.isfinite(checks.values[:, 0])]
        judge = float(np.quantile(own, q, method="inverted_cdf")) if checks.counts is None else math.nan
        at = int(np.searchsorted(places, made.estimate)) if math.isfinite(made.estimate) else 0
        at = min(at, len(places) - 1)
        pair = [spreads[c][at].variance for c in (True, False)]
        saved = max(int(checks.n * (pair[1] / pair[0] - 1)), 0) if min(pair) > 0 else None
        found.append(
            EstimateLine(name, f"quantile {q:g}", made, alone, judge, saved, weights[at], checks.n, checks.n_all)
        )
    return found


def _quantile(
    places: Floats, spreads: Sequence[MeanSpread], q: float, confidence: float, tests: int, *, lone: bool
) -> Estimate:
    """The first point at which the distribution function reaches the quantile; likewise for its ends."""

    def first(reached: Sequence[bool]) -> float:
        return float(places[int(np.argmax(reached))]) if any(reached) else math.nan

    def ends(level: float) -> tuple[float, float]:
        each = [one.ends(1 - (1 - level) / tests) for one in spreads]
        return first([high >= q for _, high in each]), first([low >= q for low, _ in each])

    value = first([one.value >= q for one in spreads])
    low, high = ends(confidence)
    reason = None
    if lone:
        reason = ONE_HUMAN
    elif math.isnan(low) or math.isnan(high):
        reason = "too few labelled items for so extreme a quantile"
    elif low == high:
        reason = "the whole interval is one label; use target='shares'"
    if reason is not None:
        return Estimate(value, math.nan, math.nan, math.nan, reason)
    return EstimateByRule(value, low, high, math.nan, ends=ends)


def _skew_caution(checks: SpotChecks, target: str) -> tuple[str, ...]:
    """A caution for unbounded numbers with a few large values."""
    if target != "mean" or checks.scale.bounds is not None or checks.n >= MANY:
        return ()
    off = checks.y - checks.y.mean()
    spread = float(np.sqrt((off**2).mean()))
    skewness = float((off**3).mean()) / spread**3 if spread > 0 else 0.0
    if abs(skewness) < SKEWED:
        return ()
    remedy = ", or estimate the mean of the logarithms" if skewness > 0 and checks.y.min() > 0 else ""
    if checks.y.min() >= 0 and checks.y.max() <= 1:
        remedy = ", or read shares with their bounds, scale='interval:0-1' (--scale interval:0-1)"
    return (
        f"the labels are skewed (skewness {decimals(skewness, 1)}) and unbounded: a 95% interval from {checks.n} "
        f"labelled items covers about 90%; label more items{remedy}.",
    )


# -- regression coefficients ------------------------------------------------------------------------------


def _coefficients(checks: SpotChecks, settings: EstimateSettings) -> tuple[list[EstimateLine], list[Floats]]:
    """The coefficients of the mean human label on columns of the items, and the errors of labelled items."""
    table = _table_of(checks, settings.regress[0])
    two = checks.categories is not None and len(checks.categories) == 2
    if not (checks.scale.numeric or two):
        raise DesignError("coefficients require numeric labels, or two categories", option="target")
    if len(checks.judges) > 1:
        raise DesignError("coefficients require one judge; name it with judge=...", option="judge")
    human = np.bincount(checks.row, checks.y, checks.n) / np.bincount(checks.row, minlength=checks.n)
    regressors = Regressors.of(checks.columns, table.items["item"].to_list())
    each = corrected_coefficients(
        regressors, checks.values[:, 0], checks.position, human, checks.cluster, settings.confidence
    )
    errors = np.full((len(each), checks.n_all), np.nan)
    errors[:, checks.position] = coefficient_errors(
        regressors.x[checks.position], human, checks.judged[:, 0], [one.weight for one in each]
    )
    lines = [
        EstimateLine(
            None, one.name, one.corrected, one.humans_only, one.judge_only, one.equivalent_labels, one.weight, checks.n,
            checks.n_all,
        )
        for one in each
    ]  # fmt: skip
    return lines, list(errors)


# -- systems, adjusted for the severity of annotators -------------------------------------------------------


def _adjusted_for_severity(labels: Annotations, settings: EstimateSettings) -> CorrectedEstimate:
    """The differences of systems in human labels, with and without the effects of annotators."""
    assert settings.contrast is not None
    assert settings.sources is not None
    data = _rated_outputs(labels, settings)
    data.require_connected()
    random, level = settings.raters == "random", settings.confidence
    fit = SeverityFit.of(data, random=random)
    names = data.systems
    if settings.baseline is not None and settings.baseline not in names:
        raise DesignError(unknown("system", settings.baseline, names), option="baseline")
    pairs = [
        (i, j) for i, j in combinations(range(len(names)), 2)
        if settings.baseline is None or settings.baseline in (names[i], names[j])
    ]  # fmt: skip
    found, cautions = [], list[str]()
    for i, j in pairs:
        estimate = fit.difference(i, j, level, random=random)
        plain, shift = fit.plain_difference(i, j, level), fit.shift(i, j, level)
        n = len(np.intersect1d(*(data.source[data.system == k] for k in (i, j))))
        p = estimate.p(0.0)
        found.append(
            SystemContrast(
                names[i],
                names[j],
                estimate,
                plain,
                missing("no judge"),
                missing("no length"),
                p,
                n,
                data.n_sources,
                adjusted_for="severity",
            )
        )
        if math.isfinite(shift.low) and not shift.low <= 0 <= shift.high:
            cautions.append(words.severity_caution(names[i], names[j], shift, shares_words(data, fit, (i, j))))
    adjusted = adjust_p(np.array([1.0 if math.isnan(each.p) else each.p for each in found]), settings.adjust)
    contrasts = tuple(each.adjusted(float(q)) for each, q in zip(found, adjusted, strict=True))
    data_used = fingerprint_with(
        labels.where(annotator=list(data.raters)).fingerprint,
        **digest_of_columns(labels, settings.contrast, settings.sources),
    )
    facts = {"items": int(data.output.max()) + 1, "humans": len(data.raters), "target": "mean"}
    notes = (words.severities(data.raters, fit.severity.tolist()),)
    run = Run("estimate", settings, data_used, facts, "", (), notes, tuple(cautions))
    return CorrectedEstimate((), contrasts, data.raters, (), "mean", run)


def _rated_outputs(labels: Annotations, settings: EstimateSettings) -> RatedOutputs:
    """The human labels of outputs of systems, as arrays."""
    assert settings.contrast is not None
    assert settings.sources is not None
    people = labels.humans if settings.annotators is None else tuple(settings.annotators)
    if len(people) < 2:
        raise DesignError("severity requires two annotators or more", option="severity")
    mine = labels.where(annotator=list(people))
    if not mine.scale.numeric:
        raise DesignError(
            "severity requires numeric labels; use severity='ignored', or read 2 categories as numbers with codes=...",
            option="severity",
        )
    answers = mine.resolve_repeats(settings.repeats).answers()
    place = {item: i for i, item in enumerate(mine.items["item"])}
    rows = np.array([place[item] for item in answers.items])
    columns = {name: item_column(mine, name).cast(pl.String) for name in (settings.contrast, settings.sources)}
    for name, column in columns.items():
        if column.null_count():
            lost = mine.items["item"][column.is_null().arg_max() or 0]
            raise DataError(f"item '{lost}' has no '{name}'; fill in the values, or drop those items")
    systems = natural(columns[settings.contrast].unique().to_list())
    if len(systems) < 2:
        raise DesignError(f"'{settings.contrast}' has one system; a contrast requires two", option="contrast")
    system = columns[settings.contrast].replace_strict(
        {name: i for i, name in enumerate(systems)}, return_dtype=pl.Int64
    ).to_numpy()[rows]  # fmt: skip
    source = np.unique(columns[settings.sources].to_numpy()[rows].astype(str), return_inverse=True)[1].reshape(-1)
    return RatedOutputs(
        answers.value.astype(float), answers.item, source[answers.item].astype(np.int64), system[answers.item],
        answers.annotator, answers.annotators, tuple(systems),
    )  # fmt: skip


# -- judges like these, without human labels ---------------------------------------------------------------


def _judges_like_these(labels: Annotations, settings: EstimateSettings) -> CorrectedEstimate:
    """Means or shares of judges' labels, for judges and prompts like these."""
    named = (settings.judge,) if isinstance(settings.judge, str) else tuple(settings.judge or labels.judges)
    for one in named:
        if one not in labels.judges:
            raise DataError(unknown_judge(one, labels.judges, labels.humans))
    if not named:
        raise DesignError("an estimate for judges like these requires judges in the table", option="judges")
    target = settings.target or ("mean" if labels.scale.numeric else "shares")
    runs = JudgeRuns.of(labels, named, settings.prompts, settings.clusters, shares=target == "shares")
    slices = settings.by or settings.contrast
    parts: list[tuple[str | None, Ints | None]] = [(None, None)]
    if slices is not None:
        about = dict(zip(labels.items["item"], item_column(labels, slices).cast(pl.String), strict=True))
        names = natural([v for v in set(about.values()) if v is not None])
        parts = [
            (name, np.array([i for i, item in enumerate(runs.items) if about[item] == name], dtype=np.int64))
            for name in names
        ]
    level = settings.confidence if settings.by is None else 1 - (1 - settings.confidence) / len(parts)
    none = missing("human labels are not used")
    lines = []
    for name, keep in parts:
        for quantity, values in runs.quantities():
            n = len(runs.items) if keep is None else len(keep)
            found = runs.estimate(values, level, keep)
            lines.append(EstimateLine(name, quantity, found, none, found.estimate, None, math.nan, 0, n))
    contrasts = _judges_contrasts(labels, runs, parts, settings, target) if settings.contrast is not None else ()
    data = fingerprint_with(
        labels.fingerprint, **digest_of_columns(labels, settings.prompts, settings.clusters, slices, settings.sources)
    )
    facts = {"items": len(runs.items), "judges": len(named), "prompts": len(runs.prompts), "target": target}
    notes = list(dict.fromkeys(PROVENANCE[labels.reading.provenance(judge)] for judge in named))
    if isinstance(runs, RotatedRuns):
        cells = f" and prompts: the mean of {len(named) * len(runs.prompts)} means" if len(runs.prompts) > 1 else ""
        whose = cells or f": the mean of {len(named)} judges' means, Student's t over judges"
        notes.append(f"items dealt to judges{whose}")
    caution = "human labels are not used: errors that all judges share are not in the intervals."
    run = Run("estimate", settings, data, facts, "", runs.exclusions, tuple(notes), (caution,))
    return CorrectedEstimate(tuple(lines), tuple(contrasts), (), named, target, run)


def _judges_contrasts(
    labels: Annotations, runs: JudgeRuns, parts: Sequence[tuple[str | None, Ints | None]], settings: EstimateSettings,
    target: str,
) -> tuple[SystemContrast, ...]:  # fmt: skip
    """The differences of systems, for judges and prompts like these."""
    assert settings.sources is not None
    if target != "mean":
        way = (
            "target='mean'"
            if labels.scale.numeric
            else "judges='fixed' for the shares of labels; or read two categories as numbers with codes=..."
        )
        raise DesignError(f"a contrast for judges like these compares means; use {way}", option="target")
    source = dict(zip(labels.items["item"], item_column(labels, settings.sources).cast(pl.String), strict=True))
    rows = {name: keep for name, keep in parts if name is not None and keep is not None}
    if len(rows) < 2:
        raise DesignError(f"'{settings.contrast}' has one system; a contrast requires two", option="contrast")
    if settings.baseline is not None and settings.baseline not in rows:
        raise DesignError(unknown("system", settings.baseline, list(rows)), option="baseline")
    others = [name for name in rows if name != settings.baseline]
    pairs = [*combinations(rows, 2)] if settings.baseline is None else [(name, settings.baseline) for name in others]
    none, found = missing("human labels are not used"), []
    for one, other in pairs:
        estimate, n = runs.difference(rows[one], rows[other], source, settings.confidence)
        p = estimate.p(0.0)
        found.append(SystemContrast(one, other, estimate, none, estimate, missing("no length"), p, 0, n))
    adjusted = adjust_p(np.array([1.0 if math.isnan(each.p) else each.p for each in found]), settings.adjust)
    return tuple(each.adjusted(float(q)) for each, q in zip(found, adjusted, strict=True))


# -- gold labels without random sampling, and systems ----------------------------------------------------


def _rogan_gladen(checks: SpotChecks, settings: EstimateSettings, target: str) -> list[EstimateLine]:
    """Shares of the items without gold labels, from the judge's shares there and its errors on gold labels."""
    if target != "shares" and not (checks.scale.categories is not None and len(checks.scale.categories) == 2):
        raise DesignError("Rogan–Gladen requires categories; use target='shares'", option="target")
    words = _labels_of(checks)
    rest = np.ones(checks.n_all, dtype=bool)
    rest[checks.position] = False
    if not rest.any():
        raise DesignError("every item has a gold label, so there are no items to estimate", option="gold")
    numbers = [value for _, value in words]
    found = true_shares(numbers, checks.y, checks.judged[:, 0], checks.values[rest, 0], settings.confidence)
    elsewhere = checks.values[rest, 0]
    lines = [
        EstimateLine(None, word, one, missing("no gold labels there"), float(np.nanmean(elsewhere == value)), None,
                     math.nan, checks.n, int(rest.sum()))
        for (word, value), one in zip(words, found, strict=True)
    ]  # fmt: skip
    return lines if target == "shares" else lines[1:]


def _systems(
    checks: SpotChecks, settings: EstimateSettings, target: str
) -> tuple[list[EstimateLine], tuple[SystemContrast, ...], list[str]]:
    """The mean of each system, or its shares, and the differences."""
    if target not in ("mean", "shares"):
        raise DesignError("a contrast compares means or shares; use target='mean' or target='shares'", option="target")
    assert settings.contrast is not None
    assert settings.sources is not None
    table = _table_of(checks, settings.contrast)
    system = item_column(table, settings.contrast).cast(pl.String)
    source = item_column(table, settings.sources).cast(pl.String)
    if empty := source.null_count():
        raise DataError(
            f"{counted(empty, 'item')} without '{settings.sources}', such as "
            f"'{table.items['item'][source.is_null().arg_max() or 0]}'; fill in the source of each output, or drop the "
            "items"
        )
    length = None if settings.length is None else item_column(table, settings.length).cast(pl.Float64).to_numpy()
    names = natural([v for v in system.unique().to_list() if v is not None])
    if len(names) < 2:
        raise DesignError(f"'{settings.contrast}' has one system; a contrast requires two", option="contrast")
    parts = {name: (system == name).fill_null(value=False).to_numpy() for name in names}
    checked = {name: checks.where(mine).present() for name, mine in parts.items()}
    if settings.strata is not None:
        checked = {
            name: part.stratify(part.stratum, f"{settings.strata}' of '{name}")
            for name, part in checked.items() if part.stratum is not None
        }  # fmt: skip
    lines = [line for name, part in checked.items() for line in _lines(part, settings, target, name)]
    pairing = SourcePairs(_codes(source), checks.cluster, length, settings.raters == "random")
    if len(divided := pairing.divided):
        first = source[int(np.flatnonzero(pairing.sources == divided[0])[0])]
        raise DesignError(
            f"'{settings.sources}' {first} has outputs in several clusters of '{settings.clusters}'; choose a column "
            "whose clusters contain whole sources", option="clusters",
        )  # fmt: skip
    asked = _asked(checks, target)
    outputs = [_outputs(checked, parts, number, settings) for _, number, *_ in asked]
    notes = []
    if settings.population == "finite":
        same_outputs = pairing.same_outputs(outputs[0])
        if same_outputs is None:
            notes.append(
                "differences of systems are for sources like these. For these outputs only, each system requires one "
                "output per source, and clusters that are labelled whole or items sampled across clusters"
            )
        pairing = same_outputs or pairing
    weights = {line.slice or "": line.weight for line in lines}
    each = [
        contrast_systems(one, pairing, settings.baseline, settings.confidence, weights, bounds)
        for one, (_, _, bounds, _) in zip(outputs, asked, strict=True)
    ]
    p = np.array([[one.p for one in found] for found in each])
    # Of two labels, the difference of one is minus that of the other: one test.
    adjusted = np.resize(adjust_p((p[:1] if len(p) == 2 else p).ravel(), settings.adjust), p.shape)
    labels = [None] if target == "mean" else [label for label, *_ in asked]
    labelled = [replace(one, label=label) for label, found in zip(labels, each, strict=True) for one in found]
    contrasts = [one.adjusted(float(q)) for one, q in zip(labelled, adjusted.ravel(), strict=True)]
    return lines, tuple(contrasts), notes


def _outputs(
    checked: Mapping[str, SpotChecks], parts: Mapping[str, Bools], number: Number, settings: EstimateSettings
) -> dict[str, Outputs]:
    """The labels of each system as numbers, such as 1 for one label and 0 for the others."""
    found = {}
    for name, part in checked.items():
        if part.people:
            numbers = replace(part, y=number(part.y), values=number(part.values), judged=number(part.judged))
            found[name] = (numbers, _prediction(part, settings, number), parts[name])
    return found


def _codes(column: pl.Series) -> Ints:
    """The values of a column as codes from 0; empty cells last."""
    codes = column.cast(pl.String).rank("dense").cast(pl.Int64) - 1
    return codes.fill_null(codes.n_unique()).rank("dense").to_numpy().astype(np.int64) - 1
