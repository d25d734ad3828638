"""Style: by hand, a measure that does not move, judges' numbers, what is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import assay
from assay.errors import DataError, DesignError

COLUMNS = ["first", "second", "first_after", "second_after"]


def frame(*rows):
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def test_by_hand():
    # Before: 0.5 and 0, after: 0.5 and 0.5; the mean doubles.
    found = assay.style_effect(frame(("a b", "a c", "a b", "a c"), ("d e", "f g", "d e", "d g")), "words")
    row = found.table.row(0, named=True)
    assert (row["before"], row["after"], row["estimate"], row["n"]) == pytest.approx((0.25, 0.5, 100.0, 2))


def test_a_measure_that_does_not_move_comes_first_and_one_that_moves_is_told():
    rows = [(f"x{i} good", f"y{i % 3} bad", f"x{i} indeed", f"y{i % 3} indeed") for i in range(12)]

    def ideas(a: str, b: str) -> float:
        return 0.2 + 0.1 * (a[1] == b[1])

    def tone(a: str, b: str) -> float:
        return 0.1 + 0.05 * (a[1] == b[1]) + 0.5 * (a.endswith("indeed") and b.endswith("indeed"))

    found = assay.style_effect(frame(*rows), {"ideas": ideas, "tone": tone})
    assert found.table["measure"].to_list() == ["ideas", "tone"]
    assert found.table["estimate"][0] == 0
    assert found.table["low"][1] > 100
    assert "tone moves with the style" in found.summary()
    assert "ideas is not shown to move" in found.summary()


def test_what_judges_said_is_a_measure_too():
    table = frame(("a b", "a c", "a", "a")).with_columns(gpt_before=0.5, gpt_after=0.4)
    found = assay.style_effect(table, [])
    assert found.table.select("measure", pl.col("estimate").round(6)).rows() == [("gpt", -20.0)]
    assert np.isnan(found.table["low"][0])
    assert found.table["reason"][0] == "a single unit cannot be resampled"


def test_nothing_alike_before_leaves_no_percentage():
    found = assay.style_effect(frame(("a", "b", "c", "c")), "words")
    assert np.isnan(found.table["estimate"][0])
    assert "the mean similarity before is 0" in found.summary()


@pytest.mark.parametrize(
    ("table", "measures", "error", "words"),
    [
        (frame(("a", "b", "c", "d")).drop("second_after"), "words", DataError, "there is no 'second_after'"),
        (frame(("a", None, "c", "d")), "words", DataError, "row 1 of the pairs has nothing in 'second'"),
        (frame(("a", "b", "c", "d")), [], DesignError, "there is no measure"),
        (frame(("a", "b", "c", "d")).with_columns(x_before=1.0), [], DataError, "'x_before' and no 'x_after'"),
    ],
)
def test_what_cannot_be_compared_is_refused(table, measures, error, words):
    with pytest.raises(error, match=words):
        assay.style_effect(table, measures)
