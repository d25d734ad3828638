"""Dates and times in texts as moments: which part is the day, and which the month, only their column shows."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import polars as pl

from assay.data.notations import MONTH, MONTHS

_WEEKDAY = (
    r"(?:(?i:mon|tue|wed|thu|fri|sat|sun|mo|di|mi|do|fr|sa|so|lun|mar|mer|jeu|ven|sam|dim)\p{Ll}*\.?,? +)?"
)  # fmt: skip
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<clock>\d{2}(?:[.,]\d+)?))?"
_HALF = r" ?(?:(?P<half>(?i:[ap]))\.? ?(?i:m)\.?)"
_ZONE = r" ?(?P<zone>Z|UTC|GMT|(?:UTC|GMT)?[+-]\d{2}:?\d{2})?(?: \(.*\))?$"
_CLOCK = rf"(?:(?:,? +|T|,? at ){_TIME}{_HALF}?)?{_ZONE}"
_YEAR, _DAY = r"(?P<year>\d{4}|\d{2})", r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?"
_NAME = rf"(?P<name>{MONTH})"

FORMS = (
    rf"^{_WEEKDAY}(?P<year>\d{{4}})[-/.年] ?(?P<month>\d{{1,2}})[-/.月] ?(?P<day>\d{{1,2}})日?{_CLOCK}",
    rf"^(?P<year>\d{{4}})(?P<month>\d{{2}})(?P<day>\d{{2}})T(?P<hour>\d{{2}})(?P<minute>\d{{2}})(?P<clock>\d{{2}})?{_ZONE}",
    rf"^{_WEEKDAY}(?P<first>\d{{1,2}})(?P<mark>[-/.]) ?(?P<second>\d{{1,2}})[-/.] ?{_YEAR}{_CLOCK}",
    rf"^{_WEEKDAY}{_DAY}(?: of)?[-/. ]*{_NAME}(?:[-/., ]+{_YEAR})?{_CLOCK}",
    rf"^{_WEEKDAY}{_NAME}[-/. ]+(?P<year>\d{{4}}){_CLOCK}",
    rf"^{_WEEKDAY}{_NAME}[-/. ]+{_DAY},?[-/. ]+{_YEAR}{_CLOCK}",
    rf"^{_WEEKDAY}{_NAME}[-/. ]+(?P<alone>\d{{1,2}})(?:st|nd|rd|th)?{_CLOCK}",
    rf"^(?P<year>\d{{4}})[-/. ]+{_NAME}(?:[-/. ]+{_DAY})?{_CLOCK}",
    rf"^{_TIME}{_HALF}$",
)
"""Dates as people, spreadsheets and programs write them; a time of the day only with *am* or *pm*."""

_PARTS = {
    "year": pl.Int64, "month": pl.Int64, "day": pl.Int64, "first": pl.Int64, "second": pl.Int64, "alone": pl.Int64,
    "name": pl.String, "mark": pl.String, "hour": pl.Int64, "minute": pl.Int64, "clock": pl.String,
    "half": pl.String, "zone": pl.String,
}  # fmt: skip

_CENTURY_ENDS = 69
"""Years of two digits from here are of the last century, as in POSIX."""


class Moments(NamedTuple):
    """Numbers that sort dates and times.

    Attributes
    ----------
    seconds : Series or None
        Since 1970, null for empty cells; None if the texts are not dates, or have several readings.
    ambiguous : str
        A text with several readings, in different orders; empty if there is none.
    certain : bool
        Whether the texts have one reading, and not several in the same order.
    """

    seconds: pl.Series | None
    ambiguous: str = ""
    certain: bool = False


def read_moments(texts: pl.Series) -> Moments:
    """Return the moments of dates and times in texts.

    The day is before the month, or after it, if the other reading is impossible, or orders the texts equally. Points
    between the parts mean that the day is first, if that is possible.
    """
    distinct = texts.drop_nulls().unique(maintain_order=True)
    parts = _parts(distinct)
    if parts is None or not len(distinct):
        return Moments(None)
    found = _readings(parts)
    if not found:
        return Moments(None)
    other = next((one for one in found if not one.rank("dense").equals(found[0].rank("dense"))), None)
    if other is not None:
        return Moments(None, parts["text"][(found[0] != other).arg_max() or 0])
    seconds = texts.replace_strict(parts["text"], found[0], default=None, return_dtype=pl.Float64)
    return Moments(seconds, certain=all(one.equals(found[0]) for one in found))


def _parts(distinct: pl.Series) -> pl.DataFrame | None:
    """The parts of each text; None if a text is not a date."""
    found = []
    for form in FORMS:
        fits = distinct.str.contains(form)
        if fits.any():
            some = distinct.filter(fits)
            found.append(some.alias("text").to_frame().hstack(some.str.extract_groups(form).struct.unnest()))
            distinct = distinct.filter(~fits)
    if len(distinct) or not found:
        return None
    table = pl.concat(found, how="diagonal_relaxed")
    missing = [pl.lit(None, pl.String).alias(name) for name in _PARTS if name not in table.columns]
    return table.with_columns(missing).with_columns(pl.col(name).cast(kind) for name, kind in _PARTS.items())


def _readings(parts: pl.DataFrame) -> list[pl.Series]:
    """Return the moments by each possible reading."""
    named = [None if name is None else _month(name.lower()) for name in parts["name"]]
    year = pl.col("year")
    parts = parts.with_columns(
        year=year + pl.when(year < 100).then(pl.when(year < _CENTURY_ENDS).then(2000).otherwise(1900)).otherwise(0),
        month=pl.coalesce("month", pl.Series(named, dtype=pl.Int64)), short=(year < 100).fill_null(False),
    )  # fmt: skip
    second, alone = (parts[name].is_not_null().any() for name in ("second", "alone"))
    points = bool(second and (parts["mark"].drop_nulls() == ".").all())
    later = {1, 12} <= {*parts["month"]}
    options = product(*((True, False) if one else (True,) for one in (second, alone, later)))
    found: list[pl.Series | None] = []
    for days_first, of_day, same_year in options:
        if not points or days_first or not found:
            found.append(_seconds(parts, days_first=days_first, of_day=of_day, same_year=same_year))
            found = [one for one in found if one is not None]
    if second and parts["short"].all() and parts["first"].n_unique() <= parts["year"].n_unique():
        swapped = parts.with_columns(
            year=2000 + pl.col("first"), month=pl.col("second"), day=pl.col("year") % 100, first=None, second=None
        )
        found.append(_seconds(swapped, days_first=True, of_day=True, same_year=True))
    return [one for one in found if one is not None]


def _seconds(parts: pl.DataFrame, *, days_first: bool, of_day: bool, same_year: bool) -> pl.Series | None:
    """The seconds since 1970 by one reading; None if it is impossible.

    Without years, the first half of the months can be in the next year.
    """
    day, month = ("first", "second") if days_first else ("second", "first")
    alone = pl.col("alone")
    if of_day:
        parts = parts.with_columns(day=pl.coalesce("day", alone))
    else:
        parts = parts.with_columns(year=pl.when(alone.is_not_null()).then(2000 + alone).otherwise("year"))
    parts = parts.with_columns(day=pl.coalesce("day", day), month=pl.coalesce("month", month))
    there = [parts[name].is_not_null() for name in ("year", "month", "day")]
    if any(one.any() and not one.all() for one in there):
        return None
    dated, hour, half = bool(there[1].any()), pl.col("hour").fill_null(0), pl.col("half").str.to_lowercase()
    year = pl.coalesce("year", 2000 + (pl.col("month") < 7) * (0 if same_year else 1))
    read = parts.select(
        date=pl.format("{}-{}-{}", year, "month", pl.col("day").fill_null(1)).str.to_date("%Y-%m-%d", strict=False),
        off=(hour > 24) | (pl.col("minute").fill_null(0) > 59) | (half.is_not_null() & ~hour.is_between(1, 12)),
        hour=pl.when(half.is_not_null()).then(hour % 12 + 12 * (half == "p").cast(pl.Int64)).otherwise(hour),
        minute=pl.col("minute").fill_null(0),
        clock=pl.col("clock").str.replace(",", ".").cast(pl.Float64).fill_null(0.0),
    )
    if (dated and read["date"].null_count()) or read["off"].any():
        return None
    days = read["date"].cast(pl.Int32).cast(pl.Float64).fill_null(0.0)
    clock = read["hour"] * 3_600.0 + read["minute"] * 60.0 + read["clock"]
    return days * 86_400 + clock - _offsets(parts["zone"])


def _offsets(zone: pl.Series) -> pl.Series:
    """The seconds of each time zone, if there are several; one zone is that of all times."""
    read = zone.str.extract_groups(r"([+-])(\d{2}):?(\d{2})$").struct.unnest()
    sign, hours, minutes = read.iter_columns()
    seconds = hours.cast(pl.Float64) * 3_600 + minutes.cast(pl.Float64) * 60
    offsets = (seconds * pl.select(pl.when(sign == "-").then(-1.0).otherwise(1.0)).to_series()).fill_null(0.0)
    return offsets * float(offsets.n_unique() > 1)


def _month(name: str) -> int:
    return next(n for n, names in enumerate(MONTHS, 1) if name.startswith(names))
