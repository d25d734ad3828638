"""Tables of scores from platforms that trace applications: Langfuse, Phoenix, LangSmith and MLflow.

Each row is one score of one trace or span, by a person, a judge or code. A platform is a row of `PLATFORMS`: where its
scores have the item, the criterion, the label, and who gave it. A judge without a name is named by the score, as in the
platform's own pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.data.formats import FormatSettings, Rows
from assay.data.formats.platforms.intake import PlatformAnswer, parse_cell, stated_rater
from assay.data.formats.platforms.paths import BY_CODE, Export, Record, answer, find, table_records
from assay.data.formats.tables import read_delimited
from assay.errors import DataError

BY_API = "sent to the API, by an unknown rater (if it is a judge, name it with judge=...)"
NO_ITEM = "of a session or run, not of a trace"
NOT_A_SCORE = "a correction or note, not a score"
A_VERDICT = "a verdict that assay wrote, not a score"


@dataclass(frozen=True)
class ScoreColumns:
    """Where the scores of a platform have what.

    Attributes
    ----------
    item, criterion, label, words : tuple of str
        Paths, the first with a value counts. ``words`` is the label of a score in words.
    kind : tuple of str
        Path of the kind of rater.
    kinds : mapping
        Kind of rater: ``human``, ``judge``, ``code`` or ``api``; others are ``api``.
    person, judge, time : tuple of str
        Paths of the names of people and judges, and of the time.
    in_words : tuple of str
        Values of ``form`` whose label is in words.
    form : tuple of str
        Path of the form of the value; empty if the platform has none.
    """

    item: tuple[str, ...]
    criterion: tuple[str, ...]
    label: tuple[str, ...]
    words: tuple[str, ...]
    kind: tuple[str, ...]
    kinds: Mapping[str, str]
    person: tuple[str, ...]
    judge: tuple[str, ...]
    time: tuple[str, ...]
    form: tuple[str, ...] = ()
    in_words: tuple[str, ...] = ()


PLATFORMS: Mapping[str, ScoreColumns] = {
    "langfuse": ScoreColumns(
        item=("observationId", "observation_id", "traceId", "trace_id"),
        criterion=("name",), label=("value", "stringValue", "string_value"), words=("stringValue", "string_value"),
        kind=("source",), kinds={"annotation": "human", "eval": "judge", "api": "api"},
        person=("authorUserId", "author_user_id", "authorUserName", "author"),
        judge=("metadata.model", "metadata.judge"), time=("updatedAt", "updated_at", "timestamp", "createdAt"),
        form=("dataType", "data_type"), in_words=("categorical", "boolean", "text"),
    ),
    "phoenix": ScoreColumns(
        item=("span_id", "trace_id", "session_id", "id"), criterion=("name", "annotation_name"),
        label=("result.score", "score", "result.label", "label"), words=("result.label", "label"),
        kind=("annotator_kind",), kinds={"human": "human", "llm": "judge", "code": "code"},
        person=("user_id", "identifier", "metadata.user"), judge=("metadata.model", "identifier"),
        time=("updated_at", "created_at"),
    ),
    "langsmith": ScoreColumns(
        item=("run_id",), criterion=("key",), label=("score", "value"), words=("value",),
        kind=("feedback_source.type", "feedback_source_type"),
        kinds={"app": "human", "model": "judge", "auto_eval": "judge", "api": "api"},
        person=("feedback_source.user_name", "feedback_source.user_id", "feedback_source.ls_user_id", "user_id"),
        judge=("feedback_source.metadata.model", "feedback_source.metadata.evaluator"),
        time=("modified_at", "created_at"),
    ),
    "mlflow": ScoreColumns(
        item=("trace_id", "request_id", "span_id"), criterion=("assessment_name", "name"),
        label=("value", "feedback.value"), words=(),
        kind=("source_type", "source.source_type"),
        kinds={"human": "human", "llm_judge": "judge", "ai_judge": "judge", "code": "code"},
        person=("source_id", "source.source_id"), judge=("source_id", "source.source_id"),
        time=("last_update_time_ms", "last_update_time", "create_time_ms", "create_time"),
    ),
}  # fmt: skip
"""By the name of the format."""

_TEXTS = ("input", "output", "inputs", "outputs", "request", "response", "question", "answer", "text")
"""Columns that describe the item."""


class ScoreTable(Export):
    """Scores of one platform, one row each: CSV, Parquet, JSON Lines, JSON or a frame."""

    unit = "row"

    def __init__(
        self, name: str, path: Path, item: str | None, settings: FormatSettings, records: Sequence[Record] | None = None
    ) -> None:
        super().__init__(path, item, settings)
        self.name, self.platform, self._given = name, PLATFORMS[name], records
        self.unnamed: dict[str, None] = {}

    @classmethod
    def of(cls, name: str, path: Path, item: str | None, settings: FormatSettings) -> Rows:
        """Read a file of a platform."""
        return cls(name, path, item, settings).rows()

    def records(self) -> Sequence[Record]:
        if self._given is not None:
            return [_opened(row) for row in self._given]
        self.texts = self.path.suffix.lower() in (".csv", ".tsv")
        found = read_delimited(self.path).to_dicts() if self.texts else table_records(self.path)
        if isinstance(found, dict):
            found = next((found[key] for key in ("data", "scores", "annotations", "feedback") if key in found), [found])
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            raise DataError(f"{self.path} contains no rows of scores")
        return [_opened(row) for row in found]

    def name_of(self, name: str | None, record: Record, place: str) -> str:
        """The item id: the user's own, otherwise the platform's."""
        return name or str(_value(record, *self.platform.item) or "")

    def attributes(self, record: Record, name: str | None) -> Record | None:
        found = {key: record[key] for key in _TEXTS if isinstance(record.get(key), str)}
        part, trace = _value(record, "observationId", "observation_id"), _value(record, "traceId", "trace_id")
        if part is not None and trace is not None:
            found["trace_id"] = str(trace)  # an observation is written to its trace
        return found if self.name_of(name, record, "") else None

    def answers(self, record: Record) -> Iterator[PlatformAnswer | str]:
        one = self.platform
        criterion = str(_value(record, *one.criterion) or "score")
        given = str(_value(record, *one.kind) or "").lower()
        kind = one.kinds.get(given, "api")
        if not _value(record, *one.item) and self.item is None:
            yield NO_ITEM
            return
        if (criterion == "note" and self.name == "phoenix") or _value(record, "expectation.value", "correction"):
            yield NOT_A_SCORE
            return
        if _value(record, "metadata.assay") == "verdict":
            yield A_VERDICT
            return
        if kind == "code":
            yield BY_CODE
            return
        stated = stated_rater({key: _value(record, f"metadata.{key}") for key in ("annotator", "kind", "criterion")})
        judge = self.judge()
        if stated is not None:
            who, kind, named = stated
            yield self._answer(record, who, named, kind)
            return
        if kind == "api" and judge is None:
            yield BY_API
            return
        if kind == "human":
            who = _value(record, *one.person)
        else:
            who, kind = judge or _value(record, *one.judge), "judge"
            if who is None or str(who) == "default":
                who = criterion
                self.unnamed[criterion] = None
        yield self._answer(record, None if who is None else str(who), criterion, kind)

    def _answer(self, record: Record, who: str | None, criterion: str | None, kind: str) -> PlatformAnswer:
        one = self.platform
        form = str(_value(record, *one.form) or "").lower()
        label = _value(record, *(one.words if form in one.in_words else ()), *one.label)
        time = _value(record, *one.time)
        return answer(who, label, criterion, kind, time=None if time is None else str(time))

    def finish(self, criteria: Sequence[str] | None) -> Sequence[str] | None:
        if self.unnamed:
            self.intake.note("judges without a name are named by their score; name one judge with judge=...")
        return criteria


def _opened(record: Record) -> Record:
    """A record whose cells with JSON are objects."""
    return {key: parse_cell(value) for key, value in record.items()}


def _value(record: Record, *paths: str) -> Any:
    """The value of the first path that has one, also of a column whose name is the path."""
    for path in paths:
        flat = record.get(path)
        if flat is not None and flat != "" and flat == flat:
            return flat
        if "." in path and isinstance(record.get(path.partition(".")[0]), dict):
            nested = find(record, path)
            if nested is not None:
                return nested
    return None


def scores_of_frame(name: str, rows: Sequence[Record], item: str | None, settings: FormatSettings) -> Rows:
    """Return the labels of a frame of scores."""
    return ScoreTable(name, Path(f"a frame of {name}"), item, settings, rows).rows()
