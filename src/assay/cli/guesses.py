"""Answers to wrong guesses: earlier names of commands and options, and the names that other tools use.

A guess is answered with the name that does it in that command, or with a sentence; without either it is refused and
nothing is suggested. A name that is in no table gets the nearest name of the command, if it is a near one.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Collection, Mapping, Sequence

from assay.cli.commands import BY_NAME, FAMILIES

RENAMED: Mapping[str, str] = {
    "elo": "ratings --model elo",
    "rasch": "raters --model rasch",
    "strength": "consistency --measure strength",
    "sweep": "separability --sweep",
    "labels": "plan labels",
    "triplets": "plan triplets",
    "d-study": "plan d-study",
    "validate": "plan validate",
    "plan": "plan alt-test",
    "replies": "study responses",
    "status": "study status",
    "split": "study split",
    "backup": "study backup",
    "restore": "study restore",
    "record": "study record",
    "adjudicated": "study adjudicated",
    "invite": "people invite",
    "links": "people links",
    "pay": "people pay",
    "exclude": "people exclude",
    "erase": "people erase",
}
"""Earlier names of commands, with the names of today."""

COMMANDS: Mapping[str, str] = {
    "altest": "alt-test",
    "alttest": "alt-test",
    "alt_test": "alt-test",
    "test": "alt-test",
    "doctor": "look",
    "check": "look",
    "kappa": "agreement",
    "icc": "agreement",
    "alpha": "agreement",
    "leaderboard": "ratings",
    "bradley-terry": "ratings",
    "power": "plan alt-test",
    "sample-size": "plan alt-test",
    "mfrm": "raters --model rasch",
    "hrm": "raters",
    "severity": "raters",
    "annotate": "serve",
    "compare": "report",
    "gstudy": "g-study",
    "dstudy": "plan d-study",
    "run": "judge",
    "responses": "study responses",
    "help": "--help",
    "version": "--version",
}
"""Names that people try first for a command."""

FILES_ARE_RECOGNISED = "Separators and encodings are recognised; check the result with: assay look FILE"

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "--eps": ("--epsilon",),
    "--margin": ("--epsilon",),
    "--html": ("--output",),
    "--out": ("--output",),
    "--output-dir": ("--output",),
    "--metric": ("--score", "--coefficients", "--measure", "--measures"),
    "--bootstrap": ("--n-resamples",),
    "--n-boot": ("--n-resamples",),
    "--n-bootstrap": ("--n-resamples",),
    "--rater": ("--annotator",),
    "--raters": ("--humans",),
    "--people": ("--humans",),
    "--human": ("--humans",),
    "--id": ("--item",),
    "--id-col": ("--item",),
    "--ci": ("--confidence",),
    "--config": ("--reading",),
    "--on-missing": ("--missing",),
    "--open": (),
    "--verbose": (),
    "-v": ("--verbose",),
    "--quiet": (),
    "-q": ("--quiet",),
    "--limit": (),
    "--jobs": (),
    "--yes": ("--force",),
    "--dry-run": (),
    "--n-items": (),
    "--n": ("--n-items",),
    "--items": ("--n-items",),
    "--clusters": ("--object",),
}
"""Options that people try first, with the options that do it; the first that a command has is suggested, if any."""

SENTENCES: Mapping[str, str] = {
    "--sep": FILES_ARE_RECOGNISED,
    "--delimiter": FILES_ARE_RECOGNISED,
    "--encoding": FILES_ARE_RECOGNISED,
    "--excel": "Name the spreadsheet itself; --sheet chooses one of its sheets",
    "--language": "Set language: in study.yaml",
    "--latex": "Use --csv, or to_dict() and table in Python",
}
"""Options that no command has, with the way to do it."""

EARLIER: Mapping[str, str] = {
    "--next": "--next-pairs",
}
"""Earlier names of options, with the names of today."""

_FILE = re.compile(
    r"^(?!\w+://)\S.*\.(?:csv|tsv|txt|xlsx|xls|ods|jsonl?|parquet|arrow|feather|yaml|yml|sav|dta)$", re.I
)
"""The name of a file in the place of a command."""

NEAR = 0.8
"""Least similarity of a suggested name. At difflib's default of 0.6, a wrong name is often suggested."""


def answer_to_command(words: Sequence[str]) -> str | None:
    """The answer to a command line that begins with no command; None for a group of commands and for --help.

    Examples
    --------
    >>> answer_to_command(["elo"])
    'assay elo is now assay ratings --model elo'
    >>> answer_to_command(["kappa", "labels.csv"])
    'Unknown command "kappa". Did you mean assay agreement?'
    """
    if not words or words[0].startswith("-"):
        return None
    first, rest = words[0], list(words[1:])
    if first in FAMILIES and (not rest or rest[0] in ("--help", "-h", "--help-all")):
        return None
    if first in FAMILIES and not (first in RENAMED and rest[0].startswith("-")):
        return _unknown_in_family(first, rest[0])
    if first in RENAMED:
        now = f"assay {RENAMED[first]}"
        example = f"; run: {now} {shlex.join(rest)}" if rest and rest[0] not in ("--help", "-h", "--help-all") else ""
        return f"assay {first} is now {now}{example}"
    if _FILE.search(first):
        return (
            f"A command line begins with a command; to see what a file supports, run: assay look {shlex.quote(first)}"
        )
    guess = COMMANDS.get(first.lower()) or _nearest(first, [*BY_NAME.names, *FAMILIES, *RENAMED])
    guess = RENAMED.get(guess or "", guess)
    return f'Unknown command "{first}".' + (f" Did you mean assay {guess}?" if guess else " See assay --help")


def _unknown_in_family(family: str, word: str) -> str:
    known = [name.partition(" ")[2] for name in BY_NAME.names if name.startswith(f"{family} ")]
    near = _nearest(word, known)
    hint = f"Did you mean assay {family} {near}?" if near else f"It has {', '.join(known)}"
    return f'Unknown command "{family} {word}". {hint}'


_NO_FILE = re.compile(
    r"(?P<said>the file or folder '(?P<word>[^']+)' does not exist"
    r"|[\w -]+ does not accept (?P<further>[^,;]+)[^;]*)(?:;|$)"
)
_LISTS = frozenset({"--judges", "--humans", "--columns", "--exclude", "--label"})
"""Options with names that are separated by commas."""


def answer_to_list(message: str, given: Sequence[str]) -> str | None:
    """The answer to a list of names with spaces, whose second name was treated as a file; None for other messages.

    Examples
    --------
    >>> answer_to_list("the file or folder 'b' does not exist", ["report", "x.csv", "--judges", "a", "b"])
    "the file or folder 'b' does not exist; names of --judges are separated by commas: --judges a,b"
    """
    missing = _NO_FILE.match(message)
    word = "" if missing is None else missing["word"] or missing["further"]
    at = list(given).index(word) if word in given else 0
    begin = next((k for k in range(at - 1, 0, -1) if given[k].startswith("--")), 0)
    if missing is None or at - begin < 2 or given[begin] not in _LISTS:
        return None
    end = next((k for k in range(at, len(given)) if given[k].startswith("-")), len(given))
    names = ",".join(given[begin + 1 : end])
    return f"{missing['said']}; names of {given[begin]} are separated by commas: {given[begin]} {names}"


def answer_to_option(option: str, known: Collection[str]) -> str:
    """The answer to an option that a command does not have; ``known`` are those that it has.

    Examples
    --------
    >>> answer_to_option("--eps", ["--epsilon", "--seed"])
    'Unknown option: --eps. Did you mean --epsilon?'
    >>> answer_to_option("--open", ["--option"])
    'Unknown option: --open.'
    """
    unknown = f"Unknown option: {option}."
    if option in EARLIER and EARLIER[option] in known:
        return f"{option} is now {EARLIER[option]}"
    if option in SENTENCES:
        return f"{unknown} {SENTENCES[option]}"
    if option in OPTIONS:
        found = next((one for one in OPTIONS[option] if one in known), None)
    else:
        found = _nearest(option, known)
    return f"{unknown} Did you mean {found}?" if found else unknown


def _nearest(word: str, known: Collection[str]) -> str | None:
    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=NEAR)), None)
