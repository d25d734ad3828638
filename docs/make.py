"""Writes the pages that follow from the code, commands.md and reference.md: python docs/make.py.

A new command or public name is on its page by itself; a name from a new package needs a heading in `SECTIONS`.
"""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args, get_origin

import assay
from assay.cli.app import all_commands, visible_arguments
from assay.cli.commands import COMMANDS
from assay.cli.labels import LabelOptions
from assay.cli.output import Output

FOLDER = Path(__file__).parent

COMMON = {"Reading the labels": LabelOptions, "Output": Output}
"""Options that many commands take, and where they are said."""

SEVERAL, OFTEN = "Several commands", 3
"""The section of options that this many commands take and say in the same words."""

SECTIONS = {
    "Reading": ("assay.reading", "assay.looking", "assay.data"),
    "May the judge stand in for a person?": ("assay.replacement",),
    "After a yes: what may we report?": ("assay.estimates",),
    "A judge that you train": ("assay.training",),
    "Do annotators agree, and on which scale best?": ("assay.concordance",),
    "Which is better, and can anyone tell?": ("assay.preference",),
    "Who is severe, who is erratic, who is unfair?": ("assay.psychometrics.raters",),
    "Do two texts carry the same ideas?": ("assay.ideas",),
    "How far do scores carry?": ("assay.psychometrics",),
    "How many are enough?": ("assay.planning", "assay.simulation"),
    "Similarities of texts": ("assay.similarity",),
    "Reports": ("assay.verdict",),
    "Errors": ("assay.errors",),
}
"""Headings of the reference, and the packages whose public names stand there."""

BESIDE = {
    "A judge that you train": ("assay.training.rater.SavedRater", "assay.training.train.Attribution"),
    "Reading": ("assay.data.annotations.Reading", "assay.data.scales.parse_scale"),
    "May the judge stand in for a person?": ("assay.replacement.studies", "assay.replacement.studies.Enough"),
    "Similarities of texts": ("assay.similarity.lexical", "assay.similarity.protocol", "assay.similarity.embeddings"),
    "Estimation": ("assay.estimation",),
}
"""What is no public name and is of use all the same."""

COMMANDS_HEAD = """\
# Commands

<!-- Written by docs/make.py; change the commands, not this page. -->

Every command prints what it found and exits with 0. It exits with 1 where `--fail-under` was not reached or a run
stopped before its end, and with 2 on bad input, with one line on standard error. Notes go to standard error as well, so
that `--json`, `--csv` and `--latex` leave nothing but the answer on standard output. A bar is drawn on a terminal, for
work that takes longer than a second.

`python -m assay` is the same as `assay`. `assay COMMAND --help` shows the options that most people need,
`--help-all` what is below. `assay --install-completion` lets
bash, zsh, fish or PowerShell complete commands and options with the tab key: it writes a script where the shell looks
for one, adds a line to the shell's startup file, and says where; `--shell` names a shell that it does not find itself.

"""

REFERENCE_HEAD = """\
# Reference

<!-- Written by docs/make.py from assay.__all__. -->

Every public name, by question. `import assay` brings them all, and imports each when it is first used;
`assay.__version__` is the version.
"""


def commands_page() -> str:
    """Every command: what it does, its options, an example."""
    apps = all_commands()
    shown = {name: visible_arguments(name) for name in apps}
    own = {name: [a for a in arguments if _common(a) is None] for name, arguments in shown.items()}
    several = _several_say(own.values())
    found = [COMMANDS_HEAD]
    for group, rows in COMMANDS.items():
        found.append(f"- **{group}**: " + ", ".join(f"[{row.name}](#assay-{row.name})" for row in rows) + "\n")
    for row in (row for rows in COMMANDS.values() for row in rows):
        needs = f"# needs {row.needs}\n" if row.needs else ""
        found.append(f"\n## assay {row.name}\n\n{_prose(apps[row.name].help)}\n\n```sh\n{needs}{row.line}\n```\n")
        alone = [a for a in own[row.name] if _row(a) not in several]
        found.append("\n" + _table(map(_row, alone)) if alone else "")
        beside = [f"`{a.names[0]}`" for a in own[row.name] if _row(a) in several]
        shared = dict.fromkeys(name for name in map(_common, shown[row.name]) if name is not None)
        links = [f"the options of {' and '.join(map(_link, shared))}"] if shared else []
        links += [f"{', '.join(beside)} of {_link(SEVERAL)}"] if beside else []
        found.append(f"\nBeside these: {', and '.join(links)}.\n" if links else "")
    found.append(f"\n## {SEVERAL}\n\n" + _table(several))
    of_labels = shown["agreement"]
    found += [f"\n## {title}\n\n" + _table(_row(a) for a in of_labels if _common(a) == title) for title in COMMON]
    return "".join(found)


def _several_say(commands: Iterable[list[Any]]) -> list[str]:
    """The rows that `OFTEN` commands share, by name; of two rows of one name the commoner, and none of a place."""
    often = Counter((a.names[0], _row(a)) for arguments in commands for a in arguments if a.index is None)
    shared: dict[str, str] = {}
    for (name, row), times in often.most_common():
        if times >= OFTEN:
            shared.setdefault(name, row)
    return [shared[name] for name in sorted(shared)]


def _link(title: str) -> str:
    return f"[{title.lower()}](#{title.lower().replace(' ', '-')})"


def reference_page() -> str:
    """Every public name, by question, and what is of use beside them."""
    found = [REFERENCE_HEAD]
    for heading in dict.fromkeys([*SECTIONS, *BESIDE]):
        paths = [_path(name) for name in assay.__all__ if name != "__version__" and _heading(name) == heading]
        packages = SECTIONS.get(heading, ())
        paths.sort(key=lambda path: next(i for i, package in enumerate(packages) if path.startswith(f"{package}.")))
        found += [f"\n## {heading}\n", *(f"\n::: {path}\n" for path in [*paths, *BESIDE.get(heading, ())])]
    return "".join(found)


def _path(name: str) -> str:
    value = getattr(assay, name)
    return f"{value.__module__}.{value.__name__}"


def _heading(name: str) -> str:
    path = _path(name)
    for heading, packages in SECTIONS.items():
        if any(path.startswith(f"{package}.") for package in packages):
            return heading
    raise LookupError(f"assay.{name} comes from {path}, which has no heading in SECTIONS of docs/make.py")


def _common(argument: Any) -> str | None:
    """The section that says an option for all commands."""
    name = argument.name.lstrip("-").replace("-", "_")
    for title, options in COMMON.items():
        if name in options.__dataclass_fields__ and argument.parameter.group[0].name == title:
            return title
    return None


def _prose(text: str) -> str:
    """A docstring before its sections, names in double backticks as code."""
    return re.split(r"\n\s*Parameters\n\s*-+", text)[0].strip().replace("``", "`")


def _table(rows: Iterable[str]) -> str:
    return "\n".join(["| option | takes | default | what |", "|---|---|---|---|", *rows]) + "\n"


def _row(argument: Any) -> str:
    place = argument.index is not None
    typed = f"`{argument.field_info.names[0].upper()}`" if place else ", ".join(f"`{name}`" for name in argument.names)
    about, takes = _taken(argument)
    cells = (typed, takes, _default(argument), about)
    return re.sub(r"(?<=\|) +(?=\|)", " ", f"| {' | '.join(cells)} |")


def _default(argument: Any) -> str:
    shown = argument.show_default
    if shown is True or callable(shown):
        shown = argument.field_info.default
    if shown is False or shown is None:
        return "required" if argument.required else ""
    return str(shown) if " " in str(shown) else f"`{shown}`"


def _taken(argument: Any) -> tuple[str, str]:
    """What an option is for, and what it takes, with its range."""
    about = argument.parameter.help or ""
    notes = dict(re.findall(r" \[(range|choices): ([^\]]*)\]", about))
    about = re.sub(r" \[(range|choices): [^\]]*\]", "", about).replace("|", r"\|").replace("<", r"\<")
    words = argument.get_choices() or tuple(filter(None, notes.get("choices", "").split(", ")))
    takes = ", ".join(f"`{word}`" for word in words) or _kind(argument.hint)
    if _several(argument) and "commas" not in about:
        takes += ", separated by commas"
    if argument.parameter.env_var:
        about += " Also the environment variable " + ", ".join(f"`{name}`" for name in argument.parameter.env_var) + "."
    return about, takes + (f", {notes['range']}" if "range" in notes else "")


def _several(argument: Any) -> bool:
    return argument.parameter.converter is not None and get_origin(_plain(argument.hint)) is list


def _plain(hint: Any) -> Any:
    """A type without None."""
    parts = [part for part in get_args(hint) if part is not type(None)]
    return parts[0] if type(None) in get_args(hint) and parts else hint


def _kind(hint: Any) -> str:
    hint = _plain(hint)
    if get_origin(hint) in (list, tuple):
        words = {int: "whole numbers", float: "numbers"}
        return words.get(get_args(hint)[0], "texts")
    return {bool: "", int: "whole number", float: "number", Path: "path"}.get(hint, "text")


PAGES = {"commands.md": commands_page, "reference.md": reference_page}
"""Every page that is written, and what makes its text."""

if __name__ == "__main__":
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make(), encoding="utf-8")
        print(FOLDER / name)
