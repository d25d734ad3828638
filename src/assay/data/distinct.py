"""Items that differ: of those with the same labels by the same annotators, one.

What an item adds to a statistic follows from its labels alone. Where few annotators choose among few labels, a large
table has few kinds of items, and what each kind adds is worked out once.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assay.data.annotations import Answers
from assay.estimation.statistic import Ints

FROM_ITEMS = 2**15
"""Fewer items are looked at one by one."""

MOST_KINDS = 2**22
"""Up to so many kinds of items that there could be."""

FEWER = 8
"""Kinds are of use where there are so many times fewer of them than items."""


def distinct_items(answers: Answers) -> tuple[Answers, Ints] | None:
    """One item of each kind, in the order in which kinds occur, and the kind of each item: (items,).

    None where there are few items, where labels are not whole numbers of a short range, or hardly any items are alike.
    An annotator answers an item once.
    """
    n, m = answers.n_items, len(answers.annotators)
    if n < FROM_ITEMS or not len(answers):
        return None
    low, high = float(answers.value.min()), float(answers.value.max())
    base = high - low + 2  # a label, or none
    if m * np.log2(base) > np.log2(MOST_KINDS):  # base**m is no number where annotators are many
        return None
    digit = answers.value - (low - 1)
    if answers.value.dtype.kind == "f" and (digit != np.rint(digit)).any():
        return None
    # Sums of whole numbers far below 2**53, which floating point holds exactly.
    key = np.bincount(answers.item, digit * (base ** np.arange(m))[answers.annotator], n).astype(np.int64)
    first = np.full(int(base**m), -1)
    first[key[::-1]] = np.arange(n)[::-1]
    kinds = np.flatnonzero(first >= 0)
    if len(kinds) * FEWER > n:
        return None
    kinds = kinds[np.argsort(first[kinds])]
    number = np.empty(len(first), dtype=np.int64)
    number[kinds] = np.arange(len(kinds))
    kind, chosen = number[key], np.zeros(n, dtype=bool)
    chosen[first[kinds]] = True
    few = answers.select(chosen[answers.item])
    return replace(few, item=kind[few.item], items=tuple(map(str, range(len(kinds))))), kind
