"""Differential severity: differences of φ and ψ between groups of subjects (eq. 7, H.2).

Ideal ratings have separate shares in every group, so that a real difference between groups is not a bias of a rater.
Each rater's remaining difference is compared with the mean of all raters (or of humans, or of judges), because a bias
that all share is confounded with a real difference. Raters with a significant difference are removed from that mean one
by one: otherwise their bias would appear as the opposite bias of the others (as in the purification of anchor items).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from assay.errors import DesignError, counted, cut_text, listing
from assay.estimation.intervals import Estimate, Estimates, simultaneous_p
from assay.estimation.statistic import Bools, Floats
from assay.psychometrics import words
from assay.psychometrics.raters.density import LEAST_COMPARED
from assay.psychometrics.raters.fit import RaterFit
from assay.psychometrics.raters.table import RaterTable

LEAST_SUBJECTS = 30
"""Recommended subjects per group: with 30, the standard error of its mean trait is about a fifth of a standard
deviation."""

MOST_GROUPS = 20
"""Groups that are compared, at most: each has its own steps of every criterion, and a fit takes minutes with more."""

LEAST_LABELS = 20
"""Recommended labels per rater and group: at ψ = .5 the difference of two means of 20 has a standard error of .16."""


@dataclass(frozen=True, eq=False)
class Fairness:
    """Differences of raters between groups of subjects.

    Attributes
    ----------
    group : str
        The column.
    groups : tuple of str
        The first is the baseline.
    rows : polars.DataFrame
        One row per rater and further group: ``annotator``, ``kind``, ``group``, ``baseline``; ``estimate``, ``low``,
        ``high`` of Δφ in the unit of φ, minus the mean of the reference raters without a significant difference, below
        0 if the rater is more severe with ``group``; ``p_adjusted`` over all rows; ``probability`` that Δφ has the sign
        of the estimate, ``within_rope`` that it is within the rope; ``ratio`` of ψ with its interval; ``labels``,
        ``labels_baseline``; ``verdict`` (a `FairnessVerdict` code); ``reason`` if not estimable.
    families : polars.DataFrame
        With humans and judges: the judges' mean Δφ minus the humans', one row per group.
    gaps, ratios : Estimates
        Δφ and the ratio of ψ of each row, in order, with methods ``.interval(level)`` and ``.p(null)``.
    notes, cautions : tuple of str
    """

    group: str
    groups: tuple[str, ...]
    rows: pl.DataFrame
    families: pl.DataFrame
    gaps: Estimates
    ratios: Estimates
    notes: tuple[str, ...]
    cautions: tuple[str, ...]

    def sentences(self, rope: float, unit: str = "categories", doubtful: Collection[str] = ()) -> Iterator[str]:
        """Raters with a significant difference between groups, without ``doubtful``, and the numbers of the others."""
        rows = self.rows.filter(~pl.col("annotator").is_in(list(doubtful)))
        yield from words.fairness_lines(
            rows, self.families.clear() if doubtful else self.families, self.groups, rope, unit
        )


def refuse_groups(table: RaterTable, column: str) -> None:
    """Refuse groups of a column that are too many or too small to compare, before a fit, which takes long with many.

    Raises
    ------
    DesignError
        If there are more than `MOST_GROUPS`, or only one with enough subjects.
    """
    if len(table.groups) > MOST_GROUPS:
        some = listing(table.groups, 4, cut=True)
        raise DesignError(
            f"'{column}' has {len(table.groups)} groups ({some}); at most {MOST_GROUPS} are "
            "compared. Add a column with fewer groups, such as ranges of numbers, and name it with group=...",
            option="group",
        )
    small = table.group_sizes < LEAST_COMPARED
    if small[0] or small[1:].all():
        each = [f"{cut_text(name)} has {n}" for name, n in zip(table.groups, table.group_sizes, strict=True)]
        raise DesignError(
            f"groups of '{column}' are too small to compare: {listing(each)}; each needs at least "
            f"{LEAST_COMPARED} subjects"
        )


def fairness(found: RaterFit) -> Fairness:
    """Differences of each rater between each further group and the first, which `refuse_groups` accepts.

    Raises
    ------
    DesignError
        If no two raters labelled the same two groups, or no rater of the reference did.
    """
    table, settings = found.table, found.settings
    assert settings.group is not None
    compared = found.density.layout.compared[1:]
    small = table.group_sizes < LEAST_COMPARED
    if not compared.any():
        raise DesignError(
            f"no two raters labelled subjects of the same two groups of '{settings.group}', so that a "
            "rater's difference between groups is confounded with a real one"
        )
    reference = _reference(found)
    anchors, gaps, p = _choose_anchors(found, reference, 1 - settings.confidence)
    ratios = found.variability_ratios
    rows = []
    for i, (gap, ratio) in enumerate(zip(gaps, ratios, strict=True)):
        g, r = divmod(i, len(table.raters))
        draws = gaps.replicates[:, i]
        known = bool(compared[g, r])
        share = float(np.mean(draws * np.sign(gap.estimate) > 0)) if known else None
        rope = float(np.mean(np.abs(draws) <= found.rope)) if known else None
        reason = None if known else f"no labels in both {table.groups[0]} and {table.groups[g + 1]}"
        if small[g + 1]:
            size = counted(int(table.group_sizes[g + 1]), "subject")
            reason = f"{table.groups[g + 1]} has {size}; at least {LEAST_COMPARED} are needed"
        verdict = None
        if rope is not None:
            verdict = verdict_of(gap.estimate, float(p[i]), rope, 1 - settings.confidence, settings.confidence)
        rows.append(
            {"annotator": table.raters[r], "kind": table.kinds[r],
             "group": table.groups[g + 1], "baseline": table.groups[0], **gap.row(),
             "p_adjusted": float(p[i]) if known else None, "probability": share, "within_rope": rope,
             "ratio": ratio.estimate, "ratio_low": ratio.low, "ratio_high": ratio.high,
             "labels": int(table.counts[g + 1, r]), "labels_baseline": int(table.counts[0, r]), "verdict": verdict,
             "reason": reason or gap.reason}
        )  # fmt: skip
    types = {"verdict": pl.String, "reason": pl.String, "p_adjusted": pl.Float64, "probability": pl.Float64,
             "within_rope": pl.Float64}  # fmt: skip
    return Fairness(
        settings.group, table.groups, pl.DataFrame(rows, schema_overrides=types), _families(found, gaps), gaps, ratios,
        tuple(_notes(found, reference, anchors)), tuple(_cautions(found)),
    )  # fmt: skip


def verdict_of(value: float, p: float, within: float, alpha: float, enough: float) -> words.FairnessVerdict:
    """Return the verdict on a difference: whether it is significant, and whether it is as good as none.

    Parameters
    ----------
    value, p : float
        The difference of φ, below 0 if the rater is more severe, and its adjusted p-value.
    within : float
        Share of the draws within the rope; from ``enough`` on the difference is negligible.
    """
    if within >= enough:
        return "equivalent" if p > alpha else "negligible"
    if p > alpha:
        return "undecided"
    return "more_severe" if value < 0 else "more_lenient"


def _choose_anchors(found: RaterFit, reference: Bools, alpha: float) -> tuple[Bools, Estimates, Floats]:
    """Anchor raters, differences from their mean, and p-values over all raters and groups.

    The rater with the most significant difference is removed, and so on, while more than half of the reference remain.
    If no rater differs significantly none is removed, so that the rate of false alarms is that of one test.
    """
    anchors = reference.copy()
    while True:
        gaps = found.severity_gaps(anchors)
        p = simultaneous_p(gaps.value, gaps.replicates)
        enough = 2 * (anchors.sum(axis=1, keepdims=True) - 1) > reference.sum(axis=1, keepdims=True)
        significant = anchors & enough & (p.reshape(anchors.shape) <= alpha)
        if not significant.any():
            return anchors, gaps, p
        certain = np.abs(gaps.value / gaps.standard_error).reshape(anchors.shape)
        anchors[np.unravel_index(np.argmax(np.where(significant, certain, -1)), anchors.shape)] = False


def _notes(found: RaterFit, reference: Bools, anchors: Bools) -> Iterator[str]:
    table = found.table
    for g, group in enumerate(table.groups[1:]):
        out = [table.raters[r] for r in np.flatnonzero(reference[g] & ~anchors[g])]
        if out:
            yield (
                f"Δφ with {group} is relative to the mean of {anchors[g].sum()} raters, without {listing(out)}, whose "
                "differences are significant"
            )


def _reference(found: RaterFit) -> Bools:
    """Raters whose mean is the reference for bias: (groups − 1, raters) bool."""
    table, which = found.table, found.settings.reference
    mine = {"all": np.ones(len(table.raters), bool), "humans": table.is_judge == 0, "judges": table.is_judge == 1}
    compared = found.density.layout.compared[1:].astype(bool)
    among = compared & mine[which]
    if (compared.any(axis=1) & ~among.any(axis=1)).any():
        raise DesignError(
            f"reference='{which}' needs {which} with labels in every group; use another reference, such as 'all'"
        )
    return np.asarray(among)


def _families(found: RaterFit, gaps: Estimates) -> pl.DataFrame:
    """Mean difference of judges minus humans."""
    table, compared = found.table, found.density.layout.compared[1:]
    rows = []
    for g, group in enumerate(table.groups[1:]):
        weights = np.zeros(compared.shape)
        sides = [np.flatnonzero(compared[g] & (table.is_judge == kind)) for kind in (1, 0)]
        if not all(map(len, sides)):
            continue
        weights[g, sides[0]], weights[g, sides[1]] = 1 / len(sides[0]), -1 / len(sides[1])
        one: Estimate = gaps.contrast(weights.ravel())[0]
        rows.append({"group": group, **one.row()})
    types = {"group": pl.String, "estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema=types)


def _cautions(found: RaterFit) -> Iterator[str]:
    table = found.table
    few = [f"{name} has {n}" for name, n in zip(table.groups, table.group_sizes, strict=True) if n < LEAST_SUBJECTS]
    if few:
        yield (
            f"small groups: {', '.join(few)} subjects; at least {LEAST_SUBJECTS} are recommended. Results for these "
            "groups are unreliable."
        )
    seen = table.counts
    thin = [r for i, r in enumerate(table.raters) if 0 < seen[:, i].min() < LEAST_LABELS]
    if thin and not few:
        yield (
            f"{counted(len(thin), 'rater')} ({', '.join(thin[:6])}{' …' if len(thin) > 6 else ''}) gave fewer than "
            f"{LEAST_LABELS} labels in a group; their differences are imprecise."
        )
