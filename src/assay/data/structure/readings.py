"""The readings of a table that are left, in words and as calls of `assay.read`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from assay.data.names import IN_MEMORY
from assay.data.structure.roles import Choice, Structure
from assay.errors import DataError

MOST_CHOICES = 6
"""Answers that a question lists."""

MOST_READINGS = 24
"""Largest number of readings of one table that are tried."""


class UnclearTableError(DataError):
    """The structure of a table is ambiguous, or a role is missing.

    Attributes
    ----------
    problems : tuple of str
        Everything that the user has to resolve; ``advised`` has the options of `assay.read` for the more likely
        readings, and the ``choices`` that are left have been tried on this table.
    apart : bool
        Whether the options are for this file alone, next to others with other options.
    """

    def __init__(
        self,
        message: str,
        problems: Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
        source: str = "",
        choices: Sequence[Choice] = (),
        *,
        apart: bool = False,
    ) -> None:
        super().__init__(message, advised=options, choices=choices)
        self.problems, self.source, self.apart = tuple(problems), source, apart


def read_call(source: str | Sequence[str], options: Mapping[str, Any]) -> str:
    """Return the Python call that reads a source with these options; a table in memory is called ``frame``."""
    given = [f"{name}={list(value) if isinstance(value, tuple) else value!r}" for name, value in options.items()]
    return f"assay.read({', '.join(['frame' if source == IN_MEMORY else repr(source), *given])})"


CHOOSE = "Choose one:"

APART = "It needs other options than the other file; read it alone and join the tables:"


def further_readings(number: int) -> str:
    """Return the line after the first readings of many."""
    return f"or {number - MOST_CHOICES} further readings, by the columns of item, annotator and label"


def of_several(error: UnclearTableError, sources: str | Sequence[str], stated: Mapping[str, Any]) -> UnclearTableError:
    """Return the error about one of several files, with calls that read all of them.

    If the file needs other options than those that are stated for another one, it is read alone and joined.
    """
    rest = [one for one in ([sources] if isinstance(sources, str) else sources) if one != error.source]
    first, own = {name: value for name, value in stated.items() if name != "match"}, {}
    source = error.source
    if not isinstance(stated.get("sheet"), str | None):
        # Several sheets of one workbook are read from its path.
        books = list(dict.fromkeys(source.rpartition("/")[0] for source in sources))
        sources = books[0] if len(books) == 1 else books
        source, _, sheet = error.source.rpartition("/")
        others = [one.rpartition("/")[2] for one in rest]
        rest, own, first["sheet"] = [sources] if isinstance(sources, str) else books, {"sheet": sheet}, _alone(others)
    each = ((said, [(k, v) for k, v in given.items() if k != "judges" or v]) for said, given in error.choices)
    readings = [(said, dict(given)) for said, given in each]
    roles = [name for name in ("item", "annotator", "label", "layout", "columns") if name in stated]
    if not any(given.get(name, stated[name]) != stated[name] for _, given in readings for name in roles):
        return unclear(error.source, error.problems, readings, sources)
    kept = ("judges", "scale", *roles)
    readings = [
        (said, own | {name: value for name, value in given.items() if name in kept or name not in stated})
        for said, given in readings
    ]
    match = f", match={stated['match']!r}" if "match" in stated else ""
    whole = read_call(_alone(rest), first)
    calls = [(said, f"{whole}.join({read_call(source, given)}{match})") for said, given in readings]
    lines = [f"{said}: {call}" if said else call for said, call in calls]
    text = "\n  ".join([f"{error.source}: {'; '.join(error.problems)}. {APART}", *lines])
    return UnclearTableError(text, error.problems, None, error.source, readings, apart=True)


def _alone(names: Sequence[str]) -> str | list[str]:
    """The only name, or all."""
    return names[0] if len(names) == 1 else [*names]


def unclear(
    source: str, problems: Sequence[str], readings: Sequence[Choice] = (), sources: str | Sequence[str] | None = None
) -> UnclearTableError:
    """Return the error that lists all problems of a table.

    It ends in the call that reads the table (with the other ``sources``) if one reading is left, and otherwise lists
    the readings that are left.
    """
    whole = source if sources is None else sources if isinstance(sources, str) else list(sources)
    text = f"{source}: {'; '.join(problems)}"
    end = "" if text.endswith(("?", ".")) else "."
    if len(readings) == 1 and readings[0][1]:
        options = readings[0][1]
        return UnclearTableError(
            f"{text}{end} If that is right: {read_call(whole, options)}", problems, options, source, readings
        )
    if readings:
        lines = [f"{said}: {read_call(whole, given)}" if given else said for said, given in readings]
        if len(lines) > MOST_CHOICES:
            lines = [*lines[:MOST_CHOICES], further_readings(len(lines))]
        text = "\n  ".join([f"{text}{end} {CHOOSE}", *lines]) + "\nState the options of one of them."
    return UnclearTableError(text, problems, None, source, readings)


_WHOLE = ({"split_columns"}, {"columns", "humans", "judges"})
"""The options that next to a layout state a whole reading."""


def readings_of(found: Structure, given: Mapping[str, Any]) -> list[Choice]:
    """Return each combination of answers to the questions of a structure, in words and as options.

    Questions to confirm add no words. There is no combination if a question has no answers.
    """
    if not all(one.choices for one in found.questions):
        return []
    asked = [one for one in found.questions if len(one.choices) > 1]
    readings: list[Choice] = []
    for answers in itertools.islice(itertools.product(*(one.choices for one in asked)), MOST_READINGS):
        # An answer that reads all labels as those of one annotator, or names all people, leaves no other question.
        whole = [one for one in answers if any({"layout", *more} <= {*one[1]} for more in _WHOLE)]
        if whole:
            reading = (whole[0][0], {**given, **whole[0][1]})
            readings += [] if reading in readings else [reading]
            continue
        words = "; ".join(text for text, _ in answers)
        said = {name: value for _, options in answers for name, value in options.items()}
        # An answer with a layout states the whole reading.
        base = {**given, **({} if "layout" in said else found.stated_options)}
        readings.append((words, base | said if all(options for _, options in answers) else {}))
    return readings
