"""What may be said of a measure: six answers, each earned by a test and none by rank.

A measure *sees what experts see* where three things are shown at once: its texts matter (a permutation of them within
documents), it sees more than length, shared words or a common author do, and its ρ is more than 80% of what the best
possible measure would reach. What is not shown is not said, and *at most half* has to be shown too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import stdtr, stdtrit

from assay.errors import counted
from assay.estimation.intervals import Estimate, EstimateByRule, missing
from assay.estimation.statistic import Floats
from assay.reporting.tables import estimated, p_value, said
from assay.statistics.odd_one_out import NEARLY_ALIKE, Step
from assay.statistics.round_robin import Influence, RoundRobin, TextVariance, degrees

ALPHA = 0.05
"""Level of each test behind a verdict, one-sided."""

MOST = 0.8
"""Share of the best possible ρ that must be shown for "what experts see": of measures that truly reach so much and no
more, 3 to 7% are said to (`benchmarks/ideas_texts.py`), and one that reaches all is told from 15 texts on."""

HALF = 0.5
"""Share of the best possible that "not shown" must be shown to stay below."""

HOPELESS = 0.3
"""Where even the upper end of the experts' agreement is below, more of the same is not advised."""

POWER = 0.8
"""With which the numbers of texts and judgments that would tell are to tell."""

MOST_TIMES = 20
"""Times as many texts or judgments beyond which no number is named."""

Answer = Literal[
    "sees what experts see",
    "some of it, less than experts",
    "some of it, open",
    "not shown, at most half",
    "cannot tell yet",
    "these judgments cannot tell",
]
ANSWERS: tuple[Answer, ...] = get_args(Answer)
SEES: tuple[Answer, ...] = ANSWERS[:3]
"""The answers that say that a measure sees anything."""


@dataclass(frozen=True, eq=False)
class TextInference:
    """Estimates of statistics of pairs over new texts of these documents.

    Attributes
    ----------
    robin : RoundRobin
    confidence : float
    """

    robin: RoundRobin
    confidence: float

    def correlation(self, of: Influence, variance: TextVariance, *, shift: float = 0.0) -> Estimate:
        """A correlation, less ``shift``, with an interval that is symmetric on Fisher's scale."""
        return self._on_z(of.value, variance.total, variance.df, shift)

    def same_texts(self, of: Influence, *, shift: float = 0.0) -> Estimate:
        """The same, over new judgments of these very texts."""
        return self._on_z(of.value, self.robin.choice_variance(of), math.inf, shift)

    def _on_z(self, value: float, variance: float, df: float, shift: float) -> Estimate:
        if not math.isfinite(value):
            return missing("all pairs have the same value")
        if abs(value) > NEARLY_ALIKE or not variance > 0:
            return _without_interval(value - shift, "it ranks the pairs as these judgments do, to the last of them")
        error = math.sqrt(variance)
        width, z = error / (1 - value**2), math.atanh(value)

        def ends(level: float) -> tuple[float, float]:
            t = float(stdtrit(df, (1 + level) / 2))
            return math.tanh(z - t * width) - shift, math.tanh(z + t * width) - shift

        def test(null: float) -> float:
            if not abs(null + shift) < 1:
                return math.nan
            return float(2 * stdtr(df, -abs(z - math.atanh(null + shift)) / width))

        return EstimateByRule(value - shift, *ends(self.confidence), error, ends=ends, test=test)

    def difference(self, of: Influence, variance: TextVariance | None = None) -> Estimate:
        """A contrast, with an interval that is symmetric as it stands."""
        found = self.robin.variance(of) if variance is None else variance
        return _on_scale(of.value, math.sqrt(found.total), found.df, self.confidence)

    def lower(self, of: Influence) -> float:
        """The one-sided lower end of a contrast; the value itself where nothing varies."""
        found = self.robin.variance(of)
        return of.value - float(stdtrit(found.df, 1 - ALPHA)) * math.sqrt(found.total)


def _on_scale(value: float, error: float, df: float, confidence: float) -> Estimate:
    if not math.isfinite(value) or not error > 0:
        return _without_interval(value, "nothing varies")

    def ends(level: float) -> tuple[float, float]:
        t = float(stdtrit(df, (1 + level) / 2))
        return value - t * error, value + t * error

    def test(null: float) -> float:
        return float(2 * stdtr(df, -abs(value - null) / error))

    return EstimateByRule(value, *ends(confidence), error, ends=ends, test=test)


def _without_interval(value: float, reason: str) -> Estimate:
    return Estimate(value, math.nan, math.nan, math.nan, reason)


@dataclass(frozen=True, eq=False)
class Ceiling:
    """How well the experts' own choices rank the pairs.

    Attributes
    ----------
    again : Estimate
        ρ of the same number of other choices of these experts.
    best : Estimate
        ρ of a measure that knew what they think.
    mind : Influence
        The best's, for contrasts with it.
    """

    again: Estimate
    best: Estimate
    mind: Influence

    @classmethod
    def of(cls, halves: float, step: Step, reliability: Influence, robin: RoundRobin, confidence: float) -> Ceiling:
        """From halves as seen, the step to the whole, and how sure the share of chance in equation 1 is."""
        nothing = np.zeros(len(robin))
        unknown = Influence(math.nan, nothing, nothing, nothing, nothing)
        if not math.isfinite(halves):
            none = missing("too few judgments to be halved")
            return cls(none, none, unknown)
        again = step.again_from(halves)
        best = step.best_from(again)
        share = min(max(reliability.value, -0.99), 0.99) if math.isfinite(reliability.value) else math.nan
        variance = robin.variance(reliability).total if math.isfinite(share) else math.nan
        if not variance > 0:
            why = "no pair was compared twice, so that nothing tells chance from what experts see"
            return cls(_without_interval(again, why), _without_interval(best, why), unknown)
        z, width = math.atanh(again), math.sqrt(variance) / (1 - share**2)
        df = degrees(int((robin.texts[robin.pairs > 0] - 1).sum()))

        def ends(level: float) -> tuple[float, float]:
            t = float(stdtrit(df, (1 + level) / 2))
            return math.tanh(z - t * width), math.tanh(z + t * width)

        def test(null: float) -> float:
            return float(2 * stdtr(df, -abs(z - math.atanh(null)) / width)) if abs(null) < 1 else math.nan

        def ends_of_best(level: float) -> tuple[float, float]:
            low, high = ends(level)
            return step.best_from(low), step.best_from(high)

        def test_of_best(null: float) -> float:
            # The best rises with what other choices reach, so a null is brought back by halving.
            if not 0 < null < 1:
                return math.nan
            low, high = 0.0, NEARLY_ALIKE
            for _ in range(50):
                middle = (low + high) / 2
                low, high = (middle, high) if step.best_from(middle) < null else (low, middle)
            return test((low + high) / 2)

        slope = (1 - best**2) / ((1 - again) * 2 * math.sqrt(again)) if again > 0 else 0.0
        error = width * (1 - again**2)
        return cls(
            EstimateByRule(again, *ends(confidence), error, ends=ends, test=test),
            EstimateByRule(best, *ends_of_best(confidence), slope * error, ends=ends_of_best, test=test_of_best),
            Influence(best, slope * (1 - again**2) / (1 - share**2) * reliability.pair, nothing, nothing, nothing),
        )

    @property
    def shown(self) -> bool:
        """Whether the experts agree on anything."""
        return self.again.low > 0

    @property
    def hopeless(self) -> bool:
        """Whether they hardly agree, so that more of the same judgments would not tell."""
        return self.again.high < HOPELESS


@dataclass(frozen=True)
class Needed:
    """What would tell, with 80% power, if measure and experts are as they look.

    Attributes
    ----------
    texts : int or None
        More texts of all documents, judged as often; None where no such number does.
    judgments : int or None
        More judgments of these texts.
    """

    texts: int | None
    judgments: int | None

    def __str__(self) -> str:
        texts = "" if self.texts is None else f"about {counted(self.texts, 'more text')}, judged as often,"
        more = "" if self.judgments is None else f"about {counted(self.judgments, 'more judgment')} of these texts"
        if not (texts or more):
            return f"Not even {MOST_TIMES} times as many texts or judgments would tell."
        return f"{' or '.join(filter(None, (texts, more)))} would tell.".capitalize()


@dataclass(frozen=True)
class MeasureVerdict:
    """What may be said of one measure.

    Attributes
    ----------
    answer : str
        One of `ANSWERS`.
    share : float
        ρ over that of the best possible measure; NaN where that is not known.
    p : float
        Of "it sees nothing", corrected for the number of measures.
    beaten_by : tuple of str
        Trivial measures that it is not shown to see more than.
    needed : Needed or None
        What would tell, where something is open.
    """

    answer: Answer
    share: float
    p: float
    beaten_by: tuple[str, ...] = ()
    needed: Needed | None = None
    constant: bool = field(default=False)

    def sentence(self, row: Mapping[str, Any]) -> str:
        """The verdict in words, with the numbers of the measure's row."""
        name = row["measure"]
        rho = f"ρ = {estimated(row['estimate'], row['low'], row['high'])} over {counted(row['n'], 'pair')}"
        share = f"{said(self.share)} of the best possible"
        told = "" if self.needed is None else f" {self.needed}"
        if self.constant:
            return f"{name} says the same of all pairs: it cannot see what experts see."
        if self.answer == ANSWERS[0]:
            return f"{name} sees what experts see: {rho}, {share}, and more than {MOST:g} of it is shown."
        if self.answer == ANSWERS[1]:
            return f"{name} sees some of what experts see, less than experts do: {rho}, {share}."
        if self.answer == ANSWERS[2]:
            return f"{name} sees some of what experts see; whether it sees all of it is open: {rho}, {share}.{told}"
        why = [f"permuted texts reach as much ({p_value(self.p)})"] if self.p > ALPHA else []
        if self.beaten_by:
            why.append(f"it is not shown to see more than {' or '.join(self.beaten_by)}")
        reason = " and ".join(why)
        if self.answer == ANSWERS[3]:
            return f"{name} is not shown to see what experts see, and sees at most half of it: {rho}; {reason}."
        return f"Whether {name} sees what experts see cannot be told yet: {rho}; {reason}.{told}"


def decide(
    of: Influence, p: float, trivial: Sequence[tuple[str, Influence]], ceiling: Ceiling, inference: TextInference,
    n_choices: int,
) -> MeasureVerdict:  # fmt: skip
    """The verdict of one measure.

    Parameters
    ----------
    of : Influence
        Its ρ.
    p : float
        Of the permutation test, corrected for the number of measures.
    trivial : sequence of (name, Influence)
        Measures that do not look at ideas; one that is this measure itself is left out by the caller.
    """
    if not math.isfinite(of.value):
        return MeasureVerdict(ANSWERS[3], math.nan, 1.0, constant=True)
    best = ceiling.best.estimate
    share = of.value / best if best > 0 else math.nan
    if not ceiling.shown:
        return MeasureVerdict(ANSWERS[5], share, p)
    beaten_by = tuple(name for name, one in trivial if not inference.lower(of.plus(one, -1.0)) > 0)
    if p <= ALPHA and not beaten_by:
        whole = of.plus(ceiling.mind, -MOST)
        if inference.lower(whole) > 0:
            return MeasureVerdict(ANSWERS[0], share, p)
        if inference.lower(whole.times(-1.0)) > 0:
            return MeasureVerdict(ANSWERS[1], share, p)
        needed = numbers_that_tell([whole.times(np.sign(whole.value))], inference, ceiling, n_choices)
        return MeasureVerdict(ANSWERS[2], share, p, needed=needed)
    half = of.times(-1.0).plus(ceiling.mind, HALF)
    if p > ALPHA and inference.lower(half) > 0:
        return MeasureVerdict(ANSWERS[3], share, p, beaten_by)
    more = [of.plus(one, -1.0) for name, one in trivial if name in beaten_by]
    # To see anything, and more than each trivial measure, is told by the hardest of these; or that it sees little is.
    needed = _fewer(
        numbers_that_tell([of, *more], inference, ceiling, n_choices),
        numbers_that_tell([half], inference, ceiling, n_choices),
    )
    return MeasureVerdict(ANSWERS[4], share, p, beaten_by, needed)


def numbers_that_tell(
    contrasts: Sequence[Influence], inference: TextInference, ceiling: Ceiling, n_choices: int
) -> Needed:
    """More texts, or more judgments, with which all these contrasts would be shown to be above 0, at 80% power each."""
    found = [_numbers(one, inference.robin, ceiling.again.estimate, n_choices) for one in contrasts]
    texts, judgments = ([getattr(one, name) for one in found] for name in ("texts", "judgments"))
    return Needed(*(None if None in some else max(some) for some in (texts, judgments)))


def _numbers(of: Influence, robin: RoundRobin, again: float, n_choices: int) -> Needed:
    """Of one contrast."""
    parts = robin.variance(of)
    texts, documents = float(parts.texts.mean()), len(parts.texts)
    if not of.value > 0:
        return Needed(None, None)
    m = np.arange(math.ceil(texts) + 1, math.ceil(MOST_TIMES * texts) + 1, dtype=float)
    apart = (parts.pair + parts.choice) * texts * (texts - 1) / (m * (m - 1))
    enough = of.value > _ends(documents * (m - 1)) * np.sqrt(max(parts.text, 0.0) * texts / m + apart)
    more_texts = math.ceil(documents * (m[enough][0] - texts)) if enough.any() else None
    times = np.linspace(1.25, MOST_TIMES, 76)
    # More judgments take noise off the ranking, and every ρ with it rises alike.
    gain = times / (1 + (times - 1) * again)
    rest = parts.choice / times + (max(parts.text, 0.0) + parts.pair) * gain
    enough = of.value * np.sqrt(gain) > _ends(np.full(len(times), documents * (texts - 1))) * np.sqrt(rest)
    more = math.ceil((times[enough][0] - 1) * n_choices) if enough.any() else None
    return Needed(more_texts, more)


def _ends(among: Floats) -> Floats:
    """Standard errors that a gap must have to be shown with power."""
    df = np.array([degrees(int(one)) for one in among])
    return np.asarray(stdtrit(df, 1 - ALPHA) + stdtrit(df, POWER))


def _fewer(one: Needed, other: Needed) -> Needed:
    """Whichever needs less, of each kind."""
    known = [[n for n in pair if n is not None] for pair in zip(
        (one.texts, one.judgments), (other.texts, other.judgments), strict=True)]  # fmt: skip
    return Needed(*(min(some) if some else None for some in known))
