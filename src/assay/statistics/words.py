"""The sentences about dependent items, and about items on which prompts were tuned, for every question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.errors import counted
from assay.estimation.statistic import Floats, Ints
from assay.reporting.tables import decimals, number
from assay.statistics.clusters import (
    CHANCE,
    FEW_CLUSTERS,
    LARGE_EFFECT,
    consecutive_effect,
    dependence,
    groups_of,
    item_columns,
)

INSTEAD_OF_STRATA = "Clusters are not possible with strata: use probabilities=... (--probabilities) in their place."
"""The remedy if items of documents that were sampled in strata are dependent."""

EACH = CHANCE / 2
"""Level of the test of documents, and of the one of consecutive labels."""

SECOND_LOOK = 0.01
"""Level at which documents on both sides of a change are tested, in addition to the tests of labels before it."""


def document_effect(effect: Any, option: str = "clusters") -> str:
    """Return how many item ids share a prefix, or a value of an item column, and the remedy if it matters.

    Parameters
    ----------
    effect : DocumentEffect
    option : str
        The option that names the column.
    """
    of, remedy = "item ids share {:,} prefixes", (
        f"Keep the prefix in an item column and name that column with {option}=... (--{option}).")  # fmt: skip
    if effect.column:
        of = f"items share {{:,}} values of “{effect.column}”"
        remedy = f"Set {option}='{effect.column}' (--{option} {effect.column})."
    shared = f"{effect.n_items:,} {of.format(effect.n_stems)}; design effect {number(effect.design)}"
    if effect.design < LARGE_EFFECT or effect.by_chance:
        return f"{shared}{', not significant' if effect.design >= LARGE_EFFECT else ''}."
    return f"Caution: {shared}, equivalent to {effect.n_items / effect.design:,.0f} independent items. {remedy}"


def dependent_items(effect: Any, option: str = "clusters") -> str:
    """Return the same as a caution of a result, which prints the word itself."""
    return document_effect(effect, option).removeprefix("Caution: ")


def dependence_cautions(
    parts: Sequence[Floats],
    labels: Annotations,
    left_out: Sequence[str] = (),
    option: str = "clusters",
    level: float = CHANCE,
) -> tuple[str, ...]:
    """Return a caution if items of one document are dependent, but the estimates assume that they are independent.

    Parameters
    ----------
    parts : sequence of (items,) float
        The contribution of each item of the table to the error of each estimate; NaN without one.
    left_out : sequence of str
        Columns that are no groups, such as the text.
    option : str
        The option that names the column.
    level : float
        Of the test of the effect.
    """
    if not len(parts):
        return ()
    effect = dependence(np.stack(parts), item_columns(labels), (*left_out, *labels.reading.left_out), level)
    return () if effect is None else (dependent_items(effect, option),)


def pilot_documents(effect: Any) -> str:
    """Return the caution about a pilot whose items of one document, or of one prefix of ids, are dependent."""
    of = f"values of “{effect.column}”" if effect.column else "prefixes of their ids"
    return (
        f"{effect.n_items:,} items of the pilot share {effect.n_stems:,} {of}, and the plan is for independent items. "
        f"If items are sampled as in the pilot, about {decimals(effect.design, 1)} times as many are required (design "
        "effect), and the estimate requires clusters=... (--clusters)."
    )


def ordered_cautions(
    values: Floats, item: Ints, n: int, since: int, labels: Annotations, left_out: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return a caution if labels in an order depend on one another within documents, or consecutive ones are alike.

    Labels before a change are examined. Documents of which fewer than `LEAST_GROUPS` come before it, so that their
    effect cannot be estimated there, are examined on both sides of it: long documents can be the change themselves.

    Parameters
    ----------
    values : (labels,) float
    item : (labels,) int
        The item of each.
    n : int
        Labels that are before the change with certainty.
    since : int
        The estimated change; the number of labels without one.
    """
    parts = np.full((2, labels.n_items), np.nan)
    for part, pieces in zip(parts, ([values[:n]], np.split(values, [since])), strict=True):
        apart = np.concatenate([one - one.mean() for one in pieces if len(one)])
        part[item[: len(apart)]] = apart
    found = dependence_cautions([parts[0]], labels, left_out, level=EACH)
    if not found and since < len(values):
        examined = groups_of(item_columns(labels).filter(pl.Series(~np.isnan(parts[0]))), left_out)
        found = dependence_cautions([parts[1]], labels, (*left_out, *examined), level=SECOND_LOOK)
    return found or consecutive_cautions(values[:n])


def consecutive_cautions(values: Floats) -> tuple[str, ...]:
    """Return a caution if consecutive labels are alike, as those of one document or day: (labels,), in their order."""
    effect = consecutive_effect(values, EACH)
    if effect is None:
        return ()
    return (
        f"consecutive labels are alike ({effect.n_items:,} in {effect.n_stems:,} batches: design effect "
        f"{number(effect.design)}), but the false-alarm probability is for independent labels: alarms can be too "
        "frequent. Name the column of what they share, such as a document, with clusters=... (--clusters).",
    )


def few_clusters(number: int) -> list[str]:
    """Return the caution about few clusters."""
    if number >= FEW_CLUSTERS:
        return []
    return [
        f"With {counted(number, 'cluster')}, a fault that affects few of them can be absent by chance: a fault in one "
        "of five documents misses all of ten with probability .11."
    ]


def development_items(seen: int, n: int, study: str) -> list[str]:
    """Return that some or all of the judged items belong to the development set of a study or table."""
    if seen and seen == n:
        ask = f": assay judge {study} --part test." if study else "."
        return [
            f"All {counted(n, 'item')} belong to the development set: prompts were tuned on them, and a verdict on "
            f"them does not generalize to new items. Query the judges for the test set{ask}"
        ]
    if not seen:
        return []
    return [
        f"{seen:,} of {n:,} items belong to the development set: prompts were tuned on them. For a verdict on the test "
        "set only, use --where part=test or labels.where(part='test')."
    ]
