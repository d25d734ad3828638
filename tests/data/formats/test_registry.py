"""Which reader a file gets, and several files as one table."""

from __future__ import annotations

import dataclasses
import inspect

import polars as pl
import pytest

import assay
from assay.data.annotations import Reading
from assay.data.columns import FrameSettings
from assay.data.formats import FormatSettings, Rows, registry
from assay.data.formats.intake import name_table
from assay.data.formats.registry import FORMATS, format_of
from assay.data.scales import parse_scale
from assay.errors import DataError, DesignError

PLAIN = "item,annotator,label\nq1,ann,4\nq2,bob,2\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.csv", PLAIN),
        ("names.csv", "id,annotator,score,text\n1,ann,2,x\n"),
        ("plain.json", [{"item": "a", "annotator": "ann", "label": 1, "data": "x", "predictions": 1}]),
        ("plain.jsonl", [{"item": "a", "annotator": "ann", "label": 1, "answer": "accept"}]),
        ("nested.json", {"ann": {"q1": 1}}),
    ],
)
def test_a_plain_table_is_no_export(put, name, content):
    assert format_of(put(name, content)).name == "table"


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("a.json", [{"data": {}, "annotations": [], "predictions": []}], "label-studio"),
        ("a.json", [{"data": {}, "annotations": [], "was_cancelled": False}], "label-studio"),
        ("a.json", [{"data": {}, "annotations": []}], "table"),
        ("a.json", [{"data": {}, "predictions": []}], "table"),
        ("a.json", [{"data": 1, "predictions": 1, "model_version": 1, "from_name": 1}], "label-studio"),
        ("a.json", [{"annotation_id": 1, "annotator": 1, "lead_time": 1, "updated_at": 1}], "label-studio"),
        ("a.csv", "annotation_id,annotator,lead_time,updated_at\n1,2,3,4\n", "label-studio"),
        ("a.csv", "annotation_id,annotator,lead_time\n1,2,3\n", "table"),
        ("a.json", [{"fields": 1, "responses": 1, "suggestions": 1, "_server_id": 1}], "argilla"),
        ("a.json", [{"fields": 1, "responses": 1, "suggestions": 1}], "table"),
        ("a.csv", "text,q.responses.users\n1,2\n", "argilla"),
        ("a.jsonl", [{"text": 1, "q.responses.users": 1}], "argilla"),
        ("a.jsonl", [{"_input_hash": 1, "_task_hash": 1, "answer": "accept"}], "prodigy"),
        ("a.json", [{"_input_hash": 1, "_task_hash": 1, "answer": "accept"}], "table"),
        ("a.csv", "instance_id,user_id,tone.kind\n1,2,3\n", "potato"),
        ("a.csv", "instance_id,user_id,label\n1,2,3\n", "table"),
        ("a.csv", "instance_id,user_id\n1,2\n", "table"),
        ("user_state.json", {"instance_id_ordering": []}, "potato"),
        ("a.csv", "WorkerId,Answer.q\n1,2\n", "mturk"),
        ("a.csv", "WorkerId,q\n1,2\n", "table"),
        ("a.json", {"version": 2, "status": "success", "eval": {"task_id": 1}}, "inspect-ai"),
        ("a.json", {"version": 2, "status": "success", "eval": {}}, "table"),
        ("a.jsonl", [{"gradingResult": 1, "testIdx": 1, "promptIdx": 1}], "promptfoo"),
        ("a.json", {"evalId": 1, "results": 1}, "promptfoo"),
        ("a.csv", "Status,Score,Named Scores,Grader Reason\n1,2,3,4\n", "promptfoo"),
        ("a.csv", "Status,Score,Named Scores\n1,2,3\n", "table"),
        ("a.json", {"testCases": 1, "metricsData": 1}, "deepeval"),
        ("a.json", {"testRunData": 1}, "deepeval"),
        ("a.json", {"testCases": 1}, "table"),
        ("a.jsonl", [{"doc_id": 1, "filtered_resps": 1, "metrics": 1}], "lm-eval"),
        ("a.jsonl", [{"doc_id": 1, "filtered_resps": 1}], "table"),
        ("a.csv", "inputs,metric/v1/score\n1,2\n", "mlflow"),
        ("a.csv", "inputs,metric/v1/scores\n1,2\n", "table"),
        ("a.csv", "inputs,metric/v/score\n1,2\n", "table"),
        ("a.json", [{"assessments": 1, "trace_id": 1}], "mlflow"),
        ("a.json", [{"assessments": 1}], "table"),
        ("a.json", {"columns": ["metric/v1/score"], "data": []}, "mlflow"),
        ("a.json", {"columns": ["score"], "data": []}, "table"),
        ("a.csv", "model_a,model_b,winner\n1,2,3\n", "arena"),
        ("a.csv", "model_a,model_b\n1,2\n", "table"),
        ("a.jsonl", [{"annotator": ["ann"], "label": [1]}], "hugging-face"),
        ("a.jsonl", [{"annotator": ["ann"], "label": 1}], "table"),
        ("a.json", [{"annotator": ["ann"], "label": [1]}], "table"),
    ],
)
def test_a_format_is_known_by_what_it_alone_has(put, name, content, form):
    assert format_of(put(name, content)).name == form


@pytest.mark.parametrize(
    ("scales", "numbers"),
    [
        (None, None), (parse_scale("1-5"), True), (parse_scale("nominal:a,b"), False),
        (parse_scale("preference"), False), ({"a": parse_scale("1-5"), "b": parse_scale("interval:0-1")}, True),
        ({"a": parse_scale("1-5"), "b": parse_scale("preference")}, False),
        ({"a": parse_scale("1-5"), "b": parse_scale("text")}, False),
    ],
)  # fmt: skip
def test_whether_a_scale_wants_numbers(scales, numbers):
    assert registry._numbers_wanted(scales) is numbers


def test_numbers_beside_text_need_their_scales_said():
    def words(rows, known=None):
        frame = pl.DataFrame(rows, schema=["criterion", "label"], orient="row")
        try:
            registry._needs_scale(Rows(frame, reading=Reading("t.csv", 1)), known or {})
        except DataError as error:
            return str(error).removeprefix("t.csv: "), error.advised
        return None

    assert words([("a", "x"), ("b", "y")]) is None
    assert words([("a", "1"), ("b", "y")]) == (
        "some questions are answered with numbers and some with text; say the scale of a, b "
        "(scale={'a': 'interval', 'b': 'nominal'}), or read one kind with criteria=...",
        {"scale": {"a": "interval", "b": "nominal"}},
    )
    assert words([("a", "1"), ("b", "y")], {"a": parse_scale("1-5")}) is None
    assert words([("a", "1"), ("b", "y"), (None, "3")]) == (
        "a question without a name stands beside a, b; give it one, or read the others with criteria=['a', 'b']",
        {"criteria": ["a", "b"]},
    )


def test_rows_off_the_scale_of_their_criterion_are_left_out_and_five_shown():
    rows = [(f"row {n}", "q", str(n)) for n in range(9)] + [("row 9", "other", "99"), ("row 10", None, "99")]
    made = Rows(pl.DataFrame(rows, schema=["_row", "criterion", "label"], orient="row"), reading=Reading("t.csv", 11))
    kept = registry._keep_on_scale(made, {"q": parse_scale("1-2")})
    assert kept.labels["_row"].to_list() == ["row 1", "row 2", "row 9", "row 10"]
    (left,) = kept.reading.exclusions
    assert (left.count, left.reason) == (7, "out of range: off the scale")
    shown = "row 0: '0', row 3: '3', row 4: '4', row 5: '5', row 6: '6'"
    assert kept.reading.notes == (f"labels off the scale: {shown} and 2 more",)
    fewer = registry._keep_on_scale(made, {"q": parse_scale("1-4")})
    assert fewer.reading.notes == ("labels off the scale: row 0: '0', row 5: '5', row 6: '6', row 7: '7', row 8: '8'",)
    assert registry._keep_on_scale(made, {"q": parse_scale("0-8")}) is made
    assert registry._keep_on_scale(made, {"": parse_scale("0-8")}).labels.height == 9
    with pytest.raises(DataError, match=r"every label is off its scale \(row 0: '0'.* and 6 more\); each must be a"):
        registry._keep_on_scale(made, {"": parse_scale("200-300")})


def test_options_of_formats_are_parameters_of_read_that_hide_no_other():
    own = {field.name for field in dataclasses.fields(FormatSettings)}
    assert not own & {field.name for field in dataclasses.fields(FrameSettings)}
    assert {name for form in FORMATS.values() for name in form.options} == own
    assert own < set(inspect.signature(assay.read).parameters)
    for name in own:
        assert f"\n{name} : " in assay.read.__doc__


def test_an_option_of_exports_is_refused_where_there_is_none():
    with pytest.raises(DesignError, match="option 'users' is of exports of a platform, and a frame is none"):
        assay.read(pl.DataFrame({"item": ["a"], "annotator": ["ann"], "label": [1]}), users={1: "ann"})


def test_a_format_that_takes_no_options_says_so(put):
    with pytest.raises(DataError, match="option 'users' is not in format 'table'; it has sheet"):
        assay.read(put("plain.csv", PLAIN), users={})


def test_several_files_are_one_table_and_every_count_names_its_file(put):
    one, two = put("one.csv", PLAIN), put("two.csv", "item,annotator,label,note\nq1,bob,3,hm\nq2,ann,,\n")
    labels = assay.read([one, two], scale="1-5")
    assert sorted(labels.labels.select("item", "annotator", "label").rows()) == [
        ("q1", "ann", 4),
        ("q1", "bob", 3),
        ("q2", "bob", 2),
    ]
    assert labels.reading.rows == 4
    assert f"{two}: 2 rows read" in labels.reading.notes
    with pytest.raises(DataError, match=rf"{two}, 2"):
        assay.read([one, put("two.csv", "item,annotator,label\nq1,bob,9\n")], scale="1-5")


def test_several_exports_of_a_platform(put):
    def made(name, number, who):
        result = [{"from_name": "stars", "to_name": "t", "type": "rating", "value": {"rating": 3}}]
        annotations = [{"id": 1, "completed_by": who, "result": result}, {"id": 2, "was_cancelled": True, "result": []}]
        return put(name, [{"id": number, "data": {"key": number}, "annotations": annotations, "predictions": []}])

    one, two = made("one.json", 1, 7), made("two.json", 2, 8)
    labels = assay.read([one, two], item="key", scale="1-5")
    assert labels.n_items == 2
    assert labels.reading.rows == 4
    assert [e.reason for e in labels.reading.exclusions] == [
        f"skipped by the annotator ({one})",
        f"skipped by the annotator ({two})",
    ]


def test_text_in_json_and_parquet_stays_text(put, tmp_path):
    rows = [{"item": "a", "annotator": "ann", "label": "1"}, {"item": "b", "annotator": "ann", "label": "2"}]
    pl.DataFrame(rows).write_parquet(tmp_path / "t.parquet")
    for path in (put("t.json", rows), tmp_path / "t.parquet"):
        assert assay.read(path).labels["label"].to_list() == ["1", "2"]
        assert assay.read(path, scale="1-5").labels["label"].to_list() == [1, 2]
    csv = put("t.csv", "item,annotator,label\na,ann,1\nb,ann,2\n")
    assert assay.read(csv).labels["label"].to_list() == [1, 2]


@pytest.mark.real_data
def test_real_exports_are_recognised(real_data):
    known = {
        "label_studio": (
            "label-studio",
            ["rating.json", "ui.csv", "choices.tsv", "ui.min.json", "rating.snapshot_full.json"],
        ),
        "formats/argilla": ("argilla", ["to_disk", "records_flat.json", "hub_flat.parquet", "to_disk/records.json"]),
        "formats/prodigy": ("prodigy", ["choice_single.jsonl", "binary_unnamed_session.jsonl"]),
        "formats/potato": ("potato", ["", "annotation_output", "annotation_output/exports/jsonl/annotations.jsonl"]),
        "formats/mturk": ("mturk", ["batch_five_pairs.csv", "separability_layout.csv"]),
        "formats/inspect_ai": ("inspect-ai", ["judge_probe.eval", "judge_probe.json"]),
        "formats/alttest": ("alt-test", ["", "int_scale"]),
    }
    for folder, (name, files) in known.items():
        for file in files:
            assert format_of(real_data / folder / file).name == name, file


@pytest.mark.parametrize(
    ("form", "name", "content"),
    [
        ("label-studio", "x.json", [{"id": 1, "data": {}, "annotations": [{"id": 1, "completed_by": 2, "result": 5}]}]),
        ("argilla", "x.json", [{"id": "r", "responses": {"stars": 4}}]),
        ("prodigy", "x.jsonl", [{"options": [1], "accept": [1], "answer": "accept", "_session_id": "s"}]),
        ("potato", "x.jsonl", [{"instance_id": "a", "labels": {}}]),
        ("inspect-ai", "x.json", {"eval": {}, "samples": [{"scores": {}}]}),
        ("promptfoo", "x.json", {"results": [{"gradingResult": 5}]}),
        ("deepeval", "x.json", {"testCases": [{"name": "a", "metricsData": 5}]}),
        ("mlflow", "x.json", {"columns": ["a"], "data": [[1, 2]]}),
        ("deepeval", "x.json", {"testCases": [{"metricsData": [5]}]}),
        ("lm-eval", "x.jsonl", [{"doc_id": 1, "doc": {}}]),
    ],
)
def test_a_file_of_another_shape_is_refused_in_words(put, form, name, content):
    with pytest.raises(DataError, match=r"is not as .* writes it .*export it again"):
        assay.read(put(name, content), format=form)


def test_options_of_a_command_line():
    form = FORMATS["label-studio"]
    assert form.options_from(["users=u.json", "shown=left,right", "predictions=no", "criteria=stars"]) == {
        "users": "u.json",
        "shown": ["left", "right"],
        "predictions": False,
        "criteria": ["stars"],
    }
    for text, message in (
        ("users", "NAME=VALUE"),
        ("predictions=0", "is yes or no"),
        ("user=x", "did you mean 'users'"),
    ):
        with pytest.raises(DataError, match=message):
            form.options_from([text])


def test_names_of_users_come_as_a_mapping_or_as_a_list_of_users(put):
    users = [
        {"id": 1, "email": "ann@example.org", "username": "ann"}, {"id": 2, "email": "", "username": "bob"}, {"id": 3},
    ]  # fmt: skip
    named = {"1": "ann@example.org", "2": "bob", "3": "3"}
    assert name_table(put("list.json", users)) == named
    assert name_table(put("names.json", named)) == named
    assert name_table({1: "ann@example.org", 2: "bob", 3: 3}) == named
    assert name_table(None) == {}


@pytest.mark.parametrize("content", [[{"id": 1}, {"email": "x"}], [["id"]], ["id"], "3", [{"id": 1}, "id"]])
def test_what_is_no_table_of_names_is_refused(put, content):
    with pytest.raises(DataError, match=r"must hold \{id: name\} or a list of users with id and email"):
        name_table(put("users.json", content))


def test_a_folder_that_is_no_table_is_no_table_of_items(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "human_annotations.json").write_text("{}")
    frame = pl.DataFrame({"item": ["a", "b"], "annotator": ["x", "x"], "label": [1, 2]})
    with pytest.raises(DataError, match="folder is a folder without a table of Parquet or Arrow; name one file of it"):
        assay.read(frame, items=tmp_path / "folder")


def test_a_question_without_a_name_among_others_is_refused(put):
    state = {
        "user_id": "ann", "instance_id_ordering": ["k1", "k2"],
        "instance_id_to_label_to_value": {
            "k1": [[{"schema": None, "name": "4"}, "4"], [{"schema": "kind", "name": "Good"}, "Good"]],
            "k2": [[{"schema": "stars", "name": "2"}, "2"]],
        },
    }  # fmt: skip
    path = put("user_state.json", state)
    with pytest.raises(DataError, match="a question without a name stands beside kind, stars; give it one") as refused:
        assay.read(path)
    scale = {"kind": "nominal", "stars": "1-5"}
    assert assay.read(path, **refused.value.advised, scale=scale).criteria == ("kind", "stars")
