"""MLflow: ``eval_results_table.json`` of ``mlflow.evaluate``, and traces with their assessments.

Traces come from ``mlflow.search_traces``, ``mlflow.genai.evaluate`` (its ``result_df``) or the command line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from assay.data.formats import Rows
from assay.data.formats.intake import (
    EMPTY,
    SUPERSEDED,
    UNKNOWN_ANNOTATOR,
    UNSCORED,
    Intake,
    PlatformAnswer,
    own_id,
    parsed,
)
from assay.data.formats.tables import delimited, guarded, json_objects, load_json
from assay.errors import DataError, listing

BY_CODE = "given by code, not by a judge"
EXPECTATION = "an expectation (ground truth), not an assessment"
SCORE = re.compile(r"(?P<metric>.+?)/(?P<version>v\d+)/score")
VALUE = re.compile(r"(?P<metric>.+)/value")


def read_mlflow(
    path: Path,
    *,
    item: str | None = None,
    criteria: Sequence[str] | None = None,
    judge: str | None = None,
) -> Rows:
    """Scores of judges (and feedback of people) on outputs or traces.

    Parameters
    ----------
    item : str
        The column that holds your item id; the trace's id, or the row's number, when not given.
    criteria : list of str
        The metrics or assessments wanted. In a table of scores, those with a justification are taken as a
        judge's; name others to have them too.
    judge : str
        The judge's name, where the file does not say which model judged (tables of scores never do).
    """
    intake = Intake(path)
    rows = _rows(path)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with_assessments = [isinstance(parsed(row.get("assessments")), list) for row in rows]
    if any(with_assessments):
        for number, row in enumerate(rows, 1):
            _trace(intake, row, item, judge, f"row {number}")
    else:
        _scores(intake, rows, columns, item, criteria, judge or "mlflow judge")
        if judge is None:
            intake.note("the table does not say which model judged; name it with judge=...")
    if item is None and "item" not in columns and not any(row.get("trace_id") for row in rows):
        intake.note("items are named by their row; name your own id with item=...")
    return intake.rows(criteria)


def _rows(path: Path) -> list[dict[str, Any]]:
    """One object a row, from the shapes in which MLflow's tables are saved."""
    suffix = path.suffix.lower()
    if suffix in (".parquet", ".pq"):
        return guarded(path, lambda: pl.read_parquet(path)).to_dicts()
    if suffix in (".csv", ".tsv"):
        return delimited(path).to_dicts()
    found = json_objects(path) if suffix in (".jsonl", ".ndjson") else load_json(path)
    if isinstance(found, dict) and isinstance(found.get("columns"), list) and isinstance(found.get("data"), list):
        found = [dict(zip(found["columns"], row, strict=True)) for row in found["data"]]
    if isinstance(found, dict):
        found = found.get("traces", [found] if "info" in found else None)
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise DataError(f"{path} holds neither a table (columns and data) nor traces of MLflow")
    return [{**row["info"], **row} if isinstance(row.get("info"), dict) else row for row in found]


def _trace(intake: Intake, row: Mapping[str, Any], item: str | None, judge: str | None, where: str) -> None:
    """The assessments of one trace."""
    trace = row.get("trace_id") or row.get("request_id") or where
    name = own_id(item, row, f"{intake.source}, {where}") or str(trace)
    kept = ("request", "response", "request_preview", "response_preview", "inputs", "outputs")
    intake.item(name, {k: row[k] for k in kept if row.get(k) is not None})
    for one in parsed(row.get("assessments")) or ():
        found = _assessment(one, judge)
        if isinstance(found, str):
            intake.exclude(found)
        else:
            who, kind, criterion, label = found
            time = one.get("last_update_time") or one.get("create_time") or one.get("create_time_ms")
            place = f"{where} ({name})"
            intake.answers.append(PlatformAnswer(name, who, place, label, criterion, kind, time=_text(time)))


def _assessment(one: Mapping[str, Any], judge: str | None) -> tuple[str, str, str, Any] | str:
    """(annotator, kind, criterion, label) of one assessment, or why it is none."""
    source = one.get("source") or {}
    by = str(source.get("source_type") or "").upper()
    feedback = one.get("feedback")
    if one.get("valid") is False:
        return SUPERSEDED
    if one.get("expectation") is not None:
        return EXPECTATION
    if by not in ("HUMAN", "LLM_JUDGE", "AI_JUDGE"):
        return BY_CODE
    if one.get("error") or (isinstance(feedback, dict) and feedback.get("error")):
        return UNSCORED
    label = feedback.get("value") if isinstance(feedback, dict) else one.get("value")
    if isinstance(label, bool):
        label = str(label).lower()
    if label is None or isinstance(label, list | dict):
        return EMPTY
    kind = "human" if by == "HUMAN" else "judge"
    who = source.get("source_id") or (judge if kind == "judge" else None)
    if not who or (kind == "human" and who == "default"):
        return UNKNOWN_ANNOTATOR
    return str(who), kind, str(one.get("assessment_name") or one.get("name")), label


def _scores(
    intake: Intake,
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    item: str | None,
    criteria: Sequence[str] | None,
    judge: str,
) -> None:
    """A table of scores: one row an output, ``metric/v1/score`` beside ``metric/v1/justification``."""
    scores = dict(_score_columns(columns))
    judged = {metric: column for metric, (column, reasons) in scores.items() if reasons}
    judged |= {metric: scores[metric][0] for metric in criteria or () if metric in scores}
    others = [metric for metric in scores if metric not in judged]
    if not judged:
        raise DataError(
            f"{intake.source} has no score with a justification, so none is seen to be a judge's; name the metrics "
            f"that are with criteria=[...] (there are {listing(others)})"
            if others
            else f"{intake.source} has no column 'metric/v1/score' or 'name/value' of MLflow"
        )
    if others:
        intake.note(f"without a justification, not taken as a judge's: {listing(others)}")
    taken = {
        c for c in columns if SCORE.fullmatch(c) or VALUE.fullmatch(c) or c.endswith(("/justification", "/rationale"))
    }
    for number, row in enumerate(rows, 1):
        where = f"row {number}"
        fallback = row.get("trace_id") or where
        name = own_id(item, row, f"{intake.source}, {where}") or str(fallback)
        intake.item(name, {c: row[c] for c in columns if c not in taken and row.get(c) is not None})
        for metric, column in judged.items():
            label = row.get(column)
            if label is None or label == "" or label != label:
                intake.exclude(UNSCORED)
            else:
                label = str(label).lower() if isinstance(label, bool) else label
                intake.answers.append(PlatformAnswer(name, judge, where, label, metric, "judge"))


def _score_columns(columns: Sequence[str]) -> Iterator[tuple[str, tuple[str, bool]]]:
    """(metric, (column, whether it has a justification)) of a table of scores."""
    for column in columns:
        found = SCORE.fullmatch(column) or VALUE.fullmatch(column)
        if found:
            stem = column.rpartition("/")[0]
            reasons = f"{stem}/justification" in columns or f"{stem}/rationale" in columns
            yield found["metric"], (column, reasons)


def _text(time: Any) -> str | None:
    return None if time is None else str(time)
