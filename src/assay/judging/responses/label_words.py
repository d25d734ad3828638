"""Which label of a scale do words name?

Of words, the longest beginning that names a label counts; words that name two labels, or withdraw one, name none.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

from assay.data.scales import Interval, Label, Preference, Scale

WRAPPING = " \t\r\n\"'`*_“”‘’«»()[]{}<>.,;:!#\\$|~"
"""Characters around a number or a word without meaning; around a label, see `unwrapped`."""

_OPENING, ENDING = " \t\r\n\"'`_“”‘’«»‹›„([{#>\\$|•▪●→➡👉✅✔☑✓", " \t\r\n\"'`_“”‘’«»‹›“)]}\\$|.,;:!✅✔☑✓"
"""Characters before and after a label, except those that make another label: ``A+``, ``C#``, ``-1``, ``A?``."""

_TICKS = "→➡👉✅✔☑✓"
"""Words that introduce a number."""

THING = (
    r"(?:option|text|response|answer|output|version|model|assistant|candidate|summary|translation|item|number"
    r"|sentence|reply)"
)
"""What models call one of several texts."""

ITEM = (
    rf"(?:{THING}s?|article|review|tweet|comment|message|post(?:ing)?|essay|statement|claim|passage|story|document|paper"
    r"|submission|conversation|dialogue|email|paragraph|reply|snippet|speech|abstract|solution|piece|work|content"
    r"|incident|sample|explanation|instructions?|directions?|argument|utterance|request|case|issue|problem|matter"
    r"|ticket|reasoning|product|image|page|website|segment|source|picture|photo|hotel|place|poem|letter|proposal"
    r"|report|wording|language|register|style|framing|outcome|result|finding|decision"
    r"|(?<='s )(?:line|turn|remark|words)|move"
    r"|intent(?:ion)?|purpose|function|connection|link|polarity|impact|status"
    r"|risk|potential|priority|urgency|quality|severity|level"
    r"|sentiment|tone|label|category|class|stance|relation(?:ship)?|verdict|rating|grade|score|department|team|queue"
    r"|topic|subject|theme|emotion|mood|attitude|feeling|classification|similarity|position|view|opinion"
    r"|judge?ment|relevanc[ey]|fit|impression|assessment|hypothesis|code"
    r"|reviewer|author|writer|speaker|user|student|learner|customer|teacher|agent|sender|narrator|commenter|poster)"
)
"""What is judged, who wrote it, and what is asked about it."""

_THING_ABROAD = r"(?:antwort|réponse|respuesta|risposta|resposta)"

_LETTERED = (
    rf"(?:{THING}|feedback|comments?|remarks?|notes?|set(?: of {THING}s?| of notes)?|statement|passage|essay|story)"
)
"""And before the letter of one of them, as nothing else is in the words."""

_DIGITS = r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)"
_COMMA = r"[-+]?\d+,\d{1,2}"
_UNIT = (
    r"(?:stars?|points?|pts|★|⭐|sterne?n?|punkte?n?|étoiles?|estrellas?|puntos?|stelle|punti|pontos?|балл(?:а|ов)?"
    r"|[点點分点]|점|つ?星)"
)
_OF = r"(?:/|out\s+of(?:\s+an?(?:\s+(?:possible|maximum|total))?(?:\s+of)?)?|of|von|sur|de|su|di|van|av|af|из|z|من)"
_FRACTION = re.compile(
    rf"^(?P<value>{_COMMA}|{_DIGITS})(?:[\s-]*{_UNIT})?\s*{_OF}\s*(?P<top>\d+(?:\.\d+)?)(?:[\s-]*{_UNIT})?$",
    re.IGNORECASE,
)
_FULL_MARKS = re.compile(
    r"^(?:[满滿]分)?(?P<top>\d+)\s*[点點分점]\s*(?:[满滿]点|[満满滿]点|만점)?\s*(?:中|에|の?うち|[,，、])\s*"
)
"""The top of the scale before the label, as in "5점 만점에 4점", "5点満点中4点"."""

_NUMBER = re.compile(rf"^(?P<value>{_DIGITS})(?:[\s-]*(?P<unit>%|percent|{_UNIT}))?$", re.IGNORECASE)
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_ABROAD = (
    "zwei drei vier fünf sechs sieben acht neun zehn",
    "deux trois quatre cinq six sept huit neuf dix",
    "dos tres cuatro cinco seis siete ocho nueve diez",
    "due tre quattro cinque sei sette otto nove dieci",
    "dois três quatro cinco seis sete oito nove dez",
    "twee drie vier vijf zes zeven acht negen tien",
    "два три четыре пять шесть семь восемь девять десять",
    "二 三 四 五 六 七 八 九 十",
)
"""Two to ten in other languages: words for one are articles as well."""

_COUNTS = {word: n for words in _ABROAD for n, word in enumerate(words.split(), 2)}
_COUNTS |= {word: n for n, word in enumerate(_WORDS)}
_TEENS = "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_COUNTS |= {word: n for n, word in enumerate(_TEENS.split(), 11)}
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SPELLED = re.compile(
    rf"\b(?:(?:an?|one)\s+(?P<hundred>hundred)"
    rf"|(?P<tens>{'|'.join(_TENS)})(?:[\s-]+(?P<ones>{'|'.join(_WORDS[1:10])}))?"
    rf"|(?P<count>{'|'.join(sorted(_COUNTS, key=len, reverse=True))}))\b",
    re.IGNORECASE,
)
_PARTS = {"half": 0.5, "a half": 0.5, "a third": 1 / 3, "two thirds": 2 / 3, "a quarter": 0.25, "three quarters": 0.75}
"""Shares in words."""

_ABOUT = re.compile(
    r"^(?:(?:maybe|perhaps)\s+)?(?:just\s+)?(?:about|around|roughly|approximately|circa|ca\.?)\s+(?=\S)"
    r"|[\s-]*(?:\bor\s+so|(?<=\d)-?ish|,?\s+give\s+or\s+take|,?\s+(?:or\s+)?there\s?abouts|,?\s+approximately)$",
    re.IGNORECASE,
)
"""What makes a number less exact: ``about 0.8``, ``8ish``."""

_STARS = re.compile(r"([★⭐🌟]+)☆*")

_ENDS = (
    r"\s+[-—–]+\s|\s+(?:#|//)\s|[.!]\s|。|;|\n|\s*\(|\s*\||[\"'`]\s*[,}]|,\s|[,、](?=[\u3040-\u9fff])|:\s"
    r"|(?<!\w\w)(?<=\w)\)\s+(?=\w)|,?\s+(?:rather\s+than|and\s+not|but\s+not)\b"
    r"|,?\s+(?:because|since|as|after|due|given|based|porque|parce\s+que|weil|denn|perché|poiché|ya\s+que|pois"
    r"|with(?=\s+[\w %.]{0,20}\b(?:confidence|certainty)\b)"
    r"|car(?=\s+(?:elle|il|l[ae]|les|ce|cette)\b)|da(?=\s+(?:sie|er|es|die|der|das)\b))\b"
)
_LINE_SPLITS = re.compile(_ENDS, re.IGNORECASE)
"""The end of the words of a label, before its explanation."""

_SPLITS = re.compile(
    rf"{_ENDS}|\s+(?:for|on|in|with|which|that|but|although|though|or|and|to|over|than|from|here|overall|à|pour"
    rf"|für|para|por|per)\b",
    re.IGNORECASE,
)
"""The same for a text that certainly states a label: ``5 for its wit``."""

BULLET = re.compile(
    r"^(?:[\s>#]|\*\*|\*(?!\w))*(?:[-*]\s+)?(?:(?:\[[x✓✔✅]\]|\([x✓✔✅]\))\s+)?"  # dialect: kept
    r"(?:(?:=>|⇒|→|->)\s*)?(?:(?:so|thus|hence|therefore|finally|overall|in conclusion)\b[,:]?\s+|well(?:,|\.{3}|…)\s+"
    r"|(?:clearly|absolutely|definitely|certainly|unfortunately|of course|without (?:question|(?:a )?doubt)|no doubt"
    r"|in short|in my (?:view|opinion)|on balance|all in all|all things considered|on the whole|as it (?:stands"
    r"|is|did|does)),\s+)?",
    re.IGNORECASE,
)
"""The beginnings of a line."""

_LEADING = re.compile(
    r"^(?:(?:an?|the|my|final|eine?n?|une?)\s+)*(?:(?:strong|solid|clear|firm|fair|decent|weak|bare|generous|high"
    r"|low|good)\s+(?=\d|(?-i:[A-F])\b))?(?:(?:option|answer|label|category|choice|class|rating|score|grade"
    r"|verdict|model|response|level|code|type)s?\b)?[\s:=]*(?:(?:of|as|is)\b)?[\s:]*",
    re.IGNORECASE,
)
_CORRECTED = re.compile(
    r"^[\s,;.()—–-]*(?:wait|(?<!\()no(?!\s+(?:question|doubt|hay|es|se|ha|tiene)\b)|no(?=[,.;:])|nope|oops|actually|(?:scratch"
    r"|strike|cancel|make) that|hold on|never ?mind|I mean|rather(?!\s+than)|correction|revised|corrected)\b",
    re.IGNORECASE,
)
TURNING = re.compile(
    r"^[\s`]*(?:wait|no|but|however|actually|hmm?|though|on second thought|on reflection)\b", re.IGNORECASE
)
"""The beginning of a text in which the model starts to reconsider."""

_HEDGED = re.compile(
    r"^(?!\W*to\s+(?:earn|get|reach|achieve|deserve|merit|receive|be|become)\b)(?:[\s,;(]*(?P<how>or|to|and|but|maybe|perhaps|possibly|almost|nearly|leaning|bordering|verging|close|closer)"
    r"|\.?\s+(?:but|or|perhaps|maybe)|\s*[-—–]+\s*(?:or|perhaps|maybe|possibly))\b(?P<other>[^.;\n]*)",
    re.IGNORECASE,
)
_IN_PART = re.compile(
    r"^[\s,;(\[–—-]*(?:but\s+)?(?:only\s+|just\s+)?(?:partial(?:ly)?|partly|mostly|somewhat|almost|barely|nearly|borderline"
    r"|in\s+part|to\s+(?:some|a\s+certain)\s+(?:extent|degree)|not\s+(?:entirely|fully|quite|completely|really)"
    r"|with\s+(?:reservations|caveats))\b(?!\s+(?:because|since|due|for|as)\b)",
    re.IGNORECASE,
)
"""What makes less of a label: ``correct (partially)``, ``yes, mostly``."""

_CONDITION = re.compile(
    r"^[ \t,;(–—-]*(?:but\s+)?(?:only\s+)?(?:(?:if|provided|assuming|unless)\s+(?:(?:that|only)\s+)?"
    r"(?:it|its|they|the|this|that|there|taken|read|seen|considered|interpreted|understood|meant)\b"
    r"|(?:were|had)\s+(?:it|they|the|this|there)|wenn|falls|sofern|si\s+(?:elle|ils?|les?|la|el|l[ao]s|se))\b",
    re.IGNORECASE,
)
"""What makes a label one of something else: ``9, if the sources were right``."""

_DENIED = re.compile(
    r"^\s*[:=(–—-]\s*(?:no|not|false|none|absent|n/a|0(?:\.0+)?(?!\.?\d))\b(?!\s+\w)|^\s*[:=|(]?\s*[❌✗✘✖]",
    re.IGNORECASE,
)
"""What takes a label back: ``hate: no``."""

_BEGUN = re.compile(
    r"^[,.]?\s+(?:let(?:'s|\s+me|\s+us)|I(?:'ll|\s+will|\s+need))\b"
    r"|^[,.]?\s+(?:(?:but\s+)?(?:I(?:'m|\s+am)\s+)?sorry\b"
    r"|I(?:\s+(?:can(?:no|')t|cannot|won't|will\s+not|must\s+decline\s+to)|(?:'m|\s+am)\s+(?:unable|not\s+able)\s+to)\s+"
    r"(?:help|assist|comply|provide|rate|answer|engage|fulfil+|continue|do\s+(?:this|that|so))\b)",
    re.IGNORECASE,
)
"""What follows a word that only begins a talk, or a refusal: ``Okay, let me look``, ``No, I can't help with that``."""

_RANGE = re.compile(r"^\s*[-—–~]\s*\d|^\s*[,/&]\s*\d|^\s+(?:on|for|in|from|à|pour|für|para|por|per)\b[^.;\n]*\d")
_LIST = re.compile(r"^\s*[,/&]\s*[ABC]\b|^[.:)]\s.*\b[BC][.:)]\s")

_PLACES = re.compile(r"\b(?:[ABC]|first|second|tie)\b")

NEAR, MOST_STATEMENTS = 300, 50
"""Characters around the words by which a label is stated, and number of such words from the end, that are looked at:
more than any statement needs, and few enough that a reply of megabytes that goes in circles is read in a moment."""

LONGEST_LINE = 80
"""Characters of a line: longer ones are a text, not a label or what leads to one."""

DOUBTFUL = object()
"""Marker instead of a label: the words name one, and withdraw it or name another."""


def stated_label(stated: Any, scale: Scale, *, line: bool = False) -> Any:
    """The label of the scale that was stated; `DOUBTFUL`, or None if it is not on the scale.

    Of words, the longest beginning that names a label counts: ``4 out of 5 because …`` is the 4 of 5. A ``line``
    may be any sentence, so less of it may follow the label.
    """
    if not isinstance(stated, str):
        return label_on_scale(stated, scale)
    if (scale.numeric and is_bound(stated)) or (line and scale.kind in _READERS and _BEGINNING.match(stated)):
        return None
    words = _strip_markdown(re.sub(r"(?<=\w)\*\*\s+(?=[A-Z])", "\n", BULLET.sub("", stated))).strip()
    words = _SUM.sub("", words) if scale.numeric else words
    splits = list((_LINE_SPLITS if line else _SPLITS).finditer(words, 0, NEAR))
    if takes_any_word(scale):
        return label_on_scale(words[: splits[0].start()] if splits else words, scale)
    words = words[:NEAR]
    for candidate, rest in [(words, ""), *((words[: s.start()], words[s.start() :]) for s in reversed(splits))]:
        for part in dict.fromkeys((candidate, strip_lead(candidate, scale))):
            label = label_on_scale(part, scale)
            if label is not None:
                return DOUBTFUL if is_in_doubt(rest, label, scale) else label
    return _number_in_brackets(words, scale)


_BEGINNING = re.compile(r"\W*(?:first|second)(?:ly)?,\s+(?!because|since|as\b|for\b|by\b)\w", re.IGNORECASE)
"""The beginning of an argument, which is no option: ``First, consider A``."""


_SUM = re.compile(r"^[\d\s.()]+[-+*/×÷][-+*/×÷\d\s.()]*=\s*")
"""What a number is computed from: ``100 - 6 = 94``."""


def strip_lead(words: str, scale: Scale) -> str:
    """Return a text without "the answer is", unless that is the label itself: ``A`` can be an article."""
    rest = _LEADING.sub("", words, count=1)
    lead = words[: len(words) - len(rest)]
    return words if lead.strip() and label_on_scale(lead, scale) is not None else rest


def is_bound(stated: str) -> bool:
    """Whether this is an end of a range, or about a number: ``>4``, ``< 4``, ``~4``."""
    return re.match(r"\s*(?:[~<≤≥]\s*|>=?)[-+]?\.?\d[^>]*$", stated) is not None


def takes_any_word(scale: Scale) -> bool:
    """Return whether any word is a label: categories without a list."""
    return scale.categories is None and not scale.numeric and scale.kind not in _READERS


def is_in_doubt(rest: str, label: Label, scale: Scale) -> bool:
    """Return whether the text after a label retracts it, or names another one."""
    if (
        _CORRECTED.match(rest)
        or is_conditional(rest)
        or (_RANGE if scale.numeric else _LIST).match(rest)
        or names_another(rest, label, scale)
    ):
        return True
    if (
        not scale.numeric
        and scale.kind not in _READERS
        and not str(label).isdigit()
        and (_IN_PART.match(rest) or _BEGUN.match(rest) or _DENIED.match(rest))
    ):
        return True
    degree = None if scale.numeric else re.match(r"[\s,(–—-]+(\w+)\W*$", rest)
    if degree is not None and label_on_scale(f"{degree[1]} {label}", scale) not in (None, label):  # agree (strongly)
        return True
    hedged = _HEDGED.match(rest)
    if hedged is None:
        return False
    other = hedged["other"]
    if hedged["how"] in ("but", "and") and re.match(r"\s*(?:not|never)\b", other):  # offensive (but not hate)
        return False
    if scale.numeric:
        return bool(re.search(r"\d|\b(?:half|higher|lower|more|less|above|below)\b", other) or WORD.search(other))
    if scale.kind in _READERS:
        named = (label_on_scale(one, scale) for one in _PLACES.findall(other))
        return not (hedged["how"] == "to" and _prefers(label, scale)) and any(one not in (None, label) for one in named)
    said = f" {spoken(other)} "
    return any(f" {spoken(str(one))} " in said for one in scale.categories or () if one != label)


def is_conditional(rest: str) -> bool:
    """Whether the text after a label says that it is the label of something else."""
    return _CONDITION.match(rest) is not None


_JOINS = re.compile(
    r"^(?:[\s,;/&|+:.!?(\[=·•~-]|[–—→]|\b(?:and|or|to|with|vs|versus|for|on|in|und|oder|et|ou|y|o|à|pour|für|para|por|per)\b)+",
    re.IGNORECASE,
)
"""Words between two labels that are both named; ``over`` and ``than`` choose the first."""


def names_another(rest: str, label: Label, scale: Scale) -> bool:
    """Whether what follows a label is another one and nothing more: ``A, B``, ``1 / 2``, ``low (mid)``."""
    joined = _JOINS.match(rest)
    if joined is None or (joined[0].split() == ["to"] and _prefers(label, scale)):
        return False
    said = rest[joined.end() :][:LONGEST_LINE]
    ends = [len(said), *(one.start() for one in re.finditer(r"[,;/&|\n)]|[.!?](?:\s|$)", said))]
    return any(label_on_scale(said[:end], scale) not in (None, label) for end in ends)


def _prefers(label: Label, scale: Scale) -> bool:
    """Whether "to" may lead from a label to the one it is preferred to: ``I prefer A to B``."""
    return scale.kind == "preference" and label != 0


def _strip_markdown(text: str) -> str:
    """Without marks for bold, italics and code; a lone ``*`` behind a word stays, as in the grade ``A*``."""
    text = re.sub(r"\*{2,}|`|</?(?:b|strong|em|i|s)>", "", text)
    return re.sub(r"\*(?=\S)([^*\n]+?)(?<=\S)\*|(?<!\S)\*(?=\S)", r"\1", text)


def _number_in_brackets(words: str, scale: Scale) -> Label | None:
    """``Good (4)``: the number after its meaning."""
    found = re.fullmatch(r"[A-Za-z][A-Za-z ]{0,40}\(([^()]{1,12})\)[.\s*]*", words) if scale.numeric else None
    return label_on_scale(found[1], scale) if found else None


def label_on_scale(stated: Any, scale: Scale) -> Label | None:
    """Return the label of the scale that exactly these words, or this value, name; None if they name none."""
    if isinstance(stated, bool) and scale.kind == "nominal":
        stated = str(stated)
    if stated is None or isinstance(stated, bool | list | dict):
        return None
    if scale.numeric:
        return _number(stated, scale)
    if scale.kind in _READERS:
        return _READERS[scale.kind](_letters(_PICTURES.sub("", str(stated))), scale)
    words = str(stated)
    options = scale.categories
    if options is None:
        return unwrap(words) or None
    if len(words) > NEAR + max(len(str(one)) for one in options):
        return None  # a text, not a label
    found = named_labels(options, words.strip(), unwrap(words))
    if not found and not words.isascii():
        bare = unwrap(_PICTURES.sub("", words))
        found = named_labels(options, bare) or named_labels(options, _PREDICATE.sub("", bare))
    return found[0] if len(found) == 1 else None


_PREDICATE = re.compile(r"(?:的?(?:评价|評價|评论|評論)|的|です|である|だ|입니다|이다)$")
"""What ends a sentence that says what something is: ``情感是负面的``, ``4점입니다``."""

_PICTURES = re.compile(r"[\u2600-\u260f\u2613-\u2712\u2728-\u274b\u274d-\u27bf\U0001f300-\U0001faff]")
"""Emoji around a label, except crosses and check boxes: ``Partially correct ⚠``."""


def named_labels(options: Sequence[Label], *spellings: str) -> list[Label]:
    """Return the labels that words name: as written, in any case, or as words and numbers."""
    for same in (str, str.casefold):
        for words in spellings:
            found = [one for one in options if same(str(one)) == same(words)]
            if found:
                return found
    terms = tokens(spellings[-1])
    of = {one: tokens(unwrap(str(one))) for one in options}
    if terms[:1] == ("+",) and "".join(terms[1:]).isdigit() and terms not in of.values():
        terms = terms[1:]  # +2 on a scale from -2 to 2
    found = [one for one in options if of[one] == terms] if terms else []
    # "mid high" is mid-high, but not where mid and high are labels too: then both are named.
    several = any(terms[:n] in of.values() and terms[n:] in of.values() for n in range(1, len(terms)))
    return [] if several else found


_TOKEN = re.compile(
    r"\d+(?:\.\d+)?|(?P<word>[^\W\d_]+(?:'[^\W\d_]+)*)|(?<=[^\W\d_])[-_‐‑](?=[^\W\d_])|(?P<gap>[\s_]+)|(?P<sign>.)",
    re.DOTALL,
)
_CAMEL = re.compile(r"(?<=[a-zß-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])")


def tokens(words: str) -> tuple[str, ...]:
    """The words and numbers of a label, and every sign that is no space or hyphen between words.

    So Has-Property, hasProperty and "has property" are equal, 1.0 is 1, and ``A/B`` is not ``AB``, ``C++`` not ``C``,
    ``1, 2`` not ``12``.
    """
    found: list[str] = []
    for one in _TOKEN.finditer(words):
        if one["word"]:
            found += [part.casefold() for part in _CAMEL.split(one["word"])]
        elif one["sign"]:
            found.append(one["sign"])
        elif one[0][0].isdigit():
            found.append(one[0].lstrip("0") or "0" if "." not in one[0] else f"{float(one[0]):.12g}")
    return tuple(found)


def spoken(words: str) -> str:
    """Words and numbers with one space between them, and signs among them."""
    return " ".join(tokens(unwrap(words)))


def unwrap(words: str) -> str:
    """A label without quotes, brackets, full stops and Markdown around it; signs that may be its own stay."""
    words = _strip_markdown(words).strip()
    while words:
        inner = words[1:-1] if words[0] == "<" and words[-1] == ">" else words
        inner = inner.lstrip(_OPENING).rstrip(ENDING)
        inner += ")" if inner.count("(") > inner.count(")") else ""
        if inner == words:
            return words
        words = inner
    return words


def _number(stated: Any, scale: Scale) -> Label | None:
    value = float(stated) if isinstance(stated, int | float) else _value(str(stated), scale)
    # In plain Python: a frame of one label costs more than everything else about a reply.
    low, high = (scale.low, scale.high) if isinstance(scale, Interval) else scale.bounds or (-math.inf, math.inf)
    whole = math.isfinite(value) and value.is_integer()
    if not (math.isfinite(value) and low <= value <= high and (whole or scale.kind == "interval")):
        return None
    return int(value) if whole else value


def _in_digits(spelled: re.Match[str]) -> str:
    """The digits of a number in words: ``eighty-five``."""
    tens, ones, count = (one and one.casefold() for one in (spelled["tens"], spelled["ones"], spelled["count"]))
    if tens:
        return str(10 * (_TENS.index(tens) + 2) + (_COUNTS[ones] if ones else 0))
    return str(_COUNTS[count]) if count else "100"


def _value(stated: str, scale: Scale) -> float:
    """Return the number that words name; NaN if they name none."""
    words = stated.strip(WRAPPING.replace(".", "").replace("-", "") + _TICKS)
    words = re.sub(r"^\*+|\*+$|\.$", "", words).strip(WRAPPING.replace(".", ""))
    stars = _STARS.fullmatch(words)
    if stars:
        return float(len(stars[1]))
    words = re.sub(r"^[\U0001F300-\U0001FAFF\s]+|[\U0001F300-\U0001FAFF\s]+$", "", words)
    words = _ABOUT.sub("", words)
    if words.casefold() in _PARTS and scale.bounds == (0.0, 1.0):
        return _PARTS[words.casefold()]
    words = _SPELLED.sub(_in_digits, words)
    words = re.sub(r"^(\d+)(?: and (?:a|one) half\b|\s+1/2$)", r"\1.5", words, flags=re.IGNORECASE)
    words = re.sub(r"^(\d+) point (\d)$", r"\1.\2", words, flags=re.IGNORECASE)
    words = re.sub(
        r"^(?:(minus|negative)|plus)\s+(?=[\d.])", lambda one: "-" if one[1] else "", words, flags=re.IGNORECASE
    )
    words = _PREDICATE.sub("", words).rstrip()
    full = _FULL_MARKS.match(words)
    if full and scale.bounds is not None and float(full["top"]) == scale.bounds[1]:
        words = words[full.end() :]
    fraction, number = _FRACTION.match(words), _NUMBER.match(words)
    if re.fullmatch(r"[-+]?\d+,\d{1,2}", words) and scale.kind == "interval":
        return float(words.replace(",", "."))
    if fraction and scale.bounds is not None and float(fraction["top"]) == scale.bounds[1]:
        return float(fraction["value"].replace(",", "."))
    if number is None:
        return math.nan
    if number["unit"] not in ("%", "percent"):
        return float(number["value"])
    hundred: dict[tuple[float, float] | None, float] = {(0.0, 1.0): 1.0, (0.0, 100.0): 100.0}
    return float(number["value"]) * hundred.get(scale.bounds, math.nan) / 100


_FIRST = {"first", "1st", "a", "former", "a > b", "a >> b", "b < a"}
_SECOND = {"second", "2nd", "b", "latter", "b > a", "b >> a", "a < b"}
_TIE = {"tie", "tied", "a tie", "draw", "a draw", "neither", "equal", "equally good", "no preference", "a = b"}
_TIE |= {"both equal", "both are equal", "they are equal"}
_BOTH = rf"(?:both|they|the two)(?: (?:{THING}s?|replies|summaries))?"
_EQUALLY = re.compile(
    rf"(?:{_BOTH}(?: are)? )?(?:equally \w+(?: written)?|(?:(?:about|roughly|nearly|basically|essentially"
    rf"|more or less) )?(?:equal|the same|tied|comparable)(?: in (?:overall )?quality)?"
    r"|of (?:equal|the same|comparable) (?:overall )?quality|on (?:a )?par|evenly matched)(?: overall)?"
    r"|(?:(?:there is|there's|i see|i find|i can see) )?no (?:(?:clear|real|meaningful|significant|notable"
    r"|discernible) )?(?:winner|difference(?! in (?!(?:overall )?quality)))(?: in (?:overall )?quality)?"
    r"(?: between (?:them|the two|a and b)(?: \w+)?)?"
    r"|(?:it is |it's )?(?:a )?toss up|neither(?: of them| one| \w+)? is (?:better|preferred)(?: (?:than|to"
    r"|over) the other)?|(?:it is |it's )?(?:a )?(?:tie|draw) between (?:a and b|the two)"
)
_BETTER_IN_ASIA = re.compile(
    r"[^\W不没沒非]{0,6}?(?:回答|回复|回應|选项|選項|応答|응답|답변) ?(?P<side>[ab]) ?"
    r"(?:更(?:好|优|優|佳)|の(?:方|ほう)が(?:良|よ|優)\w*|[가이] 더 (?:좋|낫|나|우수)\w*)"
)
_MUCH = (
    r"(?:(?:clearly|slightly|much|somewhat|marginally|far|by far|a (?:bit|little|lot)|significantly|considerably"
    r"|strongly|substantially|noticeably|definitely|decidedly|generally|overall|simply) ){0,2}"
)
_IS = r"(?:is|was|feels|seems|looks|reads|sounds|comes (?:across|out)(?: as)?|to be)(?: to be)?"
_IS_BETTER = re.compile(
    rf" {_IS} (?:the )?{_MUCH}(?:better|best|superior|preferable|stronger|(?:clear )?winner)\b"
    rf"(?: (?:one|choice|{THING}))?(?: of the (?:two|pair))?(?: (?:than|to) .*)?"
    r"| wins(?: (?:this|the) (?:one|round|comparison|pair|case))?(?: overall)?$"
    rf"| (?:(?:narrowly|slightly|just|clearly) )?(?:edges out|beats|outperforms|surpasses|outshines|wins over) "
    rf"(?:the (?:other|second|first)|{THING} [ab]|[ab])\b.*$"
    rf"| (?:provides|gives|offers|delivers|is|has) the (?:better|best|stronger|superior|more \w+(?: and \w+)?)"
    rf" (?:{THING}|explanation)(?: overall)?$"
    r"| (?:does|did|has done) (?:a|the) better job(?: overall)?(?: (?:of|at|in|with) .*)?$"
    r"| (?:serves|helps|answers|meets|satisfies) (?:the )?(?:user|reader|question|prompt|request|task|need)"
    r"(?:s|'s \w+)? better$"
    r"| (?:ist|est|es|è|é) (?:\w+ )?(?:besser|mejor|meilleure?|migliore|melhor)$"
)
_SERVED_BY = re.compile(
    rf"^(?:user|reader|question)s? (?:is|are|would be) better (?:served|helped|answered) by (?:the )?(?:{THING} )?"
)
_SIDE_BETTER = re.compile(
    rf"(a|b|first|second) {_MUCH}(?:better|superior|preferable|stronger)(?: overall)?(?: than .*)?"
)
_SIDE_NAME = rf"(?:the )?(?:{THING} )?(?P<side>a|b|first|second|former|latter|1st|2nd)(?: (?:one|{THING}))?"
_CHOSEN = re.compile(
    rf"(?:my |the )?(?:vote|edge|preference|nod|win|point|advantage)(?: here| overall)? (?:goes|is|falls) (?:to"
    rf"|for|with) {_SIDE_NAME}"
    rf"|(?:i (?:would |do )?|i'd )?(?:\w+ly )?(?:like|liked|prefer|preferred|favou?r|enjoyed) {_SIDE_NAME}"
    rf"(?: (?:more|better|best|most))?(?: (?:than|over|to) .*)?"
    rf"|{_SIDE_NAME} (?:has|gets|takes|holds) (?:the edge|my (?:vote|preference)|the upper hand)"
    rf"|{_SIDE_NAME} (?:comes out|is) (?:ahead|on top)|{_SIDE_NAME} over (?:the )?(?:{THING} )?(?:a|b|first"
    rf"|second|other)"
    rf"|{_SIDE_NAME} is (?:{_MUCH}more \w+(?: and (?:more )?\w+)? than .*|more (?:accurate|correct|truthful"
    rf"|faithful|relevant|helpful|useful|valuable|convincing|persuasive|suitable))"
    rf"|(?:of the two )?{_SIDE_NAME} (?:is more helpful|wins) of the two".replace("(?P<side>", "(")
)
_DROPPED = re.compile(
    rf"(?:the )?(?:weaker|worse|losing|inferior|poorer|rejected|less \w+)(?: (?:{THING}|one))?(?: of the (?:two"
    rf"|pair))? (?:is|was) {_SIDE_NAME}|(?:i (?:would |do )?|i'd )(?:reject|discard|rule out|eliminate) {_SIDE_NAME}"
    rf"|{_SIDE_NAME} is {_MUCH}(?:less \w+ than|not as \w+ as|worse than) .*"
    rf"|{_SIDE_NAME} is the (?:worse|weaker|inferior|losing|less \w+)(?: (?:{THING}|one))?|{_SIDE_NAME} loses".replace(
        "(?P<side>", "("
    )
)
"""What says of a side that it is chosen, and that it is not."""

_WORSE = re.compile(
    rf"(?P<side>a|b|first|second) (?:{_IS} (?:the )?{_MUCH}(?:worse|inferior|weaker)(?: {THING})?"
    rf"(?: (?:than|to) .*| of the (?:two|pair))|falls short of (?:{THING} )?(?:a|b|the other)\b.*"
    r"|loses(?: (?:this|the) (?:one|round|comparison|pair|case))?(?: overall)?)"
)


def _preference(stated: str, scale: Scale) -> int | None:
    if isinstance(scale, Preference) and scale.grades:
        return _grade_side(stated, scale)
    signs = (
        re.sub(rf"\b{THING}\s+(?=[ab]\b)", "", stated.casefold()) if re.search("[<>=]", stated) else stated.casefold()
    )
    signs = re.sub(r"(?<!\s)\s*([<>=]+)\s*", lambda one: f" {re.sub('=+', '=', one[1])} ", signs).strip(
        WRAPPING.replace("<", "").replace(">", "")
    )
    words = signs if re.search(r"\w [<>=]+ \w", signs) else spoken(stated)
    words = re.sub(rf"^(?:both|the two|they)(?: of them| {THING}s)?(?: are)? (?=equal|tied?\b)", "", words)
    if _EQUALLY.fullmatch(words):
        return 0
    words = re.sub(r" (?:by (?:far|an? [\w ]{1,30})|hands down|narrowly|overall)$|^of the two ", "", words)
    for pattern, sign in ((_CHOSEN, 1), (_DROPPED, -1)):
        if chosen := pattern.fullmatch(words):
            side = next(one for one in chosen.groups() if one)
            if side == "a" and not re.search(r"\bA\b", stated):  # an article
                return None
            return -sign if side in _FIRST else sign
    words = re.sub(rf"^([ab]) (?=(?:{THING} )?\1\b)", "", words)  # the sign and the letter
    words = re.sub(rf"^(?:it's|it is|this is|that's|i(?:'d| would)? call it) |^(?:the )?{THING} |^the ", "", words)
    words = re.sub(rf"^(?:\w{{1,3}} )?{_THING_ABROAD} (?=[ab]\b)", "", words)
    words = _IS_BETTER.sub("", _SERVED_BY.sub("", words))
    side = _SIDE_BETTER.fullmatch(words)
    if side is not None and (side[1] != "a" or re.search(r"\bA\b", stated)):  # and not "a better one"
        words = side[1]
    words = re.sub(rf" (?:one|{THING})$", "", re.sub(r" (?:overall|here)$", "", words))
    if better := _BETTER_IN_ASIA.fullmatch(words):
        return -1 if better["side"] in _FIRST else 1
    if worse := _WORSE.fullmatch(words):
        return 1 if worse["side"] in _FIRST else -1
    return -1 if words in _FIRST else 1 if words in _SECOND else 0 if words in _TIE else None


_IN_BRACKETS = re.compile(r"\(([ABC])\)", re.IGNORECASE)
_NUMBERED = {"1": "A", "2": "B", "3": "C", "one": "A", "two": "B", "three": "C"}
_NUMBERED_THING = re.compile(rf"\b({THING})\s+([1-3]|one|two|three)\b", re.IGNORECASE)


def _letters(stated: str) -> str:
    """The letters of texts without brackets, ``Output (a)``, also for numbers: ``Text 2``."""
    stated = _IN_BRACKETS.sub(r"\1", stated)
    return _NUMBERED_THING.sub(lambda one: f"{one[1]} {_NUMBERED[one[2].casefold()]}", stated)


_SIGNS = re.compile(
    rf"(?:{THING}\s+)?(?P<one>[AB])\s*(?P<sign>[<>]+|=+)\s*(?:{THING}\s+)?(?P<other>[AB])", re.IGNORECASE
)
_SIDES = r"(?:a|b|first|second|former|latter)"
_SIDE = re.compile(rf"(?P<side>{_SIDES})\b ?(?P<how>.*)")
_WEAK = re.compile(
    r"(?:slight(?:ly)?|somewhat|marginal(?:ly)?|a (?:bit|little)|a tad|mild(?:ly)?|weak(?:ly)?|small"
    r"|narrow(?:ly)?|slim)"
)
_STRONG = re.compile(
    r"(?:much|far|significant(?:ly)?|considerabl[ey]|clear(?:ly)?|strong(?:ly)?|substantial(?:ly)?|a lot|wide"
    r"|large|big|huge)"
)
_HOW = rf"(?P<how>{_WEAK.pattern}|{_STRONG.pattern})"
_GRADE_FORMS = (
    re.compile(
        rf"(?:i (?:have )?(?:an? )?)?{_HOW} (?:preference for|prefer(?:red)?|favou?r) (?:the )?(?P<side>{_SIDES})"
    ),
    re.compile(rf"(?P<side>{_SIDES}) (?:better|preferred|wins|won) by (?:an? )?{_HOW} margin"),
    re.compile(rf"(?P<side>{_SIDES}) (?:better|preferred) (?:but )?(?:only |just )?{_HOW}(?: so)?"),
)
"""How much better a side is, in other words: ``Slight preference for A``, ``B is better by a wide margin``."""


def _grade_side(stated: str, scale: Preference) -> int | None:
    """A side with its grade, in the words of the scale, as usual words, or as signs (``A>>B``); or a tie.

    A side alone does not say how much better.
    """
    signs = _SIGNS.fullmatch(stated.strip(WRAPPING.replace("<", "").replace(">", "")))
    if signs:
        return _sign_side(signs["one"], signs["sign"], signs["other"], scale)
    words = re.sub(
        rf"^(?:it's|it is|this is) |^the |\b{_IS} (?:the )?|\b(?:{THING}|one)\b| (?:here|overall)$",
        "",
        re.sub("[:()]", " ", spoken(stated)),
    )
    words = " ".join(words.replace("-", " ").replace(",", " ").split())
    formed = next((form for one in _GRADE_FORMS if (form := one.fullmatch(words))), None)
    words = f"{formed['side']} {formed['how']} better" if formed else words
    if words in _TIE or _EQUALLY.fullmatch(words):
        return 0
    names = {" ".join(re.sub("[-:,]", " ", spoken(scale.word(n))).split()): n for n in scale.categories}
    found = names.get(words)
    side = _SIDE.fullmatch(words)
    if found is not None or side is None:
        return None if found is None else int(found)
    sign = -1 if side["side"] in _FIRST else 1
    worse = re.fullmatch(r"(.*)\bworse (?:than .*|of the (?:two|pair))", side["how"])
    sign, how = (-sign, f"{worse[1]}better") if worse else (sign, re.sub(r" than .*$", "", side["how"]))
    of_words = [n for n, word in enumerate(scale.grades, 1) if " ".join(tokens(word)) == how]
    most = len(scale.grades)
    of_words = of_words or [
        grade
        for pattern, grade in ((_WEAK, 1), (_STRONG, most))
        if re.fullmatch(rf"{pattern.pattern} (?:better|preferred|stronger|superior)", how)
    ]
    return sign * of_words[0] if of_words else None


def _sign_side(one: str, sign: str, other: str, scale: Preference) -> int | None:
    """The label of ``A>B`` and ``A>>B``, the weakest and the strongest of two grades.

    Of three grades ``A>>B`` may be the second or the third.
    """
    if one.casefold() == other.casefold() or len(set(sign)) != 1 or 1 < len(sign) < len(scale.grades):
        return None
    if sign[0] == "=":
        return 0
    first = (one.casefold() == "a") == (sign[0] == ">")
    return (-1 if first else 1) * len(sign) if len(sign) <= len(scale.grades) else None


def _odd_letter(stated: str, _scale: Scale) -> str | None:
    differs = (
        r"(?: (?:(?:is the one (?:that|which) )?(?:does not|doesn't) (?:belong|fit|match)"  # dialect: kept
        r"|(?:is the one (?:that|which) )?(?:differs|stands (?:apart|out))"
        r"|as the (?:odd one(?: out)?|outlier)"
        r"|is (?:the (?:odd one(?: out)?|outlier|exception)|different)"
        r")(?: (?:from|with|in) .*)?)?"
    )
    lead = (
        r"^(?:leaving|(?:the )?(?:one|text|option|item|sentence) (?:that|which) "  # dialect: kept
        r"(?:(?:does not|doesn't) (?:fit|belong|match)(?: in)?|differs|stands (?:apart|out)) is) "
    )
    words = re.sub(lead, "", spoken(stated))
    ordinal = re.fullmatch(rf"(?:the )?(first|second|third)(?: (?:one|{_LETTERED}))?{differs}", words)
    if ordinal is not None:
        return {"first": "A", "second": "B", "third": "C"}[ordinal[1]]
    letter = re.fullmatch(rf"(?:the )?(?:{_LETTERED} )?([abc]){differs}", words)
    return letter[1].upper() if letter else None


_READERS: dict[str, Callable[[str, Scale], Label | None]] = {"preference": _preference, "odd-one-out": _odd_letter}
"""Patterns for scales with more forms of an answer than a listed label."""


def is_bare(text: str, scale: Scale) -> bool:
    """Return whether a response is only a number or word, on the scale or not."""
    words = text.strip().strip(WRAPPING)
    number = _NUMBER.match(words) or _FRACTION.match(words) or words.casefold() in _WORDS
    return bool(number) or (not scale.numeric and len(words.split()) == 1)


_EVERYDAY = str.maketrans(
    {"−": "-", "–": "-", "’": "'", "\ufe0f": "", "\u20e3": "", "≫": ">>", "≪": "<<", "🅰": "A", "🅱": "B"}
)
_EVERYDAY |= str.maketrans({"≻": ">", "≺": "<", "،": ",", "؛": ";", "؟": "?", "۔": ".", "।": "."})
_VULGAR = re.compile(r"(?<![\d.,/])(\d*)\s?([¼½¾⅓⅔⅕⅖⅗⅘⅛⅜⅝⅞])(?![\d/])")
"""A number with a fraction that is one sign: ``7½``."""


def plain(text: str) -> str:
    """Digits and letters in their everyday form; invisible characters gone."""
    if not text.isascii():
        text = _VULGAR.sub(lambda one: f"{int(one[1] or 0) + unicodedata.numeric(one[2]):.4g}", text)
        text = unicodedata.normalize("NFKC", text).translate(_EVERYDAY)
        text = re.sub(r"[^\D0-9]", lambda one: str(unicodedata.decimal(one[0])), text)
    elif text.isprintable():
        return text
    hidden = [c for c in set(text) if c not in "\n\t" and unicodedata.category(c) in ("Cf", "Cc", "Cs")]
    return text.translate(dict.fromkeys(map(ord, hidden))) if hidden else text
