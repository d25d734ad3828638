"""From the table to arrays: equal items are computed once, and clusters of items follow one rule."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import assay
from assay.data import ratings as module
from assay.data.annotations import Annotations
from assay.data.ratings import cluster_codes, distinct_items
from assay.errors import DataError


def labels(n: int = 400, m: int = 4, missing: float = 0.2, seed: int = 0) -> assay.Annotations:
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 4, n)
    cells = np.clip(truth[:, None] + rng.integers(-1, 2, (n, m)), 1, 3)
    item, who = np.nonzero(rng.random((n, m)) >= missing)
    frame = pl.DataFrame(
        {"item": item, "annotator": [f"a{j}" for j in who], "label": cells[item, who], "page": item // 5}
    )
    return assay.read(frame, judges=["a3"], scale="1-3")


@pytest.fixture
def at_once(monkeypatch):
    """Distinct items are used in tables of any size."""
    monkeypatch.setattr(module, "FROM_ITEMS", 1)
    monkeypatch.setattr(module, "FEWER", 1)


def test_distinct_items_have_labels_of_their_kind(at_once):
    answers = labels().answers()
    few, kind = distinct_items(answers)
    assert len(np.unique(kind)) == few.n_items == len(few.items) < 4**4
    of_kind = [
        set(zip(few.annotator[few.item == k], few.value[few.item == k], strict=True)) for k in range(few.n_items)
    ]
    assert len({frozenset(one) for one in of_kind}) == few.n_items, "two equal kinds"
    for i in range(answers.n_items):
        mine = answers.item == i
        assert set(zip(answers.annotator[mine], answers.value[mine], strict=True)) == of_kind[kind[i]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "clusters"),
    [
        pytest.param({}, None, marks=pytest.mark.slow),
        ({"method": "percentile", "n_resamples": 60}, "page"),
        pytest.param({"raters": "random"}, None, marks=pytest.mark.slow),
    ],
)
def test_distinct_items_do_not_change_agreement(monkeypatch, options, clusters):
    apart = assay.agreement(labels(), clusters=clusters, draws=20, **options)
    monkeypatch.setattr(module, "FROM_ITEMS", 1)
    monkeypatch.setattr(module, "FEWER", 1)
    seen: list[int] = []
    monkeypatch.setattr(
        "assay.data.ratings.distinct_items", lambda answers: seen.append(answers.n_items) or distinct_items(answers)
    )  # fmt: skip
    together = assay.agreement(labels(), clusters=clusters, draws=20, **options)
    assert seen
    numbers = pl.col(pl.Float64)
    for one, other in ((apart.table, together.table), (apart.differences, together.differences)):
        np.testing.assert_allclose(
            one.select(numbers).to_numpy(), other.select(numbers).to_numpy(), rtol=1e-9, atol=1e-12
        )
        assert one.select(pl.col(pl.String)).equals(other.select(pl.col(pl.String)))


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a,  # nearly every item is a separate kind
        lambda a: assay.read(a.labels.with_columns(label=pl.col("label") + 0.5), scale="interval:0-9.5").answers(),
        lambda a: assay.read(a.labels.with_columns(label=pl.col("label") * 1000), scale="interval:0-5000").answers(),
    ],
)
def test_distinct_items_is_none_if_few_are_equal(monkeypatch, change):
    monkeypatch.setattr(module, "FROM_ITEMS", 1)
    table = labels(n=60)
    found = change(table)
    assert distinct_items(found.answers() if isinstance(found, assay.Annotations) else found) is None


def test_distinct_items_is_none_for_many_annotators(monkeypatch):
    monkeypatch.setattr(module, "FROM_ITEMS", 1)
    rng = np.random.default_rng(0)
    who = np.concatenate([(start + np.arange(3)) % 600 for start in range(0, 1200, 3)])
    frame = pl.DataFrame({"item": np.repeat(np.arange(400), 3), "annotator": who, "label": rng.integers(1, 6, 1200)})
    table = assay.read(frame.with_columns(pl.format("a{}", "annotator").alias("annotator")), scale="1-5")
    assert distinct_items(table.answers()) is None
    assert np.isfinite(assay.measures.krippendorff_alpha(table).estimate)


def test_distinct_items_is_none_for_small_tables():
    assert distinct_items(labels(n=3000, missing=0.0).answers()) is None


def test_distinct_items_with_empty_annotators_and_items(at_once):
    answers = labels().answers()
    none = answers.select(np.zeros(len(answers), dtype=bool))
    assert distinct_items(none) is None
    first = answers.select(answers.item > 10)
    few, kind = distinct_items(first)
    assert len(kind) == first.n_items
    assert not (few.item == kind[0]).any(), "items that lost their labels are a separate kind"


# -- clusters of items: one rule for every question ---------------------------------------------------

LABELS = pl.DataFrame({"q": ["b", "a", "c", "a"], "who": ["x", "x", "x", "y"], "stars": [1, 2, 3, 2]})


def table(**columns):
    items = pl.DataFrame({"item": ["c", "a", "b"], **columns})
    return Annotations.from_frame(LABELS, item="q", annotator="who", label="stars", items=items)


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        (["d2", "d1", "d2"], [0, 1, 1]),
        ([2.5, 1.0, 2.5], [0, 1, 1]),
        ([True, False, True], [0, 1, 1]),
        (pl.Series(["z", "z", "y"], dtype=pl.Categorical), [1, 0, 1]),
    ],
)
def test_cluster_codes_are_in_item_order(values, codes):
    assert cluster_codes(table(document=values), "document").tolist() == codes


def test_cluster_codes_accept_item_column():
    assert cluster_codes(table(), "item").tolist() == cluster_codes(table(), "q").tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            [None, "d", "d"],
            r"^1 item has no 'document' \(item 'c'\); fill in the values, drop those items, or try without clusters",
        ),
        ([1.0, float("nan"), None], r"^2 items have no 'document' \(item 'a', item 'b'\); fill in"),
    ],
)
def test_cluster_codes_refuse_item_without_cluster(values, said):
    with pytest.raises(DataError, match=said):
        cluster_codes(table(document=values), "document")


def test_cluster_codes_error_names_three_items():
    frame = pl.DataFrame({"item": list("abcde"), "annotator": "x", "label": 1})
    items = pl.DataFrame({"item": list("abcde"), "document": [None] * 5}, schema_overrides={"document": pl.String})
    with pytest.raises(DataError, match=r"^5 items have no 'document' \(item 'a', item 'b', item 'c' and 2 more\)"):
        cluster_codes(Annotations.from_frame(frame, items=items), "document")


def test_cluster_codes_suggest_nearest_column():
    with pytest.raises(DataError, match="item column 'documnt' is not in the table of items; did you mean 'document'"):
        cluster_codes(table(document=["d", "d", "e"]), "documnt")
    with pytest.raises(DataError, match="item column 'who'"):
        cluster_codes(table(), "who")


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        (["4", "4.0", " 4 ", "10"], [0, 0, 0, 1]),
        (["1a", "none", "2b", "-"], [1, 3, 2, 0]),  # marks of missing values are names of levels
        (["none", "1a", "2b", "-"], [3, 1, 2, 0]),
        (["10", "9", "x"], [0, 1, 2]),  # not all are numbers
    ],
)
def test_level_codes_give_each_value_a_level(values, codes):
    assert module.level_codes(pl.Series(values)).tolist() == codes
