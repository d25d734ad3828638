"""`report`: labels -> verdicts, tables and pictures, saved as one offline HTML page."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np
import polars as pl

from assay.concordance.agreement import agreement
from assay.concordance.measures import level_of
from assay.concordance.page import MOST_ANNOTATORS, agreement_parts
from assay.data.annotations import Annotations
from assay.data.chunks import Chunks, in_memory
from assay.data.scales import Label
from assay.errors import DesignError, counted, listing
from assay.estimation.options import Intervals, option
from assay.estimation.result import Exclusion, Result, Run, json_safe
from assay.estimation.statistic import Floats, Ints
from assay.ideas.annotators import annotator_similarity
from assay.ideas.choices import has_choices
from assay.ideas.page import annotator_parts, reliability_parts, triplet_parts, validation_parts
from assay.ideas.reliability import odd_one_out_agreement
from assay.ideas.triplets import triplet_similarity
from assay.ideas.validate import validate_similarity
from assay.preference.consistency import consistency
from assay.preference.leaderboard import Leaderboard, bradley_terry
from assay.preference.page import consistency_parts, judged_parts, position_parts
from assay.preference.position import position_bias
from assay.preference.votes import has_separability, has_votes
from assay.psychometrics.disattenuation import disattenuated_correlation
from assay.psychometrics.g_study import g_study
from assay.psychometrics.page import disattenuation_parts, g_study_parts, rater_parts
from assay.psychometrics.raters.model import rater_model
from assay.psychometrics.raters.table import Kept
from assay.reading import read
from assay.replacement.alt_test import AltTest
from assay.replacement.compare import JudgeComparison, compare_judges
from assay.replacement.domains import AltTestBy, alt_test_by
from assay.replacement.page import asked, card, card_by, epsilon_curves, methods, results, size_curves, works
from assay.replacement.panel import AltTestOptions, AltTestSettings
from assay.reporting import pictures, tables
from assay.reporting.page import Card, Copy, Page, Part, Picture, Section, section_of
from assay.reporting.references import bibtex

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# -- The options of a report -----------------------------------------------------------------------


@dataclass(frozen=True)
class ReportSettings(AltTestSettings):
    """Options of `report`: those of the alt-test, and which judges and domains."""

    judges: tuple[str, ...] | None = option(None, "The judges to report on, separated by commas.")
    by: str | None = option(None, "Column that tells domains apart; the criterion where the table has several.")
    title: str | None = option(None, "Headline of the page.", key="")


# -- Which labels people and judges give, as a picture ---------------------------------------------

MOST_LABELS = 24
"""Categories shown in the picture of labels; the rarest share a column beyond that."""


def has_shares(labels: Annotations) -> bool:
    """Whether labels can be counted: free text cannot."""
    return labels.scale.kind != "text"


def label_shares(labels: Annotations) -> Axes:
    """How often people and each judge give each label."""
    column, names = labels.labels["label"], labels.labels["annotator"]
    rows = {"people": names.is_in(list(labels.humans)).to_numpy()}
    rows |= {judge: (names == judge).to_numpy() for judge in labels.judges}
    columns, codes = _columns(labels, column.to_list())
    shares = np.array([_share(codes[mask], len(columns)) for mask in rows.values()])
    ax = pictures.axes(width=max(5.2, 1.6 + 0.42 * len(columns)), height=1.1 + 0.3 * len(rows))
    text = [[f"{100 * share:.0f}" if share >= 0.005 else "" for share in row] for row in shares]
    pictures.shaded(ax, shares, text, colour=[pictures.HUMAN, *[pictures.JUDGE] * (len(rows) - 1)])
    ax.set_yticks(np.arange(len(rows))[::-1] + 0.5, list(rows))
    long = max(len(c) for c in columns) > 4
    ax.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=45 if long else 0, ha="right" if long else "center")
    return ax


def _share(codes: Ints, k: int) -> Floats:
    counts = np.bincount(codes, minlength=k)
    return np.asarray(counts / max(counts.sum(), 1))


def _columns(labels: Annotations, values: list[Label]) -> tuple[list[str], Ints]:
    """The columns of the picture and each label's: categories, or ten bins of a continuous scale."""
    scale = labels.scale
    listed = scale.categories
    if listed is None and scale.numeric:
        numbers = np.array(values, dtype=float)
        low, high = scale.bounds or (float(numbers.min()), float(numbers.max()))
        edges = np.linspace(low, high, 11)
        codes = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, 9)
        return [f"{a:.3g}–{b:.3g}" for a, b in itertools.pairwise(edges)], codes
    if listed is None:
        listed = tuple(labels.values_of("label"))
    if len(listed) > MOST_LABELS:
        counts: dict[Label, int] = {}
        for value in values:
            counts[value] = counts.get(value, 0) + 1
        kept = set(sorted(counts, key=lambda c: -counts[c])[: MOST_LABELS - 1])
        position = {c: i for i, c in enumerate(c for c in listed if c in kept)}
        names = [scale.word(c) for c in position] + ["other"]
        return names, np.array([position.get(v, len(position)) for v in values])
    position = {c: i for i, c in enumerate(listed)}
    return [scale.word(c) for c in listed], np.array([position[v] for v in values])


# -- `report` --------------------------------------------------------------------------------------

Progress = Callable[[str, int, int], None]
"""Told what is being done, how many steps are done and how many there are."""

MOST_REFITS = 200
"""Resamples for which variances are estimated anew."""

LEAST_RATERS = 3
"""Raters that a report compares by the rater model."""

REPORTED_STARTS = 2
MOST_RATED = 20_000
"""Labels of a table for which a report fits the rater model."""

MOST_FORESTS = 12
"""Forest plots on one page; beyond that the table has to do."""


@dataclass(frozen=True, eq=False)
class Report(Result):
    """What the labels say about the judges, ready to be read.

    Attributes
    ----------
    page : Page
        What is shown: title, verdicts (`cards`), sections.
    comparison : JudgeComparison or None
        All judges of a table with one criterion.
    by : mapping of judge to AltTestBy
        For a table with several criteria or domains.
    results, methods : tuple of str
        Sentences for the results and the methods section of a paper.
    """

    symbol: ClassVar[str] = "ρ"

    page: Page = field(repr=False, metadata={"json": False})
    comparison: JudgeComparison | None = field(repr=False)
    by: Mapping[str, AltTestBy] = field(repr=False)
    run: Run
    results: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Headline of the page."""
        return self.page.title

    @property
    def cards(self) -> tuple[Card, ...]:
        """The verdicts, best judge first."""
        return self.page.cards

    @property
    def table(self) -> pl.DataFrame:
        """The table of judges (and domains), all digits."""
        if self.comparison is not None:
            return self.comparison.table
        return pl.concat([found.table.insert_column(0, pl.lit(j).alias("judge")) for j, found in self.by.items()])

    def summary(self) -> str:
        """The verdicts as plain lines."""
        lines = [self.title]
        for one in self.cards:
            lines += ["", one.headline, "  " + one.evidence.strip()]
            if one.advice.strip():
                lines.append("  " + one.advice.strip())
            lines += ["  - " + beside for beside in one.beside]
        return "\n".join([*lines, "", self.signature])

    def made_by(self, command: str) -> Report:
        """The same report, whose page says that this command makes it again."""
        return replace(self, page=replace(self.page, again=command))

    def html(self) -> str:
        """The page, see `Page.html`."""
        return self.page.html()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; the folder is made where it is missing."""
        return self.page.save(path)

    def to_dict(self) -> dict[str, Any]:
        """Verdicts, tests and tables, safe for JSON."""
        return {**super().to_dict(), "title": self.title, "cards": json_safe(self.cards)}


def report(
    source: Annotations | Chunks | str | os.PathLike[str],
    *,
    judges: Sequence[str] | None = None,
    by: str | None = None,
    title: str | None = None,
    progress: Progress | None = None,
    **options: Unpack[AltTestOptions],
) -> Report:
    """What do these labels say about the judges, top-down?

    Parameters
    ----------
    source : Annotations or path
        Labels, or what `assay.read` reads without further options.
    judges : list of str
        All judges of the table when not given.
    by : str
        A column that tells domains apart; ``criterion`` where the table has several criteria.
    title : str
    progress : function
        Called with (what, done, steps).
    **options
        Of the alt-test, see `assay.alt_test`; ``annotators`` or ``epsilon`` is needed. ``repeats``, ``clusters`` and
        those of intervals hold for every question on the page.

    Raises
    ------
    DesignError
        Where there is no judge, or no test can be made.
    """
    chosen = None if judges is None else (judges,) if isinstance(judges, str) else tuple(judges)
    settings = ReportSettings.of({**options, "judges": chosen, "by": by, "title": title}, "report")
    labels = in_memory(source if isinstance(source, Annotations | Chunks) else read(source), "a report")
    names = list(chosen or labels.judges)
    if not names:
        raise DesignError("the table has no judge to report on; name the judges with judges=[...] when reading")
    by = by or ("criterion" if len(labels.criteria) > 1 else None)
    named = "labels" if isinstance(source, Annotations | Chunks) else repr(os.fspath(source))
    maker = ReportBuilder(labels, named, names, by, settings, options, progress or (lambda what, done, steps: None))
    return maker.report(title)


class ReportBuilder:
    """Makes the parts of a report in the order in which they are read."""

    def __init__(
        self, labels: Annotations, named: str, judges: list[str], by: str | None, settings: ReportSettings,
        options: AltTestOptions, progress: Progress,
    ) -> None:  # fmt: skip
        self.named = named
        self.labels, self.judges, self.by, self.settings, self.options = labels, judges, by, settings, options
        self.progress = progress
        self.steps = 4 if by is None else 2 + len(judges)
        self.done = 0

    def report(self, title: str | None) -> Report:
        """All of it."""
        return self._one_question(title) if self.by is None else self._by_domain(title)

    def _step(self, what: str) -> None:
        self.progress(what, self.done, self.steps)
        self.done += 1

    def _one_question(self, title: str | None) -> Report:
        self._step("testing the judges")
        found = compare_judges(self.labels, self.judges, **self.options)
        tests = list(found.tests.values())
        self._step("looking ahead")
        cards = tuple(card(test) for test in tests)
        sections: list[Section | None] = [self._judges_section(found), self._annotators_section(tests)]
        sections.append(self._curves_section(tests))
        sections.append(self._labels_section([self.labels]))
        self._step("measuring agreement")
        sections += self._further_sections()
        sections += [self._exclusions_section(tests), self._cite_section(tests)]
        self._step("drawing")
        return self._finish(title, cards, sections, tests, found, {})

    def _by_domain(self, title: str | None) -> Report:
        assert self.by is not None
        found: dict[str, AltTestBy] = {}
        for judge in self.judges:
            self._step(f"testing {judge}")
            found[judge] = alt_test_by(self.labels, judge, by=self.by, **self.options)
        ranked = sorted(found, key=lambda j: (-found[j].passed_in, j))
        found = {judge: found[judge] for judge in ranked}
        tests = [test for result in found.values() for test in result.tests.values()]
        cards = tuple(card_by(result) for result in found.values())
        sections: list[Section | None] = [
            self._domains_section(found),
            self._labels_section([part for _, part in self.labels.split(self.by)]),
        ]
        self._step("measuring agreement")
        sections += [
            *self._further_sections(),
            self._exclusions_section(tests, found),
            self._cite_section(tests, found),
        ]
        self._step("drawing")
        return self._finish(title, cards, sections, tests, None, found)

    def _finish(
        self,
        title: str | None,
        cards: tuple[Card, ...],
        sections: Sequence[Section | None],
        tests: Sequence[AltTest],
        comparison: JudgeComparison | None,
        by: Mapping[str, AltTestBy],
    ) -> Report:
        labels = self.labels
        people = counted(len(labels.humans), "person").replace("persons", "people")
        about = (
            f"{counted(len(labels), 'label')}: {counted(labels.n_items, 'item')}, {people}, "
            f"{counted(len(labels.judges), 'judge')}; {labels.reading.source}"
        )
        shown = tuple(s for s in sections if s is not None)
        named = title or "May the judge stand in for people?"
        page = Page(named, about, cards, shown, asked(tests), call(self.settings, self.named))
        facts = {"judges": tuple(self.judges), "items": labels.n_items, "score": tests[0].score}
        first = comparison.run if comparison is not None else next(iter(by.values())).run
        run = Run(
            "report", self.settings, first.data, facts, first.interval, self.excluded, labels.reading.notes,
            tuple(dict.fromkeys(c for test in tests for c in test.cautions)),
        )  # fmt: skip
        return Report(page, comparison, by, run, tuple(results(tests)), tuple(methods(tests)))

    # -- sections -------------------------------------------------------------------------------

    def _judges_section(self, found: JudgeComparison) -> Section:
        shown = tables.shown(
            found.table.drop("kind"),
            drop=("passed",),
            symbol="ρ",
            caption="ρ with its interval; ω is the winning rate; at the smallest ε the judge would just pass, "
            "from the needed ε up it is truly as good as half of the people. Items needed, with their range, where too "
            "few are why these do not tell.",
        )
        words = tuple(found.summary().splitlines()[:-1])
        picture = Picture(found.plot, "Advantage probability of each judge", "Advantage probability ρ.")
        return Section("The judges side by side", words, (shown,), (picture,))

    def _annotators_section(self, tests: Sequence[AltTest]) -> Section:
        tested = [t for t in tests if t.n_annotators]
        drawn = tuple(
            Picture(
                test.plot,
                f"Judge {test.judge} against each annotator",
                f"{test.judge}: how often it is as close to the others as each annotator, or closer.",
            )
            for test in tested[:MOST_FORESTS]
        )
        shown = tuple(
            tables.shown(
                test.table.select(
                    "annotator", "n", "estimate", "low", "high", "rho_human", "p_adjusted", "rejected",
                    "n_judge_better", "n_tie", "n_human_better",
                ),
                symbol="ρ",
                caption=f"{test.judge} against each annotator.",
            )
            for test in tested[:MOST_FORESTS]
        )  # fmt: skip
        words = (
            "Each annotator is left out in turn. A dot right of its blue mark (the annotator's own probability less "
            "ε) speaks for the judge; green dots are significant after correction.",
        )
        return Section("Annotator by annotator", words, shown, drawn)

    def _curves_section(self, tests: Sequence[AltTest]) -> Section | None:
        tested = [t for t in tests if t.n_annotators]
        if not tested:
            return None
        drawn = (
            Picture(
                partial(epsilon_curves, tested), "Winning rate against epsilon",
                "The winning rate at every ε. A judge that needs a large ε passes only with a large tolerance.",
            ),
            Picture(
                partial(size_curves, tested), "Studies that end in a verdict against the number of items",
                "How many studies of other sizes, by the same annotators, would end in a verdict, yes or no, averaged "
                "over what these labels leave open.",
            ),
        )  # fmt: skip
        words = ("How the published outcome depends on ε, and a verdict on how much is annotated.",)
        return Section("Sensitivity of the verdict", words, (), drawn)

    def _labels_section(self, parts: Sequence[Annotations]) -> Section | None:
        drawn: list[Picture] = []
        for part in parts:
            if not has_shares(part):
                continue
            name = "" if len(parts) == 1 or self.by is None else f" ({part.values_of(self.by)[0]})"
            caption = f"Share of each label in percent{name}: people, then judges."
            drawn.append(Picture(partial(label_shares, part), f"How often each label is given{name}", caption))
        words = ("A judge that uses the labels differently from people fails here, whatever it understands.",)
        return Section("Which labels people and judges give", words, (), tuple(drawn)) if drawn else None

    def _further_sections(self) -> list[Section]:
        """The other questions that this table allows, in the order of `FURTHER`."""
        s = self.settings
        shared: Intervals = {"n_resamples": s.n_resamples, "confidence": s.confidence, "seed": s.seed}
        if "method" in self.options:
            shared["method"] = s.method
        by = None if self.by in (None, "criterion") else self.by
        return [section_of(part) for ask in FURTHER for part in ask(self.labels, by, s, shared)]

    @property
    def excluded(self) -> tuple[Exclusion, ...]:
        """What reading left out."""
        return self.labels.reading.exclusions

    def _domains_section(self, found: Mapping[str, AltTestBy]) -> Section:
        frames = [result.table.insert_column(0, pl.lit(j).alias("judge")) for j, result in found.items()]
        shown = tables.shown(pl.concat(frames), drop=("passed",), symbol="ρ", caption=f"Every judge by {self.by}.")
        drawn = tuple(
            Picture(result.plot, f"Advantage probability of {judge} by {self.by}", f"{judge}, by {self.by}.")
            for judge, result in list(found.items())[:MOST_FORESTS]
        )
        correction = next(iter(found.values())).correction
        scope = "all domains together" if correction == "across" else "each domain on its own"
        words = (f"The false discovery rate is held over {scope}.",)
        return Section(f"By {self.by}", words, (shown,), drawn)

    def _exclusions_section(self, tests: Sequence[AltTest], by: Mapping[str, AltTestBy] | None = None) -> Section:
        lines: dict[str, None] = dict.fromkeys(self.labels.reading.lines())
        grouped: dict[str, list[str]] = {}
        for test in tests:
            for one in test.exclusions:
                name = test.judge + (f" ({test.domain.partition('=')[2]})" if test.domain else "")
                grouped.setdefault(str(one), []).append(name)
        for what, names in grouped.items():
            who = "every test" if len(names) == len(tests) else listing(names, 4)
            lines[f"{what} [{who}]"] = None
        for judge, result in (by or {}).items():
            for domain, why in result.untested.items():
                lines[f"{judge}, {domain}: not tested; {why}"] = None
        return Section("Exclusions and assumptions", (), (), (), tuple(lines) or ("Nothing is excluded.",))

    def _cite_section(self, tests: Sequence[AltTest], by: Mapping[str, AltTestBy] | None = None) -> Section:
        signatures = tuple(result.signature for result in (list(by.values()) if by else tests))
        words = (*results(tests), *methods(tests))
        return Section(
            "How to report this", words, (), (), signatures, (Copy("Works named above", bibtex(works(tests))),)
        )


def _agreement(labels: Annotations, by: str | None, settings: AltTestSettings, shared: Intervals) -> tuple[Part, ...]:
    """Do people agree at all, and is a judge closer to them than they are to each other?"""
    if any(scale.kind in ("text", "odd-one-out") for scale in labels.scales.values()):
        return ()
    few = len(labels.humans) + len(labels.judges) <= MOST_ANNOTATORS
    found = agreement(
        labels,
        coefficients=dict.fromkeys(f"krippendorff-alpha-{level_of(s)}" for s in labels.scales.values()),
        who=("humans", "judges", "human pairs", *(("pairs",) if few else ())),
        by=by,
        repeats=settings.repeats,
        clusters=settings.clusters,
        **shared,
    )
    return agreement_parts(found)


def _position(labels: Annotations, by: str | None, settings: AltTestSettings, shared: Intervals) -> tuple[Part, ...]:
    """Does the place of a text change the answer? Where answers keep what was shown where."""
    asked = {scale.kind for scale in labels.scales.values()} & {"preference", "odd-one-out"}
    if not asked or "position" not in labels.labels.columns:
        return ()
    try:
        found = position_bias(labels, clusters=settings.clusters, **shared)
    except DesignError as reason:
        return (Part("Position bias: does the place of a text change the answer?", lines=(f"Not known: {reason}.",)),)
    return position_parts(found)


def call(settings: ReportSettings, labels: str) -> str:
    """The call that makes this report, with every option that is not at its default."""
    given = {k: getattr(v, "__name__", None) or repr(v) for k, v in settings.changed().items()}
    return f"assay.report({', '.join([labels, *(f'{k}={v}' for k, v in given.items())])})"


def _generalizability(
    labels: Annotations, by: str | None, settings: AltTestSettings, shared: Intervals
) -> tuple[Part, ...]:
    """How far do scores of documents carry, and do judges measure what people do? Where items have clusters."""
    if settings.clusters is None or not all(scale.numeric for scale in labels.scales.values()):
        return ()
    design, facets = "r x (o:i)", {"r": "annotator", "o": "item", "i": settings.clusters}
    both = bool(labels.humans and labels.judges)
    try:
        found = g_study_parts(
            g_study(labels, design, "i", facets=facets, by="kind" if both else None, repeats=settings.repeats,
                    confidence=settings.confidence, seed=settings.seed)
        )  # fmt: skip
    except DesignError as reason:
        return (Part("How far do scores carry?", lines=(f"Not known: {reason}.",)),)
    if not both or len(labels.criteria) > 1:
        return found
    try:
        correlated = disattenuated_correlation(
            labels, design, "i", facets=facets, repeats=settings.repeats, confidence=settings.confidence,
            seed=settings.seed, n_resamples=min(settings.n_resamples, MOST_REFITS),
        )  # fmt: skip
    except DesignError as reason:
        return (*found, Part("Do human and judge measure the same thing?", lines=(f"Not known: {reason}.",)))
    return (*found, *disattenuation_parts(correlated))


def _votes(labels: Annotations, by: str | None, settings: AltTestSettings, shared: Intervals) -> tuple[Part, ...]:
    """Which system is preferred, and can anyone tell? Where labels are votes on named systems."""
    if not has_votes(labels):
        return ()

    def board(of: Annotations) -> Leaderboard | str:
        try:
            return bradley_terry(of, clusters=settings.clusters, **shared)
        except DesignError as reason:
            return str(reason)

    people = board(labels.where(kind="human"))
    if isinstance(people, str):
        boards: tuple[Part, ...] = (Part("Which system do people prefer?", lines=(f"Not known: {people}.",)),)
    else:
        boards = judged_parts(people, {name: board(labels.where(annotator=name)) for name in labels.judges})
    binned = "separability" if has_separability(labels) else None
    return (*boards, *consistency_parts(consistency(labels, by=binned, clusters=settings.clusters, **shared)))


def _raters(labels: Annotations, by: str | None, settings: AltTestSettings, shared: Intervals) -> tuple[Part, ...]:
    """Who is severe and who erratic? By the quick road, where three or more gave ordered labels."""
    if (
        any(scale.kind != "ordinal" for scale in labels.scales.values())
        or len(labels.humans) + len(labels.judges) < LEAST_RATERS
    ):
        return ()
    if len(labels) > MOST_RATED:
        why = f"the table has more than {MOST_RATED:,} labels; ask assay.rater_model(labels, quick=True)"
        return (Part("Who is severe, who is erratic?", lines=(f"Not asked here: {why}.",)),)
    repeats: Kept = "each" if settings.repeats == "mean" else settings.repeats
    try:
        found = rater_model(
            labels,
            quick=True,
            starts=REPORTED_STARTS,
            repeats=repeats,
            confidence=settings.confidence,
            seed=settings.seed,
        )
    except DesignError as reason:
        return (Part("Who is severe, who is erratic?", lines=(f"Not known: {reason}.",)),)
    return rater_parts(found)


def _ideas(labels: Annotations, by: str | None, settings: AltTestSettings, shared: Intervals) -> tuple[Part, ...]:
    """Do judges see what experts see, where labels are odd ones out; where does each sit, where they are texts?"""
    if has_choices(labels):
        return _odd_ones(labels, settings, shared)
    if len(labels.criteria) > 1 or labels.scale.kind != "text":
        return ()
    # The similarity of the test, where it compares any two texts.
    named = settings.similarity if isinstance(settings.similarity, str) or callable(settings.similarity) else "words"
    try:
        return annotator_parts(annotator_similarity(labels, similarity=named, clusters=settings.clusters, **shared))
    except DesignError as reason:
        return (Part("Where does each judge sit among the people?", lines=(f"Not known: {reason}.",)),)


def _odd_ones(labels: Annotations, settings: AltTestSettings, shared: Intervals) -> tuple[Part, ...]:
    found: tuple[Part, ...] = ()
    level = settings.confidence
    try:
        draws = min(settings.n_resamples, 1000)
        found += validation_parts(validate_similarity(labels, n_resamples=draws, seed=settings.seed, confidence=level))
        found += reliability_parts(odd_one_out_agreement(labels, clusters=settings.clusters, **shared))
    except DesignError as reason:
        found += (Part("Do automatic measures see what experts see?", lines=(f"Not known: {reason}.",)),)
    try:
        return (*found, *triplet_parts(triplet_similarity(labels, confidence=level)))
    except DesignError:
        return found


FURTHER = (_agreement, _position, _raters, _votes, _ideas, _generalizability)
"""What a report asks besides the alt-test, in the order of the page: each gives parts, or none where the table does not
allow the question. A new question joins by one row."""
