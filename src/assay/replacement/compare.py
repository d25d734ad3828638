"""Which judge? All judges of one table side by side, under the same resamples."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.errors import DesignError
from assay.estimation import Estimate, Interval, Result, estimate_units, shown, signature
from assay.replacement.alignment import Accuracy, Floats, NegRMSE, PairwiseScore, majority_share
from assay.replacement.alt_test import AdvantageProbability, AltTest, Prepared, conclude, test_judge
from assay.replacement.panel import Settings, TestTable
from assay.reporting import pictures as figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CEILING = {"accuracy": "majority vote", "neg_rmse": "mean"}
"""What the optimal judge of theorem 1 answers, by score."""


@dataclass(frozen=True, eq=False)
class JudgeComparison(Result):
    """Every judge on one table.

    Attributes
    ----------
    tests : mapping of judge to AltTest
        Best first, by advantage probability.
    traditional : mapping of judge to float
        Accuracy with the majority vote (a tied majority counts in shares), mean Pearson correlation with the
        annotators, or mean similarity to them.
    traditional_name : str
        Which of the three.
    ceiling : AltTest or None
        The optimal judge of theorem 1, who answers the majority vote or the mean: its rho is 1, and its
        omega is the most that these items and annotators could show.
    best, next_best : str
        The two judges with the largest rho.
    lead : Interval
        rho of the best less rho of the next, under the same resamples; NaN where there is one judge.
    lead_is_clear : bool
        Whether that interval lies above 0.
    """

    symbol: ClassVar[str] = "ρ"

    tests: Mapping[str, AltTest]
    traditional: Mapping[str, float]
    traditional_name: str
    ceiling: AltTest | None
    best: str
    next_best: str | None
    lead: Interval
    lead_is_clear: bool

    @property
    def table(self) -> pl.DataFrame:
        """One row a judge, best first, the ceiling last; ``estimate`` is rho."""
        return pl.DataFrame(
            [
                {
                    "judge": name,
                    "kind": kind,
                    **test.advantage_probability.row(),
                    "n": test.n_items,
                    "winning_rate": test.winning_rate,
                    "passed": test.passed,
                    "verdict": test.verdict,
                    self.traditional_name: self.traditional.get(name),
                    "smallest_epsilon": test.smallest_epsilon,
                }
                for name, test, kind in self._rows()
            ],
            infer_schema_length=None,
        )

    def _rows(self) -> list[tuple[str, AltTest, str]]:
        rows = [(name, test, "judge") for name, test in self.tests.items()]
        return rows + ([(self.ceiling.judge, self.ceiling, "ceiling")] if self.ceiling else [])

    @property
    def signature(self) -> str:
        """One line by which two people see whether they computed the same thing."""
        first = next(iter(self.tests.values()))
        s = first.settings
        return signature(
            "compare-judges", items=first.n_items, humans=first.n_annotators, judges=len(self.tests),
            score=first.score, eps=first.epsilon, fdr=s.fdr, seed=s.seed, data=first.data,
        )  # fmt: skip

    def summary(self) -> str:
        """Who is best, by how much, and who passes."""
        best = self.tests[self.best].advantage_probability
        lines = [
            f"{self.best} has the largest advantage probability, {shown(best.estimate)} "
            f"[{shown(best.low)}, {shown(best.high)}]."
        ]
        if self.next_best is not None:
            clear = "ahead of" if self.lead_is_clear else "not clearly ahead of"
            lines.append(
                f"It is {clear} {self.next_best}: difference {shown(self.lead.estimate)} "
                f"[{shown(self.lead.low)}, {shown(self.lead.high)}], paired bootstrap."
            )
        passed = [name for name, test in self.tests.items() if test.passed]
        first = next(iter(self.tests.values()))
        lines.append(
            f"{len(passed)} of {len(self.tests)} judges pass the alt-test at epsilon = {first.epsilon:g}"
            + (f": {', '.join(passed)}." if passed else ".")
        )
        if self.ceiling is not None and not self.ceiling.passed:
            lines.append(
                f"Even the optimal judge ({self.ceiling.judge}) does not pass on these data: they are too few to show "
                "that anybody is as good as these annotators."
            )
        return "\n".join([*lines, self.signature])

    def plot(self, ax: Axes | None = None) -> Axes:
        """rho with its interval, a row a judge."""
        rows = self._rows()
        ax = figures.axes(ax, height=1.0 + 0.32 * max(len(rows), 3))
        rho = [t.advantage_probability for _, t, _ in rows]
        colours = [figures.MUTED if k == "ceiling" else figures.PASS if t.passed else figures.JUDGE for _, t, k in rows]
        names = [f"{n} (ceiling)" if k == "ceiling" else n for n, _, k in rows]
        figures.forest(
            ax, names, [r.estimate for r in rho], [r.low for r in rho], [r.high for r in rho], colour=colours
        )  # fmt: skip
        ax.set_xlabel("advantage probability ρ (green: passes)")
        return ax


def compare_judges(labels: Annotations, judges: Sequence[str] | str | None = None, **options: Any) -> JudgeComparison:
    """Which judge is closest to the people, and is it better than the next?

    Parameters
    ----------
    labels : Annotations
        One criterion.
    judges : list of str
        All judges of the table when not given.
    **options
        As in `alt_test`.

    Raises
    ------
    DesignError
        Where the table has no judges.
    """
    settings = Settings.of(options)
    chosen = labels.judges if judges is None else [judges] if isinstance(judges, str) else judges
    names = list(dict.fromkeys(chosen))
    if not names:
        raise DesignError("the table has no judges to compare; name them with judges=[...] when reading")
    table = TestTable.of(labels, settings)
    prepared = [Prepared.of(table, name, table.judge_labels(name)) for name in names]
    estimates, joint = _together(prepared)
    tests = {p.name: conclude(p, e) for p, e in zip(prepared, estimates, strict=True)}
    order = sorted(names, key=lambda n: (-np.nan_to_num(tests[n].advantage_probability.estimate, nan=-1.0), n))
    lead = _lead(joint, [p.name for p in prepared if len(p.tested)], [tests[name] for name in order[:2]])
    answers = {p.name: p.compared.judge for p in prepared}
    traditional, measure = _traditional(table, answers)
    return JudgeComparison(
        tests={name: tests[name] for name in order},
        traditional={name: traditional[name] for name in order},
        traditional_name=measure,
        ceiling=_ceiling(table),
        best=order[0],
        next_best=order[1] if len(order) > 1 else None,
        lead=lead,
        lead_is_clear=bool(lead.low > 0),
    )


@dataclass(frozen=True)
class _SideBySide:
    """rho and every rho_f of several judges, from win counts that stand side by side."""

    n_annotators: tuple[int, ...]
    widths: tuple[int, ...]

    def value(self, sums: Floats) -> Floats:
        """(..., all counts) -> (..., all values)."""
        edges = np.cumsum([0, *self.widths])
        each = zip(self.n_annotators, itertools.pairwise(edges), strict=True)
        return np.concatenate([AdvantageProbability(m).value(sums[..., a:b]) for m, (a, b) in each], axis=-1)


def _together(prepared: list[Prepared]) -> tuple[list[Estimate | None], Estimate | None]:
    """Each judge's estimates, and rho of those that can be tested, under the same resamples.

    Resampling counts are drawn once for all judges; a judge alone has the same ones, and so the same digits.
    """
    settings = prepared[0].table.settings
    testable = [p for p in prepared if len(p.tested)]
    if settings.method == "none" or not testable:
        return [p.estimate() for p in prepared], None
    _, _, unit = prepared[0].table.unit_of_item
    units = [p.units for p in testable]
    statistic = _SideBySide(tuple(len(p.tested) for p in testable), tuple(u.shape[1] for u in units))
    joint = estimate_units(statistic, np.concatenate(units, axis=1), unit=unit, **settings.interval_options)
    edges = np.cumsum([0, *(1 + len(p.tested) for p in testable)])
    parts = iter([joint.part(slice(a, b)) for a, b in itertools.pairwise(edges)])
    return [next(parts) if len(p.tested) else None for p in prepared], joint.part(edges[:-1])


def _lead(joint: Estimate | None, testable: list[str], best: list[AltTest]) -> Interval:
    """rho of the best judge less that of the next, paired; the values of ``joint`` are the testable judges' rho."""
    if len(best) < 2:
        return Interval(np.nan, np.nan, np.nan, np.nan, "there is one judge only")
    first, second = best
    if joint is None or second.judge not in testable:
        difference = first.advantage_probability.estimate - second.advantage_probability.estimate
        return Interval(difference, np.nan, np.nan, np.nan, "a paired difference needs an interval of both judges")
    weights = np.zeros(len(joint))
    weights[[testable.index(first.judge), testable.index(second.judge)]] = 1, -1
    return joint.contrast(weights)[0]


def _ceiling(table: TestTable) -> AltTest | None:
    """The optimal judge of theorem 1, where there is one."""
    if table.settings.fixed_reference:
        return None
    labels = table.score.optimal(table.panel, np.random.default_rng(table.settings.seed))
    return None if labels is None else test_judge(table, f"optimal judge: {CEILING[table.score.name]}", labels)


def _traditional(table: TestTable, judges: Mapping[str, Floats]) -> tuple[dict[str, float], str]:
    """The measure that papers report: accuracy, mean Pearson correlation or mean similarity (table 2)."""
    score, panel = table.score, table.panel
    if isinstance(score, PairwiseScore):
        found = {name: float(np.mean(score.mean_with_humans(panel, judge)[1])) for name, judge in judges.items()}
        return found, "mean_similarity"
    if isinstance(score, NegRMSE):
        return {name: _mean_pearson(table, judge) for name, judge in judges.items()}, "mean_pearson"
    if isinstance(score, Accuracy) or panel.labels is not None:
        found = {}
        for name, judge in judges.items():
            _, credit = majority_share(panel, judge)
            found[name] = float(credit.mean()) if len(credit) else float("nan")
        return found, "accuracy_with_majority"
    return {name: _mean_pearson(table, judge) for name, judge in judges.items()}, "mean_pearson"


def _mean_pearson(table: TestTable, judge: Floats) -> float:
    """Pearson correlation of the judge with each annotator, averaged over those where it is defined."""
    panel = table.panel
    f = judge[panel.item]
    use = ~np.isnan(f)
    who, x, y = panel.annotator[use], f[use], panel.value[use]
    m = panel.n_annotators
    n = np.bincount(who, minlength=m)
    with np.errstate(invalid="ignore", divide="ignore"):
        x = x - (np.bincount(who, x, m) / n)[who]
        y = y - (np.bincount(who, y, m) / n)[who]
        r = np.bincount(who, x * y, m) / np.sqrt(np.bincount(who, x * x, m) * np.bincount(who, y * y, m))
    return float(np.nanmean(r)) if np.isfinite(r).any() else float("nan")
