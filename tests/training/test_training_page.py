"""The report parts of a trained rater: their criterion, items and shortest texts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from teaching import guessing, target

from assay.estimation.intervals import Estimate
from assay.estimation.result import Run
from assay.reporting.page import Part
from assay.training.baselines import BASELINES
from assay.training.documents import TrainSettings
from assay.training.page import train_parts
from assay.training.train import TrainedRater
from assay.training.words import caption

CURVE = [("a", "1", 1, 1.0, 3.0), ("a", "1", 2, 1.0, 2.0), ("a", "1", 3, 1.0, 2.5), ("a", "2", 1, 1.0, 1.0)]


def found_of(*lengths: int, rows=(), criteria=(None,), window: int = 9, curve=CURVE) -> TrainedRater:
    """A rater with random weights, and all else given: texts, predictions (item, criterion, rater, value), curves."""
    n = len(lengths)
    trained = guessing(*lengths, targets=[target(one, n) for one in criteria], members=1, window=window, epochs=9)
    lead = {one: Estimate(0.1, 0.0, 0.2, 0.05) for one in ("r", "RMSE", "R")}
    trained.against_mean = {one: lead for one in criteria}  # noqa: C420 - read only
    measured = [(c, name, of) for c in criteria for name in ("encoder", *BASELINES) for of in ("r", "RMSE", "R")]
    columns = dict.fromkeys(("criterion", "rater", "measure"), pl.String)
    table = pl.DataFrame(measured, schema=columns, orient="row")
    some = pl.col("rater") == "encoder"
    table = table.with_columns(
        family=pl.when(some).then(pl.lit("encoder")).otherwise(pl.lit("baseline")), estimate=0.5, low=None, high=0.6,
        n=n, baseline=pl.lit("ridge"), ahead=pl.when(some).then(0.1), ahead_low=0.0, ahead_high=0.2,
    )  # fmt: skip
    return TrainedRater(
        table,
        pl.DataFrame(rows, schema=["item", "criterion", "rater", "value"], orient="row"),
        pl.DataFrame(curve, schema=["rater", "fold", "epoch", "training", "held_out"], orient="row"),
        pl.DataFrame(),
        Run("train", TrainSettings(), "f", {}, "by hand", ("one", "two"), ("a note",), ("few.",)),
        (Estimate(0.5, 0.4, 0.6, 0.1),) * len(measured),
        (Estimate(0.1, 0.05, 0.15, 0.02),) * len(measured),
        trained,
    )


def parts_of(found: TrainedRater) -> dict[str, Part]:
    return {part.title: part for part in train_parts(found)}


def test_explained_items_have_low_middle_and_high_ratings():
    """The second, sixth and tenth of eleven in order: .1, .5 and .9 of the ten steps between them."""
    names = [*(f"i{k}" for k in range(10)), "i11"]  # i10 has one sentence, which is all of its rating
    values = dict(zip(names, [11, 1, 10, 2, 9, 3, 8, 4, 7, 5, 6], strict=True))  # in order: 1 3 5 7 9 11 8 6 4 2 0
    rows = [(item, "tone", "encoder", float(value)) for item, value in values.items()]
    rows += [(item, "fact", "encoder", -value) for item, _, _, value in rows]
    rows += [(item, "tone", "ridge", -value) for item, of, _, value in rows if of == "tone"]
    rows.append(("i10", "tone", "encoder", 0.0))
    found = found_of(*[2] * 10, 1, 2, rows=rows, criteria=("tone", "fact"))
    part = parts_of(found)["Sentence attributions (tone)"]
    wanted = [caption(found.attribution(item, "tone")) for item in ("i3", "i11", "i2")]
    assert [words for words, _ in part.pictures] == wanted
    assert wanted[0] != caption(found.attribution("i3", "fact"))
    assert len(part.pictures[0][1]().patches) == 2


def test_few_items_are_explained_once_and_single_sentences_never():
    rows = [("i0", None, "encoder", 2.0), ("i1", None, "encoder", 1.0)]
    part = parts_of(found_of(2, 1, 2, 2, rows=rows))["Sentence attributions"]
    assert [words[:10] for words, _ in part.pictures] == ["i0: rating"]
    assert "Sentence attributions" not in parts_of(found_of(1, 1, 2, 2, rows=rows))


@pytest.mark.parametrize(("length", "shown"), [(11, False), (12, True)])
@pytest.mark.parametrize(
    ("criterion", "words"), [("tone", "Rating of each window by tone."), (None, "Rating of each window.")]
)
def test_rating_along_a_text_requires_three_windows(length, shown, criterion, words):
    found = found_of(2, length, 3, 2, criteria=(criterion,), window=4, rows=[("i0", criterion, "encoder", 1.0)])
    part = parts_of(found).get("Rating along a text")
    assert (part is not None) == shown
    if part is not None:
        assert part.words == ("The text of item 'i1', in windows of 4 sentences.",)
        assert part.pictures[0][0] == words


def test_curves_report_the_epoch_of_lowest_loss():
    part = parts_of(found_of(2, 2, 2, 2, rows=[("i0", None, "encoder", 1.0)]))["Training"]
    assert part.words == (
        "2 trainings of at most 9 epochs; the lowest loss on held-out documents was after 1 to 2 epochs.",
    )


def test_rating_of_a_window_is_plotted_at_its_middle():
    found = found_of(2, 12, 3, 2, criteria=("tone",), window=4, rows=[("i0", "tone", "encoder", 1.0)])
    ax = parts_of(found)["Rating along a text"].pictures[0][1]()
    along = found.along("i1", "tone")
    assert list(ax.lines[0].get_xdata()) == [start + 2 for start in range(9)]
    assert list(ax.lines[0].get_ydata()) == along["value"].to_list()
    assert np.ptp(along["value"].to_numpy()) > 0
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("sentence", "rating")


def test_comparison_has_sentences_then_cautions():
    """Columns that are empty are left out, and n is the number of items."""
    part = parts_of(found_of(2, 2, 2, 2, rows=[("i0", None, "encoder", 1.0)]))[
        "Agreement of the trained rater with annotators"
    ]
    assert [words[:15] for words in part.words] == [
        "The encoder has", "Compared with t", "Compared with r", "Intervals: boot"
    ]  # fmt: skip
    assert part.cautions == ("few.",)
    assert part.lines == ("one", "two", "a note")
    (_, first), (_, second) = part.frames
    assert first.columns == ["rater", "r", "r_high", "RMSE", "RMSE_high", "R", "R_high", "items"]
    assert first["items"].to_list() == [4] * 5
    assert second["rater"].to_list() == ["encoder"]
