"""Plots of estimates show the numbers of their tables; each kind of number has its own colour."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex

from assay.estimates.corrected import CorrectedEstimate, EstimateLine, EstimateSettings
from assay.estimates.drift import JUDGE, SYSTEM, WHOLE, Drift, DriftSettings
from assay.estimates.monitor import Monitor, MonitorSettings
from assay.estimates.plans.label_plan import LabelPlan, LabelPlanSettings
from assay.estimates.route import Route, RouteSettings
from assay.estimation.intervals import Estimate
from assay.estimation.result import Run
from assay.reporting import pictures
from readable import assert_readable


def names_of(axis):
    return [tick.get_text() for tick in axis.get_ticklabels()]


def one(value, *, half=0.1):
    return Estimate(value, value - half, value + half, half / 2)


def curves(ax):
    """Points of each line by its label, without those that only mark a place."""
    return {line.get_label(): line.get_xydata().tolist() for line in ax.lines if not line.get_label().startswith("_")}


def test_estimate_plot_orders_corrected_humans_and_judge():
    lines = tuple(
        EstimateLine(part, f"quantile {q}", one(q), one(q + 0.2, half=0.3), q - 0.1, None, 1.0, 9, 99)
        for part in ("de", None) for q in (0.25, 0.5)
    )  # fmt: skip
    run = Run("estimate", EstimateSettings(target="quantiles"), "")
    ax = CorrectedEstimate(lines, (), ("ann",), ("m",), "quantiles", run).plot()
    assert names_of(ax.yaxis) == ["de, quantile 0.25", "de, quantile 0.5", "quantile 0.25", "quantile 0.5"]
    points = {}
    for line in ax.lines:
        if len(line.get_xdata()) == 1:
            points.setdefault(to_hex(line.get_color()), []).append(tuple(line.get_xydata()[0]))
    rows = [3, 2, 1, 0]
    for colour, away, place in [(pictures.PASS, 0, 0.2), (pictures.HUMAN, 0.2, 0), (pictures.JUDGE, -0.1, -0.2)]:
        wanted = [(q + away, row + place) for row, q in zip(rows, [0.25, 0.5] * 2, strict=True)]
        assert points[colour] == [pytest.approx(at) for at in wanted]
    ends = [line.get_xdata().tolist() for line in ax.lines if len(line.get_xdata()) == 2]
    assert ends[:2] == [pytest.approx([0.15, 0.35]), pytest.approx([0.4, 0.6])]
    assert ends[4] == pytest.approx([0.15, 0.75])
    assert len(ends) == 8  # the judge alone has none
    assert list(curves(ax)) == ["corrected", "humans only", "judge only"]
    assert ax.get_xlabel() == "quantiles"
    assert_readable(ax, lines=3)


def test_changes_and_nothing_changed():
    lines = {JUDGE: one(0.2), "flips": one(0.5), WHOLE: one(-0.3), SYSTEM: one(0.0)}
    ax = Drift(lines, dict.fromkeys(lines, 9), (), None, Run("drift", DriftSettings(), "")).plot()
    assert names_of(ax.yaxis) == [WHOLE, JUDGE, SYSTEM]
    assert [line.get_xydata()[0].tolist() for line in ax.lines if len(line.get_xdata()) == 1] == [
        [-0.3, 2], [0.2, 1], [0.0, 0],
    ]  # fmt: skip
    assert list(ax.lines[-1].get_xdata()) == [0, 0]
    assert_readable(ax)


def plan(sizes, people, **options):
    rows = [(k, n, 1 / math.sqrt(n * k), 2 / math.sqrt(n * k)) for k in people for n in sizes]
    curve = pl.DataFrame(rows, schema=["n_people", "n", "estimate", "humans_only"], orient="row")
    settings = LabelPlanSettings(n_people=people, sizes=sizes, **options)
    return LabelPlan(curve, pl.DataFrame(), pl.DataFrame(), 1.0, (), Run("plan-labels", settings, "")).plot()


def test_half_widths_by_labelled_items():
    ax = plan((25, 100, 1000), (1, 4), half_width=0.05)
    found = curves(ax)
    assert list(found) == [
        "with the judge, 1 per item", "humans only, 1 per item",
        "with the judge, 4 per item", "humans only, 4 per item",
    ]  # fmt: skip
    assert found["with the judge, 1 per item"] == [[25, 0.2], [100, 0.1], [1000, pytest.approx(0.0316, abs=1e-4)]]
    assert found["humans only, 4 per item"][1] == [100, 0.1]
    looks = [(to_hex(line.get_color()), line.get_linestyle()) for line in ax.lines]
    assert len(set(looks)) == 5  # one colour with the judge, one without; a style for each number of people
    assert [colour for colour, _ in looks[:4]] == [pictures.PASS, pictures.HUMAN] * 2
    assert list(ax.lines[-1].get_ydata()) == [0.05, 0.05]
    assert (names_of(ax.xaxis), ax.get_xticks().tolist()) == (["30", "100", "300", "1,000"], [30, 100, 300, 1000])
    assert ax.get_xscale() == "log"
    assert ax.get_ylim()[0] == 0
    assert_readable(ax)
    alone = plan((10, 10_000), (2,))
    assert list(curves(alone)) == ["with the judge", "humans only"]
    assert len(alone.lines) == 2
    assert names_of(alone.xaxis) == ["10", "30", "100", "300", "1,000", "3,000", "10,000"]
    assert names_of(plan((40, 50), (1,)).xaxis) == ["40"]  # no round number is between


def monitor_of(values, **when):
    run = Run("monitor", MonitorSettings(), "")
    ends = None if when["since"] is None else (1, 3)
    return Monitor(**when, alarm_at=None, since_at=None, since_range=ends, range_at=None, share_of=None, base=one(0.5),
                   now=one(0.5), n_base=9, n_now=9, detector_values=values, means=values, unit="item",
                   run=run)  # fmt: skip


def test_monitor_plot_draws_detector_and_alarm():
    values = np.array([0.5, 0.0, 2.0])
    ax = monitor_of(values, since=2, alarm=3).plot()
    line, alarm, since, raised = ax.lines
    assert line.get_xdata().tolist() == [1, 2, 3]
    assert line.get_ydata()[[0, 2]].tolist() == [0.5, 2.0]
    assert 0 < line.get_ydata()[1] < 0.001  # nothing at all has no place on a logarithmic axis
    assert list(alarm.get_ydata()) == [1, 1]
    assert (list(since.get_xdata()), list(raised.get_xdata())) == ([2, 2], [3, 3])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["estimated change point, with range", "alarm"]
    (span,) = ax.patches
    assert (span.get_x(), span.get_width()) == (1, 2)
    assert (to_hex(since.get_color()), to_hex(raised.get_color())) == (pictures.MUTED, pictures.FAIL)
    assert (ax.get_xlabel(), ax.get_yscale()) == ("items after the baseline", "log")
    quiet = monitor_of(np.full(9_000, 0.5), since=None, alarm=None).plot()
    assert len(quiet.lines) == 2
    drawn = quiet.lines[0].get_xdata()
    assert 2000 <= len(drawn) < 4000  # a look in four
    assert set(np.diff(drawn)) == {4}


def test_route_plot_draws_difference_and_kept_shares():
    curve = pl.DataFrame({
        "share": [0.2, 0.4, 0.7], "estimate": [0.2, 0.15, 0.01], "low": [0.1, 0.05, -0.1], "high": [0.3, 0.25, 0.1],
        "kept": [True, True, False],
    })  # fmt: skip
    run = Run("route", RouteSettings(signal="sure", epsilon=0.1), "")
    route = Route("m", 0.4, 0.5, None, curve, 99, 999, 1.0, 2.0, run, (), pl.DataFrame())
    ax = route.plot()
    line, kept, nothing = ax.lines
    assert line.get_xydata() == pytest.approx(np.array([[20, 0.2], [40, 0.15], [70, 0.01]]))
    assert kept.get_xydata() == pytest.approx(np.array([[20, 0.2], [40, 0.15]]))
    assert list(nothing.get_ydata()) == [0, 0]
    band = {(round(x), round(y, 9)) for x, y in ax.collections[0].get_paths()[0].vertices}
    assert band == {(20, 0.1), (20, 0.3), (40, 0.05), (40, 0.25), (70, -0.1), (70, 0.1)}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["judge"]
    nothing_kept = dataclasses.replace(route, curve=curve.with_columns(kept=pl.lit(value=False)))
    assert nothing_kept.plot().get_legend() is None
