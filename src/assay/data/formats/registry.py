"""The formats that `assay.read` knows, by name, and how a file of each is recognised.

Recognising looks only at the beginning of a file and only for marks that no plain table has; where it is
not sure, the file is read as a plain table and the user says ``format=...``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from assay.data.formats import Rows
from assay.data.formats.alt_test import is_alt_test, read_alt_test
from assay.data.formats.arena import COLUMNS, is_arena, read_arena
from assay.data.formats.argilla import SETTINGS, read_argilla
from assay.data.formats.hugging_face import read_hugging_face
from assay.data.formats.inspect_ai import read_inspect
from assay.data.formats.label_studio import read_label_studio
from assay.data.formats.mlflow import read_mlflow
from assay.data.formats.mturk import read_mturk
from assay.data.formats.potato import is_potato, is_potato_line, read_potato
from assay.data.formats.prodigy import read_prodigy
from assay.data.formats.promptfoo import read_promptfoo
from assay.data.formats.tables import read_table
from assay.errors import DataError, listing, unknown

HEAD = 64 * 2**10


class Beginning:
    """The beginning of a file (or what is in a folder), looked at once for all formats."""

    def __init__(self, path: Path) -> None:
        self.path, self.folder, self.suffix = path, path.is_dir(), path.suffix.lower()

    @cached_property
    def text(self) -> str:
        """The first characters of a text file."""
        if self.folder or self.suffix in (".parquet", ".pq", ".eval"):
            return ""
        with self.path.open("rb") as file:
            return file.read(HEAD).decode("utf-8-sig", errors="replace")

    @cached_property
    def first_line(self) -> str:
        """The header of a CSV file, the first object of JSON Lines."""
        return self.text.partition("\n")[0].strip()

    @cached_property
    def columns(self) -> set[str]:
        """Column names of a CSV, TSV or Parquet file."""
        if self.suffix in (".parquet", ".pq"):
            try:
                return set(pl.read_parquet_schema(self.path))
            except (pl.exceptions.PolarsError, OSError):
                return set()
        if self.suffix in (".csv", ".tsv"):
            return {c.strip().strip('"') for c in re.split(r"[,;\t|]", self.first_line)}
        return set()

    def keys(self, *names: str) -> bool:
        """Whether a JSON text begins with objects that have all these keys."""
        in_json = self.suffix in (".json", ".jsonl", ".ndjson")
        return in_json and all(re.search(rf'"{re.escape(n)}"\s*:', self.text) for n in names)


@dataclass(frozen=True)
class Format:
    """One format: its name, what it is, how to read and how to recognise it."""

    name: str
    about: str
    read: Callable[..., Rows]
    recognises: Callable[[Beginning], bool]

    @property
    def options(self) -> tuple[str, ...]:
        """The options that its reader takes, besides the path."""
        return tuple(inspect.signature(self.read).parameters)[1:]

    def options_from(self, texts: Iterable[str]) -> dict[str, Any]:
        """Options as a command line gives them: ``users=users.json``, ``shown=left,right``, ``predictions=no``."""
        kinds = {name: str(p.annotation) for name, p in inspect.signature(self.read).parameters.items()}
        found: dict[str, Any] = {}
        for text in texts:
            name, equals, value = text.partition("=")
            if not equals:
                raise DataError(f"an option is written NAME=VALUE; got '{text}'")
            self._check(name)
            if kinds[name] == "bool":
                if value.lower() not in ("yes", "no", "true", "false"):
                    raise DataError(f"option '{name}' is yes or no; got '{value}'")
                found[name] = value.lower() in ("yes", "true")
            else:
                found[name] = value.split(",") if "Sequence[str]" in kinds[name] else value
        return found

    def _check(self, option: str) -> None:
        if option not in self.options:
            raise DataError(unknown("option", option, self.options, f"format '{self.name}'"))

    def rows(self, path: Path, item: str | None, options: Mapping[str, Any]) -> Rows:
        """Read a file of this format; an option that it does not have is refused."""
        for name in options:
            self._check(name)
        said = {} if item is None or "item" not in self.options else {"item": item}
        try:
            return self.read(path, **said, **options)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            # Files come from elsewhere: one that is not of the form is the file's fault, not a traceback.
            raise DataError(
                f"{path} is not as {self.about.partition(':')[0]} writes it ({type(error).__name__}: {error}); "
                "name its format with format=..., or export it again"
            ) from error


def _label_studio(file: Beginning) -> bool:
    tasks = file.keys("data") and (file.keys("annotations", "was_cancelled") or file.keys("annotations", "predictions"))
    flat = ("annotation_id", "annotator", "lead_time", "updated_at")
    predictions = file.keys("data", "predictions", "model_version", "from_name")
    return tasks or predictions or file.keys(*flat) or set(flat) <= file.columns


def _argilla(file: Beginning) -> bool:
    if file.folder:
        return (file.path / SETTINGS).is_file()
    flat = any(c.endswith(".responses.users") for c in file.columns) or '.responses.users"' in file.text
    return flat or file.keys("fields", "responses", "suggestions", "_server_id")


def _prodigy(file: Beginning) -> bool:
    return file.suffix == ".jsonl" and file.keys("_input_hash", "_task_hash", "answer")


def _potato(file: Beginning) -> bool:
    if file.folder:
        return is_potato(file.path)
    state = file.path.name == "user_state.json" and file.keys("instance_id_ordering")
    return state or (file.suffix == ".jsonl" and is_potato_line(file.first_line))


def _mturk(file: Beginning) -> bool:
    return "WorkerId" in file.columns and any(c.startswith("Answer.") for c in file.columns)


def _inspect(file: Beginning) -> bool:
    return file.suffix == ".eval" or file.keys("version", "status", "eval", "task_id")


def _promptfoo(file: Beginning) -> bool:
    return file.keys("gradingResult", "testIdx", "promptIdx") or file.keys("evalId", "results")


def _mlflow(file: Beginning) -> bool:
    if file.keys("columns", "data"):
        return re.search(r'/v\d+/score"', file.text) is not None
    return file.keys("assessments", "trace_id") or any(re.search(r"/v\d+/score$", c) for c in file.columns)


def _arena(file: Beginning) -> bool:
    return is_arena(file.columns) or (file.keys(*COLUMNS) and not file.keys("label"))


def _hugging_face(file: Beginning) -> bool:
    line = file.first_line
    return file.suffix == ".jsonl" and all(re.search(rf'"{key}":\s*\[', line) for key in ("annotator", "label"))


FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        Format(
            "alt-test", "folder with human_annotations.json", read_alt_test, lambda f: f.folder and is_alt_test(f.path)
        ),
        Format("label-studio", "Label Studio: JSON, JSON_MIN, CSV, TSV, snapshots", read_label_studio, _label_studio),
        Format("argilla", "Argilla: records.json, flat records, Hub parquet", read_argilla, _argilla),
        Format("prodigy", "Prodigy: JSON Lines of db-out", read_prodigy, _prodigy),
        Format("potato", "potato: project folder, user_state.json, exports", read_potato, _potato),
        Format("mturk", "Amazon Mechanical Turk: batch CSV", read_mturk, _mturk),
        Format("inspect-ai", "Inspect AI: .eval and .json logs", read_inspect, _inspect),
        Format("promptfoo", "promptfoo: results.json, results.jsonl", read_promptfoo, _promptfoo),
        Format("mlflow", "MLflow: evaluation tables, traces", read_mlflow, _mlflow),
        Format("arena", "battles of models: model_a, model_b, winner", read_arena, _arena),
        Format("hugging-face", "JSON Lines, one item a line with lists of labels", read_hugging_face, _hugging_face),
        Format("table", "CSV, TSV, JSON, JSON Lines, Parquet", read_table, lambda _: True),
    )
}
"""Every format by name; the first that recognises a file reads it, a plain table comes last."""


def format_of(path: Path, name: str = "auto") -> Format:
    """The format of that name, or with ``auto`` the one that the file is seen to be in."""
    if name == "auto":
        file = Beginning(path)
        return next(f for f in FORMATS.values() if f.recognises(file))
    if name not in FORMATS:
        raise DataError(
            unknown("format", name, FORMATS, f"the formats that are read: auto, {listing(list(FORMATS), 20)}")
        )
    return FORMATS[name]
