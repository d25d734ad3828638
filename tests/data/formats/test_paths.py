"""Formats with declared fields, such as Inspect AI and promptfoo: judges, and exclusions."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import polars as pl
import pytest

import assay
from assay.cli.labels import command_for
from assay.data.formats import FormatSettings
from assay.data.formats.platforms import intake, paths
from assay.errors import DataError, DesignError

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
def test_read_inspect_scores(put, tmp_path, answers, excluded, kind):
    path = eval_file(tmp_path / "log.eval") if kind == "eval" else put("log.json", {**HEADER, "samples": samples()})
    labels = assay.read(path, scale=SCALES)
    assert answers(labels, *COLUMNS) == EXPECTED
    assert labels.humans == ()
    assert excluded(labels) == {intake.UNSCORED: 1, paths.FAILED: 1}
    assert "1 score edited by a human: the judge's own earlier score is used" in labels.reading.notes


def test_read_inspect_names_items_and_judges(tmp_path, answers):
    path = eval_file(tmp_path / "log.eval")
    named = assay.read(path, item="key", judge={"two": "m/two"}, criteria=["two"], with_model=True, format="inspect-ai")
    assert answers(named, "item", "annotator", "criterion") == {
        ("k2@m/tested", "m/two", "two.a"),
        ("k2@m/tested", "m/two", "two.b"),
    }


def test_read_inspect_notes_unfinished_log(tmp_path):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_journal/start.json", json.dumps({"eval": HEADER["eval"]}))
        archive.writestr("samples/1.json", json.dumps(samples()[0]))
    labels = assay.read(path, criteria=["rating"], scale="1-5")
    assert any("status is 'started'" in note for note in labels.reading.notes)


def test_read_inspect_refuses_damaged_logs(tmp_path):
    path = tmp_path / "log.eval"
    path.write_text("no archive")
    with pytest.raises(DataError, match=r"not a log of Inspect AI: an \.eval file is a zip archive"):
        assay.read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.json", "{}")
    with pytest.raises(DataError, match=r"contains no header\.json"):
        assay.read(path)


def test_read_inspect_unpacks_zstandard(tmp_path):
    """A Zstandard frame as in Parquet, packed in a zip by hand, because Python's zipfile cannot."""
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
    assert export(paths.Inspect, path).header == {"status": "started", **json.loads(text)}


def _zstandard(text: bytes) -> bytes:
    """A Zstandard frame of one raw block (RFC 8878, 3.1.1): magic, single segment, 4-byte size, block."""
    block = (len(text) << 3 | 1).to_bytes(3, "little")
    return b"\x28\xb5\x2f\xfd\xa0" + len(text).to_bytes(4, "little") + block + text


@pytest.mark.real_data
@pytest.mark.parametrize("file", ["judge_probe.eval", "judge_probe.json", "judge_probe_edited.eval"])
def test_read_inspect_real_logs(real_data, expected, answers, excluded, file):
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
def test_read_deepeval_metrics(put, answers, excluded, shape):
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
def test_read_promptfoo_graders(put, answers, excluded, shape):
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


def rated(kinds: dict[str, float], human: float = 1.0, n: int = 30):
    """Outputs of which people rated two of three, with some model-graded assertions."""
    return [
        outcome(k, "m1", *(component(kind, round(score * (k % 3) / 2, 2)) for kind, score in kinds.items()),
                *([component("human", human * (k % 2))] if k % 3 else []))
        for k in range(n)
    ]  # fmt: skip


def test_read_promptfoo_compares_human_ratings_with_the_only_graded_assertion(put):
    labels = assay.read(put("results.json", {"evalId": "e", "results": {"results": rated({"g-eval": 0.9})}}))
    assert (labels.criteria, labels.n_items, labels.humans) == (("g-eval",), 30, ("promptfoo user",))
    assert labels.labels.filter(annotator="promptfoo user")["criterion"].unique().to_list() == ["g-eval"]
    said = "human ratings are of whole outputs, and are compared with the assertion 'g-eval'"
    assert said in labels.reading.notes
    supported = {one.name: one.supported for one in assay.look(labels.reading.source).analyses}
    assert supported["agreement"]
    assert supported["corrected_estimates"]


def test_read_promptfoo_asks_which_of_several_assertions_people_rated(put):
    path = put("results.json", {"evalId": "e", "results": {"results": rated({"g-eval": 0.9, "factuality": 1})}})
    labels = assay.read(path)
    assert labels.criteria == ("factuality", "g-eval", "human")
    (note,) = (one for one in labels.reading.notes if "whole outputs" in one)
    assert note.endswith("to compare them with one of these, set criteria=['g-eval', 'human']")
    look = assay.look(path)
    supported = {one.name: (one.supported, one.reason) for one in look.analyses}
    assert not supported["agreement"][0]
    assert supported["corrected_estimates"] == (False, "no_common_criterion")
    assert command_for(look, [str(path)]) is None
    chosen = assay.read(path, criteria=["factuality", "human"])
    assert (chosen.criteria, chosen.humans) == (("factuality",), ("promptfoo user",))
    alone = assay.read(path, criteria=["factuality"])
    assert alone.humans == ()


def test_read_promptfoo_keeps_human_ratings_on_another_scale_apart(put):
    path = put("results.json", {"evalId": "e", "results": {"results": rated({"g-eval": 0.9}, human=5)}})
    assert assay.read(path).criteria == ("g-eval", "human")
    assert assay.read(path, value="pass").criteria == ("g-eval",)


def test_read_promptfoo_repeats(put, answers):
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
def test_read_deepeval_run(put, answers, excluded, wrapped):
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
    with pytest.raises(DataError, match="contains no test cases of DeepEval"):
        assay.read(put("none.json", {"testCases": []}), format="deepeval")


def lm_sample(number, **metrics):
    return {"doc_id": number, "doc": {"id": f"q{number}", "question": "?"}, "target": "x", "resps": [["y"]],
            "filtered_resps": ["y"], "filter": "none", "metrics": [*metrics], "doc_hash": "h", **metrics}  # fmt: skip


def test_read_lm_eval_requires_criteria(put, answers, excluded):
    lines = [lm_sample(0, exact_match=1.0, tone=4), lm_sample(1, exact_match=0.0, tone=2), lm_sample(2, tone=[1])]
    path = put("samples_essays_2026-11-21T10-00-00.000001.jsonl", lines)
    with pytest.raises(DataError, match=r"does not state which metrics a judge gave.*there are exact_match, tone"):
        assay.read(path)
    labels = assay.read(path, criteria=["tone"], judge="gpt", scale="1-5")
    assert answers(labels) == {("essays/0", "gpt", "tone", 4), ("essays/1", "gpt", "tone", 2)}
    assert excluded(labels) == {paths.BY_RULE: 2, intake.UNSCORED: 1}
    assert labels.items["output"].to_list()[:2] == ["y", "y"]
    own = assay.read(path, criteria=["tone"], item="id", scale="1-5")
    assert answers(own) == {("q0", "lm-eval judge", "tone", 4), ("q1", "lm-eval judge", "tone", 2)}
    assert "set judge=..." in " ".join(own.reading.notes)


# -- MLflow -------------------------------------------------------------------------------------------

TABLE = {
    "columns": ["inputs", "outputs", "tone/v1/score", "tone/v1/justification", "toxicity/v1/score"],
    "data": [["q1", "a1", 4, "good", 0.1], ["q2", "a2", 2, "bad", 0.2], ["q3", "a3", None, None, 0.3]],
}


@pytest.mark.parametrize("kind", ["json", "parquet", "csv"])
def test_read_mlflow_table(put, tmp_path, answers, excluded, kind):
    path = put("eval_results_table.json", TABLE)
    if kind != "json":
        frame = pl.DataFrame([dict(zip(TABLE["columns"], row, strict=True)) for row in TABLE["data"]])
        path = tmp_path / f"table.{kind}"
        frame.write_parquet(path) if kind == "parquet" else frame.write_csv(path)
    labels = assay.read(path, item="inputs", judge="gpt", scale="1-5")
    assert answers(labels) == {("q1", "gpt", "tone", 4), ("q2", "gpt", "tone", 2)}
    assert excluded(labels) == {intake.UNSCORED: 1}
    assert "skipped metrics without a justification: toxicity" in labels.reading.notes
    both = assay.read(path, item="inputs", criteria=["toxicity"], scale="interval:0-1")
    assert both.criteria == ("toxicity",)


def assessment(name, by, who, value=None, **more):
    feedback = {} if value is None else {"feedback": {"value": value}}
    return {"assessment_name": name, "source": {"source_type": by, "source_id": who}, **feedback, **more}


def test_read_mlflow_traces(put, answers, excluded):
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


def test_read_mlflow_refuses_table_without_judges(put):
    table = {"columns": ["inputs", "toxicity/v1/score"], "data": [["q", 0.1]]}
    with pytest.raises(DataError, match=r"name the judge's metrics with criteria=\[...\] \(there are toxicity\)"):
        assay.read(put("t.json", table))
    with pytest.raises(DataError, match="no column 'metric/v1/score'"):
        assay.read(put("u.json", [{"a": 1}]), format="mlflow")


def rules_log(**scores):
    """A log of Inspect AI with these scores on its one sample."""
    sample = {"id": "q1", "epoch": 1, "input": "?", "scores": {name: {"value": v} for name, v in scores.items()}}
    return {"version": 2, "status": "success", "eval": {"task_id": "t", "model": "m"}, "samples": [sample]}


def test_read_inspect_skips_rule_based_scorers(put):
    path = put("log.json", rules_log(match="C", includes="I", quality=4))
    labels = assay.read(path)
    assert labels.judges == ("quality",)
    assert [(e.count, e.reason) for e in labels.reading.exclusions] == [(2, "rule-based, not given by a judge")]
    assert labels.reading.rows == len(labels) + 2
    assert any("skipped rule-based scorers: match, includes" in note for note in labels.reading.notes)
    assert assay.read(path, criteria=["match"]).judges == ("match",)
    with pytest.raises(DataError, match=r"contains no answers .*2 rows: rule-based, not given by a judge"):
        assay.read(put("rules.json", rules_log(match="C", includes="I")))


def test_read_inspect_rule_of_model_is_a_judge(put):
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


def test_read_prodigy_choices(put, answers, excluded):
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


def test_read_prodigy_keeps_integers(put, answers):
    path = put("stars.jsonl", [choice("q1", "ann", [5], options=(1, 2, 3, 4, 5)), choice("q2", "ann", [2])])
    assert answers(assay.read(path, item="key", dataset="my-set", scale="1-5")) == {("q1", "ann", 5), ("q2", "ann", 2)}


def test_read_prodigy_pair_is_a_preference(put, answers):
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


def test_read_prodigy_binary_view(put, answers):
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
def test_read_prodigy_real_layouts(real_data, expected, answers, file):
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
def test_read_argilla_flat_records(put, tmp_path, answers, excluded, kind):
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
    assert "assumed to be rankings: best (if wrong, set rankings=[...])" in labels.reading.notes
    stars = labels.where(criterion="stars", annotator="ann")
    assert stars.labels["suggestion_shown"].to_list() == [True, False]


def test_read_argilla_scales_from_settings(put, answers):
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
    assert any("does not mark drafts" in note for note in labels.reading.notes)


def test_read_argilla_refuses_csv(put):
    path = put("flat.csv", "id,stars.responses,stars.responses.users\nr1,[4 2],['a' 'b']\n")
    with pytest.raises(DataError, match="export JSON or parquet"):
        assay.read(path)


@pytest.mark.real_data
@pytest.mark.parametrize("file", ["records_flat.json", "hub_flat.parquet"])
def test_read_argilla_real_records(real_data, expected, answers, excluded, file):
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


# -- notes and attributes ---------------------------------------------------------------------------------


def said_of(labels):
    return (
        labels.reading.notes,
        [str(one) for one in labels.reading.exclusions],
        labels.items.to_dict(as_series=False),
    )


def test_read_inspect_and_promptfoo_notes(put, tmp_path):
    log = assay.read(eval_file(tmp_path / "log.eval"), scale=SCALES)
    assert said_of(log) == (
        ("1 score edited by a human: the judge's own earlier score is used",),
        ["1 row: no score in the judge's response", "1 row: the sample ended in an error"],
        {"item": ["1", "2"], "input": ["in", "in"], "key": ["k1", "k2"], "system": ["m/tested", "m/tested"]},
    )
    assert log.labels["edited"].to_list() == [False, False, True, False, False]
    config = {"defaultTest": {"options": {"provider": "gpt"}}}
    path = put("results.json", {"evalId": "e", "results": {"version": 3, "results": results()}, "config": config})
    graders = assay.read(path, item="key")
    assert said_of(graders) == (
        (
            "human ratings are of whole outputs: a separate criterion, because tone, tone 2 are model-graded; to "
            "compare them with one of these, set criteria=['tone', 'human']",
            "Assumed scale interval (all labels are equal). If wrong, set scale=...",
            "2 items without a label",
        ),
        [
            "1 row: rule-based, not given by a judge", "1 row: no score in the judge's response",
            "1 row: no output of the provider to judge",
        ],
        {
            "item": ["k0 @ m1"], "key": ["k0"], "question": ["why?"], "document": ["k0"], "system": ["m1"],
            "output": ["because"],
        },
    )  # fmt: skip


def test_read_mlflow_notes(put):
    path = put("t.json", TABLE)
    nameless, named = assay.read(path, scale="1-5"), assay.read(path, item="inputs", judge="gpt", scale="1-5")
    other, rest = (
        "skipped metrics without a justification: toxicity",
        "1 item without a label",
    )
    assert said_of(nameless) == (
        (
            other, "the table does not name the judge; set judge=...",
            "items are named by their row; name your own id with item=...", rest,
        ),
        ["1 row: no score in the judge's response"],
        {"item": ["row 1", "row 2"], "inputs": ["q1", "q2"], "outputs": ["a1", "a2"]},
    )  # fmt: skip
    assert said_of(named) == (
        (other, rest), ["1 row: no score in the judge's response"],
        {"item": ["q1", "q2"], "inputs": ["q1", "q2"], "outputs": ["a1", "a2"]},
    )  # fmt: skip


def test_read_prodigy_and_argilla_notes(put):
    path = put("c.jsonl", [choice("q1", "ann", ["a"], time=1), {**choice("q2", "ann", ["b", "a"]), "config": {"x": 1}}])
    chosen = assay.read(path)
    assert said_of(chosen) == (
        (
            "items are named by the hash of their input; name your own field with item=...",
            "Assumed scale nominal (2 categories without order; rarest first: 'a' (1), 'a|b' (1)). If wrong, "
            "set scale=...",
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
    assert said_of(records) == (("assumed to be rankings: best (if wrong, set rankings=[...])",), gone, items)
    in_short = assay.read(path, scale=ARGILLA_SCALES, rankings=["best"], suggestions=False)
    assert said_of(in_short) == (("annotators are user ids; name them with users=...",), gone, items)
    other = {**FLAT[1], "stars.responses.status": ["draft", "submitted"]}
    drafts = [{**FLAT[0], "stars.responses.status": ["draft", "draft"]}, other]
    assert said_of(assay.read(put("flat.json", drafts), scale=ARGILLA_SCALES))[1] == ["3 rows: draft, never submitted"]


# -- function by function ------------------------------------------------------------------------------


def export(kind, name="f.json", **options):
    return kind(Path(name), None, FormatSettings(**options))


def in_short(one):
    """An answer in short; a reason unchanged."""
    return one if isinstance(one, str) else (one.annotator, one.label, one.criterion, one.kind)


def test_find_returns_first_value():
    record = {"a": {"zero": 0, "no": False, "empty": "", "none": None}, "b": {}, "c": "x"}
    assert paths.find(record, "a.zero", "c") == 0
    assert paths.find(record, "a.no", "c") is False
    assert [paths.find(record, first, "c") for first in ("a.empty", "a.none", "a.other", "b.deep.er", "d")] == ["x"] * 5
    assert paths.find(record, "c", "a.zero") == "x"
    assert paths.find(record, "d", "a.none") is None


def test_answer_requires_text_name():
    one = paths.answer(None, 3, "q", time=2, about={"a": 1})
    assert (one.item, one.annotator, one.where, one.label) == ("", "", "", 3)
    assert (one.criterion, one.kind, one.time, one.about, one.repeat) == ("q", "human", 2, {"a": 1}, None)
    with pytest.raises(TypeError, match="a name must be a text; got 7"):
        paths.answer(7, 3, "q")


def test_export_names_records_by_place(put):
    case = {"metricsData": [{"name": "Tone", "score": 0.5, "evaluationModel": "gpt"}]}
    path = put("run.json", {"testCases": [case], "conversationalTestCases": [case, {**case, "name": "c"}]})
    labels = assay.read(path, scale="interval:0-1")
    assert set(labels.labels["item"]) == {"test case 1", "test case 2", "c"}
    with pytest.raises(DataError, match=r"run\.json, test case 1"):
        assay.read(path, item="key")


@pytest.mark.parametrize(
    ("record", "found"),
    [
        ({"responses": {"q": [{"value": 4, "user_id": "a"}, {"value": 2, "user_id": "b", "status": "draft"}],
           "p": None}},
         [("a", 4, "q", "human"), intake.DRAFT]),
        ({"id": "r", "q.responses": [4, 2, 1], "q.responses.users": ["a", "b", "c"],
          "q.responses.status": ["discarded", "submitted", "draft"],
          "p.responses": None}, [intake.DISCARDED, ("b", 2, "q", "human"), intake.DRAFT]),
        ({"q.responses": [4, 2]}, [intake.UNKNOWN_ANNOTATOR] * 2),
        ({"q.responses": [4, 2], "q.responses.users": ["a", "b"]}, [("a", 4, "q", "human"), ("b", 2, "q", "human")]),
        ({"suggestions": {"q": {"value": 0, "agent": "m"}, "p": {"value": None}, "o": None, "n": {"value": "x"}}},
         [("m", 0, "q", "judge"), ("suggestion", "x", "n", "judge")]),
        ({"q.suggestion": 0, "q.suggestion.agent": "m", "p.suggestion": None, "o.suggestion": "x"},
         [("m", 0, "q", "judge"), ("suggestion", "x", "o", "judge")]),
    ],
)  # fmt: skip
def test_argilla_responses_and_suggestions(record, found):
    assert [in_short(one) for one in export(paths.Argilla).answers(record)] == found


def test_argilla_rankings_are_found_by_orders(put):
    def rankings(*values):
        one = export(paths.Argilla, put("r.json", [{"q.responses": [value]} for value in values]))
        one.records()
        return one.rankings

    assert rankings(["a", "b"], ["b", "a"]) == {"q"}
    assert rankings(["a", "b"], ["b", "a"], ["a", "b"]) == {"q"}
    assert rankings(["a", "b"], ["a", "b"]) == set()  # choices in the order in which they are listed
    assert rankings(["a", "b"], ["b", "a"], ["a"]) == set()
    assert rankings("ab", "ba") == set()


def test_argilla_fields_of_record(put):
    one = export(paths.Argilla, put("r.json", []))
    assert one.fields_of({"fields": {"text": "t", "a": 2}, "metadata": {"a": 1, "b": 3}, "id": 1}) == {
        "a": 2, "b": 3, "text": "t",
    }  # fmt: skip
    assert one.fields_of({"fields": {"text": "t"}, "metadata": None}) == {"text": "t"}
    flat = {"id": 1, "status": "x", "_server_id": 2, "text": "t", "q.responses": [], "q.suggestion.score": 1, "a.b": 4}
    assert one.fields_of(flat) == {"text": "t", "a.b": 4}
    assert one.place_of({"id": "r7"}, 3) == "record 3 (r7)"


def test_argilla_lists_are_spans_sets_or_rankings(put):
    def said(value, **options):
        found = export(
            paths.Argilla, put("r.json", [{"q.responses": [value], "q.responses.users": ["ann"]}]), **options
        )
        return [in_short(one) for record in found.records() for one in found.answers(record)]

    assert said([{"start": 1}]) == [paths.SPANS]
    assert said(["b", 1]) == [("ann", "1|b", "q", "human")]
    assert said(["b", 1], rankings=["q"]) == [("ann", "b>1", "q", "human")]


def test_read_argilla_names_label_classes(tmp_path, answers):
    record = {"id": "r1", "_server_id": None, "kind": 1, "q.responses": [3], "q.responses.users": ["u"]}
    frame = pl.DataFrame([record, {**record, "id": "r2", "kind": None}])
    features = {"kind": {"_type": "ClassLabel", "names": ["prose", "verse"]}}
    path = tmp_path / "hub.parquet"
    frame.write_parquet(path, metadata={"huggingface": json.dumps({"info": {"features": features}})})
    labels = assay.read(path, scale="1-5", format="argilla")
    assert labels.items.sort("item")["kind"].to_list() == ["verse", None]


@pytest.mark.parametrize(
    ("task", "found"),
    [
        ({"answer": "accept", "_view_id": "review", "options": [{"id": "a"}], "accept": ["a"]}, paths.REVIEW),
        ({"answer": "ignore", "label": "GOOD"}, intake.SKIPPED),
        ({"answer": "reject", "label": "GOOD"}, ("GOOD", "reject", {})),
        ({"answer": "accept", "label": "GOOD", "spans": []}, paths.OTHER_VIEW),
        ({"answer": "accept", "label": ["GOOD"]}, paths.OTHER_VIEW),
        ({"answer": "reject", "options": [{"id": "a"}], "accept": ["a"]}, paths.BAD_TASK),
        ({"answer": "accept", "options": [{"id": "a"}], "accept": None}, intake.EMPTY),
        ({"answer": "accept", "options": [{"id": "a"}, {"id": "b"}], "accept": ["b", "a"]}, ("kind", "a|b", {})),
        ({"answer": "accept", "options": [{"id": "a"}, {"id": "b"}], "accept": ["b"]}, ("kind", "b", {"position": 2})),
        ({"answer": "accept", "options": [{"id": "a"}], "accept": ["z"]}, ("kind", "z", {"position": None})),
    ],
)
def test_prodigy_answer_of_task(task, found):
    (one,) = export(paths.Prodigy, question="kind").answers(task)
    assert (one if isinstance(one, str) else (one.criterion, one.label, one.about)) == found


def test_prodigy_annotator_of_task():
    task = {"answer": "accept", "options": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "accept": ["b"], "text": "t"}
    one = export(paths.Prodigy, pair=["a", "b"], dataset="set")
    (found,) = one.answers({**task, "_session_id": "set-ann", "_annotator_id": ""})
    assert in_short(found) == ("ann", 1, None, "human")
    assert [next(one.answers({**task, "accept": [x], "_session_id": "s"})).label for x in "abc"] == [-1, 1, 0]
    (nobody,) = one.answers(task)
    assert in_short(nobody) == ("", "b", None, "human")
    about = {**task, "_session_id": "s", "_input_hash": 3, "label": "L", "config": {}, "note": 5}
    assert one.attributes(about, None) == {"text": "t", "note": 5}
    assert one.attributes(task, None) is None
    assert one.attributes({**about, "answer": "ignore"}, None) is None
    with pytest.raises(DataError, match=r"pair=... requires the two options that are compared; got 3"):
        export(paths.Prodigy, pair=["a", "b", "c"])


@pytest.mark.parametrize(
    ("options", "chosen", "scale"),
    [
        ("ab", "a", "nominal:a,b"),
        ((1, 2), 1, None),
        ("ab", "a|b", None),
        ((1, "b"), "b", 'nominal:[1, "b"]'),
        ("", "a", None),
    ],
)
def test_prodigy_text_options_are_the_scale(options, chosen, scale):
    one = export(paths.Prodigy)
    one.options = dict.fromkeys(options)
    one.intake.add(paths.answer("ann", chosen, None))
    one.finish(None)
    assert {k: v.spec for k, v in one.intake.scales.items()} == ({} if scale is None else {None: scale})
    assert one.intake.notes == []
    one.intake.add(paths.answer("2030-01-01_10-00-00", "accept", "GOOD"))
    one.finish(None)
    assert one.intake.scales["GOOD"].spec == "nominal:accept,reject"
    assert len(one.intake.notes) == 1


def test_promptfoo_names_results(put):
    def named(*results):
        one = export(paths.Promptfoo, put("r.json", {"results": [*results]}))
        one.records()
        return [one.name_of(None, r, "") for r in results] + [one.name_of("own", results[0], "")]

    first = {"testIdx": 3, "promptIdx": 0, "provider": {"id": "openai:m", "label": ""}}
    assert named(first) == ["test 3", "own"]
    assert named(first, {**first, "promptIdx": 1}) == ["test 3 / prompt 0", "test 3 / prompt 1", "own / prompt 0"]
    assert named(first, {**first, "provider": None}) == [
        "test 3 @ openai:m", "test 3 @ provider", "own @ openai:m",
    ]  # fmt: skip
    both = {"testIdx": 3, "promptIdx": 1, "provider": "m2"}
    assert named(first, both)[1:] == ["test 3 @ m2 / prompt 1", "own @ openai:m / prompt 0"]


def test_promptfoo_fields_of_output():
    one = export(paths.Promptfoo)
    result = {"testIdx": 0, "provider": "m", "testCase": {"vars": {"x": 1}}, "response": {"output": "o"}}
    assert one.attributes(result, None) == {"x": 1, "document": "test 0", "system": "m", "output": "o"}
    raw = {**result, "vars": {"y": 2}, "prompt": {"raw": "p", "label": ""}, "response": None}
    assert one.attributes(raw, "k") == {"y": 2, "document": "k", "system": "m", "prompt": "p"}
    assert one.attributes({**raw, "prompt": {"raw": "p", "label": "l"}}, "k")["prompt"] == "l"
    assert one.attributes({**raw, "prompt": "plain"}, "k")["prompt"] == "plain"


def test_promptfoo_assertions():
    def said(*components, **options):
        one = export(paths.Promptfoo, **options)
        return [
            in_short(x) for x in one.answers({"gradingResult": {"componentResults": [*components]}})
        ], one.intake.notes

    def of(kind, metric=None, **more):
        return {"score": 0.5, "pass": True, "assertion": {"type": kind, "metric": metric}, **more}

    default = "the results do not name the default grader; name it with judge=..."
    assert said(of("not-llm-rubric"), of("not-contains"), of("g-eval", "tone"), of("human", "tone")) == (
        [
            ("promptfoo grader", 0.5, "not-llm-rubric", "judge"), paths.BY_RULE,
            ("promptfoo grader", 0.5, "tone", "judge"), ("promptfoo user", 0.5, "tone 2", "human"),
        ],
        [default],
    )  # fmt: skip
    own = of("g-eval") | {"assertion": {"type": "g-eval", "provider": {"id": "gpt", "label": None}}}
    assert said(own, value="pass") == ([("gpt", True, "g-eval", "judge")], [])
    assert said(of("human")) == ([("promptfoo user", 0.5, "human", "human")], [])
    assert said(of("pi", metadata={"graderError": True})) == ([intake.UNSCORED], [])
    one = export(paths.Promptfoo)
    assert list(one.answers({"gradingResult": None, "error": "x"})) == [paths.NO_OUTPUT]
    assert list(one.answers({"gradingResult": {}})) == [intake.EMPTY]
    alone = {"score": 1, "assertion": {"type": "select-best"}}
    assert [in_short(x) for x in one.answers({"gradingResult": alone})] == [
        ("promptfoo grader", 1, "select-best", "judge")
    ]


def test_promptfoo_finds_results(put):
    def grader(name, content, **options):
        one = export(paths.Promptfoo, put(name, content), **options)
        assert one.records() == [{"testIdx": 1}]
        return one.grader, one.named

    config = {"defaultTest": {"options": {"provider": {"id": "gpt"}}}}
    rows = [{"testIdx": 1}]
    assert grader("a.json", {"results": {"results": rows}, "config": config}) == ("gpt", True)
    assert grader("a.json", {"results": rows}) == ("promptfoo grader", False)
    assert grader("a.jsonl", rows) == ("promptfoo grader", False)
    assert grader("a.json", {"results": rows, "config": config}, judge="mine") == ("mine", True)
    for name, content in (("a.json", rows), ("a.json", {"other": rows}), ("a.json", {"results": {"version": 3}})):
        with pytest.raises(DataError, match="contains no results of promptfoo; write them with 'promptfoo eval"):
            export(paths.Promptfoo, put(name, content)).records()
    with pytest.raises(DataError, match="a CSV of promptfoo does not contain which assertions gave a score"):
        export(paths.Promptfoo, put("a.csv", "x\n")).records()
    with pytest.raises(DesignError, match=r"judge=... by scorer is only for logs of Inspect AI; name one judge"):
        export(paths.Promptfoo, put("a.json", {"results": rows}), judge={"a": "b"}).records()


def test_deepeval_fields_and_answers():
    one = export(paths.DeepEval)
    case = {
        "name": "n",
        "input": "i",
        "actualOutput": ["x"],
        "expectedOutput": "e",
        "additionalMetadata": {"k": 1.5, "d": {}},
    }
    assert one.fields_of(case) == {"name": "n", "input": "i", "expected": "e", "k": 1.5}
    assert one.fields_of({**case, "metadata": {"input": "m"}, "additionalMetadata": {"k": 2}})["input"] == "m"
    assert one.fields_of({"name": "n", "metadata": "text"}) == {"name": "n"}

    def said(metric, **options):
        return [in_short(x) for x in export(paths.DeepEval, **options).answers({"metricsData": [metric]})]

    metric = {"name": "Tone [GEval] [Geval]", "score": 0.0, "success": False, "evaluationModel": "gpt"}
    assert said(metric) == [("gpt", 0.0, "Tone [GEval]", "judge")]
    assert said(metric, value="pass", judge="me") == [("me", False, "Tone [GEval]", "judge")]
    assert said({**metric, "error": "late"}) == [intake.UNSCORED]
    assert said({**metric, "score": None}) == [intake.UNSCORED]
    rule = {"name": "Exact", "score": 1.0}
    assert said(rule) == [paths.BY_RULE]
    assert said(rule, criteria=["Exact"]) == [("DeepEval", 1.0, "Exact", "judge")]
    assert list(one.answers({"metricsData": None})) == []


def test_lm_eval_fields_and_answers():
    one = export(paths.LmEval, "samples_essays_2026-11-21T10-00-00.jsonl", criteria=["tone"])
    assert [one.name_of(own, {"doc_id": 4}, "") for own in (None, "q")] == ["essays/4", "q"]
    assert export(paths.LmEval, "other.jsonl").name_of(None, {"doc_id": 4}, "") == "4"
    sample = {"doc_id": 4, "doc": {"a": 1, "b": [2]}, "target": "t", "filtered_resps": ["o", "p"]}
    assert one.attributes(sample, None) == {"doc_id": 4, "a": 1, "target": "t", "output": "o"}
    assert one.attributes({"doc_id": 4, "doc": "text", "filtered_resps": None}, None) == {"doc_id": 4}
    sample = {"metrics": ["acc", "tone", "more"], "acc": 1, "tone": 0}
    assert [in_short(x) for x in one.answers(sample)] == [
        paths.BY_RULE, ("lm-eval judge", 0, "tone", "judge"), paths.BY_RULE,
    ]  # fmt: skip
    assert list(one.answers({"metrics": ["tone"], "tone": [1]})) == [intake.UNSCORED]


def of_trace(by, who="x", value=3, **more):
    source = {"source_type": by, "source_id": who}
    return {"assessment_name": "q", "source": source, "feedback": {"value": value}, **more}


@pytest.mark.parametrize(
    ("one", "found"),
    [
        (of_trace("LLM_JUDGE"), ("x", 3, "q", "judge")),
        (of_trace("ai_judge"), ("x", 3, "q", "judge")),
        (of_trace("HUMAN"), ("x", 3, "q", "human")),
        (of_trace("HUMAN", "default"), ("", 3, "q", "human")),
        (of_trace("LLM_JUDGE", "default"), ("default", 3, "q", "judge")),
        (of_trace("LLM_JUDGE", None), ("mine", 3, "q", "judge")),
        (of_trace("HUMAN", None), ("", 3, "q", "human")),
        (of_trace("HUMAN", 7), ("7", 3, "q", "human")),
        (of_trace("CODE"), paths.BY_CODE),
        (of_trace("HUMAN", valid=True), ("x", 3, "q", "human")),
        (of_trace("HUMAN", valid=None), ("x", 3, "q", "human")),
        (of_trace("CODE", valid=False), intake.SUPERSEDED),
        (of_trace("CODE", expectation={"value": 1}), paths.EXPECTATION),
        (of_trace("HUMAN", error={"code": 1}), intake.UNSCORED),
        (of_trace("HUMAN", feedback={"value": 3, "error": "late"}), intake.UNSCORED),
        (of_trace("HUMAN", feedback=None, value=3), ("x", None, "q", "human")),
        ({"name": "q", "value": 0, "source": {"source_type": "HUMAN", "source_id": "x"}}, ("x", 0, "q", "human")),
    ],
)  # fmt: skip
def test_mlflow_answer_of_assessment(one, found):
    (said,) = export(paths.MLflow, judge="mine").answers({"assessments": [one]})
    assert in_short(said) == found


def test_mlflow_time_of_assessment():
    def time(**more):
        (one,) = export(paths.MLflow).answers({"assessments": [of_trace("HUMAN", **more)]})
        return one.time

    assert time(last_update_time="b", create_time="a") == "b"
    assert time(create_time="a", create_time_ms=5) == "a"
    assert time(create_time_ms=5) == "5"
    assert time() is None


def test_mlflow_metrics_of_judge(put):
    def judged(*columns, **options):
        table = {"columns": [*columns, "item"], "data": [[None] * (len(columns) + 1)]}
        one = export(paths.MLflow, put("t.json", table), judge="m", **options)
        one.records()
        return one.judged, one.intake.notes

    columns = ("tone/v1/score", "tone/v1/justification", "good/value", "good/rationale", "acc/v2/score", "input")
    two = {"tone": "tone/v1/score", "good": "good/value"}
    other = "skipped metrics without a justification: acc"
    assert judged(*columns) == (two, [other])
    assert judged(*columns, criteria=["acc"]) == ({**two, "acc": "acc/v2/score"}, [])
    assert judged(*columns[:4]) == (two, [])
    with pytest.raises(DataError, match=r"no score with a justification.*with criteria=\[...\] \(there are acc\)"):
        judged("acc/v2/score", "input")
    with pytest.raises(DataError, match="has no column 'metric/v1/score' or 'name/value' of MLflow"):
        judged("input")


def test_mlflow_place_and_fields_of_rows():
    one = export(paths.MLflow)
    row = {"trace_id": "t1", "request": "r", "response": "", "outputs": None, "other": 1}
    assert one.place_of(row, 3) == "row 3 (t1)"
    assert one.place_of({"request_id": "r1"}, 3) == "row 3 (r1)"
    assert one.place_of({}, 3) == "row 3"
    assert one.attributes(row, None) == {"request": "r", "response": ""}
    one.judged, one.columns = {"tone": "tone/v1/score"}, ["tone/v1/score", "tone/v1/justification", "input", "trace_id"]
    table = {"tone/v1/score": 0, "tone/v1/justification": "x", "input": "i", "trace_id": "t1"}
    assert one.place_of(table, 3) == "row 3"
    assert one.attributes(table, None) == {"input": "i", "trace_id": "t1"}
    assert [in_short(x) for x in one.answers(table)] == [("mlflow judge", 0, "tone", "judge")]
    assert [list(one.answers({"tone/v1/score": x})) for x in (None, "")] == [[intake.UNSCORED]] * 2
    assert list(export(paths.MLflow).answers({"assessments": None})) == []


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ([{"trace_id": "t", "assessments": "[]"}], [{"trace_id": "t", "assessments": "[]"}]),
        ({"info": {"trace_id": "t", "assessments": []}, "data": 1}, [{"trace_id": "t", "assessments": [],
         "info": {"trace_id": "t", "assessments": []}, "data": 1}]),
        ({"traces": [{"trace_id": "t", "assessments": []}]}, [{"trace_id": "t", "assessments": []}]),
        ({"columns": ["a", "tone/value", "tone/rationale"], "data": [[1, 2, 3]]},
         [{"a": 1, "tone/value": 2, "tone/rationale": 3}]),
    ],
)  # fmt: skip
def test_read_mlflow_tables_and_traces(put, content, rows):
    one = export(paths.MLflow, put("t.json", content))
    assert one.records() == rows
    table = "tone/value" in rows[0]
    assert (one.judged is not None) == table
    assert one.intake.notes == [
        "the table does not name the judge; set judge=...",
        "items are named by their row; name your own id with item=...",
    ] * table  # fmt: skip


@pytest.mark.parametrize("content", [{"other": 1}, [1], {"columns": ["a"], "data": 1}, {"columns": "a", "data": []}])
def test_read_mlflow_refuses_other_files(put, content):
    with pytest.raises(DataError, match=r"contains neither a table \(columns and data\) nor traces of MLflow"):
        export(paths.MLflow, put("t.json", content)).records()


def log(put, header=None, **options):
    """A log of Inspect AI without samples."""
    return export(paths.Inspect, put("log.json", {"status": "success", "eval": {}, **(header or {})}), **options)


def test_inspect_models_of_scorers(put):
    def graders(header):
        return log(put, header).graders

    scorers = [{"name": "a", "options": {"model": "m1"}}, {"name": "b"},
        {"name": "c", "options": {"model": ["m2", {"model": "m3"}, None]}}]  # fmt: skip
    results = {"scores": [{"scorer": "b", "params": {"model": {"model": "m4"}}}]}
    assert graders({"eval": {"scorers": scorers}, "results": results}) == {"a": "m1", "c": "m2 + m3", "b": "m4"}
    assert graders({"eval": {"model_roles": {"grader": {"model": "m"}}}}) == {None: "m"}
    assert graders({"eval": {"model_roles": {"grader": {"config": 1}}}}) == {None: "grader"}
    assert graders({}) == {}
    unnamed = [{"name": k, "options": {"model": m}} for k, m in enumerate(([], [None], {"model": 3}, None, "m"))]
    assert graders({"eval": {"scorers": unnamed}}) == {2: "3", 4: "m"}


def test_inspect_judge_of_sample(put):
    one = log(
        put, {"eval": {"model_roles": {"grader": "role"}, "scorers": [{"name": "a", "options": {"model": "m1"}}]}}
    )

    def judge(scorer, **metadata):
        (said,) = one.answers({"scores": {scorer: {"value": 1, "metadata": metadata}}})
        return said.annotator

    by = {"grader_model": "g", "model": "m"}
    assert [judge("a", **by), judge("b", **by), judge("b", model="m")] == ["m1", "g", "m"]
    assert judge("b", judge_model="j", grader_model="g") == "j"
    assert judge("b", judge_model=3, model="m") == "m"
    assert judge("b", grading=[]) == "role"
    assert judge("b") == "b"
    assert [said.annotator for said in one.answers({"scores": {"b": {"value": 1}}})] == ["b"]


@pytest.mark.parametrize(
    ("scorer", "options", "rule"),
    [
        ("match", {}, True), ("inspect_ai/match", {}, True), ("quality", {}, False),
        ("match", {"criteria": ["match"]}, False), ("inspect_ai/match", {"criteria": ["match"]}, False),
        ("inspect_ai/match", {"criteria": ["inspect_ai/match"]}, False), ("match", {"criteria": ["match.x"]}, False),
        ("match", {"criteria": ["matching"]}, True), ("match", {"judge": {"match": "m"}}, False),
        ("match", {"judge": {"other": "m"}}, True), ("match", {"judge": "m"}, True),
    ],
)  # fmt: skip
def test_inspect_rule_based_scorers(put, scorer, options, rule):
    def skipped(**score):
        (said,) = log(put, **options).answers({"scores": {scorer: {"value": 1, **score}}})
        return said == paths.BY_RULE

    assert skipped() is rule
    assert not skipped(metadata={"model": "m"})


def test_inspect_scores_of_sample(put):
    def said(sample, header=None, **options):
        return [
            x if isinstance(x, str) else (*in_short(x), x.repeat, x.about)
            for x in log(put, header, **options).answers(sample)
        ]

    plain, edited = {"edited": False}, {"edited": True}
    assert said({"scores": {"a": {"value": 0}}}) == [("a", 0, "a", "judge", None, plain)]
    assert said({"scores": {"a": {"value": 0}}, "epoch": 2}) == [("a", 0, "a", "judge", 2, plain)]
    two = {"eval": {"config": {"epochs": 2}}}
    assert said({"scores": {"a": {"value": 0}}, "epoch": 1}, two) == [("a", 0, "a", "judge", 1, plain)]
    assert said({"error": "x", "scores": None}) == [paths.FAILED]
    aspects = {"scores": {"a": {"value": {"x": 1, "y": 2}}}}
    assert [one[:3] for one in said(aspects, judge="m")] == [("m", 1, "a.x"), ("m", 2, "a.y")]
    assert [one[0] for one in said(aspects, judge={"a": "m2"})] == ["m2", "m2"]
    assert [one[0] for one in said(aspects, judge={"b": "m2"})] == ["a", "a"]
    history = [{"value": 1}, {"value": 3}]
    assert said({"scores": {"a": {"value": 3, "history": history}}}) == [("a", 3, "a", "judge", None, edited)]
    history = [{"value": 1}, {"value": 3, "provenance": {"author": "x"}}]
    assert said({"scores": {"a": {"value": 3, "history": history}}}) == [("a", 1, "a", "judge", None, edited)]


def test_inspect_names_and_fields_of_samples(put):
    one = log(put, {"eval": {"model": "m"}}, with_model=True)
    assert [one.name_of(own, {"id": 3}, "") for own in (None, "k")] == ["3@m", "k@m"]
    assert log(put).name_of(None, {"id": 3}, "") == "3"
    assert one.place_of({"id": 3, "epoch": 2}, 9) == "sample 3, epoch 2"
    about = {"input": "i", "metadata": {"k": True, "l": [1], "input": "own"}, "output": {"completion": "o"}}
    assert one.attributes(about, None) == {"input": "own", "output": "o", "k": True, "system": "m"}


def test_inspect_notes(put):
    one = log(put, {"status": "error"})
    for name in ("a.x", "a.y", "ab", "b"):
        one.intake.add(paths.answer("m", 1, name, "judge"))
    assert one.finish(["a", "b", "c"]) == ["a.x", "a.y", "b", "c"]
    assert one.finish(None) is None
    assert one.intake.notes == ["the log's status is 'error': it might contain only part of the samples"]
    one = log(put)
    one.rules, one.edited = {"match": None, "f1": None}, 2
    one.finish(None)
    assert one.intake.notes == [
        "skipped rule-based scorers: match, f1 (to read them, set criteria=[...])",
        "2 scores edited by a human: the judge's own earlier score is used",
    ]


def test_read_inspect_names_damaged_member(tmp_path):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}" * 200)

    def refused(packed=None):
        if packed is not None:
            path.write_bytes(bytes(packed))
        with pytest.raises(DataError) as error:
            export(paths.Inspect, path)
        return str(error.value).removeprefix(f"{path}: ")

    assert refused() == "'header.json' is not JSON (Extra data); the log may be damaged"
    packed = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        start = packed.index(mark) + place
        packed[start : start + 2] = (98).to_bytes(2, "little")
    assert refused(packed) == "'header.json' is compressed in a way that is not supported"
    for mark, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        start = packed.index(mark) + place
        packed[start : start + 2] = (93).to_bytes(2, "little")
    assert refused(packed).startswith("'header.json' is damaged (")
    with pytest.raises(DataError, match="is not a log of Inspect AI"):
        export(paths.Inspect, _written(tmp_path / "a.json", "[]"))
    with pytest.raises(DataError, match="is not a log of Inspect AI"):
        export(paths.Inspect, _written(tmp_path / "a.json", "{}"))


def _written(path, text):
    path.write_text(text)
    return path
