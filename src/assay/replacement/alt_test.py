"""May the judge stand in for a person? The alternative annotator test, one judge, one question.

Calderon, Reichart & Dror (2025): leave out each annotator in turn; is the judge as close to the others as
the annotator is, allowing epsilon for what people cost? Four movements: `alt_test` checks; `AltTestTable`
turns the table into arrays; `win_counts` and `decision` compute; `AltTest` carries the answer.
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
from assay.data.chunks import Chunks
from assay.errors import DesignError
from assay.estimation.intervals import Estimate, Estimates, adjust_p, missing, partial_conjunction
from assay.estimation.options import number_in, question, question_of_two
from assay.estimation.result import Result, Run, json_safe
from assay.estimation.statistic import Floats
from assay.replacement import decision, studies, words
from assay.replacement.decision import Reason, Verdict, WinCounts, win_counts
from assay.replacement.item_agreement import ItemLevelAgreement
from assay.replacement.panel import AltTestSettings, AltTestTable, ConstantBaseline, PairwiseScore, human_agreement
from assay.replacement.studies import SampleSize
from assay.reporting import pictures
from assay.statistics.wins import advantage

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        The p-values that the verdict rests on.
    item_agreement : ItemLevelAgreement
        What the judge sees of the items, within each structure that is known of them.
    agreement_ratio : Estimate
        R = A(judge, people) / A(people, people), chance-corrected within what is known of the items.
    annotator_agreement : Estimate
        A(people, people): what R is a share of.
    constant_baseline : ConstantBaseline or None
        The constant answer that is closest to people, beside the judge; it decides nothing.
    human_agreement : Estimate
        Krippendorff's alpha of the people.
    passed : bool
        Whether ``winning_rate >= threshold``: the paper's yes or no.
    winning_rate : float
        omega, the share of annotators for whom H0: rho_f <= rho_h − epsilon is rejected; NaN where nobody
        has enough items.
    losing_rate : float
        The share of annotators for whom the reverse hypothesis is rejected.
    advantage_probability : Estimate
        rho, the probability that the judge is as close to the others as a random annotator, or closer.
    mean_difference : Estimate
        Mean over annotators of rho_h − rho_f: how much closer people are; below epsilon is what one hopes for.
    smallest_epsilon : float
        The smallest epsilon at which the judge passes as published; NaN where it never does.
    needed_epsilon : Estimate
        The smallest epsilon at which the judge is truly as good as half (``threshold``) of the annotators, whatever is
        significant; below 0 where it is closer than they are. `smallest_epsilon` nears it as items are added.
    sample_size : SampleSize
        How many items would probably tell, yes or no: the number, its range and the assurance of every size.
    annotators : polars.DataFrame
        One row a tested annotator: ``annotator``, ``n``, ``rho_judge`` (with ``low``, ``high``),
        ``rho_human``, ``difference``, ``test``, ``statistic``, ``p``, ``p_adjusted``, ``rejected``, ``p_reverse``,
        ``rejected_reverse``, ``n_judge_better``, ``n_tie``, ``n_human_better``, ``quality``; and of the verdict's own
        tests ``p_noninferior``, ``p_worse``.
    n_items, n_labels : int
        Items compared, and human labels on them.
    score, epsilon, settings, exclusions, signature
        What was computed, how, and what does not count, with the reason; see `Run`.
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
    """The tests of all domains, where they are corrected together."""
    corrected: Callable[[], decision.VerdictTests] | None = field(default=None, repr=False, metadata={"json": False})
    """Makes the grounds with the correction for several domains or judges."""
    n_verdicts: int = 1
    """Verdicts that are corrected together: of domains, or of judges."""

    @cached_property
    def verdict_tests(self) -> decision.VerdictTests:
        """The p-values that the verdict rests on; made when asked for, since exact ones take longer than the rest."""
        if self.corrected is not None:
            return self.corrected()
        found, s = self.win_counts, self.settings
        return decision.verdict_tests_of(*found.verdict_p, found.item_agreement, found.quality, s.threshold, s.level)

    @property
    def verdict(self) -> Verdict:
        """One of five answers; see the class."""
        return self.verdict_tests.verdict

    @cached_property
    def annotators(self) -> pl.DataFrame:
        """One row a tested annotator."""
        names = [self.win_counts.table.humans[j] for j in self.win_counts.tested]
        rows = _rows(names, self.win_counts.quality, self.win_counts.counts, self.decided, self.estimates)
        as_good, worse = self.win_counts.verdict_p
        return rows.with_columns(p_noninferior=pl.Series(as_good), p_worse=pl.Series(worse))

    @property
    def item_agreement(self) -> ItemLevelAgreement:
        """What the judge sees of the items."""
        return self.win_counts.item_agreement

    @property
    def agreement_ratio(self) -> Estimate:
        """R, the share of people's chance-corrected agreement that the judge keeps."""
        return self.item_agreement.for_ratio.agreement_ratio(self.settings.confidence)

    @property
    def annotator_agreement(self) -> Estimate:
        """A(people, people), within what is known of the items."""
        return self.item_agreement.for_ratio.agreement(1, self.settings.confidence)

    @property
    def constant_baseline(self) -> ConstantBaseline | None:
        """The constant answer that is closest to people."""
        return self.win_counts.constant_baseline

    @cached_property
    def human_agreement(self) -> Estimate:
        """Krippendorff's alpha of the people."""
        return human_agreement(self.win_counts.table)

    @cached_property
    def noninferior_to(self) -> int:
        """As how many annotators, less epsilon, it is shown to be as good: the most whose conjunction is shown."""
        return self._count_noninferior(self.level)

    @property
    def level(self) -> float:
        """The level that this verdict surely has among those it is corrected with."""
        return self.verdict_tests.alpha / self.n_verdicts

    def _count_noninferior(self, level: float) -> int:
        g, p = self.verdict_tests, self.win_counts.verdict_p[0]
        shown = [u for u in range(1, len(p) + 1) if float(partial_conjunction(p, u)) <= level]
        return max(shown, default=0) or (g.least if g.p_noninferior <= level else 0)

    @cached_property
    def worse_than(self) -> tuple[str, ...]:
        """The annotators than whom it is shown to be worse, each (Holm)."""
        p = adjust_p(self.win_counts.verdict_p[1], "holm")
        humans = self.win_counts.table.humans
        return tuple(humans[j] for j, one in zip(self.win_counts.tested, p, strict=True) if one <= self.level)

    @property
    def population_share(self) -> float:
        """Of annotators like these, at least this share are people whom it is as good as, less epsilon; 0 to 1.

        The lower end of a binomial share (Clopper & Pearson) of those it is shown to be as good as, both at half of
        alpha; it takes the annotators for a random sample.
        """
        from scipy.special import betaincinv

        half, m = self.level / 2, self.n_annotators
        k = self._count_noninferior(half)
        return 0.0 if k == 0 else float(betaincinv(k, m - k + 1, half))

    @cached_property
    def human_baseline(self) -> Mapping[str, AltTest]:
        """Each person put to the same question, as a judge beside the others: what a person would have earned.

        Nobody where fewer than two others are left, or labels come in chunks.
        """
        table = self.win_counts.table
        if len(table.humans) < 3 or table.ratings.in_chunks:
            return {}
        found: dict[str, AltTest] | None = vars(table).get("_places")
        if found is not None:
            return found
        found = vars(table)["_places"] = {}  # of the table, whichever judge asks
        for j, name in enumerate(table.humans):
            one = win_counts(table.without(j), [(name, table.ratings.annotators.index(name))])[0]
            found[name] = wrap(one)
        return found

    @cached_property
    def document_effect(self) -> DocumentEffect | None:
        """What items that share a stem of their name take from the tests, where clusters were not said; else None."""
        table = self.win_counts.table
        found = None if table.settings.clusters is not None or table.ratings.in_chunks else table.documents
        if found is None or not self.n_annotators:
            return None
        design = self.win_counts.clustering_by(found.stem.codes.astype(np.int64)).design
        return DocumentEffect(len(found.stem.names), len(found.stem.codes), float(np.nanmean(design)))

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
        if not self.n_annotators:
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
        return "item_level_agreement_undecided" if g.p_item_level > g.alpha else "agreement_ratio_undecided"

    @property
    def reason_text(self) -> str:
        """The reason as a part of a sentence; empty without one."""
        return words.reason_text(self, self.reason) if self.reason else ""

    def p_of(self, what: Verdict | Reason) -> float:
        """The p-value behind a verdict or a reason; NaN for one that is a count of items or rests on an interval."""
        g, repeated = self.verdict_tests, self.item_agreement.match
        found: Mapping[Verdict | Reason, float] = {
            "replace": g.p_replace, "do_not_replace": g.p_worse, "mixed": max(g.p_noninferior, g.p_worse),
            "worse_than_half": g.p_worse, "comparison_undecided": g.p_noninferior,
            "item_level_agreement_undecided": g.p_item_level, "agreement_ratio_undecided": g.p_ratio_above,
            "agreement_ratio_too_low": g.p_ratio_below,
            "human_agreement_undecided": self.item_agreement.for_ratio.p_agreement,
            "matches_one_annotator": math.nan if repeated is None else repeated.p,
        }  # fmt: skip
        return found.get(what, math.nan)

    @property
    def settings(self) -> AltTestSettings:
        """Every option."""
        return self.win_counts.table.settings

    @property
    def interval_method(self) -> str:
        """How the intervals were made."""
        return self.run.interval

    @property
    def table(self) -> pl.DataFrame:
        """One row a tested annotator; ``estimate`` is rho_f."""
        names = {"rho_judge": "estimate"}
        return self.annotators.rename(names).select(
            "annotator", "estimate", "low", "high", "n", pl.exclude("annotator", "estimate", "low", "high", "n")
        )

    def row_estimates(self) -> Sequence[Estimate | None]:
        """rho_f of each tested annotator."""
        return [None] * self.n_annotators if self.estimates is None else [*self.estimates][1:-1]

    @property
    def n_annotators(self) -> int:
        """How many annotators were tested."""
        return len(self.win_counts.tested)

    @property
    def n_won(self) -> int:
        """Over how many of them the judge wins."""
        return int(self.decided.rejected.sum())

    def summary(self) -> str:
        """Return the verdict in sentences to paste, with the numbers that a reviewer asks for."""
        return words.summary(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything, safe for JSON; how many items would tell where more of them would."""
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
        }
        return {**super().to_dict(), **{name: json_safe(one) for name, one in found.items()}}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Forest plot: rho_f of each annotator with its interval, and what the annotator reaches."""
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
            markeredgewidth=2, color=pictures.HUMAN, linestyle="none", label="to beat: annotator − ε",
        )  # fmt: skip
        ax.plot([], [], marker="o", color=pictures.PASS, linestyle="none", label="judge, wins")
        ax.plot([], [], marker="o", color=pictures.MUTED, linestyle="none", label="judge, does not win")
        ax.set_xlim(min(0.35, ax.get_xlim()[0]), 1.02)
        ax.set_xlabel("probability of being as close to the others, or closer")
        pictures.legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
        return ax

    @question(studies.EpsilonCurveSettings)
    def epsilon_curve(self, settings: studies.EpsilonCurveSettings) -> studies.EpsilonCurve:
        """The winning rate as a function of epsilon, and the smallest epsilon at which the judge passes."""
        return studies.epsilon_curve(self.win_counts, self.run, settings, self.among)

    @cached_property
    def smallest_epsilon(self) -> float:
        """The smallest epsilon at which the judge passes; NaN where it never does.

        Domains that are corrected together have one epsilon.
        """
        return decision.smallest_epsilon(self.win_counts, self.among)

    @cached_property
    def needed_epsilon(self) -> Estimate:
        """The smallest epsilon at which the judge is truly as good as half of the annotators, with its interval."""
        if not self.n_annotators:
            return missing("no annotator has enough items")
        return decision.needed_epsilon(self.win_counts)[0]

    @question(studies.SizeCurveSettings)
    def size_curve(self, settings: studies.SizeCurveSettings) -> studies.SizeCurve:
        """omega, rho and assurance against the number of items, over draws of annotators and items (section 5.1)."""
        return studies.size_curve(self.win_counts, self.run, settings, self.among)

    def items_to_decide(self, power: float = 0.8) -> int | None:
        """Items by these annotators until a study would tell, yes or no; None where none looked at would.

        The size at which studies end in a verdict with this assurance: power, averaged over what the items at hand
        leave open. The range, and how far was item_agreement, is in `sample_size_at`.
        """
        return self.sample_size_at(power).n_items

    def sample_size_at(self, power: float = 0.8) -> SampleSize:
        """`items_to_decide` with its range, and the assurance of every size that was looked at."""
        number_in("power", power, above=0, below=1)
        if not self.n_annotators:
            return replace(studies.NO_ANNOTATOR, power=power)
        settings = studies.level_of_domain(self.settings, self.n_verdicts)
        return studies.sample_size(self._pilot, self.n_items, settings, power)

    @cached_property
    def sample_size(self) -> SampleSize:
        """How many items would tell in four studies of five."""
        return self.sample_size_at()

    @cached_property
    def _pilot(self) -> studies.Pilot:
        return studies.pilot_of_test(self.win_counts)


@dataclass(frozen=True)
class DocumentEffect:
    """Items that share stems of their names, such as documents, taken as independent.

    Attributes
    ----------
    n_stems, n_items : int
    design : float
        The variance of the comparison with annotators, over that of independent items.
    """

    n_stems: int
    n_items: int
    design: float


FEW_CLUSTERS = 20
"""With fewer clusters the level of the verdict depends on how alike their items are; see docs/type-one-error.md."""


@question_of_two(AltTestSettings)
def alt_test(labels: Annotations | Chunks, judge: str, settings: AltTestSettings) -> AltTest:
    """May this judge stand in for these annotators?

    Each annotator is left out in turn; the judge wins over one if it is significantly as close to the
    remaining annotators as that annotator is, allowing ``epsilon`` (Calderon, Reichart & Dror 2025).

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
        Where the judge, expert, criterion or column is not in the table.
    DesignError
        Where the labels cannot answer the question, with what would.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=60, n_annotators=3, seed=1)
    >>> test = assay.alt_test(labels, "judge", expertise="skilled")
    >>> test.passed, round(test.winning_rate, 2), round(test.advantage_probability.estimate, 2)
    (True, 1.0, 0.95)

    The judge wins over all three annotators and is as close to the others as an annotator, or closer, with
    probability .95.
    """
    table = table_of(labels, settings)
    return wrap(win_counts(table, [(judge, table.judge_code(judge))])[0])


# -- compute and wrap -------------------------------------------------------------------------------


def table_of(labels: Annotations | Chunks, settings: AltTestSettings) -> AltTestTable:
    """The table as arrays; kept with the labels, so that the next judge finds it made."""
    if isinstance(labels, Chunks):
        return AltTestTable.of(labels, settings)
    kept = labels.__dict__.setdefault("_alt_test_table", [])
    for known, table in kept:
        if known is settings or known == settings:
            return table  # type: ignore[no-any-return]
    table = AltTestTable.of(labels, settings)
    kept[:] = [(settings, table)]
    return table


def wrap(found: WinCounts, estimate: Estimates | None = None, domain: str | None = None) -> AltTest:
    """Decide and wrap; ``estimate`` is given where several judges were estimated together."""
    s, left_out = found.table.settings, None
    if s.copies == "leave out" and found.item_agreement.match is not None:
        left_out = found.item_agreement.match
        rest = found.table.without(found.table.humans.index(left_out.annotator))
        if len(rest.humans) < 2:
            raise DesignError(
                f"without '{left_out.annotator}', whom the judge repeats, there is nobody to compare with"
            )
        found, estimate = win_counts(rest, [(found.name, found.code)])[0], None
    table = found.table
    estimate = found.estimate() if estimate is None else estimate
    decided = found.decided
    wins = decision.winning_rate(decided.rejected, found.quality)
    losses = decision.winning_rate(decided.rejected_reverse, found.quality)
    nobody = missing("no annotator has enough items")
    run = Run(
        question="alt-test",
        settings=s,
        data=table.fingerprint,
        facts={
            "items": found.n_items, "humans": len(found.tested), "judge": found.name, "domain": domain,
            "score": table.score.name,
        },
        interval="" if estimate is None else estimate.describe_intervals()[0],
        exclusions=(*found.exclusions(), *([] if left_out is None else [left_out.exclusion()])),
        notes=(table.score.about,) if isinstance(table.score, PairwiseScore) and table.score.about else (),
        cautions=_cautions(found, s),
    )  # fmt: skip
    return AltTest(
        judge=found.name,
        passed=bool(decision.passes(wins, s.threshold)),
        winning_rate=wins,
        losing_rate=losses,
        advantage_probability=nobody if estimate is None else estimate[0],
        mean_difference=nobody if estimate is None else estimate[-1],
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
            "Under 30 items Wilcoxon's test is used, as published; with epsilon above 0 it takes every tie for the "
            "judge and rejects true hypotheses far too often. test='exact' keeps its level, 30 items are best."
        )
    if settings.balance:
        found.append(
            "Under balance ω and its p-values take one variance for all classes, as published: their level is about "
            ".01 to .11 in place of .05. The verdict does not rest on them."
        )
    if n_annotators and win_counts.clustering is not None and win_counts.clustering.n_clusters.min() < FEW_CLUSTERS:
        found.append(
            f"With {int(win_counts.clustering.n_clusters.min())} clusters, one on which everything goes wrong may be "
            "missing by chance: what spoils one in five spares all of ten with probability .11, and no test can know."
        )
    if 0 < n_annotators < 3 and not settings.fixed_reference:
        found.append("With fewer than three annotators there is no consensus to compare with.")
    return tuple(found)


def _rows(
    names: list[str], quality: Floats, counts: Floats, found: decision.Decision, each: Estimates | None
) -> pl.DataFrame:
    """One row a tested annotator."""
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
