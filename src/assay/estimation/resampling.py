"""From sums over items to values with intervals: which unit is resampled, drawing the resamples, estimating.

Numbers depend on the seed and the data alone: not on the order of rows, the size of memory blocks, the
number of processes, or whether they run here or on a cluster.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError, DesignError
from assay.estimation.intervals import Estimates, Transform, ends_of
from assay.estimation.options import IntervalSettings, Method, Raters
from assay.estimation.statistic import Data, Estimated, Floats, Ints, MultipleEstimates, Statistic

Found = TypeVar("Found")

MAX_UNITS = 10_000
"""Above this many items (or clusters) they are merged at random into this many blocks before resampling.

Blocks of exchangeable items vary as the items do, so the interval is the same up to a relative error of
about ``1 / sqrt(2 * MAX_UNITS)`` (0.7 %) in its width; time and memory stop growing with the table.
"""

LEAST_UNITS = 200
"""However wide the moments are, there are this many blocks."""

UNIT_CELLS = 12_000_000
"""Numbers that the sums of wide moments hold, at most (96 MiB): items are merged into blocks until they fit."""

RESAMPLES_PER_BLOCK = 64
"""Resamples that share one random stream; fixed, so that no setting of memory or processes changes a digit."""

MOST_KEPT = 4_000_000
"""Resampling counts up to this number are kept for the next estimate with the same units and seed."""

MOST_KEPT_SMALL = 2**24
"""Counts up to this number are kept in a byte each: no unit among them is ever drawn more than 255 times."""

PRODUCT_CELLS = 2**21
"""Blocks of resamples are multiplied and valued together up to this size (16 MiB); a constant, as above."""

ROW_BY_ROW = 1_000
"""Number of units from which each resample is counted separately."""

MOST_COLUMNS = 5_000
"""Sums up to this number a unit are looked through for those that are the same."""

EXACT = 2**24
"""Whole numbers below this are exact in single precision, in which a product takes half the time."""

ONE_UNIT = "a single unit cannot be resampled"
"""Why a value of one item or cluster has no interval."""


class IntervalMethod(Protocol):
    """The interval options, which `IntervalSettings` and the settings of every analysis have."""

    @property
    def method(self) -> Method:
        """Jackknife, percentile, bca or none."""

    @property
    def n_resamples(self) -> int:
        """Bootstrap resamples."""

    @property
    def confidence(self) -> float:
        """Level."""

    @property
    def seed(self) -> int:
        """Of the resamples."""


@runtime_checkable
class Estimability(Protocol):
    """A statistic whose values each depend on some of the units only."""

    def support(self, sums: Floats) -> Ints:
        """Return the number of units and items of each value: (units, k) sums -> (2, q)."""


@dataclass(frozen=True, eq=False)
class Units:
    """Which unit each item is resampled with: itself, its cluster, or a random block of either.

    Attributes
    ----------
    of_item : (items,) int
        The unit, from 0; −1 for items that are no part of the sample.
    n : int
        The number of units.
    name : str
        The kind of unit: ``items``, ``clusters`` or ``blocks``.
    """

    of_item: Ints
    n: int
    name: str

    @classmethod
    def of(
        cls, n_items: int, clusters: Ints | None = None, *, width: int = 1, used: Ints | None = None,
        most: int | None = MAX_UNITS,
    ) -> Units:  # fmt: skip
        """The units of ``n_items`` items: the one rule for every question.

        Parameters
        ----------
        n_items : int
        clusters : (items,) int, optional
            The cluster of each item; clusters are resampled whole.
        width : int
            Numbers that each unit's sums will have: the wider, the fewer blocks.
        used : array of int, optional
            Positions of the items that are part of the sample; all when not given.
        most : int or None
            Blocks at most; None never merges.
        """
        if clusters is not None and len(clusters) != n_items:
            raise DataError(f"there are {n_items} items but {len(clusters)} cluster labels")
        limit = None if most is None else unit_limit(width, most)
        n = n_whole = n_items if used is None else len(used)
        unit: Ints | None = None
        if clusters is not None:
            unit = np.unique(clusters if used is None else clusters[used], return_inverse=True)[1]
            n = n_whole = int(unit.max()) + 1 if len(unit) else 0
        if limit is not None and n_whole > limit:
            # A fixed shuffle: the blocks must not depend on the content of the items.
            block = np.random.default_rng(n_whole).permutation(n_whole)
            block %= limit
            unit, n = (block if unit is None else block[unit]), limit
        unit = np.arange(n_whole) if unit is None else unit
        if used is not None and len(used) < n_items:
            of_used, unit = unit, np.full(n_items, -1)
            unit[used] = of_used
        return cls(unit, n, "blocks" if n < n_whole else "items" if clusters is None else "clusters")


def width_limit(n_items: int) -> float:
    """`unit_limit` the other way round: sums that each of ``n_items`` may have, for none to be merged into blocks."""
    return math.inf if n_items <= LEAST_UNITS else UNIT_CELLS // n_items if n_items <= MAX_UNITS else 0


def unit_limit(width: int, most: int = MAX_UNITS) -> int:
    """Return the number of blocks into which more items are merged, if each has ``width`` sums."""
    return max(min(most, LEAST_UNITS), min(most, UNIT_CELLS // max(width, 1)))


@dataclass(frozen=True, eq=False)
class Sums:
    """Moments of annotators' labels summed by resampled unit, and the statistic of their sum.

    Attributes
    ----------
    statistic : Estimated
    sums : (units, k) float
    n_items : tuple of int
        Items that contribute, for each statistic if there are several.
    name : str
        The kind of unit.
    units : Units, optional
        The units of the items, if the same units are left out of other labels.
    """

    statistic: Estimated
    sums: Floats
    n_items: tuple[int, ...]
    name: str
    units: Units | None = None

    def estimate(self, how: IntervalMethod, transform: Transform | Sequence[Transform] = "none") -> Estimates:
        """The statistic with its interval, from the units that add anything; a transform for all values or for each.

        The interval is for these annotators; `Estimates.with_random_raters` has them as a sample.
        """
        return estimate_sums(
            self.statistic, self.sums[self.used], how, n_items=max(self.n_items), unit=self.name, transform=transform,
            raters="fixed",
        )  # fmt: skip

    @cached_property
    def used(self) -> Ints:
        """The units that contribute; all if none does."""
        found = np.flatnonzero((self.sums != 0).any(axis=1))
        return found if len(found) else np.arange(len(self.sums))

    def value_and_without(self, units: Ints) -> tuple[Floats, Floats]:
        """The statistic, (q,), and the same without each of some units, (units, q)."""
        total = self.sums.sum(axis=0)
        return np.atleast_1d(self.statistic.value(total)), np.asarray(self.statistic.value(total - self.sums[units]))

    def item_errors(self, value: int, minus: int | None = None) -> Floats | None:
        """The contribution of each item to the error of a value, or of its difference from another: (items,), NaN for
        items without one. None if several items are one unit."""
        if self.name != "items":
            return None
        part = np.full(len(self.sums), np.nan)
        each = self.value_and_without(self.used)[1]
        without = each[:, value] - (0.0 if minus is None else each[:, minus])
        part[self.used] = without - without.mean()
        return part if np.isfinite(without).all() else None


@dataclass(frozen=True, eq=False)
class JointSums(Sums):
    """Sums of several statistics of the same labels, side by side."""

    statistic: MultipleEstimates

    def estimate_apart(
        self, how: IntervalMethod, transforms: Sequence[Transform]
    ) -> list[tuple[list[int], Estimates, Sums]]:
        """Each statistic resampled over its own items: those that rest on equally many items are estimated together.

        Parameters
        ----------
        how : IntervalMethod
        transforms : sequence of str
            Of each statistic, which has one value.

        Returns
        -------
        list of (positions of the statistics, their values, the sums behind these)
        """
        found = []
        edges = np.cumsum((0, *self.statistic.widths))
        for n in dict.fromkeys(self.n_items):
            mine = [i for i, used in enumerate(self.n_items) if used == n]
            part: Sums = self
            if len(mine) < len(self.n_items):
                columns = np.concatenate([np.arange(edges[i], edges[i + 1]) for i in mine])
                part = Sums(self.statistic.part(mine), self.sums[:, columns], (n,), self.name, self.units)
            found.append((mine, part.estimate(how, [transforms[i] for i in mine]), part))
        return found


def estimate(
    statistic: Statistic[Data],
    data: Data,
    *,
    clusters: Ints | None = None,
    method: Method = "percentile",
    n_resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
    max_units: int | None = MAX_UNITS,
    transform: Transform = "none",
) -> Estimates:
    """What is the statistic, and how sure are we?

    Parameters
    ----------
    statistic : Statistic
        Its ``moments`` and ``value``.
    data
        The argument of ``statistic.moments``.
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
    Estimates
        ``low`` and ``high`` are NaN, with a reason, where every resample gives the same value, where more
        than 5% of the resamples leave the statistic undefined, or there is only one unit.

    Raises
    ------
    DesignError
        Without items, or for an unknown option.
    """
    how = IntervalSettings(method=method, n_resamples=n_resamples, confidence=confidence, seed=seed)
    moments = np.asarray(statistic.moments(data), dtype=float)
    units = Units.of(len(moments), clusters, most=max_units)
    sums = add_rows(moments, units.of_item, units.n)
    return estimate_sums(statistic, sums, how, n_items=len(moments), unit=units.name, transform=transform)


def estimate_sums(
    statistic: Estimated,
    sums: Floats,
    how: IntervalMethod,
    *,
    n_items: int | None = None,
    unit: str = "items",
    transform: Transform | Sequence[Transform] = "none",
    raters: Raters | None = None,
) -> Estimates:
    """`estimate` for moments that are summed already: (units, k), one row a unit to be resampled.

    This is where tables from chunks and clusters of machines arrive (`sum_pieces`).
    """
    if sums.ndim != 2 or len(sums) == 0:
        raise DesignError("there are no items to estimate from")
    n_units, method = len(sums), how.method
    total = sums.sum(axis=0)
    value = np.atleast_1d(np.asarray(statistic.value(total)))
    # A value may rest on fewer units than there are, as an annotator's who answered some of the items.
    support = np.empty((2, 0), dtype=np.int64)
    if method == "jackknife" and isinstance(statistic, Estimability):
        support = statistic.support(sums)
    scale: tuple[Transform, ...] = (transform,) * len(value) if isinstance(transform, str) else tuple(transform)
    replicates = leave_one_out = np.empty((0, len(value)))
    if method in ("bca", "jackknife") and n_units > 1:
        leave_one_out = np.asarray(statistic.value(total - sums))
    if method in ("percentile", "bca") and n_units > 1:
        replicates = resample(statistic, sums, n_resamples=how.n_resamples, seed=how.seed)
    if method == "none" or n_units == 1:
        reason = "no interval requested" if method == "none" else ONE_UNIT
        error, low, high = np.full((3, len(value)), np.nan)
        reasons: tuple[str | None, ...] = (reason,) * len(value)
    else:
        error, low, high, reasons = ends_of(method, value, replicates, leave_one_out, how.confidence, scale, support)
    return Estimates(
        value=value,
        standard_error=error,
        low=low,
        high=high,
        reasons=reasons,
        n_items=n_units if n_items is None else n_items,
        n_units=n_units,
        unit=unit,
        method=method,
        confidence=how.confidence,
        n_resamples=len(replicates),
        seed=how.seed,
        replicates=replicates,
        n_undefined=np.count_nonzero(np.isnan(replicates), axis=0),
        leave_one_out=leave_one_out,
        transform=scale,
        support=support,
        raters=raters,
    )


def estimate_replicates(
    value: Floats, replicates: Floats, how: IntervalMethod, *, n_items: int, n_units: int, unit: str = "items"
) -> Estimates:
    """Estimate values with given replicates, for a statistic that is not a sum over items.

    Parameters
    ----------
    value : (q,) float
    replicates : (n_resamples, q) float
        The statistic in each bootstrap resample; empty for none.
    """
    value = np.atleast_1d(value)
    empty = np.empty((0, len(value)))
    none: Transform = "none"
    if not len(replicates) or n_units == 1:
        reason = ONE_UNIT if how.method != "none" else "no interval requested"
        error, low, high = np.full((3, len(value)), np.nan)
        reasons: tuple[str | None, ...] = (reason,) * len(value)
        replicates = empty
    else:
        scale = (none,) * len(value)
        error, low, high, reasons = ends_of("percentile", value, replicates, empty, how.confidence, scale)
    return Estimates(
        value=value,
        standard_error=error,
        low=low,
        high=high,
        reasons=reasons,
        n_items=n_items,
        n_units=n_units,
        unit=unit,
        method=how.method,
        confidence=how.confidence,
        n_resamples=len(replicates),
        seed=how.seed,
        replicates=replicates,
        n_undefined=np.count_nonzero(np.isnan(replicates), axis=0),
        leave_one_out=empty,
        transform=(none,) * len(value),
    )


def estimate_open(
    statistic: Estimated, sums: Floats, drawn: Callable[[int], Floats], how: IntervalMethod, *, unit: str = "items"
) -> Estimates:
    """`estimate_sums` with the Bayesian bootstrap over units (Rubin 1981) instead of the jackknife.

    For values that are not a smooth function of the sums, such as a median over annotators: the jackknife overestimates
    their variance, and resamples of few items underestimate it.

    Parameters
    ----------
    sums : (units, k) float
    drawn : callable
        Gives n draws of the sums, as shares: (n, k).
    """
    if how.method != "jackknife" or len(sums) == 1:
        return estimate_sums(statistic, sums, how, unit=unit)
    value = np.atleast_1d(np.asarray(statistic.value(sums.sum(axis=0))))
    replicates = np.asarray(statistic.value(drawn(how.n_resamples)))
    found = estimate_replicates(value, replicates, how, n_items=len(sums), n_units=len(sums), unit=unit)
    return dataclasses.replace(found, method="percentile", drawn="Bayesian bootstrap")


@dataclass(frozen=True)
class Mean:
    """The mean of each column of a (items, q) array, with NaN for missing values."""

    def moments(self, data: Floats) -> Floats:
        """Return sums and counts of the values."""
        known = ~np.isnan(data)
        return np.concatenate([np.where(known, data, 0.0), known.astype(float)], axis=1)

    def value(self, sums: Floats) -> Floats:
        """Sum over count; NaN where nothing was there."""
        total, count = np.split(sums, 2, axis=-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return total / count


# -- sums of a table in pieces ----------------------------------------------------------------------


def gather(pieces: Iterable[Callable[[], Found]]) -> list[Found]:
    """What every piece of a table gives, in the order of the pieces; each is called in a worker."""
    from joblib import Parallel, delayed

    return list(Parallel()(delayed(piece)() for piece in pieces))


def sum_pieces(pieces: Iterable[Callable[[], Floats]]) -> Floats:
    """The sum of what every piece of a table adds; each is called in a worker, so that only sums travel.

    Pieces run through joblib: ``joblib.parallel_config(backend="dask")`` puts them on a cluster. Their sums
    are added in the order of the pieces, so the number of workers changes nothing.
    """
    from joblib import Parallel, delayed

    parts = iter(Parallel(return_as="generator")(delayed(piece)() for piece in pieces))
    first = next(parts, None)
    if first is None:
        raise DesignError("there are no items to estimate from")
    total: Floats = np.require(first, requirements=["W", "O"])  # a worker's array may be one that cannot be written to
    for part in parts:
        total += part
    return total


# -- drawing ----------------------------------------------------------------------------------------


def resample(statistic: Estimated, sums: Floats, *, n_resamples: int, seed: int) -> Floats:
    """The statistic in each bootstrap resample of the units: (n_resamples, q).

    Some blocks of resamples at a time are one matrix product of resampling counts with the units' sums. They run
    through joblib if the caller has set ``joblib.parallel_config(n_jobs=...)``.
    """
    n_units = len(sums)
    exact = _whole_numbers(sums)
    if exact and n_units * n_resamples <= MOST_KEPT:
        # Sums of whole numbers do not depend on the order of adding: single precision, all resamples at once.
        drawn = _all_counts(n_units, n_resamples, seed) @ sums.astype(np.float32)
        return np.asarray(statistic.value(drawn.astype(np.float64)))
    sums, columns = _different_columns(sums)
    n_blocks = math.ceil(n_resamples / RESAMPLES_PER_BLOCK)
    sizes = [min(RESAMPLES_PER_BLOCK, n_resamples - b * RESAMPLES_PER_BLOCK) for b in range(n_blocks)]
    factor: Any = sums.astype(np.float32) if exact else sums

    some = max(1, PRODUCT_CELLS // (RESAMPLES_PER_BLOCK * max(n_units, sums.shape[1])))
    kept = _cached_counts(n_units, n_resamples, seed)

    def product(p: int) -> Floats:
        first, last = p * some, min((p + 1) * some, n_blocks)
        if kept is not None:
            counts = kept[first * RESAMPLES_PER_BLOCK : last * RESAMPLES_PER_BLOCK]
        else:
            counts = np.concatenate([resampling_counts(n_units, sizes[b], seed, b) for b in range(first, last)])
        drawn = (counts.astype(factor.dtype) @ factor).astype(np.float64)
        return np.asarray(statistic.value(drawn if columns is None else drawn[:, columns]))

    return np.concatenate(_run(product, math.ceil(n_blocks / some)))


def resampling_counts(n_units: int, n_resamples: int, seed: int, block: int = 0) -> Floats:
    """Return the counts of each unit in each resample: (n_resamples, n_units), rows sum to n_units."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(block,)))
    counts = np.empty((n_resamples, n_units))
    step = max(1, min(n_resamples, 2**20 // n_units))
    for start in range(0, n_resamples, step):
        rows = min(step, n_resamples - start)
        drawn = rng.integers(0, n_units, size=(rows, n_units))
        if n_units >= ROW_BY_ROW:  # the counts then stay in the processor's cache
            for row, one in enumerate(drawn, start):
                counts[row] = np.bincount(one, minlength=n_units)
            continue
        drawn += n_units * np.arange(rows)[:, None]
        counts[start : start + rows] = np.bincount(drawn.ravel(), minlength=rows * n_units).reshape(rows, n_units)
    return counts


def _different_columns(sums: Floats) -> tuple[Floats, Ints | None]:
    """The different columns, and the index of each column among them; None if all differ.

    Coefficients of pairs of annotators have the sums of one annotator in each of its pairs.
    """
    if not 1 < sums.shape[1] <= MOST_COLUMNS:
        return sums, None
    place: dict[bytes, int] = {}
    which = np.array([place.setdefault(column.tobytes(), len(place)) for column in sums.T])
    if len(place) == len(which):
        return sums, None
    return np.ascontiguousarray(sums[:, np.unique(which, return_index=True)[1]]), which


def _cached_counts(n_units: int, n_resamples: int, seed: int) -> Any:
    """The counts of all resamples, or None if they are too large to keep."""
    if n_units * n_resamples <= MOST_KEPT:
        return _all_counts(n_units, n_resamples, seed)
    return _all_small_counts(n_units, n_resamples, seed) if n_units * n_resamples <= MOST_KEPT_SMALL else None


@lru_cache(maxsize=1)
def _all_small_counts(n_units: int, n_resamples: int, seed: int) -> NDArray[np.uint8]:
    counts = np.empty((n_resamples, n_units), dtype=np.uint8)
    for block, start in enumerate(range(0, n_resamples, RESAMPLES_PER_BLOCK)):
        rows = min(RESAMPLES_PER_BLOCK, n_resamples - start)
        counts[start : start + rows] = resampling_counts(n_units, rows, seed, block)
    return counts


@lru_cache(maxsize=4)
def _all_counts(n_units: int, n_resamples: int, seed: int) -> Any:
    """The counts of every block, drawn once because all judges of a table have the same resamples."""
    counts = np.empty((n_resamples, n_units), dtype=np.float32)
    for block, start in enumerate(range(0, n_resamples, RESAMPLES_PER_BLOCK)):
        rows = min(RESAMPLES_PER_BLOCK, n_resamples - start)
        counts[start : start + rows] = resampling_counts(n_units, rows, seed, block)
    return counts


def _whole_numbers(sums: Floats) -> bool:
    """Whether every sum over a resample is a whole number that single precision holds."""
    if not sums.size or len(sums) * max(float(np.max(sums)), -float(np.min(sums))) >= EXACT:
        return False
    return bool((sums == np.rint(sums)).all())


def _run(block: Callable[[int], Floats], n_blocks: int) -> list[Floats]:
    """Run blocks one after the other, or through joblib if the caller has configured it."""
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    _, n_jobs = get_active_backend()
    if n_blocks == 1 or n_jobs in (None, 1):
        return [block(b) for b in range(n_blocks)]
    return list(Parallel()(delayed(block)(b) for b in range(n_blocks)))


# -- sums by group -----------------------------------------------------------------------------------

SPARSE = 50_000
"""More rows than this are summed by a sparse product: no other copy of them fits the processor's cache."""


def add_rows(
    rows: Floats, group: NDArray[Any], n_groups: int, *others: Floats, kind: NDArray[Any] | None = None
) -> Floats:  # fmt: skip
    """Sum rows by group, in order of rows, and further tables of the same rows: (groups, k).

    Where rows come in few kinds, tables have a row a kind, and ``kind`` says which of them each row is: (rows,).
    """
    if len(group) == n_groups and np.array_equal(group, np.arange(n_groups)):
        found = [table if kind is None else table[kind] for table in (rows, *others)]
    else:
        # Numbers of two bytes are sorted by counting.
        order = np.argsort(group.astype(np.uint16) if n_groups < 2**16 else group, kind="stable")
        place = order if kind is None else kind[order]
        found = [_sums(table, group[order], place, n_groups) for table in (rows, *others)]
    return found[0] if len(found) == 1 else np.concatenate(found, axis=1)


def _sums(rows: Floats, group: NDArray[Any], place: NDArray[Any], n_groups: int) -> Floats:
    """The rows at these places, group by group, summed."""
    if len(place) > SPARSE:
        # The same sums in the same order, without a copy of the rows.
        from scipy.sparse import csr_array

        ends = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n_groups))])
        which = csr_array((np.ones(len(place)), place, ends), shape=(n_groups, len(rows)))
        return np.asarray(which @ rows)
    total = np.zeros((n_groups, rows.shape[1]))
    if len(place):
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        total[group[starts]] = np.add.reduceat(rows[place], starts, axis=0)
    return total
