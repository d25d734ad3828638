"""Options, scores and arrays of the alternative annotator test: how a label is compared with human labels.

Calderon, Reichart & Dror (2025), section 3.1: for annotator j on item i the alignment score S compares a label with the
labels of the others, H_i[-j]. The test uses only the sign of S(f, x_i, j) − S(h_j, x_i, j). For accuracy and RMSE the
sign follows from the counts of each label, or from the number of labels and their sum, without a loop over items,
annotators or judges. `AltTestTable` is computed once for a table and serves all of its judges.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cached_property
from itertools import combinations
from numbers import Real
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.annotations import Annotations, Answers, Repeats
from assay.data.chunks import Chunks
from assay.data.groups import LEAST_HELD, item_groups
from assay.data.names import Coded, NameParts, Names, common_suffix, factorize, stems
from assay.data.ratings import Ratings, cluster_codes
from assay.data.scales import Label, Preference, Scale
from assay.data.sides import PAIR_OF
from assay.errors import DataError, DesignError, listing, unknown
from assay.estimation.intervals import Estimate, missing
from assay.estimation.options import IntervalSettings, Limits, Method, Settings, option, short
from assay.estimation.resampling import Units
from assay.estimation.result import fingerprint_with
from assay.estimation.statistic import Bools, Floats, Ints
from assay.similarity.protocol import Similarity
from assay.similarity.registry import FOR_HELP, similarity_named
from assay.statistics.blocks import cross_codes
from assay.statistics.categories import Alpha, Together
from assay.statistics.wins import count_wins

# -- options, for one judge, several, domains ---------------------------------------------------------

Expertise = Literal["expert", "skilled", "crowd"]
Normalise = Literal["zscore", "minmax", "rank"]
Ties = Literal["share", "random", "lowest", "highest"]
Test = Literal["published", "t", "wilcoxon", "exact"]
Correction = Literal["across", "within"]
Multiplicity = Literal["holm", "each"]
ScoreName = Literal["accuracy", "neg_rmse", "similarity"]

EPSILON: Mapping[str, float] = {"expert": 0.2, "skilled": 0.15, "crowd": 0.1}
"""The paper's rule of thumb for epsilon, by type of annotator (appendix B.1)."""


@dataclass(frozen=True, kw_only=True)
class RuleSettings(Settings):
    """Options of every alternative annotator test and of its plans: the comparison of labels and the requirements."""

    score: ScoreName | Callable[..., float] | None = option(
        None, "Score that compares two labels.", key="",
        details="Default: accuracy for categories without order and preferences, neg_rmse for numbers, ordered words "
        "and preferences with grades, similarity for text (section 3.1). A callable takes a label and the list of the "
        "others' labels.",
    )  # fmt: skip
    similarity: Any = option(
        None, f"Similarity measure for texts: {FOR_HELP}; or a table of label pairs with a number each.",
        details="In Python also a function of two labels. Names are those of `assay.similarity_matrix`.",
        first=True,
    )  # fmt: skip
    fdr: float = option(
        0.05,
        "False discovery rate of the published rule (Benjamini–Yekutieli).",
        above=0,
        below=1,
        always=True,
        details="The paper's .05.",
    )
    alpha: float = option(
        0.05, "Significance level of each test.", above=0, below=1,
        details="The verdict replace has at most this probability for a judge that is not as good as `threshold` of "
        "the annotators, has no item-level agreement, or has an agreement ratio of at most `min_agreement_ratio`.",
    )  # fmt: skip
    min_agreement_ratio: float = option(
        0.5, "Agreement ratio that the judge must exceed.", low=0, high=1,
        details="R = A(judge, annotators) / A(annotators), chance-corrected within strata of items (`strata`). A judge "
        "that is exchangeable with the annotators has R = 1, one that ignores the items 0.",
    )  # fmt: skip
    analyses: int = option(
        1, "Number of planned interim analyses.", low=1,
        details="The last one is included. Each analysis spends a part of alpha (O'Brien-Fleming type spending "
        "function, Lan & DeMets 1983; the dependence between analyses is not used), so that a study that is tested as "
        "it grows keeps its error rate.",
    )  # fmt: skip
    analysis: int = option(1, "Which of the planned interim analyses this is.", low=1)
    threshold: float = option(
        0.5, "Share of annotators to which the judge must be non-inferior.", above=0, high=1,
        details="The published rule is omega >= threshold, with the paper's .5.",
    )  # fmt: skip
    min_items: int = option(
        30, "Minimum comparable items per annotator.", low=0,
        details="Annotators with fewer items are not tested. They are named, and remain among the others. The paper's "
        "30.",
    )  # fmt: skip
    min_humans: int = option(
        2, "Minimum human labels per item.", low=1, details="Other items are excluded and counted. The paper's 2."
    )
    test: Test = option(
        "published", "Test behind ω: published (t; Wilcoxon below 30 items), t, wilcoxon or exact.",
        details="The verdict has exact tests in any case, except with balance and clusters. Wilcoxon's signed-rank "
        "test requires a smaller min_items. With epsilon above 0 it rejects true hypotheses in 7 to 94% of studies, "
        "and the t-test in up to 18% if the judge almost never wins; see the page on error rates. exact: the exact "
        "unconditional test of wins, ties and losses, ordered by Tango's score statistic, for any number of items: it "
        "rejects a true hypothesis in at most 5% of studies, for any share of ties. Above 300 items its p-value is "
        "that of the score statistic (at most 6%). It requires independent items of equal weight, so it is refused "
        "with balance and clusters; weights of annotators (quality) are allowed.",
    )  # fmt: skip
    normalise: Normalise | None = option(
        None, "Put all annotators on one scale.",
        details="By standard scores, by 0-1 over each annotator's range, or by ranks divided by the number of items "
        "that the annotator labelled (FAQ).",
    )  # fmt: skip
    balance: bool = option(
        False, "Weight items so that all labels count equally.",
        details="By the inverse frequency of their majority label (C.1). omega uses the pooled variance of C.1, as "
        "published; the verdict's test uses the variance of each class under the hypothesis, which holds its level if "
        "classes differ (`assay.statistics.wins`).",
    )  # fmt: skip
    ties: Ties = option(
        "share", "Class of a tied majority under --balance; share: each in equal parts.",
        details="random draws one of the tied labels with seed (the rule of theorem 1, so that the verdict can depend "
        "on it); lowest and highest take that label.",
    )  # fmt: skip
    min_class: int = option(
        5, "Minimum items per class under --balance.", low=0,
        details="A test is refused if a label is the majority on fewer items of an annotator.",
    )  # fmt: skip
    quality: str | Mapping[str, float] | None = option(
        None, "Weight annotators: a column of the annotators, or a weight for each name.",
        details="Weights of annotators (C.4).",
    )  # fmt: skip
    repeats: Repeats = option(
        "error", "How to combine repeated labels: error, first, last, mean, majority or each.",
        details="See `Annotations.resolve_repeats`.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.similarity, str):
            object.__setattr__(self, "similarity", similarity_named(self.similarity))
        if self.analysis > self.analyses:
            raise DesignError(
                f"analysis={self.analysis} of analyses={self.analyses} planned: give the planned number of analyses"
            )

    @property
    def level(self) -> float:
        """The part of alpha that this analysis can spend."""
        return spent(self.alpha, self.analysis, self.analyses) - spent(self.alpha, self.analysis - 1, self.analyses)


def spent(alpha: float, analysis: int, analyses: int) -> float:
    """Return the part of alpha that is spent after an analysis: 2 - 2 Φ(z / √t), t the share of analyses so far.

    z is the upper alpha / 2 point (Lan & DeMets 1983): early analyses spend little, and all of them together alpha.
    """
    from scipy.special import ndtr, ndtri

    return 0.0 if analysis <= 0 else float(2 * ndtr(ndtri(alpha / 2) / math.sqrt(analysis / analyses)))


Copies = Literal["refuse", "leave out"]


@dataclass(frozen=True, kw_only=True)
class AltTestSettings(IntervalSettings, RuleSettings):
    """Every option that determines the result of an alternative annotator test; see `assay.alt_test`."""

    renamed: ClassVar[Mapping[str, str]] = {
        "annotators": "expertise=...", "least_retention": "min_agreement_ratio=...", "look": "analysis=...",
        "looks": "analyses=...",
    }  # fmt: skip

    epsilon: float | None = option(
        None, "Non-inferiority margin ε on the advantage probability, 0 to 1.", low=0, high=1, key="eps", always=True,
        details="There is no default: give it, or expertise.",
        first=True,
    )  # fmt: skip
    expertise: Expertise | None = option(
        None, "Annotator type to replace; sets the margin ε: expert 0.2, skilled 0.15, crowd 0.1.", key="",
        details="The paper's rule of thumb (appendix B.1).",
        first=True,
    )  # fmt: skip
    expert: str | None = option(None, "Compare with one trusted annotator.", details="Appendix C.2.")
    gold: str | Mapping[str, Any] | None = option(
        None, "Compare with a gold-label column: does the judge outperform the annotators?",
        details="Or with a mapping of item to label. epsilon is 0 unless given (C.3).",
    )  # fmt: skip
    clusters: str | None = option(
        None, "Column that groups dependent items, such as the document.",
        details="Items of a cluster are resampled together. The tests use a cluster-robust standard error and count "
        "effective clusters instead of items; the verdict requires ten clusters.",
        first=True,
    )  # fmt: skip
    method: Method = option(
        "jackknife", "Interval method (jackknife: for ρ, Wilson interval with jackknife effective size).",
        details="The effective number of items is the jackknife's. It has good coverage if a bootstrap has too few "
        "distinct resamples: with few items, few clusters, or ρ close to 1.",
    )  # fmt: skip
    strata: Sequence[str] | str = option(
        "auto", "Strata for item-level agreement and R: auto, none, stem, suffix or item metadata columns.",
        details="Strata are known without reading the items. auto uses item columns with few values, columns of "
        "numbers in five parts, documents, the suffix of item ids (such as a question) and, if the annotators agree "
        "within it, their stem (such as a document). A judge that uses nothing else never gets replace. none uses no "
        "strata.",
    )  # fmt: skip
    copies: Copies = option(
        "refuse", "If a judge matches one annotator unusually often: refuse a verdict, or exclude that annotator.",
        details="If it agrees with one annotator more than agreement with the others explains, that annotator's labels "
        "may have leaked to it, and the result does not apply to new items. refuse: never replace. leave out: exclude "
        "the annotator, so that the verdict is about the others.",
    )  # fmt: skip
    seed: int = option(0, "Random seed.", low=0, always=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.expert is not None and self.gold is not None:
            raise DesignError("expert=... and gold=... both set the label to compare with; give one of them")
        if self.epsilon is not None and self.expertise is not None:
            raise DesignError(BOTH_SET_EPSILON)
        if self.epsilon is None and self.expertise is None and self.gold is None:
            raise DesignError(
                "the alternative annotator test has no default margin epsilon: set expertise='expert' (.2), 'skilled' "
                "(.15) or 'crowd' (.1), or epsilon=..."
            )
        if self.test == "exact" and (self.balance or self.clusters is not None):
            raise DesignError(
                "the exact test requires independent items of equal weight; balanced and clustered tests are t-tests "
                "that allow for both: omit the option test"
            )
        if self.min_humans < 2 and not self.fixed_reference:
            raise DesignError(
                "min_humans must be at least 2: without the annotator who is left out, one label must remain to "
                "compare with"
            )

    @property
    def fixed_reference(self) -> bool:
        """Whether all raters are compared with one label for each item (C.2, C.3)."""
        return self.expert is not None or self.gold is not None

    @property
    def tolerance(self) -> float:
        """The value of epsilon that is used: 0 with gold labels unless given (C.3)."""
        if self.epsilon is not None:
            return self.epsilon
        return EPSILON[self.expertise] if self.expertise is not None else 0.0

    @property
    def single_test(self) -> AltTestSettings:
        """The options of a single test, without those that a question adds."""
        if type(self) is AltTestSettings:
            return self
        return AltTestSettings(**{f.name: getattr(self, f.name) for f in fields(AltTestSettings)})

    def signed(self) -> dict[str, str]:
        """As for all options, but epsilon is the number that is used, for either option."""
        eps = {"eps": short(float(self.tolerance))}
        signed = eps | super().signed() | eps
        return signed | {"score-function": short(self.score)} if callable(self.score) else signed


BOTH_SET_EPSILON = "epsilon=... and expertise=... both set epsilon; give one"


@dataclass(frozen=True, kw_only=True)
class AltTestBySettings(AltTestSettings):
    """Options of the alternative annotator test by domain."""

    by: str = option(
        "criterion",
        "Analyse each value of this column separately.",
        always=True,
        details="A column of the labels, items or annotators.",
        first=True,
    )
    correction: Correction = option(
        "across", "Adjust across all criteria or within each.", always=True,
        details="across: one false discovery rate over the annotators of all domains, the FAQ's advice; it is stricter "
        "if few hypotheses are rejected. within: one in each domain, as in the paper's table 5.",
    )  # fmt: skip


@dataclass(frozen=True)
class PairedSettings(AltTestSettings):
    """Options of the alternative annotator test with paired annotators of two sets."""

    sets: Annotated[
        Sequence[Sequence[str]] | Sequence[str] | str,
        Limits(
            "The two sets of annotators: two lists of names, or a column of the annotators with two values.",
            details="The smaller set determines the number of combined annotators.",
        ),
    ]
    _: KW_ONLY
    n_pairings: int = option(100, "Random pairings; all pairings if there are fewer.", low=1)


@dataclass(frozen=True)
class CompareSettings(AltTestSettings):
    """Options of the alternative annotator test of several judges."""

    judges: Sequence[str] | str | None = option(None, "Judges to test; all judges of the table by default.", key="")
    together: Multiplicity = option(
        "holm", "Multiplicity adjustment of the verdicts: holm, or each judge at level alpha.",
        details="holm: the probability of any false replace is at most alpha, so that the judges with replace are a "
        "shortlist. each: every judge is tested at level alpha.",
    )  # fmt: skip


# -- strata of items ---------------------------------------------------------------------------------

MOST_ITEMS = 2**15
"""Items that are drawn if there are more: with 3 annotators R's standard error is about .01 at this number."""


@dataclass(frozen=True, eq=False)
class Stratification:
    """Strata of items that are known without reading them: a name, and the stratum of each item, (items,)."""

    name: str
    part: Ints
    by_stem: bool = False
    """Whether strata are stems of item ids, such as documents, whose text the items can share."""


# -- human labels, and the score of a label against them ------------------------------------------------

TIE = 1e-9
"""Score differences up to this share of the scores' size are rounding, and count as ties."""

DENSE_CELLS = 50_000_000
"""Item-by-label tables up to this size (400 MB) are held whole; larger ones are looked up by sorted keys."""


@dataclass(frozen=True, eq=False)
class Panel:
    """Human labels of the items of one criterion, and the labels that each is compared with.

    Attributes
    ----------
    item, annotator : (answers,) int
        Item and annotator of each human label.
    value : (answers,) float
        The label as a number: its value, or the position of its category or text.
    n_items, n_annotators : int
        Their numbers.
    quality : (annotators,) float
        Weight of each annotator, all 1 by default (appendix C.4).
    reference : (items,) float or None
        One label for each item that all raters are compared with, NaN if missing: a single expert's (C.2) or gold
        (C.3). None compares each annotator with the others.
    labels : tuple or None
        The labels at the positions in ``value``, if labels are categories or text.
    """

    item: Ints
    annotator: Ints
    value: Floats
    n_items: int
    n_annotators: int
    quality: Floats
    reference: Floats | None = None
    labels: tuple[Label, ...] | None = None

    def label(self, value: float) -> Any:
        """Return the label of a number."""
        return float(value) if self.labels is None else self.labels[int(value)]

    @cached_property
    def weights(self) -> Floats:
        """Weight of each answer, its annotator's quality: (answers,)."""
        return np.asarray(self.quality[self.annotator])

    @cached_property
    def own(self) -> Floats:
        """Weight of each answer within the labels that it is compared with, to be subtracted."""
        return self.weights if self.reference is None else np.zeros(len(self.item))

    @cached_property
    def compared(self) -> tuple[Ints, Floats, Floats]:
        """Item, value and weight of every label that serves as a comparison."""
        if self.reference is None:
            return self.item, self.value, self.weights
        known = np.flatnonzero(~np.isnan(self.reference))
        return known, self.reference[known], np.ones(len(known))

    @cached_property
    def people(self) -> Ints:
        """The number of human labels of each item: (items,)."""
        return np.bincount(self.item, minlength=self.n_items)

    @cached_property
    def companions(self) -> Ints:
        """For each answer, the number of labels that it is compared with: (answers,)."""
        item, _, _ = self.compared
        return np.bincount(item, minlength=self.n_items)[self.item] - (self.reference is None)

    @cached_property
    def others(self) -> Floats:
        """For each answer, the weight W of the labels that it is compared with: (answers,)."""
        item, _, weight = self.compared
        return np.asarray(np.bincount(item, weight, self.n_items)[self.item] - self.own)

    @cached_property
    def total(self) -> Floats:
        """For each answer, the weighted sum T of the labels it is compared with: (answers,)."""
        item, value, weight = self.compared
        return np.asarray(np.bincount(item, weight * value, self.n_items)[self.item] - self.own * self.value)

    @cached_property
    def doubled(self) -> Floats:
        """2 T: (answers,)."""
        return 2 * self.total

    @cached_property
    def alone(self) -> Ints:
        """The answers without any label to compare with."""
        return np.flatnonzero(self.companions == 0)

    def compared_only(self, difference: Floats) -> Floats:
        """Return the differences, NaN for answers without any label to compare with."""
        if len(self.alone):
            difference[self.alone] = np.nan
        return difference

    @cached_property
    def item_sums(self) -> tuple[Floats, Floats]:
        """For each item, the weight W and the weighted sum T of the comparison labels: (items,) each."""
        item, value, weight = self.compared
        weights, sums = (np.asarray(np.bincount(item, w, self.n_items), float) for w in (weight, weight * value))
        return weights, sums

    @cached_property
    def agreement(self) -> Floats:
        """For each answer, the weight of the comparison labels that equal it: (answers,)."""
        item, value, weight = self.compared
        codes, labels = _codes(np.concatenate([value, self.value]))
        k = len(labels)
        theirs, mine = item * k + codes[: len(item)], self.item * k + codes[len(item) :]
        if self.n_items * k <= DENSE_CELLS:
            return np.asarray(np.bincount(theirs, weight, self.n_items * k)[mine] - self.own)
        keys, where = np.unique(np.concatenate([theirs, mine]), return_inverse=True)
        sums = np.bincount(where[: len(theirs)], weight, len(keys))
        return np.asarray(sums[where[len(theirs) :]] - self.own)

    @cached_property
    def votes(self) -> tuple[Bools, Ints, Floats]:
        """The labels with the most weight on each item, (items, labels); their number; the labels."""
        item, value, weight = self.compared
        codes, labels = _codes(value)
        if len(labels) * self.n_items > DENSE_CELLS:
            raise DesignError(f"a majority vote requires few distinct labels; there are {len(labels)}")
        table = np.bincount(item * len(labels) + codes, weight, self.n_items * len(labels))
        table = table.reshape(self.n_items, len(labels))
        top = table.max(axis=1, keepdims=True)
        best = (table >= top - TIE * np.maximum(top, 1)) & (top > 0)
        return best, best.sum(axis=1), labels

    @cached_property
    def comparisons(self) -> tuple[Ints, Floats, Floats]:
        """Every (answer, other label on its item): the answer's row, the other's value and weight."""
        if self.reference is not None:
            reference = self.reference[self.item]
            rows = np.flatnonzero(~np.isnan(reference))
            return rows, reference[rows], np.ones(len(rows))
        order = np.argsort(self.item, kind="stable")
        size = np.bincount(self.item, minlength=self.n_items)[self.item[order]]
        start = np.searchsorted(self.item[order], self.item[order])
        rows = np.repeat(np.arange(len(order)), size)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(size) - size, size)
        other = start[rows] + within
        keep = other != rows
        rows, other = order[rows[keep]], order[other[keep]]
        return rows, self.value[other], self.weights[other]


class AlignmentScore(ABC):
    """An alignment score: agreement of a label with the other annotators' labels of the item."""

    name: str

    def of_pairs(self, label: Callable[[float], Any], first: Floats, second: Floats) -> Floats:
        """Return the score of labels against one other label each, for scores that call a function: (pairs,)."""
        raise NotImplementedError

    @abstractmethod
    def difference(self, panel: Panel, judge: Floats) -> Floats:
        """Return the judge's score minus the annotator's for each human label, up to a positive factor: (answers,).

        ``judge`` has the judge's label of each item, NaN if missing. Differences within rounding are exactly 0. The
        value is NaN if the judge or the reference has no label.
        """

    def optimal(self, panel: Panel, rng: np.random.Generator) -> Floats | None:
        """Return the labels of the optimal judge (theorem 1): (items,); None for scores without a theorem."""
        return None

    def constant_differences(self, panel: Panel, judge: Floats, constants: Floats) -> Iterator[Floats]:
        """Yield for each constant the judge's score with all annotators of an item minus that of the constant.

        Arrays (items,), up to a positive factor; NaN if the judge or the annotators have no label. Nothing for scores
        that call a function, as there is no constant text.
        """
        del panel, judge, constants
        return iter(())


@dataclass(frozen=True)
class Accuracy(AlignmentScore):
    """ACC: the share of the others with the same label."""

    name: str = "accuracy"

    def difference(self, panel: Panel, judge: Floats) -> Floats:
        """Return the weight of the others with the judge's label, minus those with the annotator's."""
        item, value, weight = panel.compared
        f = judge[panel.item]
        same = np.bincount(item, weight * (value == judge[item]), panel.n_items)[panel.item]
        with_judge = same - panel.own * (panel.value == f)
        difference = _zero_rounding(with_judge - panel.agreement, panel.others)
        difference[np.isnan(f)] = np.nan
        return panel.compared_only(difference)

    def optimal(self, panel: Panel, rng: np.random.Generator) -> Floats:
        """Return the majority vote; ties are drawn."""
        return majority(panel, rng)

    def constant_differences(self, panel: Panel, judge: Floats, constants: Floats) -> Iterator[Floats]:
        """Yield the weight of the annotators with the judge's label, minus those with the constant."""
        item, value, weight = panel.compared
        total, n = panel.item_sums[0], panel.n_items
        mine = np.bincount(item, weight * (value == judge[item]), n)
        mine[np.isnan(judge) | (total == 0)] = np.nan
        for constant in constants:
            yield _zero_rounding(mine - np.bincount(item, weight * (value == constant), n), total)


@dataclass(frozen=True)
class NegRMSE(AlignmentScore):
    """−RMSE: minus the root mean squared distance to the others' labels.

    With f the judge's label, h the annotator's, W and T the weight and the weighted sum of the others'
    labels: SSE(f) − SSE(h) = (f − h) · (W (f + h) − 2 T), so the sign needs two sums an item.
    """

    name: str = "neg_rmse"

    def difference(self, panel: Panel, judge: Floats) -> Floats:
        """Return the SSE of the annotator minus that of the judge: positive if the judge is closer."""
        f, h = judge[panel.item], panel.value
        leaning = panel.others * (f + h) - panel.doubled
        size = panel.others * (np.abs(f) + np.abs(h)) + np.abs(panel.doubled)
        return panel.compared_only((h - f) * _zero_rounding(leaning, size))

    def optimal(self, panel: Panel, rng: np.random.Generator) -> Floats:
        """Return the mean of the labels."""
        weight, total = panel.item_sums
        with np.errstate(invalid="ignore"):
            return np.asarray(total / weight)

    def constant_differences(self, panel: Panel, judge: Floats, constants: Floats) -> Iterator[Floats]:
        """Yield the SSE of the constant minus that of the judge, over all annotators of the item."""
        weight, total = panel.item_sums
        for constant in constants:
            leaning = weight * (judge + constant) - 2 * total
            size = weight * (np.abs(judge) + abs(constant)) + 2 * np.abs(total)
            yield np.where(weight == 0, np.nan, (constant - judge) * _zero_rounding(leaning, size))


@dataclass(frozen=True)
class PairwiseScore(AlignmentScore):
    """The mean over the others of a function of two labels, such as the similarity of two texts (SIM)."""

    pairs: Callable[[Sequence[Any], Sequence[Any]], Floats] = field(repr=False)
    """Two equally long lists of labels -> a number for each pair; higher is closer."""
    name: str = "similarity"
    about: str = ""
    """Model and settings of the similarity."""

    def difference(self, panel: Panel, judge: Floats) -> Floats:
        """Return the summed similarity of the judge's label to the others', minus that of the annotator's."""
        rows, value, weight = panel.comparisons
        f = judge[panel.item]
        known = ~np.isnan(f)
        use = known[rows]
        rows, value, weight = rows[use], value[use], weight[use]
        # The same others in the same order for both, so that equal labels give equal sums to the last bit.
        scores = self._similarity(panel, np.concatenate([f[rows], panel.value[rows]]), np.concatenate([value, value]))
        of_judge, of_annotator = np.split(scores, 2)
        n = len(panel.item)
        judged, annotated = (np.bincount(rows, weight * s, n) for s in (of_judge, of_annotator))
        difference = _zero_rounding(judged - annotated, np.abs(judged) + np.abs(annotated))
        return np.where(known & (panel.companions > 0), difference, np.nan)

    def mean_with_humans(self, panel: Panel, judge: Floats) -> tuple[Ints, Floats]:
        """Return the similarity of the judge's label to each human label: (items of the labels, similarities)."""
        use = ~np.isnan(judge[panel.item])
        item, value = panel.item[use], panel.value[use]
        return item, self._similarity(panel, judge[item], value)

    def _similarity(self, panel: Panel, first: Floats, second: Floats) -> Floats:
        return self.of_pairs(panel.label, first, second)

    def of_pairs(self, label: Callable[[float], Any], first: Floats, second: Floats) -> Floats:
        """Return the similarities; each distinct pair is computed once."""
        distinct, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
        a, b = np.split(codes.astype(np.int64), 2)
        keys, where = np.unique(a * len(distinct) + b, return_inverse=True)
        named = [label(v) for v in distinct]
        found = np.asarray(
            self.pairs([named[k // len(distinct)] for k in keys], [named[k % len(distinct)] for k in keys]), dtype=float
        )
        if found.shape != keys.shape:
            raise DataError(f"the similarity returned {found.shape} numbers for {len(keys)} pairs")
        if np.isnan(found).any():
            bad = keys[np.flatnonzero(np.isnan(found))[0]]
            pair = named[bad // len(distinct)], named[bad % len(distinct)]
            raise DataError(f"there is no similarity for the labels {pair[0]!r} and {pair[1]!r}")
        return np.asarray(found[where])


@dataclass(frozen=True)
class CustomScore(AlignmentScore):
    """Any function of a label and the list of the others' labels; higher is closer."""

    function: Callable[[Any, list[Any]], float] = field(repr=False)
    name: str = "custom"

    def difference(self, panel: Panel, judge: Floats) -> Floats:
        """Return the function's score of the judge's label minus that of the annotator's, item by item."""
        if not np.all(panel.quality == 1):
            raise DesignError("a custom score does not support weights of annotators; omit quality=...")
        difference = np.full(len(panel.item), np.nan)
        for row, others in self._answers(panel):
            f = judge[panel.item[row]]
            if not np.isnan(f):
                mine = self.function(panel.label(panel.value[row]), others)
                difference[row] = self.function(panel.label(f), others) - mine
        return difference

    def of_pairs(self, label: Callable[[float], Any], first: Floats, second: Floats) -> Floats:
        """Return the function's scores of labels with one other label."""
        return np.array([float(self.function(label(a), [label(b)])) for a, b in zip(first, second, strict=True)])

    @staticmethod
    def _answers(panel: Panel) -> Iterator[tuple[int, list[Any]]]:
        """Yield each answer that can be compared, and the others' labels of its item."""
        rows, value, _ = panel.comparisons
        edges = np.flatnonzero(np.diff(rows, prepend=-1, append=-1))
        for start, end in itertools.pairwise(edges):
            yield int(rows[start]), [panel.label(v) for v in value[start:end]]


def make_score(score: str | Callable[..., float] | AlignmentScore, similarity: Any = None) -> AlignmentScore:
    """Return the score with this name: ``accuracy``, ``neg_rmse`` or ``similarity``; or of a function.

    Parameters
    ----------
    score : str or callable
        A callable takes a label and the list of the others' labels and returns a number, higher is closer.
    similarity : callable, mapping or frame
        For ``similarity``: a function of two labels, a mapping of label pairs to numbers, or a frame with
        two columns of labels and one of numbers. Pairs are looked up in both orders.
    """
    if isinstance(score, AlignmentScore):
        return score
    if score == "accuracy":
        return Accuracy()
    if score == "neg_rmse":
        return NegRMSE()
    if score == "similarity":
        if similarity is None:
            raise DesignError(
                "the score 'similarity' needs similarity=...: a function of two labels, or a table of label pairs"
            )
        about = similarity.about if isinstance(similarity, Similarity) else ""
        return PairwiseScore(_pairs_of(similarity), name=_name_of(similarity), about=about)
    if callable(score):
        return CustomScore(score, name=getattr(score, "__name__", "custom"))
    raise DesignError(f"unknown score '{score}'; use accuracy, neg_rmse, similarity or a function")


def majority(panel: Panel, rng: np.random.Generator) -> Floats:
    """Return the most frequent label of each item, ties drawn at random: (items,), NaN without any."""
    best, n_best, labels = panel.votes
    choice = np.argmax(np.where(best, rng.random(best.shape), -1.0), axis=1)
    return np.where(n_best > 0, labels[choice], np.nan)


def majority_share(panel: Panel, judge: Floats) -> tuple[Ints, Floats]:
    """Return whether the judge gives the majority label: 1 / (number of tied labels) if it gives one of them.

    Items with a majority and a label of the judge, and the credit of each: the expectation over random ties.
    """
    best, n_best, labels = panel.votes
    rows = np.flatnonzero((n_best > 0) & ~np.isnan(judge))
    at = np.minimum(np.searchsorted(labels, judge[rows]), len(labels) - 1)
    hit = best[rows, at] & (labels[at] == judge[rows])
    return rows, hit / n_best[rows]


def majority_without(panel: Panel, rng: np.random.Generator, ties: str) -> tuple[Floats, Floats]:
    """Return the majority label of each answer's item without that answer (C.1), as class shares.

    Returns
    -------
    shares : (answers, classes) float
        1 at the class of the majority; with ``ties="share"`` split evenly between tied classes.
    labels : (classes,) float
        The label of each class.
    """
    labels = np.unique(panel.value if panel.reference is None else panel.reference[~np.isnan(panel.reference)])
    if len(labels) * len(panel.item) > DENSE_CELLS:
        raise DesignError(f"balance=True requires few distinct labels; there are {len(labels)}")
    item, value, weight = panel.compared
    table = np.zeros((panel.n_items, len(labels)))
    np.add.at(table, (item, np.searchsorted(labels, value)), weight)
    each = table[panel.item]
    if panel.reference is None:
        each[np.arange(len(each)), np.searchsorted(labels, panel.value)] -= panel.weights
    top = each.max(axis=1, keepdims=True)
    best = (each >= top - TIE * np.maximum(top, 1)) & (top > 0)
    if ties == "share":
        with np.errstate(invalid="ignore"):
            return best / best.sum(axis=1, keepdims=True), labels
    if ties == "random":
        rank = rng.random(best.shape)
    elif ties == "lowest":
        rank = np.broadcast_to(np.arange(len(labels))[::-1], best.shape).astype(float)
    elif ties == "highest":
        rank = np.broadcast_to(np.arange(len(labels)), best.shape).astype(float)
    else:
        raise DesignError(f"ties must be random, lowest, highest or share; got '{ties}'")
    chosen = np.argmax(np.where(best, rank, -1.0), axis=1)
    shares = np.zeros(best.shape)
    shares[np.arange(len(best)), chosen] = best.any(axis=1)
    return shares, labels


def _codes(values: Floats) -> tuple[Ints, Floats]:
    """Return each value's position among the sorted ``labels``, which include every value; and ``labels``."""
    if len(values):
        low, high = values.min(), values.max()
        if high - low < 1000 and np.array_equal(values, np.rint(values)):
            # Whole numbers of a short range, as almost all labels are, do not require sorting.
            return (values - low).astype(np.int64), np.arange(low, high + 1)
    labels, codes = np.unique(values, return_inverse=True)
    return codes, labels


def _zero_rounding(difference: NDArray[Any], size: NDArray[Any]) -> Floats:
    return np.where(np.abs(difference) <= TIE * size, 0.0, difference)


def _pairs_of(similarity: Any) -> Callable[[Sequence[Any], Sequence[Any]], Floats]:
    """Return a function of two lists from a similarity, a function of two labels or a table."""
    if hasattr(similarity, "pairs"):
        pairs: Callable[[Sequence[Any], Sequence[Any]], Floats] = similarity.pairs
        return pairs
    if callable(similarity):
        return lambda first, second: np.array([float(similarity(a, b)) for a, b in zip(first, second, strict=True)])
    table = similarity if isinstance(similarity, Mapping) else _table_of(similarity)

    def look_up(first: Sequence[Any], second: Sequence[Any]) -> Floats:
        found = (
            1.0 if a == b and (a, b) not in table else table.get((a, b), table.get((b, a), np.nan))
            for a, b in zip(first, second, strict=True)
        )
        return np.fromiter(found, dtype=float, count=len(first))

    return look_up


def _table_of(frame: Any) -> dict[tuple[Any, Any], float]:
    from assay.data.columns import to_polars

    table = to_polars(frame)
    if table.width < 3:
        raise DataError("a table of similarities has three columns: a label, another label, their similarity")
    first, second, number = table.columns[:3]
    if not table[number].dtype.is_numeric():
        raise DataError(f"column '{number}' of the similarities must hold numbers")
    return {(a, b): float(s) for a, b, s in table.select(first, second, number).iter_rows()}


def _name_of(similarity: Any) -> str:
    name = getattr(similarity, "name", None) or getattr(similarity, "__name__", None)
    return f"similarity({name})" if name and name != "<lambda>" else "similarity"


# -- the constant baseline ---------------------------------------------------------------------------

MOST_CONSTANTS = 25
"""Constants that are tried: every label if there are no more, otherwise the 25 most common, and for numbers also 25
evenly spaced ones, 4% of the range apart. Each requires a pass through the items."""


@dataclass(frozen=True)
class ConstantBaseline:
    """The constant label that is closest to the annotators, and the items on which it or the judge is closer."""

    label: Label
    closer: int
    equal: int
    further: int
    """Items on which the judge is further from the annotators than the constant."""


def closest_constant(
    score: AlignmentScore, panel: Panel, judge: Floats, name: Callable[[float], Label]
) -> ConstantBaseline | None:
    """Return the constant with the most items closer than the judge, minus those further away; None for texts."""
    labels, often = np.unique(np.concatenate([panel.value, judge[~np.isnan(judge)]]), return_counts=True)
    if len(labels) > MOST_CONSTANTS:
        common = labels[np.sort(np.argsort(-often, kind="stable")[:MOST_CONSTANTS])]
        spaced = np.linspace(labels[0], labels[-1], MOST_CONSTANTS) if isinstance(score, NegRMSE) else common
        labels = np.union1d(common, spaced)
    outcomes = [
        (np.count_nonzero(d > 0), np.count_nonzero(d == 0), np.count_nonzero(d < 0))
        for d in score.constant_differences(panel, judge, labels)
    ]
    if not outcomes:
        return None
    best = min(range(len(outcomes)), key=lambda i: outcomes[i][0] - outcomes[i][2])
    return ConstantBaseline(name(float(labels[best])), *map(int, outcomes[best]))


# -- comparisons of a judge with the annotators --------------------------------------------------------

NEED_MEMORY = ("normalise", "expert", "gold", "quality", "clusters", "balance")
"""Options that require the whole table in memory."""


@dataclass(frozen=True, eq=False)
class HeadToHead:
    """Comparisons of one judge with each annotator on each item.

    Attributes
    ----------
    panel : Panel
        The human labels.
    judge : (items,) float
        The judge's labels, NaN if missing.
    row : (n,) int
        Answers of ``panel`` that can be compared.
    sign : (n,) int
        1 if the judge is closer, 0 for a tie, −1 if the annotator is closer.
    shares : (n, classes) float or None
        Class of the majority label without the answer (C.1).
    """

    panel: Panel
    judge: Floats
    row: Ints
    sign: Ints
    shares: Floats | None = None

    def where(self, keep: Bools) -> HeadToHead:
        """Return the comparisons selected by ``keep``."""
        shares = None if self.shares is None else self.shares[keep]
        return replace(self, row=self.row[keep], sign=self.sign[keep], shares=shares)

    def counts(self, group: Ints, n_groups: int, into: Floats | None = None) -> Floats:
        """Return wins, ties and losses by group of the answers: (groups, classes, 3)."""
        return count_wins(self.sign, group, n_groups, self.shares, into)


@dataclass(frozen=True, eq=False)
class Rule:
    """How labels are compared; small, so that it can be sent to workers.

    Attributes
    ----------
    settings : AltTestSettings
    score : Score
    code_of_human : (annotators of the table,) int
        The position of each annotator among those who are left out in turn, −1 for all others.
    quality : (humans,) float
        Q_j (C.4).
    reference : (items,) float or None
        The label of each item that all raters are compared with (C.2, C.3).
    labels : tuple or None
        The labels of the numbers, if labels are categories or text.
    """

    settings: AltTestSettings
    score: AlignmentScore
    code_of_human: Ints
    quality: Floats
    reference: Floats | None
    labels: tuple[Label, ...] | None

    def panel_of(self, answers: Answers) -> Panel:
        """Return the human labels among some labels."""
        annotator = self.code_of_human[answers.annotator]
        keep = annotator >= 0
        return Panel(
            item=answers.item[keep],
            annotator=annotator[keep],
            value=answers.value[keep].astype(float),
            n_items=len(answers.items),
            n_annotators=len(self.quality),
            quality=self.quality,
            reference=self.reference,
            labels=self.labels,
        )

    def compare(self, panel: Panel, judge: Floats) -> HeadToHead:
        """Compare the judge with each annotator on each item (sections 3.1 and 3.2)."""
        difference = self.score.difference(panel, judge)
        row = np.flatnonzero(~np.isnan(difference) & (panel.companions >= self.least))
        shares = None
        if self.settings.balance:
            if self.score.name not in ("accuracy", "neg_rmse"):
                raise DesignError("balance=True weights items by their majority label; free text has none")
            rng = np.random.default_rng(self.settings.seed)
            shares = majority_without(panel, rng, self.settings.ties)[0][row]
        return HeadToHead(panel, judge, row, np.sign(difference[row]).astype(np.int64), shares)

    def usable(self, people: Ints, reference: Floats | None) -> Bools:
        """Return the items with enough human labels and, if one is required, a reference."""
        enough = people >= (1 if self.settings.fixed_reference else self.settings.min_humans)
        return enough if reference is None else enough & ~np.isnan(reference)

    def usable_labels(self, panel: Panel, judge: Floats) -> Floats:
        """Return the judge's labels of the usable items, NaN for the others."""
        return np.where(self.usable(panel.people, panel.reference), judge, np.nan)

    def label_names(self, values: Floats) -> tuple[Label, ...]:
        """Return the labels of numbers."""
        if self.labels is not None:
            return tuple(self.labels[int(v)] for v in values.tolist())
        return tuple(int(v) if v == int(v) else v for v in values.tolist())

    @property
    def least(self) -> int:
        """The number of other labels that an item requires for a comparison."""
        return 1 if self.settings.fixed_reference else self.settings.min_humans - 1


@dataclass(frozen=True, eq=False)
class AltTestTable:
    """The arrays of a table that all of its judges share.

    Attributes
    ----------
    ratings : Ratings
        The labels; with ``normalise`` numbers that are normalised within each annotator.
    humans : tuple of str
        The annotators who are left out in turn, without the expert.
    rule : Rule
        How they are compared.
    fingerprint : str
        Of the labels and all other inputs of the numbers.
    columns : tuple of Stratification
        Item columns that are used as strata.
    about : polars.DataFrame or None
        The table of items.
    """

    ratings: Ratings
    humans: tuple[str, ...]
    rule: Rule
    fingerprint: str
    columns: tuple[Stratification, ...] = ()
    about: pl.DataFrame | None = None

    @classmethod
    def of(cls, labels: Annotations | Chunks, settings: AltTestSettings) -> AltTestTable:
        """Check the table and convert it to arrays."""
        if isinstance(labels, Chunks):
            return cls._read_chunks(labels, settings)
        if len(labels.criteria) > 1:
            raise DesignError(
                f"the table has {len(labels.criteria)} criteria ({listing(labels.criteria, 4)}); test each with "
                "assay.alt_test_by, as the command alt-test does, or choose one with labels.where(criterion=...)"
                + labels.reading.pooled_by
            )
        labels = labels.resolve_repeats(settings.repeats)
        humans = labels.humans
        if settings.expert is not None:
            if settings.expert not in humans:
                raise DataError(unknown("expert", settings.expert, humans, "the annotators of the table"))
            humans = tuple(h for h in humans if h != settings.expert)
        _refuse_too_few(labels, humans, settings)
        ratings = Ratings.of(labels, clusters=settings.clusters)
        score = _score_for(ratings, settings)
        if settings.normalise:
            ratings = replace(ratings, source=_normalise(ratings.answers, settings.normalise))
        reference, named = _reference(labels, ratings.answers, settings)
        codes = _codes_of(humans, ratings)
        rule = Rule(settings, score, codes, _quality(labels, humans, settings.quality), reference, named)
        people = np.bincount(
            ratings.answers.item[codes[ratings.answers.annotator] >= 0], minlength=ratings.n_items
        )  # fmt: skip
        columns = _columns_asked(labels, settings, rule.usable(people, reference))
        quality = rule.quality.tobytes() if settings.quality is not None else None
        gold = reference.tobytes() if reference is not None and settings.gold is not None else None
        known = b"".join(one.part.tobytes() for one in columns) or None
        data = fingerprint_with(ratings.fingerprint, quality=quality, gold=gold, known=known)
        return cls(ratings, humans, rule, data, columns, labels.items)

    @classmethod
    def _read_chunks(cls, labels: Chunks, settings: AltTestSettings) -> AltTestTable:
        for name in NEED_MEMORY:
            if getattr(settings, name):
                raise DesignError(
                    f"{name}=... needs the whole table in memory; read a part of the folder with assay.read"
                )
        _refuse_too_few(labels, labels.humans, settings)
        ratings = Ratings.of(labels)
        codes, score = _codes_of(labels.humans, ratings), _score_for(ratings, settings)
        rule = Rule(settings, score, codes, np.ones(len(labels.humans)), None, labels.categories)
        return cls(ratings, labels.humans, rule, ratings.fingerprint)

    @property
    def settings(self) -> AltTestSettings:
        """Every option."""
        return self.rule.settings

    @property
    def score(self) -> AlignmentScore:
        """The score that compares labels."""
        return self.rule.score

    @cached_property
    def panel(self) -> Panel:
        """The human labels of all items, in memory."""
        return self.rule.panel_of(self.ratings.answers)

    @cached_property
    def documents(self) -> NameParts | None:
        """Shared parts of item ids: a document and a place in it, an image and a question, a question and a pair."""
        if self._names is None:
            return None
        if self._pairs_of is not None:
            found = NameParts("", factorize(self._pairs_of), factorize(self._names))
            return found if 1 < len(found.stem.names) < len(found.suffix.names) else None
        return stems(self._names)

    @cached_property
    def _pairs_of(self) -> pl.Series | None:
        """The question of each item that is a pair of systems; names of systems are not strata."""
        if self.about is None or PAIR_OF not in self.about.columns or self.about[PAIR_OF].null_count():
            return None
        return self.about[PAIR_OF].cast(pl.String)

    @cached_property
    def _names(self) -> pl.Series | None:
        """The item ids; None for very many in a folder."""
        if self.about is not None:
            return self.about["item"]
        if self.ratings.n_items > MOST_NAMES:
            return None
        names = [read().items for read, _, _ in self.ratings.slices(1)]
        return pl.concat([one.series if isinstance(one, Names) else pl.Series(one) for one in names])

    @cached_property
    def item_level_table(self) -> AltTestTable:
        """The table of item-level agreement, in memory: all items, or a random sample of very many."""
        usable = np.flatnonzero(self.rule.usable(self.people_of_item, self.rule.reference))
        if len(usable) <= MOST_ITEMS and not self.ratings.in_chunks:
            return self
        if len(usable) > MOST_ITEMS:
            usable = np.sort(np.random.default_rng(self.settings.seed).choice(usable, MOST_ITEMS, replace=False))
        place = np.full(self.ratings.n_items, -1)
        place[usable] = np.arange(len(usable))
        pieces = []
        for read, first, last in self.ratings.slices(1):
            answers = read()
            item = place[first:last][answers.item]
            pieces.append((item[item >= 0], answers.annotator[item >= 0], answers.value[item >= 0]))
        item, annotator, value = (np.concatenate(column) for column in zip(*pieces, strict=True))
        source = self.ratings.source
        drawn = Answers(
            item, annotator, value, tuple(map(str, usable.tolist())), self.ratings.annotators, source.categories
        )  # fmt: skip
        clusters, reference = self.ratings.clusters, self.rule.reference
        ratings = replace(
            self.ratings, source=drawn, n_items=len(usable), n_labels=len(drawn),
            clusters=None if clusters is None else clusters[usable],
        )  # fmt: skip
        rule = replace(self.rule, reference=None if reference is None else reference[usable])
        found = replace(self, ratings=ratings, rule=rule)
        vars(found)["strata"] = tuple(replace(one, part=one.part[usable]) for one in self.strata)
        return found

    @cached_property
    def strata(self) -> tuple[Stratification, ...]:
        """The stratifications: item columns and suffixes, their combination, then stems."""
        suffix = None
        if self.settings.strata != "none" and self._pairs_of is None and self._names is not None:
            suffix = common_suffix(self._names, LEAST_HELD) if self.documents is None else self.documents.suffix
        return _all_strata(self.columns, self.documents, suffix, self.settings.strata)

    def without(self, j: int) -> AltTestTable:
        """Return the same table without the annotator in position j, who can then be tested as a judge."""
        codes = self.rule.code_of_human
        codes = np.where(codes == j, -1, np.where(codes > j, codes - 1, codes))
        rule = replace(self.rule, code_of_human=codes, quality=np.delete(self.rule.quality, j))
        found = replace(self, humans=(*self.humans[:j], *self.humans[j + 1 :]), rule=rule)
        vars(found)["documents"], vars(found)["strata"] = self.documents, self.strata
        return found

    @property
    def whole(self) -> bool:
        """Whether all items must be compared together, because of classes, references or clusters."""
        s = self.settings
        return s.balance or s.fixed_reference or s.clusters is not None

    def judge_labels(self, judge: str) -> Floats:
        """Return the judge's label of each item, NaN if missing: (items,)."""
        return labels_of(self.ratings.answers, self.judge_code(judge))

    def judge_code(self, judge: str) -> int:
        """Return the position of a judge among the raters; refuse a name that is not a judge."""
        if judge not in self.ratings.judges:
            if judge in self.ratings.humans:
                raise DataError(
                    f"'{judge}' is a human annotator; read the table with judges={[*self.ratings.judges, judge]}"
                )
            raise DataError(unknown("judge", judge, self.ratings.judges, "the judges of the table"))
        return self.ratings.annotators.index(judge)

    @cached_property
    def people_of_item(self) -> Ints:
        """The number of human labels of each item: (items,)."""
        if isinstance(self.ratings.source, Chunks):
            return np.asarray(self.ratings.source.human_labels, dtype=np.int64)
        answers = self.ratings.answers
        return np.bincount(answers.item[self.rule.code_of_human[answers.annotator] >= 0], minlength=len(answers.items))

    @cached_property
    def units(self) -> Units:
        """The unit that each item is resampled with.

        It depends on the human labels only, so that every judge of a table is estimated under the same resamples,
        alone or with other judges. Items without a comparison are not part of the sample.
        """
        usable = self.rule.usable(self.people_of_item, self.rule.reference)
        width = len(self.humans) * self.n_classes * 3 * max(len(self.ratings.judges), 1)
        return Units.of(self.ratings.n_items, self.ratings.clusters, width=width, used=np.flatnonzero(usable))

    @cached_property
    def classes(self) -> tuple[Label, ...]:
        """Classes of the majority label by which wins are counted; none unless labels are balanced."""
        return self.rule.label_names(np.unique(self.panel.compared[1])) if self.settings.balance else ()

    @property
    def n_classes(self) -> int:
        """The number of classes: 1 unless labels are balanced."""
        return max(len(self.classes), 1)


def labels_of(answers: Answers, annotator: int) -> Floats:
    """Return one annotator's label of each item, NaN if missing: (items,)."""
    mine = answers.annotator == annotator
    found = np.full(len(answers.items), np.nan)
    found[answers.item[mine]] = answers.value[mine]
    return found


def _codes_of(humans: tuple[str, ...], ratings: Ratings) -> Ints:
    position = {name: j for j, name in enumerate(humans)}
    return np.array([position.get(name, -1) for name in ratings.annotators])


def _refuse_too_few(labels: Annotations | Chunks, humans: tuple[str, ...], settings: AltTestSettings) -> None:
    """Refuse tables with too few annotators to leave one out."""
    if len(humans) >= (1 if settings.fixed_reference else 2):
        return
    message = f"the alternative annotator test requires at least 2 human annotators; the table has {len(humans)}"
    if not labels.judges:
        raise DesignError(f"{message} and no judge; read it with judges=[...]")
    raise DesignError(f"{message}. With a single expert, recruit others; expert=... compares both with them")


def _score_for(ratings: Ratings, settings: AltTestSettings) -> AlignmentScore:
    """Return the score of the options, or the default of the scale; refuse a score that does not fit the scale."""
    scale = ratings.scale
    chosen = settings.score
    if chosen is None:
        # A preference has an order too, but without grades a tie is as wrong as the other side unless normalised.
        graded = isinstance(scale, Preference) and bool(scale.grades)
        distance = scale.numeric or scale.kind == "ordinal" or graded or (scale.ordered and bool(settings.normalise))
        chosen = "similarity" if scale.kind == "text" else "neg_rmse" if distance else "accuracy"
        if settings.similarity is not None:
            chosen = "similarity"
    if chosen == "neg_rmse" and not (scale.numeric or scale.kind == "preference" or scale.ordered):
        raise DesignError(f"score 'neg_rmse' requires numbers; the labels are {scale.describe()}: use 'accuracy'")
    if chosen == "similarity" and settings.similarity is None:
        raise DesignError(
            "text labels require similarity=...: a name such as words, rouge-l or embeddings:MODEL, or a table of "
            "label pairs; in Python also a function of two labels"
        )
    if chosen == "similarity" and isinstance(settings.similarity, Similarity) and not _all_texts(scale):
        raise DesignError(
            f"the similarity '{settings.similarity.name}' compares texts; the labels are {scale.describe()}. Omit "
            "similarity=..., or give a table of label pairs with a number each"
        )
    if settings.normalise is not None and not scale.ordered:
        raise DesignError(f"normalise='{settings.normalise}' requires ordered labels; these are {scale.describe()}")
    if settings.normalise is not None and chosen == "accuracy":
        raise DesignError("normalised labels are rarely equal: use score='neg_rmse'")
    return make_score(chosen, _fit_similarity(settings.similarity, ratings))


def _fit_similarity(similarity: Any, ratings: Ratings) -> Any:
    """Return a similarity of texts fitted to all texts of the table; anything else unchanged."""
    if not isinstance(similarity, Similarity):
        return similarity
    return similarity.fitted([str(label) for label in ratings.source.categories or ()])


def _all_texts(scale: Scale) -> bool:
    """Whether every label is a text."""
    if scale.numeric or scale.kind == "preference":
        return False
    return all(isinstance(category, str) for category in scale.categories or ())


def _normalise(answers: Answers, how: Normalise) -> Answers:
    """Return the labels normalised within each annotator (FAQ)."""
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
    else:
        frame = pl.DataFrame({"who": who, "value": value})
        rank = frame.select(pl.col("value").rank("average").over("who"))["value"].to_numpy()
        # Divided by the annotator's number of items, so that ranks of 50 and of 500 items are comparable.
        value = (rank - 0.5) / n[who]
    return replace(answers, value=value, categories=None)


def _quality(labels: Annotations, humans: tuple[str, ...], quality: str | Mapping[str, float] | None) -> Floats:
    """Return Q_j of each annotator (C.4)."""
    if quality is None:
        return np.ones(len(humans))
    if isinstance(quality, str):
        if quality not in labels.annotators.columns:
            raise DataError(unknown("annotator column", quality, labels.annotators.columns))
        # A table of annotators from a CSV file has texts; those that are not numbers remain, for the error message.
        given = labels.annotators[quality]
        numbers = given.cast(pl.Float64, strict=False)
        of_annotator = zip(labels.annotators["annotator"], numbers, given, strict=True)
        quality = {who: number if number is not None else text for who, number, text in of_annotator}
    for name in humans:
        if name not in quality:
            raise DataError(unknown("annotator", name, quality, "quality=..."))
        if not isinstance(quality[name], Real) or not 0 < quality[name] < np.inf:
            raise DataError(f"the quality of annotator '{name}' must be a number above 0; got {quality[name]!r}")
    return np.array([float(quality[name]) for name in humans])


def _reference(
    labels: Annotations, answers: Answers, settings: AltTestSettings
) -> tuple[Floats | None, tuple[Label, ...] | None]:
    """Return the reference label of each item (C.2, C.3), and the labels of the category codes."""
    if not settings.fixed_reference:
        return None, answers.categories
    found = np.full(len(answers.items), np.nan)
    if settings.expert is not None:
        mine = answers.annotator == answers.annotators.index(settings.expert)
        found[answers.item[mine]] = answers.value[mine]
        return found, answers.categories
    if settings.normalise is not None:
        raise DesignError("gold labels cannot be normalised; omit normalise=...")
    gold = settings.gold
    if isinstance(gold, str):
        if gold not in labels.items.columns:
            raise DataError(unknown("item column", gold, labels.items.columns))
        gold = dict(labels.items.select("item", gold).iter_rows())
    assert gold is not None
    # A gold label that no rater gave, as is usual for texts, gets a separate code.
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
            f"no gold label is on the scale; the first is {strange!r}, and labels are {labels.scale.describe()}"
        )
    return found, tuple(codes)


# -- which columns and item ids are strata --------------------------------------------------------------

MOST_NAMES = 2_000_000
"""Item ids of a folder that are searched for shared parts: one second of work."""

LEAST_CROSSED = 4
"""Items per cell of two or more stratifications."""

FROM_ITEMS_CROSSED = 100
"""Items from which each pair of columns is crossed; with fewer, only all together."""

LEAST_OF_STEM = 3
"""Items per stem on average: within pairs item-level agreement has almost no power."""


def _columns_asked(labels: Annotations, settings: AltTestSettings, used: Bools) -> tuple[Stratification, ...]:
    """Return the item columns that are strata of the used items: those named, or all (`assay.data.groups`)."""
    wanted, frame = settings.strata, labels.items
    if wanted != "auto":
        names = [wanted] if isinstance(wanted, str) else list(wanted)
        names = [name for name in names if name in frame.columns or name not in ("none", "stem", "suffix")]
        return tuple(Stratification(name, cluster_codes(labels, name)) for name in names)
    if frame.width == 1:
        return ()
    skip = ("item", *([settings.gold] if isinstance(settings.gold, str) else []))
    found = item_groups(frame, labels.scale.categories or (), skip, used)
    return tuple(Stratification(one.name, one.codes, by_stem=one.documents) for one in found.strata)


def _all_strata(
    columns: tuple[Stratification, ...], documents: NameParts | None, suffix: Coded | None, wanted: Sequence[str] | str
) -> tuple[Stratification, ...]:
    """Return columns and the suffix, their combination if its cells have several items, then the stem."""
    plain, stem = [one for one in columns if not one.by_stem], [one for one in columns if one.by_stem]
    auto = wanted == "auto"
    named = {wanted} if isinstance(wanted, str) else set(wanted)
    asked, known = named - {one.name for one in columns}, {"stem": documents, "suffix": suffix}
    if not auto and any(name in asked and part is None for name, part in known.items()):
        raise DesignError(f"strata={wanted!r}: the item ids share no prefix or suffix")
    if suffix is not None and ("suffix" in named or (auto and len(suffix.codes) >= LEAST_HELD * len(suffix.names))):
        plain.append(Stratification("suffix", suffix.codes.astype(np.int64)))
    if documents is not None and ("stem" in named or (auto and documents.items_per_stem >= LEAST_OF_STEM)):
        stem.append(Stratification("stem", documents.stem.codes.astype(np.int64), by_stem=auto))
    together = [plain] if len(plain) > 1 else []
    if len(plain) > 2 and len(plain[0].part) >= FROM_ITEMS_CROSSED:
        together = [*map(list, combinations(plain, 2)), plain]
    for parts in together:
        both, n_cells = cross_codes(*(one.part for one in parts))
        if len(both) >= LEAST_CROSSED * n_cells:
            plain = [*plain, Stratification(" × ".join(one.name for one in parts), both)]
    return (*plain, *stem)


# -- agreement among annotators ------------------------------------------------------------------------

MOST_LABELS = 100
"""Distinct labels up to which alpha is computed: its time grows with their square."""


def human_agreement(table: AltTestTable) -> Estimate:
    """Return Krippendorff's α of the annotators who are left out in turn, with the interval of `assay.agreement`.

    Nominal for categories, ordinal for ordered words, interval for numbers and for normalised labels. Text has none.
    """
    ratings = table.ratings
    people = ratings.only(table.humans)
    own_scale = table.settings.normalise is not None
    if ratings.scale.kind == "text":
        return missing("free text has no chance-corrected agreement")
    if ratings.scale.numeric or own_scale:
        statistic = Alpha.of("interval", np.empty(0), 0.0 if own_scale else ratings.centre)
    elif len(ratings.values) > MOST_LABELS:
        return missing(f"there are more than {MOST_LABELS} distinct labels")
    else:
        statistic = Alpha.of("ordinal" if ratings.scale.ordered else "nominal", ratings.values)
    how = IntervalSettings(method="jackknife", confidence=table.settings.confidence)
    try:
        return people.sums(Together((statistic,))).estimate(how, "fisher")[0]
    except DesignError as problem:
        return missing(str(problem))
