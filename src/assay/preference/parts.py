"""What a page shows of votes: the leaderboard, the table of wins, how consistent raters are."""

from __future__ import annotations

from functools import partial

from assay.preference.consistency import RatingSets
from assay.preference.ratings import Leaderboard
from assay.preference.separability import Separability
from assay.reporting.page import Part


def leaderboard_parts(found: Leaderboard) -> tuple[Part, ...]:
    """Systems by rating, and who wins against whom."""
    shown = found.rows.select("rank", "system", "estimate", "low", "high", "rank_low", "rank_high", "win_rate", "votes")
    return (
        Part(
            "Which system do raters prefer?",
            tuple(found.summary().splitlines()[:-1]),
            (("Systems by rating, with the range of their ranks.", shown),),
            (
                ("Ratings with their intervals", found.plot),
                ("How often the row is preferred to the column, in percent", found.plot_wins),
            ),
            tuple(map(str, found.exclusions)),
        ),
    )


def consistency_parts(found: RatingSets) -> tuple[Part, ...]:
    """How consistent the votes of a rater on an item are."""
    pair = ["first", "second"] if found.rows["first"].n_unique() > 1 else []
    shares = ("one_sided", "mixed", "all_ties")
    columns = ("who", *pair, *(["bin"] if found.rows["bin"].is_not_null().any() else []))
    shown = found.rows.select(*columns, "estimate", "low", "high", "sets", *shares)
    return (
        Part(
            "Can raters tell the systems apart?",
            tuple(found.summary().splitlines()[:-1]),
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
