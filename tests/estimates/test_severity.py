"""Differences of systems adjusted for severity: least squares, leave-outs, connection, bias and coverage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import assay
from assay.data.annotations import Annotations
from assay.errors import DesignError


def rated(
    rng: np.random.Generator, sources: int = 40, raters: int = 6, *, confounded: bool = True, sd: float = 0.6,
    per_output: int = 2, gap: float = 0.0,
) -> tuple[Annotations, Any]:  # fmt: skip
    """Two systems without a difference; two raters an output; severe raters rate system b more if ``confounded``."""
    severity = np.sort(sd * rng.normal(size=raters))
    rows, items = [], []
    for s in range(sources):
        truth = rng.normal()
        for system in "ab":
            output = truth + 0.5 * rng.normal() + (gap if system == "b" else 0.0)
            weight = np.exp((0.8 if system == "a" else -0.8) * np.arange(raters) / 2) if confounded else np.ones(raters)
            who = rng.choice(raters, per_output, replace=False, p=weight / weight.sum())
            item = f"{s:03d}{system}"
            items.append({"item": item, "system": system, "source": f"s{s:03d}"})
            rows += [
                {"item": item, "annotator": f"r{j}", "label": float(output + severity[j] + 0.4 * rng.normal())}
                for j in who
            ]
    labels = Annotations.from_frame(pl.DataFrame(rows), judges=[], scale=assay.Interval(), items=pl.DataFrame(items))
    return labels, severity


ASKED: dict[str, Any] = {"contrast": "system", "sources": "source", "severity": "adjusted"}


def by_dummies(frame: pl.DataFrame) -> float:
    """The difference a − b by ordinary least squares on dummies of source, rater and system."""
    columns = [np.ones(frame.height), (frame["system"] == "a").to_numpy().astype(float)]
    for name in ("source", "annotator"):
        columns += [(frame[name] == v).to_numpy().astype(float) for v in sorted(frame[name].unique().to_list())[1:]]
    return float(np.linalg.lstsq(np.column_stack(columns), frame["label"].to_numpy(), rcond=None)[0][1])


def test_adjusted_difference_is_least_squares_with_its_jackknife_of_sources() -> None:
    labels, _ = rated(np.random.default_rng(1), 15, 4)
    frame = labels.to_polars()
    found = assay.estimate(labels, **ASKED).at(quantity="a − b")
    assert found.estimate == pytest.approx(by_dummies(frame))
    z = np.array([by_dummies(frame.filter(pl.col("source") != s)) for s in sorted(frame["source"].unique().to_list())])
    half = stats.t.ppf(0.975, 14) * math.sqrt(14 / 15 * ((z - z.mean()) ** 2).sum())
    assert (found.low, found.high) == pytest.approx((found.estimate - half, found.estimate + half))


def test_raters_like_these_are_left_out_too() -> None:
    labels, _ = rated(np.random.default_rng(2), 20, 4, per_output=3)
    frame = labels.to_polars()
    names = {c: sorted(frame[c].unique().to_list()) for c in ("source", "annotator")}

    def without(source: str | None, rater: str | None) -> float:
        kept = frame if source is None else frame.filter(pl.col("source") != source)
        return by_dummies(kept if rater is None else kept.filter(pl.col("annotator") != rater))

    z_s = np.array([without(s, None) for s in names["source"]])
    z_r = np.array([without(None, r) for r in names["annotator"]])
    z_b = np.array([[without(s, r) for s in names["source"]] for r in names["annotator"]])
    n, m = 20, 4
    v_s, v_r = (n - 1) / n * ((z_s - z_s.mean()) ** 2).sum(), (m - 1) / m * ((z_r - z_r.mean()) ** 2).sum()
    both = z_b - z_b.mean(axis=0) - z_b.mean(axis=1, keepdims=True) + z_b.mean()
    v_b = (n - 1) * (m - 1) / (n * m) * (both**2).sum()
    half = math.sqrt(stats.t.ppf(0.975, n - 1) ** 2 * v_s + stats.t.ppf(0.975, m - 1) ** 2 * max(v_r - v_b, 0))
    found = assay.estimate(labels, raters="random", **ASKED).at(quantity="a − b")
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=1e-6)


def test_confounded_severity_is_taken_out_and_named() -> None:
    labels, severity = rated(np.random.default_rng(3), 80, 6)
    found = assay.estimate(labels, **ASKED)
    row = found.table.row(0, named=True)
    assert row["low"] < 0 < row["high"]
    assert row["humans_only"] > row["humans_only_low"] > 0.2
    text = found.summary()
    assert "adjusted for severity" in text
    assert "Without adjustment: +" in text
    assert any("the adjustment for severity changes a − b by −" in caution for caution in found.cautions)
    assert "Effect of the annotator on the label" in text
    assert severity[0] < 0


def test_groups_of_annotators_without_a_common_output_are_refused() -> None:
    labels, _ = rated(np.random.default_rng(4), 20, 4)
    half = labels.labels.with_columns(
        annotator=pl.when(pl.col("item").str.slice(0, 3).cast(pl.Int64) < 10).then("annotator").otherwise(
            pl.format("{}x", "annotator")
        )
    )  # fmt: skip
    apart = Annotations.from_frame(half, judges=[], scale=assay.Interval(), items=labels.items)
    with pytest.raises(DesignError, match="2 groups of annotators share no output"):
        assay.estimate(apart, **ASKED)


def test_options_that_do_not_fit_are_refused() -> None:
    labels, _ = rated(np.random.default_rng(5), 10, 4)
    with pytest.raises(DesignError, match="compares systems; name their column with contrast="):
        assay.estimate(labels, severity="adjusted")
    with pytest.raises(DesignError, match="omit clusters="):
        assay.estimate(labels, clusters="source", **ASKED)
    with pytest.raises(DesignError, match="two annotators or more"):
        assay.estimate(labels, annotators=["r1"], **ASKED)


@pytest.mark.simulation
@pytest.mark.parametrize("confounded", [False, True])
def test_bias_and_coverage_with_and_without_adjustment(confounded: bool) -> None:
    """150 studies, SE .018: 40 sources × 6 raters, severity sd .6, two raters an output."""
    rng = np.random.default_rng([6, confounded])
    adjusted, plain, inside, covered = [], [], [], []
    for _ in range(150):
        labels, _ = rated(rng, confounded=confounded)
        row = assay.estimate(labels, **ASKED).table.row(0, named=True)
        adjusted.append(row["estimate"])
        plain.append(row["humans_only"])
        inside.append(row["low"] <= 0 <= row["high"])
        covered.append(row["humans_only_low"] <= 0 <= row["humans_only_high"])
    print(
        f"{confounded=}: adjusted {np.mean(adjusted):+.3f}, {np.mean(inside):.3f}; "
        f"plain {np.mean(plain):+.3f}, {np.mean(covered):.3f}"
    )
    assert abs(np.mean(adjusted)) < 0.05
    assert 0.9 <= np.mean(inside) <= 1.0
    assert np.mean(covered) < 0.3 if confounded else np.mean(covered) > 0.9
