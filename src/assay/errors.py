"""Exceptions that assay raises.

    AssayError
    ├── DataError      the table: a missing column, a row, a label off the scale, an unknown name
    ├── DesignError    the question does not fit the data: too few annotators, no overlap, repeats
    ├── StudyError     the study folder: study.yaml, its database
    │   └── ChangedStudyError   existing answers would no longer count, and the user has not agreed to that
    ├── JudgeError     a model cannot be queried: invalid key, unknown model, budget spent
    └── MissingExtra   a part of assay that requires an optional extra

Messages give the rule, the finding, and the remedy as the user types it.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["AssayError", "ChangedStudyError", "DataError", "DesignError", "JudgeError", "MissingExtra", "StudyError"]


class AssayError(Exception):
    """Base class of all errors that assay raises for the user's input.

    Attributes
    ----------
    option : str or None
        The option that caused the error, as Python spells it; None if no option did.
    value : object
        The value of that option.
    advised : mapping
        Options of `assay.read` that select the most likely reading; empty if there are none.
    choices : tuple of (str, mapping)
        The readings between which the user can choose, each in words and as options of `assay.read`.
    """

    def __init__(
        self, *said: object, option: str | None = None, value: object = None,
        advised: Mapping[str, Any] | None = None, choices: Sequence[tuple[str, Mapping[str, Any]]] = (),
    ) -> None:  # fmt: skip
        super().__init__(*said)
        self.option, self.value, self.advised = option, value, dict(advised or {})
        self.choices = tuple(choices)


class DataError(AssayError):
    """The table is invalid; the message names the file, row, item or annotator."""


class DesignError(AssayError):
    """The data are valid but cannot answer this question; the message names the missing data."""


class StudyError(AssayError):
    """A study's folder, its ``study.yaml`` or its database cannot be used."""


class ChangedStudyError(StudyError):
    """A change of the study would exclude existing answers, and the user has not agreed to it; nothing was changed.

    ``what`` is the number of answers by question; ``can_keep`` is True if some of them can be kept as answers to the
    same question.
    """

    def __init__(self, what: str, *, can_keep: bool = True) -> None:
        keep = "; changed='same-question' keeps them" if can_keep else ""
        super().__init__(
            f"{what}. Nothing was changed. changed='new-version' excludes them (they stay in the database, and count "
            f"again when the change is undone){keep}"
        )
        self.what, self.can_keep = what, can_keep


class JudgeError(AssayError):
    """A judge cannot be queried at all (key, model, budget); single failed requests are not errors."""


class MissingExtra(AssayError, ImportError):  # noqa: N818 - the name states the condition
    """A part of assay whose libraries are not in the base install."""


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Import ``module``, or raise an error with the command that installs it for this installation."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise _missing_extra(extra, purpose) from error


def require_installed(modules: Iterable[str], extra: str, purpose: str) -> None:
    """As `require`, for modules that are imported later or not at all."""
    for module in modules:
        found = sys.modules[module] if module in sys.modules else importlib.util.find_spec(module)
        if found is None:
            raise _missing_extra(extra, purpose)


PANDAS = ("pandas", "pyarrow")
"""The packages that Polars needs to convert a frame to pandas."""


def require_packages(names: Sequence[str], purpose: str) -> None:
    """Raise an error with the command that installs packages that are not part of an extra, if one is missing."""
    if any(sys.modules[name] is None if name in sys.modules else not importlib.util.find_spec(name) for name in names):
        raise MissingExtra(f"{purpose} requires {' and '.join(names)}: python -m pip install {' '.join(names)}")


def _missing_extra(extra: str, purpose: str) -> MissingExtra:
    return MissingExtra(f"{purpose} needs more than the base install: {install_command(extra)}")


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this installation of assay.

    If assay was installed from a package index, the command names the package. If it was installed from a folder, a
    file or a repository, the command installs from there again, because an index might not have it. If the origin is
    unknown or no longer exists, the command is for a checkout: an index could have another package of this name.
    """
    origin = _origin()
    if origin is None:
        return f'python -m pip install ".[{extra}]" (run it in a checkout of assay\'s repository)'
    source, editable = origin
    named = f"assay[{extra}]"
    if source:
        named = f"assay[{extra}] @ {source}" if "://" in source else f"{_short(source)}[{extra}]"
    return f'python -m pip install {"-e " if editable else ""}"{named}"'


def _origin() -> tuple[str, bool] | None:
    """The folder, file or address from which assay was installed ("" for a package index); and whether editable."""
    import json
    from importlib import metadata
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    checkout = Path(__file__).parents[2]
    if (checkout / "pyproject.toml").is_file():
        return str(checkout), True
    try:
        found = json.loads(metadata.distribution("assay").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return None
    address = str(found.get("url", ""))
    if address.startswith("file:"):
        path = Path(url2pathname(urlsplit(address).path))
        return (str(path), False) if path.exists() else None
    system = found.get("vcs_info", {}).get("vcs")
    return (f"{system}+{address}" if system else address), False


def _short(path: str) -> str:
    return "." if Path(path) == Path.cwd() else path


LEAST_BEGUN = 3
"""Letters from which the beginning of a name suggests the name."""


def unknown(what: str, name: object, known: Iterable[object], where: str = "the table", similarity: float = 0.6) -> str:
    """Return the message for an unknown name, with the known names that it begins, or the nearest."""
    names = [str(k) for k in known if k != "_row"]
    message = f"{what} '{name}' is not in {where}"
    longer = [one for one in names if one.startswith(str(name))] if len(str(name)) >= LEAST_BEGUN else []
    if len(longer) > 1:
        return f"{message}; did you mean one of {listing(longer)}?"
    if close := longer[0] if longer else nearest_name(name, names, similarity):
        return f"{message}; did you mean '{close}'?"
    return f"{message}; it has {listing(names, cut=True)}" if names else f"{message}; it has none"


def nearest_name(name: object, names: Sequence[str], similarity: float = 0.6) -> str | None:
    """Return the name that differs in case only, or the nearest; None if none is near."""
    same = [one for one in names if one.casefold() == str(name).casefold()]
    close = same or difflib.get_close_matches(str(name), names, n=1, cutoff=similarity)
    return close[0] if close else None


def no_attribute(of: object, name: str, advice: str | None) -> AttributeError:
    """Return the error for an attribute that an object does not have, with the one to use, if there is one."""
    hint = "" if advice is None else f"; use .{advice}"
    return AttributeError(f"{type(of).__name__!r} object has no attribute {name!r}{hint}", name=name, obj=of)


def no_judge(study: str, purpose: str) -> str:
    """Return the message for a table without a judge.

    Parameters
    ----------
    study : str
        The folder of the study that the table comes from; empty for other tables.
    purpose : str
        The use of the judge: ``to report on``.
    """
    if study:
        return (
            f"the study '{study}' has no labels of a judge: name its judges in study.yaml, and collect their labels "
            f"with: assay judge {study}"
        )
    return f"the table has no judge {purpose}; name the judges with judges=[...] when reading"


def unknown_judge(name: object, judges: Sequence[str], humans: Sequence[str]) -> str:
    """Return the message for a judge that the table does not have: a human annotator, or an unknown name."""
    if name not in humans:
        return unknown("judge", name, judges, "the judges of the table")
    others = f"; its judges are {listing(judges)}" if judges else ""
    return (
        f"'{name}' is a human annotator of the table{others}. If '{name}' is a model, read the table with "
        f"judges={[*judges, name]}"
    )


def named_column(name: str, item: object, annotator: object, source: str) -> str:
    """Return the message for an annotator whose labels have a column of a table with one row per label."""
    return (
        f"{source}: '{name}' is a column, not one of the annotators in '{annotator}', and each row is one label. Write "
        f"the labels of '{name}' to a second file with one row per item, with the columns '{item}' and '{name}', and "
        "name both files"
    )


LONGEST = 60
"""Characters of a value in a message: more are a text, of which the beginning is enough to recognize it."""


def cut_text(text: str, most: int = LONGEST) -> str:
    """Return the beginning of a long text, with ``…``."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def listing(names: Sequence[object], most: int = 8, *, cut: bool = False) -> str:
    """Return names for a message, shortened: ``a, b, c and 4 more``; ``cut`` shortens values that are long texts."""
    shown = ", ".join(cut_text(str(n)) if cut else str(n) for n in names[:most])
    more = len(names) - most
    return f"{shown} and {more} more" if more > 0 else shown


def counted(n: int, noun: str) -> str:
    """Return a count and its noun: ``1 label``, ``2 labels``; ``1 person``, ``2 people``."""
    return f"{n:,} {noun if n == 1 else plural(noun)}"


_PLURALS = {"person": "people", "criterion": "criteria", "stratum": "strata"}


def plural(noun: str) -> str:
    """Return the plural of a noun, which can be the name of a column: ``criteria``, ``cities``, ``classes``."""
    before, space, last = noun.rpartition(" ")
    if (known := _PLURALS.get(last)) is not None:
        return f"{before}{space}{known}"
    if re.search("[^aeiouAEIOU_]y$", noun):
        return f"{noun[:-1]}ies"
    if re.search("[^siu]s$", noun):
        return noun
    return f"{noun}es" if re.search("(s|x|ch|sh)$", noun) else f"{noun}s"
