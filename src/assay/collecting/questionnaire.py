"""Questions to a person: which are still to be asked, how their answers are read, and how often they can be tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.collecting.design import StudyDesign
from assay.study.person_questions import PersonQuestion, Stage
from assay.study.store.connection import Connection
from assay.study.store.people import ADJUDICATOR, Person, PersonReply, put_reply, replies_of


@dataclass(frozen=True)
class Questionnaire:
    """The questions that a person has to answer now.

    Attributes
    ----------
    stage : str
    questions : tuple of PersonQuestion
        Those without an accepted answer.
    number : int
        The number of the next reply.
    wrong : dict
        The words for each answer of the last reply that was wrong.
    left : int
        How many more tries the person has.
    """

    stage: Stage
    questions: tuple[PersonQuestion, ...]
    number: int
    wrong: Mapping[str, str]
    left: int


def questionnaire(design: StudyDesign, db: Connection, person: Person, stage: Stage) -> Questionnaire | None:
    """Return the questions of a stage that a person has not answered; None if there are none.

    A question is not asked if the study lead entered its answer with the invitation.
    """
    asked = design.people.asked(stage)
    if not asked or person.role == ADJUDICATOR:
        return None
    replies = replies_of(db, person.name)
    answered = {name for one in replies for name in one.given if name not in one.wrong}
    answered |= {name for name, value in person.attributes.items() if value not in (None, "")}
    rest = tuple(one for one in asked if one.name not in answered)
    last = replies[-1].wrong if replies and replies[-1].stage == stage else ()
    wrong = {one.name: one.wrong.get(str(replies[-1].given[one.name]), "") for one in rest if one.name in last}
    left = design.people.tries - sum(bool(one.wrong) for one in replies)
    return Questionnaire(stage, rest, len(replies) + 1, wrong, left) if rest else None


def failed_questions(design: StudyDesign, db: Connection, person: str | None = None) -> dict[str, str]:
    """Return, by person, that they have no try left for the questions with a right answer."""
    if not any(one.wrong for one in design.people.asked("before")):
        return {}
    tries: dict[str, list[bool]] = {}
    for one in replies_of(db, person):
        if one.stage == "before":
            tries.setdefault(one.person, []).append(bool(one.wrong))
    most = design.people.tries
    return {
        name: f"answered comprehension questions incorrectly ({sum(of)} of {most} tries)"
        for name, of in tries.items()
        if sum(of) >= most and of[-1]
    }


@dataclass(frozen=True)
class ReadReply:
    """A submitted form: the answers, and the questions without a usable one."""

    given: dict[str, Any]
    missing: tuple[str, ...]

    def wrong(self, questions: Sequence[PersonQuestion]) -> tuple[str, ...]:
        """Return the questions whose answers are wrong."""
        return tuple(one.name for one in questions if str(self.given.get(one.name)) in one.wrong)


def read_reply(questions: Sequence[PersonQuestion], said: Mapping[str, str]) -> ReadReply:
    """Read the fields of a submitted form."""
    given: dict[str, Any] = {}
    missing = []
    for one in questions:
        found = one.read(said.get(one.name, ""))
        if found is None:
            missing.append(one.name)
        else:
            given[one.name] = found
    return ReadReply(given, tuple(missing))


def keep_reply(design: StudyDesign, db: Connection, person: Person, asked: Questionnaire, reply: ReadReply) -> None:
    """Store a complete reply; answers to questions without a right answer become columns of the annotator."""
    wrong = reply.wrong(asked.questions)
    columns = {one.name for one in asked.questions if not one.wrong}
    about = {name: value for name, value in reply.given.items() if name in columns and value != ""}
    row = PersonReply(person.name, asked.number, asked.stage, reply.given, wrong, design.store.now(db))
    put_reply(db, row, about)
