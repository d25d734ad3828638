"""Which labels people and judges give, as a picture."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from assay.data.annotations import Annotations
from assay.data.scales import Label
from assay.estimation.statistic import Floats, Ints
from assay.reporting import pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LABELS = 24
"""Categories shown in the picture of labels; the rarest share a column beyond that."""


def has_shares(labels: Annotations) -> bool:
    """Whether labels can be counted: free text cannot."""
    return labels.scale.kind != "text"


def label_shares(labels: Annotations) -> Axes:
    """How often people and each judge give each label."""
    column, names = labels.labels["label"], labels.labels["annotator"]
    rows = {"people": names.is_in(list(labels.humans)).to_numpy()}
    rows |= {judge: (names == judge).to_numpy() for judge in labels.judges}
    columns, codes = _columns(labels, column.to_list())
    shares = np.array([_share(codes[mask], len(columns)) for mask in rows.values()])
    ax = pictures.axes(width=max(5.2, 1.6 + 0.42 * len(columns)), height=1.1 + 0.3 * len(rows))
    text = [[f"{100 * share:.0f}" if share >= 0.005 else "" for share in row] for row in shares]
    pictures.shaded(ax, shares, text, colour=[pictures.HUMAN, *[pictures.JUDGE] * (len(rows) - 1)])
    ax.set_yticks(np.arange(len(rows))[::-1] + 0.5, list(rows))
    long = max(len(c) for c in columns) > 4
    ax.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=45 if long else 0, ha="right" if long else "center")
    return ax


def _share(codes: Ints, k: int) -> Floats:
    counts = np.bincount(codes, minlength=k)
    return np.asarray(counts / max(counts.sum(), 1))


def _columns(labels: Annotations, values: list[Label]) -> tuple[list[str], Ints]:
    """The columns of the picture and each label's: categories, or ten bins of a continuous scale."""
    scale = labels.scale
    listed = scale.categories
    if listed is None and scale.numeric:
        numbers = np.array(values, dtype=float)
        low, high = scale.bounds or (float(numbers.min()), float(numbers.max()))
        edges = np.linspace(low, high, 11)
        codes = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, 9)
        return [f"{a:.3g}–{b:.3g}" for a, b in itertools.pairwise(edges)], codes
    if listed is None:
        listed = tuple(labels.values_of("label"))
    if len(listed) > MOST_LABELS:
        counts: dict[Label, int] = {}
        for value in values:
            counts[value] = counts.get(value, 0) + 1
        kept = set(sorted(counts, key=lambda c: -counts[c])[: MOST_LABELS - 1])
        position = {c: i for i, c in enumerate(c for c in listed if c in kept)}
        names = [scale.word(c) for c in position] + ["other"]
        return names, np.array([position.get(v, len(position)) for v in values])
    position = {c: i for i, c in enumerate(listed)}
    return [scale.word(c) for c in listed], np.array([position[v] for v in values])
