"""The roles of a table's columns, what the user has specified, and the questions that are left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from assay.data import words
from assay.data.names import model_names
from assay.errors import listing

RoleKind = Literal[
    "item", "annotator", "label", "criterion", "repeat", "kind", "person", "judge", "item column", "annotator column",
    "answer column", "probability", "gold", "computed", "time stamp", "comment", "row number", "technical", "empty",
    "confidence", "unknown",
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

PLACE = "place"
"""The column with the place of a label in a list, or of a row among those of its item, where no one is named."""

IGNORED: tuple[RoleKind, ...] = ("computed", "time stamp", "comment", "row number", "technical", "empty")
"""Roles of columns that are ignored."""


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


LEFT_OUT = "labels, "
"""Before the reason of a column that would be labels, if the user named it, too."""

_EVIDENCE: Mapping[str, Evidence] = {
    "by name": "named", "name of a model": "named", "as specified": "stated", "listed in judges": "stated",
    "listed in exclude": "stated", "not in columns": "stated",
    "not in humans or judges": "stated", f"{LEFT_OUT}not in columns": "stated",
    f"{LEFT_OUT}not in humans or judges": "stated",
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

    @property
    def left_out(self) -> list[str]:
        """The columns that would be labels if ``columns=...``, or humans and judges, named them, too."""
        return [one.name for one in self.columns if one.why.startswith(LEFT_OUT)]

    def notes(self) -> list[str]:
        """Return a note on each role, and on rows that are not items."""
        found = []
        for kind in words.ROLES_NOTED:
            there = [one for one in self.columns if one.kind == kind]
            # Whether a model is a judge is settled for all files together.
            models = {*model_names([one.name for one in there if kind == "person" and one.found != "stated"])}
            unsettled = [one.name for one in there if one.name in models]
            found += [words.role_note("labels", unsettled, "")] if unsettled else []
            there = [one for one in there if one.name not in models]
            if there:
                why = there[0].why if len({one.why for one in there}) == 1 else ""
                found.append(words.role_note(kind, [one.name for one in there], why))
        return found + self.row_notes()

    def row_notes(self) -> list[str]:
        """Return a note on rows without an id, and on those that are not items."""
        numbered = ["no item id found; rows are numbered"] if self.options.get("item") == ROWS else []
        return numbered + [f"row {quote(names, 3)} ignored: {why}" for why, names in self.rows.items()]


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
    compared: tuple[str, str] | None = None
    """The columns with the systems or texts that votes compare, as the file calls them."""

    @property
    def people(self) -> set[str]:
        """All annotators that the user names."""
        return {*(self.judges or ()), *(self.humans or ())}


def hold(columns: Sequence[str]) -> str:
    """``column 'x' holds``, ``columns 'x', 'y' hold``."""
    return f"column {quote(columns)} holds" if len(columns) == 1 else f"columns {quote(columns)} hold"


def quote(names: Iterable[str], most: int = 4) -> str:
    """Return names in quotes, the first ``most`` of many."""
    return listing([f"'{name}'" for name in names], most)
