"""What is asked of whom: a study's folder and its ``study.yaml``.

A folder holds ``study.yaml`` (items, questions, judges, conditions, limits), the items, prompts of
one's own, the labels that people gave, and the database in which every answer is kept.
"""

from __future__ import annotations

import csv
import difflib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, field_validator

from assay.data.scales import Label, Nominal, Scale, parse_scale
from assay.errors import DataError, StudyError, listing, unknown

if TYPE_CHECKING:
    from assay.data.annotations import Annotations
    from assay.study.store import Store

TRIPLET = ("first", "second", "third")
"""The columns of a triplet that was drawn: the three items' texts."""

TRIPLET_ITEMS = tuple(f"{place}_item" for place in TRIPLET)
"""The columns of a triplet that name its three items; never shown, as names may tell who wrote."""

Strategy = Literal["zero-shot", "few-shot", "chain-of-thought"]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^\S(.*\S)?$")]

STUDY_FILE = "study.yaml"
SCHEMA_FILE = "study.schema.json"
STORE_FILE = "study.db"


class _Part(BaseModel):
    """A part of study.yaml: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ItemsPart(_Part):
    """Where the items are and what their columns mean."""

    file: str = Field("items.csv", description="CSV, TSV, JSON, JSONL or Parquet, one row an item")
    id: str = Field("item", description="the column that names the item")
    document: str | None = Field(
        None, description="the column that names the document an item was taken from; kept from demonstrations"
    )
    images: tuple[str, ...] = Field((), description="columns that hold the path or URL of an image")


class Question(_Part):
    """One question (criterion), asked about every item."""

    name: Name = Field(description="what the question is called in the table: its criterion")
    text: str = Field(min_length=1, description="the question itself")
    scale: str | tuple[str, ...] = Field(
        description="1-5, interval:0-100, ordinal:low<mid<high, nominal:yes,no, text, preference, "
        "odd-one-out, or a list of categories"
    )
    guidelines: str = Field("", description="what to heed in answering; people and judges read the same")
    meanings: dict[str, str] = Field(default_factory=dict, description="what a label means, by label")
    show: tuple[str, ...] | None = Field(None, description="columns shown; all others are kept back")
    options: tuple[str, ...] = Field(
        (),
        description="the two or three columns to choose between; for odd-one-out, one column of which three items "
        "are drawn while people answer",
    )
    order: Literal["all", "shuffled", "fixed"] | None = Field(
        None,
        description="options are asked in all orders (default for a preference), in one that is drawn "
        "(default for odd-one-out), or as listed",
    )
    optional: bool = Field(False, description="people may leave it without an answer")
    keys: dict[str, str] = Field(default_factory=dict, description="the key that gives a label on people's page")

    @field_validator("meanings", "keys", mode="before")
    @classmethod
    def _labels_are_text(cls, by_label: Any) -> Any:
        return {str(k): str(v) for k, v in by_label.items()} if isinstance(by_label, dict) else by_label

    @field_validator("scale")
    @classmethod
    def _scale_is_one(cls, scale: str | tuple[str, ...]) -> str | tuple[str, ...]:
        try:
            scale_of(scale)
        except DataError as error:
            raise ValueError(str(error)) from None
        return scale

    @property
    def orders(self) -> Literal["all", "shuffled", "fixed"]:
        """How the options' order is varied, with the default of the scale."""
        if self.order is not None:
            return self.order
        return "all" if scale_of(self.scale).kind == "preference" else "shuffled"

    @property
    def drawn_from(self) -> str | None:
        """The column of which three items at a time are drawn; None where items bring their own options."""
        return self.options[0] if scale_of(self.scale).kind == "odd-one-out" and len(self.options) == 1 else None

    @property
    def choices(self) -> tuple[str, ...]:
        """The columns to choose between: those of the items, or those of a triplet that was drawn."""
        return TRIPLET if self.drawn_from else self.options

    def shown_columns(self, columns: Iterable[str], hidden: Iterable[str] = ()) -> list[str]:
        """The columns that are shown beside the options, in their order."""
        wanted = self.show if self.show is not None else [c for c in columns if c not in set(hidden)]
        return [c for c in wanted if c not in (*self.choices, *TRIPLET_ITEMS)]

    def unshuffled(self, label: Label, order: Sequence[str]) -> tuple[Label, int | None]:
        """A label given for the order shown, in terms of the item's own order; and the place that was chosen."""
        if not order or label == 0:
            return label, None
        pair = len(self.choices) == 2
        place = {-1: 0, 1: 1}[int(label)] if pair else "ABC".index(str(label))
        own = self.choices.index(order[place])
        return ((-1, 1)[own] if pair else "ABC"[own]), place + 1

    def shuffled(self, label: Label, order: Sequence[str]) -> Label:
        """A label in the item's own order, in terms of the order shown: the way back from `unshuffled`."""
        if not order or label == 0:
            return label
        if len(self.choices) == 2:
            return (-1, 1)[order.index(self.choices[0 if label == -1 else 1])]
        return "ABC"[order.index(self.choices["ABC".index(str(label))])]


class Price(_Part):
    """What a model costs, in dollars a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class Demonstrations(_Part):
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
    folds: int = Field(5, ge=2, description="into how many folds documents fall, when cross-fitted")


class Judge(_Part):
    """One model, asked in one way."""

    name: Name = Field(description="what the judge is called in the table")
    model: str = Field("", description="the model's name, as its provider writes it")
    provider: str = Field(
        "openai",
        description="openai (or anything that speaks its chat format at base_url), recorded, anthropic, google, …",
    )
    base_url: str | None = Field(None, description="where the endpoint is: http://localhost:11434/v1 …")
    key: str | None = Field(None, description="NAME of the environment variable that holds the key, not the key")
    file: str | None = Field(None, description="for provider recorded: the JSONL file of replies")
    strategy: Strategy = Field("zero-shot", description="how the model is asked")
    prompt: str | None = Field(None, description="a prompt of your own: prompts/<name>.txt")
    demonstrations: Demonstrations = Field(default_factory=lambda: Demonstrations.model_validate({}))
    temperature: float | None = Field(None, ge=0, le=5)
    repeats: int = Field(1, ge=1, le=10_000, description="how often each question is asked")
    seed: int = Field(0, description="draws demonstrations and positions; is not sent to the model")
    max_tokens: int | None = Field(None, ge=1)
    structured: Literal["auto", "never"] = Field(
        "auto", description="whether the endpoint may be asked for JSON that fits the scale"
    )
    params: dict[str, Any] = Field(default_factory=dict, description="sent with every request as they are")
    price: Price | None = Field(None, description="where the kept table does not know it")

    @field_validator("key")
    @classmethod
    def _key_is_a_name(cls, key: str | None) -> str | None:
        if key is not None and not re.fullmatch(r"[A-Z_][A-Z0-9_]*", key):
            raise ValueError(
                "must be the NAME of an environment variable, such as OPENAI_API_KEY; never write a key here"
            )
        return key

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

    def variant(self, condition: dict[str, Any]) -> Judge:
        """The judge as it is asked under a condition (strategy, temperature, prompt)."""
        own = {k: v for k, v in condition.items() if k in ("strategy", "temperature", "prompt")}
        return self.model_copy(update=own) if own else self


class Ensemble(_Part):
    """A judge made of the others' answers: asks nothing itself."""

    name: Name
    of: tuple[str, ...] = Field(min_length=1, description="judges whose answers (all repeats and orders) count")
    rule: Literal["majority", "mean", "median"] = "majority"
    seed: int = Field(0, description="breaks ties")


def _judge_or_ensemble(value: Any) -> str:
    return "ensemble" if isinstance(value, Ensemble) or (isinstance(value, dict) and "of" in value) else "judge"


AnyJudge = Annotated[
    Annotated[Judge, Tag("judge")] | Annotated[Ensemble, Tag("ensemble")], Discriminator(_judge_or_ensemble)
]


class Conditions(_Part):
    """What is varied on purpose: every combination is asked, each a column of the table."""

    scale: tuple[str, ...] = Field((), description="replace the scale of every question on numbers")
    temperature: tuple[float, ...] = ()
    prompt: tuple[str, ...] = Field((), description="names of files in prompts/; 'default' is assay's own")
    strategy: tuple[Strategy, ...] = ()

    @field_validator("scale")
    @classmethod
    def _scales_are_numbers(cls, scales: tuple[str, ...]) -> tuple[str, ...]:
        for scale in scales:
            try:
                numeric = parse_scale(scale).numeric
            except DataError as error:
                raise ValueError(str(error)) from None
            if not numeric:
                raise ValueError(f"'{scale}' is not a scale of numbers; only those can be crossed")
        return scales


class Limits(_Part):
    """How fast and how far, for each endpoint; ``max_cost`` for the whole study."""

    concurrency: int = Field(20, ge=1, le=10_000, description="calls in flight at once, at most")
    requests_per_minute: float | None = Field(None, gt=0)
    tokens_per_minute: float | None = Field(None, gt=0)
    max_cost: float | None = Field(None, ge=0, description="dollars; no call is begun once they are spent")
    timeout: float = Field(120, gt=0, description="seconds until a call counts as lost")
    tries: int = Field(8, ge=1, description="how often a call is made before a busy service is given up")


class Checks(_Part):
    """Items whose answer is known, put among the others to see who reads them."""

    file: str = Field(
        description="a table like that of the items, with the known answers in columns named as questions"
    )
    every: int = Field(10, ge=2, description="one after so many items")


class People(_Part):
    """How people are asked: who gets what, in which order, and what they read first."""

    consent: str = Field("", description="shown first; nobody answers who has not agreed to it")
    instructions: str = Field("", description="one key away on every page")
    overlap: int | dict[str, int] | None = Field(
        None, description="how many people answer each item, or how many of each group; all of them where it is missing"
    )
    group: str | None = Field(None, description="the attribute of annotators by which overlap is counted")
    quota: int | None = Field(None, ge=1, description="items for one person, in each session")
    order: Literal["shuffled", "fixed"] = Field("shuffled", description="items are drawn for each person, or as listed")
    together: bool = Field(False, description="all items of a document stand on one page")
    days_apart: float = Field(0, ge=0, description="between sessions, where conditions.scale makes one for each scale")
    warm_up: str | None = Field(None, description="a table like that of checks: done first, with feedback")
    checks: Checks | None = None
    retest: float = Field(0, ge=0, le=1, description="share of items that a person is given a second time")
    retest_gap: int = Field(10, ge=1, description="so many other items lie between the two, where there are as many")
    pairs: int = Field(3, ge=1, description="how often each pair is seen, where triplets are drawn")
    skip_reasons: tuple[str, ...] = ("I cannot tell", "The item is broken or unreadable", "I would rather not answer")
    ahead: int = Field(4, ge=1, le=50, description="pages held ready in the browser, for when the network fails")
    reserve: float = Field(30, gt=0, description="minutes until an item that was given and not answered is given on")
    idle: float = Field(60, gt=0, description="seconds without a key, touch or mouse that no longer count as work")
    link_days: float = Field(90, gt=0, description="how long a personal link is good")
    seed: int = Field(0, description="draws orders and positions")

    @field_validator("overlap")
    @classmethod
    def _at_least_one(cls, overlap: int | dict[str, int] | None) -> int | dict[str, int] | None:
        counts = overlap.values() if isinstance(overlap, dict) else [1 if overlap is None else overlap]
        if any(count < 0 for count in counts) or not any(counts):
            raise ValueError("must be at least 1")
        return overlap


class StudyFile(_Part):
    """The whole of study.yaml."""

    name: str = ""
    items: ItemsPart = Field(default_factory=lambda: ItemsPart.model_validate({}))
    questions: tuple[Question, ...] = Field(min_length=1)
    judges: tuple[AnyJudge, ...] = ()
    conditions: Conditions = Field(default_factory=lambda: Conditions.model_validate({}))
    limits: Limits = Field(default_factory=lambda: Limits.model_validate({}))
    people: People = Field(default_factory=lambda: People.model_validate({}))
    labels: str | None = Field(None, description="a file of labels that people gave: item, annotator, label")
    store: str | None = Field(None, description="a database elsewhere: postgresql://host/name (no password)")

    @field_validator("store")
    @classmethod
    def _no_password(cls, store: str | None) -> str | None:
        if store and re.search(r"//[^/@]*:[^/@]*@", store):
            raise ValueError("must not hold a password; use PGPASSWORD, ~/.pgpass or --store")
        return store


@dataclass(frozen=True)
class Item:
    """One thing to be judged: its name, its document, its columns."""

    name: str
    document: str | None
    fields: dict[str, Any]


@dataclass(frozen=True)
class KnownItem:
    """An item whose answers are known: an attention check, or one to warm up on."""

    item: Item
    known: dict[str, Label]
    """The known answer, by question; a question that is missing has none."""
    feedback: str
    """What a person is told after answering, while warming up."""


@dataclass(frozen=True)
class Study:
    """A study folder whose ``study.yaml`` has been read and checked."""

    folder: Path
    config: StudyFile

    @property
    def judges(self) -> tuple[Judge, ...]:
        """The judges that are asked."""
        return tuple(j for j in self.config.judges if isinstance(j, Judge))

    @property
    def ensembles(self) -> tuple[Ensemble, ...]:
        """The judges that are made of others' answers."""
        return tuple(j for j in self.config.judges if isinstance(j, Ensemble))

    @property
    def question_names(self) -> tuple[str, ...]:
        """The criteria, in the order of the file."""
        return tuple(q.name for q in self.config.questions)

    @cached_property
    def prompts(self) -> dict[str, str]:
        """Texts of the prompt files, by name."""
        folder = self.folder / "prompts"
        files = sorted(folder.glob("*.txt")) + sorted(folder.glob("*.md"))
        return {file.stem: file.read_text(encoding="utf-8") for file in files}

    def items(self) -> Iterator[Item]:
        """The items in the order of their file, read as they are needed.

        Raises
        ------
        StudyError
            For a missing file or column, an item without a name, and a name that stands twice.
        """
        yield from self._items_of(self.config.items.file, "items")

    def known_items(self, role: Literal["check", "warm-up"]) -> list[KnownItem]:
        """The attention checks, or the items to warm up on, with their answers.

        Raises
        ------
        StudyError
            As `items`; and for an answer that is not on its question's scale, or no answer at all.
        """
        people = self.config.people
        file = people.warm_up if role == "warm-up" else people.checks and people.checks.file
        if not file:
            return []
        scales = {q.name: scale_of(q.scale) for q in self.config.questions}
        found = []
        for item in self._items_of(file, "checks" if role == "check" else "the warm-up"):
            fields = dict(item.fields)
            feedback = str(fields.pop("feedback", "") or "")
            answers = {name: fields.pop(name) for name in scales if fields.get(name) not in (None, "")}
            known = {}
            for name, answer in answers.items():
                cast = scales[name].read(answer)
                if cast is None:
                    where = f"{self.folder / file}: item '{item.name}'"
                    raise StudyError(
                        f"{where}: '{answer}' does not answer '{name}', which takes {scales[name].describe()}"
                    )
                known[name] = cast
            if not known:
                raise StudyError(
                    f"{self.folder / file}: item '{item.name}' has no known answer; give it in a column "
                    f"named as its question ({listing(list(scales))})"
                )
            fields = {k: v for k, v in fields.items() if k not in scales}
            found.append(KnownItem(Item(item.name, item.document, fields), known, feedback))
        return found

    def _items_of(self, file: str, called: str) -> Iterator[Item]:
        part = self.config.items
        path = self.folder / file
        if not path.exists():
            raise StudyError(f"{path} is not there; study.yaml names it as the file of {called}")
        seen: set[str] = set()
        for number, row in enumerate(_rows(path), start=1):
            for column in (part.id, part.document, *part.images):
                if column is not None and column not in row and (called == "items" or column == part.id):
                    raise StudyError(unknown("column", column, row, str(path)))
            name = "" if row[part.id] is None else str(row[part.id]).strip()
            if not name:
                raise StudyError(f"{path}: item {number} has no name in column '{part.id}'")
            if name in seen:
                raise StudyError(f"{path}: item '{name}' stands twice; the second is item {number}")
            seen.add(name)
            document = None if part.document is None or part.document not in row else str(row[part.document])
            yield Item(name, document, {k: v for k, v in row.items() if k != part.id and v is not None})
        if not seen:
            raise StudyError(f"{path} has no items")

    def open_store(self, url: str | None = None) -> Store:
        """The study's database: ``url``, else the one study.yaml names, else a file in the folder."""
        from assay.errors import require

        require("sqlalchemy", "judge", "a study's database")
        require("alembic", "judge", "a study's database")
        from assay.study.store import Store

        return Store.open(url or self.config.store or str(self.folder / STORE_FILE))

    def annotations(self, store: str | None = None) -> Annotations:
        """Everything that people and judges have answered so far, as the one table."""
        with self.open_store(store) as opened:
            opened.take_in(self)
            return opened.annotations()


# -- reading study.yaml -----------------------------------------------------------------------------


def scale_of(scale: str | tuple[str, ...] | list[str]) -> Scale:
    """The scale that a question names: one line, or a list of categories."""
    return parse_scale(scale) if isinstance(scale, str) else Nominal(scale)


def load_study(folder: str | Path) -> Study:
    """Read and check a study's folder.

    Parameters
    ----------
    folder : path
        The folder, or its ``study.yaml``.

    Raises
    ------
    StudyError
        With file, line and key of everything that is wrong.
    """
    path = Path(folder)
    path = path if path.suffix in (".yaml", ".yml") else path / STUDY_FILE
    if not path.is_file():
        raise StudyError(f"{path} is not there; make a study with: assay init {path.parent}")
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=_Loader)
        lines = _lines(node)
        content = _Loader("").construct_document(node) if node is not None else {}
    except yaml.MarkedYAMLError as error:
        where = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise StudyError(f"{path}{where}: {error.problem or error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: {error}") from None
    try:
        config = StudyFile.model_validate(content)
        problems: list[tuple[tuple[Any, ...], str]] = list(_contradictions(config, path.parent))
    except ValidationError as error:
        # A tuple whose parts have errors is also called too short; the parts' errors say it all.
        found = error.errors(include_url=False)
        deeper = {problem["loc"][:1] for problem in found if len(problem["loc"]) > 1}
        problems = [_explained(one) for one in found if len(one["loc"]) > 1 or one["loc"] not in deeper]
    if problems:
        shown = [f"{path}, line {_line(lines, where)}, {_key(where)}: {what}" for where, what in problems[:5]]
        more = [f"and {len(problems) - 5} more"] if len(problems) > 5 else []
        raise StudyError("\n".join(shown + more))
    return Study(path.parent, config)


class _Loader(yaml.SafeLoader):
    """YAML in which yes, no, on, off and dates are the words they look like, and a key stands once."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if not tag.endswith((":bool", ":timestamp"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$", re.I), list("tTfF"))


def _lines(node: yaml.Node | None, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], int]:
    """The line on which each key stands, by its path; a key that stands twice is an error."""
    if node is None:
        return {(): 1}
    lines = {path: node.start_mark.line + 1}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*path, key.value)
            if inner in lines:
                raise yaml.MarkedYAMLError(problem=f"'{key.value}' stands twice", problem_mark=key.start_mark)
            lines |= _lines(value, inner)
            lines[inner] = key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for position, value in enumerate(node.value):
            lines |= _lines(value, (*path, position))
    return lines


def _line(lines: dict[tuple[Any, ...], int], where: tuple[Any, ...]) -> int:
    while where not in lines and where:
        where = where[:-1]
    return lines.get(where, 1)


def _key(where: tuple[Any, ...]) -> str:
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in where).lstrip(".") or "the file"


def _explained(problem: Any) -> tuple[tuple[Any, ...], str]:
    """Path and plain words of one pydantic error; the value is not repeated, it may be a secret."""
    # What kind of judge it is stands in pydantic's path after the judge's position, not in the file.
    loc = problem["loc"]
    where = loc[:2] + loc[3:] if loc[:1] == ("judges",) else loc
    where = tuple(p for p in where if p not in ("str", "tuple[str, ...]"))
    if problem["type"] == "missing":
        return where, "is missing"
    if problem["type"] == "extra_forbidden":
        parts = [model for model in _Part.__subclasses__() if where[-1] not in model.model_fields]
        names = sorted({name for model in parts for name in model.model_fields})
        close = difflib.get_close_matches(str(where[-1]), names, n=1)
        return where, "is not a key here" + (f"; did you mean '{close[0]}'?" if close else "")
    message = str(problem["msg"]).removeprefix("Value error, ")
    return where, message[:1].lower() + message[1:] if message.startswith("Input") else message


def _contradictions(config: StudyFile, folder: Path) -> Iterator[tuple[tuple[Any, ...], str]]:
    """What is well-formed and yet cannot be meant."""
    for part, named in (("questions", config.questions), ("judges", config.judges)):
        names = [one.name for one in named]
        for position, name in enumerate(names):
            if name in names[:position]:
                yield (part, position, "name"), f"'{name}' stands twice"
    for position, question in enumerate(config.questions):
        where = ("questions", position)
        scale = scale_of(question.scale)
        wanted = {"preference": 2, "odd-one-out": 3}.get(scale.kind, 0)
        if len(question.options) != wanted and question.drawn_from is None:
            what = f"needs {wanted} columns to choose between" if wanted else "is for preference and odd-one-out"
            yield (*where, "options"), what
        for label in question.meanings:
            known = [str(c) for c in scale.categories or ()]
            if known and label not in known:
                yield (*where, "meanings", label), unknown("label", label, known, "the scale")
        for label, why in _unusable_keys(question, scale).items():
            yield (*where, "keys", label), why
    yield from _contradictions_of_people(config)
    files = {file.stem for file in (folder / "prompts").glob("*.*")} | {"default"}
    asked = [j.name for j in config.judges if isinstance(j, Judge)]
    for position, judge in enumerate(config.judges):
        where = ("judges", position)
        if isinstance(judge, Ensemble):
            for member in judge.of:
                if member not in asked:
                    yield (*where, "of"), unknown("judge", member, asked, "the judges that are asked")
            continue
        if judge.provider == "recorded" and judge.file is None:
            yield (*where, "file"), "is missing: provider 'recorded' needs the file of replies"
        if judge.provider != "recorded" and not judge.model:
            yield (*where, "model"), "is missing"
        if judge.prompt is not None and judge.prompt not in files:
            yield (*where, "prompt"), unknown("prompt", judge.prompt, sorted(files), "prompts/")
    for position, prompt in enumerate(config.conditions.prompt):
        if prompt not in files:
            yield ("conditions", "prompt", position), unknown("prompt", prompt, sorted(files), "prompts/")


RESERVED_KEYS = {
    **{str(n): f"chooses answer {n}" for n in range(1, 10)},
    "0": "chooses no preference",
    "s": "skips",
    "f": "flags",
    "u": "undoes",
    "p": "goes back to the previous page",
    "i": "shows the instructions",
    "c": "goes to the comment",
    "?": "shows the keys",
}
"""What a key does on people's page whatever the question."""


def _unusable_keys(question: Question, scale: Scale) -> dict[str, str]:
    """What is wrong with the keys that a question gives its labels, by label."""
    known = [str(c) for c in scale.categories or ()]
    wrong: dict[str, str] = {}
    taken: dict[str, str] = {}
    for label, key in question.keys.items():
        low = key.lower()
        if scale.kind in ("preference", "odd-one-out") or not known:
            wrong[label] = "keys are for labels from a list; this scale has its own"
        elif label not in known:
            wrong[label] = unknown("label", label, known, "the scale")
        elif not re.fullmatch(r"[^\W\d_]", key):
            wrong[label] = f"'{key}' is not one letter"
        elif low in RESERVED_KEYS:
            wrong[label] = f"'{key}' {RESERVED_KEYS[low]} on every page; take another letter"
        elif low in taken:
            wrong[label] = f"'{key}' is the key of '{taken[low]}' already"
        taken.setdefault(low, label)
    return wrong


def _contradictions_of_people(config: StudyFile) -> Iterator[tuple[tuple[Any, ...], str]]:
    people = config.people
    if isinstance(people.overlap, dict) and people.group is None:
        yield ("people", "group"), "is missing: overlap is given by group, so name the attribute that tells the group"
    drawn = [q.name for q in config.questions if q.drawn_from]
    if drawn and people.together:
        yield ("people", "together"), f"cannot be: the triplets of '{drawn[0]}' are drawn one at a time"
    if people.together and config.items.document is None:
        yield ("people", "together"), "needs items.document, the column that names the document of an item"
    if drawn and len(config.questions) > 1:
        yield ("questions",), f"'{drawn[0]}' draws triplets, so it must be the only question of its study"
    if drawn and people.checks is not None:
        yield ("people", "checks"), f"cannot be: the triplets of '{drawn[0]}' are drawn, so no answer is known"
    if drawn and people.warm_up is not None:
        yield ("people", "warm_up"), f"cannot be: the triplets of '{drawn[0]}' are drawn, so no answer is known"


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a table, one at a time; CSV values stay text."""
    if path.suffix in (".csv", ".tsv"):
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            for row in table:
                if None in row or None in row.values():
                    raise StudyError(f"{path}, line {table.line_num}: more or fewer values than the header has")
                yield row
    elif path.suffix == ".jsonl":
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield _json_row(path, number, line)
    elif path.suffix in (".json", ".parquet"):
        import polars as pl

        frame = pl.read_json(path) if path.suffix == ".json" else pl.read_parquet(path)
        yield from frame.iter_rows(named=True)
    else:
        raise StudyError(f"{path} must be .csv, .tsv, .json, .jsonl or .parquet")


def _json_row(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise StudyError(f"{path}, line {number}: {error}") from None
    if not isinstance(row, dict):
        raise StudyError(f"{path}, line {number}: must be an object {{…}}")
    return row


# -- making a new one -------------------------------------------------------------------------------


def study_schema() -> dict[str, Any]:
    """The JSON Schema of study.yaml, by which editors complete and check it."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **StudyFile.model_json_schema()}


def init_study(folder: str | Path) -> list[Path]:
    """Make a study that runs as it is, offline, and is meant to be edited.

    Parameters
    ----------
    folder : path
        Made if it is not there. Nothing in it is overwritten.

    Returns
    -------
    list of path
        The files that were made.

    Raises
    ------
    StudyError
        Where a file that would be made is there already.
    """
    target = Path(folder)
    files = {**_NEW_STUDY, SCHEMA_FILE: json.dumps(study_schema(), indent=1) + "\n"}
    taken = [name for name in files if (target / name).exists()]
    if taken:
        raise StudyError(f"{target} holds {listing(taken)} already; name a new folder, nothing was changed")
    made = []
    for name, text in files.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        made.append(path)
    return made


_EXAMPLES = {
    "r01": ("The soup was cold and nobody cared.", 1, (1, 2, 1)),
    "r02": ("Lovely evening, we will be back.", 5, (5, 5, 4)),
    "r03": ("Good food, slow service.", 3, (3, 4, 3)),
    "r04": ("Fine for a quick lunch.", 3, (3, 3, 4)),
    "r05": ("The best bread in town, and kind people.", 5, (5, 5, 5)),
    "r06": ("Overpriced, but the view makes up for it.", 4, (3, 4, 3)),
    "r07": ("We waited an hour and left.", 1, (1, 1, 1)),
    "r08": ("Nothing special.", 2, (3, 2, 3)),
}

_NEW_STUDY = {
    STUDY_FILE: """\
# yaml-language-server: $schema=./study.schema.json
name: Stars for restaurant reviews

items:
  file: items.csv          # one row an item; csv, tsv, json, jsonl or parquet
  id: item                 # the column that names it
  # document: restaurant   # items of one document are kept from being each other's demonstrations
  # images: [photo]        # columns with the path or URL of an image

questions:
  - name: stars
    text: How many stars would the writer of this review give?
    scale: 1-5             # or interval:0-100, ordinal:low<mid<high, [a list, of categories],
                           # text, preference (options: two columns), odd-one-out (options: three)
    meanings: {1: very bad, 5: excellent}
    guidelines: Judge the whole visit as the writer saw it, not the food alone.

labels: labels.csv         # what people answered: item, annotator, label (and criterion)

judges:
  - name: example          # answers from a file, so that this study runs offline; remove it
    provider: recorded
    file: replies.jsonl

  # - name: mini
  #   model: gpt-4o-mini
  #   key: OPENAI_API_KEY                    # the NAME of the environment variable, never the key
  #   strategy: chain-of-thought             # zero-shot, few-shot or chain-of-thought
  #   temperature: 0
  # - name: local
  #   model: llama3.1
  #   base_url: http://localhost:11434/v1    # Ollama, vLLM, llama.cpp, any gateway
  #   strategy: few-shot
  #   demonstrations: {count: 4, use: cross-fitted}
  #   repeats: 3
  # - name: panel
  #   of: [mini, local]
  #   rule: majority                         # or mean, median

# people:                  # how people are asked, on the page that assay serve opens
#   overlap: 3             # people for each item; without it, everybody answers everything
#   quota: 50
#   instructions: Read the whole review first.

# conditions:              # every combination is asked, each a column of the table
#   scale: [interval:0-5, interval:0-10, interval:0-100]
#   temperature: [0, 1]
#   prompt: [default, strict]                # prompts/strict.txt

limits:
  concurrency: 20
  # requests_per_minute: 500
  # tokens_per_minute: 200000
  max_cost: 5              # dollars for the whole study
""",
    "items.csv": "item,review\n" + "".join(f'{name},"{text}"\n' for name, (text, _, _) in _EXAMPLES.items()),
    "labels.csv": "item,annotator,label\n"
    + "".join(
        f"{name},{person},{label}\n"
        for name, (_, _, labels) in _EXAMPLES.items()
        for person, label in zip(("ana", "ben", "chi"), labels, strict=True)
    ),
    "replies.jsonl": "".join(
        json.dumps({"item": name, "judge": "example", "reply": json.dumps({"label": stars})}) + "\n"
        for name, (_, stars, _) in _EXAMPLES.items()
    ),
    "prompts/strict.txt": """\
You rate texts for a research study. Be sparing with the ends of the scale.

{{ question }}
{{ guidelines }}

Allowed: {{ scale }}.
{{ meanings }}

{{ format }}
""",
    ".gitignore": "study.db*\n.env\n",
}
