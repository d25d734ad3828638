"""Similarities of two texts that need nothing but the texts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError, unknown


@dataclass(frozen=True)
class LexicalSimilarity:
    """Cosine of the counts of what ``parts`` finds in each text; 0 nothing shared, 1 the same counts.

    Call it with two texts, or `pairs` with two equally long lists.
    """

    name: str
    parts: Callable[[str], list[str]]

    def __call__(self, first: str, second: str) -> float:
        """The similarity of two texts, 0 to 1."""
        return float(self.pairs([first], [second])[0])

    def pairs(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
        """The similarity of each pair, each text taken apart once: (pairs,)."""
        counts = {text: Counter(self.parts(text)) for text in {*first, *second}}
        norm = {text: math.sqrt(sum(n * n for n in c.values())) for text, c in counts.items()}
        found = np.zeros(len(first))
        for i, (a, b) in enumerate(zip(first, second, strict=True)):
            small, large = sorted((counts[a], counts[b]), key=len)
            shared = sum(n * large[part] for part, n in small.items() if part in large)
            found[i] = min(shared / (norm[a] * norm[b]), 1.0) if shared else float(a == b)
        return found


def _trigrams(text: str) -> list[str]:
    padded = f"  {' '.join(text.lower().split())} "
    return [padded[i : i + 3] for i in range(len(padded) - 2)]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


character_similarity = LexicalSimilarity("characters", _trigrams)
"""Cosine of character trigrams: forgives endings and small misspellings, knows no synonyms."""

word_similarity = LexicalSimilarity("words", _words)
"""Cosine of word counts: shared words, whatever their order."""


def similarity_named(name: str) -> LexicalSimilarity:
    """The similarity of that name: ``characters`` or ``words``."""
    known = {s.name: s for s in (character_similarity, word_similarity)}
    if name not in known:
        raise DataError(unknown("similarity", name, known, "assay"))
    return known[name]
