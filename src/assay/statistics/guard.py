"""What the verdict refuses, asked of any of the items: the same tests for commands that do not give a verdict.

A judge that ignores the items, keeps little of the annotators' agreement, or repeats one annotator can pass a test of
another quantity. `Guard` makes the three tests of the verdict and the test of a match with one annotator for a part of
the items, such as the ones that a judge would label alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from assay.data.annotations import Annotations, Repeats
from assay.data.names import common_suffix, stems
from assay.data.ratings import Ratings, cluster_codes
from assay.estimation.intervals import Pseudo, partial_conjunction
from assay.estimation.statistic import Bools, Floats, Ints
from assay.statistics.copies import Labels, MatchTests, find_match
from assay.statistics.item_agreement import ItemLevelAgreement, item_level_agreement
from assay.statistics.panels import Accuracy, AlignmentScore, NegRMSE, Panel, are_few
from assay.statistics.strata import Known, Stratification, all_strata, known_columns, numbers_of_ids, strata_of_order
from assay.statistics.wins import count_wins, exact_p, noninferior_p

Question = Literal["non-inferiority", "item-level agreement", "agreement ratio"]

FEWEST_COMPARED = 10
"""Comparable items that an annotator requires."""


@dataclass(frozen=True, eq=False)
class Guard:
    """The tests of the verdict for one judge, on any of the items.

    Attributes
    ----------
    panel : Panel
    judge : (items,) float
        NaN without a label.
    score : AlignmentScore
    names : tuple of str
        The annotators.
    labels : Annotations
        The table of the items.
    place : (items,) int
        The place of each item in the table.
    epsilon, min_agreement_ratio : float
    clusters : (items,) int or None
    """

    panel: Panel
    judge: Floats
    score: AlignmentScore
    names: tuple[str, ...]
    labels: Annotations
    place: Ints
    epsilon: float
    min_agreement_ratio: float
    clusters: Ints | None

    @classmethod
    def of(
        cls, labels: Annotations, judge: str, *, epsilon: float, min_agreement_ratio: float,
        annotators: Sequence[str] | None = None, clusters: str | None = None, repeats: Repeats = "error",
    ) -> Guard:  # fmt: skip
        """Return the tests of a judge of labels that are not texts."""
        people = tuple(annotators or labels.humans)
        ratings = Ratings.of(labels, (judge, *people), repeats=repeats)
        answers = ratings.answers
        n = len(answers.items)
        person = answers.annotator - 1
        rows = np.flatnonzero(person >= 0)
        panel = Panel(
            item=answers.item[rows], annotator=person[rows], value=answers.value[rows].astype(float), n_items=n,
            n_annotators=len(people), quality=np.ones(len(people)), labels=answers.categories,
        )  # fmt: skip
        mine = np.full(n, np.nan)
        own = np.flatnonzero(person < 0)
        mine[answers.item[own]] = answers.value[own]
        score: AlignmentScore = NegRMSE() if ratings.scale.numeric or ratings.scale.ordered else Accuracy()
        place = np.searchsorted(labels.items["item"].to_numpy(), np.asarray(list(answers.items)))
        cluster = None if clusters is None else cluster_codes(labels, clusters)[place]
        return cls(panel, mine, score, people, labels, place, epsilon, min_agreement_ratio, cluster)

    # Matches are found without strata, whose search is most of the time of a small table.

    @cached_property
    def known(self) -> Known:
        """What item columns tell."""
        used = np.zeros(self.labels.items.height, dtype=bool)
        used[self.place] = self.panel.people > 1
        return known_columns(self.labels, "auto", None, used).at(self.place)

    @cached_property
    def strata(self) -> tuple[Stratification, ...]:
        """The stratifications, found as by the verdict."""
        ids, used = self.labels.items["item"][self.place], self.panel.people > 1
        documents = stems(ids)
        suffix = common_suffix(ids, FEWEST_COMPARED) if documents is None else documents.suffix
        order = numbers_of_ids(ids) if documents is None and suffix is None else None
        columns = self.known.columns if order is None else (*self.known.columns, strata_of_order(order, used))
        return all_strata(columns, documents, suffix, "auto", used)

    @cached_property
    def match(self) -> MatchTests:
        """Whether the judge's labels repeat those of one annotator, on all items."""
        unit = np.arange(self.panel.n_items) if self.clusters is None else self.clusters
        labels = Labels(self.panel.item, self.panel.annotator, self.panel.value, unit, len(self.names))
        return find_match(labels, self.judge, isinstance(self.score, NegRMSE))

    @property
    def matched(self) -> str | None:
        """The annotator whose labels the judge matches unusually often."""
        return None if self.match.repeated is None else self.names[self.match.repeated]

    def p_values(self, keep: Bools) -> dict[Question, float]:
        """Return the p-values of the three tests on some items: (items,)."""
        judge = np.where(keep & (self.panel.people > 1), self.judge, np.nan)
        agreement = self.item_agreement(judge)
        return {
            "non-inferiority": self._p_noninferior(judge),
            "item-level agreement": agreement.p_item_level,
            "agreement ratio": agreement.p_ratio_above,
        }

    def item_agreement(self, judge: Floats) -> ItemLevelAgreement:
        """Return item-level agreement and agreement ratio of labels, (items,), NaN where they do not count."""
        return item_level_agreement(
            self.score, self.panel, judge, self.strata, self.clusters, self.min_agreement_ratio, 0, self.known.design
        )

    def _p_noninferior(self, judge: Floats) -> float:
        difference, panel = self.score.difference(self.panel, judge), self.panel
        row = np.flatnonzero(~np.isnan(difference) & (panel.companions > 0))
        m, sign = len(self.names), np.sign(difference[row]).astype(np.int64)
        counts = count_wins(sign, panel.annotator[row], m)[:, 0]
        n = counts.sum(axis=1)
        tested = np.flatnonzero(n >= FEWEST_COMPARED)
        if not len(tested) or are_few(n, n >= FEWEST_COMPARED):
            return 1.0  # as in the verdict
        outcome = np.full((panel.n_items, m), np.nan)
        outcome[panel.item[row], panel.annotator[row]] = sign
        least = -(-len(tested) // 2)
        if self.clusters is None:
            return noninferior_p(exact_p(counts[tested], self.epsilon)[0], least, outcome[:, tested], self.epsilon)
        each = []
        for j in tested:
            there = np.flatnonzero(~np.isnan(outcome[:, j]))
            code = np.unique(self.clusters[there], return_inverse=True)[1].reshape(-1)
            sums = np.asarray(np.bincount(code, outcome[there, j] + self.epsilon), dtype=float)
            each.append(Pseudo(sums[:, None]).p_above(np.ones(1)) if len(sums) >= FEWEST_COMPARED else 1.0)
        return float(partial_conjunction(np.array(each), least))
