"""The folder of the alternative annotator test's own data.

``human_annotations.json`` and ``llm_annotations.json`` hold ``{annotator: {item: label}}``; an optional
``items.jsonl`` holds one object an item. Labels keep their JSON type.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from assay.data.annotations import Annotations, Reading, natural
from assay.data.formats import Rows, one_answer_each
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
        kind = "human" if file == HUMANS else "judge"
        parts.append(by_annotator(values, str(path)).with_columns(kind=pl.lit(kind)))
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
    return Rows(labels, items=items, reading=Reading(str(folder), labels.height))


def write_alt_test(labels: Annotations, folder: Path) -> list[str]:
    """The labels as a folder of the alternative annotator test; conditions of the single answer have no place there.

    A criterion becomes a part of the item's id, ``item__criterion``; ``read(..., split_item="__")`` takes it
    apart again.

    Returns
    -------
    list of str
        What was not written.
    """
    labels = one_answer_each(labels, "this folder")
    name = pl.col("item") if not labels.criteria else pl.format("{}__{}", "item", "criterion")
    table = labels.labels.select(name.alias("id"), "item", "annotator", "label")
    folder.mkdir(parents=True, exist_ok=True)
    for file, people in ((HUMANS, labels.humans), (JUDGES, labels.judges)):
        answers = {who: _answers(table.filter(pl.col("annotator") == who)) for who in natural(people)}
        (folder / file).write_text(json.dumps(answers, ensure_ascii=False, indent=1) + "\n", "utf-8")
    about = sorted(c for c in labels.items.columns if c != "item")
    (folder / ITEMS).unlink(missing_ok=True)
    if about:
        ids = table.select("id", "item").unique()
        of_items = ids.join(labels.items.select("item", *about), on="item", how="left").sort("id").drop("item")
        lines = [{"item": row.pop("id"), **row} for row in of_items.iter_rows(named=True)]
        text = "".join(json.dumps(line, ensure_ascii=False, default=str) + "\n" for line in lines)
        (folder / ITEMS).write_text(text, "utf-8")
    known = {"item", "annotator", "criterion", "label", "repeat"}
    lost = [c for c in labels.labels.columns if c not in known]
    lost += [c for c in labels.annotators.columns if c not in ("annotator", "kind")]
    return [f"columns not written, the folder has no place for them: {', '.join(lost)}"] if lost else []


def _answers(table: pl.DataFrame) -> dict[str, Any]:
    found = dict(zip(table["id"], table["label"], strict=True))
    return {name: found[name] for name in natural(found)}
