"""From what a model wrote to a label, or to the reason why there is none.

A label is taken where the reply states it: as JSON, between marks, after "Answer:", alone on a line (see
`assay.judging.statements`). The last statement counts. A label that is merely mentioned is not an answer, thinking
that has no end is none, and what is in doubt is not guessed at. Free text is its own label, as it came.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain

from assay.data.scales import Label, Scale
from assay.judging import statements
from assay.judging.statements import Statement
from assay.judging.worded import DOUBTFUL, TURNING, is_bare, takes_any_word
from assay.study.kinds import kind_of

OFF_SCALE = "the label is not on the scale"
NO_LABEL = "no label in the reply"
AMBIGUOUS = "the reply states different labels"
REFUSED = "the model refused"
EMPTY = "the reply is empty"
TRUNCATED = "the reply is cut off"
UNFINISHED = "the reply is all thinking, without an answer"

_REFUSALS = re.compile(
    r"\b(?:I(?:'m| am) (?:sorry|unable|not able)|I (?:can(?:no|')t|cannot|won't|will not|must decline)"
    r"|as an AI|unable to (?:assist|help|comply|provide)|can(?:no|')t (?:assist|help|comply))",
    re.IGNORECASE,
)
_TAGS = r"(?:think|thinking|thought|thoughts|reasoning|scratchpad|reflection|analysis)"
_OPENS = re.compile(
    rf"<{_TAGS}>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|channel\|>\s*analysis\s*<\|message\|>", re.IGNORECASE
)
_CLOSES = re.compile(
    rf"</{_TAGS}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|channel\|>\s*final\s*<\|message\|>", re.IGNORECASE
)


@dataclass(frozen=True)
class Reply:
    """What was read from a reply: a label, or the reason why there is none."""

    label: Label | None
    reason: str | None = None
    reasoning: str | None = None


def read_reply(text: str | None, scale: Scale, *, finish: str = "stop") -> Reply:
    """What label does this reply give on this scale?

    Parameters
    ----------
    text : str or None
        The reply as it came.
    scale : Scale
        What a label may be.
    finish : {"stop", "length", "refusal"}
        How the endpoint says that the reply ended.

    Returns
    -------
    Reply
        With a label that is on the scale, or with None and the reason; never a default label.
    """
    text = text or ""
    if finish == "refusal":
        return Reply(None, REFUSED)
    if not text.strip():
        return Reply(None, TRUNCATED if finish == "length" else EMPTY)
    if kind_of(scale).free_text:
        return _read_text(text, finish)
    answer, reasoning = _after_thinking(_plain(text))
    if answer is None:
        return Reply(None, TRUNCATED if finish == "length" else UNFINISHED, reasoning)
    settled = _before_the_cut(answer, scale) if finish == "length" else _settled(answer, scale)
    if settled is not None:
        label = settled.label
        if label is None or label is DOUBTFUL:
            return Reply(None, OFF_SCALE if label is None else AMBIGUOUS, reasoning)
        return Reply(label, None, reasoning or _reasons(answer))
    if finish == "length":
        return Reply(None, TRUNCATED, reasoning)
    if _REFUSALS.search(answer):
        return Reply(None, REFUSED)
    return Reply(None, OFF_SCALE if is_bare(answer, scale) else NO_LABEL, reasoning)


def _read_text(text: str, finish: str) -> Reply:
    """Free text is its own label, as it came but for the thinking before it."""
    if finish == "length":
        return Reply(None, TRUNCATED)
    answer, reasoning = _after_thinking(text, leading=True)
    if answer is None:
        return Reply(None, UNFINISHED, reasoning)
    label = answer.strip()
    return Reply(label, None, reasoning) if label else Reply(None, EMPTY, reasoning)


def _plain(text: str) -> str:
    """Digits and letters in their everyday form; invisible characters gone."""
    if text.isascii() and text.isprintable():
        return text
    text = unicodedata.normalize("NFKC", text).replace("−", "-").replace("–", "-")
    text = text.replace("’", "'").replace("\ufe0f", "")
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cf", "Cc", "Cs"))


# -- thinking ---------------------------------------------------------------------------------------


def _after_thinking(text: str, *, leading: bool = False) -> tuple[str | None, str | None]:
    """The reply without what some models think aloud before it, and that; no reply where the thinking has no end.

    Only at the beginning where ``leading``: free text may speak of such marks.
    """
    if _is_json(text):
        return text, None
    opened = _OPENS.match(text.lstrip()) if leading else _OPENS.search(text)
    closes = list(_CLOSES.finditer(text))
    closed = closes[0 if leading else -1] if closes else None
    if closed is not None and leading and opened is None and not re.match(r"[^\S\n]*(?:\n|$)", text[closed.end() :]):
        closed = None
    end = 0 if closed is None else closed.end()
    thought = _CLOSES.sub("", _OPENS.sub("", text[:end])).strip() or None
    answer = text[end:]
    unfinished = opened is not None and closed is None if leading else _OPENS.search(answer) is not None
    return (None, _OPENS.sub("", text).strip() or None) if unfinished else (answer, thought)


def _is_json(text: str) -> bool:
    """Whether all of a reply is one JSON object, in which marks are words like others."""
    try:
        return text.lstrip().startswith("{") and isinstance(json.loads(text, strict=False), dict)
    except (json.JSONDecodeError, RecursionError):
        return False


# -- which statement counts -------------------------------------------------------------------------


def _settled(answer: str, scale: Scale) -> Statement | None:
    """The statement by which a reply is settled: the last, of the surest shapes that there are."""
    in_json = list(statements.in_json(answer, scale))
    prose = _without(answer, in_json)
    everywhere = (statements.in_marks, statements.in_sentences, statements.last_line) if prose.strip() else ()
    sure = [one for one in chain(in_json, *(find(prose, scale) for find in everywhere)) if one.decides]
    if sure:
        return _last_of(sorted(sure, key=lambda one: one.at), answer)
    where_any_word_is_one = (statements.in_keyed_lines, statements.in_lines)
    where_not = (statements.in_lines, statements.in_keyed_lines, statements.at_the_end)
    for find in where_any_word_is_one if takes_any_word(scale) else where_not:
        found = list(find(prose, scale))
        if found:
            return _agreed(found)
    return None


def _before_the_cut(answer: str, scale: Scale) -> Statement | None:
    """The same for a reply that was cut off: only what begins it, or exactly ends it, and is whole."""
    in_json = list(statements.in_json(answer, scale))
    found = [one for one in chain(in_json, statements.in_marks(_without(answer, in_json), scale)) if one.decides]
    if not found:
        return None
    found = sorted(found, key=lambda one: one.at)
    if not answer[found[-1].end :].strip(" \n`"):
        return found[-1]
    before = answer[: found[0].at].strip(" \n`")
    begins = len(before) <= 80 and "\n" not in before and not TURNING.match(answer[found[-1].end :])
    return _agreed(found) if begins else None


def _last_of(found: list[Statement], answer: str) -> Statement:
    """The last statement; in doubt where it is only the alternative to the one before, or of another thing."""
    last = found[-1]
    for before in found[-2:-1]:
        between = answer[before.end : last.at].strip(" \n`").casefold()
        if between in (",", "or", "and") or between.startswith(("or ", "and ")):
            return _agreed([before, last])
    others = [one for one in found if one.about and last.about and one.about != last.about]
    return _agreed([*others, last])


def _agreed(found: list[Statement]) -> Statement:
    """One statement for all of them; in doubt where they differ."""
    labels = {one.label for one in found}
    return found[-1] if len(labels) == 1 else replace(found[-1], label=DOUBTFUL)


def _without(text: str, found: Iterable[Statement]) -> str:
    """The text with blanks in place of these parts of it."""
    for one in found:
        text = text[: one.at] + " " * (one.end - one.at) + text[one.end :]
    return text


def _reasons(text: str) -> str | None:
    """The reasoning that a reply gave beside its label."""
    for _, _, value in statements.objects(text):
        if isinstance(value, dict):
            for key, reason in value.items():
                if str(key).casefold() in statements.REASON_KEYS and isinstance(reason, str):
                    return reason
    lines = text.strip().splitlines()
    return "\n".join(lines[:-1]).strip() or None if len(lines) > 1 else None
