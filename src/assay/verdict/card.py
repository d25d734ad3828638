"""Seven questions about every judge on one screen: shown good, shown bad, open, or more than this table can say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, Repeats
from assay.data.chunks import Chunks
from assay.data.ratings import facet_ratings
from assay.data.scales import Interval
from assay.errors import AssayError, DataError, DesignError, counted, listing, unknown
from assay.estimation.intervals import Estimate, EstimateByRule, adjust_p
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
from assay.statistics.blocks import cross_codes
from assay.verdict.cells import TOWARD, Boundaries, CellMeasure, Dimension, JudgeCells, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Mark = Literal["✓", "✗", "?", "–"]

DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)

BRIEF: Mapping[Dimension, str] = {
    "replacement": "replace", "concordance": "concord.", "confidence": "confid.", "validity": "valid", "bias": "bias",
    "fairness": "fair", "helpfulness": "helps",
}  # fmt: skip

ASKS: Mapping[Dimension, str] = {
    "replacement": "may it stand in for a person?",
    "concordance": "does it agree with people as they agree with each other?",
    "confidence": "do scores of its family carry over as people's do?",
    "validity": "does it measure what people measure?",
    "bias": "is it as severe as a person may be?",
    "fairness": "does it treat groups as people do?",
    "helpfulness": "does it beside one person come nearer to what all people would say?",
}

MEANING: Mapping[Mark, str] = {
    "✓": "shown as good as people or better", "✗": "shown worse", "?": "open", "–": "this table cannot say",
}  # fmt: skip

TONE: Mapping[Mark, pictures.Tone] = {"✓": "good", "✗": "bad", "?": "open"}

Tested = Callable[[str, str | None], AltTest | str]
"""The test of a judge on a criterion, or why there is none, where it was made before."""

SHOWN_ROWS = 40
"""Judges and criteria that a summary says one by one."""


@dataclass(frozen=True, kw_only=True)
class CardSettings(Settings):
    """Options of the card of judges."""

    judges: Sequence[str] | str | None = option(
        None, "The judges on the card; all of the table when not given.", key=""
    )
    object: str | None = option(
        None, "Object of measurement, such as the teacher; default: the item.",
        details="Confidence and validity ask whether scores of objects carry over their lessons, so they need one.",
        first=True,
    )  # fmt: skip
    lesson: str | None = option(
        None,
        "Occasion, such as the lesson; default: the item.",
        details="Names may repeat between objects: lesson 1 of each teacher is another lesson.",
        first=True,
    )
    family: str | None = option(
        None, "Annotator column with the family of each judge.",
        details="Each family of two judges or more has a row: one of its members, drawn for each item.",
        first=True,
    )  # fmt: skip
    group: str | None = option(None, "Group column of the objects, for fairness.", first=True)
    people: bool = option(False, "Rows for everybody in the judge's place, beside the other people.")
    expertise: Expertise | None = option(
        None, "Annotator type to replace; sets the margin ε: expert 0.2, skilled 0.15, crowd 0.1.", first=True
    )
    epsilon: float | None = option(None, "Non-inferiority margin ε, instead of expertise.", low=0, high=1, first=True)
    alpha: float = option(0.05, "One-sided significance level of each mark.", above=0, below=0.5)
    adjust: bool = option(
        True, "Multiplicity adjustment of the marks for judges and criteria (Holm).",
        details="Judges, families and people each among themselves. Marks without correction stand beside, as `alone`.",
    )  # fmt: skip
    concordance: float = option(0.75, "Share of people's concordance that ✓ needs.", low=0, high=1)
    confidence_share: float = option(0.5, "Share of people's Eρ² and Φ that ✓ needs.", low=0, high=1, key="confidence")
    validity: float = option(0.5, "Correlation of universe scores that ✓ needs.", low=0, high=1)
    bias: float = option(1.5, "Spreads of people's severity within which ✓ is.", low=0)
    fairness: float = option(0.25, "Standard deviations by which groups may differ.", low=0)
    repeats: Repeats = option("error", "How to combine repeated labels.", details="See `Annotations.resolve_repeats`.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lesson is not None and self.object is None:
            raise DesignError("lessons are occasions of an object, which has to be named: object=... is its column")
        if self.epsilon is not None and self.expertise is not None:
            raise DesignError("epsilon=... and expertise=... both set epsilon; give one")

    @property
    def boundaries(self) -> Boundaries:
        """Where ✓ ends and ✗ begins."""
        return Boundaries(self.concordance, self.confidence_share, self.validity, self.bias, self.fairness)

    @property
    def told(self) -> bool:
        """Whether somebody said what the judge's low cost is worth."""
        return self.expertise is not None or self.epsilon is not None

    @property
    def interval(self) -> str:
        """How intervals and marks are made."""
        ends = f"{100 * self.confidence:g}% intervals, {100 * self.alpha:g}% at each end, objects and people as samples"
        return f"{ends}; marks {'corrected over judges and criteria (Holm)' if self.adjust else 'not corrected'}"

    @property
    def confidence(self) -> float:
        """Level of the two-sided intervals, whose ends are those of the marks."""
        return 1 - 2 * self.alpha


@dataclass(frozen=True, eq=False)
class CardRow:
    """One judge, family or person on one criterion.

    Attributes
    ----------
    kind : {"judge", "family", "person"}
    parts : mapping of dimension to its measures
    test : AltTest or None
        The alternative annotator test behind the first cell.
    marks, alone : mapping of dimension to mark
        Corrected over judges and criteria, and not.
    """

    name: str
    kind: str
    criterion: str | None
    parts: Mapping[Dimension, tuple[CellMeasure, ...]]
    test: AltTest | None = None
    marks: Mapping[Dimension, Mark] = field(default_factory=dict)
    alone: Mapping[Dimension, Mark] = field(default_factory=dict)

    @property
    def repeats(self) -> str | None:
        """The person whose labels the judge repeats."""
        return None if self.test is None else self.test.grounds.repeats

    @property
    def where(self) -> str:
        """The judge, with its criterion where there are several."""
        return self.name if self.criterion is None else f"{self.name}, {self.criterion}"


@dataclass(frozen=True, eq=False)
class JudgeCard(Result):
    """Seven questions about every judge, as marks, with the contrasts behind them.

    Attributes
    ----------
    rows : tuple of CardRow
    n_items, n_people : int
    objects : int
        Objects whose scores are compared.
    """

    rows: tuple[CardRow, ...] = field(metadata={"json": False})
    n_items: int
    n_people: int
    objects: int
    run: Run

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row a measure.

        ``judge, kind, criterion, dimension, mark, alone, measure, judge_value, people_value``, then the contrast
        (``estimate, low, high, p_above, p_below``: above 0 is within the boundary) and its ``reason``.
        """
        lines = [
            {
                "judge": row.name, "kind": row.kind, "criterion": row.criterion, "dimension": dimension,
                "mark": row.marks[dimension], "alone": row.alone[dimension], "measure": one.measure or None,
                "judge_value": json_safe(one.judge), "people_value": json_safe(one.people),
                **json_safe(one.found.row()),
                "p_above": json_safe(one.above), "p_below": json_safe(one.below), "reason": one.found.reason,
            }
            for row, dimension, one in self._parts()
        ]  # fmt: skip
        numbers = ("judge_value", "people_value", "estimate", "low", "high", "p_above", "p_below")
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
        """The marks as they stand on the card: one row a judge and criterion, one column a question."""
        lines = [
            {"judge": r.name, "criterion": r.criterion, **{BRIEF[d]: r.marks[d] for d in DIMENSIONS}} for r in self.rows
        ]
        frame = pl.DataFrame(lines, schema_overrides={"criterion": pl.String})
        return frame if any(r.criterion for r in self.rows) else frame.drop("criterion")

    def summary(self) -> str:
        """Every judge's marks, what they mean, what each judge is shown, what dashes would need."""
        lines = [
            f"{counted(self.n_items, 'item')}, {counted(self.n_people, 'person')}, {self._judges} on the card.",
            "",
        ]
        shown_rows = [(row.where, [row.marks[d] for d in DIMENSIONS]) for row in self.rows[:SHOWN_ROWS]]
        lines += marks_text([BRIEF[d] for d in DIMENSIONS], shown_rows)
        if len(self.rows) > SHOWN_ROWS:
            lines.append(f"The table has {counted(len(self.rows) - SHOWN_ROWS, 'row')} more.")
        lines += ["", "; ".join(f"{mark} {words}" for mark, words in MEANING.items()) + ".", *self.sentences()]
        return "\n".join([*lines, self.run.interval + ".", *self.run.closing()])

    @property
    def _judges(self) -> str:
        names = {row.name for row in self.rows if row.kind != "person"}
        return f"{len(names)} judges" if len(names) != 1 else next(iter(names))

    def sentences(self) -> list[str]:
        """What each judge is shown to be, and what dashes need, once each."""
        lines = []
        for row in self.rows[:SHOWN_ROWS]:
            if row.kind == "person":
                continue
            found = [f"{sign} {listing([d for d in DIMENSIONS if row.marks[d] == mark])}"
                     for mark, sign in (("✓", "good in"), ("✗", "bad in")) if mark in row.marks.values()]  # fmt: skip
            beside = ""
            if row.repeats is not None:
                beside = f"; it repeats the labels of '{row.repeats}', who is left out beside it"
            if row.marks["replacement"] == "✓" and row.marks["validity"] == "✗":
                beside += "; it is as close to people as they are to each other, and yet does not measure what they do"
            beside += self._toward(row)
            lines.append(f"{row.where}: {'shown ' + ', '.join(found) if found else 'nothing is shown yet'}{beside}.")
        return [*lines, *(f"– {line}" for line in self.needs()), *self.next_steps()]

    def needs(self) -> list[str]:
        """What this table lacks for the questions that it cannot answer."""
        found: dict[str, list[Dimension]] = {}
        for _, dimension, one in self._parts():
            if one.found.reason is not None and math.isnan(one.above) and one.measure != TOWARD:
                found.setdefault(one.found.reason, []).append(dimension)
        return [f"{listing(list(dict.fromkeys(d)))}: {why}." for why, d in found.items()]

    def marks(self) -> Marks:
        """The card as a page shows it; as good as some people and worse than others has a mark of its own."""
        rows: list[tuple[str, tuple[str, ...]]] = []
        meaning: dict[str, str] = dict(MEANING.items())
        order = list(dict.fromkeys(row.name for row in self.rows))
        for row in sorted(self.rows, key=lambda one: order.index(one.name))[:SHOWN_ROWS]:
            marks: dict[Dimension, str] = dict(row.marks)
            if row.test is not None and row.test.verdict == "mixed":
                marks["replacement"] = SIGNS["split"]
                meaning[SIGNS["split"]] = "as good as some people, worse than others"
            rows.append((row.where, tuple(marks[d] for d in DIMENSIONS)))
        seen = {mark for _, marks in rows for mark in marks}
        return Marks(
            tuple(BRIEF[d].replace(".", "") for d in DIMENSIONS), tuple(rows),
            {mark: words for mark, words in meaning.items() if mark in seen}, tuple(self.needs()),
            {BRIEF[d].replace(".", ""): f"{d}: {words}" for d, words in ASKS.items()},
        )  # fmt: skip

    def _toward(self, row: CardRow) -> str:
        """Of a single judge, whose confidence is a dash: how near its labels are to people's scores, where shown."""
        one = next((part for part in row.parts["confidence"] if part.measure == TOWARD), None)
        alpha = float(self.settings.alpha)  # type: ignore[attr-defined]
        if one is None or not (one.above <= alpha or one.below <= alpha) or math.isnan(one.people):
            return ""
        shown = "near enough to" if one.above <= alpha else "too far from"
        return (f"; its single labels are {shown} people's scores: correlation {one.judge:.2f}, a person's "
                f"{one.people:.2f} (not corrected)")  # fmt: skip

    def next_steps(self) -> list[str]:
        """What to do with judges that are shown fit to replace, and with those that are shown not to be."""
        found = []
        for mark, words in (
            ("✓", "may label the rest. A share of such labels is off by the judge's own errors: report what people "
             "would say, with assay.estimate (assay estimate)"),
            ("✗", "should not: assay.disagreement (assay disagreement) tells where it is farthest from people"),
        ):  # fmt: skip
            names = [row.name for row in self.rows if row.kind == "judge" and row.marks["replacement"] == mark]
            if names:
                found.append(f"Next: {listing(list(dict.fromkeys(names)))} {words}.")
        return found

    def plot(self, ax: Axes | None = None) -> Axes:
        """The card: a mark a cell, in the colour of a verdict; pale where correction alone leaves it open."""
        rows = self.rows[:SHOWN_ROWS]
        ax = pictures.axes(ax, width=7.6, height=1.1 + 0.34 * len(rows))
        for i, row in enumerate(rows):
            y = len(rows) - 1 - i
            for x, dimension in enumerate(DIMENSIONS):
                mark = row.marks[dimension]
                colour = pictures.TONES[TONE[mark]] if mark in TONE else pictures.MUTED
                if mark in ("✓", "✗"):
                    ax.scatter([x], [y], s=240, color=colour, alpha=0.16, linewidth=0, zorder=1)
                ax.text(x, y, mark, ha="center", va="center", fontsize=12, color=colour, zorder=2)
        ax.set_xticks(range(len(DIMENSIONS)), [BRIEF[d].rstrip(".") for d in DIMENSIONS])
        ax.set_yticks(range(len(rows)), [row.where for row in rows][::-1])
        ax.set_xlim(-0.6, len(DIMENSIONS) - 0.4)
        ax.set_ylim(-0.6, len(rows) - 0.4)
        ax.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
        return ax


def card_parts(found: JudgeCard) -> tuple[Part, ...]:
    """The card as a page: marks and sentences, then every contrast."""
    # What the dashes need stands beside the marks.
    words = tuple(line for line in found.sentences() if not line.startswith("–"))
    return (
        Part("Seven questions about every judge", words, lines=found.notes, marks=found.marks()),
        contrasts_part(found),
    )


def contrasts_part(found: JudgeCard) -> Part:
    """The number behind every mark."""
    decided = pl.col("estimate").is_not_null() & (pl.col("dimension") != "replacement")
    contrasts = found.table.filter(decided).drop("alone", "kind", "reason")
    contrasts = contrasts.drop([c for c in ("criterion",) if contrasts[c].null_count() == contrasts.height])
    words = (
        "Replacement is the verdict of the alternative annotator test. Each other mark rests on a contrast: above 0 "
        "the judge is within its boundary, below 0 it is not."
    )
    return Part("The numbers behind the card", (words,), (("", contrasts),) if contrasts.height else ())


@question(CardSettings)
def card(labels: Annotations | Chunks, settings: CardSettings) -> JudgeCard:
    """Seven questions about every judge, each answered ✓, ✗, ? (open) or – (this table cannot say).

    Replacement: the verdict of `assay.alt_test`. Concordance: does a judge agree with people as people agree with each
    other (r, and 1 − D_o/D_e)? Confidence: do a family's scores carry as people's do (Eρ², Φ)? Validity: do its
    universe scores go with people's? Bias: is it as severe as a person may be? Fairness: does it differ from people by
    group? Helpfulness: does it beside one person bring scores nearer to what all people would say?

    Each mark comes from a contrast whose true value is 0 on one boundary, with objects and people as samples, never
    from a point estimate or a ratio; marks of a dimension are corrected over judges and criteria. Confidence, validity
    and helpfulness are – unless people's own labels of different lessons of an object covary significantly above 0.

    Parameters
    ----------
    labels : Annotations or Chunks
        With people and judges; numbers, ordered words or categories. Of free texts only the replacement is told.

    Returns
    -------
    JudgeCard
        ``cells`` (the marks), ``table`` (the contrasts), ``summary()``, ``plot()``.

    Raises
    ------
    DesignError
        Without judges or people, or for chunks.
    DataError
        For a column that is not there.
    """
    return judge_card(labels, settings)


def judge_card(labels: Annotations | Chunks, settings: CardSettings, tested: Tested | None = None) -> JudgeCard:
    """The card, with the tests where they were made before."""
    labels = labels.in_memory("the card")
    chosen = [settings.judges] if isinstance(settings.judges, str) else list(settings.judges or labels.judges)
    if not chosen or not labels.humans:
        raise DesignError("the card sets judges beside people; name the judges with judges=[...] when reading")
    for name in chosen:
        if name not in labels.judges:
            raise DesignError(unknown("judge", name, labels.judges, "the table"))
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
        notes=_notes(labels, settings),
    )  # fmt: skip
    together = rows if tested or not settings.adjust else _judged_together(rows, settings)
    return JudgeCard(tuple(_mark_rows(together, rows, settings)), labels.n_items, len(labels.humans), objects, run)


def _notes(labels: Annotations, settings: CardSettings) -> tuple[str, ...]:
    found = []
    if labels.has_repeats:
        found.append(f"repeated answers: {settings.repeats}")
    if not settings.told:
        found.append("replacement needs the option expertise or epsilon: what the judge's low cost is worth")
    return tuple(found)


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
        if not self.scale.ordered:
            labels = _number_labels(labels, self.criterion)
        facets = {"i": s.object or "item", "o": s.lesson or "item", "s": "item", "r": "annotator"}
        found = facet_ratings(labels, facets)
        self.data = found.fingerprint
        self.n_objects = len(found.names["i"])
        value = found.value[:, None]
        if not self.scale.ordered:
            value = (found.value[:, None] == np.unique(found.value)).astype(float)
        # A lesson is that of its object, whatever its name: lesson 1 of each teacher is another one.
        codes = {**found.codes, "o": cross_codes(found.codes["i"], found.codes["o"])[0]}
        for column, facet in ((s.object, "i"), (s.lesson, "o")):
            if cross_codes(codes["s"], codes[facet])[1] > len(found.names["s"]):
                raise DesignError(
                    f"an item lies in several of '{column}': objects and lessons are columns of the items. If items of "
                    f"several '{column}' share a name, give both columns as the item when reading"
                )
        group = None if s.group is None else _group_codes(labels, s.group, found.names["s"])
        return _Codes(value, codes, found.names["r"], group, self.scale.ordered, s.object is not None)

    def rows(self) -> Iterator[CardRow]:
        """Judges, families, then people in the judge's place."""
        humans, repeated = self.labels.humans, set()
        for name in self.judges:
            row = self._row(name, "judge", (name,), humans, self._test(name))
            repeated.add(row.repeats)
            yield row
        for name, members in self._families().items():
            yield self._row(name, "family", members, tuple(h for h in humans if h not in repeated), None)
        if self.settings.people and len(humans) > 2:
            for name in humans:
                others = tuple(h for h in humans if h != name)
                yield self._row(name, "person", (name,), others, self._test(name, others))

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

    def _test(self, name: str, people: Sequence[str] | None = None) -> AltTest | str:
        """The alternative annotator test, or why there is none. Without epsilon it says only whom the judge repeats."""
        s, table = self.settings, self.labels
        if people is None and self.tested is not None:
            return self.tested(name, self.criterion)
        if people is not None:
            kinds = pl.when(pl.col("annotator") == name).then(pl.lit("judge")).otherwise("kind")
            about = table.annotators.with_columns(kind=kinds)
            table = table.where(annotator=[*people, name])
            here = table.annotators["annotator"].to_list()
            table = replace(table, annotators=about.filter(pl.col("annotator").is_in(here)))
        epsilon = s.epsilon if s.told else 0.0
        try:
            return alt_test(table, name, expertise=s.expertise, epsilon=epsilon, alpha=s.alpha)
        except AssayError as reason:
            return f"no test: {reason}"

    def _row(
        self, name: str, kind: str, judge: Sequence[str], people: Sequence[str], test: AltTest | str | None
    ) -> CardRow:  # fmt: skip
        tested = test if isinstance(test, AltTest) else None
        repeated = None if tested is None else tested.grounds.repeats
        parts: dict[Dimension, tuple[CellMeasure, ...]] = {"replacement": (_replacement(test, self.settings),)}
        if self.codes is None:
            why = "free texts have no numbers to compare"
            parts |= {d: (CellMeasure.absent(why),) for d in DIMENSIONS if d != "replacement"}
        else:
            others = [person for person in people if person != repeated]
            parts |= self.codes.beside(judge, others, self.settings).cells()
        return CardRow(name, kind, self.criterion, parts, tested)


@dataclass(frozen=True, eq=False)
class _Codes:
    """Labels of one criterion with their object, lesson, item and rater."""

    value: Any
    codes: Mapping[str, Ints]
    raters: tuple[str, ...]
    group: tuple[Ints, tuple[str, ...]] | None
    numeric: bool
    lessons: bool

    def beside(self, judge: Sequence[str], people: Sequence[str], settings: CardSettings) -> JudgeCells:
        """The judge (or a family) beside people; everybody else is left out."""
        names = [*people, *judge]
        position = {name: i for i, name in enumerate(names)}
        place = np.array([position.get(name, -1) for name in self.raters])
        rater = place[self.codes["r"]]
        keep = rater >= 0
        n_items = int(self.codes["s"].max(initial=-1)) + 1
        lesson_of, object_of = np.zeros((2, n_items), dtype=np.int64)
        lesson_of[self.codes["s"]], object_of[self.codes["s"]] = self.codes["o"], self.codes["i"]
        mine: Bools = np.arange(len(names)) < len(people)
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
    """The verdict, with 0 or 1 in place of p-values: its own tests decide."""
    if test is None:
        return CellMeasure.absent("a family is no annotator: see its judges")
    if isinstance(test, str):
        return CellMeasure.absent(test)
    if not settings.told:
        return CellMeasure.absent(
            "say whom the judge would replace (the option expertise) or what its low cost is worth (epsilon)"
        )
    if test.verdict == "not_testable":
        return CellMeasure.absent("people agree no more than chance on these items")
    yes, no = test.verdict == "replace", test.verdict == "do_not_replace"
    rho = test.advantage_probability
    ends = rho.interval(settings.confidence)
    found = EstimateByRule(
        rho.estimate, *ends, rho.standard_error, rho.reason, ends=rho.interval, test=rho.p
    )  # fmt: skip
    return CellMeasure("ρ", found, 0.0 if yes else 1.0, 0.0 if no else 1.0, rho.estimate)


def fairness_mark(labels: Annotations, judge: str, *, group: str, object: str | None, alpha: float) -> Mark:  # noqa: A002
    """The mark of one judge's fairness alone, on a table with one criterion: for many tables, where speed counts."""
    settings = CardSettings(judges=(judge,), group=group, object=object, alpha=alpha)
    codes = _Criterion(labels, None, (judge,), settings, None).codes
    assert codes is not None
    parts = codes.beside((judge,), labels.humans, settings).fairness()
    return _mark(*shown(parts), alpha)


def _number_labels(labels: Annotations, criterion: str | None) -> Annotations:
    """Categories by their place, so that they can be told apart as numbers."""
    place = labels.labels["label"].cast(pl.String).rank("dense").cast(pl.Float64)
    return replace(
        labels, labels=labels.labels.with_columns(label=place), scales={criterion: Interval(), None: Interval()}
    )


def _group_codes(labels: Annotations, column: str, items: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    """The group of each item, −1 where it has none."""
    values = labels.column(labels.column_name(column)).cast(pl.String)
    known = pl.DataFrame({"item": labels.labels["item"], "group": values}).drop_nulls().unique()
    of_item = dict(known.rows())
    if len(of_item) < known.height:
        raise DesignError(
            f"an item lies in several groups of '{column}': groups are of what is judged, not of who judges"
        )
    names = tuple(sorted(set(of_item.values())))
    place = {name: i for i, name in enumerate(names)}
    return np.array([place.get(of_item.get(item, ""), -1) for item in items]), names


def _judged_together(rows: Sequence[CardRow], settings: CardSettings) -> list[CardRow]:
    """The rows with the verdicts of all judges and criteria corrected for their number, as a report corrects them."""
    found = list(rows)
    for kind in ("judge", "person"):
        mine = [(i, row, row.test) for i, row in enumerate(rows) if row.kind == kind and isinstance(row.test, AltTest)]
        for (i, row, _), test in zip(mine, correct_verdicts([test for _, _, test in mine]), strict=True):
            parts = {**row.parts, "replacement": (_replacement(test, settings),)}
            found[i] = replace(row, test=test, parts=parts)
    return found


def _mark_rows(rows: Sequence[CardRow], by_themselves: Sequence[CardRow], settings: CardSettings) -> Iterator[CardRow]:
    """Each row with its marks: corrected over the judges and criteria of a dimension, and alone."""
    kinds = [row.kind for row in rows]
    marks: list[dict[Dimension, Mark]] = [{} for _ in rows]
    alone: list[dict[Dimension, Mark]] = [{} for _ in rows]
    for dimension in DIMENSIONS:
        p = np.array([shown(row.parts[dimension]) for row in by_themselves]).reshape(-1, 2)
        adjusted = np.array([shown(row.parts[dimension]) for row in rows]).reshape(-1, 2)
        if settings.adjust and dimension != "replacement":  # of which the verdicts were corrected before
            for side in range(2):
                adjusted[:, side] = adjust_p(p[:, side], "holm", kinds)
        for i in range(len(rows)):
            marks[i][dimension] = _mark(adjusted[i, 0], adjusted[i, 1], settings.alpha)
            alone[i][dimension] = _mark(p[i, 0], p[i, 1], settings.alpha)
    return (replace(row, marks=marks[i], alone=alone[i]) for i, row in enumerate(rows))


def _mark(above: float, below: float, alpha: float) -> Mark:
    if math.isnan(above):
        return "–"
    return "✓" if above <= alpha else "✗" if below <= alpha else "?"
