"""One window of a trained rater, forwards, backwards and the step: python benchmarks/training.py [short long paper].

    python benchmarks/training.py shuffled cebab_stars minilm   # folders; labels shuffled among reviews

Simulated transcripts of 600 sentences, as many embeddings of 384 (paper: 1,024) random numbers as there are sentences,
25 criteria of five labels. Processor seconds of one thread; the first step is not counted.
"""

from __future__ import annotations

import resource
import sys
import time
from contextlib import suppress
from dataclasses import replace

import numpy as np

from assay.data.scales import Ordinal
from assay.training.documents import Target, Texts
from assay.training.encoder import SIZES, EncoderFit, Material, settled

CRITERIA, DOCUMENTS, SENTENCES, STEPS = 25, 8, 600, 3


def material(dimensions: int) -> Material:
    """Documents of one item each."""
    rng = np.random.default_rng(0)
    at = np.arange(DOCUMENTS)
    texts = Texts(tuple(map(str, at)), [[""] * SENTENCES] * DOCUMENTS, at, 0 * at, 0 * at + SENTENCES)
    vectors = [rng.normal(size=(SENTENCES, dimensions)).astype(np.float32) for _ in at]
    number = np.arange(1.0, 6)
    targets = []
    for c in range(CRITERIA):
        share = rng.dirichlet(np.ones(5), DOCUMENTS)
        targets.append(
            Target(str(c), Ordinal(1, 5), (1, 2, 3, 4, 5), number, share, share @ number, at, at, at + 1.0, True)
        )
    return Material(texts, vectors, targets, at[:-1], at[-1:])


class Enough(Exception):  # noqa: N818 - it is no error
    """So many steps were timed."""


class TimedFit(EncoderFit):
    """A training that stops after a few steps, and knows when each ended."""

    ended: tuple[float, ...] = ()

    def _save(self, *, always: bool = False) -> None:
        self.ended += (time.process_time(),)
        if len(self.ended) > STEPS:
            raise Enough


def shuffled(folder: str, model: str, seed: int = 1) -> None:
    """No rater can be better than the mean by RMSE or R if each review has another review's labels."""
    import polars as pl

    import assay

    whole = assay.read(folder)
    people = whole.where(annotator=list(whole.humans))
    names = people.items["item"].to_list()
    other = dict(zip(names, [names[i] for i in np.random.default_rng(seed).permutation(len(names))], strict=True))
    rows = people.labels.with_columns(pl.col("item").replace_strict(other))
    dealt = assay.Annotations.from_frame(rows, judges=[], scale=people.scale, items=people.items)
    found = assay.train(
        dealt, text="review", document_pattern=r"^(\d+)\d{6}", encoders=model, members=1, n_resamples=200, seed=seed
    )
    print(found.summary().splitlines()[1])
    print(found.table.filter(pl.col("measure").is_in(["RMSE", "R"])).select("rater", "measure", "estimate"))


def main() -> None:
    """A row for each size."""
    if sys.argv[1:2] == ["shuffled"]:
        shuffled(*sys.argv[2:4])
        return
    for name in sys.argv[1:] or ("short", "long", "paper"):
        sizes = replace(SIZES[name], window=140, batch=8, windows=8)
        with settled(1):
            fit = TimedFit(material(1024 if name == "paper" else 384), sizes, (0,), "cpu", None, "")
            with suppress(Enough):
                fit._pass()
        size = sum(p.numel() for p in fit.model.parameters()) / 1e6
        each = (fit.ended[-1] - fit.ended[0]) / STEPS / sizes.batch
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{name}: {size:.2f} M parameters, {each:.4f} s a window, {memory:.1f} GB")


if __name__ == "__main__":
    main()
