"""Who gets which item: overlap, groups, quotas, checks, items that come again, sessions, documents, triplets."""

from __future__ import annotations

import heapq
import itertools
import json
import random
import textwrap
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("sqlalchemy", reason='the page needs the extra "serve"')
pytest.importorskip("alembic", reason='the page needs the extra "serve"')

from assay.collecting import answers, assignment, invitations
from assay.collecting.answers import Submission
from assay.collecting.assignment import ADDED, Assigner, OpenPlaces, additions, additions_words, progress
from assay.collecting.design import StudyDesign
from assay.collecting.people import pages_of
from assay.data.scales import parse_scale
from assay.errors import StudyError
from assay.estimation.result import Exclusion
from assay.statistics.comparisons.triplets import PairCounts, Sampler
from assay.study import schema
from assay.study.definition import load_study
from assay.study.store import people, work
from assay.study.store.connection import open_store
from assay.study.store.intake import sync_study
from assay.study.store.items import items as store_items
from assay.study.store.people import find
from assay.study.store.table import stored_annotations
from assay.study.store.work_log import WorkLog

DAY = 86400.0
STARS = "questions: [{name: stars, text: How many stars, scale: 1-5}]\n"


class Site:
    """A study in a folder and its annotators, without a server."""

    def __init__(
        self,
        folder: Path,
        people: str,
        *,
        questions: str = STARS,
        items: str | int = 8,
        url: str | None = None,
        seed: int = 0,
    ):
        folder.mkdir(exist_ok=True)
        if isinstance(items, int):
            items = "item,review\n" + "".join(f"r{n:02},text {n}\n" for n in range(items))
        (folder / "items.csv").write_text(items)
        people = textwrap.indent(textwrap.dedent(people).strip() or "order: shuffled", "  ")
        text = f"{questions}seed: {seed}\npeople:\n{people}\n"
        (folder / "study.yaml").write_text(text)
        self.study = load_study(folder)
        self.store = open_store(self.study, url)
        try:
            sync_study(self.store, self.study)
            self.design = StudyDesign(self.study, self.store)
            self.assigner = Assigner(self.design)
        except StudyError:
            self.store.close()
            raise

    def person(self, name: str, **attributes: str) -> people.Person:
        return people.find(self.store, name) or invitations.invite(self.design, name, attributes)

    def hold(self, name: str, after: int = 0, most: int = 1):
        return self.assigner.hold(self.person(name), after, most)

    def tasks(self, name: str, pages):
        return [task for page in pages_of(self.design, self.person(name), pages) for task in page.tasks]

    def answer(self, name: str, task, label=3, **more):
        labels = {} if more.get("skip") else {str(q.id): label for q in task.questions}
        sent = Submission(task.id, f"key-{task.id}-{task.revision}", task.revision, labels, **more)
        return answers.save(self.assigner, self.person(name), sent)

    def work(self, name: str, label=3, most: int = 10_000) -> list[str]:
        """Answer all items; return them in the order of assignment."""
        done: list[str] = []
        while len(done) < most and (held := self.hold(name)).pages:
            for task in self.tasks(name, held.pages):
                self.answer(name, task, label)
                done.append(self.item_of(task))
        return done

    def item_of(self, task) -> str:
        with self.store.reading() as db:
            from assay.study.store import tables

            t = tables.tasks.c
            import sqlalchemy as sa

            return str(db.execute(sa.select(t.item).where(t.id == task.id)).scalar_one())


@pytest.fixture
def site(tmp_path):
    made: list[Site] = []

    def make(people: str = "", **more) -> Site:
        made.append(Site(tmp_path / f"study{len(made)}", people, **more))
        return made[-1]

    yield make
    for one in made:
        one.store.close()


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        at = 1_800_000_000.0

    monkeypatch.setattr("time.time", lambda: Clock.at)
    return Clock


@pytest.mark.slow
def test_every_annotator_answers_all_items_in_a_separate_order(site):
    made = site()
    first, second = made.work("ana"), made.work("ben")
    assert sorted(first) == sorted(second) == [f"r{n:02}" for n in range(8)]
    assert first != second
    assert made.hold("ana").end.kind == "done"


@pytest.mark.slow
def test_orders_depend_on_the_seed(site):
    assert site(seed=1).work("ana") == site(seed=1).work("ana") != site(seed=2).work("ana")
    assert site("order: fixed").work("ana") == [f"r{n:02}" for n in range(8)]


@pytest.mark.slow
def test_overlap_is_exact_without_repeated_items(site):
    made = site("overlap: 3\nquota: 6", items=10)
    had = {name: made.work(name) for name in ("ana", "ben", "chi", "dan", "eva")}
    assert all(len(items) == len(set(items)) == 6 for items in had.values())
    assert set(Counter(itertools.chain(*had.values())).values()) == {3}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.simulation) for n in (1, 2, 3))])
@pytest.mark.parametrize(
    ("people", "items", "overlap", "quota", "together"),
    [(6, 20, 3, 10, False), (3, 18, 2, 12, True), (5, 15, 4, 12, False)],
)
def test_tight_quotas_fill_every_place(site, people, items, overlap, quota, seed, together):
    if together:  # three items of each document, on one page
        quota *= 3
        rows = "".join(f"r{n:03},d{n // 3},text {n}\n" for n in range(3 * items))
        about = STARS + "items: {file: items.csv, document: document}\n"
        words = f"overlap: {overlap}\nquota: {quota}\ntogether: true"
        made = site(words, questions=about, items="item,document,review\n" + rows)
    else:
        made = site(f"overlap: {overlap}\nquota: {quota}", items=items, seed=seed)
    chance = random.Random(seed)
    weights = {f"p{number}": chance.random() ** 3 + 0.05 for number in range(people)}  # some are much faster
    for name in weights:
        made.person(name)
    had: dict[str, list[str]] = {name: [] for name in weights}
    while any(open_now := [name for name in weights if len(had[name]) < quota]):
        (name,) = chance.choices(open_now, [weights[one] for one in open_now])
        held = made.hold(name, most=chance.choice([1, 4]))
        assert held.pages, f"nothing is left for {name} after {len(had[name])} of {quota}"
        for task in made.tasks(name, held.pages):
            made.answer(name, task)
            had[name].append(made.item_of(task))
    assert all(len(mine) == len(set(mine)) == quota for mine in had.values())
    assert set(Counter(itertools.chain(*had.values())).values()) == {overlap}


class Simulated:
    """People who arrive, answer, leave for a while and return, in a random order.

    Parameters
    ----------
    names : list of str
        Who comes; each is invited when they come, if they were not before.
    seconds : float
        That an answer takes, from a half to one and a half of it; ``pace`` draws by how much each person is slower.
    come : float
        Seconds in which they come.
    away : float
        How often a person leaves their items until their reservation expires.
    """

    def __init__(self, made: Site, clock: Any, seed: int, names: Iterable[str], **about: Any) -> None:
        self.made, self.clock, self.chance = made, clock, random.Random(seed)
        self.about = {"seconds": 2.0, "come": 2.0, "away": 0.0, "pace": lambda chance: 1.0} | about
        self.queue: list[tuple[float, str]] = []
        self.held: dict[str, list[tuple[int, Any]]] = {}
        self.last: dict[str, int] = {}
        self.slower: dict[str, float] = {}
        self.answered: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()
        for name in names:
            self.come(name, clock.at + self.about["come"] * self.chance.random())

    def come(self, name: str, at: float) -> None:
        self.held[name], self.last[name] = [], 0
        self.slower[name] = self.about["pace"](self.chance)
        heapq.heappush(self.queue, (at, name))

    def run(self) -> None:
        """Run until no items are assigned."""
        while self.queue:
            self.clock.at, name = heapq.heappop(self.queue)
            wait = self.step(name)
            if wait is not None:
                heapq.heappush(self.queue, (self.clock.at + wait, name))

    def step(self, name: str) -> float | None:
        """One step of a person, and the seconds until the next; None at the end."""
        if self.held[name]:
            page, task = self.held[name].pop(0)
            self.last[name] = page
            if not self.made.answer(name, task).extra:
                self.answered[self.made.item_of(task)] += 1
        if not self.held[name]:
            found = self.made.hold(name, self.last[name], 5)
            if not found.pages and self.last[name]:
                self.last[name] = 0  # as the page does, from the first on
                return 0.0
            if not found.pages:
                self.ends[found.end.kind] += found.end.kind != "empty"
                return 30.0 if found.end.kind == "empty" else None
            self.held[name] = [(page, task) for page in found.pages for task in self.made.tasks(name, [page])]
        seconds = self.about["seconds"] * (0.5 + self.chance.random()) * self.slower[name]
        gone = self.chance.random() < self.about["away"]
        return seconds + (schema.PAGE_RESERVED_MINUTES * 60 * (1 + self.chance.random()) if gone else 0.0)


def uneven(chance: random.Random) -> float:
    """Some people are twenty times slower than others."""
    return 1 / (chance.random() ** 2 + 0.05)


def few_seeds(number: int, *, more: int = 6) -> list[Any]:
    """A number of seeds, more for slow tests."""
    return [*range(number), *(pytest.param(seed, marks=pytest.mark.simulation) for seed in range(number, more))]


COMING_AND_GOING: dict[str, tuple[tuple[int, int, int, int], dict[str, Any]]] = {
    "slow and fast": ((6, 20, 3, 10), {"pace": uneven}),
    "most items each": ((5, 15, 4, 12), {"pace": uneven, "come": 60.0}),
    # Each comes when those before have nearly finished: the last must find ten items with missing answers.
    "one after another": ((8, 20, 4, 10), {"come": 200.0, "late": True}),
    "a crowd": ((10, 40, 3, 12), {"come": 60.0, "late": True, "pace": uneven}),
    # An item held beyond its reservation is free; a returning person continues with the items still free.
    "away and back": ((8, 24, 3, 9), {"away": 0.05}),
}
"""By name: people, items, overlap and quota of a study without one place to spare; and how its people come and go."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_seeds(1))
@pytest.mark.parametrize("name", COMING_AND_GOING)
def test_hold_fills_every_place_with_changing_annotators(site, clock, name, seed):
    sizes, about = COMING_AND_GOING[name]
    fills_every_place(site, clock, *sizes, seed, **about)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_hold_fills_every_place_with_fifty_fast_annotators(site, clock, seed):
    """The last 200 places are filled within 8 s: the recount must come in time."""
    fills_every_place(site, clock, 50, 200, 5, 20, seed, seconds=2.2)


def fills_every_place(
    site: Any,
    clock: Any,
    people: int,
    items: int,
    overlap: int,
    quota: int,
    seed: int,
    *,
    late: bool = False,
    **about: Any,
) -> None:
    made = site(f"overlap: {overlap}\nquota: {quota}", items=items, seed=seed)
    names = [f"p{number:02}" for number in range(people)]
    assert people * quota == items * overlap
    for name in () if late else names:
        made.person(name)
    simulated = Simulated(made, clock, seed, names, **about)
    simulated.run()
    assert Counter(simulated.answered.values()) == {overlap: items}
    assert simulated.ends == {"done": people}


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_seeds(2))
def test_hold_fills_every_place_after_replacement_of_annotators(site, clock, seed):
    made = site("overlap: 3\nquota: 9", items=24, seed=seed)
    chance, names = random.Random(seed), [f"p{number}" for number in range(8)]
    for name in names:
        made.person(name)
    simulated = Simulated(made, clock, seed, names, pace=uneven)
    leaves = {name: chance.randrange(1, 9) for name in chance.sample(names, 3)}
    go_on = simulated.step

    def step(name: str) -> float | None:
        with made.store.reading() as db:
            done = sum(task.state == "answered" for task in people.tasks_of(db, name))
        if done < leaves.get(name, 10):
            return go_on(name)
        people.set_state(made.store, name, "revoked")
        simulated.come(f"{name} later", clock.at + 60)
        return None

    simulated.step = step
    simulated.run()
    assert Counter(simulated.answered.values()) == {3: 24}


@pytest.mark.slow
def test_open_places_agree_with_all_tasks(site, clock):
    made, quota = site("overlap: 2\nquota: 7", items=12, seed=1), 7
    chance = random.Random(2)
    for turn in range(15):
        name = "abcde"[turn % 5]
        for task in made.tasks(name, made.hold(name, most=2).pages):
            if (done := chance.choice(["answered", "answered", "skipped", "left"])) != "left":
                made.answer(name, task, **({"skip": "I would rather not answer"} if done == "skipped" else {}))
        clock.at += chance.choice([60.0, 1000.0])  # the reservation expires, or not
    people.exclude(made.store, "e", "as a test")
    with made.store.exclusive() as db:
        (session,) = made.design.sessions("ana")
        found = made.assigner.rest(db, session.part, made.assigner.slot(session, ""), clock.at)
        rows = {name: people.tasks_of(db, name) for name in "abcde"}
    holds = [task for name in "abcd" for task in rows[name] if task.state != "skipped" and not task.extra]
    taken = Counter(t.item for t in holds if t.state == "answered" or t.expires_at > clock.at)
    places = {name: 2 - taken[name] for name in made.design.parts[0].names if taken[name] < 2}
    assert sum(task.state == "given" for name in "abcd" for task in rows[name]) > 0, "a reservation or a quota ended"
    assert found.places == places != {}
    assert found.room == {name: quota - len(rows[name]) for name in "abcd" if len(rows[name]) < quota}
    late = {name: {t.item for t in rows[name] if t.state == "given" and t.expires_at <= clock.at} for name in "abcd"}
    assert found.lapsed == {name: mine for name in "abcd" if (mine := late[name] & set(places))} != {}
    assert len(found.room) > 1
    assert found.had == {name: mine for name in found.room if (mine := {t.item for t in rows[name]} & set(places))}


@pytest.mark.slow
def test_single_person_can_take_any_free_place(site):
    made = site("overlap: 1\nquota: 8")
    made.person("ana")
    (session,) = made.design.sessions("ana")
    with made.store.exclusive() as db:  # looking ahead matters only if others could leave no place
        assert made.assigner.rest(db, session.part, made.assigner.slot(session, ""), 0.0) is None
    assert len(made.work("ana")) == 8


def most_filled(places: dict[str, int], room: dict[str, int], had: dict[str, set[str]]) -> int:
    """The most places that can be filled, by augmenting paths from one place at a time."""
    taken: dict[str, list[str]] = {name: [] for name in room}

    def find(item: str, seen: set[str]) -> bool:
        for name in room:
            if name in seen or item in had[name] or item in taken[name]:
                continue
            seen.add(name)
            if len(taken[name]) < room[name]:
                taken[name].append(item)
                return True
            for other in list(taken[name]):
                if find(other, seen):
                    taken[name].remove(other)
                    taken[name].append(item)
                    return True
        return False

    return sum(find(item, set()) for item, number in places.items() for _ in range(number))


@pytest.mark.slow
@given(st.data())
def test_safe_items_lose_no_place(data):
    items, people = [f"i{n}" for n in range(data.draw(st.integers(1, 6)))], ["ana", "ben", "chi", "dan"]
    places = {item: data.draw(st.integers(0, 3)) for item in items}
    room = {name: data.draw(st.integers(0, 4)) for name in people}
    had = {name: set(data.draw(st.lists(st.sampled_from(items), max_size=4))) for name in people}
    before = most_filled(places, room, had)
    assert OpenPlaces(dict(places), dict(room), {k: set(v) for k, v in had.items()}).most_filled() == before
    for name in people:
        safe = OpenPlaces(dict(places), dict(room), {k: set(v) for k, v in had.items()}).safe_for(name)
        expected = set()
        for item in items:
            if places[item] and room[name] and item not in had[name]:
                rest = OpenPlaces(dict(places), dict(room), {k: set(v) for k, v in had.items()})
                rest.take(name, item)
                if most_filled(rest.places, rest.room, rest.had) == before - 1:
                    expected.add(item)
        assert safe == expected


@pytest.mark.slow
def test_overlap_by_group(site):
    made = site("overlap: {job: {nurse: 1, doctor: 2}}", items=4)
    for name, job in (("ana", "nurse"), ("ben", "nurse"), ("chi", "doctor"), ("dan", "doctor"), ("eva", "doctor")):
        made.person(name, job=job)
    had = {name: made.work(name) for name in ("ana", "ben", "chi", "dan", "eva")}
    assert [len(had[name]) for name in ("ana", "ben", "chi", "dan", "eva")] == [4, 0, 4, 4, 0]
    with pytest.raises(StudyError, match="'fay' requires the attribute 'job' \\(nurse, doctor\\)"):
        made.person("fay")
    with pytest.raises(StudyError, match="'clerk' is not a group of the study"):
        made.person("fay", job="clerk")


@pytest.mark.slow
def test_expired_place_is_reassigned_and_late_answer_is_extra(site, clock):
    made = site("overlap: 1", items=1)
    (late,) = made.tasks("ana", made.hold("ana").pages)
    waiting = made.hold("ben")
    assert waiting.pages == ()
    assert waiting.end.kind == "empty"
    assert waiting.end.opens_at == clock.at + 1800
    clock.at += 1801
    assert made.work("ben") == ["r00"]
    assert made.hold("ana").pages == ()
    saved = made.answer("ana", late, 5)
    assert saved.extra
    table = stored_annotations(made.store)
    rows = dict(zip(table.labels["annotator"], table.column("extra"), strict=True))
    assert rows == {"ana": True, "ben": None}


def test_late_answer_with_free_place_is_not_extra(site, clock):
    made = site("overlap: 1", items=1)
    (task,) = made.tasks("ana", made.hold("ana").pages)
    clock.at += 18000
    assert not made.answer("ana", task).extra
    assert made.hold("ben").end.kind == "done"


def test_opening_the_page_renews_the_reservation(site, clock):
    made = site("overlap: 1", items=1)
    made.hold("ana")
    for _ in range(5):
        clock.at += 1620
        assert made.hold("ana").pages == (1,)
        assert made.hold("ben").pages == ()


def test_skipped_item_is_reassigned(site):
    made = site("overlap: 1", items=1)
    (task,) = made.tasks("ana", made.hold("ana").pages)
    made.answer("ana", task, skip="I would rather not answer")
    assert made.hold("ana").end.kind == "done"
    assert made.work("ben") == ["r00"]
    # A person who skipped can still answer; the place is gone by then.
    (again,) = made.tasks("ana", [1])
    assert again.skipped == "I would rather not answer"
    assert made.answer("ana", again).extra


@pytest.mark.slow
def test_checks_come_after_n_items_and_do_not_count(site, tmp_path):
    folder = tmp_path / "study0"
    folder.mkdir()
    (folder / "checks.csv").write_text("item,review,stars\nc1,choose 1,1\nc2,choose 5,5\n")
    made = site("checks: {file: checks.csv, every: 3}")
    order = made.work("ana")
    assert [n for n, item in enumerate(order) if item.startswith("c")] == [3, 7]
    with made.store.reading() as db:
        session = made.design.sessions("ana")[0]
        assert progress(made.design, db, made.person("ana"), session) == {"done": 10, "total": 10, "about": False}
    table = stored_annotations(made.store)
    assert not set(table.labels["item"]) & {"c1", "c2"}
    assert Exclusion("row", 2, "the item is an attention check") in table.reading.exclusions


def test_practice_comes_first_and_shows_expected_answers(site, tmp_path):
    folder = tmp_path / "study0"
    folder.mkdir()
    (folder / "warm.csv").write_text("item,review,stars,feedback\nw1,great,5,It says great.\n")
    made = site("warm_up: warm.csv", items=2)
    (task,) = made.tasks("ana", made.hold("ana").pages)
    assert task.practice
    saved = made.answer("ana", task, 4)
    assert saved.feedback == [{"question": "stars", "right": False, "expected": "5", "words": "It says great."}]
    replayed = made.answer("ana", task, 4)
    assert replayed.again
    assert replayed.feedback == saved.feedback
    assert sorted(made.work("ana")) == ["r00", "r01"]


def test_item_is_shown_in_its_assigned_version_and_versions_are_stored(site, tmp_path):
    made = site("", items=1)
    (task,) = made.tasks("ana", made.hold("ana").pages)
    assert task.fields[0].text == "text 0"
    (tmp_path / "study0" / "items.csv").write_text("item,review\nr00,another text\n")
    sync_study(made.store, load_study(tmp_path / "study0"))
    (again,) = made.tasks("ana", [1])
    assert again.fields[0].text == "text 0"
    (new,) = made.tasks("ben", made.hold("ben").pages)
    assert new.fields[0].text == "another text"


@pytest.mark.slow
def test_retest_repeats_a_share_of_items_with_a_gap(site):
    made = site("retest: 0.25", items=24)
    order = made.work("ana")
    again = [item for item, number in Counter(order).items() if number == 2]
    assert len(again) == 6
    gaps = [order.index(item, order.index(item) + 1) - order.index(item) for item in again]
    assert min(gaps[:4]) == 11  # of the last ones, no item is left to come between
    repeats = stored_annotations(made.store).labels
    assert sorted(repeats.filter(repeats["repeat"] == 2)["item"]) == sorted(again)


CROSSED = """
questions:
  - name: stars
    text: How good?
    scale: 1-5
    guidelines: Judge the whole visit.
    meanings: {1: very bad, 5: excellent}
    by_scale:
      "0-3": {guidelines: Use the full range 0 to 3., meanings: {0: useless}}
conditions: {scale: ["1-5", "0-3"]}
"""


def test_each_session_has_the_anchors_and_guidelines_of_its_scale(site):
    made = site(questions=CROSSED, items=1)
    read = {}
    for _ in range(2):
        (task,) = made.tasks("ana", made.hold("ana").pages)
        form = task.questions[0]
        read[len(form.choices)] = (form.guidelines, {c.text: c.meaning for c in form.choices if c.meaning})
        made.answer("ana", task, 2)
    assert read == {
        5: ("Judge the whole visit.", {"1": "very bad", "5": "excellent"}),
        4: ("Judge the whole visit.\nUse the full range 0 to 3.", {"0": "useless"}),
    }


@pytest.mark.slow
def test_sessions_by_scale_open_at_their_time(site, clock):
    scales = "conditions: {scale: ['interval:0-5', 'interval:0-10', 'interval:0-100']}\n"
    made = site("days_apart: 7", questions=STARS + scales, items=3)
    drawn = [one.condition for one in made.design.sessions("ana")]
    assert len(set(drawn)) == 3
    seen = []
    for number in range(3):
        for _ in range(3):
            held = made.hold("ana")
            assert held.session.condition == drawn[number]
            (task,) = made.tasks("ana", held.pages)
            seen.append((number, task.questions[0].high))
            made.answer("ana", task, 2.5)
        end = made.hold("ana").end
        if number < 2:
            assert end.kind == "later"
            assert end.opens_at == clock.at + 7 * DAY
            clock.at += 6.9 * DAY
            assert made.hold("ana").end.kind == "later"
            clock.at += 0.2 * DAY
    assert made.hold("ana").end.kind == "done"
    assert len(set(seen)) == 3
    orders = {tuple(made.assigner.order(made.design.parts[0], "ana", one)) for one in drawn}
    assert len(orders) > 1
    assert stored_annotations(made.store).conditions == ("scale",)
    others = {tuple(one.condition for one in made.design.sessions(f"p{n}")) for n in range(40)}
    assert len(others) == 6


PAIRS = """\
items: {document: source}
questions:
- {name: better, text: Which summary, scale: preference, options: [gpt, llama], show: [article]}
"""


def _pairs(documents: int, each: int) -> str:
    rows = [f"d{d}p{n},doc{d},article {d},gpt {d}.{n},llama {d}.{n}" for d in range(documents) for n in range(each)]
    return "item,source,article,gpt,llama\n" + "\n".join(rows) + "\n"


def test_all_pairs_of_a_source_text_on_one_page_with_the_text_once(site):
    made = site("together: true\noverlap: 2", questions=PAIRS, items=_pairs(3, 5))
    held = made.hold("ana")
    (page,) = pages_of(made.design, made.person("ana"), held.pages)
    assert len(page.tasks) == 5
    assert [field.title for field in page.shared] == ["article"]
    assert all(task.fields == () for task in page.tasks)
    assert len({made.item_of(task)[:2] for task in page.tasks}) == 1


@pytest.mark.slow
def test_sides_are_randomised_stored_and_reversed(site):
    made = site("", questions=PAIRS, items=_pairs(20, 2))
    sides = []
    while (held := made.hold("ana")).pages:
        (task,) = made.tasks("ana", held.pages)
        left = task.questions[0].choices[0].field.text
        sides.append(left.split()[0])
        made.answer("ana", task, "first")
        (shown,) = made.tasks("ana", held.pages)
        assert shown.questions[0].given == '"first"'
    assert 8 < Counter(sides)["gpt"] < 32
    table = stored_annotations(made.store)
    # Left was always chosen: the label identifies the text on the left.
    assert Counter(table.labels["label"]) == {-1: Counter(sides)["gpt"], 1: Counter(sides)["llama"]}
    assert set(table.column("position")) == {1}


TRIPLETS = "questions: [{name: odd, text: Which is different, scale: odd-one-out, options: [idea]}]\n"


@pytest.mark.slow
def test_triplets_are_drawn_until_every_pair_was_seen(site):
    items = "item,idea\n" + "".join(f"i{n},idea {n}\n" for n in range(7))
    made = site("pairs: 2", questions=TRIPLETS, items=items)
    drawn = [made.work(name, "A", most=9) for name in ("ana", "ben", "chi")]
    triplets = [tuple(name.split(" | ")) for name in itertools.chain(*drawn)]
    assert len(triplets) == len(set(triplets))
    pairs = Counter(pair for one in triplets for pair in itertools.combinations(one, 2))
    assert len(pairs) == 21
    assert min(pairs.values()) == 2
    assert max(pairs.values()) <= 4
    assert made.hold("ana").end.kind == "done"
    table = stored_annotations(made.store)
    assert len(table.labels) == len(triplets)
    assert {"first", "second", "third", "first_item", "second_item", "third_item"} <= set(table.items.columns)
    assert set(table.labels["label"]) <= {"A", "B", "C"}


@pytest.mark.slow
def test_triplets_follow_overlap(site):
    items = "item,idea\n" + "".join(f"i{n},idea {n}\n" for n in range(5))
    made = site("pairs: 1\noverlap: 2", questions=TRIPLETS, items=items)
    had = [made.work(name, "B") for name in ("ana", "ben", "chi")]
    assert set(Counter(itertools.chain(*had)).values()) == {2}


def test_judges_get_the_triplets_of_the_annotators(site):
    pytest.importorskip("aiohttp", reason='judges need the extra "judge"')
    from assay.judging.plan import Plan

    items = "item,idea\n" + "".join(f"i{n},idea {n}\n" for n in range(5))
    judge = "judges: [{name: m, provider: recorded, file: replies.jsonl}]\n"
    made = site("pairs: 1", questions=TRIPLETS + judge, items=items)
    assert list(Plan(made.study, made.store).assignments()) == []
    drawn = made.work("ana", "A")
    asked = list(Plan(made.study, made.store).assignments())
    assert [one.item for one in asked] == drawn
    assert all(sorted(one.shown["order"]) == ["first", "second", "third"] for one in asked)


@given(st.integers(3, 9), st.integers(1, 4), st.integers(0, 2**32))
def test_pairs_differ_by_at_most_one_round(n, wanted, seed):
    chance = random.Random(seed)
    counts = PairCounts([f"i{k}" for k in range(n)])
    while counts.least() < wanted and (triplet := counts.next(chance)) is not None:
        assert triplet not in counts.drawn
        drawn_least = min(counts.seen)
        pairs = [
            counts.counts[counts.names.index(a), counts.names.index(b)] for a, b in itertools.combinations(triplet, 2)
        ]
        # A pair that was seen least is in it, unless all its triplets have been drawn.
        assert min(pairs) == drawn_least or n - 2 == drawn_least
        counts.add(triplet)
    assert counts.least() >= min(wanted, n - 2)


def test_triplets_stay_within_their_document():
    pools = {"one": ["a", "b", "c", "d"], "two": ["p", "q", "r"], "small": ["x", "y"]}
    sampler, chance = Sampler(pools, wanted=1), random.Random(3)
    drawn = []
    while (triplet := sampler.next(chance)) is not None:
        sampler.add([triplet])
        drawn.append(triplet)
    assert ("p", "q", "r") in drawn
    assert all(any(set(one) <= set(pool) for pool in pools.values()) for one in drawn)
    assert sampler.short() == 0


@pytest.mark.slow
def test_overlap_is_exact_with_simultaneous_annotators(tmp_path, url):
    made = Site(tmp_path / "study", "overlap: 3", items=12, url=url)
    names = [f"p{n}" for n in range(9)]
    for name in names:
        made.person(name)
    failed: list[BaseException] = []

    def work(name: str) -> None:
        try:
            made.work(name)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    labels = stored_annotations(made.store).labels
    assert set(Counter(labels["item"]).values()) == {3}
    assert len(labels) == len(labels.unique(["item", "annotator"])) == 36
    made.store.close()


@pytest.mark.parametrize(
    ("people", "questions", "items", "words"),
    [
        ("", STARS, "item,review,writer\na,b,c\n", "requires 'show', the columns that people see, .*review, writer"),
        ("", PAIRS.replace("article]", "artikel]"), _pairs(1, 1), "shows the column 'artikel', which no item has"),
        ("together: true", STARS, 3, "together: requires items.document"),
        ("overlap: {a: {}}", STARS, 3, "people.overlap: must be at least 1"),
        ("overlap: 0", STARS, 3, "people.overlap: must be at least 1"),
        ("", STARS.replace("1-5}", "1-5, keys: {1: s}}"), 3, "'s' skips on every page; choose another letter"),
        ("", STARS.replace("1-5}", "'nominal:yes,no', keys: {yes: y, no: Y}}"), 3, "'Y' is already the key of 'yes'"),
        ("", STARS.replace("1-5}", "'nominal:yes,no', keys: {yes: yy}}"), 3, "'yy' is not one letter"),
        ("", STARS.replace("1-5}", "'nominal:yes,no', keys: {maybe: m}}"), 3, "label 'maybe' is not in the scale"),
        (
            "",
            TRIPLETS.replace("}]", "}, {name: b, text: c, scale: odd-one-out, options: [lang]}]"),
            3,
            "names 'lang', and 'odd' draws from 'idea'; a study draws pairs and triplets from one column",
        ),
        (
            "",
            "items: {images: [photo]}\n" + STARS,
            "item,photo\na,https://example.org/a.png\n",
            "is on another host",
        ),
        (
            "",
            "conditions: {scale: ['interval:0-5']}\nquestions: [{name: why, text: Why, scale: text}]\n",
            3,
            "'why'.* is not answered with a number|why is not answered with a number",
        ),
    ],
)  # fmt: skip
def test_invalid_study_is_refused_with_message(tmp_path, people, questions, items, words):
    with pytest.raises(StudyError, match=words):
        Site(tmp_path / "study", people, questions=questions, items=items)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            "item,review,stars\nc1,choose,9\n",
            "item 'c1': '9' is not a label of 'stars', which must be a whole number from 1 to 5",
        ),
        ("item,review\nc1,choose\n", "item 'c1' has no known answer; give it in a column named as its question"),
        ("item,review,stars\nr01,choose,1\n", "'?r01'? is in two of the files of items"),
    ],
)
def test_checks_without_a_fitting_answer_are_refused(tmp_path, table, words):
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "checks.csv").write_text(table)
    with pytest.raises(StudyError, match=words):
        Site(tmp_path / "study", "checks: {file: checks.csv}")


# -- the parts of it, by hand -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "taken", "wanted", "best"),
    [
        ([["a"], ["b"], ["c"]], {"a": 1, "b": 0, "c": 0}, 2, ["b"]),
        ([["a"], ["b"]], {"a": 1, "b": 1}, 2, ["a"]),
        ([["a"], ["b"]], {"a": 2, "b": 2}, 2, None),
        ([["a", "b"], ["c", "d"]], {"a": 2, "b": 1, "c": 1, "d": 0}, 2, ["c", "d"]),  # 1 compared with .5
        ([["a", "b"], ["c", "d"]], {"a": 0, "b": 2, "c": 0, "d": 0}, 2, ["a"]),
        ([["a"], ["b"]], {"b": 1}, 2, ["b"]),  # an uncounted item has no place
        ([], {}, 2, None),
    ],
)
def test_neediest_group_has_fewest_answers(groups, taken, wanted, best):
    assert assignment.neediest_group(groups, taken, wanted) == best


@pytest.mark.parametrize(("wanted", "together"), [(1, 400), (10, 400), (50, 80), (400, 20)])
def test_window_limits_items_counted_together(site, monkeypatch, wanted, together):
    assigner, seen = site(items=1).assigner, []
    (session,) = assigner.design.sessions("ana")
    slot, part = assigner.slot(session, ""), session.part
    monkeypatch.setattr(assigner.design, "overlap", lambda party: wanted)
    monkeypatch.setattr(assignment, "places_taken", lambda db, slot, names, now: seen.append(len(names)) or {})
    assert assigner.free(None, part, ([f"r{n}"] for n in range(1000)), set(), slot, 0.0, {}) == ["r0"]
    monkeypatch.setattr(assignment, "places_taken", lambda db, slot, names, now: dict.fromkeys(names, wanted))
    full = []
    monkeypatch.setattr(assignment, "answered_enough", lambda db, slot, names, of: full.append((len(names), of)) or [])
    assert assigner.free(None, part, ([f"r{n}"] for n in range(1000)), {"r0"}, slot, 0.0, {}) is None
    assert seen == [together]
    assert full == [(together, wanted)] * (999 // together) + [(999 % together, wanted)]


def test_full_items_are_counted_again_after_a_minute(site):
    assigner = site(items=1).assigner
    assigner._full_items("slot", 100.0).add("r0")
    assert assigner._full_items("slot", 160.0) == {"r0"}
    assert assigner._full_items("other", 160.0) == set()
    assert assigner._full_items("slot", 160.1) == set()
    assigner._full_items("slot", 161.0).add("r1")
    assert assigner._full_items("slot", 220.0) == {"r1"}


def test_disagreements_are_updated_every_ten_seconds(site, monkeypatch):
    assigner, looked = site(items=1).assigner, []
    for name in ("label_frame", "all_people"):
        monkeypatch.setattr(assignment, name, lambda db: ())
    monkeypatch.setattr(assignment, "left_out", lambda people: ())
    monkeypatch.setattr(
        assignment, "disputed_items", lambda *_: looked.append(1) or ({"r0": 1.0} if looked[1:] else {})
    )
    (session,) = assigner.design.sessions("ana")
    found = [(assigner.find_disputed(None, session, at), len(looked)) for at in (100.0, 101.0, 111.0, 111.1, 121.2)]
    assert found == [([], 1), (["r0"], 2), (["r0"], 2), (["r0"], 3), (["r0"], 4)]


def test_reservation_is_renewed_after_a_tenth_of_its_time(site, clock):
    made = site("overlap: 1", items=1)

    def until() -> float:
        made.hold("ana")
        with made.store.reading() as db:
            (task,) = people.tasks_of(db, "ana")
            return task.expires_at - clock.at

    assert until() == 1800
    clock.at += 179
    assert until() == 1621
    clock.at += 2
    assert until() == 1800


@pytest.mark.parametrize(
    ("spec", "labels"),
    [
        ("1-5", {"a": [1, 5, 3], "b": [2, 2], "c": [4], "d": [1, 1, 1, 2]}),
        ("interval", {"a": [10, 40], "b": [20, 20, 30]}),
        ("nominal:x,y,z", {"a": ["x", "y", "z"], "b": ["x", "x", "y"], "c": ["z"], "d": ["y", "y"]}),
        ("interval", {"a": [3, 3], "b": [3, 3]}),
    ],
)
def test_disagreement_agrees_with_slow_reference(spec, labels):
    scale = parse_scale(spec)
    rows = [(item, json.dumps(label)) for item, given in labels.items() for label in given]
    found = assignment.mean_distances(scale, pl.DataFrame(rows, schema=["item", "label"], orient="row"))
    every = [label for given in labels.values() for label in given]
    low, high = scale.bounds or (min(every), max(every)) if scale.numeric else (0, 0)

    def apart(one, two):
        return abs(one - two) / (high - low) if high > low else float(one != two)

    wanted = {
        item: sum(apart(*pair) for pair in itertools.combinations(given, 2)) / (len(given) * (len(given) - 1) / 2)
        for item, given in labels.items()
        if len(given) > 1
    }
    assert found == pytest.approx(wanted)


def test_median_minutes_per_item(site):
    made = site("order: fixed", items=4)

    def minutes(*seconds: float) -> dict[str, float]:
        (task,) = made.tasks("ana", made.hold("ana").pages)
        made.answer("ana", task, seconds=seconds[0])
        log = WorkLog()
        with made.store.reading() as db:
            log.update(db)
        return log.minutes_by_person([q.id for q in made.design.questions])

    assert minutes(30) == {"ana": 0.5}
    assert minutes(600) == {"ana": pytest.approx(5.25)}  # between the two
    assert minutes(60) == {"ana": 1.0}
    assert minutes(90) == {"ana": pytest.approx(1.25)}


def test_turn_uses_the_clock_of_the_store(site, clock):
    made = site(items=1)
    assert work.seconds_since(made.store, clock.at - 12.5) == 12.5


def test_triplet_has_shared_and_shown_fields(site):
    items = "item,review,doc,lang,mood\n" + "".join(f"r{n},text {n},d,en,{'abc'[n]}\n" for n in range(3))
    questions = "questions: [{name: odd, text: Which, scale: odd-one-out, options: [review], show: [mood]}]\n"
    questions += "items: {file: items.csv, document: doc}\n"
    made = site(items=items, questions=questions)
    drawer = made.assigner.drawing._drawer
    of = {item.name: item for item, _ in store_items(made.store)}
    drawer._shown = {"mood"}
    three = drawer._item(["r2", "r0", "r1"], of)
    assert three.document == "d"
    assert three.fields["lang"] == "en"
    assert three.fields["mood"] == {"first": "c", "second": "a", "third": "b"}
    assert [three.fields[place] for place in ("first", "second", "third")] == ["text 2", "text 0", "text 1"]
    drawer._shown = set()
    two = drawer._item(["r1", "r0"], of)
    assert "mood" not in two.fields
    assert ("second" in two.fields, "third" in two.fields) == (True, False)


def test_added_questions_are_asked_alone_about_answered_items() -> None:
    def task(item: str, questions: tuple[int, ...], **more: Any) -> SimpleNamespace:
        usual = {"item": item, "questions": questions, "role": "item", "state": "answered", "repeat": 1}
        return SimpleNamespace(**({"condition": "{}"} | usual | more))

    def design(*counted: tuple[int, ...], added: str = "ask-again") -> SimpleNamespace:
        def missing(had: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
            there = set(itertools.chain(*had))
            return tuple(one for one in counted[-1] if one not in there)

        return SimpleNamespace(people=SimpleNamespace(after_change=added), counted=counted, missing_questions=missing)

    mine = [
        task("a", (1,)), task("b", (1, 2)), task("c", (1,), state="open"), task("d", (1,)),
        task("d", (2,), role=ADDED, state="open"), task("e", (9,)), task("a", (1,), repeat=2),
    ]  # fmt: skip
    assert [(one.item, more) for one, more in additions(design((1,), (1, 2)), mine)] == [("a", (2,))]
    assert additions(design((1, 2)), mine) == []  # nothing was added
    assert additions(design((1,), (1, 2), added="keep"), mine) == []


@pytest.mark.parametrize(
    ("counted", "expected", "role", "wanted"),
    [
        ([(1,)], 5, "annotator", (3, 5)),  # a single set of questions, without additions
        ([(1,), (1, 2)], 5, "annotator", (5, 9)),  # 3 items and 2 of 3 additions; 5, those 3 and one that is due
        ([(1,)], 2, "annotator", (3, 3)),  # more than expected: the total is never below the number done
        ([(1,), (1, 2)], None, "annotator", (3, None)),
        ([(1,), (1, 2)], 5, "adjudicator", (3, None)),
    ],
)
def test_progress_counts_added_questions_if_total_is_known(monkeypatch, counted, expected, role, wanted) -> None:
    def task(item: str, questions: tuple[int, ...], role: str = "item", state: str = "answered") -> SimpleNamespace:
        return SimpleNamespace(item=item, questions=questions, role=role, state=state, repeat=1, condition="{}")

    mine = [
        task("a", (1,)), task("b", (1,)), task("b", (2,), ADDED), task("c", (1,), state="skipped"),
        task("c", (2,), ADDED, "skipped"), task("d", (1, 2), state="given"), task("d", (2,), ADDED, "given"),
    ]  # fmt: skip
    monkeypatch.setattr(assignment, "states_of", lambda *about: {"answered": 2, "skipped": 1, "given": 1})
    monkeypatch.setattr(assignment, "tasks_of", lambda db, name: mine)
    design = SimpleNamespace(
        counted=counted,
        people=SimpleNamespace(after_change="ask-again", group="role"),
        party=lambda attributes: "",
        expected_tasks=lambda party: expected,
        missing_questions=lambda had: tuple({1, 2} - set(itertools.chain(*had))),
    )
    person = SimpleNamespace(name="ana", role=role, attributes={})
    design.part_of = lambda numbers: design
    monkeypatch.setattr(assignment.json, "loads", lambda numbers: numbers)
    found = progress(design, None, person, SimpleNamespace(condition="{}", part=design))
    assert (found["done"], found["total"]) == wanted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("people", "overlap", "wanted"),
    [
        (("ana", "ben"), 2, (0, 12, False)),  # everyone answers all items
        (("ana", "ben"), 3, (0, 12, False)),
        (("ana", "ben", "cem", "dan", "eva"), 2, (0, 5, True)),  # 24 answers of 5 annotators
    ],
)
def test_total_of_a_study_with_overlap_is_an_equal_share(serve, people, overlap, wanted) -> None:
    page = serve(who=people, people={"overlap": overlap})
    with page.store.reading() as db:
        session, person = page.design.sessions("ana")[0], find(db, "ana")
        found = progress(page.design, db, person, session)
    assert (found["done"], found["total"], found["about"]) == wanted
    text = page.annotator("ana").send("GET", "/work").text
    assert ("0 of about 5" if wanted[2] else "0 of 12") in text
    if not wanted[2]:
        return
    page.lead().form("/lead/people/state", name="eva", state="paused")
    with page.store.reading() as db:
        assert progress(page.design, db, person, session)["total"] == 6


@pytest.mark.parametrize(
    ("answered", "added", "words"),
    [
        # 3 items without why, of which 2 were asked it since; tone was asked with all
        ([("[1, 3]", "item", 3), ("[1, 2, 3]", "item", 4), ("[2]", ADDED, 2)], "keep", "'why' (1 answer)"),
        ([("[1]", "item", 3), ("[1, 2]", "triplet", 4)], "keep", "'why' (3 answers), 'tone' (7 answers)"),
        ([("[1, 3]", "item", 3)], "ask-again", "'why' (3 answers)"),
        ([("[1, 3]", "item", 3), ("[2]", ADDED, 3)], "keep", ""),
        ([("[1, 2, 3]", "item", 3)], "ask-again", ""),
    ],
)
def test_additions_words_report_added_questions(monkeypatch, answered, added, words) -> None:
    monkeypatch.setattr(assignment, "answered_with", lambda db, counted: answered)
    questions = [
        SimpleNamespace(id=n, definition=SimpleNamespace(name=name))
        for n, name in enumerate(("stars", "why", "tone"), 1)
    ]
    part = SimpleNamespace(questions=questions, counted=("old", "new"))
    design = SimpleNamespace(parts=[part], people=SimpleNamespace(after_change=added))
    rest = {
        "ask-again": "The annotators of these items receive the added questions only.",
        "keep": "To ask the annotators of these items, set 'after_change: ask-again' under people:.",
    }[added]
    said = f"Questions added later, not part of earlier answers: {words}. {rest}" if words else ""
    assert additions_words(design, None) == said
    part.counted = ("new",)
    assert additions_words(design, None) == ""


@pytest.mark.parametrize(
    ("passing", "right", "reason"),
    [
        (0.75, [True, True, True, False], None),  # 3 of 4 are just enough
        (0.75, [True, True, False, False], "answered 2 of 4 practice items correctly"),
        (0.75, [False, False, False], None),  # not over yet
        (None, [False, False, False, False], None),
        (1.0, [True, True, True, True], None),
    ],
)
def test_stop_reasons_after_practice(monkeypatch, passing, right, reason) -> None:
    monkeypatch.setattr(assignment, "known_items", lambda store, role: dict.fromkeys("abcd"))
    wrong = {"warm-up": {"ana": [not one for one in right]}, "check": {"ben": [True, True, False]}}
    graded = {"ana": {(item, "{}", 1): not one for item, one in zip("abcd", right, strict=False)}}
    monkeypatch.setattr(assignment, "_wrong_answers", lambda design, db, role, person: wrong[role])
    monkeypatch.setattr(assignment, "_graded", lambda design, db, role, person: graded)
    checks = SimpleNamespace(has_limit=False, too_many=lambda failed, of: failed > 1)
    design = SimpleNamespace(people=SimpleNamespace(practice_share=passing, checks=checks, tries=1), store=None)
    design.people.asked = lambda stage: ()
    mine = {} if reason is None else {"ana": reason}
    assert assignment.stop_reasons(design, None) == mine
    checks.has_limit = True
    assert assignment.stop_reasons(design, None) == {"ben": "failed 2 of 3 attention checks"} | mine
    wrong["check"]["ben"] = [True, False, False]
    assert assignment.stop_reasons(design, None) == mine


class TurnOf:
    """One person's turn with artificial tasks; assignments are recorded instead of written."""

    def __init__(self, *tasks: SimpleNamespace, **people: Any) -> None:
        usual = {"retest": 0, "checks": None, "practice_share": None, "seed": 0, "quota": None}
        self.people, self.design = (
            SimpleNamespace(**usual | people),
            SimpleNamespace(counted=((1,),), overlap=lambda _: 2, people=SimpleNamespace(asked=lambda stage: ())),
        )
        self.part = SimpleNamespace(counted=((1,),), is_checked=True, drawn_from=None)
        self.design.parts = (self.part,)
        self.mine, self.person = list(tasks), SimpleNamespace(name="ana", role="annotator")
        self.known = {"check": ["c1", "c2"], "warm-up": ["w1", "w2"]}
        self.assigner = SimpleNamespace(known=self.known, has_place=lambda db, task, now: task.item == "free")
        self.now, self.db, self.given = 100.0, None, []
        self.session = SimpleNamespace(number=1, condition="{}", part=self.part)

    def __getattr__(self, name: str) -> Any:
        return getattr(assignment.AssignmentTurn, name).__get__(self)

    def _add(self, session: Any, names: list[str], role: str, repeat: int, questions: str | None = None) -> int:
        self.given.append((names, role, repeat))
        return 7

    def _current(self, task: SimpleNamespace) -> bool:
        return task.questions in self.design.counted


def task_of(item: str, page: int = 1, **more: Any) -> SimpleNamespace:
    usual = {"role": "item", "state": "answered", "repeat": 1, "condition": "{}", "questions": (1,), "expires_at": 0.0}
    return SimpleNamespace(item=item, page=page, id=page, **usual | more)


@pytest.mark.parametrize(
    ("n_items", "more", "gap", "given"),
    [
        (7, {}, 3, ["i4"]),  # a share of a quarter repeats the fourth, with three others in between
        (7, {}, 4, None),
        (8, {}, 0, ["i4"]),
        (3, {}, 0, None),
        (8, {"again": "i4"}, 0, ["i8"]),
        (8, {"again": "i4"}, 1, None),
        (8, {"open": "i4"}, 0, ["i8"]),
        (8, {"retest": 0}, 0, None),
    ],
)
def test_repeat_item_chooses_the_repeated_item(n_items, more, gap, given):
    items = [task_of(f"i{n}", n, state="given" if more.get("open") == f"i{n}" else "answered")
             for n in range(1, n_items + 1)]  # fmt: skip
    again = [task_of(more["again"], 20, repeat=2)] if "again" in more else []
    turn = TurnOf(*items, *again, retest=more.get("retest", 0.25))
    assert turn._repeat_item(turn.session, turn.mine, items, gap) == (None if given is None else 7)
    assert turn.given == ([] if given is None else [(given, "item", 2)])


@pytest.mark.parametrize(
    ("n_items", "had", "is_given"),
    [(9, [], False), (10, [], True), (19, ["c1"], False), (20, ["c1"], True), (99, ["c1", "c2"], False)],
)
def test_check_is_assigned_after_every_n_items(n_items, had, is_given):
    items = [task_of(f"i{n}") for n in range(n_items)]
    turn = TurnOf(*items, *(task_of(name, role="check") for name in had), checks=SimpleNamespace(every=10))
    assert (turn._check(turn.session, turn.mine, items) == 7) == is_given
    for names, role, repeat in turn.given:
        assert (len(names), role, repeat) == (1, "check", 1)
        assert names[0] in {"c1", "c2"}.difference(had)
    turn.people.checks = None
    assert turn._check(turn.session, turn.mine, items) is None


def test_practice_is_first_and_only_in_the_first_session():
    turn = TurnOf(task_of("w1", role="warm-up"))
    assert turn._warm_up(turn.session, turn.mine) == 7
    assert turn.given == [(["w2"], "warm-up", 1)]
    assert turn._warm_up(turn.session, [*turn.mine, task_of("w2", role="warm-up")]) is None
    assert turn._warm_up(SimpleNamespace(number=2, part=turn.part), []) is None


@pytest.mark.parametrize(("passing", "state", "waits"), [
    (0.5, "given", True), (0.5, "reopened", True), (0.5, "answered", False), (None, "given", False), (0, "given", True),
])  # fmt: skip
def test_required_practice_precedes_all_other_items(passing, state, waits):
    turn = TurnOf(practice_share=passing)
    assert turn._practises([task_of("w1", role="warm-up", state=state)]) == waits
    assert not turn._practises([task_of("i1", state="given")])


@pytest.mark.parametrize(
    ("state", "expires", "item", "keeps"),
    [
        ("given", 100.1, "taken", True), ("given", 100.0, "taken", False), ("given", 100.0, "free", True),
        ("reopened", 0.0, "taken", True), ("answered", 0.0, "taken", True),
    ],
)  # fmt: skip
def test_reservation_ends_at_expiry_or_deadline(state, expires, item, keeps):
    assert TurnOf()._keeps_place(task_of(item, state=state, expires_at=expires)) == keeps


def test_held_pages_are_renewed(monkeypatch):
    renewed = []
    monkeypatch.setattr(
        assignment, "renew", lambda db, ids, until, *, older_than: renewed.append((ids, until, older_than))
    )
    tasks = [
        task_of("taken", 1, state="given", expires_at=500.0), task_of("taken", 2, state="given", expires_at=500.0),
        task_of("taken", 3, state="given", expires_at=99.0),  # expired, and its place belongs to someone else
        task_of("free", 4, state="given", expires_at=99.0), task_of("taken", 5, state="reopened"),
        task_of("taken", 6), task_of("taken", 7, state="given", expires_at=500.0, questions=(9,)),
        task_of("taken", 8, state="given", expires_at=500.0),
    ]  # fmt: skip
    turn = TurnOf(*tasks)
    turn._reserved_until = 1900.0
    assert turn._renew_held(1, 3) == [2, 4, 5]
    # Half an hour from second 100 on; a reservation is renewed after a tenth of it.
    assert renewed == [([2, 4, 5], 1900.0, 100 + 0.9 * 1800)]
    assert turn._renew_held(0, 10) == [1, 2, 4, 5, 8]
    assert turn._renew_held(8, 10) == []
    assert len(renewed) == 2


ONE, TWO = '{"scale":"1-5"}', '{"scale":"0-100"}'


@pytest.mark.parametrize(
    ("tasks", "now_in", "end", "closed"),
    [
        ([], ONE, None, 0),
        ([(1, "a", ONE, 1), (2, "b", ONE, 1)], ONE, None, 0),
        ([(1, "a", ONE, 1), (2, "b", ONE, 1), (3, "a", TWO, 1)], TWO, None, 2),
        ([(1, "a", ONE, 1), (2, "b", ONE, 1), (3, "a", TWO, 1), (4, "c", ONE, 1)], TWO, None, 2),  # added afterwards
        ([(1, "a", ONE, 1), (2, "b", ONE, 1)], TWO, None, 0),  # none of it was assigned yet
        ([(1, "a", ONE, 1), (2, "b", ONE, 1)], ONE, "later", 2),  # until the next session opens
        ([(1, "a", ONE, 1), (2, "b", ONE, 1)], ONE, "done", 0),
        ([(1, "a", ONE, 1), (2, "b", ONE, 1), (3, "c", ONE, 1), (4, "b", ONE, 2)], ONE, None, 2),  # b came again
        ([(1, "a", ONE, 1), (2, "b", ONE, 1), (3, "b", TWO, 2)], ONE, None, 0),  # but on another scale
    ],
)
def test_last_closed_page(tasks, now_in, end, closed):
    turn = TurnOf(*(task_of(item, page, condition=on, repeat=repeat) for page, item, on, repeat in tasks))
    session = SimpleNamespace(condition=now_in, part=turn.part)
    held = SimpleNamespace(end=None if end is None else SimpleNamespace(kind=end), session=session)
    assert turn._last_closed_page(held) == closed


def holding(monkeypatch, *tasks: SimpleNamespace, gives: Iterable[Any] = (), sessions: int = 1, **more: Any) -> TurnOf:
    """A turn that assigns pages one after the other, or ends as named; at second 100."""
    monkeypatch.setattr(assignment, "stop_reasons", lambda *about: more.get("stopped", {}))
    monkeypatch.setattr(assignment, "free_places_of", lambda db, name, now: None)
    turn = TurnOf(*tasks, ahead=4, days_apart=more.get("days_apart", 0))
    conditions = ("{}",) if sessions == 1 else (ONE, TWO)
    each = [SimpleNamespace(number=n, condition=one, part=turn.part) for n, one in enumerate(conditions, 1)]
    turn.design.sessions = lambda name: each
    turn.deadline, turn.person.state = more.get("deadline"), more.get("state", "active")
    turn.assigner.store = SimpleNamespace(setting=lambda name: more.get("paused"))
    given = iter(gives)

    def give(session: SimpleNamespace) -> tuple[int | None, assignment.End | None]:
        turn.given.append(session.number)
        one = next(given)
        return (one, None) if isinstance(one, int) else (None, one and assignment.End(one))

    turn._give, turn._renew_held = give, lambda after, most: list(more.get("held", ()))[:most]
    return turn


@pytest.mark.parametrize(
    ("n_open", "after", "most", "n_pages"),
    [
        (0, 0, 10, 5),  # the one that is answered, and four ahead
        (0, 0, 2, 2),
        (2, 3, 10, 3),  # two earlier open pages are two of them
        (2, 1, 10, 4),  # one of them
        (6, 9, 10, 1),  # one in any case
        (0, 0, 0, 1),
    ],
)
def test_number_of_pages_held(monkeypatch, n_open, after, most, n_pages):
    tasks = [task_of("taken", n, state="given", expires_at=500.0) for n in range(1, n_open + 1)]
    tasks += [task_of("taken", n, state="given") for n in range(1, 4)] if not n_open else []  # whose time is over
    turn = holding(monkeypatch, *tasks, gives=itertools.count(50))
    for one in tasks:
        one.session = 1
    found = turn._hold(after, most)
    assert found.pages == tuple(range(50, 50 + n_pages))
    assert found.end is None


@pytest.mark.parametrize(
    ("more", "pages", "end"),
    [
        ({"gives": ["done"]}, (), ("done", None)),
        ({"gives": [50, "done"]}, (50,), None),
        ({"gives": [None]}, (), None),  # not before open tasks are answered
        ({"gives": ["empty"]}, (), ("empty", None)),
        ({"held": [3, 4], "gives": ["done"]}, (3, 4), None),
        ({"paused": True}, (), ("paused", None)),
        ({"state": "paused"}, (), ("paused", None)),
        ({"stopped": {"ana": "failed 2 of 3 attention checks"}}, (), ("stopped", None)),
        ({"deadline": 100.0, "paused": True}, (), ("over", 100.0)),
        ({"deadline": 100.1, "gives": ["done"]}, (), ("done", None)),
    ],
)
def test_end_reasons(monkeypatch, more, pages, end):
    found = holding(monkeypatch, **more)._hold(0, 5)
    assert found.pages == pages
    assert (None if found.end is None else (found.end.kind, found.end.opens_at)) == end


@pytest.mark.parametrize(
    ("closed_at", "days", "number", "end"),
    [
        (40.0, 0, 2, None),
        (100.0 - DAY, 1, 2, None),  # a day ago, to the second
        (101.0 - DAY, 1, 1, ("later", 101.0)),
        (None, 0.5, 1, ("later", 100.0 + 43_200)),  # for a session without answers, from now on
    ],
)
def test_next_session_opens_after_days_apart(monkeypatch, closed_at, days, number, end):
    tasks = [task_of("a", 1, session=1, closed_at=closed_at, condition=ONE)]
    tasks += [task_of("b", 2, session=1, closed_at=closed_at and closed_at - 30, condition=ONE)]
    turn = holding(monkeypatch, *tasks, gives=["done", 50, None], sessions=2, days_apart=days)
    found = turn._hold(0, 5)
    assert found.session.number == number
    assert (None if found.end is None else (found.end.kind, found.end.opens_at)) == end
    assert found.pages == ((50,) if number == 2 else ())
    assert turn.given == ([1] if number == 1 else [1, 2, 2])


def test_last_session_ends_the_study(monkeypatch):
    task = task_of("a", 1, session=2, closed_at=0.0, condition=TWO)
    found = holding(monkeypatch, task, gives=["done"], sessions=2)._hold(0, 5)
    assert (found.session.number, found.end.kind) == (2, "done")


@pytest.mark.slow
def test_hold_recounts_places_after_a_fiftieth_of_the_empty_ones(site, monkeypatch):
    made = site("overlap: 2\nquota: 20", items=100)  # 200 places for ten people: with 1 pair, never few enough
    for name in "abcdefghij":
        made.person(name)
    monkeypatch.setattr(assignment, "MOST_PAIRS", 1)
    counted, given = [], 0
    real = assignment.all_places_taken
    monkeypatch.setattr(assignment, "all_places_taken", lambda *about: counted.append(given) or real(*about))
    for name in "abcdefghijabcd":
        for task in made.tasks(name, made.hold(name).pages):
            made.answer(name, task)
        given += 1
    # A fiftieth of 200 is 4, of 196, 193 and 190 it is 3.
    assert counted == [0, 4, 7, 10, 13]


def test_disputed_items_are_sorted_by_disagreement_then_name(monkeypatch):
    """Each item has the distance of the question with the largest disagreement."""
    frame = pl.DataFrame({"item": ["x"] * 3, "condition": ["{}", "{}", '{"scale": "1-9"}']})
    monkeypatch.setattr(assignment, "first_labels", lambda labels, question, without: frame)
    distances = {"1-5": {"b": 0.25, "a": 0.25, "c": 0.0, "d": 0.5}, "1-7": {"b": 0.1, "c": 0.0, "e": 1.0, "d": 0.75}}
    asked = []

    def distance(scale, given):
        asked.append((scale, given.height))
        return distances[f"1-{scale.bounds[1]:g}"] if scale.bounds[1] < 9 else {"z": 0.5}

    monkeypatch.setattr(assignment, "mean_distances", distance)
    questions = [
        SimpleNamespace(id=n, definition=SimpleNamespace(scale=s)) for n, s in enumerate(["1-5", "text", "1-7"])
    ]
    design = SimpleNamespace(questions=questions)
    found = assignment.disputed_items(design, frame, "{}", ())
    assert list(found.items()) == [("e", 1.0), ("d", 0.75), ("a", 0.25), ("b", 0.25)]
    assert asked == [(parse_scale("1-5"), 2), (parse_scale("1-7"), 2)]
    assert assignment.disputed_items(design, frame, '{"scale": "1-9"}', ()) == {"z": 0.5}
    assert asked[2:] == [(parse_scale("1-9"), 1)] * 3  # in a session with a scale, which applies to every question


@pytest.mark.parametrize(
    ("places", "room", "had", "safe"),
    [
        ({"a": 1, "b": 1}, {"ana": 1}, {}, {"a", "b"}),
        ({"a": 0, "b": 1}, {"ana": 1}, {}, {"b"}),
        ({"a": 1, "b": 1}, {"ana": 0}, {}, set()),
        ({"a": 0}, {"ana": 1}, {}, set()),
        ({"a": 1}, {"ben": 1}, {}, set()),
        ({"a": 1, "b": 1}, {"ana": 1}, {"ana": {"a", "gone"}}, {"b"}),
        # ben has had a, so he can only receive b: ana must take a.
        ({"a": 1, "b": 1}, {"ana": 1, "ben": 1}, {"ben": {"a"}}, {"a"}),
        ({"a": 1, "b": 2}, {"ana": 1, "ben": 1}, {"ben": {"a"}}, {"a", "b"}),
        # ben and cem need b twice, and each of the three one place of the three: ana is left with a.
        ({"a": 1, "b": 2}, {"ana": 1, "ben": 1, "cem": 1}, {"ben": {"a"}, "cem": {"a"}}, {"a"}),
        ({"a": 1, "b": 1, "c": 1}, {"ana": 2, "ben": 1}, {"ben": {"a", "b"}}, {"a", "b"}),
    ],
)
def test_safe_items_keep_places_for_others(places, room, had, safe):
    assert OpenPlaces(places, room, had).safe_for("ana") == safe


@pytest.mark.parametrize(
    ("places", "room", "lapsed", "quota", "safe"),
    [
        # ben left a and can return to it; ana has room for one and takes b, which no one else can.
        ({"a": 1, "b": 1}, {"ana": 1}, {"ben": {"a"}}, None, {"b"}),
        ({"a": 1}, {"ana": 1}, {"ben": {"a"}}, None, {"a"}),
        ({"a": 1, "b": 1}, {"ana": 2}, {"ben": {"a"}}, None, {"a", "b"}),
        # A future person can receive two items, but neither twice: ana must take a, with two missing answers.
        ({"a": 2, "b": 1}, {"ana": 1}, {}, 2, {"a"}),
        ({"a": 2, "b": 1}, {"ana": 1}, {}, None, {"a", "b"}),  # no one comes
        ({"a": 1, "b": 1, "c": 1}, {"ana": 1}, {}, 2, {"a", "b", "c"}),
        # Of five answers ana gives one: two people are to come, so no item can have more than two missing after her.
        ({"a": 3, "b": 2}, {"ana": 1}, {}, 2, {"a"}),
    ],
)
def test_safe_items_keep_places_for_future_annotators(places, room, lapsed, quota, safe):
    assert OpenPlaces(places, room, {}, lapsed, quota).safe_for("ana") == safe


@pytest.mark.parametrize(
    ("places", "room", "lapsed", "most"),
    [
        ({"a": 1, "b": 1}, {"ana": 1}, {"ben": {"a"}}, 2),
        ({"a": 2, "b": 0}, {"ana": 0}, {"ben": {"a"}}, 1),  # b has no place, and ben alone can return to a
        ({"a": 2}, {}, {}, 0),
    ],
)
def test_most_filled_counts_expired_reservations(places, room, lapsed, most):
    assert OpenPlaces(places, room, {}, lapsed).most_filled() == most


def test_take_reduces_places_and_room():
    left = OpenPlaces({"a": 2, "b": 1}, {"ana": 3, "ben": 3}, {})
    left.take("ana", "a")
    left.take("ana", "b")
    assert (left.places, left.room, left.had) == ({"a": 1, "b": 0}, {"ana": 1, "ben": 3}, {"ana": {"a", "b"}})


@pytest.mark.parametrize(
    ("overlap", "old", "wanted", "found"),
    [(2, "t1", 2, "t1"), (2, None, 2, "new"), (0, None, 0, None), (1, None, 1, "new"), (None, None, 1, "new")],
)
def test_triplet_with_missing_answers_precedes_new_one(monkeypatch, overlap, old, wanted, found):
    asked = []
    monkeypatch.setattr(assignment, "triplet_in_need", lambda *given: asked.append(given[-2:]) or old)
    made = object.__new__(assignment.TripletAssigner)
    made.part = SimpleNamespace(design=SimpleNamespace(overlap=lambda party: overlap), counted=())
    made._drawer = SimpleNamespace(draw=lambda db: "new")
    assert made.next(None, "ana", "", 7.0) == found
    assert asked == [(wanted, 7.0)]


def test_people_of_a_group_who_can_still_answer(monkeypatch):
    """At second 40; eve has until second 50, and the deadline of fay is now."""

    def somebody(name, *, state="active", role="annotator", party="x"):
        return SimpleNamespace(name=name, state=state, role=role, attributes=party)

    here = [
        somebody("ana"), somebody("ben", state="paused"), somebody("chi", state="revoked"),
        somebody("dan", role="adjudicator"), somebody("eve"), somebody("fay"), somebody("gus", party="y"),
    ]  # fmt: skip
    monkeypatch.setattr(assignment, "all_people", lambda db: here)
    made = object.__new__(Assigner)
    made.store = SimpleNamespace(now=lambda db: 40.0)
    made.design = SimpleNamespace(
        deadline=lambda one: {"eve": 50.0, "fay": 40.0}.get(one.name), party=lambda attributes: attributes
    )
    assert made._people_of(None, "x") == {"ana", "ben", "eve"}


BOTH = {"ana": 3, "ben": 2}
"""Of a quota of four items, one is left to ana and two to ben."""


@pytest.mark.parametrize(
    ("given", "taken", "size", "most", "found"),
    [
        (BOTH, {"a": 2, "b": 1}, 1, 100, ({"b": 1, "c": 2, "d": 2}, {"ana": 1, "ben": 2})),
        ({"ana": 3, "ben": 1}, {"a": 1, "b": 2}, 2, 100, ({"ab": 1, "cd": 2}, {"ana": 1, "ben": 2})),
        ({"ana": 0}, {"a": 2, "b": 2}, 1, 100, None),  # a single person can take any free place
        # 8 answers are missing and ana has room for 4: another person is to come, who must find 4 items.
        ({"ana": 0}, {}, 1, 100, ({"a": 2, "b": 2, "c": 2, "d": 2}, {"ana": 4})),
        # 3 items with places times 3: ana, ben and a future person, as 5 answers are missing and they have room for 3
        (BOTH, {"a": 2, "b": 1}, 1, 9, ({"b": 1, "c": 2, "d": 2}, {"ana": 1, "ben": 2})),
        (BOTH, {"a": 2, "b": 1}, 1, 8, None),
        (BOTH, {"a": 2, "b": 2, "c": 2, "d": 2}, 1, 5, ({}, {"ana": 1, "ben": 2})),
    ],
)
def test_open_places_by_hand(monkeypatch, given, taken, size, most, found):
    """Four items, two on a page or each alone, are to have two answers; the quota is four items."""
    answers = {
        "newest_task": lambda db: 0, "count_given": lambda db, slot: given, "lapsed_tasks": lambda db, slot, now: [],
        "all_places_taken": lambda db, slot, now: taken, "items_had": lambda db, slot, lacking, room: [("ana", "b")],
    }  # fmt: skip
    for name, answer in answers.items():
        monkeypatch.setattr(assignment, name, answer)
    monkeypatch.setattr(assignment, "MOST_PAIRS", most)
    monkeypatch.setattr(Assigner, "_people_of", lambda self, db, party: set(given))
    made = object.__new__(Assigner)
    made._counted_for, made._empty = {}, {}
    made.design = SimpleNamespace(overlap=lambda party: 2, people=SimpleNamespace(quota=4))
    part = SimpleNamespace(
        names=list("abcd"), page_of=lambda item: item if size == 1 else "ab" if item in "ab" else "cd",
        page_size=size, drawn_from=None,
    )  # fmt: skip
    slot = assignment.Slot(("q",), "{}", "")
    left = made.rest(None, part, slot, 0.0)
    assert (left and (left.places, left.room)) == found
    assert left is None or left.had == {"ana": {part.page_of("b")}}
    for name, value in (("page_size", None), ("drawn_from", "idea")):
        assert made.rest(None, SimpleNamespace(**vars(part) | {name: value}), slot, 0.0) is None
    made.design.overlap = lambda party: 0
    assert made.rest(None, part, slot, 0.0) is None
    made.design.overlap, made.design.people.quota = (lambda party: 2), None
    assert made.rest(None, part, slot, 0.0) is None
