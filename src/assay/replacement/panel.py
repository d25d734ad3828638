"""From the table to the arrays of the alternative annotator test: its settings, the panel, who is closer.

`TestTable` is made once for a table and serves every judge of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.annotations import Annotations, Answers, Repeats
from assay.data.scales import Label
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation import MAX_UNITS, Method, units_of
from assay.replacement.alignment import Floats, Ints, Panel, Score, majority_without, make_score
from assay.replacement.decision import Test

Expertise = Literal["expert", "skilled", "crowd"]
Normalise = Literal["zscore", "minmax", "rank"]
Ties = Literal["random", "lowest", "highest", "share"]

EPSILON: Mapping[str, float] = {"expert": 0.2, "skilled": 0.15, "crowd": 0.1}
"""The paper's rule of thumb for epsilon by who the annotators are (appendix B.1)."""

UNIT_CELLS = 12_000_000
"""Win counts kept for resampling are summed into blocks of items so that no more numbers than this are held."""


@dataclass(frozen=True)
class Settings:
    """Everything that decides the outcome of an alt-test besides the labels; see `alt_test`."""

    epsilon: float | None = None
    annotators: Expertise | None = None
    score: str | Callable[..., float] | Score | None = None
    similarity: Any = None
    fdr: float = 0.05
    threshold: float = 0.5
    min_items: int = 30
    min_humans: int = 2
    test: Test = "auto"
    normalise: Normalise | None = None
    balance: bool = False
    ties: Ties = "random"
    expert: str | None = None
    gold: str | Mapping[str, Any] | None = None
    quality: str | Mapping[str, float] | None = None
    clusters: str | None = None
    repeats: Repeats = "error"
    method: Method = "percentile"
    n_resamples: int = 2000
    confidence: float = 0.95
    seed: int = 0

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """Settings from keyword options; an unknown one is named with its nearest."""
        known = [f.name for f in fields(cls)]
        for name in options:
            if name not in known:
                raise DesignError(unknown("option", name, known, "the alt-test's options"))
        return cls(**options)

    def __post_init__(self) -> None:
        if self.expert is not None and self.gold is not None:
            raise DesignError("expert=... and gold=... both name what everybody is compared with; give one")
        if self.epsilon is not None and self.annotators is not None:
            raise DesignError("epsilon=... and annotators=... both set epsilon; give one")
        if self.annotators is not None and self.annotators not in EPSILON:
            raise DesignError(unknown("annotators", self.annotators, EPSILON, "expert (.2), skilled (.15), crowd (.1)"))
        if self.epsilon is None and self.annotators is None and self.gold is None:
            raise DesignError(
                "the alt-test has no default for epsilon, what the judge's low cost is worth: say who the annotators "
                "are with annotators='expert' (.2), 'skilled' (.15) or 'crowd' (.1), or give epsilon=..."
            )
        for name, low, high in (("epsilon", 0, 1), ("fdr", 0, 1), ("threshold", 0, 1), ("confidence", 0, 1)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise DesignError(f"{name} must be a number; got {value!r}")
            if value is not None and not low <= value <= high:
                raise DesignError(f"{name} must lie between {low} and {high}; got {value}")
        if self.test not in ("auto", "t", "wilcoxon"):
            raise DesignError(f"test must be auto, t or wilcoxon; got {self.test!r}")
        if self.seed < 0:
            raise DesignError(f"seed must be 0 or a larger whole number; got {self.seed}")
        if self.min_humans < 2 and not self.fixed_reference:
            raise DesignError(
                "min_humans must be at least 2: leaving one annotator out, somebody must be left to compare with"
            )

    @property
    def fixed_reference(self) -> bool:
        """Whether everybody is compared with one label an item (C.2, C.3)."""
        return self.expert is not None or self.gold is not None

    @property
    def interval_options(self) -> dict[str, Any]:
        """How intervals are made, as options of `assay.estimation.estimate_units`."""
        return {
            "method": self.method, "n_resamples": self.n_resamples, "confidence": self.confidence, "seed": self.seed,
        }  # fmt: skip

    @property
    def tolerance(self) -> float:
        """The value of epsilon that is used: 0 against gold labels unless told otherwise (C.3)."""
        if self.epsilon is not None:
            return self.epsilon
        return EPSILON[self.annotators] if self.annotators is not None else 0.0


@dataclass(frozen=True)
class LeftOut:
    """What the test does not use, and why."""

    what: str
    count: int
    reason: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        named = f" ({listing(self.names)})" if self.names else ""
        return f"{counted(self.count, self.what)}{named}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Comparisons:
    """One judge against each annotator on each item, as the tests need it.

    Attributes
    ----------
    panel : Panel
        The human answers.
    judge : (items,) float
        The judge's labels, NaN where it has none.
    row : (n,) int
        Answers of ``panel`` that can be compared.
    sign : (n,) int
        1 where the judge is closer, 0 for a tie, −1 where the annotator is.
    shares : (n, classes) float or None
        Class of the majority label without the answer (C.1).
    """

    panel: Panel
    judge: Floats
    row: Ints
    sign: Ints
    shares: Floats | None = None

    def where(self, keep: NDArray[np.bool_]) -> Comparisons:
        """The comparisons where ``keep`` holds."""
        shares = None if self.shares is None else self.shares[keep]
        return replace(self, row=self.row[keep], sign=self.sign[keep], shares=shares)

    def counts(self, group: Ints, n_groups: int) -> Floats:
        """Wins, ties and losses by group of the answers: (groups, classes, 3)."""
        outcome = 1 - self.sign
        if self.shares is None:
            flat: Floats = np.bincount(group * 3 + outcome, minlength=n_groups * 3).astype(np.float64)
            return flat.reshape(n_groups, 1, 3)
        n_classes = self.shares.shape[1]
        by_class = [
            np.bincount(group * 3 + outcome, self.shares[:, c], minlength=n_groups * 3) for c in range(n_classes)
        ]
        stacked: Floats = np.stack(by_class, axis=-1).astype(np.float64)
        return stacked.reshape(n_groups, 3, n_classes).transpose(0, 2, 1)


@dataclass(frozen=True, eq=False)
class TestTable:
    """The table as every judge of it needs it; made once, tested often."""

    __test__ = False  # not a test case, whatever its name

    labels: Annotations
    settings: Settings
    answers: Answers
    panel: Panel
    humans: tuple[str, ...]
    score: Score
    clusters: Ints | None

    @classmethod
    def of(cls, labels: Annotations, settings: Settings) -> TestTable:
        """Check the table and reduce it to arrays."""
        if len(labels.criteria) > 1:
            raise DesignError(
                f"the table has {len(labels.criteria)} criteria ({listing(labels.criteria, 4)}); test each with "
                "assay.alt_test_by(labels, judge, by='criterion'), or choose one with labels.where(criterion=...)"
            )
        labels = labels.resolve_repeats(settings.repeats)
        humans = labels.humans
        if settings.expert is not None:
            if settings.expert not in humans:
                raise DataError(unknown("expert", settings.expert, humans, "the people of the table"))
            humans = tuple(h for h in humans if h != settings.expert)
        _refuse_too_few(labels, humans, settings)
        answers = labels.answers()
        score = _score_for(labels, settings)
        numbers = _normalised(answers, settings.normalise, labels) if settings.normalise else answers
        position = {name: j for j, name in enumerate(humans)}
        of_human = np.array([position.get(name, -1) for name in numbers.annotators])
        annotator = of_human[numbers.annotator]
        keep = annotator >= 0
        reference, categories = _reference(labels, numbers, settings)
        panel = Panel(
            item=numbers.item[keep],
            annotator=annotator[keep],
            value=numbers.value[keep].astype(float),
            n_items=len(numbers.items),
            n_annotators=len(humans),
            quality=_quality(labels, humans, settings.quality),
            reference=reference,
            labels=categories,
        )
        clusters = None if settings.clusters is None else _clusters(labels, settings.clusters)
        return cls(labels, settings, numbers, panel, humans, score, clusters)

    def judge_labels(self, judge: str) -> Floats:
        """The judge's label of each item, NaN where it has none: (items,)."""
        if judge not in self.labels.judges:
            if judge in self.labels.humans:
                raise DataError(f"'{judge}' is among the people; name the judges with judges=['{judge}', ...]")
            raise DataError(unknown("judge", judge, self.labels.judges, "the judges of the table"))
        mine = self.answers.annotator == self.answers.annotators.index(judge)
        found = np.full(self.panel.n_items, np.nan)
        found[self.answers.item[mine]] = self.answers.value[mine]
        return found

    def compare(self, judge: Floats) -> Comparisons:
        """The judge against each annotator on each item: section 3.1 and 3.2."""
        difference = self.score.difference(self.panel, judge)
        row = np.flatnonzero(~np.isnan(difference) & self.enough)
        shares = None
        if self.settings.balance:
            if self.score.name not in ("accuracy", "neg_rmse"):
                raise DesignError("balance=True weighs items by their majority label, which free text does not have")
            rng = np.random.default_rng(self.settings.seed)
            shares = majority_without(self.panel, rng, self.settings.ties)[0][row]
        return Comparisons(self.panel, judge, row, np.sign(difference[row]).astype(np.int64), shares)

    @cached_property
    def unit_of_item(self) -> tuple[Ints, int, str]:
        """The unit that each item is resampled with, how many there are, and what a unit is.

        It depends on the people alone, so that every judge of a table, alone or beside others, is estimated
        under the same resamples. Items that nobody can be compared on are no part of the sample: −1.
        """
        usable = np.zeros(self.panel.n_items, dtype=bool)
        usable[self.panel.item[self.enough]] = True
        items = np.flatnonzero(usable)
        n_classes = 1
        if self.settings.balance:
            n_classes = len(np.unique(self.panel.compared[1]))
        width = max(len(self.humans) * n_classes * 3 * max(len(self.labels.judges), 1), 1)
        clusters = None if self.clusters is None else self.clusters[items]
        whole = len(items) if clusters is None else len(np.unique(clusters))
        unit = np.full(self.panel.n_items, -1)
        unit[items], n_units = units_of(
            len(items), clusters, max_units=max(200, min(MAX_UNITS, UNIT_CELLS // width))
        )  # fmt: skip
        name = "blocks" if n_units < whole else "items" if clusters is None else "clusters"
        return unit, n_units, name

    @cached_property
    def enough(self) -> NDArray[np.bool_]:
        """Which answers can be compared at all: enough other labels on the item: (answers,)."""
        least = 1 if self.settings.fixed_reference else self.settings.min_humans - 1
        return np.asarray(self.panel.companions >= least)

    def units(self, compared: Comparisons, tested: Ints) -> Floats:
        """Win counts of each unit that is resampled: (units, annotators · classes · 3)."""
        unit, n_units, _ = self.unit_of_item
        n_classes = 1 if compared.shares is None else compared.shares.shape[1]
        position = np.full(len(self.humans), -1)
        position[tested] = np.arange(len(tested))
        at = position[self.panel.annotator[compared.row]]
        part = compared if (at >= 0).all() else compared.where(at >= 0)
        group = unit[self.panel.item[part.row]] * len(tested) + at[at >= 0]
        return part.counts(group, n_units * len(tested)).reshape(n_units, len(tested) * n_classes * 3)

    def left_out(self, judge: Floats, n: Ints, tested: Ints) -> tuple[LeftOut, ...]:
        """Items and annotators that are not in the test, counted, with the reason."""
        s = self.settings
        humans = np.bincount(self.panel.item, minlength=self.panel.n_items)
        labelled = humans > 0
        found = []
        if self.panel.reference is None:
            few = labelled & (humans < s.min_humans)
            reason = "a label of one person only" if s.min_humans == 2 else f"fewer than {s.min_humans} human labels"
        else:
            few = labelled & np.isnan(self.panel.reference)
            reason = "no reference label"
        if few.any():
            found.append(LeftOut("item", int(few.sum()), reason))
        missing = labelled & ~few & np.isnan(judge)
        if missing.any():
            found.append(LeftOut("item", int(missing.sum()), "no label of the judge"))
        unasked = ~labelled & ~np.isnan(judge)
        if unasked.any():
            found.append(LeftOut("item", int(unasked.sum()), "no human label"))
        left = np.setdiff1d(np.arange(len(self.humans)), tested)
        if len(left):
            names = tuple(f"{self.humans[j]} with {n[j]}" for j in left)
            found.append(LeftOut("annotator", len(left), f"fewer than {s.min_items} comparable items", names))
        return tuple(found)


def _refuse_too_few(labels: Annotations, humans: tuple[str, ...], settings: Settings) -> None:
    """Leaving one person out, somebody must be left to compare with."""
    if len(humans) >= (1 if settings.fixed_reference else 2):
        return
    message = f"the alt-test leaves out each of at least 2 people in turn; the table has {len(humans)}"
    if not labels.judges:
        raise DesignError(f"{message} and no judge; name the judges with judges=[...]")
    raise DesignError(f"{message}. With a single expert, recruit others and compare both with expert=...")


def _clusters(labels: Annotations, column: str) -> Ints:
    """The cluster of each item, from an item column; items without one share a cluster."""
    if column not in labels.items.columns:
        raise DataError(unknown("item column", column, labels.items.columns))
    names = labels.items[column].cast(pl.String).fill_null("").to_numpy()
    return np.unique(names, return_inverse=True)[1]


def _score_for(labels: Annotations, settings: Settings) -> Score:
    """The score asked for, or the one that fits the scale; refused where the scale has no such thing."""
    scale = labels.scale
    chosen = settings.score
    if chosen is None:
        numeric = scale.numeric or (scale.ordered and settings.normalise is not None)
        chosen = "similarity" if scale.kind == "text" else "neg_rmse" if numeric else "accuracy"
        if settings.similarity is not None:
            chosen = "similarity"
    if chosen == "neg_rmse" and not (scale.numeric or scale.kind == "preference" or scale.ordered):
        raise DesignError(f"score 'neg_rmse' needs numbers; the labels are {scale.describe()}: take 'accuracy'")
    if chosen == "similarity" and settings.similarity is None:
        raise DesignError(
            "free text is compared by a similarity: give similarity=..., a function of two labels or a table of "
            "label pairs (assay.similarity.lexical.character_similarity is one that needs nothing else)"
        )
    if settings.normalise is not None and not scale.ordered:
        raise DesignError(f"normalise='{settings.normalise}' needs ordered labels; these are {scale.describe()}")
    if settings.normalise is not None and chosen == "accuracy":
        raise DesignError("normalised labels are rarely equal: take score='neg_rmse'")
    return make_score(chosen, settings.similarity)


def _normalised(answers: Answers, how: Normalise, labels: Annotations) -> Answers:
    """Each annotator's labels on a scale of the annotator's own (FAQ)."""
    value = answers.value.astype(float)
    who = answers.annotator
    m = len(answers.annotators)
    n = np.maximum(np.bincount(who, minlength=m), 1)
    if how == "zscore":
        mean = np.bincount(who, value, m) / n
        spread = np.sqrt(np.bincount(who, (value - mean[who]) ** 2, m) / n)
        value = (value - mean[who]) / np.where(spread > 0, spread, 1.0)[who]
    elif how == "minmax":
        low, high = np.full(m, np.inf), np.full(m, -np.inf)
        np.minimum.at(low, who, value)
        np.maximum.at(high, who, value)
        value = (value - low[who]) / np.where(high > low, high - low, 1.0)[who]
    elif how == "rank":
        frame = pl.DataFrame({"who": who, "value": value})
        rank = frame.select(pl.col("value").rank("average").over("who"))["value"].to_numpy()
        # Divided by how many items the annotator answered: ranks of 50 and of 500 items become comparable.
        value = (rank - 0.5) / n[who]
    else:
        raise DesignError(f"normalise must be zscore, minmax or rank; got '{how}'")
    return replace(answers, value=value, categories=None)


def _quality(labels: Annotations, humans: tuple[str, ...], quality: str | Mapping[str, float] | None) -> Floats:
    """Q_j of each annotator (C.4)."""
    if quality is None:
        return np.ones(len(humans))
    if isinstance(quality, str):
        if quality not in labels.annotators.columns:
            raise DataError(unknown("annotator column", quality, labels.annotators.columns))
        quality = dict(labels.annotators.select("annotator", quality).iter_rows())
    for name in humans:
        if name not in quality:
            raise DataError(unknown("annotator", name, quality, "quality=..."))
        if not isinstance(quality[name], Real) or not 0 < quality[name] < np.inf:
            raise DataError(f"the quality of annotator '{name}' must be a number above 0; got {quality[name]!r}")
    return np.array([float(quality[name]) for name in humans])


def _reference(
    labels: Annotations, answers: Answers, settings: Settings
) -> tuple[Floats | None, tuple[Label, ...] | None]:
    """The one label of each item that everybody is compared with (C.2, C.3), and what category codes stand for."""
    if not settings.fixed_reference:
        return None, answers.categories
    found = np.full(len(answers.items), np.nan)
    if settings.expert is not None:
        mine = answers.annotator == answers.annotators.index(settings.expert)
        found[answers.item[mine]] = answers.value[mine]
        return found, answers.categories
    if settings.normalise is not None:
        raise DesignError("gold labels are compared as they are; leave normalise=... out")
    gold = settings.gold
    if isinstance(gold, str):
        if gold not in labels.items.columns:
            raise DataError(unknown("item column", gold, labels.items.columns))
        gold = dict(labels.items.select("item", gold).iter_rows())
    assert gold is not None
    # A gold label that nobody ever gave, as gold texts usually are, gets a code of its own.
    codes = None if answers.categories is None else {label: i for i, label in enumerate(answers.categories)}
    for i, item in enumerate(answers.items):
        label = gold.get(item)
        if label is None or label != label:
            continue
        try:
            found[i] = float(label) if codes is None else codes.setdefault(label, len(codes))
        except (TypeError, ValueError):
            raise DataError(f"the gold label of item '{item}' must be a number; got {label!r}") from None
    if np.isnan(found).all():
        raise DataError("gold=... has no label for any item of the table")
    if codes is None:
        return found, None
    if labels.scale.kind != "text" and np.nanmin(found) >= len(answers.categories or ()):
        strange = next(gold[i] for i in answers.items if gold.get(i) is not None)
        raise DataError(
            f"no gold label is one that anybody gave, the first is {strange!r}; labels are {labels.scale.describe()}"
        )
    return found, tuple(codes)
