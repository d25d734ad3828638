"""What a page shows of estimates: how many sentences, and what the judge's labels were worth, as the end of one."""

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
    ("saved", "words"),
    [
        ((None,), ""), ((0,), ""), ((None, 0), ""), ((1,), "; the judge is worth 1 more labelled item"),
        ((1200,), "; the judge is worth 1,200 more labelled items"),
        ((7, None, 7), "; the judge is worth 7 more labelled items"),
        ((0, 7, 3), "; the judge is worth 0 to 7 more labelled items"),
    ],
)  # fmt: skip
def test_what_the_judge_is_worth_ends_a_sentence(saved: tuple[int | None, ...], words: str) -> None:
    said = saving_words(found(tuple(replace(LINE, saved=one) for one in saved)))
    assert said == "all 1,900 items, of which they labelled 40" + words


def test_a_page_has_at_most_eighty_sentences_of_an_estimate() -> None:
    (part,) = estimate_parts(found((LINE,) * 40, (APART,) * 41))
    assert part.title == "What would people say of all items that m and n labelled?"
    assert len(part.words) == 80
    (fewer,) = estimate_parts(found((LINE,), (APART,)))
    assert len(fewer.words) == 2
