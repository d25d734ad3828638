"""The tasks and answers of annotators, held in memory: summed in milliseconds and updated with new rows. The dashboard
updates every few seconds, and a database would read all tasks each time.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl
import sqlalchemy as sa

from assay.study.schema import Role
from assay.study.store import tables
from assay.study.store.connection import batches, setting
from assay.study.store.items import NOT_COUNTED
from assay.study.store.people import ADDED, ERASED, Slot
from assay.study.store.tables import PAGE

_NAMES = ("annotator", "item", "questions", "condition", "role", "party", "state")
TASKS: dict[str, pl.DataType] = {
    "id": pl.Int64(),
    **dict.fromkeys(_NAMES, pl.Categorical()),
    **{"repeat": pl.Int32(), "session": pl.Int32(), "extra": pl.Boolean()},
    **{"expires_at": pl.Float64(), "closed_at": pl.Float64()},
}
_LABEL: dict[str, pl.DataType] = {
    "assignment": pl.Int64(),
    **{"question": pl.Int64(), "condition": pl.Categorical(), "item": pl.Categorical(), "annotator": pl.Categorical()},
    **{"repeat": pl.Int32(), "label": pl.String(), "position": pl.Int32()},
}
SECONDS: dict[str, pl.DataType] = {
    **{"annotator": pl.Categorical(), "item": pl.Categorical(), "condition": pl.Categorical(), "repeat": pl.Int32()},
    **{"question": pl.Int64(), "revision": pl.Int32(), "seconds": pl.Float64()},
}
_OPEN = ("given", "reopened")

MANY = 20_000
"""With this many new answers all tasks are read again: about as quick as reading those of the items answered."""


class WorkLog:
    """Every task that people were ever given, and their remarks, as of the last `update`.

    Tasks that are closed change with an answer only, so they are read again where their item has one; those that are
    open, and further ones, are read each time.

    Attributes
    ----------
    tasks : polars.DataFrame
        One row per task, without the displayed content.
    remarks : dict of int to row
        By assignment, the answer that counts, if it has a flag or a comment or was skipped; oldest first.
    labels : polars.DataFrame
        The labels of people that count, also from a file, see `label_frame`.
    seconds : polars.DataFrame
        One row per saved answer with a time: the seconds that its save took.
    """

    def __init__(self) -> None:
        self.tasks, self.labels, self.seconds = (pl.DataFrame(schema=one) for one in (TASKS, _LABEL, SECONDS))
        self.remarks: dict[int, Any] = {}
        self._answer: int | None = None
        """The last answer on a page that is in it; None before the first update."""
        self._erased: Any = None

    def update(self, db: sa.Connection) -> None:
        """Update it from the database; annotators' answers are written one transaction after the other."""
        erased, first = setting(db, ERASED), self._answer is None
        answers = [] if first else self._answers_since(db, self._answer)
        if first or erased != self._erased or len(answers) > MANY:
            self._answer = _newest(db)  # before all else is read: what comes meanwhile is read twice
            self.tasks, self.labels = log_frame(db.execute(_tasks()), TASKS), label_frame(db)
            self.seconds = log_frame(db.execute(_work()), SECONDS)
            self.remarks = {
                row.assignment: row for row in db.execute(_answers(tables.LATEST).where(*_remark_clauses()))
            }
        else:
            self._add(db, answers)
        self._erased = erased

    def _answers_since(self, db: sa.Connection, number: int | None) -> Sequence[Any]:
        return db.execute(_answers(tables.EVERY).where(tables.answers.c.id > number)).all()

    def _add(self, db: sa.Connection, answers: Sequence[Any]) -> None:
        t = tables.tasks.c
        still_open = self.tasks.filter(pl.col("state").is_in(_OPEN))["id"].to_list()
        last = self.tasks["id"].max() or 0
        found = [db.execute(_tasks().where(t.id > last)).all()]
        for column, values in ((t.id, still_open), (t.item, dict.fromkeys(row.item for row in answers))):
            found += [db.execute(_tasks().where(column.in_(chunk))).all() for chunk in batches(values)]
        changed = log_frame((row for rows in found for row in rows), TASKS).unique("id")
        self.tasks = pl.concat([self.tasks.filter(~pl.col("id").is_in(changed["id"].implode())), changed])
        if answers:
            given = pl.Series([row.assignment for row in answers], dtype=pl.Int64)
            labels = [label_frame(db, chunk) for chunk in batches(given.unique().to_list())]
            self.labels = pl.concat([self.labels.filter(~pl.col("assignment").is_in(given.implode())), *labels])
            further = log_frame(db.execute(_work().where(tables.answers.c.id > self._answer)), SECONDS)
            self.seconds = pl.concat([self.seconds, further])
        for row in answers:
            self.remarks.pop(row.assignment, None)
            skipped = row.status == "missing" and (row.reason or "").startswith("skipped")
            if skipped or row.flag is not None or row.comment is not None:
                self.remarks[row.assignment] = row
        self._answer = max((row.id for row in answers), default=self._answer)

    # -- sums ---------------------------------------------------------------------------------------

    def progress_by_person(self, questions: Collection[str]) -> dict[str, Any]:
        """By person: tasks ``done``, ``skipped``, done of an ``earlier`` version, ``session``, and when ``last``.

        Questions that were added and put alone are no further items.
        """
        current = pl.col("questions").is_in(list(questions)) & (pl.col("role") != ADDED)
        skipped, answered = pl.col("state") == "skipped", pl.col("state") == "answered"
        whole = ~pl.col("role").is_in(["warm-up", ADDED])
        sums = self.tasks.group_by("annotator").agg(
            (current & whole & (answered | skipped)).sum().alias("done"),
            (current & whole & skipped).sum().alias("skipped"),
            (~pl.col("questions").is_in(list(questions)) & whole & answered).sum().alias("earlier"),
            pl.col("session").filter(current).max(),
            pl.col("closed_at").max().alias("last"),
        )
        return {row["annotator"]: PersonSums(**row) for row in sums.iter_rows(named=True)}

    def minutes_by_person(self, questions: Collection[int]) -> dict[str, float]:
        """Median minutes on an item, by person.

        All questions of a task are saved together with the same seconds; each save has those since the last.
        """
        each = self._task_seconds(pl.col("question").is_in(list(questions)))
        return dict(each.group_by("annotator").agg(pl.col("seconds").median() / 60).iter_rows())

    def seconds_by_person(self, questions: Collection[int]) -> dict[str, list[float]]:
        """The seconds on each item, by person, as in `minutes_by_person`."""
        each = self._task_seconds(pl.col("question").is_in(list(questions)))
        return dict(each.group_by("annotator").agg(pl.col("seconds")).iter_rows())

    def _task_seconds(self, which: pl.Expr) -> pl.DataFrame:
        """The seconds of each annotator on each task, over all saves."""
        task = ("annotator", "item", "condition", "repeat")
        saves = self.seconds.filter(which).group_by(*task, "revision").agg(pl.col("seconds").max())
        return saves.group_by(task).agg(pl.col("seconds").sum())

    def progress_by_item(
        self, sets: Collection[str], questions: Collection[int], without: Collection[str]
    ) -> pl.DataFrame:
        """Return, by item, the tasks ``answered`` and ``skipped`` and the median ``seconds`` of an answer.

        Parameters
        ----------
        sets : list of str
            The sets of questions that count, as tasks name them.
        questions : list of int
            The same questions one by one.
        without : list of str
            Annotators whose work is excluded.
        """
        own = ~pl.col("annotator").is_in(list(without))
        counts = pl.col("questions").is_in(list(sets)) & ~pl.col("role").is_in([*NOT_COUNTED, ADDED])
        done = (
            self.tasks.filter(own & counts)
            .group_by("item")
            .agg(
                (pl.col("state") == "answered").sum().alias("answered"),
                (pl.col("state") == "skipped").sum().alias("skipped"),
            )
        )
        each = self._task_seconds(own & pl.col("question").is_in(list(questions)))
        return done.join(each.group_by("item").agg(pl.col("seconds").median()), on="item", how="left")

    def flags_by_person(self) -> dict[str, int]:
        """How many items each person has flagged."""
        tasks = {
            (row.annotator, row.item, row.condition, row.repeat)
            for row in self.remarks.values()
            if row.flag is not None
        }
        found: dict[str, int] = {}
        for name, *_ in tasks:
            found[name] = found.get(name, 0) + 1
        return found

    def states_and_roles(self, tasks: Collection[int]) -> dict[int, tuple[str, str]]:
        """State and role of tasks, by their numbers."""
        some = self.tasks.filter(pl.col("id").is_in(list(tasks))).select("id", "state", "role")
        return {number: (state, role) for number, state, role in some.iter_rows()}

    def shortfall(
        self, slot: Slot, names: Sequence[str], wanted: int, now: float, most: int, *, without: Collection[str] = ()
    ) -> Shortfall:
        """Which of these items have fewer answers than wanted; the first of them by name, ``most`` at most.

        Parameters
        ----------
        names : list of str
            The items in the order of their file.
        without : list of str
            People whose answers do not count.
        """
        counts = self._slot_tasks(slot, without).group_by("item").agg(*_have_and_held(now))
        lacking = (
            pl.DataFrame({"item": pl.Series(names, dtype=pl.Categorical)})
            .join(counts, on="item", how="left", maintain_order="left")
            .with_columns(pl.col("have", "held").fill_null(0))
            .filter(pl.col("have") < wanted)
        )
        first = tuple((str(item), int(have), int(held)) for item, have, held in lacking.head(most).iter_rows())
        return Shortfall(lacking.height, len(names), int(lacking["have"].sum()), int(lacking["held"].sum()), first)

    def missing_items(self, slot: Slot, names: Sequence[str], wanted: int, without: Collection[str] = ()) -> set[str]:
        """Those of these items that have fewer answers than wanted."""
        have = self._slot_tasks(slot, without).filter(pl.col("state") == "answered").group_by("item").len()
        return {*names} - {*have.filter(pl.col("len") >= wanted)["item"].cast(pl.String).to_list()}

    def items_by_person(self, slot: Slot, now: float, without: Collection[str] = ()) -> list[tuple[int, int]]:
        """(answered, held) for each person who was given items."""
        mine = (
            self._slot_tasks(slot, without)
            .filter(pl.col("role") == "item")
            .group_by("annotator")
            .agg(*_have_and_held(now))
        )
        return [(int(have), int(held)) for _, have, held in mine.iter_rows()]

    def _slot_tasks(self, slot: Slot, without: Collection[str]) -> pl.DataFrame:
        """The tasks of a slot that may count, as `Slot.tasks` has them."""
        party = pl.col("party") == slot.party
        who = party if slot.people is None else pl.col("annotator").is_in(list(slot.people))
        asked = pl.col("questions").is_in(list(slot.questions)) & (pl.col("condition") == slot.condition)
        once = (pl.col("role") != ADDED) & (pl.col("repeat") == 1) & ~pl.col("extra")
        return self.tasks.filter(asked & once & who & ~pl.col("annotator").is_in(list(without)))


@dataclass(frozen=True)
class PersonSums:
    """The progress of one annotator, see `WorkLog.progress_by_person`."""

    annotator: str
    done: int
    skipped: int
    earlier: int
    session: int | None
    last: float | None


@dataclass(frozen=True)
class Shortfall:
    """Items with missing answers.

    Attributes
    ----------
    items, of : int
        Number of items with missing answers, of all.
    have, held : int
        Answers so far, and places held at this moment.
    first : tuple of (item, have, held)
        The first of them, in the order of their file.
    """

    items: int
    of: int
    have: int
    held: int
    first: tuple[tuple[str, int, int], ...]


def item_names(db: sa.Connection, role: Role) -> list[str]:
    """The items of a role that the study has now, in the order of their file."""
    i = tables.items.c
    return list(db.execute(sa.select(i.item).where(i.active, i.role == role).order_by(i.position)).scalars())


def _have_and_held(now: float) -> tuple[pl.Expr, pl.Expr]:
    held = (pl.col("state") == "reopened") | ((pl.col("state") == "given") & (pl.col("expires_at") > now))
    return (pl.col("state") == "answered").sum().alias("have"), held.sum().alias("held")


def label_frame(
    db: sa.Connection, among: Collection[int] | None = None, kind: Literal["human", "judge"] = "human"
) -> pl.DataFrame:
    """Return the labels of humans, or of judges, that count, with those of excluded annotators, each label as JSON.

    ``position`` is the place on the page of the option that was chosen; null for other labels, and from files.

    Parameters
    ----------
    among : list of int, optional
        Assignments.
    """
    a, s, i, n = (table.c for table in (tables.assignments, tables.answers, tables.items, tables.annotators))
    named = (a.id, a.question, a.condition, a.item, a.annotator, a.repeat)
    query = sa.select(*named, sa.cast(s.label, sa.Text), s.shown["position"].as_integer())
    query = query.select_from(tables.join(tables.LATEST, tables.items, tables.annotators))
    query = query.where(a.active, s.status == "valid", n.kind == kind, i.active, i.role.not_in(NOT_COUNTED))
    return log_frame(db.execute(query if among is None else query.where(a.id.in_(among))), _LABEL)


def first_labels(labels: pl.DataFrame, question: int, without: Collection[str]) -> pl.DataFrame:
    """Of one question, the first label of each person to each item in each condition; none of these people's."""
    counted = labels.filter((pl.col("question") == question) & ~pl.col("annotator").is_in(list(without)))
    return counted.sort("repeat", "assignment").unique(
        ["condition", "item", "annotator"], keep="first", maintain_order=True
    )


def read_labels(labels: pl.DataFrame) -> pl.Series:
    """Return the labels of a `label_frame` as numbers, or as texts if one of them is a text."""
    read = {raw: json.loads(raw) for raw in labels["label"].unique()}
    if any(isinstance(value, str) for value in read.values()):
        texts = {raw: value if isinstance(value, str) else f"{value:g}" for raw, value in read.items()}
        return labels["label"].replace_strict(texts, return_dtype=pl.String)
    if all(isinstance(value, int) for value in read.values()):
        return labels["label"].replace_strict(read, return_dtype=pl.Int64)
    return labels["label"].replace_strict({raw: float(value) for raw, value in read.items()}, return_dtype=pl.Float64)


def log_frame(rows: Iterable[Any], schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Return rows of the log as a table of these columns; names are categories shared by all tables."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    names = [name for name, kind in schema.items() if kind == pl.Categorical]
    plain = {**schema, **dict.fromkeys(names, pl.String())}
    held = {name: pl.Series(values, dtype=plain[name]) for name, values in zip(schema, columns, strict=True)}
    return pl.DataFrame(held).with_columns(pl.col(*names).cast(pl.Categorical))


def _tasks() -> sa.Select[Any]:
    return sa.select(*(tables.tasks.c[name] for name in TASKS))


def _answers(start: sa.Join) -> sa.Select[Any]:
    """Answers that people gave on the page, in the order in which they came."""
    a, s = tables.assignments.c, tables.answers.c
    query = sa.select(
        *(s.id, s.assignment, a.annotator, a.item, a.condition, a.repeat),
        *(s.flag, s.comment, s.reason, s.status, s.answered_at, s.shown),
    )
    return query.select_from(start).where(a.recipe == PAGE).order_by(s.id)


def _work() -> sa.Select[Any]:
    """The seconds of each save, question by question."""
    a, s, i = tables.assignments.c, tables.answers.c, tables.items.c
    query = sa.select(*(a.annotator, a.item, a.condition, a.repeat, a.question, s.revision, s.seconds))
    query = query.select_from(tables.join(tables.EVERY, tables.items))
    return query.where(a.recipe == PAGE, s.seconds.is_not(None), s.status == "valid", i.role.not_in(NOT_COUNTED))


def _remark_clauses() -> list[sa.ColumnElement[bool]]:
    s = tables.answers.c
    skipped = sa.and_(s.status == "missing", s.reason.like("skipped%"))
    return [sa.or_(s.flag.is_not(None), s.comment.is_not(None), skipped)]


def _newest(db: sa.Connection) -> int:
    """The last answer on a page. Those of judges may still be on their way when later ones are there."""
    latest = db.execute(_answers(tables.EVERY).order_by(None).order_by(tables.answers.c.id.desc()).limit(1)).first()
    return 0 if latest is None else int(latest.id)
