"""Formats whose fields are declared, such as Inspect AI and promptfoo: who judged, what is left out."""

from __future__ import annotations

import json
import zipfile

import polars as pl
import pytest

import assay
from assay.data.formats import intake, paths
from assay.errors import DataError

# -- Inspect AI ---------------------------------------------------------------------------------------

HEADER = {
    "version": 2,
    "status": "success",
    "eval": {
        "task": "t",
        "task_id": "x",
        "model": "m/tested",
        "config": {"epochs": 2},
        "scorers": [{"name": "rating", "options": {"model": {"model": "m/rater"}}}],
        "model_roles": {"grader": {"model": "m/role"}},
    },
    "results": {"scores": []},
}


def sample(key, epoch, scores, **more):
    metadata = {"key": f"k{key}", "deep": {"a": 1}}
    return {"id": key, "epoch": epoch, "input": "in", "metadata": metadata, "scores": scores, **more}


def samples():
    edit = [{"value": 5}, {"value": 2, "provenance": {"author": "lead"}}]
    return [
        sample(1, 1, {"rating": {"value": 4, "history": []}, "qa": {"value": "C", "metadata": {"grading": []}}}),
        sample(1, 2, {"rating": {"value": 2, "history": edit}}),
        sample(2, 1, {"rating": {"value": float("nan")}, "two": {"value": {"a": 1, "b": 3}}}),
        sample(2, 2, {}, error={"message": "boom"}),
    ]


def eval_file(path):
    members = {"header.json": HEADER} | {f"samples/{i}.json": s for i, s in enumerate(samples())}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, json.dumps(content, indent=2))
    return path


EXPECTED = {
    ("1", "m/rater", "rating", 1, "4"),
    ("1", "m/role", "qa", 1, "C"),
    ("1", "m/rater", "rating", 2, "5"),
    ("2", "two", "two.a", 1, "1"),
    ("2", "two", "two.b", 1, "3"),
}
SCALES = {"rating": "1-5", "qa": "nominal:C,P,I", "two.a": "1-5", "two.b": "1-5"}
COLUMNS = ("item", "annotator", "criterion", "repeat", "label")


@pytest.mark.parametrize("kind", ["eval", "json"])
def test_scores_of_a_log(put, tmp_path, answers, excluded, kind):
    path = eval_file(tmp_path / "log.eval") if kind == "eval" else put("log.json", {**HEADER, "samples": samples()})
    labels = assay.read(path, scale=SCALES)
    assert answers(labels, *COLUMNS) == EXPECTED
    assert labels.humans == ()
    assert excluded(labels) == {intake.UNSCORED: 1, paths.FAILED: 1}
    assert "1 score edited by a person: the judge's own, earlier one counts" in labels.reading.notes


def test_names_of_items_and_judges(tmp_path, answers):
    path = eval_file(tmp_path / "log.eval")
    named = assay.read(path, item="key", judge={"two": "m/two"}, criteria=["two"], with_model=True, format="inspect-ai")
    assert answers(named, "item", "annotator", "criterion") == {
        ("k2@m/tested", "m/two", "two.a"),
        ("k2@m/tested", "m/two", "two.b"),
    }


def test_a_log_that_is_still_running_says_so(tmp_path):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_journal/start.json", json.dumps({"eval": HEADER["eval"]}))
        archive.writestr("samples/1.json", json.dumps(samples()[0]))
    labels = assay.read(path, criteria=["rating"], scale="1-5")
    assert any("status is 'started'" in note for note in labels.reading.notes)


def test_damaged_logs_are_refused(tmp_path):
    path = tmp_path / "log.eval"
    path.write_text("no archive")
    with pytest.raises(DataError, match=r"not a log of Inspect AI: an \.eval file is a zip archive"):
        assay.read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.json", "{}")
    with pytest.raises(DataError, match=r"holds no header\.json"):
        assay.read(path)


def test_members_packed_with_zstandard_are_unpacked(tmp_path):
    """A frame of Zstandard that Parquet would hold, put into a zip by hand: Python's own zipfile cannot."""
    text = json.dumps({"a": "é" * 50, "b": [1, None], "c": 'say "so", then'}, indent=2).encode()
    frame = _zstandard(text)
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("header.json")
        archive.writestr(info, frame)
    packed = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        start = packed.index(mark) + place
        packed[start : start + 2] = (93).to_bytes(2, "little")
    path.write_bytes(bytes(packed))
    info = zipfile.ZipFile(path).getinfo("header.json")
    assert json.loads(paths._unpack(path, info)) == json.loads(text)


def _zstandard(text: bytes) -> bytes:
    """A Zstandard frame of one raw block (RFC 8878, 3.1.1): magic, single segment, 4-byte size, block."""
    block = (len(text) << 3 | 1).to_bytes(3, "little")
    return b"\x28\xb5\x2f\xfd\xa0" + len(text).to_bytes(4, "little") + block + text


@pytest.mark.real_data
@pytest.mark.parametrize("file", ["judge_probe.eval", "judge_probe.json", "judge_probe_edited.eval"])
def test_real_logs(real_data, expected, answers, excluded, file):
    scales = {"rating_judge": "1-5", "two_aspects.fluent": "1-5", "two_aspects.helpful": "1-5"}
    labels = assay.read(real_data / "formats" / "inspect_ai" / file, scale={**scales, "model_graded_qa": "nominal"})
    rows = [r for r in expected("formats/inspect_ai") if r["file"] == file]
    several = file.endswith(".eval")
    found = answers(labels, "item", "criterion", *(["repeat"] if several else []), "label")
    wanted = {
        (
            r["sample_id"],
            ".".join(filter(None, (r["scorer"], r["aspect"]))),
            *([int(r["epoch"])] if several else []),
            "5" if r["status"] == "edited" else r["value"],  # the judge's own score, before the edit
        )
        for r in rows
        if r["status"] != "unscored"
    }
    assert found == wanted
    assert excluded(labels).get(intake.UNSCORED, 0) == sum(r["status"] == "unscored" for r in rows)
    assert labels.judges == ("mockllm/grader", "mockllm/rater", "two_aspects")


# -- DeepEval -----------------------------------------------------------------------------------------


def measured(name, score, model="gpt-4o", **more):
    return {"name": name, "threshold": 0.5, "success": score is not None and score >= 0.5, "score": score,
            "evaluationModel": model, **more}  # fmt: skip


def test_run():
    first = [measured("Correctness [GEval]", 0.8), measured("Exact", 1.0, model=None)]
    second = [measured("Correctness [GEval]", 0.3), measured("Bias", None, error="time out")]
    return {"testFile": "test_a.py", "testCases": [
        {"name": "case_0", "input": "why?", "actualOutput": "so", "additionalMetadata": {"key": "k1"},
         "metricsData": first},
        {"name": "case_1", "input": "how?", "actualOutput": "thus", "additionalMetadata": {"key": "k2"},
         "metricsData": second},
    ]}  # fmt: skip


test_run.__test__ = False


@pytest.mark.parametrize("shape", ["test_run_20261101_101010.json", "latest_test_run.json"])
def test_what_deepevals_metrics_said(put, answers, excluded, shape):
    path = put(shape, test_run() if shape.startswith("test_run") else {"testRunData": test_run()})
    labels = assay.read(path)
    assert answers(labels, "item", "annotator", "kind", "criterion", "label") == {
        ("case_0", "gpt-4o", "judge", "Correctness", 0.8),
        ("case_1", "gpt-4o", "judge", "Correctness", 0.3),
    }
    assert sum(excluded(labels).values()) == 2
    passed = assay.read(path, item="key", value="pass", judge="mine")
    assert answers(passed, "item", "annotator", "label") == {("k1", "mine", "true"), ("k2", "mine", "false")}


# -- promptfoo ----------------------------------------------------------------------------------------


def outcome(test, provider, *components, **more):
    return {
        "testIdx": test,
        "promptIdx": 0,
        "provider": {"id": f"openai:{provider}", "label": provider},
        "vars": {"key": f"k{test}", "question": "why?"},
        "response": {"output": "because"},
        "gradingResult": {"pass": True, "score": 1, "componentResults": list(components)},
        **more,
    }


def component(kind, score, metric=None, **more):
    return {"pass": score > 0.5, "score": score, "assertion": {"type": kind, "metric": metric}, **more}


def results():
    return [
        outcome(
            0,
            "m1",
            component("llm-rubric", 0.8, "tone"),
            component("llm-rubric", 0.4, "tone"),
            component("contains", 1),
            component("human", 1),
        ),
        outcome(0, "m2", component("llm-rubric", 0, "tone", metadata={"graderError": True})),
        {**outcome(1, "m1"), "gradingResult": None, "error": "no answer"},
    ]


@pytest.mark.parametrize("shape", ["json", "older", "jsonl"])
def test_what_model_graders_said(put, answers, excluded, shape):
    config = {"defaultTest": {"options": {"provider": "gpt"}}}
    path = {
        "json": lambda: put(
            "results.json", {"evalId": "e", "results": {"version": 3, "results": results()}, "config": config}
        ),
        "older": lambda: put("results.json", {"evalId": "e", "results": results(), "config": config}),
        "jsonl": lambda: put("results.jsonl", results()),
    }[shape]()
    labels = assay.read(path, item="key", **({} if shape != "jsonl" else {"judge": "gpt"}))
    assert answers(labels, "item", "annotator", "kind", "criterion", "label") == {
        ("k0 @ m1", "gpt", "judge", "tone", 0.8),
        ("k0 @ m1", "gpt", "judge", "tone 2", 0.4),
        ("k0 @ m1", "promptfoo user", "human", "human", 1.0),
    }
    assert excluded(labels) == {paths.BY_RULE: 1, intake.UNSCORED: 1, paths.NO_OUTPUT: 1}
    assert labels.items.select("document", "system", "output").row(0) == ("k0", "m1", "because")
    verdicts = assay.read(path, value="pass", criteria=["tone", "tone 2"])
    assert answers(verdicts, "criterion", "label") == {("tone", "true"), ("tone 2", "false")}


def test_a_test_run_again_is_a_repeat(put, answers):
    again = [outcome(0, "m1", component("g-eval", 0.5)), outcome(0, "m1", component("g-eval", 0.7))]
    labels = assay.read(put("results.json", {"evalId": "e", "results": {"results": again}}), judge="gpt")
    assert answers(labels, "item", "repeat", "label") == {("test 0", 1, 0.5), ("test 0", 2, 0.7)}


# -- DeepEval, as version 4.3 writes a test run; lm-evaluation-harness 0.4.13 with --log_samples ---------------


def case(number, *metrics, **more):
    return {"name": f"test_case_{number}", "input": f"in {number}", "actualOutput": "out", "metricsData": [*metrics],
            "order": number, **more}  # fmt: skip


def metric(name, score, model="gpt-4.1", **more):
    return {"name": name, "score": score, "success": score is not None and score >= 0.5, "threshold": 0.5,
            **({"evaluationModel": model} if model else {}), **more}  # fmt: skip


RUN = {
    "testCases": [
        case(0, metric("Tone", 0.8), metric("Exact Match", 1.0, None), metadata={"key": "q1", "deep": {}}),
        case(1, metric("Tone", 0.2), metric("Exact Match", 0.0, None), metadata={"key": "q2"}),
        case(2, metric("Tone [GEval]", None, error="timed out"), metadata={"key": "q3"}),
    ],
    "conversationalTestCases": [], "metricsScores": [], "testPassed": 1, "runDuration": 1.0,
}  # fmt: skip


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_run_of_deepeval(put, answers, excluded, wrapped):
    path = put("run.json", {"testRunData": RUN, "testRunLink": None} if wrapped else RUN)
    labels = assay.read(path)
    assert answers(labels) == {
        ("test_case_0", "gpt-4.1", "Tone", 0.8),
        ("test_case_1", "gpt-4.1", "Tone", 0.2),
    }
    assert labels.judges == ("gpt-4.1",)
    assert excluded(labels) == {paths.BY_RULE: 2, intake.UNSCORED: 1}
    assert labels.items.filter(pl.col("item") == "test_case_1")["input"].item() == "in 1"
    own = assay.read(path, item="key", value="pass", criteria=["Exact Match"], judge="by rule")
    assert answers(own) == {("q1", "by rule", "Exact Match", "true"), ("q2", "by rule", "Exact Match", "false")}
    with pytest.raises(DataError, match="holds no test cases of DeepEval"):
        assay.read(put("none.json", {"testCases": []}), format="deepeval")


def lm_sample(number, **metrics):
    return {"doc_id": number, "doc": {"id": f"q{number}", "question": "?"}, "target": "x", "resps": [["y"]],
            "filtered_resps": ["y"], "filter": "none", "metrics": [*metrics], "doc_hash": "h", **metrics}  # fmt: skip


def test_samples_of_lm_eval_need_to_be_told_what_a_judge_gave(put, answers, excluded):
    lines = [lm_sample(0, exact_match=1.0, tone=4), lm_sample(1, exact_match=0.0, tone=2), lm_sample(2, tone=[1])]
    path = put("samples_essays_2026-11-21T10-00-00.000001.jsonl", lines)
    with pytest.raises(DataError, match=r"does not say which metrics a judge gave.*there are exact_match, tone"):
        assay.read(path)
    labels = assay.read(path, criteria=["tone"], judge="gpt", scale="1-5")
    assert answers(labels) == {("essays/0", "gpt", "tone", 4), ("essays/1", "gpt", "tone", 2)}
    assert excluded(labels) == {paths.BY_RULE: 2, intake.UNSCORED: 1}
    assert labels.items["output"].to_list()[:2] == ["y", "y"]
    own = assay.read(path, criteria=["tone"], item="id", scale="1-5")
    assert answers(own) == {("q0", "lm-eval judge", "tone", 4), ("q1", "lm-eval judge", "tone", 2)}
    assert "name it with judge=..." in " ".join(own.reading.notes)


# -- MLflow -------------------------------------------------------------------------------------------

TABLE = {
    "columns": ["inputs", "outputs", "tone/v1/score", "tone/v1/justification", "toxicity/v1/score"],
    "data": [["q1", "a1", 4, "good", 0.1], ["q2", "a2", 2, "bad", 0.2], ["q3", "a3", None, None, 0.3]],
}


@pytest.mark.parametrize("kind", ["json", "parquet", "csv"])
def test_a_table_of_scores(put, tmp_path, answers, excluded, kind):
    path = put("eval_results_table.json", TABLE)
    if kind != "json":
        frame = pl.DataFrame([dict(zip(TABLE["columns"], row, strict=True)) for row in TABLE["data"]])
        path = tmp_path / f"table.{kind}"
        frame.write_parquet(path) if kind == "parquet" else frame.write_csv(path)
    labels = assay.read(path, item="inputs", judge="gpt", scale="1-5")
    assert answers(labels) == {("q1", "gpt", "tone", 4), ("q2", "gpt", "tone", 2)}
    assert excluded(labels) == {intake.UNSCORED: 1}
    assert "without a justification, not taken as a judge's: toxicity" in labels.reading.notes
    both = assay.read(path, item="inputs", criteria=["toxicity"], scale="interval:0-1")
    assert both.criteria == ("toxicity",)


def assessment(name, by, who, value=None, **more):
    feedback = {} if value is None else {"feedback": {"value": value}}
    return {"assessment_name": name, "source": {"source_type": by, "source_id": who}, **feedback, **more}


def test_assessments_of_traces(put, answers, excluded):
    traces = [
        {
            "info": {
                "trace_id": "t1",
                "request_preview": "why?",
                "assessments": [
                    assessment("good", "LLM_JUDGE", "openai:/gpt", True),
                    assessment("good", "HUMAN", "ann@example.org", False),
                    assessment("good", "CODE", "rule", True),
                    assessment("good", "HUMAN", "bob@example.org", True, valid=False),
                    assessment("truth", "HUMAN", "ann@example.org", expectation={"value": "x"}),
                    assessment("good", "LLM_JUDGE", "openai:/other", error={"error_code": "RATE_LIMIT"}),
                ],
            },
            "data": {"spans": []},
        }
    ]
    for shape in (traces, {"traces": traces}, [{**traces[0]["info"], "assessments": traces[0]["info"]["assessments"]}]):
        labels = assay.read(put("traces.json", shape))
        assert answers(labels, "item", "annotator", "kind", "criterion", "label") == {
            ("t1", "openai:/gpt", "judge", "good", "true"),
            ("t1", "ann@example.org", "human", "good", "false"),
        }
        assert excluded(labels) == {
            paths.BY_CODE: 1,
            intake.SUPERSEDED: 1,
            paths.EXPECTATION: 1,
            intake.UNSCORED: 1,
        }


def test_a_table_without_judges_is_refused(put):
    table = {"columns": ["inputs", "toxicity/v1/score"], "data": [["q", 0.1]]}
    with pytest.raises(DataError, match=r"name the metrics that are with criteria=\[...\] \(there are toxicity\)"):
        assay.read(put("t.json", table))
    with pytest.raises(DataError, match="no column 'metric/v1/score'"):
        assay.read(put("u.json", [{"a": 1}]), format="mlflow")


def rules_log(**scores):
    """A log of Inspect AI with these scores on its one sample."""
    sample = {"id": "q1", "epoch": 1, "input": "?", "scores": {name: {"value": v} for name, v in scores.items()}}
    return {"version": 2, "status": "success", "eval": {"task_id": "t", "model": "m"}, "samples": [sample]}


def test_scorers_that_follow_a_rule_are_no_judges(put):
    path = put("log.json", rules_log(match="C", includes="I", quality=4))
    labels = assay.read(path)
    assert labels.judges == ("quality",)
    assert [(e.count, e.reason) for e in labels.reading.exclusions] == [(2, "given by a rule, not by a judge")]
    assert labels.reading.rows == len(labels) + 2
    assert any("not taken as judges: match, includes" in note for note in labels.reading.notes)
    assert assay.read(path, criteria=["match"]).judges == ("match",)
    with pytest.raises(DataError, match=r"holds no answers .*2 rows: given by a rule, not by a judge"):
        assay.read(put("rules.json", rules_log(match="C", includes="I")))


def test_a_rule_that_a_model_gave_is_a_judge(put):
    log = rules_log(match="C")
    log["samples"][0]["scores"]["match"]["metadata"] = {"judge_model": "m/rater"}
    assert assay.read(put("log.json", log)).judges == ("m/rater",)


# -- Prodigy ------------------------------------------------------------------------------------------


def choice(key, who, accept, answer="accept", time=0, options=("a", "b", "c")):
    return {
        "text": f"text {key}",
        "key": key,
        "options": [{"id": o, "text": f"option {o}"} for o in options],
        "accept": accept,
        "answer": answer,
        "_input_hash": int(key[1:]),
        "_task_hash": 1,
        "_view_id": "choice",
        "_timestamp": time,
        "_annotator_id": f"my-set-{who}",
    }


def test_choices(put, answers, excluded):
    path = put(
        "choices.jsonl",
        [
            choice("q1", "ann", ["a"], time=1),
            choice("q1", "bob", ["b"]),
            choice("q2", "ann", [], "ignore"),
            choice("q2", "bob", ["a"], "reject"),
            choice("q3", "ann", []),
            choice("q1", "ann", ["c"], time=9),
            {**choice("q3", "bob", ["c"]), "_view_id": "review"},
        ],
    )
    labels = assay.read(path, item="key", dataset="my-set", question="kind")
    assert answers(labels) == {("q1", "ann", "kind", "c"), ("q1", "bob", "kind", "b")}
    assert excluded(labels) == {
        intake.SKIPPED: 1,
        paths.BAD_TASK: 1,
        intake.EMPTY: 1,
        paths.REVIEW: 1,
        intake.SUPERSEDED: 1,
    }
    assert labels.scale.spec == "nominal:a,b,c"


def test_whole_numbers_stay_numbers(put, answers):
    path = put("stars.jsonl", [choice("q1", "ann", [5], options=(1, 2, 3, 4, 5)), choice("q2", "ann", [2])])
    assert answers(assay.read(path, item="key", dataset="my-set", scale="1-5")) == {("q1", "ann", 5), ("q2", "ann", 2)}


def test_a_pair_is_a_preference_however_it_was_shuffled(put, answers):
    path = put(
        "pairs.jsonl",
        [
            choice("q1", "ann", ["m1"], options=("m2", "m1", "same")),
            choice("q1", "bob", ["m1"], options=("m1", "m2", "same")),
            choice("q2", "ann", ["same"], options=("m1", "m2", "same")),
            choice("q2", "bob", ["m2"], options=("m1", "m2", "same")),
        ],
    )
    labels = assay.read(path, item="key", dataset="my-set", pair=["m1", "m2"])
    assert answers(labels, "item", "annotator", "label", "position") == {
        ("q1", "ann", -1, 2),
        ("q1", "bob", -1, 1),
        ("q2", "ann", 0, 3),
        ("q2", "bob", 1, 2),
    }
    with pytest.raises(DataError, match="option 'm3'"):
        assay.read(path, item="key", pair=["m1", "m3"])


def test_in_a_binary_view_the_verdict_is_the_label(put, answers):
    made = {"text": "t", "label": "GOOD", "_input_hash": 1, "_task_hash": 2, "_view_id": "classification"}
    session = {"_annotator_id": "2030-01-01_10-00-00"}
    path = put(
        "binary.jsonl",
        [{**made, **session, "answer": "reject"}, {**made, **session, "_input_hash": 2, "answer": "ignore"}],
    )
    labels = assay.read(path)
    assert answers(labels) == {("1", "2030-01-01_10-00-00", "GOOD", "reject")}
    assert any("starting times" in note for note in labels.reading.notes)


@pytest.mark.real_data
@pytest.mark.parametrize(
    "file", ["choice_single", "choice_rating_int_ids", "choice_pairwise_shuffled", "binary_unnamed_session"]
)
def test_real_shapes(real_data, expected, answers, file):
    names = {"choice_single": "food", "choice_rating_int_ids": "stars", "choice_pairwise_shuffled": "pref"}
    question = names.get(file)
    labels = assay.read(
        real_data / "formats" / "prodigy" / f"{file}.jsonl",
        item="item_id",
        dataset=f"{question}_ds",
        question=question,
    )
    rows = [r for r in expected("formats/prodigy") if r["file"] == f"{file}.jsonl" and r["status"] == "ok"]
    assert {(*key, str(v)) for *key, v in answers(labels)} == {
        (r["item"], r["annotator"], r["control"], r["value"]) for r in rows
    }


# -- Argilla ------------------------------------------------------------------------------------------

ANN, BOB = "0000-a", "0000-b"
FLAT = [
    {
        "id": "r1",
        "status": "completed",
        "_server_id": None,
        "text": "one",
        "stars.responses": [4, 2],
        "stars.responses.users": [ANN, BOB],
        "stars.responses.status": ["submitted", "draft"],
        "tags.responses": [["x", "y"]],
        "tags.responses.users": [BOB],
        "tags.responses.status": ["submitted"],
        "best.responses": [["b", "a"], ["a", "b"]],
        "best.responses.users": [BOB, ANN],
        "best.responses.status": ["submitted", "submitted"],
        "stars.suggestion": 5,
        "stars.suggestion.agent": "gpt",
        "stars.suggestion.score": 0.5,
    },
    {
        "id": "r2",
        "status": "pending",
        "_server_id": None,
        "text": "two",
        "stars.responses": [1, 3],
        "stars.responses.users": [BOB, ANN],
        "stars.responses.status": ["discarded", "submitted"],
        "tags.responses": [["y", "x"], ["x"]],
        "tags.responses.users": [ANN, BOB],
        "tags.responses.status": ["submitted", "submitted"],
        "best.responses": None,
        "best.responses.users": None,
        "best.responses.status": None,
        "stars.suggestion": None,
        "stars.suggestion.agent": None,
        "stars.suggestion.score": None,
    },
]
USERS = {ANN: "ann", BOB: "bob"}
ARGILLA_SCALES = {"stars": "1-5", "tags": "nominal", "best": "nominal"}


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_flat_records(put, tmp_path, answers, excluded, kind):
    path = put("flat.json", FLAT)
    if kind == "parquet":
        path = tmp_path / "flat.parquet"
        pl.DataFrame(FLAT).write_parquet(path)
    labels = assay.read(path, users=USERS, scale=ARGILLA_SCALES)
    assert answers(labels) == {
        ("r1", "ann", "stars", "4"),
        ("r2", "ann", "stars", "3"),
        ("r1", "gpt", "stars", "5"),
        ("r1", "bob", "tags", "x|y"),
        ("r2", "ann", "tags", "x|y"),
        ("r2", "bob", "tags", "x"),
        ("r1", "bob", "best", "b>a"),
        ("r1", "ann", "best", "a>b"),
    }
    assert excluded(labels) == {intake.DRAFT: 1, intake.DISCARDED: 1}
    assert labels.judges == ("gpt",)
    assert "taken as rankings: best (rankings=[...] says otherwise)" in labels.reading.notes
    stars = labels.where(criterion="stars", annotator="ann")
    assert stars.labels["suggestion_shown"].to_list() == [True, False]


def test_a_folder_with_settings_states_the_scales(put, answers):
    record = {
        "id": "r1",
        "status": "pending",
        "_server_id": None,
        "fields": {"text": "one"},
        "metadata": {"group": "g"},
        "suggestions": {},
        "responses": {"stars": [{"value": 4, "user_id": ANN}], "why": [{"value": "so", "user_id": ANN}]},
        "vectors": {},
    }
    questions = [
        {"name": "stars", "settings": {"type": "rating", "options": [{"value": v} for v in (1, 2, 3, 4)]}},
        {"name": "why", "settings": {"type": "text"}},
    ]
    path = put("set/records.json", [record])
    put("set/.argilla/settings.json", {"questions": questions})
    labels = assay.read(path.parent, users=USERS)
    assert answers(labels) == {("r1", "ann", "stars", "4"), ("r1", "ann", "why", "so")}
    assert labels.scale_of("stars").spec == "ordinal:1-4"
    assert labels.items.select("item", "group", "text").row(0) == ("r1", "g", "one")
    assert any("does not say which responses are drafts" in note for note in labels.reading.notes)


def test_a_csv_of_records_is_refused(put):
    path = put("flat.csv", "id,stars.responses,stars.responses.users\nr1,[4 2],['a' 'b']\n")
    with pytest.raises(DataError, match="export JSON or parquet"):
        assay.read(path)


@pytest.mark.real_data
@pytest.mark.parametrize("file", ["records_flat.json", "hub_flat.parquet"])
def test_real_records(real_data, expected, answers, excluded, file):
    folder = real_data / "formats" / "argilla"
    rows = expected("formats/argilla")
    labels = assay.read(
        folder / file,
        users=folder / "users.json",
        settings=folder / "to_disk" / ".argilla" / "settings.json",
        suggestions=False,
    )

    def text(value):
        values = value.strip("[]").replace('"', "").split(", ") if value.startswith("[") else None
        return value if values is None else ">".join(values) if "answer" in value else "|".join(sorted(values))

    submitted = {
        (r["record_id"], r["user"], r["question"], text(r["value"])) for r in rows if r["status"] == "submitted"
    }
    assert answers(labels) == submitted
    assert excluded(labels) == {intake.DRAFT: 1, intake.DISCARDED: 1}


# -- all that is said, and all that is known beside the labels ----------------------------------------


def said_of(labels):
    return (
        labels.reading.notes,
        [str(one) for one in labels.reading.exclusions],
        labels.items.to_dict(as_series=False),
    )


def test_what_is_said_of_a_log_and_of_graders(put, tmp_path):
    log = assay.read(eval_file(tmp_path / "log.eval"), scale=SCALES)
    assert said_of(log) == (
        ("1 score edited by a person: the judge's own, earlier one counts",),
        ["1 row: the judge's reply held no score", "1 row: the sample ended in an error"],
        {"item": ["1", "2"], "input": ["in", "in"], "key": ["k1", "k2"], "system": ["m/tested", "m/tested"]},
    )
    assert log.labels["edited"].to_list() == [False, False, True, False, False]
    config = {"defaultTest": {"options": {"provider": "gpt"}}}
    path = put("results.json", {"evalId": "e", "results": {"version": 3, "results": results()}, "config": config})
    graders = assay.read(path, item="key")
    assert said_of(graders) == (
        (
            "labels taken as numbers (there is only one value); say so with scale=... if they are something else",
            "2 items of the item table without a label, not counted",
        ),
        [
            "1 row: given by a rule, not by a judge", "1 row: the judge's reply held no score",
            "1 row: the provider gave no output to judge",
        ],
        {
            "item": ["k0 @ m1"], "key": ["k0"], "question": ["why?"], "document": ["k0"], "system": ["m1"],
            "output": ["because"],
        },
    )  # fmt: skip


def test_what_is_said_of_a_table_of_scores(put):
    path = put("t.json", TABLE)
    nameless, named = assay.read(path, scale="1-5"), assay.read(path, item="inputs", judge="gpt", scale="1-5")
    other, rest = (
        "without a justification, not taken as a judge's: toxicity",
        "1 item of the item table without a label, not counted",
    )
    assert said_of(nameless) == (
        (
            other, "the table does not say which model judged; name it with judge=...",
            "items are named by their row; name your own id with item=...", rest,
        ),
        ["1 row: the judge's reply held no score"],
        {"item": ["row 1", "row 2"], "inputs": ["q1", "q2"], "outputs": ["a1", "a2"]},
    )  # fmt: skip
    assert said_of(named) == (
        (other, rest), ["1 row: the judge's reply held no score"],
        {"item": ["q1", "q2"], "inputs": ["q1", "q2"], "outputs": ["a1", "a2"]},
    )  # fmt: skip


def test_what_is_said_of_choices_and_of_records(put):
    path = put("c.jsonl", [choice("q1", "ann", ["a"], time=1), {**choice("q2", "ann", ["b", "a"]), "config": {"x": 1}}])
    chosen = assay.read(path)
    assert said_of(chosen) == (
        (
            "items are named by the hash of their input; name your own field with item=...",
            "labels taken as 2 categories without order; say so with scale=... if they are something else",
        ),
        [],
        {"item": ["1", "2"], "text": ["text q1", "text q2"], "key": ["q1", "q2"]},
    )
    assert chosen.labels.select("annotator", "label", "position").rows() == [
        ("my-set-ann", "a", 1), ("my-set-ann", "a|b", None),
    ]  # fmt: skip
    gone = ["1 row: draft, never submitted", "1 row: discarded by the annotator"]
    items = {"item": ["r1", "r2"], "text": ["one", "two"]}
    path = put("flat.json", [FLAT[0], FLAT[1]])
    records = assay.read(path, users=USERS, scale=ARGILLA_SCALES)
    assert said_of(records) == (("taken as rankings: best (rankings=[...] says otherwise)",), gone, items)
    told = assay.read(path, scale=ARGILLA_SCALES, rankings=["best"], suggestions=False)
    assert said_of(told) == (("annotators are user ids; name them with users=...",), gone, items)
    other = {**FLAT[1], "stars.responses.status": ["draft", "submitted"]}
    drafts = [{**FLAT[0], "stars.responses.status": ["draft", "draft"]}, other]
    assert said_of(assay.read(put("flat.json", drafts), scale=ARGILLA_SCALES))[1] == ["3 rows: draft, never submitted"]
