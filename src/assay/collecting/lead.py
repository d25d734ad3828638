"""What the lead of a study sees and decides: progress, people, downloads."""

from __future__ import annotations

import csv
import io
import json
import math
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from assay._version import __version__
from assay.collecting import answers, crowd, invitations
from assay.collecting.answers import LONGEST_WORDS, UnknownTaskError
from assay.collecting.assignment import PAUSED, additions_words
from assay.collecting.overview import Overview, PersonRow
from assay.collecting.serving import BIGGEST, LEAD_COOKIE, AppState, Refused, Shared, check_lead, lead
from assay.data.annotations import Annotations
from assay.errors import AssayError, StudyError
from assay.study.store import people as store_people
from assay.study.store.connection import Store
from assay.study.store.items import items
from assay.study.store.table import stored_annotations, study_record

# -- What was collected, to take away --------------------------------------------------------------

_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time of every file, so that the same records make the same archive."""


def labels_csv(store: Store) -> bytes:
    """Every answer that counts, one row each, as the questions of assay see it.

    Returns
    -------
    bytes
        CSV in UTF-8: item, annotator, criterion, label, what else is known of the answer (repeat, scale, order,
        position, place, seconds), and of the annotator (kind, attributes). It goes into `assay.read` as it is.

    Raises
    ------
    StudyError
        While there is no answer with a label.
    """
    table = stored_annotations(store)
    columns = {name: table.column(name).to_list() for name in _columns(store, table)}
    held = io.StringIO()
    writer = csv.writer(held, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return held.getvalue().encode()


def _columns(store: Store, table: Annotations) -> list[str]:
    """Those of the answers and the annotators, and no texts of items.

    What is the same in all answers to an item has become a column of the items, although it was said of the answers.
    """
    own: set[str] = set()
    for item, _digest in items(store):
        own.update(item.fields)
    of_items = [name for name in table.items.columns if name not in (*own, "item", "document")]
    return list(dict.fromkeys([*table.labels.columns, *of_items, *table.annotators.columns]))


def archive(store: Store, person: str | None = None) -> bytes:
    """Everything that people were given and shown, and all that they answered, as a zip.

    What was before whom, in which order and in which words, can be told from it alone; README.txt in it says how.
    Links and the secret that makes them are not in it. With ``person``, what is of them alone.

    Returns
    -------
    bytes
        A zip of JSON Lines, a file a table; the same records make the same bytes.
    """
    held = io.BytesIO()
    with study_record(store) as found, zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(_entry("README.txt"), README)
        for name, rows in (found if person is None else _rows_of_person(found, person)).items():
            with file.open(_entry(f"{name}.jsonl"), "w") as out:
                for row in rows:
                    out.write(_line(row))
    return held.getvalue()


def _rows_of_person(record: Mapping[str, Iterable[dict[str, Any]]], person: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of the record that are about one person, and what they were shown and asked."""
    mine = {
        name: [row for row in record[name] if row["annotator"] == person] for name in ("answers", "tasks", "people")
    }
    asked = {number for task in mine["tasks"] for number in task["questions"]}
    seen = {task["item"] for task in mine["tasks"]}
    forms = {task["form"] for task in mine["tasks"]}
    agreed = {row["consented_to"] for row in mine["people"]} | {row["shown"].get("consent") for row in mine["answers"]}
    return mine | {
        "questions": [row for row in record["questions"] if row["id"] in asked],
        "forms": [row for row in record["forms"] if row["id"] in forms],
        "items": [row | {"known": None} for row in record["items"] if row["item"] in seen],
        "contents": [row for row in record["contents"] if row["item"] in seen],
        "consents": [row for row in record["consents"] if row["digest"] in agreed],
    }


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _LONG_AGO)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _line(row: dict[str, Any]) -> bytes:
    # Half a surrogate pair, which UTF-8 has no place for, becomes the escape that JSON has for it.
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


README = (Path(__file__).parent / "templates" / "record.txt").read_text("utf-8").replace("{version}", __version__)
"""What each file and column of the archive is."""


# -- The routes of whoever leads the study ---------------------------------------------------------

Words = Annotated[str, Form(max_length=LONGEST_WORDS)]

entrance = APIRouter(prefix="/lead")
"""The one route that anybody may ask for: it opens the others."""

router = APIRouter(prefix="/lead", dependencies=[Depends(lead)])


@entrance.get("/join/{token}")
def lead_join(token: str, state: Shared) -> Response:
    """The lead's link: what it opens stays open in this browser."""
    check_lead(state, token)
    return state.admit("/lead", LEAD_COOKIE, token)


# -- progress ----------------------------------------------------------------------------------------


@router.get("")
def lead_page(request: Request, state: Shared) -> Response:
    """The lead's page."""
    return state.page("lead.html", **_overview(state, request))


@router.get("/live")
def lead_live(request: Request, state: Shared) -> Response:
    """The part of the lead's page that changes while people answer."""
    return state.page("lead_live.html", **_overview(state, request))


def _overview(state: AppState, request: Request) -> Mapping[str, Any]:
    base = state.base_url or str(request.base_url)
    links = {
        person.name: invitations.personal_link(state.signer, person, base)
        for person in store_people.everybody(state.store)
    }
    sort, find = request.query_params.get("sort", ""), request.query_params.get("find", "").strip()
    with state.store.reading() as db:
        decided = store_people.adjudicated_items(db)
        added = additions_words(state.design, db)
    said = [
        state.trouble,
        request.app.state.assay.faults.words(),
        state.notice,
        request.app.state.assay.edit_notice(),
        *(added, state.design.retention_words(datetime.now(UTC).date())),
    ]
    view = state.watch.look()
    if view.every:
        said.append(f"Summing up all answers takes a while: these numbers are new about every {view.every:.0f} s.")
    return {
        "view": _arranged(view, sort, find),
        "links": links,
        "paused": bool(state.store.setting(PAUSED)),
        "changes": [one for one in said if one],
        "crowd": crowd.crowd_counts(state.design),
        "lead_link": f"{base.rstrip('/')}/lead/join/{state.signer.lead_token()}",
        "decided": len(view.disputed & decided),
        "sort": sort,
        "find": find,
        "entrance": f"{base.rstrip('/')}/enter",
    }


SORTS: dict[str, Callable[[PersonRow], Any]] = {
    "name": lambda one: one.name.lower(),
    "done": lambda one: -one.done,
    "time": lambda one: math.inf if one.minutes is None else one.minutes,
    "checks": lambda one: -one.checks_failed,
    "flags": lambda one: -one.flags,
    "last": lambda one: -(one.last.at if one.last else 0.0),
}
"""What the table of people can be sorted by, beside the order of invitations."""


def _arranged(view: Overview, sort: str, find: str) -> Overview:
    """The people whose name or attributes hold these words, in this order; and remarks by or about them."""
    words = find.lower()
    people = [one for one in view.people if words in f"{one.name} {dict(one.attributes)}".lower()]
    remarks = [one for one in view.remarks if words in f"{one.person} {one.item} {one.flag} {one.comment}".lower()]
    people = sorted(people, key=SORTS[sort]) if sort in SORTS else people
    return replace(view, people=tuple(people), remarks=tuple(remarks))


# -- what the lead decides --------------------------------------------------------------------------


@router.post("/people")
def add(name: Words, state: Shared, attributes: Words = "") -> Response:
    """Invite somebody."""
    with _refuse_in_words():
        given = invitations.read_attributes(answers.clean(attributes))
        invitations.invite(state.design, answers.clean(name), given)
    return _back()


@router.post("/people/state")
def set_state(name: Words, state: Annotated[store_people.State, Form()], shared: Shared) -> Response:
    """Let a person answer, have them wait, or end their link."""
    with _refuse_in_words():
        store_people.set_state(shared.store, answers.clean(name), state)
    return _back()


@router.post("/people/exclude")
def exclude(name: Words, state: Shared, reason: Words = "") -> Response:
    """Let what a person answered count no more."""
    with _refuse_in_words():
        store_people.exclude(state.store, answers.clean(name), answers.clean(reason).strip())
    return _back()


@router.post("/people/readmit")
def readmit(name: Words, state: Shared) -> Response:
    """Let what an excluded person answered count again."""
    with _refuse_in_words():
        store_people.readmit(state.store, answers.clean(name))
    return _back()


@router.post("/people/link")
def new_link(name: Words, state: Shared) -> Response:
    """Give a person a new link in place of theirs."""
    with _refuse_in_words():
        store_people.new_link(state.store, answers.clean(name))
    return _back()


@router.post("/link")
def renew_own_link(state: Shared) -> Response:
    """Give the lead a new link; the one so far, and every browser that it was opened in, opens nothing any more."""
    invitations.renew_lead_link(state.store)
    return state.admit("/lead", LEAD_COOKIE, state.signer.lead_token())


@router.post("/study")
def pause(state: Annotated[Literal["open", "paused"], Form()], shared: Shared) -> Response:
    """Pause the study, or open it again."""
    with _refuse_in_words():
        shared.store.set(PAUSED, state == "paused")
    return _back()


@router.post("/reopen")
def reopen(task: Annotated[int, Form(ge=1, le=BIGGEST)], state: Shared) -> Response:
    """Give an answered item back to the person who answered it."""
    try:
        with _refuse_in_words():
            answers.reopen(state.assigner, task)
    except UnknownTaskError:
        raise Refused(404, "There is no such answer", "It is not answered, or is open again.") from None
    return _back()


@contextmanager
def _refuse_in_words() -> Iterator[None]:
    """Show what cannot be done as a page."""
    try:
        yield
    except AssayError as error:
        raise Refused(422, "This cannot be done", str(error)) from None


def _back() -> Response:
    return RedirectResponse("/lead", 303)


# -- what there is to download ----------------------------------------------------------------------


@router.get("/labels.csv")
def labels(state: Shared) -> Response:
    """The labels as a table."""
    try:
        table = labels_csv(state.store)
    except StudyError as error:
        raise Refused(404, "There is nothing to download yet", str(error)) from None
    return _download(table, "labels.csv", "text/csv; charset=utf-8")


@router.get("/person.zip")
def of_person(name: Annotated[str, Query(max_length=LONGEST_WORDS)], state: Shared) -> Response:
    """What is kept of one person, for whoever asks for their data."""
    with _refuse_in_words():
        person = store_people.invited(state.store, answers.clean(name))
    return _download(archive(state.store, person.name), "person.zip", "application/zip")


@router.get("/pay.csv")
def pay(state: Shared) -> Response:
    """Who did how much, and what is due to them."""
    with _refuse_in_words():
        table = crowd.pay_table(state.design)
    return _download(table.write_csv().encode(), "pay.csv", "text/csv; charset=utf-8")


@router.get("/answers.zip")
def everything(state: Shared) -> Response:
    """The whole record."""
    return _download(archive(state.store), "answers.zip", "application/zip")


def _download(content: bytes, name: str, kind: str) -> Response:
    return Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
