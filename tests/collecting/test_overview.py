"""The dashboard: counts by hand, remaining items, checks, remarks, agreement, and escaping of typed text."""

from __future__ import annotations

import contextlib
import json
import statistics
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

pytest.importorskip("sqlalchemy", reason='the page needs the extra "serve"')
pytest.importorskip("fastapi", reason='the page needs the extra "serve"')

import sqlalchemy as sa
from annotating import STARS, Annotator, Served

import assay
from assay.collecting.design import is_wrong
from assay.collecting.desk import overview
from assay.collecting.desk import overview as watching
from assay.collecting.desk.overview import Moment, Overview, Watch
from assay.data.scales import parse_scale
from assay.study import schema
from assay.study.store import tables, work_log
from assay.study.store.people import erase, set_state
from assay.study.store.table import stored_annotations
from assay.verdict.preregistration import Preregistration, count_look

CHECKS = [{"item": "c1", "text": "Press 5.", "stars": 5}, {"item": "c2", "text": "Press 1.", "stars": 1}]
FIXED = {"order": "fixed", "ahead": 1}


def look(page: Served) -> Overview:
    return Watch(page.design).look()


def item_of(page: Served, task: int) -> str:
    (row,) = page.rows(tables.tasks, tables.tasks.c.id == task)
    return str(row.item)


def minutes_of(page: Served) -> dict[str, float]:
    """Median minutes per item, by person, from the seconds of each save, summed by task."""
    a, s, i = tables.assignments.c, tables.answers.c, tables.items.c
    query = sa.select(a.annotator, a.item, a.condition, a.repeat, s.revision, s.seconds)
    query = query.select_from(tables.join(tables.EVERY, tables.items)).where(s.status == "valid", i.role == "item")
    with page.store.reading() as db:
        saves = {tuple(row) for row in db.execute(query.where(s.seconds.is_not(None)))}
    tasks: dict[str, dict[tuple[Any, ...], float]] = {}
    for person, *task, _revision, seconds in saves:
        mine = tasks.setdefault(person, {})
        mine[tuple(task)] = mine.get(tuple(task), 0) + seconds
    return {person: statistics.median(mine.values()) / 60 for person, mine in tasks.items()}


def work(page: Served, person: Annotator, labels: Mapping[str, Any], most: int = 1000) -> dict[str, int]:
    """Answer the items: every question with the label of its item, or with the item's own request body."""
    done: dict[str, int] = {}
    while len(done) < most:
        tasks, _ = person.pages()
        if not tasks:
            break
        for task in tasks[:1]:
            item = item_of(page, task.id)
            says = labels.get(item, 3)
            body = says if isinstance(says, dict) else {"label": says}
            rest = {name: value for name, value in body.items() if name != "label"}
            own = {} if "skip" in rest else {question.id: body["label"] for question in task.questions}
            assert person.answer(task, own, **rest).status == 200
            done[item] = task.id
    return done


@pytest.mark.slow
def test_overview_of_small_study_by_hand(serve: Any, url: str) -> None:
    page = serve(
        items=4,
        people={**FIXED, "overlap": 2, "checks": {"file": "checks.jsonl", "every": 2}},
        tables={"checks.jsonl": CHECKS},
        who={"ana": {"born in": "Lima"}, "ben": {}, "chi": {}},
        store=url,
    )
    wrong_on_2 = {
        **{"i000": {"label": 1, "seconds": 30}, "i001": {"label": 2, "seconds": 60}, "c1": 5, "c2": 4},
        "i002": {"skip": "I would rather not answer", "comment": "Half of it is missing", "seconds": 600},
        "i003": {"label": 4, "seconds": 90, "flag": "It is broken"},
    }
    hers = work(page, page.annotator("ana"), wrong_on_2)
    assert list(hers) in (["i000", "i001", "c1", "i002", "i003", "c2"], ["i000", "i001", "c2", "i002", "i003", "c1"])
    # ben receives the items with fewest answers: the item that ana skipped, then the first of the others.
    his = {"i002": {"label": 1, "seconds": 10}, "i000": {"label": 3, "seconds": 20}}
    assert list(work(page, page.annotator("ben"), his, most=2)) == ["i002", "i000"]
    found = look(page)

    # ana: 4 items and 2 checks, one of them skipped; 30, 60 and 90 seconds on what she answered: a minute.
    first, second, third = found.people
    assert (first.name, first.done, first.skipped, first.of) == ("ana", 6, 1, None)
    assert (first.attributes, first.state, first.consented) == ((("born in", "Lima"),), "active", None)
    assert (first.minutes, first.pace) == (pytest.approx(1.0), "60 s")
    assert (first.checks_failed, first.checks, first.flags) == (1, 2, 1)
    assert first.last is not None
    assert first.last.words == "just now"
    # ben: 10 and 20 seconds, so 15 on the median item.
    assert (second.done, second.skipped, second.checks, second.pace) == (2, 0, 0, "15 s")
    assert (third.done, third.last, third.minutes, third.pace) == (0, None, None, "")

    # 4 items twice: i000 is done, the others have one answer each; the skip is none.
    (short,) = found.short
    assert [(one.name, one.have, one.wanted) for one in short.first] == [("i001", 1, 2), ("i002", 1, 2), ("i003", 1, 2)]
    assert (short.items, short.answers, short.filled, short.wanted) == (3, 3, 5, 8)
    numbers = found.numbers
    assert (numbers.items, numbers.answered, numbers.skipped) == (4, 7, 1)
    assert (numbers.people, numbers.busy, numbers.filled, numbers.wanted, numbers.percent) == (3, 2, 5, 8, 62)

    flagged, skipped = found.remarks
    assert (flagged.person, flagged.item, flagged.flag, flagged.skip) == ("ana", "i003", "It is broken", "")
    assert (skipped.item, skipped.skip, skipped.comment) == (
        "i002",
        "I would rather not answer",
        "Half of it is missing",
    )
    assert (flagged.task, flagged.can_reopen, flagged.practice) == (hers["i003"], True, False)


@pytest.mark.slow
def test_held_places_are_in_progress(serve: Any, clock: Any) -> None:
    page = serve(items=3, people={**FIXED, "overlap": 1}, who=["ana", "ben"])
    ana = page.annotator("ana")
    held = len(page.rows(tables.tasks))
    (short,) = look(page).short
    assert held > 0
    assert short.held == held == sum(one.held for one in short.first)
    clock.later(minutes=schema.PAGE_RESERVED_MINUTES + 1)
    (short,) = look(page).short
    assert (short.held, short.answers) == (0, 3)
    work(page, ana, {}, most=1)
    assert look(page).short[0].answers == 2


@pytest.mark.slow
def test_changed_answer_adds_time_and_removed_flag_is_gone(serve: Any) -> None:
    page = serve(items=1, people={**FIXED, "overlap": 1})
    ana = page.annotator()
    (task,) = ana.work()
    label = {task.questions[0].id: 2}
    assert ana.answer(task, label, seconds=100, flag="odd").status == 200
    assert (look(page).people[0].flags, len(look(page).remarks)) == (1, 1)
    assert ana.answer(task.id, label, revision=1, seconds=20, comment="after all").status == 200
    (person,) = look(page).people
    (remark,) = look(page).remarks
    assert (person.minutes, person.pace, person.done) == (pytest.approx(2.0), "2.0 min", 1)
    assert (person.flags, remark.flag, remark.comment) == (0, "", "after all")


def test_reopened_answer_is_missing(serve: Any) -> None:
    page = serve(items=1, people={**FIXED, "overlap": 1})
    ana = page.annotator()
    (task,) = ana.work()
    assert ana.answer(task, {task.questions[0].id: 2}, flag="odd").status == 200
    assert look(page).short[0].answers == 0
    assert page.lead().form("/lead/reopen", task=str(task.id)).status == 303
    found = look(page)
    assert (found.short[0].answers, found.short[0].held, found.numbers.answered) == (1, 1, 0)


@pytest.mark.slow
def test_shortfall_by_group(serve: Any) -> None:
    people = {**FIXED, "overlap": {"role": {"nurse": 1, "doctor": 2}}}
    page = serve(items=3, people=people, who={"ana": {"role": "nurse"}, "ben": {"role": "doctor"}})
    work(page, page.annotator("ana"), {})
    work(page, page.annotator("ben"), {}, most=1)
    found = look(page)
    nurses, doctors = found.short
    assert (nurses.group, nurses.items, nurses.answers, nurses.filled, nurses.wanted) == ("nurse", 0, 0, 3, 3)
    # Doctors: one of two answers is missing for i000, both for i001 and i002.
    assert (doctors.group, doctors.items, doctors.answers, doctors.filled, doctors.wanted) == ("doctor", 3, 5, 1, 6)
    assert [(one.name, one.have) for one in doctors.first] == [("i000", 1), ("i001", 0), ("i002", 0)]
    assert found.group == "role (nurse, doctor)"
    assert "role (nurse, doctor)" in page.lead().send("GET", "/lead").text


@pytest.mark.slow
def test_shortfall_counts_active_annotators_without_overlap(serve: Any) -> None:
    page = serve(items=3, people=FIXED, who=["ana", "ben", "chi"])
    work(page, page.annotator("ana"), {})
    work(page, page.annotator("ben"), {}, most=1)
    work(page, page.annotator("chi"), {}, most=2)
    assert page.lead().form("/lead/people/state", name="chi", state="revoked").status == 303
    found = look(page)
    (short,) = found.short
    assert (short.all_answer, short.items, short.answers, short.wanted) == (True, 2, 2, 6)
    assert [(one.name, one.have, one.wanted) for one in short.first] == [("i001", 1, 2), ("i002", 1, 2)]
    assert [(one.done, one.of, one.state) for one in found.people] == [
        (3, 3, "active"),
        (1, 3, "active"),
        (2, 3, "revoked"),
    ]


@pytest.mark.slow
def test_quota_of_all_items(serve: Any) -> None:
    page = serve(items=5, people={**FIXED, "quota": 2}, who=["ana", "ben"])
    work(page, page.annotator("ana"), {})
    (short,) = look(page).short
    assert (short.answers, short.filled, short.wanted, short.first) == (2, 2, 4, ())
    assert look(page).people[0].of == 2
    assert "every annotator answers a quota of the items" in page.lead().send("GET", "/lead/live").text


@pytest.mark.slow
def test_shortfall_by_session(serve: Any) -> None:
    page = serve(
        **{"items": 6, "who": ["ana", "ben"], "people": FIXED},
        conditions={"scale": ["interval:0-1", "interval:0-10"]},
        questions=[{"name": "warmth", "text": "How warm?", "scale": "interval:0-1"}],
    )
    for name in ("ana", "ben"):
        work(page, page.annotator(name), {f"i00{n}": n / 10 + (name == "ben" and n % 2) / 10 for n in range(6)})
    found = look(page)
    assert [(one.session, one.sessions, one.done, one.of) for one in found.people] == [(2, 2, 12, 12)] * 2
    assert [one.session for one in found.short] == ["a number from 0 to 1", "a number from 0 to 10"]
    assert [one.answers for one in found.short] == [0, 0]
    one, ten = found.agreement
    assert (one.scale, ten.scale) == ("interval:0-1", "interval:0-10")
    assert one.estimate == pytest.approx(ten.estimate)
    assert (one.items, one.people) == (6, 2)


@pytest.mark.slow
def test_progress_of_pairs(serve: Any) -> None:
    page = serve(
        **{"items": 5, "who": ["ana"], "people": {"pairs": 1, "overlap": 1, "ahead": 1}},
        questions=[{"name": "odd", "text": "Which one?", "scale": "odd-one-out", "options": ["text"]}],
    )
    watch = Watch(page.design)
    before = watch.look().pairs
    assert before is not None
    assert (before.short, before.of, before.wanted, before.triplets) == (10, 10, 1, 0)
    assert "Triplets are drawn when annotators start" in page.lead().send("GET", "/lead").text
    ana = page.annotator()
    ana.work_through(1)
    drawn = len(page.rows(tables.items, tables.items.c.role == "triplet"))
    found = watch.look()
    assert found.pairs is not None
    assert found.pairs.triplets == drawn > 0
    # At least the first three pairs, and at most three with each triplet.
    assert 10 - 3 * drawn <= found.pairs.short <= 7
    assert found.short[0].answers == drawn - 1
    ana.work_through()
    done = watch.look()
    assert done.pairs is not None
    assert (done.pairs.short, done.short[0].answers, done.numbers.percent) == (0, 0, 100)


@pytest.mark.slow
def test_answers_to_earlier_questions_are_counted_separately(serve: Any) -> None:
    page = serve(items=2, people={**FIXED, "overlap": 1})
    work(page, page.annotator(), {}, most=1)
    text = (page.folder / "study.yaml").read_text()
    (page.folder / "study.yaml").write_text(text.replace("How many stars?", "How many stars in all?"))
    with page.again("new-version") as now:
        found = look(now)
        assert (found.numbers.answered, found.numbers.earlier, found.short[0].answers) == (0, 1, 2)
        assert (
            "1 more items were answered with an earlier version of the questions"
            in now.lead().send("GET", "/lead").text
        )


@pytest.mark.slow
def test_consent_to_the_current_text(serve: Any) -> None:
    page = serve(items=1, people={"consent": "Please read."}, who=["ana", "ben"])
    page.annotator("ana")
    assert [one.consented for one in look(page).people] == [True, False]
    assert page.lead().send("GET", "/lead").text.count("no consent yet") == 1


@pytest.mark.parametrize(
    ("given_on", "known_on", "label", "known", "wrong"),
    [
        ("1-5", "1-5", 4, 5, True),
        ("1-5", "1-5", 5, 5, False),
        ("nominal:yes,no", "nominal:yes,no", "no", "yes", True),
        ("preference", "preference", 0, 1, True),
        # A tenth of 0-100 is 10.
        ("interval:0-100", "interval:0-100", 72.5, 80, False),
        ("interval:0-100", "interval:0-100", 70, 80, False),
        ("interval:0-100", "interval:0-100", 69.9, 80, True),
        # 4 on 1-5 is three quarters of the way: 7.5 of 10, so 6.5 to 8.5.
        ("interval:0-10", "1-5", 6.5, 4, False),
        ("interval:0-10", "1-5", 8.6, 4, True),
        ("interval", "interval", 3.0, 3, False),
        ("interval", "interval", 3.1, 3, True),
        ("spans:a", "spans:a", '[[0,3,"a","why"]]', '[[0,3,"a"]]', False),
        ("spans:a", "spans:a", '[[0,4,"a"]]', '[[0,3,"a"]]', True),
    ],
)
def test_failed_checks_are_counted(given_on: str, known_on: str, label: Any, known: Any, wrong: bool) -> None:
    assert is_wrong(label, known, parse_scale(given_on), parse_scale(known_on)) is wrong


# -- agreement ---------------------------------------------------------------------------------------


def agreeing(serve: Any, **more: Any) -> Served:
    """Ana and ben answer the same eight items."""
    page = serve(items=8, people=FIXED, who=["ana", "ben", "chi"], **more)
    for name, shift in (("ana", 0), ("ben", 1)):
        work(page, page.annotator(name), {f"i{n:03d}": 1 + (n + shift * (n % 3 == 0)) % 5 for n in range(8)})
    return page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "coefficient"),
    [
        ("1-5", "krippendorff-alpha-ordinal"),
        ("interval:0-10", "krippendorff-alpha-interval"),
        (["1", "2", "3", "4", "5"], "krippendorff-alpha-nominal"),
    ],
)
def test_agreement_so_far_equals_krippendorff_alpha(serve: Any, scale: Any, coefficient: str) -> None:
    page = serve(
        items=8, people=FIXED, who=["ana", "ben", "chi"], questions=[{"name": "q", "text": "?", "scale": scale}]
    )
    for name, shift in (("ana", 0), ("ben", 1)):
        labels = {f"i{n:03d}": 1 + (n + shift * (n % 3 == 0)) % 5 for n in range(8)}
        work(page, page.annotator(name), {k: str(v) if isinstance(scale, list) else v for k, v in labels.items()})
    (found,) = look(page).agreement
    table = assay.agreement(stored_annotations(page.store), who=["humans"], coefficients=[coefficient]).table
    (row,) = table.to_dicts()
    assert (found.estimate, found.low, found.high) == (row["estimate"], row["low"], row["high"])
    assert (found.items, found.people, found.reason) == (8, 2, "")
    shown = page.lead().send("GET", "/lead").text
    estimate, low, high = (f"{row[name]:.2f}".replace("-", "−") for name in ("estimate", "low", "high"))
    assert f"<strong>{estimate}</strong>" in shown
    assert f"[{low}, {high}]" in shown


@pytest.mark.slow
def test_agreement_on_preferences_and_triplets_is_nominal(serve: Any) -> None:
    items = [{"item": f"i{n:03d}", "one": f"One {n}", "two": f"Two {n}"} for n in range(8)]
    question = {"name": "better", "text": "Which?", "scale": "preference", "options": ["one", "two"], "order": "fixed"}
    page = serve(items=items, people=FIXED, questions=[question], who=["ana", "ben"])
    for name, shift in (("ana", 0), ("ben", 1)):
        words = ["first", "second", "tie", "first"]
        work(page, page.annotator(name), {f"i{n:03d}": words[(n + shift * (n % 3 == 0)) % 4] for n in range(8)})
    (found,) = look(page).agreement
    assert found.title == "Krippendorff's α, nominal"
    own = assay.measures.krippendorff_alpha(stored_annotations(page.store), level="nominal")
    assert (found.estimate, found.low, found.high) == (own.estimate, own.low, own.high)


@pytest.mark.slow
def test_agreement_uses_first_answers(serve: Any) -> None:
    page = serve(items=6, people={**FIXED, "retest": 1}, who=["ana", "ben"])
    for name in ("ana", "ben"):
        work(page, page.annotator(name), {f"i{n:03d}": 1 + n % 5 for n in range(6)})
    (found,) = look(page).agreement
    assert (found.estimate, found.items) == (pytest.approx(1.0), 6)
    assert look(page).people[0].done == look(page).people[0].of == 12


@pytest.mark.slow
def test_missing_agreement_has_a_reason(serve: Any) -> None:
    why = {"name": "why", "text": "Why?", "scale": "text"}
    page = serve(items=6, people=FIXED, who=["ana", "ben"], questions=[STARS, why])

    def reasons() -> list[str]:
        found = look(page).agreement
        assert [(one.estimate, one.low, one.high) for one in found] == [(None, None, None)] * 2
        return [one.reason for one in found]

    assert reasons() == [
        "no annotator has answered so far; agreement requires two annotators on the same items",
        "agreement is not defined for free text; read the answers",
    ]

    def answer(person: Annotator) -> None:
        task = person.pages()[0][0]
        assert person.answer(task, {task.questions[0].id: 3, task.questions[1].id: "So."}).status == 200

    ana, ben = page.annotator("ana"), page.annotator("ben")
    for _ in range(6):
        answer(ana)
    assert reasons()[0].startswith("only one annotator has answered so far")
    answer(ben)
    assert reasons()[0] == "1 item has answers of two annotators so far; at least 5 are required"
    for _ in range(5):
        answer(ben)
    assert reasons()[0] == "undefined: all labels are equal"
    assert "Not estimable: undefined: all labels are equal" in page.lead().send("GET", "/lead").text


@pytest.mark.slow
def test_agreement_is_updated_after_answers_but_not_too_often(serve: Any, monkeypatch: Any) -> None:
    page = agreeing(serve)
    watch = Watch(page.design)
    computed = []
    real = watching.agreement_so_far
    monkeypatch.setattr(watching, "agreement_so_far", lambda *about: computed.append(1) or real(*about))
    first = watch.look().agreement
    assert watch.look().agreement is first
    work(page, page.annotator("chi"), {})
    assert watch.look().agreement is first  # too soon
    monkeypatch.setattr(watching, "AGREEMENT_EVERY", 0.0)
    monkeypatch.setattr(watching, "SHARE", float("inf"))
    assert watch.look().agreement[0].people == 3
    watch.look()  # no answer came since
    assert len(computed) == 2


def test_error_in_agreement_does_not_break_the_overview(serve: Any, monkeypatch: Any) -> None:
    page = agreeing(serve)

    def fails(*_: object) -> None:
        raise ZeroDivisionError("never mind")

    monkeypatch.setattr(overview, "_alpha", fails)
    (found,) = look(page).agreement
    assert (found.estimate, found.reason) == (None, "it could not be computed; see the server log for the error")
    assert page.lead().send("GET", "/lead").status == 200


# -- the page ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_overview_without_annotators(serve: Any) -> None:
    page = serve(items=3, people={"overlap": {"role": {"nurse": 1}}}, who=[])
    found = look(page)
    assert (found.people, found.remarks) == ((), ())
    assert (found.numbers.answered, found.numbers.percent, found.short[0].answers) == (0, 0, 3)
    for path in ("/lead", "/lead/live"):
        reply = page.lead().send("GET", path)
        assert reply.status == 200
        assert "No annotators invited." in reply.text


@pytest.mark.slow
@pytest.mark.parametrize("people", [{}, {"overlap": {"role": 2}}, {"quota": 2}])
def test_overview_of_every_overlap_without_annotators(serve: Any, people: dict[str, Any]) -> None:
    page = serve(items=3, people=people, who=[])
    assert page.lead().send("GET", "/lead").status == 200
    assert look(page).numbers.percent == 0


@pytest.mark.slow
def test_dashboard_escapes_text(serve: Any) -> None:
    name, value = "<script>alert(1)</script>", '"><img src=x onerror=alert(2)>'
    items = [{"item": "<b>item</b>", "text": "One."}]
    page = serve(items=items, people={"overlap": 2}, who={name: {"<i>is</i>": value}})
    person = page.annotator(name)
    (task,) = person.work()
    typed = {"comment": "<u>comment</u> & more", "flag": "</td><script>alert(3)</script>"}
    assert person.answer(task, {task.questions[0].id: 2}, **typed).status == 200
    for path in ("/lead", "/lead/live"):
        html = page.lead().send("GET", path).text
        for raw in ("<script>alert", "<img", "<i>is", "<b>item", "<u>comment"):
            assert raw not in html
        for shown in (
            "&lt;script&gt;alert(1)",
            "&lt;i&gt;is&lt;/i&gt;",
            "&lt;b&gt;item",
            "&lt;u&gt;comment&lt;/u&gt; &amp;",
        ):
            assert shown in html
        assert "style=" not in html
        assert "onclick" not in html


def test_actions_of_the_lead_and_their_messages(serve: Any) -> None:
    page = serve(items=2, people={"overlap": 1}, who=["ana"])
    lead = page.lead()
    assert lead.form("/lead/people", name="ben", attributes="team=red").status == 303
    html = lead.send("GET", "/lead").text
    assert "team: red" in html
    for name in ("ana", "ben"):
        assert f'Manage<span class="visually-hidden"> {name}</span>' in html
    assert html.count('data-link="http://testserver/join/') == 2
    assert "Pause the study" in html
    assert lead.form("/lead/study", state="paused").status == 303
    assert "The study is paused" in lead.send("GET", "/lead/live").text
    assert lead.form("/lead/people/state", name="ben", state="revoked").status == 303
    html = lead.send("GET", "/lead/live").text
    assert html.count('data-link="http://testserver/join/') == 1  # a revoked link is not displayed
    assert lead.form("/lead/people/link", name="ben").status == 303
    assert lead.send("GET", "/lead/live").text.count('data-link="http://testserver/join/') == 2


@pytest.mark.slow
def test_remarks_are_newest_first_and_limited(serve: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(overview, "MOST_REMARKS", 3)
    page = serve(items=5, people=FIXED, questions=[STARS, {**STARS, "name": "again"}])
    work(page, page.annotator(), {f"i{n:03d}": {"label": 2, "comment": f"No. {n}"} for n in range(5)})
    assert [one.comment for one in look(page).remarks] == ["No. 4", "No. 3", "No. 2"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-3, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (3599, "59 min ago"),
        (3600, "1 h ago"),
        (172_799, "47 h ago"),
        (172_800, "2 days ago"),
    ],
)
def test_moment_in_words(seconds: float, words: str) -> None:
    assert Moment(0, seconds).words == words
    assert Moment(0, seconds).iso == "1970-01-01T00:00:00Z"


@pytest.mark.slow
def test_costly_overview_is_reused_unless_annotators_change(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    page = serve(items=3, people={**FIXED, "overlap": 1})
    watch, clock = Watch(page.design), [0.0]
    monkeypatch.setattr(overview.time, "monotonic", lambda: clock[0])
    assert watch.look().every == 0
    watch._took = 1.0  # as with half a million answers
    page.annotator().work_through(1)
    seen = watch.look()
    assert (seen.numbers.answered, seen.every) == (0, 1 / overview.SHARE)
    clock[0] = 1 / overview.SHARE
    assert watch.look().numbers.answered == 1
    watch._took = 1.0
    page.annotator().work_through(1)
    assert watch.look().numbers.answered == 1
    set_state(page.store, "ana", "paused")
    assert watch.look().numbers.answered == 2


@pytest.mark.served
def test_incremental_sums_equal_full_sums(
    serve: Any, database_clock: Any, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    """After all kinds of events, a running watch gives the same overview as a new one."""
    monkeypatch.setattr(schema, "PAGE_RESERVED_MINUTES", 10)
    monkeypatch.setattr(overview, "AGREEMENT_EVERY", 0.0)
    monkeypatch.setattr(overview, "SHARE", float("inf"))
    database_clock.stop()
    page = serve(
        items=6,
        questions=[STARS, {**STARS, "name": "again"}],
        people={**FIXED, "overlap": 2, "checks": {"file": "checks.jsonl", "every": 2}},
        tables={"checks.jsonl": CHECKS},
        who=["ana", "ben", "chi", "dee"],
        store=url,
    )
    watch, lead, steps = Watch(page.design), page.lead(), 0

    def same() -> Overview:
        nonlocal steps
        database_clock.later(minutes=0.01)
        steps += 1
        found = watch.look()
        assert found == look(page), f"after step {steps}"
        assert watch.minutes() == pytest.approx(minutes_of(page))
        return found

    same()
    people = {name: page.annotator(name) for name in ("ana", "ben", "chi")}
    for most in (1, 2):
        for number, (name, person) in enumerate(people.items()):
            work(page, person, {"i001": {"skip": "no"}, "i002": {"label": number + 1, "flag": f"by {name}"}}, most=most)
            same()
    flagged = [one for one in same().remarks if one.flag]
    assert flagged
    assert lead.form("/lead/reopen", task=str(flagged[0].task)).status == 303
    assert [one.task for one in same().remarks if one.flag] == [one.task for one in flagged[1:]]
    database_clock.later(minutes=30)  # places run out
    assert same().short[0].held == 1, "the reopened item is held, the others are not"
    work(page, people["ana"], {"i004": {"label": 1, "comment": "so"}})
    same()
    for path, about in (("state", {"state": "revoked"}), ("exclude", {"reason": "no"}), ("readmit", {})):
        assert lead.form(f"/lead/people/{path}", name="ben", **about).status == 303
        same()
    monkeypatch.setattr(work_log, "MANY", 1)
    work(page, page.annotator("dee"), {}, most=3)
    same()
    before = same().numbers.answered
    erase(page.store, "ana")
    assert same().numbers.answered < before


JUDGE = {"name": "j", "provider": "recorded", "file": "replies.jsonl"}


@pytest.mark.slow
def test_verdict_progress_and_interim_analyses(serve: Any) -> None:
    page = serve(
        items=8,
        who=["ana", "ben"],
        people=FIXED,
        judges=[JUDGE],
        tables={"replies.jsonl": [{"item": "i000", "judge": "j", "reply": "3"}]},
    )
    lead = page.lead()
    before = look(page).verdict
    assert before is not None
    assert (before.answered, before.of, before.needed, before.analyses) == (0, 8, None, ())
    assert "plan one in advance with assay plan alt-test --study" in lead.send("GET", "/lead/live").text
    plan = Preregistration(verdict={"epsilon": 0.1, "alpha": 0.1}, n_items=8, n_annotators=2, looks=2)
    plan.write(page.folder / "plan.yaml")
    work(page, page.annotator("ana"), {}, most=3)
    work(page, page.annotator("ben"), {}, most=2)
    now = look(page).verdict
    assert now is not None
    assert (now.answered, now.items, now.needed, now.alpha) == (2, 8, 2, 0.1)
    # The first of two analyses is at half of the items; 2 - 2 Phi(1.645 / sqrt(1/2)) = 0.0200.
    assert [(one.items, round(one.spends, 4), round(one.spent, 4)) for one in now.analyses] == [
        (4, 0.02, 0.02),
        (8, 0.08, 0.1),
    ]
    assert "<strong>2</strong> more items until the next interim analysis" in lead.send("GET", "/lead/live").text
    assert [count_look(page.study) for _ in range(2)] == [1, 1], "the same labels are the same interim analysis"
    later = look(page).verdict
    assert later is not None
    assert later.needed == 6
    assert [one.done_items for one in later.analyses] == [3, None]
    work(page, page.annotator("ana"), {}, most=1)
    assert count_look(page.study) == 2
    assert "All planned interim analyses are done" in lead.send("GET", "/lead/live").text
    work(page, page.annotator("ana"), {}, most=1)
    assert count_look(page.study) == 3
    html = lead.send("GET", "/lead/live").text
    assert "3 interim analyses were done, 2 planned: the significance level is no longer controlled" in html
    (page.folder / "plan.yaml").write_text("a: [")
    assert "plan.yaml cannot be read; run assay report for the reason" in lead.send("GET", "/lead/live").text


@pytest.mark.slow
def test_verdict_counts_items_answered_by_every_group(serve: Any) -> None:
    people = {**FIXED, "overlap": {"role": {"nurse": 1, "doctor": 1}}}
    page = serve(items=3, people=people, who={"ana": {"role": "nurse"}, "ben": {"role": "doctor"}}, analyses=2)
    assert look(page).verdict is None, "no judge, no plan"
    (page.folder / "plan.yaml").write_text("question: alt-test\nitems: 3\n")
    work(page, page.annotator("ana"), {})
    assert look(page).verdict.answered == 0  # type: ignore[union-attr]
    work(page, page.annotator("ben"), {}, most=1)
    found = look(page).verdict
    assert found is not None
    assert (found.answered, found.needed, found.analyses, found.each) == (1, 2, (), "the required number of annotators")
    count_look(page.study)
    (page.folder / "plan.yaml").unlink()
    assert look(page).verdict is not None, "an interim analysis was done"


@pytest.mark.parametrize("looks", [None, 3])
def test_items_until_the_next_interim_analysis(serve: Any, looks: int | None) -> None:
    """Both annotators answered 3 of 8 items; the plan goes before the analyses of study.yaml."""
    tables = {"replies.jsonl": [{"item": "i000", "judge": "j", "reply": "3"}]}
    own = {} if looks is None else {"analyses": looks}
    page = serve(items=8, who=["ana", "ben"], people=FIXED, judges=[JUDGE], tables=tables, **own)
    for name in ("ana", "ben"):
        work(page, page.annotator(name), {}, most=3)
    answered, needed, n_analyses, alpha = 3, 5, 0, 0.05
    for plan, wanted in (
        (None, (answered, None, looks or 0, alpha)),
        ({"items": 8}, (answered, needed, n_analyses, alpha)),
        ({"items": 8, "looks": 2}, (answered, 1, 2, alpha)),  # the first of two is at 4
        ({"items": 8, "looks": 1, "verdict": {"alpha": 0.1}}, (answered, needed, n_analyses, 0.1)),
        ({"items": 2, "verdict": {}}, (answered, 0, n_analyses, alpha)),
        ({"annotators": 4}, (0, None, n_analyses, alpha)),
        *(({"items": bad, "looks": bad}, (answered, None, n_analyses, alpha)) for bad in (0, -2, True, 2.0, "3")),
    ):
        if plan is not None:
            (page.folder / "plan.yaml").write_text(json.dumps({"question": "alt-test", **plan}))
        found = look(page).verdict
        assert found is not None
        assert (found.answered, found.needed, len(found.analyses), found.alpha) == wanted, plan
        assert (found.of, found.trouble) == (8, "")
        assert found.each == f"{(plan or {}).get('annotators', 2)} annotators"
    for verdict in ("much", {"alpha": 0}, {"alpha": 1}, {"alpha": "0.1"}):
        (page.folder / "plan.yaml").write_text(json.dumps({"question": "alt-test", "items": 8, "verdict": verdict}))
        refused = look(page).verdict
        assert refused is not None
        assert (refused.trouble, refused.alpha) == ("plan.yaml cannot be read; run assay report for the reason", 0.05)


# -- one moment, made up ------------------------------------------------------------------------------


def part(**more: Any) -> Any:
    """A part of a design without a store: three items that exist before annotation."""
    usual = {"counted": (), "names": list("abc"), "n_items": 3, "drawn_from": None, "scales": (), "pool": "item"}
    return SimpleNamespace(**usual | {"questions": [], "expected_tasks": lambda party: 4} | more)


def session(condition: str, words: str = "", of: Any = None) -> Any:
    return SimpleNamespace(condition=condition, words=words, part=of or part())


def snapshot(**parts: Any) -> overview.Snapshot:
    """A snapshot of a study without a store, 1,000 seconds after the start of 1970."""
    made = object.__new__(overview.Snapshot)
    usual = {"now": 1000.0, "sessions": [session("{}")], "active": [], "left_out": []}
    for name, value in (usual | parts).items():
        setattr(made, name, value)
    return made


def test_person_row_by_hand() -> None:
    sums = {
        "ana": SimpleNamespace(done=9, skipped=2, session=2, last=940.0),
        "ben": SimpleNamespace(done=0, skipped=0, session=None, last=None),
    }
    people = SimpleNamespace(consent="")
    design: Any = SimpleNamespace(party=lambda about: "", people=people)
    made = snapshot(design=design, _person_sums=sums, _stop_reasons={"ana": "failed 2 of 3 checks"})
    made.sessions *= 2

    def row(name: str, **about: Any) -> overview.PersonRow:
        usual = {"role": "annotator", "attributes": {"age": 31}, "state": "active", "consented_to": None}
        usual |= {"excluded_at": None, "excluded_for": ""}
        person: Any = SimpleNamespace(name=name, **usual | about)
        return made._row(person, [True, False, True] if name == "ana" else [], 3 if name == "ana" else 0, None)

    ana, ben, chi = row("ana"), row("ben", excluded_at=5.0, excluded_for="spam"), row("chi", role="adjudicator")
    assert (ana.done, ana.skipped, ana.of, ana.session, ana.sessions) == (9, 2, 9, 2, 2)  # 4 in each, and 9 are done
    assert (ana.checks_failed, ana.checks, ana.flags, ana.stopped) == (2, 3, 3, "failed 2 of 3 checks")
    assert ana.last == Moment(940.0, 60.0)
    assert (ana.attributes, ana.consented, ana.excluded, ana.adjudicates) == ((("age", "31"),), None, False, False)
    assert (ben.done, ben.of, ben.session, ben.last, ben.stopped) == (0, 8, 1, None, "")
    assert (ben.excluded, ben.excluded_for) == (True, "spam")
    assert (chi.done, chi.skipped, chi.of, chi.session, chi.adjudicates) == (0, 0, None, 1, True)
    made.sessions[0].part.expected_tasks = lambda party: None
    assert row("ben").of is None
    people.consent, design.consent_digest = "Read this.", lambda: "new"
    assert [row("ben", consented_to=to).consented for to in ("new", "old", None)] == [True, False, False]


@pytest.mark.parametrize(
    ("status", "reason", "skip"),
    [
        ("valid", None, ""), ("valid", "skipped: x", ""), ("missing", "skipped: Unreadable", "Unreadable"),
        ("missing", "skipped", "no reason given"), ("missing", None, ""),
    ],
)  # fmt: skip
def test_skip_reason(status: str, reason: str | None, skip: str) -> None:
    row = SimpleNamespace(
        annotator="ana", item="i1", status=status, reason=reason, flag=None, comment="c", answered_at=400.0
    )
    found = snapshot()._remark(7, row, "answered", "warm-up")
    assert (found.skip, found.flag, found.comment, found.task) == (skip, "", "c", 7)
    assert (found.practice, found.can_reopen, found.at) == (True, True, Moment(400.0, 600.0))
    states = [
        (state, snapshot()._remark(7, row, state, "item").can_reopen) for state in ("skipped", "given", "reopened")
    ]
    assert states == [("skipped", True), ("given", False), ("reopened", False)]
    assert not snapshot()._remark(7, row, "given", "item").practice


def test_each_task_has_one_remark_newest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def row(number: int, task: int | None) -> SimpleNamespace:
        shown = None if task is None else {"task": task}
        about = {"annotator": "ana", "item": f"i{task}", "status": "valid", "reason": None, "flag": f"{number}"}
        return SimpleNamespace(id=number, shown=shown, comment="", answered_at=0.0, **about)

    rows = [row(1, 10), row(2, 11), row(3, 11), row(4, None), row(5, 12), row(6, 13)]
    asked: list[list[int]] = []

    def states(numbers: Mapping[int, Any]) -> dict[int, tuple[str, str]]:
        asked.append(list(numbers))
        return {number: ("answered", "item") for number in numbers if number != 12}  # of 12 there is no task any more

    made = snapshot(log=SimpleNamespace(remarks={one.id: one for one in rows}, states_and_roles=states))
    assert [(one.task, one.flag) for one in made.remarks()] == [(13, "6"), (11, "3"), (10, "1")]
    monkeypatch.setattr(overview, "MOST_REMARKS", 2)
    assert [one.task for one in made.remarks()] == [13]
    assert asked == [[13, 12, 11, 10], [13, 12]]


def test_parties_are_counted() -> None:
    people = [SimpleNamespace(attributes={"job": job}) for job in ("nurse", "doctor", "nurse")]

    def parties(overlap: Any, group: str | None) -> list[str]:
        of = SimpleNamespace(per_item=overlap, group=group)
        design = SimpleNamespace(people=of, party=lambda about: about["job"] if group else "")
        return snapshot(design=design, answering=people)._parties()

    assert parties({"nurse": 2, "clerk": 1}, "job") == ["nurse", "clerk"]
    assert parties(2, "job") == ["doctor", "nurse"]
    assert parties(2, None) == [""]


def test_study_counts() -> None:
    def row(name: str, done: int, skipped: int, ago: float | None, **more: Any) -> SimpleNamespace:
        last = None if ago is None else Moment(0, ago)
        return SimpleNamespace(**{"name": name, "done": done, "skipped": skipped, "last": last, "adjudicates": False,
                                  "excluded": False} | more)  # fmt: skip

    people: Any = [
        row("ana", 5, 1, 599.9), row("ben", 3, 0, 600.0), row("chi", 0, 0, None), row("dan", 7, 2, 1.0, excluded=True),
        row("eva", 9, 3, 1.0, adjudicates=True),
    ]  # fmt: skip
    sums = {name: SimpleNamespace(earlier=n) for name, n in (("ana", 2), ("ben", 1), ("dan", 4))}
    made = snapshot(design=SimpleNamespace(n_items=6), active=["ana", "ben", "chi"], _person_sums=sums)
    short: Any = [SimpleNamespace(filled=4, wanted=6, drawn=True), SimpleNamespace(filled=3, wanted=5, drawn=True)]
    found = made.numbers(people, short, None)
    assert (found.items, found.answered, found.skipped, found.people, found.busy) == (6, 7, 1, 3, 1)
    assert (found.filled, found.wanted, found.earlier, found.excluded, found.percent) == (7, 11, 3, 1, 63)
    pairs = made.numbers(people, short, overview.PairProgress(short=2, of=8, wanted=3, triplets=4))
    assert (pairs.filled, pairs.wanted, pairs.percent) == (6, 8, 75)
    short[1].drawn = False  # of items that exist before: their answers are wanted too
    both = made.numbers(people, short, overview.PairProgress(short=2, of=8, wanted=3, triplets=4))
    assert (both.filled, both.wanted) == (6 + 3, 8 + 5)


@pytest.mark.parametrize(
    ("filled", "wanted", "percent"), [(0, 0, 0), (0, 3, 0), (2, 3, 66), (999, 1000, 99), (3, 3, 100)]
)
def test_percent_is_100_only_when_complete(filled: int, wanted: int, percent: int) -> None:
    assert overview.StudyCounts(1, 0, 0, 0, 0, filled, wanted, 0, 0).percent == percent


@pytest.mark.parametrize(
    ("minutes", "words"), [(None, ""), (0.75, "45 s"), (1.49, "89 s"), (1.5, "1.5 min"), (2.54, "2.5 min")]
)
def test_pace_in_words(minutes: float | None, words: str) -> None:
    assert person(minutes=minutes).pace == words


def test_alpha_spent_by_interim_analyses() -> None:
    """O'Brien and Fleming's spending of alpha .05: 2 - 2 Phi(1.95996 / sqrt(1/2)) = .005575 at the first of two."""
    done = [{"at": 900.0, "items": 4}, {"at": 940.0, "items": 8}, {"at": 990.0, "items": 9}]
    analyses = tuple(snapshot()._analyses(done, 9, 2, 0.05))
    assert [(one.number, one.items, one.done_items) for one in analyses] == [(1, 4, 4), (2, 9, 8), (3, None, 9)]
    assert [one.spends for one in analyses] == pytest.approx([0.005575, 0.044425, 0], abs=1e-5)
    assert [one.spent for one in analyses] == pytest.approx([0.005575, 0.05, 0.05], abs=1e-5)
    assert [one.done for one in analyses] == [Moment(900, 100), Moment(940, 60), Moment(990, 10)]
    whole = overview.VerdictProgress(3, 8, "", None, None, analyses, 0.05, "")
    assert (whole.n_done, whole.n_planned) == (3, 2)
    (only,) = snapshot()._analyses([], None, 1, 0.05)
    assert (only.items, only.done, only.done_items) == (None, None, None)
    assert (only.spends, only.spent) == pytest.approx((0.05, 0.05))


def test_cached_value_is_updated_after_answers_but_not_too_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, found = [0.0], []

    def find(db: Any) -> int:
        clock[0] += 2.0  # seconds that it takes
        found.append(db)
        return len(found)

    monkeypatch.setattr(overview.time, "monotonic", lambda: clock[0])
    kept = overview.Cached(find, 0, lambda took: 10 * took)
    assert [kept.now(None, 1), kept.now(None, 1)] == [1, 1]  # type: ignore[arg-type]
    clock[0] = 21.9
    assert kept.now(None, 2) == 1, "twenty seconds have not passed since second 2"  # type: ignore[arg-type]
    clock[0] = 22.0
    assert [kept.now(None, 1), kept.now(None, 2)] == [1, 2], "no new answers; new answers"  # type: ignore[arg-type]
    with kept._lock:
        clock[0] = 1000.0
        assert kept.now(None, 3) == 2, "another request is computing it"  # type: ignore[arg-type]
    assert kept.now(None, 3) == 3  # type: ignore[arg-type]


def watching_nothing(monkeypatch: pytest.MonkeyPatch, **more: Any) -> Watch:
    """A study of three items without a store."""
    monkeypatch.setattr(overview, "TripletAssigner", lambda design: None)
    design = {"store": None, "study": SimpleNamespace(parts={}), "listed": (part(),), "drawn": None} | more
    return Watch(SimpleNamespace(**design))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("took", "agreement", "minutes"), [(0.0, 15, 0), (0.75, 15, 15), (1.0, 20, 20), (6.0, 120, 120)]
)
def test_watch_limits_time_for_agreement(
    took: float, agreement: float, minutes: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = watching_nothing(monkeypatch)
    assert watch._agreement._every(took) == pytest.approx(agreement)
    assert watch._disputed._every(took) == pytest.approx(agreement)
    assert watch._minutes._every(took) == pytest.approx(minutes)


@pytest.mark.parametrize(
    ("drawn", "parts", "tested"),
    [
        (None, {}, {"a", "b", "c"}), (None, {"a": "development", "b": "test"}, {"b", "c"}),
        (part(), {"a": "development"}, {"a", "b", "c"}),
    ],
)  # fmt: skip
def test_tested_items_exclude_the_development_set(
    drawn: Any, parts: dict[str, str], tested: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = watching_nothing(monkeypatch, study=SimpleNamespace(parts=parts), drawn=drawn)
    assert watch._tested == tested


@pytest.mark.parametrize(("took", "every"), [(0.2, 0.0), (0.21, 4.2), (1.0, 20.0)])
def test_slow_sums_are_reused_above_a_fifth_of_a_second(
    took: float, every: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = watching_nothing(monkeypatch)
    clock, summed = [100.0], []
    seen = [Overview(None, (person(minutes=2.0), person("ben")), (), (), (), None, frozenset(), "")]  # type: ignore[arg-type]
    monkeypatch.setattr(overview.time, "monotonic", lambda: clock[0])
    one = SimpleNamespace(name="a", state="active", excluded_at=None)
    monkeypatch.setattr(overview, "all_people", lambda db: [one])
    monkeypatch.setattr(watch, "store", SimpleNamespace(reading=lambda: contextlib.nullcontext("db")))
    monkeypatch.setattr(watch, "_sum", lambda db: summed.append(clock[0]) or seen[0])
    watch._took = took
    assert watch.look().every == pytest.approx(every)
    assert watch.minutes() == {"ana": 2.0}
    assert summed == ([100, 100] if every == 0 else [100])
    clock[0] += every + 1e-6
    watch.look()
    assert summed[-1] == clock[0]


def person(name: str = "ana", *, minutes: float | None = None, **more: Any) -> Any:
    about: dict[str, Any] = dict.fromkeys(overview.PersonRow.__dataclass_fields__)
    return overview.PersonRow(**about | {"name": name, "minutes": minutes} | more)


@pytest.mark.parametrize(
    ("group", "overlap", "words"),
    [
        (None, 3, ""), (None, None, ""), ("job", 3, "job"), ("job", None, "job"),
        ("job", {"nurse": 2, "doctor": 1}, "job (nurse, doctor)"),
    ],
)  # fmt: skip
def test_group_words_name_the_required_attribute(group: Any, overlap: Any, words: str) -> None:
    design = SimpleNamespace(people=SimpleNamespace(group=group, per_item=overlap))
    assert overview._group_words(design) == words  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("n_items", "n_people", "scale", "reason"),
    [
        (0, 0, "1-5", "no annotator has answered so far; agreement requires two annotators on the same items"),
        (9, 1, "1-5", "only one annotator has answered so far; agreement requires two annotators on the same items"),
        (0, 2, "1-5", "0 items have answers of two annotators so far; at least 5 are required"),
        (1, 2, "1-5", "1 item has answers of two annotators so far; at least 5 are required"),
        (4, 2, "1-5", "4 items have answers of two annotators so far; at least 5 are required"),
        (5, 2, "1-5", ""),
        (5, 2, "text", "agreement is not defined for free text; read the answers"),
    ],
)
def test_agreement_requires_five_items_with_two_annotators(
    n_items: int, n_people: int, scale: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(f"i{k}", f"p{p}", "3") for k in range(n_items) for p in range(n_people)]
    rows += [("alone", f"p{p}", "3") for p in range(n_people) if n_people == 2 and p == 0]
    rows += [("by itself", "p1", "3")] if n_people == 2 else []
    frame = pl.DataFrame(rows, schema=dict.fromkeys(("item", "annotator", "label"), pl.String), orient="row")
    monkeypatch.setattr(overview, "_alpha", lambda scale, labels: {"estimate": 0.5})
    found = overview._question_agreement("q", "spec", parse_scale(scale), frame)
    assert (found.question, found.scale, found.reason) == ("q", "spec", reason)
    assert (found.items, found.people) == (n_items if n_people == 2 else 0, n_people)
    assert found.estimate == (None if reason else 0.5)


def test_plan_is_read_again_only_after_a_change(tmp_path: Any) -> None:
    assert overview.plan_of(tmp_path) == {}
    path = tmp_path / overview.PLAN_FILE
    path.write_text("question: alt-test\nlooks: 3\n")
    first = overview.plan_of(tmp_path)
    assert first == {"question": "alt-test", "looks": 3}
    assert overview.plan_of(tmp_path) is first
    for broken in ("[1, 2]", "a: [", "\x00"):
        path.write_text(broken * 3)
        assert overview.plan_of(tmp_path) == {"trouble": f"{path.name} cannot be read; run assay report for the reason"}


@pytest.mark.parametrize(
    ("quota", "have", "expected"),
    [
        (None, None, "all"), (5, None, "all"), (4, [(4, 0), (6, 2)], (0, 8, 2)), (2, [(1, 1), (0, 0)], (3, 1, 1)),
        (2, [(3, 0), (1, 1)], (1, 3, 1)),
    ],
)  # fmt: skip
def test_shortfall_with_quotas(quota: Any, have: Any, expected: Any) -> None:
    """Five items and two annotators: the answers of each count up to the quota."""
    made = snapshot(active=["ana", "ben"], now=0.0, left_out=frozenset())
    made.design = SimpleNamespace(people=SimpleNamespace(quota=quota))
    made.log = SimpleNamespace(items_by_person=lambda work, now, without: have)
    made._shortfall = lambda work, of, words, wanted: ("all", words, wanted, work.people)  # type: ignore
    found = made._shortfall_of_all(session("{}", of=part(n_items=5)), "1-5")
    if expected == "all":
        assert found == ("all", "1-5", 2, ["ana", "ben"])
        return
    answers, filled, held = expected
    assert (found.answers, found.filled, found.held, found.wanted) == (answers, filled, held, 2 * quota)
    assert (found.group, found.session, found.all_answer, found.items, found.first) == ("", "1-5", True, 0, ())


def test_shortfall_of_a_group_by_hand() -> None:
    """Three answers to each of four items: 12 in all; three items are incomplete and have 4 of their 9."""
    made = snapshot(now=7.0, left_out=frozenset({"x"}))
    asked = []

    def shortfall(work: Any, names: Any, wanted: int, now: float, most: int, *, without: Any) -> Any:
        asked.append((names, wanted, now, most, without))
        return SimpleNamespace(items=3, have=4, of=4, held=2, first=[("i1", 1, 2), ("i2", 3, 0)])

    made.log = SimpleNamespace(shortfall=shortfall)
    of = part(names=["i1", "i2", "i3", "i4"])
    found = made._shortfall(SimpleNamespace(party="nurse", people=None), of, "1-5", 3)  # type: ignore[arg-type]
    assert asked == [(["i1", "i2", "i3", "i4"], 3, 7.0, 50, {"x"})]
    assert (found.group, found.session, found.all_answer, found.items) == ("nurse", "1-5", False, 3)
    assert (found.answers, found.filled, found.wanted, found.held) == (5, 7, 12, 2)
    assert [(one.name, one.have, one.wanted, one.held) for one in found.first] == [("i1", 1, 3, 2), ("i2", 3, 3, 0)]
    assert made._shortfall(SimpleNamespace(party="", people=["ana"]), of, "", 3).all_answer is True  # type: ignore


def test_item_is_complete_after_every_group_and_session() -> None:
    asked: list[Any] = []

    def missing(work: Any, names: Any, wanted: int, without: Any) -> set[str]:
        asked.append((work.condition, work.party, work.people, wanted, without))
        return {"b"} if work.condition == "second" else {"a"} if work.party == "nurse" else set()

    people = [SimpleNamespace(name="ana"), SimpleNamespace(name="ben")]
    made = snapshot(answering=people, left_out=["x"], log=SimpleNamespace(missing_items=missing))
    of = part(names=list("abcd"), counted=(1,))
    made.sessions = [session("first", of=of), session("second", of=of), session("{}")]  # type: ignore[assignment]
    design = {"listed": (of,), "people": SimpleNamespace(overlap=None, per_item=None), "overlap": lambda party: None}
    made.design = SimpleNamespace(**design)
    # If every annotator answers every item, all of them count, up to the required number.
    assert made._complete("abcd", 3) == 3
    names = ["ana", "ben"]
    assert asked == [("first", "", names, 3, ["x"]), ("second", "", names, 3, ["x"])]
    asked.clear()
    wanted = {"nurse": 1, "doctor": 2}
    made.design = SimpleNamespace(
        **design | {"people": SimpleNamespace(overlap=wanted, per_item=wanted), "overlap": wanted.get}
    )
    assert made._complete(["a", "c"], 3) == 1
    assert asked == [
        (session, party, None, number, ["x"]) for session in ("first", "second") for party, number in wanted.items()
    ]


@pytest.mark.parametrize(
    ("overlap", "drawn_from", "conditions", "found"),
    [
        (None, None, [""], [("all", "", "")]),
        (None, None, ["s2", "s1"], [("all", "s1", "1-5"), ("all", "s2", "1-9")]),
        (2, None, [""], [("slot", "", "", "", 2)]),
        ({"nurse": 1, "doctor": 3}, None, [""], [("slot", "", "nurse", "", 1), ("slot", "", "doctor", "", 3)]),
        (None, "ideas", [""], [("slot", "", "", "", 1)]),  # one answer per drawn triplet is required
        (2, "ideas", ["s1"], [("slot", "s1", "", "", 2)]),
    ],
)
def test_shortfall_session_by_session(overlap: Any, drawn_from: Any, conditions: list[str], found: Any) -> None:
    words = {"": "", "s1": "answer with 1-5", "s2": "answer with 1-9"}
    made = snapshot(answering=[])
    of = part(drawn_from=drawn_from)
    made.sessions = [session(one, words[one], of) for one in conditions]  # type: ignore[assignment]
    made.design = SimpleNamespace(
        people=SimpleNamespace(overlap=overlap, per_item=overlap, group="job" if isinstance(overlap, dict) else None),
        overlap=overlap.get if isinstance(overlap, dict) else lambda party: overlap,
        **{"parts": (of,), "party": lambda attributes: ""},
    )
    made._shortfall = lambda work, of, words, wanted: ("slot", work.condition, work.party, words, wanted)  # type: ignore
    made._shortfall_of_all = lambda one, words: ("all", one.condition, words)  # type: ignore
    assert list(made.short()) == found


def test_pairs_are_counted_again_only_when_a_triplet_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = watching_nothing(monkeypatch, people=SimpleNamespace(pairs=2))
    counted, drawn = [], [0]
    sampler = SimpleNamespace(short=lambda: counted.append(drawn[0]) or 10 - drawn[0])
    drawing: Any = SimpleNamespace(sampler=lambda db: sampler, part=part())
    monkeypatch.setattr(overview.table, "n_triplets", lambda db: drawn[0])
    monkeypatch.setattr(overview.table, "n_pairs", lambda db, pool: 10)
    first = watch._pairs_now(None, drawing)  # type: ignore[arg-type]
    assert first == overview.PairProgress(short=10, of=10, wanted=2, triplets=0)
    assert watch._pairs_now(None, drawing) is first  # type: ignore[arg-type]
    drawn[0] = 3
    assert watch._pairs_now(None, drawing) == overview.PairProgress(7, 10, 2, 3)  # type: ignore[arg-type]
    assert counted == [0, 3]


def test_agreement_is_computed_for_each_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    given = pl.DataFrame(
        {
            "item": ["a", "b", "c"],
            "annotator": ["ana"] * 3,
            "label": ["1", "2", "3"],
            "condition": ['{"scale": "1-5"}', '{"scale": "1-7"}', "{}"],
        }
    )
    asked = []
    monkeypatch.setattr(overview, "first_labels", lambda labels, question, without: asked.append(without) or given)
    monkeypatch.setattr(overview, "_question_agreement", lambda *about: (*about[:3], about[3]["item"].to_list()))
    one = SimpleNamespace(name="stars", marked=None, kind=SimpleNamespace(lists=False))
    monkeypatch.setattr(overview, "criteria_of", lambda question: {"stars": parse_scale("1-3")})
    of = part(questions=[SimpleNamespace(id=1, definition=one)], scales=("1-5", "1-7"))
    design: Any = SimpleNamespace(parts=(of,))
    assert overview.agreement_so_far(design, given, ["ben"]) == (
        ("stars", "1-5", parse_scale("1-5"), ["a"]),
        ("stars", "1-7", parse_scale("1-7"), ["b"]),
    )
    of.scales = ()
    assert overview.agreement_so_far(design, given, ["ben"]) == (("stars", "", parse_scale("1-3"), ["a", "b", "c"]),)
    one.marked = "text"
    (spans,) = overview.agreement_so_far(design, given, ["ben"])
    assert (spans.question, spans.people, spans.estimate) == ("stars", 1, None)
    assert spans.reason.startswith("agreement on spans is computed word by word with: assay agreement STUDY")
    assert asked == [["ben"]] * 3
