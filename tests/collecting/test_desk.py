"""The dashboard: item, annotator, search, sorting, adjudication, the study lead's link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from annotating import STARS, Annotator, Served, tasks_of

from assay.collecting.assignment import disputed_items
from assay.collecting.desk.lead import _answer_line, item_sheet, longest_run, person_sheet, question_style
from assay.data.scales import parse_scale
from assay.study.store import tables
from assay.study.store.table import stored_annotations
from assay.study.store.work_log import label_frame

WHY = {"name": "why", "text": "Why?", "scale": "text", "optional": True}
PREFER = {"name": "better", "text": "Which?", "scale": "preference", "options": ["a", "b"]}


def answered(page: Served, name: str, labels: Sequence[int], **said: Any) -> Annotator:
    """A person who answers the items in their order with these stars."""
    person = page.annotator(name)
    for label in labels:
        (task, *_), _ = person.pages()
        assert person.answer(task, {task.questions[0].id: label}, **said).status == 200
    return person


def three(serve: Callable[..., Served], **more: Any) -> Served:
    """Items i000 … i005; ana and ben agree on most, cem answers 1 throughout."""
    page = serve(who=("ana", "ben", "cem", "dan"), items=6, questions=more.pop("questions", (STARS,)),
                 people={"order": "fixed", **more})  # fmt: skip
    answered(page, "ana", [5, 4, 3, 2, 1, 1])
    answered(page, "ben", [5, 4, 3, 2, 2, 1])
    answered(page, "cem", [1, 1, 1, 1, 1, 1])
    return page


def test_item_sheet_has_all_answers(serve: Callable[..., Served]) -> None:
    page = serve(who=("ana", "ben"), items=2, questions=(STARS, WHY), people={"order": "fixed"})
    answered(page, "ana", [4], flag="odd <b>", comment="half is missing")
    answered(page, "ben", [2])
    sheet = item_sheet(page.design, "i000")
    assert sheet is not None
    assert dict(sheet.fields) == {"text": "Text number 0."}
    assert [(one.who, one.question, one.answer) for one in sheet.lines] == [
        ("ana", "stars", "4"),
        ("ben", "stars", "2"),
    ]
    assert sheet.lines[0].remarks == ("flagged: odd <b>", "half is missing")
    lead = page.lead()
    text = lead.send("GET", "/lead/item?name=i000").text
    assert "odd &lt;b&gt;" in text
    assert 'href="/lead/item?name=i000"' in lead.send("GET", "/lead").text, "in addition to the flag"
    assert lead.send("GET", "/lead/item?name=nope").status == 404
    assert page.annotator("ana").send("GET", "/lead/item?name=i000").status == 403


def test_item_sheet_shows_lists_in_words(serve: Callable[..., Served]) -> None:
    asked = [
        {"name": "about", "text": "?", "scale": "several:food,price", "show": ["text"]},
        {"name": "best", "text": "?", "scale": "ranking", "options": ["ant", "bee", "cat"], "show": []},
        {"name": "who", "text": "?", "scale": "spans:person,place", "of": "text", "show": []},
    ]
    item = {"item": "p1", "text": "Ana is in Rome.", "ant": "an ant", "bee": "a bee", "cat": "a cat"}
    page = serve(items=[item, {**item, "item": "p2"}], questions=asked, people={"order": "fixed"})
    ana = page.annotator()
    for about, spans in ((["price", "food"], [[0, 3, "person"], [10, 14, "place"]]), ([], [])):
        (task, *_), _ = ana.pages()
        several, best, who = (question.id for question in task.questions)
        places = {name: task.text.index(item[name]) for name in ("ant", "bee", "cat")}
        shown = sorted(places, key=lambda one: places[one])
        ranked = ["ABC"[shown.index(one)] for one in ("cat", "ant", "bee")]
        assert ana.answer(task, {several: about, best: ranked, who: spans}).status == 200
    sheet, person = item_sheet(page.design, "p1"), person_sheet(page.design, "ana", {})
    assert sheet is not None
    assert person is not None
    told = [one.answer for one in sheet.lines]
    assert told == ["food, price", "cat > ant > bee", "person: Ana; place: Rome"]
    assert [one.answer for item, one in person.lines if item == "p2"] == [
        "Nothing to mark", "cat > ant > bee", "None of these",
    ]  # fmt: skip


def test_answers_of_judges_are_hidden_until_the_blind_phase_ends(serve: Callable[..., Served]) -> None:
    page = serve(who=("ana",), items=1)
    with page.store.exclusive() as db:
        question = page.design.questions[0].id
        about = {
            "item": "i000",
            "question": question,
            "annotator": "gpt",
            "recipe": "r",
            "condition": "{}",
            "repeat": 1,
        }
        db.execute(tables.annotators.insert().values(annotator="gpt", kind="judge", definition={}, active=True))
        db.execute(tables.assignments.insert().values(id=90, **about, status="answered", active=True, answer=70))
        one = {"id": 70, "assignment": 90, "request_key": "k", "revision": 1, "status": "valid", "label": 3}
        shown = {"about": {"p_3": 0.84, "p_4": 0.16}}
        db.execute(tables.answers.insert().values(**one, answered_at=1.0, reasoning="It is <cold>.", shown=shown))
    lead = page.lead()
    before = lead.send("GET", "/lead/item?name=i000").text
    assert "1 answer of judges is hidden" in before
    assert "gpt" not in before
    assert "Distance of judges" not in lead.send("GET", "/lead/items").text
    assert "judges" not in lead.send("GET", "/lead/items.csv").text
    ana = page.annotator("ana")
    (task,) = ana.work(1)[:1]
    ana.answer(task, {task.questions[0].id: 5})
    assert lead.form("/lead/blind", item="i000").headers["location"] == "/lead/item?name=i000"
    after = lead.send("GET", "/lead/item?name=i000").text
    assert "gpt" in after
    assert "It is &lt;cold&gt;." in after
    assert "probability 0.84" in after
    table = lead.send("GET", "/lead/items?sort=judges&show=judges").text
    assert "<bdi>gpt</bdi>: 3" in table
    assert '<td class="n">0.50</td></tr>' in table  # 3 and 5 of 1 to 5
    assert lead.send("GET", "/lead/items.csv").text.splitlines()[1].endswith("gpt: 3,0.5")
    assert "blind phase ended" in lead.send("GET", "/lead/log").text
    # Annotators never see them.
    assert "gpt" not in ana.send("GET", "/work/1").text


@pytest.mark.slow
def test_person_sheet_compares_with_others(serve: Callable[..., Served]) -> None:
    page = three(serve)
    minutes = {"ana": 0.5, "ben": 0.02, "cem": 0.04}
    ana, cem = (person_sheet(page.design, name, minutes) for name in ("ana", "cem"))
    assert ana is not None and cem is not None  # noqa: PT018
    (mine,), (flat,) = ana.styles, cem.styles
    # By hand: with ben ana agrees on 5 of 6 items, with cem on the last two: (.5 * 4 + .5 + 1) / 6.
    assert mine.agree == pytest.approx(3.5 / 6)
    assert mine.others == pytest.approx(1 / 6)  # ben and cem, on the last item
    assert mine.low is not None and mine.high is not None and mine.low < 3.5 / 6 < mine.high  # noqa: PT018
    assert (flat.run, flat.of, mine.run) == (6, 6, 2)
    assert flat.shares[0] == ("1", 1.0, 3 / 12)
    assert ana.quartiles == (1.5, 1.5, 1.5)
    assert ana.others_median == pytest.approx(60 * 0.03)
    assert (ana.name, ana.attributes, ana.checks_failed, ana.checks) == ("ana", (), 0, 0)
    assert [(item, line.answer, line.seconds) for item, line in ana.lines] == [
        (f"i{5 - n:03d}", answer, 1.5) for n, answer in enumerate("112345")
    ]
    dan = person_sheet(page.design, "dan", {})
    assert dan is not None and dan.styles == () and dan.quartiles is None  # noqa: PT018
    lead = page.lead()
    sheet = lead.send("GET", "/lead/person?name=cem").text
    assert "Longest run of equal answers: 6 of 6" in sheet
    assert "the median 2 (other annotators: 2)." in sheet
    assert 'href="/lead/person.zip?name=cem" download' in sheet
    assert lead.send("GET", "/lead/person?name=nope").status == 404


@pytest.mark.slow
def test_person_sheet_omits_agreement_with_few_items(serve: Callable[..., Served]) -> None:
    page = serve(who=("ana", "ben"), people={"order": "fixed"})
    answered(page, "ana", [1, 2, 3, 4])
    answered(page, "ben", [1, 2, 3, 4])
    sheet = person_sheet(page.design, "ana", {})
    assert sheet is not None
    assert (sheet.styles[0].agree, sheet.styles[0].items) == (None, 4)


@pytest.mark.slow
def test_annotators_are_found_and_sorted(serve: Callable[..., Served]) -> None:
    page = three(serve)
    lead = page.lead()

    def names(query: str) -> list[str]:
        text = lead.send("GET", f"/lead/live{query}").text.partition('<table class="people">')[2]
        return [one.partition('"')[0] for one in text.partition("</table>")[0].split('<tr data-key="')[1:]]

    assert names("") == ["ana", "ben", "cem", "dan"]
    assert names("?sort=last") == ["cem", "ben", "ana", "dan"]
    assert names("?find=AN") == ["ana", "dan"]
    assert names("?find=an&sort=done") == ["ana", "dan"]
    assert names("?sort=nonsense&find=zz") == []


@pytest.mark.slow
def test_adjudicator_gets_largest_disagreement_first(serve: Callable[..., Served]) -> None:
    page = three(serve)
    with page.store.reading() as db:
        found = disputed_items(page.design.parts[0], label_frame(db), "{}", ())
    # i000: |5-5|, |5-1|, |5-1| over 4: 2/3; i005 is agreed on.
    assert list(found) == ["i000", "i001", "i002", "i003", "i004"]
    assert found["i000"] == pytest.approx(2 / 3)
    assert found["i004"] == pytest.approx(2 / 3 / 4)


@pytest.mark.slow
def test_adjudicator_decides_blind_and_is_not_an_annotator(serve: Callable[..., Served]) -> None:
    page = three(serve, overlap=3)
    labels = stored_annotations(page.store)
    shortfall = page.lead().send("GET", "/lead/live").text.partition("short-title")[2][:400]
    lead = page.lead()
    assert lead.form("/lead/adjudicators", name="eve").status == 303
    assert lead.form("/lead/adjudicators", name="ana").status == 422, "no adjudicator decides on their own answers"
    eve = page.annotator("eve")
    (task, *_), rest = eve.pages()
    assert "Text number 0." in task.text
    blind = task.text.partition("Answers of others to stars")[2]
    assert sorted(line.strip()[-1] for line in blind.split("How many")[0].strip().splitlines()) == ["1", "5", "5"]
    assert not any(name in task.text for name in ("ana", "ben", "cem"))
    assert rest["progress"]["total"] is None
    assert eve.answer(task, {task.questions[0].id: 4}, comment="ben is right").status == 200
    seen = [task.text]
    while found := eve.pages()[0]:
        assert eve.answer(found[0], {found[0].questions[0].id: 2}).status == 200
        seen.append(found[0].text)
    assert eve.pages()[1]["end"]["kind"] == "done"
    assert len(seen) == 5, "the items with disagreement, and no other"
    again = stored_annotations(page.store)
    assert again.labels.equals(labels.labels), "the labels of the study are unchanged"
    assert sum(one.count for one in again.reading.exclusions if "decides between" in one.reason) == 5
    whole = stored_annotations(page.store, excluded_people=True)
    marks = zip(whole.labels["annotator"].to_list(), whole.column("excluded").to_list(), strict=True)
    assert [mark for name, mark in marks if name == "eve"] == [True] * 5
    text = lead.send("GET", "/lead/live").text
    assert "<strong>5</strong> items, 5 of them adjudicated" in text
    assert text.partition("short-title")[2][:400] == shortfall
    assert lead.send("GET", "/lead/adjudicated.csv").text.splitlines()[1] == "i000,stars,4,eve,ben is right,true"


@pytest.mark.slow
def test_two_adjudicators_share_the_items(serve: Callable[..., Served]) -> None:
    page = three(serve, ahead=1)
    lead = page.lead()
    for name in ("eve", "fay"):
        lead.form("/lead/adjudicators", name=name)
    tasks = [page.annotator(name).pages()[0] for name in ("eve", "fay")]
    first, second = ({one.text.partition("What")[0] for one in some} for some in tasks)
    assert first
    assert second
    assert not first & second


def test_blinded_answers_use_the_sides_of_the_adjudicator(serve: Callable[..., Served]) -> None:
    items = [{"item": f"i{n}", "a": f"text a{n}", "b": f"text b{n}"} for n in range(8)]
    page = serve(who=("ana", "ben"), items=items, questions=(PREFER,), people={"order": "fixed"})
    for name, wanted in (("ana", "text a"), ("ben", "text b")):
        person = page.annotator(name)
        while tasks := person.pages()[0]:
            first = tasks[0].text.find(wanted) < tasks[0].text.find("text b" if wanted == "text a" else "text a")
            person.answer(tasks[0], {tasks[0].questions[0].id: "first" if first else "second"})
    page.lead().form("/lead/adjudicators", name="eve")
    eve = page.annotator("eve")
    said = eve.pages()[0][0].text.partition("Answers of others to better")[2]
    assert sorted(word for word in ("left", "right") if word in said) == ["left", "right"]


@pytest.mark.slow
def test_lead_link_can_be_renewed(serve: Callable[..., Served]) -> None:
    page = serve()
    old, other = page.lead(), page.lead()
    reply = old.form("/lead/link")
    assert reply.status == 303
    refused = other.send("GET", "/lead")
    assert (refused.status, "newer link for the study lead" in refused.text) == (403, True)
    assert page.visitor(other.link).join().status == 403
    old.cookie = "; ".join(one.partition(";")[0] for one in reply.cookies)
    assert old.send("GET", "/lead").status == 200, "the browser that requested it keeps access"
    assert page.lead().send("GET", "/lead").status == 200


def test_preview_shows_first_pages_and_stores_nothing(serve: Callable[..., Served]) -> None:
    page = serve(items=5, questions=(STARS, WHY), people={"consent": "Read <this>.", "instructions": "Be kind."})
    lead = page.lead()
    reply = lead.send("GET", "/lead/preview")
    assert reply.status == 200
    assert "Read &lt;this&gt;." in reply.text
    assert "Be kind." in reply.text
    shown = [task.text for task in tasks_of(reply.text)]
    assert len(shown) == 3
    assert all("How many stars?" in text for text in shown)
    assert "<script" not in reply.text
    assert page.rows(tables.tasks) == []
    assert page.annotator().send("GET", "/lead/preview").status == 403
    drawn = serve(items=[{"item": f"i{n}", "idea": f"idea {n}"} for n in range(4)],
                  questions=[{"name": "odd", "text": "?", "scale": "odd-one-out", "options": ["idea"]}])  # fmt: skip
    assert "triplets are drawn" in drawn.lead().send("GET", "/lead/preview").text


def test_question_style_by_hand() -> None:
    """Six items, of which others answered five: 1, 1/2, 0, 1 and 2/3 of the others' answers agree."""
    scale = parse_scale("1-3")
    mine = {"a": 1, "b": 1, "c": 2, "d": 3, "e": 3, "f": 3}
    others = {"a": [1], "b": [1, 2], "c": [1], "d": [3, 3], "e": [3, 3, 1], "g": [2, 2]}
    found = question_style("stars", scale, [1, 1, 2, 3, 3, 3], mine, others)
    assert found.shares == (("1", 2 / 6, 4 / 11), ("2", 1 / 6, 3 / 11), ("3", 3 / 6, 4 / 11))
    assert (found.run, found.of, found.items) == (3, 6, 5)
    share = (1 + 1 / 2 + 0 + 1 + 2 / 3) / 5
    assert found.agree == pytest.approx(share)
    assert (found.low, found.high) == pytest.approx((0.2525, 0.8983), abs=1e-4)  # Wilson of .6333 in 5
    assert found.others == pytest.approx((0 + 1 + 1 / 3) / 3)
    alone = question_style("stars", scale, [1, 1], mine, {key: one[:1] for key, one in others.items()})
    assert (alone.others, alone.items) == (None, 5)
    few = question_style("stars", scale, [1, 1], mine, {key: others[key] for key in "abcd"})
    assert (few.agree, few.low, few.others, few.items) == (None, None, None, 4)
    assert question_style("x", parse_scale("interval:0-1"), [0.5], {}, {}).shares == ()
    assert [longest_run(one) for one in ([], [2], [1, 2, 2, 1], [3, 3, 3, 1, 1])] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("changed", "answer", "counts"),
    [
        ({}, "2.5", True),
        ({"label": "good"}, "good", True),
        ({"label": None}, "", True),
        ({"status": "missing", "reason": "skipped: no idea"}, "skipped: no idea", False),
        ({"status": "missing", "reason": None}, "missing", False),
        ({"excluded_at": 3.0}, "2.5", False),
        ({"does": "adjudicator"}, "2.5", False),
    ],
)
def test_answer_line(changed: dict[str, Any], answer: str, counts: bool) -> None:
    row = {"annotator": "ana", "kind": "human", "criterion": "stars", "label": 2.5, "status": "valid", "reason": None,
           "condition": '{"scale": "1-5", "show": "all"}', "repeat": 2, "seconds": 4.0, "flag": "odd", "comment": "hm",
           "excluded_at": None, "does": None, "question": 1, "shown": {"task": 7}, "reasoning": None}  # fmt: skip
    asked: Any = SimpleNamespace(questions=())
    line = _answer_line(asked, SimpleNamespace(**row | changed), {})
    assert (line.answer, line.counts, line.condition) == (answer, counts, "scale 1-5, show all")
    assert line.remarks == ("flagged: odd", "hm")
    assert line.kind == ("adjudicator" if "does" in changed else "human")
    assert line.task == 7
