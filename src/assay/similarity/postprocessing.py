"""What is done to the embeddings of a collection before they are compared.

Embeddings of one encoder share a direction and a few components that say more of how a text is written than of what it
means. ``all-but-the-top`` takes away their mean and their first ⌈d / 100⌉ principal components (Mu, Bhat & Viswanath
2018); ``top-third`` and ``top-two-thirds`` keep that share of the principal components of the centred embeddings and
nothing else (Raunak et al. 2020), counted of as many as texts and dimensions allow (Nam et al. 2025, table 8).
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np

from assay.errors import DesignError, counted
from assay.similarity.protocol import Floats

Post = Literal["none", "all-but-the-top", "top-third", "top-two-thirds"]
WORDS = get_args(Post)


def processed(rows: Floats, how: Post) -> Floats:
    """Embeddings after what is asked for; a row of zeros, a text without words, stays and is not learned from.

    Parameters
    ----------
    rows : (texts, dimensions) float
        Of distinct texts.

    Returns
    -------
    (texts, dimensions) float

    Raises
    ------
    DesignError
        Where there are too few texts to learn components from.
    """
    if how == "none":
        return rows
    filled = rows.any(axis=1)
    if not filled.any():
        return rows
    found = np.zeros_like(rows)
    found[filled] = all_but_the_top(rows[filled]) if how == "all-but-the-top" else _top(rows[filled], how)
    return found


def all_but_the_top(rows: Floats) -> Floats:
    """The embeddings less their mean and their first ⌈dimensions / 100⌉ principal components."""
    gone = math.ceil(rows.shape[1] / 100)
    _refuse_few("all-but-the-top", len(rows), gone + 3)
    centred, components = principal(rows)
    first = components[:gone]
    return np.asarray(centred - centred @ first.T @ first)


def top_components(rows: Floats, share: float) -> Floats:
    """The centred embeddings on their first principal components, a share of min(texts, dimensions)."""
    centred, components = principal(rows)
    kept = components[: math.ceil(share * min(rows.shape))]
    return np.asarray(centred @ kept.T @ kept)


def _top(rows: Floats, how: Post) -> Floats:
    _refuse_few(how, len(rows), 6)
    return top_components(rows, 1 / 3 if how == "top-third" else 2 / 3)


def principal(rows: Floats) -> tuple[Floats, Floats]:
    """Centred rows and their principal directions, the widest first."""
    centred = np.asarray(rows - rows.mean(axis=0))
    return centred, np.asarray(np.linalg.svd(centred, full_matrices=False)[2])


def _refuse_few(how: str, n: int, least: int) -> None:
    if n < least:
        raise DesignError(
            f"{how} learns from all texts that it is given, and needs {least} different ones; it was given "
            f"{counted(n, 'text')}. Ask for all of them at once, or leave post=... out"
        )
