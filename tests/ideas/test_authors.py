"""Mean similarity of texts by their authors: by hand, coverage over new texts, reasons, the page."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

import assay
from assay.ideas.page import validation_parts
from assay.ideas.triplets import similarity_by_authors


def all_pairs(n):
    return tuple(np.array(one) for one in zip(*itertools.combinations(range(n), 2), strict=True))


def test_means_and_interval_by_hand():
    # Texts 0 to 2 by people, 3 by a model. Pairs 01, 02, 03, 12, 13, 23.
    first, second = all_pairs(4)
    share = 0.45 + np.array([0.2, 0.4, 0.1, 0.9, 0.3, 0.2]) / 10
    found = similarity_by_authors(first, second, share, ["p", "p", "p", "m"], 0.95)
    own, mixed, less = found.filter(pl.col("authors").is_in(["p and p", "m and p", "p and p − m and p"])).sort(
        pl.col("authors").str.len_chars(), "authors", descending=[False, True]
    ).rows()  # fmt: skip
    # Without text 0 the mean is 0.54, without 1 it is 0.49, without 2 it is 0.47; their mean is 0.5.
    variance = 2 / 3 * (0.04**2 + 0.01**2 + 0.03**2)
    assert own[1] == pytest.approx(0.5)
    assert own[3] - own[1] == pytest.approx(4.302653 * variance**0.5, rel=1e-5)  # t with 2 degrees of freedom
    assert own[4:] == (3, None)
    assert (mixed[1], mixed[2], mixed[4]) == (pytest.approx(0.47), None, 3)
    assert mixed[5] == "1 text by m; an interval requires 3"
    assert (less[1], less[4]) == (pytest.approx(0.03), 6)
    assert found["authors"].to_list() == ["m and p", "p and p", "p and p − m and p"]


@pytest.mark.parametrize("authors", [["a"] * 4, [*"abcdefg"]])
def test_one_author_and_more_than_six_have_no_table(authors):
    first, second = all_pairs(len(authors))
    assert similarity_by_authors(first, second, np.ones(len(first)), authors, 0.95).height == 0


def test_equal_values_have_no_interval():
    first, second = all_pairs(6)
    found = similarity_by_authors(first, second, np.full(15, 0.5), [*"aaabbb"], 0.95)
    assert found["low"].null_count() == found.height
    assert found["reason"].unique().to_list() == ["the pairs are of too few texts, or have the same value"]


@pytest.mark.slow
def test_intervals_cover_the_mean_over_new_texts():
    """Each text has an effect on all its pairs: 15 by people, 12 by models; 400 studies."""
    rng = np.random.default_rng(5)
    first, second = all_pairs(27)
    authors = ["people"] * 15 + ["models"] * 12
    model = np.array([one == "models" for one in authors])
    truth = {"people and people": 0.5, "models and people": 0.3, "models and models": 0.6,
             "people and people − models and people": 0.2, "models and models − models and people": 0.3}  # fmt: skip
    by_models = model[first].astype(int) + model[second]
    covered = dict.fromkeys(truth, 0)
    for _ in range(400):
        effect = rng.normal(0, 0.1, 27)
        mean = np.array([0.5, 0.3, 0.6])[by_models]
        share = mean + effect[first] + effect[second] + rng.normal(0, 0.1, len(first))
        for row in similarity_by_authors(first, second, share, authors, 0.95).iter_rows(named=True):
            covered[row["authors"]] += row["low"] <= truth[row["authors"]] <= row["high"]
    # 95% of 400 is 380, with a standard deviation of 4.4.
    assert all(362 <= n <= 397 for n in covered.values()), covered


def test_validation_has_authors_on_its_page():
    rng = np.random.default_rng(2)
    names = [f"t{k}" for k in range(10)]
    by = {name: ("gpt", "people")[k % 2] for k, name in enumerate(names)}
    rows = []
    for k, three in enumerate(itertools.combinations(names, 3)):
        odd = [one for one in three if [by[x] for x in three].count(by[one]) == 1]
        label = "ABC"[three.index(odd[0])] if odd and rng.random() < 0.9 else "ABC"[rng.integers(3)]
        rows.append((str(k), "ann", label, *three, *(by[x] for x in three), *(x * 2 for x in three)))
    texts = [f"{place}{kind}" for kind in ("_item", "_author", "") for place in ("first", "second", "third")]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", *texts], orient="row")
    labels = assay.read(frame, scale="odd-one-out", humans=["ann"])
    found = assay.validate_similarity(labels, "characters", n_resamples=20)
    mean = dict(found.by_authors.select("authors", "estimate").iter_rows())
    pairs = assay.triplet_similarity(labels).table
    same = pairs.filter(
        pl.col("first").replace_strict(by).eq("gpt") & pl.col("second").replace_strict(by).eq("gpt")
    )["estimate"].mean()  # fmt: skip
    assert mean["gpt and gpt"] == pytest.approx(same)
    difference = found.by_authors.filter(pl.col("authors") == "gpt and gpt − gpt and people").row(0, named=True)
    assert 0 < difference["low"] < difference["estimate"]
    (part,) = validation_parts(found)
    assert "similarity of texts by their authors" in part.frames[-1][0]
    bare = assay.validate_similarity(assay.read(frame.drop("^.*_author$"), scale="odd-one-out", humans=["ann"]),
                                     "characters", n_resamples=20)  # fmt: skip
    assert bare.by_authors.height == 0


def test_intervals_of_few_texts_stay_in_the_range():
    """Three texts of each author: t(2) = 4.3, so that an interval symmetric about a mean near 0 would go below it."""
    first, second = np.array([0, 0, 1, 3, 3, 4, 0, 1, 2]), np.array([1, 2, 2, 4, 5, 5, 3, 4, 5])
    share = np.array([0.0, 0.1, 0.3, 0.9, 1.0, 0.7, 0.0, 0.2, 0.0])
    found = similarity_by_authors(first, second, share, ["p"] * 3 + ["m"] * 3, 0.95)
    rows = {row["authors"]: row for row in found.iter_rows(named=True)}
    assert (rows["p and p"]["low"], rows["m and m"]["high"]) == (0, 1)
    assert rows["m and p"]["low"] == 0
    differences = found.filter(pl.col("authors").str.contains("−"))
    assert differences["low"].min() >= -1
    assert differences["high"].max() <= 1
    assert differences["low"].min() < 0
