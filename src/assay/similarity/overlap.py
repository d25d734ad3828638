"""Overlap of two texts as summaries and translations are scored: ROUGE-1, ROUGE-2, ROUGE-L, BLEU and chrF.

Each is the same whichever text comes first: F1 for ROUGE (Lin 2004), the longer text as the reference for BLEU
(Papineni et al. 2002) and chrF (Popović 2015), as Ghosh, Srinivasan & Swayamdipta (2024, section 2.2) do. All pairs of
a list of texts are scored at once; ROUGE takes each text apart once.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import require

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Overlap:
    """A similarity from 0 to 1. Call it with two texts, or `matrix` with a list of them."""

    name: str
    matrix: Callable[[Sequence[str]], Floats]
    """All pairs of some texts, (texts, texts): symmetric."""

    def __call__(self, first: str, second: str) -> float:
        """The similarity of two texts."""
        return float(self.matrix([first, second])[0, 1])


def _tokens(text: str) -> list[str]:
    """Lower-case runs of letters and digits of any script."""
    return re.findall(r"[^\W_]+", text.lower())


def _rouge(n: int) -> Callable[[Sequence[str]], Floats]:
    def matrix(texts: Sequence[str]) -> Floats:
        grams = [Counter(zip(*(words[i:] for i in range(n)), strict=False)) for words in map(_tokens, texts)]
        place: dict[object, int] = {}
        for one in grams:
            for gram in one:
                place.setdefault(gram, len(place))
        counts = np.zeros((len(texts), max(len(place), 1)))
        for row, one in zip(counts, grams, strict=True):
            for gram, many in one.items():
                row[place[gram]] = many
        shared = np.stack([np.minimum(counts, row).sum(axis=1) for row in counts])
        return _f1(shared, counts.sum(axis=1))

    return matrix


def _rouge_l(texts: Sequence[str]) -> Floats:
    longest = require("rapidfuzz.distance", "similarity", "ROUGE-L").LCSseq
    words = [_tokens(text) for text in texts]
    shared = np.diag([float(len(one)) for one in words])
    for i, j in itertools.combinations(range(len(texts)), 2):
        shared[i, j] = shared[j, i] = longest.similarity(words[i], words[j])
    return _f1(shared, shared.diagonal().copy())


def _f1(shared: Floats, length: Floats) -> Floats:
    """2 · shared / (length + length): F1 of precision and recall; two empty texts are the same."""
    both = length[:, None] + length[None, :]
    return np.where(both > 0, 2 * shared / np.maximum(both, 1), 1.0)


def _sacre(name: str) -> Callable[[Sequence[str]], Floats]:
    """A sentence score of sacrebleu, over 100, with the longer text as the reference."""

    def matrix(texts: Sequence[str]) -> Floats:
        metrics = require("sacrebleu.metrics", "similarity", name)
        metric = metrics.BLEU(effective_order=True) if name == "BLEU" else metrics.CHRF()
        length = [len(_tokens(text)) for text in texts]
        found = np.ones((len(texts), len(texts)))
        for i, j in itertools.combinations(range(len(texts)), 2):
            # Of equally long texts the one that sorts last, so that the score is the same either way.
            reference, hypothesis = (i, j) if (length[i], texts[i]) > (length[j], texts[j]) else (j, i)
            same = texts[i] == texts[j]
            score = 1.0 if same else metric.sentence_score(texts[hypothesis], [texts[reference]]).score / 100
            found[i, j] = found[j, i] = min(score, 1.0)
        return found

    return matrix


OVERLAPS: dict[str, Overlap] = {
    one.name: one
    for one in (
        Overlap("rouge-1", _rouge(1)), Overlap("rouge-2", _rouge(2)), Overlap("rouge-l", _rouge_l),
        Overlap("bleu", _sacre("BLEU")), Overlap("chrf", _sacre("chrF")),
    )
}  # fmt: skip
"""By name. ROUGE-L, BLEU and chrF need the extra ``similarity``."""


def all_pairs(similarity: Callable[[str, str], float], texts: Sequence[str]) -> Floats:
    """The similarity of every two texts, (texts, texts); a function of two texts is asked both ways round."""
    matrix = getattr(similarity, "matrix", None)
    if matrix is not None:
        return np.asarray(matrix(texts), dtype=float)
    found = np.empty((len(texts), len(texts)))
    for i, j in itertools.product(range(len(texts)), repeat=2):
        found[i, j] = similarity(texts[i], texts[j])
    return found
