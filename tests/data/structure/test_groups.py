"""Strata of items: the same for every way to write a column."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

from assay.data.structure.cells import ColumnView
from assay.data.structure.groups import calendar, copied_items, item_groups, parts_of


def groups_of(**columns: Any) -> Any:
    n = len(next(iter(columns.values())))
    frame = pl.DataFrame({"item": [f"i{k}" for k in range(n)], **columns}, strict=False)
    return item_groups(frame, skip=("item",))


STARS = [1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 1, 3] * 4


@pytest.mark.parametrize("write", [float, str, "{}.0".format, " {} ".format, "{:03}".format, "{:.2f}".format])
def test_parts_do_not_depend_on_how_numbers_are_written(write):
    long = [17 * k % 101 for k in range(len(STARS))]
    for numbers in (STARS, long):
        wanted = parts_of(ColumnView(pl.Series("x", numbers)))
        assert parts_of(ColumnView(pl.Series("x", [write(v) for v in numbers]))).tolist() == wanted.tolist()


def test_parts_of_numbers_are_quantiles():
    length = np.random.default_rng(0).permutation(100) * 1.5
    codes = parts_of(ColumnView(pl.Series("length", length)))
    assert np.bincount(codes).tolist() == [20] * 5
    assert all(length[codes == k].max() < length[codes == k + 1].min() for k in range(4))
    tied = parts_of(ColumnView(pl.Series("n", [0] * 70 + list(range(1, 31)))))
    assert len(set(tied[:70].tolist())) == 1  # equal numbers stay together
    gaps = parts_of(ColumnView(pl.Series("n", [None, 1.0, 2.0, None])))
    assert gaps.tolist() == [0, 1, 2, 0]


def test_item_groups_uses_columns_of_every_type():
    n = 60
    rng = np.random.default_rng(1)
    found = groups_of(
        length=rng.normal(100, 20, n), yes=rng.integers(0, 2, n).astype(bool), topic=[f"t{k % 4}" for k in range(n)],
        document=[f"d{k // 3}" for k in range(n)], doc_id=[1000 + k // 3 for k in range(n)],
        pair=[f"p{k // 2}" for k in range(n)],
    )  # fmt: skip
    assert {one.name: one.documents for one in found.strata} == {
        "length": False, "yes": False, "topic": False, "document": True, "doc_id": True, "pair": True,
    }  # fmt: skip
    parts = {one.name: int(one.codes.max()) + 1 for one in found.strata}
    assert (parts["length"], parts["doc_id"]) == (5, 20)  # an id is not cut


def test_item_groups_gives_a_reason_for_each_unused_column():
    n = 40
    found = groups_of(
        text=[f"This is the long text of item number {k}, and nobody repeats it." for k in range(n)],  # dialect: kept
        same=["x"] * n, gold_label=[k % 2 for k in range(n)], row=list(range(1, n + 1)),
        day=[f"{k % 12 + 1}/{5 * k % 12 + 1}/2026" for k in range(n)], name=[f"n{k}" for k in range(n)],
        tags=[["a"]] * n,
    )  # fmt: skip
    assert found.strata == ()
    assert found.unused == {
        "text": "free text", "same": "one value", "gold_label": "labels or gold labels", "row": "item ids",
        "day": "dates", "name": "values of few items", "tags": "lists",
    }  # fmt: skip
    frame = pl.DataFrame({"item": range(20), "says": ["Yes", "no"] * 10})
    assert item_groups(frame, ("yes", "no"), ("item",)).unused == {"says": "the labels' own words"}


def test_item_groups_cuts_dates_in_their_order():
    """12 months of 5 items, written in three ways: as text, 3/1/2026 comes after 10/1/2026."""
    months = [k // 5 + 1 for k in range(60)]
    found = groups_of(
        iso=[f"2026-{m:02}-01T09:00" for m in months], american=[f"{m}/15/2026 9:00:00" for m in months],
        german=[f"1.{m}.2026" for m in months], typed=[datetime(2026, m, 1) for m in months],
        days=[f"{m + 12}/1/2026" for m in months], words=[f"{m + 12} Nov 2026 9:05 pm" for m in months],
    )  # fmt: skip
    strata = [one for one in found.strata if not one.finer]
    assert [one.name for one in strata if one.order] == ["iso", "american", "german", "typed", "days", "words"]
    for one in strata:
        assert one.codes.tolist() == sorted(one.codes.tolist()), one.name
        assert len(set(one.codes.tolist())) == 12
        assert one.numbers is not None
        assert (np.diff(one.numbers) >= 0).all()


def test_item_groups_divides_numbers_by_value_if_values_have_five_items():
    few, many = groups_of(grade=[k % 10 for k in range(50)]), groups_of(grade=[k % 11 for k in range(50)])
    assert [int(one.codes.max()) + 1 for found in (few, many) for one in found.strata] == [10, 5]


def hours_from(start: datetime, step: int, n: int) -> list[datetime]:
    return [start + timedelta(hours=step * k) for k in range(n)]


@pytest.mark.parametrize(
    ("step", "n", "parts"),
    [
        (1, 240, {"": 10, " (hour)": 24}),  # ten days: a day tells the weekday and the month
        (25, 240, {"": 36, " (weekday)": 7, " (month of the year)": 9, " (hour)": 24}),  # weeks
        (97, 240, {"": 32, " (weekday)": 7, " (hour)": 24}),  # months, which tell the month of the year
        (24 * 40, 70, {"": 5, " (weekday)": 7, " (month of the year)": 12}),  # years
    ],
)
@pytest.mark.parametrize("write", [lambda d: d, str, datetime.isoformat, "{:%d.%m.%Y %H:%M}".format])
def test_item_groups_divides_dates_by_the_calendar(step, n, parts, write):
    dates = hours_from(datetime(2024, 1, 1), step, n)
    found = groups_of(seen=[write(each) for each in dates]).strata
    assert {one.name.removeprefix("seen"): int(one.codes.max()) + 1 for one in found} == parts
    weekday = next((one.codes for one in found if one.name == "seen (weekday)"), None)
    if weekday is not None:
        assert weekday.tolist() == [each.weekday() for each in dates]


def test_calendar_is_that_of_python():
    """Leap years, turns of years and of centuries, and a time that is missing."""
    days = [
        datetime(1899, 12, 31),
        datetime(1900, 3, 1),
        datetime(2000, 2, 29),
        datetime(2024, 12, 31),
        datetime(2025, 1, 1),
    ]
    moments = ColumnView(pl.Series("seen", [*days, None])).moments
    assert moments is not None
    parts = calendar(moments)
    assert parts["weekday"].tolist() == [*(day.weekday() for day in days), -1]
    assert parts["month of the year"].tolist() == [12, 3, 2, 12, 1, -1]
    assert np.diff(parts["day"][:-1]).tolist() == [(b - a).days for a, b in pairwise(days)]
    assert np.diff(parts["month"][:-1]).tolist() == [3, 1199, 298, 1]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("source (site)", [f"https://www.paper{k % 4}.org/story/{k}?from=mail" for k in range(40)]),
        ("source (site)", [f"http://paper{k % 4}.org:80{k // 4}" for k in range(40)]),
        ("source (folder)", [f"scans/ward{k % 4}/{k:04}.png" for k in range(40)]),
        ("source (folder)", [f"C:\\scans\\ward{k % 4}\\{k:04}.png" for k in range(40)]),
    ],
)
def test_item_groups_divides_links_by_site_and_paths_by_folder(name, cells):
    (found,) = groups_of(source=cells).strata
    assert (found.name, found.finer) == (name, False)
    assert found.codes.tolist() == [k % 4 for k in range(40)]
    other = groups_of(source=[f"https://paper{k}.org/" for k in range(40)])
    assert (other.strata, other.unused) == ((), {"source": "values of few items"})


@pytest.mark.parametrize("write", ["; ".join, "|".join, ",".join, list])
def test_item_groups_divides_lists_by_tag(write):
    """A tag of 4 of 60 items says nothing about most of them; prose with commas has no tags."""
    rng = np.random.default_rng(0)
    has = rng.random((60, 5)) < 0.4
    has[:, 4] = np.arange(60) < 4
    topics = np.array(["news", "sport", "art", "food", "rare"])
    found = groups_of(n=[write(topics[row].tolist()) for row in has])
    assert found.unused == {}
    assert {one.name: one.codes.tolist() for one in found.strata if one.finer} == {
        f"n ({topic})": has[:, k].astype(int).tolist() for k, topic in enumerate(topics[:4])
    }
    prose = [f"First came number {k}, which nobody had seen before; then nothing happened for weeks" for k in range(60)]
    assert groups_of(text=prose).strata == ()


def test_item_groups_ignores_items_that_are_not_compared():
    length = np.random.default_rng(2).normal(size=80)
    used = np.arange(80) < 50
    every = item_groups(pl.DataFrame({"length": length}), used=used).strata[0].codes
    alone = item_groups(pl.DataFrame({"length": length[:50]})).strata[0].codes
    assert every[:50].tolist() == alone.tolist()
    assert set(every[50:].tolist()) == {0}


def copies_of(rows: list[tuple[str, str, str, str]], **columns: list[Any]) -> list[str]:
    labels = pl.DataFrame(rows, schema=["item", "annotator", "criterion", "label"], orient="row")
    return copied_items(pl.DataFrame({"item": sorted({row[0] for row in rows}), **columns}), labels)


def test_copied_items_have_equal_texts_columns_and_labels():
    """Six items, and each of them once more."""
    items = [f"{k}{part}" for part in "ab" for k in range(6)]
    text = [f"The delivery of parcel {k} took three weeks and the box came open." for k in range(6)]
    rows = [(item, who, "all", "yes" if int(item[0]) % 2 else "no") for item in items for who in ("ann", "bob")]
    order = sorted(items)
    columns = {"text": [text[int(item[0])] for item in order], "topic": ["post"] * 12}
    copies = [f"{k}b" for k in range(6)]
    assert copies_of(rows, **columns) == copies
    assert copies_of(rows[::-1], **columns) == copies  # not the order of the rows
    assert copies_of(rows, topic=["post"] * 12) == []  # equal labels of a topic are no evidence
    # One of them has another label, or no label by bob: items only share texts.
    other = [(i, w, c, "maybe" if (i, w) == ("3b", "bob") else v) for i, w, c, v in rows]
    assert copies_of(other, **columns) == []
    assert copies_of([row for row in rows if row[:2] != ("3b", "bob")], **columns) == []
    # Another topic: five copies are left; then four, which can be a coincidence.
    for changed, left in ((["3b"], 5), (["3b", "4b"], 0)):
        topic = ["mail" if item in changed else "post" for item in order]
        assert len(copies_of(rows, text=columns["text"], topic=topic)) == left
    assert copies_of(rows, text=[None] * 12) == []


def test_alt_test_counts_copies_of_items_once():
    import assay

    alone = assay.simulate(60, 3, seed=2)
    text = [f"Item {k} has an own text, long enough to be read as one." for k in range(60)]
    items = alone.items.select("item").with_columns(text=pl.Series(text))
    more = pl.concat([alone.labels, alone.labels.with_columns(pl.concat_str(pl.lit("copy "), "item").alias("item"))])
    about = pl.concat([items, items.with_columns(pl.concat_str(pl.lit("copy "), "item").alias("item"))])
    one, both = (
        assay.alt_test(
            assay.Annotations.from_frame(labels, judges=list(alone.judges), scale=alone.scale, items=known), "judge",
            epsilon=0.2, strata="none",
        )
        for labels, known in ((alone.labels, items), (more, about))
    )  # fmt: skip
    assert both.n_items == one.n_items == 60
    assert both.verdict_tests == one.verdict_tests
    assert [(e.count, e.reason) for e in both.run.exclusions] == [(60, "a copy of another item: equal text and labels")]
