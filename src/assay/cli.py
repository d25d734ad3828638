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
    from assay.data.annotations import Annotations
    from assay.estimation import Result

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
    """``a,b,c`` as a list."""
    return [part.strip() for token in tokens for part in token.value.split(",") if part.strip()]


Names = Annotated[list[str] | None, Parameter(converter=_commas, n_tokens=1)]


@Parameter(name="*", group=_READING)
@dataclass
class Reading:
    """How the labels are read; see `assay.read`."""

    item: Annotated[str, Parameter(help="Column that names the item.")] = "item"
    annotator: Annotated[str, Parameter(help="Column that names who answered.")] = "annotator"
    label: Annotated[str, Parameter(help="Column that holds the label.")] = "label"
    criterion: Annotated[str | None, Parameter(help="Column that names the question asked.")] = None
    repeat: Annotated[str | None, Parameter(help="Column that numbers repeated answers.")] = None
    judges: Annotated[Names, Parameter(help="Annotators that are models, separated by commas.")] = None
    scale: Annotated[
        str | None,
        Parameter(help="What a label may be: 1-5, interval:0-100, ordinal:low<mid<high, nominal:yes,no, text, ..."),
    ] = None
    wide: Annotated[bool, Parameter(help="One row an item, one column an annotator.")] = False
    columns: Annotated[Names, Parameter(help="The annotators' columns of a wide table.")] = None
    conditions: Annotated[Names, Parameter(help="Columns that were varied on purpose.")] = None
    split_item: Annotated[
        str | None, Parameter(help="Separator, or regular expression with named groups, that splits the item id.")
    ] = None
    items: Annotated[Path | None, Parameter(help="A table with one row an item: text, document, gold, ...")] = None
    annotator_table: Annotated[Path | None, Parameter(help="A table with one row an annotator.")] = None
    where: Annotated[
        list[str] | None, Parameter(help="Keep labels with COLUMN=VALUE (or COLUMN=A,B); repeat to narrow further.")
    ] = None

    def read(self, source: str, extra_judges: Sequence[str] = ()) -> Annotations:
        """The table; ``extra_judges`` are judges that another option names."""
        from assay.data.reading import read

        def table(judges: Sequence[str] | None) -> Annotations:
            return read(
                source, item=self.item, annotator=self.annotator, label=self.label, criterion=self.criterion,
                repeat=self.repeat, judges=judges, scale=self.scale, layout="wide" if self.wide else "long",
                columns=self.columns, conditions=self.conditions or (), split_item=self.split_item,
                items=self.items, annotators=self.annotator_table,
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

    def show(self, *results: Result, drop: Sequence[str] = ()) -> None:
        """Print results in the form asked for."""
        from assay.reporting import tables

        if self.json:
            found = [result.to_dict() for result in results]
            print(json.dumps(found[0] if len(found) == 1 else found, ensure_ascii=False, indent=2))
            return
        for i, result in enumerate(results):
            shown = tables.shown(result.table, drop=drop)
            if self.csv:
                print(tables.to_csv(result.table), end="")
            elif self.latex:
                print(tables.to_latex(shown), end="")
            else:
                print(("\n" if i else "") + tables.to_text(shown) + "\n\n" + result.summary())


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
    _tell(labels, output)
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
    from assay.reporting.report import report as make

    output = output or Output()
    labels = (reading or Reading()).read(source, judge or ())
    _tell(labels, output)
    with _progress(output) as progress:
        found = make(
            labels, judges=judge, by=by, title=title, progress=progress, **(testing or Testing()).options()
        )  # fmt: skip
        path = found.save(out)
    _print_report(found, output)
    print(f"written to {path}", file=sys.stderr)


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
    from assay.reporting.report import report as make
    from assay.simulation import simulate

    noise = {"careful": 0.2, "middling": 0.42, "careless": 0.9}
    labels = simulate(n_items=150, n_annotators=4, annotator_noise=0.3, judges=noise, seed=seed)
    print(
        "A simulated study, not real data: 4 people and 3 judges rate 150 items. Each answers with the item's true\n"
        "label, or, with the probability given, with a random one. People: 0.30; judges: "
        + ", ".join(f"{name} {value:.2f}" for name, value in noise.items())
        + ".\n"
    )
    title = "Demo: may these simulated judges stand in for simulated people?"
    with _progress(Output()) as progress:
        found = make(labels, annotators="skilled", title=title, progress=progress)
        path = found.save(out)
    _print_report(found, Output())
    print(f"written to {path}", file=sys.stderr)


# -- printing and errors ----------------------------------------------------------------------------


def _print_report(found: Any, output: Output) -> None:
    if output.json or output.csv or output.latex:
        output.show(found)
    else:
        print(found.summary())


def _tell(labels: Annotations, output: Output) -> None:
    """What reading left out or assumed, on standard error; the report says it too."""
    for line in labels.reading.lines():
        print(f"note: {_as_options(line)}", file=sys.stderr)


@contextmanager
def _progress(output: Output) -> Iterator[Callable[[str, int, int], None] | None]:
    """A progress bar on a terminal, for work that takes longer than a second."""
    if output.json or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    start = time.monotonic()
    with Progress(console=Console(stderr=True), transient=True, disable=False) as bar:
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

    def option(match: re.Match[str]) -> str:
        value = match[2].strip("'")
        value = ",".join(part.strip(" '") for part in value.strip("[]").split(",")) if value[:1] == "[" else value
        return f"--{match[1].replace('_', '-')} {value}"

    return re.sub(r"(?<![\w(-])([a-z][a-z_]+)=(\.\.\.|'[^']*'|\[[^\]]*\]|[\w.]+)", option, message)


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
