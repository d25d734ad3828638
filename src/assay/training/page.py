"""The report parts of a trained rater: agreement with annotators, baselines, loss curves and sentence attributions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from assay.errors import counted
from assay.reporting import pictures
from assay.reporting.page import Part
from assay.reporting.tables import empty_columns
from assay.training import words
from assay.training.documents import FAMILY
from assay.training.train import TrainedRater

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = (0.1, 0.5, 0.9)
"""Quantiles of the ratings of the items whose attributions are shown."""

LONG_TEXT = 3
"""Shortest text, in windows, for which the rating along the text is shown."""


def train_parts(found: TrainedRater) -> tuple[Part, ...]:
    """Return the comparison, the loss curves, the sentence attributions, and the rating along a long text."""
    return (_comparison(found), _curves(found), *_sentence_parts(found), *_course_parts(found))


def _comparison(found: TrainedRater) -> Part:
    said = tuple(line[:1].upper() + line[1:] for line in words.sentences(found))
    frames = (
        ("Agreement with annotators on held-out documents.", _drop_empty(found.side_by_side())),
        ("Lead over the best baseline; above 0 is better, also for RMSE.", _drop_empty(found.lead_table())),
    )
    return Part(
        "Agreement of the trained rater with annotators",
        tuple(said),
        frames,
        lines=(*map(str, found.exclusions), *found.notes),
        cautions=found.cautions,
    )


def _drop_empty(frame: pl.DataFrame) -> pl.DataFrame:
    frame = frame.drop(empty_columns(frame))
    return frame.rename({"n": "items"}, strict=False)


def _curves(found: TrainedRater) -> Part:
    fits = found.curves.group_by("rater", "fold").agg(
        best=pl.col("epoch").sort_by("held_out").first(), epochs=pl.col("epoch").max()
    )
    best = sorted(int(one) for one in fits["best"])
    return Part(
        "Training",
        (
            f"{counted(fits.height, 'training')} of at most {found.trained.sizes.epochs} epochs; the lowest loss on "
            f"held-out documents was after {best[0]} to {best[-1]} epochs.",
        ),
        pictures=(("Loss after each epoch, one line per rater and fold.", found.plot),),
    )


def _sentence_parts(found: TrainedRater) -> tuple[Part, ...]:
    """The sentence attributions of a few items by the first criterion."""
    target = found.trained.targets[0]
    mine = found.predictions.filter(pl.col("rater") == FAMILY)
    mine = mine if target.criterion is None else mine.filter(pl.col("criterion") == target.criterion)
    texts = found.trained.texts
    several = {name for i, name in enumerate(texts.items) if texts.end[i] - texts.first[i] > 1}
    mine = mine.filter(pl.col("item").is_in(list(several))).sort("value", "item")
    if not mine.height:
        return ()
    places = [round(share * (mine.height - 1)) for share in SHOWN]
    drawn: list[tuple[str, Callable[[], Axes]]] = []
    for item in dict.fromkeys(mine["item"][place] for place in places):
        one = found.attribution(item, target.criterion)
        drawn.append((words.caption(one), one.plot))
    said = (
        "Contribution of each sentence to the rating, by integrated gradients through the encoder from a reference of "
        "neutral sentences. The bars add up to the difference between the two ratings, except for the part that is not "
        "attributed. If sentences matter in combination, such as a question and its answer, single bars are less "
        "informative.",
    )
    title = f"Sentence attributions{f' ({target.name})' if target.name else ''}"
    return (Part(title, said, pictures=tuple(drawn)),)


def _course_parts(found: TrainedRater) -> tuple[Part, ...]:
    """The rating along the longest text, if it is longer than several windows."""
    texts, window = found.trained.texts, found.trained.sizes.window
    longest = int(texts.length.argmax())
    if texts.length[longest] < LONG_TEXT * window:
        return ()
    item = texts.items[int((texts.sequence == longest).argmax())]
    target = found.trained.targets[0]
    draw = partial(_along, found, item, target.criterion)
    return (
        Part(
            "Rating along a text",
            (f"The text of item '{item}', in windows of {window} sentences.",),
            pictures=((f"Rating of each window{f' by {target.name}' if target.name else ''}.", draw),),
        ),
    )


def _along(found: TrainedRater, item: str, criterion: str | None) -> Axes:
    rows = found.along(item, criterion)
    ax = pictures.axes(height=2.6)
    ax.plot(((rows["start"] + rows["end"]) / 2).to_list(), rows["value"].to_list(), color=pictures.JUDGE, linewidth=1.4)
    ax.set_xlabel("sentence")
    ax.set_ylabel("rating")
    return ax
