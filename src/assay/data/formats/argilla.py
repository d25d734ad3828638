"""Argilla 2: ``records.json``, flat records and the parquet of ``dataset.to_hub()``.

``records.json`` has lost whether a response was submitted; the flat forms keep it. Suggestions are judges' labels.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from assay.data.formats import Rows
from assay.data.formats.intake import (
    DISCARDED,
    DRAFT,
    EMPTY,
    RANKING,
    UNKNOWN_ANNOTATOR,
    Intake,
    PlatformAnswer,
    name_table,
    own_id,
    set_of,
)
from assay.data.formats.tables import guarded, json_objects, load_json
from assay.data.scales import Nominal, Ordinal, Scale, Text
from assay.errors import DataError, listing

SETTINGS = Path(".argilla") / "settings.json"


def read_argilla(
    path: Path,
    *,
    item: str | None = None,
    criteria: Sequence[str] | None = None,
    users: str | Path | Mapping[Any, Any] | None = None,
    settings: str | Path | None = None,
    rankings: Sequence[str] = (),
    suggestions: bool = True,
) -> Rows:
    """Responses and suggestions of an Argilla dataset.

    Parameters
    ----------
    path : Path
        ``records.json``, flat records (JSON, JSON Lines), a Hub parquet file, or a folder that holds one of
        them.
    item : str
        A field or metadata that holds your item id; the record's id when not given.
    users : path or mapping
        Names by user id (a uuid); no export holds them.
    settings : path
        ``settings.json``, which states the scales; found by itself in ``.argilla`` beside the records.
    rankings : list of str
        Questions that are rankings (best first), where no settings say so.
    suggestions : bool
        Take suggestions as the labels of judges named by their agent.
    """
    if path.is_dir():
        path = _records_in(path)
    if settings is None and (path.parent / SETTINGS).is_file():
        settings = path.parent / SETTINGS
    questions = {} if settings is None else {q["name"]: q for q in load_json(Path(settings)).get("questions", [])}
    records = _records(path)
    reader = _Dataset(Intake(path), item, name_table(users))
    reader.rankings = {*rankings, *(n for n, q in questions.items() if _kind(q) == "ranking")} or _permuted(records)
    for number, record in enumerate(records, 1):
        reader.record(record, f"record {number} ({record.get('id')})", suggestions)
    intake = reader.intake
    if any("responses" in record for record in records):
        intake.note("records.json does not say which responses are drafts or discarded; flat records do")
    if reader.rankings and not rankings and not questions:
        intake.note(f"taken as rankings: {listing(sorted(reader.rankings))} (rankings=[...] says otherwise)")
    if not users:
        intake.note("annotators are user ids; name them with users=...")
    intake.scales = {name: scale for name, q in questions.items() if (scale := _scale(q)) is not None}
    return intake.rows(criteria)


class _Dataset:
    """A dataset while it is read."""

    def __init__(self, intake: Intake, item: str | None, users: dict[str, str]) -> None:
        self.intake, self.item, self.users = intake, item, users
        self.rankings: set[str] = set()

    def record(self, record: Mapping[str, Any], where: str, suggestions: bool) -> None:
        """Responses and suggestions of one record."""
        fields = _fields(record)
        name = own_id(self.item, fields, where) or str(record.get("id"))
        self.intake.item(name, fields)
        suggested = dict(_suggestions(record))
        for question, user, status, value in _responses(record):
            if user is None:
                self.intake.exclude(UNKNOWN_ANNOTATOR)
            elif status in ("draft", "discarded"):
                self.intake.exclude(DRAFT if status == "draft" else DISCARDED)
            else:
                about = {"suggestion_shown": question in suggested}
                self.add(name, self.users.get(user, user), question, value, where, "human", about)
        for question, (value, agent) in suggested.items() if suggestions else ():
            self.add(name, agent or "suggestion", question, value, where, "judge", {})

    def add(self, item: str, who: str, question: str, value: Any, where: str, kind: str, about: dict[str, Any]) -> None:
        """One answer; lists become one label, in their order for a ranking."""
        if isinstance(value, list) and any(isinstance(v, dict) for v in value):
            return self.intake.exclude("spans in a text: not a label of the whole item")
        if isinstance(value, list):
            value = RANKING.join(map(str, value)) if question in self.rankings else set_of(value)
        if value is None or value == "":
            return self.intake.exclude(EMPTY)
        self.intake.answers.append(PlatformAnswer(item, who, where, value, question, kind, about=about))
        return None


def _records(path: Path) -> list[dict[str, Any]]:
    suffix = path.suffix.lower()
    if suffix in (".parquet", ".pq"):
        return _named_classes(path, guarded(path, lambda: pl.read_parquet(path)).to_dicts())
    if suffix in (".jsonl", ".ndjson"):
        return json_objects(path)
    if suffix == ".json":
        found = load_json(path)
        if isinstance(found, list) and all(isinstance(record, dict) for record in found):
            return found
        raise DataError(f"{path} must hold a list of records, as Argilla exports them")
    raise DataError(
        f"{path}: a CSV of Argilla records has turned its lists into text that cannot be read back; "
        "export JSON or parquet"
    )


def _records_in(folder: Path) -> Path:
    for name in ("records.json", "records.jsonl"):
        if (folder / name).is_file():
            return folder / name
    found = sorted(folder.glob("*.parquet"))
    if len(found) == 1:
        return found[0]
    raise DataError(f"{folder} holds no records.json and not one parquet file; name the file of records in it")


def _named_classes(path: Path, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The Hub stores label suggestions as numbers of classes, and their names in the file's metadata."""
    said = pl.read_parquet_metadata(path).get("huggingface")
    features = {} if said is None else json.loads(said).get("info", {}).get("features", {})
    classes = {c: f["names"] for c, f in features.items() if isinstance(f, dict) and f.get("_type") == "ClassLabel"}
    for record in records:
        for column, names in classes.items():
            if isinstance(record.get(column), int):
                record[column] = names[record[column]]
    return records


def _responses(record: Mapping[str, Any]) -> Iterator[tuple[str, str | None, str, Any]]:
    """(question, user, status, value) of every response; questions are not aligned with one another."""
    if isinstance(record.get("responses"), dict):
        for question, given in record["responses"].items():
            for one in given or ():
                yield question, one.get("user_id"), one.get("status") or "submitted", one.get("value")
        return
    for column in record:
        if column.endswith(".responses") and record[column] is not None:
            users = record.get(f"{column}.users") or [None] * len(record[column])
            statuses = record.get(f"{column}.status") or ["submitted"] * len(record[column])
            for value, user, status in zip(record[column], users, statuses, strict=True):
                yield column.removesuffix(".responses"), user, status, value


def _suggestions(record: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Any, str | None]]]:
    """(question, (value, agent)) of every suggestion."""
    if isinstance(record.get("suggestions"), dict):
        for question, one in record["suggestions"].items():
            if one and one.get("value") is not None:
                yield question, (one["value"], one.get("agent"))
        return
    for column in record:
        if column.endswith(".suggestion") and record[column] is not None:
            yield column.removesuffix(".suggestion"), (record[column], record.get(f"{column}.agent"))


def _fields(record: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(record.get("fields"), dict):
        return {**(record.get("metadata") or {}), **record["fields"]}
    own = {"id", "status", "_server_id"}
    parts = (".responses", ".users", ".status", ".suggestion", ".score", ".agent")
    return {k: v for k, v in record.items() if k not in own and not k.endswith(parts)}


def _permuted(records: Sequence[Mapping[str, Any]]) -> set[str]:
    """Questions whose every response is the same values, in more than one order: rankings."""
    orders: dict[str, set[tuple[str, ...]]] = {}
    for record in records:
        for question, _, _, value in _responses(record):
            orders.setdefault(question, set()).add(tuple(map(str, value)) if isinstance(value, list) else ())
    return {q for q, seen in orders.items() if len(seen) > 1 and len({tuple(sorted(o)) for o in seen}) == 1}


def _kind(question: Mapping[str, Any]) -> str:
    return str(question.get("type") or question.get("settings", {}).get("type"))


def _scale(question: Mapping[str, Any]) -> Scale | None:
    """The scale that a question's settings state."""
    values = [option["value"] for option in question.get("settings", {}).get("options") or ()]
    kind = _kind(question)
    if kind == "rating" and values:
        return Ordinal(min(values), max(values))
    if kind == "label_selection" and values:
        return Nominal(values)
    return Text() if kind == "text" else Nominal() if kind in ("multi_label_selection", "ranking") else None
