"""Spending a budget: variance components, the variance of designs, and the range of predictions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import assay
from assay.errors import DesignError
from assay.estimates.plans.budget import _mean_squares, components_of_squares, crossed_components, plan_budget

SD = (1.0, 0.35, 0.2, 0.4, 0.2, 0.1, 0.5, 0.4)
"""Standard deviations of items, judges, prompts, items × judges, items × prompts, judges × prompts, residual, runs."""


def drawn_cells(seed: int, n: int, j: int, p: int, r: int, sd: tuple[float, ...] = SD) -> np.ndarray:
    """Labels (items, judges, prompts, runs) of crossed effects; one prompt has no effect."""
    rng = np.random.default_rng(seed)
    of_one = [(n, 1, 1, 1), (1, j, 1, 1), (1, 1, p, 1)]
    shapes = [*of_one, (n, j, 1, 1), (n, 1, p, 1), (1, j, p, 1), (n, j, p, 1), (n, j, p, r)]
    ways = (2, 4, 5) if p == 1 else ()
    return 5 + sum(rng.normal(0, 0.0 if k in ways else sd[k], shape) for k, shape in enumerate(shapes))


def pilot_of(cells: np.ndarray, people: np.ndarray | None = None) -> assay.Annotations:
    """A table of (items, judges, prompts, runs), and of humans (items, annotators)."""
    i, j, p, r = (axis.reshape(-1) for axis in np.indices(cells.shape))
    frame = pl.DataFrame({
        "item": [f"i{k:03}" for k in i], "annotator": [f"m{k}" for k in j], "prompt": [f"p{k}" for k in p],
        "repeat": r + 1, "label": cells.reshape(-1),
    })  # fmt: skip
    if people is not None:
        i, a = (axis.reshape(-1) for axis in np.indices(people.shape))
        humans = pl.DataFrame({
            "item": [f"i{k:03}" for k in i], "annotator": [f"h{k}" for k in a], "label": people.reshape(-1),
        })  # fmt: skip
        frame = pl.concat([frame, humans], how="diagonal")
    several, judges = cells.shape[2] > 1, [f"m{k}" for k in range(cells.shape[1])]
    if not several:
        return assay.Annotations.from_frame(frame.drop("prompt"), scale=assay.Interval(), judges=judges)
    return assay.Annotations.from_frame(frame, scale=assay.Interval(), judges=judges, conditions=["prompt"])


def true_variance(row: dict[str, Any], *, prompts: bool) -> float:
    """The variance of the mean of a design, from the standard deviations of the simulation."""
    i, j, p, ij, ip, jp, rest, run = (s**2 for s in SD)
    if not prompts:
        p = ip = jp = 0.0
    n, m, k, r = (row[name] for name in ("n", "judges", "prompts", "runs"))
    if row["design"] == "rotated":
        return i / n + j / m + p / k + jp / (m * k) + (ij + ip + rest + run / r) / n
    return i / n + j / m + p / k + ij / (n * m) + ip / (n * k) + jp / (m * k) + (rest + run / r) / (n * m * k)


class TestVarianceComponents:
    def test_components_of_many_levels_are_those_of_the_simulation(self) -> None:
        cells = drawn_cells(1, 400, 40, 30, 1)[..., 0]
        found = components_of_squares(_mean_squares(cells)[0][None], np.array([0.0]), (400, 40, 30), 1.0)[0]
        true = [s**2 for s in SD]
        # Relative standard error of a variance of k levels: the root of 2 / (k - 1).
        assert found[0] == pytest.approx(true[0], rel=4 * math.sqrt(2 / 399))
        assert found[1] == pytest.approx(true[1], rel=4 * math.sqrt(2 / 39))
        assert found[2] == pytest.approx(true[2], rel=4 * math.sqrt(2 / 29))
        assert found[3:6] == pytest.approx(true[3:6], rel=0.1)
        assert found[6] == pytest.approx(true[6] + true[7], rel=0.02)

    def test_components_equal_those_of_a_g_study(self) -> None:
        cells = drawn_cells(2, 40, 4, 1, 1)
        facets = {"i": "item", "j": "annotator"}
        study = assay.g_study(pilot_of(cells), design="i x j", object="i", facets=facets, estimator="anova")
        known = dict(study.components.select("effect", "estimate").iter_rows())
        found = crossed_components(cells[..., 0], 0.0, 0, 1.0, 0).value
        x = cells[:, :, 0, 0]
        rest = x - x.mean(axis=1, keepdims=True) - x.mean(axis=0) + x.mean()
        residual = (rest**2).sum() / (39 * 3)
        assert found[6] == pytest.approx(residual)
        assert known["i"] == pytest.approx(found[0])
        assert known["j"] == pytest.approx(found[1])

    def test_runs_are_apart_from_the_residual(self) -> None:
        labels = pilot_of(drawn_cells(3, 200, 4, 3, 5))
        found = plan_budget(labels, 50, prompts="prompt").components
        value = dict(found.select("effect", "variance").iter_rows())
        assert value["runs"] == pytest.approx(SD[7] ** 2, rel=0.1)
        assert value["residual"] == pytest.approx(SD[6] ** 2, rel=0.15)
        assert found["share"].sum() == pytest.approx(1)


class TestDesignsOfABudget:
    def test_variances_are_those_of_the_formula(self) -> None:
        plan = plan_budget(pilot_of(drawn_cells(4, 60, 4, 2, 2)), 50, judge_price=0.02, prompts="prompt")
        value = dict(plan.components.select("effect", "variance").iter_rows())
        for row in plan.designs.iter_rows(named=True):
            n, j, p, r = row["n"], row["judges"], row["prompts"], row["runs"]
            rest = value["residual"] + value["runs"] / r
            if row["design"] == "rotated":
                of_items = (value["items × judges"] + value["items × prompts"] + rest) / n
                calls = n * r
            else:
                of_items = value["items × judges"] / (n * j) + value["items × prompts"] / (n * p) + rest / (n * j * p)
                calls = n * j * p * r
            of_raters = value["judges"] / j + value["prompts"] / p + value["judges × prompts"] / (j * p)
            assert row["estimate"] == pytest.approx(math.sqrt(value["items"] / n + of_raters + of_items))
            assert row["cost"] == pytest.approx(calls * 0.02)
            assert row["cost"] <= 50
        assert plan.table["relative"].min() == 1

    def test_rotated_is_better_at_the_same_number_of_labels(self) -> None:
        plan = plan_budget(pilot_of(drawn_cells(5, 100, 5, 1, 1)), 10)
        pairs = plan.designs.filter(judges=5).sort("design")
        assert pairs["design"].to_list() == ["crossed", "rotated"]
        assert pairs["estimate"][1] < pairs["estimate"][0]
        assert plan.best()["design"] == "rotated"
        assert "each labelled by one of 5 judges" in plan.summary()
        assert "Alternative" in plan.summary()

    def test_few_items_are_labelled_by_all_judges(self) -> None:
        plan = plan_budget(pilot_of(drawn_cells(5, 100, 5, 1, 1)), 10, n_items=50)
        assert plan.designs["n"].max() == 50
        assert plan.best()["design"] == "crossed"
        assert plan.best()["cost"] == pytest.approx(50 * plan.best()["judges"] * 0.01)

    def test_more_judges_than_the_pilot_has(self) -> None:
        plan = plan_budget(pilot_of(drawn_cells(4, 60, 3, 1, 1)), 50, n_judges=(3, 9))
        found = dict(plan.table.filter(design="rotated").select("judges", "estimate").iter_rows())
        assert found[9] < found[3]
        variances = dict(plan.components.select("effect", "variance").iter_rows())
        assert found[3] ** 2 - found[9] ** 2 == pytest.approx(variances["judges"] * (1 / 3 - 1 / 9))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("n", "j", "p", "r"),
        [
            pytest.param(60, 3, 1, 1, marks=pytest.mark.slow),
            (60, 3, 2, 1),
            pytest.param(30, 8, 1, 2, marks=pytest.mark.slow),
        ],
    )
    def test_ranges_contain_the_true_error(self, n: int, j: int, p: int, r: int) -> None:
        # 80% ranges: .82 of 400 designs in a simulation of 100 pilots; with 40 pilots its standard error is about .06.
        inside = []
        for seed in range(40):
            labels = pilot_of(drawn_cells(100 + seed, n, j, p, r))
            plan = plan_budget(labels, 20, judge_price=0.02, **({"prompts": "prompt"} if p > 1 else {}))
            row = plan.table.filter(judges=j, design="rotated").row(0, named=True)
            inside.append(row["low"] <= math.sqrt(true_variance(row, prompts=p > 1)) <= row["high"])
        assert 0.62 <= np.mean(inside) <= 0.98

    def test_no_variance_among_judges_has_an_upper_end(self) -> None:
        plan = plan_budget(pilot_of(drawn_cells(6, 60, 3, 1, 1)), 50)
        assert plan.components["variance"][1] == 0
        assert plan.components["high"][1] > 0
        assert "no variance among judges, which can be up to" in plan.summary()

    def test_what_the_pilot_does_not_show_is_said(self) -> None:
        plan = plan_budget(pilot_of(drawn_cells(7, 60, 3, 1, 1)), 50)
        assert plan.components["effect"].to_list() == ["items", "judges", "items × judges, residual"]
        assert "The pilot has one prompt" in plan.summary()
        assert "The pilot has one run" in plan.summary()
        assert plan.designs["runs"].unique().to_list() == [1]

    def test_shares_of_two_categories_are_planned(self) -> None:
        given = drawn_cells(8, 60, 3, 1, 1)[..., 0, 0] > 5
        rows = [(f"i{i}", f"m{j}", "yes" if given[i, j] else "no") for i in range(60) for j in range(3)]
        frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
        labels = assay.Annotations.from_frame(frame, scale=assay.Nominal(["no", "yes"]), judges=["m0", "m1", "m2"])
        plan = plan_budget(labels, 50)
        x = given.astype(float)
        assert plan.components["variance"][1] == pytest.approx(
            max(x.mean(axis=0).var(ddof=1) - plan.components["variance"][2] / 60, 0)
        )


class TestHumansInABudget:
    @staticmethod
    def labels(seed: int = 9, noise: float = 0.5) -> assay.Annotations:
        rng = np.random.default_rng(seed)
        cells = drawn_cells(seed, 80, 3, 1, 1)
        people = cells.mean(axis=(1, 2, 3))[:, None] + rng.normal(0, noise, (80, 2))
        return pilot_of(cells, people)

    def test_corrected_variance_is_that_of_a_label_plan(self) -> None:
        pilot = self.labels()
        plan = plan_budget(pilot, 60, judge_price=0.01, price=0.5, n_people=1)
        row = plan.table.filter(design="corrected", judges=1).row(0, named=True)
        humans = plan.table.filter(design="humans only").row(0, named=True)
        assert row["cost"] <= 60
        assert humans["n"] == 120
        assert row["estimate"] < humans["estimate"]
        y = pilot.where(kind="human").labels["label"].to_numpy()
        assert humans["estimate"] == pytest.approx(y.std(ddof=1) / math.sqrt(120))

    def test_division_of_the_budget_is_the_best_one(self) -> None:
        pilot = self.labels()
        plan = plan_budget(pilot, 60, judge_price=0.01, price=0.5, n_people=1)
        row = plan.table.filter(design="corrected", judges=3).row(0, named=True)
        y = pilot.where(kind="human").labels
        judged = pilot.where(kind="judge").labels.group_by("item").agg(pl.col("label").mean().alias("mean"))
        both = y.join(judged, on="item")
        rho = float(np.corrcoef(both["label"].to_numpy(), both["mean"].to_numpy())[0, 1])
        variance = float(both["label"].to_numpy().var(ddof=1))

        def error(n: int) -> float:
            many = int((60 - 0.5 * n) / 0.03)
            return math.sqrt(variance * ((1 - rho**2) / n + rho**2 / many)) if many >= n else math.inf

        assert row["estimate"] == pytest.approx(min(error(n) for n in range(5, 120)), rel=0.01)

    def test_targets_are_apart(self) -> None:
        plan = plan_budget(self.labels(), 60, price=0.5)
        assert plan.table.group_by("target").agg(pl.col("relative").min())["relative"].to_list() == [1, 1]
        assert "For the mean of these annotators" in plan.summary()
        assert "An error that all judges share is not included" in plan.summary()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"judges": ["m0"]}, "cannot be estimated from one judge"),
        ({"judges": ["m0", "m9"]}, "judge 'm9' is not in the pilot"),
        ({"budget": 0.05}, "pays for fewer than 5 items"),
        ({"price": 0.5}, "the pilot has no humans"),
        ({"n_prompts": (1, 2)}, "requires a pilot with several prompts"),
    ],
)
def test_plan_budget_refuses_what_it_cannot_plan(given: dict[str, Any], words: str) -> None:
    labels = pilot_of(drawn_cells(1, 30, 3, 1, 1))
    with pytest.raises(DesignError, match=words):
        plan_budget(labels, **{"budget": 20, **given})


def test_plan_budget_refuses_criteria_and_equal_labels() -> None:
    frame = pilot_of(drawn_cells(1, 30, 3, 1, 1)).labels.drop("repeat")
    two = pl.concat([frame.with_columns(criterion=pl.lit(name)) for name in ("clear", "true")])
    labels = assay.Annotations.from_frame(two, scale=assay.Interval(), judges=["m0", "m1", "m2"])
    with pytest.raises(DesignError, match="the table has 2 criteria"):
        plan_budget(labels, 20)
    with pytest.raises(DesignError, match="the table has 2 criteria"):
        assay.estimate(labels, judges="random")
    same = frame.with_columns(label=pl.lit(3.0))
    labels = assay.Annotations.from_frame(same, scale=assay.Interval(), judges=["m0", "m1", "m2"])
    with pytest.raises(DesignError, match="all labels of the pilot are equal"):
        plan_budget(labels, 20)


def test_plan_budget_refuses_small_and_dealt_pilots_and_categories() -> None:
    with pytest.raises(DesignError, match="a plan requires 10"):
        plan_budget(pilot_of(drawn_cells(1, 8, 3, 1, 1)), 20)
    cells = drawn_cells(1, 30, 3, 1, 1)
    dealt = pilot_of(cells).labels.filter(
        pl.col("item").str.slice(1).cast(pl.Int64) % 3 == pl.col("annotator").str.slice(1).cast(pl.Int64)
    )
    labels = assay.Annotations.from_frame(dealt.drop("repeat"), scale=assay.Interval(), judges=["m0", "m1", "m2"])
    with pytest.raises(DesignError, match="here items are dealt to judges"):
        plan_budget(labels, 20)
    texts = pl.col("label").round().cast(pl.Int64).cast(pl.String)
    frame, judges = pilot_of(cells).labels.drop("repeat").with_columns(label=texts), ["m0", "m1", "m2"]
    words = assay.Annotations.from_frame(frame, scale=assay.Nominal(sorted(set(frame["label"]))), judges=judges)
    with pytest.raises(DesignError, match="for a mean or for one share"):
        plan_budget(words, 20)
