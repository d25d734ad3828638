"""Which questions are put to which judge, under which conditions, and with what words."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from assay._version import __version__
from assay.data.columns import PARTS
from assay.data.scales import Label, Listed, RankedTexts, Scale, parse_scale, plain_number
from assay.errors import AssayError, DesignError, StudyError, counted, listing, unknown
from assay.judging.prompts import Demonstration, Message, Prompt, complaint, reformat, reply_schema, with_words
from assay.judging.responses.replies import Reply, read_reply
from assay.judging.services.http import Request, identity
from assay.preference.separability import check_similarity, separability
from assay.preference.votes import chosen_items, pairs_of
from assay.reading import outputs_of
from assay.study.checks import refuse_unaskable
from assay.study.definition import Study
from assay.study.items import Item, canonical, chance, digest_of, file_within
from assay.study.schema import N_FOLDS, ROLES, TRIPLET, Judge, Question, Role, pool_of, role_of, scale_of
from assay.study.store import work
from assay.study.store.answers import human_labels
from assay.study.store.connection import Store, put_setting
from assay.study.store.intake import SYNCED, sync_study
from assay.study.store.items import (
    DRAWN,
    OUTPUTS,
    PAIRS,
    AskedQuestion,
    SystemOutput,
    WrittenOutputs,
    are_stored,
    items,
    items_named,
    put_outputs,
    put_pairs,
    questions,
    system_outputs,
)
from assay.study.store.table import combine_votes
from assay.study.store.work import Assignment, Change, Changed, Claim, TripletDrawer, change_study

if TYPE_CHECKING:
    import polars as pl


# -- outputs of systems as items, one at a time and in pairs ---------------------------------------------


def check_comparisons(study: Study) -> None:
    """Refuse a similarity that is not known, or whose library is not there, before anything is paid for."""
    if study.config.compares_outputs:
        try:
            check_similarity(study.config.comparisons.similarity)
        except AssayError as error:
            raise StudyError(f"{study.folder}/study.yaml: comparisons.similarity: {error}") from None


def store_outputs(study: Study, store: Store) -> tuple[tuple[str, ...], bool]:
    """Store outputs as items, and pairs of them, once every output exists; do nothing if they are stored already.

    Returns
    -------
    tuple of str, bool
        Notices for the study lead; whether they are stored.
    """
    config = study.config
    comparisons, single = config.comparisons if config.compares_outputs else None, config.single_outputs
    with store.reading() as db:
        found = system_outputs(db, study.compared_temperature)
        if are_stored(db, found, comparisons, single=single):
            return (), True
    if found.missing:
        then = "pairs are drawn" if comparisons is not None else "they are labelled"
        return (
            f"{counted(found.missing, 'output')} of the systems {'is' if found.missing == 1 else 'are'} not there yet; "
            f"{then} once all of them are",
        ), False
    words: tuple[str, ...] = ()
    if single and config.written is not None:
        with store.exclusive() as db:
            put_outputs(db, found, config.written, store.now(db))
        words = (f"{counted(len(found.outputs), 'output')} of {counted(len(study.systems), 'system')} to label",)
    return words if comparisons is None else (*words, *_draw_pairs(study, store, found)), True


def _draw_pairs(study: Study, store: Store, found: WrittenOutputs) -> tuple[str, ...]:
    """Store the pairs of the outputs; return notices for the study lead."""
    comparisons = study.config.comparisons
    usable, left_out = _usable(found)
    table = outputs_of(usable)
    alike = separability(table, similarity=comparisons.similarity, method="none")
    chosen = chosen_items(alike.items, comparisons.n_items, comparisons.choose, comparisons.seed)
    pairs = pairs_of(table.labels, chosen, comparisons.pairs, comparisons.seed)
    with store.exclusive() as db:
        put_pairs(db, pairs.iter_rows(named=True), found.made_of(comparisons), store.now(db))
    return (*left_out, *_pairs_in_words(study, alike.items, chosen, pairs))


def _usable(found: WrittenOutputs) -> tuple[tuple[SystemOutput, ...], list[str]]:
    """Outputs of items on which a system has two at least; words for those that are excluded."""
    number = Counter((one.item, one.system) for one in found.outputs)
    kept = tuple(one for one in found.outputs if number[one.item, one.system] > 1)
    if not kept:
        raise DesignError("no item has two outputs of a system, so nothing can be compared")
    systems = {one.system for one in found.outputs}
    usable = Counter(item for (item, _), outputs in number.items() if outputs > 1)
    short = [item for item in dict.fromkeys(one.item for one in found.outputs) if usable[item] < len(systems)]
    words = []
    if found.unreadable:
        words.append(f"{counted(found.unreadable, 'output')} could not be used: empty or cut off")
    if short:
        words.append(
            f"{counted(len(short), 'item')} ({listing(short, 4)}) without two outputs of a system, which is not "
            "compared there"
        )
    return kept, words


def _pairs_in_words(study: Study, items: pl.DataFrame, chosen: pl.DataFrame, pairs: pl.DataFrame) -> list[str]:
    wanted, n_items = study.config.comparisons, items["item"].n_unique()
    mean, overall = (float(np.mean(one["separability"].to_numpy())) for one in (chosen, items))
    of = "items" if len(study.systems) == 2 else "items of two systems"
    if chosen.height < items.height:
        words = [
            f"{pairs.height} pairs of outputs drawn, of {chosen.height} of {items.height} {of}, chosen by separability "
            f"({wanted.choose}): {mean:.2f} on average, {overall:.2f} of all"
        ]
    else:
        words = [
            f"{pairs.height} pairs of outputs drawn, of all {items.height} {of}, with a mean separability of {mean:.2f}"
        ]
    if wanted.n_items is not None and wanted.n_items > n_items:
        words.append(f"comparisons.items asks for {wanted.n_items} items, and there are {n_items}")
    same = int((pairs["first_text"] == pairs["second_text"]).sum())
    if same:
        words.append(f"{same} of the pairs are of two outputs that are the same, word for word")
    return words


# -- assignments, and the request that belongs to each ---------------------------------------------------

_CHECKED = "checked"
"""The setting that names the study, as it was taken in, that was found to be askable."""

ALTERNATIVES = 20
"""Number of alternative tokens to request: the maximum of OpenAI's services."""

Chosen = dict[str, Any]
"""Few-shot examples as stored: ``fold`` to (item, label) pairs; ``documents`` that are held out."""


_ONE_LABEL, _LONG_REPLY = 512, 8192
"""Tokens: a label in JSON has about ten, and with an unrequested explanation a few hundred; a text, or reasoning, of
ten pages has 8,000."""


_SHORT_REPLY, _SHORT_REPLIES = 100, 1_000
"""Characters of a response that other items are likely to have as well, and number of these that are kept."""


@dataclass(frozen=True)
class Way:
    """What all assignments of one judge, one question and one condition have in common."""

    judge: Judge
    question: AskedQuestion
    asked: Question
    """The question with what belongs to the scale."""
    scale: Scale
    schema: dict[str, Any] | None
    prompt: Prompt
    probe: str | None = None
    others: tuple[str, ...] = ()
    """The other criteria of the study."""

    def read(self, text: str, finish: str, source: str) -> Reply:
        """Parse a response; ``source`` is the text of which it quotes spans."""
        if source or len(text) > _SHORT_REPLY:
            return self._read(text, finish=finish, source=source)
        return self._read_again(text, finish=finish)

    @cached_property
    def _read(self) -> Callable[..., Reply]:
        asked = self.question.definition
        says = asked.words_of_says(self.scale)
        return partial(
            read_reply, scale=self.scale, closed=asked.closed, criterion=asked.name, others=self.others, says=says
        )

    @cached_property
    def _read_again(self) -> Callable[..., Reply]:
        """The same of responses such as ``{"label": 4}``, each parsed once."""
        return lru_cache(maxsize=_SHORT_REPLIES)(self._read)

    def request(
        self, messages: list[Message], about: dict[str, Any], columns: Mapping[str, Any] | None = None
    ) -> Request:
        """The call that sends these messages."""
        judge = self.judge
        model = judge.model or judge.name
        most = judge.max_tokens or self._usual_limit()
        how: dict[str, Any] = {
            "columns": columns or {},
            "effort": judge.effort,
            "alternatives": ALTERNATIVES if self.has_likelihood else 0,
        }
        return Request(model, messages, judge.temperature, most, self.schema, judge.params, about, **how)

    @property
    def has_likelihood(self) -> bool:
        """Whether the probabilities of labels are requested."""
        return self.judge.score != "label" and not self.prompt.question.kind.free_text

    @property
    def is_expected(self) -> bool:
        """Whether the label is the mean over the labels' probabilities."""
        return self.judge.score == "expected" and self.scale.numeric

    def _usual_limit(self) -> int | None:
        """The token limit for services that require one if none is given; None if the service does not.

        Anthropic's library would allow 64,000 for one number. Reasoning tokens count toward the limit, so a judge with
        reasoning effort should have its own limit.
        """
        if self.judge.provider != "anthropic" or "thinking" in self.judge.params:
            return None
        long = self.judge.effort not in (None, "none") or self.prompt.question.kind.free_text or self.judge.reasons
        return _LONG_REPLY if long or not self.prompt.has_format else _ONE_LABEL


@dataclass(frozen=True)
class _AskedPart:
    """The judges, or the systems, and the questions for items of one role."""

    role: Role
    questions: tuple[AskedQuestion, ...]
    models: tuple[Judge, ...]
    writes: bool = False
    """Whether systems answer it."""


LEFT_TO_PEOPLE = "left to people"
"""The first words of the reason of a response that was parsed and does not count."""


@dataclass(frozen=True)
class RouteRule:
    """The items that a judge keeps: those with a signal of at least the threshold; the others go to annotators."""

    signal: str
    threshold: float
    file: str
    of_answer: bool
    """Whether the signal comes with the judge's own answer; else it is a column of the items."""

    def keeps(self, value: Any) -> bool:
        """Whether the judge keeps an item, or an answer, with this signal."""
        try:
            return float(value) >= self.threshold
        except (TypeError, ValueError):
            return False

    def reason(self, value: Any) -> str:
        """Why an answer does not count."""
        said = "is not known" if value is None else f"{value} is below {self.threshold:g}"
        return f"{LEFT_TO_PEOPLE}: {self.signal} {said} ({self.file})"


OWN_SIGNALS = ("probability", "on_labels")
"""Signals that come with a response, if the judge's score has probabilities."""


def read_route(study: Study, judge: Judge) -> RouteRule | None:
    """Read the rule of `assay route` for a judge; None if it has none.

    Raises
    ------
    StudyError
        For a file without such a rule, a rule of another judge, or a signal that is unknown before the call.
    """
    if not isinstance(judge.route, str):
        return None
    where = f"{study.folder}/study.yaml: judge '{judge.name}': route:"
    path = file_within(study.folder, judge.route)
    if path is None:
        raise StudyError(f"{where} {judge.route} is not there, or not within the study's folder")
    try:
        rule = json.loads(path.read_text(encoding="utf-8"))
        name, signal, threshold = rule["judge"], str(rule["signal"]), rule["threshold"]
        limit = math.inf if threshold is None else float(threshold)
    except (ValueError, KeyError, TypeError, OSError):
        raise StudyError(f"{where} {judge.route} does not contain a rule of assay route --rule") from None
    if name != judge.name:
        raise StudyError(f"{where} {judge.route} is a rule for '{name}'")
    if signal in ("repeats", "judges"):
        raise StudyError(
            f"{where} {judge.route} goes by '{signal}', which is known when all answers are there; ask, then take the "
            "items that people keep from: assay route --queue"
        )
    own = signal in OWN_SIGNALS or signal.startswith("p_")
    if own and judge.score == "label":
        raise StudyError(f"{where} {judge.route} goes by '{signal}', which score: probabilities or expected brings")
    return RouteRule(signal, limit, judge.route, own)


@dataclass(frozen=True)
class Rotation:
    """Items dealt to judges, in turn: each block of as many items as judges is dealt in a new random order.

    Items that are added at the end of the file change nothing of those before them.

    Attributes
    ----------
    judges : tuple of str
    shared : float
        The share of items that all judges label.
    seed : int
    role : str
        The kind of items; each kind is dealt alone. All outputs, and pairs of outputs, of an item go to one judge.
    """

    judges: tuple[str, ...]
    shared: float
    seed: int
    role: str
    _dealt: dict[str, frozenset[str]] = field(default_factory=dict, repr=False)

    def asks(self, judge: str, item: Item) -> bool:
        """Return whether a judge is asked about an item; items are seen in the order of the file."""
        if judge not in self.judges:
            return True
        unit = str(item.fields.get("output_of") or item.fields.get("pair_of") or item.name)
        if unit not in self._dealt:
            self._dealt[unit] = self._deal(len(self._dealt))
        return judge in self._dealt[unit]

    def _deal(self, place: int) -> frozenset[str]:
        start = chance(self.seed, "rotate", self.role).random()
        before, now = (math.floor(n * self.shared + start) for n in (place, place + 1))
        if now > before:
            return frozenset(self.judges)
        block, turn = divmod(place - before, len(self.judges))
        order = list(self.judges)
        chance(self.seed, "rotate", self.role, block).shuffle(order)
        return frozenset(order[turn : turn + 1])


class Plan:
    """A study's judging: every assignment, and the request that belongs to each."""

    def __init__(self, study: Study, store: Store) -> None:
        self.study, self.store = study, store
        self.judges: dict[str, Judge] = {one.name: one for one in study.models}
        """All judges that are called, with the systems."""
        self.questions = {question.id: question for question in questions(store)}
        self.routes = {judge.name: rule for judge in study.models if (rule := read_route(study, judge)) is not None}
        self.parts = self._parts()
        self.notes: tuple[str, ...] = ()
        """Notices about the pairs, for the study lead."""
        self.has_outputs = False
        """Whether the systems' outputs, and pairs of them, are stored as items."""
        self._chosen = {
            (judge.name, question.id): self._choose(judge, question)
            for judge in study.judges
            for part in self.judged
            for question in part.questions
            if "few-shot" in (*study.config.conditions.strategy, judge.strategy)
        }
        self._probed: dict[str, frozenset[str]] = {}
        names = {name for chosen in self._chosen.values() for fold in chosen["folds"].values() for name, _ in fold}
        self._shown_items = items_named(store, names)
        self._way_of = lru_cache(maxsize=1000)(self._find_way)

    def _parts(self) -> tuple[_AskedPart, ...]:
        """Systems write about the items; judges label items, outputs, pairs of outputs, and drawn triplets or pairs."""
        written = self.study.config.written
        writes: tuple[AskedQuestion, ...] = ()
        asked: dict[Role, tuple[AskedQuestion, ...]] = {}
        for question in self.questions.values():
            if question.definition.name == written:
                writes = (question,)
            else:
                role = role_of(question.definition, written)
                asked[role] = (*asked.get(role, ()), question)
        first = [_AskedPart("source", writes, self.study.systems, writes=True)] if writes else []
        judged = [_AskedPart(role, asked[role], self.study.judges) for role in ROLES if role in asked]
        return (*first, *judged)

    @property
    def judged(self) -> tuple[_AskedPart, ...]:
        """The parts for judges."""
        return tuple(part for part in self.parts if not part.writes)

    def _judged_items(self) -> Iterator[Item]:
        """Every item that judges label."""
        for part in self.judged:
            yield from (item for item, _ in items(self.store, part.role))

    def _draw(self) -> None:
        """Draw triplets, or pairs, for judges; of outputs, once these exist."""
        drawn = [one.definition for one in self.questions.values() if one.definition.drawn_from is not None]
        if not drawn or not self.study.judges:
            return
        pool, people = pool_of(drawn[0], self.study.config.written), self.study.config.people
        if pool == "output" and next(items(self.store, pool), None) is None:
            return
        column, seed = str(drawn[0].drawn_from), people.seed
        for pairs in sorted({one.draws_pairs for one in drawn}):
            drawer = TripletDrawer(self.store, column, wanted=people.pairs, seed=seed, pairs=pairs, pool=pool)
            drawer.draw_for_judges()

    def save(self, changed: Changed | None = None) -> None:
        """Draw triplets, then store the assignments; do nothing if they are stored already.

        Raises
        ------
        ChangedStudyError
            See `assay.study.store.work.plan`.
        """
        self._refuse_unaskable()
        self._refuse_signals()
        self._draw()
        # assay's own prompt may differ between versions; the first item's request shows it.
        self._probed = self._probe_samples()
        first = [(part, list(itertools.islice(items(self.store, part.role), 1))) for part in self.parts]
        made_of = [
            self.store.setting(SYNCED),
            self.store.setting(DRAWN),
            self.study.prompts,
            *map(astuple, self.routes.values()),
        ]
        made_of += [self.store.setting(PAIRS)] if self.study.systems else []
        made_of += [self.store.setting(OUTPUTS)] if self.study.config.single_outputs else []
        recipes = [one.recipe for part, some in first for one in self._assignments(part, some, all_judges=True)]
        made_of += [list(self._chosen.values()), recipes]
        work.plan(self.store, self.assignments(), digest_of([__version__, *made_of]), changed)

    def _refuse_unaskable(self) -> None:
        """Check, before any judge is paid for, that judges and annotators can be asked."""
        config, taken_in = self.study.config, self.store.setting(SYNCED)
        if self.store.setting(_CHECKED) == taken_in:
            return
        page = bool(
            config.people.model_fields_set.difference(("pairs", "seed"))
        )  # they also name the questions of judges
        roles: tuple[Role, ...] = ("source" if self.study.systems else "item", "check", "warm-up")
        shown = ((role, item) for role in roles for item, _ in items(self.store, role))
        refuse_unaskable(self.study, config.questions, shown, page=page, models=True)
        with self.store.writing() as db:
            put_setting(db, _CHECKED, taken_in)

    def _refuse_signals(self) -> None:
        """A rule by a column that the items do not have would leave every item to people."""
        for name, rule in self.routes.items():
            columns = {column for item in self._judged_items() for column in item.fields}
            if not rule.of_answer and rule.signal not in columns:
                words = unknown("column", rule.signal, sorted(columns), "the items")
                raise StudyError(f"{rule.file}, the rule of judge '{name}', goes by '{rule.signal}': {words}")

    # -- assignments ----------------------------------------------------------------------------

    def assignments(self) -> Iterator[Assignment]:
        """Every question to every judge, item by item, so that a run that stops has whole items."""
        for part in self.parts:
            yield from self._assignments(part, items(self.store, part.role))

    def _rotation(self, part: _AskedPart) -> Rotation | None:
        """How the items of a part are dealt to judges; None if every judge is asked about every item."""
        shares = {one.name: one.rotates for one in part.models if one.rotates is not None}
        return Rotation(tuple(shares), min(shares.values()), self.study.config.seed, part.role) if shares else None

    def _assignments(
        self, part: _AskedPart, them: Iterable[tuple[Item, str]], *, all_judges: bool = False
    ) -> Iterator[Assignment]:
        rotation = None if all_judges else self._rotation(part)
        cells = [
            (question, condition, self._way_of(judge.name, question.id, canonical(condition)))
            for question in part.questions
            for judge in part.models
            for condition in (self.system_conditions() if part.writes else self.conditions_to_ask(judge, question))
        ]
        for item, digest in them:
            for question, condition, way in cells:
                judge = self.judges[way.judge.name]
                if part.role == "triplet" and question.definition.draws_pairs == (TRIPLET[-1] in item.fields):
                    continue
                if way.judge.strategy == "few-shot" and self._is_held_out(way, item):
                    continue
                if not self._is_routed_to(judge, item):
                    continue
                if rotation is not None and not rotation.asks(judge.name, item):
                    continue
                if way.probe is not None and item.name not in self._probed.get(way.probe, ()):
                    continue
                recipe_of = lru_cache(maxsize=None)(partial(self._recipe, way, item))
                for repeat in range(1, 1 + (judge.repeats if way.probe is None else 1)):
                    for order, varied in self._orders(way, item, repeat):
                        own = condition | ({"order": ">".join(order)} if varied else {})
                        shown: dict[str, Any] = {"order": list(order)} if order else {}
                        if way.probe == "hint":
                            shown["about"] = {"hint": self._hint(way, item)}
                        place = (item.name, question.id, judge.name, recipe_of(order), canonical(own), repeat)
                        yield Assignment(*place, shown or None, digest)

    def conditions(self, question: AskedQuestion) -> list[dict[str, Any]]:
        """Return every combination of experimental conditions for one question."""
        varied = self.study.config.conditions.crossed()
        if not scale_of(question.definition.scale).numeric:
            varied.pop("scale", None)
        return [dict(zip(varied, values, strict=True)) for values in itertools.product(*varied.values())]

    def system_conditions(self) -> list[dict[str, Any]]:
        """Return the conditions of the systems."""
        return [{"temperature": one} for one in self.study.config.conditions.temperatures["systems"]] or [{}]

    # -- probes ---------------------------------------------------------------------------------

    def conditions_to_ask(self, judge: Judge, question: AskedQuestion) -> list[dict[str, Any]]:
        """Return the conditions of a judge: every combination, and the probes of the first."""
        them = self.conditions(question)
        return them + [them[0] | {"probe": probe} for probe in self._probes(judge, question)]

    def _probes(self, judge: Judge, question: AskedQuestion) -> list[str]:
        """The probes that change something of a judge and a question; of texts that are written, none does."""
        wanted, asked = self.study.config.probes, question.definition
        if asked.kind.free_text:
            return []
        swaps = bool(asked.choices) and asked.orders != "all"
        nothing = {"swapped": not swaps, "sibling": judge.sibling is None}
        # A function gets columns and no prompt; a trained rater gets texts, and knows its training set by them.
        nothing["hint"] = judge.provider in ("python", "trained")
        nothing["padded"] = nothing["stripped"] = judge.provider == "trained"
        return [probe for probe in wanted if not nothing.get(probe, False)]

    def _probe_samples(self) -> dict[str, frozenset[str]]:
        """Draw the items of each probe, of each kind of item: samples of several probes are nested."""
        wanted, seed = self.study.config.probes, self.study.config.seed
        if not wanted:
            return {}
        found: dict[str, set[str]] = {probe: set() for probe in wanted}
        for part in self.judged:
            names = [item.name for item, _ in items(self.store, part.role)]
            drawn = sorted(names, key=lambda name: digest_of([seed, "probe", name]))
            for probe, number in wanted.items():
                found[probe].update(drawn[:number])
        return {probe: frozenset(names) for probe, names in found.items()}

    def _hint(self, way: Way, item: Item) -> Label:
        """Return the random label that a hint gives, for any content of the item."""
        closed = way.asked.closed
        drawn = chance(self.study.config.seed, "hint", way.asked.name, item.name)
        if isinstance(way.scale, Listed):
            names = way.scale.names
            least = len(names) if isinstance(way.scale, RankedTexts) else 1
            return way.scale.read(drawn.sample(names, drawn.randint(least, len(names)))) or ""
        labels = [one for one in way.scale.categories or way.scale.bounds or () if one not in closed]
        return drawn.choice(labels)

    def _orders(self, way: Way, item: Item, repeat: int) -> list[tuple[tuple[str, ...], bool]]:
        """The orders in which the options are shown, and whether order is a condition; of a probe, one."""
        found = self._orders_to_ask(self.judges[way.judge.name], way.question, item, repeat)
        if way.probe is None:
            return found
        order = found[0][0]
        return [(order[::-1] if way.probe == "swapped" else order, False)]

    def _orders_to_ask(
        self, judge: Judge, question: AskedQuestion, item: Item, repeat: int
    ) -> list[tuple[tuple[str, ...], bool]]:
        options = question.definition.choices
        if not options or question.definition.orders == "fixed":
            return [(options, False)]
        if question.definition.orders == "all":
            return [(order, True) for order in itertools.permutations(options)]
        drawn = list(options)
        chance(judge.seed, "order", judge.name, question.definition.name, item.name, repeat).shuffle(drawn)
        return [(tuple(drawn), False)]

    def _recipe(self, way: Way, item: Item, order: tuple[str, ...]) -> str:
        """Return the identity of a request: messages, images, schema and parameters, without the limit of its
        length."""
        request = way.request(self._messages(way, item, order), {})
        judge = way.judge
        provider = judge.provider.removesuffix("-compatible")
        # In a file, responses are found by the judge's name; a request to a model does not contain it.
        by_name = [judge.name] if judge.provider == "recorded" or judge.file is not None else []
        by_name += [judge.function] if judge.function else [*judge.command]
        what = ["expected"] if way.is_expected else []  # the same call brings another label
        return digest_of([provider, *by_name, identity(request), *what])

    def _is_routed_to(self, judge: Judge, item: Item) -> bool:
        """Return whether the judge keeps an item, as far as is known before the call."""
        rule = self.routes.get(judge.name)
        return rule is None or rule.of_answer or rule.keeps(item.fields.get(rule.signal))

    def rotation_words(self) -> Iterator[str]:
        """How many items each judge of a rotation has, of each kind."""
        for part in self.judged:
            if (rotation := self._rotation(part)) is not None:
                them = [item for item, _ in items(self.store, part.role)]
                asked = [[rotation.asks(judge, item) for item in them] for judge in rotation.judges]
                every = sum(map(all, zip(*asked, strict=True)))
                counts = ", ".join(f"{judge} {sum(each):,}" for judge, each in zip(rotation.judges, asked, strict=True))
                yield f"{len(them):,} items are dealt to judges ({counts}); all label {every:,} of them"

    def route_words(self) -> tuple[str, ...]:
        """How many items each judge leaves to people by its rule."""
        found = []
        for name, rule in self.routes.items():
            if rule.of_answer:
                continue
            them = list(self._judged_items())
            left = sum(not self._is_routed_to(self.judges[name], item) for item in them)
            found.append(
                f"{name} is not asked about {left:,} of {len(them):,} items: '{rule.signal}' is below "
                f"{rule.threshold:g} there ({rule.file}), so they are for people"
            )
        return tuple(found)

    # -- demonstrations -------------------------------------------------------------------------

    def _choose(self, judge: Judge, question: AskedQuestion) -> Chosen:
        """Draw few-shot examples once and store them: later labels do not change the requests."""
        wanted = judge.demonstrations
        parts = self.study.parts
        what = digest_of([wanted.key_parts, judge.seed, *([parts] if parts else [])])
        key = f"demonstrations/{judge.name}/{question.id}/{what}"
        kept = self.store.setting(key)
        if kept is not None:
            return dict(kept)
        scale = scale_of(question.definition.scale)
        labelled: dict[str, tuple[str, list[Label]]] = {}
        for one in human_labels(self.store, question.id):
            if parts and parts.get(one.item) != PARTS[0]:
                continue  # examples are part of a prompt, which must not use the test set
            label = parse_scale(one.scale).moved(one.label, scale) if one.scale else one.label
            labelled.setdefault(one.item, (one.document or one.item, []))[1].append(label)
        if wanted.reasons is not None:
            known = items_named(self.store, list(labelled))
            labelled = {name: one for name, one in labelled.items() if known[name].fields.get(wanted.reasons)}
        held_out = wanted.use == "held-out"
        chosen: Chosen = {"folds": {}, "documents": []}
        for fold in (0,) if held_out else range(N_FOLDS):
            allowed = [item for item, (document, _) in labelled.items() if held_out or _fold(judge, document) != fold]
            if len(allowed) < wanted.count:
                raise StudyError(
                    f"judge '{judge.name}' needs {wanted.count} demonstrations for '{question.definition.name}'; "
                    f"people have labelled {len(allowed)} items that it may see"
                    f"{f' and that have {wanted.reasons}' if wanted.reasons else ''}. Name their file with 'labels:', "
                    "or ask for fewer"
                )
            drawn = chance(judge.seed, "demonstrations", fold).sample(allowed, wanted.count)
            shown = [(item, _shown_label(labelled[item][1], scale, judge, item)) for item in drawn]
            chosen["folds"][str(fold)] = shown
            chosen["documents"] = sorted({labelled[item][0] for item in drawn}) if held_out else []
        return dict(self.store.keep(key, chosen))

    def _is_held_out(self, way: Way, item: Item) -> bool:
        return (item.document or item.name) in self._chosen[way.judge.name, way.question.id]["documents"]

    def _demonstrations(self, way: Way, item: Item) -> list[Demonstration]:
        """Return the few-shot examples for an item: never the item itself, nor others of its document."""
        if way.judge.strategy != "few-shot":
            return []
        own = scale_of(way.question.definition.scale)
        held_out = way.judge.demonstrations.use == "held-out"
        fold = 0 if held_out else _fold(way.judge, item.document or item.name)
        kept = self._chosen[way.judge.name, way.question.id]["folds"][str(fold)]
        return [Demonstration(self._shown_items[name], own.moved(label, way.scale)) for name, label in kept]

    # -- one request ----------------------------------------------------------------------------

    def order(self, claim: Claim) -> tuple[str, ...]:
        """The order in which an assignment shows its options."""
        return tuple((claim.shown or {}).get("order", ()))

    def request(self, claim: Claim) -> Request:
        """Return the call for an assignment; with the complaint, if its last response was unparseable."""
        way, order = self.way(claim), self.order(claim)
        messages = self._messages(way, claim.item, order)
        about: dict[str, Any] = {"item": claim.item.name, "judge": way.judge.name}
        about |= {"question": way.question.definition.name, "repeat": claim.repeat, **claim.condition}
        if order:
            about["order"] = ">".join(order)
        if claim.unread is not None:
            own_form = not way.prompt.has_format
            messages = complaint(messages, *claim.unread, way.asked, way.scale, own_form=own_form)
            about["attempt"] = 2
        return way.request(messages, about, self._columns(way, claim.item, order))

    def _columns(self, way: Way, item: Item, order: Sequence[str]) -> dict[str, Any]:
        """Return the columns that a program gets, its options last, in the order displayed; all for a trained rater."""
        if way.judge.provider == "trained":
            return item.fields
        if not way.judge.is_program:
            return {}
        fields = self._asked_item(way, item).fields
        shown = way.asked.shown_columns(fields, self.study.config.items.hidden)
        return {column: fields.get(column) for column in (*shown, *order)}

    def way(self, claim: Claim) -> Way:
        """Return the judge, question, scale and prompt of an assignment."""
        condition = canonical(claim.condition) if claim.condition else "{}"
        return self._way_of(claim.annotator, claim.question, condition)

    def _find_way(self, name: str, number: int, condition: str) -> Way:
        varied = json.loads(condition)
        judge, question = self.judges[name].variant(varied), self.questions[number]
        if varied.get("probe") == "sibling":
            judge = judge.model_copy(update={"model": judge.sibling})
        scale = parse_scale(varied["scale"]) if varied.get("scale") else scale_of(question.definition.scale)
        template = self.study.prompts[judge.prompt] if judge.prompt not in (None, "default") else None
        asked, part, closed = question.definition.rescaled(scale), self.study.config.items, set()
        if "show" in varied:
            shown = self.study.config.conditions.show
            asked = asked.model_copy(update={"show": shown[varied["show"]]})
            closed = {column for columns in shown.values() for column in columns}.difference(asked.show or ())
        try:
            prompt = Prompt(
                *(judge, asked, scale, template),
                images=part.images,
                allow_private=part.allow_private,
                folder=self.study.folder,
                hidden=part.hidden,
                closed=closed,
            )
        except StudyError as error:
            raise StudyError(f"prompts/{judge.prompt}: {error}") from None
        schema = None
        if judge.structured == "auto" and prompt.has_format:  # a prompt with its own format defines the response
            schema = reply_schema(asked, scale, reasoning=judge.reasons)
        others = [one.definition.name for one in self.questions.values() if one.definition.name != asked.name]
        return Way(judge, question, asked, scale, schema, prompt, varied.get("probe"), tuple(others))

    def _asked_item(self, way: Way, item: Item) -> Item:
        """Return the item as the judge gets it: of some probes, with its texts in another form."""
        if way.probe in ("padded", "stripped"):
            return reformat(item, way.probe, self.study.config.items.images)
        return item

    def _messages(self, way: Way, item: Item, order: tuple[str, ...]) -> list[Message]:
        """Return the prompt of one judge for one question."""
        asked = self._asked_item(way, item)
        messages = way.prompt.messages(asked, order=order, demonstrations=self._demonstrations(way, item))
        if way.probe != "hint":
            return messages
        label = way.asked.shuffle(self._hint(way, item), order)
        word = way.asked.judge_words(way.scale).get(label, label)
        word = plain_number(word) if isinstance(word, float) else word
        return with_words(messages, f"Another annotator gave the label {word}.")


def plan_study(study: Study, store: Store, changed: Changed | None = None) -> tuple[Plan, Change]:
    """Return the plan of a study, with the store synchronized in one transaction; and the lost answers.

    Raises
    ------
    ChangedStudyError
        If answers would no longer count and ``changed`` is not given; nothing was changed.
    """
    check_comparisons(study)
    with change_study(store, changed) as change:
        sync_study(store, study, changed)
        plan = Plan(study, store)
        plan.save(changed)
        if study.systems:
            plan.notes, plan.has_outputs = store_outputs(study, store)
            plan.save(changed)
    return plan, change


def _fold(judge: Judge, document: str) -> int:
    return int(digest_of([judge.seed, "fold", document]), 16) % N_FOLDS


def _shown_label(labels: list[Label], scale: Scale, judge: Judge, item: str) -> Label:
    """Return the human labels of an item as one label on the scale."""
    rule = "mean" if scale.kind == "interval" else "majority"
    label: Any = combine_votes(labels, rule, f"{judge.seed}/{item}")[0]
    if rule == "mean":
        label = round(float(label), 2)
    typed = scale.read(label)
    return label if typed is None else typed
