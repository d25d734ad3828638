"""Options, scores and arrays of the alternative annotator test: how a label is compared with human labels.

Calderon, Reichart & Dror (2025), section 3.1: for annotator j on item i the alignment score S compares a label with the
labels of the others, H_i[-j]. The test uses only the sign of S(f, x_i, j) − S(h_j, x_i, j). For accuracy and RMSE the
sign follows from the counts of each label, or from the number of labels and their sum, without a loop over items,
annotators or judges. `AltTestTable` is computed once for a table and serves all of its judges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cached_property
from numbers import Real
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, Answers, Repeats
from assay.data.chunked.chunks import Chunks
from assay.data.columns import Reading
from assay.data.names import NameParts, Names, common_suffix, factorize, stems
from assay.data.ratings import Ratings
from assay.data.scales import Label, Preference, Scale
from assay.data.structure.groups import LEAST_HELD, copied_items
from assay.data.structure.sides import PAIR_OF
from assay.errors import DataError, DesignError, listing, unknown, unknown_judge
from assay.estimation.intervals import Estimate, missing
from assay.estimation.options import IntervalSettings, Limits, Method, Settings, option, short
from assay.estimation.resampling import Units
from assay.estimation.result import fingerprint_with
from assay.estimation.statistic import Bools, Floats, Ints
from assay.similarity.protocol import Similarity
from assay.similarity.registry import FOR_HELP, similarity_named
from assay.statistics.categories import Alpha, Together
from assay.statistics.clusters import grouped_items
from assay.statistics.copies import Groups, Labels, find_groups
from assay.statistics.panels import AlignmentScore, Panel, majority_without, make_score
from assay.statistics.strata import Known, Stratification, all_strata, known_columns, numbers_of_ids, strata_of_order
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
        0.6, "Agreement ratio that the judge must exceed.", low=0, high=1,
        details="R = A(judge, annotators) / A(annotators), chance-corrected within strata of items (`strata`). A judge "
        "that is exchangeable with the annotators has R = 1, one that ignores the items 0. To find a relation with "
        "something else, n items labelled by an annotator are worth at most n / R² labelled by the judge: .6 is about "
        "a third of an annotator's items.",
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
        "within it, their prefix, called stem (such as a document). A judge that uses nothing else never gets replace. "
        "none uses no strata.",
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


MOST_ITEMS = 2**15
"""Items that are drawn for item-level agreement if there are more: with 3 annotators R's standard error is about .01 at
this number."""


# -- comparisons of a judge with the annotators --------------------------------------------------------

MOST_NAMES = 2_000_000
"""Item ids of a folder that are searched for shared parts: one second of work."""

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
        row = np.flatnonzero(~np.isnan(difference) & self.usable(panel.people, panel.reference)[panel.item])
        shares = None
        if self.settings.balance:
            if self.score.name not in ("accuracy", "neg_rmse"):
                raise DesignError("balance=True weights items by their majority label; free text has none")
            rng = np.random.default_rng(self.settings.seed)
            shares = majority_without(panel, rng, self.settings.ties)[0][row]
        return HeadToHead(panel, judge, row, np.sign(difference[row]).astype(np.int64), shares)

    def usable(self, people: Ints, reference: Floats | None) -> Bools:
        """Return the items that count in every part of a verdict: enough human labels, and a reference if required."""
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
    known : Known
        What item columns tell without reading the items.
    about : polars.DataFrame or None
        The table of items.
    """

    ratings: Ratings
    humans: tuple[str, ...]
    rule: Rule
    fingerprint: str
    known: Known = field(default_factory=Known)
    about: pl.DataFrame | None = None
    original: Answers | None = None
    """The labels as they were given, if ``ratings`` are normalised."""
    reading: Reading = field(default_factory=Reading)
    """How the labels were read."""
    n_copied: int = 0
    """Items that were excluded as copies of another item."""

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
        copied = copied_items(labels.items, labels.labels) if labels.items.width > 1 else []
        labels = labels.without_items(copied)
        _refuse_too_few(labels, humans, settings)
        ratings = Ratings.of(labels, clusters=settings.clusters)
        score = _score_for(ratings, settings)
        original = None
        if settings.normalise:
            original = ratings.answers
            ratings = replace(ratings, source=_normalise(ratings.answers, settings.normalise))
        reference, named = _reference(labels, ratings.answers, settings)
        codes = _codes_of(humans, ratings)
        rule = Rule(settings, score, codes, _quality(labels, humans, settings.quality), reference, named)
        people = np.bincount(
            ratings.answers.item[codes[ratings.answers.annotator] >= 0], minlength=ratings.n_items
        )  # fmt: skip
        known = known_columns(labels, settings.strata, settings.gold, rule.usable(people, reference))
        quality = rule.quality.tobytes() if settings.quality is not None else None
        gold = reference.tobytes() if reference is not None and settings.gold is not None else None
        parts = b"".join(one.part.tobytes() for one in (*known.columns, *known.own_words)) or None
        data = fingerprint_with(ratings.fingerprint, quality=quality, gold=gold, known=parts)
        return cls(ratings, humans, rule, data, known, labels.items, original, labels.reading, len(copied))

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
    def grouped_items(self) -> Mapping[str, Ints]:
        """The groups of items that share a value of an item column: (items,) each."""
        return grouped_items(self.about, (PAIR_OF, *self.reading.left_out))

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
        found = replace(self, ratings=ratings, rule=rule, known=self.known.at(usable))
        vars(found)["strata"] = tuple(replace(one, part=one.part[usable]) for one in self.strata)
        return found

    @property
    def given(self) -> Answers:
        """The labels as they were given: equal labels are equal."""
        answers = self.ratings.answers
        return answers if self.original is None or len(self.original) != len(answers) else self.original

    @cached_property
    def given_labels(self) -> Labels:
        """The human labels as they were given, for matches of a judge with one annotator and groups of annotators."""
        answers, clusters = self.given, self.ratings.clusters
        annotator = self.rule.code_of_human[answers.annotator]
        rows = np.flatnonzero((annotator >= 0) & ~np.isnan(answers.value))
        unit = np.arange(len(answers.items)) if clusters is None else clusters
        return Labels(answers.item[rows], annotator[rows], answers.value[rows], unit, len(self.humans))

    @property
    def orders_labels(self) -> bool:
        """Whether labels are numbers."""
        return self.ratings.scale.numeric and self.settings.normalise is None

    @cached_property
    def groups(self) -> Groups | None:
        """The division of the annotators into two groups with the smallest p-value; not for labels in chunks."""
        if self.ratings.in_chunks or self.settings.fixed_reference:
            return None
        return find_groups(self.given_labels, self.orders_labels)

    @cached_property
    def order_of_items(self) -> Floats | None:
        """The number in each item id: (items,); None if ids have none, or share parts such as a document."""
        return None if self._names is None or self.documents is not None else numbers_of_ids(self._names)

    @cached_property
    def strata(self) -> tuple[Stratification, ...]:
        """The stratifications: item columns and suffixes, their combination, then stems."""
        suffix = None
        if self.settings.strata != "none" and self._pairs_of is None and self._names is not None:
            suffix = common_suffix(self._names, LEAST_HELD) if self.documents is None else self.documents.suffix
        columns = self.known.columns
        used = self.rule.usable(self.people_of_item, self.rule.reference)
        order = self.order_of_items if self.settings.strata == "auto" and suffix is None else None
        if order is not None:
            columns = (*columns, strata_of_order(order, used))
        return all_strata(columns, self.documents, suffix, self.settings.strata, used)

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
            raise DataError(unknown_judge(judge, self.ratings.judges, self.ratings.humans))
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
