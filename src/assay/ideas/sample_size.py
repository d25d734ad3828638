"""Numbers of odd-one-out choices, from a pilot and from simulations.

Nam et al. (2025), section 6.5 and figure 4: the ranking of pairs from samples of the judgments, against the number of
judgments. In the published method the samples share judgments with the whole; `judgments_needed` also reports the
curve from two sets without shared judgments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunked.chunks import Chunks
from assay.errors import DesignError, counted
from assay.estimation.intervals import (
    Estimate,
    EstimateByRule,
    jackknife_groups,
    map_estimate,
    missing,
    wilson,
    wilson_estimate,
)
from assay.estimation.options import question, question_alone
from assay.estimation.result import Result, Run
from assay.estimation.statistic import Floats, Ints
from assay.ideas import words
from assay.ideas.choices import Choices, PlanTripletsSettings, SampleSizeSettings
from assay.ideas.reliability import odd_one_out_agreement
from assay.ideas.sampling import sample_triplets
from assay.reporting import pictures
from assay.statistics.comparisons.odd_one_out import (
    GROUPS,
    PLACES,
    PairChoices,
    choice_probabilities,
    correlation,
    half_agreement,
    leave_groups_out,
    mean_ranks,
    pair_codes,
    spearman_brown,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

P = ParamSpec("P")
S = TypeVar("S")
R = TypeVar("R")

LEAST = 20
"""Fewer judgments cannot be halved: of ten, most pairs are compared once."""

DESIGNS = 4
"""Sets of triplets behind a plan, so that it does not rest on one draw; to draw one takes as long as 70 studies."""


@dataclass(frozen=True, eq=False)
class Judgments(Result):
    """How consistent a ranking of pairs is, by the number of judgments.

    Attributes
    ----------
    curve : polars.DataFrame
        One row per number of ``judgments``: ``estimate`` (ρ between two such sets without shared judgments; above half
        of the existing ones by the Spearman–Brown formula), ``low``, ``high``, ``stepped`` (whether it was),
        ``published`` (ρ of bootstrap samples of that size with all judgments), ``reason``.
    needed : int or None
        The smallest number of judgments whose ρ reaches the target; None if no number does.
    needed_low, needed_high : int or None
        Its range, from choices left out in groups.
    run : Run
    """

    symbol: ClassVar[str] = "ρ"

    curve: pl.DataFrame = field(metadata={"json": False})
    needed: int | None
    needed_low: int | None
    needed_high: int | None
    run: Run
    estimates: tuple[Estimate, ...] = field(repr=False, metadata={"json": False})

    @property
    def table(self) -> pl.DataFrame:
        """The curve."""
        return self.curve

    def row_estimates(self) -> Sequence[Estimate]:
        """ρ at each number of judgments."""
        return self.estimates

    def summary(self) -> str:
        """The rank correlation of these judgments, and the number for the target."""
        at, target = int(str(self.run.facts["choices"])), self.run.settings.target  # type: ignore[attr-defined]
        row = self.curve.filter(pl.col("judgments") == at).row(0, named=True)
        lines = words.judgments_lines(at, row, target, self.needed, (self.needed_low, self.needed_high))
        return "\n".join([*lines, *self.run.closing(intervals=True)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """The curve with its interval, the published one, and the target (figure 4 of the paper)."""
        ax = pictures.axes(ax)
        x = self.curve["judgments"].to_list()
        ax.plot(
            x, self.curve["estimate"], color=pictures.HUMAN, marker="o", markersize=3.5, label="sets that share none"
        )
        low, high = (self.curve[c].fill_nan(None).to_numpy() for c in ("low", "high"))
        ax.fill_between(x, low.astype(float), high.astype(float), color=pictures.HUMAN, alpha=0.15, linewidth=0)
        ax.plot(x, self.curve["published"], color=pictures.MUTED, linestyle="--", label="bootstrap, as published")
        ax.axhline(self.run.settings.target, color=pictures.PASS, linewidth=1, linestyle=":")  # type: ignore[attr-defined]
        ax.set_xlabel("judgments")
        ax.set_ylabel("ρ between rankings of pairs")
        ax.set_ylim(min(0.0, *(v for v in self.curve["estimate"].to_list() if np.isfinite(v)), 0.0), 1.02)
        pictures.legend(ax, loc="lower right")
        return ax


@question(SampleSizeSettings)
def judgments_needed(labels: Annotations | Chunks, settings: SampleSizeSettings) -> Judgments:
    """Estimate how stable the ranking of pairs is, and how many judgments reach a target.

    Parameters
    ----------
    labels : Annotations
        Odd ones out, as in `assay.triplet_similarity`.

    Returns
    -------
    Judgments

    Raises
    ------
    DesignError
        For labels that are not odd-one-out choices, or fewer than 20 choices.

    Examples
    --------
    >>> import assay, numpy as np, polars as pl
    >>> draw = np.random.default_rng(1)
    >>> texts = [draw.choice(list("abcdef"), 3, replace=False).tolist() for _ in range(60)]
    >>> rows = [(str(i), *three, "ann", "ABC"[three.index(max(three))]) for i, three in enumerate(texts)]
    >>> columns = ["item", "first", "second", "third", "annotator", "label"]
    >>> labels = assay.read(pl.DataFrame(rows, schema=columns, orient="row"), scale="odd-one-out", humans=["ann"])
    >>> found = assay.plan.judgments(labels, n_splits=20)
    >>> found.table.select("judgments", pl.col("estimate").round(2)).row(-1)
    (120, 0.92)
    """
    target, n_splits = settings.target, settings.n_splits
    choices = Choices.of(labels, settings, "judgments_needed").chosen_by(settings.annotators)
    if len(choices) < LEAST:
        raise DesignError(f"{counted(len(choices), 'choice')} cannot be halved; {LEAST} are the least")
    order = np.lexsort((choices.odd, choices.item))
    judged = PairChoices.of(choices.pairs, choices.member[order], choices.odd[order], choices.texts.height)
    rng = np.random.default_rng(settings.seed)
    one = _single_reliability(judged, rng, n_splits)
    without = leave_groups_out(judged, rng, lambda some: _single_reliability(some, rng, max(n_splits // 5, 10)))
    n = len(judged)
    wanted = settings.sizes or tuple(sorted({max(round(n * k / 5), 10) for k in range(1, 11)}))
    alone = single_judgment(one, without, settings.confidence)
    estimates, rows = zip(*(_row(size, alone, judged, rng, settings) for size in sorted({*wanted, n})), strict=True)
    how = f"{100 * settings.confidence:g}% jackknife intervals over {GROUPS} groups of judgments"
    run = Run("judgments-needed", settings, choices.data, choices.facts, how, choices.exclusions)
    # The more a judgment tells, the fewer are needed.
    curve = pl.DataFrame(rows, schema_overrides={"reason": pl.String})
    needed, least, most = (judgments_for(value, target) for value in (one, alone.high, alone.low))
    return Judgments(curve, needed, least, most, run, estimates)


def _single_reliability(judged: PairChoices, rng: np.random.Generator, n_splits: int) -> float:
    """Reliability of one judgment's worth, by Spearman and Brown from halves: r = R / (n − (n − 1) R)."""
    halves = half_agreement(judged, rng, n_splits)
    halves = halves[np.isfinite(halves)]
    if not len(halves):
        return float("nan")
    mean = min(float(halves.mean()), 0.9999)
    return float(spearman_brown(mean, 2 / len(judged)))


def single_judgment(one: float, without: Floats, confidence: float) -> Estimate:
    """The reliability of one judgment, with an interval that is symmetric on the scale of log odds.

    Parameters
    ----------
    one : float
        The reliability, from all judgments.
    without : (groups,) float
        The reliability without each group, for the jackknife.
    confidence : float
        The level of the interval.
    """
    if not (one > 0 and np.isfinite(without).all() and (without > 0).all() and np.ptp(without) > 0):
        return replace(missing("these judgments do not agree more than by chance"), estimate=one)
    logits = jackknife_groups(float(_log_odds(one)), _log_odds(without), confidence)
    return replace(map_estimate(logits, _inverse_log_odds, _log_odds, slope=one * (1 - one)), estimate=one)


def _log_odds(value: Any) -> Any:
    return np.log(value / (1 - np.asarray(value)))


def _inverse_log_odds(value: float) -> float:
    return float(1 / (1 + np.exp(-value)))


def judgments_for(one: float, target: float) -> int | None:
    """The smallest number of judgments whose reliability is the target, by Spearman and Brown from that of one."""
    if not np.isfinite(one) or one <= 0:
        return None
    return int(np.ceil(target * (1 - one) / (one * (1 - target)) - 1e-9))


def sets_of_judgments(value: float, one: Estimate, size: int, confidence: float) -> Estimate:
    """ρ of two sets of judgments of a size; the interval is that of one judgment, stepped up, and holds ρ.

    Parameters
    ----------
    value : float
        ρ of the sets.
    one : Estimate
        The reliability of one judgment.
    size : int
        Judgments in each set.
    confidence : float
        The level of the interval.
    """
    stepped = float(spearman_brown(one.estimate, size))

    def ends(level: float) -> tuple[float, float]:
        low, high = (float(spearman_brown(end, size)) for end in one.interval(level))
        known = np.isfinite([low, high]).all()
        return (min(low, value), max(high, value)) if known else (np.nan, np.nan)

    def test(null: float) -> float:
        if min(value, stepped) <= null <= max(value, stepped):
            return 1.0
        return one.p(float(spearman_brown(null, 1 / size))) if 0 < null < 1 else np.nan

    return EstimateByRule(value, *ends(confidence), np.nan, one.reason, ends=ends, test=test)


def _row(
    size: int, one: Estimate, judged: PairChoices, rng: np.random.Generator, settings: SampleSizeSettings
) -> tuple[Estimate, dict[str, Any]]:
    """ρ of two sets of a size."""
    n = len(judged)
    halves = 2 * size <= n
    value = float(spearman_brown(one.estimate, size))
    if halves:
        apart = half_agreement(judged, rng, settings.n_splits, size)
        value = float(apart[np.isfinite(apart)].mean()) if np.isfinite(apart).any() else float("nan")
    found = sets_of_judgments(value, one, size, settings.confidence)
    whole = judged.shares()
    drawn = (judged.some(rng.integers(0, n, size)) for _ in range(max(settings.n_splits // 4, 10)))
    runs = [correlation(some.shares(), whole) for some in drawn]
    published = float(np.nanmean(runs)) if np.isfinite(runs).any() else None
    return found, {
        "judgments": size, **found.row(), "stepped": not halves, "published": published, "reason": found.reason,
    }  # fmt: skip


# -- before there are any -----------------------------------------------------------------------------


AGREEMENT = 0.6
"""How often two experts name the same odd one, where nothing is known: between chance (a third) and certainty."""

AGREEMENTS = (0.34, 0.99)
"""An agreement of a pilot is taken to lie between these, within which strengths of pairs can be found."""


@dataclass(frozen=True, eq=False)
class TripletPlan(Result):
    """Rank correlation with the true similarities, by the number of comparisons of each pair.

    Attributes
    ----------
    outcomes : polars.DataFrame
        One row a ``floor`` (comparisons of each pair): ``triplets`` (different ones, of all documents),
        ``overlap`` (people who answer each), ``judgments``, ``rho`` (mean ρ with the true similarities), ``rho_least``
        (which 90% of the studies reach), ``estimate`` (share of studies that reach the target), ``low``, ``high`` (95%,
        Wilson).
    run : Run
    """

    symbol: ClassVar[str] = "power"

    outcomes: pl.DataFrame = field(metadata={"json": False})
    run: Run

    @property
    def table(self) -> pl.DataFrame:
        """The floors."""
        return self.outcomes

    @property
    def confidence(self) -> float:
        """Level of the intervals, which is no option here."""
        return 0.95

    def row_estimates(self) -> Sequence[Estimate]:
        """The share of studies of each floor that reach the target."""
        studies = self.run.settings.n_studies  # type: ignore[attr-defined]
        columns = (self.outcomes[c].to_list() for c in ("estimate", "low", "high"))
        return [wilson_estimate(value, low, high, studies) for value, low, high in zip(*columns, strict=True)]

    @property
    def smallest(self) -> dict[str, Any] | None:
        """The row of the smallest floor with the required power; None if no floor has it."""
        found = self.outcomes.filter(pl.col("estimate") >= self.run.settings.power)  # type: ignore[attr-defined]
        return found.row(0, named=True) if found.height else None

    def summary(self) -> str:
        """The assumptions, and the smallest sufficient number."""
        s: Any = self.run.settings
        lines = words.plan_lines(s, self.smallest)
        return "\n".join([*lines, *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Mean ρ, and what 90% of studies reach, against the number of judgments."""
        ax = pictures.axes(ax)
        x = self.outcomes["judgments"].to_list()
        ax.plot(x, self.outcomes["rho"], color=pictures.HUMAN, marker="o", markersize=4, label="mean of studies")
        ax.plot(x, self.outcomes["rho_least"], color=pictures.HUMAN, linestyle="--", label="reached by 90% of studies")
        ax.axhline(self.run.settings.target, color=pictures.PASS, linewidth=1, linestyle=":")  # type: ignore[attr-defined]
        ax.set_xlabel("judgments")
        ax.set_ylabel("ρ with the true ranking of pairs")
        pictures.legend(ax, loc="lower right")
        return ax


@question_alone(PlanTripletsSettings)
def plan_triplets(settings: PlanTripletsSettings) -> TripletPlan:
    """Plan how many odd-one-out choices reach a rank correlation with the experts' similarities.

    Texts are put at random places in a space; the nearer two texts are, the likelier they are kept together (Luce's
    rule), the sharper, the more experts agree. Triplets are drawn by the rule of `assay.sample_triplets`, answered, and
    made into similarities (equation 1), which are held against those that endless answers would give.

    Returns
    -------
    TripletPlan

    Examples
    --------
    >>> import assay
    >>> plan = assay.plan.triplets(10, agreement=0.6, floors=(2, 10, 40), n_studies=40, seed=1)
    >>> plan.smallest["floor"], plan.smallest["judgments"]
    (40, 600)

    If two experts agree on 60% of triplets, ten comparisons of each pair do not suffice for ρ = .9; forty do.
    """
    if not settings.floors:
        raise DesignError("floors is empty; give at least one number of comparisons")
    if settings.pilot is not None:
        if settings.agreement is not None:
            raise DesignError("agreement=... and pilot=... both set the agreement of the experts; use one of them")
        row = odd_one_out_agreement(settings.pilot, who=("humans",), method="none").humans
        found = None if row is None else float(np.clip(row["agreement"], *AGREEMENTS))
        settings = replace(settings, agreement=found, pilot=settings.pilot.fingerprint)
    if settings.agreement is None:
        settings = replace(settings, agreement=AGREEMENT)
    worlds = [_worlds(settings, settings.agreement or AGREEMENT, number) for number in range(settings.n_studies)]
    rows = [_outcome(floor, worlds, settings) for floor in sorted(set(settings.floors))]
    facts = {"target": settings.target, "power": settings.power}
    return TripletPlan(pl.DataFrame(rows), Run("plan-triplets", settings, settings.pilot or "none", facts))


World = tuple[Floats, Floats]
"""Similarities of the texts of a document, (texts, texts), and the ranks of its pairs, (pairs,)."""


def _worlds(settings: PlanTripletsSettings, agreement: float, number: int) -> list[World]:
    """The documents of one simulated study, the same for every floor."""
    rng = np.random.default_rng((settings.seed, number))
    found = []
    for _ in range(settings.n_documents):
        alike = _random_strengths(settings.n_texts, settings.dimensions, agreement, rng)
        found.append((alike, mean_ranks(_truth(alike))))
    return found


def _outcome(floor: int, worlds: Sequence[list[World]], settings: PlanTripletsSettings) -> dict[str, Any]:
    """Studies with this number of comparisons of each pair."""
    n, s = settings.n_texts, settings
    overlap = -(-floor // (n - 2))
    designs = [_design(n, -(-floor // overlap), s.seed + k) for k in range(DESIGNS)]
    rho = np.array([_study(designs[k % DESIGNS], overlap, one, (s.seed, k, 1)) for k, one in enumerate(worlds)])
    reached = float((rho >= s.target).mean())
    low, high = wilson(np.array(reached), s.n_studies)
    triplets = round(np.mean([len(d) for d in designs])) * s.n_documents
    return {"floor": floor, "triplets": triplets, "overlap": overlap, "judgments": triplets * overlap,
            "rho": float(rho.mean()), "rho_least": float(np.quantile(rho, 0.1)), "estimate": reached, "low": float(low),
            "high": float(high)}  # fmt: skip


def _design(n: int, floor: int, seed: int) -> Ints:
    """Triplets by the rule, as positions: (triplets, 3)."""
    drawn = sample_triplets([f"{i:03d}" for i in range(n)], floor=min(floor, n - 2), seed=seed).triplets
    return drawn.select("first_item", "second_item", "third_item").cast(pl.Int64).to_numpy()


def _study(design: Ints, overlap: int, worlds: list[World], seed: tuple[int, ...]) -> float:
    """ρ with the true ranking of one simulated study, the mean within documents."""
    rng = np.random.default_rng(seed)
    n = len(worlds[0][0])
    codes = pair_codes(design, n)
    number = overlap * np.bincount(codes.ravel(), minlength=n * (n - 1) // 2)
    found = []
    for alike, ranks in worlds:
        chances = choice_probabilities(np.stack([alike[design[:, i], design[:, j]] for i, j in PLACES], axis=1))
        edges = np.cumsum(chances, axis=1)[:, None, :2]
        place = (rng.random((len(design), overlap, 1)) > edges).sum(axis=2)
        kept = np.bincount(np.take_along_axis(codes, place, axis=1).ravel(), minlength=len(number))
        found.append(float(mean_ranks(kept / number) @ ranks))
    return float(np.mean(found))


def _random_strengths(n: int, dimensions: int, agreement: float, rng: np.random.Generator) -> Floats:
    """Strengths of pairs of random texts, so sharp that two experts agree as often as wanted: (texts, texts)."""
    place = rng.normal(size=(n, dimensions))
    far = -((place[:, None] - place[None]) ** 2).sum(axis=2)
    three = rng.random((200, n)).argsort(axis=1)[:, :3]
    some = np.stack([far[three[:, i], three[:, j]] for i, j in PLACES], axis=1)
    low, high = 0.0, 100.0
    for _ in range(20):
        sharpness = (low + high) / 2
        agreed = (choice_probabilities(sharpness * some) ** 2).sum(axis=1).mean()
        low, high = (sharpness, high) if agreed < agreement else (low, sharpness)
    return np.asarray(far * (low + high) / 2)


def _truth(similarities: Floats) -> Floats:
    """Equation 1 of every pair with infinitely many choices and all third texts: (pairs,)."""
    n = len(similarities)
    first, second = np.triu_indices(n, 1)
    strength = np.stack(
        [
            np.broadcast_to(similarities[first, second][:, None], (len(first), n)),
            similarities[first],
            similarities[second],
        ],
        2,
    )
    kept = choice_probabilities(strength)[:, :, 0]
    thirds = np.ones_like(kept)
    thirds[np.arange(len(first)), first] = thirds[np.arange(len(first)), second] = 0.0
    return np.asarray((kept * thirds).sum(axis=1) / thirds.sum(axis=1))
