"""The command line: how a command starts and how it ends.

Exit status: 0 for success, 1 if ``--fail-under`` was not reached or a run stopped early, 2 for bad input (with one line
on standard error and no traceback), 130 after an interrupt.

To add a command, add a row to `assay.cli.commands`.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import textwrap
import typing
from collections.abc import Sequence
from functools import cache

from cyclopts import (
    App,
    Argument,
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    Parameter,
    UnknownOptionError,
)
from cyclopts.exceptions import UnusedCliTokensError
from cyclopts.group import Group

from assay._version import __version__
from assay.cli.commands import BY_NAME, COMMANDS, FAMILIES, Command
from assay.cli.guesses import answer_to_command, answer_to_list, answer_to_option
from assay.cli.output import FIRST, TYPED, WORDED, as_typed, flush_output, note, put, settings_of
from assay.errors import AssayError, listing

PROGRAM = "Test whether an LLM judge can replace human annotators."


def _app() -> App:
    """All commands; none is imported before it is used."""
    plainly = Parameter(negative=())
    made = App(name="assay", version=__version__, help=PROGRAM, help_format="plaintext", default_parameter=plainly)
    for name, does in FAMILIES.items():
        made.command(App(name=name, help=does, help_format="plaintext"))
    for row in BY_NAME.values():
        _add(made, row)
    made.register_install_completion_command(
        help="Install shell completion of commands and options (bash, zsh, fish, PowerShell)."
    )
    return made


def _add(made: App, row: Command) -> None:
    """Add a command, to its group if it has one."""
    first, _, second = row.name.partition(" ")
    parser, name = (made[first], second) if second else (made, first)
    if name not in parser:
        parser.command(
            row.leads_to,
            name=name,
            help=row.does,
            help_epilogue=f"Example: {row.line}",
            default_parameter=Parameter(negative=()),
        )


app = _app()


def command_in(words: Sequence[str]) -> Command | None:
    """The command that a command line begins with."""
    name = " ".join(words[: 1 + (words[0] in FAMILIES)]) if words else ""
    return BY_NAME[name] if name in BY_NAME or name in BY_NAME.further else None


def app_of(name: str) -> App:
    """The parser of a command, by its name."""
    found = app
    for word in name.split():
        found = found[word]
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; an error that the user can fix is one line, with exit status 2."""
    typed = given = list(sys.argv[1:] if arguments is None else arguments)
    row: Command | None = None
    TYPED.set(tuple(given))
    WORDED.set(lambda message: _command_words(message, row) if "=" in message else message)
    # A hyphen alone is standard input; the parser would treat it as an option.
    before = ["", *given]
    given = ["/dev/stdin" if w == "-" and not b.startswith("-") else w for b, w in zip(before, given, strict=False)]
    try:
        _any_letters()
        row = command_in(given)
        if row is None and (answer := answer_to_command(typed)) is not None:
            _stop(answer)
        if row is not None and row.name not in BY_NAME:
            _add(app, row)
        if (screen := _screen(given, row)) is not None:
            put(screen)
            flush_output()
            sys.exit(0)
        given = ["--help" if word == ALL else word for word in given]
        status = app(given, exit_on_error=False, print_error=False, result_action="return_value")
        flush_output()
    except KeyboardInterrupt:
        sys.exit(130)
    except AssayError as error:
        _stop(answer_to_list(str(error), given) or _command_words(str(error), row), apart=True)
    except CycloptsError as error:
        said = _new_name(given, row) or _guess(error) or _value(error) or _places(error) or str(error)
        _stop(answer_to_list(said, given) or _command_words(said, row))
    except OSError as error:
        _stop(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except Exception as error:
        if os.environ.get("ASSAY_TRACEBACK"):
            raise
        _stop(
            f"internal error in assay: {type(error).__name__}: {error} "
            "(please report it; ASSAY_TRACEBACK=1 shows the traceback)"
        )
    sys.exit(status if isinstance(status, int) else 0)


# -- help in two levels ---------------------------------------------------------------------------------

ALL = "--help-all"
"""Shows every option of a command; ``--help`` shows those that are marked as `FIRST`."""

_ORDER = {"Reading the labels": 1, "Output": 2}
"""The order of the groups of options; the question's own come before them."""

_WIDTH, _NAMES, _COMMANDS = 80, 24, 14
"""Columns of a usual terminal, and of the names of options."""


def _screen(given: Sequence[str], row: Command | None) -> str | None:
    """The help that a command line asks for, unless it is that of all options."""
    asks = any(word in ("--help", "-h") for word in given)
    if not given or given[0] in ("--help", "-h"):
        return first_screen()
    if given[0] in FAMILIES and (len(given) == 1 or given[1] in ("--help", "-h", ALL)):
        return family_screen(given[0])
    return short_help(row) if row is not None and asks and ALL not in given else None


def first_screen() -> str:
    """The list of commands, by task; the commands of a group share one entry."""
    lines = ["Usage: assay COMMAND [OPTIONS]", "", PROGRAM]
    for title, rows in COMMANDS.items():
        lines += ["", title]
        for name in dict.fromkeys(row.name.partition(" ")[0] for row in rows if not row.further):
            inside = [row.name.partition(" ")[2] for row in rows if row.name.startswith(f"{name} ")]
            about = f"{FAMILIES[name]} [{' | '.join(inside)}]" if inside else BY_NAME[name].does
            lines += _line(name, about, _COMMANDS)
    further = [row.name for rows in COMMANDS.values() for row in rows if row.further]
    lines += ["", f"Further commands: {', '.join(further)}"]
    if BY_NAME.further:
        lines += ["", "From other packages"]
        lines += [line for name in BY_NAME.further for line in _line(name, _plugin_does(name), _COMMANDS)]
    more = "assay COMMAND --help shows an example and the main options; assay --version, --install-completion."
    return "\n".join([*lines, "", *textwrap.wrap(more, _WIDTH, break_on_hyphens=False)])


def _plugin_does(name: str) -> str:
    """What the command of an installed package does, or why it cannot be used: the help is always printed."""
    try:
        return BY_NAME.plugin(name).does
    except AssayError as error:
        return str(error)


def family_screen(family: str) -> str:
    """The commands that share a first word."""
    does = {name: row.does for name, row in BY_NAME.items()}
    does |= {name: _plugin_does(name) for name in BY_NAME.further}
    inside = {name.partition(" ")[2]: about for name, about in does.items() if name.startswith(f"{family} ")}
    lines = [line for name, about in inside.items() for line in _line(name, about, _COMMANDS)]
    return "\n".join([f"Usage: assay {family} COMMAND [OPTIONS]", "", FAMILIES[family], "", *lines])


def _line(name: str, about: str, column: int) -> list[str]:
    """A name with its text in a second column; a long name has its own line."""
    wrapped = textwrap.wrap(about, _WIDTH - column - 2, break_on_hyphens=False) or [""]
    head, indent = f"  {name}".ljust(column + 2), " " * (column + 2)
    if len(name) > column - 2:
        return [head.rstrip(), *(indent + line for line in wrapped)]
    return [head + wrapped[0], *(indent + line for line in wrapped[1:])]


def short_help(row: Command) -> str:
    """The purpose of a command, an example and its main options; ``--help-all`` shows the others."""
    arguments = visible_arguments(row.name)
    places = [one for one in arguments if one.index is not None]
    options = [one for one in arguments if one.index is None]
    own = [one for one in options if _heading(one) == "Parameters"]
    marked = [one for one in options if one not in own and FIRST in typing.get_args(one.field_info.annotation)]
    marked.sort(key=lambda one: _ORDER.get(_heading(one), 0))
    first = [*own, *marked]
    usage = " ".join(["assay", row.name, *(_place(one) for one in places), "[OPTIONS]"])
    lines = [f"Usage: {usage}", "", *textwrap.wrap(row.does, _WIDTH), ""]
    lines += ["Example:", *textwrap.wrap(row.line, _WIDTH, initial_indent="  ", subsequent_indent="    ",
                                         break_on_hyphens=False, break_long_words=False)]  # fmt: skip
    lines += ["", *(line for one in [*places, *first] for line in _entry(one))]
    left = len(options) - len(first)
    more = f"{left} more options: assay {row.name} {ALL}" if left else f"Choices and defaults: assay {row.name} {ALL}"
    return "\n".join([*lines, "", more])


def _heading(argument: Argument) -> str:
    """The heading of an option."""
    groups = argument.parameter.group
    first = groups if isinstance(groups, Group) else next(iter(groups or ()), "")
    return first if isinstance(first, str) else first.name


def _place(argument: Argument) -> str:
    name = argument.field_info.names[0].upper()
    several = argument.field_info.kind is inspect.Parameter.VAR_POSITIONAL
    return f"{name}..." if several else name if argument.required else f"[{name}]"


def _entry(argument: Argument) -> list[str]:
    """An option, its help, and its choices if they are few."""
    name = _place(argument) if argument.index is not None else ", ".join(argument.names)
    about = (argument.parameter.help or "").partition(" [")[0]
    choices = argument.get_choices() or ()
    about += f" [{', '.join(choices)}]" if 0 < len(choices) < 5 else ""
    return _line(name, about, _NAMES)


def all_commands() -> dict[str, App]:
    """Every command by name."""
    return {name: app_of(name) for name in BY_NAME}


_PARAMETER = re.compile(r"^(\w+)\n((?: {4}.*\n?)+)", flags=re.M)
"""A parameter in a docstring: its name and description."""


@cache
def visible_arguments(command: str) -> tuple[Argument, ...]:
    """The arguments of a command that its help shows.

    Only arguments that are not settings are described in the docstring. The parser's own reading of docstrings reads
    the sources of all settings, which is three quarters of the time of a short help.
    """
    shown = tuple(one for one in app_of(command).assemble_argument_collection() if one.show)
    own = {one.field_info.name: one for one in shown if not one.keys and not one.parameter.help}
    for name, about in _PARAMETER.findall(inspect.getdoc(app_of(command).default_command) or ""):
        if name in own:
            own[name].parameter = Parameter.combine(own[name].parameter, Parameter(help=textwrap.dedent(about).strip()))
    return shown


@cache
def typed_options(command: str) -> dict[str, str]:
    """The options of a command by their names in Python."""
    arguments = app_of(command).assemble_argument_collection()
    return {a.field_info.names[0]: a.name for a in arguments if a.name.startswith("--")}


def _command_words(message: str, row: Command | None) -> str:
    """A message with the options of the command that runs."""
    from assay.cli.labels import NAMES

    if row is None:
        return as_typed(message, NAMES)
    typed = typed_options(row.name)
    # A command has all of the options of reading, or none.
    known_names = NAMES if "split_item" in typed else {}
    return as_typed(message, {**known_names, **typed, **({"judge": typed["only"]} if "judge" in typed else {})})


def _new_name(given: Sequence[str], row: Command | None) -> str | None:
    """The new name of a renamed option of the command's settings."""
    if row is None:
        return None
    for option in (word.partition("=")[0] for word in given if word.startswith("--")):
        for settings in settings_of(row):
            today = settings.renamed.get(option.removeprefix("--").replace("-", "_"))
            if today is not None:
                number = f"--n-{option.removeprefix('--')}"
                also = f", and their number {number}" if number in typed_options(row.name).values() else ""
                return f"{option} is now {today}{also}"
    return None


def _guess(error: CycloptsError) -> str | None:
    """The answer to an option that the command does not have."""
    if not isinstance(error, UnknownOptionError):
        return None
    command = " ".join(error.command_chain or ())
    known = [name for one in visible_arguments(command) for name in one.names] if command_in(command.split()) else []
    return answer_to_option((error.token.keyword or error.token.value).partition("=")[0], known)


def _value(error: CycloptsError) -> str | None:
    """The answer to a value that is not a number, or to an option without its value."""
    if isinstance(error, CoercionError) and error.msg is None and error.token is not None:
        kind = {int: "a whole number", float: "a number"}.get(error.target_type or object)
        if kind is not None and error.token.keyword is not None:
            number = error.token.value.replace(",", ".")
            comma = f"; write {number}" if re.fullmatch(r"-?\d*,\d+", error.token.value) else ""
            return f"{error.token.keyword} must be {kind}; got '{error.token.value}'{comma}"
    if isinstance(error, MissingArgumentError) and error.keyword is not None:
        return f"{error.keyword} requires a value; see assay {' '.join(error.command_chain or ())} --help"
    return None


def _places(error: CycloptsError) -> str | None:
    """The file that is missing from the command line, or the words that the command does not accept."""
    command = " ".join(error.command_chain or ())
    if isinstance(error, UnusedCliTokensError):
        return f"{command} does not accept {listing(list(error.unused_tokens or ()))}; see assay {command} --help"
    if isinstance(error, MissingArgumentError) and error.argument is not None and not error.argument.tokens:
        missing = next((one for one in visible_arguments(command) if one.names == error.argument.names), error.argument)
        if missing.index is not None:
            about = (missing.parameter.help or "").partition("\n")[0].rstrip(".")
            return f"{command} requires {_place(missing)}: {about[:1].lower()}{about[1:]}; see assay {command} --help"
    return None


def _any_letters() -> None:
    """Print any letter: UTF-8 to files and pipes; a question mark if the terminal does not have the letter."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(**({"errors": "replace"} if stream.isatty() else {"encoding": "utf-8"}))


def _stop(message: str, *, apart: bool = False) -> None:
    """Print a message and end with 2. Its lines are joined, except for problems and answers to a question."""
    lines = [" ".join(line.split()) for line in message.splitlines()]
    note("assay: " + ("\n  " if apart else " ").join(filter(None, lines)))
    sys.exit(2)


if __name__ == "__main__":
    main()
