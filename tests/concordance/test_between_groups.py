"""Groups of annotators: distances between and within them, and the test by assignments."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

import assay
from assay.concordance.groups import between_groups
from assay.concordance.groups.disagreement import disagreement
from assay.data.ratings import Ratings
from assay.errors import DataError, DesignError


def labels_of(cells: np.ndarray, group: list[str], scale: object = None) -> assay.Annotations:
    """A table of (items, annotators); missing labels are NaN."""
    item, who = np.nonzero(~np.isnan(cells))
    frame = pl.DataFrame({
        "item": [f"i{i}" for i in item], "annotator": [f"p{a}" for a in who], "label": cells[item, who].astype(int),
    })  # fmt: skip
    people = pl.DataFrame({"annotator": [f"p{a}" for a in range(cells.shape[1])], "gender": group})
    return assay.Annotations.from_frame(frame, scale=scale or assay.Ordinal(1, 5), annotator_table=people)


def study(seed: int, shift: float = 0.0, people: int = 8, items: int = 40, missing: float = 0.4) -> np.ndarray:
    """Half of the people see every second item ``shift`` higher; all have a severity of their own."""
    rng = np.random.default_rng(seed)
    own = 3 + rng.normal(0, 1, items)[:, None] + rng.normal(0, 0.3, people) + rng.normal(0, 0.7, (items, people))
    own[::2, : people // 2] += shift
    own[rng.random(own.shape) < missing] = np.nan
    return np.clip(np.round(own), 1, 5)


HALF = ["f"] * 4 + ["m"] * 4


class TestGroupsOfAnnotators:
    def test_distances_equal_those_of_all_pairs(self) -> None:
        cells = study(1)
        found = disagreement(labels_of(cells, HALF), by="gender", method="none").groups.row(0, named=True)
        pairs: dict[tuple[str, str], list[float]] = {}
        for a, b in itertools.combinations(range(8), 2):
            far = np.abs(cells[:, a] - cells[:, b]) / 4
            pairs.setdefault((HALF[a], HALF[b]), []).extend(far[~np.isnan(far)].tolist())
        assert found["within"] == pytest.approx(np.mean(pairs["f", "f"]))
        assert found["within_other"] == pytest.approx(np.mean(pairs["m", "m"]))
        assert found["between"] == pytest.approx(np.mean(pairs["f", "m"]))
        both = ~np.isnan(cells[:, :4]).all(axis=1) & ~np.isnan(cells[:, 4:]).all(axis=1)
        assert (found["annotators"], found["others"], found["n"]) == (4, 4, both.sum())

    def test_categories_are_equal_or_not(self) -> None:
        cells = np.array([[1.0, 1, 2, 2, 1, 1], [2, 2, 1, 1, 2, 2], [1, 1, 1, 1, 3, 3]])
        groups = ["f"] * 2 + ["m"] * 2 + ["x"] * 2
        labels = labels_of(cells, groups, assay.Nominal([1, 2, 3]))
        found = disagreement(labels, by="gender", method="none").groups
        assert found.select("group", "other", "within", "between").rows() == [
            ("f", "m", 0.0, pytest.approx(2 / 3)), ("f", "x", 0.0, pytest.approx(1 / 3)), ("m", "x", 0.0, 1.0),
        ]  # fmt: skip

    def test_items_on_which_everybody_disagrees_count_for_no_group(self) -> None:
        # Two groups that share no hard item: the distances within one are larger, and the difference is 0.
        cells = np.full((4, 8), np.nan)
        cells[0, :4], cells[1, :4] = [1, 5, 1, 5], [5, 1, 5, 1]
        cells[2:, :] = 3
        cells[2:, [0, 4]] = 4
        found = disagreement(labels_of(cells, HALF), by="gender", method="none").groups.row(0, named=True)
        assert found["within"] > found["within_other"]
        hard = cells.copy()
        hard[:2] = np.nan
        easy = disagreement(labels_of(hard, HALF), by="gender", method="none").groups.row(0, named=True)
        assert easy["difference"] == pytest.approx(found["difference"], abs=0.05)

    def test_p_is_the_share_of_all_assignments(self) -> None:
        cells = study(3, shift=0.8)
        found = disagreement(labels_of(cells, HALF), by="gender", method="none").groups.row(0, named=True)
        far = {(a, b): np.abs(cells[:, a] - cells[:, b]) / 4 for a, b in itertools.combinations(range(8), 2)}
        mean = np.nanmean(np.array(list(far.values())), axis=0)

        def difference(first: tuple[int, ...]) -> float:
            parts: dict[int, list[float]] = {0: [], 1: [], 2: []}
            for (a, b), one in far.items():
                parts[(a in first) + (b in first)].extend((one - mean)[~np.isnan(one)].tolist())
            return float(np.mean(parts[1]) - (np.mean(parts[0]) + np.mean(parts[2])) / 2)

        own = difference((0, 1, 2, 3))
        every = [difference(first) for first in itertools.combinations(range(8), 4)]
        assert found["difference"] == pytest.approx(own)
        ratings = Ratings.of(labels_of(cells, HALF))
        one = np.isin(ratings.annotators, [f"p{a}" for a in range(4)])
        share = np.mean(np.array(every) >= own - 1e-12)
        assert found["p"] == pytest.approx(max(share, between_groups.beyond_care(ratings, one, ~one)), abs=0.01)

    def test_names_and_order_change_no_digit(self) -> None:
        cells, order = study(4, 0.5), np.random.default_rng(0).permutation(8)
        one = disagreement(labels_of(cells, HALF), by="gender", method="none").groups
        two = disagreement(labels_of(cells[:, order], [HALF[i] for i in order]), by="gender", method="none").groups
        assert one["p"].to_list() == two["p"].to_list()
        assert one["difference"][0] == pytest.approx(two["difference"][0], abs=1e-12)

    def test_few_annotators_are_not_tested(self) -> None:
        cells = study(5, people=4)
        found = disagreement(labels_of(cells, ["f", "f", "m", "m"]), by="gender", method="none")
        assert found.groups is not None
        assert found.groups["p"].to_list() == [None]
        assert found.groups["reason"].to_list() == ["2 and 2 annotators are too few: the smallest possible p is 1/3"]
        assert "gender f and m: not tested, 2 and 2 annotators are too few" in found.summary()

    def test_a_group_of_one_has_no_distances_within(self) -> None:
        found = disagreement(labels_of(study(6), ["f"] * 7 + ["m"]), by="gender", method="none").groups
        assert found["reason"].to_list() == ["no two annotators of m labelled the same item"]
        assert found["difference"].to_list() == [None]

    def test_sentences_follow_the_test(self) -> None:
        apart = disagreement(labels_of(study(7, shift=1.5), HALF), by="gender", method="none")
        assert "significantly more than among themselves, beyond differences in care" in apart.summary()
        alike = disagreement(labels_of(study(8), HALF), by="gender", method="none")
        assert "gender f and m: no significant difference" in alike.summary()

    @pytest.mark.parametrize(
        ("by", "error", "words"),
        [
            ("gendre", DataError, "gender"),
            ("item", DesignError, "does not describe annotators"),
            ("annotator", DesignError, "does not describe annotators"),
        ],
    )
    def test_other_columns_are_refused(self, by: str, error: type[Exception], words: str) -> None:
        with pytest.raises(error, match=words):
            disagreement(labels_of(study(1), HALF), by=by, method="none")

    def test_repeats_do_not_count_as_further_annotators(self) -> None:
        once = labels_of(study(1), HALF)
        twice = pl.concat([once.labels.with_columns(repeat=pl.lit(k)) for k in (1, 2)])
        labels = assay.Annotations.from_frame(twice, scale=assay.Ordinal(1, 5), annotator_table=once.annotators)
        with pytest.raises(DesignError, match="each annotator counts once"):
            disagreement(labels, by="gender", repeats="each", method="none")
        found = disagreement(labels, by="gender", repeats="first", method="none").groups
        assert found["annotators"].to_list() == [4]

    def test_annotators_without_a_value_are_counted(self) -> None:
        found = disagreement(labels_of(study(1), [*HALF[:7], None]), by="gender", method="none")
        assert found.groups["others"].to_list() == [3]
        assert any("no value of 'gender'" in str(one) for one in found.run.exclusions)

    def test_one_group_is_refused(self) -> None:
        with pytest.raises(DesignError, match="'gender' has 1 values"):
            disagreement(labels_of(study(1), ["f"] * 8), by="gender", method="none")

    @pytest.mark.simulation
    def test_alike_groups_differ_significantly_in_five_percent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # Binomial: .05 of 300 has a standard error of .0126. The test by assignments holds its level with any number of
        # them; a tenth of them takes a third of the time, and p-values are multiples of .001.
        monkeypatch.setattr(between_groups, "DRAWS", 999)
        groups, found = {"f": [f"p{k}" for k in range(6)], "m": [f"p{k}" for k in range(6, 12)]}, []
        for seed in range(300):
            labels = labels_of(study(100 + seed, people=12), ["f"] * 6 + ["m"] * 6)
            (row,) = between_groups.group_rows(Ratings.of(labels), groups, 4.0, 0)
            if seed == 0:
                asked = disagreement(labels, by="gender", method="none").groups.row(0, named=True)
                assert {name: asked[name] for name in row} == row
            found.append(row["p"])
        assert np.mean(np.array(found) <= 0.05) <= 0.05 + 3 * 0.0126

    @pytest.mark.parametrize("kind", ["ordinal", "nominal", "one"])
    def test_a_difference_in_care_is_no_disagreement(self, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Two groups that see the same truth: by assignments alone .35, 1.00 and .15 of studies claim disagreement."""
        monkeypatch.setattr(between_groups, "DRAWS", 499)
        group, found = ["f"] * 5 + ["m"] * 5, 0
        for seed in range(40):
            rng = np.random.default_rng(seed)
            spread = np.where(np.arange(10) < 5, 0.7, 1.5)
            if kind == "one":
                spread = np.where(np.arange(10) == rng.integers(0, 10), 2.0, 0.5)
            truth = rng.normal(3, 1, 60)[:, None] + rng.normal(0, 0.4, 10)
            cells = np.clip(np.round(truth + rng.normal(0, 1, (60, 10)) * spread), 1, 5)
            if kind == "nominal":
                wrong = rng.random((60, 10)) < np.where(np.arange(10) < 5, 0.05, 0.5)
                cells = np.where(wrong, rng.integers(1, 5, (60, 10)), rng.integers(1, 5, 60)[:, None]).astype(float)
            scale = assay.Nominal([1, 2, 3, 4]) if kind == "nominal" else None
            rows = disagreement(labels_of(cells, group, scale), by="gender", method="none").groups
            found += bool(rows["significant"][0])
        assert found <= 4

    @pytest.mark.parametrize("kind", ["items", "level", "opinion"])
    def test_other_opinions_are_found_also_of_groups_with_different_care(
        self, kind: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(between_groups, "DRAWS", 499)
        group, found = ["f"] * 5 + ["m"] * 5, 0
        for seed in range(12):
            rng = np.random.default_rng(seed)
            seen = np.tile(rng.normal(3, 1, 60)[:, None], (1, 10)) + rng.normal(0, 0.3, 10)
            seen[::2, :5] += {"items": 1.5, "level": 1.2, "opinion": 0}[kind]
            seen[1::2, :5] += {"items": 0, "level": 1.2, "opinion": 0}[kind]
            cells = np.clip(np.round(seen + rng.normal(0, 1, (60, 10)) * np.where(np.arange(10) < 5, 0.6, 1.0)), 1, 5)
            if kind == "opinion":
                truth = np.tile(rng.integers(1, 5, 60)[:, None], (1, 10))
                truth[:20, :5] = truth[:20, :5] % 4 + 1
                wrong = rng.random((60, 10)) < np.where(np.arange(10) < 5, 0.1, 0.3)
                cells = np.where(wrong, rng.integers(1, 5, (60, 10)), truth).astype(float)
            scale = assay.Nominal([1, 2, 3, 4]) if kind == "opinion" else None
            rows = disagreement(labels_of(cells, group, scale), by="gender", method="none").groups
            found += bool(rows["significant"][0])
        assert found >= 8
