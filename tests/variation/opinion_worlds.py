"""Studies of opinions with known truth: what people think of each item, and what judges think that they think."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

import assay
from assay.data.annotations import Annotations

Floats = Any


def softmax(logits: Floats) -> Floats:
    found = np.exp(logits - logits.max(axis=1, keepdims=True))
    return found / found.sum(axis=1, keepdims=True)


def heated(shares: Floats, temperature: float) -> Floats:
    """The same opinions, surer below 1 and flatter above."""
    return softmax(np.log(np.maximum(shares, 1e-12)) / temperature)


def opinions_of(rng: np.random.Generator, n: int, categories: int = 3, spread: float = 1.2) -> Floats:
    """What people think of each item: (items, categories)."""
    return softmax(spread * rng.normal(size=(n, categories)) + np.linspace(0.4, -0.4, categories))


def drawn(rng: np.random.Generator, shares: Floats, times: int) -> Any:
    """Labels from each item's distribution: (items, times)."""
    return (rng.random((len(shares), times, 1)) > np.cumsum(shares, axis=1)[:, None, :-1]).sum(axis=2)


def table(
    people: Any, judges: Mapping[str, Any], *, ordered: bool = False, k: int | None = None, **options: Any
) -> Annotations:
    """Labels 0 … of people, (items, people), −1 if missing; of judges probabilities (float) or labels (int)."""
    n, rows = len(people), []
    item, person = np.nonzero(people >= 0)
    columns = {f"p_{word(v)}": pl.Float64 for v in range(k or 0)}
    rows.append({"at": item, "annotator": np.array([f"ann_{a}" for a in range(people.shape[1])])[person],
                 "repeat": np.ones(len(item), dtype=int), "label": people[item, person]})  # fmt: skip
    for name, given in judges.items():
        if given.dtype.kind == "f":
            mine, shares = given.argmax(axis=1)[:, None], {f"p_{word(v)}": column for v, column in enumerate(given.T)}
        else:
            mine, shares = given.reshape(n, -1), {}
        times = mine.shape[1]
        rows.append({"at": np.repeat(np.arange(n), times), "annotator": np.full(n * times, name),
                     "repeat": np.tile(np.arange(1, times + 1), n), "label": mine.ravel(), **shares})  # fmt: skip
    frame = pl.concat([pl.DataFrame(one) for one in rows], how="diagonal").sort("at", maintain_order=True)
    ids = pl.Series([f"i{i:04d}" for i in range(n)])
    frame = frame.select(ids.gather(frame["at"]).alias("item"), pl.all().exclude("at"))
    frame = frame.with_columns(pl.lit(None, kind).alias(name) for name, kind in columns.items() if name not in frame)
    k = k or int(max(people.max(), *(np.max(v) for v in judges.values() if v.dtype.kind != "f"))) + 1
    names = [word(v) for v in range(k)]
    frame = frame.with_columns(pl.col("label").replace_strict(dict(enumerate(names)), return_dtype=pl.String))
    scale = assay.Ordinal(names) if ordered else assay.Nominal(names)
    return Annotations.from_frame(frame, judges=list(judges), scale=scale, repeat="repeat", **options)


def word(value: int) -> str:
    """The name of a label; names in the order of the labels."""
    return "abcdefghij"[value]
