"""Each plot of agreement shows the numbers of its table in the right position; judges have their own colour."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex

from assay.concordance import plots
from assay.reporting import pictures
from readable import assert_readable


def names_of(axis):
    return [tick.get_text() for tick in axis.get_ticklabels()]


def rows_of(ax):
    """(x, colour) of the points of a forest plot, from the top row down."""
    points = [(*line.get_xydata()[0], to_hex(line.get_color())) for line in ax.lines if len(line.get_xydata()) == 1]
    return [(x, colour) for x, _, colour in sorted(points, key=lambda point: -point[1])]


def cells_of(ax, n):
    """Text, colour and strength of each cell of a table of n rows, by row and column."""
    texts = {(round(n - 0.5 - y), round(x - 0.5)): one.get_text() for one in ax.texts for x, y in [one.get_position()]}
    faces = {(n - 1 - int(p.get_y()), int(p.get_x())): (to_hex(p.get_facecolor()), p.get_alpha()) for p in ax.patches}
    return texts, faces


@pytest.mark.slow
def test_forest_names_criterion_and_group_and_colours_judges():
    rows = pl.DataFrame(
        [
            ("tone", "de", "humans", None, 0.5), ("tone", None, "ann", "bob", 0.4), (None, "de", "humans", "gpt", 0.3),
            (None, None, "judges", None, 0.2), (None, None, "humans", "bob's", 0.1),
            (None, None, "humans", "judges'", 0.0),
        ],
        schema=["criterion", "group", "first", "second", "estimate"], orient="row",
    ).with_columns(low=pl.col("estimate") - 0.3, high=pl.col("estimate") + 0.2, title=pl.lit("Scott's π"))  # fmt: skip
    ax = plots.forest(rows, ["gpt"])
    assert names_of(ax.yaxis) == [
        "tone, de: humans", "tone: bob & ann", "de: gpt & humans", "judges", "bob's & humans", "judges' & humans",
    ]  # fmt: skip
    human, judge = pictures.HUMAN, pictures.JUDGE
    colours = [human, human, judge, judge, human, judge]
    assert rows_of(ax) == [(pytest.approx(x), c) for x, c in zip(rows["estimate"], colours, strict=True)]
    assert ax.get_xlabel() == "Scott's π"
    assert list(ax.lines[0].get_xdata()) == [0, 0]  # agreement by chance
    assert_readable(ax)
    assert len(rows_of(plots.forest(pl.concat([rows] * 10), []))) == pictures.MOST_ROWS


def pairs(coefficient, title, values):
    """A coefficient of each two of three annotators, the third a judge."""
    rows = [
        (coefficient, title, a, b, v) for (a, b), v in zip([("p", "q"), ("p", "j"), ("q", "j")], values, strict=True)
    ]
    return pl.DataFrame(rows, schema=["coefficient", "title", "first", "second", "estimate"], orient="row")


def test_heat_map_shades_by_agreement_or_largest_error():
    ax = plots.heat_map(pairs("alpha", "Krippendorff's α", [0.5, -0.25, np.nan]), ["p", "q", "r"], ["j", "k"], "tone")
    texts, faces = cells_of(ax, 3)
    assert texts == {(0, 1): ".50", (1, 0): ".50", (0, 2): "−.25", (2, 0): "−.25"}
    assert {place: face for place, (face, _) in faces.items()} == {
        (0, 1): pictures.HUMAN, (1, 0): pictures.HUMAN, (0, 2): pictures.JUDGE, (2, 0): pictures.JUDGE,
    }  # fmt: skip
    # From the faintest at 0 to the strongest at 1, evenly.
    perfect, none = (
        cells_of(plots.heat_map(pairs("a", "α", [v] * 3), ["p", "q"], ["j"], None), 3)[1][0, 1][1] for v in (1.0, 0.0)
    )
    assert faces[0, 1][1] == pytest.approx((perfect + none) / 2)
    assert names_of(ax.xaxis) == names_of(ax.yaxis) == ["p", "q", "j"]
    assert ax.get_title(loc="left") == "Krippendorff's α, tone"
    between = [sorted({*line.get_xdata()}) for line in ax.lines], [sorted({*line.get_ydata()}) for line in ax.lines]
    assert between[0][0] == [2]  # people left of the line, the judge right of it
    assert between[1][1] == [1]
    assert not plots.heat_map(pairs("a", "α", [0.5] * 3), ["p", "q", "j"], [], None).lines
    error = plots.heat_map(pairs("mae", "Mean absolute error", [2.0, 0.5, 1.0]), ["p", "q"], ["j"], None)
    texts, faces = cells_of(error, 3)
    assert (texts[0, 1], texts[0, 2]) == ("2.0", ".50")
    assert {face for face, _ in faces.values()} == {pictures.JUDGE}
    assert faces[0, 1][1] == pytest.approx(perfect)
    assert faces[1, 2][1] == pytest.approx((perfect + none) / 2)


def test_heat_map_of_bias_refers_to_column():
    ax = plots.heat_map(pairs("bias", "Mean signed difference", [1.0, -0.5, 0.0]), ["p", "q"], ["j"], None)
    texts, faces = cells_of(ax, 3)
    assert {place: texts[place] for place in [(0, 1), (1, 0), (0, 2), (2, 0)]} == {
        (0, 1): "1.0", (1, 0): "−1.0", (0, 2): "−.50", (2, 0): ".50",
    }  # fmt: skip
    assert [faces[place][0] for place in [(0, 1), (1, 0), (0, 2), (2, 0)]] == [
        pictures.HUMAN, pictures.JUDGE, pictures.JUDGE, pictures.HUMAN,
    ]  # fmt: skip


@pytest.mark.slow
def test_specific_agreement_fills_the_axis_from_0_to_1():
    rows = pl.DataFrame(
        [("tone", "kind", "humans", 0.0), (None, "rude", "judges", 1.0), (None, "rude", "gpt", 0.4)],
        schema=["criterion", "category", "who", "estimate"], orient="row",
    ).with_columns(low=pl.lit(0.0), high=pl.lit(1.0))  # fmt: skip
    ax = plots.categories(rows)
    assert names_of(ax.yaxis) == ["tone: kind, humans", "rude, judges", "rude, gpt & humans"]
    assert rows_of(ax) == [(0.0, pictures.HUMAN), (1.0, pictures.JUDGE), (0.4, pictures.JUDGE)]
    assert_readable(ax)
    left, right = ax.get_xlim()
    assert 0.9 < 1 / (right - left) < 1
    assert -left == pytest.approx(right - 1)
    assert_readable(plots.categories(pl.concat([rows] * 5)))


def test_confusion_draws_judge_labels_by_human_label():
    rows = pl.DataFrame(
        {"human_label": ["1", "1", "2", "2"], "judge": ["1", "2"] * 2, "share": [0.75, 0.25, None, 1.0]}
    )
    ax = plots.confusion(rows, "gpt")
    texts, faces = cells_of(ax, 2)
    assert texts == {(0, 0): ".75", (0, 1): ".25", (1, 1): "1.0"}
    assert {face for face, _ in faces.values()} == {pictures.JUDGE}
    assert faces[0, 1][1] < faces[0, 0][1] < faces[1, 1][1]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("label of gpt", "human label")
    assert names_of(ax.xaxis) == names_of(ax.yaxis) == ["1", "2"]


def test_bars_group_scales_by_benchmark():
    rows = pl.DataFrame(
        [
            ("1-5", "all", 0.6, 0.5, 0.7), ("1-5", "qa", -0.2, None, None),
            ("1-10", "all", None, None, None), ("1-10", "qa", 0.9, 0.8, 1.0),
        ],
        schema=["scale", "benchmark", "estimate", "low", "high"], orient="row",
    )  # fmt: skip
    ax = plots.bars(rows, ["1-5", "1-10"])
    assert [names_of(ax.xaxis), ax.get_xticks().tolist()] == [["all\n(pooled)", "qa"], [0, 1]]
    heights = {(round(bar.get_x() + bar.get_width() / 2, 9)): bar.get_height() for bar in ax.patches}
    middles = sorted(heights)
    # Two bars a benchmark, as far left of its tick as right of it, that do not reach the next one's.
    assert [(middles[0] + middles[1]) / 2, (middles[2] + middles[3]) / 2] == pytest.approx([0, 1])
    width = ax.patches[0].get_width()
    assert middles[1] - middles[0] >= width
    assert middles[2] - middles[1] > 1.2 * width
    assert [heights[x] for x in middles] == pytest.approx([0.6, np.nan, -0.2, 0.9], nan_ok=True)
    assert [line.get_xydata().tolist() for line in ax.lines[:2]] == [
        [[middles[0], 0.5], [middles[0], 0.7]], [[middles[3], 0.8], [middles[3], 1.0]],
    ]  # fmt: skip
    assert len({to_hex(bar.get_facecolor()) for bar in ax.patches}) == 2
    assert ax.get_ylim()[0] <= -0.2
    assert ax.get_ylim()[1] == 1
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1-5", "1-10"]
    assert_readable(ax)
    alone = plots.bars(rows.filter(benchmark="all"), ["1-5", "1-10"])
    assert names_of(alone.xaxis) == ["all"]
    assert alone.get_ylim()[0] == 0


def both_figures(places, scale="1-5"):
    """nMAE and ICC of benchmarks, each with an interval of ±0.05."""
    rows = []
    for name, (error, icc) in places.items():
        for measure, value in (("nmae", error), ("icc", icc)):
            rows.append((scale, name, measure, value, value - 0.05, value + 0.05))
    return pl.DataFrame(rows, schema=["scale", "benchmark", "measure", "estimate", "low", "high"], orient="row")


@pytest.mark.slow
def test_points_have_names_apart_from_each_other_and_from_all_points():
    places = {
        "qa": (0.10, 0.80),
        "sum": (0.11, 0.80),
        "chat": (0.10, 0.79),
        "dialogue": (0.30, 0.50),
        "code": (0.02, 0.95),
    }
    rows = pl.concat([both_figures(places), both_figures({"qa": (0.2, 0.6)}, "1-10")])
    ax = plots.icc_against_nmae(rows, ["1-5", "1-10"], "1-5", 0.15)
    marked = [line for line in ax.lines if line.get_marker() not in ("", "None", None)]
    assert [line.get_label() for line in marked] == ["1-5 (with names and intervals)", "1-10"]
    assert marked[0].get_xydata().tolist() == [list(at) for at in places.values()]
    assert marked[1].get_xydata().tolist() == [[0.2, 0.6]]
    crosses = {tuple(np.round(line.get_xydata(), 9).ravel()) for line in ax.lines if line.get_zorder() == 1}
    sides = [(np.array([0.05, 0]), np.array(at)) for at in places.values()]
    sides += [(np.array([0, 0.05]), at) for _, at in sides]
    assert crosses == {tuple(np.round([*(at - side), *(at + side)], 9)) for side, at in sides}
    assert [line.get_xdata()[0] for line in ax.lines if list(line.get_ydata()) == [0, 1]] == [0.15]
    ax.figure.draw_without_rendering()
    assert [text.get_text() for text in ax.texts] == list(places)
    boxes = [super(type(text), text).get_window_extent() for text in ax.texts]  # without their arrows
    dots = [ax.transData.transform(at) for at in [*places.values(), (0.2, 0.6)]]
    for k, box in enumerate(boxes):
        assert ax.bbox.x0 <= box.x0 < box.x1 <= ax.bbox.x1, "a name leaves the frame"
        assert ax.bbox.y0 <= box.y0 < box.y1 <= ax.bbox.y1, "a name leaves the frame"
        assert not any(box.overlaps(other) for other in boxes[:k]), "names lie on each other"
        assert not any(box.contains(*dot) for dot in dots), "a name covers a point"
    # A name is next to its point if there is room.
    alone = plots.icc_against_nmae(
        both_figures({"qa": (0.1, 0.5)}).with_columns(low=None, high=None), ["1-5"], "1-5", 0.15
    )
    (name,) = alone.texts
    assert (name.get_ha(), name.arrow_patch) == ("left", None)
    assert 0 < name.xyann[0] < 12
    assert name.xyann[1] == 0
    assert alone.lines[0].get_label() == "1-5"


@pytest.mark.slow
def test_icc_against_nmae_frame_contains_points_and_limit():
    for places, aligned in [({"a": (0.4, 0.3), "b": (0.05, 0.9)}, 0.15), ({"a": (0.02, 0.99)}, 0.15)]:
        ax = plots.icc_against_nmae(both_figures(places), ["1-5"], "1-5", aligned)
        points = np.array(list(places.values()))
        left, right = ax.get_xlim()
        assert left == 0
        assert max(aligned, points[:, 0].max()) < right < 1.3 * max(aligned, points[:, 0].max())
        low, high = ax.get_ylim()
        assert low < points[:, 1].min() <= points[:, 1].max() < high < 1.1
        assert low > points[:, 1].min() - 0.5


def test_consensus_points_draw_means_and_diagonal():
    items = pl.DataFrame({"humans": [0.0, 0.5, 1.0], "judges": [0.1, 0.4, 1.0]})
    ax = plots.consensus_points(items, {"icc": 0.8, "nmae": 0.0667, "pearson": 0.955}, "all items", 0.1)
    diagonal, points = ax.lines
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    assert points.get_xydata().tolist() == [[0.0, 0.1], [0.5, 0.4], [1.0, 1.0]]
    band = ax.collections[0].get_paths()[0].vertices
    # Well aligned: at most 0.1 from the people's mean.
    assert {(round(x), round(y - x, 9)) for x, y in band} == {(0, -0.1), (0, 0.1), (1, -0.1), (1, 0.1)}
    assert ax.get_title(loc="left") == "all items: ICC 0.80, nMAE 0.07, r 0.95"
    partly = plots.consensus_points(items, {"icc": None, "nmae": 0.0667, "pearson": None}, "all items", 0.1)
    assert partly.get_title(loc="left") == "all items: nMAE 0.07"  # all human labels are equal
    assert ax.get_xlim() == ax.get_ylim() == (0, 1)
    assert_readable(ax)


@pytest.mark.parametrize(
    ("value", "shown"), [(0.754, ".75"), (-0.25, "−.25"), (0.0, ".00"), (1.0, "1.0"), (-1.5, "−1.5"), (12.34, "12.3")]
)
def test_short_number_has_two_digits(value, shown):
    assert plots.short_number(value) == shown


# -- places of names -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "meet"),
    [
        ((1, 1, 2, 2), True), ((0, 0, 4, 4), True), ((3, 1, 5, 2), False), ((2.9, 1, 5, 2), True),
        ((-2, 1, 0, 2), False), ((-2, 1, 0.1, 2), True), ((1, 3, 2, 5), False), ((1, 2.9, 2, 5), True),
        ((1, -2, 2, 0), False), ((1, -2, 2, 0.1), True), ((5, 5, 6, 6), False),
    ],
)  # fmt: skip
def test_boxes_overlap_only_with_common_area(other, meet):
    assert plots._meet((0, 0, 3, 3), other) == plots._meet(other, (0, 0, 3, 3)) == meet


@pytest.mark.parametrize("side", range(4))
def test_box_inside_includes_frame(side):
    ax = SimpleNamespace(bbox=SimpleNamespace(x0=10.0, y0=20.0, x1=30.0, y1=50.0))
    box = [10.0, 20.0, 30.0, 50.0]
    assert plots._inside(ax, tuple(box))
    box[side] += -0.1 if side < 2 else 0.1
    assert not plots._inside(ax, tuple(box))


class Canvas:
    """Axes of 200 by 200 pixels in data coordinates of pixels, with their texts."""

    def __init__(self, lines=()):
        self.figure = SimpleNamespace(dpi=72)
        self.transData = SimpleNamespace(transform=np.asarray)
        self.bbox = SimpleNamespace(x0=0.0, y0=0.0, x1=200.0, y1=200.0)
        self.lines, self.written = lines, []

    def get_lines(self):
        return [SimpleNamespace(get_xydata=lambda ends=ends: ends, get_linestyle=lambda style=style: style,
                                get_transform=lambda: SimpleNamespace(transform=np.asarray))
                for ends, style in self.lines]  # fmt: skip

    def annotate(self, name, at, *, xytext, ha, arrowprops, **_):
        self.written.append((name, at, xytext, ha, arrowprops is not None))


@pytest.mark.parametrize(
    ("name", "at", "others", "lines", "wanted"),
    [
        # Five pixels a letter, ten high: to the right, else to the left, six away; over the point it needs thirteen.
        ("ab", (100, 100), [(110, 100), (90, 100)], [], ((0, 13), "center", True)),
        ("ab", (100, 100), [(110, 100), (90, 100), (100, 115)], [], ((0, -13), "center", True)),
        ("ab", (100, 100), [], [], ((6, 0), "left", False)),
        ("ab", (190, 100), [], [], ((-6, 0), "right", False)),
        ("ab", (184, 100), [], [], ((6, 0), "left", False)),
        ("abcd", (185, 100), [(185, 120), (185, 80)], [], ((-6, 0), "right", False)),
        # A point 4 in each direction is in the way up to 16 from the left end of the name, or 9 above it.
        ("ab", (100, 100), [(110, 100)], [], ((-6, 0), "right", False)),
        ("ab", (100, 100), [(110, 108)], [], ((-6, 0), "right", False)),
        ("ab", (100, 100), [(110, 109)], [], ((6, 0), "left", False)),
        ("ab", (100, 100), [(120, 100)], [], ((6, 0), "left", False)),
        ("ab", (100, 100), [(119, 100)], [], ((-6, 0), "right", False)),
        # A line is as wide as 2; a broken line is ignored.
        ("ab", (100, 100), [], [([(106, 90), (112, 110)], "-")], ((-6, 0), "right", False)),
        ("ab", (100, 100), [], [([(106, 90), (112, 110)], "--")], ((6, 0), "left", False)),
        ("ab", (100, 100), [], [([(117, 90), (117, 110)], "-")], ((6, 0), "left", False)),
        ("ab", (100, 100), [], [([(116.5, 90), (116.5, 110)], "-")], ((-6, 0), "right", False)),
        ("ab", (100, 100), [], [([(106, 106), (112, 106)], "-")], ((6, 0), "left", False)),
        ("ab", (100, 100), [], [([(106, 105.5), (112, 105.5)], "-")], ((-6, 0), "right", False)),
    ],
)  # fmt: skip
def test_names_use_first_free_place(name, at, others, lines, wanted):
    canvas = Canvas(lines)
    plots.named_apart(canvas, [(name, *at)], [at, *others])
    (written,) = canvas.written
    assert written == (name, at, *wanted)


def test_names_keep_apart_from_each_other():
    canvas = Canvas()
    plots.named_apart(canvas, [("ab", 100, 100), ("cd", 92, 100)], [(100, 100), (92, 100)])
    places = [xytext for _, _, xytext, _, _ in canvas.written]
    assert places[0] == (6, 0)
    assert places[1] != (6, 0)
