"""Items that are alike are worked out once, and nothing that is said of them changes."""

import numpy as np
import polars as pl
import pytest

import assay
from assay.data import ratings as module
from assay.data.ratings import distinct_items


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
    """Items are looked at by kind in tables of any size."""
    monkeypatch.setattr(module, "FROM_ITEMS", 1)
    monkeypatch.setattr(module, "FEWER", 1)


def test_each_item_has_the_labels_of_its_kind(at_once):
    answers = labels().answers()
    few, kind = distinct_items(answers)
    assert len(np.unique(kind)) == few.n_items == len(few.items) < 4**4
    of_kind = [
        set(zip(few.annotator[few.item == k], few.value[few.item == k], strict=True)) for k in range(few.n_items)
    ]
    assert len({frozenset(one) for one in of_kind}) == few.n_items, "two kinds that are the same"
    for i in range(answers.n_items):
        mine = answers.item == i
        assert set(zip(answers.annotator[mine], answers.value[mine], strict=True)) == of_kind[kind[i]]


@pytest.mark.parametrize(
    ("options", "clusters"),
    [({}, None), ({"method": "percentile", "n_resamples": 60}, "page"), ({"raters": "random"}, None)],
)
def test_no_number_of_agreement_changes(monkeypatch, options, clusters):
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
        lambda a: a,  # as many kinds as items, or nearly
        lambda a: assay.read(a.labels.with_columns(label=pl.col("label") + 0.5), scale="interval:0-9.5").answers(),
        lambda a: assay.read(a.labels.with_columns(label=pl.col("label") * 1000), scale="interval:0-5000").answers(),
    ],
)
def test_where_hardly_any_are_alike_items_are_looked_at_one_by_one(monkeypatch, change):
    monkeypatch.setattr(module, "FROM_ITEMS", 1)
    table = labels(n=60)
    found = change(table)
    assert distinct_items(found.answers() if isinstance(found, assay.Annotations) else found) is None


def test_many_annotators_have_too_many_kinds_of_items_to_number(monkeypatch):
    monkeypatch.setattr(module, "FROM_ITEMS", 1)
    rng = np.random.default_rng(0)
    who = np.concatenate([(start + np.arange(3)) % 600 for start in range(0, 1200, 3)])
    frame = pl.DataFrame({"item": np.repeat(np.arange(400), 3), "annotator": who, "label": rng.integers(1, 6, 1200)})
    table = assay.read(frame.with_columns(pl.format("a{}", "annotator").alias("annotator")), scale="1-5")
    assert distinct_items(table.answers()) is None
    assert np.isfinite(assay.krippendorff_alpha(table).estimate)


def test_small_tables_are_looked_at_item_by_item():
    assert distinct_items(labels(n=3000, missing=0.0).answers()) is None


def test_annotators_who_answered_nothing_and_items_without_labels(at_once):
    answers = labels().answers()
    none = answers.select(np.zeros(len(answers), dtype=bool))
    assert distinct_items(none) is None
    first = answers.select(answers.item > 10)
    few, kind = distinct_items(first)
    assert len(kind) == first.n_items
    assert not (few.item == kind[0]).any(), "items that lost their labels are a kind of their own"
