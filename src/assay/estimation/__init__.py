"""A statistic -> value, interval, result. The one way in which assay estimates.

Nearly every statistic here is a smooth function of sums over items. It says two things:
``moments(data)``, what each item adds, and ``value(sums)``, the statistic from the summed moments,
broadcasting over leading axes. Everything else follows from that: the value is one call; a bootstrap is
one matrix product of resampling counts with the moments and one call; a jackknife is the total less each
item and one call; a paired difference is two statistics under the same resamples (`Difference`); clusters
are items summed before they are resampled; a table larger than memory is summed chunk by chunk.

Numbers depend on the seed and the data alone: not on the order of rows, the size of memory blocks, the
number of processes, or whether they run here or on a cluster.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay._version import __version__
from assay.errors import DataError, DesignError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Method = Literal["percentile", "bca", "jackknife", "none"]
Transform = Literal["none", "fisher", "log"]
Adjustment = Literal["by", "bh", "holm", "none"]
Data_contra = TypeVar("Data_contra", contravariant=True)
Data = TypeVar("Data")

MAX_UNITS = 10_000
"""Above this many items (or clusters) they are merged at random into this many blocks before resampling.

Blocks of exchangeable items vary as the items do, so the interval is the same up to a relative error of
about ``1 / sqrt(2 * MAX_UNITS)`` (0.7 %) in its width; time and memory stop growing with the table.
"""

RESAMPLES_PER_BLOCK = 64
"""Resamples that share one random stream; fixed, so that no setting of memory or processes changes a digit."""

MOST_UNDEFINED = 0.05
"""An interval is given while at most this share of the resamples leaves the statistic undefined."""


class Statistic(Protocol[Data_contra]):
    """What `estimate` needs to know of a statistic."""

    def moments(self, data: Data_contra) -> Floats:
        """What each item adds: (items, k). Centre the labels first where squares are summed."""

    def value(self, sums: Floats) -> Floats:
        """The statistic from summed moments: (..., k) -> (..., q). NaN where it is undefined."""


class Estimated(Protocol):
    """A statistic whose sums are known already."""

    def value(self, sums: Floats) -> Floats:
        """The statistic from summed moments: (..., k) -> (..., q)."""


@dataclass(frozen=True)
class Function(Generic[Data]):
    """A statistic from two functions."""

    of_items: Callable[[Data], Floats]
    of_sums: Callable[[Floats], Floats]

    def moments(self, data: Data) -> Floats:
        """What each item adds."""
        return self.of_items(data)

    def value(self, sums: Floats) -> Floats:
        """The statistic."""
        return self.of_sums(sums)


@dataclass(frozen=True)
class Together(Generic[Data]):
    """Several statistics of the same data under the same resamples; values stand side by side."""

    statistics: tuple[Statistic[Data], ...]
    widths: tuple[int, ...]
    """How many moments each statistic has."""

    @classmethod
    def of(cls, data: Data, *statistics: Statistic[Data]) -> tuple[Together[Data], Floats]:
        """The joint statistic and its moments, taken once."""
        parts = [s.moments(data) for s in statistics]
        return cls(statistics, tuple(p.shape[1] for p in parts)), np.concatenate(parts, axis=1)

    def moments(self, data: Data) -> Floats:
        """The moments of all, side by side."""
        return np.concatenate([s.moments(data) for s in self.statistics], axis=1)

    def parts(self, sums: Floats) -> list[Floats]:
        """The value of each statistic from the joint sums."""
        edges = np.cumsum((0, *self.widths))
        return [s.value(sums[..., a:b]) for s, a, b in zip(self.statistics, edges[:-1], edges[1:], strict=True)]

    def value(self, sums: Floats) -> Floats:
        """All values, side by side."""
        return np.concatenate(self.parts(sums), axis=-1)


@dataclass(frozen=True)
class Difference(Together[Data]):
    """First statistic minus second, under the same resamples: a paired difference."""

    def value(self, sums: Floats) -> Floats:
        """The difference of the two values."""
        first, second = self.parts(sums)
        return first - second


@dataclass(frozen=True)
class Mean:
    """The mean of each column of a (items, q) array, with NaN for what an item does not have."""

    def moments(self, data: Floats) -> Floats:
        """Sums and counts of what is there."""
        there = ~np.isnan(data)
        return np.concatenate([np.where(there, data, 0.0), there.astype(float)], axis=1)

    def value(self, sums: Floats) -> Floats:
        """Sum over count; NaN where nothing was there."""
        total, count = np.split(sums, 2, axis=-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return total / count


@dataclass(frozen=True)
class Interval:
    """One estimated number: its value, interval and, where one is missing, the reason."""

    estimate: float
    low: float
    high: float
    standard_error: float
    reason: str | None = None

    def row(self) -> dict[str, float]:
        """The three columns that a result's table has for it."""
        return {"estimate": self.estimate, "low": self.low, "high": self.high}


@dataclass(frozen=True, eq=False)
class Estimate:
    """Values with their uncertainty; arrays are (q,), one entry a value of the statistic.

    Attributes
    ----------
    value, standard_error, low, high : (q,) float
        NaN where it cannot be estimated; `reasons` says why.
    reasons : (q,) tuple of str or None
        Why an interval is missing.
    n_items, n_units : int
        Items behind the value, and units that were resampled.
    unit : str
        What a unit is: ``items``, ``clusters`` or ``blocks`` of either.
    method, confidence, n_resamples, seed
        How the interval was made.
    replicates : (n_resamples, q) float
        The statistic in each resample; empty for the jackknife.
    n_undefined : (q,) int
        Resamples in which the statistic was undefined; they are left out of the interval.
    left_out : (n_units, q) float
        The statistic without each unit in turn; empty for the percentile bootstrap.
    transform : {"none", "fisher", "log"}
        The scale on which a jackknife interval is symmetric.
    """

    value: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    reasons: tuple[str | None, ...]
    n_items: int
    n_units: int
    method: Method
    confidence: float
    n_resamples: int
    seed: int
    replicates: Floats
    n_undefined: NDArray[np.int64]
    unit: str = "items"
    left_out: Floats = field(default_factory=lambda: np.empty((0, 0)), repr=False, metadata={"json": False})
    transform: Transform = "none"

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, i: int) -> Interval:
        return Interval(
            float(self.value[i]),
            float(self.low[i]),
            float(self.high[i]),
            float(self.standard_error[i]),
            self.reasons[i],
        )

    def __iter__(self) -> Iterator[Interval]:
        return (self[i] for i in range(len(self)))

    def part(self, which: slice | NDArray[np.int64]) -> Estimate:
        """Some of the values, with their intervals and resamples."""
        return dataclasses.replace(
            self,
            value=self.value[which],
            standard_error=self.standard_error[which],
            low=self.low[which],
            high=self.high[which],
            reasons=tuple(np.array(self.reasons, dtype=object)[which]),
            replicates=self.replicates[:, which],
            n_undefined=self.n_undefined[which],
            left_out=self.left_out[:, which],
        )

    def contrast(self, weights: Floats) -> Estimate:
        """Linear combinations of the values under the same resamples: (c, q) weights -> c values.

        ``contrast([[1, -1]])`` is the paired difference of the first two values: a percentile interval where
        the estimate was bootstrapped, ``value ± t · se`` where it was jackknifed. Values of weight 0 do not
        matter, not even when they are undefined.

        Raises
        ------
        DesignError
            For an estimate that was made without an interval.
        """
        weights = np.atleast_2d(np.asarray(weights, dtype=float))
        if not (len(self.replicates) or len(self.left_out)):
            raise DesignError("a contrast needs an estimate with an interval; choose another method than 'none'")
        value, replicates, left_out = (_combine(v, weights) for v in (self.value, self.replicates, self.left_out))
        if len(replicates):
            error, low, high, reasons = _bootstrap_interval(value, replicates, self.confidence)
        else:
            error, low, high, reasons = _jackknife_interval(value, left_out, self.confidence)
        return dataclasses.replace(
            self,
            value=value,
            standard_error=error,
            low=low,
            high=high,
            reasons=reasons,
            method="percentile" if len(replicates) else "jackknife",
            replicates=replicates,
            n_undefined=np.isnan(replicates).sum(axis=0),
            left_out=left_out,
            transform="none",
        )

    def describe_interval(self) -> str:
        """How the interval was made, in words that fit a methods section."""
        level = f"{100 * self.confidence:g}%"
        unit = f"{self.n_units:,} {self.unit}"
        if self.method == "none":
            return "no interval"
        if self.method == "jackknife":
            scale = {"none": "", "fisher": " on Fisher's z scale", "log": " on the log scale"}[self.transform]
            return f"{level} jackknife interval{scale} over {unit}"
        name = {"percentile": "percentile", "bca": "bias-corrected and accelerated"}[self.method]
        return f"{level} {name} bootstrap interval, {self.n_resamples:,} resamples of {unit}, seed {self.seed}"


def estimate(
    statistic: Statistic[Data],
    data: Data,
    *,
    clusters: NDArray[np.int64] | None = None,
    method: Method = "percentile",
    n_resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
    max_units: int | None = MAX_UNITS,
    transform: Transform = "none",
) -> Estimate:
    """What is the statistic, and how sure are we?

    Parameters
    ----------
    statistic : Statistic
        Its ``moments`` and ``value``.
    data
        Whatever ``statistic.moments`` takes.
    clusters : (items,) int, optional
        The cluster (document, teacher) of each item, from 0; clusters are resampled whole.
    method : {"percentile", "bca", "jackknife", "none"}
        Percentile or bias-corrected and accelerated bootstrap (Efron 1987, eq. 6.1-6.6), or the
        leave-one-out jackknife with a t interval (``value ± t · se``).
    n_resamples : int
        Number of bootstrap resamples.
    confidence : float
        Level of the interval, between 0 and 1.
    seed : int
        Same seed, same numbers, on any number of processes.
    max_units : int or None
        Merge items into at most this many blocks before resampling, see `MAX_UNITS`; None never merges.
    transform : {"none", "fisher", "log"}
        ``fisher`` makes a jackknife interval symmetric for ``atanh(value)``: for statistics whose values end
        at 1; ``log`` for ``log(value)``: for those that end at 0. It covers better there and never leaves
        the range. Bootstrap intervals need no such help.

    Returns
    -------
    Estimate
        ``low`` and ``high`` are NaN, with a reason, where every resample gives the same value, where more
        than 5% of the resamples leave the statistic undefined, or where there is one unit only.

    Raises
    ------
    DesignError
        Where there are no items.
    """
    moments = np.asarray(statistic.moments(data), dtype=float)
    units = sum_by_unit(moments, clusters, max_units=max_units)
    unit = "items" if len(units) == len(moments) else "clusters" if clusters is not None else "blocks"
    return estimate_units(
        statistic,
        units,
        n_items=len(moments),
        unit=unit,
        method=method,
        n_resamples=n_resamples,
        confidence=confidence,
        seed=seed,
        transform=transform,
    )


def estimate_units(
    statistic: Estimated,
    units: Floats,
    *,
    n_items: int | None = None,
    unit: str = "items",
    method: Method = "percentile",
    n_resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
    transform: Transform = "none",
) -> Estimate:
    """`estimate` for moments that are summed already: (units, k), one row a unit to be resampled.

    This is where tables from chunks and clusters of machines arrive (`sum_chunks`).
    """
    if not 0 < confidence < 1:
        raise DesignError(f"confidence must lie between 0 and 1; got {confidence}")
    if method in ("percentile", "bca") and n_resamples < 1:
        raise DesignError(f"n_resamples must be at least 1; got {n_resamples}")
    if units.ndim != 2 or len(units) == 0:
        raise DesignError("there are no items to estimate from")
    n_units = len(units)
    total = units.sum(axis=0)
    value = np.atleast_1d(np.asarray(statistic.value(total)))
    replicates = left_out = np.empty((0, len(value)))
    if method in ("bca", "jackknife") and n_units > 1:
        left_out = np.asarray(statistic.value(total - units))
    if method in ("percentile", "bca") and n_units > 1:
        replicates = resample(statistic, units, n_resamples=n_resamples, seed=seed)
        without = left_out if method == "bca" else None
        error, low, high, reasons = _bootstrap_interval(value, replicates, confidence, without)
    elif method == "jackknife" and n_units > 1:
        error, low, high, reasons = _jackknife_interval(value, left_out, confidence, transform)
    elif method in ("percentile", "bca", "jackknife", "none"):
        reason = "no interval was asked for" if method == "none" else "a single unit cannot be resampled"
        error, low, high = np.full((3, len(value)), np.nan)
        reasons = (reason,) * len(value)
    else:
        raise DesignError(f"method must be percentile, bca, jackknife or none; got {method!r}")
    return Estimate(
        value=value,
        standard_error=error,
        low=low,
        high=high,
        reasons=reasons,
        n_items=n_units if n_items is None else n_items,
        n_units=n_units,
        unit=unit,
        method=method,
        confidence=confidence,
        n_resamples=len(replicates),
        seed=seed,
        replicates=replicates,
        n_undefined=np.isnan(replicates).sum(axis=0),
        left_out=left_out,
        transform=transform,
    )


def sum_by_unit(
    moments: Floats, clusters: NDArray[np.int64] | None = None, *, max_units: int | None = MAX_UNITS
) -> Floats:
    """Moments summed over clusters, and over random blocks of units where there are very many: (units, k)."""
    unit, n_units = units_of(len(moments), clusters, max_units=max_units)
    return moments if clusters is None and n_units == len(moments) else _add_rows(moments, unit, n_units)


def units_of(
    n_items: int, clusters: NDArray[np.int64] | None = None, *, max_units: int | None = MAX_UNITS
) -> tuple[NDArray[np.int64], int]:
    """The unit that each item is resampled with, and how many units there are.

    For statistics that sum straight into units, because items times moments would not fit in memory.
    """
    unit, n_units = np.arange(n_items), n_items
    if clusters is not None:
        if len(clusters) != n_items:
            raise DataError(f"there are {n_items} items but {len(clusters)} cluster labels")
        distinct, unit = np.unique(clusters, return_inverse=True)
        n_units = len(distinct)
    if max_units is not None and n_units > max_units:
        # A fixed shuffle: which items share a block must not depend on anything the items mean.
        unit = (np.random.default_rng(n_units).permutation(n_units) % max_units)[unit]
        n_units = max_units
    return unit, n_units


def sum_chunks(
    statistic: Statistic[Data],
    chunks: Iterable[Callable[[], tuple[Data, NDArray[np.int64]]]],
    n_units: int,
) -> Floats:
    """Moments of a table that comes in chunks, summed into units: (n_units, k).

    Parameters
    ----------
    chunks : iterable of functions
        Each returns a chunk's data and, for each of its items, the unit it belongs to; it is called in
        a worker, so that only the sums travel. An item must lie whole in one chunk.

    Notes
    -----
    Chunks run through joblib: ``joblib.parallel_config(backend="dask")`` puts them on a cluster. Their sums
    are added in the order of the chunks, so the number of workers changes nothing.
    """
    from joblib import Parallel, delayed

    def summed(chunk: Callable[[], tuple[Data, NDArray[np.int64]]]) -> Floats:
        data, unit = chunk()
        return _add_rows(statistic.moments(data), unit, n_units)

    total: Floats | None = None
    for part in Parallel(return_as="generator")(delayed(summed)(chunk) for chunk in chunks):
        total = part if total is None else total + part
    if total is None:
        raise DesignError("there are no items to estimate from")
    return total


def resample(statistic: Estimated, units: Floats, *, n_resamples: int, seed: int) -> Floats:
    """The statistic in each bootstrap resample of the units: (n_resamples, q).

    Each block of resamples is one matrix product of resampling counts with the units' sums. Blocks run
    through joblib where the caller has set ``joblib.parallel_config(n_jobs=...)``.
    """
    n_blocks = math.ceil(n_resamples / RESAMPLES_PER_BLOCK)
    sizes = [min(RESAMPLES_PER_BLOCK, n_resamples - b * RESAMPLES_PER_BLOCK) for b in range(n_blocks)]

    def block(b: int) -> Floats:
        return np.asarray(statistic.value(resampling_counts(len(units), sizes[b], seed, b) @ units))

    return np.concatenate(_run(block, n_blocks))


def resampling_counts(n_units: int, n_resamples: int, seed: int, block: int = 0) -> Floats:
    """How often each unit is drawn: (n_resamples, n_units), rows sum to n_units."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(block,)))
    counts = np.empty((n_resamples, n_units))
    step = max(1, min(n_resamples, 2**20 // n_units))
    for start in range(0, n_resamples, step):
        rows = min(step, n_resamples - start)
        drawn = rng.integers(0, n_units, size=(rows, n_units)) + n_units * np.arange(rows)[:, None]
        counts[start : start + rows] = np.bincount(drawn.ravel(), minlength=rows * n_units).reshape(rows, n_units)
    return counts


def adjust_p(p: Floats, method: Adjustment = "by") -> Floats:
    """P-values adjusted for their number: reject those at most q.

    ``by`` Benjamini & Yekutieli (2001), false discovery rate under any dependence; ``bh`` Benjamini &
    Hochberg (1995), under independence; ``holm`` Holm (1979), family-wise error; NaN stays NaN and does
    not count as a hypothesis.
    """
    p = np.asarray(p, dtype=float)
    adjusted = np.full(p.shape, np.nan)
    known = ~np.isnan(p)
    tested = p[known]
    m = len(tested)
    if m == 0 or method == "none":
        return p.copy()
    order = np.argsort(tested, kind="stable")
    rank = np.arange(1, m + 1)
    ranked = tested[order]
    if method == "holm":
        steps = np.maximum.accumulate((m - rank + 1) * ranked)
    else:
        factor = np.sum(1.0 / rank) if method == "by" else 1.0
        steps = np.minimum.accumulate((factor * m / rank * ranked)[::-1])[::-1]
    back = np.empty(m)
    back[order] = np.minimum(steps, 1.0)
    adjusted[known] = back
    return adjusted


# -- results ----------------------------------------------------------------------------------------


class Result(ABC):
    """What every finding can do; findings are frozen dataclasses that inherit it."""

    symbol: ClassVar[str] = "estimate"
    """What the column ``estimate`` of the table is called by readers."""

    @property
    @abstractmethod
    def table(self) -> pl.DataFrame:
        """One row a thing that was estimated."""

    @property
    @abstractmethod
    def signature(self) -> str:
        """One line by which two people see whether they computed the same thing."""

    @abstractmethod
    def summary(self) -> str:
        """A few plain lines a person can paste into a paper."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """A picture of the finding, on ``ax`` or on a new figure."""
        raise DesignError(f"{type(self).__name__} has no picture; its table says it all")

    def to_dict(self) -> dict[str, Any]:
        """Everything, safe for JSON: NaN is null, with the version, the settings and the seed."""
        fields = {
            f.name: json_safe(getattr(self, f.name))
            for f in dataclasses.fields(self)  # type: ignore[arg-type]
            if not f.name.startswith("_") and f.metadata.get("json", True)
        }
        return {
            "kind": type(self).__name__,
            "assay": __version__,
            "signature": self.signature,
            **fields,
            "table": json_safe(self.table),
        }

    def __str__(self) -> str:
        return self.summary()


@dataclass(frozen=True)
class Part:
    """A part of a page as a question hands it over: words, frames with all their digits, pictures not yet drawn.

    Attributes
    ----------
    frames, pictures : tuple
        (caption, frame) and (caption, what draws the picture).
    lines : tuple of str
        What was left out.
    """

    title: str
    words: tuple[str, ...] = ()
    frames: tuple[tuple[str, pl.DataFrame], ...] = ()
    pictures: tuple[tuple[str, Callable[[], Axes]], ...] = ()
    lines: tuple[str, ...] = ()


def signature(name: str, **parts: object) -> str:
    """``alt-test|items:87|…|assay:0.1.0``: parts that are None are left out."""
    said = [f"{key}:{_short(part)}" for key, part in parts.items() if part is not None]
    return "|".join([name, *said, f"assay:{__version__}"])


def shown(value: float, digits: int = 2) -> str:
    """A number as a sentence says it; what could not be estimated is said in words."""
    return "not estimable" if math.isnan(value) else f"{value:.{digits}f}"


def json_safe(value: Any) -> Any:
    """Plain lists, dicts, numbers and text; NaN and infinities become null."""
    if isinstance(value, pl.DataFrame):
        return [json_safe(row) for row in value.iter_rows(named=True)]
    if isinstance(value, np.ndarray):
        return json_safe(value.tolist())
    if isinstance(value, np.generic):
        return json_safe(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Result):
        return value.to_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        shown = [f for f in dataclasses.fields(value) if f.metadata.get("json", True) and f.name != "replicates"]
        return {f.name: json_safe(getattr(value, f.name)) for f in shown}
    if isinstance(value, dict):
        return {str(k): json_safe(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [json_safe(v) for v in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)


# -- private ----------------------------------------------------------------------------------------


Ends = tuple[Floats, Floats, Floats, tuple[str | None, ...]]
"""Standard error, low, high and the reason where they are missing, one entry a value."""


def _bootstrap_interval(value: Floats, replicates: Floats, confidence: float, left_out: Floats | None = None) -> Ends:
    """Percentile intervals from the statistic in each resample; BCa where the jackknife values are given."""
    error, low, high = np.full((3, len(value)), np.nan)
    reasons: list[str | None] = []
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    for j in range(len(value)):
        defined = replicates[~np.isnan(replicates[:, j]), j]
        reason = _no_interval(float(value[j]), defined, len(replicates))
        ends = tails
        if reason is None and left_out is not None:
            ends = _bca_ends(float(value[j]), defined, left_out[:, j], tails)
            if np.isnan(ends).any():
                reason = "the BCa interval is undefined here; use method='percentile'"
        if reason is None:
            low[j], high[j] = np.quantile(defined, ends)
            error[j] = defined.std(ddof=1)
        reasons.append(reason)
    return error, low, high, tuple(reasons)


def _no_interval(value: float, defined: Floats, n_resamples: int) -> str | None:
    if math.isnan(value):
        return "the statistic is undefined on these data"
    if n_resamples - len(defined) > MOST_UNDEFINED * n_resamples:
        share = 100 * (1 - len(defined) / n_resamples)
        return f"the statistic is undefined in {share:.0f}% of the resamples"
    if np.ptp(defined) <= 1e-12 * max(1.0, abs(value)):
        return "every resample gives the same value, so the data cannot show how sure it is"
    return None


def _bca_ends(value: float, defined: Floats, left_out: Floats, ends: Floats) -> Floats:
    """The two quantiles that a BCa interval takes (Efron 1987): bias z0 from ties split evenly, acceleration a
    from the skewness of the jackknife."""
    from scipy.special import ndtr, ndtri

    below = (np.mean(defined < value) + np.mean(defined <= value)) / 2
    z0 = ndtri(below)
    influence = left_out.mean() - left_out
    a = np.sum(influence**3) / (6 * np.sum(influence**2) ** 1.5) if np.any(influence) else np.nan
    z = z0 + ndtri(ends)
    return np.asarray(ndtr(z0 + z / (1 - a * z)))


def _jackknife_interval(value: Floats, left_out: Floats, confidence: float, transform: Transform = "none") -> Ends:
    """Value ± t · se from the statistic without each unit in turn, on the scale asked for."""
    from scipy.special import stdtrit

    n = len(left_out)
    with np.errstate(invalid="ignore"):
        error = np.sqrt((n - 1) / n * np.sum((left_out - left_out.mean(axis=0)) ** 2, axis=0))
    reasons: list[str | None] = []
    for j in range(len(value)):
        if np.isnan(left_out[:, j]).any() or math.isnan(value[j]):
            reasons.append("the statistic is undefined without some of the items")
        elif error[j] <= 1e-12 * max(1.0, abs(value[j])):
            reasons.append("leaving out any item gives the same value, so the data cannot show how sure it is")
        else:
            reasons.append(None)
    error = np.where([r is None for r in reasons], error, np.nan)
    half = stdtrit(n - 1, (1 + confidence) / 2) * error
    low, high = value - half, value + half
    if transform == "fisher":
        # The delta method: atanh has slope 1 / (1 - value²). Coefficients may lie below -1; those stay as they are.
        inside = np.abs(value) < 1
        centre = np.where(inside, value, 0.0)
        wide = half / (1 - centre**2)
        low = np.where(inside, np.tanh(np.arctanh(centre) - wide), low)
        high = np.where(inside, np.tanh(np.arctanh(centre) + wide), high)
    elif transform == "log":
        centre = np.where(value > 0, value, 1.0)
        low = np.where(value > 0, centre * np.exp(-half / centre), low)
        high = np.where(value > 0, centre * np.exp(half / centre), high)
    return error, low, high, tuple(reasons)


def _combine(values: Floats, weights: Floats) -> Floats:
    """(..., q) values to (..., c) weighted sums; what has no weight does not matter."""
    if not values.size:
        return np.empty((0, len(weights)))
    columns = [values[..., used] @ row[used] for row in weights for used in [np.flatnonzero(row)]]
    return np.stack(columns, axis=-1)


def _add_rows(rows: Floats, group: NDArray[np.int64], n_groups: int | None = None) -> Floats:
    """Rows summed by group, in order of rows: (groups, k)."""
    n_groups = int(group.max()) + 1 if n_groups is None else n_groups
    order = np.argsort(group, kind="stable")
    sorted_group = group[order]
    total = np.zeros((n_groups, rows.shape[1]))
    if len(order):
        starts = np.flatnonzero(np.diff(sorted_group, prepend=-1))
        total[sorted_group[starts]] = np.add.reduceat(rows[order], starts, axis=0)
    return total


def _run(block: Callable[[int], Floats], n_blocks: int) -> list[Floats]:
    """Blocks one after the other, or through joblib where the caller has set it up."""
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    _, n_jobs = get_active_backend()
    if n_blocks == 1 or n_jobs in (None, 1):
        return [block(b) for b in range(n_blocks)]
    return list(Parallel()(delayed(block)(b) for b in range(n_blocks)))


def _short(part: object) -> str:
    if isinstance(part, float):
        return f"{part:.2f}" if round(part, 2) == part else f"{part:g}"
    if isinstance(part, Sequence) and not isinstance(part, str):
        return ",".join(map(_short, part))
    return str(part).replace("|", "/")
