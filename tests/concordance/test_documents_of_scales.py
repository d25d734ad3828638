"""Scales compared on items of documents: judges' errors by document are a caution."""

from __future__ import annotations

import numpy as np
import polars as pl

import assay


def two_scales(seed: int, shared: float) -> assay.results.GradingScaleStudy:
    """80 items of 10 documents, whose judges share an error of each document on each scale."""
    rng, n, rows = np.random.default_rng([seed, 77]), 80, []
    truth, document = rng.normal(0.5, 0.25, n), np.arange(n) % 10
    for scale, top in (("0-5", 5), ("0-10", 10)):
        error = rng.normal(0, shared, 10)[document]
        for k in range(6):
            label = np.clip(truth + rng.normal(0, 0.15, n) + (error if k > 2 else 0), 0, 1)
            name = f"h{k}" if k < 3 else f"j{k}"
            rows += [(f"x{i}", scale, name, float(np.rint(top * label[i]))) for i in range(n)]
    items = pl.DataFrame({"item": [f"x{i}" for i in range(n)], "document": [f"d{k}" for k in document]})
    frame = pl.DataFrame(rows, schema=["item", "scale", "annotator", "label"], orient="row")
    labels = assay.read(
        frame, items=items, judges=["j3", "j4", "j5"], scale="interval:0-100", conditions=["scale"]
    )  # fmt: skip
    return assay.grading_scale_study(labels, scale_column="scale", by="none")


def test_scales_on_items_of_documents_have_a_caution() -> None:
    """Without clusters, a scale is falsely better in .16 of studies."""
    (caution,) = two_scales(1, 0.3).cautions
    assert "80 items share 10 values of “document”; design effect" in caution
    assert two_scales(1, 0.0).cautions == ()
