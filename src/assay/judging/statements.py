"""Where a reply states a label: as JSON, between marks, after "Answer:", in "I would give it a 4", alone on a line.

A label that is merely mentioned is not stated. Each finder gives statements; which of them counts is decided
in `assay.judging.replies`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from assay.data.scales import Scale
from assay.judging.worded import BULLET, DOUBTFUL, THING, WRAPPING, on_scale, stated_label, takes_any_word

LABEL_KEYS = (
    *("label", "answer", "final_answer", "finalanswer", "rating", "score", "verdict", "choice", "judgment"),
    *("judgement", "grade", "category", "class", "classification", "relation", "result", "value", "stars"),
    *("decision", "preference", "output", "response", "prediction", "annotation", "winner", "overall"),
)
REASON_KEYS = ("reasoning", "reason", "explanation", "rationale", "thoughts", "thinking", "analysis", "why")
_ASIDE_KEYS = (
    *REASON_KEYS,
    "confidence",
    "certainty",
    "probability",
    "comment",
    "comments",
    "notes",
    "note",
    "item",
    "id",
)


@dataclass(frozen=True)
class Statement:
    """One place where a reply says a label.

    Attributes
    ----------
    at, end : int
        Where it stands in the reply.
    label : label, `DOUBTFUL` or None
        What it says; None where that is not on the scale.
    decides : bool
        Whether the reply is settled by it, also where it is no label.
    about : str
        Of what it is the label, where it says so: ``food`` in "Food rating: 4".
    """

    at: int
    end: int
    label: Any
    decides: bool = True
    about: str = ""


# -- JSON -------------------------------------------------------------------------------------------

_DECODER = json.JSONDecoder(strict=False)


def objects(text: str) -> Iterator[tuple[int, int, Any]]:
    """Every JSON object in a text and where it stands, also one with single quotes, a trailing comma, bare keys."""
    position = text.find("{")
    while position >= 0:
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError):
            flat = re.match(r"\{[^{}]*\}", text[position:])
            value = None if flat is None else _mended(flat[0])
            end = position + (flat.end() if flat is not None and value is not None else 1)
        if value is not None:
            yield position, end, value
        position = text.find("{", end)


def _mended(text: str) -> Any:
    text = re.sub(r"//[^\n\"]*", "", text)
    text = re.sub(r",\s*}", "}", text)
    text = re.sub(r"([{,]\s*)'([^'\n]*)'\s*:", r'\1"\2":', text)
    text = re.sub(r"([{,]\s*)([A-Za-z_]\w*)\s*:", r'\1"\2":', text)
    text = re.sub(r":\s*'([^'\n]*)'\s*([,}])", r': "\1"\2', text)
    try:
        return _DECODER.decode(text)
    except (json.JSONDecodeError, RecursionError):
        return None


def in_json(text: str, scale: Scale) -> Iterator[Statement]:
    """What the JSON objects of a text say."""
    for at, end, value in objects(text):
        if isinstance(value, dict):
            label, named = _in_object(value, scale)
            yield Statement(at, end, label, named and not _is_quoted(text, at))


def _in_object(found: dict[Any, Any], scale: Scale) -> tuple[Any, bool]:
    """The label that an object gives, and whether it means to give one."""
    folded = {str(k).strip().casefold().replace(" ", "_"): v for k, v in found.items()}
    named = [k for k in folded if k in LABEL_KEYS or k.startswith("final")]
    for sure in ([k for k in named if k == "label"], [k for k in named if k.startswith("final")]):
        named = sure or named
    if not named:
        named = [k for k in folded if k not in _ASIDE_KEYS]
        if len(named) > 1:
            return None, False
    labels = [_in_value(folded[k], scale) for k in named]
    there = list(dict.fromkeys(label for label in labels if label is not None))
    return (there[0] if len(there) == 1 else DOUBTFUL if there else None), bool(named)


def _in_value(value: Any, scale: Scale) -> Any:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        inner = any(str(k).casefold() in LABEL_KEYS for k in value)
        return _in_object(value, scale)[0] if inner else None
    return stated_label(value, scale)


# -- marks ------------------------------------------------------------------------------------------

_MARKS = (
    re.compile(r"##\s*(?P<said>[^#\n]{1,200}?)\s*##"),
    re.compile(r"\[\[\s*(?P<said>[^\[\]\n]{1,200}?)\s*\]\]"),
    re.compile(
        r"<(?P<tag>(?:final_?)?(?:label|answer|rating|score|verdict|choice|decision|category|grade))\b[^<>]*>"
        r"\s*(?P<said>[^<>]{1,200}?)\s*</(?P=tag)>",
        re.IGNORECASE,
    ),
    re.compile(r"\\boxed\{\s*(?:\\text\{)?(?P<said>[^{}]{1,200}?)\}"),
)


def in_marks(text: str, scale: Scale) -> Iterator[Statement]:
    """``##4##``, ``[[4]]``, ``<label>4</label>``, ``\\boxed{4}``."""
    for pattern in _MARKS:
        for found in pattern.finditer(text):
            said = found["said"]
            tie = scale.kind == "preference" and said.casefold() == "c" and found[0].startswith("[[")
            label = 0 if tie else stated_label(said, scale)
            heading = found[0].startswith("##") and label is None and not re.search(r"\d", said)
            yield Statement(found.start(), found.end(), label, not heading and not _is_quoted(text, found.start()))


# -- sentences --------------------------------------------------------------------------------------

_NOUN = (
    rf"(?:label|answer|rating|score|verdict|choice|judge?ment|grade|category|class|classification|relation|decision"
    rf"|preference|prediction|annotation|assessment|result|overall|winner|stars?|odd[\s-]one(?:[\s-]out)?"
    rf"|(?:better|preferred|best)\s+(?:one|{THING}))"
)
_CLOSING = r"[*_`'\")\]\\]*"
_STATED = re.compile(
    rf"\b{_NOUN}\b{_CLOSING}(?:"
    rf"(?P<sure>(?:\s*\([^()\n]{{0,60}}\))?"
    rf"(?:\s+(?:on|from|for|of|out of|between)\b(?P<of>[^:=\n.;]{{0,60}}?))?{_CLOSING}"
    rf"\s*(?:[:=：→|]|->|\s[-–—]\s)\s*)"
    rf"|(?:\s+(?:for|of|to)\s+(?:this|the|it)\b[^:=\n.;]{{0,40}}?)?"
    rf"\s+(?:is|would be|should be|must be|remains)\b\s*:?\s*)",
    re.IGNORECASE,
)
_I_GIVE = re.compile(
    rf"\bI(?:'d|'ll|\s+would|\s+will|\s+therefore|\s+thus|\s+finally|\s+now|\s+have\s+to|\s+must)*\s+"
    r"(?:rate|give|assign|choose|pick|select|go\s+with|label|classify|score|grade|prefer|say|settle\s+on|vote\s+for)\b"
    rf"|\b(?:it|this|(?:this|the)\s+(?:review|essay|post|comment|pair|story|{THING}))\s+"
    r"(?:deserves|gets|earns|merits|scores|warrants)\b"
    r"|\b(?P<is>(?:it|this|that)(?:'s|\s+is)|makes\s+it)(?=\s+an?\s)",
    re.IGNORECASE,
)
_NOT_THE_LABEL = re.compile(
    r"\b(?:first|initial|preliminary|provisional|tentative|draft|previous|earlier|original|average|mean|typical|usual"
    r"|highest|lowest|max|maximum|min|minimum|top|possible|other|another|alternative|wrong|incorrect|second-best|next"
    r"|lower|higher|no|any|each|every|which|what|whose|if|when|unless|whether|why|\w+'s|example)\s+"
    r"(?:(?:the|my|a|an|its|this)\s+)?$",
    re.IGNORECASE,
)
_AT_FIRST = re.compile(r"\b(?:first|initially|before|thought|tempted|if|when|unless|whether)\b", re.IGNORECASE)
_OF_OTHERS = re.compile(
    rf"\b(?:it|which|prompt|author|writer|user|review|post|comment|{THING})\b[^:\n]*\b"
    r"(?:asks?|asked|says?|said|tells?|told|instructs?|instructed|requests?|requested|demands?|wants?|claims?)\b"
    r"|\b(?:instead of|rather than|not|never|don't|won't|ignore|asked to|told to|instructed to|if|e\.g\.,?|such as)"
    r"\s+(?:\w+\s+){0,3}[\"'`*]*$",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"^[\s*_\"']*(?:not|never|neither|no longer)\b", re.IGNORECASE)


_NEAR = 300
"""So many characters before and after the words by which a label is stated are looked at."""

_MOST = 50
"""So many of them are looked at, from the end."""


def in_sentences(text: str, scale: Scale) -> Iterator[Statement]:
    """What follows "Answer:", "the rating is" and the like, and "I would give it"."""
    found = list(_STATED.finditer(text))[-_MOST:]
    if takes_any_word(scale) and any(one["sure"] for one in found):
        found = [one for one in found if one["sure"]]
    starts = [one.start() for one in found] + [len(text)]
    for one, until in zip(found, starts[1:], strict=True):
        before = _clause(text, one.start())
        if _NOT_THE_LABEL.search(before) or _OF_OTHERS.search(before):
            continue
        rest = text[one.end() : min(until, one.end() + _NEAR)].partition("\n")[0]
        label = stated_label(rest, scale)
        negated = label is None and bool(_NEGATED.match(rest))
        short = bool(one["sure"]) and len(rest.split()) <= 3 and bool(rest.strip(WRAPPING))
        off = bool(re.match(r"[\s*_\"'`]*[-+]?\d", rest)) and scale.numeric
        decides = label is not None or negated or short or off
        yield Statement(one.start(), one.end(), label, decides, _subject(before, one["of"]))
    if not takes_any_word(scale):
        yield from _given(text, scale)


_NO_SUBJECT = re.compile(
    r"^(?:final|my|the|overall|correct|revised|new|updated|best|a|an|so|own|star|appropriate|actual|true|total)?$"
)


def _subject(before: str, of: str | None) -> str:
    """Of what a statement is the label: the word before it, or what follows "for"."""
    if of is not None:
        return of.strip().casefold()
    word = re.search(r"(\w*)[\s*_]*$", before.casefold())
    assert word is not None
    return "" if _NO_SUBJECT.match(word[1]) else word[1]


def _given(text: str, scale: Scale) -> Iterator[Statement]:
    """ "I would give it a 4", "it deserves a 4"."""
    for one in list(_I_GIVE.finditer(text))[-_MOST:]:
        before = _clause(text, one.start())
        if one["is"] and not (scale.numeric or scale.kind in ("nominal", "ordinal")):
            continue
        if _AT_FIRST.search(before) or _OF_OTHERS.search(before):
            continue
        words = re.split(r"[\n!?]|\.(?!\d)", text[one.end() : one.end() + _NEAR], maxsplit=1)[0].split()
        for skipped in range(min(6, len(words))):
            label = stated_label(" ".join(words[skipped:]), scale)
            if label is not None:
                yield Statement(one.start(), one.end(), label)
                break
            if on_scale(words[skipped], scale) is not None or re.search(
                r"\d|^(?:not|no|never|neither)$", words[skipped]
            ):
                break


def _clause(text: str, at: int) -> str:
    """What stands before a place in its own sentence."""
    line = text[max(0, at - _NEAR) : at].rpartition("\n")[2]
    return re.split(r"[.!?;]\s", line)[-1]


def _is_quoted(text: str, at: int) -> bool:
    """Whether what stands here is what somebody else wanted to be said."""
    return bool(_OF_OTHERS.search(_clause(text, at)))


# -- lines ------------------------------------------------------------------------------------------

_NUMBERED = re.compile(r"^\s*(?P<number>\d+)[.)]\s+\S")
_KEYED = re.compile(
    r"^[\s*_#>`|-]*(?P<name>[^\W\d][^:：\n|*]{0,40})[*_`]*\s*[:：|=]\s*(?P<rest>\S[^\n]*)$", re.MULTILINE
)
_ASIDE = re.compile(
    r"\b(?:number|count|words?|length|time|date|year|age|page|line|step|item|part|points?|paragraph|sentence|confidence"
    r"|certainty|probability|likelihood|temperature|note|example|option|reasons?|reasoning|explanation|question"
    r"|criteri\w+|scale|range|min\w*|max\w*|first|initial|preliminary|tentative|draft|previous|average|mean|\w+'s)\b",
    re.IGNORECASE,
)


def last_line(text: str, scale: Scale) -> Iterator[Statement]:
    """A label that is all of the last line."""
    lines = _lines(text)
    if lines and not takes_any_word(scale):
        last, before = ([None, *(on_scale(BULLET.sub("", line), scale) for line in lines[-2:])][-n] for n in (1, 2))
        label = DOUBTFUL if None not in (last, before) and last != before else last
        aside = len(lines) > 1 and lines[-2].rstrip(" *_").endswith(":") and bool(_ASIDE.search(lines[-2]))
        if label is not None and not aside:
            yield Statement(len(text), len(text), label)


def in_lines(text: str, scale: Scale) -> Iterator[Statement]:
    """The label with which the last line begins, and that of the first."""
    lines = _lines(text)
    several = len(lines) > 1
    numbered = sum(bool(_NUMBERED.match(line)) for line in lines) > 1
    for place in (0, -1)[: len(lines)]:
        line, found = lines[place], _NUMBERED.match(lines[place])
        listed = several and found is not None and (numbered or found["number"] == "1")
        if listed or (several and len(line) > 80):
            continue
        label = stated_label(line, scale, line=True)
        if label is not None:
            yield Statement(0 if place == 0 else len(text), len(text), label)


def in_keyed_lines(text: str, scale: Scale) -> Iterator[Statement]:
    """``Similarity: 0.7``: a line of a name that is not listed and a label."""
    for found in list(_KEYED.finditer(text))[-_MOST:]:
        aside = _ASIDE.search(found["name"]) or re.search("[:=：]", found["rest"])
        if not aside and not _is_quoted(text, found.start("rest")):
            label = stated_label(found["rest"], scale, line=True)
            if label is not None:
                yield Statement(found.start(), found.end(), label)


def at_the_end(text: str, scale: Scale) -> Iterator[Statement]:
    """A label in bold with which the reply ends."""
    found = re.search(r"(\*\*|__)([^*_\n]{1,60})\1[.!\s]*$", text)
    if found and not _AT_FIRST.search(_clause(text, found.start())) and not _is_quoted(text, found.start()):
        label = on_scale(found[2], scale)
        negated = re.search(r"\b(?:not|never|no|isn't|than)\s+(?:\w+\s+)?$", text[: found.start()])
        if label is not None and not negated:
            yield Statement(found.start(), found.end(), label)


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip(WRAPPING + "-") or re.search("[★⭐]", line)]
