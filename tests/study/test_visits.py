"""Who may answer, whose answers count and who is at work: people of a study and visits of a crowd, to the second."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

sa = pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')
pytest.importorskip("alembic", reason='a study needs the extra "judge"')

from assay.errors import StudyError  # noqa: E402
from assay.study.definition import load_study  # noqa: E402
from assay.study.starter import init_study  # noqa: E402
from assay.study.store import people, tables  # noqa: E402
from assay.study.store.connection import Store  # noqa: E402
from assay.study.store.intake import sync_study  # noqa: E402
from assay.study.store.people import Visit, add_people, exclude, find, give, invited_person  # noqa: E402

NOW = 10_000.0


@pytest.fixture
def store(tmp_path) -> Iterator[Store]:
    """Four people who are invited, and a judge."""
    init_study(tmp_path / "study")
    with Store.open(str(tmp_path / "store.db")) as opened:
        sync_study(opened, load_study(tmp_path / "study"))
        with opened.writing() as db:
            db.execute(sa.insert(tables.forms).values(id=1, digest="d", made_at=0.0, definition={}))
            people.put_annotators(db, [("gpt", "judge", {})])
        for name in ("eva", "fay", "gil", "hal"):
            add_people(opened, {name: {"age": 30} if name == "eva" else {}})
        yield opened


def task(name: str, place: int, **more: Any) -> dict[str, Any]:
    return {
        "annotator": name, "item": f"r{place:02}", "questions": "q", "condition": "", "repeat": 1, "role": "item",
        "party": "", "session": "s", "page": 1, "place": place, "state": "given", "form": 1, "given_at": 1.0,
        "expires_at": NOW + 500, "shown": {"item": "old"}, "extra": False, "closed_at": None,
    } | more  # fmt: skip


def held(store: Store, now: float = NOW) -> list[tuple[str, int]]:
    """What is before whom."""
    t = tables.tasks.c
    with store.reading() as db:
        found = sa.select(t.annotator, t.place).where(people.held(now)).order_by(t.annotator, t.place)
        return [tuple(row) for row in db.execute(found)]


def test_task_is_held_until_it_expires(store):
    with store.writing() as db:
        give(db, [
            task("eva", 1, expires_at=NOW), task("eva", 2, expires_at=NOW + 1), task("eva", 3, state="answered"),
            task("eva", 4, state="skipped"), task("eva", 5, state="reopened", expires_at=1.0),
        ])  # fmt: skip
    assert held(store) == [("eva", 2), ("eva", 5)]
    with store.writing() as db:
        numbers = [n for (n,) in db.execute(sa.select(tables.tasks.c.id).order_by(tables.tasks.c.place))]
        # Earlier than NOW + 1, and of those named: the first alone.
        people.renew(db, numbers[:2], until=NOW + 9, older_than=NOW + 1)
        ends = db.execute(sa.select(tables.tasks.c.expires_at).order_by(tables.tasks.c.place)).scalars().all()
    assert ends == [NOW + 9, NOW + 1, NOW + 500, NOW + 500, 1.0]


def test_visit_is_late_after_its_minutes_and_ends_when_they_did(store):
    """After ten minutes, 600 seconds, a visit that came exactly then is late, and one a second later is not."""
    with store.writing() as db:
        for name, came in (("eva", NOW - 600), ("fay", NOW - 599), ("gil", NOW - 900)):
            people.put_visit(db, Visit(name, {"study": "x"}, came))
        people.put_visit(db, Visit("hal", {}, NOW - 9000, outcome="completed", ended_at=NOW - 8000))
        give(db, [task(name, place) for place, name in enumerate(("eva", "fay", "gil", "hal"), 1)])
        people.end_late_visits(db, 10, NOW)
        found = {one.person: (one.outcome, one.ended_at) for one in people.all_visits(db)}
        assert people.visit_of(db, "gil") == Visit("gil", {"study": "x"}, NOW - 900, None, "late", NOW - 300)
        assert people.visit_of(db, "ida") is None
    assert found == {
        "eva": ("late", NOW), "fay": (None, None), "gil": ("late", NOW - 300), "hal": ("completed", NOW - 8000)
    }  # fmt: skip
    assert held(store) == [("fay", 2), ("hal", 4)]


def test_visit_ends_once_and_frees_what_the_person_held(store):
    with store.writing() as db:
        for name in ("eva", "fay"):
            people.put_visit(db, Visit(name, {}, NOW - 60))
        give(db, [task("eva", 1), task("fay", 2)])
        people.end_visit(db, "eva", "completed", NOW)
        people.end_visit(db, "eva", "left", NOW + 5)
        assert [(one.person, one.outcome, one.ended_at) for one in people.all_visits(db)] == [
            ("eva", "completed", NOW), ("fay", None, None)
        ]  # fmt: skip
        people.put_visit(db, Visit("fay", {"again": "1"}, NOW + 9, "yes"))
        assert people.visit_of(db, "fay") == Visit("fay", {"again": "1"}, NOW + 9, "yes")
    assert held(store) == [("fay", 2)]


@pytest.mark.slow
def test_places_in_use(store):
    def used() -> int:
        with store.reading() as db:
            return people.places_in_use(db)

    assert used() == 0  # none of the four invited people came
    with store.writing() as db:
        people.put_visit(db, Visit("eva", {}, 1.0))
        people.put_visit(db, Visit("fay", {}, 1.0, outcome="completed", ended_at=2.0))
        people.put_visit(db, Visit("gil", {}, 1.0, outcome="late", ended_at=2.0))
        people.put_visit(db, Visit("a person who was sent away", {}, 1.0))
    assert used() == 2
    people.set_state(store, "fay", "revoked")  # who has finished stays counted without a link
    assert used() == 2
    people.set_state(store, "eva", "revoked")
    assert used() == 1
    exclude(store, "fay")
    assert used() == 0


def test_exclude_and_include(store):
    with store.writing() as db:
        give(db, [task(name, n, expires_at=9e9) for n, name in enumerate(("eva", "fay", "gil"), 1)])
    assert exclude(store, "eva", "too fast") == 0
    exclude(store, "fay", end_link=False)
    eva, fay = (invited_person(store, name) for name in ("eva", "fay"))
    assert (eva.state, eva.excluded_for, eva.excluded_at is None) == ("revoked", "too fast", False)
    assert (fay.state, fay.excluded_for, fay.excluded_at is None) == ("active", "", False)
    assert held(store, 5e9) == [("fay", 2), ("gil", 3)]
    exclude(store, "eva")  # without a reason the one that is known stays
    again = invited_person(store, "eva")
    assert (again.excluded_at, again.excluded_for) == (eva.excluded_at, "too fast")
    exclude(store, "eva", "failed checks")
    assert invited_person(store, "eva").excluded_for == "failed checks"
    for refused in (lambda: people.set_state(store, "eva", "active"), lambda: people.new_link(store, "eva")):
        with pytest.raises(StudyError, match="'eva' is excluded, so new answers would not count; include their"):
            refused()
    with pytest.raises(StudyError, match="'gil' is not excluded"):
        people.readmit(store, "gil")
    assert people.readmit(store, "eva") == 0
    back = invited_person(store, "eva")
    assert (back.state, back.excluded_at, back.excluded_for) == ("revoked", None, "")
    assert people.left_out(people.all_people(store)) == ["fay"]


@pytest.mark.slow
def test_whose_answers_are_left_out_is_excluded_or_adjudicates(store):
    add_people(store, {"ida": {}}, role=people.ADJUDICATOR)
    exclude(store, "gil")
    p = tables.people.c
    with store.reading() as db:
        out = db.execute(sa.select(p.annotator).where(people.is_excluded(p.annotator)).order_by(p.annotator)).scalars()
        assert list(out) == ["gil", "ida"]
    assert people.left_out(people.all_people(store)) == ["gil", "ida"]
    whole = people.Person("n", {}, 1, "active", None)
    assert people.left_out([whole]) == []


def test_renew_link_reactivates_ended_people(store):
    assert [one.link for one in people.all_people(store)] == [1] * 4
    people.set_state(store, "fay", "paused")
    with store.writing() as db:
        give(db, [task("eva", 1, expires_at=9e9), task("fay", 2, expires_at=9e9)])
    people.set_state(store, "eva", "revoked")
    assert held(store, 5e9) == [("fay", 2)]  # waiting tasks stay with their person
    eva, fay = people.new_link(store, "eva"), people.new_link(store, "fay")
    assert [(one.link, one.state) for one in (eva, fay)] == [(2, "active"), (2, "paused")]
    assert people.new_link(store, "eva").link == 3
    assert invited_person(store, "gil").link == 1


def test_name_that_is_taken_is_refused_in_words(store):
    for name, words in (
        ("gpt", "'gpt' is the name of a judge; call the person something else"),
        ("eva", "'eva' is invited already; choose another name"),
        ("EVA", "'EVA' differs only in case from 'eva', who is invited already"),
    ):
        with pytest.raises(StudyError) as refused:
            add_people(store, {"new": {}, name: {}})
        assert str(refused.value).startswith(words)
    assert find(store, "new") is None, "all of them, or none"
    assert find(store, "eva").attributes == {"age": 30}
    assert find(store, "fay").attributes == {}
    with store.writing() as db:
        assert [people.kind_of(db, name) for name in ("gpt", "eva", "nobody")] == ["judge", "human", None]
        with pytest.raises(StudyError, match="'eva' is the name of a human already; call the judge something else"):
            people.put_annotators(db, [("eva", "judge", {})])
        people.retire_judges(db)
        active = {row["annotator"] for row in people.active_annotators(db)}
        assert {"eva", "fay", "gil", "hal"} <= active
        assert "gpt" not in active
        people.put_annotators(db, [("gpt", "judge", {"model": "m"})])
        assert {"annotator": "gpt", "kind": "judge", "definition": {"model": "m"}, "active": True} in (
            people.active_annotators(db)
        )


@pytest.mark.parametrize(
    ("name", "alike"),
    [
        ("P 01", "P01"),
        ("p 01", "P01"),
        ("\u042001", "P01"),  # a Cyrillic letter
        ("\uff3001", "P01"),  # a full-width letter
        ("\u0391na", "Ana"),  # a Greek letter
        ("A na", "Ana"),
    ],
)
def test_name_that_looks_like_another_is_refused(store, name, alike):
    add_people(store, {alike: {}})
    with pytest.raises(StudyError) as refused:
        add_people(store, {name: {}})
    words = (
        f"'{name}' differs only in case, spaces or letters that look the same from '{alike}', who is invited already"
    )
    assert str(refused.value).startswith(words)
    assert find(store, name) is None


def test_names_that_differ_in_more_are_accepted(store):
    names = ("P01", "P02", "P-01", "P1", "P0l", "\u041f01", "\u0410\u043d\u043d\u0430", "Anna")
    add_people(store, {name: {} for name in names})
    assert set(names) <= {one.name for one in people.all_people(store)}


def test_pages_are_closed_and_none_is_opened_by_it(store):
    with store.writing() as db:
        assert people.closed_up_to(db, "eva") == 0
        assert people.closed_up_to(db, "nobody") == 0
        people.close_pages(db, "eva", 3)
        people.close_pages(db, "eva", 2)
        assert [people.closed_up_to(db, name) for name in ("eva", "fay")] == [3, 0]


def test_consent_text_is_stored_once(store):
    people.consent(store, "eva", "one", "I agree.")
    with store.reading() as db:
        first = people.setting(db, people.CONSENTS)
    assert {digest: kept["text"] for digest, kept in first.items()} == {"one": "I agree."}
    people.consent(store, "fay", "one", "I agree.")
    people.consent(store, "fay", "two", "I agree to more.")
    with store.reading() as db:
        kept = people.setting(db, people.CONSENTS)
    assert (list(kept), kept["one"]) == (["one", "two"], first["one"])
    assert [invited_person(store, name).consented_to for name in ("eva", "fay", "gil")] == ["one", "two", None]


def test_erase_removes_one_person(store):
    with store.writing() as db:
        give(db, [task("eva", 1), task("fay", 2)])
        for name in ("eva", "fay"):
            people.put_visit(db, Visit(name, {}, 1.0))
    assert people.erase(store, "eva") == 0
    assert held(store) == [("fay", 2)]
    with store.reading() as db:
        assert people.invited_names(db) == {"fay", "gil", "hal"}
        assert [one.person for one in people.all_visits(db)] == ["fay"]
        assert people.kind_of(db, "eva") is None
        assert [one["answers"] for one in people.setting(db, people.ERASED)] == [0]
    people.erase(store, "fay")
    with store.reading() as db:
        assert len(people.setting(db, people.ERASED)) == 2
    with pytest.raises(StudyError, match=r"^person 'eva' is not in the people who are invited"):
        people.erase(store, "eva")


def test_item_with_another_text_is_put_before_its_person_again(store):
    items = tables.items
    with store.writing() as db:
        digest = db.execute(sa.select(items.c.digest).where(items.c.item == "r01")).scalar()
        same = [task("eva", 1, shown={"item": digest})]
        give(
            db,
            [*same, task("fay", 1), task("gil", 1, state="answered", closed_at=5.0), task("hal", 1, state="skipped")],
        )
        old = people.tasks_with_old_text(db)
        assert [(one.annotator, one.state) for one in old] == [("fay", "given"), ("gil", "answered")]
        for one in old:
            people.show_item(db, one, digest)
        assert people.tasks_with_old_text(db) == []
        t = tables.tasks.c
        found = db.execute(sa.select(t.annotator, t.state, t.closed_at, t.shown).order_by(t.annotator)).all()
    assert [tuple(row) for row in found] == [
        ("eva", "given", None, {"item": digest}), ("fay", "given", None, {"item": digest}),
        ("gil", "reopened", None, {"item": digest}), ("hal", "skipped", None, {"item": "old"}),
    ]  # fmt: skip
