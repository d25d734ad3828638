"""Panels and opinions of items of documents: a caution without clusters, and with few clusters; none below ten."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import assay


def judged(seed: int, *, shared: bool, documents: int = 30, size: int = 5) -> assay.Annotations:
    """Five judges who fail together in a tenth of the documents, or on a tenth of the items."""
    rng, n = np.random.default_rng([seed, 77]), documents * size
    document, truth = np.arange(n) % documents, rng.random(n) < 0.5
    fails = (rng.permutation(documents) < documents / 10)[document] if shared else rng.random(n) < 0.1
    given = {f"a{r}": truth ^ (rng.random(n) < 0.1) for r in range(3)}
    given |= {f"j{j}": truth ^ (fails | (rng.random(n) < 0.05)) for j in range(5)}
    rows = [(f"x{i}", who, "yes" if label[i] else "no") for who, label in given.items() for i in range(n)]
    items = pl.DataFrame({"item": [f"x{i}" for i in range(n)], "document": [f"d{k}" for k in document],
                          "pair": [f"p{i // 2}" for i in range(n)]})  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return assay.read(frame, items=items, judges=[f"j{j}" for j in range(5)], scale="nominal:no,yes")


def said(found: Any) -> list[str]:
    return [one for one in found.cautions if "design effect" in one]


@pytest.mark.parametrize("question", ["panel", "opinions"])
def test_judges_who_fail_on_whole_documents_are_a_caution(question: str) -> None:
    """Without clusters, the interval of the effective number of judges covers .67."""
    asked = getattr(assay, question)
    (caution,) = said(asked(judged(1, shared=True)))
    assert "150 items share 30 values of “document”; design effect" in caution
    assert said(asked(judged(1, shared=False))) == []
    assert asked(judged(1, shared=True), clusters="document").cautions == ()


@pytest.mark.simulation
@pytest.mark.parametrize("question", ["panel", "opinions"])
def test_panels_of_independent_items_are_rarely_cautioned(question: str) -> None:
    found = [said(getattr(assay, question)(judged(seed, shared=False))) for seed in range(60)]
    assert sum(map(bool, found)) <= 8  # .99 quantile of 60 at .05


@pytest.mark.parametrize("question", ["panel", "opinions"])
def test_few_documents_are_a_caution_and_fewer_than_ten_have_no_interval(question: str) -> None:
    asked = getattr(assay, question)
    (caution,) = asked(judged(2, shared=True, documents=12, size=10), clusters="document").cautions
    assert caution.startswith("With 12 clusters, a fault that affects few of them can be absent by chance")
    found = asked(judged(2, shared=True, documents=8, size=10), clusters="document").table
    assert found["low"].null_count() == found.height
    assert set(found["reason"].drop_nulls()) <= {
        "8 clusters; at least 10 are required",
        "one label per item has no spread",
    }
