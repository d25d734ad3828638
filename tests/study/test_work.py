"""Who is to answer what: which answers a change loses, plans that find answers again, runs, claims and drawn items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sa = pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')
pytest.importorskip("alembic", reason='a study needs the extra "judge"')

from small_store import answer, assign, rows, small_store  # noqa: E402

from assay.errors import ChangedStudyError, StudyError  # noqa: E402
from assay.study.items import Item  # noqa: E402
from assay.study.schema import Question  # noqa: E402
from assay.study.store import tables, work  # noqa: E402
from assay.study.store.connection import Store  # noqa: E402
from assay.study.store.items import DRAWN, NewItem, put_items  # noqa: E402
from assay.study.store.people import add_people, triplets_drawn  # noqa: E402
from assay.study.store.work import Assignment, Change, TripletDrawer, change_study, counting_answers  # noqa: E402

NOW = 5000.0


@pytest.fixture
def store(tmp_path, monkeypatch) -> Iterator[Store]:
    monkeypatch.setattr("time.time", lambda: NOW)
    with small_store(tmp_path) as opened:
        yield opened


# -- a change of the study -----------------------------------------------------------------------------


def test_change_says_what_it_loses_by_question_and_kind():
    db: Any = None
    said = "would no longer count, because the study has changed since they were given"
    assert Change(db, None).words == ""
    one = Change(db, None, Counter({("quality", "human"): 12, ("quality", "judge"): 8}))
    assert one.words == f"20 answers to 'quality' (12 by annotators, 8 by judges) {said}"
    two = Change(db, None, Counter({("tone", "judge"): 1, ("quality", "human"): 2}))
    assert two.words == f"2 answers to 'quality' (2 by annotators), 1 answer to 'tone' (1 by judges) {said}"


COUNTING: list[tuple[dict[str, Any] | str, str | None]] = [
    ({}, "quality judge"), ({"question": 3}, "tone judge"), ({"question": 1}, None), ({"active": False}, None),
    ({"item": "gone"}, None), ({"item": "check"}, None), ({"item": "warm-up"}, None), ({"annotator": "old"}, None),
    ({"annotator": "ann"}, "quality human"), ({"annotator": "out"}, None), ({"annotator": "zoe"}, None),
    ({"annotator": "eva", "session": "page"}, "quality human"), ({"annotator": "eva", "session": "file"}, None),
    ("missing", None), ("failed", None), ("withdrawn", None), ("unreadable", None),
]  # fmt: skip


def test_which_answers_a_change_may_lose(store):
    counting = {}
    for n, (more, kind) in enumerate(COUNTING, 1):
        status, change = (more, {}) if isinstance(more, str) else ("valid", more)
        number = answer(store, assign(store, repeat=n, **change), status)
        counting |= {} if kind is None else {number: kind}
    assign(store, item="r4")  # not answered
    with store.reading() as db:
        assert {row.id: f"{row.question} {row.kind}" for row in db.execute(counting_answers())} == counting


def test_change_that_loses_answers_needs_a_word(store):
    for name in ("m", "n", "eva"):
        answer(store, assign(store, annotator=name))
    answer(store, assign(store, question=3))
    a, q = tables.assignments, tables.questions

    def losing(changed: Any) -> Change:
        with change_study(store, changed) as change, change_study(store, "same-question") as inner:
            assert inner is change
            change.db.execute(sa.update(q).where(q.c.id == 2).values(current=False))
        return change

    words = "3 answers to 'quality' (1 by annotators, 2 by judges) would no longer count, because the study has changed"
    with pytest.raises(ChangedStudyError) as refused:
        losing(None)
    assert refused.value.what.startswith(words)
    assert refused.value.can_keep
    with pytest.raises(ChangedStudyError) as refused:
        losing("same-question")
    assert refused.value.what.startswith(words)
    assert refused.value.what.endswith(" with either option: their question, item, judge or condition is gone")
    assert not refused.value.can_keep
    with store.reading() as db:
        assert db.execute(sa.select(q.c.current).where(q.c.id == 2)).scalar_one() is True, "nothing was changed"
    with change_study(store, None) as change:
        change.db.execute(sa.update(a).where(a.c.question == 2).values(recipe="another"))
    assert (change.lost, change.words) == (Counter(), "")
    assert losing("new-version").lost == Counter({("quality", "judge"): 2, ("quality", "human"): 1})
    with change_study(store, None) as change:  # and what is lost already is not lost again
        pass
    assert change.lost == Counter()


def test_answer_replaces_a_removed_one_of_the_same_assignment(store):
    first = answer(store, assign(store))
    answer(store, assign(store, item="r2"))
    second = answer(store, assign(store, recipe="other", active=False))
    a = tables.assignments
    with change_study(store, "new-version") as change:
        for number, active in ((first, False), (second, True)):
            change.db.execute(sa.update(a).where(a.c.id == number).values(active=active))
    assert change.lost == Counter()
    with change_study(store, "new-version") as change:
        change.db.execute(sa.update(a).where(a.c.id == second).values(active=False))
    assert change.lost == Counter({("quality", "judge"): 1})


# -- what is planned -----------------------------------------------------------------------------------


def wanted(item: str = "r1", **more: Any) -> Assignment:
    own = {"question": 2, "annotator": "m", "recipe": "p", "condition": "{}", "repeat": 1}
    return Assignment(item, **(own | more))


def test_plan_has_exactly_these_assignments_of_judges(store):
    kept = assign(store, annotator="n", session="file", recipe="", item="r3")
    of_eva = assign(store, annotator="eva", session="page", recipe="page")
    work.plan(store, [wanted(), wanted("r2", shown={"order": ["a"]}, content="d")], "one")
    found = rows(store, "item", "annotator", "status", "active", "shown", "content")[2:]
    assert found == [
        ("r1", "m", "open", True, None, None), ("r2", "m", "open", True, {"order": ["a"]}, "d")
    ]  # fmt: skip
    work.plan(store, [], "one")  # the plan of before
    assert rows(store, "active") == [True] * 4
    answer(store, rows(store, "id")[2])
    work.plan(store, [wanted("r2"), wanted("r4")], "two", "new-version")
    assert rows(store, "id", "active")[:2] == [(kept, True), (of_eva, True)]
    assert rows(store, "item", "status", "active")[2:] == [
        ("r1", "answered", False), ("r2", "open", True), ("r4", "open", True)
    ]  # fmt: skip
    work.plan(store, [wanted()], "three")
    assert rows(store, "item", "status", "active")[2:] == [
        ("r1", "answered", True), ("r2", "open", False), ("r4", "open", False)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("there", "question"),
    [
        ([{"question": 1}], [2]), ([{"question": 1}, {}], [1, 2]), ([{}, {"question": 1}], [2, 1]),
        ([{"question": 3}, {"question": 1, "recipe": "q"}, {"question": 1, "condition": "[]"}], [3, 1, 1, 2]),
        ([{"question": 1, "repeat": 2}, {"question": 1, "annotator": "n"}], [1, 1, 2]),
        ([{"question": 1, "item": "r2"}, {"question": 1, "session": "page"}], [1, 1, 2]),
    ],
)  # fmt: skip
def test_assignment_is_found_in_another_version_of_its_question(store, there, question):
    """The one in the version that is asked comes first; another place, or another request, is another assignment."""
    for one in there:
        assign(store, **one)
    work.plan(store, [wanted()], "one")
    assert rows(store, "question") == question


def test_same_question_keeps_the_first_request(store):
    number = answer(store, assign(store))
    work.plan(store, [wanted(recipe="new")], "one", "same-question")
    assert rows(store, "id", "recipe", "active", "status") == [(number, "p", True, "answered")]
    with store.reading() as db:
        same = db.execute(sa.select(tables.same_requests)).all()
    assert [tuple(row) for row in same] == [("m", "new", "p")]
    work.plan(store, [wanted(recipe="new")], "two")  # and from now on without a word
    work.plan(store, [wanted(recipe="new"), wanted(recipe="new", annotator="n")], "three")
    assert rows(store, "annotator", "recipe") == [("m", "p"), ("n", "new")]


def test_answers_that_no_plan_wants_answer_the_same_request_under_another_name(store):
    mine = answer(store, assign(store))
    work.plan(store, [wanted(annotator="n", condition='{"a":1}', question=3)], "one", "new-version")
    assert rows(store, "id", "annotator", "condition", "question", "active", "status") == [
        (mine, "n", '{"a":1}', 3, True, "answered")
    ]  # fmt: skip
    # Another request, item or repeat is no answer to it, nor one that is not answered.
    more = [wanted(recipe="q"), wanted("r2"), wanted(repeat=2)]
    work.plan(store, more, "two", "new-version")
    assert rows(store, "id", "active")[0] == (mine, False)
    assert [status for status, active in rows(store, "status", "active") if active] == ["open"] * 3
    work.plan(store, [wanted("r2", annotator="n")], "three")
    assert rows(store, "annotator", "status", "active")[-1] == ("n", "open", True)


def test_reuse_prefers_answers_of_the_same_judge(store):
    first, second = answer(store, assign(store, annotator="n")), answer(store, assign(store))
    work.plan(store, [wanted(condition="1"), wanted(condition="2"), wanted(condition="3")], "one", "new-version")
    assert rows(store, "id", "annotator", "condition", "status") == [
        (first, "m", "2", "answered"), (second, "m", "1", "answered"), (second + 3, "m", "3", "open")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("status", "answers", "taken"),
    [("open", (), True), ("failed", (), True), ("claimed", (), False), ("open", ("unreadable",), False)],
)
def test_only_what_was_not_asked_yet_takes_over_an_answer(store, status, answers, taken):
    answer(store, assign(store, annotator="n"))
    number = assign(store, condition="1", status=status)
    if answers:
        answer(store, number, *answers)
    work.plan(store, [wanted(condition="1")], "one", "new-version")
    assert (rows(store, "status") == ["answered"]) is taken


# -- runs ----------------------------------------------------------------------------------------------


def run(store: Store, **more: Any) -> int:
    row = {"host": "elsewhere", "process": "1:1", "started_at": 0.0, "seen_at": NOW, "cost": 0.0} | more
    with store.writing() as db:
        return db.execute(sa.insert(tables.runs).returning(tables.runs.c.id), row).scalar_one()


def test_claims_are_released_after_lease_or_process_end(store, monkeypatch):
    monkeypatch.setattr(work, "_alive", lambda process: process != "dead")
    here = work._host()
    kinds = [
        ({"seen_at": NOW - 60}, False), ({"seen_at": NOW - 60.5}, True), ({"process": "dead"}, False),
        ({"host": here, "process": "dead"}, True), ({"host": here}, False), ({"host": here, "seen_at": NOW - 61}, True),
    ]  # fmt: skip
    for number, (kind, _) in enumerate(kinds, 1):
        assign(store, repeat=number, status="claimed", run=run(store, **kind))
    work.heartbeat(store, 999)
    assert [status == "open" for status in rows(store, "status")] == [over for _, over in kinds]
    assert [one is None for one in rows(store, "run")] == [over for _, over in kinds]


def test_run_that_ends_or_begins_opens_what_is_not_answered(store):
    mine, other = run(store, seen_at=NOW - 10), run(store, cost=0.5)
    numbers = [assign(store, repeat=n) for n in range(1, 6)]
    answer(store, numbers[1], "missing")
    a = tables.assignments
    held = [("claimed", mine), ("claimed", mine), ("claimed", other), ("answered", mine), ("failed", other)]
    with store.writing() as db:
        for number, (status, of) in zip(numbers, held, strict=True):
            db.execute(sa.update(a).where(a.c.id == number).values(status=status, run=of))
    work.charge(store, mine, 0.25)
    work.charge(store, mine, 0.5)
    assert work.dollars_spent(store) == 1.25
    work.end_run(store, mine)
    assert rows(store, "status", "run") == [
        ("open", None), ("missing", None), ("claimed", other), ("answered", mine), ("failed", other)
    ]  # fmt: skip
    third = work.start_run(store)
    assert rows(store, "status") == ["open", "missing", "claimed", "answered", "open"]
    work.heartbeat(store, mine)
    r = tables.runs
    with store.reading() as db:
        found = db.execute(sa.select(r.c.id, r.c.started_at, r.c.seen_at, r.c.ended_at, r.c.cost).order_by(r.c.id))
        assert [tuple(row) for row in found] == [
            (mine, 0.0, NOW, NOW, 0.75), (other, 0.0, NOW, None, 0.5), (third, NOW, NOW, None, 0.0)
        ]  # fmt: skip
        one = db.execute(sa.select(r.c.host, r.c.process).where(r.c.id == third)).one()
    assert one._asdict() == work.this_process()


def test_nothing_was_spent_before_the_first_run(store):
    assert work.dollars_spent(store) == 0.0


def test_another_process_of_this_machine_is_alive(monkeypatch):
    monkeypatch.setattr(work, "_alive", lambda process: process == "5:5")
    me = work.this_process()
    assert work.is_alive(me["host"], "5:5")
    assert not work.is_alive("elsewhere", "5:5")
    assert not work.is_alive(me["host"], "6:6")
    monkeypatch.setattr(work, "_alive", lambda process: True)
    assert not work.is_alive(**me), "this very process"


def test_this_process_runs_and_one_of_its_number_that_began_at_another_time_does_not():
    process = work.this_process()["process"]
    number, _, began = process.partition(":")
    assert work._alive(process)
    if began:  # where there is /proc
        assert not work._alive(f"{number}:{began}1")
        said = Path(f"/proc/{number}/stat").read_text()  # the 22nd of its values is when it began (proc(5))
        assert began == said.rsplit(") ", 1)[1].split()[22 - 3]
    assert work._process(2**22 + 1) == f"{2**22 + 1}:", "no process has this number"


def test_batch_keeps_its_claims_for_thirty_days(store, monkeypatch):
    record = work.start_batch(store, {"name": "b", "file": "x"})
    assert record == {"name": "b", "file": "x", "run": record["run"], "made_at": NOW}
    assign(store, status="claimed", run=record["run"])
    for days, status in ((30, "claimed"), (30.001, "open")):
        # A lease of sixty seconds more, as of any run.
        monkeypatch.setattr("time.time", lambda days=days: NOW + 60 + days * 24 * 3600)
        work.start_run(store)
        assert rows(store, "status") == [status]
    with store.reading() as db:
        first = db.execute(sa.select(tables.runs).order_by(tables.runs.c.id)).first()
    assert (first.host, first.process, first.started_at, first.cost) == ("batch", "b", NOW, 0.0)


# -- claims --------------------------------------------------------------------------------------------


def test_claims_are_the_first_open_ones_of_these_judges_with_what_is_needed_to_ask(store):
    mine, other = run(store), run(store)
    numbers = [
        assign(store, condition='{"temperature":0.5}', repeat=2, shown={"order": ["x"]}), assign(store, annotator="n"),
        assign(store, item="r2", active=False), assign(store, item="r3", status="failed"), assign(store, item="r4"),
        assign(store, item="r2", question=3), assign(store, annotator="old"),
    ]  # fmt: skip
    assert [one.id for one in work.sample(store, "m", 9)] == [numbers[n] for n in (0, 3, 4, 5)]
    assert [one.id for one in work.sample(store, "m", 2)] == [numbers[n] for n in (0, 3)]
    assert [one.id for one in work.sample(store, "m", 9, "test")] == [numbers[5]]
    first, second = work.claim(store, mine, ["m", "n"], 2)
    assert first == work.Claim(
        numbers[0], Item("r1", "d1", {"text": "t1"}), 2, "m", {"temperature": 0.5}, 2, {"order": ["x"]}, 0, None
    )
    assert second.id == numbers[1]
    assert [one.id for one in work.claim(store, other, ["m"], 9, part="tune")] == []
    assert [one.id for one in work.claim(store, other, ["m"], 9, part="test")] == [numbers[5]]
    assert work.counts(store, ["m"]) == {"claimed": 2, "failed": 1, "open": 1}
    assert work.counts(store, ["m", "n", "old"]) == {"claimed": 3, "failed": 1, "open": 2}
    assert work.counts(store, ["m"], "tune") == {"claimed": 1}
    a = tables.assignments
    with store.writing() as db:
        db.execute(sa.update(a).where(a.c.id == numbers[1]).values(active=False))
    held, not_asked = work.claims_held(store, mine)
    assert (held, not_asked) == ({numbers[0]: first}, 1)
    work.open_failed(store)
    assert rows(store, "status") == ["claimed", "claimed", "open", "open", "open", "claimed", "open"]
    with store.writing() as db:
        db.execute(sa.update(a).where(a.c.id == numbers[1]).values(status="answered"))
    work.give_back(store, [first, second])
    assert rows(store, "status", "run")[:2] == [("open", None), ("answered", mine)]
    assert rows(store, "status", "run")[5] == ("claimed", other)


@pytest.mark.parametrize(
    ("statuses", "unread"),
    [
        (["unreadable"], ("r1", "w1")), (["unreadable", "failed"], ("r1", "w1")), (["unreadable", "missing"], None),
        (["failed"], None), (["unreadable", "unreadable"], ("r2", "w2")), (["missing", "unreadable"], ("r2", "w2")),
        (["empty"], ("", "")), ([], None),
    ],
)  # fmt: skip
def test_claim_has_the_unparseable_response(store, statuses, unread):
    number = assign(store)
    for n, status in enumerate(statuses, 1):
        about = {"reply": None, "reason": None} if status == "empty" else {"reply": f"r{n}", "reason": f"w{n}"}
        answer(store, number, "unreadable" if status == "empty" else status, run=run(store), **about)
    with store.writing() as db:
        db.execute(sa.update(tables.assignments).values(status="open"))
    (found,) = work.claim(store, run(store), ["m"], 9)
    assert (found.revision, found.unread) == (len(statuses), unread)


def test_replies_that_could_not_be_read_in_an_earlier_run_are_claimed_when_asked_for(store):
    mine, before = run(store), run(store)
    cases: list[tuple[list[str], int, dict[str, Any], bool]] = [
        (["missing"], before, {}, True), (["unreadable"], before, {}, True), (["missing"], mine, {}, False),
        (["failed"], before, {}, False), (["valid"], before, {}, False), ([], before, {}, False),
        (["unreadable", "valid"], before, {}, False), (["missing"], before, {"active": False}, False),
        (["missing"], before, {"annotator": "n"}, False), (["missing"], before, {"item": "r2"}, True),
    ]  # fmt: skip
    numbers = []
    for n, (statuses, of, more, _) in enumerate(cases, 1):
        numbers.append(assign(store, repeat=n, **more))
        for status in statuses:
            answer(store, numbers[-1], status, run=of)
    unread = [number for number, (*_, there) in zip(numbers, cases, strict=True) if there]
    assert work.count_unread(store, mine, ["m"]) == 3
    assert work.count_unread(store, mine, ["m", "n"]) == 4
    assert work.count_unread(store, mine, ["m"], "test") == 1
    about = work.item_claims(store, "r1", ["m"])
    assert [(one.id, one.unread) for one in about] == [(n, None) for n in numbers[:7]]
    assert [one.id for one in work.claim(store, mine, ["m"], 9, unread=True)] == unread
    assert work.count_unread(store, mine, ["m"]) == 0
    assert [one.id for one in work.claim(store, mine, ["m"], 9)] == [numbers[5]], "asked for the first time"


def test_count_probes_counts_open_ones(store):
    probe = '{"probe":"again"}'
    for n, more in enumerate(
        ({}, {"status": "failed"}, {"status": "claimed"}, {"active": False}, {"annotator": "n"}, {"item": "r2"}), 1
    ):
        assign(store, condition=probe, repeat=n, **more)
    assign(store)
    assert work.count_probes(store, "m") == 3
    assert work.count_probes(store, "m", "test") == 1


def test_versions_of_a_prompt_are_requests_to_one_question_about_one_content(store):
    for n, more in enumerate(({}, {"active": False}, {"question": 1}, {"annotator": "old"}), 1):
        answer(store, assign(store, recipe=f"p{n}", **more))
    assert work.prompt_versions(store, ["r1"]) == {"m": 3, "old": 1}
    assert work.prompt_versions(store, ["r2"]) == {}
    for n, more in enumerate((
        {"question": 3}, {"condition": "1"}, {"repeat": 2}, {"content": "d"}, {"item": "r2"}, {"annotator": "eva"},
        {"session": "page"},
    ), 5):  # fmt: skip
        answer(store, assign(store, recipe=f"p{n}", **more))
    answer(store, assign(store, recipe="p20"), "failed")
    assign(store, recipe="p21")
    assert work.prompt_versions(store, ["r1", "r2"]) == {"m": 3, "old": 1}
    answer(store, assign(store, recipe="p22"), "missing")
    assert work.prompt_versions(store, ["r1"]) == {"m": 4, "old": 1}


def test_answers_before_a_moment_are_counted_without_those_that_failed(store):
    one, two = assign(store), assign(store, annotator="eva", item="r2")
    for number, status, when in (
        (one, "unreadable", 9.0), (one, "failed", 9.0), (one, "valid", 10.0), (two, "valid", 8.0)
    ):  # fmt: skip
        answer(store, number, status, answered_at=when)
    assert [work.answers_before(store, when, ["r1", "r2"]) for when in (8.0, 10.0, 10.5)] == [0, 2, 3]
    assert work.answers_before(store, 10.5, ["r2"]) == 1
    assert work.answers_before(store, 10.5, []) == 0


# -- triplets and pairs that are drawn -----------------------------------------------------------------


def drawer(
    store: Store, wanted: int = 1, *, pairs: bool = False, documents: str = "aaaa", most: int = work.MOST_AT_ONCE
) -> TripletDrawer:
    """Of items x0, x1, ... with these documents, instead of the present ones."""
    with store.writing() as db:
        i = tables.items
        db.execute(sa.update(i).where(i.c.role != "triplet").values(active=False))
        new = [NewItem(50 + n, Item(f"x{n}", of, {"text": f"t{n}"})) for n, of in enumerate(documents)]
        put_items(db, new, 0.0)
        db.execute(sa.update(i).where(i.c.role == "item", i.c.item.like("r%")).values(active=False))
        db.execute(sa.delete(tables.people))
    return TripletDrawer(store, "text", wanted=wanted, seed=0, pairs=pairs, most=most)


def drawn(store: Store) -> list[tuple[int, list[str]]]:
    with store.reading() as db:
        return triplets_drawn(db, 0)


@pytest.mark.parametrize(("wanted", "number"), [(1, 2), (2, 4)])
def test_judges_alone_are_asked_no_more_triplets_than_the_limit(store, wanted, number):
    """Four items have six pairs; each triplet holds three of them."""
    few = drawer(store, wanted, most=number - 1)
    with pytest.raises(StudyError) as refused:
        few.draw_for_judges()
    assert str(refused.value) == (
        f"about {number} triplets would be drawn, and the maximum for judges alone is {number - 1}; set "
        "items.document so that triplets stay within documents, use fewer items, or display each pair less often "
        "(people.pairs)"
    )
    drawer(store, wanted, most=number).draw_for_judges()
    found = drawn(store)
    assert [at for at, _ in found] == list(range(len(found)))
    assert number <= len(found) <= 4
    assert store.setting(DRAWN) == len(found)
    drawer(store, wanted, most=0).draw_for_judges()  # nothing is left to draw
    assert drawn(store) == found


def test_triplets_stay_within_documents_of_three(store):
    assert work.MOST_AT_ONCE == 6000
    drawer(store, documents="aabbbc").draw_for_judges()
    assert drawn(store) == [(0, ["x2", "x3", "x4"])]
    with store.writing() as db:
        db.execute(sa.delete(tables.items).where(tables.items.c.role == "triplet"))
    words = "no triplet can be drawn: its three items come from one document, and none has three items; leave items."
    with pytest.raises(StudyError, match=words):
        drawer(store, documents="aabbc").draw_for_judges()


def test_draw_for_judges_waits_for_annotators(store):
    one = drawer(store)
    add_people(store, {"ida": {}})
    with pytest.raises(StudyError, match=r"^triplets are drawn during annotation, which has not begun; judges"):
        one.draw_for_judges()
    with store.exclusive() as db:
        name = one.draw(db)
    one.draw_for_judges()
    assert [" | ".join(members) for _, members in drawn(store)] == [name]


def test_every_pair_of_a_document_is_asked_once(store):
    few = drawer(store, pairs=True, documents="bababc", most=3)
    with pytest.raises(StudyError) as refused:  # three pairs of a, one of b
        few.draw_for_judges()
    assert str(refused.value) == (
        "4 pairs would be compared, and the maximum for judges alone is 3; set items.document so that pairs stay "
        "within documents, or use fewer items"
    )
    drawer(store, pairs=True, documents="bababc", most=4).draw_for_judges()
    every = [["x0", "x2"], ["x0", "x4"], ["x2", "x4"], ["x1", "x3"]]
    assert drawn(store) == list(enumerate(every))
    assert store.setting(DRAWN) == 4
    drawer(store, pairs=True, documents="bababa", most=2).draw_for_judges()  # x5 is of the others now
    assert drawn(store) == list(enumerate([*every, ["x1", "x5"], ["x3", "x5"]]))
    drawer(store, pairs=True, documents="abcdef").draw_for_judges()  # what is drawn stays, and nothing is new
    assert len(drawn(store)) == 6
    with store.writing() as db:
        db.execute(sa.delete(tables.items).where(tables.items.c.role == "triplet"))
    words = "^no pair can be drawn: its two items come from one document, and none has two items; leave items.document"
    with pytest.raises(StudyError, match=words):
        drawer(store, pairs=True, documents="abcdef").draw_for_judges()


def test_drawn_triplet_is_an_item(store):
    """Of what differs among the three, only what the question shows stays: by place."""
    asked = Question(name="odd", text="?", scale="odd-one-out", options=["text"], show=["who"]).model_dump(mode="json")
    q = tables.questions
    with store.writing() as db:
        db.execute(sa.update(q).where(q.c.id == 3).values(definition=asked))
    made = TripletDrawer(store, "text", wanted=1, seed=0)
    fields = [
        {"text": "one", "topic": "t", "who": "ann", "year": 1}, {"text": "two", "topic": "t", "who": "bob", "year": 2},
        {"topic": "t", "who": "ann"},
    ]  # fmt: skip
    of = {f"x{n}": Item(f"x{n}", f"d{n}", one) for n, one in enumerate(fields)}
    three = made._item(["x0", "x1", "x2"], of)
    assert (three.name, three.document) == ("x0 | x1 | x2", "d0")
    assert three.fields == {
        "topic": "t", "who": {"first": "ann", "second": "bob", "third": "ann"}, "first": "one", "second": "two",
        "third": "", "first_item": "x0", "second_item": "x1", "third_item": "x2",
    }  # fmt: skip
    two = made._item(["x0", "x2"], of)
    places = {"first": "one", "second": "", "first_item": "x0", "second_item": "x2"}
    assert two.fields == {"topic": "t", "who": "ann"} | places
