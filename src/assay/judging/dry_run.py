"""What would be sent: shown before a run, and refused where a parameter would get lost on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from assay.errors import JudgeError, StudyError, listing, unknown
from assay.judging.http import Request, Sent, fingerprint, kept, not_sent
from assay.judging.plan import Plan
from assay.judging.providers import Provider
from assay.study.schema import Judge, StudyFile
from assay.study.store import work
from assay.study.store.items import items


@dataclass(frozen=True)
class Shown:
    """One call that a run would make, or several that are alike."""

    judge: str
    question: str
    item: str
    condition: Mapping[str, Any]
    url: str | None
    body: Mapping[str, Any]
    """As it would be sent, but for images: their digests stand in the place of their bytes."""
    times: int = 1

    def __str__(self) -> str:
        about = [f"judge {self.judge}", f"question {self.question}", f"item {self.item}"]
        about += [f"{name} {value}" for name, value in self.condition.items()]
        about += [f"{self.times} times"] if self.times > 1 else []
        where = "answered from a file; a model would be sent" if self.url is None else f"POST {self.url}"
        return f"# {', '.join(about)}\n# {where}\n{as_yaml(self.body)}"


def calls_about(plan: Plan, providers: Mapping[str, Provider], item: str | None) -> list[Shown]:
    """What each judge is sent about an item, the study's first where none is named; of pairs, about the first.

    Raises
    ------
    StudyError
        Where the study has no such item, or no judge is asked about it.
    """
    roles = [[one.name for one, _ in items(plan.store, part.role)] for part in plan.parts]
    names = [name for role in roles for name in role]
    if item is not None and item not in names:
        raise StudyError(unknown("item", item, names, "the study"))
    judges = list(providers)
    claims: list[work.Claim] = []
    for wanted in roles if item is None else [[item]]:
        claims += next((found for name in wanted if (found := work.about_item(plan.store, name, judges))), [])
    if not claims:
        raise StudyError(f"no judge is asked about {'any item' if item is None else f'item {item!r}'}")
    return asyncio.run(_shown(plan, providers, claims))


async def _shown(plan: Plan, providers: Mapping[str, Provider], claims: Iterable[work.Claim]) -> list[Shown]:
    found: dict[tuple[str, ...], Shown] = {}
    for claim in claims:
        request = plan.request(claim)
        sent: Sent = await providers[claim.annotator].sent(request)
        question = plan.questions[claim.question].definition.name
        body = kept(sent.body, sent.key)
        key = (claim.annotator, question, fingerprint(body))
        times = found[key].times + 1 if key in found else 1
        about = (claim.annotator, question, claim.item.name, claim.condition)
        found[key] = Shown(*about, sent.url, body, times)
    for provider in providers.values():
        await provider.close()
    return list(found.values())


class _Dumper(yaml.SafeDumper):
    """Texts of several lines stand as they are read."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def as_yaml(body: Mapping[str, Any]) -> str:
    """A body with every text as it is read."""
    return yaml.dump(body, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=10**6)


# -- what would get lost ----------------------------------------------------------------------------


async def refuse_what_is_not_sent(
    judges: Iterable[Judge], providers: Mapping[str, Provider], config: StudyFile
) -> None:
    """See that every parameter of every judge would be sent; nothing is sent.

    Raises
    ------
    JudgeError
        With the judge, and the parameters that its provider does not take.
    """
    for judge in judges:
        for request in _trials(judge, config.conditions.temperature):
            sent = await providers[judge.name].sent(request)
            lost = not_sent(request, sent.body)
            if lost:
                where = judge.base_url or judge.provider
                raise JudgeError(
                    f"judge '{judge.name}': {listing(lost)} would not reach {judge.model or judge.name} at {where} as "
                    "study.yaml says it, because the provider or the model takes no such parameter, or because it is "
                    "given twice. Take it out of study.yaml; nothing was asked"
                )


def _trials(judge: Judge, temperatures: Iterable[float]) -> Iterator[Request]:
    """A call about nothing, with each set of parameters under which a judge is asked."""
    words = [{"role": "user", "content": "?"}]
    for temperature in tuple(temperatures) or (judge.temperature,):
        yield Request(judge.model or judge.name, words, temperature, judge.max_tokens, None, judge.params)
