"""Common parts of the importers of platform exports: they convert answers to `Rows` and count every exclusion.

An importer passes each entry of its file to an `Intake`: an answer, or the reason why an entry is not an answer. So
``rows read == labels used + rows excluded`` holds for every format, and the reasons have the same words everywhere.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from assay.data.annotations import Reading
from assay.data.columns import column_of, natural
from assay.data.formats import Rows
from assay.data.formats.tables import load_json, records
from assay.data.scales import Label, Scale
from assay.errors import DataError, counted, unknown

SKIPPED = "skipped by the annotator"
EMPTY = "submitted empty"
DRAFT = "draft, never submitted"
DISCARDED = "discarded by the annotator"
REJECTED = "rejected by the requester"
SUPERSEDED = "superseded: the same annotator answered the item again later"
UNKNOWN_ANNOTATOR = "annotator unknown"
OFF_SCALE = "out of range: off the scale"
NESTED = "not a number or text but a list or an object"
UNSCORED = "no score in the judge's response"
AMBIGUOUS = "ambiguous: the chosen option cannot be determined"
NOT_SELECTED = "a question not listed in criteria=..."

SET = "|"
"""Separates the choices of a multiple-choice answer, in alphabetical order: one label per set."""

RANKING = ">"
"""Separates the options of a ranking, best first."""


@dataclass(slots=True)
class PlatformAnswer:
    """One answer to one question, in the terms of the platform."""

    item: str
    annotator: str
    where: str
    """Place in the file, for messages."""
    label: Any = ""
    """The label; `Intake.add` refuses values other than numbers and text."""
    criterion: str | None = None
    kind: str = "human"
    repeat: int | None = None
    time: float | str | None = None
    """Time of the answer: later answers supersede earlier ones; without a time, the order in the file decides."""
    submission: object = None
    """Answers that were submitted together; a later submission supersedes an earlier one as a whole."""
    about: dict[str, Any] = field(default_factory=dict)
    """Columns about the single answer."""


class Intake:
    """Collects the answers of one file, and counts entries that are not answers."""

    def __init__(self, source: Path) -> None:
        self.source = str(source)
        self.answers: list[PlatformAnswer] = []
        self.excluded: Counter[str] = Counter()
        self.notes: list[str] = []
        self.items: dict[str, dict[str, Any]] = {}
        self.scales: dict[str | None, Scale] = {}

    def exclude(self, reason: str, rows: int = 1) -> None:
        """Count entries that are not labels."""
        self.excluded[reason] += rows

    def add(self, answer: PlatformAnswer) -> None:
        """Add an answer, or count the reason why it is not one."""
        if isinstance(answer.label, bool):
            answer.label = str(answer.label).lower()
        if answer.label is None or answer.label == "":
            self.exclude(EMPTY)
        elif isinstance(answer.label, list | dict):
            self.exclude(NESTED)
        elif answer.label != answer.label:  # NaN
            self.exclude(UNSCORED)
        elif not answer.annotator:
            self.exclude(UNKNOWN_ANNOTATOR)
        else:
            self.answers.append(answer)

    def note(self, *notes: str) -> None:
        """Add a note for the user, once."""
        self.notes += [note for note in dict.fromkeys(notes) if note not in self.notes]

    def item(self, name: str, about: Mapping[str, Any]) -> None:
        """Add attributes of an item; earlier values are kept."""
        known = self.items.setdefault(name, {})
        for key, value in about.items():
            known.setdefault(key, value)

    def rows(self, criteria: Sequence[str] | None = None, *, texts: bool = False) -> Rows:
        """Return the answers as a table, without superseded answers.

        Parameters
        ----------
        criteria : list of str
            The questions to read; by default all.
        texts : bool
            Whether the file stores numbers as text: a question whose answers are all numbers is numeric.
        """
        read = len(self.answers) + self.excluded.total()
        questions = {a.criterion for a in self.answers if a.criterion is not None}
        self._exclude_superseded()
        if criteria is not None:
            self._keep(criteria, questions)
        if not self.answers:
            why = "; ".join(f"{counted(n, 'row')}: {reason}" for reason, n in self.excluded.items())
            raise DataError(f"{self.source} contains no answers ({why or 'no entry is an answer'})")
        labels = self._columns(texts)
        reading = Reading(self.source, read, notes=tuple(self.notes))
        for reason, rows in self.excluded.items():
            reading = reading.without(reason, rows)
        criterion = {a.criterion for a in self.answers}
        return Rows(
            labels,
            items=self._item_table(),
            reading=reading,
            scales={c: s for c, s in self.scales.items() if c in criterion},
        )

    def _keep(self, criteria: Sequence[str], questions: set[str]) -> None:
        for name in criteria:
            if name not in questions:
                raise DataError(unknown("question", name, natural(questions), self.source))
        kept = [a for a in self.answers if a.criterion in criteria]
        if len(kept) < len(self.answers):
            self.exclude(NOT_SELECTED, len(self.answers) - len(kept))
        self.answers = kept

    def _exclude_superseded(self) -> None:
        ages = [(a.time is not None, 0 if a.time is None else a.time, i) for i, a in enumerate(self.answers)]
        latest: dict[tuple[Any, ...], int] = {}
        for i, a in enumerate(self.answers):
            last = latest.setdefault(_answer_key(a), i)
            if ages[i] > ages[last]:
                latest[_answer_key(a)] = i
        kept = []
        for i, a in enumerate(self.answers):
            last = latest[_answer_key(a)]
            if i == last or (a.submission is not None and a.submission == self.answers[last].submission):
                kept.append(a)
            else:
                self.exclude(SUPERSEDED)
        self.answers = kept

    def _columns(self, texts: bool) -> pl.DataFrame:
        found = self.answers
        values = self._labels(texts)
        columns = {
            "item": pl.Series([a.item for a in found], dtype=pl.String),
            "annotator": pl.Series([a.annotator for a in found], dtype=pl.String),
            "label": column_of("label", values, self.source),
            "kind": pl.Series([a.kind for a in found], dtype=pl.String),
            "_row": pl.Series([a.where for a in found], dtype=pl.String),
        }
        if any(a.criterion is not None for a in found):
            columns["criterion"] = pl.Series([a.criterion for a in found], dtype=pl.String)
        if any(a.repeat is not None for a in found):
            columns["repeat"] = pl.Series([a.repeat for a in found], dtype=pl.Int64)
        for name in dict.fromkeys(key for a in found for key in a.about):
            columns[name] = column_of(name, [a.about.get(name) for a in found], self.source, strict=False)
        return pl.DataFrame({k: c for k, c in columns.items() if c.null_count() < len(c)})

    def _labels(self, texts: bool) -> list[Label]:
        """Labels of one type: numbers become text if numeric and text questions share the table."""
        values: list[Label] = [a.label for a in self.answers]
        if texts:
            numeric = self._numeric_criteria()
            values = [number(v) if a.criterion in numeric else v for a, v in zip(self.answers, values, strict=True)]
        kinds: dict[str | None, set[bool]] = {}
        for a, value in zip(self.answers, values, strict=True):
            kinds.setdefault(a.criterion, set()).add(isinstance(value, str))
        if {frozenset(k) for k in kinds.values()} == {frozenset([True]), frozenset([False])}:
            return [v if isinstance(v, str) else f"{v}" for v in values]
        return values

    def _numeric_criteria(self) -> set[str | None]:
        plain = {a.criterion for a in self.answers}
        return plain - {a.criterion for a in self.answers if isinstance(a.label, str) and not is_number(a.label)}

    def _item_table(self) -> pl.DataFrame | None:
        about = [{"item": name, **{k: v for k, v in of.items() if k != "item"}} for name, of in self.items.items()]
        if not any(len(one) > 1 for one in about):
            return None
        table = records(about, self.source, strict=False)
        return table.select("item", *(c for c in table.columns if c != "item" and table[c].null_count() < len(about)))


def _answer_key(answer: PlatformAnswer) -> tuple[Any, ...]:
    # A submission replaces an earlier one as a whole, even if the two answer different questions.
    criterion = answer.criterion if answer.submission is None else None
    return answer.item, answer.annotator, answer.kind, answer.repeat, criterion


# -- positions on a screen, converted to options ----------------------------------------------------


def chosen_of_two(shown: Sequence[str], position: int | None) -> int | None:
    """Return which of two options was preferred, independent of their order on the screen.

    ``shown`` names the two in screen order and ``position`` the chosen one (0, 1, or None for a tie).
    −1 is the first in alphabetical order, 1 the second, 0 a tie; None if both have the same name.
    """
    if position is None:
        return 0
    if len(set(shown)) < 2:
        return None
    return -1 if shown[position] == natural(shown)[0] else 1


def odd_of_three(shown: Sequence[str], position: int, order: Sequence[str] | None = None) -> str | None:
    """Return which of three options was the odd one: A, B or C in the item's own order, not that of the screen.

    Without the item's own ``order``, the alphabetical order is used. None if two have the same name.
    """
    own = tuple(order) if order is not None and set(order) == set(shown) else natural(shown)
    if len(set(shown)) < 3 or len(own) != 3:
        return None
    return "ABC"[own.index(shown[position])]


def members(shown: Sequence[str]) -> dict[str, str]:
    """Return attributes of an item that compares two or three options: ``first``, ``second``, ``third``."""
    return dict(zip(("first", "second", "third"), natural(shown), strict=False))


# -- helpers for several platforms ------------------------------------------------------------------


def is_number(text: str) -> bool:
    """Whether a text is a plain number."""
    try:
        value = float(text)
    except ValueError:
        return False
    return value == value and abs(value) != float("inf") and "_" not in text


def number(value: Label) -> Label:
    """Convert a text that is a number to that number; whole numbers become integers."""
    if not isinstance(value, str):
        return value
    return int(float(value)) if float(value).is_integer() else float(value)


def set_of(values: Iterable[Any]) -> str:
    """Join several choices to one label that does not depend on the order in which they were clicked."""
    return SET.join(sorted(str(v) for v in values))


def own_id(field: str | None, fields: Mapping[str, Any], where: str) -> str | None:
    """Return the user's item id: the named field, otherwise a field called ``item``, otherwise None."""
    if field is not None and field not in fields:
        raise DataError(unknown("field", field, fields, where))
    found = fields.get(field or "item")
    if field is not None and found in (None, ""):
        raise DataError(f"{where}: field '{field}' is empty; it should contain the item id")
    return None if found is None else str(found)


def stated_rater(metadata: Mapping[str, Any]) -> tuple[str, str, str | None] | None:
    """Return the annotator, kind and criterion of a score that assay wrote to a platform; None for other scores."""
    name, kind, criterion = (metadata.get(key) for key in ("annotator", "kind", "criterion"))
    if not isinstance(name, str) or not name or kind not in ("human", "judge"):
        return None
    return name, str(kind), None if criterion is None else str(criterion)


def name_table(source: str | Path | Mapping[Any, Any] | None) -> dict[str, str]:
    """Return annotators' names by the platform's ids, from a mapping, or a JSON file of a mapping or list of users.

    For a list of users (``{"id": 2, "email": ..., "username": ...}``), the name is the e-mail, or the user name.
    """
    if source is None:
        return {}
    found = source if isinstance(source, Mapping) else load_json(Path(source))
    if isinstance(found, Mapping):
        return {str(k): str(v) for k, v in found.items()}
    if isinstance(found, list) and all(isinstance(u, dict) and "id" in u for u in found):
        return {str(u["id"]): str(u.get("email") or u.get("username") or u["id"]) for u in found}
    raise DataError(f"{source} must contain {{id: name}} or a list of users with id and email")


def parse_cell(text: Any) -> Any:
    """Parse a cell that contains JSON; other cells are returned unchanged."""
    if isinstance(text, str) and text.startswith(("[", "{")):
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return text
    return text
