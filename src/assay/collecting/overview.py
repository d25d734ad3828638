"""What the lead's page shows: who did how much, what is short, what was remarked, do they agree?"""

from __future__ import annotations

import time
from dataclasses import dataclass

from assay.collecting.agreed import Agreed


@dataclass(frozen=True)
class Moment:
    """A time, and how long ago that was when one looked."""

    at: float
    seconds_ago: float

    @property
    def iso(self) -> str:
        """For machines: UTC."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.at))

    @property
    def words(self) -> str:
        """``just now``, ``5 min ago``, ``2 h ago``, ``3 days ago``."""
        seconds = max(self.seconds_ago, 0)
        for limit, unit, name in ((60, 0, ""), (3600, 60, "min"), (172_800, 3600, "h")):
            if seconds < limit:
                return f"{int(seconds // unit)} {name} ago" if unit else "just now"
        return f"{int(seconds // 86_400)} days ago"


@dataclass(frozen=True)
class Numbers:
    """The study in a few numbers; practice is in none of them.

    Attributes
    ----------
    items : int
        In the study.
    answered, skipped : int
        Items answered and skipped so far, attention checks and retest items among them.
    people, busy : int
        Who may answer; and who has in the last ten minutes.
    filled, wanted : int
        Answers that count toward the overlap, and how many it takes in all; pairs where triplets are drawn.
    earlier : int
        Items answered with an earlier version of the questions: kept, and not counted here.
    excluded : int
        People whose answers must not count, and do not here.
    """

    items: int
    answered: int
    skipped: int
    people: int
    busy: int
    filled: int
    wanted: int
    earlier: int
    excluded: int

    @property
    def percent(self) -> int:
        """Of what is wanted; 100 only when nothing is missing."""
        return 100 * self.filled // self.wanted if self.wanted else 0


@dataclass(frozen=True)
class PersonRow:
    """What one person has done.

    Attributes
    ----------
    attributes : tuple of (name, value)
    state : {"active", "paused", "revoked"}
    consented : bool, optional
        To the text as it stands now; None where the study has none.
    done, skipped : int
        Of their items, answered or skipped, and only skipped; without practice.
    of : int, optional
        How many are expected of them, in all sessions; None where that depends on the others.
    session, sessions : int
        The one that they are in, of how many.
    minutes : float, optional
        At work on an item, median; None before the first answer.
    checks_failed, checks : int
        Attention checks that they failed, of those they answered.
    flags : int
        Items that they flagged.
    last : Moment, optional
        Of their last answer.
    excluded : bool
        Whether their answers must not count; and why, in ``excluded_for``.
    """

    name: str
    attributes: tuple[tuple[str, str], ...]
    state: str
    consented: bool | None
    done: int
    skipped: int
    of: int | None
    session: int
    sessions: int
    minutes: float | None
    checks_failed: int
    checks: int
    flags: int
    last: Moment | None
    excluded: bool
    excluded_for: str
    stopped: str
    """Why they are given nothing further; empty where they may go on."""

    @property
    def pace(self) -> str:
        """Median time on an item in words: ``45 s``, ``2.5 min``."""
        if self.minutes is None:
            return ""
        return f"{60 * self.minutes:.0f} s" if self.minutes < 1.5 else f"{self.minutes:.1f} min"


@dataclass(frozen=True)
class Remark:
    """What somebody said of an item beside the label."""

    person: str
    item: str
    flag: str
    comment: str
    skip: str
    """Why it was skipped; empty where it was not."""
    at: Moment
    task: int
    practice: bool
    can_reopen: bool


@dataclass(frozen=True)
class ShortItem:
    """An item that lacks answers."""

    name: str
    have: int
    want: int
    held: int
    """Before somebody at this moment."""


@dataclass(frozen=True)
class Short:
    """What one group still has to answer in one session.

    Attributes
    ----------
    group, session : str
        Empty where there is only one.
    everybody : bool
        Whether all people answer every item, so that ``want`` counts those who are active.
    items : int
        How many lack answers.
    answers : int
        How many answers are lacking in all.
    held : int
        Places before somebody at this moment.
    filled, wanted : int
        Answers that count, and how many it takes.
    first : tuple of ShortItem
        The first of the items, in the order of their file.
    """

    group: str
    session: str
    everybody: bool
    items: int
    answers: int
    held: int
    filled: int
    wanted: int
    first: tuple[ShortItem, ...]


@dataclass(frozen=True)
class Pairs:
    """Where triplets are drawn: pairs of items that were drawn together less often than wanted."""

    short: int
    of: int
    wanted: int
    triplets: int
    """Drawn so far."""


@dataclass(frozen=True)
class Overview:
    """A study at a moment."""

    numbers: Numbers
    people: tuple[PersonRow, ...]
    agreement: tuple[Agreed, ...]
    remarks: tuple[Remark, ...]
    short: tuple[Short, ...]
    pairs: Pairs | None
    group: str
    """What a new person must be said to be: ``expertise (nurse, doctor)``; empty where nothing."""
