"""The commands of the questions: labels in, an answer out. No statistics here."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.group import Group

from assay.cli.labels import ALL_JUDGES, PLAIN, LabelOptions, Tested, similarity
from assay.cli.options import NOTHING, Given, Names, takes
from assay.cli.output import FOR_PEOPLE, Output, Page, command_line, note, progress_bar, target, write_page
from assay.concordance.coefficient import AgreementSettings, GradingScaleSettings
from assay.errors import AssayError, DesignError, listing
from assay.estimation.options import Settings, number_in
from assay.ideas.choices import MapSettings, PlanTripletsSettings, SampleSettings, ValidateSettings
from assay.planning import FOREIGN, PlanSettings
from assay.preference.votes import BradleyTerrySettings, Choose, EloSettings, SeparabilitySettings, SetSettings
from assay.psychometrics.design import DStudySettings, GStudySettings
from assay.psychometrics.raters.table import RaschSettings, RaterSettings
from assay.replacement.panel import AltTestBySettings, AltTestSettings
from assay.verdict.report import ReportSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from polars import DataFrame

    from assay.data.annotations import Annotations
    from assay.psychometrics.g_study import GStudy

_REPLACEMENT = Group("The alternative annotator test", sort_key=2)
_AGREEMENT = Group("Agreement", sort_key=2)
_SCALES = Group("Grading scales", sort_key=2)
_VOTES = Group("Votes", sort_key=2)
_IDEAS = Group("Ideas", sort_key=2)
_PLAN = Group("The plan", sort_key=0)
_G_STUDY = Group("Generalizability", sort_key=2)
_D_STUDY = Group("Decisions", sort_key=0)
_RATERS = Group("The rater model", sort_key=2)

_PAIRS = Annotated[
    Path | None,
    Parameter(group=_VOTES, help="Write pairs of outputs to this table (.csv, .jsonl, .parquet), for raters."),
]
_CHOOSE = Annotated[
    Choose, Parameter(group=_VOTES, help="With --pairs: how items are chosen by separability, with --n-items.")
]
_N_ITEMS = Annotated[
    int | None, Parameter(group=_VOTES, help="With --pairs: items for every two systems.", show_default="all")
]
_N_PAIRS = Annotated[int, Parameter(group=_VOTES, help="With --pairs: pairs for each item and two systems.")]

Facets = Annotated[
    Names,
    Parameter(
        group=_G_STUDY,
        help="The column of each facet: r=annotator,o=OBSID,i=NCTETID.",
        show_default="columns of those names",
    ),
]
Levels = Annotated[
    list[str] | None,
    Parameter(group=_D_STUDY, help="How many levels of a facet: o=1-10 or r=1,2,3; once for each facet."),
]
Traits = Annotated[
    Names,
    Parameter(
        group=_RATERS,
        help="The trait of each criterion: clarity=style,depth=content; style+content for two.",
        show_default="one trait for all",
    ),
]
Prices = Annotated[Names, Parameter(group=_D_STUDY, help="What one level of a facet costs: o=20.")]

_DOMAINS = {"by": "the criterion, where the table has several"}
_HTML = Annotated[Path, Parameter(name=["--output", "-o"])]

_ALT_TEST_COLUMNS = ("statistic", "p", "p_reverse", "rejected_reverse", "quality", "difference")
TERMINAL = 80
"""Columns that a table of agreement and of scales takes at most."""

_ONE_BY_ONE = ("pairs", "random human")

DEMO_NOISE = {"careful": 0.2, "middling": 0.42, "careless": 0.9}
"""The judges of the demo, and how often each answers at random."""


def demo(*, out: _HTML = Path("report.html"), seed: int = 7, output: Output = FOR_PEOPLE) -> None:
    """Simulate a study whose truth is known, and report on it.

    Parameters
    ----------
    out
        Where the page is written.
    seed
        Of the simulation: same seed, same numbers.
    """
    from assay.simulation import simulate
    from assay.verdict.report import report as make

    target(out)
    labels = simulate(n_items=150, n_annotators=4, annotator_noise=0.3, judges=DEMO_NOISE, seed=seed)
    said = (
        "A simulated study, not real data: 4 people and 3 judges rate 150 items. Each answers with the item's true\n"
        "label, or, with the probability given, with a random one. People: 0.30; judges: "
        + ", ".join(f"{name} {value:.2f}" for name, value in DEMO_NOISE.items())
        + ".\n"
    )
    (print if output.for_people else note)(said)
    title = "Demo: may these simulated judges stand in for simulated people?"
    with progress_bar("Testing") as progress:
        found = make(labels, annotators="skilled", title=title, progress=progress)
        path = found.made_by(command_line()).save(out)
    output.words(found)
    note(f"written to {path}")


@takes(ReportSettings, group=_REPLACEMENT, without=("judges",), read={"similarity": similarity})
def report(
    source: str,
    *,
    out: _HTML = Path("report.html"),
    tested: Tested = ALL_JUDGES,
    labels: LabelOptions = PLAIN,
    options: Given = NOTHING,
    output: Output = FOR_PEOPLE,
) -> None:
    """A page that leads with the verdict, for a person to read.

    Parameters
    ----------
    source
        A file, a folder with human_annotations.json and llm_annotations.json, or a study folder.
    out
        Where the page is written.
    """
    from assay.verdict.report import report as make

    target(out)
    given = options.options()
    table = labels.read(source)
    tested.among(table)
    with progress_bar("Testing") as progress:
        found = make(table, judges=tested.names(), progress=progress, **given)
        path = found.made_by(command_line()).save(out)
    output.words(found)
    note(f"written to {path}")


@takes(AltTestBySettings, group=_REPLACEMENT, shown=_DOMAINS, read={"similarity": similarity})
def alt_test(
    source: str,
    *,
    tested: Tested = ALL_JUDGES,
    fail_under: float | None = None,
    labels: LabelOptions = PLAIN,
    options: Given = NOTHING,
    output: Output = FOR_PEOPLE,
) -> int:
    """May a judge stand in for people? The alternative annotator test.

    Parameters
    ----------
    source
        A file, or a folder with human_annotations.json and llm_annotations.json.
    fail_under
        Exit with 1 where a winning rate is below this, 0 to 1.
    """
    given = options.options()
    if fail_under is not None:
        number_in("fail_under", fail_under, low=0, high=1)
    table = labels.read(source)
    judges = tested.among(table)
    with progress_bar("Testing"):
        found, drop = _tested(table, judges, given)
    output.show(*found, drop=drop)
    tests = [test for one in found for test in (one.tests.values() if hasattr(one, "tests") else (one,))]
    return int(fail_under is not None and not all(test.winning_rate >= fail_under for test in tests))


def _tested(table: Annotations, judges: list[str], given: dict[str, Any]) -> tuple[list[Any], tuple[str, ...]]:
    """What was found of each judge, or of all of them, and the columns that are not printed."""
    from assay.replacement.alt_test import alt_test as test_one
    from assay.replacement.compare import compare_judges
    from assay.replacement.domains import alt_test_by

    if "by" in given or len(table.criteria) > 1:
        return [alt_test_by(table, one, **given) for one in judges], ()
    if "correction" in given:
        raise DesignError("correction=... is about several domains; name the column that tells them apart with by=...")
    if len(judges) == 1:
        return [test_one(table, judges[0], **given)], _ALT_TEST_COLUMNS
    return [compare_judges(table, judges, **given)], ("kind", "passed")


@takes(AgreementSettings, group=_AGREEMENT)
def agreement(
    source: str,
    *,
    out: Page = None,
    labels: LabelOptions = PLAIN,
    options: Given = NOTHING,
    output: Output = FOR_PEOPLE,
) -> None:
    """Do annotators agree, and is a judge as close to the people as they are to each other?

    Parameters
    ----------
    source
        A file or folder of labels.
    """
    from assay.concordance.agreement import agreement as agree
    from assay.concordance.page import agreement_parts

    target(out)
    given = options.options()
    table = labels.read(source)
    with progress_bar("Comparing"):
        found = agree(table, **given)
    shown = _to_be_read(found.rows, found.headline, given)
    titles = shown["title"].unique().to_list()
    symbol, title = (titles[0], ["title"]) if len(titles) == 1 else (None, [])
    drop = ("coefficient", "interval", "p", *title, *_empty(shown))
    output.show(found, drop=drop, rows=_between(shown), width=TERMINAL, symbol=symbol)
    write_page(out, "Do the annotators agree?", found, agreement_parts)


def _between(rows: DataFrame) -> DataFrame:
    """Who with whom in one column."""
    import polars as pl

    backwards = pl.format("{} & {}", "second", "first")
    named = pl.when(pl.col("who") == "pairs").then(pl.format("{} & {}", "first", "second")).otherwise(backwards)
    between = pl.when(pl.col("second").is_null()).then("first").otherwise(named)
    rest = [c for c in rows.columns if c not in ("criterion", "group", "who", "first", "second")]
    return rows.select("criterion", "group", between.alias("between"), *rest)


def _to_be_read(rows: DataFrame, headline: str, given: dict[str, Any]) -> DataFrame:
    """The rows for a person: of one coefficient, and without the long lists, unless they were asked for."""
    if not given.get("coefficients"):
        rows = rows.filter(rows["coefficient"] == headline)
    brief = rows.filter(~rows["who"].is_in(_ONE_BY_ONE))
    return rows if given.get("who") or not brief.height else brief


@takes(GradingScaleSettings, group=_SCALES, named={"scale": "--scale-column"})
def scales(
    source: str,
    *,
    out: Page = None,
    labels: LabelOptions = PLAIN,
    options: Given = NOTHING,
    output: Output = FOR_PEOPLE,
) -> None:
    """On which numeric scale should people and judges be asked?

    Parameters
    ----------
    source
        A file or folder of labels, every item answered on several scales.
    """
    from assay.concordance.grading_scale import grading_scale_study
    from assay.concordance.page import grading_scale_parts

    target(out)
    given = options.options()
    varied = [given.get("scale", GradingScaleSettings.scale), *filter(None, [given.get("condition")])]
    conditions = list(dict.fromkeys([*(labels.conditions or ()), *varied]))
    table = replace(labels, conditions=conditions).read(source)
    if "baseline" in given and "condition" in given:
        known = {str(v): v for v in table.values_of(given["condition"])}
        given["baseline"] = known.get(given["baseline"], given["baseline"])
    with progress_bar("Comparing"):
        found = grading_scale_study(table, **given)
    output.show(found, width=TERMINAL)
    write_page(out, "On which scale to ask?", found, grading_scale_parts)


@takes(BradleyTerrySettings, group=_VOTES, named={"scale": "--rating-scale"})
def ratings(
    source: str,
    *,
    out: Page = None,
    labels: LabelOptions = PLAIN,
    options: Given = NOTHING,
    output: Output = FOR_PEOPLE,
) -> None:
    """Which system do raters prefer? Bradley-Terry ratings, whatever the order of the votes.

    Parameters
    ----------
    source
        Votes: labels first, second or tie, with columns first and second that name the systems; a study's folder; or a
        table with model_a, model_b and winner.
    """
    from assay.preference.leaderboard import bradley_terry
    from assay.preference.page import leaderboard_parts

    _rated(bradley_terry, leaderboard_parts, source, out, labels.read, options, output)


@takes(EloSettings, group=_VOTES, named={"scale": "--rating-scale"})
def elo(
    source: str,
    *,
    out: Page = None,
    labels: LabelOptions = PLAIN,
    options: Given = NOTHING,
    output: Output = FOR_PEOPLE,
) -> None:
    """Which system do raters prefer? Elo ratings, also weighted by separability, and how much the order matters.

    Parameters
    ----------
    source
        Votes, as for assay ratings.
    """
    from assay.preference.leaderboard import elo as rate
    from assay.preference.page import leaderboard_parts

    _rated(rate, leaderboard_parts, source, out, labels.read, options, output)


@takes(SetSettings, group=_VOTES)
def consistency(
    source: str,
    *,
    out: Page = None,
    labels: LabelOptions = PLAIN,
    options: Given = NOTHING,
    output: Output = FOR_PEOPLE,
) -> None:
    """Can raters tell two systems apart? How consistent each rater's votes on an item are.

    Parameters
    ----------
    source
        Votes, as for assay ratings.
    """
    from assay.preference.consistency import consistency as ask
    from assay.preference.page import consistency_parts

    _rated(ask, consistency_parts, source, out, labels.read, options, output)


@takes(SeparabilitySettings, group=_VOTES)
def separability(
    source: str,
    *,
    pairs: _PAIRS = None,
    choose: _CHOOSE = "weighted",
    n_items: _N_ITEMS = None,
    n_pairs: _N_PAIRS = 5,
    out: Page = None,
    labels: LabelOptions = PLAIN,
    options: Given = NOTHING,
    output: Output = FOR_PEOPLE,
) -> None:
    """On which items can the outputs of two systems be told apart?

    Parameters
    ----------
    source
        Outputs: one row a text, with its item, its system (annotator) and its number (repeat); or a study's folder
        with systems.
    """
    from assay.data.formats.exports import write_frame
    from assay.preference.page import separability_parts
    from assay.preference.separability import separability as ask

    target(pairs)
    if pairs is None and (choose != "weighted" or n_items is not None or n_pairs != 5):
        raise DesignError("--choose, --n-items and --n-pairs say which pairs are drawn; name their file with --pairs")
    number_in("--n-items", n_items or 1, low=1, whole=True)
    number_in("--n-pairs", n_pairs, low=1, whole=True)
    title = "On which items can the systems be told apart?"
    found = _rated(ask, separability_parts, source, out, labels.outputs, options, output, title)
    if pairs is not None:
        drawn = found.pairs(n_pairs, n_items=n_items, choose=choose, seed=found.run.settings.seed)
        write_frame(drawn, pairs)
        note(f"{drawn.height} pairs of outputs, of {drawn['pair_of'].n_unique()} items, written to {pairs}")


def _rated(
    ask: Callable[..., Any], parts: Callable[[Any], Any], source: str, out: Path | None,
    read: Callable[[str], Annotations], options: Given, output: Output, title: str = "Which system do raters prefer?",
) -> Any:  # fmt: skip
    """A question about votes, or about what is voted on: read, asked, printed."""
    target(out)
    given = options.options()
    table = read(source)
    with progress_bar("Rating"):
        found = ask(table, **given)
    output.show(found, drop=_empty(found.table))
    write_page(out, title, found, parts)
    return found


@takes(
    PlanSettings,
    AltTestSettings,
    group=_PLAN,
    without=(*FOREIGN, "judge"),
    named={"scale": "--categories"},
    read={"similarity": similarity, "scale": lambda text: int(text) if text.isdecimal() else text},
)
def plan(
    *,
    pilot: Annotated[str | None, Parameter(group=_PLAN)] = None,
    tested: Tested = ALL_JUDGES,
    labels: LabelOptions = PLAIN,
    options: Given = NOTHING,
    output: Output = FOR_PEOPLE,
) -> None:
    """How many items and annotators does the alternative annotator test need?

    Parameters
    ----------
    pilot
        A file or folder of labels at hand, drawn from in place of a simulation.
    """
    from assay.planning import plan_alt_test

    given = options.options()
    names = tested.names()
    if pilot is not None:
        given["pilot"] = labels.read(pilot)
        names = names and tested.among(given["pilot"])
    if names:
        if len(names) > 1:
            raise AssayError(f"a plan is made for one judge of the pilot; --only names {len(names)}")
        given["judge"] = names[0]
    with progress_bar("Planning"):
        found = plan_alt_test(**given)
    output.show(found)


@takes(PlanTripletsSettings, SampleSettings, group=_PLAN, named={"n": "--n-triplets"})
def triplets(
    source: Annotated[str | None, Parameter(group=_PLAN)] = None,
    *,
    out: Annotated[Path | None, Parameter(name=["--output", "-o"], group=_PLAN)] = None,
    pilot: Annotated[str | None, Parameter(group=_PLAN)] = None,
    document: Annotated[str | None, Parameter(group=_PLAN)] = None,
    name: Annotated[str | None, Parameter(group=_PLAN)] = None,
    text: Annotated[str | None, Parameter(group=_PLAN)] = None,
    labels: LabelOptions = PLAIN,
    options: Given = NOTHING,
    output: Output = FOR_PEOPLE,
) -> None:
    """How many odd ones out are enough, and which triplets to ask about? Also: assay plan triplets.

    Parameters
    ----------
    source
        A table of texts, one row a text: triplets are drawn from it (--floor, --n-triplets), and written with -o.
        Without
        it, a plan: how many comparisons of each pair rank the pairs as experts see them.
    out
        A .csv file for the triplets.
    pilot
        A file or folder of odd ones out at hand: experts agree as far as there.
    document
        Column of the texts that names their document; triplets stay within it.
    name
        Column that names the texts.
    text
        Column that holds the texts.
    """
    given = options.options()
    own = {k: given.pop(k) for k in ("floor", "n") if k in given}
    if source is None:
        typed = {"floor": own.get("floor"), "n-triplets": own.get("n"), "output": out, "document": document}
        for option in (k for k, v in {**typed, "name": name, "text": text}.items() if v is not None):
            raise AssayError(f"--{option} is about drawing triplets; name the file of texts, or plan with --floors")
        _planned_triplets(pilot, given, labels, output)
        return
    if set(given) - {"seed"} or pilot is not None:
        strange = "pilot" if pilot is not None else next(k for k in given if k != "seed")
        raise AssayError(
            f"--{strange.replace('_', '-')} is about a plan, and '{source}' is a file to draw triplets from; "
            f"leave one out"
        )
    from assay.data.formats.tables import read_table
    from assay.ideas.sampling import sample_triplets

    target(out)
    if not Path(source).is_file():
        raise AssayError(f"there is no file '{source}'")
    texts = read_table(Path(source)).labels.drop("_row", strict=False)
    with progress_bar("Drawing"):
        found = sample_triplets(texts, document=document, name=name, text=text, **own, **given)
    output.words(found)
    if out is not None:
        found.triplets.write_csv(out)
        note(f"written to {out}")


def _planned_triplets(pilot: str | None, given: dict[str, Any], labels: LabelOptions, output: Output) -> None:
    from assay.ideas.sample_size import judgments_needed, plan_triplets

    if pilot is None:
        with progress_bar("Planning"):
            output.show(plan_triplets(**given))
        return
    table = (
        replace(labels, scale=labels.scale or ["odd-one-out"]).read(pilot)
        if Path(pilot).is_file()
        else labels.read(pilot)
    )
    with progress_bar("Planning"):
        found = plan_triplets(pilot=table, **given)
        needed = judgments_needed(table, **{k: given[k] for k in ("target", "seed") if k in given})
    output.show(found)
    if output.for_people:
        print(needed.summary())


def _several_measures(text: str) -> list[str]:
    """``words,rouge-l,embeddings:MODEL,split=whole``: commas apart, but for those before an option."""
    return [part.strip() for part in re.split(r",(?![a-z_]+=)", text) if part.strip()]


@takes(ValidateSettings, MapSettings, group=_IDEAS, read={"measures": _several_measures})
def ideas(
    source: str,
    *,
    out: Page = None,
    labels: LabelOptions = PLAIN,
    options: Given = NOTHING,
    output: Output = FOR_PEOPLE,
) -> None:
    """Do texts carry the same ideas? Measures against experts' odd ones out; or where each judge sits among people.

    Parameters
    ----------
    source
        Odd ones out of three texts: how well measures and judges rank pairs as experts do. Or texts by people and
        judges
        (--scale text): how close each annotator is to the people.
    """
    target(out)
    given = options.options()
    table = labels.read(source)
    if any(scale.kind == "odd-one-out" for scale in table.scales.values()):
        _of_choices(table, given, labels, out, output)
        return
    if any(scale.kind != "text" for scale in table.scales.values()):
        raise DesignError(
            "ideas are in odd ones out, read with scale='odd-one-out', or in texts, read with scale='text'; these "
            f"labels are {listing([scale.describe() for scale in table.scales.values()], 2)}"
        )
    _only_known(given, MapSettings, "texts", "odd ones out of three texts")
    from assay.ideas.annotators import annotator_similarity
    from assay.ideas.page import annotator_parts

    with progress_bar("Comparing"):
        found = annotator_similarity(table, **given)
    output.show(found, drop=_empty(found.rows))
    write_page(out, "Where does each judge sit among the people?", found, annotator_parts)


def _of_choices(
    table: Annotations, given: dict[str, Any], labels: LabelOptions, out: Path | None, output: Output
) -> None:  # fmt: skip
    """Odd ones out: measures against the experts where there are any, else how alike the texts are."""
    from assay.ideas.page import reliability_parts, triplet_parts, validation_parts
    from assay.ideas.reliability import odd_one_out_agreement
    from assay.ideas.triplets import triplet_similarity
    from assay.ideas.validate import validate_similarity

    _only_known(given, ValidateSettings, "odd ones out of three texts", "texts")
    measures = {name: _measure(name, labels) for name in given.pop("measures", [])}
    basic = {k: given[k] for k in ("texts", "document", "annotators", "floor", "confidence") if k in given}
    with progress_bar("Comparing"):
        pairs = triplet_similarity(table, **basic)
        judged = given.get("with_judges", True) and bool(table.judges)
        found = validate_similarity(table, measures, **given) if measures or judged else None
        try:
            agreed = odd_one_out_agreement(table, confidence=pairs.settings.confidence)  # type: ignore[attr-defined]
        except DesignError:
            agreed = None
    main = pairs if found is None else found
    beside = () if agreed is None or not output.for_people else (agreed,)
    output.show(main, *beside, drop=_empty(main.table))

    def parts(_: Any) -> Any:
        first = () if found is None else validation_parts(found)
        return (*first, *(() if agreed is None else reliability_parts(agreed)), *triplet_parts(pairs))

    write_page(out, "Do two texts carry the same ideas?", main, parts)


def _measure(name: str, labels: LabelOptions) -> Any:
    """A measure by its name; the labels of a file or a study's folder, where there is one."""
    if not Path(name).exists():
        return name
    return replace(labels, scale=None, where=None, judges=None, humans=None).read(name)


def _only_known(given: dict[str, Any], settings: type[Settings], about: str, other: str) -> None:
    """Options of the other kind of labels are refused."""
    known = {f.name for f in fields(settings)}
    strange = [name for name in given if name not in known]
    if strange:
        raise AssayError(f"--{strange[0].replace('_', '-')} is about {other}; the labels are {about}")


@takes(GStudySettings, group=_G_STUDY)
def g_study(
    source: str,
    *,
    facets: Facets = None,
    out: Page = None,
    labels: LabelOptions = PLAIN,
    options: Given = NOTHING,
    output: Output = FOR_PEOPLE,
) -> None:
    """How far do scores carry: to other raters, lessons, segments?

    Parameters
    ----------
    source
        A file or folder of labels.
    """
    from assay.psychometrics.page import g_study_parts

    target(out)
    given = options.options()
    found = _studied(source, facets, labels, given)
    output.show(found, drop=_empty(found.table))
    write_page(out, "How far do scores carry?", found, g_study_parts)


@takes(GStudySettings, DStudySettings, group=_G_STUDY)
def d_study(
    source: str,
    *,
    levels: Levels = None,
    prices: Prices = None,
    facets: Facets = None,
    out: Page = None,
    labels: LabelOptions = PLAIN,
    options: Given = NOTHING,
    output: Output = FOR_PEOPLE,
) -> None:
    """How many raters and lessons would be enough? A D-study; also: assay plan d-study.

    Parameters
    ----------
    source
        A file or folder of labels: the G-study that is projected.
    """
    from assay.psychometrics.page import d_study_parts

    target(out)
    given = options.options()
    sizes = {f: _numbers(f, text) for f, text in _named("levels", levels).items()}
    costs = {f: _price(f, text) for f, text in _named("prices", prices).items()}
    own = {k: given.pop(k) for k in ("target", "coefficient", "along", "price", "merged") if k in given}
    study = _studied(source, facets, labels, given)
    found = study.d_study(sizes, prices=costs or None, **own)
    output.show(found, drop=_empty(found.table))
    write_page(out, "How many raters and lessons?", found, d_study_parts)


@takes(RaterSettings, group=_RATERS)
def raters(
    source: str,
    *,
    traits: Traits = None,
    out: Page = None,
    labels: LabelOptions = PLAIN,
    options: Given = NOTHING,
    output: Output = FOR_PEOPLE,
) -> None:
    """Who is severe, who is erratic, who is unfair? Every person and every judge by the hierarchical rater model.

    Parameters
    ----------
    source
        A file or folder of labels in ordered categories.
    """
    from assay.psychometrics.page import rater_parts
    from assay.psychometrics.raters.model import rater_model

    target(out)
    given = options.options()
    named = {name: tuple(text.split("+")) for name, text in _named("traits", traits, "CRITERION=TRAIT").items()}
    table = labels.read(source)
    with progress_bar("Fitting") as progress:
        found = rater_model(table, dimensions=named or None, progress=progress, **given)
    if output.for_people and found.fairness is not None:
        from assay.reporting import tables

        print(tables.to_text(tables.shown(found.fairness.rows, drop=_empty(found.fairness.rows), symbol="Δφ")) + "\n")
    output.show(found, drop=_empty(found.table))
    write_page(out, "Who is severe, who is erratic, who is unfair?", found, rater_parts)


@takes(RaschSettings, group=_RATERS)
def rasch(
    source: str,
    *,
    out: Page = None,
    labels: LabelOptions = PLAIN,
    options: Given = NOTHING,
    output: Output = FOR_PEOPLE,
) -> None:
    """How severe is each rater, and who rates as nobody would expect? The many-facet Rasch model.

    Parameters
    ----------
    source
        A file or folder of labels in ordered categories.
    """
    from assay.psychometrics.page import rasch_parts
    from assay.psychometrics.raters.rasch import many_facet_rasch

    target(out)
    given = options.options()
    table = labels.read(source)
    with progress_bar("Fitting"):
        found = many_facet_rasch(table, **given)
    output.show(found, drop=_empty(found.table))
    write_page(out, "How severe is each rater?", found, rasch_parts)


def _empty(frame: DataFrame) -> tuple[str, ...]:
    from assay.reporting.tables import empty_columns  # Polars is imported when a command runs

    return empty_columns(frame)


def _studied(source: str, facets: list[str] | None, labels: LabelOptions, given: dict[str, Any]) -> GStudy:
    """The G-study of a command."""
    from assay.psychometrics.g_study import g_study as study

    for name in ("design", "object"):
        if name not in given:
            raise AssayError(f"a G-study needs --{name}, such as --design 'r x (o:i)' --object i")
    columns = _named("facets", facets)
    table = labels.read(source)
    with progress_bar("Fitting"):
        return study(table, facets=columns or None, **given)


def _named(option: str, given: list[str] | None, form: str = "FACET=VALUE") -> dict[str, str]:
    """``name=value`` as typed."""
    pairs = [one.partition("=") for one in given or ()]
    for name, equals, value in pairs:
        if not (name.strip() and equals and value.strip()):
            raise AssayError(f"--{option} takes {form}; got '{name}{equals}{value}'")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _numbers(facet: str, text: str) -> list[int]:
    """``1-10`` or ``1,2,3``."""
    first, dash, last = text.partition("-")
    if dash and first.isdecimal() and last.isdecimal() and int(first) <= int(last) <= int(first) + 10_000:
        return [*range(int(first), int(last) + 1)]
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise AssayError(f"--levels {facet}=... takes whole numbers: {facet}=1-10 or {facet}=1,2,3; got '{text}'")
    return [int(part) for part in parts]


def _price(facet: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise AssayError(f"--prices {facet}=... takes a number; got '{text}'") from None
