"""Each picture of ideas shows the numbers of its table, under names that fit; judges have their colour."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex
from worlds import World, noisy, pair_values

import assay
from assay.ideas.annotators import _name_apart
from assay.ideas.triplets import MOST_TEXTS
from assay.reporting import pictures
from readable import assert_readable

WORLD = World.of(6, 2, sharpness=1)
LABELS = WORLD.study(floor=4, overlap=2, judges={"gpt": noisy(WORLD, 0.5)}, repeats=2)


def points(ax):
    """(x, y, colour) of the points of a forest plot, from the top row down."""
    found = [(*line.get_xydata()[0], to_hex(line.get_color())) for line in ax.lines if len(line.get_xydata()) == 1]
    return sorted(found, key=lambda point: -point[1])


def names_of(axis):
    return [tick.get_text() for tick in axis.get_ticklabels()]


def bars(ax):
    """Ends of the intervals of a forest plot, from the top row down."""
    found = [line.get_xydata() for line in ax.lines if len(line.get_xydata()) == 2 and line.get_zorder() == 2]
    rows = [(ends[0, 1], ends[:, 0].tolist()) for ends in found if ends[0, 1] == ends[1, 1]]
    return [ends for _, ends in sorted(rows, key=lambda row: -row[0])]


@pytest.mark.slow
def test_similarities_in_percent_under_short_names():
    found = assay.triplet_similarity(LABELS)
    long = {"t00": "x" * 22, "t01": "y" * 21}
    pairs = found.pairs.with_columns(pl.col("first", "second").replace(long))
    found = dataclasses.replace(found, pairs=pairs)
    ax = found.plot(document="d1")
    names, alike = found.matrix("d1")
    assert names_of(ax.xaxis) == names_of(ax.yaxis) == ["x" * 20 + "…", "y" * 21, *names[2:]]
    assert ax.get_yticks().tolist() == [5.5, 4.5, 3.5, 2.5, 1.5, 0.5]
    texts = {(text.get_position()[0] - 0.5, 5.5 - text.get_position()[1]): text.get_text() for text in ax.texts}
    wanted = {(j, i): f"{100 * alike[i, j]:.0f}" for i in range(6) for j in range(6) if i != j}
    assert texts == wanted
    assert ax.get_xlabel() == "similarity in percent, d1"
    assert found.plot().get_xlabel() == "similarity in percent, d0"
    assert MOST_TEXTS == 40


def test_agreement_above_chance_with_judges_in_their_colour():
    found = assay.odd_one_out_agreement(LABELS, n_resamples=60)
    ax, rows = found.plot(), found.rows
    assert [point[0] for point in points(ax)] == pytest.approx(rows["estimate"].to_list())
    ends = rows.filter(pl.col("low").is_finite()).select("low", "high").rows()
    assert np.allclose(bars(ax), ends)
    judges = [pictures.JUDGE if "gpt" in (a, b) else pictures.HUMAN for a, b in rows.select("first", "second").rows()]
    assert [point[2] for point in points(ax)] == judges
    assert set(judges) == {pictures.JUDGE, pictures.HUMAN}
    assert_readable(ax)
    assert names_of(ax.yaxis)[0] == "humans"
    assert "gpt & humans" in names_of(ax.yaxis)
    assert "gpt, repeated" in names_of(ax.yaxis)


@pytest.mark.slow
def test_measures_and_the_experts_ceiling():
    measures = {"good": pair_values(noisy(WORLD, 0.3)), "bad": pair_values(noisy(WORLD, 4))}
    found = assay.validate_similarity(LABELS, measures, n_resamples=40)
    ax, rows = found.plot(), found.rows.filter(pl.col("kind") != "ceiling")
    assert names_of(ax.yaxis) == rows["measure"].to_list()
    assert [point[0] for point in points(ax)] == pytest.approx(rows["estimate"].to_list())
    assert [point[2] for point in points(ax)] == [
        pictures.JUDGE if kind == "judge" else pictures.HUMAN for kind in rows["kind"]
    ]
    lines = [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 2 and line.get_linewidth() == 1.2]
    best = found.rows.filter(pl.col("measure") == "noise ceiling")["estimate"][0]
    assert lines == [pytest.approx(best)]
    assert_readable(ax)
    none = dataclasses.replace(found, rows=found.rows.with_columns(
        estimate=pl.when(pl.col("kind") == "ceiling").then(float("nan")).otherwise("estimate")))  # fmt: skip
    assert none.plot().get_legend() is None


@pytest.mark.slow
def test_curves_of_judgments_and_of_a_plan():
    found = assay.plan.judgments(LABELS.where(kind="human"), n_splits=20, target=0.75)
    ax, curve = found.plot(), found.table
    mine, published, target = ax.lines[:3]
    assert mine.get_xydata().tolist() == pytest.approx(curve.select("judgments", "estimate").to_numpy())
    assert published.get_ydata() == pytest.approx(curve["published"].to_numpy(), nan_ok=True)
    assert list(target.get_ydata()) == [0.75, 0.75]
    assert ax.get_ylim() == (min(0.0, curve["estimate"].min()), 1.02)
    plan = assay.plan.triplets(6, agreement=0.6, floors=(2, 5), n_studies=20, target=0.8)
    mean, least, target = plan.plot().lines[:3]
    assert mean.get_xydata().tolist() == pytest.approx(plan.outcomes.select("judgments", "rho").to_numpy())
    assert list(least.get_ydata()) == pytest.approx(plan.outcomes["rho_least"].to_list())
    assert list(target.get_ydata()) == [0.8, 0.8]


def test_how_often_pairs_are_in_a_sample():
    found = assay.sample_triplets([f"t{i}" for i in range(6)], floor=2, seed=1)
    seen = found.pairs["estimate"].value_counts().sort("estimate")
    ax = found.plot()
    assert [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in ax.patches] == [
        pytest.approx(row) for row in seen.rows()
    ]


def test_places_are_turned_to_their_longest_axes():
    found = assay.triplet_embedding(LABELS.where(kind="human"), dimensions=3, n_resamples=0)
    mine = found.places.filter(pl.col("document") == found.places["document"][0])
    mine = mine.with_columns(text=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("z" * 22)).otherwise("text"))
    ax = dataclasses.replace(found, places=mine).plot()
    x = mine.select("x1", "x2", "x3").to_numpy()
    shown = ax.lines[0].get_xydata()
    variances = np.linalg.eigvalsh(np.cov(x.T))[::-1]
    assert shown.var(axis=0, ddof=1) == pytest.approx(variances[:2])
    assert [text.get_text() for text in ax.texts] == [f"  {name}" for name in ["z" * 20 + "…", *mine["text"][1:]]]
    line = assay.triplet_embedding(LABELS.where(kind="human"), dimensions=1, n_resamples=0).plot()
    assert not line.lines[0].get_ydata().any()


def said(n_people):
    rng, words = np.random.default_rng(4), ["red", "green", "blue", "old", "new", "small"]
    who = [f"a person with the number {k:02d}" if k < 2 else f"p{k:02d}" for k in range(n_people)] + ["gpt", "llama"]
    rows = [(f"i{i}", name, " ".join(rng.choice(words, 3, replace=False))) for i in range(12) for name in who]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return assay.annotator_similarity(assay.read(frame, scale="text", judges=["gpt", "llama"]), method="none")


@pytest.mark.slow
def test_annotators_on_a_map_and_by_closeness():
    few, many = said(14), said(39)
    ax = few.plot()
    at = {(row["x"], row["y"]): row for row in few.positions.iter_rows(named=True)}
    dots = [line for line in ax.lines if len(line.get_xydata())]
    assert len(dots) == 16
    for dot in dots:
        judge = at[tuple(dot.get_xydata()[0])]["kind"] == "judge"
        assert (dot.get_marker(), to_hex(dot.get_color()), dot.get_markersize(), dot.get_alpha()) == (
            ("D", pictures.JUDGE, 7, 1.0) if judge else ("o", pictures.HUMAN, 5, 0.55)
        )
    assert len(ax.texts) == 16
    assert sorted(text.get_text() for text in said(15).plot().texts) == ["gpt", "llama"]
    assert_readable(ax)
    ax = many.plot_closeness()
    rows = many.rows
    judges = rows.filter(pl.col("kind") == "judge")
    people = rows.filter(pl.col("kind") == "human").gather_every(2)  # 39 people in the 38 rows next to the judges
    shown = pl.concat([judges, people]).sort("difference", descending=True)
    names = [name if len(name) <= 18 else name[:16] + "…" for name in shown["annotator"]]
    assert names_of(ax.yaxis) == names
    assert [point[0] for point in points(ax)] == pytest.approx(shown["difference"].to_list())
    assert [point[2] for point in points(ax)] == [
        pictures.JUDGE if kind == "judge" else pictures.HUMAN for kind in shown["kind"]
    ]
    assert few.plot_closeness().get_ylim() == (-0.7, 15.7)


def test_names_are_moved_up_where_they_would_lie_on_another():
    ax = pictures.axes()
    rows = [
        {"annotator": name, "x": x, "y": y}
        for name, x, y in (("abcde", 0.0, 0.0), ("fghij", 0.05, 0.01), ("klmno", 0.5, 0.0), ("p", 1.0, 1.0))
    ]
    _name_apart(ax, rows)
    found = {text.get_text(): text.get_position() for text in ax.texts}
    # Of a span of 1: a line is .05 high, a letter .024 wide, a name .02 beside its point.
    assert found == {
        "abcde": pytest.approx((0.02, 0.0)), "klmno": pytest.approx((0.52, 0.0)),
        "fghij": pytest.approx((0.07, 0.05)), "p": pytest.approx((1.02, 1.0)),
    }  # fmt: skip
    _name_apart(pictures.axes(), [])
