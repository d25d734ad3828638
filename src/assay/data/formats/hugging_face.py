"""JSON Lines as ``datasets.load_dataset("json")`` likes them: one item a line, its labels in parallel lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from assay.data.annotations import KEY, Annotations, Reading
from assay.data.formats import Rows
from assay.data.formats.tables import json_objects, records
from assay.errors import DataError


def read_hugging_face(path: Path) -> Rows:
    """The answers of each line: lists of the length of ``label`` are of the answers, the rest is of the item."""
    answers: list[dict[str, Any]] = []
    items: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(json_objects(path), 1):
        if not isinstance(line.get("label"), list) or not isinstance(line.get("annotator"), list) or "item" not in line:
            raise DataError(f"{path}, line {number}: 'item', and lists 'annotator' and 'label' must be there")
        length = len(line["label"])
        lists = {k: v for k, v in line.items() if isinstance(v, list)}
        uneven = [k for k, v in lists.items() if len(v) != length]
        if uneven:
            raise DataError(
                f"{path}, line {number}: '{uneven[0]}' has {len(lists[uneven[0]])} entries and 'label' {length}"
            )
        same: dict[str, Any] = {k: line[k] for k in ("item", "criterion") if k in line}
        answers += [{**same, **{k: v[i] for k, v in lists.items()}, "_row": f"line {number}"} for i in range(length)]
        about = {k: v for k, v in line.items() if k not in lists and k not in same}
        items.setdefault(str(line["item"]), {"item": line["item"], **about})
    if not answers:
        raise DataError(f"{path} is empty")
    table = records(answers, str(path))
    return Rows(
        table, items=records(list(items.values()), str(path), strict=False), reading=Reading(str(path), len(answers))
    )


def write_hugging_face(labels: Annotations, path: Path) -> list[str]:
    """One line an item (and criterion): its attributes, and lists of annotators, kinds, labels and conditions."""
    table = labels.labels.with_columns(labels.column("kind").alias("kind"))
    keys = [k for k in ("item", "criterion") if k in table.columns]
    lists = [c for c in ("annotator", "kind", "label", *KEY[3:]) if c in table.columns]
    lists += sorted(c for c in table.columns if c not in (*keys, *lists))
    about = labels.items.select("item", *sorted(c for c in labels.items.columns if c != "item"))
    known = {row["item"]: row for row in about.iter_rows(named=True)}
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in table.group_by(keys, maintain_order=True).agg(lists).iter_rows(named=True):
            of_item = {k: v for k, v in known[row["item"]].items() if k != "item" and v is not None}
            line: dict[str, Any] = {**{k: row[k] for k in keys}, **of_item, **{k: row[k] for k in lists}}
            file.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
    people = [c for c in labels.annotators.columns if c not in ("annotator", "kind")]
    return [f"attributes of annotators not written: {', '.join(people)}"] if people else []
