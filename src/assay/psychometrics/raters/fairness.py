"""Is anybody severer with one group of subjects than others are? Differences of φ and ψ by group (eq. 7, H.2).

Ideal ratings have shares of their own in every group, so a real gap between groups is no bias of anybody; what is left
of a rater's difference is compared with the mean of all raters (or of people, or of judges), because a bias that all
share cannot be told from a real gap. Who is shown to differ leaves that mean, one after the other: otherwise a rater's
bias would make all others look biased the other way (anchors are purified so for items that function differently).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from assay.errors import DesignError, counted, listing
from assay.estimation.intervals import Estimate, Estimates, simultaneous_p
from assay.estimation.statistic import Bools, Floats
from assay.psychometrics.raters.density import LEAST_COMPARED
from assay.psychometrics.raters.fit import RaterFit
from assay.reporting.tables import interval, p_value, signed

LEAST_SUBJECTS = 30
"""Subjects that a group should have: with 30, its mean trait is known to about a fifth of a standard deviation."""

LEAST_LABELS = 20
"""Labels that a rater should have in a group: at ψ = .5 the difference of two means of 20 alone has an error of .16."""


@dataclass(frozen=True, eq=False)
class Fairness:
    """Differences between groups of subjects.

    Attributes
    ----------
    group : str
        The column.
    groups : tuple of str
        The first is the one that others are compared with.
    rows : polars.DataFrame
        One row a rater and further group: ``annotator``, ``kind``, ``group``, ``against``; ``estimate``, ``low``,
        ``high`` of Δφ in categories, less the mean of the reference raters who are not shown to differ, below 0 where
        the rater is severer with ``group``; ``p_adjusted`` over all rows; ``probability`` that Δφ has the sign of the
        estimate, ``within_rope`` that it is too small to matter; ``ratio`` of ψ with its ends; ``labels``,
        ``labels_against``; ``verdict``; ``reason`` where nothing can be said.
    families : polars.DataFrame
        Where there are people and judges: the judges' mean Δφ less the people's, a row a group.
    gaps, ratios : Estimates
        Δφ and the ratio of ψ of each row, in its order; each answers ``.interval(level)`` and ``.p(null)``.
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

    def sentences(self, rope: float) -> Iterator[str]:
        """Who is unfair to whom, and who is not shown to be."""
        for group in self.groups[1:]:
            rows = self.rows.filter(pl.col("group") == group)
            shown = rows.filter(pl.col("verdict").is_in(["severer", "more lenient"]))
            for row in shown.sort("p_adjusted", "annotator").iter_rows(named=True):
                yield (
                    f"{row['annotator']} is {row['verdict']} with {group} than with {self.groups[0]}, compared with "
                    f"the other raters: {signed(row['estimate'])} categories {interval(row['low'], row['high'])}, "
                    f"{p_value(row['p_adjusted'])} corrected for {counted(self.rows.height, 'comparison')}."
                )
            n = dict(rows["verdict"].value_counts().iter_rows())
            ends = (
                ("the same in practice", f"within {rope:g} categories of 0, whatever the sign"),
                ("shown, too small to matter", "shown to differ, by less than matters"),
                ("not shown", "neither shown to differ nor to be the same"),
                (None, "without labels in both groups, or groups too small"),
            )
            others = "; ".join(f"{counted(n[verdict], 'rater')} {words}" for verdict, words in ends if verdict in n)
            yield f"{group} against {self.groups[0]}: {shown.height} of {rows.height} raters differ" + (
                f"; {others}." if others else "."
            )
        for row in self.families.iter_rows(named=True):
            yield (
                f"Judges less people, {row['group']} against {self.groups[0]}: {signed(row['estimate'])} categories "
                f"{interval(row['low'], row['high'])}."
            )


def fairness(found: RaterFit) -> Fairness:
    """Differences of each rater between each further group and the first.

    Raises
    ------
    DesignError
        Where no two raters saw two groups, or no rater of the reference did.
    """
    table, settings = found.table, found.settings
    assert settings.group is not None
    compared = found.density.layout.compared[1:]
    small = table.group_sizes < LEAST_COMPARED
    if small[0] or small[1:].all():
        each = [f"{name} has {n}" for name, n in zip(table.groups, table.group_sizes, strict=True)]
        raise DesignError(
            f"groups of '{settings.group}' are too small to be compared: {', '.join(each)} of the {LEAST_COMPARED} "
            "subjects that each needs, because what a rater thinks of one subject is not of its group"
        )
    if not compared.any():
        raise DesignError(
            f"no two raters labelled subjects of the same two groups of '{settings.group}', so a rater's difference "
            "between groups is confounded with a real one"
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
        rope = float(np.mean(np.abs(draws) <= settings.rope)) if known else None
        reason = None if known else f"no labels in both {table.groups[0]} and {table.groups[g + 1]}"
        if small[g + 1]:
            reason = (
                f"{table.groups[g + 1]} has {counted(int(table.group_sizes[g + 1]), 'subject')} of {LEAST_COMPARED}"
            )
        verdict = None
        if rope is not None:
            verdict = _verdict(gap.estimate, float(p[i]), rope, 1 - settings.confidence, settings.confidence)
        rows.append(
            {"annotator": table.raters[r], "kind": table.kinds[r],
             "group": table.groups[g + 1], "against": table.groups[0], **gap.row(),
             "p_adjusted": float(p[i]) if known else None, "probability": share, "within_rope": rope,
             "ratio": ratio.estimate, "ratio_low": ratio.low, "ratio_high": ratio.high,
             "labels": int(table.counts[g + 1, r]), "labels_against": int(table.counts[0, r]), "verdict": verdict,
             "reason": reason or gap.reason}
        )  # fmt: skip
    types = {"verdict": pl.String, "reason": pl.String, "p_adjusted": pl.Float64, "probability": pl.Float64,
             "within_rope": pl.Float64}  # fmt: skip
    return Fairness(
        settings.group, table.groups, pl.DataFrame(rows, schema_overrides=types), _families(found, gaps), gaps, ratios,
        tuple(_notes(found, reference, anchors)), tuple(_cautions(found)),
    )  # fmt: skip


def _verdict(value: float, p: float, within: float, alpha: float, enough: float) -> str:
    if within >= enough:
        return "the same in practice" if p > alpha else "shown, too small to matter"
    if p > alpha:
        return "not shown"
    return "severer" if value < 0 else "more lenient"


def _choose_anchors(found: RaterFit, reference: Bools, alpha: float) -> tuple[Bools, Estimates, Floats]:
    """Raters who are compared with, differences from their mean, p-values over all raters and groups.

    The most certain of those who are shown to differ is taken out, and so on, while more than half of the reference
    are left. Nobody is taken out where nobody is shown to differ, so the rate of false alarms is that of one test.
    """
    anchors = reference.copy()
    while True:
        gaps = found.severity_gaps(anchors)
        p = simultaneous_p(gaps.value, gaps.replicates)
        enough = 2 * (anchors.sum(axis=1, keepdims=True) - 1) > reference.sum(axis=1, keepdims=True)
        shown = anchors & enough & (p.reshape(anchors.shape) <= alpha)
        if not shown.any():
            return anchors, gaps, p
        certain = np.abs(gaps.value / gaps.standard_error).reshape(anchors.shape)
        anchors[np.unravel_index(np.argmax(np.where(shown, certain, -1)), anchors.shape)] = False


def _notes(found: RaterFit, reference: Bools, anchors: Bools) -> Iterator[str]:
    table = found.table
    for g, group in enumerate(table.groups[1:]):
        out = [table.raters[r] for r in np.flatnonzero(reference[g] & ~anchors[g])]
        if out:
            yield (
                f"Δφ with {group} is taken from the mean of {anchors[g].sum()} raters, without {listing(out)}, so that "
                "no bias of theirs makes others look biased the other way"
            )


def _reference(found: RaterFit) -> Bools:
    """Raters whose mean counts as no bias: (groups − 1, raters) bool."""
    table, which = found.table, found.settings.reference
    mine = {"all": np.ones(len(table.raters), bool), "humans": table.is_judge == 0, "judges": table.is_judge == 1}
    compared = found.density.layout.compared[1:].astype(bool)
    among = compared & mine[which]
    if (compared.any(axis=1) & ~among.any(axis=1)).any():
        raise DesignError(
            f"reference='{which}' needs {which} with labels in every group; take another reference, such as 'all'"
        )
    return np.asarray(among)


def _families(found: RaterFit, gaps: Estimates) -> pl.DataFrame:
    """Judges' mean difference less people's."""
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
            f"small groups: {', '.join(few)} subjects of the {LEAST_SUBJECTS} that a comparison of groups should have; "
            "take no difference, and no absence of one, for shown."
        )
    seen = table.counts
    thin = [r for i, r in enumerate(table.raters) if 0 < seen[:, i].min() < LEAST_LABELS]
    if thin and not few:
        yield (
            f"{counted(len(thin), 'rater')} ({', '.join(thin[:6])}{' …' if len(thin) > 6 else ''}) gave fewer than "
            f"{LEAST_LABELS} labels in a group; their differences are known badly."
        )
