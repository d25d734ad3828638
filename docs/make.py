"""Write the pages that are generated from the code, commands.md and reference.md: python docs/make.py.

A new command or public name is added to its page automatically; a name from a new package requires a heading in
`SECTIONS`.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import assay
from assay.cli.app import all_commands, visible_arguments
from assay.cli.commands import COMMANDS
from assay.cli.labels import LabelOptions
from assay.cli.output import Output
from assay.replacement.panel import RuleSettings

FOLDER = Path(__file__).parent

DOORS = (assay, assay.measures, assay.plan, assay.results, assay.errors)
"""The modules with public names."""

COMMON = {
    "Reading the labels": ("labels", LabelOptions, "agreement"),
    "Output": ("output", Output, "agreement"),
    "The alternative annotator test": ("test", RuleSettings, "alt-test"),
}
"""Sections of options of many commands: the text of the link, the class with the fields, a command with all of them."""

ALONE = {"repeats"}
"""Fields of these that are in `SEVERAL` instead, because many commands have only them."""

TOGETHER = {
    "A page": ("page", ("`--output`, `-o`", "`--force`")),
    "Intervals": ("intervals", ("`--confidence`", "`--n-resamples`", "`--seed`")),
}
"""Sections of options that several commands have together: the text of the link, and the options."""

SEVERAL, OFTEN = "Several commands", 3
"""The section of further options that at least this many commands describe in the same words."""

SECTIONS = {
    "Reading": ("assay.reading", "assay.looking", "assay.data"),
    "Verdict": ("assay.replacement",),
    "Corrected estimates": ("assay.estimates",),
    "Model labels": ("assay.judging",),
    "Trained judges": ("assay.training",),
    "Agreement and scales": ("assay.concordance",),
    "Opinions and panels": ("assay.variation",),
    "Pairwise votes": ("assay.preference",),
    "Rater models": ("assay.psychometrics.raters",),
    "Odd-one-out choices": ("assay.ideas",),
    "Generalizability": ("assay.psychometrics",),
    "Planning and simulation": ("assay.planning", "assay.simulation"),
    "Text similarity": ("assay.similarity",),
    "Reports": ("assay.verdict",),
    "Errors": ("assay.errors",),
}
"""Headings of the reference, and the packages whose public names are below them."""

FURTHER = {
    "Trained judges": ("assay.training.rater.SavedRater", "assay.training.train.Attribution"),
    "Reading": ("assay.data.annotations.Reading", "assay.data.scales.parse_scale"),
    "Verdict": ("assay.replacement.studies", "assay.replacement.studies.SampleSize"),
    "Text similarity": ("assay.similarity.lexical", "assay.similarity.protocol", "assay.similarity.embeddings"),
    "Estimation": ("assay.estimation",),
}
"""Useful names that are not public."""

COMMANDS_HEAD = """\
# Command reference

<!-- Written by docs/make.py; change the commands, not this page. -->

`assay COMMAND --help` shows an example and the main options, `--help-all` every option. Options of reading can be kept
in a file: `assay look FILE --write reading.yaml` saves them, and `--reading reading.yaml` uses them. `assay
--install-completion` installs completion by the tab key in bash, zsh, fish or PowerShell (`--shell` names it).

**Exit status** 0: success; 1: `--fail-under` was not reached, or a run stopped early; 2: bad input, with one line on
standard error that says what to change (`assay look` prints it with the columns). `assay gate` and `assay monitor` have
their own. Notes and progress are printed on standard error.

`=…` takes a text, `,…` is a list separated by commas, `--seed=0` has the default 0. Brackets show another default, and
ranges other than these: shares and levels are between 0 and 1, counts and amounts are not negative. A table is written
as .csv, .tsv, .jsonl or .parquet. Options of many commands are described once, in the first sections; *Also* names
them, or links to a whole section.
"""

REFERENCE_HEAD = """\
# API reference

<!-- Written by docs/make.py from the public names. -->

Every public name, by task. Coefficients are in `assay.measures`, sample sizes in `assay.plan`, classes of results in
`assay.results`, errors in `assay.errors`, everything else in `assay`. `assay.__version__` is the version.
"""


def commands_page() -> str:
    """Every command: its purpose, an example, its own options, and links to the options that it shares."""
    apps = all_commands()
    shown = {name: visible_arguments(name) for name in apps}
    shared = {title: _fields(options, shown[command]) for title, (_, options, command) in COMMON.items()}
    several = _several(shown, {entry for section in shared.values() for entry in section.values()})
    shared |= {title: {name: several.pop(name) for name in names} for title, (_, names) in TOGETHER.items()}
    shared[SEVERAL] = several
    found = [COMMANDS_HEAD]
    for title, section in shared.items():
        found += [f"\n## {title}\n\n", *(f"{entry}\n" for entry in section.values())]
    earlier: dict[str, str] = {}
    for row in (row for rows in COMMANDS.values() for row in rows):
        needs = f"# needs {row.needs}\n" if row.needs else ""
        found.append(f"\n## assay {row.name}\n\n{_purpose(apps[row.name].help)}\n\n```sh\n{needs}{row.line}\n```\n")
        entries = {_names(a): _entry(a) for a in shown[row.name]}
        also = [words for title, section in shared.items() if (words := _also(title, section, entries))]
        links = [", ".join(also)] if also else []  # joined by semicolons
        entries = {n: entry for n, entry in entries.items() if all(entry != said.get(n) for said in shared.values())}
        for i, name in enumerate(dict.fromkeys(earlier[entry] for entry in entries.values() if entry in earlier)):
            names = [_first(n) for n, entry in entries.items() if earlier.get(entry) == name]
            links.append(f"{'' if i else 'as in '}[{name}](#assay-{name.replace(' ', '-')}): {', '.join(names)}")
        alone = [entry for entry in entries.values() if entry not in earlier]
        earlier.update(dict.fromkeys(alone, row.name))
        found += ["\n", *(f"{entry}\n" for entry in alone)] if alone else []
        found += [f"\n*Also* {'; '.join(links)}.\n"] if links else []
    return "".join(found)


def _fields(options: type, arguments: Sequence[Any]) -> dict[str, str]:
    """The entries of a command's options that are fields of these settings, by name."""
    fields = {f"--{name.replace('_', '-')}" for name in set(options.__dataclass_fields__) - ALONE}
    return {_names(a): _entry(a) for a in arguments if a.name in fields}


def _several(shown: Mapping[str, Sequence[Any]], said: set[str]) -> dict[str, str]:
    """Options that `OFTEN` commands describe in the same words, by name; of two of one name the more frequent."""
    often = Counter((_names(a), _entry(a)) for arguments in shown.values() for a in arguments)
    shared: dict[str, str] = {}
    for (names, entry), times in often.most_common():
        if times >= OFTEN and entry not in said:
            shared.setdefault(names, entry)
    return dict(sorted(shared.items(), key=lambda one: (one[0].startswith("`-"), one[0])))


def _also(title: str, section: Mapping[str, str], entries: Mapping[str, str]) -> str:
    """The options of a section that a command has: a link to the section if it has all, else their names."""
    taken = [names for names, entry in section.items() if entries.get(names) == entry]
    assert title not in COMMON or len(taken) in (0, len(section)), f"some of {title} and not all: {taken}"
    if title in {**COMMON, **TOGETHER} and len(taken) == len(section):
        return f"[{(COMMON.get(title) or TOGETHER[title])[0]}](#{title.lower().replace(' ', '-')})"
    return ", ".join(_first(names) for names in taken if names.startswith("`-"))


def _first(names: str) -> str:
    return names.partition(", ")[0]


def reference_page() -> str:
    """Return the API reference: every public name by task, and `FURTHER` names."""
    found = [REFERENCE_HEAD]
    for heading in dict.fromkeys([*SECTIONS, *FURTHER]):
        paths = [path for path in _paths() if _heading(path) == heading]
        packages = SECTIONS.get(heading, ())
        paths.sort(key=lambda path: next(i for i, package in enumerate(packages) if path.startswith(f"{package}.")))
        found += [f"\n## {heading}\n", *(f"\n::: {path}\n" for path in [*paths, *FURTHER.get(heading, ())])]
    return "".join(found)


def _paths() -> list[str]:
    """Return where each public function and class is defined."""
    values = [getattr(door, name) for door in DOORS for name in door.__all__]
    return [f"{value.__module__}.{value.__name__}" for value in values if callable(value)]


def _heading(path: str) -> str:
    for heading, packages in SECTIONS.items():
        if any(path.startswith(f"{package}.") for package in packages):
            return heading
    raise LookupError(f"{path} has no heading in SECTIONS of docs/make.py")


def _purpose(text: str) -> str:
    """The first line of a docstring, names in double backticks as code."""
    return text.partition("\n")[0].strip().replace("``", "`")


def _names(argument: Any) -> str:
    if argument.index is not None:
        return f"`{argument.field_info.names[0].upper()}`"
    return ", ".join(f"`{name}`" for name in argument.names)


_FORMS = re.compile(r"(?:: \.csv, \.tsv, \.jsonl or \.parquet| \(\.csv, \.jsonl, \.parquet\))(?=[.,])")
"""The formats of a table, which the head of the page lists."""

_UNGIVEN = re.compile(r"[;,] ([^;,]+(?:, [^;,]+)?) when not given\.$")
"""The default at the end of an option's description."""


def _entry(argument: Any) -> str:
    """One line of a list: an option, its default, its range and its description."""
    about = " ".join((argument.parameter.help or "").split())
    notes = dict(re.findall(r" \[(range|choices): ([^\]]*)\]", about))
    about = re.sub(r" \[(range|choices): [^\]]*\]", "", about).replace("<", r"\<")
    words = argument.get_choices() or tuple(filter(None, notes.get("choices", "").split(", ")))
    takes = "|".join(f"'{word}'" if " " in word else word for word in words) or _kind(argument.hint)
    more = ",…" if _is_list(argument) and takes else ""
    about = re.sub(r",? separated by commas", "", about) if more else about
    about = _FORMS.sub("", about)
    if argument.parameter.env_var:
        about += " Also the environment variable " + ", ".join(f"`{name}`" for name in argument.parameter.env_var) + "."
    default, value = _default(argument), ""
    last = None if default else _UNGIVEN.search(about)
    if last:
        default, about = last[1], f"{about[: last.start()]}."
    if argument.index is None and takes:
        # A default shows the type of a value, except if it is one of several words or is described.
        if default and not words and not last and " " not in default:
            value, default = f"={default}{'' if ',' in default else more}", ""
        else:
            value = f"=…{more}" if takes == "TEXT" else f" {takes}{more}"
    brackets = ", ".join(filter(None, (default, _range(notes.get("range", "")))))
    first, _, others = _names(argument).partition("`, ")
    named = f"{first.rstrip('`')}{value}`" + (f", {others}" if others else "")
    return f"- {named}{f' ({brackets})' if brackets else ''}: {about}"


def _range(words: str) -> str:
    """A range as >0, <0.5; empty for the ranges of shares and amounts in the head of the page."""
    if words in ("at least 0", "at least 1", "above 0", "0 to 1", "above 0 and below 1"):
        return ""
    for word, sign in {"at least ": "≥", "at most ": "≤", "above ": ">", "below ": "<", " and ": ", "}.items():
        words = words.replace(word, sign)
    return re.sub(r"^(\d+) to (\d+)$", r"\1–\2", words)


def _default(argument: Any) -> str:
    shown = argument.show_default
    if shown is True or callable(shown):
        shown = argument.field_info.default
    if shown is False or shown is None or shown == "":
        return ""
    if str(shown) == "True":
        return "on"
    return str(shown)


def _is_list(argument: Any) -> bool:
    return argument.parameter.converter is not None and get_origin(_plain(argument.hint)) is list


def _plain(hint: Any) -> Any:
    """A type without None."""
    parts = [part for part in get_args(hint) if part is not type(None)]
    return parts[0] if type(None) in get_args(hint) and parts else hint


def _kind(hint: Any) -> str:
    """Return the placeholder of a value, as in ``--seed INTEGER``, or an empty text for a flag."""
    hint = _plain(hint)
    if get_origin(hint) in (list, tuple):
        hint = get_args(hint)[0]
    return {bool: "", int: "INTEGER", float: "NUMBER", Path: "PATH"}.get(hint, "TEXT")


PAGES = {"commands.md": commands_page, "reference.md": reference_page}
"""Every generated page, and the function that returns its text."""

if __name__ == "__main__":
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make(), encoding="utf-8")
        print(FOLDER / name)
