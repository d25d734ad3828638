"""People who answer a study's page, and models that answer its prompts, by rules of a test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from annotating import Served, TaskOnPage
from chat_server import ChatServer, Say
from systems import BETTER, TASK, WORDS, outputs

Rule = Callable[[str, TaskOnPage], Mapping[str, Any]]
"""An annotator's labels of an item on the page, by the id of the question."""

Asked = dict[str, Any]
"""The body of a request to a model."""


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


def begin_systems(run: Any, folder: Path, n: int, alike: int = 4, **edited: Any) -> Path:
    """Make a study of dialogues with ``assay init``, whose summaries by two systems are recorded in a file."""
    rows = [{"item": f"d{number:02d}", "dialogue": f"What was said in d{number:02d}."} for number in range(n)]
    systems = [{"name": name, "provider": "recorded", "file": "outputs.jsonl"} for name in WORDS]
    parts = {"questions": [TASK, BETTER], "systems": systems, "judges": judges("m1")}
    begin(run, folder, rows, "dialogue", TASK["text"], "text", **parts | edited)
    made = outputs([row["item"] for row in rows], alike)
    (folder / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made), encoding="utf-8")
    return folder


def judges(*names: str) -> list[dict[str, str]]:
    """Models that a test answers for."""
    return [{"name": name, "model": name, "base_url": MODELS.url} for name in names]


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


MODELS = ChatServer()
"""Every model of a study: a server on this machine, which `models` gives a rule."""


def models(rule: Callable[[Asked], str]) -> list[Asked]:
    """Let every model of a study answer by a rule; return the list to which its requests are added.

    Requests come in any order: a rule that draws takes its random numbers from what is asked.
    """

    def script(_: int, body: Asked, server: ChatServer) -> Say:
        return Say(rule(body))

    MODELS.script, MODELS.requests = script, []
    return MODELS.requests


def said(asked: Asked) -> str:
    """All that a model reads."""
    return "\n".join(str(message) for message in asked["messages"])
