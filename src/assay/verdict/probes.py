"""Where may a judge go wrong? Eight probes of the labels at hand, each quiet on a judge without that fault, and those
of what judges answered when they were asked once more."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, Repeats, digest_of_columns
from assay.data.chunks import Chunks
from assay.data.ratings import cluster_codes
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.intervals import Estimate, adjust_p
from assay.estimation.options import Settings, level_option, option, question
from assay.estimation.resampling import Units
from assay.estimation.result import Result, Run, fingerprint_with, json_safe
from assay.estimation.statistic import Floats
from assay.preference.position import PLACES, position_bias
from assay.reporting import pictures
from assay.reporting.page import Part
from assay.reporting.tables import interval, marks_text, said, signed
from assay.verdict.probe_calls import CALLED, AnswersToProbes, CalledMeasure, drop_probes, probe_answers
from assay.verdict.probe_measures import CalledProbe, JudgeLabels, Probe, ProbeMeasure, halo_of, replies_needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PROBES: tuple[Probe, ...] = get_args(Probe)

TITLES: Mapping[Probe | CalledProbe, str] = {
    "position": "position", "length": "length", "own": "own family", "resolution": "levels", "shares": "shares",
    "halo": "halo", "consistency": "replies", "missing": "missing", **{one: one for one in CALLED},
}  # fmt: skip
"""What a probe is called over its column."""

SHOWN_JUDGES = 40
"""Judges and criteria that a picture has rows for."""


@dataclass(frozen=True, kw_only=True)
class ProbeSettings(Settings):
    """Options of the probes."""

    judges: Sequence[str] | str | None = option(None, "The judges; all of the table when not given.", key="")
    length: str | None = option(
        None, "Item column that a label should not follow, such as the length; of texts, their characters.",
        details="The probe asks whether labels follow it at equal quality.", first=True,
    )  # fmt: skip
    system: str | None = option(
        None, "Item column that says who made the item, to see whether a judge favours its own.",
        details="An item is a judge's own where this is the judge's name or its family.", first=True,
    )  # fmt: skip
    family: str | None = option(None, "Annotator column with the family of each judge.", first=True)
    clusters: str | None = option(
        None, "Item column whose items are left out together, such as the document.", first=True
    )
    adjust: bool = option(True, "Correct for the number of everything that is tested (Holm).")
    confidence: float = level_option("Level of the intervals; a fault is shown where its p is at most 1 less this.")
    repeats: Repeats = option(
        "first", "What repeated answers stand for, in all probes but that of repeated replies.",
        details="See `Annotations.resolve_repeats`.",
    )  # fmt: skip

    @property
    def alpha(self) -> float:
        """The level of a test."""
        return 1 - self.confidence


@dataclass(frozen=True, eq=False)
class ProbeRow:
    """One measure of one judge on one criterion.

    Attributes
    ----------
    levels : int
        Different labels that the judge gave.
    adjusted : float
        The p-value, corrected.
    shown : bool
        Whether the fault is shown.
    """

    judge: str
    criterion: str | None
    one: ProbeMeasure
    levels: int = 0
    about: str = ""
    adjusted: float = math.nan
    shown: bool = False

    @property
    def where(self) -> str:
        """The judge, with its criterion where there are several."""
        return self.judge if self.criterion is None else f"{self.judge}, {self.criterion}"

    def sentence(self) -> str:
        """What is shown, in words that follow the judge's name; of replies and missing labels, what is found."""
        if isinstance(self.one, CalledMeasure):
            return self.one.sentence()
        e = self.one.found
        found = f"{signed(e.estimate)} {interval(e.low, e.high)}"
        match self.one.probe:
            case "length":
                return f"follows {self.about} at equal quality: {found} points for one standard deviation"
            case "own":
                side = "favours" if e.estimate > 0 else "is harder on"
                return f"{side} its own: {found} points at equal quality"
            case "halo":
                people = signed(self.one.people)
                return f"lets criteria run together: correlation beyond quality {found}, people's own {people}"
            case "resolution":
                levels = f"{self.levels} in all, a person {self.one.people:.1f}"
                return f"uses fewer levels than people: {levels}; in effect {self.times} times people's"
            case "shares":
                return f"gives {self.label} {'more' if e.estimate > 0 else 'less'} often than people: {found}"
            case "consistency":
                return self._replies()
            case "missing":
                return self._missing_words(found)
            case _:
                ends = interval(e.low, e.high)
                return f"chooses by place: {self.one.measure} {said(e.estimate)} {ends}, chance {self.one.null:.2f}"

    @property
    def label(self) -> str:
        """The label whose share it is, in quotes."""
        return self.one.measure.removeprefix("share of ").removesuffix(" less people's")

    @property
    def times(self) -> str:
        """How many times people's levels the judge has in use."""
        e = self.one.found
        return f"{said(math.exp(e.estimate))} {interval(math.exp(e.low), math.exp(e.high))}"

    def open_words(self) -> str:
        """What is not shown, with its number."""
        e = self.one.found
        number = self.times if self.one.probe == "resolution" else f"{signed(e.estimate)} {interval(e.low, e.high)}"
        if self.one.probe == "position":
            number = f"{said(e.estimate)} {interval(e.low, e.high)}"
        name = TITLES[self.one.probe] + (f" of {self.label}" if self.one.probe == "shares" else "")
        if isinstance(self.one, CalledMeasure) and self.one.change in ("shift", "place"):
            name += f", {self.one.change}"
        return f"{name} ({number})"

    def _replies(self) -> str:
        """How many replies reach Φ = `WANTED`."""
        e = self.one.found
        if e.estimate > 1 - 1e-12:
            return "gives the same label in every reply"
        phi = f"Φ of one reply is {said(e.estimate)} {interval(e.low, e.high)}"
        likely = replies_needed(e.estimate)
        if not math.isfinite(likely):
            return f"has replies that no number makes consistent: {phi}"
        most = replies_needed(e.low) if math.isfinite(e.low) else likely
        upto = (
            ""
            if most == likely
            else f" (up to {most:g})"
            if math.isfinite(most)
            else " (and perhaps no number will do)"
        )
        needs = "is consistent with one reply" if likely == 1 else f"needs {likely:g}{upto} replies for Φ = .9"
        return f"{needs}: {phi}"

    def _missing_words(self, found: str) -> str:
        """Items without a label: how many, and which."""
        e = self.one.found
        if math.isnan(self.one.null):
            if e.estimate == 0:
                return "has a label on every item"
            return f"has no label on {said(e.estimate)} of the items {interval(e.low, e.high)}"
        return f"skips items that people rate {'higher' if e.estimate > 0 else 'lower'}: {found} points"


@dataclass(frozen=True, eq=False)
class JudgeProbes(Result):
    """What the probes found of every judge.

    Attributes
    ----------
    rows : tuple of ProbeRow
    n_items, n_people : int
    run : Run
    """

    rows: tuple[ProbeRow, ...] = field(metadata={"json": False})
    n_items: int
    n_people: int
    run: Run

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row a judge, criterion and measure.

        ``judge, criterion, probe, measure, estimate, low, high, null`` (without the fault), ``least`` (how far from it
        counts), ``people`` (the same of people), ``p``, ``p_adjusted``, ``shown``, ``n`` (items), ``reason`` (what the
        probe would need).
        """
        lines = [
            {
                "judge": row.judge, "criterion": row.criterion, "probe": row.one.probe,
                "measure": row.one.measure or None,
                **json_safe(row.one.found.row()), "null": json_safe(row.one.null),
                "least": row.one.least, "people": json_safe(row.one.people), "p": json_safe(row.one.p),
                "p_adjusted": json_safe(row.adjusted), "shown": row.shown, "n": row.one.n,
                "reason": row.one.found.reason,
            }
            for row in self.rows
        ]  # fmt: skip
        numbers = ("estimate", "low", "high", "null", "people", "p", "p_adjusted")
        text = ("criterion", "measure", "reason")
        kinds: dict[str, Any] = {**dict.fromkeys(numbers, pl.Float64), **dict.fromkeys(text, pl.String)}
        return pl.DataFrame(lines, schema_overrides=kinds, infer_schema_length=None)

    def row_estimates(self) -> Sequence[Estimate | None]:
        """The number in each row of the table."""
        return [None if math.isnan(row.one.found.low) else row.one.found for row in self.rows]

    @property
    def shown(self) -> tuple[ProbeRow, ...]:
        """The measures that are shown to be amiss."""
        return tuple(row for row in self.rows if row.shown)

    @cached_property
    def cells(self) -> pl.DataFrame:
        """One row a judge and criterion, one column a probe: ``!`` (shown), ``·`` (not shown) or ``–`` (no answer)."""
        lines = [
            {"judge": judge, "criterion": criterion, **{TITLES[p]: _sign(found.get(p, [])) for p in self.probes}}
            for (judge, criterion), found in self._group_by_judge().items()
        ]
        frame = pl.DataFrame(lines, schema_overrides={"criterion": pl.String})
        return frame if frame["criterion"].is_not_null().any() else frame.drop("criterion")

    @property
    def probes(self) -> tuple[Probe | CalledProbe, ...]:
        """The eight of labels, and those for which judges were asked once more."""
        asked = {row.one.probe for row in self.rows}
        return (*PROBES, *(probe for probe in CALLED if probe in asked))

    def _group_by_judge(self) -> dict[tuple[str, str | None], dict[Probe | CalledProbe, list[ProbeRow]]]:
        """The measures of each probe, by judge and criterion."""
        found: dict[tuple[str, str | None], dict[Probe | CalledProbe, list[ProbeRow]]] = {}
        for row in self.rows:
            found.setdefault((row.judge, row.criterion), {}).setdefault(row.one.probe, []).append(row)
        return found

    def summary(self) -> str:
        """A sentence a probe and judge, what is shown first; then what is open, and what dashes would need."""
        tested = sum(not math.isnan(row.one.p) for row in self.rows)
        faults, tests = counted(len(self.shown), "fault"), counted(tested, "test")
        rows = self.cells.rows()[:SHOWN_JUDGES]
        names = [", ".join(str(v) for v in row[: -len(self.probes)] if v is not None) for row in rows]
        lines = [f"{faults} shown in {tests}; {counted(self.n_items, 'item')}, {counted(self.n_people, 'person')}."]
        for some in (PROBES, self.probes[len(PROBES) :]):
            if some:
                places = [self.probes.index(p) - len(self.probes) for p in some]
                marks = [[row[place] for place in places] for row in rows]
                lines += ["", *marks_text([TITLES[p] for p in some], zip(names, marks, strict=True))]
        lines += ["", "! shown; · not shown; – this table cannot say."]
        return "\n".join([*lines, *self.sentences(), self.run.interval + ".", *self.run.closing()])

    def sentences(self) -> list[str]:
        """What is shown, a line each; what is not, a line a judge, of shares the farthest; what dashes need."""
        lines = self.shown_sentences()
        for by_probe in self._group_by_judge().values():
            facts, quiet = [], []
            for probe, rows in by_probe.items():
                known = [row for row in rows if not row.shown and math.isfinite(row.one.found.estimate)]
                facts += [row for row in known if probe == "consistency" or math.isnan(row.one.null)]
                tested = [row for row in known if row not in facts]
                quiet += (
                    tested if probe != "shares" else sorted(tested, key=_distance)[-1:] * (len(tested) == len(rows))
                )
            words = [row.sentence() for row in facts]
            if quiet:
                words.insert(0, f"not shown amiss in {listing([row.open_words() for row in quiet], 12)}")
            if words:
                lines.append(f"{next(iter(by_probe.values()))[0].where}: {'; '.join(words)}.")
        return [*lines, *self.needs()]

    def shown_sentences(self) -> list[str]:
        """What is shown, a line each; label shares of a judge together."""
        lines = []
        for by_probe in self._group_by_judge().values():
            for probe, rows in by_probe.items():
                shown = [row for row in rows if row.shown]
                if probe == "shares" and len(shown) > 1:
                    each = [f"{row.label} {signed(e.estimate)} {interval(e.low, e.high)}" for row in shown
                            for e in (row.one.found,)]  # fmt: skip
                    lines.append(f"{rows[0].where} gives labels otherwise than people: {', '.join(each)}.")
                else:
                    lines += [f"{row.where} {row.sentence()}." for row in shown]
        return lines

    def needs(self) -> list[str]:
        """What dashes would need."""
        found: dict[str, list[str]] = {}
        for row in self.rows:
            if row.one.measure == "" and row.one.found.reason is not None:
                found.setdefault(row.one.found.reason, []).append(TITLES[row.one.probe])
        return [f"– {listing(list(dict.fromkeys(names)))}: {why}." for why, names in found.items()]

    def plot(self, ax: Axes | None = None) -> Axes:
        """One row a judge: a full dot where a fault is shown, an open one where it is not, a dash for no answer."""
        by_judge = list(self._group_by_judge().items())[:SHOWN_JUDGES]
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
        ax.set_xticks(range(len(self.probes)), [TITLES[p] for p in self.probes])
        ax.set_yticks(range(len(names)), names[::-1])
        ax.set_xlim(-0.6, len(self.probes) - 0.4)
        ax.set_ylim(-0.6, len(names) - 0.4)
        ax.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
        return ax


def called_parts(found: JudgeProbes) -> tuple[Part, ...]:
    """What judges answered when they were asked once more, as a part of a report."""
    if not found.rows:
        return ()
    rows, caption = _known_rows(found), "Asked once more, with one thing changed that should change nothing."
    frames = ((caption, rows),) if rows.height else ()
    return (Part("Do labels change when nothing should?", tuple(found.sentences()), frames),)


def _known_rows(found: JudgeProbes) -> pl.DataFrame:
    """The measures that have a number."""
    kept = ["judge", "criterion", "probe", "measure", "estimate", "low", "high", "p_adjusted", "shown", "n"]
    rows = found.table.filter(pl.col("estimate").is_not_null()).select(kept)
    return rows if rows["criterion"].n_unique() > 1 else rows.drop("criterion")


def probe_parts(found: JudgeProbes) -> tuple[Part, ...]:
    """The probes as a page."""
    rows = _known_rows(found)
    key = "A full dot: the fault is shown. An open dot: it is not. A dash: this table cannot say."
    shown = found.shown_sentences() or ["No fault is shown."]
    frames = (
        ("Every measure; faults that are shown first.", rows.sort("shown", descending=True, maintain_order=True)),
    )
    drawn = (("Probes of every judge.", found.plot),)
    return (Part("What the probes found", (*shown, *found.needs(), key), frames, drawn, found.notes),)


@question(ProbeSettings)
def probes(labels: Annotations | Chunks, settings: ProbeSettings) -> JudgeProbes:
    """Where may a judge go wrong? Eight probes of the labels at hand, and those that a study has asked.

    Position: does it choose by place? Length: does its label follow the length of a text *at equal quality*? Own
    family: does it favour what its own family made, at equal quality? Levels: does it use fewer than people? Shares:
    how often does it give each label? Halo: do its criteria go together beyond quality? Replies: how many reach Φ = .9?
    Missing: where does it give no label?

    Equal quality is not an equal mean of people's labels, which err: the variance of the ideal label comes from pairs
    of different people on an item. A fault is shown where its p-value, corrected over all that is tested (Holm), is at
    most 1 less the level, and where it is large enough to count.

    Where a study has ``probes:``, what its judges answered when they were asked once more is measured, too: does the
    label change more than by itself, which way, toward a hint, toward a place? These are corrected among themselves.

    Parameters
    ----------
    labels : Annotations or Chunks
        With judges, and for most probes with two people an item.

    Returns
    -------
    JudgeProbes

    Raises
    ------
    DesignError
        Without judges, or for chunks.
    DataError
        For a column that is not there.

    Examples
    --------
    >>> import assay, polars as pl
    >>> labels = assay.simulate(200, 3, judges={"m": 0.2}, scale="1-5", seed=1)
    >>> length = pl.Series("length", range(200))
    >>> found = assay.probes(assay.Annotations.from_frame(
    ...     labels.labels, judges=["m"], scale="1-5", items=labels.items.with_columns(length)), length="length")
    >>> found.shown
    ()

    The judge errs at random, and no probe accuses it.
    """
    given = labels.in_memory("the probes")
    labels, asked = drop_probes(given), probe_answers(given)
    chosen = [settings.judges] if isinstance(settings.judges, str) else list(settings.judges or labels.judges)
    if not chosen:
        raise DesignError("probes are of judges, and the table has none; name them with judges=[...] when reading")
    for name in chosen:
        if name not in labels.judges:
            raise DesignError(unknown("judge", name, labels.judges, "the table"))
    used = [c for c in (settings.length, settings.system, settings.family, settings.clusters) if c is not None]
    found = _ProbedTable(labels, chosen, settings)
    rows = _decide_faults([row for name in chosen for row in found.rows(name)], settings)
    more = {} if asked is None else {"probes": asked.fingerprint}
    rows += () if asked is None else _called_rows(asked, chosen, settings)
    run = Run(
        "probes", settings, fingerprint_with(labels.fingerprint, **digest_of_columns(labels, *used), **more),
        {"items": labels.n_items, "humans": len(labels.humans), "judges": tuple(chosen)},
        _method_words(settings, found.units.name),
        notes=_notes(labels, settings),
    )  # fmt: skip
    return JudgeProbes(rows, labels.n_items, len(labels.humans), run)


def called_probes(labels: Annotations, settings: ProbeSettings) -> JudgeProbes | None:
    """What judges answered when they were asked once more, for a report; None where they were not."""
    asked = probe_answers(labels)
    if asked is None:
        return None
    names = list(settings.judges or labels.judges)
    run = Run(
        "probes",
        settings,
        asked.fingerprint,
        {"judges": tuple(names)},
        _method_words(settings, settings.clusters or "items"),
    )
    return JudgeProbes(_called_rows(asked, names, settings), labels.n_items, len(labels.humans), run)


def _method_words(settings: ProbeSettings, unit: str) -> str:
    """How intervals and tests are made."""
    corrected = "corrected over all of them (Holm)" if settings.adjust else "not corrected"
    return f"{100 * settings.confidence:g}% intervals, jackknife over {unit}, these people; tests {corrected}"


def _called_rows(asked: Annotations, judges: Sequence[str], settings: ProbeSettings) -> tuple[ProbeRow, ...]:
    """What judges answered to probes, corrected over all of it."""
    found = AnswersToProbes(asked, settings.clusters, settings.confidence)
    return _decide_faults(
        [ProbeRow(name, criterion, one) for name in judges for criterion, one in found.measures(name)], settings
    )


def _notes(labels: Annotations, settings: ProbeSettings) -> tuple[str, ...]:
    found = [f"repeated answers: {settings.repeats}"] if labels.has_repeats else []
    if "order" in labels.conditions:
        found.append("where a pair was shown in both orders, all but the probe of position use one of them")
    return tuple(found)


class _ProbedTable:
    """The labels of a table as arrays over all its items, and what each probe needs of them."""

    def __init__(self, labels: Annotations, judges: Sequence[str], settings: ProbeSettings) -> None:
        self.labels, self.settings = labels, settings
        self.one_order = _first_order(labels)
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
        """Each annotator's labels over all items, and the people."""
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
        """A column as numbers in standard deviations; of a text, its characters."""
        values = self._column(name)
        if values.dtype == pl.String:
            values = values.str.len_chars()
        if not (values.dtype.is_numeric() or values.dtype == pl.Boolean):
            raise DataError(
                f"'{name}' holds {values.dtype}; the option length needs an item column of numbers or texts"
            )
        numbers = values.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        spread = float(np.nanstd(numbers)) if np.isfinite(numbers).any() else 0.0
        return np.asarray(numbers / spread if spread > 0 else numbers)

    def beside_people(self, judge: str, criterion: str | None) -> JudgeLabels | None:
        """The judge's labels of a criterion beside people's; None for free texts."""
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
        """Every measure of a judge, criterion by criterion; halo, which is between them, at the last."""
        every = {c: self.beside_people(judge, c) for c in self.criteria}
        for criterion, mine in every.items():
            if mine is None:
                why = "needs labels that can be compared as numbers or categories; these are texts or choices of three"
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
            yield ProbeMeasure.absent("length", "the option length names a column of the items")
        else:
            measure = f"points per sd of {self.settings.length}"
            yield mine.covariate("length", self.length, measure)
        yield self._own_family(judge, mine)
        yield mine.resolution()
        scale = self.scales[criterion]
        yield from mine.shares(scale.categories or [f"{level:g}" for level in mine.levels])
        yield self._replies(judge, criterion, mine)
        yield from mine.missing()

    def _own_family(self, judge: str, mine: JudgeLabels) -> ProbeMeasure:
        if self.makers is None:
            return ProbeMeasure.absent("own", "the option system names the column of who made the item")
        names = {judge, *self._family(judge)}
        own = self.makers.is_in(list(names)).cast(pl.Float64)
        own = pl.select(pl.when(self.makers.is_null()).then(float("nan")).otherwise(own)).to_series()
        if not own.fill_nan(0.0).sum():
            return ProbeMeasure.absent("own", f"no item's '{self.settings.system}' is the judge's name or family")
        return mine.covariate("own", own.to_numpy(), "points for its own")

    def _family(self, judge: str) -> tuple[str, ...]:
        column, about = self.settings.family, self.labels.annotators
        if column is None:
            return ()
        if column not in about.columns:
            raise DataError(unknown("annotator column", column, about.columns, "the table of annotators"))
        mine = about.filter(pl.col("annotator") == judge)[column].drop_nulls()
        return tuple(mine.cast(pl.String).to_list())

    def _replies(self, judge: str, criterion: str | None, mine: JudgeLabels) -> ProbeMeasure:
        """Φ of one reply, from all repeats of the judge."""
        labels = self.one_order
        if "repeat" not in labels.labels.columns or judge not in labels.judges:
            return ProbeMeasure.absent(
                "consistency", "needs several replies of the judge about an item (a column of repeats)"
            )
        part = self._part(labels.where(annotator=judge), criterion).resolve_repeats("each")
        replies = part.matrix(part.judges)
        place = {item: i for i, item in enumerate(self.items)}
        grid = np.full((len(self.items), replies.shape[1]), np.nan)
        grid[[place[item] for item in part.answers().items]] = replies
        return mine.consistency(grid)

    def _position(self, judge: str, criterion: str | None) -> Iterator[ProbeMeasure]:
        """How often the judge chose each place, from `assay.position_bias`."""
        part = self._part(self.labels.where(annotator=judge), criterion)
        about = [frame for frame in (part.labels, part.items, part.annotators) if "position" in frame.columns]
        kind = self.scales[criterion].kind
        if kind not in PLACES or not about or not about[0]["position"].is_not_null().any():
            yield ProbeMeasure.absent(
                "position", "needs preferences or choices of three with a column 'position' (the place that was chosen)"
            )
            return
        s = self.settings
        found = position_bias(part, method="jackknife", clusters=s.clusters, confidence=s.confidence)
        for row, one in zip(found.shares.iter_rows(named=True), found.row_estimates(), strict=False):
            yield ProbeMeasure.of("position", f"share of choices of the {row['place']} place", one, row["chance"],
                                  one.p(row["chance"]), n=row["n"])  # fmt: skip


def _first_order(labels: Annotations) -> Annotations:
    """Where pairs were shown in several orders, each annotator's answers in one of them: the others are no repeats."""
    if "order" not in labels.conditions:
        return labels
    key = [c for c in ("item", "annotator", "criterion") if c in labels.labels.columns]
    first = labels.labels.filter(pl.col("order") == pl.col("order").min().over(key))
    return replace(labels, labels=first)


def _decide_faults(rows: Sequence[ProbeRow], settings: ProbeSettings) -> tuple[ProbeRow, ...]:
    """Which faults are shown: corrected over all that is tested."""
    p = np.array([row.one.p for row in rows])
    adjusted = adjust_p(p, "holm") if settings.adjust else p
    return tuple(
        replace(row, adjusted=float(q), shown=bool(q <= settings.alpha and row.one.amiss))
        for row, q in zip(rows, adjusted, strict=True)
    )


def _distance(row: ProbeRow) -> float:
    return abs(row.one.found.estimate)


def _sign(rows: Sequence[ProbeRow]) -> str:
    """Shown, not shown, or no answer."""
    if any(row.shown for row in rows):
        return "!"
    return "·" if any(math.isfinite(row.one.found.estimate) for row in rows) else "–"
