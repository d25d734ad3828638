"""What groups the items of the one table: strata that are known without reading them, and documents; and annotators.

Columns are compared by their values, never by their type: ``4``, ``4.0`` and ``" 4 "`` are one number, and give the
same groups.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.annotations import Annotations
from assay.data.names import natural
from assay.data.structure.cells import ColumnView
from assay.data.structure.role_names import ID, called_judged, plain_name
from assay.errors import DesignError, listing

Codes = NDArray[np.int64]
Reason = Literal[
    "one value", "free text", "dates", "lists", "values of few items", "labels or gold labels", "the labels' own words",
    "item ids",
]  # fmt: skip

MOST_VALUES = 5
"""Distinct numbers up to which each is a group; more are cut into as many parts of about equal size."""

THIRDS = 3
"""Parts of a column of numbers in a combination of two columns."""

LEAST_PER_PART = 6
"""Items per part of a column of numbers."""

LEAST_HELD = 5
"""Items per value that a column of words requires on average to be a stratification."""

LEAST_OF_DOCUMENT = 2
"""The same for documents: strata only of the item-level test, and only if annotators agree within them."""


@dataclass(frozen=True, eq=False)
class Stratum:
    """A division of items by what is known without reading them.

    Attributes
    ----------
    name : str
        The column.
    codes : (items,) int
        The part of each item; items without a value are a part.
    documents : bool
        Whether the parts are documents, whose text their items share.
    numbers : (items,) float or None
        The numbers of a column that is cut into parts.
    order : bool
        Whether the column has dates; the numbers sort them.
    """

    name: str
    codes: Codes
    documents: bool = False
    numbers: NDArray[np.float64] | None = None
    order: bool = False


@dataclass(frozen=True, eq=False)
class ItemGroups:
    """Strata of items, and the columns that are not used as strata, each with its reason.

    ``own_words`` are the columns of the labels' own words: known without reading the items, or labels of another
    annotator under a harmless name. The table does not show which.
    """

    strata: tuple[Stratum, ...]
    unused: dict[str, Reason]
    own_words: tuple[Stratum, ...] = ()


def parts_of(view: ColumnView, parts: int = MOST_VALUES) -> Codes:
    """Return the part of each item by a column; empty cells are a part.

    A column of more than `MOST_VALUES` distinct numbers is cut at its quantiles into some parts; equal numbers stay
    together. Ids, and words, are not cut.
    """
    codes = view.codes
    if _is_cut(view):
        there = np.sort(codes[codes >= 0])
        cuts = there[(np.arange(1, parts) * len(there)) // parts]
        codes = np.where(codes < 0, -1, np.searchsorted(np.unique(cuts), codes, side="right"))
    return np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _is_cut(view: ColumnView) -> bool:
    return view.values is not None and len(view.values) > MOST_VALUES and not _is_id(view)


def item_groups(
    items: pl.DataFrame, categories: Collection[object] = (), skip: Collection[str] = (),
    used: NDArray[np.bool_] | None = None,
) -> ItemGroups:  # fmt: skip
    """Find what is known of items without reading them.

    Parameters
    ----------
    items : polars.DataFrame
        One row per item.
    categories : collection
        The categories of the labels: a column of the same words could be labels of another annotator. A column of
        numbers on the labels' scale, such as stars, is known without reading.
    skip : collection of str
        Columns that are not strata, such as the item id and a column of gold labels.
    used : (items,) bool, optional
        The items that are compared: others influence no part, and are in the first.
    """
    if used is not None and not used.all():
        groups = item_groups(items.filter(pl.Series(used)), categories, skip)
        strata, own_words = (
            tuple(replace(one, codes=_spread(one.codes, used), numbers=_spread(one.numbers, used)) for one in each)
            for each in (groups.strata, groups.own_words)
        )
        return ItemGroups(strata, groups.unused, own_words)
    said = {str(category).lower() for category in categories}
    found: list[Stratum] = []
    own: list[Stratum] = []
    unused: dict[str, Reason] = {}
    views = {name: ColumnView(items[name]) for name in items.columns if name not in skip}
    for name, view in views.items():
        if (dates := view.moments) is not None:
            view = ColumnView(dates.rename(name))
        reason = _reason(view, said)
        if reason is not None:
            unused[name] = reason
            if reason == "the labels' own words" and items.height >= LEAST_HELD * view.n_values:
                own.append(Stratum(name, parts_of(view)))
            continue
        codes = parts_of(view, min(MOST_VALUES, max(items.height // LEAST_PER_PART, 1)))
        each = items.height / (int(codes.max(initial=0)) + 1)
        if int(codes.max(initial=0)) == 0:
            unused[name] = "values of few items" if view.n_values > 1 else "one value"
        elif each >= LEAST_HELD or _is_cut(view):
            numbers = _numbers(view) if _is_cut(view) or dates is not None else None
            found.append(Stratum(name, codes, numbers=numbers, order=dates is not None))
        elif each >= LEAST_OF_DOCUMENT:
            found.append(Stratum(name, codes, documents=True))
        else:
            unused[name] = "values of few items"
    return ItemGroups(tuple(found), unused, tuple(own))


def _numbers(view: ColumnView) -> NDArray[np.float64]:
    assert view.numbers is not None
    return view.numbers.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _spread(values: Any, used: NDArray[np.bool_]) -> Any:
    if values is None:
        return None
    every = np.full(len(used), np.nan if values.dtype.kind == "f" else 0, dtype=values.dtype)
    every[used] = values
    return every


def _reason(view: ColumnView, said: set[str]) -> Reason | None:
    """Why a column is no stratification; None if it could be one."""
    if view.lists:
        return "lists"
    if view.n_values + (view.filled < view.rows) < 2:
        return "one value"
    if called_judged(plain_name(view.name)):
        return "labels or gold labels"
    if said and view.values is None and {value.lower() for value in view.distinct.to_list()} <= said:
        return "the labels' own words"
    if view.dates:
        return "dates"
    if view.free and view.n_values * LEAST_OF_DOCUMENT > view.filled:
        return "free text"
    return "item ids" if _is_id(view) and view.n_values == view.filled else None


def _is_id(view: ColumnView) -> bool:
    """Whether numbers only name things: by the name of the column, or because they number the rows."""
    if view.values is None:
        return False
    numbers_rows = view.whole and len(view.values) == view.filled == int(np.ptp(view.values)) + 1
    return numbers_rows or bool(ID.search(plain_name(view.name)))


# -- copies of items -------------------------------------------------------------------------------------


FEWEST_COPIES = 5
"""Fewer items with equal texts and labels can be a coincidence."""


def copied_items(items: pl.DataFrame, labels: pl.DataFrame) -> list[str]:
    """Return the items that are copies of another one: the same texts and columns, and the same label by every rater.

    Rows that were joined twice, or a file that was appended to itself, give such items under other ids. Items can share
    a text without being copies, as several questions about one text do, and get equal labels by chance. So items count
    as copies only if at least `FEWEST_COPIES` have the texts and columns of another one, and all of these its labels.

    Parameters
    ----------
    items : polars.DataFrame
        One row per item, with its id in ``item``.
    labels : polars.DataFrame
        One row per label: ``item``, ``annotator``, ``label``, perhaps ``repeat``.
    """
    about = [name for name in items.columns if name != "item" and not items[name].dtype.is_nested()]
    texts = [name for name in about if items[name].dtype == pl.String and ColumnView(items[name]).free]
    if not texts:
        return []
    twice = items.filter(pl.struct(texts).is_duplicated() & pl.all_horizontal(pl.col(texts).is_not_null()))
    if not twice.height:
        return []
    who = [name for name in ("annotator", "criterion", "repeat") if name in labels.columns]
    given = labels.filter(pl.col("item").is_in(twice["item"].implode())).sort(who)
    answers = pl.concat_str(
        [pl.col(name).cast(pl.String) for name in (*who, "label")], separator="\x1f", ignore_nulls=True
    )
    known = given.group_by("item").agg(answers.str.join("\x1e").alias("\x1fanswers"))
    both = twice.join(known, on="item").sort("item")
    further = both.filter(~pl.struct(about).is_first_distinct())["item"].to_list()
    copies = both.filter(~pl.struct([*about, "\x1fanswers"]).is_first_distinct())["item"].to_list()
    return copies if copies == further and len(copies) >= FEWEST_COPIES else []


# -- groups of annotators ----------------------------------------------------------------------------

MOST_GROUPS = 12
"""Most values of a column of groups; more are names or numbers."""


def annotator_groups(labels: Annotations, by: str, *, of_items: str) -> dict[str, list[str]]:
    """Return the humans of each value of a column of the annotators.

    Parameters
    ----------
    labels : Annotations
    by : str
        The column.
    of_items : str
        What to do instead for groups of items; ends the message.

    Raises
    ------
    DataError, DesignError
        For an unknown column, one of the items or labels, or one with a single value or too many.
    """
    by = labels.column_name(by)
    if by not in labels.annotators.columns or by in ("annotator", "kind"):
        known = [c for c in labels.annotators.columns if c not in ("annotator", "kind")]
        raise DesignError(
            f"'{by}' does not describe annotators; by=... compares groups of annotators ({listing(known)}). For groups "
            f"of items {of_items}"
            if known
            else "no column describes the annotators, whose groups are compared; name a table of them with "
            "annotator_table=..."
        )
    people = labels.annotators.filter((pl.col("kind") == "human") & pl.col(by).is_not_null())
    values = people[by].cast(pl.String)
    found = {
        value: people.filter(values == value)["annotator"].to_list() for value in natural(values.unique().to_list())
    }
    if not 2 <= len(found) <= MOST_GROUPS:
        raise DesignError(
            f"'{by}' has {len(found)} values among the humans; comparing groups requires 2 to {MOST_GROUPS}"
        )
    return found
