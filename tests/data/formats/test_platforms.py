"""Scores and verdicts for Langfuse, Phoenix, MLflow and Inspect AI, in the form that each platform documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import assay
from assay.data.formats.exports import Written, write
from assay.data.formats.platforms.writing import verdicts_of
from assay.data.formats.registry import format_of
from assay.errors import DataError, DesignError

Row = dict[str, Any]
TRACE = "f" * 32
NUMBER = (int, float)

FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    # CreateScoreRequest of https://api.reference.langfuse.com (langfuse 5.0.4), without what assay does not write
    "langfuse": {
        "id": (str,), "traceId": (str,), "observationId": (str,), "name": (str,), "value": (str, *NUMBER),
        "comment": (str,), "metadata": (dict,), "dataType": (str,),
    },
    # SpanAnnotationData and TraceAnnotationData of Phoenix's OpenAPI schema (arize-phoenix-client 3.5.0)
    "phoenix": {
        "span_id": (str,), "trace_id": (str,), "name": (str,), "annotator_kind": (str,), "result": (dict,),
        "metadata": (dict,), "identifier": (str,),
    },
    # parameters of mlflow.log_feedback (mlflow 3.17.2)
    "mlflow": {
        "trace_id": (str,), "span_id": (str,), "name": (str,), "value": (str, *NUMBER), "source": (dict,),
        "rationale": (str,), "metadata": (dict,),
    },
}  # fmt: skip
REQUIRED = {
    "langfuse": {"name", "value"},
    "phoenix": {"name", "annotator_kind"},
    "mlflow": {"trace_id", "name", "value", "source"},
}
LINES = pytest.mark.parametrize("platform", FIELDS)
EVERY = pytest.mark.parametrize("platform", [*FIELDS, "inspect-ai"])


def table(scale: str = "1-5", criteria: tuple[str, ...] = (), *, ids: Callable[[int], str] = "{:032x}".format) -> Any:
    """Forty items by three annotators and two judges."""
    found = assay.simulate(n_items=40, scale="1-5", judges={"gpt-4o": 0.2, "llama": 0.6}, seed=3).to_polars()
    items = {name: ids(i) for i, name in enumerate(found["item"].unique(maintain_order=True))}
    found = found.with_columns(item=pl.col("item").replace_strict(items))
    if scale.startswith("ordinal"):
        words = scale.removeprefix("ordinal:").split("<")
        found = found.with_columns(label=pl.col("label").replace_strict(dict(enumerate(words, 1))))
    if criteria:
        other = [
            found.with_columns(criterion=pl.lit(c), label=(pl.col("label") + i) % 5 + 1) for i, c in enumerate(criteria)
        ]
        found = pl.concat(other)
    return assay.read(found.select("item", "annotator", "kind", "label", *["criterion"][: len(criteria)]), scale=scale)


@cache
def report() -> tuple[Any, Any]:
    labels = table()
    return labels, assay.report(labels, epsilon=0.2, n_resamples=40)


def place(folder: Path, platform: str) -> Path:
    return folder / ("log.json" if platform == "inspect-ai" else "scores.jsonl")


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def with_verdicts(folder: Path, platform: str) -> tuple[Any, Path, Written]:
    labels, found = report()
    path = place(folder, platform)
    return labels, path, write(
        labels, path, platform, verdicts=found, trace=None if platform == "inspect-ai" else TRACE
    )  # fmt: skip


@pytest.mark.slow
@LINES
def test_scores_have_the_documented_fields(tmp_path: Path, platform: str) -> None:
    _, path, _ = with_verdicts(tmp_path, platform)
    for row in lines(path):
        assert REQUIRED[platform] <= set(row) <= set(FIELDS[platform])
        for name, value in row.items():
            assert isinstance(value, FIELDS[platform][name]), name
            assert not isinstance(value, bool)
    kinds = {
        "langfuse": {"NUMERIC", "CATEGORICAL"}, "phoenix": {"HUMAN", "LLM", "CODE"},
        "mlflow": {"HUMAN", "LLM_JUDGE", "CODE"},
    }  # fmt: skip
    stated = {
        "langfuse": lambda row: row["dataType"], "phoenix": lambda row: row["annotator_kind"],
        "mlflow": lambda row: row["source"]["source_type"],
    }  # fmt: skip
    assert {stated[platform](row) for row in lines(path)} == kinds[platform]
    if platform == "mlflow":  # its metadata are texts
        assert all(isinstance(v, str) for row in lines(path) for v in row["metadata"].values())
        assert all(set(row["source"]) == {"source_type", "source_id"} for row in lines(path))
    if platform == "phoenix":
        assert all(set(row["result"]) <= {"label", "score", "explanation"} for row in lines(path))
        assert all(("span_id" in row) != ("trace_id" in row) for row in lines(path))
    if platform == "langfuse":
        ids = [row["id"] for row in lines(path)]
        assert len(set(ids)) == len(ids)
        assert all(isinstance(row["value"], str) == (row["dataType"] != "NUMERIC") for row in lines(path))


def test_log_has_the_documented_fields(tmp_path: Path) -> None:
    """The required fields of EvalLog, EvalSpec, EvalSample, Score and EvalScore (inspect_ai 0.3.285)."""
    labels, path, _ = with_verdicts(tmp_path, "inspect-ai")
    log = json.loads(path.read_text("utf-8"))
    assert (log["version"], log["status"]) == (2, "success")
    assert {"created", "task", "dataset", "model", "config", "task_id", "run_id"} <= set(log["eval"])
    assert log["eval"]["dataset"]["samples"] == len(log["samples"]) == labels.n_items
    for sample in log["samples"]:
        assert {"id", "epoch", "input", "target"} <= set(sample)
        assert len(sample["scores"]) == 5
        assert all("value" in score for score in sample["scores"].values())
    results = {one["name"]: one for one in log["results"]["scores"]}
    assert set(results) == {*labels.humans, *labels.judges}
    _, found = report()
    for judge in labels.judges:
        test = found.comparison.tests[judge]
        metrics = {name: one["value"] for name, one in results[judge]["metrics"].items()}
        assert metrics["advantage_probability"] == test.advantage_probability.estimate
        assert metrics["winning_rate"] == test.winning_rate
        assert results[judge]["metadata"]["verdict"] == test.verdict
        mean = labels.labels.filter(pl.col("annotator") == judge)["label"].mean()
        assert metrics["mean"] == pytest.approx(mean)
    assert all(set(results[human]["metrics"]) == {"mean"} for human in labels.humans)


@EVERY
@pytest.mark.parametrize("kind", ["numbers", "words", "criteria"])
def test_written_scores_are_read_as_the_same_table(tmp_path: Path, platform: str, kind: str) -> None:
    scale = "ordinal:bad<poor<ok<good<best" if kind == "words" else "1-5"
    labels = table(scale, ("clear", "kind") if kind == "criteria" else ())
    path = place(tmp_path, platform)
    written = write(labels, path, platform)
    assert written.labels == len(labels)
    assert format_of(path).name == platform
    back = assay.read(path, scale=scale)
    assert back.fingerprint == labels.fingerprint
    assert (back.humans, back.judges, back.criteria) == (labels.humans, labels.judges, labels.criteria)


@EVERY
def test_verdicts_are_one_annotation_a_judge_and_no_labels(tmp_path: Path, platform: str) -> None:
    labels, path, written = with_verdicts(tmp_path, platform)
    assert written.notes[0] == "2 verdicts written"
    back = assay.read(path, scale="1-5")
    assert back.fingerprint == labels.fingerprint
    if platform == "inspect-ai":
        return
    assert {e.reason: e.count for e in back.reading.exclusions} == {"a verdict that assay wrote, not a score": 2}
    about = [row for row in lines(path) if row["metadata"].get("assay") == "verdict"]
    assert [row["name"] for row in about] == ["verdict on gpt-4o", "verdict on llama"]
    target = {"langfuse": "traceId", "phoenix": "trace_id", "mlflow": "trace_id"}[platform]
    assert {row[target] for row in about} == {TRACE}
    _, found = report()
    for row, one in zip(about, verdicts_of(found), strict=True):
        test = found.comparison.tests[one.judge]
        value = row["result"]["label"] if platform == "phoenix" else row["value"]
        assert value == one.verdict == test.verdict
        assert float(row["metadata"]["advantage_probability"]) == test.advantage_probability.estimate
        assert row["metadata"]["card_replacement"] in ("pass", "fail", "undecided")
        words = {"langfuse": row.get("comment"), "phoenix": row.get("result", {}).get("explanation")}
        assert words.get(platform, row.get("rationale")).startswith(test.verdict_text)


def test_scores_of_the_api_keep_their_raters(tmp_path: Path) -> None:
    """Langfuse stores each written score with the source API, and without its author."""
    labels, path, _ = with_verdicts(tmp_path, "langfuse")
    exported = tmp_path / "exported.jsonl"
    rows = [row | {"source": "API", "authorUserId": None} for row in lines(path)]
    exported.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert assay.read(exported, scale="1-5").fingerprint == labels.fingerprint
    assert assay.read(exported, scale="1-5", judge="other").fingerprint == labels.fingerprint


@pytest.mark.usefixtures("without_pictures")
def test_saved_report_gives_the_same_verdicts(tmp_path: Path) -> None:
    labels, found = report()
    found.save(tmp_path / "report.html")
    assert verdicts_of(tmp_path / "report.json", labels) == verdicts_of(found)


@pytest.mark.slow
def test_verdicts_of_each_result() -> None:
    labels, _ = report()
    assert [one.judge for one in verdicts_of(assay.alt_test(labels, "llama", epsilon=0.2))] == ["llama"]
    compared = assay.compare_judges(labels, epsilon=0.2)
    assert [one.judge for one in verdicts_of(compared)] == list(compared.tests)
    two = table(criteria=("clear", "kind"))
    by = assay.report(two, epsilon=0.2, n_resamples=40)
    found = verdicts_of(by, two)
    assert [(one.judge, one.domain) for one in found] == [
        (judge, criterion) for judge in by.by for criterion in ("clear", "kind")
    ]
    assert found[0].name == f"verdict on {found[0].judge}, clear"
    assert found[0].facts["criterion"] == "clear"


def test_observations_are_written_to_their_trace(tmp_path: Path) -> None:
    labels = table()
    frame = labels.to_polars()
    parts = assay.read(frame.with_columns(trace_id=pl.lit("ab" * 16), item=pl.col("item").str.slice(16)), scale="1-5")
    write(parts, tmp_path / "scores.jsonl", "langfuse")
    assert {row["traceId"] for row in lines(tmp_path / "scores.jsonl")} == {"ab" * 16}
    assert {row["observationId"] for row in lines(tmp_path / "scores.jsonl")} == set(parts.items["item"])
    back = assay.read(tmp_path / "scores.jsonl", scale="1-5")
    assert back.fingerprint == parts.fingerprint
    assert back.items["trace_id"].unique().to_list() == ["ab" * 16]
    write(labels, tmp_path / "traces.jsonl", "langfuse")  # scores of a trace, which is the item
    assert "trace_id" not in assay.read(tmp_path / "traces.jsonl", scale="1-5").items.columns
    write(parts, tmp_path / "spans.jsonl", "phoenix")
    assert all("span_id" in row for row in lines(tmp_path / "spans.jsonl"))


def test_comments_of_answers_are_written(tmp_path: Path) -> None:
    frame = table().to_polars().with_columns(rationale=pl.lit("because of the tone"))
    for platform, find in {
        "langfuse": lambda row: row["comment"],
        "phoenix": lambda row: row["result"]["explanation"],
        "mlflow": lambda row: row["rationale"],
    }.items():
        # one value for all items is a column of the items; two are the answers'
        answers = frame.with_columns(rationale=pl.col("rationale") + pl.col("annotator") + pl.col("item"))
        write(assay.read(answers, scale="1-5"), tmp_path / "scores.jsonl", platform)
        assert all(find(row).startswith("because of the tone") for row in lines(tmp_path / "scores.jsonl"))


@LINES
def test_ids_of_another_kind_are_noted(tmp_path: Path, platform: str) -> None:
    written = write(table(ids="item {}".format), tmp_path / "scores.jsonl", platform)
    assert any(note.startswith("40 item ids, such as 'item 0', are not") for note in written.notes)


def test_verdicts_on_other_labels_are_refused(tmp_path: Path) -> None:
    _, found = report()
    labels = table(ids="{:031x}a".format)
    with pytest.raises(DataError, match=r"about other labels \(fingerprint .* than those written"):
        write(labels, tmp_path / "scores.jsonl", "langfuse", verdicts=found, trace=TRACE)
    fewer = assay.read(labels.to_polars().filter(pl.col("annotator") != "llama"), scale="1-5")
    with pytest.raises(DataError, match=r"judge 'llama' is not in the labels that are written"):
        verdicts_of(assay.alt_test(labels, "llama", epsilon=0.2), fewer)
    assert not (tmp_path / "scores.jsonl").exists()


def test_verdicts_need_a_place(tmp_path: Path) -> None:
    labels, found = report()
    with pytest.raises(DesignError, match=r"Langfuse stores a verdict as an annotation of a trace.*trace='\.\.\.'"):
        write(labels, tmp_path / "scores.jsonl", "langfuse", verdicts=found)
    with pytest.raises(DesignError, match=r"only the formats langfuse, phoenix, mlflow, inspect-ai store verdicts"):
        write(labels, tmp_path / "labels.csv", verdicts=found)
    with pytest.raises(DesignError, match=r"give their report with verdicts='\.\.\.'"):
        write(labels, tmp_path / "scores.jsonl", "langfuse", trace=TRACE)
    (tmp_path / "other.json").write_text('{"kind": "Agreement"}')
    with pytest.raises(DataError, match=r"other\.json contains no verdict"):
        write(labels, tmp_path / "scores.jsonl", "langfuse", verdicts=tmp_path / "other.json", trace=TRACE)


def test_langfuse_refuses_long_texts(tmp_path: Path) -> None:
    frame = pl.DataFrame({"item": ["a" * 32, "b" * 32], "annotator": ["ann", "ann"], "label": ["short", "x" * 501]})
    labels = assay.read(frame, scale="text")
    with pytest.raises(DataError, match="has 1 to 500 characters, not 501"):
        write(labels, tmp_path / "scores.jsonl", "langfuse")
    write(labels, tmp_path / "scores.jsonl", "phoenix")


@EVERY
def test_repeated_answers_are_refused(tmp_path: Path, platform: str) -> None:
    frame = table().to_polars()
    twice = pl.concat([frame.with_columns(repeat=pl.lit(i)) for i in (1, 2)])
    with pytest.raises(DesignError, match=r"stores one answer per annotator and question"):
        write(assay.read(twice, scale="1-5"), place(tmp_path, platform), platform)
