"""The tasks that lie before people: which of them take a place of their item, which count, and whose they are."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

sa = pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')
pytest.importorskip("alembic", reason='a study needs the extra "judge"')

from assay.errors import StudyError  # noqa: E402
from assay.study.items import Item  # noqa: E402
from assay.study.store import people, tables  # noqa: E402
from assay.study.store.answers import add_page_answer  # noqa: E402
from assay.study.store.connection import Store  # noqa: E402
from assay.study.store.items import NewItem, put_items  # noqa: E402
from assay.study.store.people import ADDED, ADJUDICATOR, Person, Slot, add_people, give  # noqa: E402

NOW = 1000.0
SLOT = Slot(("[1]", "[2]"), "c", "g")
NAMES = [f"r{n}" for n in range(1, 6)]


@pytest.fixture
def store(tmp_path) -> Iterator[Store]:
    """Five items and four triplets; people, one of them excluded and one an adjudicator."""
    with Store.open(str(tmp_path / "store.db")) as opened:
        with opened.together() as db:
            put_items(db, [NewItem(n, Item(name, None, {"text": name})) for n, name in enumerate(NAMES)], 0.0)
            triplets = [NewItem(n, Item(f"t{n}", None, {}), "triplet", {"members": [f"m{n}"]}) for n in (3, 1, 2, 0)]
            put_items(db, triplets, 0.0)
            db.execute(sa.insert(tables.forms).values(id=1, digest="d", made_at=0.0, definition={}))
            row = {"id": 1, "name": "q", "version": 1, "made_at": 0.0, "definition": {}, "current": True}
            db.execute(sa.insert(tables.questions), row)
            add_people(opened, {name: {} for name in ("eva", "fay", "gil", "out")})
            add_people(opened, {"zoe": {}}, role=ADJUDICATOR)
            people.exclude(opened, "out")
        yield opened


def task(place: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "annotator": "eva", "item": "r1", "questions": "[1]", "condition": "c", "repeat": 1, "role": "item",
        "party": "g", "session": 1, "page": 1, "place": place, "state": "answered", "form": 1, "given_at": 1.0,
        "expires_at": NOW, "shown": {"item": "d"}, "extra": False, "closed_at": None,
    } | more  # fmt: skip


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "answered": ({}, "place item given"),
    "other questions of the slot": ({"questions": "[2]"}, "place item given"),
    "other questions": ({"questions": "[3]"}, ""),
    "another session": ({"condition": "d"}, ""),
    "the second time": ({"repeat": 2}, ""),
    "another group": ({"party": "h"}, "given"),
    "too late": ({"extra": True}, "given"),
    "a check": ({"role": "check"}, "place"),
    "a triplet": ({"role": "triplet"}, "place"),
    "added questions alone": ({"role": ADDED}, ""),
    "skipped": ({"state": "skipped"}, "given"),
    "open again": ({"state": "reopened"}, "place item given"),
    "held": ({"state": "given", "expires_at": NOW + 1}, "place item given"),
    "run out": ({"state": "given"}, "given"),
    "of an excluded person": ({"annotator": "out"}, "given"),
    "of who decides between others": ({"annotator": "zoe"}, "given"),
}


def test_which_tasks_take_a_place_of_their_item_and_which_were_given(store):
    other = SimpleNamespace(item="r1", id=99)
    with store.writing() as db:
        for name, (change, wanted) in CASES.items():
            db.execute(sa.delete(tables.tasks))
            give(db, [task(**change)])
            (number,) = db.execute(sa.select(tables.tasks.c.id)).scalars()
            taken = people.places_taken(db, SLOT, ["r1", "r2"], NOW)
            assert people.places_of_others(db, SLOT, other, NOW) == taken.get("r1", 0)
            assert people.places_of_others(db, SLOT, SimpleNamespace(item="r1", id=number), NOW) == 0
            assert people.places_of_others(db, SLOT, SimpleNamespace(item="r2", id=99), NOW) == 0
            assert people.places_taken(db, SLOT, ["r2"], NOW) == {}
            answered = wanted.startswith("place") and "state" not in change
            assert people.answered_enough(db, SLOT, ["r1", "r2"], 1) == (["r1"] if answered else []), name
            who = change.get("annotator", "eva")
            given = people.count_given(db, SLOT)
            assert [*people.items_had(db, SLOT, ["r1", "r2"], [who])] == [(one, "r1") for one in given]
            assert [*people.items_had(db, SLOT, ["r2"], [who]), *people.items_had(db, SLOT, ["r1"], ["gil"])] == []
            everywhere = people.all_places_taken(db, SLOT, NOW)
            found = [("place", taken == {"r1": 1}), ("item", everywhere == {"r1": 1}), ("given", given == {who: 1})]
            assert " ".join(word for word, there in found if there) == wanted, name
            assert all(one in ({}, {"r1": 1}) for one in (taken, everywhere))
            # The same slot of some people, in any group.
            for some, party in ((None, "g"), ([who, "fay"], "elsewhere"), (["fay"], "g")):
                of = Slot(SLOT.questions, SLOT.condition, party, some)
                counts = db.execute(sa.select(sa.func.count()).where(of.tasks)).scalar_one()
                in_group = change.get("party", "g") == "g" if some is None else who in some
                may = change.keys() & {"repeat", "extra", "condition", "annotator"} or name in (
                    "other questions", "added questions alone"
                )  # fmt: skip
                assert counts == (in_group and not may), (name, some)


def test_places_are_counted_by_item_and_person(store):
    with store.writing() as db:
        give(db, [
            task(1), task(2, item="r2"), task(3, item="r3", state="skipped"),
            task(1, annotator="fay"), task(2, annotator="fay", item="r2", state="reopened"),
            task(1, annotator="gil"),
        ])  # fmt: skip
        assert people.places_taken(db, SLOT, ["r1", "r2", "r3"], NOW) == {"r1": 3, "r2": 2}
        assert people.all_places_taken(db, SLOT, NOW) == {"r1": 3, "r2": 2}
        assert people.count_given(db, SLOT) == {"eva": 3, "fay": 2, "gil": 1}
        enough = [people.answered_enough(db, SLOT, ["r1", "r2"], wanted) for wanted in (1, 2, 3, 4)]
        assert [sorted(one) for one in enough] == [["r1", "r2"], ["r1"], ["r1"], []]
        mine = next(one for one in people.tasks_of(db, "fay") if one.item == "r1")
        assert people.places_of_others(db, SLOT, mine, NOW) == 2
        had = people.items_had(db, SLOT, ["r1", "r3"], ["eva", "gil"])
        assert sorted(had) == [("eva", "r1"), ("eva", "r3"), ("gil", "r1")]


BACK: list[tuple[dict[str, Any], float | None]] = [
    ({}, NOW + 5), ({"expires_at": NOW}, None), ({"expires_at": NOW + 1}, NOW + 1), ({"state": "reopened"}, None),
    ({"state": "answered"}, None), ({"annotator": "eva"}, None), ({"role": "triplet"}, NOW + 5),
    ({"role": "check"}, None), ({"party": "h"}, None), ({"extra": True}, None), ({"repeat": 2}, None),
    ({"item": "r2"}, None), ({"item": "r3"}, NOW + 5), ({"questions": "[3]"}, None), ({"annotator": "out"}, None),
]  # fmt: skip


def test_when_a_place_that_others_hold_comes_back(store):
    """Eva had r2 in this session, with any questions, and r3 in another."""
    with store.writing() as db:
        for change, when in BACK:
            db.execute(sa.delete(tables.tasks))
            held = {"annotator": "fay", "item": "r1", "state": "given", "expires_at": NOW + 5} | change
            had = [task(1, item="r2", questions="[9]", state="skipped"), task(2, item="r3", condition="d")]
            give(db, [*had, task(3, **held)])
            assert people.soonest_back(db, SLOT, "eva", NOW) == when, change
            give(db, [task(9, annotator="gil", item="r4", state="given", expires_at=NOW + 3)])
            assert people.soonest_back(db, SLOT, "eva", NOW) == min(when or NOW + 3, NOW + 3)
            assert people.soonest_back(db, SLOT, "eva", NOW + 5) is None


def test_answers_by_question_set(store):
    with store.writing() as db:
        give(db, [
            task(1), task(2, item="r2"), task(3, item="r3", questions="[2]"), task(4, item="t1", role="triplet"),
            task(5, item="r4", questions="[3]"), task(6, item="r5", questions="[4]", role=ADDED),
            task(7, item="r5", role="check"), task(8, item="r4", repeat=2), task(9, item="r4", state="given"),
            task(10, item="t2", role="warm-up"), task(1, annotator="out", item="r5"), task(1, annotator="zoe"),
            task(11, item="r5", questions="[5]", state="skipped"),
        ])  # fmt: skip
        assert sorted(people.answered_with(db, ["[1]", "[2]"])) == [
            ("[1]", "item", 2), ("[1]", "triplet", 1), ("[2]", "item", 1), ("[4]", ADDED, 1)
        ]  # fmt: skip
        assert people.answered_with(db, []) == [("[4]", ADDED, 1)]
        assert sorted(people.question_sets(db)) == ["[1]", "[2]", "[3]", "[5]"]


def test_states_of_counts_regular_tasks(store):
    with store.writing() as db:
        give(db, [
            task(1), task(2, item="r2", questions="[2]"), task(3, item="r3", state="skipped"),
            task(4, item="r4", state="given"), task(5, item="r5", role="check"), task(6, item="r2", role="warm-up"),
            task(7, item="r3", questions="[2]", role=ADDED), task(8, item="r4", questions="[3]"),
            task(9, item="r1", condition="d"), task(1, annotator="fay"), task(10, repeat=2, state="skipped"),
        ])  # fmt: skip
        found = people.states_of(db, "eva", ["[1]", "[2]"], "c")
        assert found == {"answered": 3, "skipped": 2, "given": 1}
        assert people.states_of(db, "gil", ["[1]"], "c") == {}


def test_tasks_are_found_by_number_page_and_person_in_the_order_of_their_places(store):
    with store.writing() as db:
        give(db, [
            task(3, page=2), task(1, page=1, item="r2"), task(2, page=3, item="r3"), task(1, annotator="fay", page=1)
        ])  # fmt: skip
        mine = people.tasks_of(db, "eva")
        assert [(one.place, one.item, one.page) for one in mine] == [(1, "r2", 1), (2, "r3", 3), (3, "r1", 2)]
        assert [one.place for one in people.tasks_on_pages(db, "eva", [2, 1])] == [1, 3]
        assert people.tasks_on_pages(db, "eva", [4]) == []
        number = mine[0].id
        for person in (None, "eva"):
            assert people.task_by_id(db, number, person).item == "r2"
        assert people.task_by_id(db, number, "fay") is None
        assert people.task_by_id(db, 77) is None
        assert people.task_by_id(db, 77, "eva") is None
        people.set_task_state(db, number, "skipped", extra=True, closed_at=5.0)
        now = [(one.state, one.extra, one.closed_at) for one in people.tasks_of(db, "eva")]
        assert now == [("skipped", True, 5.0), ("answered", False, None), ("answered", False, None)]


@pytest.mark.parametrize(
    ("page", "state", "closed"),
    [(3, "answered", True), (2, "skipped", True), (4, "answered", False), (3, "given", False), (1, "reopened", False)],
)
def test_answers_up_to_closed_page_are_final(page, state, closed):
    assert people.is_closed(SimpleNamespace(page=page, state=state), 3) is closed


def test_draft_replaces_the_earlier_one(store):
    with store.writing() as db:
        give(db, [task(n, item=f"r{n}") for n in (1, 2, 3)])
        one, two, three = (t.id for t in people.tasks_of(db, "eva"))
        people.put_draft(db, one, 1, {"a": 1}, 5.0)
        people.put_draft(db, one, 2, {"a": 2}, 6.0)
        people.put_draft(db, two, 1, {"b": 1}, 7.0)
        first, second = {"revision": 2, "at": 6.0, "body": {"a": 2}}, {"revision": 1, "at": 7.0, "body": {"b": 1}}
        assert people.drafts_of(db, [one, two, three]) == {one: first, two: second}
        people.drop_draft(db, one)
        assert people.drafts_of(db, [one, two]) == {two: second}
        assert people.drafts_of(db, [one]) == {}


# -- adjudication and triplets -----------------------------------------------------------------------


def test_adjudicator_tasks(store):
    with store.writing() as db:
        give(db, [
            task(1, annotator="zoe"), task(2, annotator="zoe", item="r2", condition="d"),
            task(3, annotator="zoe", item="r3", state="given", expires_at=NOW + 1),
            task(4, annotator="zoe", item="r4", state="given", expires_at=NOW), task(5, item="r5"),
        ])  # fmt: skip
        assert people.adjudicated_items(db) == {"r1", "r2"}
        assert people.adjudicated_items(db, "c") == {"r1"}
        assert people.adjudicated_items(db, held_at=NOW) == {"r1", "r2", "r3"}
        assert people.adjudicated_items(db, "d", held_at=NOW) == {"r2"}


def test_triplets_drawn_from_a_position(store):
    with store.writing() as db:
        assert people.triplets_drawn(db, 0) == [(n, [f"m{n}"]) for n in range(4)]
        assert people.triplets_drawn(db, 3) == [(3, ["m3"])]
        assert people.triplets_drawn(db, 4) == []


IN_NEED: list[tuple[dict[str, Any], str]] = [
    ({}, "t1"), ({"state": "given", "expires_at": NOW + 1}, "t1"), ({"state": "given"}, "t0"),
    ({"state": "skipped"}, "t0"), ({"party": "h"}, "t0"), ({"questions": "[3]"}, "t0"), ({"extra": True}, "t0"),
    ({"repeat": 2}, "t0"), ({"role": ADDED}, "t0"), ({"annotator": "out"}, "t0"), ({"annotator": "zoe"}, "t0"),
    ({"annotator": "eva", "state": "skipped", "party": "h"}, "t1"), ({"questions": "[2]"}, "t1"),
]  # fmt: skip


@pytest.mark.slow
def test_triplet_in_need_is_the_first_unanswered(store):
    def need(wanted: int = 1) -> str | None:
        return people.triplet_in_need(db, SLOT.questions, "g", "eva", wanted, NOW)

    with store.writing() as db:
        for change, first in IN_NEED:
            db.execute(sa.delete(tables.tasks))
            give(db, [task(1, **{"annotator": "fay", "item": "t0", "role": "triplet"} | change)])
            assert need() == first, change
            assert need(2) == ("t1" if change.get("annotator") == "eva" else "t0")
            assert need(0) is None
        db.execute(sa.update(tables.items).where(tables.items.c.item == "t1").values(active=False))
        assert need() == "t2"


# -- people --------------------------------------------------------------------------------------------


def test_all_people_are_in_order_of_invitation(store):
    p = tables.people
    with store.writing() as db:
        for name, when in (("eva", 5.0), ("fay", 3.0), ("gil", 5.0), ("out", 1.0), ("zoe", 4.0)):
            db.execute(sa.update(p).where(p.c.annotator == name).values(invited_at=when))
        gil = {"link": 2, "state": "paused", "consented_to": "x", "closed": 7}
        db.execute(sa.update(p).where(p.c.annotator == "gil").values(gil))
        db.execute(sa.update(p).where(p.c.annotator == "out").values(excluded_at=9.0, excluded_for="why"))
        for name, came in (("b", 2.0), ("a", 2.0), ("c", 1.0)):
            people.put_visit(db, people.Visit(name, {}, came))
        assert [one.person for one in people.all_visits(db)] == ["c", "a", "b"]
    assert people.all_people(store) == [
        Person("out", {}, 1, "revoked", None, 0, 9.0, "why", "annotator", 1.0),
        Person("fay", {}, 1, "active", None, 0, None, "", "annotator", 3.0),
        Person("zoe", {}, 1, "active", None, 0, None, "", ADJUDICATOR, 4.0),
        Person("eva", {}, 1, "active", None, 0, None, "", "annotator", 5.0),
        Person("gil", {}, 2, "paused", "x", 7, None, "", "annotator", 5.0),
    ]


def test_excluded_person_can_be_revoked_not_activated(store):
    for state in ("active", "paused"):
        with pytest.raises(StudyError, match="'out' is excluded"):
            people.set_state(store, "out", state)
    people.set_state(store, "out", "revoked")
    people.set_state(store, "eva", "paused")
    people.set_state(store, "eva", "active")
    assert [people.invited_person(store, name).state for name in ("out", "eva")] == ["revoked", "active"]


def test_labels_of_a_person_are_counted_and_go_with_them_when_they_are_erased(store):
    def answer(key: str, revision: int, status: str = "valid") -> dict[str, Any]:
        return {"request_key": key, "revision": revision, "status": status, "label": 4, "answered_at": 1.0}

    with store.writing() as db:
        give(db, [task(1), task(2, item="r2"), task(3, item="r3"), task(1, annotator="fay")])
        first, second, third = people.tasks_on_pages(db, "eva", [1])
        add_page_answer(db, first, 1, answer("a", 1))
        add_page_answer(db, first, 1, answer("b", 2))
        add_page_answer(db, second, 1, answer("c", 1))
        add_page_answer(db, third, 1, answer("d", 1, "missing"))
        (other,) = people.tasks_on_pages(db, "fay", [1])
        add_page_answer(db, other, 1, answer("e", 1))
        for number in (first.id, other.id):
            people.put_draft(db, number, 1, {}, 5.0)
    # Two labels count: r1's second one, and r2's; r3 was skipped.
    assert people.exclude(store, "eva") == 2
    assert people.readmit(store, "eva") == 2
    assert people.erase(store, "eva") == 4  # every revision
    with store.reading() as db:
        assert [row.request_key for row in db.execute(sa.select(tables.answers))] == ["e"]
        assert [row.task for row in db.execute(sa.select(tables.drafts))] == [other.id]
        assert people.tasks_of(db, "eva") == []
        (entry,) = people.setting(db, people.ERASED)
        assert entry.keys() == {"erased_at", "answers"}
        assert entry["answers"] == 4
    assert people.find(store, "eva") is None
    assert people.exclude(store, "fay") == 1


def test_name_with_labels_in_the_file_is_not_invited(store):
    with store.writing() as db:
        people.put_annotators(db, [("ana", "human", {}), ("ben", "human", {})])
        row = {"item": "r1", "question": 1, "annotator": "ana", "recipe": "", "condition": "{}", "repeat": 1}
        db.execute(sa.insert(tables.assignments), row | {"session": "file", "status": "open", "active": True})
    with pytest.raises(StudyError, match=r"^'ana' has labels in the file of labels; choose another name for the page$"):
        add_people(store, {"ana": {}})
    add_people(store, {"ben": {}})
    assert people.find(store, "ben") is not None
