"""Answers in lists and objects of any shape are read, or refused with an `AssayError`."""

from __future__ import annotations

import contextlib
import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.errors import AssayError

SHAPES = ("side by side", "commas", "objects", "criteria in objects", "by name", "lists by criterion", "no names",
          "one label", "marked")  # fmt: skip
POOLS: tuple[list[Any], ...] = (
    [1, 2, 3, 4, 5],
    ["a", "b"], ["1", "2", "3"], [0, 1], [True, False], [1, 2, None], [1, "two", None, ""], [1.5, 2, 3],
)  # fmt: skip
ODD: tuple[Any, ...] = ([], {}, "", 3, "x", [None], [[]], [{}], {"a": None}, {"a": {}}, [1, [2]])


def answers(shape: str, people: list[str], rng: random.Random, *, odd: bool) -> dict[str, Any]:
    def some() -> int:
        return rng.choice([len(people)] * 8 + [0, 1, len(people) + 1]) if odd else len(people)

    def values(n: int) -> list[Any]:
        return rng.choices(rng.choice(POOLS), k=n)

    if shape == "side by side":
        return {"annotators": people[: some()], "labels": values(some())}
    if shape == "commas":
        return {"annotators": ",".join(people[: some()]), "labels": ",".join(map(str, values(some())))}
    if shape == "objects":
        return {"annotations": [{"annotator": w, "label": v} for w in people[: some()] for v in values(1)]}
    if shape == "criteria in objects":
        pairs = zip(values(some()), values(some()), strict=False)
        return {"annotations": [{"clarity": v, "tone": w} for v, w in pairs]}
    if shape == "by name":
        return {"labels": dict(zip(people[: some()], values(len(people)), strict=False))}
    if shape == "lists by criterion":
        return {"annotations": {c: {"individual_human_scores": values(some())} for c in ("clarity", "tone")}}
    if shape == "no names":
        return {"ratings": values(some())}
    if shape == "one label":
        return {"annotator": rng.choice(people), "label": values(rng.choice([0, 1, 2]) if odd else 1)}
    return {"annotator": rng.choice(people), "cats": dict(zip("ab", values(2), strict=True))}


def records(rng: random.Random) -> list[dict[str, Any]]:
    shape, odd = rng.choice(SHAPES), rng.random() < 0.7
    people = [f"p{k}" for k in range(rng.randint(1, 4))]
    found = []
    for k in range(rng.randint(1, 8)):
        record = {"id": k, "text": f"text number {k} of these", **answers(shape, people, rng, odd=odd)}
        for key in list(record) if odd else ():
            chance = rng.random()
            if chance < 0.05:
                del record[key]
            elif chance < 0.10:
                record[key] = rng.choice([None, *ODD])
        found.append(record)
    return found


def file_of(found: list[dict[str, Any]], folder: Path, rng: random.Random) -> list[Path]:
    kind = rng.choice(("list", "lines", "by id", "cells", "people"))
    if kind == "people":
        files = [folder / f"{who}.jsonl" for who in ("ann", "bo")]
        for file in files:
            file.write_text("\n".join(map(json.dumps, found)))
        return files
    path = folder / {"lines": "t.jsonl", "cells": "t.csv"}.get(kind, "t.json")
    if kind == "lines":
        path.write_text("\n".join(map(json.dumps, found)))
    elif kind == "cells":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(dict.fromkeys(key for one in found for key in one)))
            writer.writeheader()
            for one in found:
                writer.writerow({k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in one.items()})
    else:
        by_id = {f"q{k}": {key: v for key, v in one.items() if key != "id"} for k, one in enumerate(found)}
        path.write_text(json.dumps(found if kind == "list" else by_id))
    return [path]


def check(seeds: range, folder: Path) -> int:
    """Read the file of each seed; the number that is read. Errors other than `AssayError` fail, with their seed."""
    read = 0
    for seed in seeds:
        rng = random.Random(seed)
        files = file_of(records(rng), folder, rng)
        try:
            with contextlib.suppress(AssayError):
                assay.read(files if len(files) > 1 else files[0])
                read += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
    return read


def test_read_reads_or_refuses_nested_answers(tmp_path):
    assert check(range(40), tmp_path) > 3


@pytest.mark.simulation
def test_read_reads_or_refuses_many_nested_answers(tmp_path):
    assert check(range(40, 400), tmp_path) > 25
