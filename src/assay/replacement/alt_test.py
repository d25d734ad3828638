"""Can the judge replace an annotator? The alternative annotator test of one judge on one criterion.

Calderon, Reichart & Dror (2025): leave out each annotator in turn, and test whether the judge agrees with the others as
well as that annotator, within a margin epsilon. `alt_test` checks the input, `AltTestTable` converts the table to
arrays, `win_counts` and `decision` compute, and `AltTest` is the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunked.chunks import Chunks
from assay.data.columns import PART, PARTS
from assay.errors import DesignError
from assay.estimation.intervals import Estimate, EstimateByRule, Estimates, adjust_p, missing, partial_conjunction
from assay.estimation.options import number_in, question, question_of_two
from assay.estimation.result import Exclusion, Result, Run, choice_caution, json_safe
from assay.estimation.statistic import Floats, Ints
from assay.replacement import decision, studies, words
from assay.replacement.decision import Reason, Verdict, WinCounts, win_counts
from assay.replacement.limitations import LEVEL as LEVEL_OF_LIMITATIONS
from assay.replacement.limitations import Limitation, limitations_of
from assay.replacement.panel import AltTestSettings, AltTestTable, human_agreement, labels_of
from assay.replacement.studies import SampleSize
from assay.reporting import pictures
from assay.statistics.clusters import CHANCE, DocumentEffect, largest_effect
from assay.statistics.copies import find_weakest
from assay.statistics.item_agreement import ItemLevelAgreement
from assay.statistics.panels import ConstantBaseline, PairwiseScore, ScaleUse, scale_use_of
from assay.statistics.wins import TIE, advantage
from assay.statistics.words import development_items, few_clusters

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Provenance = Literal["asked", "file"]


@dataclass(frozen=True, eq=False)
class AltTest(Result):
    """The alternative annotator test of one judge.

    Attributes
    ----------
    judge : str
        The judge that was tested.
    verdict : str
        ``replace``: the judge is as good, within the margin epsilon, as at least half (``threshold``) of the
        annotators, item-level agreement is demonstrated, and its agreement ratio is above ``min_agreement_ratio``.
        ``do_not_replace``: it is worse than at least half of them, beyond the margin, or its agreement ratio is below
        ``min_agreement_ratio``. ``mixed``: it is as good as half of them and worse than half of them. ``not_testable``:
        the annotators agree too little with each other. ``undecided``: none of these. Each is demonstrated at level
        ``alpha``. ``verdict_text`` is the label.
    reason : str
        The code of the reason, see `Reason`; empty for ``replace`` and ``mixed``. ``reason_text`` is its sentence.
    verdict_tests : VerdictTests
        The p-values behind the verdict.
    item_agreement : ItemLevelAgreement
        Item-level agreement and agreement ratio, within each stratification of the items.
    agreement_ratio : Estimate
        R = A(judge, annotators) / A(annotators), chance-corrected within strata.
    annotator_agreement : Estimate
        A(annotators), the denominator of R.
    constant_baseline : ConstantBaseline or None
        The constant label that is closest to the annotators; not part of the verdict.
    human_agreement : Estimate
        Krippendorff's alpha of the annotators.
    passed : bool
        Whether ``winning_rate >= threshold``: the published rule.
    winning_rate : float
        omega, the share of annotators for which H0: rho_f <= rho_h − epsilon is rejected; NaN if no annotator has
        enough items.
    losing_rate : float
        The share of annotators for which the reverse hypothesis is rejected.
    advantage_probability : Estimate
        rho, the share of items on which the judge is at least as close to the others as the annotator left out,
        averaged over annotators.
    mean_difference : Estimate
        Mean over annotators of rho_h − rho_f, positive if the annotators are closer.
    smallest_epsilon : float
        The smallest passing margin of the published rule; NaN if it passes at no margin.
    needed_epsilon : Estimate
        The parity margin: the epsilon at which the judge equals half (``threshold``) of the annotators; negative if it
        is closer. `smallest_epsilon` approaches it with more items.
    sample_size : SampleSize
        The number of items that is likely to give a conclusive verdict, its range, and the assurance of every size.
    annotators : polars.DataFrame
        One row for each tested annotator: ``annotator``, ``n``, ``rho_judge`` (with ``low``, ``high``),
        ``rho_human``, ``difference``, ``test``, ``statistic``, ``p``, ``p_adjusted``, ``rejected``, ``p_reverse``,
        ``rejected_reverse``, ``n_judge_better``, ``n_tie``, ``n_human_better``, ``quality``; and the tests of the
        verdict ``p_noninferior``, ``p_worse``.
    n_items, n_labels : int
        The numbers of compared items and of their human labels.
    score, epsilon, settings, exclusions, signature
        The computation, its options and its exclusions; see `Run`.
    """

    symbol: ClassVar[str] = "ρ"

    judge: str
    passed: bool
    winning_rate: float
    losing_rate: float
    advantage_probability: Estimate
    mean_difference: Estimate
    n_items: int
    n_labels: int
    score: str
    epsilon: float
    domain: str | None
    run: Run
    win_counts: WinCounts = field(repr=False, metadata={"json": False})
    decided: decision.Decision = field(repr=False, metadata={"json": False})
    estimates: Estimates | None = field(repr=False, metadata={"json": False})
    among: tuple[WinCounts, ...] = field(default=(), repr=False, metadata={"json": False})
    """The tests of all domains, if they are corrected together."""
    corrected: Callable[[], decision.VerdictTests] | None = field(default=None, repr=False, metadata={"json": False})
    """Returns the tests with the correction for several domains or judges."""
    n_verdicts: int = 1
    """The number of verdicts that are corrected together, of domains or of judges."""

    @cached_property
    def verdict_tests(self) -> decision.VerdictTests:
        """The p-values behind the verdict; computed on access, since exact tests take longer than the rest."""
        if self.corrected is not None:
            return self.corrected()
        return self.win_counts.verdict_tests

    @property
    def verdict(self) -> Verdict:
        """The code of the verdict; see the class."""
        return self.verdict_tests.verdict

    @cached_property
    def annotators(self) -> pl.DataFrame:
        """One row for each tested annotator."""
        names = [self.win_counts.table.humans[j] for j in self.win_counts.tested]
        rows = _rows(names, self.win_counts.quality, self.win_counts.counts, self.decided, self.estimates)
        as_good, worse = self.win_counts.verdict_p
        return rows.with_columns(p_noninferior=pl.Series(as_good), p_worse=pl.Series(worse))

    @property
    def advantage_difference(self) -> Estimate:
        """rho_f − rho_h: the share of items on which it is closer to the others than the annotator, minus further.

        Ties count for neither side, so that judges with coarser and finer labels can be compared by it. It is
        `mean_difference` with the other sign.
        """
        d = self.mean_difference

        def ends(level: float) -> tuple[float, float]:
            low, high = d.interval(level)
            return -high, -low

        return EstimateByRule(
            -d.estimate, -d.high, -d.low, d.standard_error, d.reason, ends=ends, test=lambda null: d.p(-null)
        )

    @property
    def tie_rate(self) -> float:
        """The share of items on which judge and annotator are equally close to the others, averaged over annotators."""
        counts = self.win_counts.counts[self.win_counts.counts.sum(axis=(1, 2)) > 0]
        share = counts[..., TIE].sum(axis=1) / counts.sum(axis=(1, 2))
        return float(share.mean()) if len(share) else math.nan

    @property
    def item_agreement(self) -> ItemLevelAgreement:
        """Item-level agreement and agreement ratio, within each stratification."""
        return self.win_counts.item_agreement

    @property
    def agreement_ratio(self) -> Estimate:
        """R, the agreement of the judge with the annotators over that among annotators, chance-corrected."""
        return self.item_agreement.for_ratio.agreement_ratio(self.settings.confidence)

    @property
    def annotator_agreement(self) -> Estimate:
        """A(annotators), the chance-corrected agreement among annotators within strata."""
        return self.item_agreement.for_ratio.agreement(1, self.settings.confidence)

    @property
    def items_worth(self) -> tuple[float, float]:
        """Items labelled by an annotator that are worth 100 items labelled by the judge, from R's interval.

        To find a relation of the labels with something else, 100 items labelled by the judge are worth at least about
        100 R² items labelled by one annotator, if one truth causes the agreement; at most 100 each. NaN without an
        interval.
        """
        ratio = self.agreement_ratio
        low, high = (100 * min(max(end, 0.0), 1.0) ** 2 for end in (ratio.low, ratio.high))
        return (low, high) if math.isfinite(ratio.low + ratio.high) else (math.nan, math.nan)

    @cached_property
    def scale_use(self) -> ScaleUse | None:
        """The judge's use of a numeric scale compared with the annotators'; None for other scores."""
        table = self.win_counts.table.item_level_table
        if table.score.name != "neg_rmse" or self.settings.fixed_reference or self.win_counts.code == decision.OPTIMAL:
            return None
        strata = next((one.part for one in table.strata if one.name == self.item_agreement.for_ratio.strata), None)
        panel, judge = (
            table.panel,
            table.rule.usable_labels(table.panel, labels_of(table.ratings.answers, self.win_counts.code)),
        )
        return scale_use_of(panel, judge, np.zeros(panel.n_items, dtype=np.int64) if strata is None else strata)

    @cached_property
    def limitations(self) -> tuple[Limitation, ...]:
        """The items and labels on which the judge is worse; empty for *Do not replace*, and for labels in chunks.

        *Replace* does not cover them, and *Undecided* and *Mixed* can be due to them. The p-values are Holm-adjusted
        for the tests of the judge, and for several verdicts (Bonferroni).
        """
        found = self.win_counts
        settled = self.verdict not in ("replace", "undecided", "mixed") or found.code == decision.OPTIMAL
        if settled or found.table.ratings.in_chunks:
            return ()
        every = limitations_of(found.table, found.judge)
        return tuple(
            replace(one, p=one.p * self.n_verdicts) for one in every if one.p * self.n_verdicts <= LEVEL_OF_LIMITATIONS
        )

    @property
    def provenance(self) -> Provenance:
        """``asked``: assay asked the judge, without an annotator's label of the item. ``file``: that is not known."""
        return self.win_counts.table.reading.provenance(self.judge)

    @cached_property
    def weakest_annotator(self) -> tuple[str, float] | None:
        """The annotator who agrees with the others less than half as much as they do with each other, and p; or None.

        Such an annotator lowers the annotators' agreement, and so raises R.
        """
        table = self.win_counts.table
        if table.ratings.in_chunks or table.settings.fixed_reference or self.n_annotators == 0:
            return None
        found = find_weakest(table.given_labels, table.orders_labels)
        return None if found is None else (table.humans[found[0]], found[1])

    @property
    def margin_as_ratio(self) -> float:
        """The agreement ratio that the margin epsilon alone requires, about; NaN for numbers and texts.

        For labels without order, the mean difference of the comparison is (1 − R) (P_o − P_e), with P_o and P_e the
        observed and the expected share of equal labels of two annotators.
        """
        beyond = self.item_agreement.for_ratio.beyond_chance
        if self.score != "accuracy" or not beyond > 0 or self.settings.fixed_reference:
            return math.nan
        return 1 - self.epsilon / beyond

    @property
    def constant_baseline(self) -> ConstantBaseline | None:
        """The constant label that is closest to the annotators."""
        return self.win_counts.constant_baseline

    @cached_property
    def human_agreement(self) -> Estimate:
        """Krippendorff's alpha of the annotators."""
        return human_agreement(self.win_counts.table)

    @cached_property
    def noninferior_to(self) -> int:
        """The largest number of annotators to which non-inferiority is demonstrated."""
        return self._count_noninferior(self.level)

    @property
    def level(self) -> float:
        """The level of this verdict among those that are corrected together (Bonferroni)."""
        return self.verdict_tests.alpha / self.n_verdicts

    def _count_noninferior(self, level: float) -> int:
        if self.win_counts.few_tested:
            return 0
        g, p = self.verdict_tests, self.win_counts.verdict_p[0]
        significant = [u for u in range(1, len(p) + 1) if float(partial_conjunction(p, u)) <= level]
        return max(significant, default=0) or (g.least if g.p_noninferior <= level else 0)

    @cached_property
    def worse_than(self) -> tuple[str, ...]:
        """The annotators to which it is significantly worse, each Holm-adjusted."""
        p = adjust_p(self.win_counts.verdict_p[1], "holm")
        humans = self.win_counts.table.humans
        return tuple(humans[j] for j, one in zip(self.win_counts.tested, p, strict=True) if one <= self.level)

    @property
    def population_share(self) -> float:
        """The lower confidence limit of the share of annotators that it is as good as, within epsilon; 0 to 1.

        The lower binomial limit (Clopper & Pearson) of the number of annotators to which it is non-inferior, each at
        half of alpha. It assumes that the annotators are a random sample.
        """
        from scipy.special import betaincinv

        half, m = self.level / 2, self.n_annotators
        k = self._count_noninferior(half)
        return 0.0 if k == 0 else float(betaincinv(k, m - k + 1, half))

    @cached_property
    def human_baseline(self) -> Mapping[str, AltTest]:
        """The same test of each annotator as the judge of the others.

        Empty with fewer than two others, or for labels in chunks.
        """
        table = self.win_counts.table
        if len(table.humans) < 3 or table.ratings.in_chunks:
            return {}
        found: dict[str, AltTest] | None = vars(table).get("_human_baseline")
        if found is not None:
            return found
        found = vars(table)["_human_baseline"] = {}  # cached with the table, for all judges
        for j, name in enumerate(table.humans):
            one = win_counts(table.without(j), [(name, table.ratings.annotators.index(name))])[0]
            found[name] = wrap(one)
        return found

    @cached_property
    def document_effect(self) -> DocumentEffect | None:
        """The effect of shared prefixes of item ids on the tests, or of the item column with the largest one.

        None if clusters are given, or without such prefixes and without an item column whose effect is larger than
        that of chance (at 5% for all columns and prefixes together).
        """
        table = self.win_counts.table
        if table.settings.clusters is not None or table.ratings.in_chunks or not self.n_annotators:
            return None
        stem, groups = None if table.documents is None else table.documents.stem.codes, table.grouped_items
        each = [effect for name, codes in groups.items() if (effect := self._effect_of(codes, name)) is not None]
        of_ids = None if stem is None else self._effect_of(stem.astype(np.int64), "")
        tried = len(groups) + (of_ids is not None)
        best = largest_effect(each, tried)
        if of_ids is not None and of_ids.p >= CHANCE / tried:
            of_ids = replace(of_ids, by_chance=True)
        known = of_ids is not None and not of_ids.by_chance
        if best is None or (of_ids is not None and known and of_ids.design > best.design):
            return of_ids
        return best

    def _effect_of(self, codes: Ints, column: str) -> DocumentEffect | None:
        """The effect of groups of items; None where each annotator has items of one group."""
        effect = self.win_counts.clustering_by(codes).effect
        known = effect[~np.isnan(effect)]
        if not len(known):
            return None
        return DocumentEffect(int(codes.max()) + 1, len(codes), float(known.mean()), column)

    @property
    def verdict_text(self) -> str:
        """The label of the verdict: *Replace*, *Do not replace*, *Mixed*, *Undecided* or *Not testable*."""
        return words.LABELS[self.verdict]

    @cached_property
    def reason(self) -> Reason | Literal[""]:
        """The code of the reason for a verdict of do_not_replace, undecided or not_testable; empty for the others."""
        g = self.verdict_tests
        if self.verdict == "do_not_replace":
            return "worse_than_half" if g.p_worse <= g.alpha else "agreement_ratio_too_low"
        if self.verdict == "not_testable":
            return "human_agreement_too_low"
        if self.verdict != "undecided":
            return ""
        if not self.n_annotators or self.win_counts.few_tested:
            return "too_few_items_per_annotator"
        clustering = self.win_counts.clustering
        if clustering is not None and (clustering.n_clusters < decision.FEWEST).any():
            return "too_few_clusters"
        if not g.p_noninferior <= g.alpha:
            return "comparison_undecided"
        if g.matched_annotator is not None:
            return "matches_one_annotator"
        if not g.annotators_agree:
            return "human_agreement_undecided"
        if g.p_item_level > g.alpha:
            return "item_level_agreement_undecided"
        if g.p_ratio_above > g.alpha:
            return "agreement_ratio_undecided"
        return "depends_on_column" if g.p_own_words > g.alpha else "annotators_differ"

    @property
    def reason_text(self) -> str:
        """The reason as a part of a sentence; empty without one."""
        return words.reason_text(self, self.reason) if self.reason else ""

    def p_of(self, code: Verdict | Reason) -> float:
        """Return the p-value behind a verdict or a reason; NaN for a reason that is a count or an interval."""
        g, match = self.verdict_tests, self.win_counts.match_tests.found
        found: Mapping[Verdict | Reason, float] = {
            "replace": g.p_replace, "do_not_replace": g.p_worse, "mixed": max(g.p_noninferior, g.p_worse),
            "worse_than_half": g.p_worse, "comparison_undecided": g.p_noninferior,
            "item_level_agreement_undecided": g.p_item_level, "agreement_ratio_undecided": g.p_ratio_above,
            "agreement_ratio_too_low": g.p_ratio_below,
            "human_agreement_undecided": self.item_agreement.for_people.p_agreement,
            "matches_one_annotator": math.nan if match is None else match.p,
        }  # fmt: skip
        return found.get(code, math.nan)

    @property
    def settings(self) -> AltTestSettings:
        """All options."""
        return self.win_counts.table.settings

    @property
    def interval_method(self) -> str:
        """The interval method."""
        return self.run.interval

    @property
    def table(self) -> pl.DataFrame:
        """One row for each tested annotator; ``estimate`` is rho_f."""
        names = {"rho_judge": "estimate"}
        return self.annotators.rename(names).select(
            "annotator", "estimate", "low", "high", "n", pl.exclude("annotator", "estimate", "low", "high", "n")
        )

    def row_estimates(self) -> Sequence[Estimate | None]:
        """rho_f of each tested annotator."""
        return [None] * self.n_annotators if self.estimates is None else [*self.estimates][1:-1]

    @property
    def n_annotators(self) -> int:
        """The number of tested annotators."""
        return len(self.win_counts.tested)

    @property
    def n_won(self) -> int:
        """The number of annotators over which the judge wins."""
        return int(self.decided.rejected.sum())

    def summary(self) -> str:
        """Return the verdict in sentences to paste, with the numbers that a reviewer asks for."""
        return words.summary(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, safe for JSON; the sample size if more items can help."""
        found: dict[str, Any] = {
            "verdict": self.verdict,
            "verdict_text": self.verdict_text,
            "verdict_tests": self.verdict_tests,
            "smallest_epsilon": self.smallest_epsilon,
            "needed_epsilon": self.needed_epsilon,
            "sample_size": self.sample_size if self.reason in words.MORE_ITEMS_HELP else None,
            "reason": self.reason,
            "reason_text": self.reason_text,
            "agreement_ratio": self.agreement_ratio,
            "annotator_agreement": self.annotator_agreement,
            "limitations": self.limitations,
            "provenance": self.provenance,
        }
        return {**super().to_dict(), **{name: json_safe(one) for name, one in found.items()}}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a forest plot: rho_f of each annotator with its interval, and rho_h − ε."""
        ax = pictures.axes(ax, width=5.6, height=1.2 + 0.28 * min(max(self.n_annotators, 3), 40))
        rows = self.annotators.sort("rho_judge", descending=True)
        if rows.height > 40:
            rows = pl.concat([rows.head(20), rows.tail(20)])
        colours = [pictures.PASS if r else pictures.MUTED for r in rows["rejected"]]
        pictures.forest(
            ax, rows["annotator"].to_list(), rows["rho_judge"].to_list(), rows["low"].to_list(),
            rows["high"].to_list(), colour=colours,
        )  # fmt: skip
        ax.plot(
            rows["rho_human"] - self.epsilon, np.arange(rows.height)[::-1], marker="|", markersize=11,
            markeredgewidth=2, color=pictures.HUMAN, linestyle="none", label="annotator − ε",
        )  # fmt: skip
        ax.plot([], [], marker="o", color=pictures.PASS, linestyle="none", label="judge, wins")
        ax.plot([], [], marker="o", color=pictures.MUTED, linestyle="none", label="judge, does not win")
        ax.set_xlim(min(0.35, ax.get_xlim()[0]), 1.02)
        ax.set_xlabel("advantage probability ρ")
        pictures.legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
        return ax

    @question(studies.EpsilonCurveSettings)
    def epsilon_curve(self, settings: studies.EpsilonCurveSettings) -> studies.EpsilonCurve:
        """Return the winning rate as a function of epsilon, and the smallest passing margin."""
        return studies.epsilon_curve(self.win_counts, self.run, settings, self.among)

    @cached_property
    def smallest_epsilon(self) -> float:
        """The smallest passing margin of the published rule; NaN if it passes at no margin.

        Domains that are corrected together have the same margin.
        """
        return decision.smallest_epsilon(self.win_counts, self.among)

    @cached_property
    def needed_epsilon(self) -> Estimate:
        """The parity margin: the epsilon at which the judge equals half of the annotators, with its interval."""
        if not self.n_annotators:
            return missing("no annotator has enough items")
        return decision.needed_epsilon(self.win_counts)[0]

    @question(studies.SizeCurveSettings)
    def size_curve(self, settings: studies.SizeCurveSettings) -> studies.SizeCurve:
        """Return omega, rho and assurance by number of items, over draws of annotators and items (section 5.1)."""
        return studies.size_curve(self.win_counts, self.run, settings, self.among)

    def items_to_decide(self, power: float = 0.8) -> int | None:
        """Return the number of items with this probability of a conclusive verdict; None if no size considered has it.

        The probability is the assurance: power, averaged over the uncertainty of these labels. `sample_size_at` also
        has its range.
        """
        return self.sample_size_at(power).n_items

    def sample_size_at(self, power: float = 0.8) -> SampleSize:
        """Return `items_to_decide` with its range, and the assurance of every size considered."""
        number_in("power", power, above=0, below=1)
        if not self.n_annotators:
            return replace(studies.NO_ANNOTATOR, power=power)
        if self.win_counts.few_tested:
            few = words.few_tested(self.n_annotators, self.win_counts.n_compared, self.settings.min_items)
            return replace(studies.NO_ANNOTATOR, power=power, reason=few)
        settings = studies.level_of_domain(self.settings, self.n_verdicts)
        return studies.sample_size(self._pilot, self.n_items, settings, power)

    @cached_property
    def sample_size(self) -> SampleSize:
        """The sample size of a conclusive verdict with 80% probability."""
        return self.sample_size_at()

    @cached_property
    def _pilot(self) -> studies.Pilot:
        return studies.pilot_of_test(self.win_counts)


@question_of_two(AltTestSettings)
def alt_test(labels: Annotations | Chunks, judge: str, settings: AltTestSettings) -> AltTest:
    """Test whether a judge can replace annotators (alternative annotator test).

    Each annotator is left out in turn. The judge wins over an annotator if it is significantly as close to the
    remaining annotators as that annotator, within the margin ``epsilon`` (Calderon, Reichart & Dror 2025).

    Parameters
    ----------
    labels : Annotations or Chunks
        One criterion; for several criteria or domains see `alt_test_by`.
    judge : str
        Name of the judge.

    Returns
    -------
    AltTest

    Raises
    ------
    DataError
        If the judge, expert, criterion or column is not in the table.
    DesignError
        If the labels do not allow the test; the message has the remedy.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=60, n_annotators=3, seed=1)
    >>> test = assay.alt_test(labels, "judge", expertise="skilled")
    >>> test.passed, round(test.winning_rate, 2), round(test.advantage_probability.estimate, 2)
    (True, 1.0, 0.95)

    The judge wins over all three annotators. On 95% of items it is at least as close to the others as the annotator
    left out.
    """
    table = table_of(labels, settings)
    found = wrap(win_counts(table, [(judge, table.judge_code(judge))])[0])
    return replace(found, run=found.run.with_cautions(choice_cautions(labels, [judge], settings)))


# -- compute and wrap the result --------------------------------------------------------------------


def table_of(labels: Annotations | Chunks, settings: AltTestSettings) -> AltTestTable:
    """Return the table as arrays, cached with the labels for the next judge."""
    if isinstance(labels, Chunks):
        return AltTestTable.of(labels, settings)
    kept = labels.__dict__.setdefault("_alt_test_table", [])
    for known, table in kept:
        if known is settings or known == settings:
            return table  # type: ignore[no-any-return]
    table = AltTestTable.of(labels, settings)
    kept[:] = [(settings, table)]
    return table


def choice_cautions(labels: Annotations | Chunks, judges: Sequence[str], settings: AltTestSettings) -> list[str]:
    """Return cautions if the judges can have been chosen by these labels: the best of several, a tuned prompt."""
    tried = labels.reading.n_tried(labels.judges)
    effect = f"the verdict's error rate is above {settings.alpha:g}"
    instead = "test all of them together (compare_judges; on the command line without --only)"
    return [*choice_caution(tried, len(judges), effect, instead), *tuned_items(labels, judges)]


def tuned_items(labels: Annotations | Chunks, judges: Sequence[str]) -> list[str]:
    """Return a caution if judged items belong to the development set, on which prompts are tuned."""
    if isinstance(labels, Chunks) or PART not in labels.items.columns:
        return []
    judged = labels.labels.filter(pl.col("annotator").is_in(list(judges)))["item"].unique()
    part = labels.items.filter(pl.col("item").is_in(judged.implode()))[PART]
    return development_items(int((part == PARTS[0]).sum()), len(part), labels.reading.study)


def wrap(found: WinCounts, estimate: Estimates | None = None, domain: str | None = None) -> AltTest:
    """Decide and wrap the result; ``estimate`` is given if several judges were estimated together."""
    s, left_out = found.table.settings, None
    if s.copies == "leave out" and found.matched is not None:
        left_out = found.matched
        rest = found.table.without(found.table.humans.index(left_out))
        if len(rest.humans) < 2:
            raise DesignError(f"without '{left_out}', whose labels the judge matches, fewer than 2 annotators remain")
        found, estimate = win_counts(rest, [(found.name, found.code)])[0], None
    table = found.table
    estimate = found.estimate() if estimate is None else estimate
    decided = found.decided
    wins = decision.winning_rate(decided.rejected, found.quality)
    losses = decision.winning_rate(decided.rejected_reverse, found.quality)
    no_annotator = missing("no annotator has enough items")
    run = Run(
        question="alt-test",
        settings=s,
        data=table.fingerprint,
        facts={
            "items": found.n_items, "humans": len(found.tested), "judge": found.name, "domain": domain,
            "score": table.score.name,
        },
        interval="" if estimate is None else estimate.describe_intervals()[0],
        exclusions=(
            *found.exclusions(),
            *([Exclusion("annotator", 1, "the judge's labels match theirs", (left_out,))] if left_out else []),
        ),
        notes=(table.score.about,) if isinstance(table.score, PairwiseScore) and table.score.about else (),
        cautions=_cautions(found, s),
    )  # fmt: skip
    return AltTest(
        judge=found.name,
        passed=bool(decision.passes(wins, s.threshold)),
        winning_rate=wins,
        losing_rate=losses,
        advantage_probability=no_annotator if estimate is None else estimate[0],
        mean_difference=no_annotator if estimate is None else estimate[-1],
        n_items=found.n_items,
        n_labels=found.n_labels,
        score=table.score.name,
        epsilon=s.tolerance,
        domain=domain,
        run=run,
        win_counts=found,
        decided=decided,
        estimates=estimate,
    )


def _cautions(win_counts: WinCounts, settings: AltTestSettings) -> tuple[str, ...]:
    found, n_annotators = [], len(win_counts.tested)
    if "wilcoxon" in win_counts.decided.tests and settings.tolerance > 0:
        found.append(
            "The published rule uses Wilcoxon's test below 30 items. With epsilon above 0 it counts every tie for the "
            "judge and rejects true hypotheses far too often. Use test='exact', or at least 30 items."
        )
    if settings.balance:
        found.append(
            "With balance=True, ω and its p-values use one variance for all classes, as published: their level is "
            "about .01 to .11 instead of .05. The verdict does not use them."
        )
    if n_annotators and win_counts.clustering is not None:
        found += few_clusters(int(win_counts.clustering.n_clusters.min()))
    if 0 < n_annotators < 3 and not settings.fixed_reference:
        found.append(
            "With fewer than three annotators there is no consensus to compare with."
            if win_counts.n_compared < 3
            else f"{words.few_tested(n_annotators, win_counts.n_compared, settings.min_items).capitalize()}; a verdict "
            "should rest on three or more."
        )
    return tuple(found)


def _rows(
    names: list[str], quality: Floats, counts: Floats, found: decision.Decision, each: Estimates | None
) -> pl.DataFrame:
    """One row for each tested annotator."""
    judge, human = advantage(counts)
    outcome = counts.sum(axis=1)
    missing = np.full(len(names), np.nan)
    low, high = (missing, missing) if each is None else (each.low[1:-1], each.high[1:-1])
    numbers = {
        "rho_judge": judge, "low": low, "high": high, "rho_human": human, "difference": human - judge,
        "statistic": found.statistic, "p": found.p, "p_adjusted": found.p_adjusted, "p_reverse": found.p_reverse,
        "quality": quality,
    }  # fmt: skip
    outcomes = np.rint(np.column_stack([outcome.sum(axis=1), outcome])).astype(np.int64)
    # One array for all numbers: a frame made column by column takes longer than the test.
    frames = [
        pl.DataFrame(np.column_stack(list(numbers.values())), schema=list(numbers)),
        pl.DataFrame(outcomes, schema=["n", "n_judge_better", "n_tie", "n_human_better"]),
        pl.DataFrame(
            [names, found.tests, found.rejected, found.rejected_reverse],
            schema={"annotator": pl.String, "test": pl.String, "rejected": pl.Boolean, "rejected_reverse": pl.Boolean},
        ),
    ]
    return pl.concat(frames, how="horizontal").select(_COLUMNS)


_COLUMNS = (
    "annotator", "n", "rho_judge", "low", "high", "rho_human", "difference", "test", "statistic", "p", "p_adjusted",
    "rejected", "p_reverse", "rejected_reverse", "n_judge_better", "n_tie", "n_human_better", "quality",
)  # fmt: skip
