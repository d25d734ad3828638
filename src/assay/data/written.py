"""Labels as sheets write them -> labels: marks of no answer, numbers in any notation, each category in one spelling.

What is certain is read and said; what is not is refused with the option that decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, get_args

import polars as pl

from assay.data.coding import coded
from assay.data.names import Coded, Spelling, alike, one_spelling, without_spaces
from assay.data.numerals import MOST_CATEGORIES, Decimal, Numbers, numbers_in, numbers_of_series
from assay.data.scales import Interval, Label, Nominal, Ordinal, Scale, Text
from assay.errors import DataError, counted, listing
from assay.estimation.options import one_of

MARKS = ("na", "n/a", "#n/a", "nan", "null", "none", "-")
"""What usually stands for no answer, in lower case."""


@dataclass(frozen=True)
class Ways:
    """How labels are to be read.

    Attributes
    ----------
    missing : tuple or None
        Labels that are no answer, exactly these; None where nobody has said.
    spelling : {"refuse", "merge", "apart"}
        What becomes of categories that differ only in case or inner spaces.
    decimal : {"point", "comma"} or None
        What stands before the decimals, where labels do not tell.
    as_text : bool
        The source writes numbers as text.
    orders : mapping of criterion to tuple of str
        Categories in the order that a column declares.
    """

    missing: tuple[Label, ...] | None = None
    spelling: Spelling = "refuse"
    decimal: Decimal | None = None
    as_text: bool = False
    orders: Mapping[str | None, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, missing: Any, spelling: Any, decimal: Any) -> Ways:
        """The ways that somebody asked for, checked."""
        one_of("label_spelling", spelling, get_args(Spelling))
        if decimal is not None:
            one_of("decimal", decimal, get_args(Decimal))
        marks = (missing,) if isinstance(missing, str | int | float) else missing
        return cls(None if marks is None else tuple(marks), spelling, decimal)


class Part(NamedTuple):
    """Labels of one criterion, or of a table without criteria."""

    labels: pl.Series
    where: pl.Series
    """Where each stands."""
    criterion: str | None
    source: str

    def about(self) -> str:
        """The words with which an error begins."""
        return f"{self.source}: labels" + (f" of criterion '{self.criterion}'" if self.criterion else "")

    def rows(self, which: pl.Series, most: int = 5) -> str:
        """``row 3: 'two', row 5: 'four' and 3 more``."""
        labels, where = self.labels.filter(which), self.where.filter(which)
        shown = ", ".join(f"row {r}: {v!r}" for r, v in zip(where.head(most), labels.head(most), strict=True))
        return shown + (f" and {len(labels) - most} more" if len(labels) > most else "")

    def like(self, scale: str) -> str:
        """How to say that this criterion is on a scale."""
        return f"scale={{'{self.criterion}': '{scale}'}}" if self.criterion else f"scale='{scale}'"


class Settled(NamedTuple):
    """Labels as they count, null where there is no answer."""

    labels: pl.Series
    scale: Scale | None = None
    """What the labels say of their scale; None where it is still to be inferred."""
    notes: tuple[str, ...] = ()
    marks: Mapping[str, int] = {}
    """The marks of no answer that were named and found, and how many rows they are."""


def settled(part: Part, scale: Scale | None, ways: Ways) -> Settled:
    """The labels of one criterion as they count.

    Raises
    ------
    DataError
        Where labels can be read in several ways.
    """
    labels = part.labels
    order = ways.orders.get(part.criterion)
    if isinstance(labels.dtype, pl.Enum):
        order = tuple(labels.dtype.categories.to_list())
    if labels.dtype in (pl.Boolean, pl.Categorical, pl.Enum):
        labels = labels.cast(pl.String)
    if labels.dtype != pl.String and not ways.missing:
        return Settled(labels)
    if labels.dtype != pl.String:
        number = labels.cast(pl.Float64)
        gone = number.is_in([float(m) for m in ways.missing or () if _is_number(m)])
        kept = pl.select(pl.when(~gone).then(labels)).to_series() if gone.any() else labels
        return Settled(kept, marks=_counts(labels.filter(gone).cast(pl.String)))
    part = part._replace(labels=labels)
    labels, marks = _without_marks(labels, ways.missing)
    found = _of_text(part._replace(labels=labels), scale, ways, order)
    return found._replace(marks=marks)


def _of_text(part: Part, scale: Scale | None, ways: Ways, order: tuple[str, ...] | None) -> Settled:
    labels = part.labels
    if isinstance(scale, Text):
        return Settled(labels)
    if scale is None and order is not None:
        return _in_order(part, order, ways)
    distinct = labels.drop_nulls().unique(maintain_order=True)
    free = scale is None and is_free_text(len(distinct), len(labels) - labels.null_count())
    if scale is None or scale.numeric:
        numbers = numbers_in(without_spaces(distinct), scale, ways.decimal, MARKS if ways.missing is None else ())
        if numbers is not None and scale is None and not ways.as_text and numbers.plain:
            return _numbers_as_text(part, numbers.values, ways)
        if numbers is not None and not (free and not ways.as_text and numbers.mixed):
            return _as_numbers(part, distinct, numbers, scale, ways)
    if free:
        return Settled(labels, Text())
    listed = None if scale is None else scale.categories
    if scale is None or (scale.kind == "nominal" and listed is None):
        return _as_categories(part, ways)
    if listed is not None and all(isinstance(c, str) for c in listed):
        return _as_listed(part, [str(c) for c in listed], ways)
    return Settled(labels)


def is_free_text(distinct: int, labels: int) -> bool:
    """Whether so many different texts among so many labels are free text."""
    return distinct > MOST_CATEGORIES and distinct > 0.2 * labels


# -- no answer ----------------------------------------------------------------------------------------


def _without_marks(labels: pl.Series, missing: Sequence[Label] | None) -> tuple[pl.Series, dict[str, int]]:
    """Labels with null for those that are blank or, by name, no answer."""
    distinct = labels.drop_nulls().unique(maintain_order=True)
    bare = without_spaces(distinct)
    marked = bare.is_in([str(m).strip() for m in missing or ()])
    numbers = [float(m) for m in missing or () if _is_number(m)]
    if numbers:
        marked = marked | numbers_of_series(bare).is_in(numbers).fill_null(False)
    gone = labels.is_in(distinct.filter(marked | (bare == "")).implode()).fill_null(False)
    if not gone.any():
        return labels, {}
    found = _counts(without_spaces(labels.filter(labels.is_in(distinct.filter(marked).implode()).fill_null(False))))
    return pl.select(pl.when(~gone).then(labels)).to_series().alias(labels.name), found


def _counts(labels: pl.Series) -> dict[str, int]:
    return dict(labels.value_counts(sort=True).iter_rows()) if len(labels) else {}


def _is_number(mark: Label) -> bool:
    return numbers_of_series(pl.Series([str(mark)])).null_count() == 0


def _refuse_marks(part: Part, missing: Sequence[Label] | None) -> None:
    """Refuse what may be no answer or a category, while nobody has said which."""
    distinct = part.labels.drop_nulls().unique(maintain_order=True)
    doubtful = distinct.filter(without_spaces(distinct).str.to_lowercase().is_in(MARKS))
    if missing is not None or not len(doubtful):
        return
    marks = without_spaces(doubtful).unique(maintain_order=True).to_list()
    rows = part.rows(part.labels.is_in(doubtful.implode()).fill_null(False))
    raise DataError(
        f"{part.about()} such as '{marks[0]}' ({rows}) may be no answer or a category: say missing={marks} if there is "
        "no answer, or missing=[] if it is a category"
    )


# -- numbers ------------------------------------------------------------------------------------------


def _as_numbers(part: Part, distinct: pl.Series, numbers: Numbers, scale: Scale | None, ways: Ways) -> Settled:
    """Labels as the numbers that they are written as."""
    read = numbers.values
    if numbers.doubt:
        raise DataError(f"{part.about()} {numbers.doubt(part)}")
    unread = part.labels.is_in(distinct.filter(numbers.unread).implode()).fill_null(False)
    if unread.any() and scale is not None:
        off = distinct.filter(numbers.unread | ~scale.valid(read).fill_null(True))
        refuse_off_scale(part, part.labels.is_in(off.implode()).fill_null(False), scale, ways)
    if unread.any():
        text = counted(int(unread.sum()), "row")
        raise DataError(
            f"{part.about()} are a mixture of numbers and text; {text} of text ({part.rows(unread)}). Mend them, "
            f"say what the labels are with a scale ({part.like('nominal')} if they are categories), or name those that "
            "are no answer with missing=[...]"
        )
    whole = read.cast(pl.Int64, strict=False)
    if bool((read.is_null() | (read == whole).fill_null(False)).all()):
        read = whole
    values = part.labels.replace_strict(distinct, read, default=None, return_dtype=read.dtype)
    notes = [numbers.note] if numbers.note else []
    if numbers.no_answer.any():
        notes.append(f"{listing([repr(v) for v in distinct.filter(numbers.no_answer)], 4)} among numbers is no answer")
    return Settled(values.alias(part.labels.name), numbers.scale if scale is None else None, tuple(notes))


def _numbers_as_text(part: Part, read: pl.Series, ways: Ways) -> Settled:
    """Text that holds plain numbers, of a source that tells text from numbers: it stays text, and that is said."""
    scale, _ = inferred(read.drop_nulls(), None)
    meant = scale.spec.removeprefix("ordinal:") if isinstance(scale, Ordinal) else "interval"
    found = _as_categories(part, ways)
    return found._replace(
        notes=(*found.notes, f"labels are text that holds numbers; say {part.like(meant)} to count them")
    )


# -- categories -----------------------------------------------------------------------------------------


def _as_categories(part: Part, ways: Ways) -> Settled:
    """Labels as categories that nobody has listed."""
    _refuse_marks(part, ways.missing)
    labels, notes = _trimmed(part.labels)
    there = labels.is_not_null()
    found = Coded(*coded(labels.filter(there)))
    spelled, said = one_spelling(found, "label", ways.spelling, part.source)
    if spelled is not found:
        labels = labels.replace_strict(found.names, _renamed(found, spelled), default=None)
    return Settled(labels, None, (*notes, *said))


def _renamed(found: Coded, spelled: Coded) -> pl.Series:
    """The new name of each of the old ones."""
    first = pl.DataFrame({"old": found.codes, "new": spelled.codes}).unique("old").sort("old")
    return spelled.names.gather(first["new"])


def _as_listed(part: Part, listed: Sequence[str], ways: Ways) -> Settled:
    """Labels in the spelling of the scale that lists them; what is not on it stays as it is."""
    known = pl.Series(listed, dtype=pl.String)
    strange = ~part.labels.is_in(known.implode())
    if not strange.any():
        return Settled(part.labels)
    bare, notes = _trimmed(part.labels)
    labels = pl.select(pl.when(strange).then(bare).otherwise(part.labels)).to_series().alias(part.labels.name)
    odd = labels.filter(~labels.is_in(known.implode())).unique(maintain_order=True)
    there = pl.DataFrame({"key": alike(known), "known": known}).filter(~pl.col("key").is_duplicated())
    pairs = pl.DataFrame({"odd": odd, "key": alike(odd)}).join(there, on="key", how="inner", maintain_order="left")
    if not pairs.height or ways.spelling == "apart":
        return Settled(labels, None, tuple(notes))
    shown = listing([f"'{o}' and '{k}'" for o, k in pairs.select("odd", "known").iter_rows()], 3)
    if ways.spelling == "refuse":
        raise DataError(
            f"{part.about()} differ from the scale only in case or spaces: {shown}. Say with label_spelling='merge' "
            "that they are the same, or mend them"
        )
    labels = labels.replace(pairs["odd"], pairs["known"])
    return Settled(labels, None, (*notes, f"labels that differ only in spelling are taken as one: {shown}"))


def _trimmed(labels: pl.Series) -> tuple[pl.Series, list[str]]:
    """Labels without the spaces around them; and a note, where there were some."""
    distinct = labels.drop_nulls().unique(maintain_order=True)
    bare = without_spaces(distinct)
    changed = distinct != bare
    if not changed.any():
        return labels, []
    rows = int(labels.is_in(distinct.filter(changed).implode()).sum())
    some = listing([repr(v) for v in distinct.filter(changed).head(4)], 3)
    return labels.replace(distinct, bare), [f"spaces around labels taken off in {counted(rows, 'row')}: {some}"]


def _in_order(part: Part, order: Sequence[str], ways: Ways) -> Settled:
    """Labels whose column declares an order."""
    _refuse_marks(part, ways.missing)
    no_answer = MARKS if ways.missing is None else [str(m).strip().lower() for m in ways.missing]
    categories = [c for c in order if c.strip().lower() not in no_answer]
    numbers = numbers_of_series(pl.Series(categories, dtype=pl.String))
    steps = numbers.diff().drop_nulls()
    if len(categories) > 1 and not numbers.null_count() and (numbers % 1 == 0).all() and (steps == 1).all():
        whole = numbers_of_series(part.labels).cast(pl.Int64).alias(part.labels.name)
        return Settled(whole, Ordinal(int(numbers[0]), int(numbers[-1])))
    return Settled(part.labels, Ordinal(categories) if len(categories) > 1 else None)


# -- what is refused ------------------------------------------------------------------------------------


def refuse_off_scale(part: Part, off: pl.Series, scale: Scale, ways: Ways) -> None:
    """Refuse labels that are not on their scale, by row."""
    about = f" of criterion '{part.criterion}'" if part.criterion else ""
    labels = part.labels.filter(off)
    hint = ""
    if ways.missing is None and labels.dtype == pl.String and labels.str.to_lowercase().is_in(MARKS).any():
        mark = labels.filter(labels.str.to_lowercase().is_in(MARKS))[0]
        hint = f", say missing=['{mark}'] where '{mark}' is no answer"
    raise DataError(
        f"{part.source}: {counted(len(labels), 'label')}{about} off the scale ({part.rows(off)}); each must be "
        f"{scale.describe()}. Mend them{hint}, or give the scale they are on with scale=..."
    )


def valid_as_written(labels: pl.Series, scale: Scale) -> pl.Series:
    """True for each label that is on the scale in whatever notation it is written, or in doubt; never null."""
    valid = scale.valid(labels).fill_null(False)
    if labels.dtype != pl.String or not scale.numeric:
        return valid
    distinct = labels.filter(~valid).drop_nulls().unique(maintain_order=True)
    numbers = numbers_in(without_spaces(distinct), scale, None, ())
    if numbers is None:
        return valid
    on_scale = scale.valid(numbers.values).fill_null(False) | (numbers.doubt is not None)
    return valid | labels.is_in(distinct.filter(on_scale).implode()).fill_null(False)


def inferred(labels: pl.Series, said: Scale | None) -> tuple[Scale, str]:
    """The scale that labels seem to be on, or say they are, and a note that says so."""
    if isinstance(said, Ordinal) and said.names is not None:
        return said, f"labels taken as ordered, as their column declares: {' < '.join(said.names)}"
    if isinstance(said, Ordinal):
        return said, f"labels taken as whole numbers from {said.low} to {said.high}"
    if isinstance(said, Interval) and said.bounds:
        return said, f"labels taken as numbers from {said.low:g} to {said.high:g}"
    if labels.dtype.is_numeric():
        low, high = float(labels.min()), float(labels.max())  # type: ignore[arg-type]
        whole = labels.dtype.is_integer() or bool((labels % 1 == 0).all())
        if whole and low < high <= low + 20:
            return Ordinal(int(low), int(high)), f"labels taken as whole numbers from {low:g} to {high:g}"
        if low < high:
            return Interval(low, high), f"labels taken as numbers from {low:g} to {high:g}"
        return Interval(), "labels taken as numbers (there is only one value)"
    distinct = labels.n_unique()
    if is_free_text(distinct, len(labels)):
        return Text(), f"labels taken as free text ({distinct} different ones)"
    return Nominal(), f"labels taken as {distinct} categories without order"
