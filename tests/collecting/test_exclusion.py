"""Excluded people, erased people, practice and attention checks."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from annotating import Annotator, Served

from assay.cli.app import main
from assay.collecting.desk.lead import archive
from assay.collecting.desk.overview import Watch
from assay.errors import StudyError
from assay.reading import study_labels
from assay.study.schema import Checks
from assay.study.store import people, tables
from assay.study.store.answers import human_labels
from assay.study.store.items import questions
from assay.study.store.table import stored_annotations
from assay.study.store.work import counting_answers

TWO = {"who": ("ana", "ben"), "items": 4, "people": {"overlap": 1, "order": "fixed", "quota": 2}}


def record(page: Served, name: str) -> list[dict[str, Any]]:
    with zipfile.ZipFile(io.BytesIO(archive(page.store))) as file:
        return [json.loads(line) for line in file.read(f"{name}.jsonl").splitlines()]


def answered(page: Served, *names: str) -> None:
    for name in names:
        page.annotator(name).work_through()


@pytest.mark.slow
def test_excluded_answers_do_not_count_and_are_reported(serve: Callable[..., Served]) -> None:
    page = serve(**TWO)
    answered(page, "ana", "ben")
    assert len(stored_annotations(page.store)) == 4
    (question,) = questions(page.store)
    assert people.exclude(page.store, "ana", "failed the checks") == 2
    table = stored_annotations(page.store)
    assert set(table.labels["annotator"].to_list()) == {"ben"}
    assert any("2" in line and "ana is excluded: failed the checks" in line for line in table.reading.lines())
    assert len(human_labels(page.store, question.id)) == 2, "excluded labels are not shown to a model"
    with page.store.reading() as db:
        counted = {place.annotator for place in db.execute(counting_answers())}
    assert counted == {"ben"}, "a change of the study does not count them"
    whole = study_labels_with_excluded(page)
    assert [row for row in whole if row[1]] == [("ana", True)] * 2
    marked = {(row["annotator"], row["excluded"]) for row in record(page, "answers")}
    assert marked == {("ana", True), ("ben", False)}, "the record keeps and marks them"
    assert [row["excluded_for"] for row in record(page, "people")] == ["failed the checks", None]


def study_labels_with_excluded(page: Served) -> list[tuple[str, bool | None]]:
    table = study_labels(page.study, excluded_people=True)
    return list(zip(table.labels["annotator"].to_list(), table.column("excluded").to_list(), strict=True))


@pytest.mark.slow
def test_exclusion_frees_places(serve: Callable[..., Served]) -> None:
    page = serve(**TWO)
    answered(page, "ana", "ben")
    hers = {row.item for row in page.rows(tables.tasks, tables.tasks.c.annotator == "ana")}
    assert Watch(page.design).look().numbers.percent == 100
    people.exclude(page.store, "ana")
    now = Watch(page.design).look()
    assert (now.numbers.filled, now.numbers.answered, now.numbers.excluded) == (2, 2, 1)
    assert {one.name for one in now.short[0].first} == hers
    page.lead().form("/lead/people", name="chi")
    answered(page, "chi")
    assert {row.item for row in page.rows(tables.tasks, tables.tasks.c.annotator == "chi")} == hers


@pytest.mark.slow
def test_excluded_person_loses_access_and_can_be_readmitted(serve: Callable[..., Served]) -> None:
    page = serve(**TWO)
    ana = page.annotator("ana")
    ana.work_through()
    lead = page.lead()
    assert lead.form("/lead/people/exclude", name="ana", reason="by mistake").status == 303
    assert ana.send("GET", "/work").status == 403
    assert "by mistake" in lead.send("GET", "/lead").text
    for path in ("/lead/people/link", "/lead/people/state"):
        refused = lead.form(path, name="ana", state="active")
        assert refused.status == 422
        assert "is excluded" in refused.text
    with pytest.raises(StudyError, match="no label"):
        stored_annotations(page.store)
    assert lead.form("/lead/people/readmit", name="ana").status == 303
    assert len(stored_annotations(page.store)) == 2
    assert lead.form("/lead/people/link", name="ana").status == 303
    assert page.annotator("ana").send("GET", "/work").status == 200
    with pytest.raises(StudyError, match="'ben' is not excluded"):
        people.readmit(page.store, "ben")
    with pytest.raises(StudyError, match="did you mean 'ben'"):
        people.exclude(page.store, "bem")


@pytest.mark.slow
def test_agreement_and_pace_are_updated_at_once(serve: Callable[..., Served]) -> None:
    page = serve(who=("ana", "ben", "chi"), items=6)
    answered(page, "ana", "ben", "chi")
    watch = Watch(page.design)
    watch._agreement._every = lambda took: 0.0
    assert watch.look().agreement[0].people == 3
    people.exclude(page.store, "chi")
    assert watch.look().agreement[0].people == 2, "though no one has answered since"


def test_exclude_command(serve: Callable[..., Served], capsys: Any) -> None:
    page = serve(**TWO)
    answered(page, "ana")
    for given, said in (
        (("ana", "--reason", "asked for it"), "ana: 2 labels are excluded; the record is kept"),
        (("ana", "--undo"), "ana: 2 labels are included again"),
    ):
        with pytest.raises(SystemExit) as end:
            main(["people", "exclude", str(page.folder), *given])
        assert end.value.code == 0
        assert said in capsys.readouterr().out


def test_erase_removes_everything_of_a_person(serve: Callable[..., Served], capsys: Any) -> None:
    page = serve(who=("Wilhelmina Zed", "ben"), items=4, questions=[{"name": "w", "text": "?", "scale": "text"}])
    her, ben = page.annotator("Wilhelmina Zed"), page.annotator("ben")
    for task in her.work()[:2]:
        her.keep(task, {task.questions[0].id: "unforgettable words"}, comment="unforgettable words")
    (task, *_) = her.work()
    draft = {"revision": 0, "body": {"answers": {"1": "unforgettable words"}}}
    assert her.send("PUT", f"/drafts/{task.id}", draft).status == 204
    ben.keep(ben.work()[0])
    for given in (("Wilhelmina Zed",), ("Nobody", "--yes")):
        with pytest.raises(SystemExit) as end:
            main(["people", "erase", str(page.folder), *given])
        assert end.value.code == 2
    assert people.find(page.store, "Wilhelmina Zed") is not None, "only after confirmation"
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(["people", "erase", str(page.folder), "Wilhelmina Zed", "--yes"])
    assert end.value.code == 0
    assert "2 answers are deleted" in capsys.readouterr().out
    for table in (tables.people, tables.annotators, tables.tasks, tables.assignments):
        assert "Wilhelmina Zed" not in {row.annotator for row in page.rows(table)}
    assert page.rows(tables.drafts) == []
    assert len(page.rows(tables.answers)) == 1
    assert her.send("GET", "/work").status == 403
    for file in page.folder.glob("study.db*"):
        content = file.read_bytes()
        assert b"Wilhelmina" not in content, file
        assert b"unforgettable" not in content, file
    (entry,) = record(page, "erased")
    assert entry["answers"] == 2
    assert "Wilhelmina" not in json.dumps(entry)
    page.lead().form("/lead/people", name="Wilhelmina Zed")
    assert page.annotator("Wilhelmina Zed").work()[0].questions[0].given is None, "a name can be used again"


def test_erase_asks_for_confirmation_at_a_terminal(serve: Callable[..., Served], monkeypatch: Any) -> None:
    page = serve(who=("ana", "ben"))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    for typed, code in (("no", 2), ("ana", 0)):
        monkeypatch.setattr("builtins.input", lambda words, typed=typed: typed)
        with pytest.raises(SystemExit) as end:
            main(["people", "erase", str(page.folder), "ana"])
        assert end.value.code == code
    assert [one.name for one in people.all_people(page.store)] == ["ben"]


# -- gates ------------------------------------------------------------------------------------------

PRACTICE = [{"item": f"w{n}", "text": f"Press {n}.", "stars": n} for n in (1, 2)]
GATED = {
    "people": {"warm_up": {"gold.jsonl": 1.0}, "order": "fixed"},
    "tables": {"gold.jsonl": PRACTICE},
    "items": 3,
}


def practise(ana: Annotator, labels: tuple[int, ...]) -> None:
    for label in labels:
        task = ana.work()[0]
        assert task.practice
        assert ana.keep(task, {task.questions[0].id: label}).json()["feedback"]


@pytest.mark.slow
def test_no_items_are_assigned_before_practice_is_passed(serve: Callable[..., Served]) -> None:
    page = serve(**GATED)
    ana = page.annotator()
    assert [one.practice for one in ana.work()] == [True, True], "no other items are assigned meanwhile"
    practise(ana, (1, 2))
    assert [one.practice for one in ana.work()] == [False] * 3


@pytest.mark.slow
def test_failed_practice_stops_assignment(serve: Callable[..., Served]) -> None:
    page = serve(**GATED)
    ana = page.annotator()
    practise(ana, (1, 3))
    last = ana.work(2)[0]
    assert ana.answer(last, {last.questions[0].id: 2}).status == 200, (
        "changed after the page showed the expected answer"
    )
    tasks, rest = ana.pages()
    assert tasks == []
    assert rest["end"]["kind"] == "stopped"
    assert "Thank you" in rest["end"]["html"]
    (row,) = Watch(page.design).look().people
    assert row.stopped == "answered 1 of 2 practice items correctly"
    assert row.stopped in page.lead().send("GET", "/lead").text


def test_failed_practice_is_tried_again(serve: Callable[..., Served]) -> None:
    page = serve(**{**GATED, "people": {**GATED["people"], "tries": 2}, "who": ("ana", "ben")})
    ana, ben = page.annotator("ana"), page.annotator("ben")
    for one in (ana, ben):
        practise(one, (1, 3))
        (first, *_) = one.work()
        assert first.practice, "practice is given again"
        assert "Another try" in one.send("GET", "/work").text
    practise(ana, (1, 2))
    assert [one.practice for one in ana.work()] == [False] * 3
    practise(ben, (2, 2))
    assert ben.pages()[1]["end"]["kind"] == "stopped"
    rows = {row.name: row.stopped for row in Watch(page.design).look().people}
    assert rows == {"ana": "", "ben": "answered 1 of 2 practice items correctly in the last of 2 tries"}
    assert {row.item for row in page.rows(tables.tasks) if row.role == "warm-up" and row.repeat == 2} == {"w1", "w2"}
    assert page.lead().send("GET", "/lead/labels.csv").status == 404


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "failed"),
    [({"most_failed": 1}, 2), ({"most_failed": 0.4}, 0)],
)
def test_too_many_failed_checks_stop_assignment(
    serve: Callable[..., Served], rule: dict[str, Any], failed: int
) -> None:
    checks = [{"item": f"c{n}", "text": "Press 5.", "stars": 5} for n in range(4)]
    page = serve(
        items=12,
        people={"checks": {"file": "c.jsonl", "every": 2} | rule, "order": "fixed", "ahead": 1},
        tables={"c.jsonl": checks},
    )
    ana = page.annotator()
    seen = []
    while tasks := ana.pages()[0]:
        ana.keep(tasks[0], {tasks[0].questions[0].id: 1})
        seen.append(tasks[0].id)
    assert ana.pages()[1]["end"]["kind"] == ("stopped" if failed else "done")
    of = [row for row in page.rows(tables.tasks) if row.role == "check" and row.state == "answered"]
    assert len(of) == (failed or 4), "a share requires five checks, and there are four"
    assert (len(seen) < 12) == (failed > 0)
    assert Watch(page.design).look().people[0].stopped == (
        f"failed {failed} of {failed} attention checks" if failed else ""
    )


def test_share_of_failed_checks_is_exact() -> None:
    rule = Checks.model_validate({"file": "c.csv", "most_failed": 0.29})
    assert not rule.too_many(29, 100), ".29 * 100 is less than 29 in a computer"
    assert rule.too_many(30, 100)
    assert not rule.too_many(4, 4)
    count = Checks.model_validate({"file": "c.csv", "most_failed": 2})
    assert count.too_many(3, 4)
    assert not count.too_many(2, 5)
    assert Checks.model_validate({"file": "c.csv", "most_failed": 0}).too_many(1, 9)


def test_required_practice_needs_a_warm_up(tmp_path: Path, serve: Callable[..., Served]) -> None:
    with pytest.raises(StudyError, match=r"people\.warm_up: must have one entry"):
        serve(people={"warm_up": {}})
