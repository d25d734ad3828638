"""Items of one document: a caution about estimates and routes that assume independent items, if they are dependent."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import assay
from assay.errors import DataError, DesignError

ASKED: dict[str, dict[str, Any]] = {
    "mean": {},
    "slices": {"by": "group"},
    "quantiles": {"target": "quantiles"},
    "coefficients": {"target": "coefficients", "regress": ["x"]},
    "finite": {"population": "finite"},
}


def documents(seed: int, shared: float, *, whole: bool = True) -> assay.Annotations:
    """400 items of 40 documents, half of the variance between documents at shared = 1; 120 are labelled.

    Three further item columns have nothing to do with labels.
    """
    rng, n = np.random.default_rng([seed, 77]), 400
    document, names = np.arange(n) % 40, [f"x{i}" for i in range(n)]
    truth = rng.normal(0, shared, 40)[document] + rng.normal(0, 1, n)
    judged = truth + rng.normal(0, 0.5 * shared, 40)[document] + rng.normal(0, 0.7, n)
    labelled = np.isin(document, rng.permutation(40)[:12]) if whole else np.isin(np.arange(n), rng.permutation(n)[:120])
    label = [np.clip(np.rint(3 * one + 20), 0, 40) for one in (judged, *(truth + rng.normal(0, 0.3, (2, n))))]
    rows = [(name, "gpt", value) for name, value in zip(names, label[0].tolist(), strict=True)]
    rows += [(names[i], f"a{r}", float(label[r][i])) for r in (1, 2) for i in np.flatnonzero(labelled)]
    items = pl.DataFrame({
        "item": names, "document": [f"d{k}" for k in document], "pair": [f"p{i // 2}" for i in range(n)],
        "author": [f"a{k}" for k in rng.zipf(1.6, n) % 30], "group": [f"g{i % 3}" for i in rng.permutation(n)],
        "x": rng.normal(0, 1, 40)[document],
    })  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return assay.read(frame, items=items, judges=["gpt"], scale="interval:0-40")


def said(found: Any) -> list[str]:
    return [one for one in found.cautions if "design effect" in one]


@pytest.mark.parametrize("asked", [*ASKED])
def test_estimate_of_items_of_documents_has_a_caution(asked: str) -> None:
    """Without clusters, the interval of the mean covers .64."""
    options = {"sampling": "trust", **ASKED[asked]}
    (caution,) = said(assay.estimate(documents(1, 1.0), "gpt", **options))
    assert "items share 12 values of “document”; design effect" in caution
    assert caution.startswith("120 ")
    assert caution.endswith("Set clusters='document' (--clusters document).")
    assert said(assay.estimate(documents(1, 0.0), "gpt", **options)) == []
    if asked != "finite":
        assert said(assay.estimate(documents(1, 1.0), "gpt", clusters="document", **options)) == []


def test_shares_of_dependent_items_have_a_caution() -> None:
    labels = documents(2, 1.0)
    high = labels.labels.with_columns(label=pl.when(pl.col("label") > 20).then(pl.lit("high")).otherwise(pl.lit("low")))
    table = assay.read(high, items=labels.items, judges=["gpt"], scale="nominal:low,high")
    assert len(said(assay.estimate(table, "gpt", sampling="trust"))) == 1


def test_items_sampled_across_documents_are_independent_for_a_mean_of_these_items() -> None:
    labels = documents(1, 1.0, whole=False)
    assert said(assay.estimate(labels, "gpt", population="finite")) == []
    assert len(said(assay.estimate(labels, "gpt"))) == 1


@pytest.mark.simulation
def test_cautions_of_independent_items_are_rare() -> None:
    """At most .05 of studies, with three item columns that group items."""
    for asked, options in ASKED.items():
        for whole in (True, False):
            found = [said(assay.estimate(documents(s, 0.0, whole=whole), "gpt", sampling="trust", **options))
                     for s in range(60)]  # fmt: skip
            assert sum(map(bool, found)) <= 8, (asked, whole)  # .99 quantile of 60 at .05


def routed(seed: int, *, shared: bool) -> assay.Annotations:
    """400 items of 20 documents; the judge errs in .3 of the documents only, or anywhere."""
    rng, n = np.random.default_rng([seed, 77]), 400
    document, truth = np.arange(n) % 20, rng.random(n) < 0.5
    wrong = rng.random(n) < (np.where(rng.random(20) < 0.3, 0.7, 0.0)[document] if shared else 0.2)
    given = {"gpt": truth ^ wrong, **{f"a{r}": truth ^ (rng.random(n) < 0.15) for r in range(3)}}
    rows = [(f"x{i}", who, "yes" if label[i] else "no") for who, label in given.items() for i in range(n)]
    items = pl.DataFrame({"item": [f"x{i}" for i in range(n)], "document": [f"d{k}" for k in document],
                          "pair": [f"p{i // 2}" for i in range(n)], "sure": rng.random(n)})  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return assay.read(frame, items=items, judges=["gpt"], scale="nominal:no,yes")


def test_route_of_items_of_documents_has_a_caution() -> None:
    options: dict[str, Any] = {"signal": "sure", "epsilon": 0.1}
    (caution,) = said(assay.route(routed(1, shared=True), "gpt", **options))
    assert "items share 20 values of “document”; design effect" in caution
    assert said(assay.route(routed(1, shared=True), "gpt", clusters="document", **options)) == []
    assert said(assay.route(routed(1, shared=False), "gpt", **options)) == []


def judge_alone(run: str, seed: int, shared: float, n: int = 600) -> assay.Annotations:
    """The labels of a judge without people, ten texts a document, so that every item has one row."""
    rng = np.random.default_rng([seed, 77])
    odds = rng.normal(-0.8, shared, n // 10)[np.arange(n) // 10]
    yes = rng.random(n) < 1 / (1 + np.exp(-odds))
    frame = pl.DataFrame({
        "item": [f"{run}{i:04d}" for i in range(n)], "text": [f"Text number {i}" for i in range(n)],
        "conversation": [f"c{i // 10}" for i in range(n)], "time": range(n), "annotator": "gpt",
        "label": ["yes" if one else "no" for one in yes],
        "answer": ["It is so." if one else "It is not so." for one in yes],
    })  # fmt: skip
    return assay.read(frame, judges=["gpt"], scale="nominal:no,yes")


def test_columns_of_a_judge_alone_are_clusters_and_texts() -> None:
    labels = judge_alone("a", 1, 1.5)
    assert labels.items.columns == ["item"]
    assert "conversation" in str(assay.monitor(labels, order="time", baseline=30, clusters="conversation").signature)
    found = assay.drift(judge_alone("a", 1, 1.5), judge_alone("b", 2, 1.5))
    assert found.n["judge drift"] == 600
    assert "clusters" in assay.drift(labels, judge_alone("b", 2, 1.5), clusters="conversation").summary()
    with pytest.raises(DataError, match="item column 'label' is not in the table of items"):
        assay.monitor(labels, baseline=30, clusters="label")


def test_columns_of_a_judge_alone_are_cautioned() -> None:
    (caution,) = said(assay.monitor(judge_alone("a", 1, 1.5), order="time", baseline=300))
    assert "values of “conversation”; design effect" in caution
    assert said(assay.monitor(judge_alone("a", 3, 0.0), order="time", baseline=300)) == []
    assert len(said(assay.drift(judge_alone("a", 1, 1.5), judge_alone("b", 2, 1.5)))) == 1
    assert said(assay.drift(judge_alone("a", 3, 0.0), judge_alone("b", 4, 0.0))) == []


def few_documents(n_whole: int) -> assay.Annotations:
    """600 items of 60 documents in random order, in two strata; whole documents are labelled, or 40% of the items."""
    rng, n = np.random.default_rng(5), 600
    document = rng.permutation(n) % 60
    judged = rng.normal(0, 1, 60)[document] + rng.normal(0, 1, n)
    labelled = document < n_whole if n_whole else rng.random(n) < 0.4
    label = [np.clip(np.rint(3 * one + 20), 0, 40) for one in (judged, judged + rng.normal(0, 1.5, 60)[document])]
    rows = [(f"x{i}", who, float(label[k][i])) for k, who in enumerate(("gpt", "ann")) for i in range(n)
            if not k or labelled[i]]  # fmt: skip
    items = pl.DataFrame({
        "item": [f"x{i}" for i in range(n)], "document": [f"d{k}" for k in document],
        "part": ["ab"[k] for k in rng.integers(0, 2, n)], "chance": [0.4] * n,
    })  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return assay.read(frame, items=items, judges=["gpt"], scale="interval:0-40")


def test_labelled_items_of_few_of_many_documents_are_not_a_random_sample() -> None:
    """Whether items of fewer than ten documents depend on one another cannot be measured: without clusters an interval
    of items of six of 60 documents covers .63."""
    with pytest.raises(DesignError, match="they have 6 of 60 values of 'document', and a random sample about 39"):
        assay.estimate(few_documents(6), "gpt")
    assert assay.estimate(few_documents(6), "gpt", clusters="document").cautions == ()


def test_whole_documents_in_strata_are_not_a_random_sample() -> None:
    """Eight of 50 documents of 20 items, two in each of four strata: the interval covers .62 of studies. The advice is
    without strata, with which clusters and probabilities are not possible; the same number of scattered items passes.
    """
    rng, n = np.random.default_rng(3), 1000
    document, names = np.arange(n) // 20, [f"x{i}" for i in rng.permutation(n)]
    chosen = np.isin(document, np.concatenate([rng.choice(np.arange(h, 50, 4), 2, replace=False) for h in range(4)]))
    scattered = np.isin(np.arange(n), np.concatenate([
        rng.choice(np.flatnonzero(document % 4 == h), 40, replace=False) for h in range(4)
    ]))  # fmt: skip
    truth = rng.random(n) < 0.3
    judged = np.where(rng.random(n) < 0.8, truth, ~truth)

    def labels(labelled: Any) -> assay.Annotations:
        rows = [(name, "gpt", "ny"[int(one)]) for name, one in zip(names, judged, strict=True)]
        rows += [(names[i], "ann", "ny"[int(truth[i])]) for i in np.flatnonzero(labelled)]
        items = {"item": names, "document": [f"d{k}" for k in document], "part": ["abcd"[k % 4] for k in document]}
        frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
        return assay.read(frame, items=pl.DataFrame(items), judges=["gpt"], scale="nominal:n,y")

    with pytest.raises(DesignError) as error:
        assay.estimate(labels(chosen), "gpt", strata="part")
    assert "they have 8 of 50 values of 'document', and a random sample about 49" in str(error.value)
    assert "or describe the sampling with probabilities=... or clusters=... instead of strata; " in str(error.value)
    assert assay.estimate(labels(chosen), "gpt", clusters="document").cautions == ()
    assert assay.estimate(labels(scattered), "gpt", strata="part").cautions == ()


def test_items_of_documents_in_strata_have_a_caution() -> None:
    """Items sampled in strata, of documents whose items are dependent: the interval of a mean covers .75."""
    labels = few_documents(0)
    (caution,) = said(assay.estimate(labels, "gpt", strata="part"))
    assert "items share 60 values of “document”; design effect" in caution
    assert caution.endswith(
        "Set clusters='document' (--clusters document). Clusters are not possible with strata: use probabilities=... "
        "(--probabilities) in their place."
    )
    assert said(assay.estimate(labels, "gpt", probabilities="chance", clusters="document")) == []


def test_plans_have_a_caution_about_a_pilot_of_documents() -> None:
    """A planned half-width of .06 from such a pilot was .09 with the clusters of the estimate."""
    found = assay.plan.labels(pilot=few_documents(12), half_width=0.5)
    (caution,) = found.cautions
    assert caution.startswith(
        "120 items of the pilot share 12 values of “document”, and the plan is for independent items"
    )
    assert "times as many are required (design effect)" in caution
    (unlike,) = assay.plan.labels(pilot=few_documents(4), half_width=0.5).cautions
    assert "the 40 labelled items of the pilot are not a random sample of the 600: they have 4 of 60 values" in unlike
    assert assay.plan.labels(pilot=documents(1, 0.0, whole=False), half_width=0.5).cautions == ()
    rng = np.random.default_rng(4)
    document = np.arange(90) % 15
    label = rng.normal(0, 1, 15)[document] + rng.normal(0, 0.5, (3, 90))
    frame = pl.DataFrame([(f"x{i}", f"m{j}", float(label[j, i])) for i in range(90) for j in range(3)],
                         schema=["item", "annotator", "label"], orient="row")  # fmt: skip
    items = pl.DataFrame({"item": [f"x{i}" for i in range(90)], "document": [f"d{k}" for k in document]})
    budget = assay.plan.budget(assay.read(frame, items=items, judges=["m0", "m1", "m2"], scale="interval"), 50)
    assert budget.cautions[0].startswith("90 items of the pilot share 15 values of “document”")
