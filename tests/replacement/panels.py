"""Tables for the tests of the alternative annotator test."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.scales import Ordinal
from assay.estimation.intervals import EstimateByRule
from assay.replacement.alt_test import AltTest, alt_test
from assay.replacement.decision import VerdictTests


def table(
    humans: Mapping[str, Mapping[str, Any]], judges: Mapping[str, Mapping[str, Any]], **options: Any
) -> Annotations:
    """``{annotator: {item: label}}`` twice, as the one table."""
    rows = [(i, a, label) for part in (humans, judges) for a, own in part.items() for i, label in own.items()]
    items, annotators, labels = zip(*rows, strict=True)
    frame = pl.DataFrame({"item": items, "annotator": annotators, "label": pl.Series(labels, strict=False)})
    return Annotations.from_frame(frame, judges=list(judges), **options)


def columns(**labels: str) -> dict[str, dict[str, Any]]:
    """``columns(ann="aab", bob="ab.")``: one character an item (q01, q02 …), a digit is a number, a dot no label."""
    return {
        name: {f"q{i:02d}": int(c) if c.isdigit() else c for i, c in enumerate(text, 1) if c != "."}
        for name, text in labels.items()
    }


def random_study(
    seed: int, n_items: int = 80, n_humans: int = 4, noise: float = 0.35, judge_noise: float = 0.3, missing: float = 0.2
) -> Annotations:
    """Whole-number labels 1–5: a truth, and errors around it."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, n_items)

    def answers(share: float) -> dict[str, int]:
        wrong = rng.random(n_items) < share
        label = np.clip(np.where(wrong, truth + rng.choice([-2, -1, 1, 2], n_items), truth), 1, 5)
        return {f"q{i:03d}": int(v) for i, v in enumerate(label)}

    def some(own: dict[str, int]) -> dict[str, int]:
        return {i: v for i, v in own.items() if rng.random() >= missing}

    humans = {f"h{j}": some(answers(noise)) for j in range(n_humans)}
    judges = {"good": answers(judge_noise), "poor": answers(0.9)}
    return table(humans, judges, scale=Ordinal(1, 5))


@functools.cache
def some_test(alpha: float = 0.05) -> AltTest:
    """The test of one judge on 20 items, with epsilon .1."""
    return alt_test(random_study(1, n_items=20), "good", epsilon=0.1, alpha=alpha, min_items=5, method="none")


P_VALUES = {
    "replace": (0.01, 1.0), "do_not_replace": (1.0, 0.01), "mixed": (0.01, 0.01), "undecided": (0.5, 0.5),
    "not_testable": (0.5, 0.5),
}  # fmt: skip
"""By verdict: p of non-inferiority and of being worse."""


def planted_test(
    judge: str, verdict: str, rho: float = 0.8, *, alpha: float = 0.05, p_item_level: float = 0.01, **more: Any
) -> AltTest:
    """A test with this verdict, ρ ± .1, the annotators' ρ .7; with .01 of level more, intervals begin .04 lower."""

    def verdict_tests() -> VerdictTests:
        agree = None if verdict == "not_testable" else True
        return VerdictTests(*P_VALUES[verdict], p_item_level, 0.01, 1.0, agree, None, 2, 2, alpha)

    def ends(level: float) -> tuple[float, float]:
        return rho - 0.1 - 4 * (level - 0.95), rho + 0.1

    def minus(level: float) -> tuple[float, float]:
        low, high = ends(level)
        return 0.7 - high, 0.7 - low

    found = EstimateByRule(rho, rho - 0.1, rho + 0.1, 0.05, ends=ends)
    difference = EstimateByRule(0.7 - rho, 0.6 - rho, 0.8 - rho, 0.05, ends=minus)
    planted = {"advantage_probability": found, "mean_difference": difference, "corrected": verdict_tests}
    return replace(some_test(alpha), judge=judge, **{**planted, **more})
