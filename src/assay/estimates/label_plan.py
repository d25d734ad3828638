"""How many items must people label beside a judge, which ones, and what does it cost?

The variance of the corrected mean follows from how people's labels and the judge's go together, and the interval that
would be reported from the variance. With labels at hand also how many items of each label of the judge (Neyman's
allocation), and which items next, with known probabilities, so that the estimate stays unbiased.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

from assay.data.annotations import Annotations
from assay.data.chunks import Chunks
from assay.errors import DesignError, counted
from assay.estimates.checked import SpotChecks
from assay.estimates.difference import LEAST_ITEMS, MeanSpread
from assay.estimation.options import Settings, level_option, option, question_alone, seed_option
from assay.estimation.result import Result, Run, json_safe
from assay.estimation.statistic import Floats, Ints
from assay.reporting import pictures
from assay.reporting.tables import decimals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = (30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000)
"""Numbers of labelled items that a plan looks at."""

MOST_STRATA = 6
"""Strata of a judge's numbers: with more, a pilot of 100 items has too few of each for a standard deviation."""

FLOOR = 0.2
"""Of the mean chance, the least that an item has of being asked next: no item weighs more than five times as much as in
a random sample, whatever the pilot says of its stratum."""


@dataclass(frozen=True, kw_only=True)
class LabelPlanSettings(Settings):
    """Options of `assay.plan.labels`."""

    half_width: float | None = option(None, "Half-width of the interval that is wanted.", above=0, first=True)
    difference: float | None = option(
        None, "Difference from a known value that is to be shown.", above=0, details="In place of a half-width."
    )
    power: float = option(0.8, "With a difference: the power wanted.", above=0, below=1)
    n_items: int = option(10_000, "Items that the judge labels.", low=2, key="items", always=True, first=True)
    sizes: Sequence[int] = option(SIZES, "Numbers of labelled items to look at, separated by commas.", low=LEAST_ITEMS)
    n_people: Sequence[int] = option((1,), "People who label each item, separated by commas.", low=1, key="humans")
    share: float | None = option(
        0.5, "Share that is expected, where labels are yes or no.", above=0, below=1, always=True,
        details="Not used with sd.", first=True,
    )  # fmt: skip
    sd: float | None = option(None, "Standard deviation of a person's labels, where they are numbers.", above=0)
    correlation: float = option(
        0.7, "Correlation of the judge's labels with a person's.", low=-1, high=1, always=True, first=True
    )
    people_correlation: float = option(
        0.5, "Correlation of two people's labels.", low=0, high=1,
        details="With several people an item, what one more of them adds.",
    )  # fmt: skip
    price: float = option(1.0, "Price of a person's label.", low=0)
    judge_price: float = option(0.0, "Price of a judge's label.", low=0)
    pilot: Annotations | Chunks | None = option(
        None,
        "Labels at hand: share, standard deviation and correlations are theirs.",
        hidden=True,
        first=True,
    )
    judge: str | None = option(None, "The judge of the pilot.", details="Needed where it has several.")
    confidence: float = level_option()
    seed: int = seed_option("Of the items that are chosen.")

    def __post_init__(self) -> None:
        for name in ("sizes", "n_people"):
            given = getattr(self, name)
            if isinstance(given, int):
                given = (given,)
            if isinstance(given, tuple | list) and all(isinstance(v, int) for v in given):
                object.__setattr__(self, name, tuple(sorted(set(given))))
        super().__post_init__()
        if self.half_width is not None and self.difference is not None:
            raise DesignError("half_width=... and difference=... are two ways to say what is wanted; give one",
                              option="difference")  # fmt: skip


@dataclass(frozen=True, eq=False)
class LabelMoments:
    """How people's labels and the judge's go together.

    Attributes
    ----------
    mean, sd : float
        Of one person's labels.
    judged : float
        Correlation of the judge's labels with one person's.
    shared : float
        Correlation of two people's.
    slope : float
        λ: of a person's label on the judge's.
    is_share : bool
    """

    mean: float
    sd: float
    judged: float
    shared: float
    slope: float
    is_share: bool

    def variance(self, n: float, n_all: float, people: int, *, judge: bool) -> float:
        """Of the mean of some people over items like these: σ² [(1 − ρ²) / n + ρ² / N] of their mean label."""
        total = self.sd**2 * (1 + (people - 1) * self.shared) / people
        common = (self.judged * self.sd) ** 2 if judge else 0.0
        return max(total - common, 0.0) / n + common / n_all

    def half_width(self, n: float, n_all: float, people: int, level: float, *, judge: bool = True) -> float:
        """Half the interval that would be reported."""
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
        """The chance of showing a difference from a known value, two-sided."""
        error = math.sqrt(self.variance(n, n_all, people, judge=judge))
        z = float(ndtri((1 + level) / 2))
        return float(ndtr(difference / error - z)) if error > 0 else 1.0


@dataclass(frozen=True, eq=False)
class LabelPlan(Result):
    """What people's labels beside a judge would buy.

    Attributes
    ----------
    curve : polars.DataFrame
        See `table`.
    smallest : polars.DataFrame
        For each number of people an item: labelled items needed for what is wanted, with the judge and without, and
        what both cost; null where no number reaches it.
    allocation : polars.DataFrame
        With a pilot: each stratum of the judge's label, its items, the standard deviation of people's labels there, and
        its share of the labelled items by Neyman's rule.
    weight : float
        λ that is expected.
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
        """One row a number of labelled items and of people an item.

        ``estimate`` is the half-width, ``people_alone`` that without the judge, ``saved`` the labelled items that the
        judge is worth, ``power`` the chance of showing the difference where one is given, ``cost`` of all labels.
        """
        return self.curve

    @property
    def confidence(self) -> float:
        """Level of the intervals that are planned."""
        settings = self.run.settings
        assert isinstance(settings, LabelPlanSettings)
        return settings.confidence

    def summary(self) -> str:
        """What is assumed, the smallest numbers, and who is worth asking."""
        settings = self.run.settings
        assert isinstance(settings, LabelPlanSettings)
        lines = [f"{one}." for one in self.assumptions]
        lines.append(f"The judge's labels would count with a weight of {decimals(self.weight, 2)}.")
        wanted = _wish_words(settings)
        for row in self.smallest.iter_rows(named=True):
            each = "" if len(settings.n_people) == 1 else f" with {counted(row['n_people'], 'annotator')} an item"
            lines.append(f"{wanted}{each}: {_need_words(row)}.")
        if self.allocation.height:
            shares = ", ".join(
                f"{100 * row['neyman']:.0f}% where the judge says {row['stratum']}"
                for row in self.allocation.iter_rows(named=True)
            )
            lines.append(f"Of the items to label, {shares}: that is where people's labels vary most.")
        return "\n".join([*lines, *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """The half-width against the number of labelled items, with the judge and without."""
        settings = self.run.settings
        assert isinstance(settings, LabelPlanSettings)
        ax = pictures.axes(ax, height=3.2)
        for people, style in zip(settings.n_people, ("-", "--", ":", "-.") * len(settings.n_people), strict=False):
            part = self.curve.filter(pl.col("n_people") == people)
            each = "" if len(settings.n_people) == 1 else f", {people} an item"
            for column, colour, label in (
                ("estimate", pictures.PASS, f"with the judge{each}"),
                ("people_alone", pictures.HUMAN, f"people alone{each}"),
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
        """Everything, safe for JSON."""
        return {**super().to_dict(), "smallest": json_safe(self.smallest), "allocation": json_safe(self.allocation)}

    def choose(self, n: int) -> pl.DataFrame:
        """Which items to give to people next: likelier where their labels vary, each with a known probability.

        Parameters
        ----------
        n : int
            Items to ask about, about: each is drawn by itself.

        Returns
        -------
        polars.DataFrame
            One row an item of the pilot: ``item``, ``chance`` (of having been labelled after this, by the pilot or by
            this choice) and ``ask``. Give ``chance`` to `assay.estimate` as ``probabilities``.

        Raises
        ------
        DesignError
            Where there is no pilot, or fewer items are left.
        """
        checks = self._checks
        if checks is None or checks.table is None:
            raise DesignError("items are chosen from a pilot; give the labels at hand with pilot=...", option="pilot")
        left = checks.n_all - checks.n
        if not 0 < n <= left:
            raise DesignError(f"{left:,} items are without a person's label, so 1 to {left:,} can be chosen; got {n:,}")
        stratum, _ = strata_of(checks)
        sd = self.allocation["sd"].to_numpy()[stratum]
        chance = _chances(sd, n, checks.n / checks.n_all)
        settings = self.run.settings
        assert isinstance(settings, LabelPlanSettings)
        labelled = np.zeros(checks.n_all, dtype=bool)
        labelled[checks.position] = True
        ask = (np.random.default_rng([settings.seed, checks.n_all]).random(checks.n_all) < chance) & ~labelled
        before = checks.n / checks.n_all
        both = before + (1 - before) * chance
        return pl.DataFrame({"item": checks.table.items["item"], "chance": both, "ask": ask})


def _chances(sd: Floats, n: int, before: float) -> Floats:
    """Chances in proportion to the standard deviations, from `FLOOR` of the mean to 1, for about n more items."""
    size = np.maximum(sd, FLOOR * sd.mean()) if sd.mean() > 0 else np.ones(len(sd))
    wanted = n / (1 - before)  # of items labelled before, none is asked again
    chance = np.minimum(size * wanted / size.sum(), 1.0)
    for _ in range(20):  # what is cut at 1 goes to the others
        short = wanted - chance.sum()
        free = chance < 1
        if short < 1e-9 or not free.any():
            break
        chance = np.where(free, np.minimum(chance * (1 + short / chance[free].sum()), 1.0), chance)
    return np.asarray(chance)


def _wish_words(settings: LabelPlanSettings) -> str:
    if settings.difference is not None:
        return f"To show a difference of {settings.difference:g} with power {settings.power:g}"
    if settings.half_width is not None:
        return f"For a half-width of {settings.half_width:g}"
    return "No half-width was asked for"


def _need_words(row: dict[str, Any]) -> str:
    if row["n"] is None and row["people_alone"] is None:
        return (
            "name a half-width or a difference to hear how many items it takes"
            if row["cost"] is None
            else ("no number of labelled items reaches it: the judge's own items are too few")
        )
    if row["n"] is None:
        return "no number of labelled items reaches it: the judge's own items are too few"
    alone = (
        "people alone would not reach it"
        if row["people_alone"] is None
        else (f"people alone would need {row['people_alone']:,} (cost {row['cost_alone']:,.0f})")
    )
    return f"{row['n']:,} labelled items (cost {row['cost']:,.0f}); {alone}"


@question_alone(LabelPlanSettings)
def plan_labels(settings: LabelPlanSettings) -> LabelPlan:
    """How many items must people label beside a judge, for an interval that is narrow enough, and at which price?

    Returns
    -------
    LabelPlan

    Raises
    ------
    DesignError
        For a pilot that cannot tell, with what would.

    Examples
    --------
    >>> import assay
    >>> plan = assay.plan.labels(half_width=0.05, share=0.3, correlation=0.8, n_items=5000)
    >>> plan.smallest.select("n", "people_alone").row(0)
    (128, 323)

    With this judge 128 labelled items do what 323 would do alone.
    """
    checks = None
    if settings.pilot is not None:
        known, checks, assumptions = _pilot_moments(settings)
    else:
        share = settings.share or 0.5
        is_share = settings.sd is None
        sd = math.sqrt(share * (1 - share)) if settings.sd is None else settings.sd
        known = LabelMoments(share if is_share else 0.0, sd, settings.correlation, settings.people_correlation,
                         settings.correlation, is_share)  # fmt: skip
        about = f"a share of {share:g}" if is_share else f"numbers with a standard deviation of {sd:g}"
        assumptions = (
            f"Assumed: {about}; the judge's labels correlate with a person's by {decimals(settings.correlation, 2)}",
        )
    n_all = settings.n_items if checks is None else checks.n_all
    rows = [_row(known, n, n_all, m, settings) for m in settings.n_people for n in settings.sizes if n <= n_all]
    if not rows:
        raise DesignError(f"all sizes are above the {n_all:,} items there are; give smaller ones with sizes=...",
                          option="sizes")  # fmt: skip
    curve = pl.DataFrame(rows, infer_schema_length=None)
    smallest = pl.DataFrame(
        [_smallest(known, n_all, m, settings) for m in settings.n_people],
        schema={"n_people": pl.Int64, "n": pl.Int64, "people_alone": pl.Int64, "cost": pl.Float64,
                "cost_alone": pl.Float64},
    )  # fmt: skip
    allocation = _allocation(checks) if checks is not None else pl.DataFrame()
    facts = {"items": n_all} if checks is not None else {}
    run = Run("plan-labels", settings, "" if checks is None else checks.fingerprint, facts)
    return LabelPlan(curve, smallest, allocation, known.slope, assumptions, run, checks)


def _pilot_moments(settings: LabelPlanSettings) -> tuple[LabelMoments, SpotChecks, tuple[str, ...]]:
    """What labels at hand say of how people and the judge go together."""
    assert settings.pilot is not None
    labels = settings.pilot.in_memory("a plan from a pilot")
    judges = labels.judges if settings.judge is None else (settings.judge,)
    if len(judges) != 1:
        raise DesignError(f"say which judge of the pilot with judge=...; it has {len(judges)}", option="judge")
    checks = SpotChecks.of(labels, judges)
    if checks.categories is not None and len(checks.categories) != 2:
        raise DesignError(
            "a plan is of a mean or of one share; read the labels as numbers, or as two categories, such as "
            "scale='nominal:yes,no'"
        )
    y, f = checks.y, checks.seen(lambda x: x).row[checks.row]
    if len(np.unique(y)) < 2:
        raise DesignError("people gave one label only, so the pilot tells nothing of how labels vary; label more items")
    is_share = set(np.unique(y)) <= {0.0, 1.0}
    sd = float(y.std(ddof=1))
    judged = float(np.corrcoef(y, f)[0, 1]) if f.std() > 0 else 0.0
    slope = judged * sd / float(f.std(ddof=1)) if f.std() > 0 else 0.0
    shared, pairs = _shared_correlation(checks)
    both = f"; two people's by {decimals(shared, 2)}" if pairs else ""
    said = (
        f"From a pilot of {counted(checks.n, 'labelled item')}: {'a share' if is_share else 'a mean'} of "
        f"{decimals(float(y.mean()), 2)}, standard deviation {decimals(sd, 2)}; the judge's labels correlate with a "
        f"person's by {decimals(judged, 2)}{both}",
    )
    return (
        LabelMoments(float(y.mean()), sd, judged, shared if pairs else settings.people_correlation, slope, is_share),
        (checks),
        said,
    )


def _shared_correlation(checks: SpotChecks) -> tuple[float, int]:
    """The mean correlation of two people's labels of the same items, and how many such pairs of people there are."""
    cells = np.full((checks.n, len(checks.people)), np.nan)
    cells[checks.row, checks.person] = checks.y
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


def _row(known: LabelMoments, n: int, n_all: int, people: int, settings: LabelPlanSettings) -> dict[str, Any]:
    """One place of the curve."""
    level = settings.confidence
    half, alone = (known.half_width(n, n_all, people, level, judge=judge) for judge in (True, False))
    variance = [known.variance(n, n_all, people, judge=judge) for judge in (False, True)]
    saved = int(n * (variance[0] / variance[1] - 1)) if variance[1] > 0 else 0
    row: dict[str, Any] = {
        "n_people": people, "n": n, "estimate": half, "people_alone": alone, "saved": max(saved, 0),
        "cost": _cost(n, people, n_all, settings),
    }  # fmt: skip
    if settings.difference is not None:
        row["power"] = known.power(n, n_all, people, level, settings.difference)
    return row


def _smallest(known: LabelMoments, n_all: int, people: int, settings: LabelPlanSettings) -> dict[str, Any]:
    """The smallest number of labelled items that does what is wanted, with the judge and without."""
    nothing = settings.half_width is None and settings.difference is None
    found = (
        [None, None] if nothing else [_search(known, n_all, people, settings, judge=judge) for judge in (True, False)]
    )
    n, alone = found
    return {
        "n_people": people, "n": n, "people_alone": alone,
        "cost": None if nothing else math.nan if n is None else _cost(n, people, n_all, settings),
        "cost_alone": None if alone is None else _cost(alone, people, n_all, settings, judge=False),
    }  # fmt: skip


def _search(known: LabelMoments, n_all: int, people: int, settings: LabelPlanSettings, *, judge: bool) -> int | None:
    """By halving: both criteria improve with every item."""

    def enough(n: int) -> bool:
        if settings.difference is not None:
            power = known.power(n, n_all, people, settings.confidence, settings.difference, judge=judge)
            return power >= settings.power
        assert settings.half_width is not None
        return known.half_width(n, n_all, people, settings.confidence, judge=judge) <= settings.half_width

    low, high = LEAST_ITEMS, n_all
    if not enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


# -- which items ------------------------------------------------------------------------------------------


def strata_of(checks: SpotChecks) -> tuple[Ints, list[str]]:
    """The stratum of every item, by the judge's label: its labels where they are few, else ranges of them."""
    given = checks.values[:, 0]
    known = given[np.isfinite(given)]
    values = np.unique(known)
    if len(values) <= MOST_STRATA:
        codes = np.searchsorted(values, np.where(np.isfinite(given), given, values[0]))
        words = [str(checks.categories[int(v)]) if checks.categories is not None else f"{v:g}" for v in values]
        return np.asarray(codes), words
    edges = np.unique(np.quantile(known, np.linspace(0, 1, MOST_STRATA + 1)[1:-1]))
    codes = np.searchsorted(edges, np.where(np.isfinite(given), given, known.mean()), side="right")
    ends = [f"{known.min():g}", *(f"{e:g}" for e in edges), f"{known.max():g}"]
    used, codes = np.unique(codes, return_inverse=True)
    return np.asarray(codes), [f"{ends[k]} to {ends[k + 1]}" for k in used]


def _allocation(checks: SpotChecks) -> pl.DataFrame:
    """Neyman (1934): items of a stratum in proportion to its size times the standard deviation of labels in it."""
    stratum, words = strata_of(checks)
    sizes = np.bincount(stratum, minlength=len(words))
    means = np.bincount(checks.row, checks.y, checks.n) / np.bincount(checks.row, minlength=checks.n)
    mine = stratum[checks.position]
    pooled = float(np.sqrt(np.mean([(means[mine == h] - means[mine == h].mean()).var() for h in np.unique(mine)])))
    sd = np.empty(len(words))
    for h in range(len(words)):
        here = means[mine == h]
        # Two items' worth of the common spread: a stratum of few labelled items is neither left out nor flooded.
        ss = float(((here - here.mean()) ** 2).sum()) if len(here) else 0.0
        sd[h] = math.sqrt((ss + 2 * max(pooled, 1e-6) ** 2) / (max(len(here) - 1, 0) + 2))
    weight = sizes * sd
    return pl.DataFrame({
        "stratum": words, "items": sizes, "labelled": np.bincount(mine, minlength=len(words)), "sd": sd,
        "proportional": sizes / sizes.sum(), "neyman": weight / weight.sum(),
    })  # fmt: skip
