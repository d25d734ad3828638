"""Where does a response state a label: as JSON, between markers, after "Answer:", alone on a line?

A statement that is quoted, supposed or one of several probabilities does not count, in any form. `replies.FINDERS`
lists the forms.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from assay.data.scales import Label, Preference, Scale
from assay.judging.criteria import (
    ASIDE_KEYS,
    LABEL_KEYS,
    REASON_KEYS,
    Criterion,
    CriterionValues,
    folded,
    is_answer,
    is_rejected,
    is_sentence,
    named_entry,
    values_of_criterion,
)
from assay.judging.responses.label_words import (
    BULLET,
    DOUBTFUL,
    ITEM,
    LONGEST_LINE,
    MOST_STATEMENTS,
    NEAR,
    THING,
    WORD,
    WRAPPING,
    is_bound,
    is_conditional,
    label_on_scale,
    names_another,
    stated_label,
    strip_lead,
    takes_any_word,
)

OF_OTHERS = object()
"""Instead of a label: the response labels other criteria, and not the one of the question."""


@dataclass(frozen=True)
class Statement:
    """One statement of a label in a response.

    Attributes
    ----------
    at, end : int
        Its position in the response.
    label : label, `DOUBTFUL` or None
        Its value; None if it is not on the scale.
    decides : bool
        Whether it settles the response, also without a valid label.
    about : str
        Its subject, if it names one: ``food`` in "Food rating: 4".
    is_own : bool
        Whether it is under the name of the question's criterion.
    """

    at: int
    end: int
    label: Any
    decides: bool = True
    about: str = ""
    is_form: bool = False
    """Whether its form is that of a label and no sentence: ``Score: 3``, ``[[3]]``."""
    is_own: bool = False


# -- JSON --------------------------------------------------------------------------------------------

DECODER = json.JSONDecoder(strict=False)


MOST_BRACES = 500
"""Opening braces at which an object is looked for, from the end: more than any reply needs, and few enough that a reply
of nothing else is read in a moment."""


def is_json(text: str) -> bool:
    """Whether all of a reply is one JSON object, in which marks are words like others."""
    try:
        return text.lstrip().startswith("{") and isinstance(DECODER.decode(text), dict)
    except (json.JSONDecodeError, RecursionError):
        return False


def objects(text: str) -> Iterator[tuple[int, int, Any]]:
    """Return every JSON object in a text with its position, also with single quotes, a trailing comma, or bare keys."""
    position = text.find("{")
    if text.count("{") > MOST_BRACES and not is_json(text):
        position = [one.start() for one in re.finditer(r"\{", text)][-MOST_BRACES]
    while position >= 0:
        try:
            value, end = DECODER.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError):
            whole = _BRACES.match(text, position)
            part = _closed(text[position:]) if whole is None else whole[0]
            value = _repair(part if whole else part + "}")
            end = position + (1 if value is None else len(part))
        if value is not None:
            yield position, end, value
        position = text.find("{", end)


_BRACES = re.compile(r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}")
"""An object that has objects in objects at most, as no JSON that a prompt requests has more."""

_REPAIRS = (
    (r"[“”]", '"'),
    (r"//[^\n\"]*|/\*[^\"]*?\*/", ""),
    (r"(?<=[\"\d\]}el])(\s+\"[\w ]+\"\s*:)", r",\1"),
    (r",\s*([,}\]])", r"\1"),
    (r"(?<=[:\[,])(\s*)(True|False|None)\b", lambda one: one[1] + {"None": "null"}.get(one[2], one[2].lower())),
    (r"([{,]\s*)'([^'\n]*)'\s*:", r'\1"\2":'),
    (r"([{,]\s*)([A-Za-z_]\w*)\s*:", r'\1"\2":'),
    (r":\s*'((?:[^'\\\n]|\\.|(?<=\w)'(?=\w))*)'\s*([,}])", r': "\1"\2'),
    (r"([\"'])\s*=>", r"\1:"),
    (r"\\'", "'"),
    (r"(?<=\w )\"(?=\w)|(?<=[\w.!?])\"(?= \w)", r'\\"'),
)
"""Return JSON for the usual deviations of models: comments, a missing or last comma, single quotes, bare keys."""


def _closed(text: str) -> str:
    """An object that is not closed, up to its last value that is whole for sure."""
    text = text.rstrip(" \n`,")
    return text if text.endswith(('"', "'")) else text.rpartition(', "')[0]


def _repair(text: str) -> Any:
    for wrong, right in _REPAIRS:
        text = re.sub(wrong, right, text)
    try:
        return DECODER.decode(text)
    except (json.JSONDecodeError, RecursionError):
        return None


def find_in_json(text: str, scale: Scale, criterion: Criterion | None = None) -> Iterator[Statement]:
    """Return the values of a criterion in the JSON objects of a text: under its own key first, then under a usual one.

    An object with keys of other criteria and without the own one says nothing, unless it has the key ``label``.
    """
    for at, end, value in (*_join_ranks(text, scale), *tables_of(text), *_call(text), *_leaves(text)):
        value = arguments_of(value)
        if isinstance(value, dict):
            value = _first_of_ranks(value, scale)
            found = _of_criterion(value, criterion)
            label, named = one_label([_inner_label(one, scale) for one in found.own]), bool(found.own)
            if label is None and len(found.own) == 1 and isinstance(scale, Preference) and scale.grades:
                label = _with_grade(str(found.own[0]), value.values(), scale)
            is_text = criterion is not None and (criterion.is_aside or all(map(is_sentence, found.own)))
            is_own = named and not (label is None and is_text)
            if not is_own:
                label, named = (OF_OTHERS, True) if found.names_others else _object_label(value, scale)
            if label is not None or text[at] in "{[":
                yield Statement(at, end, label, named and not is_reported(text, at, end), is_own=is_own)


def _join_ranks(text: str, scale: Scale) -> Iterator[tuple[int, int, Any]]:
    """The objects of a text; a list of objects with a rank each, ``[{"model": "m", "rank": 1}, …]``, as one winner."""
    ranked: list[tuple[int, int, Any]] = []
    for place in (*objects(text), None):
        is_next = not ranked or (place is not None and not text[ranked[-1][1] : place[0]].strip(", \n"))
        if place is not None and is_next and isinstance(place[2], dict) and "rank" in place[2]:
            ranked.append(place)
            continue
        first = _first_rank([one for _, _, one in ranked], scale) if ranked else None
        if first is None:
            yield from ranked
        else:
            opened = text[: ranked[0][0]].rstrip()
            closed = re.compile(r"[\s,]*\]").match(text, ranked[-1][1])
            at = len(opened) - 1 if opened.endswith("[") else ranked[0][0]
            yield at, ranked[-1][1] if closed is None else closed.end(), {"winner": first}
        ranked = []
        if place is not None:
            ranked = [place] if isinstance(place[2], dict) and "rank" in place[2] else []
            yield from () if ranked else [place]


_TABLE = re.compile(
    r"^[ \t]*\|?(?P<names>[^\n|]+(?:\|[^\n|]+)+)\|?[ \t]*\n"
    r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*\n"
    r"[ \t]*\|?(?P<row>[^\n|]+(?:\|[^\n|]+)+)\|?[ \t]*$(?!\n[ \t]*\|?[^\n|]+\|)",
    re.MULTILINE,
)


def tables_of(text: str) -> Iterator[tuple[int, int, dict[str, str]]]:
    """The tables of one row as objects: each cell under the name of its column."""
    for one in _TABLE.finditer(text) if "|" in text else ():
        names, cells = ([cell.strip(" \t*_`") for cell in one[part].split("|")] for part in ("names", "row"))
        if len(names) == len(cells):
            yield one.start(), one.end(), dict(zip(names, cells, strict=True))


_LEAF = re.compile(r"<(?P<tag>\w{1,40})>(?P<said>[^<>]{0,2000})</(?P=tag)>")


def _leaves(text: str) -> Iterator[tuple[int, int, dict[str, str]]]:
    """The tags of a reply of nothing else as one object: ``<r><novelty>8</novelty><why>New</why></r>``."""
    found = list(_LEAF.finditer(text)) if text.lstrip().startswith("<") and len(text) < LONGEST_OF_TAGS else []
    names = {one["tag"].casefold() for one in found}
    if 1 < len(names) == len(found) and not re.search(r"\w", re.sub(r"</?\w+>", "", _LEAF.sub("", text))):
        yield found[0].start(), found[-1].end(), {one["tag"]: one["said"].strip() for one in found}


LONGEST_OF_TAGS = 8_000
"""Characters of a reply of tags."""

_CALL = re.compile(
    r"\s*(?:<\|?\w+\|?>)?[^\w\n<]*(?:(?:tool_code|python)\s+)?(?:print\()?(?P<name>[\w.]+)\((?P<given>[^()]{1,500})\)+\W*(?:</?\|?\w+\|?>)?\W*"
)
_GIVEN = re.compile(r"\s*(?:(?P<name>\w+)\s*[=:]\s*)?(?P<value>\"[^\"]*\"|'[^']*'|[-+]?[\w.]+)\s*(?:,|$)")


def _call(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The arguments of a call of a function that is all of a reply, ``rate(score=3, why="short")``; one without a name
    is the label."""
    call = _CALL.fullmatch(text) if ")" in text[-60:] and len(text) < 2 * NEAR else None
    if call is None or _LOOKS_UP.match(call["name"]):
        return
    found = list(_GIVEN.finditer(call["given"]))
    if found and "".join(one[0] for one in found) == call["given"]:
        truths = {"True": True, "False": False}
        given = {one["name"] or "label": truths.get(one["value"], one["value"].strip("\"'")) for one in found}
        yield 0, len(text), {k: v for k, v in given.items() if k.casefold() not in _INPUTS}


def _first_of_ranks(found: dict[Any, Any], scale: Scale) -> dict[Any, Any]:
    """An object with the winner instead of its only list of ranks, as of the annotators of AlpacaEval:
    ``{"ordered_models": [{"model": "m", "rank": 1}, …]}``."""
    lists = [(key, one) for key, one in found.items() if isinstance(one, list) and one and isinstance(one[0], dict)]
    is_labelled = any(str(key).strip().casefold() in LABEL_KEYS for key in found)
    first = _first_rank(lists[0][1], scale) if len(lists) == 1 and not is_labelled else None
    return found if first is None else {"winner": first} | {k: v for k, v in found.items() if k in ASIDE_KEYS}


def _first_rank(entries: Sequence[Any], scale: Scale) -> Any:
    """The name with rank 1, or a tie of two; None if the entries are no ranks of different labels."""
    names: dict[Any, tuple[str, str]] = {}
    for one in entries:
        other = [value for key, value in one.items() if key != "rank"] if isinstance(one, dict) else []
        label = label_on_scale(other[0], scale) if len(other) == 1 and isinstance(other[0], str) else None
        if label is None or label in names or "rank" not in one:
            return None
        names[label] = other[0], str(one["rank"]).strip()
    first = [name for name, rank in names.values() if rank == "1"]
    if len(names) < 2 or not first or scale.numeric:
        return None
    return first[0] if len(first) == 1 else "tie" if scale.kind == "preference" else None


def arguments_of(value: Any) -> Any:
    """What a call of a function is given: ``{"name": "rate", "arguments": {"label": 4}}``; any other value as it is."""
    for _ in range(_NESTED_CALLS):
        if not isinstance(value, dict):
            return value
        call = {str(k).strip().casefold(): v for k, v in value.items()}
        if any(isinstance(call.get(key), str) and _LOOKS_UP.match(call[key]) for key in _CALLED):
            return {}
        inner = next((call[key] for key in _CALLS if isinstance(call.get(key), dict | list)), None)
        if inner is None and ({"type", *_CALLED} & call.keys() or len(call) == 1):
            inner = next((call[key] for key in _ARGUMENTS if key in call), None)
        if isinstance(inner, list) and len(inner) == 1:
            inner = inner[0]
        if isinstance(inner, str) and is_json(inner):
            inner = DECODER.decode(inner)
        if not isinstance(inner, dict):
            return value
        value = {key: one for key, one in inner.items() if str(key).casefold() not in _INPUTS}
    return value


_CALLS = ("tool_calls", "tool_call", "function_call", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "action_input")
_CALLED = ("name", "tool", "tool_name", "function", "action", "recipient_name")
_LOOKS_UP = re.compile(
    r"(?:.*[_.])?(?:(?:get|find|fetch|look|query|read|open|load|list)(?:_|(?=[A-Z])|$)|(?:re)?(?:search|browse|download|retrieve))"
)
"""The names of functions that ask for something and label nothing: ``get_reviews``."""

_INPUTS = frozenset({"query", "text", "input", "content", "prompt", "message", "url", "code", "expression"})
"""Arguments that are a text for a tool, and no label."""

_NESTED_CALLS = 4
"""Objects around the arguments of a call at OpenAI: ``tool_calls``, ``function``, ``arguments``, and one more."""


def _of_criterion(found: dict[Any, Any], criterion: Criterion | None) -> CriterionValues:
    """Return the value of a criterion in an object; None if it answers under the key ``label``, as requested."""
    if criterion is None:
        return CriterionValues()
    values = values_of_criterion(found, criterion)
    answers = [value for key, value in found.items() if folded(str(key)) == "label"]
    is_nested = any(
        isinstance(one, dict) for value in answers for one in (value if isinstance(value, list) else [value])
    )
    is_answer = bool(answers) and not is_nested and named_entry(found, criterion) is None
    return CriterionValues() if is_answer and (criterion.is_aside or not values.own) else values


def _inner_label(value: Any, scale: Scale) -> Any:
    """The label that the value of a criterion's own key gives: ``3``, ``"3"``, ``{"score": 3, "reason": "…"}``; and
    ``false`` for no, as in ``{"supported": false}``."""
    if isinstance(value, bool) and label_on_scale(value, scale) is None:
        value = "yes" if value else "no"
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return _object_label(value, scale)[0] if isinstance(value, dict) else stated_label(value, scale)


def one_label(labels: Sequence[Any]) -> Any:
    """The label of several values: in doubt if they differ, None if none is on the scale."""
    there = list(dict.fromkeys(label for label in labels if label is not None))
    return there[0] if len(there) == 1 else DOUBTFUL if there else None


def _object_label(found: dict[Any, Any], scale: Scale) -> tuple[Any, bool]:
    """The label that an object gives, and whether it means to give one."""
    folded = {str(k).strip().casefold().replace(" ", "_"): v for k, v in found.items()}
    chosen = _only_true(found, scale)
    if chosen is not None:
        return chosen, True
    named = [k for k in folded if k in LABEL_KEYS or k.startswith("final")]
    named = named or [k for k in folded if (keys := _KEYS_OF.get(scale.kind)) and keys.fullmatch(k)]
    if isinstance(scale, Preference) and scale.grades and len(named) == 1:
        graded = _with_grade(str(folded[named[0]]), folded.values(), scale)
        if graded is not None:
            return graded, True
    for sure in ([k for k in named if k == "label"], [k for k in named if k.startswith("final")]):
        named = sure or named
    if not named:
        named = [k for k in folded if k not in ASIDE_KEYS and not (k.endswith("_id") or is_rejected(k, scale))]
        if not is_answer(scale):
            named = [k for k in named if not isinstance(folded[k], bool)] or named
        if len(named) > 1:
            return None, False
    return one_label([_value_label(folded[k], scale) for k in named]), bool(named)


_KEYS_OF = {
    "odd-one-out": re.compile(r"(?:the_)?odd(?:_one)?(?:_out)?|outlier"),
    "preference": re.compile(rf"(?:the_)?(?:better|best|preferred|chosen)(?:_(?:one|{THING}))?"),
}
"""Keys that mean the label of such a scale: ``{"odd_one_out": "A", "because": "…"}``."""


def _only_true(found: dict[Any, Any], scale: Scale) -> Label | None:
    """The label that alone is true of all labels: ``{"hate": false, "offensive": true, "no hate": false}``."""
    if scale.numeric or not scale.categories or is_answer(scale) or len(found) < 2:
        return None
    labels = [label_on_scale(str(key), scale) for key in found]
    if None in labels or set(labels) != set(scale.categories) or not all(isinstance(v, bool) for v in found.values()):
        return None
    chosen = [label for label, is_true in zip(labels, found.values(), strict=True) if is_true]
    return chosen[0] if len(chosen) == 1 else None


def _with_grade(side: str, values: Iterable[Any], scale: Preference) -> Label | None:
    """The label of a side and the grade next to it: ``{"better": "B", "margin": "slightly better"}``."""
    words = {str(one).strip().casefold() for one in values}
    grades = [one for one in scale.grades if one.casefold() in words]
    return label_on_scale(f"{side} {grades[0]}", scale) if len(grades) == 1 else None


def _value_label(value: Any, scale: Scale) -> Any:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        inner = any(str(k).casefold() in (*LABEL_KEYS, *REASON_KEYS, "level") for k in value)
        return _object_label(value, scale)[0] if inner else None
    return stated_label(value, scale)


_TO_EARN = r"to\s+(?:earn|get|reach|achieve|deserve|merit|receive|be|become|score)\b"
"""What leads to a label that is only wished for."""

# -- marks -------------------------------------------------------------------------------------------

_MARKS = (
    re.compile(r"##\s*(?P<said>[^#\n]{1,200}?#?)\s*##(?!#)"),
    re.compile(r"\[\[\s*(?P<said>[^\[\]\n]{1,200}?)\s*\]\]"),
    re.compile(
        rf"<(?P<tag>(?:final_?)?(?:{'|'.join(LABEL_KEYS)}|evaluation|assessment))\b[^<>]*>"
        r"\s*(?P<said>[^<>\s][^<>]{0,199}?)\s*</?(?P=tag)\s*(?:>|$)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"<\w[^<>]*\b(?:{'|'.join(LABEL_KEYS)})\s*=\s*[\"'](?P<said>[^<>\"']{{1,200}})[\"'][^<>]*/?>", re.IGNORECASE
    ),
    re.compile(
        rf"<(?:[\w:]+:)?parameter(?:\s+name)?\s*=\s*[\"']?(?:final_?)?(?:{'|'.join(LABEL_KEYS)})[\"']?>"
        r"\s*(?P<said>[^<>]{1,200}?)\s*</",
        re.IGNORECASE,
    ),
    re.compile(
        r"\[(?:RESULT|ANSWER|SCORE|RATING|LABEL|VERDICT|FINAL)\]\s*[:=]?\s*(?P<said>[^\s\[\]][^\n\[\]]{0,200})"
        r"|\[(?:RESULT|ANSWER|SCORE|RATING|LABEL|VERDICT|FINAL)\s*[:=]\s*(?P<inside>[^\n\[\]]{1,200})\]"
    ),
    re.compile(
        r"^\s*<(?P<tag>(?!(?:\w*_)?(?:reason|justif|think|expla|rationale|confidence|example|quote|text|comment"
        r"|input|review|item))\w{1,30})>\s*(?P<said>[^<>]{1,200}?)\s*</(?P=tag)>\s*$"
    ),
    re.compile(r"\\f?box(?:ed)?\{\s*(?:\\[a-z]+\{\s*)*(?P<said>[^{}]{1,200}?)\}"),
)


_WISHED = re.compile(rf"\b(?:an?|another|{_TO_EARN}[^.;:]{{0,30}})\s*$|\($", re.IGNORECASE)
"""What leads to a label that is not given, if another one is: ``[[7]] (an [[8]] with sources)``."""


_SUBJECT_OF = re.compile(r"[ \t]+(?:has|had|have|does|gives|offers|uses|cites|misses)\b")
"""What follows a mark that a sentence is about: ``[[A]] has nicer wording``."""


_MARK_IF = re.compile(r"[\"'”’`*)]*\s+(?:if|when|for)\b")
"""And one of several that have conditions, as in a prompt that is repeated: ``[[A]] if assistant A is better``."""


def find_in_marks(text: str, scale: Scale) -> Iterator[Statement]:
    """``##4##``, ``[[4]]``, ``<label>4</label>``, ``\\boxed{4}``."""
    found_marks = [found for pattern in _MARKS for found in list(pattern.finditer(text))[-MOST_STATEMENTS:]]
    plainly = [one for one in found_marks if not _WISHED.search(clause_before(text, one.start()))]
    several = len(plainly) > 1
    for found in plainly or found_marks:
        said = found["said"] or found.group("inside")
        if not said.strip():
            continue
        tie = scale.kind == "preference" and said.casefold() == "c" and found[0].startswith("[[")
        label = 0 if tie else stated_label(said, scale)
        other = several and (_SUBJECT_OF.match(text, found.end()) or _MARK_IF.match(text, found.end()))
        if label is not None and (other or _names_another_grade(text[: found.start()], label, scale)):
            label = DOUBTFUL
        heading = found[0].startswith("##") and label is None and not re.search(r"\d", said)
        about = _PART_OF_REPLY.search(clause_before(text, found.start()))
        decides = not heading and not is_reported(text, found.start(), found.end())
        part = "" if about is None else about[1].casefold()
        yield Statement(found.start(), found.end(), label, decides, part, is_form=True)


_PART_OF_REPLY = re.compile(
    rf"\b((?:turn|question|part|step|criterion|round|task|point|aspect)\s?\d+|{THING}\s(?:[AB]|\d+))\b", re.IGNORECASE
)
"""What one of several marks is about: ``Turn 1 rating: [[8]]``, ``Assistant A: [[7]]``."""

_GRADED = re.compile(
    rf"\b(?P<said>(?:{THING}\s+)?(?:[AB]|first|second)\s+is\s+(?:\w+\s+){{1,3}}better)\b"
    r"(?:(?!\b(?:but|however|yet|overall|final|though|while)\b)(?-i:[^\[\]\nAB.;])){0,40}$",
    re.IGNORECASE,
)


def _names_another_grade(before: str, label: Any, scale: Scale) -> bool:
    """Whether the words before signs give another preference: ``A is much better: [[A>B]]``."""
    found = _GRADED.search(before[-NEAR:]) if scale.kind == "preference" else None
    return found is not None and label_on_scale(found["said"], scale) not in (None, label)


# -- sentences ---------------------------------------------------------------------------------------

_NOUN = (
    rf"(?:label|answer|rating|score|verdict|choice|judge?ment|grade|category|class|classification|relation|decision"
    rf"|preference|prediction|annotation|assessment|evaluation|(?:my|best)\s+(?:estimate|guess|bet)|result|overall|total|winner|edit|correction|update|revision|reflection|second\s+thoughts?|stars?|odd[\s-]one(?:[\s-]out)?"
    rf"|(?:better|preferred|best|closest|chosen|selected)\s+(?:one|fit|match|{THING})|{THING}\s+(?:chosen|selected)"
    r"|(?:my|final)\s+(?:pick|selection))"
)
_CLOSING = r"[*_`'\"“”)\]\\]*"
_STATED = re.compile(
    rf"\b{_NOUN}\b{_CLOSING}(?:"  # dialect: kept
    rf"(?P<sure>(?:\s*\([^()\n]{{0,60}}\))?"
    rf"(?:\s+(?:(?:on|from|for|of|out of|between)\b(?P<of>[^:=\n.;]{{0,60}}?)"
    rf"|(?:after|based on|given)\b[^:=\n.;]{{0,60}}?)"
    rf")?{_CLOSING}"
    rf"(?:\s*(?:[:=：→|]|->)|[ \t]+[-–—][ \t])\s*)"
    rf"|(?:\s+(?:(?:for|of|to)\s+(?:this|the|it)|that|I)\b[^:=\n.;]{{0,40}}?)?"
    rf"\s+(?:is|would be|should be|must be|remains|comes\s+to|stands\s+at)\b\s*:?\s*)",
    re.IGNORECASE,
)
_I_GIVE = re.compile(
    r"\bI(?:'d|'ll|\s+would|\s+will)\s+call\s+(?:it|this|that)\b"  # dialect: kept
    r"|\bI(?:'d|'ll|\s+would|\s+will|\s+therefore|\s+thus|\s+finally|\s+now|\s+have\s+to|\s+must"
    r"|(?:\s+can)?\s+only|\s+(?:(?:most|very)\s+)?(?:likely|probably|certainly|definitely|rather|ultimately|slightly|strongly|clearly|still))*\s+"
    r"(?:rate|give|assign|award|grant|guess|choose|pick|select|go\s+with|lean(?:\s+\w+){0,2}\s+towards?|label"
    r"|classify|score"
    r"|grade|prefer|say|(?:settle|land|arrive|end\s+up)\s+(?:on|at)|(?:stand|stick|stay)\s+(?:by|with)|come\s+to"
    r"|vote\s+for|mark|(?:put|place|peg|judge|evaluate|assess|estimate|categori[sz]e|tag|deem|describe"
    r"|see)(?:\s+[\w'-]+){1,5}?\s+(?:as|at|around|near))\b"
    rf"|\b(?:it|this|(?:this|the)\s+(?:one|pair|{ITEM}))\s+"
    r"(?:deserves|gets|earns|merits|scores|warrants)\b"
    r"|^\W*(?:this|it)(?:\s+is|'s)\s+(?:(?!\b(?:not|no|never|hardly|far)\b)[^.\n]){1,60}?\s(?:that|which)\s+(?:deserves|gets|earns|merits|warrants)\b"
    r"|\b(?P<makes>(?:this|that|which)\s+(?:leaves|makes|gives|brings\s+(?:me|us|it)\s+to|earns|takes\s+(?:me|us"
    r"|it)\s+to)(?:\s+(?:it|us|me))?)\b"
    r"|\bI(?:'m|\s+am)\s+(?:giving|assigning|awarding|rating|scoring|grading|going\s+with|calling)\b"
    r"|\blet(?:'s|\s+us)\s+say\b|\bI'd\s+(?:change|correct|revise)\s+(?:it|that|this|my\s+\w+)\s+to\b(?![^.\n]*\b(?:if"
    r"|with|had|were)\b)"
    r"|\bI(?:'ll|'m|'ve|\s+will|\s+am|\s+have|\s+therefore|\s+now)*\s+(?:chang|revis|rais|lower|adjust|correct"
    r"|updat)(?:e|ed|ing)?\s+(?:it|that|this|my\s+\w+)(?:\s+(?:up|down|from\s+\S+))?\s+to\b"
    r"|(?:(?<!would )(?<!could )(?<!might )(?<!not )(?<!to )|(?<=going to ))\b"
    r"(?:bring|drop|lower|reduce|pull|push|bump|raise|lift|knock)s?"
    r"\s+(?:it|that|this|(?:the|my)\s+\w+)(?:\s+(?:up|down))?\s+to\b"
    r"|\bon\s+(?:reflection|second\s+thoughts?),?\s+(?:it|this)\s+(?:is|should\s+be)\b"
    r"|\b(?P<is>(?:it|this|that)(?:'s|\s+is)|makes\s+it)(?=\s+an?\s)",
    re.IGNORECASE,
)
_NOT_THE_LABEL = re.compile(
    r"\b(?:first|initial|preliminary|provisional|tentative|draft|previous|earlier|original|average|mean|typical|usual"
    r"|highest|lowest|max|maximum|min|minimum|top|possible|other|another|alternative|wrong|incorrect|second-best|next"
    r"|second|third|reference|gold|expected|lower|higher|worse|worst|weaker|losing|rejected|no|any|each|every|which|what|whose|if|when|unless|whether|why|\w+'s|example)\s+"
    r"(?:(?:the|my|a|an|its|this)\s+)?$",
    re.IGNORECASE,
)
_DENIED_THAT = re.compile(
    r"(?:\bnot|n't|\bnever|\bhardly)\b(?![^.;:]*\b(?:doubt|deny|dispute))[^.;:]{0,30}\bthat\s+(?:\w+\s+){0,2}$",
    re.IGNORECASE,
)
"""A denial of the statement that follows: ``It is not the case that the``."""

WISHES = re.compile(r"\W*an?\s+(?:better|stronger|best|good|ideal)\b", re.IGNORECASE)
"""How a sentence begins about a response that is not there: ``A better answer would be``."""

READING = re.compile(
    r"\b(?:under|on|in|by|with)\s+(?:an?|one|another)\s+(?:\w+\s+){0,2}(?:reading|view|interpretation|definition"
    r"|standard)\b",
    re.IGNORECASE,
)
"""What a label holds for only: ``under a strict reading the answer is``."""

_COUNTED = re.compile(rf"(?:\d|\b{WORD.pattern})\W*$", re.IGNORECASE)
_AT_FIRST = re.compile(r"\b(?:first|initially|before|thought|tempted|if|when|unless|whether)\b", re.IGNORECASE)
_OF_OTHERS = re.compile(
    rf"\b(?:it|which|prompt|author|writer|user|review|post|comment|{THING})\b[^:\n]*\b"  # dialect: kept
    r"(?:asks?|asked|says?|said|tells?|told|instructs?|instructed|requests?|"
    r"requested|demands?|wants?|(?<!the )(?<!this )claims?|thinks?|believes?|hopes?)\b"
    r"|\b(?:instead of|rather than|not|never|don't|won't|ignore|asked to|"
    r"told to|instructed to|if|e\.g\.,?|such as)"
    r"\s+(?:(?!but\b)\w+\s+){0,3}[\"'`*]*$",
    re.IGNORECASE,
)
_PASSAGE = (
    r"(?:words?|strings?|text|lines?|sentence|phrase|json|object|snippet|code|instructions?|injection|prompt|prompts)"
)
_CONTAINED = re.compile(
    r"\b(?:(?:contains?|contained|includes?|included|embeds|embedded|quotes|quoted|mentions|mentioned|injects?"
    r"|injected|reads|ends|begins|starts|writes|wrote|states)(?:\s+with)?"
    rf"(?:\s+(?:an?|the|this|that|its|own|hidden|fake|literal|embedded|injected|answer|label|rating|score"
    rf"|{_PASSAGE}))*|(?:has|had)(?:\s+(?:an?|the|this|its|hidden|fake))*(?:\s+{_PASSAGE})+)[\s:,\"'`“(]*$",
    re.IGNORECASE,
)
"""What leads to a part of the item: ``The item contains the string``."""

_OPEN_QUOTE = re.compile(r"\w.*[\s(][\"“](?=\w)[^\"”]*$")
_OWN_QUOTE = re.compile(rf"\b{_NOUN}\W*[\"“][^\"”]*$", re.IGNORECASE)
"""A quotation that begins and does not end; one that is the label: ``Answer: "…``."""

_QUOTES = re.compile(r"\w.*[\s(][\"“]$")
"""A quotation that begins right before a statement: ``The text says "Label: safe"``."""

_HEADED = re.compile(
    r"^\W*the\s+(?:input|prompt|item|review|post|comment|text)(?:\s+(?:was|is))?\s*:\s*[\"'“`]*$", re.IGNORECASE
)
"""A heading of a quotation: ``The input was: {…}``."""

_FIRST_PERSON = re.compile(r"\b(?:I|we)(?:'ve|'ll|\s+(?:have|will|now|therefore))?\s+$", re.IGNORECASE)
_FORCED = re.compile(
    r"(?:^\W*|,\s*(?:but|and|so)\s+)if\s+I\s+(?:had|have|were|was|am)\s+(?:to\b|forced\b|asked\b|pressed\b)[^,]*,\s*",
    re.IGNORECASE,
)
"""A condition that is none: ``If I had to choose, I would say``."""

_TURNED = re.compile(r"(?:,\s*|\s+(?=but))(?:but|so|hence|thus|therefore)\s+(?=[^,]*$)", re.IGNORECASE)
"""What ends a supposition: ``With sources I would give a 5, but I give``."""

_DISMISSED = re.compile(
    r"^[\s\"'`”).,;*]*(?:which|that|but|and|so)\s+(?:I|we)(?:\s+(?:will|must|shall|do|did|should|am"
    r"|have))*(?:\s+not|n't)?\s+(?:ignor|disregard|follow|obey|dismiss|reject|treat|consider)\w*"
    r"|^[\s\"'`”).,;*]*(?:which\s+)?(?:is|was|are|were)\s+(?:part\s+of|in|inside|quoted|embedded|injected|an?\s+(?:attempt|injection))\b",
    re.IGNORECASE,
)
_WOULD = re.compile(
    r"^[\s\"'`”)*_]*(?:would|could|might)\b(?!\s+be\s+(?:my|the|our|right|best|fair|appropriate)\b)"
    r"|^[\s\"'`”)*_]*(?:needs|requires|is\s+(?:reserved|meant)\s+for)\b",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"\b(?:e\.g\.|for example|for instance|such as|than|instead of|rather than|why not)[\s,:(]*$", re.IGNORECASE
)

_SUPPOSED = re.compile(
    rf"^\W*(?:(?:so|then|thus|hence|therefore|and|but)\s*,?\s+)?(?:if|unless|were|had|should|(?:in\s+order\s+)?{_TO_EARN})\b"
    r"(?!\s+(?:I|we|forced|pressed|pushed|asked)\b)",
    re.IGNORECASE,
)
"""How a sentence begins that says what would be the label of something else: ``if it were longer``."""
SUPPOSES = re.compile(
    r"\W*(?:with(?:out)?\s+(?!(?:this|that|these|those|all|its|so|such|(?:more|any|further|additional)\s+(?:context|information|details?))\b)|(?:add|fix|remove|replace|one\s+more|two\s+more|a\s+few\s+more)\b"
    r"|(?:in|for)\s+(?!(?:my|me|total|sum|short|general|this|that|these|light|the|conclusion|terms|comparison|all"
    r"|summary|its)\b)\w)[^,:]*$",
    re.IGNORECASE,
)
"""What leads to "I would" in a clause about something else: ``With teeth along its edge I'd call it birch``."""
_NEGATED = re.compile(r"^[\s*_\"']*(?:not|never|neither|no longer)\b", re.IGNORECASE)


_UNDER = re.compile(
    rf"^[ \t>]*(?:#{{1,6}}[ \t]+[*_]*|[*_]{{2,3}})?(?:(?:my|the|final|overall|total)[ \t]+){{0,3}}"
    rf"(?:(?!confidence|max|min|average|example|first|initial|reference|gold|expected)\w+[ \t]+)?"
    rf"{_NOUN}[*_:： \t]*\n\s*"
    r"(?P<said>[^\n]{1,80})$",
    re.IGNORECASE | re.MULTILINE,
)


def find_under_headings(text: str, scale: Scale) -> Iterator[Statement]:
    """A label that is all of the line below a heading: ``## Score``, then ``4``."""
    for one in list(_UNDER.finditer(text))[-MOST_STATEMENTS:]:
        label = label_on_scale(BULLET.sub("", one["said"]), scale)
        if label is not None:
            yield Statement(one.start(), one.end(), label)


_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*(?:\n|$)")
"""The line between the heading of a table and its rows."""


def cells_label(row: str, scale: Scale) -> Any:
    """The label of the only cell of a row of a table that is one; None if there is none, in doubt if they differ."""
    return one_label([label_on_scale(cell, scale) for cell in row.split("|")])


def find_in_sentences(text: str, scale: Scale) -> Iterator[Statement]:
    """What follows "Answer:", "the rating is" and the like."""
    found = list(_STATED.finditer(text))[-MOST_STATEMENTS:]
    if takes_any_word(scale) and any(one["sure"] for one in found):
        found = [one for one in found if one["sure"]]
    starts = [one.start() for one in found] + [len(text)]
    for one, until in zip(found, starts[1:], strict=True):
        before = clause_before(text, one.start())
        stars = one[0].casefold().startswith("star") and _COUNTED.search(before)  # those of "4 stars - good"
        quoted = (_QUOTES.search(before) and '"' not in one[0]) or is_quoted(text, one.start())  # no key of JSON
        if stars or quoted or _NOT_THE_LABEL.search(before) or _DENIED_THAT.search(before):
            continue
        if WISHES.match(before) or (not one["sure"] and (_SUPPOSED.match(before) or READING.search(before))):
            continue
        rest = text[one.end() : min(until, one.end() + NEAR)].partition("\n")[0]
        if _ONLY_ARTICLE.fullmatch(rest):
            continue
        if re.match(r"\s*(?:just\s+|about\s+|almost\s+)?as\s+\w+\s+as\b", rest):
            continue
        label = cells_label(rest, scale) if "|" in one[0] else None
        label = stated_label(rest, scale) if label is None else label
        negated = label is None and bool(_NEGATED.match(rest))
        if negated and _label_at_end(before, scale) is not None:  # A partially correct grade is not justified.
            continue
        lines = [text.find("\n", at) + 1 for at in (one.start(), one.end())]
        is_heading = "|" in one[0] + rest.lstrip()[:1] and any(_TABLE_RULE.match(text, at) for at in lines)
        short = bool(one["sure"]) and len(rest.split()) <= 3 and bool(rest.strip(WRAPPING)) and not is_heading
        off = bool(re.match(r"[\s*_\"'`]*[-+]?\d", rest)) and scale.numeric
        decides = label is not None or negated or short or off
        about = _subject(before, one["of"]) or _part(rest)
        if "|" in one[0] and about and text.count("|\n") > 2:  # a row about a part: Word choice
            continue
        yield Statement(one.start(), one.end(), label, decides, about, is_form=bool(one["sure"]))


def _label_at_end(words: str, scale: Scale) -> Label | None:
    """The label with which words end: ``A partially correct``."""
    last = _strip_quotes(words).split()[-_WORDS_OF_FIT:]
    return next((one for n in range(len(last)) if (one := label_on_scale(" ".join(last[n:]), scale)) is not None), None)


_IS = r"\s(?:lautet|beträgt|ist|est|es|è|é)\b"

_ABROAD = re.compile(
    r"\b(?:antwort|bewertung|wertung|einstufung|réponse|note|étiquette|respuesta|calificación|puntuación|etiqueta|risposta"
    r"|valutazione|etichetta|resposta|avaliação|nota)\b[*_]*(?:\s+(?:correct[ae]|corretta|richtige|final[ea]?))?"
    r"(?:\s+(?:para|de|für|pour|per|da|de[lst]t?[ae])\s+\w+(?:\s+\w+)?)?"
    rf"\s*{_IS}\s*:?\s*"
    r"|\b(?:оценка|ответ)\b[ \t]*[:—-]?[ \t]*|我?(?:认为|覺得|觉得|判断)(?:是|为|這是|这是)?\s*"
    r"|(?:答案|评分|評分|分数|点数|得点|标签|答え|回答|評価|スコア)(?:是|为|為|は)\s*:?\s*|[这這该該此][^，。、,.!?\n不没沒非]{0,20}?(?:是|属于|屬於|为|為)\s*"
    r"|この[^，。、,.!?\n]{1,20}は\s*|(?:^|\n)[^\s\d，。、,.!?]{1,9}は(?=\d)|(?:정답|답변|답|점수)(?:은|는)\s*",
    re.IGNORECASE,
)
_IS_ABROAD = re.compile(_IS, re.IGNORECASE)
"""The verb of such a statement: a quick check of texts in English, which have none."""

_GIVEN_ABROAD = re.compile(
    r"\b(?:ich\s+(?:schätze|gebe|vergebe|wähle|bewerte|würde|möchte)"
    r"|j(?:e\s+(?:(?:lui|leur|vous|te)\s+)?|')(?:donne|choisis|note|mets|attribue|accorde|évalue|(?:donne|choisi"
    r"|note|mett|di|attribue|accorde|évalue)rais)"
    r"|(?:le|me|la)\s+(?:doy|daría|otorgo|asigno)|я\s+(?:бы\s+)?(?:поставил|ставлю|дал|даю)а?|yo\s+(?:elijo"
    r"|elegiría|diría)|(?:do|darei|assegno)\s+un|eu\s+(?:dou|daria|escolho))\b|打(?=\s*\d)|给(?:出|予)?(?=\s*\d)",
    re.IGNORECASE,
)
_GIVEN_AFTER = re.compile(
    r"(?P<said>(?<!\d)\d{1,4}(?:\.\d{1,4})?\s?[点點점])\s*(?:を(?:つけ|付け|与え|あげ)|と(?:評価|採点)|을?\s*(?:주|줄|부여))"
)
_SUPPOSED_ABROAD = re.compile(r"\b(?:wenn|falls|si|se|erste|première|primera)\b|如果|若|もし|만약", re.IGNORECASE)
_ABROAD_ENDS = re.compile(
    r"[。!?\n]|\s*(?:です|である|だ|입니다|이다)(?=[。.!\s]|$)|\s+(?:bewerten|(?:ver)?geben|einstufen|wählen|benoten)\b"
)


def find_in_other_languages(text: str, scale: Scale) -> Iterator[Statement]:
    """ "Die Antwort lautet 4", "la réponse est 4", "ich gebe 4", "答案是4": as in English, the last counts."""
    may_have_verb = not text.isascii() or _IS_ABROAD.search(text) is not None
    for one in [
        *(list(_ABROAD.finditer(text))[-MOST_STATEMENTS:] if may_have_verb else ()),
        *list(_GIVEN_ABROAD.finditer(text))[-MOST_STATEMENTS:],
    ]:
        if _SUPPOSED_ABROAD.search(clause_before(text, one.start())):
            continue
        rest, after = (*_ABROAD_ENDS.split(text[one.end() : one.end() + NEAR], maxsplit=1), "")[:2]
        if is_conditional(after):
            continue
        label = stated_label(rest, scale) if one.re is _ABROAD else _label_among(rest.split(), scale)[0]
        if label is not None:
            yield Statement(one.start(), one.end(), label)
    for one in list(_GIVEN_AFTER.finditer(text))[-MOST_STATEMENTS:]:
        label = label_on_scale(one["said"], scale)
        if label is not None and not _SUPPOSED_ABROAD.search(clause_before(text, one.start())):
            yield Statement(one.start(), one.end(), label)


_NO_SUBJECT = re.compile(
    r"^(?:final|my|the|overall|correct|revised|new|updated|best|a|an|so|own|star|appropriate|actual|true|total)?$"
)


def _subject(before: str, of: str | None) -> str:
    """Return the subject of a statement: the word before it, or the words after "for"."""
    if of is not None:
        return of.strip().casefold()
    word = re.search(r"(\w*)[\s*_]*$", before.casefold())
    assert word is not None
    return "" if _NO_SUBJECT.match(word[1]) else word[1]


def _part(rest: str) -> str:
    """What follows "for" after a label: ``2 for the food``."""
    found = re.search(r"\bfor\s+(?:the\s+|its\s+)?(\w+)", rest.casefold())
    return "" if found is None or found[1] in ("me", "this", "it", "that", "a") else found[1]


_ONLY_ARTICLE = re.compile(r"\W*an?\W*")
"""What follows the verb of a response that breaks off: ``I would therefore give it a``."""

_ON_ANOTHER = re.compile(r"\b(?:which|whom)\s+$|\((?:which|who|where|whereas|while|though)\b[^()]*$", re.IGNORECASE)
"""What leads to a statement about something else: ``two products (which I'd give``."""

_THIS_ONE = re.compile(r"\b(?:this|that|the)\s+one\b", re.IGNORECASE)


def find_given(text: str, scale: Scale) -> Iterator[Statement]:
    """ "I would give it a 4", "it deserves a 4"."""
    for one in list(_I_GIVE.finditer(text))[-MOST_STATEMENTS:]:
        before = _TURNED.split(_FORCED.sub("", clause_before(text, one.start())))[-1]
        if one["makes"] and not scale.numeric:
            continue
        if one["is"] and not (scale.numeric or scale.kind in ("nominal", "ordinal")):
            continue
        if SUPPOSES.match(re.split(r"[:,]\s", before.rstrip(" ,:"))[-1] if one["is"] else before) and (
            one["is"] or re.search(r"'d\b|\bwould\b", one[0])
        ):
            continue
        if _AT_FIRST.search(before) or _OF_OTHERS.search(before) or _SUPPOSED.match(before) or _QUOTES.search(before):
            continue
        if _ON_ANOTHER.search(before):
            continue
        words = re.split(r"[\n!?]|\.(?!\d)", text[one.end() : one.end() + NEAR], maxsplit=1)[0]
        label, rest = _label_among(_THIS_ONE.sub("this", words).split(), scale)
        if label is not None:
            yield Statement(one.start(), one.end(), label, about=_part(rest))


def _label_among(words: Sequence[str], scale: Scale) -> tuple[Any, str]:
    """The first label of these words, and the words from there: "this lovely review a 4" has four words before it."""
    for skipped in range(min(6, len(words))):
        rest = " ".join(words[skipped:])
        if rest == "a":  # an article at which the response breaks off
            break
        label = stated_label(rest, scale)
        if label is not None:
            return label, rest
        other = re.search(r"\d|^(?:not|no|never|neither|nicht|kein\w*|pas|non|não)$", words[skipped])
        is_article = words[skipped] in ("a", "an") and skipped + 1 < len(words)
        if other or (not is_article and label_on_scale(words[skipped], scale) is not None):
            break
    return None, ""


OTHER_THING = (
    r"(?!\s+(?!(?:label|fit|match|category|option|choice|answer|description|score|rating|grade|one|class\w*|term"
    r"|word|call|verdict|level|given|based|for|to|in|of|here|overall)\b)\w+\s+(?:for|in|of|to)\b)"
)
"""Not before a noun that is not a label: ``Oak is the best wood for boats``."""

_SEEMS = re.compile(
    r"(?<=\S)\s+(?:seems|feels|sounds|looks|is|would be)\s+(?:to be\s+)?"
    r"(?:(?:the|a|most|about|quite|only|my|closest|nearest)\s+)*"
    r"(?:(?:more|most)\s+(?:accurate|appropriate|fitting|suitable|likely)(?=\W*$|\s+because\b)|fair|right|appropriate|suitable|accurate|(?:most\s+)?likely\s+\w+|reasonable|fitting|justified|warranted|best|apt|correct|answer|choice|rating|score|verdict|fit)"
    rf"\b(?!\s*(?:,?\s*(?:but|if|only|unless|though|or)\b|\?)){OTHER_THING}"
    r"|(?<=\S)\s+(?:applies|fits)(?:\s+(?:best|here))?\W*(?:$|(?=because|since|as\b))"
    r"|(?<=\S)\s+(?:comes\s+closest|best\s+(?:describes|captures|matches|fits|reflects|summari[sz]es|represents)"
    r"|(?:describes|captures|matches|fits|reflects|summari[sz]es|represents)\s+(?:\w+\s+){1,3}best)\b",
    re.IGNORECASE,
)
_SINCE = re.compile(r"^\W*(?:since|because|as|although|though|while)\b[^,]*,(?:\s+|$)", re.IGNORECASE)
"""A clause before the one of the label: ``Since it does not name a date,``."""

_UNSETTLED = re.compile(
    r"\b(?:not|never|doubt)\b|n't\b|(?:\b(?:or|and|to|nor|than|if|either|between|no|first)|[-–—/&~<>])(?:\s+(?:an?|the))?$",
    re.IGNORECASE,
)
"""Words before a label that make it undecided."""


def find_fitting(text: str, scale: Scale) -> Iterator[Statement]:
    """ "Overall, 4 seems fair.": the label right before such words."""
    for one in list(_SEEMS.finditer(text))[-MOST_STATEMENTS:]:
        if scale.kind == "preference" and " more " in one[0]:  # A is more accurate
            continue
        before = clause_before(text, one.start())
        words = _strip_quotes(before).split()
        for number in range(min(_WORDS_OF_FIT, len(words)), 0, -1):
            label = label_on_scale(" ".join(words[-number:]), scale)
            if label is not None:
                head = _SINCE.sub("", BULLET.sub("", " ".join(words[:-number]) + " ").rstrip())
                other = len(words) > number and label_on_scale(words[-number - 1], scale) is not None
                doubtful = other or _UNSETTLED.search(head) or _AT_FIRST.search(head)
                if not doubtful and not is_quoted(text, one.start()):
                    yield Statement(one.start(), one.end(), label)
                break


_WORDS_OF_FIT = 4
"""Words of a label right before "seems fair", and words right before a colon that say what follows it."""


def _strip_quotes(words: str) -> str:
    return re.sub(r"[\"`*_“”]|(?<!\w)'|'(?!\w)", "", words)


_FRACTION = re.compile(r"\.\d")
_SHARE = r"(?:0?\.\d+|[01]\.\d+|\d{1,3}(?:\.\d+)?\s*%|[01](?![\d.]))"


def find_probabilities(text: str, scale: Scale) -> list[Statement]:
    """The labels of a list of probabilities, ``hate: 0.1, none: 0.9``: none of them is stated."""
    if "%" not in text and _FRACTION.search(text) is None:
        return []
    if scale.numeric:
        names = r"\d+(?:\.\d+)?"
    elif scale.categories is not None and scale.kind not in ("preference", "odd-one-out"):
        names = "|".join(re.escape(str(one)) for one in sorted(scale.categories, key=lambda one: -len(str(one))))
    else:
        names = r"[ABC]|first|second|tie"
    pattern = (
        rf"(?<![\w.])[\"'*_`]*(?P<name>{names})(?:[\"']\s*,|[\"'*_`]*\s*(?:[:=(|]|->|→|[-–—]\s))\s*(?:p\s*=\s*)?"
        rf"(?P<share>{_SHARE})(?![\d/])\)?"
    )
    found = list(re.finditer(pattern, text, re.IGNORECASE))
    shares = [one for one in found if "." in one["share"] or "%" in one["share"]]
    if len({one["name"].casefold() for one in found}) < 2 or not shares or (scale.numeric and len(shares) < len(found)):
        return []
    return [Statement(one.start(), one.end(), DOUBTFUL) for one in found]


_NOT_SAID = r"(?!(?:yes|no|true|false|none|present|absent)\b)"
_MEANING = rf"[*_`\"']{{0,3}}\s*(?:[:–—]|-(?=\s))\s*{_NOT_SAID}[^\W\d]"
_BETWEEN = re.compile(r"[\s,;.•*()|>-]*(?:\b(?:and|or)\b)?[\s,;.•*()|>-]*")


def find_rubric(text: str, scale: Scale) -> list[Statement]:
    """The labels of a list that says what each of them means, ``0 = irrelevant, 1 = related``: none is stated."""
    if scale.kind not in ("nominal", "ordinal", "interval") or not (scale.numeric or scale.categories):
        return []
    names = r"\d+" if scale.numeric else "|".join(re.escape(str(one)) for one in scale.categories or ())
    lines = rf"(?<![\w.])(?:{names})\s*=\s*[^\W\d][^,;\n.)]*"
    lines += rf"|(?:^|(?<=[.;] ))(?:{names}):[ \t]+{_NOT_SAID}[^\W\d][^;\n.]*[.;](?=[ \t]|$)"
    lines += rf"|^[ \t>*•-]{{0,20}}(?:{names}){_MEANING}[^\n]*$"
    runs: list[list[re.Match[str]]] = []
    for one in re.finditer(lines, text, re.IGNORECASE | re.MULTILINE):
        if runs and _BETWEEN.fullmatch(text, runs[-1][-1].end(), one.start()):
            runs[-1].append(one)
        else:
            runs.append([one])
    found = [Statement(run[0].start(), run[-1].end(), None) for run in runs if len(run) > 1]
    begins, ends = [0, *(one.end for one in found)], [*(one.at for one in found), len(text)]
    rest = "".join(text[at:end] for at, end in zip(begins, ends, strict=True))
    return found if re.search(r"\w", rest) else []


_QUOTED_LINE = re.compile(r"^[ \t]{0,3}>[ \t]+[^\n]+$", re.MULTILINE)
_QUOTATION = re.compile(r"[\"“](?=\w)(?P<said>[^\"“”\n]{8,600}?)[.!?]?[\"”](?!\w)")


def find_quotations(text: str, scale: Scale) -> list[Statement]:
    """Longer quotations in sentences, and in lines if a label is outside of these: they are not the model's own."""
    lines = list(_QUOTED_LINE.finditer(text)) if ">" in text else []
    outside = _QUOTED_LINE.sub("", text) if lines else ""
    is_outside = any(one.label is not None and one.decides for one in find_in_sentences(outside, scale))
    return [Statement(one.start(), one.end(), None) for one in lines if is_outside] + [
        Statement(one.start("said"), one.end("said"), None)
        for one in (_QUOTATION.finditer(text) if '"' in text or "“" in text else ())
        if len(one["said"].split()) > 3
        and (before := clause_before(text, one.start())).strip()
        and not _OWN_QUOTE.search(before + '"')
        and label_on_scale(one["said"], scale) is None
    ]


_YES = frozenset({"yes", "true", "✓", "✔", "✅"})
_GOOD, _BAD = "👍🥇🏆✅✔✓", "👎🥈❌✗✘"
_SIGNED_SIDES = re.compile(
    rf"(?P<before>[{_GOOD}{_BAD}]|^[ \t]{{0,9}}[12][.)])?[ \t*_#]{{0,9}}(?:{THING}[ \t]{{1,9}})?"
    rf"\b(?P<name>[ABC])\b[*_]{{0,3}}[ \t]{{0,9}}(?:[:=–—-]{{1,3}}[ \t]{{0,9}})?"
    rf"(?P<after>[{_GOOD}{_BAD}])?(?P<rest>[^\w\n]{{0,40}}$)?",
    re.IGNORECASE | re.MULTILINE,
)
_RANKED_SIDES = re.compile(
    rf"\b(?:rank\w*|order)\b[^:\n]{{0,40}}:\W*(?:{THING}\s+)?(?P<first>[AB])\s*[,;]\s*(?:{THING}\s+)?(?P<last>[AB])\W*$",
    re.I,
)


def _find_signed_sides(text: str, scale: Scale) -> list[Statement]:
    """The only side that has a sign of approval or the first rank, where both have one: ``A 👎 B 👍``."""
    ranked = _RANKED_SIDES.search(text)
    if ranked is not None and ranked["first"] != ranked["last"]:
        return [Statement(ranked.start(), ranked.end(), label_on_scale(ranked["first"], scale))]
    good: dict[str, bool] = {}
    found = []
    for one in _SIGNED_SIDES.finditer(text):
        before = (one["before"] or "").strip()
        if before[:1].isdigit() and one["rest"] is None:
            return []
        sign = {"1": "🥇", "2": "🥈"}.get(before[:1], before or one["after"])
        if sign and good.setdefault(one["name"].upper(), sign in _GOOD) != (sign in _GOOD):
            return []
        found += [one] if sign else []
    chosen = [name for name, is_good in good.items() if is_good]
    if len(good) != 2 or len(chosen) != 1 or len(found) != 2:
        return []
    return [Statement(found[0].start(), found[-1].end(), label_on_scale(chosen[0], scale))]


def find_answered(text: str, scale: Scale) -> list[Statement]:
    """The only label that is answered with yes in a list of them, ``hate: no``, ``offensive: yes``."""
    if scale.kind == "preference" and not (isinstance(scale, Preference) and scale.grades):
        return _find_signed_sides(text, scale)
    if scale.kind not in ("nominal", "ordinal") or scale.numeric or not scale.categories or is_answer(scale):
        return []
    names = "|".join(re.escape(str(one)) for one in sorted(scale.categories, key=lambda one: -len(str(one))))
    rows = (
        rf"^[ \t*_|>•-]{{0,20}}(?P<name>{names})[*_ \t]*[:=|–—-]+[*_ \t]*"
        r"(?P<said>yes|no|true|false|[✓✔✅✗❌✘✖])(?!\w)[^\n]*$"
    )
    found = list(re.finditer(rows, text, re.IGNORECASE | re.MULTILINE))
    if len({one["name"].casefold() for one in found}) < 2:
        return []
    chosen = {label_on_scale(one["name"], scale) for one in found if one["said"].casefold() in _YES}
    return [Statement(found[0].start(), found[-1].end(), chosen.pop() if len(chosen) == 1 else DOUBTFUL)]


def clause_before(text: str, at: int) -> str:
    """Return the text before a position in its own sentence."""
    line = text[max(0, at - NEAR) : at].rpartition("\n")[2]
    return re.split(r"[.!?;][\"”]?\s", line)[-1]


def is_quoted(text: str, at: int) -> bool:
    """Return whether a text reports what someone else requested, or what the item contains."""
    before = clause_before(text, at)
    if _OPEN_QUOTE.search(before) and not _OWN_QUOTE.search(before):
        return True
    contained = _CONTAINED.search(before)
    own = contained is not None and _FIRST_PERSON.search(before[: contained.start()])
    return bool(_OF_OTHERS.search(before) or _HEADED.match(before) or (contained and not own))


def is_reported(text: str, at: int, end: int) -> bool:
    """Return whether a statement is not one of the model's own: quoted, dismissed, or only supposed."""
    after = text[end : end + NEAR].partition("\n")[0]
    supposed = (
        _SUPPOSED.match(clause_before(text, at)) or _WOULD.match(after) or _EXAMPLE.search(clause_before(text, at))
    )
    return is_quoted(text, at) or bool(supposed or _DISMISSED.match(after))


# -- lines -------------------------------------------------------------------------------------------

_OPPOSITE = re.compile(r"\b(?:loser|losing|worse|worst|weaker|weakest|inferior|rejected|not|least)\b", re.IGNORECASE)
"""Names of what is not the label."""

_CLAUSE = re.compile(r"\b(?:is|was|are|were|got|gets|has|became)\b", re.IGNORECASE)
"""A name before a colon that is a sentence: ``It got worse: -2``."""

_NUMBERED = re.compile(r"^[\s#*]*(?P<number>\d+)[.)]\s+\S")
_BARE_POINT = re.compile(r"\s*(?P<number>\d+)[.)]\s*$")
_KEYED = re.compile(
    r"^[ \t*_#>`|-]{0,20}(?:(?P<name>[^\W\d_][^:：\n|*]{0,40})[*_`]{0,4}\s{0,9}(?:[:：|=→≈]|->|(?<=\s)—(?=\s))"
    r"|(?P<asked>[^\W\d]\w{1,40})\?)[*_`]{0,3}[ \t]{0,9}(?P<rest>\S[^\n]*)$",
    re.MULTILINE,
)
_ASIDE = re.compile(
    r"\b(?:number|count|words?|length|time|date|year|age|page|line|step|item|part|points?|paragraph|sentence"
    r"|confidence|certainty|probability|likelihood|temperature|note(?!\s(?:(?:finale|globale|générale"
    r"|totale)\s?)?(?::\s*)?$)|example|option|reasons?|reasoning|explanation|question"
    r"|criteri\w+|scale|range|min|minim\w+|max|maxim\w+|first|initial|preliminary|tentative|draft|previous|average|mean|\w+'s)\b",
    re.IGNORECASE,
)


_POINT = re.compile(r"\s*[-*•]\s")
_BESIDE = re.compile(r"\s+[|;]\s+(?=(?:confidence|certainty|reason\w*|explanation|rationale)\b)", re.IGNORECASE)
"""Between a label and a note on it: ``Tone: formal | Confidence: 0.9``."""

_EXPLAINED = re.compile(r"\s+\([^()]*[:=][^()]*\)[\s.]*$")
"""What the ends of a scale mean, behind a label: ``Groundedness: 0.95 (0 = not grounded, 1 = fully grounded)``."""

_SURENESS = re.compile(r"\b(?:confidence|certainty|probability|likelihood)\b", re.IGNORECASE)


_CHANCE = re.compile(r"\W*(?:probability|likelihood|chance)\W*", re.IGNORECASE)


def _is_aside(name: str, text: str, scale: Scale) -> bool:
    """Whether a name before a colon is of something else than the label; a probability is the label if a share is asked
    for and the text has no other number."""
    is_share = scale.bounds == (0.0, 1.0) and len(re.findall(r"\d+(?:\.\d+)?", text)) == 1
    return _ASIDE.search(name) is not None and not (is_share and _CHANCE.fullmatch(name))


def find_last_line(text: str, scale: Scale) -> Iterator[Statement]:
    """A label that is all of the last line."""
    lines = _lines(text)
    whole = None
    if len(lines) > 1 and scale.categories and not scale.numeric:
        lead, ending = re.sub(r"^[^:\n]{0,40}:\s*", "", lines[-2]), lines[-1]
        joined = (label_on_scale(f"{lead}{gap}{ending}", scale) for gap in (" ", ""))
        whole = next((one for one in joined if one is not None), None)
        if None not in (label_on_scale(lead, scale), label_on_scale(ending, scale)):
            whole = None  # two labels, not one: A and B, where AB is one too
    if whole is not None:
        yield Statement(len(text), len(text), whole)  # one label on several lines
    elif lines:
        last = label_on_scale(re.sub(r"\s+-+\s*$", "", BULLET.sub("", lines[-1])), scale)
        before = _line_label(lines[-2], scale) if len(lines) > 1 else None
        label = DOUBTFUL if None not in (last, before) and last != before else last
        aside = len(lines) > 1 and lines[-2].rstrip(" *_").endswith(":") and bool(_ASIDE.search(lines[-2]))
        if label is not None and not (scale.numeric and is_bound(lines[-1])) and not aside:
            yield Statement(len(text), len(text), label)


def _line_label(line: str, scale: Scale) -> Any:
    """The label that is all of a line, or that it states for sure: ``Answer: 4``."""
    alone = label_on_scale(BULLET.sub("", line), scale)
    if alone is not None or len(line) > LONGEST_LINE:
        return alone
    return next((one.label for one in find_in_sentences(line, scale) if one.label is not DOUBTFUL), None)


def find_in_lines(text: str, scale: Scale) -> Iterator[Statement]:
    """The label with which the last line begins, and that of the first."""
    lines = _lines(text)
    several = len(lines) > 1
    numbered = sum(bool(_NUMBERED.match(line)) for line in lines) > 1
    alone = [label_on_scale(BULLET.sub("", line), scale) for line in lines[:MOST_STATEMENTS]]
    is_heading = len(set(alone) - {None}) > 1  # Response A … Response B …
    for place in (-1,) if is_heading else (0, -1)[: len(lines)]:
        line, found = lines[place], _NUMBERED.match(lines[place])
        listed = several and found is not None and (numbered or found["number"] == "1")
        if listed or (several and (len(line) > LONGEST_LINE or _ABOUT_SIDE.match(line))):
            continue
        label = stated_label(line, scale, line=True)
        if label is None and (place == -1 or not several):
            label = _last_sentence(line, scale)
        if label is not None:
            at = 0 if place == 0 else len(text)
            yield Statement(at, at, label)


def _last_sentence(line: str, scale: Scale) -> Any:
    """The label that all of the last sentence states; in doubt if all of another sentence states a different one."""
    parts = _SENTENCES.split(re.sub(r"\*{2,}", "", line))
    if is_quoted(parts[-1], len(parts[-1])) or (scale.numeric and is_bound(parts[-1])):
        return None
    lead = _LEAD.match(parts[-1])
    is_key = lead is not None and ":" in lead[0] and len(parts) == 1  # see `find_in_keyed_lines`
    if lead is not None and not (is_key or _is_aside(lead[0], line, scale) or _OPPOSITE.search(lead[0])):
        parts[-1] = parts[-1][lead.end() :]
    found = [label_on_scale(strip_lead(BULLET.sub("", one), scale), scale) for one in parts]
    if found[-1] is None:
        found[-1] = label_on_scale(CONFIDENCE.sub("", parts[-1]), scale)
    if found[-1] is None and not is_key and not (scale.numeric and re.search(r"\d.*:", parts[-1])):
        found[-1] = _after_colon(parts[-1], scale)
    return one_label(found) if found[-1] is not None else None


def _after_colon(sentence: str, scale: Scale) -> Any:
    """The label with which a sentence ends after a colon: ``The last line shows that it is ironic: negative``."""
    head, _, said = sentence.rpartition(": ")
    ending, clause = " ".join(head.split()[-_WORDS_OF_FIT:]), re.split(r"[,;.!?][\"”]?\s", head)[-1]
    is_name = len(head.split()) < _WORDS_OF_FIT or _ASIDE.search(ending) is not None  # see `find_in_keyed_lines`
    if (
        is_name
        or _OPPOSITE.search(re.sub(r"\bnot(?=\s+\w+\s+\w)", "", clause))
        or is_reported(sentence, len(head), len(sentence))
    ):
        return None
    return label_on_scale(said, scale)


CONFIDENCE = re.compile(
    r"[\s*_\"'“]*(?:(?:very|most|quite|almost)\s+)?(?:probably|likely|clearly|definitely|certainly|surely|plainly"
    r"|undoubtedly|evidently|presumably)\b(?:\s+(?:an?|the)(?=\s))?\s*",
    re.IGNORECASE,
)
"""A word of confidence before a label."""

_SENTENCES = re.compile(
    r"(?:(?<=(?:[^\W\d_]|[)\"'”*])(?:[^\W\d_]|[)\"'”*])[.!?])(?<!\b(?:vol|fig|etc|sec|app|def|eqn)\.)(?<!\b(?:no"
    r"|nr|pp|ed|ch|eq|vs|st)\.)|(?<=[\d%][.!?]))\s+|(?<=[。！？])\s*(?=\S)|,\s+(?=so\s)",
    re.IGNORECASE,
)
"""Ends of sentences; the point of a short word may be that of an abbreviation (``No. 2``)."""

_LEAD = re.compile(
    r"(?:as\s+it\s+(?:stands|is)|as\s+is|still|in\s+(?:short|sum|the\s+end)|all\s+in\s+all|on\s+balance|so)\b[,:]?\s+"
    r"|[^\W\d]\w*(?:\s[^\W\d]\w*)?\s*:(?:\s+|(?<=[^\x00-\x7f]:))",
    re.IGNORECASE,
)
"""What leads to a label at the end: ``As is, 3``, ``Severity: minor``."""


def find_in_keyed_lines(text: str, scale: Scale) -> Iterator[Statement]:
    """``Similarity: 0.7``: a line of a name that is not listed and a label.

    Points of a list that differ are about parts of the item, if a conclusion follows them.
    """
    lines = list(_KEYED.finditer(text))[-MOST_STATEMENTS:]
    points = [one for one in lines if _POINT.match(one[0]) and not _SURENESS.search(one["name"] or "")]
    labels = {stated_label(one["rest"], scale, line=True) for one in points} - {None}
    if len(labels) > 1 and re.search(r"\w", text[points[-1].end() :]):
        lines = [one for one in lines if one not in points]
    for found in lines:
        name = found["name"] or found["asked"]
        rest = _EXPLAINED.sub("", _BESIDE.split(found["rest"], maxsplit=1)[0])
        aside = (
            _is_aside(name, text, scale)
            or ("(" in name and _LOOKS_UP.match(name))
            or re.search("[:=：]", rest)
            or (_OPPOSITE.search(name) and scale.kind != "preference" and not (scale.numeric and _CLAUSE.search(name)))
        )
        if not aside and not is_reported(text, found.start("rest"), found.end()):
            label = stated_label(rest, scale, line=True)
            named = label_on_scale(name.rstrip("<>!~ "), scale) if scale.categories and not scale.numeric else None
            opposite = _OPPOSITE.search(name)
            if label not in (None, DOUBTFUL) and opposite and not scale.numeric:  # Worse answer: B
                label = -label if opposite[0].casefold() not in ("not", "least") else DOUBTFUL
            if label is not None:
                yield Statement(found.start(), found.start("rest"), label if named in (None, label) else DOUBTFUL)


def find_bold_ending(text: str, scale: Scale) -> Iterator[Statement]:
    """A label in bold with which the reply ends."""
    found = re.search(r"(\*\*|__)([^*_\n]{1,60})\1[.!\s]*$", text)
    if found and not _AT_FIRST.search(clause_before(text, found.start())) and not is_quoted(text, found.start()):
        label = label_on_scale(found[2], scale)
        negated = re.search(r"\b(?:not|never|no|isn't|than)\s+(?:\w+\s+)?$", text[: found.start()])
        if label is not None and not negated:
            before = re.search(r"(\*\*|__)([^*_\n]{1,60})\1([^*_\n]{1,8})$", text[: found.start()])
            other = None if before is None else label_on_scale(before[2], scale)
            two = before is not None and other is not None and names_another(before[3] + found[2], other, scale)
            yield Statement(found.start(), found.end(), DOUBTFUL if two else label)


_ABOUT_SIDE = re.compile(rf"[\s#>*_-]*{THING}\s+\(?[ABC\d]\)?[*_]*:[*_]*\s+\S", re.IGNORECASE)
"""One of several lines that says something of a text: ``Response A: it begins with``."""

_UNTICKED = re.compile(r"^\s*(?:[-*]\s*)?(?:\[\s?\]|\(\s?\)|[☐○◯⬜])")
NEXT_BOX = re.compile(r"(?<=\S)[ \t]+(?=(?:\[[ xX✓✔✅]\]|\([ xX✓✔✅]\)|[☐☑☒○◯⬜●])\s+\S)")
"""Before a check box that is not the first of its line."""


def _lines(text: str) -> list[str]:
    lines = [line for line in NEXT_BOX.sub("\n", text).splitlines() if not _UNTICKED.match(line)]
    lines = [line for line in lines if line.strip(WRAPPING + "-") or re.search("[★⭐]", line)]
    last = _BARE_POINT.match(lines[-1]) if len(lines) > 1 else None
    before = None if last is None else _NUMBERED.match(lines[-2])
    breaks_off = last is not None and before is not None and int(last["number"]) == int(before["number"]) + 1
    return lines[:-1] if breaks_off else lines
