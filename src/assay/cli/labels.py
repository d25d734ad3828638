"""The commands of questions about labels; they compute no statistics.

First the options of reading and how a question is run (a row of `assay.cli.commands` is enough for a command that does
no more), then one function for each command that does more. Commands for planning are in `assay.cli.plans`, those after
a positive verdict in `assay.cli.estimates`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import re
import shlex
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, make_dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, cast

from cyclopts import Parameter
from cyclopts.group import Group

from assay.cli.commands import BY_NAME, Command, Variant
from assay.cli.output import (
    AS_TEXT,
    FIRST,
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
    typed_fields,
    typed_list,
    typed_value,
    write_page,
)
from assay.data.formats import FormatSettings
from assay.data.formats.registry import ReadSettings
from assay.data.scales import range_of
from assay.data.structure.readings import APART, CHOOSE, MOST_CHOICES, UnclearTableError, further_readings
from assay.data.structure.roles import Layout
from assay.errors import AssayError, DesignError, listing, nearest_name, no_judge
from assay.estimation.options import Settings, number_in
from assay.preference.votes import Choose

if TYPE_CHECKING:
    from polars import DataFrame

    from assay.data.annotations import Annotations
    from assay.estimation.result import Result
    from assay.looking import Look
    from assay.reporting.page import NextStep
    from assay.verdict.report import Report

# -- how labels are read ------------------------------------------------------------------------------


def is_study(source: str) -> bool:
    """Return whether a source is a study folder, whose study.yaml states how its labels are read."""
    return (Path(source) / "study.yaml").is_file()


@dataclass(frozen=True)
class ReadOptions:
    """How the labels are read; `LabelOptions` has the options."""

    if TYPE_CHECKING:  # the options of ReadSettings are fields of LabelOptions

        def __getattr__(self, name: str) -> Any: ...

    def outputs(self, source: str) -> Annotations:
        """The outputs of systems: those of a study's folder, or the table."""
        if not is_study(source):
            return self.read(source)
        self._use_store(source)
        from assay.reading import study_outputs
        from assay.study.definition import load_study

        labels = study_outputs(load_study(source))
        note_reading(labels)
        return labels

    @property
    def other_inputs(self) -> tuple[str | Path | None, ...]:
        """Files that are read in addition to the labels; they are never overwritten."""
        return self.items, self.annotator_table, *(self.codes or ()), self.reading, *(self.labels_from or ())

    def read(self, source: str) -> Annotations:
        """The table; the exclusions and assumptions of reading are printed on standard error."""
        labels = self._read(source)
        note_reading(labels)
        return labels

    def read_all(self, *sources: str) -> list[Annotations]:
        """The table of each file; a note on all of them is printed once, any other with its file."""
        tables = [self._of_judges(source)._read(source) for source in sources]
        noted = [table.reading.lines() for table in tables]
        for line in dict.fromkeys(line for lines in noted for line in lines):
            where = [source for source, lines in zip(sources, noted, strict=True) if line in lines]
            _note_line(line if len(where) == len(sources) else f"{', '.join(where)}: {line}")
        return tables

    def _of_judges(self, source: str) -> Self:
        """The same with the columns of the judges alone, if one of several files has no column of a person."""
        from assay.reading import columns_of_judges

        if not (columns := columns_of_judges(source, self.columns, self.judges)):
            return self
        _note_line(f"{source}: the columns of people are not in it; only {listing(columns, 4)} is read")
        return self.changed(columns=columns)

    def _read(self, source: str) -> Annotations:
        from assay.reading import filter_labels

        try:
            labels = self._table(source)
            for condition in self.where or ():
                labels = filter_labels(labels, condition)
        except AssayError as error:
            if error.advised and _accepts_reading(error):
                return self.given(error.advised)._read(source)
            if error.advised or isinstance(error, UnclearTableError):
                raise AssayError(_advise_command(error)) from error
            # Translated here, because a question can have an option of the same name.
            raise type(error)(as_typed(str(error), NAMES)) from error
        return labels

    def read_alone(self, source: str) -> Annotations:
        """The table of one of several files: without the judges that only others have, and the scale if it is votes."""
        alone = self.changed(labels_from=None)
        tried = [
            alone,
            *(alone.changed(**dict.fromkeys(names)) for names in (["judges"], ["scale"], ["judges", "scale"])),
        ]
        failed = []
        for one in tried:
            try:
                return one._read(source)
            except AssayError as error:
                failed.append(error)
        raise failed[0]

    def read_anyone(self, source: str, *, quiet: bool = False) -> Annotations:
        """The table, in which annotators with names of models are judges."""
        try:
            labels = self._read(source)
        except AssayError as error:
            # The cause has the advised options; the message has them as the user types them.
            advised = getattr(error.__cause__, "advised", {})
            if set(advised) != {"judges"}:
                raise
            labels = self.given(advised)._read(source)
        if not quiet:
            note_reading(labels)
        return labels

    def given(self, options: Mapping[str, Any]) -> Self:
        """The same with options of `assay.read`, in the form in which they are typed."""
        lists = {name: [value] if isinstance(value, str) else value for name, value in options.items()
                 if name in ("item", "label", "scale", "codes")}  # fmt: skip
        for name in ("scale", "codes"):
            if isinstance(pairs := options.get(name), Mapping):
                lists[name] = [f"{key}={one}" for key, one in pairs.items()]
        return self.changed(**{**options, **lists})

    def changed(self, **options: Any) -> Self:
        """The same with other values of these options."""
        return dataclasses.replace(self, **options)

    def _use_store(self, source: str) -> None:
        """Read a study's answers from the database that --store names."""
        if self.store is None:
            return
        if not is_study(source):
            raise AssayError(f"--store names the database of a study, and '{source}' is not a study folder")
        from assay.study.store.connection import choose_store

        choose_store(source, self.store)

    def _table(self, source: str) -> Annotations:
        from assay.reading import read

        self._use_store(source)
        return read(self.files(source), **self.read_options(source))

    def files(self, source: str) -> str | list[str]:
        """The file, or all files to join."""
        return [source, *self.labels_from] if self.labels_from else source

    def read_options(self, source: str) -> dict[str, Any]:
        """The options of `assay.read`; those that are typed override those of the file of --reading."""
        kept: dict[str, Any] = {}
        if self.reading is not None:
            from assay.reading import reading_options

            kept = reading_options(self.reading)
        typed = {name: value for name in READ_OPTIONS if (value := getattr(self, name)) is not None}
        for name in {"item", "label"} & typed.keys():
            typed[name] = typed[name][0] if len(typed[name]) == 1 else typed[name] or name
        if "scale" in typed:
            typed["scale"] = _scale(typed["scale"])
        if "codes" in typed:
            typed["codes"] = _codes(typed["codes"])
        if (layout := self._layout()) is not None:
            typed["layout"] = layout
        return {**kept, **typed, **self._reader_options(source)}

    def _layout(self) -> Layout | None:
        if self.wide and self.layout not in (None, "auto", "wide"):
            raise AssayError(f"--wide and --layout {self.layout} exclude each other; give one")
        return "wide" if self.wide else self.layout

    def _reader_options(self, source: str) -> dict[str, Any]:
        if not self.option:
            return {}
        from assay.data.formats.registry import existing_path, format_of

        return format_of(existing_path(source), self.format or "auto").options_from(self.option)


READ_OPTIONS: Mapping[str, tuple[Any, Any]]
_PARTS, READ_OPTIONS, _ = typed_fields(
    [ReadSettings],
    without=("reading", *(f.name for f in fields(FormatSettings) if f.name not in ("sheet", "question"))),
    repeated=("scale", "codes"),
    kinds={"scale": list[str], "missing": list[str], "items": Path, "annotator_table": Path, "codes": list[str]},
)
"""Fields of `LabelOptions` and options of `assay.read` that a command takes; a format's own are given by --option."""


def _own(kind: Any, help: str, *more: Any, unset: Any = None, **about: Any) -> tuple[Any, Any]:  # noqa: A002
    return Annotated[kind, Parameter(help=help, **about), *more], field(default=unset)


_PARTS += [
    (name, *part)
    for name, part in {
        "wide": _own(bool, "One row per item, one column per annotator.", FIRST, unset=False, show_default=False),
        "reading": _own(Path | None, "File of reading options, from assay look FILE --write.", FIRST),
        "labels_from": _own(Names, "Additional label files, joined by item id."),
        "option": _own(list[str] | None, "NAME=VALUE for the reader of a format: users=users.json; repeatable."),
        "where": _own(list[str] | None, "Keep rows with COLUMN=VALUE (or A,B); repeatable."),
        "store": _own(str | None, "Database of a study: a path or postgresql://..."),
    }.items()
]
_PARTS.sort(key=lambda part: FIRST not in typing.get_args(part[1]))  # in the order of the short help

_READING = Group("Reading the labels", sort_key=1)

if TYPE_CHECKING:
    LabelOptions = ReadOptions
else:
    LabelOptions = Parameter(name="*", group=_READING)(
        make_dataclass("LabelOptions", _PARTS, bases=(ReadOptions,), namespace={"__module__": __name__}, frozen=True)
    )


def _advise_command(error: AssayError) -> str:
    """The ambiguities, with the whole command that reads the table in the more likely way."""
    said = str(error)
    if isinstance(error, UnclearTableError):
        said = f"{error.source}: {'; '.join(error.problems)}"
        if error.apart:
            return _advise_reading_alone(error, as_typed(said, NAMES))
        if not error.advised:
            lines = [words + (f": {whole_command(given)}" if given else "") for words, given in error.choices]
            lines = lines if len(lines) <= MOST_CHOICES else [*lines[:MOST_CHOICES], further_readings(len(lines))]
            end = "" if said.endswith("?") else "."
            return "\n".join([f"{as_typed(said, NAMES)}{end}{f' {CHOOSE}' if lines else ''}", *lines])
    end = "" if said.endswith("?") else "."
    return f"{as_typed(said, NAMES)}{end} If this is right, run: {whole_command(error.advised)}"


def _advise_reading_alone(error: UnclearTableError, said: str) -> str:
    """The ambiguities of one of several files or sheets, with the command that saves how it is read."""
    sheet = next((str(given["sheet"]) for _, given in error.choices if "sheet" in given), None)
    source = error.source if sheet is None else error.source.removesuffix(f"/{sheet}")
    reading = shlex.quote(f"{sheet or Path(source).stem}.yaml")
    commands = [(words, whole_command(given, ["look", source])) for words, given in error.choices]
    lines = [f"{words + ': ' if words else ''}{command} --write {reading}" for words, command in commands]
    rest = "" if sheet is None else f"leave {typed_value(sheet)} out of --sheet, and "
    return "\n".join(["\n  ".join([f"{said}. {APART}", *lines]), f"Then {rest}use --labels-from {reading}."])


def _accepts_reading(error: AssayError) -> bool:
    """Whether the user accepts the more likely reading, at a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    note(f"{_advise_command(error)}\nRead it this way? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


_READ_DEFAULTS = {"item": "item", "annotator": "annotator", "label": "label", "layout": "long"}
_NEEDS_EPSILON = ("report", "alt-test")


def whole_command(options: Mapping[str, Any], words: Sequence[str] | None = None) -> str:
    """The command that runs, or other words of a command, with further options of `assay.read`."""
    words = list(TYPED.get() if words is None else words)
    for name, value in options.items():
        option, start = NAMES.get(name, "--option"), "" if name in NAMES else f"{name}="  # else a format's own option
        typed = [option, f"{start}{_typed_list(value)}"]
        if isinstance(value, Mapping):
            typed = [word for pair in value.items() for word in (option, "=".join(map(str, pair)))]
        elif typed[1].startswith("-"):
            typed = ["=".join(typed)]
        if (default := _READ_DEFAULTS.get(name)) is not None and value == default:
            continue
        if name == "layout" and value == "wide":
            option, typed = "--wide", ["--wide"]
        for at, (word, after) in enumerate(pairwise([*words, ""])):
            if word.startswith(f"{option}={start}") or (word == option and after.startswith(start)):
                del words[at : at + (1 if "=" in word or option == "--wide" else 2)]
                break
        words += typed
    words = _with_names_of(words, options.get("judges") or ())
    if words and words[0] in _NEEDS_EPSILON and not {"--epsilon", "--expertise", "--gold"} & {*words}:
        words += ["--expertise", "crowd"]
    return shlex.join(["assay", *("-" if word == "/dev/stdin" else word for word in words)])


def _with_names_of(words: Sequence[str], judges: Sequence[str]) -> list[str]:
    """Words of a command with each judge to test under its name in the table, if one is near."""
    found = list(words)
    for at, (word, after) in enumerate(pairwise([*words, ""])):
        option, equals, value = word.partition("=")
        if option in ("--judge", "--only"):
            names = [one if one in judges else nearest_name(one, judges) or one for one in (value or after).split(",")]
            found[at if equals else at + 1] = f"{option}={','.join(names)}" if equals else ",".join(names)
    return found


def _typed_list(value: Any) -> str:
    return typed_list(value) if isinstance(value, list | tuple) else str(value)


@Parameter(name="*")
@dataclass(frozen=True)
class Tested:
    """The judges to test."""

    only: Annotated[Names, Parameter(help="Judges to test, separated by commas.", show_default="all")] = None
    judge: Annotated[Names, Parameter(help="An earlier name of --only.", show=False)] = None

    def names(self) -> list[str] | None:
        """The chosen judges; None for all."""
        if self.only is not None and self.judge is not None:
            raise AssayError("--judge is an earlier name of --only; give --only")
        return self.only if self.only is not None else self.judge

    def among(self, labels: Annotations) -> list[str]:
        """The judges to test.

        Raises
        ------
        AssayError
            If the table names no judges: --only does not name the other judges.
        """
        chosen = self.names()
        if chosen and not labels.judges:
            raise AssayError(
                f"the table does not name its judges. Name all judges with --judges {typed_value(typed_list(chosen))}, "
                "and the judges to test with --only"
            )
        return list(labels.judges) if chosen is None else chosen

    def one(self, rule: str) -> dict[str, str]:
        """The one judge that --only names, as an option; empty without --only."""
        names = self.names()
        if names is None:
            return {}
        if len(names) > 1:
            raise AssayError(f"{rule}; --only names {len(names)}")
        return {"judge": names[0]}


ALL_JUDGES = Tested()
"""Every judge of the table."""

NAMES = {f.name: f"--{f.name.replace('_', '-')}" for f in fields(LabelOptions)}
"""Every option of reading, by its name in Python."""

LOOKED = {**NAMES, "repeats": "--repeats"}
"""The options that `assay look` names: those of reading, and the one of the questions about repeated labels."""

PLAIN = LabelOptions()
"""No options of reading."""


def note_reading(labels: Annotations) -> None:
    """Print the exclusions and assumptions of reading on standard error."""
    for line in labels.reading.lines():
        _note_line(line)


def _note_line(line: str) -> None:
    note(f"note: {as_typed(line, NAMES)}")


def _scale(given: Sequence[str] | None) -> str | dict[str, str] | None:
    """One scale for all criteria, or one for each: ``1-5``, or ``stars=1-5`` and ``why=text``."""
    if not given:
        return None
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    pairs = [one.partition("=") for one in given]
    for name, equals, _ in pairs:
        if not equals:
            raise AssayError(f"for several scales give CRITERION=SCALE; got '{name}'")
    return {name: scale for name, _, scale in pairs}


def _codes(given: Sequence[str]) -> str | dict[str, str]:
    """A table of codes, or codes with their words: ``Y=yes``, and ``1 = never=1`` for the code ``1 = never``."""
    if len(given) == 1 and ("=" not in given[0] or Path(given[0]).exists()):
        return given[0]
    pairs = [one.rpartition("=") for one in given]
    for code, _, word in pairs:
        if not code:
            raise AssayError(f"for several codes give CODE=WORD; got '{word}'")
    return {code: word for code, _, word in pairs}


def similarity(name: str) -> Any:
    """The similarity of this name, or the table of label pairs at this path."""
    path = Path(name)
    if path.suffix and path.exists():
        from assay.data.formats.tables import parse_numeric_columns, read_table

        return parse_numeric_columns(read_table(path).labels.drop("_row", strict=False), leave=())
    from assay.similarity.registry import similarity_named

    return similarity_named(name)


# -- the commands -----------------------------------------------------------------------------------


@Parameter(name="*")
@dataclass(frozen=True)
class Ask:
    """The options of every question's command: reading, the question, output."""

    labels: LabelOptions = PLAIN
    options: Given = NOTHING
    output: Output = AS_TEXT

    def answer(
        self, row: Command | Variant, source: str, out: Path | None, read: Callable[[str], Any] | None = None, *,
        force: bool = False,
    ) -> Any:  # fmt: skip
        """Compute the answer of a question, print it, and write its page if there is a file for it."""
        found = self.compute(row, source, out, read, force=force)
        self.show(row, found, out)
        return found

    def compute(
        self, row: Command | Variant, source: str, out: Path | None, read: Callable[[str], Any] | None = None, *,
        force: bool = False,
    ) -> Any:  # fmt: skip
        """The answer, after the file of the page has been checked."""
        if isinstance(row, Variant):
            _refuse_other_variants(self.options.options(), row)
        table, given = self.read(source, out, read, force=force)
        with progress_bar(row.bar):
            return import_named(row.ask)(table, **given)

    def read(
        self, source: str, out: Path | None, read: Callable[[str], Any] | None = None, *, force: bool = False
    ) -> tuple[Any, dict[str, Any]]:
        """The labels and the options of the question, after the file of the page has been checked."""
        self.to(out, source, force=force)
        given = self.options.options()
        return (read or self.labels.read)(source), given

    def to(self, out: Path | None, *sources: str | None, force: bool, suffixes: Sequence[str] | None = None) -> None:
        """Refuse an output file that is an input: the labels, or a further table."""
        target(out, *sources, *self.labels.other_inputs, force=force, suffixes=suffixes)

    def show(self, row: Command | Variant, found: Result, out: Path | None, **how: Any) -> None:
        """Print the result, and write its page if there is a file for it."""
        self.output.show(found, **{"drop": hidden_columns(found.table), **how})
        write_page(out, row.title, found, import_named(row.page))

    def show_frame(self, frame: DataFrame | None, *, symbol: str = "estimate") -> None:
        """Print a further table of a result above its own, if it has one."""
        if self.output.as_text and frame is not None:
            from assay.reporting import tables

            say(tables.to_text(tables.shown(frame, drop=hidden_columns(frame), symbol=symbol)) + "\n")


ASK = Ask()
"""No options."""


def _refuse_other_variants(given: Mapping[str, Any], chosen: Variant) -> None:
    """Refuse options that only another analysis of the same command has."""
    row = next(row for row in BY_NAME.values() if chosen in row.variants.values())
    known = {one: {f.name for f in fields(import_named(one.ask).settings)} for one in row.variants.values()}
    for name in (name for name in given if name not in known[chosen]):
        others = listing([one.typed for one in row.variants.values() if name in known[one]])
        typed = f"--{name.replace('_', '-')}"
        raise DesignError(f"{typed} is an option of {others}, not of {chosen.typed}", option=name)


def __getattr__(name: str) -> Any:
    """The function of a command, ``NAME command``, made on first use: its options require its package."""
    command, _, kind = name.rpartition(" ")
    if kind != "command" or (command not in BY_NAME and command not in BY_NAME.further):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    row = BY_NAME[command]
    function = cast(types.FunctionType, import_named(row.run) if row.run else _question(row))
    if row.settings or row.ask or row.variants:
        typed = options_of(row, READ.get(command, READ[""]))
        about = {"__module__": __name__}
        own = [("options", typed, field(default=typed()))]
        ask = Parameter(name="*")(make_dataclass("Ask", own, bases=(Ask,), namespace=about, frozen=True))
        function.__annotations__["ask"] = ask
        function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "ask": ask()}
    places = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    required = [p.name for p in places if p.default is p.empty]
    return _with_more(function, row.name) if len(places) == 1 and required == ["source"] else function


_MORE = Parameter(help="Further files of the same items, joined by item id.")


def _with_more(function: types.FunctionType, name: str) -> Callable[..., Any]:
    """The command of one source, with further ones by position as ``--labels-from`` names them."""

    @functools.wraps(function)
    def command(source: str, *more: str, ask: Ask = ASK, **given: Any) -> Any:
        for one in more:
            if not re.search(r"[/\\.]", one) and not Path(one).exists():
                raise AssayError(f"{name} does not accept {one}; if it is a judge, write --judges {shlex.quote(one)}")
        labels = ask.labels.changed(labels_from=[*more, *(ask.labels.labels_from or ())] or None)
        return function(source, ask=replace(ask, labels=labels), **given)

    first, *rest = inspect.signature(function).parameters.values()
    command.__kwdefaults__ = function.__kwdefaults__  # type: ignore[attr-defined]
    several = inspect.Parameter("more", inspect.Parameter.VAR_POSITIONAL)
    command.__signature__ = inspect.Signature([first, several, *rest])  # type: ignore[attr-defined]
    command.__annotations__ = {**function.__annotations__, "more": Annotated[str, _MORE]}
    return command


def _question(row: Command) -> Callable[..., None]:
    """The command of a question about labels."""

    def command(source: str, *, out: Page = None, force: Force = False, ask: Ask = ASK) -> None:
        ask.answer(row, source, out, force=force)

    command.__doc__ = f"{row.does}\n\nParameters\n----------\nsource\n    {row.source}"
    return command


_HTML = Annotated[Path | None, Parameter(name=["--output", "-o"], show_default="report.html")]

_ALT_TEST_COLUMNS = ("statistic", "p", "p_reverse", "rejected_reverse", "quality", "difference")

_ONE_BY_ONE = ("pairs", "random human")

MOST_ANNOTATORS_SHOWN = 20
"""Largest number of comparisons of an annotator with the consensus of the others that are printed."""

DEMO_NOISE = {"careful": 0.2, "middling": 0.42, "careless": 0.9}
"""The judges of the demo, and the probability with which each answers at random."""


def demo(*, out: _HTML = None, force: Force = False, seed: int = 7, output: Output = AS_TEXT) -> None:
    """Run ``assay demo``.

    Parameters
    ----------
    out
        Output file of the page.
    seed
        Random seed of the simulation.
    """
    from assay.simulation import simulate
    from assay.verdict.report import report as make

    page = _report_target(out, output, force=force)
    labels = simulate(n_items=150, n_annotators=4, annotator_noise=0.3, judges=DEMO_NOISE, seed=seed)
    said = (
        "A simulated study, not real data: 4 annotators and 3 judges rate 150 items. Each gives the item's true\n"
        "label, or a random label with this probability: annotators 0.30; judges "
        + ", ".join(f"{name} {value:.2f}" for name, value in DEMO_NOISE.items())
        + ".\n"
    )
    (print if output.as_text else note)(said)
    title = "Demo: simulated judges and annotators"
    with progress_bar("Testing") as progress:
        found = make(labels, expertise="skilled", title=title, progress=progress)
    output.words(found)
    _save_report(found.made_by(command_line()), page)


def look(
    *sources: str,
    write: Annotated[Path | None, Parameter(help="Save the reading options to this file.")] = None,
    browser: Annotated[bool, Parameter(show_default=False), FIRST] = False,
    port: int = 0,
    force: Force = False,
    labels: LabelOptions = PLAIN,
    output: Output = AS_TEXT,
) -> int | None:
    """Run ``assay look``.

    Parameters
    ----------
    sources
        A file, folder or study of labels; several files are joined by item.
    write
        Save the reading options to this file, such as reading.yaml; commands accept it instead of the labels, or as
        --reading.
    browser
        Open a local page: drop files, change roles by a click, make the report.
    port
        Port of the page, with --browser; 0 takes a free one.
    """
    from assay.looking import look as look_at
    from assay.reading import READING

    if browser:
        stated = labels.read_options(sources[0]) if sources else {}
        _look_in_browser([*sources, *(labels.labels_from or ())], port, stated)
        return None
    if not sources:
        raise AssayError("look requires a file: assay look FILE, or assay look --browser")
    target(write, *sources, suffixes=READING, force=force)
    files = labels.changed(labels_from=list(sources[1:])).files(sources[0])
    try:
        found = look_at(files, **labels.read_options(sources[0]))
    except UnclearTableError as error:
        raise AssayError(_advise_command(error)) from error
    command = command_for(found, sources)
    if output.json:
        print_json({**found.to_dict(), "command": command})
    elif not output.as_text:
        output.rows(found.table)
    else:
        say(found.head + "\n")
        if found.columns:  # the layout of a platform export is known
            output.rows(found.table)
            say()
        say(as_typed("\n".join(found.lines()), LOOKED))
        if found.labels is not None:
            some = any(one.supported for one in found.analyses)
            say(f"\nNext command:   {command}" if command else "" if some else "\nNo analysis is supported yet.")
            say(f"Python:   {found.call}")
    if write is not None:
        verb = command.split()[1] if command else "look"
        note(f"written to {found.write(write)}; read it with: assay {verb} {write}")
    if found.labels is None and not output.as_text:
        raise AssayError(found.refusal)
    return 2 if found.labels is None else None  # as of every command with this file


def _look_in_browser(sources: Sequence[str], port: int, stated: Mapping[str, Any]) -> None:
    """Serve the page of files until Ctrl-C."""
    import webbrowser

    from assay.collecting.look_page import serving
    from assay.estimation.options import number_in

    number_in("port", port, low=0, high=65535, whole=True)
    paths = [Path(one).expanduser() for one in sources]
    for path in paths:
        if not path.is_file():
            raise AssayError(f"{path} is not a file; the page takes files: run assay look {path} without --browser")
    with serving(port, partial(as_typed, typed=LOOKED), command_for) as (server, page, address):
        for path in paths:
            page.add(path.name, path, stated)
        say(f"Drop files at {address} (Ctrl-C to stop)", flush=True)
        if sys.stdout.isatty():
            webbrowser.open(address)
        server.serve_forever()


def command_for(found: Look, sources: Sequence[str], expertise: str | None = None) -> str | None:
    """The command of the first analysis that a table supports; None if there is none."""
    if found.labels is None or not any(one.supported for one in found.analyses):
        return None
    kinds = {scale.kind for scale in found.labels.scales.values()}
    words = ["report" if found.labels.judges and len(found.labels.humans) > 1 else "agreement"]
    named = any(one.name == "pairwise_votes" and one.supported for one in found.analyses)
    words = ["ratings"] if named else ["ideas"] if kinds & {"odd-one-out", "text"} else words
    words = ["separability"] if any(one.name == "separability" and one.supported for one in found.analyses) else words
    if words == ["agreement"] and not any(one.name == "agreement" and one.supported for one in found.analyses):
        return None
    rest, more = found.labels.with_one_vote, list[str]()
    # Leaderboards are of the votes under all conditions.
    while words != ["ratings"] and (condition := rest.crossed_condition) is not None:
        values = [one for one in rest.values_of(condition) if one is not None]
        if rest.judges and rest.humans and all(range_of(str(value)) for value in values):
            words, more = ["scales"], [*more, *([] if condition == "scale" else ["--scale-column", condition])]
            break
        # With this value, most annotators have labels.
        value = max(values, key=lambda one: rest.where(**{condition: one}).annotators.height)
        rest = rest.where(**{condition: value})
        more += ["--where", f"{condition}={value}"]
    if words[0] in ("report", "agreement") and rest.with_one_vote.has_repeats:
        more += ["--repeats", "first"]
    more += ["--expertise", expertise] if expertise is not None and words == ["report"] else []
    first = f"./{sources[0]}" if sources[0].startswith("-") else sources[0]
    words += [first, *(["--labels-from", typed_list(sources[1:])] if len(sources) > 1 else []), *more]
    return whole_command(found.options, words)


def report(
    source: str,
    *,
    out: _HTML = None,
    pdf: bool = False,
    force: Force = False,
    tested: Tested = ALL_JUDGES,
    ask: Ask = ASK,
) -> None:
    """Run ``assay report``.

    Parameters
    ----------
    source
        A file, folder or study of labels.
    out
        Output file of the page (.html or .md); the numbers are written to a .json file of the same name.
    pdf
        Also print the page as .pdf; requires Chromium or Chrome.
    """
    from assay.verdict.preregistration import study_plan
    from assay.verdict.report import report as make

    labels = ask.labels
    page = _report_target(out, ask.output, source, *labels.other_inputs, pdf=pdf, force=force)
    given = ask.options.options()
    table = labels.read(source)
    given.setdefault("plan", study_plan(table))
    if not tested.among(table):  # before a margin is required
        raise AssayError(no_judge(table.reading.study, "to report on"))
    with progress_bar("Testing") as progress:
        found = make(table, judges=tested.names(), progress=progress, **given)
    ask.output.words(found)
    sources = [source, *(labels.labels_from or ())]
    _save_report(found.made_by(command_line(), partial(_next_command, sources)), page, pdf=pdf)


def _report_target(
    out: Path | None, output: Output, *sources: str | Path | None, pdf: bool = False, force: bool = False
) -> Path | None:
    """The page to write, if any; refuse one that would overwrite another file by itself, its numbers or its PDF."""
    from assay.reporting.page import REPORTS

    if out is None:
        if not (output.as_text or pdf):
            return None
        out = Path("report.html")
    target(out, *sources, suffixes=REPORTS, force=force)
    target(out.with_suffix(".json"), *sources, suffixes=(".json",), force=force)
    if pdf:
        if out.suffix == ".md":
            raise AssayError("--pdf requires a page in HTML; name an --output that ends in .html")
        target(out.with_suffix(".pdf"), *sources, suffixes=(".pdf",), force=force)
    return out


def _save_report(found: Report, out: Path | None, *, pdf: bool = False) -> None:
    """Write the page and its numbers, print the page as PDF, and name the files."""
    from assay.reporting.page import print_page

    if out is None:
        return
    path = found.save(out)
    written = [path, path.with_suffix(".json"), *([print_page(path, path.with_suffix(".pdf"))] if pdf else [])]
    note(f"written to {listing([str(one) for one in written])}")


_READING_WORDS = frozenset(NAMES.values())
"""Options of reading."""

_SHARED_WORDS = frozenset(("--repeats", "--clusters"))
"""Options of a report that state what its labels are, which the commands after it need too."""


def _next_command(sources: Sequence[str], step: NextStep) -> str:
    """The next command after a report, with the same labels, options of reading and `_SHARED_WORDS`."""
    kept, words = ["--labels-from", ",".join(sources[1:])] if len(sources) > 1 else [], TYPED.get()
    for at, word in enumerate(words):
        option, equals, _ = word.partition("=")
        if option in _READING_WORDS | _SHARED_WORDS and option != NAMES["labels_from"]:
            kept += words[at : at + (1 if equals or option == "--wide" else 2)]
    only = ["--only", step.judge] if step.ask == "estimate" else ["--first", "judges"]
    if step.ask == "estimate" and (judge := re.sub(r" \(repeat \d+\)$", "", step.judge)) != step.judge:
        # A corrected estimate is of a judge, not of one of its repeats.
        kept, only = [re.sub(r"^(--repeats=)?each$", r"\1first", one) for one in kept], ["--only", judge]
    where = ["--where", step.where] if step.where else []
    return shlex.join(["assay", step.ask, sources[0], *kept, *where, *only])


def card(
    source: str, *, out: Page = None, force: Force = False, tested: Tested = ALL_JUDGES, ask: Ask = ASK
) -> None:  # fmt: skip
    """Run ``assay card``.

    Parameters
    ----------
    source
        A file, folder or study of labels.
    """
    _ask_of_judges("card", source, out, force=force, tested=tested, ask=ask)


def probes(
    source: str, *, out: Page = None, force: Force = False, tested: Tested = ALL_JUDGES, ask: Ask = ASK
) -> None:  # fmt: skip
    """Run ``assay probes``.

    Parameters
    ----------
    source
        A file, folder or study of labels.
    """
    _ask_of_judges("probes", source, out, force=force, tested=tested, ask=ask)


def _ask_of_judges(name: str, source: str, out: Path | None, *, force: bool, tested: Tested, ask: Ask) -> None:
    """Run a question about all judges, or those of --only, together."""
    table, given = ask.read(source, out, force=force)
    tested.among(table)
    with progress_bar("Comparing"):
        found = import_named(f"assay.verdict.{name}:{name}")(table, judges=tested.names(), **given)
    row = BY_NAME[name]
    if ask.output.as_text:
        ask.output.words(found)
        write_page(out, row.title, found, import_named(row.page))
    else:
        ask.show(row, found, out)


def alt_test(
    source: str,
    *,
    tested: Tested = ALL_JUDGES,
    sets: Names = None,
    fail_under: float | None = None,
    ask: Ask = ASK,
) -> int:
    """Run ``assay alt-test``.

    Parameters
    ----------
    source
        A file, folder or study of labels.
    sets
        Two sets of annotators who labelled different items, combined in random pairs: ann+bob,cho+dan, or a column of
        the annotators.
    fail_under
        Exit with status 1 if a winning rate is below this value, 0 to 1.
    """
    given = ask.options.options()
    if fail_under is not None:
        number_in("fail_under", fail_under, low=0, high=1)
    table = ask.labels.read(source)
    table, judges = table.each_repeat(tested.among(table), given.get("repeats", "error"))
    if not judges:  # before a margin is required
        raise AssayError(no_judge(table.reading.study, "to test"))
    with progress_bar("Testing"):
        found, drop = _run_tests(table, judges, given) if sets is None else _run_pairs(table, judges, sets, given)
    ask.output.show(*found, drop=drop)
    tests = [test for one in found for test in (one.tests.values() if hasattr(one, "tests") else (one,))]
    return int(fail_under is not None and not all(test.winning_rate >= fail_under for test in tests))


def _run_tests(table: Annotations, judges: list[str], given: dict[str, Any]) -> tuple[list[Any], tuple[str, ...]]:
    """The result of each judge, or of all together, and the columns that are not printed."""
    from assay.replacement.alt_test import alt_test as test_one
    from assay.replacement.compare import compare_judges
    from assay.replacement.domains import alt_test_by

    if "by" in given or len(table.criteria) > 1:
        return [alt_test_by(table, one, **given) for one in judges], ()
    if "correction" in given:
        raise DesignError("correction=... is for several domains; name their column with by=...")
    if len(judges) == 1:
        return [test_one(table, judges[0], **given)], _ALT_TEST_COLUMNS
    return [compare_judges(table, judges, **given)], ("kind", "passed")


def _run_pairs(
    table: Annotations, judges: list[str], sets: list[str], given: dict[str, Any]
) -> tuple[list[Any], tuple[str, ...]]:
    """The result of each judge compared with pairs of annotators, one of each set."""
    from assay.replacement.domains import alt_test_paired
    from assay.replacement.panel import PairedSettings

    _refuse_other_options(given, PairedSettings, "of two sets of annotators", "one set of annotators")
    groups = [one.split("+") for one in sets] if len(sets) > 1 else sets[0]
    return [alt_test_paired(table, one, groups, **given) for one in judges], ()


def agreement(source: str, *, out: Page = None, force: Force = False, ask: Ask = ASK) -> None:
    """Run ``assay agreement``.

    Parameters
    ----------
    source
        A file, folder or study of labels.
    """
    from assay.concordance.agreement import agreement as agree

    table, given = ask.read(source, out, force=force)
    with progress_bar("Comparing"):
        found = agree(table, **given)
    shown = _brief_rows(found.rows, found.headline, given)
    titles = shown["title"].unique().to_list()
    symbol, title = (titles[0], ["title"]) if len(titles) == 1 else (None, [])
    drop = ("coefficient", "interval", "p", *title, *hidden_columns(shown))
    ask.show(BY_NAME["agreement"], found, out, drop=drop, rows=_join_names(shown), width=TERMINAL, symbol=symbol)


def _join_names(rows: DataFrame) -> DataFrame:
    """The names of both raters in one column."""
    import polars as pl

    backwards = pl.format("{} & {}", "second", "first")
    named = pl.when(pl.col("who") == "pairs").then(pl.format("{} & {}", "first", "second")).otherwise(backwards)
    between = pl.when(pl.col("second").is_null()).then("first").otherwise(named)
    rest = [c for c in rows.columns if c not in ("criterion", "group", "who", "first", "second")]
    return rows.select("criterion", "group", between.alias("between"), *rest)


def _brief_rows(rows: DataFrame, headline: str, given: dict[str, Any]) -> DataFrame:
    """The rows to print: one coefficient and no long lists, unless the options name them (``--who rest``)."""
    if not given.get("coefficients"):
        rows = rows.filter(rows["coefficient"] == headline)
    brief = rows.filter(~rows["who"].is_in(_ONE_BY_ONE))
    if (brief["who"] == "rest").sum() > MOST_ANNOTATORS_SHOWN:
        brief = brief.filter(brief["who"] != "rest")
    return rows if given.get("who") or not brief.height else brief


def disagreement(source: str, *, out: Page = None, force: Force = False, ask: Ask = ASK) -> None:
    """Run ``assay disagreement``.

    Parameters
    ----------
    source
        A file, folder or study of labels.
    """
    row = BY_NAME["disagreement"]
    found = ask.compute(row, source, out, force=force)
    ask.show(row, found, out, drop=("interval", *hidden_columns(found.rows)), rows=found.rows, width=TERMINAL)


def opinions(
    source: str, *, tested: Tested = ALL_JUDGES, out: Page = None, force: Force = False, ask: Ask = ASK
) -> None:
    """Run ``assay opinions``.

    Parameters
    ----------
    source
        Labels of two or more annotators per item; a judge's probabilities (columns p_LABEL) or repeated labels.
    """
    from assay.variation.opinions import opinions as compare

    table, given = ask.read(source, out, force=force)
    if tested.names() is not None:
        given["judge"] = tested.among(table)
    with progress_bar("Comparing"):
        found = compare(table, **given)
    drop = ("people", "people_at_most", *hidden_columns(found.rows))
    ask.show(BY_NAME["opinions"], found, out, drop=drop, width=TERMINAL)


def scales(source: str, *, out: Page = None, force: Force = False, ask: Ask = ASK) -> None:
    """Run ``assay scales``.

    Parameters
    ----------
    source
        Labels of the same items on several scales.
    """
    from assay.concordance.coefficient import GradingScaleSettings
    from assay.concordance.grading_scale import grading_scale_study
    from assay.concordance.words import POOLED

    ask.to(out, source, force=force)
    given = ask.options.options()
    varied = [given.get("scale_column", GradingScaleSettings.scale_column), *filter(None, [given.get("condition")])]
    conditions = list(dict.fromkeys([*(ask.labels.conditions or ()), *varied]))
    labels = ask.labels if is_study(source) else ask.labels.changed(conditions=conditions)
    table = labels.read(source)
    if "baseline" in given and "condition" in given:
        known = {str(v): v for v in table.values_of(given["condition"])}
        given["baseline"] = known.get(given["baseline"], given["baseline"])
    with progress_bar("Comparing"):
        found = grading_scale_study(table, **given)
    if found.groups is not None:
        # The page and --json have each benchmark.
        ask.show_frame(found.groups.filter(benchmark=POOLED).drop("benchmark"))
    ask.show_frame(found.conditions)
    ask.show(BY_NAME["scales"], found, out, drop=(), width=TERMINAL)


_NEXT = Annotated[
    int | None, Parameter(group="Votes", help="Also print this number of pairs of systems to compare next.")
]


def ratings(source: str, *, next_pairs: _NEXT = None, out: Page = None, force: Force = False, ask: Ask = ASK) -> None:
    """Run ``assay ratings``.

    Parameters
    ----------
    source
        Votes: labels first, second or tie, with columns first and second of systems; or columns model_a, model_b and
        winner.
    """
    row = BY_NAME["ratings"]
    if next_pairs is not None:
        number_in("next_pairs", next_pairs, low=1, whole=True)
        if ask.options.options().get("model", "bradley-terry") != "bradley-terry":
            raise DesignError("--next-pairs requires --model bradley-terry")
    found = _ratings_of_both(ask, source, out, force=force) or ask.compute(row, source, out, force=force)
    if next_pairs is None or ask.output.as_text:
        ask.show(row, found, out, width=TERMINAL)
    else:
        write_page(out, row.title, found, import_named(row.page))
    if next_pairs is not None:
        if ask.output.as_text:
            from assay.reporting import tables

            say(
                "\nPairs to compare next, by the information of one more vote about all ratings. Difference and width "
                "of its interval in points, information in percent of the largest:"
            )
            pairs = found.next_pairs(next_pairs)
            most = pairs["information"].filter(pairs["information"].is_finite()).max()
            percent = (100 * pairs["information"] / (most or 1)).round(0)
            pairs = pairs.with_columns(percent.alias("information")).rename({"difference": "estimate"})
            say(tables.to_text(tables.shown(pairs, symbol="difference"), TERMINAL))
        else:
            ask.output.rows(found.next_pairs(next_pairs))


def _ratings_of_both(ask: Ask, source: str, out: Path | None, *, force: bool) -> Any:
    """The ratings of a file of votes and further ones of scores of the same systems; None for other files."""
    given = ask.options.options()
    columns = {name: given.pop(name) for name in ("scored", "sources") if given.get(name) is not None}
    files = [source, *(ask.labels.labels_from or ())]
    if len(columns) < 2 or len(files) < 2:
        return None
    ask.to(out, source, force=force)
    votes, *scores = sorted((ask.labels.read_alone(one) for one in files), key=lambda t: t.scale.kind != "preference")
    if votes.scale.kind != "preference" or all(table.scale.kind == "preference" for table in scores):
        return None
    for table in scores:
        votes = votes.join(table, **(columns if table.scale.numeric else {}))
    note_reading(votes)
    return import_named(BY_NAME["ratings"].ask)(votes, **given)


_PAIRS = Annotated[
    Path | None,
    Parameter(group="Votes", help="Write pairs of outputs to rate to this table (.csv, .jsonl, .parquet)."),
]
_CHOOSE = Annotated[
    Choose, Parameter(group="Votes", help="With --pairs and --n-items: how separability selects items.")
]
_N_ITEMS = Annotated[
    int | None, Parameter(group="Votes", help="With --pairs: items for each pair of systems.", show_default="all")
]
_SWEEP = Annotated[
    bool,
    Parameter(
        group="Votes", help="Vary the numbers of outputs and comparisons, or the temperature.", show_default=False
    ),
    FIRST,
]
_N_PAIRS = Annotated[
    int, Parameter(group="Votes", help="With --pairs: pairs of outputs for each item and pair of systems.")
]


def separability(
    source: str,
    *others: str,
    sweep: _SWEEP = False,
    pairs: _PAIRS = None,
    choose: _CHOOSE = "weighted",
    n_items: _N_ITEMS = None,
    n_pairs: _N_PAIRS = 5,
    out: Page = None,
    force: Force = False,
    ask: Ask = ASK,
) -> None:
    """Run ``assay separability``.

    Parameters
    ----------
    source
        Outputs: one row per text with its item, system (annotator) and number (repeat); or a study folder.
    others
        Further benchmarks, read in the same way and named after their files.
    """
    from assay.data.formats.exports import TABLES, write_frame

    if pairs is None and (choose != "weighted" or n_items is not None or n_pairs != 5):
        raise DesignError("--choose, --n-items and --n-pairs select pairs of outputs; name their file with --pairs")
    if sweep:
        if others or pairs is not None:
            raise DesignError("--sweep requires one benchmark and draws no pairs; leave out --pairs and further files")
        _sweep(source, out, force=force, ask=ask)
        return
    ask.to(pairs, source, force=force, suffixes=TABLES)
    number_in("--n-items", 1 if n_items is None else n_items, low=1, whole=True)
    number_in("--n-pairs", n_pairs, low=1, whole=True)
    read: Callable[[str], Any] = ask.labels.outputs
    if others:
        read = partial(_benchmarks, others=others, labels=ask.labels)
    found = ask.answer(BY_NAME["separability"].variants["item by item"], source, out, read, force=force)
    if pairs is not None:
        drawn = found.pairs(n_pairs, n_items=n_items, choose=choose, seed=found.run.settings.seed)
        write_frame(drawn, pairs)
        note(f"{drawn.height} pairs of outputs of {drawn['pair_of'].n_unique()} items written to {pairs}")


def _benchmarks(source: str, others: Sequence[str], labels: LabelOptions) -> dict[str, Annotations]:
    """Outputs of several benchmarks by the names of their files, without suffixes if the names stay different."""
    paths = [source, *others]
    if twice := next((path for i, path in enumerate(paths) if path in paths[:i]), None):
        raise DesignError(f"'{twice}' is named twice; name each benchmark once")
    stems = [Path(path).stem or path for path in paths]
    names = paths if len(set(stems)) < len(stems) else stems
    systems = _systems_of_files(paths, labels)
    return {name: systems[path].outputs(path) for name, path in zip(names, paths, strict=True)}


def _systems_of_files(paths: Sequence[str], labels: LabelOptions) -> dict[str, LabelOptions]:
    """The options for each file, with those of the named systems that it has; a name that no file has is kept."""
    if not labels.humans or any(map(is_study, paths)):
        return dict.fromkeys(paths, labels)
    alone = {path: labels.changed(humans=None).read_anyone(path, quiet=True) for path in paths}
    there = {path: {*table.humans, *table.judges} for path, table in alone.items()}
    known = set().union(*there.values())
    return {
        path: labels.changed(humans=[name for name in labels.humans if name in there[path] or name not in known])
        for path in paths
    }


def _sweep(source: str, out: Path | None, *, force: bool, ask: Ask) -> None:
    """Separability for several numbers of outputs and comparisons, or for each value of a condition."""
    condition = ask.options.options().get("condition")
    conditions = list(dict.fromkeys([*(ask.labels.conditions or ()), *filter(None, [condition])]))
    read = ask.labels.changed(conditions=conditions or None).outputs
    ask.answer(BY_NAME["separability"].variants["sweep"], source, out, read, force=force)


def ideas(
    source: str, *, style: bool = False, out: Page = None, force: Force = False, ask: Ask = ASK
) -> None:  # fmt: skip
    """Run ``assay ideas``.

    Parameters
    ----------
    source
        Odd-one-out choices, to validate measures and judges. Or texts (--scale text), to compare each annotator with
        the human annotators.
    style
        SOURCE has pairs of texts (first, second) and the same pairs rewritten in another style (first_after,
        second_after): percent change of each measure.
    """
    from assay.ideas.choices import MapSettings

    if style:
        _show_style(source, out, force=force, ask=ask)
        return
    table, given = ask.read(source, out, force=force)
    if any(scale.kind == "odd-one-out" for scale in table.scales.values()):
        _show_choices(table, given, out, ask)
        return
    if any(scale.kind != "text" for scale in table.scales.values()):
        raise DesignError(
            "ideas requires odd-one-out choices, read with scale='odd-one-out', or texts, read with scale='text'; "
            f"these labels are {listing([scale.describe() for scale in table.scales.values()], 2)}"
        )
    _refuse_other_options(given, MapSettings, "texts", "odd-one-out choices")
    from assay.ideas.annotators import annotator_similarity
    from assay.ideas.page import annotator_parts

    with progress_bar("Comparing"):
        found = annotator_similarity(table, **given)
    ask.output.show(found, drop=hidden_columns(found.rows))
    write_page(out, "Similarity of each annotator to the human annotators", found, annotator_parts)


def _show_style(source: str, out: Path | None, *, force: bool, ask: Ask) -> None:
    """Pairs of texts before and after a change of style."""
    from assay.data.formats.registry import existing_path
    from assay.data.formats.tables import read_table
    from assay.ideas.choices import StyleSettings
    from assay.ideas.page import style_parts
    from assay.ideas.style import style_effect

    ask.to(out, source, force=force)
    given = ask.options.options()
    _refuse_other_options(given, StyleSettings, "pairs of texts in two styles", "odd-one-out choices")
    with progress_bar("Comparing"):
        found = style_effect(read_table(existing_path(source)).labels.drop("_row", strict=False), **given)
    ask.output.show(found, drop=hidden_columns(found.table))
    write_page(out, "Change of similarity with style", found, style_parts)


def _show_choices(table: Annotations, given: dict[str, Any], out: Path | None, ask: Ask) -> None:
    """Odd-one-out choices: validate the measures, or estimate the similarity of the texts."""
    from assay.ideas.choices import ValidateSettings
    from assay.ideas.measures import short_measure
    from assay.ideas.page import reliability_parts, triplet_parts, validation_parts
    from assay.ideas.reliability import odd_one_out_agreement
    from assay.ideas.triplets import triplet_similarity
    from assay.ideas.validate import validate_similarity

    _refuse_other_options(given, ValidateSettings, "odd-one-out choices", "texts")
    asked = {one: _settings_of(one) for one in given.pop("measures", [])}
    brief = {one: short_measure(one if several is None else one.partition(",")[0]) for one, several in asked.items()}
    names = brief if len(set(brief.values())) == len(asked) else {one: one for one in asked}
    measures = {names[one]: several or _measure(one, ask.labels) for one, several in asked.items()}
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
    further = () if agreed is None or not ask.output.as_text else (agreed,)
    folded = () if found is None else ("kind", "n", "difference")
    ask.output.show(main, *further, drop=(*hidden_columns(main.table), *folded))

    def parts(_: Any) -> Any:
        first = () if found is None else validation_parts(found)
        return (*first, *(() if agreed is None else reliability_parts(agreed)), *triplet_parts(pairs))

    write_page(out, "Similarity of texts and its measures", main, parts)


def _settings_of(name: str) -> dict[str, str] | None:
    """The settings of a measure with several values of an option: those of ``lda,topics=10|20``, by ``topics=10`` …."""
    swept = re.search(r"(?<=,)([a-z_]+=)([^,|]+(?:\|[^,|]+)+)", name)
    if swept is None:
        return None
    before, after = name[: swept.start()], name[swept.end() :]
    return {one: f"{before}{one}{after}" for one in (f"{swept[1]}{value}" for value in swept[2].split("|"))}


def _measure(name: str, labels: LabelOptions) -> Any:
    """The measure of this name, or the labels in the file or study folder of this name."""
    from assay.ideas.measures import PAIR_NAMES

    if not Path(name).exists():
        return name
    alone = labels.changed(scale=None, where=None, judges=None, humans=None)
    # The table of a judge can be without the conditions of the experts' table.
    ways = [alone, alone.changed(conditions=None)] if alone.conditions else [alone]
    plain = ways[-1]
    if Path(name).is_file():
        # A judge's choices do not state their scale. Numbers of pairs are refused on that scale, then read without it,
        # each two texts as an item if no column names the item.
        of_pairs = (plain.changed(item=list(pair)) for pair in PAIR_NAMES)
        ways = [*(way.changed(scale=["odd-one-out"]) for way in ways), *ways, *of_pairs]
    for way in ways:
        with contextlib.suppress(AssayError):
            return way.read_anyone(name)
    return plain.read_anyone(name)  # again, for its error


def _refuse_other_options(given: dict[str, Any], settings: type[Settings], about: str, other: str) -> None:
    """Refuse options for the other kind of labels."""
    known = {f.name for f in fields(settings)}
    strange = [name for name in given if name not in known]
    if strange:
        raise AssayError(f"--{strange[0].replace('_', '-')} is for {other}; the labels are {about}")


_RATER_MODEL = Annotated[
    Literal["hierarchical", "rasch"],
    Parameter(group="The rater model", help="Hierarchical rater model, or many-facet Rasch model."),
    FIRST,
]


def raters(
    source: str, *, model: _RATER_MODEL = "hierarchical", out: Page = None, force: Force = False, ask: Ask = ASK
) -> None:
    """Run ``assay raters``.

    Parameters
    ----------
    source
        Labels in ordered categories.
    """
    row = BY_NAME["raters"].variants[model]
    if model == "rasch":
        found = ask.compute(row, source, out, force=force)
        ask.show(row, found, out)
        return
    table, given = ask.read(source, out, force=force)
    _refuse_other_variants(given, row)
    with progress_bar(row.bar) as progress:
        found = import_named(row.ask)(table, progress=progress, **given)
    fair = None if found.fairness is None else found.fairness.rows
    for frame, symbol in ((fair, "Δφ"), (found.groups, "estimate")):
        ask.show_frame(frame, symbol=symbol)
    ask.show(row, found, out)


def hidden_columns(frame: DataFrame) -> tuple[str, ...]:
    """Columns that are not printed: empty ones, and the rater of a leaderboard of one rater."""
    from assay.reporting.tables import empty_columns  # Polars is imported when a command runs

    alone = {"who", "system"} <= set(frame.columns) and frame["who"].n_unique() == 1
    return (*empty_columns(frame), *(("who",) if alone else ()))


def _split_measures(text: str) -> list[str]:
    """``words,rouge-l,embeddings:MODEL,split=whole``, split at commas except before an option."""
    return [part.strip() for part in re.split(r",(?![a-z_]+=)", text) if part.strip()]


TERMINAL = 80
"""Largest width of a table, in characters."""

_CATEGORIES: Mapping[str, Callable[[Any], Any]] = {"categories": lambda text: int(text) if text.isdecimal() else text}
"""A number of categories, or a scale."""

READ: Mapping[str, Mapping[str, Callable[[Any], Any]]] = {
    "": {"similarity": similarity},
    "plan alt-test": {"similarity": similarity, **_CATEGORIES},
    "plan validate": _CATEGORIES,
    "ideas": {"measures": _split_measures},
}
"""Functions that turn the text of an option into the value that the question takes, by command."""
