"""The study design: sessions, item orders, positions of options and overlap, reproducible from the seed."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from assay.collecting.languages import Said, allowed_words
from assay.collecting.markdown import GuideChange, guide_changes, guide_html, guide_passages, pictures_in
from assay.data.scales import Label, Scale, SpanLabels, parse_scale
from assay.errors import StudyError, counted, listing, require
from assay.study.checks import picture_problem, refuse_unaskable
from assay.study.definition import Study
from assay.study.items import Item, canonical, chance, digest_of, file_within, picture_digests
from assay.study.schema import ROLES, People, Role, pool_of, role_of, scale_of
from assay.study.store.connection import Store
from assay.study.store.intake import FIRST
from assay.study.store.items import (
    AskedQuestion,
    are_stored,
    first_form,
    form_of,
    forms_until,
    items,
    keep_form,
    known_items,
    question_names,
    questions,
    questions_by_id,
    system_outputs,
)
from assay.study.store.people import ADJUDICATOR, Person, question_sets
from assay.study.store.table import n_pairs

_FOR_FORMULAS = ("mdit_py_plugins", "latex2mathml")
"""Libraries for formulas in Markdown."""

NEAR = 0.1
"""A number on a scale with fractions passes an attention check within this share of the scale's range."""


@dataclass(frozen=True)
class Asked:
    """A question as asked in one session: on the session's scale, if the study varies the scale."""

    id: int
    definition: Any
    scale: Scale


@dataclass(frozen=True)
class Session:
    """One part of an annotator's work: all items once, on one scale."""

    number: int
    of: int
    condition: str
    """The experimental condition as canonical JSON; ``{}`` if nothing is varied."""
    words: str
    part: DesignPart


class DesignPart:
    """The questions about one kind of item, and these items: of the file, outputs, pairs of outputs, or triplets.

    Parameters
    ----------
    design : StudyDesign
    role : str
        The role of the items that are displayed.
    asked : tuple of AskedQuestion
    """

    def __init__(self, design: StudyDesign, role: Role, asked: tuple[AskedQuestion, ...]) -> None:
        self.design, self.role, self.questions = design, role, asked
        self.people = design.people
        self.asked_now = canonical([q.id for q in asked])
        """Ids of the questions in their current versions; a task keeps the ids that it was assigned with."""
        self.counted = self._counted_sets()
        """`asked_now`, and earlier sets whose answers still count because questions were only added or removed."""
        self.drawn_from = asked[0].definition.drawn_from
        """The column of which triplets are drawn; None if the items exist before."""
        self.pool: Role = role
        """The role of the items that exist before: those displayed, or those that are drawn."""
        if self.drawn_from is not None:
            self.pool = pool_of(asked[0].definition, design.study.config.written)
        self._document_of: dict[str, str | None] = {
            item.name: item.document for item, _digest in items(design.store, self.pool)
        }
        self._names = tuple(self._document_of)
        self.first = frozenset(self.page_of(name) for name in design.store.setting(FIRST) or ())
        """Pages that are assigned before all others."""

    def _counted_sets(self) -> tuple[str, ...]:
        """Answers given before a question was added or removed count; those before a question was reworded do not."""
        now = {q.id for q in self.questions}
        asked = {q.definition.name for q in self.questions}
        with self.design.store.reading() as db:
            names, sets = question_names(db), [set(json.loads(one)) for one in question_sets(db)]
        found = [now]
        for one in sorted(sets, key=lambda one: -len(one & now)):
            reworded = {names[number] for number in one - now} & asked
            # Two sets without a common question could both be answered by one annotator for one item.
            if one not in found and not reworded and all(one & other for other in found):
                found.append(one)
        return tuple(canonical(sorted(one)) for one in found)

    def missing_questions(self, answered: Iterable[str]) -> tuple[int, ...]:
        """Return the current questions that are in none of these sets of answered questions."""
        had: set[int] = set().union(*(json.loads(one) for one in answered))
        return tuple(q.id for q in self.questions if q.id not in had)

    @property
    def scales(self) -> tuple[str, ...]:
        """The scales that the study varies, one session each; none for questions that are not about numbers."""
        numeric = all(scale_of(q.definition.scale).numeric for q in self.questions)
        return tuple(self.design.study.config.conditions.scale) if numeric else ()

    # -- items and positions --------------------------------------------------------------------

    def order(self, person: str, condition: str) -> list[str]:
        """Return the items in random order for an annotator and session, or as listed."""
        names = list(self._names)
        if self.people.order != "fixed":
            chance(self.people.seed, "items", person, condition).shuffle(names)
        return names

    def page_of(self, item: str) -> str:
        """Return the name of an item's page: the item, or its document if items of a document share a page."""
        return (self._document_of.get(item) or item) if self.people.together else item

    def pages(self, order: Sequence[str]) -> Iterator[list[str]]:
        """Divide an order of items into pages: single items, or whole documents at their first item."""
        if not self.people.together:
            yield from ([name] for name in order)
            return
        groups: dict[str, list[str]] = {}
        for name in order:
            groups.setdefault(self.page_of(name), []).append(name)
        yield from groups.values()

    @cached_property
    def page_size(self) -> int | None:
        """Number of items per page; None if documents have different numbers of items."""
        sizes = set(Counter(self.page_of(name) for name in self._names).values()) if self.people.together else {1}
        return sizes.pop() if len(sizes) == 1 else None

    @property
    def names(self) -> Sequence[str]:
        """The items in the order of their file."""
        return self._names

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self._names)

    @property
    def is_checked(self) -> bool:
        """Whether attention checks and practice items are among its items: those of the first part."""
        return self.drawn_from is None and self is self.design.parts[0]

    def orders(self, person: str, item: str, condition: str, repeat: int) -> dict[str, list[str]]:
        """Return, by question, the options' columns in the order in which this annotator sees them."""
        orders = {}
        for question in self.questions:
            drawn = list(question.definition.choices)
            if not drawn:
                continue
            if question.definition.orders != "fixed":
                name = question.definition.name
                chance(self.people.seed, "order", person, name, item, condition, repeat).shuffle(drawn)
            orders[str(question.id)] = drawn
        return orders

    def expected_tasks(self, party: str, annotators: int | None = None) -> int | None:
        """Return the number of tasks of an annotator per session, with checks and repeated items; None if unknown.

        With an overlap and without a quota, it is an equal share of the answers of this number of ``annotators``.
        """
        overlap = self.design.overlap(party)
        quota = self.people.quota
        if quota is not None or (overlap is None and self.drawn_from is None):
            number = quota if quota is not None and self.drawn_from else min(quota or self.n_items, self.n_items)
        elif annotators and overlap and self.drawn_from is None:
            number = math.ceil(self.n_items * min(overlap / annotators, 1))
        else:
            return None
        checks = 0
        if self.people.checks is not None and self.is_checked:
            checks = min(number // self.people.checks.every, len(known_items(self.design.store, "check")))
        return number + checks + int(number * self.people.retest)


class StudyDesign:
    """The design of a study for human annotators.

    Parameters
    ----------
    study : Study
    store : Store
        The store, updated to the study.

    Raises
    ------
    StudyError
        If annotators would see hidden information, or if a question cannot be asked on the annotation page.
    """

    def __init__(self, study: Study, store: Store) -> None:
        self.study, self.store = study, store
        self.people: People = study.config.people
        self.hidden = study.config.items.hidden
        asked = self._people_questions()
        self._check(asked)
        self.parts = self._parts(asked)
        """The parts of an annotator's work, in this order: items, outputs and pairs of them, triplets."""
        self._check_triplets()
        self.questions = tuple(question for part in self.parts for question in part.questions)
        self.counted = tuple(one for part in self.parts for one in part.counted)
        """The sets of questions of all parts whose answers count."""
        self.guide_pictures = self._guide_pictures()
        """Paths of the pictures in the consent text, the instructions and the guidelines."""
        self.form = self._keep_form()
        self.guide_version = self._guide_version()
        self.asked = lru_cache(maxsize=1000)(self._read_questions)

    def with_people(self, study: Study) -> StudyDesign:
        """Return the design with the overlap, quota and end of another version of the study; the rest is the same."""
        made = copy(self)
        made.study, made.people = study, study.config.people
        parts = [copy(part) for part in self.parts]
        for part in parts:
            part.design, part.people = made, made.people
        made.parts = tuple(parts)
        return made

    # -- questions ------------------------------------------------------------------------------

    def _people_questions(self) -> tuple[AskedQuestion, ...]:
        """All questions except those that systems answer, and those that only judges can answer."""
        written = self.study.config.written
        asked = [one for one in questions(self.store) if one.definition.name != written]
        if asked and all(one.definition.draws_pairs for one in asked):
            raise StudyError(
                "only judges can compare pairs of items; annotators choose the odd one out of three. Add a question "
                "with scale: odd-one-out and the same options"
            )
        return tuple(one for one in asked if not one.definition.draws_pairs)

    def _parts(self, asked: Sequence[AskedQuestion]) -> tuple[DesignPart, ...]:
        written = self.study.config.written
        by_role: dict[Role, tuple[AskedQuestion, ...]] = {}
        for one in asked:
            role = role_of(one.definition, written)
            by_role[role] = (*by_role.get(role, ()), one)
        return tuple(DesignPart(self, role, by_role[role]) for role in ROLES if role in by_role)

    @property
    def drawn(self) -> DesignPart | None:
        """The part of drawn triplets; None if there is none."""
        return next((part for part in self.parts if part.drawn_from is not None), None)

    @property
    def listed(self) -> tuple[DesignPart, ...]:
        """The parts whose items exist before annotation."""
        return tuple(part for part in self.parts if part.drawn_from is None)

    @property
    def n_items(self) -> int:
        """Number of items, with outputs and pairs of them; if all are drawn, of those that they are drawn from."""
        return sum(part.n_items for part in self.listed or self.parts)

    def part_of(self, numbers: Iterable[int]) -> DesignPart | None:
        """Return the part that has all of these questions; None if no part has them now."""
        wanted = set(numbers)
        return next((part for part in self.parts if wanted.issubset(q.id for q in part.questions)), None)

    def _read_questions(self, ids: str, condition: str) -> tuple[Asked, ...]:
        """The questions of a task, in the versions and on the scale with which it was assigned."""
        scale = json.loads(condition).get("scale")
        found = []
        for number, definition in questions_by_id(self.store, json.loads(ids)).items():
            own = parse_scale(scale) if scale else scale_of(definition.scale)
            found.append(Asked(number, definition.rescaled(own), own))
        return tuple(found)

    def questions_of(self, task: Any) -> tuple[Asked, ...]:
        """Return the questions of a task; for an open task, without questions removed since its assignment."""
        asked = self.asked(task.questions, task.condition)
        now = {q.id for q in self.questions}
        kept = tuple(one for one in asked if one.id in now)
        return kept if task.state == "given" and task.questions in self.counted and kept else asked

    def _keep_form(self) -> int:
        """Store the texts that annotators now read, and return their number."""
        shown = {
            "instructions": self.people.instructions,
            "consent": self.people.consent,
            "questions": [
                {"id": q.id, "name": q.definition.name, "version": q.version, "reads": _reads(q)}
                for q in self.questions
            ],
            "hidden": list(self.hidden),
            "images": list(self.study.config.items.images),
            "together": self.people.together,
        }
        part = self.study.config.items
        shown |= {name: list(columns) for name in ("markdown", "media") if (columns := getattr(part, name))}
        formulas = [column for column, has_formulas in part.markup.items() if has_formulas]
        shown |= {name: value for name, value in (("captions", part.captions), ("formulas", formulas)) if value}
        digests = picture_digests(
            Item("", None, {n: n for n in self.guide_pictures}), self.guide_pictures, self.study.folder
        )
        shown |= {"pictures": digests} if digests else {}
        return keep_form(self.store, digest_of(shown), shown)

    # -- guidelines -----------------------------------------------------------------------------

    def _guide_pictures(self) -> tuple[str, ...]:
        """Refuse pictures that the page would not show; return the paths of all others."""
        texts = {"people.consent": self.people.consent, "people.instructions": self.people.instructions}
        texts |= {f"the guidelines of '{q.definition.name}'": q.definition.guidelines for q in self.questions}
        found: dict[str, None] = {}
        for where, text in texts.items():
            for name in pictures_in(text):
                why = picture_problem(self.study, name)
                if why is not None:
                    raise StudyError(f"the image '{name}' in {where} {why}")
                found[name] = None
        return tuple(found)

    def laid_out(self, text: str, address: str = "/guide") -> Markup:
        """Return a consent text, instructions or guidelines as HTML; pictures have the address and a number."""
        return guide_html(text, {name: f"{address}/{n}" for n, name in enumerate(self.guide_pictures)})

    def guide_file(self, number: int) -> Path | None:
        """Return the file of a picture of the guidelines by its number; None if there is none."""
        if not 0 <= number < len(self.guide_pictures):
            return None
        return file_within(self.study.folder, self.guide_pictures[number])

    def _guide_version(self) -> tuple[int, date]:
        """The number of the instructions and guidelines in the order of their first use, and their date."""
        first: dict[str, float] = {}
        for _number, made_at, definition in forms_until(self.store, self.form):
            first.setdefault(canonical(guide_passages(definition)), made_at)
        own = list(first).index(canonical(guide_passages(form_of(self.store, self.form))))
        return own + 1, datetime.fromtimestamp([*first.values()][own], UTC).date()

    def guide_changes(self, person: str) -> tuple[GuideChange, ...]:
        """Return the passages of the instructions and guidelines that changed since an annotator began."""
        began = first_form(self.store, person)
        if began is None or began[0] == self.form:
            return ()
        return guide_changes(guide_passages(began[1]), guide_passages(form_of(self.store, self.form)))

    def consent_digest(self) -> str:
        """Return a digest of the consent text."""
        return digest_of(self.people.consent)

    def expiry_notice(self, today: date) -> str:
        """Return a notice if answers are kept longer than annotators were informed; otherwise empty."""
        until = self.people.keep_until
        if until is None or today <= until:
            return ""
        return (
            f"Annotators were informed that names and answers are kept until {until}. This date has passed: export the "
            f"data without names, then erase each annotator with: assay people erase {self.study.folder} NAME"
        )

    def deadline(self, person: Person) -> float | None:
        """Return an annotator's deadline in seconds since 1970; None without one, and for adjudicators."""
        ends = [] if self.people.end is None else [self.people.end.timestamp()]
        ends += [] if self.people.days is None else [person.invited_at + self.people.days * 86400]
        return min(ends) if ends and person.role != ADJUDICATOR else None

    # -- sessions -------------------------------------------------------------------------------

    def sessions(self, person: str) -> tuple[Session, ...]:
        """Return an annotator's sessions: one for each part, or one for each scale that is varied in random order."""
        found: list[tuple[DesignPart, str]] = []
        for part in self.parts:
            drawn = list(part.scales)
            if self.people.order != "fixed":
                chance(self.people.seed, "sessions", person).shuffle(drawn)
            found += [(part, scale) for scale in drawn or [""]]
        return tuple(
            Session(
                *(number, len(found)),
                canonical({"scale": scale} if scale else {}),
                Said("answer with {allowed}", allowed=allowed_words(parse_scale(scale))) if scale else "",
                part,
            )
            for number, (part, scale) in enumerate(found, start=1)
        )

    # -- overlap --------------------------------------------------------------------------------

    def party(self, attributes: Mapping[str, Any]) -> str:
        """Return the group to which an annotator's answers count; empty if the study does not count by group."""
        return "" if self.people.group is None else str(attributes.get(self.people.group, ""))

    def overlap(self, party: str) -> int | None:
        """Return the number of annotators of a group for each item; None for all of them."""
        wanted = self.people.per_item
        return wanted.get(party, 0) if isinstance(wanted, dict) else wanted

    def check_attributes(self, name: str, attributes: Mapping[str, Any]) -> None:
        """Refuse an annotator whose attributes do not determine a group of the study."""
        group, wanted = self.people.group, self.people.per_item
        if group is None:
            return
        value = attributes.get(group)
        known = f" ({listing(list(wanted))})" if isinstance(wanted, dict) else ""
        if value in (None, ""):
            if group in (one.name for one in self.people.asked("before")):
                return
            raise StudyError(f"'{name}' requires the attribute '{group}'{known}, by which the study counts overlap")
        if isinstance(wanted, dict) and str(value) not in wanted:
            raise StudyError(
                f"'{name}': '{value}' is not a group of the study; people.overlap names {listing(list(wanted))}"
            )

    # -- checks ---------------------------------------------------------------------------------

    def _check(self, asked: Sequence[AskedQuestion]) -> None:
        """Refuse questions that cannot be asked."""
        part = self.study.config.items
        for library in (
            *(["markdown_it"] if part.markup else []),
            *(_FOR_FORMULAS if any(part.markup.values()) else []),
        ):
            require(library, "serve", "laying out Markdown")
        if self.study.systems:
            self._check_outputs()
        definitions = [one.definition for one in asked]
        files: tuple[Role, ...] = ("source" if self.study.systems else "item", "check", "warm-up")
        shown = ((role, item) for role in files for item, _digest in items(self.store, role))
        refuse_unaskable(self.study, definitions, shown, page=True)

    def _check_triplets(self) -> None:
        """Refuse triplets if no three texts can be compared."""
        part = self.drawn
        with self.store.reading() as db:
            if part is None or n_pairs(db, part.pool):
                return
        within = " in one document" if self.study.config.items.document is not None else ""
        compared = f"question '{part.questions[0].definition.name}' compares three texts of '{part.drawn_from}'{within}"
        raise StudyError(f"{compared}, and there are no three; add items to {self.study.config.items.file}")

    def _check_outputs(self) -> None:
        """Refuse outputs, or pairs of them, that are not stored yet, or that were made from earlier outputs."""
        config = self.study.config
        comparisons = config.comparisons if config.compares_outputs else None
        with self.store.reading() as db:
            found = system_outputs(db, self.study.compared_temperature)
            if are_stored(db, found, comparisons, single=config.single_outputs):
                return
        missing = f"{counted(found.missing, 'output')} missing" if found.missing else "all outputs exist"
        missing = missing if found.outputs else "there are no outputs"
        words = "the pairs for annotators are not drawn yet", "collect the outputs and draw the pairs"
        if comparisons is None:
            words = "the outputs for annotators are not stored yet", "collect the outputs"
        raise StudyError(f"{words[0]} ({missing}); {words[1]} with: assay judge {self.study.folder}")

    def item_files(self, item: Item) -> tuple[str, ...]:
        """Return the columns of an item with an image, a recording or captions."""
        files = self.study.config.items.file_columns
        return tuple(c for c in files if isinstance(item.fields.get(c), str) and item.fields[c])


def _reads(question: AskedQuestion) -> dict[str, Any]:
    """A question in the current wording of study.yaml, without defaults."""
    return question.definition.model_dump(mode="json", exclude_defaults=True, exclude={"name"})


def is_wrong(label: Label | None, known: Label, given_on: Scale, known_on: Scale) -> bool:
    """Return whether an answer differs from the known answer of an attention check.

    Categories and whole numbers must be equal. A number on a scale with fractions passes within a tenth of the scale's
    range; so does an answer on another scale than the known answer, after both are mapped to their ranges. If a scale
    has no limits, the numbers must be equal. A graded preference is correct if its side is correct. Texts about spans
    are not compared.
    """
    if isinstance(given_on, SpanLabels) and label is not None:
        return given_on.chosen(label) != given_on.chosen(known)
    if given_on.kind == "preference" and label is not None:
        return float(label) * float(known) <= 0 and label != known
    near = given_on != known_on or given_on.kind == "interval"
    if label is None or not (near and given_on.numeric and given_on.bounds and known_on.bounds):
        return label != known
    places = [
        (float(value) - low) / (high - low)
        for value, (low, high) in ((label, given_on.bounds), (known, known_on.bounds))
    ]
    return abs(places[0] - places[1]) > NEAR + 1e-9
