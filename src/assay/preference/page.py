"""Parts of a report about votes: leaderboard and table of wins, consistency, separability, position bias."""

from __future__ import annotations

from functools import partial

import polars as pl

from assay.data.annotations import Annotations
from assay.preference import words
from assay.preference.boards import HUMANS, TOGETHER
from assay.preference.consistency import RatingSets, consistency
from assay.preference.leaderboard import Leaderboard, ratings
from assay.preference.position import PositionBias, position_bias
from assay.preference.separability import Separability, SeparabilitySweep
from assay.preference.votes import has_separability, has_votes
from assay.reporting.page import Part, PartOptions, parts_or_reason
from assay.reporting.tables import empty_columns, filled


def leaderboard_parts(found: Leaderboard) -> tuple[Part, ...]:
    """The comparison of each judge's order with the humans', systems by rating, and the table of wins."""
    several = [c for c in ("who", "group", "component") if found.rows[c].n_unique() > 1]
    columns = ("rank", "system", "estimate", "low", "high", "rank_low", "rank_high", "win_rate", "votes")
    shown = found.rows.select(*several, *columns, *(c for c in ("plain", "plain_rank") if c in found.rows.columns))
    frames = [("Systems by rating, with ranges of ranks.", shown)]
    if found.pairs.height:
        group = ["group"] if found.pairs["group"].is_not_null().any() else []
        unmarked = [] if found.pairs["contradicted"].any() else ["contradicted"]
        caption = "Pairs of systems for humans and each judge: rating of the first minus the second, in points."
        frames.append((caption, found.pairs.select("who", *group, *found.pairs.columns[2:]).drop("p", *unmarked)))
        moved = found.ranks.filter(pl.col("rank_humans") != pl.col("rank_judge"))
        if moved.height:
            frames.append(("Systems with different ranks for humans and a judge.", moved))
    if found.fit["p"].is_not_nan().any():
        caption = (
            "Observed and expected wins of the first of each pair (a tie is half a win), and standardised residuals."
        )
        frames.append((caption, _drop_empty(found.fit.drop("p", "p_own"))))
    if found.coefficients.height:
        frames.append(("Effects of covariates, in points per standard deviation.", _drop_empty(found.coefficients)))
    wins = tuple(
        (f"Wins of the row over the column, in percent{of}", partial(found.plot_wins, who=who))
        for who, of in ((w, "" if found.rows["who"].n_unique() == 1 else f": {w}") for w in found.raters)
    )
    pooled = found.raters[0] in (HUMANS, TOGETHER)
    raters = words.rater_name(found.raters[0]) if pooled else "raters"
    return (
        Part(
            f"Ranking of systems by {raters if len(found.raters) == 1 else 'humans and judges'}",
            tuple(line for line in found.lead_lines()[:-1] if not line.startswith("Caution: ")),
            tuple(frames),
            (("Ratings with their intervals", found.plot), *wins),
            tuple(map(str, found.exclusions)),
            cautions=found.cautions,
        ),
    )


def _drop_empty(frame: pl.DataFrame) -> pl.DataFrame:
    """Without empty columns."""
    return frame.drop(empty_columns(frame))


def consistency_parts(found: RatingSets) -> tuple[Part, ...]:
    """Consistency, or preference strength, of each rater's votes on an item."""
    pair = ["first", "second"] if found.rows["first"].n_unique() > 1 else []
    shares = ("unanimous", "one_sided", "mixed", "all_ties")
    columns = ("who", *pair, *(["bin"] if found.rows["bin"].is_not_null().any() else []))
    shown = found.headlines.select(*columns, "estimate", "low", "high", "sets", *shares)
    # Sentences about whole rows and trends; the bins are in the table.
    said = found.summary().splitlines()[:-1]
    whole = [line for line, where in zip(said, found.headlines["bin"], strict=False) if where is None]
    return (
        Part(
            "Consistency of votes" if found.measure == "consistency" else "Preference strength",
            (*whole, *said[found.headlines.height :]),
            (
                (
                    f"Mean {found.measure} of rating sets; shares of unanimous, one-sided, mixed and tied sets.",
                    shown,
                ),
            ),
            (
                (f"Mean {found.measure} of rating sets", found.plot),
                (f"Distribution of {found.measure} over rating sets", found.plot_values),
            ),
            tuple(map(str, found.exclusions)),
        ),
    )


def separability_parts(found: Separability) -> tuple[Part, ...]:
    """Separability of every two systems, and the most and least separable items."""
    most, least = (found.items.sort("separability", descending=down).head(10) for down in (True, False))
    return (
        Part(
            "Separability of systems",
            tuple(found.summary().splitlines()[:-1]),
            (
                ("Mean separability of every two systems, and similarity of their outputs.", found.rows),
                (
                    "Items by scenario: cross-alignment low and both self-alignments high (1), all low (2), "
                    "cross-alignment low and one self-alignment high (3), all high (4). High is above 0.5.",
                    found.scenarios(),
                ),
                ("The ten most separable items.", most),
                ("The ten least separable items.", least),
            ),
            (
                *((("Separability by group", found.plot_groups),) if len(found.groups) > 1 else ()),
                ("Distribution of separability over items", found.plot),
                *(
                    (f"Distribution of separability, {group}", partial(found.plot, group=group))
                    for group in found.groups
                ),
            ),
            tuple(map(str, found.exclusions)),
        ),
    )


def sweep_parts(found: SeparabilitySweep) -> tuple[Part, ...]:
    """Dependence of separability on K, C and a condition."""
    return (
        Part(
            "Dependence of separability on K, C and temperature",
            tuple(found.summary().splitlines()[:-1]),
            (("Mean separability for each setting, compared with all outputs.", found.rows),),
            (("Mean separability with its interval for each setting, middle 50% and 90% of items", found.plot),),
            tuple(map(str, found.exclusions)),
        ),
    )


def position_parts(found: PositionBias) -> tuple[Part, ...]:
    """Shares of choices by place, and consistency over both orders."""
    place = [c for c in ("criterion",) if found.shares["criterion"].null_count() < found.shares.height]
    columns = ("annotator", "place", "estimate", "low", "high", "chance", "difference", "p_adjusted", "n", "ties")
    shares = filled(found.shares.select(*place, *columns), found.counted)
    frames = [("Share of choices by the place of a text.", shares)]
    if found.consistency.height:
        caption = "Share of pairs with the same choice in both orders."
        each = found.consistency.select(*place, "annotator", "estimate", "low", "high", "n")
        frames.append((caption, filled(each, "pairs")))
    draws = tuple(
        (f"Share of choices by place, {places} texts", partial(found.plot, places=places))
        for places in sorted({round(1 / chance) for chance in found.shares["chance"]})
    )
    verdict, excluded = words.position_verdict(found.biased, found.n_tests), tuple(map(str, found.exclusions))
    return (Part("Position bias", (verdict,), tuple(frames), draws, excluded, cautions=found.cautions),)


# -- parts of the report -----------------------------------------------------------------------------


def report_position(labels: Annotations, options: PartOptions) -> tuple[Part, ...]:
    """Return the position bias, if the labels are choices with the position at which each text was shown."""
    kinds = {scale.kind for scale in labels.scales.values()} & {"preference", "odd-one-out"}
    if not kinds or "position" not in labels.labels.columns:
        return ()
    return parts_or_reason(
        "Position bias",
        lambda: position_parts(position_bias(labels, clusters=options.clusters, **options.intervals)),
    )


def report_votes(labels: Annotations, options: PartOptions) -> tuple[Part, ...]:
    """Return the leaderboard and the consistency of votes, if the labels are votes on named systems."""
    if not has_votes(labels):
        return ()
    shared = {"clusters": options.clusters, **options.intervals}
    boards = parts_or_reason(
        "Ranking of systems by humans and judges", lambda: leaderboard_parts(ratings(labels, **shared))
    )
    binned = "separability" if has_separability(labels) else None
    return (*boards, *consistency_parts(consistency(labels, by=binned, **shared)))
