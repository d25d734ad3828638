"""Pictures as inline SVG, with ids that refer to each other. New figures are pyplot's; a page opens none."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib._pylab_helpers import Gcf
from matplotlib.colors import to_rgba

import assay
from assay.reporting import pictures
from assay.reporting.page import Page, Picture, Section

TITLES = (
    "14.5 is predicted", "1", r"\1 and \g<2>", "back\\slash", 'say "so"', "it's", "a < b", "R & D", "通义千问", "", " ",
    "the same", "the same", "Item '7': 3.0", "{{ x }}", "None",
)  # fmt: skip
"""Titles of pictures; two are equal."""


def clipped(text: str = "x") -> Any:
    """A picture with a clip path, markers that are used again, and ``text`` as a label."""
    ax = pictures.axes()
    ax.plot([0, 1, 2], [0, 1, 0], marker="o")
    ax.text(1, 0.5, text)
    return ax


def ids(svg: str) -> list[str]:
    return re.findall(r'<[^>]* id="([^"]*)"', svg)


def referenced(svg: str) -> set[str]:
    tags = "".join(re.findall(r"<[^>]*>", svg))
    return set(re.findall(r'href="#([^"]*)"', tags)) | set(re.findall(r"url\(#([^)]*)\)", tags))


@pytest.mark.parametrize("title", TITLES)
def test_svg_references_ids_that_exist_under_any_title(title: str) -> None:
    svg = pictures.svg(clipped, title)
    assert len(referenced(svg)) >= 3, "the clip path, the marker and the ticks"
    assert referenced(svg) <= set(ids(svg))
    assert max(Counter(ids(svg)).values()) == 1
    assert ElementTree.fromstring(svg).get("aria-label") == title


@pytest.mark.slow
def test_page_has_every_id_of_its_pictures_once() -> None:
    drawn = tuple(Picture(clipped, title, title) for title in TITLES)
    sections = (Section("one", pictures=drawn), Section("two", pictures=drawn))
    html = Page("Pictures", "none", (), sections).html()
    svgs = re.findall(r'<svg role="img".*?</svg>', html, flags=re.S)
    assert len(svgs) == 2 * len(TITLES)
    assert max(Counter(ids(html)).values()) == 1
    for svg in svgs:
        assert referenced(svg) <= set(ids(svg)), "ids of the same picture"


def test_svg_leaves_labels_that_read_like_ids_or_colours() -> None:
    label = f'id="a" href="#b" url(#c) {pictures.INK}'
    svg = pictures.svg(lambda: clipped(label), "labels")
    assert label in [text.text for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert f"fill: {pictures.INK}" not in svg
    assert "fill: var(--ink)" in svg


@pytest.mark.slow
def test_svg_gives_the_same_bytes_again() -> None:
    assert pictures.svg(clipped, "", "a") == pictures.svg(clipped, "", "a")


@pytest.fixture
def test_result() -> assay.results.AltTest:
    labels = assay.simulate(40, 3, scale="1-5", judges={"near": 0.2}, seed=1)
    return assay.alt_test(labels, "near", epsilon=0.1)


def test_plot_makes_a_figure_that_pyplot_shows(test_result: assay.results.AltTest) -> None:
    before = plt.get_fignums()
    ax = test_result.plot()
    (new,) = set(plt.get_fignums()) - set(before)
    assert plt.figure(new) is ax.figure
    # What matplotlib's inline backend displays after a cell: each of pyplot's figures, once.
    assert [manager.canvas.figure for manager in Gcf.get_all_fig_managers()].count(ax.figure) == 1
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
        plt.show()
    # The ink is dark, so the paper is white, in a dark notebook too.
    assert ax.figure.get_facecolor() == to_rgba("white")


def test_plot_is_white_in_a_dark_style(test_result: assay.results.AltTest) -> None:
    with plt.style.context("dark_background"):
        canvas = test_result.plot().figure.canvas
        canvas.draw()  # type: ignore[no-untyped-call]
    assert np.asarray(canvas.buffer_rgba())[0, 0].tolist() == [255, 255, 255, 255]  # type: ignore[attr-defined]


def test_plot_draws_on_the_axes_given_and_opens_no_figure(test_result: assay.results.AltTest) -> None:
    figure, ax = plt.subplots(facecolor="yellow")
    before = plt.get_fignums()
    assert test_result.plot(ax) is ax
    assert plt.get_fignums() == before
    assert figure.get_facecolor() == to_rgba("yellow")


@pytest.mark.slow
def test_pages_leave_no_figure_open(test_result: assay.results.AltTest, tmp_path: Path) -> None:
    before = plt.get_fignums()
    drawn = tuple(Picture(test_result.plot, str(k), "") for k in range(25))
    assert Page("Pictures", "none", (), (Section("one", pictures=drawn),)).html().count('<svg role="img"') == 25
    assert plt.get_fignums() == before
    test_result.plot()
    assert len(plt.get_fignums()) == len(before) + 1, "after a page, figures are pyplot's again"


@pytest.mark.slow
def test_pages_do_not_import_pyplot(tmp_path: Path) -> None:
    """Pages require no display, with any backend: an unavailable backend would prevent the figures of pyplot."""
    code = """
import sys
from assay.cli.app import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
print("pyplot" if "matplotlib.pyplot" in sys.modules else "none")
"""
    sheet = Path(__file__).parents[2] / "examples" / "sheet.csv"
    page = tmp_path / "page.html"
    command = [sys.executable, "-c", code, "agreement", str(sheet), "--item", "Review ID", "--judges", "gpt-4o",
               "--wide", "--n-resamples", "40", "-o", str(page)]  # fmt: skip
    without = {**os.environ, "MPLBACKEND": "module://no_such_display"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=without)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "none"
    assert '<svg role="img"' in page.read_text(encoding="utf-8")
