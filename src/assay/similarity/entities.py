"""Shared entities: people, places, numbers that two texts name, whatever else they say.

Jaccard's coefficient of the two sets of entities (Ghosh, Srinivasan & Swayamdipta 2024, appendix E),

    J(A, B) = |A ∩ B| / |A ∪ B|,

and 1 where neither text names any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from assay.errors import DataError, DesignError, require
from assay.similarity.cache import kept, key_of
from assay.similarity.protocol import Floats, Ints, Similarity, shared_counts

EXTRA = "entities"
DEFAULT_MODEL = "en_core_web_sm"


@dataclass(frozen=True)
class Entities(Similarity):
    """Jaccard of the entities of two texts, 0 to 1.

    Attributes
    ----------
    extract : callable or spaCy pipeline
        A text -> its entities, any values that can be told apart; or what has a method ``pipe`` for many texts whose
        documents have ``ents``. Entities of spaCy are told apart by their words, white space and case left out.
    """

    extract: Any
    key: str = field(default="", repr=False)
    """What scores are kept by; empty where they are not kept."""

    @property
    def name(self) -> str:  # type: ignore[override]
        """``entities``, with the model or the function."""
        meta = getattr(self.extract, "meta", None) or {}
        own = f"{meta.get('lang', '')}_{meta.get('name', '')}" if meta else getattr(self.extract, "__name__", "own")
        return f"entities:{own}"

    @property
    def about(self) -> str:
        """The model, where there is one."""
        return f"Jaccard of entities by {self.key}" if self.key else ""

    def compare(self, texts: Sequence[str], first: Ints, second: Ints) -> Floats:
        """Each text is read once."""
        if not self.key:
            return self._jaccard(texts, first, second)
        keys = [key_of(texts[i], texts[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)]
        make: Callable[[list[int]], Any] = lambda some: self._jaccard(texts, first[some], second[some])[:, None]  # noqa: E731
        return np.asarray(kept(f"entities {self.key}", keys, make, at_once=len(keys))[:, 0], dtype=float)

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
        return [_as_set(self.extract(text), text) for text in texts]


def spacy_entities(model: str = DEFAULT_MODEL) -> Entities:
    """Entities as a spaCy model finds them; the model must be installed, or be a folder."""
    pipeline = _pipeline(model)
    meta = pipeline.meta
    return Entities(pipeline, f"{meta.get('lang')}_{meta.get('name')} {meta.get('version')} (spaCy {_version()})")


def _as_set(found: Iterable[Hashable] | str, text: str) -> set[Hashable]:
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
