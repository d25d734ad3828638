"""Pictures of scores and of raters show the numbers of their tables where they belong; judges have their colour."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex
from rated import planted

from assay.errors import DesignError
from assay.psychometrics import plots
from assay.psychometrics.raters.fairness import Fairness
from assay.reporting import pictures
from readable import assert_readable


def names_of(axis):
    return [tick.get_text() for tick in axis.get_ticklabels()]


@pytest.mark.slow
def test_bars_of_variance_lie_end_to_end_and_name_what_has_room():
    studies = [("people", [("o", 70.0), ("r", 4.0), ("or,e", 26.0)]), ("judges", [("o", 94.0), ("or,e", 6.0)])]
    ax = plots.variance_bars(studies)
    shown = [
        (p.get_y() + p.get_height() / 2, p.get_x(), p.get_x() + p.get_width()) for p in ax.patches if p.get_width()
    ]
    # The first study is on top, and each bar begins where the one before it ends.
    assert shown == [pytest.approx(bar) for bar in [(0, 0, 94), (0, 94, 100), (1, 0, 70), (1, 70, 74), (1, 74, 100)]]
    assert names_of(ax.yaxis) == ["judges", "people"]
    words = {(*text.get_position(), text.get_text()) for text in ax.texts}
    assert words == {(47, 0, "94"), (97, 0, "6"), (35, 1, "70"), (87, 1, "26")}
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["o", "r", "or,e"]
    # An effect has one colour, in both bars and next to its name.
    drawn = [to_hex(p.get_facecolor()) for p in ax.patches if p.get_width()]
    assert drawn[0] == drawn[2] == to_hex(legend.get_patches()[0].get_facecolor())
    assert drawn[1] == drawn[4] == to_hex(legend.get_patches()[2].get_facecolor())
    assert len(set(drawn)) == 3
    assert ax.get_xlim() == (0, 100)
    assert_readable(ax)
    most = plots.variance_bars([(f"s{i}", [("o", 100.0)]) for i in range(31)])
    assert len(names_of(most.yaxis)) == 30
    assert names_of(most.yaxis)[-1] == "s0"


@pytest.mark.slow
def test_a_curve_for_each_choice_of_the_other_facets():
    rows = pl.DataFrame(
        [(r, o, 0.1 * r + 0.1 * o) for r in range(1, 4) for o in (4, 2, 1)], schema=["r", "o", "estimate"], orient="row"
    ).with_columns(low=pl.col("estimate") - 0.1, high=pl.col("estimate") + 0.2)
    ax = plots.curves(rows, "o", ["r"], "Φ", 0.8, {"r": "annotator", "o": "lesson"})
    *lines, target = ax.lines
    assert [line.get_label() for line in lines] == [f"annotator: {r}" for r in range(1, 4)]
    for r, (line, band) in enumerate(zip(lines, ax.collections, strict=True), 1):
        assert line.get_xydata() == pytest.approx(np.array([(o, 0.1 * (r + o)) for o in (1, 2, 4)]))
        ends = band.get_paths()[0].vertices
        assert (ends[:, 1].min(), ends[:, 1].max()) == pytest.approx((0.1 * (r + 1) - 0.1, 0.1 * (r + 4) + 0.2))
        assert to_hex(line.get_color()) == to_hex(band.get_facecolor())
    assert list(target.get_ydata()) == [0.8, 0.8]
    assert ax.get_ylim() == (0, 1)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("number of lessons", "Φ")
    plain = plots.curves(rows.filter(r=1).with_columns(study=pl.lit("people")), "o", ["study"], "Φ", 0.8, {"o": "o"})
    assert plain.get_xlabel() == "number of o"
    assert plain.lines[0].get_label() == "people"
    assert plots.curves(rows.filter(r=1), "o", [], "Φ", 0.8, {}).get_legend() is None
    many = plots.curves(
        pl.concat([rows.filter(r=1).with_columns(r=pl.lit(k)) for k in range(20)]), "o", ["r"], "Φ", 0.8, {}
    )
    looks = [(to_hex(line.get_color()), line.get_linestyle()) for line in many.lines[:-1]]
    assert len(looks) == len(set(looks)) == 16  # twice as many as there are colours, the others dashed


def raters(n=0):
    """Two people and a judge, each with its φ and ψ and both intervals; and n people more."""
    rows = [
        ("ann", "human", "b", -0.5, -0.8, -0.2, 0.5, 0.4, 0.7), ("bob", "human", "b", 0.0, -0.2, 0.2, 1.0, 0.7, 1.4),
        ("gpt", "judge", "c", 0.6, 0.3, 0.9, 2.0, 1.6, 2.4),
        *((f"p{i}", "human", "c", 0.0, -0.1, 0.1, 1.0, 0.9, 1.1) for i in range(n)),
    ]  # fmt: skip
    columns = ["annotator", "kind", "group", "estimate", "low", "high", "psi", "psi_low", "psi_high"]
    return pl.DataFrame(rows, schema=columns, orient="row")


@pytest.mark.slow
def test_each_rater_is_a_cross_at_its_severity_and_variability():
    ax = plots.raters(raters(), True)
    marks = {line.get_label(): line for line in ax.lines if line.get_label() in ("humans", "judges")}
    assert marks["humans"].get_xydata().tolist() == [[-0.5, 0.5], [0.0, 1.0]]
    assert marks["judges"].get_xydata().tolist() == [[0.6, 2.0]]
    assert (to_hex(marks["humans"].get_color()), to_hex(marks["judges"].get_color())) == (
        pictures.HUMAN,
        pictures.JUDGE,
    )
    across, up, *of_judges = [[ends.tolist() for ends in one.get_segments()] for one in ax.collections]
    assert across == [[[-0.8, 0.5], [-0.2, 0.5]], [[-0.2, 1.0], [0.2, 1.0]]]
    assert up == [[[-0.5, 0.4], [-0.5, 0.7]], [[0.0, 0.7], [0.0, 1.4]]]
    assert of_judges == [[[[0.3, 2.0], [0.9, 2.0]]], [[[0.6, 1.6], [0.6, 2.4]]]]
    assert [(text.get_text(), text.xy) for text in ax.texts] == [
        ("ann", (-0.5, 0.5)),
        ("bob", (0.0, 1.0)),
        ("gpt", (0.6, 2.0)),
    ]
    assert list(ax.lines[0].get_xdata()) == [0, 0]  # the raters' mean
    assert ax.get_yscale() == "log"
    assert names_of(ax.yaxis) == ["0.5", "0.7", "1", "1.5", "2"]
    assert ax.get_yticks().tolist() == [0.5, 0.7, 1, 1.5, 2]
    assert ax.get_title(loc="left") == ""
    assert_readable(ax)
    assert plots.raters(raters(), False).get_title(loc="left").startswith("NOT CONVERGED")
    # Of more than 25 people none is named; the only judge is.
    assert len(plots.raters(raters(23), True).texts) == 26
    assert [text.get_text() for text in plots.raters(raters(24), True).texts] == ["gpt"]


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.22, 2.0], [("0.2", 0.2), ("0.3", 0.3), ("0.5", 0.5), ("0.7", 0.7), ("1", 1), ("1.5", 1.5), ("2", 2)]),
        ([1.12, 1.3], [("1.12", 1.12), ("1.30", 1.3)]),  # no plain number is near
        ([4.6, 9.0], [("5", 5)]),
        ([4.6, 9.1], [("5", 5), ("10", 10)]),
    ],
)
def test_plain_numbers_within_a_tenth_of_what_is_drawn(values, ticks):
    ax = pictures.axes()
    ax.set_yscale("log")
    plots._plain_ticks(ax, values)
    assert list(zip(names_of(ax.yaxis), ax.get_yticks().tolist(), strict=True)) == ticks
    assert not len(ax.yaxis.get_minorticklocs())
    plots._plain_ticks(ax, [])
    assert len(ax.get_yticks()) == len(ticks)


def found_in(rows: pl.DataFrame, *groups: str) -> Fairness:
    gaps = planted([[[0.0, 0.0]]]).severity
    return Fairness("dialect", groups, rows, pl.DataFrame(), gaps, gaps, (), ())


def test_fairness_plot_shows_the_rope():
    rows = raters().rename({"psi": "ratio", "psi_low": "ratio_low", "psi_high": "ratio_high"})
    rows = rows.with_columns(verdict=pl.Series(["fair", None, "more_severe"]))
    rows = rows.with_columns(group=pl.lit("b")) if "group" not in rows.columns else rows
    ax = plots.fairness(found_in(rows, "a", "b"), 0.25)
    assert [text.get_text() for text in ax.texts] == ["ann", "gpt"]  # of bob nothing is said
    (rope,) = ax.patches
    assert (rope.get_x(), rope.get_x() + rope.get_width()) == (-0.25, 0.25)
    assert any(list(line.get_ydata()) == [1, 1] and list(line.get_xdata()) == [0, 1] for line in ax.lines)
    assert ax.get_xlabel() == "← more severe with b    Δφ, categories, compared with a    more lenient →"
    assert ax.get_ylabel() == "ψ with b / ψ with a"
    several = plots.fairness(found_in(rows, "a", "b", "c"), 0.25)
    assert [text.get_text() for text in several.texts] == ["ann, b", "gpt, c"]
    assert several.get_ylabel() == "ψ with others / ψ with a"
    with pytest.raises(DesignError, match="group differences need a group"):
        plots.fairness(None, 0.25)


def test_shares_of_ideal_ratings_above_those_of_labels(monkeypatch):
    table = SimpleNamespace(
        criteria=(None,), value=np.array([0, 0, 0, 2]), criterion=np.zeros(4, dtype=int), n_categories=3, sizes=(3,),
        categories=((1, 2, 3),), linear=False,
    )  # fmt: skip
    monkeypatch.setattr(plots, "ideal_shares", lambda found: found.shares)
    ax = plots.ideal(SimpleNamespace(table=table, shares=np.array([[0.5, 0.3, 0.2]])))
    cells = {(1.5 - text.get_position()[1], text.get_position()[0] - 0.5): text.get_text() for text in ax.texts}
    assert cells == {(0, 0): "50", (0, 1): "30", (0, 2): "20", (1, 0): "75", (1, 1): "0", (1, 2): "25"}
    assert names_of(ax.yaxis) == ["ideal", "labels"]
    assert ax.get_yticks().tolist() == [1.5, 0.5]
    assert (names_of(ax.xaxis), ax.get_xticks().tolist()) == (["1", "2", "3"], [0.5, 1.5, 2.5])
    assert_readable(ax)
    two = SimpleNamespace(
        criteria=("tone", "fact"), value=np.array([0, 1, 2, 1]), criterion=np.array([0, 0, 1, 1]), n_categories=3,
        sizes=(2, 3), categories=(("no", "yes"), (1, 2, 3)), linear=False,
    )  # fmt: skip
    ax = plots.ideal(SimpleNamespace(table=two, shares=np.array([[0.6, 0.4, 0.0], [0.1, 0.2, 0.7]])))
    assert names_of(ax.yaxis) == ["tone: ideal", "tone: labels", "fact: ideal", "fact: labels"]
    assert names_of(ax.xaxis) == ["1.", "2.", "3."]
    rows = [[text.get_text() for text in ax.texts if text.get_position()[1] == 3.5 - row] for row in range(4)]
    assert rows == [["60", "40"], ["50", "50"], ["10", "20", "70"], ["0", "50", "50"]]
