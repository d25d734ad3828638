"""Similarities of two texts that need nothing but the texts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.similarity.protocol import Floats, Ints, Similarity


@dataclass(frozen=True)
class LexicalSimilarity(Similarity):
    """Cosine of the counts of what ``parts`` finds in each text; 0 nothing shared, 1 the same counts."""

    name: str
    parts: Callable[[str], list[str]]

    def compare(self, texts: Sequence[str], first: Ints, second: Ints) -> Floats:
        """Each text is taken apart once."""
        counts = [Counter(self.parts(text)) for text in texts]
        norm = [math.sqrt(sum(n * n for n in c.values())) for c in counts]
        found = np.zeros(len(first))
        for k, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            small, large = sorted((counts[i], counts[j]), key=len)
            shared = sum(n * large[part] for part, n in small.items() if part in large)
            found[k] = min(shared / (norm[i] * norm[j]), 1.0) if shared else 0.0
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
