"""Words without their endings: Porter's stemmer (1980), as in ROUGE.

The reference ROUGE (rouge-score, ``use_stemmer=True``) stems words of more than three letters with NLTK's version of
Porter's rules, which keeps a few irregular words and corrects short ones (*dies* is *die*, not *di*). The same here,
rule by rule, so that scores are the same to the last digit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import lru_cache

LONGER = 3
"""Words of more letters are stemmed; shorter ones stay, as rouge-score has it."""

IRREGULAR = {
    "sky": "sky", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news", "innings": "inning",
    "inning": "inning", "outings": "outing", "outing": "outing", "cannings": "canning", "canning": "canning",
    "howe": "howe", "proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}  # fmt: skip

Rule = tuple[str, str, Callable[[str], bool]]


def rouge_stem(word: str) -> str:
    """The stem of a word of more than three letters, others unchanged."""
    return porter_stem(word) if len(word) > LONGER else word


@lru_cache(maxsize=100_000)
def porter_stem(word: str) -> str:
    """The stem of a word in lower case.

    Examples
    --------
    >>> [porter_stem(word) for word in ("students", "adding", "relational", "dies", "sky")]
    ['student', 'ad', 'relat', 'die', 'sky']
    """
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_plural, _past, _final_y, _double_suffix, _ful_ness, _single_suffix, _final_e, _final_ll):
        word = step(word)
    return word


def consonants(word: str) -> list[bool]:
    """Of each letter: y is a consonant at the beginning and after a vowel."""
    found: list[bool] = []
    for letter in word:
        found.append(letter not in "aeiou" and (letter != "y" or not found or not found[-1]))
    return found


def porter_measure(stem: str) -> int:
    """How often a vowel is followed by a consonant: m of [C](VC)^m[V]."""
    kinds = consonants(stem)
    return sum(not before and after for before, after in itertools.pairwise(kinds))


def has_measure(stem: str) -> bool:
    """Porter's condition m > 0."""
    return porter_measure(stem) > 0


def has_long_measure(stem: str) -> bool:
    """Porter's condition m > 1."""
    return porter_measure(stem) > 1


def _any_stem(stem: str) -> bool:
    return True


def _has_vowel(stem: str) -> bool:
    return not all(consonants(stem))


def ends_double(word: str) -> bool:
    """Porter's condition *d: the word ends in a double consonant."""
    return len(word) >= 2 and word[-1] == word[-2] and consonants(word)[-1]


def ends_short(word: str) -> bool:
    """Consonant, vowel, consonant that is none of w, x and y; or a vowel and a consonant that are the word."""
    kinds = consonants(word)
    if len(word) == 2:
        return kinds == [False, True]
    return len(word) > 2 and kinds[-3:] == [True, False, True] and word[-1] not in "wxy"


def _first_rule(word: str, rules: list[Rule]) -> str:
    """The first rule whose suffix is there decides, whether its condition holds or not."""
    for suffix, instead, condition in rules:
        if word.endswith(suffix):
            stem = word[: len(word) - len(suffix)]
            return stem + instead if condition(stem) else word
    return word


def _plural(word: str) -> str:
    if word.endswith("ies") and len(word) == 4:
        return word[:-1]
    return _first_rule(
        word, [("sses", "ss", _any_stem), ("ies", "i", _any_stem), ("ss", "ss", _any_stem), ("s", "", _any_stem)]
    )


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if has_measure(word[:-3]) else word
    for suffix in ("ed", "ing"):
        stem = word[: len(word) - len(suffix)]
        if word.endswith(suffix) and _has_vowel(stem):
            break
    else:
        return word
    for ending in ("at", "bl", "iz"):
        if stem.endswith(ending):
            return stem + "e"
    if ends_double(stem):
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if porter_measure(stem) == 1 and ends_short(stem) else stem


def _final_y(word: str) -> str:
    return _first_rule(word, [("y", "i", lambda stem: len(stem) > 1 and consonants(stem)[-1])])


_DOUBLE: list[Rule] = [
    (suffix, instead, has_measure) for suffix, instead in (
        ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
        ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
        ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
        ("iviti", "ive"), ("biliti", "ble"), ("fulli", "ful"),
    )
]  # fmt: skip


def _double_suffix(word: str) -> str:
    if word.endswith("alli") and has_measure(word[:-4]):
        return _double_suffix(word[:-2])
    # The measure of "logi" is taken with its l.
    return _first_rule(word, [*_DOUBLE, ("logi", "log", lambda stem: has_measure(stem + "l"))])


def _ful_ness(word: str) -> str:
    pairs = (
        ("icate", "ic"),
        ("ative", ""),
        ("alize", "al"),
        ("iciti", "ic"),
        ("ical", "ic"),
        ("ful", ""),
        ("ness", ""),
    )
    return _first_rule(word, [(suffix, instead, has_measure) for suffix, instead in pairs])


_SINGLE: list[Rule] = [
    (suffix, "", (lambda s: has_long_measure(s) and s[-1] in "st") if suffix == "ion" else has_long_measure)
    for suffix in (
        "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate",
        "iti", "ous", "ive", "ize",
    )
]  # fmt: skip


def _single_suffix(word: str) -> str:
    return _first_rule(word, _SINGLE)


def _final_e(word: str) -> str:
    if not word.endswith("e"):
        return word
    stem = word[:-1]
    return stem if has_long_measure(stem) or (porter_measure(stem) == 1 and not ends_short(stem)) else word


def _final_ll(word: str) -> str:
    return word[:-1] if word.endswith("ll") and has_long_measure(word[:-1]) else word
