"""The commands, one row each: the name, the help line, the question, the page.

A question about labels requires only its row: its options are its settings. If a command does more (draws pairs, reads
a plan, tests several judges), ``run`` names a function of `assay.cli.labels`, `assay.cli.plans`, `assay.cli.estimates`,
`assay.cli.studies` or `assay.cli.service`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from assay.plugins import Registry


class Variant(NamedTuple):
    """One of several analyses of a command; an option such as ``--model`` chooses.

    Attributes
    ----------
    typed : str
        The option that chooses it.
    ask, page, title, bar : str
        As in `Command`.
    """

    typed: str
    ask: str
    page: str
    title: str
    bar: str = "Comparing"


class Command(NamedTuple):
    """A command.

    Attributes
    ----------
    name : str
        The name; two words in a group such as ``plan``.
    does : str
        The first line of its help.
    example : str
        The rest of ``assay NAME …`` in the example of the help.
    run : str
        Module and function, if a row is not enough.
    source : str
        The help of ``SOURCE``.
    ask : str
        Module and function of the question.
    page : str
        Module and function that lays out the result as a page.
    title : str
        Title of the page.
    bar : str
        Text of the progress bar.
    needs : str
        Files of the example that are not in ``examples/``.
    heading : str
        Heading of its options in the help.
    settings : tuple of str
        The settings that its options come from, if they are not only those of ``ask``.
    variants : mapping of str to Variant
        Several analyses under one name.
    without : tuple of str
        Options that it does not offer, or states itself.
    named : mapping of option to text
        The name on the command line, if it is not ``--name-of-the-option``.
    shown : mapping of option to text
        Shown in the help instead of the default.
    further : bool
        Listed by name only on the first screen, which has at most 30 entries.
    """

    name: str
    does: str
    example: str
    run: str = ""
    source: str = "A file, folder or study of labels."
    ask: str = ""
    page: str = ""
    title: str = ""
    bar: str = "Comparing"
    needs: str = ""
    heading: str = ""
    settings: tuple[str, ...] = ()
    variants: Mapping[str, Variant] = {}
    without: tuple[str, ...] = ()
    named: Mapping[str, str] = {}
    shown: Mapping[str, str] = {}
    further: bool = False

    @property
    def line(self) -> str:
        """The example as a shell command."""
        return f"assay {self.name} {self.example}".rstrip()

    @property
    def leads_to(self) -> str:
        """Module and name of its function; a function with options of a question is made on first use."""
        made = self.settings or self.ask or self.variants
        return f"assay.cli.labels:{self.name} command" if made else self.run


_LABELS, _PLANS, _AFTER = "assay.cli.labels", "assay.cli.plans", "assay.cli.estimates"
_STUDIES, _SERVICE = "assay.cli.studies", "assay.cli.service"
_ALT_TEST, _AGREEMENT, _VOTES, _IDEAS = "The alternative annotator test", "Agreement", "Votes", "Ideas"
_PLAN, _G_STUDY, _RATERS, _ESTIMATE = "The plan", "Generalizability", "The rater model", "The estimate"

VERDICT = (
    Command(
        "look",
        "Show how a file will be read, any ambiguities, and the analyses it supports.",
        "examples/sheet.csv",
        run=f"{_LABELS}:look",
    ),
    Command(
        "report",
        "Write a report page: verdict, evidence and next steps for each judge.",
        "examples/sheet.csv --judges gpt-4o --expertise crowd --output report.html",
        run=f"{_LABELS}:report",
        heading=_ALT_TEST,
        settings=("assay.verdict.report:ReportSettings",),
        without=("judges",),
    ),
    Command(
        "alt-test",
        "Test whether a judge can replace human annotators (alternative annotator test).",
        "examples/sheet.csv --judges gpt-4o --expertise crowd",
        run=f"{_LABELS}:alt_test",
        heading=_ALT_TEST,
        settings=("assay.replacement.panel:AltTestBySettings",),
        shown={"by": "the criterion, if the table has several"},
    ),
    Command(
        "card",
        "Rate every judge on seven criteria: pass, fail, undecided or insufficient data.",
        "examples/lessons.csv --object teacher --lesson lesson --family family --group race --expertise skilled",
        run=f"{_LABELS}:card",
        page="assay.verdict.card:card_parts",
        title="Judges on seven criteria",
        heading="The card",
        settings=("assay.verdict.card:CardSettings",),
        without=("judges",),
    ),
    Command(
        "probes",
        "Check judges for position, length, self-preference and other biases.",
        "examples/outputs.csv --judges gpt-4o --length characters --system system",
        run=f"{_LABELS}:probes",
        page="assay.verdict.probes:probe_parts",
        title="Judge biases",
        heading="The probes",
        settings=("assay.verdict.probes:ProbeSettings",),
        without=("judges",),
    ),
    Command(
        "gate",
        "Check a policy in CI. Exit status: 0 pass, 1 fail, 2 undecided, 3 error.",
        "examples/assay.toml --comment comment.md --junit gate.xml",
        run=f"{_AFTER}:gate",
        heading="The policy",
        settings=("assay.verdict.gate:GateSettings",),
        without=("policy",),
    ),
    Command("demo", "Simulate a study with known judge quality and write its report.", "", run=f"{_LABELS}:demo"),
)

AFTER_A_YES = (
    Command(
        "estimate",
        "Estimate human means or shares from judge labels and a human-labelled sample.",
        "examples/checked.csv --judges gpt-4o --by language",
        run=f"{_AFTER}:estimate",
        page="assay.estimates.page:estimate_parts",
        title="Corrected estimates",
        heading=_ESTIMATE,
        settings=("assay.estimates.corrected:EstimateSettings",),
        without=("judge",),
        named={"judges": "judge-sample"},
    ),
    Command(
        "drift",
        "Measure how a judge's labels changed between two runs.",
        "examples/june.csv examples/july.csv --judges gpt-4o --anchors examples/july-by-june-version.csv",
        run=f"{_AFTER}:drift",
        page="assay.estimates.page:drift_parts",
        title="Judge drift",
        heading=_ESTIMATE,
        settings=("assay.estimates.drift:DriftSettings",),
        without=("judge",),
    ),
    Command(
        "monitor",
        "Monitor a judge's labels for change, with a controlled false-alarm rate.",
        "examples/checked.csv --judges gpt-4o --share-of yes --order day --baseline 300",
        run=f"{_AFTER}:monitor",
        page="assay.estimates.page:monitor_parts",
        title="Monitor of the judge's labels",
        heading=_ESTIMATE,
        settings=("assay.estimates.monitor:MonitorSettings",),
        without=("judge",),
    ),
    Command(
        "route",
        "Find the largest share of items that a judge can label within a margin.",
        "examples/checked.csv --judges gpt-4o --signal sure --epsilon 0.1 --rule rule.json",
        run=f"{_AFTER}:route",
        page="assay.estimates.page:route_parts",
        title="Judge queue and human queue",
        heading=_ESTIMATE,
        settings=("assay.estimates.route:RouteSettings",),
        without=("judge",),
    ),
)

AGREEMENT = (
    Command(
        "agreement",
        "Compute agreement coefficients among annotators, and compare judges with humans.",
        "examples/labels.csv --item id --annotator worker --label stars --judges gpt-4o,llama",
        run=f"{_LABELS}:agreement",
        heading=_AGREEMENT,
        page="assay.concordance.page:agreement_parts",
        title="Agreement among annotators",
        settings=("assay.concordance.coefficient:AgreementSettings",),
    ),
    Command(
        "disagreement",
        "List the items and categories on which raters disagree most.",
        "examples/labels.csv --item id --annotator worker --label stars --judges gpt-4o,llama --first people",
        run=f"{_LABELS}:disagreement",
        ask="assay.concordance.groups.disagreement:disagreement",
        page="assay.concordance.page:disagreement_parts",
        title="Items and categories with the most disagreement",
        heading=_AGREEMENT,
        settings=("assay.concordance.groups.disagreement:DisagreementSettings",),
    ),
    Command(
        "opinions",
        "Compare judges' distributions of labels with those of the annotators.",
        "examples/opinions.csv --judges gpt-4o,llama,mistral --scale 'ordinal:no<somewhat<yes'",
        run=f"{_LABELS}:opinions",
        heading="Opinions",
        page="assay.variation.page:opinion_parts",
        title="Distributions of opinions",
        settings=("assay.variation.opinions:OpinionSettings",),
        without=("judge",),
    ),
    Command(
        "scales",
        "Compare rating scales by human–judge agreement.",
        "examples/ranges.csv --judges gpt-4o,llama --scale interval:0-100 --conditions scale --by benchmark",
        run=f"{_LABELS}:scales",
        page="assay.concordance.page:grading_scale_parts",
        title="Comparison of rating scales",
        heading="Rating scales",
        settings=("assay.concordance.coefficient:GradingScaleSettings",),
    ),
    Command(
        "g-study",
        "Estimate variance components and generalizability coefficients (G-study).",
        "examples/lessons.csv --design 'r x (o:i)' --object i --facets r=annotator,o=lesson,i=teacher",
        ask="assay.psychometrics.g_study:g_study",
        page="assay.psychometrics.page:g_study_parts",
        title="Variance components and reliability",
        bar="Fitting",
        heading=_G_STUDY,
    ),
    Command(
        "disattenuate",
        "Estimate the universe-score correlation of humans and judges (disattenuated correlation).",
        "examples/lessons.csv --design 'r x (o:i)' --object i --facets r=annotator,o=lesson,i=teacher",
        ask="assay.psychometrics.disattenuation:disattenuated_correlation",
        page="assay.psychometrics.page:disattenuation_parts",
        title="Universe-score correlation",
        bar="Resampling",
        heading=_G_STUDY,
        further=True,
    ),
    Command(
        "raters",
        "Estimate the severity, variability and group bias of each rater (hierarchical rater model).",
        "examples/lessons.csv --group race --quick",
        run=f"{_LABELS}:raters",
        heading=_RATERS,
        variants={
            "hierarchical": Variant(
                "--model hierarchical",
                "assay.psychometrics.raters.model:rater_model",
                "assay.psychometrics.page:rater_parts",
                "Rater severity, variability and bias",
                bar="Fitting",
            ),
            "rasch": Variant(
                "--model rasch",
                "assay.psychometrics.raters.rasch:many_facet_rasch",
                "assay.psychometrics.page:rasch_parts",
                "Rater severity and fit",
                bar="Fitting",
            ),
        },
        shown={"nodes": "21; 31 with --model rasch"},
    ),
)

COMPARING = (
    Command(
        "ratings",
        "Rank systems from pairwise votes (Bradley–Terry or Elo), for humans and each judge.",
        "examples/battles.csv --output leaderboard.html",
        run=f"{_LABELS}:ratings",
        bar="Rating",
        heading=_VOTES,
        ask="assay.preference.leaderboard:ratings",
        page="assay.preference.page:leaderboard_parts",
        title="Leaderboard",
    ),
    Command(
        "consistency",
        "Measure how consistently each rater votes on repeated comparisons of an item.",
        "examples/votes.csv --scale preference --repeat repeat --judges gpt-4o --by separability",
        source="Votes, as for assay ratings.",
        ask="assay.preference.consistency:consistency",
        page="assay.preference.page:consistency_parts",
        title="Consistency of votes",
        bar="Rating",
        heading=_VOTES,
    ),
    Command(
        "separability",
        "Measure how separable the outputs of two systems are, item by item.",
        "examples/outputs.jsonl --annotator model --label text --repeat number --scale text --humans m1,m2",
        run=f"{_LABELS}:separability",
        heading=_VOTES,
        variants={
            "item by item": Variant(
                "separability without --sweep",
                "assay.preference.separability:separability",
                "assay.preference.page:separability_parts",
                "Separability of the systems' outputs",
            ),
            "sweep": Variant(
                "--sweep",
                "assay.preference.separability:separability_sweep",
                "assay.preference.page:sweep_parts",
                "Separability by numbers of outputs and comparisons",
            ),
        },
    ),
    Command(
        "ideas",
        "Validate text-similarity measures against expert odd-one-out choices, or compare text annotators.",
        "examples/odd_ones.csv --scale odd-one-out --judges gpt-4o --measures words,rouge-1 --output ideas.html",
        run=f"{_LABELS}:ideas",
        heading=_IDEAS,
        settings=("assay.ideas.choices:ValidateSettings", "assay.ideas.choices:MapSettings"),
    ),
)

PLANNING = (
    Command(
        "plan alt-test",
        "Estimate the number of items and annotators that the alternative annotator test needs.",
        "--n-items 30,50,100,200 --expertise crowd --judge-noise 0.2",
        run=f"{_PLANS}:plan",
        heading=_PLAN,
        settings=("assay.planning:PlanSettings", "assay.replacement.panel:AltTestSettings"),
        without=("expert", "gold", "clusters", "method", "n_resamples", "confidence", "judge"),
    ),
    Command(
        "plan labels",
        "Plan how many items humans must label for an estimate, and choose them.",
        "--half-width 0.03 --share 0.2 --correlation 0.7 --n-items 10000",
        run=f"{_PLANS}:plan_labels",
        heading=_PLAN,
        settings=("assay.estimates.plans.label_plan:LabelPlanSettings",),
        without=("judge",),
    ),
    Command(
        "plan budget",
        "Plan how to spend a budget on items, judges, prompts, runs and annotators.",
        "examples/panel.csv --judges m1,m2,m3,m4,m5,m6 --budget 50 --judge-price 0.02 --price 0.5",
        run=f"{_PLANS}:budget",
        heading=_PLAN,
        settings=("assay.estimates.plans.budget:BudgetSettings",),
        without=("judges",),
    ),
    Command(
        "plan triplets",
        "Plan or draw triplets for odd-one-out judgments.",
        "examples/notes.csv --document lesson --name item --text note --floor 5 -o triplets.csv",
        run=f"{_PLANS}:triplets",
        heading=_PLAN,
        settings=("assay.ideas.choices:PlanTripletsSettings", "assay.ideas.choices:SampleSettings"),
    ),
    Command(
        "plan d-study",
        "Project reliability for other numbers of raters and lessons (D-study).",
        "examples/lessons.csv --design 'r x (o:i)' --object i --facets r=annotator,o=lesson,i=teacher --levels r=1-3 "
        "--levels o=1-10",
        run=f"{_PLANS}:d_study",
        page="assay.psychometrics.page:d_study_parts",
        title="Projected reliability",
        heading=_G_STUDY,
        settings=("assay.psychometrics.design:GStudySettings", "assay.psychometrics.design:DStudySettings"),
    ),
    Command(
        "plan panel",
        "Estimate the effective number of judges in a panel, and what further judges add.",
        "examples/panel.csv --judges m1,m2,m3,m4,m5,m6",
        run=f"{_PLANS}:panel",
        page="assay.variation.page:panel_parts",
        title="Panel of judges",
        heading="The panel",
        settings=("assay.variation.panel:JudgePanelSettings",),
        without=("judges",),
    ),
    Command(
        "plan loop",
        "Project reliability if a judge is added to a human, compared with a second human.",
        "examples/lessons.csv --design 'r x (o:i)' --object i --facets r=annotator,o=lesson,i=teacher --sizes 1,2,4,8",
        run=f"{_PLANS}:loop",
        page="assay.psychometrics.page:d_study_parts",
        title="Reliability of a human and a judge",
        heading=_G_STUDY,
        settings=("assay.psychometrics.design:GStudySettings", "assay.psychometrics.design:LoopSettings"),
        without=("by", "human", "judge"),
    ),
    Command(
        "plan validate",
        "Simulate studies of a given size and report how often the verdict is right.",
        "--n-items 150 --n-annotators 4 --categories 1-5 --skew 0.6 --expertise crowd --seconds 5",
        run=f"{_PLANS}:validate",
        heading=_PLAN,
        settings=("assay.verdict.validate:ValidateVerdictSettings",),
    ),
)

STUDIES = (
    Command(
        "init",
        "Create a study folder: a working offline example, or your own items.",
        "my-study",
        run=f"{_STUDIES}:init",
    ),
    Command(
        "judge",
        "Query the study's judges for all missing labels.",
        "my-study --dry-run",
        run=f"{_STUDIES}:judge",
    ),
    Command(
        "people invite",
        "Add annotators to a study and print their personal links.",
        "my-study 'Ana Ruiz' 'Ben Okoro' --attribute expertise=nurse",
        run=f"{_STUDIES}:invite",
    ),
    Command(
        "serve",
        "Serve the annotation page and the study lead's dashboard.",
        "my-study",
        run=f"{_STUDIES}:serve",
    ),
    Command(
        "train",
        "Train a text-rating model on human labels and compare it with baselines.",
        "reviews.csv --text review --table with-rater.csv --folder my-rater --output rater.html",
        run=f"{_STUDIES}:train",
        page="assay.training.page:train_parts",
        title="Trained judge",
        heading="The trained judge",
        needs="reviews.csv, a table of texts and human labels",
        settings=("assay.training.documents:TrainSettings",),
    ),
    Command(
        "people links",
        "Print the personal links of the study lead and all annotators.",
        "my-study",
        run=f"{_SERVICE}:links",
    ),
    Command(
        "people pay",
        "Write each annotator's work and payment.",
        "my-study --output pay.csv",
        run=f"{_STUDIES}:pay",
    ),
    Command(
        "people exclude",
        "Exclude an annotator's labels from analysis; the record is kept.",
        "my-study 'Ben Okoro' --reason 'failed 4 of 5 checks'",
        run=f"{_STUDIES}:exclude",
    ),
    Command(
        "people erase",
        "Permanently delete an annotator and all their answers.",
        "my-study 'Ben Okoro' --yes",
        run=f"{_STUDIES}:erase",
    ),
    Command(
        "study status",
        "Print the progress of a study and of each annotator.",
        "my-study",
        run=f"{_SERVICE}:status",
    ),
    Command(
        "study split",
        "Split items into a development set and a test set.",
        "my-study --test 0.75",
        run=f"{_STUDIES}:split",
    ),
    Command(
        "study responses",
        "Print the judges' raw responses and the labels parsed from them.",
        "my-study --missing",
        run=f"{_STUDIES}:responses",
    ),
    Command(
        "study backup",
        "Back up a running study to a .zip file.",
        "my-study -o my-study-monday.zip",
        run=f"{_SERVICE}:backup",
    ),
    Command(
        "study restore",
        "Restore a study from a backup.",
        "my-study-monday.zip my-study-again",
        run=f"{_SERVICE}:restore",
    ),
    Command(
        "study record",
        "Export everything that was shown and answered, as JSON Lines in a .zip file.",
        "my-study -o answers.zip",
        run=f"{_SERVICE}:record",
    ),
    Command(
        "study adjudicated",
        "Export the adjudicated labels as a table.",
        "my-study -o adjudicated.csv",
        run=f"{_SERVICE}:adjudicated",
    ),
)

FILES = (
    Command(
        "import",
        "Convert a platform export to a plain table and report the counts.",
        "examples/export.json --item key --option users=examples/users.json -o labels.csv",
        run=f"{_STUDIES}:import_",
    ),
    Command(
        "export",
        "Convert labels to another format.",
        "examples/sheet.csv predictions.json --to label-studio --judges gpt-4o",
        run=f"{_STUDIES}:export",
    ),
    Command(
        "mcp",
        "Serve look, alt-test, agreement, card and estimate to an assistant (MCP).",
        "--folder examples",
        run=f"{_SERVICE}:mcp",
        further=True,
    ),
)

COMMANDS = {
    "Verdict": VERDICT,
    "After a yes": AFTER_A_YES,
    "Agreement": AGREEMENT,
    "Comparing": COMPARING,
    "Planning": PLANNING,
    "Studies": STUDIES,
    "Files": FILES,
}
"""Every command, in the order of the help."""

FAMILIES = {
    "plan": "Plan a study: sizes of samples, and how reliable their results will be.",
    "people": "Manage a study's annotators: links, payment, exclusion.",
    "study": "Manage a study: progress, split of items, responses, backups.",
}
"""Groups of commands that share their first word."""

BY_NAME = Registry("assay.commands", Command, {row.name: row for rows in COMMANDS.values() for row in rows})
"""Every command by name; those of installed packages are found when no built-in command has the name."""
