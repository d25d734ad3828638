"""People who answer a study's page, and models that answer its prompts, by rules of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from annotating import Served, TaskOnPage

from assay.judging.http import Completion, Request
from assay.judging.providers import Service

Rule = Callable[[str, TaskOnPage], Mapping[str, Any]]
"""An annotator's labels of an item on the page, by the id of the question."""


def answer(folder: Path, people: Iterable[str] | Mapping[str, Mapping[str, Any]], rule: Rule) -> int:
    """Let people answer every item over the page's own addresses; return the number of saved answers."""
    names, saved = list(people), 0
    with Served(folder, people) as page:
        for name in names:
            person = page.annotator(name)
            while tasks := person.pages(0)[0]:
                for task in tasks:
                    person.keep(task, rule(name, task))
                    saved += 1
    return saved


def models(monkeypatch: pytest.MonkeyPatch, rule: Callable[[Request], str]) -> list[Request]:
    """Let every model of a study answer by a rule; return the list to which its requests are added."""
    asked: list[Request] = []

    async def complete(self: Service, request: Request) -> Completion:
        asked.append(request)
        return Completion(rule(request), tokens_in=10, tokens_out=2)

    monkeypatch.setattr(Service, "complete", complete)
    return asked


def said(request: Request) -> str:
    """All that a model reads."""
    return "\n".join(str(message) for message in request.messages)
