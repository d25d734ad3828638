"""What does a page show of a trained rater? How near it comes, its baselines, its curves, what its ratings rest on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from assay.errors import counted
from assay.reporting import pictures
from assay.reporting.page import Part
from assay.reporting.tables import empty_columns
from assay.training.documents import FAMILY
from assay.training.train import TrainedRater

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = (0.1, 0.5, 0.9)
"""Which items are explained: those whose rating is at these quantiles, so that low and high ones are seen."""

LONG_TEXT = 3
"""Windows from which on a text is long enough to be followed."""


def train_parts(found: TrainedRater) -> tuple[Part, ...]:
    """The comparison, the curves, what sentences add, and the rating along a long text."""
    return (_comparison(found), _curves(found), *_sentence_parts(found), *_course_parts(found))


def _comparison(found: TrainedRater) -> Part:
    said = tuple(line[:1].upper() + line[1:] for line in found.sentences())
    frames = [("With people, on documents that no rater saw.", _drop_empty(found.side_by_side()))]
    if found.lead_table().height:
        frames.append(
            (
                "How far each is ahead of the best baseline; above 0 is better, of RMSE too.",
                _drop_empty(found.lead_table()),
            )
        )
    return Part(
        "Does the trained rater rate as people do?",
        (*said, *found.cautions),
        tuple(frames),
        lines=(*map(str, found.exclusions), *found.notes),
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
        "How was it trained?",
        (
            f"{counted(fits.height, 'training')} of at most {found.trained.sizes.epochs} epochs; the best on "
            f"documents held out was after {best[0]} to {best[-1]}.",
        ),
        pictures=(("Loss after each epoch, a line for each rater and fold.", found.plot),),
    )


def _sentence_parts(found: TrainedRater) -> tuple[Part, ...]:
    """What sentences add to the ratings of a few items by the first criterion."""
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
        drawn.append((one.caption(), one.plot))
    words = (
        "What each sentence adds, by integrated gradients through the encoder, from sentences that say nothing. Bars "
        "add up to the difference of the two ratings but for what is not accounted for. Where sentences matter "
        "together, as a question and its answer, single bars say less.",
    )
    return (
        Part(f"What do its ratings rest on?{f' ({target.name})' if target.name else ''}", words, pictures=tuple(drawn)),
    )


def _course_parts(found: TrainedRater) -> tuple[Part, ...]:
    """The rating along the longest text, where texts are longer than windows."""
    texts, window = found.trained.texts, found.trained.sizes.window
    longest = int(texts.length.argmax())
    if texts.length[longest] < LONG_TEXT * window:
        return ()
    item = texts.items[int((texts.sequence == longest).argmax())]
    target = found.trained.targets[0]
    draw = partial(_along, found, item, target.criterion)
    return (
        Part(
            "How does the rating go along a text?",
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
