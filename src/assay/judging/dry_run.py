"""Estimate the calls, tokens and cost of a run without sending anything, and refuse parameters that would be lost."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import yaml

from assay.errors import JudgeError, StudyError, listing, unknown
from assay.judging import words
from assay.judging.functions import FUNCTION
from assay.judging.plan import Plan, plan_study
from assay.judging.services.client import expected_tokens, pricer
from assay.judging.services.http import Provider, Request, fingerprint, keepable, not_sent, sharing_key
from assay.judging.services.providers import PROVIDERS, Access, provider_for
from assay.study.definition import Study
from assay.study.items import canonical
from assay.study.schema import Judge, StudyFile
from assay.study.store import work
from assay.study.store.answers import typical_output
from assay.study.store.connection import open_scratch, store_in_use
from assay.study.store.items import items
from assay.study.store.work import Changed

REASONED, PLAIN, WRITTEN = 300, 12, 250
"""Tokens of a reply until there are some to go by: with reasoning, a label in JSON, a short text. A reply with
reasoning is a paragraph or two, a label in JSON some ten tokens; what comes of it is only an estimate."""

THINKS = re.compile(
    r"(?:^|/)(?:gpt-5(?!.*chat)|gpt-oss|o[1-9](?![a-z0-9]))|gemini-(?:2\.5-pro|[3-9])|deepseek-r\d|reasoner|thinking|qwq"
    r"|magistral|grok-(?:3-mini|4)",
    re.IGNORECASE,
)
"""Models that reason unless they are asked not to."""

SAMPLED = 100
"""Prompts that are rendered for an estimate: their mean length is then known to a few percent."""

# -- shared by a run and its estimate ------------------------------------------------------------------


def chosen_judges(study: Study, names: Iterable[str] | None) -> list[Judge]:
    """Return the selected judges, systems first; all if no names are given."""
    known = [one.name for one in study.models]
    wanted = known if names is None else list(names)
    for name in wanted:
        if name not in known:
            raise JudgeError(unknown("judge", name, known, "study.yaml"))
    if not wanted:
        raise JudgeError("study.yaml has no judge that is a model or a program")
    return [judge for judge in study.models if judge.name in wanted]


ItemPart = Literal["development", "test", "all"]
"""The name of a study's items that judges label, if `assay study split` has set a test set apart."""


def part_asked(study: Study, part: ItemPart | None) -> ItemPart | None:
    """Return the part that judges label: of split items the development set, unless another part is given.

    Raises
    ------
    StudyError
        For a part of items that are not split.
    """
    if study.parts:
        part = part or "development"
        return None if part == "all" else part
    if part not in (None, "all"):
        raise StudyError(
            f"the items of {study.folder} are not split; split them with: assay study split {study.folder}"
        )
    return None


def providers_of(
    judges: Iterable[Judge], study: Study, *, asking: bool = True, code: bool = False
) -> dict[str, Provider]:
    """The provider of each judge, see `assay.judging.services.providers.provider_for`."""
    found = {}
    for judge in judges:
        limits = study.config.limits.for_judge(judge)
        found[judge.name] = provider_for(judge, Access(study.folder, limits.timeout, limits.concurrency, asking, code))
    return found


async def refuse_what_is_not_sent(
    judges: Iterable[Judge], providers: Mapping[str, Provider], config: StudyFile
) -> None:
    """See that every parameter of every judge would be sent; nothing is sent.

    Raises
    ------
    JudgeError
        With the judge, and the parameters that its provider does not take.
    """
    words = [{"role": "user", "content": "?"}]
    for judge in judges:
        model = judge.model or judge.name
        for temperature in config.conditions.temperatures["judges"] or (judge.temperature,):
            request = Request(model, words, temperature, judge.max_tokens, None, judge.params, effort=judge.effort)
            lost = not_sent(request, (await providers[judge.name].sent(request)).body)
            if lost:
                where = judge.address or judge.provider
                raise JudgeError(
                    f"judge '{judge.name}': {listing(lost)} would not reach {model} at {where}: the "
                    "provider or the model does not accept it, or it is set twice. Remove it from study.yaml; nothing "
                    "was sent"
                )


# -- the estimate --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JudgeEstimate:
    """The estimate for one judge's open requests."""

    judge: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    probes: int = 0
    """Of the calls, those that are probes."""


@dataclass(frozen=True)
class CostEstimate:
    """Calls, tokens and money before the first call is made."""

    judges: tuple[JudgeEstimate, ...]
    spent: float
    max_cost: float | None
    lost: str = ""
    """The lost answers by question, in words; empty if all answers still count."""
    later: str = ""
    """Calls that cannot be counted yet: those about pairs of outputs that do not exist yet."""

    @property
    def cost(self) -> float | None:
        """Dollars for all judges; None if a price is unknown."""
        costs = [j.cost for j in self.judges if j.calls]
        return None if None in costs else float(sum(c for c in costs if c is not None))

    def summary(self) -> str:
        """Return a summary in a few lines."""
        return words.estimate_words(self)


def estimate_study(
    study: Study,
    *,
    store: str | None = None,
    judges: Iterable[str] | None = None,
    changed: Changed | None = "new-version",
    part: ItemPart | None = None,
) -> CostEstimate:
    """How many calls, tokens and how much money will the open questions take?

    Nothing is sent or stored: the plan is made in a copy of the store. ``changed`` is how a change of the study would
    be treated; if answers would no longer count, the estimate reports how many. Input tokens come from up to 100
    rendered prompts per judge, output tokens from the judge's responses so far, if there are 20. ``part`` as for
    `assay.judging.run.judge_study`.
    """
    asked, part = chosen_judges(study, judges), part_asked(study, part)
    asyncio.run(refuse_what_is_not_sent(asked, providers_of(asked, study, asking=False), study.config))
    with store_in_use(study, store, opening=open_scratch) as opened:
        plan, change = plan_study(study, opened, changed)
        estimates = tuple(_estimate(plan, judge, part) for judge in asked)
        later = _later(study) if study.systems and not plan.has_outputs else ""
        return CostEstimate(estimates, work.dollars_spent(opened), study.config.limits.max_cost, change.words, later)


def _later(study: Study) -> str:
    """How many outputs and pairs judges will be asked about, once there are outputs."""
    config, systems = study.config, study.systems
    comparisons, n_items = config.comparisons, sum(1 for _ in study.items())
    outputs = n_items * sum(one.repeats for one in systems)
    does = [f"labels {outputs:,} outputs"] if config.single_outputs else []
    n_items = n_items if comparisons.n_items is None else min(n_items, comparisons.n_items)
    twos = len(systems) * (len(systems) - 1) // 2
    each = min(comparisons.pairs, min(one.repeats for one in systems) ** 2)
    does += [f"compares {n_items * twos * each} pairs of them"] if config.compares_outputs else []
    return f"After all outputs exist, each judge also {' and '.join(does)}."


def _share_of_calls(plan: Plan, judge: Judge) -> float:
    """The share of the answers that need a separate call: questions with the same request share one."""
    row = PROVIDERS.find(judge.provider)
    of_row = judge.provider == "python" and (judge.model or "").startswith(FUNCTION)
    if row is None or (row.format is None and not of_row) or len(plan.questions) <= 1:
        return 1.0
    name = next((claim.item.name for claim in work.sample(plan.store, judge.name, 1)), None)
    claims = [] if name is None else work.item_claims(plan.store, name, [judge.name])
    asked = [(one.repeat, canonical(one.condition), plan.request(one)) for one in claims]
    calls = {(*of, *((canonical(dict(r.columns)),) if of_row else sharing_key(r))) for *of, r in asked}
    return len(calls) / len(claims) if claims else 1.0


def _estimate(plan: Plan, judge: Judge, part: str | None) -> JudgeEstimate:
    counts = work.counts(plan.store, [judge.name], part)
    calls = counts.get("open", 0) + counts.get("failed", 0)
    calls = round(calls * _share_of_calls(plan, judge))
    sample = [plan.request(claim) for claim in work.sample(plan.store, judge.name, SAMPLED, part)]
    each_in = sum(map(expected_tokens, sample)) / len(sample) if sample else 0.0
    each_out = typical_output(plan.store, judge.name)
    if each_out is None:
        free_text = any(request.schema is None and judge.structured == "auto" for request in sample)
        thinks = (
            judge.effort not in ("none", "minimal") if judge.effort else THINKS.search(judge.model or "") is not None
        )
        guess = REASONED if thinks or judge.reasons else PLAIN
        each_out = (judge.max_tokens or WRITTEN) if free_text else guess
    if judge.max_tokens is not None:
        each_out = min(each_out, judge.max_tokens)
    tokens_in, tokens_out = round(each_in * calls), round(each_out * calls)
    price = pricer(judge)
    # Of each call: a long prompt may cost more a token, and many short ones are none.
    many = max(1, calls)
    cost = None if price is None else many * price(tokens_in / many, tokens_out / many)
    return JudgeEstimate(
        *(judge.name, calls, tokens_in, tokens_out, cost), work.count_probes(plan.store, judge.name, part)
    )


# -- what would be sent ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shown:
    """One request of a run, or several with the same body."""

    judge: str
    question: str
    item: str
    condition: Mapping[str, Any]
    url: str | None
    body: Mapping[str, Any]
    """The request body, with digests instead of the bytes of images."""
    times: int = 1

    def __str__(self) -> str:
        about = [f"judge {self.judge}", f"question {self.question}", f"item {self.item}"]
        about += [f"{name} {value}" for name, value in self.condition.items()]
        about += [f"{self.times} times"] if self.times > 1 else []
        told = "a program is given" if "columns" in self.body else "answered from a file; a model would be sent"
        where = told if self.url is None else f"POST {self.url}"
        return f"# {', '.join(about)}\n# {where}\n{as_yaml(self.body)}"


def requests_of(
    study: Study, item: str | None = None, *, store: str | None = None, judges: Iterable[str] | None = None
) -> list[Shown]:
    """What would each judge be sent about this item, to the letter?

    Parameters
    ----------
    study : Study
    item : str, optional
        By default the study's first item; the first pair if outputs are compared.
    store, judges
        As for `assay.judging.run.judge_study`. No key is needed; nothing is sent or stored.

    Raises
    ------
    StudyError
        If the study has no such item, or no judge labels it.
    """
    asked = chosen_judges(study, judges)
    with store_in_use(study, store, opening=open_scratch) as opened:
        plan, _ = plan_study(study, opened, "new-version")
        claims = _claims_about(plan, [judge.name for judge in asked], item)
        return asyncio.run(_render_calls(plan, providers_of(asked, study, asking=False), claims))


def _claims_about(plan: Plan, judges: Sequence[str], item: str | None) -> list[work.Claim]:
    roles = [[one.name for one, _ in items(plan.store, part.role)] for part in plan.parts]
    names = [name for role in roles for name in role]
    if item is not None and item not in names:
        raise StudyError(unknown("item", item, names, "the study"))
    claims: list[work.Claim] = []
    for wanted in roles if item is None else [[item]]:
        claims += next((found for name in wanted if (found := work.item_claims(plan.store, name, judges))), [])
    if not claims:
        raise StudyError(f"no judge labels {'any item' if item is None else f'item {item!r}'}")
    return claims


async def _render_calls(plan: Plan, providers: Mapping[str, Provider], claims: Iterable[work.Claim]) -> list[Shown]:
    found: dict[tuple[str, ...], Shown] = {}
    for claim in claims:
        sent = await providers[claim.annotator].sent(plan.request(claim))
        question, body = plan.questions[claim.question].definition.name, keepable(sent.body, sent.key)
        key = (claim.annotator, question, fingerprint(body))
        times = found[key].times + 1 if key in found else 1
        found[key] = Shown(claim.annotator, question, claim.item.name, claim.condition, sent.url, body, times)
    for provider in providers.values():
        await provider.close()
    return list(found.values())


class _Dumper(yaml.SafeDumper):
    """Texts of several lines are printed as block text."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def as_yaml(body: Mapping[str, Any]) -> str:
    """Return a body with every text as block text."""
    return yaml.dump(body, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=10**6)
