"""Items without a comparison have no effect on any part of the verdict."""

import numpy as np
import polars as pl
import pytest

import assay
from assay.replacement.studies import unit_wins

KINDS = ["a", "b", "c"]
PEOPLE = ["ann", "ben", "cat", "dan"]

OPTIONS = {
    "plain": {}, "clusters": {"clusters": "document"}, "expert": {"expert": "dan"}, "gold": {"gold": "gold"},
    "balance": {"balance": True}, "three people": {"min_humans": 3},
}  # fmt: skip


def answers(n: int, who: list[str], first: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(first)
    names = [(f"i{first + i:03}", name) for i in range(n) for name in who]
    labels = rng.choice(KINDS, len(names), p=[0.6, 0.25, 0.15])
    return pl.DataFrame(names, schema=["item", "annotator"], orient="row").with_columns(label=labels)


UNUSABLE = {
    "one person": answers(30, ["ann", "judge"], 90),
    "nobody": answers(30, ["judge"], 120),
    "no judge": answers(30, ["ann"], 150),
}


def read(*parts: pl.DataFrame) -> assay.Annotations:
    labels = pl.concat(parts)
    number = pl.col("item").str.slice(1).cast(pl.Int64)
    items = labels.select("item").unique().sort("item").with_columns(document=number // 6, gold=pl.lit("a"))
    return assay.read(labels, judges=["judge"], items=items, scale=assay.Nominal(KINDS))


def put_to_test(labels: assay.Annotations, options: dict) -> assay.results.AltTest:
    return assay.alt_test(labels, "judge", epsilon=0.1, **options)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("unusable", UNUSABLE)
def test_unusable_items_change_nothing(options, unusable):
    if "gold" in options and unusable == "one person":
        pytest.skip("one person and gold can be compared")
    usable = answers(90, [*PEOPLE, "judge"])
    alone, beside = put_to_test(read(usable), options), put_to_test(read(usable, UNUSABLE[unusable]), options)
    assert alone.constant_baseline == beside.constant_baseline
    assert alone.verdict_tests == beside.verdict_tests
    assert alone.agreement_ratio == beside.agreement_ratio
    assert alone.advantage_probability.estimate == beside.advantage_probability.estimate
    assert (alone.verdict, alone.n_items) == (beside.verdict, beside.n_items)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_plan_uses_the_items_of_the_verdict(options):
    test = put_to_test(read(answers(90, [*PEOPLE, "judge"]), *UNUSABLE.values()), options)
    table = test.win_counts.table
    units = np.where(table.units.of_item < 0, 0, table.units.of_item)
    found = unit_wins(table.rule, table.panel, test.win_counts.judge, units, table.units.n)
    assert np.allclose(found.sum(axis=0), test.win_counts.all_counts)
