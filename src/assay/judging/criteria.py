"""Which criterion of a study does the key of a response name?"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from assay.data.scales import Label, Scale
from assay.judging.responses.label_words import plain, spoken, tokens

LABEL_KEYS = (
    *("label", "answer", "final_answer", "finalanswer", "rating", "score", "verdict", "choice", "judgment"),
    *("judgement", "grade", "category", "class", "classification", "relation", "result", "value", "stars"),
    *("decision", "preference", "output", "response", "prediction", "annotation", "winner", "overall"),
)
REASON_KEYS = (
    "reasoning",
    "reason",
    "explanation",
    "rationale",
    "justification",
    "thoughts",
    "thinking",
    "analysis",
    "why",
)
ASIDE_KEYS = (
    *REASON_KEYS,
    *("confidence", "certainty", "probability", "comment", "comments", "notes", "note", "item", "id", "scale"),
)
_REJECTED = re.compile(
    r"(?:loser|losing|worse|worst|weaker|least_likely|rejected|excluded|discarded|eliminated|ruled_out|alternative|runner_up)s?(?:_(?:label|answer|option|choice)s?)?"
)


def is_answer(scale: Scale) -> bool:
    """Whether the labels are those of a question: yes and no, or true and false."""
    return {str(one).casefold() for one in scale.categories or ("",)} <= {"yes", "no", "true", "false"}


def is_rejected(name: str, scale: Scale) -> bool:
    """Whether a name of an object says that its label is none; ``{"rejected": "yes"}`` answers a question."""
    return name.startswith(("not_", "never_")) or (not is_answer(scale) and _REJECTED.fullmatch(name) is not None)


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """A name without case, spaces, underscores, hyphens and other signs."""
    return "".join(c for c in unicodedata.normalize("NFKC", name).casefold() if c.isalnum())


_FORMS = re.compile(r"(?P<final>final)?(?P<name>.+?)(?:score|rating|label|grade|value|points)?")
"""A folded key that names a criterion with other words: ``final_coherence``, ``coherence_score``."""

_FORM_WORDS = frozenset(
    {"score", "rating", "label", "grade", "value", "points", "assessment", "evaluation", "judgment", "judgement",
     "level", "of", "for", "the", "summary", "text", "reply", "response", "answer", "essay", "review", "story"}
)  # fmt: skip
"""Words that a key may have before or behind the name of a criterion: ``score_of_coherence``."""

_GENERIC = frozenset(map(folded, (*LABEL_KEYS, *ASIDE_KEYS))) - {"overall"}
"""Keys that name no criterion in particular, even if a criterion has the name."""

_ASIDES, _WHOLE = frozenset(map(folded, ASIDE_KEYS)), "overall (not asked about)"

NAMING_KEYS = frozenset({"criterion", "criteria", "dimension", "aspect", "metric", "name", "question", "attribute"})
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
        self._labels = {folded(str(one)) for one in labels}
        self.is_generic = folded(name) in _GENERIC
        self.is_aside = folded(name) in _ASIDES
        self.is_one_of_several = len(names) > 1
        folds = Counter(map(folded, names))
        self._exact = {plain(one).strip(): one for one in names}
        # Only the exact key tells names apart that differ in case or signs alone.
        self._by_fold = {folded(one): one for one in names if folds[folded(one)] == 1 and folded(one)}
        if self.is_one_of_several:
            self._by_fold.setdefault("overall", _WHOLE)
        words = re.findall(r"[^\W_]+", plain(name).casefold())
        self._first_word = words[0] if words and (self.is_aside or not self.is_generic) else None
        self._mention = self.mention(None) if self.is_one_of_several else None

    def may_be_named(self, text: str) -> bool:
        """Whether a text has the first word of the own name: a quick check before any pattern is searched."""
        return self._first_word is not None and self._first_word in text.casefold()

    def rank(self, key: str) -> int | None:
        """How closely a key names the own criterion, 0 for closest; `OTHER` or `WHOLE`; None if it names none."""
        found = self._rank_exactly(key)
        return self._rank_exactly(IN_BRACKETS.sub("", key)) if found is None and "(" in key else found

    def _rank_exactly(self, key: str) -> int | None:
        fold = folded(key)
        form = _FORMS.fullmatch(fold)
        core = self._by_fold.get(form["name"]) if form else None
        if form and form["final"] and core is not None and fold not in self._by_fold:
            return self._rank_of(core, 0)
        for rank, found in ((1, self._exact.get(key.strip())), (2, self._by_fold.get(fold)), (3, core)):
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
        core = None if named is None else self._by_fold.get(folded(named[0]))
        return None if core in (None, self.name) else self._rank_of(core, 4)

    def is_other_usual(self, key: str) -> bool:
        """Whether a key is the name of another criterion that is also a usual key of a label: ``stars``."""
        found = self._exact.get(key.strip(), self._by_fold.get(folded(key)))
        return found not in (None, self.name, _WHOLE) and folded(found) in _GENERIC

    def is_name(self, words: str) -> bool:
        """Whether words are the name of a criterion of the study, and nothing else."""
        return folded(words) not in self._labels and self._by_fold.get(folded(words), _WHOLE) != _WHOLE

    def _rank_of(self, found: str, rank: int) -> int | None:
        if found == self.name:
            return rank
        if found == _WHOLE:
            return self.WHOLE
        return None if folded(found) in _GENERIC else self.OTHER

    def mention(self, scale: Scale | None) -> re.Pattern[str] | None:
        """Return a pattern for the names of the criteria in running text; None if no name is distinct from other words.

        Names that are words of every reply, as ``score``, and names that a label of the scale contains are left out.
        """
        labels = () if scale is None else scale.categories or ()
        words = [f" {spoken(str(label))} " for label in labels]
        names = [
            one
            for one in sorted(self._exact, key=len, reverse=True)
            if folded(one) not in _GENERIC and not any(f" {spoken(one)} " in label for label in words)
        ]
        parts = (r"[\s_-]*".join(map(re.escape, re.findall(r"[^\W_]+|[^\w\s-]", one))) for one in names)
        pattern = "|".join(
            rf"(?<!{_LATIN}){one}(?!{_LATIN})" if re.match(_LATIN, one) else one for one in parts if one
        )  # fmt: skip
        return re.compile(f"(?:{pattern})", re.IGNORECASE) if pattern else None


IN_BRACKETS = re.compile(r"\([^()]*\)")
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
                named = named_entry(one, criterion)
                for key, value in one.items() if named is None else (named,):
                    rank = criterion.key_rank(str(key))
                    if rank is not None and rank >= 0:
                        ranked.append((rank, value))
                    elif rank is not None:
                        names_others |= not is_sentence(value)
                    elif folded(str(key)) not in _ASIDES:
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


def named_entry(found: dict[Any, Any], criterion: Criterion) -> tuple[str, Any] | None:
    """Return the criterion that an object names in a separate value, and the rest of the object; None if it names
    none."""
    for key, value in found.items():
        name = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(name, str) and _names_criterion(str(key), name, criterion):
            rest = {k: v for k, v in found.items() if k != key}
            if any(folded(str(k)) not in _ASIDES for k in rest):
                return name, rest
    return None


def _names_criterion(key: str, value: str, criterion: Criterion) -> bool:
    """Whether an entry says which criterion an object is about: ``"criterion": "coherence"``."""
    if key.strip().casefold() in NAMING_KEYS:
        return criterion.rank(value) is not None
    return folded(key) not in _ASIDES and criterion.is_one_of_several and criterion.is_name(value)
