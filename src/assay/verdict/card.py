"""The card: seven criteria for every judge on one screen, each passed, failed, undecided or without sufficient data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, Repeats
from assay.data.chunked.chunks import Chunks
from assay.data.ratings import facet_ratings
from assay.data.scales import Interval
from assay.data.words import PROVENANCE
from assay.errors import AssayError, DataError, DesignError, counted, listing, no_judge, unknown, unknown_judge
from assay.estimation.intervals import Estimate, EstimateByRule, adjust_p, partial_conjunction
from assay.estimation.options import Settings, option, question
from assay.estimation.result import Result, Run, json_safe
from assay.estimation.statistic import Bools, Ints
from assay.psychometrics.covariances import LabelTables
from assay.replacement.alt_test import AltTest, alt_test
from assay.replacement.domains import correct_verdicts
from assay.replacement.panel import Expertise
from assay.reporting import pictures
from assay.reporting.page import SIGNS, Marks, Part
from assay.reporting.tables import marks_text
from assay.statistics.components.blocks import cross_codes
from assay.verdict import words
from assay.verdict.cells import (
    DIMENSIONS,
    Boundaries,
    CardRow,
    CellMeasure,
    Dimension,
    JudgeCells,
    Mark,
    cell_p_values,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TONE: Mapping[Mark, pictures.Tone] = {"✓": "good", "✗": "bad", "?": "open"}

Tested = Callable[[str, str | None], AltTest | str]
"""Returns the test of a judge on a criterion, or why there is none, if the tests are already available."""

SHOWN_ROWS = 40
"""Rows (judges by criteria) that a summary lists."""


@dataclass(frozen=True, kw_only=True)
class CardSettings(Settings):
    """Options of the card."""

    judges: Sequence[str] | str | None = option(None, "The judges on the card; default: all of the table.", key="")
    object: str | None = option(
        None, "Column with the object of measurement, such as the teacher; by default each item.",
        details="Confidence and validity require one: they concern scores of objects over several lessons.",
        first=True,
    )  # fmt: skip
    lesson: str | None = option(
        None,
        "Column with the occasion of an object, such as the lesson; by default each item.",
        details="Lesson ids can repeat between objects: lesson 1 of each teacher is a different lesson.",
        first=True,
    )
    family: str | None = option(
        None, "Annotator column with the family of each judge.",
        details="Each family of two judges or more has a row: one of its members, drawn for each item.",
        first=True,
    )  # fmt: skip
    group: str | None = option(
        None, "Column with groups of objects, for fairness; hospital,sex for each combination.", first=True
    )
    human_baseline: bool = option(False, "Add a row per annotator, who is compared with the other annotators.")
    expertise: Expertise | None = option(
        None, "Annotator type to replace; sets the margin ε, see `assay.alt_test`.", first=True
    )
    epsilon: float | None = option(
        None, "Non-inferiority margin ε on the advantage probability, instead of expertise.", low=0, high=1, first=True
    )
    alpha: float = option(0.05, "One-sided significance level of each mark.", above=0, below=0.5)
    adjust: bool = option(
        True, "Adjust the marks of a criterion for the number of judges and criteria (Holm).",
        details="Judges, families and annotators are separate families of tests. The unadjusted marks are `alone`.",
    )  # fmt: skip
    concordance: float = option(0.75, "Share of human–human agreement that ✓ requires.", low=0, high=1)
    confidence_share: float = option(
        0.5, "Share of the annotators' Eρ² and Φ that ✓ requires.", low=0, high=1, key="confidence"
    )
    validity: float = option(0.5, "Universe-score correlation that ✓ requires.", low=0, high=1)
    bias: float = option(1.5, "Largest severity with ✓, in SDs of the annotators' severities.", low=0)
    fairness: float = option(0.25, "Largest group difference with ✓, in SDs of labels.", low=0)
    repeats: Repeats = option("error", "How to combine repeated labels.", details="See `Annotations.resolve_repeats`.")

    renamed: ClassVar[Mapping[str, str]] = {"people": "human_baseline=..."}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lesson is not None and self.object is None:
            raise DesignError("lesson=... requires the column of their objects: set object=...")
        if self.epsilon is not None and self.expertise is not None:
            raise DesignError("epsilon=... and expertise=... both set the margin; give one")

    @property
    def boundaries(self) -> Boundaries:
        """The boundaries between ✓ and ✗."""
        return Boundaries(self.concordance, self.confidence_share, self.validity, self.bias, self.fairness)

    @property
    def has_margin(self) -> bool:
        """Whether the margin ε is set."""
        return self.expertise is not None or self.epsilon is not None

    @property
    def interval(self) -> str:
        """How intervals and marks are computed."""
        return words.card_method(self.confidence, self.alpha, adjusted=self.adjust)

    @property
    def confidence(self) -> float:
        """Level of the two-sided intervals, whose ends are the one-sided limits of the marks."""
        return 1 - 2 * self.alpha


@dataclass(frozen=True, eq=False)
class JudgeCard(Result):
    """Seven criteria for every judge, as marks, with the contrasts behind them.

    Attributes
    ----------
    rows : tuple of CardRow
    n_items, n_annotators : int
    objects : int
        Number of objects of measurement.
    """

    rows: tuple[CardRow, ...] = field(metadata={"json": False})
    n_items: int
    n_annotators: int
    objects: int
    run: Run

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per measure.

        ``judge, kind, criterion, dimension, mark, alone, measure, judge_value, human_value``, then the contrast
        (``estimate, low, high, p_above, p_below``: above 0 is within the boundary) and its ``reason``.
        """
        lines = [
            {
                "judge": row.name, "kind": row.kind, "criterion": row.criterion, "dimension": dimension,
                "mark": row.marks[dimension], "alone": row.alone[dimension], "measure": one.measure or None,
                "judge_value": json_safe(one.judge), "human_value": json_safe(one.human),
                **json_safe(one.found.row()),
                "p_above": json_safe(one.above), "p_below": json_safe(one.below), "reason": one.found.reason,
            }
            for row, dimension, one in self._parts()
        ]  # fmt: skip
        numbers = ("judge_value", "human_value", "estimate", "low", "high", "p_above", "p_below")
        text = ("criterion", "measure", "reason")
        kinds: dict[str, Any] = {**dict.fromkeys(numbers, pl.Float64), **dict.fromkeys(text, pl.String)}
        return pl.DataFrame(lines, schema_overrides=kinds, infer_schema_length=None)

    def _parts(self) -> Iterator[tuple[CardRow, Dimension, CellMeasure]]:
        return ((row, d, one) for row in self.rows for d in DIMENSIONS for one in row.parts[d])

    def row_estimates(self) -> Sequence[Estimate | None]:
        """The contrast of each row of the table."""
        return [None if one.found.reason is not None else one.found for _, _, one in self._parts()]

    @cached_property
    def cells(self) -> pl.DataFrame:
        """The marks: one row per judge and criterion, one column per criterion of the card."""
        lines = [{"judge": r.name, "criterion": r.criterion, **{d: r.marks[d] for d in DIMENSIONS}} for r in self.rows]
        frame = pl.DataFrame(lines, schema_overrides={"criterion": pl.String})
        return frame if any(r.criterion for r in self.rows) else frame.drop("criterion")

    def summary(self) -> str:
        """The marks with a legend, a sentence per judge, the data that dashes require, and the next steps."""
        lines = [
            f"{counted(self.n_items, 'item')}, {counted(self.n_annotators, 'annotator')}, {self._judges}.",
            "",
        ]
        rows = [(row.label, [row.marks[d] for d in DIMENSIONS]) for row in self.rows[:SHOWN_ROWS]]
        lines += marks_text([words.CRITERIA[d] for d in DIMENSIONS], rows)
        if len(self.rows) > SHOWN_ROWS:
            lines.append(f"The table has {counted(len(self.rows) - SHOWN_ROWS, 'more row')}.")
        lines += ["", f"{words.legend(words.MEANING)}.", *self.sentences()]
        return "\n".join([*lines, f"Notes: {self.run.interval}.", *self.run.closing()])

    @property
    def _judges(self) -> str:
        names = {row.name for row in self.rows if row.kind != "annotator"}
        return counted(len(names), "judge") if len(names) != 1 else next(iter(names))

    def sentences(self) -> list[str]:
        """The criteria that each judge passes and fails, the data that the dashes require, and the next steps."""
        alpha = float(self.settings.alpha)  # type: ignore[attr-defined]
        rows = [row for row in self.rows[:SHOWN_ROWS] if row.kind != "annotator"]
        lines = [words.card_sentence(row, alpha) for row in rows]
        lines += self.unfair_lines()
        return [*lines, *(f"– {line}" for line in self.needs()), *self.next_steps()]

    def unfair_lines(self) -> list[str]:
        """Of each judge that does not pass fairness, its largest significant difference between groups."""
        group = getattr(self.settings, "group", None) or ""
        found = ((row, words.unfair(row, group)) for row in self.rows if row.kind != "annotator")
        return [f"{row.label}: {line}." for row, line in found if line]

    def needs(self) -> list[str]:
        """The data that the criteria marked – require."""
        return words.card_needs(self.rows)

    def next_steps(self) -> list[str]:
        """What to do with judges that pass or fail the replacement."""
        return words.card_steps(self.rows)

    def marks(self) -> Marks:
        """The card as a page shows it; the verdict Mixed has a separate mark."""
        rows: list[tuple[str, tuple[str, ...]]] = []
        meaning: dict[str, str] = dict(words.MEANING.items())
        at: Boundaries = self.settings.boundaries  # type: ignore[attr-defined]
        order = list(dict.fromkeys(row.name for row in self.rows))
        for row in sorted(self.rows, key=lambda one: order.index(one.name))[:SHOWN_ROWS]:
            marks: dict[Dimension, str] = dict(row.marks)
            if row.test is not None and row.test.verdict == "mixed":
                marks["replacement"] = SIGNS["split"]
                meaning[SIGNS["split"]] = words.MIXED
            rows.append((row.label, tuple(marks[d] for d in DIMENSIONS)))
        seen = {mark for _, marks in rows for mark in marks}
        return Marks(
            tuple(words.CRITERIA.values()), tuple(rows),
            {mark: about for mark, about in meaning.items() if mark in seen}, tuple(self.needs()),
            {words.CRITERIA[d]: about for d, about in words.definitions(at).items()}, tuple(self.unfair_lines()),
        )  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the card: a mark per cell, in the colour of its verdict."""
        rows = self.rows[:SHOWN_ROWS]
        ax = pictures.axes(ax, width=8.4, height=1.1 + 0.34 * len(rows))
        for i, row in enumerate(rows):
            y = len(rows) - 1 - i
            for x, dimension in enumerate(DIMENSIONS):
                mark = row.marks[dimension]
                colour = pictures.TONES[TONE[mark]] if mark in TONE else pictures.MUTED
                if mark in ("✓", "✗"):
                    ax.scatter([x], [y], s=240, color=colour, alpha=0.16, linewidth=0, zorder=1)
                ax.text(x, y, mark, ha="center", va="center", fontsize=12, color=colour, zorder=2)
        ax.set_xticks(range(len(DIMENSIONS)), [words.CRITERIA[d] for d in DIMENSIONS])
        ax.set_yticks(range(len(rows)), [row.label for row in rows][::-1])
        ax.set_xlim(-0.6, len(DIMENSIONS) - 0.4)
        ax.set_ylim(-0.6, len(rows) - 0.4)
        ax.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
        return ax


def card_parts(found: JudgeCard) -> tuple[Part, ...]:
    """The card as a page: marks and sentences, then every contrast."""
    # The marks come with the data that the dashes require.
    lines = tuple(line for line in found.sentences() if not line.startswith("–"))
    return (
        Part("Seven criteria", lines, lines=found.notes, marks=found.marks()),
        contrasts_part(found),
    )


def contrasts_part(found: JudgeCard) -> Part:
    """The contrast behind every mark."""
    decided = pl.col("estimate").is_not_null() & (pl.col("dimension") != "replacement")
    contrasts = found.table.filter(decided).drop("alone", "kind", "reason")
    contrasts = contrasts.drop([c for c in ("criterion",) if contrasts[c].null_count() == contrasts.height])
    return Part("Card details", (words.CONTRASTS,), (("", contrasts),) if contrasts.height else ())


@question(CardSettings)
def card(labels: Annotations | Chunks, settings: CardSettings) -> JudgeCard:
    """Rate every judge on seven criteria: ✓ pass, ✗ fail, ? undecided, – insufficient data.

    Replacement: the verdict of `assay.alt_test`. Concordance: human–judge agreement compared with human–human agreement
    (r, and 1 − D_o/D_e). Confidence: reliability of the labels of a judge family (Eρ², Φ). Validity: universe-score
    correlation with the annotators. Bias: severity compared with the spread of the annotators' severities. Fairness:
    differences from the annotators by group. Helpfulness: whether the mean of one annotator and the judge predicts the
    panel better than the annotator alone.

    Each mark comes from a contrast whose true value is 0 on one boundary, with objects and annotators as samples, never
    from a point estimate or a ratio; marks of a criterion are adjusted over judges and criteria. Confidence, validity
    and helpfulness are – unless human labels of different lessons of an object covary significantly above 0.

    Parameters
    ----------
    labels : Annotations or Chunks
        With human annotators and judges; numbers, ordered words or categories. Free texts have only the replacement.

    Returns
    -------
    JudgeCard
        ``cells`` (the marks), ``table`` (the contrasts), ``summary()``, ``plot()``.

    Raises
    ------
    DesignError
        If there are no judges or no human annotators, or for chunks.
    DataError
        If a column does not exist.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=60, judges={"gpt": 0.2}, seed=1)
    >>> found = assay.card(labels, epsilon=0.2)
    >>> found.table.select("judge", "dimension", "mark").row(0)
    ('gpt', 'replacement', '✓')
    """
    return judge_card(labels, settings)


def judge_card(labels: Annotations | Chunks, settings: CardSettings, tested: Tested | None = None) -> JudgeCard:
    """Return the card; ``tested`` gives the tests if they are already available."""
    # Among other criteria, votes and choices of triplets have no card.
    labels = labels.in_memory("the card").of_kind("ordinal", "interval", "nominal", "text")
    chosen = [settings.judges] if isinstance(settings.judges, str) else list(settings.judges or labels.judges)
    if not chosen:
        raise DesignError(no_judge(labels.reading.study, "to rate"))
    if not labels.humans:
        raise DesignError("the card compares judges with human annotators, and the table has none")
    for name in chosen:
        if name not in labels.judges:
            raise DesignError(unknown_judge(name, labels.judges, labels.humans))
    rows: list[CardRow] = []
    objects, data = 0, labels.fingerprint
    for criterion in labels.criteria or (None,):
        one = labels if criterion is None else labels.where(criterion=criterion)
        found = _Criterion(one, criterion, chosen, settings, tested)
        rows += found.rows()
        objects, data = max(objects, found.n_objects), found.data or data
    run = Run(
        "card", settings, data,
        {"items": labels.n_items, "humans": len(labels.humans), "judges": tuple(chosen)}, settings.interval,
        notes=_notes(labels, settings, chosen),
    )  # fmt: skip
    together = rows if tested or not settings.adjust else _judged_together(rows, settings)
    return JudgeCard(tuple(_mark_rows(together, rows, settings)), labels.n_items, len(labels.humans), objects, run)


def _notes(labels: Annotations, settings: CardSettings, judges: Sequence[str]) -> tuple[str, ...]:
    found = []
    by_origin: dict[str, list[str]] = {}
    for judge in judges:
        by_origin.setdefault(labels.reading.provenance(judge), []).append(judge)
    for origin, names in by_origin.items():
        found.append(PROVENANCE[origin] + (f" ({listing(names, 6)})" if len(by_origin) > 1 else ""))
    if labels.has_repeats:
        found.append(f"repeated labels: {settings.repeats}")
    if not settings.has_margin:
        found.append(NO_MARGIN)
    return tuple(found)


NO_MARGIN = "replacement requires a margin: set expertise=... (--expertise) or epsilon=... (--epsilon)"


class _Criterion:
    """The labels of one criterion, and every row of the card that they give."""

    def __init__(
        self, labels: Annotations, criterion: str | None, judges: Sequence[str], settings: CardSettings,
        tested: Tested | None,
    ) -> None:  # fmt: skip
        self.criterion, self.settings, self.tested = criterion, settings, tested
        self.labels = labels.resolve_repeats(settings.repeats)
        self.judges = [name for name in judges if name in self.labels.judges]
        self.data: str | None = None
        self.n_objects = 0
        self.scale = self.labels.scale_of(criterion)
        self.codes: _Codes | None = None if self.scale.kind in ("text", "odd-one-out") else self._codes()

    def _codes(self) -> _Codes:
        labels, s = self.labels, self.settings
        if not self.scale.numeric:
            labels = _number_labels(labels, self.criterion)
        facets = {"i": s.object or "item", "o": s.lesson or "item", "s": "item", "r": "annotator"}
        found = facet_ratings(labels, facets)
        self.data = found.fingerprint
        self.n_objects = len(found.names["i"])
        value = found.value[:, None]
        if not self.scale.ordered:
            value = (found.value[:, None] == np.unique(found.value)).astype(float)
        # A lesson belongs to its object: lesson 1 of each teacher is a different lesson.
        codes = {**found.codes, "o": cross_codes(found.codes["i"], found.codes["o"])[0]}
        for column, facet in ((s.object, "i"), (s.lesson, "o")):
            if cross_codes(codes["s"], codes[facet])[1] > len(found.names["s"]):
                raise DesignError(
                    f"an item has several values of '{column}': objects and lessons are columns of the items. If items "
                    f"of different '{column}' share a name, give both columns as the item when reading"
                )
        group = None if s.group is None else _group_codes(labels, s.group, found.names["s"])
        return _Codes(value, codes, found.names["r"], group, self.scale.ordered, s.object is not None)

    def rows(self) -> Iterator[CardRow]:
        """Yield the rows of judges, then of families, then of annotators tested in the same way."""
        humans, repeated = self.labels.humans, set()
        for name in self.judges:
            row = self._row(name, "judge", (name,), humans, self._test(name))
            repeated.add(row.repeats)
            yield row
        for name, members in self._families().items():
            yield self._row(name, "family", members, tuple(h for h in humans if h not in repeated), None)
        if self.settings.human_baseline and len(humans) > 2:
            for name in humans:
                others = tuple(h for h in humans if h != name)
                yield self._row(name, "annotator", (name,), others, self._test(name, others))

    def _families(self) -> dict[str, tuple[str, ...]]:
        column = self.settings.family
        if column is None:
            return {}
        about = self.labels.annotators
        if column not in about.columns:
            raise DataError(unknown("annotator column", column, about.columns, "the table of annotators"))
        mine = about.filter(pl.col("annotator").is_in(self.judges) & pl.col(column).is_not_null())
        grouped = mine.group_by(pl.col(column).cast(pl.String), maintain_order=True)
        found = {str(value[0]): tuple(members["annotator"].to_list()) for value, members in grouped}
        return {name: members for name, members in found.items() if len(members) > 1}

    @lru_cache  # noqa: B019 - a criterion lives as long as one card
    def _test(self, name: str, humans: tuple[str, ...] | None = None) -> AltTest | str:
        """The alternative annotator test, or why there is none. Without a margin it only screens for label leakage."""
        s, table = self.settings, self.labels
        if humans is None and self.tested is not None:
            return self.tested(name, self.criterion)
        if humans is not None:
            kinds = pl.when(pl.col("annotator") == name).then(pl.lit("judge")).otherwise("kind")
            about = table.annotators.with_columns(kind=kinds)
            table = table.where(annotator=[*humans, name])
            here = table.annotators["annotator"].to_list()
            table = replace(table, annotators=about.filter(pl.col("annotator").is_in(here)))
        epsilon = s.epsilon if s.has_margin else 0.0
        try:
            return alt_test(table, name, expertise=s.expertise, epsilon=epsilon, alpha=s.alpha)
        except AssayError as reason:
            return f"no test: {reason}"

    def _row(
        self, name: str, kind: str, judge: Sequence[str], humans: Sequence[str], test: AltTest | str | None
    ) -> CardRow:  # fmt: skip
        tested = test if isinstance(test, AltTest) else None
        repeated = None if tested is None else tested.verdict_tests.matched_annotator
        parts: dict[Dimension, tuple[CellMeasure, ...]] = {"replacement": (_replacement(test, self.settings),)}
        if self.codes is None:
            why = "free texts cannot be compared as numbers"
            parts |= {d: (CellMeasure.absent(why),) for d in DIMENSIONS if d != "replacement"}
        else:
            others = [human for human in humans if human != repeated]
            parts |= self.codes.cells_of(judge, others, self.settings).cells()
            each = [test] if kind != "family" else [self._test(member) for member in judge]
            p = np.array([one.verdict_tests.p_item_level for one in each if isinstance(one, AltTest)])
            if len(p):
                # Of a family, at least half of the members must agree with annotators at the level of items.
                p_item_level = float(partial_conjunction(p, -(-len(p) // 2)))
                parts |= {d: _of_items(parts[d], p_item_level) for d in ABOUT_SCORES}
        return CardRow(name, kind, self.criterion, parts, tested)


ABOUT_SCORES: tuple[Dimension, ...] = ("concordance", "confidence", "validity", "helpfulness")
"""Dimensions in which a judge that knows only the object, or another column, can do well."""


def _of_items(parts: tuple[CellMeasure, ...], p_item_level: float) -> tuple[CellMeasure, ...]:
    """Return the measures of a cell, whose ✓ also requires item-level agreement within strata."""
    return tuple(replace(one, needs=(*one.needs, p_item_level)) for one in parts)


@dataclass(frozen=True, eq=False)
class _Codes:
    """Labels of one criterion with their object, lesson, item and rater."""

    value: Any
    codes: Mapping[str, Ints]
    raters: tuple[str, ...]
    group: tuple[Ints, tuple[str, ...]] | None
    numeric: bool
    lessons: bool

    def cells_of(self, judge: Sequence[str], humans: Sequence[str], settings: CardSettings) -> JudgeCells:
        """The cells of a judge (or family) compared with these annotators; other raters are excluded."""
        names = [*humans, *judge]
        position = {name: i for i, name in enumerate(names)}
        place = np.array([position.get(name, -1) for name in self.raters])
        rater = place[self.codes["r"]]
        keep = rater >= 0
        n_items = int(self.codes["s"].max(initial=-1)) + 1
        lesson_of, object_of = np.zeros((2, n_items), dtype=np.int64)
        lesson_of[self.codes["s"]], object_of[self.codes["s"]] = self.codes["o"], self.codes["i"]
        mine: Bools = np.arange(len(names)) < len(humans)
        group_of: Ints | None = None
        if self.group is not None:
            group_of = self.group[0]
        tables = LabelTables.of(
            self.value[keep], self.codes["s"][keep], rater[keep], lesson_of, object_of, mine, lessons=self.lessons
        )
        return JudgeCells(
            tables, ~mine, group_of, () if self.group is None else self.group[1], self.numeric, settings.boundaries,
            settings.alpha,
        )  # fmt: skip


def _replacement(test: AltTest | str | None, settings: CardSettings) -> CellMeasure:
    """The verdict, with 0 or 1 instead of p-values: the tests of the verdict decide."""
    if test is None:
        return CellMeasure.absent("a family is not an annotator; see its judges")
    if isinstance(test, str):
        return CellMeasure.absent(test)
    if not settings.has_margin:
        return CellMeasure.absent(NO_MARGIN.removeprefix("replacement "))
    if test.verdict == "not_testable":
        return CellMeasure.absent("agreement among annotators is too low to test a judge")
    yes, no = test.verdict == "replace", test.verdict == "do_not_replace"
    rho = test.advantage_probability
    ends = rho.interval(settings.confidence)
    found = EstimateByRule(
        rho.estimate, *ends, rho.standard_error, rho.reason, ends=rho.interval, test=rho.p
    )  # fmt: skip
    return CellMeasure("ρ", found, 0.0 if yes else 1.0, 0.0 if no else 1.0, rho.estimate)


def fairness_mark(labels: Annotations, judge: str, *, group: str, object: str | None, alpha: float) -> Mark:  # noqa: A002
    """The fairness mark of one judge on a table with one criterion, without the other cells: fast, for simulations."""
    settings = CardSettings(judges=(judge,), group=group, object=object, alpha=alpha)
    codes = _Criterion(labels, None, (judge,), settings, None).codes
    assert codes is not None
    parts = codes.cells_of((judge,), labels.humans, settings).fairness()
    return _mark(*cell_p_values(parts), alpha)


def _number_labels(labels: Annotations, criterion: str | None) -> Annotations:
    """Categories coded as numbers, by the order of the scale if it has one."""
    label, scale = labels.labels["label"], labels.scale_of(criterion)
    if scale.ordered:
        place = pl.Series(scale.values(label), dtype=pl.Float64)
    else:
        place = label.cast(pl.String).rank("dense").cast(pl.Float64)
    return replace(
        labels, labels=labels.labels.with_columns(label=place), scales={criterion: Interval(), None: Interval()}
    )


def _group_codes(labels: Annotations, column: str, items: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    """The group of each item, −1 if it has none."""
    values = labels.crossed(column).cast(pl.String)
    known = pl.DataFrame({"item": labels.labels["item"], "group": values}).drop_nulls().unique()
    of_item = dict(known.rows())
    if len(of_item) < known.height:
        raise DesignError(f"an item has several values of '{column}': groups are groups of objects, not of raters")
    names = tuple(sorted(set(of_item.values())))
    place = {name: i for i, name in enumerate(names)}
    return np.array([place.get(of_item.get(item, ""), -1) for item in items]), names


def _judged_together(rows: Sequence[CardRow], settings: CardSettings) -> list[CardRow]:
    """The rows with the verdicts of all judges and criteria adjusted for their number, as in a report."""
    found = list(rows)
    for kind in ("judge", "annotator"):
        mine = [(i, row, row.test) for i, row in enumerate(rows) if row.kind == kind and isinstance(row.test, AltTest)]
        for (i, row, _), test in zip(mine, correct_verdicts([test for _, _, test in mine]), strict=True):
            parts = {**row.parts, "replacement": (_replacement(test, settings),)}
            found[i] = replace(row, test=test, parts=parts)
    return found


def _mark_rows(rows: Sequence[CardRow], separate: Sequence[CardRow], settings: CardSettings) -> Iterator[CardRow]:
    """Each row with its marks: adjusted over the judges and criteria of a dimension, and not adjusted."""
    kinds = [row.kind for row in rows]
    marks: list[dict[Dimension, Mark]] = [{} for _ in rows]
    alone: list[dict[Dimension, Mark]] = [{} for _ in rows]
    for dimension in DIMENSIONS:
        p = np.array([cell_p_values(row.parts[dimension]) for row in separate]).reshape(-1, 2)
        adjusted = np.array([cell_p_values(row.parts[dimension]) for row in rows]).reshape(-1, 2)
        if settings.adjust and dimension != "replacement":  # the verdicts are already adjusted
            for side in range(2):
                adjusted[:, side] = adjust_p(p[:, side], "holm", kinds)
        for i in range(len(rows)):
            marks[i][dimension] = _mark(adjusted[i, 0], adjusted[i, 1], settings.alpha)
            alone[i][dimension] = _mark(p[i, 0], p[i, 1], settings.alpha)
    unequal = _group_differences(rows, settings.alpha)
    return (replace(row, marks=marks[i], alone=alone[i], unequal=unequal[i]) for i, row in enumerate(rows))


def _group_differences(rows: Sequence[CardRow], alpha: float) -> list[tuple[tuple[CellMeasure, float], ...]]:
    """Of each row, the group differences that are significantly different from 0 (two-sided, Holm over all of them)."""
    each = [(i, one) for i, row in enumerate(rows) for one in row.parts["fairness"] if math.isfinite(one.p_difference)]
    p = np.array([one.p_difference for _, one in each])
    adjusted = adjust_p(p, "holm", [rows[i].kind for i, _ in each]) if each else p
    found: list[tuple[tuple[CellMeasure, float], ...]] = [()] * len(rows)
    for (i, one), value in zip(each, adjusted, strict=True):
        if value <= alpha:
            found[i] = (*found[i], (one, float(value)))
    return found


def _mark(above: float, below: float, alpha: float) -> Mark:
    if math.isnan(above):
        return "–"
    return "✓" if above <= alpha else "✗" if below <= alpha else "?"
