"""How many items and annotators are enough?

`plan_alt_test` puts the alternative annotator test to thousands of studies, simulated from a known truth or
drawn from a pilot, and counts how each ends. All studies, sizes and values of epsilon are scored at once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, product
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Unpack

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunks import in_memory
from assay.data.scales import Scale
from assay.errors import DesignError, listing
from assay.estimation.intervals import wilson
from assay.estimation.options import Settings, option
from assay.estimation.result import Result, Run, json_safe
from assay.estimation.statistic import Bools, Floats
from assay.replacement import decision
from assay.replacement.closeness import MOST
from assay.replacement.panel import EPSILON, AltTestSettings, AltTestTable, Expertise, PlanOptions, Test
from assay.replacement.studies import (
    EACH,
    MOST_PANELS,
    SimulatedStudies,
    about,
    draw_panels,
    pilot_of_panel,
    range_of,
    score_studies,
    settles,
)
from assay.reporting import pictures
from assay.simulation import CATEGORIES, NOISE, LabelSource, simulate
from assay.statistics.wins import average_advantage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = (30, 50, 75, 100, 150, 200, 300, 500)
"""Numbers of items that a plan looks at unless told otherwise."""

EPSILONS = tuple(sorted(EPSILON.values()))
"""Crowd, skilled and expert, side by side."""

CELLS = 600_000
"""Labels that are drawn and scored together, so that memory does not grow with the number of studies."""

STUDY_CELLS = 4_000_000
"""Kinds of items that are drawn together from a pilot."""

FOREIGN = {
    **dict.fromkeys(("expert", "gold"), "a plan is about panels of people who are compared with each other"),
    "clusters": "a plan draws single items",
    **dict.fromkeys(("method", "n_resamples", "confidence"), "a plan makes no intervals of rho"),
}
"""Options of the alt-test that a plan cannot honour, and why."""


@dataclass(frozen=True)
class PlanSettings(Settings):
    """Options of `plan_alt_test` besides those of the alt-test itself."""

    n_items: tuple[int, ...] = option(SIZES, "Numbers of items to look at, separated by commas.", low=2, key="items")
    n_annotators: tuple[int, ...] = option(
        (3,), "Numbers of annotators to look at, separated by commas.", low=2, key="humans", always=True
    )
    epsilon: tuple[float, ...] = option(
        EPSILONS, "Values of epsilon, separated by commas; .1, .15 and .2 when not given.", low=0, high=1, key="eps",
        always=True,
    )  # fmt: skip
    annotator_noise: tuple[float, ...] | None = option(
        None, "Probability that a person answers at random, 0.3 unless told otherwise.", low=0, high=1
    )
    judge_noise: float | None = option(None, "The same for the judge; as a person's when not given.", low=0, high=1)
    judge_bias: float = option(0.0, "How far the judge's labels lie too high, in points.")
    scale: Any = option(None, "How many categories, or a scale such as 1-5.")
    prior: tuple[float, ...] | None = option(None, "Probability of each label.", low=0, high=1, hidden=True)
    spread: float = option(0.0, "Standard deviation of everybody's error, in points.", low=0)
    labels_per_item: int | None = option(None, "People who answer each item; all of them when not given.", low=2)
    pilot: str | None = option(None, "Fingerprint of the labels at hand.", hidden=True)
    judge: str | None = option(None, "The judge of the pilot.")
    alt_test: AltTestSettings = option(AltTestSettings(epsilon=0.1), hidden=True)
    power: float = option(0.8, "The power wanted.", above=0, below=1)
    n_studies: int = option(1000, "Simulated studies.", low=1, key="studies", always=True)
    seed: int = option(0, "Same seed, same numbers.", low=0, always=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("n_items", "n_annotators", "epsilon", "annotator_noise"):
            if getattr(self, name) == ():
                raise DesignError(f"{name} is empty; give at least one number")

    def signed(self) -> dict[str, str]:
        """The options of the plan, and those of the alt-test."""
        own = super().signed()
        own.pop("alt_test", None)
        tests = {k: v for k, v in self.alt_test.signed().items() if k not in ("eps", "seed")}
        return own | tests


@dataclass(frozen=True, eq=False)
class AltTestPlan(Result):
    """How studies of several sizes would end, if the assumptions hold.

    Attributes
    ----------
    outcomes : polars.DataFrame
        One row a number of annotators, epsilon and number of items, see `table`.
    ranges : tuple of mapping
        The range of the number of items for each number of annotators and epsilon, from a pilot.
    power : float
        The power that is wanted, for `smallest`.
    score : str
        How labels were compared.
    n_studies : int
        Studies behind every row.
    assumptions : tuple of str
        What was simulated or drawn, in words.
    run : Run
        Every option, those of the alt-test too.
    """

    outcomes: pl.DataFrame = field(metadata={"json": False})
    ranges: tuple[Mapping[str, Any], ...] = field(metadata={"json": False})
    power: float
    score: str
    n_studies: int
    assumptions: tuple[str, ...]
    run: Run

    @property
    def table(self) -> pl.DataFrame:
        """One row a number of annotators, epsilon and number of items.

        ``estimate`` is the power, the share of studies that end in *replace*; with a pilot it is the assurance, the
        share that ends in a verdict either way, averaged over what the pilot leaves open. ``low`` and ``high`` are its
        95% Wilson interval for the number of studies; ``n`` counts them. ``replace``, ``do_not_replace``,
        ``people_differ`` and ``cannot_tell`` are the shares of the verdicts, ``passes`` that of studies in which the
        judge passes as published; ``winning_rate`` and ``advantage_probability`` are the means of omega and rho over
        the studies in which anybody has enough items, NaN where there are none.
        """
        return self.outcomes

    @property
    def smallest(self) -> pl.DataFrame:
        """The smallest number of items, of those looked at, with the power wanted: one row an epsilon and panel.

        ``n_items`` is null where none of them has it. With a pilot ``low`` and ``high`` are its range: with probability
        .8 so many items have that power in truth, null beyond the sizes looked at. Without one there is no range: what
        is assumed is not estimated.
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
        """The assumptions, the power as a table, and the smallest sufficient sizes."""
        lines = [
            f"Assurance of the alt-test: the share of {self.n_studies:,} studies that end in a verdict, 'replace' or "
            "not, averaged over what the pilot leaves open."
            if self.ranges
            else f"Power of the alt-test: the share of {self.n_studies:,} studies that end in 'replace'."
        ]
        lines += [f"{line}." for line in self.assumptions]
        lines.append(
            f"Decided at level {self.alt_test.alpha:g}: as good as {100 * self.alt_test.threshold:g}% of the "
            f"annotators, and closer to them than every constant answer; score: {self.score}. Monte-Carlo error at "
            f"most {1.96 * 0.5 / np.sqrt(self.n_studies):.2f}."
        )
        for (annotators,), part in self.outcomes.group_by("n_annotators", maintain_order=True):
            wide = part.sort("epsilon").pivot("epsilon", index="n_items", values="estimate").sort("n_items")
            lines += ["", f"{annotators} annotators"]
            lines.append("  items" + "".join(f"{f'ε = {float(e):g}':>10}" for e in wide.columns[1:]))
            lines += [f"{size:>7}" + "".join(f"{v:>10.2f}" for v in values) for size, *values in wide.iter_rows()]
        lines.append("")
        power = "Assurance" if self.ranges else "Power"
        for row in self.smallest.iter_rows(named=True):
            of = f"epsilon = {row['epsilon']:g} and {row['n_annotators']} annotators"
            if row["n_items"] is None:
                lines.append(f"{power} {self.power:g} at {of}: none of these sizes has it.")
            else:
                lines.append(f"{power} {self.power:g} at {of}: {row['n_items']:,} items{_range(row)}.")
        if not self.ranges:
            lines.append("These numbers have no range: they rest on noises that are assumed, not estimated.")
        return "\n".join([*lines, *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Power against the number of items, a colour an epsilon, a line style a number of annotators."""
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
        ax.set_ylabel("assurance: P(a verdict)" if self.ranges else "power: P(verdict 'replace')")
        ax.set_ylim(-0.03, 1.05)
        pictures.legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(3, len(panels) * len(epsilons)))
        return ax

    def to_dict(self) -> dict[str, Any]:
        """Everything, safe for JSON."""
        return {**super().to_dict(), "smallest": json_safe(self.smallest)}

    @property
    def alt_test(self) -> AltTestSettings:
        """The options of the alt-test that was planned for."""
        return self.run.settings.alt_test  # type: ignore[attr-defined, no-any-return]


def plan_alt_test(
    n_items: int | Sequence[int] = SIZES,
    n_annotators: int | Sequence[int] = 3,
    *,
    epsilon: float | Sequence[float] | None = None,
    annotators: Expertise | None = None,
    annotator_noise: float | Sequence[float] | None = None,
    judge_noise: float | None = None,
    judge_bias: float = 0.0,
    scale: Scale | str | int | None = None,
    prior: Sequence[float] | None = None,
    spread: float = 0.0,
    labels_per_item: int | None = None,
    pilot: Annotations | None = None,
    judge: str | None = None,
    power: float = 0.8,
    n_studies: int = 1000,
    seed: int = 0,
    **options: Unpack[PlanOptions],
) -> AltTestPlan:
    """How many items and annotators does the alt-test need to tell?

    Studies are simulated, ``prior · noise + (1 − noise) · truth`` for every label, or drawn from a pilot, and
    the test is put to each of them. Without a pilot the answer is as good as the guess of the noises.

    Parameters
    ----------
    n_items, n_annotators : int or sequence of int
        Sizes to look at.
    epsilon : float or sequence of float, 0 to 1
        Without it and without ``annotators``, the paper's .1, .15 and .2 side by side.
    annotators : {"expert", "skilled", "crowd"}
        Instead of ``epsilon``: .2, .15 or .1.
    annotator_noise : float or sequence of float, 0 to 1
        Probability that a person answers with a draw from the prior, .3 unless told otherwise. From a
        sequence, each person's noise is drawn at random.
    judge_noise : float, 0 to 1
        The same for the judge; the mean of ``annotator_noise`` when not given: a judge as good as a person.
    judge_bias, spread : float
        On an ordered scale: how far the judge's labels lie too high, and the standard deviation of a
        Gaussian error of everybody's, in points.
    scale : Scale, str or int
        Number of categories, 4 unless told otherwise, or a scale such as ``"1-5"``.
    prior : sequence of float
        Probability of each label; drawn from a flat Dirichlet for each study when not given.
    labels_per_item : int
        People who answer each item, drawn at random; all of them when not given.
    pilot : Annotations
        Labels at hand. Panels are drawn from its people, and studies from what the items that at least two of the panel
        and the judge answered leave open: power is averaged over it (assurance), and a study that ends in any verdict
        counts. The plan holds if further items and people are like these.
    judge : str
        The judge of the pilot; needed where it has several.
    power : float, 0 to 1
        The power wanted, for `AltTestPlan.smallest`.
    n_studies : int
        Studies for each number of annotators. All sizes and epsilons look at the same studies, a study of 50
        items being the first 50 of one of 500, so that differences between them are hardly disturbed by chance.
    seed : int
    **options
        As in `alt_test`: ``fdr``, ``threshold``, ``min_items``, ``min_humans``, ``score``, ``balance`` …;
        with a pilot also ``normalise``, ``quality``, ``similarity`` and ``repeats``.

    Returns
    -------
    AltTestPlan

    Raises
    ------
    DesignError
        For options that do not go together, or a pilot that has too few annotators.

    Examples
    --------
    >>> import assay
    >>> plan = assay.plan_alt_test((30, 50, 100), annotator_noise=0.3, judge_noise=0.2, epsilon=(0.1, 0.2), seed=1)
    >>> plan.table.select("n_items", "epsilon", "estimate").rows()
    [(30, 0.1, 0.307), (50, 0.1, 0.547), (100, 0.1, 0.859), (30, 0.2, 0.637), (50, 0.2, 0.832), (100, 0.2, 0.946)]
    >>> plan.smallest.rows()
    [(3, 0.1, 100), (3, 0.2, 50)]

    A judge that errs on 20% of the items, where people err on 30%, may replace them in 86% of the studies with 100
    items at epsilon .1; at epsilon .2, 50 items are enough for the usual 80%.
    """
    tests = _alt_test(options, epsilon, annotators, seed)
    noises = None if annotator_noise is None else tuple(np.atleast_1d(annotator_noise).tolist())
    settings = PlanSettings(
        n_items=_listed(n_items), n_annotators=_listed(n_annotators), epsilon=_epsilons(epsilon, annotators),
        annotator_noise=noises, judge_noise=judge_noise, judge_bias=judge_bias, scale=scale,
         prior=None if prior is None else tuple(prior), spread=spread,
        labels_per_item=labels_per_item, pilot=None if pilot is None else pilot.fingerprint, judge=judge, power=power,
        n_studies=n_studies, seed=seed, alt_test=tests,
    )  # fmt: skip
    world = _world(settings, None if pilot is None else in_memory(pilot, "a plan from a pilot"))
    found = {size: _ends(world, size, settings) for size in settings.n_annotators}
    notes = dict.fromkeys(note for size, one in found.items() for note in _notes(world.table.settings, one, size))
    run = Run(
        "plan-alt-test", settings, world.data, {"score": world.table.score.name, "of": world.name},
        notes=tuple(notes),
    )  # fmt: skip
    return AltTestPlan(
        outcomes=pl.concat([one.frame(size) for size, one in found.items()]),
        ranges=tuple(row for size, one in found.items() for row in one.ranges(size, power)),
        power=power,
        score=world.table.score.name,
        n_studies=int(next(iter(found.values())).told[:, 0, 0].sum()),
        assumptions=world.assumptions(),
        run=run,
    )


def _alt_test(
    options: Mapping[str, Any], epsilon: float | Sequence[float] | None, annotators: Expertise | None, seed: int
) -> AltTestSettings:
    """The options of the alt-test that are planned for."""
    for name, why in FOREIGN.items():
        if options.get(name) is not None:
            raise DesignError(f"{why}; leave {name}=... out")
    first = _epsilons(epsilon, annotators)[0]
    return AltTestSettings.of({**options, "epsilon": first, "seed": seed}, "plan_alt_test")


def _world(settings: PlanSettings, pilot: Annotations | None) -> _World:
    """Where the studies of a plan come from."""
    most = max(settings.n_annotators)
    if pilot is None:
        if settings.judge is not None:
            raise DesignError(
                "judge=... names the judge of a pilot, and there is none; leave it out, and describe a simulated judge "
                "with judge_noise=..."
            )
        return _Simulated.of(settings, most)
    defaults = PlanSettings()
    for name in ("annotator_noise", "judge_noise", "judge_bias", "scale", "prior", "spread", "labels_per_item"):
        if getattr(settings, name) != getattr(defaults, name):
            raise DesignError(f"a pilot brings its own labels; leave {name}=... out")
    return _Pilot.of(pilot, settings.judge, settings.alt_test, most)


# -- where studies come from ------------------------------------------------------------------------


class _Labels(NamedTuple):
    """Labels of many studies, all of the largest size."""

    values: Floats
    """(studies, items, annotators), NaN where there is none."""
    judge: Floats
    """(studies, items)"""
    quality: Floats
    """(studies, annotators)"""


class _World(ABC):
    """Where studies come from."""

    table: AltTestTable
    name: str
    assured: ClassVar[bool]
    """Whether power is averaged over what labels at hand leave open."""
    each: ClassVar[int]
    """Studies in a row that share a truth."""

    @property
    def data(self) -> str:
        """Fingerprint of the labels that studies are drawn from."""
        return self.table.fingerprint

    @abstractmethod
    def scored(
        self, n_annotators: int, sizes: tuple[int, ...], n_studies: int, seed: int
    ) -> Iterator[SimulatedStudies]:
        """The studies, in blocks; the first items of a study are a smaller study."""

    @abstractmethod
    def assumptions(self) -> tuple[str, ...]:
        """What the studies rest on, in words."""


@dataclass(frozen=True, eq=False)
class _Simulated(_World):
    """Studies with a known truth."""

    assured, each = False, 1

    table: AltTestTable
    name: str
    source: LabelSource
    annotator_noise: Floats
    judge_noise: float
    judge_bias: float
    labels_per_item: int | None
    most: int
    """Annotators that are drawn, of whom smaller panels are the first."""

    @classmethod
    def of(cls, settings: PlanSettings, most: int) -> _Simulated:
        """Check the assumptions."""
        s = settings
        if s.alt_test.normalise is not None or s.alt_test.quality is not None:
            raise DesignError("normalise=... and quality=... need real annotators; give pilot=...")
        noise = np.array((NOISE,) if s.annotator_noise is None else s.annotator_noise, dtype=float)
        if not len(noise):
            raise DesignError("annotator_noise is a probability, 0 to 1; got []")
        judged = float(noise.mean()) if s.judge_noise is None else s.judge_noise
        source = LabelSource.of(CATEGORIES if s.scale is None else s.scale, s.prior, s.spread)
        # A table of two items in which everything the settings say about labels is checked.
        bias = {"judge": s.judge_bias} if s.judge_bias else None
        template = simulate(2, 2, scale=source.scale, prior=s.prior, spread=s.spread, bias=bias)
        name = f"{source.scale.spec} noise {_short(noise)} vs {judged:g}"
        table = AltTestTable.of(template, s.alt_test)
        if source.categories is None and source.scale.bounds is not None:
            # The template's two items say nothing about where constant answers may lie.
            constants = np.linspace(*source.scale.bounds, MOST)
            table = replace(table, rule=replace(table.rule, constants=constants))
        return cls(table, name, source, noise, judged, s.judge_bias, s.labels_per_item, most)

    def scored(
        self, n_annotators: int, sizes: tuple[int, ...], n_studies: int, seed: int
    ) -> Iterator[SimulatedStudies]:
        for studies in self.studies(n_annotators, sizes[-1], n_studies, seed):
            yield score_studies(self.table.rule, *studies, sizes, constants=True)

    def studies(self, n_annotators: int, n_items: int, n_studies: int, seed: int) -> Iterator[_Labels]:
        """Labels of the studies."""
        step = max(1, CELLS // (n_items * self.most))
        for block, start in enumerate(range(0, n_studies, step)):
            n = min(step, n_studies - start)
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(block,)))
            cumulative = self.source.priors(rng, n)
            truth = self.source.draw(rng.random((n, n_items)), cumulative)
            noise = rng.choice(self.annotator_noise, (n, 1, self.most))
            bias = np.array([self.judge_bias])
            judge = self.source.answer(rng, truth, cumulative, np.array([self.judge_noise]), bias)[..., 0]
            values = self.source.answer(rng, truth, cumulative, noise)
            answering = rng.random(values.shape)[..., :n_annotators]
            values = self.source.values(values[..., :n_annotators])
            if self.labels_per_item is not None:
                values[answering.argsort(axis=2).argsort(axis=2) >= self.labels_per_item] = np.nan
            yield _Labels(values, self.source.values(judge), np.ones((n, n_annotators)))

    def assumptions(self) -> tuple[str, ...]:
        noises = _short(self.annotator_noise)
        lines = [
            f"Simulated studies, labels {self.source.scale.describe()}; noise of the annotators {noises}, of the "
            f"judge {self.judge_noise:g}" + (f", whose labels lie {self.judge_bias:+g} off" if self.judge_bias else "")
        ]
        if self.source.categories is not None:
            prior = self.source.prior
            lines.append(
                "The prior over the labels is drawn for each study from a flat Dirichlet"
                if prior is None
                else "Prior over the labels " + _short(np.array(prior))
            )
        if self.source.spread:
            lines.append(f"Every answer has a Gaussian error with standard deviation {self.source.spread:g}")
        if self.labels_per_item is not None:
            lines.append(f"Each item is answered by {self.labels_per_item} annotators, drawn at random")
        return tuple(lines)


@dataclass(frozen=True, eq=False)
class _Pilot(_World):
    """Studies drawn from what labels at hand leave open."""

    assured, each = True, EACH

    table: AltTestTable
    name: str
    judge: str
    labels: Floats
    """(items, annotators), NaN where there is none or the judge has none."""
    judged: Floats
    """(items,)"""

    @classmethod
    def of(cls, pilot: Annotations, judge: str | None, settings: AltTestSettings, most: int) -> _Pilot:
        """Check the pilot."""
        table = AltTestTable.of(pilot, settings)
        if judge is None:
            if len(pilot.judges) != 1:
                raise DesignError(
                    f"the pilot has {len(pilot.judges)} judges ({listing(pilot.judges)}); name one with judge=..."
                )
            judge = pilot.judges[0]
        if most > len(table.humans):
            raise DesignError(
                f"the pilot has {len(table.humans)} people, so it cannot tell about panels of {most}; plan for "
                "fewer, or simulate with annotator_noise=..."
            )
        judged = table.judge_labels(judge)
        labels = np.full((table.panel.n_items, table.panel.n_annotators), np.nan)
        labels[table.panel.item, table.panel.annotator] = table.panel.value
        labels[np.isnan(judged)] = np.nan
        return cls(table, f"pilot {pilot.fingerprint} judge {judge}", judge, labels, judged)

    def scored(
        self, n_annotators: int, sizes: tuple[int, ...], n_studies: int, seed: int
    ) -> Iterator[SimulatedStudies]:
        rng = np.random.default_rng(seed)
        n_truths = math.ceil(n_studies / EACH)
        drawn = draw_panels(~np.isnan(self.labels), n_annotators, min(n_truths, MOST_PANELS), rng)
        members, times = np.unique(drawn.members, axis=0, return_counts=True)
        edges = np.rint(n_truths * np.cumsum([0, *times]) / times.sum()).astype(int)
        for one, a, b in zip(members, edges, edges[1:], strict=False):
            pilot = pilot_of_panel(self.table.rule, self.table.panel, self.judged, one)
            step = max(1, STUDY_CELLS // (EACH * len(sizes) * len(pilot.posterior.weight)))
            for start in range(a, b, step):
                yield pilot.studies(sizes, min(step, b - start), EACH, rng)

    def assumptions(self) -> tuple[str, ...]:
        shared = int((np.count_nonzero(~np.isnan(self.labels), axis=1) >= 2).sum())
        return (
            f"Panels and items drawn from a pilot of {shared:,} items by {len(self.table.humans)} people, judge "
            f"{self.judge}; further items and people are taken to be like these, as far as so few show it",
        )


# -- how they end -----------------------------------------------------------------------------------


@dataclass(eq=False)
class _Ends:
    """How studies by so many annotators end, summed over blocks of them; arrays start with (epsilons, sizes)."""

    world: _World
    sizes: tuple[int, ...]
    epsilons: tuple[float, ...]
    told: Floats
    winning: Floats
    passing: Floats
    rho: Floats
    known: Floats
    tested: Floats
    ranked: Floats
    by_truth: list[Floats]
    """The share of studies of each truth that end in a verdict: (epsilons, truths, sizes) of each block."""

    @classmethod
    def none(cls, world: _World, sizes: tuple[int, ...], epsilons: tuple[float, ...]) -> _Ends:
        """Before any study."""
        e, n = len(epsilons), len(sizes)
        told, (winning, passing) = np.zeros((len(decision.VERDICTS), e, n)), np.zeros((2, e, n))
        rho, known, tested, ranked = np.zeros((4, n))
        return cls(world, sizes, epsilons, told, winning, passing, rho, known, tested, ranked, [])

    def add(self, studies: SimulatedStudies) -> None:
        """Count how a block of studies ends."""
        settings = self.world.table.settings
        tested = studies.tested(settings)
        counts = np.where(tested[..., None, None], studies.counts, 0.0)
        n = counts.sum(axis=(-1, -2))
        ranks = tested & (settings.test in ("published", "wilcoxon")) & (counts.shape[-2] == 1)
        if settings.test == "published":
            ranks &= n < decision.SMALL
        weight = studies.quality[:, None, :] * tested
        weight = weight / np.maximum(weight.sum(axis=-1, keepdims=True), 1e-300)
        settled = []
        for e, epsilon in enumerate(self.epsilons):
            p, _ = _p_values(counts, epsilon, settings.test, ranks)
            omega = (decision.by_rejects(p, settings.fdr) * weight).sum(axis=-1)
            self.winning[e] += omega.sum(axis=0)
            self.passing[e] += (decision.passes(omega, settings.threshold) & tested.any(axis=-1)).sum(axis=0)
            ends = studies.ends(settings, epsilon)
            self.told[:, e] += [np.count_nonzero(ends == v, axis=0) for v in range(len(decision.VERDICTS))]
            settled.append(settles(ends).reshape(-1, self.world.each, len(self.sizes)).mean(axis=1))
        self.by_truth.append(np.array(settled))
        average = average_advantage(counts)
        self.rho += np.nansum(average, axis=0)
        self.known += np.count_nonzero(~np.isnan(average), axis=0)
        self.tested += tested.mean(axis=-1).sum(axis=0)
        self.ranked += ranks.any(axis=-1).sum(axis=0)

    def frame(self, n_annotators: int) -> pl.DataFrame:
        """One row an epsilon and number of items."""
        e, n = len(self.epsilons), int(self.told[:, 0, 0].sum())
        with np.errstate(invalid="ignore"):
            mean_rho, mean_omega = self.rho / self.known, self.winning / self.known
        passed, failed, differ, open_ = self.told
        wanted = n - open_ if self.world.assured else passed
        low, high = wilson(wanted / n, n / self.world.each)
        columns = {
            "n_annotators": np.full(passed.size, n_annotators),
            "epsilon": np.repeat(self.epsilons, len(self.sizes)),
            "n_items": np.tile(self.sizes, e),
            "estimate": wanted / n,
            "low": low,
            "high": high,
            "n": np.full(passed.size, n),
            "replace": passed / n,
            "do_not_replace": failed / n,
            "people_differ": differ / n,
            "cannot_tell": open_ / n,
            "passes": self.passing / n,
            "winning_rate": mean_omega,
            "advantage_probability": np.tile(mean_rho, e),
        }
        return pl.DataFrame({name: np.ravel(column) for name, column in columns.items()})

    def ranges(self, n_annotators: int, power: float) -> list[dict[str, Any]]:
        """The range of the number of items at each epsilon, where studies are drawn from a pilot."""
        if not self.world.assured:
            return []
        by_truth = np.concatenate(self.by_truth, axis=1)
        ends = [range_of(np.array(self.sizes), one, power) for one in by_truth]
        return [
            {"n_annotators": n_annotators, "epsilon": e, "low": _whole(low), "high": _whole(high)}
            for e, (low, high) in zip(self.epsilons, ends, strict=True)
        ]


def _whole(number: float) -> int | None:
    """Rounded; None where no size that was looked at is enough."""
    return about(number) if np.isfinite(number) else None


def _ends(world: _World, n_annotators: int, settings: PlanSettings) -> _Ends:
    """How studies by so many annotators end."""
    found = _Ends.none(world, settings.n_items, settings.epsilon)
    for studies in world.scored(n_annotators, settings.n_items, settings.n_studies, settings.seed):
        found.add(studies)
    return found


def _p_values(counts: Floats, epsilon: float, test: Test, ranks: Bools) -> tuple[Floats, Floats]:
    """One-sided p-values as `decision.decide` has them, for studies at once: (..., annotators) each."""
    _, p, reverse = decision.one_sided(counts, epsilon, test)
    if ranks.any():
        _, error, _ = decision.t_parts(counts)
        use = ranks & (error > 1e-12)
        p[use], reverse[use] = decision.wilcoxon_p(counts[use][:, 0], epsilon)
    return p, reverse


def _notes(settings: AltTestSettings, found: _Ends, n_annotators: int) -> list[str]:
    notes = []
    sizes, ranked, tested = found.sizes, found.ranked, found.tested / found.told[:, 0, 0].sum()
    few = [(size, share) for size, share in zip(sizes, tested, strict=True) if share < 1 - 1e-9]
    if few:
        shown = ", ".join(f"{100 * (1 - share):.0f}% at {size} items" for size, share in few)
        notes.append(
            f"of {n_annotators} annotators, some have fewer than {settings.min_items} comparable items and are not "
            f"tested ({shown})"
        )
    if ranked.any():
        shown = listing([size for size, some in zip(sizes, ranked, strict=True) if some])
        notes.append(
            f"with {shown} items there are signed-rank tests (fewer than 30 items of an annotator), which reject far "
            "too often and hardly see epsilon; with test='exact' the error rate is as claimed (docs/type-one-error.md)"
        )
    return notes


# -- checks and words -------------------------------------------------------------------------------


def _listed(given: Any) -> tuple[Any, ...]:
    """One number, or ascending different ones."""
    return tuple(sorted(set(given))) if isinstance(given, list | tuple | np.ndarray) else (given,)


def _epsilons(epsilon: float | Sequence[float] | None, annotators: Expertise | None) -> tuple[float, ...]:
    if annotators is not None:
        if epsilon is not None:
            raise DesignError("epsilon=... and annotators=... both set epsilon; give one")
        return (AltTestSettings(annotators=annotators).tolerance,)
    values = _listed(EPSILONS if epsilon is None else epsilon)
    if not values:
        raise DesignError(f"epsilon must lie between 0 and 1; got {epsilon}")
    return values


def _range(row: Mapping[str, Any]) -> str:
    """The range of a number of items, in words; nothing where there is none."""
    if "low" not in row:
        return ""
    low, high = row["low"], row["high"]
    if low is None:
        return " (range beyond these sizes)"
    return f" ({low:,} to {high:,})" if high is not None else f" ({low:,} to more than these)"


def _short(values: Floats) -> str:
    """Numbers as a list without more zeros than they need."""
    return ",".join(f"{v:g}" for v in np.ravel(values))
