"""From what a model wrote to a label, or to the reason why there is none.

A label is taken where the reply states it: as JSON, between ``##``, after "Answer:", alone on its first
or last line. A label that is merely mentioned is not an answer. What is in doubt is not guessed at.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from assay.data.scales import Interval, Label, Scale
from assay.study.kinds import kind_of

OFF_SCALE = "the label is not on the scale"
NO_LABEL = "no label in the reply"
AMBIGUOUS = "the reply states different labels"
REFUSED = "the model refused"
EMPTY = "the reply is empty"
TRUNCATED = "the reply is cut off"

LABEL_KEYS = (
    *("label", "answer", "final_answer", "finalanswer", "rating", "score", "verdict", "choice", "judgment"),
    *("judgement", "grade", "category", "class", "classification", "relation", "result", "value", "stars"),
    *("decision", "preference", "output", "response", "prediction", "annotation"),
)
_REASON_KEYS = ("reasoning", "reason", "explanation", "rationale", "thoughts", "thinking", "analysis", "why")

_STATED = re.compile(
    r"(?:(?:final|my|the|correct|overall)\s+){0,3}"
    r"\b(?:label|answer|rating|score|verdict|choice|judge?ment|grade|category|class|relation|decision|preference"
    r"|stars?)\b\s*(?:[*_`'\")\]]*\s*(?:[:=：]|(?:is|would be|should be)\b\s*:?)\s*)(?P<rest>[^\n]+)",
    re.IGNORECASE,
)
_REFUSALS = re.compile(
    r"\b(?:I(?:'m| am) (?:sorry|unable|not able)|I (?:can(?:no|')t|cannot|won't|will not|must decline)"
    r"|as an AI|unable to (?:assist|help|comply|provide)|can(?:no|')t (?:assist|help|comply))",
    re.IGNORECASE,
)
_THINKING = re.compile(r"\s*<(think|thinking|reasoning)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_DIGITS = r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)"
_FRACTION = re.compile(
    rf"^(?P<value>{_DIGITS})\s*(?:/|out\s+of|of)\s*(?P<top>\d+(?:\.\d+)?)(?:\s*(?:stars?|points?))?$", re.I
)
_NUMBER = re.compile(rf"^(?P<value>{_DIGITS})\s*(?P<unit>%|percent|stars?|points?|pts)?$", re.I)
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WRAPPING = " \t\r\n\"'`*_“”‘’«»()[]{}<>.,;:!#\\$|~"


_DECODER = json.JSONDecoder()


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
        return _read_text(text, scale, finish)
    answer, reasoning = _after_thinking(_plain(text))
    for shape in (_from_json, _from_marks, _from_statement, _from_lines):
        if finish == "length" and shape in (_from_statement, _from_lines):
            break  # half a sentence may be about to say something else
        stated = list(shape(answer))
        if not stated:
            continue
        found = [_on_scale(one, scale) for one in stated]
        labels = list(dict.fromkeys(label for label in found if label is not None))
        if shape is _from_lines and not labels:
            continue
        # Most lines state nothing, and that is no fault; a last statement off the scale is one.
        if len(labels) == 1 and (shape is _from_lines or found[-1] is not None):
            return Reply(labels[0], None, reasoning or _reasons(answer))
        return Reply(None, AMBIGUOUS if labels else OFF_SCALE, reasoning)
    if finish == "length":
        return Reply(None, TRUNCATED, reasoning)
    if _REFUSALS.search(answer):
        return Reply(None, REFUSED)
    return Reply(None, OFF_SCALE if _on_no_scale(answer, scale) else NO_LABEL, reasoning)


def _read_text(text: str, scale: Scale, finish: str) -> Reply:
    """Free text is its own label, out of its JSON where it came in one."""
    if finish == "length":
        return Reply(None, TRUNCATED)
    answer, reasoning = _after_thinking(text)
    values = [v for v in _from_json(answer) if isinstance(v, str)]
    label = values[-1].strip() if values and answer.strip().startswith(("{", "```")) else answer.strip()
    return Reply(label, None, reasoning) if label else Reply(None, EMPTY, reasoning)


def _plain(text: str) -> str:
    """Digits and letters in their everyday form; invisible characters gone."""
    if text.isascii() and text.isprintable():
        return text
    text = unicodedata.normalize("NFKC", text).replace("−", "-").replace("–", "-")
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cf", "Cc", "Cs"))


def _after_thinking(text: str) -> tuple[str, str | None]:
    """The reply without the <think> part that some models put before it."""
    match = _THINKING.match(text)
    return (text[match.end() :], match[2].strip() or None) if match else (text, None)


# -- the shapes in which a label is stated, the surest first ----------------------------------------


def _from_json(text: str) -> Iterator[Any]:
    """Values of the label's key in every JSON object of the text; a bare JSON value that is all of it."""
    for value in _objects(text):
        if not isinstance(value, dict):
            continue
        folded = {str(k).strip().casefold().replace(" ", "_"): v for k, v in value.items()}
        key = next((k for k in LABEL_KEYS if k in folded), None)
        rest = [k for k in folded if k not in _REASON_KEYS]
        if key is None and len(rest) == 1:
            key = rest[0]
        if key is not None:
            inner = folded[key]
            yield inner[0] if isinstance(inner, list) and len(inner) == 1 else inner


def _objects(text: str) -> Iterator[Any]:
    """Every JSON object in a text, also one with single quotes, a trailing comma or no quotes at its keys."""
    position = text.find("{")
    while position >= 0:
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError):
            flat = re.match(r"\{[^{}]*\}", text[position:])
            value = None if flat is None else _mended(flat[0])
            end = position + (flat.end() if flat is not None and value is not None else 1)
        if value is not None:
            yield value
        position = text.find("{", end)


def _mended(text: str) -> Any:
    text = re.sub(r",\s*}", "}", text)
    text = re.sub(r"([{,]\s*)'([^'\n]*)'\s*:", r'\1"\2":', text)
    text = re.sub(r"([{,]\s*)([A-Za-z_]\w*)\s*:", r'\1"\2":', text)
    text = re.sub(r":\s*'([^'\n]*)'\s*([,}])", r': "\1"\2', text)
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return None


def _from_marks(text: str) -> Iterator[str]:
    """``##4##``, ``[[4]]``, ``<label>4</label>``, ``\\boxed{4}``: the last kind that is there."""
    patterns = (
        r"##\s*([^#\n]{1,200}?)\s*##",
        r"\[\[\s*([^\[\]\n]{1,200}?)\s*\]\]",
        r"<(?:label|answer|rating|score|verdict)>\s*([^<>]{1,200}?)\s*</",
        r"\\boxed\{\s*(?:\\text\{)?([^{}]{1,200}?)\}",
    )
    for pattern in patterns:
        found = re.findall(pattern, text, re.IGNORECASE)
        if found:
            yield from found
            return


def _from_statement(text: str) -> Iterator[str]:
    """What follows the last "Answer:", "the rating is" and the like."""
    matches = list(_STATED.finditer(text))
    if matches:
        yield _head(matches[-1]["rest"])


def _from_lines(text: str) -> Iterator[str]:
    """The reply's last line and its first, or the words before a dash or full stop there."""
    lines = [line for line in text.splitlines() if line.strip(_WRAPPING)]
    if len(lines) == 1:
        yield _head(lines[0])
    elif lines:
        whole = [line for line in (lines[-1], lines[0]) if len(line) <= 80]
        yield from (_head(line) for line in whole)


def _head(line: str) -> str:
    """What a line says before it starts to explain itself."""
    line = re.sub(r"^[\s>#*]*(?:[-*]\s+)?", "", line).strip()
    for split in (r"\s+[-—–]+\s+", r"\.\s", r"[;\n]", r"\s\(", r",?\s+(?:because|since|as|due)\b", r",\s", r":\s"):
        line = re.split(split, line, maxsplit=1)[0]
    return line


def _reasons(text: str) -> str | None:
    """The reasoning that a reply gave beside its label."""
    for value in _objects(text):
        if isinstance(value, dict):
            for key, reason in value.items():
                if str(key).casefold() in _REASON_KEYS and isinstance(reason, str):
                    return reason
    lines = text.strip().splitlines()
    return "\n".join(lines[:-1]).strip() or None if len(lines) > 1 else None


# -- from the words of a label to the label ---------------------------------------------------------


def _on_scale(stated: Any, scale: Scale) -> Label | None:
    """The label of the scale that was stated, or None."""
    if isinstance(stated, bool) and scale.kind == "nominal":
        stated = str(stated)
    if stated is None or isinstance(stated, bool | list | dict):
        return None
    if scale.numeric:
        return _number(stated, scale)
    if scale.kind in _READERS:
        return _READERS[scale.kind](str(stated))
    words = str(stated)
    options = scale.categories
    if options is None:
        return words.strip(_WRAPPING) or None
    exact = [o for o in options if str(o) == words.strip()]
    alike = exact or [o for o in options if _key(str(o)) == _key(words) and _key(words)]
    return alike[0] if len(alike) == 1 else None


def _number(stated: Any, scale: Scale) -> Label | None:
    if isinstance(stated, int | float):
        value = float(stated)
    else:
        words = str(stated).strip(_WRAPPING.replace(".", "").replace("-", ""))
        words = re.sub(r"^\*+|\*+$|\.$", "", words).strip(_WRAPPING.replace(".", ""))
        fraction, number = _FRACTION.match(words), _NUMBER.match(words)
        if words.casefold() in _WORDS:
            value = float(_WORDS.index(words.casefold()))
        elif re.fullmatch(r"[-+]?\d+,\d{1,2}", words) and scale.kind == "interval":
            value = float(words.replace(",", "."))
        elif fraction and scale.bounds is not None and float(fraction["top"]) == scale.bounds[1]:
            value = float(fraction["value"])
        elif number and (number["unit"] not in ("%", "percent") or scale.bounds == (0.0, 100.0)):
            value = float(number["value"])
        else:
            return None
    # In plain Python: a frame of one label costs more than everything else about a reply.
    low, high = (scale.low, scale.high) if isinstance(scale, Interval) else scale.bounds or (-math.inf, math.inf)
    whole = math.isfinite(value) and value.is_integer()
    if not (math.isfinite(value) and low <= value <= high and (whole or scale.kind == "interval")):
        return None
    return int(value) if whole else value


def _preferred(stated: str) -> int | None:
    words = _key(stated, " ")
    words = re.sub(r"^(?:the )?(?:option|text|response|answer|output|version) |^the ", "", words)
    words = re.sub(r" (?:one|option|text|response|answer|is better)$", "", words)
    known = {"first": -1, "a": -1, "second": 1, "b": 1, "tie": 0, "neither": 0, "equal": 0, "no preference": 0}
    return known.get(words)


def _odd(stated: str) -> str | None:
    letter = re.fullmatch(r"(?:(?:option|text|item|response|answer)\s+)?([abc])", _key(stated, " "), re.IGNORECASE)
    return letter[1].upper() if letter else None


_READERS: dict[str, Callable[[str], Label | None]] = {"preference": _preferred, "odd-one-out": _odd}
"""For scales that are answered in more ways than with a label as it is listed."""


def _key(words: str, gap: str = "") -> str:
    """Letters and digits alone, so that Has-Property and "has property" are the same."""
    spaced = re.sub(r"[\W_]+", " ", words.casefold()).strip()
    return spaced.replace(" ", gap) if gap != " " else spaced


def _on_no_scale(text: str, scale: Scale) -> bool:
    """Whether the reply is a bare number or word that is just not on the scale."""
    words = text.strip().strip(_WRAPPING)
    number = _NUMBER.match(words) or _FRACTION.match(words) or words.casefold() in _WORDS
    return bool(number) or (not scale.numeric and len(words.split()) == 1)
