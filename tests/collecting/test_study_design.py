"""The study design on artificial studies: deadlines, sessions, pages, groups, and the number of tasks of a person."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

pytest.importorskip("sqlalchemy", reason='the page needs the extra "serve"')

from assay.collecting.design import StudyDesign
from assay.errors import StudyError
from assay.study.definition import load_study
from assay.study.items import Item
from assay.study.store.connection import open_store
from assay.study.store.intake import sync_study
from assay.study.store.people import Person

STARS = {"name": "stars", "text": "How good?", "scale": "1-5", "show": ["text"]}
ODD = {"name": "idea", "text": "Which one is odd?", "scale": "odd-one-out", "options": ["text"], "show": []}


@pytest.fixture
def design(tmp_path: Path) -> Iterator[Callable[..., StudyDesign]]:
    """Make designs of studies with these items, each perhaps of a document, and these keys of ``people``."""
    stores = []

    def make(
        items: dict[str, str | None] | int = 4, *, scales: tuple[str, ...] = (), seed: int = 0,
        questions: tuple[dict[str, Any], ...] = (STARS,), **people: Any
    ) -> StudyDesign:  # fmt: skip
        folder = tmp_path / f"study{len(stores)}"
        folder.mkdir()
        rows = {f"r{n}": None for n in range(items)} if isinstance(items, int) else items
        text = "".join(
            f"{item},text {item},{document or ''},one {item},two {item}\n" for item, document in rows.items()
        )
        (folder / "items.csv").write_text("item,text,doc,a,b\n" + text)
        (folder / "checks.csv").write_text("item,text,stars\n" + "".join(f"c{n},choose {n},{n}\n" for n in (1, 2, 3)))
        about: dict[str, Any] = {
            "questions": list(questions),
            "items": {"file": "items.csv", "document": "doc"},
            "seed": seed,
        }
        about |= {"conditions": {"scale": list(scales)}} if scales else {}
        about["people"] = {"order": "shuffled"} | people
        (folder / "study.yaml").write_text(yaml.safe_dump(about, sort_keys=False))
        study = load_study(folder)
        stores.append(open_store(study))
        sync_study(stores[-1], study)
        return StudyDesign(study, stores[-1])

    yield make
    for store in stores:
        store.close()


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (2, "question 'idea' compares three texts of 'text' in one document, and there are no three; add items to "),
        ({"a": "x", "b": "x", "c": "y", "d": "y"}, "of 'text' in one document"),
    ],
)
def test_triplets_require_three_texts(design: Any, items: Any, words: str) -> None:
    with pytest.raises(StudyError, match=words):
        design(items, questions=(ODD,))
    assert design({"a": "x", "b": "x", "c": "x", "d": "y"}, questions=(ODD,)).drawn is not None
    assert design(items, questions=(STARS,)).drawn is None


@pytest.mark.parametrize(
    ("people", "role", "wanted"),
    [
        ({}, "annotator", None),
        ({"until": "2 days"}, "annotator", 1000 + 2 * 24 * 60 * 60),
        ({"until": "1970-01-02T00:00:00+00:00"}, "annotator", 24 * 60 * 60),
        ({"until": "0.5 days"}, "annotator", 1000 + 12 * 60 * 60),
        ({"until": "1 day"}, "adjudicator", None),
    ],
)
def test_deadline_of_a_person(design: Any, people: dict[str, Any], role: str, wanted: float | None) -> None:
    person = Person("ana", {}, 1, "active", None, invited_at=1000.0, role=role)
    assert design(**people).deadline(person) == wanted
    assert datetime.fromtimestamp(24 * 60 * 60, UTC).isoformat() == "1970-01-02T00:00:00+00:00"


@pytest.mark.parametrize(("today", "passed"), [("2027-03-01", False), ("2027-03-02", True)])
def test_notice_after_the_announced_date(design: Any, today: str, passed: bool) -> None:
    made = design(keep_until="2027-03-01")
    words = (
        "Annotators were informed that names and answers are kept until 2027-03-01. This date has passed: export the "
        f"data without names, then erase each annotator with: assay people erase {made.study.folder} NAME"
    )
    assert made.expiry_notice(date.fromisoformat(today)) == (words if passed else "")
    assert design().expiry_notice(date.fromisoformat(today)) == ""


@pytest.mark.slow
def test_sessions_by_scale_are_shuffled_by_person(design: Any) -> None:
    assert [(one.number, one.of, one.condition, one.words) for one in design().sessions("ana")] == [(1, 1, "{}", "")]
    scales = ("1-5", "0-100", "1-7")
    fixed = design(scales=scales, order="fixed").sessions("ana")
    assert [json.loads(one.condition)["scale"] for one in fixed] == list(scales)
    assert [(one.number, one.of) for one in fixed] == [(1, 3), (2, 3), (3, 3)]
    assert fixed[0].words.startswith("answer with ")
    made = design(scales=scales)
    orders = {tuple(one.condition for one in made.sessions(f"person {n}")) for n in range(60)}
    assert len(orders) == 6, "each of the six orders of three scales"
    again = design(scales=scales).sessions("ana")
    assert [one.condition for one in made.sessions("ana")] == [one.condition for one in again]


def test_parts_are_sessions_with_scales_for_numbers_only(design: Any) -> None:
    made = design(scales=("1-5", "0-100"), order="fixed", questions=(STARS, ODD), quota=4)
    stars, odd = made.parts
    found = [(one.number, one.of, one.condition, one.part is odd) for one in made.sessions("ana")]
    assert found == [(1, 3, '{"scale":"1-5"}', False), (2, 3, '{"scale":"0-100"}', False), (3, 3, "{}", True)]
    assert (made.drawn, made.listed, made.n_items) == (odd, (stars,), 4)
    other = odd.questions[0].id
    assert (made.part_of([other]), made.part_of([other, 99]), made.part_of([])) == (odd, None, stars)


DOCUMENTS = {"a1": "a", "b1": "b", "a2": "a", "x": None, "b2": "b", "a3": "a"}


@pytest.mark.slow
def test_items_of_a_document_share_a_page_with_together(design: Any) -> None:
    apart, together = design(DOCUMENTS).parts[0], design(DOCUMENTS, together=True).parts[0]
    order = ["b2", "a1", "x", "b1", "a3", "a2"]
    assert list(apart.pages(order)) == [[name] for name in order]
    assert list(together.pages(order)) == [["b2", "b1"], ["a1", "a3", "a2"], ["x"]]
    assert [made.page_of(name) for made in (apart, together) for name in ("a2", "x")] == ["a2", "x", "a", "x"]
    assert (apart.page_size, together.page_size) == (1, None)
    assert design({"a1": "a", "b1": "b", "a2": "a", "b2": "b"}, together=True).parts[0].page_size == 2
    assert (apart.n_items, list(apart.names)) == (6, list(DOCUMENTS))


@pytest.mark.slow
def test_items_are_shuffled_by_person_and_session_or_as_listed(design: Any) -> None:
    made = design(8).parts[0]
    orders = [made.order(*who) for who in (("ana", "{}"), ("ben", "{}"), ("ana", '{"scale":"1-5"}'))]
    assert all(sorted(one) == list(made.names) for one in orders)
    assert len({tuple(one) for one in orders}) == 3
    seeded = design(8, seed=1).parts[0]
    assert design(8).parts[0].order("ana", "{}") == orders[0] != seeded.order("ana", "{}")
    assert design(8, order="fixed").parts[0].order("ana", "{}") == list(made.names)


def test_options_are_shuffled_unless_fixed(design: Any) -> None:
    choices = STARS | {"scale": "preference", "options": ["a", "b"], "show": []}
    fixed, shuffled = ({"name": order, "order": order} for order in ("fixed", "shuffled"))
    (made,) = design(questions=(STARS, choices | fixed, choices | shuffled)).parts
    drawn = [made.orders("ana", f"r{n}", "{}", 1) for n in range(200)]
    assert all(list(one) == ["2", "3"] for one in drawn)
    assert all(one["2"] == ["a", "b"] for one in drawn)
    first = sum(one["3"] == ["a", "b"] for one in drawn)
    assert 70 < first < 130
    assert drawn[0] == made.orders("ana", "r0", "{}", 1)
    again = [made.orders("ana", f"r{n}", "{}", 2)["3"] for n in range(200)]
    assert again != [one["3"] for one in drawn]


def test_groups_and_overlap_by_group(design: Any) -> None:
    one = design(overlap=3)
    assert (one.party({"job": "nurse"}), one.overlap("")) == ("", 3)
    assert design().overlap("") is None
    made = design(overlap={"job": {"nurse": 2, "7": 1}})
    assert [made.party(about) for about in ({"job": "nurse"}, {"job": 7}, {})] == ["nurse", "7", ""]
    assert [made.overlap(party) for party in ("nurse", "7", "doctor")] == [2, 1, 0]
    made.check_attributes("ana", {"job": 7})
    one.check_attributes("ana", {})
    for about in ({}, {"job": ""}, {"job": None}):
        words = r"'ana' requires the attribute 'job' \(nurse, 7\), by which the study counts overlap"
        with pytest.raises(StudyError, match=words):
            made.check_attributes("ana", about)
    with pytest.raises(StudyError, match=r"'ana': 'doctor' is not a group .*overlap names nurse, 7"):
        made.check_attributes("ana", {"job": "doctor"})
    open_to_all = design(overlap={"job": 2})
    open_to_all.check_attributes("ana", {"job": "doctor"})
    with pytest.raises(StudyError, match="'ana' requires the attribute 'job', by which"):
        open_to_all.check_attributes("ana", {})


CHECKS = {"file": "checks.csv", "every": 10}


@pytest.mark.parametrize(
    ("items", "people", "wanted"),
    [
        (25, {}, 25),
        (25, {"overlap": 2}, None),  # the number of remaining items of a person depends on the others
        (25, {"overlap": 2, "quota": 20}, 20),
        (25, {"quota": 30}, 25),
        (25, {"checks": CHECKS}, 25 + 2),  # a check after 10 and after 20
        (9, {"checks": CHECKS}, 9),
        (60, {"checks": CHECKS}, 60 + 3),  # there are only three
        (25, {"retest": 0.1}, 25 + 2),  # 2.5 repeated items, rounded down
        (25, {"retest": 0.1, "checks": CHECKS, "quota": 20}, 20 + 2 + 2),
    ],
)
def test_expected_tasks_of_a_person(design: Any, items: int, people: dict[str, Any], wanted: int | None) -> None:
    assert design(items, **people).parts[0].expected_tasks("") == wanted


def test_number_of_triplets_follows_the_quota(design: Any) -> None:
    (made,) = design(5, questions=(ODD,), quota=12).parts
    assert made.expected_tasks("") == 12, "of five items ten triplets can be drawn, and each more than once"


def test_missing_questions_of_an_item(design: Any) -> None:
    (made,) = design(questions=tuple(STARS | {"name": name} for name in "abc")).parts
    assert made.missing_questions(["[1]"]) == (2, 3)
    assert made.missing_questions(["[1]", "[3, 9]"]) == (2,)
    assert made.missing_questions(["[1, 2, 3]"]) == ()
    assert made.missing_questions([]) == (1, 2, 3)


@pytest.mark.parametrize(
    ("before", "counted"),
    [
        ([], [[1, 2]]),
        ([[1, 2]], [[1, 2]]),
        ([[1]], [[1, 2], [1]]),  # a question was added
        ([[1, 2, 3]], [[1, 2], [1, 2, 3]]),  # one was removed
        ([[9, 2]], [[1, 2]]),  # 9 is the first question in other words
        ([[1], [2]], [[1, 2], [1]]),  # sets without a common question would be two places of one item
        ([[1], [1, 2, 3]], [[1, 2], [1, 2, 3], [1]]),  # those that share most first
        ([[3]], [[1, 2]]),
    ],
)
def test_counted_question_sets(design: Any, monkeypatch: Any, before: list[Any], counted: list[Any]) -> None:
    (made,) = design(questions=tuple(STARS | {"name": name} for name in ("q1", "q2"))).parts
    names = {1: "q1", 2: "q2", 3: "gone", 9: "q1"}
    monkeypatch.setattr("assay.collecting.design.question_names", lambda db: names)
    monkeypatch.setattr("assay.collecting.design.question_sets", lambda db: [json.dumps(one) for one in before])
    assert [json.loads(one) for one in made._counted_sets()] == counted


@pytest.mark.parametrize(
    ("state", "questions", "asked"),
    [
        ("given", (1, 3), [1]),  # a removed question is no longer asked in an open task
        ("answered", (1, 3), [1, 3]),  # answered tasks keep their questions
        ("given", (3,), [3]),  # nothing would be left
        ("given", (1, 9), [1, 9]),  # a task with a set that does not count keeps its questions
    ],
)
def test_questions_of_task_omit_removed_questions(
    design: Any, state: str, questions: tuple[int, ...], asked: list[int]
) -> None:
    made = design(questions=tuple(STARS | {"name": name} for name in ("q1", "q2")))
    made.counted = ((1, 3), (3,))  # type: ignore[assignment]
    made.asked = lambda ids, condition: tuple(SimpleNamespace(id=one) for one in ids)  # type: ignore[assignment]
    task = SimpleNamespace(questions=questions, condition="{}", state=state)
    assert [one.id for one in made.questions_of(task)] == asked


def test_item_files_are_the_existing_ones(design: Any) -> None:
    made = design()
    columns = ("photo", "sound", "words", "score")
    made.study = SimpleNamespace(config=SimpleNamespace(items=SimpleNamespace(file_columns=columns)))  # type: ignore[assignment]
    item = Item("i", None, {"photo": "a.png", "sound": "", "words": None, "score": 3, "text": "x"})
    assert made.item_files(item) == ("photo",)
