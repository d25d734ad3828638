"""Do the intervals hold the true value as often as they say? The table in full is made by benchmarks/coverage.py."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from panels import columns, table

from assay.replacement.alt_test import alt_test
from assay.replacement.compare import compare_judges

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "coverage.py"


def test_the_interval_of_an_annotator_counts_the_annotators_own_items():
    # Everybody says a, so no item moves any rho from 1. Wilson's lower end is then 1 / (1 + z² / n): with the 12 items
    # of cat .757, with the 40 of the others .912.
    labels = table(columns(ann="a" * 40, bob="a" * 40, cat="a" * 12 + "." * 28), columns(judge="a" * 40))
    test = alt_test(labels, "judge", epsilon=0.1, min_items=2)
    low = dict(test.annotators.select("annotator", "low").iter_rows())
    assert low["cat"] == pytest.approx(1 / (1 + 1.959964**2 / 12), abs=1e-6)
    assert low["ann"] == pytest.approx(1 / (1 + 1.959964**2 / 40), abs=1e-6)


def test_a_mean_difference_that_no_item_shows_has_a_width():
    labels = table(columns(ann="a" * 40, bob="a" * 40, cat="a" * 40), columns(judge="a" * 40))
    difference = alt_test(labels, "judge", epsilon=0.1).mean_difference
    # t with 39 degrees of freedom, √¼ / 40.5.
    assert (difference.low, difference.high) == pytest.approx((-2.022691 * 0.5 / 40.5, 2.022691 * 0.5 / 40.5), rel=1e-5)
    assert difference.reason is None
    wider = difference.interval(0.99)
    assert wider[0] < difference.low


def test_peoples_agreement_has_the_interval_that_agreement_gives():
    import assay

    labels = assay.simulate(60, 3, judges={"judge": 0.3}, prior=[0.25] * 4, seed=4)
    mine = compare_judges(labels, epsilon=0.1).tests["judge"].human_agreement
    theirs = assay.krippendorff_alpha(labels, annotators=labels.humans)
    assert (mine.estimate, mine.low, mine.high) == pytest.approx((theirs.estimate, theirs.low, theirs.high), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "4 categories, 30 items",
        "easy (people err 4%), 60 items",
        "8 people, 3 an item, 60 items",
        "30 clusters, 200 items",
    ],
)
def test_intervals_cover_neither_less_nor_much_more_than_they_say(name):
    spec = importlib.util.spec_from_file_location("coverage_benchmark", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    design = next(design for design in script.designs() if design.name == name)
    found = script.coverage(design, n_studies=500, seed=77)
    for interval in ("ρ", "ρ of an annotator", "mean difference", "human agreement"):
        # The standard error of .95 in 500 studies is .01.
        assert 0.92 <= found[interval][0] <= 0.985, (interval, found)
    assert found["leader"][0] >= 0.95
