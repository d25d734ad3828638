"""Corrected regression coefficients: least squares, a biased judge, precision, refusals, coverage."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import assay
from assay.data.annotations import Annotations
from assay.errors import DataError, DesignError


def labelled(
    rng: np.random.Generator, n: int = 600, some: int = 120, slope: float = 0.5, bias: float = 0.4, noise: float = 0.5
) -> tuple[Annotations, Any]:
    """Two people on ``some`` of n items, a judge on all; its error grows with the length by ``bias``."""
    length = rng.normal(size=n)
    truth = 1 + slope * length + rng.normal(size=n)
    names = [f"i{i:04d}" for i in range(n)]
    chosen = np.sort(rng.permutation(n)[:some])
    judge = truth + bias * length + noise * rng.normal(size=n)
    rows = [pl.DataFrame({"item": names, "annotator": "gpt", "label": judge})]
    rows += [
        pl.DataFrame(
            {"item": [names[i] for i in chosen], "annotator": who, "label": truth[chosen] + 0.5 * rng.normal(size=some)}
        )
        for who in ("ann", "bob")
    ]
    items = pl.DataFrame({
        "item": names, "length": length, "language": [["de", "en"][i % 2] for i in range(n)],
        "document": [f"d{i // 5}" for i in range(n)],
    })  # fmt: skip
    return Annotations.from_frame(pl.concat(rows), judges=["gpt"], scale=assay.Interval(), items=items), chosen


ASKED: dict[str, Any] = {"target": "coefficients", "regress": ("length", "language")}


def test_humans_only_are_least_squares_with_hc2() -> None:
    labels, _ = labelled(np.random.default_rng(1), 200, 60)
    found = assay.estimate(labels, **ASKED).table.filter(quantity="length").row(0, named=True)
    frame = labels.to_polars().filter(kind="human").group_by("item").agg(
        pl.col("label").mean(), pl.col("length").first(), pl.col("language").first()
    ).sort("item")  # fmt: skip
    x = np.column_stack([np.ones(60), frame["length"], frame["language"] == "en"]).astype(float)
    y = frame["label"].to_numpy()
    inverse = np.linalg.inv(x.T @ x)
    beta = inverse @ x.T @ y
    lever = np.einsum("ij,jk,ik->i", x, inverse, x)
    adjusted = x / np.sqrt(1 - lever)[:, None]
    meat = adjusted.T @ ((y - x @ beta)[:, None] ** 2 * adjusted)
    # Bell & McCaffrey (2002): the covariance of the adjusted residuals, weighted as in the coefficient.
    each = (adjusted @ inverse)[:, [1]] * (np.eye(60) - x @ inverse @ x.T)
    spread = each @ each.T
    df = np.trace(spread) ** 2 / np.trace(spread @ spread)
    half = stats.t.ppf(0.975, df) * np.sqrt((inverse @ meat @ inverse)[1, 1])
    assert (found["humans_only"], found["humans_only_high"]) == pytest.approx((beta[1], beta[1] + half))


def test_corrected_coefficient_combines_three_regressions() -> None:
    labels, chosen = labelled(np.random.default_rng(2))
    found = assay.estimate(labels, target="coefficients", regress=["length"])
    row = found.table.filter(quantity="length").row(0, named=True)
    x = np.column_stack([np.ones(600), labels.items.sort("item")["length"]])
    matrix = labels.matrix(["gpt", "ann", "bob"])

    def beta(rows: Any, y: Any) -> float:
        return float(np.linalg.lstsq(x[rows], y[rows], rcond=None)[0][1])

    human = matrix[:, 1:].mean(axis=1)
    judge, every = matrix[:, 0], np.arange(600)
    wanted = row["weight"] * (beta(every, judge) - beta(chosen, judge)) + beta(chosen, human)
    assert row["estimate"] == pytest.approx(wanted)
    assert row["judge_only"] == pytest.approx(beta(every, judge))
    assert row["high"] - row["low"] < 0.8 * (row["humans_only_high"] - row["humans_only_low"])
    assert row["equivalent_labels"] > 50
    assert "Estimated coefficient of the human label, length: " in found.summary()


@pytest.mark.parametrize(("unit", "digits"), [(1e-4, 6), (0.01, 4), (1.0, 2), (500.0, 0)])
def test_a_coefficient_has_the_digits_of_its_interval_in_any_unit(unit: float, digits: int) -> None:
    labels, _ = labelled(np.random.default_rng(2))
    longer = labels.items.with_columns(length=pl.col("length") / unit)
    table = Annotations.from_frame(labels.labels, judges=["gpt"], scale=assay.Interval(), items=longer)
    found = assay.estimate(table, target="coefficients", regress=["length"])
    row = found.table.filter(quantity="length").row(0, named=True)
    half = (row["high"] - row["low"]) / 2
    assert max(1 - math.floor(math.log10(half)), 0) == pytest.approx(digits, abs=1)
    (line,) = (one for one in found.summary().splitlines() if "label, length: " in one)
    shown = [float(one.replace("−", "-")) for one in re.findall(r"−?\d+(?:\.\d+)?", line.split(": ", 1)[1])[:3]]
    for value, exact in zip(shown, (row["estimate"], row["low"], row["high"]), strict=True):
        assert value == pytest.approx(exact, abs=0.06 * half)
    only = re.search(r"Judge only: (−?[\d.]+)", line)
    assert only is not None
    assert float(only[1].replace("−", "-")) == pytest.approx(row["judge_only"], abs=0.06 * half)


def without_judge(labels: Annotations, gone: Any) -> Annotations:
    """The same without the judge's labels of some items, a mask in the order of their names."""
    names = labels.items["item"].sort().filter(pl.Series(gone))
    kept = labels.labels.filter((pl.col("annotator") != "gpt") | ~pl.col("item").is_in(names.implode()))
    return Annotations.from_frame(kept, judges=["gpt"], scale=assay.Interval(), items=labels.items)


def test_items_without_judge_label_correct_nothing_and_are_not_refused() -> None:
    """The judge's coefficients are those of the items that it labelled; the humans' of all labelled ones."""
    whole, chosen = labelled(np.random.default_rng(2))
    length = whole.items.sort("item")["length"].to_numpy()
    gone = length > 1
    labels = without_judge(whole, gone)
    found = assay.estimate(labels, target="coefficients", regress=["length"])
    row = found.table.filter(quantity="length").row(0, named=True)
    matrix, kept = whole.matrix(["gpt", "ann", "bob"]), np.flatnonzero(~gone)
    both = chosen[~gone[chosen]]

    def beta(rows: Any, y: Any) -> float:
        return float(np.linalg.lstsq(np.column_stack([np.ones(len(rows)), length[rows]]), y[rows], rcond=None)[0][1])

    human, judge = matrix[:, 1:].mean(axis=1), matrix[:, 0]
    assert len(both) < len(chosen)
    assert row["judge_only"] == pytest.approx(beta(kept, judge))
    wanted = row["weight"] * (beta(kept, judge) - beta(both, judge)) + beta(chosen, human)
    assert row["estimate"] == pytest.approx(wanted)
    assert any("without a judge label: its coefficients are those of the other items" in one for one in found.notes)
    most = np.isin(np.arange(600), chosen[:105])
    with pytest.raises(DesignError, match="2 coefficients require 20 labelled items that the judge labelled"):
        assay.estimate(without_judge(whole, most), target="coefficients", regress=["length"], sampling="trust")


@pytest.mark.simulation
def test_coefficients_are_unbiased_with_missing_judge_labels() -> None:
    """Of long items the judge labels none: 100 studies, whose mean has a standard error of about .008."""
    rng, found = np.random.default_rng(6), []
    for _ in range(100):
        labels, _ = labelled(rng, 400, 120)
        part = without_judge(labels, labels.items.sort("item")["length"].to_numpy() > 0.7)
        row = assay.estimate(part, target="coefficients", regress=["length"], sampling="trust").table.row(1, named=True)
        found.append((row["estimate"] - 0.5, row["low"] <= 0.5 <= row["high"]))
    error, inside = np.array(found).T
    assert abs(error.mean()) < 0.03
    assert inside.mean() >= 0.89


def test_documents_are_the_units_of_the_interval() -> None:
    labels, _ = labelled(np.random.default_rng(3))
    one = assay.estimate(labels, **ASKED)
    documents = assay.estimate(labels, clusters="document", sampling="trust", **ASKED)
    assert documents.table["estimate"].to_list() == pytest.approx(one.table["estimate"].to_list(), abs=0.1)
    assert documents.table["low"].to_list() != one.table["low"].to_list()


def of_documents(seed: int, documents: int, having: int, least: float = 0.5) -> Annotations:
    """1,000 items of 100 documents. Some are labelled; the first of them have x = 1, and the same share of the others.

    The intraclass correlation is .5, and the judge's error depends on x and the document.
    """
    rng = np.random.default_rng([seed, documents, having])
    doc, x = np.arange(1000) % 100, np.zeros(100)
    chosen, other = np.arange(documents), np.arange(documents, 100)
    x[chosen[:having]] = 1.0
    x[other] = rng.random(len(other)) < having / documents
    human = least * x[doc] + rng.normal(size=100)[doc] + rng.normal(size=1000)
    judge = human + 0.4 * x[doc] + rng.normal(0, 0.5, 100)[doc] + rng.normal(0, 0.7, 1000)
    names, some = np.array([f"i{i:04d}" for i in range(1000)]), doc < documents
    rows = pl.concat([
        pl.DataFrame({"item": names, "annotator": "gpt", "label": judge}),
        pl.DataFrame({"item": names[some], "annotator": "ann", "label": human[some]}),
    ])  # fmt: skip
    items = pl.DataFrame({"item": names, "document": [f"d{i}" for i in doc], "x": x[doc]})
    return Annotations.from_frame(rows, judges=["gpt"], scale=assay.Interval(), items=items)


OF_X: dict[str, Any] = {"target": "coefficients", "regress": ["x"], "clusters": "document", "sampling": "trust"}


def test_few_clusters_have_the_degrees_of_freedom_of_the_clusters_of_a_level() -> None:
    """Of 12 documents three have x = 1: by hand (1/3 + 1/9)² / (1/3² / 2 + 1/9² / 8) = 3.46 degrees of freedom."""
    found = assay.estimate(of_documents(1, 12, 3), **OF_X)
    only = found.lines[1].humans_only
    assert (only.high - only.low) / 2 / only.standard_error == pytest.approx(stats.t.ppf(0.975, 3.4595), abs=1e-3)
    assert any("labelled items are in 12 clusters" in one for one in found.cautions)
    assert "Label items of 20 or more clusters" in found.summary()
    assert not any("clusters" in one for one in assay.estimate(of_documents(1, 24, 6), **OF_X).cautions)


def test_coefficients_of_too_few_clusters_have_no_interval() -> None:
    five = assay.estimate(of_documents(2, 5, 2), **OF_X)
    assert all(np.isnan(one.found.low) for one in five.lines)
    assert "no interval: labelled items are in 5 clusters; an interval of a coefficient requires 6" in five.summary()
    one = assay.estimate(of_documents(2, 12, 1), **OF_X)
    assert "x: " in one.summary()
    assert "no interval: a single cluster determines it; label items of more clusters" in one.summary()


def test_few_clusters_do_not_make_a_coefficient_too_certain() -> None:
    """60 studies with three of 12 documents, SE .028; with 11 degrees of freedom for all, .83 cover."""
    inside = []
    for seed in range(60):
        one = assay.estimate(of_documents(seed, 12, 3), **OF_X).lines[1].found
        inside.append(one.low <= 0.5 <= one.high)
    assert np.mean(inside) >= 0.89


@pytest.mark.simulation
@pytest.mark.parametrize(("documents", "having"), [(6, 3), (12, 3), (20, 6), (30, 6)])
def test_coverage_of_coefficients_of_documents(documents: int, having: int) -> None:
    """300 studies per cell, SE .013."""
    inside, humans = [], []
    for seed in range(300):
        line = assay.estimate(of_documents(seed, documents, having), **OF_X).lines[1]
        inside.append(line.found.low <= 0.5 <= line.found.high)
        humans.append(line.humans_only.low <= 0.5 <= line.humans_only.high)
    print(f"{documents=} {having=}: {np.mean(inside):.3f}, humans only {np.mean(humans):.3f}")
    assert np.mean(inside) >= 0.95 - 0.04
    assert np.mean(humans) >= 0.95 - 0.03


def test_what_does_not_fit_is_refused() -> None:
    labels, _ = labelled(np.random.default_rng(4), 100, 25)
    with pytest.raises(DesignError, match=r"target='coefficients' requires regress=\.\.\."):
        assay.estimate(labels, target="coefficients")
    with pytest.raises(DesignError, match=r"regress=\.\.\. requires target='coefficients'"):
        assay.estimate(labels, regress=["length"])
    with pytest.raises(DesignError, match="target='coefficients' excludes raters="):
        assay.estimate(labels, raters="random", **ASKED)
    with pytest.raises(DesignError, match=r"3 coefficients require 30 labelled items \(10 each\); there are 25"):
        assay.estimate(labels, **ASKED)
    with pytest.raises(DataError, match="did you mean 'length'"):
        assay.estimate(labels, target="coefficients", regress=["lenght"])
    twice = Annotations.from_frame(
        labels.labels,
        judges=["gpt"],
        scale=assay.Interval(),
        items=labels.items.with_columns(double=2 * pl.col("length")),
    )
    with pytest.raises(DesignError, match="constant, or determined by the others"):
        assay.estimate(twice, target="coefficients", regress=["length", "double"])


@pytest.mark.simulation
@pytest.mark.parametrize(("some", "noise"), [(40, 0.5), (120, 0.5), (120, 5.0)])
def test_coverage_of_coefficients(some: int, noise: float) -> None:
    """150 studies, SE .018; the judge's regression is biased by .4 and nearly never covers."""
    rng = np.random.default_rng([5, some, int(noise)])
    inside, judge, widths = [], [], []
    for _ in range(150):
        labels, _ = labelled(rng, 400, some, noise=noise)
        row = assay.estimate(labels, target="coefficients", regress=["length"]).table.row(1, named=True)
        inside.append(row["low"] <= 0.5 <= row["high"])
        judge.append(row["judge_only"] - 0.5)
        widths.append((row["high"] - row["low"]) / (row["humans_only_high"] - row["humans_only_low"]))
    print(f"{some=} {noise=}: {np.mean(inside):.3f}, judge bias {np.mean(judge):+.2f}, width {np.mean(widths):.2f}")
    assert 0.95 - 2 * 0.018 <= np.mean(inside) <= 0.99
    assert np.mean(judge) == pytest.approx(0.4, abs=0.05)
    assert np.mean(widths) < (0.8 if noise < 1 else 1.02)


def test_coefficients_of_a_wide_file_are_those_of_the_frame(tmp_path):
    """A number in a column next to the labels is one regressor, not an indicator for each value."""
    rng = np.random.default_rng(4)
    age = rng.integers(20, 60, 300)
    truth = (rng.random(300) < (age - 10) / 60).astype(int)
    human = [int(one) if k % 3 == 0 else None for k, one in enumerate(truth)]
    wide = pl.DataFrame({"doc": [f"d{k:03d}" for k in range(300)], "age": age, "gpt-4o": truth, "ann": human})
    wide.write_csv(tmp_path / "wide.csv")
    how = {"item": "doc", "columns": ["gpt-4o", "ann"], "judges": ["gpt-4o"], "scale": "0-1"}
    found, wanted = (
        assay.estimate(assay.read(one, **how), "gpt-4o", target="coefficients", regress=["age"]).table
        for one in (tmp_path / "wide.csv", wide)
    )
    assert found.equals(wanted)
    assert found["quantity"].to_list() == ["intercept", "age"]
    # The judge's labels are the truth, so its least squares are those of all items.
    assert found["judge_only"][1] == pytest.approx(np.polyfit(age, truth, 1)[0])


def test_slices_of_a_number_with_more_values_than_labelled_items_are_refused() -> None:
    labels, _ = labelled(np.random.default_rng(5), n=200, some=60)
    with pytest.raises(DesignError) as refused:
        assay.estimate(labels, "gpt", by="length")
    assert str(refused.value) == (
        "'length' has 200 values, more than the 60 human-labelled items: slices without human labels cannot be "
        "corrected. Group the values, or use target='coefficients' with regress=['length']"
    )
    with pytest.raises(DesignError, match=r"Group the values$"):
        assay.estimate(labels, "gpt", by="item")
    assert assay.estimate(labels, "gpt", target="coefficients", regress=["length"]).table.height == 2
    assert assay.estimate(labels, "gpt", by="document").table["slice"].n_unique() == 40


def one_level(n_level: int, yes: int = 0) -> Annotations:
    """400 items, 40 of level z; 60 are labelled, n_level of them of level z, with some yes."""
    rng = np.random.default_rng(8)
    names, level = [f"i{i:03d}" for i in range(400)], np.arange(400) < 40
    judged = np.where(level, rng.random(400) < 0.3, rng.random(400) < 0.4)
    chosen = [*range(n_level), *range(40, 100 - n_level)]
    human = {i: k < yes if i < 40 else k % 5 < 2 for k, i in enumerate(chosen)}
    rows = [(name, "gpt", "yes" if one else "no") for name, one in zip(names, judged, strict=True)]
    rows += [(names[i], "ann", "yes" if one else "no") for i, one in human.items()]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    items = pl.DataFrame({"item": names, "kind": ["z" if one else "a" for one in level]})
    return Annotations.from_frame(frame, judges=["gpt"], scale=assay.Nominal(["no", "yes"]), items=items)


OF_LEVEL: dict[str, Any] = {"target": "coefficients", "regress": ["kind"], "sampling": "trust"}


def test_a_level_whose_few_labels_are_equal_has_the_variance_of_all_items() -> None:
    """Four labelled items of a level, all no: their own variance is 0, and the interval would be too narrow."""
    found = assay.estimate(one_level(4), "gpt", **OF_LEVEL).table.filter(quantity="kind = z").row(0, named=True)
    y = np.array([0.0] * 4 + [float(k % 5 < 2) for k in range(4, 60)])
    z = np.arange(60) < 4
    rest = np.where(z, y - y[z].mean(), y - y[~z].mean())
    half = stats.t.ppf(0.975, 58) * np.sqrt(rest @ rest / 58 * (1 / 4 + 1 / 56))
    assert found["humans_only"] == pytest.approx(-y[~z].mean())
    assert found["humans_only_high"] - found["humans_only"] == pytest.approx(half)
    assert found["low"] < 0 < found["high"]


def test_a_level_with_one_labelled_item_has_no_interval() -> None:
    found = assay.estimate(one_level(1), "gpt", **OF_LEVEL)
    row = found.table.filter(quantity="kind = z").row(0, named=True)
    assert math.isnan(row["low"])
    assert row["reason"] == "a single labelled item determines it; label more items of this level"
