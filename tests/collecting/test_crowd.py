"""A crowd: one place a person, codes, the way back, time limits, leaving, checks with a rule, payment."""

from __future__ import annotations

import hmac
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from annotating import Annotator, Clock, Reply, Served, write_study

from assay.collecting import crowd as crowd_module
from assay.collecting.crowd import (
    PAY_COLUMNS,
    amount_due,
    code_of,
    crowd_counts,
    end_contents,
    outcome_at,
    pay_table,
    platform_file,
    read_address,
    state_without_outcome,
)
from assay.collecting.serving import Refused
from assay.errors import StudyError
from assay.study.definition import load_study
from assay.study.schema import Crowd, Pay
from assay.study.store import tables
from assay.study.store.people import Person, Visit

CODES = {"completed": "C-DONE", "screened": "C-OUT", "full": "C-FULL", "failed": "C-FAIL", "returned": "C-NO"}
# With parameters named by the study, short ids such as p1 are participants as well.
PARAMETERS = ["PROLIFIC_PID", "STUDY_ID", "SESSION_ID"]
PROLIFIC = {"platform": "prolific", "parameters": PARAMETERS, "places": 3, "codes": CODES}
BACK = "https://app.prolific.com/submissions/complete?cc="


def crowd(**more: Any) -> dict[str, Any]:
    return {**PROLIFIC, **more}


class Worker(Annotator):
    """A participant who comes from the platform's page of the study, as a browser without a script would."""

    def __init__(self, page: Served, name: str, said: str | None = None, session: str = "") -> None:
        super().__init__(page.client(), "", page.heard)
        self.name, self.said = name, said
        self.query = f"PROLIFIC_PID={name}&STUDY_ID=s1&SESSION_ID={session or 'of-' + name}"

    def come(self) -> Reply:
        """From the address to the first page; the reply of the last step."""
        reply = self.send("GET", f"/enter?{self.query}")
        if reply.status != 200:
            return reply
        given = reply.text.partition('name="given" value="')[2].partition('"')[0].replace("&#34;", '"')
        reply = self.form("/enter", given=given, **({} if self.said is None else {"q-job": self.said}))
        if reply.status == 303:
            self.cookie = "; ".join(one.partition(";")[0] for one in reply.cookies)
            reply = self.send("GET", "/work")
        return reply

    def work_on(self, most: int = 100, wrong: bool = False) -> str:
        """Answer the items; return the kind of end, or ``enough``."""
        for _ in range(most):
            tasks, rest = self.pages()
            if not tasks:
                return str(rest["end"]["kind"])
            star = "1" if "gold" in tasks[0].text and wrong else "5"
            assert self.answer(tasks[0], {tasks[0].questions[0].id: int(star)}, seconds=30).status == 200
        return "enough"


def outcomes(page: Served) -> dict[str, str | None]:
    return {row.person: row.outcome for row in page.rows(tables.visits)}


@pytest.mark.slow
def test_participant_is_admitted_once_and_gets_code_and_return_link(serve: Callable[..., Served]) -> None:
    page = serve(who=(), items=4, people={"crowd": crowd()})
    ana = Worker(page, "p1")
    assert ana.come().status == 200
    assert ana.work_on() == "completed"
    end = ana.pages()[1]["end"]["html"]
    assert "C-DONE" in end
    assert f'href="{BACK}C-DONE"' in end
    again = Worker(page, "p1")
    assert "C-DONE" in again.come().text, "a returning participant sees the same end page"
    assert "C-DONE" in ana.send("GET", "/work").text
    assert [row.annotator for row in page.rows(tables.people)] == ["p1"]
    other = Worker(page, "p1", session="another")
    reply = other.come()
    assert (reply.status, "You have already taken part" in reply.text) == (200, True)
    assert "C-DONE" not in reply.text
    assert not other.cookie


def test_link_preview_takes_no_slot(serve: Callable[..., Served]) -> None:
    page = serve(who=(), people={"crowd": crowd()})
    visitor = Worker(page, "p1")
    assert "Open the study" in visitor.send("GET", f"/enter?{visitor.query}").text
    assert page.rows(tables.visits) == []
    assert page.rows(tables.people) == []


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("STUDY_ID=s1&SESSION_ID=x", "parameter PROLIFIC_PID, which identifies participants, is missing"),
        ("PROLIFIC_PID=p1&STUDY_ID=s1", "parameter SESSION_ID, which identifies participants, is missing"),
        ("PROLIFIC_PID={{%25PROLIFIC_PID%25}}&STUDY_ID=s1&SESSION_ID=x", "did not fill in"),
        ("PROLIFIC_PID=a%20b&STUDY_ID=s1&SESSION_ID=x", "did not fill in"),
    ],
)
def test_read_address_refuses_unfilled_parameters(serve: Callable[..., Served], query: str, words: str) -> None:
    page = serve(who=(), people={"crowd": crowd()})
    reply = page.visitor().send("GET", f"/enter?{query}")
    assert (reply.status, words in reply.text) == (422, True), reply.text
    posted = page.visitor().form("/enter", given='{"PROLIFIC_PID": "a b"}')
    assert posted.status == 422
    assert page.rows(tables.visits) == []


@pytest.mark.slow
def test_mechanical_turk_has_its_own_parameters(serve: Callable[..., Served]) -> None:
    page = serve(who=(), items=2, people={"crowd": {"platform": "mturk", "places": 1}})
    look = page.visitor().send("GET", "/enter?workerId=A1B2C3D4E5F6&assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=H")
    assert "accept the task first" in look.text
    worker = Worker(page, "A1B2C3D4E5F6")
    worker.query = "workerId=A1B2C3D4E5F6&assignmentId=A1&hitId=H1"
    worker.come()
    assert worker.work_on() == "completed"
    row = pay_table(page.design).row(0, named=True)
    assert (row["assignmentId"], row["hitId"], len(row["code"])) == ("A1", "H1", 10)
    end = worker.pages()[1]["end"]["html"]
    assert row["code"] in end, "an individual code, to be pasted into the task"
    assert "href" not in end


@pytest.mark.slow
def test_open_entry_gives_each_browser_one_place(serve: Callable[..., Served]) -> None:
    page = serve(who=(), items=2, people={"crowd": {"platform": "open", "places": 2}})
    ana = Worker(page, "")
    ana.query = ""
    assert ana.come().status == 200
    again = ana.send("GET", "/enter")
    assert (again.status, again.headers["location"]) == (303, "/work")
    (row,) = page.rows(tables.visits)
    assert row.person.startswith("visitor-")


@pytest.mark.slow
def test_screening_question_is_asked_once(serve: Callable[..., Served]) -> None:
    screening = {"job": {"Are you a nurse?": {"yes": True, "no": False}}}
    page = serve(who=(), people={"crowd": crowd(), "ask": {"screening": screening}})
    reply = Worker(page, "p1", "no").come()
    assert "C-OUT" in reply.text
    assert "C-OUT" in Worker(page, "p1", "yes").come().text, "another answer does not let them in"
    assert Worker(page, "p2").come().status == 422, "a missing answer is refused"
    assert Worker(page, "p3", "maybe").come().text.count("C-OUT"), "an answer that was not offered is refused"
    assert Worker(page, "p4", "yes").come().status == 200
    assert [row.annotator for row in page.rows(tables.people)] == ["p4"]
    assert page.design.store
    assert outcomes(page) == {"p1": "screened", "p3": "screened", "p4": None}


@pytest.mark.slow
def test_admission_is_limited_by_slots(serve: Callable[..., Served]) -> None:
    page = serve(who=(), items=3, people={"crowd": crowd(places=2)})
    first, second = Worker(page, "p1"), Worker(page, "p2")
    assert [one.come().status for one in (first, second)] == [200, 200]
    third = Worker(page, "p3")
    assert "C-FULL" in third.come().text
    first.form("/leave", answers="keep")
    assert third.come().status == 200, "a released slot is free"
    assert outcomes(page)["p3"] is None
    assert second.work_on() == "completed"
    assert "C-FULL" in Worker(page, "p4").come().text, "a participant who has finished keeps their slot"
    page.lead().form("/lead/people/exclude", name="p2")
    assert Worker(page, "p5").come().status == 200, "an excluded participant does not"


def test_leaving_participant_decides_about_their_answers(serve: Callable[..., Served]) -> None:
    page = serve(who=(), people={"crowd": crowd(), "overlap": 1})
    keeps, discards = Worker(page, "p1"), Worker(page, "p2")
    for one in (keeps, discards):
        one.come()
        one.work_on(2)
    assert "let the study use my answers" in keeps.send("GET", "/leave").text
    assert "C-NO" in keeps.form("/leave", answers="keep").text
    assert "will not be used" in discards.form("/leave", answers="discard").text
    assert outcomes(page) == {"p1": "returned", "p2": "withdrawn"}
    assert discards.pages()[1]["end"]["kind"] == "withdrawn", "their link still shows how it ended"
    labels = page.lead().send("GET", "/lead/labels.csv").text
    assert ("p1" in labels, "p2" in labels) == (True, False)
    task = page.rows(tables.tasks, tables.tasks.c.annotator == "p1", tables.tasks.c.state == "given")[0]
    late = keeps.answer(task.id, {})
    assert (late.status, "You have left the study" in late.text) == (403, True)
    assert keeps.pages()[1]["end"]["kind"] == "returned"
    assert Worker(page, "p1").come().text.count("You have left the study"), "and no one can come back"
    held = page.rows(tables.tasks, tables.tasks.c.state == "given")
    now = page.store.now(None)  # type: ignore[arg-type]
    assert {row.annotator for row in held} == {"p1", "p2"}
    assert max(row.expires_at for row in held) <= now, "their items are free at once"


@pytest.mark.slow
def test_time_limit_ends_a_visit(serve: Callable[..., Served], clock: Clock) -> None:
    page = serve(who=(), people={"crowd": crowd(minutes=20, places=1), "pay": {"EUR": {"item": 0.6}}})
    clock.stop()
    ana = Worker(page, "p1")
    ana.come()
    ana.work_on(1)
    clock.later(minutes=19.9)
    assert ana.work_on(1) == "enough"
    (task, *_), rest = ana.pages()
    assert rest["left"] == 6, "seconds, which the page shows in minutes"
    clock.later(minutes=0.2)
    alone = crowd_counts(page.design)
    assert alone is not None
    assert (alone.free, alone.outcomes) == (1, (("late", 1),))
    assert pay_table(page.design)["outcome"].to_list() == ["late"]
    reply = ana.answer(task, {task.questions[0].id: 3})
    assert (reply.status, "Your time for this study has ended" in reply.text) == (403, True)
    assert ana.pages()[1]["end"]["kind"] == "late"
    assert Worker(page, "p2").come().status == 200, "their slot is given to someone else"
    # Coming again, also from another session, shows the end with an individual code.
    for session in ("", "another"):
        end = Worker(page, "p1", session=session).come()
        assert end.status == 200
        assert code_of(page.store, page.design.people.crowd, "p1", "late") in end.text
        assert "Answers that were saved before are kept" in end.text
    row = page.rows(tables.visits, tables.visits.c.person == "p1")[0]
    assert row.ended_at - row.came_at == pytest.approx(20 * 60)
    counts = crowd_counts(page.design)
    assert counts is not None
    assert (counts.places, counts.free, counts.outcomes) == (1, 0, (("at work", 1), ("late", 1)))
    paid = {one["person"]: one for one in pay_table(page.design).iter_rows(named=True)}
    columns = ("outcome", "minutes", "at_work", "answered", "pay", "an_hour", "currency", "checks")
    assert [paid["p1"][name] for name in columns] == ["late", pytest.approx(20), 1.0, 2, 1.2, 72.0, "EUR", 0]
    assert [paid["p2"][name] for name in columns] == ["at work", None, 0.0, 0, 0.0, None, "EUR", 0]


@pytest.mark.served
def test_failed_checks_stop_and_optionally_exclude(serve: Callable[..., Served]) -> None:
    gold = [{"item": f"g{n}", "text": f"gold {n}", "stars": 5} for n in range(3)]
    for exclude in (False, True):
        checks = {"file": "gold.jsonl", "every": 2, "most_failed": 1, "exclude": exclude}
        page = serve(who=(), tables={"gold.jsonl": gold}, people={"crowd": crowd(), "checks": checks, "ahead": 1})
        bad, good = Worker(page, "bad"), Worker(page, "good")
        bad.come(), good.come()
        assert bad.work_on(wrong=True) == "failed"
        assert "C-FAIL" in bad.send("GET", "/work").text
        assert good.work_on() == "completed"
        people = {row.annotator: row.excluded_for for row in page.rows(tables.people)}
        assert people == {"bad": "failed 2 of 2 attention checks" if exclude else None, "good": None}
        table = page.lead().send("GET", "/lead/labels.csv").text
        assert ("bad" in table) is not exclude
        paid = dict(pay_table(page.design).select("person", "checks_failed").iter_rows())
        assert paid == {"bad": 2, "good": 0}


@pytest.mark.slow
def test_participant_without_items_gets_outcome_full(serve: Callable[..., Served]) -> None:
    page = serve(who=(), items=2, people={"crowd": crowd(), "overlap": 1})
    first, second = Worker(page, "p1"), Worker(page, "p2")
    first.come()
    assert first.work_on() == "completed"
    assert "C-FULL" in second.come().text
    assert outcomes(page) == {"p1": "completed", "p2": "full"}


@pytest.mark.slow
def test_invited_annotators_and_a_crowd_share_a_study(serve: Callable[..., Served]) -> None:
    page = serve(who=("ana",), items=2, people={"crowd": crowd(), "pay": {"USD": {"item": 0.5, "hour": 6}}})
    ana = page.annotator()
    assert ana.work_through() == "done"
    assert ana.form("/leave", answers="keep").status == 404
    row = pay_table(page.design).row(0, named=True)
    assert (row["person"], row["answered"], row["pay"]) == ("ana", 2, 1.01)  # 3 seconds of 6 an hour: half a cent
    assert page.visitor().send("GET", "/enter").status == 422
    other = serve(who=("ana",))
    assert other.visitor().send("GET", "/enter?id=p1").status == 404
    ana_there = other.annotator()
    assert "/leave" not in ana_there.send("GET", "/work").text


def test_address_cannot_impersonate_invited_annotator(serve: Callable[..., Served]) -> None:
    page = serve(who=("ana",), people={"crowd": crowd()})
    reply = Worker(page, "ana").come()
    assert (reply.status, "invited already" in reply.text) == (403, True)
    assert page.rows(tables.visits) == []


def test_erase_removes_the_visit(serve: Callable[..., Served]) -> None:
    from assay.study.store.people import erase

    page = serve(who=(), people={"crowd": crowd()})
    Worker(page, "p1").come()
    erase(page.store, "p1")
    assert page.rows(tables.visits) == []


@pytest.mark.parametrize(
    ("outcome", "items", "hours", "amount"),
    [("completed", 10, 0.5, 2 + 1 + 3), ("screened", 0, 0, 0.25), ("failed", 0, 0, 0.5), ("late", 3, 0, 0.7),
     (None, 2, 0, 0.2), ("withdrawn", 0, 0, 0.0), ("full", 0, 0, 0.0)],
)  # fmt: skip
def test_amount_due(outcome: Any, items: int, hours: float, amount: float) -> None:
    pay = Pay(completed=2, screened=0.25, failed=0.5, late=0.4, item=0.1, hour=6)
    assert amount_due(pay, outcome, items, hours) == pytest.approx(amount)


@pytest.mark.parametrize(
    ("platform", "query", "taken"),
    [
        ("prolific", "PROLIFIC_PID=5f3a9b0c1d2e3f4a5b6c7d8e&STUDY_ID=s&SESSION_ID=x", True),
        ("prolific", "PROLIFIC_PID=5f3a9b0c1d2e3f4a5b6c7d8&STUDY_ID=s&SESSION_ID=x", False),
        ("prolific", "PROLIFIC_PID=me&STUDY_ID=s&SESSION_ID=x", False),
        ("mturk", "workerId=A1B2C3D4E5F6G7&assignmentId=x&hitId=y", True),
        ("mturk", "workerId=worker&assignmentId=x&hitId=y", False),
        ("other", "id=me", True),
    ],
)
def test_ids_have_the_form_of_the_platform(
    serve: Callable[..., Served], platform: str, query: str, taken: bool
) -> None:
    page = serve(who=(), people={"crowd": {"platform": platform, "places": 3, "codes": CODES}})
    reply = page.visitor().send("GET", f"/enter?{query}")
    assert reply.status == (200 if taken else 422)
    assert ("which is not a valid id" in reply.text) is not taken


@pytest.mark.slow
def test_open_visit_goes_on_in_the_newest_session(serve: Callable[..., Served]) -> None:
    page = serve(who=(), people={"crowd": crowd()})
    Worker(page, "p1").come()
    again = Worker(page, "p1", session="another")
    assert again.come().status == 200
    assert again.cookie
    (row,) = page.rows(tables.visits)
    assert row.given["SESSION_ID"] == "another"


@pytest.mark.served
def test_payments_are_written_as_the_platforms_take_them(serve: Callable[..., Served]) -> None:
    pay = {"GBP": {"completed": 2.0, "screened": 0.0, "late": 0.5, "item": 0.1}}
    page = serve(who=(), items=3, people={"crowd": crowd(), "pay": pay})
    for name, most in (("p1", 100), ("p2", 2)):
        one = Worker(page, name)
        one.come()
        one.work_on(most)
    one.form("/leave", answers="keep")
    # The platform pays the reward of 2.00 for p1; the bonuses are for items.
    assert platform_file(page.design, "prolific") == "p1,0.30\np2,0.20\n"
    assert page.lead().send("GET", "/lead/pay-prolific.csv").text == "p1,0.30\np2,0.20\n"
    assert "Bonuses for Prolific" in page.lead().send("GET", "/lead").text
    with pytest.raises(StudyError, match="needs hitId and assignmentId"):
        platform_file(page.design, "mturk")


def test_approvals_for_mechanical_turk(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"person": "W1", "outcome": "completed", "hitId": "H1", "assignmentId": "A1"},
        {"person": "W2", "outcome": "failed", "hitId": "H1", "assignmentId": "A2"},
        {"person": "ann", "outcome": "invited", "hitId": None, "assignmentId": None},
    ]
    monkeypatch.setattr(crowd_module, "pay_table", lambda design: pl.DataFrame(rows))
    design: Any = None
    assert platform_file(design, "mturk").splitlines() == [
        "HITId,AssignmentId,WorkerId,Approve,Reject", "H1,A1,W1,x,", "H1,A2,W2,,",
    ]  # fmt: skip


@pytest.mark.slow
def test_pay_table_refuses_empty_study(serve: Callable[..., Served]) -> None:
    with pytest.raises(StudyError, match="there are no participants or invited annotators"):
        pay_table(serve(who=(), people={"crowd": crowd()}).design)


@pytest.mark.parametrize(
    ("people", "words"),
    [
        ({"crowd": {"places": 2, "platform": "prolific"}}, "requires completed, the completion code"),
        ({"crowd": {"places": 2, "parameters": []}}, "platform: open"),
        ({"crowd": {"places": 2, "back": "https://x.org/{cod}"}}, "cod"),
        ({"crowd": {"places": 2, "back": "x.org/{code}"}}, "must begin with http"),
        ({"crowd": {"places": 2, "minutes": 5}, "days_apart": 1}, "puts days between"),
        ({"crowd": {"places": 2}, "overlap": {"job": {"nurse": 1}}}, "does not determine the group (job)"),
        ({"crowd": {"places": 2, "codes": {"finished": "X"}}}, "finished"),
        ({"crowd": {"places": 2}, "ask": {"screening": {"q": {"?": {"a": False, "b": False}}}}}, "at least one right"),
        ({"ask": {"screening": {"q": {"?": ["a", "b"]}}}}, "is for a crowd; ask invited annotators under before"),
        ({"checks": {"file": "items.jsonl", "exclude": True}}, "requires most_failed"),
    ],
)
def test_invalid_crowd_settings_are_refused(tmp_path: Any, people: dict[str, Any], words: str) -> None:
    folder = write_study(tmp_path / "study", people=people)
    with pytest.raises(StudyError) as error:
        load_study(folder)
    assert words in str(error.value), error.value


def test_crowd_counts_give_the_platform_address() -> None:
    given: Mapping[str, str] = {
        "prolific": "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}",
        "mturk": "?workerId=${workerId}&assignmentId=${assignmentId}&hitId=${hitId}",
        "other": "?id=<id>",
        "open": "",
    }
    for platform, query in given.items():
        assert Crowd.model_validate({"places": 1, "platform": platform}).query == query


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "places"), [(20, 12), (100, 65)])
def test_prolific_stub(serve: Callable[..., Served], clock: Clock, workers: int, places: int) -> None:
    """A fifth return, a twentieth fail the checks: places exact, codes right, payment equal to the log."""
    chance = random.Random(3)
    gold = [{"item": f"g{n}", "text": f"gold {n}", "stars": 5} for n in range(4)]
    checks = {"file": "gold.jsonl", "every": 2, "most_failed": 0, "exclude": True}
    pay = {"GBP": {"completed": 1.5, "failed": 0.2, "item": 0.05}}
    page = serve(
        who=(), items=5 * workers // 8, tables={"gold.jsonl": gold},
        people={"crowd": crowd(places=places), "checks": checks, "overlap": 8, "quota": 4, "ahead": 1, "pay": pay},
    )  # fmt: skip
    clock.stop()
    log: dict[str, tuple[str, int]] = {}  # the platform's record of each participant: returned code and number of items
    for number in range(workers):
        name = f"w{number:03d}"
        worker = Worker(page, name)
        reply = worker.come()
        if "C-FULL" in reply.text:
            log[name] = ("C-FULL", 0)
        elif number % 5 == 4:
            done = chance.randrange(3)
            worker.work_on(done)
            clock.later(minutes=1)
            assert "C-NO" in worker.form("/leave", answers="keep").text
            log[name] = ("C-NO", done)
        else:
            kind = worker.work_on(wrong=number % 20 == 7)
            clock.later(minutes=1)
            html = worker.pages()[1]["end"]["html"]
            code = html.partition("cc=")[2].partition('"')[0]
            assert (kind, code) in {("completed", "C-DONE"), ("failed", "C-FAIL")}
            log[name] = (code, 6 if kind == "completed" else 0)
    said = Counter(code for code, _ in log.values())
    assert said["C-DONE"] == places, said
    assert min(said["C-FULL"], said["C-NO"], said["C-FAIL"]) > 0, said
    table = pay_table(page.design)
    assert tuple(table.columns) == (*PAY_COLUMNS, "STUDY_ID", "SESSION_ID")
    owed = {"C-DONE": 1.5, "C-FAIL": 0.2, "C-NO": 0.0, "C-FULL": 0.0}
    expected = {name: (code, round(owed[code] + 0.05 * done, 2)) for name, (code, done) in log.items()}
    assert {row["person"]: (row["code"], row["pay"]) for row in table.iter_rows(named=True)} == expected
    assert set(table["currency"]) == {"GBP"}
    counted = Counter(row.item for row in page.rows(tables.tasks) if row.state == "answered" and row.role == "item")
    failed = {row.annotator for row in page.rows(tables.people) if row.excluded_at is not None}
    of_excluded = Counter(row.item for row in page.rows(tables.tasks)
                          if row.annotator in failed and row.state == "answered" and row.role == "item")  # fmt: skip
    assert len(failed) == said["C-FAIL"]
    assert max((counted - of_excluded).values()) <= 8, "no item has more answers that count than its overlap"
    labels = page.lead().send("GET", "/lead/labels.csv").text
    assert not any(name in labels for name in failed)


PEOPLE_OF = {"platform": "other", "places": 2, "parameters": ["who", "batch"]}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"who": " ana ", "batch": " b1 ", "more": "x"}, ("ana", {"batch": "b1"})),
        ({"who": "x" * 200, "batch": "a.b@c:d+e-f_1"}, ("x" * 200, {"batch": "a.b@c:d+e-f_1"})),
        ({"who": "x" * 201, "batch": "b"}, f"The parameter who is '{'x' * 60}', which is not a valid id."),
        ({"who": "a b", "batch": "b"}, "The parameter who is 'a b', which is not a valid id."),
        ({"who": "ana", "batch": "{{b}}"}, "The parameter batch is '{{b}}', which is not a valid id."),
        ({"batch": "b"}, "The parameter who, which identifies participants, is missing."),
        ({"who": "ana", "batch": "  "}, "The parameter batch, which identifies participants, is missing."),
        ({"who": "ana", "batch": "ASSIGNMENT_ID_NOT_AVAILABLE"}, "Then open this link again."),
    ],
)
def test_read_address_returns_id_and_parameters(query: dict[str, str], found: Any) -> None:
    crowd = Crowd.model_validate(PEOPLE_OF)
    if isinstance(found, tuple):
        assert read_address(crowd, query) == found
        return
    with pytest.raises(Refused) as error:
        read_address(crowd, query)
    assert error.value.status == 422
    assert str(error.value.text).startswith(found)


def test_open_entry_generates_an_id() -> None:
    crowd = Crowd.model_validate({"platform": "open", "places": 2})
    names = {read_address(crowd, {})[0] for _ in range(20)}
    assert len(names) == 20
    assert {len(name) for name in names} == {len("visitor-") + 12}


@pytest.mark.parametrize(
    ("outcome", "minutes", "now", "found"),
    [
        (None, 20, 1000 + 1199.9, None), (None, 20, 1000 + 1200, "late"), (None, None, 1e9, None),
        ("completed", 20, 1e9, "completed"),
    ],
)  # fmt: skip
def test_visit_is_late_after_its_minutes(outcome: Any, minutes: Any, now: float, found: str | None) -> None:
    crowd = Crowd.model_validate({**PEOPLE_OF, "minutes": minutes})
    visit = Visit("ana", {}, came_at=1000.0, outcome=outcome)
    assert outcome_at(visit, crowd, now) == found
    assert outcome_at(visit, None, now) == outcome


@pytest.mark.parametrize(
    ("person", "came", "words"),
    [(None, True, "at work"), (None, False, "invited"), (None, None, "invited"), ("kept", True, "at work"),
     ("kept", False, "invited"), ("excluded", True, "excluded"), ("excluded", False, "excluded")],
)  # fmt: skip
def test_state_of_person_without_outcome(person: str | None, came: Any, words: str) -> None:
    excluded_at = 5.0 if person == "excluded" else None
    found = None if person is None else Person("ana", {}, 1, "active", None, excluded_at=excluded_at)
    assert state_without_outcome(found, came=bool(came)) == words


def test_code_of_each_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd_module, "secret_of", lambda store, secret: "s" * 32)
    own, given = Crowd.model_validate(PEOPLE_OF), Crowd.model_validate({**PEOPLE_OF, "codes": {"screened": "C-OUT"}})
    store: Any = None
    ana, ben = (code_of(store, own, name, "completed") for name in ("ana", "ben"))
    assert ana != ben
    assert re.fullmatch(r"[0-9A-F]{10}", ana)
    assert ana == hmac.new(b"s" * 32, b"completed/ana", "sha256").hexdigest()[:10].upper()
    assert [code_of(store, own, "ana", one) for one in ("screened", "failed", "repeated", None)] == ["", "", "", ""]
    assert code_of(store, own, "ana", "late") == hmac.new(b"s" * 32, b"late/ana", "sha256").hexdigest()[:10].upper()
    assert code_of(store, given, "ana", "screened") == "C-OUT"
    assert code_of(store, given, "ana", "completed") == ana
    assert code_of(store, given, "ana", None) == ""


@pytest.mark.parametrize(
    ("back", "codes", "way"),
    [
        ("https://x.org/{code}?w={who}&b={batch}&o={outcome}", {"completed": "C 1"},
         "https://x.org/C%201?w=a%40b&b=b%2F1&o=completed"),
        ("https://x.org/{code}", {}, ""),  # an address without its code leads nowhere
        ("https://x.org/done", {}, "https://x.org/done"),
        ("", {"completed": "C"}, ""),
    ],
)  # fmt: skip
def test_return_link_is_filled_in(monkeypatch: pytest.MonkeyPatch, back: str, codes: dict[str, str], way: str) -> None:
    monkeypatch.setattr(crowd_module, "visit_of", lambda db, name: SimpleNamespace(given={"batch": "b/1"}))
    monkeypatch.setattr(crowd_module, "code_of", lambda store, crowd, name, outcome: codes.get(outcome, ""))
    crowd = SimpleNamespace(id_parameter="who", return_address=back)
    state: Any = SimpleNamespace(
        design=SimpleNamespace(people=SimpleNamespace(crowd=crowd)), store=SimpleNamespace(reading=nullcontext)
    )
    said = end_contents(state, "a@b", "completed")
    assert (said["back"], said["code"], said["title"]) == (way, codes.get("completed", ""), "You have finished")
    state.design.people.crowd = None
    assert (end_contents(state, "a@b", "late")["back"], end_contents(state, "a@b", "late")["kind"]) == ("", "late")


@pytest.mark.parametrize(
    ("item", "hours", "amount"),
    [(0.1, 0.5, 3.1), (0.0, 1 / 3, 2.0), (0.0, 0.0005, 0.0), (0.0, 0.001, 0.01), (1.005, 0.0, 1.01)],
)
def test_amounts_are_rounded_half_up_to_cents(item: float, hours: float, amount: float) -> None:
    """At 6 an hour .0005 h are .3 cents, and .001 h .6; 1.005 is stored as a little less than that."""
    assert amount_due(Pay(item=item, hour=6), None, 1, hours) == amount


@pytest.mark.parametrize(
    ("kind", "states", "outcome", "excludes"),
    [
        (None, [], None, False),
        ("later", [], None, False),
        ("paused", ["answered"], None, False),
        ("done", ["given", "answered"], "completed", False),
        ("done", ["skipped"], "completed", False),
        ("done", ["given"], "full", False),  # a participant without items used no slot
        ("empty", [], "full", False),
        ("empty", ["answered"], "completed", False),
        ("stopped", ["answered"], "failed", True),
        ("over", ["answered"], "late", False),
    ],
)
@pytest.mark.parametrize("came", ["by the address", "by name", "before"])
def test_outcomes_of_a_visit(
    monkeypatch: pytest.MonkeyPatch, kind: Any, states: list[str], outcome: Any, excludes: bool, came: str
) -> None:
    ended, excluded = [], []
    held = SimpleNamespace(end=None if kind is None else SimpleNamespace(kind=kind))
    visit = None if came == "by name" else SimpleNamespace(outcome="returned" if came == "before" else None)
    monkeypatch.setattr(crowd_module, "current_visit", lambda state, db, person: visit)
    monkeypatch.setattr(crowd_module, "end_visit", lambda db, name, how, now: ended.append((name, how, now)))
    monkeypatch.setattr(crowd_module, "_exclude_stopped", lambda state, db, person: excluded.append(person.name))
    monkeypatch.setattr(crowd_module, "_end_page", lambda state, person, how: how)
    tasks = [SimpleNamespace(state=one) for one in states]
    monkeypatch.setattr(crowd_module.store_people, "tasks_of", lambda db, name: tasks)
    people = SimpleNamespace(crowd="one", checks=None)
    state: Any = SimpleNamespace(
        design=SimpleNamespace(people=people), assigner=SimpleNamespace(hold=lambda *of: held),
        store=SimpleNamespace(exclusive=nullcontext, now=lambda db: 5.0),
    )  # fmt: skip
    ana: Any = SimpleNamespace(name="ana")
    found = crowd_module.hold(state, ana, 0, 1)
    if came == "before":
        assert (found, ended, excluded) == ("returned", [], [])
        return
    ends = outcome is not None and came == "by the address"
    assert found is (outcome if ends else held)
    assert ended == ([("ana", outcome, 5.0)] if ends else [])
    assert excluded == (["ana"] if excludes else [])
    people.crowd = None
    for checks in (None, SimpleNamespace(exclude=False)):
        people.checks = checks
        excluded.clear()
        assert crowd_module.hold(state, ana, 0, 1) is held
        assert excluded == []


@pytest.mark.parametrize(
    ("exclude", "excluded_at", "wanted"), [(True, None, [("ana", "failed 2 of 3 checks", False)]), (True, 5.0, []),
                                           (False, None, []), (None, None, [])],
)  # fmt: skip
def test_failed_checks_exclude_with_exclude_true(
    monkeypatch: pytest.MonkeyPatch, exclude: bool | None, excluded_at: float | None, wanted: list[Any]
) -> None:
    found: list[Any] = []
    monkeypatch.setattr(crowd_module, "invited_person", lambda db, name: SimpleNamespace(excluded_at=excluded_at))
    monkeypatch.setattr(crowd_module, "stop_reasons", lambda design, db, name: {name: "failed 2 of 3 checks"})
    monkeypatch.setattr(
        crowd_module.store_people, "exclude", lambda store, name, why, *, end_link: found.append((name, why, end_link))
    )
    checks = None if exclude is None else SimpleNamespace(exclude=exclude)
    state: Any = SimpleNamespace(design=SimpleNamespace(people=SimpleNamespace(checks=checks)), store=None)
    crowd_module._exclude_stopped(state, None, SimpleNamespace(name="ana"))  # type: ignore[arg-type]
    assert found == wanted


@pytest.mark.parametrize(
    ("outcome", "refused"),
    [(None, False), ("completed", False), ("late", True), ("withdrawn", True), ("no visit", False)],
)
def test_requests_after_the_end_of_a_visit_are_refused(
    monkeypatch: pytest.MonkeyPatch, outcome: Any, refused: bool
) -> None:
    visit = None if outcome == "no visit" else SimpleNamespace(outcome=outcome, came_at=0.0)
    monkeypatch.setattr(crowd_module, "visit_of", lambda db, name: visit)
    people = SimpleNamespace(crowd=SimpleNamespace(minutes=None))
    store = SimpleNamespace(reading=nullcontext, now=lambda db: 5.0)
    state: Any = SimpleNamespace(design=SimpleNamespace(people=people), store=store)
    ana: Any = SimpleNamespace(name="ana")
    if refused:
        with pytest.raises(Refused) as error:
            crowd_module.refuse_ended(state, ana)
        title, text = crowd_module.OUTCOMES[outcome]
        assert (error.value.status, error.value.error) == (403, "link")
        assert (str(error.value.title), str(error.value.text)) == (str(title), f"{title}. {text}")
    else:
        crowd_module.refuse_ended(state, ana)
    people.crowd = None
    crowd_module.refuse_ended(state, ana)
