"""The public questions asked, once each in a process, for all tests that look at their answers.

`tests/laws.py` lists the questions with the options to vary. `tests/test_laws.py` holds all answers to the laws; a file
``test_ROOM_answers.py`` in each room holds those of its questions against what is kept of them (`tests/pinned.py`).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from typing import Any

import pytest

import pinned
from assay.data.annotations import Annotations
from assay.errors import AssayError
from laws import QUESTIONS, Given, Question, repeated

BY_NAME = {q.name: q for q in QUESTIONS}

LONG = ("report", "validate", "grading_scale_study", "separability_sweep")
"""Questions whose answers take a third of a second and more: by default they are asked once, as they are."""

VARIED_LATER = (
    "rater_model", "disattenuated_correlation", "card", "agreement", "compare_judges", "alt_test_by",
    "validate_similarity", "plan_triplets", "ratings", "ratings: elo", "route", "estimate", "alt_test",
    "disagreement", "triplet_embedding", "nested_icc", "alt_test_paired",
)  # fmt: skip
"""Questions whose variants together take a second and more: by default they are asked as they are."""


def marks_of(name: str) -> list[pytest.MarkDecorator]:
    """Laws of one question run in one process, which asks it once. Trainings take .3 s each, with PyTorch's seconds."""
    if name == "train":
        return [pytest.mark.xdist_group("encoders"), pytest.mark.slow]
    return [pytest.mark.xdist_group(f"laws of {name}")]


def marks_of_more(name: str) -> list[pytest.MarkDecorator]:
    """Of laws that ask a question more than once: of a long one they are `slow`."""
    return [*marks_of(name), *([pytest.mark.slow] if name in LONG else [])]


def each(names: Iterable[str]) -> list[Any]:
    """Questions as parameters."""
    return [pytest.param(name, id=name, marks=marks_of(name)) for name in names]


def each_with_labels() -> list[Any]:
    """Questions that are asked of labels, as parameters."""
    return [pytest.param(q.name, id=q.name, marks=marks_of_more(q.name)) for q in QUESTIONS if q.takes_labels]


def each_in_parts(names: Iterable[str]) -> list[Any]:
    """Questions as parameters, with their first variants (see `variants`); with the further ones they are `slow`."""
    first = [pytest.param(name, False, id=name, marks=marks_of_more(name)) for name in names]
    further = [
        pytest.param(name, True, id=f"{name}, further values", marks=[*marks_of(name), pytest.mark.slow])
        for name in names
        if name in VARIED_LATER or any(len(values) > 1 for values in BY_NAME[name].values.values())
    ]
    return first + further


# -- asking -----------------------------------------------------------------------------------------


def variants(question: Question, further: bool) -> list[tuple[str, dict[str, Any]]]:
    """Every option at its first value in the list, or at the further ones: what it is called, and the options.

    All variants of a question in `VARIED_LATER` are further ones.
    """
    found = [("as it is", dict(question.base))]
    for option, values in question.values.items():
        for i, value in enumerate(values):
            if (i > 0 or question.name in VARIED_LATER) != further:
                continue
            several = isinstance(value, Given) or (isinstance(value, dict) and option in value)
            found.append((f"{option} {i}", {**question.base, **(value if several else {option: value})}))
    return found


def ask(question: Question, options: dict[str, Any], labels: Annotations | None = None) -> Any:
    """The answer, or the refusal; a table with repeats where the option is about them."""
    given = {k: v() if callable(v) and k == "pilot" else v for k, v in options.items()}
    table = labels or (repeated() if "repeats" in options else question.labels())
    try:
        return question.ask(table, **given)
    except AssayError as refusal:
        return refusal


@functools.cache
def base(name: str) -> Any:
    """The answer to a question as it is."""
    return ask(BY_NAME[name], dict(BY_NAME[name].base))


def answers(name: str, further: bool = False) -> dict[str, Any]:
    """The answers to the variants of a question in one part, asked once."""
    return _asked(name, further)


@functools.cache
def _asked(name: str, further: bool) -> dict[str, Any]:
    first, *others = variants(BY_NAME[name], further)
    return {first[0]: base(name), **{called: ask(BY_NAME[name], options) for called, options in others}}


def all_answers(name: str) -> dict[str, Any]:
    """The answers to every variant, in the order of the list."""
    both = answers(name) | answers(name, further=True)
    listed = (f"{option} {i}" for option, values in BY_NAME[name].values.items() for i in range(len(values)))
    return {called: both[called] for called in ("as it is", *listed)}


@functools.cache
def stored(name: str) -> dict[str, Any]:
    """What the answer to a question as it is stores of itself."""
    return base(name).to_dict()


def told(name: str, further: bool = False) -> dict[str, dict[str, Any]]:
    """What each of the answers stores of itself."""
    return _told(name, further)


@functools.cache
def _told(name: str, further: bool) -> dict[str, dict[str, Any]]:
    return {called: found.to_dict() for called, found in answers(name, further).items()}


# -- what is kept -----------------------------------------------------------------------------------


def questions_of(room: str) -> list[str]:
    """Return the questions whose settings are defined in a package."""
    return [q.name for q in QUESTIONS if q.settings.__module__.split(".")[1] == room]


def each_kept(names: Iterable[str]) -> list[Any]:
    """Questions whose answers are kept, as parameters, in parts."""
    return each_in_parts([name for name in names if name not in pinned.NOT_KEPT])


@functools.cache
def differences_from_kept(name: str, further: bool) -> list[str]:
    """Where words, numbers and pictures are not those that are kept; `tests/pinned.py` says how to keep new ones."""
    wanted = json.loads(pinned.path_of(name).read_text("utf-8"))
    asked = answers(name, further)
    assert set(asked) <= set(wanted)
    return list(pinned.differences(pinned.of_answers(asked), {called: wanted[called] for called in asked}))
