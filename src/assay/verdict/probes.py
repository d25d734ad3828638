"""Check judges for biases: eight probes of existing labels, and the probes that a study asked its judges."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, Repeats, digest_of_columns
from assay.data.chunked.chunks import Chunks
from assay.data.ratings import cluster_codes
from assay.data.structure.vote_rows import in_one_order
from assay.errors import DataError, DesignError, no_judge, unknown, unknown_judge
from assay.estimation.intervals import Estimate, adjust_p
from assay.estimation.options import Settings, level_option, option, question
from assay.estimation.resampling import Units
from assay.estimation.result import Result, Run, fingerprint_with, json_safe
from assay.estimation.statistic import Floats
from assay.preference.position import PLACES, position_bias
from assay.reporting import pictures
from assay.reporting.page import Part
from assay.reporting.tables import marks_text
from assay.statistics.words import dependence_cautions
from assay.verdict import words
from assay.verdict.probe_calls import CALLED, AnswersToProbes, drop_probes, probe_answers
from assay.verdict.probe_measures import CalledProbe, JudgeLabels, Probe, ProbeMeasure, ProbeRow, halo_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PROBES: tuple[Probe, ...] = get_args(Probe)

SHOWN_JUDGES = 40
"""Rows (judges by criteria) of a picture, at most."""


@dataclass(frozen=True, kw_only=True)
class ProbeSettings(Settings):
    """Options of the probes."""

    judges: Sequence[str] | str | None = option(None, "The judges; default: all of the table.", key="")
    length: str | None = option(
        None, "Item column with the length, or with texts whose characters are counted.",
        details="The probe tests whether labels depend on it at equal quality.", first=True,
    )  # fmt: skip
    system: str | None = option(
        None, "Item column with the system that produced the item, to check for self-preference.",
        details="An item is a judge's own if this is the judge's name or its family.", first=True,
    )  # fmt: skip
    family: str | None = option(None, "Annotator column with the family of each judge.", first=True)
    clusters: str | None = option(None, "Column that groups dependent items, such as the document.", first=True)
    adjust: bool = option(True, "Adjust for the number of checks (Holm).")
    confidence: float = level_option("Confidence level; a fault is detected if its p-value is at most 1 minus this.")
    repeats: Repeats = option(
        "first", "How to combine repeated labels, in all probes except that of repeated responses.",
        details="See `Annotations.resolve_repeats`.",
    )  # fmt: skip

    @property
    def alpha(self) -> float:
        """The significance level."""
        return 1 - self.confidence


@dataclass(frozen=True, eq=False)
class JudgeProbes(Result):
    """The probes of every judge.

    Attributes
    ----------
    rows : tuple of ProbeRow
    n_items, n_annotators : int
    run : Run
    """

    rows: tuple[ProbeRow, ...] = field(metadata={"json": False})
    n_items: int
    n_annotators: int
    run: Run

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per judge, criterion and measure.

        ``judge, criterion, probe, measure, estimate, low, high, null`` (without the fault), ``least`` (the smallest
        reported difference), ``human_value``, ``p``, ``p_adjusted``, ``detected``, ``n`` (items), ``reason`` (the data
        that the probe requires).
        """
        lines = [
            {
                "judge": row.judge, "criterion": row.criterion, "probe": row.one.probe,
                "measure": row.one.measure or None,
                **json_safe(row.one.found.row()), "null": json_safe(row.one.null),
                "least": row.one.least, "human_value": json_safe(row.one.human), "p": json_safe(row.one.p),
                "p_adjusted": json_safe(row.adjusted), "detected": row.detected, "n": row.one.n,
                "reason": row.one.found.reason,
            }
            for row in self.rows
        ]  # fmt: skip
        numbers = ("estimate", "low", "high", "null", "human_value", "p", "p_adjusted")
        text = ("criterion", "measure", "reason")
        kinds: dict[str, Any] = {**dict.fromkeys(numbers, pl.Float64), **dict.fromkeys(text, pl.String)}
        return pl.DataFrame(lines, schema_overrides=kinds, infer_schema_length=None)

    def row_estimates(self) -> Sequence[Estimate | None]:
        """The estimate in each row of the table."""
        return [None if math.isnan(row.one.found.low) else row.one.found for row in self.rows]

    @property
    def detected(self) -> tuple[ProbeRow, ...]:
        """The measures with a detected fault."""
        return tuple(row for row in self.rows if row.detected)

    @cached_property
    def cells(self) -> pl.DataFrame:
        """One row per judge and criterion, one column per probe: ``!`` (detected), ``·`` (not detected) or ``–``."""
        lines = [
            {
                "judge": judge,
                "criterion": criterion,
                **{words.PROBE_TITLES[p]: _sign(found.get(p, [])) for p in self.probes},
            }
            for (judge, criterion), found in self._grouped.items()
        ]
        frame = pl.DataFrame(lines, schema_overrides={"criterion": pl.String})
        return frame if frame["criterion"].is_not_null().any() else frame.drop("criterion")

    @property
    def probes(self) -> tuple[Probe | CalledProbe, ...]:
        """The eight probes of labels, and the probes that the study asked its judges."""
        found = {row.one.probe for row in self.rows}
        return (*PROBES, *(probe for probe in CALLED if probe in found))

    @cached_property
    def _grouped(self) -> dict[tuple[str, str | None], dict[Probe | CalledProbe, list[ProbeRow]]]:
        """The measures of each probe, by judge and criterion."""
        found: dict[tuple[str, str | None], dict[Probe | CalledProbe, list[ProbeRow]]] = {}
        for row in self.rows:
            found.setdefault((row.judge, row.criterion), {}).setdefault(row.one.probe, []).append(row)
        return found

    def summary(self) -> str:
        """The marks, the detected faults, the checks without a fault, and the data that dashes require."""
        checks = sum(not math.isnan(row.one.p) for row in self.rows)
        rows = self.cells.rows()[:SHOWN_JUDGES]
        names = [", ".join(str(v) for v in row[: -len(self.probes)] if v is not None) for row in rows]
        lines = [words.probe_counts(len(self.detected), checks, self.n_items, self.n_annotators)]
        for some in (PROBES, self.probes[len(PROBES) :]):
            if some:
                places = [self.probes.index(p) - len(self.probes) for p in some]
                marks = [[row[place] for place in places] for row in rows]
                lines += ["", *marks_text([words.PROBE_TITLES[p] for p in some], zip(names, marks, strict=True))]
        lines += ["", words.PROBE_LEGEND]
        return "\n".join([*lines, *self.sentences(), f"Notes: {self.run.interval}.", *self.run.closing()])

    def sentences(self) -> list[str]:
        """The detected faults, the checks without a fault, and the data that dashes require."""
        return [*words.probe_sentences(self._grouped), *self.needs()]

    def fault_sentences(self) -> list[str]:
        """The detected faults, a line each."""
        return words.fault_sentences(self._grouped)

    def needs(self) -> list[str]:
        """The data that probes without an answer require."""
        return words.probe_needs(self.rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw one row per judge: a full dot for a detected fault, an open dot for none, a dash without data."""
        by_judge = list(self._grouped.items())[:SHOWN_JUDGES]
        ax = pictures.axes(ax, width=0.95 * len(self.probes), height=1.1 + 0.34 * len(by_judge))
        for i, (_, found) in enumerate(by_judge):
            for x, probe in enumerate(self.probes):
                sign, y = _sign(found.get(probe, [])), len(by_judge) - 1 - i
                if sign == "–":
                    ax.text(x, y, "–", ha="center", va="center", color=pictures.MUTED)
                else:
                    colour = pictures.TONES["bad"] if sign == "!" else pictures.MUTED
                    ax.scatter([x], [y], s=70, facecolor=colour if sign == "!" else "none", edgecolor=colour)
        names = [judge if criterion is None else f"{judge}, {criterion}" for (judge, criterion), _ in by_judge]
        ax.set_xticks(range(len(self.probes)), [words.PROBE_TITLES[p] for p in self.probes])
        ax.set_yticks(range(len(names)), names[::-1])
        ax.set_xlim(-0.6, len(self.probes) - 0.4)
        ax.set_ylim(-0.6, len(names) - 0.4)
        ax.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
        return ax


def called_parts(found: JudgeProbes) -> tuple[Part, ...]:
    """The probes that a study asked, as a part of a report."""
    if not found.rows:
        return ()
    rows = _known_rows(found)
    frames = ((words.UNCHANGED, rows),) if rows.height else ()
    return (Part("Probes of the judges", tuple(found.sentences()), frames),)


def _known_rows(found: JudgeProbes) -> pl.DataFrame:
    """The measures that have an estimate."""
    kept = ["judge", "criterion", "probe", "measure", "estimate", "low", "high", "p_adjusted", "detected", "n"]
    rows = found.table.filter(pl.col("estimate").is_not_null()).select(kept)
    return rows if rows["criterion"].n_unique() > 1 else rows.drop("criterion")


def probe_parts(found: JudgeProbes) -> tuple[Part, ...]:
    """The probes as a page."""
    rows = _known_rows(found)
    faults = found.fault_sentences() or [words.NO_FAULT]
    frames = (("Every measure; detected faults first.", rows.sort("detected", descending=True, maintain_order=True)),)
    drawn = (("Probes of every judge.", found.plot),)
    lines = (*faults, *found.needs(), words.PROBE_PICTURE)
    return (Part("Probes of the judges", lines, frames, drawn, found.notes),)


@question(ProbeSettings)
def probes(labels: Annotations | Chunks, settings: ProbeSettings) -> JudgeProbes:
    """Check judges for position, length, self-preference and other biases.

    Eight probes use existing labels. Position: choices of a position. Length: dependence of labels on length *at equal
    quality*. Own family: preference for outputs of the judge's family at equal quality. Levels: fewer levels than the
    annotators. Shares: the frequency of each label. Halo: correlation of criteria beyond quality. Responses: the number
    of responses for Φ = .9. Missing: items without a label.

    Equal quality is not an equal mean of human labels, which have errors: the variance of the ideal label comes from
    pairs of different annotators of an item. A fault is detected if its p-value, adjusted over all checks (Holm), is at
    most 1 minus the confidence level, and if the effect is not negligible.

    If a study has ``probes:``, the further answers of its judges are also tested: whether labels change more than in a
    repeated call, in which direction, toward a hint, toward a position. These are adjusted separately.

    Parameters
    ----------
    labels : Annotations or Chunks
        With judges, and for most probes with two annotators per item.

    Returns
    -------
    JudgeProbes

    Raises
    ------
    DesignError
        If there are no judges, or for chunks.
    DataError
        If a column does not exist.

    Examples
    --------
    >>> import assay, polars as pl
    >>> labels = assay.simulate(200, 3, judges={"m": 0.2}, scale="1-5", seed=1)
    >>> length = pl.Series("length", range(200))
    >>> found = assay.probes(assay.Annotations.from_frame(
    ...     labels.labels, judges=["m"], scale="1-5", items=labels.items.with_columns(length)), length="length")
    >>> found.detected
    ()

    The judge errs at random, and no fault is detected.
    """
    given = labels.in_memory("the probes")
    labels, answers = drop_probes(given), probe_answers(given)
    chosen = [settings.judges] if isinstance(settings.judges, str) else list(settings.judges or labels.judges)
    if not chosen:
        raise DesignError(no_judge(labels.reading.study, "to probe"))
    for name in chosen:
        if name not in labels.judges:
            raise DesignError(unknown_judge(name, labels.judges, labels.humans))
    used = [c for c in (settings.length, settings.system, settings.family, settings.clusters) if c is not None]
    found = _ProbedTable(labels, chosen, settings)
    rows = _decide_faults([row for name in chosen for row in found.rows(name)], settings)
    more = {} if answers is None else {"probes": answers.fingerprint}
    rows += () if answers is None else _called_rows(answers, chosen, settings)
    run = Run(
        "probes", settings, fingerprint_with(labels.fingerprint, **digest_of_columns(labels, *used), **more),
        {"items": labels.n_items, "humans": len(labels.humans), "judges": tuple(chosen)},
        words.probe_method(settings.confidence, found.units.name, adjusted=settings.adjust),
        notes=_notes(labels, settings),
        cautions=dependence_cautions(found.errors(), labels) if settings.clusters is None else (),
    )  # fmt: skip
    return JudgeProbes(rows, labels.n_items, len(labels.humans), run)


def called_probes(labels: Annotations, answers: Annotations, settings: ProbeSettings) -> JudgeProbes:
    """Return the probes that a study asked its judges, from their answers, for a report."""
    names = list(settings.judges or labels.judges)
    run = Run(
        "probes",
        settings,
        answers.fingerprint,
        {"judges": tuple(names)},
        words.probe_method(settings.confidence, settings.clusters or "items", adjusted=settings.adjust),
    )
    return JudgeProbes(_called_rows(answers, names, settings), labels.n_items, len(labels.humans), run)


def _called_rows(answers: Annotations, judges: Sequence[str], settings: ProbeSettings) -> tuple[ProbeRow, ...]:
    """The measures of the probes that a study asked, adjusted over all of them."""
    found = AnswersToProbes(answers, settings.clusters, settings.confidence)
    return _decide_faults(
        [ProbeRow(name, criterion, one) for name in judges for criterion, one in found.measures(name)], settings
    )


def _notes(labels: Annotations, settings: ProbeSettings) -> tuple[str, ...]:
    found = [f"repeated labels: {settings.repeats}"] if labels.has_repeats else []
    if "order" in labels.conditions:
        found.append(
            "if a pair was shown in both orders, all probes except that of position use one of them, drawn by item"
        )
    return tuple(found)


class _ProbedTable:
    """The labels of a table as arrays over all its items, for the probes."""

    def __init__(self, labels: Annotations, judges: Sequence[str], settings: ProbeSettings) -> None:
        self.labels, self.judges, self.settings = labels, judges, settings
        shown = "order" in labels.conditions
        self.one_order = replace(labels, labels=in_one_order(labels.labels, labels.judges)) if shown else labels
        self.items: list[str] = labels.items["item"].to_list()
        clusters = None if settings.clusters is None else cluster_codes(labels, settings.clusters)
        self.units = Units.of(len(self.items), clusters, width=64)
        self.criteria = labels.criteria or (None,)
        resolved = self.one_order.resolve_repeats(settings.repeats)
        self.scales = {c: labels.scale_of(c) for c in self.criteria}
        self.grids = {
            c: self._grid(resolved, c) for c in self.criteria if self.scales[c].kind not in ("text", "odd-one-out")
        }
        self.length = None if settings.length is None else self._numbers(settings.length)
        self.makers = None if settings.system is None else self._column(settings.system).cast(pl.String)

    def _part(self, labels: Annotations, criterion: str | None) -> Annotations:
        return labels if criterion is None else labels.where(criterion=criterion)

    def _grid(self, labels: Annotations, criterion: str | None) -> tuple[dict[str, Floats], tuple[str, ...]]:
        """Each rater's labels over all items, and the names of the annotators."""
        part = self._part(labels, criterion)
        names = (*part.humans, *part.judges)
        found = part.matrix(names)
        place = {item: i for i, item in enumerate(self.items)}
        rows = np.array([place[item] for item in part.answers().items])
        grid = np.full((len(self.items), len(names)), np.nan)
        grid[rows] = found
        return {name: grid[:, i] for i, name in enumerate(names)}, part.humans

    def _column(self, name: str) -> pl.Series:
        known = self.labels.names.get(name, name) if name not in self.labels.items.columns else name
        if known not in self.labels.items.columns:
            raise DataError(unknown("item column", name, self.labels.items.columns, "the table of items"))
        return self.labels.items[known]

    def _numbers(self, name: str) -> Floats:
        """A column as numbers in standard deviations; for texts, their characters."""
        values = self._column(name)
        if values.dtype == pl.String:
            values = values.str.len_chars()
        if not (values.dtype.is_numeric() or values.dtype == pl.Boolean):
            raise DataError(
                f"'{name}' holds {values.dtype}; the option length requires an item column of numbers or texts"
            )
        numbers = values.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        spread = float(np.nanstd(numbers)) if np.isfinite(numbers).any() else 0.0
        return np.asarray(numbers / spread if spread > 0 else numbers)

    def errors(self) -> list[Floats]:
        """The mean difference of each judge's labels from those of the annotators, on each criterion: (items,)."""
        found = []
        for criterion, (given, people) in self.grids.items():
            human = np.stack([given[name] for name in people]) if people else np.empty((0, len(self.items)))
            ordered = self.scales[criterion].ordered
            for judge in self.judges:
                if judge not in given or not len(human):
                    continue
                each = given[judge] - human if ordered else np.where(np.isnan(human), np.nan, given[judge] != human)
                there = ~np.isnan(each).all(axis=0) & ~np.isnan(given[judge])
                error = np.full(len(self.items), np.nan)
                error[there] = np.nanmean(each[:, there], axis=0)
                found.append(error - np.nanmean(error) if there.any() else error)
        return found

    def judge_labels(self, judge: str, criterion: str | None) -> JudgeLabels | None:
        """The labels of the judge and of the annotators on a criterion; None for free texts."""
        if criterion not in self.grids:
            return None
        grid, people = self.grids[criterion]
        scale = self.scales[criterion]
        mine = grid.get(judge, np.full(len(self.items), np.nan))
        theirs = np.stack([grid[p] for p in people], axis=1) if people else np.empty((len(self.items), 0))
        every = np.concatenate([mine[:, None], theirs], axis=1)
        seen = np.unique(every[~np.isnan(every)])
        listed = scale.categories
        numbers = scale.numeric or scale.kind == "preference"
        levels = seen if listed is None else np.array(listed if numbers else range(len(listed)), dtype=float)
        return JudgeLabels(
            mine, theirs, levels, scale.ordered or numbers or len(levels) == 2, self.units, self.settings.confidence
        )

    def rows(self, judge: str) -> Iterator[ProbeRow]:
        """Yield every measure of a judge by criterion; last the halo, which is between criteria."""
        every = {c: self.judge_labels(judge, c) for c in self.criteria}
        for criterion, mine in every.items():
            if mine is None:
                why = "requires labels that can be compared as numbers or categories, not texts or choices of three"
                found = [*self._position(judge, criterion),
                         *(ProbeMeasure.absent(p, why) for p in PROBES if p not in ("position", "halo"))]  # fmt: skip
            else:
                with np.errstate(divide="ignore", invalid="ignore"):
                    found = list(self._measures(judge, criterion, mine))
            levels = 0 if mine is None else mine.levels_used
            yield from (ProbeRow(judge, criterion, one, levels, self.settings.length or "") for one in found)
        kept = [one for one in every.values() if one is not None and not np.isnan(one.judge).all()]
        yield ProbeRow(judge, self.criteria[0] if len(self.criteria) == 1 else None, halo_of(kept))

    def _measures(self, judge: str, criterion: str | None, mine: JudgeLabels) -> Iterator[ProbeMeasure]:
        yield from self._position(judge, criterion)
        if self.length is None:
            yield ProbeMeasure.absent("length", "requires a column with the length (--length)")
        else:
            measure = f"points per SD of {self.settings.length}"
            yield mine.covariate("length", self.length, measure)
        yield self._own_family(judge, mine)
        yield mine.resolution()
        scale = self.scales[criterion]
        votes = scale.kind == "preference"
        named = [scale.word(int(level)) if votes else f"{level:g}" for level in mine.levels]
        yield from mine.shares(named if votes else scale.categories or named)
        yield self._replies(judge, criterion, mine)
        yield from mine.missing()

    def _own_family(self, judge: str, mine: JudgeLabels) -> ProbeMeasure:
        if self.makers is None:
            return ProbeMeasure.absent("own", "requires a column with the system that produced the item (--system)")
        names = {judge, *self._family(judge)}
        own = self.makers.is_in(list(names)).cast(pl.Float64)
        own = pl.select(pl.when(self.makers.is_null()).then(float("nan")).otherwise(own)).to_series()
        if not own.fill_nan(0.0).sum():
            return ProbeMeasure.absent("own", f"no item has the judge's name or family in '{self.settings.system}'")
        return mine.covariate("own", own.to_numpy(), "points for own outputs")

    def _family(self, judge: str) -> tuple[str, ...]:
        column, about = self.settings.family, self.labels.annotators
        if column is None:
            return ()
        if column not in about.columns:
            raise DataError(unknown("annotator column", column, about.columns, "the table of annotators"))
        mine = about.filter(pl.col("annotator") == judge)[column].drop_nulls()
        return tuple(mine.cast(pl.String).to_list())

    def _replies(self, judge: str, criterion: str | None, mine: JudgeLabels) -> ProbeMeasure:
        """Φ of one response, from all repeats of the judge."""
        labels = self.one_order
        if "repeat" not in labels.labels.columns or judge not in labels.judges:
            return ProbeMeasure.absent(
                "consistency", "requires several responses of the judge per item (a column of repeats)"
            )
        part = self._part(labels.where(annotator=judge), criterion).resolve_repeats("each")
        replies = part.matrix(part.judges)
        place = {item: i for i, item in enumerate(self.items)}
        grid = np.full((len(self.items), replies.shape[1]), np.nan)
        grid[[place[item] for item in part.answers().items]] = replies
        return mine.consistency(grid)

    def _position(self, judge: str, criterion: str | None) -> Iterator[ProbeMeasure]:
        """How often the judge chose each position, from `assay.position_bias`."""
        part = self._part(self.labels.where(annotator=judge), criterion)
        about = [frame for frame in (part.labels, part.items, part.annotators) if "position" in frame.columns]
        kind = self.scales[criterion].kind
        if kind not in PLACES or not about or not about[0]["position"].is_not_null().any():
            yield ProbeMeasure.absent(
                "position", "requires preferences or choices of three with a column 'position' (the position chosen)"
            )
            return
        s = self.settings
        found = position_bias(part, method="jackknife", clusters=s.clusters, confidence=s.confidence)
        for row, one in zip(found.shares.iter_rows(named=True), found.row_estimates(), strict=False):
            yield ProbeMeasure.of("position", f"share of choices of the {row['place']} position", one, row["chance"],
                                  one.p(row["chance"]), n=row["n"])  # fmt: skip


def _decide_faults(rows: Sequence[ProbeRow], settings: ProbeSettings) -> tuple[ProbeRow, ...]:
    """Mark the detected faults: adjusted over all checks."""
    p = np.array([row.one.p for row in rows])
    adjusted = adjust_p(p, "holm") if settings.adjust else p
    return tuple(
        replace(row, adjusted=float(q), detected=bool(q <= settings.alpha and row.one.large_enough))
        for row, q in zip(rows, adjusted, strict=True)
    )


def _sign(rows: Sequence[ProbeRow]) -> str:
    """The mark of a probe: detected, not detected, or insufficient data."""
    if any(row.detected for row in rows):
        return "!"
    return "·" if any(math.isfinite(row.one.found.estimate) and not row.one.untested for row in rows) else "–"
