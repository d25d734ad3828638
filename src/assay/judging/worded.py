"""From the words of a label to the label: numbers, fractions and names as models write them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from assay.data.scales import Interval, Label, Scale

WRAPPING = " \t\r\n\"'`*_“”‘’«»()[]{}<>.,;:!#\\$|~"
"""What may stand around a label and says nothing."""

THING = (
    r"(?:option|text|response|answer|output|version|model|assistant|candidate|summary|translation|item|number|sentence)"
)
"""What models call one of several texts."""

_DIGITS = r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)"
_UNIT = r"(?:stars?|points?|pts|★|⭐)"
_FRACTION = re.compile(
    rf"^(?P<value>{_DIGITS})[\s-]*{_UNIT}?\s*(?:/|out\s+of|of)\s*(?P<top>\d+(?:\.\d+)?)[\s-]*{_UNIT}?$", re.IGNORECASE
)
_NUMBER = re.compile(rf"^(?P<value>{_DIGITS})[\s-]*(?P<unit>%|percent|{_UNIT})?$", re.IGNORECASE)
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_STARS = re.compile(r"([★⭐]+)☆*")

_ENDS = r"\s+[-—–]+\s|[.!]\s|;|\n|\s*\(|\s*\||[\"'`]\s*[,}]|,\s|:\s|,?\s+(?:because|since|as|due|given|based)\b"
_LINE_SPLITS = re.compile(_ENDS, re.IGNORECASE)
"""Where the words of a label may end and its explanation begin."""

_SPLITS = re.compile(rf"{_ENDS}|\s+(?:for|on|in|with|which|but|although|though|or|and|to|over|than)\b", re.IGNORECASE)
"""The same where it is sure that a label is stated: ``5 for its wit``."""

BULLET = re.compile(
    r"^[\s>#*]*(?:[-*]\s+)?(?:(?:so|thus|hence|therefore|finally|in conclusion)\b[,:]?\s+)?", re.IGNORECASE
)
"""With what a line may begin."""

_LEADING = re.compile(
    r"^(?:(?:an?|the|my|final)\s+)*(?:(?:option|answer|label|category|choice|class|rating|score|grade|verdict)s?\b)?"
    r"[\s:=]*(?:(?:of|as|is)\b)?[\s:]*",
    re.IGNORECASE,
)
_CORRECTED = re.compile(
    r"^[\s,;.()—–-]*(?:wait|no|actually|scratch that|rather|correction|revised|corrected)\b", re.IGNORECASE
)
TURNING = re.compile(
    r"^[\s`]*(?:wait|no|but|however|actually|hmm?|though|on second thought|on reflection)\b", re.IGNORECASE
)
"""How what follows begins where somebody is about to think again."""

_HEDGED = re.compile(
    r"^(?:[\s,;(]*(?P<how>or|to|and|but|maybe|perhaps|possibly|almost|nearly|leaning|bordering|close|closer)"
    r"|\.?\s+(?:but|or|perhaps|maybe))\b(?P<other>[^.;\n]*)",
    re.IGNORECASE,
)
_RANGE = re.compile(r"^\s*[-—–~]\s*\d|^\s*[,/&]\s*\d|^\s+(?:on|for|in)\b[^.;\n]*\d")
_LIST = re.compile(r"^\s*[,/&]\s*[ABC]\b")

_PLACES = re.compile(r"\b(?:[ABC]|first|second|tie)\b")

DOUBTFUL = object()
"""In place of a label: the words name one, and take it back or name another."""


def stated_label(stated: Any, scale: Scale, *, line: bool = False) -> Any:
    """The label of the scale that was stated; `DOUBTFUL`, or None where it is none.

    Of words, the longest beginning that names a label counts: ``4 out of 5 because …`` is the 4 of 5. A ``line``
    may be any sentence, so less of it may follow the label.
    """
    if not isinstance(stated, str):
        return on_scale(stated, scale)
    words = re.sub(r"\*+|`|</?(?:b|strong|em|i)>", "", BULLET.sub("", stated)).strip()
    splits = list((_LINE_SPLITS if line else _SPLITS).finditer(words))
    if takes_any_word(scale):
        return on_scale(words[: splits[0].start()] if splits else words, scale)
    for candidate, rest in [(words, ""), *((words[: s.start()], words[s.start() :]) for s in reversed(splits))]:
        for part in dict.fromkeys((candidate, _LEADING.sub("", candidate, count=1))):
            label = on_scale(part, scale)
            if label is not None:
                return DOUBTFUL if is_in_doubt(rest, label, scale) else label
    return _number_in_brackets(words, scale)


def takes_any_word(scale: Scale) -> bool:
    """Whether every word would be a label: categories that nobody has listed."""
    return scale.categories is None and not scale.numeric and scale.kind not in _READERS


def is_in_doubt(rest: str, label: Label, scale: Scale) -> bool:
    """Whether what follows a label takes it back, or names another one beside it."""
    if _CORRECTED.match(rest) or (_RANGE if scale.numeric else _LIST).match(rest):
        return True
    hedged = _HEDGED.match(rest)
    if hedged is None:
        return False
    other = hedged["other"]
    if scale.numeric:
        return bool(re.search(r"\d|\b(?:half|higher|lower|more|less|above|below)\b", other) or _WORD.search(other))
    if scale.kind in _READERS:
        return hedged["how"] != "to" and any(
            on_scale(one, scale) not in (None, label) for one in _PLACES.findall(other)
        )
    said = f" {key(other, ' ')} "
    return any(f" {key(str(one), ' ')} " in said for one in scale.categories or () if one != label)


def _number_in_brackets(words: str, scale: Scale) -> Label | None:
    """``Good (4)``: the number after its meaning."""
    found = re.fullmatch(r"[A-Za-z][A-Za-z ]{0,40}\(([^()]{1,12})\)[.\s*]*", words) if scale.numeric else None
    return on_scale(found[1], scale) if found else None


def on_scale(stated: Any, scale: Scale) -> Label | None:
    """The label of the scale that exactly these words, or this value, name; None where they name none."""
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
        return words.strip(WRAPPING) or None
    exact = [o for o in options if str(o) == words.strip()]
    alike = exact or [o for o in options if key(str(o)) == key(words) and key(words)]
    return alike[0] if len(alike) == 1 else None


def _number(stated: Any, scale: Scale) -> Label | None:
    value = float(stated) if isinstance(stated, int | float) else _value(str(stated), scale)
    # In plain Python: a frame of one label costs more than everything else about a reply.
    low, high = (scale.low, scale.high) if isinstance(scale, Interval) else scale.bounds or (-math.inf, math.inf)
    whole = math.isfinite(value) and value.is_integer()
    if not (math.isfinite(value) and low <= value <= high and (whole or scale.kind == "interval")):
        return None
    return int(value) if whole else value


def _value(stated: str, scale: Scale) -> float:
    """The number that words stand for; NaN where they stand for none."""
    words = stated.strip(WRAPPING.replace(".", "").replace("-", ""))
    words = re.sub(r"^\*+|\*+$|\.$", "", words).strip(WRAPPING.replace(".", ""))
    stars = _STARS.fullmatch(words)
    if stars:
        return float(len(stars[1]))
    words = _WORD.sub(lambda found: str(_WORDS.index(found[0].casefold())), words)
    fraction, number = _FRACTION.match(words), _NUMBER.match(words)
    if re.fullmatch(r"[-+]?\d+,\d{1,2}", words) and scale.kind == "interval":
        return float(words.replace(",", "."))
    if fraction and scale.bounds is not None and float(fraction["top"]) == scale.bounds[1]:
        return float(fraction["value"])
    percent = number is not None and number["unit"] in ("%", "percent")
    return math.nan if number is None or (percent and scale.bounds != (0.0, 100.0)) else float(number["value"])


_FIRST = {"first", "a", "former", "a > b", "a >> b", "b < a"}
_SECOND = {"second", "b", "latter", "b > a", "b >> a", "a < b"}
_TIE = {"tie", "tied", "a tie", "draw", "neither", "equal", "equally good", "no preference", "a = b", "both equal"}
_TIE |= {"both equally good", "both are equal", "both are equally good", "they are equal", "they are equally good"}


def _preferred(stated: str) -> int | None:
    signs = re.sub(r"\s*([<>=]+)\s*", r" \1 ", stated.casefold()).strip(WRAPPING.replace("<", "").replace(">", ""))
    words = signs if re.search(r"\w [<>=]+ \w", signs) else key(stated, " ")
    words = re.sub(rf"^(?:the )?{THING} |^the ", "", words)
    for number, name in ((r"(?:1|one)", "first"), (r"(?:2|two)", "second")):
        if re.match(rf"\W*(?:the\s+)?{THING}\s", stated, re.IGNORECASE):
            words = re.sub(rf"^{number}\b", name, words)
    words = re.sub(
        r" is (?:the )?(?:clearly |slightly |much )?(?:better|best|superior|preferable|stronger)\b(?: than .*)?| wins$",
        "",
        words,
    )
    words = re.sub(rf" (?:one|{THING})$", "", words)
    return -1 if words in _FIRST else 1 if words in _SECOND else 0 if words in _TIE else None


def _odd(stated: str) -> str | None:
    differs = r"(?: (?:is the odd one(?: out)?|does not belong|doesn t belong|is different|differs)(?: from .*)?)?"
    letter = re.fullmatch(rf"(?:{THING} )?([abc]){differs}", key(stated, " "))
    return letter[1].upper() if letter else None


_READERS: dict[str, Callable[[str], Label | None]] = {"preference": _preferred, "odd-one-out": _odd}
"""For scales that are answered in more ways than with a label as it is listed."""


def key(words: str, gap: str = "") -> str:
    """Letters and digits alone, so that Has-Property and "has property" are the same."""
    spaced = re.sub(r"[\W_]+", " ", words.casefold()).strip()
    return spaced.replace(" ", gap) if gap != " " else spaced


def is_bare(text: str, scale: Scale) -> bool:
    """Whether a reply is nothing but a number or word, on the scale or not."""
    words = text.strip().strip(WRAPPING)
    number = _NUMBER.match(words) or _FRACTION.match(words) or words.casefold() in _WORDS
    return bool(number) or (not scale.numeric and len(words.split()) == 1)
