"""Does a change of style alone change a measure? Pairs of texts before and after a rewrite (Nam et al. 2025, table 5).

    change in percent = 100 · (similarity after − similarity before) / similarity before

of the mean similarities of all pairs. A measure of ideas should not move: the ideas are the same. Jackknife intervals
contain the true change in 92% of studies of 4 pairs and in 94% of 20; percentile intervals in 78% and 91%.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from assay.data.columns import to_polars
from assay.errors import DataError, DesignError, listing
from assay.estimation.intervals import Estimate
from assay.estimation.options import question
from assay.estimation.resampling import estimate_sums
from assay.estimation.result import ResultOfRows, Run
from assay.estimation.statistic import Floats
from assay.ideas import words
from assay.ideas.choices import StyleSettings
from assay.ideas.measures import name_measures, signed_measures
from assay.reporting import pictures
from assay.similarity.protocol import Similarity
from assay.similarity.registry import as_similarity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = ("first", "second", "first_after", "second_after")


@dataclass(frozen=True, eq=False)
class StyleEffect(ResultOfRows):
    """Change of each measure if style changes and ideas do not.

    Attributes
    ----------
    rows : polars.DataFrame
        One row a measure, the steadiest first: ``measure``, ``estimate`` (change of mean similarity, percent), ``low``,
        ``high``, ``before``, ``after`` (mean similarities), ``n`` (pairs), ``reason``.
    run : Run
    """

    symbol: ClassVar[str] = "change in percent"
    counted: ClassVar[str] = "pairs"

    rows: pl.DataFrame = field(metadata={"json": False})
    run: Run
    estimates: tuple[Estimate, ...] = field(repr=False, metadata={"json": False})

    def summary(self) -> str:
        """One sentence for each measure."""
        lines = words.style_lines(self.rows)
        return "\n".join([*lines, *self.run.closing(intervals=True)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Forest plot, with a line where nothing changes."""
        ax = super().plot(ax)
        ax.axvline(0, color=pictures.MUTED, linewidth=1, linestyle="--")
        ax.set_xlabel("change of similarity with the style, in percent")
        return ax


@dataclass(frozen=True)
class _PercentChange:
    """Relative change of a mean, from the sums before and after."""

    def value(self, sums: Floats) -> Floats:
        """Percent; NaN if the similarity before is 0."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found = 100 * (sums[..., 1] - sums[..., 0]) / np.abs(sums[..., 0])
        return np.where(np.abs(sums[..., 0]) > 1e-12, found, np.nan)[..., None]


@question(StyleSettings)
def style_effect(pairs: Any, settings: StyleSettings) -> StyleEffect:
    """Which measures move when only the style of texts changes?

    Parameters
    ----------
    pairs : frame
        One row per pair: ``first``, ``second`` (original texts) and ``first_after``, ``second_after`` (rewritten with
        the same ideas). Columns ``NAME_before`` and ``NAME_after`` with a judge's numbers make NAME a measure.

    Returns
    -------
    StyleEffect

    Raises
    ------
    DataError
        For a frame without the four columns, or a row without a text.
    DesignError
        Without a measure.

    Examples
    --------
    >>> import assay, polars as pl
    >>> rows = [("he runs", "he walks", "the boy runs", "the boy walks"), ("it eats", "he naps", "it eats", "he naps")]
    >>> frame = pl.DataFrame(rows, schema=["first", "second", "first_after", "second_after"], orient="row")
    >>> assay.style_effect(frame, ["words"]).table.select("measure", pl.col("estimate").round(1)).rows()
    [('words', 33.3)]

    A longer name for the boy makes shared words a third more similar, without additional shared ideas.
    """
    named = name_measures(settings.measures)
    settings = replace(settings, measures=signed_measures(named))
    table = _check_pairs(to_polars(pairs), bool(named))
    found = {name: _similarities(as_similarity(one), table) for name, one in named.items()}
    for name, values in _read_similarities(table).items():
        if name in found:
            raise DesignError(f"two measures are called '{name}'; rename one")
        found[name] = values
    if not found:
        raise DesignError("there is no measure; name some, such as measures=['words']")
    rows, estimates, words = [], {}, ""
    for name, values in found.items():
        one = estimate_sums(_PercentChange(), values, settings, n_items=len(values), unit="pairs")
        words = one.describe_interval() if len(values) > 1 else ""
        why = "the mean similarity before is 0" if not np.isfinite(one.value[0]) else one.reasons[0]
        before, after = values.mean(axis=0)
        estimates[name] = one[0]
        rows.append(
            {"measure": name, **one[0].row(), "before": before, "after": after, "n": len(values), "reason": why}
        )
    frame = pl.DataFrame(rows, schema_overrides={"reason": pl.String}, infer_schema_length=None)
    order = frame["estimate"].abs().fill_nan(np.inf)
    frame = frame.with_columns(_order=order).sort("_order", "measure").drop("_order")
    facts = {"pairs": table.height, "measures": len(found)}
    in_order = tuple(estimates[name] for name in frame["measure"])
    return StyleEffect(frame, Run("style-effect", settings, _digest(table), facts, words), in_order)


def _check_pairs(table: pl.DataFrame, reads_texts: bool) -> pl.DataFrame:
    absent = [c for c in COLUMNS if c not in table.columns]
    if reads_texts and absent:
        raise DataError(f"the pairs need columns {listing(COLUMNS)}; there is no '{absent[0]}'")
    for column in [] if absent else COLUMNS:
        empty = table.with_row_index("_row", 1).filter(pl.col(column).is_null())
        if empty.height:
            raise DataError(f"row {empty['_row'][0]} of the pairs has nothing in '{column}'")
    if not table.height:
        raise DataError("there are no pairs")
    return table


def _similarities(similarity: Similarity, table: pl.DataFrame) -> Floats:
    """The similarity of each pair, before and after: (pairs, 2)."""
    texts = [table[c].cast(pl.String).to_list() for c in COLUMNS]
    fitted = similarity.fitted([text for column in texts for text in column])
    return np.stack([fitted.pairs(texts[0], texts[1]), fitted.pairs(texts[2], texts[3])], axis=1)


def _read_similarities(table: pl.DataFrame) -> Mapping[str, Floats]:
    """Given numbers: ``NAME_before`` and ``NAME_after``."""
    names = [c.removesuffix("_before") for c in table.columns if c.endswith("_before")]
    found = {}
    for name in names:
        both = [f"{name}_before", f"{name}_after"]
        if both[1] not in table.columns:
            raise DataError(f"the pairs have '{both[0]}' and no '{both[1]}'")
        values = table.select(pl.col(both).cast(pl.Float64)).drop_nulls().to_numpy()
        if len(values):
            found[name] = values
    return found


def _digest(table: pl.DataFrame) -> str:
    rows = sorted("\x1f".join(map(str, row)) for row in table.select(sorted(table.columns)).iter_rows())
    return hashlib.blake2b("\x1e".join(rows).encode(), digest_size=6).hexdigest()
