"""Texts whose ratings follow from their words, an encoder that sees them, and options that train in a second."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import assay
from assay.data.annotations import Annotations
from assay.similarity.embeddings import SentenceEncoder
from assay.similarity.protocol import kept, key_of

WORDS = ("good", "bad", "plain", "slow", "kind", "late", "warm", "grey")
QUICK: dict[str, Any] = {
    "folds": 2, "members": 1, "epochs": 2, "width": 8, "heads": 2, "feedforward": 8, "layers": 1, "near": 0.0,
    "n_resamples": 40, "dropout": 0.1, "size": "short", "device": "cpu", "together": [],
}  # fmt: skip
"""A model of a few hundred numbers."""


def words_of(texts: list[str]) -> np.ndarray[Any, Any]:
    """How often each of the words is in each sentence."""
    return np.array([[len(re.findall(rf"\b{word}\b", text)) for word in WORDS] for text in texts], dtype=float)


def counting_encoder(folder: Path, width: int = len(WORDS)) -> str:
    """Make the folder of an encoder that counts words; the cache of `ASSAY_CACHE` has its row of every sentence."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(f'{{"width": {width}}}')
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 256}')
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n# Counting\n")
    said = [f"It was {word}{where}." for word in WORDS for where in ("", " there", " here")]
    said.append("[0:01] It was good.")
    what = f"embedding {SentenceEncoder(str(folder)).key}"
    kept(what, [key_of(one) for one in said], lambda some: words_of(said)[some, :width])
    return str(folder)


def reviews(n: int = 60, *, people: int = 3, noise: float = 0.4, seed: int = 1, scale: str = "1-5") -> Annotations:
    """Reviews of five sentences, two per shop; stars increase with good words and decrease with bad ones."""
    rng = np.random.default_rng(seed)
    texts, truth = [], []
    for _ in range(n):
        chosen = rng.choice(WORDS, 5)
        texts.append(" ".join(f"It was {word} there." for word in chosen))
        truth.append(3 + 1.2 * ((chosen == "good").sum() - (chosen == "bad").sum()))
    rows = []
    for i in range(n):
        for p in range(people):
            value = truth[i] + noise * rng.normal()
            label: Any = int(np.clip(round(value), 1, 5))
            if scale == "nominal:no,yes":
                label = "yes" if value > 3.2 else "no"
            elif scale == "interval":
                label = float(value)
            rows.append((f"r{i:03d}", f"ann_{p + 1}", label))
    items = pl.DataFrame(
        {
            "item": [f"r{i:03d}" for i in range(n)],
            "text": texts,
            "other_text": [one.replace("there", "here") + " Plain." for one in texts],
            "document": [f"shop {i // 2}" for i in range(n)],
            "teacher": [f"t{i // 6}" for i in range(n)],
            "half": [["a", "b"][i // 2 % 2] for i in range(n)],
            "number": list(range(n))[::-1],
        }
    )
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return Annotations.from_frame(frame, judges=[], scale=None if scale == "interval" else scale, items=items)


def lessons(n: int = 12, segments: int = 3, *, seed: int = 2) -> Annotations:
    """Lessons of one text each, whose segments are rated by the words in their own part."""
    rng = np.random.default_rng(seed)
    rows, items = [], []
    for d in range(n):
        parts = [rng.choice(WORDS, 4) for _ in range(segments)]
        text = " ".join(f"It was {word} there." for part in parts for word in part)
        for k, part in enumerate(parts):
            name = f"d{d:02d} {k}"
            items.append({"item": name, "document": f"d{d:02d}", "text": text, "number": segments - k})
            for p in range(2):
                value = 3 + (part == "good").sum() - (part == "bad").sum() + 0.3 * rng.normal()
                rows.append((name, f"ann_{p}", int(np.clip(round(value), 1, 5))))
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return Annotations.from_frame(frame, judges=[], scale="1-5", items=pl.DataFrame(items))


def quick(labels: Annotations, **options: Any) -> assay.results.TrainedRater:
    """A quick training."""
    return assay.train(labels, **{**QUICK, "encoders": words_of, **options})


SMALL: dict[str, Callable[[], assay.results.TrainedRater]] = {
    "train_reviews": lambda: quick(reviews(40), members=2, dropout=0.0, epochs=4, batch=4, learning_rate=0.05),
    "train_categories": lambda: quick(
        reviews(40, scale="nominal:no,yes"), dropout=0.0, epochs=4, batch=4, learning_rate=0.05
    ),
    "train_lessons": lambda: quick(
        lessons(),
        document="document",
        order="number",
        folds=3,
        dropout=0.0,
        size="long",
        window=3,
        windows=3,
        epochs=4,
        batch=4,
        learning_rate=0.03,
    ),
}
"""Trainings whose only randomness is their initialisation; `tests/pinned.py` keeps their results."""
