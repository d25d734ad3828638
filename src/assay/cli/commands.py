"""The commands, a row each: what is typed, what it asks, which page it writes.

A question that is asked of labels alone needs its row and nothing else: its options are those of its settings. Where
a command does more (draws pairs, reads a plan, tests several judges), ``run`` names a function of
`assay.cli.labels`, `assay.cli.plans`, `assay.cli.estimates`, `assay.cli.studies` or `assay.cli.service`.
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
    needs : str
        What its example reads that is not in ``examples/``.
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
    source: str = "A file, folder or study of labels."
    ask: str = ""
    page: str = ""
    title: str = ""
    bar: str = "Comparing"
    needs: str = ""
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
    def leads_to(self) -> str:
        """Module and name of its function; one with options of a question is made when the command is used."""
        return f"assay.cli.labels:{self.name} command" if self.settings or self.ask else self.run


_LABELS, _PLANS, _AFTER = "assay.cli.labels", "assay.cli.plans", "assay.cli.estimates"
_STUDIES = "assay.cli.studies"
_SERVICE = "assay.cli.service"
_ALT_TEST, _AGREEMENT, _VOTES, _IDEAS = "The alternative annotator test", "Agreement", "Votes", "Ideas"
_PLAN, _G_STUDY, _RATERS = "The plan", "Generalizability", "The rater model"
_ESTIMATE = "The estimate"
_TRAIN = "The rater"
_LIKE_RATINGS = "Votes, as for assay ratings."

QUESTIONS = (
    Command("look", "examples/sheet.csv", run=f"{_LABELS}:look"),
    Command("demo", "", run=f"{_LABELS}:demo"),
    Command(
        "report",
        "examples/sheet.csv --judges gpt-4o --expertise crowd --output report.html",
        run=f"{_LABELS}:report",
        heading=_ALT_TEST,
        settings=("assay.verdict.report:ReportSettings",),
        without=("judges",),
    ),
    Command(
        "alt-test",
        "examples/sheet.csv --judges gpt-4o --expertise crowd",
        run=f"{_LABELS}:alt_test",
        heading=_ALT_TEST,
        settings=("assay.replacement.panel:AltTestBySettings",),
        shown={"by": "the criterion, where the table has several"},
    ),
    Command(
        "card",
        "examples/lessons.csv --object teacher --lesson lesson --family family --group race --expertise skilled",
        run=f"{_LABELS}:card",
        page="assay.verdict.card:card_parts",
        title="May these judges stand in for people?",
        heading="The card",
        settings=("assay.verdict.card:CardSettings",),
        without=("judges",),
    ),
    Command(
        "probes",
        "examples/outputs.csv --judges gpt-4o --length characters --system system",
        run=f"{_LABELS}:probes",
        page="assay.verdict.probes:probe_parts",
        title="Where may a judge go wrong?",
        heading="The probes",
        settings=("assay.verdict.probes:ProbeSettings",),
        without=("judges",),
    ),
    Command(
        "estimate",
        "examples/checked.csv --judges gpt-4o --by language",
        run=f"{_AFTER}:estimate",
        page="assay.estimates.page:estimate_parts",
        title="What would people say of all items?",
        heading=_ESTIMATE,
        settings=("assay.estimates.corrected:EstimateSettings",),
        without=("judge",),
    ),
    Command(
        "drift",
        "examples/june.csv examples/july.csv --judges gpt-4o --anchors examples/july-by-june-version.csv",
        run=f"{_AFTER}:drift",
        page="assay.estimates.page:drift_parts",
        title="Has the judge changed?",
        heading=_ESTIMATE,
        settings=("assay.estimates.drift:DriftSettings",),
        without=("judge",),
    ),
    Command(
        "monitor",
        "examples/checked.csv --judges gpt-4o --share-of yes --order day --baseline 300",
        run=f"{_AFTER}:monitor",
        page="assay.estimates.page:monitor_parts",
        title="Has the judge moved?",
        heading=_ESTIMATE,
        settings=("assay.estimates.monitor:MonitorSettings",),
        without=("judge",),
    ),
    Command(
        "route",
        "examples/checked.csv --judges gpt-4o --signal sure --epsilon 0.1 --rule rule.json",
        run=f"{_AFTER}:route",
        page="assay.estimates.page:route_parts",
        title="Which items may the judge have?",
        heading=_ESTIMATE,
        settings=("assay.estimates.route:RouteSettings",),
        without=("judge",),
    ),
    Command(
        "gate",
        "examples/assay.toml --comment comment.md --junit gate.xml",
        run=f"{_AFTER}:gate",
        heading="The policy",
        settings=("assay.verdict.gate:GateSettings",),
        without=("policy",),
    ),
    Command(
        "agreement",
        "examples/labels.csv --item id --annotator worker --label stars --judges gpt-4o,llama",
        run=f"{_LABELS}:agreement",
        heading=_AGREEMENT,
        page="assay.concordance.page:agreement_parts",
        title="Do the annotators agree?",
        settings=("assay.concordance.coefficient:AgreementSettings",),
    ),
    Command(
        "disagreement",
        "examples/labels.csv --item id --annotator worker --label stars --judges gpt-4o,llama --first people",
        run=f"{_LABELS}:disagreement",
        ask="assay.concordance.disagreement:disagreement",
        page="assay.concordance.page:disagreement_parts",
        title="Where do annotators disagree?",
        heading=_AGREEMENT,
        settings=("assay.concordance.disagreement:DisagreementSettings",),
    ),
    Command(
        "scales",
        "examples/ranges.csv --judges gpt-4o,llama --scale interval:0-100 --conditions scale --by benchmark",
        run=f"{_LABELS}:scales",
        page="assay.concordance.page:grading_scale_parts",
        title="On which scale to ask?",
        heading="Grading scales",
        settings=("assay.concordance.coefficient:GradingScaleSettings",),
    ),
    Command(
        "separability",
        "examples/outputs.jsonl --annotator model --label text --repeat number --scale text --humans m1,m2",
        run=f"{_LABELS}:separability",
        ask="assay.preference.separability:separability",
        page="assay.preference.page:separability_parts",
        title="On which items can the systems be told apart?",
        heading=_VOTES,
    ),
    Command(
        "sweep",
        "examples/temperatures.jsonl --annotator model --label text --repeat number --scale text --humans m1,m2 "
        "--condition temperature",
        run=f"{_LABELS}:sweep",
        ask="assay.preference.separability:separability_sweep",
        page="assay.preference.page:sweep_parts",
        title="How much does separability depend on K, C and temperature?",
        heading=_VOTES,
    ),
    Command(
        "ratings",
        "examples/battles.csv --output leaderboard.html",
        run=f"{_LABELS}:ratings",
        ask="assay.preference.leaderboard:ratings",
        page="assay.preference.page:leaderboard_parts",
        title="Which system do raters prefer?",
        bar="Rating",
        heading=_VOTES,
    ),
    Command(
        "consistency",
        "examples/votes.csv --scale preference --repeat repeat --judges gpt-4o --by separability",
        does="Measure how consistently each rater votes on repeated comparisons of an item.",
        source=_LIKE_RATINGS,
        ask="assay.preference.consistency:consistency",
        page="assay.preference.page:consistency_parts",
        title="Which system do raters prefer?",
        bar="Rating",
        heading=_VOTES,
    ),
    Command(
        "ideas",
        "examples/odd_ones.csv --scale odd-one-out --judges gpt-4o --measures words,rouge-1 --output ideas.html",
        run=f"{_LABELS}:ideas",
        heading=_IDEAS,
        settings=("assay.ideas.choices:ValidateSettings", "assay.ideas.choices:MapSettings"),
    ),
    Command(
        "plan",
        "--n-items 30,50,100,200 --expertise crowd --judge-noise 0.2",
        run=f"{_PLANS}:plan",
        heading=_PLAN,
        settings=("assay.planning:PlanSettings", "assay.replacement.panel:AltTestSettings"),
        without=("expert", "gold", "clusters", "method", "n_resamples", "confidence", "judge"),
        named={"scale": "--categories"},
    ),
    Command(
        "validate",
        "--n-items 150 --n-annotators 4 --categories 1-5 --skew 0.6 --expertise crowd --seconds 5",
        run=f"{_PLANS}:validate",
        heading=_PLAN,
        settings=("assay.verdict.validate:ValidateVerdictSettings",),
        named={"scale": "--categories"},
    ),
    Command(
        "triplets",
        "examples/notes.csv --document lesson --name item --text note --floor 5 -o triplets.csv",
        run=f"{_PLANS}:triplets",
        heading=_PLAN,
        settings=("assay.ideas.choices:PlanTripletsSettings", "assay.ideas.choices:SampleSettings"),
        named={"n": "--n-triplets"},
    ),
    Command(
        "labels",
        "--half-width 0.03 --share 0.2 --correlation 0.7 --n-items 10000",
        run=f"{_PLANS}:plan_labels",
        heading=_PLAN,
        settings=("assay.estimates.label_plan:LabelPlanSettings",),
        without=("judge",),
    ),
    Command(
        "g-study",
        "examples/lessons.csv --design 'r x (o:i)' --object i --facets r=annotator,o=lesson,i=teacher",
        does="How far do scores carry: to other raters, lessons, segments?",
        ask="assay.psychometrics.g_study:g_study",
        page="assay.psychometrics.page:g_study_parts",
        title="How far do scores carry?",
        bar="Fitting",
        heading=_G_STUDY,
    ),
    Command(
        "d-study",
        "examples/lessons.csv --design 'r x (o:i)' --object i --facets r=annotator,o=lesson,i=teacher --levels r=1-3 "
        "--levels o=1-10",
        run=f"{_PLANS}:d_study",
        page="assay.psychometrics.page:d_study_parts",
        title="How many raters and lessons?",
        heading=_G_STUDY,
        named={"sizes": "--levels"},
        settings=("assay.psychometrics.design:GStudySettings", "assay.psychometrics.design:DStudySettings"),
    ),
    Command(
        "raters",
        "examples/lessons.csv --group race --quick",
        run=f"{_LABELS}:raters",
        page="assay.psychometrics.page:rater_parts",
        title="Who is severe, who is erratic, who is unfair?",
        heading=_RATERS,
        named={"dimensions": "--traits"},
        settings=("assay.psychometrics.raters.table:RaterSettings",),
    ),
    Command(
        "rasch",
        "examples/lessons.csv",
        does="How severe is each rater, and who rates as nobody would expect? The many-facet Rasch model.",
        source="Labels in ordered categories.",
        ask="assay.psychometrics.raters.rasch:many_facet_rasch",
        page="assay.psychometrics.page:rasch_parts",
        title="How severe is each rater?",
        bar="Fitting",
        heading=_RATERS,
    ),
    Command(
        "train",
        "reviews.csv --text review --table with-rater.csv --folder my-rater --output rater.html",
        run=f"{_STUDIES}:train",
        page="assay.training.page:train_parts",
        title="A trained rater",
        heading=_TRAIN,
        needs="reviews.csv, a table of texts and people's labels",
        settings=("assay.training.documents:TrainSettings",),
    ),
)

STUDIES = (
    Command("init", "my-study", run=f"{_STUDIES}:init"),
    Command("split", "my-study --test 0.75", run=f"{_STUDIES}:split"),
    Command("judge", "my-study --dry-run", run=f"{_STUDIES}:judge"),
    Command("replies", "my-study --missing", run=f"{_STUDIES}:replies"),
    Command("invite", "my-study 'Ana Ruiz' 'Ben Okoro' --attribute expertise=nurse", run=f"{_STUDIES}:invite"),
    Command("serve", "my-study", run=f"{_STUDIES}:serve"),
    Command("links", "my-study", run=f"{_SERVICE}:links"),
    Command("status", "my-study", run=f"{_SERVICE}:status"),
    Command("backup", "my-study -o my-study-monday.zip", run=f"{_SERVICE}:backup"),
    Command("restore", "my-study-monday.zip my-study-again", run=f"{_SERVICE}:restore"),
    Command("record", "my-study -o answers.zip", run=f"{_SERVICE}:record"),
    Command("pay", "my-study --output pay.csv", run=f"{_STUDIES}:pay"),
    Command("exclude", "my-study 'Ben Okoro' --reason 'failed 4 of 5 checks'", run=f"{_STUDIES}:exclude"),
    Command("erase", "my-study 'Ben Okoro' --yes", run=f"{_STUDIES}:erase"),
    Command(
        "import",
        "examples/export.json --item key --option users=examples/users.json -o labels.csv",
        run=f"{_STUDIES}:import_",
    ),
    Command(
        "export", "examples/sheet.csv predictions.json --to label-studio --judges gpt-4o", run=f"{_STUDIES}:export"
    ),
)

COMMANDS = {"Questions": QUESTIONS, "Studies and files": STUDIES}
"""Every command, in the order of the help."""

BY_NAME = {row.name: row for rows in COMMANDS.values() for row in rows}
