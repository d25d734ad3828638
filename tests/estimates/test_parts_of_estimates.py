"""The page of estimates: the number of its sentences, and the precision that a judge adds."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from assay.estimates.contrasts import SystemContrast
from assay.estimates.corrected import CorrectedEstimate, EstimateLine, EstimateSettings
from assay.estimates.page import estimate_parts, saving_words
from assay.estimation.intervals import Estimate, missing
from assay.estimation.result import Run

LINE = EstimateLine(None, "mean", Estimate(3.0, 2.6, 3.4, 0.2), Estimate(3.1, 2.5, 3.7, 0.3), 3.5, 12, 0.5, 40, 1900)
NONE = missing("no labels")
APART = SystemContrast("a", "b", NONE, NONE, NONE, NONE, math.nan, 0, 0)


def found(lines: tuple[EstimateLine, ...], contrasts: tuple[SystemContrast, ...] = ()) -> CorrectedEstimate:
    return CorrectedEstimate(
        lines, contrasts, ("ann",), ("m", "n"), "mean", Run("estimate", EstimateSettings(), "x", {})
    )


@pytest.mark.parametrize(
    ("equivalent_labels", "words"),
    [
        ((None,), None), ((0,), None), ((None, 0), None), ((1,), "1 more human-labelled item"),
        ((1200,), "1,200 more human-labelled items"), ((7, None, 7), "7 more human-labelled items"),
        ((0, 7, 3), "0 to 7 more human-labelled items"),
    ],
)  # fmt: skip
def test_saving_words_end_a_sentence(equivalent_labels: tuple[int | None, ...], words: str | None) -> None:
    text = saving_words(found(tuple(replace(LINE, equivalent_labels=one) for one in equivalent_labels)))
    added = "" if words is None else f"; the judge adds as much precision as {words}"
    assert text == f"all 1,900 items (40 human-labelled){added}"


def test_estimate_page_has_at_most_80_sentences() -> None:
    (part,) = estimate_parts(found((LINE,) * 40, (APART,) * 41))
    assert part.title == "Corrected estimates from the labels of m and n"
    assert len(part.words) == 80
    (fewer,) = estimate_parts(found((LINE,), (APART,)))
    assert len(fewer.words) == 3
