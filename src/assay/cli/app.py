"""The command line: which commands there are, how they start, how they end.

Exit status: 0 when the command did what was asked, 1 where ``--fail-under`` was not reached or a run stopped before its
end, 2 on bad input, with one line on standard error and never a traceback, 130 when interrupted.

A new command is one function, in `assay.cli.questions` or `assay.cli.studies`, and one row of `COMMANDS`.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cyclopts import App, CycloptsError, Parameter
from cyclopts.group import Group

from assay._version import __version__
from assay.cli.output import TYPED
from assay.errors import AssayError


class Command(NamedTuple):
    """A command: what is typed, the function, an example."""

    name: str
    function: str
    example: str


_QUESTIONS = Group("Questions", sort_key=1)
_STUDIES = Group("Studies and files", sort_key=2)

COMMANDS: dict[Group, tuple[Command, ...]] = {
    _QUESTIONS: (
        Command("demo", "assay.cli.questions:demo", "assay demo"),
        Command(
            "report",
            "assay.cli.questions:report",
            "assay report annotations/ --annotators crowd --output report.html",
        ),
        Command(
            "alt-test",
            "assay.cli.questions:alt_test",
            "assay alt-test labels.csv --judges gpt-4o,llama --only gpt-4o --annotators crowd",
        ),
        Command(
            "agreement",
            "assay.cli.questions:agreement",
            "assay agreement labels.csv --item id --annotator worker --label stars --scale 1-5",
        ),
        Command(
            "scales",
            "assay.cli.questions:scales",
            "assay scales answers.csv --scale-column range --judges gpt-4o,llama",
        ),
        Command(
            "separability",
            "assay.cli.questions:separability",
            "assay separability outputs.jsonl --annotator model --label text --repeat k --scale text --humans m1,m2",
        ),
        Command("ratings", "assay.cli.questions:ratings", "assay ratings battles.csv --output leaderboard.html"),
        Command("elo", "assay.cli.questions:elo", "assay elo votes.csv --scale preference --separability separability"),
        Command(
            "consistency",
            "assay.cli.questions:consistency",
            "assay consistency votes.csv --scale preference --repeat repeat --by separability",
        ),
        Command(
            "ideas",
            "assay.cli.questions:ideas",
            "assay ideas my-study --measures words,rouge-l,embeddings:all-MiniLM-L6-v2 --output ideas.html",
        ),
        Command(
            "plan",
            "assay.cli.questions:plan",
            "assay plan --n-items 30,50,100,200 --annotators crowd --judge-noise 0.2",
        ),
        Command(
            "triplets",
            "assay.cli.questions:triplets",
            "assay triplets notes.csv --document lesson --name note --floor 5 -o triplets.csv",
        ),
        Command(
            "g-study",
            "assay.cli.questions:g_study",
            "assay g-study lessons.csv --design 'r x (o:i)' --object i --facets r=annotator,o=lesson,i=teacher",
        ),
        Command(
            "d-study",
            "assay.cli.questions:d_study",
            "assay d-study lessons.csv --design 'r x (o:i)' --object i --facets r=annotator,o=lesson,i=teacher "
            "--levels r=1-3 --levels o=1-10",
        ),
        Command(
            "raters",
            "assay.cli.questions:raters",
            "assay raters labels.csv --judges gpt-4o,llama --group dialect --quick",
        ),
        Command("rasch", "assay.cli.questions:rasch", "assay rasch labels.csv --judges gpt-4o,llama --scale 1-5"),
    ),
    _STUDIES: (
        Command("init", "assay.cli.studies:init", "assay init my-study"),
        Command("judge", "assay.cli.studies:judge", "assay judge my-study --dry-run"),
        Command("replies", "assay.cli.studies:replies", "assay replies my-study --missing"),
        Command(
            "invite",
            "assay.cli.studies:invite",
            "assay invite my-study 'Ana Ruiz' ben --attribute expertise=nurse",
        ),
        Command("serve", "assay.cli.studies:serve", "assay serve my-study"),
        Command(
            "exclude",
            "assay.cli.studies:exclude",
            "assay exclude my-study ben --reason 'failed 4 of 5 checks'",
        ),
        Command("erase", "assay.cli.studies:erase", "assay erase my-study ben"),
        Command(
            "import",
            "assay.cli.studies:import_",
            "assay import export.json --option users=users.json -o labels.csv",
        ),
        Command(
            "export",
            "assay.cli.studies:export",
            "assay export labels.csv predictions.json --to label-studio --judges gpt-4o",
        ),
    ),
}
"""Every command, in the order of the help. The functions are imported when they are used."""


def _app(said: Mapping[str, str] | None = None) -> App:
    """All commands; ``said`` is what the list of them says of each function, where none is imported to be asked."""
    plainly = Parameter(negative=())
    made = App(
        name="assay",
        version=__version__,
        help="May this LLM judge stand in for human annotators, when no human label is gold?",
        help_format="plaintext",
        default_parameter=plainly,
    )
    for group, commands in COMMANDS.items():
        for place, (name, function, example) in enumerate(commands):
            made.command(
                function,
                name=name,
                group=group,
                sort_key=place,
                help=None if said is None else said[function],
                help_epilogue=f"Example: {example}",
                default_parameter=plainly,
            )
    made.register_install_completion_command(
        help="Let the shell complete commands and options: bash, zsh, fish, PowerShell.", group=_STUDIES
    )
    return made


app = _app()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; every error that a person can mend is one line, and exit status 2."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    TYPED.set(tuple(given))
    if given[:2] in (["plan", "d-study"], ["plan", "triplets"]):
        given = given[1:]
    try:
        _any_letters()
        # The list of commands imports none of them: nobody waits a second to read it.
        asked = _app(_first_lines()) if not given or given[0] in ("--help", "-h") else app
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
        _stop(str(error))
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


def _first_lines() -> dict[str, str]:
    """What each command does, from the first line of its function, read as text."""
    found = {}
    for module in ("questions", "studies"):
        tree = ast.parse(Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8"))
        functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
        for node in functions:
            found[f"assay.cli.{module}:{node.name}"] = (ast.get_docstring(node) or "").partition("\n")[0]
    return found


def all_commands() -> dict[str, App]:
    """Every command by name, its function imported, so that it knows what it does."""
    return {row.name: app[row.name] for rows in COMMANDS.values() for row in rows}


@cache
def typed_options(command: str) -> dict[str, str]:
    """The options of a command as they are typed, by the keyword that Python calls them."""
    arguments = app[command].assemble_argument_collection()
    return {a.field_info.names[0]: a.name for a in arguments if a.name.startswith("--")}


def _as_typed(message: str, given: Sequence[str]) -> str:
    """A message in the words of the command that was given."""
    from assay.cli.labels import NAMES
    from assay.cli.options import as_typed

    known = {row.name for rows in COMMANDS.values() for row in rows}
    command = next((word for word in given if word in known), None)
    if command is None:
        return as_typed(message, NAMES)
    typed = typed_options(command)
    # Of the options that say how labels are read, a command has all or none.
    known_names = NAMES if "split_item" in typed else {}
    return as_typed(message, {**known_names, **typed, **({"judge": typed["only"]} if "judge" in typed else {})})


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
