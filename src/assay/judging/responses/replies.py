"""Parse the response of a model: a label, or the reason for a missing label.

A label is parsed if the response states it: as JSON, between markers, after "Answer:", alone on a line; `FINDERS` lists
these forms, and a new form is a new row. The last statement counts. A label that is merely mentioned is not an answer,
unfinished reasoning contains none, and a doubtful label is not guessed. Free text is its own label, unchanged.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from assay.data.scales import LONGEST_SPAN_TEXT, Label, Listed, Nominal, Scale, SpanLabels
from assay.judging.criteria import (
    LABEL_KEYS,
    NAMING_KEYS,
    REASON_KEYS,
    Criterion,
    folded,
    is_answer,
    is_sentence,
    values_of_criterion,
)
from assay.judging.places import CRITERION_LINE, CriterionPlaces, find_criterion_lines
from assay.judging.responses.label_words import (
    BULLET,
    DOUBTFUL,
    ITEM,
    LONGEST_LINE,
    NEAR,
    THING,
    TURNING,
    WORD,
    WRAPPING,
    is_bare,
    label_on_scale,
    named_labels,
    plain,
    spoken,
    takes_any_word,
    unwrap,
)
from assay.judging.responses.prose import (
    denies,
    find_below_heading,
    find_conclusion,
    find_confident_opening,
    find_only_label,
    find_only_number,
    find_only_side,
    mentions_of,
    sentences_of,
)
from assay.judging.responses.statements import (
    DECODER,
    MOST_BRACES,
    NEXT_BOX,
    OF_OTHERS,
    Statement,
    arguments_of,
    find_answered,
    find_bold_ending,
    find_fitting,
    find_given,
    find_in_json,
    find_in_keyed_lines,
    find_in_lines,
    find_in_marks,
    find_in_other_languages,
    find_in_sentences,
    find_last_line,
    find_probabilities,
    find_quotations,
    find_rubric,
    find_under_headings,
    is_json,
    objects,
    tables_of,
)
from assay.study.schema import kind_of

# -- parsing a response ----------------------------------------------------------------------------------

OFF_SCALE = "the label is not on the scale"
NO_LABEL = "no label in the reply"
NOT_QUOTED = "a quote is not in the text, or not that often"
AMBIGUOUS = "the reply states different labels"
OTHER_CRITERIA = "the reply labels other criteria and not this one"
REFUSED = "the model refused"
EMPTY = "the reply is empty"
TRUNCATED = "the reply is cut off"
UNFINISHED = "the reply is all thinking, without an answer"
FILTERED = "a content filter of the service withheld the reply"
BROKEN = "the service interrupted the reply"
CUT_THINKING = "max_tokens was used up before the reply began"

_UNANSWERED = {"refusal": REFUSED, "filtered": FILTERED, "broken": BROKEN}

_REFUSALS = re.compile(
    r"\b(?:I(?:'m| am) (?:sorry|unable|not able)|I (?:can(?:no|')t|cannot|won't|will not|must decline)"
    r"|as an AI|unable to (?:assist|help|comply|provide)|can(?:no|')t (?:assist|help|comply))",
    re.IGNORECASE,
)
_TAGS = r"(?:\w{0,20}(?:think|thought|reasoning|scratchpad|monologue|deliberation)\w{0,10}|reflection|analysis)"
_OPENS = re.compile(
    rf"<(?:seed:)?{_TAGS}>|<\|(?:start_)?(?:thinking|thought|reasoning)\|>|\[THINK\]|◁think▷"
    rf"|<\|begin_of_thought\|>|^\s*analysis(?=(?-i:[A-Z]))|<\|channel\|>\s*analysis\s*<\|message\|>",
    re.IGNORECASE,
)
_CLOSES = re.compile(
    rf"</(?:seed:)?{_TAGS}>|<\|(?:end_|/)(?:thinking|thought|reasoning)\|>|\[/THINK\]|◁/think▷"
    rf"|<\|end_of_thought\|>|assistantfinal(?=\W|\d|(?-i:[A-Z]))|<\|channel\|>\s*final\s*<\|message\|>",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Reply:
    """The result of parsing a response: a label, or the reason for a missing label."""

    label: Label | None
    reason: str | None = None
    reasoning: str | None = None


def read_reply(
    text: str | None,
    scale: Scale,
    *,
    finish: str = "stop",
    closed: Collection[Label] = (),
    source: str = "",
    criterion: str = "",
    others: Collection[str] = (),
    says: Mapping[Label, str] | None = None,
) -> Reply:
    """What label does this reply give on this scale?

    Parameters
    ----------
    text : str or None
        The reply as it came.
    scale : Scale
        The allowed labels.
    finish : {"stop", "length", "refusal", "filtered", "broken"}
        How the endpoint says that the reply ended.
    closed : list of labels
        Labels of the scale that cannot be given, such as a tie if one option must be chosen.
    source : str
        The text of which a reply quotes spans.
    criterion : str
        The question's own criterion: its key is read before all others, in any case, with or without spaces,
        underscores and hyphens.
    others : list of str
        The other criteria of the study. JSON with their keys and without the own one, or with ``overall`` alone, is
        no label.
    says : dict, optional
        The word that the model is asked to write for each label: these are read first, then the usual words.

    Returns
    -------
    Reply
        With a label that is on the scale, or with None and the reason; never a default label.
    """
    if says:
        own = read_reply(
            text, Nominal(list(says.values())), finish=finish, source=source, criterion=criterion, others=others
        )
        label = next((one for one, word in says.items() if word == own.label), None)
        if own.label is not None or own.reason == AMBIGUOUS:
            reason = OFF_SCALE if label in closed else own.reason
            return replace(own, label=None if label in closed else label, reason=reason)
        text = _usual_sides(text or "", says) if scale.kind == "preference" else text
    text = text or ""
    if finish in _UNANSWERED:
        return Reply(None, _UNANSWERED[finish])
    if not text.strip():
        return Reply(None, CUT_THINKING if finish == "length" else EMPTY)
    if kind_of(scale).free_text:
        return _read_text(text, finish)
    answer, reasoning = split_thinking(_STRUCK.sub("", _before_stop(plain(_ends(text)))))
    if answer is None:
        return Reply(None, TRUNCATED if finish == "length" else UNFINISHED, reasoning)
    asked = _criterion(criterion, tuple(others), tuple(map(str, scale.categories or ())))
    answer = _without_bounds(_columns(_laid_out(answer, scale), asked), scale)
    if isinstance(scale, SpanLabels):
        spans, why = _spans(answer, scale, source, asked)
        why = TRUNCATED if why and finish == "length" else why
        return Reply(spans, why, reasoning if why else reasoning or _reasons(answer))
    if isinstance(scale, Listed):
        listed, why = _list_of_turn(answer, scale, asked)
        if listed is None:
            return Reply(None, TRUNCATED if finish == "length" else why, reasoning)
        return Reply(listed, None, reasoning or _reasons(answer))
    if answer.strip() == "0." and scale.kind == "interval" and scale.bounds == (0.0, 1.0):
        return Reply(None, TRUNCATED, reasoning)
    answer = _CROSSED.sub(lambda one: one["before"] or one["after"], answer)
    settled = _settle(_without_own_name(answer, scale, asked), scale, asked, cut_off=finish == "length")
    if settled is not None:
        label = settled.label
        if label is OF_OTHERS:
            return Reply(None, TRUNCATED if finish == "length" else OTHER_CRITERIA, reasoning)
        if label is None or label is DOUBTFUL:
            why = REFUSED if _REFUSALS.search(answer) else AMBIGUOUS
            return Reply(None, OFF_SCALE if label is None else why, reasoning)
        if label in closed:
            return Reply(None, OFF_SCALE, reasoning)
        return Reply(label, None, reasoning or _reasons(answer))
    if finish == "length":
        return Reply(None, TRUNCATED, reasoning)
    answered = _of_property(answer, scale, asked)
    if answered is not None:
        is_closed = answered in closed
        return Reply(None, OFF_SCALE, reasoning) if is_closed else Reply(answered, None, reasoning or _reasons(answer))
    if _REFUSALS.search(answer):
        return Reply(None, REFUSED)
    return Reply(None, OFF_SCALE if is_bare(answer, scale) else NO_LABEL, reasoning)


_criterion = lru_cache(maxsize=1_000)(Criterion)
"""Made once for a question: its patterns take a tenth of a millisecond."""


def _of_property(text: str, scale: Scale, criterion: Criterion) -> Label | None:
    """Yes or no, if a response says in words that the item has the property that the criterion names: ``Not toxic.``"""
    name = criterion.name
    answers = {str(one).casefold(): one for one in scale.categories or ()}
    is_property = name.isalpha() and not (criterion.is_one_of_several or criterion.is_generic)
    is_key = re.search(rf"\b{name}[\"'*_]{{0,3}}\s?[:=]", text, re.IGNORECASE) is not None
    if set(answers) != {"yes", "no"} or "{" in text or not is_property or is_key:
        return None
    said = {f"not {name}": answers["no"], name: answers["yes"]}
    found = _settle(re.sub(rf"\bnon-?(?={name}\b)", "not ", text), Nominal(list(said)), Criterion(), cut_off=False)
    return None if found is None else said.get(found.label)


def _without_own_name(text: str, scale: Scale, criterion: Criterion) -> str:
    """A text with ``label`` instead of the only criterion's name before "is", ``so the helpfulness is 3``, and without
    that name after a label: ``Medium priority seems right``."""
    if scale.numeric and folded(criterion.name) in _CHANCES:
        text = _CHANCE.sub(r"label is \1", text)
    if criterion.is_one_of_several or not criterion.may_be_named(text):
        return text
    name = r"[\s_-]+".join(map(re.escape, re.split(r"[\s_-]+", criterion.name)))
    if scale.categories and not scale.numeric:
        labels = "|".join(re.escape(str(one)) for one in sorted(scale.categories, key=lambda one: -len(str(one))))
        text = re.sub(rf"\b({labels})\s+{name}\b", r"\1", text, flags=re.IGNORECASE)
    text = re.sub(rf"(>\s*){name}\s*[:=]\s*", r"\1", text, flags=re.IGNORECASE)  # <answer>Tone: formal</answer>
    is_ = rf"(?:\s+(?:{_IS})\s+|\s*(?:=|[是为為は은는])\s*)"
    of = r"(?:\s+(?:of|in|for|between|behind|des|der|von|du|de|del|della|do|da|dell')\b[^.;:,\n]{0,60}?)?"
    if scale.numeric:
        text = re.sub(
            rf"({_NAME_LEAD}){name}(?:[ \t]+(?:level|score|rating|value|estimate)(?:[ \t]*:)?)?(?:[ \t]+(?:of"
            rf"|at)\b)?[ \t]+(?=(?:{_SOME}\s+)?(?:[-+]?\.?\d|{WORD.pattern}))",
            r"\1 label is ",
            text,
            flags=re.IGNORECASE | re.MULTILINE,
        )
        of = rf"(?:\s+[^\d.;:,\n]{{1,60}})?(?={is_}(?:{_SOME}\s+)?[-+]?\.?\d)"
    return re.sub(rf"({_NAME_LEAD}){name}[*_]*{of}{is_}", r"\1 label is ", text, flags=re.IGNORECASE | re.MULTILINE)


_SOME = "(?:about|around|roughly|approximately)"
_CHANCES = frozenset({"probability", "likelihood", "chance"})
_CHANCE = re.compile(
    r"\b(?:an?\s+)?(\d{1,3}(?:\.\d+)?\s?(?:%|percent)|0?\.\d+)\s+(?:chance|probability|likelihood)\b(?!\s+(?:of"
    r"|that)\s+(?:it|this)\s+is\s+not)",
    re.IGNORECASE,
)
"""A probability before its noun, if that is what the question asks for."""

_IS = "is|would be|should be|must be|ist|beträgt|lautet|est|es|è|é".replace(" ", r"\s+")
_NAME_LEAD = (
    r"(?:^[ \t*_#>-]{0,9}|[.;!?,:]\s|[\u3040-\u9fff\uac00-\ud7a3]\s?"
    r"|\b(?:the|its|overall|my|final|so|main|primary|dominant|general|der|die|das|le|la|el|il|lo|o|a)\s+|\bl')"
)
"""What is before the name of a question's criterion that a sentence is about."""


_NEGATIVE = r"\b(?:no|not|false|fail\w{0,5}|wrong|refut\w{1,5}|reject\w{0,5}|(?:in|un|non)[\w-]{1,20})\b[*_.]{0,4}"
_CROSSED = re.compile(
    rf"[❌✗✘✖][ \t]{{0,3}}(?P<after>[*_]{{0,3}}{_NEGATIVE})|(?P<before>{_NEGATIVE})[ \t]{{0,3}}[❌✗✘✖]", re.IGNORECASE
)
"""A cross next to a label that is a denial itself: ``❌ Incorrect``, ``FAIL ❌``."""


def _without_bounds(text: str, scale: Scale) -> str:
    """A text without the ends of the scale at the beginning of a line, ``(1-5): 3``, ``On the 0-10 scale: 8``, and
    without their mention after a number: ``a 5 on the 7-point scale``."""
    if not scale.numeric or scale.bounds is None:
        return text
    low, high = (re.escape(f"{one:g}") for one in scale.bounds)
    lead = r"(?:(?:on|using|with)\s+(?:an?|the)\s+)?(?:scale\s+(?:of|from)\s+)?"
    text = re.sub(
        rf"(?<=\d)\s+on\s+(?:an?|the|our|this)\s+(?:scale\s+(?:of|from)\s+{low}\s*(?:-|to)\s*{high}\b"
        rf"|(?:{low}\s*(?:-|to)\s*)?{high}(?:[- ]point)?\s+(?:\w+\s+)?scale\b)",
        "",
        text,
        flags=re.IGNORECASE,
    )
    return re.sub(
        rf"^[ \t*_#(]{{0,9}}{lead}\(?{low}\s*(?:-|to)\s*{high}\)?(?:\s+scale)?[*_]*\s*[:=]\s*(?=\S)",
        "",
        text,
        flags=re.IGNORECASE | re.MULTILINE,
    )


def _usual_sides(text: str, says: Mapping[Label, str]) -> str:
    """A text with "Response A" and "Response B" instead of the question's words for them, in their case."""
    for label, side in ((-1, "A"), (1, "B")):
        if label in says:
            word = re.escape(says[label])
            pattern = rf"(?<![\w'])(?:(?i:{THING})\s+)?\(?{word}\)?(?![\w'])"
            text = re.sub(pattern, f"Response {side}", text)
    return text


def _own_list(found: Sequence[dict[Any, Any]], criterion: Criterion, usual: Collection[str]) -> tuple[Any, bool]:
    """Return the value of the last object with the criterion's own key; and whether objects name other criteria only.

    Objects with a key of ``usual`` name none.
    """
    values = [values_of_criterion(one, criterion) for one in found]
    own = [value for one in values for value in one.own]
    is_usual = any(str(k).strip().casefold() in usual for one in found for k in one)
    return (own[-1] if own else None), any(one.names_others for one in values) and not own and not is_usual


def _list_of_turn(answer: str, scale: Listed, criterion: Criterion) -> tuple[Label | None, str]:
    """The names of the list before the model makes up another turn or item, or why there are none."""
    whole = _list(answer, scale, criterion)
    for turn in [] if "\n" not in answer or is_json(answer) else list(_NEXT.finditer(answer))[:MOST_TURNS]:
        before = _list(answer[: turn.start()], scale, criterion)
        if before[0] is not None and whole[0] is not None:
            is_doubtful = _is_weak(turn, answer) and before != whole
            return (None, AMBIGUOUS) if is_doubtful else before
    return whole


def _list(answer: str, scale: Listed, criterion: Criterion) -> tuple[Label | None, str]:
    """The names of the last list that a reply gives, or why there are none."""
    found: list[Any] = [one for _, _, value in objects(answer) if isinstance(one := arguments_of(value), dict)]
    found += [one for _, _, one in tables_of(answer) if all(len(_names_of(key, scale)) == 1 for key in one)]
    named = {str(k).strip().casefold().rstrip("s"): v for one in found for k, v in one.items()}
    given, of_others = _own_list(found, criterion, ("label", "labels"))
    if of_others:
        return None, OTHER_CRITERIA
    if given is None:
        given = next((named[key] for key in LABEL_KEYS if key in named), None)
    if given is None and not found and criterion.is_one_of_several:
        own = _own_lines(answer, scale, criterion)
        if not re.search(r"\w", own) and re.search(r"\w", answer):
            return None, OTHER_CRITERIA
        answer = own
    if find_probabilities(answer, Nominal(scale.names)):
        return None, AMBIGUOUS
    given = _only_list(found, scale) if given is None and found else given
    return _listed(answer, scale, given, is_json=bool(found)), OFF_SCALE


def _only_list(found: Sequence[dict[Any, Any]], scale: Listed) -> list[Any] | None:
    """The only list of the last object, ``{"emotions": []}``, or the names that it answers with true,
    ``{"food": true, "price": false}``; None if it has neither."""
    last = {key: value for key, value in found[-1].items() if key.casefold() not in REASON_KEYS}
    lists = [value for key, value in last.items() if isinstance(value, list) and not _WITHOUT.search(key)]
    if len(lists) == len(last) == 1:
        return lists[0]
    if (
        last
        and all(str(one).strip().casefold() in _SAID for one in last.values())
        and all(len(_names_of(one, scale)) == 1 for one in last)
    ):
        return [key for key, value in last.items() if _SAID[str(value).strip().casefold()]]
    return None


_SAID = dict.fromkeys(("true", "yes", "1", "present", "✓", "✔", "✅", "x"), True)
_SAID |= dict.fromkeys(("false", "no", "0", "absent", "✗", "✘", "❌", "", "-"), False)
"""Whether a name is in the list, as its value says."""


def _own_lines(answer: str, scale: Scale, criterion: Criterion) -> str:
    """What lines with the own criterion's name say; without them, a text without the lines and parts of others."""
    lines = [(one, criterion.rank(one["name"])) for one in CRITERION_LINE.finditer(answer)]
    own = [one["rest"] for one, rank in lines if rank is not None and rank >= 0 and not criterion.is_generic]
    if own:
        return own[-1]
    text = CriterionPlaces(answer, scale, criterion).own_text()
    for one, rank in lines:
        if rank == Criterion.OTHER:
            text = text[: one.start()] + " " * (one.end() - one.start()) + text[one.end() :]
    return text


_BOX = re.compile(
    r"^[ \t>*-]*(?:\d+[.)][ \t]*)?(?:[\[(](?P<in>[ \txX✓✔✅✗]?)[\])]|(?P<sign>[☐☑☒✅✔✓❌✗]))[ \t]*(?P<name>[^\n]+)$",
    re.MULTILINE,
)
_POINT = re.compile(r"^[ \t>]*(?:[-*•+]|\d+[.)])[ \t]+(?P<name>[^\n]+)$")
_ANSWERED = re.compile(
    r"^[ \t>*_•|-]*+(?P<name>[^\n:=|,]{1,100}?)[*_ \t]*"
    r"(?P<said>(?<=[:=|\s])[✓✔✅✗✘❌]|[:=|,][*_ \t]*(?:yes|no|true|false|present|absent|\d{1,2}|[✓✔✅✗✘❌](?=[^\n]*$)))"
    r"[.*_ \t]*(?:(?<=[✓✔✅✗✘❌] )[^\n]*)?(?:\|[^\n]*)?$",
    re.IGNORECASE | re.MULTILINE,
)
_HEADER = re.compile(r"^(?=[^\n]*\|)[^\n]*\n(?=[ \t]*\|?[ \t]*:?-+[ \t]*[:|])", re.MULTILINE)
_TICKED = frozenset({"x", "✓", "✔", "✅", "☑", "☒", "yes", "true", "present", "1"})


def _listed(answer: str, scale: Listed, given: Any, *, is_json: bool) -> Label | None:
    """The names of the list that JSON gives; else of check boxes, of the last list in brackets or in points, or with
    commas on the last line."""
    if is_json and given is None:
        return None
    names = given
    if given is None:
        answer = _one_a_line(_HEADER.sub("", NEXT_BOX.sub("\n", answer)))
        boxes = [(one["in"] or one["sign"] or "", one["name"]) for one in _BOX.finditer(answer)]
        boxes = boxes or [(one["said"].strip(":=|,*_ \t"), one["name"]) for one in _ANSWERED.finditer(answer)]
        lists = re.findall(r"\[[^\[\]]*\]", answer)
        tagged = re.findall(
            r"<(?:label|name|tag|topic|item|category|aspect|emotion)\w?>([^<>]*)</\w+>", answer, re.IGNORECASE
        )
        if any(box.isdigit() and box not in ("0", "1") for box, _ in boxes):
            return None  # counts
        if boxes:
            if any(not _names_of(name, scale) for _, name in boxes):
                return None
            names = [name for box, name in boxes if box.strip().casefold() in _TICKED]
        else:
            names = lists[-1] if lists else tagged if len(tagged) > 1 else _last_points(answer, scale)
        every = _EVERY.fullmatch(unwrap(names)) if isinstance(names, str) else None
        if every is not None:
            return _all_but(every["but"] or "", scale)
        if isinstance(names, str) and not lists:
            said = (_read_names(_names_said(one), scale) for one in _said_places(answer, names))
            label = next((one for one in said if one is not None), None)
            label = _read_names(_names_in_sentences(answer, scale), scale) if label is None else label
            return _first_names(answer, scale) if label is None else label
    if isinstance(names, str):
        names = _names_said(names) if re.search(r"\w", names) else []
    return _read_names(names, scale)


def _all_but(words: str, scale: Listed) -> Label | None:
    """All names except these."""
    but = {one.casefold() for one in re.split(r"\s*(?:,|\band\b|\bor\b)\s*", unwrap(words))} - {""}
    kept = [one for one in scale.names if str(one).casefold() not in but]
    return scale.read(kept) if len(kept) + len(but) == len(scale.names) else None


def _one_a_line(text: str) -> str:
    """A text with one answered name a line, ``food ✓, price ✗``; any other text as it is."""
    text = re.sub(r"[ \t]*\((yes|no|true|false|present|absent|[✓✔✅✗✘❌])\)", r": \1", text, flags=re.IGNORECASE)
    parts = re.split(r"\s*[,;]\s*", text.strip(" .\n")) if len(text) < NEAR and "\n" not in text.strip() else []
    return "\n".join(parts) if len(parts) > 1 and all(_ANSWERED.fullmatch(one) for one in parts) else text


def _read_names(names: Any, scale: Listed) -> Label | None:
    """The label of a list of names; None if one of them is no name of the scale, or is said to be absent."""
    if not isinstance(names, list) or any(_EXCLUDED.search(str(one)) for one in names):
        return None
    names = [_name_of_entry(one, scale) if isinstance(one, dict) else one for one in names]
    found = [_names_of(str(one), scale) for one in names if str(one).strip()]
    return None if any(len(one) != 1 for one in found) else scale.read([one[0] for one in found])


def _names_said(line: str) -> list[str] | None:
    """The names that a line lists; None if it says nothing, or what is not in the list."""
    lead = _LIST_LEAD.match(line.strip())
    if lead is not None and _WITHOUT.search(lead[0]):
        return None
    words = line.strip()[0 if lead is None else lead.end() :].strip(WRAPPING)
    words = _BUT_NOT.sub("", words).strip(WRAPPING)
    if not re.search(r"\w", words):
        return None
    said = (words, re.split(r"[;.–—:]\s|\s-\s", words, maxsplit=1)[0])
    if any(_NONE.fullmatch(spoken(one)) for one in said):
        return []
    return re.split(r"\s*(?:[,;|>\n]|\band\b)\s*", _RANKED.sub(", ", words))


def _said_places(answer: str, last: str) -> Iterator[str]:
    """Where a reply can say its list in words: on the last line, the last one that is not about what is absent, or
    after a colon in the last sentence."""
    yield last
    lines = [line for line in answer.strip().splitlines() if line.strip()]
    while len(lines) > 1 and (lead := _LIST_LEAD.match(lines[-1].strip(" *_-"))) and _WITHOUT.search(lead[0]):
        lines.pop()
        yield BULLET.sub("", lines[-1])
    sentence = re.split(r"(?<=[.!?])\s+", lines[-1])[-1]
    name, _, said = sentence.partition(":")
    if said and len(name) <= LONGEST_LINE and not _WITHOUT.search(name):
        yield said


def _names_in_sentences(answer: str, scale: Listed) -> list[Label] | None:
    """The names of sentences that say only which of them are in the list, or not; None if one says anything else."""
    names = [str(one) for one in scale.names]
    answer = re.sub(
        r"</?\w+>|\((?![^()]*\b(?:yes|no|not|absent|true|false|n/a)\b)[^()\n]*\)|\"[^\"\n]*\"|[*_#`]", " ", answer
    )
    found: list[str] = []
    is_empty = False
    denied: set[str] = set()
    for _, sentence in sentences_of(answer):
        said = _BUT_NOT.sub("", _NOT_BUT.sub(" ", sentence.rstrip(" .!")))
        named = list(mentions_of(said, names))
        rest = _blank(said, [Statement(one.start(), one.end(), None) for one in named])
        words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+", rest.casefold())
        is_denied = _WITHOUT.search(rest) is not None
        if named and not all(
            _FILLING.fullmatch(one) or _WITHOUT.fullmatch(one) or one.endswith("n't") or (one == "or" and is_denied)
            for one in words
        ):
            return None
        is_only = all(_FILLING.fullmatch(one) or one in ("no", "none") for one in words)
        is_empty |= is_only and not named and ("none" in words or ("no" in words and len(words) > 2))
        found += [] if is_denied else [one[0] for one in named]
        denied |= {one[0].casefold() for one in named} if is_denied else set()
    labels = [label for one in dict.fromkeys(map(str.casefold, found)) for label in named_labels(scale.names, one)]
    is_empty |= not labels and denied == {one.casefold() for one in names}
    return labels if bool(labels) != is_empty else None


def _first_names(answer: str, scale: Listed) -> Label | None:
    """The names that the first line or sentence lists, if the rest names others only to deny them: ``Fear. The narrator
    hides, and no joy is expressed.``"""
    first, _, rest = re.sub(r"(?<=\w)\.\s", "\n", answer.strip(), count=1).partition("\n")
    asks = "?" in rest or re.search(r"\b(?:possible|available|allowed|given)\b", first, re.IGNORECASE)
    label = _read_names(_names_said(first), scale) if rest and not asks else None
    listed = {one.casefold() for one in _names_said(first) or ()}
    for _, sentence in sentences_of(rest) if label is not None else ():
        named = {one[0].casefold() for one in mentions_of(sentence, [str(one) for one in scale.names])}
        if named & listed if _WITHOUT.search(sentence) else named - listed:
            return None
    return label


def _name_of_entry(entry: dict[Any, Any], scale: Listed) -> str:
    """The name in an object of a list, ``{"topic": "food", "evidence": "…"}``; an object that denies it has none."""
    found = [value for value in entry.values() if isinstance(value, str) and len(_names_of(value, scale)) == 1]
    is_denied = any(value is False or str(value).casefold() in ("no", "false", "absent") for value in entry.values())
    return found[0] if len(found) == 1 and not is_denied else str(entry)


def _names_of(words: str, scale: Listed) -> list[Label]:
    """The one name that words are, alone or before an explanation."""
    for said in (words, re.split(r"\s*[:–—(]|\s-\s", words, maxsplit=1)[0]):
        found = named_labels(scale.names, said.strip(), unwrap(said))
        if found:
            return found
    return []


_LIST_LEAD = re.compile(r"[\w ]{0,30}[:=]")
"""What leads to a list in a line: ``Topics:``."""

_KINDS = r"(?:label|categor(?:y|ie)|tag|flag|option|topic|aspect|theme|name|emotion|error|mistake|problem|issue)s?"
_EVERY = re.compile(
    rf"(?:all|everything|each)(?: of (?:the|them|these))?(?: (?:two|three|four|five|six"
    rf"|\d))?(?: {_KINDS})?(?: (?:apply|are (?:mentioned|present)))?"
    r"(?: (?:except(?: for)?|but|besides|other than|apart from) (?P<but>.+))?",
    re.IGNORECASE,
)
"""A list of all names: ``All except price``."""

_FILLING = re.compile(
    rf"(?:an?|the|th[ei]se|those|this|that|it|they|there|some|do|does|i|of|to|and|on|as|with|at|by|in|here|is|are|was|were|be|been|only|just|also|both"
    rf"|all|two|three|four|five|mainly|mostly|primarily|clearly|explicitly|best|so|thus|overall|would|should|can|could|i'd|{ITEM}s?"
    rf"|{_KINDS}|(?:mention|discuss|cover|address|express|convey|contain|includ|involv|show|touch|appl|fit|select|pick"
    r"|assign|choos|detect|identif|tag|label|classif|mark|flag|fil|us|deal|refer|comment|talk|occur|appear|feel)(?:e?s|y|ies|g?ed|ied|led)?"
    r"|see|find|found|any|ha[sd]|have|depicts?|about|present|main|dominant|primary|under)"
)
"""Words of a sentence that says which names are in the list and nothing else: ``The review only mentions food``."""

_NOT_BUT = re.compile(r"(?:\b(?:not|no)\b|n't\b)[^,;.]{0,200}?(?:,\s+(?:but|only|just|rather)|\s+but)\b", re.IGNORECASE)
"""And before those that are: ``not food but price``."""

_BUT_NOT = re.compile(
    r"(?<=\w)(?:,?\s+(?:but|and)\s+(?:not|neither|nothing|no)|,\s+(?:not|nor)|,?\s+(?:rather\s+than"
    r"|instead\s+of))\b.*$",
    re.IGNORECASE,
)
"""What a sentence says of names that are not in the list: ``price, but not food``."""

_RANKED = re.compile(
    r"(?<=[^,;\s])[.;]?\s+(?:main|primary|secondary|tertiary|minor|also|other)\s?\w{0,10}:\s*", re.IGNORECASE
)
"""Between the labels of a list by rank: ``Primary: billing. Secondary: delivery``."""

_WITHOUT = re.compile(r"\b(?:not|no|neither|nor|without|missing|absent|excluded|rejected)\b|n't\b", re.IGNORECASE)
_EXCLUDED = re.compile(r"[:–—(-][\s*]*(?:[❌✗✘✖]|not|no|isn't|absent|missing(?!\s+\w)|n/a)(?!\w)", re.IGNORECASE)
"""What a point says of a name that is not in the list: ``cost: not mentioned``."""

_NONE = re.compile(
    r"(?:(?:none(?: of (?:them|(?:these|those|the)(?: (?:above|listed|given|possible|named|\d|\w{3,5}))?"
    rf"(?: {_KINDS})?))?|no {_KINDS})"
    r"(?: (?:(?:clearly |really )?(?:apply|applies|fit|fits)|(?:is|are|was|were) "
    r"(?:mentioned|present|discussed|addressed|covered|expressed|applicable))(?: (?:here|to|in|by)\b.*)?)?)?"
)
"""Words of a list that is empty."""


def _last_points(answer: str, scale: Listed) -> Any:
    """The last list of points if each of them is a name; without one, the last line."""
    lines = [line for line in answer.strip().splitlines() if line.strip()]
    if not lines:
        return None
    bare = [_POINT.match(line) for line in lines]
    names = [line if one is None else one["name"] for line, one in zip(lines, bare, strict=True)]
    ends = [at for at, one in enumerate(bare) if one is not None]
    if not ends:  # names alone on the last lines
        begin = len(lines)
        while begin and len(named_labels(scale.names, lines[begin - 1].strip(), unwrap(lines[begin - 1]))) == 1:
            begin -= 1
        return names[begin:] if begin < len(lines) - 1 else BULLET.sub("", lines[-1])
    while ends:
        begin = end = ends[-1]
        while begin and bare[begin - 1] is not None:
            begin -= 1
        if not (begin and _WITHOUT.search(lines[begin - 1])):  # else the points are what is not in the list
            break
        ends = [at for at in ends if at < begin]
    else:
        return BULLET.sub("", lines[-1])
    points = names[begin : end + 1]
    is_last = end == len(lines) - 1
    if is_last or all(len(_names_of(one, scale)) == 1 for one in points):
        return points
    return BULLET.sub("", lines[-1])


def _spans(answer: str, scale: SpanLabels, source: str, criterion: Criterion) -> tuple[Label | None, str | None]:
    """Return the spans that a response quotes, by their position in the text; or the reason if there are none."""
    found = [one for _, _, value in objects(answer) if isinstance(one := arguments_of(value), dict)]
    lists = [one for value in found for key, one in value.items() if key.casefold() in _SPAN_KEYS]
    own, of_others = _own_list(found, criterion, ("label", "labels", "spans", "entities"))
    if of_others:
        return None, OTHER_CRITERIA
    lists = [own] if own is not None else lists
    quotes = lists[-1] if lists and isinstance(lists[-1], list) else _whole_list(answer)
    if quotes is None:
        return None, NO_LABEL
    spans: list[tuple[int, int, str]] = []
    texts: list[str] = []
    times: Counter[str] = Counter()
    for one in quotes:
        words, named = (one.get("text"), one.get("label")) if isinstance(one, dict) else (None, None)
        names = named_labels(scale.names, str(named).strip(), unwrap(str(named)))
        if not isinstance(words, str) or not words.strip() or len(names) != 1:
            return None, OFF_SCALE
        # A repeated quote is the next occurrence of the same words, or has another label.
        places = _occurrences(words, source)
        free = [place for place in places if (*place, names[0]) not in spans]
        place = next(iter((*places[times[words] :], *free)), None)
        if place is None:
            return None, NOT_QUOTED
        spans.append((*place, str(names[0])))
        about = one.get("comment")
        texts.append(about[:LONGEST_SPAN_TEXT] if isinstance(about, str) else "")
        times[words] += 1
    label = scale.read([(*span, text) for span, text in zip(spans, texts, strict=True)])
    return label, OFF_SCALE if label is None else None


def _whole_list(answer: str) -> list[Any] | None:
    """The last list in JSON that is whole; of one that breaks off no part."""
    found, end = None, 0
    for opened in [one.start() for one in re.finditer(r"\[", answer)][:MOST_BRACES]:
        if opened >= end:
            try:
                found, end = DECODER.raw_decode(answer, opened)
            except (json.JSONDecodeError, RecursionError):
                continue
    return found


_SPAN_KEYS = (*LABEL_KEYS, "labels", "spans", "entities")


def _occurrences(quote: str, source: str) -> list[tuple[int, int]]:
    """Return the position of a quote in a text, with any line breaks: as whole words, otherwise anywhere."""
    pattern = r"\s+".join(map(re.escape, quote.split()))
    for exact in (rf"(?<!\w){pattern}(?!\w)", pattern):
        places = [found.span() for found in re.finditer(exact, source)]
        if places:
            return places
    return []


def _read_text(text: str, finish: str) -> Reply:
    """Free text is its own label, unchanged except for the reasoning before it."""
    if finish == "length":
        return Reply(None, TRUNCATED)
    answer, reasoning = split_thinking(text, leading=True)
    if answer is None:
        return Reply(None, UNFINISHED, reasoning)
    label = answer.strip()
    return Reply(label, None, reasoning) if label else Reply(None, EMPTY, reasoning)


_STRUCK = re.compile(
    r"~~(?=\S)[^~\n]+~~|(?<=[:\s])[\w./]+\s*(?:→|->|=>|,|;|–|\()\s*(?:(?:now|then|later)\s+)?"
    r"(?:revised|corrected|changed|lowered|raised|updated|adjusted|downgraded|upgraded)\s+(?:(?:down"
    r"|up)\s+)?(?:to\s+|:\s*(?=\d))(?=\S)",
    re.IGNORECASE,
)
"""What Markdown or words strike out: ``3 → revised to 2``."""

_INLINE = re.compile(
    r"<(?P<tag>b|strong|em|i|u|mark|span|font|p)\b[^<>]{0,80}>(?P<said>[^<>]*)</(?P=tag)>", re.IGNORECASE
)
_DECORATED = re.compile(
    r"^[ \t]*(?![🥇🥈👍👎])[\u2728\u274e\U0001f300-\U0001faff]+[ \t]+(?=\w)"
    r"|(?<=[\w.%])[ \t]+(?![🥇🥈👍👎])[\u2728\U0001f300-\U0001faff]+[ \t]*$",
    re.MULTILINE,
)
_ARGUMENT = re.compile(r"<arg_key>(\w+)</arg_key>\s*<arg_value>([^<>]*)</arg_value>")
_OPENED = re.compile(r"\s*[{(\[]\s*[\"']?\w+[\"']?\s*[:=][^\n]*[})\]]\s*$")
_TAB = re.compile(r"^([^\t\n]{1,40}?)[ ]?(?:[ ]*\t+|\.{4,60}|[ ]{4,60})[ ]*([^\t\n]+)$", re.MULTILINE)


def _laid_out(text: str, scale: Scale) -> str:
    """A text without tags for bold and the like, emoji around lines, tabs between a name and its value, and columns of
    what can be reached; ``is not`` in two words if that begins a label."""
    if is_json(text):
        return text
    if '\\"' in text and next(objects(text), None) is None:
        text = text.replace('\\"', '"').strip('"')
    text = _ARGUMENT.sub(r"<\1>\2</\1>", text)
    if "&lt;" in text:
        text = text.replace("&lt;", "<").replace("&gt;", ">")
    if _OPENED.match(text) and next(objects(text), None) is None:  # {score: 4; reason: good}
        text = re.sub(r"[,;]\s*(?=[\"']?\w+[\"']?\s*[:=])", "\n", text.strip(" \n{}()[]"))
        text = re.sub(r"^[\"']?(\w+)[\"']?\s*[:=]", r"\1:", text, flags=re.MULTILINE)
    if "<" in text:
        text = _INLINE.sub(lambda one: one["said"], text)
    text = text if text.isascii() else _DECORATED.sub("", text)
    if any(str(one).casefold().startswith("not ") for one in scale.categories or ()):
        text = re.sub(r"\b(is|are|was|were|does|do)n't\b", r"\1 not", text)
    if "|" in text:
        text = _WITH_MAXIMUM.sub(lambda one: "\n".join(_without_maximum(one[0])), text)
    return _TAB.sub(r"\1: \2", text) if "\t" in text or "    " in text or "...." in text else text


def _columns(text: str, criterion: Criterion) -> str:
    """A table with commas or semicolons and a heading that names the label as a table of Markdown; as a line
    ``name: label``, if it is the only row."""
    lines = re.sub(r"^```\w*$", "", text, flags=re.MULTILINE).strip().splitlines()
    if not 0 < len(lines) <= MOST_ROWS:
        return text
    for sep in (one for one in ",;" if one in lines[0]):
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=sep, skipinitialspace=True)]
        ranks = [criterion.rank(cell) for cell in rows[0]]
        is_own = [rank is not None and rank >= 0 for rank in ranks]
        if len(rows) == 1 and len(rows[0]) == 2 and is_own[0]:
            return ": ".join(rows[0])
        is_named = any(is_own) or any(cell.casefold() in (*LABEL_KEYS, *NAMING_KEYS) for cell in rows[0])
        if (
            len(rows) > 1
            and is_named
            and {len(row) for row in rows} == {len(rows[0])} != {1}
            and not any(map(is_sentence, rows[0]))
        ):
            body = [" | ".join(cell.replace("|", "/") or " " for cell in row) for row in rows]
            return "\n".join(f"| {row} |" for row in (body[0], " | ".join("---" for _ in ranks), *body[1:]))
    return text


MOST_ROWS = 30
"""Lines of a table of labels."""

_MAXIMUM = re.compile(r"\b(?:max|maximum|weight|possible)\b", re.IGNORECASE)
_WITH_MAXIMUM = re.compile(
    r"^(?=[^\n]*\|)[^\n]*\n[ \t]*\|?[ \t]*:?-+[ \t|:-]*\n(?=[^\n]*\|)[^\n]*(?:\n(?=[^\n]*\|)[^\n]*)*",
    re.MULTILINE,
)


def _without_maximum(table: str) -> Iterator[str]:
    """The rows of a table without the columns of what can be reached, ``Max``."""
    rows = [line.split("|") for line in table.split("\n")]
    drop = {at for at, name in enumerate(rows[0]) if _MAXIMUM.search(name)}
    for row in rows:
        yield "|".join(cell for at, cell in enumerate(row) if at not in drop)


LONGEST = 32_000
"""Characters of a reply in which a label is looked for, unless all of it is one JSON object: some ten pages."""


def _ends(text: str) -> str:
    """Return the beginning and the end of a very long response; the last statement counts."""
    if len(text) <= LONGEST or is_json(text):
        return text
    begin, end = text[: LONGEST // 4], text[LONGEST // 4 - LONGEST :]
    before, _, half_line = begin.rpartition("\n")
    begin = before if before and len(half_line) <= NEAR else begin
    half_line, _, after = end.partition("\n")
    end = after if after and len(half_line) <= NEAR else end  # half a name is none
    return f"{begin}\n…\n{end}"


# -- thinking ----------------------------------------------------------------------------------------


def split_thinking(text: str, *, leading: bool = False) -> tuple[str | None, str | None]:
    """Return the response without the reasoning before it, and that reasoning; no response if the reasoning has no end.

    With ``leading``, only at the beginning: free text can mention such markers.
    """
    if is_json(text):
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


# -- a reply that runs on ------------------------------------------------------------------------------

_STOP = re.compile(
    r"<\|(?:im_end|im_start|eot_id|eot|endoftext|end_of_text|eom_id|return|start_header_id|user|system"
    r"|end_of_turn_token"
    r"|end▁of▁sentence|end(?=\|>(?!\s*<\|start\|>)))\|>|</s>|<eos>|\n(?:###[ \t]*|[\[<])(?:end|stop)\b"
    r"|<\|(?:assistant|im_sep)\|>|<(?:end|start)_of_turn>|\[/?INST\]",
    re.IGNORECASE,
)
"""Tokens of chat templates with which a turn ends: what follows is not the judge's reply."""

_FRAMES = re.compile(r"<\|(?:(?:begin|end)_of|start|end)_(?:solution|answer|box|response)\|>", re.IGNORECASE)
"""Tokens around the answer, after the reasoning."""

_ITEM = (
    r"(?:next\s+)?(?:item|example|review|question|input|task|case|sample"
    r"|post|text|tweet|comment|essay|passage|document|response|conversation|dialogue|transcript|ticket|abstract|pair)"
)
_NEXT = re.compile(
    r"\n[^\w\n]{0,12}(?:human|user|instruction|system)\b[*_]{0,3}[ \t]*:"
    r"|\n[ \t]{0,8}q(?:uestion)?[ \t]?:[^\n]{0,300}\n+[ \t]{0,8}a(?:nswer)?[ \t]?:"
    r"|\n[ \t]{0,8}#{2,6}[ \t]*(?:the[ \t]+)?(?:human|user|instruction|input|question)\b"
    r"|\n[ \t]{0,8}\[(?:the[ \t]+start[ \t]+of[ \t]+)?(?:human|user|system|assistant)\b[^\[\]\n]{0,40}\]"
    r"[ \t]*(?:\n|:|$)"
    rf"|\n(?:[ \t]{{0,8}}[-*_=]{{3,80}}[ \t]*\n\s{{0,8}})?[^\w\n]{{0,12}}{_ITEM}\s?#?\d+\b"
    rf"|\n[ \t]{{0,8}}[-*_=#]{{3,80}}[ \t]*\n\s{{0,8}}[^\w\n]{{0,12}}"
    rf"(?:{_ITEM}\b|(?:query|student|customer|patient|speaker|q)\b[^\n:]{{0,9}}:)"
    r"|\n[^\w\n]{0,12}now,?[ \t]+(?:rate|judge|evaluate|score|label|classify|grade)\b[^\n]{0,60}\bnext\b"
    rf"|(?P<weak>\n(?:[ \t]*\n)?[*_]{{0,3}}(?:(?!{_ITEM}\b)[^\W\d_]{{3,12}}\s#?\d{{1,4}}"
    r"|(?:student|customer|user|model|candidate|patient|speaker)(?:'s)?\s(?:answer|response|message|reply)"
    r"|review|text|input|query|post|comment|tweet|sentence|item|question|premise"
    r"|claim|passage|article|statement|essay|message|document|source|context|argument|ticket|e?mail|utterance"
    r"|dialogue|conversation|story|paragraph|abstract)[*_]{0,3}[ \t]*:)",
    re.IGNORECASE,
)
"""The beginning of another turn or item, which a model without a stop token makes up."""


def _is_weak(turn: re.Match[str], answer: str) -> bool:
    """Whether a turn may be a quotation of the item: one line ``Review: …`` may be, several are made up."""
    return bool(turn["weak"]) and answer.count(turn["weak"]) == 1


MOST_TURNS = 5
"""Turns from the first at which a reply is divided: without a stop token there can be thousands."""

_FINAL = re.compile(r"\bfinal\b|\boverall\b", re.IGNORECASE)


def _before_stop(text: str) -> str:
    """Return the reply up to the first token that ends a turn; such a token in JSON is a word like others."""
    begin = 0
    while found := _STOP.match(text, begin + len(text[begin:]) - len(text[begin:].lstrip())):
        role = re.compile(r"\s*(?:assistant|model)\b\s*").match(text, found.end())
        begin = found.end() if role is None else role.end()
    text = _FRAMES.sub("", text[begin:])
    if _STOP.search(text) is None or is_json(text):
        return text
    spans = [(at, end) for at, end, _ in objects(text)]
    stops = (one.start() for one in _STOP.finditer(text))
    return text[: next((at for at in stops if not any(a < at < b for a, b in spans)), len(text))]


_RECONSIDERED = re.compile(
    r"\b(?:edit|update|correction|p\.?s)\b[^\n]{0,3}:|\b(?:actually|hmm+|wait|hold\s+on|make\s+that|on\s+(?:reflection|(?:second|closer)\s+(?:thoughts?|reading|look))"
    r"|(?:(?<!would )(?<!could )(?<!might )(?<!to )|(?<=going to ))"
    r"(?:change|changing|revise|revising|raise|raising|lower|lowering)"
    r"\s+(?:it|that|this|my\s+\w+)\s+to)\b",
    re.IGNORECASE,
)
"""Words of a model that changes its answer."""


_WITHDRAWN = re.compile(
    r"\b(?:scratch|strike|cancel)\s+that\b|\bhmm+,?\s+no\b|\boops\b(?:,?\s+I\s+meant?\b)?|(?:\.\.\.|…|\s[—–])\s*no,"
    r"|,\s+no,\s+(?=(?:rather|actually|make)\b)",
    re.IGNORECASE,
)
"""Words that take back what was said before: what follows them is read alone."""


_INSTEAD = re.compile(r"(?:\W*\b(?:actually|rather|instead|make\s+(?:it|that)(?:\s+an?)?)\b)?\W*", re.IGNORECASE)
"""What can come between such words and the label: ``no, actually C``."""

_CONCLUDES = re.compile(
    r"(?:^[\s,:—-]*|[.!?:]\s+|\b(?:so|thus|therefore|hence|instead|to|is|be|say|make\s+(?:it|that))\s+)(?:(?:an?|the|it's|it\s+is)\s+)*[\"'`*_]*$",
    re.IGNORECASE,
)
"""What leads to the label with which an afterthought ends: ``Actually, it misses the date, so 3.``"""


_MAKES = re.compile(r"(?<!would )(?<!could )(?<!to )\bmake\s+(?:that|it)\s+(?:an?\s+)?\W*$", re.IGNORECASE)


def _reconsidered(answer: str, settled: Statement, scale: Scale) -> Statement:
    """The statement; the label with which an afterthought ends the response; in doubt if it names another elsewhere."""
    for one in _RECONSIDERED.finditer(answer, settled.end if settled.label is not DOUBTFUL else settled.at):
        words = answer[one.end() : one.end() + LONGEST_LINE].partition("\n")[0].rstrip()
        for last in re.finditer(r"[^\s,;:()]+(?=[.,;:!)]*(?:\s|$))", words):
            label = label_on_scale(last[0], scale)
            if label not in (None, settled.label) and _MAKES.search(answer[one.start() : one.end() + last.start()]):
                return replace(settled, label=label)
            if (
                label is not None
                and not words[: last.start()].strip(" ,:*_")
                and re.match(r"[,.;!]\W", words[last.end() :] + " ")
            ):
                return replace(settled, label=label)  # actually no, it says
            ends = re.match(r"[.,;!)]*(?:$|\s+(?:then|instead|now|after all)\b|(?<=[.;!)])\s)", words[last.end() :])
            if label is not None and label != settled.label and ends:
                is_end = not answer[one.end() + last.end() :].strip(WRAPPING) and len(words.split()) > 2
                is_all = is_end and _CONCLUDES.search(words[: last.start()])
                return replace(settled, label=label if is_all else DOUBTFUL)
        rest = answer[one.end() :]
        others = {label_on_scale(label, scale) for label in _named_instead(rest, scale)} - {None}
        if others and settled.label not in others:
            return replace(
                settled, label=others.pop() if len(others) == 1 and _concludes(rest, scale) in others else DOUBTFUL
            )
    return settled


_OPENS_SENTENCE = re.compile(r"(?:[.!?]\s+)(yes|no|true|false)\b(?=[.,!:])", re.IGNORECASE)


def _named_instead(rest: str, scale: Scale) -> list[str]:
    """The labels that an afterthought names and does not deny; of yes and no, those that begin a sentence."""
    options = [str(one) for one in scale.categories or ()]
    if scale.numeric or scale.kind not in ("nominal", "ordinal") or not options:
        return []
    if is_answer(scale):
        return _OPENS_SENTENCE.findall(rest)
    return [
        one[0]
        for _, sentence in sentences_of(rest)
        for one in mentions_of(sentence, options)
        if not denies(sentence[: one.start()])
    ]


def _concludes(rest: str, scale: Scale) -> Label | None:
    """The label that an afterthought states."""
    if is_answer(scale):
        return label_on_scale(_OPENS_SENTENCE.findall(rest)[-1], scale)
    finders = (find_in_sentences, find_given, find_fitting, find_only_label, find_conclusion)
    found = ([one.label for one in find(rest, scale) if one.decides] for find in finders)
    label: Label | None = next((labels[-1] for labels in found if labels), None)
    return label


def _is_revised(found: Sequence[Statement], answer: str) -> bool:
    """Whether the last statement is said to replace the one before: ``Final rating: 4``."""
    if len(found) < 2:
        return False
    before, last = found[-2:]
    between = answer[before.at if before.label is DOUBTFUL else before.end : last.at]
    changed = _RECONSIDERED.search(between) or re.search(r"\b(?:final|revised|corrected|updated)\s*$", between, re.I)
    return changed is not None and not found[-1].about


def _settle(answer: str, scale: Scale, criterion: Criterion, *, cut_off: bool) -> Statement | None:
    """The statement by which a reply is settled, unless an afterthought puts it in doubt."""
    settled = _settle_turn(answer, scale, criterion, cut_off=cut_off)
    withdrawn = None if is_json(answer) else next(reversed(list(_WITHDRAWN.finditer(answer))), None)
    if withdrawn is not None and not criterion.is_one_of_several:
        begin = withdrawn.end() + len(_INSTEAD.match(answer[withdrawn.end() :])[0])  # type: ignore[index]
        after = _settle_turn(answer[begin:], scale, criterion, cut_off=cut_off)
        if after is not None and after.label is not None:
            return replace(after, at=after.at + begin, end=after.end + begin)
        if settled is not None and settled.at < withdrawn.start():
            return replace(settled, label=DOUBTFUL)
    if settled is None or settled.label in (None, OF_OTHERS) or takes_any_word(scale):
        return settled
    found = _reconsidered(answer, settled, scale)
    # Of several criteria, an afterthought can be about another one.
    return replace(found, label=DOUBTFUL) if criterion.is_one_of_several and found.label != settled.label else found


def _settle_turn(answer: str, scale: Scale, criterion: Criterion, *, cut_off: bool) -> Statement | None:
    """The statement by which a reply is settled, before the model makes up another turn or item."""
    turns = [] if "\n" not in answer or is_json(answer) else list(_NEXT.finditer(answer))
    spans = [(at, end) for at, end, _ in objects(answer)] if turns else []
    for turn in turns[:MOST_TURNS]:
        if any(at < turn.start() < end for at, end in spans):
            continue
        before = _settling_statement(answer[: turn.start()], scale, criterion, cut_off=False)
        after = _settling_statement(answer[turn.start() :], scale, criterion, cut_off=cut_off)
        if before is None or before.label in (None, DOUBTFUL, OF_OTHERS):
            continue
        if after is None or after.label in (before.label, None, OF_OTHERS):
            return before
        if _FINAL.search(answer, turn.start()):
            break
        is_all = label_on_scale(BULLET.sub("", answer[: turn.start()]), scale) is not None
        is_doubtful = (_is_weak(turn, answer) and not is_all) or _NEXT.match("\n" + answer)
        return replace(before, label=DOUBTFUL) if is_doubtful else before
    return _settling_statement(answer, scale, criterion, cut_off=cut_off)


# -- forms of statements ---------------------------------------------------------------------------------


class Finder(NamedTuple):
    """A form in which a response can state a label."""

    find: Callable[[str, Scale], Iterator[Statement]]
    is_sure: bool = False
    """Whether the last of all sure statements counts; of the other finders, the first with a statement decides."""
    is_whole: bool = False
    """Whether a truncated response can contain the statement."""
    any_word: bool | None = None
    """Whether it is for scales on which any word is a label, or for the others alone; None for all scales."""


FINDERS = (
    Finder(find_in_json, is_sure=True, is_whole=True),
    Finder(find_in_marks, is_sure=True, is_whole=True),
    Finder(find_in_sentences, is_sure=True),
    Finder(find_under_headings, is_sure=True),
    Finder(find_in_other_languages, is_sure=True, any_word=False),
    Finder(find_given, is_sure=True, any_word=False),
    Finder(find_fitting, is_sure=True, any_word=False),
    Finder(find_last_line, is_sure=True, any_word=False),
    Finder(find_in_keyed_lines, any_word=True),
    Finder(find_in_lines),
    Finder(find_in_keyed_lines, any_word=False),
    Finder(find_bold_ending, any_word=False),
    Finder(find_only_label, any_word=False),
    Finder(find_only_number, any_word=False),
    Finder(find_only_side, any_word=False),
    Finder(find_conclusion, any_word=False),
    Finder(find_below_heading, any_word=False),
    Finder(find_confident_opening, any_word=False),
)
"""In order of priority. All except the first ignore the JSON objects of the response."""


# -- which statement counts --------------------------------------------------------------------------


def _settling_statement(answer: str, scale: Scale, criterion: Criterion, *, cut_off: bool) -> Statement | None:
    """The statement by which a reply is settled.

    That is JSON with the criterion's own key; otherwise the last of the sure statements; otherwise the first other
    finder with a statement. A response that labels other criteria only is settled by that.
    """
    objects_found = list(find_in_json(answer, scale, criterion))
    prose = _blank(answer, objects_found)
    listed = find_probabilities(prose, scale) or find_answered(prose, scale)
    prose = _blank(_blank(prose, listed), find_rubric(prose, scale) + find_quotations(prose, scale), "·")
    places = CriterionPlaces(prose, scale, criterion) if criterion.is_one_of_several else None
    headings = []
    if places is not None:
        headings = places.headings if takes_any_word(scale) else []  # else no heading is a label
        objects_found = places.attribute(objects_found, answer)
    of_others = [one for one in objects_found if one.decides and one.label is OF_OTHERS]
    sure = [one for one in objects_found if one.decides and one.label is not OF_OTHERS]
    own = [one for one in sure if one.is_own]
    if own and not criterion.is_generic and not TURNING.match(answer[own[-1].end :]):
        return _whole_statement(own, answer) if cut_off else _last_of(own, answer)
    lines = [] if cut_off else find_criterion_lines(prose, scale, criterion)
    own = [one for one in lines if one.is_own]
    if of_others and not sure:
        return _agreement(own) if own else of_others[-1]
    settled = _settle_prose(answer, _blank(prose, [*lines, *headings]), sure, own, scale, places, cut_off=cut_off)
    if places is not None and (settled is None or settled.label is OF_OTHERS) and not cut_off:
        own_text = _blank(places.own_text(), [*lines, *headings])
        settled = _settle_prose(answer, own_text, sure, own, scale, places, cut_off=cut_off) or settled
    return settled or next(reversed(lines), next(reversed(listed), None))


def _settle_prose(
    answer: str,
    prose: str,
    in_json: Sequence[Statement],
    own: Sequence[Statement],
    scale: Scale,
    places: CriterionPlaces | None,
    *,
    cut_off: bool,
) -> Statement | None:
    """The statement by which a reply is settled, with the sure ones in JSON and those of the own criterion in lines."""
    sure, of_others = [*in_json, *own], []
    any_word = takes_any_word(scale)
    for finder in FINDERS[1:] if prose.strip() else ():
        if finder.any_word in (None, any_word) and (finder.is_whole or not cut_off):
            if sure and not finder.is_sure:
                break
            found = list(finder.find(prose, scale))
            if places is not None:
                found = places.attribute(found, prose)
                of_others += [one for one in found if one.label is OF_OTHERS and one.decides]
                found = [one for one in found if one.label is not OF_OTHERS]
            if finder.is_sure:
                forms = [one for one in sure if one.is_form and one.label not in (None, DOUBTFUL)]
                sure += [one for one in found if one.decides and not _is_weaker(one, forms)]
            elif found:
                return _agreement(found)
    sure.sort(key=lambda one: one.at)
    if cut_off and sure:
        return _whole_statement(sure, answer)
    if own or (of_others and any(one.is_own for one in sure)):
        return sure[-1] if places is None and _is_revised(sure, answer) else _agreement(sure)
    return _last_of(sure, answer) if sure else of_others[-1] if of_others else None


def _is_weaker(one: Statement, forms: Sequence[Statement]) -> bool:
    """Whether a statement is part of a form with a label, or a sentence in doubt next to one."""
    return bool(forms and one.label is DOUBTFUL and not one.is_form) or any(
        form.at <= one.at < form.end and one is not form for form in forms
    )


def _blank(text: str, statements: Sequence[Statement], sign: str = " ") -> str:
    """Return a text with spaces, or another sign, instead of statements."""
    letters = list(text) if statements else []
    for one in statements:
        letters[one.at : one.end] = sign * (one.end - one.at)
    return "".join(letters) if statements else text


def _whole_statement(found: list[Statement], answer: str) -> Statement | None:
    """Of a reply that was cut off: only what begins it, or exactly ends it."""
    if not found:
        return None
    if not answer[found[-1].end :].strip(" \n`"):
        return found[-1]
    before = answer[: found[0].at].strip(" \n`")
    begins = len(before) <= LONGEST_LINE and "\n" not in before and not TURNING.match(answer[found[-1].end :])
    return _agreement(found) if begins else None


def _last_of(found: list[Statement], answer: str) -> Statement:
    """Return the last statement; in doubt if it is only the alternative to the one before, or has another subject."""
    last = found[-1]
    for before in found[-2:-1]:
        between = answer[before.end : last.at].strip(" \n`").casefold()
        two = not between and all(answer.startswith("{", one.at) for one in (before, last))
        if two or between in (",", "or", "and") or between.startswith(("or ", "and ")):
            return _agreement([before, last])
    others = [one for one in found if one.about and last.about and one.about != last.about]
    return _agreement([*others, last])


def _agreement(found: list[Statement]) -> Statement:
    """Return one statement for all of them; in doubt if they differ."""
    labels = {one.label for one in found}
    return found[-1] if len(labels) == 1 else replace(found[-1], label=DOUBTFUL)


def _reasons(text: str) -> str | None:
    """Return the reasoning that accompanies a label in a response."""
    for _, _, value in objects(text):
        if isinstance(value, dict):
            for key, reason in value.items():
                if str(key).casefold() in REASON_KEYS and isinstance(reason, str):
                    return reason
    lines = text.strip().splitlines()
    return "\n".join(lines[:-1]).strip() or None if len(lines) > 1 else None
