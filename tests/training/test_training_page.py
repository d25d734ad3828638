"""The report parts of a trained rater: their criterion, items and shortest texts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from assay.estimation.intervals import Estimate
from assay.training.documents import Texts
from assay.training.page import _along, _comparison, _course_parts, _curves, _drop_empty, _sentence_parts


def texts_of(*lengths: int) -> Texts:
    """Items with given numbers of sentences, each its own text."""
    n = len(lengths)
    sentences = [["x"] * one for one in lengths]
    return Texts(tuple("abcdefghijkl"[:n]), sentences, np.arange(n), np.zeros(n, dtype=int), np.array(lengths))


def found_of(
    texts: Texts, rows: list[tuple[str, str | None, str, float]], criterion: str | None, **more
) -> SimpleNamespace:
    asked: list[tuple[str, str | None]] = []

    def attribution(item, criterion):
        asked.append((item, criterion))
        return SimpleNamespace(item=item, rating=2.0, blank=1.0, gap=0.5, plot=None)

    target = SimpleNamespace(criterion=criterion, name=criterion or "")
    return SimpleNamespace(
        trained=SimpleNamespace(texts=texts, targets=[target], **more),
        predictions=pl.DataFrame(rows, schema=["item", "criterion", "rater", "value"], orient="row"),
        attribution=attribution,
        asked=asked,
    )


def test_explained_items_have_low_middle_and_high_ratings():
    """The second, sixth and tenth of eleven in order: .1, .5 and .9 of the ten steps between them."""
    texts = texts_of(*[2] * 10, 1, 2)  # k has one sentence, which is all of its rating
    values = dict(
        zip("abcdefghijl", [11, 1, 10, 2, 9, 3, 8, 4, 7, 5, 6], strict=True)
    )  # in order: b d f h j l i g e c a
    rows = [(item, "tone", "encoder", float(value)) for item, value in values.items()]
    rows += [(item, "fact", "encoder", -value) for item, _, _, value in rows]
    rows += [(item, "tone", "ridge", -value) for item, of, _, value in rows if of == "tone"]
    found = found_of(texts, [*rows, ("k", "tone", "encoder", 0.0)], "tone")
    (part,) = _sentence_parts(found)
    assert found.asked == [("d", "tone"), ("l", "tone"), ("c", "tone")]
    assert part.title == "Sentence attributions (tone)"
    assert [words[:9] for words, _ in part.pictures] == ["d: rating", "l: rating", "c: rating"]


def test_few_items_are_explained_once_and_single_sentences_never():
    rows = [("a", None, "encoder", 2.0), ("b", None, "encoder", 1.0)]
    found = found_of(texts_of(2, 1), rows, None)
    (part,) = _sentence_parts(found)
    assert (found.asked, part.title) == ([("a", None)], "Sentence attributions")
    assert _sentence_parts(found_of(texts_of(1, 1), rows, None)) == ()


@pytest.mark.parametrize(("length", "shown"), [(11, False), (12, True)])
@pytest.mark.parametrize(
    ("criterion", "words"), [("tone", "Rating of each window by tone."), (None, "Rating of each window.")]
)
def test_rating_along_a_text_requires_three_windows(length, shown, criterion, words):
    found = found_of(texts_of(2, length, 3), [], criterion, sizes=SimpleNamespace(window=4))
    parts = _course_parts(found)
    assert bool(parts) == shown
    for part in parts:
        assert part.words == ("The text of item 'b', in windows of 4 sentences.",)
        assert part.pictures[0][0] == words


def test_curves_report_the_epoch_of_lowest_loss():
    rows = [("a", "1", 1, 3.0), ("a", "1", 2, 2.0), ("a", "1", 3, 2.5), ("a", "2", 1, 1.0), ("a", "2", 2, 4.0)]
    curves = pl.DataFrame(rows, schema=["rater", "fold", "epoch", "held_out"], orient="row")
    trained = SimpleNamespace(sizes=SimpleNamespace(epochs=9))
    part = _curves(SimpleNamespace(curves=curves, trained=trained, plot=None))
    assert part.words == (
        "2 trainings of at most 9 epochs; the lowest loss on held-out documents was after 1 to 2 epochs.",
    )


def test_empty_columns_are_dropped_and_n_is_renamed():
    frame = pl.DataFrame({"rater": ["a"], "low": [None], "n": [3]}, schema_overrides={"low": pl.Float64})
    assert _drop_empty(frame).to_dicts() == [{"rater": "a", "items": 3}]


def test_rating_of_a_window_is_plotted_at_its_middle():
    asked = []
    rows = pl.DataFrame({"start": [0, 2, 5], "end": [4, 6, 9], "value": [1.0, 3.0, 2.0]})
    found = SimpleNamespace(along=lambda item, criterion: asked.append((item, criterion)) or rows)
    ax = _along(found, "b", "tone")
    assert asked == [("b", "tone")]
    assert (list(ax.lines[0].get_xdata()), list(ax.lines[0].get_ydata())) == ([2, 4, 7], [1, 3, 2])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("sentence", "rating")


@pytest.mark.parametrize(("leads", "tables"), [(1, 2), (0, 1)])
def test_comparison_has_sentences_then_cautions(leads, tables):
    side = pl.DataFrame({"rater": ["encoder"], "r": [0.5], "n": [3]})
    found = SimpleNamespace(
        members=("encoder",), rows={"n": [3] * 3, "baseline": ["mean"] * 3},
        estimates=[Estimate(0.5, 0.4, 0.6, 0.1)] * 3,
        row_index=lambda rater, of, criterion: ("r", "RMSE", "R").index(of),
        lead=lambda rater, of, criterion: Estimate(0.1, 0.05, 0.15, 0.02), cautions=("few.",), exclusions=(1, "two"),
        notes=("a note",), side_by_side=lambda: side, lead_table=lambda: side.head(leads),
        trained=SimpleNamespace(
            targets=[SimpleNamespace(name="", criterion=None, nominal=False)],
            folds=SimpleNamespace(group=np.array([0, 1])),
        ),
    )  # fmt: skip
    part = _comparison(found)
    assert part.title == "Agreement of the trained rater with annotators"
    assert [words[:15] for words in part.words] == ["The encoder has", "Compared with m", "Intervals: boot", "few."]
    assert part.lines == ("1", "two", "a note")
    assert len(part.frames) == tables
    assert part.frames[0][1].columns == ["rater", "r", "items"]
