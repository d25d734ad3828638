"""What groups the items of the one table: strata that are known without reading them, and documents; and annotators.

Columns are compared by their values, never by their type: ``4``, ``4.0`` and ``" 4 "`` are one number, and give the
same groups.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
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
        The numbers of a column of many numbers, or those that sort its dates.
    order : bool
        Whether the column has dates.
    finer : bool
        Whether it is a pattern in a column, such as the weekday of its dates: it is not combined with other columns.
    """

    name: str
    codes: Codes
    documents: bool = False
    numbers: NDArray[np.float64] | None = None
    order: bool = False
    finer: bool = False


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
    return _dense(codes)


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
    for name in items.columns:
        if name in skip:
            continue
        view = ColumnView(items[name])
        moments = view.moments
        dates = {} if moments is None or not view.as_dates.certain else calendar(moments)
        reason = _reason(view if moments is None else ColumnView(moments.rename(name)), said)
        held: list[Stratum] = []
        if reason not in ("one value", "labels or gold labels", "the labels' own words"):
            cells = _joined(items[name]) if view.lists else view.texts
            held = [one for one in _patterns(view, cells, dates) if _is_held(one.codes)]
        if reason is not None:
            if not held:
                unused[name] = reason
            found += held
            if reason == "the labels' own words" and items.height >= LEAST_HELD * view.n_values:
                own.append(Stratum(name, parts_of(view)))
            continue
        stratum = _stratum(view, moments, dates)
        found += [*([stratum] if stratum is not None else []), *held]
        if stratum is None and not held:
            unused[name] = "values of few items" if view.n_values > 1 else "one value"
    return ItemGroups(tuple(found), unused, tuple(own))


def _stratum(view: ColumnView, moments: pl.Series | None, dates: Mapping[str, Codes]) -> Stratum | None:
    """Return the parts of a column: its values if they have several items each, and else parts of its numbers."""
    dated = moments is not None
    if moments is not None:
        view = ColumnView(moments.rename(view.name))
    numbers = _numbers(view) if dated or _is_cut(view) else None
    values = [view.codes, *(dates[name] for name in ORDERED if dates)]
    whole = next((codes for codes in values if _is_held(codes)), None)
    codes = parts_of(view, min(MOST_VALUES, max(view.rows // LEAST_PER_PART, 1)))
    if whole is not None and whole.max() > codes.max():
        codes = _dense(whole)
    each = view.rows / (int(codes.max(initial=0)) + 1)
    if int(codes.max(initial=0)) == 0 or (each < LEAST_OF_DOCUMENT and not _is_cut(view)):
        return None
    documents = each < LEAST_HELD and not _is_cut(view)
    return Stratum(view.name, codes, documents, None if documents else numbers, dated and not documents)


def _is_held(codes: Codes) -> bool:
    """Return whether there are several values, which have enough items on average."""
    n = len(np.unique(codes))
    return n > 1 and len(codes) >= LEAST_HELD * n


# -- patterns in columns ---------------------------------------------------------------------------------

MOST_TAGS = 12
"""Tags that are strata: those that are nearest to half of the items."""

LONGEST_TAG = 30
"""Characters of a tag on average, at most: longer parts are clauses of a text."""

LONGEST_LIST = 200
"""Characters of a list of tags on average, at most."""

SITE = re.compile(r"^\w+://(?:www\.)?([^/:?#]+)")
FOLDER = re.compile(r"^(?:\w+://)?(.*)[/\\][^/\\]*$")
TAGS = re.compile(r"\s*[;|,]\s*")


def calendar(moments: pl.Series) -> dict[str, Codes]:
    """Return the day, week, month, weekday, month of the year and hour of dates, coded; −1 where there is none.

    Parameters
    ----------
    moments : polars.Series
        Seconds since 1970 (`assay.data.structure.dates.read_moments`).
    """
    known = moments.is_not_null().to_numpy()
    seconds = np.floor(moments.fill_null(0).to_numpy()).astype(np.int64)
    days, hour = seconds // 86_400, seconds % 86_400 // 3_600
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    month = months % 12 + 1
    found = {
        "day": days, "week": (days + 3) // 7, "month": months, "weekday": (days + 3) % 7, "month of the year": month,
        "hour": hour,
    }  # fmt: skip
    return {name: np.where(known, codes, -1) for name, codes in found.items()}


ORDERED = ("day", "week", "month")
"""The parts of a calendar that follow each other, from the finest."""


def _patterns(view: ColumnView, cells: pl.Series, dates: Mapping[str, Codes]) -> Iterator[Stratum]:
    """Yield what a column also shows: of dates the weekday, of links the site, of lists the tags."""
    if dates:
        finest = next((name for name in ORDERED if _is_held(dates[name])), "")
        told = {"day": ("weekday", "month of the year"), "month": ("month of the year",)}.get(finest, ())
        for name in ("weekday", "month of the year", "hour"):
            if name not in told:
                yield Stratum(f"{view.name} ({name})", _dense(dates[name]), finer=True)
    elif view.is_text and not view.spaced:
        for name, form in (("site", SITE), ("folder", FOLDER)):
            part = cells.str.extract(form.pattern)
            split = part.null_count() - cells.null_count() <= (1 - LEAST_SPLIT) * view.filled
            if split and 1 < part.n_unique() < view.n_values:
                yield Stratum(f"{view.name} ({name})", _dense(part.rank("dense").fill_null(0).to_numpy()))
                break
    if view.is_text or view.lists:
        yield from _tags(view.name, cells)


LEAST_SPLIT = 0.9
"""Share of the cells of a column of links or paths that have the part."""


def _joined(lists: pl.Series) -> pl.Series:
    """Return the texts of lists of words, joined; null for cells of another kind."""
    if not isinstance(lists.dtype, pl.List) or lists.dtype.inner.is_nested():
        return pl.Series(lists.name, [None] * len(lists), dtype=pl.String)
    return lists.cast(pl.List(pl.String)).list.join(";")


def _tags(column: str, cells: pl.Series) -> Iterator[Stratum]:
    """Yield whether an item has a tag, for the tags nearest to half of the items."""
    if float(cells.str.len_chars().mean() or 0) > LONGEST_LIST:  # type: ignore[arg-type]
        return
    tags = cells.str.replace_all(TAGS.pattern, "\x1f").str.split("\x1f")
    each = tags.explode().drop_nulls().rename("tag")
    counts = each.filter(each != "").value_counts(name="n")
    long = float(each.str.len_chars().mean() or 0) > LONGEST_TAG  # type: ignore[arg-type]
    if long or (tags.list.len() > 1).sum() < LEAST_HELD or 2 * counts.height > cells.count():
        return
    often = counts.filter((pl.col("n") >= LEAST_HELD) & (pl.col("n") <= len(cells) - LEAST_HELD))
    for tag in often.sort((pl.col("n") - len(cells) / 2).abs(), "tag")["tag"].head(MOST_TAGS):
        has = tags.list.contains(tag).fill_null(False)
        yield Stratum(f"{column} ({tag})", _dense(has.cast(pl.Int64).to_numpy()), finer=True)


def _dense(codes: NDArray[Any]) -> Codes:
    return np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)


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
