"""Numbers as people write them: 4.5, 4,5, 1,234, 80%, 4/5; and what only looks like one."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Literal

import polars as pl

from assay.data.scales import Interval, Ordinal, Scale
from assay.errors import listing

Decimal = Literal["point", "comma"]
"""What stands before the decimals of a number."""

MOST_CATEGORIES = 50
"""Up to so many different texts are taken as categories."""

_SIGN = r"[+-]?"
_GROUPED = rf"^{_SIGN}\d{{1,3}}(,\d{{3}})+(\.\d+)?$"
_COMMA = rf"^{_SIGN}(\d+|\d{{1,3}}(\.\d{{3}})+),\d+$"
_NOTATIONS: dict[Decimal, str] = {
    "point": rf"^{_SIGN}(\d+|\d{{1,3}}(,\d{{3}})+)(\.\d+)?$",
    "comma": rf"^{_SIGN}(\d+|\d{{1,3}}(\.\d{{3}})+)(,\d+)?$",
}
_PERCENT = r"^(.*\d)\s*%$"
_PART_OF = r"^(\d+(?:[.,]\d+)?)\s*(?:/|of|out of)\s*(\d+)$"
_MONTH = r"(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mai|okt|dez)[a-zä]*\.?"
_DATES = (
    r"^(\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4})([T ]\d{1,2}:\d{2}(:\d{2})?.*)?$",
    rf"^\d{{1,4}}[-/. ]+{_MONTH}([-/. ]+\d{{1,4}})?$",
    rf"^{_MONTH}[-/. ]+\d{{1,4}}(,? \d{{4}})?$",
)
_BEGINS = r"^[<>≤≥~≈≥$€£¥#(\[]?\s*[+-]?\.?\d"


@dataclass(frozen=True)
class Numbers:
    """What different labels are as numbers.

    Attributes
    ----------
    values : (labels,) float
        Null where a label is none.
    no_answer : (labels,) bool
        Those that stand for no answer among numbers.
    plain : bool
        Whether all are written as a computer writes them.
    scale : Scale or None
        What the notation says of the scale.
    note : str
        How labels are read, where they are not plain.
    doubt : function of the labels, or None
        Words for why they cannot be read, and the option that decides.
    """

    values: pl.Series
    no_answer: pl.Series
    plain: bool = False
    scale: Scale | None = None
    note: str = ""
    doubt: Callable[[Any], str] | None = None

    @property
    def unread(self) -> pl.Series:
        """Labels that are neither a number nor no answer: (labels,) bool."""
        return self.values.is_null() & ~self.no_answer

    @property
    def mixed(self) -> bool:
        """Whether some are numbers and others are not."""
        return self.doubt is None and bool(self.unread.any())


def numbers_of_series(texts: pl.Series) -> pl.Series:
    """Plain numbers in text; null where a text is none."""
    return texts.str.replace("^\u2212", "-").cast(pl.Float64, strict=False).fill_nan(None)


def numbers_in(bare: pl.Series, scale: Scale | None, decimal: Decimal | None, marks: Collection[str]) -> Numbers | None:
    """Different labels, without spaces around them, as numbers; None where they are no numbers at all.

    Parameters
    ----------
    bare : (labels,) str
    scale : Scale or None
        A scale of numbers, where one is known.
    decimal : {"point", "comma"} or None
        What stands before the decimals, where somebody has said so.
    marks : collection of str
        What stands for no answer among numbers, in lower case.
    """
    no_answer = bare.str.to_lowercase().is_in(list(marks)).fill_null(False)
    texts = pl.select(pl.when(~no_answer).then(bare)).to_series()
    if texts.null_count() == len(texts) and scale is None:
        return None
    read = numbers_of_series(texts) if decimal is None else _in_notation(texts, decimal)
    unread = texts.filter(read.is_null() & texts.is_not_null())
    if not len(unread):
        note = f"labels are read as numbers with a decimal {decimal}" if decimal else ""
        return Numbers(read, no_answer, plain=decimal is None, note=note)
    for notation in (_percents, _parts, _decimals):
        found = notation(texts, unread, scale, decimal)
        if found is not None:
            return replace(found, no_answer=no_answer)
    found = _doubtful(texts, read) if scale is None else Numbers(read, no_answer)
    return None if found is None else replace(found, no_answer=no_answer)


# -- notations ------------------------------------------------------------------------------------------


def _in_notation(texts: pl.Series, decimal: Decimal) -> pl.Series:
    """Numbers in one notation, groups of thousands allowed; null where a text is not in it."""
    plain = texts.str.replace("^\u2212", "-")
    fits = plain.str.contains(_NOTATIONS[decimal])
    bare = (
        plain.str.replace_all(r"\.", "").str.replace(",", ".") if decimal == "comma" else plain.str.replace_all(",", "")
    )
    return pl.select(pl.when(fits).then(bare)).to_series().cast(pl.Float64, strict=False)


def _decimals(texts: pl.Series, unread: pl.Series, scale: Scale | None, decimal: Decimal | None) -> Numbers | None:
    """``4,5`` and ``1,234``."""
    strange = unread.str.replace("^\u2212", "-")
    comma, grouped = strange.str.contains(_COMMA), strange.str.contains(_GROUPED)
    if decimal is not None or not (comma | grouped).all():
        return None
    points = bool(texts.filter(~texts.is_in(unread.implode())).str.contains(r"\.").any())
    decimals, thousands = bool((comma & ~grouped).any()), bool((grouped & ~comma).any()) or points
    if decimals != thousands:
        found = _in_notation(texts, "comma" if decimals else "point")
        words = "with a decimal comma" if decimals else "with commas between thousands"
        return _certain(found, f"labels such as '{unread[0]}' are read as numbers {words}")
    return _doubted(
        texts,
        f"such as '{unread[0]}' may have decimals or thousands after the comma: say decimal='comma' or decimal='point'"
        + (", and write all of them alike" if decimals else ""),
    )


def _percents(texts: pl.Series, unread: pl.Series, scale: Scale | None, decimal: Decimal | None) -> Numbers | None:
    """``80%``: 80, or .8 on a scale that ends at 1."""
    percent = texts.str.extract(_PERCENT, 1).str.strip_chars()
    if percent.null_count() == len(percent):
        return None
    example = texts.filter(percent.is_not_null())[0]
    inner = numbers_in(percent, Interval(), decimal, ())
    if inner is None or inner.doubt is not None or inner.values.null_count() > percent.null_count():
        return inner if inner is not None and inner.doubt is not None else None
    if percent.null_count() > texts.null_count():
        others = texts.filter(percent.is_null() & texts.is_not_null())
        if not others.str.contains(_BEGINS).all():
            return None
        return _doubted(
            texts, f"such as '{example}' are percentages and '{others[0]}' is none: write all of them alike"
        )
    share = scale is not None and scale.bounds is not None and scale.bounds[1] <= 1
    values = inner.values / 100 if share else inner.values
    said = Interval(0, 100) if bool(values.drop_nulls().is_between(0, 100).all()) else None
    note = f"labels such as '{example}' are read as {'shares of 1' if share else 'percentages, numbers up to 100'}"
    return replace(_certain(values, note), scale=said)


def _parts(texts: pl.Series, unread: pl.Series, scale: Scale | None, decimal: Decimal | None) -> Numbers | None:
    """``4/5``: 4, on a scale that ends at 5."""
    part = texts.str.extract(_PART_OF, 1).str.replace(",", ".").cast(pl.Float64, strict=False)
    whole = texts.str.extract(_PART_OF, 2).cast(pl.Int64, strict=False)
    if part.null_count() > texts.null_count():
        return None
    example, wholes = texts.drop_nulls()[0], whole.drop_nulls().unique().sort().to_list()
    if len(wholes) > 1 or (part > whole).any() or wholes[0] < 2:
        return _doubted(
            texts,
            f"such as '{example}' may be dates, or parts of {listing(wholes, 4)}: write them as numbers on one scale, "
            "or say {nominal} if they are categories",
        )
    top = float(wholes[0])
    if scale is not None and scale.bounds is not None and scale.bounds[1] == 1:
        return _certain(part / top, f"labels such as '{example}' are read as shares of 1")
    if scale is not None and scale.bounds is not None and scale.bounds[1] != top:
        return None
    low = 0 if (part < 1).any() else 1
    steps = bool((part.drop_nulls() % 1 == 0).all())
    said = Ordinal(low, int(top)) if steps else Interval(low, top)
    return replace(_certain(part, f"labels such as '{example}' are read as numbers up to {top:g}"), scale=said)


# -- doubt ------------------------------------------------------------------------------------------------


def _doubtful(texts: pl.Series, read: pl.Series) -> Numbers | None:
    """What looks like numbers or dates and is neither for certain; None for words."""
    there = texts.drop_nulls()
    # So many different ones are free text, which nothing counts.
    few = len(there) <= MOST_CATEGORIES
    begin = bool(there.str.contains(_BEGINS).all()) and read.null_count() == len(read)
    words = _of_dates(there) if few or begin else None
    if words or (few and begin):
        return _doubted(texts, words or _of_beginnings(there))
    return Numbers(read, texts.is_null()) if read.null_count() < len(read) else None


def _of_dates(there: pl.Series) -> str | None:
    """Words for labels of which some look like dates."""
    example = next((text for text in there.head(1_000) if any(re.match(form, text) for form in _DATES)), None)
    if example is None:
        return None
    return (
        f"such as '{example}' look like dates, into which spreadsheets turn what was typed as 4/5 or 1-2: mend "
        "them, or say {nominal} if they are categories"
    )


def _of_beginnings(there: pl.Series) -> str:
    return (
        f"such as '{there[0]}' begin with a number: write the numbers alone, say their order with "
        "scale='ordinal:lowest<...<highest', or say {nominal} if they are categories"
    )


def _certain(values: pl.Series, note: str) -> Numbers:
    return Numbers(values, values.is_null(), note=note)


def _doubted(texts: pl.Series, words: str) -> Numbers:
    none = pl.Series([None] * len(texts), dtype=pl.Float64)
    return Numbers(none, texts.is_null(), doubt=lambda part: words.replace("{nominal}", part.like("nominal")))
