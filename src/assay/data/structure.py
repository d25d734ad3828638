"""Find the structure of a table: which columns hold the item, the annotators and the labels.

The rows decide (`assay.data.dependence`). A column belongs to another if each value of the latter has a single value of
the former; columns that make rows unique, more often than chance would, are the item and the annotator; labels are what
is left. Names choose between readings that the rows allow, and decide alone only where a table has too few rows. If
several readings are left, the structure has a question for the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data import words
from assay.data.cells import (
    LEAST_COUNTED,
    ROWS_INSPECTED,
    ColumnView,
    computed_columns,
    could_be_counts,
    last_is_total,
    total_of_counts,
)
from assay.data.dependence import crossed, dependence, repetition, sameness
from assay.data.names import IN_MEMORY, KINDS, label_key, model_names, possible_judges
from assay.data.probabilities import PREFIXES, probability_columns
from assay.data.role_names import (
    AVERAGE_ROW,
    BY_NAME,
    COUNTED,
    ID,
    NUMBERED,
    CrossedNames,
    called,
    called_people,
    called_person_ids,
    crossed_names,
    crossed_part,
    data_of,
    human_names,
    plain_name,
)
from assay.data.sides import find_battles
from assay.data.values import MOST_CATEGORIES, TICKS
from assay.errors import DataError, counted, listing

RoleKind = Literal[
    "item", "annotator", "label", "criterion", "repeat", "kind", "person", "judge", "item column", "annotator column",
    "answer column", "probability", "gold", "computed", "time stamp", "comment", "row number", "technical", "empty",
    "unknown",
]  # fmt: skip
Shape = Literal["long", "wide", "transposed", "counts"]
Layout = Literal["auto", "long", "wide", "transposed"]
"""The object of each row of a table; ``auto`` detects it."""
Evidence = Literal["stated", "found", "named", "doubtful"]
"""Where a role comes from: the user, the rows, only its name, or nothing that decides."""

Choice = tuple[str, Mapping[str, Any]]
"""An answer in words, and the options of `assay.read` that state it; none if it needs another table."""

ROWS = "_row"
"""Used instead of a column's name: the number of the row."""

MOST_PEOPLE = 60
"""Largest number of annotators' columns in a wide sheet: forms have more questions, no study has more annotators."""

MOST_WORDS = 3
"""Largest number of words in an annotator's name: texts of items that mention a model have more."""

MOST_ENTITIES = 16
"""Columns that are tried as parts of a key, those with usual names first."""

MOST_CHOICES = 6
"""Answers that a question lists."""

MOST_READINGS = 24
"""Largest number of readings of one table that are tried."""

LARGEST_ENTITY = 0.7
"""Share of rows up to which the values of a column come again, as those of an item or an annotator do."""

LEAST_FILLED = 0.9
"""Share of filled cells of a column that identifies rows."""

MOST_SHARED_VALUES = 15
"""Numbers up to which two columns are compared by their values, not by their range."""

FEW_ROWS = 30
"""Rows up to which two columns on one scale can have few values in common."""

VERY_FEW_ROWS = 3
"""Rows up to which words of two columns are not compared."""

USUAL_SCALE = -3, 10
"""Numbers within these limits can be labels on one scale, if there are too few to compare their values."""

SWAPPED = 0.1
"""How much more labels can agree within annotators than within items: more suggests that the two are exchanged."""

SYSTEM_NAME = re.compile(
    r"(?i)(m?bart|pegasus|m?t5|bert|roberta|lead|baseline|transformer|seq2seq|pointer|lstm|rnn|nmt|electra|xlnet)"
    r"([-_ ]?\w+)?|reference|human|sys(tem)?[-_ ]?\d+"
)
"""Names of systems that write texts, next to names of models."""

RENAMED = 0.5
"""Rows that break a dependence, relative to chance, up to which two columns hold the same labels in other words."""

IGNORED: tuple[RoleKind, ...] = ("computed", "time stamp", "comment", "row number", "technical", "empty")
"""Roles of columns that are ignored."""

_NO_IDENTIFIER: tuple[RoleKind | None, ...] = ("probability", "computed", "gold", "time stamp", "row number", "empty")
_REASONS: Mapping[RoleKind, str] = {
    "time stamp": "dates and times", "empty": "no values", "probability": words.SUM_TO_ONE,
}  # fmt: skip
"""Reasons of roles that a name does not decide alone."""
_AI = ("AI", "KI", "IA", "LLM", "ML")


@dataclass(frozen=True)
class Role:
    """The role of a column, and the reason.

    Attributes
    ----------
    name : str
    kind : str
    why : str
        The reason, in words.
    examples : str
        Some of its cells.
    found : str
        ``stated``, ``found`` (the rows decide), ``named`` (only its name does) or ``doubtful``.
    of : tuple of str
        The columns whose values decide its value.
    """

    name: str
    kind: RoleKind
    why: str
    examples: str = ""
    found: Evidence = "found"
    of: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.why in _EVIDENCE:
            object.__setattr__(self, "found", _EVIDENCE[self.why])


_EVIDENCE: Mapping[str, Evidence] = {
    "by name": "named", "name of a model": "named", "as specified": "stated", "listed in judges": "stated",
    "listed in exclude": "stated", "not in columns": "stated",
}  # fmt: skip
"""Evidence by the reason of a role; other reasons describe the rows."""


class Doubt(NamedTuple):
    """A question that the rows do not decide.

    Attributes
    ----------
    text : str
    choices : tuple of (str, mapping)
        Each answer in words, and the options of `assay.read` that state it; an answer without options needs another
        table. A question with one choice asks to confirm it.
    """

    text: str
    choices: tuple[Choice, ...] = ()


@dataclass(frozen=True)
class Structure:
    """The structure of a table: its shape, the role of each column, and what the user has to decide.

    Attributes
    ----------
    shape : str
        ``long``, ``wide``, ``transposed`` or ``counts``.
    columns : tuple of Role
    options : mapping
        The options of `assay.read` that read the table; with questions, those of the first choices.
    questions : tuple of Doubt
        What the user has to decide.
    errors : tuple of str
        Reasons why the table cannot be read.
    rows : mapping of a reason to tuple of str
        Rows that are not items, such as a last row of averages.
    """

    shape: Shape
    columns: tuple[Role, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    questions: tuple[Doubt, ...] = ()
    errors: tuple[str, ...] = ()
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def roles(self) -> dict[str, Role]:
        """The role of each column, by its name."""
        return {one.name: one for one in self.columns}

    @property
    def problems(self) -> list[str]:
        """All errors and questions, in words."""
        return [*self.errors, *(one.text for one in self.questions)]

    @property
    def stated_options(self) -> dict[str, Any]:
        """The options of a call: without a form's questions, which can be hundreds and are found again."""
        is_form = self.shape == "transposed"
        return {name: value for name, value in self.options.items() if not (is_form and name == "columns")}

    def named(self, *kinds: RoleKind) -> list[str]:
        """Return the columns with one of these roles."""
        return [one.name for one in self.columns if one.kind in kinds]

    def notes(self) -> list[str]:
        """Return a note on each role, and on rows that are not items."""
        found = []
        for kind in words.ROLES_NOTED:
            there = [one for one in self.columns if one.kind == kind]
            if there:
                why = there[0].why if len({one.why for one in there}) == 1 else ""
                found.append(words.role_note(kind, [one.name for one in there], why))
        return found + self.row_notes()

    def row_notes(self) -> list[str]:
        """Return a note on rows without an id, and on those that are not items."""
        numbered = ["no item id found; rows are numbered"] if self.options.get("item") == ROWS else []
        return numbered + [f"row {_quote(names, 3)} ignored: {why}" for why, names in self.rows.items()]


@dataclass(frozen=True)
class Stated:
    """The roles of columns that the user has specified; they are never questioned."""

    item: str | None = None
    annotator: str | None = None
    label: str | None = None
    criterion: str | None = None
    repeat: str | None = None
    kind: str | None = None
    columns: tuple[str, ...] | None = None
    judges: tuple[str, ...] | None = None
    humans: tuple[str, ...] | None = None
    shape: Shape | None = None
    exclude: tuple[str, ...] | None = None
    split_columns: str | None = None
    alone: bool = True
    """Whether it is the only file; each of several files can hold the labels of one annotator."""
    by_name: frozenset[str] = frozenset()
    """Roles whose columns have the usual names, and that the user has not specified."""

    @property
    def people(self) -> set[str]:
        """All annotators that the user names."""
        return {*(self.judges or ()), *(self.humans or ())}


class UnclearTableError(DataError):
    """The structure of a table is ambiguous, or a role is missing.

    Attributes
    ----------
    problems : tuple of str
        Everything that the user has to resolve; ``advised`` has the options of `assay.read` for the more likely
        readings.
    choices : tuple of (str, mapping)
        The readings that are left, each in words and as options of `assay.read` that have been tried on this table.
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
        super().__init__(message, advised=options)
        self.problems, self.source, self.choices, self.apart = tuple(problems), source, tuple(choices), apart


def read_call(source: str | Sequence[str], options: Mapping[str, Any]) -> str:
    """Return the Python call that reads a source with these options; a table in memory is called ``frame``."""
    given = [f"{name}={list(value) if isinstance(value, tuple) else value!r}" for name, value in options.items()]
    return f"assay.read({', '.join(['frame' if source == IN_MEMORY else repr(source), *given])})"


CHOOSE = "Choose one:"

APART = "It needs other options than the other file; read it alone and join the tables:"


def further_readings(number: int) -> str:
    """Return the line after the first readings of many."""
    return f"or {number - MOST_CHOICES} further readings, by the columns of item, annotator and label"


def of_several(error: UnclearTableError, sources: Sequence[str], stated: Mapping[str, Any]) -> UnclearTableError:
    """Return the error about one of several files, with calls that read all of them.

    If the file needs other options than those that are stated for another one, it is read alone and joined.
    """
    each = ((said, [(k, v) for k, v in given.items() if k != "judges" or v]) for said, given in error.choices)
    readings = [(said, dict(given)) for said, given in each]
    roles = [name for name in ("item", "annotator", "label", "layout", "columns") if name in stated]
    if not any(given.get(name, stated[name]) != stated[name] for _, given in readings for name in roles):
        return unclear(error.source, error.problems, readings, sources)
    kept = ("judges", "scale", *roles)
    readings = [
        (said, {name: value for name, value in given.items() if name in kept or name not in stated})
        for said, given in readings
    ]
    calls = [(said, f"first.join({read_call(error.source, given)})") for said, given in readings]
    lines = [f"{said}: {call}" if said else call for said, call in calls]
    text = "\n  ".join([f"{error.source}: {'; '.join(error.problems)}. {APART}", *lines])
    return UnclearTableError(text, error.problems, None, error.source, readings, apart=True)


def unclear(
    source: str, problems: Sequence[str], readings: Sequence[Choice] = (), sources: Sequence[str] | None = None
) -> UnclearTableError:
    """Return the error that lists all problems of a table.

    It ends in the call that reads the table (with the other ``sources``) if one reading is left, and otherwise lists
    the readings that are left.
    """
    whole = source if sources is None else list(sources)
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


def find_structure(frame: pl.DataFrame, views: Mapping[str, ColumnView], stated: Stated) -> Structure:
    """Find the structure of a table.

    Parameters
    ----------
    frame : polars.DataFrame
        The table as read; a column ``_row`` is ignored.
    views : mapping
        Views of its columns (`assay.data.cells.views_of`).
    stated : Stated
        The roles that the user has specified; they are never questioned.
    """
    return _Finder(views, stated, frame.drop("_row", strict=False).head(ROWS_INSPECTED)).find()


# -- two columns on one scale ------------------------------------------------------------------------------


def on_one_scale(one: ColumnView, other: ColumnView) -> bool:
    """Whether the cells of two columns could be labels on one scale."""
    few = min(one.filled, other.filled) < FEW_ROWS
    if one.values is None or other.values is None:
        if one.values is not None or other.values is not None:
            return False
        first, second = (set(label_key(v.distinct).to_list()) for v in (one, other))
        shared = len(first & second)
        if min(one.filled, other.filled) < VERY_FEW_ROWS:
            return True
        return shared > 0 if few else 2 * shared >= min(len(first), len(second))
    first, second = set(one.values.tolist()), set(other.values.tolist())
    if few and all(USUAL_SCALE[0] <= x <= USUAL_SCALE[1] for x in first | second):
        return True
    if max(len(first), len(second)) <= MOST_SHARED_VALUES and not few:
        return len(first & second) >= 0.6 * min(len(first), len(second))
    shares = _share_within(one, other), _share_within(other, one)
    return max(shares) >= 0.9 and (min(shares) >= 0.25 or min(len(first), len(second)) <= 2)


def _share_within(one: ColumnView, other: ColumnView) -> float:
    """The share of a column's numbers within the range of another's."""
    there = one.numbers.drop_nulls()  # type: ignore[union-attr]
    return float(there.is_between(*(other.ends or (0, 0))).mean() or 0)  # type: ignore[arg-type]


def scale_groups(names: Sequence[str], views: Mapping[str, ColumnView]) -> list[list[str]]:
    """Group columns that could hold labels on one scale, the largest group first."""
    groups: list[list[str]] = []
    for name in names:
        near = [g for g in groups if any(on_one_scale(views[name], views[o]) for o in g)]
        joined = [n for g in near for n in g]
        groups = [[*joined, name], *(g for g in groups if g not in near)]
    order = {name: i for i, name in enumerate(names)}
    groups = [sorted(g, key=order.__getitem__) for g in groups]
    return sorted(groups, key=lambda g: (-len(g), order[g[0]]))


# -- the search ----------------------------------------------------------------------------------------------


class _Key(NamedTuple):
    """Columns that identify a row: who answered, what was answered, and for which criterion and repeat."""

    who: str
    item: tuple[str, ...]
    criterion: str | None = None
    repeat: str | None = None
    why: str = ""
    condition: str | None = None
    found: bool = False
    """Whether the rows show it."""

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(n for n in (*self.item, self.who, self.criterion, self.repeat, self.condition) if n is not None)

    @property
    def options(self) -> dict[str, Any]:
        """The options of `assay.read` that state it."""
        found: dict[str, Any] = {
            "item": self.item[0] if len(self.item) == 1 else list(self.item),
            "annotator": self.who,
        }
        found |= {role: name for role, name in (("criterion", self.criterion), ("repeat", self.repeat)) if name}
        return found | ({"conditions": [self.condition]} if self.condition else {})


class _Finder:
    """Finds the structure of one table."""

    def __init__(self, views: Mapping[str, ColumnView], stated: Stated, frame: pl.DataFrame) -> None:
        self.views, self.stated, self.frame = views, stated, frame
        self.plain = {name: plain_name(name) for name in views}
        self.excluded = {*(stated.exclude or ())} - {stated.item, stated.annotator, stated.label}
        self.questions: list[Doubt] = []
        self.errors: list[str] = []

    def find(self) -> Structure:
        """Return the structure, by the shape that the user or the rows decide."""
        stated, shape = self.stated, self.stated.shape
        said = any(getattr(stated, role) is not None for role in ("shape", "columns", "item", "annotator", "label"))
        plain = shape is None and stated.annotator is None and stated.label is None
        if stated.columns is not None or (plain and len(find_battles(self.frame, self.views)) > 1):
            shape = shape or "wide"
        headless = [n for n, v in self.views.items() if v.filled and n in set(v.distinct.to_list())]
        places = sorted(int(n) for n in headless if n.isdigit())
        # Columns can be numbered: 1, 2, 3.
        numbered = len(places) == len(headless) and places == [places[0] + k for k in range(len(places))]
        if len(headless) > 1 and not said and not numbered and 2 * len(headless) >= len(self.views):
            columns = tuple(Role(n, "unknown", "", v.examples(), "doubtful") for n, v in self.views.items())
            return Structure("long", columns, errors=(words.no_header(headless),))
        if shape == "wide":
            return self.wide()
        if shape == "transposed":
            return self.transposed()
        if shape is None and stated.annotator is None and stated.label is None:
            counts = self._counts()
            if counts:
                return self._counted(counts)
            shares = self._shares()
            if shares:
                columns = tuple(Role(n, "probability" if n in shares else "unknown", "", v.examples())
                                for n, v in self.views.items())  # fmt: skip
                return Structure("counts", columns, errors=(words.shares(shares),))
        key = self._key()
        if key is not None or shape == "long":
            return self._unread() if key is None else self.long(key)
        if self.questions:
            return self._asked_who()
        once = stated.annotator in self.views and self.views[str(stated.annotator)].unique
        if stated.label is not None or (stated.annotator is not None and not (once and stated.item is None)):
            return self._unread()
        if self._form_questions():
            return self.transposed()
        return self._unread() if once else self.wide()

    # -- counts ------------------------------------------------------------------------------------------

    def _counts(self) -> list[str]:
        """The columns that hold how many annotators chose each category; empty if the table has none."""
        whole = [n for n, v in self.views.items() if v.numeric and v.whole and v.share_filled == 1
                 and self._by_name(n) is None and (v.ends or (-1,))[0] >= 0]  # fmt: skip
        tried = [whole, whole[1:]] if whole and self.views[whole[0]].unique else [whole]
        for names in tried:
            if len(names) > 2 and total_of_counts(self._cells(names)):
                return names
        named = [n for n in whole if COUNTED.fullmatch(self.plain[n])]
        further = {n for n in whole if not self.views[n].unique} - {*named}
        if len(named) > 1 and not further and not self._names_people:
            return named
        first = next(iter(self.views.values()), None)
        if first is not None and first.is_text and first.unique:
            others = [n for n in self.views if n != first.name]
            square = len(others) == first.rows >= 2 and set(others) == set(first.distinct.to_list())
            if square and all(self.views[n].numeric and self.views[n].whole for n in others):
                return others
        return []

    @cached_property
    def _names_people(self) -> bool:
        """Whether a column is called as those of annotators are."""
        return any(called_people(plain) == 2 for plain in self.plain.values())

    def _counted(self, counts: list[str]) -> Structure:
        columns = [Role(n, "label" if n in counts else "item", "a count" if n in counts else "", v.examples())
                   for n, v in self.views.items()]  # fmt: skip
        named = {cell for v in self.views.values() if v.is_text for cell in v.distinct}
        said = words.counts(counts, total_of_counts(self._cells(counts)), square=named >= set(counts))
        return Structure("counts", tuple(columns), errors=(said,))

    def _shares(self) -> list[str]:
        """Columns with the share of each category, which sum to 1 (or 100) in each row; empty if there are none."""
        numbers = [n for n, v in self.views.items() if v.numeric and v.share_filled == 1 and self._by_name(n) is None
                   and not (v.unique and v.whole) and (v.ends or (-1,))[0] >= 0]  # fmt: skip
        if len(numbers) < 3 or self._names_people or all(self.views[n].whole for n in numbers):
            return []
        sums = self._cells(numbers).sum(axis=1)
        if len(sums) < LEAST_COUNTED:
            return []
        return numbers if any(bool(np.allclose(sums, total, atol=0.01 * total)) for total in (1, 100)) else []

    def _cells(self, names: Sequence[str]) -> NDArray[np.float64]:
        return np.column_stack([self.views[n].numbers.to_numpy() for n in names])  # type: ignore[union-attr]

    # -- probabilities of the labels ---------------------------------------------------------------------

    @cached_property
    def _probabilities(self) -> tuple[str, ...]:
        """The columns with a judge's probabilities of the labels, unless the user gives them another role."""
        said = {*(getattr(self.stated, role) for role in ("item", "annotator", "label", "criterion", "repeat"))}
        said |= {*(self.stated.columns or ()), *self.stated.people, *(self.stated.exclude or ())}
        named = [n for n in self.views if n.startswith(PREFIXES) and n not in said]
        numbers = {n: found for n in named if len(named) > 1 and (found := self.views[n].numbers) is not None}
        if not numbers:
            return ()
        few = [v for n, v in self.views.items() if n not in numbers and 0 < v.n_values <= MOST_CATEGORIES]
        return probability_columns(numbers, [v.distinct.to_list() for v in few])

    # -- one row per label: who answered, and on which item ----------------------------------------------

    @cached_property
    def _entities(self) -> list[list[str]]:
        """Columns whose values come again, those that name the same things together, the best name first."""
        stated = {self.stated.item, self.stated.annotator, self.stated.criterion, self.stated.repeat}
        rows = self.frame.height
        fits = [
            v for v in self.views.values()
            if v.name in stated or (
                v.share_filled > LEAST_FILLED and 2 <= v.n_values <= LARGEST_ENTITY * rows and not v.dates
                and (v.values is None or v.whole) and v.name != self.stated.label and v.name not in self._probabilities
                and v.name not in self.excluded
            )
        ]  # fmt: skip
        fits.sort(key=lambda v: (v.name not in stated, -self._entity_rank(v)))
        groups: list[list[str]] = []
        for view in fits[: 2 * MOST_ENTITIES]:
            same = next((g for g in groups if self._same_entity(self.views[g[0]], view)), None)
            if same is None:
                groups.append([view.name])
            elif view.name not in stated:
                same.append(view.name)
        return groups[:MOST_ENTITIES]

    def _entity_rank(self, view: ColumnView) -> int:
        plain = self.plain[view.name]
        rank = 4 * called_people(plain) + 3 * called(plain, "item")
        rank += 2 * bool(ID.search(plain)) + any(called(plain, one) for one in ("criterion", "repeat", "system"))
        return rank - 4 * called(plain, "label") - 2 * view.free - view.spaced

    def _same_entity(self, one: ColumnView, other: ColumnView) -> bool:
        forth, back = dependence(other.codes, one.codes), dependence(one.codes, other.codes)
        if forth.holds is None or back.holds is None:
            return forth.broken == back.broken == 0 and forth.could > 0 and one.n_values == other.n_values
        loose = max(forth.broken / max(forth.could, 1), back.broken / max(back.could, 1)) <= 0.1
        return loose and (forth.holds or back.holds) and one.n_values > 2

    def _belongs(self, name: str, on: Sequence[str]) -> bool | None:
        """Whether a column has one value for each value (or combination) of others; None if there are too few rows."""
        found = dependence(self.views[name].codes, crossed([self.views[n].codes for n in on]))
        if found.holds is None and found.broken:
            return False
        return found.holds

    @cached_property
    def _keys(self) -> list[tuple[str, ...]]:
        """The smallest sets of columns that identify a row more often than chance would."""
        return self._all_keys[0]

    @cached_property
    def _all_keys(self) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
        """The smallest sets of columns that identify a row; and those that do, but might by chance."""
        rows, heads = self.frame.height, [group[0] for group in self._entities]
        functions = {(a, b) for a in heads for b in heads if a != b and self._belongs(a, [b])}
        plain = [n for n in heads if not called(self.plain[n], "label") or called_people(self.plain[n])]
        possible: list[tuple[str, ...]] = []
        short = [n for n in plain if not self.views[n].free]
        for names in dict.fromkeys((tuple(short), tuple(plain), tuple(heads))):
            for size in (2, 3, 4):
                found = []
                for part in combinations(names, size):
                    ways = np.prod([float(self.views[n].n_values) for n in part])
                    if ways < LEAST_FILLED * rows or any((a, b) in functions for a in part for b in part):
                        continue
                    repeats = repetition([self.views[n].codes for n in part])
                    if repeats.is_key:
                        found.append(part)
                    elif repeats.is_key is None and not any(set(k) <= set(part) for k in possible):
                        possible.append(part)
                if found:
                    # A coarser column gives way to a finer one: a teacher to a lesson.
                    return [k for k in found if not self._coarser(k, found, functions)], []
        return [], possible

    def _coarser(self, key: tuple[str, ...], keys: Sequence[tuple[str, ...]], functions: set[tuple[str, str]]) -> bool:
        for other in keys:
            left, right = set(key) - set(other), set(other) - set(key)
            if len(left) == len(right) == 1 and (left.copy().pop(), right.copy().pop()) in functions:
                return True
        return False

    def _witness(self, name: str) -> tuple[int, str]:
        """How surely a column says who answered, apart from the rows: 0 if nothing does; and the reason."""
        view, stated = self.views[name], self.stated
        if stated.annotator == name:
            return 9, "as specified"
        if name in (stated.item, stated.label, stated.criterion, stated.repeat) or name in stated.people:
            return 0, ""
        if name in self._labels_of_people:
            return 0, ""
        cells = view.distinct.to_list() if view.values is None else []
        if stated.people and stated.people & set(cells):
            return 8, "it contains the annotators that you name"
        if any(called(self.plain[name], one) for one in ("criterion", "repeat", "condition")):
            return 0, ""
        strength = called_people(self.plain[name])
        if strength == 2:
            return 6 if self.plain[name] == "annotator" else 5, "by its name"
        if cells and sum("@" in cell for cell in cells) > 0.8 * len(cells):
            return 4, "e-mail addresses"
        models = model_names(cells, cells) if 2 <= len(cells) <= MOST_PEOPLE and not view.spaced else []
        if models and len(models) < len(cells):
            return 3, "names of models among its values"
        if strength:
            return 2, "by its name"
        return (1, "names of models") if called(self.plain[name], "system") and models else (0, "")

    @cached_property
    def _labels_of_people(self) -> set[str]:
        """Columns of numbers on one scale, each called as an annotator is, in a table without a column of labels."""
        if any(called(plain, "label") for plain in self.plain.values()):
            return set()
        named = [n for n, v in self.views.items() if v.numeric and not v.counts_rows and n not in self.excluded
                 and called_people(self.plain[n]) == 2 and not called_person_ids(self.plain[n])]  # fmt: skip
        groups = scale_groups(named, self.views)
        return set(groups[0]) if groups and len(groups[0]) > 1 else set()

    def _key(self) -> _Key | None:
        """Who answered, and on which item; None, perhaps with a question, if the table has no row per label."""
        stated = self.stated
        if stated.item is not None and stated.annotator is not None and stated.annotator != ROWS:
            return self._with_extra(_Key(stated.annotator, (stated.item,), why="as specified"))
        keys = [k for k in self._keys if all(n in k for n in (stated.item, stated.annotator) if n is not None)]
        ranked = sorted(
            ((max(self._witness(n)[0] for n in k), k) for k in keys), key=lambda one: -one[0]
        )  # fmt: skip
        if ranked and ranked[0][0] >= 2:
            return self._key_of(ranked[0][1])
        named = self._named_key()
        if named is not None:
            return named
        keys = [k for _, k in ranked] or self._possible_keys()
        return self._who_is_asked(keys, sure=bool(ranked)) if keys else None

    def _possible_keys(self) -> list[tuple[str, ...]]:
        """Sets of columns that identify a row, in a table with too few rows to exclude chance."""
        views = self.views.values()
        if any(v.unique and (v.is_text or v.whole) and not v.counts_rows and not v.dates for v in views):
            return []
        found = []
        for key in self._all_keys[1]:
            labels = self._label_candidates(key)
            alike = [n for n in key if any(on_one_scale(self.views[n], self.views[o]) for o in labels)]
            if labels and len(alike) < 2:
                found.append(key)
        return sorted(found, key=lambda k: -max(self._witness(n)[0] for n in k))

    def _key_of(self, members: tuple[str, ...]) -> _Key:
        """The roles of the members of a key, one of which has a name or a value that says who answered."""
        best = max(self._witness(n)[0] for n in members)
        who = [n for n in members if self._witness(n)[0] == best]
        chosen = who[0]
        if len(who) > 1:
            # Texts belong to items: a member with texts is not who answered.
            rest = [n for n in who if not self._texts_of(n)] or who
            chosen = rest[0]
            if len(rest) > 1:
                choices = [each for one in rest for each in self._choices(one, members)]
                self.questions.append(Doubt(words.who_answered(self._sizes(rest)), tuple(choices)))
        rows = repetition([self.views[n].codes for n in members])
        why = self._witness(chosen)[1]
        return self._split_key(chosen, members, f"{why}; {words.key_reason(members, rows.chance)}")

    def _split_key(self, who: str, members: Sequence[str], why: str) -> _Key:
        rest = [n for n in members if n != who]
        extra: dict[str, str] = {}
        for role in ("criterion", "repeat", "condition"):
            said = getattr(self.stated, role, None)
            fits = [said] if said in rest else [n for n in rest if self._is_extra(n, role)]
            if fits and len(rest) > 1:
                extra[role] = fits[0]
                rest.remove(fits[0])
        rest.sort(key=lambda n: (-self.views[n].n_values, n))
        return _Key(
            who, tuple(rest), extra.get("criterion"), extra.get("repeat"), why, extra.get("condition"), found=bool(why)
        )

    def _is_extra(self, name: str, role: str) -> bool:
        view = self.views[name]
        if called(self.plain[name], role):
            return role != "repeat" or view.whole
        if role != "criterion" or not view.is_text or called(self.plain[name], "item"):
            return False
        values = [plain_name(cell) for cell in view.distinct.to_list()]
        words_of = [v for v in values if called(v, "questions") and not any(map(str.isdigit, v))]
        return len(values) <= MOST_SHARED_VALUES and 2 * len(words_of) >= len(values)

    def _with_extra(self, key: _Key) -> _Key:
        """Add columns that are called criterion or repeat to a key."""
        extra: dict[str, str] = {}
        for role in ("criterion", "repeat"):
            said = getattr(self.stated, role)
            free = [n for n in self.views if n not in key.members and n != self.stated.label]
            fits = [said] if said else [n for n in free if called(self.plain[n], role)]
            fits = [n for n in fits if said or role == "criterion" or self.views[n].whole]
            if fits:
                extra[role] = fits[0]
        return key._replace(criterion=extra.get("criterion"), repeat=extra.get("repeat"))

    def _texts_of(self, name: str) -> bool:
        """Whether a column of free text belongs to this column."""
        return any(v.free and v.name != name and self._belongs(v.name, [name]) for v in self.views.values())

    def _who_is_asked(self, keys: Sequence[tuple[str, ...]], *, sure: bool) -> _Key | None:
        """Ask who answered, if only the rows could decide it; None if columns could be annotators."""
        labels = self._label_candidates(keys[0])
        groups = scale_groups(labels, self.views) if labels else []
        people = groups[0] if groups and len(groups[0]) > 1 else []
        if people and (self.stated.people & set(people) or model_names(people) or len(human_names(people)) > 1):
            return None
        if not labels:
            return None
        stated = {self.stated.item, self.stated.criterion, self.stated.repeat}
        pairs = [(n, k) for k in keys for n in k
                 if n not in stated and not any(self._is_extra(n, one) for one in ("criterion", "repeat"))]  # fmt: skip
        if sure:
            pairs = list({n: (n, k) for n, k in reversed(pairs)}.values())[::-1]
        pairs = [one for one in pairs if not self._is_system(one[0])] or pairs
        pairs = [one for one in pairs if not self._texts_of(one[0])] or pairs
        other = [one for one in pairs if not called(self.plain[one[0]], "item")]
        if sure and len(other) == 1 and len(pairs) > 1 and not people:
            who, members = other[0]
            rows = repetition([self.views[n].codes for n in members])
            return self._split_key(who, members, words.key_reason(members, rows.chance))
        pairs.sort(key=lambda one: -self._witness(one[0])[0])
        # A column of one annotator for each item is named as such, and not part of a key.
        inside = {n for k in keys for n in k}
        outside = [n for n in self.views if n not in inside and called_people(self.plain[n]) == 2]
        # It also can be that each item has one answer of each annotator, and that a further column describes it.
        single = [(n, (m, n)) for n in outside for m in keys[0] if sure and not self._twice((m, n))]
        pairs = [*single, *((n, (*keys[0], n)) for n in outside if sure), *pairs]
        choices = [one for n, k in pairs[: MOST_READINGS // 2] for one in self._choices(n, k)][:MOST_READINGS]
        if people:
            item = list(keys[0]) if len(keys[0]) > 1 else keys[0][0]
            choices.append((words.columns_are_annotators(people), {"layout": "wide", "item": item, "columns": people}))
        could = list(dict.fromkeys(n for n, _ in pairs))
        self.questions.append(Doubt(words.who_answered(self._sizes(could), keys[0] if sure else ()), tuple(choices)))
        return None

    def _sizes(self, names: Sequence[str]) -> dict[str, int]:
        return {name: self.views[name].n_values for name in names}

    def _is_system(self, name: str) -> bool:
        return called(self.plain[name], "system")

    def _choices(self, who: str, members: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
        """The readings in which a column says who answered, one for each answer to which columns hold labels."""
        key = self._split_key(who, members, "")
        options = key.options
        said = words.answered_by(who, self.views[who].examples(), key.item)
        labels, question = self._labels(key)
        if question is not None:
            return [(f"{said}; {text}", {**options, **more}) for text, more in question.choices[:MOST_CHOICES]]
        return [(said, {**options, "label": labels[0] if len(labels) == 1 else labels} if labels else options)]

    def _asked_who(self) -> Structure:
        """The structure of a table in which nothing says who answered."""
        columns = [Role(n, "unknown", "", v.examples(), "doubtful") for n, v in self.views.items()]
        options = self.questions[0].choices[0][1]
        return Structure("long", tuple(columns), options, tuple(self.questions), tuple(self.errors))

    # -- one row per label: by names ------------------------------------------------------------------------

    def _named_key(self) -> _Key | None:
        """Item and annotator by their names, for tables with too few rows to show them."""
        stated = self.stated
        who = stated.annotator or self._named_annotator()
        if who is None or who == ROWS:
            return None
        item = stated.item or self._named_item(who)
        if item is None:
            return None
        key = self._with_extra(_Key(who, (item,), why="by its name"))
        found, _ = self._labels(key)
        if not found and (stated.label is None and not self._repeats(item)):
            return None
        if stated.alone and stated.item is None and stated.annotator is None and not self._repeats(item):
            self._confirm(words.one_annotator_each(item, who), {"item": item, "annotator": who})
        systems = [n for n in self.views if n not in (*key.members, *found) and self._is_system(n)]
        if len(systems) == 1 and stated.item is None and self.views[systems[0]].n_values > 1:
            # Outputs of several systems on one document are several items.
            finer = key._replace(item=(item, systems[0]))
            several = dependence(self.views[systems[0]].codes, self.views[item].codes).broken > 0
            key = finer if several and not self._twice(finer.members) else key
        return key

    def _twice(self, names: Sequence[str]) -> int:
        return repetition([self.views[n].codes for n in names if n in self.views]).repeats

    def _named_annotator(self) -> str | None:
        there = [n for n in self.views if n not in self.excluded]
        fits = [(self._witness(n)[0], n) for n in there if self._repeats(n) and not self.views[n].free]
        fits = [(rank, n) for rank, n in fits if rank >= 1 and n not in (self.stated.item, self.stated.label)]
        exact = [n for n in there if self.plain[n] == "annotator" and n not in (self.stated.item, *self.stated.people)]
        if exact and not any(rank >= 8 for rank, _ in fits):
            return exact[0]
        best = max((rank for rank, _ in fits), default=0)
        fits = [(rank, n) for rank, n in fits if rank == best]
        ids = [n for _, n in fits if self.plain[n].endswith(("id", "ids"))]
        names = ids if len(ids) == 1 else [n for _, n in fits]
        if len(names) > 1:
            self._could_hold("annotator", names)
        return names[0] if names else None

    def _named_item(self, who: str) -> str | None:
        fits = [n for n in self.views if n not in (who, self.stated.label, *self.excluded)
                and called(self.plain[n], "item") and self.views[n].filled]  # fmt: skip
        exact = [n for n in fits if self.plain[n] in ("item", "item id")]
        if exact:
            return exact[0]
        fits = [n for n in fits if not NUMBERED.fullmatch(self.plain[n])] or fits
        # Items come again if several annotators label them.
        fits = [n for n in fits if self._repeats(n)] or fits
        ids = [n for n in fits if ID.search(self.plain[n]) or self.plain[n].endswith("ids")]
        if ids:
            fits = ids
        if len(fits) > 1:
            # Columns that each belong to the other name the same items.
            apart = [n for n in fits if self._belongs(n, [fits[0]]) is False]
            repeated = [n for n in fits if self._repeats(n)]
            fits = [fits[0]] if not apart else repeated if len(repeated) == 1 else fits
        if len(fits) > 1:
            self._could_hold("item", fits)
        return fits[0] if fits else None

    def _could_hold(self, role: str, names: Sequence[str]) -> None:
        choices = tuple((f"'{n}' is the {role}", {role: n}) for n in names[:MOST_CHOICES])
        self.questions.append(Doubt(f"{_quote(names)} could each hold the {role} (set {role}=...)", choices))

    def _repeats(self, name: str) -> bool:
        view = self.views[name]
        return len(view.distinct) < view.filled

    # -- one row per label: labels and further columns -----------------------------------------------------

    def _described(self, name: str, key: _Key | tuple[str, ...]) -> tuple[str, ...] | None:
        """The smallest part of a key that decides a column; None if none does."""
        members = key.members if isinstance(key, _Key) else key
        parts: list[tuple[str, ...]] = [(n,) for n in members]
        if isinstance(key, _Key) and len(key.item) > 1:
            parts.append(key.item)
        for part in parts:
            if self._belongs(name, part):
                return part
        return None

    def _label_candidates(self, key: _Key | tuple[str, ...]) -> list[str]:
        """The columns that differ within items and within annotators, as labels do."""
        members = key.members if isinstance(key, _Key) else key
        same = {n for group in self._entities if group[0] in members for n in group}
        found = []
        for name, view in self.views.items():
            if name in same or name in members or name in self._probabilities or name in self.excluded:
                continue
            if not view.could_be_labels or view.n_values < 2:
                continue
            if view.unique and (view.values is None or view.counts_rows or view.whole):
                continue
            if self._described(name, key) is None:
                found.append(name)
        return found

    def _labels(self, key: _Key) -> tuple[list[str], Doubt | None]:
        """The columns of labels, one per criterion, and the question about them."""
        stated = self.stated.label
        if stated is not None:
            return [stated], None
        open_ = self._label_candidates(key)
        open_ = [n for n in open_ if n != self.stated.kind and (n != "kind" or not self._is_kind(n))]
        exact = [n for n in open_ if self.plain[n] == "label"]
        named = exact or [n for n in open_ if called(self.plain[n], "label")]
        if not open_:
            usual = [n for n in self.views if n not in (*key.members, *self.excluded) and called(self.plain[n], "label")
                     and self.views[n].filled and not self.views[n].counts_rows]  # fmt: skip
            return usual[:1], None
        # A name such as "seconds" puts a column out only if its values are unlike labels, or another is called a label.
        left = [n for n in open_ if n in named or self._by_name(n) is None or (not named and self._like_labels(n))]
        left = left or open_
        # Fractions next to whole numbers are measurements, such as a fit.
        parts = [
            [n for n in g if self.views[n].whole is kind]
            for g in scale_groups(left, self.views)
            for kind in (True, False)
        ]
        groups = sorted(filter(None, parts), key=lambda g: -len(g))
        asked = [g for g in groups if all(called(self.plain[n], "questions") for n in g)]
        if named:
            groups = [g for g in groups if any(n in named for n in g)]
            ranked = [*([named] if len(named) == 1 else []), *groups]
        elif len(asked) == 1 and len(groups) == 1:
            return asked[0], None
        else:
            known = [g for g in groups if not all(self._by_name(n) is not None for n in g)]
            ranked = [*known, *(g for g in groups if g not in known)]
        if len(left) == 1 or (len(named) == 1 and groups == [named]):
            return left if len(left) == 1 else named, None
        ranked += [[n] for n in left] if len(left) <= MOST_CHOICES else []
        ranked = [list(g) for g in dict.fromkeys(map(tuple, ranked))]
        if len({self.views[n].values is None for n in left}) == 1 and left not in ranked:
            ranked.append(left)
        choices = [(words.labels_are(g), {"label": g[0] if len(g) == 1 else g}) for g in ranked[:MOST_READINGS]]
        return ranked[0], Doubt(words.several_labels(left), tuple(choices))

    def _like_labels(self, name: str) -> bool:
        view = self.views[name]
        if view.values is None:
            return len(view.distinct) <= MOST_SHARED_VALUES
        return len(view.values) <= MOST_SHARED_VALUES and view.whole

    def _is_kind(self, name: str) -> bool:
        return set(self.views[name].distinct.str.to_lowercase()) <= set(KINDS)

    def long(self, key: _Key) -> Structure:
        """One row per label."""
        stated = self.stated
        labels, question = self._labels(key)
        found = key.options
        if labels:
            found["label"] = labels[0] if len(labels) == 1 else labels
        kinds = (n for n in self.views if self.plain[n] == "kind" and self._is_kind(n))
        kind = stated.kind or next(kinds, None)
        options = {role: name for role, name in found.items() if name != role}
        if not labels:
            self.errors.append(self._only_marks(key) or words.missing_role("label"))
        if question is not None:
            self.questions.append(question)
        said = {role for role in ("item", "annotator") if getattr(stated, role) is not None} - stated.by_name
        if not self.questions and not said:
            self._check_exchanged(key, labels, options)
        taken: dict[str, RoleKind] = dict.fromkeys(key.item, "item")
        taken |= {key.who: "annotator", **dict.fromkeys(labels, "label")}
        taken |= {name: role for role, name in (("criterion", key.criterion), ("repeat", key.repeat)) if name}  # type: ignore[misc]
        taken |= {kind: "kind"} if kind else {}
        columns = [self._long_role(name, taken, key) for name in self.views]
        names = self.views[key.who].distinct.to_list()
        if names and self._is_system(key.who) and stated.annotator is None and model_names(names) == names:
            answer = (f"'{key.who}' is who answered", {"annotator": key.who})
            self.questions.append(Doubt(words.judges_or_systems(key.who), (answer,)))
        if kind is None:
            self._name_judges(names, options)
        return Structure("long", tuple(columns), options, self._asked(), tuple(self.errors))

    def _only_marks(self, key: _Key) -> str:
        """The problem of several columns with one mark or nothing, in a table without labels; empty without them."""
        once = [v for n, v in self.views.items() if n not in key.members and v.n_values == 1 and v.filled < v.rows]
        marked = [v.name for v in once if v.distinct[0] == once[0].distinct[0]]
        return words.only_marks(once[0].distinct[0], marked) if len(marked) > 1 else ""

    def _long_role(self, name: str, taken: Mapping[str, RoleKind], key: _Key) -> Role:
        view = self.views[name]
        if name in taken:
            kind = taken[name]
            if getattr(self.stated, kind, None) == name:
                return Role(name, kind, "as specified", view.examples(), "stated")
            why = {"annotator": key.why, "item": key.why, "label": words.LABEL_REASON}.get(kind, "by name")
            return Role(name, kind, why if key.found else "by name", view.examples())
        kind_, why = self._other_role(name)
        of = self._described(name, key) if view.filled else None
        if kind_ in ("unknown", "item column") and of is not None:
            kind_ = "annotator column" if of == (key.who,) else "item column"
            return Role(name, kind_, words.one_value_each(of), view.examples(), of=of)
        if kind_ == "unknown":
            kind_ = "answer column"
        return Role(name, kind_, why, view.examples())

    def _check_exchanged(self, key: _Key, labels: Sequence[str], options: dict[str, Any]) -> None:
        """Ask who answered if labels agree more within other units than within the items of this reading."""
        if not key.found:
            return
        could = [key.who, *key.item]
        fixed = [n for n in (key.criterion, key.repeat, key.condition) if n is not None]

        def agreement(who: str) -> float:
            units = crossed([self.views[n].codes for n in (*(o for o in could if o != who), *fixed)])
            found = [sameness(units, self.views[n].codes, self.views[n].values) for n in labels]
            return float(np.mean(found)) if found else float("nan")

        here = agreement(key.who)
        # Labels that agree in no unit, as random ones do, say nothing about it.
        better = [n for n in key.item if agreement(n) > max(here, 0) + SWAPPED]
        if better:
            choices = []
            for who in (key.who, *better):
                item = sorted((n for n in could if n != who), key=lambda n: (-self.views[n].n_values, n))
                answer = {**options, "item": item[0] if len(item) == 1 else item, "annotator": who}
                choices.append((words.answered_by(who, self.views[who].examples(), item), answer))
            self.questions.append(Doubt(words.exchanged(key.item, key.who), tuple(choices)))

    def _unread(self) -> Structure:
        """A long table in which a role is missing."""
        stated, named = self.stated, self._named_annotator()
        item = stated.item or self._named_item(named or "")
        found = {"item": item, "annotator": stated.annotator or named}
        if stated.label is None:
            likely = [n for n in self.views if called(self.plain[n], "label") and n not in found.values()]
            found["label"] = likely[0] if likely else None
        else:
            found["label"] = stated.label
        self.errors += [words.missing_role(role) for role, name in found.items() if name is None]
        roles: dict[str, RoleKind] = {name: role for role, name in found.items() if name is not None}  # type: ignore[misc]
        columns = [Role(n, *((roles[n], "by name") if n in roles else self._other_role(n)), v.examples())
                   for n, v in self.views.items()]  # fmt: skip
        options = {role: name for role, name in found.items() if name is not None and name != role}
        return Structure("long", tuple(columns), options, self._asked(), tuple(self.errors))

    def _asked(self) -> tuple[Doubt, ...]:
        return tuple({one.text: one for one in self.questions}.values())

    # -- judges ----------------------------------------------------------------------------------------------

    def _name_judges(self, names: Sequence[str], options: dict[str, Any]) -> None:
        """Find annotators with names of models, if the user has not specified the judges."""
        if self.stated.judges is not None or self.stated.humans is not None:
            return
        models, reason = model_names(names, names), ""
        if models:
            reason = "names of models" if len(models) > 1 else "name of a model"
        else:
            models = [n for n in names if n in _AI and all(len(o) > len(n) for o in names if o != n)]
            reason = "by name"
        if not models:
            people = human_names(names)
            models = [n for n in names if n not in people]
            if len(people) < 2 or not models or len(models) > len(people):
                return
            reason = f"the name differs from {_quote(people, 4)}"
        options["judges"] = models
        choices: list[Choice] = [(words.are_judges(models), {"judges": models})]
        if not reason.startswith("name") and len(names) - len(models) > 1:
            choices.append((words.no_annotators(models), {"judges": (), "exclude": models}))
        self.questions.append(Doubt(possible_judges(models, reason), tuple(choices)))

    # -- one row per item ------------------------------------------------------------------------------------

    def wide(self) -> Structure:
        """One row per item, one column per annotator."""
        stated = self.stated
        item = self._item_of_rows()
        joint = list(self._keys[0]) if item is None and self._keys else None
        roles = {n: self._other_role(n) for n in self.views if n != item and n not in (joint or ())}
        open_ = [n for n, (kind, _) in roles.items() if kind == "unknown" and self.views[n].could_be_labels]
        models, open_ = self._without_models(open_)
        labels, crossing = (list(stated.columns), None) if stated.columns is not None else self._one_scale(open_, roles)
        if stated.columns is None:
            labels = self._without_computed(labels, roles)
        options: dict[str, Any] = {"layout": "wide"}
        free = [n for n, (kind, why) in roles.items() if kind == "comment" and why.startswith("free text")]
        texts = [n for n in self.views if n in free or n in labels]
        if len(texts) > 1 and free and stated.columns is None and all(map(self._is_short_text_of_model, labels)):
            labels, options["scale"] = texts, "text"
            self._confirm(words.free_text_labels(texts), {"scale": "text"})
        # In a table with one row per item, text that is not a label usually is the item that was judged.
        roles.update({name: ("item column", roles[name][1]) for name in free if name not in labels})
        if joint is not None:
            options["item"] = joint
        elif item != "item":
            options["item"] = ROWS if item is None else item
        if stated.split_columns is None and crossing is None:
            crossing = crossed_names(labels)
        people = labels
        if crossing is not None and stated.split_columns is None:
            options["split_columns"] = crossing.template
            people = crossing.annotators
            if crossing.ambiguity:
                self._confirm(words.crossed_columns(crossing.ambiguity), {"split_columns": crossing.template})
        options["columns"] = labels
        if stated.split_columns is None:
            self._ask_judges_or_systems(people, options)
        judges = {*options.get("judges", ()), *(stated.judges or ())}
        if stated.shape != "wide" and stated.columns is None:
            self._check_annotator_column(labels)
        refused = self._refused(labels, item)
        if refused:
            self.errors.append(refused)
        elif models and len(labels) == 1 and stated.columns is None and isinstance(item, str):
            self._ask_judge_or_system(models[0], labels[0], item)
        elif len(labels) == 1 and stated.alone and stated.shape != "wide" and not judges.intersection(labels):
            self.errors.append(self._unread_objects() or words.only_column(labels[0]))
        elif not judges and stated.alone and stated.shape is None and stated.columns is None and crossing is None:
            self._ask_people_or_questions(labels, options)
        for name in (n for n, (kind, _) in roles.items() if kind == "unknown" and n not in labels):
            why = self._why_metadata(name) if stated.columns is None else "not in columns"
            roles[name] = ("item column", why)
        columns = []
        for name, view in self.views.items():
            kind, why = roles.get(name, ("item", "as specified" if stated.item == name else self._why_item(view)))
            if name in labels:
                who = name if crossing is None else crossing.annotator_of[name]
                kind, why = ("judge", "listed in judges") if who in judges else ("person", self._why_labels(view))
                why = "name of a model" if who in options.get("judges", ()) else why
                why += "" if crossing is None else ", its name combines annotator and criterion"
            columns.append(Role(name, kind, why, view.examples(3 if name in labels else 2)))
        rows = {} if item is None else self._computed_rows(item, labels)
        return Structure("wide", tuple(columns), options, self._asked(), tuple(self.errors), rows)

    def _refused(self, labels: Sequence[str], item: str | None) -> str:
        """Why a table with one row per item cannot be read; empty if it can."""
        cells = {cell for n in labels if n in self.views for cell in self.views[n].distinct}
        if len(cells) == 1 and cells <= {*TICKS} and any(self.views[n].share_filled < 1 for n in labels):
            return words.only_marks(cells.pop(), labels)
        if not labels:
            return self._unread_objects() or "no column could hold an annotator's labels: set columns=[...]"
        return self._repeated_items(item)

    def _unread_objects(self) -> str:
        """The problem of columns with objects, if there are any."""
        found = [n for n, v in self.views.items() if v.filled and v.distinct.str.contains(r"^(\[\s*)?\{").all()]
        return words.unread_objects(found) if found else ""

    def _ask_judges_or_systems(self, names: Sequence[str], options: dict[str, Any]) -> None:
        """Name the judges among columns; if all are called as systems, one person could have rated them."""
        self._name_judges(names, options)
        systems = [n for n in names if n in options.get("judges", ()) or SYSTEM_NAME.fullmatch(n)]
        if len(names) < 2 or len(systems) < len(names) or self.stated.people:
            return
        self.questions.pop()
        options["judges"] = list(names)
        choices: tuple[Choice, ...] = (
            (words.are_judges(list(names)), {"judges": list(names)}), (words.columns_are_rated(list(names)), {}),
        )  # fmt: skip
        self.questions.append(Doubt(words.all_models(list(names)), choices))

    def _is_short_text_of_model(self, name: str) -> bool:
        """Whether a column is called as a model is, and has almost as many texts as rows: it has no categories."""
        view = self.views[name]
        return bool(model_names([name])) and view.is_text and view.n_values > view.filled / 2 > VERY_FEW_ROWS / 2

    def _without_models(self, names: list[str]) -> tuple[list[str], list[str]]:
        """Those of several columns that are called as systems are and contain names of models only; and the others."""
        cells = {name: [str(cell) for cell in self.views[name].distinct.to_list()] for name in names}
        models = [n for n in names if self._is_system(n) and cells[n] and model_names(cells[n]) == cells[n]]
        models = models if len(names) > 1 else []
        return models, [n for n in names if n not in models]

    def _ask_judge_or_system(self, who: str, label: str, item: str) -> None:
        """Ask whether the models of a column gave the labels of another one, or wrote what a person labelled."""
        models = [str(cell) for cell in self.views[who].distinct.to_list()]
        answers = {"layout": "long", "item": item, "annotator": who, "label": label, "judges": models}
        rated = {"layout": "wide", "item": item, "columns": [label]}
        choices = ((words.are_judges(models), answers), (words.is_rated(who, label), rated))
        self.questions.append(Doubt(words.judges_or_systems(who), choices))

    def _confirm(self, text: str, options: Mapping[str, Any]) -> None:
        self.questions.append(Doubt(text, ((text, options),)))

    def _ask_people_or_questions(self, labels: list[str], options: Mapping[str, Any]) -> None:
        """Ask whether columns are annotators or questions, if no name of one says that they are annotators."""
        asked = [n for n in labels if called(self.plain[n], "questions")]
        people = {*human_names(labels), *(n for n in labels if called_people(self.plain[n]) == 2)}
        if not asked and (self.stated.people & set(labels) or len(people) >= 2):
            return
        choices: list[Choice] = [
            (words.columns_are_annotators(labels), {k: v for k, v in options.items() if k != "judges"}),
            (words.columns_are_questions(labels), {}),
        ]
        views = [self.views[n] for n in labels]
        if all(v.whole and v.share_filled == 1 for v in views) and could_be_counts(self._cells(labels)):
            choices.append((words.columns_are_counts(labels), {}))
        unique = [n for n, v in self.views.items() if v.unique and n not in labels
                  and (called_people(self.plain[n]) == 2 or (v.is_text and not v.free))]  # fmt: skip
        technical = {n for n in unique if self._by_name(n) == "technical" and not ID.search(self.plain[n])}
        who = min(unique, key=lambda n: (-called_people(self.plain[n]), n in technical), default=None)
        named = who is not None and not (called(self.plain[who], "item") or NUMBERED.fullmatch(self.plain[who]))
        if not named and any(self._by_name(n) == "time stamp" for n in self.views):
            # A row with a time is one submission, such as a form that one annotator has filled in.
            item = options.get("item", ROWS)
            who, named = (item if isinstance(item, str) else ROWS), True
        if named and self.frame.height <= MOST_PEOPLE:
            turned = {"layout": "transposed", "annotator": who, "columns": labels}
            choices.append((words.rows_are_annotators(None if who == ROWS else who), turned))
        self.questions.append(Doubt(words.people_or_questions(labels, self._why_labels(self.views[labels[0]])),
                                       tuple(choices)))  # fmt: skip

    def _check_annotator_column(self, labels: list[str]) -> None:
        """Ask if the cells of one label column seem to name who gave the labels of the others."""
        named = [n for n in labels if called_people(self.plain[n]) == 2 and self._repeats(n)]
        if len(named) != 1 or len(labels) < 2:
            return
        who = named[0]
        given = {value for n in labels if n != who for value in self.views[n].distinct.to_list()}
        cells = set(self.views[who].distinct.to_list())
        # An annotator can use labels that no other uses; if half of the cells are such labels, they are likely names.
        if called_person_ids(self.plain[who]) or 2 * len(cells - given) >= len(cells):
            self.questions.append(Doubt(words.could_name_annotators(who)))

    def _repeated_items(self, item: str | None) -> str:
        view = self.views.get(item or "")
        if view is None or len(view.distinct) == view.filled:
            return ""
        twice = view.texts.drop_nulls()
        return words.repeated_item(twice.filter(twice.is_duplicated())[0], stated=self.stated.shape == "wide")

    def _why_item(self, view: ColumnView) -> str:
        return f"{len(view.distinct)} different values" if view.unique else "by name"

    def _why_labels(self, view: ColumnView) -> str:
        if view.ends is not None:
            return f"{view.ends[0]:g} to {view.ends[1]:g}"
        return f"{len(view.distinct)} categories"

    def _why_metadata(self, name: str) -> str:
        view = self.views[name]
        return "values differ in kind from the annotators' labels" if not view.unique else "different in every row"

    def _item_of_rows(self) -> str | None:
        """The column whose cells name the rows; None if there is none."""
        if self.stated.item is not None:
            return self.stated.item
        named = [n for n in self.views if called(self.plain[n], "item") and self.views[n].filled]
        unique = [n for n in named if self.views[n].unique]
        exact = [n for n in unique if self.plain[n] in ("item", "item id", "id")]
        if exact or len(unique) == 1:
            return (exact or unique)[0]
        if unique:
            ids = [n for n in unique if ID.search(self.plain[n])]
            return (ids or unique)[0]
        texts = [n for n, v in self.views.items() if v.unique and v.is_text and self._by_name(n) is None]
        first = next(iter(self.views), None)
        numbers = [first] if first is not None and self.views[first].unique and self.views[first].counts_rows else []
        odd = [n for n in numbers if n is not None and NUMBERED.fullmatch(self.plain[n])]
        repeated = [n for n in named if self.views[n].is_text] if not self._keys else []
        found = texts or self._identifiers() or repeated or odd
        return found[0] if found else None

    def _identifiers(self) -> list[str]:
        """The columns with a different short text in each row, by any name; numbers only if named as ids."""
        found = [
            n for n, v in self.views.items()
            if v.unique and self._by_name(n) not in _NO_IDENTIFIER and called_people(self.plain[n]) < 2
            and (self._by_name(n) != "technical" or ID.search(self.plain[n]))
            and ((v.is_text and not (v.free and v.spaced))
                 or ((v.is_text or v.whole) and bool(ID.search(self.plain[n]))))
        ]  # fmt: skip
        return [n for n in found if ID.search(self.plain[n])] or found

    def _one_scale(
        self, open_: list[str], roles: dict[str, tuple[RoleKind, str]]
    ) -> tuple[list[str], CrossedNames | None]:
        """The columns whose labels could be on one scale, and how their names are crossed; others describe the item."""
        known = [n for n in open_ if n in self.stated.people or model_names([n])]
        groups = scale_groups(open_, self.views)
        if not groups:
            return [], None
        best = max(groups, key=lambda g: (len(g), any(n in known for n in g), -open_.index(g[0])))
        rivals = [g for g in groups if g is not best and len(g) == len(best)]
        if rivals and len(best) > 1 and not any(n in known for n in best):
            choices = tuple(
                (words.labels_are(g), {"layout": "wide", "columns": g}) for g in (best, *rivals)[:MOST_CHOICES]
            )
            self.questions.append(Doubt(words.several_scales([best, *rivals]), choices))
        elif len(open_) - len(best) >= len(best) and not any(n in known for n in best):
            self._mixed(open_)
            if len(best) == 1 and not any(self.views[n].is_text for n in open_):
                self._confirm(words.several_scales([[n] for n in open_]), {"columns": open_})
                return open_, None
        crossing = crossed_names(best)
        part = crossed_part(best) if crossing is None else []
        if part:
            best, crossing = part, crossed_names(part)
        humans = human_names(best)
        if len(humans) > 1:
            # Stars next to rater1 and rater2 describe the item, although they are on the same scale.
            about = [n for n in best if n not in humans and n not in known and called(self.plain[n], "label")]
            roles.update(dict.fromkeys(about, ("item column", "by name")))
            best, open_ = [n for n in best if n not in about], [n for n in open_ if n not in about]
        siblings = [] if crossing else self._siblings(best, [n for n in roles if n not in best])
        for name in (n for n in open_ if n not in best):
            self._make_metadata(name, best, roles, asked=name in siblings)
        if siblings:
            every = [n for n in self.views if n in best or n in siblings]
            choices = ((words.labels_are(every), {"columns": every}), (words.labels_are(best), {"columns": best}))
            said = words.left_out(siblings, self.views[siblings[0]].examples(), best)
            self.questions.append(Doubt(said, choices))
        return best, crossing

    def _siblings(self, labels: list[str], others: Sequence[str]) -> list[str]:
        """Columns with other cells that are numbered as those of the labels: ``rater2`` of three."""
        stems = {_stem(self.plain[n]) for n in labels}
        numbered = len(labels) > 1 and len(stems) == 1 and not any(self.plain[n] in stems for n in labels)
        return [n for n in others if numbered and self.views[n].filled and _stem(self.plain[n]) in stems]

    def _mixed(self, open_: Sequence[str]) -> None:
        texts = [n for n in open_ if self.views[n].is_text]
        numbers = [n for n in open_ if n not in texts]
        if texts and numbers:
            likely = numbers if len(numbers) > 1 or len(texts) < 2 else texts
            self.questions.append(Doubt(
                f"{_hold(texts)} text and {_hold(numbers)} numbers; name the annotators' columns with columns={likely}",
                ((words.labels_are(likely), {"columns": likely}),),
            ))  # fmt: skip

    def _make_metadata(
        self, name: str, labels: Sequence[str], roles: dict[str, tuple[RoleKind, str]], *, asked: bool
    ) -> None:
        """Make a column with values on another scale item metadata; for a judge's column, report the problem."""
        view, others = self.views[name], [self.views[n] for n in labels]
        if view.is_text or others[0].is_text:
            why = (
                "words that no annotator's column contains"
                if others[0].is_text
                else "words, while other columns hold numbers"
            )
            why = "numbers, while other columns hold words" if others[0].is_text and not view.is_text else why
        else:
            tops = sorted(one.ends[1] for one in others if one.ends)
            low, high = view.ends or (0, 0)
            why = f"{low:g} to {high:g}, while other columns end at {tops[(len(tops) - 1) // 2]:g}"
        roles[name] = ("item column", why)
        if asked:
            return
        stated = next((role for role in ("judges", "humans") if name in (getattr(self.stated, role) or ())), None)
        models = model_names([name])
        if stated or models or (human_names([name]) and len(model_names(labels)) == len(labels)):
            kind = f"is listed in {stated}" if stated else f"has the name of {'a model' if models else 'an annotator'}"
            said = words.labels_on_another_scale(name, why, kind)
            if stated:
                self.errors.append(said)
            else:
                self.questions.append(Doubt(said))
        elif view.values is None or others[0].values is None:
            same = [one for one in others if self._renames(view, one)][:1]
            self.questions += [Doubt(words.other_words(name, view.examples(), o.name, o.examples())) for o in same]

    def _renames(self, one: ColumnView, other: ColumnView) -> bool:
        """Whether a column seems to hold the labels of another one in other words: each nearly decides the other."""
        if one.n_values != other.n_values or not 2 <= one.n_values <= MOST_SHARED_VALUES:
            return False
        both = dependence(one.codes, other.codes), dependence(other.codes, one.codes)
        return all(found.holds is not None and found.broken <= RENAMED * found.chance for found in both)

    def _without_computed(self, labels: list[str], roles: dict[str, tuple[RoleKind, str]]) -> list[str]:
        models = {*model_names(labels, labels), *(self.stated.judges or ())}
        suspects = [n for n, (kind, _) in roles.items() if kind == "computed" and n not in labels]
        if self.stated.exclude == () or len(labels) > MOST_PEOPLE:
            return labels
        for one in computed_columns(self.views, labels, models, suspects):
            if one.could_be_person and one.name in labels:
                self.questions.append(Doubt(
                    f"'{one.name}' equals the {one.how} of {_quote(one.of)} and could be computed from them",
                    ((f"'{one.name}' is computed", {"exclude": [one.name]}),),
                ))  # fmt: skip
            roles[one.name] = ("computed", f"equals the {one.how} of {listing(list(one.of), 4)}")
        return [n for n in labels if roles[n][0] != "computed"]

    def _computed_rows(self, item: str, labels: list[str]) -> dict[str, tuple[str, ...]]:
        """Rows that are not items: averages and totals of the rows above them."""
        if item not in self.views or not labels or self.stated.exclude == ():
            return {}
        names = self.views[item].texts.to_list()
        named = [t for i, t in enumerate(names) if t and i >= 2 and AVERAGE_ROW.fullmatch(t)]
        views = [self.views[n] for n in labels if n in self.views]
        numbers = len(views) == len(labels) > 1 and all(v.numeric for v in views)
        if not named and names[-1] and numbers and last_is_total(self._cells(labels)):
            named = [names[-1]]
        return {"computed from the rows above it": tuple(named)} if named else {}

    # -- roles by name -----------------------------------------------------------------------------------------

    def _by_name(self, name: str) -> RoleKind | None:
        """The role of a column by its name (and, for some roles, its cells); None if the name is not known."""
        view, plain = self.views[name], self.plain[name]
        if not view.filled:
            return "empty"
        if name in self._probabilities:
            return "probability"
        timed = called(plain, "time stamp")
        if view.dates and (view.temporal or timed or len(view.distinct) > MOST_CATEGORIES):
            return "time stamp"
        if NUMBERED.fullmatch(plain) and view.counts_rows:
            return "row number"
        if timed and (view.dates or view.ends is None or view.ends[1] > 1e5):
            return "time stamp"
        for role in BY_NAME[1:]:
            if called(plain, role):
                return role  # type: ignore[return-value]
        return "technical" if data_of(name, self.views) else None

    def _other_role(self, name: str) -> tuple[RoleKind, str]:
        """The role of a column that is neither item nor annotator nor label."""
        view, role = self.views[name], self._by_name(name)
        if self.stated.exclude and name in self.stated.exclude:
            return "computed", "listed in exclude"
        if self.stated.exclude == () and role == "computed":
            role = None
        if role is not None:
            return role, _REASONS.get(role, "by name")
        if view.free:
            return "comment", f"free text in {counted(view.filled, 'row')}"
        if view.dates:
            return "time stamp", "dates"
        return "unknown", ""

    # -- one row per annotator ---------------------------------------------------------------------------------

    def _form_questions(self) -> list[str]:
        """The columns of a form with one row per annotator, one question each; empty if the table is not a form."""
        asked = [v.name for v in self.views.values() if self._by_name(v.name) is None and v.could_be_labels
                 and not v.counts_rows
                 and not (v.unique and (v.is_text or called(self.plain[v.name], "item")))]  # fmt: skip
        people = self._people_column()
        if self._rows_of_annotators is not None:
            return [name for name in asked if name != people]
        varied = {_stem(self.plain[name]) for name in asked if self.views[name].n_values > 1 and name != people}
        # A constant column next to numbered questions, such as consent or a page, is not a question.
        numbered = [name for name in asked if _stem(self.plain[name]) in varied]
        if people is not None and len(numbered) >= 3 and len(varied) <= max(1, len(numbered) // 4):
            return numbered
        if people is None or len(asked) < 3:
            return []
        kinds = {_stem(self.plain[name]) for name in asked}
        many = len(asked) >= self.frame.height or len(asked) > MOST_PEOPLE
        return asked if many or len(kinds) <= max(1, len(asked) // 4) or _grid(asked) else []

    @cached_property
    def _rows_of_annotators(self) -> str | None:
        """The column that names an annotator in each row: the specified annotators, or a minority of models."""
        said = self.stated.people
        if said & set(self.views):
            return None
        texts = [v for v in self.views.values() if v.unique and v.is_text]
        if said:
            return next((v.name for v in texts if said <= set(v.distinct.to_list())), None)
        first = next(iter(self.views.values()), None)
        if first not in texts or first is None or first.rows > MOST_PEOPLE or model_names(self.views):
            return None
        cells = first.distinct.to_list()
        short = all(len(cell.split()) <= MOST_WORDS for cell in cells)
        return first.name if short and 0 < len(model_names(cells, cells)) < len(cells) / 2 else None

    def _people_column(self) -> str | None:
        """A column whose cells name one annotator each."""
        if self._rows_of_annotators is not None:
            return self._rows_of_annotators
        found = [
            v.name for v in self.views.values()
            if v.unique and called_people(self.plain[v.name]) and not called(self.plain[v.name], "item")
        ]  # fmt: skip
        if found:
            return found[0]
        stamped = any(self._by_name(name) == "time stamp" for name in self.views)
        ids = [v.name for v in self.views.values() if self.plain[v.name] in ("response id", "responseid") and v.unique]
        return ids[0] if ids else next(iter(self.views), None) if stamped else None

    def transposed(self) -> Structure:
        """One row per annotator, one column per item, as forms write them."""
        stated, excluded = self.stated, self.stated.exclude or ()
        people = self._people_column() if stated.annotator is None else stated.annotator
        stamps = stated.annotator is None and people in self.views and self._by_name(str(people)) == "time stamp"
        asked = list(stated.columns or [n for n in self._form_questions() if n not in (people, *excluded)])
        options: dict[str, Any] = {"layout": "transposed"}
        if people == ROWS:
            options["annotator"] = ROWS
        elif people is None or stamps:
            options["annotator"] = ROWS
            self._confirm("rows look like annotators and columns like items, but no column names the annotators",
                          {"layout": "transposed", "annotator": ROWS})  # fmt: skip
        else:
            options["annotator"] = people
            if stated.shape is None and not (stated.judges and people == self._rows_of_annotators):
                self._confirm(f"rows look like annotators (named by '{people}') and columns like items",
                              {"layout": "transposed", "annotator": people})  # fmt: skip
        options["columns"] = asked
        grid = _grid(asked)
        if grid is not None:
            options["split_item"] = grid
        if not stamps and people in self.views:
            self._name_judges(self.views[str(people)].distinct.to_list(), options)
        columns = []
        for name, view in self.views.items():
            kind, why = self._other_role(name)
            if name == people and not stamps:
                kind, why = "annotator", "a different annotator in each row"
            elif name in asked and name not in excluded:
                kind, why = "item", "a question"
            elif kind == "unknown":
                kind, why = "technical", "not a question"
            columns.append(Role(name, kind, why, view.examples()))
        return Structure("transposed", tuple(columns), options, self._asked(), tuple(self.errors))


_GRID = r"(?s)^(?P<item>.+?) ?\[(?P<criterion>.+)\]$"
"""A question of a form's grid: ``Rate response 1 [Helpful]``."""


def _grid(names: Sequence[str]) -> str | None:
    """The pattern that splits the questions of a form's grid into item and criterion; None if they are not a grid."""
    found = [re.fullmatch(_GRID, name) for name in names]
    pairs = {(one["item"], one["criterion"]) for one in found if one}
    items, criteria = ({pair[i] for pair in pairs} for i in (0, 1))
    whole = bool(names) and all(found) and len(pairs) == len(names) == len(items) * len(criteria)
    return _GRID if whole and min(len(items), len(criteria)) > 1 else None


def _stem(plain: str) -> str:
    """A name without its number or single letter: ``rater 2`` and ``rater b`` have one stem."""
    return re.sub(r" ?\d+| [a-z]$", " 0", plain)


def _hold(columns: Sequence[str]) -> str:
    """``column 'x' holds``, ``columns 'x', 'y' hold``."""
    return f"column {_quote(columns)} holds" if len(columns) == 1 else f"columns {_quote(columns)} hold"


def _quote(names: Iterable[str], most: int = 4) -> str:
    return listing([f"'{name}'" for name in names], most)
