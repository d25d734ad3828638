"""The reader for each file, and several files as one table."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path

import polars as pl
import pytest

import assay
from assay.data.annotations import Reading
from assay.data.columns import FrameSettings
from assay.data.formats import FormatSettings, Rows, registry
from assay.data.formats.platforms.intake import name_table
from assay.data.formats.registry import FORMATS, Beginning, ReadSettings, format_of
from assay.data.names import questions_split
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
def test_format_of_plain_table(put, name, content):
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
def test_format_is_recognised_by_its_marks(put, name, content, form):
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
def test_numbers_wanted_by_scale(scales, numbers):
    assert registry._numbers_wanted(scales) is numbers


def test_settle_scales_requires_scale_for_numbers_and_text():
    def words(rows, known=None):
        frame = pl.DataFrame(rows, schema=["criterion", "label"], orient="row")
        try:
            registry._needs_scale(Rows(frame, reading=Reading("t.csv", 1)), known or {})
        except DataError as error:
            return str(error).removeprefix("t.csv: "), error.advised
        return None

    assert words([("a", "x"), ("b", "y")]) is None
    assert words([("a", "1"), ("b", "y")]) == (
        "some questions have numeric labels and some have text; set the scale of a, b "
        "(scale={'a': 'interval', 'b': 'nominal'}), or read one kind with criteria=...",
        {"scale": {"a": "interval", "b": "nominal"}},
    )
    assert words([("a", "1"), ("b", "y")], {"a": parse_scale("1-5")}) is None
    assert words([("a", "1"), ("b", "y"), (None, "3")]) == (
        "a question without a name occurs together with a, b; give it a name, or read the others with "
        "criteria=['a', 'b']",
        {"criteria": ["a", "b"]},
    )


def test_settle_scales_excludes_and_lists_labels_off_scale():
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


def test_format_options_are_parameters_of_read():
    own = {field.name for field in dataclasses.fields(FormatSettings)}
    assert not own & {field.name for field in dataclasses.fields(FrameSettings)}
    assert {name for form in FORMATS.values() for name in form.options} == own
    assert own < set(inspect.signature(assay.read).parameters)
    for name in own:
        assert f"\n{name} : " in assay.read.__doc__


def test_read_refuses_export_options_for_other_sources():
    with pytest.raises(DesignError, match="option 'users' is only for platform exports, not for a frame"):
        assay.read(pl.DataFrame({"item": ["a"], "annotator": ["ann"], "label": [1]}), users={1: "ann"})


def test_read_format_without_options_refuses_options(put):
    with pytest.raises(DataError, match="option 'users' is not in format 'table'; it has sheet"):
        assay.read(put("plain.csv", PLAIN), users={})


def test_read_joins_files_with_counts_by_file(put):
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


def test_read_joins_platform_exports(put):
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


def test_read_keeps_text_of_json_and_parquet(put, tmp_path):
    rows = [{"item": "a", "annotator": "ann", "label": "1"}, {"item": "b", "annotator": "ann", "label": "2"}]
    pl.DataFrame(rows).write_parquet(tmp_path / "t.parquet")
    for path in (put("t.json", rows), tmp_path / "t.parquet"):
        assert assay.read(path).labels["label"].to_list() == ["1", "2"]
        assert assay.read(path, scale="1-5").labels["label"].to_list() == [1, 2]
    csv = put("t.csv", "item,annotator,label\na,ann,1\nb,ann,2\n")
    assert assay.read(csv).labels["label"].to_list() == [1, 2]


@pytest.mark.real_data
def test_format_of_real_exports(real_data):
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
def test_read_refuses_other_layouts(put, form, name, content):
    with pytest.raises(DataError, match=r"is not as .* writes it .*export it again"):
        assay.read(put(name, content), format=form)


def test_format_parse_options():
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


def test_name_table_accepts_mapping_or_list(put):
    users = [
        {"id": 1, "email": "ann@example.org", "username": "ann"}, {"id": 2, "email": "", "username": "bob"}, {"id": 3},
    ]  # fmt: skip
    named = {"1": "ann@example.org", "2": "bob", "3": "3"}
    assert name_table(put("list.json", users)) == named
    assert name_table(put("names.json", named)) == named
    assert name_table({1: "ann@example.org", 2: "bob", 3: 3}) == named
    assert name_table(None) == {}


@pytest.mark.parametrize("content", [[{"id": 1}, {"email": "x"}], [["id"]], ["id"], "3", [{"id": 1}, "id"]])
def test_name_table_refuses_other_content(put, content):
    with pytest.raises(DataError, match=r"must contain \{id: name\} or a list of users with id and email"):
        name_table(put("users.json", content))


def test_read_refuses_folder_as_item_table(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "human_annotations.json").write_text("{}")
    frame = pl.DataFrame({"item": ["a", "b"], "annotator": ["x", "x"], "label": [1, 2]})
    with pytest.raises(DataError, match="folder is a folder without a table in Parquet or Arrow; name one file of it"):
        assay.read(frame, items=tmp_path / "folder")


def test_settle_scales_refuses_unnamed_question(put):
    state = {
        "user_id": "ann", "instance_id_ordering": ["k1", "k2"],
        "instance_id_to_label_to_value": {
            "k1": [[{"schema": None, "name": "4"}, "4"], [{"schema": "kind", "name": "Good"}, "Good"]],
            "k2": [[{"schema": "stars", "name": "2"}, "2"]],
        },
    }  # fmt: skip
    path = put("user_state.json", state)
    with pytest.raises(
        DataError, match="a question without a name occurs together with kind, stars; give it a name"
    ) as refused:
        assay.read(path)
    scale = {"kind": "nominal", "stars": "1-5"}
    assert assay.read(path, **refused.value.advised, scale=scale).criteria == ("kind", "stars")


# -- function by function ------------------------------------------------------------------------------


def test_beginning_of_file(put, tmp_path):
    def columns(name, content):
        return Beginning(put(name, content)).columns

    assert columns("a.csv", '\ufeffitem,"ann";b\tc|d \n1,2\n') == {"item", "ann", "b", "c", "d"}
    assert columns("a.TSV", "item\tann\n") == {"item", "ann"}
    assert columns("a.txt", "item,ann\n") == columns("a.json", "item,ann\n") == columns("a.pq", "PAR1") == set()
    pl.DataFrame({"a,b": [1]}).write_parquet(tmp_path / "a.parquet")
    assert Beginning(tmp_path / "a.parquet").columns == {"a,b"}
    assert (
        Beginning(tmp_path / "a.parquet").text == Beginning(tmp_path).text == Beginning(put("a.xlsx", "x")).text == ""
    )
    assert Beginning(put("long.csv", "x" * (2**16 + 9))).text == "x" * 2**16
    assert Beginning(put("a.csv", "\ufeff b \nc\n")).first_line == "b"
    one = Beginning(put("a.ndjson", '{"a" : 1, "b.c": {"d": 2}}'))
    assert [one.keys(*names) for names in (("a",), ("a", "b.c"), ("a", "d"), ("a", "e"), ("bxc",))] == [
        True, True, True, False, False,
    ]  # fmt: skip
    assert not Beginning(put("a.csv", '{"a": 1}')).keys("a")


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("a.csv", "instance_id,user_id,tone,label\n1,2,3,4\n", "table"),
        ("a.csv", "instance_id,user_id,tone.kind,other\n1,2,3,4\n", "table"),
        ("a.csv", "instance_id,tone.kind\n1,2\n", "table"),
        ("user_state.json", {"other": []}, "table"),
        ("state.json", {"instance_id_ordering": []}, "table"),
        ("a.jsonl", [{"doc_id": 1, "filtered_resps": 1, "metrics": 1, "answer": 1}], "lm-eval"),
        ("a.jsonl", [{"_input_hash": 1, "_task_hash": 1}], "table"),
        ("a.jsonl", [{"_input_hash": 1, "answer": 1}], "table"),
        ("a.csv", "Answer.q,workerid\n1,2\n", "table"),
        ("a.json", [{"data": 1, "annotations": [], "predictions": [], "was_cancelled": 1}], "label-studio"),
        ("a.json", [{"annotations": [], "predictions": [], "was_cancelled": 1}], "table"),
        ("a.json", {"columns": ["x/v12/score"], "data": []}, "mlflow"),
        ("a.csv", "x/v12/score/y\n1\n", "table"),
        ("a.json", [{"trace_id": 1}], "table"),
        ("a.json", [{"model_a": 1, "model_b": 1, "winner": 1}], "arena"),
        ("a.json", [{"model_a": 1, "model_b": 1, "winner": 1, "label": 1}], "table"),
        ("a.jsonl", [{"label": [1], "other": 1}], "table"),
        ("a.eval", "x", "inspect-ai"),
        ("a.json", {"evalId": 1}, "table"),
        ("a.jsonl", [{"gradingResult": 1, "testIdx": 1}], "table"),
    ],
)  # fmt: skip
def test_format_requires_all_marks(put, name, content, form):
    assert format_of(put(name, content)).name == form


@pytest.mark.parametrize(
    ("columns", "potato"),
    [
        (("instance_id", "user_id", "tone"), True), (("instance_id", "user_id"), False),
        (("instance_id", "user_id", "label"), False), (("instance_id", "user_id", "tone", "value"), False),
        (("instance_id", "tone"), False),
    ],
)  # fmt: skip
def test_format_of_potato_parquet(tmp_path, columns, potato):
    for suffix in ("parquet", "pq"):
        path = tmp_path / f"t.{suffix}"
        pl.DataFrame({name: ["x"] for name in columns}).write_parquet(path)
        assert (format_of(path).name == "potato") is potato


def test_format_of_folders(put, tmp_path):
    def of(folder):
        return format_of(tmp_path / folder).name

    put("a/human_annotations.json", {})
    put("b/.argilla/settings.json", {})
    put("c/data/x.csv", "x")
    (tmp_path / "d" / "data").mkdir(parents=True)
    frame = pl.DataFrame({"id": ["r"], "q.responses.users": ["u"]})
    frame.write_parquet(tmp_path / "d" / "data" / "x.parquet")
    (tmp_path / "e").mkdir()
    frame.write_parquet(tmp_path / "e" / "x.parquet")
    frame.select("id").write_parquet(tmp_path / "c" / "x.parquet")
    assert [of(folder) for folder in "abcde"] == ["alt-test", "argilla", "table", "argilla", "argilla"]


def test_format_options_from_text():
    studio, turk, argilla = FORMATS["label-studio"], FORMATS["mturk"], FORMATS["argilla"]
    yes = [studio.options_from([f"predictions={word}"])["predictions"] for word in ("yes", "TRUE", "no", "False")]
    assert yes == [True, True, False, False]
    assert studio.options_from(["shown=left", "config=a=b.xml"]) == {"shown": "left", "config": "a=b.xml"}
    assert turk.options_from(["numbered=pref", "swap=id"]) == {"numbered": ["pref"], "swap": "id"}
    assert argilla.options_from(["rankings=a,b", "users=u,v.json"]) == {"rankings": ["a", "b"], "users": "u,v.json"}
    assert studio.options_from([]) == {}
    with pytest.raises(DataError, match="option 'predictions' is yes or no; got 'maybe'"):
        studio.options_from(["predictions=maybe"])


def test_format_judge_option():
    with pytest.raises(DataError, match=r"for a table, name the judges with judges=\['\.\.\.'\], not judge=") as error:
        FORMATS["table"].options_from(["judge=m"])
    assert error.value.option == "judge"
    assert FORMATS["inspect-ai"].options_from(["judge=m"]) == {"judge": "m"}
    with pytest.raises(DataError, match="option 'sheet' is not in format 'mturk'") as error:
        FORMATS["mturk"]._check("sheet")
    assert error.value.option == "sheet"


def test_format_by_name(put):
    path = put("t.csv", PLAIN)
    assert (format_of(path, "arena").name, format_of(path, "auto").name) == ("arena", "table")
    with pytest.raises(DataError, match=r"'potatoe' .*the formats that are read: auto, alt-test, .*, table"):
        format_of(path, "potatoe")


def test_own_item_of_settings():
    own = [ReadSettings(item=item).own_item() for item in ("item", "key", ["a", "b"], ["a"], 3)]
    assert own == [None, "key", ("a", "b"), "a", None]


def test_existing_path_suggests_nearest(put, monkeypatch):
    path = put("labels.csv", PLAIN)
    assert registry.existing_path(str(path)) == path
    for name, hint in (("label.csv", f"; did you mean '{path}'?"), ("other.xlsx", "")):
        with pytest.raises(DataError) as error:
            registry.existing_path(path.parent / name)
        assert str(error.value) == f"the file or folder '{path.parent / name}' does not exist{hint}"
    monkeypatch.setattr(registry, "standard_input", lambda: "read")
    assert [registry.existing_path(name) for name in ("-", "/dev/stdin")] == ["read"] * 2


@pytest.mark.parametrize(
    ("given", "names"), [(None, ()), ("m", ("m",)), (["m", 2], ("m", "2")), ((), ())]
)  # fmt: skip
def test_named_annotators_of_settings(given, names):
    settings = ReadSettings(judges=given, humans="ana")
    assert settings.named == {"judges": names, "humans": ("ana",)}
    assert settings.people == {"ana", *names}


def test_given_options_of_settings():
    given = ReadSettings(item="key", label=("a", "b"), judges=["m"], rejected=True, scale=parse_scale("1-5"))
    assert registry.given_options(given) == {"item": "key", "label": ("a", "b"), "judges": ("m",), "rejected": True}
    assert registry.format_options(ReadSettings(item="key", rejected=True, users={})) == ["users", "rejected"]
    assert registry.format_options(ReadSettings(item="key", rejected=False)) == []
    assert [registry._text(x) for x in (3, "a", ("a", 0), None)] == ["3", "a", ["a", "0"], None]


def names_of(*names, pooled=False, **more):
    frame = pl.DataFrame({"id": list(names)} | more)
    return questions_split(frame, "id", "criterion", pooled=pooled)


def test_read_splits_item_and_question():
    full = [f"img_{n}__{q}" for n in range(20) for q in ("Color", "Shape")]
    how = "each question is a criterion; split_item='no' pools them"
    assert names_of(*full) == ("__", [f"40 item ids = 20 items × 2 questions (Color, Shape): {how}"])
    assert names_of(*full, *full) == names_of(*full)
    assert names_of(*full[1:])[1] == [
        f"39 item ids are 20 items × 2 questions (Color, Shape), of which 1 is missing: {how}"
    ]
    assert names_of(*full[1:-1])[1] == [
        f"38 item ids are 20 items × 2 questions (Color, Shape), of which 2 are missing: {how}"
    ]
    assert names_of(*full, pooled=True) == (
        "__", ["40 item ids = 20 items × 2 questions (Color, Shape): they are pooled (split_item)"]
    )  # fmt: skip
    assert names_of(*full, "plain") == names_of(*full, criterion=["c"] * 40) == (None, [])
    assert questions_split(pl.DataFrame({"id": [1, 2]}), "id", "criterion", pooled=False) == (None, [])
    assert questions_split(pl.DataFrame({"id": full}), "other", "criterion", pooled=False) == (None, [])


def part(source="t.csv", scales=None, notes=(), items=None, untyped=False, **columns):
    made = Reading(source, len(next(iter(columns.values()))), notes=notes)
    return Rows(pl.DataFrame(columns), items=items, reading=made, scales=scales, untyped=untyped)


def test_notes_of_several_files_count_labels_and_leave_models_open(tmp_path):
    """A wide table of 3 rows and 2 annotators has 6 labels; who is a judge is settled for all files together."""
    (tmp_path / "people.csv").write_text("id,ann,bob\n" + "".join(f"q{i},{i % 3},{i % 2}\n" for i in range(3)))
    (tmp_path / "models.csv").write_text("id,gpt-4o\n" + "".join(f"q{i},{i % 3}\n" for i in range(3)))
    files = [str(tmp_path / name) for name in ("people.csv", "models.csv")]
    notes = assay.read(files, judges=["gpt-4o"]).reading.notes
    people, models = ([n.removeprefix(f"{file}: ") for n in notes if n.startswith(file)] for file in files)
    assert people == ["6 labels read", "'id' parsed as item id", "'ann', 'bob' parsed as human labels"]
    assert models == ["3 labels read", "'id' parsed as item id", "'gpt-4o' parsed as judge labels"]
    shown = "\n".join(assay.look(files).lines())
    assert "'gpt-4o' parsed as labels" in shown
    assert "'gpt-4o' parsed as human labels" not in shown


def test_join_tables_by_item():
    first = part(
        "a.csv", notes=("said",), items=pl.DataFrame({"item": ["x", "y"], "by": [1, 2]}), item=["x", "y"], label=[1, 2],
        _row=["row 2", "row 3"], scales={None: parse_scale("1-5"), "q": parse_scale("1-3")},
    )  # fmt: skip
    second = part(
        "b.csv", items=pl.DataFrame({"item": ["y"], "by": [9]}), item=["y"], label=[2.5], _row=["row 2"], untyped=True,
        scales={None: parse_scale("1-9"), "p": parse_scale("1-2")},
    )  # fmt: skip
    second = dataclasses.replace(second, reading=second.reading.without("gone", 2))
    joined = registry.join_files([first, second])
    assert joined.labels.rows() == [("x", 1.0, "a.csv, row 2"), ("y", 2.0, "a.csv, row 3"), ("y", 2.5, "b.csv, row 2")]
    assert joined.items.rows() == [("x", 1), ("y", 2)]  # the first value is kept
    assert {c: s.spec for c, s in joined.scales.items()} == {
        None: "ordinal:1-5",
        "p": "ordinal:1-2",
        "q": "ordinal:1-3",
    }
    assert (joined.untyped, joined.reading.source, joined.reading.rows) == (True, "2 files (a.csv, b.csv)", 3)
    assert [str(one) for one in joined.reading.exclusions] == ["2 rows: gone (b.csv)"]
    assert joined.reading.notes == ("a.csv: 2 labels read", "a.csv: said", "b.csv: 1 label read")
    plain = registry.join_files([part(item=["x"], label=[1], _row=["2"])] * 4)
    assert (plain.items, plain.scales, plain.untyped) == (None, None, False)
    assert plain.reading.source == "4 files (t.csv, t.csv, t.csv and 1 more)"
    assert registry.join_files([first]) is first


def test_join_tables_converts_to_long_form():
    wide = part("w.csv", id=["x", "y", "z"], ann=[1, 2, 2], bob=[2, 2, 1], _row=["2", "3", "4"])
    long = part("l.csv", item=["x", "y"], annotator=["cho", "cho"], label=[3, 1], _row=["2", "3"])
    rows, settings = registry.join_tables([wide, long], ReadSettings(layout="auto"))
    assert sorted(rows.labels.select("item", "annotator", "label").rows()) == [
        ("x", "ann", 1), ("x", "bob", 2), ("x", "cho", 3), ("y", "ann", 2), ("y", "bob", 2), ("y", "cho", 1),
        ("z", "ann", 2), ("z", "bob", 1),
    ]  # fmt: skip
    assert (settings.item, settings.annotator, settings.label, settings.layout) == (
        "item",
        "annotator",
        "label",
        "auto",
    )
    # Options with names of one file's columns apply to that file; a column whose name would clash is dropped.
    own = part("o.csv", key=["x"], who=["dee"], mark=[5], item=["other"], _row=["2"])
    options = ReadSettings(item="key", annotator="who", label="mark")
    rows, settings = registry.join_tables([own, long], options)
    assert sorted(rows.labels.select("item", "annotator", "label").rows()) == [
        ("x", "cho", 3), ("x", "dee", 5), ("y", "cho", 1),
    ]  # fmt: skip
    assert settings.item == "item"
    kept = ReadSettings()
    assert registry.join_tables([long, long], kept)[1] is kept
    alone, same = registry.join_tables([wide], options)
    assert (alone is wide, same is options) == (True, True)
    platform = part("p.json", scales={}, item=["x"], annotator=["eve"], label=[4], _row=["2"])
    assert registry._standard_names(platform, ReadSettings()) is platform
    assert registry.join_tables([platform, platform], options)[1] is options


def test_settle_scales_prefers_users_scale():
    def settled(rows, said):
        found, scale = registry.settle_scales(rows, said)
        spec = {c: s.spec for c, s in scale.items()} if isinstance(scale, dict) else scale and scale.spec
        return found.labels.height, spec, found.reading.notes

    stars, kind = parse_scale("1-5"), parse_scale("nominal:a,b")
    one = part(label=[1, 5, 9], _row=["2", "3", "4"], scales={None: stars})
    off = "labels off the scale: 4: 9"
    assert settled(one, None) == (2, "ordinal:1-5", ("scale stated in the export: labels ordinal:1-5", off))
    assert settled(one, parse_scale("1-9")) == (3, "ordinal:1-9", ())
    assert settled(one, {"": parse_scale("1-9")}) == (3, "ordinal:1-9", ())
    two = part(label=["1", "a"], criterion=["q", "p"], _row=["2", "3"], scales={"q": stars, "p": kind})
    both = {"q": "ordinal:1-5", "p": "nominal:a,b"}
    assert settled(two, None) == (2, both, ("scale stated in the export: p nominal:a,b; q ordinal:1-5",))
    said = settled(two, {"q": parse_scale("1-2")})
    assert said == (2, both | {"q": "ordinal:1-2"}, ("scale stated in the export: p nominal:a,b",))
    numbers = part(label=[1, 2], criterion=["q", "p"], _row=["2", "3"], scales={"q": stars})
    assert settled(numbers, None) == (2, None, ())  # the scale of the other question is still to be inferred
    assert settled(numbers, {"p": stars}) == (2, {"q": "ordinal:1-5", "p": "ordinal:1-5"},
                                              ("scale stated in the export: q ordinal:1-5",))  # fmt: skip


def test_read_reports_all_problems_at_once():
    rows = part(id=["a", "b", "c"], ann=[1, 2, 2], bob=[2, 2, 1], gpt4=[1, 1, 2], _row=["2", "3", "4"])
    settings = ReadSettings()
    with pytest.raises(DataError) as error:
        registry.table_of(rows, settings)
    problems, [(said, advised)] = registry.readings_left(rows, settings, error.value)
    assert problems == ["'gpt4' could be a judge (name of a model), and 'ann', 'bob' human"]
    assert (said, advised["judges"]) == ("", ["gpt4"])
    read = registry.annotations_of(rows, dataclasses.replace(settings, **advised))
    assert (read.judges, read.humans) == (("gpt4",), ("ann", "bob"))


def test_find_columns_detects_roles():
    words = ["x", "y", "z"]
    rows = part(
        key=["a", "b", "mean"], ann=[1.0, 2.0, 1.5], bob=[2.0, 2.0, 2.0], story=words, note=words, _row=["2", "3", "4"]
    )
    found, settings = registry.find_columns(rows, ReadSettings(item="key", layout="wide"))
    assert (settings.layout, list(settings.columns), settings.item) == ("wide", ["ann", "bob"], "key")
    assert found.labels["key"].to_list() == ["a", "b"]
    assert [str(one) for one in found.reading.exclusions] == ["1 row: computed from the rows above it: mean"]
    assert found.labels.columns == ["key", "ann", "bob", "story", "_row"]  # a story is metadata, a note is ignored
    long = part(item=["a"], annotator=["ann"], label=[1], _row=["2"])
    same = ReadSettings()
    assert registry.find_columns(long, same) == (long, same)
    with pytest.raises(DataError, match=r"columns=\.\.\. names the annotators of a wide table; also set layout='wide'"):
        registry.find_columns(long, ReadSettings(columns=["ann"]))
    with pytest.raises(DataError, match=r"\(it should contain the annotator\)"):
        registry.find_columns(rows, ReadSettings(annotator="who"))
    with pytest.raises(DataError, match=r"column 'cho' is not in t\.csv"):
        registry.find_columns(rows, ReadSettings(columns=["ann", "cho"]))


def test_read_wide_words_and_numbers_require_scale():
    rows = part(id=["a", "b", "c"], ann=["x", "y", "x"], bob=[1, 2, 1], _row=["2", "3", "4"])
    how = {"item": "id", "layout": "wide", "columns": ["ann", "bob"]}
    for scale in (None, parse_scale("1-5")):
        with pytest.raises(DataError, match="column 'ann' holds text and column 'bob' holds numbers"):
            registry.table_of(rows, ReadSettings(**how, scale=scale))
    read = registry.table_of(rows, ReadSettings(**how, scale=parse_scale("nominal")))
    assert sorted(set(read.labels["label"])) == ["1", "2", "x", "y"]


def test_join_files_names_incompatible_files():
    words, numbers = part("a.csv", label=["x"], scales={}), part("b.csv", label=[1])
    with pytest.raises(DataError, match=r"a\.csv and b\.csv: labels are text in one and numbers in the other"):
        registry.unify_types([words, numbers])
    with pytest.raises(DataError, match=r"b\.csv and a\.csv: labels are text in one and numbers in the other"):
        registry.unify_types([numbers, words])
    with pytest.raises(DataError, match=r"a\.csv and c\.csv have different columns; read them separately"):
        registry.unify_types([words, part("c.csv", stars=[1])])


def test_every_format_is_documented():
    path = Path(__file__).parents[3] / "docs" / "importing.md"
    if not path.is_file():
        pytest.skip("the documents are not next to these tests")
    page = path.read_text("utf-8")
    details = next(f for f in dataclasses.fields(ReadSettings) if f.name == "format").metadata
    for name in registry.FORMATS:
        assert f"`{name}`" in page, f"{name} has no row in docs/importing.md"
        assert f"`{name}`" in str(details)


def test_numbered_parts_of_item_ids_are_noted():
    """Ten numbered questions on each post are items, as in the published data, and the note says how to split them."""
    rows = [(f"post{i}__Q{q}", who, (i + q) % 2) for i in range(30) for q in range(1, 11) for who in ("ann", "bob")]
    labels = assay.read(pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row"))
    assert (labels.n_items, labels.criteria) == (300, ())
    assert any("30 names and numbered parts (Q1, Q2, Q3 and 7 more)" in note for note in labels.reading.notes)
