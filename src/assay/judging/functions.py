"""Functions of a row as judges."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from assay.errors import listing
from assay.judging.criteria import folded
from assay.judging.records import Program
from assay.judging.services.http import CallFailed, Completion, Request

FUNCTION = "ask:"
"""The beginning of the model's name of a judge that is a function of a row."""

Evaluator = Callable[[dict[str, Any]], Any]
"""A function of a row, also ``async``: it gives a label, a dict, or an object with ``value`` or ``score``."""


class FunctionOfRow(Program):
    """A function of the user's as a judge: given a row with the displayed columns, it gives a label.

    Calls are made one after the other until the results are known to be separate. A function can return the same
    object for each row, such as a metric that keeps its last score: at the same time, it would give another row's.

    A row does not name a question: one call answers all ``questions`` that show the same columns, each by its key if
    the function returns a dict of them.
    """

    def __init__(self, judge: Any, function: Evaluator, timeout: float, questions: Sequence[str] = ()) -> None:
        super().__init__(judge, timeout)
        self._function = function
        self._questions = {folded(name) for name in questions}
        self._one_by_one = asyncio.Lock()
        self._first: Any = None
        """The first object that was returned."""
        self._is_separate = False
        """Whether each row has its own result."""

    async def complete(self, request: Request) -> Completion:
        """One call, at the same time as others if each row has its own result."""
        if not self._is_separate:
            async with self._one_by_one:
                if not self._is_separate:
                    return await super().complete(request)
        return await super().complete(request)

    async def run(self, request: Request) -> Any:
        """Call it: in a thread, unless it is ``async``."""
        row = {"item": request.about.get("item"), **request.columns}
        try:
            is_async = inspect.iscoroutinefunction(self._function) or inspect.iscoroutinefunction(
                getattr(self._function, "__call__", None)  # noqa: B004 - an object with an async __call__
            )
            found = self._function(row) if is_async else await asyncio.to_thread(self._function, row)
            found = await found if inspect.isawaitable(found) else found
            self._compare(found)
            return self._labels_of(found)
        except Exception as error:  # a function of the user's can raise anything
            raise CallFailed("rejected", f"{self.judge.name} raised {type(error).__name__}: {error}") from None

    def _labels_of(self, found: Any) -> Any:
        """The label in a result, or the labels of the questions that are keys of a dict."""
        if not isinstance(found, Mapping) or len(self._questions) < 2:
            return _label_of(found)
        if self._questions.isdisjoint(folded(str(key)) for key in found):
            return _label_of(found)
        labels = {}
        for key, value in found.items():
            if folded(str(key)) in self._questions:
                inner = _label_of(value)
                labels[str(key)] = inner.get("label") if isinstance(inner, Mapping) else inner
        reason = next((str(found[name]) for name in _REASONS if name not in labels and found.get(name)), None)
        return {"label": labels, "reasoning": reason} if any(v is not None for v in labels.values()) else None

    def _compare(self, found: Any) -> None:
        """Note whether results are separate: values are, and objects if there are two of them."""
        if self._is_separate or found is None:
            return
        self._first = found if self._first is None else self._first
        self._is_separate = isinstance(found, str | int | float) or found is not self._first


_LABELS = ("label", "score", "value")
_REASONS = ("reasoning", "reason", "explanation", "rationale")


def _label_of(found: Any) -> Any:
    """The label in an evaluator's result, as a label or a dict of ``label`` and ``reasoning``."""
    if found is None or isinstance(found, str | int | float | list):
        return found
    if isinstance(found, Mapping):
        if found and not {*_LABELS, *_REASONS} & {*found}:
            keys = listing([*found], 6)
            raise ValueError(
                f"a dict needs the key label, score or value, or names of several questions; it has {keys}"
            )
        inside: Callable[[str], Any] = found.get
    else:
        inside = partial(_attribute, found)
    label = next((value for name in _LABELS if (value := inside(name)) is not None), None)
    reason = next((str(value) for name in _REASONS if (value := inside(name))), None)
    if label is None and not isinstance(found, Mapping):
        return found  # such as a number of numpy's
    label = label if label is None or isinstance(label, str | int | float | list) else _label_of(label)
    return {"label": label, "reasoning": reason} if reason else {"label": label}


def _attribute(found: Any, name: str) -> Any:
    value = getattr(found, name, None)
    return None if callable(value) else value
