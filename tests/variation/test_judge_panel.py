"""The effective number of judges: definitions, intervals, families, further judges, and what a few annotators hide."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import assay
import references
from assay.data.annotations import Annotations
from assay.errors import DataError, DesignError


def numbers(judges: dict[str, Any], people: Any, scale: Any = None, **options: Any) -> Annotations:
    """Labels that are numbers, NaN if missing; people are (items, annotators)."""
    columns = judges | {f"ann_{a}": column for a, column in enumerate(people.T)}
    rows = [
        {"item": f"i{i:04d}", "annotator": name, "label": float(v)}
        for name, column in columns.items() for i, v in enumerate(column) if not np.isnan(v)
    ]  # fmt: skip
    return Annotations.from_frame(pl.DataFrame(rows), judges=list(judges), scale=scale or assay.Interval(), **options)


def world(
    rng: np.random.Generator, n: int, groups: tuple[int, ...], people: int = 3, own: float = 0.5, noise: float = 1.0
) -> tuple[dict[str, Any], Any, Any]:
    """Judges of groups that share errors of variance 1, each with errors of variance own²; people with noise."""
    truth = rng.normal(size=n)
    judges = {}
    for g, size in enumerate(groups):
        shared = rng.normal(size=n)
        judges |= {f"g{g}j{k}": truth + shared + own * rng.normal(size=n) for k in range(size)}
    return judges, truth[:, None] + noise * rng.normal(size=(n, people)), truth


def row(found: Any, quantity: str, **where: Any) -> dict[str, Any]:
    return found.rows.filter(quantity=quantity, **where).row(0, named=True)  # type: ignore[no-any-return]


# -- definitions ----------------------------------------------------------------------------------------


def test_error_covariances_are_those_of_their_definition() -> None:
    judges, people, _ = world(np.random.default_rng(1), 30, (2, 1))
    found = assay.panel(numbers(judges, people))
    c = references.error_covariances(np.column_stack([*judges.values()]), people)
    names = list(judges)
    for one, other, value, r in found.covariances.drop("criterion").iter_rows():
        j, k = names.index(one), names.index(other)
        assert value == pytest.approx(c[j, k], abs=1e-9)
        assert r == pytest.approx(c[j, k] / math.sqrt(c[j, j] * c[k, k]), abs=1e-9)


def test_effective_number_and_its_jackknife_interval() -> None:
    judges, people, _ = world(np.random.default_rng(2), 30, (2, 1))
    f = np.column_stack([*judges.values()])

    def share(keep: np.ndarray) -> float:
        c = references.error_covariances(f[keep], people[keep])
        return float(c.sum() / 9 / (np.trace(c) / 3))

    every = np.arange(30)
    without = np.array([share(np.delete(every, i)) for i in every])
    error = math.sqrt(29 / 30 * ((without - without.mean()) ** 2).sum())
    t, g = stats.t.ppf(0.975, 29), share(every)
    found = assay.panel(numbers(judges, people))
    mine = row(found, "error of the panel")
    assert (mine["estimate"], mine["low"], mine["high"]) == pytest.approx((g, g - t * error, g + t * error), abs=1e-9)
    assert (mine["judges"], mine["judges_at_least"]) == pytest.approx((1 / g, 1 / (g + t * error)))
    rho = row(found, "error correlation")
    assert rho["estimate"] == pytest.approx((3 * g - 1) / 2, abs=1e-9)
    wanted = 1 - (1 + 3 * rho["estimate"]) / 4 / g
    assert found.next_reduction[None] == pytest.approx(wanted)


def test_categories_are_sums_of_their_indicators() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 40)
    given = {name: np.where(rng.random(40) < 0.6, truth, rng.integers(0, 3, 40)) for name in [*"abxyz"]}
    rows = [(f"i{i:02d}", name, "pqr"[v]) for name, column in given.items() for i, v in enumerate(column)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    found = assay.panel(Annotations.from_frame(frame, judges=["a", "b"], scale=assay.Nominal(["p", "q", "r"])))
    c = sum(
        references.error_covariances(
            np.column_stack([given[j] == v for j in ("a", "b")]).astype(float),
            np.column_stack([given[p] == v for p in ("x", "y", "z")]).astype(float),
        )
        for v in range(3)
    )
    values = found.covariances["covariance"].to_list()
    assert values == pytest.approx([c[0, 0], c[0, 1], c[1, 1]], abs=1e-12)


def test_documents_are_left_out_whole() -> None:
    judges, people, _ = world(np.random.default_rng(4), 60, (2, 2))
    documents = pl.DataFrame({"item": [f"i{i:04d}" for i in range(60)], "document": [f"d{i // 4}" for i in range(60)]})
    found = assay.panel(numbers(judges, people, items=documents), clusters="document")
    one = assay.panel(numbers(judges, people))
    assert row(found, "error of the panel")["estimate"] == pytest.approx(row(one, "error of the panel")["estimate"])
    assert row(found, "error of the panel")["low"] != row(one, "error of the panel")["low"]


def test_contribution_of_a_judge_is_the_gain_without_the_item() -> None:
    judges, people, _ = world(np.random.default_rng(5), 25, (2, 1))
    found = assay.panel(numbers(judges, people), ["g0j0", "g0j1"], candidates="g1j0")
    y = people.mean(axis=1)
    pair, three = (np.mean([judges[j] for j in names], axis=0) for names in (["g0j0", "g0j1"], [*judges]))
    gain = np.subtract(*(references.squared_error_without(x.tolist(), y.tolist()) for x in (pair, three)))
    mine, test = row(found, "added"), stats.ttest_1samp(gain, 0)
    assert mine["judge"] == "g1j0"
    assert (mine["estimate"], mine["p"]) == pytest.approx((gain.mean(), test.pvalue), rel=1e-6)
    assert (mine["low"], mine["high"]) == pytest.approx(tuple(test.confidence_interval()), rel=1e-6)


@pytest.mark.slow
def test_missing_annotators_leave_the_estimate_near_the_truth() -> None:
    rng = np.random.default_rng(6)
    judges, people, _ = world(rng, 2000, (5, 4), people=5)
    people[rng.random(people.shape) < 0.4] = np.nan
    found = row(assay.panel(numbers(judges, people)), "error of the panel")
    # Variance of a judge 1.25; of the mean of nine (25 + 16 + 9 · .25) / 81.
    assert found["low"] < (43.25 / 81) / 1.25 < found["high"]
    assert found["n"] < 2000


# -- what a few annotators hide ---------------------------------------------------------------------------


@pytest.mark.slow
def test_nine_independent_judges_count_as_nine_and_not_as_three() -> None:
    """Errors against the mean of three annotators are shared by all judges: the usual formula gives about three."""
    rng = np.random.default_rng(7)
    judges, people, _ = world(rng, 4000, (1,) * 9, own=0.0)
    found = row(assay.panel(numbers(judges, people)), "error of the panel")
    assert found["judges_at_least"] > 7
    assert found["judges_at_most"] is None or found["judges_at_most"] > 9
    usual = np.corrcoef(np.column_stack([*judges.values()]).T - people.mean(axis=1))
    rho = (usual.sum() - 9) / 72
    assert 2 < 9 / (1 + 8 * rho) < 4


def test_clones_count_as_one_and_copies_have_no_interval() -> None:
    judges, people, _ = world(np.random.default_rng(8), 100, (1,))
    first = judges["g0j0"]
    found = assay.panel(numbers({"a": first, "b": first.copy()}, people))
    mine = row(found, "error of the panel")
    assert mine["judges"] == pytest.approx(1.0)
    assert mine["low"] is None
    assert "2 judges count as 1.0 independent judges, no interval: the items do not vary" in found.summary()


@pytest.mark.slow
def test_families_are_found_and_not_invented() -> None:
    wrong = 0
    for seed in range(40):
        rng = np.random.default_rng([9, seed])
        judges, people, _ = world(rng, 150, (1,) * 5)
        wrong += assay.panel(numbers(judges, people)).families.height > 0
    assert wrong <= 5  # of 40 at a rate of .05; more than 5 in .03 of runs
    judges, people, _ = world(np.random.default_rng(10), 150, (3, 1, 1))
    found = assay.panel(numbers(judges, people))
    assert found.families["judge"].to_list() == ["g0j0", "g0j1", "g0j2"]
    assert "g0j0, g0j1, g0j2: their errors are significantly more correlated" in found.summary()


@pytest.mark.slow
def test_families_of_many_judges_are_not_invented_from_few_items() -> None:
    """Eight judges with independent errors, labels 1 to 5, 40 items: .13 of studies without Fisher's z."""
    wrong = 0
    for seed in range(120):
        rng = np.random.default_rng([seed, 77])
        truth = rng.normal(3, 1, 40)
        label = np.clip(np.rint(truth[:, None] + rng.normal(0, 0.6, (40, 11))), 1, 5)
        judges = {f"j{k}": label[:, k] for k in range(8)}
        wrong += assay.panel(numbers(judges, label[:, 8:])).families.height > 0
    assert wrong <= 12  # of 120 at a rate of .05; more than 12 in .01 of runs


@pytest.mark.slow
def test_a_coin_does_not_improve_a_binary_panel() -> None:
    """Without the line a coin shrinks the mean and seems to help."""
    helped = 0
    for seed in range(40):
        rng = np.random.default_rng([11, seed])
        truth = rng.normal(size=100)
        judges = {f"j{k}": (truth + rng.normal(size=100) > 0.4).astype(float) for k in range(3)}
        judges["coin"] = (rng.random(100) < 0.5).astype(float)
        people = (truth[:, None] + 0.7 * rng.normal(size=(100, 3)) > 0.4).astype(float)
        found = assay.panel(numbers(judges, people), ["j0", "j1", "j2"], candidates=["coin"])
        helped += "coin improves the panel" in found.summary()
    assert helped <= 1


# -- refusals -------------------------------------------------------------------------------------------


def test_judges_without_errors_have_a_reason() -> None:
    rng = np.random.default_rng(12)
    truth = rng.normal(size=40)
    people = truth[:, None] + rng.normal(size=(40, 3))
    found = assay.panel(numbers({"a": truth, "b": truth + 1e-9 * rng.normal(size=40)}, people))
    mine = row(found, "error of the panel")
    if mine["estimate"] is None:
        assert "errors is not above 0" in mine["reason"]
        assert "Effective number of judges: not estimable" in found.summary()
    exact = assay.panel(numbers({"a": people.mean(axis=1), "b": people.mean(axis=1)}, people))
    assert "errors is not above 0" in (row(exact, "error of the panel")["reason"] or "")


def test_few_items_and_bad_names_are_refused() -> None:
    judges, people, _ = world(np.random.default_rng(13), 8, (2, 1))
    found = assay.panel(numbers(judges, people))
    assert row(found, "error of the panel")["reason"] == "8 items; at least 10 are required"
    given = numbers(judges, people)
    with pytest.raises(DataError, match="did you mean 'g0j1'"):
        assay.panel(given, ["g0j0", "g0j11"])
    with pytest.raises(DesignError, match="cannot be a judge of the panel and a candidate"):
        assay.panel(given, ["g0j0", "g0j1"], candidates="g0j1")
    with pytest.raises(DesignError, match="a panel requires two judges or more; there is 1"):
        assay.panel(given, ["g0j0"])
    with pytest.raises(DesignError, match="a panel requires two annotators or more"):
        assay.panel(given, annotators=["ann_0"])
    people[2:] = np.nan
    with pytest.raises(DesignError, match="2 items with labels of all judges and of two annotators; 3 are required"):
        assay.panel(numbers(judges, people))


def test_a_copy_of_an_annotator_is_a_caution() -> None:
    rng = np.random.default_rng(14)
    truth = rng.integers(1, 6, 120)
    people = np.clip(truth[:, None] + rng.integers(-1, 2, (120, 4)), 1, 5).astype(float)
    judges = {"copy": people[:, 1], "own": np.clip(truth + rng.integers(-1, 2, 120), 1, 5).astype(float)}
    found = assay.panel(numbers(judges, people, assay.Ordinal(1, 5)))
    assert any("copy's labels match ann_1's" in caution for caution in found.cautions)


def test_an_ensemble_is_the_panel_of_its_members() -> None:
    judges, people, _ = world(np.random.default_rng(15), 40, (2, 1))
    every = judges | {"vote": np.mean([*judges.values()], axis=0)}
    about = pl.DataFrame({
        "annotator": [*every, "ann_0", "ann_1", "ann_2"],
        "strategy": [None] * 3 + [f"mean of {', '.join(judges)}"] + [None] * 3,
    })  # fmt: skip
    given = numbers(every, people, annotator_table=about)
    assert assay.panel(given).judges == assay.panel(given, "vote").judges == tuple(judges)
    assert assay.panel(given).rows.equals(assay.panel(numbers(judges, people)).rows)


def test_order_and_names_change_no_digit() -> None:
    judges, people, _ = world(np.random.default_rng(16), 40, (2, 2))
    given = numbers(judges, people)
    turned = Annotations.from_frame(
        given.labels.sample(fraction=1.0, shuffle=True, seed=1).with_columns(pl.col("annotator").replace("g0j0", "z")),
        judges=["z", "g0j1", "g1j0", "g1j1"], scale=assay.Interval(),
    )  # fmt: skip
    one, other = (assay.panel(x).rows.filter(pl.col("judge").is_null()) for x in (given, turned))
    np.testing.assert_allclose(one["estimate"].to_numpy(), other["estimate"].to_numpy(), rtol=1e-12)
    np.testing.assert_allclose(one["low"].to_numpy(), other["low"].to_numpy(), rtol=1e-12)


# -- coverage (slow) --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("n", "people", "groups"), [(60, 3, (5, 4)), (60, 3, (3,))])
def test_coverage_of_the_error_of_the_panel(groups: tuple[int, ...], n: int, people: int) -> None:
    """200 studies a cell, SE .015; truth by the variances of the world."""
    rng, size, inside, values = np.random.default_rng([17, n, len(groups)]), sum(groups), [], []
    truth = (sum(g**2 for g in groups) + size * 0.25) / size**2 / 1.25
    for _ in range(200):
        judges, labels, _ = world(rng, n, groups, people)
        found = row(assay.panel(numbers(judges, labels)), "error of the panel")
        inside.append(found["low"] <= truth <= found["high"])
        values.append(found["estimate"])
    print(
        f"{groups=} {n=} {people=}: {np.mean(inside):.3f}, bias {np.mean(values) - truth:+.4f}, truth {1 / truth:.2f}"
    )
    assert 0.905 <= np.mean(inside) <= 0.99
    assert abs(np.mean(values) - truth) < 0.05 * truth


@pytest.mark.slow
@pytest.mark.real_data
def test_panels_of_the_published_sets(real_data: Any) -> None:
    """Six judges as 2.5, 2.0 and 3.7, four as 1.6."""
    wanted = {"wax": (2.5, 2.4, 2.7), "mtbench": (2.0, 1.7, 2.5), "cebab_stars": (3.7, 2.7, 6.0)}
    for name, ends in wanted.items():
        mine = row(assay.panel(assay.read(real_data / "alt_test" / name)), "error of the panel")
        each = tuple(mine[c] for c in ("judges", "judges_at_least", "judges_at_most"))
        assert each == pytest.approx(ends, abs=0.051)
    stars = assay.opinions(assay.read(real_data / "alt_test" / "cebab_stars"))
    psi = dict(stars.rows.filter(quantity="relative distance").select("judge", "estimate").iter_rows())
    assert psi["gpt-4o"] == pytest.approx(0.472, abs=0.001)
    assert psi["gemini_flash"] == pytest.approx(0.763, abs=0.001)
