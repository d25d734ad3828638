"""May the judge stand in for a person? The alternative annotator test, one judge, one question.

Calderon, Reichart & Dror (2025): leave out each annotator in turn; is the judge as close to the others as
the annotator is, allowing epsilon for what people cost? Four movements: `alt_test` checks; `TestTable`
turns the table into arrays; `alignment` and `decision` compute; `AltTest` carries the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, Repeats
from assay.errors import counted
from assay.estimation import Estimate, Interval, Method, Result, estimate_units, shown, signature
from assay.replacement import decision
from assay.replacement.alignment import Floats, Ints, Score
from assay.replacement.decision import Test, Verdict
from assay.replacement.panel import Comparisons, Expertise, LeftOut, Normalise, Settings, TestTable, Ties
from assay.reporting import pictures as figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from assay.replacement.curves import EpsilonCurve, SizeCurve


@dataclass(frozen=True, eq=False)
class AltTest(Result):
    """The alternative annotator test of one judge.

    Attributes
    ----------
    judge : str
        The judge that was tested.
    verdict : {"replace", "do not replace", "cannot tell yet"}
        Replace: ``winning_rate >= threshold``. Do not replace: the reverse hypothesis is rejected for at
        least half of the annotators. Otherwise the data cannot tell.
    passed : bool
        Whether ``winning_rate >= threshold``: the paper's yes or no.
    winning_rate : float
        omega, the share of annotators for whom H0: rho_f <= rho_h − epsilon is rejected; NaN where nobody
        has enough items.
    losing_rate : float
        The share of annotators for whom the reverse hypothesis is rejected.
    advantage_probability : Interval
        rho, the probability that the judge is as close to the others as a random annotator, or closer.
    annotators : polars.DataFrame
        One row a tested annotator: ``annotator``, ``n``, ``rho_judge`` (with ``low``, ``high``),
        ``rho_human``, ``difference``, ``test``, ``statistic``, ``p``, ``p_adjusted``, ``rejected``,
        ``p_reverse``, ``rejected_reverse``, ``n_judge_better``, ``n_tie``, ``n_human_better``, ``quality``.
    n_items, n_labels : int
        Items compared, and human labels on them.
    score, epsilon, settings
        What was computed and how.
    left_out : tuple of LeftOut
        Items and annotators that are not in the test, counted, with the reason.
    interval_method : str
        How the intervals were made.
    """

    symbol: ClassVar[str] = "ρ"

    judge: str
    verdict: Verdict
    passed: bool
    winning_rate: float
    losing_rate: float
    advantage_probability: Interval
    annotators: pl.DataFrame
    n_items: int
    n_labels: int
    score: str
    epsilon: float
    settings: Settings
    left_out: tuple[LeftOut, ...]
    domain: str | None = None
    interval_method: str = ""
    _prepared: Prepared | None = field(default=None, repr=False)

    @property
    def table(self) -> pl.DataFrame:
        """One row a tested annotator; ``estimate`` is rho_f."""
        names = {"rho_judge": "estimate"}
        return self.annotators.rename(names).select(
            "annotator", "estimate", "low", "high", "n", pl.exclude("annotator", "estimate", "low", "high", "n")
        )

    @cached_property
    def data(self) -> str:
        """Fingerprint of the labels."""
        return self.prepared.table.labels.fingerprint

    @property
    def prepared(self) -> Prepared:
        """The arrays behind the test, from which its curves are made."""
        assert self._prepared is not None, "every test that alt_test makes keeps its arrays"
        return self._prepared

    @property
    def n_annotators(self) -> int:
        """How many annotators were tested."""
        return self.annotators.height

    @property
    def n_won(self) -> int:
        """Over how many of them the judge wins."""
        return int(self.annotators["rejected"].sum())

    @property
    def cautions(self) -> tuple[str, ...]:
        """What a reader must know before trusting the verdict."""
        found = []
        if "wilcoxon" in self.annotators["test"].to_list() and self.epsilon > 0:
            found.append(
                "Under 30 items Wilcoxon's test is used, as published; with epsilon above 0 it takes every tie for the "
                "judge and rejects true hypotheses far too often. test='t' holds its level better, 30 items are best."
            )
        if self.settings.balance:
            found.append("Balanced tests hold their level only roughly: about .01 to .11 in place of .05.")
        if 0 < self.n_annotators < 3 and not self.settings.fixed_reference:
            found.append("With fewer than three annotators there is no consensus to compare with.")
        return tuple(found)

    @property
    def signature(self) -> str:
        """One line by which two people see whether they computed the same thing."""
        s = self.settings
        return signature(
            "alt-test",
            items=self.n_items,
            humans=self.n_annotators,
            judge=self.judge,
            domain=self.domain,
            score=self.score,
            eps=self.epsilon,
            fdr=s.fdr,
            test=None if s.test == "auto" else s.test,
            min_items=None if s.min_items == 30 else s.min_items,
            min_humans=None if s.min_humans == 2 else s.min_humans,
            threshold=None if s.threshold == 0.5 else s.threshold,
            normalise=s.normalise,
            balance=f"ipw-{s.ties}" if s.balance else None,
            expert=s.expert,
            gold="yes" if s.gold is not None else None,
            quality="yes" if s.quality is not None else None,
            clusters=s.clusters,
            repeats=None if s.repeats == "error" else s.repeats,
            seed=s.seed,
            data=self.data,
        )

    def summary(self) -> str:
        """The finding in sentences fit to paste, with what a reviewer asks for."""
        rho = self.advantage_probability
        against = {True: "the gold labels", False: f"the expert '{self.settings.expert}'"}
        reference = against[self.settings.gold is not None] if self.settings.fixed_reference else "the other annotators"
        tests = ", ".join(dict.fromkeys(_TEST_NAMES[t] for t in self.annotators["test"])) or "no test"
        if self.settings.clusters is not None:
            tests += f" with standard errors robust to clusters of '{self.settings.clusters}'"
        lines = [
            f"{self.judge}: {_VERDICT_WORDS[self.verdict]}.",
            f"Winning rate {shown(self.winning_rate)} ({self.n_won} of {self.n_annotators} annotators, "
            f"epsilon = {self.epsilon:g}, threshold {self.settings.threshold:g}); advantage probability "
            f"{shown(rho.estimate)} [{shown(rho.low)}, {shown(rho.high)}] ({self.interval_method}).",
            f"Score: {self.score} with {reference}; {tests}, one-sided, Benjamini-Yekutieli at "
            f"q = {self.settings.fdr:g}; {counted(self.n_items, 'item')}, {counted(self.n_labels, 'human label')}.",
        ]
        if rho.reason:
            lines.append(f"No interval: {rho.reason}.")
        lines += [f"Left out: {left}." for left in self.left_out]
        lines += [f"Caution: {caution}" for caution in self.cautions]
        return "\n".join([*lines, self.signature])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Forest plot: rho_f of each annotator with its interval, and what the annotator reaches."""
        ax = figures.axes(ax, width=5.6, height=1.2 + 0.28 * min(max(self.n_annotators, 3), 40))
        rows = self.annotators.sort("rho_judge", descending=True)
        if rows.height > 40:
            rows = pl.concat([rows.head(20), rows.tail(20)])
        colours = [figures.PASS if r else figures.MUTED for r in rows["rejected"]]
        figures.forest(
            ax, rows["annotator"].to_list(), rows["rho_judge"].to_list(), rows["low"].to_list(),
            rows["high"].to_list(), colour=colours,
        )  # fmt: skip
        ax.plot(
            rows["rho_human"] - self.epsilon, np.arange(rows.height)[::-1], marker="|", markersize=11,
            markeredgewidth=2, color=figures.HUMAN, linestyle="none", label="to beat: annotator − ε",
        )  # fmt: skip
        ax.plot([], [], marker="o", color=figures.PASS, linestyle="none", label="judge, wins")
        ax.plot([], [], marker="o", color=figures.MUTED, linestyle="none", label="judge, does not win")
        ax.set_xlim(min(0.35, ax.get_xlim()[0]), 1.02)
        ax.set_xlabel("probability of being as close to the others, or closer")
        figures.legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
        return ax

    def epsilon_curve(self, epsilons: Floats | None = None) -> EpsilonCurve:
        """The winning rate as a function of epsilon, and the smallest epsilon at which the judge passes."""
        from assay.replacement.curves import epsilon_curve

        return epsilon_curve(self, epsilons)

    @cached_property
    def smallest_epsilon(self) -> float:
        """The smallest epsilon at which the judge passes; NaN where it never does."""
        return self.epsilon_curve().smallest

    def size_curve(
        self, sizes: tuple[int, ...] | None = None, n_annotators: int = 3, n_draws: int = 100, seed: int = 0
    ) -> SizeCurve:
        """omega and rho against the number of items, over draws of annotators and items (section 5.1)."""
        from assay.replacement.curves import size_curve

        return size_curve(self, sizes, n_annotators, n_draws, seed)

    def items_to_decide(self, power: float = 0.8) -> int | None:
        """Items by these annotators until the test would tell, yes or no; None where none would."""
        from assay.replacement.curves import items_to_decide

        return items_to_decide(self, power)


_TEST_NAMES = {
    "t": "paired t-tests",
    "wilcoxon": "Wilcoxon signed-rank tests (fewer than 30 items)",
    "exact": "exact tests where all differences are equal",
}
_VERDICT_WORDS = {
    "replace": "may stand in for these annotators",
    "do not replace": "is shown to be worse than these annotators, even allowing for epsilon",
    "cannot tell yet": "not shown to be as good as these annotators, nor shown to be worse",
}


def alt_test(
    labels: Annotations,
    judge: str,
    *,
    epsilon: float | None = None,
    annotators: Expertise | None = None,
    score: str | Callable[..., float] | Score | None = None,
    similarity: Any = None,
    fdr: float = 0.05,
    threshold: float = 0.5,
    min_items: int = 30,
    min_humans: int = 2,
    test: Test = "auto",
    normalise: Normalise | None = None,
    balance: bool = False,
    ties: Ties = "random",
    expert: str | None = None,
    gold: str | Mapping[str, Any] | None = None,
    quality: str | Mapping[str, float] | None = None,
    clusters: str | None = None,
    repeats: Repeats = "error",
    method: Method = "percentile",
    n_resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> AltTest:
    """May this judge stand in for these annotators?

    Each annotator is left out in turn; the judge wins over one if it is significantly as close to the
    remaining annotators as that annotator is, allowing ``epsilon`` (Calderon, Reichart & Dror 2025).

    Parameters
    ----------
    labels : Annotations
        One criterion; for several criteria or domains see `alt_test_by`.
    judge : str
        Name of the judge.
    epsilon : float, 0 to 1
        What the judge's low cost is worth, in advantage probability. No default: give it, or
        ``annotators``.
    annotators : {"expert", "skilled", "crowd"}
        The paper's rule of thumb: .2, .15, .1 (appendix B.1).
    score : {"accuracy", "neg_rmse", "similarity"} or callable
        How close a label is to others (section 3.1). Without it: ``accuracy`` for categories and
        preferences, ``neg_rmse`` for numbers, ``similarity`` for text. A callable takes a label and the
        list of the others' labels.
    similarity : callable, mapping or frame
        For text: a function of two labels, or a table of label pairs.
    fdr : float
        q of the Benjamini-Yekutieli correction; the paper's .05.
    threshold : float
        The judge passes at ``omega >= threshold``; the paper's .5.
    min_items : int
        Annotators with fewer comparable items are left out and named; they stay among the others that
        everybody is compared with. The paper's 30.
    min_humans : int
        Items with fewer human labels are left out and counted. The paper's 2.
    test : {"auto", "t", "wilcoxon"}
        t-test from 30 items up, Wilcoxon's signed-rank test below (which needs a smaller ``min_items``), as
        published. Below 30 items ``"t"`` is the better choice: with epsilon above 0 Wilcoxon's test rejects
        true hypotheses in 7 to 94% of studies, see the page on type-I error.
    normalise : {"zscore", "minmax", "rank"}
        Replace each annotator's labels by standard scores, by 0-1 over the annotator's own range, or by
        ranks divided by the number of items that the annotator answered (FAQ).
    balance : bool
        Weigh items by the inverse frequency of their majority label, so that every label counts the
        same (C.1).
    ties : {"random", "lowest", "highest", "share"}
        Which label a tied majority has under ``balance``: drawn with ``seed`` (the rule of theorem 1),
        the lowest, the highest, or each in equal shares.
    expert : str
        A single trusted annotator: everybody else is compared with this one (C.2).
    gold : str or mapping
        Gold labels, as a column of the items or item to label: does the judge outperform people? With
        ``epsilon`` 0 unless given (C.3).
    quality : str or mapping
        A weight for each annotator, as a column of ``labels.annotators`` or name to weight (C.4).
    clusters : str
        An item column (document, subject) whose items are not independent: they are resampled together, and
        the t-tests take a cluster-robust standard error and count clusters, not items.
    repeats : {"error", "first", "last", "mean", "majority", "each"}
        What repeated answers stand for, see `Annotations.resolve_repeats`.
    method, n_resamples, confidence, seed
        Of the interval of rho, see `assay.estimation.estimate`.

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
    >>> test = assay.alt_test(labels, "judge", annotators="skilled")
    >>> test.passed, round(test.winning_rate, 2), round(test.advantage_probability.estimate, 2)
    (True, 1.0, 0.95)

    The judge wins over all three annotators and is as close to the others as an annotator, or closer, with
    probability .95.
    """
    options = {name: value for name, value in locals().items() if name not in ("labels", "judge")}
    table = TestTable.of(labels, Settings.of(options))
    return test_judge(table, judge, table.judge_labels(judge))


# -- compute and wrap -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Prepared:
    """A judge's labels compared with each annotator's, ready to be tested and resampled.

    Attributes
    ----------
    tested : (m,) int
        The annotators that have enough items.
    n : (annotators,) int
        How many items each annotator has.
    used : Comparisons
        Those of the tested annotators.
    counts : (m, classes, 3) float
        Wins, ties and losses of the judge over each.
    """

    table: TestTable
    name: str
    compared: Comparisons
    tested: Ints
    n: Ints
    used: Comparisons
    counts: Floats

    @classmethod
    def of(cls, table: TestTable, name: str, judge: Floats) -> Prepared:
        """Compare, and find who can be tested."""
        compared = table.compare(judge)
        annotator = table.panel.annotator[compared.row]
        n = np.bincount(annotator, minlength=len(table.humans))
        enough = n >= max(table.settings.min_items, 2)
        used = compared if enough.all() else compared.where(enough[annotator])
        counts = used.counts(table.panel.annotator[used.row], len(table.humans))[enough]
        return cls(table, name, compared, np.flatnonzero(enough), n, used, counts)

    @cached_property
    def units(self) -> Floats:
        """Win counts of each unit that is resampled: (units, m · classes · 3)."""
        return self.table.units(self.used, self.tested)

    @cached_property
    def clustering(self) -> decision.Clustering | None:
        """What shared clusters take from the tests; None where items are independent."""
        if self.table.clusters is None:
            return None
        position = np.full(len(self.table.humans), -1)
        position[self.tested] = np.arange(len(self.tested))
        annotator = position[self.table.panel.annotator[self.used.row]]
        cluster = self.table.clusters[self.table.panel.item[self.used.row]]
        n = self.counts.sum(axis=2)
        with np.errstate(divide="ignore"):
            by_class = np.where(n > 0, 1 / n, 0.0)[annotator]
        weight = by_class[:, 0] if self.used.shares is None else (by_class * self.used.shares).sum(axis=1)
        weight = weight / np.bincount(annotator, weight)[annotator]
        mean, _, _ = decision.t_parts(self.counts)
        influence = weight * (-self.used.sign - mean[annotator])
        return decision.Clustering.of(self.counts, annotator, cluster, influence)

    def estimate(self) -> Estimate | None:
        """rho and every rho_f with their intervals; None where nobody can be tested."""
        if not len(self.tested):
            return None
        statistic = AdvantageProbability(len(self.tested))
        if self.table.settings.method == "none":
            return estimate_units(statistic, self.counts.reshape(1, -1), method="none")
        _, _, unit = self.table.unit_of_item
        return estimate_units(statistic, self.units, unit=unit, **self.table.settings.interval_options)


def test_judge(table: TestTable, name: str, judge: Floats) -> AltTest:
    """The test of a judge's labels, one an item."""
    prepared = Prepared.of(table, name, judge)
    return conclude(prepared, prepared.estimate())


def conclude(prepared: Prepared, estimate: Estimate | None) -> AltTest:
    """Decide and wrap."""
    table, tested, s = prepared.table, prepared.tested, prepared.table.settings
    quality = table.panel.quality[tested]
    found = decision.decide(prepared.counts, s.tolerance, s.fdr, s.test, prepared.clustering)
    wins = decision.winning_rate(found.rejected, quality)
    losses = decision.winning_rate(found.rejected_reverse, quality)
    nobody = Interval(np.nan, np.nan, np.nan, np.nan, "nobody has enough items to be tested")
    return AltTest(
        judge=prepared.name,
        verdict=decision.verdict_of(wins, losses, s.threshold),
        passed=bool(wins >= s.threshold),
        winning_rate=wins,
        losing_rate=losses,
        advantage_probability=nobody if estimate is None else estimate[0],
        annotators=_rows([table.humans[j] for j in tested], quality, prepared.counts, found, estimate),
        n_items=int(np.count_nonzero(np.bincount(table.panel.item[prepared.used.row]))),
        n_labels=len(prepared.used.row),
        score=table.score.name,
        epsilon=s.tolerance,
        settings=s,
        left_out=table.left_out(prepared.compared.judge, prepared.n, tested),
        interval_method="" if estimate is None else estimate.describe_interval(),
        _prepared=prepared,
    )


def _rows(
    names: list[str], quality: Floats, counts: Floats, found: decision.Decision, each: Estimate | None
) -> pl.DataFrame:
    """One row a tested annotator."""
    judge, human = decision.advantage(counts)
    outcome = counts.sum(axis=1)
    missing = np.full(len(names), np.nan)
    low, high = (missing, missing) if each is None else (each.low[1:], each.high[1:])
    numbers = {
        "rho_judge": judge, "low": low, "high": high, "rho_human": human, "difference": human - judge,
        "statistic": found.statistic, "p": found.p, "p_adjusted": found.p_adjusted, "p_reverse": found.p_reverse,
        "quality": quality,
    }  # fmt: skip
    # One array for all numbers: a frame made column by column takes longer than the test.
    frame = pl.DataFrame(np.column_stack(list(numbers.values())), schema=list(numbers))
    outcomes = np.rint(np.column_stack([outcome.sum(axis=1), outcome])).astype(np.int64)
    whole = pl.DataFrame(outcomes, schema=["n", "n_judge_better", "n_tie", "n_human_better"])
    others = [
        pl.Series("annotator", names, dtype=pl.String),
        whole["n"],
        *(frame[c] for c in ("rho_judge", "low", "high", "rho_human", "difference")),
        pl.Series("test", found.tests, dtype=pl.String),
        *(frame[c] for c in ("statistic", "p", "p_adjusted")),
        pl.Series("rejected", found.rejected),
        frame["p_reverse"],
        pl.Series("rejected_reverse", found.rejected_reverse),
        *(whole[c] for c in ("n_judge_better", "n_tie", "n_human_better")),
        frame["quality"],
    ]
    return pl.DataFrame(others)


@dataclass(frozen=True)
class AdvantageProbability:
    """rho and every rho_f from summed win counts (sections 3.2 and 3.4)."""

    n_annotators: int

    def value(self, sums: Floats) -> Floats:
        """(..., annotators · classes · 3) -> (..., 1 + annotators)."""
        counts = sums.reshape(*sums.shape[:-1], self.n_annotators, -1, 3)
        judge, _ = decision.advantage(counts)
        return np.concatenate([decision.average_advantage(counts)[..., None], judge], axis=-1)
