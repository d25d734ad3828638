"""The keys of study.yaml: their types, defaults and meanings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import lru_cache
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl

from assay.data.scales import Label, Listed, Nominal, Preference, RankedTexts, Scale, SpanLabels, parse_scale
from assay.errors import DataError, listing, require_installed
from assay.study.person_questions import RESERVED, Options, PersonQuestion, Stage, person_question

require_installed(["pydantic"], "judge", "opening a study")

from pydantic import (  # noqa: E402 - a missing pydantic is reported with the extra that installs it
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PrivateAttr,
    Tag,
    field_validator,
    model_validator,
)
from pydantic import ValidationError as ValidationError  # noqa: E402

# -- kinds of questions ----------------------------------------------------------------------------------
# A kind that is not listed is answered with a label of its scale, by number or from a list, and needs no row.

Orders = Literal["all", "shuffled", "fixed"]


@dataclass(frozen=True)
class Kind:
    """One kind of question.

    Attributes
    ----------
    places : tuple of labels
        For each option, in the item's own order, the label that chooses it; empty if there are no options.
    titles : tuple of str
        The names of the options in a prompt, in the order displayed.
    order : {"all", "shuffled"}
        How the order of the options varies if the question does not specify it.
    drawn : bool
        Whether the question can name one column, from which the options are drawn during annotation.
    words : dict
        The word that models read and write, and the page sends, for a label; a label without one is its own word.
    page_labels : dict
        The text on the annotation page for a label; a label without one is its own text.
    free_text : bool
        Whether the response itself is the label.
    lists : bool
        Whether a response is a list, which becomes several labels in the table.
    """

    places: tuple[Label, ...] = ()
    titles: tuple[str, ...] = ()
    order: Orders = "shuffled"
    drawn: bool = False
    words: Mapping[Label, str] = field(default_factory=dict)
    page_labels: Mapping[Label, str] = field(default_factory=dict)
    free_text: bool = False
    lists: bool = False

    def place_of(self, label: Label) -> int | None:
        """Return the option that a label chooses, from 0, a preference by its sign; None if it chooses none."""
        number = label if label in self.places or isinstance(label, str) else (label > 0) - (label < 0)
        return self.places.index(number) if number in self.places else None

    def moved_label(self, label: Label, place: int) -> Label:
        """Return the label that chooses the option at another place with the same strength."""
        if isinstance(label, str) or label in self.places:
            return self.places[place]
        return abs(label) * int(self.places[place])

    def allowed(self, words: Mapping[Label, str]) -> str:
        """Words for the allowed labels: ``first, second or tie``."""
        *some, last = words.values()
        return f"{', '.join(some)} or {last}"


KINDS: dict[str, Kind] = {
    "preference": Kind(
        places=(-1, 1),
        titles=("first", "second"),
        order="all",
        words={-1: "first", 1: "second", 0: "tie"},
        page_labels={-1: "left", 1: "right", 0: "no preference"},
    ),
    "odd-one-out": Kind(places=("A", "B", "C"), titles=("A", "B", "C"), drawn=True),
    "text": Kind(free_text=True),
    "several": Kind(lists=True),
    "spans": Kind(lists=True),
}
"""By the name of the scale."""

_PLAIN = Kind()


def listed_labels(scale: Scale) -> tuple[Label, ...]:
    """Return the labels to choose from, one or several; empty if the scale does not list them."""
    return scale.names if isinstance(scale, Listed) else scale.categories or ()


def kind_of(scale: Scale) -> Kind:
    """Return the kind of question that a scale implies."""
    if isinstance(scale, RankedTexts):
        return _ranked_kind(scale)
    return _graded_kind(scale) if isinstance(scale, Preference) and scale.grades else KINDS.get(scale.kind, _PLAIN)


@lru_cache(maxsize=10)
def _ranked_kind(scale: RankedTexts) -> Kind:
    """Ranked texts have letters."""
    return Kind(places=scale.names, titles=scale.names, lists=True)


@lru_cache(maxsize=1000)
def _graded_kind(scale: Preference) -> Kind:
    """A preference with grades: models write ``first: much better``."""
    page_labels: dict[Label, str] = {
        int(n): f"{'left' if int(n) < 0 else 'right'}: {scale.grades[abs(int(n)) - 1]}" if n else "no preference"
        for n in scale.categories
    }
    return replace(KINDS["preference"], words={n: scale.word(n) for n in scale.categories}, page_labels=page_labels)


# -- the keys of study.yaml ------------------------------------------------------------------------------

TRIPLET = ("first", "second", "third")
"""The columns of a drawn triplet: the texts of its three items."""

TRIPLET_ITEMS = tuple(f"{place}_item" for place in TRIPLET)
"""The columns of a triplet that name its three items; never displayed, because names can reveal the author."""

PAIR = ("first_text", "second_text")
"""The columns of a drawn pair: one output of each of two systems."""

Role = Literal["item", "output", "triplet", "source", "check", "warm-up"]
"""The role of an item: to label (in a study of systems, a pair of outputs), one output of a system, three items drawn
for odd-one-out (or two), what systems write about, an attention check, or practice."""

ROLES: tuple[Role, ...] = ("source", "output", "item", "triplet")
"""The roles of items that annotators and judges label, in this order."""

PAIR_ABOUT = ("first", "second", "first_output", "second_output", "pair_of", "pair", "separability")
"""Further columns of a pair: the systems, the numbers of the outputs, the source item; never displayed."""


OUTPUT_ABOUT = ("system", "output", "output_of")
"""Further columns of one output: its system, its number, the source item; never displayed."""


@dataclass(frozen=True)
class Platform:
    """A crowd platform: its URL parameters, the first for the person's id, its return address and placeholder form.

    ``id_form`` is the regular expression of its participant ids; empty if they are free.
    """

    parameters: tuple[str, ...]
    back: str
    form: str
    id_form: str = ""


DRAWN = ("first_output", "second_output", "pair_of", "pair", "separability", *TRIPLET_ITEMS, *OUTPUT_ABOUT[1:])
"""Columns of outputs, pairs and triplets that describe the draw, not the item: they are no strata."""

BOTH_OR_NEITHER = ("both", "neither")
"""The values of the table's column ``tie``: whether both options or neither is acceptable."""

Language = Literal["en", "de", "es", "zh", "ar"]
Strategy = Literal["zero-shot", "few-shot", "chain-of-thought"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Score = Literal["label", "probabilities", "expected"]
Choose = Literal["weighted", "stratified", "top"]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^\S(.*\S)?$")]


def scale_of(scale: str | tuple[str, ...] | list[str]) -> Scale:
    """Return the scale that a question names: one line, or a list of categories."""
    return _read_scale(scale if isinstance(scale, str) else tuple(scale))


@lru_cache(maxsize=1000)
def _read_scale(scale: str | tuple[str, ...]) -> Scale:
    """Cached, because every response needs it several times."""
    return parse_scale(scale) if isinstance(scale, str) else Nominal(scale)


class StudyPart(BaseModel):
    """A part of study.yaml: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _parse(scale: str | tuple[str, ...]) -> Scale:
    """Return the named scale, or raise an error that pydantic reports with its place."""
    try:
        return scale_of(scale)
    except DataError as error:
        raise ValueError(str(error)) from None


_SIDES = {"a": -1, "b": 1}


def _label_named(name: str, scale: Scale) -> Label | None:
    """The label of a scale with this name: as it is, by its usual word, or by the side of a preference."""
    words = kind_of(scale).words
    for one in scale.categories or ():
        if name in (str(one), words.get(one)) or (scale.kind == "preference" and _SIDES.get(name.casefold()) == one):
            return one
    return None


def _text_values(by_label: Any) -> Any:
    return {str(k): str(v).strip() for k, v in by_label.items()} if isinstance(by_label, dict) else by_label


def _strip_ends(text: Any) -> Any:
    """Remove spaces at the ends of lines, so that they do not make a new version of a question."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines()) if isinstance(text, str) else text


def rubric_words(points: Sequence[str]) -> str:
    """Return a rubric as a list in Markdown."""
    return "\n".join(f"- {' '.join(one.split())}" for one in points)


def _list_or_map(schema: dict[str, Any]) -> None:
    """The form of `rubric` in study.yaml."""
    text = {"type": "string"}
    schema["anyOf"] = [{"type": "array", "items": text}, {"type": "object", "additionalProperties": text}]
    del schema["type"], schema["items"]


class ItemsPart(StudyPart):
    """The items' file and the meaning of its columns."""

    file: str = Field("items.csv", description="CSV, TSV, JSON, JSONL, Parquet or a spreadsheet, one row per item")
    id: str = Field("item", description="column with the item id")
    document: str | None = Field(
        None,
        description="column with the document of an item; items of one document are never few-shot examples for each "
        "other",
    )
    images: tuple[str, ...] = Field((), description="columns with the path or URL of an image")
    allow_private: bool = Field(
        False,
        description="whether judges are sent images by the URL of a private, local or link-local address, which their "
        "server then fetches",
    )
    media: tuple[str, ...] | dict[str, str | None] = Field(
        (),
        description="columns with the path or URL of an audio or video, for annotators only; {clip: clip_vtt} also "
        "names the column with the path of the captions (WebVTT), or null",
    )
    media_hosts: tuple[str, ...] = Field(
        (), description="hosts from which annotators' browsers load media that items name by an https URL"
    )
    markdown: tuple[str, ...] | dict[str, Literal["formulas"] | None] = Field(
        (),
        description="columns formatted as Markdown for annotators: with tables and code, without HTML and images; "
        "{proof: formulas} also formats LaTeX between $ signs, or in \\(…\\)",
    )

    @model_validator(mode="before")
    @classmethod
    def _text_is_the_file(cls, content: Any) -> Any:
        return {"file": content} if isinstance(content, str) else content

    @field_validator("media_hosts")
    @classmethod
    def _hosts_are_hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for one in hosts:
            if not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+(:\d+)?", one):
                raise ValueError(f"'{one}' is not a host; write it without https:// and path, such as cdn.example.org")
        return hosts

    @property
    def captions(self) -> dict[str, str]:
        """The column of captions, by column of media."""
        return {column: of for column, of in self.media.items() if of} if isinstance(self.media, dict) else {}

    @property
    def markup(self) -> Mapping[str, bool]:
        """The columns formatted as Markdown, each with whether it has formulas."""
        given = self.markdown if isinstance(self.markdown, dict) else dict.fromkeys(self.markdown)
        return {column: what == "formulas" for column, what in given.items()}

    @property
    def file_columns(self) -> tuple[str, ...]:
        """The columns that hold the path of a file: images, media, captions."""
        return (*self.images, *self.media, *self.captions.values())

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns that are never displayed themselves."""
        return (*([self.document] if self.document is not None else []), *self.captions.values())


class OnScale(StudyPart):
    """The text that belongs to one of the scales of a question."""

    guidelines: str = Field("", description="follow the question's own, for this scale only")
    meanings: dict[str, str] | None = Field(
        None, description="meanings of the labels of this scale, instead of the question's own; {} for none"
    )

    _labels_are_text = field_validator("meanings", mode="before")(_text_values)
    _ends_do_not_matter = field_validator("guidelines", mode="before")(_strip_ends)


class Question(StudyPart):
    """One question (criterion) about every item."""

    name: Name = Field(description="name of the question in the table: its criterion")
    text: str = Field(min_length=1, description="the question itself")
    scale: str | tuple[str, ...] = Field(
        description="1-5, interval:0-100, ordinal:low<mid<high, nominal:yes,no, text, preference, "
        "preference:slightly better<much better, odd-one-out, several:food,price (all that apply), ranking, "
        "spans:person,place (parts of a text), or a list of categories"
    )
    guidelines: str = Field("", description="instructions for this question, the same for annotators and judges")
    rubric: tuple[str, ...] = Field(
        (),
        description="points to consider, a list at the end of the guidelines; or a meaning for each label: {1: low}",
        json_schema_extra=_list_or_map,
    )
    meanings: dict[str, str] = Field(default_factory=dict, description="meaning of each label")
    says: dict[str, str] = Field(
        default_factory=dict,
        description="the word that judges write for each label, if it differs: {A: m, B: M}; A and B are the options "
        "of a preference",
    )
    show: tuple[str, ...] | dict[str, str | dict[Language, str] | None] | None = Field(
        None,
        description="columns to display; all others stay hidden. {review: Text} also titles them on the annotation "
        "page, {review: {en: Text, ar: النص}} in each language",
    )
    of: str | Annotated[dict[str, str], Field(min_length=1, max_length=1)] | None = Field(
        None,
        description="for spans: column of the text to mark; not needed if show names a single column; {essay: Why?} "
        "also asks for a text about each marked span, in a box with this title. With systems: the question on the "
        "scale text, each of whose outputs this question is about",
    )
    options: tuple[str, ...] = Field(
        (),
        description="the two or three columns to choose between, or three to nine to rank; for odd-one-out, one column "
        "from which triplets are drawn during annotation; for preference, one question on the scale text whose "
        "outputs are compared; for a numeric scale, one column whose items judges compare in pairs",
    )
    order: Orders | None = Field(
        None,
        description="ask with the options in all orders (default for preference), in one random order "
        "(default for odd-one-out), or as listed",
    )
    ties: bool | Literal["people", "both-or-neither"] = Field(
        True,
        description="for preference: whether a tie is allowed; false: first or second only; people: annotators can "
        "choose a tie, judges cannot; both-or-neither: annotators say whether both options or neither is acceptable",
    )
    optional: bool = Field(False, description="annotators can leave it unanswered")
    keys: dict[str, str] = Field(default_factory=dict, description="key of each label on the annotation page, by label")
    by_scale: dict[str, OnScale] = Field(
        default_factory=dict, description="guidelines and meanings that belong to a scale of conditions.scale, by scale"
    )

    _ends_do_not_matter = field_validator("text", "guidelines", mode="before")(_strip_ends)
    _labels_are_text = field_validator("meanings", "keys", "says", mode="before")(_text_values)

    @model_validator(mode="before")
    @classmethod
    def _rubric_ends_guidelines(cls, content: Any) -> Any:
        """Annotators and judges read it with the guidelines, also in a prompt of the user's."""
        points = content.get("rubric") if isinstance(content, dict) else None
        if isinstance(points, dict):
            points = [f"{label}: {meaning}" for label, meaning in points.items()]
            content = content | {"rubric": points}
        if not isinstance(points, list | tuple) or not points or not all(isinstance(one, str) for one in points):
            return content
        said, ending = _strip_ends(content.get("guidelines") or ""), rubric_words(points)
        return content | {"guidelines": said if said.endswith(ending) else f"{said}\n\n{ending}".strip()}

    @model_validator(mode="before")
    @classmethod
    def _ranking_is_of_its_options(cls, content: Any) -> Any:
        """The options give the number of ranks."""
        if not isinstance(content, dict) or content.get("scale") != "ranking":
            return content
        options = content.get("options") or ()
        return content | {"scale": f"ranking:{len(options) if isinstance(options, list | tuple) else 1}"}

    @model_validator(mode="before")
    @classmethod
    def _spans_are_of_the_text_shown(cls, content: Any) -> Any:
        """If one column is displayed, spans belong to it."""
        if not isinstance(content, dict) or not str(content.get("scale")).startswith("spans:"):
            return content
        show = content.get("show")
        alone = show[0] if isinstance(show, list | tuple) and len(show) == 1 else None
        return content if content.get("of") is not None or alone is None else content | {"of": alone}

    @field_validator("by_scale")
    @classmethod
    def _by_scale_is_by_scale(cls, parts: dict[str, OnScale]) -> dict[str, OnScale]:
        for spec in parts:
            _parse(spec)
        return parts

    @field_validator("scale")
    @classmethod
    def _scale_is_one(cls, scale: str | tuple[str, ...]) -> str | tuple[str, ...]:
        _parse(scale)
        return scale

    @property
    def kind(self) -> Kind:
        """The kind of question, by its scale."""
        return kind_of(scale_of(self.scale))

    @model_validator(mode="after")
    def _says_names_labels(self) -> Question:
        """Each key is a label of the scale, and no word is that of two labels."""
        if not self.says:
            return self
        scale = scale_of(self.scale)
        if scale.categories is None:
            raise ValueError(f"says gives words for the labels of a list; {scale.spec} has none")
        for name in self.says:
            if _label_named(name, scale) is None:
                names = listing([str(kind_of(scale).words.get(one, one)) for one in scale.categories])
                raise ValueError(f"says: '{name}' is not a label of the scale; its labels are {names}")
        words = list(self.words_of_says(scale).values())
        twice = next((one for one in words if words.count(one) > 1), None)
        if twice is not None:
            raise ValueError(f"says: '{twice}' is the word of two labels")
        return self

    def words_of_says(self, scale: Scale) -> Mapping[Label, str]:
        """Return the word that a judge is asked to write for each label of a scale; empty without `says`."""
        given = {_label_named(name, scale): word for name, word in self.says.items()}
        if not given or scale.categories is None or None in given:
            return {}
        usual = kind_of(scale).words
        labels = [one for one in dict.fromkeys([*usual, *scale.categories]) if one not in self.closed]
        return {one: given.get(one, usual.get(one, str(one))) for one in labels}

    def judge_words(self, scale: Scale) -> Mapping[Label, str]:
        """Return the words that a judge reads and writes for labels, if they differ from the labels."""
        usual = {label: word for label, word in kind_of(scale).words.items() if label not in self.closed}
        return self.words_of_says(scale) or usual

    def page_words(self, words: Mapping[Label, str]) -> Mapping[Label, str]:
        """Return the words, of those displayed or sent by the page, that an annotator can answer."""
        open_to_people = self.ties is True or self.ties == "people" or not self.kind.words
        return words if open_to_people else {label: word for label, word in words.items() if label != 0}

    @property
    def tie_words(self) -> tuple[str, ...]:
        """The answers of annotators that replace a tie: stored with the label, which is that of a tie."""
        return BOTH_OR_NEITHER if self.ties == "both-or-neither" else ()

    @property
    def closed(self) -> frozenset[Label]:
        """Labels of the scale that a judge cannot give."""
        return frozenset({0}) if self.ties in (False, "people") and self.kind.words else frozenset()

    @property
    def orders(self) -> Orders:
        """How the order of the options varies, with the default of the scale; one order per drawn pair."""
        default: Orders = "shuffled" if self.outputs_of else self.kind.order
        return default if self.order is None else self.order

    @property
    def draws_pairs(self) -> bool:
        """Whether it compares two items of one column at a time: their similarity, on a numeric scale."""
        return len(self.options) == 1 and not self.kind.places and scale_of(self.scale).numeric

    @property
    def drawn_from(self) -> str | None:
        """The column from which three items (or two) at a time are drawn; None if items have their own options."""
        drawn = len(self.options) == 1 and (self.kind.drawn or self.draws_pairs)
        return self.options[0] if drawn else None

    @property
    def outputs_of(self) -> str | None:
        """The question whose outputs are compared in pairs; None if items have their own options."""
        return self.options[0] if len(self.kind.places) == 2 and len(self.options) == 1 else None

    @property
    def named_outputs(self) -> str | None:
        """What it is about if it is not every item: a question on the scale text, or a column."""
        return self.options[0] if len(self.options) == 1 else self.subject

    @property
    def choices(self) -> tuple[str, ...]:
        """The columns to choose between: those of the items, or those of a drawn triplet or pair."""
        if self.draws_pairs:
            return TRIPLET[:2]
        return TRIPLET if self.drawn_from else PAIR if self.outputs_of else self.options

    @property
    def titles(self) -> tuple[str, ...]:
        """The names of the options in a prompt, in the order displayed."""
        return ("A", "B") if self.draws_pairs else self.kind.titles

    @property
    def subject(self) -> str | None:
        """The question, or the column with the text to mark, that `of` names."""
        return next(iter(self.of)) if isinstance(self.of, dict) else self.of

    @property
    def span_text(self) -> str:
        """The title of a box for a text about each marked span; empty for no box."""
        return next(iter(self.of.values())).strip() if isinstance(self.of, dict) else ""

    @property
    def marked(self) -> str | None:
        """The column of the text in which spans are marked; None for any other question."""
        return self.subject if isinstance(scale_of(self.scale), SpanLabels) else None

    def marked_text(self, fields: Mapping[str, Any]) -> str:
        """Return the text of an item in which spans are marked."""
        value = fields.get(self.marked or "")
        return value if isinstance(value, str) else "" if value is None else str(value)

    def scale_part(self, scale: Scale) -> OnScale | None:
        """Return the part of `by_scale` for a scale, in any spelling of the scale."""
        return next((part for spec, part in self.by_scale.items() if parse_scale(spec) == scale), None)

    def rescaled(self, scale: Scale) -> Question:
        """Return the question for a scale: with the guidelines and meanings that belong to it."""
        own, there = scale == scale_of(self.scale), self.scale_part(scale)
        if own and there is None:
            return self
        guidelines, meanings = [self.guidelines], self.meanings if own else {}
        if there is not None:
            guidelines.append(there.guidelines)
            meanings = meanings if there.meanings is None else there.meanings
        return self.model_copy(update={"guidelines": "\n".join(filter(None, guidelines)), "meanings": meanings})

    def title_of(self, column: str) -> Mapping[str, str]:
        """Return the title of a column on the annotation page, by language; under "" for all others.

        Examples
        --------
        >>> Question(name="q", text="?", scale="1-5", show={"post_text": "Post"}).title_of("post_text")
        {'': 'Post'}
        """
        given = self.show.get(column) if isinstance(self.show, dict) else None
        usual = column.replace("_", " ")
        by_language = {str(language): title for language, title in given.items()} if isinstance(given, dict) else {}
        return {"": by_language.get("en", usual) if given is None or by_language else str(given), **by_language}

    def shown_columns(self, columns: Iterable[str], hidden: Iterable[str] = ()) -> list[str]:
        """Return the columns that are displayed with the options, in their order."""
        never = {*hidden, *(OUTPUT_ABOUT if self.of is not None else ())}
        wanted = list(self.show) if self.show is not None else [c for c in columns if c not in never]
        wanted = wanted if self.subject is None or self.subject in wanted else [*wanted, self.subject]
        drawn = PAIR_ABOUT if self.outputs_of else ()
        return [c for c in wanted if c not in (*self.choices, *TRIPLET_ITEMS, *drawn)]

    def wording(self, columns: Iterable[str], hidden: Iterable[str] = ()) -> dict[str, Any]:
        """Return the visible text and the possible answers: questions that agree in them are one version.

        Its keys on the page, and whether it is optional, do not count. An empty value does not count either, so that a
        key of a later assay changes nothing if it is not used.

        Parameters
        ----------
        columns : list of str
            Columns of the items, which are displayed if the question has no `show`.
        hidden : list of str
            Columns that are never displayed.
        """
        shown = {
            "text": self.text,
            "guidelines": self.guidelines,
            "scale": scale_of(self.scale).spec,
            "meanings": {label: meaning for label, meaning in self.meanings.items() if meaning},
            "show": self.shown_columns(columns, hidden),
            "of": self.subject,
            "span_text": self.span_text,
            "options": list(self.options),
            "fixed": self.orders == "fixed" and bool(self.options),
            "without ties": self.ties is False and bool(self.kind.words),
            "ties": list(self.tie_words),
        }
        return {name: value for name, value in shown.items() if value}

    def option_values(self, value: Any) -> Mapping[str, Any] | None:
        """Return a column's value for each option of a drawn triplet or pair; None if it has one value for all."""
        of_each = isinstance(value, Mapping) and self.drawn_from is not None and set(value) == set(self.choices)
        return value if of_each else None

    def unshuffle(self, label: Label, order: Sequence[str]) -> tuple[Label, int | None]:
        """Return a label for the displayed order in terms of the item's own order, and the chosen place."""
        if order and isinstance(scale := scale_of(self.scale), RankedTexts):
            names = dict(zip(scale.names, (scale.names[self.choices.index(one)] for one in order), strict=True))
            return _reletter(scale, label, names), None
        place = self.kind.place_of(label) if order else None
        if place is None:
            return label, None
        return self.kind.moved_label(label, self.choices.index(order[place])), place + 1

    def shuffle(self, label: Label, order: Sequence[str]) -> Label:
        """Return a label in the item's own order in terms of the displayed order: the inverse of `unshuffle`."""
        if order and isinstance(scale := scale_of(self.scale), RankedTexts):
            names = dict(zip((scale.names[self.choices.index(one)] for one in order), scale.names, strict=True))
            return _reletter(scale, label, names)
        place = self.kind.place_of(label) if order else None
        return label if place is None else self.kind.moved_label(label, order.index(self.choices[place]))


def written_question(asked: Iterable[Question]) -> str | None:
    """Return the question on the scale text that systems answer: the first that another is about; None without one."""
    every = list(asked)
    texts = {one.name for one in every if one.kind.free_text}
    return next((one.named_outputs for one in every if one.named_outputs in texts), None)


def role_of(question: Question, written: str | None) -> Role:
    """Return the role of the items that a question is about.

    Parameters
    ----------
    question : Question
        One that annotators and judges answer.
    written : str, optional
        The question that systems answer, in a study of systems.
    """
    if question.drawn_from is not None:
        return "triplet"
    if written is None or question.outputs_of is not None:
        return "item"
    return "output" if question.subject == written else "source"


def pool_of(question: Question, written: str | None) -> Role:
    """Return the role of the items that are drawn, two or three at a time, for a question with a drawn column."""
    return "item" if written is None else "output" if question.drawn_from == written else "source"


def _reletter(scale: RankedTexts, label: Label, names: Mapping[str, str]) -> Label:
    """Replace the letters of a ranking."""
    found = scale.read([names[one] for one in scale.chosen(label) or ()])
    return label if found is None else found


_SECRET = re.compile(r"key|token|secret|authorization|password|cookie|signature", re.IGNORECASE)
"""Names under which secrets are sent."""

TokenKind = Literal["input", "output", "cached_input", "cache_write", "reasoning"]
"""The kinds of tokens that a provider bills; the last three cost as input, input and output if they have no price."""

N_FOLDS = 5
"""Folds of documents for cross-fitted few-shot examples."""


class Demonstrations(StudyPart):
    """The labelled items in the prompt of a few-shot judge."""

    count: int = Field(4, ge=1, le=100, description="number of few-shot examples")
    use: Literal["cross-fitted", "held-out"] = Field(
        "cross-fitted",
        description="cross-fitted: label every item, with examples from other folds of documents; "
        "held-out: one set of examples for all items, and its documents are not labelled",
    )
    reasons: str | None = Field(
        None,
        description="items' column with reasons: the examples are answered with them, and the judge also gives reasons",
    )

    @property
    def key_parts(self) -> dict[str, Any]:
        """All settings that identify the stored examples; an unused key of a later assay is not among them."""
        kept = {k: v for k, v in self.model_dump(mode="json").items() if k != "reasons" or v is not None}
        return kept | {"folds": N_FOLDS, "label": None}


class RateLimits(StudyPart):
    """Speed limits, for each endpoint; ``max_cost`` for the whole study."""

    concurrency: int = Field(20, ge=1, le=10_000, description="maximum number of concurrent calls")
    requests_per_minute: float | None = Field(None, gt=0, description="maximum number of calls per minute")
    tokens_per_minute: float | None = Field(None, gt=0, description="maximum number of tokens per minute, both ways")
    max_cost: float | None = Field(None, ge=0, description="budget of the study in dollars; no call exceeds it")
    timeout: float = Field(120, gt=0, description="seconds until a call fails")

    def for_judge(self, judge: Judge) -> RateLimits:
        """Return the limits of one judge: its own, otherwise those of the study."""
        return self.model_copy(update=judge.limits.model_dump(exclude_unset=True))


class NamedJudge(StudyPart):
    """The name of a judge, a system or an ensemble, and the seed of the study."""

    name: Name = Field(description="name in the table")
    _seed: int = PrivateAttr(0)

    @property
    def seed(self) -> int:
        """The seed of the study: draws few-shot examples and positions, and breaks ties; never sent to a model."""
        return self._seed


class Judge(NamedJudge):
    """One model with one way to query it."""

    model: str = Field(
        "",
        description="the provider's name of the model; for trained the rater's folder, for python module:function, "
        "for command the program and its options",
    )
    provider: str = Field(
        "openai",
        description="openai (or any endpoint with its chat format at base_url), openai-responses, azure, anthropic, "
        "google, mistral, groq, vllm, ollama, recorded, python, command or trained",
    )
    base_url: str | None = Field(
        None, description="address of the endpoint, with its query if it needs one: http://localhost:11434/v1"
    )
    key: str | None = Field(None, description="NAME of the environment variable with the API key, not the key")
    file: str | None = Field(
        None,
        description="for provider recorded: JSONL file of responses, or the log of an evaluation tool; for a system: "
        "JSONL file of outputs (item, judge, reply), missing ones are generated",
    )
    strategy: Strategy = Field("zero-shot", description="prompting strategy")
    prompt: str | None = Field(None, description="your own prompt: prompts/<name>.txt")
    verbatim: bool = Field(
        False,
        description="send exactly the text of the prompt file with the item's columns: no system turn, no markers "
        "around the item, no further columns",
    )
    demonstrations: Demonstrations = Field(
        default_factory=lambda: Demonstrations.model_validate({}), description="few-shot examples"
    )
    temperature: float | None = Field(
        None, ge=0, le=5, description="sampling temperature; null: the provider's default; for a system 0.5"
    )
    repeats: int = Field(1, ge=1, le=10_000, description="number of calls per question; outputs of a system: 5")
    max_tokens: int | None = Field(
        None, ge=1, description="maximum tokens of a response with its reasoning; null: the provider's limit"
    )
    effort: Effort | None = Field(None, description="reasoning effort")
    score: Score = Field(
        "label",
        description="label: the label in the response; probabilities: also the probability of each label; "
        "expected: their mean, weighted by these probabilities",
    )
    structured: Literal["auto", "never"] = Field("auto", description="whether to request JSON that fits the scale")
    params: dict[str, Any] = Field(default_factory=dict, description="parameters added to the body of every request")
    headers: dict[str, str] = Field(
        default_factory=dict, description="headers added to every request; ${NAME} is read from the environment"
    )
    sibling: str | None = Field(None, description="another model of the same provider, for the probe sibling")
    route: str | Annotated[dict[Literal["rotate"], Annotated[float, Field(ge=0, lt=1)]], Field(min_length=1)] | None = (
        Field(
            None,
            description="a rule written by assay route: the judge labels its queue, annotators label the others; or "
            "{rotate: 0.1}: items are dealt to the judges with this value, and this share of them is asked of all",
        )
    )
    limits: RateLimits = Field(
        default_factory=lambda: RateLimits.model_validate({}),
        description="of this judge, instead of the study's (without max_cost)",
    )
    price: dict[TokenKind, Annotated[float, Field(ge=0)]] | None = Field(
        None,
        description="dollars per million tokens, if assay does not know them: {input: 0.25, output: 2}; "
        "cached_input and cache_write default to input, reasoning to output",
    )

    @property
    def rotates(self) -> float | None:
        """The share of items that all judges of a rotation label; None outside one."""
        return self.route.get("rotate") if isinstance(self.route, dict) else None

    @field_validator("key")
    @classmethod
    def _key_is_a_name(cls, key: str | None) -> str | None:
        if key is not None and not re.fullmatch(r"[A-Z_][A-Z0-9_]*", key):
            raise ValueError(
                "must be the NAME of an environment variable, such as OPENAI_API_KEY; never write a key here"
            )
        return key

    @field_validator("headers")
    @classmethod
    def _headers_without_secrets(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) or re.search(r"[\r\n]", value):
                raise ValueError(f"'{name}' is not a header of one line")
            if _SECRET.search(name) and not re.search(r"\$\{[A-Z_][A-Z0-9_]*\}", value):
                raise ValueError(
                    f"'{name}' may hold a secret: write ${{NAME}}, with the NAME of an environment variable"
                )
        return headers

    @field_validator("base_url")
    @classmethod
    def _url_without_secrets(cls, url: str | None) -> str | None:
        if url is None:
            return None
        address, mark, query = url.partition("?")
        if not re.match(r"https?://[^/\s]+", address):
            raise ValueError("must begin with http:// or https://")
        if "@" in address:
            raise ValueError("must not hold a name or a key; keys come from the environment")
        for name, _ in parse_qsl(query, keep_blank_values=True):
            if _SECRET.search(name):
                raise ValueError(f"must not hold '{name}'; keys come from the environment (key:, or headers:)")
        return address.rstrip("/") + mark + query

    @field_validator("limits")
    @classmethod
    def _budget_is_of_the_study(cls, limits: RateLimits) -> RateLimits:
        if limits.max_cost is not None:
            raise ValueError("max_cost is for the whole study: write it under limits: at the top")
        return limits

    @field_validator("price")
    @classmethod
    def _price_is_whole(cls, price: dict[TokenKind, float] | None) -> dict[TokenKind, float] | None:
        missing = [kind for kind in ("input", "output") if price is not None and kind not in price]
        if missing:
            raise ValueError(f"{missing[0]} is missing: dollars per million tokens")
        return price

    @property
    def address(self) -> str | None:
        """The address of the endpoint without its query."""
        return None if self.base_url is None else self.base_url.partition("?")[0]

    @property
    def query(self) -> dict[str, str]:
        """The query of the endpoint's address."""
        return dict(parse_qsl((self.base_url or "").partition("?")[2], keep_blank_values=True))

    @property
    def function(self) -> str | None:
        """Of provider python, the function."""
        return self.model if self.provider == "python" else None

    @property
    def command(self) -> tuple[str, ...]:
        """Of provider command, the program and its options."""
        return tuple(shlex.split(self.model)) if self.provider == "command" else ()

    @property
    def reasons(self) -> bool:
        """Whether it gives reasons before a label."""
        shown = self.strategy == "few-shot" and self.demonstrations.reasons is not None
        return shown or self.strategy == "chain-of-thought"

    @property
    def is_program(self) -> bool:
        """Whether it is a program of the user's, not a model."""
        return self.provider in ("python", "command")

    def variant(self, condition: dict[str, Any]) -> Judge:
        """Return the judge under a condition (strategy, temperature, prompt)."""
        own = {k: v for k, v in condition.items() if k in ("strategy", "temperature", "prompt")}
        return self.model_copy(update=own) if own else self


class System(Judge):
    """A model whose outputs are compared; it does not judge."""

    @model_validator(mode="before")
    @classmethod
    def _several_outputs(cls, content: Any) -> Any:
        """A system writes several outputs of an item, so its defaults differ from those of a judge."""
        return {"temperature": 0.5, "repeats": 5} | content if isinstance(content, dict) else content

    @field_validator("repeats")
    @classmethod
    def _at_least_two(cls, repeats: int) -> int:
        if not 2 <= repeats <= 100:
            raise ValueError("must be 2 to 100: the outputs of each item")
        return repeats


class OutputPairs(StudyPart):
    """The pairs of systems' outputs that annotators and judges compare."""

    pairs: int = Field(5, ge=1, le=100, description="pairs of outputs, for each item and pair of systems")
    items: int | dict[Choose, int] | None = Field(
        None,
        description="items for each pair of systems, all by default; a number is drawn with probability proportional "
        "to separability, {stratified: 50} equally many per range, {top: 50} are the most separable",
    )
    similarity: str = Field("rouge-1", description="similarity of two outputs, see assay separability")
    _seed: int = PrivateAttr(0)

    @field_validator("items")
    @classmethod
    def _one_choice(cls, items: int | dict[Choose, int] | None) -> int | dict[Choose, int] | None:
        if isinstance(items, dict) and len(items) != 1:
            raise ValueError("must be a number, or one choice with a number: {top: 50}")
        if (number := next(iter(items.values())) if isinstance(items, dict) else items) is not None and number < 1:
            raise ValueError("must be 1 or more")
        return items

    @property
    def seed(self) -> int:
        """The seed of the study: draws items and pairs."""
        return self._seed

    def stored(self) -> dict[str, Any]:
        """Return the choices that identify the drawn pairs, under the names that stores have."""
        kept = self.model_dump(mode="json", include={"pairs", "similarity"})
        return kept | {"items": self.n_items, "choose": self.choose, "seed": self.seed}

    @property
    def n_items(self) -> int | None:
        """The number of items for each pair of systems; None for all."""
        return next(iter(self.items.values())) if isinstance(self.items, dict) else self.items

    @property
    def choose(self) -> Choose:
        """How items are chosen."""
        return next(iter(self.items)) if isinstance(self.items, dict) else "weighted"


class Ensemble(NamedJudge):
    """A judge computed from the labels of others."""

    of: tuple[str, ...] = Field(min_length=1, description="judges whose labels (all repeats and orders) are combined")
    rule: Literal["majority", "mean", "median"] = Field("majority", description="how to combine their labels")


def _judge_or_ensemble(value: Any) -> str:
    return "ensemble" if isinstance(value, Ensemble) or (isinstance(value, dict) and "of" in value) else "judge"


AnyJudge = Annotated[
    Annotated[Judge, Tag("judge")] | Annotated[Ensemble, Tag("ensemble")], Discriminator(_judge_or_ensemble)
]


class Conditions(StudyPart):
    """Experimental conditions: every combination is run, and each is a column of the table."""

    scale: tuple[str, ...] = Field((), description="scales, instead of the scale of every numeric question")
    temperature: tuple[float, ...] | dict[Literal["judges", "systems"], tuple[float, ...]] = Field(
        (),
        description="temperatures of judges; {systems: [0.5, 1]}: of systems, which write their outputs at every one; "
        "the outputs at the first are compared",
    )
    prompt: tuple[str, ...] = Field((), description="names of files in prompts/; 'default' is assay's own prompt")
    strategy: tuple[Strategy, ...] = Field((), description="prompting strategies of judges")
    show: dict[Name, tuple[str, ...]] = Field(
        default_factory=dict,
        description="item columns that judges see with the options, by a name that you choose: "
        "{without: [], with: [topic]}",
    )

    @property
    def temperatures(self) -> Mapping[str, tuple[float, ...]]:
        """The temperatures of ``judges`` and of ``systems``."""
        if isinstance(self.temperature, dict):
            return {"judges": self.temperature.get("judges", ()), "systems": self.temperature.get("systems", ())}
        return {"judges": self.temperature, "systems": ()}

    def stored(self) -> dict[str, Any]:
        """Return the conditions that identify a judge's prompts, under the names that stores have."""
        of = {"temperature": self.temperatures["judges"], "system_temperature": self.temperatures["systems"]}
        return self.model_dump(mode="json") | {name: list(values) for name, values in of.items()}

    def crossed(self) -> dict[str, tuple[Any, ...]]:
        """Return the values of each condition of judges that varies."""
        names = ("scale", "temperature", "prompt", "strategy", "show")
        values = {name: tuple(getattr(self, name)) for name in names} | {"temperature": self.temperatures["judges"]}
        return {name: value for name, value in values.items() if value}

    @field_validator("scale")
    @classmethod
    def _scales_are_numbers(cls, scales: tuple[str, ...]) -> tuple[str, ...]:
        for scale in scales:
            if not _parse(scale).numeric:
                raise ValueError(f"'{scale}' is not a numeric scale; only numeric scales can be crossed")
        return scales


Probe = Literal["repeat", "swapped", "padded", "stripped", "hint", "sibling"]
"""A further call with one change that should not change the label."""


# The number of checks is the reason for a share: one wrong answer of two is not yet a rate.
CHECKS_FOR_SHARE = 5
"""Checks that an annotator has answered before the share of failed ones counts."""


class Checks(StudyPart):
    """Attention checks: items with a known answer among the others."""

    file: str = Field(
        description="a table like that of the items, with the known answers in columns named after the questions"
    )
    every: int = Field(10, ge=2, description="items from one check to the next")
    most_failed: Annotated[float, Field(ge=0)] | None = Field(
        None,
        description="an annotator who fails more checks gets no further items; below 1 a share of the checks answered, "
        f"from {CHECKS_FOR_SHARE} on; no limit by default",
    )
    exclude: bool = Field(
        False, description="whether to exclude the answers of annotators who failed, and give their places to others"
    )

    @field_validator("most_failed")
    @classmethod
    def _count_or_share(cls, most: float | None) -> float | None:
        if most is not None and most >= 1 and most != int(most):
            raise ValueError("must be a whole number of checks, or a share below 1")
        return most

    @property
    def has_limit(self) -> bool:
        """Whether an annotator can fail too many checks."""
        return self.most_failed is not None

    def too_many(self, failed: int, of: int) -> bool:
        """Return whether someone has failed too many of the checks that they answered."""
        if self.most_failed is None:
            return False
        if 0 < self.most_failed < 1:
            return of >= CHECKS_FOR_SHARE and failed / of > self.most_failed
        return failed > self.most_failed


Outcome = Literal["completed", "screened", "full", "failed", "late", "returned", "withdrawn", "repeated"]
"""How a participant's visit ends: all answered; screened out; no place left; failed checks or practice; out of time;
returned the place; withdrew consent, so that nothing of theirs is used; came again after they had completed it, which
is not recorded."""

PLATFORMS: dict[str, Platform] = {
    "prolific": Platform(
        ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"),
        "https://app.prolific.com/submissions/complete?cc={code}",
        "{{%%%s%%}}",
        "[0-9a-f]{24}",
    ),
    # Its address has one parameter, prolific_token, in which Prolific signs these.
    "prolific-signed": Platform(
        ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"),
        "https://app.prolific.com/submissions/complete?cc={code}",
        "{{%%%s%%}}",
        "[0-9a-f]{24}",
    ),
    "mturk": Platform(("workerId", "assignmentId", "hitId"), "", "${%s}", "A[A-Z0-9]{9,30}"),
    "other": Platform(("id",), "", "<%s>"),
    "open": Platform((), "", ""),
}
"""By name; ``open`` is for anyone with the address, and requires no id."""


@dataclass(frozen=True)
class Pay:
    """Payments: an amount for the outcome of a visit, and for the work done."""

    currency: str = "USD"
    completed: float = 0.0
    screened: float = 0.0
    failed: float = 0.0
    late: float = 0.0
    item: float = 0.0
    hour: float = 0.0


PaidFor = Literal["completed", "screened", "failed", "late", "item", "hour"]
"""The reason of a payment: an outcome, or each answered item or hour of work of those whose answers count."""


class Crowd(StudyPart):
    """Participants who come by a public address, as from Prolific or Mechanical Turk, not by invitation."""

    platform: Literal["prolific", "prolific-signed", "mturk", "other", "open"] = Field(
        "other",
        description="sets the URL parameters and the return address; prolific-signed: Prolific's secured address, "
        "whose signature is checked; open: no id, one place per browser",
    )
    parameters: tuple[str, ...] | None = Field(
        None,
        description="URL parameters to store, first the participant's id (not for open): PROLIFIC_PID, STUDY_ID, "
        "SESSION_ID; workerId, assignmentId, hitId; else id. With other ones the form of ids is not checked",
    )
    places: int = Field(ge=1, description="maximum number of participants at work or finished")
    minutes: float | None = Field(None, gt=0, description="minutes from entry until a place is given to someone else")
    codes: dict[Outcome, Annotated[str, Field(min_length=1, pattern=r"^[\w.-]+$")]] = Field(
        default_factory=dict,
        description="completion code by outcome; without one for completed or late, each participant gets their own",
    )
    back: str | None = Field(
        None, description="return address, with {code}, {outcome} or a stored parameter: https://example.org/?cc={code}"
    )

    @field_validator("back")
    @classmethod
    def _back_is_an_address(cls, back: str | None) -> str | None:
        if back is not None and not re.match(r"https?://[^/\s]+", back):
            raise ValueError("must begin with http:// or https://")
        return back

    @property
    def _parameters(self) -> tuple[str, ...]:
        return PLATFORMS[self.platform].parameters if self.parameters is None else self.parameters

    @property
    def id_parameter(self) -> str:
        """The parameter with the participant's id; empty if there is none."""
        return "" if self.platform == "open" else next(iter(self._parameters), "")

    @property
    def signed(self) -> bool:
        """Whether the platform signs the parameters."""
        return self.platform == "prolific-signed"

    @property
    def id_form(self) -> str:
        """The regular expression of the platform's participant ids; empty with ``parameters`` of the study's own."""
        return PLATFORMS[self.platform].id_form if self.parameters is None else ""

    @property
    def stored_parameters(self) -> tuple[str, ...]:
        """The other parameters that are stored."""
        return self._parameters if self.platform == "open" else self._parameters[1:]

    @property
    def return_address(self) -> str:
        """The return address; empty if there is none."""
        return PLATFORMS[self.platform].back if self.back is None else self.back

    @property
    def query(self) -> str:
        """The query of the address, as the platform fills it in: ``?PROLIFIC_PID={{%PROLIFIC_PID%}}``."""
        form = PLATFORMS[self.platform].form
        names = [name for name in (self.id_parameter, *self.stored_parameters) if name]
        return "?" + "&".join(f"{name}={form % name}" for name in names) if names else ""


PAGE_RESERVED_MINUTES = 30.0
"""Minutes until an item that was given and not answered is given to someone else."""

IDLE_SECONDS = 60.0
"""Seconds without a key, touch or mouse that no longer count as work."""

LINK_DAYS = 90.0
"""Days until a personal link expires."""

RETEST_GAP = 10
"""Other items between the two times of a repeated item, if there are enough."""

SKIP_REASONS = ("I cannot tell", "The item is broken or unreadable", "I would rather not answer")  # dialect: kept
"""Reasons to skip an item, as the pages' catalogues translate them."""


def _answer_texts(value: Any) -> Any:
    """Numbers as text, at any depth: the answers of a question to the person."""
    if isinstance(value, dict):
        return {str(key): _answer_texts(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_answer_texts(inner) for inner in value]
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


class People(StudyPart):
    """The annotators: which items they label, in which order, and the texts before the first item."""

    consent: str = Field("", description="displayed first; no one answers without agreeing to it")
    keep_until: date | None = Field(
        None, description="last day on which names and answers are kept (2027-06-30), displayed with the consent"
    )
    instructions: str = Field("", description="Markdown, displayed on every page with one key")
    language: Language | None = Field(
        None, description="language of the pages; by default each person's browser, or the person, chooses"
    )
    overlap: int | dict[Name, int | dict[str, int]] | None = Field(
        None,
        description="annotators per item, by default all; per group, by an attribute of annotators: "
        "{job: {nurse: 2, doctor: 1}}, or {job: 2} for each group",
    )
    quota: int | None = Field(None, ge=1, description="items per annotator, in each session")
    order: str = Field(
        "shuffled",
        description="shuffled for each person, fixed (as listed), or a table whose items (column item) come first, "
        "such as the queue.csv of assay route, before the others, shuffled",
    )
    together: bool = Field(False, description="display all items of a document on one page")
    days_apart: float = Field(0, ge=0, description="days between sessions; each scale of conditions.scale is a session")
    warm_up: str | dict[str, Annotated[float, Field(gt=0, le=1)]] | None = Field(
        None,
        description="practice items with feedback, before all others: a table like that of checks; {warm-up.csv: 0.8} "
        "also requires this share right at the first answer",
    )
    tries: int = Field(
        1,
        ge=1,
        le=10,
        description="times that a person can try the questions with a right answer, and required practice",
    )
    ask: dict[Stage, dict[Name, dict[str, Options]]] = Field(
        default_factory=dict,
        description="questions to the person, by the column that they become: {before: {age: {How old are you?: "
        "18-99}, gender: {Your gender?: [woman, man, other]}}, after: {remarks: {Remarks?: text}}}. {screening: "
        "{native: {Is English your first language?: {yes: true, no: false}}}} admits; before, a wrong answer (false, "
        "or a text, which is shown) is asked again",
    )
    checks: Checks | None = Field(None, description="attention checks")
    crowd: Crowd | None = Field(None, description="participants who come by a public address")
    pay: dict[Annotated[str, Field(pattern=r"^[A-Z]{3}$")], dict[PaidFor, Annotated[float, Field(ge=0)]]] = Field(
        default_factory=dict,
        max_length=1,
        description="payments, in one currency: {GBP: {completed: 2.50, screened: 0.15, failed: 0, late: 0, item: 0, "
        "hour: 0}}",
    )
    retest: float = Field(0, ge=0, le=1, description="share of an annotator's items to repeat")
    pairs: int = Field(3, ge=1, description="for triplets: how often each pair of items is displayed")
    ahead: int = Field(4, ge=1, le=50, description="pages loaded in advance in the browser, for network failures")
    least_seconds: float = Field(
        0, ge=0, le=600, description="seconds that an item is on the screen before its first answer can be saved"
    )
    until: datetime | Annotated[str, Field(pattern=r"^\d+(\.\d+)? days?$")] | None = Field(
        None,
        description="end of annotation, for all annotators: 2027-03-01T18:00+01:00; or for each, from the invitation: "
        "14 days, after which the places go to others",
    )
    after_change: Literal["keep", "ask-again"] = Field(
        "keep",
        description="keep: a new question comes with further items only, and a changed text is not asked again; "
        "ask-again: annotators get both for the items that they have answered",
    )
    _seed: int = PrivateAttr(0)

    _asked: dict[str, tuple[PersonQuestion, ...]] = PrivateAttr(default_factory=dict)

    def asked(self, stage: Stage) -> tuple[PersonQuestion, ...]:
        """Return the questions to the person at one stage."""
        return self._asked.get(stage, ())

    @field_validator("ask", mode="before")
    @classmethod
    def _answers_are_text(cls, ask: Any) -> Any:
        return _answer_texts(ask) if isinstance(ask, dict) else ask

    @model_validator(mode="after")
    def _read_questions_to_person(self) -> People:
        taken: set[str] = set()
        for stage, named in self.ask.items():
            found = []
            for name, asked in named.items():
                if name in RESERVED or name in taken:
                    why = "is used twice" if name in taken else "is a column of the table"
                    raise ValueError(f"ask: '{name}' {why}; choose another name")
                if len(asked) != 1:
                    raise ValueError(
                        f"ask: '{name}' must be one question with its answers: {{How old are you?: 18-99}}"
                    )
                taken.add(name)
                ((text, options),) = asked.items()
                found.append(person_question(name, text, options))
            self._asked[stage] = tuple(found)
        return self

    @property
    def seed(self) -> int:
        """The seed of the study: draws orders and positions."""
        return self._seed

    @property
    def group(self) -> str | None:
        """The attribute of annotators by which overlap counts."""
        return next(iter(self.overlap)) if isinstance(self.overlap, dict) else None

    @property
    def per_item(self) -> int | dict[str, int] | None:
        """Annotators per item, or of each group; None for all."""
        return next(iter(self.overlap.values())) if isinstance(self.overlap, dict) else self.overlap

    @property
    def first(self) -> str | None:
        """The table whose items come before all others."""
        return None if self.order in ("shuffled", "fixed") else self.order

    @property
    def practice_file(self) -> str | None:
        """The table of practice items."""
        return next(iter(self.warm_up), None) if isinstance(self.warm_up, dict) else self.warm_up

    @property
    def practice_share(self) -> float | None:
        """The share of practice items that must be right at the first answer."""
        return next(iter(self.warm_up.values()), None) if isinstance(self.warm_up, dict) else None

    @property
    def payment(self) -> Pay:
        """The payments with their currency."""
        return next((Pay(currency, **amounts) for currency, amounts in self.pay.items()), Pay())

    @property
    def end(self) -> datetime | None:
        """The end of annotation for all annotators."""
        return self.until if isinstance(self.until, datetime) else None

    @property
    def days(self) -> float | None:
        """Days of each annotator, from the invitation."""
        return float(self.until.split()[0]) if isinstance(self.until, str) else None

    @field_validator("until", mode="before")
    @classmethod
    def _until_has_a_zone(cls, until: Any) -> Any:
        if isinstance(until, str) and re.fullmatch(r"[\d.]+ days?", until.strip()):
            if not float(until.split()[0]) > 0:
                raise ValueError("must be more than 0 days")
            return until.strip()
        try:
            end = datetime.fromisoformat(until) if isinstance(until, str) else until
        except ValueError:
            raise ValueError(
                f"'{until}' is neither a date with a time zone (2027-03-01T18:00+01:00) nor a number of days (14 days)"
            ) from None
        if isinstance(end, datetime) and end.tzinfo is None:
            raise ValueError(f"needs a time zone, as in {end:%Y-%m-%dT%H:%M}+01:00 (or Z)")
        if isinstance(end, int | float):
            raise ValueError(f"'{until}' has no unit; write 'until: {until} days', or a date with a time zone")
        return end

    @field_validator("order")
    @classmethod
    def _order_is_known(cls, order: str) -> str:
        if order not in ("shuffled", "fixed") and "." not in order:
            raise ValueError(f"'{order}' is neither shuffled nor fixed nor a table such as queue.csv")
        return order

    @field_validator("overlap", "warm_up", mode="before")
    @classmethod
    def _one_entry(cls, value: Any) -> Any:
        if isinstance(value, dict) and len(value) != 1:
            raise ValueError("must have one entry")
        return value

    @field_validator("overlap")
    @classmethod
    def _at_least_one(cls, overlap: Any) -> Any:
        (wanted,) = overlap.values() if isinstance(overlap, dict) else [overlap]
        counts = wanted.values() if isinstance(wanted, dict) else [1 if wanted is None else wanted]
        if any(count < 0 for count in counts) or not any(counts):
            raise ValueError("must be at least 1")
        return overlap


class StudyFile(StudyPart):
    """The whole of study.yaml."""

    name: str = Field("", description="name of the study on its pages; its folder by default")
    items: ItemsPart = Field(
        default_factory=lambda: ItemsPart.model_validate({}),
        description="the items; a text is their file: posts.xlsx",
    )
    questions: tuple[Question, ...] = Field(min_length=1, description="the questions about each item")
    systems: tuple[System, ...] = Field((), description="models whose outputs are compared in pairs")
    comparisons: OutputPairs = Field(
        default_factory=lambda: OutputPairs.model_validate({}), description="the pairs of outputs"
    )
    judges: tuple[AnyJudge, ...] = Field((), description="models that label, and ensembles of them")
    conditions: Conditions = Field(
        default_factory=lambda: Conditions.model_validate({}), description="experimental conditions"
    )
    probes: dict[Probe, Annotated[int, Field(ge=1)]] = Field(
        default_factory=dict,
        description="further calls on a random sample of items, with its size: {swapped: 50, hint: 50}. repeat: the "
        "same call; swapped: options in the opposite order; padded: the lines of a text as a list; stripped: without "
        "Markdown; hint: with a random label of someone else; sibling: the judge's other model",
    )
    limits: RateLimits = Field(default_factory=lambda: RateLimits.model_validate({}), description="speed and budget")
    people: People = Field(default_factory=lambda: People.model_validate({}), description="the annotators")
    analyses: int | None = Field(
        None, ge=1, le=100, description="number of planned interim analyses, with the final one"
    )
    labels: str | None = Field(None, description="a file of human labels: item, annotator, label")
    store: str | None = Field(None, description="the study's database: postgresql://host/name (no password)")
    seed: int = Field(0, description="random seed: draws orders, positions, few-shot examples, pairs and probes")

    @property
    def written(self) -> str | None:
        """The question that systems answer; None in a study without systems."""
        return written_question(self.questions) if self.systems else None

    @property
    def compares_outputs(self) -> bool:
        """Whether pairs of the systems' outputs are compared."""
        return any(one.outputs_of is not None for one in self.questions)

    @property
    def single_outputs(self) -> bool:
        """Whether outputs are items: a question is about each of them, or draws several of them."""
        written = self.written
        return written is not None and any(written in (one.subject, one.drawn_from) for one in self.questions)

    @field_validator("store")
    @classmethod
    def _no_password(cls, store: str | None) -> str | None:
        if store and re.search(r"//[^/@]*:[^/@]*@", store):
            raise ValueError("must not hold a password; use PGPASSWORD, ~/.pgpass or --store")
        return store

    @model_validator(mode="after")
    def _share_seed(self) -> StudyFile:
        """One seed for all parts."""
        for part in (self.people, self.comparisons, *self.systems, *self.judges):
            part._seed = self.seed
        return self
