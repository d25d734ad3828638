"""Sheets with an error: a table or an error message, and following the message leads on.

A small share runs by default, far more with ``pytest -m slow``, or the number in the environment variable
``ASSAY_SHEETS``: 10,000 take half an hour. ``mutated(number)`` recreates the sheet of a failure.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from corpus import KINDS, csv_text

import assay
from assay.errors import AssayError

pytestmark = pytest.mark.xdist_group("sheets")

ALL, SHARE = int(os.environ.get("ASSAY_SHEETS", "240")), 12
LEAST_READ = 0.35
"""Smallest share of a block that is read: overall about half are, and blocks are small."""

SMALL = [n for n, kind in KINDS.items() if n not in ("alt_test_folder", "arena") and not kind.wanted.refused]
WORDS = ("", " ", "n.a.", ".", "-", "5", "44", "4,5", "1,234", "80%", "3/5", "2024-05-01", "Average", "Mean", "yes",
         "gpt-4o", "?", '"', "a,b", "ä", "\t", "=A1", "1e9", "-3", "NaN", "inf", "None", "x" * 300)  # fmt: skip


def mutated(number: int, folder: Path) -> Path:
    """A sheet of the corpus with one or two changes."""
    draw = random.Random(number)
    name = draw.choice(SMALL)
    path = KINDS[name].write(folder)
    data = path.read_bytes()
    if path.suffix == ".csv":
        try:
            rows = [line.split(",") for line in data.decode().splitlines()]
        except UnicodeDecodeError:
            rows = []
        if len(rows) > 1 and len(rows[0]) > 2:
            for _ in range(draw.choice((1, 1, 1, 2))):
                rows = changed(rows, draw)
            # Joined without quoting, so that quotes and lines of uneven length are preserved.
            whole = draw.random() < 0.8
            data = (csv_text(rows) if whole else "".join(",".join(r) + "\n" for r in rows)).encode()
    if path.suffix != ".csv" or draw.random() < 0.1:
        data = spoiled(data, draw)
    path.write_bytes(data)
    return path


def changed(rows: list[list[str]], draw: random.Random) -> list[list[str]]:
    """Rows with a cell, a row or a column changed."""
    rows = [list(row) for row in rows if row] or [[""]]
    r = draw.randrange(len(rows))
    c = draw.randrange(max(1, min(map(len, rows))))
    kind = draw.choice((0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 7, 8))
    if kind == 0:
        rows[r][c % len(rows[r])] = draw.choice(WORDS)
    elif kind == 1:
        rows[0][c % len(rows[0])] = draw.choice((*WORDS, "Timestamp", "Comments", "Length", "item", "label", "kind"))
    elif kind == 2:
        rows.insert(r, list(rows[draw.randrange(len(rows))]))
    elif kind == 3:
        del rows[r]
    elif kind == 4:
        rows = [[cell for i, cell in enumerate(row) if i != c] for row in rows]
    elif kind == 5:
        word = draw.choice(WORDS)
        rows = [[*row[:c], row[c] if i == 0 else word, *row[c + 1 :]] for i, row in enumerate(rows)]
    elif kind == 6:
        rows.insert(0, [draw.choice(("A title", "", "sep=;"))])
    elif kind == 7:
        rows = [[*row, row[c] if c < len(row) else ""] for row in rows]
    else:
        rows = rows[: draw.randint(1, 3)]
    return rows or [[""]]


def spoiled(data: bytes, draw: random.Random) -> bytes:
    """Bytes truncated, changed or inserted."""
    at = draw.randrange(max(1, len(data)))
    kind = draw.randrange(4)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]
    if kind == 2:
        return data[:at] + bytes(draw.randrange(256) for _ in range(5)) + data[at:]
    return draw.choice((b"\xff\xfe", b"\xef\xbb\xbf", b"PK", b"\x1f\x8b")) + data


def refusal(path: Path, **options: object) -> AssayError | None:
    """Why a sheet cannot be read; None if it can."""
    try:
        assay.read(path, **options)
    except AssayError as error:
        return error
    return None


def tried(number: int, folder: Path) -> bool:
    """How a mutated sheet ends: read, at once or with the advised options, or refused with another message."""
    folder.mkdir()
    path = mutated(number, folder)
    first = refusal(path)
    if first is not None and first.advised:
        further = refusal(path, **first.advised)
        assert str(further) != str(first), f"{number}: the advice of '{first}' meets the same"
    try:
        look = assay.look(path)
    except AssayError:
        return False
    assert look.summary()
    return look.labels is not None or any(options for _, options in look.readings)


def of_all(numbers: range, folder: Path) -> None:
    read = 0
    for number in numbers:
        try:
            read += tried(number, folder / str(number))
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"mutated({number}): {type(error).__name__}: {error}") from error
    assert read >= LEAST_READ * len(numbers), f"{read} of {len(numbers)} are read"


@pytest.mark.slow
def test_read_some_mutated_sheets(tmp_path: Path) -> None:
    of_all(range(SHARE), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, ALL, ALL // 8))
def test_read_all_mutated_sheets(tmp_path: Path, start: int) -> None:
    of_all(range(start, start + ALL // 8), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_read_advice_leads_to_a_table(name: str, tmp_path: Path) -> None:
    """Following the advice of each error leads to another error, and finally to a table or an error without advice."""
    path = KINDS[name].write(tmp_path)
    said: list[str] = []
    options: dict[str, object] = {}
    while (error := refusal(path, **options)) is not None:
        assert str(error) not in said
        said.append(str(error))
        readings = [one for _, one in getattr(error, "choices", ()) if one] or [error.advised]
        if not readings[0]:
            break
        options |= readings[0]
    assert error is None or KINDS[name].wanted.refused, error
