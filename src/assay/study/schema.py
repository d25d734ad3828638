"""What study.yaml may say: its keys, their defaults, and what each of them means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, field_validator, model_validator

from assay.data.scales import Label, Listed, Nominal, Preference, RankedTexts, Scale, SpanLabels, parse_scale
from assay.errors import DataError

# -- what each kind of answer makes of a question --------------------------------------------------------
# A kind that is not listed is answered with a label of its scale, by number or from a list, and needs no row.

Orders = Literal["all", "shuffled", "fixed"]


@dataclass(frozen=True)
class Kind:
    """One kind of answer.

    Attributes
    ----------
    places : tuple of labels
        For each option, in the item's own order, the label that chooses it; empty where there are no options.
    titles : tuple of str
        The names of the options in a prompt, in the order shown.
    order : {"all", "shuffled"}
        How the options' order is varied where the question does not say.
    drawn : bool
        Whether one column may be named, of which the options are drawn while people answer.
    words : dict
        What models read and write, and the page sends, for a label; as it is where none are given.
    told : dict
        What people read for a label; as it is where none are given.
    free_text : bool
        Whether the reply itself is the label.
    lists : bool
        Whether an answer is a list, of which the table makes several labels.
    """

    places: tuple[Label, ...] = ()
    titles: tuple[str, ...] = ()
    order: Orders = "shuffled"
    drawn: bool = False
    words: Mapping[Label, str] = field(default_factory=dict)
    told: Mapping[Label, str] = field(default_factory=dict)
    free_text: bool = False
    lists: bool = False

    def place_of(self, label: Label) -> int | None:
        """Which of the options a label chooses, from 0, a preference by its sign; None where it chooses none."""
        number = label if label in self.places or isinstance(label, str) else (label > 0) - (label < 0)
        return self.places.index(number) if number in self.places else None

    def at_place(self, label: Label, place: int) -> Label:
        """The label that says of the option at another place what this one says of its own."""
        if isinstance(label, str) or label in self.places:
            return self.places[place]
        return abs(label) * int(self.places[place])

    def allowed(self, words: Mapping[Label, str]) -> str:
        """Words for what a label may be: ``first, second or tie``."""
        *some, last = words.values()
        return f"{', '.join(some)} or {last}"


KINDS: dict[str, Kind] = {
    "preference": Kind(
        places=(-1, 1),
        titles=("first", "second"),
        order="all",
        words={-1: "first", 1: "second", 0: "tie"},
        told={-1: "left", 1: "right", 0: "no preference"},
    ),
    "odd-one-out": Kind(places=("A", "B", "C"), titles=("A", "B", "C"), drawn=True),
    "text": Kind(free_text=True),
    "several": Kind(lists=True),
    "spans": Kind(lists=True),
}
"""By the name of the scale."""

_PLAIN = Kind()


def listed_labels(scale: Scale) -> tuple[Label, ...]:
    """The labels to choose from, one or several; empty where they are not listed."""
    return scale.names if isinstance(scale, Listed) else scale.categories or ()


def kind_of(scale: Scale) -> Kind:
    """What a scale makes of a question."""
    if isinstance(scale, RankedTexts):
        return _ranked_kind(scale)
    return _graded_kind(scale) if isinstance(scale, Preference) and scale.grades else KINDS.get(scale.kind, _PLAIN)


@lru_cache(maxsize=10)
def _ranked_kind(scale: RankedTexts) -> Kind:
    """Texts that are ranked have letters."""
    return Kind(places=scale.names, titles=scale.names, lists=True)


@lru_cache(maxsize=1000)
def _graded_kind(scale: Preference) -> Kind:
    """A preference with grades: models write ``first: much better``."""
    told: dict[Label, str] = {
        int(n): f"{'left' if int(n) < 0 else 'right'}: {scale.grades[abs(int(n)) - 1]}" if n else "no preference"
        for n in scale.categories
    }
    return replace(KINDS["preference"], words={n: scale.word(n) for n in scale.categories}, told=told)


# -- what study.yaml may say -----------------------------------------------------------------------------

TRIPLET = ("first", "second", "third")
"""The columns of a triplet that was drawn: the three items' texts."""

TRIPLET_ITEMS = tuple(f"{place}_item" for place in TRIPLET)
"""The columns of a triplet that name its three items; never shown, as names may tell who wrote."""

PAIR = ("first_text", "second_text")
"""The columns of a pair that was drawn: an output of each of two systems."""

PAIR_ABOUT = ("first", "second", "first_output", "second_output", "pair_of", "pair", "separability")
"""What else is known of a pair: the systems, which of their outputs, the item they are of; never shown."""


PLAN_FILE = "plan.yaml"
"""What was decided of the verdict before there were labels, in the study's folder."""

LOOKS = "looks"
"""The setting of a study's store that keeps its looks: the fingerprint of the labels, the number of items, the time."""


def items_at_look(n_items: int, look: int, looks: int) -> int:
    """Items at a look: planned looks come after equal steps."""
    return round(n_items * min(look, looks) / looks)


@dataclass(frozen=True)
class Platform:
    """Where a crowd comes from: its parameter for a person, those kept beside it, the way back, how it writes them."""

    id: str
    keep: tuple[str, ...]
    back: str
    form: str


BOTH_OR_NEITHER = ("both", "neither")
"""Of a tie, in the column ``tie`` of the table: whether both or neither are acceptable."""

Language = Literal["en", "de", "es", "zh", "ar"]
Strategy = Literal["zero-shot", "few-shot", "chain-of-thought"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Score = Literal["label", "probabilities", "expected"]
Choose = Literal["weighted", "stratified", "top"]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^\S(.*\S)?$")]


def scale_of(scale: str | tuple[str, ...] | list[str]) -> Scale:
    """The scale that a question names: one line, or a list of categories."""
    return _read_scale(scale if isinstance(scale, str) else tuple(scale))


@lru_cache(maxsize=1000)
def _read_scale(scale: str | tuple[str, ...]) -> Scale:
    """Looked for several times at every reply."""
    return parse_scale(scale) if isinstance(scale, str) else Nominal(scale)


class StudyPart(BaseModel):
    """A part of study.yaml: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _parse(scale: str | tuple[str, ...]) -> Scale:
    """The scale that is named, or an error that pydantic reports with its place."""
    try:
        return scale_of(scale)
    except DataError as error:
        raise ValueError(str(error)) from None


def _text_values(by_label: Any) -> Any:
    return {str(k): str(v).strip() for k, v in by_label.items()} if isinstance(by_label, dict) else by_label


def _strip_ends(text: Any) -> Any:
    """Spaces at the ends of lines say nothing, so they make no other question."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines()) if isinstance(text, str) else text


def rubric_words(points: Sequence[str]) -> str:
    """A rubric as it is read."""
    return "\n".join(f"- {' '.join(one.split())}" for one in points)


class ItemsPart(StudyPart):
    """Where the items are and what their columns mean."""

    file: str = Field("items.csv", description="CSV, TSV, JSON, JSONL or Parquet, one row an item")
    id: str = Field("item", description="the column that names the item")
    document: str | None = Field(
        None, description="the column that names the document an item was taken from; kept from demonstrations"
    )
    images: tuple[str, ...] = Field((), description="columns that hold the path or URL of an image")
    media: tuple[str, ...] = Field((), description="columns that hold the path of an audio or video, shown to people")
    captions: dict[str, str] = Field(
        default_factory=dict, description="by a column of media, the column with the path of its captions (WebVTT)"
    )
    media_hosts: tuple[str, ...] = Field(
        (), description="hosts from which people's browsers fetch media that the items name by an https address"
    )
    markdown: tuple[str, ...] = Field(
        (),
        description="columns that people see laid out as Markdown: with tables and code, without HTML and images",
    )
    formulas: bool = Field(False, description="LaTeX between $ signs, or in \\(…\\), in those columns is laid out")

    @field_validator("media_hosts")
    @classmethod
    def _hosts_are_hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for one in hosts:
            if not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+(:\d+)?", one):
                raise ValueError(f"'{one}' is no host; write it without https:// and path, such as cdn.example.org")
        return hosts

    @property
    def file_columns(self) -> tuple[str, ...]:
        """The columns that hold the path of a file: images, media, captions."""
        return (*self.images, *self.media, *self.captions.values())

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns that are never shown themselves."""
        return (*([self.document] if self.document is not None else []), *self.captions.values())


class OnScale(StudyPart):
    """What belongs to one of the scales on which a question is asked."""

    guidelines: str = Field("", description="read after the question's own, on this scale alone")
    meanings: dict[str, str] | None = Field(
        None, description="what a label of this scale means, in place of the question's own; {} for none"
    )

    _labels_are_text = field_validator("meanings", mode="before")(_text_values)
    _ends_do_not_matter = field_validator("guidelines", mode="before")(_strip_ends)


class Question(StudyPart):
    """One question (criterion), asked about every item."""

    name: Name = Field(description="what the question is called in the table: its criterion")
    text: str = Field(min_length=1, description="the question itself")
    scale: str | tuple[str, ...] = Field(
        description="1-5, interval:0-100, ordinal:low<mid<high, nominal:yes,no, text, preference, "
        "preference:slightly better<much better, odd-one-out, several:food,price (all that apply), ranking, "
        "spans:person,place (parts of a text), or a list of categories"
    )
    guidelines: str = Field("", description="what to heed in answering; people and judges read the same")
    rubric: tuple[str, ...] = Field((), description="points to weigh, read as a list at the end of the guidelines")
    meanings: dict[str, str] = Field(default_factory=dict, description="what a label means, by label")
    show: tuple[str, ...] | None = Field(None, description="columns shown; all others are kept back")
    of: str | None = Field(
        None, description="for spans: the column of the text in which they are marked; where show names one, that"
    )
    options: tuple[str, ...] = Field(
        (),
        description="the two or three columns to choose between, or three to nine to rank; for odd-one-out, one column "
        "of which three items are drawn while people answer; for preference, one question on the scale text whose "
        "outputs are compared; on a scale of numbers, one column of which judges compare every two items",
    )
    order: Orders | None = Field(
        None,
        description="options are asked in all orders (default for a preference), in one that is drawn "
        "(default for odd-one-out), or as listed",
    )
    ties: bool | Literal["people", "both-or-neither"] = Field(
        True,
        description="for preference: whether no preference is an answer; false: first or second alone; people: people "
        "may answer so, and judges must choose; both-or-neither: people say which, both are acceptable or neither",
    )
    optional: bool = Field(False, description="people may leave it without an answer")
    keys: dict[str, str] = Field(default_factory=dict, description="the key that gives a label on people's page")
    by_scale: dict[str, OnScale] = Field(
        default_factory=dict, description="guidelines and meanings that belong to a scale of conditions.scale, by scale"
    )

    _ends_do_not_matter = field_validator("text", "guidelines", mode="before")(_strip_ends)
    _labels_are_text = field_validator("meanings", "keys", mode="before")(_text_values)

    @model_validator(mode="before")
    @classmethod
    def _rubric_ends_guidelines(cls, content: Any) -> Any:
        """People and judges read it where they read guidelines, whoever words the rest."""
        points = content.get("rubric") if isinstance(content, dict) else None
        if not isinstance(points, list | tuple) or not points or not all(isinstance(one, str) for one in points):
            return content
        said, ending = _strip_ends(content.get("guidelines") or ""), rubric_words(points)
        return content | {"guidelines": said if said.endswith(ending) else f"{said}\n\n{ending}".strip()}

    @model_validator(mode="before")
    @classmethod
    def _ranking_is_of_its_options(cls, content: Any) -> Any:
        """How many are ranked is said by the options."""
        if not isinstance(content, dict) or content.get("scale") != "ranking":
            return content
        options = content.get("options") or ()
        return content | {"scale": f"ranking:{len(options) if isinstance(options, list | tuple) else 1}"}

    @model_validator(mode="before")
    @classmethod
    def _spans_are_of_the_text_shown(cls, content: Any) -> Any:
        """Where one column is shown, spans are of that."""
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
        """What the scale makes of the question."""
        return kind_of(scale_of(self.scale))

    def judge_words(self, scale: Scale) -> Mapping[Label, str]:
        """What a judge reads and writes for a label, where it is not the label itself."""
        return {label: word for label, word in kind_of(scale).words.items() if label not in self.closed}

    def page_words(self, words: Mapping[Label, str]) -> Mapping[Label, str]:
        """Of the words that people read or send, those that may be their answer."""
        open_to_people = self.ties is True or self.ties == "people" or not self.kind.words
        return words if open_to_people else {label: word for label, word in words.items() if label != 0}

    @property
    def tie_words(self) -> tuple[str, ...]:
        """What people say in place of no preference: kept beside the label, which is that of a tie."""
        return BOTH_OR_NEITHER if self.ties == "both-or-neither" else ()

    @property
    def closed(self) -> frozenset[Label]:
        """Labels of the scale that a judge may not give."""
        return frozenset({0}) if self.ties in (False, "people") and self.kind.words else frozenset()

    @property
    def orders(self) -> Orders:
        """How the options' order is varied, with the default of the scale; of pairs that are drawn, one is drawn."""
        default: Orders = "shuffled" if self.outputs_of else self.kind.order
        return default if self.order is None else self.order

    @property
    def draws_pairs(self) -> bool:
        """Whether it is asked of two items at a time, of one column: how alike they are, on a scale of numbers."""
        return len(self.options) == 1 and not self.kind.places and scale_of(self.scale).numeric

    @property
    def drawn_from(self) -> str | None:
        """The column of which three items (or two) at a time are drawn; None where items bring their own options."""
        drawn = len(self.options) == 1 and (self.kind.drawn or self.draws_pairs)
        return self.options[0] if drawn else None

    @property
    def outputs_of(self) -> str | None:
        """The question whose outputs are compared, two at a time; None where items bring their own options."""
        return self.options[0] if len(self.kind.places) == 2 and len(self.options) == 1 else None

    @property
    def choices(self) -> tuple[str, ...]:
        """The columns to choose between: those of the items, or those of a triplet or pair that was drawn."""
        if self.draws_pairs:
            return TRIPLET[:2]
        return TRIPLET if self.drawn_from else PAIR if self.outputs_of else self.options

    @property
    def titles(self) -> tuple[str, ...]:
        """The names of the options in a prompt, in the order shown."""
        return ("A", "B") if self.draws_pairs else self.kind.titles

    @property
    def marked(self) -> str | None:
        """The column of the text in which spans are marked; None for any other question."""
        return self.of if isinstance(scale_of(self.scale), SpanLabels) else None

    def marked_text(self, fields: Mapping[str, Any]) -> str:
        """The text of an item in which spans are marked."""
        value = fields.get(self.marked or "")
        return value if isinstance(value, str) else "" if value is None else str(value)

    def part_on(self, scale: Scale) -> OnScale | None:
        """What `by_scale` has for a scale, however it is written there."""
        return next((part for spec, part in self.by_scale.items() if parse_scale(spec) == scale), None)

    def on(self, scale: Scale) -> Question:
        """The question as it is asked on a scale: with the guidelines and meanings that belong to it."""
        own, there = scale == scale_of(self.scale), self.part_on(scale)
        if own and there is None:
            return self
        guidelines, meanings = [self.guidelines], self.meanings if own else {}
        if there is not None:
            guidelines.append(there.guidelines)
            meanings = meanings if there.meanings is None else there.meanings
        return self.model_copy(update={"guidelines": "\n".join(filter(None, guidelines)), "meanings": meanings})

    def shown_columns(self, columns: Iterable[str], hidden: Iterable[str] = ()) -> list[str]:
        """The columns that are shown beside the options, in their order."""
        wanted = self.show if self.show is not None else [c for c in columns if c not in set(hidden)]
        marked = self.marked
        wanted = wanted if marked is None or marked in wanted else [*wanted, marked]
        drawn = PAIR_ABOUT if self.outputs_of else ()
        return [c for c in wanted if c not in (*self.choices, *TRIPLET_ITEMS, *drawn)]

    def wording(self, columns: Iterable[str], hidden: Iterable[str] = ()) -> dict[str, Any]:
        """What people see of it and which answers are possible: questions that agree in this are one version.

        Its keys, and whether it may be left open, are not part of it. What is empty is no part of it either, so that a
        key of a later assay changes nothing where it is not used.

        Parameters
        ----------
        columns : list of str
            Those of the items, which are shown where the question does not say what is.
        hidden : list of str
            Columns that are never shown.
        """
        shown = {
            "text": self.text,
            "guidelines": self.guidelines,
            "scale": scale_of(self.scale).spec,
            "meanings": {label: meaning for label, meaning in self.meanings.items() if meaning},
            "show": self.shown_columns(columns, hidden),
            "of": self.marked,
            "options": list(self.options),
            "fixed": self.orders == "fixed" and bool(self.options),
            "without ties": self.ties is False and bool(self.kind.words),
            "ties": list(self.tie_words),
        }
        return {name: value for name, value in shown.items() if value}

    def by_place(self, value: Any) -> Mapping[str, Any] | None:
        """What a column says of each option of a triplet or pair that was drawn; None where it says one of all."""
        of_each = isinstance(value, Mapping) and self.drawn_from is not None and set(value) == set(self.choices)
        return value if of_each else None

    def unshuffle(self, label: Label, order: Sequence[str]) -> tuple[Label, int | None]:
        """A label given for the order shown, in terms of the item's own order; and the place that was chosen."""
        if order and isinstance(scale := scale_of(self.scale), RankedTexts):
            names = dict(zip(scale.names, (scale.names[self.choices.index(one)] for one in order), strict=True))
            return _reletter(scale, label, names), None
        place = self.kind.place_of(label) if order else None
        if place is None:
            return label, None
        return self.kind.at_place(label, self.choices.index(order[place])), place + 1

    def shuffle(self, label: Label, order: Sequence[str]) -> Label:
        """A label in the item's own order, in terms of the order shown: the way back from `unshuffled`."""
        if order and isinstance(scale := scale_of(self.scale), RankedTexts):
            names = dict(zip((scale.names[self.choices.index(one)] for one in order), scale.names, strict=True))
            return _reletter(scale, label, names)
        place = self.kind.place_of(label) if order else None
        return label if place is None else self.kind.at_place(label, order.index(self.choices[place]))


def _reletter(scale: RankedTexts, label: Label, names: Mapping[str, str]) -> Label:
    """A ranking with its letters replaced."""
    found = scale.read([names[one] for one in scale.chosen(label) or ()])
    return label if found is None else found


_SECRET = re.compile(r"key|token|secret|authorization|password|cookie|signature", re.IGNORECASE)
"""Names under which secrets are sent."""


class Price(StudyPart):
    """What a model costs, in dollars a million tokens."""

    input: float = Field(ge=0, description="of tokens that are sent")
    output: float = Field(ge=0, description="of tokens that come back")
    cached_input: float | None = Field(
        None, ge=0, description="of prompt tokens that the service read from its cache; as input where it is missing"
    )
    cache_write: float | None = Field(
        None, ge=0, description="of prompt tokens that it wrote to its cache; as input where it is missing"
    )
    reasoning: float | None = Field(None, ge=0, description="of tokens of reasoning; as output where it is missing")


class Demonstrations(StudyPart):
    """The labelled items that a few-shot judge is shown."""

    count: int = Field(4, ge=1, le=100, description="how many")
    use: Literal["cross-fitted", "held-out"] = Field(
        "cross-fitted",
        description="cross-fitted: every item is judged, with demonstrations from other folds of documents; "
        "held-out: one set for all, and its documents are not judged",
    )
    label: Literal["majority", "mean"] | None = Field(
        None, description="which of the people's labels is shown; mean where labels are fractions, else majority"
    )
    reasons: str | None = Field(
        None, description="the items' column of reasons: demonstrations are answered with it, and the judge reasons too"
    )
    folds: int = Field(5, ge=2, description="into how many folds documents fall, when cross-fitted")

    @property
    def named(self) -> dict[str, Any]:
        """All of it, by which what was drawn is found again; a key of a later assay names nothing while it is empty."""
        return {k: v for k, v in self.model_dump(mode="json").items() if k != "reasons" or v is not None}


CONCURRENCY = "calls in flight at once, at most"
REQUESTS = "calls that begin in a minute, at most"
TOKENS = "tokens sent and expected back in a minute, at most"
TIMEOUT = "seconds until a call counts as lost"
LOADING = "seconds to wait for a server that takes no calls yet, as one that loads its model"
TRIES = "how often a call is made before a busy service is given up"


class JudgeLimits(StudyPart):
    """How fast one judge is asked; what is missing is as for the study."""

    concurrency: int | None = Field(None, ge=1, le=10_000, description=CONCURRENCY)
    requests_per_minute: float | None = Field(None, gt=0, description=REQUESTS)
    tokens_per_minute: float | None = Field(None, gt=0, description=TOKENS)
    timeout: float | None = Field(None, gt=0, description=TIMEOUT)
    loading: float | None = Field(None, ge=0, description=LOADING)
    tries: int | None = Field(None, ge=1, description=TRIES)


class Judge(StudyPart):
    """One model, asked in one way."""

    name: Name = Field(description="what the judge is called in the table")
    model: str = Field("", description="the model's name, as its provider writes it; of a trained rater its folder")
    provider: str = Field(
        "openai",
        description="openai (or anything that speaks its chat format at base_url), openai-responses, azure, anthropic, "
        "google, mistral, groq, vllm, ollama, recorded, python, command, trained, …",
    )
    base_url: str | None = Field(None, description="where the endpoint is: http://localhost:11434/v1 …")
    key: str | None = Field(None, description="NAME of the environment variable that holds the key, not the key")
    file: str | None = Field(
        None, description="for provider recorded: the JSONL file of replies, or the log of an evaluation tool"
    )
    function: str | None = Field(
        None, description="for provider python: module:function, beside study.yaml or installed"
    )
    command: tuple[str, ...] = Field((), description="for provider command: the program and its options, as a list")
    strategy: Strategy = Field("zero-shot", description="how the model is asked")
    prompt: str | None = Field(None, description="a prompt of your own: prompts/<name>.txt")
    demonstrations: Demonstrations = Field(default_factory=lambda: Demonstrations.model_validate({}))
    temperature: float | None = Field(None, ge=0, le=5, description="null: the service's own")
    repeats: int = Field(1, ge=1, le=10_000, description="how often each question is asked")
    seed: int = Field(0, description="draws demonstrations and positions; is not sent to the model")
    max_tokens: int | None = Field(
        None, ge=1, description="tokens of a reply and its reasoning, at most; null: what the service allows"
    )
    max_tokens_as: Literal["max_tokens", "max_completion_tokens"] | None = Field(
        None, description="what the model calls max_tokens, where the wrong name would be sent"
    )
    effort: Effort | None = Field(
        None, description="how much the model thinks before it answers, by its provider's means"
    )
    score: Score = Field(
        "label",
        description="label: the one that is said; probabilities: that, with the probability of each label beside it; "
        "expected: their mean over the labels' probabilities",
    )
    structured: Literal["auto", "never"] = Field(
        "auto", description="whether the endpoint may be asked for JSON that fits the scale"
    )
    params: dict[str, Any] = Field(default_factory=dict, description="sent with every request as they are")
    headers: dict[str, str] = Field(
        default_factory=dict, description="sent with every call; ${NAME} is taken from the environment"
    )
    query: dict[str, str] = Field(default_factory=dict, description="added to the address: {api-version: 2024-10-21}")
    sibling: str | None = Field(None, description="another model of the same provider, for the probe sibling")
    route: str | None = Field(
        None,
        description="a rule of assay route: the judge keeps the items of which it is sure, the others are people's",
    )
    limits: JudgeLimits = Field(
        default_factory=lambda: JudgeLimits.model_validate({}), description="of this judge, in place of the study's"
    )
    price: Price | None = Field(None, description="where the kept table does not know it")

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
                raise ValueError(f"'{name}' is no header of one line")
            if _SECRET.search(name) and not re.search(r"\$\{[A-Z_][A-Z0-9_]*\}", value):
                raise ValueError(
                    f"'{name}' may hold a secret: write ${{NAME}}, with the NAME of an environment variable"
                )
        return headers

    @field_validator("query", mode="before")
    @classmethod
    def _query_is_text(cls, query: Any) -> Any:
        for name in query if isinstance(query, dict) else ():
            if _SECRET.search(str(name)):
                raise ValueError(f"must not hold '{name}'; keys come from the environment (key:, or headers:)")
        return {str(k): str(v) for k, v in query.items()} if isinstance(query, dict) else query

    @field_validator("base_url")
    @classmethod
    def _url_without_secrets(cls, url: str | None) -> str | None:
        if url is None:
            return None
        if not re.match(r"https?://[^/\s]+", url):
            raise ValueError("must begin with http:// or https://")
        if "@" in url or "?" in url:
            raise ValueError("must not hold a name, a key or a query; keys come from the environment")
        return url.rstrip("/")

    @field_validator("function")
    @classmethod
    def _function_is_named(cls, function: str | None) -> str | None:
        if function is not None and not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", function):
            raise ValueError("must be module:function, as in rules:stars")
        return function

    @property
    def reasons(self) -> bool:
        """Whether it is to reason before it gives a label."""
        shown = self.strategy == "few-shot" and self.demonstrations.reasons is not None
        return shown or self.strategy == "chain-of-thought"

    @property
    def is_program(self) -> bool:
        """Whether it is a program of the user's, and no model."""
        return self.provider in ("python", "command")

    def variant(self, condition: dict[str, Any]) -> Judge:
        """The judge as it is asked under a condition (strategy, temperature, prompt)."""
        own = {k: v for k, v in condition.items() if k in ("strategy", "temperature", "prompt")}
        return self.model_copy(update=own) if own else self


class System(Judge):
    """A model whose outputs are compared: it writes, and judges nothing."""

    temperature: float | None = Field(0.5, ge=0, le=5, description="null: the service's own")
    repeats: int = Field(5, ge=2, le=100, description="outputs of each item")
    file: str | None = Field(
        None, description="a JSONL file of outputs (item, judge, reply); other models are asked for what it lacks"
    )


class OutputPairs(StudyPart):
    """Which outputs of the systems are put before people and judges."""

    pairs: int = Field(5, ge=1, le=100, description="pairs of outputs, for each item and every two systems")
    items: int | None = Field(
        None, ge=1, description="items for every two systems, chosen by separability; all where it is missing"
    )
    choose: Choose = Field(
        "weighted",
        description="weighted: the more separable, the likelier; stratified: the same number from each range; "
        "top: the most separable",
    )
    similarity: str = Field("rouge-1", description="how alike two outputs are, see assay separability")
    temperature: float | None = Field(
        None, ge=0, le=5, description="of conditions.system_temperature, the one whose outputs are compared; the first"
    )
    seed: int = Field(0, description="draws items and pairs")


class Ensemble(StudyPart):
    """A judge made of the others' answers: asks nothing itself."""

    name: Name = Field(description="what it is called in the table")
    of: tuple[str, ...] = Field(min_length=1, description="judges whose answers (all repeats and orders) count")
    rule: Literal["majority", "mean", "median"] = Field("majority", description="what their answers become")
    seed: int = Field(0, description="breaks ties")


def _judge_or_ensemble(value: Any) -> str:
    return "ensemble" if isinstance(value, Ensemble) or (isinstance(value, dict) and "of" in value) else "judge"


AnyJudge = Annotated[
    Annotated[Judge, Tag("judge")] | Annotated[Ensemble, Tag("ensemble")], Discriminator(_judge_or_ensemble)
]


class Conditions(StudyPart):
    """What is varied on purpose: every combination is asked, each a column of the table."""

    scale: tuple[str, ...] = Field((), description="replace the scale of every question on numbers")
    temperature: tuple[float, ...] = Field((), description="of judges")
    prompt: tuple[str, ...] = Field((), description="names of files in prompts/; 'default' is assay's own")
    strategy: tuple[Strategy, ...] = Field((), description="how judges are asked")
    show: dict[Name, tuple[str, ...]] = Field(
        default_factory=dict,
        description="which of the items' columns judges are shown beside the options, by a name of your own: "
        "{without: [], with: [topic]}",
    )
    system_temperature: tuple[float, ...] = Field(
        (), description="of systems, in place of their own: each writes its outputs at every one of them"
    )

    @field_validator("scale")
    @classmethod
    def _scales_are_numbers(cls, scales: tuple[str, ...]) -> tuple[str, ...]:
        for scale in scales:
            if not _parse(scale).numeric:
                raise ValueError(f"'{scale}' is not a scale of numbers; only those can be crossed")
        return scales


Probe = Literal["repeat", "swapped", "padded", "stripped", "hint", "sibling"]
"""What may be asked of a judge once more, with one thing changed that should change nothing."""


class Probes(StudyPart):
    """What judges are asked once more on a sample of the items, to see what moves them."""

    of: tuple[Probe, ...] = Field(
        min_length=1,
        description="repeat: the same call; swapped: options in the opposite order; padded: the lines of a text as a "
        "list; stripped: without Markdown; hint: told that somebody gave a label, drawn by chance; sibling: the "
        "judge's other model",
    )
    sample: int = Field(50, ge=1, description="items that are asked about, drawn by seed")
    seed: int = Field(0, description="draws the sample, and the labels of hints")


class RateLimits(StudyPart):
    """How fast and how far, for each endpoint; ``max_cost`` for the whole study."""

    concurrency: int = Field(20, ge=1, le=10_000, description=CONCURRENCY)
    requests_per_minute: float | None = Field(None, gt=0, description=REQUESTS)
    tokens_per_minute: float | None = Field(None, gt=0, description=TOKENS)
    max_cost: float | None = Field(None, ge=0, description="dollars; no call is begun once they are spent")
    timeout: float = Field(120, gt=0, description=TIMEOUT)
    loading: float = Field(300, ge=0, description=LOADING)
    tries: int = Field(8, ge=1, description=TRIES)
    unreadable: int | None = Field(
        20, ge=5, description="unreadable replies in a row that stop their judge; null: none do"
    )

    def of_judge(self, judge: Judge) -> RateLimits:
        """The limits of one judge: its own, and the study's for the rest."""
        return self.model_copy(update=judge.limits.model_dump(exclude_none=True))


class Checks(StudyPart):
    """Items whose answer is known, put among the others to see who reads them."""

    file: str = Field(
        description="a table like that of the items, with the known answers in columns named as questions"
    )
    every: int = Field(10, ge=2, description="items from one check to the next")
    most_failed: int | None = Field(
        None, ge=0, description="whoever fails more checks is given nothing more; without it, nobody is stopped"
    )
    most_failed_share: float | None = Field(
        None, ge=0, lt=1, description="the same for whoever fails a larger share of the checks that they answered"
    )
    share_from: int = Field(
        5, ge=1, description="checks that a person has answered before a share of them is looked at"
    )
    exclude: bool = Field(
        False, description="the answers of whoever is stopped so do not count, and their places go to others"
    )

    @property
    def stops(self) -> bool:
        """Whether anybody is stopped for checks that they fail."""
        return self.most_failed is not None or self.most_failed_share is not None

    def too_many(self, failed: int, of: int) -> bool:
        """Whether somebody has failed more checks than they may, of those that they answered."""
        many = self.most_failed is not None and failed > self.most_failed
        share = self.most_failed_share is not None and of >= self.share_from and failed / of > self.most_failed_share
        return many or share


Outcome = Literal["completed", "screened", "full", "failed", "late", "returned", "withdrawn"]
"""How the visit of somebody from a crowd ends: all answered; not let in by the screening question; no place was left;
failed checks or practice; out of time; gave the place back; wants nothing of theirs to be used."""

PLATFORMS: dict[str, Platform] = {
    "prolific": Platform(
        "PROLIFIC_PID",
        ("STUDY_ID", "SESSION_ID"),
        "https://app.prolific.com/submissions/complete?cc={code}",
        "{{%%%s%%}}",
    ),
    "mturk": Platform("workerId", ("assignmentId", "hitId"), "", "${%s}"),
    "other": Platform("id", (), "", "<%s>"),
    "open": Platform("", (), "", ""),
}
"""By name; ``open`` is for whoever has the address, and asks for no id."""


class Screening(StudyPart):
    """A question that decides who is let in."""

    question: str = Field(min_length=1, description="asked before anything else")
    options: tuple[str, ...] = Field(min_length=2, description="the answers offered")
    let_in: tuple[str, ...] = Field(min_length=1, description="those of the options that let a person in")
    attribute: Name | None = Field(None, description="keeps the answer as this attribute of the person")


class Pay(StudyPart):
    """What people are paid: an amount for how it ended, and for what they did."""

    currency: str = Field("USD", pattern=r"^[A-Z]{3}$", description="of all amounts, in three letters")
    completed: float = Field(0, ge=0, description="to whoever has finished")
    screened: float = Field(0, ge=0, description="to whoever the screening question did not let in")
    failed: float = Field(0, ge=0, description="to whoever failed the checks or the practice")
    item: float = Field(0, ge=0, description="for each answered item of those whose answers count")
    hour: float = Field(0, ge=0, description="for each hour at work of those whose answers count")


class Crowd(StudyPart):
    """Who comes by an address that everybody has, as from Prolific or Mechanical Turk, and is not invited by name."""

    platform: Literal["prolific", "mturk", "other", "open"] = Field(
        "other", description="names the parameters and the way back; open: no id, one place for a browser"
    )
    id: str | None = Field(
        None, description="the parameter of the address that names a person: PROLIFIC_PID, workerId, else id"
    )
    keep: tuple[str, ...] | None = Field(
        None, description="parameters that are kept beside it: STUDY_ID, SESSION_ID; assignmentId, hitId"
    )
    places: int = Field(ge=1, description="how many people may be at work or have finished")
    minutes: float | None = Field(None, gt=0, description="from entry until a place goes to somebody else")
    screening: Screening | None = None
    codes: dict[Outcome, Annotated[str, Field(min_length=1, pattern=r"^[\w.-]+$")]] = Field(
        default_factory=dict,
        description="what is shown at the end, by outcome; where completed has none, each person who has "
        "completed is shown a code of their own",
    )
    back: str | None = Field(
        None, description="the address that leads back, with {code}, {outcome}, or a parameter that is kept in it"
    )

    @field_validator("back")
    @classmethod
    def _back_is_an_address(cls, back: str | None) -> str | None:
        if back is not None and not re.match(r"https?://[^/\s]+", back):
            raise ValueError("must begin with http:// or https://")
        return back

    @property
    def named(self) -> str:
        """The parameter that names a person; empty where none does."""
        return PLATFORMS[self.platform].id if self.id is None else self.id

    @property
    def kept(self) -> tuple[str, ...]:
        """The parameters that are kept beside it."""
        return PLATFORMS[self.platform].keep if self.keep is None else self.keep

    @property
    def way_back(self) -> str:
        """The address that leads back; empty where there is none."""
        return PLATFORMS[self.platform].back if self.back is None else self.back

    @property
    def query(self) -> str:
        """What stands behind the address, as the platform fills it in: ``?PROLIFIC_PID={{%PROLIFIC_PID%}}``."""
        form = PLATFORMS[self.platform].form
        names = [name for name in (self.named, *self.kept) if name]
        return "?" + "&".join(f"{name}={form % name}" for name in names) if names else ""


class People(StudyPart):
    """How people are asked: who gets what, in which order, and what they read first."""

    consent: str = Field("", description="shown first; nobody answers who has not agreed to it")
    keep_until: date | None = Field(
        None,
        description="the day (2027-06-30) until which names and answers are kept, said with the consent",
    )
    instructions: str = Field("", description="one key away on every page")
    language: Language | None = Field(
        None,
        description="of the pages' own words; each person's browser, or they themselves, choose where it is missing",
    )
    overlap: int | dict[str, int] | None = Field(
        None, description="how many people answer each item, or how many of each group; all of them where it is missing"
    )
    group: str | None = Field(None, description="the attribute of annotators by which overlap is counted")
    quota: int | None = Field(None, ge=1, description="items for one person, in each session")
    order: Literal["shuffled", "fixed"] = Field("shuffled", description="items are drawn for each person, or as listed")
    first: str | None = Field(
        None, description="a table whose items (column item) come before all others, such as the queue of assay route"
    )
    together: bool = Field(False, description="all items of a document stand on one page")
    days_apart: float = Field(0, ge=0, description="between sessions, where conditions.scale makes one for each scale")
    warm_up: str | None = Field(None, description="a table like that of checks: done first, with feedback")
    pass_warm_up: float | None = Field(
        None, gt=0, le=1, description="share of warm_up to be right at the first answer, before anything else is given"
    )
    checks: Checks | None = None
    crowd: Crowd | None = None
    pay: Pay = Field(default_factory=lambda: Pay.model_validate({}))
    retest: float = Field(0, ge=0, le=1, description="share of items that a person is given a second time")
    retest_gap: int = Field(10, ge=1, description="other items between the two times, where there are enough")
    pairs: int = Field(3, ge=1, description="how often each pair is seen, where triplets are drawn")
    skip_reasons: tuple[str, ...] = Field(
        ("I cannot tell", "The item is broken or unreadable", "I would rather not answer"),
        description="why somebody may skip an item",
    )
    auto_advance: bool = Field(
        False, description="the key that answers the last open question of a page saves it and goes on"
    )
    ahead: int = Field(4, ge=1, le=50, description="pages held ready in the browser, for when the network fails")
    reserve: float = Field(30, gt=0, description="minutes until an item that was given and not answered is given on")
    idle: float = Field(60, gt=0, description="seconds without a key, touch or mouse that no longer count as work")
    until: datetime | None = Field(None, description="when answering ends, for everybody: 2027-03-01T18:00+01:00")
    days: float | None = Field(
        None, gt=0, description="from a person's invitation until their time is over, and their places go to others"
    )
    link_days: float = Field(90, gt=0, description="how long a personal link is good")
    added_questions: Literal["new-items", "all-items"] = Field(
        "new-items",
        description="a question added while people answer comes with further items, or also, alone, with those "
        "that they answered before",
    )
    new_text: Literal["keep", "ask-again"] = Field(
        "keep",
        description="where an item's text changes, whoever had it goes on with the old one, or is asked again",
    )
    seed: int = Field(0, description="draws orders and positions")

    @field_validator("until")
    @classmethod
    def _until_has_a_zone(cls, until: datetime | None) -> datetime | None:
        if until is not None and until.tzinfo is None:
            raise ValueError(f"needs a time zone, as in {until:%Y-%m-%dT%H:%M}+01:00 (or Z)")
        return until

    @field_validator("overlap")
    @classmethod
    def _at_least_one(cls, overlap: int | dict[str, int] | None) -> int | dict[str, int] | None:
        counts = overlap.values() if isinstance(overlap, dict) else [1 if overlap is None else overlap]
        if any(count < 0 for count in counts) or not any(counts):
            raise ValueError("must be at least 1")
        return overlap


class StudyFile(StudyPart):
    """The whole of study.yaml."""

    name: str = Field("", description="what the study is called on its pages; its folder where it is missing")
    items: ItemsPart = Field(default_factory=lambda: ItemsPart.model_validate({}))
    questions: tuple[Question, ...] = Field(min_length=1, description="what is asked about each item")
    systems: tuple[System, ...] = Field((), description="models whose outputs are compared, two at a time")
    comparisons: OutputPairs = Field(default_factory=lambda: OutputPairs.model_validate({}))
    judges: tuple[AnyJudge, ...] = Field((), description="models that are asked, and judges made of their answers")
    conditions: Conditions = Field(default_factory=lambda: Conditions.model_validate({}))
    probes: Probes | None = None
    limits: RateLimits = Field(default_factory=lambda: RateLimits.model_validate({}))
    people: People = Field(default_factory=lambda: People.model_validate({}))
    looks: int | None = Field(
        None, ge=1, le=100, description="how often a verdict is asked for while labels come in, the last time included"
    )
    labels: str | None = Field(None, description="a file of labels that people gave: item, annotator, label")
    store: str | None = Field(None, description="a database elsewhere: postgresql://host/name (no password)")

    @field_validator("store")
    @classmethod
    def _no_password(cls, store: str | None) -> str | None:
        if store and re.search(r"//[^/@]*:[^/@]*@", store):
            raise ValueError("must not hold a password; use PGPASSWORD, ~/.pgpass or --store")
        return store
