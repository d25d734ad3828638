"""Monitoring a judge's labels, or its distance from humans, for a change since a baseline.

The detector is an e-detector (Shin, Ramdas & Rinaldo 2022): a sum of betting martingales that start at every
observation and bet against the baseline, in both directions and at two sizes of change. Its false-alarm probability
over a stated horizon is at most α under continuous monitoring, and the delay does not depend on the time of the
change. The true mean of the baseline is unknown: the detector is the minimum over candidate means, each weighted by
the baseline.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl
from scipy.special import betaincinv

from assay.data.annotations import Annotations, Repeats, digest_of_columns
from assay.data.chunked.chunks import Chunks
from assay.data.ratings import Ratings, cluster_codes
from assay.data.structure.orders import order_of
from assay.errors import DataError, DesignError, counted, unknown
from assay.estimates import words
from assay.estimates.checked import judge_of
from assay.estimation.intervals import Estimate, EstimateByRule
from assay.estimation.options import Settings, option, question
from assay.estimation.result import Result, Run, fingerprint_with
from assay.estimation.statistic import Floats, Ints
from assay.reporting import pictures
from assay.statistics.words import ordered_cautions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Watched = Literal["judge", "gap"]

CHANGES = ((0.05, 2.0), (0.1, 4.0))
"""Sizes of change, on a 0-1 scale, for which bets are optimal: the larger of a number and of a multiple of 1 / √n, the
largest standard error of a baseline of n observations. A baseline of 300 observations cannot detect .05 or .1: with
bets for .115 and .23 a change of .2 is found after 118 observations, with .05 and .1 after 313 (share .3, 50
studies)."""

BASELINE_NATS = 10.0
"""Natural logarithm of the baseline's bet against a mean that differs by the change: with 7 a change of .05 is found
after 1,274 observations, with 10 after 1,067, with 13 after 1,094 (share .5, baseline of 10,000, 150 studies)."""

CANDIDATES = 29
"""Number of candidate means of the baseline, within `FARTHEST` standard errors; 81 change no delay by more than 10."""

FARTHEST = 6.0
"""Largest distance of a candidate mean in standard errors: one or two of 10⁸ baselines deviate more."""

LAP = 64
"""Observations whose factors are multiplied in one block: .1 to this power does not underflow."""

PIECE = 16 * LAP
"""Observations in memory at one time, for all candidates: with eight times more, half of the time is memory access."""

BOLDEST = 0.9
"""Largest share that a bet can lose in one observation: with 1, a single label could reduce it to 0."""

MIXED = 500.0
"""Approximate number of observations at which the confidence sequence of the mean is narrowest."""

CHANGE_LOSS = 4.2
"""Log-likelihood that a change point in the range can be below the best one. The range contained the true change in
.88–.995 of alarms as they occurred, and in .97–.995 with 2,000 more labels (six designs, 200 alarms each); with 3, in
.79–.94 and .93–.96, because an alarm occurs where the later mean happens to be far from the baseline."""

LEAST_BASELINE = 30
"""Least observations of a baseline; 2,000 or more are recommended."""


@dataclass(frozen=True)
class MonitorSettings(Settings):
    """Options of `assay.monitor`."""

    judge: str | None = option(None, "Judge to monitor.", details="Default: the only judge of the table.")
    _: KW_ONLY
    watch: Watched = option(
        "judge", "Monitor its labels of all items (judge), or its distance from humans on checked items (gap).",
        first=True,
    )  # fmt: skip
    share_of: str | int | float | None = option(
        None, "Monitor the share of this label.", details="Default: the mean.", first=True
    )
    order: str | None = option(
        None, "Column with the order of the labels: a time or a number.", first=True,
        details="Dates in any notation, numbers, or texts that differ in their numbers, such as week 2; other texts "
        "are refused. Default: the order of item names.",
    )  # fmt: skip
    clusters: str | None = option(
        None, "Item column of clusters such as documents; a cluster is one observation.",
        details="If labels of one document are separate observations, the false-alarm probability is up to nearly 1.",
    )  # fmt: skip
    baseline: int = option(
        2000, "Number of first observations for the baseline.", low=LEAST_BASELINE, always=True, first=True
    )
    baseline_mean: float | None = option(
        None, "True mean of the baseline, if it is known; then no observations are used for it."
    )
    horizon: int = option(
        5000, "Observations for which the false-alarm probability holds; then the detector restarts.", low=1,
        always=True,
    )  # fmt: skip
    alpha: float = option(0.05, "False-alarm probability over the horizon.", above=0, below=1, always=True)
    repeats: Repeats = option("error", "How to combine repeated labels.")


@dataclass(frozen=True, eq=False)
class Monitor(Result):
    """The alarm of a detector, the estimated change point, and the means before and after it.

    Attributes
    ----------
    alarm : int or None
        The observation after the baseline, from 1, at which the alarm occurred; None without an alarm.
    since : int or None
        The estimated change point, as an observation after the baseline.
    alarm_at, since_at : str or None
        The values of the order column there.
    since_range : tuple of int or None
        The range of the change point, as observations after the baseline: about 90% of alarms have it in the range.
    range_at : tuple of str or None
        The values of the order column there.
    share_of : str or None
        The label whose share is the mean; None for the mean of numbers.
    base, now : Estimate
        The mean of the baseline, and the mean of all observations after it (after an alarm: since the change point, up
        to the last one), with a confidence sequence, which is valid under continuous monitoring.
    detector_values : (observations,) float
        The detector divided by its alarm threshold: 1 is an alarm.
    means : (observations,) float
        The observations, on the scale of the labels.
    """

    symbol: ClassVar[str] = "mean"
    counted: ClassVar[str] = "observations"

    alarm: int | None
    since: int | None
    alarm_at: str | None
    since_at: str | None
    since_range: tuple[int, int] | None
    range_at: tuple[str | None, str | None] | None
    share_of: str | None
    base: Estimate
    now: Estimate
    n_base: int
    n_now: int
    detector_values: Floats = field(repr=False, metadata={"json": False})
    means: Floats = field(repr=False, metadata={"json": False})
    unit: str
    run: Run

    @property
    def table(self) -> pl.DataFrame:
        """The baseline and the later mean: ``quantity``, ``estimate``, ``low``, ``high``, ``n``, ``reason``."""
        rows = [
            {"quantity": name, **one.row(), "n": n, "reason": one.reason}
            for name, one, n in (("baseline", self.base, self.n_base), ("since", self.now, self.n_now))
        ]
        return pl.DataFrame(rows, schema_overrides={"reason": pl.String})

    @property
    def confidence(self) -> float:
        """Level of the intervals: 1 minus alpha."""
        settings = self.run.settings
        assert isinstance(settings, MonitorSettings)
        return 1 - settings.alpha

    def row_estimates(self) -> Sequence[Estimate]:
        """The estimates of both rows."""
        return (self.base, self.now)

    def summary(self) -> str:
        """Return the alarm, the baseline, the exclusions, the notes and the signature."""
        return "\n".join([*words.monitor_lines(self), *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the detector at each observation, with the alarm threshold as a line."""
        ax = pictures.axes(ax, height=2.8)
        x = np.arange(1, len(self.detector_values) + 1)
        step = max(len(x) // 2000, 1)
        ax.plot(x[::step], np.maximum(self.detector_values[::step], 1e-4), color=pictures.JUDGE, linewidth=1.3)
        ax.axhline(1.0, color=pictures.FAIL, linewidth=1, linestyle=":")
        if self.since_range is not None:
            ax.axvspan(*self.since_range, color=pictures.MUTED, alpha=0.15, linewidth=0)
        for at, colour, name in (
            (self.since, pictures.MUTED, "estimated change point, with range"), (self.alarm, pictures.FAIL, "alarm")
        ):  # fmt: skip
            if at is not None:
                ax.axvline(at, color=colour, linewidth=1, label=name)
        pictures.legend(ax, ncols=2, loc="lower left", bbox_to_anchor=(0, 1.0))
        ax.set_yscale("log")
        ax.set_xlabel(f"{self.unit}s after the baseline")
        ax.set_ylabel("detector ÷ threshold")
        return ax


@question(MonitorSettings)
def monitor(labels: Annotations | Chunks, settings: MonitorSettings) -> Monitor:
    """Monitor a judge's labels, or its distance from humans, for a change since the baseline.

    New labels extend the detector and do not change its earlier values, so a growing file can be monitored
    continuously.

    Parameters
    ----------
    labels : Annotations
        One criterion and bounded labels: categories, or numbers on a scale.

    Raises
    ------
    DesignError
        For unbounded labels, or fewer observations than the baseline.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=900, n_annotators=2, scale="1-5", seed=2)
    >>> assay.monitor(labels, baseline=400).alarm is None
    True
    """
    labels = labels.in_memory("a monitor")
    judge = judge_of(labels, settings.judge)
    stream = _observations(labels, judge, settings)
    observations, low, span, unit = stream.values, stream.low, stream.span, stream.unit
    start = 0 if settings.baseline_mean is not None else settings.baseline
    if len(observations) <= start:
        raise DesignError(
            f"there are {len(observations):,} {unit}s, and the baseline uses the first {start:,}; wait for more, or "
            "use a smaller baseline with baseline=... (2,000 or more are recommended)",
            option="baseline",
        )
    x = (observations[start:] - low) / span
    base = (observations[:start] - low) / span
    known = None
    if settings.baseline_mean is not None:
        known = (settings.baseline_mean - low) / span
        if not 0 < known < 1:
            raise DesignError(
                f"baseline_mean must be inside the scale, {low:g} to {low + span:g}; got {settings.baseline_mean:g}",
                option="baseline_mean",
            )
    values, log_bets = detector(x, base if known is None else known, settings.horizon)
    over = np.flatnonzero(values >= 1 / settings.alpha)
    alarm = int(over[0]) if len(over) else None
    since = None if alarm is None else change_point(log_bets, alarm, settings.horizon)
    ends = None if since is None else change_range(x, base if known is None else known, since, settings.horizon)
    now = sequence(x[since or 0 :], 1 - settings.alpha, low, span)
    first = _base_estimate(base, settings, low, span)
    run = Run(
        "monitor", settings, stream.data, {"observations": len(observations), "judge": judge},
        cautions=_dependent(labels, stream, start + (len(x) if ends is None else ends[0]),
                            start + (len(x) if since is None else since), settings.order),
    )  # fmt: skip
    at = [None if i is None else stream.place(start + i) for i in (alarm, since)]
    return Monitor(
        None if alarm is None else alarm + 1, None if since is None else since + 1, at[0], at[1],
        None if ends is None else (ends[0] + 1, ends[1] + 1),
        None if ends is None else (stream.place(start + ends[0]), stream.place(start + ends[1])), stream.share_of,
        first, now, len(base), len(x) - (since or 0), values * settings.alpha, observations[start:], unit, run,
    )  # fmt: skip


# -- the detector --------------------------------------------------------------------------------------------


def detector(x: Floats, base: Floats | float, horizon: int) -> tuple[Floats, Floats]:
    """Return the detector at each observation, and the logarithm of each bet since the start.

    Against a mean p of the baseline, with a bet of size l towards the baseline's own mean ± a change,

        E_t(p) = B(p) · { Σ over starts k ≤ t of (1/T) Π_{i=k..t} [1 + l (x_i − p)] + (1 − t/T) },

    averaged over two changes and both directions; B(p) = Π over the baseline of [1 ∓ λ (x − p)] bets that its mean is
    on the other side of p. At the true p this is a martingale that starts at 1, so the minimum over all p, which is the
    detector, reaches 1/α with probability at most α. It restarts every T observations.

    Parameters
    ----------
    x : (observations,) float
        From 0 to 1.
    base : (baseline observations,) float, or float
        The baseline, or its mean if it is known.

    Returns
    -------
    values : (observations,) float
    log_bets : (4, observations) float
        Against the mean of the baseline.
    """
    p, mean, spread, n = _candidates(base)
    changes = [max(change, errors / math.sqrt(n)) for change, errors in CHANGES]
    bets = [(change, sign) for change in changes for sign in (1.0, -1.0)]
    sizes = [_size(np.append(p, mean), mean + sign * change, spread, sign) for change, sign in bets]
    odds = np.array([_odds(p, base, change, sign) for change, sign in bets]) / len(bets)
    values = np.empty(len(x))
    for start in range(0, len(x), horizon):
        made = np.zeros((len(bets), len(p)))
        for first in range(start, min(start + horizon, len(x)), PIECE):
            part = x[first : min(first + PIECE, start + horizon)]
            rest = 1 - (np.arange(len(part)) + first - start + 1) / horizon
            total = np.zeros((len(p), len(part)))
            for b, size in enumerate(sizes):
                grown, made[b] = _grown(1 + size[:-1, None] * (part - p[:, None]), made[b], horizon)
                total += odds[b][:, None] * (grown + rest)
            values[first : first + len(part)] = total.min(axis=0)
    return values, np.array([np.cumsum(np.log1p(size[-1] * (x - mean))) for size in sizes])


def _candidates(base: Floats | float) -> tuple[Floats, float, float, float]:
    """Candidate means of the baseline, its mean, its variance as a share of the binomial, and its observations.

    Candidates are denser near the baseline's mean, where the minimum is if labels vary less than the binomial.
    """
    if isinstance(base, float):
        return np.array([base]), base, 1.0, math.inf
    n, mean = len(base), float(base.mean())
    coin = mean * (1 - mean)
    # Two binomial pseudo-observations: labels that have not varied yet can vary later.
    spread = min((n * float(base.var()) + 2 * coin) / ((n + 2) * coin), 1.0) if coin > 0 else 1.0
    root = np.linspace(-math.sqrt(FARTHEST), math.sqrt(FARTHEST), CANDIDATES)
    angle = math.asin(math.sqrt((mean * n + 0.375) / (n + 0.75))) + np.sign(root) * root**2 / (2 * math.sqrt(n))
    inside = np.unique(np.sin(np.clip(angle, 1e-4, math.pi / 2 - 1e-4)) ** 2)
    return inside, min(max(mean, 1e-6), 1 - 1e-6), spread, float(n)


def _size(p: Floats, towards: float, spread: float, sign: float) -> Floats:
    """The bet with the fastest growth if a mean of p has changed; for binomial labels it is the likelihood ratio."""
    off = np.maximum(sign * (towards - p), 0.0)
    return sign * np.minimum(off / (spread * p * (1 - p) + (1 - spread) * off**2), _boldest(p))


def _boldest(p: Floats) -> Floats:
    return BOLDEST / np.maximum(p, 1 - p)


def _odds(p: Floats, base: Floats | float, change: float, sign: float) -> Floats:
    """The value of a bet on the baseline against each mean p: that the true mean is lower, for an upward change."""
    if isinstance(base, float):
        return np.ones(len(p))
    size = np.minimum(BASELINE_NATS / (len(base) * change), _boldest(p))
    value, number = np.unique(base, return_counts=True)
    return np.exp(np.minimum(np.log1p(-sign * size[:, None] * (value - p[:, None])) @ number, 300.0))


def _grown(factor: Floats, made: Floats, horizon: int) -> tuple[Floats, Floats]:
    """S_t = (S_{t−1} + 1/T) · factor_t, continued from earlier values: (candidates, observations), and its last
    column."""
    n_p, n = factor.shape
    laps = -(-n // LAP)
    padded = np.ones((n_p, laps * LAP))
    padded[:, :n] = factor
    each = padded.reshape(n_p, laps, LAP)
    product = np.cumprod(each, axis=2)
    begun = np.cumsum(each / product, axis=2) / horizon
    for lap in range(laps):
        each[:, lap] = product[:, lap] * (made[:, None] + begun[:, lap])
        made = np.minimum(each[:, lap, -1], 1e200)
    return np.minimum(padded[:, :n], 1e200), made


def change_point(log_bets: Floats, alarm: int, horizon: int) -> int:
    """The start, before the alarm, from which the best bet has the largest value."""
    first = alarm // horizon * horizon
    best, at = -math.inf, first
    for row in log_bets:
        before = np.concatenate([[0.0], row])[first : alarm + 1]
        k = int(before.argmin())
        if (made := float(row[alarm] - before[k])) > best:
            best, at = made, first + k
    return at


def change_range(x: Floats, base: Floats | float, since: int, horizon: int) -> tuple[int, int]:
    """Return the first and the last change point that the labels do not speak against.

    The log-likelihood is that of two normal means with one variance, before and since the change, at their best; a
    known mean of the baseline is not estimated.
    """
    begun, known = since // horizon * horizon, isinstance(base, float)
    before = np.empty(0) if isinstance(base, float) else base
    y = np.concatenate([before, x])
    k = np.arange(len(before) + begun, len(y))  # the first observation of the later mean
    sums, squares = (np.concatenate([[0.0], np.cumsum(v)]) for v in (y, y**2))
    after = (squares[-1] - squares[k]) - (sums[-1] - sums[k]) ** 2 / (len(y) - k)
    if known:
        mean = float(base)
        first = squares[k] - 2 * mean * sums[k] + k * mean**2
    else:
        first = squares[k] - sums[k] ** 2 / np.maximum(k, 1)
    residual = np.maximum(first + after, 0.0)
    variance = max(float(residual.min()) / max(len(y) - 2, 1), 1e-12)
    within = np.flatnonzero((residual - residual.min()) / (2 * variance) <= CHANGE_LOSS)
    return min(since, begun + int(within[0])), max(since, begun + int(within[-1]))


def baseline_ends(x: Floats, alpha: float) -> tuple[float, float]:
    """Return the interval of the baseline mean at 1 − α: Clopper & Pearson's for two values, else the empirical
    Bernstein interval (Maurer & Pontil 2009). Only for display; alarms do not depend on it."""
    n = len(x)
    if np.isin(x, (0.0, 1.0)).all():
        k = float(x.sum())
        low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, alpha / 2))
        return low, 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - alpha / 2))
    log = math.log(4 / alpha)
    half = math.sqrt(2 * float(x.var(ddof=1)) * log / n) + 7 * log / (3 * (n - 1))
    return max(float(x.mean()) - half, 0.0), min(float(x.mean()) + half, 1.0)


def sequence(x: Floats, level: float, low: float, span: float) -> Estimate:
    """Return the mean with a confidence sequence: Robbins' normal mixture for values from 0 to 1."""
    t = len(x)
    if not t:
        return Estimate(math.nan, math.nan, math.nan, math.nan, "no observation after the baseline")
    mean = float(x.mean())

    def ends(at: float) -> tuple[float, float]:
        grown = t / MIXED + 1
        half = math.sqrt(2 * grown * MIXED / t**2 * 0.25 * math.log(math.sqrt(grown) / ((1 - at) / 2)))
        return low + span * max(mean - half, 0.0), low + span * min(mean + half, 1.0)

    return EstimateByRule(low + span * mean, *ends(level), span * float(x.std()) / math.sqrt(t), ends=ends)


def _base_estimate(base: Floats, settings: MonitorSettings, low: float, span: float) -> Estimate:
    if settings.baseline_mean is not None:
        return Estimate(settings.baseline_mean, math.nan, math.nan, math.nan, "known value")

    def at(level: float) -> tuple[float, float]:
        return tuple(low + span * e for e in baseline_ends(base, 1 - level))  # type: ignore[return-value]

    mean = low + span * float(base.mean())
    error = span * float(base.std()) / math.sqrt(len(base))
    return EstimateByRule(mean, *at(1 - settings.alpha), error, ends=at)


# -- the observations ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Stream:
    """The observations in their order.

    Attributes
    ----------
    values : (observations,) float
    low, span : float
        The lower end of the scale and its length.
    unit : str
    data : str
        The fingerprint.
    share_of : str or None
        The label whose share is the mean.
    order : (observations,) Series, optional
        The values of the order column.
    item : (observations,) int
        The item of each, in the table of items; of a document its first.
    """

    values: Floats
    low: float
    span: float
    unit: str
    data: str
    share_of: str | None
    order: pl.Series | None
    item: Ints

    def place(self, i: int) -> str | None:
        """Return the value of the order column of an observation."""
        value = None if self.order is None else self.order[i]
        return f"{value:g}" if isinstance(value, float) else None if value is None else str(value)


def _observations(labels: Annotations, judge: str, settings: MonitorSettings) -> _Stream:
    """The observations of a judge, or of its distance from humans."""
    gap = settings.watch == "gap"
    table = labels.where(annotator=[judge, *labels.humans] if gap else [judge])
    ratings = Ratings.of(table, repeats=settings.repeats)
    answers = ratings.answers
    value, low, span = _numbers(ratings, settings)
    n = len(answers.items)
    mine = np.array([name == judge for name in answers.annotators])[answers.annotator]
    judged = np.full(n, np.nan)
    judged[answers.item[mine]] = value[mine]
    if gap:
        number = np.bincount(answers.item[~mine], minlength=n)
        with np.errstate(invalid="ignore", divide="ignore"):
            people = np.bincount(answers.item[~mine], value[~mine], n) / number
        judged = judged - people
        low, span = -span, 2 * span
    used = np.flatnonzero(np.isfinite(judged))
    if not len(used):
        raise DesignError("no item has both the judge's label and a human label; use watch='judge' without humans")
    column = _order_column(table, settings)
    if column is not None:
        used = used[np.argsort(column["_place"].rank("ordinal").to_numpy()[used], kind="stable")]
    observations = judged[used]
    unit = "label"
    data = fingerprint_with(ratings.fingerprint, **digest_of_columns(table, settings.order, settings.clusters))
    if settings.clusters is not None:
        codes = cluster_codes(table, settings.clusters)[used]
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        means = np.bincount(inverse, observations) / np.bincount(inverse)
        observations, unit, used = means[np.argsort(first)], "document", used[np.sort(first)]
    along = None if column is None else column["_order"].gather(pl.Series(used))
    return _Stream(observations, low, span, unit, data, _share_of(ratings, settings), along, used)


def _share_of(ratings: Ratings, settings: MonitorSettings) -> str | None:
    """The label whose share is monitored: the named one, or the second of two categories."""
    categories = ratings.answers.categories
    if settings.share_of is not None:
        return str(settings.share_of)
    return str(categories[1]) if categories is not None and len(categories) == 2 else None


def _numbers(ratings: Ratings, settings: MonitorSettings) -> tuple[Floats, float, float]:
    """The labels as numbers, the lower end of their scale and its span."""
    value = ratings.answers.value.astype(float)
    categories = ratings.answers.categories
    if settings.share_of is not None:
        known: Sequence[Any] = (
            categories if categories is not None else ratings.scale.categories or np.unique(value).tolist()
        )
        at = next((i for i, word in enumerate(known) if str(word) == str(settings.share_of)), None)
        if at is None:
            raise DesignError(
                unknown("label", settings.share_of, known, "the scale"), option="share_of", value=settings.share_of
            )
        wanted = float(at) if categories is not None else float(known[at])
        return (value == wanted).astype(float), 0.0, 1.0
    if categories is not None and len(categories) == 2:
        return value, 0.0, 1.0
    if ratings.scale.bounds is None:
        raise DesignError(
            f"a monitor requires bounded labels; these are on the scale '{ratings.scale.spec}'. Set the ends of the "
            "scale (scale='interval:0-100'), or monitor the share of one label with share_of=..."
        )
    low, high = ratings.scale.bounds
    return value, low, high - low


def _order_column(table: Annotations, settings: MonitorSettings) -> pl.DataFrame | None:
    """The first value of each item in the order column (``_order``), and its place; None without the column."""
    if settings.order is None:
        return None
    name = table.column_name(settings.order)
    frame = table.items if name in table.items.columns else table.labels
    places = order_of(frame[name], settings.order)
    by_item = frame.select("item", _order=name, _place=places).sort("_place", maintain_order=True, nulls_last=True)
    column = table.items.select("item").join(
        by_item.unique("item", keep="first"), on="item", how="left", maintain_order="left"
    )
    if missing := column["_place"].null_count():
        raise DataError(
            f"{counted(missing, 'item')} without '{settings.order}', so their order is unknown; fill in "
            "the missing values or drop these rows"
        )
    return column


def _dependent(labels: Annotations, stream: _Stream, n: int, since: int, order: str | None) -> tuple[str, ...]:
    """A caution if observations depend on one another within documents that are not clusters."""
    skip = () if order is None else (labels.column_name(order),)
    return ordered_cautions(stream.values, stream.item, n, since, labels, skip) if stream.unit == "label" else ()
