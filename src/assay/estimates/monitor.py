"""Have a judge's labels, or its distance from people, moved since a baseline? An answer that is valid at every look.

An e-detector (Shin, Ramdas & Rinaldo 2022): wealth that bets from every look on, against the baseline, in both
directions and at two sizes of change. Its false alarms over a stated number of looks are at most α, however often
somebody looks, and a change is found late in a stream as soon as early. What the baseline's mean truly was is not
known: the bets are held against every mean that it may have had, each at odds that the baseline itself gives.
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
from assay.data.chunks import Chunks
from assay.data.ratings import Ratings, cluster_codes
from assay.errors import DataError, DesignError, counted, unknown
from assay.estimates.checked import judge_of
from assay.estimation.intervals import Estimate, EstimateByRule
from assay.estimation.options import Settings, option, question
from assay.estimation.result import Result, Run, fingerprint_with
from assay.estimation.statistic import Floats, Ints
from assay.reporting import pictures
from assay.reporting.tables import decimals, estimated

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Watched = Literal["judge", "gap"]

CHANGES = ((0.05, 2.0), (0.1, 4.0))
"""Changes, on a scale from 0 to 1, at which bets are aimed: each as a number, and as a multiple of the greatest
standard error of a baseline of n looks, 1 / √n; the larger counts. Of 300 looks neither .05 nor .1 can be told: aimed
at .115 and .23 a change of .2 is found after 118 looks, at .05 and .1 after 313 (share .3, 50 studies)."""

BASELINE_NATS = 10.0
"""What the baseline's own bet makes, in natural logarithms, of a mean that is off by the change: with 7 a change of .05
is found after 1,274 looks, with 10 after 1,067, with 13 after 1,094 (share .5, baseline of 10,000, 150 studies)."""

CANDIDATES = 29
"""Means that the baseline may truly have had, within `FARTHEST` standard errors; 81 change no delay by more than 10."""

FARTHEST = 6.0
"""Of 10⁸ baselines one or two are farther off their mean."""

LAP = 64
"""Looks whose factors are multiplied before wealth is added to: .1 to this power is still a number."""

PIECE = 16 * LAP
"""Looks that are held at a time, for all candidates: with eight times as many half of the time goes into memory."""

BOLDEST = 0.9
"""Share of its wealth that a bet may lose in one look: at 1 a single label would end it."""

MIXED = 500.0
"""Looks at which the confidence sequence of the mean is narrowest, about."""

LEAST_BASELINE = 30
"""Looks of a baseline; 2,000 or more are worth having."""


@dataclass(frozen=True)
class MonitorSettings(Settings):
    """Options of `assay.monitor`."""

    judge: str | None = option(None, "The judge whose labels are watched.", details="The table's, if it has one.")
    _: KW_ONLY
    watch: Watched = option(
        "judge", "Its labels of all items, or its distance from people where they checked it.", first=True
    )
    share_of: str | int | float | None = option(
        None, "Watch the share of this label.", details="The mean, otherwise.", first=True
    )
    order: str | None = option(None, "Column by which labels came in: a time, a number.", details="The items' names, "
                               "otherwise.", first=True)  # fmt: skip
    clusters: str | None = option(
        None, "Item column of documents whose labels come together; a document is a look.",
        details="Labels of one document looked at one by one raise false alarms to nearly 1.",
    )  # fmt: skip
    baseline: int = option(2000, "First looks that are the baseline.", low=LEAST_BASELINE, always=True, first=True)
    baseline_mean: float | None = option(
        None, "The baseline's true mean, where it is known for sure; no looks are used for it."
    )
    horizon: int = option(5000, "Looks over which the level holds; then watching starts again.", low=1, always=True)
    alpha: float = option(0.05, "False alarms over the horizon, at most.", above=0, below=1, always=True)
    repeats: Repeats = option("error", "How to combine repeated labels.")


@dataclass(frozen=True, eq=False)
class Monitor(Result):
    """Whether something has moved, and since when.

    Attributes
    ----------
    alarm : int or None
        The look after the baseline, from 1, at which the alarm came; None where there is none.
    since : int or None
        The look from which on the change is likeliest.
    base, now : Estimate
        The baseline's mean, and the mean of all looks after it (or, after an alarm, of those since the change), with a
        confidence sequence: valid at every look.
    evidence : (looks,) float
        Wealth over what an alarm takes, at each look: 1 is the alarm.
    means : (looks,) float
        The looks, on the scale of the labels.
    """

    symbol: ClassVar[str] = "mean"
    counted: ClassVar[str] = "looks"

    alarm: int | None
    since: int | None
    base: Estimate
    now: Estimate
    n_base: int
    n_now: int
    evidence: Floats = field(repr=False, metadata={"json": False})
    means: Floats = field(repr=False, metadata={"json": False})
    unit: str
    run: Run

    @property
    def table(self) -> pl.DataFrame:
        """The baseline and what came after it: ``of``, ``estimate``, ``low``, ``high``, ``n``, ``reason``."""
        rows = [
            {"of": of, **one.row(), "n": n, "reason": one.reason}
            for of, one, n in (("baseline", self.base, self.n_base), ("since", self.now, self.n_now))
        ]
        return pl.DataFrame(rows, schema_overrides={"reason": pl.String})

    @property
    def confidence(self) -> float:
        """Level of the intervals: one less alpha."""
        settings = self.run.settings
        assert isinstance(settings, MonitorSettings)
        return 1 - settings.alpha

    def row_estimates(self) -> Sequence[Estimate]:
        """Of both rows."""
        return (self.base, self.now)

    def sentences(self) -> list[str]:
        """The alarm, or that there is none."""
        settings = self.run.settings
        assert isinstance(settings, MonitorSettings)
        looks = len(self.evidence)
        base = (
            f"Baseline {estimated(self.base.estimate, self.base.low, self.base.high)} from {self.n_base:,} {self.unit}s"
            if self.n_base
            else f"Baseline {self.base.estimate:g}, known"
        )
        if self.alarm is None:
            most = float(self.evidence.max()) if looks else 0.0
            head = (
                f"No alarm after {counted(looks, self.unit)}: the evidence of a change never reached "
                f"{decimals(100 * most, 0)}% of what an alarm takes."
                if most < 0.995
                else f"No alarm after {counted(looks, self.unit)}."
            )
        else:
            assert self.since is not None
            way = "risen" if self.now.estimate > self.base.estimate else "fallen"
            head = (
                f"Alarm at {self.unit} {self.alarm:,} after the baseline: the mean has {way}, most likely from "
                f"{self.unit} {self.since:,} on, to {estimated(self.now.estimate, self.now.low, self.now.high)}."
            )
        over = f"at most {settings.alpha:g} false alarms over {settings.horizon:,} {self.unit}s, at every look"
        return [head, f"{base}; {over}."]

    def summary(self) -> str:
        """The sentences, and what they rest on."""
        return "\n".join([*self.sentences(), *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """The evidence at each look; the line is the alarm's."""
        ax = pictures.axes(ax, height=2.8)
        x = np.arange(1, len(self.evidence) + 1)
        step = max(len(x) // 2000, 1)
        ax.plot(x[::step], np.maximum(self.evidence[::step], 1e-4), color=pictures.JUDGE, linewidth=1.3)
        ax.axhline(1.0, color=pictures.FAIL, linewidth=1, linestyle=":")
        for at, colour in ((self.since, pictures.MUTED), (self.alarm, pictures.FAIL)):
            if at is not None:
                ax.axvline(at, color=colour, linewidth=1)
        ax.set_yscale("log")
        ax.set_xlabel(f"{self.unit}s after the baseline")
        ax.set_ylabel("evidence ÷ alarm")
        return ax


@question(MonitorSettings)
def monitor(labels: Annotations | Chunks, settings: MonitorSettings) -> Monitor:
    """Have the judge's labels, or its distance from people, moved since the baseline? Valid at every look.

    The same labels and more give the same evidence and more, so a growing file may be looked at as often as one likes.

    Parameters
    ----------
    labels : Annotations
        One criterion, labels with ends: categories, or numbers on a scale.

    Raises
    ------
    DesignError
        Where labels have no ends, or there are fewer looks than a baseline takes.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=900, n_annotators=2, scale="1-5", seed=2)
    >>> assay.monitor(labels, baseline=400).alarm is None
    True
    """
    labels = labels.in_memory("a monitor")
    judge = judge_of(labels, settings.judge, "is watched")
    looks, low, span, unit, data = _looks(labels, judge, settings)
    start = 0 if settings.baseline_mean is not None else settings.baseline
    if len(looks) <= start:
        raise DesignError(
            f"there are {len(looks):,} {unit}s and the baseline takes the first {start:,}; wait for more, or take a "
            "smaller one with baseline=... (from 2,000 on it hardly costs speed)",
            option="baseline",
        )
    x = (looks[start:] - low) / span
    base = (looks[:start] - low) / span
    known = None
    if settings.baseline_mean is not None:
        known = (settings.baseline_mean - low) / span
        if not 0 < known < 1:
            raise DesignError(
                f"baseline_mean must lie inside the scale, {low:g} to {low + span:g}; got {settings.baseline_mean:g}",
                option="baseline_mean",
            )
    wealth, log_bets = detector(x, base if known is None else known, settings.horizon)
    over = np.flatnonzero(wealth >= 1 / settings.alpha)
    alarm = int(over[0]) if len(over) else None
    since = None if alarm is None else _change_point(log_bets, alarm, settings.horizon)
    last = len(x) if alarm is None else alarm + 1
    now = sequence(x[(since or 0) : last] if alarm is not None else x, 1 - settings.alpha, low, span)
    first = _base_estimate(base, settings, low, span)
    notes = []
    if settings.clusters is None and _shared_stems(labels):
        notes.append("labels of one document come together and are counted one by one; clusters=... makes a document a "
                     "look")  # fmt: skip
    run = Run(
        "monitor", settings, data, {"looks": len(looks), "watched": judge}, cautions=tuple(f"{n}." for n in notes)
    )
    return Monitor(
        None if alarm is None else alarm + 1, None if since is None else since + 1, first, now, len(base),
        last - (since or 0), wealth * settings.alpha, looks[start:], unit, run,
    )  # fmt: skip


# -- the detector --------------------------------------------------------------------------------------------


def detector(x: Floats, base: Floats | float, horizon: int) -> tuple[Floats, Floats]:
    """Wealth at each look, and the logarithm of what each bet has made since the start.

    Against a mean p of the baseline, with a bet of size l towards the baseline's own mean ± a change,

        E_t(p) = B(p) · { Σ over starts k ≤ t of (1/T) Π_{i=k..t} [1 + l (x_i − p)] + (1 − t/T) },

    averaged over two changes and both directions; B(p) = Π over the baseline of [1 ∓ λ (x − p)] bets that its mean lies
    on the other side of p. At the true p that is a martingale from 1 on, so the least of all p, which is the wealth,
    reaches 1/α with a chance of α at most. Every T looks it starts again.

    Parameters
    ----------
    x : (looks,) float
        From 0 to 1.
    base : (baseline looks,) float, or float
        The baseline, or its mean where that is known.

    Returns
    -------
    wealth : (looks,) float
    log_bets : (4, looks) float
        Against the baseline's own mean.
    """
    p, mean, spread, n = _candidates(base)
    changes = [max(change, errors / math.sqrt(n)) for change, errors in CHANGES]
    bets = [(change, sign) for change in changes for sign in (1.0, -1.0)]
    sizes = [_size(np.append(p, mean), mean + sign * change, spread, sign) for change, sign in bets]
    odds = np.array([_odds(p, base, change, sign) for change, sign in bets]) / len(bets)
    wealth = np.empty(len(x))
    for start in range(0, len(x), horizon):
        made = np.zeros((len(bets), len(p)))
        for first in range(start, min(start + horizon, len(x)), PIECE):
            part = x[first : min(first + PIECE, start + horizon)]
            rest = 1 - (np.arange(len(part)) + first - start + 1) / horizon
            total = np.zeros((len(p), len(part)))
            for b, size in enumerate(sizes):
                grown, made[b] = _grown(1 + size[:-1, None] * (part - p[:, None]), made[b], horizon)
                total += odds[b][:, None] * (grown + rest)
            wealth[first : first + len(part)] = total.min(axis=0)
    return wealth, np.array([np.cumsum(np.log1p(size[-1] * (x - mean))) for size in sizes])


def _candidates(base: Floats | float) -> tuple[Floats, float, float, float]:
    """Means that the baseline may have had, its own, its variance as a share of a coin's, and its looks.

    They lie closer together near the baseline's own mean, where labels that vary less than a coin put the least wealth.
    """
    if isinstance(base, float):
        return np.array([base]), base, 1.0, math.inf
    n, mean = len(base), float(base.mean())
    coin = mean * (1 - mean)
    # As if two of a coin had been seen besides: labels that have not varied yet may.
    spread = min((n * float(base.var()) + 2 * coin) / ((n + 2) * coin), 1.0) if coin > 0 else 1.0
    root = np.linspace(-math.sqrt(FARTHEST), math.sqrt(FARTHEST), CANDIDATES)
    angle = math.asin(math.sqrt((mean * n + 0.375) / (n + 0.75))) + np.sign(root) * root**2 / (2 * math.sqrt(n))
    inside = np.unique(np.sin(np.clip(angle, 1e-4, math.pi / 2 - 1e-4)) ** 2)
    return inside, min(max(mean, 1e-6), 1 - 1e-6), spread, float(n)


def _size(p: Floats, towards: float, spread: float, sign: float) -> Floats:
    """The bet that grows fastest where a mean of p has become another; of a coin that is the ratio of likelihoods."""
    off = np.maximum(sign * (towards - p), 0.0)
    return sign * np.minimum(off / (spread * p * (1 - p) + (1 - spread) * off**2), _boldest(p))


def _boldest(p: Floats) -> Floats:
    return BOLDEST / np.maximum(p, 1 - p)


def _odds(p: Floats, base: Floats | float, change: float, sign: float) -> Floats:
    """What a bet has made of the baseline against each mean p: that the truth is below it, for a change upward."""
    if isinstance(base, float):
        return np.ones(len(p))
    size = np.minimum(BASELINE_NATS / (len(base) * change), _boldest(p))
    value, number = np.unique(base, return_counts=True)
    return np.exp(np.minimum(np.log1p(-sign * size[:, None] * (value - p[:, None])) @ number, 300.0))


def _grown(factor: Floats, made: Floats, horizon: int) -> tuple[Floats, Floats]:
    """S_t = (S_{t−1} + 1/T) · factor_t, from what was made before: (candidates, looks), and its last column."""
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


def _change_point(log_bets: Floats, alarm: int, horizon: int) -> int:
    """The start, up to the alarm, from which the best bet has made most."""
    first = alarm // horizon * horizon
    best, at = -math.inf, first
    for row in log_bets:
        before = np.concatenate([[0.0], row])[first : alarm + 1]
        k = int(before.argmin())
        if (made := float(row[alarm] - before[k])) > best:
            best, at = made, first + k
    return at


def baseline_ends(x: Floats, alpha: float) -> tuple[float, float]:
    """The baseline's mean at 1 − α, α/2 at each end: Clopper & Pearson's of two values, else empirical Bernstein's
    (Maurer & Pontil 2009). Shown; no alarm rests on it."""
    n = len(x)
    if np.isin(x, (0.0, 1.0)).all():
        k = float(x.sum())
        low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, alpha / 2))
        return low, 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - alpha / 2))
    log = math.log(4 / alpha)
    half = math.sqrt(2 * float(x.var(ddof=1)) * log / n) + 7 * log / (3 * (n - 1))
    return max(float(x.mean()) - half, 0.0), min(float(x.mean()) + half, 1.0)


def sequence(x: Floats, level: float, low: float, span: float) -> Estimate:
    """The mean with a confidence sequence: Robbins' normal mixture for values from 0 to 1, valid at every look."""
    t = len(x)
    if not t:
        return Estimate(math.nan, math.nan, math.nan, math.nan, "no look after the baseline")
    mean = float(x.mean())

    def ends(at: float) -> tuple[float, float]:
        grown = t / MIXED + 1
        half = math.sqrt(2 * grown * MIXED / t**2 * 0.25 * math.log(math.sqrt(grown) / ((1 - at) / 2)))
        return low + span * max(mean - half, 0.0), low + span * min(mean + half, 1.0)

    return EstimateByRule(low + span * mean, *ends(level), span * float(x.std()) / math.sqrt(t), ends=ends)


def _base_estimate(base: Floats, settings: MonitorSettings, low: float, span: float) -> Estimate:
    if settings.baseline_mean is not None:
        return Estimate(settings.baseline_mean, math.nan, math.nan, math.nan, "it is known")

    def at(level: float) -> tuple[float, float]:
        return tuple(low + span * e for e in baseline_ends(base, 1 - level))  # type: ignore[return-value]

    mean = low + span * float(base.mean())
    error = span * float(base.std()) / math.sqrt(len(base))
    return EstimateByRule(mean, *at(1 - settings.alpha), error, ends=at)


# -- the looks -------------------------------------------------------------------------------------------------


def _looks(labels: Annotations, judge: str, settings: MonitorSettings) -> tuple[Floats, float, float, str, str]:
    """One number a look, in the order in which labels came; the scale's lower end and span; what a look is."""
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
        raise DesignError("no item has both the judge's label and a person's; watch='judge' watches its labels alone")
    order = _order(table, settings)[used]
    used = used[np.argsort(order, kind="stable")]
    looks = judged[used]
    unit = "label"
    data = fingerprint_with(ratings.fingerprint, **digest_of_columns(table, settings.order, settings.clusters))
    if settings.clusters is not None:
        codes = cluster_codes(table, settings.clusters)[used]
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        means = np.bincount(inverse, looks) / np.bincount(inverse)
        looks, unit = means[np.argsort(first)], "document"
    return looks, low, span, unit, data


def _numbers(ratings: Ratings, settings: MonitorSettings) -> tuple[Floats, float, float]:
    """Labels as numbers, the lower end of their scale and its span."""
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
            f"a monitor needs labels with ends; these are on the scale '{ratings.scale.spec}'. Give the scale ends "
            "(scale='interval:0-100'), or watch one label's share with share_of=..."
        )
    low, high = ratings.scale.bounds
    return value, low, high - low


def _order(table: Annotations, settings: MonitorSettings) -> Ints:
    """The place of each item in the stream."""
    if settings.order is None:
        return np.arange(table.items.height)
    name = table.column_name(settings.order)
    if name in table.items.columns:
        column = table.items[name]
    else:
        first = table.labels.group_by("item").agg(pl.col(name).min())
        column = table.items.select("item").join(first, on="item", how="left", maintain_order="left")[name]
    if column.null_count():
        raise DataError(
            f"{counted(column.null_count(), 'item')} have no '{settings.order}', so their place in the order is not "
            "known; fill it, or drop them"
        )
    return np.asarray(column.rank("ordinal").to_numpy().astype(np.int64))


def _shared_stems(labels: Annotations) -> bool:
    """Whether the items have a column of documents that nobody named."""
    return any(c in labels.items.columns and labels.items[c].n_unique() < labels.n_items for c in ("document", "doc"))
