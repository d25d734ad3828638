"""Encoders that are made here: by hand, of numbers alone; and small models with random weights."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from assay.similarity.bertscore import Tokens

SAID = [
    *("the", "cat", "sat", "on", "a", "mat", "and", "dogs", "ran", "quickly", ",", "stocks", "fell", "today", ";"),
    *("nobody", "came", "!", "purring", "(", "well", ")", "because", "unbelievably", "a", "red", "bus", "stopped", "."),
]


def texts_of(n: int, seed: int = 0, most: int = 25) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(SAID, rng.integers(1, most))) for _ in range(n)]


def vector_of(word: str, width: int = 6) -> np.ndarray:
    """A vector of length 1 that is the word's own; some of them point away from others."""
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "little")
    found = np.random.default_rng(seed).normal(size=width)
    return found / np.linalg.norm(found)


class Bags:
    """A text is the sum of its words' vectors; how often each text was asked is counted."""

    name = "bags"

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, texts: list[str]) -> np.ndarray:
        self.asked.update(texts)
        return np.stack([sum(vector_of(word) for word in text.split()) for text in texts])


class Words:
    """Each word is a token; ``<`` and ``>`` surround every text, with weight 0."""

    name = "by hand"
    key = ""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def tokens(self, texts: Sequence[str]) -> Tokens:
        self.asked.update(texts)
        words = [["<", *text.split(), ">"] for text in texts]
        rows = [*(vector_of(word) for one in words for word in one), np.zeros(6)]
        weight = [float(word not in "<>") for one in words for word in one]
        return Tokens(np.stack(rows), np.cumsum([0, *map(len, words)]), np.array([*weight, 0.0]))

    def lengths(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([len(text.split()) for text in texts])


def small_bert(folder: Path) -> str:
    """A BERT of three layers with random weights."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder.mkdir(parents=True)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted({*SAID}), *"abcdefghijklmnopqrstuvwxyz"]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    transformers.BertTokenizer(str(folder / "vocab.txt"), model_max_length=64).save_pretrained(str(folder))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=3, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(str(folder))
    return str(folder)


def small_roberta(folder: Path) -> str:
    """A RoBERTa of two layers with random weights, whose tokens know the space before them."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    folder.mkdir(parents=True)
    trained = tokenizers.ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(texts_of(200), vocab_size=320, special_tokens=special, show_progress=False)
    trained.save_model(str(folder))
    # Given by name: what the two files are called in the constructor differs between releases of transformers.
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "RobertaTokenizer", "model_max_length": 128}')
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    torch.manual_seed(1)
    config = transformers.RobertaConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=130, pad_token_id=1, bos_token_id=0, eos_token_id=2,
    )  # fmt: skip
    transformers.RobertaModel(config).save_pretrained(str(folder))
    return str(folder)
