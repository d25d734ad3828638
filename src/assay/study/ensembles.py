"""What several judges, or one judge asked several times, say together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import polars as pl


def with_ensembles(
    frame: pl.DataFrame, conditions: Sequence[str], annotators: Sequence[dict[str, Any]]
) -> tuple[pl.DataFrame, list[str]]:
    """The table with a row for each answer of an ensemble, and a note on each.

    Parameters
    ----------
    frame : polars.DataFrame
        One row a label: ``item``, ``annotator``, ``criterion``, ``label`` and the conditions.
    conditions : list of str
        Columns that were varied. An ensemble answers once under each combination; repeats and the
        orders in which options were shown are what it is made of.
    annotators : list of dict
        Annotators with their ``definition``; those that have ``of`` are ensembles.
    """
    notes: list[str] = []
    parts = [frame]
    kept = [c for c in conditions if c != "order"]
    for annotator in annotators:
        definition = annotator["definition"]
        if "of" not in definition:
            continue
        members = frame.filter(pl.col("annotator").is_in(definition["of"]))
        if members.height == 0:
            notes.append(f"{annotator['annotator']}: none of its judges has answered yet")
            continue
        rule, name = definition["rule"], annotator["annotator"]
        numeric = frame["label"].dtype.is_numeric()
        if rule != "majority" and not numeric:
            notes.append(f"{name}: labels that are not numbers have no {rule}; their majority counts")
            rule = "majority"
        grouped = members.group_by(["item", "criterion", *kept], maintain_order=True).agg(pl.col("label"))
        ties = 0
        labels = []
        for item, criterion, votes in grouped.select("item", "criterion", "label").iter_rows():
            label, tied = combined(votes, rule, f"{definition['seed']}/{name}/{item}/{criterion}")
            labels.append(label)
            ties += tied
        dtype = frame["label"].dtype if rule == "majority" else pl.Float64
        parts.append(grouped.with_columns(label=pl.Series(labels, dtype=dtype), annotator=pl.lit(name)))
        if ties:
            notes.append(f"{name}: {ties} of {grouped.height} majorities were ties, drawn by seed")
    if len(parts) == 1:
        return frame, notes
    whole = pl.concat(parts, how="diagonal_relaxed")
    if "repeat" in whole.columns:
        whole = whole.with_columns(pl.col("repeat").fill_null(1))
    return whole, notes


def combined(votes: Sequence[Any], rule: str, draw: str) -> tuple[Any, bool]:
    """One label from several, and whether it had to be drawn (by ``draw``) from a tie."""
    if rule == "mean":
        return sum(votes) / len(votes), False
    if rule == "median":
        ordered = sorted(votes)
        middle = len(ordered) // 2
        return (ordered[middle] + ordered[~middle]) / 2, False
    most = max(votes.count(v) for v in votes)
    best = sorted({v for v in votes if votes.count(v) == most}, key=str)
    chance = int.from_bytes(hashlib.sha256(draw.encode()).digest()[:8], "big")
    return best[chance % len(best)], len(best) > 1
