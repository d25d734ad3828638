"""Which items may the judge have, and which should people keep?

A judge's own signals (a probability, agreement over its repeats or with other judges, a column of the items) order the
items by how sure it is. The largest share of the surest items is looked for on which it agrees with people as well as
they do with each other, less ε, so that the chance of a share on which it does not is at most α.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import ndtr

from assay._version import __version__
from assay.data.annotations import Annotations, Repeats, digest_of_columns
from assay.data.chunks import Chunks
from assay.data.ratings import Ratings, cluster_codes
from assay.data.scales import Preference
from assay.errors import DesignError, counted
from assay.estimates.checked import judge_of
from assay.estimation.intervals import Estimate, EstimateByRule, Pseudo
from assay.estimation.options import Limits, Settings, level_option, option, question
from assay.estimation.result import Result, Run, fingerprint_with
from assay.estimation.statistic import Floats, Ints
from assay.reporting import pictures
from assay.reporting.page import atomic_write
from assay.reporting.tables import estimated, p_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STARTS = {0.2: 0.4, 0.4: 0.2, 0.7: 0.2, 1.0: 0.2}
"""Shares from which longer and longer ones are tested, each with its part of α. One start at the strictest share fails
where sure items are easy for people, too (a share of .02 where all could be kept); the best of all thresholds offers a
route in .24 to .28 where none holds; split halves find .2 where .53 is found so. Of a true .70, these parts find .527
with 600 labelled items and .589 with 2,000; equal parts that no start hands on .506 and .575 (300 studies and more)."""

STEP = 0.05
"""Between the shares of a sequence."""

LEAST_KEPT = 20
"""Labelled items that a share must keep to be tested."""

MOST_LOOKED = 2_000
"""Labelled items at most on which the judge is asked whether it looks: their square is laid out, 32 MB."""

REPEATS, JUDGES = "repeats", "judges"
"""Signals that are made of labels: agreement of the judge's repeats, and of the other judges with it."""


@dataclass(frozen=True)
class RouteSettings(Settings):
    """Options of `assay.route`."""

    judge: str | None = option(
        None, "The judge that is to have a share of the items.", details="The table's, if it has one."
    )
    _: KW_ONLY
    signal: Annotated[str, Limits("Column that says how sure the judge is: the higher, the surer; or repeats, judges.",
                                  always=True,
                                  details="repeats is the agreement of its own repeated answers, judges that of the "
                                  "other judges with it.", first=True)]  # fmt: skip
    epsilon: Annotated[float, Limits("How much less than people the judge may agree with them.", low=0, high=1,
                                     key="eps", always=True, first=True)]  # fmt: skip
    alpha: float = option(0.05, "Chance of a share on which the judge does not hold.", above=0, below=1, always=True)
    clusters: str | None = option(None, "Item column of documents that items are drawn with.")
    annotators: Sequence[str] | None = option(None, "People whose labels count.")
    price: float = option(1.0, "Price of a person's label of an item.", low=0)
    judge_price: float = option(0.0, "Price of a judge's label.", low=0)
    repeats: Repeats = option("error", "How to combine repeated labels.", details="With the signal repeats, the first "
                              "counts.")  # fmt: skip
    confidence: float = level_option("Level of the intervals of the curve.")


@dataclass(frozen=True, eq=False)
class Route(Result):
    """Which share of the items the judge may have.

    Attributes
    ----------
    share : float
        The share of all items that the judge may have, 0 to 1.
    threshold : float
        It has an item whose signal is at least this; infinite where it has none.
    curve : polars.DataFrame
        See `table`.
    n_labelled, n_all : int
    cost, cost_of_people : float
        Of the route, and of people alone.
    """

    symbol: ClassVar[str] = "advantage"
    counted: ClassVar[str] = "labelled"

    judge: str
    share: float
    threshold: float
    curve: pl.DataFrame = field(metadata={"json": False})
    n_labelled: int
    n_all: int
    cost: float
    cost_of_people: float
    run: Run
    rows: tuple[Estimate, ...] = field(repr=False, metadata={"json": False})
    signals: pl.DataFrame = field(repr=False, metadata={"json": False})

    @property
    def table(self) -> pl.DataFrame:
        """One row a share of the surest items.

        ``share`` of all items, ``threshold`` of the signal, ``estimate`` (the judge's agreement with people less theirs
        with each other, plus ε: above 0 it holds), ``low``, ``high``, ``n`` (labelled items kept), ``p`` (of not
        holding, one-sided), ``kept`` (whether the route takes it), ``agreement`` (the judge's with people), ``reason``.
        """
        return self.curve

    def row_estimates(self) -> Sequence[Estimate]:
        """The advantage in each row."""
        return self.rows

    def sentences(self) -> list[str]:
        """What the judge may have, and what that saves."""
        settings = self.run.settings
        assert isinstance(settings, RouteSettings)
        held = f"it agrees with people as well as they do with each other, less {settings.epsilon:g}"
        if self.share == 0:
            return [f"No share of the items is shown on which '{self.judge}' holds, so people keep all of them."]
        rows = self.curve.filter(pl.col("kept"))
        row = rows.row(rows.height - 1, named=True)
        found = f"{estimated(row['estimate'], row['low'], row['high'])}, {p_value(row['p'])}"
        which = (
            "all items"
            if self.share >= 1
            else (
                f"{100 * self.share:.0f}% of the items, those with '{settings.signal}' of at least {self.threshold:.4g}"
            )
        )
        saved = self.cost_of_people - self.cost
        return [
            f"'{self.judge}' may have {which}: there {held} (advantage {found}; {counted(row['n'], 'labelled item')}).",
            f"People would label {round((1 - self.share) * self.n_all):,} of {self.n_all:,} items; that costs "
            f"{self.cost:,.0f} in place of {self.cost_of_people:,.0f}"
            + (f", {saved:,.0f} less." if saved > 0 else "."),
        ]

    def summary(self) -> str:
        """The sentences, and what they rest on."""
        return "\n".join([*self.sentences(), *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Advantage against the share that the judge has; filled circles are kept."""
        ax = pictures.axes(ax, height=3.2)
        x = 100 * self.curve["share"].to_numpy()
        each = {c: self.curve[c].cast(pl.Float64).to_numpy() for c in ("estimate", "low", "high")}
        ax.fill_between(x, each["low"], each["high"], color=pictures.JUDGE, alpha=0.12, linewidth=0)
        ax.plot(x, each["estimate"], color=pictures.JUDGE, linewidth=1.3)
        kept = self.curve["kept"].to_numpy()
        if kept.any():
            dots: dict[str, Any] = {"color": pictures.PASS, "markersize": 4, "linestyle": "none", "label": "kept"}
            ax.plot(x[kept], each["estimate"][kept], "o", **dots)
        ax.axhline(0, color=pictures.MUTED, linewidth=1, linestyle=":")
        ax.set_xlabel("% of the items, surest first")
        ax.set_ylabel("advantage over people, plus ε")
        pictures.legend(ax, loc="lower left")
        return ax

    def decide(self) -> pl.DataFrame:
        """Every item with its ``signal`` and ``who``: ``judge`` or ``people``; an item without a signal is people's."""
        sure = (pl.col("signal") >= self.threshold).fill_null(value=False)
        return self.signals.with_columns(who=pl.when(sure).then(pl.lit("judge")).otherwise(pl.lit("people")))

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the rule as JSON: judge, signal, threshold, and what it rests on."""
        settings = self.run.settings
        assert isinstance(settings, RouteSettings)
        rule = {
            "judge": self.judge, "signal": settings.signal,
            "threshold": self.threshold if math.isfinite(self.threshold) else None, "share": self.share,
            "epsilon": settings.epsilon, "alpha": settings.alpha, "assay": __version__, "signature": self.signature,
        }  # fmt: skip
        with atomic_write(Path(path)) as part:
            part.write_text(json.dumps(rule, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        return Path(path)


@question(RouteSettings)
def route(labels: Annotations | Chunks, settings: RouteSettings) -> Route:
    """Which share of the items may the judge have, by its own signals, and what is left for people?

    Parameters
    ----------
    labels : Annotations
        One criterion: the judge's labels of all items, two people's or more of some, and the signal.

    Raises
    ------
    DataError
        For a judge or a column that is not there.
    DesignError
        Where too few items have labels of two people, or the signal says nothing.
    """
    labels = labels.in_memory("a route")
    judge = judge_of(labels, settings.judge, "is to have items")
    signal = _signal(labels, judge, settings)
    d, agreement, position, n_all, items, ratings, every = _advantages(labels, judge, settings)
    known = dict(zip(labels.items["item"].to_list(), signal.tolist(), strict=True))
    everywhere = np.array([known.get(i, math.nan) for i in items])
    if not np.isfinite(everywhere[position]).any() or len(np.unique(everywhere[np.isfinite(everywhere)])) < 2:
        raise DesignError(
            f"'{settings.signal}' is the same for all items, so it orders none of them; name another with signal=...",
            option="signal",
        )
    here = np.where(np.isfinite(everywhere[position]), everywhere[position], -math.inf)
    cluster = None if settings.clusters is None else cluster_codes(labels, settings.clusters)
    units = None if cluster is None else cluster[np.searchsorted(labels.items["item"].to_numpy(), items)][position]
    shares, thresholds = _thresholds(everywhere)
    tested = [_test_advantage(d, agreement, here >= c, units, settings) for c in thresholds]
    kept = largest(shares, np.array([one[0] for one in tested]), settings.alpha)
    taken = np.flatnonzero(here >= thresholds[kept]) if kept >= 0 else np.empty(0, dtype=np.int64)
    taken = taken[:: -(-len(taken) // MOST_LOOKED) or 1]
    blind = _p_blind(agreement[taken], every(taken)) if kept >= 0 else 0.0
    notes: tuple[str, ...] = ()
    if blind > settings.alpha:
        notes = (
            f"on {100 * float(np.mean(everywhere >= thresholds[kept])):.0f}% of the items it is as close, less "
            f"{settings.epsilon:g}, but it is not shown to look at them ({p_value(blind)}): its labels of other items "
            "would agree as well",
        )
        kept = -1
    elif kept >= 0:
        notes = (
            "whether it knows more than which question is asked, or repeats a person, is not tested here: the "
            "alternative annotator test asks both",
        )
    rows: list[dict[str, Any]] = [
        {"share": float(np.mean(everywhere >= c)), "threshold": float(c), **found.row(), "n": n, "p": p,
         "kept": bool(i <= kept), "agreement": agree, "reason": found.reason}
        for i, (c, (p, found, n, agree)) in enumerate(zip(thresholds, tested, strict=True))
    ]  # fmt: skip
    share, threshold = (rows[kept]["share"], rows[kept]["threshold"]) if kept >= 0 else (0.0, math.inf)
    m = float(np.mean(np.bincount(ratings.answers.item)[position])) - 1  # people an item
    used = fingerprint_with(
        ratings.fingerprint, **digest_of_columns(labels, settings.clusters), signal=signal.tobytes()
    )
    run = Run("route", settings, used, {"items": n_all, "labelled": len(position), "judged": judge}, notes=notes)
    cost = (1 - share) * n_all * m * settings.price + n_all * settings.judge_price
    return Route(
        judge, share, threshold, pl.DataFrame(rows, schema_overrides={"reason": pl.String}), len(position), n_all, cost,
        n_all * m * settings.price, run, tuple(found for _, found, _, _ in tested),
        pl.DataFrame({"item": items, "signal": everywhere}).with_columns(pl.col("signal").fill_nan(None)),
    )  # fmt: skip


def largest(shares: Floats, p: Floats, alpha: float) -> int:
    """The place of the largest share that is shown, −1 where none is.

    From each of `STARTS` longer and longer shares are tested while they hold, at its part of α: a fixed sequence needs
    no correction, and Bonferroni joins the starts. What reaches the next start hands on its part, as in the fallback
    procedure (Wiens & Dmitrienko 2005), which keeps the error of all together at α.
    """
    found, level = -1, 0.0
    for at, (share, one) in enumerate(zip(shares, p, strict=True)):
        level += alpha * sum(part for start, part in STARTS.items() if abs(share - start) < STEP / 2)
        if level > 0 and one <= level:
            found = at
        else:
            level = 0.0
    return found


def _p_blind(agreement: Floats, every: Floats) -> float:
    """One-sided p of a judge that agrees with people on its items no more than its labels of other items would.

    By the mean and variance over all permutations of its labels (Hoeffding 1951), whose sum is as good as normal from
    `LEAST_KEPT` items on. A constant in the middle of a scale is as close as people, less ε; it has p = 1.

    Parameters
    ----------
    agreement : (items,) float
        Of each item's own label with its people.
    every : (items, items) float
        Of the label of every item, in columns, with the people of each.
    """
    n = len(every)
    left = every - every.mean(axis=1, keepdims=True) - every.mean(axis=0) + every.mean()
    error = math.sqrt(float((left**2).sum()) / (n - 1))
    above = float(agreement.sum()) - n * float(every.mean())
    return float(ndtr(-above / error)) if error > 1e-9 * n else 1.0


def _thresholds(signal: Floats) -> tuple[Floats, Floats]:
    """Shares in steps, and the signal from which on they are kept; of items without a signal none is."""
    known = np.sort(signal[np.isfinite(signal)])[::-1]
    shares = np.round(np.arange(min(STARTS), 1 + STEP / 2, STEP), 10)
    at = np.clip(np.ceil(np.round(shares * len(signal), 6)).astype(int) - 1, 0, len(known) - 1)
    return shares, known[at]


def _test_advantage(
    d: Floats, agreement: Floats, keep: Any, units: Ints | None, settings: RouteSettings
) -> tuple[float, Estimate, int, float]:
    """One-sided p of "no advantage" on kept items (Hall's corrected t), and the advantage with its interval."""
    n = int(keep.sum())
    if n < LEAST_KEPT:
        reason = f"{counted(n, 'labelled item')} kept, and {LEAST_KEPT} are needed"
        return (
            1.0,
            Estimate(float(d[keep].mean()) if n else math.nan, math.nan, math.nan, math.nan, reason),
            n,
            math.nan,
        )
    each = d[keep]
    if units is not None:
        code = np.unique(units[keep], return_inverse=True)[1]
        number = int(code.max()) + 1
        each = np.bincount(code, each) * number / n
        if number < LEAST_KEPT / 2:
            return (
                1.0,
                Estimate(float(d[keep].mean()), math.nan, math.nan, math.nan, "too few clusters kept"),
                n,
                math.nan,
            )
    one, found = np.ones(1), Pseudo(each[:, None])
    value = float(each.mean())
    if not np.ptp(each) > 0:
        p = 0.0 if value > 0 else 1.0
        return (
            p,
            Estimate(value, math.nan, math.nan, math.nan, "the judge is as close on every item"),
            n,
            float(agreement[keep].mean()),
        )

    def ends(level: float) -> tuple[float, float]:
        return found.interval(one, level)

    error = float(each.std(ddof=1)) / math.sqrt(len(each))
    made = EstimateByRule(value, *ends(settings.confidence), error, ends=ends)
    return found.p_above(one), made, n, float(agreement[keep].mean())


def _advantages(
    labels: Annotations, judge: str, settings: RouteSettings
) -> tuple[Floats, Floats, Ints, int, list[str], Ratings, Callable[[Ints], Floats]]:
    """On items that two people labelled: the judge's agreement with people less theirs with each other, plus ε.

    Beside it the agreement, and what gives that of the labels of some of the items with the people of each of them.
    """
    people = tuple(settings.annotators or labels.humans)
    if len(people) < 2:
        raise DesignError(f"a route needs two people, who say how well people agree; the table has {len(people)}")
    resolved = "first" if settings.signal == REPEATS and settings.repeats == "error" else settings.repeats
    ratings = Ratings.of(labels, (judge, *people), repeats=resolved)
    answers = ratings.answers
    n = len(answers.items)
    cells = np.full((n, len(people) + 1), np.nan)
    cells[answers.item, answers.annotator] = answers.value
    mine, theirs = cells[:, 0], cells[:, 1:]
    number = np.isfinite(theirs).sum(axis=1)
    position = np.flatnonzero(np.isfinite(mine) & (number > 1))
    if len(position) < LEAST_KEPT:
        raise DesignError(
            f"{counted(len(position), 'item')} have the judge's label and those of two people, and {LEAST_KEPT} are "
            "needed at the least (600 for a route worth having); have people label more"
        )
    ordered = ratings.scale.ordered and ratings.scale != Preference()
    span = (
        float(np.nanmax(cells) - np.nanmin(cells))
        if ratings.scale.bounds is None
        else (ratings.scale.bounds[1] - ratings.scale.bounds[0])
    )

    def agree(a: Floats, b: Floats) -> Floats:
        return 1 - np.abs(a - b) / max(span, 1e-12) if ordered else np.where(np.isnan(a - b), np.nan, (a == b) * 1.0)

    some = theirs[position]
    own = mine[position]
    with_judge = np.nanmean(agree(own[:, None], some), axis=1)

    def every(keep: Ints) -> Floats:
        kinds, code = np.unique(own[keep], return_inverse=True)
        return np.column_stack([np.nanmean(agree(kind, some[keep]), axis=1) for kind in kinds])[:, code]

    pairs = [agree(some[:, a], some[:, b]) for a in range(some.shape[1]) for b in range(a)]
    among = np.nanmean(np.stack(pairs), axis=0)
    return with_judge - among + settings.epsilon, with_judge, position, n, list(answers.items), ratings, every


def _signal(labels: Annotations, judge: str, settings: RouteSettings) -> Floats:
    """How sure the judge is of each item of the table: (items,), NaN where there is no signal."""
    mine = labels.where(annotator=judge)
    if settings.signal == REPEATS:
        if not mine.has_repeats:
            raise DesignError(
                f"'{judge}' answered every item once, so there is no agreement of repeats", option="signal"
            )
        share = (pl.col("label") == pl.col("label").mode().min()).mean()
        found = mine.labels.group_by("item").agg(share.alias("_signal"))
    elif settings.signal == JUDGES:
        others = [j for j in labels.judges if j != judge]
        if not others:
            raise DesignError(f"'{judge}' is the only judge, so no other can agree with it", option="signal")
        own = mine.resolve_repeats("first").labels.select("item", pl.col("label").alias("_own"))
        both = labels.where(annotator=others).labels.join(own, on="item")
        found = both.group_by("item").agg((pl.col("label") == pl.col("_own")).mean().alias("_signal"))
    else:
        name = mine.column_name(settings.signal)
        column = mine.column(name)
        if not column.dtype.is_numeric():
            raise DesignError(
                f"'{settings.signal}' is no number, and a signal is; name another with signal=...", option="signal"
            )
        found = (
            mine.labels.select("item")
            .with_columns(_signal=column.cast(pl.Float64))
            .group_by("item")
            .agg(pl.col("_signal").mean())
        )
    joined = labels.items.select("item").join(found, on="item", how="left", maintain_order="left")
    return np.asarray(joined["_signal"].fill_null(math.nan).to_numpy().astype(float))
