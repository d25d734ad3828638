"""What a command takes, and how it shows what it found.

A question's options are built from its settings when its command is used, so nothing is said twice. A result is a table
and sentences, or JSON, CSV or LaTeX and nothing else; a page where one was asked for; a bar while work goes on.
"""

from __future__ import annotations

import importlib
import json
import re
import shlex
import sys
import threading
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

from cyclopts import Parameter
from cyclopts.group import Group

from assay.cli.commands import Command
from assay.errors import AssayError, DesignError
from assay.estimation.options import Limits, Settings, check, hints_of, members_of, words_of

if TYPE_CHECKING:
    from polars import DataFrame

    from assay.estimation.result import Result

_GROUP = Group("Output", sort_key=9)

FIRST = "first"
"""Beside an option's `Parameter`: the short help shows it; see `assay.estimation.options.Limits.first`."""

Page = Annotated[Path | None, Parameter(name=["--output", "-o"], group=_GROUP, help="Also write a page here."), FIRST]
"""Where a command also writes a page."""

Force = Annotated[bool, Parameter(group=_GROUP, help="Write over a file that is there already.", show_default=False)]
"""Whether what is there already may be written over."""

PATIENCE = 1.0
"""Seconds that work may take before a bar is drawn."""


TYPED: ContextVar[tuple[str, ...]] = ContextVar("TYPED", default=())
"""The words of the command that runs, without the program's name."""

WORDED: ContextVar[Callable[[str], str]] = ContextVar("WORDED", default=str)
"""Says a sentence of Python's in the words of the command that runs: ``text=...`` is ``--text ...``."""


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True)
class Output:
    """How the result is printed."""

    json: Annotated[bool, Parameter(help="Print everything as JSON and nothing else.", show_default=False), FIRST] = (
        False
    )
    csv: Annotated[bool, Parameter(help="Print the table as CSV, all digits.", show_default=False)] = False
    latex: Annotated[bool, Parameter(help="Print the table as LaTeX.", show_default=False)] = False

    def __post_init__(self) -> None:
        named = [f"--{name}" for name in ("json", "csv", "latex") if getattr(self, name)]
        if len(named) > 1:
            raise AssayError(f"{' and '.join(named)} exclude each other; give one")

    @property
    def for_people(self) -> bool:
        """Whether a person reads it; otherwise standard output holds the one thing that was asked for."""
        return not (self.json or self.csv or self.latex)

    def show(
        self, *results: Result, drop: Sequence[str] = (), rows: DataFrame | None = None, width: int | None = None,
        symbol: str | None = None,
    ) -> None:  # fmt: skip
        """Print results in the form asked for; ``rows`` are those of a table too long to be read whole.

        A table is as wide as ``width`` at most; ``symbol`` is the name of its number, where it is not the result's.
        """
        from assay.reporting import tables

        if self.json:
            found = [result.to_dict() for result in results]
            print_json(found[0] if len(found) == 1 else found)
            return
        if self.csv:
            _print_exact(tables.to_csv(_whole(results)))
            return
        for i, result in enumerate(results):
            frame = _worded_reasons(result.table if rows is None else rows)
            shown = tables.shown(frame, drop=drop, symbol=symbol or result.symbol, counted=result.counted)
            if self.latex:
                _print_exact(tables.to_latex(shown))
            else:
                say(("\n" if i else "") + tables.to_text(shown, width) + "\n\n" + _sentences(result))

    def rows(self, frame: DataFrame) -> None:
        """Print a table that is no result's."""
        from assay.reporting import tables

        if self.json:
            print_json(frame.to_dicts())
        elif self.csv:
            _print_exact(tables.to_csv(frame))
        elif self.latex:
            _print_exact(tables.to_latex(tables.plain(frame)))
        else:
            say(tables.to_text(tables.plain(frame)))

    def words(self, result: Any) -> None:
        """Print a result that is read as sentences, without its table."""
        if self.for_people:
            say(_sentences(result))
        else:
            self.show(result)


def _sentences(result: Any) -> str:
    """What a result says, in lines of a terminal and the words of the command; its signature is cited as it is."""
    from assay.reporting import tables

    worded, cited = WORDED.get(), getattr(result, "signature", None)
    lines = (line if line == cited else worded(line) for line in result.summary().splitlines())
    return tables.wrap_text("\n".join(lines))


def _worded_reasons(frame: DataFrame) -> DataFrame:
    """The table with its reasons in the words of the command."""
    if "reason" not in frame.columns:
        return frame
    import polars as pl

    return frame.with_columns(pl.col("reason").cast(pl.String).map_elements(WORDED.get(), return_dtype=pl.String))


FOR_PEOPLE = Output()
"""A table and sentences."""


def print_json(found: Any) -> None:
    """JSON, in letters that standard output can take."""
    narrow = (sys.stdout.encoding or "utf-8").lower().replace("-", "") != "utf8"
    say(json.dumps(found, ensure_ascii=narrow, indent=2))


def say(text: object = "", end: str = "\n", *, flush: bool = False) -> None:
    """Print text of which nothing steers a terminal; JSON keeps its content."""
    print(as_printed(text), end=end, flush=flush)


def as_printed(text: object) -> str:
    """See `assay.reporting.tables.printable`."""
    from assay.reporting.tables import printable

    return printable(str(text))


def _print_exact(text: str) -> None:
    """Print CSV or LaTeX: letter by letter into files and pipes."""
    print(as_printed(text) if sys.stdout.isatty() else text, end="")


def command_line() -> str:
    """The command that runs, as a shell takes it."""
    return shlex.join(["assay", *TYPED.get()])


def note(line: object) -> None:
    """Something to know beside the answer, on standard error."""
    print(as_printed(line), file=sys.stderr)


def target(
    path: Path | None, *sources: str | Path | None, suffixes: Sequence[str] | None = None, force: bool = False,
    folder: bool = False,
) -> None:  # fmt: skip
    """Refuse, before any work, a place that cannot be written to, or whose contents would be lost.

    Every command that writes asks here: of ``sources``, what it reads, no file is ever written over; any other
    that it did not write itself is with ``force`` alone. Without ``suffixes`` it writes a page.
    """
    from assay.reporting.page import PAGES, refuse_overwriting, writable

    if path is not None:
        writable(path, folder=folder, suffixes=PAGES if suffixes is None else suffixes)
        refuse_overwriting(path, [one for one in sources if one is not None], force=force)


def write_page(out: Path | None, title: str, found: Any, parts: Callable[[Any], Any]) -> None:
    """The result as a page, where one was asked for."""
    if out is not None:
        from assay.reporting.page import page_of

        page = page_of(title, "", parts(found), found.signature, command_line())
        note(f"written to {page.save(out)}")


@contextmanager
def progress_bar(what: str = "") -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar on a terminal, for work that takes longer than a second; None elsewhere.

    The function that is given is told what is being done, how many steps are done and how many there are. Until it is
    called, the bar says that something goes on.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(as_printed(what)), total=None, visible=False)
        late = threading.Timer(PATIENCE, lambda: bar.update(task, visible=True))
        late.daemon = True
        late.start()

        def tell(what: str, done: int, steps: int) -> None:
            bar.update(task, description=escape(as_printed(what)), completed=done, total=steps)

        try:
            yield tell
        finally:
            late.cancel()


def _whole(results: Sequence[Result]) -> DataFrame:
    """The tables of several results as one; the judge tells them apart."""
    if len(results) == 1:
        return results[0].table
    import polars as pl

    frames = []
    for result in results:
        frame, judge = result.table, getattr(result, "judge", None)
        if judge is not None and "judge" not in frame.columns:
            frame = frame.select(pl.lit(str(judge)).alias("judge"), pl.all())
        frames.append(frame)
    return pl.concat(frames, how="diagonal_relaxed")


# -- what people type --------------------------------------------------------------------------------

_LISTS: Mapping[Any, Any] = {int: list[int], float: list[float]}


def commas(_: Any, tokens: Sequence[Any]) -> list[str]:
    """``a,b,c`` as a list; ``icc(a,1)`` is one name."""
    parts = (part.strip() for token in tokens for part in re.split(r",(?![^(]*\))", token.value))
    return [part for part in parts if part]


Names = Annotated[list[str] | None, Parameter(converter=commas, n_tokens=1)]
"""Names separated by commas."""


@dataclass(frozen=True)
class Given:
    """The options of a question that somebody typed; a command's own kind is made by `options_of`."""

    known: ClassVar[Mapping[str, tuple[Any, Limits]]] = {}
    required: ClassVar[tuple[str, ...]] = ()
    read: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}

    def options(self) -> dict[str, Any]:
        """Keyword options of the question's function, each checked; those not typed are not there.

        Raises
        ------
        DesignError
            For a value that the settings refuse, or an option that has no default and was not given.
        """
        for name in self.required:
            if getattr(self, name) is None:
                about = self.known[name][1].help
                raise DesignError(f"{name} is needed: {about[:1].lower()}{about[1:]}", option=name)
        found = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not one.default:
                value = self.read[one.name](value) if one.name in self.read else value
                check(one.name, value, *self.known[one.name])
                found[one.name] = value
        return found


NOTHING = Given()
"""The default of a command's parameter ``options``, until its own are put there."""


def options_of(row: Command, read: Mapping[str, Callable[[Any], Any]]) -> type[Given]:
    """The options of a command, from the settings that its row names; where two have one of a name, the first counts.

    ``read`` makes of the text typed for an option the value that the settings take.
    """
    offered: dict[str, tuple[Any, Limits]] = {}
    parts, required = [], []
    for settings in settings_of(row):
        defaults = {f.name: None if f.default is MISSING else f.default for f in fields(settings)}
        for name, (hint, limits) in hints_of(settings).items():
            typed = _typed_kind(hint)
            if name in offered or name in row.without or limits.hidden or typed is None:
                continue
            offered[name] = (hint, limits)
            if defaults[name] is None and not _optional(hint):
                required.append(name)
            default = row.shown.get(name, _default(defaults[name]))
            parameter = _parameter(row.named.get(name, f"--{name.replace('_', '-')}"), hint, typed, limits, default)
            # A flag is given where it is not at its default, anything else where there is something.
            flag = typed is bool
            unset = field(default=defaults[name] if flag else None)
            shown = FIRST if limits.first else None
            parts.append((name, Annotated[typed if flag else typed | None, parameter, shown], unset))
    mappings = {name: _mapping for name, (hint, _) in offered.items() if _mapping_value(hint) is not None}
    about = {"known": offered, "required": tuple(required), "read": {**mappings, **read}, "__module__": __name__}
    kind = make_dataclass("Given", parts, bases=(Given,), namespace=about, frozen=True)
    return cast("type[Given]", Parameter(name="*", group=Group(row.heading, sort_key=2))(kind))


def settings_of(row: Command) -> list[type[Settings]]:
    """Where the options of a command come from: the settings that its row names, or its question's own."""
    return [*map(import_named, row.settings)] if row.settings or not row.ask else [import_named(row.ask).settings]


def import_named(place: str) -> Any:
    """What stands at ``module:name``."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


# -- from a setting to a parameter ------------------------------------------------------------------


def _typed_kind(hint: Any) -> Any:
    """What is typed for an option of this type; None where it cannot be typed: a function, a mapping."""
    members = [m for m in members_of(hint) if m is not type(None)]
    if _mapping_value(hint) is not None:
        return list[_NAME_VALUE]
    if Any in members:
        return str
    for member in members:
        if typing.get_origin(member) in (tuple, list, Sequence):
            return _LISTS.get(typing.get_args(member)[0], list[str])
    words = tuple(w for m in members if typing.get_origin(m) is Literal for w in typing.get_args(m))
    if words:
        return Literal[words]
    return next((kind for kind in (str, bool, float, int) if kind in members), None)


def _optional(hint: Any) -> bool:
    """Whether None is a value of the type."""
    return type(None) in members_of(hint) or hint is Any


def _mapping_value(hint: Any) -> Any:
    """What a mapping has for each name; None where the option is no mapping of names."""
    found = (typing.get_args(m) for m in members_of(hint) if typing.get_origin(m) is Mapping)
    return next((value for name, value in found if name is str and value is not Any), None)


def _parameter(name: str, hint: Any, typed: Any, limits: Limits, default: str) -> Parameter:
    words = range_words(limits)
    about = limits.help + (f" [range: {words}]" if words and words not in limits.help else "")
    negative = None if default == "True" else ()
    if typing.get_origin(typed) is not list:
        return Parameter(name=name, help=about, show_default=default or False, negative=negative)
    if _mapping_value(hint) is not None:
        pairs = _pairs(name, _mapping_value(hint), column=str in members_of(hint))
        return Parameter(name=name, help=about, show_default=default or False, converter=pairs, n_tokens=1)
    # The words of a list are checked by the settings: cyclopts takes the whole list for one word.
    about += f" [choices: {', '.join(map(str, words_of(hint)))}]" if words_of(hint) else ""
    several = _list_parser(typing.get_args(typed)[0])
    return Parameter(name=name, help=about, show_default=default or False, converter=several, n_tokens=1)


def _list_parser(kind: Any) -> Callable[[Any, Sequence[Any]], list[Any]]:
    """``30,50`` as a list of numbers, ``a,b`` as one of texts."""

    def one(part: str) -> Any:
        try:
            return kind(part) if kind in (int, float) else part
        except ValueError:
            raise ValueError(f"'{part}' is not a {'whole number' if kind is int else 'number'}") from None

    return lambda _, tokens: [one(part) for part in commas(_, tokens)]


_NAME_VALUE: Any = type("name=value", (), {})
"""What the help shows for an option that is a mapping: cyclopts names a type."""


def _mapping(typed: str | Sequence[tuple[str, Any]]) -> str | dict[str, Any]:
    """Pairs as a mapping; the name of a column, where that was typed, as it is."""
    return typed if isinstance(typed, str) else dict(typed)


def _pairs(option: str, kind: Any, *, column: bool = False) -> Callable[[Any, Sequence[Any]], Any]:
    """``o=1-10,r=1,2,3`` as pairs, texts of several parts joined by ``+``; where it may be, one name is a column."""

    def read(_: Any, tokens: Sequence[Any]) -> str | list[tuple[str, Any]]:
        if column and len(tokens) == 1 and "=" not in tokens[0].value:
            return str(tokens[0].value)
        found = []
        for part in (part for token in tokens for part in re.split(r",(?=[^,=]+=)", token.value)):
            name, equals, text = (one.strip() for one in part.partition("="))
            if not (name and equals and text):
                raise AssayError(f"{option} takes NAME=VALUE; got '{part}'")
            found.append((name, _value(kind, name, text)))
        return found

    return read


def _value(kind: Any, name: str, text: str) -> Any:
    """A text as the value of a name: a number, whole numbers or a range of them, one or several words."""
    if kind is float:
        try:
            return float(text)
        except ValueError:
            raise ValueError(f"{name}=... takes a number; got '{text}'") from None
    if int not in typing.get_args(kind):
        return text if kind is str else tuple(text.split("+"))
    first, dash, last = text.partition("-")
    if dash and first.isdecimal() and last.isdecimal() and int(first) <= int(last) <= int(first) + 10_000:
        return tuple(range(int(first), int(last) + 1))
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ValueError(f"{name}=... takes whole numbers: {name}=1-10 or {name}=1,2,3; got '{text}'")
    return tuple(map(int, parts))


def _default(value: Any) -> str:
    """A default as it would be typed; empty where there is none to show."""
    if value is None or value is False or value == "":
        return ""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def range_words(limits: Limits) -> str:
    """``0 to 1``, ``at least 40``, ``above 0 and below 1``."""
    low, high = limits.low, limits.high
    if low is None and high is None:
        return ""
    if low is not None and high is not None and not limits.low_open and not limits.high_open:
        return f"{low:g} to {high:g}"
    first = "" if low is None else f"above {low:g}" if limits.low_open else f"at least {low:g}"
    last = "" if high is None else f"below {high:g}" if limits.high_open else f"at most {high:g}"
    return " and ".join(part for part in (first, last) if part)


# -- the words of an error --------------------------------------------------------------------------

_VALUE = r"\.\.\.|'[^']*'|\[[^\]]*\]|\{[^}]*\}|assay\.\w+\([^)]*\)|[\w:+-]+(?:\.[\w:+-]+)*"
_MORE = r"(?:(?: \([^)]*\))?(?:, | or )'[^']*')*"
_KEYWORD = re.compile(rf"(?<![\w'-])(?<!\w\()(?<!--option )(?<!--where )([a-z][a-z_]*)=({_VALUE})({_MORE})")
_CALL = re.compile(r"assay\.(\w+)\(([^()]*)\)")
_WHERE = re.compile(rf"labels\.where\((\w+)=({_VALUE})\)")


def as_typed(message: str, typed: Mapping[str, str]) -> str:
    """Python's ``name=value`` in a message as ``--name value``.

    Parameters
    ----------
    message : str
    typed : mapping of keyword to option
        The options of the command, such as ``{"n_resamples": "--n-resamples"}``. What is none of them is taken as an
        option of a format's reader, where one has it, and left as it is otherwise.

    Examples
    --------
    >>> as_typed("choose one with labels.where(criterion=...)", {})
    'choose one with --where criterion=...'
    >>> as_typed("name the judges with judges=['gpt', ...]", {"judges": "--judges"})
    'name the judges with --judges gpt,...'
    """
    message = message.replace("labels.where(...)", "--where COLUMN=VALUE")
    message = _WHERE.sub(lambda m: f"--where {m[1]}={_plain(m[2])}", message)
    message = _CALL.sub(lambda m: _arguments(m, typed), message)
    message = _KEYWORD.sub(lambda m: _option(m, typed), message)
    return re.sub(r"^([a-z_]+)(?= (?:must|is needed))|^([a-z]+_[a-z_]+)(?= )", lambda m: typed.get(m[0], m[0]), message)


def _arguments(match: re.Match[str], typed: Mapping[str, str]) -> str:
    """A call in Python as the options that are among its arguments; left as it is where there are none."""
    named = [(m[1], m[2]) for m in _KEYWORD.finditer(match[2]) if m[1] in typed]
    return " ".join(f"{typed[name]} {_plain(value)}" for name, value in named) or match[0]


def _option(match: re.Match[str], typed: Mapping[str, str]) -> str:
    name, value, more = match[1], _plain(match[2]), match[3].replace("'", "")
    if name == "layout" and value == "wide" and "wide" in typed:
        return typed["wide"]
    if name in typed:
        each = re.findall(r"'([^']*)': '([^']*)'", match[2]) if match[2][:1] == "{" else []
        return " ".join(f"{typed[name]} '{key}={one}'" for key, one in each) or f"{typed[name]} {value}{more}"
    return f"--option {name}={value}{more}" if name in _reader_options() else match[0]


def _plain(value: str) -> str:
    """A Python value as it is typed: ``['a', 'b']`` is ``a,b`` and ``{'stars': '1-5'}`` is ``'stars=1-5'``."""
    if value[:1] == "{":
        return "'" + re.sub(r"'([^']*)': '([^']*)'", r"\1=\2", value[1:-1]) + "'"
    if value[:1] == "[":
        value = ",".join(part.strip(" '\"") for part in value[1:-1].split(","))
    return "..." if value.startswith("assay.") else typed_value(value.strip("'"))


def typed_value(value: str) -> str:
    """A value as a shell takes it: in quotes where there are spaces or signs that mean something to it."""
    return value if re.fullmatch(r"[\w.,:/@%+=()…-]+", value) and "(" not in value else shlex.quote(value)


def _reader_options() -> set[str]:
    """The options of all formats' readers."""
    from assay.data.formats.registry import FORMATS

    return {name for one in FORMATS.values() for name in one.options}
