"""Clusters of items: one rule for every question."""

from __future__ import annotations

import polars as pl
import pytest

from assay.data.annotations import Annotations
from assay.data.ratings import cluster_codes
from assay.errors import DataError

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
def test_codes_stand_in_the_order_of_the_items(values, codes):
    assert cluster_codes(table(document=values), "document").tolist() == codes


def test_each_item_may_be_a_cluster_of_its_own_under_the_users_name():
    assert cluster_codes(table(), "item").tolist() == cluster_codes(table(), "q").tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            [None, "d", "d"],
            r"^1 item has no 'document' \(item 'c'\); fill it, drop those items, or do without clusters",
        ),
        ([1.0, float("nan"), None], r"^2 items have no 'document' \(item 'a', item 'b'\); fill it"),
    ],
)
def test_an_item_without_a_cluster_is_refused(values, said):
    with pytest.raises(DataError, match=said):
        cluster_codes(table(document=values), "document")


def test_of_many_items_without_a_cluster_three_are_named():
    frame = pl.DataFrame({"item": list("abcde"), "annotator": "x", "label": 1})
    items = pl.DataFrame({"item": list("abcde"), "document": [None] * 5}, schema_overrides={"document": pl.String})
    with pytest.raises(DataError, match=r"^5 items have no 'document' \(item 'a', item 'b', item 'c' and 2 more\)"):
        cluster_codes(Annotations.from_frame(frame, items=items), "document")


def test_a_column_that_is_not_there_has_a_nearest():
    with pytest.raises(DataError, match="item column 'documnt' is not in the table of items; did you mean 'document'"):
        cluster_codes(table(document=["d", "d", "e"]), "documnt")
    with pytest.raises(DataError, match="item column 'who'"):
        cluster_codes(table(), "who")
