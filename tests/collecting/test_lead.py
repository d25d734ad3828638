"""The export: the one table, and an archive from which all that was shown can be built again."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason='the page needs the extra "serve"')
pytest.importorskip("fastapi", reason='the page needs the extra "serve"')

from annotating import SECRET, STARS, Annotator, Served, link_of

import assay
from assay.collecting.desk import lead
from assay.collecting.desk.lead import README, archive, labels_csv
from assay.collecting.desk.overview import Moment, Overview, PersonRow, Remark
from assay.collecting.forms import PageForm
from assay.collecting.people import pages_of
from assay.data.scales import parse_scale
from assay.errors import StudyError
from assay.study.schema import scale_of
from assay.study.store import people, tables
from assay.study.store.table import stored_annotations

FILES = (
    "answers",
    "tasks",
    "questions",
    "forms",
    "items",
    "contents",
    "people",
    "consents",
    "visits",
    "replies",
    "messages",
    "events",
    "erased",
)


def opened(content: bytes) -> dict[str, list[dict[str, Any]]]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        assert file.testzip() is None
        assert file.namelist() == ["README.txt", *(f"{name}.jsonl" for name in FILES)]
        return {name: [json.loads(line) for line in file.read(f"{name}.jsonl").splitlines()] for name in FILES}


# -- promise 8: shown pages and their order can be reconstructed from the export alone -----------------


Shown = dict[str, Any]


def rebuilt(content: bytes) -> dict[str, dict[int, Shown]]:
    """By person, the pages in order, from the archive and its README only."""
    tables = opened(content)
    items = {(row["item"], row["digest"]): row for row in (*tables["items"], *tables["contents"])}
    questions = {row["id"]: row for row in tables["questions"]}
    forms = {row["id"]: row["definition"] for row in tables["forms"]}
    found: dict[str, dict[int, Shown]] = {}
    for task in sorted(tables["tasks"], key=lambda task: (task["annotator"], task["place"])):
        fields = items[task["item"], task["shown"]["item"]]["fields"]
        form = forms[task["form"]]
        asked = [questions[number] for number in task["questions"]]
        columns = dict.fromkeys(
            column for one in asked for column in shown_columns(one["definition"], fields, form["hidden"])
        )
        pages = found.setdefault(task["annotator"], {})
        page = pages.setdefault(task["page"], {"instructions": form["instructions"], "tasks": []})
        page["tasks"].append(
            {
                "task": task["id"],
                "place": task["place"],
                "texts": [(column.replace("_", " "), str(fields[column])) for column in columns if column in fields],
                "questions": [rebuilt_question(task, one, fields) for one in asked],
            }
        )
    for pages in found.values():
        for page in pages.values():
            each = [task["texts"] for task in page["tasks"]]
            above = [text for text in each[0] if len(each) > 1 and all(text in texts for texts in each)]
            for task in page["tasks"]:
                task["texts"] = [*above, *(text for text in task["texts"] if text not in above)]
    return found


def shown_columns(definition: Mapping[str, Any], fields: Mapping[str, Any], hidden: Sequence[str]) -> list[str]:
    triplet = ["first", "second", "third"] if definition["scale"] == "odd-one-out" else []
    not_beside = [*definition["options"], *triplet, *(f"{name}_item" for name in triplet)]
    columns = definition["show"]
    if columns is None:
        columns = [column for column in fields if column not in hidden]
    return [column for column in columns if column not in not_beside]


def rebuilt_question(task: Mapping[str, Any], question: Mapping[str, Any], fields: Mapping[str, Any]) -> Shown:
    definition = question["definition"]
    order = task["shown"]["order"].get(str(question["id"]), [])
    return {
        "id": question["id"],
        "words": (definition["name"], definition["text"], definition["guidelines"]),
        "scale": task["condition"].get("scale") or definition["scale"],
        "options": [str(fields[column]) for column in order],
    }


def shown(page: PageForm, instructions: str) -> Shown:
    """The contents of a page, from its HTML."""
    return {
        "instructions": instructions,
        "tasks": [
            {
                "task": task.id,
                "place": task.place,
                "texts": [(field.title, field.text) for field in (*page.shared, *task.fields)],
                "questions": [
                    {
                        "id": one.id,
                        "words": (one.name, one.text, one.guidelines),
                        "scale": one.allowed,
                        "options": [choice.field.text for choice in one.choices if choice.field],
                    }
                    for one in task.questions
                ],
            }
            for task in page.tasks
        ],
    }


class Watching:
    """An annotator whose pages are recorded when they are first shown."""

    def __init__(self, page: Served, name: str) -> None:
        self.page, self.name = page, name
        self.person: Annotator = page.annotator(name)
        self.saw: dict[int, Shown] = {}

    def work(self, most: int = 1000) -> None:
        for _ in range(most):
            tasks, _rest = self.person.pages()
            self.look()
            if not tasks:
                return
            for task in [task for task in tasks if task.page == tasks[0].page]:
                assert self.person.answer(task).status == 200

    def look(self) -> None:
        me = people.find(self.page.store, self.name)
        assert me is not None
        mine = self.page.rows(tables.tasks, tables.tasks.c.annotator == self.name)
        new = sorted({task.page for task in mine} - set(self.saw))
        if not new:
            return
        design = self.page.design
        for page in pages_of(design, me, new):
            self.saw[page.number] = shown(page, design.people.instructions)


def compare(page: Served, seen: Mapping[str, Mapping[int, Shown]]) -> None:
    again = rebuilt(archive(page.store))
    assert set(again) == set(seen)
    for name, pages in seen.items():
        assert list(again[name]) == sorted(pages)
        for number, one in pages.items():
            built = again[name][number]
            for task in built["tasks"]:
                for question in task["questions"]:
                    question["scale"] = scale_of(question["scale"]).describe()
            assert built == one


PAIRS = {
    **{"name": "better", "text": "Which is better?", "scale": "preference", "options": ["one", "two"]},
    **{"show": ["source_text"], "guidelines": "Read both."},
}
SEVERAL = [
    {"name": "stars", "text": "How many stars?", "scale": "1-5", "show": ["source_text"]},
    PAIRS,
    {"name": "why", "text": "Why?", "scale": "text", "optional": True, "show": ["note"]},
]


def pairs(n: int) -> list[dict[str, Any]]:
    """Items with two options, two of one document, whose author stays hidden."""
    return [
        {
            **{"item": f"i{number:03d}", "doc": f"d{number // 2}", "source_text": f"Source {number // 2}."},
            **{"one": f"One of {number}.", "two": f"Two of {number}.", "note": f"Née № {number} 🜁", "by": "a model"},
        }
        for number in range(n)
    ]


def studies() -> Iterator[Any]:
    yield pytest.param({"items": 6}, id="plain")
    yield pytest.param({"items": pairs(8), "questions": SEVERAL, "people": {"overlap": 1, "quota": 3}}, id="several")
    yield pytest.param(
        {
            "items": {"file": "items.jsonl", "document": "doc"},
            "rows": pairs(8),
            "questions": [PAIRS],
            "people": {"together": True, "instructions": "All of a source."},
        },
        id="together",
    )
    yield pytest.param(
        {"items": 5, "conditions": {"scale": ["interval:0-1", "0-10"]}, "people": {"retest": 0.5}},
        id="sessions",
    )
    yield pytest.param(
        {
            "items": 6,
            "questions": [{"name": "odd", "text": "Which one?", "scale": "odd-one-out", "options": ["text"]}],
            "people": {"pairs": 1, "overlap": 1},
        },
        id="triplets",
    )
    yield pytest.param(
        {
            "items": 6,
            "people": {"checks": {"file": "checks.jsonl", "every": 2}, "warm_up": "warm.jsonl", "order": "fixed"},
            "tables": {
                "checks.jsonl": [{"item": "c1", "text": "Press 5.", "stars": 5}],
                "warm.jsonl": [
                    {"item": "w1", "text": "Press 1.", "stars": 1, "feedback": "Because the text confirms it."}
                ],
            },
        },
        id="checks",
    )


@pytest.mark.slow
@pytest.mark.parametrize("study", list(studies()))
def test_shown_pages_can_be_reconstructed(serve: Any, study: dict[str, Any]) -> None:
    study = dict(study)
    part = study.pop("items")
    if isinstance(part, dict):  # the folder's table of items, named in study.yaml with the column of documents
        study |= {"tables": {"items.jsonl": study.pop("rows")}}
        page = serve_with(serve, part, **study)
    else:
        page = serve(items=part, who=["ana", "ben"], **study)
    seen = {}
    with page:
        for name in ("ana", "ben"):
            one = Watching(page, name)
            one.work()
            seen[name] = one.saw
        if not any(seen.values()):
            pytest.fail("nothing was shown")
        compare(page, {name: pages for name, pages in seen.items() if pages})


def serve_with(serve: Any, part: dict[str, Any], *, tables: Mapping[str, Any], **study: Any) -> Served:
    import yaml

    page = serve(items=list(tables["items.jsonl"]), who=(), **study | {"people": {"overlap": 1}})
    path = page.folder / "study.yaml"
    content = yaml.safe_load(path.read_text()) | {"items": part, "people": study["people"]}
    path.write_text(yaml.safe_dump(content))
    page.close()
    return Served(page.folder, ["ana", "ben"])


@pytest.mark.slow
def test_changed_texts_are_recorded_where_they_were_shown(serve: Any) -> None:
    people = {"order": "fixed", "ahead": 1, "overlap": None, "instructions": "First words."}
    page = serve(items=4, people=people, who=["ana"])
    before = Watching(page, "ana")
    before.work(2)
    path = page.folder / "study.yaml"
    path.write_text(
        path.read_text().replace("How many stars?", "How many stars, by now?").replace("First words.", "Second words.")
    )
    items = page.folder / "items.jsonl"
    items.write_text(items.read_text().replace("Text number 0.", "Zero.").replace("Text number 3.", "Three."))
    with page.again("new-version") as now:
        after = Watching(now, "ana")
        after.saw = dict(before.saw)
        after.work()
        texts = {one["questions"][0]["words"][1] for page in after.saw.values() for one in page["tasks"]}
        assert texts == {"How many stars?", "How many stars, by now?"}
        assert {text for page in after.saw.values() for task in page["tasks"] for _, text in task["texts"]} >= {
            *(
                "Text number 0.",
                "Zero.",
                "Three.",
            )  # the first was answered, and the reworded question must be answered again
        }
        assert {page["instructions"] for page in after.saw.values()} == {"First words.", "Second words."}
        compare(now, {"ana": after.saw})


# -- the archive -------------------------------------------------------------------------------------


def worked(serve: Any, **more: Any) -> Served:
    page = serve(items=pairs(4), questions=SEVERAL, who={"ana": {"role": "nurse"}, "ben": {}}, **more)
    ana = page.annotator("ana")
    (task, *rest) = ana.pages()[0]
    stars, better, why = (question.id for question in task.questions)
    words = {"comment": "Nö <b>", "flag": "odd", "seconds": 12.5}
    assert ana.answer(task, {stars: 2, better: "first", why: "So."}, **words).status == 200
    assert ana.answer(task.id, {stars: 3, better: "tie"}, revision=1, seconds=2).status == 200
    assert ana.answer(rest[0], skip="I would rather not answer").status == 200
    page.annotator("ben").work_through(1)
    return page


@pytest.mark.slow
def test_archive_has_every_answer(serve: Any, url: str) -> None:
    page = worked(serve, store=url)
    tables = opened(archive(page.store))
    history = page.history()
    assert len(tables["answers"]) == len(history) == 12  # two of three questions again, and why was left empty
    for mine, there in zip(tables["answers"], history, strict=True):
        for name in ("annotator", "item", "criterion", "version", "revision", "status", "label", "reason", "comment"):
            assert mine[name] == there[name]
        assert (mine["flag"], mine["seconds"], mine["answered_at"]) == (
            there["flag"],
            there["seconds"],
            there["answered_at"],
        )
        assert mine["latest"] == (there["counts"] and there["status"] == "valid")
        assert mine["shown"] == {k: v for k, v in there["shown"].items() if k != "task"}
    first = tables["answers"][0]
    assert (first["comment"], first["flag"], first["seconds"], first["revision"]) == ("Nö <b>", "odd", 12.5, 1)
    skipped = [row for row in tables["answers"] if (row["reason"] or "").startswith("skipped")]
    assert {(row["status"], row["reason"]) for row in skipped} == {("missing", "skipped: I would rather not answer")}
    tasks = {row["id"]: row for row in tables["tasks"]}
    for row in tables["answers"]:
        task = tasks[row["task"]]
        assert (task["annotator"], task["item"]) == (row["annotator"], row["item"])
        assert row["question"] in task["questions"]
        if "order" in row["shown"]:
            assert row["shown"]["order"] == task["shown"]["order"][str(row["question"])]
    assert [(row["annotator"], row["attributes"]) for row in tables["people"]] == [
        ("ana", {"role": "nurse"}),
        ("ben", {}),
    ]
    with zipfile.ZipFile(io.BytesIO(archive(page.store))) as file:
        assert "Nö <b>".encode() in file.read("answers.jsonl")


@pytest.mark.slow
def test_label_refers_to_the_option_at_the_chosen_position(serve: Any) -> None:
    page = serve(items=pairs(12), questions=[PAIRS], who=["ana"])
    page.annotator().work_through()
    tables = opened(archive(page.store))
    tasks = {row["id"]: row for row in tables["tasks"]}
    assert len({tuple(row["shown"]["order"]["1"]) for row in tasks.values()}) == 2
    for row in tables["answers"]:
        order = tasks[row["task"]]["shown"]["order"][str(row["question"])]
        place = row["shown"]["position"]
        assert row["label"] == {None: 0, "one": -1, "two": 1}[None if place is None else order[place - 1]]


@pytest.mark.slow
def test_archive_is_reproducible(serve: Any) -> None:
    page = worked(serve)
    assert archive(page.store) == archive(page.store)


@pytest.mark.slow
def test_archive_has_no_links_secrets_or_drafts(serve: Any) -> None:
    page = worked(serve, people={"consent": "Please read."})
    ana = page.annotator("ana")
    task = ana.pages()[0][0]
    draft = {"revision": task.revision, "body": {"answers": {"why": "half written words"}}}
    assert ana.send("PUT", f"/drafts/{task.id}", draft).status == 204
    with zipfile.ZipFile(io.BytesIO(archive(page.store))) as file:
        everything = b"".join(file.read(name) for name in file.namelist())
    for held_back in (SECRET, link_of(page.study, page.store, "ana").rpartition("/")[2], "half written words"):
        assert held_back.encode() not in everything
    (me, _) = opened(archive(page.store))["people"]
    assert "link" not in me
    assert me["consented_to"] == page.design.consent_digest()
    assert me["invited_at"] <= me["consented_at"]


@pytest.mark.slow
def test_readme_describes_every_column(serve: Any) -> None:
    page = worked(serve)
    parts = [part.strip() for part in README.split("\n\n")]
    for name, rows in opened(archive(page.store)).items():
        (words,) = [part for part in parts if part.startswith(f"{name}.jsonl")]
        named = [line.split()[0] for line in words.splitlines()[1:] if line[2] != " "]
        if rows:
            assert named == list(rows[0])
        elif name in ("contents", "visits", "replies", "messages", "events"):
            assert set(named) == {column.name for column in getattr(tables, name).columns}
        else:
            without = {"consents": ["digest", "text", "first_agreed_at"], "erased": ["erased_at", "answers"]}
            assert named == without[name]


def test_archive_of_empty_study(serve: Any) -> None:
    page = serve(items=2, who=())
    tables = opened(archive(page.store))
    assert (tables["answers"], tables["tasks"], tables["people"]) == ([], [], [])
    assert len(tables["items"]) == 2
    with pytest.raises(StudyError, match="has no labels"):
        labels_csv(page.store)
    of_lead = page.lead()
    assert of_lead.send("GET", "/lead/labels.csv").status == 404
    reply = of_lead.send("GET", "/lead/answers.zip")
    assert (reply.status, reply.headers["content-type"]) == (200, "application/zip")


@pytest.mark.slow
def test_downloads_require_the_lead(serve: Any) -> None:
    page = worked(serve)
    for path in ("/lead/answers.zip", "/lead/labels.csv"):
        assert page.annotator("ana").send("GET", path).status == 403
    assert opened(page.lead().send("GET", "/lead/answers.zip").body)["answers"]


# -- the one table -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_labels_csv_can_be_read(serve: Any, tmp_path: Any) -> None:
    page = serve(items=6, questions=[STARS, {**STARS, "name": "again"}], who={"ana": {"team": "red"}, "ben": {}})
    for name in ("ana", "ben"):
        page.annotator(name).work_through()
    content = labels_csv(page.store)
    (tmp_path / "labels.csv").write_bytes(content)
    again = assay.read(tmp_path / "labels.csv", scale="1-5")
    own = stored_annotations(page.store)
    key = ["item", "annotator", "criterion", "label"]
    assert again.labels.select(key).sort(key).equals(own.labels.select(key).sort(key))
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert {row["kind"] for row in rows} == {"human"}
    assert {(row["annotator"], row["team"]) for row in rows} == {("ana", "red"), ("ben", "")}
    assert all(float(row["seconds"]) == 1.5 for row in rows)


@pytest.mark.slow
def test_labels_csv_has_answer_columns_without_item_texts(serve: Any) -> None:
    page = worked(serve)
    (header, *rows) = csv.reader(io.StringIO(labels_csv(page.store).decode()))
    assert set(header) == {
        *("item", "annotator", "criterion", "label", "order", "position", "place", "seconds", "kind", "role"),
    }
    assert len(rows) == len(stored_annotations(page.store))
    assert not {"source_text", "note", "by"} & set(header)


# -- by hand -----------------------------------------------------------------------------------------


def row_of(name: str, **more: Any) -> Any:
    about: dict[str, Any] = dict.fromkeys(PersonRow.__dataclass_fields__)
    return PersonRow(**about | {"name": name, "attributes": (), "done": 0, "checks_failed": 0, "flags": 0} | more)


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", "B a C d"), ("nothing known", "B a C d"), ("name", "a B C d"), ("done", "C B a d"),
        ("time", "C a B d"), ("checks", "a B C d"), ("flags", "d B a C"), ("last", "a d B C"),
    ],
)  # fmt: skip
def test_sort_keys_of_annotators(sort: str, order: str) -> None:
    """Annotators without a time or a last answer come last; equal ones keep the order of invitations."""
    view: Any = Overview(
        None,  # type: ignore[arg-type]
        (
            row_of("B", done=3, minutes=2.0),
            row_of("a", done=3, minutes=1.0, checks_failed=2, last=Moment(900.0, 1)),
            row_of("C", done=4, minutes=0.0),
            row_of("d", flags=1, last=Moment(0.5, 1)),
        ),
        *((), (), (), None, frozenset(), ""),
    )
    assert " ".join(one.name for one in lead.arrange(view, sort, "").people) == order


@pytest.mark.parametrize(
    ("find", "people", "remarks"),
    [
        ("", ["Ana", "ben"], ["i1", "i2"]), ("ANA", ["Ana"], ["i1"]), ("nurse", ["ben"], []), ("job", ["ben"], []),
        ("i2", [], ["i2"]), ("odd", [], ["i1"]), ("missing", [], ["i2"]), ("nobody", [], []),
    ],
)  # fmt: skip
def test_find_searches_annotators_and_remarks(find: str, people: list[str], remarks: list[str]) -> None:
    said: Any = {"skip": "", "at": None, "task": 1, "practice": False, "can_reopen": True}
    view: Any = Overview(
        None,  # type: ignore[arg-type]
        (row_of("Ana"), row_of("ben", attributes=(("job", "Nurse"),))),
        (),
        (
            Remark("Ana", "i1", "Odd", "", **said),
            Remark("ben", "i2", "", "half is Missing", **said),
        ),
        *((), None, frozenset(), ""),
    )
    found = lead.arrange(view, "", find)
    assert ([one.name for one in found.people], [one.item for one in found.remarks]) == (people, remarks)


def test_rows_of_person_by_hand() -> None:
    def rows(name: str, *values: Any) -> list[dict[str, Any]]:
        return [{name: value} for value in values]

    record: dict[str, Any] = {
        "answers": [{"annotator": "ana", "shown": {"consent": "c2"}}, {"annotator": "ben", "shown": {"consent": "c3"}},
                    {"annotator": "ana", "shown": {}}],
        "tasks": [{"annotator": "ana", "questions": [1, 2], "item": "i1", "form": 7},
                  {"annotator": "ben", "questions": [3], "item": "i2", "form": 8}],
        "people": [{"annotator": "ana", "consented_to": "c1"}, {"annotator": "ben", "consented_to": "c4"}],
        "questions": rows("id", 1, 2, 3), "forms": rows("id", 7, 8), "contents": rows("item", "i1", "i2", "i3"),
        "items": [{"item": "i1", "known": 4}, {"item": "i2", "known": 5}],
        "consents": rows("digest", "c1", "c2", "c3", "c4"), "visits": rows("person", "ben", "ana"),
        "replies": rows("person", "ana", "ben"), "messages": rows("person", "ana", "ben", None),
    }  # fmt: skip
    found = lead.rows_of_person(record, "ana")
    assert found == {
        "answers": [record["answers"][0], record["answers"][2]],
        "tasks": record["tasks"][:1],
        "people": record["people"][:1],
        "questions": rows("id", 1, 2),
        "forms": rows("id", 7),
        "items": [{"item": "i1", "known": None}],  # known answers stay with the study
        "contents": rows("item", "i1"),
        "consents": rows("digest", "c1", "c2"),
        "visits": rows("person", "ana"),
        "replies": rows("person", "ana"),
        "messages": rows("person", "ana", None),
    }


def test_every_file_of_the_archive_has_the_same_time_and_is_compressed() -> None:
    entry = lead._entry("a.jsonl")
    # Zip files have no times before 1980.
    assert (entry.filename, entry.date_time) == ("a.jsonl", (1980, 1, 1, 0, 0, 0))
    assert entry.compress_type == zipfile.ZIP_DEFLATED
    assert lead._line({"a": "é", "b": "\ud83d"}) == '{"a": "é", "b": "\\ud83d"}\n'.encode()


def test_adjudicated_csv(monkeypatch: pytest.MonkeyPatch) -> None:
    def row(
        item: str, label: Any, status: str = "valid", comment: str | None = None, **condition: str
    ) -> SimpleNamespace:
        return SimpleNamespace(
            item=item, criterion="stars", label=label, status=status, comment=comment, annotator="eva",
            answered_at=float(item[1:]), condition=json.dumps(condition),
        )  # fmt: skip

    given = {"eva": [row("i2", 4.0), row("i1", 2.5, comment="so"), row("i3", None, "missing")]}
    everybody = [SimpleNamespace(name="ana", role="annotator"), SimpleNamespace(name="eva", role="adjudicator")]
    monkeypatch.setattr(lead, "all_people", lambda db: everybody)
    monkeypatch.setattr(lead, "answers_about", lambda db, person: given[person])
    store: Any = SimpleNamespace(reading=lambda: contextlib.nullcontext("db"))
    monkeypatch.setattr(lead, "ended_blind_phase", lambda db: 2.0)  # the decision at 1.0 was before
    assert lead.adjudicated_csv(store).decode() == (
        "item,criterion,label,annotator,comment,blind\ni2,stars,4,eva,,false\ni1,stars,2.5,eva,so,true\n"
    )
    # Of an item that was answered on two scales, each decision names its own.
    given["eva"] = [row("i2", 4.0, scale="1-5"), row("i2", 0.5, scale="interval:0-1")]
    assert lead.adjudicated_csv(store).decode() == (
        "item,criterion,label,annotator,comment,blind,scale\ni2,stars,4,eva,,false,1-5\n"
        "i2,stars,0.5,eva,,false,interval:0-1\n"
    )


@pytest.mark.parametrize(
    ("seconds", "minutes", "quartiles", "median"),
    [
        # Of 1, 2, 4, 8, 16 seconds the quarters lie on the second, third and fourth.
        ([8, 1, 16, 2, 4], {"ana": 9.0, "ben": 1.0, "cem": 2.0}, (2, 4, 8), 90),
        ([1, 3], {"ana": 9.0, "ben": 0.25}, (1.5, 2, 2.5), 15),
        ([1], {"ana": 9.0}, None, None),
        ([], {}, None, None),
    ],
)
def test_person_sheet_compares_times(
    seconds: list[int], minutes: dict[str, float], quartiles: Any, median: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two answers to one item at one time share their seconds; answers without seconds are omitted.
    rows = [SimpleNamespace(item=f"i{k}", repeat=0, condition="{}", seconds=one) for k, one in enumerate(seconds)]
    rows += [*rows[:1], SimpleNamespace(item="none", repeat=0, condition="{}", seconds=None)]
    monkeypatch.setattr(lead.store_people, "find", lambda db, name: SimpleNamespace(attributes={"age": 30}))
    monkeypatch.setattr(lead, "answers_about", lambda db, person: rows)
    monkeypatch.setattr(lead, "failed_checks", lambda design, db: {"ana": [True, False, True], "ben": [True]})
    monkeypatch.setattr(lead, "_styles", lambda design, db, name, rows: ["style"])
    monkeypatch.setattr(lead, "items_named", lambda db, names: {"i0": SimpleNamespace(fields={"text": "x"})})
    monkeypatch.setattr(lead, "_answer_line", lambda design, row, fields: (row.item, fields))
    monkeypatch.setattr(lead, "MOST_LINES", 3)
    design: Any = SimpleNamespace(store=SimpleNamespace(reading=lambda: contextlib.nullcontext("db")))
    found = lead.person_sheet(design, "ana", minutes)
    assert found is not None
    assert (found.name, found.attributes) == ("ana", (("age", "30"),))
    assert (found.quartiles, found.others_median) == (quartiles, median)
    assert (found.checks_failed, found.checks, found.styles) == (2, 3, ("style",))
    newest = [row.item for row in rows[::-1][:3]]
    assert found.lines == tuple((name, (name, {"text": "x"} if name == "i0" else {})) for name in newest)


def test_unknown_person_has_no_sheet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lead.store_people, "find", lambda db, name: None)
    design: Any = SimpleNamespace(store=SimpleNamespace(reading=lambda: contextlib.nullcontext("db")))
    assert lead.person_sheet(design, "ana", {}) is None


def test_person_sheet_lists_a_hundred_answers() -> None:
    assert lead.MOST_LINES == 100


def test_styles_count_first_answers_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def row(item: str, label: Any, who: str = "ana", **more: Any) -> SimpleNamespace:
        about = {"question": 1, "status": "valid", "condition": "{}"}
        return SimpleNamespace(item=item, label=label, annotator=who, **about | more)

    mine = [row("a", 1), row("a", 3), row("b", 2), row("c", 2, status="missing"), row("d", 2, question=2)]
    theirs = [row("a", 1, "ben"), row("a", 2, "ben"), row("a", 3, "cem"), row("b", 2, "ana"), row("b", 1, "cem")]
    asked = []
    monkeypatch.setattr(lead, "human_answers", lambda db, questions: asked.append(questions) or theirs)
    monkeypatch.setattr(lead, "question_style", lambda name, scale, given, mine, others: (name, given, mine, others))
    one, text, unasked = (
        SimpleNamespace(id=n, definition=SimpleNamespace(name=f"q{n}", scale=scale))
        for n, scale in ((1, "1-3"), (2, "text"), (3, "1-3"))
    )
    design: Any = SimpleNamespace(questions=[one, text, unasked])
    (found,) = lead._styles(design, None, "ana", mine)  # type: ignore[arg-type]
    a, b = ("a", "{}"), ("b", "{}")
    assert found == ("q1", [1, 3, 2], {a: 1, b: 2}, {a: [1, 3], b: [1]})
    assert asked == [[1], [3]]


def test_shares_with_a_single_other_answer() -> None:
    found = lead.question_style("stars", parse_scale("1-2"), [1, 2, 2, 2], {"a": 1}, {"a": [2]})
    assert found.shares == (("1", 0.25, 0.0), ("2", 0.75, 1.0))
    alone = lead.question_style("stars", parse_scale("1-2"), [1], {"a": 1}, {})
    assert alone.shares == (("1", 1.0, 0.0), ("2", 0.0, 0.0))
