"""Items of one document that depend on one another: every analysis that assumes independent items has a caution."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import assay


def documents(seed: int, *, dependent: bool) -> assay.Annotations:
    """Labels a, b, c of 240 items of 24 documents, whose three annotators and two judges err on whole documents."""
    rng = np.random.default_rng(seed)
    document = np.repeat(np.arange(24), 10)
    topic = rng.integers(0, 3, 24)[document]
    truth = np.where(dependent & (rng.random(240) < 0.7), topic, rng.integers(0, 3, 240))
    hard = (rng.random(24) < 0.5)[document] if dependent else rng.random(240) < 0.5
    rows = []
    for who in ("h1", "h2", "h3", "j1", "j2"):
        own = (rng.random(24) < 0.3)[document] if dependent else rng.random(240) < 0.3
        wrong = rng.random(240) < np.where(own, 0.7, np.where(hard, 0.4, 0.05))
        given = np.where(wrong, (truth + 1) % 3, truth)
        rows += [(f"item{i}", f"d{document[i]}", who, "abc"[given[i]]) for i in range(240)]
    frame = pd.DataFrame(rows, columns=["item", "document", "annotator", "label"])
    return assay.read(frame, judges=["j1", "j2"], scale="nominal:a,b,c")


ASKED = {
    "agreement": assay.agreement,
    "disagreement": assay.disagreement,
    "compare": lambda labels, **how: assay.compare_judges(labels, epsilon=0.1, **how),
    "probes": assay.probes,
}


@pytest.mark.parametrize("verb", ASKED)
def test_analyses_of_independent_items_say_that_items_of_documents_are_not(verb):
    ask = ASKED[verb]
    said = [ask(documents(seed, dependent=True)).cautions for seed in range(5)]
    assert sum(any("values of “document”" in one and "clusters='document'" in one for one in each) for each in said) > 3
    assert not any("“document”" in one for one in ask(documents(0, dependent=True), clusters="document").cautions)
    none = [ask(documents(seed, dependent=False)).cautions for seed in range(5)]
    assert sum(any("“document”" in one for one in each) for each in none) < 2
