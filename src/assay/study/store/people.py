"""Who answers: annotators, the people who were invited, and the tasks that lie before them."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from assay.errors import StudyError, unknown
from assay.study.schema import Outcome
from assay.study.store import tables
from assay.study.store.connection import Store, batches, connect, put_setting, setting, upsert

# -- annotators --------------------------------------------------------------------------------------

WRITES = {"writes": True}
"""The definition of a system: a model whose outputs are compared, and which does not judge."""


def kind_of(db: sa.Connection, name: str) -> str | None:
    """Return whether an annotator is a human or a judge; None for an unknown name."""
    n = tables.annotators.c
    return db.execute(sa.select(n.kind).where(n.annotator == name)).scalar()


def put_annotators(db: sa.Connection, rows: Iterable[tuple[str, str, dict[str, Any]]]) -> None:
    """Add annotators (name, kind, definition), or change those of the same name and kind."""
    for name, kind, definition in rows:
        known = kind_of(db, name)
        if known is not None and known != kind:
            raise StudyError(f"'{name}' is the name of a {known} already; call the {kind} something else")
        row = {"annotator": name, "kind": kind, "definition": definition, "active": True}
        upsert(db, tables.annotators, ["annotator"], ["kind", "definition", "active"], [row])


def is_excluded(name: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Return whether the answers of this annotator must not count: excluded, or an adjudicator."""
    p = tables.people.c
    return name.in_(sa.select(p.annotator).where(sa.or_(p.excluded_at.is_not(None), p.role == ADJUDICATOR)))


def left_out(people: Iterable[Person]) -> list[str]:
    """Return the names for which `is_excluded` is true."""
    return [one.name for one in people if one.excluded_at is not None or one.role == ADJUDICATOR]


def retire_judges(db: sa.Connection) -> None:
    """Let no judge count until it is named again."""
    n = tables.annotators
    db.execute(sa.update(n).where(n.c.kind == "judge").values(active=False))


def active_annotators(db: sa.Connection) -> list[dict[str, Any]]:
    """All annotators who count now, with their definitions."""
    n = tables.annotators
    return [dict(row._mapping) for row in db.execute(sa.select(n).where(n.c.active))]


# -- people who may answer ---------------------------------------------------------------------------

State = Literal["active", "paused", "revoked"]

ADJUDICATOR = "adjudicator"
"""The role of a person who decides between the answers of others; the decisions are stored separately."""

ADJUDICATION = "(adjudication)"
"""The group of an adjudicator's tasks, which do not count toward any group."""


@dataclass(frozen=True)
class Person:
    """An invited annotator."""

    name: str
    attributes: Mapping[str, Any]
    link: int
    """How many links they have had; only the last is good."""
    state: State
    consented_to: str | None
    """Digest of the text that they agreed to."""
    closed: int = 0
    """Answers on pages up to this one are final and no longer displayed."""
    excluded_at: float | None = None
    """Since when their answers do not count; None if they do."""
    excluded_for: str = ""
    """Why."""
    role: str = "annotator"
    invited_at: float = 0.0


def add_people(store: Store, people: Mapping[str, Mapping[str, Any]], role: str = "annotator") -> None:
    """Add people who can answer, by name with their attributes: all of them, or none.

    Raises
    ------
    StudyError
        For a name that is in use: by a judge, by labels in a file, or by another invited person.
    """
    with store.exclusive() as db:
        for name, attributes in people.items():
            _check_free(db, name)
            put_annotators(db, [(name, "human", {"attributes": dict(attributes)} if attributes else {})])
            row = {"annotator": name, "link": 1, "state": "active", "invited_at": store.now(db), "role": role}
            db.execute(sa.insert(tables.people), row)


def _check_free(db: sa.Connection, name: str) -> None:
    a = tables.assignments.c
    if kind_of(db, name) == "judge":
        raise StudyError(f"'{name}' is the name of a judge; call the person something else")
    if name in invited_names(db):
        raise StudyError(f"'{name}' is invited already; choose another name, or make a new link on the lead's page")
    shape = name_shape(name)
    if (alike := next((one for one in invited_names(db) if name_shape(one) == shape), None)) is not None:
        how = "case" if alike.casefold() == name.casefold() else "case, spaces or letters that look the same"
        raise StudyError(
            f"'{name}' differs only in {how} from '{alike}', who is invited already; write '{alike}' if it is the same "
            "person, otherwise choose a clearly different name"
        )
    if db.execute(sa.select(a.id).where(a.annotator == name).limit(1)).first() is not None:
        raise StudyError(f"'{name}' has labels in the file of labels; choose another name for the page")


_SAME_LOOK = str.maketrans(
    "АВЕЅІЈКМНОРСТУХҺаеѕіјорсухһΑΒΕΖΗΙΚΜΝΟΡΤΥΧο",
    "ABESIJKMHOPCTYXhaesijopcyxhABEZHIKMNOPTYXo",
)
"""Cyrillic and Greek letters that look like Latin ones in most fonts."""


def name_shape(name: str) -> str:
    """Return a name without case and spaces, and with look-alike letters of other scripts as Latin ones.

    Examples
    --------
    >>> name_shape("P 01") == name_shape("p01") == name_shape("\u042001")  # a Cyrillic letter
    True
    """
    plain = unicodedata.normalize("NFKC", name).translate(_SAME_LOOK)
    return "".join(plain.split()).casefold()


def set_state(store: Store, name: str, state: State) -> None:
    """Activate a person, pause them, or end their link permanently, which frees their places at once."""
    with store.exclusive() as db:
        person = invited_person(db, name)
        if state != "revoked":
            _check_counts(person)
        _change(db, name, state=state)
        if state == "revoked":
            _free_places(db, tables.tasks.c.annotator == name, store.now(db))


def free_places_of(db: sa.Connection, name: str, now: float) -> None:
    """Free the places that a person holds."""
    _free_places(db, tables.tasks.c.annotator == name, now)


def _free_places(db: sa.Connection, whose: sa.ColumnElement[bool], now: float) -> None:
    """Free the places that people hold; on their return they get them back if they are still free."""
    db.execute(sa.update(tables.tasks).where(whose, held(now)).values(state="given", expires_at=now))


def new_link(store: Store, name: str) -> Person:
    """A new link for a person, who is let in again if theirs was ended; those before it open nothing any more."""
    with store.exclusive() as db:
        person = invited_person(db, name)
        _check_counts(person)
        _change(db, name, link=person.link + 1, state="active" if person.state == "revoked" else person.state)
        return invited_person(db, name)


def _check_counts(person: Person) -> None:
    if person.excluded_at is not None:
        raise StudyError(
            f"'{person.name}' is excluded, so new answers would not count; include their answers again first"
        )


def _change(db: sa.Connection, name: str, **columns: Any) -> None:
    p = tables.people
    db.execute(sa.update(p).where(p.c.annotator == name).values(columns))


# -- whose answers do not count, and whose are gone --------------------------------------------------

ERASED = "erased"
"""The setting with the time of an erasure and the number of erased answers, without the name."""


def exclude(store: Store, name: str, reason: str = "", *, end_link: bool = True) -> int:
    """Exclude a person's answers: the record is kept, their places are free, their link is ended.

    Parameters
    ----------
    end_link : bool
        False for a person who still has to read how their visit ended.

    Returns
    -------
    int
        How many labels of theirs counted so far.
    """
    with store.exclusive() as db:
        person = invited_person(db, name)
        if person.excluded_at is None:
            _change(db, name, excluded_at=store.now(db), excluded_for=reason)
            if end_link:
                _change(db, name, state="revoked")
                _free_places(db, tables.tasks.c.annotator == name, store.now(db))
        elif reason:
            _change(db, name, excluded_for=reason)
        return _n_labels(db, name)


def readmit(store: Store, name: str) -> int:
    """Include an excluded person's answers again; their link stays ended.

    Returns
    -------
    int
        How many labels of theirs count again.
    """
    with store.exclusive() as db:
        if invited_person(db, name).excluded_at is None:
            raise StudyError(f"'{name}' is not excluded")
        _change(db, name, excluded_at=None, excluded_for=None)
        return _n_labels(db, name)


def _n_labels(db: sa.Connection, name: str) -> int:
    query = sa.select(sa.func.count()).select_from(tables.LATEST)
    mine = (tables.assignments.c.annotator == name, tables.answers.c.status == "valid")
    return int(db.execute(query.where(*mine)).scalar_one())


def erase(store: Store, name: str) -> int:
    """Remove a person and all their answers permanently, as the law may require; this cannot be undone.

    The record keeps that a person was erased, when, and the number of erased answers.

    Returns
    -------
    int
        How many answers, all revisions counted.
    """
    t, d, a, s = tables.tasks, tables.drafts, tables.assignments, tables.answers
    with store.exclusive() as db:
        invited_person(db, name)
        tasks = sa.select(t.c.id).where(t.c.annotator == name)
        assignments = sa.select(a.c.id).where(a.c.annotator == name)
        db.execute(sa.delete(d).where(d.c.task.in_(tasks)))
        number = db.execute(sa.delete(s).where(s.c.assignment.in_(assignments))).rowcount
        for table in (t, a, tables.people, tables.annotators):
            db.execute(sa.delete(table).where(table.c.annotator == name))
        for table in (tables.visits, tables.replies, tables.messages):
            db.execute(sa.delete(table).where(table.c.person == name))
        _forget_in_events(db, name)
        entry = {"erased_at": store.now(db), "answers": number}
        put_setting(db, ERASED, [*(setting(db, ERASED) or []), entry])
    store.overwrite_deleted()
    return number


def _forget_in_events(db: sa.Connection, name: str) -> None:
    """Remove what events say about a person; that they happened is kept."""
    e = tables.events
    for number, about in db.execute(sa.select(e.c.id, e.c.about)).all():
        if about.get("person") == name:
            db.execute(sa.update(e).where(e.c.id == number).values(about={}))


# -- attributes, consents ----------------------------------------------------------------------------


CONSENTS = "consents"
"""The setting with each consented text, by its digest, with the time of the first consent."""


def consent(store: Store, name: str, digest: str, text: str) -> None:
    """Keep that a person has agreed to the text of this digest, and the text."""
    p = tables.people
    with store.exclusive() as db:
        now = store.now(db)
        texts = setting(db, CONSENTS) or {}
        if digest not in texts:
            put_setting(db, CONSENTS, texts | {digest: {"text": text, "first_agreed_at": now}})
        agreed = {"consented_at": now, "consented_to": digest}
        db.execute(sa.update(p).where(p.c.annotator == name).values(agreed))


def closed_up_to(db: sa.Connection, name: str) -> int:
    """Up to which page a person's answers are closed to them."""
    return int(db.execute(_CLOSED, {"name": name}).scalar() or 0)


def close_pages(db: sa.Connection, name: str, up_to: int) -> None:
    """Make a person's answers up to this page final. Pages never become open again by it."""
    db.execute(_CLOSE_PAGES, {"name": name, "up_to": up_to})


_NAMED = tables.people.c.annotator == sa.bindparam("name")
_CLOSED = sa.select(tables.people.c.closed).where(_NAMED)
_UP_TO = sa.bindparam("up_to", type_=sa.Integer)
_CLOSE_PAGES = sa.update(tables.people).where(_NAMED, tables.people.c.closed < _UP_TO).values(closed=_UP_TO)


def find(source: Store | sa.Connection, name: str) -> Person | None:
    """Return a person by name; None if no one of that name is invited."""
    with connect(source) as db:
        row = db.execute(_PERSON, {"name": name}).first()
    return None if row is None else _person(row)


def invited_person(source: Store | sa.Connection, name: str) -> Person:
    """Return a person by name; raise if no one of that name is invited."""
    with connect(source) as db:
        person = find(db, name)
        if person is None:
            raise StudyError(unknown("person", name, sorted(invited_names(db)), "the people who are invited"))
        return person


def all_people(source: Store | sa.Connection) -> list[Person]:
    """All who were invited, in the order of their invitations."""
    p = tables.people.c
    with connect(source) as db:
        return [_person(row) for row in db.execute(_PEOPLE.order_by(p.invited_at, p.annotator))]


def number_active(db: sa.Connection) -> int:
    """Return the number of annotators who can answer: active, not excluded, no adjudicators."""
    p = tables.people.c
    wanted = (p.state == "active") & p.excluded_at.is_(None) & (p.role != ADJUDICATOR)
    return int(db.execute(sa.select(sa.func.count()).where(wanted)).scalar_one())


def invited_names(db: sa.Connection) -> set[str]:
    """The names of all who were invited."""
    return set(db.execute(sa.select(tables.people.c.annotator)).scalars())


_PEOPLE = sa.select(
    *(tables.people.c.annotator, tables.people.c.link, tables.people.c.state, tables.people.c.consented_to),
    *(tables.people.c.closed, tables.people.c.excluded_at, tables.people.c.excluded_for, tables.people.c.role),
    *(tables.people.c.invited_at, tables.annotators.c.definition),
).select_from(tables.people.join(tables.annotators, tables.annotators.c.annotator == tables.people.c.annotator))

_PERSON = _PEOPLE.where(_NAMED)


def _person(row: Any) -> Person:
    attributes = (row.definition or {}).get("attributes", {})
    known = (row.link, row.state, row.consented_to, row.closed, row.excluded_at, row.excluded_for or "", row.role)
    return Person(row.annotator, attributes, *known, row.invited_at)


# -- who came from a crowd: each of them once ---------------------------------------------------------


@dataclass(frozen=True)
class Visit:
    """A participant who came.

    Attributes
    ----------
    person : str
        Their id on the platform; their name as an annotator, if they were admitted.
    given : dict
        The other parameters that they came with.
    came_at, ended_at : float
        Seconds since 1970.
    screening : str, optional
        Their answer to the screening question.
    outcome : str, optional
        How it ended; None while they are at work.
    """

    person: str
    given: Mapping[str, str]
    came_at: float
    screening: str | None = None
    outcome: Outcome | None = None
    ended_at: float | None = None


def visit_of(db: sa.Connection, person: str) -> Visit | None:
    """Return the visit of a person; None if they never came, or were invited by name."""
    row = db.execute(sa.select(tables.visits).where(tables.visits.c.person == person)).first()
    return None if row is None else Visit(**row._mapping)


def all_visits(db: sa.Connection) -> list[Visit]:
    """All participants who came, in order."""
    v = tables.visits.c
    rows = db.execute(sa.select(tables.visits).order_by(v.came_at, v.person))
    return [Visit(**row._mapping) for row in rows]


def put_visit(db: sa.Connection, visit: Visit) -> None:
    """Store a visit, replacing the earlier record of this person."""
    columns = [name for name in vars(visit) if name != "person"]
    upsert(db, tables.visits, ["person"], columns, [dict(vars(visit))])


def end_visit(db: sa.Connection, person: str, outcome: Outcome, now: float) -> None:
    """Record the outcome of a visit that has not ended; the person's places become free."""
    v = tables.visits
    db.execute(sa.update(v).where(v.c.person == person, v.c.outcome.is_(None)).values(outcome=outcome, ended_at=now))
    _free_places(db, tables.tasks.c.annotator == person, now)


def end_late_visits(db: sa.Connection, minutes: float, now: float) -> None:
    """End the visits of all whose time is over: at the moment at which it was."""
    v = tables.visits
    late = sa.and_(v.c.outcome.is_(None), v.c.came_at <= now - 60 * minutes)
    _free_places(db, tables.tasks.c.annotator.in_(sa.select(v.c.person).where(late)), now)
    db.execute(sa.update(v).where(late).values(outcome="late", ended_at=v.c.came_at + 60 * minutes))


def places_in_use(db: sa.Connection) -> int:
    """How many people from the crowd are at work or have finished, and were not excluded or sent away since."""
    v, p = tables.visits.c, tables.people.c
    joined = tables.visits.join(tables.people, p.annotator == v.person)
    here = sa.or_(v.outcome == "completed", sa.and_(v.outcome.is_(None), p.state != "revoked"))
    query = sa.select(sa.func.count()).select_from(joined).where(here, p.excluded_at.is_(None))
    return int(db.execute(query).scalar_one())


# -- what people answered about themselves -----------------------------------------------------------


@dataclass(frozen=True)
class PersonReply:
    """One try of a person to answer the questions about themselves.

    Attributes
    ----------
    person : str
    number : int
        The number of the reply, from 1.
    stage : str
        When it was asked, see `assay.study.person_questions.Stage`.
    given : dict
        The answers, by the name of the question.
    wrong : tuple of str
        The questions whose answers are wrong.
    at : float
        Seconds since 1970.
    """

    person: str
    number: int
    stage: str
    given: Mapping[str, Any]
    wrong: tuple[str, ...]
    at: float


def replies_of(db: sa.Connection, person: str | None = None) -> list[PersonReply]:
    """Return the replies of a person, or of all people, in order."""
    r = tables.replies
    query = sa.select(r).order_by(r.c.person, r.c.number)
    rows = db.execute(query if person is None else query.where(r.c.person == person))
    return [PersonReply(row.person, row.number, row.stage, row.given, tuple(row.wrong), row.at) for row in rows]


def put_reply(db: sa.Connection, reply: PersonReply, attributes: Mapping[str, Any]) -> None:
    """Store a reply; these answers become attributes of the person."""
    db.execute(sa.insert(tables.replies), vars(reply) | {"given": dict(reply.given), "wrong": list(reply.wrong)})
    if attributes:
        n = tables.annotators
        mine = n.c.annotator == reply.person
        definition = db.execute(sa.select(n.c.definition).where(mine)).scalar() or {}
        whole = definition | {"attributes": {**definition.get("attributes", {}), **attributes}}
        db.execute(sa.update(n).where(mine).values(definition=whole))


# -- tasks -------------------------------------------------------------------------------------------
# The functions here work within the caller's transaction: a caller that reads others' places before giving an item
# writes it in the same `Store.exclusive`.

Task = Any
"""A row of the tasks."""

ADDED = "addition"
"""The role of a task that puts questions that were added, alone, to an item that its person answered before."""


def question_sets(db: sa.Connection) -> list[str]:
    """With which questions whole items were ever given: the `questions` of their tasks."""
    t = tables.tasks.c
    return list(db.execute(sa.select(t.questions).where(t.role != ADDED).distinct()).scalars())


def answered_with(db: sa.Connection, questions: Collection[str]) -> list[tuple[str, str, int]]:
    """(questions, role, number) of the items answered with each of these sets, checks and second times apart."""
    t = tables.tasks.c
    query = sa.select(t.questions, t.role, sa.func.count()).where(
        t.state == "answered", t.repeat == 1, t.role.in_(("item", "triplet", ADDED)), sa.not_(is_excluded(t.annotator))
    )
    query = query.where(sa.or_(t.role == ADDED, t.questions.in_(questions)))
    return [(asked, role, int(n)) for asked, role, n in db.execute(query.group_by(t.questions, t.role))]


@dataclass(frozen=True)
class Slot:
    """Tasks that are counted together: of one session, and of one group, or of these people in any group.

    Attributes
    ----------
    questions : tuple of str
        Each names questions in their versions, with which the tasks were given.
    condition : str
        The experimental condition, such as the scale of a session.
    party : str
        The group of people; empty if there are no groups.
    people : list of str, optional
    """

    questions: tuple[str, ...]
    condition: str
    party: str = ""
    people: Collection[str] | None = None

    @property
    def tasks(self) -> sa.ColumnElement[bool]:
        """Those of its tasks that may count: not what came a second time, came too late, or is of the excluded."""
        t = tables.tasks.c
        who = t.party == self.party if self.people is None else t.annotator.in_(self.people)
        return _counts_clause(_first_given(self.questions, self.condition), who)


def _first_given(questions: Any, condition: Any) -> sa.ColumnElement[bool]:
    """Tasks of a session, with these questions, the first time that each item was given."""
    t = tables.tasks.c
    return sa.and_(t.questions.in_(questions), t.condition == condition, t.repeat == 1)


def _counts_clause(given: sa.ColumnElement[bool], who: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Of these people's, without what came too late or is of the excluded."""
    t = tables.tasks.c
    return sa.and_(given, who, t.role != ADDED, sa.not_(t.extra), sa.not_(is_excluded(t.annotator)))


def held(now: float | sa.BindParameter[float]) -> sa.ColumnElement[bool]:
    """Whether a task is held at this moment: open again, or given and not yet expired."""
    t = tables.tasks.c
    return sa.or_(t.state == "reopened", sa.and_(t.state == "given", t.expires_at > now))


def _takes_place(now: float | sa.BindParameter[float]) -> sa.ColumnElement[bool]:
    """Whether a task takes a place of its item: answered, or held."""
    return sa.or_(tables.tasks.c.state == "answered", held(now))


# -- the places of an item, of which a person takes one -------------------------------------------------
# Asked whenever a page is given, with the lock held, so the statements are made once.

_T = tables.tasks.c
_HERE = _first_given(sa.bindparam("asked"), sa.bindparam("of_condition"))
_IN_SLOT = _counts_clause(_HERE, _T.party == sa.bindparam("of_party"))
_TAKES_PLACE = _takes_place(sa.bindparam("now", type_=sa.Float))
_NUMBER = sa.func.count()
_LISTED = _T.item.in_(sa.bindparam("items"))
_TAKEN = sa.select(_T.item, _NUMBER).where(_LISTED, _IN_SLOT, _TAKES_PLACE).group_by(_T.item)
_OTHERS = sa.select(_NUMBER).where(
    _T.item == sa.bindparam("of_item"), _IN_SLOT, _T.id != sa.bindparam("task"), _TAKES_PLACE
)
_ENOUGH = sa.select(_T.item).where(_LISTED, _IN_SLOT, _T.state == "answered")
_ENOUGH = _ENOUGH.group_by(_T.item).having(sa.bindparam("wanted", type_=sa.Integer) <= _NUMBER)
_GIVEN_AT_FIRST = sa.and_(_HERE, _T.role == "item")
"""The first time that items were given in the slot's session, to people of any group."""
_BY_ITEM = sa.select(_T.item, _NUMBER).where(_GIVEN_AT_FIRST, _IN_SLOT, _TAKES_PLACE).group_by(_T.item)
_BY_PERSON = sa.select(_T.annotator, _NUMBER).where(_GIVEN_AT_FIRST).group_by(_T.annotator)
_LAPSED = sa.select(_T.annotator, _T.item).where(
    *(_GIVEN_AT_FIRST, _IN_SLOT, _T.state == "given", _T.expires_at <= sa.bindparam("now", type_=sa.Float))
)
_NEWEST_TASK = sa.select(sa.func.max(_T.id))
_HAD = sa.select(_T.annotator, _T.item).where(*(_GIVEN_AT_FIRST, _LISTED, _T.annotator.in_(sa.bindparam("people"))))
_BACK = sa.select(sa.func.min(_T.expires_at)).where(
    *(_IN_SLOT, _T.state == "given", _T.expires_at > sa.bindparam("now", type_=sa.Float)),
    *(_T.annotator != sa.bindparam("person"), _T.role.in_(("item", "triplet"))),
    _T.item.not_in(
        sa.select(_T.item).where(_T.annotator == sa.bindparam("person"), _T.condition == sa.bindparam("of_condition"))
    ),
)


def _places(slot: Slot, **more: Any) -> dict[str, Any]:
    """The parameters of the statements above."""
    assert slot.people is None
    return {"asked": slot.questions, "of_condition": slot.condition, "of_party": slot.party, **more}


def places_taken(db: sa.Connection, slot: Slot, items: Collection[str], now: float) -> dict[str, int]:
    """How many places of each item are taken, by item; items without one are not in it."""
    return {item: int(number) for item, number in db.execute(_TAKEN, _places(slot, now=now, items=list(items)))}


def places_of_others(db: sa.Connection, slot: Slot, task: Task, now: float) -> int:
    """How many places of a task's item other tasks of the slot take."""
    return int(db.execute(_OTHERS, _places(slot, now=now, of_item=task.item, task=task.id)).scalar_one())


def answered_enough(db: sa.Connection, slot: Slot, items: Collection[str], wanted: int) -> list[str]:
    """The items that have all the answers that are wanted."""
    return list(db.execute(_ENOUGH, _places(slot, items=list(items), wanted=wanted)).scalars())


def all_places_taken(db: sa.Connection, slot: Slot, now: float) -> dict[str, int]:
    """The same for all items, without any others that are given; reads all tasks."""
    return {item: int(number) for item, number in db.execute(_BY_ITEM, _places(slot, now=now))}


def count_given(db: sa.Connection, slot: Slot) -> dict[str, int]:
    """How many items each person of any group has been given in the slot's session; reads all tasks."""
    return {name: int(number) for name, number in db.execute(_BY_PERSON, _places(slot))}


def items_had(
    db: sa.Connection, slot: Slot, items: Collection[str], people: Collection[str]
) -> Iterator[tuple[str, str]]:
    """(person, item) for those of these items that these people were given."""
    for chunk in batches(items):
        asked = _places(slot, items=chunk, people=list(people))
        yield from ((person, item) for person, item in db.execute(_HAD, asked))


def lapsed_tasks(db: sa.Connection, slot: Slot, now: float) -> list[tuple[str, str]]:
    """(person, item) for those that were given and left until their time was over; reads all tasks."""
    return [(name, item) for name, item in db.execute(_LAPSED, _places(slot, now=now))]


def newest_task(db: sa.Connection) -> int:
    """Return the number of the last task, as tasks are numbered in order; 0 if there is none."""
    return int(db.execute(_NEWEST_TASK).scalar() or 0)


def soonest_back(db: sa.Connection, slot: Slot, person: str, now: float) -> float | None:
    """When the first place that others hold, on an item that this person has not had, may come back."""
    found: float | None = db.execute(_BACK, _places(slot, now=now, person=person)).scalar()
    return found


# -- adjudication ------------------------------------------------------------------------------------


def adjudicated_items(db: sa.Connection, condition: str | None = None, held_at: float | None = None) -> set[str]:
    """Items that an adjudicator has decided; with ``held_at``, also those that lie before one at this moment."""
    t = tables.tasks.c
    done = t.state == "answered" if held_at is None else sa.or_(t.state == "answered", held(held_at))
    p = tables.people.c
    theirs = t.annotator.in_(sa.select(p.annotator).where(p.role == ADJUDICATOR))
    query = sa.select(t.item).where(theirs, done).distinct()
    query = query if condition is None else query.where(t.condition == condition)
    return set(db.execute(query).scalars())


# -- triplets ----------------------------------------------------------------------------------------


def triplets_drawn(db: sa.Connection, since: int) -> list[tuple[int, list[str]]]:
    """(position, names of its items) of each triplet or pair drawn at this position or later, in order."""
    i = tables.items.c
    query = sa.select(i.position, i.known).where(i.role == "triplet", i.active, i.position >= since)
    query = query.order_by(i.position)
    return [(row.position, row.known["members"]) for row in db.execute(query).all()]


def triplet_in_need(
    db: sa.Connection, questions: Collection[str], party: str, person: str, wanted: int, now: float
) -> str | None:
    """Return the first triplet with missing answers of a group and without an answer of this person; None if there is
    none."""
    i, t = tables.items.c, tables.tasks.c
    mine = sa.select(t.item).where(t.annotator == person)
    taken = (
        sa.select(sa.func.count())
        .where(t.item == i.item, t.questions.in_(questions), t.party == party)
        .where(t.role != ADDED, t.repeat == 1, sa.not_(t.extra), sa.not_(is_excluded(t.annotator)), _takes_place(now))
        .scalar_subquery()
    )
    lacking = sa.select(i.item).where(i.role == "triplet", i.active, i.item.not_in(mine), taken < wanted)
    found: str | None = db.execute(lacking.order_by(i.position).limit(1)).scalar()
    return found


# -- one person's tasks ------------------------------------------------------------------------------


def is_closed(task: Task, closed: int) -> bool:
    """Return whether a person's answer to a task is final, with pages closed up to this one.

    Unanswered tasks, and those that the lead returned, can be answered.
    """
    return bool(task.page <= closed and task.state in ("answered", "skipped"))


def task_by_id(db: sa.Connection, number: int, person: str | None = None) -> Task | None:
    """Return a task if it is this person's; otherwise None."""
    row = db.execute(_TASK, {"number": number}).first()
    return row if row is None or person is None or row.annotator == person else None


def tasks_of(db: sa.Connection, person: str) -> list[Task]:
    """Return all tasks of a person, in order, without the displayed content."""
    return list(db.execute(_TASKS, {"person": person}))


_TASK = sa.select(tables.tasks).where(_T.id == sa.bindparam("number"))
_TASKS = sa.select(
    *(_T.id, _T.item, _T.questions, _T.condition, _T.repeat, _T.role, _T.party, _T.session, _T.page, _T.place),
    *(_T.state, _T.extra, _T.expires_at, _T.closed_at),
)
_TASKS = _TASKS.where(_T.annotator == sa.bindparam("person")).order_by(_T.place)
_ON_PAGES = sa.select(tables.tasks).where(_T.annotator == sa.bindparam("person"), _T.page.in_(sa.bindparam("pages")))
_ON_PAGES = _ON_PAGES.order_by(_T.place)
_DRAFTS = sa.select(tables.drafts).where(tables.drafts.c.task.in_(sa.bindparam("numbers")))
_STATES = sa.select(_T.state, _NUMBER).where(
    *(_T.annotator == sa.bindparam("person"), _T.questions.in_(sa.bindparam("asked"))),
    *(_T.condition == sa.bindparam("of_condition"), _T.role.not_in(("warm-up", ADDED))),
)
_STATES = _STATES.group_by(_T.state)
_SET_TASK = sa.update(tables.tasks).where(_T.id == sa.bindparam("number"))
_DROP_DRAFT = sa.delete(tables.drafts).where(tables.drafts.c.task == sa.bindparam("number"))


def tasks_on_pages(db: sa.Connection, person: str, pages: Sequence[int]) -> list[Task]:
    """A person's tasks on these pages, in the order of their places."""
    return list(db.execute(_ON_PAGES, {"person": person, "pages": list(pages)}).all())


def states_of(db: sa.Connection, person: str, questions: Collection[str], condition: str) -> dict[str, int]:
    """How many tasks of a session a person has in each state, without practice."""
    asked = {"person": person, "asked": list(questions), "of_condition": condition}
    return {state: int(number) for state, number in db.execute(_STATES, asked)}


def give(db: sa.Connection, rows: list[dict[str, Any]]) -> None:
    """Give items to a person."""
    db.execute(sa.insert(tables.tasks), rows)


def renew(db: sa.Connection, numbers: Sequence[int], until: float, older_than: float) -> None:
    """Extend tasks until a time, if they would expire earlier than ``older_than``."""
    t = tables.tasks
    db.execute(sa.update(t).where(t.c.id.in_(numbers), t.c.expires_at < older_than).values(expires_at=until))


def tasks_with_old_text(db: sa.Connection) -> list[Task]:
    """Tasks that were given with another text than their item has now; of those that were skipped, none."""
    t, i = tables.tasks, tables.items
    labelled = i.c.role.in_(("item", "source", "output"))
    now = sa.and_(i.c.item == t.c.item, i.c.active, labelled, t.c.shown["item"].as_string() != i.c.digest)
    query = sa.select(t).select_from(t.join(i, now)).where(t.c.state != "skipped")
    return list(db.execute(query.order_by(t.c.id)).all())


def show_item(db: sa.Connection, task: Task, digest: str) -> None:
    """Give a task to its person again, with the current content of the item."""
    t = tables.tasks
    state = "given" if task.state == "given" else "reopened"
    about = {"shown": task.shown | {"item": digest}, "state": state, "closed_at": None}
    db.execute(sa.update(t).where(t.c.id == task.id).values(about))


def set_task_state(db: sa.Connection, number: int, state: str, *, extra: bool, closed_at: float | None) -> None:
    """Record that a task was answered or skipped, or reopened."""
    db.execute(_SET_TASK, {"number": number, "state": state, "closed_at": closed_at, "extra": extra})


# -- drafts --------------------------------------------------------------------------------------------


def put_draft(db: sa.Connection, task: int, revision: int, body: Mapping[str, Any], now: float) -> None:
    """Store a draft, replacing the earlier one."""
    row = {"task": task, "revision": revision, "body": body, "kept_at": now}
    upsert(db, tables.drafts, ["task"], ["revision", "body", "kept_at"], [row])


def drop_draft(db: sa.Connection, task: int) -> None:
    """Delete a draft."""
    db.execute(_DROP_DRAFT, {"number": task})


def drafts_of(db: sa.Connection, tasks: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return the drafts, by task."""
    rows = db.execute(_DRAFTS, {"numbers": list(tasks)})
    return {row.task: {"revision": row.revision, "at": row.kept_at, "body": row.body} for row in rows}
