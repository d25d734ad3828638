"""A study in which systems write texts, and people and judges compare them."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from annotating import write_study

from assay.judging.services.http import Completion, Request, Sent, chat_body

WORDS = {"alpha": ("red", "green", "blue", "old", "new"), "beta": ("thin", "grey", "one", "two", "three")}

TASK = {"name": "summary", "text": "Summarize the dialogue.", "scale": "text", "show": ["dialogue"]}
BETTER = {"name": "better", "text": "Which summary is better?", "scale": "preference", "options": ["summary"],
          "show": ["dialogue"]}  # fmt: skip


def outputs(items: Sequence[str], alike: int, k: int = 5) -> list[dict[str, Any]]:
    """Outputs of both systems: similar for the first items, different for the others."""
    chance = random.Random(1)
    rows = []
    for n, item in enumerate(items):
        for system in WORDS:
            words = WORDS["alpha" if n < alike else system]
            for number in range(1, k + 1):
                text = " ".join(chance.choices(words, k=6)) + f" {system[0]}{number}"
                rows.append({"item": item, "system": system, "repeat": number, "text": text})
    return rows


def systems_study(
    folder: Path, n: int = 12, alike: int = 4, rows: Sequence[Mapping[str, Any]] | None = None, **rest: Any
) -> Path:
    """A study with two systems with recorded outputs, and a judge that is simulated by a test."""
    items = [f"d{number:02d}" for number in range(n)]
    recorded = [{"name": name, "provider": "recorded", "file": "outputs.jsonl"} for name in WORDS]
    parts = {
        "systems": recorded,
        "comparisons": {"items": {"top": 6}},
        "judges": [{"name": "m1", "model": "tiny", "base_url": "http://127.0.0.1:9/v1"}],
    }
    return write_study(
        folder,
        items=[{"item": item, "dialogue": f"What was said in {item}."} for item in items],
        tables={"outputs.jsonl": outputs(items, alike) if rows is None else rows},
        **({"questions": [TASK, BETTER]} | parts | rest),
    )


class Scripted:
    """A provider that answers by a rule, and records its requests."""

    def __init__(self, rule: Any) -> None:
        self.rule, self.asked = rule, []

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        return Completion(self.rule(request))

    async def sent(self, request: Request) -> Sent:
        return Sent(chat_body(request, request.schema))

    async def close(self) -> None:
        pass


def prefers_beta(request: Request) -> str:
    """What `beta_of` says of the last message of a request."""
    return beta_of(request.messages[-1]["content"])


def beta_of(shown: str) -> str:
    """The text with the words of beta, in either position; a tie if none or both have them."""
    first, second = (shown.split(f"\n{side}: ")[1].split("\n")[0].split() for side in ("first", "second"))
    has = [any(word in WORDS["beta"] for word in text) for text in (first, second)]
    return json.dumps({"label": "tie" if has[0] == has[1] else "first" if has[0] else "second"})
