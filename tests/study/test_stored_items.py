"""Items, questions in their versions, and outputs of systems, as the store keeps and numbers them."""

from __future__ import annotations

from typing import Any

import pytest

sa = pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')
pytest.importorskip("alembic", reason='a study needs the extra "judge"')

from small_store import answer, assign  # noqa: E402

from assay.errors import StudyError  # noqa: E402
from assay.study.items import Item  # noqa: E402
from assay.study.schema import OutputPairs, Question  # noqa: E402
from assay.study.store import items, tables  # noqa: E402
from assay.study.store.connection import Store  # noqa: E402
from assay.study.store.items import NewItem, SystemOutput, WrittenOutputs, put_items, put_questions  # noqa: E402


def names(store: Store, role: Any = "item") -> list[str]:
    return [item.name for item, _ in items.items(store, role)]


def test_items_are_told_by_role_in_their_order_and_only_those_of_now(store):
    with store.writing() as db:
        put_items(db, [NewItem(0, Item("r9", None, {"text": "x"})), NewItem(7, Item("r1", "d", {"text": "y"}))], 5.0)
        put_items(db, [NewItem(4, Item("c2", None, {}), "check", {"labels": {"q": 1}})], 5.0)
        put_items(db, [NewItem(3, Item("c1", None, {}), "check", {"labels": {"q": 2}})], 5.0)
        put_items(db, [], 5.0)
        assert sorted(items.active_items(db)) == ["c1", "c2", "check", "r1", "r2", "r3", "r4", "r9", "warm-up"]
        assert sorted(items.active_items(db, "check")) == ["c1", "c2", "check"]
        assert items.active_items(db, "item", ["r2", "gone", "c1", "no"]) == ["r2"]
        assert sorted(items.active_items(db, among=["r2", "c1"])) == ["c1", "r2"]
        assert items.items_named(db, ["r9", "gone", "no"]) == {
            "r9": Item("r9", None, {"text": "x"}), "gone": Item("gone", None, {})
        }  # fmt: skip
    assert names(store) == ["r9", "r2", "r3", "r4", "r1"]
    assert names(store, "warm-up") == ["warm-up"]
    assert list(items.known_items(store, "check").items()) == [
        ("check", None), ("c1", {"labels": {"q": 2}}), ("c2", {"labels": {"q": 1}})
    ]  # fmt: skip
    with store.writing() as db:
        put_items(db, [NewItem(0, Item("t", None, {}), "triplet", {"members": ["a"]})], 5.0)
        items.retire_items(db)
        assert items.active_items(db) == ["t"]


def test_item_contents_are_kept_by_digest(store):
    old = NewItem(1, Item("r1", "d1", {"text": "t1"}))
    new = NewItem(1, Item("r1", "d1", {"text": "new"}), pictures={"photo": "abc"})
    assert old.digest != new.digest
    assert NewItem(9, old.item, "check", {}, {}).digest == old.digest, "what is no content names none"
    assert len({NewItem(1, Item("r1", of, {"text": text})).digest for of in "ab" for text in "xy"}) == 4
    with store.writing() as db:
        put_items(db, [old], 5.0)  # as it was
        assert db.execute(sa.select(tables.contents)).all() == []
        put_items(db, [new], 6.0)
        put_items(db, [old], 7.0)
        put_items(db, [new], 8.0)
        kept = {(row.item, row.digest): (row.fields, row.pictures, row.kept_at)
                for row in db.execute(sa.select(tables.contents))}  # fmt: skip
        assert kept == {
            ("r1", old.digest): ({"text": "t1"}, {}, 6.0),
            ("r1", new.digest): ({"text": "new"}, {"photo": "abc"}, 7.0),
        }
        assert items.digests_of(db, ["r1"]) == {"r1": new.digest}
    assert items.items_given(store, [("r1", old.digest), ("r1", new.digest)]) == {
        ("r1", old.digest): old.item, ("r1", new.digest): new.item
    }  # fmt: skip


def test_contents_are_numbered_by_what_a_question_shows_of_them(store):
    """The text of r1 was a, b and a again, each with another note; the picture is shown by one question alone."""
    with store.writing() as db:
        for at, (text, note) in enumerate([("a", "1"), ("b", "2"), ("a", "3"), ("a", "4")]):
            put_items(db, [NewItem(1, Item("r1", None, {"text": text, "note": note}))], float(at))
        said = {text + note: NewItem(1, Item("r1", None, {"text": text, "note": note})).digest for text, note in
                ("a1", "b2", "a3", "a4")}  # fmt: skip
        first = NewItem(1, Item("r1", "d1", {"text": "t1"})).digest
        shown = {1: Question(name="q", text="?", scale="1-5", show=["text"]),
                 2: Question(name="p", text="?", scale="1-5", show=["note"])}  # fmt: skip
        numbers = items.content_numbers(db, shown)
    assert numbers == {
        **{(1, "r1", digest): n for digest, n in zip((first, *said.values()), (1, 2, 3, 2, 2), strict=True)},
        **{(2, "r1", digest): n for digest, n in zip((first, *said.values()), (1, 2, 3, 4, 5), strict=True)},
    }


# -- questions -----------------------------------------------------------------------------------------


def ask(name: str, text: str, **more: Any) -> Question:
    return Question(name=name, text=text, scale="1-5", **more)


def test_question_that_reads_as_before_is_that_version_again(store):
    def put(*asked: Question, same: bool = False, now: float = 1.0) -> list[tuple[Any, ...]]:
        with store.writing() as db:
            put_questions(db, asked, now, columns=["text"], hidden=[], same=same)
            found = db.execute(sa.select(tables.questions).where(tables.questions.c.id > 3).order_by("id")).all()
        return [(row.name, row.version, row.current, row.definition["text"], row.made_at) for row in found]

    assert put(ask("fit", "A")) == [("fit", 1, True, "A", 1.0)]
    assert [one.id for one in items.questions(store)] == [4], "the others are asked no more"
    assert put(ask("fit", "B"), now=2.0) == [("fit", 1, False, "A", 1.0), ("fit", 2, True, "B", 2.0)]
    assert put(ask("fit", "A"), now=3.0) == [("fit", 1, True, "A", 1.0), ("fit", 2, False, "B", 2.0)]
    # One more wording of the version that is asked now; and from then on it is known as that.
    assert put(ask("fit", "C"), same=True)[0] == ("fit", 1, True, "C", 1.0)
    assert put(ask("fit", "C"))[0] == ("fit", 1, True, "C", 1.0)
    assert put(ask("fit", "D"), ask("more", "A"), same=True, now=4.0) == [
        ("fit", 1, True, "D", 1.0), ("fit", 2, False, "B", 2.0), ("more", 1, True, "A", 4.0)
    ]  # fmt: skip
    assert put(ask("more", "E"), now=5.0)[-2:] == [("more", 1, False, "A", 4.0), ("more", 2, True, "E", 5.0)]
    assert put(ask("fit", "E"), now=6.0)[-2:] == [("more", 2, False, "E", 5.0), ("fit", 3, True, "E", 6.0)]
    assert [(one.version, one.definition.text) for one in items.questions(store)] == [(3, "E")]
    with store.reading() as db:
        assert items.question_names(db) == {
            1: "quality", 2: "quality", 3: "tone", 4: "fit", 5: "fit", 6: "more", 7: "more", 8: "fit"
        }  # fmt: skip
    assert [(n, one.text) for n, one in items.questions_by_id(store, [8, 5]).items()] == [(8, "E"), (5, "B")]


def test_keep_form_numbers_equal_texts_once(store):
    one, two = items.keep_form(store, "a", {"x": 1}), items.keep_form(store, "b", {"x": 2})
    assert one != two
    assert items.keep_form(store, "a", {"x": 3}) == one
    with store.reading() as db:
        assert db.execute(sa.select(tables.forms.c.definition).order_by("id")).scalars().all() == [{"x": 1}, {"x": 2}]


# -- outputs of systems --------------------------------------------------------------------------------


def test_system_outputs_counts_missing_outputs(store):
    with store.writing() as db:
        put_items(db, [NewItem(n, Item(name, None, {}), "source") for n, name in ((2, "s1"), (1, "s2"))], 0.0)
    cases: list[tuple[dict[str, Any], str | None]] = [
        ({"condition": '{"temperature":1}'}, "valid"), ({"annotator": "n", "repeat": 2}, "valid"),
        ({"annotator": "n"}, "valid"), ({"item": "s2"}, "missing"), ({"item": "s2", "repeat": 2}, None),
        ({"item": "s2", "repeat": 3, "condition": '{"temperature":1}'}, "unreadable"), ({"item": "s2", "repeat": 4},
         "failed"), ({"question": 1}, "valid"), ({"active": False}, "valid"), ({"item": "r1"}, "valid"),
        ({"item": "s2", "annotator": "old"}, "valid"),
    ]  # fmt: skip
    for n, (more, status) in enumerate(cases):
        number = assign(store, **{"item": "s1"} | more)
        if status:
            answer(store, number, status, label=f"text {n}")
    with store.reading() as db:
        every, warm, cold = (items.system_outputs(db, one) for one in (None, 1, 0.5))
    assert every.outputs == (
        SystemOutput("s2", "old", 1, "text 10"), SystemOutput("s1", "m", 1, "text 0", 1),
        SystemOutput("s1", "n", 1, "text 2"), SystemOutput("s1", "n", 2, "text 1"),
    )  # fmt: skip
    assert (every.missing, every.unreadable) == (3, 1)
    assert (warm.outputs, warm.missing, warm.unreadable) == ((SystemOutput("s1", "m", 1, "text 0", 1),), 1, 0)
    assert cold == WrittenOutputs((), 0, 0)


def test_made_of_identifies_outputs_and_comparisons():
    one, two = SystemOutput("i", "a", 1, "x"), SystemOutput("i", "b", 1, "y")
    pairs = OutputPairs()
    name = WrittenOutputs((one, two), 0, 0).made_of(pairs)
    assert WrittenOutputs((one, two), 3, 4).made_of(pairs) == name
    assert WrittenOutputs((one, two), 0, 0).made_of(OutputPairs(pairs=1)) != name
    seeded = OutputPairs()
    seeded._seed = 1
    assert WrittenOutputs((one, two), 0, 0).made_of(seeded) != name
    warm = SystemOutput("i", "a", 1, "x", 0.5)
    assert len({name, *(WrittenOutputs(of, 0, 0).made_of(pairs) for of in ((two, one), (one,), (warm, two)))}) == 4


def pair(of: str, text: str = "x") -> dict[str, Any]:
    sides = {"first": "a", "second": "b", "first_output": 1, "second_output": 2}
    return sides | {"pair_of": of, "first_text": text, "second_text": "y"}


def test_pairs_are_the_items_of_the_study_in_their_order(store):
    with store.writing() as db:
        put_items(db, [NewItem(n, Item(f"s{n}", "d", {"topic": n}), "source") for n in (1, 2)], 0.0)
        one, two = (WrittenOutputs((SystemOutput("s1", "a", n, "x"),), 0, 0) for n in (1, 2))
        pairs = OutputPairs()
        assert not items.are_stored(db, one, pairs, single=False)
        items.put_pairs(db, [pair("s2"), pair("s1"), pair("s1", "z")], one.made_of(pairs), 5.0)
        assert items.are_stored(db, one, pairs, single=False)
        assert not items.are_stored(db, one, pairs, single=True)
        assert not items.are_stored(db, two, pairs, single=False)
    first, *others = [item for item, _ in items.items(store)]
    assert first.name.startswith("s2 | a 1 | b 2 | ")
    assert len(first.name) == len("s2 | a 1 | b 2 | ") + 8
    assert (first.document, first.fields) == ("s2", {"topic": 2} | pair("s2"))
    assert [one.document for one in others] == ["s1", "s1"]
    assert others[0].name != others[1].name
    with store.writing() as db:
        known = db.execute(sa.select(tables.items.c.known).where(tables.items.c.item == first.name)).scalar_one()
        assert known == {"pair of": "s2"}
        items.retire_items(db)
        items.keep_pairs(db)
    assert names(store) == [first.name, *(one.name for one in others)]
    with store.writing() as db:
        put_items(db, [NewItem(0, Item(first.name, None, {}), "check")], 0.0)
        with pytest.raises(StudyError, match="has the name of a pair of outputs; rename it"):
            items.put_pairs(db, [pair("s2")], "two", 5.0)
