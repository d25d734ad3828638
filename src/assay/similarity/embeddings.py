"""Cosine of sentence embeddings: texts that mean alike are alike, whatever their words.

An encoder that reads few tokens is given sentence by sentence, and a text is the mean of its sentences; one that reads
many (1,024 or more) is given whole texts: Nam et al. (2025, table 1). Nothing of a text is cut off:
what is longer than the encoder reads goes to it in pieces, whose mean counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError, require
from assay.similarity.cache import kept, key_of
from assay.similarity.models import EMBED, digest_of, folder_of, pick_device, quietly, setting, short_name
from assay.similarity.postprocessing import Post, processed
from assay.similarity.protocol import Floats, Vectors

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
LONG_CONTEXT = 1024
"""Tokens from which on an encoder is given whole texts."""

Split = Literal["auto", "sentences", "whole"]


class Encoder(Protocol):
    """What makes a row of numbers of a text."""

    @property
    def name(self) -> str:
        """For people."""

    @property
    def key(self) -> str:
        """What its rows are kept by; empty where they are not kept."""

    @property
    def context(self) -> int | None:
        """How many tokens it reads; None for any number."""

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        """(texts, dimensions)."""

    def pieces(self, text: str) -> list[str]:
        """The text in pieces that the encoder reads to their end."""


@dataclass(frozen=True)
class SentenceEncoder:
    """A model of sentence-transformers, from a folder or by its name; loaded when it is first needed.

    Attributes
    ----------
    model : str
        A folder, or a name on the Hugging Face Hub.
    device : str or None
        ``cpu``, ``cuda``, ``cuda:1``, ``mps``; a GPU where there is one when not given.
    batch : int
        Texts that are encoded at once.
    """

    model: str = field(default=DEFAULT_MODEL, compare=False)
    device: str | None = field(default=None, compare=False)
    batch: int = field(default=64, compare=False)
    key: str = field(init=False)
    """The digest of the weights: two of one digest are one encoder, wherever their folders are."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", digest_of(folder_of(self.model)))

    @property
    def name(self) -> str:
        """The model's name, without folders."""
        return short_name(self.model)

    @property
    def context(self) -> int | None:
        """Tokens that the model reads."""
        folder = folder_of(self.model)
        said = setting(folder, "sentence_bert_config.json", "max_seq_length")
        return said or int(_loaded(folder, pick_device(self.device)).get_max_seq_length() or 0) or None

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        """Longest texts first, so that a batch has little padding."""
        model = _loaded(folder_of(self.model), pick_device(self.device))
        found = model.encode(list(texts), batch_size=self.batch, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(found, dtype=np.float32)

    def pieces(self, text: str) -> list[str]:
        """Cut between tokens where the text has more of them than the model reads."""
        most = self.context
        if most is None or len(text.encode()) <= most - 2:  # a token has a byte at least
            return [text]
        tokenizer = _loaded(folder_of(self.model), pick_device(self.device)).tokenizer
        room = most - tokenizer.num_special_tokens_to_add()
        ends = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)["offset_mapping"]
        cuts = [0, *(ends[k][0] for k in range(room, len(ends), room)), len(text)]
        return [text[a:b] for a, b in itertools.pairwise(cuts) if text[a:b].strip()]


@dataclass(frozen=True)
class OwnEncoder:
    """A function of a list of texts that returns a row for each; its rows are not kept on disk."""

    function: Callable[[list[str]], Any]

    key: ClassVar[str] = ""
    context: ClassVar[int | None] = None

    @property
    def name(self) -> str:
        """The function's own."""
        return str(getattr(self.function, "name", None) or getattr(self.function, "__name__", "own"))

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        """As the function gives."""
        found = np.asarray(self.function(list(texts)), dtype=float)
        if found.ndim != 2 or len(found) != len(texts):
            raise DataError(f"the encoder '{self.name}' gave numbers of shape {found.shape} for {len(texts)} texts")
        return found

    def pieces(self, text: str) -> list[str]:
        """The whole text."""
        return [text]


@dataclass(frozen=True)
class Embeddings(Vectors):
    """Cosine of the embeddings of two texts, −1 to 1; a text without words is 1 beside another such, else 0.

    Attributes
    ----------
    encoder : Encoder
        `SentenceEncoder`, `OwnEncoder`, or anything alike.
    split : {"auto", "sentences", "whole"}
        What is encoded: each sentence (a text is their mean), or the whole text.
    post : {"none", "all-but-the-top", "top-third", "top-two-thirds"}
        What is done to all embeddings before they are compared; see `assay.similarity.postprocessing`.
    """

    encoder: Encoder = field(default_factory=SentenceEncoder)
    split: Split = "auto"
    post: Post = "none"

    @property
    def name(self) -> str:  # type: ignore[override]
        """``embeddings`` with the model and the options that are not at their default."""
        said = {"split": (self.split, "auto"), "post": (self.post, "none")}
        return f"embeddings:{self.encoder.name}" + "".join(f",{k}={v}" for k, (v, usual) in said.items() if v != usual)

    @property
    def about(self) -> str:
        """The model, its digest, and what of a text was encoded."""
        weights = f" (weights {self.encoder.key})" if self.encoder.key else ""
        whole = "the mean of a text's sentences" if self.by_sentence else "whole texts"
        after = "" if self.post == "none" else f" after {self.post}"
        return f"embeddings by {self.encoder.name}{weights} of {whole}{after}, cosine"

    @property
    def by_sentence(self) -> bool:
        """Whether sentences are encoded: asked for, or because the encoder reads few tokens."""
        few = self.encoder.context is not None and self.encoder.context < LONG_CONTEXT
        return self.split == "sentences" or (self.split == "auto" and few)

    def rows(self, texts: Sequence[str]) -> Floats:
        """Embeddings of length 1, after what is done to a collection."""
        return unit_rows(processed(self.embeddings(texts), self.post))

    def embeddings(self, texts: Sequence[str]) -> Floats:
        """As the encoder gives them, the mean of sentences or pieces: (texts, dimensions); 0 for no words."""
        parts = [self._parts(text) for text in texts]
        place: dict[str, int] = {}
        at = np.array([place.setdefault(part, len(place)) for own in parts for part in own], dtype=np.int64)
        if not place:
            return np.zeros((len(texts), 1))
        rows = np.asarray(self._encoded(list(place)), dtype=float)
        if not np.isfinite(rows).all():
            raise DataError(f"the encoder '{self.encoder.name}' gave numbers that are none")
        owner = np.repeat(np.arange(len(texts)), [len(own) for own in parts])
        sums = np.zeros((len(texts), rows.shape[1]))
        np.add.at(sums, owner, rows[at])
        return np.asarray(sums / np.maximum(np.bincount(owner, minlength=len(texts)), 1)[:, None])

    def _parts(self, text: str) -> list[str]:
        if not text.strip():
            return []
        whole = sentences(text) if self.by_sentence else [text.strip()]
        return [piece for one in whole for piece in self.encoder.pieces(one)]

    def _encoded(self, parts: list[str]) -> NDArray[Any]:
        if not self.encoder.key:
            return self.encoder.encode(parts)
        return kept(
            f"embedding {self.encoder.key}",
            [key_of(part) for part in parts],
            lambda some: self.encoder.encode([parts[i] for i in some]),
        )


def sentences(text: str) -> list[str]:
    """The sentences of a text, by sentencex."""
    split: Callable[..., Iterator[str]] = require("sentencex", EMBED, "splitting texts into sentences").segment
    return [one.strip() for one in split("en", text) if one.strip()]


def unit_rows(rows: Floats) -> Floats:
    """Rows of length 1; rows of zeros stay."""
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, size, out=np.zeros_like(rows), where=size > 1e-12))


@lru_cache(maxsize=2)
def _loaded(folder: Path, device: str) -> Any:
    """The model, loaded once."""
    require("torch", EMBED, "an encoder")
    library = require("sentence_transformers", EMBED, "sentence embeddings")
    with quietly():
        return library.SentenceTransformer(str(folder), device=device)
