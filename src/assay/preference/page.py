"""What a page shows of votes: the leaderboard and the table of wins, consistency, separability, position bias."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import partial

import numpy as np
import polars as pl

from assay.errors import counted, listing
from assay.estimation.statistic import Ints
from assay.preference.consistency import RatingSets
from assay.preference.leaderboard import Leaderboard
from assay.preference.position import PositionBias
from assay.preference.separability import Separability
from assay.reporting.page import Part
from assay.reporting.tables import filled


def leaderboard_parts(found: Leaderboard, who: str = "raters") -> tuple[Part, ...]:
    """Systems by rating, and who wins against whom."""
    shown = found.rows.select("rank", "system", "estimate", "low", "high", "rank_low", "rank_high", "win_rate", "votes")
    return (
        Part(
            f"Which system do {who} prefer?",
            tuple(found.summary().splitlines()[:-1]),
            (("Systems by rating, with the range of their ranks.", shown),),
            (
                ("Ratings with their intervals", found.plot),
                ("How often the row is preferred to the column, in percent", found.plot_wins),
            ),
            tuple(map(str, found.exclusions)),
        ),
    )


def judged_parts(people: Leaderboard, judges: Mapping[str, Leaderboard | str]) -> tuple[Part, ...]:
    """People's leaderboard, then those of judges beside it; a judge that has none is named with the reason."""
    rank = people.rows.select("system", pl.col("rank").alias("rank_of_people"))
    boards = {name: found for name, found in judges.items() if isinstance(found, Leaderboard)}
    rows = [
        found.rows.select(pl.lit(name).alias("judge"), "system", "estimate", "low", "high", "rank").join(
            rank, on="system", how="left", maintain_order="left"
        )
        for name, found in boards.items()
    ]
    words = [_rank_agreement(name, found, people) for name, found in boards.items()]
    words += [f"{name}: not known; {reason}." for name, reason in judges.items() if isinstance(reason, str)]
    caption = "Ratings by the votes of each judge alone, beside the ranks by people."
    frames = ((caption, pl.concat(rows)),) if rows else ()
    return (*leaderboard_parts(people, "people"), Part("Do judges prefer the same systems?", tuple(words), frames))


def _rank_agreement(judge: str, found: Leaderboard, people: Leaderboard) -> str:
    """How many pairs of systems both rank clearly, and which way."""
    if not found.run.interval:
        return f"{judge}: no interval was asked for, so nothing says how sure the ranks are."
    systems = [name for name in people.systems if name in found.systems]
    one, other = (_clear_order(board, systems) for board in (people, found))
    alike, against = int((one * other > 0).sum()), int((one * other < 0).sum())
    return (
        f"Of {counted(len(one), 'pair')} of systems, {judge} and people rank {alike} clearly and alike, {against} "
        f"clearly and the other way round; for {len(one) - alike - against} the interval of a difference holds 0."
    )


def _clear_order(found: Leaderboard, systems: list[str]) -> Ints:
    """For every two systems, 1 where the first is rated clearly higher, -1 where lower, 0 where neither: (pairs,)."""
    apart = [found.difference(a, b) for a, b in itertools.combinations(systems, 2)]
    return np.array([(one.low > 0) - (one.high < 0) for one in apart], dtype=np.int64)


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
                ("How many items have which separability", found.plot),
                *((f"The same of {group}", partial(found.plot, group=group)) for group in found.groups),
            ),
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
