"""What would people say on average of all items, where a judge labelled all and people some?

The estimate of a mean, of shares or of quantiles, by slice, with the judge alone, people alone and what the judge saved
beside it. The formulas are in `difference`, the arrays in `checked`, differences of systems in `contrasts`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl
from scipy.special import ndtri

from assay.data.annotations import Annotations, Repeats
from assay.data.chunks import Chunks
from assay.data.names import natural
from assay.errors import DataError, DesignError, counted, listing
from assay.estimates.checked import DOUBTED, REFUSED, Population, SpotChecks, doubts, item_column
from assay.estimates.contrasts import SourcePairs, SystemContrast, contrast_systems
from assay.estimates.difference import LEAST_ITEMS, Corrected, JudgeMean, MeanSpread, difference, slope, tune_lambda
from assay.estimates.rogan_gladen import true_shares
from assay.estimation.intervals import Estimate, EstimateByRule, adjust_p, missing
from assay.estimation.options import Adjustment, Raters, Settings, level_option, option, question, seed_option
from assay.estimation.result import Result, Run
from assay.estimation.statistic import Floats, Ints
from assay.reporting import pictures
from assay.reporting.tables import decimals, estimated, interval, said

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Target = Literal["mean", "shares", "quantiles"]
Estimator = Literal["auto", "difference", "ppi++", "rogan-gladen"]
Sampling = Literal["test", "trust"]

MOST_SHARES = 40
"""Labels of a scale whose shares are estimated one by one; more are numbers."""

LEAST_VALUES = 10
"""Different labels from which quantiles say more than the shares of the labels."""

MOST_THRESHOLDS = 400
"""Places at which a distribution is estimated for its quantiles: finer than the interval of 10,000 labelled items."""

SKEWED, MANY = 2.0, 100
"""Numbers without ends whose skewness is above the first, on fewer labelled items than the second, are said to have an
interval that covers less: .90 to .915 at 30 items of skewness 2.6, .92 to .935 at 100."""


_APART = (("strata", "clusters"), ("strata", "probabilities"), ("contrast", "by"))
"""Options that are not taken together."""


@dataclass(frozen=True)
class EstimateSettings(Settings):
    """Options of `assay.estimate`."""

    judge: str | Sequence[str] | None = option(
        None, "The judge that labelled all items; several make one prediction.", details="The table's, if it has one."
    )
    _: KW_ONLY
    target: Target | None = option(
        None,
        "What is estimated.",
        details="When not given, the mean of numbers and the shares of categories.",
        first=True,
    )
    quantiles: Sequence[float] = option((0.25, 0.5, 0.75), "With target quantiles: which.", above=0, below=1)
    by: str | None = option(
        None,
        "Item column of slices, each with its estimate.",
        details="Their intervals hold for all slices at once.",
        first=True,
    )
    contrast: str | None = option(
        None,
        "Item column that names systems, whose means are compared.",
        details="Differences are paired on sources.",
        first=True,
    )
    sources: str | None = option(
        None, "With contrast: item column that says which outputs answer the same source.", first=True
    )
    baseline: str | None = option(
        None, "With contrast: the system that others are compared with.", details="When not given, each with each."
    )
    length: str | None = option(None, "With contrast: item column with the length of an output.")
    adjust: Adjustment = option("holm", "With contrast: multiplicity adjustment of the p-values.")
    raters: Raters = option("fixed", "Treat annotators as fixed, or as a random sample of annotators.", first=True)
    annotators: Sequence[str] | None = option(None, "People whose labels count.")
    clusters: str | None = option(None, "Item column of documents or lessons that items are drawn with.", first=True)
    probabilities: str | None = option(
        None, "Item column with the probability with which an item was given to people.", first=True
    )
    strata: str | None = option(None, "Item column within which items were drawn for people.")
    population: Population = option("infinite", "Whether the number speaks of items like these, or of these alone.")
    covariates: Sequence[str] = option((), "Item columns that help to predict people's labels.")
    folds: int = option(10, "Folds of the cross-fitted prediction from several judges or covariates.", low=2)
    gold: str | None = option(None, "Gold-label column of the items, instead of human labels.")
    estimator: Estimator = option(
        "auto", "How the judge's errors are taken off.",
        details="auto is the difference estimator, and Rogan-Gladen's only where a gold column is no sample of the "
        "items; ppi++ gives the digits of ppi_py.ppi_mean_ci.",
    )  # fmt: skip
    sampling: Sampling = option(
        "test", "Whether labelled items that cannot be a sample of all are refused, or trusted."
    )
    repeats: Repeats = option("error", "How to combine repeated labels.")
    confidence: float = level_option()
    seed: int = seed_option("Of the folds: same seed, same numbers.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.contrast is None:
            for name in ("sources", "baseline", "length"):
                if getattr(self, name) is not None:
                    raise DesignError(f"{name}=... is about systems; name their column with contrast=...", option=name)
        elif self.sources is None:
            raise DesignError(
                "a contrast is paired on sources; name their item column with sources=...", option="sources"
            )
        for one, other in _APART:
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise DesignError(f"{one}=... and {other}=... are not taken together; leave one out", option=other)


@dataclass(frozen=True, eq=False)
class EstimateLine:
    """One number with what stands beside it.

    Attributes
    ----------
    slice : str or None
    of : str
        ``mean``, a label, ``quantile 0.5``.
    found : Estimate
        The corrected number.
    people : Estimate
        From people's labels alone.
    judge : float
        From the judge's labels alone.
    saved : int or None
        Labelled items that would have been needed beside these, had there been no judge.
    weight : float
        λ: how much of the judge's difference is taken.
    n, n_all : int
        Labelled items, and items.
    """

    slice: str | None
    of: str
    found: Estimate
    people: Estimate
    judge: float
    saved: int | None
    weight: float
    n: int
    n_all: int

    def row(self) -> dict[str, Any]:
        """Its row of the table."""
        return {
            "slice": self.slice, "of": self.of, **self.found.row(), "n": self.n, "items": self.n_all,
            "judge_alone": self.judge, "people_alone": self.people.estimate, "people_alone_low": self.people.low,
            "people_alone_high": self.people.high, "saved": self.saved, "weight": self.weight,
            "reason": self.found.reason,
        }  # fmt: skip


_TEXT = ("slice", "of", "reason")
_WHOLE = ("n", "items", "saved")


@dataclass(frozen=True, eq=False)
class CorrectedEstimate(Result):
    """What people would say on average of all items, with what the judge alone and people alone say.

    Attributes
    ----------
    table : polars.DataFrame
        One row a number: ``slice``, ``of`` (mean, a label, a quantile; a difference ``a − b`` of systems),
        ``estimate``, ``low``, ``high``, ``n`` (labelled items), ``items``, ``judge_alone``, ``people_alone`` with its
        ends, ``saved`` (labelled items that the judge was worth), ``weight`` (λ), ``reason``; of systems also ``p`` and
        ``p_adjusted``.
    lines : tuple of EstimateLine
    contrasts : tuple of SystemContrast
    """

    leads: ClassVar[bool] = True
    symbol: ClassVar[str] = "people would say"
    counted: ClassVar[str] = "labelled"

    lines: tuple[EstimateLine, ...] = field(repr=False, metadata={"json": False})
    contrasts: tuple[SystemContrast, ...] = field(repr=False, metadata={"json": False})
    people: tuple[str, ...]
    judges: tuple[str, ...]
    target: str
    run: Run

    def row_estimates(self) -> Sequence[Estimate]:
        """Of each row."""
        return (*(one.found for one in self.lines), *(one.found for one in self.contrasts))

    @property
    def table(self) -> pl.DataFrame:
        """One row a number."""
        rows = [one.row() for one in self.lines] + [one.row() for one in self.contrasts]
        names = list(dict.fromkeys(name for row in rows for name in row))
        kinds = {name: pl.String if name in _TEXT else pl.Int64 if name in _WHOLE else pl.Float64 for name in names}
        frame = pl.DataFrame(rows, schema=kinds)
        return frame if "p" not in names else frame.select(*(c for c in names if c != "reason"), "reason")

    def summary(self) -> str:
        """The numbers in sentences, and what they rest on."""
        lines = [*self.sentences(), *self.run.closing()]
        return "\n".join(lines)

    def sentences(self) -> list[str]:
        """What may be reported."""
        settings = self.run.settings
        assert isinstance(settings, EstimateSettings)
        who = _people_words(self.people, settings)
        said_lines = []
        for one in self.lines[:MOST_SHARES]:
            where = "" if one.slice is None else f"{settings.by or settings.contrast} {one.slice}. "
            what = _what(one.of, self.target)
            if math.isnan(one.found.low):
                said_lines.append(f"{where}{what}: {said(one.found.estimate)}, no interval: {one.found.reason}.")
                continue
            said_lines.append(
                f"{where}{what} of the labels of {who} over {_items(one, settings)} would be "
                f"{estimated(one.found.estimate, one.found.low, one.found.high)} ({settings.confidence:.0%} interval; "
                f"{counted(one.n, 'labelled item')}). {_judge_words(one, ' and '.join(self.judges))}"
            )
        return [*said_lines, *(one.sentence(settings.confidence) for one in self.contrasts)]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Corrected, people alone, and the judge alone as a bar without interval."""
        lines = self.lines[: pictures.MOST_ROWS]
        ax = pictures.axes(ax, height=1.3 + 0.45 * max(len(lines), 2))
        names = [", ".join(x for x in (one.slice, one.of) if x is not None) for one in lines]
        nan = [math.nan] * len(lines)
        for offset, colour, label, values in (
            (0.2, pictures.PASS, "corrected", [one.found for one in lines]),
            (0.0, pictures.HUMAN, "people alone", [one.people for one in lines]),
        ):
            columns = [[one.estimate for one in values], [one.low for one in values], [one.high for one in values]]
            pictures.forest(ax, names, *columns, colour=colour, offset=offset, label=label)
        pictures.forest(
            ax, names, [one.judge for one in lines], nan, nan, colour=pictures.JUDGE, marker="x", offset=-0.2,
            label="judge alone",
        )  # fmt: skip
        ax.set_xlabel(self.target)
        pictures.legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3)
        return ax


def _people_words(people: tuple[str, ...], settings: EstimateSettings) -> str:
    if settings.gold is not None:
        return f"the column '{settings.gold}'"
    if len(people) == 1:
        return f"'{people[0]}'"
    number = counted(len(people), "annotator")
    return f"people like these {number}" if settings.raters == "random" else f"these {number}"


def _items(one: EstimateLine, settings: EstimateSettings) -> str:
    return f"these {one.n_all:,} items" if settings.population == "finite" else f"items like these {one.n_all:,}"


def _what(of: str, target: str) -> str:
    return f"The share of '{of}'" if target == "shares" else f"The {of}"


def _judge_words(one: EstimateLine, judge: str) -> str:
    """What the judge alone says, what people alone say, what the judge saved."""
    off = one.judge - one.found.estimate
    # What is rounded to nothing is no difference.
    much = "the same" if abs(off) < 0.005 else f"{decimals(abs(off), 2)} {'above' if off > 0 else 'below'}"
    alone = interval(one.people.low, one.people.high)
    if one.saved is None:
        saved = ""
    elif one.saved >= 1:
        saved = f" The judge was as good as {counted(one.saved, 'more labelled item')}."
    else:
        saved = " The judge saved nothing here."
    return f"'{judge}' alone: {said(one.judge)} ({much}); people alone: {said(one.people.estimate)} {alone}.{saved}"


# -- the question --------------------------------------------------------------------------------------


@question(EstimateSettings)
def estimate(labels: Annotations | Chunks, settings: EstimateSettings) -> CorrectedEstimate:
    """What would these people say on average of all items, from a judge's labels of all and theirs of some?

    The judge's labels are corrected by what people said of the items that both labelled: the difference estimator with
    a tuned weight (prediction-powered inference), people weighing alike whatever their loads. No label need be gold.

    Parameters
    ----------
    labels : Annotations or Chunks
        One criterion: the judge's labels of all items, people's of a random sample of them.

    Raises
    ------
    DataError
        For a judge, a person or a column that is not there.
    DesignError
        Where the labelled items cannot be a sample of all, or nothing can be estimated, with what would mend it.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=400, n_annotators=3, scale="1-5", seed=3)
    >>> few = labels.items["item"].sample(80, seed=1)
    >>> mine = (labels.column("kind") == "judge") | labels.labels["item"].is_in(few.implode())
    >>> found = assay.estimate(assay.read(labels.labels.filter(mine), judges=["judge"], scale="1-5"), "judge")
    >>> found.table.select("of", "n", "items").row(0)
    ('mean', 80, 400)

    The mean label that the three people would give to all 400 items, from the 80 that they labelled.
    """
    judges = _judges_of(labels, settings)
    _fit_estimator(settings, judges)
    checks = SpotChecks.of(
        labels, judges, settings.annotators, repeats=settings.repeats, clusters=settings.clusters,
        strata=settings.strata, probabilities=settings.probabilities, columns=settings.covariates, gold=settings.gold,
    )  # fmt: skip
    target = settings.target or ("mean" if checks.scale.numeric else "shares")
    _fit_target(checks, target)
    found, cautions = _choose_estimator(checks, settings)
    contrasts: tuple[SystemContrast, ...] = ()
    if found == "rogan-gladen":
        lines, contrasts, notes = (
            _rogan_gladen(checks, settings, target),
            (),
            ["Rogan-Gladen: of the items without gold"],
        )
    elif settings.contrast is not None:
        lines, contrasts, notes = _systems(checks, settings, target)
    else:
        parts, notes = _slices(checks, settings)
        lines = [line for name, part in parts for line in _lines(part, settings, target, name, len(parts))]
    if checks.n_unjudged:
        notes.append(
            f"{counted(checks.n_unjudged, 'item')} of {checks.n_all:,} without a label of the judge: there its mean "
            "stands in"
        )
    facts = {"items": checks.n_all, "labelled": checks.n, "humans": len(checks.people), "target": target}
    run = Run(
        "estimate", settings, checks.fingerprint, facts, "", checks.exclusions, (*checks.notes, *notes),
        (*cautions, *_skew_caution(checks, target)),
    )  # fmt: skip
    return CorrectedEstimate(tuple(lines), tuple(contrasts), checks.people, tuple(judges), target, run)


def _judges_of(labels: Annotations | Chunks, settings: EstimateSettings) -> list[str]:
    given = settings.judge
    if given is not None:
        return [given] if isinstance(given, str) else list(given)
    if len(labels.judges) != 1:
        raise DesignError(
            f"say whose labels are corrected with judge=...; the table has {listing(labels.judges) or 'no judge'}",
            option="judge",
        )
    return list(labels.judges)


def _fit_estimator(settings: EstimateSettings, judges: Sequence[str]) -> None:
    """Refuse options that the estimator does not know."""
    if settings.estimator == "rogan-gladen" and settings.gold is None:
        raise DesignError("Rogan-Gladen needs true labels; name their column with gold=...", option="gold")
    plain = settings.estimator in ("ppi++", "rogan-gladen")
    known = {"clusters", "strata", "probabilities", "contrast"} | (
        {"by"} if settings.estimator == "rogan-gladen" else set()
    )
    wrong = [name for name in known if getattr(settings, name) is not None]
    if plain and (wrong or len(judges) > 1 or settings.covariates or settings.raters == "random"):
        raise DesignError(
            f"estimator='{settings.estimator}' takes one judge and none of clusters, strata, probabilities, "
            "covariates, contrasts and random raters; leave the estimator to assay",
            option="estimator",
        )


def _fit_target(checks: SpotChecks, target: str) -> None:
    if target in ("mean", "quantiles") and not checks.scale.numeric:
        raise DesignError(
            f"a mean is of numbers, and labels are on the scale '{checks.scale.spec}'; take target='shares'",
            option="target",
        )
    seen = np.unique(np.concatenate([checks.y, *checks.judged.T]))
    different = len(seen[np.isfinite(seen)])
    if target == "quantiles" and different < LEAST_VALUES:
        raise DesignError(
            f"the labels are {different} different numbers, too few for quantiles; take target='shares'",
            option="target",
        )
    if target == "shares" and len(_labels_of(checks)) > MOST_SHARES:
        raise DesignError(
            f"the labels are {len(_labels_of(checks))} different ones, too many for shares; take target='mean' or "
            "target='quantiles'", option="target",
        )  # fmt: skip


def _choose_estimator(checks: SpotChecks, settings: EstimateSettings) -> tuple[str, tuple[str, ...]]:
    """The estimator, and a caution where the labelled items look little like a sample.

    Raises
    ------
    DesignError
        Where they cannot be one.
    """
    if settings.estimator == "rogan-gladen":
        return "rogan-gladen", ()
    skip = (settings.gold, settings.strata, settings.probabilities)
    found = doubts(_group_by_system(checks, settings), skip=skip)
    if not found or found[0].p >= DOUBTED:
        return settings.estimator, ()
    worst = [one.words for one in found if one.p < DOUBTED][:2]
    lead = f"the {checks.n:,} labelled items are no random sample of the {checks.n_all:,}: {'; '.join(worst)}"
    if found[0].p >= REFUSED or settings.sampling == "trust":
        trusted = " They were trusted all the same." if settings.sampling == "trust" else ""
        return settings.estimator, (f"it is doubtful that {lead} (p = {found[0].p:.1g}).{trusted}".replace(
            "doubtful that the", "likely that the"),)  # fmt: skip
    if settings.gold is not None and settings.estimator == "auto":
        return "rogan-gladen", (f"{lead}, so the judge's errors were measured on them and taken off elsewhere.",)
    raise DesignError(
        f"{lead} (p < {REFUSED:g}). What people said of them says nothing sure of the rest. Draw items at random for "
        "people; or say how they were drawn with probabilities=..., strata=... or clusters=...; or take "
        "sampling='trust'",
        option="sampling",
    )


def _group_by_system(checks: SpotChecks, settings: EstimateSettings) -> SpotChecks:
    """Of systems, each with a sample of its own: people may have labelled more outputs of one than of another, and the
    outputs of one source come together."""
    if settings.contrast is None or settings.sources is None or settings.probabilities is not None:
        return checks
    table = _table_of(checks, settings.contrast)
    system, source = (_codes(item_column(table, name)) for name in (settings.contrast, settings.sources))
    return checks.balance(system, source if checks.cluster is None else checks.cluster)


def _slices(checks: SpotChecks, settings: EstimateSettings) -> tuple[list[tuple[str | None, SpotChecks]], list[str]]:
    """The slices with their names; all items together where none are asked for."""
    if settings.by is None:
        return [(None, checks)], []
    column = item_column(_table_of(checks, settings.by), settings.by)
    parts: list[tuple[str | None, SpotChecks]] = []
    notes = []
    for value in natural([v for v in column.unique().to_list() if v is not None]):
        part = checks.where((column == value).fill_null(value=False).to_numpy())
        there = part.present()
        if gone := [name for name in part.people if name not in there.people]:
            notes.append(f"{settings.by} {value}: {listing(gone)} labelled fewer than 2 items there and do not count")
        parts.append((str(value), there))
    if column.null_count():
        notes.append(f"{counted(column.null_count(), 'item')} without '{settings.by}' are in no slice")
    return parts, notes


def _table_of(checks: SpotChecks, column: str) -> Annotations:
    if checks.table is None:
        raise DesignError(f"'{column}' is a column of the items, which needs the whole table in memory")
    return checks.table


# -- one slice -----------------------------------------------------------------------------------------

Number = Callable[[Floats], Floats]


def _labels_of(checks: SpotChecks) -> list[tuple[str, float]]:
    """Labels whose shares are asked for, and their numbers."""
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
    """The numbers of one slice."""
    if target == "quantiles":
        return _quantile_lines(checks, settings, name, tests)
    bounds = checks.scale.bounds
    if target == "mean":
        two = bounds is not None and checks.scale.categories is not None and len(checks.scale.categories) == 2
        asked: list[tuple[str, Number, Any, bool | None]] = [("mean", _itself, bounds, True if two else None)]
    else:
        asked = [(word, _is(value), (0.0, 1.0), True) for word, value in _labels_of(checks)]
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


def _has_several(checks: SpotChecks, settings: EstimateSettings) -> bool:
    return len(checks.judges) > 1 or bool(settings.covariates)


def _prediction(checks: SpotChecks, settings: EstimateSettings, number: Number) -> JudgeMean:
    if _has_several(checks, settings):
        return checks.predict_people(number, settings.folds, settings.seed)
    return checks.seen(number)


def _weight(
    checks: SpotChecks, drawn: Any, labels: Sequence[Floats], judged: Sequence[JudgeMean], settings: EstimateSettings
) -> float:
    """One λ for all labels, so that their shares add up to 1."""
    u, v = (np.stack(parts) for parts in zip(*(slope(drawn, y, f.row) for y, f in zip(labels, judged, strict=True)),
                                             strict=True))  # fmt: skip
    return tune_lambda(u.T, v.T, clip=_has_several(checks, settings))


def _judge_mean(checks: SpotChecks, number: Number) -> float:
    """The (first) judge's own mean of all items."""
    return checks.seen(number).mean


def _labels_saved(corrected: Corrected, alone: Corrected) -> int | None:
    """Labelled items that people alone would need beside these for the same variance."""
    if not corrected.variance > 0 or not alone.variance > 0:
        return None
    return max(int(corrected.n * (alone.variance / corrected.variance - 1)), 0)


def _spread(
    found: Corrected, bounds: Any, score: bool | None, settings: EstimateSettings, checks: SpotChecks, tests: int
) -> Estimate:
    """The number with its interval, or why it has none."""
    reason = None
    random = settings.raters == "random"
    spread = MeanSpread.of(found, bounds, random=random and len(found.by_person) > 1, score=score)
    units = found.df
    if random and len(found.by_person) < 2:
        reason = "one person cannot show how much people differ; ask others too, or take raters='fixed'"
    elif found.n < LEAST_ITEMS:
        reason = f"{counted(found.n, 'labelled item')}, and an interval needs {LEAST_ITEMS}"
    elif settings.population == "finite" and found.n >= checks.n_all and found.variance <= 0:
        reason = "people labelled every item, so this is a count and no estimate"
    elif checks.cluster is not None and units < 1 and len(np.unique(checks.cluster[checks.position])) < 3:
        reason = "labelled items lie in fewer than 3 clusters; label items of more of them"
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
    """The digits of ``ppi_py.ppi_mean_ci`` (ppi-python 0.2.3): the judge's mean over unlabelled items, the divisor n,
    normal quantiles, λ between 0 and 1."""
    y = np.bincount(checks.row, number(checks.y), checks.n) / np.bincount(checks.row, minlength=checks.n)
    f = number(checks.judged[:, 0])
    rest = np.ones(checks.n_all, dtype=bool)
    if checks.counts is not None:
        raise DesignError(
            "estimator='ppi++' needs the whole table in memory; read a part of the folder with assay.read"
        )
    rest[checks.position] = False
    others = number(checks.values[rest, 0])
    others, n = others[np.isfinite(others)], len(y)
    if not len(others) or not np.isfinite(f).all():
        return _no_line(checks, of, name, "estimator='ppi++' needs the judge's label of every labelled item, and items "
                        "without people's")  # fmt: skip
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
    """Quantiles from the distribution, estimated at many places.

    Woodruff (1952): the values at which the interval of the distribution covers the quantile.
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
    """The first place at which the distribution reaches the quantile; its ends likewise."""

    def first(reached: Sequence[bool]) -> float:
        return float(places[int(np.argmax(reached))]) if any(reached) else math.nan

    def ends(level: float) -> tuple[float, float]:
        each = [one.ends(1 - (1 - level) / tests) for one in spreads]
        return first([high >= q for _, high in each]), first([low >= q for low, _ in each])

    value = first([one.value >= q for one in spreads])
    low, high = ends(confidence)
    reason = None
    if lone:
        reason = "one person cannot show how much people differ; ask others too, or take raters='fixed'"
    elif math.isnan(low) or math.isnan(high):
        reason = "too few labelled items for a quantile so far out"
    elif low == high:
        reason = "one label takes the place of the whole interval; take target='shares'"
    if reason is not None:
        return Estimate(value, math.nan, math.nan, math.nan, reason)
    return EstimateByRule(value, low, high, math.nan, ends=ends)


def _skew_caution(checks: SpotChecks, target: str) -> tuple[str, ...]:
    """Numbers without ends whose few large ones decide."""
    if target != "mean" or checks.scale.bounds is not None or checks.n >= MANY:
        return ()
    off = checks.y - checks.y.mean()
    spread = float(np.sqrt((off**2).mean()))
    skewness = float((off**3).mean()) / spread**3 if spread > 0 else 0.0
    if abs(skewness) < SKEWED:
        return ()
    return (
        f"the labels are skewed ({decimals(skewness, 1)}) and without ends: a 95% interval from {checks.n} labelled "
        "items covers about 90%; label more, or estimate the mean of their logarithms.",
    )


# -- gold that is no sample, and systems -----------------------------------------------------------------


def _rogan_gladen(checks: SpotChecks, settings: EstimateSettings, target: str) -> list[EstimateLine]:
    """Shares of the items without gold, from the judge's shares there and its errors on gold."""
    if target != "shares" and not (checks.scale.categories is not None and len(checks.scale.categories) == 2):
        raise DesignError("Rogan-Gladen is of categories; take target='shares'", option="target")
    words = _labels_of(checks)
    rest = np.ones(checks.n_all, dtype=bool)
    rest[checks.position] = False
    if not rest.any():
        raise DesignError("every item has gold, so there is nothing to correct elsewhere", option="gold")
    numbers = [value for _, value in words]
    found = true_shares(numbers, checks.y, checks.judged[:, 0], checks.values[rest, 0], settings.confidence)
    elsewhere = checks.values[rest, 0]
    lines = [
        EstimateLine(None, word, one, missing("no gold there"), float(np.nanmean(elsewhere == value)), None, math.nan,
                     checks.n, int(rest.sum()))
        for (word, value), one in zip(words, found, strict=True)
    ]  # fmt: skip
    return lines if target == "shares" else lines[1:]


def _systems(
    checks: SpotChecks, settings: EstimateSettings, target: str
) -> tuple[list[EstimateLine], tuple[SystemContrast, ...], list[str]]:
    """Each system's mean, and their differences."""
    if target != "mean":
        raise DesignError("a contrast is of means; take target='mean'", option="target")
    assert settings.contrast is not None
    assert settings.sources is not None
    table = _table_of(checks, settings.contrast)
    system = item_column(table, settings.contrast).cast(pl.String)
    source = item_column(table, settings.sources).cast(pl.String)
    if lacking := source.null_count():
        raise DataError(
            f"{counted(lacking, 'item')} without '{settings.sources}', such as "
            f"'{table.items['item'][source.is_null().arg_max() or 0]}'; fill the cells with what each output "
            "answers, or drop the items"
        )
    length = None if settings.length is None else item_column(table, settings.length).cast(pl.Float64).to_numpy()
    names = natural([v for v in system.unique().to_list() if v is not None])
    if len(names) < 2:
        raise DesignError(f"'{settings.contrast}' names one system, and a contrast needs two", option="contrast")
    parts = {name: (system == name).fill_null(value=False).to_numpy() for name in names}
    checked = {name: checks.where(mine).present() for name, mine in parts.items()}
    if settings.strata is not None:
        checked = {
            name: part.stratify(part.stratum, f"{settings.strata}' of '{name}")
            for name, part in checked.items() if part.stratum is not None
        }  # fmt: skip
    lines = [line for name, part in checked.items() for line in _lines(part, settings, target, name)]
    judged = {name: _prediction(part, settings, _itself) for name, part in checked.items() if part.people}
    pairing = SourcePairs(_codes(source), checks.cluster, length, settings.raters == "random")
    if len(divided := pairing.divided):
        first = source[int(np.flatnonzero(pairing.sources == divided[0])[0])]
        raise DesignError(
            f"'{settings.sources}' {first} has outputs in several clusters of '{settings.clusters}', and a "
            "cluster holds whole sources; name a column that does", option="clusters",
        )  # fmt: skip
    outputs = {name: (checked[name], judged[name], parts[name]) for name in judged}
    notes = []
    if settings.population == "finite":
        same_outputs = pairing.same_outputs(outputs)
        if same_outputs is None:
            notes.append(
                "differences of systems are of sources like these: for these outputs alone a system needs one output "
                "of each source, and clusters that are labelled whole or items that lie over them at random"
            )
        pairing = same_outputs or pairing
    found = contrast_systems(
        outputs, pairing, settings.baseline, settings.confidence, {line.slice or "": line.weight for line in lines}
    )
    p = np.array([one.p for one in found])
    adjusted = adjust_p(p, settings.adjust)
    return lines, tuple(one.adjusted(float(q)) for one, q in zip(found, adjusted, strict=True)), notes


def _codes(column: pl.Series) -> Ints:
    """The values of a column, numbered from 0; empty cells last."""
    codes = column.cast(pl.String).rank("dense").cast(pl.Int64) - 1
    return codes.fill_null(codes.n_unique()).rank("dense").to_numpy().astype(np.int64) - 1
