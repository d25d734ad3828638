"""The commands of the questions: labels in, an answer out. No statistics here.

First how labels are read and a question is asked of them (a row of `assay.cli.commands` suffices where a command does
no more), then a function for each command that does more. What one asks before there are labels is in
`assay.cli.plans`, after a yes in `assay.cli.estimates`.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, make_dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from cyclopts import Parameter
from cyclopts.group import Group

from assay.cli.commands import BY_NAME, Command
from assay.cli.output import (
    FIRST,
    FOR_PEOPLE,
    NOTHING,
    TYPED,
    Force,
    Given,
    Names,
    Output,
    Page,
    as_typed,
    command_line,
    import_named,
    note,
    options_of,
    print_json,
    progress_bar,
    say,
    target,
    typed_value,
    write_page,
)
from assay.data.names import Spelling
from assay.data.roles import Layout, UnclearTableError
from assay.data.values import Decimal
from assay.errors import AssayError, DesignError, listing
from assay.estimation.options import Settings, number_in
from assay.preference.votes import Choose

if TYPE_CHECKING:
    from polars import DataFrame

    from assay.data.annotations import Annotations
    from assay.estimation.result import Result
    from assay.looking import Look
    from assay.reporting.page import NextStep

# -- how labels are read ------------------------------------------------------------------------------

_READING = Group("Reading the labels", sort_key=1)


@Parameter(name="*", group=_READING)
@dataclass(frozen=True)
class LabelOptions:
    """How the labels are read; see `assay.read`."""

    item: Annotated[
        Names, Parameter(help="Column that names the item; several name it together.", show_default="item"), FIRST
    ] = None
    annotator: Annotated[str, Parameter(help="Column that names who answered."), FIRST] = "annotator"
    label: Annotated[
        Names,
        Parameter(help="Column that holds the label; several are one criterion each.", show_default="label"),
        FIRST,
    ] = None
    criterion: Annotated[str | None, Parameter(help="Column that names the question asked.")] = None
    repeat: Annotated[str | None, Parameter(help="Column that numbers repeated answers.")] = None
    judges: Annotated[
        Names,
        Parameter(help="Annotators that are models, all of them, separated by commas; the others are people."),
        FIRST,
    ] = None
    humans: Annotated[Names, Parameter(help="Annotators that are people, where a name looks like a model's.")] = None
    spelling: Annotated[Spelling, Parameter(help="Names that differ only in case or inner spaces.")] = "refuse"
    scale: Annotated[
        list[str] | None,
        Parameter(
            help="What a label may be: 1-5, interval:0-100, ordinal:low<mid<high, nominal:yes,no, text, ...; "
            "CRITERION=SCALE where criteria differ, once each."
        ),
        FIRST,
    ] = None
    missing: Annotated[
        Names, Parameter(help="Labels that are no answer, separated by commas: N/A,-99. '' where none of them is.")
    ] = None
    label_spelling: Annotated[Spelling, Parameter(help="Categories that differ only in case or inner spaces.")] = (
        "refuse"
    )
    codes: Annotated[
        str | None,
        Parameter(help="A table of codes and words, or a sheet of the same workbook."),
    ] = None
    decimal: Annotated[Decimal | None, Parameter(help="The decimal sign, where labels such as 1,234 do not tell.")] = (
        None
    )
    wide: Annotated[bool, Parameter(help="One row an item, one column an annotator.", show_default=False), FIRST] = (
        False
    )
    layout: Annotated[
        Layout,
        Parameter(help="A row is a label (long), an item (wide) or a person (transposed)."),
    ] = "auto"
    columns: Annotated[
        Names, Parameter(help="The annotators' columns of a wide table, the items' of a transposed one.")
    ] = None
    split_columns: Annotated[
        str | None,
        Parameter(help="How columns of a wide table are named: annotator_criterion, 'criterion / annotator'."),
    ] = None
    exclude: Annotated[
        Names,
        Parameter(help="Annotators, items and columns that are nobody's labels: Mean,Average. '' where none is."),
    ] = None
    conditions: Annotated[Names, Parameter(help="Columns that were varied on purpose.")] = None
    split_item: Annotated[
        str,
        Parameter(
            help="Separator of item and criterion in names of items, or regular expression with named groups; auto "
            "splits names such as img_7__Color where all show it, no splits none."
        ),
    ] = "auto"
    items: Annotated[Path | None, Parameter(help="A table with one row an item: text, document, gold, ...")] = None
    annotator_table: Annotated[Path | None, Parameter(help="A table with one row an annotator.")] = None
    labels_from: Annotated[Names, Parameter(help="More files of labels, joined by item.")] = None
    sheet: Annotated[str | None, Parameter(help="The sheet of a spreadsheet.")] = None
    format: Annotated[
        str, Parameter(help="auto, or the platform that wrote the file: label-studio, argilla, prodigy, mturk, ...")
    ] = "auto"
    option: Annotated[
        list[str] | None, Parameter(help="NAME=VALUE for the format's reader, such as users=users.json; may repeat.")
    ] = None
    where: Annotated[
        list[str] | None, Parameter(help="Keep labels with COLUMN=VALUE (or COLUMN=A,B); repeat to narrow further.")
    ] = None
    store: Annotated[
        str | None,
        Parameter(help="A study's database, in place of its own: a path or postgresql://..."),
    ] = None

    def outputs(self, source: str) -> Annotations:
        """What systems wrote: of a study's folder, its outputs; else the table."""
        if not (Path(source) / "study.yaml").is_file():
            return self.read(source)
        self._use_store(source)
        from assay.reading import study_outputs
        from assay.study.definition import load_study

        labels = study_outputs(load_study(source))
        tell(labels)
        return labels

    @property
    def beside(self) -> tuple[str | Path | None, ...]:
        """What is read besides the labels, and so is never written over."""
        return self.items, self.annotator_table, self.codes

    def read(self, source: str) -> Annotations:
        """The table, with a note on standard error for all that reading left out or assumed."""
        labels = self._read(source)
        tell(labels)
        return labels

    def read_all(self, *sources: str) -> list[Annotations]:
        """The table of each file; a note that holds for all of them is said once, any other with its file."""
        tables = [self._read(source) for source in sources]
        noted = [table.reading.lines() for table in tables]
        for line in dict.fromkeys(line for lines in noted for line in lines):
            where = [source for source, lines in zip(sources, noted, strict=True) if line in lines]
            _tell_line(line if len(where) == len(sources) else f"{', '.join(where)}: {line}")
        return tables

    def _read(self, source: str) -> Annotations:
        try:
            labels = self._table(source)
            for condition in self.where or ():
                labels = _filter_labels(labels, condition)
        except AssayError as error:
            if error.advised and _accepts_reading(error):
                return self.given(error.advised)._read(source)
            if error.advised:
                raise AssayError(_advise_command(error)) from error
            # Said here, because a question may have an option of the same name.
            raise type(error)(as_typed(str(error), NAMES)) from error
        return labels

    def given(self, options: Mapping[str, Any]) -> LabelOptions:
        """The same with options of `assay.read` as somebody would type them."""
        lists = {name: [value] if isinstance(value, str) else value for name, value in options.items()
                 if name in ("item", "label", "scale")}  # fmt: skip
        scales = options.get("scale")
        if isinstance(scales, Mapping):
            lists["scale"] = [f"{name}={one}" for name, one in scales.items()]
        return replace(self, **{**options, **lists})

    def _use_store(self, source: str) -> None:
        """Read a study's answers where --store says they are."""
        if self.store is None:
            return
        if not (Path(source) / "study.yaml").is_file():
            raise AssayError(f"--store names the database of a study's folder, and '{source}' is none")
        from assay.study.store.connection import choose_store

        choose_store(source, self.store)

    def _table(self, source: str) -> Annotations:
        from assay.reading import read

        self._use_store(source)
        return read(self.files(source), **self.read_options(source))

    def files(self, source: str) -> str | list[str]:
        """The file, or all files that are joined."""
        return [source, *self.labels_from] if self.labels_from else source

    def read_options(self, source: str) -> dict[str, Any]:
        """The options of `assay.read`."""
        return dict(
            item=_one(self.item, "item"), annotator=self.annotator, label=_one(self.label, "label"),
            criterion=self.criterion, repeat=self.repeat, judges=self.judges, humans=self.humans,
            spelling=self.spelling, scale=_scale(self.scale), missing=self.missing,
            label_spelling=self.label_spelling, codes=self.codes, decimal=self.decimal,
            layout=self._layout(), columns=self.columns, exclude=self.exclude, split_columns=self.split_columns,
            conditions=self.conditions or (),
            split_item=self.split_item, items=self.items, annotators=self.annotator_table, format=self.format,
            sheet=self.sheet, **self._reader_options(source),
        )  # fmt: skip

    def _layout(self) -> Layout:
        if self.wide and self.layout not in ("auto", "wide"):
            raise AssayError(f"--wide and --layout {self.layout} exclude each other; give one")
        return "wide" if self.wide else self.layout

    def _reader_options(self, source: str) -> dict[str, Any]:
        if not self.option:
            return {}
        from assay.data.formats.registry import format_of
        from assay.errors import DataError

        if not Path(source).exists():
            raise DataError(f"there is no file or folder '{source}'")
        return format_of(Path(source), self.format).options_from(self.option)


def _advise_command(error: AssayError) -> str:
    """What is not clear, with the whole command that reads the table where the likelier is right."""
    said = str(error)
    if isinstance(error, UnclearTableError):
        said = f"{error.source}: {'; '.join(error.problems)}"
    return f"{as_typed(said, NAMES)}. If that is right, run: {whole_command(error.advised)}"


def _accepts_reading(error: AssayError) -> bool:
    """Whether somebody at a terminal says that the likelier reading is right."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    note(f"{_advise_command(error)}\nRead it so? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


_READ_DEFAULTS = {"item": "item", "annotator": "annotator", "label": "label", "layout": "long"}
_NEEDS_EPSILON = ("report", "alt-test")


def whole_command(options: Mapping[str, Any], words: Sequence[str] | None = None) -> str:
    """The command that runs, or these words of one, with these options of `assay.read` as well."""
    words = list(TYPED.get() if words is None else words)
    for name, value in options.items():
        option = NAMES[name]
        typed = [option, _typed_list(value)]
        if isinstance(value, Mapping):
            typed = [word for pair in value.items() for word in (option, "=".join(map(str, pair)))]
        if (default := _READ_DEFAULTS.get(name)) is not None and value == default:
            continue
        if name == "layout" and value == "wide":
            option, typed = "--wide", ["--wide"]
        for at in (i for i, word in enumerate(words) if word == option or word.startswith(f"{option}=")):
            del words[at : at + (1 if "=" in words[at] or option == "--wide" else 2)]
            break
        words += typed
    if words and words[0] in _NEEDS_EPSILON and not {"--epsilon", "--expertise", "--gold"} & {*words}:
        words += ["--expertise", "crowd"]
    return shlex.join(["assay", *("-" if word == "/dev/stdin" else word for word in words)])


def _typed_list(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


@Parameter(name="*")
@dataclass(frozen=True)
class Tested:
    """Which of the judges are tested."""

    only: Annotated[
        Names, Parameter(help="Test these of the judges only, separated by commas.", show_default="all of the table")
    ] = None
    judge: Annotated[Names, Parameter(help="The earlier name of --only.", show=False)] = None

    def names(self) -> list[str] | None:
        """Who was chosen; None where nobody was, and all judges are meant."""
        if self.only is not None and self.judge is not None:
            raise AssayError("--only and --judge are one option under two names; give --only")
        return self.only if self.only is not None else self.judge

    def among(self, labels: Annotations) -> list[str]:
        """The judges to test.

        Raises
        ------
        AssayError
            Where the table names no judges: who is tested does not say who the other judges are.
        """
        chosen = self.names()
        if chosen and not labels.judges:
            raise AssayError(
                f"nothing says who is a judge. Name all judges with --judges {typed_value(','.join(chosen))}, and with "
                "--only those of them to test"
            )
        return list(labels.judges) if chosen is None else chosen

    def one(self, rule: str) -> dict[str, str]:
        """The one judge that --only names, as an option; nothing where it names nobody."""
        names = self.names()
        if names is None:
            return {}
        if len(names) > 1:
            raise AssayError(f"{rule}; --only names {len(names)}")
        return {"judge": names[0]}


ALL_JUDGES = Tested()
"""Every judge of the table."""

NAMES = {f.name: f"--{f.name.replace('_', '-')}" for f in fields(LabelOptions)} | {"annotators": "--annotator-table"}
"""Every option of `assay.read` as it is typed."""

PLAIN = LabelOptions()
"""Labels as `assay.read` reads them without options."""


def tell(labels: Annotations) -> None:
    """What reading left out or assumed, on standard error; the report says it too."""
    for line in labels.reading.lines():
        _tell_line(line)


def _tell_line(line: str) -> None:
    note(f"note: {as_typed(line, NAMES)}")


def _filter_labels(labels: Annotations, condition: str) -> Annotations:
    """The labels with ``COLUMN=VALUE`` or ``COLUMN=A,B``."""
    name, equals, values = condition.partition("=")
    if not equals:
        raise AssayError(f"--where takes COLUMN=VALUE; got '{condition}'")
    seen = {str(v): v for v in labels.values_of(name)}
    wanted = [values] if values in seen else values.split(",")
    return labels.where(**{name: [seen.get(v, v) for v in wanted]})


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


def similarity(name: str) -> Any:
    """A similarity by its name, or a table of label pairs by its path."""
    path = Path(name)
    if path.suffix and path.exists():
        from assay.data.formats.tables import numbers_where_all_are, read_table

        return numbers_where_all_are(read_table(path).labels.drop("_row", strict=False), leave=())
    from assay.similarity.registry import similarity_named

    return similarity_named(name)


# -- the commands -----------------------------------------------------------------------------------


@Parameter(name="*")
@dataclass(frozen=True)
class Ask:
    """What every question's command takes: how labels are read, the question's options, how the answer is printed."""

    labels: LabelOptions = PLAIN
    options: Given = NOTHING
    output: Output = FOR_PEOPLE

    def answer(
        self, row: Command, source: str, out: Path | None, read: Callable[[str], Any] | None = None, *,
        force: bool = False,
    ) -> Any:  # fmt: skip
        """A question read, asked, printed, and written as a page where one was asked for."""
        found = self.compute(row, source, out, read, force=force)
        self.show(row, found, out)
        return found

    def compute(
        self, row: Command, source: str, out: Path | None, read: Callable[[str], Any] | None = None, *,
        force: bool = False,
    ) -> Any:  # fmt: skip
        """The answer alone, where the page asked for may be written."""
        table, given = self.read(source, out, read, force=force)
        with progress_bar(row.bar):
            return import_named(row.ask)(table, **given)

    def read(
        self, source: str, out: Path | None, read: Callable[[str], Any] | None = None, *, force: bool = False
    ) -> tuple[Any, dict[str, Any]]:
        """The labels and the question's options, where the page asked for may be written."""
        self.to(out, source, force=force)
        given = self.options.options()
        return (read or self.labels.read)(source), given

    def to(self, out: Path | None, *sources: str | None, force: bool, suffixes: Sequence[str] | None = None) -> None:
        """Refuse a place to write to where something would be lost that is read: the labels, or a table beside them."""
        target(out, *sources, *self.labels.beside, force=force, suffixes=suffixes)

    def show(self, row: Command, found: Result, out: Path | None, **how: Any) -> None:
        """Print what was found, and write its page where one was asked for."""
        self.output.show(found, **{"drop": hidden_columns(found.table), **how})
        write_page(out, row.title, found, import_named(row.page))


ASK = Ask()
"""Nothing but what has no default."""


def __getattr__(name: str) -> Any:
    """The function of a command, ``NAME command``, made when the command is used: its options need its room."""
    command, _, kind = name.rpartition(" ")
    if kind != "command" or command not in BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    row = BY_NAME[command]
    function = cast(types.FunctionType, import_named(row.run) if row.run else _question(row))
    if row.settings or row.ask:
        typed = options_of(row, READ.get(command, READ[""]))
        about = {"__module__": __name__}
        own = [("options", typed, field(default=typed()))]
        ask = Parameter(name="*")(make_dataclass("Ask", own, bases=(Ask,), namespace=about, frozen=True))
        function.__annotations__["ask"] = ask
        function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "ask": ask()}
    return function


def _question(row: Command) -> Callable[..., None]:
    """The command of a question that is asked of labels alone."""

    def command(source: str, *, out: Page = None, force: Force = False, ask: Ask = ASK) -> None:
        ask.answer(row, source, out, force=force)

    command.__doc__ = f"{row.does}\n\nParameters\n----------\nsource\n    {row.source}"
    return command


_HTML = Annotated[Path, Parameter(name=["--output", "-o"])]

_ALT_TEST_COLUMNS = ("statistic", "p", "p_reverse", "rejected_reverse", "quality", "difference")

_ONE_BY_ONE = ("pairs", "random human")

DEMO_NOISE = {"careful": 0.2, "middling": 0.42, "careless": 0.9}
"""The judges of the demo, and how often each answers at random."""


def demo(*, out: _HTML = Path("report.html"), force: Force = False, seed: int = 7, output: Output = FOR_PEOPLE) -> None:
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

    _report_target(out, force=force)
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
        found = make(labels, expertise="skilled", title=title, progress=progress)
        path = found.made_by(command_line()).save(out)
    output.words(found)
    note(f"written to {path}")


def look(
    *sources: str,
    write: Annotated[Path | None, Parameter(help="Keep the reading in this file, such as reading.yaml.")] = None,
    force: Force = False,
    labels: LabelOptions = PLAIN,
    output: Output = FOR_PEOPLE,
) -> None:
    """What is this file, what is doubtful in it, what can it answer, and which command reads it?

    Parameters
    ----------
    sources
        A file, a folder or a study of labels; several files are joined by item.
    write
        Every command takes this file in place of the labels.
    """
    from assay.looking import look as look_at
    from assay.reading import READING

    if not sources:
        raise AssayError("name a file to look at: assay look FILE")
    target(write, *sources, suffixes=READING, force=force)
    found = look_at(replace(labels, labels_from=list(sources[1:])).files(sources[0]), **labels.read_options(sources[0]))
    command = command_for(found, sources)
    if output.json:
        print_json({**found.to_dict(), "command": command})
    elif not output.for_people:
        output.rows(found.table)
    else:
        say(found.head + "\n")
        if found.columns:  # an export of a platform has a layout of its own
            output.rows(found.table)
            say()
        say(as_typed("\n".join(found.lines()), NAMES))
        read = found.labels is not None
        nothing = "It answers nothing yet." if read else "It cannot be read as it is."
        say(f"\nRun:   {command}" if command else f"\n{nothing}")
        say(f"In Python:   {found.call}" if read else "", end="\n" if read else "")
    if write is not None:
        note(f"written to {found.write(write)}; read it with: assay report {write}")


def command_for(found: Look, sources: Sequence[str]) -> str | None:
    """The command that asks the first question that a table answers; None where it answers none, or cannot be read."""
    if found.labels is None or not any(one.yes for one in found.answers):
        return None
    kinds = {scale.kind for scale in found.labels.scales.values()}
    words = ["report" if found.labels.judges and len(found.labels.humans) > 1 else "agreement"]
    words = ["ratings"] if "preference" in kinds else ["ideas"] if kinds & {"odd-one-out", "text"} else words
    words += [sources[0], *(["--labels-from", ",".join(sources[1:])] if len(sources) > 1 else [])]
    return whole_command(found.options, words)


def report(
    source: str,
    *,
    out: _HTML = Path("report.html"),
    pdf: bool = False,
    force: Force = False,
    tested: Tested = ALL_JUDGES,
    ask: Ask = ASK,
) -> None:
    """A page that leads with the verdict, for a person to read.

    Parameters
    ----------
    source
        A file, folder or study of labels.
    out
        Where the page is written: .html or .md; every number beside it as .json.
    pdf
        Also print the page as .pdf; needs Chromium or Chrome.
    """
    from assay.reporting.page import print_page
    from assay.verdict.preregistration import plan_beside
    from assay.verdict.report import report as make

    _report_target(out, source, *ask.labels.beside, pdf=pdf, force=force)
    given = ask.options.options()
    target(out.with_suffix(".json"), given.get("compare"), suffixes=(".json",), force=force)
    table = ask.labels.read(source)
    given.setdefault("plan", plan_beside(table))
    tested.among(table)
    with progress_bar("Testing") as progress:
        found = make(table, judges=tested.names(), progress=progress, **given)
        path = found.made_by(command_line(), partial(_next_command, source)).save(out)
        printed = print_page(path, path.with_suffix(".pdf")) if pdf else None
    ask.output.words(found)
    note(f"written to {path}" + (f" and {printed}" if printed is not None else ""))


def _report_target(out: Path, *sources: str | Path | None, pdf: bool = False, force: bool = False) -> None:
    """Refuse a report whose page, numbers or PDF would take the place of something else."""
    from assay.reporting.page import REPORTS

    target(out, *sources, suffixes=REPORTS, force=force)
    target(out.with_suffix(".json"), *sources, suffixes=(".json",), force=force)
    if pdf:
        if out.suffix == ".md":
            raise AssayError("--pdf prints the page, and Markdown is none; name an output that ends in .html")
        target(out.with_suffix(".pdf"), *sources, suffixes=(".pdf",), force=force)


_READING_WORDS = frozenset(NAMES.values())
"""Options that say how labels are read, as they are typed."""


def _next_command(source: str, step: NextStep) -> str:
    """The command with which to go on after a report: of the same labels, read the same way."""
    kept, words = list[str](), TYPED.get()
    for at, word in enumerate(words):
        option, equals, _ = word.partition("=")
        if option in _READING_WORDS:
            kept += words[at : at + (1 if equals or option == "--wide" else 2)]
    only = ["--only", step.judge] if step.ask == "estimate" else ["--first", "judges"]
    where = ["--where", step.where] if step.where else []
    return shlex.join(["assay", step.ask, source, *kept, *where, *only])


def card(
    source: str, *, out: Page = None, force: Force = False, tested: Tested = ALL_JUDGES, ask: Ask = ASK
) -> None:  # fmt: skip
    """Seven questions about every judge on one screen: ✓, ✗, ? (open) or – (this table cannot say).

    Parameters
    ----------
    source
        A file, folder or study of labels.
    """
    _ask_of_judges("card", source, out, force=force, tested=tested, ask=ask)


def probes(
    source: str, *, out: Page = None, force: Force = False, tested: Tested = ALL_JUDGES, ask: Ask = ASK
) -> None:  # fmt: skip
    """Where may a judge go wrong? Eight probes of the labels at hand, and those that a study asked.

    Parameters
    ----------
    source
        A file, folder or study of labels.
    """
    _ask_of_judges("probes", source, out, force=force, tested=tested, ask=ask)


def _ask_of_judges(name: str, source: str, out: Path | None, *, force: bool, tested: Tested, ask: Ask) -> None:
    """A question of all judges, or of those that are tested, at once."""
    table, given = ask.read(source, out, force=force)
    tested.among(table)
    with progress_bar("Comparing"):
        found = import_named(f"assay.verdict.{name}:{name}")(table, judges=tested.names(), **given)
    row = BY_NAME[name]
    if ask.output.for_people:
        ask.output.words(found)
        write_page(out, row.title, found, import_named(row.page))
    else:
        ask.show(row, found, out)


def alt_test(
    source: str,
    *,
    tested: Tested = ALL_JUDGES,
    fail_under: float | None = None,
    ask: Ask = ASK,
) -> int:
    """May a judge stand in for people? The alternative annotator test.

    Parameters
    ----------
    source
        A file, folder or study of labels.
    fail_under
        Exit with 1 where a winning rate is below this, 0 to 1.
    """
    given = ask.options.options()
    if fail_under is not None:
        number_in("fail_under", fail_under, low=0, high=1)
    table = ask.labels.read(source)
    judges = tested.among(table)
    with progress_bar("Testing"):
        found, drop = _run_tests(table, judges, given)
    ask.output.show(*found, drop=drop)
    tests = [test for one in found for test in (one.tests.values() if hasattr(one, "tests") else (one,))]
    return int(fail_under is not None and not all(test.winning_rate >= fail_under for test in tests))


def _run_tests(table: Annotations, judges: list[str], given: dict[str, Any]) -> tuple[list[Any], tuple[str, ...]]:
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


def agreement(source: str, *, out: Page = None, force: Force = False, ask: Ask = ASK) -> None:
    """Do annotators agree, and is a judge as close to the people as they are to each other?

    Parameters
    ----------
    source
        A file, folder or study of labels.
    """
    from assay.concordance.agreement import agreement as agree

    table, given = ask.read(source, out, force=force)
    with progress_bar("Comparing"):
        found = agree(table, **given)
    shown = _rows_for_people(found.rows, found.headline, given)
    titles = shown["title"].unique().to_list()
    symbol, title = (titles[0], ["title"]) if len(titles) == 1 else (None, [])
    drop = ("coefficient", "interval", "p", *title, *hidden_columns(shown))
    ask.show(BY_NAME["agreement"], found, out, drop=drop, rows=_join_names(shown), width=TERMINAL, symbol=symbol)


def _join_names(rows: DataFrame) -> DataFrame:
    """Who with whom in one column."""
    import polars as pl

    backwards = pl.format("{} & {}", "second", "first")
    named = pl.when(pl.col("who") == "pairs").then(pl.format("{} & {}", "first", "second")).otherwise(backwards)
    between = pl.when(pl.col("second").is_null()).then("first").otherwise(named)
    rest = [c for c in rows.columns if c not in ("criterion", "group", "who", "first", "second")]
    return rows.select("criterion", "group", between.alias("between"), *rest)


def _rows_for_people(rows: DataFrame, headline: str, given: dict[str, Any]) -> DataFrame:
    """The rows for a person: of one coefficient, and without the long lists, unless they were asked for."""
    if not given.get("coefficients"):
        rows = rows.filter(rows["coefficient"] == headline)
    brief = rows.filter(~rows["who"].is_in(_ONE_BY_ONE))
    return rows if given.get("who") or not brief.height else brief


def disagreement(source: str, *, out: Page = None, force: Force = False, ask: Ask = ASK) -> None:
    """On which items, and on which categories, do annotators disagree?

    Parameters
    ----------
    source
        A file, folder or study of labels.
    """
    row = BY_NAME["disagreement"]
    found = ask.compute(row, source, out, force=force)
    ask.show(row, found, out, drop=("interval", *hidden_columns(found.rows)), rows=found.rows, width=TERMINAL)


def scales(source: str, *, out: Page = None, force: Force = False, ask: Ask = ASK) -> None:
    """On which numeric scale should people and judges be asked?

    Parameters
    ----------
    source
        Labels, every item answered on several scales.
    """
    from assay.concordance.coefficient import GradingScaleSettings
    from assay.concordance.grading_scale import grading_scale_study

    ask.to(out, source, force=force)
    given = ask.options.options()
    varied = [given.get("scale_column", GradingScaleSettings.scale_column), *filter(None, [given.get("condition")])]
    conditions = list(dict.fromkeys([*(ask.labels.conditions or ()), *varied]))
    table = replace(ask.labels, conditions=conditions).read(source)
    if "baseline" in given and "condition" in given:
        known = {str(v): v for v in table.values_of(given["condition"])}
        given["baseline"] = known.get(given["baseline"], given["baseline"])
    with progress_bar("Comparing"):
        found = grading_scale_study(table, **given)
    ask.show(BY_NAME["scales"], found, out, drop=(), width=TERMINAL)


_NEXT = Annotated[
    int | None,
    Parameter(
        name="--next", group="Votes", help="Also print so many pairs of systems to ask about next; alone as CSV."
    ),
]


def ratings(
    source: str, *, next_pairs: _NEXT = None, out: Page = None, force: Force = False, ask: Ask = ASK
) -> None:  # fmt: skip
    """Which system do raters prefer? Bradley-Terry ratings, of people and of each judge.

    Parameters
    ----------
    source
        Votes: labels first, second or tie, with columns first and second of systems; or columns model_a, model_b and
        winner.
    """
    if next_pairs is not None:
        number_in("--next", next_pairs, low=1, whole=True)
    row = BY_NAME["ratings"]
    found = ask.compute(row, source, out, force=force)
    if next_pairs is None or ask.output.for_people:
        ask.show(row, found, out, width=TERMINAL)
    else:
        write_page(out, row.title, found, import_named(row.page))
    if next_pairs is not None:
        if ask.output.for_people:
            from assay.reporting import tables

            say("\nPairs to ask about next, by what one more vote says of all ratings:")
            shown = tables.shown(found.next_pairs(next_pairs).rename({"difference": "estimate"}), symbol="difference")
            say(tables.to_text(shown, TERMINAL))
        else:
            ask.output.rows(found.next_pairs(next_pairs))


_PAIRS = Annotated[
    Path | None,
    Parameter(group="Votes", help="Write pairs of outputs to this table (.csv, .jsonl, .parquet), for raters."),
]
_CHOOSE = Annotated[
    Choose, Parameter(group="Votes", help="With --pairs: how items are chosen by separability, with --n-items.")
]
_N_ITEMS = Annotated[
    int | None, Parameter(group="Votes", help="With --pairs: items for every two systems.", show_default="all")
]
_N_PAIRS = Annotated[int, Parameter(group="Votes", help="With --pairs: pairs for each item and two systems.")]


def separability(
    source: str,
    *others: str,
    pairs: _PAIRS = None,
    choose: _CHOOSE = "weighted",
    n_items: _N_ITEMS = None,
    n_pairs: _N_PAIRS = 5,
    out: Page = None,
    force: Force = False,
    ask: Ask = ASK,
) -> None:
    """On which items can the outputs of two systems be told apart?

    Parameters
    ----------
    source
        Outputs, a row a text with its item, system (annotator) and number (repeat); or a study's folder.
    others
        Further benchmarks, read in the same way, each under its file's name.
    """
    from assay.data.formats.exports import TABLES, write_frame

    ask.to(pairs, source, force=force, suffixes=TABLES)
    if pairs is None and (choose != "weighted" or n_items is not None or n_pairs != 5):
        raise DesignError("--choose, --n-items and --n-pairs say which pairs are drawn; name their file with --pairs")
    number_in("--n-items", 1 if n_items is None else n_items, low=1, whole=True)
    number_in("--n-pairs", n_pairs, low=1, whole=True)
    read: Callable[[str], Any] = ask.labels.outputs
    if others:
        read = partial(_benchmarks, others=others, labels=ask.labels)
    found = ask.answer(BY_NAME["separability"], source, out, read, force=force)
    if pairs is not None:
        drawn = found.pairs(n_pairs, n_items=n_items, choose=choose, seed=found.run.settings.seed)
        write_frame(drawn, pairs)
        note(f"{drawn.height} pairs of outputs, of {drawn['pair_of'].n_unique()} items, written to {pairs}")


def _benchmarks(source: str, others: Sequence[str], labels: LabelOptions) -> dict[str, Annotations]:
    """Outputs of several benchmarks by the names of their files, without what all names end in."""
    paths = [source, *others]
    if twice := next((path for i, path in enumerate(paths) if path in paths[:i]), None):
        raise DesignError(f"'{twice}' is named twice; name each benchmark once")
    stems = [Path(path).stem or path for path in paths]
    names = paths if len(set(stems)) < len(stems) else stems
    return {name: labels.outputs(path) for name, path in zip(names, paths, strict=True)}


def sweep(source: str, *, out: Page = None, force: Force = False, ask: Ask = ASK) -> None:
    """How much does separability depend on the numbers of outputs and comparisons, and on the temperature?

    Parameters
    ----------
    source
        Outputs, as for assay separability; --condition tells temperatures apart.
    """
    condition = ask.options.options().get("condition")
    conditions = list(dict.fromkeys([*(ask.labels.conditions or ()), *filter(None, [condition])]))
    read = replace(ask.labels, conditions=conditions or None).outputs
    ask.answer(BY_NAME["sweep"], source, out, read, force=force)


def ideas(source: str, *, out: Page = None, force: Force = False, ask: Ask = ASK) -> None:
    """Do texts carry the same ideas? Measures against experts' odd ones out, or judges among people.

    Parameters
    ----------
    source
        Odd ones out of three texts: how well measures and judges rank pairs. Or texts (--scale text): how close each
        annotator is to the people.
    """
    from assay.ideas.choices import MapSettings

    table, given = ask.read(source, out, force=force)
    if any(scale.kind == "odd-one-out" for scale in table.scales.values()):
        _show_choices(table, given, out, ask)
        return
    if any(scale.kind != "text" for scale in table.scales.values()):
        raise DesignError(
            "ideas are in odd ones out, read with scale='odd-one-out', or in texts, read with scale='text'; these "
            f"labels are {listing([scale.describe() for scale in table.scales.values()], 2)}"
        )
    _refuse_other_options(given, MapSettings, "texts", "odd ones out of three texts")
    from assay.ideas.annotators import annotator_similarity
    from assay.ideas.page import annotator_parts

    with progress_bar("Comparing"):
        found = annotator_similarity(table, **given)
    ask.output.show(found, drop=hidden_columns(found.rows))
    write_page(out, "Where does each judge sit among the people?", found, annotator_parts)


def _show_choices(table: Annotations, given: dict[str, Any], out: Path | None, ask: Ask) -> None:
    """Odd ones out: measures against the experts where there are any, else how alike the texts are."""
    from assay.ideas.choices import ValidateSettings
    from assay.ideas.measures import short_measure
    from assay.ideas.page import reliability_parts, triplet_parts, validation_parts
    from assay.ideas.reliability import odd_one_out_agreement
    from assay.ideas.triplets import triplet_similarity
    from assay.ideas.validate import validate_similarity

    _refuse_other_options(given, ValidateSettings, "odd ones out of three texts", "texts")
    asked = given.pop("measures", [])
    brief = {short_measure(name) for name in asked}
    names = map(short_measure, asked) if len(brief) == len(asked) else asked
    measures = {name: _measure(one, ask.labels) for name, one in zip(names, asked, strict=True)}
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
    beside = () if agreed is None or not ask.output.for_people else (agreed,)
    folded = () if found is None else ("kind", "n", "difference")
    ask.output.show(main, *beside, drop=(*hidden_columns(main.table), *folded))

    def parts(_: Any) -> Any:
        first = () if found is None else validation_parts(found)
        return (*first, *(() if agreed is None else reliability_parts(agreed)), *triplet_parts(pairs))

    write_page(out, "Do two texts carry the same ideas?", main, parts)


def _measure(name: str, labels: LabelOptions) -> Any:
    """A measure by its name; labels of pairs or odd ones out, where a file or a study's folder has the name."""
    if not Path(name).exists():
        return name
    alone = replace(labels, scale=None, where=None, judges=None, humans=None)
    # Conditions of the experts' table need not be in that of a judge.
    ways = [alone, replace(alone, conditions=None)] if alone.conditions else [alone]
    if Path(name).is_file():
        # A judge's odd ones out say nothing of their scale; numbers of pairs are refused as such, and read as they are.
        ways = [*(replace(way, scale=["odd-one-out"]) for way in ways), *ways]
    for way in ways[:-1]:
        with contextlib.suppress(AssayError):
            return _read_measure(name, way)
    return _read_measure(name, ways[-1])


def _read_measure(name: str, labels: LabelOptions) -> Annotations:
    """Labels that are measures, whoever gave them."""
    try:
        return labels.read(name)
    except AssayError as error:
        # What would be read is with the cause; the words were put as a user types them.
        advised = getattr(error.__cause__, "advised", {})
        if set(advised) != {"judges"}:
            raise
        return labels.given(advised).read(name)


def _refuse_other_options(given: dict[str, Any], settings: type[Settings], about: str, other: str) -> None:
    """Options of the other kind of labels are refused."""
    known = {f.name for f in fields(settings)}
    strange = [name for name in given if name not in known]
    if strange:
        raise AssayError(f"--{strange[0].replace('_', '-')} is about {other}; the labels are {about}")


def raters(source: str, *, out: Page = None, force: Force = False, ask: Ask = ASK) -> None:
    """Who is severe, erratic, unfair? Every person and judge by the hierarchical rater model.

    Parameters
    ----------
    source
        Labels in ordered categories.
    """
    from assay.psychometrics.raters.model import rater_model

    table, given = ask.read(source, out, force=force)
    with progress_bar("Fitting") as progress:
        found = rater_model(table, progress=progress, **given)
    if ask.output.for_people and found.fairness is not None:
        from assay.reporting import tables

        say(
            tables.to_text(tables.shown(found.fairness.rows, drop=hidden_columns(found.fairness.rows), symbol="Δφ"))
            + "\n"
        )
    ask.show(BY_NAME["raters"], found, out)


def hidden_columns(frame: DataFrame) -> tuple[str, ...]:
    """Columns that are not printed: empty ones, and who, where a leaderboard is of one rater."""
    from assay.reporting.tables import empty_columns  # Polars is imported when a command runs

    alone = {"who", "system"} <= set(frame.columns) and frame["who"].n_unique() == 1
    return (*empty_columns(frame), *(("who",) if alone else ()))


def _split_measures(text: str) -> list[str]:
    """``words,rouge-l,embeddings:MODEL,split=whole``: commas apart, but for those before an option."""
    return [part.strip() for part in re.split(r",(?![a-z_]+=)", text) if part.strip()]


TERMINAL = 80
"""Columns that a table of agreement and of scales takes at most."""

_CATEGORIES: Mapping[str, Callable[[Any], Any]] = {"scale": lambda text: int(text) if text.isdecimal() else text}
"""A number of categories, or a scale."""

READ: Mapping[str, Mapping[str, Callable[[Any], Any]]] = {
    "": {"similarity": similarity},
    "plan": {"similarity": similarity, **_CATEGORIES},
    "validate": _CATEGORIES,
    "ideas": {"measures": _split_measures},
}
"""What makes of the text typed for an option the value that a question takes, by command."""
