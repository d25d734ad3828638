"""Rater families compared with humans, by criterion: figures 1, 6 and 7b and table 6 of Hardy (2025).

The figures compare a random rater of a family, drawn for each item, with a random human, as `agreement` does under
``random human``. This module uses those rows and estimates nothing again.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assay.concordance.coefficient import label_word
from assay.concordance.comparisons import A_RANDOM_HUMAN, Families
from assay.concordance.measures import all_measures
from assay.data.ratings import Ratings
from assay.errors import DesignError
from assay.estimation.statistic import Ints
from assay.reporting import pictures
from assay.reporting.tables import said

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PEOPLE = "humans"
"""The row of two random humans in these tables."""

MOST_LABELS = 12
"""Most labels that are drawn as bars. More numbers are counted in this number of ranges of equal width."""

MOST_ALONE = 8
"""Most judges without families that a picture shows one by one: the number of colours."""

MARKS: Mapping[str | None, str] = {"better": "^", "worse": "v"}
"""The marker of a significantly better or worse point than a random human; all others are hollow circles."""

SIGNS: Mapping[str | None, str] = {"better": "▲", "worse": "▼"}


def rater_name(second: str) -> str:
    """Return ``humans``, ``judges``, the family or the judge for the name in a row of agreement."""
    if second == A_RANDOM_HUMAN:
        return PEOPLE
    if second == "a random judge":
        return "judges"
    return second.removeprefix("a random judge of ")


def raters_to_draw(families: Families, judges: Sequence[str]) -> list[str]:
    """Return humans, each family, and judges without a family; without families each judge, or all as one if many.

    A family with one judge has the judge's name.
    """
    several = [(rater_name(name), who) for name, who in families if name == A_RANDOM_HUMAN or len(who) > 1]
    names, grouped = [name for name, _ in several], {judge for _, who in several for judge in who}
    if "judges" in names:
        return [PEOPLE, *judges] if len(judges) <= MOST_ALONE else names
    return [*names, *(judge for judge in judges if judge not in grouped)]


def random_human_rows(rows: pl.DataFrame, humans: Sequence[str]) -> pl.DataFrame:
    """Return the rows of a random human, a random judge of each family, and each judge, with a random human.

    Parameters
    ----------
    rows : polars.DataFrame
        The table of `agreement`.
    humans : sequence of str
        Names of the humans. Their own rows are excluded, because humans are one family.

    Returns
    -------
    polars.DataFrame
        ``criterion, rater, coefficient, title, estimate, low, high, n, than_humans``; humans first, then families, then
        judges, within each criterion and coefficient.

    Raises
    ------
    DesignError
        If the rows have no ``random human``.
    """
    found = rows.filter(
        (pl.col("who") == "random human") & pl.col("group").is_null() & ~pl.col("second").is_in(list(humans))
    )
    if not found.height:
        raise DesignError("rows with a random human are missing; call agreement with who=['random human']")
    named = found.with_columns(
        rater=pl.col("second").map_elements(rater_name, return_dtype=pl.String),
        _rank=pl.when(pl.col("second") == A_RANDOM_HUMAN).then(0)
        .when(pl.col("second").str.starts_with("a random judge")).then(1).otherwise(2),
    )  # fmt: skip
    columns = ("criterion", "rater", "coefficient", "title", "estimate", "low", "high", "n", "than_humans")
    return named.sort("_rank", maintain_order=True).select(columns)


def better_than_humans(rows: pl.DataFrame) -> pl.DataFrame:
    """Count the criteria on which each rater is better than a random human, by each coefficient: table 6 of the paper.

    Returns
    -------
    polars.DataFrame
        ``coefficient, title, rater, criteria`` (with both values), ``better`` (by the estimates, as in the paper),
        ``share`` (of the criteria), ``significantly_better``, ``significantly_worse`` (the unadjusted interval of the
        difference excludes 0).
    """
    signs = {name: -1.0 if one.lower_is_better else 1.0 for name, one in all_measures().items() if not one.directed}
    people = rows.filter(rater=PEOPLE).select("criterion", "coefficient", among="estimate")
    both = rows.filter((pl.col("rater") != PEOPLE) & pl.col("coefficient").is_in(list(signs))).join(
        people, on=["criterion", "coefficient"], how="inner", nulls_equal=True, maintain_order="left"
    )
    known = both.filter(pl.col("estimate").is_finite() & pl.col("among").is_finite())
    sign = pl.col("coefficient").replace_strict(signs, return_dtype=pl.Float64)
    return (
        known.group_by("coefficient", "title", "rater", maintain_order=True)
        .agg(
            criteria=pl.len(),
            better=((pl.col("estimate") - pl.col("among")) * sign > 0).sum(),
            significantly_better=(pl.col("than_humans") == "better").sum(),
            significantly_worse=(pl.col("than_humans") == "worse").sum(),
        )
        .with_columns(share=pl.col("better") / pl.col("criteria"))
        .select(
            "coefficient", "title", "rater", "criteria", "better", "share", "significantly_better",
            "significantly_worse",
        )
    )  # fmt: skip


# -- label distributions -----------------------------------------------------------------------------


def label_shares(parts: Sequence[tuple[str | None, Ratings, Families]]) -> pl.DataFrame:
    """Return how often humans, each family and each judge give each label: figure 6 of the paper.

    Parameters
    ----------
    parts : sequence
        Criteria, with their labels and families; humans are one family.

    Returns
    -------
    polars.DataFrame
        ``criterion, rater, label, n, share``: every label of the criterion for every rater; a share is of the labels
        that the rater gave.
    """
    rows = []
    for criterion, ratings, families in parts:
        names, counts = _count_labels(ratings)
        members = [(rater_name(name), who) for name, who in families if name == A_RANDOM_HUMAN or len(who) > 1]
        for rater, who in (*members, *((judge, (judge,)) for judge in ratings.judges)):
            given = counts[np.isin(ratings.annotators, who)].sum(axis=0)
            if given.sum():
                rows += [(criterion, rater, *row) for row in zip(names, given, given / given.sum(), strict=True)]
    schema = {"criterion": pl.String, "rater": pl.String, "label": pl.String, "n": pl.Int64, "share": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _count_labels(ratings: Ratings) -> tuple[list[str], Ints]:
    """The labels in their order, as words, and how often each annotator gave each: (annotators, labels)."""
    values, answers = ratings.values, ratings.answers
    names = [label_word(ratings, value) for value in values.tolist()]
    counts = np.zeros((len(ratings.annotators), len(values)), dtype=np.int64)
    np.add.at(counts, (answers.annotator, np.searchsorted(values, answers.value)), 1)
    if len(values) <= MOST_LABELS or not ratings.scale.numeric:
        return names, counts
    edges = np.linspace(values[0], values[-1], MOST_LABELS + 1)
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, MOST_LABELS - 1)
    ranges = [f"{low:g} to {high:g}" for low, high in itertools.pairwise(edges)]
    return ranges, np.stack([counts[:, place == i].sum(axis=1) for i in range(MOST_LABELS)], axis=1)


# -- pictures ----------------------------------------------------------------------------------------


def plot_raters(rows: pl.DataFrame, coefficient: str, ax: Axes | None = None) -> Axes:
    """Draw one coefficient of each rater with a random human, by criterion, with intervals: figure 1 of the paper.

    A triangle is significantly better (up) or worse (down) than two random humans; a circle is neither.
    """
    rows = rows.filter(coefficient=coefficient)
    criteria, raters = (rows[c].unique(maintain_order=True).to_list() for c in ("criterion", "rater"))
    ax = pictures.axes(ax, width=max(5.2, 1.6 + 0.34 * len(criteria) * (len(raters) + 1)), height=3.8)
    ax.axhline(0, color=pictures.FAINT, linewidth=1, zorder=0)
    colours = dict(zip(raters, family_colours(raters), strict=True))
    for row in rows.iter_rows(named=True):
        x = criteria.index(row["criterion"]) + (raters.index(row["rater"]) - (len(raters) - 1) / 2) / (len(raters) + 1)
        colour, shown = colours[row["rater"]], row["than_humans"] in MARKS
        if row["low"] is not None:
            ax.plot([x, x], [row["low"], row["high"]], color=colour, linewidth=1.4, zorder=2)
        face = colour if shown or row["rater"] == PEOPLE else "none"
        ax.plot(
            [x], [row["estimate"]], MARKS.get(row["than_humans"], "o"), color=colour, markerfacecolor=face,
            markersize=6, zorder=3,
        )  # fmt: skip
    for rater, colour in colours.items():
        ax.plot([], [], "s", color=colour, label=rater)
    for name, mark in (("significantly better", "^"), ("significantly worse", "v")):
        ax.plot([], [], mark, color=pictures.MUTED, label=name)
    ax.set_xticks(range(len(criteria)), [c or "all items" for c in criteria])
    ax.set_xlim(-0.6, len(criteria) - 0.4)
    ax.tick_params(axis="x", length=0)
    ax.set_ylabel(f"{rows['title'][0]} with a random human")
    _legend_above(ax)
    return ax


def plot_coefficients(rows: pl.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw every coefficient of every rater with a random human as a grid, by criterion: figure 7b of the paper.

    ▲ and ▼ mark raters that are significantly better or worse than two random humans.
    """
    names = rows["coefficient"].unique(maintain_order=True).to_list()
    titles = dict(rows.select("coefficient", "title").unique().rows())
    lines = rows.select("criterion", "rater").unique(maintain_order=True).sort("criterion", maintain_order=True).rows()
    if len(lines) > pictures.MOST_ROWS:
        lines = lines[: pictures.MOST_ROWS]
    values, text = np.full((len(lines), len(names)), np.nan), [["" for _ in names] for _ in lines]
    for row in rows.iter_rows(named=True):
        if (row["criterion"], row["rater"]) in lines:
            i, j = lines.index((row["criterion"], row["rater"])), names.index(row["coefficient"])
            values[i, j] = np.nan if row["estimate"] is None else row["estimate"]
            text[i][j] = said(values[i, j], 2) + SIGNS.get(row["than_humans"], "")
    ax = pictures.axes(ax, width=2.6 + 0.72 * len(names), height=1.6 + 0.27 * len(lines))
    # Errors have no largest value, so their cells are not shaded.
    unshaded = np.array([all_measures()[n].lower_is_better or all_measures()[n].directed for n in names])
    colours = [pictures.HUMAN if rater == PEOPLE else pictures.JUDGE for _, rater in lines]
    pictures.shaded(ax, np.where(unshaded & np.isfinite(values), 0.0, values), text, colour=colours)
    ax.set_xticks(np.arange(len(names)) + 0.5, [titles[n] for n in names], rotation=40, ha="right")
    several = len({criterion for criterion, _ in lines}) > 1
    words = [f"{criterion}: {rater}" if several else rater for criterion, rater in lines]
    ax.set_yticks(np.arange(len(lines))[::-1] + 0.5, words)
    pictures.title(ax, "With a random human; ▲ significantly better, ▼ significantly worse than another human")
    return ax


def plot_labels(shares: pl.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw how often each rater gives each label, one row of bars per criterion: figures 6 and 7a of the paper."""
    criteria, raters = (shares[c].unique(maintain_order=True).to_list() for c in ("criterion", "rater"))
    most = max(shares.filter(pl.col("criterion").eq_missing(c))["label"].n_unique() for c in criteria)
    ax = pictures.axes(ax, width=max(5.2, 1.8 + 0.2 * most * len(raters)), height=1.2 + 1.05 * len(criteria))
    colours, width, top = family_colours(raters), 0.8 / len(raters), float(shares["share"].max())  # type: ignore[arg-type]
    for i, criterion in enumerate(criteria):
        mine = shares.filter(pl.col("criterion").eq_missing(criterion))
        labels, base = mine["label"].unique(maintain_order=True).to_list(), len(criteria) - 1 - i
        ax.axhline(base, color=pictures.FAINT, linewidth=1, zorder=0)
        for rater, label, share in mine.select("rater", "label", "share").iter_rows():
            k = raters.index(rater)
            x = labels.index(label) + (k - (len(raters) - 1) / 2) * width
            ax.bar(x, 0.72 * share / top, width * 0.92, bottom=base, color=colours[k])
        for x, label in enumerate(labels):
            ax.text(x, base - 0.04, label, ha="center", va="top", fontsize=8, color=pictures.MUTED)
    for rater, colour in zip(raters, colours, strict=True):
        ax.plot([], [], "s", color=colour, label=rater)
    ax.set_yticks([len(criteria) - 1 - i + 0.3 for i in range(len(criteria))], [c or "all items" for c in criteria])
    ax.set_ylim(-0.25, len(criteria) - 0.1)
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    ax.spines["bottom"].set_visible(False)
    ax.set_xlabel(f"share of a rater's labels; the highest bar is {said(100 * top, 0)}%")
    _legend_above(ax)
    return ax


def _legend_above(ax: Axes) -> None:
    pictures.legend(ax, ncols=6, loc="lower left", bbox_to_anchor=(0.0, 1.0), columnspacing=1.2, handletextpad=0.3)


def family_colours(raters: Sequence[str]) -> list[str]:
    """The colour of humans, and one colour for each other rater."""
    others = [c for c in pictures.PALETTE if c != pictures.HUMAN]
    rest = [r for r in raters if r != PEOPLE]
    return [pictures.HUMAN if r == PEOPLE else others[rest.index(r) % len(others)] for r in raters]
