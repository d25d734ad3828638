"""Report on the judges of a table: one screen with the verdicts, then one section per analysis that the table allows.

`report` tests every judge, fills the card, adds the parts of `FURTHER` and gathers everything in a `Report`.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
import polars as pl

from assay.concordance.groups.disagreement import farthest_items
from assay.concordance.page import farthest_part
from assay.data.annotations import Annotations
from assay.data.chunked.chunks import Chunks
from assay.data.scales import Label
from assay.errors import AssayError, DesignError, counted, listing, no_judge
from assay.estimates.page import corrected_estimate, judges_with_more_items, saving_words
from assay.estimation.intervals import Estimate
from assay.estimation.options import option, question
from assay.estimation.result import Result, Run, json_safe
from assay.estimation.statistic import Floats, Ints
from assay.plugins import Registry
from assay.reading import labels_of
from assay.replacement.alt_test import AltTest, alt_test, choice_cautions
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
from assay.reporting.page import (
    Card,
    Copy,
    NextStep,
    Page,
    Part,
    PartOptions,
    Picture,
    Section,
    atomic_write,
    parts_or_reason,
    section_of,
)
from assay.reporting.references import bibtex
from assay.verdict import words
from assay.verdict.card import CardSettings, JudgeCard, contrasts_part, judge_card
from assay.verdict.preregistration import Preregistration, before_verdict, responses_about, study_plan
from assay.verdict.probe_calls import probe_answers
from assay.verdict.probe_measures import ProbeRow
from assay.verdict.probes import JudgeProbes, ProbeSettings, called_parts, called_probes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

S = TypeVar("S", bound=AltTestSettings)

Progress = Callable[[str, int, int], None]
"""Called with the current step, the number of finished steps and their total."""

MakeParts = Callable[[Annotations, PartOptions], tuple[Part, ...]]

MOST_FARTHEST = 10
"""Items with the largest disagreement that a report shows: of all judges together, and at least two of each."""

MOST_LABELS = 24
"""Categories that fit into the picture of labels; beyond that the rarest share one column."""


@dataclass(frozen=True, kw_only=True)
class ReportSettings(AltTestSettings):
    """Options of `report`: those of the alt-test, and the judges and domains.

    Those of repeats, clusters and intervals apply to every analysis on the page.
    """

    judges: Sequence[str] | str | None = option(None, "The judges to report on, separated by commas.")
    by: str | None = option(
        None,
        "Analyse each value of this column separately; by default each criterion, if there are several.",
        first=True,
    )
    plan: str | None = option(
        None,
        "Preregistered plan; the report lists deviations.",
        key="",
        details="It sets every option that it decides and that you do not set. By default labels of a study are "
        "compared with the plan in the study's folder.",
        first=True,
    )
    object: str | None = option(
        None, "Column with the object of measurement, such as the teacher; by default the clusters."
    )
    lesson: str | None = option(None, "Column with the occasion of an object, such as the lesson.")
    family: str | None = option(None, "Annotator column with the family of each judge.")
    group: str | None = option(
        None, "Column with groups of objects, for the card's fairness; hospital,sex for each combination."
    )
    title: str | None = option(None, "Headline of the page.", key="")
    progress: Progress | None = option(None, "Called with (what, done, steps).", transient=True)

    @classmethod
    def of(cls, options: Mapping[str, Any], question: str | None = None) -> Self:
        """Return settings from keyword options; options that are not given come from the plan."""
        plan = options.get("plan")
        decided = {} if plan is None else Preregistration.read(plan).options(cls, options)
        return super().of({**decided, **options}, question)

    def __post_init__(self) -> None:
        if isinstance(self.judges, str):
            object.__setattr__(self, "judges", (self.judges,))
        super().__post_init__()

    def shared(self, by: str | None) -> PartOptions:
        """The options that every part of the page takes."""
        intervals = {name: getattr(self, name) for name in ("n_resamples", "confidence", "seed")}
        intervals |= {"method": self.method} if "method" in self.changed() else {}
        return PartOptions(
            by=by,
            repeats=self.repeats,
            clusters=self.clusters,
            similarity=self.similarity,
            intervals=intervals,
            group=self.group,
            object=self.object or self.clusters,
        )


@question(ReportSettings)
def report(source: Any, settings: ReportSettings) -> Report:
    """Report on every judge: the verdicts first, then each analysis that the table allows.

    Parameters
    ----------
    source : Annotations, Chunks, path or frame
        Labels, or anything that `assay.read` reads without further options; those named by ``judges`` are judges.

    Raises
    ------
    DesignError
        If the table has no judge, or no judge can be tested.

    Examples
    --------
    >>> import assay, pathlib, tempfile
    >>> labels = assay.simulate(n_items=60, judges={"gpt": 0.2}, seed=1)
    >>> found = assay.report(labels, epsilon=0.2)
    >>> found.title
    'Can gpt replace one of these annotators?'
    >>> path = found.save(pathlib.Path(tempfile.mkdtemp()) / "report.html")
    >>> path.name, path.with_suffix(".json").exists()
    ('report.html', True)
    """
    read_already = isinstance(source, Annotations | Chunks)
    labels = source if read_already else labels_of("report", (source,), settings.judges)[0]
    labels = labels.in_memory("a report")
    settings = settings if read_already else settings.of_table(labels)
    wanted = [settings.judges] if isinstance(settings.judges, str) else settings.judges
    labels, judges = labels.each_repeat(wanted or None, settings.repeats)
    if not judges:
        raise DesignError(no_judge(labels.reading.study, "to report on"))
    settings, notices = before_verdict(labels, judges, settings, settings.plan or study_plan(labels))
    notices += tuple(one for one in choice_cautions(labels, judges, settings) if one not in notices)
    by = settings.by or ("criterion" if len(labels.criteria) > 1 else None)
    a_path = isinstance(source, str | os.PathLike)
    named = "labels" if read_already else repr(os.fspath(source)) if a_path else "frame"
    return ReportBuilder(labels, named, judges, by, settings, notices).report()


@dataclass(frozen=True, eq=False)
class Report(Result):
    """The verdicts on the judges and every further analysis, ready to be read.

    Attributes
    ----------
    page : Page
        The page: title, verdicts (`cards`), sections.
    comparison : JudgeComparison or None
        All judges of a table with one criterion.
    by : mapping of judge to AltTestBy
        For a table with several criteria or domains.
    card : JudgeCard or None
        The seven criteria for every judge; None if these labels allow no card.
    results, methods : tuple of str
        Sentences for the results and the methods section of a paper.
    fingerprint : str
        Of the whole table of labels; ``data`` is that of the comparison.
    """

    symbol: ClassVar[str] = "ρ"

    page: Page = field(repr=False, metadata={"json": False})
    comparison: JudgeComparison | None = field(repr=False)
    by: Mapping[str, AltTestBy] = field(repr=False)
    run: Run
    card: JudgeCard | None = field(default=None, repr=False)
    results: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    fingerprint: str = ""

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
        """The table of judges (and domains), all digits; ``kind`` is ``ceiling`` for the optimal judge."""
        if self.comparison is not None:
            return self.comparison.table
        return _all_tables(self.by).insert_column(1, pl.lit("judge").alias("kind"))

    def row_estimates(self) -> Sequence[Estimate | None]:
        """The advantage probability of each judge, and in each domain if there are several."""
        found = self.by.values() if self.comparison is None else (self.comparison,)
        return [one for result in found for one in result.row_estimates()]

    def summary(self) -> str:
        """The verdicts as plain lines."""
        lines = [self.title]
        lines += ["", *self.page.notices] if self.page.notices else []
        for one in self.cards:
            lines += ["", one.headline, "  " + one.evidence.strip().replace("\n", "\n  ")]
            lines += [f"  Limits of the verdict: {limit}" for limit in one.limits]
            if one.advice.strip():
                lines.append("  " + one.advice.strip())
            lines += ["  - " + detail for detail in one.details]
        return "\n".join([*lines, "", self.signature])

    def made_by(self, command: str, next_command: Callable[[NextStep], str] | None = None) -> Report:
        """Return the same report whose page shows this command, and the commands of the next steps."""
        cards = self.cards if next_command is None else tuple(_add_command(one, next_command) for one in self.cards)
        return replace(self, page=replace(self.page, command=command, cards=cards))

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
        """Write the page (.html or .md), and every number as .json next to it; create the folder if needed."""
        found = replace(self.page, data=self.json())
        target = found.save(path)
        with atomic_write(target.with_suffix(".json")) as place:
            place.write_text(found.data + "\n", encoding="utf-8")
        return target

    def to_dict(self) -> dict[str, Any]:
        """Everything, safe for JSON: verdicts, tests, the card, the tables of every section with all their digits."""
        shown = {"title": self.title, "notices": list(self.page.notices), "cards": json_safe(self.cards)}
        sections = [json_safe(section.to_dict()) for _, section in self.page.anchored if section.tables]
        return {**super().to_dict(), **shown, "sections": sections}


def _add_command(one: Card, next_command: Callable[[NextStep], str]) -> Card:
    if one.step is None or not one.step.ask:
        return one
    return replace(one, step=replace(one.step, command=next_command(one.step)))


def _call(step: NextStep, labels: str) -> str:
    """The Python call of the next step."""
    column, _, value = step.where.partition("=")
    those = f"{labels}.where({column}={value!r})" if column else labels
    return f"assay.{step.ask}({those}, {f'{step.judge!r}' if step.ask == 'estimate' else 'first=' + repr('judges')})"


class ReportBuilder:
    """Make the parts of a report in the order in which they are read."""

    def __init__(
        self, labels: Annotations, named: str, judges: list[str], by: str | None, settings: ReportSettings,
        notices: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.labels, self.named, self.judges, self.by, self.settings = labels, named, judges, by, settings
        self.notices, self.no_card = notices, ""
        self.shared = settings.shared(None if by in (None, "criterion") else by)
        self.probes = self._called_probes()
        self.steps = 5 if by is None else 3 + len(judges)
        self.done = 0

    def report(self) -> Report:
        """Return the whole report."""
        return self._pooled_report() if self.by is None else self._domain_report(self.by)

    def _step(self, what: str) -> None:
        if self.settings.progress is not None:
            self.settings.progress(what, self.done, self.steps)
        self.done += 1

    def _called_probes(self) -> JudgeProbes | None:
        """The probes that a study has asked its judges; None if there are none."""
        answers = probe_answers(self.labels)
        if answers is None:
            return None
        s = self.settings
        settings = ProbeSettings(judges=tuple(self.judges), clusters=s.clusters, confidence=s.confidence)
        return called_probes(self.labels, answers, settings)

    def _pooled_report(self) -> Report:
        self._step("testing the judges")
        found = compare(self.labels, self._test_settings(CompareSettings, judges=tuple(self.judges)))
        tests = list(found.tests.values())
        self._step("estimating sample sizes")
        cards = tuple(_cards(self.labels, tests, self.shared))
        tested = [test for test in tests if test.n_annotators]
        sections = [_judges_section(found, tested), *([_annotators_section(tested)] if tested else [])]
        sections += [
            *self._disagreement_sections([test.judge for test in tests]),
            *self._labels_sections([self.labels]),
        ]
        self._step("filling the card")
        marks = self._card([test.judge for test in tests], lambda judge, _: found.tests[judge])
        self._step("measuring agreement")
        sections += self._further_sections()
        self._step("drawing")
        return self._finish(cards, sections, tests, found, {}, marks)

    def _domain_report(self, by: str) -> Report:
        found: dict[str, AltTestBy] = {}
        each = self._test_settings(AltTestBySettings, by=by)
        for judge in self.judges:
            self._step(f"testing {judge}")
            found[judge] = test_domains(self.labels, judge, each)
        found = correct_judges(dict(sorted(found.items(), key=lambda one: (-one[1].passed_in, one[0]))))
        tests = [test for result in found.values() for test in result.tests.values()]
        cards = tuple(card_by(result) for result in found.values())
        sections = [_domains_section(found), *self._disagreement_sections(list(found))]
        sections += self._labels_sections([part for _, part in self.labels.split(by)])
        self._step("filling the card")
        marks = self._card(list(found), lambda judge, criterion: self._find_test(found, judge, criterion))
        self._step("measuring agreement")
        sections += self._further_sections()
        self._step("drawing")
        return self._finish(cards, sections, tests, None, found, marks)

    def _find_test(self, found: Mapping[str, AltTestBy], judge: str, criterion: str | None) -> AltTest | str:
        """The test of a judge on a criterion; if domains are not criteria, one test over all of them."""
        if self.by == "criterion" and criterion is not None:
            one = found[judge]
            return one.tests.get(criterion) or f"no test: {one.untested.get(criterion, 'it has no labels of it')}"
        part = self.labels if criterion is None else self.labels.where(criterion=criterion)
        try:
            options = {
                name: value for name, value in vars(self._test_settings(AltTestSettings)).items() if value is not None
            }
            return alt_test(part, judge, **options)
        except AssayError as reason:
            return f"no test: {reason}"

    def _card(self, judges: Sequence[str], tested: Callable[[str, str | None], AltTest | str]) -> JudgeCard | None:
        """The card, best judge first; None if these labels allow no card, with the reason in `no_card`."""
        s = self.settings
        named = {name: getattr(s, name) for name in ("object", "lesson", "family", "group") if getattr(s, name)}
        implied = {"object": s.clusters} if s.clusters is not None and "object" not in named else {}
        shared = {name: getattr(s, name) for name in ("expertise", "epsilon", "alpha", "repeats")}
        for more in (implied, {}) if implied else ({},):
            try:
                settings = CardSettings(judges=tuple(judges), **{**more, **named}, **shared)
                return judge_card(self.labels, settings, tested)
            except DesignError as reason:
                if named and not more:
                    raise
                self.no_card = f"No card: {reason}. "
        return None

    def _test_settings(self, kind: type[S], **own: Any) -> S:
        """The options of the test, and those of one kind of test."""
        shared = {f.name: getattr(self.settings, f.name) for f in fields(AltTestSettings)}
        return kind(**shared, **own)

    def _finish(
        self, cards: tuple[Card, ...], sections: Sequence[Section], tests: Sequence[AltTest],
        comparison: JudgeComparison | None, by: Mapping[str, AltTestBy], marks: JudgeCard | None,
    ) -> Report:  # fmt: skip
        labels, s = self.labels, self.settings
        about = (
            f"{counted(len(labels), 'label')}: {counted(labels.n_items, 'item')}, "
            f"{counted(len(labels.humans), 'annotator')}, {counted(len(labels.judges), 'judge')}; "
            f"{labels.reading.source}"
        )
        scope = asked_words(tests) if s.title is None else f"{question_words(tests)} {asked_words(tests)}"
        contrasts = [] if marks is None else [replace(section_of(contrasts_part(marks)), folded=True)]
        cited = tests if comparison is not None else list(by.values())
        ends = (self._exclusions_section(tests, by), _cite_section(tests, cited))
        leading = tuple(self._add_probe_faults(_add_command(one, partial(_call, labels="labels"))) for one in cards)
        leading = words.provenance_once(leading)
        if marks is not None and s.group is not None:
            leading = tuple(_add_unfairness(one, marks, s.group) for one in leading)
        faults = tuple(words.fault(row) for row in self._faults())
        table_of_marks = None if marks is None else marks.marks()
        if table_of_marks is not None:
            table_of_marks = replace(table_of_marks, faults=(*table_of_marks.faults, *faults))
        page = Page(
            s.title or question_words(tests), about, leading, (*sections, *contrasts, *ends), scope,
            call(s, self.named), self.notices, table_of_marks,
            document=s.clusters, rule=("" if marks is not None else self.no_card) + rule_words(tests),
        )  # fmt: skip
        facts = {"judges": tuple(self.judges), "items": labels.n_items, "score": tests[0].score}
        first = comparison.run if comparison is not None else next(iter(by.values())).run
        run = Run(
            "report", s, first.data, facts, first.interval, labels.reading.exclusions, labels.reading.notes,
            tuple(dict.fromkeys((*self.notices, *(c for test in tests for c in test.cautions)))),
        )  # fmt: skip
        sentences = tuple(results(tests)), tuple(methods(tests))
        return Report(page, comparison, by, run, marks, *sentences, labels.fingerprint)

    def _disagreement_sections(self, judges: Sequence[str]) -> list[Section]:
        """The items on which each judge disagrees most with the annotators, with its response if the study has it."""
        labels, s = self.labels, self.settings
        if any(scale.kind in ("text", "odd-one-out") for scale in labels.scales.values()):
            return []
        each = max(2, MOST_FARTHEST // (len(judges) * max(len(labels.criteria), 1)))

        def parts() -> tuple[Part, ...]:
            frames = [farthest_items(labels, judge, each, s.repeats) for judge in judges]
            known = [frame for frame in frames if frame.height]
            found = pl.concat(known, how="diagonal_relaxed") if known else pl.DataFrame()
            rows = found.select("judge", "item", "criterion").rows() if known else []
            responses = responses_about(labels, rows, s.repeats) if rows else {}
            return (replace(farthest_part(found, responses, s.clusters), title=words.LARGEST_DISAGREEMENTS),)

        return [section_of(part) for part in parts_or_reason(words.LARGEST_DISAGREEMENTS, parts)]

    def _labels_sections(self, parts: Sequence[Annotations]) -> list[Section]:
        drawn: list[Picture] = []
        for part in parts:
            if not has_shares(part):
                continue
            name = "" if len(parts) == 1 or self.by is None else f" ({part.values_of(self.by)[0]})"
            caption = f"Share of each label in percent{name}, of the annotators together and of each judge."
            drawn.append(Picture(partial(label_shares, part), f"Label distributions{name}", caption))
        return [Section("Label distributions", (words.DISTRIBUTIONS,), pictures=tuple(drawn))] if drawn else []

    def _further_sections(self) -> list[Section]:
        """The probes that a study asked, then the parts of `FURTHER` that this table allows."""
        called = () if self.probes is None else called_parts(self.probes)
        return [section_of(part) for part in (*called, *further_parts(self.labels, self.shared))]

    def _add_probe_faults(self, one: Card) -> Card:
        """A verdict with the faults that the probes of a study detected in its judge."""
        mine = (row for row in self._faults() if row.judge == one.judge)
        return replace(one, details=(*one.details, *(f"Probe: {words.fault(row)}" for row in mine)))

    def _faults(self) -> tuple[ProbeRow, ...]:
        return () if self.probes is None else self.probes.detected

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
        return Section("Exclusions and assumptions", lines=tuple(lines) or ("No exclusions.",), folded=True)


def call(settings: ReportSettings, labels: str) -> str:
    """The Python call of this report, with every option that is not at its default."""
    given = {k: getattr(v, "__name__", None) or repr(v) for k, v in settings.changed().items() if k != "progress"}
    return f"assay.report({', '.join([labels, *(f'{k}={v}' for k, v in given.items())])})"


# -- the sections of the alt-test --------------------------------------------------------------------


_IN_WORDS = ("tie_rate", *(f"advantage_difference{end}" for end in ("", "_low", "_high")))
"""Columns of the comparison that its page leaves out, since it would be too wide: `JudgeComparison.table` has them."""


def _judges_section(found: JudgeComparison, tested: Sequence[AltTest]) -> Section:
    shown = tables.shown(
        verdict_labels(found.table.drop("kind", *_IN_WORDS)),
        drop=("passed",),
        symbol="ρ",
        tones={"verdict": dict(LABEL_TONES)},
        caption=words.COMPARISON_CAPTION,
    )
    repeated = {f"Caution: {one}" for one in found.run.cautions}  # those of the labels are above the verdicts
    lines = tuple(line for line in found.summary().splitlines()[:-1] if line not in repeated)
    return Section("Comparison of judges", lines, (shown,), _curves(tested) if tested else ())


_COLUMNS = (
    "annotator", "n", "estimate", "low", "high", "rho_human", "p_adjusted", "rejected", "p_noninferior", "p_worse",
    "n_judge_better", "n_tie", "n_human_better",
)  # fmt: skip


def _annotators_section(tested: Sequence[AltTest]) -> Section:
    rows = [test.table.select(pl.lit(test.judge).alias("judge"), *_COLUMNS) for test in tested]
    shown = tables.shown(pl.concat(rows), symbol="ρ", caption=words.ANNOTATORS_CAPTION)
    won = [(test.judge, int(test.table["rejected"].sum()), test.n_annotators) for test in tested]
    return Section("By annotator", (words.published_wins(won),), (shown,))


def _curves(tested: Sequence[AltTest]) -> tuple[Picture, ...]:
    return (
        Picture(
            partial(epsilon_curves, tested), "Winning rate by margin ε",
            "The winning rate at every margin ε. Exploratory; choose ε before seeing the labels.",
        ),
        Picture(
            partial(size_curves, tested), "Probability of a conclusive verdict by number of items",
            "Probability of a conclusive verdict (Replace, Do not replace or Mixed) in a study of another size by "
            "these annotators, averaged over the uncertainty of these labels.",
        ),
    )  # fmt: skip


def _domains_section(found: Mapping[str, AltTestBy]) -> Section:
    first = next(iter(found.values()))
    labelled = verdict_labels(_all_tables(found))
    shown = tables.shown(labelled, drop=("passed",), symbol="ρ", caption=f"Every judge by {first.by}.",
                         tones={"verdict": dict(LABEL_TONES)})  # fmt: skip
    passed = [(judge, result.passed_in, len(result.tests)) for judge, result in found.items()]
    lines = words.published_domains(passed, first.by, across=first.correction == "across")
    return Section(f"By {first.by}", lines, (shown,))


def _all_tables(found: Mapping[str, AltTestBy]) -> pl.DataFrame:
    """The tables of all judges, one below the other."""
    return pl.concat([result.table.insert_column(0, pl.lit(j).alias("judge")) for j, result in found.items()])


def _cite_section(tests: Sequence[AltTest], cited: Sequence[Result]) -> Section:
    lines = (" ".join(results(tests)), " ".join(methods(tests)))  # two paragraphs that can be pasted
    signatures = tuple(result.signature for result in cited)
    copies = (Copy("References", bibtex(works(tests))),)
    return Section("Methods text and citation", lines, lines=signatures, copies=copies, folded=True)


# -- the label distributions of annotators and judges, as a picture ----------------------------------


def has_shares(labels: Annotations) -> bool:
    """Whether labels can be counted: free text cannot."""
    return labels.scale.kind != "text"


def label_shares(labels: Annotations) -> Axes:
    """Draw how often the annotators together, and each judge, give each label."""
    column, names = labels.labels["label"], labels.labels["annotator"]
    rows = {"annotators": names.is_in(list(labels.humans)).to_numpy()}
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
    """The columns of the picture, and the column of each label: categories, or ten bins of a continuous scale."""
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


# -- the other parts -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReportPart:
    """A further part of a report.

    Attributes
    ----------
    name : str
    path : str
        The function that makes it, as ``module:name``. It takes the labels and `PartOptions` and returns `Part`s, or
        none if the table does not allow the analysis.
    kinds : tuple of str
        Kinds of scale of which the table must have one; criteria on others are not passed on. Empty if any scale is
        allowed.
    of_study : bool, default False
        Whether only labels that were read from a study have this part.
    """

    name: str
    path: str
    kinds: tuple[str, ...] = ()
    of_study: bool = False

    def make(self, labels: Annotations, options: PartOptions) -> tuple[Part, ...]:
        """Return the parts; the module is imported only if the table has such a scale."""
        if self.of_study and not labels.reading.study:
            return ()
        if self.kinds and not {scale.kind for scale in labels.scales.values()} & set(self.kinds):
            return ()
        module, _, name = self.path.partition(":")
        function: MakeParts = getattr(import_module(module), name)
        return function(labels.of_kind(*self.kinds) if self.kinds else labels, options)


COMPARABLE = ("nominal", "ordinal", "interval", "preference")
"""Kinds of scale on which two labels of an item can be compared."""

FURTHER = Registry("assay.report_parts", ReportPart, {part.name: part for part in (
    ReportPart("estimates", "assay.estimates.page:report_estimates", ("nominal", "ordinal", "interval")),
    ReportPart("agreement", "assay.concordance.page:report_agreement", COMPARABLE),
    ReportPart("disagreement", "assay.concordance.page:report_disagreement", COMPARABLE),
    ReportPart("opinions", "assay.variation.page:report_opinions", ("nominal", "ordinal", "interval")),
    ReportPart("panel", "assay.variation.page:report_panel", ("nominal", "ordinal", "interval")),
    ReportPart("position", "assay.preference.page:report_position", ("preference", "odd-one-out")),
    ReportPart("raters", "assay.psychometrics.page:report_raters", ("ordinal",)),
    ReportPart("raters of numbers", "assay.psychometrics.page:report_raters", ("interval",)),
    ReportPart("votes", "assay.preference.page:report_votes", ("preference",)),
    ReportPart("separability", "assay.verdict.outputs:report_separability", of_study=True),
    ReportPart("ideas", "assay.ideas.page:report_ideas", ("text", "odd-one-out")),
    ReportPart("generalizability", "assay.psychometrics.page:report_generalizability", ("ordinal", "interval")),
)})  # fmt: skip
"""The further parts of a report, in the order of the page. A new part is one row here."""


def further_parts(labels: Annotations, options: PartOptions) -> list[Part]:
    """Return the parts of `FURTHER` that this table allows."""
    return [part for one in FURTHER.everything().values() for part in one.make(labels, options)]


def _add_unfairness(one: Card, marks: JudgeCard, group: str) -> Card:
    """A verdict with the group differences on which the card fails its judge."""
    found = (words.unfair(row, group) for row in marks.rows if row.name == one.judge)
    return replace(one, limits=(*one.limits, *(f"{line[:1].upper()}{line[1:]}." for line in found if line)))


def _cards(labels: Annotations, tests: Sequence[AltTest], options: PartOptions) -> Iterator[Card]:
    """Yield the verdicts; for a judge that may replace and labelled more items, with what its other labels add."""
    ahead = judges_with_more_items(labels)
    for test in tests:
        one = card(test)
        if test.verdict == "replace" and test.judge in ahead and one.step is not None and one.step.ask == "estimate":
            try:
                saving = saving_words(corrected_estimate(labels, test.judge, options))
                one = replace(one, step=replace(one.step, words=words.corrected_step(saving)))
                more = f"Next: {words.corrected_step(saving).removesuffix(':')}."
            except DesignError as reason:
                more = words.no_estimate(str(reason))
            one = replace(one, evidence=f"{one.evidence}\n{more}")
        yield one
