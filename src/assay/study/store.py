"""The study's database: what was asked, who was to answer, and every answer that was ever given.

SQLite in the study folder, or PostgreSQL by URL, through the same statements. Answers are only ever
added. An assignment points to the answer that counts, so that a correction leaves what it corrects.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import polars as pl
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from assay.data.scales import Interval, Nominal, Scale, parse_scale
from assay.errors import AssayError, StudyError, listing
from assay.study import schema
from assay.study.ensembles import with_ensembles
from assay.study.study import Item, Question, Study, scale_of

if TYPE_CHECKING:
    from assay.data.annotations import Annotations

LEASE = 60.0
"""Seconds after which a run on another machine that gives no sign of life loses what it had claimed."""

CHUNK = 2000

Role = Literal["item", "triplet", "check", "warm-up"]
"""What an item is for: to be judged, three items drawn for odd-one-out, to see who reads, to practise on."""

NOT_COUNTED = {"check": "the item is an attention check", "warm-up": "the item is one to warm up on"}

Status = Literal["valid", "unreadable", "missing", "failed", "withdrawn"]
"""Of an answer. ``unreadable`` will be asked again, ``missing`` will not, ``failed`` had no reply."""


@dataclass(frozen=True)
class Assignment:
    """One question about one item for one annotator, under one condition, for the n-th time."""

    item: str
    question: int
    annotator: str
    recipe: str
    condition: str
    repeat: int
    shown: dict[str, Any] | None = None


@dataclass(frozen=True)
class Claim:
    """An assignment that a run holds, with what is needed to ask it."""

    id: int
    item: Item
    question: int
    annotator: str
    condition: dict[str, Any]
    repeat: int
    shown: dict[str, Any] | None
    revision: int
    """How many answers there are already."""
    unread: tuple[str, str] | None
    """The last reply and what was wrong with it, where it could not be read and is to be asked again."""


@dataclass(frozen=True)
class Answer:
    """What came back for an assignment."""

    status: Status
    label: str | int | float | None = None
    reason: str | None = None
    reply: str | None = None
    reasoning: str | None = None
    shown: dict[str, Any] | None = None
    model: str | None = None
    fingerprint: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    latency: float | None = None


@dataclass(frozen=True)
class AskedQuestion:
    """A question as it stands in the store: its current version."""

    id: int
    version: int
    digest: str
    definition: Question


@dataclass
class Store:
    """The database of a study; close it, or use it in a ``with`` block."""

    engine: sa.Engine
    where: str
    insert: Any = field(init=False, repr=False)
    _writing: sa.Engine = field(init=False, repr=False)
    _in_safety: sa.Engine = field(init=False, repr=False)
    _add_answer: Any = field(init=False, repr=False)
    _one_by_one: _OneByOne = field(init=False, repr=False)
    _turn: threading.Lock = field(init=False, repr=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        # Both dialects have ON CONFLICT; SQLAlchemy keeps it with each dialect's own insert.
        self.insert = postgresql.insert if self.engine.dialect.name == "postgresql" else sqlite.insert
        self._writing = self.engine.execution_options(assay_write=True)
        self._in_safety = self.engine.execution_options(assay_write=True, assay_full=True)
        # Built once: to build it for every answer takes longer than to run it.
        self._add_answer = self.insert(schema.answers).on_conflict_do_nothing().returning(schema.answers.c.id)
        self._one_by_one = _OneByOne(self.engine)

    # -- opening --------------------------------------------------------------------------------

    @classmethod
    def open(cls, where: str | Path) -> Self:
        """Open a SQLite file or a ``postgresql://`` URL, and bring its tables up to date.

        Raises
        ------
        StudyError
            Where the database cannot be reached, or was made by a newer assay.
        """
        engine = _engine(str(where))
        store = cls(engine, engine.url.render_as_string(hide_password=True))
        try:
            with store._write() as db:
                _migrate(db)
        except sa.exc.DBAPIError as error:
            store.close()
            raise StudyError(f"the store {store.where} cannot be used: {error.orig}") from None
        except StudyError:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Let go of the database."""
        self._one_by_one.close()
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _write(self) -> Iterator[sa.Connection]:
        with self._writing.begin() as db:
            yield db

    @contextmanager
    def _read(self) -> Iterator[sa.Connection]:
        with self.engine.connect() as db:
            yield db

    def now(self, db: sa.Connection) -> float:
        """Seconds since 1970 by the database's clock, so that machines need not agree on theirs."""
        if self.engine.dialect.name == "postgresql":
            return float(db.execute(sa.text("select extract(epoch from clock_timestamp())")).scalar_one())
        return time.time()

    @contextmanager
    def in_turn(self) -> Iterator[sa.Connection]:
        """A transaction that no other of its kind runs beside, and that is on disk once the block has ended.

        For whatever reads what others write before it writes itself: who gets which item, which answer is
        the latest. Threads wait for each other here; SQLite alone would have them ask again and again.
        """
        with self._turn, self._in_safety.begin() as db:
            if self.engine.dialect.name == "postgresql":
                db.execute(sa.text("select pg_advisory_xact_lock(7235078)"))
            yield db

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection that only reads."""
        with self._read() as db:
            yield db

    def setting(self, key: str) -> Any:
        """What was kept under a key, or None."""
        with self._read() as db:
            return _setting(db, key)

    def keep(self, key: str, value: Any) -> Any:
        """Keep a value under a key unless there is one; the value that is kept."""
        with self._write() as db:
            db.execute(self.insert(schema.settings).on_conflict_do_nothing(), {"key": key, "value": value})
            return _setting(db, key)

    def set(self, key: str, value: Any) -> None:
        """Keep a value under a key, in place of the one there was."""
        with self._write() as db:
            self.put(db, key, value)

    def put(self, db: sa.Connection, key: str, value: Any) -> None:
        """The same within a transaction."""
        statement = self.insert(schema.settings)
        statement = statement.on_conflict_do_update(index_elements=["key"], set_={"value": statement.excluded.value})
        db.execute(statement, {"key": key, "value": value})

    # -- what is asked --------------------------------------------------------------------------

    def take_in(self, study: Study) -> None:
        """Bring items, questions, annotators and the people's labels to what the folder says now.

        One transaction, and none at all where nothing has changed. A question whose words or scale
        have changed becomes a new version; answers to older versions stay, and do not count.
        """
        digest = _digest_of_study(study)
        if self.setting("taken in") == digest:
            return
        labels = _labels_of_people(study)
        with self._write() as db:
            self._take_items(db, study)
            for question in study.config.questions:
                self._take_question(db, question)
            gone = schema.questions.c.name.not_in(study.question_names)
            db.execute(sa.update(schema.questions).where(gone).values(current=False))
            db.execute(sa.update(schema.annotators).where(schema.annotators.c.kind == "judge").values(active=False))
            self.take_annotators(db, [(j.name, "judge", j.model_dump(mode="json")) for j in study.config.judges])
            if labels is not None:
                self._take_labels(db, labels, study)
            self.put(db, "taken in", digest)

    def _take_items(self, db: sa.Connection, study: Study) -> None:
        db.execute(sa.update(schema.items).where(schema.items.c.role != "triplet").values(active=False))
        for chunk in _chunks(enumerate(study.items())):
            self.put_items(db, [(position, item, "item", None) for position, item in chunk])
        own = sa.select(schema.items.c.item).where(schema.items.c.active)
        for role in ("check", "warm-up"):
            known = study.known_items(role)
            taken = list(db.execute(own.where(schema.items.c.item.in_([k.item.name for k in known]))).scalars())
            if taken:
                raise StudyError(
                    f"{listing(taken)} stands in two of the files of items; give each item a name of its own"
                )
            answers = [{"labels": k.known, "feedback": k.feedback} for k in known]
            self.put_items(db, [(n, k.item, role, answers[n]) for n, k in enumerate(known)])

    def put_items(self, db: sa.Connection, items: Sequence[tuple[int, Item, Role, dict[str, Any] | None]]) -> None:
        """Add items, or change those of the same name: position, item, role, and the known answers of a check."""
        statement = self.insert(schema.items)
        new = {
            c: statement.excluded[c] for c in ("position", "document", "fields", "digest", "role", "known", "active")
        }
        statement = statement.on_conflict_do_update(index_elements=["item"], set_=new)
        rows = [
            {
                "item": item.name,
                "position": position,
                "document": item.document,
                "fields": item.fields,
                "digest": digest_of([item.document, item.fields]),
                "role": role,
                "known": known,
                "active": True,
            }
            for position, item, role, known in items
        ]
        if rows:
            self._keep_contents(db, {str(row["item"]): str(row["digest"]) for row in rows})
            db.execute(statement, rows)

    def _keep_contents(self, db: sa.Connection, new: dict[str, str]) -> None:
        """Keep what items have said so far, where that is about to change."""
        i = schema.items.c
        there = db.execute(sa.select(i.item, i.digest, i.document, i.fields).where(i.item.in_(new))).all()
        now = self.now(db)
        old = [{**row._mapping, "kept_at": now} for row in there if row.digest != new[row.item]]
        if old:
            db.execute(self.insert(schema.contents).on_conflict_do_nothing(), old)

    def items_given(self, given: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Item]:
        """Items by name and digest: as they were when they were given to somebody."""
        wanted = set(given)
        names = {name for name, _ in wanted}
        found = {}
        with self._read() as db:
            for table in (schema.items, schema.contents):
                for row in db.execute(sa.select(table).where(table.c.item.in_(names))):
                    found[row.item, row.digest] = Item(row.item, row.document, row.fields)
        return {key: found[key] for key in wanted}

    def _take_question(self, db: sa.Connection, question: Question) -> None:
        definition = question.model_dump(mode="json")
        digest = digest_of(definition)
        mine = schema.questions.c.name == question.name
        last = db.execute(
            sa.select(schema.questions).where(mine).order_by(schema.questions.c.version.desc()).limit(1)
        ).first()
        if last is not None and last.digest == digest:
            db.execute(sa.update(schema.questions).where(schema.questions.c.id == last.id).values(current=True))
            return
        db.execute(sa.update(schema.questions).where(mine).values(current=False))
        row = {"name": question.name, "version": last.version + 1 if last else 1, "definition": definition}
        row |= {"digest": digest, "current": True, "made_at": self.now(db)}
        db.execute(sa.insert(schema.questions), row)

    def take_annotators(self, db: sa.Connection, rows: Iterable[tuple[str, str, dict[str, Any]]]) -> None:
        """Add annotators (name, kind, definition), or change those of the same name and kind."""
        statement = self.insert(schema.annotators)
        new = {c: statement.excluded[c] for c in ("kind", "definition", "active")}
        statement = statement.on_conflict_do_update(index_elements=["annotator"], set_=new)
        for name, kind, definition in rows:
            known = db.execute(
                sa.select(schema.annotators.c.kind).where(schema.annotators.c.annotator == name)
            ).scalar()
            if known is not None and known != kind:
                raise StudyError(f"'{name}' is the name of a {known} already; call the {kind} something else")
            row = {"annotator": name, "kind": kind, "definition": definition, "active": True}
            db.execute(statement, row)

    def _take_labels(self, db: sa.Connection, labels: Annotations, study: Study) -> None:
        """Add the labels of the study's file that are new or have changed; withdraw those that are gone."""
        known = set(
            db.execute(
                sa.select(schema.items.c.item).where(schema.items.c.active, schema.items.c.role == "item")
            ).scalars()
        )
        ids = {q.definition.name: q.id for q in _current_questions(db)}
        invited = db.execute(sa.select(schema.people.c.annotator)).scalars()
        both = sorted(set(invited).intersection(labels.labels["annotator"].to_list()))
        if both:
            raise StudyError(
                f"{study.config.labels} has labels of {listing(both)}, who answer on the page of this study; "
                "take those labels out of the file (what was answered on the page counts anyway)"
            )
        self.take_annotators(db, _people_of(labels))
        wanted: dict[tuple[Any, ...], tuple[Any, Any]] = {}
        unknown_items = 0
        taken = {*_OF_A_LABEL, *(f for item in study.items() for f in item.fields)}
        extra = [c for f in (labels.labels, labels.items) for c in f.columns if c not in _OF_A_LABEL]
        columns = {c: labels.column(c).to_list() for c in extra if c not in taken}
        frames = (labels.labels, labels.items, labels.annotators)
        varied = [c for c in ("scale", "order") if any(c in frame.columns for frame in frames)]
        conditions = {c: labels.column(c).to_list() for c in varied}
        self.put(db, "labels' columns not kept", [c for c in extra if c in taken])
        for number, row in enumerate(labels.labels.iter_rows(named=True)):
            if row["item"] not in known:
                unknown_items += 1
                continue
            question = ids[row.get("criterion") or study.question_names[0]]
            condition = {c: conditions[c][number] for c in varied if conditions[c][number] is not None}
            key = (row["item"], question, row["annotator"], canonical(condition), int(row.get("repeat") or 1))
            about = {c: values[number] for c, values in columns.items() if values[number] is not None}
            wanted[key] = (row["label"], {"about": json.loads(canonical(about))} if about else None)
        self.put(db, "labels without item", unknown_items)
        a, s = schema.assignments, schema.answers
        mine = sa.select(a.c.id, a.c.item, a.c.question, a.c.annotator, a.c.condition, a.c.repeat, s.c.label, s.c.shown)
        mine = mine.select_from(a.outerjoin(s, s.c.id == a.c.answer)).where(a.c.session == "file")
        held = {tuple(row[1:6]) for row in db.execute(mine)}
        new = [dict(zip(_KEY, key, strict=True)) for key in wanted if key not in held]
        rest = {"recipe": "", "session": "file", "status": "open", "active": True}
        for chunk in _chunks(new):
            db.execute(sa.insert(a), [row | rest for row in chunk])
        for there in db.execute(mine).all():
            label, shown = wanted.get(tuple(there[1:6]), (None, None))
            if label is None and there.label is not None:
                self._add(db, there.id, Answer("withdrawn", reason="no longer in the file of labels"))
            elif label is not None and (label, shown) != (there.label, there.shown):
                self._add(db, there.id, Answer("valid", label, shown=shown))

    def questions(self) -> list[AskedQuestion]:
        """The current version of every question."""
        with self._read() as db:
            return _current_questions(db)

    def questions_by_id(self, ids: Sequence[int]) -> dict[int, Question]:
        """Questions in whatever version, in the order asked for."""
        with self._read() as db:
            rows = {
                r.id: r.definition
                for r in db.execute(sa.select(schema.questions).where(schema.questions.c.id.in_(ids)))
            }
        return {number: Question.model_validate(rows[number]) for number in ids}

    def keep_form(self, digest: str, definition: dict[str, Any]) -> int:
        """Keep the words that people read under a number; the same words have the same number."""
        with self._write() as db:
            row = {"digest": digest, "definition": definition, "made_at": self.now(db)}
            db.execute(self.insert(schema.forms).on_conflict_do_nothing(), row)
            return int(db.execute(sa.select(schema.forms.c.id).where(schema.forms.c.digest == digest)).scalar_one())

    def known_items(self, role: Role) -> dict[str, dict[str, Any]]:
        """The known answers of each check, or of each item to warm up on, in the order of their file."""
        i = schema.items.c
        with self._read() as db:
            rows = db.execute(sa.select(i.item, i.known).where(i.active, i.role == role).order_by(i.position)).all()
        return {row.item: row.known for row in rows}

    def items(self, role: Role = "item") -> Iterator[tuple[Item, str]]:
        """Every item with the digest of its contents, in the order of the file, a few at a time."""
        last = -1
        while True:
            with self._read() as db:
                i = schema.items.c
                query = (
                    sa.select(schema.items)
                    .where(i.active, i.role == role, i.position > last)
                    .order_by(i.position)
                    .limit(CHUNK)
                )
                rows = db.execute(query).all()
            for row in rows:
                yield Item(row.item, row.document, row.fields), row.digest
            if len(rows) < CHUNK:
                return
            last = rows[-1].position

    def items_named(self, names: Iterable[str]) -> dict[str, Item]:
        """Items by name."""
        with self._read() as db:
            rows = db.execute(sa.select(schema.items).where(schema.items.c.item.in_(list(names)))).all()
        return {row.item: Item(row.item, row.document, row.fields) for row in rows}

    # -- who is to answer -----------------------------------------------------------------------

    def plan(self, judges: Sequence[str], assignments: Iterable[Assignment], digest: str) -> None:
        """Make exactly these the assignments of the judges; others of theirs no longer count.

        Answers that fit an assignment made before are found again, whatever was planned in between.
        Nothing happens where ``digest`` is that of the plan before.
        """
        if self.setting("plan") == digest:
            return
        key = ("item", "question", "annotator", "recipe", "condition", "repeat")
        statement = self.insert(schema.assignments).on_conflict_do_update(
            index_elements=list(key), set_={"active": True}
        )
        with self._write() as db:
            mine = schema.assignments.c.annotator.in_(
                sa.select(schema.annotators.c.annotator).where(schema.annotators.c.kind == "judge")
            )
            from_file = sa.func.coalesce(schema.assignments.c.session, "") == "file"
            db.execute(sa.update(schema.assignments).where(mine, sa.not_(from_file)).values(active=False))
            for chunk in _chunks(assignments):
                db.execute(statement, [{**vars(one), "status": "open", "active": True} for one in chunk])
            self.put(db, "plan", digest)

    def start_run(self) -> int:
        """Say that a run begins; what runs that have died had claimed becomes open again.

        Questions that had no reply in an earlier run are open again too.
        """
        with self._write() as db:
            now = self.now(db)
            row = {"host": _host(), "process": _process(os.getpid()), "started_at": now, "seen_at": now, "cost": 0.0}
            run = db.execute(sa.insert(schema.runs).returning(schema.runs.c.id), row).scalar_one()
            self._free_the_dead(db)
            failed = schema.assignments.c.status == "failed"
            db.execute(sa.update(schema.assignments).where(failed).values(status="open"))
        return int(run)

    def still_here(self, run: int) -> None:
        """Give a sign of life, and make everything written so far safe against a loss of power."""
        with self._in_safety.begin() as db:
            db.execute(sa.update(schema.runs).where(schema.runs.c.id == run).values(seen_at=self.now(db)))
            self._free_the_dead(db)

    def end_run(self, run: int) -> None:
        """Say that a run is over; what it has claimed and not answered becomes open again."""
        with self._write() as db:
            db.execute(sa.update(schema.runs).where(schema.runs.c.id == run).values(ended_at=self.now(db)))
            self._free(db, [run])

    def _free(self, db: sa.Connection, runs: Sequence[int]) -> None:
        held = sa.and_(schema.assignments.c.status == "claimed", schema.assignments.c.run.in_(runs))
        db.execute(sa.update(schema.assignments).where(held).values(status="open", run=None))

    def _free_the_dead(self, db: sa.Connection) -> None:
        claimed = sa.select(schema.assignments.c.run).where(schema.assignments.c.status == "claimed").distinct()
        rows = db.execute(sa.select(schema.runs).where(schema.runs.c.id.in_(claimed))).all()
        now, host = self.now(db), _host()
        dead = [row.id for row in rows if now - row.seen_at > LEASE or (row.host == host and not _alive(row.process))]
        if dead:
            self._free(db, dead)

    def claim(self, run: int, judges: Sequence[str], most: int) -> list[Claim]:
        """Take up to ``most`` open assignments of these judges; nobody else gets them."""
        a = schema.assignments
        wanted = sa.select(a.c.id).where(a.c.status == "open", a.c.active, a.c.annotator.in_(judges))
        wanted = wanted.order_by(a.c.id).limit(most).with_for_update(skip_locked=True)
        take = sa.update(a).where(a.c.id.in_(wanted.scalar_subquery())).values(status="claimed", run=run)
        with self._write() as db:
            ids = list(db.execute(take.returning(a.c.id)).scalars())
            return self._claims(db, ids)

    def sample(self, judge: str, most: int) -> list[Claim]:
        """Some open assignments of a judge, as if claimed: for estimates."""
        a = schema.assignments
        wanted = sa.select(a.c.id).where(a.c.status.in_(("open", "failed")), a.c.active, a.c.annotator == judge)
        with self._read() as db:
            return self._claims(db, list(db.execute(wanted.order_by(a.c.id).limit(most)).scalars()))

    def _claims(self, db: sa.Connection, ids: list[int]) -> list[Claim]:
        a, i = schema.assignments, schema.items
        wanted = sa.select(
            *(a.c.id, a.c.question, a.c.annotator, a.c.condition, a.c.repeat, a.c.shown),
            *(i.c.item, i.c.document, i.c.fields),
        )
        wanted = wanted.select_from(a.join(i, i.c.item == a.c.item)).where(a.c.id.in_(ids)).order_by(a.c.id)
        earlier: dict[int, list[Any]] = {}
        before = sa.select(
            schema.answers.c.assignment, schema.answers.c.status, schema.answers.c.reply, schema.answers.c.reason
        )
        for row in db.execute(before.where(schema.answers.c.assignment.in_(ids)).order_by(schema.answers.c.id)):
            earlier.setdefault(row.assignment, []).append(row)
        claims = []
        for found in db.execute(wanted):
            had = earlier.get(found.id, [])
            unread = next((h for h in reversed(had) if h.status == "unreadable"), None)
            claims.append(
                Claim(
                    id=found.id,
                    item=Item(found.item, found.document, found.fields),
                    question=found.question,
                    annotator=found.annotator,
                    condition=json.loads(found.condition),
                    repeat=found.repeat,
                    shown=found.shown,
                    revision=len(had),
                    unread=None if unread is None else (unread.reply or "", unread.reason or ""),
                )
            )
        return claims

    # -- answers --------------------------------------------------------------------------------

    def add(self, claim: Claim, run: int, answer: Answer, revision: int) -> bool:
        """Write one answer in a transaction of its own; False where this one had been written already."""
        return self._one_by_one.add(_row(answer, claim.id, run, revision))

    def _add(self, db: sa.Connection, assignment: int, answer: Answer) -> None:
        """Add an answer that no run has brought, after those that there are."""
        count = sa.select(sa.func.count()).where(schema.answers.c.assignment == assignment)
        number = db.execute(
            self._add_answer, _row(answer, assignment, None, db.execute(count).scalar_one() + 1)
        ).scalar()
        status = "answered" if answer.status == "valid" else answer.status
        db.execute(_CLOSE, {"b_id": assignment, "b_status": status, "b_answer": number})

    def spent(self) -> float:
        """Dollars paid so far, by all runs."""
        with self._read() as db:
            return float(db.execute(sa.select(sa.func.coalesce(sa.func.sum(schema.runs.c.cost), 0.0))).scalar_one())

    def counts(self, judges: Sequence[str] | None = None) -> dict[str, int]:
        """How many of the judges' current assignments are open, claimed, answered, missing, failed."""
        a = schema.assignments
        query = sa.select(a.c.status, sa.func.count()).where(a.c.active).group_by(a.c.status)
        if judges is not None:
            query = query.where(a.c.annotator.in_(judges))
        with self._read() as db:
            return {status: int(number) for status, number in db.execute(query)}

    def typical_output(self, judge: str) -> float | None:
        """Mean number of tokens of a judge's replies so far; None with fewer than 20."""
        joined = schema.answers.join(schema.assignments, schema.assignments.c.id == schema.answers.c.assignment)
        query = sa.select(sa.func.avg(schema.answers.c.tokens_out), sa.func.count(schema.answers.c.tokens_out))
        with self._read() as db:
            mean, number = db.execute(query.select_from(joined).where(schema.assignments.c.annotator == judge)).one()
        return float(mean) if number >= 20 else None

    def history(self) -> pl.DataFrame:
        """Every answer ever given, in order, those that no longer count included."""
        a, q, s = schema.assignments, schema.questions, schema.answers
        query = sa.select(
            *(a.c.item, q.c.name.label("criterion"), q.c.version, a.c.annotator, a.c.condition, a.c.repeat),
            *(c for c in s.c if c.name not in ("id", "assignment")),
            sa.and_(a.c.active, q.c.current, a.c.answer == s.c.id).label("counts"),
        )
        joined = s.join(a, a.c.id == s.c.assignment).join(q, q.c.id == a.c.question)
        with self._read() as db:
            rows = [dict(r._mapping) for r in db.execute(query.select_from(joined).order_by(s.c.id))]
        for row in rows:
            row["label"] = None if row["label"] is None else json.dumps(row["label"], ensure_ascii=False)
            row["shown"] = None if row["shown"] is None else json.dumps(row["shown"], ensure_ascii=False)
        return pl.DataFrame(rows, infer_schema_length=None)

    def labels_of_people(self, question: int) -> list[tuple[str, str | None, str | int | float]]:
        """(item, its document, label) for every label that a person gave and that counts."""
        a, i = schema.assignments, schema.items
        joined = a.join(schema.answers, schema.answers.c.id == a.c.answer).join(i, i.c.item == a.c.item)
        joined = joined.join(schema.annotators, schema.annotators.c.annotator == a.c.annotator)
        query = sa.select(i.c.item, i.c.document, schema.answers.c.label).select_from(joined)
        query = query.where(schema.answers.c.status == "valid", a.c.active, i.c.active, a.c.question == question)
        query = query.where(schema.annotators.c.kind == "human")
        with self._read() as db:
            rows = db.execute(query.order_by(i.c.position, a.c.annotator, a.c.id)).all()
        return [(row.item, row.document, row.label) for row in rows]

    def annotations(self) -> Annotations:
        """Every answer that counts, as the one table.

        The latest answer of each current assignment counts. Missing answers, and answers to earlier
        versions of a question or to a judge since changed, are left out and counted in ``reading``.

        Raises
        ------
        StudyError
            While there is no answer with a label.
        """
        from assay.data.annotations import Annotations, Reading

        with self._read() as db:
            questions = {q.id: q.definition for q in _current_questions(db)}
            rows, left_out = _counting(db, questions)
            people = [
                dict(r._mapping) for r in db.execute(sa.select(schema.annotators).where(schema.annotators.c.active))
            ]
            counted = sa.select(schema.items).where(schema.items.c.active, schema.items.c.role.not_in(NOT_COUNTED))
            items = [dict(r._mapping) for r in db.execute(counted)]
            without_item = _setting(db, "labels without item") or 0
            not_kept = _setting(db, "labels' columns not kept") or []
        if not rows:
            raise StudyError(f"{self.where} holds no label yet; ask the judges with: assay judge")
        conditions = list(dict.fromkeys(name for row in rows for name in row["_condition"]))
        frame, notes = with_ensembles(_frame(rows, conditions), conditions, people)
        reading = Reading(source=self.where, rows=len(rows) + sum(left_out.values()), notes=tuple(notes))
        for reason, number in sorted(left_out.items()):
            reading = reading.without(reason, number)
        reading = reading.without("the label is of an item that the study does not have", without_item)
        if not_kept:
            reading = reading.noted(f"the file of labels has {listing(not_kept)} too; those of the items count")
        scales = {q.name: scale_of(q.scale) for q in questions.values()}
        fitting = {name: _fitting(scale, frame, name) for name, scale in scales.items()}
        seen = set(frame["criterion"].to_list())
        return Annotations.from_frame(
            frame,
            scale={name: scale for name, scale in fitting.items() if name in seen},
            conditions=[c for c in conditions if c in frame.columns],
            items=_items_frame(items),
            annotators=_annotators_frame(people),
            reading=reading,
        )


_OF_A_LABEL = ("item", "annotator", "label", "criterion", "repeat", "scale", "order")
"""Columns of the file of labels that say which label it is; others are kept with the answer."""

_KEY = ("item", "question", "annotator", "condition", "repeat")
_CLOSE = (
    sa.update(schema.assignments)
    .where(schema.assignments.c.id == sa.bindparam("b_id"))
    .values(status=sa.bindparam("b_status"), answer=sa.bindparam("b_answer"))
)

_ROW = (
    *("assignment", "request_key", "revision", "status", "label", "reason", "reply", "reasoning", "shown"),
    *("run", "model", "fingerprint", "tokens_in", "tokens_out", "cost", "latency", "answered_at"),
)
_JSON_PLACES = (_ROW.index("label"), _ROW.index("shown"))
_CLOSED = "case new.status when 'valid' then 'answered' else new.status end"

_ADD_SQLITE = f"insert into answers ({', '.join(_ROW)}) values ({', '.join('?' * len(_ROW))}) on conflict do nothing"
_FOLLOW_SQLITE = f"""
create temp trigger answer_arrived after insert on main.answers begin
    update assignments set status = {_CLOSED}, answer = new.id
        where id = new.assignment and new.status <> 'unreadable';
    update runs set cost = cost + new.cost where id = new.run and new.cost > 0;
end"""
_ADD_POSTGRES = f"""
with new as (
    insert into answers ({", ".join(_ROW)})
    values ({", ".join("%s::jsonb" if c in ("label", "shown") else "%s" for c in _ROW)})
    on conflict do nothing returning id, assignment, run, status, cost
), closed as (
    update assignments set status = {_CLOSED}, answer = new.id from new
    where assignments.id = new.assignment and new.status <> 'unreadable'
), charged as (
    update runs set cost = runs.cost + new.cost from new where runs.id = new.run and new.cost > 0
) select id from new"""


def _row(answer: Answer, assignment: int, run: int | None, revision: int) -> dict[str, Any]:
    row = vars(answer) | {"assignment": assignment, "run": run, "revision": revision}
    return row | {"request_key": f"{assignment}:{revision}", "answered_at": time.time()}


class _OneByOne:
    """Answers as they arrive, each in a transaction of its own: one statement, committed as it ends.

    It adds the answer, closes its assignment and charges its run. It goes to the driver as it stands, on
    a connection that is kept: SQLAlchemy takes several times as long to say the same.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._postgres = engine.dialect.name == "postgresql"
        self._statement = _ADD_POSTGRES if self._postgres else _ADD_SQLITE
        self._lock = threading.Lock()
        self._held: sa.PoolProxiedConnection | None = None

    def add(self, row: dict[str, Any]) -> bool:
        """Whether the row was new."""
        values = [row[c] for c in _ROW]
        for place in _JSON_PLACES:
            if values[place] is not None:
                values[place] = json.dumps(values[place])
        assert self._engine.dialect.dbapi is not None
        with self._lock:
            try:
                return bool(self._connection().execute(self._statement, values).rowcount > 0)
            except self._engine.dialect.dbapi.Error as error:
                self._let_go()
                raise sa.exc.DBAPIError("insert into answers", None, error) from error

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock:
            self._let_go()

    def _connection(self) -> Any:
        if self._held is None:
            self._held = self._engine.raw_connection()
            self._held.detach()
            connection: Any = self._held.dbapi_connection
            if self._postgres:
                connection.autocommit = True
            else:
                connection.execute(_FOLLOW_SQLITE)
        return self._held.dbapi_connection

    def _let_go(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)


def canonical(value: Any) -> str:
    """One text for equal values, whatever the order of their keys."""
    return _CANONICAL.encode(value)


def digest_of(value: Any) -> str:
    """A short name for a value, by its content."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:20]


def chance(*parts: Any) -> random.Random:
    """Chance that hangs on what is drawn for, and on nothing else."""
    return random.Random(digest_of(parts))


# -- the database under it --------------------------------------------------------------------------


def _engine(where: str) -> sa.Engine:
    if where.startswith(("postgresql:", "postgres:")):
        from assay.errors import require

        require("psycopg", "postgres", "a study in PostgreSQL")
        url = sa.make_url(where).set(drivername="postgresql+psycopg")
        return sa.create_engine(url, pool_pre_ping=True)
    if "://" in where and not where.startswith("sqlite:"):
        raise StudyError("a store is a file (SQLite) or a postgresql:// URL")
    url = sa.make_url(where) if where.startswith("sqlite:") else sa.URL.create("sqlite", database=where)
    engine = sa.create_engine(url, connect_args={"timeout": 60})

    @sa.event.listens_for(engine, "connect")
    def _settle(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # SQLAlchemy begins and ends transactions, not the driver
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def _begin(db: sa.Connection) -> None:
        options = db.get_execution_options()
        wanted = "FULL" if options.get("assay_full") else "NORMAL"
        if db.info.get("synchronous") != wanted:
            db.exec_driver_sql(f"PRAGMA synchronous={wanted}")
            db.info["synchronous"] = wanted
        # A writer takes its lock at once: two that had both begun by reading could not both go on.
        db.exec_driver_sql("BEGIN IMMEDIATE" if options.get("assay_write") else "BEGIN")

    return engine


def _migrate(db: sa.Connection) -> None:
    """Take the steps that this database has not seen; one process at a time."""
    from alembic.config import Config
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError

    if db.dialect.name == "postgresql":
        db.execute(sa.text("select pg_advisory_xact_lock(7235077)"))
    config = Config(attributes={"connection": db})
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    script = ScriptDirectory.from_config(config)
    at = MigrationContext.configure(db).get_current_revision()
    if at == script.get_current_head():
        return
    try:
        from alembic import command

        command.upgrade(config, "head")
    except CommandError as error:
        raise StudyError(f"the database was made by a newer assay ({error}); upgrade assay") from None


def _host() -> str:
    """This machine since its last start, and this container on it."""
    parts = [socket.gethostname()]
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        try:
            parts.append(str(Path(path).readlink()) if "ns" in path else Path(path).read_text().strip())
        except OSError:
            parts.append("")
    return "/".join(parts)


def _process(pid: int) -> str:
    """A process's number with the moment it began, as numbers are given out again."""
    try:
        return f"{pid}:{Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[19]}"
    except OSError:
        return f"{pid}:"


def _alive(process: str) -> bool:
    """Whether a process of this machine still runs; True where that cannot be told."""
    pid = int(process.partition(":")[0])
    if Path("/proc/self/stat").exists():
        return _process(pid) == process
    if sys.platform == "win32":
        return True  # there, signal 0 would end it; the lease decides
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _setting(db: sa.Connection, key: str) -> Any:
    return db.execute(sa.select(schema.settings.c.value).where(schema.settings.c.key == key)).scalar()


def _chunks(values: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(values)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk


# -- from the folder --------------------------------------------------------------------------------


def _digest_of_study(study: Study) -> str:
    """Of everything that take_in reads."""
    config = study.config
    whole = hashlib.sha256(canonical(config.model_dump(mode="json")).encode())
    checks = None if config.people.checks is None else config.people.checks.file
    for name in (config.items.file, config.labels, config.people.warm_up, checks):
        path = None if name is None else study.folder / name
        if path is not None and path.is_file():
            with path.open("rb") as file:
                whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


def _labels_of_people(study: Study) -> Annotations | None:
    from assay.reading import read

    if study.config.labels is None:
        return None
    scales = {q.name: scale_of(q.scale) for q in study.config.questions}
    path = study.folder / study.config.labels
    try:
        labels = read(path, scale=scales if len(scales) > 1 else next(iter(scales.values())))
    except AssayError as error:
        raise StudyError(f"{error} (study.yaml names {path.name} as the labels that people gave)") from None
    strange = [c for c in labels.criteria if c not in scales]
    if strange:
        raise StudyError(f"{path} has answers to {listing(strange)}; study.yaml asks {listing(list(scales))}")
    if len(scales) > 1 and not labels.criteria:
        raise StudyError(f"{path} must say in a column 'criterion' which question was answered")
    return labels


def _people_of(labels: Annotations) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Annotators of the file of labels, with their kind and what else it says of them."""
    for row in labels.annotators.iter_rows(named=True):
        about = {c: v for c, v in row.items() if c not in ("kind", *_OF_A_LABEL) and v is not None}
        yield row["annotator"], row["kind"], {"attributes": json.loads(canonical(about))} if about else {}


def _current_questions(db: sa.Connection) -> list[AskedQuestion]:
    rows = db.execute(sa.select(schema.questions).where(schema.questions.c.current).order_by(schema.questions.c.id))
    return [AskedQuestion(r.id, r.version, r.digest, Question.model_validate(r.definition)) for r in rows]


# -- to the one table -------------------------------------------------------------------------------


def _counting(db: sa.Connection, questions: dict[int, Question]) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The answers that count as rows, and how many do not, by reason."""
    a, s, i = schema.assignments, schema.answers, schema.items
    query = sa.select(
        *(a.c.item, a.c.annotator, a.c.question, a.c.repeat, a.c.condition, a.c.active),
        *(s.c.label, s.c.status, s.c.reason, s.c.shown, s.c.seconds, i.c.active.label("there"), i.c.role),
    )
    joined = a.join(s, s.c.id == a.c.answer).join(i, i.c.item == a.c.item)
    rows: list[dict[str, Any]] = []
    left_out: dict[str, int] = {}
    for row in db.execute(query.select_from(joined).order_by(i.c.position, a.c.id)):
        why = None
        if not row.there:
            why = "the item is no longer in the study"
        elif row.role in NOT_COUNTED:
            why = NOT_COUNTED[row.role]
        elif row.question not in questions:
            why = "the question has changed since, or is no longer asked"
        elif not row.active:
            why = "the judge, its prompt or the item has changed since"
        elif row.status != "valid":
            why = f"{row.annotator}: {row.reason}"
        if why is not None:
            left_out[why] = left_out.get(why, 0) + 1
            continue
        shown = row.shown or {}
        condition = json.loads(row.condition)
        own = {"item": row.item, "annotator": row.annotator, "label": row.label}
        own |= {"criterion": questions[row.question].name, "repeat": row.repeat, "_condition": condition}
        if "order" in shown:
            own |= {"order": ">".join(shown["order"]), "position": shown.get("position")}
        about = shown.get("about", {}) | ({} if row.seconds is None else {"seconds": row.seconds})
        rows.append(own | condition | {"_about": about} | about)
    return rows, left_out


def _frame(rows: list[dict[str, Any]], conditions: list[str]) -> pl.DataFrame:
    labels = [row["label"] for row in rows]
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in ("item", "annotator", "criterion")}
    if any(isinstance(label, str) for label in labels):
        columns["label"] = [label if isinstance(label, str) else f"{label:g}" for label in labels]
    else:
        columns["label"] = pl.Series(labels, strict=False)
    if any(row["repeat"] > 1 for row in rows):
        columns["repeat"] = [row["repeat"] for row in rows]
    shown = ["order", "position"] if any("order" in row for row in rows) else []
    about = [name for row in rows for name in row["_about"]]
    for name in dict.fromkeys([*conditions, *shown, *about]):
        columns[name] = pl.Series([row.get(name) for row in rows], strict=False)
    return pl.DataFrame(columns)


def _fitting(scale: Scale, frame: pl.DataFrame, criterion: str) -> Scale:
    """The question's scale, or one that also holds labels given on other scales and means of labels."""
    labels = frame.filter(pl.col("criterion") == criterion)
    if labels.height == 0 or not scale.numeric or "scale" not in frame.columns:
        off = labels.height and not scale.valid(labels["label"]).all()
        if off and scale.bounds is not None and labels["label"].dtype.is_numeric():
            return Interval(*scale.bounds)
        return Nominal() if off else scale
    given = [parse_scale(s) for s in labels["scale"].drop_nulls().unique().to_list()]
    bounds = [one.bounds for one in given if one.bounds is not None]
    if len(bounds) < len(given) or not given:
        return Interval() if given else scale
    return Interval(min(low for low, _ in bounds), max(high for _, high in bounds))


def _items_frame(items: list[dict[str, Any]]) -> pl.DataFrame:
    """One row an item: its columns, lists and objects among them left as JSON text."""
    names = dict.fromkeys(name for item in items for name in item["fields"] if name not in ("item", "document"))
    columns: dict[str, Any] = {"item": [item["item"] for item in items]}
    if any(item["document"] is not None for item in items):
        columns["document"] = [item["document"] for item in items]
    for name in names:
        values = [item["fields"].get(name) for item in items]
        plain = [canonical(v) if isinstance(v, list | dict) else v for v in values]
        kinds = {type(v) for v in plain if v is not None}
        mixed = len(kinds) > 1 and not kinds <= {int, float}
        columns[name] = pl.Series([str(v) if mixed and v is not None else v for v in plain], strict=False)
    return pl.DataFrame(columns)


def _annotators_frame(people: list[dict[str, Any]]) -> pl.DataFrame:
    about = ("model", "provider", "strategy", "attributes")
    rows = []
    for person in people:
        definition = person["definition"]
        row = {"annotator": person["annotator"], "kind": person["kind"]}
        row |= {name: definition[name] for name in about[:3] if definition.get(name)}
        if definition.get("strategy") == "few-shot":
            row["demonstrations"] = definition["demonstrations"]["use"]
        if "of" in definition:
            row["strategy"] = f"{definition['rule']} of {', '.join(definition['of'])}"
        rows.append(row | definition.get("attributes", {}))
    return pl.DataFrame(rows, infer_schema_length=None)
