"""Tables in which a judge labelled all items and people some, with a known truth."""

from __future__ import annotations

import numpy as np
import polars as pl

import assay
from assay.data.annotations import Annotations


def checked_study(
    n: int = 100, n_all: int = 1000, people: int = 3, *, seed: int = 1, noise: float = 0.5, scale: str = "1-5",
    first: bool = False, bias: float = 0.0, overlap: float = 1.0,
) -> Annotations:  # fmt: skip
    """Numbers of 1 to 5 (or 0 to 20): a judge's of all items, people's of a random sample, or of the first.

    Items have a language, a document of ten items, a length that correlates with the label, and a probability.
    """
    rng = np.random.default_rng(seed)
    low, high = map(int, scale.split("-"))
    z = rng.normal(size=n_all)

    def label(error: float, by: float = 0.0, rows: int = n_all) -> np.ndarray:
        value = (low + high) / 2 + (high - low) / 5 * (z[:rows] + by + error * rng.normal(size=rows))
        return np.clip(np.round(value), low, high).astype(int)

    names = np.array([f"i{i:05d}" for i in range(n_all)])
    some = np.arange(n) if first else np.sort(rng.permutation(n_all)[:n])
    parts = [pl.DataFrame({"item": names, "annotator": "judge", "label": label(noise, bias)}),
             pl.DataFrame({"item": names, "annotator": "other", "label": label(2 * noise)})]  # fmt: skip
    for p in range(people):
        mine = some[rng.random(n) < overlap] if p else some
        given = label(0.6, 0.2 * p)[mine]
        parts.append(pl.DataFrame({"item": names[mine], "annotator": f"ann_{p + 1}", "label": given}))
    items = pl.DataFrame({
        "item": names, "document": [f"d{i // 10:04d}" for i in range(n_all)],
        "language": np.where(np.arange(n_all) % 3 == 0, "de", "en"), "length": 100 + 20 * z + rng.normal(size=n_all),
        "chance": np.full(n_all, n / n_all), "gold": label(0.3),
    })  # fmt: skip
    return Annotations.from_frame(pl.concat(parts), judges=["judge", "other"], scale=scale, items=items)


def of_arrays(y: np.ndarray, f: np.ndarray, rest: np.ndarray, scale: assay.Interval | None = None) -> Annotations:
    """One person's labels, the judge's of the same items and of others."""
    names = [f"i{i:05d}" for i in range(len(f) + len(rest))]
    labels = pl.DataFrame({
        "item": [*names, *names[: len(y)]], "annotator": ["judge"] * len(names) + ["ann"] * len(y),
        "label": np.concatenate([f, rest, y]).astype(float),
    })  # fmt: skip
    return Annotations.from_frame(labels, judges=["judge"], scale=scale or assay.Interval())
