"""Similarities that depend only on the two texts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np

from assay.errors import DataError, DesignError, require
from assay.similarity.protocol import Floats, Ints, Similarity, cached_scores, shared_counts
from assay.similarity.stemming import rouge_stem


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


def padded_trigrams(text: str) -> list[str]:
    """Every three letters in a row in lower case, with two spaces before the text and one after it."""
    padded = f"  {' '.join(text.lower().split())} "
    return [padded[i : i + 3] for i in range(len(padded) - 2)]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


character_similarity = LexicalSimilarity("characters", padded_trigrams)
"""Cosine of character trigrams: forgives endings and small misspellings, knows no synonyms."""

word_similarity = LexicalSimilarity("words", _words)
"""Cosine of word counts: shared words in any order."""


# -- overlap, as summaries and translations are scored ---------------------------------------------
# Each is symmetric: F1 for ROUGE (Lin 2004), the longer text as the reference for BLEU
# (Papineni et al. 2002) and chrF (Popović 2015), as Ghosh, Srinivasan & Swayamdipta (2024, section 2.2) do;
# ``bleu-mean`` is the mean of BLEU both ways round. Each text is taken apart once, and its n-grams are counted once.

Scores = Callable[[Sequence[str], Ints, Ints], Floats]

MAX_BLEU, MAX_CHRF, BETA = 4, 6, 2
"""The longest n-grams of BLEU and chrF, and how much more recall weighs than precision in chrF."""


@dataclass(frozen=True)
class Overlap(Similarity):
    """A similarity from 0 to 1."""

    name: str
    scores: Scores
    """Distinct texts and the pairs that are wanted -> (pairs,)."""

    def compare(self, texts: Sequence[str], first: Ints, second: Ints) -> Floats:
        """As the function says."""
        return self.scores(texts, first, second)


def word_tokens(text: str) -> list[str]:
    """Lower-case runs of letters and digits of any script."""
    return re.findall(r"[^\W_]+", text.lower())


def n_grams(words: Sequence[str], n: int) -> Iterable[Hashable]:
    """Every n words in a row."""
    return zip(*(words[i:] for i in range(n)), strict=False)


Stem = Literal["none", "porter"]
"""Words or stems in ROUGE; stems as in the reference implementation."""


def _stems(text: str, stem: Stem) -> list[str]:
    """The words of a text, or their stems."""
    words = word_tokens(text)
    return words if stem == "none" else [rouge_stem(word) for word in words]


def _rouge(n: int, stem: Stem = "none") -> Scores:
    def scores(texts: Sequence[str], first: Ints, second: Ints) -> Floats:
        words = [_stems(text, stem) for text in texts]
        counted = [Counter(n_grams(one, n)) for one in words]
        return _f1(shared_counts(counted, first, second), [max(len(w) - n + 1, 0) for w in words], words, first, second)

    return scores


def _rouge_l(texts: Sequence[str], first: Ints, second: Ints, stem: Stem = "none") -> Floats:
    longest = require("rapidfuzz.distance", "similarity", "ROUGE-L").LCSseq
    words = [_stems(text, stem) for text in texts]
    place: dict[str, int] = {}
    codes = [[place.setdefault(word, len(place)) for word in one] for one in words]
    shared = [longest.similarity(codes[i], codes[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)]
    return _f1(np.array(shared, dtype=float), [len(one) for one in words], words, first, second)


def _f1(shared: Floats, length: list[int], words: list[list[str]], first: Ints, second: Ints) -> Floats:
    """2 · shared / (length + length): F1 of precision and recall; two texts that are too short have 1 if equal."""
    size = np.array(length, dtype=float)
    both = size[first] + size[second]
    found = 2 * shared / np.maximum(both, 1)
    for k in np.flatnonzero(both == 0):
        found[k] = float(words[first[k]] == words[second[k]])
    return np.asarray(found)


def longer_as_reference(texts: Sequence[str], first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """Hypothesis and reference: the longer text, and of equally long ones that which sorts last, is the reference."""
    order = np.empty(len(texts), dtype=np.int64)
    order[sorted(range(len(texts)), key=lambda i: (len(word_tokens(texts[i])), texts[i]))] = np.arange(len(texts))
    swap = order[first] > order[second]
    return np.where(swap, second, first), np.where(swap, first, second)


def _bleu(texts: Sequence[str], first: Ints, second: Ints) -> Floats:
    return _bleu_of(texts, *longer_as_reference(texts, first, second))


def _bleu_mean(texts: Sequence[str], first: Ints, second: Ints) -> Floats:
    n = len(first)
    both = _bleu_of(texts, np.concatenate([first, second]), np.concatenate([second, first]))
    return (both[:n] + both[n:]) / 2


def _bleu_of(texts: Sequence[str], hypothesis: Ints, reference: Ints) -> Floats:
    """Sentence BLEU of sacrebleu, over 100: up to 4-grams, exponential smoothing, effective order."""
    bleu = require("sacrebleu.metrics", "similarity", "BLEU").BLEU
    metric = bleu(effective_order=True)
    words = [metric.tokenizer(text.rstrip()).split() for text in texts]
    length = np.array([len(one) for one in words])
    orders = range(1, MAX_BLEU + 1)
    correct = np.stack(
        [shared_counts([Counter(n_grams(one, n)) for one in words], hypothesis, reference) for n in orders], axis=1
    )
    total = np.stack([np.maximum(length[hypothesis] - n + 1, 0) for n in orders], axis=1)
    scores = [
        metric.compute_bleu(c, t, sys_len=h, ref_len=r, smooth_method="exp", effective_order=True).score / 100
        for c, t, h, r in zip(correct.tolist(), total.tolist(), length[hypothesis].tolist(), length[reference].tolist(),
                              strict=True)
    ]  # fmt: skip
    same = [words[i] == words[j] for i, j in zip(hypothesis.tolist(), reference.tolist(), strict=True)]
    return np.where(same, 1.0, np.clip(scores, 0.0, 1.0))


def _chrf(texts: Sequence[str], first: Ints, second: Ints) -> Floats:
    """chrF2: mean precision and recall of n-grams of up to 6 characters, white space left out."""
    hypothesis, reference = longer_as_reference(texts, first, second)
    letters = ["".join(text.split()) for text in texts]
    length = np.array([len(one) for one in letters], dtype=float)
    precision, recall, orders = (np.zeros(len(first)) for _ in "123")
    for n in range(1, MAX_CHRF + 1):
        counted = [Counter[Hashable](one[i : i + n] for i in range(len(one) - n + 1)) for one in letters]
        match = shared_counts(counted, hypothesis, reference)
        made, wanted = (np.maximum(length[which] - n + 1, 0) for which in (hypothesis, reference))
        both = (made > 0) & (wanted > 0)
        precision += np.where(both, match / np.maximum(made, 1), 0.0)
        recall += np.where(both, match / np.maximum(wanted, 1), 0.0)
        orders += both
    precision, recall = precision / np.maximum(orders, 1), recall / np.maximum(orders, 1)
    below = BETA**2 * precision + recall
    found = (1 + BETA**2) * precision * recall / np.where(below > 0, below, 1.0)
    same = [letters[i] == letters[j] for i, j in zip(first.tolist(), second.tolist(), strict=True)]
    return np.where(same, 1.0, np.minimum(found, 1.0))


OVERLAPS: dict[str, Overlap] = {
    one.name: one
    for one in (
        Overlap("rouge-1", _rouge(1)), Overlap("rouge-2", _rouge(2)), Overlap("rouge-l", _rouge_l),
        Overlap("bleu", _bleu), Overlap("bleu-mean", _bleu_mean), Overlap("chrf", _chrf),
    )
}  # fmt: skip
"""By name. ROUGE-L and BLEU need the extra ``similarity``."""

STEMMED: dict[str, Overlap] = {
    "rouge-1": Overlap("rouge-1,stem=porter", _rouge(1, "porter")),
    "rouge-2": Overlap("rouge-2,stem=porter", _rouge(2, "porter")),
    "rouge-l": Overlap("rouge-l,stem=porter", partial(_rouge_l, stem="porter")),
}
"""ROUGE over stems, by the name of ROUGE over words."""


# -- shared entities -------------------------------------------------------------------------------
# Jaccard's coefficient of the two sets of entities (Ghosh, Srinivasan & Swayamdipta 2024, appendix E),
#
#     J(A, B) = |A ∩ B| / |A ∪ B|,
#
# and 1 where neither text names any.

EXTRA = "entities"
DEFAULT_MODEL = "en_core_web_sm"


@dataclass(frozen=True)
class Entities(Similarity):
    """Jaccard of the entities of two texts, 0 to 1.

    Attributes
    ----------
    extract : callable or spaCy pipeline
        A text -> its entities, as hashable values; or an object with a method ``pipe`` for many texts whose documents
        have ``ents``. Entities of spaCy are compared by their words, ignoring white space and case.
    """

    extract: Any
    key: str = field(default="", repr=False)
    """Key of the cache of scores; empty without a cache."""

    @property
    def name(self) -> str:  # type: ignore[override]
        """``entities``, with the model or the function."""
        meta = getattr(self.extract, "meta", None) or {}
        own = f"{meta.get('lang', '')}_{meta.get('name', '')}" if meta else getattr(self.extract, "__name__", "own")
        return f"entities:{own}"

    @property
    def about(self) -> str:
        """The model, if any."""
        return f"Jaccard of entities by {self.key}" if self.key else ""

    def compare(self, texts: Sequence[str], first: Ints, second: Ints) -> Floats:
        """Each text is read once."""
        score = partial(self._jaccard, texts)
        return cached_scores(f"entities {self.key}", texts, first, second, score) if self.key else score(first, second)

    def _jaccard(self, texts: Sequence[str], first: Ints, second: Ints) -> Floats:
        used, where = np.unique(np.concatenate([first, second]), return_inverse=True)
        a, b = np.split(where.ravel(), 2)
        sets = self._sets([texts[k] for k in used])
        shared = shared_counts([Counter(dict.fromkeys(one, 1)) for one in sets], a, b)
        size = np.array([len(one) for one in sets], dtype=float)
        either = size[a] + size[b] - shared
        return np.asarray(np.where(either > 0, shared / np.maximum(either, 1), 1.0))

    def _sets(self, texts: list[str]) -> list[set[Hashable]]:
        if hasattr(self.extract, "pipe"):
            return [
                {" ".join(e.text.split()).casefold() for e in document.ents} for document in self.extract.pipe(texts)
            ]
        return [_entity_set(self.extract(text), text) for text in texts]


def spacy_entities(model: str = DEFAULT_MODEL) -> Entities:
    """Entities as a spaCy model finds them; the model must be installed, or be a folder."""
    pipeline = _pipeline(model)
    meta = pipeline.meta
    return Entities(pipeline, f"{meta.get('lang')}_{meta.get('name')} {meta.get('version')} (spaCy {_version()})")


def _entity_set(found: Iterable[Hashable] | str, text: str) -> set[Hashable]:
    if isinstance(found, str):
        raise DataError(
            f"what finds entities must return a list of them; for {text[:40]!r} it returned the text {found!r}"
        )
    try:
        return set(found)
    except TypeError as error:
        raise DataError(f"what finds entities must return a list of them; for {text[:40]!r}: {error}") from error


@lru_cache(maxsize=2)
def _pipeline(model: str) -> Any:
    spacy = require("spacy", EXTRA, "finding entities")
    try:
        pipeline = spacy.load(model)
    except OSError as error:
        raise DataError(
            f"spaCy has no model '{model}' here: python -m spacy download {model}, or give the folder of one, or a "
            "function that finds entities"
        ) from error
    if not {"ner", "entity_ruler", "span_ruler"} & set(pipeline.pipe_names):
        raise DesignError(f"the spaCy model '{model}' finds no entities: it has neither 'ner' nor an entity ruler")
    return pipeline


def _version() -> str:
    return str(require("spacy", EXTRA, "finding entities").__version__)
