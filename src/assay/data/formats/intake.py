"""What every importer of a platform's export has in common: answers in, `Rows` out, nothing lost on the way.

An importer walks through its file and tells an `Intake` of each thing it meets: an answer, or the reason
why something is not one. So ``rows read == labels used + rows left out`` holds for every format, and the
words of the reasons are the same everywhere.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from assay.data.annotations import Reading, natural
from assay.data.columns import column_of
from assay.data.formats import Rows
from assay.data.formats.tables import load_json, records
from assay.data.scales import Label, Scale
from assay.errors import DataError, counted, listing, unknown

SKIPPED = "skipped by the annotator"
EMPTY = "submitted empty"
DRAFT = "draft, never submitted"
DISCARDED = "discarded by the annotator"
REJECTED = "rejected by the requester"
SUPERSEDED = "superseded: the same annotator answered the item again later"
UNKNOWN_ANNOTATOR = "annotator unknown"
OFF_SCALE = "out of range: off the scale"
UNSCORED = "the judge's reply held no score"
AMBIGUOUS = "ambiguous: what was chosen can not be told"
NOT_ASKED_FOR = "a question that criteria=... does not name"

SET = "|"
"""Joins the choices of a question that takes several, in alphabetical order: one label a set."""

RANKING = ">"
"""Joins a ranking, best first."""


@dataclass(slots=True)
class Answer:
    """One answer to one question, in the words of the platform."""

    item: str
    annotator: str
    label: Label
    where: str
    criterion: str | None = None
    kind: str = "human"
    repeat: int | None = None
    time: float | str | None = None
    """When it was given: what is later supersedes what is earlier; without it the order in the file counts."""
    submission: object = None
    """Answers sent off together; a later submission supersedes an earlier one as a whole."""
    about: dict[str, Any] = field(default_factory=dict)
    """Columns about the single answer."""


class Intake:
    """Gathers the answers of one file, and counts what is none."""

    def __init__(self, source: Path) -> None:
        self.source = str(source)
        self.answers: list[Answer] = []
        self.left_out: Counter[str] = Counter()
        self.notes: list[str] = []
        self.items: dict[str, dict[str, Any]] = {}
        self.scales: dict[str | None, Scale] = {}

    def leave_out(self, reason: str, rows: int = 1) -> None:
        """Count what was read and is not a label."""
        self.left_out[reason] += rows

    def note(self, *notes: str) -> None:
        """Say a thing that the user should know, once."""
        self.notes += [note for note in notes if note not in self.notes]

    def item(self, name: str, about: Mapping[str, Any]) -> None:
        """What is known of an item; what was said first stays."""
        known = self.items.setdefault(name, {})
        for key, value in about.items():
            known.setdefault(key, value)

    def rows(self, criteria: Sequence[str] | None = None, *, texts: bool = False) -> Rows:
        """The answers as a table, the superseded taken out.

        Parameters
        ----------
        criteria : list of str
            The questions wanted; all when not given.
        texts : bool
            The file writes numbers as text: a question whose answers are all numbers is numeric.
        """
        read = len(self.answers) + self.left_out.total()
        if criteria is not None:
            self._keep(criteria)
        self._take_out_superseded()
        if not self.answers:
            why = "; ".join(f"{counted(n, 'row')}: {reason}" for reason, n in self.left_out.items())
            raise DataError(f"{self.source} holds no answers ({why or 'nothing in it is one'})")
        labels = self._columns(texts)
        reading = Reading(self.source, read, tuple(self.left_out.items()), tuple(self.notes))
        criterion = {a.criterion for a in self.answers}
        return Rows(
            labels,
            items=self._item_table(),
            reading=reading,
            scales={c: s for c, s in self.scales.items() if c in criterion},
        )

    def _keep(self, criteria: Sequence[str]) -> None:
        seen = natural({a.criterion for a in self.answers if a.criterion is not None})
        for name in criteria:
            if name not in seen:
                raise DataError(unknown("question", name, seen, self.source))
        kept = [a for a in self.answers if a.criterion in criteria]
        self.left_out[NOT_ASKED_FOR] += len(self.answers) - len(kept)
        self.left_out += Counter()  # drops zeros
        self.answers = kept

    def _take_out_superseded(self) -> None:
        ages = [(a.time is not None, 0 if a.time is None else a.time, i) for i, a in enumerate(self.answers)]
        latest: dict[tuple[Any, ...], int] = {}
        for i, a in enumerate(self.answers):
            last = latest.setdefault(_who_answers_what(a), i)
            if ages[i] > ages[last]:
                latest[_who_answers_what(a)] = i
        kept = []
        for i, a in enumerate(self.answers):
            last = latest[_who_answers_what(a)]
            if i == last or (a.submission is not None and a.submission == self.answers[last].submission):
                kept.append(a)
            else:
                self.leave_out(SUPERSEDED)
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
        """Labels of one type: numbers become text where questions of numbers and of text share the table."""
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


def _who_answers_what(answer: Answer) -> tuple[Any, ...]:
    # A submission replaces an earlier one as a whole, whatever questions each of them answers.
    criterion = answer.criterion if answer.submission is None else None
    return answer.item, answer.annotator, answer.kind, answer.repeat, criterion


# -- scales -------------------------------------------------------------------------------------------


def settle_scales(rows: Rows, said: Scale | Mapping[str, Scale] | None) -> tuple[Rows, Scale | dict[str, Scale] | None]:
    """The scales that count: what the user says, else what the platform states; and the rows that are on them.

    Platforms accept labels off their own scale and the user can not mend an export, so such labels are left
    out and counted.
    """
    if isinstance(said, Scale):
        return _on_scale(rows, {"": said}), said
    given = said or {}
    known = {c or "": s for c, s in (rows.scales or {}).items()} | dict(given)
    asked = rows.labels["criterion"].unique().to_list() if "criterion" in rows.labels.columns else [""]
    _needs_scale(rows, known)
    if not given and not known.keys() >= set(asked):
        return rows, None
    stated = [f"{c or 'labels'} {known[c].spec}" for c in natural(asked) if c in known and c not in given]
    if stated:
        rows = replace(rows, reading=rows.reading.noted(f"scale as the export states it: {'; '.join(stated)}"))
    return _on_scale(rows, known), known.get("") or known


def _needs_scale(rows: Rows, known: Mapping[str, Scale]) -> None:
    """Refuse a table that mixes questions of numbers and of text while nobody has said their scales."""
    frame = rows.labels
    if "criterion" not in frame.columns or frame["label"].dtype != pl.String:
        return
    unsaid = [c for c in natural(frame["criterion"].unique().to_list()) if c not in known]
    numeric = [c for c in unsaid if all(is_number(v) for v in frame.filter(pl.col("criterion") == c)["label"])]
    if numeric:
        example = ", ".join(f"'{c}': '1-5'" for c in numeric[:3])
        raise DataError(
            f"{rows.reading.source}: some questions are answered with numbers and some with text; say the scale of "
            f"{listing(numeric)} (scale={{{example}}}), or read one kind with criteria=..."
        )


def _on_scale(rows: Rows, scales: Mapping[str, Scale]) -> Rows:
    """The rows whose label is on the scale of its criterion; the name "" is of every criterion."""
    frame = rows.labels
    valid = pl.Series([True] * frame.height)
    for criterion, scale in scales.items():
        concerned = pl.Series([True] * frame.height)
        if criterion:
            concerned = (frame["criterion"] == criterion).fill_null(False)
        valid = valid & (~concerned | scale.valid(frame["label"]).fill_null(False))
    off = frame.filter(~valid)
    if not off.height:
        return rows
    shown = ", ".join(f"{where}: {v!r}" for where, v in off.head(5).select("_row", "label").iter_rows())
    more = f" and {off.height - 5} more" if off.height > 5 else ""
    reading = rows.reading.without(OFF_SCALE, off.height).noted(f"labels off the scale: {shown}{more}")
    return replace(rows, labels=frame.filter(valid), reading=reading)


def joined(parts: Sequence[Rows]) -> Rows:
    """Several files as one table; every count and note says of which file it speaks."""
    first, names = parts[0], [part.reading.source for part in parts]
    for part in parts:
        for frame in (first.labels, part.labels):
            if ("label" in frame.columns) != ("label" in first.labels.columns):
                raise DataError(f"{part.reading.source} and {names[0]} have different columns; read them one by one")
        if "label" in first.labels.columns:
            dtypes = {first.labels["label"].dtype == pl.String, part.labels["label"].dtype == pl.String}
            if len(dtypes) > 1:
                raise DataError(f"labels are text in one of {names[0]} and {part.reading.source}, numbers in the other")
    labels = pl.concat(
        [p.labels.with_columns(_row=pl.format("{}, {}", pl.lit(p.reading.source), pl.col("_row"))) for p in parts],
        how="diagonal_relaxed",
    )
    tables = [p.items for p in parts if p.items is not None]
    items = (
        pl.concat(tables, how="diagonal_relaxed").unique("item", keep="first", maintain_order=True) if tables else None
    )
    reading = Reading(
        f"{counted(len(parts), 'file')} ({listing(names, 3)})",
        sum(p.reading.rows for p in parts),
        tuple((f"{reason} ({p.reading.source})", n) for p in parts for reason, n in p.reading.left_out),
        tuple(f"{p.reading.source}: {note}" for p in parts for note in _with_count(p.reading)),
    )
    judges = [j for p in parts for j in p.judges or ()]
    scales = None if first.scales is None else {c: s for p in reversed(parts) for c, s in (p.scales or {}).items()}
    return Rows(
        labels,
        items=items,
        judges=tuple(dict.fromkeys(judges)) or None,
        reading=reading,
        scales=scales,
        untyped=any(p.untyped for p in parts),
    )


def _with_count(reading: Reading) -> list[str]:
    return [f"{counted(reading.rows, 'row')} read", *reading.notes]


# -- small things that several platforms share ------------------------------------------------------


def is_number(text: str) -> bool:
    """Whether a text is a plain number."""
    try:
        value = float(text)
    except ValueError:
        return False
    return value == value and abs(value) != float("inf") and "_" not in text


def number(value: Label) -> Label:
    """A text that is a number as that number, whole ones as whole numbers."""
    if not isinstance(value, str):
        return value
    return int(float(value)) if float(value).is_integer() else float(value)


def set_of(values: Iterable[Any]) -> str:
    """Several choices as one label that does not depend on the order in which they were clicked."""
    return SET.join(sorted(str(v) for v in values))


def own_id(field: str | None, fields: Mapping[str, Any], where: str) -> str | None:
    """The user's id of an item: the field named, else one that is called ``item``, else None."""
    if field is not None and field not in fields:
        raise DataError(unknown("field", field, fields, where))
    found = fields.get(field or "item")
    if field is not None and found in (None, ""):
        raise DataError(f"{where}: field '{field}' is empty; it should hold the item")
    return None if found is None else str(found)


def name_table(source: str | Path | Mapping[Any, Any] | None) -> dict[str, str]:
    """Annotators' names by the platform's ids: a mapping, or a JSON file of one or of a list of users.

    Of a list of users (``{"id": 2, "email": ..., "username": ...}``) the e-mail counts, else the user name.
    """
    if source is None:
        return {}
    found = source if isinstance(source, Mapping) else load_json(Path(source))
    if isinstance(found, Mapping):
        return {str(k): str(v) for k, v in found.items()}
    if isinstance(found, list) and all(isinstance(u, dict) and "id" in u for u in found):
        return {str(u["id"]): str(u.get("email") or u.get("username") or u["id"]) for u in found}
    raise DataError(f"{source} must hold {{id: name}} or a list of users with id and email")


def parsed(text: Any) -> Any:
    """A cell that holds JSON, read; any other as it is."""
    if isinstance(text, str) and text[:1] in "[{" and text:
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return text
    return text


# -- positions ----------------------------------------------------------------------------------------


def chosen_of_two(shown: Sequence[str], position: int | None) -> int | None:
    """Which of two was preferred, whatever their order on the screen.

    ``shown`` names the two in screen order and ``position`` the chosen one (0, 1, or None for a tie).
    −1 is the first in alphabetical order, 1 the second, 0 a tie; None where both have the same name.
    """
    if position is None:
        return 0
    if len(set(shown)) < 2:
        return None
    return -1 if shown[position] == natural(shown)[0] else 1


def odd_of_three(shown: Sequence[str], position: int, order: Sequence[str] | None = None) -> str | None:
    """Which of three was the odd one: A, B or C in the item's own order, whatever the order on the screen.

    Without the item's own ``order`` the alphabetical one stands for it. None where two have the same name.
    """
    own = tuple(order) if order is not None and set(order) == set(shown) else natural(shown)
    if len(set(shown)) < 3 or len(own) != 3:
        return None
    return "ABC"[own.index(shown[position])]


def members(shown: Sequence[str]) -> dict[str, str]:
    """Attributes of an item that compares two or three things: ``first``, ``second``, ``third``."""
    return dict(zip(("first", "second", "third"), natural(shown), strict=False))
