"""Each picture of votes shows the numbers of its table; judges have their colour."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex

import assay
from assay.reporting import pictures
from readable import assert_readable

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def votes():
    return assay.read(EXAMPLES / "votes.csv", scale="preference", repeat="repeat", judges=["gpt-4o"])


def rows_of(ax):
    """(x, colour) of the points of a forest plot, from the top row down."""
    points = [(*line.get_xydata()[0], to_hex(line.get_color())) for line in ax.lines if len(line.get_xydata()) == 1]
    return [(x, colour) for x, _, colour in sorted(points, key=lambda point: -point[1])]


def names_of(axis):
    return [tick.get_text() for tick in axis.get_ticklabels()]


@pytest.mark.slow
def test_ratings_and_win_probabilities(votes):
    both = assay.ratings(votes, n_resamples=40)
    assert names_of(both.plot().yaxis) == [
        f"{system}, {who}" for system in both.rows["system"].unique(maintain_order=True) for who in ("humans", "gpt-4o")
    ]
    found = assay.ratings(votes, n_resamples=40, who="together")
    ax = found.plot()
    assert names_of(ax.yaxis) == found.rows["system"].to_list()
    assert [x for x, _ in rows_of(ax)] == pytest.approx(found.rows["estimate"].to_list())
    assert_readable(ax)
    names, cells = found.rows["system"].to_list(), found.plot_wins()
    n = len(names)
    shares = {(a, b): share for a, b, share in found.wins.select("first", "second", "win_rate").iter_rows()}
    texts = {}
    for text in cells.texts:
        x, y = text.get_position()
        texts[names[round(n - 0.5 - y)], names[round(x - 0.5)]] = text.get_text()
    assert texts == {pair: f"{100 * share:.0f}" for pair, share in shares.items() if not np.isnan(share)}
    assert names_of(cells.xaxis) == names_of(cells.yaxis) == names
    assert cells.get_xticks().tolist() == cells.get_yticks().tolist()[::-1] == [k + 0.5 for k in range(n)]


@pytest.mark.slow
def test_consistency_by_rater_and_its_values(votes):
    found = assay.consistency(votes, method="none", who=["humans", "annotators"])
    ax, rows = found.plot(), found.headlines
    several = rows["first"].n_unique() > 1
    pairs = [f", {first} & {second}" if first else ", all" for first, second in rows.select("first", "second").rows()]
    wanted = [who + pair * several for who, pair in zip(rows["who"], pairs, strict=True)]
    assert names_of(ax.yaxis) == wanted
    assert rows_of(ax) == [
        (pytest.approx(r["estimate"]), pictures.JUDGE if r["who"] == "gpt-4o" else pictures.HUMAN)
        for r in rows.iter_rows(named=True)
    ]
    assert ax.get_xlim() == (-0.02, 1.02)
    assert_readable(ax)
    assert_readable(found.plot_values())
    assert assay.consistency(votes, measure="strength", method="none").plot().get_xlim() == (-1.04, 1.04)
    values = found.values
    bars = values.select("first", "second", "who", "bin").unique(maintain_order=True)
    drawn = {}
    for bar in found.plot_values().patches:
        drawn.setdefault(round(bars.height - 1 - (bar.get_y() + 0.4)), []).append(bar.get_width())
    for k, key in enumerate(bars.iter_rows()):
        mine = values.filter(
            pl.all_horizontal(pl.col(c).eq_missing(pl.lit(v)) for c, v in zip(bars.columns, key, strict=True))
        )
        assert sorted(width for width in drawn[k] if width) == pytest.approx(sorted(v for v in mine["share"] if v))
        assert sum(drawn[k]) == pytest.approx(1)


def test_places_against_chance(votes):
    rows = [(f"p{i}", who, order, -1 if (order == "a>b") == (i % 3 > 0) else 1, 1 if i % 3 else 2)
            for i in range(9) for who in ("ann", "m") for order in ("a>b", "b>a")]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "annotator", "order", "label", "position"], orient="row")
    kinds = frame.with_columns(
        kind=pl.when(pl.col("annotator") == "m").then(pl.lit("judge")).otherwise(pl.lit("human"))
    )
    found = assay.position_bias(assay.Annotations.from_frame(kinds, scale=assay.Preference(), conditions=["order"]))
    ax = found.plot()
    assert rows_of(ax) == [
        (pytest.approx(r["estimate"]), pictures.JUDGE if r["kind"] == "judge" else pictures.HUMAN)
        for r in found.shares.iter_rows(named=True)
    ]
    assert names_of(ax.yaxis) == [f"{r['annotator']}, {r['place']}" for r in found.shares.iter_rows(named=True)]
    assert [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "--"] == [0.5]
    assert ax.get_xlim() == (-0.02, 1.02)
    assert_readable(ax)
