"""Exports in the layout of current versions: every row is a label or counted, for any answers.

Label Studio 1.23 (`GET /api/projects/{id}/export?exportType=JSON`), Inspect AI's log format 2, MLflow 3.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import assay
from assay.data.formats.platforms import intake, paths
from assay.data.formats.platforms.intake import Intake, PlatformAnswer
from assay.data.scales import Nominal, Ordinal, Text
from assay.errors import DataError

# -- Label Studio -------------------------------------------------------------------------------------


def annotated(number: int, who: int | None, *results: dict, skipped: bool = False) -> dict:
    """An annotation with the fields of a full JSON export."""
    return {
        "id": number, "completed_by": who, "result": list(results), "was_cancelled": skipped, "ground_truth": False,
        "created_at": f"2026-11-20T10:{number:02d}:00.000000Z", "updated_at": f"2026-11-20T10:{number:02d}:30.000000Z",
        "draft_created_at": None, "lead_time": 12.5, "prediction": {}, "result_count": len(results),
        "unique_id": f"5f1c-{number}", "import_id": None, "last_action": None, "bulk_created": False, "task": 1,
        "project": 3, "updated_by": who, "parent_prediction": None, "parent_annotation": None, "last_created_by": None,
    }  # fmt: skip


def chosen(choice: str) -> dict:
    value = {"choices": [choice]}
    return {"id": "a1", "from_name": "mood", "to_name": "text", "type": "choices", "origin": "manual", "value": value}


def typed(text: str) -> dict:
    value = {"text": [text]}
    return {"id": "b1", "from_name": "share", "to_name": "text", "type": "textarea", "origin": "manual", "value": value}


def task(number: int, *annotations: dict) -> dict:
    return {
        "id": number, "inner_id": number, "data": {"key": f"k{number}", "text": "a review"}, "meta": {},
        "annotations": list(annotations), "predictions": [], "drafts": [], "file_upload": None, "project": 3,
        "created_at": "2026-11-20T09:00:00.000000Z", "updated_at": "2026-11-20T11:00:00.000000Z", "allow_skip": True,
        "total_annotations": len(annotations), "cancelled_annotations": 0, "total_predictions": 0, "updated_by": 1,
        "comment_count": 0, "unresolved_comment_count": 0, "last_comment_updated_at": None, "comment_authors": [],
    }  # fmt: skip


def test_read_label_studio_with_marks_and_spellings(put, answers, excluded):
    path = put(
        "export.json",
        [
            task(1, annotated(1, 2, chosen("Good")), annotated(2, 3, chosen("good")), annotated(3, 4, skipped=True)),
            task(2, annotated(4, 2, chosen("Bad")), annotated(5, 3, chosen("N/A")), annotated(6, None, chosen("Bad"))),
            task(3, annotated(7, 2, chosen("Good")), annotated(8, 3)),
        ],
    )
    with pytest.raises(DataError, match=r"'N/A' .*can be missing values or categories: set missing=\['N/A'\]"):
        assay.read(path, item="key")
    with pytest.raises(DataError, match=r"labels differ only in spelling: 'Good', 'good'"):
        assay.read(path, item="key", missing=["N/A"])
    labels = assay.read(path, item="key", missing=["N/A"], label_spelling="merge", users={2: "ann", 3: "bob"})
    assert answers(labels, "item", "annotator", "label") == {
        ("k1", "ann", "Good"), ("k1", "bob", "Good"), ("k2", "ann", "Bad"), ("k3", "ann", "Good"),
    }  # fmt: skip
    assert excluded(labels) == {
        intake.SKIPPED: 1, intake.UNKNOWN_ANNOTATOR: 1, intake.EMPTY: 1, "missing label (N/A)": 1,
    }  # fmt: skip


def test_read_label_studio_with_percentages(put, answers, excluded):
    shares = [("80%", "75 %"), ("7,5%", "10%")]
    tasks = [
        task(i, annotated(2 * i, 2, typed(a)), annotated(2 * i + 1, 3, typed(b))) for i, (a, b) in enumerate(shares)
    ]
    path = put("export.json", tasks)
    assert assay.read(path, item="key").scale == Text(), "a text area contains text by default"
    labels = assay.read(path, item="key", scale="interval:0-100")
    assert answers(labels, "item", "annotator", "label") == {
        ("k0", "2", 80.0), ("k0", "3", 75.0), ("k1", "2", 7.5), ("k1", "3", 10.0),
    }  # fmt: skip
    assert "labels such as '80%' parsed as percentages" in " ".join(labels.reading.notes)
    some = assay.read(path, item="key", scale="interval:50-100")
    assert excluded(some) == {intake.OFF_SCALE: 2}


# -- Inspect AI ---------------------------------------------------------------------------------------


def scored(number: int, epoch: int, **values: object) -> dict:
    """A sample of an evaluation log."""
    scores = {
        name: {
            "value": value, "answer": "It was fine.", "explanation": f"GRADE: {value}", "history": [],
            "metadata": {"grading": [{"id": "x", "content": "You are assessing", "role": "user"}]},
        }
        for name, value in values.items()
    }  # fmt: skip
    return {
        "id": number, "epoch": epoch, "uuid": f"u{number}{epoch}", "input": "Was it fine?", "target": "yes",
        "messages": [], "output": {"model": "m/tested", "choices": [], "completion": "It was fine."},
        "scores": scores, "metadata": {}, "store": {}, "events": [], "model_usage": {}, "role_usage": {},
        "started_at": "2026-11-21T00:21:39+00:00", "completed_at": "2026-11-21T00:21:40+00:00", "total_time": 0.1,
        "working_time": 0.1,
    }  # fmt: skip


def log(*samples: dict) -> dict:
    about = {
        "eval_id": "e1", "run_id": "r1", "created": "2026-11-21T00:21:39+00:00", "task": "probe", "task_id": "t1",
        "task_version": 0, "task_attribs": {}, "task_args": {}, "dataset": {"name": "probe", "samples": 3},
        "model": "m/tested", "model_args": {}, "config": {"epochs": 1}, "packages": {"inspect_ai": "0.3.170"},
        "scorers": [
            {"name": "model_graded_qa", "options": {"model": {"model": "m/grader"}}, "metrics": []},
            {"name": "stars", "options": {"model": {"model": "m/rater"}}, "metrics": []},
        ],
    }  # fmt: skip
    return {
        "version": 2, "status": "success", "eval": about, "plan": {"name": "plan", "steps": []},
        "results": {"total_samples": len(samples), "completed_samples": len(samples), "scores": []},
        "stats": {}, "invalidated": False, "tags": [], "metadata": {}, "samples": list(samples),
    }  # fmt: skip


def test_read_inspect_with_letters_and_parts(put, answers, excluded):
    path = put(
        "log.json",
        log(
            scored(1, 1, model_graded_qa="C", stars="4/5"),
            scored(2, 1, model_graded_qa="P", stars="2/5"),
            scored(3, 1, model_graded_qa="I", stars=float("nan")),
        ),
    )
    labels = assay.read(path)
    assert answers(labels, "item", "annotator", "criterion", "label") == {
        ("1", "m/grader", "model_graded_qa", "C"), ("2", "m/grader", "model_graded_qa", "P"),
        ("3", "m/grader", "model_graded_qa", "I"), ("1", "m/rater", "stars", "4"), ("2", "m/rater", "stars", "2"),
    }  # fmt: skip
    assert labels.scales == {"model_graded_qa": Nominal(), "stars": Ordinal(1, 5)}
    assert excluded(labels) == {intake.UNSCORED: 1}


# -- MLflow -------------------------------------------------------------------------------------------


def assessed(name: str, kind: str, who: str, value: object) -> dict:
    return {
        "assessment_id": f"a-{name}-{who}-{value}", "assessment_name": name, "trace_id": "tr-1",
        "source": {"source_type": kind, "source_id": who}, "create_time": "2026-11-21T10:00:00.000Z",
        "last_update_time": "2026-11-21T10:00:00.000Z", "feedback": {"value": value}, "rationale": "because",
        "metadata": {}, "valid": True,
    }  # fmt: skip


def trace(number: int, *assessments: dict) -> dict:
    return {
        "info": {
            "trace_id": f"tr-{number}", "trace_location": {"type": "MLFLOW_EXPERIMENT"}, "request_time": "2026-11-21",
            "state": "OK", "request_preview": "why?", "response_preview": "so", "tags": {}, "trace_metadata": {},
            "assessments": list(assessments),
        },
        "data": {"spans": []},
    }  # fmt: skip


def test_read_mlflow_with_several_spellings(put, answers, excluded):
    path = put(
        "traces.json",
        [
            trace(1, assessed("right", "LLM_JUDGE", "openai:/gpt-5", "yes"), assessed("right", "HUMAN", "ann", "Yes")),
            trace(2, assessed("right", "LLM_JUDGE", "openai:/gpt-5", "no"), assessed("right", "HUMAN", "ann", "none")),
            trace(3, assessed("right", "CODE", "rule", "no"), assessed("right", "HUMAN", "ann", "No ")),
        ],
    )
    with pytest.raises(DataError, match=r"set missing=\['none'\] if they are missing values"):
        assay.read(path)
    labels = assay.read(path, missing=["none"], label_spelling="merge")
    assert answers(labels, "item", "annotator", "kind", "label") == {
        ("tr-1", "openai:/gpt-5", "judge", "Yes"), ("tr-1", "ann", "human", "Yes"),
        ("tr-2", "openai:/gpt-5", "judge", "No"), ("tr-3", "ann", "human", "No"),
    }  # fmt: skip
    assert excluded(labels) == {paths.BY_CODE: 1, "missing label (none)": 1}


def test_read_mlflow_with_percentages(put, answers):
    columns = ["inputs", "outputs", "tone/v1/score", "tone/v1/justification"]
    rows = [["q1", "a1", "80%", "good"], ["q2", "a2", "40%", "bad"]]
    path = put("eval_results_table.json", {"columns": columns, "data": rows})
    labels = assay.read(path, item="inputs", judge="gpt")
    assert answers(labels, "item", "annotator", "label") == {("q1", "gpt", 80.0), ("q2", "gpt", 40.0)}


@pytest.mark.parametrize(
    ("name", "own", "told"), [("inputs", None, True), ("inputs", "inputs", False), ("item", None, False)]
)
def test_read_mlflow_names_items_by_row(put, name, own, told):
    columns = [name, "tone/v1/score", "tone/v1/justification"]
    path = put("eval_results_table.json", {"columns": columns, "data": [["q1", 4, "good"], ["q2", 2, "bad"]]})
    named = {} if own is None else {"item": own}
    labels = assay.read(path, judge="gpt", format="mlflow", **named)
    assert ("items are named by their row; name your own id with item=..." in labels.reading.notes) == told
    traces = put("traces.json", [trace(1, assessed("right", "HUMAN", "ann", "yes"))])
    assert not any("named by their row" in note for note in assay.read(traces).reading.notes)


# -- common parts of importers, by hand ---------------------------------------------------------------


def gathered(*answers: PlatformAnswer) -> Intake:
    found = intake.Intake(Path("t.json"))
    for answer in answers:
        found.add(answer)
    return found


def given(item, who, label, where="here", **more):
    return PlatformAnswer(item, who, where, label=label, **more)


def test_intake_counts_and_notes_exclusions():
    found = gathered(
        given("a", "ann", True), given("a", "ann", ""), given("a", "ann", None), given("a", "ann", [1]),
        given("a", "ann", float("nan")), given("a", "", 3), given("b", "bob", {"x": 1}),
    )  # fmt: skip
    assert [one.label for one in found.answers] == ["true"]
    assert found.excluded == {intake.EMPTY: 2, intake.NESTED: 2, intake.UNSCORED: 1, intake.UNKNOWN_ANNOTATOR: 1}
    found.note("once", "twice", "once")
    found.note("twice")
    rows = found.rows()
    assert (rows.reading.rows, rows.reading.notes) == (7, ("once", "twice"))
    assert sum(e.count for e in rows.reading.exclusions) == 6
    with pytest.raises(DataError, match=rf"t\.json contains no answers \(1 row: {intake.EMPTY}\)"):
        gathered(given("a", "ann", None)).rows()
    with pytest.raises(DataError, match=r"t\.json contains no answers \(no entry is an answer\)"):
        gathered().rows()


def test_intake_uses_later_answer_and_whole_submission():
    found = gathered(
        given("a", "ann", 1, time=5), given("a", "ann", 2, time=3),  # by time
        given("b", "ann", 1), given("b", "ann", 2),  # by place
        given("c", "ann", 1, time=1), given("c", "ann", 2),  # an answer with a time is later than one without
        given("d", "ann", 1, criterion="x"), given("d", "ann", 2, criterion="y"),
        given("e", "ann", 1, criterion="x", submission=1), given("e", "ann", 2, criterion="y", submission=1),
        given("e", "ann", 3, criterion="x", submission=2),
        given("f", "ann", 1, repeat=1), given("f", "ann", 2, repeat=2), given("f", "ann", 3, repeat=2, kind="judge"),
    )  # fmt: skip
    rows = found.rows()
    assert rows.labels.select("item", "label").rows() == [
        ("a", 1), ("b", 2), ("c", 1), ("d", 1), ("d", 2), ("e", 3), ("f", 1), ("f", 2), ("f", 3),
    ]  # fmt: skip
    assert found.excluded == {intake.SUPERSEDED: 5}
    assert rows.reading.rows == 14
    assert rows.labels["repeat"].to_list() == [None] * 6 + [1, 2, 2]


def test_intake_rows_select_criteria_and_columns():
    answers = (
        given("a", "ann", "4", criterion="x", about={"seconds": 2}), given("a", "ann", "good", criterion="y"),
        given("b", "bob", "5.5", criterion="x", about={"seconds": None, "flag": "odd"}),
    )  # fmt: skip
    found = gathered(*answers)
    found.scales = {"x": Ordinal(1, 5), "y": Nominal(), None: Text()}
    found.item("a", {"text": "one", "item": "no", "empty": None})
    found.item("a", {"text": "two", "more": 1})
    found.item("b", {"text": "three"})
    rows = found.rows(["x"], texts=True)
    assert rows.labels.select("item", "label", "criterion", "seconds", "flag").rows() == [
        ("a", 4.0, "x", 2, None), ("b", 5.5, "x", None, "odd"),
    ]  # fmt: skip
    assert rows.scales == {"x": Ordinal(1, 5)}
    assert rows.items.rows(named=True) == [
        {"item": "a", "text": "one", "more": 1}, {"item": "b", "text": "three", "more": None},
    ]  # fmt: skip
    assert found.excluded == {intake.NOT_SELECTED: 1}
    # Numbers and words share one text column; without texts=True, a text stays text.
    assert gathered(*answers).rows(texts=True).labels["label"].to_list() == ["4", "good", "5.5"]
    assert gathered(answers[0], answers[2]).rows().labels["label"].to_list() == ["4", "5.5"]
    with pytest.raises(DataError, match=r"question 'z' is not in t\.json; it has x, y"):
        gathered(*answers).rows(["z"])
    assert gathered(given("a", "ann", 1)).rows().items is None
    assert gathered(given("a", "ann", 1)).rows().labels.columns == ["item", "annotator", "label", "kind", "_row"]


@pytest.mark.parametrize(
    ("shown", "position", "chosen"),
    [(["b", "a"], 0, 1), (["b", "a"], 1, -1), (["a", "b"], 0, -1), (["a", "b"], None, 0), (["a", "a"], 0, None),
     (["m10", "m9"], 0, 1)],
)  # fmt: skip
def test_chosen_of_two_by_hand(shown, position, chosen):
    assert intake.chosen_of_two(shown, position) == chosen


@pytest.mark.parametrize(
    ("shown", "position", "order", "odd"),
    [
        (["c", "a", "b"], 0, None, "C"), (["c", "a", "b"], 1, None, "A"), (["c", "a", "b"], 0, ["b", "c", "a"], "B"),
        (["c", "a", "b"], 2, ["x", "y", "z"], "B"), (["a", "a", "b"], 0, None, None),
        (["a", "b", "c", "d"], 0, None, None),
    ],
)  # fmt: skip
def test_odd_of_three_by_hand(shown, position, order, odd):
    assert intake.odd_of_three(shown, position, order) == odd
    assert intake.members(["b", "a"]) == {"first": "a", "second": "b"}
    assert intake.members(["c", "b", "a"]) == {"first": "a", "second": "b", "third": "c"}


def test_intake_helpers_by_hand(tmp_path):
    assert [intake.is_number(text) for text in ("1", "-2.5", "1e3", "nan", "inf", "-inf", "1_000", "x", "")] == [
        True, True, True, False, False, False, False, False, False,
    ]  # fmt: skip
    assert [intake.number(v) for v in ("4", "4.0", "4.5", 3, "1e2")] == [4, 4, 4.5, 3, 100]
    assert [type(intake.number(v)) for v in ("4.0", "4.5")] == [int, float]
    assert intake.set_of(["b", 1, "a"]) == "1|a|b"
    assert intake.own_id(None, {"item": 7}, "here") == "7"
    assert intake.own_id(None, {"key": 7}, "here") is None
    assert intake.own_id("key", {"key": 0}, "here") == "0"
    for value in (None, ""):
        with pytest.raises(DataError, match="here: field 'key' is empty"):
            intake.own_id("key", {"key": value}, "here")
    with pytest.raises(DataError, match="field 'kay' is not in here; did you mean 'key'"):
        intake.own_id("kay", {"key": 1}, "here")
    users = [{"id": 1, "email": "a@x", "username": "ann"}, {"id": 2, "username": "bob"}, {"id": 3}]
    (tmp_path / "users.json").write_text(json.dumps(users))
    assert intake.name_table(tmp_path / "users.json") == {"1": "a@x", "2": "bob", "3": "3"}
    assert intake.name_table({1: "ann"}) == {"1": "ann"}
    assert intake.name_table(None) == {}
    (tmp_path / "users.json").write_text("[1]")
    with pytest.raises(DataError, match=r"must contain \{id: name\} or a list of users"):
        intake.name_table(tmp_path / "users.json")
    assert [intake.parse_cell(cell) for cell in ("[1]", '{"a": 2}', "[1", "x", 3, "")] == [
        [1],
        {"a": 2},
        "[1",
        "x",
        3,
        "",
    ]


def test_intake_accepts_attributes_of_any_type():
    found = gathered(given("a", "ann", 1, about={"x": 1}), given("b", "ann", 2, about={"x": "so", "y": 2}))
    labels = found.rows().labels
    assert labels.select("x", "y").rows() == [("1", None), ("so", 2)]
    found.item("a", {"z": 1})
    found.item("b", {"z": "so"})
    assert found.rows().items.rows() == [("a", "1"), ("b", "so")]
    empty = gathered(given("a", "ann", 1, about={"x": None, "y": 2}), given("b", "ann", 2, about={"x": None}))
    assert "x" not in empty.rows().labels.columns
    assert empty.rows().labels["y"].to_list() == [2, None]
    with pytest.raises(DataError, match="mixes numbers and text"):
        gathered(given("a", "ann", 1), given("b", "ann", "x")).rows()
    every = gathered(given("a", "ann", 1, criterion="x"), given("b", "ann", 2, criterion="x")).rows(["x"])
    assert every.reading.exclusions == ()  # nothing was excluded
