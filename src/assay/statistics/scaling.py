"""Places in a plane whose distances are as given, as far as they can be: weighted multidimensional scaling."""

from __future__ import annotations

import numpy as np

from assay.estimation.statistic import Floats

STEPS = 500
NEAR = 1e-9


def places(distance: Floats, weight: Floats, dimensions: int = 2) -> tuple[Floats, float]:
    """Places that keep weighted distances, by majorization (SMACOF, de Leeuw 1977), from classical scaling.

    Parameters
    ----------
    distance : (n, n) float
        Symmetric; what has no weight may be NaN.
    weight : (n, n) float
        How much each distance counts; 0 where it is not known.

    Returns
    -------
    (n, dimensions) float
        Centred; the first axis has the largest spread.
    stress : float
        Kruskal's stress-1: root of the squared misfit over that of the distances, 0 for a perfect map.
    """
    known = (weight > 0) & np.isfinite(distance)
    weight = np.where(known, weight, 0.0)
    np.fill_diagonal(weight, 0.0)
    mean = float(np.average(distance[known], weights=weight[known])) if weight.sum() else 1.0
    wanted = np.where(known, distance, mean)
    np.fill_diagonal(wanted, 0.0)
    found = _classical(wanted, dimensions)
    inverse = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    last = np.inf
    for _ in range(STEPS):
        apart = _apart(found)
        stress = float((weight * (wanted - apart) ** 2).sum())
        if last - stress <= NEAR * max(stress, NEAR):
            break
        last = stress
        ratio = np.where(apart > 0, weight * wanted / np.where(apart > 0, apart, 1.0), 0.0)
        found = inverse @ ((np.diag(ratio.sum(axis=1)) - ratio) @ found)
    whole = float((weight * wanted**2).sum())
    found = _turned(found)
    # One or two annotators have no second axis.
    found = np.pad(found, ((0, 0), (0, dimensions - found.shape[1])))
    return found, float(np.sqrt(stress / whole)) if whole > 0 else 0.0


def _apart(found: Floats) -> Floats:
    return np.asarray(np.sqrt(((found[:, None] - found[None]) ** 2).sum(axis=2)))


def _classical(distance: Floats, dimensions: int) -> Floats:
    """Torgerson's scaling."""
    n = len(distance)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-centre @ distance**2 @ centre / 2)
    top = np.argsort(values)[::-1][:dimensions]
    return np.asarray(vectors[:, top] * np.sqrt(np.maximum(values[top], 1e-12)))


def _turned(found: Floats) -> Floats:
    """Centred, the first axis the longest, each axis with its largest value on the positive side."""
    found = found - found.mean(axis=0)
    _, _, axes = np.linalg.svd(found, full_matrices=False)
    turned = found @ axes.T
    sign = np.sign(turned[np.abs(turned).argmax(axis=0), np.arange(turned.shape[1])])
    return np.asarray(turned * np.where(sign == 0, 1.0, sign))
