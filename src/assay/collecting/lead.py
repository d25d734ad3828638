"""The routes of whoever leads the study: how it stands, who takes part, what there is to download."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.responses import RedirectResponse

from assay._version import __version__
from assay.collecting import answers, invitations
from assay.collecting.answers import LONGEST_WORDS, UnknownTaskError
from assay.collecting.assignment import PAUSED
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

    What is the same in all answers to an item stands with the item in the table, although it was said of the answers.
    """
    own: set[str] = set()
    for item, _digest in items(store):
        own.update(item.fields)
    of_items = [name for name in table.items.columns if name not in (*own, "item", "document")]
    return list(dict.fromkeys([*table.labels.columns, *of_items, *table.annotators.columns]))


def archive(store: Store) -> bytes:
    """Everything that people were given and shown, and all that they answered, as a zip.

    What was before whom, in which order and in which words, can be told from it alone; README.txt in it says how.
    Links and the secret that makes them are not in it.

    Returns
    -------
    bytes
        A zip of JSON Lines, a file a table; the same records make the same bytes.
    """
    held = io.BytesIO()
    with study_record(store) as found, zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(_entry("README.txt"), README)
        for name, rows in found.items():
            with file.open(_entry(f"{name}.jsonl"), "w") as out:
                for row in rows:
                    out.write(_line(row))
    return held.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _LONG_AGO)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _line(row: dict[str, Any]) -> bytes:
    # Half a surrogate pair, which UTF-8 has no place for, becomes the escape that JSON has for it.
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


README = f"""\
Everything that people were given, shown and asked on the annotation page of this study,
and every answer that they ever gave, but those of people who were erased. Written by assay {__version__}.

Each file is JSON Lines: one object a line, in UTF-8. Times are seconds since 1970, UTC.
Half-written answers, links and secrets are not in here.


answers.jsonl   every answer to a question, in the order in which they came; none is ever changed or removed
  id            rises with time
  task          the task in tasks.jsonl that it answers
  annotator     who
  item          the item in items.jsonl
  question      the id in questions.jsonl: the question as it read
  criterion     the question's name
  version       of the question
  condition     what was varied, such as {{"scale": "interval:0-100"}}; {{}} where nothing was
  repeat        1, or 2 where the item was given a second time
  revision      1 for the first answer to a task, higher where it was changed later
  status        valid; missing (skipped, or left open in a later revision); withdrawn (reopened by the lead)
  label         in terms of the item's own order: for a preference -1 is the first option of the question,
                1 the second, 0 neither; for an odd one out A, B, C are the first, second and third
  reason        why it is missing or was withdrawn
  comment       in the person's words
  flag          why they flagged the item
  seconds       at work on the item, without breaks, since it was shown or last saved
  answered_at   when it was saved
  shown         what else is known: "order", the options' columns from left to right (or A to C), and "position",
                the place that was chosen (1 is the first); "form", "page", and "about" as in labels.csv
  latest        whether it is the last to this question and item, and has a label. It counts in labels.csv
                where the question still reads so and the item is in the study and not a check or practice,
                and its person is not excluded.
  excluded      whether its person is excluded, so that it counts nowhere

tasks.jsonl     every item that was ever put before somebody, by person, in the order of their places
  id            as in answers.jsonl
  annotator     before whom
  item          what
  role          item; triplet (drawn while people answered); check (attention check); warm-up (practice)
  questions     ids in questions.jsonl, in the order in which they were asked
  condition     what was varied; a scale in it is the one on which all questions were asked
  repeat        1, or 2 where the item was given a second time
  party         the group for which it counts; empty where the study counts no groups
  session       1 is the first
  page          tasks of one page stood together. What all of them show alike stood once, above them.
  place         1 is the first thing that this person was given
  state         given (not answered), answered, skipped, reopened
  extra         true where the answer came after its place had gone to somebody else
  form          the id in forms.jsonl: what they could read beside it
  shown         "order": by question id, the columns of the options from left to right (or A to C)
  given_at      when it was put before them
  expires_at    until when nobody else gets its place
  closed_at     when it was answered or skipped

questions.jsonl every version of every question
  id            as in tasks.jsonl and answers.jsonl
  name          what it is called in labels.csv: its criterion
  version       1 is the first
  current       whether it is asked now
  made_at       since when there is this version
  definition    as in study.yaml, in its last wording ("reads" in forms.jsonl has those before it): text, scale,
                guidelines, meanings, keys, optional; "options": the columns to choose between; "show": the columns
                shown beside them. Where "show" is null, all columns are shown, but the options, the column that names
                the document, and the names of a triplet's items.

forms.jsonl     what people read beside the items, whenever it changed
  id            as in tasks.jsonl
  digest        of all its words
  made_at       since when
  definition    "instructions"; "consent"; "questions": id, name and version of those asked,
                and how they read ("reads", as in study.yaml, without what stands at its default);
                "hidden": columns never shown; "images": columns that hold images; "together": whether all items of
                a document stood on one page

items.jsonl     every item, those drawn, attention checks and practice among them
  item          its name, which nobody is shown
  role          as in tasks.jsonl
  position      in its file, from 0; of a triplet, when it was drawn
  document      the document that it was taken from
  digest        of document, fields and pictures
  active        false where it has left the study since
  fields        its columns, as they are now. An image is a path beside study.yaml.
  pictures      by column, what names the bytes of its image
  known         of checks and practice, the known answers ("labels", by question) and the words said after them;
                of a triplet, its three items ("members")

contents.jsonl  what items said before they were changed
  item          its name
  digest        as in items.jsonl; "item" in "shown" of tasks.jsonl says which contents somebody saw
  document      as it was
  fields        as they were
  pictures      as they were
  kept_at       when they were changed

people.jsonl    everybody who was invited, in that order
  annotator     their name
  attributes    as the lead gave them
  state         active, paused, revoked
  invited_at    when
  consented_at  when they agreed to the consent text; null where they have not
  consented_to  digest of the text that they agreed to
  excluded_at   since when none of their answers counts; null where they do
  excluded_for  why

erased.jsonl    people who were removed with all their answers because they asked for it; not who they were
  erased_at     when
  answers       how many answers went with them, all revisions counted


What somebody saw: take their lines of tasks.jsonl. For each, the item's fields that its questions show; then each
question with its text, guidelines and scale, its options in the order that "shown" gives.
"""


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


# -- how the study stands ---------------------------------------------------------------------------


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
    said = [state.trouble, state.notice, request.app.state.assay.edited()]
    return {
        "view": state.watch.look(),
        "links": links,
        "paused": bool(state.store.setting(PAUSED)),
        "changes": [one for one in said if one],
    }


# -- what the lead decides --------------------------------------------------------------------------


@router.post("/people")
def add(name: Words, state: Shared, attributes: Words = "") -> Response:
    """Invite somebody."""
    with _in_words():
        given = invitations.read_attributes(answers.clean(attributes))
        invitations.invite(state.design, answers.clean(name), given)
    return _back()


@router.post("/people/state")
def set_state(name: Words, state: Annotated[store_people.State, Form()], shared: Shared) -> Response:
    """Let a person answer, have them wait, or end their link."""
    with _in_words():
        store_people.set_state(shared.store, answers.clean(name), state)
    return _back()


@router.post("/people/exclude")
def exclude(name: Words, state: Shared, reason: Words = "") -> Response:
    """Let what a person answered count no more."""
    with _in_words():
        store_people.exclude(state.store, answers.clean(name), answers.clean(reason).strip())
    return _back()


@router.post("/people/readmit")
def readmit(name: Words, state: Shared) -> Response:
    """Let what an excluded person answered count again."""
    with _in_words():
        store_people.readmit(state.store, answers.clean(name))
    return _back()


@router.post("/people/link")
def new_link(name: Words, state: Shared) -> Response:
    """Give a person a new link in place of theirs."""
    with _in_words():
        store_people.new_link(state.store, answers.clean(name))
    return _back()


@router.post("/study")
def pause(state: Annotated[Literal["open", "paused"], Form()], shared: Shared) -> Response:
    """Pause the study, or open it again."""
    with _in_words():
        shared.store.set(PAUSED, state == "paused")
    return _back()


@router.post("/reopen")
def reopen(task: Annotated[int, Form(ge=1, le=BIGGEST)], state: Shared) -> Response:
    """Give an answered item back to the person who answered it."""
    try:
        with _in_words():
            answers.reopen(state.assigner, task)
    except UnknownTaskError:
        raise Refused(404, "There is no such answer", "It is not answered, or is open again.") from None
    return _back()


@contextmanager
def _in_words() -> Iterator[None]:
    """What cannot be done is told as a page."""
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


@router.get("/answers.zip")
def everything(state: Shared) -> Response:
    """The whole record."""
    return _download(archive(state.store), "answers.zip", "application/zip")


def _download(content: bytes, name: str, kind: str) -> Response:
    return Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
