"""Change a value in the text of study.yaml, and keep its comments, its order and the form of all other values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from assay.errors import StudyError
from assay.study.definition import parse_yaml

Step = str | int
"""One step of a path to a value: a key of a mapping, or a position in a list."""

_BLOCK_HEAD = re.compile(r"[|>][+\-0-9]*")
"""The indicators of a block text; a comment can follow them."""

_UNPRINTABLE = re.compile(r"[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[\u2028\u2029]")
"""Characters that a block text cannot contain, or that end a line in it."""


def rewritten(path: Path, text: str, where: Sequence[Step], value: Any) -> str:
    """Return the text of a YAML file with one value changed; a missing key is added to its mapping.

    Parameters
    ----------
    path : path
        The file, for errors.
    text : str
        Its text.
    where : sequence of str or int
        The path to the value: ``("people", "overlap")``, ``("questions", 0, "guidelines")``.
    value : str, int, float, None, dict

    Raises
    ------
    StudyError
        If the file is not written in a form in which the value alone can be changed.
    """
    wanted = _with(parse_yaml(path, text)[0], where, value)
    try:
        made = _Rewriting(text).changed(where, value)
        if parse_yaml(path, made)[0] == wanted:
            return made
    except (StudyError, yaml.YAMLError, _UnknownFormError):
        pass
    key = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in where).lstrip(".")
    raise StudyError(
        f"{path}: {key} cannot be changed without a change of other lines (anchors, tags or another form); edit the "
        "file"
    )


def _with(content: Any, where: Sequence[Step], value: Any) -> Any:
    """The content of a file with one value changed."""
    if not where:
        return value
    made = deepcopy(content) if content is not None else {}
    if isinstance(where[0], int):
        made[where[0]] = _with(made[where[0]], where[1:], value)
    else:
        made[where[0]] = _with(made.get(where[0]), where[1:], value)
    return made


class _UnknownFormError(Exception):
    """The text has a form that is not rewritten."""


class _Rewriting:
    """The text of a file, with the positions of its values."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.line_end = "\r\n" if "\r\n" in text else "\n"

    def changed(self, where: Sequence[Step], value: Any) -> str:
        """The text with one value changed."""
        node: Any = yaml.compose(self.text, Loader=yaml.SafeLoader)
        flow, column = False, 0
        for depth, step in enumerate(where):
            flow = flow or bool(getattr(node, "flow_style", False))
            if isinstance(step, int):
                node = node.value[step]
                continue
            if not isinstance(node, yaml.MappingNode):
                raise _UnknownFormError
            found = next(((key, one) for key, one in node.value if key.value == step), None)
            if found is None:
                return self._add(node, where[depth:], value, flow=flow)
            key, node = found
            column = key.start_mark.column
        return self._replace(node, value, column, flow=flow)

    # -- a value that is there -------------------------------------------------------------------

    def _replace(self, node: yaml.Node, value: Any, column: int, *, flow: bool) -> str:
        start, end = node.start_mark.index, self._end(node)
        before, after = self.text[:start], self.text[end:]
        if start == end:  # a key without a value
            before += " "
        if not flow and self._is_block_text(value):
            head = re.match(r"[^\r\n]*", after)
            comment = head.group() if head else ""
            if getattr(node, "style", None) in ("|", ">"):
                own = self.text[start:end].splitlines()[0]
                comment = _BLOCK_HEAD.sub("", own, count=1)
            else:
                after = after[len(comment) :]
            return before + self._block_text(value, column, comment) + after
        return before + _inline(value) + after

    def _end(self, node: yaml.Node) -> int:
        """The position after a value: block collections end after their last value, not after the comments there."""
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
            last = node.value[-1]
            return self._end(last[1] if isinstance(last, tuple) else last)
        start, end = node.start_mark.index, node.end_mark.index
        return start + len(self.text[start:end].rstrip())

    # -- a key that is missing -------------------------------------------------------------------

    def _add(self, node: yaml.MappingNode, keys: Sequence[Step], value: Any, *, flow: bool) -> str:
        if node.flow_style or flow:
            for key in reversed(keys[1:]):
                value = {key: value}
            entry = f"{keys[0]}: {_inline(value)}"
            at = self._end(node.value[-1][1]) if node.value else self._end(node) - 1
            return self.text[:at] + (", " if node.value else "") + entry + self.text[at:]
        column = node.value[0][0].start_mark.column
        at = self._end(node.value[-1][1])
        rest = re.search(r"[\r\n]|$", self.text[at:])
        at += rest.start() if rest else 0
        return self.text[:at] + self._entry(keys, value, column) + self.text[at:]

    def _entry(self, keys: Sequence[Step], value: Any, column: int) -> str:
        """The lines of a new key."""
        head = f"{self.line_end}{' ' * column}{keys[0]}:"
        if len(keys) > 1:
            return head + self._entry(keys[1:], value, column + 2)
        if self._is_block_text(value):
            return f"{head} {self._block_text(value, column)}"
        return f"{head} {_inline(value)}"

    # -- the form of a value ---------------------------------------------------------------------

    def _is_block_text(self, value: Any) -> bool:
        """Whether a value is written as a block of lines."""
        if not isinstance(value, str) or "\n" not in value or _UNPRINTABLE.search(value):
            return False
        return not value.startswith((" ", "\n")) and not value.endswith("\n\n")

    def _block_text(self, value: str, column: int, comment: str = "") -> str:
        head = "|" if value.endswith("\n") else "|-"
        lines = value.removesuffix("\n").split("\n")
        indented = (" " * (column + 2) + line if line else "" for line in lines)
        return head + comment.rstrip() + self.line_end + self.line_end.join(indented)


def _inline(value: Any) -> str:
    """A value on one line, in a form that is also valid inside of brackets."""
    quoted = isinstance(value, str) and ("\n" in value or _UNPRINTABLE.search(value) or value != value.strip())
    made: str = yaml.safe_dump(
        value if quoted else [value],
        default_flow_style=True,
        default_style='"' if quoted else None,
        allow_unicode=True,
        width=float("inf"),
        sort_keys=False,
    )
    return made.strip() if quoted else made.strip()[1:-1]
