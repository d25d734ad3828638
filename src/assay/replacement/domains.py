"""Several criteria, domains or languages in one table, and two sets of annotators that never met."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.errors import DataError, DesignError, listing, unknown
from assay.estimation import Interval, Result, estimate_units, shown, signature
from assay.replacement import decision
from assay.replacement.alignment import Floats, Ints
from assay.replacement.alt_test import AdvantageProbability, AltTest, test_judge
from assay.replacement.panel import LeftOut, Settings, TestTable
from assay.reporting import pictures as figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Across = Literal["across", "within"]


@dataclass(frozen=True, eq=False)
class AltTestBy(Result):
    """The alternative annotator test of one judge in each of several domains.

    Attributes
    ----------
    judge, by : str
        The judge, and the column that tells the domains.
    tests : mapping of domain to AltTest
        In natural order of the domains.
    passed_in, n_domains : int
        "The judge passes the alt-test in X out of Y domains."
    correction : {"across", "within"}
        One Benjamini-Yekutieli correction over the annotators of all domains (the FAQ's advice), or one in
        each domain (as table 5 of the paper was made).
    untested : mapping of domain to str
        Domains that could not be tested, and why.
    left_out : mapping of domain to tuple of LeftOut
        What each domain's test left out.
    """

    symbol: ClassVar[str] = "ρ"

    judge: str
    by: str
    tests: Mapping[str, AltTest]
    correction: Across
    untested: Mapping[str, str]

    @property
    def passed_in(self) -> int:
        """In how many domains the judge passes."""
        return sum(test.passed for test in self.tests.values())

    @property
    def n_domains(self) -> int:
        """How many domains there are, those without a test included."""
        return len(self.tests) + len(self.untested)

    @property
    def left_out(self) -> Mapping[str, tuple[LeftOut, ...]]:
        """What each domain's test left out."""
        return {name: test.left_out for name, test in self.tests.items() if test.left_out}

    @property
    def table(self) -> pl.DataFrame:
        """One row a domain; ``estimate`` is rho."""
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

    @property
    def signature(self) -> str:
        """One line by which two people see whether they computed the same thing."""
        first = next(iter(self.tests.values()))
        s = first.settings
        return signature(
            "alt-test-by", by=self.by, domains=self.n_domains, judge=self.judge, eps=first.epsilon, fdr=s.fdr,
            correction=self.correction, items=sum(t.n_items for t in self.tests.values()), seed=s.seed,
            data="+".join(t.data[:4] for t in self.tests.values()),
        )  # fmt: skip

    def summary(self) -> str:
        """The sentence of the FAQ, and one line a domain."""
        scope = {"across": "across all domains", "within": "within each domain"}[self.correction]
        lines = [
            f"{self.judge} passes the alt-test in {self.passed_in} out of {self.n_domains} ({self.by}; "
            f"Benjamini-Yekutieli {scope})."
        ]
        for name, test in self.tests.items():
            rho = test.advantage_probability
            lines.append(
                f"  {name}: {test.verdict}; winning rate {shown(test.winning_rate)}, advantage probability "
                f"{shown(rho.estimate)} [{shown(rho.low)}, {shown(rho.high)}], {test.n_items} items."
            )
            lines += [f"    left out: {left}." for left in test.left_out]
        lines += [f"  {name}: not tested; {why}" for name, why in self.untested.items()]
        return "\n".join([*lines, self.signature])

    def plot(self, ax: Axes | None = None) -> Axes:
        """rho with its interval, a row a domain."""
        ax = figures.axes(ax, height=1.0 + 0.3 * max(len(self.tests), 3))
        rho = [t.advantage_probability for t in self.tests.values()]
        colours = [figures.PASS if t.passed else figures.MUTED for t in self.tests.values()]
        figures.forest(
            ax, list(self.tests), [r.estimate for r in rho], [r.low for r in rho], [r.high for r in rho], colour=colours
        )  # fmt: skip
        ax.set_xlim(min(0.35, ax.get_xlim()[0]), 1.02)
        ax.set_xlabel("advantage probability ρ (green: passes)")
        return ax


def alt_test_by(
    labels: Annotations, judge: str, *, by: str = "criterion", correction: Across = "across", **options: Any
) -> AltTestBy:
    """In which criteria, domains or languages may the judge stand in for people?

    Parameters
    ----------
    labels : Annotations
    judge : str
    by : str
        A column of the labels, the items or the annotators.
    correction : {"across", "within"}
        One false discovery rate over the annotators of all domains, the FAQ's advice; or one in each
        domain, as the paper's table 5 was made. ``across`` is stricter where few hypotheses are rejected.
    **options
        As in `alt_test`.

    Raises
    ------
    DesignError
        Where no domain can be tested.
    """
    settings = Settings.of(options)
    if correction not in ("across", "within"):
        raise DesignError(f"correction must be 'across' or 'within'; got {correction!r}")
    tests: dict[str, AltTest] = {}
    untested: dict[str, str] = {}
    for value, part in labels.split(by):
        name = str(value)
        try:
            table = TestTable.of(part, settings)
            found = test_judge(table, judge, table.judge_labels(judge))
        except (DesignError, DataError) as problem:
            if judge not in labels.judges:
                raise
            untested[name] = str(problem)
            continue
        tests[name] = replace(found, domain=f"{by}={name}")
    if not tests:
        raise DesignError(f"no {by} can be tested; {next(iter(untested))}: {next(iter(untested.values()))}")
    if correction == "across":
        tests = _corrected_together(tests)
    return AltTestBy(judge, by, tests, correction, untested)


def _corrected_together(tests: dict[str, AltTest]) -> dict[str, AltTest]:
    """The same tests with one correction over the annotators of all of them."""
    rows = pl.concat([t.annotators.with_columns(_domain=pl.lit(name)) for name, t in tests.items()])
    settings = next(iter(tests.values())).settings
    found = decision.correct(
        rows["statistic"].to_numpy(), rows["p"].to_numpy(), rows["p_reverse"].to_numpy(), settings.fdr, ()
    )
    rows = rows.with_columns(
        p_adjusted=found.p_adjusted, rejected=found.rejected, rejected_reverse=found.rejected_reverse
    )
    corrected = {}
    for name, test in tests.items():
        mine = rows.filter(pl.col("_domain") == name).drop("_domain")
        quality = mine["quality"].to_numpy()
        wins = decision.winning_rate(mine["rejected"].to_numpy(), quality)
        losses = decision.winning_rate(mine["rejected_reverse"].to_numpy(), quality)
        corrected[name] = replace(
            test,
            annotators=mine,
            winning_rate=wins,
            losing_rate=losses,
            passed=bool(wins >= settings.threshold),
            verdict=decision.verdict_of(wins, losses, settings.threshold),
        )
    return corrected


@dataclass(frozen=True, eq=False)
class PairedAltTest(Result):
    """The alt-test with annotators of disjoint sets paired into combined annotators (FAQ).

    Attributes
    ----------
    judge : str
    winning_rate : float
        Mean of omega over the pairings.
    low, high : float
        The smallest and largest omega of a pairing.
    advantage_probability : Interval
        rho of the pairings' mean.
    passed : bool
        Whether the mean winning rate reaches the threshold.
    pairings : polars.DataFrame
        One row a pairing: who was combined, omega, rho.
    """

    symbol: ClassVar[str] = "ω"

    judge: str
    winning_rate: float
    low: float
    high: float
    advantage_probability: Interval
    passed: bool
    pairings: pl.DataFrame
    n_items: int
    epsilon: float
    settings: Settings
    sets: tuple[tuple[str, ...], ...]
    data: str

    @property
    def table(self) -> pl.DataFrame:
        """One row a pairing; ``estimate`` is its winning rate."""
        return self.pairings

    @property
    def signature(self) -> str:
        """One line by which two people see whether they computed the same thing."""
        return signature(
            "alt-test-paired", items=self.n_items, sets="+".join(str(len(s)) for s in self.sets), judge=self.judge,
            pairings=self.pairings.height, eps=self.epsilon, fdr=self.settings.fdr, seed=self.settings.seed,
            data=self.data,
        )  # fmt: skip

    def summary(self) -> str:
        """The finding, and that combining annotators is second best."""
        rho = self.advantage_probability
        return (
            f"{self.judge}: mean winning rate {shown(self.winning_rate)} "
            f"(from {shown(self.low)} to {shown(self.high)}) over {self.pairings.height} pairings "
            f"of {' and '.join(str(len(s)) for s in self.sets)} annotators, "
            f"epsilon = {self.epsilon:g}; advantage probability {shown(rho.estimate)} [{shown(rho.low)}, "
            f"{shown(rho.high)}]; {self.n_items} items. Combined annotators mix people and add variance; more items "
            f"by the same people are better.\n{self.signature}"
        )


def alt_test_paired(
    labels: Annotations,
    judge: str,
    sets: Sequence[Sequence[str]] | str,
    *,
    n_pairings: int = 100,
    **options: Any,
) -> PairedAltTest:
    """The alt-test where two sets of people annotated different items: members are paired across the sets.

    Parameters
    ----------
    labels : Annotations
    judge : str
    sets : two lists of names, or a column of ``labels.annotators`` with two values
        The sets. The smaller one decides how many combined annotators there are.
    n_pairings : int
        Pairings drawn with the seed; all of them where there are fewer.
    **options
        As in `alt_test`.

    Raises
    ------
    DesignError
        Where there are not two sets of at least 2 people, or nobody has enough items even when combined.
    """
    settings = Settings.of(options)
    if settings.clusters is not None:
        raise DesignError("the test of paired annotators takes items as independent; leave clusters=... out")
    groups = _sets_of(labels, sets)
    table = TestTable.of(labels, settings)
    compared = table.compare(table.judge_labels(judge))
    everyone = np.arange(len(table.humans))
    units, (_, _, unit) = table.units(compared, everyone), table.unit_of_item
    first, second = ([table.humans.index(name) for name in group] for group in groups)
    if len(first) > len(second):
        first, second = second, first
    pairings = _pairings(first, second, n_pairings, np.random.default_rng(settings.seed))
    counts = units.sum(axis=0).reshape(len(everyone), -1, 3)
    rows = []
    kept: list[Ints] = []
    for pairing in pairings:
        combined = counts[first] + counts[pairing]
        enough = np.flatnonzero(combined.sum(axis=(1, 2)) >= settings.min_items)
        if not len(enough):
            continue
        found = decision.decide(combined[enough], settings.tolerance, settings.fdr, settings.test)
        names = [f"{table.humans[first[k]]} + {table.humans[pairing[k]]}" for k in enough]
        rows.append(
            {
                "annotators": "; ".join(names),
                "estimate": decision.winning_rate(found.rejected, np.ones(len(enough))),
                "rho": float(decision.average_advantage(combined[enough])),
                "n": len(enough),
            }
        )
        kept.append(pairing)
    if not rows:
        raise DesignError(f"even combined, nobody has {settings.min_items} comparable items; set min_items=... lower")
    estimate = estimate_units(
        _Paired(len(everyone), np.array(first), np.array(kept)), units, unit=unit, **settings.interval_options,
    )  # fmt: skip
    frame = pl.DataFrame(rows)
    omega = float(np.mean(frame["estimate"].to_numpy()))
    return PairedAltTest(
        judge=judge,
        winning_rate=omega,
        low=float(np.min(frame["estimate"].to_numpy())),
        high=float(np.max(frame["estimate"].to_numpy())),
        advantage_probability=estimate[0],
        passed=omega >= settings.threshold,
        pairings=frame,
        n_items=len(np.unique(table.panel.item[compared.row])),
        epsilon=settings.tolerance,
        settings=settings,
        sets=groups,
        data=labels.fingerprint,
    )


@dataclass(frozen=True)
class _Paired:
    """rho, averaged over pairings of annotators: their win counts add."""

    n_annotators: int
    first: Ints
    pairings: Ints

    def value(self, sums: Floats) -> Floats:
        """(..., annotators · classes · 3) -> (..., 1)."""
        counts = sums.reshape(*sums.shape[:-1], self.n_annotators, -1, 3)
        each = [
            AdvantageProbability(len(self.first)).value(
                (counts[..., self.first, :, :] + counts[..., pairing, :, :]).reshape(*sums.shape[:-1], -1)
            )[..., :1]
            for pairing in self.pairings
        ]
        return np.asarray(np.mean(each, axis=0))


def _sets_of(labels: Annotations, sets: Sequence[Sequence[str]] | str) -> tuple[tuple[str, ...], ...]:
    """The two sets by name; refused where a name is unknown or in both."""
    if isinstance(sets, str):
        if sets not in labels.annotators.columns:
            raise DataError(unknown("annotator column", sets, labels.annotators.columns))
        people = labels.annotators.filter(pl.col("kind") == "human").drop_nulls(sets)
        groups = [tuple(g["annotator"].to_list()) for _, g in people.group_by(sets, maintain_order=True)]
    else:
        groups = [tuple(group) for group in sets]
    if len(groups) != 2 or min(map(len, groups)) < 2:
        raise DesignError(
            f"pairing needs two sets of at least 2 people; got {listing([len(g) for g in groups]) or 'none'}"
        )
    for name in itertools.chain(*groups):
        if name not in labels.humans:
            raise DataError(unknown("annotator", name, labels.humans, "the people of the table"))
    both = set(groups[0]) & set(groups[1])
    if both:
        raise DesignError(f"'{min(both)}' is in both sets")
    return tuple(groups)


def _pairings(first: list[int], second: list[int], most: int, rng: np.random.Generator) -> list[Ints]:
    """For each pairing, the member of ``second`` that each of ``first`` is combined with."""
    total = 1
    for k in range(len(first)):
        total *= len(second) - k
    if total <= most:
        return [np.array(p) for p in itertools.permutations(second, len(first))]
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < most:
        drawn[tuple(rng.permutation(second)[: len(first)].tolist())] = None
    return [np.array(p) for p in drawn]
