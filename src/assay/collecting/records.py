"""What was collected, to take away: the one table, and everything that was given, shown and answered."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from typing import Any

from assay._version import __version__
from assay.data.annotations import Annotations
from assay.study.store.connection import Store
from assay.study.store.items import items
from assay.study.store.records import records
from assay.study.store.table import stored_annotations

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
    with records(store) as found, zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as file:
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
and every answer that they ever gave. Written by assay {__version__}.

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
                where the question still reads so and the item is in the study and not a check or practice.

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


What somebody saw: take their lines of tasks.jsonl. For each, the item's fields that its questions show; then each
question with its text, guidelines and scale, its options in the order that "shown" gives.
"""
