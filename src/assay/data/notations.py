"""Notations of labels that all labels together explain: ``1 = never``, ``6-10``, ``10-Jun`` for ``6-10``, ``★★★``.

The options of `assay.read` that are returned state the one reading that is left; they are empty if there are several.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.names import model_names
from assay.data.structure.role_names import called, human_names, plain_name
from assay.errors import listing

MONTHS = (
    ("jan",), ("feb", "fév"), ("mar", "mär", "mrz"), ("apr", "avr"), ("may", "mai"), ("jun", "juin"), ("jul", "juil"),
    ("aug", "aoû"), ("sep",), ("oct", "okt"), ("nov",), ("dec", "dez", "déc"),
)  # fmt: skip
MONTH = rf"(?i:{'|'.join(name for month in MONTHS for name in month)})[a-zä]*\.?"
"""The name of a month, as spreadsheets write it."""

_DATES = (
    r"^(\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4})([T ]\d{1,2}:\d{2}(:\d{2})?.*)?$",
    rf"^\d{{1,4}}[-/. ]+{MONTH}([-/. ]+\d{{1,4}})?(,? \d{{1,2}}:\d{{2}}.*)?$",
    rf"^{MONTH}[-/. ]+\d{{1,4}}(,? \d{{4}})?(,? \d{{1,2}}:\d{{2}}.*)?$",
)
_DAY_OF_MONTH = re.compile(rf"(?P<day>\d{{1,2}})(?P<point>\.?)[-/ ]*(?P<month>{MONTH})")
_WORDED = re.compile(r"([+-]?\d+)\s*(?:[=:.)\]–—-]\s*|(?=[(+]))(\(?[^\W\d_][^\d<]*|\+)")
"""A whole number and its meaning: ``1 = never``, ``5 (very much)``, ``2. agree``; and ``3+``, as pathologists write."""

_EXPLAINED = re.compile(r"([+-]?\d+)\s*[=:]\s+([^\W\d_][^<]*)")
"""The same with numbers in the meaning: ``9: top 15% of the papers``."""

_RANGE = re.compile(r"(\d+)\s*[-–]\s*(\d+)")
_PAIR = re.compile(r"(\d+)([-/])(\d+)")


def is_date(text: str) -> bool:
    """Whether a text is a date or a time, as spreadsheets write it."""
    return any(re.match(form, text) for form in _DATES)


def are_dates(distinct: pl.Series) -> bool:
    """Whether most of the distinct cells of a column are dates or times."""
    some = distinct.head(200).to_list()
    return sum(map(is_date, some)) > 0.8 * len(some)


def number_before_words(labels: Iterable[str]) -> dict[str, str]:
    """Return the number of each label that has a number and its meaning, such as ``1 = never``.

    The result is empty if a number has several meanings, or a meaning several numbers.
    """
    bare = {label: label.strip() for label in labels}
    each = {label: _WORDED.fullmatch(text) or _EXPLAINED.fullmatch(text) for label, text in bare.items()}
    found = {label: parts for label, parts in each.items() if parts is not None}
    found = {label: parts for label, parts in found.items() if not _DAY_OF_MONTH.fullmatch(label.strip())}
    numbers = {int(parts[1]) for parts in found.values()}
    meanings = {parts[0] if parts[2] == "+" else parts[2].strip("() ").lower() for parts in found.values()}
    if not len(numbers) == len(meanings) == len(found):
        return {}
    return {label: str(int(parts[1])) for label, parts in found.items()}


def order_by_numbers(labels: Sequence[str]) -> dict[str, str]:
    """Return the scale of labels that all have a number and its meaning, or are ranges of numbers, in their order."""
    numbers = number_before_words(labels)
    if len(numbers) == len(labels) > 1:
        return {"scale": "ordinal:" + "<".join(sorted(labels, key=lambda label: int(numbers[label])))}
    ranges = _ascending(labels)
    return {"scale": "ordinal:" + "<".join(ranges)} if len(ranges) > 1 else {}


def codes_of_numbers(texts: Sequence[str], numbers: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the codes of texts that have a number and its meaning, next to labels that are plain numbers."""
    found = number_before_words(texts)
    if len(found) < len(texts):
        return {}
    return {"codes": {**found, **{one: one for one in numbers}}}


_PART_OF_NUMBER = re.compile(r"(\d+)\s?([A-Za-z]{1,2})")


def order_of_parts(texts: Iterable[str], numbers: Iterable[str]) -> dict[str, str]:
    """Return the scale of whole numbers and parts of them, ``3 < 4A < 4B < 5``; empty for other labels."""
    parts = {text: found for text in texts if (found := _PART_OF_NUMBER.fullmatch(text.strip()))}
    plain = list(numbers)
    if len(parts) < len(list(texts)) or not all(one.strip().isdecimal() for one in plain):
        return {}
    keys = {one: (int(one), "") for one in plain} | {one: (int(found[1]), found[2]) for one, found in parts.items()}
    return {"scale": "ordinal:" + "<".join(sorted(keys, key=keys.__getitem__))}


def _ascending(labels: Iterable[str]) -> list[str]:
    """The labels in their order, if they are ranges of numbers that do not overlap; a single number is a range."""
    ends: dict[str, tuple[int, int]] = {}
    for label in labels:
        parts = _RANGE.fullmatch(label.strip())
        if parts is None and not label.strip().isdecimal():
            return []
        ends[label] = (int(parts[1]), int(parts[2])) if parts else (int(label), int(label))
    order = sorted(ends, key=ends.__getitem__)
    rising = all(low <= high for low, high in ends.values()) and any(low < high for low, high in ends.values())
    return order if rising and all(ends[one][1] < ends[other][0] for one, other in pairwise(order)) else []


def undone_dates(labels: Sequence[str]) -> dict[str, Any]:
    """Return the codes that undo the conversion of labels to dates by a spreadsheet, ``10-Jun`` for ``6-10``.

    The other labels show how labels are written, and in which order the day and the month were. A day with a period
    is first in the languages that write it, and such spreadsheets convert decimals: ``03. Mai`` is 3.5.
    """
    dates = {label: parts for label in labels if (parts := _DAY_OF_MONTH.fullmatch(label.strip())) is not None}
    others = [label for label in labels if label not in dates]
    pairs = [parts for label in others if (parts := _PAIR.fullmatch(label.strip())) is not None]
    marks = {parts[2] for parts in pairs}
    if not dates or (len(marks) != 1 and (marks or not others)):
        return {}
    days = {label: (int(parts["day"]), _month(parts["month"])) for label, parts in dates.items()}
    same = {label: label for label in others}
    if not marks:
        decimal = all(parts["point"] for parts in dates.values()) and all(one.strip().isdecimal() for one in others)
        return {"codes": {label: f"{d}.{m}" for label, (d, m) in days.items()} | same} if decimal else {}
    mark = marks.pop()
    fits: list[dict[str, Any]] = []
    for codes in (
        {label: f"{m}{mark}{d}" for label, (d, m) in days.items()},
        {label: f"{d}{mark}{m}" for label, (d, m) in days.items()},
    ):
        written = list(dict.fromkeys([*codes.values(), *others]))
        order = _ascending(written) if mark == "-" else []
        one_scale = mark == "/" and len({one.partition(mark)[2] for one in written}) == 1
        if (order or one_scale) and codes not in [one["codes"] for one in fits]:
            fits.append({"codes": codes | same} | ({"scale": "ordinal:" + "<".join(order)} if order else {}))
    return fits[0] if len(fits) == 1 else {}


def _month(name: str) -> int:
    return next(n for n, names in enumerate(MONTHS, 1) if name.lower().startswith(names))


def repeated_symbols(labels: Sequence[str]) -> dict[str, float]:
    """Return the number of symbols of each label, ``★★★`` or ``★★★☆☆``; empty if labels are not written so.

    A second symbol is for the rest of the scale, and labels then have equal lengths.
    """
    bare = {label: label.strip().replace("\ufe0f", "") for label in labels}
    symbols = list(dict.fromkeys(one for text in bare.values() for one in text))
    if not symbols or len(symbols) > 2 or not all(one in "+*•" or unicodedata.category(one) == "So" for one in symbols):
        return {}
    if len(symbols) == 2 and len({len(text) for text in bare.values()}) > 1:
        return {}
    for full in symbols:
        counts = {label: text.count(full) for label, text in bare.items()}
        if max(counts.values()) > 1 and all(text.startswith(full * counts[one]) for one, text in bare.items()):
            return {label: float(count) for label, count in counts.items()} if len(set(counts.values())) > 1 else {}
    return {}


def options_in_words(options: Mapping[str, Any]) -> str:
    """Return options as a call states them: ``missing=[99]``."""
    return " and ".join(f"{name}={value!r}" for name, value in options.items())


LONGEST_RUN = 3
"""Most letters beyond ASCII next to each other in a Latin script: few words have more accents in a row, and words
of other scripts consist of them."""


def is_latin(data: bytes) -> bool:
    """Return whether bytes can be text in a Latin script, by the letters beyond ASCII, one byte each."""
    runs = [len(run) for run in re.findall(rb"[\x80-\xff]+", data)]
    # Short words of other scripts have no letter of ASCII either; Latin ones, except `à` and `é`, do.
    whole = [len(word) for word in re.findall(rb"(?<![a-zA-Z\x80-\xff])[\xc0-\xff]{2,}(?![a-zA-Z\x80-\xff])", data)]
    return 2 * max(sum(n for n in runs if n > LONGEST_RUN), sum(whole)) <= sum(runs)


_MAC_LETTERS = re.compile(
    rb"(?<=[a-z])[\x81\x82\x84\x86-\x91\x95\x98\x99\x9b\x9d\x9f](?=[a-z])|(?<=[a-z])[\x88\x8a\x8e-\x90](?![a-z])|"
    rb"(?<=i)\x97n(?![a-z])"
)
"""Letters of Mac Roman in and after small letters, where Windows text has signs and capitals (``ŽlevŽ``)."""
_WINDOWS_LETTERS = re.compile(rb"(?<=[a-z])[\xb3\xb9\xe0-\xff]|[\xf6-\xff](?=[a-z])")
"""Letters of Windows text, where Mac Roman has signs and capitals."""
_EITHER = re.compile(rb"(?<=[a-zA-Z])[\x9a\x9c\x9e]|[\x9a\x9c\x9e](?=[a-z])")
"""``š``, ``œ`` and ``ž`` of Windows text, or ``ö``, ``ú`` and ``û`` of Mac Roman."""


def single_byte(data: bytes) -> str | None:
    """Return the encoding of Latin text with one byte a letter; None if Windows and Mac are both possible."""
    mac, windows = (len(one.findall(data)) for one in (_MAC_LETTERS, _WINDOWS_LETTERS))
    if mac > windows:
        return "mac_roman"
    if not windows and not re.search(rb"[\xc0-\xff]", data) and _EITHER.search(data):
        return None
    return _windows_encoding(data)


def _windows_encoding(data: bytes) -> str:
    """The Windows encoding of a text in a Latin script: that of Central Europe or of the West.

    The letters ``ł`` and ``ż`` of the one are signs such as ``³`` and ``¿`` of the other, which no word contains;
    and no language of the West has both ``š`` or ``ž`` and the letters that ``ě``, ``ř`` and ``č`` would be.
    """
    inside = re.findall(rb"(?<=[a-zA-Z])[\xb3\xb9\xbf\x9c\x9f\xa3\xa5\xaf](?=[a-zA-Z])|[\xa3\xaf](?=[a-zA-Z]{2})", data)
    carons = re.search(rb"[\x8a\x8e\x9a\x9e]", data) and re.search(rb"[\xe8\xec\xf8\xf9\xc8\xcc\xd8]", data)
    return "cp1250" if len(inside) > 1 or carons else "cp1252"


def wide_encoding(start: bytes) -> str | None:
    """Return the encoding of the byte order mark at the start of a file; None for a single-byte encoding."""
    marks = {b"\xff\xfe\0\0": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
    return next((name for mark, name in marks.items() if start.startswith(mark)), None)


FEW_VALUES = 15
"""Most different values of a list of labels."""


def are_labels(values: Sequence[Sequence[Any]]) -> bool:
    """Whether lists contain whole numbers that come again, but neither counts nor shares, whose sum is the same."""
    flat = [one for each in values for one in each]
    whole = all(isinstance(one, bool | int) or (isinstance(one, float) and one.is_integer()) for one in flat)
    sums = whole and {sum(each) for each in values}
    return whole and len(sums or ()) > 1 and len(set(flat)) <= FEW_VALUES


_TALLY = re.compile(r"(.* )?(counter|counts?|tally|distribution)")


def tallies_in(cells: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the columns of objects with the count of each label: ``label_counter: {"e": 76, "n": 20}``."""
    found = {n: [one for one in values if one] for n, values in cells.items() if _TALLY.fullmatch(plain_name(n))}
    return [
        n for n, there in found.items() if there and all(
            isinstance(one, dict) and all(type(v) is int and v >= 0 for v in one.values()) for one in there)
    ]  # fmt: skip


# -- one question in several columns: crosses under the names of categories, and checkboxes -----------------

LEAST_MARKED = 4
"""Rows with one mark each from which columns are categories."""

CHOICE = "marked"
"""The column of labels, if the names of the categories do not begin with its name."""


def with_choices(frame: pl.DataFrame, named: Collection[str] = ()) -> tuple[pl.DataFrame, list[str]]:
    """Return a table with one column of labels for each question in several columns, and a note on each.

    Checkboxes are replaced with the ticked ones of each row; columns with exactly one mark in each row stay, next to
    the category that is marked. Columns that the user has ``named`` stay as they are.
    """
    notes = []
    for name, boxes in _checkboxes(frame).items():
        if name in frame.columns or not {*named}.isdisjoint(boxes.values()):
            continue
        ticked = [
            pl.when(pl.col(box).cast(pl.String).str.to_lowercase().is_in(TICKED)).then(pl.lit(one))
            for one, box in boxes.items()
        ]
        label = pl.concat_str(ticked, separator="; ", ignore_nulls=True).replace("", NO_BOX)
        label = pl.when(pl.any_horizontal(pl.col(list(boxes.values())).is_not_null())).then(label)
        columns = list(boxes.values())
        kept = [label.alias(name) if n == columns[0] else pl.col(n) for n in frame.columns if n not in columns[1:]]
        frame = frame.select(kept)
        note = f"'{name}' contains the ticked boxes of {listing([repr(n) for n in columns], 4)}"
        empty = int((frame[name] == NO_BOX).sum())
        notes.append(f"{note}; rows without a tick are '{NO_BOX}' ({empty:,})" if empty else note)
    marks = {n: found for n in frame.columns if _can_be_marked(n) and (found := _crosses(frame[n])) is not None}
    for group in _groups_of_crosses(marks) if frame.height >= LEAST_MARKED else ():
        if len(human_names(group)) > 1 or model_names(group):
            continue
        name, labels = _categories(group)
        while name in frame.columns:
            name += " "
        chosen = np.argmax(np.stack([marks[n] for n in group]), axis=0)
        frame = frame.with_columns(pl.Series(name, labels).gather(chosen))
        notes.append(
            f"'{name}' contains the marked one of {listing([repr(n) for n in group], 4)}: each row has one mark"
        )
    return frame, notes


_CHECKBOX = re.compile(r"(?s)(.+?)___(_?)(\w+)|(.+?) \(choice=(.*)\)")
"""The name of a checkbox in an export of REDCap: a field and a code (``_9`` is −9), or a question and a choice."""

TICKED = ("1", "1.0", "true", "checked")
UNTICKED = ("0", "0.0", "false", "unchecked")
NO_BOX = "no box"
"""The label of a row without a ticked box."""


def _checkboxes(frame: pl.DataFrame) -> dict[str, dict[str, str]]:
    """The checkboxes of each question: their columns by label. A question has at least two, all ticked or not."""
    found: dict[str, dict[str, str]] = {}
    for column in frame.columns:
        if (parts := _CHECKBOX.fullmatch(column)) is not None:
            field, minus, code, question, choice = parts.groups()
            found.setdefault(field or question, {})[f"box {'-' * bool(minus)}{code}" if field else choice] = column
    return {name: boxes for name, boxes in found.items() if len(boxes) > 1 and all(
        frame[box].cast(pl.String).str.to_lowercase().drop_nulls().is_in([*TICKED, *UNTICKED]).all()
        for box in boxes.values())}  # fmt: skip


def _can_be_marked(name: str) -> bool:
    return name != "_row" and not called(plain_name(name).rpartition(" ")[2], "time stamp")


def _crosses(column: pl.Series) -> NDArray[np.bool_] | None:
    """The marked rows of a column with one text and empty cells; None for other columns."""
    if column.dtype != pl.String and not 0 < column.null_count() < len(column):
        return None
    texts = column.cast(pl.String, strict=False).str.strip_chars().replace("", None)
    one = 0 < texts.null_count() < len(texts) and texts.drop_nulls().n_unique() == 1
    return texts.is_not_null().to_numpy() if one else None


def _groups_of_crosses(marks: Mapping[str, NDArray[np.bool_]]) -> list[list[str]]:
    """Columns next to each other, with exactly one mark in each row."""
    found: list[list[str]] = []
    group: list[str] = []
    for name in marks:
        group.append(name)
        total = np.sum([marks[n] for n in group], axis=0)
        if (total > 1).any():
            group = [name]
        elif (total == 1).all():
            found, group = [*found, group], []
    return found


def _categories(group: Sequence[str]) -> tuple[str, list[str]]:
    """The name of the column of labels, and the labels: ``tone:::warm`` and ``tone:::cold`` are warm and cold."""
    same = sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*group, strict=False)))
    start = re.sub(r"[^\s_.:/\[(-]*$", "", group[0][:same])
    name = start.rstrip(" _.:/[(-")
    return (name, [one.removeprefix(start).rstrip("])") for one in group]) if name else (CHOICE, list(group))
