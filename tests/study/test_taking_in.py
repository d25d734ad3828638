"""What the folder says goes into the store: items, first items, judges, and the labels in a file; the words if not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

sa = pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')
pytest.importorskip("alembic", reason='a study needs the extra "judge"')

from assay.errors import ChangedStudyError, StudyError  # noqa: E402
from assay.study.definition import Study, load_study  # noqa: E402
from assay.study.store import intake, people, tables  # noqa: E402
from assay.study.store.answers import add_page_answer  # noqa: E402
from assay.study.store.connection import Store  # noqa: E402
from assay.study.store.intake import digest_of_study, sync_study  # noqa: E402
from assay.study.store.items import PAIRS, active_items, put_pairs, questions  # noqa: E402
from assay.study.store.people import add_people, give  # noqa: E402

RECORDED = {"provider": "recorded", "file": "replies.jsonl"}
STARS = {"name": "stars", "text": "How many?", "scale": "1-5", "show": ["text"]}
TONE = {"name": "tone", "text": "Which?", "scale": "nominal:calm,odd", "show": ["text"]}


@pytest.fixture
def store(tmp_path) -> Iterator[Store]:
    with Store.open(tmp_path / "store.db") as opened:
        yield opened


def study(folder: Path, *, files: dict[str, str] | None = None, **config: Any) -> Study:
    """A study of three items, i1 to i3, with these parts and files."""
    rows = "item,text\n" + "".join(f"i{n},text {n}\n" for n in (1, 2, 3))
    for name, text in ({"items.csv": rows, "replies.jsonl": ""} | (files or {})).items():
        (folder / name).write_text(text)
    base = {"items": {"file": "items.csv"}, "questions": [STARS], "judges": [{"name": "m"} | RECORDED]}
    (folder / "study.yaml").write_text(yaml.safe_dump(base | config))
    return load_study(folder)


def sync(store: Store, one: Study, changed: Any = None) -> None:
    sync_study(store, one, changed)


def annotators(store: Store) -> dict[str, tuple[str, bool, dict[str, Any]]]:
    n = tables.annotators
    with store.reading() as db:
        return {row.annotator: (row.kind, row.active, row.definition) for row in db.execute(sa.select(n))}


def refused(store: Store, folder: Path, **more: Any) -> str:
    with pytest.raises(StudyError) as error:
        sync_study(store, study(folder, **more))
    return str(error.value).replace(f"{folder}/", "")


# -- items and who is asked ------------------------------------------------------------------------------


def test_items_judges_and_what_is_said_of_them_are_those_of_the_folder(store, tmp_path):
    sync(store, study(tmp_path, people={"order": "first.csv"}, files={"first.csv": "item\ni3\ni1\n"}))
    assert store.setting(intake.FIRST) == ["i3", "i1"]
    assert store.setting(intake.CONFIG)["questions"][0]["name"] == "stars"
    assert "limits" not in store.setting(intake.CONFIG), "only what is said"
    kind, active, definition = annotators(store)["m"]
    assert (kind, active, definition["file"]) == ("judge", True, "replies.jsonl")
    fewer = "item,text\ni2,text 2\ni4,new\n"
    sync(store, study(tmp_path, judges=[{"name": "n"} | RECORDED], files={"items.csv": fewer}))
    assert {name: active for name, (_, active, _) in annotators(store).items()} == {"m": False, "n": True}
    assert store.setting(intake.FIRST) == []
    with store.reading() as db:
        assert sorted(active_items(db)) == ["i2", "i4"]
        i = tables.items.c
        assert db.execute(sa.select(i.item, i.position).where(i.active).order_by(i.position)).all() == [
            ("i2", 0), ("i4", 1)
        ]  # fmt: skip


def test_nothing_is_read_again_where_the_folder_says_the_same(store, tmp_path, monkeypatch):
    one = study(tmp_path)
    sync(store, one)
    monkeypatch.setattr(intake, "change_study", None)
    sync(store, load_study(tmp_path))
    with pytest.raises(TypeError):
        sync(store, study(tmp_path, name="another"))


def test_digest_of_a_study_names_all_that_is_read_of_it(tmp_path):
    (tmp_path / "a.png").write_bytes(b"one")
    items = "item,text,photo\ni1,x,a.png\n"
    files = {"items.csv": items, "labels.csv": "item,annotator,label\n", "checks.csv": "item,text,photo,stars\n"
             "c1,y,c.png,3\n"}  # fmt: skip
    config = {"items": {"file": "items.csv", "images": ["photo"]}, "labels": "labels.csv",
              "people": {"checks": {"file": "checks.csv"}}}  # fmt: skip
    first = digest_of_study(study(tmp_path, files=files, **config))
    assert digest_of_study(study(tmp_path, files=files, **config)) == first
    seen = {first}
    for change in (
        lambda: (tmp_path / "a.png").write_bytes(b"two"), lambda: (tmp_path / "c.png").write_bytes(b"check"),
        lambda: (tmp_path / "labels.csv").write_text("item,annotator,label\ni1,ann,3\n"),
        lambda: (tmp_path / "items.csv").write_text(items + "i2,z,a.png\n"),
        lambda: (tmp_path / "split.csv").write_text("item,part\ni1,test\n"),
    ):  # fmt: skip
        change()
        seen.add(digest_of_study(load_study(tmp_path)))
    assert len(seen) == 6
    (tmp_path / "replies.jsonl").write_text('{"item": "i1"}\n')  # read when the judge is asked, and only then
    (tmp_path / "notes.txt").write_text("x")
    assert digest_of_study(load_study(tmp_path)) in seen
    assert digest_of_study(study(tmp_path, files=files, **config | {"name": "other"})) not in seen


def test_checks_and_practice_are_separate_items(store, tmp_path):
    known = {"checks.csv": "item,text,stars\nc1,x,3\n", "warm.csv": "item,text,stars,feedback\nw1,x,2,Well.\n"}
    people = {"checks": {"file": "checks.csv"}, "warm_up": "warm.csv"}
    sync(store, study(tmp_path, files=known, people=people))
    i = tables.items.c
    with store.reading() as db:
        found = db.execute(sa.select(i.item, i.role, i.position, i.known).order_by(i.role, i.position)).all()
    assert [tuple(row) for row in found] == [
        ("c1", "check", 0, {"labels": {"stars": 3}, "feedback": ""}), ("i1", "item", 0, None), ("i2", "item", 1, None),
        ("i3", "item", 2, None), ("w1", "warm-up", 0, {"labels": {"stars": 2}, "feedback": "Well."}),
    ]  # fmt: skip
    both = {"checks.csv": "item,text,stars\ni2,x,3\ni3,x,3\n"}
    words = "i2, i3 is in two of the files of items; give each item a unique id"
    assert refused(store, tmp_path, files=both, people={"checks": {"file": "checks.csv"}}) == words
    strange = {"first.csv": "item\ni2\ni9\nc1\n"}
    words = "first.csv names i9, c1, which the study does not have"
    assert refused(store, tmp_path, files=strange, people={"order": "first.csv"}) == words


def test_items_know_their_part_where_they_are_split(store, tmp_path):
    split = {"split.csv": "item,part\ni1,development\ni3,test\n"}
    one = study(tmp_path, files=split)
    assert set(one.parts.values()) == {"development", "test"}
    sync(store, one)
    i = tables.items.c
    with store.reading() as db:
        known = db.execute(sa.select(i.known).order_by(i.position)).scalars().all()
    assert known == [{"part": "development"}, {"part": "test"}, {"part": "test"}], (
        "an item that is not named is in the test set"
    )
    part = {"items.csv": "item,text,part\ni1,x,a\n"} | split
    words = "split.csv says which part an item is in; rename the items' column 'part'"
    assert refused(store, tmp_path, files=part) == words


def test_items_of_systems_are_sources(store, tmp_path):
    task = {"name": "summary", "text": "Sum up.", "scale": "text", "show": ["text"]}
    better = {"name": "better", "text": "Which?", "scale": "preference", "options": ["summary"], "show": ["text"]}
    systems = {"questions": [task, better], "systems": [{"name": name} | RECORDED for name in ("a", "b")],
               "comparisons": {"items": 1}}  # fmt: skip
    sync(store, study(tmp_path, **systems))
    assert annotators(store)["a"][0] == "judge"
    assert annotators(store)["a"][2]["writes"] is True
    assert "writes" not in annotators(store)["m"][2]
    pair = {"pair_of": "i1", "first": "a", "second": "b", "first_output": 1, "second_output": 1, "first_text": "x",
            "second_text": "y"}  # fmt: skip
    with store.writing() as db:
        assert sorted(active_items(db, "source")) == ["i1", "i2", "i3"]
        assert active_items(db, "item") == []
        put_pairs(db, [pair], "one", 1.0)
        (name,) = active_items(db, "item")
    sync(store, study(tmp_path, name="other", **systems))
    with store.reading() as db:
        assert active_items(db, "item") == [name]
    assert store.setting(PAIRS) == "one"
    for column in ("first_text", "pair_of"):
        rows = f"item,text,{column}\ni1,x,y\n"
        words = f"the items' column '{column}' is reserved for the outputs of systems; rename it"
        assert refused(store, tmp_path, files={"items.csv": rows}, **systems) == words
    sync(store, study(tmp_path, files={"items.csv": "item,text,first_text\ni1,x,y\n"}), "new-version")


# -- a text that changes -------------------------------------------------------------------------------------


def given(store: Store) -> None:
    """To eva: i1, which she answered and half wrote again, and i2, which is before her."""
    add_people(store, {"eva": {}})
    with store.writing() as db:
        digests = dict(db.execute(sa.select(tables.items.c.item, tables.items.c.digest)).all())
        db.execute(sa.insert(tables.forms).values(id=1, digest="d", made_at=0.0, definition={}))
        asked = json.dumps([one.id for one in questions(db)])
        before = (("i1", "answered"), ("i2", "given"), ("i3", "answered"))
        give(db, [{
            "annotator": "eva", "item": item, "questions": asked, "condition": "{}", "repeat": 1, "role": "item",
            "party": "", "session": 1, "page": 1, "place": place, "state": state, "form": 1, "given_at": 1.0,
            "expires_at": 9e9, "shown": {"item": digests[item]}, "extra": False,
        } for place, (item, state) in enumerate(before)])  # fmt: skip
        for number, task in enumerate(people.tasks_on_pages(db, "eva", [1])):
            people.put_draft(db, task.id, 1, {}, 1.0)
            if task.state == "answered":
                row = {"request_key": f"k{number}", "revision": 1, "status": "valid", "label": 3, "answered_at": 1.0}
                add_page_answer(db, task, questions(db)[0].id, row)


NEW_TEXT = {"items.csv": "item,text\ni1,another\ni2,another\ni3,text 3\n"}


@pytest.mark.parametrize(
    ("new_text", "changed", "again"),
    [("ask-again", "new-version", True), ("ask-again", "same-question", False), ("keep", "new-version", False)],
)
def test_after_change_ask_again_reopens_tasks(store, tmp_path, new_text, changed, again):
    sync(store, study(tmp_path, people={"after_change": new_text}))
    given(store)
    changing = study(tmp_path, people={"after_change": new_text}, files=NEW_TEXT)
    if again:
        with pytest.raises(ChangedStudyError, match=r"1 answer to 'stars' \(1 by annotators\) would no longer count"):
            sync(store, changing)
    sync(store, changing, changed)
    with store.reading() as db:
        tasks = people.tasks_on_pages(db, "eva", [1])
        now = dict(db.execute(sa.select(tables.items.c.item, tables.items.c.digest)).all())
        s = tables.answers.c
        said = db.execute(sa.select(s.status, s.reason, s.assignment).order_by(s.id)).all()
        drafts = people.drafts_of(db, [one.id for one in tasks])
    states = ["reopened", "given", "answered"] if again else ["answered", "given", "answered"]
    assert [one.state for one in tasks] == states
    assert [one.shown["item"] == now[one.item] for one in tasks] == [again, again, True]
    first, _, last = tasks
    assert (first.id in drafts, last.id in drafts) == (not again, True)
    reason = [("withdrawn", "the item's text has changed", 1)] if again else []
    assert [tuple(row) for row in said] == [("valid", None, 1), ("valid", None, 2), *reason]


# -- labels of people ----------------------------------------------------------------------------------------


def labelled(folder: Path, rows: str, *, file: str = "labels.csv", **config: Any) -> Study:
    return study(folder, files={file: rows}, labels=file, **config)


def kept(store: Store) -> list[tuple[Any, ...]]:
    a, s, q = tables.assignments, tables.answers.c, tables.questions.c
    joined = a.join(tables.answers, s.id == a.c.answer).join(tables.questions, q.id == a.c.question)
    query = sa.select(a.c.item, q.name, a.c.annotator, a.c.condition, a.c.repeat, s.label, s.shown).select_from(joined)
    with store.reading() as db:
        return [tuple(row) for row in db.execute(query.order_by(a.c.id))]


def test_labels_of_the_file_keep_extra_columns(store, tmp_path):
    rows = (
        "item,criterion,annotator,label,repeat,order,seconds,text,age\n"
        "i1,stars,ann,4,1,a>b,2.5,x,30\ni1,tone,ann,calm,1,,,x,30\ni2,stars,bob,5,2,b>a,,x,40\n"
        "i1,tone,bob,odd,1,,,x,40\ni2,tone,ann,odd,1,,,x,30\ni9,stars,ann,1,1,,,x,30\n"
    )
    sync(store, labelled(tmp_path, rows, questions=[STARS, TONE]))
    assert kept(store) == [
        ("i1", "stars", "ann", '{"order":"a>b"}', 1, 4, {"about": {"seconds": 2.5}}),
        ("i1", "tone", "ann", "{}", 1, "calm", None),
        ("i2", "stars", "bob", '{"order":"b>a"}', 2, 5, None),
        ("i1", "tone", "bob", "{}", 1, "odd", None),
        ("i2", "tone", "ann", "{}", 1, "odd", None),
    ]
    assert store.setting(intake.WITHOUT_ITEM) == 1
    assert store.setting(intake.NOT_KEPT) == ["text"]
    assert annotators(store)["ann"] == ("human", True, {"attributes": {"age": 30}})
    assert annotators(store)["bob"][2] == {"attributes": {"age": 40}}
    sync(store, labelled(tmp_path, "item,annotator,label\ni1,ann,4\ni2,cat,2.0\n"), "new-version")
    assert [row[2:6] for row in kept(store) if row[5] is not None and row[1] == "stars"] == [
        ("ann", "{}", 1, 4), ("cat", "{}", 1, 2)
    ]  # fmt: skip
    assert (store.setting(intake.WITHOUT_ITEM), store.setting(intake.NOT_KEPT)) == (0, [])
    assert annotators(store)["cat"] == ("human", True, {})


@pytest.mark.parametrize(
    ("rows", "config", "words"),
    [
        ("item,annotator,label,criterion\ni1,ann,3,fit\ni1,ann,3,stars\n", {},
         "labels.csv has answers to fit; study.yaml asks stars"),
        ("item,annotator,label\ni1,ann,3\n", {"questions": [STARS, {**STARS, "name": "more"}]},
         "a column 'criterion' must assign each label to one of stars, more (study.yaml names labels.csv as the "
            "labels that people gave)"),
        ("item,annotator,label\ni1,ann,9\n", {}, "(study.yaml names labels.csv as the labels that people gave)"),
        ("item,annotator,label\ni1,gpt-4o,3\ni1,llama3-70b,3\n", {},
         "labels.csv: gpt-4o, llama3-70b may be a model; add a column 'kind' with human or judge for "
         "every annotator"),
    ],
)  # fmt: skip
def test_labels_that_do_not_fit_are_refused_in_words(store, tmp_path, rows, config, words):
    with pytest.raises(StudyError) as error:
        sync(store, labelled(tmp_path, rows, **config))
    said = str(error.value).replace(f"{tmp_path}/", "")
    assert said.endswith(words)
    assert words.startswith("(") or said == words
    assert store.setting(intake.SYNCED) is None, "nothing was taken in"


def test_single_question_needs_no_criterion_column(store, tmp_path):
    sync(store, labelled(tmp_path, "item,annotator,label,criterion\ni1,ann,3,stars\n"))
    assert [row[1] for row in kept(store)] == ["stars"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "study.yaml").write_text("{}")
    config = {"labels": "other"}
    assert refused(store, tmp_path, **config) == "other is a study; study.yaml must name a file of labels"


def test_labels_file_rejects_page_annotators(store, tmp_path):
    sync(store, study(tmp_path))
    add_people(store, {"zoe": {}, "ann": {}, "bob": {}})
    with pytest.raises(StudyError) as error:
        sync(store, labelled(tmp_path, "item,annotator,label\ni1,zoe,3\ni1,ann,3\ni1,cat,3\n"))
    assert str(error.value) == (
        "labels.csv has labels of ann, zoe, who answer on the page of this study; remove those labels from the file "
        "(answers on the page count in any case)"
    )
