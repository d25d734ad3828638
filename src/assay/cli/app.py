"""The command line: which commands there are, how they start, how they end.

Exit status: 0 when the command did what was asked, 1 where ``--fail-under`` was not reached or a run stopped before its
end, 2 on bad input, with one line on standard error and never a traceback, 130 when interrupted.

A new command is one row of `assay.cli.commands`.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from cyclopts import App, CycloptsError, Parameter
from cyclopts.group import Group

from assay._version import __version__
from assay.cli.commands import BY_NAME, COMMANDS, Command
from assay.cli.output import TYPED, as_typed, settings_of
from assay.errors import AssayError


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
    if given[:2] in (["plan", "d-study"], ["plan", "triplets"], ["plan", "labels"]):
        given = given[1:]
    # A lone hyphen is standard input, which the parser would take for an option.
    before = ["", *given]
    given = ["/dev/stdin" if w == "-" and not b.startswith("-") else w for b, w in zip(before, given, strict=False)]
    try:
        _any_letters()
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
        _stop(_as_typed(str(error), given))
    except CycloptsError as error:
        _stop(_as_typed(_renamed(given) or str(error), given))
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


def all_commands() -> dict[str, App]:
    """Every command by name, its function imported, so that it knows what it does."""
    return {name: app[name] for name in BY_NAME}


@cache
def typed_options(command: str) -> dict[str, str]:
    """The options of a command as they are typed, by the keyword that Python calls them."""
    arguments = app[command].assemble_argument_collection()
    return {a.field_info.names[0]: a.name for a in arguments if a.name.startswith("--")}


def _as_typed(message: str, given: Sequence[str]) -> str:
    """A message in the words of the command that was given."""
    from assay.cli.labels import NAMES

    command = next((word for word in given if word in BY_NAME), None)
    if command is None:
        return as_typed(message, NAMES)
    typed = typed_options(command)
    # Of the options that say how labels are read, a command has all or none.
    known_names = NAMES if "split_item" in typed else {}
    return as_typed(message, {**known_names, **typed, **({"judge": typed["only"]} if "judge" in typed else {})})


def _renamed(given: Sequence[str]) -> str | None:
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


def _any_letters() -> None:
    """Let no letter stop a command: UTF-8 into files and pipes, a question mark where a terminal lacks the letter."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(**({"errors": "replace"} if stream.isatty() else {"encoding": "utf-8"}))


def _stop(message: str) -> None:
    print(f"assay: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
