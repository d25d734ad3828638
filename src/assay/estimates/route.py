"""Routing of items between a judge and human annotators.

A confidence signal of the judge (a probability, agreement over its repeats or with other judges, a column of the items)
orders the items. `route` finds the largest share of the most confident items on which the judge's agreement with humans
is at most ε below the agreement among humans. The probability of choosing a share that violates the margin is at most
α.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl

from assay._version import __version__
from assay.data.annotations import Annotations, Repeats, digest_of_columns
from assay.data.chunked.chunks import Chunks
from assay.data.ratings import Ratings, cluster_codes
from assay.data.scales import Preference
from assay.data.structure.orders import numbers_of
from assay.data.words import PROVENANCE
from assay.errors import DesignError, counted
from assay.estimates import words
from assay.estimates.checked import judge_of
from assay.estimation.intervals import Estimate, EstimateByRule, Pseudo, without_interval
from assay.estimation.options import Limits, Settings, level_option, option, question
from assay.estimation.result import Result, Run, fingerprint_with
from assay.estimation.statistic import Bools, Floats, Ints
from assay.reporting import pictures
from assay.reporting.page import atomic_write
from assay.reporting.tables import p_value
from assay.statistics.guard import Guard, Question
from assay.statistics.words import dependence_cautions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STARTS = {0.2: 0.4, 0.4: 0.2, 0.7: 0.2, 1.0: 0.2}
"""Shares from which increasing shares are tested, each with its part of α. A single start at the smallest share fails
if confident items are also easy for humans (a share of .02 if all items could be routed). The best of all thresholds
without correction finds a share in .24 to .28 of studies if none is valid. Split halves find .2 if this method finds
.53. For a true share of .70, these parts find .527 with 600 labelled items and .589 with 2,000; equal parts without
propagation find .506 and .575 (300 studies and more)."""

STEP = 0.05
"""Step between the tested shares."""

LEAST_KEPT = 20
"""Least labelled items of a tested share."""

REPEATS, JUDGES = "repeats", "judges"
"""Signals computed from labels: agreement of the judge's repeats, and of the other judges with it."""


@dataclass(frozen=True)
class RouteSettings(Settings):
    """Options of `assay.route`."""

    judge: str | None = option(
        None, "Judge that labels a share of the items.", details="Default: the only judge of the table."
    )
    _: KW_ONLY
    signal: Annotated[str, Limits("Column with the confidence of the judge (higher is more confident); or repeats, "
                                  "judges.", always=True,
                                  details="repeats is the agreement of its repeated labels, judges the agreement of "
                                  "the other judges with it.", first=True)]  # fmt: skip
    epsilon: Annotated[float, Limits("Margin ε: the largest amount by which the judge's agreement with humans can be "
                                     "below agreement among humans.", low=0, high=1,
                                     key="eps", always=True, first=True)]  # fmt: skip
    alpha: float = option(
        0.05, "Probability of choosing a share that violates the margin.", above=0, below=1, always=True
    )
    clusters: str | None = option(None, "Item column of clusters of items, such as documents.")
    annotators: Sequence[str] | None = option(None, "Annotators whose labels are used (default: all).")
    price: float = option(1.0, "Price of one human label.", low=0)
    judge_price: float = option(0.0, "Price of one judge label.", low=0)
    repeats: Repeats = option("error", "How to combine repeated labels.", details="With the signal repeats, the first "
                              "label is used.")  # fmt: skip
    min_agreement_ratio: float = option(
        0.6, "Agreement ratio that the judge must exceed on its share of the items.", low=0, high=1,
        details="As in `assay.alt_test`.",
    )  # fmt: skip
    confidence: float = level_option("Level of the intervals of the curve.")


RouteReason = Literal["margin_undecided", "matches_one_annotator"] | Question


@dataclass(frozen=True, eq=False)
class Route(Result):
    """The largest share of items that a judge can label within the margin.

    Attributes
    ----------
    share : float
        The judge share: the share of all items that the judge can label, 0 to 1.
    threshold : float
        The judge labels items with at least this signal; infinite for a share of 0.
    reason : str or None
        Why the share is 0: ``margin_undecided``, ``matches_one_annotator``, or the test of the verdict that is not
        significant on the items of the margin's share.
    curve : polars.DataFrame
        See `table`.
    n_labelled, n_all : int
        Human-labelled items, and all items, with the judge's label or without.
    cost, cost_humans_only : float
        With this judge share, and without the judge.
    """

    symbol: ClassVar[str] = "difference + margin"
    counted: ClassVar[str] = "human-labelled"

    judge: str
    share: float
    threshold: float
    reason: RouteReason | None
    curve: pl.DataFrame = field(metadata={"json": False})
    n_labelled: int
    n_all: int
    cost: float
    cost_humans_only: float
    run: Run
    rows: tuple[Estimate, ...] = field(repr=False, metadata={"json": False})
    signals: pl.DataFrame = field(repr=False, metadata={"json": False})

    @property
    def table(self) -> pl.DataFrame:
        """One row per share of the most confident items.

        ``share`` of all items, ``threshold`` of the signal, ``estimate`` (the judge's agreement with humans minus
        agreement among humans, plus ε: above 0 is within the margin), ``low``, ``high``, ``n`` (human-labelled items),
        ``p`` (one-sided, of a violated margin), ``kept`` (whether the judge labels it), ``agreement`` (of the judge
        with humans), ``reason``.
        """
        return self.curve

    def row_estimates(self) -> Sequence[Estimate]:
        """The estimate in each row."""
        return self.rows

    def summary(self) -> str:
        """Return the judge share, the cost, the exclusions, the notes and the signature."""
        return "\n".join([*words.route_lines(self), *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the difference plus the margin against the judge share; circles are shares that the judge can label."""
        ax = pictures.axes(ax, height=3.2)
        x = 100 * self.curve["share"].to_numpy()
        each = {c: self.curve[c].cast(pl.Float64).to_numpy() for c in ("estimate", "low", "high")}
        ax.fill_between(x, each["low"], each["high"], color=pictures.JUDGE, alpha=0.12, linewidth=0)
        ax.plot(x, each["estimate"], color=pictures.JUDGE, linewidth=1.3)
        kept = self.curve["kept"].to_numpy()
        if kept.any():
            dots: dict[str, Any] = {"color": pictures.PASS, "markersize": 4, "linestyle": "none", "label": "judge"}
            ax.plot(x[kept], each["estimate"][kept], "o", **dots)
        ax.axhline(0, color=pictures.MUTED, linewidth=1, linestyle=":")
        ax.set_xlabel("% of the items, most confident first")
        ax.set_ylabel("difference in agreement + ε")
        pictures.legend(ax, loc="lower left")
        return ax

    def decide(self) -> pl.DataFrame:
        """Return every item with its ``signal`` and ``queue``, judge or human.

        Items without the judge's label or signal are in the human queue, also those without any label.
        """
        confident = (pl.col("signal") >= self.threshold).fill_null(value=False)
        return self.signals.with_columns(queue=pl.when(confident).then(pl.lit("judge")).otherwise(pl.lit("human")))

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the rule as JSON: judge, signal, threshold, and the analysis."""
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
    """Find the largest share of items that a judge can label within a margin.

    Parameters
    ----------
    labels : Annotations
        One criterion: the judge's labels of all items, labels of two or more humans of some, and the signal.

    Raises
    ------
    DataError
        For an unknown judge or column.
    DesignError
        If too few items have labels of two humans, or the signal is constant.

    Examples
    --------
    >>> import assay, numpy as np, polars as pl
    >>> labels = assay.simulate(n_items=400, scale="1-5", judges={"gpt": 0.2}, seed=1)
    >>> sure = np.random.default_rng(1).uniform(size=400)
    >>> frame = labels.to_polars().join(labels.items.select("item").with_columns(sure=pl.Series(sure)), on="item")
    >>> found = assay.route(assay.read(frame, scale="1-5"), "gpt", signal="sure", epsilon=0.2)
    >>> found.share, round(found.table["estimate"][-1], 2)
    (1.0, 0.2)
    """
    labels = labels.in_memory("a route")
    judge = judge_of(labels, settings.judge)
    signal = _signal(labels, judge, settings)
    d, agreement, position, items, ratings = _advantages(labels, judge, settings)
    every, everywhere = _all_items(labels, items, signal)
    n_all = len(every)
    if not np.isfinite(everywhere[position]).any() or len(np.unique(everywhere[np.isfinite(everywhere)])) < 2:
        raise DesignError(
            f"'{settings.signal}' is the same for all items; choose another signal with signal=...", option="signal"
        )
    here = np.where(np.isfinite(everywhere[position]), everywhere[position], -math.inf)
    cluster = None if settings.clusters is None else cluster_codes(labels, settings.clusters)
    units = None if cluster is None else cluster[np.searchsorted(labels.items["item"].to_numpy(), items)][position]
    shares, thresholds = _thresholds(everywhere)
    tested = [_test_advantage(d, agreement, here >= c, units, settings) for c in thresholds]
    p = np.array([one[0] for one in tested])
    kept, notes = largest(shares, p, settings.alpha), [PROVENANCE[labels.reading.provenance(judge)]]
    reason: RouteReason | None = "margin_undecided" if kept < 0 else None
    if kept >= 0:
        guard = Guard.of(
            labels, judge, epsilon=settings.epsilon, min_agreement_ratio=settings.min_agreement_ratio,
            annotators=settings.annotators, clusters=settings.clusters, repeats=_resolved(settings),
        )  # fmt: skip
        kept, why, reason = _guarded(kept, shares, p, guard, [everywhere[: len(items)] >= c for c in thresholds],
                                     settings.alpha)  # fmt: skip
        notes = [*why, *notes]
    rows: list[dict[str, Any]] = [
        {"share": float(np.mean(everywhere >= c)), "threshold": float(c), **found.row(), "n": n, "p": p,
         "kept": bool(i <= kept), "agreement": agree, "reason": found.reason}
        for i, (c, (p, found, n, agree)) in enumerate(zip(thresholds, tested, strict=True))
    ]  # fmt: skip
    # Items with the same signal are routed together, so that several steps can be one share.
    apart = [i for i, c in enumerate(thresholds) if i == 0 or c != thresholds[i - 1]]
    m = float(np.mean(np.bincount(ratings.answers.item)[position])) - 1  # human labels per item
    used = fingerprint_with(
        ratings.fingerprint, **digest_of_columns(labels, settings.clusters), signal=signal.tobytes()
    )
    share, threshold = (rows[kept]["share"], rows[kept]["threshold"]) if kept >= 0 else (0.0, math.inf)
    # The items of the judge's share or, without one, of all shares.
    mine = here >= threshold if kept >= 0 else here > -math.inf
    error = dict(zip([items[i] for i in position[mine]], d[mine] - d[mine].mean(), strict=True))
    part = np.array([error.get(item, math.nan) for item in labels.items["item"].to_list()])
    cautions = dependence_cautions([part] if units is None else [], labels)
    facts = {"items": n_all, "labelled": len(position), "judge": judge}
    run = Run("route", settings, used, facts, notes=tuple(notes), cautions=cautions)
    cost = (1 - share) * n_all * m * settings.price + n_all * settings.judge_price
    return Route(
        judge, share, threshold, reason,
        pl.DataFrame([rows[i] for i in apart], schema_overrides={"reason": pl.String}, infer_schema_length=None),
        len(position), n_all, cost, n_all * m * settings.price, run, tuple(tested[i][1] for i in apart),
        pl.DataFrame({"item": every, "signal": everywhere}).with_columns(pl.col("signal").fill_nan(None)),
    )  # fmt: skip


def _all_items(labels: Annotations, first: Sequence[str], signal: Floats) -> tuple[list[str], Floats]:
    """These items, the others of the table, and those without any label; and the signal of each, NaN without one."""
    known = dict(zip(labels.items["item"].to_list(), signal.tolist(), strict=True))
    listed = {*first}
    every = [*first, *(item for item in known if item not in listed)]
    if labels.unlabelled is not None:
        every += labels.unlabelled["item"].to_list()
    return every, np.array([known.get(item, math.nan) for item in every])


def _guarded(
    margin: int, shares: Floats, p: Floats, guard: Guard, taken: Sequence[Bools], alpha: float
) -> tuple[int, list[str], RouteReason | None]:
    """Return the position of the largest share on which the judge also passes the tests of the verdict, or −1 and why.

    The share that the margin alone gives is tested at half of α; without success, all shares in their fixed sequence at
    the other half. A judge whose labels match one annotator has no share.

    Parameters
    ----------
    margin : int
        The position of the share that the margin gives.
    """
    share = f"the margin is demonstrated on {100 * float(np.mean(taken[margin])):.0f}% of the items"
    if guard.matched is not None:
        return (
            -1,
            [f"{share}, but {words.route_reason('matches_one_annotator')} ({guard.matched})"],
            "matches_one_annotator",
        )
    first = guard.p_values(taken[margin])
    worst = max(first, key=lambda name: first[name])
    if max(p[margin], first[worst]) <= alpha / 2:
        return margin, [], None
    each = [max(one, *guard.p_values(keep).values()) if one <= alpha / 2 else one
            for one, keep in zip(p, taken, strict=True)]  # fmt: skip
    kept = largest(shares, np.array(each), alpha / 2)
    why = f"{share}, but on these items {words.route_reason(worst)} ({p_value(first[worst])})"
    return kept, [why], None if kept >= 0 else worst


def _resolved(settings: RouteSettings) -> Repeats:
    """How repeated labels are combined; the signal uses all of them."""
    return "first" if settings.signal == REPEATS and settings.repeats == "error" else settings.repeats


def largest(shares: Floats, p: Floats, alpha: float) -> int:
    """Return the position of the largest demonstrated share, or −1.

    From each of `STARTS`, increasing shares are tested at its part of α until one is not rejected: a fixed sequence
    needs no correction, and Bonferroni combines the starts. A sequence that reaches the next start passes on its part
    of α, as in the fallback procedure (Wiens & Dmitrienko 2005), which controls the familywise error at α.
    """
    found, level = -1, 0.0
    for at, (share, one) in enumerate(zip(shares, p, strict=True)):
        level += alpha * sum(part for start, part in STARTS.items() if abs(share - start) < STEP / 2)
        if level > 0 and one <= level:
            found = at
        else:
            level = 0.0
    return found


def _thresholds(signal: Floats) -> tuple[Floats, Floats]:
    """Shares in steps, and the thresholds of the signal; items without a signal are never routed to the judge."""
    known = np.sort(signal[np.isfinite(signal)])[::-1]
    shares = np.round(np.arange(min(STARTS), 1 + STEP / 2, STEP), 10)
    at = np.clip(np.ceil(np.round(shares * len(signal), 6)).astype(int) - 1, 0, len(known) - 1)
    return shares, known[at]


def _test_advantage(
    d: Floats, agreement: Floats, keep: Any, units: Ints | None, settings: RouteSettings
) -> tuple[float, Estimate, int, float]:
    """One-sided p of a violated margin on the kept items (Hall's corrected t), and the estimate with its interval."""
    n = int(keep.sum())
    value = float(d[keep].mean()) if n else math.nan
    if n < LEAST_KEPT:
        return 1.0, without_interval(value, f"{counted(n, 'labelled item')}; {LEAST_KEPT} are required"), n, math.nan
    each = d[keep]
    if units is not None:
        code = np.unique(units[keep], return_inverse=True)[1]
        number = int(code.max()) + 1
        each = np.bincount(code, each) * number / n
        if number < LEAST_KEPT / 2:
            return 1.0, without_interval(value, "too few clusters"), n, math.nan
    one, found = np.ones(1), Pseudo(each[:, None])
    value = float(each.mean())
    if not np.ptp(each) > 0:
        none = without_interval(value, "the difference is equal on all items")
        return 0.0 if value > 0 else 1.0, none, n, float(agreement[keep].mean())

    def ends(level: float) -> tuple[float, float]:
        return found.interval(one, level)

    error = float(each.std(ddof=1)) / math.sqrt(len(each))
    made = EstimateByRule(value, *ends(settings.confidence), error, ends=ends)
    return found.p_above(one), made, n, float(agreement[keep].mean())


def _advantages(
    labels: Annotations, judge: str, settings: RouteSettings
) -> tuple[Floats, Floats, Ints, list[str], Ratings]:
    """The judge's agreement with humans minus agreement among humans, plus ε, on items that two humans labelled.

    Also the judge's agreement.
    """
    people = tuple(settings.annotators or labels.humans)
    if len(people) < 2:
        raise DesignError(
            f"a route requires two human annotators for agreement among humans; the table has {len(people)}"
        )
    ratings = Ratings.of(labels, (judge, *people), repeats=_resolved(settings))
    answers = ratings.answers
    n = len(answers.items)
    cells = np.full((n, len(people) + 1), np.nan)
    cells[answers.item, answers.annotator] = answers.value
    mine, theirs = cells[:, 0], cells[:, 1:]
    number = np.isfinite(theirs).sum(axis=1)
    position = np.flatnonzero(np.isfinite(mine) & (number > 1))
    if len(position) < LEAST_KEPT:
        raise DesignError(
            f"{counted(len(position), 'item')} with the judge's label and those of two humans; {LEAST_KEPT} are "
            "required (600 are recommended). Have annotators label more items"
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

    pairs = [agree(some[:, a], some[:, b]) for a in range(some.shape[1]) for b in range(a)]
    among = np.nanmean(np.stack(pairs), axis=0)
    return with_judge - among + settings.epsilon, with_judge, position, list(answers.items), ratings


def _signal(labels: Annotations, judge: str, settings: RouteSettings) -> Floats:
    """The signal of each item of the table: (items,), NaN if missing."""
    mine = labels.where(annotator=judge)
    if settings.signal == REPEATS:
        if not mine.has_repeats:
            raise DesignError(
                f"'{judge}' has no repeated labels, so their agreement is not defined; choose another signal",
                option="signal",
            )
        share = (pl.col("label") == pl.col("label").mode().min()).mean()
        found = mine.labels.group_by("item").agg(share.alias("_signal"))
    elif settings.signal == JUDGES:
        others = [j for j in labels.judges if j != judge]
        if not others:
            raise DesignError(f"'{judge}' is the only judge; choose another signal", option="signal")
        own = mine.resolve_repeats("first").labels.select("item", pl.col("label").alias("_own"))
        both = labels.where(annotator=others).labels.join(own, on="item")
        found = both.group_by("item").agg((pl.col("label") == pl.col("_own")).mean().alias("_signal"))
    else:
        name = mine.column_name(settings.signal)
        column = numbers_of(mine.column(name))
        if column is None:
            raise DesignError(
                f"'{settings.signal}' is not numeric; choose a numeric signal with signal=...", option="signal"
            )
        found = mine.labels.select("item").with_columns(_signal=column).group_by("item").agg(pl.col("_signal").mean())
    joined = labels.items.select("item").join(found, on="item", how="left", maintain_order="left")
    return np.asarray(joined["_signal"].fill_null(math.nan).to_numpy().astype(float))
