"""BERTScore: tokens of two texts matched by their vectors in context (Zhang et al. 2020).

With x the tokens of one text and y those of the other, each a vector of length 1 from one layer of a model,

    P = mean over x of max over y of xᵀy      R = mean over y of max over x of xᵀy      F = 2PR / (P + R)

Special tokens may be matched, but none of the means counts them, as in the package bert-score, whose numbers these are.
``bertscore-length`` multiplies F by exp(1 − longer / shorter), lengths in tokens: the longer text is the reference of
BLEU's penalty, which is therefore at most 1 (Ghosh, Srinivasan & Swayamdipta 2024, section 2.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError, DesignError, require
from assay.similarity.embeddings import (
    EMBED,
    digest_of,
    folder_of,
    hide_progress_bars,
    pick_device,
    setting,
    short_name,
)
from assay.similarity.protocol import BLOCK, Floats, Ints, Similarity, cached_scores, kept, key_of

DEFAULT_MODEL = "roberta-large"
LAYERS = {
    "roberta-large": 17, "roberta-base": 10, "distilroberta-base": 5, "bert-base-uncased": 9, "bert-large-uncased": 18,
    "bert-base-multilingual-cased": 9, "bert-base-chinese": 8, "distilbert-base-uncased": 5, "xlm-roberta-base": 9,
    "xlm-roberta-large": 17, "deberta-base-mnli": 9, "deberta-large-mnli": 18, "deberta-xlarge-mnli": 40,
    "deberta-v3-base": 9, "deberta-v3-large": 12,
}  # fmt: skip
"""The layer that the package bert-score takes of a model; of others the last."""

AT_ONCE = 400_000
"""Characters of the texts whose token vectors are held at once: some 100,000 tokens, 400 MB of a large model."""
TOKENS, ON_GPU = 2048, 32768
"""Tokens that a model reads in one batch on a processor, whose caches are small, and on a GPU."""

Long = Literal["refuse", "cut"]


@dataclass(frozen=True)
class Tokens:
    """The tokens of some texts, one after another, and after the last a row of zeros.

    Attributes
    ----------
    rows : (tokens + 1, dimensions) array or tensor
        Of length 1.
    start : (texts + 1,) int
        The first token of each text.
    weight : (tokens + 1,) float
        1, or 0 for special tokens.
    """

    rows: Any
    start: Ints
    weight: Floats


class TokenEncoder(Protocol):
    """What makes vectors of the tokens of texts."""

    @property
    def name(self) -> str:
        """For people, with the layer."""

    @property
    def key(self) -> str:
        """Key of the cache of scores; empty without a cache."""

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """Vectors of all tokens of texts that are not blank."""

    def lengths(self, texts: Sequence[str]) -> Ints:
        """How many tokens each text has, without special ones: (texts,)."""


@dataclass(frozen=True)
class LayerEncoder:
    """One layer of a model of transformers, from a folder or by its name; loaded when it is first needed.

    Attributes
    ----------
    model : str
        A folder, or a name on the Hugging Face Hub.
    layer : int
        0 is the default of bert-score, or else the last.
    long : {"refuse", "cut"}
        What becomes of a text that is longer than the model reads: refused, or cut there, as bert-score does.
    device : str or None
        ``cpu``, ``cuda``, …; default: a GPU, if available.
    """

    model: str = field(default=DEFAULT_MODEL, compare=False)
    layer: int = 0
    long: Long = "refuse"
    device: str | None = field(default=None, compare=False)
    weights: str = field(init=False)

    def __post_init__(self) -> None:
        folder = folder_of(self.model)
        own = setting(folder, "config.json", "num_hidden_layers") or setting(folder, "config.json", "n_layers") or 0
        layer = self.layer or LAYERS.get(self.model.rsplit("/", 1)[-1], own)
        if not 0 < layer <= (own or layer):
            raise DesignError(f"the model {self.name_only} has layers 1 to {own}; got layer {self.layer}")
        object.__setattr__(self, "layer", layer)
        object.__setattr__(self, "weights", digest_of(folder))

    @property
    def name_only(self) -> str:
        """The model's name, without folders."""
        return short_name(self.model)

    @property
    def name(self) -> str:
        """The model's name and layer."""
        return f"{self.name_only},layer={self.layer}" + (",long=cut" if self.long == "cut" else "")

    @property
    def key(self) -> str:
        """The digest of the weights, and the layer."""
        return f"{self.weights} layer {self.layer} {self.long}"

    def lengths(self, texts: Sequence[str]) -> Ints:
        """Tokens without special ones, kept by text."""
        found = kept(
            f"tokens {self.weights} {self.long}",
            [key_of(text) for text in texts],
            lambda some: np.array([[sum(w > 0 for _, w in self._read(texts[i]))] for i in some]),
        )
        return np.asarray(found[:, 0], dtype=np.int64)

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """In batches of texts of like length."""
        torch = require("torch", EMBED, "BERTScore")
        read = [self._read(text) for text in texts]
        start = np.cumsum([0, *map(len, read)])
        weight = np.array([w for one in read for _, w in one] + [0.0])
        rows: Any = None
        order = sorted(range(len(texts)), key=lambda i: len(read[i]))
        most = TOKENS if pick_device(self.device) == "cpu" else ON_GPU
        for some in _batches(order, [len(one) for one in read], most):
            found = self._vectors([[token for token, _ in read[i]] for i in some])
            if rows is None:
                rows = torch.zeros(
                    (int(start[-1]) + 1, found[0].shape[1]), dtype=found[0].dtype, device=found[0].device
                )
            for i, one in zip(some, found, strict=True):
                rows[start[i] : start[i + 1]] = one
        return Tokens(rows, start, weight)

    def _read(self, text: str) -> list[tuple[int, float]]:
        """Each token's number, and 0 for what begins and ends a text, else 1."""
        tokenizer, most = _tokenizer(folder_of(self.model)), self._max_tokens()
        tokens = tokenizer(text.strip(), add_special_tokens=True, truncation=False, verbose=False)["input_ids"]
        if len(tokens) > most and self.long == "refuse":
            raise DesignError(
                f"a text has {len(tokens):,} tokens, and the model {self.name_only} reads {most:,}: {text[:40]!r}... "
                "Use a model with a longer context, embeddings, or long=cut, which compares the part within the context"
            )
        if len(tokens) > most:
            tokens = tokenizer(text.strip(), add_special_tokens=True, truncation=True, max_length=most)["input_ids"]
        special = {tokenizer.sep_token_id, tokenizer.cls_token_id}
        return [(token, float(token not in special)) for token in tokens]

    def _max_tokens(self) -> int:
        """Tokens that the model reads, special ones counted."""
        folder = folder_of(self.model)
        positions = setting(folder, "config.json", "max_position_embeddings") or 10**9
        offset = 2 if setting(folder, "config.json", "pad_token_id") == 1 else 0  # RoBERTa counts positions from 2
        return min(int(_tokenizer(folder).model_max_length), positions - offset)

    def _vectors(self, tokens: list[list[int]]) -> list[Any]:
        """Vectors of length 1 of one batch: a tensor (tokens, dimensions) for each text."""
        torch = require("torch", EMBED, "BERTScore")
        model = _model(folder_of(self.model), self.layer, pick_device(self.device))
        width = max(map(len, tokens))
        padding = _tokenizer(folder_of(self.model)).pad_token_id or 0
        ids = torch.tensor([[*one, *[padding] * (width - len(one))] for one in tokens], device=model.device)
        mask = torch.tensor([[1] * len(one) + [0] * (width - len(one)) for one in tokens], device=model.device)
        with torch.inference_mode():
            found = model(ids, attention_mask=mask)[0]
            found = found / found.norm(dim=-1, keepdim=True)
        return [found[k, : len(one)] for k, one in enumerate(tokens)]


@dataclass(frozen=True)
class BERTScore(Similarity):
    """F of BERTScore, about 0 to 1; 0 with a text without words, 1 between two of them.

    Attributes
    ----------
    encoder : TokenEncoder
    by_length : bool
        Whether it is multiplied by exp(1 − longer / shorter).
    """

    encoder: TokenEncoder = field(default_factory=LayerEncoder)
    by_length: bool = False

    @property
    def name(self) -> str:  # type: ignore[override]
        """``bertscore`` or ``bertscore-length``, with the model and layer."""
        return f"bertscore{'-length' if self.by_length else ''}:{self.encoder.name}"

    @property
    def about(self) -> str:
        """The model, its digest and layer."""
        penalty = " times exp(1 - longer / shorter), lengths in tokens" if self.by_length else ""
        weights = f" (weights {self.encoder.key.split()[0]})" if self.encoder.key else ""
        return f"BERTScore F1 by {self.encoder.name}{weights}{penalty}"

    def compare(self, texts: Sequence[str], first: Ints, second: Ints) -> Floats:
        """Scores of pairs, kept by their texts."""
        blank = np.array([not text.strip() for text in texts])
        found = np.asarray(blank[first] & blank[second], dtype=float)
        use = np.flatnonzero(~blank[first] & ~blank[second])
        if not len(use):
            return np.asarray(found)
        i, j = first[use], second[use]
        score = partial(match, texts, encoder=self.encoder)
        key = self.encoder.key
        found[use] = cached_scores(f"bertscore {key}", texts, i, j, score) if key else score(i, j)
        if self.by_length:
            needed, where = np.unique(np.concatenate([i, j]), return_inverse=True)
            a, b = np.split(self.encoder.lengths([texts[k] for k in needed])[where.ravel()], 2)
            found[use] *= np.exp(1 - np.maximum(a, b) / np.maximum(np.minimum(a, b), 1e-9))
        return np.asarray(found)


def match(texts: Sequence[str], first: Ints, second: Ints, encoder: TokenEncoder) -> Floats:
    """F of each pair; texts that are compared with one another are encoded together, and each once."""
    found = np.zeros(len(first))
    for members, pairs in _connected_groups(texts, first, second):
        tokens = encoder.tokens([texts[k] for k in members])
        at = {k: n for n, k in enumerate(members)}
        i, j = (np.array([at[k] for k in side[pairs].tolist()], dtype=np.int64) for side in (first, second))
        found[pairs] = score_pairs(tokens, i, j)
    return found


def score_pairs(tokens: Tokens, first: Ints, second: Ints) -> Floats:
    """F of each pair of texts by their tokens: batched products of like lengths, and the best match of each token."""
    size = np.diff(tokens.start)
    order = np.lexsort((np.minimum(size[first], size[second]), np.maximum(size[first], size[second])))
    found = np.zeros(len(first))
    width = int(tokens.rows.shape[1])
    done = 0
    while done < len(order):
        longest = size[[first[order[-1]], second[order[-1]]]].max()
        step = max(int(BLOCK // (longest * (2 * width + longest))), 1)
        some = order[done : done + step]
        found[some] = _f(tokens, first[some], second[some])
        done += step
    return found


def _f(tokens: Tokens, first: Ints, second: Ints) -> Floats:
    (a, weight_a, beyond_a), (b, weight_b, beyond_b) = (_pad(tokens, side) for side in (first, second))
    of_a, of_b = _best(tokens.rows, a, b, beyond_a, beyond_b)
    precision, recall = ((w * best).sum(axis=1) / np.maximum(w.sum(axis=1), 1e-12)
                         for w, best in ((weight_a, of_a), (weight_b, of_b)))  # fmt: skip
    total = precision + recall
    return np.asarray(np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total != 0))


def _pad(tokens: Tokens, texts: Ints) -> tuple[Ints, Floats, NDArray[np.float32]]:
    """Rows of each text's tokens, the last row beyond its end; their weights; −4 beyond its end."""
    size = np.diff(tokens.start)[texts]
    along = np.arange(size.max())
    beyond = along[None, :] >= size[:, None]
    at = np.where(beyond, len(tokens.weight) - 1, tokens.start[texts][:, None] + along[None, :])
    return at, np.where(beyond, 0.0, tokens.weight[at]), np.where(beyond, np.float32(-4), np.float32(0))


def _best(rows: Any, a: Ints, b: Ints, beyond_a: Any, beyond_b: Any) -> tuple[Floats, Floats]:
    """The best match of each token of one text among those of the other, both ways: (pairs, tokens) each."""
    if isinstance(rows, np.ndarray):
        product = rows[a] @ rows[b].transpose(0, 2, 1)
        return np.max(product + beyond_b[:, None, :], axis=2), np.max(product + beyond_a[:, :, None], axis=1)
    torch = require("torch", EMBED, "BERTScore")
    a, b, beyond_a, beyond_b = (torch.as_tensor(x, device=rows.device) for x in (a, b, beyond_a, beyond_b))
    with torch.inference_mode():
        product = torch.bmm(rows[a], rows[b].transpose(1, 2))
        ways = (product + beyond_b[:, None, :]).amax(dim=2), (product + beyond_a[:, :, None]).amax(dim=1)
    there, back = (np.asarray(way.float().cpu().numpy(), dtype=float) for way in ways)
    return there, back


def _connected_groups(texts: Sequence[str], first: Ints, second: Ints) -> Iterator[tuple[list[int], Ints]]:
    """Texts that are encoded together and the pairs among them: whole connected groups, some at a time."""
    sparse = require("scipy.sparse", EMBED, "BERTScore")
    graph = require("scipy.sparse.csgraph", EMBED, "BERTScore")
    links = sparse.coo_matrix((np.ones(len(first)), (first, second)), shape=(len(texts), len(texts)))
    group = graph.connected_components(links, directed=False)[1]
    used = np.zeros(len(texts), dtype=bool)
    used[first] = used[second] = True
    letters = np.bincount(group, [len(text) if u else 0 for text, u in zip(texts, used, strict=True)])
    block = (np.cumsum(letters) - letters) // AT_ONCE
    of_text = block[group]
    for number in np.unique(of_text[used]):
        members = np.flatnonzero((of_text == number) & used).tolist()
        yield members, np.flatnonzero(of_text[first] == number)


def _batches(order: list[int], size: list[int], most: int) -> Iterator[list[int]]:
    """Texts in order of length, in small padded batches."""
    some: list[int] = []
    for i in order:
        if some and (len(some) + 1) * size[i] > most:
            yield some
            some = []
        some.append(i)
    if some:
        yield some


@lru_cache(maxsize=4)
def _tokenizer(folder: Path) -> Any:
    library = require("transformers", EMBED, "BERTScore")
    found = library.AutoTokenizer.from_pretrained(str(folder))
    # As in bert-score, a first word is tokenized like any other if the tokenizer depends on the preceding space.
    if type(found).__name__.removesuffix("Fast") in ("RobertaTokenizer", "GPT2Tokenizer"):
        found = library.AutoTokenizer.from_pretrained(str(folder), add_prefix_space=True)
    return found


@lru_cache(maxsize=2)
def _model(folder: Path, layer: int, device: str) -> Any:
    """The model up to a layer."""
    library = require("transformers", EMBED, "BERTScore")
    with hide_progress_bars():
        model = library.AutoModel.from_pretrained(str(folder))
    model = (model.get_encoder() if model.config.is_encoder_decoder else model).eval()
    if hasattr(getattr(model, "encoder", None), "albert_layer_groups"):
        model.encoder.config.num_hidden_layers = layer
        return model.to(device)
    for path in ("encoder.layer", "transformer.layer", "encoder.block", "block", "layers", "layer"):
        *above, last = path.split(".")
        owner = model
        for part in above:
            owner = getattr(owner, part, None)
        if hasattr(owner, last):
            setattr(owner, last, getattr(owner, last)[:layer])
            return model.to(device)
    raise DataError(f"BERTScore does not know the layers of {type(model).__name__}; take a model like BERT or RoBERTa")
