"""Saving of answers: each is validated against its scale, stored once, and never replaces a newer one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.collecting.assignment import Assigner
from assay.collecting.design import Asked, is_wrong
from assay.collecting.languages import Said, allowed_words
from assay.data.scales import Label, Listed, RankedTexts, SpanLabels
from assay.study.schema import kind_of, scale_of
from assay.study.store.answers import add_page_answer, answers_to, latest_revision, withdraw
from assay.study.store.connection import Connection
from assay.study.store.items import items_given, known_items
from assay.study.store.people import Person, closed_up_to, drop_draft, is_closed, put_draft, set_task_state, task_by_id
from assay.study.store.tables import PAGE

LONGEST_TEXT = 50_000
"""Most characters of a text answer: far more than annotators write, and a tenth of the largest request body."""

LATE = 120.0
"""Seconds after a person's deadline in which an answer is still accepted: one saved in time can arrive late."""

LONGEST_WORDS = 2_000
"""Most characters of a comment or of the reason of a skip or flag."""

DEEPEST = 20
"""Deepest nesting of lists and dictionaries in a draft; the page's script uses two levels."""


@dataclass(frozen=True)
class Submission:
    """An answer as the browser sends it.

    Attributes
    ----------
    task : int
        The task that is answered.
    key : str
        Made once for each save; a repeated key is the same answer sent again.
    revision : int
        Number of answers to the task when the page was shown: 0 before the first.
    labels : dict
        Label by question id, with the options in the order shown.
    skip : str, optional
        The reason, if the item was skipped.
    seconds : float, optional
        Working time on the item, without breaks.
    """

    task: int
    key: str
    revision: int
    labels: Mapping[str, Any]
    skip: str | None = None
    comment: str = ""
    flag: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Saved:
    """A stored answer."""

    revision: int
    at: float
    again: bool
    """Whether it had been saved before."""
    extra: bool
    """Whether the item had been assigned to someone else in the meantime; the answer is kept in addition."""
    feedback: list[dict[str, Any]] | None = None


class UnknownTaskError(Exception):
    """The item was never assigned to this person."""


class _SaidError(Exception):
    """Nothing was written; ``said`` is the reason for the person."""

    def __init__(self, said: Said) -> None:
        super().__init__(str(said))
        self.said = said


class NewerAnswerError(_SaidError):
    """A newer answer exists than the one that the page showed; nothing was written."""

    def __init__(self, revision: int, page: int) -> None:
        super().__init__(Said("A newer answer to this item was saved in another tab or on another device."))
        self.revision, self.page = revision, page


class ClosedError(_SaidError):
    """The answer is final: it was given in an earlier session, or the item was presented again since."""

    def __init__(self, page: int) -> None:
        super().__init__(Said("Your answers on page {page} are final and can no longer be changed.", page=page))


class TooLateError(_SaidError):
    """The person's deadline has passed; nothing was written."""

    def __init__(self) -> None:
        super().__init__(Said("Your time for this study has ended."))


class InvalidAnswerError(_SaidError):
    """Some labels are not on their scales; nothing was written."""

    def __init__(self, questions: dict[str, str]) -> None:
        super().__init__(Said("This answer is not valid and was not saved."))
        self.questions = questions


def save(assigner: Assigner, person: Person, sent: Submission) -> Saved:
    """Store an answer; it is on disk when this function returns.

    Raises
    ------
    UnknownTaskError, ClosedError, TooLateError, NewerAnswerError, InvalidAnswerError
        If nothing was written.
    """
    with assigner.store.exclusive() as db:
        return _AnswerWriter(assigner, db, person, sent).save()


class _AnswerWriter:
    def __init__(self, assigner: Assigner, db: Connection, person: Person, sent: Submission) -> None:
        self.assigner, self.db, self.person, self.sent = assigner, db, person, sent
        task = task_by_id(db, sent.task, person.name)
        if task is None:
            raise UnknownTaskError
        self.task = task
        self.asked = assigner.design.asked(task.questions, task.condition)
        self.removed = {one.id for one in self.asked} - {one.id for one in assigner.design.questions_of(task)}
        """Questions that were removed; a page opened before their removal can still answer them."""
        self.ties: dict[int, str] = {}
        """By question, the kind of tie (both or neither acceptable), if the question distinguishes them."""

    def save(self) -> Saved:
        earlier = answers_to(self.db, self.task)
        keys = {self._key(one.id) for one in self.asked}
        same = [row for row in earlier if row.request_key in keys]
        if same:
            feedback = self._feedback({row.question: row.label for row in same})
            return Saved(same[0].revision, same[0].answered_at, True, bool(self.task.extra), feedback)
        if is_closed(self.task, closed_up_to(self.db, self.person.name)):
            raise ClosedError(self.task.page)
        deadline = self.assigner.design.deadline(self.person)
        if deadline is not None and self.assigner.store.now(self.db) > deadline + LATE:
            raise TooLateError
        revision = max((row.revision for row in earlier), default=0)
        if self.sent.revision != revision:
            raise NewerAnswerError(revision, self.task.page)
        labels = self._labels()
        answered = {row.question for row in earlier}
        now = self.assigner.store.now(self.db)
        extra = self._extra(now)
        about = {"place": self.task.place} | ({"session": self.task.session} if self.task.condition != "{}" else {})
        about |= {"extra": True} if extra else {}
        for one in self.asked:
            label = labels.get(one.id)
            if label is None and self.sent.skip is None and one.id not in answered:
                continue  # optional and not answered
            answer = self._answer(one, label, about) | {"revision": revision + 1, "answered_at": now}
            add_page_answer(self.db, self.task, one.id, answer)
        self._close(now, extra)
        return Saved(revision + 1, now, False, extra, self._feedback(labels))

    # -- validation -----------------------------------------------------------------------------

    def _labels(self) -> dict[int, Label | None]:
        """The labels in the items' own order, by question."""
        if self.sent.skip is not None:
            return {}
        found: dict[int, Label | None] = {}
        wrong: dict[str, str] = {}
        strange = set(self.sent.labels) - {str(one.id) for one in self.asked}
        if strange:
            raise InvalidAnswerError(
                {clean(name)[:20]: Said("This question is not asked here.") for name in sorted(strange)[:5]}
            )
        for one in self.asked:
            raw = self.sent.labels.get(str(one.id))
            if raw is None or (isinstance(raw, str) and not raw.strip()):
                if not one.definition.optional and one.id not in self.removed:
                    wrong[str(one.id)] = Said("Please answer this question, or skip the item.")
                continue
            label = self._label(one, raw)
            if label is None:
                wrong[str(one.id)] = Said("The answer must be {allowed}.", allowed=_allowed_words(one))
            else:
                order = self.task.shown["order"].get(str(one.id), [])
                found[one.id] = one.definition.unshuffle(label, order)[0]
        if not found and not wrong:  # every question is optional, but an empty answer is not accepted
            wrong[str(self.asked[0].id)] = Said("Please answer at least one of the questions, or skip the item.")
        if wrong:
            raise InvalidAnswerError(wrong)
        return found

    def _label(self, one: Asked, raw: Any) -> Label | None:
        kind = kind_of(one.scale)
        if raw in one.definition.tie_words:
            self.ties[one.id] = raw
            return 0
        if kind.words:
            words = one.definition.page_words(kind.words)
            return next((label for label, word in words.items() if word == raw), None)
        if kind.free_text:
            return clean(raw) if isinstance(raw, str) and len(raw) <= LONGEST_TEXT and clean(raw).strip() else None
        if isinstance(raw, str) and raw != clean(raw):
            return None
        if isinstance(raw, str) and one.scale.numeric:
            raw = raw.strip().replace(",", ".")  # decimal comma
        if isinstance(raw, int | float) and not isinstance(raw, bool) and abs(raw) > 1e15:
            return None
        label = one.scale.read(raw)
        if isinstance(one.scale, SpanLabels):
            spans, most = one.scale.with_texts(label) or (), len(self._marked_text(one))
            fits = all(end <= most and (one.definition.span_text or not about) for _, end, _, about in spans)
            return label if fits else None
        return label

    def _marked_text(self, one: Asked) -> str:
        """The text in which spans were marked, in the version that was shown."""
        key = (self.task.item, self.task.shown["item"])
        text: str = one.definition.marked_text(items_given(self.assigner.store, [key])[key].fields)
        return text

    def _extra(self, now: float) -> bool:
        """Whether the answer comes after its place was given to someone else."""
        if self.sent.skip is not None:
            return False
        lapsed = self.task.state == "given" and self.task.expires_at <= now
        if lapsed or self.task.state == "skipped":
            return not self.assigner.has_place(self.db, self.task, now)
        return bool(self.task.extra)

    # -- writing --------------------------------------------------------------------------------

    def _key(self, question: int) -> str:
        return f"{PAGE}/{self.task.id}/{question}/{self.sent.key}"

    def _answer(self, one: Asked, label: Label | None, about: dict[str, Any]) -> dict[str, Any]:
        """The stored row of the answer to one question."""
        skipped = self.sent.skip is not None
        order = self.task.shown["order"].get(str(one.id))
        shown: dict[str, Any] = {"task": self.task.id, "form": self.task.form, "page": self.task.page}
        if self.assigner.design.people.consent:
            shown["consent"] = self.person.consented_to  # the consent text in force at this answer
        if order:
            shown |= {"order": order, "position": _position(one, label, order)}
        if one.id in self.ties:
            about = about | {"tie": self.ties[one.id]}
        return {
            "request_key": self._key(one.id),
            "status": "missing" if skipped else "valid" if label is not None else "withdrawn",
            "label": label,
            "reason": f"skipped: {clean(self.sent.skip or '')}".rstrip(": ") if skipped else None,
            "comment": clean(self.sent.comment) or None,
            "flag": clean(self.sent.flag) or None,
            "shown": shown | {"about": about},
            "seconds": self.sent.seconds,
        }

    def _close(self, now: float, extra: bool) -> None:
        state = "answered" if self.sent.skip is None else "skipped"
        set_task_state(self.db, self.task.id, state, extra=extra, closed_at=now)
        drop_draft(self.db, self.task.id)

    def _feedback(self, labels: Mapping[int, Label | None]) -> list[dict[str, Any]] | None:
        """The feedback on a practice item: the known answer of each question, and the explanation."""
        if self.task.role != "warm-up" or self.sent.skip is not None:
            return None
        known = known_items(self.assigner.store, "warm-up").get(self.task.item) or {"labels": {}, "feedback": ""}
        found = []
        for one in self.asked:
            name = one.definition.name
            if name in known["labels"]:
                wanted, own = known["labels"][name], scale_of(one.definition.scale)
                order = self.task.shown["order"].get(str(one.id), [])
                found.append(
                    {
                        "question": name,
                        "right": not is_wrong(labels.get(one.id), wanted, one.scale, own),
                        "expected": answer_words(
                            one,
                            own.moved(wanted, one.scale),
                            order,
                            "" if one.definition.marked is None else self._marked_text(one),
                        ),
                        "words": "",
                    }
                )
        if found:
            found[-1]["words"] = known["feedback"]
        return found


REOPENED = "reopened by the lead"
"""Reason of a withdrawn answer; the lead's words follow a colon."""


def reopen(assigner: Assigner, number: int, words: str = "") -> None:
    """Withdraw the answers to a task and assign it to its annotator again; the answers stay on record.

    Parameters
    ----------
    words : str
        What the annotator reads next to the item.
    """
    with assigner.store.exclusive() as db:
        task = task_by_id(db, number)
        if task is None or task.state not in ("answered", "skipped"):
            raise UnknownTaskError
        now = assigner.store.now(db)
        withdraw(db, task, f"{REOPENED}: {words}" if words else REOPENED, now)
        extra = task.state == "skipped" and not assigner.has_place(db, task, now)
        set_task_state(db, number, "reopened", extra=extra or task.extra, closed_at=None)


def keep_draft(assigner: Assigner, person: Person, number: int, revision: int, body: Mapping[str, Any]) -> bool:
    """Store a draft; return False if there is a newer answer, or if the answer is final."""
    with assigner.store.exclusive() as db:
        task = task_by_id(db, number, person.name)
        if task is None:
            raise UnknownTaskError
        if is_closed(task, closed_up_to(db, person.name)) or revision != latest_revision(db, task):
            return False
        put_draft(db, number, revision, body, assigner.store.now(db))
        return True


def clean(text: str) -> str:
    """Return the text without characters that databases reject."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "", text.replace("\r\n", "\n"))


def clean_all(value: Any, depth: int = 0) -> Any:
    """Apply `clean` to every text inside lists and dictionaries."""
    if isinstance(value, str):
        return clean(value)
    if depth > DEEPEST:
        return None
    if isinstance(value, dict):
        return {clean(str(k)): clean_all(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [clean_all(v, depth + 1) for v in value]
    return value


def _position(one: Asked, label: Label | None, order: list[str]) -> int | None:
    """The place at which the chosen option was shown."""
    place = None if label is None else one.definition.kind.place_of(label)
    return None if place is None else order.index(one.definition.choices[place]) + 1


def answer_words(one: Asked, label: Label, order: Sequence[str], text: str = "") -> str:
    """Return a label in words, with the options in the order shown; for spans, with their words in the text."""
    shown = one.definition.shuffle(label, order)
    if isinstance(one.scale, SpanLabels):
        spans = one.scale.with_texts(shown) or ()
        words = (f"{name}: {text[a:b]}" + (f" ({about})" if about else "") for a, b, name, about in spans)
        return "; ".join(words) or Said("Nothing to mark")
    if isinstance(one.scale, Listed):
        joint = " > " if isinstance(one.scale, RankedTexts) else ", "
        return joint.join(one.scale.chosen(shown) or ()) or Said("None of these")
    told = kind_of(one.scale).page_labels
    if shown in told:
        return allowed_words(told[shown])
    return f"{shown:g}" if isinstance(shown, float) else str(shown)


def _allowed_words(one: Asked) -> str:
    kind = kind_of(one.scale)
    if kind.page_labels and (len(kind.page_labels) > 3 or one.definition.tie_words):
        return Said("one of the answers shown")
    if kind.page_labels:
        return allowed_words(kind.allowed(one.definition.page_words(kind.page_labels)))
    return Said("text of at most {most} characters", most=LONGEST_TEXT) if kind.free_text else allowed_words(one.scale)
