"""The cells of columns, without marks of missing values; and columns that are computed from others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.names import strip_spaces
from assay.data.notations import are_dates
from assay.data.structure.dates import Moments, read_moments
from assay.data.structure.label_lists import lists_of_labels
from assay.data.values import MARKS, MOST_CATEGORIES, is_free_text, parse_numbers

ROWS_INSPECTED = 20_000
"""Rows from which roles are detected: sheets kept by hand have fewer, and larger tables repeat themselves."""

LEAST_NUMERIC = 0.9
"""Share of a column's filled cells that are numbers, from which it is a column of numbers."""


LEAST_CORRECTED = 10
"""Cells from which a few that are written otherwise are mistakes: among fewer, they are a sort of cells."""


MIN_DIFFERING_COMPUTED = 3
"""Rows in which the other columns differ, from which a column of their exact means or totals is called computed."""

MIN_DIFFERING_MAJORITY = 10
"""Rows in which the other columns differ, from which a column that equals their majority, median or rounded mean is
ambiguous: an annotator who agrees with it in three of four such rows does so in ten of ten with probability .06, in
three of three with .42."""


class ColumnView:
    """Properties of a column's cells, without marks of missing values."""

    def __init__(self, column: pl.Series) -> None:
        self.name, self.rows = column.name, len(column)
        self.temporal, self.lists = column.dtype.is_temporal(), column.dtype.is_nested()
        if column.dtype.is_float():
            column = column.fill_nan(None)
        cells = strip_spaces(_texts(column)).to_frame("cell")
        cell, marked = pl.col("cell"), pl.col("cell").str.to_lowercase().is_in(list(MARKS)).fill_null(False)
        # One pass: a separate call per step takes longer than the steps do on a sheet of some hundred rows.
        self.texts = cells.select(pl.when(~marked & (cell != "")).then(cell)).to_series()
        self.filled = len(self.texts) - self.texts.null_count()
        self.identify_rows_with: dict[tuple[str, ...], bool | None] = {}
        """Whether it identifies a row together with other columns of its table, as far as that was asked."""

    @cached_property
    def distinct(self) -> pl.Series:
        """The distinct cells, in order of appearance."""
        return self.texts.drop_nulls().unique(maintain_order=True)

    @cached_property
    def numbers(self) -> pl.Series | None:
        """Every cell as a number, null for other cells (slips to correct); None if most cells are not numbers."""
        if self.temporal or not self.filled:
            return None
        read = parse_numbers(self.distinct, None, None, ())
        if read is None or read.ambiguity is not None or read.values.null_count() > 0.5 * len(self.distinct):
            return None
        return self.texts.replace_strict(self.distinct, read.values, default=None, return_dtype=pl.Float64)

    @cached_property
    def dates(self) -> bool:
        """Whether its cells are dates or times."""
        return self.temporal or (self.numbers is None and self.filled > 0 and are_dates(self.distinct))

    @cached_property
    def as_dates(self) -> Moments:
        """Its dates as moments; nothing for other cells, and for dates that cannot be sorted."""
        return read_moments(self.texts) if self.dates else Moments(None)

    @property
    def moments(self) -> pl.Series | None:
        """Numbers that sort its dates."""
        return self.as_dates.seconds

    @property
    def is_text(self) -> bool:
        """Whether it contains words."""
        return self.filled > 0 and self.numbers is None and not self.dates

    @property
    def unique(self) -> bool:
        """Whether every cell is filled and different from the others."""
        return self.rows > 0 and len(self.distinct) == self.filled == self.rows

    @cached_property
    def free(self) -> bool:
        """Whether its words are free text: long, objects, or with more distinct values than categories have."""
        if not self.is_text:
            return False
        if bool(self.distinct.str.starts_with("{").all()):
            return True
        length = float(self.distinct.str.len_chars().mean() or 0)  # type: ignore[arg-type]
        free = length > 40 or (is_free_text(len(self.distinct), self.filled) and length > 12)
        return free and not self.lists_labels

    @cached_property
    def lists_labels(self) -> bool:
        """Whether its cells list labels: ``fever; cough``."""
        return self.is_text and lists_of_labels(self.texts) is not None

    @cached_property
    def spaced(self) -> bool:
        """Whether its cells contain several words, as texts do and ids and links do not."""
        return bool(self.distinct.str.contains(r"\s").any())

    @cached_property
    def ends(self) -> tuple[float, float] | None:
        """The smallest and the largest number."""
        if self.numbers is None or self.numbers.null_count() == len(self.numbers):
            return None
        return float(self.numbers.min()), float(self.numbers.max())  # type: ignore[arg-type]

    @cached_property
    def whole(self) -> bool:
        """Whether its numbers are whole."""
        there = None if self.numbers is None else self.numbers.drop_nulls()
        return there is not None and bool((there % 1 == 0).all())

    @cached_property
    def numeric(self) -> bool:
        """Whether its cells are numbers, apart from slips."""
        return self.numbers is not None and len(self.numbers) - self.numbers.null_count() >= LEAST_NUMERIC * self.filled

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The cells as codes, numbers by their value; −1 where a cell is empty."""
        cells = self.numbers.round(9) if self.numeric and self.numbers is not None else self.texts
        return cells.rank("dense").fill_null(0).cast(pl.Int64).to_numpy() - 1

    @cached_property
    def values(self) -> NDArray[np.float64] | None:
        """The number of each code; None for words."""
        if not self.numeric or self.numbers is None:
            return None
        return np.asarray(self.numbers.round(9).drop_nulls().unique().sort().to_numpy(), dtype=np.float64)

    @cached_property
    def n_values(self) -> int:
        """The number of different cells."""
        return int(self.codes.max(initial=-1)) + 1

    @property
    def share_filled(self) -> float:
        """The share of cells with a value."""
        return self.filled / self.rows if self.rows else 0.0

    @property
    def could_be_labels(self) -> bool:
        """Whether its cells could be labels on a scale: numbers, or a limited number of distinct short words."""
        if not self.filled or self.dates or self.free:
            return False
        return self.numbers is not None or len(self.distinct) <= MOST_CATEGORIES or self.lists_labels

    @cached_property
    def corrected(self) -> ColumnView | None:
        """This column without a few cells that are written unlike all others, if only those keep it from being numbers.

        Cells are written alike if they differ in digits or letters alone: ``4-May`` among numbers is a date, and ``80``
        among percentages is none.
        """
        if self.numeric or self.temporal or not self.is_text or self.filled < LEAST_CORRECTED:
            return None
        form = self.texts.str.replace_all(r"\d+", "9").str.replace_all(r"\p{L}+", "a")
        often = form.drop_nulls().value_counts(sort=True, name="n").filter(pl.first().str.contains("9"))
        kept = often.filter(pl.col("n").cum_sum() - pl.col("n") < LEAST_NUMERIC * self.filled)
        if kept["n"].sum() < max(LEAST_CORRECTED, LEAST_NUMERIC * self.filled):
            return None
        there = form.is_in(kept[form.name].implode()).fill_null(value=False)
        found = ColumnView(pl.select(pl.when(there).then(self.texts).alias(self.name)).to_series())
        whole = found.numbers is not None and found.numbers.null_count() == found.texts.null_count()
        return found if whole else None

    @property
    def counts_rows(self) -> bool:
        """Whether it numbers the rows."""
        if self.numbers is None or self.numbers.null_count() or self.rows < 2:
            return False
        return bool((self.numbers.diff().drop_nulls() == 1).all()) and self.numbers[0] in (0, 1)

    def examples(self, most: int = 2) -> str:
        """Return two of its cells, unchanged."""
        return ", ".join(text if len(text) <= 24 else text[:21] + "..." for text in self.distinct.head(most))


def _texts(column: pl.Series) -> pl.Series:
    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        if bool((whole == column).fill_null(column.is_null()).all()):
            return whole.cast(pl.String)
    if column.dtype in (pl.List, pl.Struct, pl.Array, pl.Object, pl.Binary):
        return pl.Series(column.name, [None if v is None else str(v) for v in column], dtype=pl.String)
    return column.cast(pl.String)


LEAST_COUNTED = 4
"""Rows of a table of counts: in fewer, labels can have equal sums by chance."""


def total_of_counts(cells: NDArray[np.float64]) -> int:
    """Return how many annotators chose a category in each row of counts, (rows, categories); 0 for labels.

    Each row of counts has the same sum, some categories are chosen by no annotator, and rows differ.
    """
    if len(cells) < LEAST_COUNTED or cells.shape[1] < 2:
        return 0
    total = cells.sum(axis=1)
    whole = bool(np.isfinite(cells).all()) and bool((cells % 1 == 0).all()) and bool((cells >= 0).all())
    varied = bool((cells == 0).any()) and cells.max() > 1 and bool(np.ptp(cells, axis=0).any())
    return int(total[0]) if whole and varied and total[0] > 1 and bool((total == total[0]).all()) else 0


MOST_OF_VARIANCE = 0.6
"""Variance of the sum of columns of counts, relative to the sum of their variances: a vote for one category is none for
another. Columns of independent labels have 1, those of annotators who agree more."""


def could_be_counts(cells: NDArray[np.float64]) -> bool:
    """Return whether columns could count the annotators who chose each category, with different numbers of them."""
    apart = float(np.var(cells, axis=0).sum())
    varied = bool((cells == 0).any()) and bool((cells >= 0).all()) and cells.max() > 1 and apart > 0
    return varied and float(np.var(cells.sum(axis=1))) < MOST_OF_VARIANCE * apart


def last_is_total(cells: NDArray[np.float64]) -> bool:
    """Return whether the last row, of (rows, columns), has the total or the mean of each column above it.

    A mean needs a fraction among whole numbers: labels of an item can be the whole means by chance.
    """
    above, last = cells[:-1], cells[-1]
    if len(above) < LEAST_COUNTED or not np.isfinite(last).all():
        return False
    complete = above[np.isfinite(above).all(axis=1)]
    if not complete.size or not np.ptp(complete):
        return False
    if bool((np.abs(np.nansum(above, axis=0) - last) <= 1e-6).all()):
        return True
    fractions = bool((last % 1 != 0).any()) and bool((above[np.isfinite(above)] % 1 == 0).all())
    return fractions and bool((np.abs(np.nanmean(above, axis=0) - last) <= 0.05 + 1e-9).all())


LEAST_SHARED = 0.5
"""Share of a column's cells that also occur in another file, from which both columns name the same items: annotators
often label a sample of the items that a judge labels. Labels that happen to differ in every row are few."""


def shared_key(tables: Sequence[Mapping[str, ColumnView]]) -> list[str] | None:
    """Return the column of each table that names the same items: unique in each row, and shared by all tables."""
    for name, first in tables[0].items():
        informative = first.is_text or (first.whole and not first.counts_rows and first.rows >= MIN_DIFFERING_MAJORITY)
        if not (first.unique and informative):
            continue
        keys, cells = [name], set(first.distinct.to_list())
        for other in tables[1:]:
            shared = {n: len(cells & set(v.distinct.to_list())) / min(len(cells), v.rows)
                      for n, v in other.items() if v.unique}  # fmt: skip
            best = max(shared, key=lambda n: (shared[n], n == name), default=None)
            if best is not None and shared[best] >= LEAST_SHARED:
                keys.append(best)
        if len(keys) == len(tables):
            return keys
    return None


def views_of(frame: pl.DataFrame) -> dict[str, ColumnView]:
    """Return a view of every column except ``_row``."""
    frame = frame.head(ROWS_INSPECTED)
    return {name: ColumnView(frame[name]) for name in frame.columns if name != "_row"}


# -- columns that are computed from others ---------------------------------------------------------------


class Computed(NamedTuple):
    """A column that equals a quantity of others."""

    name: str
    how: str
    of: tuple[str, ...]
    could_be_person: bool
    """Whether an annotator could have given these labels."""


def computed_columns(
    views: Mapping[str, ColumnView], labels: Sequence[str], models: set[str], suspects: Sequence[str] = ()
) -> list[Computed]:
    """Find the columns that are computed from others.

    Parameters
    ----------
    views : mapping
    labels : sequence of str
        Columns that could hold an annotator's labels.
    models : set of str
        Those of judges: a column can be computed from people only, or from all.
    suspects : sequence of str
        Further columns, with names of computed columns.
    """
    if len(labels) < 3:
        return []
    values = {n: v.numbers.to_numpy() for n in labels if (v := views[n]).numbers is not None}
    found: dict[str, Computed] = {}
    # A computed column usually follows the columns that it is computed from: of two equal columns, it is the later.
    for name in (*(n for n in reversed(labels) if n not in models), *suspects):
        others = [n for n in labels if n != name and n not in found]
        for group in dict.fromkeys((tuple(n for n in others if n not in models), tuple(others))):
            how = _follows(name, group, values, views) if len(group) >= 2 else None
            if how is None:
                continue
            # An annotator can agree with the others in every row of a small sheet, but gives no fractions.
            middle = how in ("majority", "median", "rounded mean")
            if middle and name not in suspects and not models.isdisjoint(group):
                continue  # with several judges, a person often has the majority's label in all rows
            human = middle or (how == "mean" and views[name].whole)
            found[name] = Computed(name, how, group, human)
            break
    return list(found.values())


def _follows(
    name: str, others: Sequence[str], values: Mapping[str, NDArray[np.float64]], views: Mapping[str, ColumnView]
) -> str | None:
    """How a column is computed from others: see `arithmetic_of`; None if it is not."""
    view = views[name]
    if view.numbers is not None and all(n in values for n in others):
        return arithmetic_of(view.numbers.to_numpy(), np.stack([values[n] for n in others]))
    if view.is_text and len(others) >= 3:
        return _majority_of_words(view, [views[n] for n in others])
    return None


def is_sum_of(column: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    """Whether a column is the same weighted sum of others in all rows, more of them different than weights."""
    there = np.isfinite(column) & np.isfinite(others).all(axis=0)
    rows = np.unique(np.vstack([others[:, there], column[there]]), axis=1).T
    known, sums = rows[:, :-1], rows[:, -1]
    if len(rows) < 2 or sums.min() == sums.max():
        return False
    if len(rows) < np.linalg.matrix_rank(known) + MIN_DIFFERING_COMPUTED:
        return False
    weights = np.linalg.lstsq(known, sums, rcond=None)[0]
    return bool((np.abs(known @ weights - sums) <= 1e-6 * np.abs(sums).max()).all())


def _majority_of_words(view: ColumnView, others: Sequence[ColumnView]) -> str | None:
    uneven = 0
    for said, *votes in zip(view.texts.to_list(), *(one.texts.to_list() for one in others), strict=True):
        there = [v for v in votes if v is not None]
        if said is None or len(set(there)) < 2:
            continue
        most = max(map(there.count, set(there)))
        first = [v for v in set(there) if there.count(v) == most]
        if len(first) > 1:
            continue
        if said != first[0]:
            return None
        uneven += 1
    return "majority" if uneven >= MIN_DIFFERING_MAJORITY else None


def arithmetic_of(column: NDArray[np.float64], others: NDArray[np.float64]) -> str | None:
    """How a column is computed from the others, by all rows: mean, median, total, range, majority or rounded mean."""
    there = np.isfinite(column) & (np.isfinite(others).sum(axis=0) >= 2)
    column, others = column[there], others[:, there]
    if not len(column):
        return None
    uneven = np.nanmax(others, axis=0) > np.nanmin(others, axis=0)
    if uneven.sum() < MIN_DIFFERING_COMPUTED:
        return None
    decimals = max((len(f"{value:.4f}".rstrip("0").partition(".")[2]) for value in column[:200]), default=0)
    step = 0.5 * 10.0**-decimals + 1e-9 if decimals else 1e-9
    found = {
        "mean": np.nanmean(others, axis=0),
        "median": np.nanmedian(others, axis=0),
        "total": np.nansum(others, axis=0),
        "range": np.nanmax(others, axis=0) - np.nanmin(others, axis=0),
    }
    few = uneven.sum() < MIN_DIFFERING_MAJORITY
    whole = bool((column % 1 == 0).all())
    for how, value in found.items():
        by_chance = few and (how in ("median", "range") or (how == "mean" and whole))
        if not by_chance and bool((np.abs(column - value) <= step).all()):
            return how
    return "majority" if _is_majority(column, others, uneven) else _rounded_mean(column, others, found["mean"])


def _rounded_mean(column: NDArray[np.float64], others: NDArray[np.float64], mean: NDArray[np.float64]) -> str | None:
    """Halves can be rounded up or down. Rows in which the others differ by less than 2 do not count as evidence."""
    far = np.nanmax(others, axis=0) - np.nanmin(others, axis=0) >= 2
    whole = bool((column % 1 == 0).all())
    near = bool((np.abs(column - mean) <= 0.5 + 1e-9).all())
    return "rounded mean" if whole and near and far.sum() >= MIN_DIFFERING_MAJORITY else None


def _is_majority(column: NDArray[np.float64], others: NDArray[np.float64], uneven: NDArray[np.bool_]) -> bool:
    if len(others) < 3:
        return False
    counts = np.stack([(others == row).sum(axis=0) for row in others])
    most = counts.max(axis=0)
    values = np.where(counts == most, others, np.nan)
    single = np.nanmax(values, axis=0) == np.nanmin(values, axis=0)
    decided = uneven & single
    return bool(
        decided.sum() >= MIN_DIFFERING_MAJORITY and (column[decided] == np.nanmax(values, axis=0)[decided]).all()
    )
