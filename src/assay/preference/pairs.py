"""Which outputs to put before raters: items chosen by separability, and pairs of outputs of two systems.

Where the outputs of two systems cannot be told apart, ratings of them say little. Ghosh, Srinivasan & Swayamdipta
(2024, section 4) recommend to draw items with weights that grow with separability, or from each range of it, rather
than the most separable alone, as the others still hold information.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import polars as pl

from assay.errors import DesignError
from assay.estimation.statistic import Floats, Ints

Choose = Literal["weighted", "stratified", "top"]

STRATA = 4
"""Ranges of separability, of equal width, as in the paper's figure 6."""

ALPHA, BETA, THRESHOLD = 2.0, 6.0, 0.4
"""Of equation 6."""


def weight(separability: Floats, alpha: float = ALPHA, beta: float = BETA, threshold: float = THRESHOLD) -> Floats:
    """Equation 6: how much a vote on an item of this separability weighs; 1 at the threshold."""
    return np.asarray(alpha / (1 + np.exp(-beta * (separability - threshold))))


def strata(separability: Floats, n: int = STRATA) -> Ints:
    """In which of n ranges of equal width each separability lies, from 0."""
    low, high = float(separability.min()), float(separability.max())
    return np.asarray(np.clip(((separability - low) / max(high - low, 1e-12) * n).astype(int), 0, n - 1))


def chosen_items(items: pl.DataFrame, n: int | None, choose: Choose, seed: int = 0) -> pl.DataFrame:
    """The items to ask raters about, of every two systems.

    Parameters
    ----------
    items : polars.DataFrame
        ``item``, ``first``, ``second``, ``separability``: `assay.Separability.items`.
    n : int or None
        So many for every two systems; all where it is None or there are no more.
    choose : {"weighted", "stratified", "top"}
        Chances that grow with separability as the weights of equation 6 do; as many from each of four ranges of equal
        width; the most separable. What is drawn for an item does not depend on which others there are.
    seed : int

    Returns
    -------
    polars.DataFrame
        Rows of ``items``, in their order.
    """
    if n is None:
        return items
    keys = np.array([_uniform(seed, *row) for row in items.select("item", "first", "second").iter_rows()])
    delta = items["separability"].to_numpy()
    # The smallest of exponential times with these rates are a weighted draw without replacement.
    place = -np.log(keys) / weight(delta) if choose == "weighted" else -delta if choose == "top" else keys
    kept = []
    for rows in items.with_row_index("_row").partition_by("first", "second", maintain_order=True):
        mine = rows["_row"].to_numpy()
        order = mine[np.argsort(place[mine], kind="stable")]
        if choose == "stratified":
            order = _in_turn(order, strata(delta[mine])[np.argsort(place[mine], kind="stable")])
        kept += order[:n].tolist()
    return items[sorted(kept)]


def _in_turn(order: Ints, group: Ints) -> Ints:
    """The first of each group, then the second of each, …; a group that is used up leaves its turns to the others."""
    turn = np.array([(group[:i] == g).sum() for i, g in enumerate(group)])
    return np.asarray(order[np.lexsort((-group, turn))])


def pairs_of(outputs: pl.DataFrame, chosen: pl.DataFrame, n: int = 5, seed: int = 0) -> pl.DataFrame:
    """Pairs of outputs of the items chosen, no pair twice, each output as often as any other.

    Parameters
    ----------
    outputs : polars.DataFrame
        ``item``, ``annotator`` (the system), ``repeat``, ``label`` (the text).
    chosen : polars.DataFrame
        ``item``, ``first``, ``second``, ``separability``.
    n : int
        Pairs of each item and two systems: all of them where there are no more.

    Returns
    -------
    polars.DataFrame
        ``pair_of`` (the item), ``pair`` (1 to n), ``first``, ``second``, ``separability``, ``first_output``,
        ``second_output`` (which of the outputs), ``first_text``, ``second_text``.
    """
    texts: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for item, system, number, text in outputs.select("item", "annotator", "repeat", "label").iter_rows():
        texts.setdefault((item, system), []).append((number, text))
    rows: list[Mapping[str, Any]] = []
    for item, first, second, delta in chosen.select("item", "first", "second", "separability").iter_rows():
        sides = [sorted(texts[item, system]) for system in (first, second)]
        a, b = (
            sorted(side, key=lambda one, s=system: _uniform(seed, item, first, second, s, one[0]))  # type: ignore[misc]
            for side, system in zip(sides, (first, second), strict=True)
        )
        cells = [(j, (j + shift) % len(b)) for shift in range(len(b)) for j in range(len(a))]
        for number, (j, m) in enumerate(cells[:n], 1):
            rows.append(
                {"pair_of": item, "pair": number, "first": first, "second": second, "separability": delta,
                 "first_output": a[j][0], "second_output": b[m][0], "first_text": a[j][1], "second_text": b[m][1]}
            )  # fmt: skip
    if not rows:
        raise DesignError("no item has outputs of two systems, so there is no pair to compare")
    return pl.DataFrame(rows)


def _uniform(*parts: object) -> float:
    """A number between 0 and 1 that depends on what it is drawn for, and on nothing else."""
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return (int.from_bytes(digest[:8], "big") + 0.5) / 2**64
