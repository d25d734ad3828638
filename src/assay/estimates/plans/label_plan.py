"""The number of items that humans must label for a corrected estimate, the choice of items, and the cost.

The variance of the corrected mean follows from the correlation of human and judge labels, and the width of the interval
from the variance. A pilot also gives the allocation over the judge's labels (Neyman), and the next items, sampled with
known probabilities so that the estimate stays unbiased.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import nctdtr, stdtrit

from assay.data.annotations import Annotations
from assay.data.chunked.chunks import Chunks
from assay.errors import DesignError, counted
from assay.estimates import words
from assay.estimates.checked import DOUBTED, SpotChecks, sampling_checks
from assay.estimates.difference import LEAST_ITEMS, MeanSpread
from assay.estimation.options import Settings, level_option, option, question_alone, seed_option
from assay.estimation.result import Result, Run, json_safe
from assay.estimation.statistic import Floats, Ints
from assay.reporting import pictures
from assay.reporting.tables import decimals
from assay.statistics.clusters import dependence, item_columns
from assay.statistics.words import pilot_documents

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = (30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000)
"""Default numbers of labelled items of a plan."""

MOST_STRATA = 6
"""Most strata of a judge's numbers: with more, a pilot of 100 items has too few items per stratum."""

LEAST_PLANNED = 20
"""Least human-labelled items of a plan: below, the weight of the judge is estimated from so few items that the estimate
does not reach the planned power (12 items: .67 of .8)."""

N_DRAWS = 200
"""Draws of the moments from the uncertainty of a pilot."""

FLOOR = 0.2
"""Least sampling probability of an item, relative to the mean: no item has more than five times the weight of a random
sample, for any pilot."""


def sort_numbers(settings: Settings, *names: str) -> None:
    """Make each of these options, whole numbers or one of them, a sorted tuple without repetitions."""
    for name in names:
        given = getattr(settings, name)
        if isinstance(given, int):
            given = (given,)
        if isinstance(given, tuple | list) and all(isinstance(v, int) for v in given):
            object.__setattr__(settings, name, tuple(sorted(set(given))))


@dataclass(frozen=True, kw_only=True)
class LabelPlanSettings(Settings):
    """Options of `assay.plan.labels`."""

    half_width: float | None = option(None, "Required half-width of the interval.", above=0, first=True)
    difference: float | None = option(
        None, "Difference from a known value to detect.", above=0, details="Instead of a half-width."
    )
    power: float = option(0.8, "Required power, with a difference.", above=0, below=1)
    n_items: int = option(10_000, "Items that the judge labels.", low=2, key="items", always=True, first=True)
    sizes: Sequence[int] = option(SIZES, "Numbers of labelled items, separated by commas.", low=LEAST_ITEMS)
    n_people: Sequence[int] = option((1,), "Annotators per item, separated by commas.", low=1, key="humans")
    share: float | None = option(
        0.5, "Expected share, for yes/no labels.", above=0, below=1, always=True,
        details="Not used with sd.", first=True,
    )  # fmt: skip
    sd: float | None = option(None, "Standard deviation of human labels, for numbers.", above=0)
    correlation: float = option(
        0.7, "Correlation of the judge's labels with an annotator's.", low=-1, high=1, always=True, first=True
    )
    people_correlation: float = option(
        0.5, "Correlation of two annotators' labels.", low=0, high=1,
        details="It determines the gain from several annotators per item.",
    )  # fmt: skip
    price: float = option(1.0, "Price of one human label.", low=0)
    judge_price: float = option(0.0, "Price of one judge label.", low=0)
    pilot: Annotations | Chunks | None = option(
        None,
        "Existing labels, from which the share, the standard deviation and the correlations are estimated.",
        hidden=True,
        first=True,
    )
    judge: str | None = option(None, "Judge of the pilot.", details="Required if the pilot has several judges.")
    confidence: float = level_option()
    seed: int = seed_option("Random seed of the choice of items, and of the pilot's uncertainty.")

    def __post_init__(self) -> None:
        sort_numbers(self, "sizes", "n_people")
        super().__post_init__()
        if self.half_width is not None and self.difference is not None:
            raise DesignError("half_width=... and difference=... exclude each other; omit one",
                              option="difference")  # fmt: skip
        if self.pilot is None and self.sd is None:
            self.refuse_percent()

    def refuse_percent(self) -> None:
        """Refuse a half-width or a difference of 1 or more: they are of a share."""
        for name, value in (("half_width", self.half_width), ("difference", self.difference)):
            if value is not None and value >= 1:
                what = "half-width" if name == "half_width" else "difference"
                raise DesignError(
                    f"a {what} of {value:g} is not possible for a share; give it as a share, such as 0.05 (for labels "
                    "that are numbers, give their standard deviation with sd=...)", option=name, value=value,
                )  # fmt: skip

    def signed(self) -> dict[str, str]:
        """Return the options of a signature; without the assumptions that a pilot or ``sd`` replaces."""
        replaced = ("items", "share", "correlation") if self.pilot is not None else ("share",) if self.sd else ()
        return {name: value for name, value in super().signed().items() if name not in replaced}


@dataclass(frozen=True, eq=False)
class LabelMoments:
    """Moments of human labels and the judge's labels.

    Attributes
    ----------
    mean, sd : float
        Of one annotator's labels.
    judged : float
        Correlation of the judge's labels with one annotator's.
    shared : float
        Correlation of two annotators' labels.
    slope : float
        λ, the slope of an annotator's label on the judge's.
    is_share : bool
    """

    mean: float
    sd: float
    judged: float
    shared: float
    slope: float
    is_share: bool

    def variance(self, n: float, n_all: float, people: int, *, judge: bool) -> float:
        """Return the variance of the mean of some annotators: σ² [(1 − ρ²) / n + ρ² / N] of their mean label."""
        total = self.sd**2 * (1 + (people - 1) * self.shared) / people
        common = (self.judged * self.sd) ** 2 if judge else 0.0
        return max(total - common, 0.0) / n + common / n_all

    def half_width(self, n: float, n_all: float, people: int, level: float, *, judge: bool = True) -> float:
        """Return the half-width of the interval."""
        variance = self.variance(n, n_all, people, judge=judge)
        df = max(n - 2, 1.0)
        if not self.is_share:
            low, high = MeanSpread(self.mean, variance, df, int(n)).ends(level)
        else:
            seen = n * min(self.mean, 1 - self.mean)
            low, high = MeanSpread(self.mean, variance, df, int(n), (0.0, 1.0), seen, self.mean).ends(level)
        return (high - low) / 2

    def power(
        self, n: float, n_all: float, people: int, level: float, difference: float, *, judge: bool = True
    ) -> float:
        """Return the power for a difference from a known value: that of the t interval of the estimate."""
        error = math.sqrt(self.variance(n, n_all, people, judge=judge))
        df = max(n - 2, 1.0)
        return 1 - float(nctdtr(df, difference / error, stdtrit(df, (1 + level) / 2))) if error > 0 else 1.0


@dataclass(frozen=True, eq=False)
class MomentDraws:
    """Moments as assumed or estimated, and draws of them from the uncertainty of a pilot; one draw without a pilot."""

    known: LabelMoments
    drawn: tuple[LabelMoments, ...]

    @classmethod
    def assumed(cls, known: LabelMoments) -> MomentDraws:
        """Return assumed moments, which have no uncertainty."""
        return cls(known, (known,))

    @classmethod
    def of_pilot(cls, known: LabelMoments, y: Floats, f: Floats, item: Ints, seed: int) -> MomentDraws:
        """Return draws by the Bayesian bootstrap of the pilot's items (Rubin 1981), corrected for their number.

        ``y`` are human labels, ``f`` the judge's labels of the same items, ``item`` their codes: (labels,) each.
        """
        n = int(item.max()) + 1
        weights = np.random.default_rng([seed, n]).exponential(size=(N_DRAWS, n))[:, item]
        weights /= weights.sum(axis=1, keepdims=True)
        y_mean, f_mean = weights @ y, weights @ f
        y_var, f_var = (np.maximum(weights @ one**2 - mean**2, 1e-12) for one, mean in ((y, y_mean), (f, f_mean)))
        square = np.clip((weights @ (y * f) - y_mean * f_mean) ** 2 / (y_var * f_var), 0.0, 1.0)
        # Variances of weighted items, and of residuals from a line, are too small by these factors.
        square = np.maximum(1 - (1 - square) * (n - 1) / max(n - 3, 1), 0.0)
        sd = np.sqrt(y_var * (n + 1) / (n - 1))
        if known.is_share:
            sd = np.minimum(sd, 0.5)
        drawn = tuple(
            replace(known, mean=float(mean), sd=float(one), judged=float(np.sqrt(r2)))
            for mean, one, r2 in zip(y_mean, sd, square, strict=True)
        )
        return cls(known, drawn)

    def half_width(self, n: float, n_all: float, people: int, level: float, *, judge: bool = True) -> float:
        """Return the mean half-width of the interval."""
        return float(np.mean([one.half_width(n, n_all, people, level, judge=judge) for one in self.drawn]))

    def power(
        self, n: float, n_all: float, people: int, level: float, difference: float, *, judge: bool = True
    ) -> float:
        """Return the mean power for a difference from a known value: with a pilot the assurance."""
        return float(np.mean([one.power(n, n_all, people, level, difference, judge=judge) for one in self.drawn]))


@dataclass(frozen=True, eq=False)
class LabelPlan(Result):
    """The precision and cost of human labels in combination with a judge.

    Attributes
    ----------
    curve : polars.DataFrame
        See `table`.
    smallest : polars.DataFrame
        For each number of annotators per item: the required human-labelled items with the judge (``n``) and without
        (``humans_only``), and both costs; null if no number is sufficient. With a pilot ``n_low`` and ``n_high`` are
        the 80% range of ``n``, from the pilot's uncertainty.
    allocation : polars.DataFrame
        With a pilot: each stratum of the judge's labels, its items, the standard deviation of human labels there, and
        its share of the labelled items by Neyman allocation.
    weight : float
        The expected λ.
    """

    curve: pl.DataFrame = field(metadata={"json": False})
    smallest: pl.DataFrame
    allocation: pl.DataFrame
    weight: float
    assumptions: tuple[str, ...]
    run: Run
    _checks: SpotChecks | None = field(default=None, repr=False, metadata={"json": False})

    @property
    def table(self) -> pl.DataFrame:
        """One row per number of labelled items and number of annotators per item.

        ``estimate`` is the half-width, ``humans_only`` the half-width without the judge, ``equivalent_labels`` the
        additional human-labelled items with the same effect as the judge, ``power`` the power for a given difference,
        ``cost`` the cost of all labels.
        """
        return self.curve

    @property
    def confidence(self) -> float:
        """Level of the planned intervals."""
        settings = self.run.settings
        assert isinstance(settings, LabelPlanSettings)
        return settings.confidence

    def summary(self) -> str:
        """Return the assumptions, the required numbers of items, the allocation, the notes and the signature."""
        return "\n".join([*words.plan_lines(self), *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the half-width against the number of labelled items, with the judge and without."""
        settings = self.run.settings
        assert isinstance(settings, LabelPlanSettings)
        ax = pictures.axes(ax, height=3.2)
        for people, style in zip(settings.n_people, ("-", "--", ":", "-.") * len(settings.n_people), strict=False):
            part = self.curve.filter(pl.col("n_people") == people)
            each = "" if len(settings.n_people) == 1 else f", {people} per item"
            for column, colour, label in (
                ("estimate", pictures.PASS, f"with the judge{each}"),
                ("humans_only", pictures.HUMAN, f"humans only{each}"),
            ):
                ax.plot(part["n"], part[column], color=colour, linestyle=style, marker="o", markersize=3, label=label)
        if settings.half_width is not None:
            ax.axhline(settings.half_width, color=pictures.MUTED, linewidth=1, linestyle=":")
        ax.set_xscale("log")
        ax.minorticks_off()
        there = self.curve["n"].unique().to_list()
        ticks = [n for n in (10, 30, 100, 300, 1000, 3000, 10_000) if min(there) <= n <= max(there)] or there[:1]
        ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
        ax.set_ylim(0)
        ax.set_xlabel("labelled items")
        ax.set_ylabel("half-width")
        pictures.legend(ax, loc="upper right")
        return ax

    def to_dict(self) -> dict[str, Any]:
        """Return all results as JSON-compatible values."""
        return {**super().to_dict(), "smallest": json_safe(self.smallest), "allocation": json_safe(self.allocation)}

    def choose(self, n: int) -> pl.DataFrame:
        """Sample the next items for humans, with higher known probabilities in strata with more variable labels.

        Parameters
        ----------
        n : int
            Expected number of items: each item is sampled independently.

        Returns
        -------
        polars.DataFrame
            One row per item of the pilot: ``item``, ``chance`` (the probability of a human label from the pilot or from
            this sample) and ``ask`` (whether it is sampled). Pass ``chance`` to `assay.estimate` as ``probabilities``.

        Raises
        ------
        DesignError
            Without a pilot, or if fewer items are unlabelled.
        """
        checks = self._checks
        if checks is None or checks.table is None:
            raise DesignError("items are chosen from a pilot; pass the existing labels as pilot=...", option="pilot")
        unlabelled = checks.n_all - checks.n
        if not 0 < n <= unlabelled:
            raise DesignError(f"{unlabelled:,} items have no human label; choose 1 to {unlabelled:,} items, not {n:,}")
        stratum, _ = strata_of(checks)
        sd = self.allocation["sd"].to_numpy()[stratum]
        chance = chances(sd, n, checks.n / checks.n_all)
        settings = self.run.settings
        assert isinstance(settings, LabelPlanSettings)
        labelled = np.zeros(checks.n_all, dtype=bool)
        labelled[checks.position] = True
        ask = (np.random.default_rng([settings.seed, checks.n_all]).random(checks.n_all) < chance) & ~labelled
        before = checks.n / checks.n_all
        both = before + (1 - before) * chance
        return pl.DataFrame({"item": checks.table.items["item"], "chance": both, "ask": ask})


def chances(sd: Floats, n: int, before: float) -> Floats:
    """Probabilities proportional to the standard deviations, from `FLOOR` of the mean to 1, for about n more items."""
    size = np.maximum(sd, FLOOR * sd.mean()) if sd.mean() > 0 else np.ones(len(sd))
    expected = n / (1 - before)  # labelled items are not sampled again
    chance = np.minimum(size * expected / size.sum(), 1.0)
    for _ in range(20):  # redistribute the excess over 1
        short = expected - chance.sum()
        free = chance < 1
        if short < 1e-9 or not free.any():
            break
        chance = np.where(free, np.minimum(chance * (1 + short / chance[free].sum()), 1.0), chance)
    return np.asarray(chance)


@question_alone(LabelPlanSettings)
def plan_labels(settings: LabelPlanSettings) -> LabelPlan:
    """Plan how many items humans must label for a corrected estimate.

    Returns
    -------
    LabelPlan

    Raises
    ------
    DesignError
        For a pilot without enough labels.

    Examples
    --------
    >>> import assay
    >>> plan = assay.plan.labels(half_width=0.05, share=0.3, correlation=0.8, n_items=5000)
    >>> plan.smallest.select("n", "humans_only").row(0)
    (128, 323)

    With this judge, 128 human-labelled items are as precise as 323 without it.
    """
    checks = None
    if settings.pilot is not None:
        moments, checks, assumptions = _pilot_moments(settings)
        if moments.known.is_share:
            settings.refuse_percent()
    else:
        share = settings.share or 0.5
        is_share = settings.sd is None
        sd = math.sqrt(share * (1 - share)) if settings.sd is None else settings.sd
        moments = MomentDraws.assumed(LabelMoments(
            share if is_share else 0.0, sd, settings.correlation, settings.people_correlation, settings.correlation,
            is_share,
        ))  # fmt: skip
        about = f"a share of {share:g}" if is_share else f"numbers with a standard deviation of {sd:g}"
        assumptions = (
            f"Assumed: {about}; correlation of the judge's labels with an annotator's "
            f"{decimals(settings.correlation, 2)}",
        )
    n_all = settings.n_items if checks is None else checks.n_all
    rows = [_row(moments, n, n_all, m, settings) for m in settings.n_people for n in settings.sizes if n <= n_all]
    if not rows:
        raise DesignError(f"all sizes are above the {n_all:,} items; use smaller sizes=...", option="sizes")
    curve = pl.DataFrame(rows, infer_schema_length=None)
    smallest = pl.DataFrame(
        [_smallest(moments, n_all, m, settings) for m in settings.n_people],
        schema={"n_people": pl.Int64, "n": pl.Int64, "humans_only": pl.Int64, "cost": pl.Float64,
                "cost_humans_only": pl.Float64, "n_low": pl.Int64, "n_high": pl.Int64},
    )  # fmt: skip
    allocation = _allocation(checks) if checks is not None else pl.DataFrame()
    facts = {"items": n_all} if checks is not None else {}
    cautions = () if checks is None else _sample_cautions(checks, moments.known.slope)
    run = Run("plan-labels", settings, "" if checks is None else checks.fingerprint, facts, cautions=cautions)
    return LabelPlan(curve, smallest, allocation, moments.known.slope, assumptions, run, checks)


def _pilot_moments(settings: LabelPlanSettings) -> tuple[MomentDraws, SpotChecks, tuple[str, ...]]:
    """The moments of existing labels, the labels, and the assumptions."""
    assert settings.pilot is not None
    labels = settings.pilot.in_memory("a plan from a pilot")
    judges = labels.judges if settings.judge is None else (settings.judge,)
    if len(judges) != 1:
        raise DesignError(f"specify the judge of the pilot with judge=...; it has {len(judges)}", option="judge")
    checks = SpotChecks.of(labels, judges)
    if checks.categories is not None and len(checks.categories) != 2:
        raise DesignError(
            "a plan is for a mean or for one share; read the labels as numbers, or as two categories with "
            "scale='nominal:yes,no'"
        )
    y, f = checks.y, checks.seen(lambda x: x).row[checks.row]
    if len(np.unique(y)) < 2:
        raise DesignError("all human labels of the pilot are equal, so their variance is unknown; label more items")
    is_share = set(np.unique(y)) <= {0.0, 1.0}
    sd = float(y.std(ddof=1))
    judged = float(np.corrcoef(y, f)[0, 1]) if f.std() > 0 else 0.0
    slope = judged * sd / float(f.std(ddof=1)) if f.std() > 0 else 0.0
    shared, pairs = _shared_correlation(checks)
    both = f", of two annotators' labels {decimals(shared, 2)}" if pairs else ""
    assumptions = (
        f"From a pilot of {counted(checks.n, 'labelled item')}: {'share' if is_share else 'mean'} "
        f"{decimals(float(y.mean()), 2)}, standard deviation {decimals(sd, 2)}; correlation of the judge's labels with "
        f"an annotator's {decimals(judged, 2)}{both}",
    )
    shared = shared if pairs else settings.people_correlation
    known = LabelMoments(float(y.mean()), sd, judged, shared, slope, is_share)
    return MomentDraws.of_pilot(known, y, f, checks.row, settings.seed), checks, assumptions


def _sample_cautions(checks: SpotChecks, slope: float) -> tuple[str, ...]:
    """Cautions if the items of a pilot are not a random sample, or depend on one another within documents."""
    assert checks.table is not None
    found = sampling_checks(checks)
    unlike = (words.pilot_sample(checks, found[0].words),) if found and found[0].p < DOUBTED else ()
    judged = checks.seen(lambda x: x).row
    error = np.bincount(checks.row, checks.y, checks.n) / np.bincount(checks.row, minlength=checks.n) - slope * judged
    part = np.full(checks.n_all, np.nan)
    part[checks.position] = error - error.mean()
    return (*unlike, *pilot_cautions(part, checks.table))


def pilot_cautions(part: Floats, labels: Annotations) -> tuple[str, ...]:
    """Return the caution about dependent items of a pilot.

    Parameters
    ----------
    part : (items,) float
        The contribution of each item of the table to the error of the mean; NaN without one.
    """
    effect = dependence(part, item_columns(labels), labels.reading.left_out)
    return () if effect is None else (pilot_documents(effect),)


def _shared_correlation(checks: SpotChecks) -> tuple[float, int]:
    cells = np.full((checks.n, len(checks.people)), np.nan)
    cells[checks.row, checks.person] = checks.y
    return shared_correlation(cells)


def shared_correlation(cells: Floats) -> tuple[float, int]:
    """Return the mean correlation of two annotators' labels of the same items, and the number of pairs of annotators.

    Parameters
    ----------
    cells : (items, annotators) float
        NaN without a label.
    """
    found = []
    for a in range(cells.shape[1]):
        for b in range(a):
            both = np.isfinite(cells[:, a]) & np.isfinite(cells[:, b])
            one, other = cells[both, a], cells[both, b]
            if both.sum() >= LEAST_ITEMS and one.std() > 0 and other.std() > 0:
                found.append(float(np.corrcoef(one, other)[0, 1]))
    return (max(float(np.mean(found)), 0.0), len(found)) if found else (0.0, 0)


def _cost(n: int, people: int, n_all: int, settings: LabelPlanSettings, *, judge: bool = True) -> float:
    return n * people * settings.price + (n_all * settings.judge_price if judge else 0.0)


def _row(known: MomentDraws, n: int, n_all: int, people: int, settings: LabelPlanSettings) -> dict[str, Any]:
    """One row of the curve."""
    level = settings.confidence
    half, only = (known.half_width(n, n_all, people, level, judge=judge) for judge in (True, False))
    variance = [known.known.variance(n, n_all, people, judge=judge) for judge in (False, True)]
    added = int(n * (variance[0] / variance[1] - 1)) if variance[1] > 0 else 0
    row: dict[str, Any] = {
        "n_people": people, "n": n, "estimate": half, "humans_only": only, "equivalent_labels": max(added, 0),
        "cost": _cost(n, people, n_all, settings),
    }  # fmt: skip
    if settings.difference is not None:
        row["power"] = known.power(n, n_all, people, level, settings.difference)
    return row


def _smallest(moments: MomentDraws, n_all: int, people: int, settings: LabelPlanSettings) -> dict[str, Any]:
    """The smallest sufficient number of labelled items, with the judge and without."""
    nothing = settings.half_width is None and settings.difference is None
    n, only, low, high = None, None, None, None
    if not nothing:
        n, only = (_search(moments, n_all, people, settings, judge=judge) for judge in (True, False))
    if n is not None and len(moments.drawn) > 1:
        each = [_search(MomentDraws.assumed(one), n_all, people, settings, judge=True) for one in moments.drawn]
        sizes = np.sort([math.inf if one is None else one for one in each])
        low, high = (
            int(one) if math.isfinite(one) else None
            for one in (sizes[int(share * (len(sizes) - 1))] for share in (0.1, 0.9))
        )
    return {
        "n_people": people, "n": n, "humans_only": only,
        "cost": None if nothing else math.nan if n is None else _cost(n, people, n_all, settings),
        "cost_humans_only": None if only is None else _cost(only, people, n_all, settings, judge=False),
        "n_low": low, "n_high": high,
    }  # fmt: skip


def _search(known: MomentDraws, n_all: int, people: int, settings: LabelPlanSettings, *, judge: bool) -> int | None:
    """The smallest sufficient number by bisection: both criteria improve with every item."""

    def enough(n: int) -> bool:
        if settings.difference is not None:
            power = known.power(n, n_all, people, settings.confidence, settings.difference, judge=judge)
            return power >= settings.power
        assert settings.half_width is not None
        return known.half_width(n, n_all, people, settings.confidence, judge=judge) <= settings.half_width

    low, high = min(LEAST_PLANNED, n_all), n_all
    if not enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


# -- choice of items --------------------------------------------------------------------------------------


def strata_of(checks: SpotChecks) -> tuple[Ints, list[str]]:
    """Return the stratum of every item by the judge's label: the labels themselves if they are few, else ranges."""
    given = checks.values[:, 0]
    known = given[np.isfinite(given)]
    values = np.unique(known)
    if len(values) <= MOST_STRATA:
        codes = np.searchsorted(values, np.where(np.isfinite(given), given, values[0]))
        names = [str(checks.categories[int(v)]) if checks.categories is not None else f"{v:g}" for v in values]
        return np.asarray(codes), names
    edges = np.unique(np.quantile(known, np.linspace(0, 1, MOST_STRATA + 1)[1:-1]))
    codes = np.searchsorted(edges, np.where(np.isfinite(given), given, known.mean()), side="right")
    ends = [f"{known.min():g}", *(f"{e:g}" for e in edges), f"{known.max():g}"]
    used, codes = np.unique(codes, return_inverse=True)
    return np.asarray(codes), [f"{ends[k]} to {ends[k + 1]}" for k in used]


def _allocation(checks: SpotChecks) -> pl.DataFrame:
    """Neyman (1934): items of a stratum in proportion to its size times the standard deviation of its labels."""
    stratum, names = strata_of(checks)
    sizes = np.bincount(stratum, minlength=len(names))
    means = np.bincount(checks.row, checks.y, checks.n) / np.bincount(checks.row, minlength=checks.n)
    mine = stratum[checks.position]
    pooled = float(np.sqrt(np.mean([(means[mine == h] - means[mine == h].mean()).var() for h in np.unique(mine)])))
    sd = np.empty(len(names))
    for h in range(len(names)):
        here = means[mine == h]
        # Two pseudo-items with the common variance: a stratum with few labelled items gets a moderate share.
        ss = float(((here - here.mean()) ** 2).sum()) if len(here) else 0.0
        sd[h] = math.sqrt((ss + 2 * max(pooled, 1e-6) ** 2) / (max(len(here) - 1, 0) + 2))
    weight = sizes * sd
    return pl.DataFrame({
        "stratum": names, "items": sizes, "labelled": np.bincount(mine, minlength=len(names)), "sd": sd,
        "proportional": sizes / sizes.sum(), "neyman": weight / weight.sum(),
    })  # fmt: skip
