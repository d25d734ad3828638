"""Which questions are put to which judge, under which conditions, and with what words."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from assay.data.scales import Label, Scale, parse_scale
from assay.errors import StudyError
from assay.judging.prompts import Demonstration, complaint, instructions, messages_for, names_item, reply_schema
from assay.judging.sending import Request
from assay.study.definition import Study
from assay.study.digests import canonical, chance, digest_of
from assay.study.ensembles import combined
from assay.study.items import Item
from assay.study.schema import Judge, scale_of
from assay.study.store import queue
from assay.study.store.answers import human_labels
from assay.study.store.connection import Store
from assay.study.store.intake import SYNCED
from assay.study.store.items import DRAWN, Role, items, items_named
from assay.study.store.questions import AskedQuestion, questions
from assay.study.store.queue import Assignment, Claim

_RECIPE = ("model", "provider", "strategy", "temperature", "seed", "max_tokens", "structured", "params")
"""What makes two answers of a judge different answers; where it runs and what it costs do not."""

Chosen = dict[str, Any]
"""Demonstrations as they are kept: ``fold`` to (item, label) pairs; ``documents`` that are held out."""


@dataclass(frozen=True)
class _Way:
    """What all assignments of one judge, one question and one condition have in common."""

    judge: Judge
    question: AskedQuestion
    scale: Scale
    schema: dict[str, Any] | None
    template: str | None
    instructions: str | None
    """None where they hang on the item."""


class Plan:
    """A study's judging: every assignment, and the request that belongs to each."""

    def __init__(self, study: Study, store: Store) -> None:
        self.study, self.store = study, store
        self.judges = {judge.name: judge for judge in study.judges}
        self.questions = {question.id: question for question in questions(store)}
        drawn = any(question.definition.drawn_from for question in self.questions.values())
        self.role: Role = "triplet" if drawn else "item"
        self._chosen = {
            (judge.name, question.id): self._choose(judge, question)
            for judge in study.judges
            for question in self.questions.values()
            if "few-shot" in (*study.config.conditions.strategy, judge.strategy)
        }
        names = {name for chosen in self._chosen.values() for fold in chosen["folds"].values() for name, _ in fold}
        self._shown_items = items_named(store, names)
        self._template_of = lru_cache(maxsize=None)(self._template)
        self._way_of = lru_cache(maxsize=1000)(self._find_way)

    def save(self) -> None:
        """Write the assignments to the store; nothing where they stand there already."""
        digest = digest_of(
            [
                self.store.setting(SYNCED),
                self.store.setting(DRAWN),
                self.study.prompts,
                list(self._chosen.values()),
            ]
        )
        queue.plan(self.store, self.assignments(), digest)

    # -- what is asked --------------------------------------------------------------------------

    def assignments(self) -> Iterator[Assignment]:
        """Every question to every judge, item by item, so that a run that stops has whole items."""
        cells = [
            (judge, question, condition, judge.variant(condition))
            for question in self.questions.values()
            for judge in self.judges.values()
            for condition in self.conditions(question)
        ]
        for item, digest in items(self.store, self.role):
            for judge, question, condition, variant in cells:
                if variant.strategy == "few-shot" and self._is_held_out(judge, question, item):
                    continue
                recipe = self._recipe(variant, question, condition, item, digest)
                for repeat in range(1, judge.repeats + 1):
                    for order, varied in self._orders(judge, question, item, repeat):
                        own = condition | ({"order": ">".join(order)} if varied else {})
                        shown = {"order": list(order)} if order else None
                        yield Assignment(item.name, question.id, judge.name, recipe, canonical(own), repeat, shown)

    def conditions(self, question: AskedQuestion) -> list[dict[str, Any]]:
        """Every combination of what the study varies, for one question."""
        varied = self.study.config.conditions
        names = [name for name in ("scale", "temperature", "prompt", "strategy") if getattr(varied, name)]
        if "scale" in names and not scale_of(question.definition.scale).numeric:
            names.remove("scale")
        return [
            dict(zip(names, values, strict=True))
            for values in itertools.product(*(getattr(varied, name) for name in names))
        ]

    def _orders(
        self, judge: Judge, question: AskedQuestion, item: Item, repeat: int
    ) -> list[tuple[tuple[str, ...], bool]]:
        """The orders in which the options are shown, and whether order is a condition."""
        options = question.definition.choices
        if not options or question.definition.orders == "fixed":
            return [(options, False)]
        if question.definition.orders == "all":
            return [(order, True) for order in itertools.permutations(options)]
        drawn = list(options)
        chance(judge.seed, "order", judge.name, question.definition.name, item.name, repeat).shuffle(drawn)
        return [(tuple(drawn), False)]

    def _recipe(
        self, variant: Judge, question: AskedQuestion, condition: dict[str, Any], item: Item, digest: str
    ) -> str:
        made_of: list[Any] = [
            {name: getattr(variant, name) for name in _RECIPE},
            self._template_of(variant.prompt),
            digest,
        ]
        if variant.strategy == "few-shot":
            made_of.append(self._demonstrations_kept(variant, question, item))
        return digest_of([*made_of, condition.get("scale")])

    def _template(self, prompt: str | None) -> str | None:
        return None if prompt in (None, "default") else self.study.prompts[prompt]

    # -- demonstrations -------------------------------------------------------------------------

    def _choose(self, judge: Judge, question: AskedQuestion) -> Chosen:
        """Demonstrations, drawn once and kept: labels that come later do not change what was asked."""
        wanted = judge.demonstrations
        what = digest_of([wanted.model_dump(), judge.seed])
        key = f"demonstrations/{judge.name}/{question.id}/{what}"
        kept = self.store.setting(key)
        if kept is not None:
            return dict(kept)
        labelled: dict[str, tuple[str, list[Label]]] = {}
        for item, document, label in human_labels(self.store, question.id):
            labelled.setdefault(item, (document or item, []))[1].append(label)
        scale = scale_of(question.definition.scale)
        folds = range(wanted.folds) if wanted.use == "cross-fitted" else (0,)
        chosen: Chosen = {"folds": {}, "documents": []}
        for fold in folds:
            allowed = [
                item
                for item, (document, _) in labelled.items()
                if wanted.use == "held-out" or _fold(judge, document) != fold
            ]
            if len(allowed) < wanted.count:
                raise StudyError(
                    f"judge '{judge.name}' needs {wanted.count} demonstrations for '{question.definition.name}'; "
                    f"people have labelled {len(allowed)} items that it may see. Name their file with 'labels:', "
                    "or ask for fewer"
                )
            drawn = chance(judge.seed, "demonstrations", fold).sample(allowed, wanted.count)
            pairs = [(item, _shown_label(labelled[item][1], scale, judge, item)) for item in drawn]
            chosen["folds"][str(fold)] = pairs
            if wanted.use == "held-out":
                chosen["documents"] = sorted({labelled[item][0] for item in drawn})
        return dict(self.store.keep(key, chosen))

    def _is_held_out(self, judge: Judge, question: AskedQuestion, item: Item) -> bool:
        return (item.document or item.name) in self._chosen[judge.name, question.id]["documents"]

    def _demonstrations_kept(self, judge: Judge, question: AskedQuestion, item: Item) -> list[tuple[str, Label]]:
        held_out = judge.demonstrations.use == "held-out"
        fold = 0 if held_out else _fold(judge, item.document or item.name)
        return [(name, label) for name, label in self._chosen[judge.name, question.id]["folds"][str(fold)]]

    def demonstrations(self, judge: Judge, question: AskedQuestion, item: Item, scale: Scale) -> list[Demonstration]:
        """What a few-shot judge is shown before an item: never the item, nor others of its document."""
        own = scale_of(question.definition.scale)
        return [
            Demonstration(self._shown_items[name], own.moved(label, scale))
            for name, label in self._demonstrations_kept(judge, question, item)
        ]

    # -- one request ----------------------------------------------------------------------------

    def scale(self, claim: Claim) -> Scale:
        """The scale on which an assignment is to be answered."""
        return self._way(claim).scale

    def _way(self, claim: Claim) -> _Way:
        return self._way_of(claim.annotator, claim.question, canonical(claim.condition))

    def _find_way(self, name: str, number: int, condition: str) -> _Way:
        varied = json.loads(condition)
        judge, question = self.judges[name].variant(varied), self.questions[number]
        scale = parse_scale(varied["scale"]) if varied.get("scale") else scale_of(question.definition.scale)
        schema = None
        if judge.structured == "auto":
            schema = reply_schema(scale, reasoning=judge.strategy == "chain-of-thought")
        template = self._template_of(judge.prompt)
        nothing = Item("", None, {})
        known = None if names_item(template) else instructions(judge, question.definition, scale, template, nothing)
        return _Way(judge, question, scale, schema, template, known)

    def order(self, claim: Claim) -> tuple[str, ...]:
        """The order in which an assignment shows its options."""
        return tuple((claim.shown or {}).get("order", ()))

    def request(self, claim: Claim) -> Request:
        """The call for an assignment; with the complaint, where its last reply could not be read."""
        way = self._way(claim)
        judge, question, scale = way.judge, way.question, way.scale
        few_shot = judge.strategy == "few-shot"
        part = self.study.config.items
        messages = messages_for(
            judge,
            question.definition,
            scale,
            claim.item,
            order=self.order(claim),
            demonstrations=self.demonstrations(judge, question, claim.item, scale) if few_shot else (),
            template=way.template,
            images=part.images,
            folder=self.study.folder,
            hidden=() if part.document is None else (part.document,),
            system=way.instructions,
        )
        if claim.unread is not None:
            messages = complaint(messages, *claim.unread, scale)
        about: dict[str, Any] = {"item": claim.item.name, "judge": judge.name, "question": question.definition.name}
        about |= {"repeat": claim.repeat, **claim.condition}
        if claim.shown:
            about["order"] = ">".join(self.order(claim))
        if claim.unread is not None:
            about["attempt"] = 2
        return Request(
            judge.model or judge.name, messages, judge.temperature, judge.max_tokens, way.schema, judge.params, about
        )


def _fold(judge: Judge, document: str) -> int:
    return int(digest_of([judge.seed, "fold", document]), 16) % judge.demonstrations.folds


def _shown_label(labels: list[Label], scale: Scale, judge: Judge, item: str) -> Label:
    """What people said about an item, as one label on the scale."""
    rule = judge.demonstrations.label or ("mean" if scale.kind == "interval" else "majority")
    if rule == "mean" and not scale.numeric:
        raise StudyError(f"judge '{judge.name}': labels on the scale '{scale.spec}' have no mean")
    label: Any = combined(labels, rule, f"{judge.seed}/{item}")[0]
    if rule == "mean":
        return round(label) if scale.kind == "ordinal" else round(float(label), 2)
    chosen: Label = label
    return chosen
