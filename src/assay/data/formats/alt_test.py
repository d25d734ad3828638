"""The folder of the alternative annotator test's own data.

``human_annotations.json`` and ``llm_annotations.json`` hold ``{annotator: {item: label}}``; an optional
``items.jsonl`` holds one object an item. Labels keep their JSON type.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from assay.data.annotations import Reading
from assay.data.formats import Rows
from assay.data.formats.tables import by_annotator, json_objects, load_json, records
from assay.errors import DataError

HUMANS = "human_annotations.json"
JUDGES = "llm_annotations.json"
ITEMS = "items.jsonl"


def is_alt_test(folder: Path) -> bool:
    """Whether a folder is in this layout."""
    return (folder / HUMANS).is_file()


def read_alt_test(folder: Path) -> Rows:
    """The labels of people and judges, and the items."""
    parts: list[pl.DataFrame] = []
    names: list[set[str]] = []
    for file in (HUMANS, JUDGES):
        path = folder / file
        values = load_json(path) if path.is_file() else {}
        if not isinstance(values, dict) or not all(isinstance(v, dict) for v in values.values()):
            raise DataError(f"{path} must hold {{annotator: {{item: label}}}}")
        names.append(set(values))
        parts.append(by_annotator(values, str(path)))
    both = names[0] & names[1]
    if both:
        raise DataError(f"{folder}: '{min(both)}' is both among the people and among the judges; rename one of them")
    filled = [part for part in parts if part.height]
    if not filled:
        raise DataError(f"{folder} holds no labels")
    if len({part["label"].dtype == pl.String for part in filled}) > 1:
        raise DataError(f"{folder}: one of {HUMANS} and {JUDGES} holds text labels, the other numbers")
    labels = pl.concat(filled, how="vertical_relaxed")
    labels = labels.with_columns(_row=pl.format("{}: {}", "annotator", "item"))
    items = None
    if (folder / ITEMS).is_file():
        items = records(json_objects(folder / ITEMS), str(folder / ITEMS), strict=False)
    return Rows(labels, items=items, judges=tuple(sorted(names[1])), reading=Reading(str(folder), labels.height))
