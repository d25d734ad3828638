"""Tables of scores from Langfuse, Phoenix, LangSmith and MLflow, as files of each kind and as frames."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import assay
from assay.data.formats.registry import format_of

Row = dict[str, Any]

ITEMS = 12


def label_of(item: int, rater: int) -> int:
    return 1 + (item * 7 + (rater == 2) * (item % 3 == 0)) % 5


def langfuse(item: int, rater: int) -> Row:
    return {
        "id": f"s-{item}-{rater}", "timestamp": f"2026-11-01T10:00:{rater:02d}Z", "traceId": f"{item:032x}",
        "observationId": None, "name": "helpfulness", "value": float(label_of(item, rater)), "stringValue": None,
        "source": ("ANNOTATION", "ANNOTATION", "EVAL")[rater], "dataType": "NUMERIC", "comment": "because",
        "authorUserId": ("u1", "u2", None)[rater],
    }  # fmt: skip


def phoenix(item: int, rater: int) -> Row:
    return {
        "span_id": f"{item:016x}", "name": "helpfulness", "annotator_kind": ("HUMAN", "HUMAN", "LLM")[rater],
        "result": {"score": label_of(item, rater), "label": None, "explanation": "because"}, "metadata": {},
        "user_id": ("ana", "ben", None)[rater], "identifier": "", "created_at": "2026-11-01T10:00:00Z",
    }  # fmt: skip


def langsmith(item: int, rater: int) -> Row:
    source = {"type": ("app", "app", "model")[rater], "user_id": ("u-1", "u-2", None)[rater]}
    return {
        "id": f"{item:08x}-0000-4000-8000-{rater:012x}", "run_id": f"{item:08x}-0000-4000-8000-000000000000",
        "key": "helpfulness", "score": label_of(item, rater), "value": None, "comment": "because",
        "feedback_source": source, "created_at": "2026-11-01T10:00:00Z",
    }  # fmt: skip


def mlflow(item: int, rater: int) -> Row:
    return {
        "trace_id": f"tr-{item:032x}", "assessment_id": f"a-{item}-{rater}", "assessment_name": "helpfulness",
        "value": label_of(item, rater), "source_type": ("HUMAN", "HUMAN", "LLM_JUDGE")[rater],
        "source_id": ("ana@x.org", "ben@x.org", "openai:/gpt-4o")[rater], "rationale": "because",
        "create_time_ms": 1_700_000_000_000 + rater,
    }  # fmt: skip


FORMS: dict[str, Callable[[int, int], Row]] = {
    "langfuse": langfuse, "phoenix": phoenix, "langsmith": langsmith, "mlflow": mlflow,
}  # fmt: skip
EVERY = pytest.mark.parametrize("platform", FORMS)


def rows(platform: str) -> list[Row]:
    return [FORMS[platform](item, rater) for item in range(ITEMS) for rater in range(3)]


def flat(row: Row) -> Row:
    """A row as pandas' json_normalize writes it, lists and objects in separate columns."""
    found: Row = {}
    for key, value in row.items():
        found |= {f"{key}.{name}": one for name, one in value.items()} if isinstance(value, dict) else {key: value}
    return found


def written(folder: Path, records: list[Row], kind: str) -> Path:
    path = folder / f"scores.{kind.removeprefix('nested ')}"
    if kind == "csv":
        pl.DataFrame([flat(row) for row in records], infer_schema_length=None).write_csv(path)
    elif kind == "nested csv":
        texts = [{k: json.dumps(v) if isinstance(v, dict) else v for k, v in row.items()} for row in records]
        pl.DataFrame(texts, infer_schema_length=None).write_csv(path)
    elif kind == "parquet":
        pl.DataFrame([flat(row) for row in records], infer_schema_length=None).write_parquet(path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in records))
    else:
        path.write_text(json.dumps({"data": records} if kind == "nested json" else records))
    return path


def check(labels: assay.Annotations, judge: str = "helpfulness") -> None:
    assert (len(labels), labels.n_items, len(labels.humans), labels.judges) == (3 * ITEMS, ITEMS, 2, (judge,))
    assert labels.criteria == ("helpfulness",)
    of_judge = labels.labels.filter(annotator=judge).sort("item")["label"].to_list()
    assert of_judge == [label_of(item, 2) for item in range(ITEMS)]


@EVERY
@pytest.mark.parametrize("kind", ["csv", "nested csv", "parquet", "jsonl", "json", "nested json"])
def test_scores_are_read_without_options(tmp_path: Path, platform: str, kind: str) -> None:
    path = written(tmp_path, rows(platform), kind)
    assert format_of(path).name == platform
    labels = assay.read(path)
    check(labels, "openai:/gpt-4o" if platform == "mlflow" else "helpfulness")
    named = "judges without a name are named by their score"
    assert any(named in line for line in labels.reading.lines()) == (platform != "mlflow")


@EVERY
def test_frames_of_scores_are_read_without_options(platform: str) -> None:
    frame = pl.DataFrame([flat(row) for row in rows(platform)], infer_schema_length=None)
    check(assay.read(frame), "openai:/gpt-4o" if platform == "mlflow" else "helpfulness")
    found = assay.alt_test(frame.to_pandas(), "openai:/gpt-4o" if platform == "mlflow" else "helpfulness", epsilon=0.1)
    assert found.judge == ("openai:/gpt-4o" if platform == "mlflow" else "helpfulness")


def test_the_index_of_phoenix_is_the_item() -> None:
    frame = pl.DataFrame([flat(row) for row in rows("phoenix")], infer_schema_length=None).to_pandas()
    check(assay.read(frame.set_index("span_id")))


@EVERY
def test_a_named_judge_is_one_judge(tmp_path: Path, platform: str) -> None:
    path = written(tmp_path, rows(platform), "jsonl")
    check(assay.read(path, judge="gpt-4o"), "gpt-4o")


def test_columns_that_the_user_names_are_read_as_a_plain_table(tmp_path: Path) -> None:
    path = written(tmp_path, rows("mlflow"), "csv")
    labels = assay.read(path, item="trace_id", annotator="source_id", label="value", judges=["openai:/gpt-4o"])
    assert (len(labels), labels.criteria) == (36, ())


def test_scores_that_are_no_labels_are_counted_with_their_reason(tmp_path: Path) -> None:
    more = [
        langfuse(0, 0) | {"source": "API", "authorUserId": None, "id": "x"},
        langfuse(0, 0) | {"traceId": None, "id": "y", "sessionId": "z"},
        langfuse(0, 0) | {"authorUserId": None, "id": "w"},
    ]
    labels = assay.read(written(tmp_path, [*rows("langfuse"), *more], "jsonl"))
    assert len(labels) == 36
    assert labels.reading.rows == 39
    lines = " ".join(labels.reading.lines())
    for reason in ("sent to the API, by an unknown rater", "of a session or run, not of a trace", "annotator unknown"):
        assert reason in lines, reason
    # A judge that logs its scores by the API is named.
    alone = [langfuse(i, r) | ({"source": "API"} if r == 2 else {}) for i in range(ITEMS) for r in range(3)]
    check(assay.read(written(tmp_path, alone, "jsonl"), judge="ragas"), "ragas")


def test_code_and_notes_are_no_scores(tmp_path: Path) -> None:
    more = [
        phoenix(0, 0) | {"annotator_kind": "CODE"},
        phoenix(0, 0) | {"name": "note", "result": {"explanation": "look at this"}},
    ]
    labels = assay.read(written(tmp_path, [*rows("phoenix"), *more], "jsonl"))
    assert len(labels) == 36
    lines = " ".join(labels.reading.lines())
    assert "given by code, not by a judge" in lines
    assert "a correction or note, not a score" in lines
    expected = mlflow(0, 0) | {"value": None, "expectation": {"value": 4}}
    lines = " ".join(assay.read(written(tmp_path, [*rows("mlflow"), expected], "jsonl")).reading.lines())
    assert "a correction or note, not a score" in lines


def test_categories_are_in_words_and_a_later_score_counts(tmp_path: Path) -> None:
    def worded(item: int, rater: int) -> Row:
        word = "yes" if label_of(item, rater) > 2 else "no"
        return langfuse(item, rater) | {"dataType": "CATEGORICAL", "stringValue": word, "value": 7}

    records = [worded(item, rater) for item in range(ITEMS) for rater in range(3)]
    again = worded(0, 2) | {"stringValue": "maybe", "timestamp": "2026-11-02T10:00:00Z"}
    labels = assay.read(written(tmp_path, [again, *records], "jsonl"))
    assert set(labels.labels["label"]) == {"yes", "no", "maybe"}
    assert len(labels) == 36
    assert any("superseded" in line for line in labels.reading.lines())


def test_several_scores_are_criteria(tmp_path: Path) -> None:
    records = [
        one | ({"key": "toxicity", "score": 1} if second else {})
        for one in rows("langsmith") for second in (False, True)
    ]  # fmt: skip
    labels = assay.read(written(tmp_path, records, "jsonl"))
    assert labels.criteria == ("helpfulness", "toxicity")
    assert set(labels.judges) == {"helpfulness", "toxicity"}
