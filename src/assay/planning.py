"""Sample sizes for the alternative annotator test.

`plan_alt_test` applies the alternative annotator test to thousands of studies, simulated from a known truth or drawn
from a pilot, and counts the verdicts. All studies, sizes and values of epsilon are scored at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from itertools import cycle, product
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, Self, TypeVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunked.chunks import Chunks
from assay.errors import DesignError, listing
from assay.estimation.intervals import Estimate, wilson, wilson_estimate
from assay.estimation.options import option, question_alone, seed_option
from assay.estimation.result import Result, Run, json_safe
from assay.estimation.statistic import Bools, Floats, Ints
from assay.replacement import decision
from assay.replacement.panel import BOTH_SET_EPSILON, EPSILON, AltTestSettings, AltTestTable, Expertise, RuleSettings
from assay.replacement.studies import (
    EACH,
    MOST_PANELS,
    OPEN,
    SimulatedStudies,
    about,
    draw_panels,
    grid_of,
    is_conclusive,
    middle,
    range_of,
    score_studies,
    studies_by_panels,
)
from assay.reporting import pictures
from assay.simulation import CATEGORIES, NOISE, LabelSource, simulate
from assay.statistics.wins import average_advantage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

P = ParamSpec("P")
R = TypeVar("R")

SIZES = (30, 50, 75, 100, 150, 200, 300, 500)
"""Default numbers of items: from the paper's minimum to a size that few studies exceed."""

LEVEL = 0.95
"""Confidence level of the intervals of shares of studies."""

EPSILONS = tuple(sorted(EPSILON.values()))
"""The margins for crowd workers, skilled and expert annotators."""

CELLS = 600_000
"""Most labels that are drawn and scored together, about 50 MB, so that memory does not grow with the number of
studies."""

FOREIGN = {
    **dict.fromkeys(("expert", "gold"), "a plan is for panels of annotators who are compared with each other"),
    "clusters": "a plan draws single items",
    **dict.fromkeys(("method", "n_resamples", "confidence"), "a plan has no intervals of rho"),
}
"""Options of the alternative annotator test that a plan does not support, and the reasons."""


@dataclass(frozen=True)
class PlanSettings(RuleSettings):
    """Options of `plan_alt_test`: the assumptions, the sizes of studies, and the test."""

    renamed: ClassVar[Mapping[str, str]] = {**AltTestSettings.renamed, "scale": "categories=..."}

    n_items: int | Sequence[int] = option(
        SIZES,
        "Numbers of items, separated by commas.",
        low=2,
        key="items",
        first=True,
    )
    n_annotators: int | Sequence[int] = option(
        (3,),
        "Numbers of annotators, separated by commas.",
        low=2,
        key="humans",
        always=True,
        first=True,
    )
    _: KW_ONLY
    epsilon: float | Sequence[float] | None = option(
        None, "Values of the margin ε, separated by commas (default: .1, .15 and .2).", low=0, high=1, key="eps",
        always=True, details="The defaults are the paper's values for crowd workers, skilled and expert annotators.",
        first=True,
    )  # fmt: skip
    expertise: Expertise | None = option(
        None, "Annotator type to replace; sets the margin ε: expert 0.2, skilled 0.15, crowd 0.1.", key="", first=True
    )
    annotator_noise: float | Sequence[float] | None = option(
        None, "Probability that an annotator answers at random (default: 0.3).", low=0, high=1,
        details="A random answer is a draw from the prior. With several values, each annotator's noise is drawn from "
        "them.",
        first=True,
    )  # fmt: skip
    judge_noise: float | None = option(
        None, "The same for the judge (default: that of the annotators).", low=0, high=1,
        details="The default is the mean of annotator_noise: a judge with human-level errors.", first=True,
    )  # fmt: skip
    judge_bias: float = option(0.0, "Bias of the judge's labels, in points.", details="On an ordered scale.")
    categories: Any = option(
        None, "Number of categories, or a scale such as 1-5.", details="Default: 4 categories.", first=True
    )
    prior: Sequence[float] | None = option(
        None, "Probability of each label.", low=0, high=1,
        details="Default: drawn from a flat Dirichlet for each study.",
    )  # fmt: skip
    spread: float = option(
        0.0,
        "Standard deviation of a Gaussian error of all raters, in points.",
        low=0,
        details="On an ordered scale.",
    )
    labels_per_item: int | None = option(
        None, "Annotators per item (default: all).", low=2, details="They are drawn at random."
    )
    pilot: Annotations | Chunks | str | None = option(
        None, "Existing labels, from which studies are drawn instead of simulated.", hidden=True,
        details="Panels are drawn from its annotators, and studies from the posterior of the items that the judge and "
        "at least two of the panel labelled. Power is averaged over the middle four fifths of the posterior "
        "(assurance), and a study with any verdict counts. The plan requires further items and annotators like these.",
        first=True,
    )  # fmt: skip
    judge: str | None = option(None, "Judge of the pilot.", details="Required if the pilot has several judges.")
    n_verdicts: int = option(
        1, "Number of verdicts that are Holm-adjusted together: judges times criteria.", low=1, key="verdicts",
        details="Each study is tested at alpha / n_verdicts, the first step of Holm's method: a lower limit of the "
        "power of each verdict.",
    )  # fmt: skip
    power: float = option(0.8, "Required power.", above=0, below=1, details="For `AltTestPlan.smallest`.", first=True)
    n_studies: int = option(
        1000, "Number of simulated studies.", low=1, key="studies", always=True,
        details="For each number of annotators. All sizes and margins use the same studies (a study of 50 items is the "
        "first 50 items of one of 500), so that differences between them have little Monte Carlo error.",
    )  # fmt: skip
    seed: int = seed_option(always=True)

    @classmethod
    def of(cls, options: Mapping[str, Any], question: str | None = None) -> Self:
        """Return settings from keyword options; unsupported options of the test are refused with the reason."""
        for name, why in FOREIGN.items():
            if options.get(name) is not None:
                raise DesignError(f"{why}; omit {name}=...", option=name)
        return super().of({k: v for k, v in options.items() if k not in FOREIGN}, question)

    def __post_init__(self) -> None:
        for name in ("n_items", "n_annotators", "epsilon", "annotator_noise", "prior"):
            if (given := getattr(self, name)) is None:
                continue
            drawn = name in ("annotator_noise", "prior")  # their order matters
            made = tuple(np.atleast_1d(given).tolist()) if drawn else _ascending_values(given)
            object.__setattr__(self, name, made)
            if not made:
                raise DesignError(f"{name} is empty; give at least one number", option=name)
        super().__post_init__()
        if self.epsilon is not None and self.expertise is not None:
            raise DesignError(BOTH_SET_EPSILON)
        if self.epsilon is None:
            chosen = EPSILONS if self.expertise is None else (EPSILON[self.expertise],)
            object.__setattr__(self, "epsilon", chosen)
            object.__setattr__(self, "expertise", None)
        assert self.alt_test  # refuses incompatible options

    @property
    def alt_test(self) -> AltTestSettings:
        """The options of the test of each study, with the first epsilon."""
        shared = {f.name: getattr(self, f.name) for f in fields(RuleSettings)}
        return AltTestSettings(**shared, epsilon=self.epsilons[0], seed=self.seed)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of items, ascending."""
        return _ascending_values(self.n_items)

    @property
    def panels(self) -> tuple[int, ...]:
        """Numbers of annotators, ascending."""
        return _ascending_values(self.n_annotators)

    @property
    def epsilons(self) -> tuple[float, ...]:
        """Values of epsilon, ascending."""
        return _ascending_values(self.epsilon)

    def signed(self) -> dict[str, str]:
        """Return the options of the plan, then those of the test."""
        tests = {k: v for k, v in self.alt_test.signed().items() if k not in ("eps", "seed")}
        own = {k: v for k, v in super().signed().items() if k not in tests}
        return own | tests


def _ascending_values(given: Any) -> tuple[Any, ...]:
    """One number, or different numbers in ascending order."""
    return tuple(sorted(set(given))) if isinstance(given, list | tuple | np.ndarray) else (given,)


@dataclass(frozen=True, eq=False)
class AltTestPlan(Result):
    """The verdicts of studies of several sizes, under the assumptions.

    Attributes
    ----------
    outcomes : polars.DataFrame
        One row per number of annotators, epsilon and number of items, see `table`.
    ranges : tuple of mapping
        The range of the number of items for each number of annotators and epsilon, from a pilot.
    power : float
        The required power, for `smallest`.
    score : str
        The score that compares two labels.
    n_studies : int
        Studies of every row.
    assumptions : tuple of str
        The assumptions of the simulation or of the pilot.
    run : Run
        Every option, including those of the test.
    """

    outcomes: pl.DataFrame = field(metadata={"json": False})
    ranges: tuple[Mapping[str, Any], ...] = field(metadata={"json": False})
    power: float
    score: str
    n_studies: int
    assumptions: tuple[str, ...]
    run: Run

    counted: ClassVar[str] = "studies"

    @property
    def table(self) -> pl.DataFrame:
        """One row per number of annotators, epsilon and number of items.

        ``estimate`` is the power, the share of studies with the verdict *Replace*. With a pilot it is the assurance:
        the share with a conclusive verdict, averaged over the middle four fifths of the pilot's posterior, as are the
        shares of the verdicts; ``passes``, ``winning_rate`` and ``advantage_probability`` use all of it. ``low`` and
        ``high`` are its 95% Wilson interval for the number of studies ``n``.
        ``replace``, ``do_not_replace``, ``mixed`` and ``undecided`` are the shares of the verdicts, ``passes`` the
        share of studies that pass the published rule. ``winning_rate`` and ``advantage_probability`` are the means of
        omega and rho over the studies in which an annotator has enough items, NaN if there are none.
        """
        return self.outcomes

    @property
    def confidence(self) -> float:
        """Level of the intervals in `table`."""
        return LEVEL

    def row_estimates(self) -> Sequence[Estimate | None]:
        """The power in each row, with Wilson's interval."""
        per_trial = (TruthSource if self.settings.pilot is None else PilotSource).per_trial
        rows = self.outcomes.select("estimate", "low", "high", pl.col("n") / per_trial)
        return [wilson_estimate(*row) for row in rows.iter_rows()]

    @property
    def smallest(self) -> pl.DataFrame:
        """The smallest of the numbers of items with the required power: one row per epsilon and number of annotators.

        ``n_items`` is null if no size has it. With a pilot ``low`` and ``high`` are its 80% range, null beyond the
        sizes of the plan. Without a pilot there is no range, because the assumptions are not estimated.
        """
        enough = self.outcomes.filter(pl.col("estimate") >= self.power)
        key = ["n_annotators", "epsilon"]
        found = (
            self.outcomes.select(key)
            .unique(maintain_order=True)
            .join(enough.group_by(key).agg(pl.col("n_items").min()), on=key, how="left", maintain_order="left")
        )
        if not self.ranges:
            return found
        ends = pl.DataFrame(self.ranges, schema_overrides={"low": pl.Int64, "high": pl.Int64}, infer_schema_length=None)
        return found.join(ends, on=key, how="left", maintain_order="left")

    def summary(self) -> str:
        """Return the assumptions, a table of the power, and the smallest sufficient sizes."""
        lines = [
            f"Assurance: the share of {self.n_studies:,} studies with a conclusive verdict, averaged over the middle "
            "four fifths of the pilot's posterior."
            if self.ranges
            else f"Power: the share of {self.n_studies:,} studies with the verdict Replace."
        ]
        lines += [f"{line}." for line in self.assumptions]
        lines.append(
            f"Verdict at α = {self.settings.alpha:g}: non-inferior to {100 * self.settings.threshold:g}% of annotators "
            f"and agreement ratio above {self.settings.min_agreement_ratio:g}; score {self.score}"
            f"{_adjusted(self.settings.n_verdicts)}. "
            f"Monte Carlo error at most {1.96 * 0.5 / np.sqrt(self.n_studies):.2f}."
        )
        for (annotators,), part in self.outcomes.group_by("n_annotators", maintain_order=True):
            wide = part.sort("epsilon").pivot("epsilon", index="n_items", values="estimate").sort("n_items")
            lines += ["", f"{annotators} annotators"]
            lines.append("  items" + "".join(f"{f'ε = {float(e):g}':>10}" for e in wide.columns[1:]))
            lines += [
                f"{size:>7}" + "".join(f"{_below(v, self.power):>10}" for v in values)
                for size, *values in wide.iter_rows()
            ]
        lines.append("")
        power = "assurance" if self.ranges else "power"
        for row in self.smallest.iter_rows(named=True):
            setting = f"(ε = {row['epsilon']:g}, {row['n_annotators']} annotators)"
            if row["n_items"] is None:
                lines.append(f"None of these sizes gives {power} {self.power:.2f} or more {setting}.")
                continue
            (there,) = self.outcomes.filter(
                (pl.col("n_annotators") == row["n_annotators"]) & (pl.col("epsilon") == row["epsilon"]),
                n_items=row["n_items"],
            ).iter_rows(named=True)
            lines.append(
                f"{row['n_items']:,} items{_range(row, self.settings.sizes[0])} give {power} {there['estimate']:.2f}, "
                f"at least {self.power:.2f} {setting}; Do not replace {there['do_not_replace']:.2f}, Undecided "
                f"{there['undecided']:.2f}."
            )
        if not self.ranges:
            lines.append("Based on assumed error rates, so no interval.")
            lines.append(
                "A judge exactly at the margin ε is Undecided in most studies, of any size: a study without Replace is "
                "seldom one with Do not replace."
            )
        return "\n".join([*lines, *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw power against the number of items, by epsilon (colour) and number of annotators (line style)."""
        panels = self.outcomes["n_annotators"].unique(maintain_order=True).to_list()
        ax = pictures.axes(ax, width=5.6 if len(panels) == 1 else 7.2, height=3.4)
        epsilons = self.outcomes["epsilon"].unique(maintain_order=True).to_list()
        for (k, style), (e, colour) in product(
            zip(panels, cycle(["-", "--", ":", "-."]), strict=False),
            zip(epsilons, cycle(pictures.PALETTE), strict=False),
        ):
            part = self.outcomes.filter((pl.col("n_annotators") == k) & (pl.col("epsilon") == e)).sort("n_items")
            panel = f", {k} annotators" if len(panels) > 1 else ""
            ax.plot(
                part["n_items"], part["estimate"], color=colour, linestyle=style, marker="o", markersize=3.5,
                label=f"ε = {e:g}{panel}",
            )  # fmt: skip
            ax.fill_between(part["n_items"], part["low"], part["high"], color=colour, alpha=0.12, linewidth=0)
        ax.axhline(self.power, color=pictures.MUTED, linewidth=1, linestyle=":")
        ax.set_xlabel("items" if len(panels) > 1 else f"items, {panels[0]} annotators")
        ax.set_ylabel("assurance: P(conclusive verdict)" if self.ranges else "power: P(Replace)")
        ax.set_ylim(-0.03, 1.05)
        pictures.legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(3, len(panels) * len(epsilons)))
        return ax

    def to_dict(self) -> dict[str, Any]:
        """Return all results as JSON-compatible values."""
        return {**super().to_dict(), "smallest": json_safe(self.smallest)}

    @property
    def settings(self) -> PlanSettings:
        """Every option."""
        assert isinstance(self.run.settings, PlanSettings)
        return self.run.settings


@question_alone(PlanSettings)
def plan_alt_test(settings: PlanSettings) -> AltTestPlan:
    """Estimate the number of items and annotators that the alternative annotator test needs.

    Studies are simulated, ``prior · noise + (1 − noise) · truth`` for every label, or drawn from a pilot, and each
    study is tested. Without a pilot the result depends on the assumed noise.

    Returns
    -------
    AltTestPlan

    Raises
    ------
    DesignError
        For incompatible options, or a pilot with too few annotators.

    Examples
    --------
    >>> import assay
    >>> plan = assay.plan.alt_test((30, 50, 100), annotator_noise=0.3, judge_noise=0.2, epsilon=(0.1, 0.2), seed=1)
    >>> plan.table.select("n_items", "epsilon", "estimate").rows()
    [(30, 0.1, 0.281), (50, 0.1, 0.584), (100, 0.1, 0.897), (30, 0.2, 0.592), (50, 0.2, 0.88), (100, 0.2, 0.992)]
    >>> plan.smallest.rows()
    [(3, 0.1, 100), (3, 0.2, 50)]

    A judge that answers at random on 20% of the items, with annotators who do so on 30%, gets *Replace* in 90% of
    studies with 100 items at epsilon .1. At epsilon .2, 50 items are sufficient for a power of 80%.
    """
    source: TruthSource | PilotSource
    if settings.pilot is None:
        source = TruthSource.of(settings)
    else:
        source = PilotSource.of(settings)
        settings = replace(settings, pilot=source.pilot)
    found = {n: StudyEnds.of(source.studies(n, settings), settings, source.each) for n in settings.panels}
    notes = dict.fromkeys(note for n, ends in found.items() for note in ends.notes(n))
    score = source.table.score.name
    facts = {"score": score, "of": source.name}
    return AltTestPlan(
        outcomes=pl.concat([ends.frame(n) for n, ends in found.items()]),
        ranges=tuple(row for n, ends in found.items() for row in ends.ranges(n)),
        power=settings.power,
        score=score,
        n_studies=next(iter(found.values())).n,
        assumptions=source.assumptions(),
        run=Run("plan-alt-test", settings, source.table.fingerprint, facts, notes=tuple(notes)),
    )


# -- the source of studies --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TruthSource:
    """Studies with a known truth."""

    each: ClassVar[int] = 1
    """Consecutive studies with the same truth."""
    per_trial: ClassVar[float] = 1.0
    """Number of studies with the information of one independent study."""

    table: AltTestTable
    name: str
    source: LabelSource
    noise: Floats
    judge_noise: float
    settings: PlanSettings

    @classmethod
    def of(cls, settings: PlanSettings) -> TruthSource:
        """Return the source after checking the assumptions."""
        s = settings
        if s.judge is not None:
            raise DesignError("judge=... requires a pilot=...; describe a simulated judge with judge_noise=...")
        if s.normalise is not None or s.quality is not None:
            raise DesignError("normalise=... and quality=... require real annotators; add pilot=...")
        noise = np.atleast_1d(np.asarray(NOISE if s.annotator_noise is None else s.annotator_noise, dtype=float))
        judged = float(noise.mean()) if s.judge_noise is None else s.judge_noise
        source = LabelSource.of(CATEGORIES if s.categories is None else s.categories, s.prior, s.spread)
        # A table of two items, to check the options about labels.
        bias = {"judge": s.judge_bias} if s.judge_bias else None
        template = simulate(2, 2, scale=source.scale, prior=s.prior, spread=s.spread, bias=bias)
        table = AltTestTable.of(template, s.alt_test)
        return cls(table, f"{source.scale.spec} noise {_list(noise)} vs {judged:g}", source, noise, judged, s)

    def studies(self, n_annotators: int, settings: PlanSettings) -> Iterator[SimulatedStudies]:
        """Yield studies in blocks; the first items of a study are a smaller study."""
        for values, judge in self.labels(n_annotators, settings.sizes[-1], settings.n_studies, settings.seed):
            quality = np.ones((len(values), n_annotators))
            yield score_studies(self.table.rule, values, judge, quality, settings.sizes, settings.min_agreement_ratio)

    def labels(self, n_annotators: int, n_items: int, n_studies: int, seed: int) -> Iterator[tuple[Floats, Floats]]:
        """Yield blocks of labels: (studies, items, annotators), NaN if missing, and the judge's: (studies, items).

        Annotators are drawn for the largest panel; smaller panels are the first of them.
        """
        most = max(self.settings.panels)
        step = max(1, CELLS // (n_items * most))
        for block, start in enumerate(range(0, n_studies, step)):
            n = min(step, n_studies - start)
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(block,)))
            cumulative = self.source.priors(rng, n)
            truth = self.source.draw(rng.random((n, n_items)), cumulative)
            noise = rng.choice(self.noise, (n, 1, most))
            bias = np.array([self.settings.judge_bias])
            judge = self.source.answer(rng, truth, cumulative, np.array([self.judge_noise]), bias)[..., 0]
            values = self.source.answer(rng, truth, cumulative, noise)
            answering = rng.random(values.shape)[..., :n_annotators]
            values = self.source.values(values[..., :n_annotators])
            if self.settings.labels_per_item is not None:
                values[answering.argsort(axis=2).argsort(axis=2) >= self.settings.labels_per_item] = np.nan
            yield values, self.source.values(judge)

    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions, in words."""
        s, source = self.settings, self.source
        lines = [
            f"Simulated studies, labels {source.scale.describe()}; annotator noise {_list(self.noise)}, judge noise "
            f"{self.judge_noise:g}" + (f", judge bias {s.judge_bias:+g}" if s.judge_bias else "")
        ]
        if source.categories is not None and source.prior is None:
            lines.append("The prior of the labels is drawn for each study from a flat Dirichlet")
        elif source.categories is not None:
            lines.append("Prior of the labels " + _list(np.array(source.prior)))
        if source.spread:
            lines.append(f"Every label has a Gaussian error with standard deviation {source.spread:g}")
        if s.labels_per_item is not None:
            lines.append(f"Each item is labelled by {s.labels_per_item} annotators, drawn at random")
        return tuple(lines)


ASSUMED = ("annotator_noise", "judge_noise", "judge_bias", "categories", "prior", "spread", "labels_per_item")
"""Options that describe simulated labels."""


@dataclass(frozen=True, eq=False)
class PilotSource:
    """Studies drawn from the posterior of existing labels."""

    each: ClassVar[int] = EACH
    per_trial: ClassVar[float] = EACH / OPEN

    table: AltTestTable
    name: str
    judge: str
    pilot: str
    """Fingerprint of the labels."""

    @classmethod
    def of(cls, settings: PlanSettings) -> PilotSource:
        """Return the source after checking the pilot."""
        if isinstance(settings.pilot, str):
            raise DesignError("pilot=... requires labels from assay.read(...)", option="pilot")
        assert settings.pilot is not None
        pilot, defaults = settings.pilot.in_memory("a plan from a pilot"), PlanSettings()
        for name in ASSUMED:
            if getattr(settings, name) != getattr(defaults, name):
                raise DesignError(f"{name}=... is for simulated labels; omit it with a pilot", option=name)
        table, judge, most = AltTestTable.of(pilot, settings.alt_test), settings.judge, max(settings.panels)
        if judge is None:
            if len(pilot.judges) != 1:
                raise DesignError(
                    f"the pilot has {len(pilot.judges)} judges ({listing(pilot.judges)}); specify one with judge=..."
                )
            judge = pilot.judges[0]
        if most > len(table.humans):
            raise DesignError(
                f"the pilot has {len(table.humans)} annotators, too few for panels of {most}; plan for fewer, or "
                "simulate with annotator_noise=..."
            )
        table.judge_code(judge)  # refuses unknown judges
        return cls(table, f"pilot {pilot.fingerprint} judge {judge}", judge, pilot.fingerprint)

    def studies(self, n_annotators: int, settings: PlanSettings) -> Iterator[SimulatedStudies]:
        """Yield studies in blocks; the first items of a study are a smaller study."""
        rng, judge = np.random.default_rng(settings.seed), self.table.judge_labels(self.judge)
        n_truths = math.ceil(settings.n_studies / EACH)
        answered = ~np.isnan(grid_of(self.table, judge))
        drawn = draw_panels(answered, n_annotators, min(n_truths, MOST_PANELS), rng)
        members, times = np.unique(drawn.members, axis=0, return_counts=True)
        ends = np.rint(n_truths * np.cumsum(times) / times.sum()).astype(int)
        each = np.diff(ends, prepend=0).tolist()
        yield from studies_by_panels(self.table, judge, members, each, settings.sizes, rng)

    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions, in words."""
        people = ~np.isnan(grid_of(self.table, self.table.judge_labels(self.judge)))
        shared = int((np.count_nonzero(people, axis=1) >= 2).sum())
        return (
            f"Panels and items drawn from a pilot of {shared:,} items by {len(self.table.humans)} annotators, judge "
            f"{self.judge}; assumes that further items and annotators are like these",
        )


# -- verdicts of studies ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StudyEnds:
    """The verdicts of studies with a panel.

    Attributes
    ----------
    settings : PlanSettings
    each : int
        Consecutive studies with the same truth.
    ends : (epsilons, studies, sizes) int
        The verdict, as its position in `decision.VERDICTS`.
    winning : (epsilons, studies, sizes) float
        omega, 0 if no annotator is tested.
    passing : (epsilons, studies, sizes) bool
        Whether the judge passes the published rule.
    rho, tested : (studies, sizes) float
        The advantage probability, NaN if no annotator is tested; the share of tested annotators.
    ranked : (studies, sizes) bool
        Whether an annotator has a signed-rank test.
    """

    settings: PlanSettings
    each: int
    ends: Ints
    winning: Floats
    passing: Bools
    rho: Floats
    tested: Floats
    ranked: Bools

    @classmethod
    def of(cls, blocks: Iterator[SimulatedStudies], settings: PlanSettings, each: int) -> StudyEnds:
        """Test every block of studies at every epsilon."""
        found = [_end_studies(block, settings) for block in blocks]
        return cls(settings, each, *(np.concatenate(parts, axis=-2) for parts in zip(*found, strict=True)))

    @property
    def n(self) -> int:
        """The number of studies."""
        return len(self.rho)

    @property
    def assured(self) -> bool:
        """Whether power is averaged over the posterior of a pilot."""
        return self.settings.pilot is not None

    @property
    def by_truth(self) -> Floats:
        """The share of studies of each truth with a conclusive verdict: (epsilons, truths, sizes)."""
        epsilons, _, sizes = self.ends.shape
        return np.asarray(is_conclusive(self.ends).reshape(epsilons, -1, self.each, sizes).mean(axis=2))

    def _share(self, of: Bools) -> Floats:
        """The share of studies, of the middle truths of a pilot: (epsilons, sizes) of (epsilons, studies, sizes)."""
        if not self.assured:
            return np.asarray(of.mean(axis=1))
        epsilons, _, sizes = of.shape
        return middle(self.by_truth, of.reshape(epsilons, -1, self.each, sizes).mean(axis=2))

    def frame(self, n_annotators: int) -> pl.DataFrame:
        """Return one row per epsilon and number of items."""
        sizes, epsilons, n = self.settings.sizes, self.settings.epsilons, self.n
        passed, failed, differ, open_ = (self._share(self.ends == v) for v in range(len(decision.VERDICTS)))
        wanted = middle(self.by_truth) if self.assured else passed
        low, high = wilson(wanted, n / (PilotSource if self.assured else TruthSource).per_trial, LEVEL)
        known = np.count_nonzero(~np.isnan(self.rho), axis=0)
        with np.errstate(invalid="ignore"):
            omega, rho = self.winning.sum(axis=1) / known, np.nansum(self.rho, axis=0) / known
        columns = {
            "n_annotators": np.full(passed.size, n_annotators),
            "epsilon": np.repeat(epsilons, len(sizes)),
            "n_items": np.tile(sizes, len(epsilons)),
            "estimate": wanted,
            "low": low,
            "high": high,
            "n": np.full(passed.size, n),
            "replace": passed,
            "do_not_replace": failed,
            "mixed": differ,
            "undecided": open_,
            "passes": self.passing.mean(axis=1),
            "winning_rate": omega,
            "advantage_probability": np.tile(rho, len(epsilons)),
        }
        return pl.DataFrame({name: np.ravel(column) for name, column in columns.items()})

    def ranges(self, n_annotators: int) -> list[dict[str, Any]]:
        """Return the range of the number of items at each epsilon, if studies are drawn from a pilot."""
        if not self.assured:
            return []
        s, rows = self.settings, []
        for epsilon, shares in zip(s.epsilons, self.by_truth, strict=True):
            ends = range_of(np.array(s.sizes), shares, s.power)
            low, high = (about(end) if np.isfinite(end) else None for end in ends)
            rows.append({"n_annotators": n_annotators, "epsilon": epsilon, "low": low, "high": high})
        return rows

    def notes(self, n_annotators: int) -> list[str]:
        """Return notes on the tests of these studies."""
        s, notes, tested = self.settings, [], self.tested.mean(axis=0)
        few = [(size, share) for size, share in zip(s.sizes, tested, strict=True) if share < 1 - 1e-9]
        if few:
            shown = ", ".join(f"{100 * (1 - share):.0f}% at {size} items" for size, share in few)
            notes.append(
                f"some of {n_annotators} annotators have fewer than {s.min_items} comparable items and are not tested "
                f"({shown})"
            )
        if n_annotators < 3:
            notes.append("with fewer than three annotators there is no consensus to compare with")
        by_rank = [size for size, some in zip(s.sizes, np.atleast_1d(self.ranked.any(axis=0)), strict=True) if some]
        if by_rank:
            notes.append(
                f"studies with {listing(by_rank)} items use signed-rank tests (fewer than 30 items of an annotator), "
                "whose error rate is far above the level and which depend little on epsilon; test='exact' has the "
                "stated error rate (docs/type-one-error.md)"
            )
        return notes


def _end_studies(studies: SimulatedStudies, settings: PlanSettings) -> tuple[Any, ...]:
    """The arrays of `StudyEnds` for a block of studies."""
    s = settings.alt_test
    tested = studies.tested(s)
    counts = np.where(tested[..., None, None], studies.counts, 0.0)
    weight = studies.quality[:, None, :] * tested
    weight = weight / np.maximum(weight.sum(axis=-1, keepdims=True), 1e-300)
    ranked = decision.uses_ranks(counts, s.test)
    ends, winning = [], []
    for epsilon in settings.epsilons:
        p = decision.winning_p(counts, epsilon, s.test)
        if ranked.any():
            p[ranked] = decision.wilcoxon_p(counts[ranked][:, 0], epsilon)[0]
        winning.append((decision.by_rejects(p, s.fdr) * weight).sum(axis=-1))
        ends.append(studies.ends(s, epsilon, s.level / settings.n_verdicts))
    passing = decision.passes(np.array(winning), s.threshold) & tested.any(axis=-1)
    rho = average_advantage(counts)
    return np.array(ends), np.array(winning), passing, rho, tested.mean(axis=-1), ranked.any(axis=-1)


# -- words ------------------------------------------------------------------------------------------


def _below(value: float, power: float) -> str:
    """A power with two digits; with a third one, rounded down, if two would round it up to the required power."""
    if value < power <= round(value, 2):
        return f"{math.floor(1000 * value) / 1000:.3f}"
    return f"{value:.2f}"


def _range(row: Mapping[str, Any], least: int) -> str:
    """The range of a number of items, in words; ``least`` is the smallest size of the plan."""
    if "low" not in row:
        return ""
    low, high = row["low"], row["high"]
    if low is None:
        return " (80% range: above these sizes)"
    if low <= least:  # power at the smallest size: how many fewer items suffice is not known
        return " (80% range: beyond these sizes at both ends)" if high is None else f" (80% range: up to {high:,})"
    if high is None:
        return f" (80% range: {low:,} or more)"
    return f" (80% range: {low:,}–{high:,})"


def _adjusted(n_verdicts: int) -> str:
    """The adjustment for several verdicts, in words."""
    return f"; Holm-adjusted for {n_verdicts} verdicts" if n_verdicts > 1 else ""


def _list(values: Floats) -> str:
    """Numbers as a list, without trailing zeros."""
    return ",".join(f"{v:g}" for v in np.ravel(values))
