"""Votes as rows: one vote of two votes in both orders, and votes made from scores of the compared systems."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl

from assay.data.columns import KEY
from assay.data.scales import Preference
from assay.data.structure.sides import PAIR, PAIR_OF, SWAPPED
from assay.errors import DataError, DesignError, counted

# -- votes in both orders ----------------------------------------------------------------------------
# A judge that is asked in both orders has two votes, and most people have one. Ties made of two different votes are
# labels that no person has: with 200 pairs and three people, no judge of 40 like the people could replace one.


class OneVote(NamedTuple):
    """Labels with one vote for two in both orders.

    Attributes
    ----------
    labels : polars.DataFrame
    counted : dict
        By annotator, the number of pairs with two votes, and of those with different votes.
    note : str
    """

    labels: pl.DataFrame
    counted: dict[str, tuple[int, int]]
    note: str


def one_vote(labels: Any, *, ties: bool) -> OneVote | None:
    """Return votes in both orders as one: of a drawn order, or their common side and a tie if they differ.

    The common side has the weaker grade. Ties are the convention of Zheng et al. (2023), *Judging LLM-as-a-judge*,
    section 3.4. None for labels without two votes of an annotator on a pair.
    """
    table: pl.DataFrame = labels.labels
    votes = all(isinstance(scale, Preference) for scale in labels.scales.values())
    if "order" not in labels.conditions or not votes or not table["label"].dtype.is_numeric():
        return None
    key = [k for k in (*KEY, *labels.conditions) if k in table.columns and k != "order"]
    if not table.select(key).is_duplicated().any():
        return None
    low, high = (getattr(pl.col("label"), end)().over(key) for end in ("min", "max"))
    marked = table.with_columns(_several=pl.len().over(key) > 1, _apart=low < high)
    if ties:
        several, side = pl.col("_several"), common_side(low, high).cast(table["label"].dtype)
        shown = [name for name in ("order", "position") if name in table.columns]
        marked = marked.with_columns(
            pl.when(several).then(side).otherwise(pl.col("label")).alias("label"),
            *(pl.when(~several).then(pl.col(name)).alias(name) for name in shown),
        )
    else:
        marked = in_one_order(marked, labels.judges)
    single = marked.unique(key, keep="first", maintain_order=True)
    counts = single.filter("_several").group_by("annotator", maintain_order=True).agg(pl.len(), pl.col("_apart").sum())
    counted = {str(name): (int(pairs), int(apart)) for name, pairs, apart in counts.rows()}
    note = _note_of_orders(table.height - single.height, sum(n for _, n in counted.values()), ties=ties)
    return OneVote(single.drop("_apart", "_several"), counted, note)


def in_one_order(labels: pl.DataFrame, judges: Collection[str]) -> pl.DataFrame:
    """Return the labels of each item and annotator in one of their orders, drawn by the names.

    The first system of a pair is often the better one, so that in one order a choice of the first position would be a
    choice of the better system. Judges and people draw separately, and so does each person: in a common order, a judge
    that always chooses the first text would agree with people who prefer it a little.
    """
    key = [c for c in ("item", "annotator", "criterion") if c in labels.columns]
    several = labels.filter(pl.col("order").n_unique().over(key) > 1).select("item", "annotator").unique()
    known = set(judges)
    lots = [_lot(item if name in known else f"{item}\0{name}") for item, name in several.iter_rows()]
    drawn = several.with_columns(_lot=pl.Series(lots, dtype=pl.UInt64))
    there = labels.join(drawn, on=["item", "annotator"], how="left", maintain_order="left")
    rank, number = pl.col("order").rank("dense").over(key), pl.col("order").n_unique().over(key)
    return there.filter(pl.col("_lot").is_null() | (rank - 1 == pl.col("_lot") % number)).drop("_lot")


def _note_of_orders(pairs: int, apart: int, *, ties: bool) -> str:
    """The note on pairs of votes in both orders that count as one vote."""
    note = f"votes in both orders: {pairs:,} pairs of votes count as one"
    if not ties:
        return f"{note}, in an order that is drawn for each pair" + (f"; {apart:,} of them differ" if apart else "")
    return note + (f", {apart:,} of them with different votes as ties" if apart else "")


def _lot(name: str) -> int:
    """A number drawn for a name, the same in every part of a table."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def common_side(low: pl.Expr, high: pl.Expr) -> pl.Expr:
    """Return the weaker grade of votes between ``low`` and ``high`` on one side; a tie, 0, if they are on several."""
    return pl.when(low > 0).then(low).when(high < 0).then(high).otherwise(0).alias("label")


# -- scores of the systems that others compared ------------------------------------------------------


def scores_on_pairs(votes: Any, scores: Any, system: str, sources: str) -> Any:
    """Return scores as votes on the pairs of another table: same source, same two systems, same sides.

    Of two systems that an annotator scored, the one with the higher score wins; equal scores are a tie. Pairs that
    no one voted on are left out, so that both tables are about the same comparisons.

    Parameters
    ----------
    votes : Annotations
        Votes with columns ``first`` and ``second``. Their source is ``pair_of`` if they have it, else the item.
    scores : Annotations
        One criterion.
    system, sources : str
        Columns of the scores: the systems, and what their outputs answer.

    Raises
    ------
    DesignError
        If the tables are not votes on named systems and scores.
    DataError
        If no pair with a vote has two scores of one annotator.
    """
    if votes.scale.kind != "preference" or not scores.scale.numeric:
        raise DesignError(_other_tables(votes.scale.describe(), scores.scale.describe()), option="scored")
    again = [c for c in ("repeat", *scores.conditions) if c in scores.labels.columns]
    each = scores.labels.select("annotator", *again, _score=pl.col("label").cast(pl.Float64)).with_columns(
        _system=scores.column(system).cast(pl.String), _source=scores.column(sources).cast(pl.String)
    )
    whole = PAIR_OF if PAIR_OF in votes.items.columns or PAIR_OF in votes.labels.columns else "item"
    compared = votes.labels.select(
        "item", *(votes.column(name).cast(pl.String).alias(name) for name in PAIR),
        _source=votes.column(whole).cast(pl.String),
    ).unique(maintain_order=True)  # fmt: skip
    sides = [each.rename({"_system": side, "_score": f"_{side}"}) for side in PAIR]
    pairs = compared.join(sides[0], on=["_source", "first"], maintain_order="left").join(
        sides[1], on=["_source", "second", "annotator", *again], maintain_order="left"
    )
    if not pairs.height:
        mine, theirs = (compared.row(0, named=True), each.row(0, named=True))
        raise DataError(
            _no_pair((mine["_source"], mine["first"], mine["second"]), (theirs["_source"], theirs["_system"]),
                                 (system, sources))
        )  # fmt: skip
    label = (pl.col("_second") - pl.col("_first")).sign().cast(pl.Int64)
    given = [*(PAIR if PAIR[0] in votes.labels.columns else ()), *again]
    made = pairs.select("item", "annotator", *given, label=label)
    if SWAPPED in votes.labels.columns:
        made = made.with_columns(pl.lit(value=False).alias(SWAPPED))
    n = pairs.select("item", *PAIR).unique().height
    note = _note_of_scores(made.height, n, compared.height, (system, sources))
    return replace(
        scores, labels=made, items=votes.items.filter(pl.col("item").is_in(made["item"].implode())),
        scales=votes.scales, reading=replace(scores.reading, notes=(*scores.reading.notes, note)), unlabelled=None,
        names={},
    )  # fmt: skip


def _other_tables(votes: str, scores: str) -> str:
    """The error for tables that are not votes and scores."""
    return (
        "scored=... and sources=... join a table of votes with a table of scores, in this order; their labels are "
        f"{votes} and {scores}"
    )


def _no_pair(vote: tuple[str, str, str], score: tuple[str, str], columns: tuple[str, str]) -> str:
    """The error for scores that are on none of the pairs with votes."""
    source, first, second = vote
    system, sources = columns
    return (
        f"no pair of systems with a vote has two scores of one annotator: a vote compares '{first}' and '{second}' on "
        f"'{source}', and a score is of '{score[1]}' ('{system}') on '{score[0]}' ('{sources}'). Systems and sources "
        "are joined by their names"
    )


def _note_of_scores(votes: int, pairs: int, compared: int, columns: tuple[str, str]) -> str:
    """The note on scores that became votes."""
    return (
        f"{counted(votes, 'vote')} made of scores of two '{columns[0]}' on one '{columns[1]}', for {pairs:,} of "
        f"{counted(compared, 'pair')} with votes"
    )
