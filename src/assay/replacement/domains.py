"""The alternative annotator test by criterion, domain or language, and with two disjoint sets of annotators."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunked.chunks import Chunks
from assay.errors import DataError, DesignError, listing, unknown
from assay.estimation.intervals import Estimate
from assay.estimation.options import question_of_two
from assay.estimation.resampling import estimate_sums
from assay.estimation.result import Exclusion, Result, Run
from assay.estimation.statistic import Ints
from assay.replacement import decision, words
from assay.replacement.alt_test import AltTest, choice_cautions, wrap
from assay.replacement.decision import TONES, win_counts
from assay.replacement.panel import AltTestBySettings, AltTestTable, Correction, PairedSettings
from assay.reporting import pictures
from assay.statistics.wins import PairedAdvantage, average_advantage

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class AltTestBy(Result):
    """The alternative annotator test of one judge in each of several domains.

    Attributes
    ----------
    judge, by : str
        The judge, and the column of the domains.
    tests : mapping of domain to AltTest
        In natural order of the domains.
    passed_in, n_domains : int
        The number of domains in which the published rule passes, and of all domains.
    correction : {"across", "within"}
        One Benjamini-Yekutieli correction over the annotators of all domains (the FAQ's advice), or one in
        each domain (as table 5 of the paper was made).
    untested : mapping of domain to str
        Domains that could not be tested, with the reason.
    """

    symbol: ClassVar[str] = "ρ"

    judge: str
    by: str
    tests: Mapping[str, AltTest]
    correction: Correction
    untested: Mapping[str, str]
    run: Run

    @property
    def passed_in(self) -> int:
        """The number of domains in which the published rule passes."""
        return sum(test.passed for test in self.tests.values())

    @property
    def n_domains(self) -> int:
        """The number of domains, including those without a test."""
        return len(self.tests) + len(self.untested)

    @property
    def table(self) -> pl.DataFrame:
        """One row for each domain; ``estimate`` is rho."""
        rows = [
            {
                self.by: name,
                **test.advantage_probability.row(),
                "n": test.n_items,
                "winning_rate": test.winning_rate,
                "passed": test.passed,
                "verdict": test.verdict,
                "annotators": test.n_annotators,
            }
            for name, test in self.tests.items()
        ]
        return pl.DataFrame(rows)

    def row_estimates(self) -> Sequence[Estimate | None]:
        """rho in each domain."""
        return [test.advantage_probability for test in self.tests.values()]

    def summary(self) -> str:
        """Return the verdicts by domain, the published rule, and a line for each domain."""
        return words.domains_summary(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw rho with its interval, a row for each domain."""
        ax = pictures.axes(ax, height=1.0 + 0.3 * max(len(self.tests), 3))
        rho = [t.advantage_probability for t in self.tests.values()]
        colours = [pictures.TONES[TONES[t.verdict]] for t in self.tests.values()]
        pictures.forest(
            ax, list(self.tests), [r.estimate for r in rho], [r.low for r in rho], [r.high for r in rho], colour=colours
        )  # fmt: skip
        ax.set_xlim(min(0.35, ax.get_xlim()[0]), 1.02)
        pictures.tones_legend(ax, {t.verdict_text: TONES[t.verdict] for t in self.tests.values()})
        ax.set_xlabel("advantage probability ρ")
        return ax


@question_of_two(AltTestBySettings)
def alt_test_by(labels: Annotations | Chunks, judge: str, settings: AltTestBySettings) -> AltTestBy:
    """Test whether a judge can replace annotators, in each criterion, domain or language.

    Parameters
    ----------
    labels : Annotations
    judge : str

    Raises
    ------
    DesignError
        If no domain can be tested.

    Examples
    --------
    >>> import assay, polars as pl
    >>> frame = assay.simulate(n_items=120, judges={"gpt": 0.2}, seed=1).to_polars()
    >>> law = pl.col("item").str.slice(-1).is_in(list("01234"))
    >>> labels = assay.read(frame.with_columns(field=pl.when(law).then(pl.lit("law")).otherwise(pl.lit("news"))))
    >>> found = assay.alt_test_by(labels, "gpt", by="field", epsilon=0.2)
    >>> {name: test.verdict for name, test in found.tests.items()}
    {'law': 'replace', 'news': 'replace'}
    """
    return test_domains(labels, judge, settings)


def test_domains(labels: Annotations | Chunks, judge: str, settings: AltTestBySettings) -> AltTestBy:
    """`alt_test_by`, for callers that have its settings."""
    by, correction, each = settings.by, settings.correction, settings.single_test
    labels = labels.in_memory("the alternative annotator test by domain")
    tests: dict[str, AltTest] = {}
    untested: dict[str, str] = {}
    of_condition = labels.column_name(by) in labels.conditions
    for value, part in labels.split(by):
        if value is None and of_condition:
            continue  # labels without the condition are in every domain
        name = str(value)
        try:
            table = AltTestTable.of(part, each)
            found = win_counts(table, [(judge, table.judge_code(judge))])[0]
        except (DesignError, DataError) as problem:
            if judge not in labels.judges:
                raise
            untested[name] = str(problem)
            continue
        tests[name] = wrap(found, domain=f"{by}={name}")
    if not tests and by == "criterion" and labels.humans and judge in labels.judges:
        asked = [labels.where(annotator=[*who]).criteria for who in (labels.humans, [judge])]
        if {*asked[0]}.isdisjoint(asked[1]):
            raise DesignError(words.no_common_criterion(judge, *asked))
    if not tests:
        name, why = next(iter(untested.items()))
        one = f"no {by}" if by == "criterion" else f"no value of '{by}'"
        raise DesignError(f"{one} can be tested; {name}: {why}")
    if correction == "across":
        tests = _correct_domains(tests)
    return AltTestBy(judge, by, tests, correction, untested, _run(settings, labels, judge, tests, untested))


def _run(
    settings: AltTestBySettings, labels: Annotations, judge: str, tests: Mapping[str, AltTest],
    untested: Mapping[str, str],
) -> Run:  # fmt: skip
    """Return the run of the tests of all domains: the labels and their division."""
    divided = hashlib.blake2b(labels.fingerprint.encode(), digest_size=6)
    for name, test in tests.items():
        divided.update(f"\0{name}\0{test.data}".encode())
    first = next(iter(tests.values()))
    facts = {
        "domains": len(tests) + len(untested), "judge": judge, "items": sum(t.n_items for t in tests.values()),
        "score": first.score,
    }  # fmt: skip
    exclusions = [Exclusion("domain", 1, why, (name,)) for name, why in untested.items()]
    cautions = dict.fromkeys(caution for test in tests.values() for caution in test.cautions)
    cautions |= dict.fromkeys(choice_cautions(labels, [judge], settings))
    return Run(
        "alt-test-by", settings, divided.hexdigest(), facts, first.run.interval, tuple(exclusions),
        cautions=tuple(cautions),
    )  # fmt: skip


def _correct_domains(tests: dict[str, AltTest]) -> dict[str, AltTest]:
    """Return the tests with one correction over the annotators of all domains."""
    each = [test.decided for test in tests.values()]
    settings = next(iter(tests.values())).settings
    statistic, p, reverse = (
        np.concatenate([getattr(d, name) for d in each]) for name in ("statistic", "p", "p_reverse")
    )  # fmt: skip
    found = decision.correct(statistic, p, reverse, settings.fdr, tuple(t for d in each for t in d.tests))
    edges = np.cumsum([0, *(len(d.p) for d in each)])
    corrected = {}
    together = decision.adjust_verdict_tests([test.verdict_tests for test in tests.values()])
    among = tuple(test.win_counts for test in tests.values())
    for (name, test), verdict_tests, (a, b) in zip(tests.items(), together, itertools.pairwise(edges), strict=True):
        mine = found.part(slice(int(a), int(b)))
        wins = decision.winning_rate(mine.rejected, test.win_counts.quality)
        losses = decision.winning_rate(mine.rejected_reverse, test.win_counts.quality)
        corrected[name] = replace(
            test,
            decided=mine,
            winning_rate=wins,
            losing_rate=losses,
            passed=bool(decision.passes(wins, settings.threshold)),
            corrected=partial(_same, verdict_tests),
            n_verdicts=len(tests),
            among=among,
        )
    return corrected


def _same(verdict_tests: decision.VerdictTests) -> decision.VerdictTests:
    return verdict_tests


def correct_verdicts(tests: Sequence[AltTest]) -> list[AltTest]:
    """Return the tests with Holm-adjusted verdicts, replacing earlier corrections."""
    found = decision.adjust_verdict_tests([replace(test, corrected=None).verdict_tests for test in tests])
    return [
        replace(test, corrected=partial(_same, verdict_tests), n_verdicts=len(tests))
        for test, verdict_tests in zip(tests, found, strict=True)
    ]


def correct_judges(found: Mapping[str, AltTestBy]) -> dict[str, AltTestBy]:
    """Return the verdicts of several judges by domain, Holm-adjusted together if domains are."""
    if len(found) < 2 or any(result.correction == "within" for result in found.values()):
        return dict(found)
    each = iter(correct_verdicts([test for result in found.values() for test in result.tests.values()]))
    return {judge: replace(one, tests={name: next(each) for name in one.tests}) for judge, one in found.items()}


@dataclass(frozen=True, eq=False)
class PairedAltTest(Result):
    """The alternative annotator test with annotators of disjoint sets paired into combined annotators (FAQ).

    Attributes
    ----------
    judge : str
    winning_rate : float
        Mean of omega over the pairings.
    low, high : float
        The smallest and largest omega of a pairing.
    advantage_probability : Estimate
        rho of the pairings' mean.
    passed : bool
        Whether the mean winning rate reaches the threshold.
    pairings : polars.DataFrame
        One row for each pairing: the first combined annotators, omega, rho, and the number of combined annotators.
    """

    symbol: ClassVar[str] = "ω"
    counted: ClassVar[str] = "pairs"

    judge: str
    winning_rate: float
    low: float
    high: float
    advantage_probability: Estimate
    passed: bool
    pairings: pl.DataFrame
    n_items: int
    epsilon: float
    sets: tuple[tuple[str, ...], ...]
    run: Run

    @property
    def table(self) -> pl.DataFrame:
        """One row for each pairing; ``estimate`` is its winning rate."""
        return self.pairings

    def summary(self) -> str:
        """Return the mean winning rate over the pairings."""
        return words.paired_summary(self)


@question_of_two(PairedSettings)
def alt_test_paired(labels: Annotations | Chunks, judge: str, settings: PairedSettings) -> PairedAltTest:
    """Run the alternative annotator test with two sets of annotators who labelled different items, in pairs.

    Parameters
    ----------
    labels : Annotations
    judge : str

    Raises
    ------
    DesignError
        If there are not two sets of at least 2 annotators, or no combined annotator has enough items.

    Examples
    --------
    >>> import assay, polars as pl
    >>> frame = assay.simulate(n_items=200, n_annotators=4, judges={"gpt": 0.2}, seed=1).to_polars()
    >>> half = pl.col("item").str.slice(-1).is_in(list("01234"))
    >>> first = pl.col("annotator").is_in(["ann_1", "ann_2"])
    >>> labels = assay.read(frame.filter((pl.col("kind") == "judge") | (half == first)))
    >>> found = assay.alt_test_paired(labels, "gpt", [["ann_1", "ann_2"], ["ann_3", "ann_4"]], epsilon=0.2)
    >>> found.table.select("annotators", "estimate").rows()
    [('ann_1 + ann_3; ann_2 + ann_4', 1.0), ('ann_1 + ann_4; ann_2 + ann_3', 1.0)]
    """
    labels = labels.in_memory("the test of paired annotators")
    if settings.clusters is not None:
        raise DesignError("the test of paired annotators requires independent items; omit clusters=...")
    groups, n_pairings, each = _sets_of(labels, settings.sets), settings.n_pairings, settings.single_test
    if not isinstance(settings.sets, str):
        settings = replace(settings, sets=tuple("+".join(group) for group in groups))
    table = AltTestTable.of(labels, replace(each, method="jackknife") if each.method == "none" else each)
    found = win_counts(table, [(judge, table.judge_code(judge))])[0]
    first, second = ([table.humans.index(name) for name in group] for group in groups)
    if len(first) > len(second):
        first, second = second, first
    pairings = _pairings(first, second, n_pairings, np.random.default_rng(settings.seed))
    rows, kept = _pair_rows(table, found.all_counts, np.array(first), pairings)
    if not rows:
        raise DesignError(f"no combined annotator has {settings.min_items} comparable items; lower min_items=...")
    statistic = PairedAdvantage(len(table.humans), np.array(first), np.array(kept))
    units = found.by_unit.reshape(len(found.by_unit), -1)
    estimate = estimate_sums(statistic, units, each, unit=table.units.name, transform="share")
    frame = pl.DataFrame(rows)
    rates = frame["estimate"].to_numpy()
    n_items = int(found.facts[3])
    facts = {"items": n_items, "judge": judge, "pairings": frame.height, "score": table.score.name}
    return PairedAltTest(
        judge=judge,
        winning_rate=float(np.mean(rates)),
        low=float(np.min(rates)),
        high=float(np.max(rates)),
        advantage_probability=estimate[0],
        passed=bool(decision.passes(float(np.mean(rates)), settings.threshold)),
        pairings=frame,
        n_items=n_items,
        epsilon=settings.tolerance,
        sets=groups,
        run=Run("alt-test-paired", settings, table.fingerprint, facts, estimate.describe_intervals()[0]),
    )


MOST_PAIRS = 4
"""Combined annotators that a row names; two sets of thirty people would have rows of 330 characters."""


def _pair_rows(
    table: AltTestTable, counts: np.ndarray, first: Ints, pairings: list[Ints]
) -> tuple[list[dict[str, object]], list[Ints]]:
    """Return the test of each pairing, and the pairings with enough items."""
    s, rows, kept = table.settings, [], []
    for pairing in pairings:
        combined = counts[first] + counts[pairing]
        enough = np.flatnonzero(combined.sum(axis=(1, 2)) >= s.min_items)
        if not len(enough):
            continue
        found = decision.decide(combined[enough], s.tolerance, s.fdr, s.test)
        names = [f"{table.humans[first[k]]} + {table.humans[pairing[k]]}" for k in enough]
        rows.append(
            {
                "annotators": "; ".join(names[:MOST_PAIRS])
                + (f"; and {len(names) - MOST_PAIRS} more" if len(names) > MOST_PAIRS else ""),
                "estimate": decision.winning_rate(found.rejected, np.ones(len(enough))),
                "rho": float(average_advantage(combined[enough])),
                "n": len(enough),
            }
        )
        kept.append(pairing)
    return rows, kept


def _sets_of(labels: Annotations, sets: Sequence[Sequence[str]] | str) -> tuple[tuple[str, ...], ...]:
    """Return the two sets of names; refuse unknown names and names in both."""
    if isinstance(sets, str):
        if sets not in labels.annotators.columns:
            raise DataError(unknown("annotator column", sets, labels.annotators.columns))
        people = labels.annotators.filter(pl.col("kind") == "human").drop_nulls(sets)
        groups = [tuple(g["annotator"].to_list()) for _, g in people.group_by(sets, maintain_order=True)]
    else:
        groups = [tuple(group) for group in sets]
    if len(groups) != 2 or min(map(len, groups)) < 2:
        raise DesignError(
            f"pairing requires two sets of at least 2 annotators; got {listing([len(g) for g in groups]) or 'none'}"
        )
    for name in itertools.chain(*groups):
        if name not in labels.humans:
            raise DataError(unknown("annotator", name, labels.humans, "the annotators of the table"))
    both = set(groups[0]) & set(groups[1])
    if both:
        raise DesignError(f"'{min(both)}' is in both sets")
    return tuple(groups)


def _pairings(first: list[int], second: list[int], most: int, rng: np.random.Generator) -> list[Ints]:
    """Return for each pairing the member of ``second`` that is combined with each of ``first``."""
    total = 1
    for k in range(len(first)):
        total *= len(second) - k
    if total <= most:
        return [np.array(p) for p in itertools.permutations(second, len(first))]
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < most:
        drawn[tuple(rng.permutation(second)[: len(first)].tolist())] = None
    return [np.array(p) for p in drawn]
