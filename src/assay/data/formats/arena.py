"""Tables of battles between models: ``model_a``, ``model_b`` and ``winner``, as chatbot arenas publish them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import polars as pl

from assay.data.annotations import Reading
from assay.data.formats import Rows
from assay.data.formats.tables import read_table
from assay.data.scales import Preference
from assay.errors import DataError, listing
from assay.estimation.result import Exclusion

COLUMNS = ("model_a", "model_b", "winner")

WINNERS = {
    "model_a": -1, "a": -1, "model_b": 1, "b": 1, "tie": 0, "tie (bothbad)": 0, "bothbad": 0, "both_bad": 0,
    "tie (both bad)": 0,
}  # fmt: skip
"""What ``winner`` may say; both bad is no preference."""

ITEMS = ("item", "question_id", "conversation_id", "id")
VOTERS = ("annotator", "judge")
NOBODY = "voters"
"""Who voted, where the table does not say."""


def is_arena(columns: Collection[str]) -> bool:
    """Whether a table with these columns is one of battles."""
    return set(COLUMNS) <= set(columns) and "label" not in columns


def read_arena(path: Path, item: str | None = None) -> Rows:
    """The battles of a file as votes: ``first`` is ``model_a``; ``item`` names the column of the question."""
    found = read_table(path)
    return arena_rows(found.labels, str(path), item)


def arena_rows(frame: pl.DataFrame, source: str = "a table in memory", item: str | None = None) -> Rows:
    """The battles of a frame as votes; what says no winner is counted."""
    absent = [c for c in COLUMNS if c not in frame.columns]
    if absent:
        raise DataError(f"{source} has no column '{absent[0]}'; a table of battles has {listing(COLUMNS)}")
    if item is not None and item not in frame.columns:
        raise DataError(f"{source} has no column '{item}'; it has {listing(frame.columns)}")
    if "_row" not in frame.columns:
        frame = frame.with_columns(_row=pl.int_range(1, frame.height + 1))
    named = item or next((c for c in ITEMS if c in frame.columns), None)
    voter = next((c for c in VOTERS if c in frame.columns), None)
    said = frame["winner"].cast(pl.String).str.strip_chars().str.to_lowercase()
    label = said.replace_strict(list(WINNERS), list(WINNERS.values()), default=None, return_dtype=pl.Int64)
    votes = frame.rename({"model_a": "first", "model_b": "second"}).with_columns(
        label=label,
        item=pl.col(named).cast(pl.String) if named else pl.format("battle {}", "_row"),
        annotator=pl.col(voter).cast(pl.String) if voter else pl.lit(NOBODY),
    )
    spent = {c for c in (named, voter) if c is not None} - {"item", "annotator"}
    kept = votes.filter(pl.col("label").is_not_null()).drop("winner", *spent)
    if not kept.height:
        raise DataError(f"{source}: no row names a winner; it is one of {listing(list(WINNERS), 12)}")
    again = pl.int_range(1, pl.len() + 1).over("item", "annotator")
    item_is = f"the item is {named}" if named else "each is an item"
    notes = [f"battles are votes: first is model_a, second is model_b; {item_is}"]
    if "repeat" not in kept.columns and kept.select("item", "annotator").is_duplicated().any():
        kept = kept.with_columns(repeat=again)
        notes.append("several votes of one voter on one item are numbered in the order of the table (repeat)")
    out = votes.height - kept.height
    gone = (Exclusion("row", out, "winner names neither model_a, model_b nor a tie"),) if out else ()
    return Rows(
        kept, reading=Reading(source, frame.height, exclusions=gone, notes=tuple(notes)), scales={None: Preference()}
    )
