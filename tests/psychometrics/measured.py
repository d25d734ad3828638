"""Simulated numbers of raters by the linear rater model, with their truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

import assay
from assay.data.annotations import Annotations

PHI = (-5.0, 0.0, 5.0, 3.0, -3.0)
PSI = (4.0, 6.0, 8.0, 10.0, 5.0)


@dataclass(frozen=True)
class Measured:
    """Labels and the truth: severities, centred, variabilities, and ideal ratings (items, criteria)."""

    labels: Annotations
    phi: np.ndarray
    psi: np.ndarray
    ideal: np.ndarray


def measured(
    n_items: int = 100,
    phi: Sequence[float] = PHI,
    psi: Sequence[float] = PSI,
    *,
    criteria: int = 1,
    objects: int | None = None,
    trait: float = 12.0,
    omega: float = 10.0,
    gap: float = 0.0,
    bias: Mapping[int, float] | None = None,
    seen: float = 1.0,
    scale: str = "interval",
    shape: str = "normal",
    seed: int = 0,
) -> Measured:
    """Labels around 50 by the linear model: humans, the last rater a judge.

    ``objects`` share the items in turn; every second one is in the second group, whose ideal ratings are lower by
    ``gap``, and with which the named raters have a ``bias``. ``seen`` is the share of labels that are there. On a scale
    with ends labels are rounded and cut. Ideal ratings have a normal, exponential or uniform ``shape``.
    """
    rng = np.random.default_rng(seed)
    subject = np.arange(n_items) % (objects or n_items)
    group = subject % 2

    def drawn(n: int) -> np.ndarray:
        return {"normal": rng.normal, "exponential": lambda size: rng.exponential(size=size) - 1,
                "uniform": lambda size: rng.uniform(-1, 1, size) * np.sqrt(3)}[shape](size=n)  # fmt: skip

    theta = drawn(subject.max() + 1)
    names = [f"ann_{r + 1}" for r in range(len(phi) - 1)] + ["gpt"]
    ideal = np.stack(
        [50 + 5 * j + trait * theta[subject] + omega * drawn(n_items) - gap * group for j in range(criteria)], axis=1
    )
    rows = []
    for j in range(criteria):
        for r, name in enumerate(names):
            label = ideal[:, j] + phi[r] + (bias or {}).get(r, 0.0) * group + psi[r] * rng.normal(size=n_items)
            if scale != "interval":
                label = np.clip(np.rint(label), *map(float, scale.removeprefix("interval:").split("-")))
            rows += [
                {"item": f"i{i:03d}", "annotator": name, "criterion": f"c{j + 1}", "label": float(label[i])}
                for i in np.flatnonzero(rng.random(n_items) < seen)
            ]
    frame = pl.DataFrame(rows)
    if criteria == 1:
        frame = frame.drop("criterion")
    items = pl.DataFrame(
        {"item": [f"i{i:03d}" for i in range(n_items)], "teacher": [f"t{s}" for s in subject],
         "dialect": [("north", "south")[g] for g in group]}
    )  # fmt: skip
    truth = np.array(phi) + np.array([(bias or {}).get(r, 0.0) for r in range(len(phi))]) / 2
    return Measured(
        assay.read(frame, judges=["gpt"], scale=scale, items=items), truth - truth.mean(), np.array(psi), ideal
    )
