"""The options of commands, and the output of results.

The options of a command are built from the settings of its question on first use, so that each is stated once. A result
is printed as a table and sentences, or only as JSON or CSV. A page is written on request; a bar shows progress.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import sys
import threading
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
"""Mark of an option that the short help shows; see `assay.estimation.options.Limits.first`."""

Page = Annotated[Path | None, Parameter(name=["--output", "-o"], group=_GROUP, help="Output file of a page."), FIRST]
"""File of a command's page."""

Force = Annotated[bool, Parameter(group=_GROUP, help="Overwrite existing files.", show_default=False)]
"""Whether existing files are overwritten."""

PATIENCE = 1.0
"""Seconds of work before a bar is drawn."""


TYPED: ContextVar[tuple[str, ...]] = ContextVar("TYPED", default=())
"""The words of the command that runs, without the program's name."""

WORDED: ContextVar[Callable[[str], str]] = ContextVar("WORDED", default=str)
"""Turns options in a message of Python into those of the command: ``text=...`` is ``--text ...``."""


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True)
class Output:
    """How the result is printed."""

    json: Annotated[bool, Parameter(help="Print the result as JSON.", show_default=False), FIRST] = False
    csv: Annotated[bool, Parameter(help="Print the table as CSV, with all digits.", show_default=False)] = False

    def __post_init__(self) -> None:
        if self.json and self.csv:
            raise AssayError("--json and --csv exclude each other; give one")

    @property
    def as_text(self) -> bool:
        """Whether the result is printed as text; otherwise standard output holds only JSON or CSV."""
        return not (self.json or self.csv)

    def show(
        self, *results: Result, drop: Sequence[str] = (), rows: DataFrame | None = None, width: int | None = None,
        symbol: str | None = None,
    ) -> None:  # fmt: skip
        """Print results in the chosen form.

        ``rows`` replace the rows of a long table; ``width`` is the largest width of a table; ``symbol`` names its
        estimates instead of the result's own symbol.
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
            say(("\n" if i else "") + tables.to_text(shown, width) + "\n\n" + _sentences(result))

    def rows(self, frame: DataFrame) -> None:
        """Print a table."""
        from assay.reporting import tables

        if self.json:
            print_json(frame.to_dicts())
        elif self.csv:
            _print_exact(tables.to_csv(frame))
        else:
            say(tables.to_text(tables.plain(frame)))

    def words(self, result: Any) -> None:
        """Print the summary of a result, without its table."""
        if self.as_text:
            say(_sentences(result))
        else:
            self.show(result)


def _sentences(result: Any) -> str:
    """The summary of a result, wrapped and with the options of the command; its signature is unchanged."""
    from assay.reporting import tables

    worded, cited = WORDED.get(), getattr(result, "signature", None)
    lines = (line if line == cited else worded(line) for line in result.summary().splitlines())
    return tables.wrap_text("\n".join(lines))


def _worded_reasons(frame: DataFrame) -> DataFrame:
    """The table, with the options of the command in its reasons."""
    if "reason" not in frame.columns:
        return frame
    import polars as pl

    return frame.with_columns(pl.col("reason").cast(pl.String).map_elements(WORDED.get(), return_dtype=pl.String))


AS_TEXT = Output()
"""A table and sentences."""


def print_json(found: Any) -> None:
    """Print JSON in letters that standard output can encode."""
    narrow = (sys.stdout.encoding or "utf-8").lower().replace("-", "") != "utf8"
    say(json.dumps(found, ensure_ascii=narrow, indent=2))


def say(text: object = "", end: str = "\n", *, flush: bool = False) -> None:
    """Print text without control characters; JSON keeps its content."""
    put(as_printed(text), end, flush=flush)


def put(text: str, end: str = "\n", *, flush: bool = False) -> None:
    """Print; if the reader has closed the pipe (``| head``), the command goes on, and writes its files."""
    try:
        print(text, end=end, flush=flush)
    except BrokenPipeError:
        _discard_output()


def flush_output() -> None:
    """Write what is left of the standard output, if it still has a reader."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()


def _discard_output() -> None:
    """Discard the rest of the standard output, as its reader has closed the pipe; Python would complain on exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def as_printed(text: object) -> str:
    """See `assay.reporting.tables.printable`."""
    from assay.reporting.tables import printable

    return printable(str(text))


def _print_exact(text: str) -> None:
    """Print CSV, unchanged in files and pipes."""
    put(as_printed(text) if sys.stdout.isatty() else text, "")


def command_line() -> str:
    """The command that runs, as a shell command."""
    return shlex.join(["assay", *TYPED.get()])


def note(line: object) -> None:
    """Print a note on standard error."""
    print(as_printed(line), file=sys.stderr)


def target(
    path: Path | None, *sources: str | Path | None, suffixes: Sequence[str] | None = None, force: bool = False,
    folder: bool = False,
) -> None:  # fmt: skip
    """Refuse, before any work, a file that cannot be written or whose contents would be lost.

    Every command that writes calls this. A file among ``sources``, which it reads, is never overwritten; a file that
    assay did not write is overwritten only with ``force``. Without ``suffixes`` the output is a page.
    """
    from assay.reporting.page import PAGES, refuse_overwriting, writable

    if path is not None:
        writable(path, folder=folder, suffixes=PAGES if suffixes is None else suffixes)
        refuse_overwriting(path, [one for one in sources if one is not None], force=force)


def write_page(out: Path | None, title: str, found: Any, parts: Callable[[Any], Any]) -> None:
    """Write the result as a page, if there is a file for it."""
    if out is not None:
        from assay.reporting.page import page_of

        page = page_of(title, "", parts(found), found.signature, command_line())
        note(f"written to {page.save(out)}")


@contextmanager
def progress_bar(what: str = "", *, patience: float = PATIENCE) -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar on a terminal, for work that takes longer than ``patience`` seconds; None elsewhere.

    The function takes the name of the step, the number of finished steps and their total. Before its first call, the
    bar shows that the command is running.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(as_printed(what)), total=None, visible=False)
        late = threading.Timer(patience, lambda: bar.update(task, visible=True))
        late.daemon = True
        late.start()

        def show(what: str, done: int, steps: int) -> None:
            bar.update(task, description=escape(as_printed(what)), completed=done, total=steps)

        try:
            yield show
        finally:
            late.cancel()


def _whole(results: Sequence[Result]) -> DataFrame:
    """The tables of several results as one, with a column of the judge."""
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


# -- typed values -----------------------------------------------------------------------------------

_LISTS: Mapping[Any, Any] = {int: list[int], float: list[float]}


_NAME = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*(?:,|$)|((?:\([^)]*\)|[^,])*)(?:,|$))')


def commas(_: Any, tokens: Sequence[Any]) -> list[str]:
    """``a,b,c`` as a list; ``icc(a,1)`` is one name, and ``"Smith, Ann"`` in double quotes is another."""
    return [name for token in tokens for name in _names_in(token.value)]


def _names_in(text: str) -> list[str]:
    found = (m[2].strip() if m[1] is None else m[1].replace('""', '"') for m in _NAME.finditer(text))
    return [name for name in found if name]


def typed_list(names: Iterable[Any]) -> str:
    """Names as `commas` reads them."""
    each = [str(name) for name in names]
    return ",".join(name if _names_in(name) == [name] else '"' + name.replace('"', '""') + '"' for name in each)


Names = Annotated[list[str] | None, Parameter(converter=commas, n_tokens=1)]
"""Names separated by commas."""


@dataclass(frozen=True)
class Given:
    """The options of a question on a command line; `options_of` makes the class of a command."""

    known: ClassVar[Mapping[str, tuple[Any, Limits]]] = {}
    required: ClassVar[tuple[str, ...]] = ()
    read: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}

    def options(self) -> dict[str, Any]:
        """The given options as keywords of the question's function, each checked.

        Raises
        ------
        DesignError
            For a value that the settings refuse, or a missing option that has no default.
        """
        for name in self.required:
            if getattr(self, name) is None:
                about = self.known[name][1].help
                raise DesignError(f"{name} is required: {about[:1].lower()}{about[1:]}", option=name)
        found = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not one.default:
                value = self.read[one.name](value) if one.name in self.read else value
                check(one.name, value, *self.known[one.name])
                found[one.name] = value
        return found


NOTHING = Given()
"""The default of a command's parameter ``options``, replaced by those of `options_of`."""


def options_of(row: Command, read: Mapping[str, Callable[[Any], Any]]) -> type[Given]:
    """The options of a command, from its settings; of two options of one name the first counts.

    ``read`` turns the text of an option into the value that the settings take.
    """
    parts, offered, required = typed_fields(settings_of(row), without=row.without, named=row.named, shown=row.shown)
    mappings = {name: _mapping for name, (hint, _) in offered.items() if _mapping_value(hint) is not None}
    about = {"known": offered, "required": required, "read": {**mappings, **read}, "__module__": __name__}
    kind = make_dataclass("Given", parts, bases=(Given,), namespace=about, frozen=True)
    return cast("type[Given]", Parameter(name="*", group=Group(row.heading, sort_key=2))(kind))


def typed_fields(
    sources: Sequence[type[Settings]], *, without: Collection[str] = (), named: Mapping[str, str] = {},
    shown: Mapping[str, str] = {}, kinds: Mapping[str, Any] = {}, repeated: Collection[str] = (),
) -> tuple[list[tuple[str, Any, Any]], dict[str, tuple[Any, Limits]], tuple[str, ...]]:  # fmt: skip
    """Fields of a dataclass that the parser fills, one for each option of some settings.

    Parameters
    ----------
    sources
        The settings; of two options of one name the first counts.
    without
        Options that are left out.
    named, shown
        See `assay.cli.commands.Command`.
    kinds
        Types of options whose own type has no form on a command line.
    repeated
        Options that are given once for each value, because a value can have commas.

    Returns
    -------
    fields, hints and limits by name, names of options without a default
    """
    offered: dict[str, tuple[Any, Limits]] = {}
    parts, required = [], []
    for settings in sources:
        defaults = {f.name: None if f.default is MISSING else f.default for f in fields(settings)}
        for name, (hint, limits) in hints_of(settings).items():
            typed = kinds.get(name) or _typed_kind(hint)
            if name in offered or name in without or limits.hidden or typed is None:
                continue
            offered[name] = (hint, limits)
            if defaults[name] is None and not _optional(hint):
                required.append(name)
            default = shown.get(name, _default(defaults[name]))
            parameter = _parameter(named.get(name, f"--{name.replace('_', '-')}"), hint, typed, limits, default)
            if name in repeated:
                parameter = Parameter(name=parameter.name, help=parameter.help, show_default=default or False)
            # A flag is given if it is not at its default, any other option if it has a value.
            flag = typed is bool
            unset = field(default=defaults[name] if flag else None)
            first = FIRST if limits.first else None
            parts.append((name, Annotated[typed if flag else typed | None, parameter, first], unset))
    return parts, offered, tuple(required)


def settings_of(row: Command) -> list[type[Settings]]:
    """The settings that the options of a command come from."""
    asked = [one.ask for one in row.variants.values()] or ([row.ask] if row.ask else [])
    return [*map(import_named, row.settings)] or [import_named(one).settings for one in asked]


def import_named(place: str) -> Any:
    """The object at ``module:name``."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


# -- from a setting to a parameter ------------------------------------------------------------------


def _typed_kind(hint: Any) -> Any:
    """The type of an option on the command line; None for a type that has no text form, such as a function."""
    members = [m for m in members_of(hint) if m is not type(None)]
    if _mapping_value(hint) is not None:
        return list[_NAME_VALUE]
    if Any in members:
        return str
    for member in members:
        if typing.get_origin(member) in (tuple, list, Sequence, Iterable):
            return _LISTS.get(typing.get_args(member)[0], list[str])
    words = tuple(w for m in members if typing.get_origin(m) is Literal for w in typing.get_args(m))
    if words:
        return Literal[words]
    return next((kind for kind in (str, bool, float, int) if kind in members), None)


def _optional(hint: Any) -> bool:
    """Whether the type includes None."""
    return type(None) in members_of(hint) or hint is Any


def _mapping_value(hint: Any) -> Any:
    """The type of a mapping's values; None if the option is not a mapping from names."""
    found = (typing.get_args(m) for m in members_of(hint) if typing.get_origin(m) is Mapping)
    return next((value for name, value in found if name is str and value is not Any), None)


def _parameter(name: str, hint: Any, typed: Any, limits: Limits, default: str) -> Parameter:
    words = range_words(limits)
    about = limits.help + (f" [range: {words}]" if words and words not in limits.help else "")
    negative = None if default == "True" else ()
    shown = default or False
    if typing.get_origin(typed) is not list:
        return Parameter(name=name, help=about, show_default=shown, negative=negative)
    if _mapping_value(hint) is not None:
        pairs = name_values(name, _mapping_value(hint), column=str in members_of(hint))
        return Parameter(name=name, help=about, show_default=shown, converter=pairs, n_tokens=1)
    # The settings check the words of a list: cyclopts would compare the whole list with each word.
    about += f" [choices: {', '.join(map(str, words_of(hint)))}]" if words_of(hint) else ""
    several = list_parser(typing.get_args(typed)[0])
    return Parameter(name=name, help=about, show_default=shown, converter=several, n_tokens=1)


def list_parser(kind: Any) -> Callable[[Any, Sequence[Any]], list[Any]]:
    """``30,50`` as a list of numbers, ``a,b`` as one of texts."""

    def one(part: str) -> Any:
        try:
            return kind(part) if kind in (int, float) else part
        except ValueError:
            raise ValueError(f"'{part}' is not a {'whole number' if kind is int else 'number'}") from None

    return lambda _, tokens: [one(part) for part in commas(_, tokens)]


_NAME_VALUE: Any = type("name=value", (), {})
"""Type of an option that is a mapping; cyclopts shows its name in the help."""


def _mapping(typed: str | Sequence[tuple[str, Any]]) -> str | dict[str, Any]:
    """Pairs as a mapping; the name of a column unchanged."""
    return typed if isinstance(typed, str) else dict(typed)


def name_values(option: str, kind: Any, *, column: bool = False) -> Callable[[Any, Sequence[Any]], Any]:
    """``o=1-10,r=1,2,3`` as pairs, with ``+`` between the parts of a text; a single name can be a column."""

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
    """A default as text; empty if the help shows none."""
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


# -- options in messages ---------------------------------------------------------------------------

_VALUE = (
    r"""\.\.\.|'[^']*'|"[^"]*"|\[(?:'[^']*'|"[^"]*"|[^\]'"])*\]|\{[^}]*\}|assay\.\w+\([^)]*\)|[\w:+-]+(?:\.[\w:+-]+)*"""
)
_MORE = r"(?:(?: \([^)]*\))?(?:, | or )'[^']*')*"
_KEYWORD = re.compile(rf"(?<![\w'-])(?<!\w\()(?<!--option )(?<!--where )([a-z][a-z_]*)=({_VALUE})({_MORE})")
_CALL = re.compile(r"""assay\.(\w+)\(((?:'[^']*'|"[^"]*"|[^()'"])*)\)""")
_WHERE = re.compile(rf"labels\.where\((\w+)=({_VALUE})\)")
_TWICE = re.compile(r"(--[a-z-]+ (?:'[^']*'|[^\s'(),;]+?))(?: \(\1\)| or \1(?![\w-]))")
"""A message for Python and the command line has an option in both forms, which are equal once it is as typed."""


def as_typed(message: str, typed: Mapping[str, str]) -> str:
    """Python's ``name=value`` in a message as ``--name value``.

    Parameters
    ----------
    message : str
    typed : mapping of keyword to option
        The options of the command, such as ``{"n_resamples": "--n-resamples"}``. Any other keyword that a format's
        reader has becomes ``--option NAME=VALUE``; the rest is unchanged.

    Examples
    --------
    >>> as_typed("choose one with labels.where(criterion=...)", {})
    'choose one with --where criterion=...'
    >>> as_typed("name the judges with judges=['gpt', ...]", {"judges": "--judges"})
    'name the judges with --judges gpt,...'
    >>> as_typed("quick=True fits it without", {"quick": "--quick"})
    '--quick fits it without'
    >>> as_typed("set clusters='talk' (--clusters talk)", {"clusters": "--clusters"})
    'set --clusters talk'
    >>> as_typed("set columns=['Q1[note]', 'Q2']", {"columns": "--columns"})
    "set --columns 'Q1[note],Q2'"
    """
    message = message.replace("labels.where(...)", "--where COLUMN=VALUE")
    message = _WHERE.sub(lambda m: f"--where {m[1]}={_plain(m[2])}", message)
    message = _CALL.sub(lambda m: _arguments(m, typed), message)
    message = _KEYWORD.sub(lambda m: _option(m, typed), message)
    message = _TWICE.sub(r"\1", message)
    return re.sub(
        r"^([a-z_]+)(?= (?:must|is required))|^([a-z]+_[a-z_]+)(?= )", lambda m: typed.get(m[0], m[0]), message
    )


def _arguments(match: re.Match[str], typed: Mapping[str, str]) -> str:
    """A call in Python as the options among its arguments; unchanged if it has none."""
    named = [(m[1], m[2]) for m in _KEYWORD.finditer(match[2]) if m[1] in typed]
    return (
        " ".join(typed[name] if one == "True" else _typed_mapping(typed[name], one) for name, one in named) or match[0]
    )


def _typed_mapping(name: str, value: str) -> str:
    """An option with its value; with a mapping, the option once for each entry: ``--codes 'Y=yes' --codes 'N=no'``."""
    each = re.findall(r"'([^']*)': '([^']*)'", value) if value[:1] == "{" else []
    return " ".join(f"{name} '{key}={one}'" for key, one in each) or f"{name} {_plain(value)}"


def _option(match: re.Match[str], typed: Mapping[str, str]) -> str:
    name, value, more = match[1], _plain(match[2]), match[3].replace("'", "")
    if name == "layout" and value == "wide" and "wide" in typed:
        return typed["wide"]
    if name in typed and value == "True":
        return typed[name]
    if name in typed:
        return _typed_mapping(typed[name], match[2]) + ("" if match[2][:1] == "{" else more)
    return f"--option {name}={value}{more}" if name in _reader_options() else match[0]


def _plain(value: str) -> str:
    """A Python value on a command line: ``['a', 'b']`` is ``a,b`` and ``{'stars': '1-5'}`` is ``'stars=1-5'``."""
    if value[:1] == "{":
        return "'" + re.sub(r"'([^']*)': '([^']*)'", r"\1=\2", value[1:-1]) + "'"
    if value[:1] == "[":
        value = typed_list(part.strip("'\"") for part in re.findall(r"'[^']*'|\"[^\"]*\"|[^,\s]+", value[1:-1]))
    elif value[:1] in ("'", '"'):
        value = value[1:-1]
    return "..." if value.startswith("assay.") else typed_value(value)


def typed_value(value: str) -> str:
    """A value in a shell command: quoted if it has spaces or special characters."""
    return value if re.fullmatch(r"[\w.,:/@%+=()…-]+", value) and "(" not in value else shlex.quote(value)


def _reader_options() -> set[str]:
    """The options of all formats' readers."""
    from assay.data.formats.registry import FORMATS

    return {name for one in FORMATS.values() for name in one.options}
