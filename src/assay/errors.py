"""What a caller may want to catch.

    AssayError
    ├── DataError      the table: a column, a row, a label off the scale, a name that is not there
    ├── DesignError    the question does not fit the data: too few annotators, no overlap, repeats
    ├── StudyError     the study folder: study.yaml, its database
    ├── JudgeError     a model cannot be asked: dead key, unknown model, budget spent
    └── MissingExtra   a part of assay that needs more than the base install

Messages say what is wrong, where, and what would mend it.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Sequence
from types import ModuleType


class AssayError(Exception):
    """Anything assay refuses, with a message a person can act on."""


class DataError(AssayError):
    """The table is not what it should be: names the file, row, item or annotator."""


class DesignError(AssayError):
    """The data are sound but cannot answer this question: says what is missing."""


class StudyError(AssayError):
    """A study's folder, its ``study.yaml`` or its store cannot be used."""


class JudgeError(AssayError):
    """A judge cannot be asked at all (key, model, budget); single failed replies are not errors."""


class MissingExtra(AssayError, ImportError):  # noqa: N818 - it reads as what it is
    """A part of assay whose libraries are not in the base install."""


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Import ``module`` or say how to get it: ``pip install "assay[extra]"``."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(f'{purpose} needs more than the base install: pip install "assay[{extra}]"') from error


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
    """``1 label``, ``2 labels``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
