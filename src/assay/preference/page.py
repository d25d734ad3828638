"""What a page shows of votes: the leaderboard and the table of wins, consistency, separability, position bias."""

from __future__ import annotations

from functools import partial

import polars as pl

from assay.errors import listing
from assay.preference.boards import HUMANS, TOGETHER
from assay.preference.consistency import RatingSets
from assay.preference.leaderboard import Leaderboard
from assay.preference.position import PositionBias
from assay.preference.separability import Separability, SeparabilitySweep
from assay.reporting.page import Part
from assay.reporting.tables import empty_columns, filled


def leaderboard_parts(found: Leaderboard) -> tuple[Part, ...]:
    """How each judge's order differs from the people's; systems by rating, and who wins against whom."""
    several = [c for c in ("who", "group", "component") if found.rows[c].n_unique() > 1]
    columns = ("rank", "system", "estimate", "low", "high", "rank_low", "rank_high", "win_rate", "votes")
    shown = found.rows.select(*several, *columns, *(c for c in ("plain", "plain_rank") if c in found.rows.columns))
    frames = [("Systems by rating, with the range of their ranks.", shown)]
    if found.pairs.height:
        group = ["group"] if found.pairs["group"].is_not_null().any() else []
        caption = "Each two systems by people and by each judge: points of the first over the second."
        frames.append((caption, found.pairs.select("who", *group, *found.pairs.columns[2:]).drop("p")))
        moved = found.moves.filter(pl.col("rank_of_people") != pl.col("rank_of_judge"))
        if moved.height:
            frames.append(("Systems whose rank another board changes; shown where a pair is shown to flip.", moved))
    if found.coefficients.height:
        frames.append(
            ("What covariates are worth, in points for one standard deviation.", _drop_empty(found.coefficients))
        )
    wins = tuple(
        (f"How often the row is preferred to the column, in percent{of}", partial(found.plot_wins, who=who))
        for who, of in ((w, "" if found.rows["who"].n_unique() == 1 else f": {w}") for w in found.whose)
    )
    whose = {HUMANS: "people", TOGETHER: "people and judges together"}.get(found.whose[0], "raters")
    return (
        Part(
            f"Which system do {whose if len(found.whose) == 1 else 'people and judges'} prefer?",
            tuple(found.summary().splitlines()[:-1]),
            tuple(frames),
            (("Ratings with their intervals", found.plot), *wins),
            tuple(map(str, found.exclusions)),
        ),
    )


def _drop_empty(frame: pl.DataFrame) -> pl.DataFrame:
    """Without columns that say nothing."""
    return frame.drop(empty_columns(frame))


def consistency_parts(found: RatingSets) -> tuple[Part, ...]:
    """How consistent the votes of a rater on an item are."""
    pair = ["first", "second"] if found.rows["first"].n_unique() > 1 else []
    shares = ("one_sided", "mixed", "all_ties")
    columns = ("who", *pair, *(["bin"] if found.rows["bin"].is_not_null().any() else []))
    shown = found.headlines.select(*columns, "estimate", "low", "high", "sets", *shares)
    # Sentences on whole rows and trends; the bins are in the table.
    said = found.summary().splitlines()[:-1]
    whole = [line for line, where in zip(said, found.headlines["bin"], strict=False) if where is None]
    return (
        Part(
            "Can raters tell the systems apart?",
            (*whole, *said[found.headlines.height :]),
            ((f"Mean {found.measure} of rating sets, and shares of their kinds.", shown),),
            (
                (f"Mean {found.measure} of rating sets", found.plot),
                (f"How many rating sets have which {found.measure}", found.plot_values),
            ),
            tuple(map(str, found.exclusions)),
        ),
    )


def separability_parts(found: Separability) -> tuple[Part, ...]:
    """How far the outputs of every two systems can be told apart, and on which items most."""
    most, least = (found.items.sort("separability", descending=down).head(10) for down in (True, False))
    return (
        Part(
            "On which items can the systems be told apart?",
            tuple(found.summary().splitlines()[:-1]),
            (
                ("Mean separability of every two systems, and how alike their outputs are.", found.rows),
                ("The ten most separable items.", most),
                ("The ten least separable items: preferences between their outputs say little.", least),
            ),
            (
                *((("All of them side by side", found.plot_groups),) if len(found.groups) > 1 else ()),
                ("How many items have which separability", found.plot),
                *((f"The same of {group}", partial(found.plot, group=group)) for group in found.groups),
            ),
            tuple(map(str, found.exclusions)),
        ),
    )


def sweep_parts(found: SeparabilitySweep) -> tuple[Part, ...]:
    """How much separability depends on K, C and a condition."""
    return (
        Part(
            "How much does separability depend on K, C and temperature?",
            tuple(found.summary().splitlines()[:-1]),
            (("Mean separability in each way, and how near it comes to that of all outputs.", found.rows),),
            (("Each way: the mean with its interval, the middle 50% and 90% of items", found.plot),),
            tuple(map(str, found.exclusions)),
        ),
    )


def position_parts(found: PositionBias) -> tuple[Part, ...]:
    """What a page about position shows, for a report to lay out."""
    place = [c for c in ("criterion",) if found.shares["criterion"].null_count() < found.shares.height]
    columns = ("annotator", "place", "estimate", "low", "high", "chance", "difference", "n", "ties")
    shares = filled(found.shares.select(*place, *columns), found.counted)
    frames = [("Share of choices by the place in which a text was shown.", shares)]
    if found.consistency.height:
        caption = "Share of pairs that got the same answer in both orders."
        each = found.consistency.select(*place, "annotator", "estimate", "low", "high", "n")
        frames.append((caption, filled(each, "pairs")))
    draws = tuple(
        (f"Share of choices by place, {places} texts side by side", partial(found.plot, places=places))
        for places in sorted({round(1 / chance) for chance in found.shares["chance"]})
    )
    biased = found.biased
    words = (
        f"The place of a text changes the answers of {listing(biased)}."
        if biased
        else "No annotator's choices are shown to depend on the place of a text."
    )
    lines = tuple(map(str, found.exclusions))
    return (
        Part(
            "Position bias: does the place of a text change the answer?",
            (words, *found.cautions),
            tuple(frames),
            draws,
            lines,
        ),
    )
