"""Cosine of sentence embeddings: texts with similar meaning are similar, in any words.

An encoder that reads few tokens is given sentence by sentence, and a text is the mean of its sentences; one that reads
many (1,024 or more) is given whole texts: Nam et al. (2025, table 1). Texts are not truncated:
longer texts are encoded in pieces and averaged.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError, DesignError, counted, require
from assay.similarity.api_encoder import ApiEncoder
from assay.similarity.protocol import Floats, Vectors, kept, key_of

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
LONG_CONTEXT = 1024
"""Tokens from which on an encoder is given whole texts: the long-context encoders of Nam et al. (2025, table 1)."""

Split = Literal["auto", "sentences", "whole"]


class Encoder(Protocol):
    """What makes a row of numbers of a text."""

    @property
    def name(self) -> str:
        """For people."""

    @property
    def key(self) -> str:
        """Key of the cache of rows; empty without a cache."""

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
        ``cpu``, ``cuda``, ``cuda:1``, ``mps``; default: a GPU, if available.
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
        return said or int(_load(folder, pick_device(self.device)).get_max_seq_length() or 0) or None

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        """Longest texts first, so that a batch has little padding."""
        model = _load(folder_of(self.model), pick_device(self.device))
        found = model.encode(list(texts), batch_size=self.batch, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(found, dtype=np.float32)

    def pieces(self, text: str) -> list[str]:
        """Split between tokens if the text is longer than the model's context."""
        most = self.context
        if most is None or len(text.encode()) <= most - 2:  # a token has a byte at least
            return [text]
        tokenizer = _load(folder_of(self.model), pick_device(self.device)).tokenizer
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
    """Cosine of the embeddings of two texts, −1 to 1; a text without words is 1 with another such text, otherwise 0.

    Attributes
    ----------
    encoder : Encoder
        `SentenceEncoder`, `OwnEncoder`, or any `Encoder`.
    split : {"auto", "sentences", "whole"}
        Encode each sentence (a text is their mean), or the whole text.
    post : {"none", "all-but-the-top", "top-third", "top-two-thirds"}
        Post-processing of all embeddings; see `assay.similarity.embeddings`.
    """

    encoder: Encoder = field(default_factory=SentenceEncoder)
    split: Split = "auto"
    post: Post = "none"

    @property
    def name(self) -> str:  # type: ignore[override]
        """``embeddings`` with the model and the options that are not at their default."""
        said = {"split": (self.split, "auto"), "post": (self.post, "none")}
        word = "api-embeddings" if isinstance(self.encoder, ApiEncoder) else "embeddings"
        return f"{word}:{self.encoder.name}" + "".join(f",{k}={v}" for k, (v, usual) in said.items() if v != usual)

    @property
    def about(self) -> str:
        """The model, its digest, and what of a text was encoded."""
        weights = f" (weights {self.encoder.key})" if self.encoder.key else ""
        if isinstance(self.encoder, ApiEncoder):  # with unknown weights
            size = "" if self.encoder.dimensions is None else f", {self.encoder.dimensions} dimensions"
            weights = f" ({self.encoder.source}{size})"
        whole = "the mean of a text's sentences" if self.by_sentence else "whole texts"
        after = "" if self.post == "none" else f" after {self.post}"
        return f"embeddings by {self.encoder.name}{weights} of {whole}{after}, cosine"

    @property
    def by_sentence(self) -> bool:
        """Whether sentences are encoded: asked for, or because the encoder reads few tokens."""
        few = self.encoder.context is not None and self.encoder.context < LONG_CONTEXT
        return self.split == "sentences" or (self.split == "auto" and few)

    def rows(self, texts: Sequence[str]) -> Floats:
        """Post-processed embeddings of length 1."""
        return unit_rows(postprocess(self.embeddings(texts), self.post))

    def embeddings(self, texts: Sequence[str]) -> Floats:
        """As the encoder gives them, the mean of sentences or pieces: (texts, dimensions); 0 for no words."""
        parts = [self._parts(text) for text in texts]
        place: dict[str, int] = {}
        at = np.array([place.setdefault(part, len(place)) for own in parts for part in own], dtype=np.int64)
        if not place:
            return np.zeros((len(texts), 1))
        rows = np.asarray(self._encode(list(place)), dtype=float)
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

    def _encode(self, parts: list[str]) -> NDArray[Any]:
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
def _load(folder: Path, device: str) -> Any:
    """The model, loaded once."""
    require("torch", EMBED, "an encoder")
    library = require("sentence_transformers", EMBED, "sentence embeddings")
    with hide_progress_bars():
        return library.SentenceTransformer(str(folder), device=device)


# -- files of models ---------------------------------------------------------------------

EMBED = "embed"
LEFT_OUT = ("*.h5", "*.msgpack", "*.ot", "*.onnx", "onnx/*", "openvino/*", "*.tflite", "coreml/*", "*.gguf")
"""Files of a model that are the same weights for other libraries."""
WEIGHTS = ("*.safetensors", "*.json", "*.txt", "*.model")
"""Files that determine a model's output; ``*.bin`` without safetensors."""


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


@lru_cache
def folder_of(model: str) -> Path:
    """The folder of a model's files.

    Raises
    ------
    DataError
        If it is not a folder with a model, nor a name that is cached or can be downloaded.
    """
    path = _path_of(model)
    if path.is_dir():
        if not (path / "config.json").is_file() and not (path / "modules.json").is_file():
            raise DataError(f"the folder {model} holds no model: neither config.json nor modules.json is in it")
        path = path.resolve()
        if (path.parent / "modules.json").is_file() and '"model_type"' not in _text_of(path / "config.json"):
            raise DataError(f"the folder {model} holds a part of a model; name the folder of the whole, {path.parent}")
        return path
    if path.is_absolute() or model.startswith((".", "~")) or model.count("/") > 1:
        raise DataError(f"there is no folder {model}; give the folder of a model, or its name on the Hugging Face Hub")
    hub = require("huggingface_hub", EMBED, "a model by its name")
    names = [model] if "/" in model else [f"sentence-transformers/{model}", model]
    why = ""
    for name in names:
        try:
            return Path(hub.snapshot_download(name, local_files_only=True))
        except Exception as error:
            why = type(error).__name__
    for name in names:
        try:
            return Path(hub.snapshot_download(name, ignore_patterns=list(LEFT_OUT)))
        except Exception as error:  # no network, no such model, no leave to read it: many classes, one way out
            why = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
    raise DataError(
        f"the model '{model}' is not on this machine and cannot be downloaded ({why}). Name the folder of a local "
        "model, or download it once with a network connection"
    )


@lru_cache
def digest_of(folder: Path) -> str:
    """Eight hexadecimal digits of a model's weights and settings: the same on every machine, wherever the folder is."""
    mixed = hashlib.blake2b(digest_size=4)
    kinds = WEIGHTS if any(folder.rglob("*.safetensors")) else (*WEIGHTS, "*.bin")
    files = sorted({path for pattern in kinds for path in folder.rglob(pattern) if path.is_file()})
    for path in files:
        mixed.update(path.relative_to(folder).as_posix().encode())
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                mixed.update(block)
    return mixed.hexdigest()


def short_name(model: str) -> str:
    """A model's name without the folder it is in."""
    return _path_of(model).resolve().name if _path_of(model).is_dir() else model


def _path_of(model: str) -> Path:
    return Path(os.path.expanduser(model))  # noqa: PTH111 - Path.expanduser raises for ~ and an unknown user


@lru_cache
def setting(folder: Path, file: str, key: str) -> int | None:
    """A whole number that a JSON file of the model gives, or None."""
    path = folder / file
    if not path.is_file():
        return None
    found = json.loads(path.read_text(encoding="utf-8")).get(key)
    return found if isinstance(found, int) else None


def pick_device(given: str | None) -> str:
    """The requested device, or a GPU if available."""
    torch = require("torch", EMBED, "an encoder")
    if given is None:
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        torch.empty(0, device=given)
    except (RuntimeError, AssertionError) as error:
        raise DataError(f"the device '{given}' cannot be used: {str(error).splitlines()[0]}") from error
    return given


@contextmanager
def hide_progress_bars() -> Iterator[None]:
    """No bars on the terminal while a model is loaded."""
    said = require("transformers.utils.logging", EMBED, "an encoder")
    shown = said.is_progress_bar_enabled()
    said.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            said.enable_progress_bar()


# -- post-processing of the embeddings of a collection -----------------------
# Embeddings of one encoder share a direction and a few components that depend more on style than on
# meaning. ``all-but-the-top`` subtracts their mean and their first ⌈d / 100⌉ principal components (Mu, Bhat &
# Viswanath 2018); ``top-third`` and ``top-two-thirds`` keep that share of the principal components of the centred
# embeddings only (Raunak et al. 2020), counted among the number that texts and dimensions allow (Nam et al. 2025,
# table 8).

Post = Literal["none", "all-but-the-top", "top-third", "top-two-thirds"]
WORDS = get_args(Post)


def postprocess(rows: Floats, how: Post) -> Floats:
    """Post-processed embeddings; rows of zeros (texts without words) are unchanged and not used in the fit.

    Parameters
    ----------
    rows : (texts, dimensions) float
        Of distinct texts.

    Returns
    -------
    (texts, dimensions) float

    Raises
    ------
    DesignError
        If there are too few texts to estimate components.
    """
    if how == "none":
        return rows
    filled = rows.any(axis=1)
    if not filled.any():
        return rows
    found = np.zeros_like(rows)
    found[filled] = all_but_the_top(rows[filled]) if how == "all-but-the-top" else _top(rows[filled], how)
    return found


def all_but_the_top(rows: Floats) -> Floats:
    """The embeddings minus their mean and their first ⌈dimensions / 100⌉ principal components."""
    gone = math.ceil(rows.shape[1] / 100)
    _refuse_few("all-but-the-top", len(rows), gone + 3)
    centred, components = principal(rows)
    first = components[:gone]
    return np.asarray(centred - centred @ first.T @ first)


def top_components(rows: Floats, share: float) -> Floats:
    """The centred embeddings on their first principal components, a share of min(texts, dimensions)."""
    centred, components = principal(rows)
    kept = components[: math.ceil(share * min(rows.shape))]
    return np.asarray(centred @ kept.T @ kept)


def _top(rows: Floats, how: Post) -> Floats:
    _refuse_few(how, len(rows), 6)
    return top_components(rows, 1 / 3 if how == "top-third" else 2 / 3)


def principal(rows: Floats) -> tuple[Floats, Floats]:
    """Centred rows and their principal directions, the widest first."""
    centred = np.asarray(rows - rows.mean(axis=0))
    return centred, np.asarray(np.linalg.svd(centred, full_matrices=False)[2])


def _refuse_few(how: str, n: int, least: int) -> None:
    if n < least:
        raise DesignError(
            f"{how} learns from all texts that it is given, and needs {least} different ones; it was given "
            f"{counted(n, 'text')}. Ask for all of them at once, or leave post=... out"
        )
