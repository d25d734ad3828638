"""What do these labels say about the judges? One screen first, then every question the table allows, on one page.

`report` puts the alt-test to every judge, fills the card, asks `FURTHER` questions, and gathers all in a `Report`.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
import polars as pl

from assay.concordance.agreement import agreement
from assay.concordance.disagreement import disagreement, farthest_items
from assay.concordance.measures import level_of
from assay.concordance.page import MOST_ANNOTATORS, agreement_parts, disagreement_parts, farthest_part
from assay.data.annotations import Annotations
from assay.data.chunks import Chunks
from assay.data.scales import Label
from assay.errors import AssayError, DesignError, counted, listing
from assay.estimates.corrected import CorrectedEstimate, estimate
from assay.estimates.page import estimate_parts, saving_words
from assay.estimation.intervals import Estimate
from assay.estimation.options import option, question
from assay.estimation.result import Result, Run, json_safe
from assay.estimation.statistic import Floats, Ints
from assay.ideas.annotators import annotator_similarity
from assay.ideas.choices import has_choices
from assay.ideas.page import annotator_parts, reliability_parts, triplet_parts, validation_parts
from assay.ideas.reliability import odd_one_out_agreement
from assay.ideas.triplets import triplet_similarity
from assay.ideas.validate import validate_similarity
from assay.preference.consistency import consistency
from assay.preference.leaderboard import ratings
from assay.preference.page import consistency_parts, leaderboard_parts, position_parts
from assay.preference.position import position_bias
from assay.preference.votes import has_separability, has_votes
from assay.psychometrics.disattenuation import disattenuated_correlation
from assay.psychometrics.g_study import g_study
from assay.psychometrics.page import disattenuation_parts, g_study_parts, rater_parts
from assay.psychometrics.raters.model import rater_model
from assay.psychometrics.raters.table import RepeatsKept
from assay.reading import labels_of
from assay.replacement.alt_test import AltTest, alt_test
from assay.replacement.compare import JudgeComparison, compare
from assay.replacement.domains import AltTestBy, correct_judges, test_domains
from assay.replacement.page import (
    LABEL_TONES,
    asked_words,
    card,
    card_by,
    epsilon_curves,
    methods,
    question_words,
    results,
    rule_words,
    size_curves,
    verdict_labels,
    works,
)
from assay.replacement.panel import AltTestBySettings, AltTestSettings, CompareSettings
from assay.reporting import pictures, tables
from assay.reporting.page import Card, Copy, NextStep, Page, Part, Picture, Section, atomic_write, section_of
from assay.reporting.references import bibtex
from assay.verdict.card import CardSettings, JudgeCard, contrasts_part, judge_card
from assay.verdict.changes import OldReport, changes_since
from assay.verdict.preregistration import Preregistration, before_verdict, plan_beside, replies_about
from assay.verdict.probes import JudgeProbes, ProbeRow, ProbeSettings, called_parts, called_probes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

S = TypeVar("S", bound=AltTestSettings)
Shared = dict[str, Any]
"""Options that every question on the page takes."""

Progress = Callable[[str, int, int], None]
"""Told what is being done, how many steps are done and how many there are."""

MOST_REFITS = 200
"""Resamples for which variances are estimated anew: each is a fit of its own, and 200 take seconds."""

LEAST_RATERS = 3
"""Raters that a report compares by the rater model: of two, nobody can tell which one errs."""

REPORTED_STARTS = 2
"""Starts of the rater model in a report: the second tells whether the first was lucky."""

MOST_RATED = 20_000
"""Labels of a table for which a report fits the rater model: with two starts it takes some ten seconds."""

MOST_FARTHEST = 10
"""Items on which judges are farthest from people: of all judges together, at least two of each."""

MOST_ESTIMATED = 4
"""Judges whose labels are corrected on the page."""

MOST_CHECKED = 0.8
"""Share of a judge's items with people's labels up to which a report says what people would say of all of them: above,
people's own labels say it."""

MOST_LABELS = 24
"""Categories that fit into the picture of labels; the rarest share a column beyond that."""


@dataclass(frozen=True, kw_only=True)
class ReportSettings(AltTestSettings):
    """Options of `report`: those of the alt-test, and which judges and domains.

    Those of repeats, clusters and intervals hold for every question on the page.
    """

    judges: Sequence[str] | str | None = option(None, "The judges to report on, separated by commas.")
    by: str | None = option(
        None, "Column that tells domains apart; the criterion where the table has several.", first=True
    )
    plan: str | None = option(
        None,
        "The plan file, written by assay plan --write: what is as planned is said, and what is not.",
        key="",
        details="It gives every option that it decides and that you do not give yourself. Without it, labels are held "
        "against the plan in their study's folder.",
        first=True,
    )
    object: str | None = option(
        None, "Column of what scores are about, such as the teacher, for the card; the clusters when not given."
    )
    lesson: str | None = option(None, "Column of the occasions of an object, such as the lesson, for the card.")
    family: str | None = option(None, "Annotator column that says which family a judge is of, for the card.")
    group: str | None = option(None, "Column of groups of objects, for the card's fairness.")
    compare: str | None = option(
        None, "The .json file of an older report: what changed since, judge beside judge and cell beside cell.", key=""
    )
    title: str | None = option(None, "Headline of the page.", key="")
    progress: Progress | None = option(None, "Called with (what, done, steps).", transient=True)

    @classmethod
    def of(cls, options: Mapping[str, Any], question: str | None = None) -> Self:
        """Settings from keyword options, and from the plan what is not given."""
        plan = options.get("plan")
        decided = {} if plan is None else Preregistration.read(plan).options(cls, options)
        return super().of({**decided, **options}, question)

    def __post_init__(self) -> None:
        if isinstance(self.judges, str):
            object.__setattr__(self, "judges", (self.judges,))
        super().__post_init__()

    @property
    def every_question(self) -> Shared:
        """The options of intervals, as every question on the page takes them."""
        shared = {name: getattr(self, name) for name in ("n_resamples", "confidence", "seed")}
        return shared | ({"method": self.method} if "method" in self.changed() else {})


@question(ReportSettings)
def report(source: Any, settings: ReportSettings) -> Report:
    """What do these labels say about the judges, top-down?

    Parameters
    ----------
    source : Annotations, Chunks, path or frame
        Labels, or what `assay.read` reads without further options; those named by ``judges`` are judges.

    Raises
    ------
    DesignError
        Where there is no judge, or no test can be made.
    """
    old = None if settings.compare is None else OldReport.read(settings.compare)
    read_already = isinstance(source, Annotations | Chunks)
    labels = source if read_already else labels_of("report", (source,), settings.judges)[0]
    labels = labels.in_memory("a report")
    judges = list(settings.judges or labels.judges)
    if not judges:
        raise DesignError("the table has no judge to report on; name the judges with judges=[...] when reading")
    settings, first = before_verdict(labels, judges, settings, settings.plan or plan_beside(labels))
    by = settings.by or ("criterion" if len(labels.criteria) > 1 else None)
    a_path = isinstance(source, str | os.PathLike)
    named = "labels" if read_already else repr(os.fspath(source)) if a_path else "frame"
    return ReportBuilder(labels, named, judges, by, settings, first, old).report()


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
    card : JudgeCard or None
        The seven questions about every judge; None where these labels allow none.
    results, methods : tuple of str
        Sentences for the results and the methods section of a paper.
    """

    symbol: ClassVar[str] = "ρ"

    page: Page = field(repr=False, metadata={"json": False})
    comparison: JudgeComparison | None = field(repr=False)
    by: Mapping[str, AltTestBy] = field(repr=False)
    run: Run
    card: JudgeCard | None = field(default=None, repr=False)
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
        return _all_tables(self.by)

    def row_estimates(self) -> Sequence[Estimate | None]:
        """rho of each judge, in each domain where there are several."""
        found = self.by.values() if self.comparison is None else (self.comparison,)
        return [one for result in found for one in result.row_estimates()]

    def summary(self) -> str:
        """The verdicts as plain lines."""
        lines = [self.title]
        lines += ["", *self.page.first] if self.page.first else []
        if self.page.changes is not None:
            lines += ["", "Since the older report:", *(f"  {line}" for line in self.page.changes.words)]
        for one in self.cards:
            lines += ["", one.headline, "  " + one.evidence.strip().replace("\n", "\n  ")]
            if one.advice.strip():
                lines.append("  " + one.advice.strip())
            lines += ["  - " + beside for beside in one.beside]
        return "\n".join([*lines, "", self.signature])

    def made_by(self, command: str, asked: Callable[[NextStep], str] | None = None) -> Report:
        """The same report, whose page says that this command makes it again, and with which ones to go on."""
        cards = self.cards if asked is None else tuple(_add_command(one, asked) for one in self.cards)
        return replace(self, page=replace(self.page, again=command, cards=cards))

    def html(self) -> str:
        """The page, see `Page.html`, with every number inside as JSON."""
        return replace(self.page, data=self.json()).html()

    def markdown(self) -> str:
        """The page in Markdown, without pictures."""
        return self.page.markdown()

    def json(self) -> str:
        """`to_dict` as one line."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page (.html or .md) and every number as .json beside it; the folder is made where it is missing."""
        found = replace(self.page, data=self.json())
        target = found.save(path)
        with atomic_write(target.with_suffix(".json")) as place:
            place.write_text(found.data + "\n", encoding="utf-8")
        return target

    def to_dict(self) -> dict[str, Any]:
        """Everything, safe for JSON: verdicts, tests, the card, the tables of every section with all their digits."""
        said = {"title": self.title, "first": list(self.page.first), "cards": json_safe(self.cards)}
        sections = [json_safe(section.to_dict()) for _, section in self.page.placed if section.tables]
        return {**super().to_dict(), **said, "sections": sections}


def _add_command(one: Card, asked: Callable[[NextStep], str]) -> Card:
    if one.step is None or not one.step.ask:
        return one
    return replace(one, step=replace(one.step, command=asked(one.step)))


def _call(step: NextStep, labels: str) -> str:
    """The call that goes on, in Python."""
    column, _, value = step.where.partition("=")
    those = f"{labels}.where({column}={value!r})" if column else labels
    return f"assay.{step.ask}({those}, {f'{step.judge!r}' if step.ask == 'estimate' else 'first=' + repr('judges')})"


class ReportBuilder:
    """Makes the parts of a report in the order in which they are read."""

    def __init__(
        self, labels: Annotations, named: str, judges: list[str], by: str | None, settings: ReportSettings,
        first: tuple[str, ...] = (), old: OldReport | None = None,
    ) -> None:  # fmt: skip
        self.labels, self.named, self.judges, self.by, self.settings = labels, named, judges, by, settings
        self.first, self.old, self.no_card = first, old, ""
        asked = ProbeSettings(judges=tuple(judges), clusters=settings.clusters, confidence=settings.confidence)
        self.probes: JudgeProbes | None = called_probes(labels, asked)
        self.steps = 5 if by is None else 3 + len(judges)
        self.done = 0

    def report(self) -> Report:
        """All of it."""
        return self._one_question() if self.by is None else self._domain_report(self.by)

    def _step(self, what: str) -> None:
        if self.settings.progress is not None:
            self.settings.progress(what, self.done, self.steps)
        self.done += 1

    def _one_question(self) -> Report:
        self._step("testing the judges")
        found = compare(self.labels, self._question_settings(CompareSettings, judges=tuple(self.judges)))
        tests = list(found.tests.values())
        self._step("looking ahead")
        cards = tuple(_cards(self.labels, tests, self.settings))
        tested = [test for test in tests if test.n_annotators]
        sections = [_judges_section(found, tested), *([_annotators_section(tested)] if tested else [])]
        sections += [*self._farthest_sections([test.judge for test in tests]), *self._labels_sections([self.labels])]
        self._step("filling the card")
        marks = self._card([test.judge for test in tests], lambda judge, _: found.tests[judge])
        self._step("measuring agreement")
        sections += self._further_sections()
        self._step("drawing")
        return self._finish(cards, sections, tests, found, {}, marks)

    def _domain_report(self, by: str) -> Report:
        found: dict[str, AltTestBy] = {}
        each = self._question_settings(AltTestBySettings, by=by)
        for judge in self.judges:
            self._step(f"testing {judge}")
            found[judge] = test_domains(self.labels, judge, each)
        found = correct_judges(dict(sorted(found.items(), key=lambda one: (-one[1].passed_in, one[0]))))
        tests = [test for result in found.values() for test in result.tests.values()]
        cards = tuple(card_by(result) for result in found.values())
        sections = [_domains_section(found), *self._farthest_sections(list(found))]
        sections += self._labels_sections([part for _, part in self.labels.split(by)])
        self._step("filling the card")
        marks = self._card(list(found), lambda judge, criterion: self._find_test(found, judge, criterion))
        self._step("measuring agreement")
        sections += self._further_sections()
        self._step("drawing")
        return self._finish(cards, sections, tests, None, found, marks)

    def _find_test(self, found: Mapping[str, AltTestBy], judge: str, criterion: str | None) -> AltTest | str:
        """The test of a judge on a criterion; where domains are none, one over all of them."""
        if self.by == "criterion" and criterion is not None:
            one = found[judge]
            return one.tests.get(criterion) or f"no test: {one.untested.get(criterion, 'it has no labels of it')}"
        part = self.labels if criterion is None else self.labels.where(criterion=criterion)
        try:
            options = {
                name: value
                for name, value in vars(self._question_settings(AltTestSettings)).items()
                if value is not None
            }
            return alt_test(part, judge, **options)
        except AssayError as reason:
            return f"no test: {reason}"

    def _card(self, judges: Sequence[str], tested: Callable[[str, str | None], AltTest | str]) -> JudgeCard | None:
        """The seven questions about every judge, best first; none where these labels allow none, which is said."""
        s = self.settings
        named = {name: getattr(s, name) for name in ("object", "lesson", "family", "group") if getattr(s, name)}
        implied = {"object": s.clusters} if s.clusters is not None and "object" not in named else {}
        shared = {name: getattr(s, name) for name in ("expertise", "epsilon", "alpha", "repeats")}
        for more in (implied, {}) if implied else ({},):
            try:
                settings = CardSettings(judges=tuple(judges), **{**more, **named}, **shared)
                return judge_card(self.labels, settings, tested)
            except DesignError as reason:
                if (named or self.old is not None) and not more:
                    raise
                self.no_card = f"There is no card: {reason}. "
        return None

    def _question_settings(self, kind: type[S], **own: Any) -> S:
        """The options of the test, with those that a question has of its own."""
        shared = {f.name: getattr(self.settings, f.name) for f in fields(AltTestSettings)}
        return kind(**shared, **own)

    def _finish(
        self, cards: tuple[Card, ...], sections: Sequence[Section], tests: Sequence[AltTest],
        comparison: JudgeComparison | None, by: Mapping[str, AltTestBy], marks: JudgeCard | None,
    ) -> Report:  # fmt: skip
        labels, s = self.labels, self.settings
        people = counted(len(labels.humans), "person")
        about = (
            f"{counted(len(labels), 'label')}: {counted(labels.n_items, 'item')}, {people}, "
            f"{counted(len(labels.judges), 'judge')}; {labels.reading.source}"
        )
        asked = asked_words(tests) if s.title is None else f"{question_words(tests)} {asked_words(tests)}"
        behind = [] if marks is None else [replace(section_of(contrasts_part(marks)), folded=True)]
        cited = tests if comparison is not None else list(by.values())
        ends = (self._exclusions_section(tests, by), _cite_section(tests, cited))
        leading = tuple(self._add_probe_faults(_add_command(one, partial(_call, labels="labels"))) for one in cards)
        faults = tuple(f"{row.where} {row.sentence()}." for row in self._faults())
        page = Page(
            s.title or question_words(tests), about, leading, (*sections, *behind, *ends), asked, call(s, self.named),
            self.first, None if marks is None else replace(marks.marks(), faults=faults), document=s.clusters,
            rule=("" if marks is not None else self.no_card) + rule_words(tests),
        )  # fmt: skip
        if self.old is not None and marks is not None:
            data = (comparison or next(iter(by.values()))).run.data
            page = replace(page, changes=changes_since(self.old, marks, s.to_dict(), data))
        facts = {"judges": tuple(self.judges), "items": labels.n_items, "score": tests[0].score}
        first = comparison.run if comparison is not None else next(iter(by.values())).run
        run = Run(
            "report", s, first.data, facts, first.interval, labels.reading.exclusions, labels.reading.notes,
            tuple(dict.fromkeys((*self.first, *(c for test in tests for c in test.cautions)))),
        )  # fmt: skip
        return Report(page, comparison, by, run, marks, tuple(results(tests)), tuple(methods(tests)))

    def _farthest_sections(self, judges: Sequence[str]) -> list[Section]:
        """The items on which each judge is farthest from people, with what it replied where the study keeps it."""
        labels, s = self.labels, self.settings
        if any(scale.kind in ("text", "odd-one-out") for scale in labels.scales.values()):
            return []
        each = max(2, MOST_FARTHEST // (len(judges) * max(len(labels.criteria), 1)))

        def farthest() -> tuple[Part, ...]:
            frames = [farthest_items(labels, judge, each, s.repeats) for judge in judges]
            known = [frame for frame in frames if frame.height]
            found = pl.concat(known, how="diagonal_relaxed") if known else pl.DataFrame()
            replies = replies_about(labels, found.select("judge", "item").rows()) if known else {}
            return (farthest_part(found, replies, s.clusters),)

        return [section_of(part) for part in _parts("Where is a judge farthest from people?", farthest)]

    def _labels_sections(self, parts: Sequence[Annotations]) -> list[Section]:
        drawn: list[Picture] = []
        for part in parts:
            if not has_shares(part):
                continue
            name = "" if len(parts) == 1 or self.by is None else f" ({part.values_of(self.by)[0]})"
            caption = f"Share of each label in percent{name}: people, then judges."
            drawn.append(Picture(partial(label_shares, part), f"How often each label is given{name}", caption))
        words = ("A judge that uses the labels differently from people fails here, whatever it understands.",)
        return [Section("Which labels people and judges give", words, pictures=tuple(drawn))] if drawn else []

    def _further_sections(self) -> list[Section]:
        """The other questions that this table allows, in the order of `FURTHER`."""
        by = None if self.by in (None, "criterion") else self.by
        s = self.settings
        found = [part for ask in FURTHER for part in ask(self.labels, by, s, s.every_question)]
        return [section_of(part) for part in (*([] if self.probes is None else called_parts(self.probes)), *found)]

    def _add_probe_faults(self, one: Card) -> Card:
        """A verdict with the faults that answers to probes show of its judge."""
        mine = (row for row in self._faults() if row.judge == one.judge)
        return replace(one, beside=(*one.beside, *(f"Asked once more, {row.where} {row.sentence()}." for row in mine)))

    def _faults(self) -> tuple[ProbeRow, ...]:
        return () if self.probes is None else self.probes.shown

    def _exclusions_section(self, tests: Sequence[AltTest], by: Mapping[str, AltTestBy]) -> Section:
        lines: dict[str, None] = dict.fromkeys(self.labels.reading.lines())
        grouped: dict[str, list[str]] = {}
        for test in tests:
            for one in test.exclusions:
                name = test.judge + (f" ({test.domain.partition('=')[2]})" if test.domain else "")
                grouped.setdefault(str(one), []).append(name)
        for what, names in grouped.items():
            who = "every test" if len(names) == len(tests) else listing(names, 4)
            lines[f"{what} [{who}]"] = None
        for judge, result in by.items():
            for domain, why in result.untested.items():
                lines[f"{judge}, {domain}: not tested; {why}"] = None
        return Section("Exclusions and assumptions", lines=tuple(lines) or ("Nothing is excluded.",), folded=True)


def call(settings: ReportSettings, labels: str) -> str:
    """The call that makes this report, with every option that is not at its default."""
    given = {k: getattr(v, "__name__", None) or repr(v) for k, v in settings.changed().items() if k != "progress"}
    return f"assay.report({', '.join([labels, *(f'{k}={v}' for k, v in given.items())])})"


# -- the sections of the alt-test --------------------------------------------------------------------


def _judges_section(found: JudgeComparison, tested: Sequence[AltTest]) -> Section:
    shown = tables.shown(
        verdict_labels(found.table.drop("kind")),
        drop=("passed",),
        symbol="ρ",
        tones={"verdict": dict(LABEL_TONES)},
        caption="ρ with its interval; ω is the winning rate; at the smallest ε the judge would just pass, "
        "from the needed ε up it is truly as good as half of the people. Items needed, with their range, where too "
        "few are why these do not tell.",
    )
    words = tuple(found.summary().splitlines()[:-1])
    return Section("The judges side by side", words, (shown,), _curves(tested) if tested else ())


_COLUMNS = (
    "annotator", "n", "estimate", "low", "high", "rho_human", "p_adjusted", "rejected", "p_as_good", "p_worse",
    "n_judge_better", "n_tie", "n_human_better",
)  # fmt: skip


def _annotators_section(tested: Sequence[AltTest]) -> Section:
    rows = [test.table.select(pl.lit(test.judge).alias("judge"), *_COLUMNS) for test in tested]
    shown = tables.shown(
        pl.concat(rows), symbol="ρ", caption="Each annotator is left out in turn: how often the judge is as close to "
        "the others as that annotator, or closer (ρ), beside the annotator's own ρ; p-values of being as good, less "
        "ε, and of being worse.",
    )  # fmt: skip
    won = (f"{test.judge} wins against {int(test.table['rejected'].sum())} of {test.n_annotators}" for test in tested)
    words = (f"As published, {'; '.join(won)} annotators.",)
    return Section("Annotator by annotator", words, (shown,))


def _curves(tested: Sequence[AltTest]) -> tuple[Picture, ...]:
    return (
        Picture(
            partial(epsilon_curves, tested), "Winning rate against epsilon",
            "The winning rate at every ε, for exploring: ε is chosen before the labels are seen.",
        ),
        Picture(
            partial(size_curves, tested), "Studies that end in a verdict against the number of items",
            "How many studies of other sizes, by the same annotators, would end in a verdict, yes or no, averaged "
            "over what these labels leave open.",
        ),
    )  # fmt: skip


def _domains_section(found: Mapping[str, AltTestBy]) -> Section:
    first = next(iter(found.values()))
    labelled = verdict_labels(_all_tables(found))
    shown = tables.shown(labelled, drop=("passed",), symbol="ρ", caption=f"Every judge by {first.by}.",
                         tones={"verdict": dict(LABEL_TONES)})  # fmt: skip
    scope = "all domains together" if first.correction == "across" else "each domain on its own"
    passed = "; ".join(f"{judge} passes in {result.passed_in} of {result.n_domains}" for judge, result in found.items())
    words = (f"As published, {passed}.", f"The false discovery rate is held over {scope}.")
    return Section(f"By {first.by}", words, (shown,))


def _all_tables(found: Mapping[str, AltTestBy]) -> pl.DataFrame:
    """The tables of all judges, one below the other."""
    return pl.concat([result.table.insert_column(0, pl.lit(j).alias("judge")) for j, result in found.items()])


def _cite_section(tests: Sequence[AltTest], cited: Sequence[Result]) -> Section:
    words = (*results(tests), *methods(tests))
    signatures = tuple(result.signature for result in cited)
    copies = (Copy("Works named above", bibtex(works(tests))),)
    return Section("How to report this", words, lines=signatures, copies=copies, folded=True)


# -- which labels people and judges give, as a picture -----------------------------------------------


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


# -- the other questions ---------------------------------------------------------------------------


def _parts(title: str, make: Callable[[], tuple[Part, ...]]) -> tuple[Part, ...]:
    """The parts; or, where the labels cannot answer, a part that says why."""
    try:
        return make()
    except DesignError as reason:
        return (Part(title, lines=(f"Not known: {reason}.",)),)


def _agreement(labels: Annotations, by: str | None, settings: AltTestSettings, shared: Shared) -> tuple[Part, ...]:
    """Do people agree at all, and is a judge closer to them than they are to each other?"""
    if any(scale.kind in ("text", "odd-one-out") for scale in labels.scales.values()):
        return ()
    few = len(labels.humans) + len(labels.judges) <= MOST_ANNOTATORS
    found = agreement(
        labels,
        coefficients=list(dict.fromkeys(f"krippendorff-alpha-{level_of(s)}" for s in labels.scales.values())),
        who=("humans", "judges", "human pairs", *(("pairs",) if few else ())),
        by=by,
        repeats=settings.repeats,
        clusters=settings.clusters,
        **shared,
    )
    return agreement_parts(found)


def _disagreement(labels: Annotations, by: str | None, settings: AltTestSettings, shared: Shared) -> tuple[Part, ...]:
    """On which items and categories do they disagree?"""
    if any(scale.kind in ("text", "odd-one-out") for scale in labels.scales.values()):
        return ()
    return _parts(
        "Where do annotators disagree?",
        lambda: disagreement_parts(
            disagreement(labels, repeats=settings.repeats, clusters=settings.clusters, **shared)
        ),
    )


def _position(labels: Annotations, by: str | None, settings: AltTestSettings, shared: Shared) -> tuple[Part, ...]:
    """Does the place of a text change the answer? Where answers keep what was shown where."""
    asked = {scale.kind for scale in labels.scales.values()} & {"preference", "odd-one-out"}
    if not asked or "position" not in labels.labels.columns:
        return ()
    return _parts(
        "Position bias: does the place of a text change the answer?",
        lambda: position_parts(position_bias(labels, clusters=settings.clusters, **shared)),
    )


def _raters(labels: Annotations, by: str | None, settings: AltTestSettings, shared: Shared) -> tuple[Part, ...]:
    """Who is severe and who erratic? By the quick road, where three or more gave ordered labels."""
    if (
        any(scale.kind != "ordinal" for scale in labels.scales.values())
        or len(labels.humans) + len(labels.judges) < LEAST_RATERS
    ):
        return ()
    title = "Who is severe, who is erratic?"
    if len(labels) > MOST_RATED:
        why = f"the table has more than {MOST_RATED:,} labels; ask assay.rater_model(labels, quick=True)"
        return (Part(title, lines=(f"Not asked here: {why}.",)),)
    repeats: RepeatsKept = "each" if settings.repeats == "mean" else settings.repeats
    options: Shared = {"repeats": repeats, "confidence": settings.confidence, "seed": settings.seed}
    return _parts(title, lambda: rater_parts(rater_model(labels, quick=True, starts=REPORTED_STARTS, **options)))


def _votes(labels: Annotations, by: str | None, settings: AltTestSettings, shared: Shared) -> tuple[Part, ...]:
    """Which system is preferred, and can anyone tell? Where labels are votes on named systems."""
    if not has_votes(labels):
        return ()

    boards = _parts(
        "Which system do people and judges prefer?",
        lambda: leaderboard_parts(ratings(labels, clusters=settings.clusters, **shared)),
    )
    binned = "separability" if has_separability(labels) else None
    return (*boards, *consistency_parts(consistency(labels, by=binned, clusters=settings.clusters, **shared)))


def _ideas(labels: Annotations, by: str | None, settings: AltTestSettings, shared: Shared) -> tuple[Part, ...]:
    """Do judges see what experts see, where labels are odd ones out; where does each sit, where they are texts?"""
    s = settings
    if has_choices(labels):
        return _odd_ones(labels, settings, shared)
    if len(labels.criteria) > 1 or labels.scale.kind != "text":
        return ()
    # The similarity of the test, where it compares any two texts.
    named = s.similarity if isinstance(s.similarity, str) or callable(s.similarity) else "words"
    return _parts(
        "Where does each judge sit among the people?",
        lambda: annotator_parts(annotator_similarity(labels, similarity=named, clusters=s.clusters, **shared)),
    )


def _odd_ones(labels: Annotations, settings: AltTestSettings, shared: Shared) -> tuple[Part, ...]:
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


def _generalizability(
    labels: Annotations, by: str | None, settings: AltTestSettings, shared: Shared
) -> tuple[Part, ...]:
    """How far do scores of documents carry, and do judges measure what people do? Where items have clusters."""
    s = settings
    if s.clusters is None or not all(scale.numeric for scale in labels.scales.values()):
        return ()
    design, facets = "r x (o:i)", {"r": "annotator", "o": "item", "i": s.clusters}
    options: Shared = {"facets": facets, "repeats": s.repeats, "confidence": s.confidence, "seed": s.seed}
    both = bool(labels.humans and labels.judges)
    try:
        found = g_study_parts(g_study(labels, design, "i", by="kind" if both else None, **options))
    except DesignError as reason:
        return (Part("How far do scores carry?", lines=(f"Not known: {reason}.",)),)
    if not both:
        return found
    draws = min(s.n_resamples, MOST_REFITS)
    correlated = _parts(
        "Do human and judge measure the same thing?",
        lambda: disattenuation_parts(disattenuated_correlation(labels, design, "i", n_resamples=draws, **options)),
    )
    return (*found, *correlated)


def _estimates(labels: Annotations, by: str | None, settings: AltTestSettings, shared: Shared) -> tuple[Part, ...]:
    """What would people say of all items? Where judges labelled many more than people did."""
    found: tuple[Part, ...] = ()
    for judge in _ahead_of_people(labels)[:MOST_ESTIMATED]:
        title = f"What would people say of all items that {judge} labelled?"
        found += _parts(title, partial(_estimate_parts, labels, judge, settings))
    return found


def _ahead_of_people(labels: Annotations) -> list[str]:
    """The judges with many items that people did not label."""
    if len(labels.criteria) > 1 or labels.scale.kind in ("text", "odd-one-out", "preference"):
        return []
    answered = labels.where(kind="human").items["item"] if labels.humans else labels.items["item"].head(0)
    items = {judge: labels.where(annotator=judge).items["item"] for judge in labels.judges}
    return [j for j, mine in items.items() if int(mine.is_in(answered.implode()).sum()) <= MOST_CHECKED * len(mine)]


def _corrected_estimate(labels: Annotations, judge: str, settings: AltTestSettings) -> CorrectedEstimate:
    own = {name: getattr(settings, name) for name in ("confidence", "clusters", "repeats")}
    return estimate(labels, judge, **own)


def _estimate_parts(labels: Annotations, judge: str, settings: AltTestSettings) -> tuple[Part, ...]:
    return estimate_parts(_corrected_estimate(labels, judge, settings))


def _cards(labels: Annotations, tests: Sequence[AltTest], settings: AltTestSettings) -> Iterator[Card]:
    """The verdicts; of judges that may replace and labelled items that people did not, with what that is worth."""
    ahead = _ahead_of_people(labels)
    for test in tests:
        one = card(test)
        if test.verdict == "replace" and test.judge in ahead and one.step is not None and one.step.ask == "estimate":
            try:
                worth = f"what people would say of {saving_words(_corrected_estimate(labels, test.judge, settings))}"
                one = replace(one, step=replace(one.step, words=f"report {worth}:"))
                more = f"Next: report {worth}."
            except DesignError as reason:
                more = f"What people would say of all its items is not known: {reason}."
            one = replace(one, evidence=f"{one.evidence}\n{more}")
        yield one


FURTHER = (_estimates, _agreement, _disagreement, _position, _raters, _votes, _ideas, _generalizability)
"""What a report asks besides the alt-test, in the order of the page: each gives parts, or none where the table does not
allow the question. A new question joins by one row."""
