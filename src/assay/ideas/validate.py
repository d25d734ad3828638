"""Do automatic measures of similarity see what experts see?

Nam et al. (2025), section 4.5: the experts' odd ones out give a similarity to each pair (equation 1), and a measure is
as good as it ranks the pairs alike: Spearman's ρ. Intervals come from the experts' judgments made anew; the texts stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunks import Chunks, in_memory
from assay.data.ratings import digest_of_columns
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.intervals import Estimate, Estimates, jackknife_groups, map_estimate, missing
from assay.estimation.options import IntervalSettings, digest, question
from assay.estimation.resampling import of_replicates
from assay.estimation.result import Exclusion, Result, Run, fingerprint_with
from assay.estimation.statistic import Floats, Ints
from assay.ideas.choices import CONTENTS, Choices, ValidateSettings, has_column, item_column, odd_one_labels
from assay.reporting import pictures
from assay.reporting.tables import estimated, interval, said
from assay.similarity.protocol import Similarity
from assay.similarity.registry import as_similarity
from assay.statistics.odd_one_out import (
    GROUPS,
    Judged,
    correlation,
    correlations,
    half_agreement,
    stepped_up,
    without_groups,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LEAST_PAIRS = 3
"""A ranking of fewer pairs says nothing."""

SPLITS = 50
"""Random halves behind a ceiling: their mean is known to a seventh of their spread."""

MANY_DOCUMENTS = 6
"""From this number on, a sweep's setting is chosen on half of the documents; below, on half of the texts, as halves of
fewer than three documents differ too much."""

CEILINGS = {
    "again": "experts, asked again",
    "mind": "best that a measure can do",
    "published": "bootstrap of the experts",
}
"""What the rows of the ceiling are called."""


@dataclass(frozen=True, eq=False)
class SimilarityValidation(Result):
    """How well measures rank pairs of texts as experts do.

    Attributes
    ----------
    rows : polars.DataFrame
        One row a measure, best first, then the experts' own ceiling: ``measure``, ``kind`` (``similarity``, ``judge``,
        ``pairs``, ``nested choice``, ``ceiling``), ``estimate`` (ρ over all pairs), ``low``, ``high``, ``within``,
        ``within_low``, ``within_high`` (mean ρ within documents; null where there is one), ``n`` (pairs),
        ``difference``, ``difference_low``, ``difference_high`` (ρ less that of the best), ``reason``.
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
    estimates: Estimates = field(repr=False, metadata={"json": False})
    names: tuple[str, ...] = field(repr=False)
    rhos: tuple[Estimate, ...] = field(repr=False, metadata={"json": False})

    @property
    def table(self) -> pl.DataFrame:
        """The measures, best first, then the ceiling."""
        return self.rows

    def row_estimates(self) -> Sequence[Estimate]:
        """ρ of each measure and of each ceiling."""
        return self.rhos

    @property
    def best(self) -> str:
        """The measure that ranks pairs most as experts do."""
        return str(self.rows["measure"][0])

    @property
    def ceiling(self) -> dict[str, Any]:
        """The row of the experts, asked again."""
        return self.rows.filter(pl.col("measure") == CEILINGS["again"]).row(0, named=True)

    def difference(self, first: str, second: str) -> dict[str, float]:
        """ρ of one measure less that of another under the same draws of the experts' judgments, and in percent.

        Returns
        -------
        dict
            ``difference``, ``low``, ``high``; ``percent``, ``percent_low``, ``percent_high`` of the other's ρ
            (table 4 of the paper, as with one judge under two prompts); NaN where a ρ near 0 leaves no percentage.
        """
        places = []
        for name in (first, second):
            if name not in self.names:
                raise DataError(unknown("measure", name, self.names, "the comparison"))
            places.append(self.names.index(name))
        found = self.estimates.contrast(_contrast(places[0], places[1], len(self.estimates)))[0]
        a, b = self.estimates.replicates[:, places].T
        whole = self.estimates.value[places[1]]
        share = 100 * (a - b) / np.abs(b)
        steady = np.isfinite(whole) and (np.sign(b) == np.sign(whole)).all() and abs(whole) > 0
        tail = (1 - self.estimates.confidence) / 2
        low, high = np.quantile(share, [tail, 1 - tail]) if steady else (np.nan, np.nan)
        percent = 100 * found.estimate / abs(whole) if steady else np.nan
        return {"difference": found.estimate, "low": found.low, "high": found.high, "percent": float(percent),
                "percent_low": float(low), "percent_high": float(high)}  # fmt: skip

    def summary(self) -> str:
        """The best measure, what it beats, what experts reach themselves."""
        lines = [*self.sentences(), *(f"No interval: {why}." for why in self.rows["reason"].drop_nulls().unique())]
        return "\n".join([*lines, f"Intervals: {self.run.interval}.", *self.run.closing()])

    def sentences(self) -> tuple[str, ...]:
        """What is found, in sentences."""
        measures = self.rows.filter(pl.col("kind") != "ceiling")
        top = measures.row(0, named=True)
        found = [
            f"{top['measure']} ranks the pairs most as experts do: "
            f"ρ = {_rho_words(top)} over {counted(top['n'], 'pair')}."
        ]
        other = measures.slice(1).filter(pl.col("estimate").is_not_nan())
        kinds = other.filter(pl.col("kind") != top["kind"]).head(1)
        for row in pl.concat([other.head(1), kinds]).unique(maintain_order=True).iter_rows(named=True):
            if row["difference"] == 0:
                found.append(f"{row['measure']} reaches the same ρ.")
                continue
            low, high = -row["difference_high"], -row["difference_low"]
            sure = "beats" if low > 0 else "is not shown to beat"
            found.append(
                f"It {sure} {row['measure']} ({said(row['estimate'])}), by {said(-row['difference'])} "
                f"{interval(low, high)}."
            )
        found += self._asked_otherwise(measures)
        again, mind = (self.rows.filter(pl.col("measure") == CEILINGS[c]).row(0, named=True) for c in ("again", "mind"))
        if np.isfinite(again["estimate"]):
            found.append(
                f"The same number of new judgments of the experts would agree with these by ρ = {_rho_words(again)}; a "
                f"measure that knew what experts think would reach {_rho_words(mind)}."
            )
        return tuple(found)

    def _asked_otherwise(self, measures: pl.DataFrame) -> Iterator[str]:
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
        """Forest plot of the measures, with the experts' ceiling as a line."""
        rows = self.rows.filter(pl.col("kind") != "ceiling").head(pictures.MOST_ROWS)
        ax = pictures.axes(ax, width=6.2, height=1.3 + 0.28 * max(rows.height, 2))
        colours = [pictures.JUDGE if kind == "judge" else pictures.HUMAN for kind in rows["kind"]]
        pictures.forest(
            ax, rows["measure"].to_list(), *(rows[c].to_list() for c in ("estimate", "low", "high")), colour=colours
        )
        ax.axvline(0, color=pictures.MUTED, linewidth=1, linestyle="--")
        again = self.ceiling["estimate"]
        if np.isfinite(again):
            ax.axvline(again, color=pictures.PASS, linewidth=1.2)
            ax.plot([], [], color=pictures.PASS, label=CEILINGS["again"])
            pictures.legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        ax.set_xlabel("Spearman's ρ with the experts' ranking of pairs")
        return ax


def _rho_words(row: Mapping[str, Any]) -> str:
    return estimated(row["estimate"], row["low"], row["high"])


def _contrast(first: int, second: int, n: int) -> Floats:
    weights = np.zeros((1, n))
    weights[0, first], weights[0, second] = 1.0, weights[0, second] - 1.0
    return weights


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
    table = odd_one_labels(in_memory(labels, "validate_similarity"), "validate_similarity")
    everyone = Choices.of(table, settings, "validate_similarity")
    judges = [n for n in everyone.annotators if everyone.kinds[n] == "judge"] if settings.with_judges else []
    experts = everyone.chosen_by(settings.annotators, beside=judges)
    pairs, above = _pairs(table, experts, settings)
    found = [m for name, one in named.items() for m in pairs.of(name, one)]
    if settings.with_judges:
        found += _judges(table, everyone, settings, pairs)
    if not found:
        raise DesignError(
            "there is nothing to compare with the experts: name measures, such as measures=['words'], or read the "
            "labels of judges who chose odd ones out too"
        )
    check_values(found, pairs.named)
    return _MeasureComparison.of(experts, pairs, found, settings, above).result(table)


def _pairs(labels: Annotations, experts: Choices, settings: ValidateSettings) -> tuple[PairsOfTexts, Ints]:
    """The pairs that experts compared often enough, and where they are among all that were compared."""
    table = experts.pairs
    above = np.flatnonzero(table.n >= settings.floor)
    if len(above) < LEAST_PAIRS:
        raise DesignError(
            f"{counted(len(above), 'pair')} compared {settings.floor} times or more; a ranking needs "
            f"{LEAST_PAIRS} at least"
        )
    first, second = table.first[above], table.second[above]
    return PairsOfTexts(
        experts.named_pairs(first, second), first, second, experts.texts, _contents(labels, experts, settings)
    ), above  # fmt: skip


def _contents(labels: Annotations, choices: Choices, settings: ValidateSettings) -> tuple[str, ...] | None:
    """The texts themselves, by the columns that hold them; their names where nothing else does."""
    columns: Sequence[str] | None = settings.contents
    if columns is None:
        columns = CONTENTS.get(choices.columns, choices.columns)
        if not all(c in (*labels.items.columns, *labels.labels.columns) for c in columns):
            return None
    elif len(columns) != 3:
        raise DesignError("contents=... takes three columns: those that hold the three texts of a triplet")
    found: list[str | None] = [None] * choices.texts.height
    for place, column in enumerate(columns):
        values = item_column(labels, labels.column_name(column)).cast(pl.String)
        for text, value in zip(choices.of_item[:, place].tolist(), values.to_list(), strict=True):
            if found[text] is None:
                found[text] = value
            elif found[text] != value:
                name = choices.texts["text"][text]
                raise DataError(f"text '{name}' reads differently in two triplets; one name stands for one text")
    return tuple(text or "" for text in found)


def _judges(
    labels: Annotations, everyone: Choices, settings: ValidateSettings, pairs: PairsOfTexts
) -> list[PairMeasure]:  # fmt: skip
    """Equation 1 of each judge of the table who is no expert, under each condition apart."""
    names = [n for n in everyone.annotators if everyone.kinds[n] == "judge"]
    experts = set(everyone.chosen(settings.annotators))
    varied = [c for c in labels.conditions if c != "order" and len(labels.values_of(c)) > 1]
    cells = labels.labels.select("annotator", *(labels.column(c).cast(pl.String).alias(c) for c in varied))
    found = []
    for row in cells.unique().sort(cells.columns, nulls_last=False).iter_rows(named=True):
        who = row.pop("annotator")
        if who not in names or who in experts:
            continue
        mine = cells["annotator"] == who
        for c, value in row.items():
            mine = mine & (cells[c].is_null() if value is None else cells[c] == value)
        found.append(PairMeasure(variant(who, row), "judge", _choice_shares(everyone.where(mine.to_numpy()), pairs)))
    return found


def _choice_shares(choices: Choices, pairs: PairsOfTexts) -> Floats:
    """Equation 1 of the pairs that are asked about; NaN for one that these choices do not concern."""
    table, n = choices.pairs, choices.texts.height
    values = dict(zip((table.first * n + table.second).tolist(), table.share.tolist(), strict=True))
    return np.array([values.get(k, np.nan) for k in (pairs.first * n + pairs.second).tolist()])


@dataclass(frozen=True, eq=False)
class _MeasureComparison:
    """Measures and experts on the pairs that all of them know."""

    experts: Choices
    pairs: PairsOfTexts
    measures: tuple[PairMeasure, ...]
    settings: ValidateSettings
    judged: Judged
    above: Ints
    """Where the pairs that are ranked stand among all that were compared."""
    values: Floats
    """(measures, pairs)."""
    document: Ints
    """Of each pair that is ranked, from 0."""
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
            raise DesignError(f"two measures are called '{twice[0]}'; give them as a mapping of names")
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
        # In one order whatever the order of the rows, so that a seed draws alike.
        order = np.lexsort((experts.odd, experts.item))
        judged = Judged.of(experts.pairs, experts.member[order], experts.odd[order], experts.texts.height)
        document = experts.document[pairs.first[known]]
        return cls(
            experts, pairs, tuple(measures), settings, judged, above[known], values[:, known], document, tuple(gone)
        )  # fmt: skip

    @property
    def documents(self) -> list[int]:
        """Documents with pairs enough to be ranked."""
        many = np.bincount(self.document)
        return [d for d in range(len(many)) if many[d] >= LEAST_PAIRS]

    def values_of(self, shares: Floats) -> Floats:
        """ρ over all pairs, its mean within documents, and in each: (draws, pairs) -> (draws, values)."""
        shares = shares[:, self.above]
        whole = correlations(shares, self.values)
        each = [correlations(shares[:, self.document == d], self.values[:, self.document == d]) for d in self.documents]
        if len(each) < 2:
            return whole
        stacked = np.stack(each)
        known = np.isfinite(stacked)
        with np.errstate(invalid="ignore", divide="ignore"):
            within = np.where(known, stacked, 0.0).sum(axis=0) / known.sum(axis=0)
        return np.concatenate([whole, within, *each], axis=1)

    def estimates(self) -> Estimates:
        """Every ρ with draws around it: new judgments add their noise, so they are moved back on Fisher's z."""
        s = self.settings
        rng = np.random.default_rng(s.seed)
        value = self.values_of(self.judged.shares()[None])[0]
        drawn = np.concatenate([self.values_of(some) for some in self.judged.redrawn(s.n_resamples, rng)])
        z, centre = (np.arctanh(np.clip(v, -1 + 1e-9, 1 - 1e-9)) for v in (drawn, value))
        moved = np.tanh(z - z.mean(axis=0) + centre)
        how = IntervalSettings(method="percentile", n_resamples=s.n_resamples, confidence=s.confidence, seed=s.seed)
        return of_replicates(value, moved, how, n_items=len(self.experts), n_units=len(self.experts), unit="judgments")

    def result(self, labels: Annotations) -> SimilarityValidation:
        """All of it."""
        found = self.estimates()
        nested = {family: self.nested(family, found) for family in self.families}
        rows, rhos = _sort_rows(self.rows(found, nested), self.ceilings())
        s = self.settings
        contents = s.contents or CONTENTS.get(self.experts.columns)
        there = [c for c in contents or () if c in (*labels.items.columns, *labels.labels.columns)]
        data = fingerprint_with(self.experts.data, **digest_of_columns(labels, *there))
        how = (
            f"{100 * s.confidence:g}% intervals from {s.n_resamples:,} draws of the experts' judgments made anew, the "
            "texts and the measures' own answers as they are"
        )
        cautions = [
            f"'{family}' is the best of {len(members)} settings, which is optimistic; its ρ here is what nested choice "
            f"leaves of {said(float(found.value[best]))}." for family, (members, best, _) in nested.items()
        ]  # fmt: skip
        run = Run(
            "validate-similarity", s, data, {**self.experts.facts, "measures": len(self.measures)}, how,
            (*self.experts.exclusions, *self.excluded), tuple(f"{m.name}: {m.about}" for m in self.measures if m.about),
            cautions=tuple(cautions),
        )  # fmt: skip
        names = tuple(m.name for m in self.measures)
        return SimilarityValidation(
            rows, self.document_rows(found), self.sweep_rows(found, nested), run, found, names, rhos
        )

    # -- rows -----------------------------------------------------------------------------------

    def rows(self, found: Estimates, nested: Mapping[str, tuple[Ints, int, float]]) -> list[Row]:
        """One row a measure, or a sweep's best setting."""
        m = len(self.measures)
        shift = np.zeros(m)
        shown = [i for i in range(m) if self.measures[i].family is None]
        for _, best, optimism in nested.values():
            shift[best] = optimism
            shown.append(best)
        top = min(shown, key=lambda i: _rank(float(found.value[i] - shift[i]), self.measures[i].name))
        several = len(found) > m
        rows = []
        for i in shown:
            one = self.measures[i]
            row: dict[str, Any] = {"measure": one.name, "kind": "nested choice" if one.family else one.kind}
            moved = map_estimate(found[i], partial(add, -shift[i]), partial(add, shift[i]), slope=1.0)
            row |= moved.row()
            row |= dict.fromkeys(("within", "within_low", "within_high"))
            if several:
                within = found[m + i].row()
                row |= {"within": within["estimate"], "within_low": within["low"], "within_high": within["high"]}
            row |= {"n": self.values.shape[1], **self._difference(found, i, top, shift)}
            rows.append(({**row, "reason": self._constant_reason(i) or found.reasons[i]}, moved))
        return rows

    def _constant_reason(self, i: int) -> str | None:
        return "all pairs have the same value" if np.ptp(self.values[i]) == 0 else None

    def _difference(self, found: Estimates, i: int, top: int, shift: Floats) -> dict[str, float | None]:
        names = ("difference", "difference_low", "difference_high")
        if i == top or not np.isfinite(found.value[[i, top]]).all():
            return dict.fromkeys(names)
        apart = found.contrast(_contrast(i, top, len(found)))[0]
        less = shift[i] - shift[top]
        return dict(zip(names, (apart.estimate - less, apart.low - less, apart.high - less), strict=True))

    def document_rows(self, found: Estimates) -> pl.DataFrame:
        """ρ in each document."""
        m, rows = len(self.measures), []
        names = self.experts.documents
        for place, d in enumerate(self.documents):
            n = int((self.document == d).sum())
            for i, one in enumerate(self.measures):
                at = 2 * m + place * m + i if len(found) > m else i
                rows.append({"document": names[d], "measure": one.name, **found[at].row(), "n": n,
                             "reason": found.reasons[at]})  # fmt: skip
        return pl.DataFrame(rows, schema_overrides=_TYPES, infer_schema_length=None)

    def sweep_rows(self, found: Estimates, nested: Mapping[str, tuple[Ints, int, float]]) -> pl.DataFrame:
        """Every setting of every sweep."""
        rows = [
            {"family": family, "measure": self.measures[i].name, **found[int(i)].row(), "best": int(i) == best}
            for family, (members, best, _) in nested.items() for i in members
        ]  # fmt: skip
        schema = {"family": pl.String, "measure": pl.String, **dict.fromkeys(("estimate", "low", "high"), pl.Float64)}
        return pl.DataFrame(rows, schema={**schema, "best": pl.Boolean})

    # -- sweeps ---------------------------------------------------------------------------------

    @property
    def families(self) -> list[str]:
        """Measures of which several settings were tried."""
        return list(dict.fromkeys(m.family for m in self.measures if m.family is not None))

    def nested(self, family: str, found: Estimates) -> tuple[Ints, int, float]:
        """The settings of a sweep, the best, and by how much being the best flatters it.

        The setting is chosen on half of the documents, or of the texts where documents are few, and scored on the other
        half. What is lost there is scaled to all pairs: noise goes with one over the root of their number.
        """
        members = np.array([i for i, m in enumerate(self.measures) if m.family == family])
        best = int(members[np.nanargmax(found.value[members])])
        rng = np.random.default_rng((self.settings.seed, 1))
        shares = self.judged.shares()[self.above]
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
            half = rng.permutation(self.document.max() + 1) % 2 == 0
            return half[self.document], ~half[self.document]
        half = rng.permutation(self.experts.texts.height) % 2 == 0
        first, second = half[self.experts.pairs.first[self.above]], half[self.experts.pairs.second[self.above]]
        return first & second, ~first & ~second

    # -- ceilings -------------------------------------------------------------------------------

    def ceilings(self) -> list[Row]:
        """How well the experts' own judgments rank the pairs."""
        rng = np.random.default_rng((self.settings.seed, 2))
        again = _split_ceiling(self.judged, rng, self.settings.confidence)
        root = _root(again.estimate)
        mind = map_estimate(again, _root, np.square, slope=0.5 / root if root > 0 else np.nan)
        found = {"again": again, "mind": mind, "published": self._published_ceiling(rng)}
        empty = dict.fromkeys(
            ("within", "within_low", "within_high", "difference", "difference_low", "difference_high")
        )  # fmt: skip
        n = len(self.experts.pairs)
        return [
            ({"measure": CEILINGS[c], "kind": "ceiling", **one.row(), **empty, "n": n, "reason": one.reason}, one)
            for c, one in found.items()
        ]

    def _published_ceiling(self, rng: np.random.Generator) -> Estimate:
        """ρ of bootstrap samples of the judgments with all of them, as the paper has it: they share judgments."""
        whole = self.judged.shares()
        runs = [
            correlation(self.judged.some(rng.integers(0, len(self.judged), len(self.judged))).shares(), whole)
            for _ in range(2 * SPLITS)
        ]
        known = np.array(runs)[np.isfinite(runs)]
        if len(known) < len(runs) or np.ptp(known) == 0:
            return missing("too few judgments")
        s, n = self.settings, len(self.judged)
        how = IntervalSettings(method="percentile", confidence=s.confidence, seed=s.seed)
        return of_replicates(known.mean(), known[:, None], how, n_items=n, n_units=n, unit="judgments")[0]


Row = tuple[dict[str, Any], Estimate]
"""A row of the table, and the estimate in it."""

_TYPES = dict.fromkeys(("document", "measure", "kind", "reason"), pl.String)
_NUMBERS = (
    "estimate", "low", "high", "within", "within_low", "within_high", "difference", "difference_low", "difference_high",
)  # fmt: skip


def _rank(rho: float, name: str) -> tuple[float, str]:
    """The best first, those alike by name, those without a value last."""
    return -float(np.nan_to_num(rho, nan=-9.0)), name


def _sort_rows(rows: list[Row], ceilings: list[Row]) -> tuple[pl.DataFrame, tuple[Estimate, ...]]:
    """Measures by ρ, those without one last, then the ceilings."""
    rows = [*sorted(rows, key=lambda r: _rank(r[0]["estimate"], r[0]["measure"])), *ceilings]
    schema = {**_TYPES, **dict.fromkeys(_NUMBERS, pl.Float64), "n": pl.Int64}
    del schema["document"]
    columns = ["measure", "kind", "estimate", "low", "high", "n", *_NUMBERS[3:], "reason"]
    return pl.DataFrame([row for row, _ in rows], schema=schema).select(columns), tuple(one for _, one in rows)


def _root(value: float) -> float:
    return float(np.sqrt(max(value, 0.0))) if np.isfinite(value) else np.nan


def _split_ceiling(judged: Judged, rng: np.random.Generator, confidence: float) -> Estimate:
    """ρ of the same number of other judgments: halves, stepped up; its interval from the delete-a-group jackknife."""

    def stepped(some: Judged, splits: int) -> float:
        halves = half_agreement(some, rng, splits)
        halves = halves[np.isfinite(halves)]
        return float(stepped_up(halves.mean(), 2)) if len(halves) and halves.mean() > -0.9 else float("nan")

    value = stepped(judged, SPLITS)
    without = without_groups(judged, rng, lambda some: stepped(some, SPLITS // 5))
    if not np.isfinite(value) or not np.isfinite(without).all() or len(judged) < 2 * GROUPS:
        return replace(missing("too few judgments to be halved"), estimate=value)
    z, *each = np.arctanh(np.clip([value, *without], -0.999, 0.999))
    found = map_estimate(jackknife_groups(z, np.array(each), confidence), np.tanh, np.arctanh, slope=1 - value**2)
    return replace(found, estimate=value)


# -- Measures of how alike two texts are, brought to the pairs that experts compared ---------------

PAIR_NAMES = (("first_item", "second_item"), ("id_a", "id_b"), ("first", "second"), ("a", "b"))
"""Columns that name the two texts of a pair, the first of these that are there."""


@dataclass(frozen=True, eq=False)
class PairMeasure:
    """One measure: its name, the sweep it belongs to, its similarity of each pair.

    Attributes
    ----------
    name : str
    kind : str
        ``similarity`` (of the texts alone), ``judge`` (a model that was asked) or ``pairs`` (values that were given).
    values : (pairs,) float
        NaN for a pair that it has no value for.
    family : str or None
        The sweep, where it is one setting of several.
    about : str
        Which model read the texts, and what it did not tell of them.
    """

    name: str
    kind: str
    values: Floats
    family: str | None = None
    about: str = ""


def name_measures(given: Any) -> dict[str, Any]:
    """Measures by name: a name alone, several of them, or a mapping of names to what was given."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {str(name): one for name, one in given.items()}
    several = [given] if isinstance(given, str | Annotations | pl.DataFrame) or callable(given) else list(given)
    found: dict[str, Any] = {}
    for i, one in enumerate(several):
        name = one if isinstance(one, str) else getattr(one, "name", None) or getattr(one, "__name__", None)
        name = str(name) if name else f"measure {i + 1}"
        if name in found:
            raise DesignError(f"two measures are called '{name}'; give them as a mapping of names")
        found[name] = one
    return found


@dataclass(frozen=True, eq=False)
class PairsOfTexts:
    """The pairs that experts compared.

    Attributes
    ----------
    named : polars.DataFrame
        ``document``, ``first``, ``second``.
    first, second : (pairs,) int
        Rows of ``texts``.
    texts : polars.DataFrame
        ``document``, ``text`` (its name).
    contents : tuple of str or None
        The texts themselves, in the order of ``texts``.
    """

    named: pl.DataFrame
    first: Any
    second: Any
    texts: pl.DataFrame
    contents: tuple[str, ...] | None

    def of(self, name: str, given: Any, family: str | None = None) -> list[PairMeasure]:
        """The measures that something given stands for: a judge's answers may hold several judges."""
        if isinstance(given, Mapping) and given and not isinstance(next(iter(given)), tuple):
            if family is not None:
                raise DesignError(f"measure '{family}' holds a sweep in a sweep")
            return [m for setting, one in given.items() for m in self.of(f"{name} {setting}", one, name)]
        if isinstance(given, Annotations):
            return [PairMeasure(who, "judge", values, family) for who, values in judged_pairs(given, self).items()]
        if isinstance(given, Mapping | pl.DataFrame):
            return [PairMeasure(name, "pairs", self._read_values(name, given), family)]
        if not (isinstance(given, str | Similarity) or callable(given) or hasattr(given, "matrix")):
            raise DesignError(
                f"measure '{name}' is {type(given).__name__}; give a name, a function of two texts, a table of pairs "
                "(first, second, value), a judge's labels of pairs, or a mapping of settings to these"
            )
        return [self._score(name, as_similarity(given), family)]

    def _score(self, name: str, similarity: Similarity, family: str | None) -> PairMeasure:
        """A similarity of the texts, document by document, learned from all of them where it learns."""
        if self.contents is None:
            raise DesignError(
                f"measure '{name}' reads the texts; name the three columns that hold them with contents=['a', 'b', 'c']"
            )
        documents = self.texts["document"].fill_null("").to_numpy()
        rows = [np.flatnonzero(documents == d) for d in dict.fromkeys(documents[self.first].tolist())]
        fitted = similarity.fitted(list(self.contents))
        alike = fitted.matrices([[self.contents[i] for i in some] for some in rows])
        found = np.full(len(self.first), np.nan)
        place = np.full(len(documents), -1)
        for some, values in zip(rows, alike, strict=True):
            place[:] = -1
            place[some] = np.arange(len(some))
            mine = np.flatnonzero(place[self.first] >= 0)
            found[mine] = values[place[self.first[mine]], place[self.second[mine]]]
        return PairMeasure(name, "similarity", found, family, fitted.about)

    def _read_values(self, name: str, given: Any) -> Floats:
        """Values of pairs that somebody brings, whichever text is named first."""
        if isinstance(given, Mapping):
            rows = [(*pair, value) for pair, value in given.items()]
            given = pl.DataFrame(rows, schema=["first", "second", "value"], orient="row")
        value = [c for c in given.columns if c not in ("document", "first", "second") and given[c].dtype.is_numeric()]
        if not {"first", "second"} <= set(given.columns) or len(value) != 1:
            raise DataError(
                f"measure '{name}' needs columns 'first', 'second' and one of numbers; it has {listing(given.columns)}"
            )
        keys = ["document"] if "document" in given.columns else []
        table = given.select(*(pl.col(c).cast(pl.String) for c in (*keys, "first", "second")), value=pl.col(value[0]))
        return self.look_up(name, table, keys)

    def look_up(self, name: str, table: pl.DataFrame, keys: Sequence[str]) -> Floats:
        """The value of each pair in a table of pairs, which may name either text first."""
        swapped = table.rename({"first": "second", "second": "first"}).select(table.columns)
        both = pl.concat([table, swapped]).unique()
        columns = [*keys, "first", "second"]
        twice = both.filter(both.select(columns).is_duplicated())
        if twice.height:
            row = twice.row(0, named=True)
            raise DataError(f"measure '{name}' has two values for '{row['first']}' and '{row['second']}'")
        found = self.named.join(both, on=columns, how="left", nulls_equal=True, maintain_order="left")
        return found["value"].cast(pl.Float64).fill_null(float("nan")).to_numpy()


def judged_pairs(labels: Annotations, pairs: PairsOfTexts) -> dict[str, Floats]:
    """What each judge answered about pairs, on a scale of numbers, averaged over repeats and orders."""
    columns = next((p for p in PAIR_NAMES if all(has_column(labels, c) for c in p)), None)
    if columns is None:
        raise DataError(
            "labels of pairs need two columns that name their texts, such as first_item and second_item; the table has "
            f"{listing([*labels.labels.columns, *labels.items.columns[1:]])}"
        )
    for criterion in labels.criteria or (None,):
        if not labels.scale_of(criterion).numeric:
            raise DataError(
                "labels of pairs must be numbers, such as 0-1 or interval:0-1; "
                f"{labels.scale_of(criterion).describe()} has none"
            )
    varied = [c for c in labels.conditions if c != "order" and len(labels.values_of(c)) > 1]
    keys = ["document"] if has_column(labels, "document") and pairs.named["document"].null_count() == 0 else []
    who = [*(["criterion"] if len(labels.criteria) > 1 else []), *varied]
    table = labels.labels.with_columns(
        first=labels.column(columns[0]).cast(pl.String), second=labels.column(columns[1]).cast(pl.String),
        **{c: labels.column(c).cast(pl.String) for c in keys},
    )  # fmt: skip
    found = {}
    for part in table.partition_by("annotator", *who, maintain_order=True):
        name = variant(part["annotator"][0], {c: part[c][0] for c in who})
        values = part.group_by(*keys, "first", "second").agg(value=pl.col("label").cast(pl.Float64).mean())
        found[name] = pairs.look_up(name, _either_way(values, keys), keys)
    return found


def _either_way(values: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """One row a pair, where it was asked both ways round."""
    low, high = pl.min_horizontal("first", "second"), pl.max_horizontal("first", "second")
    return (
        values.group_by(*keys, first=low, second=high)
        .agg(pl.col("value").mean())
        .select(*keys, "first", "second", "value")
    )


def variant(name: str, of: Mapping[str, Any]) -> str:
    """A judge under a condition: ``gpt (prompt=strict)``."""
    return f"{name} ({', '.join(f'{c}={v}' for c, v in of.items())})" if of else name


def judge_of(measure: str) -> str:
    """The judge whose measure this is, whatever it was asked."""
    name, bracket, asked = measure.rpartition(" (")
    return name if bracket and "=" in asked and asked.endswith(")") else measure


def check_values(found: Sequence[PairMeasure], named: pl.DataFrame) -> None:
    """A measure without a value for any pair compares nothing."""
    for one in found:
        if not np.isfinite(one.values).any():
            row = named.row(0, named=True)
            raise DataError(
                f"measure '{one.name}' has no value for any of the {counted(named.height, 'pair')} that the experts "
                f"compared, such as '{row['first']}' and '{row['second']}'; are its texts named alike?"
            )


def signed_measures(named: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Measures as a signature says them: the name, and what tells it from another of that name."""
    return tuple(name if identity(one) == name else f"{name}@{identity(one)}" for name, one in named.items()) or None


def identity(given: Any) -> str:
    """What tells one measure from another of the same name."""
    if isinstance(given, Annotations):
        return given.fingerprint
    if isinstance(given, pl.DataFrame):
        return digest(given.rows())
    if isinstance(given, Mapping):
        return digest({str(k): identity(v) for k, v in given.items()})
    if isinstance(given, str):
        about = as_similarity(given).about
        return f"{given}, {about}" if about else given
    return digest(given)
