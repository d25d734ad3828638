"""The smallest table, two items and two annotators: every result is a number or a reason, for any labels."""

from __future__ import annotations

import itertools
from functools import cache

import polars as pl
import pytest

import assay
from assay.errors import AssayError
from laws import PUBLIC

QUESTIONS = [
    "agreement", "icc", "icc_table", "krippendorff_alpha", "cohen_kappa", "correlation", "gwet_ac", "fleiss_kappa",
    "scott_pi", "nmae", "rmse", "mae", "exact_agreement",
]  # fmt: skip


@cache
def tables():
    """Items in one order: the other is no difference."""
    return [
        assay.Annotations.from_frame(
            pl.DataFrame({"item": ["a", "a", "b", "b"], "annotator": ["x", "y"] * 2, "label": cells}),
            scale=scale, judges=["y"],
        )
        for cells in itertools.product([1, 4], repeat=4) if cells[:2] <= cells[2:]
        for scale in (assay.Ordinal(1, 5), assay.Interval(1, 5))
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTIONS)
def test_every_table_of_two_by_two_is_answered_or_refused_in_words(name):
    for labels in tables():
        try:
            found = PUBLIC[name](labels)
        except AssayError:
            continue
        for shown in (found.summary(), found._repr_html_(), found.to_dict()):
            assert shown
