"""The commands, a row each: what is typed, what it asks, which page it writes.

A question that is asked of labels alone needs its row and nothing else: its options are those of its settings. Where
a command does more (draws pairs, reads a plan, tests several judges), ``run`` names a function of `assay.cli.labels` or
`assay.cli.studies`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Command(NamedTuple):
    """A command.

    Attributes
    ----------
    name : str
        What is typed.
    example : str
        What follows ``assay NAME`` in the example of the help.
    run : str
        The module and function that runs it, where it needs one of its own.
    does : str
        The first line of its help, where it has no such function.
    source : str
        What the help says of ``SOURCE``.
    ask : str
        The module and function of the question.
    page : str
        The module and function that lays its result out as a page.
    title : str
        The page's.
    bar : str
        What a progress bar says.
    heading : str
        Over its options in the help.
    settings : tuple of str
        Where its options come from, where that is not the question's own settings alone.
    without : tuple of str
        Options that it does not offer, or states itself.
    named : mapping of option to text
        What is typed in place of ``--name-of-the-option``.
    shown : mapping of option to text
        What the help says in place of the default.
    """

    name: str
    example: str
    run: str = ""
    does: str = ""
    source: str = "A file or folder of labels."
    ask: str = ""
    page: str = ""
    title: str = ""
    bar: str = "Comparing"
    heading: str = ""
    settings: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    named: Mapping[str, str] = {}
    shown: Mapping[str, str] = {}

    @property
    def line(self) -> str:
        """The example, as it is typed."""
        return f"assay {self.name} {self.example}".rstrip()

    @property
    def module(self) -> str:
        """Where its function is found: this one's name leads to it."""
        return self.run.partition(":")[0] or "assay.cli.labels"


_LABELS = "assay.cli.labels"
_STUDIES = "assay.cli.studies"
_ALT_TEST, _AGREEMENT, _VOTES, _IDEAS = "The alternative annotator test", "Agreement", "Votes", "Ideas"
_PLAN, _G_STUDY, _RATERS = "The plan", "Generalizability", "The rater model"
_ESTIMATE = "The estimate"
_LIKE_RATINGS = "Votes, as for assay ratings."

QUESTIONS = (
    Command("look", "ratings.csv", run=f"{_LABELS}:look"),
    Command("demo", "", run=f"{_LABELS}:demo"),
    Command(
        "report",
        "annotations/ --expertise crowd --output report.html",
        run=f"{_LABELS}:report",
        heading=_ALT_TEST,
        settings=("assay.verdict.report:ReportSettings",),
        without=("judges",),
    ),
    Command(
        "alt-test",
        "labels.csv --judges gpt-4o,llama --only gpt-4o --expertise crowd",
        run=f"{_LABELS}:alt_test",
        heading=_ALT_TEST,
        settings=("assay.replacement.panel:AltTestBySettings",),
        shown={"by": "the criterion, where the table has several"},
    ),
    Command(
        "card",
        "lessons.csv --object teacher --lesson lesson --family family --group dialect --expertise skilled",
        run=f"{_LABELS}:card",
        page="assay.verdict.card:card_parts",
        title="May these judges stand in for people?",
        heading="The card",
        settings=("assay.verdict.card:CardSettings",),
        without=("judges",),
    ),
    Command(
        "estimate",
        "checked.csv --only gpt-4o --by language",
        run=f"{_LABELS}:estimate",
        page="assay.estimates.page:estimate_parts",
        title="What would people say of all items?",
        heading=_ESTIMATE,
        settings=("assay.estimates.corrected:EstimateSettings",),
        without=("judge",),
    ),
    Command(
        "drift",
        "before.csv after.csv --judges gpt-4o --only gpt-4o",
        run=f"{_LABELS}:drift",
        page="assay.estimates.page:drift_parts",
        title="Has the judge changed?",
        heading=_ESTIMATE,
        settings=("assay.estimates.drift:DriftSettings",),
        without=("judge",),
    ),
    Command(
        "monitor",
        "labels.csv --judges gpt-4o --only gpt-4o --order time --output monitor.html",
        run=f"{_LABELS}:monitor",
        page="assay.estimates.page:monitor_parts",
        title="Has the judge moved?",
        heading=_ESTIMATE,
        settings=("assay.estimates.monitor:MonitorSettings",),
        without=("judge",),
    ),
    Command(
        "route",
        "labels.csv --judges gpt-4o --only gpt-4o --signal probability --epsilon 0.1 --rule rule.json",
        run=f"{_LABELS}:route",
        page="assay.estimates.page:route_parts",
        title="Which items may the judge have?",
        heading=_ESTIMATE,
        settings=("assay.estimates.route:RouteSettings",),
        without=("judge",),
    ),
    Command(
        "gate",
        "assay.toml --comment comment.md --junit gate.xml",
        run=f"{_LABELS}:gate",
        heading="The policy",
        settings=("assay.verdict.gate:GateSettings",),
        without=("policy",),
    ),
    Command(
        "agreement",
        "labels.csv --item id --annotator worker --label stars --scale 1-5",
        run=f"{_LABELS}:agreement",
        heading=_AGREEMENT,
        page="assay.concordance.page:agreement_parts",
        title="Do the annotators agree?",
        settings=("assay.concordance.coefficient:AgreementSettings",),
    ),
    Command(
        "disagreement",
        "labels.csv --item id --annotator worker --label stars --scale 1-5 --first people",
        run=f"{_LABELS}:disagreement",
        page="assay.concordance.page:disagreement_parts",
        title="Where do annotators disagree?",
        heading=_AGREEMENT,
        settings=("assay.concordance.disagreement:DisagreementSettings",),
    ),
    Command(
        "scales",
        "answers.csv --scale-column range --judges gpt-4o,llama",
        run=f"{_LABELS}:scales",
        page="assay.concordance.page:grading_scale_parts",
        title="On which scale to ask?",
        heading="Grading scales",
        settings=("assay.concordance.coefficient:GradingScaleSettings",),
    ),
    Command(
        "separability",
        "outputs.jsonl --annotator model --label text --repeat k --scale text --humans m1,m2",
        run=f"{_LABELS}:separability",
        ask="assay.preference.separability:separability",
        page="assay.preference.page:separability_parts",
        title="On which items can the systems be told apart?",
        heading=_VOTES,
    ),
    Command(
        "sweep",
        "outputs.jsonl --annotator model --label text --repeat k --scale text --humans m1,m2 --condition temperature",
        run=f"{_LABELS}:sweep",
        ask="assay.preference.separability:separability_sweep",
        page="assay.preference.page:sweep_parts",
        title="How much does separability depend on K, C and temperature?",
        heading=_VOTES,
    ),
    Command(
        "ratings",
        "battles.csv --output leaderboard.html",
        run=f"{_LABELS}:ratings",
        ask="assay.preference.leaderboard:bradley_terry",
        page="assay.preference.page:leaderboard_parts",
        title="Which system do raters prefer?",
        bar="Rating",
        heading=_VOTES,
    ),
    Command(
        "elo",
        "votes.csv --scale preference --separability separability",
        does="Which system do raters prefer? Elo ratings, also weighted by separability, and how much the order "
        "matters.",
        source=_LIKE_RATINGS,
        ask="assay.preference.leaderboard:elo",
        page="assay.preference.page:leaderboard_parts",
        title="Which system do raters prefer?",
        bar="Rating",
        heading=_VOTES,
    ),
    Command(
        "consistency",
        "votes.csv --scale preference --repeat repeat --by separability",
        does="Can raters tell two systems apart? How consistent each rater's votes on an item are.",
        source=_LIKE_RATINGS,
        ask="assay.preference.consistency:consistency",
        page="assay.preference.page:consistency_parts",
        title="Which system do raters prefer?",
        bar="Rating",
        heading=_VOTES,
    ),
    Command(
        "strength",
        "votes.csv --scale preference --repeat repeat --by separability",
        does="Which system do raters prefer, and how strongly? The mean vote of each rater on an item.",
        source=_LIKE_RATINGS,
        ask="assay.preference.consistency:preference_strength",
        page="assay.preference.page:consistency_parts",
        title="Which system do raters prefer?",
        bar="Rating",
        heading=_VOTES,
    ),
    Command(
        "ideas",
        "my-study --measures words,rouge-l,embeddings:all-MiniLM-L6-v2 --output ideas.html",
        run=f"{_LABELS}:ideas",
        heading=_IDEAS,
        settings=("assay.ideas.choices:ValidateSettings", "assay.ideas.choices:MapSettings"),
    ),
    Command(
        "plan",
        "--n-items 30,50,100,200 --expertise crowd --judge-noise 0.2",
        run=f"{_LABELS}:plan",
        heading=_PLAN,
        settings=("assay.planning:PlanSettings", "assay.replacement.panel:AltTestSettings"),
        without=("expert", "gold", "clusters", "method", "n_resamples", "confidence", "judge"),
        named={"scale": "--categories"},
    ),
    Command(
        "triplets",
        "notes.csv --document lesson --name note --floor 5 -o triplets.csv",
        run=f"{_LABELS}:triplets",
        heading=_PLAN,
        settings=("assay.ideas.choices:PlanTripletsSettings", "assay.ideas.choices:SampleSettings"),
        named={"n": "--n-triplets"},
    ),
    Command(
        "labels",
        "--half-width 0.03 --share 0.2 --correlation 0.7 --n-items 10000",
        run=f"{_LABELS}:plan_labels",
        heading=_PLAN,
        settings=("assay.estimates.label_plan:LabelPlanSettings",),
        without=("judge",),
    ),
    Command(
        "g-study",
        "lessons.csv --design 'r x (o:i)' --object i --facets r=annotator,o=lesson,i=teacher",
        does="How far do scores carry: to other raters, lessons, segments?",
        ask="assay.psychometrics.g_study:g_study",
        page="assay.psychometrics.page:g_study_parts",
        title="How far do scores carry?",
        bar="Fitting",
        heading=_G_STUDY,
    ),
    Command(
        "d-study",
        "lessons.csv --design 'r x (o:i)' --object i --facets r=annotator,o=lesson,i=teacher --levels r=1-3 "
        "--levels o=1-10",
        run=f"{_LABELS}:d_study",
        page="assay.psychometrics.page:d_study_parts",
        title="How many raters and lessons?",
        heading=_G_STUDY,
        named={"sizes": "--levels"},
        settings=("assay.psychometrics.design:GStudySettings", "assay.psychometrics.design:DStudySettings"),
    ),
    Command(
        "raters",
        "labels.csv --judges gpt-4o,llama --group dialect --quick",
        run=f"{_LABELS}:raters",
        page="assay.psychometrics.page:rater_parts",
        title="Who is severe, who is erratic, who is unfair?",
        heading=_RATERS,
        named={"dimensions": "--traits"},
        settings=("assay.psychometrics.raters.table:RaterSettings",),
    ),
    Command(
        "rasch",
        "labels.csv --judges gpt-4o,llama --scale 1-5",
        does="How severe is each rater, and who rates as nobody would expect? The many-facet Rasch model.",
        source="A file or folder of labels in ordered categories.",
        ask="assay.psychometrics.raters.rasch:many_facet_rasch",
        page="assay.psychometrics.page:rasch_parts",
        title="How severe is each rater?",
        bar="Fitting",
        heading=_RATERS,
    ),
)

STUDIES = (
    Command("init", "my-study", run=f"{_STUDIES}:init"),
    Command("split", "my-study --test 0.75 --strata topic", run=f"{_STUDIES}:split"),
    Command("judge", "my-study --dry-run", run=f"{_STUDIES}:judge"),
    Command("replies", "my-study --missing", run=f"{_STUDIES}:replies"),
    Command("invite", "my-study 'Ana Ruiz' ben --attribute expertise=nurse", run=f"{_STUDIES}:invite"),
    Command("serve", "my-study", run=f"{_STUDIES}:serve"),
    Command("exclude", "my-study ben --reason 'failed 4 of 5 checks'", run=f"{_STUDIES}:exclude"),
    Command("erase", "my-study ben", run=f"{_STUDIES}:erase"),
    Command("pay", "my-study --output pay.csv", run=f"{_STUDIES}:pay"),
    Command("import", "export.json --option users=users.json -o labels.csv", run=f"{_STUDIES}:import_"),
    Command("export", "labels.csv predictions.json --to label-studio --judges gpt-4o", run=f"{_STUDIES}:export"),
)

COMMANDS = {"Questions": QUESTIONS, "Studies and files": STUDIES}
"""Every command, in the order of the help."""

BY_NAME = {row.name: row for rows in COMMANDS.values() for row in rows}
