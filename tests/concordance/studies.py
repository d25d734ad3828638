"""Tables with a known truth for the tests of agreement."""

from __future__ import annotations

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.scales import Interval, Scale


def from_grid(cells, scale: Scale, names=None, **options) -> Annotations:
    """Labels from an (items, annotators) array, NaN or None if missing."""
    cells = np.asarray(cells, dtype=float)
    names = names or [f"r{j}" for j in range(cells.shape[1])]
    item, annotator = np.nonzero(~np.isnan(cells))
    frame = pl.DataFrame({
        "item": pl.Series([f"i{i:06d}" for i in range(len(cells))]).gather(item),
        "annotator": pl.Series(names).gather(annotator), "label": cells[item, annotator],
    })  # fmt: skip
    return Annotations.from_frame(frame, scale=scale, **options)


def ordinal_grid(n: int, m: int, seed: int, *, missing: float = 0.0, high: int = 5) -> np.ndarray:
    """Whole numbers 1 to ``high`` by annotators of different severity and noise."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, 1))
    severity, noise = rng.normal(0, 0.3, m), rng.uniform(0.4, 1.0, m)
    cells = np.clip(np.round((high + 1) / 2 + high / 4 * (truth + severity + noise * rng.normal(size=(n, m)))), 1, high)
    cells[rng.random((n, m)) < missing] = np.nan
    return cells


def scale_study(
    *, seed: int = 0, per_benchmark: int = 25, missing: float = 0.0, temperatures=(), repeats: int = 1
) -> Annotations:
    """People and judges on 0-5, 0-10 and 0-100 over three benchmarks; judges are noisiest on 0-10.

    In benchmark ``essay`` the items differ little and the judges see it badly: pooling hides that.
    """
    rng = np.random.default_rng(seed)
    benchmarks = {"sts": (0.5, 0.28, 0.05), "toxic": (0.3, 0.25, 0.06), "essay": (0.85, 0.06, 0.11)}
    people = [f"p{i}" for i in range(1, 7)]
    judges = ["gpt", "llama", "qwen"]
    extra = {"0-5": 0.0, "0-10": 0.09, "0-100": 0.02}
    rows, items = [], []
    for benchmark, (mean, spread, noise) in benchmarks.items():
        for i in range(per_benchmark):
            item = f"{benchmark}-{i:03d}"
            items.append({"item": item, "benchmark": benchmark, "text": f"text of {item}"})
            truth = np.clip(rng.normal(mean, spread), 0, 1)
            for scale, more in extra.items():
                top = float(scale.split("-")[1])
                for name in people:
                    value = np.clip(truth + rng.normal(0, 0.07), 0, 1) * top
                    if rng.random() >= missing:
                        rows.append((item, name, round(value, 2), scale, None, 1))
                for name in judges:
                    for temperature in temperatures or (None,):
                        for repeat in range(1, repeats + 1):
                            value = np.clip(truth + 0.03 + rng.normal(0, noise + more), 0, 1) * top
                            rows.append((item, name, round(value, 2), scale, temperature, repeat))
    frame = pl.DataFrame(
        rows, schema=["item", "annotator", "label", "scale", "temperature", "repeat"], orient="row",
        infer_schema_length=None,
    )  # fmt: skip
    gender = ["f", "m"] * 3
    return Annotations.from_frame(
        frame if repeats > 1 else frame.drop("repeat"),
        judges=judges,
        scale=Interval(0, 100),
        conditions=["scale", "temperature"] if temperatures else ["scale"],
        items=pl.DataFrame(items),
        annotator_table=pl.DataFrame({"annotator": people, "gender": gender}),
    )


def row(frame: pl.DataFrame, **wanted: object) -> dict:
    """The one row in which columns have these values."""
    for name, value in wanted.items():
        frame = frame.filter(pl.col(name) == value)
    assert frame.height == 1, frame
    return frame.row(0, named=True)
