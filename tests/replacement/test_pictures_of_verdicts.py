"""Pictures of verdicts show the numbers of their tables; each verdict has its colour."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex
from panels import planted_test, some_test

import assay
from assay.estimation.intervals import Estimate
from assay.replacement import page
from assay.replacement.studies import EpsilonCurve, SizeCurve
from assay.replacement.words import LABELS
from assay.reporting import pictures
from readable import assert_readable


def names_of(axis):
    return [tick.get_text() for tick in axis.get_ticklabels()]


def rows_of(ax):
    """(x, colour) of the points of a forest plot, from the top row down."""
    points = [(*line.get_xydata()[0], to_hex(line.get_color())) for line in ax.lines if len(line.get_xydata()) == 1]
    return [(x, colour) for x, _, colour in sorted(points, key=lambda point: -point[1])]


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.slow
def test_plot_draws_rho_and_the_margin():
    people = pl.DataFrame(
        [("ann", 0.6, 0.5, 0.7, 0.8, False), ("bob", 0.9, 0.8, 1.0, 0.7, True), ("cho", 0.7, 0.6, 0.8, 0.6, True)],
        schema=["annotator", "rho_judge", "low", "high", "rho_human", "rejected"], orient="row",
    )  # fmt: skip
    ax = assay.results.AltTest.plot(SimpleNamespace(annotators=people, n_annotators=3, epsilon=0.1))
    assert names_of(ax.yaxis) == ["bob", "cho", "ann"]
    assert rows_of(ax) == [(0.9, pictures.PASS), (0.7, pictures.PASS), (0.6, pictures.MUTED)]
    (beat,) = [line for line in ax.lines if line.get_label().startswith("annotator −")]
    assert beat.get_xydata() == pytest.approx(np.array([[0.6, 2], [0.5, 1], [0.7, 0]]))
    assert legend_of(ax) == ["annotator − ε", "judge, wins", "judge, does not win"]
    assert_readable(ax)
    left, right = ax.get_xlim()
    assert left == 0.35
    assert 1 < right < 1.1
    worse = people.with_columns(low=pl.lit(0.1))
    assert (
        assay.results.AltTest.plot(SimpleNamespace(annotators=worse, n_annotators=3, epsilon=0.1)).get_xlim()[0] < 0.1
    )
    many = pl.concat([people.with_columns(rho_judge=pl.lit(k / 50), annotator=pl.lit(f"p{k}")) for k in range(15)])
    shown = names_of(assay.results.AltTest.plot(SimpleNamespace(annotators=many, n_annotators=45, epsilon=0.1)).yaxis)
    assert len(shown) == 40
    assert (shown[0], shown[19], shown[20], shown[-1]) == ("p14", "p8", "p6", "p0")  # 5 in the middle are left out


@pytest.mark.slow
def test_judges_and_domains_have_the_colour_of_their_verdict():
    tests = {name: planted_test(name, verdict, rho) for name, verdict, rho in [
        ("a", "replace", 0.8), ("b", "do_not_replace", 0.3), ("c", "mixed", 0.5), ("d", "undecided", 0.6),
        ("e", "not_testable", 0.6),
    ]}  # fmt: skip
    colours = [pictures.PASS, pictures.FAIL, *(pictures.TONES[tone] for tone in ("split", "open", "open"))]
    ceiling, run = planted_test("mean", "replace", 0.9), some_test().run
    lead = Estimate(0.1, 0.02, 0.18, 0.04)
    ax = assay.results.JudgeComparison(tests, {}, "mean_pearson", ceiling, "a", "d", lead, None, False, run).plot()
    assert names_of(ax.yaxis) == ["a", "b", "c", "d", "e", "mean"]
    wanted = [*zip([0.8, 0.3, 0.5, 0.6, 0.6], colours, strict=True)]
    assert rows_of(ax) == [*wanted, (0.9, pictures.MUTED)]
    assert legend_of(ax) == [test.verdict_text for test in tests.values()]
    assert_readable(ax)
    ax = assay.results.AltTestBy("m", "criterion", tests, "across", {}, run).plot()
    assert names_of(ax.yaxis) == list("abcde")
    assert rows_of(ax) == wanted
    assert legend_of(ax) == [test.verdict_text for test in tests.values()]
    assert ax.get_xlim()[0] < 0.2
    assert 1 < ax.get_xlim()[1] < 1.1
    few = assay.results.AltTestBy("m", "criterion", {"a": tests["a"]}, "across", {}, run).plot()
    assert few.get_xlim()[0] == 0.35
    assert legend_of(few) == ["Replace"]


def test_curves_of_one_test_and_their_threshold():
    epsilon, rate = np.array([0.0, 0.1, 0.2]), np.array([0.0, 0.5, 1.0])
    ax = EpsilonCurve("m", epsilon, rate, smallest=0.1, chosen=0.15, threshold=0.5, run=some_test().run).plot()
    steps, threshold, chosen = ax.lines
    assert steps.get_xydata().tolist() == [[0, 0], [0.1, 0.5], [0.2, 1]]
    assert steps.get_drawstyle() == "steps-post"  # a rate holds from its epsilon on
    assert list(threshold.get_ydata()) == [0.5, 0.5]
    assert list(chosen.get_xdata()) == [0.15, 0.15]
    ax = SizeCurve(
        judge="m", size=np.array([30, 60]), low=np.array([0.1, 0.2]), high=np.array([0.9, 0.8]),
        winning_rate=np.array([0.0, 1.0]), passing=np.array([0.0, 1.0]), advantage_probability=np.array([0.5, 0.6]),
        threshold=0.4, n_annotators=3, n_draws=1, seed=0, epsilon=0.1, run=some_test().run, draws=np.zeros((2, 1)),
        studies=lambda: np.array([0.2, 0.7]),
    ).plot()  # fmt: skip
    shown = {line.get_label(): line.get_ydata().tolist() for line in ax.lines if line.get_label() in legend_of(ax)}
    assert shown == {"ρ, middle 90%": [0.5, 0.6], "ω": [0.0, 1.0], "P(conclusive verdict)": [0.2, 0.7]}
    band = {tuple(map(float, at)) for at in ax.collections[0].get_paths()[0].vertices}
    assert band == {(30, 0.1), (30, 0.9), (60, 0.2), (60, 0.8)}
    assert list(ax.lines[-1].get_ydata()) == [0.4, 0.4]
    assert ax.get_xlabel() == "items, each with up to 3 annotators"
    low, high = ax.get_ylim()
    assert -0.041 < low < 0
    assert 1 < high < 1.061
    assert_readable(ax)


@pytest.mark.slow
def test_curves_of_several_tests_are_distinguishable():
    verdicts = ["replace", "undecided", "replace", "replace", "replace", "replace"]
    tests = [planted_test(f"m{k}", verdict) for k, verdict in enumerate(verdicts)]
    curve = some_test().epsilon_curve()
    ax = page.epsilon_curves(tests)
    lines = ax.lines[:6]
    assert [line.get_label() for line in lines] == [f"m{k} ({LABELS[verdict]})" for k, verdict in enumerate(verdicts)]
    assert [to_hex(line.get_color()) for line in lines] == [
        pictures.PASS if verdict == "replace" else pictures.TONES["open"] for verdict in verdicts
    ]  # fmt: skip
    assert [line.get_linestyle() for line in lines] == ["-", "-", "--", ":", "-.", "-"]
    heights = np.array([line.get_ydata() for line in lines])
    # Lines of one rate lie a hair apart, on both sides of it.
    assert heights.mean(axis=0) == pytest.approx(curve.winning_rate)
    assert (np.diff(heights[:, 0]) > 0).all()
    assert np.abs(heights - curve.winning_rate).max() < 0.02
    threshold, chosen = ax.lines[6:]
    assert list(threshold.get_ydata()) == [0.5, 0.5]
    assert list(chosen.get_xdata()) == [0.1, 0.1]
    ax = page.size_curves(tests[:2])
    needed = some_test().sample_size
    assert [line.get_xydata().tolist() for line in ax.lines[:2]] == [
        [list(one) for one in zip(needed.sizes, needed.assurance, strict=True)]
    ] * 2  # fmt: skip
    assert list(ax.lines[2].get_ydata()) == [0.8, 0.8]
    assert names_of(ax.xaxis) == ["10", "30", "100", "300", "1,000"]
    assert ax.get_xticks().tolist() == [10, 30, 100, 300, 1000]
    assert ax.get_xscale() == "log"
    low, high = ax.get_ylim()
    assert -0.041 < low < 0
    assert 1 < high < 1.061
    assert_readable(ax)
