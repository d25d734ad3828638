"""Fixtures of the tests of imports and exports."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.data.annotations import Annotations
from assay.data.formats.exports import import_counts


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, Any], Path]:
    """Write a small file: text unchanged, a list of objects as JSON or JSON Lines by the name."""

    def write(name: str, content: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content, "utf-8")
        elif name.endswith(".jsonl"):
            path.write_text("".join(json.dumps(line) + "\n" for line in content), "utf-8")
        else:
            path.write_text(json.dumps(content), "utf-8")
        return path

    return write


@pytest.fixture
def answers() -> Callable[..., set[tuple[Any, ...]]]:
    """The labels of a table as a set of rows, after checking that every row read is counted."""

    def rows(labels: Annotations, *columns: str) -> set[tuple[Any, ...]]:
        counts = dict(import_counts(labels.reading, len(labels)).iter_rows())
        assert counts.pop("read") == sum(counts.values())
        wanted = columns or ("item", "annotator", *(["criterion"] if labels.criteria else []), "label")
        found = list(zip(*(labels.column(c).to_list() for c in wanted), strict=True))
        assert len(set(found)) == len(found)
        return set(found)

    return rows


@pytest.fixture
def excluded() -> Callable[[Annotations], dict[str, int]]:
    """Rows excluded by reason."""
    return lambda labels: {e.reason: e.count for e in labels.reading.exclusions}


@pytest.fixture
def expected(real_data: Path) -> Callable[[str], list[dict[str, str]]]:
    """The rows that an importer should recover, from the file next to a real export."""

    def rows(folder: str) -> list[dict[str, str]]:
        path = real_data / folder / "expected.csv"
        if not path.is_file():
            pytest.skip(f"needs {path}")
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    return rows
