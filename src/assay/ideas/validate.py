"""Do automatic measures of similarity see what experts see?

Nam et al. (2025), section 4.5: the experts' odd ones out give a similarity to each pair (equation 1), and a measure is
as good as it ranks the pairs alike: Spearman's ρ. Intervals speak of new texts of these documents, judged by these
experts; a permutation of its texts says whether a measure sees anything; the verdict holds it against the best that a
measure can do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from assay.data.annotations import Annotations, digest_of_columns
from assay.data.chunks import Chunks
from assay.errors import DataError, DesignError, counted, unknown
from assay.estimation.intervals import Estimate, EstimateByRule, adjust_p, missing
from assay.estimation.options import IntervalSettings, question
from assay.estimation.resampling import estimate_replicates
from assay.estimation.result import Exclusion, ResultOfRows, Run, fingerprint_with
from assay.estimation.statistic import Floats, Ints
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
    signed_measures,
)
from assay.reporting import pictures
from assay.reporting.tables import clip_name, estimated, interval, p_value, said
from assay.statistics.odd_one_out import (
    KEPT,
    NEARLY_ALIKE,
    PairChoices,
    Step,
    correlation,
    correlations,
    mean_half_correlation,
    step_to_whole,
)
from assay.statistics.round_robin import (
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
"""Random halves behind the choice of a sweep's setting, and half as many bootstrap runs as the paper's ceiling has:
their mean is known to a seventh of their spread."""

MOST_BOOTSTRAPPED = 1_000_000
"""The paper's ceiling, a footnote, is computed for at most this many choices: more take longer than the answer."""

MANY_DOCUMENTS = 6
"""From this number on, a sweep's setting is chosen on half of the documents; below, on half of the texts, as halves of
fewer than three documents differ too much."""

ALPHA = 0.05
"""Level of each test behind a verdict, one-sided."""

MOST = 0.8
"""Share of the best possible ρ that must be shown for "what experts see": of measures that truly reach so much and no
more, 3 to 7% are said to (`benchmarks/ideas_texts.py`), and one that reaches all is told from 15 texts on."""

HALF = 0.5
"""A measure sees at most half where its ρ is shown to stay below this share of the best possible."""

HOPELESS = 0.3
"""Where the upper end of the experts' agreement is below this, more of the same judgments is not advised."""

POWER = 0.8
"""Power at which the numbers of further texts and judgments are computed."""

MOST_TIMES = 20
"""No number is named where more than this many times the texts or judgments at hand would be needed."""

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

CEILINGS = {"again": "experts, asked again", "best": "best that a measure can do"}
"""What the rows of the ceiling are called."""


@dataclass(frozen=True, eq=False)
class SimilarityValidation(ResultOfRows):
    """How well measures rank pairs of texts as experts do.

    Attributes
    ----------
    rows : polars.DataFrame
        One row a measure, best first, then trivial measures and the experts' own ceiling: ``measure``, ``kind``
        (``similarity``, ``judge``, ``pairs``, ``nested choice``, ``trivial``, ``ceiling``), ``verdict``, ``estimate``
        (ρ over all pairs), ``low``, ``high`` (new texts of these documents, judged by these experts), ``n`` (pairs),
        ``share`` (of the best that a measure can do), ``p`` (of the permutation of its texts within documents: it sees
        nothing), ``same_texts``, ``same_texts_low``, ``same_texts_high`` (ρ again, over new judgments of these texts),
        ``within``, ``within_low``, ``within_high`` (mean ρ within documents; null where there is one), ``difference``,
        ``difference_low``, ``difference_high`` (ρ less that of the best), ``reason``.
    by_document : polars.DataFrame
        ``document``, ``measure``, ``estimate``, ``low``, ``high``, ``n``, ``reason``.
    sweeps : polars.DataFrame
        Every setting of a measure that was given several: ``family``, ``measure``, ``estimate``, ``low``, ``high``,
        ``best``. The best of many is optimistic: ``rows`` have what nested choice leaves of it.
    run : Run
    """

    symbol: ClassVar[str] = "ρ"
    counted: ClassVar[str] = "pairs"

    rows: pl.DataFrame = field(metadata={"json": False})
    by_document: pl.DataFrame
    sweeps: pl.DataFrame
    run: Run
    verdicts: dict[str, MeasureVerdict]
    """By measure; trivial measures have none."""
    published_ceiling: Estimate = field(metadata={"json": False})
    """ρ of bootstrap samples of the choices with all of them, as published: it shares judgments with its target."""
    estimates: tuple[Estimate, ...] = field(repr=False, metadata={"json": False})
    influences: dict[str, Influence] = field(repr=False, metadata={"json": False})
    inference: TextInference = field(repr=False, metadata={"json": False})

    @property
    def measures(self) -> pl.DataFrame:
        """The rows of measures that were asked about."""
        return self.rows.filter(~pl.col("kind").is_in(["trivial", "ceiling"]))

    @property
    def best(self) -> str:
        """The measure that ranks pairs most as experts do."""
        return str(self.rows["measure"][0])

    @property
    def ceiling(self) -> dict[str, Any]:
        """The row of the experts, asked again."""
        return self.rows.filter(pl.col("measure") == CEILINGS["again"]).row(0, named=True)

    def difference(self, first: str, second: str) -> dict[str, float]:
        """ρ of one measure less that of another over new texts of these documents, and in percent.

        Returns
        -------
        dict
            ``difference``, ``low``, ``high``; ``percent``, ``percent_low``, ``percent_high`` of the other's ρ
            (table 4 of the paper, as with one judge under two prompts); NaN where a ρ near 0 leaves no percentage.
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
            apart = self.inference.difference(ratio)
            low, high = (percent + 100 * (end - apart.estimate) for end in (apart.low, apart.high))
        return {"difference": found.estimate, "low": found.low, "high": found.high, "percent": percent,
                "percent_low": low, "percent_high": high}  # fmt: skip

    def summary(self) -> str:
        """What may be said of each measure, what the best beats, what experts reach themselves."""
        lines = [*self.sentences(), *self.footnotes()]
        return "\n".join([*lines, *self.run.closing(intervals=True)])

    def footnotes(self) -> tuple[str, ...]:
        """What is said besides: why intervals are missing, and the ceiling as published."""
        lines = [f"No interval: {why}." for why in self.rows["reason"].drop_nulls().unique(maintain_order=True)]
        found = self.published_ceiling
        if np.isfinite(found.estimate):
            lines.append(
                "As published, bootstrap samples of the judgments agree with all of them by "
                f"ρ = {said(found.estimate)}, which is too high: they share judgments."
            )
        return tuple(lines)

    def sentences(self) -> tuple[str, ...]:
        """What is found, in sentences; the verdict of the best measure first."""
        measures = self.measures
        if not self.ceiling["low"] > 0:
            return (self._no_agreement(), *self._expert_sentences())
        said_of = measures.head(MOST_SENTENCES).iter_rows(named=True)
        found = [self.verdicts[row["measure"]].sentence(row) for row in said_of]
        if measures.height > len(found):
            found.append(f"{counted(measures.height - len(found), 'more measure')} in the table.")
        return (*found, *self._beaten(measures), *self._variants_compared(measures), *self._expert_sentences())

    def _no_agreement(self) -> str:
        """Where experts are not shown to agree, nothing is said of measures."""
        again = self.ceiling
        yet = "" if self.hopeless else " yet"
        why = "ρ of the same number of other judgments with these would be " + _rho_words(again)
        if not np.isfinite(again["low"]):
            why = again["reason"] or "too few judgments"
        return (
            f"These judgments cannot tell{yet} which measures see what experts see: the experts' own agreement is not "
            f"shown ({why})."
        )

    @property
    def hopeless(self) -> bool:
        """Whether the experts hardly agree, so that more of the same judgments would not tell."""
        return bool(self.ceiling["high"] < HOPELESS)

    def _expert_sentences(self) -> Iterator[str]:
        again, best = (self.rows.filter(pl.col("measure") == CEILINGS[c]).row(0, named=True) for c in CEILINGS)
        if again["low"] > 0:
            yield (
                f"The same number of new judgments of the experts would agree with these by ρ = {_rho_words(again)}; a "
                f"measure that knew what experts think would reach {_rho_words(best)}."
            )

    def _beaten(self, measures: pl.DataFrame) -> Iterator[str]:
        """What the best measure beats, where it sees anything: the next one, and the next of another kind."""
        top = measures.row(0, named=True)
        if self.verdicts[top["measure"]].answer not in SEES:
            return
        other = measures.slice(1).filter(pl.col("estimate").is_not_nan())
        kinds = other.filter(pl.col("kind") != top["kind"]).head(1)
        for row in pl.concat([other.head(1), kinds]).unique(maintain_order=True).iter_rows(named=True):
            if row["difference"] == 0:
                yield f"{row['measure']} reaches the same ρ as {top['measure']}."
                continue
            low, high = -row["difference_high"], -row["difference_low"]
            sure = "beats" if low > 0 else "is not shown to beat"
            yield (
                f"{top['measure']} {sure} {row['measure']} ({said(row['estimate'])}), by {said(-row['difference'])} "
                f"{interval(low, high)}."
            )

    def _variants_compared(self, measures: pl.DataFrame) -> Iterator[str]:
        """Judges that were asked in several ways: the best of them less each other one."""
        judges = measures.filter((pl.col("kind") == "judge") & pl.col("estimate").is_not_nan())["measure"].to_list()
        for who in dict.fromkeys(map(judge_of, judges)):
            best, *others = [name for name in judges if judge_of(name) == who]
            for other in others:
                less = self.difference(best, other)
                yield (
                    f"The same judge: ρ of {best} less that of {other} {said(less['difference'])} "
                    f"{interval(less['low'], less['high'])}."
                )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Forest plot of the measures, the trivial ones muted, with the best that a measure can do as a line."""
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


_COLOURS = {"judge": pictures.JUDGE, "trivial": pictures.MUTED}

MOST_SENTENCES = 6
"""Measures whose verdicts are said in words; the table has them all."""


def _rho_words(row: Mapping[str, Any]) -> str:
    return estimated(row["estimate"], row["low"], row["high"])


@question(ValidateSettings)
def validate_similarity(labels: Annotations | Chunks, settings: ValidateSettings) -> SimilarityValidation:
    """Do automatic measures see what experts see? Spearman's ρ of each with the experts' ranking of pairs.

    Parameters
    ----------
    labels : Annotations
        The experts' odd ones out, labels on the scale ``odd-one-out``; and those of judges, who are measures.

    Returns
    -------
    SimilarityValidation

    Raises
    ------
    DesignError
        For labels that are no odd ones out, no measure at all, or fewer than three pairs that all measures know.
    DataError
        For a measure without values for these pairs.

    Notes
    -----
    The mean similarity of the pairs of a document is 1/3 whatever the texts, so experts say nothing of which document's
    texts are more alike. A measure that does loses in ρ over all pairs, and nothing in the mean ``within`` documents.

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

    Shared words rank the six pairs nearly as this expert does.
    """
    named = name_measures(settings.measures)
    settings = replace(settings, measures=signed_measures(named))
    table = odd_one_labels(labels.in_memory("validate_similarity"), "validate_similarity")
    everyone = Choices.of(table, settings, "validate_similarity")
    judges = [n for n in everyone.annotators if everyone.kinds[n] == "judge"] if settings.with_judges else []
    experts = everyone.chosen_by(settings.annotators, beside=judges)
    pairs, above = compared_pairs(table, experts, settings)
    found = [m for name, one in named.items() for m in pairs.of(name, one)]
    if settings.with_judges:
        found += [
            pairs.measure(name, "judge", pairs.shares(everyone.where(mine).pairs))
            for name, mine in each_judge(table, judges, everyone.chosen(settings.annotators))
        ]
    if not found:
        raise DesignError(
            "there is nothing to compare with the experts: name measures, such as measures=['words'], or read the "
            "labels of judges who chose odd ones out too"
        )
    check_values(found, pairs)
    return _MeasureComparison.of(experts, pairs, [*found, *pairs.trivial()], settings, above).result(table)


@dataclass(frozen=True, eq=False)
class _MeasureComparison:
    """Measures and experts on the pairs that all of them know."""

    experts: Choices
    pairs: PairsOfTexts
    measures: tuple[PairMeasure, ...]
    settings: ValidateSettings
    member: Ints
    """The three texts of each choice, in one order whatever the order of the rows, so that a seed draws alike."""
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
        """What is compared; pairs that some measure does not know are left out and counted."""
        names = [m.name for m in measures]
        twice = [n for n in names if names.count(n) > 1]
        if twice:
            raise DesignError(f"two measures are called '{twice[0]}'; rename one, or give them as a mapping of names")
        values = np.stack([m.values for m in measures])
        known = np.isfinite(values).all(axis=0)
        gone = []
        if not known.all():
            least = min(measures, key=lambda m: int(np.isfinite(m.values).sum()))
            why = f"a measure has no value for it ('{least.name}' knows {int(np.isfinite(least.values).sum())})"
            gone.append(Exclusion("pair", int((~known).sum()), why))
        if known.sum() < LEAST_PAIRS:
            raise DesignError(
                f"all measures know {counted(int(known.sum()), 'pair')} only; a ranking needs {LEAST_PAIRS}"
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
        """ρ of each measure, and what pairs and choices add to it."""
        return [self.ranks.influence(values) for values in self.values]

    @cached_property
    def variances(self) -> list[TextVariance]:
        """Of each ρ."""
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
        """Documents with pairs enough to be ranked."""
        return [d for d, many in enumerate(self.robin.pairs.tolist()) if many >= LEAST_PAIRS]

    @property
    def trivial(self) -> list[int]:
        """Measures that do not look at ideas."""
        return [i for i, one in enumerate(self.measures) if one.kind == "trivial"]

    @cached_property
    def nested(self) -> dict[str, tuple[Ints, int, float]]:
        """Sweeps by their names; see `nested_choice`."""
        return {family: self.nested_choice(family) for family in self.families}

    @cached_property
    def shown(self) -> list[int]:
        """Measures that are rows: all but the settings of sweeps that were not chosen."""
        m = range(len(self.measures))
        single = [i for i in m if self.measures[i].family is None and self.measures[i].kind != "trivial"]
        return [*single, *(best for _, best, _ in self.nested.values())]

    @cached_property
    def shift(self) -> Floats:
        """By how much ρ of each measure is too high because it was chosen as the best of a sweep."""
        found = np.zeros(len(self.measures))
        for _, best, optimism in self.nested.values():
            found[best] = optimism
        return found

    def result(self, labels: Annotations) -> SimilarityValidation:
        """All of it."""
        s = self.settings
        ceiling = self.ceiling()
        p = self.permutation_p()
        verdicts = self.verdicts(ceiling, p)
        rows, estimates = _sort_rows(
            [*self.rows(verdicts, p), *self.trivial_rows(p)], self.ceiling_rows(ceiling)
        )  # fmt: skip
        columns = [*(s.contents or CONTENTS.get(self.experts.columns) or ()), *(s.authors or AUTHORS)]
        there = [c for c in columns if c in (*labels.items.columns, *labels.labels.columns)]
        data = fingerprint_with(self.experts.data, **digest_of_columns(labels, *there))
        how = (
            f"{100 * s.confidence:g}% over new texts of these documents, judged by these experts (influences of texts, "
            "pairs and choices; t on Fisher's scale); same texts: over new judgments of these very texts"
        )
        cautions = [
            f"'{family}' is the best of {len(members)} settings, which is optimistic; its ρ here is what nested choice "
            f"leaves of {said(float(self.rho[best]))}." for family, (members, best, _) in self.nested.items()
        ]  # fmt: skip
        asked = len(self.measures) - len(self.trivial)
        run = Run(
            "validate-similarity", s, data, {**self.experts.facts, "measures": asked}, how,
            (*self.experts.exclusions, *self.excluded), tuple(f"{m.name}: {m.about}" for m in self.measures if m.about),
            cautions=tuple(cautions),
        )  # fmt: skip
        influences = {m.name: one for m, one in zip(self.measures, self.influences, strict=True)}
        return SimilarityValidation(
            rows, self.document_rows(), self.sweep_rows(), run, verdicts, self.published_ceiling(), estimates,
            influences, self.inference,
        )  # fmt: skip

    # -- does it see anything, and how much -------------------------------------------------------

    def permutation_p(self) -> Floats:
        """Of each measure, that its texts may as well be exchanged; of a sweep, that all its settings' may."""
        rng = np.random.default_rng((self.settings.seed, 3))
        found, drawn = permuted_correlations(
            self.ranks, [one.every for one in self.measures], self.settings.n_resamples, rng
        )
        p = np.array([p_of_permutations(found[i], drawn[:, i]) for i in range(len(found))])
        for members, best, _ in self.nested.values():
            p[best] = p_of_permutations(found[members].max(), drawn[:, members].max(axis=1))
        return np.where(np.isfinite(self.rho), p, 1.0)

    def verdicts(self, ceiling: Ceiling, p: Floats) -> dict[str, MeasureVerdict]:
        """What may be said of each measure that is a row."""
        holm = adjust_p(p[self.shown], "holm")
        found = {}
        for i, adjusted in zip(self.shown, holm.tolist(), strict=True):
            one = self.measures[i]
            # Shared words are not asked to see more than shared words.
            beside = [(self.measures[j].name, self.influences[j]) for j in self.trivial
                      if not (one.name == "words" and np.array_equal(self.values[i], self.values[j]))]  # fmt: skip
            of = replace(self.influences[i], value=float(self.rho[i] - self.shift[i]))
            found[one.name] = decide(of, adjusted, beside, ceiling, self.inference, len(self.member))
        return found

    # -- rows -----------------------------------------------------------------------------------

    def rows(self, verdicts: Mapping[str, MeasureVerdict], p: Floats) -> list[Row]:
        """One row a measure, or a sweep's best setting."""
        top = min(self.shown, key=lambda i: _best_first(float(self.rho[i] - self.shift[i]), self.measures[i].name))
        within = self.within()
        found = []
        for i in self.shown:
            one, verdict = self.measures[i], verdicts[self.measures[i].name]
            estimate = self.inference.correlation(self.influences[i], self.variances[i], shift=float(self.shift[i]))
            kind = "nested choice" if one.family else one.kind
            found.append(self._row(i, kind, verdict.answer, verdict.share, estimate, p, within, top))
        return found

    def trivial_rows(self, p: Floats) -> list[Row]:
        """Measures that do not look at ideas, which get no verdict."""
        within = self.within()
        return [
            self._row(i, "trivial", None, None, self.inference.correlation(self.influences[i], self.variances[i]), p,
                      within, i) for i in self.trivial
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
        """Mean ρ within documents of each measure; None where there is one document."""
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
        """Measures of which several settings were tried."""
        return list(dict.fromkeys(m.family for m in self.measures if m.family is not None))

    def nested_choice(self, family: str) -> tuple[Ints, int, float]:
        """The settings of a sweep, the best of them, and by how much its ρ is too high because it was chosen.

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
                # Both ways round, so that a harder half does not look like a loss.
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
        """How well the experts' own judgments rank the pairs, over the pairs that measures are held against."""
        rng = np.random.default_rng((self.settings.seed, 2))
        halves = mean_half_correlation(self.robin, rng)
        step = step_to_whole(self.robin, self.member, rng)
        return Ceiling.of(halves, step, self.ranks.reliability(), self.robin, self.settings.confidence)

    def ceiling_rows(self, ceiling: Ceiling) -> list[Row]:
        """Other judgments of the experts, and the best that a measure can do."""
        empty = dict.fromkeys(name for name in _NUMBERS if name not in ("estimate", "low", "high"))
        rest = {"kind": "ceiling", "verdict": None, "n": len(self.robin)}
        both = ((CEILINGS["again"], ceiling.again), (CEILINGS["best"], ceiling.best))
        return [({"measure": name, **rest, **empty, **one.row(), "reason": one.reason}, one) for name, one in both]

    def published_ceiling(self) -> Estimate:
        """ρ of bootstrap samples of the judgments with all of them, as the paper has it: they share judgments."""
        n, s = len(self.member), self.settings
        if n > MOST_BOOTSTRAPPED:
            return missing("too many judgments for a footnote")
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
    """The best first, those alike by name, those without a value last."""
    return -float(np.nan_to_num(rho, nan=-9.0)), name


def _sort_rows(rows: list[Row], ceilings: list[Row]) -> tuple[pl.DataFrame, tuple[Estimate, ...]]:
    """Measures by ρ, those without one last, then trivial ones, then the ceilings."""
    key = lambda r: (r[0]["kind"] == "trivial", *_best_first(r[0]["estimate"], r[0]["measure"]))  # noqa: E731
    rows = [*sorted(rows, key=key), *ceilings]
    schema = {**_TYPES, **dict.fromkeys(_NUMBERS, pl.Float64), "n": pl.Int64}
    del schema["document"]
    columns = ["measure", "kind", "verdict", "estimate", "low", "high", "n", *_NUMBERS[3:], "reason"]
    return pl.DataFrame([row for row, _ in rows], schema=schema).select(columns), tuple(one for _, one in rows)


# -- the verdict on a measure ----------------------------------------------------------------------
# A measure *sees what experts see* where three things are shown at once: its texts matter (a permutation of them within
# documents), it sees more than length, shared words or a common author do, and its ρ is more than 80% of what the best
# possible measure would reach. What is not shown is not said, and *at most half* has to be shown too.


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
        return self._fisher_estimate(of.value, variance.total, variance.df, shift)

    def same_texts(self, of: Influence, *, shift: float = 0.0) -> Estimate:
        """The same, over new judgments of these very texts."""
        return self._fisher_estimate(of.value, self.robin.choice_variance(of), math.inf, shift)

    def _fisher_estimate(self, value: float, variance: float, df: float, shift: float) -> Estimate:
        if not math.isfinite(value):
            return missing("all pairs have the same value")
        if abs(value) > NEARLY_ALIKE or not variance > 0:
            return _no_interval(value - shift, "it ranks the pairs as these judgments do, to the last of them")
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
        return _t_estimate(of.value, math.sqrt(found.total), found.df, self.confidence)

    def lower(self, of: Influence) -> float:
        """The one-sided lower end of a contrast; the value itself where nothing varies."""
        found = self.robin.variance(of)
        return of.value - float(stdtrit(found.df, 1 - ALPHA)) * math.sqrt(found.total)


def _t_estimate(value: float, error: float, df: float, confidence: float) -> Estimate:
    if not math.isfinite(value) or not error > 0:
        return _no_interval(value, "nothing varies")

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
    """How well the experts' own choices rank the pairs: the ceiling of a measure.

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
    """How many further texts or judgments would decide, with 80% power, if measure and experts are as estimated.

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
        needed = numbers_needed([whole.times(np.sign(whole.value))], inference, ceiling, n_choices)
        return MeasureVerdict(ANSWERS[2], share, p, needed=needed)
    half = of.times(-1.0).plus(ceiling.mind, HALF)
    if p > ALPHA and inference.lower(half) > 0:
        return MeasureVerdict(ANSWERS[3], share, p, beaten_by)
    more = [of.plus(one, -1.0) for name, one in trivial if name in beaten_by]
    # To see anything, and more than each trivial measure, is told by the hardest of these; or that it sees little is.
    needed = _smaller_need(
        numbers_needed([of, *more], inference, ceiling, n_choices),
        numbers_needed([half], inference, ceiling, n_choices),
    )
    return MeasureVerdict(ANSWERS[4], share, p, beaten_by, needed)


def numbers_needed(
    contrasts: Sequence[Influence], inference: TextInference, ceiling: Ceiling, n_choices: int
) -> Needed:
    """Further texts, or judgments, with which each of these contrasts would be shown to be above 0, at 80% power."""
    found = [_numbers_for_one(one, inference.robin, ceiling.again.estimate, n_choices) for one in contrasts]
    texts, judgments = ([getattr(one, name) for one in found] for name in ("texts", "judgments"))
    return Needed(*(None if None in some else max(some) for some in (texts, judgments)))


def _numbers_for_one(of: Influence, robin: RoundRobin, again: float, n_choices: int) -> Needed:
    """Of one contrast."""
    parts = robin.variance(of)
    texts, documents = float(parts.texts.mean()), len(parts.texts)
    if not of.value > 0:
        return Needed(None, None)
    m = np.arange(math.ceil(texts) + 1, math.ceil(MOST_TIMES * texts) + 1, dtype=float)
    apart = (parts.pair + parts.choice) * texts * (texts - 1) / (m * (m - 1))
    enough = of.value > _errors_to_show(documents * (m - 1)) * np.sqrt(max(parts.text, 0.0) * texts / m + apart)
    more_texts = math.ceil(documents * (m[enough][0] - texts)) if enough.any() else None
    times = np.linspace(1.25, MOST_TIMES, 76)
    # More judgments take noise off the ranking, and every ρ with it rises alike.
    gain = times / (1 + (times - 1) * again)
    rest = parts.choice / times + (max(parts.text, 0.0) + parts.pair) * gain
    enough = of.value * np.sqrt(gain) > _errors_to_show(np.full(len(times), documents * (texts - 1))) * np.sqrt(rest)
    more = math.ceil((times[enough][0] - 1) * n_choices) if enough.any() else None
    return Needed(more_texts, more)


def _errors_to_show(among: Floats) -> Floats:
    """How many standard errors a contrast must be from 0 to be shown with that power."""
    df = np.array([degrees(int(one)) for one in among])
    return np.asarray(stdtrit(df, 1 - ALPHA) + stdtrit(df, POWER))


def _smaller_need(one: Needed, other: Needed) -> Needed:
    """The smaller number of each kind."""
    known = [[n for n in pair if n is not None] for pair in zip(
        (one.texts, one.judgments), (other.texts, other.judgments), strict=True)]  # fmt: skip
    return Needed(*(min(some) if some else None for some in known))
