"""People who answer a study's page, and models that answer its prompts, by rules of a test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from annotating import Served, TaskOnPage

from assay.judging.http import Completion, Request
from assay.judging.providers import Service

Rule = Callable[[str, TaskOnPage], Mapping[str, Any]]
"""An annotator's labels of an item on the page, by the id of the question."""


def begin(
    run: Any, folder: Path, rows: Sequence[Mapping[str, Any]], column: str, ask: str, scale: str, **edited: Any
) -> Path:  # fmt: skip
    """Make a study of a table of items with ``assay init``, then edit keys of its study.yaml."""
    table = folder.parent / f"{folder.name}.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    code, _, err = run("init", folder, "--items", table, "--text", column, "--ask", ask, "--scale", scale)
    assert code == 0, err
    written = folder / "study.yaml"
    content = yaml.safe_load(written.read_text("utf-8"))
    written.write_text(yaml.safe_dump(content | edited, sort_keys=False), encoding="utf-8")
    return folder


def judges(*names: str) -> list[dict[str, str]]:
    """Models that a test answers for."""
    return [{"name": name, "model": "m", "base_url": "http://127.0.0.1:9/v1"} for name in names]


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
