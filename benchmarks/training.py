"""One window of a trained rater, forwards, backwards and the step: python benchmarks/training.py [short long paper].

Simulated transcripts of 600 sentences, as many embeddings of 384 (paper: 1,024) random numbers as there are sentences,
25 criteria of five labels. Processor seconds of one thread; the first step is not counted.
"""

from __future__ import annotations

import resource
import sys
import time
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


def main() -> None:
    """A row for each size."""
    for name in sys.argv[1:] or ("short", "long", "paper"):
        sizes = replace(SIZES[name], window=140, batch=8, windows=8)
        with settled(1):
            fit = EncoderFit(material(1024 if name == "paper" else 384), sizes, (0,), "cpu", None, "")
            taken: list[float] = []

            class Enough(Exception):  # noqa: N818
                pass

            def count(
                fit: EncoderFit = fit, taken: list[float] = taken, stop: type[Exception] = Enough, **_: object
            ) -> None:
                taken.append(time.process_time())
                if len(taken) > STEPS:
                    raise stop

            fit._save = count  # type: ignore[method-assign, assignment]
            try:
                fit._pass()
            except Enough:
                pass
        size = sum(p.numel() for p in fit.model.parameters()) / 1e6
        each = (taken[-1] - taken[0]) / (len(taken) - 1) / sizes.batch
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{name}: {size:.2f} M parameters, {each:.4f} s a window, {memory:.1f} GB")


if __name__ == "__main__":
    main()
