"""Results of promptfoo (``promptfoo eval --output results.json`` or ``.jsonl``): what model graders said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from assay.data.formats import Rows
from assay.data.formats.intake import EMPTY, UNSCORED, Intake, PlatformAnswer, own_id
from assay.data.formats.tables import json_objects, load_json
from assay.errors import DataError

MODEL_GRADED = {
    "agent-rubric",
    "answer-relevance",
    "context-faithfulness",
    "context-recall",
    "context-relevance",
    "conversation-relevance",
    "conversational-relevance",
    "factuality",
    "g-eval",
    "llm-rubric",
    "model-graded-closedqa",
    "model-graded-factuality",
    "pi",
    "search-rubric",
    "select-best",
    "trajectory:goal-success",
}
"""Assertions that a model judges; ``human`` is a rating given in promptfoo's own pages."""

NO_OUTPUT = "the provider gave no output to judge"
BY_RULE = "checked by a rule, not by a judge"


def read_promptfoo(
    path: Path,
    *,
    item: str | None = None,
    criteria: Sequence[str] | None = None,
    judge: str | None = None,
    value: Literal["score", "pass"] = "score",
) -> Rows:
    """What model graders (and people, in promptfoo's pages) said of each output.

    An item is one output: the test, and where there are several the provider and the prompt, as
    ``test @ provider / prompt 1``. A criterion is the assertion's metric, or its type. The same test run again
    is a repeat.

    Parameters
    ----------
    item : str
        The variable that holds your id of the test; ``test 0``, ``test 1`` … when not given.
    judge : str
        The name of the grader, where the results do not say which model graded.
    value : {"score", "pass"}
        The label: the score (a number), or ``true`` and ``false``.
    """
    if value not in ("score", "pass"):
        raise DataError(f"value must be 'score' or 'pass', not {value!r}")
    intake = Intake(path)
    config, results = _results(path)
    grader = judge or _name(((config.get("defaultTest") or {}).get("options") or {}).get("provider"))
    if grader is None:
        intake.note("the results do not name the default grader; name it with judge=...")
    several = {
        "provider": len({_provider(r) for r in results}) > 1,
        "prompt": len({r.get("promptIdx") for r in results}) > 1,
    }
    asked: Counter[tuple[str, str, str]] = Counter()
    for number, result in enumerate(results, 1):
        where = f"result {number}"
        fields = result.get("vars") or (result.get("testCase") or {}).get("vars") or {}
        test = own_id(item, fields, f"{path}, {where}") or f"test {result.get('testIdx')}"
        name = test + (f" @ {_provider(result)}" if several["provider"] else "")
        name += f" / prompt {result.get('promptIdx')}" if several["prompt"] else ""
        intake.item(name, _about(result, fields, test))
        grading = result.get("gradingResult")
        if not grading:
            intake.exclude(NO_OUTPUT if result.get("error") else EMPTY)
            continue
        for criterion, component in _components(grading):
            found = _answer(component, value, grader or "promptfoo grader")
            if isinstance(found, str):
                intake.exclude(found)
                continue
            who, kind, label = found
            asked[name, who, criterion] += 1
            repeat = asked[name, who, criterion]
            intake.answers.append(PlatformAnswer(name, who, where, label, criterion, kind, repeat))
    if max(asked.values(), default=1) == 1:
        for answer in intake.answers:
            answer.repeat = None
    return intake.rows(criteria)


def _results(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The configuration and the list of results, in the shapes that promptfoo's versions write."""
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return {}, json_objects(path)
    found = load_json(path)
    results = found.get("results") if isinstance(found, dict) else None
    if isinstance(results, dict):
        results = results.get("results")
    if not isinstance(results, list):
        raise DataError(f"{path} holds no results of promptfoo; write them with 'promptfoo eval --output results.json'")
    return found.get("config") or {}, results


def _components(grading: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(criterion, component) of one grading; equal names are numbered in the order of the assertions."""
    seen: Counter[str] = Counter()
    for component in grading.get("componentResults") or [grading]:
        assertion = component.get("assertion") or {}
        name = str(assertion.get("metric") or assertion.get("type") or "score")
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name} {seen[name]}", component


def _answer(component: Mapping[str, Any], value: str, grader: str) -> tuple[str, str, Any] | str:
    """(annotator, kind, label) of one component, or why it is none."""
    assertion = component.get("assertion") or {}
    kind = str(assertion.get("type") or "").removeprefix("not-")
    if kind != "human" and kind not in MODEL_GRADED:
        return BY_RULE
    if (component.get("metadata") or {}).get("graderError"):
        return UNSCORED
    label = component.get(value)
    if label is None:
        return EMPTY
    if isinstance(label, bool):
        label = str(label).lower()
    if kind == "human":
        return "promptfoo user", "human", label
    return _name(assertion.get("provider")) or grader, "judge", label


def _name(provider: Any) -> str | None:
    found = (provider.get("label") or provider.get("id")) if isinstance(provider, dict) else provider
    return str(found) if found else None


def _provider(result: Mapping[str, Any]) -> str:
    return _name(result.get("provider")) or "provider"


def _about(result: Mapping[str, Any], fields: Mapping[str, Any], test: str) -> dict[str, Any]:
    output = (result.get("response") or {}).get("output")
    prompt = result.get("prompt")
    said = prompt.get("label") or prompt.get("raw") if isinstance(prompt, dict) else prompt
    about = {**fields, "document": test, "system": _provider(result), "prompt": said, "output": output}
    return {k: v for k, v in about.items() if v is not None}
