"""Win counts of judges against each annotator, piece by piece, and what the test makes of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from assay.data.annotations import Answers
from assay.data.ratings import LABELS
from assay.errors import DesignError, listing
from assay.estimation.intervals import Estimates
from assay.estimation.resampling import Units, estimate_sums
from assay.estimation.result import Exclusion
from assay.estimation.statistic import Floats, Ints
from assay.replacement import decision
from assay.replacement.alignment import Panel
from assay.replacement.panel import AltTestTable, Comparisons, Rule, labels_of
from assay.replacement.trivial import Trivial, count_against, signs
from assay.statistics.wins import AdvantageProbability

Shapes = tuple[tuple[int, ...], ...]

OPTIMAL = -1
"""The code of the optimal judge of theorem 1, who is in no table."""

FACTS = ("few", "missing", "unasked", "items", "labels")
"""What is counted besides wins: items without enough people, without the judge, without people; what was compared."""


@dataclass(frozen=True, eq=False)
class Tally:
    """One judge against the annotators of a table, summed over items.

    Attributes
    ----------
    table : AltTestTable
    name : str
    code : int
        The judge's position among the annotators, or `OPTIMAL`.
    by_unit : (units, humans, classes, 3) float
        Wins, ties and losses by unit that is resampled; one unit where no interval is wanted.
    facts : (5,) int
        See `FACTS`.
    while_reading : (constants, classes, 3) float or None
        `over_constants`, where labels are looked at slice by slice.
    """

    table: AltTestTable
    name: str
    code: int
    by_unit: Floats
    facts: Ints
    while_reading: Floats | None

    @cached_property
    def all_counts(self) -> Floats:
        """Wins, ties and losses over each annotator: (humans, classes, 3)."""
        return np.asarray(self.by_unit.sum(axis=0))

    @cached_property
    def n(self) -> Ints:
        """Comparable items of each annotator: (humans,)."""
        return np.asarray(np.rint(self.all_counts.sum(axis=(1, 2))), dtype=np.int64)

    @cached_property
    def tested(self) -> Ints:
        """The annotators that have enough items: (m,)."""
        return np.flatnonzero(self.n >= max(self.table.settings.min_items, 2))

    @cached_property
    def counts(self) -> Floats:
        """Wins, ties and losses over those who are tested: (m, classes, 3)."""
        return self.all_counts if len(self.tested) == len(self.n) else self.all_counts[self.tested]

    @cached_property
    def units(self) -> Floats:
        """Win counts of each unit that is resampled: (units, m · classes · 3)."""
        kept = self.by_unit if len(self.tested) == len(self.n) else self.by_unit[:, self.tested]
        return kept.reshape(len(kept), -1)

    @cached_property
    def n_labels(self) -> int:
        """Human labels that are compared, of those who are tested."""
        return int(self.n[self.tested].sum())

    @cached_property
    def n_items(self) -> int:
        """Items on which somebody who is tested is compared."""
        if len(self.tested) == np.count_nonzero(self.n):
            return int(self.facts[FACTS.index("items")])
        if not len(self.tested):
            return 0
        compared = self.compared
        mine = np.isin(compared.panel.annotator[compared.row], self.tested)
        return int(np.count_nonzero(np.bincount(compared.panel.item[compared.row[mine]])))

    @cached_property
    def judge(self) -> Floats:
        """The judge's label of each item, in memory: (items,)."""
        if self.code == OPTIMAL:
            return _optimal(self.table.rule, self.table.panel)
        return labels_of(self.table.ratings.answers, self.code)

    @cached_property
    def compared(self) -> Comparisons:
        """Every comparison, in memory: for curves, clusters and paired annotators."""
        return self.table.rule.compare(self.table.panel, self.judge)

    @cached_property
    def clustering(self) -> decision.Clustering | None:
        """What shared clusters take from the tests; None where items are independent."""
        clusters = self.table.ratings.clusters
        if clusters is None:
            return None
        compared = self.compared
        position = np.full(len(self.table.humans), -1)
        position[self.tested] = np.arange(len(self.tested))
        used = compared.where(position[compared.panel.annotator[compared.row]] >= 0)
        annotator = position[used.panel.annotator[used.row]]
        return decision.clustered(
            self.counts, annotator, clusters[used.panel.item[used.row]], used.sign, used.shares
        )  # fmt: skip

    @cached_property
    def decided(self) -> decision.Decision:
        """The tests of all annotators together."""
        s = self.table.settings
        return decision.decide(self.counts, s.tolerance, s.fdr, s.test, self.clustering)

    @cached_property
    def verdict_p(self) -> tuple[Floats, Floats]:
        """The p-values of the verdict, each way: exact, or robust where clusters or classes ask for it: (m,) each."""
        s = self.table.settings
        return decision.best_p(self.counts, s.tolerance, self.clustering)

    @cached_property
    def over_constants(self) -> Floats:
        """Items on which the judge is closer to the people than each trivial judge, as close, farther:
        (constants, classes, 3)."""
        if self.while_reading is not None:
            return self.while_reading
        return _over_constants(self.table.rule, self.table.panel, self.judge)

    @cached_property
    def trivial(self) -> Trivial:
        """The judge against every constant answer."""
        counts = self.over_constants
        p, _ = decision.best_p(counts, 0.0, self.constants_clustering)
        rule = self.table.rule
        named = (*rule.named(rule.constants), *rule.score.drawn)
        return Trivial(named, counts.sum(axis=1), np.where(np.isnan(p), 1.0, p), len(rule.score.drawn))

    @cached_property
    def constants_clustering(self) -> decision.Clustering | None:
        """What shared clusters take from the comparison with constants."""
        clusters, rule = self.table.ratings.clusters, self.table.rule
        if clusters is None:
            return None
        panel = self.table.panel
        shares = rule.item_shares(panel)
        parts = list(signs(rule.score, panel, rule.asked(panel, self.judge), rule.constants))
        item = np.concatenate([i for i, _ in parts])
        which = np.repeat(np.arange(len(parts)), [len(i) for i, _ in parts])
        sign = np.concatenate([s for _, s in parts])
        return decision.clustered(
            self.over_constants, which, clusters[item], sign, None if shares is None else shares[item]
        )  # fmt: skip

    @property
    def quality(self) -> Floats:
        """Weight of each annotator that is tested: (m,)."""
        return self.table.rule.quality[self.tested]

    def estimate(self) -> Estimates | None:
        """rho and every rho_f with their intervals; None where nobody can be tested."""
        if not len(self.tested):
            return None
        statistic = AdvantageProbability(len(self.tested))
        return estimate_sums(
            statistic, self.units, self.table.settings, unit=self.table.units.name, transform=statistic.transforms
        )  # fmt: skip

    def exclusions(self) -> tuple[Exclusion, ...]:
        """Items and annotators that are not in the test, counted, with the reason."""
        s = self.table.settings
        few = "a label of one person only" if s.min_humans == 2 else f"fewer than {s.min_humans} human labels"
        reasons = ("no reference label" if s.fixed_reference else few, "no label of the judge", "no human label")
        found = [Exclusion("item", int(k), why) for k, why in zip(self.facts.tolist(), reasons, strict=False) if k]
        if len(self.tested) < len(self.n):
            left = np.setdiff1d(np.arange(len(self.n)), self.tested)
            names = tuple(f"{self.table.humans[j]} with {self.n[j]}" for j in left)
            found.append(Exclusion("annotator", len(left), f"fewer than {s.min_items} comparable items", names))
        return tuple(found)


def tally(table: AltTestTable, judges: Sequence[tuple[str, int]]) -> list[Tally]:
    """The win counts of judges, by name and code, in one pass over the labels."""
    codes = tuple(code for _, code in judges)
    m, c = len(table.humans), table.n_classes
    units = Units(np.zeros(table.ratings.n_items, dtype=np.int64), 1, "items")
    if table.settings.method != "none":
        units = table.units
    # The optimal judge draws tied majorities for all items at once; what a panel knows of itself is kept for others.
    whole = table.whole or OPTIMAL in codes or (not table.ratings.in_chunks and table.ratings.n_labels <= LABELS)
    k = 0 if whole else len(table.rule.constants) + len(table.rule.score.drawn)
    shapes = (len(codes), units.n, m, c, 3), (len(codes), k, c, 3), (len(codes), len(FACTS))
    reduce = partial(_tally, table.rule, codes, table.panel if whole else None, shapes)
    found = (
        reduce(table.ratings.answers, units.of_item) if whole else table.ratings.add_up(reduce, units, 1)
    )  # fmt: skip
    wins, over, facts = _parts(found, shapes)
    counted = np.rint(facts).astype(np.int64)
    found_all = [
        Tally(table, name, code, wins[i], counted[i], None if whole else over[i])
        for i, (name, code) in enumerate(judges)
    ]  # fmt: skip
    if table.settings.balance:
        for one in found_all:
            _refuse_small_classes(one)
    return found_all


def _refuse_small_classes(found: Tally) -> None:
    """A class of a few items cannot carry as much weight as the others."""
    table, least = found.table, found.table.settings.min_class
    items = found.counts.sum(axis=2)
    small = np.argwhere((items < least - 1e-9) & (items.sum(axis=0) > 0))
    if not len(small):
        return
    names = listing(list(dict.fromkeys(f"'{table.classes[c]}'" for _, c in small)), 4)
    who, which = small[np.argmin([items[j, c] for j, c in small])]
    raise DesignError(
        f"balanced labels have the same weight each, and fewer than {least} items cannot carry it. This is so of "
        f"{names}: '{table.classes[which]}' is what the others say, by majority, on {items[who, which]:.3g} of the "
        f"items of '{table.humans[found.tested[who]]}'. Label more items like these, merge rare labels with others, or "
        "leave the option balance out; min_class=... lowers the limit"
    )


def _parts(flat: Floats, shapes: Shapes) -> list[Floats]:
    """Arrays that stand behind each other in a flat one; views, so that they can be filled."""
    edges = itertools.accumulate((math.prod(shape) for shape in shapes), initial=0)
    return [flat[a:b].reshape(shape) for (a, b), shape in zip(itertools.pairwise(edges), shapes, strict=True)]


def _tally(
    rule: Rule, codes: tuple[int, ...], whole: Panel | None, shapes: Shapes, answers: Answers, unit: Ints
) -> Floats:  # fmt: skip
    """Win counts by judge and unit, then those over constants unless all is ``whole``, then facts, as one flat array
    that can be added up."""
    panel = rule.panel_of(answers) if whole is None else whole
    found = np.empty(sum(math.prod(shape) for shape in shapes))
    wins, over, facts = _parts(found, shapes)
    n_units, m = shapes[0][1:3]
    labelled, usable = panel.people > 0, rule.usable(panel.people, panel.reference)
    for i, code in enumerate(codes):
        judge = _optimal(rule, panel) if code == OPTIMAL else labels_of(answers, code)
        compared = rule.compare(panel, judge)
        item = panel.item[compared.row]
        group = (unit[item] * m + panel.annotator[compared.row]) if n_units > 1 else panel.annotator[compared.row]
        compared.counts(group, n_units * m, out=wins[i].reshape(n_units * m, *wins.shape[3:]))
        if whole is None:
            over[i] = _over_constants(rule, panel, judge)
        unknown = np.isnan(judge)
        there = np.zeros(panel.n_items, dtype=bool)
        there[item] = True
        each = (labelled & ~usable, usable & unknown, ~labelled & ~unknown, there)
        facts[i] = [float(np.count_nonzero(f)) for f in each] + [len(item)]
    return found


def _over_constants(rule: Rule, panel: Panel, judge: Floats) -> Floats:
    return count_against(rule.score, panel, rule.asked(panel, judge), rule.constants, rule.item_shares(panel))


def _optimal(rule: Rule, panel: Panel) -> Floats:
    labels = rule.score.optimal(panel, np.random.default_rng(rule.settings.seed))
    assert labels is not None
    return labels
