"""Names of items, annotators and criteria: codes, spelling, common parts, and which annotators are judges."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.words import model_reason
from assay.errors import DataError, DesignError, counted, listing, unknown

IN_MEMORY = "a table in memory"
"""The name of a table that was not read from a file."""

# -- names as numbers ------------------------------------------------------------------------------

Codes = NDArray[np.int32]


class Coded(NamedTuple):
    """A column of names as numbers."""

    names: pl.Series
    """The different names, in one order."""
    codes: Codes
    """The position of each row's name."""

    def where(self, keep: NDArray[np.bool_]) -> Coded:
        """Some of the rows, with the names that remain."""
        codes = self.codes[keep]
        left = np.zeros(len(self.names), dtype=bool)
        left[codes] = True
        if left.all():
            return Coded(self.names, codes)
        return Coded(self.names.filter(pl.Series(left)), (np.cumsum(left, dtype=np.int32) - np.int32(1))[codes])

    def reorder(self, names: Sequence[str]) -> Coded:
        """Return the same column with the names in another order."""
        place = {name: i for i, name in enumerate(names)}
        moved = np.array([place[name] for name in self.names.to_list()], dtype=np.int32)
        return Coded(pl.Series(self.names.name, names, dtype=pl.String), moved[self.codes])

    def rename_all(self, names: pl.Series) -> Coded:
        """Return the same column with new names, one for each; names that become equal are merged."""
        found = factorize(names)
        return Coded(found.names, found.codes[self.codes])

    def column(self) -> pl.Series:
        """The name of each row."""
        return self.names.gather(pl.Series(self.codes.astype(np.uint32)))


class Names(Sequence[str]):
    """A tuple of names in a Polars column: millions of names become Python strings only when they are used."""

    def __init__(self, series: pl.Series) -> None:
        self._series: pl.Series | None = series
        self._number = len(series)
        self._load: Callable[[], pl.Series] | None = None

    @classmethod
    def later(cls, number: int, load: Callable[[], pl.Series]) -> Names:
        """Make a given number of names that are read on first use."""
        made = cls.__new__(cls)
        made._series, made._number, made._load = None, number, load
        return made

    @property
    def series(self) -> pl.Series:
        """The names as a Polars column."""
        if self._series is None:
            assert self._load is not None
            self._series = self._load()
        return self._series

    def __len__(self) -> int:
        return self._number

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Names: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return Names(self.series[at])
        return self.series[int(at)]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self.series), 10_000):
            yield from self.series[start : start + 10_000].to_list()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.series

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names):
            return self.series.equals(other.series)
        return isinstance(other, tuple | list) and len(other) == len(self) and list(other) == self.series.to_list()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.series.head(5)))
        return f"({shown}{', ...' if len(self) > 5 else ''})"


@dataclass(frozen=True, eq=False)
class Utf8:
    """The bytes of many texts in sequence: text ``i`` is ``length[i]`` bytes from ``start[i]``."""

    data: NDArray[np.uint8]
    start: NDArray[np.int64]
    length: NDArray[np.int64]

    @classmethod
    def of(cls, texts: pl.Series) -> Utf8:
        """The bytes of a column without nulls; eight zeros follow the last."""
        if len(texts) <= FEW_ROWS:
            each = [text.encode() for text in texts.to_list()]
            length, joined = np.fromiter(map(len, each), np.int64, len(each)), b"".join(each)
        else:
            length = texts.str.len_bytes().to_numpy().astype(np.int64)
            joined = texts.str.join("").item().encode()
        return cls(np.frombuffer(joined + bytes(8), dtype=np.uint8), np.cumsum(length) - length, length)

    def words(self, which: NDArray[np.int64], at: int, order: str) -> NDArray[np.uint64]:
        """Eight bytes from position ``at`` of some texts as a number; zeros beyond the end of a text.

        With order ``>`` the first byte weighs most, so that numbers are ordered as texts are; with ``<`` least.
        """
        overlapping = np.ndarray(len(self.data) - 7, dtype=f"{order}u8", buffer=self.data, strides=(1,))
        left = np.clip(self.length[which] - at, 0, 8).astype(np.uint64)
        found = overlapping[np.minimum(self.start[which] + at, len(self.data) - 8)].astype(np.uint64)
        unused = np.uint64(8) * (np.uint64(8) - left)
        # A shift by the whole width is undefined, hence the two halves.
        half = unused // np.uint64(2)
        if order == ">":
            return np.asarray(found >> half >> (unused - half) << half << (unused - half), dtype=np.uint64)
        return np.asarray(found << half << (unused - half) >> half >> (unused - half), dtype=np.uint64)


def factorize(column: pl.Series) -> Coded:
    """The different values of a column in sorted order, null first, and each row's position among them.

    Text is ordered by its bytes; any type other than text, number or time is treated as text.
    """
    if column.dtype == pl.String and len(column) <= FEW_ROWS:
        return _factorize_few(column)
    if column.null_count():
        there = column.is_not_null()
        distinct, places = factorize(column.filter(there))
        with_null: Codes = np.zeros(len(column), dtype=np.int32)
        with_null[there.to_numpy()] = places + np.int32(1)
        return Coded(pl.concat([pl.Series(distinct.name, [None], dtype=distinct.dtype), distinct]), with_null)
    if column.dtype == pl.Boolean:
        column = column.cast(pl.UInt8)
    if column.dtype.is_decimal():
        column = column.cast(pl.Float64)  # NumPy has no integers of 128 bits
    if column.dtype.is_integer() and (found := _factorize_integers(column)) is not None:
        return found
    if column.dtype.is_numeric() or column.dtype.is_temporal():
        distinct = column.unique().sort()
        at = np.searchsorted(distinct.to_physical().to_numpy(), column.to_physical().to_numpy())
        return Coded(distinct, at.astype(np.int32))
    column = column.cast(pl.String)
    if len(column) <= FEW_ROWS:
        return _factorize_few(column)
    if mostly_runs(column):
        starts = np.flatnonzero((column != column.shift(1)).fill_null(True).to_numpy())
        distinct, codes = factorize_texts(column.gather(_rows(starts)))
        return Coded(distinct, np.repeat(codes, np.diff(starts, append=len(column))))
    return factorize_texts(column)


def _factorize_integers(column: pl.Series) -> Coded | None:
    """`coded` without sorting, for whole numbers whose range is not much wider than the column is long."""
    if not len(column):
        return None
    low, high = int(column.min()), int(column.max())  # type: ignore[arg-type]
    if high - low > 2 * len(column) + 1_000 or max(-low, high) >= 1 << 62:
        return None
    at = column.cast(pl.Int64).to_numpy() - low
    there = np.zeros(high - low + 1, dtype=bool)
    there[at] = True
    places = np.cumsum(there, dtype=np.int32)
    places -= np.int32(1)
    return Coded(pl.Series(column.name, np.flatnonzero(there) + low).cast(column.dtype), places[at])


def codes_in(column: pl.Series, names: pl.Series) -> Codes:
    """The position of each value in ``names``, which hold every one of them once."""
    distinct, codes = factorize(column)
    if distinct.dtype != pl.String:
        known = dict(zip(names.cast(distinct.dtype).to_list(), range(len(names)), strict=True))
        return np.array([known[v] for v in distinct.to_list()], dtype=np.int32)[codes]
    names = names.cast(pl.String)
    if distinct.equals(names):
        return codes
    sorted_names, places = factorize(names)
    back = np.empty(len(names), dtype=np.int32)
    back[places] = np.arange(len(names), dtype=np.int32)
    at = np.arange(len(names)) if distinct.equals(sorted_names) else sorted_names.search_sorted(distinct).to_numpy()
    return back[at][codes]


def sort_cells(
    cells: NDArray[np.int64], n_cells: int
) -> tuple[NDArray[np.uint32] | NDArray[np.int64] | None, NDArray[np.int64]]:
    """The order of rows that sorts ``cells`` (0 to ``n_cells`` − 1), stable for equal ones, and the sorted cells.

    The order is None if they are sorted already.
    """
    if bool((cells[1:] >= cells[:-1]).all()):
        return None, cells
    n_bits = len(cells).bit_length()
    if max(n_cells, 1).bit_length() + n_bits > 64:
        order = np.argsort(cells, kind="stable")
        return order, cells[order]
    # Sorting one array of numbers that end in the row is several times as fast as argsort.
    packed = cells.astype(np.uint64)
    packed <<= np.uint64(n_bits)
    packed |= np.arange(len(cells), dtype=np.uint64)
    packed.sort()
    rows = packed & np.uint64((1 << n_bits) - 1)
    packed >>= np.uint64(n_bits)
    return rows.astype(np.uint32) if n_bits <= 32 else rows.astype(np.int64), packed.view(np.int64)


def cell_numbers(columns: Iterable[tuple[int, NDArray[np.integer[Any]]]]) -> tuple[NDArray[np.int64], int]:
    """One number per row that identifies its combination of codes, and an upper bound of these numbers.

    Each column is the number of codes and the code of each row; numbers increase with the first column, then the next.
    """
    (n_cells, first), *rest = columns
    cells = first.astype(np.int64)
    for size, codes in rest:
        if n_cells * size >= 2**62:
            different, cells = np.unique(cells, return_inverse=True)
            n_cells = len(different)
        cells *= size
        cells += codes
        n_cells *= size
    return cells, n_cells


def any_twice(cells: NDArray[np.int64]) -> bool:
    """Whether a number is there more than once."""
    if bool((cells[1:] > cells[:-1]).all()):
        return False
    ordered = np.sort(cells)
    return bool((ordered[1:] == ordered[:-1]).any())


FEW_ROWS = 2_000
"""Rows up to which a dictionary is quicker: .04 ms of 100 and .4 ms of 2,000, where arrays take .6 ms at least."""


def _factorize_few(column: pl.Series) -> Coded:
    """Texts as Python orders them, by code points, which is the order of their bytes; null first."""
    texts = column.to_list()
    names = sorted(set(texts), key=lambda text: (text is not None, text or ""))
    place = {name: i for i, name in enumerate(names)}
    return Coded(pl.Series(column.name, names, dtype=pl.String), np.array([place[t] for t in texts], dtype=np.int32))


def mostly_runs(column: pl.Series) -> bool:
    """Whether equal values mostly follow each other, judged by a sample of the rows."""
    if len(column) < 2:
        return False
    at = np.unique(np.linspace(0, len(column) - 2, 1_000).astype(np.int64))
    return float((column.gather(at) == column.gather(at + 1)).mean() or 0) > 0.4  # type: ignore[arg-type]


def _rows(at: NDArray[Any]) -> pl.Series:
    return pl.Series(at.astype(np.uint32, copy=False))


def _repeats_few(column: pl.Series) -> bool:
    """Whether a column repeats few values, judged by a sample of the rows."""
    at = np.unique(np.linspace(0, len(column) - 1, 1_000).astype(np.int64))
    return len(at) > 3 * column.gather(at).n_unique()


def factorize_texts(column: pl.Series) -> Coded:
    """Rows are sorted by hash, which groups equal texts; then each text is compared with that of its group."""
    if len(column) and _repeats_few(column):
        # A table of so few values stays in the processor's cache: a third of the time of sorting all rows.
        few = column.unique().sort()
        return Coded(few, column.cast(pl.Enum(few)).to_physical().cast(pl.Int32).to_numpy())
    if len(column) and (numbered := _factorize_numbered(column)) is not None:
        return numbered
    n_bits = np.uint64(len(column).bit_length())
    packed = column.hash().to_numpy() >> n_bits
    packed <<= n_bits
    packed |= np.arange(len(column), dtype=np.uint64)
    packed.sort()
    rows = (packed & ((np.uint64(1) << n_bits) - np.uint64(1))).astype(np.uint32)
    packed >>= n_bits
    first = np.ones(len(column), dtype=bool)
    np.not_equal(packed[1:], packed[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    del packed, first
    names = column.gather(_rows(rows[starts]))
    order = text_order(names)
    names = names.gather(_rows(order))
    rank = np.empty(len(names), dtype=np.int32)
    rank[order] = np.arange(len(names), dtype=np.int32)
    codes = np.empty(len(column), dtype=np.int32)
    codes[rows] = np.repeat(rank, np.diff(starts, append=len(column)))
    del rows
    others = np.flatnonzero((names.gather(_rows(codes)) != column).to_numpy())
    return _merge_texts(names, codes, others, column.gather(_rows(others))) if len(others) else Coded(names, codes)


_NUMBERED = re.compile(r"(|.*[^0-9])([0-9]{1,16})", re.DOTALL)
_POWERS = 10 ** np.arange(17, dtype=np.int64)


def _factorize_numbered(column: pl.Series) -> Coded | None:
    """Texts that differ in a whole number at their end (``battle 17``, ``doc-0017``), in half the time; else None."""
    parts = _numbers_at_end(column)
    if parts is None:
        return None
    number, size = parts
    found, width = _factorize_integers(number), int(size.max())  # type: ignore[arg-type]
    if found is None or width > 16:
        return None
    row = np.empty(len(found.names), dtype=np.int64)
    row[found.codes] = np.arange(len(column))
    value, names = found.names.to_numpy(), column.gather(_rows(row))
    if size.min() == width:
        return Coded(names, found.codes)
    digits = np.searchsorted(_POWERS[1:], value, side="right") + 1
    if (digits[found.codes] != size.to_numpy()).any():  # zeros before some numbers
        return None
    # Filled up with zeros, texts of digits are ordered as numbers; of equal ones (1, 10, 100) the shortest is first.
    order = np.argsort(value * _POWERS[width - digits], kind="stable")
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return Coded(names.gather(_rows(order)), place[found.codes])


def _numbers_at_end(column: pl.Series) -> tuple[pl.Series, pl.Series] | None:
    """The whole number at the end of each text, and its digits, if the texts differ in nothing else."""
    parts = _NUMBERED.fullmatch(column[0])
    if parts is None or not column.str.starts_with(parts[1]).all():
        return None
    tail = column.str.slice(len(parts[1]))
    number = tail.cast(pl.Int64, strict=False)
    if number.null_count() or tail.str.starts_with("+").any() or tail.str.starts_with("-").any():
        return None
    return number, tail.str.len_bytes()


def _merge_texts(names: pl.Series, codes: Codes, rows: NDArray[np.int64], texts: pl.Series) -> Coded:
    """Insert the texts of a few rows, whose hashes begin like those of others, among the names."""
    more, their = factorize(texts)
    before = names.search_sorted(more).to_numpy().astype(np.int64)
    codes = codes + np.searchsorted(before, codes, side="right").astype(np.int32)
    codes[rows] = (before + np.arange(len(more)))[their]
    both = pl.concat([names, more.alias(names.name)])
    return Coded(both.gather(_rows(text_order(both))), codes)


def text_order(texts: pl.Series) -> NDArray[np.int64]:
    """The order of different texts by their bytes: by eight of them as a number, the full text deciding ties."""
    if len(texts) < 2:
        return np.arange(len(texts))
    utf8 = Utf8.of(texts)
    low, high = str(texts.min()).encode(), str(texts.max()).encode()
    same = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    keys = utf8.words(np.arange(len(texts)), same, ">")
    order = np.argsort(keys)
    keys = keys[order]
    tie = keys[1:] == keys[:-1]
    if tie.any():
        tied = np.flatnonzero(np.concatenate([tie, [False]]) | np.concatenate([[False], tie]))
        members = order[tied]
        order[tied] = members[texts.gather(_rows(members)).arg_sort().to_numpy()]
    return order


def natural(names: Iterable[Any]) -> tuple[Any, ...]:
    """Names in the order people expect: '2' before '10', numbers as numbers."""
    values = list(names)
    if all(isinstance(v, int | float) for v in values):
        return tuple(sorted(values))
    return tuple(sorted(values, key=lambda v: ([_piece(p) for p in re.split(r"(\d+)", str(v))], str(v))))


LONGEST_NUMBER = 15
"""Digits of the longest number in a name that is sorted as a number."""


def natural_places(names: pl.Series) -> NDArray[np.int64]:
    """Return the place of each name in natural order, from 0: (names,)."""
    parts = _numbers_at_end(names) if len(names) else None
    if parts is not None and parts[1].max() <= LONGEST_NUMBER and parts[0].n_unique() == len(names):  # type: ignore[operator]
        order = np.argsort(parts[0].to_numpy())
    else:
        padded = names.str.replace_all(r"[0-9]+", "0" * (LONGEST_NUMBER - 1) + "$0")
        # A number is before any other character, as the end of the text before it is.
        padded = padded.str.replace_all(rf"0*([0-9]{{{LONGEST_NUMBER},}})", "\0$1")
        both = pl.DataFrame({"padded": padded, "name": names})
        order = both.select(pl.arg_sort_by("padded", "name")).to_series().to_numpy()
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return places


def _piece(piece: str) -> tuple[int, str]:
    # str.isdecimal, not int(): digits of other scripts and of great length are names, not numbers.
    return (int(piece), "") if piece.isascii() and piece.isdecimal() and len(piece) <= LONGEST_NUMBER else (-1, piece)


# -- names of items, annotators and criteria -------------------------------------------------------

Spelling = Literal["refuse", "merge", "apart"]
"""How to treat names that differ only in case or inner spaces."""

PLURALS = {
    "item": "items", "annotator": "annotators", "criterion": "criteria", "label": "labels", "system": "systems",
}  # fmt: skip


class SpellingError(DataError):
    """Names differ only in spelling, and the user has not specified whether they are the same."""

    def __init__(self, message: str, shown: str = "", role: str = "") -> None:
        super().__init__(message, advised={"label_spelling" if role == "label" else "spelling": "merge"})
        self.shown = shown


_AROUND = r"^[\s\p{Cf}]+|[\s\p{Cf}]+$"
_INSIDE = r"[\s\p{Cf}]+"
_NOT_PLAIN = r"[^\x20-\x40\x5b-\x7e]|  "
"""Anything except visible ASCII characters without case and single spaces."""

_VISIBLE = re.compile(r"[\x21-\x7e]*")


# -- spaces ----------------------------------------------------------------------------------------


def trim_names(found: Coded, role: str) -> tuple[Coded, list[str]]:
    """Return names without the spaces around them, and a note if there were any."""
    bare = strip_spaces(found.names)
    if bare is found.names:
        return found, []
    changed = found.names != bare
    if not changed.any():
        return found, []
    rows = int(np.isin(found.codes, np.flatnonzero(changed.to_numpy())).sum())
    shown = listing([repr(name) for name in found.names.filter(changed).head(4)], 3)
    return found.rename_all(bare), [
        f"removed spaces around names of {PLURALS[role]} in {counted(rows, 'row')}: {shown}"
    ]


def strip_spaces(names: pl.Series) -> pl.Series:
    """Names without white space and invisible characters at their ends."""
    if are_visible(names):
        return names
    if (
        len(names) > FEW_ROWS and (names.str.len_bytes() == names.str.len_chars()).all()
    ):  # ASCII has no format characters
        return names.str.strip_chars()
    return names.str.replace_all(_AROUND, "")


def are_visible(names: pl.Series) -> bool:
    """Whether a few names contain only visible ASCII characters; a quick check that saves Polars queries."""
    text = _joined(names)
    return text is not None and _VISIBLE.fullmatch(text) is not None


def _joined(names: pl.Series) -> str | None:
    """A few names as one text, in which Python finds letters at once; None for many names, or if one is null."""
    return None if len(names) > FEW_ROWS or names.null_count() else "".join(names.to_list())


# -- spelling ----------------------------------------------------------------------------------------


def spelling_key(names: pl.Series) -> pl.Series:
    """Return keys that are equal if names differ only in case, in inner spaces or in the encoding of letters."""
    text = _joined(names)
    if not (names.str.contains(_NOT_PLAIN).any() if text is None else re.search(_NOT_PLAIN, text)):
        return names
    return names.str.normalize("NFKC").str.to_lowercase().str.replace_all(_INSIDE, " ")


_LABEL_MARKUP = r"[&<;|\[‘’“”‐‑–—_+/=-]|, |\.$"


def label_key(labels: pl.Series) -> pl.Series:
    """Return keys that are equal if labels differ only in spelling, markup, quotes, dashes or the order of choices.

    ``<p>Q&amp;A</p>`` has the key of ``Q&A``, ``not_relevant`` that of ``Not relevant.``, ``3 + 4`` that of ``3+4``,
    and ``['joy', 'anger']`` that of ``['anger', 'joy']``.
    """
    key = spelling_key(labels)
    if not key.str.contains(_LABEL_MARKUP).any():
        return key
    return pl.Series(labels.name, [None if text is None else _label_key(text) for text in key], dtype=pl.String)


def _label_key(text: str) -> str:
    inside = re.sub(r"</?[a-z][^<>]*>", "", text)
    # `<name>` alone is a place to be filled in, not markup around a label.
    plain = unescape(inside if inside.strip() else text).translate(_QUOTES).strip().removesuffix(".")
    plain = re.sub(r"\s*([+/=])\s*", r"\1", re.sub(r"(?<=[^\W\d_])[-_](?=[^\W\d_])", " ", plain))
    inner = plain[1:-1] if plain[:1] + plain[-1:] in ("[]", "{}") else plain
    mark = next((one for one in (";", "|", ",") if one in inner), None)
    if mark is None or (mark == "," and inner == plain and len(plain.split()) > MOST_CHOICE_WORDS):
        return plain
    return mark.join(sorted(part.strip() for part in inner.split(mark)))


MOST_CHOICE_WORDS = 8
"""Words up to which a text with commas is a list of choices: sentences have more."""

_QUOTES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "‐": "-", "‑": "-", "–": "-", "—": "-"})


def unify_spelling(found: Coded, role: str, how: Spelling, source: str) -> tuple[Coded, list[str]]:
    """Refuse names that differ only in spelling, merge them (most frequent spelling, then first), or keep them.

    Raises
    ------
    DataError
        If ``how="refuse"`` and there are such names.
    """
    key = label_key(found.names) if role == "label" else spelling_key(found.names)
    if key is found.names or key.n_unique() == len(key):
        return found, []
    rows = np.bincount(found.codes, minlength=len(key))
    table = pl.DataFrame({"name": found.names, "key": key, "rows": rows})
    groups = table.filter(pl.col("key").is_duplicated()).group_by("key", maintain_order=True).agg("name")["name"]
    shown = spelling_groups(groups.to_list())
    if how == "refuse":
        raise SpellingError(spelling_refusal(role, shown, source), shown, role)
    if how == "apart":
        return found, [f"{PLURALS[role]} that differ only in spelling are kept separate: {shown}"]
    chosen = table.select(pl.col("name").sort_by("rows", descending=True, maintain_order=True).first().over("key"))
    return found.rename_all(chosen["name"]), [f"{PLURALS[role]} that differ only in spelling are merged: {shown}"]


def spelling_refusal(role: str, shown: str, source: str) -> str:
    """Return the message for names that differ only in spelling, with the option that resolves it."""
    option = "label_spelling" if role == "label" else "spelling"
    how = "spelling" if role == "label" else "case or spaces"
    return (
        f"{source}: {PLURALS[role]} differ only in {how}: {shown}. Set {option}='merge' if they are the same, "
        f"or {option}='apart' if they are different"
    )


def spelling_groups(groups: Sequence[Sequence[str]]) -> str:
    """``'Ann', 'ann'; 'Q 1', 'Q1' and 3 more``."""
    shown = "; ".join(listing([repr(name) for name in group], 4) for group in groups[:3])
    return shown + (f"; and {len(groups) - 3} more" if len(groups) > 3 else "")


def match_spelling(names: pl.Series, known: pl.Series, role: str, how: Spelling, source: str) -> pl.Series:
    """Spell the names of a second table as the labels spell them.

    Raises
    ------
    DataError
        If ``how="refuse"`` and a name differs from a known name only in spelling.
    """
    names = strip_spaces(names)
    if names.equals(known):
        return names
    strange = ~names.is_in(known.implode())
    if how == "apart" or not strange.any():
        return names
    there = pl.DataFrame({"key": spelling_key(known), "known": known}).unique("key", keep="first", maintain_order=True)
    table = pl.DataFrame({"name": names, "key": spelling_key(names), "strange": strange})
    table = table.join(there, on="key", how="left", maintain_order="left")
    respelled = table.filter(pl.col("strange") & pl.col("known").is_not_null())
    if not respelled.height:
        return names
    if how == "refuse":
        shown = spelling_groups(respelled.select("known", "name").rows())
        raise SpellingError(spelling_refusal(role, shown, f"{source} and the table of {PLURALS[role]}"), shown, role)
    return table.select(pl.when("strange").then(pl.coalesce("known", "name")).otherwise("name").alias(names.name))[
        names.name
    ]


# -- common parts of names -----------------------------------------------------------------------------

SEPARATORS = ("__", "#", "/", ":", "-", "_", ".")
"""Separators within a name. Two underscores separate parts whenever names share the part before them, because words
contain none. Of the other separators, the one with the most stems counts; of two with equally many, the earlier."""

LEAST_SHARING = 1.5
"""Items per stem from which names share a stem. At least half of the items then have others with the same stem; a few
names that happen to begin in the same way (1.0 to 1.2 in lists of words) are not a structure."""

_GLANCE = 1_000
"""Names that are checked first; a separator that is missing in one of them is not used."""


class NameParts(NamedTuple):
    """Names that each consist of a stem, a separator and a suffix: ``doc3_s12``, ``img_7__Color``."""

    separator: str
    stem: Coded
    """The part that several names share: the document, the image; a code for each name, in the given order."""
    suffix: Coded
    """The part that distinguishes names with the same stem: the sentence, the question; a code for each name."""

    @property
    def items_per_stem(self) -> float:
        """Names per stem, on average."""
        return len(self.stem.codes) / len(self.stem.names)

    @property
    def crossed(self) -> float:
        """The share, 0 to 1, of all combinations of a stem and a suffix that are names; 1 if all exist."""
        return len(self.stem.codes) / (len(self.stem.names) * len(self.suffix.names))


def stems(items: Sequence[str] | pl.Series) -> NameParts | None:
    """Find the stems that names share: several items of one document, or several questions about one item.

    Parameters
    ----------
    items : sequence of str, or polars.Series
        Distinct names; a million take half a second, or four seconds if many separators nearly fit.

    Returns
    -------
    NameParts or None
        None if no separator occurs in every name, if few names share a stem (fewer than `LEAST_SHARING` per stem), or
        if all share the same stem.
    """
    names = items if isinstance(items, pl.Series) else pl.Series(items, dtype=pl.String)
    found: NameParts | None = None
    for separator in _separators(names) if len(names) >= 2 * LEAST_SHARING else ():
        # At the first occurrence, if names share nothing before the last.
        one = _cut(names, separator, _LAST, _FIRST)
        if one is not None and (found is None or len(one.stem.names) > len(found.stem.names)):
            found = one
        if found is not None and separator == SEPARATORS[0]:
            break
    return found


def common_suffix(names: pl.Series, least: int) -> Coded | None:
    """Find the endings after the last separator of every name, if each ending has ``least`` names on average.

    For names with different stems, such as ``i0001__Color`` and ``i0002__Blue``, the ending is the question.
    None if no separator splits every name, or if all names have the same ending.
    """
    for separator in _separators(names):
        endings = names.str.extract(rf"(?s)^.+{re.escape(separator)}(.+)$")
        if not endings.null_count() and 1 < endings.n_unique() <= len(names) / least:
            return factorize(endings)
    return None


def _separators(names: pl.Series) -> tuple[str, ...]:
    """Return the separators that each of the first names contains."""
    first = names.head(_GLANCE).drop_nulls().to_list()
    return tuple(separator for separator in SEPARATORS if all(separator in name for name in first))


_LAST, _FIRST = ".+", ".+?"
"""Which occurrence of a separator splits a name."""


def _cut(names: pl.Series, separator: str, *places: str) -> NameParts | None:
    """Names split at the first of these occurrences of a separator before which names share a stem."""
    mark = re.escape(separator)
    for stem in places:
        parts = names.str.extract_groups(rf"(?s)^(?P<stem>{stem}){mark}(?P<suffix>.+)$").struct.unnest()
        if parts["stem"].null_count():
            return None
        different = parts["stem"].n_unique()
        if 1 < different <= len(names) / LEAST_SHARING:
            return NameParts(separator, factorize(parts["stem"]), factorize(parts["suffix"]))
    return None


QUESTION_SEPARATOR = SEPARATORS[0]
"""The only separator before a question that is recognised without an option, because the published data of the
alternative annotator test use it (``img_7__Color``)."""

MOST_QUESTIONS = 24
"""Largest number of questions about one item: the longest annotation questionnaires have about twenty."""

LEAST_ITEMS = 5
"""Smallest number of items per question: with fewer, two similar names can be a coincidence."""

LEAST_CROSSED = 0.5
"""Smallest share of the items that each question must cover, and of all combinations that must exist: published files
have .95 to 1, parts of longer names (``cue__association__text``) nearly 0."""


def questions_in(names: pl.Series, *, numbered: bool = False) -> NameParts | None:
    """Split names into items and questions, if all names together show this structure: ``img_7__Color``.

    None if suffixes name models, or only number the part before them (``doc__1``, ``doc__Q12``), unless ``numbered``:
    sentences, turns and outputs are items.
    """
    if not len(names) or not names.head(_GLANCE).str.contains(QUESTION_SEPARATOR, literal=True).all():
        return None
    parts = _cut(names, QUESTION_SEPARATOR, _LAST)
    if parts is None or not 2 <= len(parts.suffix.names) <= MOST_QUESTIONS or parts.crossed < LEAST_CROSSED:
        return None
    labelled = np.bincount(parts.suffix.codes).min()
    if labelled < max(LEAST_ITEMS, LEAST_CROSSED * len(parts.stem.names)):
        return None
    questions = parts.suffix.names.to_list()
    only_numbers = len({re.sub(r"\d+", "", one) for one in questions}) == 1
    return None if (only_numbers and not numbered) or model_names(questions) else parts


# -- humans and judges --------------------------------------------------------------------------------

KINDS = ("human", "judge")

MOST_LISTED = 12
"""Largest number of names in a remedy; for more, a column is shorter to type."""


def places_within(groups: pl.DataFrame, *, drawn: bool) -> pl.Series:
    """Return the place of each row among the rows with the same values: ``1``, ``2``, …

    Places of people are drawn: the rows of an item can be sorted, and the first would then always be the lowest label.

    Examples
    --------
    >>> places_within(pl.DataFrame({"item": ["a", "b", "a"]}), drawn=False).to_list()
    ['1', '1', '2']
    """
    order = np.arange(groups.height)
    order = np.random.default_rng(0).permutation(order) if drawn else order
    keys = {f"key {k}": one for k, one in enumerate(groups.iter_columns())}
    place = pl.col("order").rank("ordinal").over(*keys).cast(pl.String)
    return pl.DataFrame({**keys, "order": order}).select(place).to_series()


def possible_judges(names: Sequence[str], reason: str = "") -> str:
    """Return the finding that annotators could be judges, if no judge is specified."""
    found = f"{listing([repr(name) for name in names])} could be {'judges' if len(names) > 1 else 'a judge'}"
    return found + (f" ({reason})" if reason else "")


class KindUnknownError(DataError):
    """Annotators have names of models, and the user has not specified whether they are judges."""

    def __init__(self, message: str, names: Sequence[str] = (), judges: Iterable[str] = ()) -> None:
        super().__init__(message, advised={"judges": [*judges, *names]})
        self.names = tuple(names)


def annotator_kinds(
    who: Coded,
    kinds: pl.Series | None,
    table: pl.DataFrame | None,
    judges: Iterable[str] | None,
    humans: Iterable[str] | None,
    how: Spelling,
    source: str,
) -> tuple[list[str], list[str]]:
    """Return ``human`` or ``judge`` for each annotator, in natural order of their names, and the assumptions.

    The kinds come from a column ``kinds`` of the labels, from an additional table of annotators, and from the user.
    """
    names = natural(who.names.to_list())
    named_judges = None if judges is None else _match_names(judges, "judge", names, how, source)
    named_humans = None if humans is None else _match_names(humans, "human", names, how, source)
    only_words = judges is not None or humans is not None
    stated = {} if table is None else _kinds_of_table(table, only_words=only_words)
    if kinds is not None:
        stated |= _kinds_of_labels(who, kinds, source, only_words=only_words)
    return settle_kinds(names, stated, named_judges, named_humans, source)


def _match_names(given: Iterable[str], kind: str, names: Sequence[str], how: Spelling, source: str) -> tuple[str, ...]:
    """The annotators that the user names, spelled as in the labels."""
    wanted = strip_spaces(pl.Series([given] if isinstance(given, str) else list(map(str, given)), dtype=pl.String))
    keys = spelling_key(pl.Series(names, dtype=pl.String)).to_list() if how == "merge" else ()
    spelled = dict(zip(keys, names, strict=False))
    found = [name if name in names else spelled.get(spelling_key(pl.Series([name]))[0]) for name in wanted]
    for name, one in zip(wanted, found, strict=True):
        if one is None:
            raise DataError(unknown(kind, name, names, source), option=f"{kind}s", value=name)
    return tuple(one for one in found if one is not None)


def settle_kinds(
    names: Sequence[str],
    stated: Mapping[str, str],
    judges: Sequence[str] | None,
    humans: Sequence[str] | None,
    source: str,
) -> tuple[list[str], list[str]]:
    """Return the kind of each annotator, and the assumptions; the user's options override the table."""
    both = [name for name in judges or () if name in (humans or ())]
    if both:
        raise DesignError(f"judges=... and humans=... both contain '{both[0]}'; remove it from one of them")
    given = {**dict.fromkeys(judges or (), "judge"), **dict.fromkeys(humans or (), "human")}
    if judges is not None:
        _refuse_dropped_judges(names, stated, given, judges, source)
    if judges is None and humans is not None:
        # A user who lists the humans excludes the models, but can forget an annotator.
        stated = {**dict.fromkeys(model_names(names, names), "judge"), **stated}
    known = {**stated, **given}
    unknown_ = [name for name in names if name not in known]
    models = model_names(unknown_, names)
    if models:
        raise KindUnknownError(_unknown_kind(models, judges, names, source), models, judges or ())
    if unknown_ and humans is not None and judges is None:
        raise DataError(
            f"{source}: humans=... does not name {listing(unknown_)}; name all humans there, or set judges=[...] as "
            "well. With both options, an annotator in neither is assumed to be human"
        )
    notes = []
    if unknown_ and judges is not None and humans is not None:
        notes.append(f"{counted(len(unknown_), 'annotator')} in neither judges=... nor humans=..., assumed to be "
                     f"human: {listing(unknown_)}")  # fmt: skip
    if humans is not None and judges is None:
        rest = [name for name in names if known[name] == "judge"]
        notes += [f"assumed to be judges, because humans=... does not name them: {listing(rest)}"] if rest else []
    return [known.get(name, "human") for name in names], notes


def _refuse_dropped_judges(
    names: Sequence[str], stated: Mapping[str, str], given: Mapping[str, str], judges: Sequence[str], source: str
) -> None:
    """Refuse options that would turn a judge of the table into a human by not naming it."""
    dropped = [name for name in names if stated.get(name) == "judge" and name not in given]
    if dropped:
        it, is_person = ("them", "they are human") if len(dropped) > 1 else ("it", "it is human")
        raise DataError(
            f"{source} lists {listing(dropped)} as {'judges' if len(dropped) > 1 else 'a judge'}, but judges=... does "
            f"not name {it}; add {it} with judges={[*judges, *dropped]}, or, if {is_person}, set humans={dropped}"
        )


def _unknown_kind(models: Sequence[str], judges: Sequence[str] | None, names: Sequence[str], source: str) -> str:
    """Return the message for annotators with names of models, and the remedy."""
    people = list(models) if judges is not None else list(names)
    human = f"humans={people}" if len(people) <= MOST_LISTED else "a column 'kind' (human or judge)"
    finding = possible_judges(models, model_reason(models))
    return (
        f"{source}: {finding}. Name all judges with judges={[*(judges or ()), *models]}, or specify "
        f"the humans with {human}"
    )


def _kinds_of_table(frame: pl.DataFrame, *, only_words: bool) -> dict[str, str]:
    """The kinds in the table of annotators; with ``only_words``, none if the column contains other words."""
    words = frame.select("annotator", pl.col("kind").cast(pl.String).str.strip_chars().str.to_lowercase()).drop_nulls()
    odd = words.filter(~words["kind"].is_in(KINDS))
    if odd.height and not only_words:
        raise DataError(
            f"the table of annotators: column 'kind' must contain human or judge; '{odd['annotator'][0]}' has "
            f"{odd['kind'][0]!r}"
        )
    return {} if odd.height else dict(words.iter_rows())


def _kinds_of_labels(who: Coded, kinds: pl.Series, source: str, *, only_words: bool) -> dict[str, str]:
    """The kind of each annotator in a column of the labels; empty cells are ignored.

    With ``only_words`` the user has named judges or humans, so that a column with other words has another meaning.
    """
    words, codes = factorize(kinds.cast(pl.String).str.strip_chars().str.to_lowercase())
    cells = np.unique(who.codes.astype(np.int64) * len(words) + codes)
    stated = pl.DataFrame(
        {"annotator": who.names.gather(cells // len(words)), "kind": words.gather(cells % len(words))},
        schema={"annotator": pl.String, "kind": pl.String},
    ).filter(pl.col("kind").is_not_null() & (pl.col("kind") != ""))
    odd = stated.filter(~pl.col("kind").is_in(KINDS))
    if odd.height and not only_words:
        raise DataError(
            f"{source}: column 'kind' must contain human or judge; annotator '{odd['annotator'][0]}' has "
            f"{odd['kind'][0]!r}"
        )
    if odd.height:
        return {}
    both = stated.filter(stated["annotator"].is_duplicated())
    if both.height:
        raise DataError(f"{source}: annotator '{both['annotator'][0]}' is both human and judge")
    return dict(stated.iter_rows())


_FAMILIES = (
    r"(chat)?gpt(oss)?|llama|gemini|gemma[- ]?\d|mistral|mixtral|ministral|magistral|codestral|qwen|qwq|deepseek|"
    r"vicuna|alpaca|dolly-v?\d|grok|kimi-?k\d|falcon-?\d|command-?(r|a|light|xlarge)|olmo|dbrx|jamba|nemotron|wizardlm|internlm|"
    r"baichuan|hunyuan|ernie-?bot|minimax|chatglm|glm-?\d|davinci|(text|chat)-bison|palm-?2|phi-?\d|yi-\d|zephyr-?\d|"
    r"prometheus|copilot|flan[-_ ]?t5|smollm|starling-lm|solar-\d|granite-\d|nova-(pro|lite|micro|premier)|llms?|"
    r"gemba|g-?eval|language[-_ ]?model|gpt[-_ ]?oss|openai|anthropic"
)
_MODEL = re.compile(
    rf"(?<![a-z0-9])({_FAMILIES})(?!(?!pro|flash|guard|vl|j\b|neo|turbo|coder)[a-z])"
    r"|(?<![a-z])claude([-_. :/]*(\(|\d|v\d|opus|sonnet|haiku|instant|code|judge|"
    r"scores?|ratings?|labels?|answers?|votes?|annotations?|pred(iction)?s?|verdicts?|outputs?)|$)"
    r"|(?<![a-z])(opus|sonnet|haiku)[-_. ]?\d"
    r"|^o[134]([-_ ](mini|preview|pro|high|low).*)?$"
    r"|^(openai|anthropic|google|vertex|bedrock|azure|meta|meta-llama|mistralai|xai|x-ai|cohere|huggingface|together|"
    r"openrouter|ollama|groq|fireworks|nvidia|microsoft)[/:]"
    r"|\d+(\.\d+)?b[-_](instruct|chat|it|base|hf)\b|[a-z]{3}[-_](\d+\.\d+|[3-9]|\d{2,3})b$"
    r"|\[bot\]$|^(chat)?bots?$|^(machine|algorithm|classifier|auto[-_ ]?qa|perspective[-_ ]?api|detoxify|doubao)$"
    r"|[-_](bot|moderation|classifier)$|^(pandalm|judgelm|auto-?j|tulu-?\d|xlm-?r(oberta)?)([-_. ]|$)"
    r"|^(hate|camem|flau|fin|bio|sci|legal|clinical|distil|tiny|mobile|toxic)[-_]?(ro)?berta?([-_. ]|$)|^deberta"
    r"|^(llama|wild|shield|granite|ai)[-_ ]?(guard(ian)?|gemma)([-_. ]|$)|模型|机器|通义|千问|文心"
    r"|^(fine[-_ ]?tuned|baseline)[-_ ]?model$|^(model|system)[-_ ](pred|output)$"
    r"|(?<![a-z])(llm|rm|ai|auto|model|reward)[-_ ]judge([^a-z]|$)"
    r"|^judge$|^model[-_ ]graded|^(judge|grader|ai|base|reward|large)[-_ ]?model|^model([-_ ]?[a-z0-9]{1,2})?$"
    r"|^ai[-_ ](judge|rater|grader|annotator|assistant|labell?er)"
    r"|^(?-i:opus|sonnet|haiku)$|^predict(ed|ions?)?([-_ .]?[a-z0-9]{1,8})?$|^(y_)?pred([-_ .][a-z0-9]{1,8})?$"
    r"|^(modell|modelo|modèle|modello|модель|ии)([-_ ]?\w{1,2})?$"
    r"|^(ai|model|machine|bot|judge([-_ ]?\d+)?|auto(mat(ic|ed))?)[-_ ]?(score|rating|label|grade|judg(e)?ment|"
    r"annotation|vote|output|answer|verdict|prediction|run[-_ ]?\d+)s?$"
    r"|^(ai|bot|judge)[-_ ]?(choice|decision|preference|pick)s?$"
    r"|^auto[-_ ]?(grader|rater|eval)$|^system[-_ ]prediction$",
    re.IGNORECASE,
)


_COMPUTED = (
    r"(?i)^(the )?(human |people |column |row |grand |overall )?(mean|average|avg\.?|median|majority|"
    r"majority[ _-]?vote|consensus|total|sum|gold|gold[ _-]?(label|standard)|ground[ _-]?truth|adjudicated)s?$"
)


def computed_names(names: pl.Series) -> list[str]:
    """Return the names of computed values, not annotators: ``Mean``, ``Average``, ``Majority``, ``gold``."""
    return names.filter(names.str.contains(_COMPUTED)).to_list()


def model_names(names: Iterable[str], among: Collection[str] = ()) -> list[str]:
    """Return the names that look like a language model's: ``gpt-4o``, ``llama``, ``mistralai/mixtral-8x7b``.

    ``o1`` and ``o3`` do, unless there is also an ``o2``: then the names number observers. ``text-12b`` does, unless
    there is also a ``text-12a``.
    """
    observers = any(name.lower() == "o2" for name in among)
    parts = {name[:-1] for name in among if re.search(r"\d[aA]$", name)}
    return [
        name for name in names
        if _MODEL.search(name) and not (observers and re.fullmatch(r"[oO]\d", name)) and name[:-1] not in parts
    ]  # fmt: skip


def refuse_equal_names(source: object, names: Sequence[str]) -> None:
    """Refuse a file with two columns of the same name, or with a first row of numbers instead of names."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is None:
        return
    if all(re.fullmatch(r"-?\d+([.,]\d+)?|column \d+|", name) for name in names):
        raise DataError(
            f"{source}: the first row contains numbers ({listing(names, 4)}), not column names; add a row of names "
            "above it, such as item, ann, bob"
        )
    header = "; if the first row is data, add a row of names above it" if twice.replace(".", "").isdigit() else ""
    again = [name for name in dict.fromkeys(names) if names.count(name) > 2]
    if again and not header:  # a form that asks the same about several items
        raise DataError(
            f"{source} has several columns with the same name: {listing([repr(n) for n in again], 3)}. Give each its "
            f"own, such as '{again[0]} [item 1]', '{again[0]} [item 2]' for a question about several items"
        )
    raise DataError(f"{source} has two columns named '{twice}'; rename one of them{header}")


def numbered_texts(texts: pl.Series) -> pl.Series | None:
    """Return the numbers at the end of equal words, ``run-1`` and ``run-2``; None for numbers and other texts."""
    if texts.dtype != pl.String:
        return None
    parts = texts.drop_nulls().str.extract_groups(r"^(.*?\p{L}.*?)(\d{1,6})$").struct.unnest()
    found = parts["2"].null_count() == 0 and parts["1"].n_unique() == 1
    return texts.str.extract(r"(\d+)$").cast(pl.Int64) if found else None


def questions_split(frame: pl.DataFrame, item: str, criterion: str, *, pooled: bool) -> tuple[str | None, list[str]]:
    """Return the separator of item ids that combine an item and a question, judged by all ids together; and a note."""
    if criterion in frame.columns or item not in frame.columns or frame[item].dtype != pl.String:
        return None, []
    mark = QUESTION_SEPARATOR
    # Checking a few rows is sufficient for most tables, and saves the list of their items.
    if not frame[item].head(100).str.contains(mark, literal=True).all():
        return None, []
    names = strip_spaces(frame[item].drop_nulls()).unique()
    parts = questions_in(names)
    if parts is None:
        counted_parts = questions_in(names, numbered=True)
        if counted_parts is None:
            return None, []
        shown = listing(natural(counted_parts.suffix.names.to_list()), 3)
        return None, [
            f"item ids combine {len(counted_parts.stem.names):,} names and numbered parts ({shown}): each part is an "
            f"item; split_item='{mark}' makes them criteria"
        ]
    n, questions = len(parts.stem.names), natural(parts.suffix.names.to_list())
    absent = n * len(questions) - len(names)
    missing = f", of which {absent:,} {'is' if absent == 1 else 'are'} missing" if absent else ""
    what = "they are pooled (split_item)"
    if not pooled:
        what = "each question is a criterion; split_item='no' pools them"
    return mark, [
        f"{len(names):,} item ids {'are' if absent else '='} {n:,} items × {len(questions)} questions "
        f"({listing(questions, 6)}){missing}: {what}"
    ]
