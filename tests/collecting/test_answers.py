"""What becomes of an answer that the page sends: saved once, never over a newer one, in the item's own order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from annotating import STARS, Served, write_study
from pydantic import ValidationError

import assay
from assay.collecting.answers import (
    LONGEST_TEXT,
    Submission,
    TooLateError,
    _AnswerWriter,
    answer_words,
    clean,
    clean_all,
    save,
)
from assay.collecting.design import Asked, StudyDesign
from assay.collecting.desk.overview import agreement_so_far
from assay.collecting.people import AnswerBody
from assay.data.scales import parse_scale
from assay.errors import DesignError, StudyError
from assay.reading import study_labels
from assay.study.definition import load_study
from assay.study.schema import Question, scale_of
from assay.study.store import tables
from assay.study.store.people import find
from assay.study.store.work_log import label_frame

PAIR = {"name": "better", "text": "Which?", "scale": "preference", "options": ["a", "b"]}
PAIRS = [{"item": "p1", "a": "left", "b": "right"}]


def test_repeated_answer_is_saved_once(serve: Callable[..., Served]) -> None:
    page = serve(items=2)
    ana = page.annotator()
    task = ana.work()[0]
    body = ana.body(task, {task.questions[0].id: 2}, comment="c\x00 \r\n", flag="f", seconds=3.5)
    first = ana.send("POST", "/answers", body).json()
    assert (first["saved"], first["revision"], first["again"], first["extra"]) == (True, 1, False, False)
    assert ana.send("POST", "/answers", body).json() == {**first, "again": True}
    (row,) = page.history()
    assert (row["label"], row["status"], row["comment"], row["flag"], row["seconds"]) == (2, "valid", "c \n", "f", 3.5)
    late = ana.answer(task, {task.questions[0].id: 5}).json()
    assert (late["error"], late["revision"]) == ("newer", 1)
    later = ana.answer(task, {task.questions[0].id: 5}, revision=1).json()
    assert (later["revision"], later["again"]) == (2, False)
    assert [(one["label"], one["counts"]) for one in page.history()] == [(2, False), (5, True)]


def test_answer_from_another_persons_page_is_refused(serve: Callable[..., Served]) -> None:
    page = serve(items=1, who=("ana", "ben"))
    ana, ben = page.annotator(), page.annotator("ben")
    whose = ana.send("GET", "/answers").json()["person"]
    task = ana.work()[0]
    body = ana.body(task, {task.questions[0].id: 2}, person=whose)
    refused = ben.send("POST", "/answers", body)
    assert (refused.status, refused.json()["error"]) == (403, "other person")
    assert refused.json()["message"].startswith("Another person's link was opened in this browser.")
    assert page.history() == []
    assert ana.send("POST", "/answers", body).status == 200
    assert [row["label"] for row in page.history()] == [2]


@pytest.mark.parametrize(
    ("question", "sent", "label"),
    [
        ({"scale": "1-5"}, "3", 3), ({"scale": "1-5"}, 5.0, 5), ({"scale": "interval:0-10"}, "3,5", 3.5),
        ({"scale": "interval:0-10"}, " 4 ", 4), ({"scale": ["no", "yes"]}, "yes", "yes"),
        ({"scale": "text"}, "a\x07b\r\nc", "ab\nc"), ({"scale": "text"}, "y" * LONGEST_TEXT, "y" * LONGEST_TEXT),
    ],
)  # fmt: skip
def test_labels_are_stored_in_canonical_form(
    serve: Callable[..., Served], question: dict[str, Any], sent: Any, label: Any
) -> None:
    page = serve(items=1, questions=[{"name": "q", "text": "Q?", **question}])
    ana = page.annotator()
    task = ana.work()[0]
    assert ana.answer(task, {task.questions[0].id: sent}).status == 200
    assert [row["label"] for row in page.history()] == [label]


@pytest.mark.parametrize(
    ("question", "sent", "words"),
    [
        ({"scale": "1-5"}, 6, "The answer must be"), ({"scale": "1-5"}, 2.5, "The answer must be"),
        ({"scale": "1-5"}, True, "The answer must be"), ({"scale": "interval"}, 2e15, "The answer must be"),
        ({"scale": "1-5"}, None, "Please answer this question, or skip the item."),
        ({"scale": "1-5"}, "  ", "Please answer this question, or skip the item."),
        ({"scale": ["no", "yes"]}, "ye\x00s", "The answer must be"),
        ({"scale": "text"}, "y" * (LONGEST_TEXT + 1), f"The answer must be text of at most {LONGEST_TEXT} characters."),
        ({"scale": "1-5", "optional": True}, None, "Please answer at least one of the questions, or skip the item."),
    ],
)  # fmt: skip
def test_labels_that_are_refused(serve: Callable[..., Served], question: dict[str, Any], sent: Any, words: str) -> None:
    page = serve(items=1, questions=[{"name": "q", "text": "Q?", **question}])
    ana = page.annotator()
    task = ana.work()[0]
    reply = ana.answer(task, {task.questions[0].id: sent})
    assert (reply.status, reply.json()["error"]) == (422, "invalid")
    (said,) = reply.json()["questions"].values()
    assert said.startswith(words), said
    assert page.history() == []


def test_optional_answer_can_be_omitted_and_removed(serve: Callable[..., Served]) -> None:
    stars = {"name": "stars", "text": "Stars?", "scale": "1-5", "optional": True}
    page = serve(items=1, questions=[stars, {**stars, "name": "more"}])
    ana = page.annotator()
    task = ana.work()[0]
    one, two = (question.id for question in task.questions)
    assert ana.answer(task, {one: 2, two: None}).status == 200
    assert [(row["criterion"], row["status"]) for row in page.history()] == [("stars", "valid")]
    assert ana.answer(task, {one: None, two: 4}, revision=1).status == 200
    counts = [(row["criterion"], row["status"], row["label"]) for row in page.history() if row["revision"] == 2]
    assert sorted(counts) == [("more", "valid", 4), ("stars", "withdrawn", None)]
    reply = ana.answer(task, {one: 1, 999: 3}, revision=2)
    assert reply.json()["questions"] == {"999": "This question is not asked here."}


def test_skip_is_stored_without_label(serve: Callable[..., Served]) -> None:
    page = serve(items=1)
    ana = page.annotator()
    task = ana.work()[0]
    assert ana.answer(task, {}, skip="I would\x00 rather not answer").json()["revision"] == 1
    (row,) = page.history()
    assert (row["status"], row["label"], row["reason"]) == ("missing", None, "skipped: I would rather not answer")
    assert ana.answer(task, {}, skip="", revision=1).status == 200
    assert page.history()[-1]["reason"] == "skipped"


@pytest.mark.parametrize("side", ["first", "second"])
def test_preference_is_stored_in_item_order_with_position(serve: Callable[..., Served], side: str) -> None:
    page = serve(items=[{"item": f"p{k}", "a": f"left {k}", "b": f"right {k}"} for k in range(6)], questions=[PAIR])
    ana = page.annotator()
    for _ in range(6):
        task = ana.pages()[0][0]
        assert ana.answer(task, {task.questions[0].id: side}).status == 200
    orders = set()
    for row in page.history():
        order = row["shown"]["order"]
        orders.add(tuple(order))
        assert row["shown"]["position"] == (1 if side == "first" else 2)
        chosen = order[row["shown"]["position"] - 1]
        assert row["label"] == {"a": -1, "b": 1}[chosen]
    assert orders == {("a", "b"), ("b", "a")}


def test_grade_follows_the_sides_and_tie_has_its_kind(serve: Callable[..., Served]) -> None:
    asked = PAIR | {"scale": "preference:a bit<much", "ties": "both-or-neither"}
    items = [{"item": f"p{k}", "a": f"left {k}", "b": f"right {k}", "first": "x", "second": "y"} for k in range(6)]
    page = serve(items=items, questions=[asked | {"show": []}])
    ana = page.annotator()
    for word in ("first: much", "first: much", "second: a bit", "second: a bit", "both", "neither"):
        task = ana.pages()[0][0]
        assert ana.answer(task, {task.questions[0].id: "tie"}).json()["questions"] == {
            str(task.questions[0].id): "The answer must be one of the answers shown."
        }
        assert ana.answer(task, {task.questions[0].id: word}).status == 200
    assert 'data-given="&#34;neither&#34;"' in ana.send("GET", "/work/6").text
    labels = study_labels(page.study)
    assert labels.scale.spec == "preference:a bit<much"
    for row in labels.labels.drop_nulls("position").iter_rows(named=True):
        chosen = row["order"].split(">")[int(row["position"]) - 1]
        assert row["label"] == {"a": -1, "b": 1}[chosen] * (2 if row["position"] == 1 else 1)
    ties = labels.labels.filter(pl.col("label") == 0)
    assert sorted(ties["tie"]) == ["both", "neither"]
    assert labels.labels.filter(pl.col("label") != 0)["tie"].null_count() == 4
    assert assay.ratings(labels, grades="shares", prior=1, method="none").table.height == 2


def test_several_labels_give_one_criterion_each(serve: Callable[..., Served]) -> None:
    asked = {"name": "about", "text": "?", "scale": "several:food,price,staff", "show": ["text"]}
    page = serve(items=8, who=("ana", "ben"), questions=[asked, STARS])
    for name in ("ana", "ben"):
        person = page.annotator(name)
        for k in range(8):
            task = person.pages()[0][0]
            about, stars = (question.id for question in task.questions)
            wrong = person.answer(task, {about: ["food", "none"], stars: 3})
            assert wrong.json()["questions"][str(about)] == "The answer must be all that apply of food, price, staff."
            given = (
                [[], ["price"], ["price", "food"]][int(task.text.partition("number ")[2][0]) % 3]
                if name == "ana" or k
                else ["staff"]
            )
            assert person.answer(task, {about: given, stars: 3}).status == 200
    labels = study_labels(page.study)
    names = [f"about: {one}" for one in ("food", "price", "staff")]
    assert sorted(labels.criteria) == [*names, "stars"]
    assert {labels.scale_of(one).spec for one in names} == {"nominal:no,yes"}
    assert labels.labels.height == 2 * 8 * 4
    found = assay.agreement(labels.where(criterion="about: food"))
    assert 0 < found.table["estimate"][0] <= 1
    assert 'data-given="[' in person.send("GET", "/work/3").text
    with page.store.reading() as db:
        live = {
            one.question: one.title
            for one in agreement_so_far(StudyDesign(page.study, page.store), label_frame(db), ())
        }
    assert list(live) == [*names, "stars"]


def test_ranking_gives_a_vote_for_every_pair(serve: Callable[..., Served]) -> None:
    asked = {"name": "best", "text": "?", "scale": "ranking", "options": ["ant", "bee", "cat"], "show": []}
    items = [{"item": f"p{k}", "ant": "the ant", "bee": "the bee", "cat": "the cat"} for k in range(6)]
    page = serve(items=items, who=("ana", "ben"), questions=[asked])
    for name, wanted in (("ana", "bac"), ("ben", "bca")):
        person = page.annotator(name)
        for _ in range(6):
            task = person.pages()[0][0]
            places = {animal[0]: task.text.index(f"the {animal}") for animal in ("ant", "bee", "cat")}
            shown = sorted(places, key=lambda one: places[one])  # by its position on the page
            given = ["ABC"[shown.index(one)] for one in wanted]
            partial = person.answer(task, {task.questions[0].id: given[:2]})
            assert partial.json()["questions"][str(task.questions[0].id)].endswith("all of A, B, C, the best first.")
            assert person.answer(task, {task.questions[0].id: given}).status == 200
    assert {row["label"] for row in page.history()} == {'["B","A","C"]', '["B","C","A"]'}
    votes = study_labels(page.study)
    assert votes.scale.spec == "preference"
    assert votes.labels.height == 2 * 6 * 3
    board = assay.ratings(votes, prior=1, method="none")
    assert board.table["system"][0] == "bee"
    wins = {(row["first"], row["second"]): row["wins"] for row in board.wins.iter_rows(named=True)}
    assert (wins["bee", "ant"], wins["bee", "cat"], wins["ant", "cat"]) == (12, 12, 6)
    assert set(votes.items["first"]) >= {"bee", "cat"}, "the first of two is random, so that labels are balanced"
    assert board.run.facts["items"] == 6, "the pairs belong to one item"
    for row in votes.labels.iter_rows(named=True):
        first, second = row["item"].partition(": ")[2].split(" / ")
        assert row["order"].split(">")[row["position"] - 1] == (first if row["label"] == -1 else second)


def test_several_labels_are_refused_in_label_files(tmp_path: Path) -> None:
    asked = {"name": "about", "text": "?", "scale": "several:a,b"}
    with pytest.raises(StudyError, match=r"cannot hold answers to 'about', which are lists: collect"):
        load_study(write_study(tmp_path / "s", questions=[asked], labels="labels.csv"))


def test_texts_are_cleaned_for_all_databases() -> None:
    assert clean("a\x00\x08\x0b\x1f\ud800b\tc\r\nd\r") == "a?b\tc\nd\r"
    assert clean_all({"k\x00": ["v\x01", {"n": 1}], 3: None}) == {"k": ["v", {"n": 1}], "3": None}
    deep: Any = "x"
    for _ in range(60):
        deep = [deep]
    found = clean_all(deep)
    depth = 0
    while isinstance(found, list) and found:
        found, depth = found[0], depth + 1
    assert found is None
    assert 5 < depth < 60


def test_spans_are_compared_word_by_word(serve: Callable[..., Served]) -> None:
    asked = {"name": "names", "text": "?", "scale": "spans:person,place", "show": ["text"]}
    texts = ["Ana’s aunt,\r\nAda, left São Paulo.", "<b>Nothing</b> 😀 here & there.", ""]
    items = [{"item": f"i{k}", "text": text, "topic": "t"} for k, text in enumerate(texts)]
    page = serve(items=items, who=("ana", "ben"), questions=[asked])
    given: dict[str, dict[str, list[Any]]] = {
        "ana": {"i0": [[23, 32, "place"], [0, 5, "person"], [13, 16, "person"]], "i1": [], "i2": []},
        "ben": {"i0": [[0, 16, "person"], [0, 5, "place"]], "i1": [[3, 10, "place"]], "i2": []},
    }
    for name, answers in given.items():
        person = page.annotator(name)
        for _ in range(3):
            task = person.pages()[0][0]
            question = task.questions[0].id
            item = {row.id: row.item for row in page.rows(tables.tasks)}[task.id]
            for wrong in (
                [[0, 99, "person"]],  # beyond the text
                [[0, 5, "city"]],
                [[3, 3, "person"]],
                [[0, 5, "person"], [4, 9, "person"]],  # two of one label overlap
                [[0, 1, "person"]] * 501,
                [[0, True, "person"]],
                "0-5 person",
            ):
                refused = person.answer(task, {question: wrong})
                words = "The answer must be spans of the text, each labelled as one of person, place."
                assert refused.json()["questions"] == {str(question): words}
            assert person.answer(task, {question: answers[item]}).status == 200
    assert '[[0,5,"person"],[13,16,"person"],[23,32,"place"]]' in {row["label"] for row in page.history()}
    labels = study_labels(page.study)
    assert sorted(labels.criteria) == ["names: person", "names: place"]
    words = labels.items.filter(pl.col("span_of") == "i0")
    assert words["word"].to_list() == ["Ana’s", "aunt", "Ada", "left", "São", "Paulo"]
    assert (words["item"][1], words["topic"][1]) == ("i0: text 2", "t")
    there = labels.items.filter(pl.col("span_of") == "i1")["word"].to_list()
    assert sorted(there) == sorted(["<", "b", ">", "Nothing", "<", "b", ">", "😀", "here", "there"])
    assert labels.labels.height == 2 * 2 * 16
    yes = labels.labels.filter(pl.col("label") == "yes").sort("annotator", "criterion", "item")
    assert [tuple(row) for row in yes.select("annotator", "criterion", "item").iter_rows()] == [
        *(("ana", "names: person", f"i0: text {k}") for k in (1, 3)),
        *(("ana", "names: place", f"i0: text {k}") for k in (5, 6)),
        *(("ben", "names: person", f"i0: text {k}") for k in (1, 2, 3)),
        *(("ben", "names: place", one) for one in ("i0: text 1", "i1: text 4")),
    ]
    # Of 16 words the two differ about one: o = 2/32, e = (5·27·2)/(32·31), so α = 1 − 62/270.
    found = assay.agreement(
        labels.where(criterion="names: person"), clusters="span_of", coefficients=["krippendorff-alpha-nominal"]
    )
    assert found.table["estimate"][0] == pytest.approx(1 - 62 / 270)
    with page.store.reading() as db:
        (live,) = agreement_so_far(StudyDesign(page.study, page.store), label_frame(db), ())
    assert live.reason.endswith("assay agreement STUDY")


PAIRED = {"name": "better", "text": "?", "scale": "preference", "options": ["one", "two"]}


@pytest.mark.parametrize(
    ("question", "label", "order", "words"),
    [
        ({"scale": "1-5"}, 4, (), "4"),
        ({"scale": "interval:0-1"}, 0.5, (), "0.5"),
        ({"scale": "interval:0-100"}, 70.0, (), "70"),
        ({"scale": ["no", "yes"]}, "yes", (), "yes"),
        ({"scale": "text"}, "So it is.", (), "So it is."),
        ({"scale": "several:a,b,c"}, '["a","c"]', (), "a, c"),
        ({"scale": "several:a,b,c"}, "[]", (), "None of these"),
        (PAIRED, -1, ("one", "two"), "left"),
        (PAIRED, -1, ("two", "one"), "right"),  # the first of the item was shown at the right
        (PAIRED, 0, ("two", "one"), "no preference"),
        ({"scale": "spans:person,place", "show": ["text"]}, '[[0,3,"person"],[9,14,"place"]]', (),
         "person: Ana; place: Paris"),
        ({"scale": "spans:person,place", "show": ["text"]}, "[]", (), "Nothing to mark"),
        ({"scale": "spans:person", "of": {"text": "?"}}, '[[0,3,"person","a poet"]]', (),
         "person: Ana (a poet)"),
    ],
)  # fmt: skip
def test_answer_words_describe_a_label(question: dict[str, Any], label: Any, order: Any, words: str) -> None:
    asked = Question.model_validate({"name": "q", "text": "Q?", **question})
    one = Asked(1, asked, parse_scale(asked.scale) if isinstance(asked.scale, str) else scale_of(asked.scale))
    assert answer_words(one, label, order, "Ana left Paris.") == words


def test_spans_have_texts_if_the_question_asks_for_them(serve: Callable[..., Served], run: Any, tmp_path: Path) -> None:
    items = [{"item": f"i{k}", "text": "Ana left Rome.", "topic": "t"} for k in range(2)]
    plain = {"name": "names", "text": "?", "scale": "spans:person,place", "show": ["text"]}
    asked = {**plain, "name": "notes", "of": {"text": "What is it?"}}
    page = serve(items=items, who=("ana", "ben"), questions=[plain, asked], people={"order": "fixed"})
    for name in ("ana", "ben"):
        person = page.annotator(name)
        (task, other), _ = person.pages()
        names, notes = (question.id for question in task.questions)
        about = [[9, 13, "place", f"a town, {name}"], [0, 3, "person"]]
        refused = person.answer(task, {names: about, notes: about})
        assert list(refused.json()["questions"]) == [str(names)]
        assert person.answer(task, {names: [], notes: about}).status == 200
        assert person.answer(other, {names: [[0, 3, "person"]], notes: []}).status == 200
    assert '[[0,3,"person"],[9,13,"place","a town, ana"]]' in {row["label"] for row in page.history()}
    folder = page.study.folder
    found = assay.read(folder, what="spans")
    assert (found.scale_of("notes: place").kind, len(found), found.criteria) == (
        "text", 6, ("names: person", "notes: person", "notes: place"),
    )  # fmt: skip
    town = found.where(criterion="notes: place")
    assert dict(town.labels.select("annotator", "label").iter_rows()) == {"ana": "a town, ana", "ben": "a town, ben"}
    place = {"item": "i0: text 9-13", "span_of": "i0", "words": "Rome", "start": 9, "end": 13, "topic": "t"}
    row = found.items.filter(pl.col("item") == place["item"]).row(0, named=True)
    assert {name: row[name] for name in place} == place
    assert found.where(criterion="notes: person").labels["label"].to_list() == ["Ana", "Ana"]
    assert assay.read(folder, what="spans", question="names").criteria == ("names: person",)
    with pytest.raises(DesignError, match=r"no question of this study is on the scale spans"):
        assay.read(write_study(tmp_path / "other", items=2), what="spans")
    code, out, _ = run("export", folder, folder / "spans.csv", "--what", "spans")
    assert (code, pl.read_csv(folder / "spans.csv").height) == (0, 6)
    code, out, _ = run("look", folder, "--what", "spans")
    assert code == 0, out


def test_drafts_have_at_most_twenty_levels() -> None:
    def nested(depth: int) -> Any:
        return [nested(depth - 1)] if depth else 7

    def depth_of(found: Any) -> int | None:
        return None if found is None else 0 if found == 7 else 1 + d if (d := depth_of(found[0])) is not None else None

    assert depth_of(clean_all(nested(20))) == 20
    assert depth_of(clean_all(nested(21))) is None


@pytest.mark.parametrize(("late", "is_saved"), [(119.0, True), (121.0, False)])
def test_answer_saved_in_time_can_arrive_two_minutes_late(
    serve: Callable[..., Served], clock: Any, late: float, is_saved: bool
) -> None:
    page = serve(items=1, people={"until": "1 day"})
    ana = page.annotator()
    clock.stop()
    (task,) = ana.work()
    person = find(page.store, "ana")
    assert person is not None
    clock.stopped = person.invited_at + 86400 + late
    sent = Submission(task.id, "key-12345", 0, {str(task.questions[0].id): 3})
    assigner = page.app.state.assay.held.assigner
    if is_saved:
        saved = save(assigner, person, sent)
        assert (saved.revision, saved.again, saved.feedback) == (1, False, None)
    else:
        with pytest.raises(TooLateError):
            save(assigner, person, sent)


@pytest.mark.parametrize("field", ["comment", "flag", "skip"])
def test_comment_flag_and_skip_have_at_most_2000_characters(field: str) -> None:
    sent: dict[str, Any] = {"task": 1, "key": "x" * 8, "revision": 0}
    assert len(getattr(AnswerBody(**sent, **{field: "y" * 2000}), field)) == 2000
    assert len(getattr(AnswerBody(**sent, **{field: "y" * 2000 + "\x00"}), field)) == 2000, (
        "an answer that is not stored is not counted"
    )
    with pytest.raises(ValidationError):
        AnswerBody(**sent, **{field: "y" * 2001})


@pytest.mark.parametrize(
    ("skip", "state", "expires_at", "has_place", "was", "extra"),
    [
        (None, "given", 100.1, False, False, False),
        (None, "given", 100.0, False, False, True),  # it has expired, and others have the places
        (None, "given", 100.0, True, False, False),
        ("no idea", "given", 100.0, False, True, False),  # a skip takes no place
        (None, "skipped", 900.0, False, False, True),
        (None, "skipped", 900.0, True, True, False),
        (None, "answered", 50.0, False, False, False),
        (None, "answered", 50.0, True, True, True),
        (None, "reopened", 50.0, False, False, False),
    ],
)
def test_answer_is_extra_after_expiry_without_free_place(
    skip: str | None, state: str, expires_at: float, has_place: bool, was: bool, extra: bool
) -> None:
    writer: Any = object.__new__(_AnswerWriter)
    writer.sent, writer.db = SimpleNamespace(skip=skip), None
    writer.task = SimpleNamespace(state=state, expires_at=expires_at, extra=was)
    writer.assigner = SimpleNamespace(has_place=lambda db, task, now: has_place)
    assert writer._extra(100.0) is extra
