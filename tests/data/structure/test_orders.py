"""Columns that order labels: dates in any notation, numbers in text and numbered words, never letters."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

import assay
from assay.errors import DesignError

N, AT = 900, 600
START = datetime(2025, 10, 20, 8, 5)


def stream(write, *, on_labels: bool = False) -> assay.Annotations:
    """A judge whose share of 'yes' rises at 600 of 900 labels, two a day; rows and items are in another order."""
    rng = np.random.default_rng(11)
    label = np.where(rng.random(N) < np.where(np.arange(N) < AT, 0.3, 0.75), "yes", "no")
    names = [f"r{k:03}" for k in rng.permutation(N)]
    rows = pl.DataFrame({"item": names, "annotator": "bot", "label": label, "at": [write(k) for k in range(N)]})
    rows = rows.sample(fraction=1, shuffle=True, seed=5)
    options = {} if on_labels else {"items": rows.select("item", "at")}
    return assay.read(rows if on_labels else rows.drop("at"), judges=["bot"], scale="nominal:no,yes", **options)


def date(form: str):
    return lambda k: (START + timedelta(hours=12 * k)).strftime(form)


def alarm(write, **how):
    found = assay.monitor(stream(write, **how), order="at", baseline=300)
    return found.alarm, found.since, found.now.estimate > found.base.estimate


EXPECTED = alarm(lambda k: k)


@pytest.mark.parametrize(
    "write",
    [
        date("%Y-%m-%d %H:%M"), date("%d/%m/%Y %H:%M"), date("%m/%d/%Y %I:%M %p"), date("%d.%m.%y, %H:%M"),
        date("%b %d, %Y %H:%M"), date("%a, %d %b %Y %H:%M:%S GMT"), date("%Y-%m-%dT%H:%M:%S.250Z"),
        date("%d-%b-%Y %H:%M"), date("%Y年%m月%d日 %H:%M"), lambda k: START + timedelta(hours=12 * k),
        "batch {}".format, "Batch {} of 1000".format, lambda k: f"{k / 8}".replace(".", ","), lambda k: f"{k / 9}%",
        lambda k: f"Q{k // 200 % 4 + 1} {2020 + k // 800} #{k}", "{}th".format,
        lambda k: date("%Y-%m-%d %H:%M")(k) + "+00:00" if k % 2
        else date("%Y-%m-%d %H:%M")(k + 1 / 4) + "+03:00",
    ],
)  # fmt: skip
def test_monitor_orders_times_and_numbers_however_they_are_written(write):
    assert EXPECTED[2]
    assert EXPECTED[1] == pytest.approx(300, abs=15)
    assert alarm(write) == EXPECTED
    assert alarm(write, on_labels=True) == EXPECTED


def test_monitor_names_the_time_as_it_is_written():
    found = assay.monitor(stream(date("%d/%m/%Y")), order="at", baseline=300)
    since = START + timedelta(hours=12 * (300 + found.since - 1))
    assert found.since_at == f"{since:%d/%m/%Y}"


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda k: f"0{k % 9 + 1}/0{k // 100 % 9 + 1}/2026", "'at' does not show the order: '0"),
        (lambda k: "Dec 30" if k < AT else "Jan 2", "'at' does not show the order: '"),
        (lambda k: f"Mar-{k % 12 + 1:02}" if k < AT else f"Apr-{k % 12 + 1:02}", "'at' does not show the order: '"),
        (lambda k: ("early", "late")[k // AT], "'at' does not order the labels: '"),
        (lambda k: "pilot" if k < 300 else f"week {k}", "'at' does not order the labels: 'pilot' is not a number"),
        (lambda k: f"{k % 12 + 1}/{k // 80 + 1}", "'at' does not order the labels: '"),
    ],
)
def test_monitor_refuses_a_column_that_shows_no_order(write, words):
    with pytest.raises(DesignError, match=words):
        assay.monitor(stream(write), order="at", baseline=300)


def test_monitor_orders_ambiguous_dates_if_both_readings_order_them_equally():
    """1 to 9 of each of nine months would differ; the same day of each month does not."""
    months = [f"0{k // 100 + 1}/0{k // 100 + 1}/2026" for k in range(N)]
    assert alarm(months.__getitem__)[2]


def test_last_repeat_is_that_of_the_last_date():
    rows = [("a", "30/06/2026", 1), ("a", "01/07/2026", 5), ("b", "02/12/2025", 2), ("b", "15/01/2025", 4)]
    frame = pl.DataFrame(rows, schema=["item", "when", "label"], orient="row").with_columns(annotator=pl.lit("eve"))
    labels = assay.read(frame, repeat="when", scale="1-5")
    last = labels.resolve_repeats("last").labels
    assert dict(last.select("item", "label").rows()) == {"a": 5, "b": 2}
    unclear = frame.with_columns(when=pl.Series(["03/04/2026", "04/03/2026", "05/06/2026", "07/08/2026"]))
    with pytest.raises(DesignError, match="'when' does not show the order: '03/04/2026' can be several dates"):
        assay.read(unclear, repeat="when", scale="1-5")


def test_repeats_follow_the_twelve_hour_clock():
    """1:10 PM is after 9:10 AM, and 12:10 AM before it."""
    clock = pl.Series(["4/18/2026 12:10 AM", "4/18/2026 9:10 AM", "4/18/2026 12:10 PM", "4/18/2026 1:10 PM"])
    repeats = pl.DataFrame({"item": "a", "annotator": "eve", "label": [1, 2, 3, 4], "when": clock.reverse()})
    labels = assay.read(repeats, repeat="when", scale="1-5").labels.sort("repeat")
    assert labels["label"].to_list() == [4, 3, 2, 1]
