"""What a command does where a change of the study takes answers out of count: it says so, and asks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

from cyclopts import Parameter
from cyclopts.group import Group

from assay.cli.output import note
from assay.errors import AssayError, ChangedStudyError

if TYPE_CHECKING:
    from assay.study.store.changes import Changed

T = TypeVar("T")

_GROUP = Group("Where the study has changed", sort_key=2)

_CHOICE = """
  n  it is a new version: they no longer count, and are asked again (they count once more when the change is taken back)
"""
_KEEP = """  s  it is the same question: they go on counting
"""


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True)
class ChangeOptions:
    """What a change means that takes answers out of count; asked on a terminal, and needed elsewhere."""

    new_version: Annotated[
        bool, Parameter(help="Answers to what was changed no longer count; judges are asked again.", show_default=False)
    ] = False
    same_question: Annotated[
        bool, Parameter(help="Answers to what was changed go on counting.", show_default=False)
    ] = False

    def __post_init__(self) -> None:
        if self.new_version and self.same_question:
            raise AssayError("--new-version and --same-question exclude each other; give one")

    @property
    def given(self) -> Changed | None:
        """What was typed."""
        return "new-version" if self.new_version else "same-question" if self.same_question else None

    def decided(self, work: Callable[[Changed | None], T]) -> T:
        """What the work gives; where it would take answers out of count, once somebody has said what the change means.

        Raises
        ------
        AssayError
            Where nobody says it; nothing was changed.
        """
        try:
            return work(None)
        except ChangedStudyError as error:
            if self.same_question and not error.can_keep:
                raise AssayError(_refusal(error)) from None
            changed = self.given or _asked(error)
            kept = "they go on counting" if changed == "same-question" else "they stay in the store"
            note(f"{error.what}; {kept} (--{changed})")
        try:
            return work(changed)
        except ChangedStudyError as error:
            raise AssayError(_refusal(error)) from None


NO_CHANGE = ChangeOptions()
"""Nothing was said of a change."""


def _asked(error: ChangedStudyError) -> Changed:
    """The answer of whoever sits at the terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise AssayError(_refusal(error))
    note(f"{error.what}.{_CHOICE}{_KEEP if error.can_keep else ''}  anything else changes nothing")
    print("What is it? ", end="", file=sys.stderr, flush=True)
    said = sys.stdin.readline().strip().lower()
    if said == "n":
        return "new-version"
    if said == "s" and error.can_keep:
        return "same-question"
    raise AssayError("nothing was changed")


def _refusal(error: ChangedStudyError) -> str:
    keep = ", --same-question goes on counting them" if error.can_keep else ""
    return (
        f"{error.what}. Nothing was changed. --new-version takes them out of count (they stay in the store, and count "
        f"again when the change is taken back){keep}"
    )
