"""The command line: which commands there are, how they start, how they end.

Exit status: 0 when the command did what was asked, 1 where ``--fail-under`` was not reached or a run stopped before its
end, 2 on bad input, with one line on standard error and never a traceback, 130 when interrupted.

A new command is one row of `assay.cli.commands`.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
import textwrap
import typing
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from cyclopts import App, Argument, CycloptsError, MissingArgumentError, Parameter
from cyclopts.exceptions import UnusedCliTokensError
from cyclopts.group import Group

from assay._version import __version__
from assay.cli.commands import BY_NAME, COMMANDS, Command
from assay.cli.output import FIRST, TYPED, WORDED, as_typed, note, settings_of
from assay.errors import AssayError, listing


def _app(said: Callable[[Command], str] | None = None) -> App:
    """All commands; ``said`` is what the list of them says of each, where none is imported to be asked."""
    plainly = Parameter(negative=())
    made = App(
        name="assay",
        version=__version__,
        help="May this LLM judge stand in for human annotators, when no human label is gold?",
        help_format="plaintext",
        default_parameter=plainly,
    )
    groups = [Group(title, sort_key=place) for place, title in enumerate(COMMANDS, 1)]
    for group, rows in zip(groups, COMMANDS.values(), strict=True):
        for place, row in enumerate(rows):
            made.command(
                row.leads_to,
                name=row.name,
                group=group,
                sort_key=place,
                help=None if said is None else said(row),
                help_epilogue=f"Example: {row.line}",
                default_parameter=plainly,
            )
    made.register_install_completion_command(
        help="Let the shell complete commands and options: bash, zsh, fish, PowerShell.", group=groups[-1]
    )
    return made


app = _app()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; every error that a person can mend is one line, and exit status 2."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    TYPED.set(tuple(given))
    WORDED.set(lambda message: _command_words(message, given) if "=" in message else message)
    if given[:2] in (["plan", "d-study"], ["plan", "triplets"], ["plan", "labels"]):
        given = given[1:]
    # A lone hyphen is standard input, which the parser would take for an option.
    before = ["", *given]
    given = ["/dev/stdin" if w == "-" and not b.startswith("-") else w for b, w in zip(before, given, strict=False)]
    try:
        _any_letters()
        if (row := _asks_for_help(given)) is not None:
            print(short_help(row))
            sys.exit(0)
        given = ["--help" if word == ALL else word for word in given]
        # The list of commands imports none of them: nobody waits a second to read it.
        asked = _app(_first_line) if not given or given[0] in ("--help", "-h") else app
        status = asked(given, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # Whoever reads has read enough. What is left in the buffer goes nowhere, or Python complains at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except AssayError as error:
        _stop(_command_words(str(error), given))
    except CycloptsError as error:
        _stop(_command_words(_new_name(given) or _places(error) or str(error), given))
    except OSError as error:
        _stop(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except Exception as error:
        if os.environ.get("ASSAY_TRACEBACK"):
            raise
        _stop(
            f"this is a mistake of assay's, not yours: {type(error).__name__}: {error} "
            "(ASSAY_TRACEBACK=1 shows where; please report it)"
        )
    sys.exit(status if isinstance(status, int) else 0)


def _first_line(row: Command) -> str:
    """What a command does: of a function, the first line of its docstring, read as text."""
    if row.does:
        return row.does
    module, _, function = row.run.partition(":")
    tree = _sources(module.rpartition(".")[2])
    found = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function)
    return (ast.get_docstring(found) or "").partition("\n")[0]


@cache
def _sources(module: str) -> ast.Module:
    return ast.parse(Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8"))


# -- help in two levels ---------------------------------------------------------------------------------

ALL = "--help-all"
"""What is typed for every option of a command; ``--help`` shows those that are marked as `FIRST`."""

_ORDER = {"Reading the labels": 1, "Output": 2}
"""Where the groups of options stand; the question's own are before them."""

_WIDTH, _NAMES = 80, 24
"""Columns of a usual terminal, and of those the ones for the names of options."""


def _asks_for_help(given: Sequence[str]) -> Command | None:
    """The command whose short help is asked for."""
    named = bool(given) and given[0] in BY_NAME and any(word in ("--help", "-h") for word in given[1:])
    return BY_NAME[given[0]] if named and ALL not in given else None


def short_help(row: Command) -> str:
    """What a command does, an example, and the options that most people need; ``--help-all`` has the others."""
    arguments = visible_arguments(row.name)
    places = [one for one in arguments if one.index is not None]
    options = [one for one in arguments if one.index is None]
    own = [one for one in options if _heading(one) == "Parameters"]
    marked = [one for one in options if one not in own and FIRST in typing.get_args(one.field_info.annotation)]
    marked.sort(key=lambda one: _ORDER.get(_heading(one), 0))
    first = [*own, *marked]
    usage = " ".join(["assay", row.name, *(_place(one) for one in places), "[OPTIONS]"])
    lines = [f"Usage: {usage}", "", *textwrap.wrap((app[row.name].help or "").partition("\n")[0], _WIDTH), ""]
    lines += ["Example:", *textwrap.wrap(row.line, _WIDTH, initial_indent="  ", subsequent_indent="    ",
                                         break_on_hyphens=False, break_long_words=False)]  # fmt: skip
    lines += ["", *(line for one in [*places, *first] for line in _entry(one))]
    left = len(options) - len(first)
    more = f"{left} more options: assay {row.name} {ALL}" if left else f"Choices and defaults: assay {row.name} {ALL}"
    return "\n".join([*lines, "", more])


def _heading(argument: Argument) -> str:
    """The title under which an option stands."""
    groups = argument.parameter.group
    first = groups if isinstance(groups, Group) else next(iter(groups or ()), "")
    return first if isinstance(first, str) else first.name


def _place(argument: Argument) -> str:
    name = argument.field_info.names[0].upper()
    several = argument.field_info.kind is inspect.Parameter.VAR_POSITIONAL
    return f"{name}..." if several else name if argument.required else f"[{name}]"


def _entry(argument: Argument) -> list[str]:
    """An option, what it is for, and its words where they are few."""
    name = _place(argument) if argument.index is not None else ", ".join(argument.names)
    about = (argument.parameter.help or "").partition(" [")[0]
    choices = argument.get_choices() or ()
    about += f" [{', '.join(choices)}]" if 0 < len(choices) < 5 else ""
    wrapped = textwrap.wrap(about, _WIDTH - _NAMES - 2) or [""]
    head = f"  {name}".ljust(_NAMES + 2)
    if len(name) > _NAMES - 2:
        return [head.rstrip(), *(" " * (_NAMES + 2) + line for line in wrapped)]
    return [head + wrapped[0], *(" " * (_NAMES + 2) + line for line in wrapped[1:])]


def all_commands() -> dict[str, App]:
    """Every command by name, its function imported, so that it knows what it does."""
    return {name: app[name] for name in BY_NAME}


_PARAMETER = re.compile(r"^(\w+)\n((?: {4}.*\n?)+)", flags=re.M)
"""A parameter in a docstring: its name, and what is said of it."""


@cache
def visible_arguments(command: str) -> tuple[Argument, ...]:
    """What a command takes, as its help has it.

    Only what is not in settings has its words in the docstring; the parser's way to them reads the sources of all
    settings, which is three quarters of a short help's time.
    """
    shown = tuple(one for one in app[command].assemble_argument_collection() if one.show)
    own = {one.field_info.name: one for one in shown if not one.keys and not one.parameter.help}
    for name, about in _PARAMETER.findall(inspect.getdoc(app[command].default_command) or ""):
        if name in own:
            own[name].parameter = Parameter.combine(own[name].parameter, Parameter(help=textwrap.dedent(about).strip()))
    return shown


@cache
def typed_options(command: str) -> dict[str, str]:
    """The options of a command as they are typed, by the keyword that Python calls them."""
    arguments = app[command].assemble_argument_collection()
    return {a.field_info.names[0]: a.name for a in arguments if a.name.startswith("--")}


def _command_words(message: str, given: Sequence[str]) -> str:
    """A message in the words of the command that was given."""
    from assay.cli.labels import NAMES

    command = next((word for word in given if word in BY_NAME), None)
    if command is None:
        return as_typed(message, NAMES)
    typed = typed_options(command)
    # Of the options that say how labels are read, a command has all or none.
    known_names = NAMES if "split_item" in typed else {}
    return as_typed(message, {**known_names, **typed, **({"judge": typed["only"]} if "judge" in typed else {})})


def _new_name(given: Sequence[str]) -> str | None:
    """Where an option has another word today: which."""
    row = next((BY_NAME[word] for word in given if word in BY_NAME), None)
    if row is None:
        return None
    for option in (word.partition("=")[0] for word in given if word.startswith("--")):
        for settings in settings_of(row):
            today = settings.renamed.get(option.removeprefix("--").replace("-", "_"))
            if today is not None:
                return f"{option} is now {today}"
    return None


def _places(error: CycloptsError) -> str | None:
    """Where a file is not named, or one too many is: what is missing, or not taken."""
    command = next(iter(error.command_chain or ()), "")
    if isinstance(error, UnusedCliTokensError):
        return f"{command} has no place for {listing(error.unused_tokens or ())}; see assay {command} --help"
    if isinstance(error, MissingArgumentError) and error.argument is not None and not error.argument.tokens:
        missing = next((one for one in visible_arguments(command) if one.names == error.argument.names), error.argument)
        if missing.index is not None:
            about = (missing.parameter.help or "").partition("\n")[0].rstrip(".")
            return f"{command} needs {_place(missing)}: {about[:1].lower()}{about[1:]}; see assay {command} --help"
    return None


def _any_letters() -> None:
    """Let no letter stop a command: UTF-8 into files and pipes, a question mark where a terminal lacks the letter."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(**({"errors": "replace"} if stream.isatty() else {"encoding": "utf-8"}))


def _stop(message: str) -> None:
    note(f"assay: {' '.join(message.split())}")
    sys.exit(2)


if __name__ == "__main__":
    main()
