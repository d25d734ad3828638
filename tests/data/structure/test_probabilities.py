"""Columns with a judge's probabilities of the labels: found by their names and sums, and no strata."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import assay
from assay.data.structure.probabilities import probability_columns


def columns(**numbers: list[float | None]) -> dict[str, pl.Series]:
    return {name: pl.Series(name, cells, dtype=pl.Float64) for name, cells in numbers.items()}


BOTH = columns(p_no=[0.25, None, 0.5], p_yes=[0.75, None, 0.5])


@pytest.mark.parametrize(
    ("given", "labels", "found"),
    [
        (BOTH, ["no", "yes"], ("p_no", "p_yes")),
        (BOTH, ["yes"], ("p_no", "p_yes")),  # a label that does not occur can have a column
        (BOTH, ["no", "yes", "other"], ()),  # a label without a column
        (BOTH, ["1", "2"], ()),
        (BOTH, [], ()),
        (columns(p_no=[0.25, 0.5], p_yes=[0.75, 0.52]), ["no", "yes"], ()),  # one row sums to 1.02
        (columns(p_no=[0.333, 0.5], p_yes=[0.667, 0.509]), ["no", "yes"], ("p_no", "p_yes")),
        (columns(p_no=[-0.25], p_yes=[1.25]), ["no", "yes"], ()),
        (columns(p_no=[None], p_yes=[None]), ["no", "yes"], ()),
        (columns(p_yes=[1.0, 1.0]), ["yes"], ()),
        ({**BOTH, **columns(p_value=[0.01, 0.2, 0.9])}, ["no", "yes"], ("p_no", "p_yes")),
        (columns(**{"p_1": [0.25], "p_2.0": [0.75]}), [1.0, 2], ("p_1", "p_2.0")),
        (columns(**{"p:no": [0.25], "p:yes": [0.75]}), ["no", "yes"], ("p:no", "p:yes")),
        (columns(p_no=[0.25], **{"p:yes": [0.75]}), ["no", "yes"], ()),
    ],
)
def test_probability_columns_of_names_and_sums(given, labels, found):
    assert probability_columns(given, [labels]) == found
    assert probability_columns(given, [["a", "b", "c"], labels]) == found


def judged(labels: list[Any], n_items: int = 60, seed: int = 1) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A long and a wide table of three annotators and a judge with probabilities, which are close to the truth."""
    rng, k = np.random.default_rng(seed), len(labels)
    rows = []
    for i in range(n_items):
        truth = rng.dirichlet([0.4] * k)
        given = ((truth + 0.05) / (1 + 0.05 * k)).round(4).tolist()
        rows += [
            [f"q{i}", one, labels[rng.choice(k, p=truth)], *[None] * k] for one in ("ann", "bob", "cho")
        ]  # fmt: skip
        rows.append([f"q{i}", "gpt", labels[int(np.argmax(given))], *given])
    names = [f"p_{one}" for one in labels]
    long = pl.DataFrame(rows, schema=["item", "annotator", "label", *names], orient="row")
    wide = long.pivot("annotator", index="item", values="label")
    return long, wide.join(long.filter(annotator="gpt").select("item", *names), on="item")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("labels", "n_items"),
    [(["no", "yes"], 12), ([0, 1], 12), ([0, 1], 60), ([1, 2, 3, 4, 5], 200), (["not at all", "in part", "whole"], 12)],
)
def test_look_finds_probabilities_in_long_and_wide_tables(labels, n_items):
    names = [f"p_{one}" for one in labels]
    values = []
    for table in judged(labels, n_items):
        found = assay.look(table)
        roles = {one.name: (one.kind, one.found) for one in found.columns}
        assert [name for name, role in roles.items() if role == ("probability", "found")] == names
        assert found.labels.humans == ("ann", "bob", "cho")
        assert found.labels.judges == ("gpt",)
        assert not any("p_" in (detail or "") for detail in (one.detail for one in found.analyses))
        assert f"{names[0]}: probability of a label, named after the labels; each row sums to 1" in found.summary()
        opinions = assay.opinions(found.labels, "gpt")
        assert opinions.sources == {"gpt": "probabilities"}
        values.append(opinions.table["estimate"].to_list())
    assert values[0] == values[1]


def test_look_probabilities_stay_numbers_without_their_sum():
    _, wide = judged(["no", "yes"])
    roles = {one.name: one.kind for one in assay.look(wide.with_columns(pl.col("p_no") / 2)).columns}
    assert roles["p_no"] == roles["p_yes"] == "item column"


def test_look_keeps_specified_role_of_probabilities():
    _, wide = judged([0, 1])
    stated = assay.look(wide, layout="wide", columns=["ann", "bob", "gpt", "p_1"], judges=["gpt", "p_1"])
    assert {one.name: one.kind for one in stated.columns}["p_1"] == "judge"
    assert stated.labels.judges == ("gpt", "p_1")


def test_alt_test_of_wide_table_has_no_strata_of_probabilities():
    long, wide = (assay.read(table, judges=["gpt"]) for table in judged(["no", "yes"], 150))
    assert wide.technical_columns == ("p_no", "p_yes")
    assert assay.alt_test(long, "gpt", epsilon=0.2).summary() == assay.alt_test(wide, "gpt", epsilon=0.2).summary()
    named = assay.alt_test(wide, "gpt", epsilon=0.2, strata="p_yes")
    assert "Notes: strata: p_yes" in named.summary()  # if the user names it


@pytest.mark.parametrize("name", ["sure", "gpt-4o confidence", "certainty_gpt"])
def test_confidence_of_a_wide_table_is_a_signal_and_no_stratum(name):
    rng = np.random.default_rng(3)
    truth, easy = rng.integers(0, 3, 400), rng.random(400) < 0.6
    table = {"id": [f"q{i}" for i in range(400)], "topic": [f"t{i % 4}" for i in range(400)]}
    for who in ("ann", "bob", "cho", "gpt-4o"):
        wrong = rng.random(400) < (np.where(easy, 0.02, 0.9) if who == "gpt-4o" else 0.1)
        table[who] = np.array(["a", "b", "c"])[(truth + wrong) % 3].tolist()
    table[name] = np.round(np.where(easy, 0.9, 0.4) + rng.random(400) / 20, 3).tolist()
    found = assay.look(pl.DataFrame(table), judges=["gpt-4o"])
    assert {one.name: one.kind for one in found.columns}[name] == "confidence"
    labels = found.labels
    assert (labels.technical_columns, labels.humans) == ((name,), ("ann", "bob", "cho"))
    assert "strata: topic" in assay.alt_test(labels, "gpt-4o", epsilon=0.2).summary()
    shared = assay.route(labels, "gpt-4o", signal=name, epsilon=0.1)
    assert 0.5 < shared.share < 0.8, "the items of which the judge is sure, and those that the margin allows"


def test_technical_columns_by_criterion():
    rows = [(f"q{i}", who, name, label, 0.25, 0.75) for i in range(8) for who in ("ann", "bob")
            for name, label in (("a", i % 2), ("b", i % 5))]  # fmt: skip
    table = pl.DataFrame(rows, schema=["item", "annotator", "criterion", "label", "p_0", "p_1"], orient="row")
    assert assay.read(table).technical_columns == ("p_0", "p_1")
    assert assay.read(table.filter(criterion="b")).technical_columns == ()
