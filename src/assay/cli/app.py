"""One command per question: parses, calls, prints. No statistics, no SQL, no HTML here.

Exit status: 0 when the command did what was asked, 1 where ``--fail-under`` was not reached, 2 on bad
input, with one line on standard error and never a traceback.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter
from cyclopts.group import Group

from assay._version import __version__
from assay.errors import AssayError

if TYPE_CHECKING:
    from polars import DataFrame

    from assay.data.annotations import Annotations
    from assay.estimation.result import Result

app = App(
    name="assay",
    version=__version__,
    help="May this LLM judge stand in for human annotators, when no human label is gold?",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)

_READING = Group("Reading the labels", sort_key=1)
_TESTING = Group("The alternative annotator test", sort_key=2)
_OUTPUT = Group("Output", sort_key=3)


def _commas(_: Any, tokens: Sequence[Any]) -> list[str]:
    """``a,b,c`` as a list; ``icc(a,1)`` is one name."""
    parts = (part.strip() for token in tokens for part in re.split(r",(?![^(]*\))", token.value))
    return [part for part in parts if part]


def _whole_numbers(_: Any, tokens: Sequence[Any]) -> list[int]:
    """``30,50`` as whole numbers."""
    return [int(part) for part in _commas(_, tokens)]


def _numbers(_: Any, tokens: Sequence[Any]) -> list[float]:
    """``.1,.2`` as numbers."""
    return [float(part) for part in _commas(_, tokens)]


Names = Annotated[list[str] | None, Parameter(converter=_commas, n_tokens=1)]


@Parameter(name="*", group=_READING)
@dataclass
class Reading:
    """How the labels are read; see `assay.read`."""

    item: Annotated[Names, Parameter(help="Column that names the item; several name it together. [default: item]")] = (
        None
    )
    annotator: Annotated[str, Parameter(help="Column that names who answered.")] = "annotator"
    label: Annotated[
        Names, Parameter(help="Column that holds the label; several are one criterion each. [default: label]")
    ] = None
    criterion: Annotated[str | None, Parameter(help="Column that names the question asked.")] = None
    repeat: Annotated[str | None, Parameter(help="Column that numbers repeated answers.")] = None
    judges: Annotated[Names, Parameter(help="Annotators that are models, separated by commas.")] = None
    scale: Annotated[
        list[str] | None,
        Parameter(
            help="What a label may be: 1-5, interval:0-100, ordinal:low<mid<high, nominal:yes,no, text, ...; "
            "CRITERION=SCALE where criteria differ, once each."
        ),
    ] = None
    wide: Annotated[bool, Parameter(help="One row an item, one column an annotator.")] = False
    columns: Annotated[Names, Parameter(help="The annotators' columns of a wide table.")] = None
    conditions: Annotated[Names, Parameter(help="Columns that were varied on purpose.")] = None
    split_item: Annotated[
        str | None, Parameter(help="Separator, or regular expression with named groups, that splits the item id.")
    ] = None
    items: Annotated[Path | None, Parameter(help="A table with one row an item: text, document, gold, ...")] = None
    annotator_table: Annotated[Path | None, Parameter(help="A table with one row an annotator.")] = None
    format: Annotated[
        str, Parameter(help="auto, or the platform that wrote the file: label-studio, argilla, prodigy, mturk, ...")
    ] = "auto"
    option: Annotated[
        list[str] | None, Parameter(help="NAME=VALUE for the format's reader, such as users=users.json; may repeat.")
    ] = None
    where: Annotated[
        list[str] | None, Parameter(help="Keep labels with COLUMN=VALUE (or COLUMN=A,B); repeat to narrow further.")
    ] = None

    def read(self, source: str, extra_judges: Sequence[str] = ()) -> Annotations:
        """The table; ``extra_judges`` are judges that another option names."""
        from assay.reading import read

        options: dict[str, Any] = {}
        if self.option:
            from assay.data.formats.registry import format_of

            options = format_of(Path(source), self.format).options_from(self.option)

        def table(judges: Sequence[str] | None) -> Annotations:
            return read(
                source, item=_one(self.item, "item"), annotator=self.annotator, label=_one(self.label, "label"),
                criterion=self.criterion,
                repeat=self.repeat, judges=judges, scale=_scale(self.scale), layout="wide" if self.wide else "long",
                columns=self.columns, conditions=self.conditions or (), split_item=self.split_item,
                items=self.items, annotators=self.annotator_table, format=self.format, **options,
            )  # fmt: skip

        labels = table(self.judges)
        if self.judges is None and extra_judges and not labels.judges:
            labels = table(extra_judges)
        for condition in self.where or ():
            name, equals, values = condition.partition("=")
            if not equals:
                raise AssayError(f"--where takes COLUMN=VALUE; got '{condition}'")
            seen = {str(v): v for v in labels.values_of(name)}
            labels = labels.where(**{name: [seen.get(v, v) for v in values.split(",")]})
        return labels


@Parameter(name="*", group=_TESTING)
@dataclass
class Testing:
    """What decides the outcome; see `assay.alt_test`."""

    annotators: Annotated[
        Literal["expert", "skilled", "crowd"] | None,
        Parameter(help="Who the annotators are: sets epsilon to .2, .15 or .1."),
    ] = None
    epsilon: Annotated[float | None, Parameter(help="What the judge's low cost is worth, 0 to 1.")] = None
    score: Annotated[
        Literal["accuracy", "neg_rmse", "similarity"] | None, Parameter(help="How close two labels are.")
    ] = None
    similarity: Annotated[
        str | None, Parameter(help="For text: characters, words, or a table of label pairs with a number each.")
    ] = None
    fdr: Annotated[float, Parameter(help="q of the Benjamini-Yekutieli correction.")] = 0.05
    threshold: Annotated[float, Parameter(help="Winning rate from which the judge passes.")] = 0.5
    min_items: Annotated[int, Parameter(help="Annotators with fewer comparable items are left out.")] = 30
    min_humans: Annotated[int, Parameter(help="Items with fewer human labels are left out.")] = 2
    test: Annotated[Literal["auto", "t", "wilcoxon"], Parameter(help="auto: Wilcoxon below 30 items.")] = "auto"
    normalise: Annotated[
        Literal["zscore", "minmax", "rank"] | None, Parameter(help="Put each annotator on a scale of its own.")
    ] = None
    balance: Annotated[bool, Parameter(help="Weigh items so that every label counts the same.")] = False
    ties: Annotated[
        Literal["random", "lowest", "highest", "share"], Parameter(help="Label of a tied majority under --balance.")
    ] = "random"
    expert: Annotated[str | None, Parameter(help="One trusted annotator that all others are compared with.")] = None
    gold: Annotated[str | None, Parameter(help="Item column with gold labels: does the judge outperform people?")] = (
        None
    )
    quality: Annotated[str | None, Parameter(help="Annotator column with a weight for each annotator.")] = None
    clusters: Annotated[str | None, Parameter(help="Item column whose items are resampled together.")] = None
    repeats: Annotated[
        Literal["error", "first", "last", "mean", "majority", "each"],
        Parameter(help="What repeated answers stand for."),
    ] = "error"
    method: Annotated[
        Literal["percentile", "bca", "jackknife", "none"], Parameter(help="How the interval of rho is made.")
    ] = "percentile"
    n_resamples: Annotated[int, Parameter(help="Bootstrap resamples.")] = 2000
    confidence: Annotated[float, Parameter(help="Level of the intervals.")] = 0.95
    seed: Annotated[int, Parameter(help="Same seed, same numbers.")] = 0

    def options(self) -> dict[str, Any]:
        """Keyword options of `assay.alt_test`."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.similarity is not None:
            found["similarity"] = _similarity(self.similarity)
        return found


@Parameter(name="*", group=_OUTPUT)
@dataclass
class Output:
    """How the result is printed."""

    json: Annotated[bool, Parameter(help="Print everything as JSON and nothing else.")] = False
    csv: Annotated[bool, Parameter(help="Print the table as CSV, all digits.")] = False
    latex: Annotated[bool, Parameter(help="Print the table as LaTeX.")] = False

    def show(self, *results: Result, drop: Sequence[str] = (), rows: DataFrame | None = None) -> None:
        """Print results in the form asked for; ``rows`` are those of a table too long to be read whole."""
        from assay.reporting import tables

        if self.json:
            found = [result.to_dict() for result in results]
            print(json.dumps(found[0] if len(found) == 1 else found, ensure_ascii=False, indent=2))
            return
        for i, result in enumerate(results):
            shown = tables.shown(result.table if rows is None else rows, drop=drop, symbol=result.symbol)
            if self.csv:
                print(tables.to_csv(result.table), end="")
            elif self.latex:
                print(tables.to_latex(shown), end="")
            else:
                print(("\n" if i else "") + tables.to_text(shown) + "\n\n" + result.summary())


_WHO = ("humans", "judges", "consensus", "rest", "any human")
_ALT_TEST_COLUMNS = ("statistic", "p", "p_reverse", "rejected_reverse", "quality", "difference")


@app.command(name="alt-test", help_epilogue="Example: assay alt-test labels.csv --judges gpt-4o --annotators crowd")
def alt_test(
    source: str,
    *,
    judge: Names = None,
    by: str | None = None,
    correction: Literal["across", "within"] = "across",
    fail_under: float | None = None,
    reading: Reading | None = None,
    testing: Testing | None = None,
    output: Output | None = None,
) -> int:
    """May a judge stand in for people? The alternative annotator test.

    Parameters
    ----------
    source
        A file, or a folder with human_annotations.json and llm_annotations.json.
    judge
        The judges to test, separated by commas; all of the table when not given.
    by
        Column that tells domains apart; the criterion where the table has several.
    correction
        Correct across all domains, or within each.
    fail_under
        Exit with 1 where a winning rate is below this.
    """
    from assay.replacement.alt_test import alt_test as test_one
    from assay.replacement.compare import compare_judges
    from assay.replacement.domains import alt_test_by

    output, options = output or Output(), (testing or Testing()).options()
    labels = (reading or Reading()).read(source, judge or ())
    _tell(labels)
    judges = judge or list(labels.judges)
    by = by or ("criterion" if len(labels.criteria) > 1 else None)
    rates: list[float]
    if by is not None:
        found = [alt_test_by(labels, one, by=by, correction=correction, **options) for one in judges]
        output.show(*found)
        rates = [test.winning_rate for one in found for test in one.tests.values()]
    elif len(judges) == 1:
        single = test_one(labels, judges[0], **options)
        output.show(single, drop=_ALT_TEST_COLUMNS)
        rates = [single.winning_rate]
    else:
        compared = compare_judges(labels, judges, **options)
        output.show(compared, drop=("kind", "passed"))
        rates = [test.winning_rate for test in compared.tests.values()]
    return int(fail_under is not None and not all(rate >= fail_under for rate in rates))


@app.command(help_epilogue="Example: assay report annotations/ --annotators crowd --output report.html")
def report(
    source: str,
    *,
    out: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("report.html"),
    judge: Names = None,
    by: str | None = None,
    title: str | None = None,
    reading: Reading | None = None,
    testing: Testing | None = None,
    output: Output | None = None,
) -> None:
    """A page that leads with the verdict, for a person to read.

    Parameters
    ----------
    source
        A file, a folder with human_annotations.json and llm_annotations.json, or a study folder.
    out
        Where the page is written.
    judge
        The judges to report on, separated by commas; all of the table when not given.
    by
        Column that tells domains apart; the criterion where the table has several.
    title
        Headline of the page.
    """
    from assay.verdict.report import report as make

    output = output or Output()
    labels = (reading or Reading()).read(source, judge or ())
    _tell(labels)
    with _bar() as progress:
        found = make(
            labels, judges=judge, by=by, title=title, progress=progress, **(testing or Testing()).options()
        )  # fmt: skip
        path = found.save(out)
    _print_report(found, output)
    print(f"written to {path}", file=sys.stderr)


@app.command(help_epilogue="Example: assay agreement labels.csv --item id --annotator worker --label stars --scale 1-5")
def agreement(
    source: str,
    *,
    coefficients: Names = None,
    who: Names = None,
    by: str | None = None,
    adjust: Literal["holm", "by", "bh", "none"] = "holm",
    draws: int = 1000,
    clusters: str | None = None,
    repeats: Literal["error", "first", "last", "mean", "majority", "each"] = "error",
    method: Literal["percentile", "bca", "jackknife", "none"] | None = None,
    n_resamples: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    out: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    reading: Reading | None = None,
    output: Output | None = None,
) -> None:
    """Do annotators agree, and is a judge as close to the people as they are to each other?

    Parameters
    ----------
    source
        A file or folder of labels.
    coefficients
        Names such as cohen-kappa or icc-a1, separated by commas; every one that the scale allows when not given.
    who
        Kinds of comparison: humans, judges, consensus, rest, "any human" when not given; also pairs, "drawn human".
    by
        A column whose values are analysed one by one.
    adjust
        How p-values are adjusted for their number.
    draws
        Draws of one person an item, for "drawn human".
    clusters
        Item column whose items are resampled together.
    repeats
        What repeated answers stand for.
    method
        How intervals are made; each coefficient's own when not given.
    n_resamples
        Bootstrap resamples.
    confidence
        Level of the intervals.
    seed
        Same seed, same numbers.
    out
        Also write a page here.
    """
    from assay.concordance.parts import agreement_parts
    from assay.concordance.summary import agreement as agree

    output = output or Output()
    labels = (reading or Reading()).read(source)
    _tell(labels)
    how: dict[str, Any] = {"confidence": confidence, "seed": seed}
    how |= {name: value for name, value in (("method", method), ("n_resamples", n_resamples)) if value is not None}
    found = agree(
        labels, coefficients=coefficients, who=who or _WHO, by=by, draws=draws, adjust=adjust, repeats=repeats,  # type: ignore[arg-type]
        clusters=clusters, **how,
    )  # fmt: skip
    shown = found.rows if coefficients else found.rows.filter(found.rows["coefficient"] == found.headline)
    empty = [c for c in shown.columns if shown[c].null_count() == shown.height]
    output.show(found, drop=("coefficient", "interval", "p", *empty), rows=shown)
    _write_page(out, "Do the annotators agree?", found, agreement_parts)


@app.command(help_epilogue="Example: assay scales answers.csv --scale-column range --judges gpt-4o,llama")
def scales(
    source: str,
    *,
    scale_column: str = "scale",
    by: str | None = None,
    group: str | None = None,
    condition: str | None = None,
    baseline: str | None = None,
    threshold: float = 0.1,
    clusters: str | None = None,
    repeats: Literal["error", "first", "last", "mean", "majority", "each"] = "error",
    confidence: float = 0.95,
    seed: int = 0,
    out: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    reading: Reading | None = None,
    output: Output | None = None,
) -> None:
    """On which numeric scale should people and judges be asked?

    Parameters
    ----------
    source
        A file or folder of labels, every item answered on several scales.
    scale_column
        Column that names the range of each answer: 0-5, 0-100.
    by
        Item column (benchmark) whose values are analysed beside the pooled figure.
    group
        Annotator column (gender, expertise) whose groups are set against the judges.
    condition
        Another column that was varied for the judges (temperature).
    baseline
        The value of that column in the main analysis.
    threshold
        Distance on 0-1 up to which an item counts as well aligned.
    clusters
        Item column whose items are resampled together.
    repeats
        What repeated answers stand for.
    confidence
        Level of the intervals.
    seed
        Same seed, same numbers.
    out
        Also write a page here.
    """
    from assay.concordance.grading_scale import grading_scale_study
    from assay.concordance.parts import grading_scale_parts

    output, reading = output or Output(), reading or Reading()
    reading.conditions = list(dict.fromkeys([*(reading.conditions or ()), scale_column, *filter(None, [condition])]))
    labels = reading.read(source)
    _tell(labels)
    known = {str(v): v for v in labels.values_of(condition)} if condition is not None else {}
    found = grading_scale_study(
        labels, scale_column, by=by, group=group, condition=condition,
        baseline=known.get(str(baseline), baseline), threshold=threshold, clusters=clusters, repeats=repeats,
        confidence=confidence, seed=seed,
    )  # fmt: skip
    output.show(found)
    _write_page(out, "On which scale to ask?", found, grading_scale_parts)


@app.command(help_epilogue="Example: assay plan --n-items 30,50,100,200 --annotators crowd --judge-noise 0.2")
def plan(
    *,
    n_items: Annotated[list[int] | None, Parameter(converter=_whole_numbers, n_tokens=1)] = None,
    n_annotators: Annotated[list[int] | None, Parameter(converter=_whole_numbers, n_tokens=1)] = None,
    epsilon: Annotated[list[float] | None, Parameter(converter=_numbers, n_tokens=1)] = None,
    annotators: Literal["expert", "skilled", "crowd"] | None = None,
    annotator_noise: float | None = None,
    judge_noise: float | None = None,
    categories: str | None = None,
    labels_per_item: int | None = None,
    pilot: str | None = None,
    judge: str | None = None,
    power: float = 0.8,
    n_studies: int = 1000,
    seed: int = 0,
    reading: Reading | None = None,
    output: Output | None = None,
) -> None:
    """How many items and annotators does the alternative annotator test need?

    Parameters
    ----------
    n_items
        Numbers of items to look at, separated by commas.
    n_annotators
        Numbers of annotators to look at, separated by commas.
    epsilon
        Values of epsilon, separated by commas; .1, .15 and .2 when not given.
    annotators
        Who the annotators are, instead of epsilon.
    annotator_noise
        Probability that a person answers at random, 0.3 unless told otherwise.
    judge_noise
        The same for the judge; as a person's when not given.
    categories
        How many categories, or a scale such as 1-5.
    labels_per_item
        People who answer each item; all of them when not given.
    pilot
        Labels at hand, drawn from in place of a simulation.
    judge
        The judge of the pilot.
    power
        The power wanted.
    n_studies
        Simulated studies.
    seed
        Same seed, same numbers.
    """
    from assay.planning import plan_alt_test

    output = output or Output()
    given: dict[str, Any] = {
        "n_items": n_items, "n_annotators": n_annotators, "epsilon": epsilon, "annotators": annotators,
        "annotator_noise": annotator_noise, "judge_noise": judge_noise, "labels_per_item": labels_per_item,
        "judge": judge,
    }  # fmt: skip
    if categories is not None:
        given["scale"] = int(categories) if categories.isdecimal() else categories
    if pilot is not None:
        given["pilot"] = (reading or Reading()).read(pilot, [judge] if judge else ())
        _tell(given["pilot"])
    found = plan_alt_test(
        **{k: v for k, v in given.items() if v is not None}, power=power, n_studies=n_studies, seed=seed
    )  # fmt: skip
    output.show(found)


@app.command(name="import", help_epilogue="Example: assay import export.json --option users=users.json -o labels.csv")
def import_(
    source: str,
    *,
    out: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("labels.csv"),
    reading: Reading | None = None,
) -> None:
    """Read a platform's export and write it as a plain table, with a count of everything that was in it.

    Parameters
    ----------
    source
        The export: a file or a folder.
    out
        Where the table is written: .csv, .tsv, .jsonl or .parquet.
    """
    from assay.data.formats.exports import import_counts, write
    from assay.reporting import tables

    labels = (reading or Reading()).read(source)
    written = write(labels, out)
    print(tables.to_text(tables.plain(import_counts(labels.reading, len(labels)))))
    for line in (*labels.reading.notes, *written.lines()):
        print(_as_options(line), file=sys.stderr)


@app.command(help_epilogue="Example: assay export labels.csv predictions.json --to label-studio --judges gpt-4o")
def export(
    source: str,
    target: Path,
    *,
    to: Literal["table", "hugging-face", "label-studio", "alt-test"] = "table",
    reading: Reading | None = None,
) -> None:
    """Write labels in another form.

    Parameters
    ----------
    source
        A file, folder or study of labels.
    target
        File or folder to write.
    to
        The form: a plain table by the suffix, JSON Lines with lists, Label Studio predictions, alt-test folder.
    """
    from assay.data.formats.exports import write

    for line in write((reading or Reading()).read(source), target, to).lines():
        print(line, file=sys.stderr)


@app.command(help_epilogue="Example: assay init my-study")
def init(folder: Path) -> None:
    """Make a study folder: study.yaml with comments, items.csv, prompts; it runs as it is, offline.

    Parameters
    ----------
    folder
        Made if it is not there; nothing in it is overwritten.
    """
    from assay.study.starter import init_study

    for path in init_study(folder):
        print(path)


@app.command(help_epilogue="Example: assay judge my-study --dry-run")
def judge(
    study: Path,
    *,
    dry_run: bool = False,
    only: Names = None,
    store: str | None = None,
    record: Path | None = None,
    verbose: bool = False,
) -> int:
    """Ask every judge of a study every question that has no answer yet.

    Parameters
    ----------
    study
        The study folder, made by assay init.
    dry_run
        Say how many calls, tokens and how much money, and ask nothing.
    only
        Ask these judges only, separated by commas.
    store
        A database in place of the one in the folder: a path or postgresql://...
    record
        Write every reply to this JSONL file, for provider: recorded.
    verbose
        Log every call to standard error.
    """
    from assay.errors import require
    from assay.study.definition import load_study

    for library in ("sqlalchemy", "alembic", "aiohttp"):
        require(library, "judge", "asking models")
    from assay.judging.run import estimate_study, judge_study

    if verbose:
        import logging

        logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(name)s %(message)s")
        logging.getLogger("assay").setLevel(logging.DEBUG)
    loaded = load_study(study)
    if dry_run:
        print(estimate_study(loaded, store=store, judges=only).summary())
        return 0
    with _bar() as bar:
        tell = None if bar is None else (lambda p: bar(str(p), p.done, p.total))
        done = judge_study(loaded, store=store, judges=only, record=record, progress=tell)
    print(done.summary())
    return int(done.stopped is not None)


@app.command(help_epilogue="Example: assay invite my-study 'Ana Ruiz' ben --attribute expertise=nurse")
def invite(
    study: Path,
    *names: str,
    attribute: list[str] | None = None,
    base_url: str = "http://127.0.0.1:8321",
    store: str | None = None,
    secret: Annotated[str | None, Parameter(env_var="ASSAY_SECRET", show_default=False)] = None,
) -> None:
    """Add people who may answer on the page of a study, and print each one's personal link.

    Parameters
    ----------
    study
        The study folder.
    names
        Who is invited; each is an annotator of the table. With none, the links of all who are invited.
    attribute
        NAME=VALUE, a column of the table of annotators, for all that are named; may repeat.
    base_url
        Where they reach the page.
    store
        A database in place of the one in the folder: a path or postgresql://...
    secret
        Signs the links; the same as for assay serve.
    """
    from assay.errors import require
    from assay.study.definition import load_study

    for library in ("sqlalchemy", "alembic", "itsdangerous"):
        require(library, "serve", "inviting people")
    from assay.collecting import invitations
    from assay.collecting.server import links
    from assay.study.store.opening import open_store

    loaded = load_study(study)
    if names:
        attributes = invitations.read_attributes(", ".join(attribute or ()))
        with open_store(loaded, store) as opened:
            invitations.invite_all(loaded, opened, names, attributes)
    everybody = links(loaded, base_url, secret, store)[1]
    for name, link in everybody.items():
        if not names or name in [" ".join(one.split()) for one in names]:
            print(f"{name}\t{link}")


@app.command(help_epilogue="Example: assay serve my-study")
def serve(
    study: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8321,
    workers: int = 1,
    base_url: str | None = None,
    store: str | None = None,
    secret: Annotated[str | None, Parameter(env_var="ASSAY_SECRET", show_default=False)] = None,
) -> None:
    """Open the page on which people answer a study's questions, and the page of whoever leads it.

    Parameters
    ----------
    study
        The study folder, made by assay init.
    host
        Where to listen; 0.0.0.0 lets other machines in, and needs a secret.
    port
        The port.
    workers
        Processes that answer; more than one is for a store in PostgreSQL.
    base_url
        Where people reach the page, such as https://label.example.org behind a proxy.
    store
        A database in place of the one in the folder: a path or postgresql://...
    secret
        Signs the links: at least 16 signs, known to nobody else.
    """
    from assay.errors import require
    from assay.study.definition import load_study

    for library in ("sqlalchemy", "alembic", "fastapi", "uvicorn", "itsdangerous", "python_multipart"):
        require(library, "serve", "the annotation page")
    from assay.collecting import server

    loaded = load_study(study)
    server.check_reach(host, port, secret)
    here = f"http://{'127.0.0.1' if host in ('0.0.0.0', '::') else host}:{port}"
    lead, people = server.links(loaded, base_url or here, secret, store)
    print(f"You lead the study at {lead}")
    for name, link in people.items():
        print(f"{name} answers at {link}")
    if not people:
        print("Nobody is invited yet: add people on the lead's page, or with: assay invite")
    sys.stdout.flush()
    server.serve(loaded, host=host, port=port, workers=workers, secret=secret, store=store, base_url=base_url)


@app.command
def demo(*, out: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("report.html"), seed: int = 7) -> None:
    """Simulate a study whose truth is known, and report on it.

    Parameters
    ----------
    out
        Where the page is written.
    seed
        Of the simulation.
    """
    from assay.simulation import simulate
    from assay.verdict.report import report as make

    noise = {"careful": 0.2, "middling": 0.42, "careless": 0.9}
    labels = simulate(n_items=150, n_annotators=4, annotator_noise=0.3, judges=noise, seed=seed)
    print(
        "A simulated study, not real data: 4 people and 3 judges rate 150 items. Each answers with the item's true\n"
        "label, or, with the probability given, with a random one. People: 0.30; judges: "
        + ", ".join(f"{name} {value:.2f}" for name, value in noise.items())
        + ".\n"
    )
    title = "Demo: may these simulated judges stand in for simulated people?"
    with _bar() as progress:
        found = make(labels, annotators="skilled", title=title, progress=progress)
        path = found.save(out)
    _print_report(found, Output())
    print(f"written to {path}", file=sys.stderr)


# -- printing and errors ----------------------------------------------------------------------------


def _write_page(out: Path | None, title: str, found: Any, parts: Callable[[Any], Any]) -> None:
    """The result as a page, where one was asked for."""
    if out is not None:
        from assay.reporting.page import page_of

        page = page_of(title, "", parts(found), found.signature)
        print(f"written to {page.save(out)}", file=sys.stderr)


def _print_report(found: Any, output: Output) -> None:
    if output.json or output.csv or output.latex:
        output.show(found)
    else:
        print(found.summary())


def _tell(labels: Annotations) -> None:
    """What reading left out or assumed, on standard error; the report says it too."""
    for line in labels.reading.lines():
        print(f"note: {_as_options(line)}", file=sys.stderr)


def _one(names: list[str] | None, default: str) -> str | list[str]:
    """A single name as itself."""
    return default if not names else names[0] if len(names) == 1 else names


def _scale(given: Sequence[str] | None) -> str | dict[str, str] | None:
    """One scale, or one for each criterion: ``1-5``, or ``stars=1-5`` and ``why=text``."""
    if not given:
        return None
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    pairs = [one.partition("=") for one in given]
    for name, equals, _ in pairs:
        if not equals:
            raise AssayError(f"several scales are given as CRITERION=SCALE; got '{name}'")
    return {name: scale for name, _, scale in pairs}


@contextmanager
def _bar() -> Iterator[Callable[[str, int, int], None] | None]:
    """A progress bar on a terminal, for work that takes longer than a second; None elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    start = time.monotonic()
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, visible=False)

        def tell(what: str, done: int, steps: int) -> None:
            late = time.monotonic() - start > 1
            bar.update(task, description=what, completed=done, total=steps, visible=late)

        yield tell


def _similarity(name: str) -> Any:
    """A similarity by its name, or a table of label pairs by its path."""
    path = Path(name)
    if path.suffix and path.exists():
        from assay.data.formats.tables import numbers_where_all_are, read_table

        return numbers_where_all_are(read_table(path).labels.drop("_row", strict=False), leave=())
    from assay.similarity.lexical import similarity_named

    return similarity_named(name)


def _as_options(message: str) -> str:
    """Python's ``name=value`` in a message as the command's ``--name value``."""
    message = re.sub(r"assay\.alt_test_by\(labels, judge, by='(\w+)'\)", r"--by \1", message)
    message = re.sub(r"labels\.where\((\w+)=\.\.\.\)", r"--where \1=...", message)
    message = re.sub(r"scale=\{'([^']*)': '([^']*)'\}", r"--scale '\1=\2'", message)
    known = {f.name for group in (Reading, Testing) for f in fields(group)} - {"annotators"}

    def option(match: re.Match[str]) -> str:
        name, value = match[1], match[2].strip("'")
        value = ",".join(part.strip(" '") for part in value.strip("[]").split(",")) if value[:1] == "[" else value
        if name == "annotators":
            return f"--annotators {value}"
        return f"--{name.replace('_', '-')} {value}" if name in known else f"--option {name}={value}"

    return re.sub(r"(?<![\w('-])([a-z][a-z_]+)=(\.\.\.|'[^']*'|\[[^\]]*\]|[\w.]+)", option, message)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; every error that a person can mend is one line, and exit status 2."""
    try:
        status = app(
            list(sys.argv[1:] if arguments is None else arguments),
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
    except AssayError as error:
        _stop(_as_options(str(error)))
    except CycloptsError as error:
        _stop(" ".join(str(error).split()))
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(status if isinstance(status, int) else 0)


def _stop(message: str) -> None:
    print(f"assay: {message}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
