"""Texts whose ratings follow from their words, an encoder that sees them, and options that train in a second."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import assay
from assay.data.annotations import Annotations
from assay.data.scales import parse_scale
from assay.similarity.embeddings import SentenceEncoder
from assay.similarity.protocol import kept, key_of
from assay.training.documents import Folds, Target, Texts, TrainSettings
from assay.training.train import Training

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


# -- trainings that need none ---------------------------------------------------------------------------


def planned(*lengths: int, segments: bool = False, encoders: Any = words_of, **options) -> Training:
    """A training of texts with given numbers of sentences, or of segments of one text, every other in one fold."""
    ends, n = np.cumsum(lengths), len(lengths)
    names = tuple(f"i{k}" for k in range(n))
    if segments:
        said = [[f"S{k}." for k in range(int(ends[-1]))]]
        texts = Texts(names, said, np.zeros(n, dtype=int), ends - lengths, ends)
    else:
        texts = Texts(names, [["x"] * one for one in lengths], np.arange(n), 0 * ends, np.array(lengths))
    folds = Folds(np.arange(n), np.arange(n) % 2, ("x", "y"), ("made by hand",))
    settings = TrainSettings(encoders=encoders, device="cpu", **options)
    return Training(None, texts, [], folds, settings, (), [], ["a note"])


def target(criterion: str | None, n: int, *, nominal: bool = False, number: Sequence[float] = (), **given) -> Target:
    """Items with one label each: the middle of five numbers, or the first of two categories."""
    scale, names = (parse_scale("nominal:u,v"), ("u", "v")) if nominal else (parse_scale("1-5"), tuple(number))
    share = np.tile(np.eye(max(len(names), 1))[0, : len(names)], (n, 1))
    mean, value = np.full(n, np.nan if nominal else 3.0), np.full(n, 0.0 if nominal else 3.0)
    at = np.arange(n)
    made = Target(criterion, scale, names, np.array(number, dtype=float), share, mean, at, 0 * at, value, not nominal)
    return replace(made, **given)


def guessing(*lengths: int, targets: list[Target], **options) -> Training:
    """A training whose encoders have random weights, different in each fold."""
    import torch

    from assay.training.encoder import SequenceRater, TrainedEncoder

    made, rng = planned(*lengths, width=4, heads=1, feedforward=4, layers=1, **options), np.random.default_rng(3)
    made.targets = targets
    made.vectors = [[rng.normal(size=(len(one), 3)).astype(np.float32) for one in made.texts.sentences]]
    torch.manual_seed(4)
    heads = tuple(len(one.categories) for one in targets)
    for key in itertools.product(range(len(made.members)), range(2)):
        state = SequenceRater(3, made.sizes, heads).state_dict()
        weights = {name: value.numpy() for name, value in state.items()}
        centre = rng.normal(3, 0.3, len(targets))
        spread = np.ones(len(targets))
        made.fits[key] = TrainedEncoder(weights, made.sizes, heads, centre, spread, np.zeros(3), np.ones((1, 2)))
    return made
