"""Participants from a crowd platform: slots, the screening question, completion codes, return links and payment.

A visit begins when a participant arrives and ends once, with an outcome (`assay.study.schema.Outcome`). All decisions
are made in an exclusive transaction, so that the last slot is given to one participant only.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from assay.collecting.assignment import PAUSED, End, HeldPages, failed_checks, stop_reasons
from assay.collecting.design import StudyDesign
from assay.collecting.invitations import LONGEST_NAME, secret_of
from assay.collecting.languages import Said
from assay.collecting.questionnaire import read_reply
from assay.collecting.serving import PERSON_COOKIE, AppState, FormAnswers, Invited, Refused, Shared
from assay.errors import StudyError, require
from assay.study.items import canonical
from assay.study.schema import Crowd, Outcome, Pay
from assay.study.store import people as store_people
from assay.study.store import table
from assay.study.store.connection import Connection, Store
from assay.study.store.people import (
    ADJUDICATOR,
    Person,
    Visit,
    all_people,
    all_visits,
    end_late_visits,
    end_visit,
    find,
    invited_person,
    places_in_use,
    put_visit,
    visit_of,
)

if TYPE_CHECKING:
    from polars import DataFrame

OUTCOMES: dict[Outcome, tuple[Said, Said]] = {
    "completed": (Said("You have finished"), Said("Everything is saved. Thank you!")),
    "screened": (Said("Thank you for your interest"), Said("This study is looking for other participants.")),
    "full": (
        Said("No places left"),
        Said("All places in this study are taken. Thank you for your interest."),
    ),
    "failed": (
        Said("Thank you for your time"),
        Said(
            "You will not receive further items in this study: too many of your answers to items or questions "
            "with a known answer were wrong."
        ),
    ),
    "late": (
        Said("Your time for this study has ended"),
        Said(
            "The time limit has passed, and your place in this study is no longer reserved. Answers that were saved "
            "before are kept, and the study lead knows of them."
        ),
    ),
    "returned": (Said("You have left the study"), Said("Your answers are saved and can be used by the study.")),
    "withdrawn": (Said("You have left the study"), Said("Your answers will not be used.")),
    "repeated": (
        Said("You have already taken part"),
        Said("Each person can take part once. Your earlier answers are saved. Thank you!"),
    ),
}
"""The outcome of a visit as the participant reads it: title and text."""

_ID = re.compile(rf"[\w.@:+-]{{1,{LONGEST_NAME}}}")

TOKEN = "prolific_token"
"""The parameter of Prolific's secured addresses."""

_NOT_YET = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""The assignment id that Mechanical Turk gives to workers who only preview a task."""


# -- arrival -----------------------------------------------------------------------------------------


KEYS = "https://api.prolific.com/.well-known/study/jwks.json"
"""Where Prolific publishes the keys with which it signs addresses."""

_LATER = 3600.0
"""Seconds after the end of a signature in which a page that was opened before it can be sent."""


def signed_parameters(query: Mapping[str, str], host: str, later: float = 0.0) -> dict[str, str]:
    """Return the parameters in Prolific's token, after checking its signature, time and host.

    Source: Prolific's API reference, *Retrieve JSON Web Key Set*: RS256, ``exp``, ``aud`` is the host of the tool, and
    ``prolific`` has the parameters of the study's address.

    Parameters
    ----------
    query : mapping
        With ``prolific_token``.
    host : str
        The host of the page.
    later : float
        Seconds after its end in which the token is accepted.

    Raises
    ------
    Refused
        If the token is missing or not valid, or if the keys cannot be fetched.
    """
    jwt = require("jwt", "prolific", "checking the signature of Prolific's addresses")
    try:
        key = platform_keys(KEYS).get_signing_key_from_jwt(query.get(TOKEN, ""))
        rules = {"require": ["exp", "aud"], "verify_aud": False}
        found = jwt.decode(query.get(TOKEN, ""), key, algorithms=["RS256"], options=rules, leeway=later)
    except jwt.PyJWKClientConnectionError:
        words = Said("The keys of the platform cannot be fetched now. Open this address again in a minute.")
        raise Refused(503, "The server cannot answer now", words) from None
    except (jwt.PyJWTError, ValueError):
        found = {}
    aud = found.get("aud") or ()
    named = [aud] if isinstance(aud, str) else aud
    hosts = {urlsplit(one if "//" in one else f"//{one}").hostname for one in named}
    given = found.get("prolific")
    if host.lower() not in hosts or not isinstance(given, dict):
        raise Refused(
            403,
            "This address is not signed by the platform",
            Said(
                "The signature is missing, has expired, or is for another address. "
                "Open the study from the platform where you found it."
            ),
        )
    return {str(name): str(value) for name, value in given.items()}


@lru_cache(maxsize=4)
def platform_keys(address: str) -> Any:
    """The keys at an address, kept for a day."""
    return require("jwt", "prolific", "checking addresses").PyJWKClient(address, lifespan=86400, timeout=10)


def read_address(crowd: Crowd, query: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the id of a participant and the other parameters to store.

    Raises
    ------
    Refused
        If the platform did not fill in the address.
    """
    for name in filter(None, (crowd.id_parameter, *crowd.stored_parameters)):
        value = query.get(name, "").strip()
        if value == _NOT_YET:
            raise Refused(422, "Please accept the task first", "Then open this link again.")
        if not value:
            raise Refused(
                422,
                "This address is incomplete",
                Said(
                    "The parameter {name}, which identifies participants, is missing. "
                    "Open the study from the platform where you found it.",
                    name=name,
                ),
            )
        form = crowd.id_form if name == crowd.id_parameter else ""
        if not _ID.fullmatch(value) or (form and not re.fullmatch(form, value)):
            raise Refused(
                422,
                "The platform did not fill in this address",
                Said(
                    "The parameter {name} is '{value}', which is not a valid id. Open the study from the platform "
                    "where you found it.",
                    name=name,
                    value=value[:60],
                ),
            )
    name = query[crowd.id_parameter].strip() if crowd.id_parameter else f"visitor-{secrets.token_hex(6)}"
    return name, {name: query[name].strip() for name in crowd.stored_parameters}


def admit_participant(
    state: AppState, crowd: Crowd, name: str, given: Mapping[str, str], said: Mapping[str, str]
) -> Visit:
    """Admit a participant or end the visit; a known participant continues the earlier visit.

    Participants who completed the study and come in another session of the platform get the outcome ``repeated``, which
    is not recorded.

    Raises
    ------
    Refused
        If no visit is recorded, because the study is paused.
    """
    with state.store.exclusive() as db:
        now = state.store.now(db)
        if crowd.minutes is not None:
            end_late_visits(db, crowd.minutes, now)
        before = visit_of(db, name)
        if before is not None and before.outcome != "full":
            if before.outcome == "completed" and dict(before.given) != dict(given):
                return replace(before, outcome="repeated")  # the code of the other session would be paid again
            if before.outcome is not None or dict(before.given) == dict(given):
                return before
            # The visit goes on, in the session of the platform that will be paid.
            put_visit(db, again := replace(before, given=dict(given)))
            return again
        if state.store.setting(PAUSED):
            raise Refused(
                503,
                "The study is paused",
                "No new participants are admitted right now. Come back to this address later.",
            )
        screening = state.design.people.asked("screening")
        about = read_reply(screening, said)
        answers = canonical({one.name: said.get(one.name) for one in screening}) if screening else None
        visit = Visit(name, dict(given), now, answers)
        if about.missing or about.wrong(screening):
            visit = replace(visit, outcome="screened", ended_at=now)
        elif state.design.people.end is not None and now >= state.design.people.end.timestamp():
            visit = replace(visit, outcome="late", ended_at=now)
        elif places_in_use(db) >= crowd.places:
            visit = replace(visit, outcome="full", ended_at=now)
        else:
            try:
                state.design.check_attributes(name, about.given)
                store_people.add_people(state.store, {name: about.given})
            except StudyError as error:
                why = Said("Ask the study lead: {error}", error=str(error))
                raise Refused(403, "You cannot take part", why) from None
        put_visit(db, visit)
        return visit


# -- work and outcome --------------------------------------------------------------------------------


def hold(state: AppState, person: Person, after: int, most: int) -> HeldPages:
    """Return the pages assigned to a person, see `Assigner.hold`, and record the outcome if the visit ends."""
    people = state.design.people
    if people.crowd is None and not (people.checks and people.checks.exclude):
        return state.assigner.hold(person, after, most)
    with state.store.exclusive() as db:
        visit = current_visit(state, db, person)
        if visit is not None and visit.outcome is not None:
            return _end_page(state, person, visit.outcome)
        held = state.assigner.hold(person, after, most)
        kind = None if held.end is None else held.end.kind
        if kind == "stopped":
            _exclude_stopped(state, db, person)
        if visit is None or kind not in ("done", "empty", "stopped", "over"):
            return held
        worked = any(task.state in ("answered", "skipped") for task in store_people.tasks_of(db, person.name))
        ways: dict[str | None, Outcome] = {"stopped": "failed", "over": "late"}
        outcome = ways.get(kind, "completed" if worked else "full")
        end_visit(db, person.name, outcome, state.store.now(db))
        return _end_page(state, person, outcome)


def current_visit(state: AppState, db: Connection, person: Person) -> Visit | None:
    """Return a person's current visit, ended if its time is over; None for annotators invited by name."""
    crowd = state.design.people.crowd
    if crowd is not None and crowd.minutes is not None:
        end_late_visits(db, crowd.minutes, state.store.now(db))
    return visit_of(db, person.name)


def refuse_ended(state: AppState, person: Person) -> None:
    """Refuse requests of a participant whose visit ended before completion."""
    crowd = state.design.people.crowd
    if crowd is None:
        return
    with state.store.reading() as db:
        visit = visit_of(db, person.name)
        outcome = None if visit is None else outcome_at(visit, crowd, state.store.now(db))
    if outcome not in (None, "completed"):
        title, text = OUTCOMES[outcome]
        raise Refused(403, title, Said("{title}. {text}", title=title, text=text), error="link")


def _end_page(state: AppState, person: Person, outcome: Outcome) -> HeldPages:
    with state.store.reading() as db:
        closed = store_people.closed_up_to(db, person.name)
    return HeldPages((), state.design.sessions(person.name)[-1], End(outcome), closed)


def _exclude_stopped(state: AppState, db: Connection, person: Person) -> None:
    """Exclude a participant who failed too many attention checks, if the study has ``exclude: true``."""
    checks = state.design.people.checks
    if checks is None or not checks.exclude or invited_person(db, person.name).excluded_at is not None:
        return
    why = stop_reasons(state.design, db, person.name).get(person.name, "")
    store_people.exclude(state.store, person.name, why, end_link=False)


def leave(state: AppState, person: Person, *, keep: bool) -> Outcome:
    """End a visit at the person's request, and keep or exclude their answers."""
    with state.store.exclusive() as db:
        visit = current_visit(state, db, person)
        if visit is None:
            raise Refused(404, "There is no such page", "You were invited by name; ask the study lead.")
        if visit.outcome is None:
            end_visit(db, person.name, "returned" if keep else "withdrawn", state.store.now(db))
            if not keep:
                store_people.exclude(state.store, person.name, "withdrew", end_link=False)
            return "returned" if keep else "withdrawn"
        return visit.outcome


def end_contents(state: AppState, name: str, outcome: Outcome) -> dict[str, str]:
    """Return the contents of the last page: title, text, completion code and return link."""
    crowd = state.design.people.crowd
    title, text = OUTCOMES[outcome]
    said = {"kind": outcome, "title": title, "text": text, "code": "", "back": ""}
    if crowd is None:
        return said
    with state.store.reading() as db:
        visit = visit_of(db, name)
    code = code_of(state.store, crowd, name, outcome)
    parts = {"code": code, "outcome": outcome, crowd.id_parameter: name, **(visit.given if visit else {})}
    way = crowd.return_address if code or "{code}" not in crowd.return_address else ""
    for part, value in parts.items():
        way = way.replace(f"{{{part}}}", quote(value, safe=""))
    return said | {"code": code, "back": way}


def code_of(store: Store, crowd: Crowd, name: str, outcome: Outcome | None) -> str:
    """Return the completion code: the study's, or an individual one; empty if the outcome has none."""
    if outcome is None or outcome in crowd.codes:
        return "" if outcome is None else crowd.codes[outcome]
    if outcome not in ("completed", "late"):
        return ""
    key = secret_of(store, None).encode()  # the store's own, so that a new ASSAY_SECRET changes no code
    return hmac.new(key, f"{outcome}/{name}".encode(), hashlib.sha256).hexdigest()[:10].upper()


# -- the routes --------------------------------------------------------------------------------------

router = APIRouter()

Given = Annotated[str, Form(max_length=4000)]


def _crowd(state: AppState) -> Crowd:
    if state.trouble:
        raise Refused(503, "The study is being updated", "Come back to this address later.")
    if state.design.people.crowd is None:
        raise Refused(404, "There is no such page", "This study is by invitation only; open your personal link.")
    return state.design.people.crowd


@router.get("/enter")
def enter_page(request: Request, state: Shared) -> Response:
    """The address for all participants. Without a screening question, the page's script continues automatically."""
    crowd = _crowd(state)
    if not crowd.id_parameter and state.token_in(request, PERSON_COOKIE):
        return RedirectResponse("/work", 303)
    query: Mapping[str, str] = request.query_params
    if crowd.signed:
        given = json.dumps({TOKEN: query.get(TOKEN, "")})
        query = signed_parameters(query, _host(state, request))
    else:
        names = (crowd.id_parameter, *crowd.stored_parameters)
        given = json.dumps({name: query[name] for name in names if query.get(name)})
    read_address(crowd, query)  # report an invalid address before the screening question
    known = crowd.id_parameter and _is_known(state, query[crowd.id_parameter].strip())
    screening = () if known else state.design.people.asked("screening")
    return state.page("enter.html", request=request, given=given, screening=screening)


def _host(state: AppState, request: Request) -> str:
    """The host that participants see."""
    return urlsplit(state.base_url or str(request.url)).hostname or ""


def _is_known(state: AppState, name: str) -> bool:
    with state.store.reading() as db:
        before = visit_of(db, name)
    return before is not None and before.outcome != "full"


@router.post("/enter")
def enter(given: Given, said: FormAnswers, state: Shared, request: Request) -> Response:
    """Admit a participant, continue a visit, or show its outcome."""
    crowd = _crowd(state)
    try:
        query = {str(name): str(value) for name, value in json.loads(given).items()}
    except (ValueError, AttributeError):
        raise Refused(
            422, "This request cannot be read", "Open the study again from the page where you found it."
        ) from None
    if crowd.signed:
        query = signed_parameters(query, _host(state, request), _LATER)
    name, kept = read_address(crowd, query)
    unanswered = [one for one in state.design.people.asked("screening") if not said.get(one.name, "").strip()]
    if unanswered and not _is_known(state, name):
        raise Refused(422, "Please answer every question.", "Go back and answer all of them.")
    visit = admit_participant(state, crowd, name, kept, said)
    if visit.outcome is not None:
        return _show_end(state, request, name, visit.outcome)
    with state.store.reading() as db:
        person = find(db, name)
    if person is None or person.state == "revoked":
        raise Refused(403, "This address does not open the page", "The study lead has ended your participation.")
    return state.admit("/work", PERSON_COOKIE, state.signer.person_token(person.name, person.link))


@router.get("/leave")
def leave_page(person: Invited, state: Shared, request: Request) -> Response:
    """The page with the two ways to leave."""
    _crowd(state)
    return state.page("leave.html", request=request, person=person.name)


@router.post("/leave")
def leave_now(
    answers: Annotated[Literal["keep", "discard"], Form()], person: Invited, state: Shared, request: Request
) -> Response:
    """Release the participant's slot, and keep or exclude their answers."""
    _crowd(state)
    return _show_end(state, request, person.name, leave(state, person, keep=answers == "keep"))


def _show_end(state: AppState, request: Request, name: str, outcome: Outcome) -> Response:
    return state.page("farewell.html", request=request, end=end_contents(state, name, outcome))


# -- counts for the dashboard ------------------------------------------------------------------------


@dataclass(frozen=True)
class CrowdCounts:
    """Slots and outcomes of a crowd.

    Attributes
    ----------
    query : str
        The query string of the address, with the placeholders of the platform.
    places, free : int
        Number of slots, and of free slots.
    outcomes : tuple of (outcome, number)
        Number of participants by outcome; ``at work`` for those still working.
    platform : str
    """

    query: str
    places: int
    free: int
    outcomes: tuple[tuple[str, int], ...]
    platform: str


def crowd_counts(design: StudyDesign) -> CrowdCounts | None:
    """Return slots and outcomes of a study's crowd; None if annotators come by invitation only."""
    crowd = design.people.crowd
    if crowd is None:
        return None
    with design.store.reading() as db:
        now = design.store.now(db)
        visits = all_visits(db)
        late = sum(one.outcome is None and outcome_at(one, crowd, now) == "late" for one in visits)
        used = places_in_use(db) - late
    counts = Counter[str](outcome_at(one, crowd, now) or "at work" for one in visits)
    order = ["at work", *OUTCOMES]
    return CrowdCounts(
        crowd.query,
        crowd.places,
        max(0, crowd.places - used),
        tuple((one, counts[one]) for one in order if counts[one]),
        crowd.platform,
    )


def outcome_at(visit: Visit, crowd: Crowd | None, now: float) -> Outcome | None:
    """The outcome of a visit, including an expired time limit that is not recorded yet."""
    limit = None if crowd is None else crowd.minutes
    if visit.outcome is None and limit is not None and now >= visit.came_at + 60 * limit:
        return "late"
    return visit.outcome


# -- payment -----------------------------------------------------------------------------------------

PAY_COLUMNS = (
    *("person", "outcome", "code", "came", "ended", "minutes", "at_work", "answered", "checks_failed", "checks"),
    *("pay", "an_hour", "currency"),
)
"""Columns of the payment table, before the parameters of the platform."""


def pay_table(design: StudyDesign) -> DataFrame:
    """Return one row per participant or invited annotator: outcome, time, work and payment.

    ``minutes`` is the time from arrival to the end, ``at_work`` the working time in seconds without breaks;
    ``an_hour`` is the payment per hour of working time.
    """
    import polars as pl

    people = design.people
    with design.store.reading() as db:
        now = design.store.now(db)
        visits = {one.person: one for one in all_visits(db)}
        answered, seconds = table.answered_by_person(db), table.seconds_by_person(db)
        checks = failed_checks(design, db)
        here = {person.name: person for person in all_people(db) if person.role != ADJUDICATOR}
    rows = []
    for name in dict.fromkeys((*here, *visits)):
        visit, person, did = visits.get(name), here.get(name), answered.get(name)
        outcome = None if visit is None else outcome_at(visit, people.crowd, now)
        came = visit.came_at if visit else did and did.first
        ended = visit.ended_at if visit and visit.ended_at else did and did.last
        counts = person is not None and person.excluded_at is None
        number, hours = int(did.answered) if did else 0, seconds.get(name, 0.0) / 3600
        amount = amount_due(people.payment, outcome, number if counts else 0, hours if counts else 0.0)
        code = code_of(design.store, people.crowd, name, outcome) if people.crowd and visit else ""
        wrong = checks.get(name, [])
        values = (
            *(name, outcome or state_without_outcome(person, came=came is not None), code or None),
            *(_iso(came), _iso(ended), None if not came or not ended else (ended - came) / 60, 60 * hours),
            *(number, sum(wrong), len(wrong), amount, amount / hours if hours else None, people.payment.currency),
        )
        rows.append(dict(zip(PAY_COLUMNS, values, strict=True)) | dict(visit.given if visit else {}))
    if not rows:
        raise StudyError("there are no participants or invited annotators to pay yet")
    kept = {name: pl.String for row in rows for name in row if name not in PAY_COLUMNS}
    numbers = dict.fromkeys(("minutes", "at_work", "pay", "an_hour"), pl.Float64) | dict.fromkeys(
        ("answered", "checks_failed", "checks"), pl.Int64
    )
    schema = {name: numbers.get(name, pl.String) for name in PAY_COLUMNS} | kept
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


def state_without_outcome(person: Person | None, *, came: bool) -> str:
    """The state of a person without an outcome."""
    if person is not None and person.excluded_at is not None:
        return "excluded"
    return "at work" if came else "invited"


def amount_due(pay: Pay, outcome: Outcome | None, items: int, hours: float) -> float:
    """Return the payment of one person, rounded to cents; items and hours exclude excluded work."""
    fixed = _fixed(pay, outcome)
    return round(fixed + pay.item * items + pay.hour * hours + 1e-9, 2)


def _fixed(pay: Pay, outcome: str | None) -> float:
    """The payment for the outcome of a visit."""
    known = {"completed": pay.completed, "screened": pay.screened, "failed": pay.failed, "late": pay.late}
    return known.get(outcome or "", 0.0)


PlatformForm = Literal["prolific", "mturk"]


def platform_file(design: StudyDesign, form: PlatformForm) -> str:
    """Return the payments as a platform takes them.

    ``prolific``: lines of *bulk bonus payments*, participant id and amount. The reward of a completed submission is
    paid by the platform; the bonus is what is due beyond it, also to participants who did not complete.
    ``mturk``: the columns of a file of results that approve or reject: completed assignments are approved, all others
    are left to the requester.

    Raises
    ------
    StudyError
        If participants came without the parameters of the platform.
    """
    rows = pay_table(design).to_dicts()
    came = [row for row in rows if row["outcome"] in OUTCOMES]
    if form == "prolific":
        bonus = ((row["person"], row["pay"] - _fixed_reward(design, row["outcome"])) for row in came)
        return "".join(f"{name},{amount:.2f}\n" for name, amount in bonus if amount >= 0.005)
    if any(not row.get(name) for row in came for name in ("hitId", "assignmentId")):
        raise StudyError("the file for Mechanical Turk needs hitId and assignmentId, which participants did not bring")
    lines = ["HITId,AssignmentId,WorkerId,Approve,Reject"]
    lines += [
        f"{row['hitId']},{row['assignmentId']},{row['person']},{'x' if row['outcome'] == 'completed' else ''},"
        for row in came
    ]
    return "\n".join(lines) + "\n"


def _fixed_reward(design: StudyDesign, outcome: str) -> float:
    """What the platform itself pays: the reward of a completed submission."""
    return design.people.payment.completed if outcome == "completed" else 0.0


def _iso(at: Any) -> str | None:
    return None if not at else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
