"""Cells as sheets write them -> labels: missing values, numbers in any notation, each category in one spelling.

Unambiguous values are converted and reported. Ambiguous values are refused with the option that resolves them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data import words as sentences
from assay.data.names import Coded, Spelling, factorize, label_key, model_names, strip_spaces, unify_spelling
from assay.data.notations import (
    codes_of_numbers,
    is_date,
    options_in_words,
    order_by_numbers,
    order_of_parts,
    repeated_symbols,
    undone_dates,
)
from assay.data.scales import Interval, Label, Nominal, Ordinal, Scale, Text
from assay.data.structure.label_lists import lists_of_labels
from assay.errors import DataError, counted, listing
from assay.estimation.options import Settings, option

# -- number notations --------------------------------------------------------------------------------

Decimal = Literal["point", "comma"]
"""The character before the decimals of a number."""

MOST_CATEGORIES = 50
"""Largest number of distinct texts that are assumed to be categories: code books rarely contain more."""

_SIGN = r"[+-]?"
_GROUPED = rf"^{_SIGN}[1-9]\d{{0,2}}(,\d{{3}})+(\.\d+)?$"
_COMMA = rf"^{_SIGN}(\d+|\d{{1,3}}(\.\d{{3}})+),\d+$"
_NOTATIONS: dict[Decimal, str] = {
    "point": rf"^{_SIGN}(\d+|\d{{1,3}}(,\d{{3}})+)(\.\d+)?$",
    "comma": rf"^{_SIGN}(\d+|\d{{1,3}}(\.\d{{3}})+)(,\d+)?$",
}
_PERCENT = r"^(.*\d)\s*%$"
_PART_OF = r"^(\d+(?:[.,]\d+)?)\s*(?:/|of|out of)\s*(\d+)$"
_BEGINS = r"^[<>≤≥~≈≥$€£¥#(\[]?\s*[+-]?\.?\d"


@dataclass(frozen=True, eq=False)
class Numbers:
    """Distinct labels as numbers.

    Attributes
    ----------
    values : (labels,) float
        Null if a label is not a number.
    missing : (labels,) bool
        Marks of missing values among numbers.
    plain : bool
        Whether all numbers are in plain notation.
    scale : Scale or None
        The scale that the notation implies.
    note : str
        How labels are parsed, if they are not in plain notation.
    ambiguity : function of the labels, or None
        Makes the message why they cannot be parsed, with the option that resolves it.
    advised : mapping
        The options of `assay.read` that resolve it, if one reading is left.
    """

    values: pl.Series
    missing: pl.Series
    plain: bool = False
    scale: Scale | None = None
    note: str = ""
    ambiguity: Callable[[Any], str] | None = None
    advised: Mapping[str, Any] = field(default_factory=dict)

    @property
    def unread(self) -> pl.Series:
        """Labels that are neither a number nor missing: (labels,) bool."""
        return self.values.is_null() & ~self.missing

    @property
    def mixed(self) -> bool:
        """Whether some are numbers and others are not."""
        return self.ambiguity is None and bool(self.unread.any())


def plain_numbers(texts: pl.Series) -> pl.Series:
    """Parse plain numbers in text; null for other texts."""
    number = pl.first().str.replace("^\u2212", "-").cast(pl.Float64, strict=False).fill_nan(None)
    return texts.to_frame().select(number).to_series()


def parse_numbers(
    bare: pl.Series, scale: Scale | None, decimal: Decimal | None, marks: Collection[str]
) -> Numbers | None:
    """Parse distinct labels, without spaces around them, as numbers; None if none of them is a number.

    Parameters
    ----------
    bare : (labels,) str
    scale : Scale or None
        A numeric scale, if one is known.
    decimal : {"point", "comma"} or None
        The decimal sign, if the user has specified it.
    marks : collection of str
        Marks of missing values among numbers, in lower case.
    """
    missing, texts = pl.repeat(False, len(bare), dtype=pl.Boolean, eager=True), bare
    if marks:
        is_mark = pl.first().str.to_lowercase().is_in(list(marks)).fill_null(False)
        missing = bare.to_frame().select(is_mark).to_series()
        texts = pl.select(pl.when(~missing).then(bare)).to_series() if missing.any() else bare
    if texts.null_count() == len(texts) and scale is None:
        return None
    read = plain_numbers(texts) if decimal is None else _parse_notation(texts, decimal)
    if read.null_count() == texts.null_count():
        note = f"labels parsed as numbers with a decimal {decimal}" if decimal else ""
        return Numbers(read, missing, plain=decimal is None, note=note)
    unread = texts.filter(read.is_null() & texts.is_not_null())
    # Most columns are words, where each notation would be looked for in vain.
    no_digits = scale is None and len(unread) == len(texts.drop_nulls()) and not unread.str.contains(r"\p{N}").any()
    for notation in _FORMS[:1] if no_digits else _FORMS:
        found = notation(texts, unread, scale, decimal)
        if found is not None and notation is _symbols and missing.any() and texts.str.contains(r"\+").any():
            mark = bare.filter(missing)[0]
            words = f"such as '{mark}' next to '+' can be missing values or the lowest label: set missing=['{mark}']"
            return _ambiguous_reading(texts, f"{words}, or write 0 for the lowest (codes={{...}})")
        if found is not None:
            return replace(found, missing=missing)
    if scale is not None:
        return Numbers(read, missing)
    ambiguous = None if no_digits else _find_ambiguity(texts, read)
    return ambiguous and replace(ambiguous, missing=missing)


_PADDED = r"^0\d{2,}$"
"""A number of three digits or more that begins with 0, as codes of a code book do."""


# -- notations ------------------------------------------------------------------------------------------


def _parse_notation(texts: pl.Series, decimal: Decimal) -> pl.Series:
    """Parse numbers in one notation, with optional thousands separators; null for other texts."""
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
        found = _parse_notation(texts, "comma" if decimals else "point")
        words = "with a decimal comma" if decimals else "with commas between thousands"
        return _plain_reading(found, f"labels such as '{unread[0]}' parsed as numbers {words}")
    return _ambiguous_reading(
        texts,
        f"such as '{unread[0]}' are ambiguous: the comma can separate decimals or thousands. Set decimal='comma' or "
        "decimal='point'" + (", and write all labels in the same notation" if decimals else ""),
    )


_POINTS = r"^[+-]?([1-9]\d{0,2}(\.\d{3})+|\d{1,3})$"
"""Whole numbers below a thousand, and those with points between thousands."""


def points_note(labels: pl.Series, table: pl.DataFrame, source: str) -> list[str]:
    """Return the note on labels such as ``1.500``; next to another column with decimal commas, they are refused.

    Raises
    ------
    DataError
        If each label can have a decimal point or points between thousands.
    """
    if labels.dtype != pl.String:
        return []
    there = strip_spaces(labels.drop_nulls().unique(maintain_order=True))
    there = there.filter((there != "") & ~there.str.to_lowercase().is_in(MARKS))
    pointed = there.filter(there.str.contains(r"\."))
    if not len(pointed) or not there.str.contains(_POINTS).all():
        return []
    for name in (n for n in table.columns if table[n].dtype == pl.String):
        cells = strip_spaces(table[name].drop_nulls().unique(maintain_order=True))
        commas = cells.filter(cells.str.contains(_COMMA) & ~cells.str.contains(_GROUPED))
        if len(commas) and cells.filter(cells != "").str.contains(_NOTATIONS["comma"]).all():
            raise DataError(
                f"{source}: labels such as '{pointed[0]}' are ambiguous: the point can separate decimals or thousands, "
                f"and column '{name}' has decimal commas, such as '{commas[0]}'. Set decimal='comma' or decimal='point'"
            )
    return [f"labels such as '{pointed[0]}' have a decimal point. If it separates thousands, set decimal='comma'"]


def _symbols(texts: pl.Series, unread: pl.Series, scale: Scale | None, decimal: Decimal | None) -> Numbers | None:
    """``★★★`` and ``★★★☆☆``: 3."""
    there = texts.drop_nulls()
    found = repeated_symbols(there.to_list()) if len(there) <= MOST_CATEGORIES else {}
    if not found:
        return None
    values = texts.replace_strict(found, default=None, return_dtype=pl.Float64)
    return _plain_reading(values, f"labels such as '{there[0]}' parsed as the number of symbols")


_APOSTROPHES = r"^[+-]?\d{1,3}(['’\u00a0\u2009\u202f]\d{3})+([.,]\d+)?$"


def _grouped(texts: pl.Series, unread: pl.Series, scale: Scale | None, decimal: Decimal | None) -> Numbers | None:
    """``2'250`` and ``2 250`` with a narrow space: 2250."""
    if not unread.str.contains(_APOSTROPHES).all():
        return None
    bare = texts.str.replace_all(r"['’\u00a0\u2009\u202f]", "")
    return _rewritten(bare, texts, f"labels such as '{unread[0]}' parsed as numbers with marks between thousands")


_FRACTIONS = {one: f"{value:.3f}"[1:] for one, value in zip("½¼¾⅓⅔⅛⅜⅝⅞", (
    1 / 2, 1 / 4, 3 / 4, 1 / 3, 2 / 3, 1 / 8, 3 / 8, 5 / 8, 7 / 8), strict=True)}  # fmt: skip


def _fractions(texts: pl.Series, unread: pl.Series, scale: Scale | None, decimal: Decimal | None) -> Numbers | None:
    """``2½``: 2.5."""
    if not unread.str.contains(r"^[+-]?\d*\s?[½¼¾⅓⅔⅛⅜⅝⅞]$").all():
        return None
    bare = texts.str.replace_many(_FRACTIONS).str.replace_all(r"\s", "")
    return _rewritten(bare, texts, f"labels such as '{unread[0]}' parsed as numbers with fractions")


def _rewritten(bare: pl.Series, texts: pl.Series, note: str) -> Numbers | None:
    """Labels in another notation as plain numbers; None if that is none."""
    values = plain_numbers(bare)
    return None if values.null_count() > texts.null_count() else _plain_reading(values, note)


_BRACKETED = r"^[\[({*]+\s*(-?\d+(?:\.\d+)?)\s*[\])}*]+$"


def _brackets(texts: pl.Series, unread: pl.Series, scale: Scale | None, decimal: Decimal | None) -> Numbers | None:
    """``[[4]]``, ``(4)``, ``**4**``: 4."""
    inner = texts.str.extract(_BRACKETED, 1)
    values = plain_numbers(pl.select(pl.coalesce(inner, texts)).to_series().alias(texts.name))
    if inner.null_count() == len(inner) or values.null_count() > texts.null_count():
        return None
    example = texts.filter(inner.is_not_null())[0]
    return _plain_reading(values, f"labels such as '{example}' parsed as numbers without brackets")


_FOOTNOTED = r"^([+-]?\d+(?:[.,]\d+)?)\s*(?:[*†‡§¶⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜ]+|\^\w|\[\w\]|\([a-z]\))$"
"""A number with the mark of a footnote: ``4*``, ``3¹``, ``2^a``."""


def _footnotes(texts: pl.Series, unread: pl.Series, scale: Scale | None, decimal: Decimal | None) -> Numbers | None:
    """``4*`` among numbers: 4."""
    bare = unread.str.extract(_FOOTNOTED, 1)
    if bare.null_count() or len(unread) == len(texts.drop_nulls()):
        return None
    inner = parse_numbers(texts.str.replace(_FOOTNOTED, "${1}"), scale, decimal, ())
    if inner is None or inner.ambiguity is not None or inner.values.null_count() > texts.null_count():
        return None
    known = set(inner.values.filter(~texts.is_in(unread.implode())).drop_nulls().to_list())
    if not set(inner.values.filter(texts.is_in(unread.implode())).to_list()) <= known:
        return None
    note = f"labels such as '{unread[0]}' parsed as numbers without the marks of footnotes"
    return _plain_reading(inner.values, "; ".join(filter(None, (note, inner.note))))


_WITH_UNIT = r"^([+-]?\d+(?:[.,]\d+)?)\s*(\p{L}+\.?)$"


def _units(texts: pl.Series, unread: pl.Series, scale: Scale | None, decimal: Decimal | None) -> Numbers | None:
    """``4 pts``: 4, if all labels have the same unit; ``1 point`` and ``2 points`` do."""
    parts = texts.str.extract(_WITH_UNIT, 2).str.to_lowercase().str.strip_chars_end(".").str.strip_suffix("s")
    units = parts.drop_nulls().unique().to_list()
    if parts.null_count() > texts.null_count() or len(units) != 1 or len(units[0]) < LEAST_UNIT or len(unread) < 2:
        return None
    inner = parse_numbers(texts.str.extract(_WITH_UNIT, 1), scale, decimal, ())
    if inner is None or inner.ambiguity is not None or inner.values.null_count() > texts.null_count():
        return None
    return _plain_reading(inner.values, f"labels such as '{unread[0]}' parsed as numbers without their unit")


LEAST_UNIT = 2
"""Letters of a unit, without the plural: ``3a`` and ``3b`` are names."""


def _percents(texts: pl.Series, unread: pl.Series, scale: Scale | None, decimal: Decimal | None) -> Numbers | None:
    """``80%``: 80, or .8 on a scale that ends at 1."""
    percent = texts.str.extract(_PERCENT, 1).str.strip_chars()
    if percent.null_count() == len(percent):
        return None
    example = texts.filter(percent.is_not_null())[0]
    inner = parse_numbers(percent, Interval(), decimal, ())
    if inner is None or inner.ambiguity is not None or inner.values.null_count() > percent.null_count():
        return inner if inner is not None and inner.ambiguity is not None else None
    if percent.null_count() > texts.null_count():
        others = texts.filter(percent.is_null() & texts.is_not_null())
        if not others.str.contains(_BEGINS).all():
            return None
        rest = min(others, texts.filter(percent.is_not_null()), key=len)
        return _ambiguous_reading(
            texts,
            f"such as '{example}' are percentages and '{others[0]}' is not{{rows}}: write all labels in the same "
            "notation",
            rest,
        )
    share = scale is not None and scale.bounds is not None and scale.bounds[1] <= 1
    values = inner.values / 100 if share else inner.values
    implied = Interval(0, 100) if bool(values.drop_nulls().is_between(0, 100).all()) else None
    note = f"labels such as '{example}' parsed as {'shares of 1' if share else 'percentages, numbers up to 100'}"
    return replace(_plain_reading(values, note), scale=implied)


def _parts(texts: pl.Series, unread: pl.Series, scale: Scale | None, decimal: Decimal | None) -> Numbers | None:
    """``4/5``: 4, on a scale that ends at 5."""
    part = texts.str.extract(_PART_OF, 1).str.replace(",", ".").cast(pl.Float64, strict=False)
    whole = texts.str.extract(_PART_OF, 2).cast(pl.Int64, strict=False)
    if part.null_count() > texts.null_count() and scale is None and len(whole.drop_nulls().unique()) == 1:
        # Other labels are the same numbers without their scale, if they are whole and reach its end.
        rest, top = plain_numbers(texts.filter(part.is_null() & texts.is_not_null())), whole.drop_nulls()[0]
        if not rest.null_count() and bool((rest % 1 == 0).all()) and 1 < rest.max() == top and rest.min() >= 0:  # type: ignore[operator]
            part, whole = part.fill_null(plain_numbers(texts)), whole.fill_null(top)
    # An integer with more digits than a float can hold is not parsed.
    if part.null_count() > texts.null_count() or whole.null_count() > texts.null_count():
        return None
    example, wholes = texts.drop_nulls()[0], whole.drop_nulls().unique().sort().to_list()
    if len(wholes) > 1 or (part > whole).any() or wholes[0] < 2:
        return _ambiguous_reading(
            texts,
            f"such as '{example}' are ambiguous: they can be dates, or parts of {listing(wholes, 4)}. Write them as "
            "numbers on one scale, or set {nominal} if they are categories",
        )
    top = float(wholes[0])
    if scale is not None and scale.bounds is not None and scale.bounds[1] == 1:
        return _plain_reading(part / top, f"labels such as '{example}' parsed as shares of 1")
    if scale is not None and scale.bounds is not None and scale.bounds[1] != top:
        return None
    low = 0 if (part < 1).any() else 1
    steps = bool((part.drop_nulls() % 1 == 0).all())
    implied = Ordinal(low, int(top)) if steps else Interval(low, top)
    return replace(_plain_reading(part, f"labels such as '{example}' parsed as numbers up to {top:g}"), scale=implied)


_FORMS = (_symbols, _brackets, _footnotes, _units, _percents, _parts, _grouped, _fractions, _decimals)
"""In the order in which they are looked for; all except the first have digits."""


# -- ambiguous notations ------------------------------------------------------------------------------------


def _find_ambiguity(texts: pl.Series, read: pl.Series) -> Numbers | None:
    """Find labels that resemble numbers or dates but cannot be parsed; None for words."""
    there = texts.drop_nulls()
    # With more distinct texts, labels are free text, which is never counted.
    few = len(there) <= MOST_CATEGORIES
    begin = bool(there.str.contains(_BEGINS).all()) and read.null_count() == len(read)
    words, dates = _date_words(there) if few or begin else ("", [])
    if words or (few and begin):
        advised = undone_dates(there.to_list()) if words else order_by_numbers(there.to_list())
        found = _ambiguous_reading(texts, words or _beginning_words(there), dates)
        return replace(found, advised=advised)
    return Numbers(read, texts.is_null()) if read.null_count() < len(read) else None


def _date_words(there: pl.Series) -> tuple[str, list[str]]:
    """Return the message if some labels look like dates, and these."""
    dates = [text for text in there.head(1_000) if is_date(text)]
    if not dates:
        return "", []
    words = (
        f"such as '{dates[0]}' look like dates{{rows}}. Spreadsheets convert entries such as 4/5 or 1-2 to dates: "
        "correct them, or set {nominal} if they are categories"
    )
    return words, dates


def _beginning_words(there: pl.Series) -> str:
    return (
        f"such as '{there[0]}' begin with a number: write only the numbers, specify their order with "
        "scale='ordinal:lowest<...<highest', or set {nominal} if they are categories"
    )


def _plain_reading(values: pl.Series, note: str) -> Numbers:
    return Numbers(values, values.is_null(), note=note)


def _ambiguous_reading(texts: pl.Series, words: str, odd: Iterable[str] = ()) -> Numbers:
    """Labels that cannot be parsed; in the words of the reason, ``{rows}`` are those of the ``odd`` labels."""
    none, labels = pl.Series([None] * len(texts), dtype=pl.Float64), [*odd]

    def say(part: LabelColumn) -> str:
        there = strip_spaces(part.labels).is_in(labels).fill_null(value=False) if "{rows}" in words else None
        said = "" if there is None else f" ({part.rows(there)})"
        return words.replace("{nominal}", part.like("nominal")).replace("{rows}", said)

    return Numbers(none, texts.is_null(), ambiguity=say)


# -- labels of one criterion -----------------------------------------------------------------------

MARKS = (
    "na", "n/a", "#n/a", "nan", "null", "none", "-", "n.a.", "n.a", ".", "–", "—", "--", "<na>", "#div/0!", "#value!",
    "#ref!", "#null!", "#name?", r"\n", "?", "??",
)  # fmt: skip
"""Usual marks of missing values, in lower case; MySQL writes ``\\N``."""


@dataclass(frozen=True, kw_only=True)
class LabelSettings(Settings):
    """How the labels of a sheet are parsed."""

    missing: Label | Iterable[Label] | None = option(
        None,
        "Values to treat as missing, in addition to the usual ones.",
        details='For example `["?", -99]`. The usual marks (`N/A`, `n.a.`, `none`, `-`, `.` ...) are missing values '
        "among numbers. Among categories they are refused, because they can be a category, until they are named here; "
        "`[]` states that no label is such a mark.",
    )
    label_spelling: Spelling = option(
        "refuse", "Categories that differ only in case or inner spaces, such as `Agree` and `agree`."
    )
    codes: Any = option(
        None,
        "Words for coded labels: a table of codes and words, a sheet of the same workbook, or CODE=WORD.",
        details="The table is a frame, a file, or the name of a sheet in the same workbook: first the code, then the "
        "word. With a column `criterion`, each criterion has its own codes; a mapping can also have one entry per "
        "criterion. The order of the words is the order in `scale`.",
    )
    decimal: Decimal | None = option(
        None,
        "Decimal sign, if labels such as `1,234` are ambiguous.",
        details="`1,234` is either slightly more than 1 or more than a thousand.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.missing is not None:
            one = isinstance(self.missing, str | int | float)
            object.__setattr__(self, "missing", (self.missing,) if one else tuple(self.missing))  # type: ignore[arg-type]

    @property
    def marks(self) -> tuple[Label, ...] | None:
        """The marks of missing values; None if the user has not specified them."""
        return self.missing  # type: ignore[return-value]


class LabelColumn(NamedTuple):
    """Labels of one criterion, or of a table without criteria."""

    labels: pl.Series
    where: pl.Series
    """The place of each label in the source."""
    criterion: str | None
    source: str
    as_text: bool = False
    """Whether the source stores numbers as text."""
    order: tuple[str, ...] | None = None
    """Categories in the order that the column declares."""

    def about(self) -> str:
        """The beginning of an error message."""
        return f"{self.source}: labels" + (f" of criterion '{self.criterion}'" if self.criterion else "")

    def rows(self, which: pl.Series, most: int = 5) -> str:
        """``row 3: 'two', row 5: 'four' and 3 more``."""
        labels, where = self.labels.filter(which), self.where.filter(which)
        shown = ", ".join(
            f"{r if isinstance(r, str) else f'row {r}'}: {v!r}"
            for r, v in zip(where.head(most), labels.head(most), strict=True)
        )
        return shown + (f" and {len(labels) - most} more" if len(labels) > most else "")

    def like(self, scale: str) -> str:
        """Return the option that specifies a scale for this criterion."""
        return f"scale={{'{self.criterion}': '{scale}'}}" if self.criterion else f"scale='{scale}'"


class Settled(NamedTuple):
    """Parsed labels, null for missing values."""

    labels: pl.Series
    scale: Scale | None = None
    """The scale that the labels imply; None if it is still to be inferred."""
    notes: tuple[str, ...] = ()
    marks: Mapping[str, int] = {}
    """The specified marks of missing values that were found, and the number of rows of each."""


def settle_labels(part: LabelColumn, scale: Scale | None, settings: LabelSettings) -> Settled:
    """Parse the labels of one criterion.

    Raises
    ------
    DataError
        If labels can be parsed in several ways.
    """
    part = part._replace(labels=_truth_as_stated(part, scale, settings))
    if settings.codes is not None:
        part, decoded = _decode(part, settings)
        found = settle_labels(part, scale, replace(settings, codes=None))
        return found._replace(notes=(*decoded, *found.notes))
    labels = part.labels
    if isinstance(labels.dtype, pl.Enum):
        part = part._replace(order=tuple(labels.dtype.categories.to_list()))
    if labels.dtype in (pl.Boolean, pl.Categorical, pl.Enum):
        labels = labels.cast(pl.String)
    if labels.dtype != pl.String and not settings.marks:
        return Settled(labels)
    if labels.dtype != pl.String:
        number = labels.cast(pl.Float64)
        gone = number.is_in([float(m) for m in settings.marks or () if _is_number(m)])
        kept = pl.select(pl.when(~gone).then(labels)).to_series() if gone.any() else labels
        return Settled(kept, marks=_counts(labels.filter(gone).cast(pl.String)))
    part = part._replace(labels=labels)
    labels, marks = _remove_marks(labels, settings.marks)
    found = _settle_text(part._replace(labels=labels), scale, settings)
    return found._replace(marks=marks)


_TRUTH = ("false", "true")
"""Words of yes and no that programs write in several ways: False, TRUE."""


def _truth_as_stated(part: LabelColumn, scale: Scale | None, settings: LabelSettings) -> pl.Series:
    """Labels with true and false as the codes or the scale write them; 1 and 0 on a scale from 0 to 1."""
    labels = part.labels
    if labels.dtype == pl.Boolean:
        labels = labels.cast(pl.String)
    if labels.dtype != pl.String:
        return labels
    codes = None if settings.codes is None else words_of(settings.codes, part.criterion)
    given = codes if codes is not None else (scale.categories or ()) if scale is not None else ()
    stated = {str(one).lower(): str(one) for one in given if str(one).lower() in _TRUTH}
    ends = scale.bounds if scale is not None and scale.numeric else None
    if codes is None and ends is not None and ends[0] == 0 and ends[1] == 1:
        stated = {"false": "0", "true": "1"}
    if not stated:
        return labels
    other = [one for one in labels.drop_nulls().unique() if one.strip().lower() in stated]
    return labels.replace({one: stated[one.strip().lower()] for one in other})


def _settle_text(part: LabelColumn, scale: Scale | None, settings: LabelSettings) -> Settled:
    labels = part.labels
    if isinstance(scale, Text):
        return Settled(labels)
    if scale is None and part.order is not None:
        return _settle_ordered(part, part.order, settings)
    distinct = labels.drop_nulls().unique(maintain_order=True)
    free = scale is None and is_free_text(len(distinct), len(labels) - labels.null_count())
    if scale is None or scale.numeric:
        numbers = parse_numbers(strip_spaces(distinct), scale, settings.decimal, () if settings.marks == () else MARKS)
        if numbers is not None and scale is None and settings.decimal is None:
            _refuse_padded(part, distinct)
        if numbers is not None and scale is None and not part.as_text and numbers.plain:
            return _numbers_as_text(part, numbers.values, settings)
        if numbers is not None and not (free and not part.as_text and numbers.mixed):
            return _settle_numbers(part, distinct, numbers, scale, settings)
    if scale is None and part.criterion is None:
        _refuse_lists(part)
    if free:
        return Settled(labels, Text())
    listed = None if scale is None else scale.categories
    if scale is None or (scale.kind == "nominal" and listed is None):
        return _settle_categories(part, settings)
    if listed is not None and all(isinstance(c, str) for c in listed):
        return _settle_listed(part, [str(c) for c in listed], settings)
    return Settled(labels)


def _refuse_lists(part: LabelColumn) -> None:
    """Refuse cells that list several labels, until the user specifies whether each is a criterion or a category."""
    found = lists_of_labels(part.labels)
    if found is None:
        return
    mark, names = found
    cell = part.labels.filter(part.labels.str.contains(mark if mark != "," else r"[, ]", literal=mark != ","))
    raise DataError(
        f"{part.about()} such as '{cell[0]}' list several of {listing(names, 6)}: set scale='several' if each of these "
        "is a question, answered yes or no, or scale='nominal' if each combination is one category",
        advised={"scale": "several"},
        choices=[(sentences.lists_are("several"), {"scale": "several"}),
                 (sentences.lists_are("nominal"), {"scale": "nominal"})],
    )  # fmt: skip


def _refuse_padded(part: LabelColumn, distinct: pl.Series) -> None:
    """Refuse labels with leading zeros, all of one length: codes of a code book, whose distances mean nothing."""
    bare = strip_spaces(distinct)
    padded, length = bare.filter(bare.str.contains(_PADDED)), bare.str.len_chars()
    if len(padded) and length.min() == length.max():
        raise DataError(
            f"{part.about()} such as '{padded[0]}' are codes, not numbers, by their zeros: set {part.like('nominal')}, "
            "or write numbers without leading zeros",
            advised={} if part.criterion else {"scale": "nominal"},
        )


def is_free_text(distinct: int, labels: int) -> bool:
    """Whether texts are free text: more than a code book contains, and a fifth or more of the labels are distinct."""
    return distinct > MOST_CATEGORIES and distinct > 0.2 * labels


# -- codes ----------------------------------------------------------------------------------------------


def _decode(part: LabelColumn, settings: LabelSettings) -> tuple[LabelColumn, list[str]]:
    """Replace codes by their words; a criterion without codes keeps its labels.

    Raises
    ------
    DataError
        If a label is neither a code, nor one of the words, nor missing.
    """
    words = words_of(settings.codes, part.criterion)
    if not words:
        return part, ["no codes were given; the labels stay unchanged"]
    bare = _equal_codes(strip_spaces(_code_text(part.labels)), words)
    odd = bare.filter(~bare.is_in([*words, *words.values(), *map(str, settings.marks or ())]) & (bare != ""))
    strange = [one for one in odd.unique(maintain_order=True).to_list() if one.lower() not in MARKS]
    if strange:
        rows = part.rows(bare.is_in(strange))
        raise DataError(
            f"{part.about()} such as {listing([repr(one) for one in strange], 3)} ({rows}) are not among the codes: "
            f"{listing([f'{code} = {word}' for code, word in words.items()], 8)}; correct them, add them to the codes, "
            "or set missing=[...] for missing values"
        )
    shown = listing([f"{code} = {word}" for code, word in words.items()], 5)
    numbers = plain_numbers(pl.Series([*words.values()], dtype=pl.String)).null_count() == 0
    part = part._replace(labels=bare.replace(words).alias("label"), as_text=part.as_text or numbers)
    return part, [f"codes replaced by words: {shown}"]


def _equal_codes(labels: pl.Series, words: Mapping[str, str]) -> pl.Series:
    """Labels as their codes write them: 0.0 is the code 0, unless codes with other zeros mean something else."""
    codes = pl.Series([*words], dtype=pl.String)
    number = dict(zip(words, plain_numbers(codes), strict=True))
    of = {value: code for code, value in number.items() if value is not None}
    if len(of) < sum(value is not None for value in number.values()):
        return labels
    other = labels.drop_nulls().unique()
    other = other.filter(~other.is_in([*words, *words.values()]))
    equal = {text: of[value] for text, value in zip(other, plain_numbers(other), strict=True) if value in of}
    return labels.replace(equal) if equal else labels


def _code_text(labels: pl.Series) -> pl.Series:
    """Labels in the notation of codes: 1 for 1.0."""
    if labels.dtype.is_float() and bool((labels.drop_nulls() % 1 == 0).all()):
        labels = labels.cast(pl.Int64)
    return labels.cast(pl.String)


def flat_codes(codes: Any) -> dict[str, str]:
    """Return the words of codes that name no criterion; none if they do."""
    by_criterion = any(isinstance(one, Mapping) for one in codes.values()) if isinstance(codes, Mapping) else False
    return {} if by_criterion or "criterion" in getattr(codes, "columns", ()) else words_of(codes, None)


def words_of(codes: Any, criterion: str | None) -> dict[str, str]:
    """Return the words of a criterion's codes.

    Raises
    ------
    DataError
        If it is not a table of codes, or if a code has two words.
    """
    if isinstance(codes, Mapping):
        mine = codes.get(criterion, {}) if any(isinstance(one, Mapping) for one in codes.values()) else codes
        rows = [(str(code), str(word)) for code, word in mine.items()]
    else:
        if "criterion" in codes.columns:
            codes = codes.filter(codes["criterion"].cast(pl.String) == str(criterion)).drop("criterion")
        if codes.width != 2:
            raise DataError(
                f"a table of codes has two columns, the code and its word (and 'criterion', if criteria differ); "
                f"this one has {listing([repr(c) for c in codes.columns])}"
            )
        both = [strip_spaces(_code_text(codes[name])) for name in codes.columns]
        rows = [(code, word) for code, word in zip(*both, strict=True) if code and word]
    words = dict(rows)
    twice = next((code for code, word in rows if words[code] != word), None)
    if twice is not None:
        raise DataError(
            f"code '{twice}' has several words: {listing([repr(w) for c, w in rows if c == twice])}; keep one"
        )
    return words


# -- missing values -----------------------------------------------------------------------------------


def _remove_marks(labels: pl.Series, missing: Sequence[Label] | None) -> tuple[pl.Series, dict[str, int]]:
    """Labels with null for those that are blank or marks of missing values."""
    distinct = labels.drop_nulls().unique(maintain_order=True)
    bare = strip_spaces(distinct)
    marked = bare.is_in([str(m).strip() for m in missing or ()])
    numbers = [float(m) for m in missing or () if _is_number(m)]
    if numbers:
        marked = marked | plain_numbers(bare).is_in(numbers).fill_null(False)
    empty = distinct.filter(marked | (bare == ""))
    if not len(empty):
        return labels, {}
    gone = labels.is_in(empty.implode()).fill_null(False)
    found = _counts(strip_spaces(labels.filter(labels.is_in(distinct.filter(marked).implode()).fill_null(False))))
    return pl.select(pl.when(~gone).then(labels)).to_series().alias(labels.name), found


def _counts(labels: pl.Series) -> dict[str, int]:
    return dict(labels.value_counts(sort=True).iter_rows()) if len(labels) else {}


def _is_number(mark: Label) -> bool:
    return plain_numbers(pl.Series([str(mark)])).null_count() == 0


def _refuse_marks(part: LabelColumn, missing: Sequence[Label] | None) -> None:
    """Refuse labels that can be missing values or categories, until the user specifies which."""
    distinct = part.labels.drop_nulls().unique(maintain_order=True)
    doubtful = distinct.filter(strip_spaces(distinct).str.to_lowercase().is_in(MARKS))
    if missing == () or not len(doubtful):
        return
    marks = strip_spaces(doubtful).unique(maintain_order=True).to_list()
    rows = part.rows(part.labels.is_in(doubtful.implode()).fill_null(False))
    choices = [(sentences.mark_is(marks, "missing values"), {"missing": [*(missing or ()), *marks]})]
    others = strip_spaces(distinct.filter(~distinct.is_in(doubtful.implode())))
    if missing is None and plain_numbers(others).is_null().all():
        # Next to words, `none` is a category more often than a missing label.
        first = {one.lower() for one in marks} == {"none"}
        choices.insert(0 if first else 1, (sentences.mark_is(marks, "categories"), {"missing": []}))
    category = "missing=[]" if missing is None else "list all categories with scale='nominal:...'"
    raise DataError(
        f"{part.about()} such as '{marks[0]}' ({rows}) can be missing values or categories: set "
        f"missing={[*(missing or ()), *marks]} if they are missing values, or {category} if they are categories",
        advised=choices[0][1],
        choices=choices if len(choices) > 1 else (),
    )


# -- numbers ------------------------------------------------------------------------------------------


def _settle_numbers(
    part: LabelColumn, distinct: pl.Series, numbers: Numbers, scale: Scale | None, settings: LabelSettings
) -> Settled:
    """Labels parsed as numbers."""
    read = numbers.values
    if numbers.ambiguity:
        # A scale or codes of one criterion are not those of the others.
        advised = {} if part.criterion else numbers.advised
        raise DataError(f"{part.about()} {numbers.ambiguity(part)}{_or_set(advised)}", advised=advised)
    strange = distinct.filter(numbers.unread)
    if len(strange) and scale is not None:
        off = distinct.filter(numbers.unread | ~scale.valid(read).fill_null(True))
        refuse_off_scale(part, part.labels.is_in(off.implode()).fill_null(False), scale, settings)
    if len(strange):
        unread = part.labels.is_in(strange.implode()).fill_null(False)
        text = counted(int(unread.sum()), "row")
        there = ~numbers.unread & ~numbers.missing
        codes: dict[str, Any] = {}
        if not part.criterion:
            # One spelling of each number is enough: 4.0 is the code 4.
            each = [f"{value:g}" for value in read.filter(there).unique(maintain_order=True)]
            plain = distinct.filter(there).to_list()
            codes = codes_of_numbers(strange.to_list(), each) or order_of_parts(strange.to_list(), plain)
        raise DataError(
            f"{part.about()} mix numbers and text; {text} of text ({part.rows(unread)}). Correct them, specify their "
            f"scale ({part.like('nominal')} if they are categories), or set missing=[...] for missing values"
            f"{_or_set(codes)}",
            advised=codes or _missing_words(part.labels, unread, settings),
        )
    whole = read.cast(pl.Int64, strict=False)
    if whole.null_count() == read.null_count() and bool((read == whole).all()):
        read = whole
    values = part.labels.replace_strict(distinct, read, default=None, return_dtype=read.dtype)
    notes = [numbers.note] if numbers.note else []
    if numbers.missing.any():
        notes.append(f"{listing([repr(v) for v in distinct.filter(numbers.missing)], 4)} treated as missing")
    return Settled(values.alias(part.labels.name), numbers.scale if scale is None else None, tuple(notes))


def _or_set(advised: Mapping[str, Any]) -> str:
    """The end of a message, with the options of the one reading that is left."""
    return f"; their numbers suggest {options_in_words(advised)}" if advised else ""


MOST_WORDS = 5
"""Largest number of distinct words among numbers that can all mean a missing value: ``skip``, ``don't know``."""


FEW_WORDS = 0.1
"""Largest share of labels among numbers that can be words for missing values; with more, the words are labels."""


def _missing_words(labels: pl.Series, unread: pl.Series, settings: LabelSettings) -> dict[str, list[Label]]:
    """The more likely meaning of a few words among numbers."""
    different = strip_spaces(labels.filter(unread)).unique(maintain_order=True)
    some = len(different) <= MOST_WORDS and int(unread.sum()) <= max(2, FEW_WORDS * len(labels))
    if not some or different.str.contains(r"\d").any():
        return {}
    return {"missing": [*(settings.marks or ()), *different.to_list()]}


FAR = 3
"""Multiple of the others' range at which a label counts as a slip, such as 44 for 4 on a scale of 1 to 5."""

SLIPS = 0.02
"""Largest share of labels that can be slips; with more, the scale is assumed to be wide."""


def refuse_slips(part: LabelColumn, labels: pl.Series) -> None:
    """Refuse a few whole numbers far from all others: a slip would turn a scale of 1 to 5 into one of 1 to 44.

    Raises
    ------
    DataError
        With their rows, and the option that accepts them as labels.
    """
    if not labels.dtype.is_numeric():
        return
    low, high = float(labels.min()), float(labels.max())  # type: ignore[arg-type]
    if high - low <= 20 or labels.n_unique() > 20 or not bool((labels % 1 == 0).all()):
        return
    ends = [float(labels.quantile(q, "nearest") or 0) for q in (SLIPS, 1 - SLIPS)]
    width = max(ends[1] - ends[0], 1)
    far = (part.labels < ends[0] - FAR * width) | (part.labels > ends[1] + FAR * width)
    if width > 10 or not far.any() or int(far.sum()) > max(1, SLIPS * len(labels)):
        return
    slips = part.labels.filter(far).unique().to_list()
    raise DataError(
        f"{part.about()} are far from the others, which range from {ends[0]:g} to {ends[1]:g} "
        f"({part.rows(far.fill_null(False))}): correct them, set missing={slips} if they are missing values, or "
        f"{part.like(f'interval:{low:g}-{high:g}')} if they are labels",
        advised={"missing": slips},
    )


def _numbers_as_text(part: LabelColumn, read: pl.Series, settings: LabelSettings) -> Settled:
    """Text with plain numbers, from a source that distinguishes both: it stays text, with a note."""
    scale, _ = infer_scale(read.drop_nulls(), None)
    meant = scale.spec.removeprefix("ordinal:") if isinstance(scale, Ordinal) else "interval"
    found = _settle_categories(part, settings)
    return found._replace(
        notes=(*found.notes, f"labels are text that contains numbers; set {part.like(meant)} to parse them")
    )


TICKS = ("x", "X", "×", "✓", "✔", "☑", "✗", "✘", "*", "•")
"""Marks of a choice; an empty cell next to them can mean that it was not chosen."""


# -- categories -----------------------------------------------------------------------------------------


def _settle_categories(part: LabelColumn, settings: LabelSettings) -> Settled:
    """Labels as categories, if their scale lists none."""
    _refuse_marks(part, settings.marks)
    labels, notes = _trim_labels(part.labels)
    there = labels.is_not_null()
    several = LEAST_LABELS <= there.sum() < len(labels)
    if several and labels.n_unique() == 2 and labels.drop_nulls()[0] in TICKS:
        raise DataError(f"{part.source}: {sentences.only_marks(labels.drop_nulls()[0])}")
    found = factorize(labels.filter(there))
    spelled, merged = unify_spelling(found, "label", settings.label_spelling, part.source)
    if spelled is not found:
        labels = labels.replace_strict(found.names, _new_names(found, spelled), default=None)
    return Settled(labels, None, (*notes, *merged))


def _new_names(found: Coded, spelled: Coded) -> pl.Series:
    """The new name for each of the old names."""
    first = pl.DataFrame({"old": found.codes, "new": spelled.codes}).unique("old").sort("old")
    return spelled.names.gather(first["new"])


def _settle_listed(part: LabelColumn, listed: Sequence[str], settings: LabelSettings) -> Settled:
    """Labels in the spelling of the scale that lists them; other labels stay unchanged."""
    known = pl.Series(listed, dtype=pl.String)
    strange = ~part.labels.is_in(known.implode())
    if not strange.any():
        return Settled(part.labels)
    bare, notes = _trim_labels(part.labels)
    labels = pl.select(pl.when(strange).then(bare).otherwise(part.labels)).to_series().alias(part.labels.name)
    odd = labels.filter(~labels.is_in(known.implode())).unique(maintain_order=True)
    there = pl.DataFrame({"key": label_key(known), "known": known}).filter(~pl.col("key").is_duplicated())
    pairs = pl.DataFrame({"odd": odd, "key": label_key(odd)}).join(there, on="key", how="inner", maintain_order="left")
    if not pairs.height or settings.label_spelling == "apart":
        return Settled(labels, None, tuple(notes))
    shown = listing([f"'{o}' and '{k}'" for o, k in pairs.select("odd", "known").iter_rows()], 3)
    if settings.label_spelling == "refuse":
        raise DataError(
            f"{part.about()} differ from the scale only in spelling: {shown}. Set label_spelling='merge' if they "
            "are the same, or correct them",
            advised={"label_spelling": "merge"},
        )
    labels = labels.replace(pairs["odd"], pairs["known"])
    return Settled(labels, None, (*notes, f"labels that differ only in spelling are merged: {shown}"))


def _trim_labels(labels: pl.Series) -> tuple[pl.Series, list[str]]:
    """Return labels without the spaces around them, and a note if there were any."""
    distinct = labels.drop_nulls().unique(maintain_order=True)
    bare = strip_spaces(distinct)
    changed = distinct != bare
    if not changed.any():
        return labels, []
    rows = int(labels.is_in(distinct.filter(changed).implode()).sum())
    some = listing([repr(v) for v in distinct.filter(changed).head(4)], 3)
    return labels.replace(distinct, bare), [f"removed spaces around labels in {counted(rows, 'row')}: {some}"]


def _settle_ordered(part: LabelColumn, order: Sequence[str], settings: LabelSettings) -> Settled:
    """Labels of a column that declares their order."""
    _refuse_marks(part, settings.marks)
    named = [str(m).strip().lower() for m in settings.marks or ()]
    missing = named if settings.marks == () else [*MARKS, *named]
    categories = [c for c in order if c.strip().lower() not in missing]
    numbers = plain_numbers(pl.Series(categories, dtype=pl.String))
    steps = numbers.diff().drop_nulls()
    if len(categories) > 1 and not numbers.null_count() and (numbers % 1 == 0).all() and (steps == 1).all():
        whole = plain_numbers(part.labels).cast(pl.Int64).alias(part.labels.name)
        return Settled(whole, Ordinal(int(numbers[0]), int(numbers[-1])))
    return Settled(part.labels, Ordinal(categories) if len(categories) > 1 else None)


# -- labels off the scale and inferred scales --------------------------------------------------------------


def refuse_off_scale(part: LabelColumn, off: pl.Series, scale: Scale, settings: LabelSettings) -> None:
    """Refuse labels that are not on their scale, by row."""
    about = f" of criterion '{part.criterion}'" if part.criterion else ""
    labels = part.labels.filter(off)
    hint, advised = "", {}
    if settings.marks is None and labels.dtype == pl.String and labels.str.to_lowercase().is_in(MARKS).any():
        mark = labels.filter(labels.str.to_lowercase().is_in(MARKS))[0]
        hint, advised = f", set missing=['{mark}'] if '{mark}' is a missing value", {"missing": [mark]}
    raise DataError(
        f"{part.source}: {counted(len(labels), 'label')}{about} off the scale ({part.rows(off)}); each must be "
        f"{scale.describe()}. Correct them{hint}, or set scale=... to the right scale",
        advised=advised,
    )


def valid_as_written(labels: pl.Series, scale: Scale) -> pl.Series:
    """True for each label that is on the scale in any notation, or ambiguous; never null."""
    valid = scale.valid(labels).fill_null(False)
    if labels.dtype != pl.String or not scale.numeric:
        return valid
    distinct = labels.filter(~valid).drop_nulls().unique(maintain_order=True)
    numbers = parse_numbers(strip_spaces(distinct), scale, None, ())
    if numbers is None:
        return valid
    on_scale = scale.valid(numbers.values).fill_null(False) | (numbers.ambiguity is not None)
    return valid | labels.is_in(distinct.filter(on_scale).implode()).fill_null(False)


def infer_scale(labels: pl.Series, stated: Scale | None) -> tuple[Scale, str]:
    """Return the scale that the labels imply or seem to be on, and a note on the assumption."""
    if isinstance(stated, Ordinal) and stated.names is not None:
        return stated, f"Assumed scale {stated.spec}, the order that the column declares"
    if isinstance(stated, Ordinal):
        return stated, f"Assumed scale {stated.low}-{stated.high}"
    if isinstance(stated, Interval) and stated.bounds:
        return stated, f"Assumed scale interval:{stated.low:g}-{stated.high:g}"
    if labels.dtype.is_numeric():
        low, high = float(labels.min()), float(labels.max())  # type: ignore[arg-type]
        whole = labels.dtype.is_integer() or bool((labels % 1 == 0).all())
        if whole and low < high <= low + 20:
            return Ordinal(int(low), int(high)), f"Assumed scale {low:g}-{high:g}"
        if low < high:
            return Interval(low, high), f"Assumed scale interval:{low:g}-{high:g}"
        return Interval(), "Assumed scale interval (all labels are equal)"
    distinct = labels.n_unique()
    if is_free_text(distinct, len(labels)):
        return Text(), f"Assumed scale text ({distinct} different labels)"
    return Nominal(), f"Assumed scale nominal ({distinct} {WITHOUT_ORDER})"


WITHOUT_ORDER = "categories without order"


MOST_RARE, LONGEST_RARE = 3, 40
"""Categories in a note, and their characters: a refusal or a slip is among the rarest."""


def with_rarest(note: str, columns: Sequence[pl.Series]) -> str:
    """Return a note with the rarest categories, if it is about a nominal scale: ``rarest first: 'positve' (1), …``."""
    if WITHOUT_ORDER not in note:
        return note
    labels = pl.concat([one.cast(pl.String) for one in columns])
    counts = labels.drop_nulls().value_counts(name="n").sort("n", labels.name).head(MOST_RARE)
    named = [f"'{_shortened(str(label))}' ({n:,})" for label, n in counts.iter_rows()]
    return note.replace(WITHOUT_ORDER, f"{WITHOUT_ORDER}; rarest first: {', '.join(named)}")


def _shortened(label: str) -> str:
    return label if len(label) <= LONGEST_RARE else f"{label[:LONGEST_RARE]}…"


_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")


def _numbered_words(names: Sequence[str]) -> list[str]:
    """Return words that contain one number each, in the order of these numbers: ``Agree (4)``."""
    numbers = [_NUMBER.findall(name) for name in names]
    if not 3 <= len(names) <= MOST_CATEGORIES or any(len(one) != 1 for one in numbers):
        return []
    order = {name: float(one[0]) for name, one in zip(names, numbers, strict=True)}
    return sorted(names, key=order.__getitem__) if len(set(order.values())) == len(names) else []


LADDERS = tuple(
    tuple(frozenset(rung.split("|")) for rung in ladder.split(" < "))
    for ladder in (
        "strongly disagree|totally disagree|completely disagree < disagree|mostly disagree < somewhat disagree < "
        "slightly disagree < neutral|neither|neither agree nor disagree|undecided < slightly agree < somewhat agree < "
        "agree|mostly agree < strongly agree|totally agree|completely agree",
        "never < almost never < rarely|seldom < sometimes|occasionally < often|frequently < usually < almost always < "
        "always",
        "terrible < very poor|very bad < poor|bad < fair|average|okay|ok|acceptable < good < very good < great < "
        "excellent",
        "none < very low < low < medium|moderate|mid < high < very high",
        "none < mild < moderate < severe < very severe",
        "not at all < a little|slightly < somewhat|moderately < mostly|very|very much < completely|extremely",
        "very unlikely < unlikely < neutral|possible < likely < very likely",
        "very dissatisfied < dissatisfied < neutral|neither satisfied nor dissatisfied < satisfied < very satisfied",
        "very negative < negative < neutral < positive < very positive",
        "incorrect|wrong < partially correct|partly correct < correct",
        "irrelevant|not relevant < partially relevant|partly relevant|somewhat relevant < relevant < very relevant|"
        "highly relevant",
    )
)
"""Words of questionnaires from the lowest to the highest; words separated by bars have the same rank."""


def word_order(labels: pl.Series) -> list[str]:
    """Return categories in the order of their words, if at least three are all on one of the `LADDERS`; else none."""
    if labels.dtype != pl.String:
        return []
    numbered = _numbered_words(labels.drop_nulls().unique().to_list())
    if numbered:
        return numbered
    words = [(" ".join(word.lower().split()), word) for word in labels.drop_nulls().unique().to_list()]
    for ladder in LADDERS:
        found = [[word for plain, word in words if plain in rung] for rung in ladder]
        if 3 <= len(words) == sum(map(len, found)) and max(map(len, found)) == 1:
            return [word for rung in found for word in rung]
    return []


# -- labels that annotators write differently ------------------------------------------------------------------
# Each doubt is an error with the option that resolves it. It is raised only if the scale is inferred: a scale that the
# user specifies decides which labels are valid.

LEAST_LABELS = 5
"""Labels of an annotator from which their vocabulary or range is compared with that of the others."""

OUTSIDE = 0.2
"""Share of an annotator's labels outside the range of the others, from which they use another range."""

LOWEST = 0.15
"""Part of the range of the others that contains all labels of an annotator who uses a lower range."""

WIDER = 1.8
"""Ratio of two ranges from which they are different, if an annotator's labels are outside that of the others."""

MOSTLY_OUTSIDE = 0.6
"""Share of an annotator's labels outside the range of the others, from which the ratio does not matter."""

LEAST_VALUES = 4
"""Distinct labels of the others from which they show their range."""

LEAST_OTHERS = 20
"""Labels of the others from which they show their range."""

MOST_STEPS = 20
"""Width of a scale of whole numbers, on which labels one step outside a range are plausible."""

LEAST_MEETINGS = 1.5
"""Expected number of items with both of two labels, from which none is a doubt."""


class AnnotatorLabels(NamedTuple):
    """The labels of one criterion, with a code for each item and annotator."""

    values: NDArray[Any]
    item: NDArray[np.int64]
    annotator: NDArray[np.int64]
    names: tuple[str, ...]
    source: str


def refuse_differing_labels(given: AnnotatorLabels, scale: object) -> None:
    """Refuse labels that annotators write differently.

    Raises
    ------
    DataError
        With the annotators or labels, and the option that resolves the doubt.
    """
    if given.values.dtype.kind in "iuf":
        _refuse_other_range(given)
    elif isinstance(scale, Nominal):
        _refuse_other_words(given)
        _refuse_renamed(given)


def _others(given: AnnotatorLabels) -> Iterator[tuple[str, NDArray[Any], NDArray[Any]]]:
    """Each annotator with enough labels, their labels, and those of the others."""
    for code, name in enumerate(given.names):
        own = given.annotator == code
        if own.sum() >= LEAST_LABELS and (~own).sum() >= LEAST_LABELS:
            yield name, given.values[own], given.values[~own]


SURVEY_CODES = (7, 8, 9)
"""Digits that codes of missing answers repeat, as surveys and SPSS write them: 9, 99, 998, -9."""

LEAST_BEFORE_CODE = 20
"""Labels on the scale from which a number beyond it can be such a code."""

MOST_CODED = 0.25
"""Largest share of labels that can be such codes."""


def _is_survey_code(value: float) -> bool:
    digits = f"{abs(value):g}"
    repeated = len(set(digits)) == 1 and digits[0] in map(str, SURVEY_CODES)
    return value == -1 or repeated or (digits[-1] in "6789" and set(digits[:-1]) == {"9"})


def _refuse_codes(given: AnnotatorLabels) -> None:
    """Refuse numbers beyond all others that have the form of codes for missing answers: 9 or 99 on a scale of 1 to 5.

    The others are whole numbers without a gap from 0 or 1 on. One digit is such a code if other annotators gave other
    labels to most of its items: an item far above the others has such labels from all annotators.
    """
    known = np.unique(given.values)
    if len(known) > MOST_STEPS or not bool((known % 1 == 0).all()):
        return
    codes = [float(v) for v in known if _is_survey_code(v)]
    for marks in (codes, [v for v in codes if not 0 <= v <= SURVEY_CODES[-1]]):
        scale = [float(v) for v in known if v not in marks]
        if (
            not marks
            or len(scale) < LEAST_VALUES - 1
            or scale[-1] - scale[0] != len(scale) - 1
            or scale[0] not in (0, 1)
        ):
            continue
        coded = np.isin(given.values, marks)
        below, digit = [v for v in marks if v < 0], [v for v in marks if 0 <= v <= SURVEY_CODES[-1]]
        beyond = all(v < scale[0] - 1 for v in below) and all(v > scale[-1] + 2 for v in digit)
        beyond = beyond and all(v > FAR * scale[-1] for v in marks if v > SURVEY_CODES[-1])
        beyond = beyond and bool(np.isin(given.item[coded], given.item[~coded]).mean() >= (0.5 if digit else 0))
        if beyond and (~coded).sum() >= LEAST_BEFORE_CODE and coded.sum() <= MOST_CODED * len(coded):
            _refuse_marked(given, [int(v) for v in marks], coded, (scale[0], scale[-1]))


def _refuse_marked(
    given: AnnotatorLabels, marks: list[int], coded: NDArray[np.bool_], ends: tuple[float, float]
) -> None:
    users = [given.names[code] for code in np.unique(given.annotator[coded])]
    text = sentences.possible_codes(given.source, users, marks, int(coded.sum()), ends)
    raise DataError(text, advised={"missing": marks})


def _refuse_other_range(given: AnnotatorLabels) -> None:
    _refuse_codes(given)
    whole = bool((given.values % 1 == 0).all())
    found: list[tuple[float, str]] = []
    for name, own, others in _others(given):
        low, high = float(others.min()), float(others.max())
        negative = np.unique(own[own < 0])
        if low >= 0 and len(negative) == 1 and (own >= 0).any() and float(own[own >= 0].min()) - negative[0] > 1:
            mark = int(negative[0]) if whole else float(negative[0])
            number = int((own < 0).sum())
            text = sentences.possible_codes(given.source, [name], [mark], number, (low, high))
            raise DataError(text, advised={"missing": [mark]})
        # On a scale of a few whole numbers, an annotator can use a step that no other does.
        step = 1.0 if whole and max(high, float(own.max())) - min(low, float(own.min())) <= MOST_STEPS else 0.0
        outside = float(np.mean((own < low - step) | (own > high + step)))
        width, wide = float(np.ptp(own)), high - low
        if width == 0 or len(np.unique(others)) < LEAST_VALUES or len(others) < LEAST_OTHERS:
            continue  # a careless annotator uses few labels of the scale
        lowest = float(own.max()) <= low + LOWEST * wide
        apart = outside >= OUTSIDE and (width >= WIDER * wide or wide >= WIDER * width or outside >= MOSTLY_OUTSIDE)
        if apart or lowest:
            ends = (float(own.min()), float(own.max())), (low, high)
            found.append((outside, sentences.other_range(given.source, repr(name), *ends)))
    if found:
        raise DataError(max(found)[1])
    if whole:
        _refuse_shifted(given)


LEAST_ENDS = 3
"""Labels at both ends of two ranges from which these are scales that begin at another number."""


def _refuse_shifted(given: AnnotatorLabels) -> None:
    """Refuse ranges that begin and end one number apart: 0 to 4 of some annotators next to 1 to 5 of others."""
    ranges: dict[tuple[float, float], list[int]] = {}
    for code in np.unique(given.annotator).tolist():
        own = given.values[given.annotator == code]
        ranges.setdefault((float(own.min()), float(own.max())), []).append(code)
    if len(ranges) != 2:
        return
    (lower, few), (upper, _) = ends = sorted(ranges.items())
    often = [int((given.values[np.isin(given.annotator, codes)] == end).sum()) for pair, codes in ends for end in pair]
    shifted = upper[0] - lower[0] == upper[1] - lower[1] == 1 and lower[1] - lower[0] >= LEAST_VALUES - 1
    if shifted and min(often) >= LEAST_ENDS:
        names = [given.names[code] for code in few]
        raise DataError(sentences.other_range(given.source, listing([repr(n) for n in names]), lower, upper))


def _refuse_other_words(given: AnnotatorLabels) -> None:
    if len(np.unique(given.values)) > MOST_CATEGORIES:
        return
    each = {code: set(given.values[given.annotator == code].tolist()) for code in np.unique(given.annotator).tolist()}
    groups: list[list[int]] = []
    for code, own in each.items():
        near = [g for g in groups if any(own & each[other] for other in g)]
        groups = [*(g for g in groups if g not in near), sorted([code, *(c for g in near for c in g)])]
    for group in sorted(groups, key=lambda g: (len(g), len(model_names(given.names[c] for c in g)) < len(g))):
        ours = np.isin(given.annotator, group)
        mine, theirs = (set(given.values[part].tolist()) for part in (ours, ~ours))
        enough = min(int(ours.sum()), int((~ours).sum())) >= LEAST_LABELS
        # Several annotators with their own words label the items of the others, too: else they have another task.
        together = len(group) == 1 or bool(np.isin(given.item[ours], given.item[~ours]).any())
        if enough and together and len(mine) > 1 and len(theirs) > 1:
            names = [given.names[code] for code in group]
            raise DataError(sentences.other_vocabulary(given.source, names, sorted(mine), sorted(theirs)))


LIST_MARKS = (";", "|", ",", "+")
"""Marks between the choices of one label."""


def _refuse_renamed(given: AnnotatorLabels) -> None:
    labels = np.unique(given.values).tolist()
    if len(labels) > MOST_CATEGORIES or word_order(pl.Series(labels)):
        return
    n_items = len(np.unique(given.item))
    items = {label: set(given.item[given.values == label].tolist()) for label in labels}
    for one, other in combinations(labels, 2):
        short, long = sorted((one, other), key=len)
        further = long[len(short) :]  # empty for two spellings of one word
        # A longer list of choices is another label, `fear; joy`, and so is a grade with a sign: `A-`.
        listed = further.startswith(LIST_MARKS) or not further.strip("+-−")
        begins = long.lower().startswith(short.lower()) and further != "" and not further[0].isalnum() and not listed
        expected = len(items[one]) * len(items[other]) / n_items
        if begins and not items[one] & items[other] and expected >= LEAST_MEETINGS:
            codes = {label: long if label == short else label for label in labels}
            raise DataError(sentences.renamed_label(given.source, short, long, codes))
