"""Columns that order labels: times and dates in any notation, numbers, and numbers in equal words.

Texts are never ordered by their letters: ``week 10`` is after ``week 2``, and 02/03/2026 is after 27/02/2026.
"""

from __future__ import annotations

import re

import polars as pl

from assay.data.names import strip_spaces
from assay.data.structure.cells import ColumnView
from assay.data.structure.dates import read_moments
from assay.errors import DesignError

_NUMBER = r"\d{1,15}"
_MARK = "\0"
_ORDINAL = rf"{_MARK}(st|nd|rd|th)\b"
_SHORT = rf"^{_MARK}[-/.]{_MARK}$"
"""Two numbers that can be a day and a month."""

_DECIMAL = rf"^[^{_MARK}]*{_MARK},{_MARK}[^{_MARK}]*$"
"""Two numbers that can be one with decimals."""

_FIRST_YEAR, _LAST_YEAR = 1900, 2100


def order_of(column: pl.Series, name: str) -> pl.Series:
    """Return numbers that sort a column by time or by number: (rows,), null for empty cells.

    Parameters
    ----------
    column : Series
        Numbers, dates, or texts: all of them numbers, dates, or equal except for their numbers, such as ``week 2``.
    name : str
        The name of the column, as the user writes it.

    Raises
    ------
    DesignError
        For other texts, and for dates with several readings that order the rows differently.
    """
    if column.dtype.is_float():
        return column.fill_nan(None)
    if column.dtype.is_numeric():
        return column
    if column.dtype.is_temporal() or column.dtype in (pl.Boolean, pl.Enum):
        return column.to_physical()
    numbers = numbers_of(column)
    if numbers is not None:
        return numbers
    texts = ColumnView(column).texts.alias(column.name)
    dates = read_moments(texts)
    if dates.seconds is not None:
        return dates.seconds
    if dates.ambiguous:
        raise DesignError(
            f"'{name}' does not show the order: '{dates.ambiguous}' can be several dates, because no value tells the "
            "day from the month or the year; write dates as 2026-12-31",
            value=dates.ambiguous,
        )
    distinct = texts.drop_nulls().unique(maintain_order=True)
    places = _numbered(distinct)
    if places is None:
        one = next(iter(distinct.filter(~distinct.str.contains(r"\d"))), distinct[0])
        raise DesignError(
            f"'{name}' does not order the labels: '{one}' is not a number, date or time, or the values differ in more "
            "than their numbers; use a column with dates such as 2026-12-31, or with numbers",
            value=one,
        )
    return texts.replace_strict(distinct, places, default=None, return_dtype=pl.Int64)


def numbers_of(column: pl.Series) -> pl.Series | None:
    """Return the numbers of a column, also written as text (``0,95`` and ``95%``); None for other cells."""
    if column.dtype.is_numeric():
        return column.cast(pl.Float64).fill_nan(None)
    if column.dtype.is_temporal() or column.dtype.is_nested() or column.dtype == pl.Boolean:
        return None
    view = ColumnView(column)
    return view.numbers if view.numbers is not None and view.numbers.null_count() == view.texts.null_count() else None


def _numbered(distinct: pl.Series) -> pl.Series | None:
    """The place of each text, if texts differ only in their numbers; a year is before the other numbers."""
    if len(distinct) < 2:
        return pl.Series([0] * len(distinct), dtype=pl.Int64)
    around = strip_spaces(distinct).str.to_lowercase().str.replace_all(_NUMBER, _MARK).str.replace_all(_ORDINAL, _MARK)
    forms = around.str.replace_all(r"\s+", " ").unique()
    if len(forms) > 1 or _MARK not in forms[0]:
        return None
    parts = distinct.str.extract_all(_NUMBER)
    numbers = [parts.list.get(k).cast(pl.Int64) for k in range(forms[0].count(_MARK))]
    years = [one.is_between(_FIRST_YEAR, _LAST_YEAR).all() and len(one) > 0 for one in numbers]
    if sum(years) == 1:
        numbers.insert(0, numbers.pop(years.index(True)))
    elif re.search(_DECIMAL, forms[0]) or (re.search(_SHORT, forms[0]) and all((one < 100).all() for one in numbers)):
        return None
    frame = pl.DataFrame([one.alias(str(k)) for k, one in enumerate(numbers)])
    return frame.select(pl.struct(pl.all()).rank("dense").cast(pl.Int64)).to_series()
