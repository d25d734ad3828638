"""Validation of text-similarity measures against expert odd-one-out choices.

Nam et al. (2025), section 4.5: the experts' choices give a similarity of each pair (equation 1), and the validity of a
measure is its rank correlation with it: Spearman's ρ. Intervals apply to new texts of these documents, judged by these
experts; a permutation test of its texts tests whether a measure is related to the experts' at all; the verdict compares
it with the noise ceiling.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from assay.data.annotations import Annotations, digest_of_columns
from assay.data.chunked.chunks import Chunks
from assay.errors import DataError, DesignError, counted, unknown
from assay.estimation.intervals import Estimate, EstimateByRule, adjust_p, missing
from assay.estimation.options import IntervalSettings, question
from assay.estimation.resampling import estimate_replicates
from assay.estimation.result import Exclusion, ResultOfRows, Run, fingerprint_with
from assay.estimation.statistic import Floats, Ints
from assay.ideas import words
from assay.ideas.choices import CONTENTS, Choices, ValidateSettings, odd_one_labels
from assay.ideas.measures import (
    AUTHORS,
    LEAST_PAIRS,
    PairMeasure,
    PairsOfTexts,
    check_values,
    compared_pairs,
    each_judge,
    judge_of,
    name_measures,
    named_apart,
    signed_measures,
)
from assay.ideas.triplets import similarity_by_authors
from assay.ideas.words import CEILINGS, SimilarityVerdict
from assay.reporting import pictures
from assay.reporting.tables import clip_name, said
from assay.statistics.comparisons.odd_one_out import (
    KEPT,
    NEARLY_ALIKE,
    PairChoices,
    Step,
    correlation,
    correlations,
    mean_half_correlation,
    mean_ranks,
    step_to_whole,
)
from assay.statistics.comparisons.round_robin import (
    ExpertRanks,
    Influence,
    RoundRobin,
    TextVariance,
    degrees,
    p_of_permutations,
    permuted_correlations,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SPLITS = 50
"""Random halves for the choice of a sweep's setting, and half the bootstrap runs of the paper's ceiling: the standard
error of their mean is a seventh of their spread."""

MOST_BOOTSTRAPPED = 1_000_000
"""The published ceiling is computed for at most this many choices: more take longer than all other results."""

MANY_DOCUMENTS = 6
"""From this number on, a sweep's setting is chosen on half of the documents; below, on half of the texts, because
halves
with fewer than three documents differ too much."""

ALPHA = 0.05
"""One-sided level of each test of a verdict."""

MOST = 0.8
"""Share of the noise ceiling that a valid measure must demonstrably exceed: of measures exactly at this share, 3 to 7%
are called valid (`benchmarks/ideas_texts.py`); a measure at the ceiling is called valid from 15 texts on."""

HALF = 0.5
"""Share of the noise ceiling that the ρ of a measure with low validity is demonstrably below."""

LOW_AGREEMENT = 0.3
"""If the upper confidence limit of the experts' agreement is below this, more of the same judgments are not advised."""

POWER = 0.8
"""Power for the numbers of further texts and judgments."""

EQUAL = 1e-9
"""Largest difference of ρ of measures with the same ranks."""

DIGITS = 12
"""Values are equal if they are so when rounded to this number of digits: the order of sums does not rank pairs."""

MOST_TIMES = 20
"""Largest factor of the existing texts or judgments for which a number is reported."""


@dataclass(frozen=True, eq=False)
class SimilarityValidation(ResultOfRows):
    """Validity of similarity measures: rank correlations with the experts' similarities.

    Attributes
    ----------
    rows : polars.DataFrame
        One row per measure, best first, then baseline measures and the ceilings: ``measure``, ``kind`` (``similarity``,
        ``judge``, ``pairs``, ``nested choice``, ``baseline``, ``ceiling``), ``verdict`` (a code), ``estimate`` (ρ over
        all pairs), ``low``, ``high`` (new texts of these documents, judged by these experts), ``n`` (pairs), ``share``
        (of the noise ceiling), ``p`` (permutation test of its texts within documents), ``same_texts``,
        ``same_texts_low``, ``same_texts_high`` (ρ with intervals over new judgments of these texts), ``within``,
        ``within_low``, ``within_high`` (mean ρ within documents; null with one document), ``difference``,
        ``difference_low``, ``difference_high`` (ρ minus that of the best), ``reason``.
    by_document : polars.DataFrame
        ``document``, ``measure``, ``estimate``, ``low``, ``high``, ``n``, ``reason``.
    by_authors : polars.DataFrame
        The experts' mean similarity of texts by every two authors, and differences, over new texts:
        ``authors``, ``estimate``, ``low``, ``high``, ``n`` (pairs), ``reason``. Empty without two to six authors.
    sweeps : polars.DataFrame
        Every setting of a measure with several: ``family``, ``measure``, ``estimate``, ``low``, ``high``, ``best``. The
        best of many is optimistic: ``rows`` have its ρ from nested choice.
    run : Run
    """

    symbol: ClassVar[str] = "ρ"
    counted: ClassVar[str] = "pairs"

    rows: pl.DataFrame = field(metadata={"json": False})
    by_document: pl.DataFrame
    by_authors: pl.DataFrame
    sweeps: pl.DataFrame
    run: Run
    verdicts: dict[str, MeasureVerdict]
    """By measure; baseline measures have none."""
    published_ceiling: Estimate = field(metadata={"json": False})
    """The published ceiling: ρ of bootstrap samples of the choices with all of them, which share judgments."""
    estimates: tuple[Estimate, ...] = field(repr=False, metadata={"json": False})
    influences: dict[str, Influence] = field(repr=False, metadata={"json": False})
    inference: TextInference = field(repr=False, metadata={"json": False})

    @property
    def measures(self) -> pl.DataFrame:
        """The rows of the validated measures."""
        return self.rows.filter(~pl.col("kind").is_in(["baseline", "ceiling"]))

    @property
    def best(self) -> str:
        """The measure with the highest ρ."""
        return str(self.rows["measure"][0])

    @property
    def ceiling(self) -> dict[str, Any]:
        """The row of the experts' test–retest agreement."""
        return self.rows.filter(pl.col("measure") == CEILINGS["again"]).row(0, named=True)

    def difference(self, first: str, second: str) -> dict[str, float]:
        """ρ of one measure minus that of another over new texts of these documents, and in percent.

        Returns
        -------
        dict
            ``difference``, ``low``, ``high``; ``percent``, ``percent_low``, ``percent_high`` of the other's ρ
            (table 4 of the paper, for example one judge with two prompts); NaN if the other's ρ is near 0.
        """
        for name in (first, second):
            if name not in self.influences:
                raise DataError(unknown("measure", name, self.influences, "the comparison"))
        one, other = self.influences[first], self.influences[second]
        found = self.inference.difference(one.plus(other, -1.0))
        whole = self.inference.correlation(other, self.inference.robin.variance(other))
        nan = float("nan")
        percent = low = high = nan
        if whole.low > 0 or whole.high < 0:
            # 100 (ρ / ρ' − 1), to first order.
            size = abs(other.value)
            ratio = one.times(1 / size).plus(other, -one.value / (size * other.value))
            percent = 100 * (one.value - other.value) / size
            change = self.inference.difference(ratio)
            low, high = (percent + 100 * (end - change.estimate) for end in (change.low, change.high))
        return {"difference": found.estimate, "low": found.low, "high": found.high, "percent": percent,
                "percent_low": low, "percent_high": high}  # fmt: skip

    def summary(self) -> str:
        """The verdict on each measure, comparisons of measures, and the ceilings."""
        lines = [*self.sentences(), *self.footnotes()]
        return "\n".join([*lines, *self.run.closing(intervals=True)])

    def footnotes(self) -> tuple[str, ...]:
        """Reasons for missing intervals, and the published ceiling."""
        return words.validation_notes(self.rows, self.published_ceiling)

    def sentences(self) -> tuple[str, ...]:
        """The verdict on each measure, the best first, then comparisons and ceilings."""
        measures = self.measures
        ceilings = [self.rows.filter(pl.col("measure") == name).row(0, named=True) for name in words.CEILINGS.values()]
        if not self.ceiling["low"] > 0:
            return (words.no_agreement_line(self.ceiling, low=self.low_agreement), *words.ceiling_line(*ceilings))
        rows = measures.head(words.MOST_SENTENCES).iter_rows(named=True)
        lines = [self.verdicts[row["measure"]].sentence(row) for row in rows]
        if measures.height > len(lines):
            lines.append(f"{counted(measures.height - len(lines), 'more measure')} in the table.")
        top = measures.row(0, named=True)
        if self.verdicts[top["measure"]].verdict in (*words.BEATS_BASELINES, "baseline"):
            lines += words.comparison_lines(top, measures.slice(1).filter(pl.col("estimate").is_not_nan()))
        return (*lines, *self._variants_compared(measures), *words.ceiling_line(*ceilings))

    @property
    def low_agreement(self) -> bool:
        """Whether the experts agree so little that more of the same judgments will not help."""
        return bool(self.ceiling["high"] < LOW_AGREEMENT)

    def _variants_compared(self, measures: pl.DataFrame) -> Iterator[str]:
        """Judges with several variants: ρ of the best minus that of each other one."""
        judges = measures.filter((pl.col("kind") == "judge") & pl.col("estimate").is_not_nan())["measure"].to_list()
        for who in dict.fromkeys(map(judge_of, judges)):
            best, *others = [name for name in judges if judge_of(name) == who]
            for other in others:
                yield words.variant_line(best, other, self.difference(best, other))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Forest plot of the measures, with muted baselines and a line at the noise ceiling."""
        rows = self.rows.filter(pl.col("kind") != "ceiling").head(pictures.MOST_ROWS)
        ax = pictures.axes(ax, width=6.2, height=1.3 + 0.28 * max(rows.height, 2))
        colours = [_COLOURS.get(kind, pictures.HUMAN) for kind in rows["kind"]]
        names = [clip_name(name) for name in rows["measure"]]
        pictures.forest_of_rows(ax, names, rows, colour=colours)
        ax.axvline(0, color=pictures.MUTED, linewidth=1, linestyle="--")
        best = self.rows.filter(pl.col("measure") == CEILINGS["best"])["estimate"][0]
        if np.isfinite(best) and best > 0:
            ax.axvline(best, color=pictures.PASS, linewidth=1.2)
            ax.plot([], [], color=pictures.PASS, label=CEILINGS["best"])
            pictures.legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        ax.set_xlabel("Spearman's ρ with the experts' ranking of pairs")
        return ax


_COLOURS = {"judge": pictures.JUDGE, "baseline": pictures.MUTED}


@question(ValidateSettings)
def validate_similarity(labels: Annotations | Chunks, settings: ValidateSettings) -> SimilarityValidation:
    """Validate similarity measures: Spearman's ρ of each with the experts' ranking of pairs.

    Parameters
    ----------
    labels : Annotations
        The experts' odd-one-out choices, labels on the scale ``odd-one-out``; those of judges are measures.

    Returns
    -------
    SimilarityValidation

    Raises
    ------
    DesignError
        For labels that are not odd-one-out choices, no measure, or fewer than three pairs with values of all measures.
    DataError
        For a measure without values for these pairs.

    Notes
    -----
    The mean similarity of the pairs of a document is always 1/3, so that choices do not compare documents. A measure
    with different means between documents has a lower ρ over all pairs, but not a lower mean ``within`` documents.

    Examples
    --------
    >>> import assay, itertools, polars as pl
    >>> texts = {"a": "red red", "b": "red blue", "c": "blue blue", "d": "green"}
    >>> odd = {"abc": "C", "abd": "C", "acd": "C", "bcd": "C"}
    >>> rows = [(t, *t, *(texts[x] for x in t), label) for t, label in odd.items()]
    >>> names = ["first_item", "second_item", "third_item", "first", "second", "third"]
    >>> frame = pl.DataFrame(rows, schema=["item", *names, "label"], orient="row").with_columns(annotator=pl.lit("ann"))
    >>> found = assay.validate_similarity(assay.read(frame, scale="odd-one-out", humans=["ann"]), "words")
    >>> found.table.select("measure", pl.col("estimate").round(2), "n").rows()[0]
    ('words', 0.78, 6)

    Shared words rank the six pairs almost as this expert does.
    """
    named = name_measures(settings.measures)
    settings = replace(settings, measures=signed_measures(named))
    table = odd_one_labels(labels.in_memory("validate_similarity"), "validate_similarity")
    everyone = Choices.of(table, settings, "validate_similarity")
    judges = [n for n in everyone.annotators if everyone.kinds[n] == "judge"] if settings.with_judges else []
    experts = everyone.chosen_by(settings.annotators, also=judges)
    pairs, above = compared_pairs(table, experts, settings)
    own = [
        pairs.measure(name, "judge", pairs.shares(everyone.where(mine).pairs))
        for name, mine in each_judge(table, judges, everyone.chosen(settings.annotators))
    ]
    found = [*named_apart({name: pairs.of(name, one) for name, one in named.items()}, own), *own]
    if not found:
        raise DesignError(
            "validate_similarity needs measures: set measures=['words'], for example, or include odd-one-out choices "
            "of judges"
        )
    check_values(found, pairs)
    measures = [*found, *pairs.baselines()]
    return _MeasureComparison.of(experts, pairs, measures, settings, above).result(table, len(judges))


@dataclass(frozen=True, eq=False)
class _MeasureComparison:
    """Measures and experts on the pairs with values of all measures."""

    experts: Choices
    pairs: PairsOfTexts
    measures: tuple[PairMeasure, ...]
    settings: ValidateSettings
    member: Ints
    """The three texts of each choice, in an order that does not depend on the order of the rows."""
    robin: RoundRobin
    values: Floats
    """(measures, pairs)."""
    excluded: tuple[Exclusion, ...]

    @classmethod
    def of(
        cls,
        experts: Choices,
        pairs: PairsOfTexts,
        measures: Sequence[PairMeasure],
        settings: ValidateSettings,
        above: Ints,
    ) -> _MeasureComparison:
        """The comparison; pairs without a value of some measure are excluded and counted."""
        names = [m.name for m in measures]
        twice = [n for n in names if names.count(n) > 1]
        if twice:
            raise DesignError(f"two measures have the name '{twice[0]}'; rename one, or pass a mapping of names")
        values = np.stack([m.values for m in measures])
        known = np.isfinite(values).all(axis=0)
        gone = []
        if not known.all():
            least = min(measures, key=lambda m: int(np.isfinite(m.values).sum()))
            why = f"no value of a measure ('{least.name}' has {int(np.isfinite(least.values).sum())})"
            gone.append(Exclusion("pair", int((~known).sum()), why))
        if known.sum() < LEAST_PAIRS:
            raise DesignError(
                f"only {counted(int(known.sum()), 'pair')} with values of all measures; a ranking needs {LEAST_PAIRS}"
            )
        under = len(experts.pairs) - len(above)
        if under:
            gone.append(Exclusion("pair", under, f"compared fewer than {settings.floor} times"))
        order = np.lexsort((experts.odd, experts.item))
        member, odd = experts.member[order], experts.odd[order]
        place = np.full(len(experts.pairs), -1)
        place[above[known]] = np.arange(int(known.sum()))
        robin = RoundRobin(
            pairs.first[known], pairs.second[known], pairs.document,
            place[experts.pairs.position(member, experts.texts.height)], member[:, ::-1],
            KEPT[odd][:, None] == np.arange(3),
        )  # fmt: skip
        return cls(experts, pairs, tuple(measures), settings, member, robin, values[:, known], tuple(gone))

    @cached_property
    def ranks(self) -> ExpertRanks:
        """The experts' ranking."""
        return ExpertRanks(self.robin)

    @cached_property
    def influences(self) -> list[Influence]:
        """ρ of each measure, and the influences of pairs and choices on it."""
        return [self.ranks.influence(values) for values in self.values]

    @cached_property
    def variances(self) -> list[TextVariance]:
        """The variance of each ρ."""
        return [self.robin.variance(one) for one in self.influences]

    @cached_property
    def rho(self) -> Floats:
        """ρ of each measure over all pairs."""
        return np.array([one.value for one in self.influences])

    @cached_property
    def inference(self) -> TextInference:
        """Estimates over new texts."""
        return TextInference(self.robin, self.settings.confidence)

    @property
    def documents(self) -> list[int]:
        """Documents with enough pairs for a ranking."""
        return [d for d, many in enumerate(self.robin.pairs.tolist()) if many >= LEAST_PAIRS]

    @property
    def baselines(self) -> list[int]:
        """Baseline measures, which do not use the meaning of texts."""
        return [i for i, one in enumerate(self.measures) if one.kind == "baseline"]

    @cached_property
    def nested(self) -> dict[str, tuple[Ints, int, float]]:
        """Sweeps by their names; see `nested_choice`."""
        return {family: self.nested_choice(family) for family in self.families}

    @cached_property
    def shown(self) -> list[int]:
        """Measures with rows: all except the settings of sweeps that were not chosen."""
        m = range(len(self.measures))
        single = [i for i in m if self.measures[i].family is None and self.measures[i].kind != "baseline"]
        return [*single, *(best for _, best, _ in self.nested.values())]

    @cached_property
    def shift(self) -> Floats:
        """The optimism of each ρ from choosing the best of a sweep."""
        found = np.zeros(len(self.measures))
        for _, best, optimism in self.nested.values():
            found[best] = optimism
        return found

    def result(self, labels: Annotations, n_judges: int) -> SimilarityValidation:
        """The whole result; the choices of judges are measures."""
        s = self.settings
        ceiling = self.ceiling()
        p = self.permutation_p()
        verdicts = self.verdicts(ceiling, p)
        rows, estimates = _sort_rows(
            [*self.rows(verdicts, p), *self.baseline_rows(p)], self.ceiling_rows(ceiling)
        )  # fmt: skip
        columns = [*(s.contents or CONTENTS.get(self.experts.columns) or ()), *(s.authors or AUTHORS)]
        there = [c for c in columns if c in (*labels.items.columns, *labels.labels.columns)]
        data = fingerprint_with(self.experts.data, **digest_of_columns(labels, *there))
        how = (
            f"{100 * s.confidence:g}% over new texts of these documents, judged by these experts (influences of texts, "
            "pairs and choices; t on Fisher's scale); same texts: over new judgments of these texts"
        )
        cautions = [
            f"'{family}' is the best of {len(members)} settings, which is optimistic: its ρ here is from nested "
            "choice; "
            f"without it ρ = {said(float(self.rho[best]))}." for family, (members, best, _) in self.nested.items()
        ]  # fmt: skip
        asked = len(self.measures) - len(self.baselines)
        run = Run(
            "validate-similarity", s, data, {**self.experts.facts, "judges": n_judges, "measures": asked}, how,
            (*self.experts.exclusions, *self.excluded), tuple(f"{m.name}: {m.about}" for m in self.measures if m.about),
            cautions=tuple(cautions),
        )  # fmt: skip
        influences = {m.name: one for m, one in zip(self.measures, self.influences, strict=True)}
        return SimilarityValidation(
            rows, self.document_rows(), self.author_rows(), self.sweep_rows(), run, verdicts,
            self.published_ceiling(), estimates, influences, self.inference,
        )  # fmt: skip

    # -- verdicts -------------------------------------------------------

    def permutation_p(self) -> Floats:
        """p-values of the permutation test of each measure; for a sweep, of all its settings together."""
        rng = np.random.default_rng((self.settings.seed, 3))
        found, drawn = permuted_correlations(
            self.ranks, [one.every for one in self.measures], self.settings.n_resamples, rng
        )
        p = np.array([p_of_permutations(found[i], drawn[:, i]) for i in range(len(found))])
        for members, best, _ in self.nested.values():
            p[best] = p_of_permutations(found[members].max(), drawn[:, members].max(axis=1))
        return np.where(np.isfinite(self.rho), p, 1.0)

    def verdicts(self, ceiling: Ceiling, p: Floats) -> dict[str, MeasureVerdict]:
        """The verdict on each measure with a row."""
        holm = adjust_p(p[self.shown], "holm")
        # A measure that ranks all pairs as a baseline does, as "words" does, is not compared with itself.
        same = {i: [j for j in self.baselines if self._same_order(i, j)] for i in self.shown}
        others = {
            i: [(self.measures[j].name, self.influences[j]) for j in self.baselines if j not in same[i]]
            for i in self.shown
        }
        each = {i: replace(self.influences[i], value=float(self.rho[i] - self.shift[i])) for i in self.shown}
        # The best of many measures is not valid by chance: these tests are adjusted for their number as well.
        beats = [max((self.inference.p_above(each[i].plus(one, -1.0)) for _, one in others[i]), default=0.0)
                 for i in self.shown]  # fmt: skip
        above = [self.inference.p_above(each[i].plus(ceiling.mind, -MOST)) for i in self.shown]
        levels = [_holm_levels(np.array(beats)), _holm_levels(np.maximum(beats, above))]
        found = {}
        for i, adjusted, *at in zip(self.shown, holm.tolist(), *levels, strict=True):
            verdict = decide(each[i], adjusted, others[i], ceiling, self.inference, len(self.member), (at[0], at[1]))
            verdict = replace(verdict, compared=bool(others[i] or same[i]))
            found[self.measures[i].name] = verdict.of_baseline(self.measures[same[i][0]].name) if same[i] else verdict
        return found

    def _same_order(self, i: int, j: int) -> bool:
        """Whether two measures rank all pairs in the same order, ties included."""
        if not abs(self.rho[i] - self.rho[j]) < EQUAL:
            return False
        one, other = (mean_ranks(np.round(self.values[k], DIGITS)) for k in (i, j))
        return np.array_equal(one, other)

    # -- rows -----------------------------------------------------------------------------------

    def rows(self, verdicts: Mapping[str, MeasureVerdict], p: Floats) -> list[Row]:
        """One row per measure, or a sweep's best setting."""
        top = min(self.shown, key=lambda i: _best_first(float(self.rho[i] - self.shift[i]), self.measures[i].name))
        within = self.within()
        found = []
        for i in self.shown:
            one, verdict = self.measures[i], verdicts[self.measures[i].name]
            estimate = self.inference.correlation(self.influences[i], self.variances[i], shift=float(self.shift[i]))
            kind = "nested choice" if one.family else one.kind
            found.append(self._row(i, kind, verdict.verdict, verdict.share, estimate, p, within, top))
        return found

    def baseline_rows(self, p: Floats) -> list[Row]:
        """Rows of baseline measures, without a verdict."""
        within = self.within()
        return [
            self._row(i, "baseline", None, None, self.inference.correlation(self.influences[i], self.variances[i]), p,
                      within, i) for i in self.baselines
        ]  # fmt: skip

    def _row(
        self, i: int, kind: str, verdict: str | None, share: float | None, estimate: Estimate, p: Floats,
        within: Sequence[Estimate] | None, top: int,
    ) -> Row:  # fmt: skip
        same = self.inference.same_texts(self.influences[i], shift=float(self.shift[i]))
        row = {
            "measure": self.measures[i].name, "kind": kind, "verdict": verdict, **estimate.row(),
            "n": len(self.robin), "share": share, "p": float(p[i]), **_three_columns(same, "same_texts"),
            **_three_columns(None if within is None else within[i], "within"), **self._difference(i, top),
            "reason": estimate.reason,
        }  # fmt: skip
        return row, estimate

    def _difference(self, i: int, top: int) -> dict[str, float | None]:
        if i == top or not np.isfinite(self.rho[[i, top]]).all():
            return _three_columns(None, "difference")
        found = self.inference.difference(self.influences[i].plus(self.influences[top], -1.0))
        less = float(self.shift[i] - self.shift[top])
        values = (found.estimate - less, found.low - less, found.high - less)
        return dict(zip(_three_columns(None, "difference"), values, strict=True))

    def within(self) -> list[Estimate] | None:
        """Mean ρ within documents of each measure; None with one document."""
        if len(self.documents) < 2:
            return None
        found = []
        for i in range(len(self.measures)):
            known = [of for of, _ in self._document_influences[i] if np.isfinite(of.value)]
            variances = [v for of, v in self._document_influences[i] if np.isfinite(of.value)]
            if not known:
                found.append(missing("all pairs of each document have the same value"))
                continue
            d = len(known)
            mean = replace(known[0], value=float(np.mean([of.value for of in known])))
            text, pair, choice = (
                sum(each) / d**2 for each in zip(*((v.text, v.pair, v.choice) for v in variances), strict=True)
            )
            total = TextVariance(text, pair, choice, np.concatenate([v.texts for v in variances]))
            found.append(self.inference.correlation(mean, total))
        return found

    @cached_property
    def _document_influences(self) -> list[list[tuple[Influence, TextVariance]]]:
        """ρ in each document with its variance, by measure."""
        found: list[list[tuple[Influence, TextVariance]]] = [[] for _ in self.measures]
        for d in self.documents:
            part, mine = self.robin.restricted(d)
            ranks = ExpertRanks(part)
            for i, values in enumerate(self.values[:, mine]):
                of = ranks.influence(values)
                found[i].append((of, part.variance(of)))
        return found

    def document_rows(self) -> pl.DataFrame:
        """ρ in each document."""
        rows = []
        names = self.experts.documents
        for place, d in enumerate(self.documents):
            for i, one in enumerate(self.measures):
                found = self.inference.correlation(*self._document_influences[i][place])
                rows.append({"document": names[d], "measure": one.name, **found.row(),
                             "n": int(self.robin.pairs[d]), "reason": found.reason})  # fmt: skip
        return pl.DataFrame(rows, schema_overrides=_TYPES, infer_schema_length=None)

    def author_rows(self) -> pl.DataFrame:
        """Mean similarity by authors of the compared pairs."""
        pairs, above = self.pairs, self.experts.pairs.n >= self.settings.floor
        share, authors = self.experts.pairs.share[above], pairs.authors or ()
        return similarity_by_authors(pairs.first, pairs.second, share, authors, self.settings.confidence)

    def sweep_rows(self) -> pl.DataFrame:
        """Every setting of every sweep."""
        rows = []
        for family, (members, best, _) in self.nested.items():
            for i in members.tolist():
                found = self.inference.correlation(self.influences[i], self.variances[i])
                rows.append({"family": family, "measure": self.measures[i].name, **found.row(), "best": i == best})
        schema = {"family": pl.String, "measure": pl.String, **dict.fromkeys(("estimate", "low", "high"), pl.Float64)}
        return pl.DataFrame(rows, schema={**schema, "best": pl.Boolean})

    # -- sweeps ---------------------------------------------------------------------------------

    @property
    def families(self) -> list[str]:
        """Measures with several settings."""
        return list(dict.fromkeys(m.family for m in self.measures if m.family is not None))

    def nested_choice(self, family: str) -> tuple[Ints, int, float]:
        """The settings of a sweep, the best of them, and the optimism of its ρ.

        The setting is chosen on half of the documents, or of the texts where documents are few, and scored on the other
        half. What is lost there is scaled to all pairs: noise goes with one over the root of their number.
        """
        members = np.array([i for i, m in enumerate(self.measures) if m.family == family])
        best = int(members[np.argmax(np.nan_to_num(self.rho[members], nan=-9.0))])
        rng = np.random.default_rng((self.settings.seed, 1))
        shares = self.robin.share
        lost, sizes = [], []
        for _ in range(SPLITS):
            halves = self._halves(rng)
            if min(half.sum() for half in halves) < LEAST_PAIRS:
                continue
            here, there = (correlations(shares[None, h], self.values[np.ix_(members, h)])[0] for h in halves)
            if np.isfinite(here).any() and np.isfinite(there).any():
                # In both directions, so that a harder half does not appear as optimism.
                lost += [here[i] - there[i] for i in (np.nanargmax(here),)] + [
                    there[i] - here[i] for i in (np.nanargmax(there),)
                ]
                sizes.append(sum(half.sum() for half in halves) / 2)
        if not lost:
            return members, best, 0.0
        scale = float(np.sqrt(np.mean(sizes) / len(shares)))
        return members, best, max(float(np.nanmean(lost)) * scale, 0.0)

    def _halves(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Pairs of one half of the documents, or of one half of each document's texts, and of the other."""
        if len(self.documents) >= MANY_DOCUMENTS:
            half = rng.permutation(self.robin.n_documents) % 2 == 0
            return half[self.robin.of_pair], ~half[self.robin.of_pair]
        half = rng.permutation(self.experts.texts.height) % 2 == 0
        first, second = half[self.robin.first], half[self.robin.second]
        return first & second, ~first & ~second

    # -- ceilings -------------------------------------------------------------------------------

    def ceiling(self) -> Ceiling:
        """The experts' own agreement, over the pairs that measures are compared on."""
        rng = np.random.default_rng((self.settings.seed, 2))
        halves = mean_half_correlation(self.robin, rng)
        step = step_to_whole(self.robin, self.member, rng)
        return Ceiling.of(halves, step, self.ranks.reliability(), self.robin, self.settings.confidence)

    def ceiling_rows(self, ceiling: Ceiling) -> list[Row]:
        """Rows of the test–retest agreement and the noise ceiling."""
        empty = dict.fromkeys(name for name in _NUMBERS if name not in ("estimate", "low", "high"))
        rest = {"kind": "ceiling", "verdict": None, "n": len(self.robin)}
        both = ((CEILINGS["again"], ceiling.again), (CEILINGS["best"], ceiling.best))
        return [({"measure": name, **rest, **empty, **one.row(), "reason": one.reason}, one) for name, one in both]

    def published_ceiling(self) -> Estimate:
        """The published ceiling: ρ of bootstrap samples of the judgments with all of them, which share judgments."""
        n, s = len(self.member), self.settings
        if n > MOST_BOOTSTRAPPED:
            return missing("too many judgments")
        rng = np.random.default_rng((s.seed, 4))
        order = np.lexsort((self.experts.odd, self.experts.item))
        judged = PairChoices.of(self.experts.pairs, self.member, self.experts.odd[order], self.experts.texts.height)
        whole = judged.shares()
        runs = [correlation(judged.some(rng.integers(0, n, n)).shares(), whole) for _ in range(2 * SPLITS)]
        known = np.array(runs)[np.isfinite(runs)]
        if len(known) < len(runs) or np.ptp(known) == 0:
            return missing("too few judgments")
        how = IntervalSettings(method="percentile", confidence=s.confidence, seed=s.seed)
        return estimate_replicates(known.mean(), known[:, None], how, n_items=n, n_units=n, unit="judgments")[0]


Row = tuple[dict[str, Any], Estimate]
"""A row of the table, and the estimate in it."""

_TYPES = dict.fromkeys(("document", "measure", "kind", "verdict", "reason"), pl.String)
_NUMBERS = (
    "estimate", "low", "high", "share", "p", "same_texts", "same_texts_low", "same_texts_high", "within", "within_low",
    "within_high", "difference", "difference_low", "difference_high",
)  # fmt: skip


def _three_columns(found: Estimate | None, name: str) -> dict[str, float | None]:
    """Three columns of an estimate, under its name."""
    values = (None, None, None) if found is None else (found.estimate, found.low, found.high)
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


def _best_first(rho: float, name: str) -> tuple[float, str]:
    """The best first, ties by name, those without a value last."""
    return -float(np.nan_to_num(rho, nan=-9.0)), name


def _sort_rows(rows: list[Row], ceilings: list[Row]) -> tuple[pl.DataFrame, tuple[Estimate, ...]]:
    """Measures by ρ, those without one last, then baselines, then the ceilings."""
    key = lambda r: (r[0]["kind"] == "baseline", *_best_first(r[0]["estimate"], r[0]["measure"]))  # noqa: E731
    rows = [*sorted(rows, key=key), *ceilings]
    schema = {**_TYPES, **dict.fromkeys(_NUMBERS, pl.Float64), "n": pl.Int64}
    del schema["document"]
    columns = ["measure", "kind", "verdict", "estimate", "low", "high", "n", *_NUMBERS[3:], "reason"]
    return pl.DataFrame([row for row, _ in rows], schema=schema).select(columns), tuple(one for _, one in rows)


def _holm_levels(p: Floats) -> list[float]:
    """The level of each test at which Holm's adjustment of all of them rejects it; a p-value of NaN is 1."""
    known = np.where(np.isfinite(p), np.maximum(p, 1e-300), 1.0)
    return [float(one) for one in ALPHA * known / adjust_p(known, "holm")]


# -- the verdict on a measure ----------------------------------------------------------------------
# A measure is *valid* if three tests are significant: the permutation test of its texts within documents, the
# comparison
# with length, shared words and common author as baselines, and the test that its ρ is above 80% of the noise ceiling.
# *Low* also requires a significant test that its ρ is at most half of the ceiling.


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
        """A correlation, minus ``shift``, with an interval that is symmetric on Fisher's scale."""
        return self._fisher_estimate(of.value, variance.total, variance.df, shift)

    def same_texts(self, of: Influence, *, shift: float = 0.0) -> Estimate:
        """The same, over new judgments of these texts."""
        return self._fisher_estimate(of.value, self.robin.choice_variance(of), math.inf, shift)

    def _fisher_estimate(self, value: float, variance: float, df: float, shift: float) -> Estimate:
        if not math.isfinite(value):
            return missing("all pairs have the same value")
        if abs(value) > NEARLY_ALIKE or not variance > 0:
            return _no_interval(value - shift, "it ranks all pairs exactly as these judgments do")
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
        """A contrast, with an interval that is symmetric without transformation."""
        found = self.robin.variance(of) if variance is None else variance
        return _t_estimate(of.value, math.sqrt(found.total), found.df, self.confidence)

    def lower(self, of: Influence, level: float = ALPHA) -> float:
        """The one-sided lower limit of a contrast; the value itself without variance."""
        found = self.robin.variance(of)
        return of.value - float(stdtrit(found.df, 1 - level)) * math.sqrt(found.total)

    def p_above(self, of: Influence) -> float:
        """The one-sided p-value of a contrast that is not above 0; without variance 0 or 1."""
        found = self.robin.variance(of)
        if not found.total > 0:
            return float(of.value <= 0)
        return float(stdtr(found.df, -of.value / math.sqrt(found.total)))


def _t_estimate(value: float, error: float, df: float, confidence: float) -> Estimate:
    if not math.isfinite(value) or not error > 0:
        return _no_interval(value, "no variance")

    def ends(level: float) -> tuple[float, float]:
        t = float(stdtrit(df, (1 + level) / 2))
        return value - t * error, value + t * error

    def test(null: float) -> float:
        return float(2 * stdtr(df, -abs(value - null) / error))

    return EstimateByRule(value, *ends(confidence), error, ends=ends, test=test)


def _no_interval(value: float, reason: str) -> Estimate:
    return Estimate(value, math.nan, math.nan, math.nan, reason)


@dataclass(frozen=True, eq=False)
class Ceiling:
    """The experts' own agreement on the ranking of pairs, and the noise ceiling.

    Attributes
    ----------
    again : Estimate
        ρ of the same number of other choices of these experts.
    best : Estimate
        ρ of a measure that knew how alike the experts find any two texts.
    mind : Influence
        Influence of the best, for contrasts with it.
    """

    again: Estimate
    best: Estimate
    mind: Influence

    @classmethod
    def of(cls, halves: float, step: Step, reliability: Influence, robin: RoundRobin, confidence: float) -> Ceiling:
        """From observed halves, the step to the whole, and the precision of the share of chance in equation 1."""
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
            why = "no pair was compared twice, so that chance is not separable from the experts' agreement"
            return cls(_no_interval(again, why), _no_interval(best, why), unknown)
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
            # The ceiling increases with the agreement, so a null is inverted by bisection.
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
    def demonstrated(self) -> bool:
        """Whether agreement among the experts is demonstrated."""
        return self.again.low > 0

    @property
    def low_agreement(self) -> bool:
        """Whether they agree so little that more of the same judgments will not help."""
        return self.again.high < LOW_AGREEMENT


@dataclass(frozen=True)
class FurtherData:
    """Numbers of further texts or judgments for a conclusive verdict with 80% power, at the estimates.

    Attributes
    ----------
    texts : int or None
        More texts of all documents with as many judgments each; None if no such number suffices.
    judgments : int or None
        More judgments of these texts.
    """

    texts: int | None
    judgments: int | None

    def __str__(self) -> str:
        return words.needed_line(self.texts, self.judgments, MOST_TIMES)


@dataclass(frozen=True)
class MeasureVerdict:
    """The verdict on one measure.

    Attributes
    ----------
    verdict : str
        A `SimilarityVerdict` code.
    share : float
        ρ over the noise ceiling; NaN if the latter is not estimable.
    p : float
        Of the permutation test, adjusted for the number of measures.
    beaten_by : tuple of str
        Baseline measures that it is not significantly better than.
    needed : FurtherData or None
        Further data for a conclusive verdict, if undecided.
    same : str or None
        The baseline measure that it equals. It is not compared with that, so that it cannot be valid.
    """

    verdict: SimilarityVerdict
    share: float
    p: float
    beaten_by: tuple[str, ...] = ()
    needed: FurtherData | None = None
    constant: bool = field(default=False)
    same: str | None = None
    compared: bool = field(default=True, metadata={"json": False})
    """Whether there is a baseline measure to compare with."""

    def of_baseline(self, name: str) -> MeasureVerdict:
        """The verdict on a measure that equals a baseline."""
        if self.verdict in words.BEATS_BASELINES:
            return replace(self, verdict="baseline", needed=None, same=name)
        return replace(self, same=name)

    def sentence(self, row: Mapping[str, Any]) -> str:
        """The verdict in a sentence, with the numbers of the measure's row."""
        reasons = words.verdict_reasons(self.p, ALPHA, self.beaten_by)
        needed = "" if self.needed is None else str(self.needed)
        if self.needed == FurtherData(None, None) and self.p <= ALPHA and self.beaten_by:
            needed = words.inseparable_line(self.beaten_by, MOST_TIMES)
        return words.verdict_line(
            row, self.verdict, self.share, reasons, needed, MOST, constant=self.constant, same=self.same,
            compared=self.compared,
        )  # fmt: skip


def decide(
    of: Influence, p: float, baselines: Sequence[tuple[str, Influence]], ceiling: Ceiling, inference: TextInference,
    n_choices: int, levels: tuple[float, float] = (ALPHA, ALPHA),
) -> MeasureVerdict:  # fmt: skip
    """The verdict of one measure.

    Parameters
    ----------
    of : Influence
        Its ρ.
    p : float
        Of the permutation test, adjusted for the number of measures.
    baselines : sequence of (name, Influence)
        Baseline measures, without this measure itself.
    levels : (float, float)
        One-sided levels of the comparison with baselines, and with 80% of the ceiling.
    """
    if not math.isfinite(of.value):
        return MeasureVerdict("low", math.nan, 1.0, constant=True)
    best = ceiling.best.estimate
    share = of.value / best if best > 0 else math.nan
    if not ceiling.demonstrated:
        return MeasureVerdict("not_testable", share, p)
    beaten_by = tuple(name for name, one in baselines if not inference.lower(of.plus(one, -1.0), levels[0]) > 0)
    if p <= ALPHA and not beaten_by:
        whole = of.plus(ceiling.mind, -MOST)
        if inference.lower(whole, levels[1]) > 0:
            return MeasureVerdict("valid", share, p)
        if inference.lower(whole.times(-1.0)) > 0:
            return MeasureVerdict("partly_valid", share, p)
        needed = numbers_needed([whole.times(np.sign(whole.value))], inference, ceiling, n_choices, levels[1])
        return MeasureVerdict("partly_valid_undecided", share, p, needed=needed)
    half = of.times(-1.0).plus(ceiling.mind, HALF)
    if p > ALPHA and inference.lower(half) > 0:
        return MeasureVerdict("low", share, p, beaten_by)
    more = [of.plus(one, -1.0) for name, one in baselines if name in beaten_by]
    # The hardest of the tests against permutation and baselines decides, or the test of at most half of the ceiling.
    needed = numbers_needed([of, *more], inference, ceiling, n_choices, levels[0])
    if p > ALPHA:
        # A measure that is better than permuted texts is not low: the number must be too small to demonstrate that.
        better = numbers_needed([of], inference, ceiling, n_choices)
        low = numbers_needed([half], inference, ceiling, n_choices)
        needed = _smaller_need(needed, _below(low, better))
    return MeasureVerdict("undecided", share, p, beaten_by, needed)


def numbers_needed(
    contrasts: Sequence[Influence], inference: TextInference, ceiling: Ceiling, n_choices: int, level: float = ALPHA
) -> FurtherData:
    """Further texts, or judgments, with which each of these contrasts is significantly above 0 with 80% power."""
    found = [_numbers_for_one(one, inference.robin, ceiling.again.estimate, n_choices, level) for one in contrasts]
    texts, judgments = ([getattr(one, name) for one in found] for name in ("texts", "judgments"))
    return FurtherData(*(None if None in some else max(some) for some in (texts, judgments)))


def _numbers_for_one(
    of: Influence, robin: RoundRobin, again: float, n_choices: int, level: float = ALPHA
) -> FurtherData:
    """The numbers for one contrast."""
    parts = robin.variance(of)
    texts, documents = float(parts.texts.mean()), len(parts.texts)
    if not of.value > 0:
        return FurtherData(None, None)
    m = np.arange(math.ceil(texts) + 1, math.ceil(MOST_TIMES * texts) + 1, dtype=float)
    apart = (parts.pair + parts.choice) * texts * (texts - 1) / (m * (m - 1))
    enough = of.value > _errors_to_show(documents * (m - 1), level) * np.sqrt(max(parts.text, 0.0) * texts / m + apart)
    more_texts = math.ceil(documents * (m[enough][0] - texts)) if enough.any() else None
    times = np.linspace(1.25, MOST_TIMES, 76)
    # More judgments reduce the noise of the ranking, and all its correlations increase by the same factor.
    gain = times / (1 + (times - 1) * again)
    rest = parts.choice / times + (max(parts.text, 0.0) + parts.pair) * gain
    errors = _errors_to_show(np.full(len(times), documents * (texts - 1)), level)
    enough = of.value * np.sqrt(gain) > errors * np.sqrt(rest)
    more = math.ceil((times[enough][0] - 1) * n_choices) if enough.any() else None
    return FurtherData(more_texts, more)


def _errors_to_show(among: Floats, level: float) -> Floats:
    """Distance of a contrast from 0, in standard errors, for significance with that power."""
    df = np.array([degrees(int(one)) for one in among])
    return np.asarray(stdtrit(df, 1 - level) + stdtrit(df, POWER))


def _below(one: FurtherData, other: FurtherData) -> FurtherData:
    """The numbers of each kind that are smaller than the other's."""
    return FurtherData(*(
        a if a is not None and (b is None or a < b) else None
        for a, b in ((one.texts, other.texts), (one.judgments, other.judgments))
    ))  # fmt: skip


def _smaller_need(one: FurtherData, other: FurtherData) -> FurtherData:
    """The smaller number of each kind."""
    known = [[n for n in pair if n is not None] for pair in zip(
        (one.texts, one.judgments), (other.texts, other.judgments), strict=True)]  # fmt: skip
    return FurtherData(*(min(some) if some else None for some in known))
