"""Items, and items whose answers are known, read from the files that study.yaml names."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from assay.data.columns import PART, PARTS
from assay.data.scales import Label, Scale
from assay.errors import DataError, StudyError, listing, unknown
from assay.study.schema import ItemsPart, StudyFile, scale_of

# -- Names for values by their content, and chance that depends on nothing else --------------------

_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)


def canonical(value: Any) -> str:
    """Return one text for equal values, in any order of their keys."""
    return _CANONICAL.encode(value)


def digest_of(value: Any) -> str:
    """A short name for a value, by its content."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:20]


def chance(*parts: Any) -> random.Random:
    """Return a random generator that depends only on its arguments."""
    return random.Random(digest_of(parts))


# -- Items, and items whose answers are known, read from the files that study.yaml names -----------


@dataclass(frozen=True)
class Item:
    """One thing to be judged: its name, its document, its columns."""

    name: str
    document: str | None
    fields: dict[str, Any]


@dataclass(frozen=True)
class KnownItem:
    """An item whose answers are known: an attention check, or one to warm up on."""

    item: Item
    known: dict[str, Label]
    """The known answer, by question; a question that is missing has none."""
    feedback: str
    """The feedback after answering a practice item."""


def read_items(folder: Path, config: StudyFile) -> Iterator[Item]:
    """Read the items in the order of their file, one at a time.

    Raises
    ------
    StudyError
        For a missing file or column, an item without a name, and a name that appears twice.
    """
    return items_of_file(folder / config.items.file, config.items, "items")


SPLIT_FILE = "split.csv"
"""The table that says of each item of a study which part it belongs to: ``item``, ``part``."""


def read_parts(folder: Path) -> dict[str, str]:
    """Return the part of each item in `SPLIT_FILE`; empty if there is no such file.

    Raises
    ------
    StudyError
        For a missing column, and for another word than those of `PARTS`.
    """
    path = folder / SPLIT_FILE
    if not path.is_file():
        return {}
    parts = {}
    for row in read_rows(path):
        for column in ("item", PART):
            if column not in row:
                raise StudyError(unknown("column", column, row, str(path)))
        if row[PART] not in PARTS:
            raise StudyError(f"{path}: item '{row['item']}': {unknown(PART, row[PART], PARTS, 'the parts')}")
        parts[str(row["item"]).strip()] = str(row[PART])
    return parts


def file_within(folder: Path, name: str) -> Path | None:
    """Return a file of the study folder by its path; None if it does not exist, or is outside the folder."""
    within = folder.resolve()
    try:
        path = (within / name).resolve()
        return path if path.is_relative_to(within) and path.is_file() else None
    except (OSError, ValueError):  # not a name that a file can have, such as an image that is written out
        return None


def picture_digests(item: Item, columns: Sequence[str], folder: Path) -> dict[str, str]:
    """By column, what names the bytes of each image, audio or video of an item that lies in the study's folder."""
    found = {}
    for column in columns:
        name = str(item.fields.get(column) or "")
        if name and (path := file_within(folder, name)) is not None:
            with path.open("rb") as file:
                found[column] = hashlib.file_digest(file, "sha256").hexdigest()[:20]
    return found


def read_known_items(folder: Path, config: StudyFile, role: Literal["check", "warm-up"]) -> list[KnownItem]:
    """The attention checks, or the items to warm up on, with their answers.

    Raises
    ------
    StudyError
        As `read_items`; and for an answer that is not on its question's scale, or no answer at all.
    """
    people = config.people
    file = people.practice_file if role == "warm-up" else people.checks and people.checks.file
    if not file:
        return []
    path = folder / file
    scales = {q.name: scale_of(q.scale) for q in config.questions}
    called = "checks" if role == "check" else "the warm-up"
    return [_known_item(path, item, scales) for item in items_of_file(path, config.items, called)]


def read_names(path: Path) -> list[str]:
    """The items that a table names in its column ``item``, in its order.

    Raises
    ------
    StudyError
        As `read_items`.
    """
    return [
        one.name for one in items_of_file(path, ItemsPart.model_validate({"id": "item"}), "the items that come first")
    ]


def _known_item(path: Path, item: Item, scales: dict[str, Scale]) -> KnownItem:
    """Return an item without the columns of its known answer, and that answer."""
    fields = dict(item.fields)
    feedback = str(fields.pop("feedback", "") or "")
    answers = {name: fields.pop(name) for name in scales if fields.get(name) not in (None, "")}
    known = {}
    for name, answer in answers.items():
        cast = scales[name].read(answer)
        if cast is None:
            raise StudyError(
                f"{path}: item '{item.name}': '{answer}' is not a label of '{name}', "
                f"which must be {scales[name].describe()}"
            )
        known[name] = cast
    if not known:
        raise StudyError(
            f"{path}: item '{item.name}' has no known answer; give it in a column "
            f"named as its question ({listing(list(scales))})"
        )
    fields = {k: v for k, v in fields.items() if k not in scales}
    return KnownItem(Item(item.name, item.document, fields), known, feedback)


def items_of_file(path: Path, part: ItemsPart, called: str) -> Iterator[Item]:
    """Read the items of one file, see `read_items`; ``called`` is what it holds, for errors."""
    if not path.exists():
        raise StudyError(f"{path} does not exist; study.yaml names it as the file of {called}")
    seen: set[str] = set()
    for number, row in enumerate(read_rows(path), start=1):
        for column in (part.id, part.document, *part.file_columns, *part.markdown):
            if column is not None and column not in row and (called == "items" or column == part.id):
                raise StudyError(unknown("column", column, row, str(path)))
        name = "" if row[part.id] is None else str(row[part.id]).strip()
        if not name:
            raise StudyError(f"{path}: item {number} has no id in column '{part.id}'")
        if name in seen:
            raise StudyError(f"{path}: item '{name}' appears twice; the second is item {number}")
        seen.add(name)
        document = None if part.document is None or part.document not in row else str(row[part.document])
        yield Item(name, document, {k: v for k, v in row.items() if k != part.id and v is not None})
    if not seen:
        raise StudyError(f"{path} has no items")


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Return the rows of a table, one at a time; the values of CSV and spreadsheets stay text."""
    if path.suffix in (".csv", ".tsv"):
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            for row in table:
                if None in row or None in row.values():
                    raise StudyError(f"{path}, line {table.line_num}: more or fewer values than the header has")
                yield row
    elif path.suffix == ".jsonl":
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield _json_row(path, number, line)
    elif path.suffix in (".json", ".parquet"):
        import polars as pl

        frame = pl.read_json(path) if path.suffix == ".json" else pl.read_parquet(path)
        yield from frame.iter_rows(named=True)
    elif path.suffix.lower() in SPREADSHEETS:
        yield from _spreadsheet_rows(path)
    else:
        raise StudyError(f"{path} must be .csv, .tsv, .json, .jsonl, .parquet or a spreadsheet (.xlsx, .xls, .ods)")


EXTENDABLE = ((".csv", ".tsv"), (".jsonl",))
"""Suffixes of files of items that `with_more_items` extends, with rows in a format of the same group."""


def format_of_text(text: str) -> str:
    """Return the suffix of the format of a pasted table."""
    begin = text.lstrip("\ufeff \n")
    if begin.startswith(("{", "[")):
        return ".jsonl" if begin.startswith("{") else ".json"
    return ".tsv" if "\t" in begin.split("\n", 1)[0] else ".csv"


def with_more_items(path: Path, part: ItemsPart, text: str, suffix: str) -> tuple[bytes, list[str]]:
    """Return the content of a file of items with further items at its end, and the ids of these.

    Parameters
    ----------
    path : path
        The study's file of items.
    text, suffix : str
        The rows of the new items, and their format; the columns are those of the file.

    Raises
    ------
    StudyError
        For a format or columns other than the file's, no or repeated ids, and ids that the file has.
    """
    kinds = next((some for some in EXTENDABLE if path.suffix in some), None)
    if kinds is None:
        raise StudyError(
            f"{path.name} cannot be extended here; add the rows to it in the study folder, and restart assay serve"
        )
    if suffix not in kinds:
        raise StudyError(f"the new items are {suffix[1:]}; the items of the study are {path.suffix[1:]}")
    known: set[str] = set()
    columns: dict[str, None] = {}
    shared: set[str] | None = None
    for row in read_rows(path):
        known.add(str(row[part.id]).strip())
        columns |= dict.fromkeys(row)
        shared = set(row) if shared is None else shared.intersection(row)
    with TemporaryDirectory(prefix="assay-") as folder:
        new = Path(folder) / f"the new items{suffix}"
        new.write_text(text, encoding="utf-8")
        try:
            rows = list(read_rows(new))
            _check_columns(rows, columns, shared or set())
            names = [item.name for item in items_of_file(new, part, "items")]
        except StudyError as error:
            raise StudyError(str(error).replace(f"{folder}/", "")) from None
    if again := [name for name in names if name in known]:
        raise StudyError(f"the study already has {listing(again)}; give every new item a new id")
    return _extended(path, rows), names


def _check_columns(rows: Sequence[dict[str, Any]], columns: Mapping[str, None], shared: Collection[str]) -> None:
    """Refuse rows with columns that the items do not have, or without one that all of them have."""
    for number, row in enumerate(rows, start=1):
        if strange := [column for column in row if column not in columns]:
            raise StudyError(
                f"new item {number} has the column {listing(strange)}, which the items do not have; their columns are "
                f"{listing(list(columns), 40)}"
            )
        if missing := [column for column in columns if column in shared and column not in row]:
            raise StudyError(f"new item {number} has no column {listing(missing)}")


def _extended(path: Path, rows: Sequence[dict[str, Any]]) -> bytes:
    """The content of a file with further rows at its end."""
    text = path.read_bytes().decode("utf-8")
    line_end = "\r\n" if "\r\n" in text else "\n"
    held = io.StringIO(newline="")
    if path.suffix == ".jsonl":
        held.writelines(json.dumps(row, ensure_ascii=False) + line_end for row in rows)
    else:
        delimiter = "\t" if path.suffix == ".tsv" else ","
        header = next(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=delimiter))
        table = csv.DictWriter(held, header, delimiter=delimiter, lineterminator=line_end)
        table.writerows(rows)
    return (text + ("" if text.endswith("\n") else line_end) + held.getvalue()).encode("utf-8")


SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
"""The suffixes of spreadsheets, as `assay.data.formats.sheets` has them, which is imported for one only."""


def _spreadsheet_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of the only sheet with a table; values are text, as in CSV."""
    from assay.data.formats.sheets import read_sheet

    try:
        frame = read_sheet(path).frame
    except DataError as error:
        if "sheet" in error.advised:
            raise StudyError(f"{path} has several sheets with a table; save the items as a file with one") from None
        raise StudyError(str(error)) from None
    yield from frame.iter_rows(named=True)


def _json_row(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise StudyError(f"{path}, line {number}: {error}") from None
    if not isinstance(row, dict):
        raise StudyError(f"{path}, line {number}: must be an object {{…}}")
    return row
