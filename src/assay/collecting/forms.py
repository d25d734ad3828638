"""The contents of the annotation page: an item's shown fields, its questions and the annotator's own answers.

Nothing else leaves the server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from markupsafe import Markup, escape

from assay.collecting.design import Asked
from assay.collecting.languages import ColumnTitle, Said, allowed_words
from assay.collecting.markdown import item_html
from assay.data.scales import Label, Listed, Preference, Scale, SeveralLabels, SpanLabels, words_of
from assay.study.items import Item, canonical
from assay.study.schema import Question, kind_of, listed_labels

Widget = Literal["choice", "several", "spans", "ranking", "preference", "odd-one-out", "number", "text"]
"""The input element of a question; `page.html` and the page's script use these names."""

MOST_CATEGORIES = 11
"""Whole-number scales with more labels than this are answered by typing a number."""


class Clip(str):
    """The address of an audio or video, with its type and the address of its captions, if any."""

    type: str
    captions: str | None

    def __new__(cls, address: str, type: str, captions: str | None = None) -> Clip:  # noqa: A002 - as HTML has it
        """Make the address."""
        made = super().__new__(cls, address)
        made.type, made.captions = type, captions
        return made

    @property
    def is_sound(self) -> bool:
        """Whether it is audio only."""
        return self.type.startswith("audio/")


@dataclass(frozen=True)
class DialogueTurn:
    """One turn of a dialogue."""

    speaker: str
    text: str
    side: Literal["start", "end"]
    """The margin at which it is shown: the first speaker's turns at the start, the second speaker's at the end."""


@dataclass(frozen=True)
class FormField:
    """A shown column of the item: a text, or the address of an image or a recording."""

    title: str
    text: str | None = None
    image: str | None = None
    markup: str | None = None
    """The text as HTML, if it is Markdown; HTML in the source is escaped."""
    recording: Clip | None = None
    turns: tuple[DialogueTurn, ...] = ()
    """The text as turns, if it is a dialogue."""

    @property
    def start(self) -> str:
        """The first words of the text, for the folded bar of a narrow screen."""
        text = f"{self.turns[0].speaker}: {self.turns[0].text}" if self.turns else self.text or ""
        return " ".join(text[:LONGEST_START].split())


LONGEST_START = 120
"""Most characters of a text in the folded bar; one line of a tablet."""


@dataclass(frozen=True)
class Choice:
    """One label that can be chosen: its value, its text and its key."""

    value: str
    """The value as JSON, as the browser sends it."""
    text: str
    meaning: str | None = None
    key: str | None = None
    field: FormField | None = None
    """The compared option, for a preference or an odd-one-out choice."""
    details: tuple[FormField, ...] = ()
    """Further fields of the option."""


@dataclass(frozen=True)
class QuestionForm:
    """The form of one question about one item."""

    id: int
    name: str
    text: str
    guidelines: str
    kind: Widget
    choices: tuple[Choice, ...] = ()
    low: float | None = None
    high: float | None = None
    whole: bool = False
    ticks: tuple[str, ...] = ()
    """Evenly spaced numbers along a slider."""
    optional: bool = False
    meanings: tuple[tuple[str, str], ...] = ()
    """Meanings of labels that are not chosen from a list."""
    allowed: str = ""
    """Description of valid answers, to follow 'the answer must be'."""
    given: str | None = None
    """The annotator's current answer as JSON; None if there is none."""
    marked: FormField | None = None
    """The text in which spans are marked, divided into words."""
    span_text: str = ""
    """The title of a box for a text about each marked span; empty for no box."""


@dataclass(frozen=True)
class TaskForm:
    """One item for one annotator."""

    id: int
    place: int
    fields: tuple[FormField, ...]
    questions: tuple[QuestionForm, ...]
    revision: int
    state: Literal["open", "answered", "skipped", "reopened"]
    practice: bool
    again: bool
    skipped: str
    comment: str
    flag: str
    draft: Mapping[str, Any] | None
    note: str = ""
    """What the study lead wrote when they reopened it."""


@dataclass(frozen=True)
class PageForm:
    """The contents of one page: one item, or all items of a document with their shared fields."""

    number: int
    shared: tuple[FormField, ...]
    tasks: tuple[TaskForm, ...]


@dataclass(frozen=True)
class GivenAnswers:
    """The annotator's answers so far: labels by question, comment, flag and skip."""

    labels: Mapping[int, Label | None]
    revision: int = 0
    comment: str = ""
    flag: str = ""
    skipped: str = ""
    ties: Mapping[int, str] = field(default_factory=dict)
    """By question, whether a tie means that both or that neither option is acceptable."""
    note: str = ""
    """The study lead's words, if the last answer was reopened."""


_NO_MARKDOWN: Mapping[str, bool] = MappingProxyType({})
"""No column with Markdown."""


def question_form(
    asked: Asked,
    item: Item,
    order: Sequence[str],
    images: Mapping[str, str],
    label: Label | None,
    markdown: Mapping[str, bool] = _NO_MARKDOWN,
    tie: str | None = None,
) -> QuestionForm:
    """Make the form of one question about an item.

    Parameters
    ----------
    order : list of str
        The options' columns in the order in which this annotator sees them.
    images : dict
        Address of each column with an image or a recording.
    label : label, optional
        The annotator's answer so far, in the item's own order.
    markdown : dict, optional
        The columns with Markdown, each with whether it has formulas.
    tie : str, optional
        If that label is a tie, whether both or neither options were acceptable.
    """
    question, scale = asked.definition, asked.scale
    own = None if label is None else question.shuffle(label, order)
    widget, choices = _widget(question, scale, item, order, images, markdown)
    low, high = (scale.bounds if widget == "number" else None) or (None, None)
    return QuestionForm(
        *(asked.id, question.name, question.text, question.guidelines, widget, choices, low, high),
        whole=scale.kind == "ordinal",
        ticks=() if low is None or high is None else slider_ticks(low, high, whole=scale.kind == "ordinal"),
        optional=question.optional,
        meanings=tuple(question.meanings.items()) if widget == "number" else (),
        allowed=_allowed_answers(question, scale),
        given=None if own is None else _browser_value(own, scale, tie),
        marked=None if question.marked is None else _words_apart(question, question.marked_text(item.fields)),
        span_text=question.span_text,
    )


def _words_apart(question: Question, text: str) -> FormField:
    """A text as HTML, with one element per word, which has its start position, and one per gap between words."""
    made, done = [], 0
    for start, end in words_of(text):
        between = f'<span class="gap">{escape(text[done:start])}</span>' if done < start else ""
        made.append(f'{between}<span class="word" data-from="{start}">{escape(text[start:end])}</span>')
        done = end
    made.append(str(escape(text[done:])))
    return FormField(ColumnTitle(question.title_of(question.marked or "")), markup=Markup("".join(made)))


def _browser_value(own: Label, scale: Scale, tie: str | None) -> str:
    """An answer as the browser sends it; lists are stored in this form."""
    return str(own) if isinstance(scale, Listed) else canonical(tie or kind_of(scale).words.get(own, own))


_STEPS = (1.0, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0)
"""Round steps between two numbers along a slider, times a power of ten."""


def slider_ticks(low: float, high: float, *, whole: bool) -> tuple[str, ...]:
    """Return at most six evenly spaced numbers along a slider; only the limits if no round step fits."""
    for parts in (5, 4, 3, 2):
        step = (high - low) / parts
        mantissa = float(f"{step:e}".partition("e")[0])
        has_zero = not low < 0 < high or round(low / step, 6) % 1 == 0
        if mantissa in _STEPS and has_zero and not (whole and step % 1):
            return tuple(f"{low + step * k:.6g}" for k in range(parts + 1))
    return (f"{low:g}", f"{high:g}")


def _allowed_answers(question: Question, scale: Scale) -> str:
    words = kind_of(scale).words
    ties = question.page_words(words) == words
    return allowed_words(scale if ties else kind_of(scale).allowed(question.page_words(words)))


def _widget(
    question: Question,
    scale: Scale,
    item: Item,
    order: Sequence[str],
    images: Mapping[str, str],
    markdown: Mapping[str, bool],
) -> tuple[Widget, tuple[Choice, ...]]:
    """The input element of a question and its choices."""
    if scale.kind in _COMPARISONS:
        widget, choices = _COMPARISONS[scale.kind]
        found, words = choices(scale, item, order, images, markdown), kind_of(scale).words
        if question.drawn_from is not None:
            found = tuple(
                replace(c, details=_differing_columns(question, item, place, markdown))
                for c, place in zip(found, order, strict=True)
            )
        sent = {canonical(word) for word in (*question.page_words(words).values(), *question.tie_words)}
        return widget, tuple(one for one in found if not words or one.value in sent)
    if kind_of(scale).free_text:
        return "text", ()
    if isinstance(scale, SeveralLabels):
        return "several", _choices_or_none(question, scale, Said("None of these"))
    if isinstance(scale, SpanLabels):
        return "spans", _choices_or_none(question, scale, Said("Nothing to mark"))
    if scale.categories is not None and not (scale.numeric and len(scale.categories) > MOST_CATEGORIES):
        return "choice", _choices(question, scale)
    return "number", ()


def _sides(
    scale: Scale, item: Item, order: Sequence[str], images: Mapping[str, str], markdown: Mapping[str, bool]
) -> tuple[Choice, ...]:
    """Choices of a preference: left, ties and right; with grades, the strongest are outermost, with digits as keys."""
    left, right = (
        _field(title, item, column, images, markdown)
        for title, column in zip((Said("Left"), Said("Right")), order, strict=True)
    )
    ties = (
        Choice('"tie"', Said("No preference"), None, "0"),
        Choice('"both"', Said("Both are acceptable"), None, "B"),
        Choice('"neither"', Said("Neither is acceptable"), None, "N"),
    )
    grades = scale.grades if isinstance(scale, Preference) else ()
    if not grades:
        first = Choice('"first"', Said("Left is better"), None, "←", left)
        return (first, *ties, Choice('"second"', Said("Right is better"), None, "→", right))
    most, words = len(grades), kind_of(scale).words
    return (
        *(
            Choice(canonical(words[-n]), Said("Left: {grade}", grade=grades[n - 1]), None, str(most + 1 - n),
                   left if n == most else None)
            for n in range(most, 0, -1)
        ),
        *ties,
        *(
            Choice(canonical(words[n]), Said("Right: {grade}", grade=grades[n - 1]), None, str(most + n),
                   right if n == most else None)
            for n in range(1, most + 1)
        ),
    )  # fmt: skip


def _letters(
    scale: Scale, item: Item, order: Sequence[str], images: Mapping[str, str], markdown: Mapping[str, bool]
) -> tuple[Choice, ...]:
    return tuple(
        Choice(canonical(letter), letter, None, letter, _field(letter, item, column, images, markdown))
        for letter, column in zip(kind_of(scale).titles, order, strict=True)
    )


def _differing_columns(
    question: Question, item: Item, place: str, markdown: Mapping[str, bool]
) -> tuple[FormField, ...]:
    """The shown columns of one item of a triplet that differ among the three items."""
    found = []
    for column in question.shown_columns(item.fields):
        each = question.option_values(item.fields.get(column))
        if each is not None and each[place] not in (None, ""):
            alone = Item(item.name, None, {column: each[place]})
            found.append(_field(ColumnTitle(question.title_of(column)), alone, column, {}, markdown))
    return tuple(found)


Compared = Callable[[Scale, Item, Sequence[str], Mapping[str, str], Mapping[str, bool]], tuple[Choice, ...]]
"""A function that returns the choices of a comparison of options."""

_COMPARISONS: dict[str, tuple[Widget, Compared]] = {
    "preference": ("preference", _sides),
    "odd-one-out": ("odd-one-out", _letters),
    "ranking": ("ranking", _letters),
}
"""By kind of scale: the input element and the choices of a comparison."""


def _choices(question: Question, scale: Scale) -> tuple[Choice, ...]:
    """The labels with their keys: a one-digit number is its own key; other labels are numbered."""
    categories = listed_labels(scale)
    numbers = all(re.fullmatch(r"-?[0-9]+", str(c)) for c in categories)
    found = []
    for number, label in enumerate(categories, start=1):
        digit = str(label) if numbers else str(number)
        key = question.keys.get(str(label)) or (digit if len(digit) == 1 else None)
        found.append(Choice(canonical(label), str(label), question.meanings.get(str(label)), key and key.upper()))
    return tuple(found)


def _choices_or_none(question: Question, scale: Scale, none: Said) -> tuple[Choice, ...]:
    """The labels, and a choice that none applies."""
    labels = _choices(question, scale)
    free = all(one.key != "0" for one in labels)
    return (*labels, Choice("", none, None, "0" if free else None))


def item_fields(
    asked: Sequence[Asked],
    item: Item,
    hidden: Sequence[str],
    images: Mapping[str, str],
    markdown: Mapping[str, bool] = _NO_MARKDOWN,
) -> tuple[FormField, ...]:
    """Return the columns that any question shows, except its options and the text in which it asks for spans."""
    columns: dict[str, ColumnTitle] = {}
    for one in asked:
        shown = one.definition.shown_columns(item.fields, hidden)
        mine = [c for c in shown if c in item.fields and not one.definition.option_values(item.fields[c])]
        columns |= {c: _column_title(asked, c) for c in mine if c not in columns}
    for one in asked:
        columns.pop(one.definition.marked, None)
    return tuple(_field(title, item, column, images, markdown) for column, title in columns.items())


def _column_title(asked: Sequence[Asked], column: str) -> ColumnTitle:
    """The title that the first question with one gives to a column."""
    questions = [one.definition for one in asked]
    titled = (one for one in questions if isinstance(one.show, dict) and one.show.get(column))
    return ColumnTitle(next(titled, questions[0]).title_of(column))


def _field(title: str, item: Item, column: str, images: Mapping[str, str], markdown: Mapping[str, bool]) -> FormField:
    if column in images:
        shown = images[column]
        return FormField(title, recording=shown) if isinstance(shown, Clip) else FormField(title, image=shown)
    value = item.fields.get(column, "")
    text = value if isinstance(value, str) else canonical(value)
    formulas = markdown.get(column)
    if formulas is not None:
        return FormField(title, text=text, markup=item_html(text, formulas=formulas))
    return FormField(title, text=text, turns=dialogue_turns(value))


_SPEAKERS, _SPOKEN = ("role", "speaker", "author", "from"), ("content", "text", "utterance", "message", "value")
"""Names of the speaker and of the text of a turn, as in OpenAI's, ShareGPT's and other dialogue formats."""


def dialogue_turns(value: Any) -> tuple[DialogueTurn, ...]:
    """Return the turns of a dialogue; empty if the value is not one.

    A dialogue is a list of turns, as in JSON Lines, or a text with such a list as JSON, as in a cell of a sheet. Each
    turn has a speaker (``role``, ``speaker``, ``author`` or ``from``) and a text (``content``, ``text``,
    ``utterance``, ``message`` or ``value``), and nothing else that would not be shown.

    Examples
    --------
    >>> dialogue_turns([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}])
    (DialogueTurn(speaker='user', text='Hi', side='start'), DialogueTurn(speaker='assistant', text='Hello', side='end'))
    >>> dialogue_turns("Hi")
    ()
    """
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        try:
            value = json.loads(value)
        except ValueError:
            return ()
    if not isinstance(value, list) or not value:
        return ()
    found: list[tuple[str, str]] = []
    for turn in value:
        parts = dict(turn) if isinstance(turn, dict) else {}
        speaker, text = (
            next((parts.pop(name) for name in names if name in parts), None) for names in (_SPEAKERS, _SPOKEN)
        )
        if parts or not isinstance(speaker, str) or not isinstance(text, str):
            return ()
        found.append((speaker, text))
    first = found[0][0]
    return tuple(DialogueTurn(speaker, text, "start" if speaker == first else "end") for speaker, text in found)
