"""Comparison of all judges of one table, under the same resamples."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, Answers
from assay.data.chunked.chunks import Chunks
from assay.errors import DesignError, no_judge
from assay.estimation.intervals import Estimate, Estimates
from assay.estimation.options import question
from assay.estimation.resampling import Sums, Units, estimate_sums
from assay.estimation.result import Result, Run
from assay.estimation.statistic import Floats, Ints
from assay.replacement import words
from assay.replacement.alt_test import AltTest, choice_cautions, table_of, wrap
from assay.replacement.decision import OPTIMAL, TONES, Reason, VerdictTests, WinCounts, adjust_verdict_tests, win_counts
from assay.replacement.panel import AltTestTable, CompareSettings, Rule, labels_of
from assay.reporting import pictures
from assay.statistics.clusters import by_items
from assay.statistics.panels import Accuracy, NegRMSE, PairwiseScore, Panel, majority_share
from assay.statistics.wins import SideBySide
from assay.statistics.words import dependence_cautions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CEILING = {"accuracy": "majority vote", "neg_rmse": "mean"}
"""The labels of the optimal judge of theorem 1, by score."""

SAMPLE_SIZE = ("sample_size", "sample_size_low", "sample_size_high")


@dataclass(frozen=True, eq=False)
class JudgeComparison(Result):
    """Every judge on one table.

    Attributes
    ----------
    tests : mapping of judge to AltTest
        Best first, by the advantage probability minus the annotators' (`AltTest.advantage_difference`).
    traditional : mapping of judge to float
        Accuracy with the majority vote (ties in shares), mean Pearson correlation with the annotators, or mean
        similarity to them.
    traditional_name : str
        The name of the measure.
    ceiling : AltTest or None
        The optimal judge of theorem 1, with the majority vote or the mean: its rho is 1, and its omega is the largest
        that is possible with these items and annotators.
    best, next_best : str
        The two judges with the largest rho_f − rho_h: the share of items on which the judge is closer to the others
        than the annotator left out, minus the share on which it is further. rho alone counts ties for the judge, so
        that it would rank a judge with few distinct labels above a better one with a finer scale.
    lead : Estimate
        rho_f − rho_h of the best judge minus that of the next, over the items that both labelled, under the same
        resamples; NaN with one judge.
    n_shared : int or None
        The number of items that both labelled, if one of them has none on some items; all items otherwise. A judge
        that skips difficult items has a higher rho.
    lead_is_clear : bool
        Whether that interval lies above 0 and no result of the best judge's tests contradicts it; see `lead_doubt`.
    """

    symbol: ClassVar[str] = "ρ"

    tests: Mapping[str, AltTest]
    traditional: Mapping[str, float]
    traditional_name: str
    ceiling: AltTest | None
    best: str
    next_best: str | None
    lead: Estimate
    n_shared: int | None
    lead_is_clear: bool
    run: Run

    @property
    def lead_doubt(self) -> Reason | None:
        """The reason that a higher rho_f − rho_h does not rank the best judge above the next; None without one.

        If most items have the same label, a constant is closer to annotators than they are to each other. A lead
        therefore requires item-level agreement of the best judge, no low agreement ratio and no match with one of them.
        """
        return _doubt(self.tests[self.best])

    @property
    def table(self) -> pl.DataFrame:
        """One row for each judge, best first, the ceiling last; ``estimate`` is rho.

        ``advantage_difference`` is rho_f − rho_h, ``tie_rate`` the share of ties. ``kind`` is ``judge``, or ``ceiling``
        for the optimal judge, which is there for reference and no annotator.
        """
        return pl.DataFrame(
            [
                {
                    "judge": name,
                    "kind": kind,
                    **test.advantage_probability.row(),
                    "n": test.n_items,
                    **{
                        f"advantage_difference{end}": v
                        for end, v in zip(ENDS, _ends(test.advantage_difference), strict=True)
                    },
                    "tie_rate": test.tie_rate,
                    "winning_rate": test.winning_rate,
                    "passed": test.passed,
                    "verdict": test.verdict,
                    **{f"agreement_ratio{end}": v for end, v in zip(ENDS, _ends(test.agreement_ratio), strict=True)},
                    self.traditional_name: self.traditional.get(name),
                    "smallest_epsilon": test.smallest_epsilon,
                    "needed_epsilon": test.needed_epsilon.estimate,
                    "needed_epsilon_low": test.needed_epsilon.low,
                    "needed_epsilon_high": test.needed_epsilon.high,
                    **_sample_size(test),
                }
                for name, test, kind in self._rows()
            ],
            schema_overrides=dict.fromkeys(SAMPLE_SIZE, pl.Int64),
            infer_schema_length=None,
        )

    def row_estimates(self) -> Sequence[Estimate | None]:
        """Return rho of each judge and of the ceiling."""
        return [test.advantage_probability for _, test, _ in self._rows()]

    def _rows(self) -> list[tuple[str, AltTest, str]]:
        rows = [(name, test, "judge") for name, test in self.tests.items()]
        return rows + ([(self.ceiling.judge, self.ceiling, "ceiling")] if self.ceiling else [])

    def summary(self) -> str:
        """Return the judge that is closest to the annotators, its lead, and the verdicts of all judges."""
        return words.comparison_summary(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw rho with its interval, a row for each judge."""
        rows = self._rows()
        ax = pictures.axes(ax, height=1.0 + 0.32 * max(len(rows), 3))
        rho = [t.advantage_probability for _, t, _ in rows]
        colours = [pictures.MUTED if k == "ceiling" else pictures.TONES[TONES[t.verdict]] for _, t, k in rows]
        names = [name for name, _, _ in rows]
        pictures.forest(
            ax, names, [r.estimate for r in rho], [r.low for r in rho], [r.high for r in rho], colour=colours
        )  # fmt: skip
        pictures.tones_legend(ax, {t.verdict_text: TONES[t.verdict] for _, t, k in rows if k != "ceiling"})
        ax.set_xlabel("advantage probability ρ")
        return ax


def _doubt(test: AltTest) -> Reason | None:
    """Return the result of the verdict's tests that is evidence against a ranking of the judge, if any."""
    g = test.verdict_tests
    if g.p_item_level > g.alpha:
        return "item_level_agreement_undecided"
    if g.ratio_too_low:
        return "agreement_ratio_too_low"
    return None if g.matched_annotator is None else "matches_one_annotator"


ENDS = ("", "_low", "_high")


def _ends(one: Estimate) -> tuple[float, float, float]:
    return one.estimate, one.low, one.high


def _sample_size(test: AltTest) -> dict[str, int | None]:
    """Return the sample size with its range, if more items can help."""
    found = test.sample_size if test.reason in words.MORE_ITEMS_HELP else None
    numbers = (None, None, None) if found is None else (found.n_items, found.low, found.high)
    return dict(zip(SAMPLE_SIZE, numbers, strict=True))


@question(CompareSettings)
def compare_judges(labels: Annotations | Chunks, settings: CompareSettings) -> JudgeComparison:
    """Compare judges by how much closer to the others they are than annotators, and test the lead of the best one.

    Parameters
    ----------
    labels : Annotations or Chunks
        One criterion.

    Raises
    ------
    DesignError
        If the table has no judges.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=60, judges={"good": 0.2, "coin": 1.0}, seed=1)
    >>> found = assay.compare_judges(labels, epsilon=0.2)
    >>> found.best, {judge: test.verdict for judge, test in found.tests.items()}
    ('good', {'good': 'undecided', 'coin': 'do_not_replace'})
    """
    return compare(labels, settings)


def compare(labels: Annotations | Chunks, settings: CompareSettings) -> JudgeComparison:
    """Return `compare_judges` for given settings."""
    if not labels.judges:
        raise DesignError(no_judge(labels.reading.study, "to compare"))
    table, judges = table_of(labels, settings.single_test), settings.judges
    chosen = table.ratings.judges if judges is None else [judges] if isinstance(judges, str) else judges
    names = list(dict.fromkeys(chosen))
    counts_of_judges = win_counts(table, [(name, table.judge_code(name)) for name in names])
    estimates, joint = _estimate_together(counts_of_judges)
    tests = {t.name: wrap(t, e) for t, e in zip(counts_of_judges, estimates, strict=True)}
    if settings.together == "holm" and len(tests) > 1:
        family = _Family(tuple(tests.values()))
        tests = {
            name: replace(test, corrected=partial(family.of, name), n_verdicts=len(tests))
            for name, test in tests.items()
        }  # fmt: skip
    order = sorted(names, key=lambda n: (-np.nan_to_num(tests[n].advantage_difference.estimate, nan=-2.0), n))
    two, n_shared = [tests[name] for name in order[:2]], None
    testable = [t.name for t in counts_of_judges if len(t.tested)]
    if len(two) > 1 and any(test.win_counts.items_without_judge for test in two):
        two, testable, joint = _on_shared_items(two)
        n_shared = max(test.n_items for test in two)
    lead = _lead(joint, testable, two)
    dependent = () if isinstance(labels, Chunks) else dependence_cautions(_lead_errors(labels, two), labels)
    traditional, measure = _traditional(table, names)
    ceiling = _ceiling(table)
    first = tests[order[0]]
    facts = {
        "items": first.n_items, "humans": first.n_annotators, "judges": tuple(order), "score": first.score,
    }  # fmt: skip
    notes = ("the optimal judge requires the whole table in memory",) if table.ratings.in_chunks else ()
    return JudgeComparison(
        tests={name: tests[name] for name in order},
        traditional={name: traditional[name] for name in order},
        traditional_name=measure,
        ceiling=ceiling,
        best=order[0],
        next_best=order[1] if len(order) > 1 else None,
        lead=lead,
        n_shared=n_shared,
        lead_is_clear=bool(lead.low > 0) and _doubt(first) is None,
        run=Run(
            "compare-judges",
            settings,
            table.fingerprint,
            facts,
            first.run.interval,
            notes=(*first.run.notes, *notes),
            cautions=(*choice_cautions(labels, names, settings), *dependent),
        ),
    )


@dataclass(frozen=True, eq=False)
class _Family:
    """The verdicts of several judges, adjusted together on first access."""

    tests: tuple[AltTest, ...]

    @cached_property
    def _tests(self) -> dict[str, VerdictTests]:
        found = adjust_verdict_tests([test.verdict_tests for test in self.tests])
        return dict(zip((test.judge for test in self.tests), found, strict=True))

    def of(self, judge: str) -> VerdictTests:
        """Return the tests of one judge."""
        return self._tests[judge]


def _estimate_together(counts_of_judges: list[WinCounts]) -> tuple[list[Estimates | None], Estimates | None]:
    """Return each judge's estimates, and rho_h − rho_f of the testable judges, under the same resamples.

    Resampling counts are drawn once for all judges; a single judge has the same ones, and so the same digits.
    """
    settings = counts_of_judges[0].table.settings
    testable = [t for t in counts_of_judges if len(t.tested)]
    if settings.method == "none" or not testable:
        return [t.estimate() for t in counts_of_judges], None
    units = [t.units for t in testable]
    statistic = SideBySide(tuple(len(t.tested) for t in testable), tuple(u.shape[1] for u in units))
    unit = counts_of_judges[0].table.units.name
    joint = estimate_sums(statistic, np.concatenate(units, axis=1), settings, unit=unit, transform=statistic.transforms)
    edges = np.cumsum([0, *(2 + len(t.tested) for t in testable)])
    parts = iter([joint.part(slice(a, b)) for a, b in itertools.pairwise(edges)])
    return [next(parts) if len(t.tested) else None for t in counts_of_judges], joint.part(edges[1:] - 1)


def _lead_errors(labels: Annotations, best: Sequence[AltTest]) -> list[Floats]:
    """The contribution of each item to the error of the lead of a judge over another, if items are resampled."""
    two = [test.win_counts for test in best]
    table = two[0].table
    if table.ratings.in_chunks or len(two) < 2 or not all(len(t.tested) for t in two):
        return []
    statistic = SideBySide(tuple(len(t.tested) for t in two), tuple(t.units.shape[1] for t in two))
    sums = Sums(statistic, np.concatenate([t.units for t in two], axis=1), (table.ratings.n_items,), table.units.name)
    part = sums.item_errors(1 + len(two[0].tested), -1)
    if part is None:
        return []
    unit = table.units.of_item
    return [by_items(labels, table.ratings.answers.items, np.where(unit < 0, np.nan, part[unit]))]


def _on_shared_items(judges: list[AltTest]) -> tuple[list[AltTest], list[str], Estimates | None]:
    """Return the tests over the items that all judges labelled, the testable judges, and their estimates."""
    table = judges[0].win_counts.table
    counts_of_judges = win_counts(table, [(test.judge, test.win_counts.code) for test in judges], shared=True)
    estimates, joint = _estimate_together(counts_of_judges)
    tests = [wrap(t, e) for t, e in zip(counts_of_judges, estimates, strict=True)]
    return tests, [t.name for t in counts_of_judges if len(t.tested)], joint


def _lead(joint: Estimates | None, testable: list[str], best: list[AltTest]) -> Estimate:
    """Return rho_f − rho_h of the best judge minus that of the next, paired; ``joint`` has the testable judges'."""
    if len(best) < 2:
        return Estimate(np.nan, np.nan, np.nan, np.nan, "there is only one judge")
    first, second = best
    if joint is None or first.judge not in testable or second.judge not in testable:
        difference = first.advantage_difference.estimate - second.advantage_difference.estimate
        return Estimate(difference, np.nan, np.nan, np.nan, "a paired difference needs an interval of both judges")
    weights = np.zeros(len(joint))
    weights[[testable.index(first.judge), testable.index(second.judge)]] = -1, 1  # joint has rho_h − rho_f
    return joint.contrast(weights, "difference")[0]


def _ceiling(table: AltTestTable) -> AltTest | None:
    """Return the optimal judge of theorem 1, if the score has one."""
    name = CEILING.get(table.score.name)
    if table.settings.fixed_reference or table.ratings.in_chunks or name is None:
        return None
    return wrap(win_counts(table, [(f"optimal judge ({name} of annotators; for reference)", OPTIMAL)])[0])


# -- measures that papers report --------------------------------------------------------------------


def _traditional(table: AltTestTable, judges: Sequence[str]) -> tuple[dict[str, float], str]:
    """Return the measure that papers report: accuracy, mean Pearson correlation or mean similarity (table 2)."""
    score, measure = table.score, "mean_pearson"
    if isinstance(score, PairwiseScore):
        measure = "mean_similarity"
    elif isinstance(score, Accuracy) or (table.rule.labels is not None and not isinstance(score, NegRMSE)):
        measure = "accuracy_with_majority"
    codes = tuple(table.judge_code(name) for name in judges)
    centre = table.ratings.centre if measure == "mean_pearson" else 0.0
    reduce = partial(_measure, table.rule, codes, measure, centre)
    one = Units(np.zeros(table.ratings.n_items, dtype=np.int64), 1, "items")
    whole = table.whole or not table.ratings.in_chunks
    found = reduce(table.ratings.answers, one.of_item) if whole else table.ratings.add_up(reduce, one, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = _mean_pearson(found) if measure == "mean_pearson" else found[:, 0] / found[:, 1]
    return {name: float(value) for name, value in zip(judges, values, strict=True)}, measure


def _measure(rule: Rule, codes: tuple[int, ...], measure: str, centre: float, answers: Answers, unit: Ints) -> Floats:
    """Return the sums of the measure for each judge, over items: (judges, ...)."""
    panel = rule.panel_of(answers)
    return np.stack([_measure_judge(rule, panel, labels_of(answers, code), measure, centre) for code in codes])


def _measure_judge(rule: Rule, panel: Panel, judge: Floats, measure: str, centre: float) -> Floats:
    """Return a sum and a number; or six sums for each annotator: 1, x, y, x², y², xy, centred."""
    if measure != "mean_pearson":
        score = rule.score
        each = score.mean_with_humans if isinstance(score, PairwiseScore) else majority_share
        _, found = each(panel, judge)
        return np.array([found.sum(), len(found)])
    f = judge[panel.item]
    use = ~np.isnan(f)
    who, x, y = panel.annotator[use], f[use] - centre, panel.value[use] - centre
    columns = (np.ones_like(x), x, y, x * x, y * y, x * y)
    return np.stack([np.bincount(who, column, panel.n_annotators) for column in columns])


def _mean_pearson(sums: Floats) -> Floats:
    """Return the Pearson correlation of the judge, averaged over annotators for which it is defined: (judges,)."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, 1, 0)
    above, below = n * xy - x * y, (n * xx - x * x) * (n * yy - y * y)
    flat = below <= 1e-12 * n**2 * xx * yy
    r = np.where(flat, np.nan, above / np.sqrt(np.where(flat, 1.0, below)))
    known = ~np.isnan(r)
    return np.asarray(np.where(known, r, 0.0).sum(axis=1) / known.sum(axis=1))
