"""What changes while people answer: questions that come and go, items with a new text, links that are ended."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
import yaml
from annotating import STARS, Annotator, Served

from assay.errors import ChangedStudyError, StudyError
from assay.study.store import tables
from assay.study.store.people import exclude, set_state
from assay.study.store.table import stored_annotations

WHY = {"name": "why", "text": "Why?", "scale": "text"}
TONE = {"name": "tone", "text": "Which tone?", "scale": ["warm", "cold"]}


def changed(page: Served, how: Any = None, **people: Any) -> Served:
    """The study after a change of its questions and of its settings for people."""
    path = page.folder / "study.yaml"
    content = yaml.safe_load(path.read_text())
    content["people"] |= people
    if how is not None:
        content["questions"] = [dict(one) for one in how]
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return page.again()


def names(tasks: list[Any]) -> list[list[str]]:
    return [[question.name for question in task.questions] for task in tasks]


def items_of(page: Served, tasks: list[Any]) -> list[str]:
    known = {row.id: row.item for row in page.rows(tables.tasks)}
    return [known[task.id] for task in tasks]


def finish(person: Annotator) -> int:
    before = len(person.saved)
    assert person.work_through() == "done"
    return len(person.saved) - before


# -- a question is added --------------------------------------------------------------------------------


@pytest.mark.slow
def test_added_question_is_not_asked_about_answered_items(serve: Any) -> None:
    first = serve(items=6)
    assert finish(first.annotator()) == 6
    with changed(first, [STARS, WHY]) as now:
        ana = now.annotator()
        assert ana.work() == []
        assert ana.pages()[1]["progress"] == {"done": 6, "total": 6, "about": False}
        assert len(stored_annotations(now.store)) == 6
        said = now.lead().send("GET", "/lead").text
        assert "Questions added later, not part of earlier answers: &#39;why&#39; (6 answers). To ask" in said
        assert "100%" in said
        assert "answered with an earlier version of the questions" not in said


@pytest.mark.slow
def test_added_question_can_be_asked_alone_about_answered_items(serve: Any) -> None:
    first = serve(items=6, people={"overlap": 2}, who=("ana", "ben", "chi"))
    assert [finish(first.annotator(name)) for name in ("ana", "ben")] == [6, 6]
    with changed(first, [STARS, WHY], after_change="ask-again") as now:
        assert "&#39;why&#39; (12 answers). The annotators of these items" in now.lead().send("GET", "/lead").text
        ana = now.annotator("ana")
        assert set(map(tuple, names(ana.work()))) == {("why",)}
        assert finish(ana) == 6
        assert finish(now.annotator("chi")) == 0, "all places were taken before"
        assert "&#39;why&#39; (6 answers)" in now.lead().send("GET", "/lead").text
        assert finish(now.annotator("ben")) == 6
        said = now.lead().send("GET", "/lead").text
        assert "Added later" not in said
        assert "100%" in said
        table = stored_annotations(now.store).labels
        assert Counter(table["criterion"]) == {"stars": 12, "why": 12}
        assert table.select("item", "annotator", "criterion").is_unique().all()
        assert {row.role for row in now.rows(tables.tasks)} == {"item", "addition"}


@pytest.mark.slow
def test_added_question_is_asked_with_new_items_and_alone_about_earlier_ones(serve: Any) -> None:
    first = serve(items=6, people={"ahead": 1, "quota": 6, "overlap": 1})
    ana = first.annotator()
    held = [ana.work()[0], ana.work()[1]]
    assert [ana.answer(task).status for task in held[:1]] == [200]
    with changed(first, [STARS, TONE], after_change="ask-again") as now:
        ana = now.annotator()
        assert ana.pages()[1]["progress"] == {"done": 1, "total": 7, "about": False}
        ana.join()
        asked: list[tuple[str, tuple[str, ...]]] = []
        while tasks := ana.work():
            asked += [(items_of(now, tasks[:1])[0], tuple(names(tasks[:1])[0]))]
            assert ana.keep(tasks[0]).status == 200
        alone = {item for item, questions in asked if questions == ("tone",)}
        assert alone == set(items_of(now, held)), "one was answered, and one was unanswered, before it was added"
        assert Counter(questions for _, questions in asked) == {("stars",): 1, ("tone",): 2, ("stars", "tone"): 4}
        assert ana.pages()[1]["progress"] == {"done": 8, "total": 8, "about": False}
        table = stored_annotations(now.store).labels
        assert Counter(table["criterion"]) == {"stars": 6, "tone": 6}


@pytest.mark.slow
def test_place_counts_once_for_all_versions_of_the_questions(serve: Any) -> None:
    first = serve(items=4, people={"overlap": 1, "quota": 2}, who=("ana", "ben", "chi"))
    assert finish(first.annotator("ana")) == 2
    with changed(first, [STARS, WHY]) as now:
        assert finish(now.annotator("ben")) == 2
        assert finish(now.annotator("chi")) == 0
        items = Counter(row.item for row in now.rows(tables.tasks, tables.tasks.c.state == "answered"))
        assert set(items.values()) == {1}
        assert len(items) == 4


@pytest.mark.slow
def test_reworded_question_is_asked_again(serve: Any) -> None:
    first = serve(items=2, questions=[STARS, TONE])
    assert finish(first.annotator()) == 2
    path = first.folder / "study.yaml"
    path.write_text(path.read_text().replace("Which tone?", "What tone?"))
    with first.again("new-version") as now:
        assert names(now.annotator().work()) == [["stars", "tone"]] * 2


@pytest.mark.slow
def test_removed_question_keeps_answered_and_open_tasks(serve: Any) -> None:
    first = serve(items=3, questions=[STARS, TONE])
    ana = first.annotator()
    done, under_way, _ = ana.work()
    assert ana.answer(done).status == 200
    path = first.folder / "study.yaml"
    content = yaml.safe_load(path.read_text())
    content["questions"] = [dict(STARS)]
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ChangedStudyError, match=r"1 answer to 'tone'"):
        first.again()
    with first.again("new-version") as now:
        ana = now.annotator()
        asked = ana.work()
        assert names(asked) == [["stars"], ["stars"]]
        stars, tone = (question.id for question in under_way.questions)
        assert ana.answer(under_way.id, {stars: 4, tone: "warm"}).status == 200, "a page loaded before the change"
        assert ana.answer(asked[1]).status == 200
        assert ana.pages()[1]["end"]["kind"] == "done"
        assert len(stored_annotations(now.store)) == 3


# -- an item has another text ---------------------------------------------------------------------------


def rewrite(page: Served, number: int, text: str) -> None:
    path = page.folder / "items.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[number]["text"] = text
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.slow
def test_changed_item_is_not_asked_again_by_default(serve: Any) -> None:
    first = serve(items=3)
    assert finish(first.annotator()) == 3
    rewrite(first, 1, "Another text.")
    with first.again() as now:
        assert now.annotator().work() == []
        assert len(stored_annotations(now.store)) == 3


@pytest.mark.slow
def test_changed_item_is_asked_again_as_new_version(serve: Any) -> None:
    first = serve(items=3, people={"after_change": "ask-again", "overlap": 1}, who=("ana", "ben"))
    assert finish(first.annotator()) == 3
    rewrite(first, 1, "Another text.")
    with pytest.raises(ChangedStudyError, match=r"1 answer to 'stars' \(1 by annotators\) would no longer count"):
        first.again()
    with first.again("new-version") as now:
        assert now.annotator("ben").work() == [], "the place still belongs to its person"
        ana = now.annotator("ana")
        (task,) = ana.work()
        assert "Another text." in task.text
        assert (task.state, task.revision) == ("reopened", 2), "the answer and its withdrawal"
        assert ana.answer(task, {task.questions[0].id: 5}).status == 200
        assert len(stored_annotations(now.store)) == 3
        rows = [row for row in now.history() if row["item"] == "i001"]
        assert [(row["status"], row["reason"]) for row in rows] == [
            ("valid", None),
            ("withdrawn", "the item's text has changed"),
            ("valid", None),
        ]


@pytest.mark.slow
def test_same_question_keeps_answers_to_the_old_text(serve: Any) -> None:
    first = serve(items=2, people={"after_change": "ask-again"})
    ana = first.annotator()
    answered, _ = ana.work()
    assert ana.answer(answered).status == 200
    rewrite(first, int(items_of(first, [answered])[0][1:]), "Another text.")
    with first.again("same-question") as now:
        assert len(stored_annotations(now.store)) == 1
        assert len(now.annotator().work()) == 1


@pytest.mark.slow
def test_spans_of_an_old_text_do_not_count_for_the_new_one(serve: Any) -> None:
    asked = {"name": "names", "text": "?", "scale": "spans:person", "of": "text", "show": ["text"]}
    items = [{"item": f"i00{k}", "text": "Ada and Bob.", "year": 2020} for k in range(2)]
    first = serve(items=items, questions=[asked])
    ana = first.annotator()
    for task in ana.work():
        assert ana.answer(task, {task.questions[0].id: [[0, 6, "person"]]}).status == 200
    items[0]["year"] = 2021  # which no annotator marks
    items[1]["text"] = "Ada."
    (first.folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in items))
    with first.again() as now:
        labels = stored_annotations(now.store)
        assert set(labels.labels["item"].str.head(4)) == {"i000"}
        assert labels.labels.height == 3
        assert "the text has changed since its spans were marked" in " ".join(labels.reading.lines())
    items[1]["text"] = ["Ada.", "Bob."]
    (first.folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in items))
    with pytest.raises(StudyError, match=r"item 'i001': 'names' marks spans in 'text', which holds no text"):
        first.again()


# -- a link is ended ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("how", ["end", "exclude"])
def test_revoked_link_frees_places_at_once(serve: Any, how: str) -> None:
    page = serve(items=4, people={"overlap": 1, "ahead": 3}, who=("ana", "ben"))
    ana, ben = page.annotator("ana"), page.annotator("ben")
    held = ana.work()
    assert len(held) == 4
    assert ben.work() == []
    if how == "end":
        set_state(page.store, "ana", "revoked")
    else:
        exclude(page.store, "ana")
    assert ana.answer(held[0]).status == 403
    assert len(ben.work()) == 4


@pytest.mark.slow
def test_readmitted_person_continues_with_free_items(serve: Any) -> None:
    page = serve(items=4, people={"overlap": 1, "ahead": 3}, who=("ana", "ben"))
    ana = page.annotator("ana")
    held = ana.work()
    assert ana.answer(held[0]).status == 200
    page_of_lead = page.lead()
    assert page_of_lead.form("/lead/reopen", task=str(held[0].id)).status == 303
    set_state(page.store, "ana", "revoked")
    assert page.annotator("ben").work_through(2) == "enough"
    set_state(page.store, "ana", "active")
    mine = ana.work()
    assert len(mine) < 4
    assert {task.id for task in mine} < {task.id for task in held}


@pytest.mark.slow
def test_page_checks_its_link(serve: Any) -> None:
    page = serve(who=("ana", "ben"))
    ana, ben = page.annotator("ana"), page.annotator("ben")
    mine = ana.send("GET", "/answers")
    assert mine.status == 200
    assert mine.json()["person"] != ben.send("GET", "/answers").json()["person"]
    assert f'data-person="{mine.json()["person"]}"' in ana.send("GET", "/work").text
    set_state(page.store, "ana", "revoked")
    refused = ana.send("GET", "/answers")
    assert (refused.status, refused.json()["error"]) == (403, "link")
    assert "deactivated this link" in refused.json()["message"]


# -- fields shown with the options of a triplet ---------------------------------------------------------


def test_drawn_triplet_shows_differing_fields_of_each_option(serve: Any) -> None:
    rows = [{"item": f"i{n}", "idea": f"Idea {n}.", "topic": "bread", "by": f"Speaker {n}", "no": n} for n in range(3)]
    odd = {"name": "odd", "text": "Which?", "scale": "odd-one-out", "options": ["idea"], "show": ["topic", "by"]}
    page = serve(items=rows, questions=[odd], people={"pairs": 1})
    (task,) = page.annotator().work()
    text = " ".join(task.text.split())
    for number in range(3):
        assert f"Idea {number}. by Speaker {number}" in text
    assert text.count("bread") == 1
    (triplet,) = [row for row in page.rows(tables.items) if row.role == "triplet"]
    assert "no" not in triplet.fields, "differing hidden fields belong to none of the three"


# -- items that come first ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("overlap", [None, 1])
def test_queue_of_a_route_precedes_other_items(serve: Any, tmp_path: Any, overlap: int | None) -> None:
    uncertain = ["i003", "i007", "i009"]
    queue = [{"item": name, "signal": 0.2, "who": "people"} for name in uncertain]
    people = {"order": "queue.jsonl", "overlap": overlap, "ahead": 1}
    page = serve(items=12, people=people, tables={"queue.jsonl": queue}, who=("ana", "ben"))
    ana = page.annotator("ana")
    for _ in uncertain:
        assert ana.work_through(1) == "enough"
    done = [row.item for row in page.rows(tables.tasks, tables.tasks.c.state == "answered")]
    assert sorted(done) == uncertain
    assert page.annotator("ben").work_through() in ("done", "empty")
    with pytest.raises(StudyError, match=r"^queue.jsonl names i099, which the study does not have$"):
        serve(items=2, people=people, tables={"queue.jsonl": [{"item": "i099"}]})
