"""Sheets kept by hand -> one table: text in any usual encoding, spreadsheets, titles above the header, several header
rows, merged cells.

Everything that was skipped or joined is noted. Cells stay text, unchanged.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import shlex
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import polars as pl

from assay.data.names import refuse_equal_names
from assay.data.notations import is_latin, single_byte, wide_encoding
from assay.data.structure.role_names import AVERAGE_ROW, SUMMARY_ROW, called, plain_name
from assay.data.words import BLANKS_BEFORE_QUOTES, further_cells, no_header
from assay.errors import DataError, counted, listing, unknown

SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
TEXTS = (".csv", ".tsv", ".txt", ".tab", ".dat")
PACKED = (".gz", ".zip")

HEAD_ROWS = 40
"""Rows in which a header is searched: titles and notes above a table have a few lines."""

FILLED = 0.6
"""Smallest share of a table's columns that its header names: rows with fewer are a title or a note."""

TITLE = 0.34
"""Largest share of a table's columns that a line above its header fills."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table of text cells, the row in which it begins, and notes on skipped rows."""

    frame: pl.DataFrame
    first: int
    notes: tuple[str, ...] = ()


def read_sheet(path: Path, sheet: str | None = None) -> Sheet:
    """Read the table of a text file or a spreadsheet, every cell as text.

    Raises
    ------
    DataError
        If the file is not a table, or a spreadsheet contains several and none is specified.
    """
    if path.suffix.lower() in SPREADSHEETS:
        grid, notes = _spreadsheet(path, sheet)
        return _table_of(grid, path, 1, notes)
    if sheet is not None:
        raise DataError(f"{path} is a text file and has no sheets; remove sheet=...")
    return _text_table(path)


# -- spreadsheets ---------------------------------------------------------------------------------------


def _spreadsheet(path: Path, wanted: str | None) -> tuple[pl.DataFrame, list[str]]:
    """The cells of a sheet: the named one, or the only one with a table."""
    try:
        found: dict[str, pl.DataFrame] = pl.read_excel(
            path, sheet_id=0, has_header=False, infer_schema_length=0, drop_empty_rows=False, drop_empty_cols=False,
            raise_if_empty=False,
        )  # fmt: skip
    except ImportError as error:
        raise DataError(f"{path}: spreadsheets require fastexcel: pip install fastexcel ({error})") from None
    except Exception as error:  # the engine has several error classes
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise DataError(f"{path} cannot be read as a spreadsheet: {reason}") from None
    if wanted is not None:
        if wanted not in found:
            raise DataError(unknown("sheet", wanted, found, str(path)))
        return found[wanted], [f"read sheet '{wanted}'"]
    tables = {name: grid for name, grid in found.items() if grid.height > 1 and grid.width > 1}
    if not tables:
        raise DataError(f"{path} contains no sheet with a table")
    largest = max(tables, key=lambda name: tables[name].height * tables[name].width)
    size = tables[largest].height * tables[largest].width
    # A key of codes or a read-me in the same workbook is a small part of it.
    rivals = [name for name, grid in tables.items() if name != largest and grid.height * grid.width > 0.34 * size]
    if rivals:
        alike = [name for name, grid in tables.items() if grid.row(0) == tables[largest].row(0)]
        # "Wave 1" and "Wave 2" with columns of the same raters need not be criteria.
        numbered = len({re.sub(r"\d+", "", name) for name in alike}) == 1 and tables[largest].width > LEAST_OF_RATER
        all_of_them = len(alike) > 1 and not numbered
        each = f". If each sheet has the labels of one annotator or criterion, read all of them with sheet={alike}"
        raise DataError(
            f"{path} contains several tables, in the sheets {listing([repr(n) for n in tables], 6)}; select one with "
            f"sheet='{largest}'{each if len(alike) > 1 else ''}",
            advised={"sheet": alike if all_of_them else largest},
        )
    others = [name for name in found if name != largest]
    skipped = f", skipped {listing([repr(name) for name in others], 4)}" if others else ""
    keys = [name for name in others if name in tables and _is_key(tables[name])]
    notes = [f"sheet '{name}' could define codes; to use it, set codes='{name}'" for name in keys]
    return tables[largest], [f"read sheet '{largest}'{skipped}", *notes] if others else []


LEAST_OF_RATER = 3
"""Columns of a sheet of one annotator, at most: the item, its text and the label."""

_CODE, _WORD = (
    re.compile(r"codes?|values?|keys?|numbers?|scores?"),
    re.compile(r"meanings?|labels?|words?|names?|descriptions?"),
)


def _is_key(grid: pl.DataFrame) -> bool:
    """Whether a sheet's first row is the header of a column of codes and a column of their words."""
    if not 2 <= grid.width <= 3:
        return False
    heads = [str(cell).strip().lower() for cell in grid.row(0)]
    return any(map(_CODE.fullmatch, heads)) and any(map(_WORD.fullmatch, heads))


# -- text ---------------------------------------------------------------------------------------------


def _text_table(path: Path) -> Sheet:
    head, notes = _read_head(path)
    lines = head.splitlines()
    skip, separator = 0, None
    if lines and (said := re.fullmatch(r"(?i)\"?sep=(.|\\t)\"?[,;\t]*", lines[0].strip())):
        separator, skip = said[1].replace("\\t", "\t"), 1
    separator = separator or _separator(path, lines)
    rows = list(csv.reader(io.StringIO("\n".join(lines[skip : HEAD_ROWS + skip])), delimiter=separator))
    above = _lines_above(rows)
    data = {len(row) for row in rows[above + 1 :] if any(cell.strip() for cell in row)}
    if len(rows) > above + 2 and data == {len(rows[above]) + 1}:
        # R's write.table writes no name above the names of the rows.
        return _read_with_row_names(path, head, skip + above, separator, notes)
    grid = _read_rows(path, separator, skip + above, notes)
    if above:
        notes.append(f"skipped {counted(above, 'line')} above the header: {_quote_rows(rows[:above])}")
    return _table_of(grid, path, 1 + skip + above, notes, titles=False)


def _read_with_row_names(path: Path, head: str, skip: int, separator: str, notes: list[str]) -> Sheet:
    """Read a table whose header has no name for the first column, the names of the rows."""
    names = next(csv.reader([head.splitlines()[skip]], delimiter=separator))
    grid = _read_rows(path, separator, skip + 1, notes)
    if grid.width != len(names) + 1:
        raise DataError(
            f"{path}: the header has {counted(len(names), 'column')}, and rows have {counted(grid.width, 'cell')}; "
            "check for an unclosed quotation mark"
        )
    header = pl.DataFrame([["", *names]], schema=grid.columns, orient="row")
    return _table_of(pl.concat([header, grid]), path, 1 + skip, notes, titles=False)


DOUBLED = b"\r\r\n"
"""The end of each line of a file with Windows line ends that was written as text again."""


def _read_head(path: Path) -> tuple[str, list[str]]:
    """The first lines as text, and a note if the encoding is not UTF-8."""
    with path.open("rb") as file:
        start = file.read(2**16)
    if wide := wide_encoding(start):
        whole = start[: len(start) // 4 * 4]
        return whole.decode(wide, errors="ignore"), [f"read as {wide.upper()} text"]
    cut = start.rfind(b"\n") + 1 if len(start) == 2**16 else len(start)
    cut, start = (cut, start) if DOUBLED not in start else (-1, start[:cut].replace(DOUBLED, b"\n") + b" ")
    try:
        return start[:cut].decode("utf-8-sig"), []
    except UnicodeDecodeError:
        return start[:cut].decode(single_byte(start[:cut]) or "cp1252", errors="replace"), []


def _separator(path: Path, lines: Sequence[str]) -> str:
    """The separator of cells: the character that most lines contain equally often."""
    if path.suffix.lower() in (".tsv", ".tab"):
        return "\t"
    some = [line for line in lines[:HEAD_ROWS] if line.strip()]
    if not some:
        return ","

    def evenness(mark: str) -> tuple[int, int]:
        counts = [len(next(csv.reader([line], delimiter=mark), [])) for line in some]
        usual = max(set(counts), key=counts.count)
        return (counts.count(usual) if usual > 1 else 0, usual)

    best = max(",;\t|", key=evenness)
    if evenness(best)[0] == 0 and path.suffix.lower() in (".txt", ".dat") and evenness(" ")[0] > 0.9 * len(some):
        return " "
    # If no separator is even, the line with the most columns decides: texts contain commas.
    return best if evenness(best)[0] else max(",;\t|", key=some[0].count)


def _read_rows(path: Path, separator: str, skip: int, notes: list[str]) -> pl.DataFrame:
    """All rows including the header as text; a note if the encoding is not UTF-8."""
    how: dict[str, Any] = {"separator": separator, "infer_schema": False, "has_header": False, "skip_rows": skip}
    with path.open("rb") as file:
        start = file.read(2**16)
    wide = wide_encoding(start)
    if wide is not None:
        return _safely(path, lambda: pl.read_csv(_recode(path, wide), **how))
    if DOUBLED in start:
        notes.append("lines end in CR CR LF, each read as one line end")
    elif b"\r" in start and b"\n" not in start:  # the ends of lines of classic Mac OS, as in "CSV (Macintosh)" of Excel
        how["eol_char"] = "\r"
    source = path if DOUBLED not in start else io.BytesIO(path.read_bytes().replace(DOUBLED, b"\n"))
    try:
        return pl.read_csv(source, **how)
    except pl.exceptions.NoDataError:
        raise DataError(f"{path} is empty") from None
    except (pl.exceptions.PolarsError, OSError) as error:
        if "utf" not in str(error).lower():
            if (closed := _without_blanks(path.read_bytes(), separator)) is not None:
                notes.append(BLANKS_BEFORE_QUOTES)
                return pl.read_csv(closed, **how)
            refuse_further_cells(path, separator, skip)
            return _safely(path, lambda: pl.read_csv(path, **how))
    encoding = single_byte(data := path.read_bytes())
    if encoding is None:
        word = re.search(rb"[^\s,;\"]*[\x9a\x9c\x9e][^\s,;\"]*", data)
        windows, mac = ((word[0] if word else b"").decode(one, "replace") for one in ("cp1252", "mac_roman"))
        raise DataError(
            f"{path} is not UTF-8, and its letters do not show whether it is Windows or Mac text ('{windows}' or "
            f"'{mac}'); save it as UTF-8"
        )
    kind = "Mac" if encoding == "mac_roman" else "Windows"
    notes.append(f"the file is not UTF-8; read as {kind} text ({encoding.replace('_', ' ')})")
    return _safely(path, lambda: pl.read_csv(_recode(path, encoding), **how))


def _without_blanks(data: bytes, separator: str) -> io.BytesIO | None:
    """The table without blanks before quotation marks, `a, "b, c"`; None if its rows then differ in length, too."""
    if separator.isspace() or separator.encode() + b' "' not in data:
        return None
    try:
        text = data.replace(DOUBLED, b"\n").decode("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True))
    except (UnicodeDecodeError, csv.Error):  # another encoding, or a cell longer than the module takes
        return None
    if len({len(row) for row in rows if row}) != 1:
        return None
    made = io.StringIO()
    csv.writer(made, delimiter=separator, lineterminator="\n").writerows(rows)
    return io.BytesIO(made.getvalue().encode())


def _recode(path: Path, encoding: str) -> io.BytesIO:
    try:
        data = path.read_bytes().replace(DOUBLED, b"\n")
        if encoding in ("cp1250", "cp1252", "mac_roman") and not is_latin(data):
            raise DataError(_no_encoding(path))
        return io.BytesIO(data.decode(encoding).encode())
    except UnicodeDecodeError:
        raise DataError(_no_encoding(path)) from None


def _no_encoding(path: Path) -> str:
    utf8 = path.with_name(f"{path.stem}-utf8{path.suffix}")
    names = (shlex.quote(str(one)) for one in (path, utf8))
    return (
        f"{path} is neither UTF-8 nor UTF-16 nor Windows text (cp1252 or cp1250) nor Mac Roman; save it as UTF-8 (in "
        "Excel: CSV UTF-8). Chinese Excel writes GB18030; to convert a file of it: iconv -f GB18030 -t UTF-8 "
        f"{' > '.join(names)}"
    )


MOST_LINES = 3
"""Lines with too many cells that an error names."""


def refuse_further_cells(path: Path, separator: str, skip: int = 0) -> None:
    """Refuse a text table whose rows have more cells than its header, with the lines and what to write there.

    Raises
    ------
    DataError
        If there is such a row.
    """
    data = path.read_bytes().replace(DOUBLED, b"\n")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode(single_byte(data) or "cp1252", errors="replace")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    header: list[str] = []
    found: list[tuple[int, list[str]]] = []
    try:
        for row in rows:
            if rows.line_num <= skip:
                continue
            header = header or row
            if len(row) > len(header) and any(cell.strip() for cell in row[len(header) :]):
                found.append((rows.line_num, row))
    except csv.Error:
        return
    if found and len(header) > 1:
        line, row = found[0]
        lines = [number for number, _ in found[1:]]
        text = separator.join(row[len(header) - 1 :])
        last = header[-1].strip() if _is_comment(header[-1], text) else ""
        problem = further_cells(line, len(row), len(header), separator, (last, text), lines)
        raise DataError(f"{path} cannot be read as a table: {problem}")


def _is_comment(name: str, text: str) -> bool:
    """Whether the last column holds free text, in which a separator is likely a comma of the text."""
    plain = plain_name(name)
    return called(plain, "comment") or (called(plain.split()[-1] if plain else "", "comment") and " " in text.strip())


def _safely(path: Path, read: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    try:
        return read()
    except pl.exceptions.NoDataError:
        raise DataError(f"{path} is empty") from None
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise DataError(f"{path} cannot be read as a table: {reason}") from None


# -- header ---------------------------------------------------------------------------------------------


def _table_of(grid: pl.DataFrame, path: Path, first: int, notes: Sequence[str], *, titles: bool = True) -> Sheet:
    """Convert a grid of cells to a table; ``first`` is the number of its first row."""
    notes = [*notes]
    if titles and grid.height:
        above = _lines_above([list(row) for row in grid.head(HEAD_ROWS).rows()])
        if above:
            skipped = [list(row) for row in grid.head(above).rows()]
            notes.append(f"skipped {counted(above, 'row')} above the header: {_quote_rows(skipped)}")
        grid, first = grid[above:], first + above
    if not grid.height:
        return Sheet(grid, first, tuple(notes))
    names, used, said = _header(grid.head(HEADER_ROWS).rows())
    frame = grid[used:]
    # Empty columns without a name to the right of the table.
    kept = [i for i, name in enumerate(names) if name or frame[:, i].null_count() < frame.height]
    names = [names[i] or ("" if not i else f"column {i + 1}") for i in kept]
    twice = {name for name in names if names.count(name) > 1 and not _is_value(name)}
    if any(name in frame[:, i] for i, name in zip(kept, names, strict=True) if name in twice):
        raise DataError(f"{path}: {no_header(list(dict.fromkeys(names)))}")
    refuse_equal_names(path, names)
    columns = dict(zip([frame.columns[i] for i in kept], names, strict=True))
    frame = frame.select(pl.nth(kept)).rename(columns)
    frame, filled = _fill_merged(frame)
    return Sheet(frame, first + used, (*notes, *said, *filled))


HEADER_ROWS = 12
"""Rows in which the names of columns are found: words that come again below are labels."""


def _count_filled(row: Sequence[str | None]) -> int:
    return sum(bool(cell and cell.strip()) for cell in row)


def _is_value(cell: str | None) -> bool:
    """Whether a cell is a number, as labels are and column names are not."""
    return cell is not None and re.fullmatch(r"[-+]?\d+([.,]\d+)?\s*%?", cell.strip()) is not None


def _lines_above(rows: Sequence[Sequence[str | None]]) -> int:
    """The number of rows at the top that are titles or notes: sparse, above a row that names the columns."""
    fills = [_count_filled(row) for row in rows]
    width = max(fills, default=0)
    if width < 3:
        return 0
    for i, (row, fill) in enumerate(zip(rows, fills, strict=True)):
        if fill >= max(2, FILLED * width) or fill > max(1, TITLE * width):
            values = sum(_is_value(cell) for cell in row)
            return _above_repeated(rows, i) if i and values <= 0.4 * fill else 0
    return 0


def _above_repeated(rows: Sequence[Sequence[str | None]], first: int) -> int:
    """The first row of a header whose last row repeats names, under the names of merged cells in the rows above it."""
    names = [tuple((cell or "").strip() for cell in row) for row in rows[: first + 1]]
    joined: list[tuple[str, ...]] = [(name,) for name in names[first]]
    for i in range(first, -1, -1):
        if i < first:
            merged = len(names[i]) == len(joined) and sum(map(bool, names[i])) > 1
            if not merged or any(map(_is_value, names[i])):
                return first
            joined = [(over, *below) for over, below in zip(_filled(names[i]), joined, strict=True)]
        there = [one for one in joined if one[-1]]
        if len(set(there)) == len(there):
            return i
    return first


def _filled(names: Sequence[str]) -> list[str]:
    """The names of a row, each also in the empty cells to its right."""
    filled: list[str] = []
    for cell in names:
        filled.append(cell or (filled[-1] if filled else ""))
    return filled


def _over_merged(above: Sequence[str], below: Sequence[str]) -> list[str]:
    """The names of a row, each also over the columns that its merged cell covers."""
    names = list(above)
    for i in range(1, len(names)):
        # A merged cell has its text in its first column; a column without a name in both rows is unnamed.
        if not names[i] and below[i] and names[i - 1] and below[i - 1]:
            names[i] = names[i - 1]
    return names


def _header(rows: Sequence[Sequence[str | None]]) -> tuple[list[str], int, list[str]]:
    """The names of the columns, the number of rows that they take, and notes."""
    texts = [[(cell or "").strip() for cell in row] for row in rows]
    names = texts[0]
    if len(texts) > 2 and any('"ImportId"' in cell for row in texts[1:3] for cell in row):
        used = 3 if any('"ImportId"' in cell for cell in texts[2]) else 2
        return names, used, [f"skipped {counted(used - 1, 'further header row')} of Qualtrics"]
    if len(texts) > 3 and _is_pandas_pivot(texts):
        below = texts[1][1:] if len(set(names[1:])) == 1 else _joined(names[1:], texts[1][1:])
        return [texts[2][0], *below], 3, [f"skipped the header rows of a pivot table: {_quote_rows(texts[:3])}"]
    if len(texts) > 3 and _two_rows(texts[1:]) and not _is_unit_row(texts[2]):
        below = _joined(_over_merged(texts[1], texts[2]), texts[2])
        there = list(filter(None, below))
        if len(set(there)) < len(there) and sum(map(bool, names)) > 1 and not any(map(_is_value, names)):
            joined = _joined(_over_merged(names, _over_merged(texts[1], texts[2])), below)
            return joined, 3, [f"joined three header rows: {listing([repr(n) for n in joined if ' / ' in n], 3)}"]
    if len(texts) < 3 or not _two_rows(texts):
        return names, 1, []
    if len(texts[1]) > 2 and all(texts[1]) and all(names[:2]) and not any(names[2:]):
        return texts[1], 2, [f"skipped the header row of a pivot table: {_quote_rows([names])}"]
    joined = _joined(_over_merged(names, texts[1]), texts[1])
    notes = [f"joined two header rows: {listing([repr(n) for n in joined if ' / ' in n], 3)}"]
    if len(texts) > 3 and _is_unit_row(texts[2]):
        return joined, 3, [*notes, f"skipped a header row with the scale: {_quote_rows([texts[2]])}"]
    return joined, 2, notes


def _is_pandas_pivot(texts: Sequence[Sequence[str]]) -> bool:
    """Whether three rows are the header that pandas writes of a pivot table: values, columns, and the item alone."""
    values, columns, index = texts[:3]
    alone = len(index) > 2 and not any(index[1:]) and called(plain_name(index[0]), "item")
    return alone and not values[0] and all(values[1:]) and all(columns) and len(set(values[1:])) < len(values[1:])


def _joined(above: Sequence[str], below: Sequence[str]) -> list[str]:
    """The names of two rows of a header as one: ``Ann / clarity``."""
    return [f"{a} / {b}" if a and b else a or b for a, b in zip(above, below, strict=True)]


def _is_unit_row(texts: Sequence[str]) -> bool:
    """Whether a row below the names contains only the scale of each column: ``(1-5)``."""
    there = [text for text in texts if text]
    return len(there) > 1 and len(set(there)) == 1 and re.fullmatch(r"[(\[].*\d.*[)\]]", there[0]) is not None


def _two_rows(texts: Sequence[Sequence[str]]) -> bool:
    """Whether the second row continues the header: under merged or repeated names, and different from the data."""
    first, second, third = texts[:3]
    if sum(map(bool, second)) < 2 or any(_is_value(cell) for cell in second):
        return False
    blanks = [i for i in range(1, len(first)) if not first[i] and second[i]]
    named = [name for name in first if name]
    repeated = len(named) - len(set(named))
    under = [second[i] for i in range(len(second)) if second[i]]
    title = len(named) == 1 and not first[0] and bool(second[0])
    if not (blanks or repeated) or (blanks and title):
        return False
    if any(cell and any(cell == row[i] for row in texts[2:] if i < len(row)) for i, cell in enumerate(second)):
        return False  # labels, not names
    # Below a header are labels: numbers, or words that differ from the names above them.
    third = texts[3] if len(texts) > 3 and _is_unit_row(third) else third
    values = sum(_is_value(cell) for cell in third)
    return values >= 2 or (bool(repeated) and len(set(under)) < len(under))


MERGED = 0.4
"""Share of cells without text from which a first column is assumed to be merged: at least two rows per text."""


def _fill_merged(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Fill the first columns with the text of each merged cell in all of its rows: an outer cell covers inner ones."""
    if frame.width < 3 or frame.height < 4:
        return frame, []
    blank = {n: frame[n].is_null() | (frame[n].str.strip_chars() == "") for n in frame.columns[:-2]}
    merged = [*takewhile(lambda n: not blank[n][0] and float(blank[n].mean() or 0) >= MERGED, blank)]  # type: ignore[arg-type]
    nested = all((blank[outer] | ~blank[inner]).all() for outer, inner in pairwise(merged))
    for names in (merged, merged[:1]) if nested and len(merged) > 1 else (merged[:1],):
        if names and (found := _filled_below(frame, names, blank)) is not None:
            return found
    return frame, []


def _filled_below(
    frame: pl.DataFrame, names: Sequence[str], blank: Mapping[str, pl.Series]
) -> tuple[pl.DataFrame, list[str]] | None:
    """The table with merged cells in these columns filled, and notes; None if a text of the innermost comes again."""
    last = blank[names[-1]]
    others = frame.select(pl.sum_horizontal(pl.all().exclude(names).is_not_null())).to_series()
    inside = last & (others >= 2)
    texts = [pl.select(pl.when(~blank[n]).then(frame[n])).to_series().forward_fill().alias(n) for n in names]
    starts = pl.DataFrame(texts).filter(~last)
    if float(inside.mean() or 0) < MERGED or starts.n_unique() < starts.height:  # type: ignore[arg-type]
        return None
    filled = [pl.select(pl.when(inside | ~last).then(text)).to_series().alias(text.name) for text in texts]
    counts = [int((blank[n] & (inside | ~last)).sum()) for n in names]
    return frame.with_columns(filled), [
        f"{count} empty cells below a name in column '{name}' assumed to be merged with it"
        for count, name in zip(counts, names, strict=True)
    ]


FOOTER = 20
"""Rows at the end of a table in which summaries and notes below it are searched."""


def is_error(cell: str | None) -> bool:
    """Whether a cell is the error of a formula, as spreadsheets write it."""
    return re.fullmatch(r"#(REF|DIV/0|N/A|NAME|VALUE|NUM|NULL)[!?]?", cell or "") is not None


def without_footer(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Return a table without the averages and notes that follow empty rows below it, and a note on them."""
    if frame.width < 3 or frame.height < 4:
        return frame, []
    start = max(2, frame.height - FOOTER)
    rows = [[None if cell is None else str(cell).strip() for cell in row] for row in frame[start:].rows()]
    fills = [_count_filled(row) for row in rows]
    usual = sorted(
        _count_filled([None if c is None else str(c) for c in row]) for row in frame[:start].head(HEAD_ROWS).rows()
    )
    full = FILLED * usual[len(usual) // 2]
    last = next((i for i in range(len(rows) - 1, -1, -1) if fills[i]), None)
    if last is not None and (not rows[last][0] or is_error(rows[last][0])) and any(map(is_error, rows[last])):
        said = f"skipped 1 row below the table, with an error of a formula: {_quote_rows([rows[last]])}"
        return frame[: start + last], [said]
    for i, fill in enumerate(fills):
        below = [(row, n) for row, n in zip(rows[i:], fills[i:], strict=True) if n]
        if fill or not below or usual[len(usual) // 2] < 3:
            continue
        summary = [bool(AVERAGE_ROW.fullmatch(row[0] or "") or SUMMARY_ROW.fullmatch(row[0] or "")) for row, _ in below]
        short = [n < full for _, n in below]
        sparse = all(n <= max(1, TITLE * frame.width) for _, n in below)
        if (summary[0] or sparse) and all(a or b for a, b in zip(summary, short, strict=True)):
            said = f"skipped {counted(len(below), 'row')} below the table: {_quote_rows([row for row, _ in below])}"
            return frame[: start + i], [said]
    return frame, []


def _quote_rows(rows: Sequence[Sequence[str | None]]) -> str:
    words = [" ".join(cell for cell in row if cell).strip() for row in rows]
    return listing([repr(word if len(word) < 40 else word[:37] + "...") for word in words if word], 2) or "blank"


# -- packed files and standard input ------------------------------------------------------------------


def unpack(path: Path) -> tuple[Path, str] | None:
    """The file inside a .gz or .zip, in a temporary folder, and its name; None for other files."""
    if path.suffix.lower() not in PACKED or not path.is_file():
        return None
    try:
        if path.suffix.lower() == ".gz":
            name = path.with_suffix("").name
            data = gzip.decompress(path.read_bytes())
        else:
            name, data = _only_member(path)
    except (OSError, EOFError, zipfile.BadZipFile, RuntimeError, zlib.error) as error:
        raise DataError(f"{path} cannot be unpacked: {error}") from None
    return _write_temporary(data, name), f"{path} ({name})"


def _only_member(path: Path) -> tuple[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        names = [n for n in archive.namelist() if not n.endswith("/") and not Path(n).name.startswith((".", "__"))]
        names = [n for n in names if not n.startswith("__MACOSX")]
        tables = [n for n in names if Path(n).suffix.lower() in (*TEXTS, *SPREADSHEETS, ".json", ".jsonl", ".parquet")]
        if len(tables) != 1:
            inside = listing([repr(n) for n in names], 4) or "nothing"
            raise DataError(f"{path} contains {inside}; unpack it and name one table, or several")
        return Path(tables[0]).name, archive.read(tables[0])


def standard_input() -> Path:
    """Standard input as a temporary file whose suffix gives its type."""
    data = sys.stdin.buffer.read()
    if not data.strip():
        raise DataError("standard input is empty")
    start = data.lstrip()[:1]
    lines = data[:4096].count(b"\n{")
    suffix = ".parquet" if data[:4] == b"PAR1" else ".xlsx" if data[:2] == b"PK" else ".csv"
    if start in (b"[", b"{"):
        suffix = ".jsonl" if start == b"{" and lines else ".json"
    return _write_temporary(data, f"standard-input{suffix}")


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []
"""Temporary folders of unpacked files; removed when the process ends."""


def _write_temporary(data: bytes, name: str) -> Path:
    folder = tempfile.TemporaryDirectory(prefix="assay-", ignore_cleanup_errors=True)  # Windows: a file in use
    _FOLDERS.append(folder)
    path = Path(folder.name) / name
    path.write_bytes(data)
    return path
