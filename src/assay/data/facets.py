"""From the one table to one row a label with its level of each facet: for designs of any number of facets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, Repeats
from assay.data.clusters import digest_of_columns
from assay.data.frames import KEY
from assay.errors import DataError, DesignError, counted, listing
from assay.estimation.result import fingerprint_with
from assay.estimation.statistic import Floats, Ints


@dataclass(frozen=True, eq=False)
class Faceted:
    """Labels as numbers, each with its level of every facet.

    Attributes
    ----------
    value : (labels,) float
    codes : mapping of facet to (labels,) int
        The level, from 0 in the order of the column's values.
    n_items : int
    humans, judges : tuple of str
    fingerprint : str
        Of the labels and the columns.
    notes : tuple of str
    """

    value: Floats
    codes: Mapping[str, Ints]
    n_items: int
    humans: tuple[str, ...]
    judges: tuple[str, ...]
    fingerprint: str
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.value)

    def rows(self, keep: Ints) -> Faceted:
        """Some of the labels, or some several times."""
        return replace(self, value=self.value[keep], codes={f: c[keep] for f, c in self.codes.items()})


def faceted(
    labels: Annotations,
    columns: Mapping[str, str],
    *,
    annotators: Sequence[str] | None = None,
    repeats: Repeats = "error",
    reverse: Sequence[str] = (),
) -> Faceted:
    """The labels of a table with the level of each facet.

    Parameters
    ----------
    labels : Annotations
        Several criteria only where one of the columns is ``criterion``.
    columns : mapping of facet to column
        Of the answers, the items or the annotators.
    annotators, repeats
        Whose labels count, and what repeated answers stand for; where ``repeat`` is a facet, each counts.
    reverse : sequence of str
        Criteria whose labels are turned round on their scale: those that are worded negatively.

    Raises
    ------
    DataError
        For a column that is not there, or labels without a level.
    DesignError
        For labels that are no numbers, several criteria, or several answers to one cell that no facet tells apart.
    """
    if annotators is not None:
        labels = labels.where(annotator=list(annotators))
    named = {facet: labels.column_name(column) for facet, column in columns.items()}
    used = set(named.values())
    data = fingerprint_with(labels.fingerprint, **digest_of_columns(labels, *sorted(used)))
    repeated = labels.has_repeats and "repeat" not in used
    if "repeat" not in used:
        labels = labels.resolve_repeats(repeats)
    if len(labels.criteria) > 1 and "criterion" not in used:
        raise DesignError(
            f"the table has {len(labels.criteria)} criteria ({listing(labels.criteria, 4)}); "
            "choose one with labels.where(criterion=...)"
        )
    refuse_conditions(labels, used)
    order = [c for c in (*KEY, *labels.conditions) if c in labels.labels.columns]
    labels = replace(labels, labels=labels.labels.sort(order, maintain_order=True))
    return Faceted(
        numbers_of(labels, reverse),
        {facet: _codes(labels, facet, columns[facet], name) for facet, name in named.items()},
        labels.n_items,
        labels.humans,
        labels.judges,
        data,
        (f"repeated answers: {repeats}",) if repeated else (),
    )


def refuse_conditions(
    labels: Annotations, used: Collection[str], instead: str = "make it a facet of the design"
) -> None:
    """Refuse several answers of an annotator to an item that differ in a condition which is not among those used."""
    key = [c for c in ("item", "annotator", "criterion", "repeat") if c in labels.labels.columns]
    if not labels.conditions or not labels.labels.select(key).is_duplicated().any():
        return
    for name in labels.conditions:
        if name not in used and len(labels.values_of(name)) > 1:
            raise DesignError(
                f"annotators answered items under several values of '{name}' ({listing(labels.values_of(name), 4)}); "
                f"{instead}, or choose one with labels.where({name}=...)"
            )


def numbers_of(labels: Annotations, reverse: Sequence[str], *, ordered: bool = False) -> Floats:
    """Labels as numbers, each criterion on its scale, those in ``reverse`` turned round.

    With ``ordered``, labels may also be ordered words, which count 0, 1, 2 … from the lowest.

    Raises
    ------
    DesignError
        For labels that are no numbers, criteria that are not there, or a scale without ends that is turned round.
    """
    names = labels.criteria or (None,)
    for one in reverse:
        if one not in names:
            raise DesignError(f"reverse names '{one}', which is no criterion here; it has {listing(labels.criteria)}")
    found = np.empty(len(labels))
    for name in names:
        scale = labels.scale_of(name)
        if not scale.numeric and not (ordered and scale.ordered):
            wanted = "raters need labels that are ordered" if ordered else "variances need labels that are numbers"
            raise DesignError(f"{wanted}; these are on the scale '{scale.spec}'")
        mine = np.ones(len(labels), dtype=bool) if name is None else (labels.labels["criterion"] == name).to_numpy()
        value = np.asarray(scale.values(labels.labels["label"].filter(pl.Series(mine))), dtype=float)
        if name in reverse:
            if scale.bounds is None:
                raise DesignError(f"'{name}' cannot be reversed: its scale has no ends; give it one with scale=...")
            value = sum(scale.bounds) - value
        found[mine] = value
    return found


def _codes(labels: Annotations, facet: str, column: str, name: str) -> Ints:
    """The level of each label."""
    values = labels.column(name)
    if values.dtype.is_float():
        values = values.fill_nan(None)
    if values.null_count():
        items = labels.labels["item"].filter(values.is_null()).unique(maintain_order=True)
        raise DataError(
            f"{counted(values.null_count(), 'label')} have no '{column}', the facet {facet} (item '{items[0]}'"
            f"{' and others' if len(items) > 1 else ''}); fill it, or drop those labels"
        )
    if not (values.dtype.is_numeric() or values.dtype.is_temporal()):
        values = values.cast(pl.String)
    return values.rank("dense").to_numpy().astype(np.int64) - 1
