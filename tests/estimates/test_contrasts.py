"""Differences of systems that one judge labelled: paired on sources, corrected for what the judge likes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import assay
from assay.errors import DesignError


def two_systems(
    seed: int, *, effect: float = 0.0, liked: float = 0.0, sources: int = 400, labelled: int = 80
) -> assay.Annotations:
    """Two systems answer the same sources; the judge likes length, and new outputs are longer.

    ``effect`` is the true difference of people's labels, ``liked`` what the judge adds for the new system's length.
    """
    rng = np.random.default_rng(seed)
    easy = rng.normal(size=sources)
    some = np.sort(rng.permutation(sources)[:labelled])
    rows, items = [], []
    for system in ("new", "old"):
        z = easy + 0.7 * rng.normal(size=sources) + (effect if system == "new" else 0.0)
        length = 100 + 30 * rng.normal(size=sources) + (40 if system == "new" else 0)
        judge = z + 0.6 * rng.normal(size=sources) + liked * (length - 100) / 40
        names = [f"{system} {s:04d}" for s in range(sources)]
        items += [
            {"item": n, "system": system, "source": f"s{s:04d}", "length": x}
            for s, (n, x) in enumerate(zip(names, length, strict=True))
        ]
        rows += [{"item": n, "annotator": "judge", "label": v} for n, v in zip(names, judge, strict=True)]
        rows += [
            {"item": names[s], "annotator": who, "label": z[s] + 0.5 * rng.normal()}
            for who in ("ann", "bob")
            for s in some
        ]
    return assay.Annotations.from_frame(
        pl.DataFrame(rows), judges=["judge"], scale=assay.Interval(), items=pl.DataFrame(items)
    )


def contrast(labels, **options):
    return assay.estimate(labels, "judge", contrast="system", sources="source", **options)


def test_the_difference_is_that_of_the_means_and_pairing_narrows_it():
    found = contrast(two_systems(1, effect=0.3))
    rows = {row["of"] if row["slice"] is None else row["slice"]: row for row in found.table.iter_rows(named=True)}
    new, old, both = rows["new"], rows["old"], rows["new − old"]
    assert both["estimate"] == pytest.approx(new["estimate"] - old["estimate"])
    apart = np.hypot(new["high"] - new["low"], old["high"] - old["low"])
    assert both["high"] - both["low"] < 0.9 * apart
    assert both["n"] == 80


@pytest.mark.slow
def test_what_the_judge_likes_is_no_difference():
    """The judge says +.09 and more where the truth is 0; a difference is shown in at most 5%, and .95 are covered."""
    shown, covered, judge = [], [], []
    for seed in range(200):
        row = contrast(two_systems(seed, liked=0.4)).contrasts[0]
        shown.append(row.p_adjusted <= 0.05)
        covered.append(row.found.low <= 0 <= row.found.high)
        judge.append(row.judge.low > 0)
    assert np.mean(judge) > 0.95
    assert np.mean(shown) < 0.05 + 2 * 0.0154
    assert np.mean(covered) > 0.95 - 2 * 0.0154


def test_a_true_difference_is_shown_and_said_beside_the_judge_s():
    found = contrast(two_systems(4, effect=0.6, liked=0.5), length="length")
    words = found.summary()
    assert "new against old: the judge says +1." in words
    assert "new is ahead (p" in words
    one = found.contrasts[0]
    assert one.found.low < 0.6 < one.found.high
    assert one.judge.low > one.found.estimate
    assert one.by_length.low < 0.5 < one.by_length.high
    assert "goes with length" in words


def test_a_judge_that_does_not_see_length_has_no_part_of_it():
    inside = []
    for seed in range(100):
        one = contrast(two_systems(seed, sources=100, labelled=30), length="length").contrasts[0]
        inside.append(one.by_length.low <= 0 <= one.by_length.high)
    assert np.mean(inside) > 0.95 - 2 * 0.022


def test_a_board_has_one_correction_and_a_baseline():
    labels = two_systems(5, effect=0.5)
    third = labels.labels.filter(pl.col("item").str.starts_with("old")).with_columns(
        item="mid" + pl.col("item").str.slice(3)
    )
    items = labels.items.filter(pl.col("system") == "old").with_columns(
        item="mid" + pl.col("item").str.slice(3), system=pl.lit("mid")
    )
    labels = assay.Annotations.from_frame(
        pl.concat([labels.labels, third]), judges=["judge"], scale=assay.Interval(),
        items=pl.concat([labels.items, items]),
    )  # fmt: skip
    board = contrast(labels)
    assert [c.first + c.second for c in board.contrasts] == ["midnew", "midold", "newold"]
    same = board.contrasts[1]
    assert same.found.reason == "the labels do not vary"  # a copy differs in nothing
    assert all(c.p_adjusted >= c.p for c in board.contrasts if np.isfinite(c.p))
    against = contrast(labels, baseline="old")
    assert [(c.first, c.second) for c in against.contrasts] == [("mid", "old"), ("new", "old")]
    with pytest.raises(DesignError, match="did you mean 'old'"):
        contrast(labels, baseline="olds")


def test_one_system_or_no_sources_are_refused():
    labels = two_systems(1)
    with pytest.raises(DesignError, match="names one system"):
        contrast(labels.where(system="new"))
    with pytest.raises(DesignError, match="paired on sources"):
        assay.estimate(labels, "judge", contrast="system")
