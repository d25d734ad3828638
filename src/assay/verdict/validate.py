"""Simulate studies of a given size, with judges of known quality, and report how often the verdict is right."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunked.chunks import Chunks
from assay.data.ratings import cluster_codes
from assay.data.scales import Scale
from assay.errors import DesignError
from assay.estimation.intervals import Estimate, wilson, wilson_estimate
from assay.estimation.options import Settings, level_option, option, question_alone, seed_option
from assay.estimation.result import Result, Run
from assay.estimation.statistic import Floats
from assay.replacement.alt_test import alt_test
from assay.replacement.panel import BOTH_SET_EPSILON, Expertise
from assay.reporting import pictures
from assay.reporting.tables import estimated, said
from assay.simulation import CATEGORIES, NOISE, LabelSource, simulate
from assay.verdict import words
from assay.verdict.card import fairness_mark
from assay.verdict.cells import LEAST_IN_GROUP

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Progress = Callable[[str, int, int], None]
Expected = Literal["replace", "do_not_replace", "match_detected", "unfair", "fair"]

BAD = 0.25
"""Agreement ratio of the bad judge: half of the half that the verdict requires."""

LAZY = 0.9
"""Share of the items on which the lazy judge gives the most common label without reading them."""

COLUMN = 0.6
"""Share of the items whose column `topic` determines the true label: enough for a constant per topic to agree well."""

PLANTED: Mapping[str, tuple[Expected, str]] = {
    "good": ("replace", "has human-level errors"),
    "bad": ("do_not_replace", f"has an agreement ratio of {BAD:g}"),
    "lazy": ("do_not_replace", f"gives the most common label to {100 * LAZY:g}% of the items"),
    "constant": ("do_not_replace", "always gives the most common label"),
    "constant by topic": ("do_not_replace", "gives the most common label of each topic without reading the items"),
    "blind": ("do_not_replace", "draws labels from the human label distribution without reading the items"),
    "copy": ("match_detected", "copies one annotator who guesses: this match must be detected"),
    "unfair": (
        "unfair",
        "has human-level errors and is more severe with one group: by a step, or a fifth of an interval",
    ),
    "fair": ("fair", "has human-level errors in both groups"),
}
"""The planted judges: the right verdict, and how each labels."""


@dataclass(frozen=True, kw_only=True)
class ValidateVerdictSettings(Settings):
    """Options of `validate`: the shape of a study, and the number of simulations."""

    renamed: ClassVar[Mapping[str, str]] = {"scale": "categories=..."}

    n_items: int = option(100, "Number of items of a study.", low=10, key="items", always=True, first=True)
    n_annotators: int = option(5, "Number of annotators of a study.", low=2, key="humans", always=True, first=True)
    labels_per_item: int | None = option(None, "Number of annotators per item; by default all.", low=2, first=True)
    categories: Any = option(
        None, "Number of categories, or a scale such as 1-5.", details="By default 4 categories.", first=True
    )
    skew: float | None = option(
        None, "Share of the most common label (the highest of an ordered scale); the others share the rest.",
        above=0, below=1, details="Without skew and prior, shares are drawn again for each study.",
        first=True,
    )  # fmt: skip
    prior: Sequence[float] | None = option(None, "Share of each label, lowest first.", low=0, high=1)
    annotator_noise: float = option(
        NOISE, "Probability that an annotator draws a label at random from the label distribution.", low=0, below=1
    )
    documents: int | None = option(
        None, "Number of documents that items come from; the verdict uses them as clusters.", low=5, first=True
    )
    pilot: Annotations | Chunks | str | None = option(
        None, "Existing labels whose shape is used for the options that are not given.", hidden=True,
        details="Numbers of items, annotators and labels per item, scale, label distribution and human agreement.",
        first=True,
    )  # fmt: skip
    document: str | None = option(None, "Item column of a pilot with the document of each item.")
    expertise: Expertise | None = option(
        None, "Annotator type to replace; sets the margin ε, see `assay.alt_test`.", first=True
    )
    epsilon: float | None = option(
        None, "Non-inferiority margin ε on the advantage probability, instead of expertise.", low=0, high=1, first=True
    )
    alpha: float = option(0.05, "Significance level of each test.", above=0, below=0.5)
    n_studies: int = option(200, "Number of simulated studies.", low=1, key="studies", first=True)
    seconds: float | None = option(
        None, "Stop after this time, with the studies simulated so far.", above=0,
        details="Their number depends on the machine; n_studies alone gives the same numbers everywhere.",
        first=True,
    )  # fmt: skip
    confidence: float = level_option("Confidence level of the simulation intervals.")
    seed: int = seed_option("The same seed gives the same studies.")
    progress: Progress | None = option(None, "Called with (what, done, steps).", transient=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is not None and self.expertise is not None:
            raise DesignError(BOTH_SET_EPSILON)
        if self.epsilon is None and self.expertise is None:
            raise DesignError("a verdict requires a margin ε: set expertise='crowd', 'skilled' or 'expert', or "
                              "epsilon=...", option="expertise")  # fmt: skip
        if self.skew is not None and self.prior is not None:
            raise DesignError("skew=... and prior=... both set the label distribution; give one", option="skew")
        if self.document is not None and self.pilot is None:
            raise DesignError("document=... names a column of a pilot; without a pilot, set documents=...",
                              option="document")  # fmt: skip
        if self.labels_per_item is not None and self.labels_per_item > self.n_annotators:
            raise DesignError(
                f"labels_per_item={self.labels_per_item} exceeds n_annotators={self.n_annotators}; raise "
                "n_annotators=... or lower labels_per_item=...", option="labels_per_item",
            )  # fmt: skip

    @property
    def labelled_on(self) -> Scale:
        """The scale of the labels."""
        return LabelSource.of(CATEGORIES if self.categories is None else self.categories).scale

    @property
    def shares(self) -> tuple[float, ...] | None:
        """The label distribution; None to draw one for each study."""
        if self.skew is None:
            return None if self.prior is None else tuple(self.prior)
        number = len(self.labelled_on.categories or ())
        if not number:
            raise DesignError("skew=... requires categories; on an interval labels are uniform", option="skew")
        return (*([(1 - self.skew) / (number - 1)] * (number - 1)), self.skew)


@dataclass(frozen=True)
class JudgeRate:
    """How often one planted judge got the right verdict.

    Attributes
    ----------
    judge, behaviour : str
    expected : str
    right, wrong, n : int
        Studies with the right verdict, with the opposite verdict, and all. The others are undecided.
    """

    judge: str
    expected: Expected
    behaviour: str
    right: int
    wrong: int
    n: int
    level: float

    @cached_property
    def found(self) -> Estimate:
        """The share of right verdicts, with Wilson's interval."""
        return self._share(self.right)

    @cached_property
    def failure(self) -> Estimate:
        """The share of wrong verdicts, with Wilson's interval."""
        return self._share(self.wrong)

    def _share(self, count: int) -> Estimate:
        low, high = wilson(np.array(count / self.n), self.n, self.level)
        return wilson_estimate(count / self.n, float(low), float(high), self.n)


@dataclass(frozen=True, eq=False)
class VerdictValidation(Result):
    """How often the verdict is right for studies of one shape.

    Attributes
    ----------
    rates : tuple of JudgeRate
    n_studies : int
    shape : str
        Description of the studies.
    run : Run
    """

    counted: ClassVar[str] = "studies"

    rates: tuple[JudgeRate, ...] = field(metadata={"json": False})
    n_studies: int
    shape: str
    run: Run

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per planted judge.

        ``judge, behaviour, expected``, then ``estimate, low, high``: the share of studies with the right verdict;
        ``wrong, wrong_low, wrong_high``: with the opposite verdict; ``undecided``: the rest; ``n`` studies.
        """
        return pl.DataFrame(
            [
                {
                    "judge": one.judge, "behaviour": one.behaviour, "expected": one.expected, **one.found.row(),
                    "wrong": one.failure.estimate, "wrong_low": one.failure.low, "wrong_high": one.failure.high,
                    "undecided": 1 - (one.right + one.wrong) / one.n, "n": one.n,
                }
                for one in self.rates
            ]
        )  # fmt: skip

    def row_estimates(self) -> Sequence[Estimate]:
        """The share of right verdicts in each row."""
        return [one.found for one in self.rates]

    def summary(self) -> str:
        """A line per planted judge, then the rates of right and wrong verdicts."""
        lines = [f"{self.n_studies:,} simulated studies: {self.shape}.", ""]
        wide = max(len(one.judge) for one in self.rates)
        lines.append(f"{'judge':<{wide}}  {'expected':<14}{'right':>18}{'wrong':>18}{'undecided':>11}")
        for one in self.rates:
            right, wrong = (estimated(e.estimate, e.low, e.high) for e in (one.found, one.failure))
            rest = said(1 - (one.right + one.wrong) / one.n)
            lines.append(f"{one.judge:<{wide}}  {one.expected:<14}{right:>18}{wrong:>18}{rest:>11}")
        return "\n".join([*lines, "", *self.sentences(), f"Notes: {self.run.interval}.", *self.run.closing()])

    def sentences(self) -> list[str]:
        """How often the verdict is right and wrong in studies of this shape."""
        by_name = {one.judge: one for one in self.rates}
        good = by_name["good"]
        useless = [one for one in self.rates if one.expected in ("do_not_replace", "match_detected")]
        worst, seldom = max(useless, key=lambda one: one.wrong), min(useless, key=lambda one: one.right)
        lines = [
            words.good_judge(good.found),
            words.unsuitable_judges(worst.judge, worst.behaviour, worst.failure, self.n_studies),
            words.detected_least(seldom.judge, seldom.found),
        ]
        if "unfair" in by_name:
            lines.append(words.fairness_rates(by_name["unfair"].found, by_name["fair"].failure))
        return [*lines, *([] if good.found.high >= 0.8 else [words.MORE_POWER])]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw one bar per judge: right, undecided and wrong."""
        ax = pictures.axes(ax, width=6.4, height=1.2 + 0.3 * len(self.rates))
        names = [f"{one.judge}: {one.expected}" for one in self.rates][::-1]
        right, wrong = (
            np.array([getattr(one, what) / one.n for one in self.rates][::-1]) for what in ("right", "wrong")
        )
        left = np.zeros(len(names))
        for width, tone in ((right, "good"), (1 - right - wrong, "open"), (wrong, "bad")):
            colour = pictures.TONES[tone]  # type: ignore[index]
            ax.barh(
                range(len(names)), width, left=left, color=colour, alpha=0.35 if tone == "open" else 0.85, label=tone
            )
            left = left + width
        ax.set_yticks(range(len(names)), names)
        ax.set_xlim(0, 1)
        ax.set_xlabel("share of studies: right (green), undecided (sand), wrong (red)")
        return ax


@question_alone(ValidateVerdictSettings)
def validate(settings: ValidateVerdictSettings) -> VerdictValidation:
    """Simulate studies of a given size and report how often the verdict is right.

    Studies of one shape are simulated with judges of known quality, and tested with `assay.alt_test`: a good judge, a
    bad judge, a lazy judge, one that always gives the same label, one that gives the most common label of each topic,
    one that ignores the items, and a copy of an annotator who guesses. On ordered scales the card's fairness is tested
    for a judge that is more severe with one group, and for one that is not.

    Returns
    -------
    VerdictValidation

    Raises
    ------
    DesignError
        If neither expertise nor epsilon is set, or for an impossible shape.

    Examples
    --------
    >>> import assay
    >>> found = assay.plan.validate(n_items=60, n_annotators=3, categories=2, epsilon=0.2, n_studies=10, seed=1)
    >>> found.table.select("judge", "wrong").rows()[:4]
    [('good', 0.0), ('bad', 0.0), ('lazy', 0.0), ('constant', 0.0)]

    In ten such studies no judge got the opposite of the right verdict.
    """
    s, name = _shape_of_pilot(settings)
    begun, rights, wrongs, done = time.monotonic(), Counter[str](), Counter[str](), 0
    for seed in np.random.SeedSequence(s.seed).generate_state(s.n_studies).tolist():
        for judge, expected, answer in _verdicts(s, int(seed)):
            rights[judge] += answer == expected
            wrongs[judge] += (expected, answer) in OPPOSITE
        done += 1
        if s.progress is not None:
            s.progress("Simulating", done, s.n_studies)
        if s.seconds is not None and time.monotonic() - begun > s.seconds:
            break
    judges = [one for one in PLANTED if one not in ("fair", "unfair") or _tests_fairness(s)]
    rates = tuple(JudgeRate(one, *PLANTED[one], rights[one], wrongs[one], done, s.confidence) for one in judges)
    notes = []
    if done < s.n_studies:
        notes.append(f"stopped after {s.seconds:g} seconds, with {done:,} of {s.n_studies:,} studies")
    if not _tests_fairness(s):
        notes.append(f"fairness is not tested: it requires an ordered scale of numbers, and {LEAST_IN_GROUP} "
                     f"{'items' if s.documents is None else 'documents'} in each of two groups")  # fmt: skip
    run = Run(
        "validate", replace(settings, pilot=name), "none" if name is None else name, {"simulated": done},
        f"{100 * s.confidence:g}% intervals of simulation (Wilson)", notes=tuple(notes),
    )  # fmt: skip
    return VerdictValidation(rates, done, _describe_studies(s), run)


BY_TOPIC = "constant by topic"
"""The judge whose studies have topics."""

OPPOSITE = {
    ("replace", "do_not_replace"),
    ("do_not_replace", "replace"),
    ("match_detected", "replace"),
    ("unfair", "fair"),
    ("fair", "unfair"),
}
"""The right verdict and its opposite; every other verdict is undecided."""

GUESSING = "ann_1"
"""The annotator who guesses in the studies of the copy."""


def _tests_fairness(s: ValidateVerdictSettings) -> bool:
    units = s.n_items if s.documents is None else s.documents
    return s.labelled_on.numeric and units >= 2 * LEAST_IN_GROUP


def _verdicts(s: ValidateVerdictSettings, seed: int) -> Iterator[tuple[str, Expected, str]]:
    """Yield each planted judge of one study with the right verdict and its verdict."""
    # Another stream than that of the study, which drew the true labels that a topic must reveal.
    rng = np.random.default_rng((seed, 1))
    study = plant_judges(s, seed, rng)
    among = {name: study for name in study.judges if PLANTED[name][0] in ("replace", "do_not_replace")}
    # Columns become strata, and topics that predict labels lower the power. Only the judge that uses them needs them:
    # all others have the studies of `plan_alt_test`.
    plain = without_columns(study)
    among |= {name: plain for name in among if name != BY_TOPIC}
    among["copy"] = plant_copy(s, seed, rng)
    clusters = None if s.documents is None else "document"
    for name, labels in among.items():
        test = alt_test(labels, name, expertise=s.expertise, epsilon=s.epsilon, alpha=s.alpha, clusters=clusters,
                        method="none")  # fmt: skip
        matched = name == "copy" and test.verdict != "replace" and test.verdict_tests.matched_annotator == GUESSING
        yield name, PLANTED[name][0], "match_detected" if matched else test.verdict
    if _tests_fairness(s):
        for name, judge in (("unfair", "unfair"), ("fair", "good")):
            mark = fairness_mark(study, judge, group="group", object=clusters, alpha=s.alpha)
            yield name, PLANTED[name][0], {"✗": "unfair", "✓": "fair"}.get(mark, "undecided")


def without_columns(study: Annotations) -> Annotations:
    """The study without topics and groups."""
    return replace(study, items=study.items.drop("topic", "group"))


def _simulate(
    s: ValidateVerdictSettings, seed: int, noise: Sequence[float], judges: Mapping[str, float]
) -> Annotations:
    return simulate(
        s.n_items, s.n_annotators, scale=s.labelled_on, prior=s.shares, annotator_noise=noise, judges=judges,
        labels_per_item=s.labels_per_item, documents=s.documents, seed=seed,
    )  # fmt: skip


def plant_judges(s: ValidateVerdictSettings, seed: int, rng: np.random.Generator) -> Annotations:
    """One study with every judge except the copy, and with a topic and a group of each item."""
    bad = 1 - BAD * (1 - s.annotator_noise)
    labels = _simulate(s, seed, [s.annotator_noise] * s.n_annotators, {"good": s.annotator_noise, "bad": bad})
    people, good = labels.matrix(labels.humans), labels.matrix(["good"])[:, 0]
    truth = _positions(labels)
    often = most_common(people)
    topic = np.where(rng.random(s.n_items) < COLUMN, truth, rng.permutation(truth))
    if len(np.unique(topic)) > MOST_TOPICS:
        topic = np.digitize(topic, np.quantile(topic, [0.25, 0.5, 0.75]))
    group = np.arange(s.n_items) % 2 if s.documents is None else np.arange(s.n_items) * s.documents // s.n_items % 2
    judges = {
        "lazy": np.where(rng.random(s.n_items) < LAZY, often, good),
        "constant": np.full(s.n_items, often),
        "constant by topic": np.array([most_common(people[topic == t]) for t in topic]),
        "blind": rng.permutation(good),
    }
    if _tests_fairness(s):
        listed = labels.scale.categories or labels.scale.bounds or ()
        judges["unfair"] = np.clip(good - group * _point(labels.scale), float(listed[0]), float(listed[-1]))
    items = labels.items.with_columns(
        topic=pl.Series([f"t{t:g}" for t in topic]), group=pl.Series(np.where(group == 1, "b", "a"))
    )
    return _add_judges(s, labels, items, judges)


def _point(scale: Scale) -> float:
    """The additional severity of the unfair judge: one step, or a fifth of an interval."""
    return 1.0 if scale.categories is not None or scale.bounds is None else (scale.bounds[1] - scale.bounds[0]) / 5


MOST_TOPICS = 10
"""On a scale with more labels topics are four ranges of it: a topic with few items does not predict labels."""


def plant_copy(s: ValidateVerdictSettings, seed: int, rng: np.random.Generator) -> Annotations:
    """A study whose first annotator guesses, and a judge that copies these labels and guesses the other items."""
    noise = [1.0, *[s.annotator_noise] * (s.n_annotators - 1)]
    labels = _simulate(s, seed, noise, {"spare": 1.0})
    first, spare = labels.matrix([GUESSING, "spare"]).T
    labels = labels.where(annotator=list(labels.humans))
    return _add_judges(s, labels, labels.items, {"copy": np.where(np.isnan(first), spare, first)})


def _positions(labels: Annotations) -> Floats:
    """True labels as positions on the scale, or as numbers of an interval."""
    truth = labels.items.sort("item")["truth"].to_list()
    categories = labels.scale.categories
    return np.array(
        truth if categories is None or labels.scale.numeric else [categories.index(t) for t in truth], float
    )


def most_common(values: Floats) -> float:
    """The most common human label; for many different numbers their median."""
    given = values[~np.isnan(values)]
    if not len(given):
        return math.nan
    names, counts = np.unique(given, return_counts=True)
    return float(names[counts.argmax()] if len(names) < len(given) / 2 else np.median(given))


def _add_judges(
    s: ValidateVerdictSettings, labels: Annotations, items: pl.DataFrame, judges: Mapping[str, Floats]
) -> Annotations:
    """The table with further judges, whose labels are in the order of item ids."""
    names, categories = items.sort("item")["item"], labels.scale.categories
    frames = [labels.labels]
    for name, values in judges.items():
        known = ~np.isnan(values)
        given = values[known]
        label = (
            pl.Series(given)
            if categories is None or labels.scale.numeric
            else pl.Series([categories[i] for i in given.astype(int)])
        )
        frames.append(pl.DataFrame({
            "item": names.filter(pl.Series(known)), "annotator": pl.repeat(name, int(known.sum()), eager=True),
            "label": label.cast(labels.labels.schema["label"]),
        }))  # fmt: skip
    every = pl.concat([frame.select("item", "annotator", "label") for frame in frames])
    return Annotations.from_frame(every, judges=[*labels.judges, *judges], scale=labels.scale, items=items)


def _shape_of_pilot(settings: ValidateVerdictSettings) -> tuple[ValidateVerdictSettings, str | None]:
    """The shape to simulate: from the options, and for options that are not given from the pilot."""
    if settings.pilot is None or isinstance(settings.pilot, str):
        if settings.pilot is not None:
            raise DesignError("pilot=... is a table of labels; read the file with assay.read", option="pilot")
        return settings, None
    labels = settings.pilot.in_memory("a pilot")
    if len(labels.criteria) > 1:
        raise DesignError(
            f"a pilot has one criterion; this one has {len(labels.criteria)}: use labels.where(criterion=...)",
            option="pilot",
        )
    humans = labels.humans
    if len(humans) < 2:
        raise DesignError(f"a pilot requires two annotators; this one has {len(humans)}", option="pilot")
    values = labels.resolve_repeats("first").matrix(humans)
    categories = labels.scale.categories
    if categories is None:
        raise DesignError(
            f"labels of a pilot on '{labels.scale.spec}' cannot be counted; name the categories instead of a pilot",
            option="pilot",
        )
    places = np.array(categories, dtype=float) if labels.scale.numeric else np.arange(len(categories), dtype=float)
    share = (values[..., None] == places).sum(axis=(0, 1)) / max(1, int((~np.isnan(values)).sum()))
    per_item = (~np.isnan(values)).sum(axis=1)
    kept = per_item[per_item > 1]
    shape: dict[str, Any] = {
        "n_items": labels.n_items, "n_annotators": len(humans), "categories": labels.scale,
        "prior": tuple((share / share.sum()).tolist()), "annotator_noise": noise_of_agreement(values, places, share),
    }  # fmt: skip
    if len(kept) and int(np.median(kept)) < len(humans):
        shape["labels_per_item"] = max(2, int(np.median(kept)))
    if settings.document is not None:
        shape["documents"] = len(np.unique(cluster_codes(labels, settings.document)))
    if settings.skew is not None:
        del shape["prior"]
    given = settings.changed()
    return replace(settings, **{name: value for name, value in shape.items() if name not in given}), labels.fingerprint


def noise_of_agreement(values: Floats, places: Floats, share: Floats) -> float:
    """The noise with which two annotators agree as often as these: (1 − noise)² of the agreement beyond chance."""
    counts = (values[..., None] == places).sum(axis=1)
    n = counts.sum(axis=1)
    pairs = (n * (n - 1)).sum()
    if not pairs:
        raise DesignError("a pilot requires items with labels of two annotators; this one has none", option="pilot")
    observed, chance = (counts * (counts - 1)).sum() / pairs, (share**2).sum()
    if chance >= 1:
        raise DesignError("all human labels of this pilot are equal, so no judge can be tested", option="pilot")
    return float(np.clip(1 - math.sqrt(max((observed - chance) / (1 - chance), 0.0)), 0.0, 0.99))


def _describe_studies(s: ValidateVerdictSettings) -> str:
    """A description of the studies."""
    people = f"{s.n_annotators} annotators" + ("" if s.labels_per_item is None else f", {s.labels_per_item} per item")
    shares = "shares drawn for each study" if s.shares is None else "shares " + ", ".join(f"{p:.2g}" for p in s.shares)
    inside = "" if s.documents is None else f" of {s.documents} documents"
    kind = s.labelled_on
    if kind.categories is None:
        shares = "uniform"
    return (
        f"{s.n_items:,} items{inside}, {people} with noise {s.annotator_noise:.2f}, labels {kind.describe()}, {shares}"
    )
