"""What a caller may want to catch.

    AssayError
    ├── DataError      the table: a column, a row, a label off the scale, a name that is not there
    ├── DesignError    the question does not fit the data: too few annotators, no overlap, repeats
    ├── StudyError     the study folder: study.yaml, its database
    │   └── ChangedStudyError   answers would no longer count, and nobody has said that they may not
    ├── JudgeError     a model cannot be asked: dead key, unknown model, budget spent
    └── MissingExtra   a part of assay that needs more than the base install

Messages say what is wrong, where, and what would mend it.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["AssayError", "ChangedStudyError", "DataError", "DesignError", "JudgeError", "MissingExtra", "StudyError"]


class AssayError(Exception):
    """Anything assay refuses, with a message a person can act on.

    Attributes
    ----------
    option : str or None
        The option that it is about, as Python spells it, where it is about one.
    value : object
        What was given for it.
    advised : mapping
        Options of `assay.read` with which the likelier of several readings is chosen; empty where none is.
    """

    def __init__(
        self, *said: object, option: str | None = None, value: object = None,
        advised: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(*said)
        self.option, self.value, self.advised = option, value, dict(advised or {})


class DataError(AssayError):
    """The table is not what it should be: names the file, row, item or annotator."""


class DesignError(AssayError):
    """The data are sound but cannot answer this question: says what is missing."""


class StudyError(AssayError):
    """A study's folder, its ``study.yaml`` or its store cannot be used."""


class ChangedStudyError(StudyError):
    """After this change of the study some answers would no longer count, and nobody agreed to it; nothing was changed.

    ``what`` says how many answers of which question; ``can_keep`` whether some may go on counting if somebody says
    that it is the same question still.
    """

    def __init__(self, what: str, *, can_keep: bool = True) -> None:
        keep = "; changed='same-question' goes on counting them" if can_keep else ""
        super().__init__(
            f"{what}. Nothing was changed. changed='new-version' takes them out of count (they stay in the store, and "
            f"count again when the change is taken back){keep}"
        )
        self.what, self.can_keep = what, can_keep


class JudgeError(AssayError):
    """A judge cannot be asked at all (key, model, budget); single failed replies are not errors."""


class MissingExtra(AssayError, ImportError):  # noqa: N818 - it reads as what it is
    """A part of assay whose libraries are not in the base install."""


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Import ``module`` or say how to get it, with a command that works for this installation."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise _missing_extra(extra, purpose) from error


def require_installed(modules: Iterable[str], extra: str, purpose: str) -> None:
    """As `require`, of modules that are imported later, where they are used, or not at all."""
    for module in modules:
        found = sys.modules[module] if module in sys.modules else importlib.util.find_spec(module)
        if found is None:
            raise _missing_extra(extra, purpose)


def _missing_extra(extra: str, purpose: str) -> MissingExtra:
    return MissingExtra(f"{purpose} needs more than the base install: {install_command(extra)}")


def install_command(extra: str) -> str:
    """The command that adds an extra to assay as it is installed here.

    An assay from a package index is named; one from a folder or file on this machine, or from a repository, comes from
    there again, because no index may know it. If its origin is not known or not there any more, the command is for a
    checkout: an index may have another package of this name.
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
    """The folder, file or address that assay was installed from, "" for a package index; and whether in place."""
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


def unknown(what: str, name: object, known: Iterable[object], where: str = "the table") -> str:
    """Words for a name that is not there, with the nearest that is."""
    names = [str(k) for k in known if k != "_row"]
    message = f"{what} '{name}' is not in {where}"
    close = difflib.get_close_matches(str(name), names, n=1)
    if close:
        return f"{message}; did you mean '{close[0]}'?"
    return f"{message}; it has {listing(names)}" if names else f"{message}; it has none"


def listing(names: Sequence[object], most: int = 8) -> str:
    """``a, b, c and 4 more``: names for a message, never a page of them."""
    shown = ", ".join(str(n) for n in names[:most])
    more = len(names) - most
    return f"{shown} and {more} more" if more > 0 else shown


def counted(n: int, noun: str) -> str:
    """``1 label``, ``2 labels``; ``1 person``, ``2 people``."""
    several = "people" if noun == "person" else f"{noun}s"
    return f"{n:,} {noun if n == 1 else several}"
