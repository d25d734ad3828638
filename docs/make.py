"""Writes the pages that follow from the code, commands.md and reference.md: python docs/make.py.

A new command or public name is on its page by itself; a name from a new package needs a heading in `SECTIONS`.
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
"""Sections of options that many commands take: the word of a link, whose fields they are, a command that has all."""

ALONE = {"repeats"}
"""Fields of these that many commands take without the others: they are in `SEVERAL`."""

TOGETHER = {
    "A page": ("page", ("`--output`, `-o`", "`--force`")),
    "Intervals": ("intervals", ("`--confidence`", "`--n-resamples`", "`--seed`")),
}
"""Sections of options of several commands that most of these take together: the word of a link, and the options."""

SEVERAL, OFTEN = "Several commands", 3
"""The section of further options that this many commands take and describe in the same words."""

SECTIONS = {
    "Reading": ("assay.reading", "assay.looking", "assay.data"),
    "Verdict": ("assay.replacement",),
    "Corrected estimates": ("assay.estimates",),
    "Trained judges": ("assay.training",),
    "Agreement and scales": ("assay.concordance",),
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
    "Verdict": ("assay.replacement.studies", "assay.replacement.studies.Enough"),
    "Text similarity": ("assay.similarity.lexical", "assay.similarity.protocol", "assay.similarity.embeddings"),
    "Estimation": ("assay.estimation",),
}
"""Useful names that are not public."""

COMMANDS_HEAD = """\
# Commands

<!-- Written by docs/make.py; change the commands, not this page. -->

`assay COMMAND --help` shows an example and the options that most people need, `--help-all` every option. `assay
--install-completion` completes them by the tab key in bash, zsh, fish or PowerShell (`--shell` names it): it adds a
line to the shell's startup file and says where.

**Exit status** 0: done as asked; 1: `--fail-under` was not reached, or a run stopped before its end; 2: bad input, and
one line on standard error says what to change. `assay gate` and `assay monitor` have their own. Notes and progress go
to standard error.

`=…` takes a text, `,…` is a list separated by commas, `--seed=0` has the default 0; brackets hold another default, and
ranges other than these: shares and levels lie between 0 and 1, counts and amounts are not negative. A table is written
as .csv, .tsv, .jsonl or .parquet. Options of many commands are described once, in the first sections; *Also* names
them, or links to a whole section. So are `SOURCE` and `STUDY`, where a command says nothing else.
"""

REFERENCE_HEAD = """\
# Reference

<!-- Written by docs/make.py from the public names. -->

Every public name, by task. Coefficients are in `assay.measures`, sample sizes in `assay.plan`, classes of results in
`assay.results`, errors in `assay.errors`, everything else in `assay`. `assay.__version__` is the version.
"""


def commands_page() -> str:
    """Every command: its purpose, an example, its own options, and the names of those that others take too."""
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
        beside = [", ".join(also)] if also else []  # with semicolons between options of different sections
        entries = {n: entry for n, entry in entries.items() if all(entry != said.get(n) for said in shared.values())}
        for i, name in enumerate(dict.fromkeys(earlier[entry] for entry in entries.values() if entry in earlier)):
            names = [_first(n) for n, entry in entries.items() if earlier.get(entry) == name]
            beside.append(f"{'' if i else 'as in '}[{name}](#assay-{name}): {', '.join(names)}")
        alone = [entry for entry in entries.values() if entry not in earlier]
        earlier.update(dict.fromkeys(alone, row.name))
        found += ["\n", *(f"{entry}\n" for entry in alone)] if alone else []
        found += [f"\n*Also* {'; '.join(beside)}.\n"] if beside else []
    return "".join(found)


def _fields(options: type, arguments: Sequence[Any]) -> dict[str, str]:
    """The entries of a command's options that are fields of these settings, by name."""
    fields = set(options.__dataclass_fields__) - ALONE
    return {_names(a): _entry(a) for a in arguments if a.name.lstrip("-").replace("-", "_") in fields}


def _several(shown: Mapping[str, Sequence[Any]], said: set[str]) -> dict[str, str]:
    """What `OFTEN` commands say in the same words, by name; of two of one name the commoner."""
    often = Counter((_names(a), _entry(a)) for arguments in shown.values() for a in arguments)
    shared: dict[str, str] = {}
    for (names, entry), times in often.most_common():
        if times >= OFTEN and entry not in said:
            shared.setdefault(names, entry)
    return dict(sorted(shared.items(), key=lambda one: (one[0].startswith("`-"), one[0])))


def _also(title: str, section: Mapping[str, str], entries: Mapping[str, str]) -> str:
    """Which options of a section a command takes: a link to it where these are all, else their names."""
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
"""The forms of a table, which the head of the page has once."""

_UNGIVEN = re.compile(r"[;,] ([^;,]+(?:, [^;,]+)?) when not given\.$")
"""What holds without an option, at the end of what it is for."""


def _entry(argument: Any) -> str:
    """One line of a list: how an option is typed, its default and range, what it is for."""
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
        # A default shows of which kind a value is, except one word of several and where it is described.
        if default and not words and not last and " " not in default:
            value, default = f"={default}{'' if ',' in default else more}", ""
        else:
            value = f"=…{more}" if takes == "TEXT" else f" {takes}{more}"
    brackets = ", ".join(filter(None, (default, _range(notes.get("range", "")))))
    first, _, others = _names(argument).partition("`, ")
    named = f"{first.rstrip('`')}{value}`" + (f", {others}" if others else "")
    return f"- {named}{f' ({brackets})' if brackets else ''}: {about}"


def _range(words: str) -> str:
    """A range in signs: >0, <0.5; nothing where it only says what the head of the page says of shares and amounts."""
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
"""Every page that is written, and what makes its text."""

if __name__ == "__main__":
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make(), encoding="utf-8")
        print(FOLDER / name)
