"""Votes on pairs of systems: the side of each system, and the sides as shown.

A label is *first* or *second*, and the system on that side can differ from vote to vote. Reading swaps the sides of
such votes, so that labels of one item can be compared, and stores which votes were swapped. Analyses of the shown side
swap them back.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.names import Coded, factorize, natural

PAIR = ("first", "second")
"""Columns that name the two systems of a vote: −1 is a vote for the first."""

PAIR_OF = "pair_of"
"""The column with the question that both outputs answer, if an item is one pair of outputs, as in a study of systems.
Votes with one of its values are votes on one item."""

SWAPPED = "sides_swapped"
"""The column that marks the votes whose sides were swapped on reading."""


_SIDE_NAMES = (("first_{}", "second_{}"), ("{}_first", "{}_second"), ("{}_a", "{}_b"))


def side_names(quantity: str) -> list[tuple[str, str]]:
    """Return the possible names of the columns with a quantity of the first and second output: ``first_length``."""
    return [(one.format(quantity), other.format(quantity)) for one, other in _SIDE_NAMES]


def side_columns(columns: Collection[str]) -> list[tuple[str, str]]:
    """Return the columns of the two systems, and the pairs of columns with a quantity of each output."""
    found = [PAIR] if set(PAIR) <= set(columns) else []
    for one, other in _SIDE_NAMES:
        head, tail = one.split("{}")
        names = (c[len(head) : len(c) - len(tail)] for c in columns if c.startswith(head) and c.endswith(tail))
        found += [(one.format(n), other.format(n)) for n in names if n and other.format(n) in columns]
    return found


def pair_names(first: pl.Expr, second: pl.Expr) -> pl.Expr:
    """Return a name for two systems, independent of their order: ``gpt / llama``."""
    one, other = (side.cast(pl.String) for side in (first, second))
    return pl.format("{} / {}", pl.min_horizontal(one, other), pl.max_horizontal(one, other))


class Sides:
    """The systems of votes as numbers.

    Parameters
    ----------
    table : polars.DataFrame
        One row a label, with `PAIR` and numbers as labels.
    votes : (rows,) bool
        Which rows are votes.
    """

    def __init__(self, table: pl.DataFrame, votes: NDArray[np.bool_]) -> None:
        named = [table[side].cast(pl.String) for side in PAIR]
        both = factorize(pl.concat([side.alias("system") for side in named]))
        self.systems, codes = both.names, both.codes.astype(np.int64).reshape(2, -1)
        named_both = np.logical_and.reduce([side.is_not_null().to_numpy() for side in named])
        self.rows = votes & named_both & (codes[0] != codes[1])
        self.first, self.second = codes

    @cached_property
    def pairs(self) -> Coded:
        """The pair of systems of each vote, independent of their order."""
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        return factorize(pl.Series("pair", low * len(self.systems) + high))

    @property
    def orders(self) -> pl.Series:
        """The two systems of each vote in their order: ``gpt>llama``."""
        different, codes = factorize(pl.Series("order", self.first * len(self.systems) + self.second))
        first, second = (self.systems.gather(at) for at in divmod(different.to_numpy(), len(self.systems)))
        return Coded(first + ">" + second, codes).column()

    def named_pairs(self, question: Coded) -> Coded:
        """The question and the pair of systems of each vote, ``q7: gpt / llama``; for other rows, only the question."""
        systems, size = len(self.systems), len(self.pairs.names) + 1
        pair = np.where(self.rows, self.pairs.codes, size - 1)
        # A name is written once for all votes that have it.
        different, codes = factorize(pl.Series("item", question.codes.astype(np.int64) * size + pair))
        first, second = (self.systems.gather(at) for at in divmod(self.pairs.names.to_numpy(), systems))
        pairs = pl.select(pair_names(pl.lit(first), pl.lit(second))).to_series().extend_constant(None, 1)
        at, of = divmod(different.to_numpy(), size)
        alone = question.names.gather(at)
        named = pl.select(pl.coalesce(pl.format("{}: {}", alone, pairs.gather(of)), alone)).to_series()
        return Coded(different, codes).rename_all(named.alias("item"))

    def several(self, item: Coded) -> bool:
        """Whether votes on one item are about several pairs."""
        return self._differ(self.pairs.codes, item)

    def swapped(self, item: Coded, label: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return the votes to swap so that each system has one side: (rows,); none if each item shows one order.

        The system with more wins minus losses in all votes becomes the first, so that names have no influence; of those
        with equally many, the first by name.
        """
        if not self._differ(self.first * len(self.systems) + self.second, item):
            return np.zeros(len(self.rows), dtype=bool)
        n, won = len(self.systems), np.where(self.rows, np.sign(label), 0)
        wins = np.bincount(self.second, won, n) - np.bincount(self.first, won, n)
        by_name = {name: place for place, name in enumerate(natural(self.systems.drop_nulls().to_list()))}
        names = np.array([by_name.get(name, n) for name in self.systems.to_list()])
        rank = np.empty(n, dtype=np.int64)
        rank[np.lexsort((names, -wins))] = np.arange(n)
        return np.asarray(self.rows & (rank[self.first] > rank[self.second]))

    def _differ(self, value: NDArray[Any], item: Coded) -> bool:
        """Whether votes on one item have several values."""
        codes, value = item.codes[self.rows], value[self.rows]
        one = np.zeros(len(item.names), dtype=value.dtype)
        one[codes] = value
        return bool((one[codes] != value).any())


def swap_sides(table: pl.DataFrame, rows: NDArray[np.bool_]) -> pl.DataFrame:
    """Swap the two systems in some rows, with their labels and all other columns about a side."""
    swap, label = pl.Series(rows), pl.col("label")
    # Labels of votes are whole numbers, stored as text if other criteria have words as labels.
    other = (-label.cast(pl.Int64, strict=False)).cast(table.schema["label"])
    changed = [pl.when(swap).then(other).otherwise(label).alias("label")]
    for first, second in side_columns(table.columns):
        types = table.schema[first], table.schema[second]
        # Numbers of two types, as a missing value makes them, or a column without any value, are still one quantity.
        if types[0] == types[1] or not any(one.is_nested() for one in types):
            changed += [pl.when(swap).then(pl.col(b)).otherwise(pl.col(a)).alias(a)
                        for a, b in ((first, second), (second, first))]  # fmt: skip
    return table.with_columns(changed)


def keep_shown(table: pl.DataFrame, sides: Sides) -> pl.DataFrame:
    """Add the shown order of the two systems, and the chosen position, of each vote."""
    place = pl.when(pl.col("label") < 0).then(1).when(pl.col("label") > 0).then(2)
    shown: dict[str, pl.Series | pl.Expr] = {"order": sides.orders, "position": place.cast(pl.Int64)}
    votes = pl.Series(sides.rows)
    return table.with_columns(pl.when(votes).then(of).alias(name) for name, of in shown.items() if name not in table)


def marked_as_swapped(column: pl.Series) -> NDArray[np.bool_]:
    """Return which votes were swapped on reading, from the column `SWAPPED` as booleans or text."""
    return (column.cast(pl.String).str.to_lowercase() == "true").fill_null(False).to_numpy()
