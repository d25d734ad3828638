"""Keys of study.yaml that earlier versions had: refused in a file, converted in a store."""

from __future__ import annotations

import copy
import shlex
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

Where = tuple[str | int, ...]

OLD_KEYS: dict[str, str] = {
    "looks": "write 'analyses: 4'",
    "items.captions": "write 'media: {clip: clip_vtt}', the recording's column with the column of its captions",
    "comparisons.seed": "write 'seed: 1' at the top",
    "items.formulas": "write 'markdown: {proof: formulas}', each column with formulas",
    "conditions.system_temperature": "write 'temperature: {systems: [0.7, 0.2]}'",
    "comparisons.choose": "write 'items: {top: 50}', the choice with the number of items",
    "comparisons.temperature": "write it first in 'conditions: {temperature: {systems: [0.7, 0.2]}}'",
    "judges.seed": "write 'seed: 1' at the top",
    "judges.function": "write 'model: module:function'",
    "judges.command": "write 'model: ./rate.sh --fast', the program and its options in one line",
    "judges.query": "write 'base_url: https://example.org/v1?api-version=1', the address with its query",
    "judges.max_tokens_as": "remove it; assay uses the name that the endpoint accepts",
    "judges.demonstrations.folds": "remove it; there are 5 folds of documents",
    "judges.demonstrations.label": "remove it; examples have the majority label, the mean on scales with fractions",
    "judges.limits.loading": "remove it; assay waits up to 300 seconds for a server that is loading its model",
    "judges.limits.tries": "remove it; a call to a busy service is repeated up to 8 times",
    "limits.loading": "remove it; assay waits up to 300 seconds for a server that is loading its model",
    "limits.tries": "remove it; a call to a busy service is repeated up to 8 times",
    "limits.unreadable": "remove it; 20 unparseable responses in a row stop a judge",
    "probes.of": "write 'probes: {swapped: 50}', each probe with the number of items in its sample",
    "probes.sample": "write 'probes: {swapped: 50}', each probe with the number of items in its sample",
    "probes.seed": "write 'seed: 1' at the top",
    "people.group": "write 'overlap: {job: {nurse: 2, doctor: 1}}' or 'overlap: {job: 2}', by attribute",
    "people.first": "write 'order: queue.csv'",
    "people.days": "write 'until: 14 days'",
    "people.pass_warm_up": "write 'warm_up: {warm-up.csv: 0.8}', the table with the share",
    "people.seed": "write 'seed: 1' at the top",
    "people.retest_gap": "remove it; at least 10 other items come between, if there are enough",
    "people.reserve": "remove it; an unanswered item is given to someone else after 30 minutes",
    "people.idle": "remove it; 60 seconds without input no longer count as work",
    "people.link_days": "remove it; a personal link expires after 90 days",
    "people.skip_reasons": "remove it; the reasons to skip an item are translated with the page",
    "people.auto_advance": "remove it; Enter saves the answers of a page",
    "people.added_questions": "write 'after_change: ask-again'",
    "people.new_text": "write 'after_change: ask-again'",
    "people.checks.most_failed_share": "write 'most_failed: 0.4', a share below 1",
    "people.checks.share_from": "remove it; a share counts from 5 answered checks on",
    "people.crowd.id": "write 'parameters: [id]', the URL parameter with the participant's id first",
    "people.crowd.keep": "write 'parameters: [id, batch]', the URL parameters to store after that of the id",
    "people.crowd.screening": "write under people 'ask: {screening: {native: {Is English your first language?: {yes: "
    "true, no: false}}}}', by the column of the answer",
    **{
        f"people.pay.{name}": "write 'pay: {GBP: {completed: 2.50}}', the amounts under their currency"
        for name in ("currency", "completed", "screened", "failed", "item", "hour")
    },
}
"""The replacement of each old key, by path; a system has the keys of a judge."""


def old_key_problems(content: Any, where: Where = ()) -> Iterator[tuple[Where, str]]:
    """Find the keys of earlier versions, each with the new key."""
    if isinstance(content, dict):
        for key, value in content.items():
            here = (*where, key)
            names = ["judges" if (n, part) == (0, "systems") else str(part) for n, part in enumerate(here)]
            path = ".".join(name for name, part in zip(names, here, strict=True) if not isinstance(part, int))
            if path in OLD_KEYS:
                yield here, f"old key '{key}': {OLD_KEYS[path]}"
            else:
                yield from old_key_problems(value, here)
    elif isinstance(content, list):
        for position, value in enumerate(content):
            yield from old_key_problems(value, (*where, position))


def converted(stored: dict[str, Any]) -> dict[str, Any]:
    """Convert the definition of a study that an earlier version stored.

    Every choice that still exists is kept; of several seeds, the first that was set.
    """
    if next(old_key_problems(stored), None) is None:
        return stored
    study = copy.deepcopy(stored)
    people, items = study.get("people", {}), study.get("items", {})
    models = [*study.get("judges", []), *study.get("systems", [])]
    comparisons, limits = study.get("comparisons", {}), study.get("limits", {})
    seeds = [part.pop("seed", 0) for part in (people, *models, comparisons)]
    if "looks" in study:
        study["analyses"] = study.pop("looks")
    if captions := items.pop("captions", None):
        items["media"] = {column: captions.get(column) for column in items["media"]}
    if items.pop("formulas", False):
        items["markdown"] = dict.fromkeys(items["markdown"], "formulas")
    choose = comparisons.pop("choose", "weighted")
    if choose != "weighted" and comparisons.get("items") is not None:
        comparisons["items"] = {choose: comparisons["items"]}
    _convert_temperatures(study.get("conditions", {}), comparisons.pop("temperature", None))
    for model in models:
        _convert_model(model)
    for name in ("loading", "tries", "unreadable"):
        limits.pop(name, None)
    if isinstance(probes := study.get("probes"), dict) and "of" in probes:
        seeds.append(probes.get("seed", 0))
        study["probes"] = dict.fromkeys(probes["of"], probes.get("sample", 50))
    elif probes is None:
        study.pop("probes", None)
    _convert_people(people)
    if seed := next((one for one in seeds if one), 0):
        study["seed"] = seed
    return study


def _convert_temperatures(conditions: dict[str, Any], compared: float | None) -> None:
    varied = conditions.pop("system_temperature", ())
    if compared is not None:
        varied = [compared, *(one for one in varied if one != compared)]
    if varied:
        conditions["temperature"] = {"judges": conditions.get("temperature", ()), "systems": varied}


def _convert_model(model: dict[str, Any]) -> None:
    function, command, query = (model.pop(name, None) for name in ("function", "command", "query"))
    if function or command:
        model["model"] = function or shlex.join(command)
    if query:
        model["base_url"] = f"{model['base_url']}?{urlencode(query)}"
    model.pop("max_tokens_as", None)
    for part, names in (("demonstrations", ("folds", "label")), ("limits", ("loading", "tries"))):
        for name in names:
            (model.get(part) or {}).pop(name, None)
    for part in ("limits", "price"):  # what was missing was null
        if isinstance(model.get(part), dict):
            model[part] = {name: value for name, value in model[part].items() if value is not None}


def _convert_people(people: dict[str, Any]) -> None:
    for name in ("retest_gap", "reserve", "idle", "link_days", "skip_reasons", "auto_advance"):
        people.pop(name, None)
    group, first, days = (people.pop(name, None) for name in ("group", "first", "days"))
    share, added, changed = (people.pop(name, None) for name in ("pass_warm_up", "added_questions", "new_text"))
    if group is not None and people.get("overlap") is not None:
        people["overlap"] = {group: people["overlap"]}
    if first is not None:
        people["order"] = first
    if days is not None and people.get("until") is None:
        people["until"] = f"{days:g} days"
    if share is not None:
        people["warm_up"] = {people["warm_up"]: share}
    if added == "all-items" or changed == "ask-again":
        people["after_change"] = "ask-again"
    if checks := people.get("checks"):
        checks.pop("share_from", None)
        failed = checks.pop("most_failed_share", None)
        if failed is not None and checks.get("most_failed") is None:
            checks["most_failed"] = failed
    if pay := people.get("pay"):
        people["pay"] = {pay.pop("currency", "USD"): pay}
    if crowd := people.get("crowd"):
        _convert_crowd(crowd)
        if screening := crowd.pop("screening", None):
            overlap = people.get("overlap")
            name = next(iter(overlap)) if isinstance(overlap, dict) else "screening"
            people["ask"] = {"screening": {name: {screening["question"]: screening["options"]}}}


def _convert_crowd(crowd: dict[str, Any]) -> None:
    from assay.study.schema import PLATFORMS

    usual = PLATFORMS[crowd.get("platform", "other")].parameters
    name, kept = crowd.pop("id", None), crowd.pop("keep", None)
    if name is not None or kept is not None:
        own = [] if crowd.get("platform") == "open" else [usual[0] if name is None else name]
        crowd["parameters"] = [*own, *(usual[1:] if kept is None else kept)]
    if screening := crowd.get("screening"):
        admits = screening.pop("let_in", None)
        if admits is not None:
            screening["options"] = {option: option in admits for option in screening["options"]}
