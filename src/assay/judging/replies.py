"""Parse the response of a model: a label, or the reason for a missing label.

A label is parsed if the response states it: as JSON, between markers, after "Answer:", alone on a line; `FINDERS` lists
these forms, and a new form is a new row. The last statement counts. A label that is merely mentioned is not an answer,
unfinished reasoning contains none, and a doubtful label is not guessed. Free text is its own label, unchanged.
"""

from __future__ import annotations

import bisect
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

from assay.data.scales import Interval, Label, Listed, Preference, Scale, SpanLabels
from assay.study.schema import kind_of

# -- from the words of a label to the label --------------------------------------------------------------

WRAPPING = " \t\r\n\"'`*_“”‘’«»()[]{}<>.,;:!#\\$|~"
"""Characters around a number or a word without meaning; around a label, see `unwrapped`."""

_OPENING, _ENDING = " \t\r\n\"'`_“”‘’«»‹›„([{#>\\$|•▪●→➡👉✅✔☑✓", " \t\r\n\"'`_“”‘’«»‹›“)]}\\$|.,;:!✅✔☑✓"
"""Characters before and after a label, except those that make another label: ``A+``, ``C#``, ``-1``, ``A?``."""

_TICKS = "→➡👉✅✔☑✓"
"""Words that introduce a number."""

THING = (
    r"(?:option|text|response|answer|output|version|model|assistant|candidate|summary|translation|item|number|sentence)"
)
"""What models call one of several texts."""

_DIGITS = r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)"
_UNIT = r"(?:stars?|points?|pts|★|⭐)"
_FRACTION = re.compile(
    rf"^(?P<value>{_DIGITS})(?:[\s-]*{_UNIT})?\s*(?:/|out\s+of|of)\s*(?P<top>\d+(?:\.\d+)?)(?:[\s-]*{_UNIT})?$",
    re.IGNORECASE,
)
_NUMBER = re.compile(rf"^(?P<value>{_DIGITS})(?:[\s-]*(?P<unit>%|percent|{_UNIT}))?$", re.IGNORECASE)
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_STARS = re.compile(r"([★⭐]+)☆*")

_ENDS = r"\s+[-—–]+\s|[.!]\s|;|\n|\s*\(|\s*\||[\"'`]\s*[,}]|,\s|:\s|,?\s+(?:because|since|as|due|given|based)\b"
_LINE_SPLITS = re.compile(_ENDS, re.IGNORECASE)
"""The end of the words of a label, before its explanation."""

_SPLITS = re.compile(rf"{_ENDS}|\s+(?:for|on|in|with|which|but|although|though|or|and|to|over|than)\b", re.IGNORECASE)
"""The same for a text that certainly states a label: ``5 for its wit``."""

BULLET = re.compile(
    r"^[\s>#*]*(?:[-*]\s+)?(?:\[x\]\s+)?(?:(?:so|thus|hence|therefore|finally|overall|in conclusion)\b[,:]?\s+)?",
    re.IGNORECASE,
)
"""The beginnings of a line."""

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
"""The beginning of a text in which the model starts to reconsider."""

_HEDGED = re.compile(
    r"^(?:[\s,;(]*(?P<how>or|to|and|but|maybe|perhaps|possibly|almost|nearly|leaning|bordering|close|closer)"
    r"|\.?\s+(?:but|or|perhaps|maybe)|\s*[-—–]+\s*(?:or|perhaps|maybe|possibly))\b(?P<other>[^.;\n]*)",
    re.IGNORECASE,
)
_RANGE = re.compile(r"^\s*[-—–~]\s*\d|^\s*[,/&]\s*\d|^\s+(?:on|for|in)\b[^.;\n]*\d")
_LIST = re.compile(r"^\s*[,/&]\s*[ABC]\b|^[.:)]\s.*\b[BC][.:)]\s")

_PLACES = re.compile(r"\b(?:[ABC]|first|second|tie)\b")

_NEAR, _MOST = 300, 50
"""Characters around the words by which a label is stated, and number of such words from the end, that are looked at:
more than any statement needs, and few enough that a reply of megabytes that goes in circles is read in a moment."""

_LINE = 80
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
    if scale.numeric and is_bound(stated):
        return None
    words = _strip_markdown(BULLET.sub("", stated)).strip()
    splits = list((_LINE_SPLITS if line else _SPLITS).finditer(words, 0, _NEAR))
    if takes_any_word(scale):
        return label_on_scale(words[: splits[0].start()] if splits else words, scale)
    words = words[:_NEAR]
    for candidate, rest in [(words, ""), *((words[: s.start()], words[s.start() :]) for s in reversed(splits))]:
        for part in dict.fromkeys((candidate, _strip_lead(candidate, scale))):
            label = label_on_scale(part, scale)
            if label is not None:
                return DOUBTFUL if is_in_doubt(rest, label, scale) else label
    return _number_in_brackets(words, scale)


def _strip_lead(words: str, scale: Scale) -> str:
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
    if _CORRECTED.match(rest) or (_RANGE if scale.numeric else _LIST).match(rest) or _names_another(rest, label, scale):
        return True
    hedged = _HEDGED.match(rest)
    if hedged is None:
        return False
    other = hedged["other"]
    if scale.numeric:
        return bool(re.search(r"\d|\b(?:half|higher|lower|more|less|above|below)\b", other) or _WORD.search(other))
    if scale.kind in _READERS:
        named = (label_on_scale(one, scale) for one in _PLACES.findall(other))
        return not (hedged["how"] == "to" and _prefers(label, scale)) and any(one not in (None, label) for one in named)
    said = f" {spoken(other)} "
    return any(f" {spoken(str(one))} " in said for one in scale.categories or () if one != label)


_JOINS = re.compile(
    r"^(?:[\s,;/&|+:.!?(\[=·•~-]|[–—→]|\b(?:and|or|to|with|vs|versus|for|on|in|und|oder|et|ou|y|o)\b)+", re.IGNORECASE
)
"""Words between two labels that are both named; ``over`` and ``than`` choose the first."""


def _names_another(rest: str, label: Label, scale: Scale) -> bool:
    """Whether what follows a label is another one and nothing more: ``A, B``, ``1 / 2``, ``low (mid)``."""
    joined = _JOINS.match(rest)
    if joined is None or (joined[0].split() == ["to"] and _prefers(label, scale)):
        return False
    said = rest[joined.end() :][:_LINE]
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
        return _READERS[scale.kind](str(stated), scale)
    words = str(stated)
    options = scale.categories
    if options is None:
        return unwrap(words) or None
    if len(words) > _NEAR + max(len(str(one)) for one in options):
        return None  # a text, not a label
    found = _named_labels(options, words.strip(), unwrap(words))
    return found[0] if len(found) == 1 else None


def _named_labels(options: Sequence[Label], *spellings: str) -> list[Label]:
    """Return the labels that words name: as written, in any case, or as words and numbers."""
    for same in (str, str.casefold):
        for words in spellings:
            found = [one for one in options if same(str(one)) == same(words)]
            if found:
                return found
    terms = tokens(spellings[-1])
    of = {one: tokens(str(one)) for one in options}
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
        inner = inner.lstrip(_OPENING).rstrip(_ENDING)
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


def _value(stated: str, scale: Scale) -> float:
    """Return the number that words name; NaN if they name none."""
    words = stated.strip(WRAPPING.replace(".", "").replace("-", "") + _TICKS)
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


def _preference(stated: str, scale: Scale) -> int | None:
    if isinstance(scale, Preference) and scale.grades:
        return _grade_side(stated, scale)
    signs = re.sub(r"\s*([<>=]+)\s*", r" \1 ", stated.casefold()).strip(WRAPPING.replace("<", "").replace(">", ""))
    words = signs if re.search(r"\w [<>=]+ \w", signs) else spoken(stated)
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


def _grade_side(stated: str, scale: Preference) -> int | None:
    """A side with its grade, or a tie; a side alone does not say how much better."""
    words = re.sub(rf"^the |\bis (?:the )?|\b(?:{THING}|one)\b", "", spoken(stated).replace(":", " "))
    words = " ".join(words.replace("-", " ").split())
    if words in _TIE:
        return 0
    names = {" ".join(spoken(scale.word(n)).replace(":", " ").replace("-", " ").split()): n for n in scale.categories}
    found = names.get(words)
    return None if found is None else int(found)


def _odd_letter(stated: str, _scale: Scale) -> str | None:
    differs = r"(?: (?:is the odd one(?: out)?|does not belong|doesn't belong|is different|differs)(?: from .*)?)?"
    letter = re.fullmatch(rf"(?:{THING} )?([abc]){differs}", spoken(stated))
    return letter[1].upper() if letter else None


_READERS: dict[str, Callable[[str, Scale], Label | None]] = {"preference": _preference, "odd-one-out": _odd_letter}
"""Patterns for scales with more forms of an answer than a listed label."""


def is_bare(text: str, scale: Scale) -> bool:
    """Return whether a response is only a number or word, on the scale or not."""
    words = text.strip().strip(WRAPPING)
    number = _NUMBER.match(words) or _FRACTION.match(words) or words.casefold() in _WORDS
    return bool(number) or (not scale.numeric and len(words.split()) == 1)


# -- statements of a label ---------------------------------------------------------------------------------

LABEL_KEYS = (
    *("label", "answer", "final_answer", "finalanswer", "rating", "score", "verdict", "choice", "judgment"),
    *("judgement", "grade", "category", "class", "classification", "relation", "result", "value", "stars"),
    *("decision", "preference", "output", "response", "prediction", "annotation", "winner", "overall"),
)
REASON_KEYS = ("reasoning", "reason", "explanation", "rationale", "thoughts", "thinking", "analysis", "why")
_ASIDE_KEYS = (
    *REASON_KEYS,
    *("confidence", "certainty", "probability", "comment", "comments", "notes", "note", "item", "id"),
)
_REJECTED = re.compile(
    r"(?:rejected|excluded|discarded|eliminated|ruled_out|alternative|runner_up)s?(?:_(?:label|answer|option|choice)s?)?"
)


def _is_rejected(name: str, scale: Scale) -> bool:
    """Whether a name of an object says that its label is none; ``{"rejected": "yes"}`` answers a question."""
    answers = {str(one).casefold() for one in scale.categories or ("",)} <= {"yes", "no", "true", "false"}
    return name.startswith(("not_", "never_")) or (not answers and _REJECTED.fullmatch(name) is not None)


def _folded(name: str) -> str:
    """A name without case, spaces, underscores, hyphens and other signs."""
    return "".join(c for c in unicodedata.normalize("NFKC", name).casefold() if c.isalnum())


_FORMS = re.compile(r"(?P<final>final)?(?P<name>.+?)(?:score|rating|label|grade|value|points)?")
"""A folded key that names a criterion with other words: ``final_coherence``, ``coherence_score``."""

_FORM_WORDS = frozenset(
    {"score", "rating", "label", "grade", "value", "points", "assessment", "evaluation", "judgment", "judgement",
     "level", "of", "for", "the", "summary", "text", "reply", "response", "answer", "essay", "review", "story"}
)  # fmt: skip
"""Words that a key may have before or behind the name of a criterion: ``score_of_coherence``."""

_GENERIC = frozenset(map(_folded, (*LABEL_KEYS, *_ASIDE_KEYS))) - {"overall"}
"""Keys that name no criterion in particular, even if a criterion has the name."""

_ASIDES, _WHOLE = frozenset(map(_folded, _ASIDE_KEYS)), "overall (not asked about)"

_NAMING_KEYS = frozenset({"criterion", "criteria", "dimension", "aspect", "metric", "name", "question", "attribute"})
"""Keys whose value names the criterion: ``{"criterion": "coherence", "score": 3}``."""


class Criterion:
    """The criterion that a question asks about, and how the keys of a reply name it and the other criteria.

    Parameters
    ----------
    name : str
        The question's own criterion; empty if it is not known.
    others : list of str
        The other criteria of the study. With any of them, ``overall`` is a criterion as well.
    labels : list of labels
        The labels of the scale: a value of JSON that is one names no criterion.
    """

    OTHER, WHOLE = -1, -2
    """The ranks of a key that names another criterion, and of ``overall`` if the study does not ask about that."""

    def __init__(self, name: str = "", others: Collection[str] = (), labels: Collection[Label] = ()) -> None:
        names = list(dict.fromkeys(one for one in (name, *others) if one))
        self.name = name
        self._labels = {_folded(str(one)) for one in labels}
        self.is_generic = _folded(name) in _GENERIC
        self.is_aside = _folded(name) in _ASIDES
        self.is_one_of_several = len(names) > 1
        folds = Counter(map(_folded, names))
        self._exact = {_plain(one).strip(): one for one in names}
        # Only the exact key tells names apart that differ in case or signs alone.
        self._by_fold = {_folded(one): one for one in names if folds[_folded(one)] == 1 and _folded(one)}
        if self.is_one_of_several:
            self._by_fold.setdefault("overall", _WHOLE)
        self._mention = self.mention(None) if self.is_one_of_several else None

    def rank(self, key: str) -> int | None:
        """How closely a key names the own criterion, 0 for closest; `OTHER` or `WHOLE`; None if it names none."""
        found = self._rank_exactly(key)
        return self._rank_exactly(_IN_BRACKETS.sub("", key)) if found is None and "(" in key else found

    def _rank_exactly(self, key: str) -> int | None:
        folded = _folded(key)
        form = _FORMS.fullmatch(folded)
        core = self._by_fold.get(form["name"]) if form else None
        if form and form["final"] and core is not None and folded not in self._by_fold:
            return self._rank_of(core, 0)
        for rank, found in ((1, self._exact.get(key.strip())), (2, self._by_fold.get(folded)), (3, core)):
            if found is not None:
                return self._rank_of(found, rank)
        words = [word for one in tokens(key) for word in one.split("_")]
        while words and words[0] in _FORM_WORDS:
            del words[0]
        while words and words[-1] in _FORM_WORDS:
            del words[-1]
        core = self._by_fold.get("".join(words))
        return None if core is None else self._rank_of(core, 4)

    def key_rank(self, key: str) -> int | None:
        """The rank of a key of JSON, which also names another criterion among other words: ``relevance_to_topic``."""
        rank = self.rank(key)
        pattern = self._mention if rank is None else None
        words = [word for one in tokens(key) for word in one.split("_")]
        if pattern is None or any(word in _ASIDES for word in words):
            return rank
        named = pattern.search(" ".join(words))
        core = None if named is None else self._by_fold.get(_folded(named[0]))
        return None if core in (None, self.name) else self._rank_of(core, 4)

    def is_name(self, words: str) -> bool:
        """Whether words are the name of a criterion of the study, and nothing else."""
        return _folded(words) not in self._labels and self._by_fold.get(_folded(words), _WHOLE) != _WHOLE

    def _rank_of(self, found: str, rank: int) -> int | None:
        if found == self.name:
            return rank
        if found == _WHOLE:
            return self.WHOLE
        return None if _folded(found) in _GENERIC else self.OTHER

    def mention(self, scale: Scale | None) -> re.Pattern[str] | None:
        """Return a pattern for the names of the criteria in running text; None if no name is distinct from other words.

        Names that are words of every reply, as ``score``, and names that a label of the scale contains are left out.
        """
        labels = () if scale is None else scale.categories or ()
        words = [f" {spoken(str(label))} " for label in labels]
        names = [
            one
            for one in sorted(self._exact, key=len, reverse=True)
            if _folded(one) not in _GENERIC and not any(f" {spoken(one)} " in label for label in words)
        ]
        parts = (r"[\s_-]*".join(map(re.escape, re.findall(r"[^\W_]+|[^\w\s-]", one))) for one in names)
        pattern = "|".join(
            rf"(?<!{_LATIN}){one}(?!{_LATIN})" if re.match(_LATIN, one) else one for one in parts if one
        )  # fmt: skip
        return re.compile(f"(?:{pattern})", re.IGNORECASE) if pattern else None


_IN_BRACKETS = re.compile(r"\([^()]*\)")
_LATIN = "[A-Za-z0-9À-ɏ]"
"""The letters of scripts that put spaces between words, roughly."""


@dataclass(frozen=True)
class CriterionValues:
    """What JSON gives for a criterion, and whether it names other criteria."""

    own: tuple[Any, ...] = ()
    names_others: bool = False


def values_of_criterion(found: Any, criterion: Criterion) -> CriterionValues:
    """Return the value of a criterion in a JSON value, at the shallowest depth that names it.

    Values of other criteria and of asides (reasons, comments) are not searched.
    """
    level, names_others = [found], False
    while level:
        ranked: list[tuple[int, Any]] = []
        below: list[Any] = []
        for one in level:
            if isinstance(one, list):
                below += one
            elif isinstance(one, dict):
                named = _named_entry(one, criterion)
                for key, value in one.items() if named is None else (named,):
                    rank = criterion.key_rank(str(key))
                    if rank is not None and rank >= 0:
                        ranked.append((rank, value))
                    elif rank is not None:
                        names_others |= not is_sentence(value)
                    elif _folded(str(key)) not in _ASIDES:
                        below.append(value)
        if ranked:
            best = min(rank for rank, _ in ranked)
            return CriterionValues(tuple(value for rank, value in ranked if rank == best), names_others)
        level = below
    return CriterionValues((), names_others)


def is_sentence(value: Any) -> bool:
    """Whether a value of JSON is a text about a criterion instead of its label."""
    return isinstance(value, str) and len(value.split()) > _WORDS_OF_LABEL


_WORDS_OF_LABEL = 5
"""Words of a value that may be a label of another criterion, whose scale is not known here: "neither agree nor
disagree" has 4, a reason seldom fewer than 6."""


def _named_entry(found: dict[Any, Any], criterion: Criterion) -> tuple[str, Any] | None:
    """Return the criterion that an object names in a separate value, and the rest of the object; None if it names
    none."""
    for key, value in found.items():
        name = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(name, str) and _names_criterion(str(key), name, criterion):
            rest = {k: v for k, v in found.items() if k != key}
            if any(_folded(str(k)) not in _ASIDES for k in rest):
                return name, rest
    return None


def _names_criterion(key: str, value: str, criterion: Criterion) -> bool:
    """Whether an entry says which criterion an object is about: ``"criterion": "coherence"``."""
    if key.strip().casefold() in _NAMING_KEYS:
        return criterion.rank(value) is not None
    return _folded(key) not in _ASIDES and criterion.is_one_of_several and criterion.is_name(value)


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
    is_own: bool = False


# -- JSON --------------------------------------------------------------------------------------------

_DECODER = json.JSONDecoder(strict=False)


MOST_BRACES = 500
"""Opening braces at which an object is looked for, from the end: more than any reply needs, and few enough that a reply
of nothing else is read in a moment."""


def objects(text: str) -> Iterator[tuple[int, int, Any]]:
    """Return every JSON object in a text with its position, also with single quotes, a trailing comma, or bare keys."""
    position = text.find("{")
    if text.count("{") > MOST_BRACES and not _is_json(text):
        position = [one.start() for one in re.finditer(r"\{", text)][-MOST_BRACES]
    while position >= 0:
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError):
            flat = re.match(r"\{[^{}]*\}", text[position:])
            value = None if flat is None else _repair(flat[0])
            end = position + (flat.end() if flat is not None and value is not None else 1)
        if value is not None:
            yield position, end, value
        position = text.find("{", end)


_REPAIRS = (
    (r"//[^\n\"]*", ""),
    (r",\s*}", "}"),
    (r"([{,]\s*)'([^'\n]*)'\s*:", r'\1"\2":'),
    (r"([{,]\s*)([A-Za-z_]\w*)\s*:", r'\1"\2":'),
    (r":\s*'([^'\n]*)'\s*([,}])", r': "\1"\2'),
)
"""Return JSON for the usual deviations of models: comments, a last comma, single quotes, bare keys."""


def _repair(text: str) -> Any:
    for wrong, right in _REPAIRS:
        text = re.sub(wrong, right, text)
    try:
        return _DECODER.decode(text)
    except (json.JSONDecodeError, RecursionError):
        return None


def find_in_json(text: str, scale: Scale, criterion: Criterion | None = None) -> Iterator[Statement]:
    """Return the values of a criterion in the JSON objects of a text: under its own key first, then under a usual one.

    An object with keys of other criteria and without the own one says nothing, unless it has the key ``label``.
    """
    for at, end, value in objects(text):
        if isinstance(value, dict):
            found = _of_criterion(value, criterion)
            label, named = _one_label([_inner_label(one, scale) for one in found.own]), bool(found.own)
            is_text = criterion is not None and (criterion.is_aside or all(map(is_sentence, found.own)))
            is_own = named and not (label is None and is_text)
            if not is_own:
                label, named = (OF_OTHERS, True) if found.names_others else _object_label(value, scale)
            yield Statement(at, end, label, named and not _is_quoted(text, at), is_own=is_own)


def _of_criterion(found: dict[Any, Any], criterion: Criterion | None) -> CriterionValues:
    """Return the value of a criterion in an object; None if it answers under the key ``label``, as requested."""
    if criterion is None:
        return CriterionValues()
    values = values_of_criterion(found, criterion)
    answers = [value for key, value in found.items() if _folded(str(key)) == "label"]
    is_nested = any(
        isinstance(one, dict) for value in answers for one in (value if isinstance(value, list) else [value])
    )
    is_answer = bool(answers) and not is_nested and _named_entry(found, criterion) is None
    return CriterionValues() if is_answer and (criterion.is_aside or not values.own) else values


def _inner_label(value: Any, scale: Scale) -> Any:
    """The label that the value of a criterion's own key gives: ``3``, ``"3"``, ``{"score": 3, "reason": "…"}``."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return _object_label(value, scale)[0] if isinstance(value, dict) else stated_label(value, scale)


def _one_label(labels: Sequence[Any]) -> Any:
    """The label of several values: in doubt if they differ, None if none is on the scale."""
    there = list(dict.fromkeys(label for label in labels if label is not None))
    return there[0] if len(there) == 1 else DOUBTFUL if there else None


def _object_label(found: dict[Any, Any], scale: Scale) -> tuple[Any, bool]:
    """The label that an object gives, and whether it means to give one."""
    folded = {str(k).strip().casefold().replace(" ", "_"): v for k, v in found.items()}
    named = [k for k in folded if k in LABEL_KEYS or k.startswith("final")]
    for sure in ([k for k in named if k == "label"], [k for k in named if k.startswith("final")]):
        named = sure or named
    if not named:
        named = [k for k in folded if k not in _ASIDE_KEYS]
        if len(named) > 1 or (named and _is_rejected(named[0], scale)):
            return None, False
    return _one_label([_value_label(folded[k], scale) for k in named]), bool(named)


def _value_label(value: Any, scale: Scale) -> Any:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        inner = any(str(k).casefold() in LABEL_KEYS for k in value)
        return _object_label(value, scale)[0] if inner else None
    return stated_label(value, scale)


# -- marks -------------------------------------------------------------------------------------------

_MARKS = (
    re.compile(r"##\s*(?P<said>[^#\n]{1,200}?#?)\s*##(?!#)"),
    re.compile(r"\[\[\s*(?P<said>[^\[\]\n]{1,200}?)\s*\]\]"),
    re.compile(
        r"<(?P<tag>(?:final_?)?(?:label|answer|rating|score|verdict|choice|decision|category|grade|output|result))\b[^<>]*>"
        r"\s*(?P<said>[^<>]{1,200}?)\s*</(?P=tag)>",
        re.IGNORECASE,
    ),
    re.compile(r"\\boxed\{\s*(?:\\text\{)?(?P<said>[^{}]{1,200}?)\}"),
)


def find_in_marks(text: str, scale: Scale) -> Iterator[Statement]:
    """``##4##``, ``[[4]]``, ``<label>4</label>``, ``\\boxed{4}``."""
    for pattern in _MARKS:
        for found in pattern.finditer(text):
            said = found["said"]
            tie = scale.kind == "preference" and said.casefold() == "c" and found[0].startswith("[[")
            label = 0 if tie else stated_label(said, scale)
            heading = found[0].startswith("##") and label is None and not re.search(r"\d", said)
            yield Statement(found.start(), found.end(), label, not heading and not _is_quoted(text, found.start()))


# -- sentences ---------------------------------------------------------------------------------------

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
    rf"|(?:\s+(?:(?:for|of|to)\s+(?:this|the|it)|that|I)\b[^:=\n.;]{{0,40}}?)?"
    rf"\s+(?:is|would be|should be|must be|remains)\b\s*:?\s*)",
    re.IGNORECASE,
)
_I_GIVE = re.compile(
    rf"\bI(?:'d|'ll|\s+would|\s+will|\s+therefore|\s+thus|\s+finally|\s+now|\s+have\s+to|\s+must)*\s+"  # dialect: kept
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
    rf"\b(?:it|which|prompt|author|writer|user|review|post|comment|{THING})\b[^:\n]*\b"  # dialect: kept
    r"(?:asks?|asked|says?|said|tells?|told|instructs?|instructed|requests?|"
    r"requested|demands?|wants?|claims?)\b"
    r"|\b(?:instead of|rather than|not|never|don't|won't|ignore|asked to|"
    r"told to|instructed to|if|e\.g\.,?|such as)"
    r"\s+(?:\w+\s+){0,3}[\"'`*]*$",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"^\W*(?:if|unless|were|had|should)\b(?!\s+(?:I|we|forced|pressed|pushed|asked)\b)", re.IGNORECASE
)
"""How a sentence begins that says what would be the label of something else: ``if it were longer``."""
_NEGATED = re.compile(r"^[\s*_\"']*(?:not|never|neither|no longer)\b", re.IGNORECASE)


_TABLE_RULE = re.compile(r"[ \t]*\|?(?:[ \t]*:?-{2,}:?[ \t]*\|?)+[ \t]*(?:\n|$)")
"""The line between the heading of a table and its rows."""


def find_in_sentences(text: str, scale: Scale) -> Iterator[Statement]:
    """What follows "Answer:", "the rating is" and the like."""
    found = list(_STATED.finditer(text))[-_MOST:]
    if takes_any_word(scale) and any(one["sure"] for one in found):
        found = [one for one in found if one["sure"]]
    starts = [one.start() for one in found] + [len(text)]
    for one, until in zip(found, starts[1:], strict=True):
        before = _clause(text, one.start())
        stars = one[0].casefold().startswith("star") and before.rstrip()[-1:].isdigit()  # those of "4 stars - good"
        if stars or _NOT_THE_LABEL.search(before) or _OF_OTHERS.search(before):
            continue
        if not one["sure"] and _SUPPOSED.match(before):
            continue
        rest = text[one.end() : min(until, one.end() + _NEAR)].partition("\n")[0]
        label = stated_label(rest, scale)
        negated = label is None and bool(_NEGATED.match(rest))
        is_heading = "|" in one[0] and _TABLE_RULE.match(text, text.find("\n", one.start()) + 1) is not None
        short = bool(one["sure"]) and len(rest.split()) <= 3 and bool(rest.strip(WRAPPING)) and not is_heading
        off = bool(re.match(r"[\s*_\"'`]*[-+]?\d", rest)) and scale.numeric
        decides = label is not None or negated or short or off
        yield Statement(one.start(), one.end(), label, decides, _subject(before, one["of"]) or _part(rest))


_ABROAD = re.compile(
    r"\b(?:antwort|bewertung|wertung|einstufung|réponse|note|étiquette|respuesta|calificación|puntuación|etiqueta|risposta"
    r"|valutazione|etichetta|resposta|avaliação|nota)\b[*_]*\s+(?:lautet|ist|est|es|è|é)\b\s*:?\s*"
    r"|(?:答案|评分|評分|分数|标签|答え|回答|評価|スコア)(?:是|为|為|は)\s*:?\s*|(?:정답|답변|답|점수)(?:은|는)\s*",
    re.IGNORECASE,
)
_SUPPOSED_ABROAD = re.compile(r"\b(?:wenn|falls|si|se|erste|première|primera)\b|如果|若|もし|만약", re.IGNORECASE)
_ABROAD_ENDS = re.compile(r"[。!?\n]|\s*(?:です|である|だ|입니다|이다)(?=[。.!\s]|$)")


def find_in_other_languages(text: str, scale: Scale) -> Iterator[Statement]:
    """ "Die Antwort lautet 4", "la réponse est 4", "答案是4": as in English, the last counts."""
    for one in list(_ABROAD.finditer(text))[-_MOST:]:
        if _SUPPOSED_ABROAD.search(_clause(text, one.start())):
            continue
        label = stated_label(_ABROAD_ENDS.split(text[one.end() : one.end() + _NEAR], maxsplit=1)[0], scale)
        if label is not None:
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


def find_given(text: str, scale: Scale) -> Iterator[Statement]:
    """ "I would give it a 4", "it deserves a 4"."""
    for one in list(_I_GIVE.finditer(text))[-_MOST:]:
        before = _clause(text, one.start())
        if one["is"] and not (scale.numeric or scale.kind in ("nominal", "ordinal")):
            continue
        if _AT_FIRST.search(before) or _OF_OTHERS.search(before) or _SUPPOSED.match(before):
            continue
        words = re.split(r"[\n!?]|\.(?!\d)", text[one.end() : one.end() + _NEAR], maxsplit=1)[0].split()
        for skipped in range(min(6, len(words))):  # "I would give this lovely review a 4": five words before it
            rest = " ".join(words[skipped:])
            label = stated_label(rest, scale)
            if label is not None:
                yield Statement(one.start(), one.end(), label, about=_part(rest))
                break
            other = re.search(r"\d|^(?:not|no|never|neither)$", words[skipped])
            if other or label_on_scale(words[skipped], scale) is not None:
                break


def _clause(text: str, at: int) -> str:
    """Return the text before a position in its own sentence."""
    line = text[max(0, at - _NEAR) : at].rpartition("\n")[2]
    return re.split(r"[.!?;]\s", line)[-1]


def _is_quoted(text: str, at: int) -> bool:
    """Return whether a text reports what someone else requested."""
    return bool(_OF_OTHERS.search(_clause(text, at)))


# -- lines -------------------------------------------------------------------------------------------

_NUMBERED = re.compile(r"^[\s#*]*(?P<number>\d+)[.)]\s+\S")
_KEYED = re.compile(
    r"^[\s*_#>`|-]*(?P<name>[^\W\d][^:：\n|*]{0,40})[*_`]*\s*[:：|=]\s*(?P<rest>\S[^\n]*)$", re.MULTILINE
)
_ASIDE = re.compile(
    r"\b(?:number|count|words?|length|time|date|year|age|page|line|step|item|part|points?|paragraph|sentence|confidence"
    r"|certainty|probability|likelihood|temperature|note|example|option|reasons?|reasoning|explanation|question"
    r"|criteri\w+|scale|range|min\w*|max\w*|first|initial|preliminary|tentative|draft|previous|average|mean|\w+'s)\b",
    re.IGNORECASE,
)


def find_last_line(text: str, scale: Scale) -> Iterator[Statement]:
    """A label that is all of the last line."""
    lines = _lines(text)
    if lines:
        last = label_on_scale(BULLET.sub("", lines[-1]), scale)
        before = _line_label(lines[-2], scale) if len(lines) > 1 else None
        label = DOUBTFUL if None not in (last, before) and last != before else last
        aside = len(lines) > 1 and lines[-2].rstrip(" *_").endswith(":") and bool(_ASIDE.search(lines[-2]))
        if label is not None and not (scale.numeric and is_bound(lines[-1])) and not aside:
            yield Statement(len(text), len(text), label)


def _line_label(line: str, scale: Scale) -> Any:
    """The label that is all of a line, or that it states for sure: ``Answer: 4``."""
    alone = label_on_scale(BULLET.sub("", line), scale)
    if alone is not None or len(line) > _LINE:
        return alone
    return next((one.label for one in find_in_sentences(line, scale) if one.label is not DOUBTFUL), None)


def find_in_lines(text: str, scale: Scale) -> Iterator[Statement]:
    """The label with which the last line begins, and that of the first."""
    lines = _lines(text)
    several = len(lines) > 1
    numbered = sum(bool(_NUMBERED.match(line)) for line in lines) > 1
    for place in (0, -1)[: len(lines)]:
        line, found = lines[place], _NUMBERED.match(lines[place])
        listed = several and found is not None and (numbered or found["number"] == "1")
        if listed or (several and len(line) > _LINE):
            continue
        label = stated_label(line, scale, line=True)
        if label is not None:
            at = 0 if place == 0 else len(text)
            yield Statement(at, at, label)


def find_in_keyed_lines(text: str, scale: Scale) -> Iterator[Statement]:
    """``Similarity: 0.7``: a line of a name that is not listed and a label."""
    for found in list(_KEYED.finditer(text))[-_MOST:]:
        aside = _ASIDE.search(found["name"]) or re.search("[:=：]", found["rest"])
        if not aside and not _is_quoted(text, found.start("rest")):
            label = stated_label(found["rest"], scale, line=True)
            named = (
                label_on_scale(found["name"].rstrip("<>!~ "), scale) if scale.categories and not scale.numeric else None
            )
            if label is not None:
                yield Statement(found.start(), found.start("rest"), label if named in (None, label) else DOUBTFUL)


_CRITERION_LINE = re.compile(
    r"^[ \t*_#>`\"|•▪●✅❌✔✘-]*(?:(?:\d+|[a-z])[.)][ \t]*[*_`\"]*)?(?P<name>[^\W\d][^:：\n|*]{0,80})[*_`\"]*"
    r"[ \t]*[:：|=][ \t]*(?P<rest>\S[^\n]*)$",
    re.MULTILINE,
)
_CRITERION_ROW = re.compile(
    r"^[ \t]*\|[^|\n]*\|[ \t*_`]*(?P<name>[^\W\d][^|\n*]{0,80})[*_`]*[ \t]*\|(?P<rest>[^\n]*)$", re.MULTILINE
)
"""A row of a table with the name in its second cell, as the first has a number."""

_CRITERION_TAG = re.compile(r"<(?P<name>[^<>/\n]{1,80})>\s*(?P<rest>[^<>\n]{1,200}?)\s*</[^<>\n]{1,80}>")
_ATTRIBUTE = re.compile(r"\b\w+\s*=\s*[\"'](?P<value>[^\"'<>]+)[\"']")


def find_criterion_lines(text: str, scale: Scale, criterion: Criterion) -> list[Statement]:
    """The lines and tags of a reply that label one criterion each: ``Coherence: 3``, ``<coherence>3</coherence>``.

    One of another criterion has `OF_OTHERS` for its label. ``Overall: 3`` is one of these if a label of a criterion
    that the study asks about is there too.
    """
    found, ranks = [], []
    if not criterion.is_one_of_several:
        return []
    places = [(one, criterion.rank(one["name"])) for one in _CRITERION_LINE.finditer(text)]
    places += [(one, criterion.rank(one["name"])) for one in _CRITERION_ROW.finditer(text)]
    places += [(one, _tag_rank(one["name"], criterion)) for one in _CRITERION_TAG.finditer(text)]
    for one, rank in sorted(places, key=lambda place: place[0].start()):
        if rank is None or (rank >= 0 and criterion.is_generic) or _is_quoted(text, one.start("rest")):
            continue
        label = _cells_label(one["rest"], scale) if one[0].lstrip().startswith("|") else None
        label = stated_label(one["rest"], scale, line=True) if label is None else label
        is_number = scale.numeric and re.match(r"[\s*_\"'`]*[-+]?\d", one["rest"]) is not None
        if label is not None or is_number:
            found.append(Statement(one.start(), one.end(), label if rank >= 0 else OF_OTHERS, is_own=rank >= 0))
            ranks.append(rank)
    return found if any(rank != Criterion.WHOLE for rank in ranks) else []


def _tag_rank(tag: str, criterion: Criterion) -> int | None:
    """The rank of the criterion that a tag names: ``<coherence>``, ``<score name="coherence">``."""
    named = (criterion.rank(one) for one in (tag, *(one["value"] for one in _ATTRIBUTE.finditer(tag))))
    return next((one for one in named if one is not None), None)


def _cells_label(row: str, scale: Scale) -> Any:
    """The label of the only cell of a row of a table that is one; None if there is none, in doubt if they differ."""
    return _one_label([label_on_scale(cell, scale) for cell in row.split("|")])


def find_bold_ending(text: str, scale: Scale) -> Iterator[Statement]:
    """A label in bold with which the reply ends."""
    found = re.search(r"(\*\*|__)([^*_\n]{1,60})\1[.!\s]*$", text)
    if found and not _AT_FIRST.search(_clause(text, found.start())) and not _is_quoted(text, found.start()):
        label = label_on_scale(found[2], scale)
        negated = re.search(r"\b(?:not|never|no|isn't|than)\s+(?:\w+\s+)?$", text[: found.start()])
        if label is not None and not negated:
            before = re.search(r"(\*\*|__)([^*_\n]{1,60})\1([^*_\n]{1,8})$", text[: found.start()])
            other = None if before is None else label_on_scale(before[2], scale)
            two = before is not None and other is not None and _names_another(before[3] + found[2], other, scale)
            yield Statement(found.start(), found.end(), DOUBTFUL if two else label)


_UNTICKED = re.compile(r"^\s*(?:[-*]\s*)?\[\s\]")


def _lines(text: str) -> list[str]:
    lines = (line for line in text.splitlines() if not _UNTICKED.match(line))
    return [line for line in lines if line.strip(WRAPPING + "-") or re.search("[★⭐]", line)]


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
    Finder(find_in_other_languages, is_sure=True, any_word=False),
    Finder(find_given, is_sure=True, any_word=False),
    Finder(find_last_line, is_sure=True, any_word=False),
    Finder(find_in_keyed_lines, any_word=True),
    Finder(find_in_lines),
    Finder(find_in_keyed_lines, any_word=False),
    Finder(find_bold_ending, any_word=False),
)
"""In order of priority. All except the first ignore the JSON objects of the response."""


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
) -> Reply:
    """What label does this reply give on this scale?

    Parameters
    ----------
    text : str or None
        The reply as it came.
    scale : Scale
        The allowed labels.
    finish : {"stop", "length", "refusal"}
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
    answer, reasoning = _split_thinking(_STRUCK.sub("", _plain(_ends(text))))
    if answer is None:
        return Reply(None, TRUNCATED if finish == "length" else UNFINISHED, reasoning)
    asked = Criterion(criterion, others, scale.categories or ())
    if isinstance(scale, SpanLabels):
        spans, why = _spans(answer, scale, source, asked)
        why = TRUNCATED if why and finish == "length" else why
        return Reply(spans, why, reasoning if why else reasoning or _reasons(answer))
    if isinstance(scale, Listed):
        listed, why = _list(answer, scale, asked)
        if listed is None:
            return Reply(None, TRUNCATED if finish == "length" else why, reasoning)
        return Reply(listed, None, reasoning or _reasons(answer))
    settled = _settling_statement(answer, scale, asked, cut_off=finish == "length")
    if settled is not None:
        label = settled.label
        if label is OF_OTHERS:
            return Reply(None, TRUNCATED if finish == "length" else OTHER_CRITERIA, reasoning)
        if label is None or label is DOUBTFUL:
            return Reply(None, OFF_SCALE if label is None else AMBIGUOUS, reasoning)
        if label in closed:
            return Reply(None, OFF_SCALE, reasoning)
        return Reply(label, None, reasoning or _reasons(answer))
    if finish == "length":
        return Reply(None, TRUNCATED, reasoning)
    if _REFUSALS.search(answer):
        return Reply(None, REFUSED)
    return Reply(None, OFF_SCALE if is_bare(answer, scale) else NO_LABEL, reasoning)


def _own_list(found: Sequence[dict[Any, Any]], criterion: Criterion, usual: Collection[str]) -> tuple[Any, bool]:
    """Return the value of the last object with the criterion's own key; and whether objects name other criteria only.

    Objects with a key of ``usual`` name none.
    """
    values = [values_of_criterion(one, criterion) for one in found]
    own = [value for one in values for value in one.own]
    is_usual = any(str(k).strip().casefold() in usual for one in found for k in one)
    return (own[-1] if own else None), any(one.names_others for one in values) and not own and not is_usual


def _list(answer: str, scale: Listed, criterion: Criterion) -> tuple[Label | None, str]:
    """The names of the last list that a reply gives, or why there are none."""
    found: list[Any] = [value for _, _, value in objects(answer) if isinstance(value, dict)]
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
    return _listed(answer, scale, given, is_json=bool(found)), OFF_SCALE


def _own_lines(answer: str, scale: Scale, criterion: Criterion) -> str:
    """What lines with the own criterion's name say; without them, a text without the lines and parts of others."""
    lines = [(one, criterion.rank(one["name"])) for one in _CRITERION_LINE.finditer(answer)]
    own = [one["rest"] for one, rank in lines if rank is not None and rank >= 0 and not criterion.is_generic]
    if own:
        return own[-1]
    text = CriterionPlaces(answer, scale, criterion).own_text()
    for one, rank in lines:
        if rank == Criterion.OTHER:
            text = text[: one.start()] + " " * (one.end() - one.start()) + text[one.end() :]
    return text


def _listed(answer: str, scale: Listed, given: Any, *, is_json: bool) -> Label | None:
    """The names of the list that JSON gives; else of the last one in brackets, or with commas on the last line."""
    if is_json and given is None:
        return None
    if given is None:
        lists = re.findall(r"\[[^\[\]]*\]", answer)
        given = lists[-1] if lists else BULLET.sub("", answer.strip().splitlines()[-1])
    if isinstance(given, str):
        words = re.sub(r"^[\w ]{0,30}:", "", given.strip()).strip(WRAPPING)
        none = spoken(words) in ("", "none", "none of these", "none apply", "no label")
        given = [] if none else re.split(r"\s*(?:[,;|>\n]|\band\b)\s*", words)
    if not isinstance(given, list):
        return None
    names = [_named_labels(scale.names, str(one).strip(), unwrap(str(one))) for one in given if str(one).strip()]
    return None if any(len(one) != 1 for one in names) else scale.read([one[0] for one in names])


def _spans(answer: str, scale: SpanLabels, source: str, criterion: Criterion) -> tuple[Label | None, str | None]:
    """Return the spans that a response quotes, by their position in the text; or the reason if there are none."""
    found = [value for _, _, value in objects(answer) if isinstance(value, dict)]
    lists = [one for value in found for key, one in value.items() if key.casefold() in _SPAN_KEYS]
    own, of_others = _own_list(found, criterion, ("label", "labels", "spans", "entities"))
    if of_others:
        return None, OTHER_CRITERIA
    lists = [own] if own is not None else lists
    quotes = lists[-1] if lists and isinstance(lists[-1], list) else _whole_list(answer)
    if quotes is None:
        return None, NO_LABEL
    spans: list[tuple[int, int, str]] = []
    times: Counter[str] = Counter()
    for one in quotes:
        words, named = (one.get("text"), one.get("label")) if isinstance(one, dict) else (None, None)
        names = _named_labels(scale.names, str(named).strip(), unwrap(str(named)))
        if not isinstance(words, str) or not words.strip() or len(names) != 1:
            return None, OFF_SCALE
        # A repeated quote is the next occurrence of the same words, or has another label.
        places = _occurrences(words, source)
        free = [place for place in places if (*place, names[0]) not in spans]
        place = next(iter((*places[times[words] :], *free)), None)
        if place is None:
            return None, NOT_QUOTED
        spans.append((*place, str(names[0])))
        times[words] += 1
    label = scale.read(spans)
    return label, OFF_SCALE if label is None else None


def _whole_list(answer: str) -> list[Any] | None:
    """The last list in JSON that is whole; of one that breaks off no part."""
    found, end = None, 0
    for opened in [one.start() for one in re.finditer(r"\[", answer)][:MOST_BRACES]:
        if opened >= end:
            try:
                found, end = _DECODER.raw_decode(answer, opened)
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
    answer, reasoning = _split_thinking(text, leading=True)
    if answer is None:
        return Reply(None, UNFINISHED, reasoning)
    label = answer.strip()
    return Reply(label, None, reasoning) if label else Reply(None, EMPTY, reasoning)


_STRUCK = re.compile(r"~~(?=\S)[^~\n]+~~")
"""What Markdown strikes out."""

LONGEST = 32_000
"""Characters of a reply in which a label is looked for, unless all of it is one JSON object: some ten pages."""


def _ends(text: str) -> str:
    """Return the beginning and the end of a very long response; the last statement counts."""
    if len(text) <= LONGEST or _is_json(text):
        return text
    begin, end = text[: LONGEST // 4], text[LONGEST // 4 - LONGEST :]
    before, _, half_line = begin.rpartition("\n")
    begin = before if before and len(half_line) <= _NEAR else begin
    half_line, _, after = end.partition("\n")
    end = after if after and len(half_line) <= _NEAR else end  # half a name is none
    return f"{begin}\n…\n{end}"


def _plain(text: str) -> str:
    """Digits and letters in their everyday form; invisible characters gone."""
    if text.isascii() and text.isprintable():
        return text
    text = unicodedata.normalize("NFKC", text).replace("−", "-").replace("–", "-")
    text = text.replace("’", "'").replace("\ufe0f", "")
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cf", "Cc", "Cs"))


# -- thinking ----------------------------------------------------------------------------------------


def _split_thinking(text: str, *, leading: bool = False) -> tuple[str | None, str | None]:
    """Return the response without the reasoning before it, and that reasoning; no response if the reasoning has no end.

    With ``leading``, only at the beginning: free text can mention such markers.
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


# -- which statement counts --------------------------------------------------------------------------


def _settling_statement(answer: str, scale: Scale, criterion: Criterion, *, cut_off: bool) -> Statement | None:
    """The statement by which a reply is settled.

    That is JSON with the criterion's own key; otherwise the last of the sure statements; otherwise the first other
    finder with a statement. A response that labels other criteria only is settled by that.
    """
    objects_found = list(find_in_json(answer, scale, criterion))
    prose = _blank(answer, objects_found)
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
    return settled if settled is not None else lines[-1] if lines else None


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
                sure += [one for one in found if one.decides]
            elif found:
                return _agreement(found)
    sure.sort(key=lambda one: one.at)
    if cut_off and sure:
        return _whole_statement(sure, answer)
    if own or (of_others and any(one.is_own for one in sure)):
        return _agreement(sure)
    return _last_of(sure, answer) if sure else of_others[-1] if of_others else None


_TAG = re.compile(r"<(?P<close>/?)(?P<tag>[^<>/\n]{1,80})>")
_MARKUP = re.compile(r"^[\s*_#>`|•▪●✅❌✔✘-]*(?:(?:\d+|[a-z])[.)]\s+)?", re.IGNORECASE)
_NAMING = re.compile(
    rf"^[*_\"']*(?:{'|'.join(sorted(_NAMING_KEYS))})[*_\"']*(?:\s+\w+)?\s*[:：=]\s*(?=\S)", re.IGNORECASE
)
_BREAK = re.compile(r"^\s*(?:#{1,6}\s|(?:-\s*){3,}$|(?:\*\s*){3,}$|_{3,}\s*$)")
"""Lines with which another part of a reply begins: headings of Markdown and rules."""

_ASKED_FORM = re.compile(r"[\"'*_\s]*(?:final\b|label\b|answer\b)", re.IGNORECASE)
"""The beginning of a statement that answers the question, after any discussion."""

_REST_ENDS = re.compile(r"\b(?:because|since|as|due|given|so|but|although|though|while)\b|[.;!?](?:\s|$)|[。！？；]")
_ARTICLE = r"(?:(?:the|its|their|this|that|his|her|my|overall)\s+){0,2}"
_ABOUT = rf"\b(?:for|on|in|of|regarding|concerning|für|pour|para|por|per)\s+{_ARTICLE}"


_NAMING_TAG = re.compile(
    rf"<(?:{'|'.join(sorted(_NAMING_KEYS))})>\s*(?P<name>[^<>\n]{{1,80}}?)\s*</[^<>\n]{{1,80}}>", re.IGNORECASE
)


def _run_in(names: str) -> re.Pattern[str]:
    """How a sentence begins that is about one criterion, or says which one is judged.

    ``**Coherence.** The text …``, ``Coherence of the text:``, ``As for coherence, …``, ``Task: rate coherence``.
    """
    begin = rf"(?:^|(?<=[.!?;]\s))[*_]*{_ARTICLE}"
    return re.compile(
        rf"{begin}(?P<head>{names})(?:\s+(?:of|score|rating|assessment|evaluation)\b[^\n:：.]{{0,40}})?"
        r"[*_`\"]*[ \t]*(?:[.:：|=→–—(\[]|-\s)"
        rf"|{begin}(?:regarding|concerning|on|for|as for|as to|in terms of|when it comes to|with regard to)\s+"
        rf"{_ARTICLE}(?P<about>{names})\s*[,:]"
        r"|\b(?<!not )(?<!n't )(?:rate|rating|assess|assessing|evaluate|evaluating|judge|judging|score|scoring|grade"
        rf"|grading|asked\s+(?:about|for))\s+{_ARTICLE}(?P<task>{names})\b(?!\s+(?:a\s+)?\d)",
        re.IGNORECASE,
    )


def _name_of(found: re.Match[str]) -> str:
    return next(one for one in (found["head"], found["about"], found["task"]) if one)


class ReplyPart(NamedTuple):
    """The beginning of a part of a response, the rank of its criterion, and whether the part names the criterion."""

    start: int
    rank: int | None
    is_named: bool = False


class CriterionPlaces:
    """Which criterion each place of a reply is about: by headings and tags above it, or by the words around it.

    Parameters
    ----------
    text : str
        The response, with spaces instead of its JSON objects.
    scale : Scale
        The scale of the question: a line that is one of its labels is no heading.
    criterion : Criterion
    """

    def __init__(self, text: str, scale: Scale, criterion: Criterion) -> None:
        self.text, self.scale, self.criterion = text, scale, criterion
        self.headings: list[Statement] = []
        self._mention = criterion.mention(scale)
        self._run_in = None if self._mention is None else _run_in(self._mention.pattern)
        parts = sorted([*self._headings(), *self._tags()], key=lambda part: part.start)
        self.parts = parts if any(one.rank not in (None, Criterion.WHOLE) for one in parts) else []

    def _rank(self, name: str) -> int | None:
        rank = self.criterion.rank(name)
        return None if rank is not None and rank >= 0 and self.criterion.is_generic else rank

    def _headings(self) -> Iterator[ReplyPart]:
        now = ReplyPart(0, None)
        for line in re.finditer(r"[^\n]+", self.text):
            end = line.start() + len(line[0].rstrip())
            words = _MARKUP.sub("", line[0])
            bare = _NAMING.sub("", words)
            name = _IN_BRACKETS.sub("", bare).strip(WRAPPING + "：-– ")
            is_break = _BREAK.match(line[0]) is not None
            if is_break:
                name = re.split(r"[:：|=–—]|\s-\s", name, maxsplit=1)[0]
            rank = self._rank(name) if len(name) <= _LINE else None
            if is_break and rank is None and self._mention is not None:
                named = {self._rank(one[0]) for one in self._mention.finditer(line[0])}
                rank = named.pop() if len(named) == 1 else None
            lead = len(line[0]) - len(words)
            begun = list(self._run_in.finditer(words)) if self._run_in is not None else []
            is_label = not takes_any_word(self.scale) and label_on_scale(name, self.scale) is not None
            if is_break or (rank is not None and not is_label):
                if rank is not None:
                    self.headings.append(Statement(line.start(), end, None))
                now = ReplyPart(line.start(), rank, is_named=bare != words)
                yield now
            elif begun and (begun[-1]["task"] or words.rstrip(" *_").endswith((":", "："))):
                now = ReplyPart(line.start() + lead + begun[-1].end(), self._rank(_name_of(begun[-1])))
                yield now
            elif begun:
                for one in begun:
                    yield ReplyPart(line.start() + lead + one.end(), self._rank(_name_of(one)))
                yield now._replace(start=line.end())

    def _tags(self) -> Iterator[ReplyPart]:
        opened: set[str] = set()
        for one in _NAMING_TAG.finditer(self.text):
            rank = self._rank(one["name"])
            if rank is not None:
                yield ReplyPart(one.end(), rank, is_named=True)
        for one in _TAG.finditer(self.text):
            name = one["tag"].split()[0] if one["tag"].split() else ""
            rank = None if one["close"] else _tag_rank(one["tag"], self.criterion)
            if rank is not None:
                opened |= {one["tag"], name}
                yield ReplyPart(one.end(), rank, is_named=True)
            elif one["close"] and one["tag"] in opened:
                yield ReplyPart(one.start(), None)

    def part(self, at: int) -> ReplyPart:
        """The part in which a place is."""
        place = bisect.bisect_right(self.parts, at, key=lambda one: one.start)
        return self.parts[place - 1] if place else ReplyPart(0, None)

    def own_text(self) -> str:
        """Return the text with spaces instead of the parts about other criteria."""
        text = self.text
        for one, following in pairwise([*self.parts, ReplyPart(len(text), None)]):
            if one.rank is not None and one.rank < 0:
                start = text.rfind("\n", 0, one.start) + 1  # with its heading
                text = text[:start] + re.sub(r"[^\n]", " ", text[start : following.start]) + text[following.start :]
        return text

    def attribute(self, found: Sequence[Statement], text: str) -> list[Statement]:
        """The statements, each with the criterion that it is of: `is_own`, or `OF_OTHERS` for its label.

        The only statement in the requested form belongs to the question, in any part of the response.
        """
        asked = [one for one in found if one.decides and self._is_asked_form(one, text)]
        done = []
        for one in found:
            rank = None if one.is_own or one.label is OF_OTHERS else self._bound_rank(one, text)
            if rank is None and not one.is_own and one.label is not OF_OTHERS:
                part = self.part(self._place(one, text))
                is_answer = len(asked) == 1 and one is asked[0] and not part.is_named
                rank = None if is_answer else part.rank
            if rank is None:
                done.append(one)
            elif rank >= 0:
                done.append(replace(one, is_own=True))
            else:
                done.append(replace(one, label=OF_OTHERS))
        return done

    def _is_asked_form(self, one: Statement, text: str) -> bool:
        said = text[one.at : one.end]
        return (
            _LABEL_KEY.search(said) is not None if said[:1] == "{" else _ASKED_FORM.match(said.lstrip("<")) is not None
        )

    def _place(self, one: Statement, text: str) -> int:
        """Return the position of a statement; for one at the very beginning or end, the first or last line with
        words."""
        if one.end > 0 and one.at < len(text):
            return one.at
        words = list(re.finditer(r"[\w★⭐]", text))
        return words[-1 if one.at else 0].start() if words else one.at

    def _bound_rank(self, one: Statement, text: str) -> int | None:
        """The rank of the criterion that the words of a statement name: "4 for relevance", "relevance score: 4"."""
        if self._mention is None:
            return None
        name = f"(?P<name>{self._mention.pattern})"
        place = self._place(one, text)
        if place == one.at:
            head, said, begin = _clause(text, one.at), text[one.at : one.end], one.end
        else:
            head, said, begin = "", "", text.rfind("\n", 0, place) + 1
        if said[:1] == "{":
            said = ""
        rest = _REST_ENDS.split(text[begin : begin + _NEAR].partition("\n")[0], maxsplit=1)[0]
        before = rest[: self._label_at(rest, one.label)]
        after = rest[len(before) :]
        for pattern, words in (
            (rf"(?:.*\W|^){name}", before),
            (rf"^\W*[\w./]+(?:\s+\w+)?\W{{1,4}}{name}", after),
            (rf"^[^,]{{0,60}}?{_ABOUT}{name}", after),
            (rf".*{name}", said),
            (rf"(?:.*\W|^){name}(?:'s|-wise|的|の)?\W*$", head),
            (rf".*{_ABOUT}{name}", head),
        ):
            match = re.search(pattern, words, re.IGNORECASE | re.DOTALL)
            rank = None if match is None else self._rank(match["name"])
            if rank is not None:
                return rank
        return None

    def _label_at(self, rest: str, label: Any) -> int:
        """Return the beginning of a statement's label after its introduction; 0 if it is not found."""
        found = re.search(rf"\d|{_WORD.pattern}|[★⭐]", rest, re.IGNORECASE) if self.scale.numeric else None
        if not self.scale.numeric and isinstance(label, str):
            found = re.search(re.escape(label), rest, re.IGNORECASE)
        return 0 if found is None else found.start()


def _blank(text: str, statements: Sequence[Statement]) -> str:
    """Return a text with spaces instead of statements."""
    letters = list(text) if statements else []
    for one in statements:
        letters[one.at : one.end] = " " * (one.end - one.at)
    return "".join(letters) if statements else text


def _whole_statement(found: list[Statement], answer: str) -> Statement | None:
    """Of a reply that was cut off: only what begins it, or exactly ends it."""
    if not found:
        return None
    if not answer[found[-1].end :].strip(" \n`"):
        return found[-1]
    before = answer[: found[0].at].strip(" \n`")
    begins = len(before) <= _LINE and "\n" not in before and not TURNING.match(answer[found[-1].end :])
    return _agreement(found) if begins else None


def _last_of(found: list[Statement], answer: str) -> Statement:
    """Return the last statement; in doubt if it is only the alternative to the one before, or has another subject."""
    last = found[-1]
    for before in found[-2:-1]:
        between = answer[before.end : last.at].strip(" \n`").casefold()
        if between in (",", "or", "and") or between.startswith(("or ", "and ")):
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


# -- how likely each label was ---------------------------------------------------------------------------

LEAST_ON_LABELS = 0.5
"""Required probability on labels: with less, the position is not that of a label, or the model meant something else."""

_NEGLIGIBLE = 0.01
"""Probability of a token that may be two labels, below which it does not matter which."""

_WIDEST = 1000
"""Whole numbers of a range that are looked for as labels."""

_BEFORE_LABEL = " \t\r\n\"'`*_([{:#"
_LABEL_KEY = re.compile(r"[\"']label[\"']\s*:\s*[\"']?", re.IGNORECASE)
_ANY_KEY = re.compile(r"[\"'](?P<key>[^\"'\n]{1,100})[\"']\s*[:,]\s*")


@dataclass(frozen=True)
class LabelLikelihood:
    """The probability of each label at the stated position: ``shares`` that sum to 1, or the ``reason`` if there are
    none.

    ``on_labels`` is the probability that labels have together.
    """

    shares: Mapping[Label, float] = field(default_factory=dict)
    on_labels: float = 0.0
    reason: str | None = None


def label_likelihood(
    tokens: Sequence[tuple[str, Sequence[tuple[str, float]]]],
    label: Label,
    scale: Scale,
    words: Mapping[Label, str],
    criterion: str = "",
) -> LabelLikelihood:
    """Return the probability of each label, from the alternative tokens at the position of the stated label.

    Parameters
    ----------
    tokens : list of (token, alternatives)
        The reply, token by token; alternatives with their log probabilities, the token itself among them.
    label : label
        The parsed label.
    words : dict
        The model's words for labels, if they differ from the labels.
    criterion : str
        The question's own criterion: a label behind its key is the one that counts.
    """
    if not any(there for _, there in tokens):
        return LabelLikelihood(reason="the service sent no probabilities of tokens")
    spelled = _label_spellings(scale, words)
    place = _label_place(tokens, spelled.get(label, str(label)), Criterion(criterion))
    if place is None:
        return LabelLikelihood(reason="the label is not where tokens have probabilities")
    at, skipped = place
    ahead = tokens[at][0][:skipped]
    masses: dict[Label, float] = {}
    parts = [(_rest(token, ahead), math.exp(value)) for token, value in tokens[at][1]]
    whole = {text for text, _ in parts}
    said = _rest(tokens[at][0], ahead)
    for text, mass in parts:
        fitting = [one for one, word in spelled.items() if text and word.casefold().startswith(text)]
        exact = next((one for one in fitting if spelled[one].casefold() == text), None)
        # A token that is a label and also begins other labels counts for it, if the others have separate tokens.
        split = [one for one in fitting if one != exact and spelled[one].casefold() not in whole]
        if exact is not None and (not split or mass < _NEGLIGIBLE):
            masses[exact] = masses.get(exact, 0.0) + mass
        elif exact is None and len(fitting) == 1:
            masses[fitting[0]] = masses.get(fitting[0], 0.0) + mass
        elif fitting and mass >= _NEGLIGIBLE:
            divided = _divide_token(tokens, at, exact, split, spelled, text) if text == said else None
            if divided is None:
                two = " and ".join(repr(spelled[one]) for one in fitting[:2])
                return LabelLikelihood(
                    reason=f"{two} begin with the same token, so their probabilities cannot be separated"
                )
            for one, share in divided.items():
                masses[one] = masses.get(one, 0.0) + share * mass
    total = sum(masses.values())
    if total < LEAST_ON_LABELS:
        return LabelLikelihood(on_labels=total, reason=f"the labels have {total:.2f} of the probability of their place")
    shares = {one: masses.get(one, 0.0) / total for one in spelled if scale.categories is not None or one in masses}
    return LabelLikelihood(shares, min(1.0, total))


def _label_spellings(scale: Scale, words: Mapping[Label, str]) -> dict[Label, str]:
    """How each label is written."""
    if words:
        return dict(words)
    labels: Sequence[Label] = scale.categories or ()
    if not labels and scale.bounds is not None and scale.bounds[1] - scale.bounds[0] <= _WIDEST:
        labels = range(math.ceil(scale.bounds[0]), math.floor(scale.bounds[1]) + 1)
    return {one: str(one) for one in labels}


def _label_place(tokens: Sequence[tuple[str, Any]], word: str, criterion: Criterion) -> tuple[int, int] | None:
    """Return the token in which the stated label begins, and the number of its characters before the label."""
    text = "".join(token for token, _ in tokens)
    keys = [found.end() for found in _LABEL_KEY.finditer(text)]
    label = re.compile(rf"(?<![\w.-]){re.escape(word)}(?![\w]|\.\d*[1-9])", re.IGNORECASE)
    starts = [found.start() for found in label.finditer(text)]
    begin = next((at for at in reversed(starts) if at in keys), starts[-1] if starts else None)
    own = _end_of_own_key(text, criterion)
    if own is not None:  # {"coherence": {"score": 3}, …}: the first such label behind the own key
        begin = next((at for at in starts if at >= own), begin)
    position = 0
    for place, (token, there) in enumerate(tokens):
        if begin is not None and position <= begin < position + len(token):
            return (place, begin - position) if there else None
        position += len(token)
    return None


def _end_of_own_key(text: str, criterion: Criterion) -> int | None:
    """Return the end of the last key that names the criterion most closely; None if there is none."""
    if criterion.is_aside:
        return None
    ranked = ((criterion.rank(one["key"]), one.end()) for one in _ANY_KEY.finditer(text))
    found = [(rank, end) for rank, end in ranked if rank is not None]
    best = min((rank for rank, _ in found), default=None)
    return max((end for rank, end in found if rank == best), default=None)


def _rest(token: str, ahead: str) -> str:
    """Return the part of a token that can be a label: without the characters before, and those that end it."""
    text = token[len(ahead) :] if ahead and token.startswith(ahead) else token
    return text.lstrip(_BEFORE_LABEL).rstrip(_ENDING).casefold()


def _divide_token(
    tokens: Sequence[tuple[str, Any]],
    at: int,
    exact: Label | None,
    split: Sequence[Label],
    spelled: Mapping[Label, str],
    begun: str,
) -> dict[Label, float] | None:
    """How a token that begins several labels is divided among them, by what might have followed it."""
    if at + 1 >= len(tokens) or not tokens[at + 1][1]:
        return None
    shares: dict[Label, float] = {}
    for token, value in tokens[at + 1][1]:
        following = token.rstrip(_ENDING).casefold()
        fitting = [one for one in split if following and spelled[one].casefold().startswith(begun + following)]
        if len(fitting) > 1:
            return None
        one = fitting[0] if fitting else exact
        if one is not None:
            shares[one] = shares.get(one, 0.0) + math.exp(value)
    total = sum(shares.values())
    return {one: share / total for one, share in shares.items()} if total else None
