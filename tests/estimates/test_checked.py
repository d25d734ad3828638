"""Human-labelled items of a judge's items, calculated by hand; tests of random sampling, against scipy."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

import assay
from assay.data.ratings import Ratings
from assay.data.scales import Interval, Nominal
from assay.errors import DataError, DesignError
from assay.estimates.checked import (
    DOUBTED,
    MOST_LEVELS,
    REFUSED,
    SamplingCheck,
    SpotChecks,
    _column_numbers,
    _merge_counts,
    _read_slice,
    item_column,
    judge_of,
    ridge,
    sampling_checks,
)

NAN = math.nan
JUDGED = np.array([1.0, 2, 3, 4, 5, NAN, 2, 4])


def eight(**more) -> SpotChecks:
    """A judge's labels of eight items but one; Ann labelled four items, Bob two of these."""
    position = np.array([0, 2, 3, 6])
    made = SpotChecks(
        ("m",), ("ann", "bob"), Interval(1, 5), None, 8, JUDGED[:, None], None, position, np.array([0, 1, 2, 3, 1, 3]),
        np.array([0, 0, 0, 0, 1, 1]), np.array([1.0, 3, 5, 2, 4, 2]), JUDGED[position, None], np.ones(4), "abc",
    )  # fmt: skip
    return replace(made, **more)


def table(of_item_5: str = "m") -> assay.Annotations:
    """The same, with an additional label of item 5."""
    rows = [(f"i{i}", "m", x) for i, x in enumerate(JUDGED) if i != 5] + [("i5", of_item_5, 3.0)]
    rows += [(f"i{i}", "ann", y) for i, y in ((0, 1.0), (2, 3.0), (3, 5.0), (6, 2.0))]
    rows += [("i2", "bob", 4.0), ("i6", "bob", 2.0)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    about = pl.DataFrame({"item": [f"i{i}" for i in range(8)], "half": list("aaaabbbb")})
    return assay.Annotations.from_frame(frame, judges=["m"], scale=Interval(1, 5), items=about)


# -- who labelled what --------------------------------------------------------------------------------


def test_spot_checks_reads_table_as_arrays():
    found, wanted = SpotChecks.of(table(), ("m",)), eight()
    assert (found.n_all, found.n, found.people, found.judges, found.n_unjudged) == (8, 4, ("ann", "bob"), ("m",), 0)
    assert found.position.tolist() == wanted.position.tolist()
    order = np.lexsort((found.row, found.person))
    for name in ("row", "person", "y"):
        assert getattr(found, name)[order].tolist() == getattr(wanted, name).tolist()
    assert found.values[:, 0].tolist() == [1, 2, 3, 4, 5, 3, 2, 4]
    np.testing.assert_array_equal(found.judged, wanted.judged)
    assert found.weight.tolist() == [1] * 4
    strata = SpotChecks.of(table(), ("m",), strata="half", clusters="half")
    assert strata.stratum.tolist() == strata.cluster.tolist() == [0] * 4 + [1] * 4
    assert strata.weight.tolist() == [4 / 3] * 3 + [4]


def test_spot_checks_counts_judge_labels_of_chunks():
    ratings = Ratings.of(table("cat"))
    code = np.array([{"m": 0, "ann": 1, "bob": 2, "cat": -1}[name] for name in ratings.annotators])
    values, counts, position, row, person, y, judged = _read_slice(lambda: ratings.answers, 100, code, 1, True)
    np.testing.assert_array_equal(values[:, 0], [1, 2, 3, 4, 5, NAN])
    assert counts.tolist() == [1, 2, 1, 2, 1, 1]
    assert position.tolist() == [100, 102, 103, 106]
    assert sorted(zip(row.tolist(), person.tolist(), y.tolist(), strict=True)) == [
        (0, 0, 1.0), (1, 0, 3.0), (1, 1, 4.0), (2, 0, 5.0), (3, 0, 2.0), (3, 1, 2.0)
    ]  # fmt: skip
    assert judged[:, 0].tolist() == [1, 3, 4, 2]
    plain = _read_slice(lambda: ratings.answers, 0, code, 1, False)
    np.testing.assert_array_equal(plain[0][:, 0], JUDGED)
    assert plain[1] is None
    alone = _read_slice(lambda: ratings.answers, 0, np.where(code == 2, -1, code), 1, False)
    assert sorted(alone[4].tolist()) == [0] * 4  # who has no code is left out
    seen, number = _merge_counts([np.array([[1.0], [3], [NAN]]), np.array([[1.0], [2], [NAN]])],
                                 [np.array([4.0, 1, 2]), np.array([5.0, 7, 1])])  # fmt: skip
    np.testing.assert_array_equal(seen[:, 0], [1, 2, 3, NAN])
    assert number.tolist() == [9, 7, 1, 3]


def test_some_people_and_some_items():
    bob = eight().select_people(("bob",))
    assert (bob.row.tolist(), bob.person.tolist(), bob.y.tolist()) == ([0, 1], [0, 0], [4, 2])
    assert (bob.position.tolist(), bob.judged[:, 0].tolist(), bob.n) == ([2, 6], [3, 2], 2)
    turned = eight().select_people(("bob", "ann"))
    assert turned.person.tolist() == [1, 1, 1, 1, 0, 0]
    keep = np.array([False, True, True, True, False, False, True, True])
    columns = {"x": pl.Series(range(8))}
    some = eight(cluster=np.array([0, 0, 2, 2, 1, 1, 3, 3]), stratum=np.arange(8), columns=columns).where(keep)
    assert (some.n_all, some.position.tolist(), some.row.tolist()) == (5, [1, 2, 3], [0, 1, 2, 0, 2])
    assert (some.person.tolist(), some.y.tolist()) == ([0, 0, 0, 1, 1], [3, 5, 2, 4, 2])
    assert (some.values[:, 0].tolist(), some.judged[:, 0].tolist()) == ([2, 3, 4, 2, 4], [3, 4, 2])
    assert (some.cluster.tolist(), some.stratum.tolist()) == ([0, 1, 1, 2, 2], [0, 1, 2, 3, 4])
    assert some.columns["x"].to_list() == [1, 2, 3, 6, 7]
    assert eight().where(keep).cluster is None
    assert eight().where(keep).stratum is None
    few = eight().where(np.arange(8) < 3)  # of items 0 and 2 Bob labelled one
    assert few.people == ("ann", "bob")
    assert few.present().people == ("ann",)
    assert few.present().y.tolist() == [1, 3]
    assert eight().present().people == ("ann", "bob")


def test_too_little_to_correct_with_is_refused():
    def refused(made: SpotChecks) -> str:
        with pytest.raises(DesignError) as found:
            made._refuse_few()
        return str(found.value)

    assert refused(eight(people=())) == "an estimate requires human labels of some items; the table has none"
    nothing = "no item has both a label of 'm' and a human label, so the judge's errors are not estimable"
    assert refused(eight(judged=np.full((4, 1), NAN))).startswith(nothing)
    assert refused(eight(row=np.empty(0, int))).startswith(nothing)
    assert refused(eight().where(np.arange(8) == 2)).startswith("humans labelled one item, ")
    each = eight(row=np.array([0, 1]), person=np.array([0, 1]), y=np.array([1.0, 3]))
    assert refused(each).startswith("no annotator labelled two items")
    assert eight()._refuse_few().people == ("ann", "bob")
    one = eight(row=np.array([0, 1, 2, 3, 1]), person=np.array([0, 0, 0, 0, 1]), y=np.arange(5.0))._refuse_few()
    assert (one.people, one.y.tolist()) == (("ann",), [0, 1, 2, 3])
    (out,) = one.exclusions
    assert (out.what, out.count, out.reason, out.names) == ("annotator", 1, "labelled fewer than 2 items", ("bob",))


def test_weights_of_strata_and_of_groups_that_are_balanced():
    """Strata of 3 and 5 items with 2 and 2 labelled: weights 1.5 and 2.5."""
    codes = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    made = eight().stratify(codes, "s")
    assert made.weight.tolist() == [1.5, 1.5, 2.5, 2.5]
    assert made.stratum is codes
    with pytest.raises(DesignError, match="1 stratum of 's' has no labelled items; label some items of it"):
        eight().stratify(np.array([0, 0, 0, 0, 1, 1, 0, 0]), "s")
    with pytest.raises(DesignError, match="2 strata of 's' have no labelled items; label some items of each"):
        eight().stratify(np.array([0, 0, 0, 0, 1, 2, 0, 0]), "s")
    assert eight().stratify(np.array([0, 0, 0, 2, 2, 2, 2, 2]), "s").weight.tolist() == [1.5, 1.5, 2.5, 2.5]
    units = np.arange(8)[::-1].copy()
    alike = eight().balance(codes, units)
    assert alike.weight.tolist() == [1.5, 1.5, 2.5, 2.5]
    assert (alike.stratum, alike.cluster) == (None, units)
    # Within strata too: group 0 has two items of stratum 0 (item 0 labelled) and one of stratum 1 (item 2).
    both = eight(stratum=np.array([0, 0, 1, 1, 1, 0, 0, 0])).balance(codes, units)
    assert both.weight.tolist() == [2, 1, 2, 3]


def with_column(name: str, values) -> assay.Annotations:
    one = table()
    return assay.Annotations.from_frame(
        one.labels.select("item", "annotator", "label"), judges=["m"], scale=Interval(1, 5),
        items=pl.DataFrame({"item": [f"i{i}" for i in range(8)], name: values}),
    )  # fmt: skip


def test_probabilities_become_weights():
    chances = [0.5, None, 1.0, 0.25, 7.0, None, 0.2, None]  # of items 0, 2, 3 and 6
    found = SpotChecks.of(with_column("chance", chances), ("m",), probabilities="chance")
    assert found.weight.tolist() == [2, 1, 4, 5]
    for wrong in (0.0, 1.01, None, -0.5):
        chances[3] = chances[6] = wrong
        with pytest.raises(DataError, match="probability above 0 and up to 1 in 'chance'; item 'i3' has none"):
            SpotChecks.of(with_column("chance", chances), ("m",), probabilities="chance")


def test_gold_column_replaces_humans():
    truth = [1.0, None, 5.0, None, 2.0, None, None, 3.0]
    found = SpotChecks.of(with_column("truth", truth), ("m",), gold="truth")
    assert (found.people, found.position.tolist(), found.y.tolist()) == (("truth",), [0, 2, 4, 7], [1, 5, 2, 3])
    assert (found.row.tolist(), found.person.tolist(), found.weight.tolist()) == ([0, 1, 2, 3], [0] * 4, [1] * 4)
    assert found.judged[:, 0].tolist() == [1, 3, 5, 4]
    for wrong in (0.9, 5.1):
        truth[4] = wrong
        with pytest.raises(DataError, match=f"'truth' has {wrong}, which is not on the scale"):
            SpotChecks.of(with_column("truth", truth), ("m",), gold="truth")
    free = eight(scale=Interval())._use_gold(pl.Series([-7.0, None, 99.0, None]), "truth")
    assert free.y.tolist() == [-7, 99]
    words = eight(categories=("no", "yes"), scale=Nominal(("no", "yes")))
    assert words._use_gold(pl.Series(["yes", None, "no"]), "truth").y.tolist() == [1, 0]
    with pytest.raises(DataError, match="'truth' has 'maybe', which is not on the scale"):
        words._use_gold(pl.Series(["yes", None, "maybe"]), "truth")


def test_categories_are_regressors_one_by_one_unless_they_have_an_order():
    values = np.array([0.0, 1, 2, 2, NAN, 0, 1, 2])
    one = eight(values=values[:, None], categories=("a", "b", "c"), scale=Nominal(("a", "b", "c")))
    wanted = [[0, 0], [1, 0], [0, 1], [0, 1], [0, 0], [0, 0], [1, 0], [0, 1]]
    assert one._judge_columns(0).tolist() == wanted
    mean = float(np.nanmean(values))
    ordered = replace(one, scale=assay.Ordinal(1, 3))
    assert ordered._judge_columns(0)[:, 0].tolist() == [0, 1, 2, 2, mean, 0, 1, 2]
    assert replace(one, categories=None, scale=Interval())._judge_columns(0).shape == (8, 1)


# -- judge labels of all items -----------------------------------------------------------------------


def test_judge_mean_over_all_items():
    """Of 1, 2, 3, 4, 5, 2, 4 the mean is 3, squares are 4 + 1 + 0 + 1 + 4 + 1 + 1 = 12 over eight items."""
    one = eight().seen(lambda x: x)
    assert (one.mean, one.variance, one.row.tolist()) == (3, 1.5, [1, 3, 4, 2])
    assert one.everywhere.tolist() == [1, 2, 3, 4, 5, 3, 2, 4]
    assert one.cluster_sums is None
    clustered = eight(cluster=np.array([0, 0, 0, 0, 1, 1, 1, 2])).seen(lambda x: 2 * x)
    assert clustered.cluster_sums.tolist() == [-4, 2, 2]
    assert (clustered.mean, clustered.variance) == (6, 6)
    tabled = eight(values=np.array([[1.0], [2], [3], [4], [5], [NAN]]), counts=np.array([1.0, 2, 1, 2, 1, 1]))
    other = tabled.seen(lambda x: x)
    assert (other.mean, other.variance, other.row.tolist(), other.everywhere) == (3, 1.5, [1, 3, 4, 2], None)
    assert (tabled.n_unjudged, eight().n_unjudged) == (1, 1)
    lacking = eight(judged=np.array([[1.0], [NAN], [4], [2]])).seen(lambda x: x)
    assert lacking.row.tolist() == [1, 3, 4, 2]
    nobody = eight(values=np.full((8, 1), NAN)).seen(lambda x: x)
    assert (nobody.mean, nobody.variance, nobody.row.tolist()) == (0, 0, [0] * 4)


def test_how_items_were_drawn():
    codes = np.array([0, 0, 1, 1, 1, 2, 2, 2])
    drawn = eight(cluster=codes, stratum=codes[::-1].copy()).drawn("finite")
    assert (drawn.n_people, drawn.n_all, drawn.finite) == (2, 8, True)
    assert eight().drawn("infinite").finite is False
    assert (drawn.cluster.tolist(), drawn.cluster_sizes.tolist()) == ([0, 1, 1, 2], [2, 3, 3])
    assert (drawn.stratum.tolist(), drawn.stratum_sizes.tolist()) == ([2, 2, 1, 0], [2, 3, 3])
    plain = eight().drawn("finite")
    assert (plain.cluster, plain.cluster_sizes, plain.stratum, plain.stratum_sizes) == (None,) * 4


def test_ridge_shrinks_slopes_slightly():
    """As if each regressor had one more separate row, √1 by 0."""
    rng = np.random.default_rng(1)
    x, y, weight = rng.normal(size=(12, 2)), rng.normal(size=12), rng.uniform(1, 3, 12)
    w = weight / weight.mean()
    centre, mean = np.average(x, axis=0, weights=w), np.average(y, weights=w)
    rows = np.r_[(x - centre) * np.sqrt(w)[:, None], np.eye(2)]
    slopes = np.linalg.lstsq(rows, np.r_[(y - mean) * np.sqrt(w), 0, 0])[0]
    a, b = ridge(x, y, weight)
    assert b == pytest.approx(slopes)
    assert a == pytest.approx(mean - centre @ slopes)
    assert ridge(x, y, 5 * weight)[0] == pytest.approx(a)


def test_prediction_is_cross_fitted():
    rng = np.random.default_rng(2)
    n, position = 40, np.arange(0, 40, 2)
    values, y = rng.normal(size=(n, 1)), rng.normal(size=20)
    made = eight(n_all=n, values=values, position=position, row=np.arange(20), person=np.zeros(20, int), y=y,
                 judged=values[position], weight=rng.uniform(1, 2, 20), people=("ann",))  # fmt: skip
    found = made.predict_people(lambda v: 2 * v, 4, 0)
    part = made._fold_of(4, 0)
    assert np.bincount(part).tolist() == [5] * 4
    x = (values - values.mean()) / values.std()
    fits = [ridge(x[position[part != k]], 2 * y[part != k], made.weight[part != k]) for k in range(4)]
    everywhere = np.mean([x @ b + a for a, b in fits], axis=0)
    everywhere[position] = [(x[i] @ fits[k][1] + fits[k][0]) for i, k in zip(position, part, strict=True)]
    assert found.everywhere == pytest.approx(everywhere)
    assert found.row == pytest.approx(everywhere[position])
    assert found.mean == pytest.approx(everywhere.mean())
    assert np.unique(made._fold_of(99, 0)).tolist() == list(range(20))
    whole = replace(made, cluster=np.repeat(np.arange(10), 4))._fold_of(4, 0)
    assert all(whole[2 * i] == whole[2 * i + 1] for i in range(10))
    assert sorted(np.bincount(whole).tolist()) == [4, 4, 6, 6]


def test_regressors_need_five_labelled_items_each():
    words = pl.Series(list("aabbaabb"))
    enough = eight(n_all=8, position=np.arange(8)[:5], weight=np.ones(5))
    assert enough._regressors()[:, 0] == pytest.approx((np.where(np.isnan(JUDGED), 3, JUDGED) - 3) / math.sqrt(1.5))
    assert replace(enough, columns={"x": pl.Series([1.0] * 8)})._regressors().shape == (8, 1)  # what does not vary
    with pytest.raises(DesignError, match="a prediction from 2 judges, columns and levels requires 10 labelled items"):
        replace(enough, columns={"x": words})._regressors()
    with pytest.raises(DesignError, match="requires 5 labelled items"):
        eight()._regressors()


def test_columns_as_numbers():
    assert _column_numbers(pl.Series([1, None, 4]), "x").tolist() == [[1], [2.5], [4]]
    assert _column_numbers(pl.Series([True, False]), "x").tolist() == [[1], [0]]
    assert _column_numbers(pl.Series(["b", None, "a", "b"]), "x").tolist() == [[0, 1], [0, 0], [1, 0], [0, 1]]
    assert _column_numbers(pl.Series(["a", "a"]), "x").tolist() == [[0], [0]]
    texts = [f"t{i}" for i in range(MOST_LEVELS + 1)]
    assert _column_numbers(pl.Series(texts[:-1]), "x").shape == (10, 9)
    with pytest.raises(
        DesignError, match="'x' has 11 different texts; a covariate must be a number or have at most 10"
    ):
        _column_numbers(pl.Series(texts), "x")
    with pytest.raises(DataError, match="half"):
        item_column(table(), "haf")
    assert item_column(table(), "half").to_list() == list("aaaabbbb")


def test_whose_judge_is_meant():
    assert judge_of(table(), None) == judge_of(table(), "m") == "m"
    with pytest.raises(DataError, match="'n'"):
        judge_of(table(), "n")
    nobody = table().where(kind="human")
    with pytest.raises(DesignError, match=r"specify the judge with judge=\.\.\.; the table has no judge"):
        judge_of(nobody, None)


# -- may it be a sample? ------------------------------------------------------------------------------


def column_checks(*values, **more) -> list[SamplingCheck]:
    """The checks of a column ``x`` of the items; two more tests are of the order of names, and p-values are tripled."""
    about = pl.DataFrame({"item": [f"i{i}" for i in range(len(values))], "x": pl.Series(values, strict=False)})
    options = {"n_all": len(values), "judges": (), "values": np.ones((len(values), 1)), **more}
    found = sampling_checks(eight(table=replace(table(), items=about), **options))
    checks = [one for one in found if "'x'" in one.words]
    assert len(found) == 1 + len(checks)
    return checks


@pytest.mark.parametrize(("n", "count", "n_all"), [(4, 3, 8), (10, 40, 50), (3, 1, 9), (5, 9, 9), (6, 6, 12)])
def test_shares_have_exact_tails_and_the_smaller_is_doubled(n, count, n_all):
    """The judge has two labels, the second given to ``count`` items, of which k of n have human labels."""
    one = stats.hypergeom(n_all, count, n)
    for k in range(max(0, n + count - n_all), min(n, count) + 1):
        values = np.zeros((n_all, 1))
        values[:k] = values[n : n + count - k] = 1
        some = np.arange(n)
        checks = eight(n_all=n_all, values=values, position=some, judged=values[:n], row=some, person=0 * some,
                       y=1.0 * some, weight=np.ones(n))  # fmt: skip
        found = [each.p for each in sampling_checks(checks)]
        several = 1 + (0 < count < n_all)
        assert found == pytest.approx([min(several * 2 * min(one.cdf(k), one.sf(k - 1)), 1)] * several)


def test_mean_shift_uses_design_error():
    """Four of 8 items have value 1; of seven values the mean is 15 / 7, and the variance 49 / 7 − (15 / 7)²."""
    (found,) = column_checks(1.0, 2.0, 1.0, 1.0, 5.0, None, 1.0, 4.0)
    p = 2 * stats.t.sf((15 / 7 - 1) / math.sqrt((7 - (15 / 7) ** 2) / 4 * (1 - 4 / 8)), 3)
    assert found == SamplingCheck(pytest.approx(3 * p), "the mean of 'x' is 1 on them and 2.14 on all")
    # An item without a value counts as the mean: three of four are 11 / 7 below it.
    (lacking,) = column_checks(1.0, 2.0, 1.0, 1.0, 5.0, 4.0, None, 4.0)
    p = 2 * stats.t.sf(3 / 4 * 11 / 7 / math.sqrt((64 / 7 - (18 / 7) ** 2) / 4 * (1 - 4 / 8)), 3)
    assert lacking.p == pytest.approx(3 * p)


def test_weights_clusters_and_strata_have_their_own_error():
    """Items 0, 2, 3 and 6 are labelled; the mean of all is 0."""
    x = (2.0, -5.5, 0.5, 1.0, 0.0, 0.0, 2.0, 0.0)
    off = np.array([2, 0.5, 1, 2])
    (found,) = column_checks(*x, weight=np.array([1.0, 1, 2, 4]))
    each = np.array([1, 1, 2, 4]) / 8 * off
    assert found.p == pytest.approx(3 * 2 * stats.t.sf(each.sum() / math.sqrt(each @ each), 3))
    (found,) = column_checks(*x, cluster=np.array([0, 1, 0, 1, 1, 1, 2, 2]))  # items 0 and 2; 3; 6
    units = np.array([2.5, 1, 2]) / 4
    assert found.p == pytest.approx(3 * 2 * stats.t.sf(units.sum() / math.sqrt(units @ units), 2))
    (found,) = column_checks(*x, stratum=np.array([0, 1, 0, 1, 1, 1, 1, 1]))
    within = np.array([0.75, -0.75, -0.5, 0.5]) / 4 * math.sqrt(2)  # two items a stratum: one degree
    assert found.p == pytest.approx(3 * 2 * stats.t.sf(5.5 / 4 / math.sqrt(within @ within), 3))
    # Equal to the mean of all: no error by the weights, and no check.
    assert column_checks(0, 1, 0, 0, -1, 2, 0, -2, weight=np.array([1.0, 1, 2, 4])) == []
    (even,) = column_checks(0, 1, 0, 0, -1, 2, 0, -2)
    assert even.p == 1


def test_level_has_exact_tail_for_equal_probabilities():
    """All four labelled items have b, as no other item: twice 1 / (8 over 4), and four tests."""
    values = ["b" if i in (0, 2, 3, 6) else "a" for i in range(8)]
    found = column_checks(*values)
    assert {one.words for one in found} == {
        "'x' is b for 100% of them and 50% of all",
        "'x' is a for 0% of them and 50% of all",
    }
    assert [one.p for one in found] == pytest.approx([4 * 2 / 70] * 2)
    for more in ({"weight": np.array([1.0, 1, 1, 2])}, {"cluster": np.arange(8)}):
        assert column_checks(*values, **more) == []  # two are expected, five are needed


def test_level_has_a_shift_for_unequal_probabilities():
    """The judge labels 50 of 400 items: of 40 labelled items an eighth is expected, five."""
    n, big = np.arange(40), np.arange(400) % 8 == 0
    big[[0, 1, 2, 3]] = True
    big[[200, 208, 216]] = False

    def checks(labelled) -> list[SamplingCheck]:
        values = np.where(labelled, 1.0, 0.0)[:, None]
        return sampling_checks(eight(n_all=400, values=values, position=n, row=n, person=0 * n, y=1.0 * n,
                                     weight=1.0 + (n > 20), judged=values[:40]))  # fmt: skip

    found = checks(big)
    each = (1.0 + (n > 20)) / (40 + 19) * (big[:40] - 1 / 8)
    assert [one.p for one in found] == pytest.approx(
        [2 * 2 * stats.t.sf(abs(each.sum()) / math.sqrt(each @ each), 39)] * 2
    )
    assert found[1].words == "'m' labels 20% of them and 12% of all as 1"
    fewer = big & (np.arange(400) > 0)
    assert checks(fewer) == checks(~fewer) == []


def test_few_judge_labels_are_checked_one_by_one():
    def words(**more) -> set[str]:
        return {one.words for one in sampling_checks(eight(**more))}

    assert words() == {
        "'m' labels 25% of them and 14% of all as 1", "'m' labels 25% of them and 29% of all as 2",
        "'m' labels 25% of them and 14% of all as 3", "'m' labels 25% of them and 29% of all as 4",
        "'m' labels 0% of them and 14% of all as 5",
    }  # fmt: skip
    assert words(values=np.array([[1.0], [2], [3], [4], [5], [NAN]]), counts=np.array([1.0, 2, 1, 2, 1, 1])) == words()
    assert words(
        categories=("no", "maybe", "yes"), scale=Nominal(("no", "maybe", "yes")),
        values=np.array([[0.0], [2], [2], [0], [0], [NAN], [0], [0]]), judged=np.array([[0.0], [2], [0], [0]]),
    ) == {"'m' labels 75% of them and 71% of all as no", "'m' labels 25% of them and 29% of all as yes"}  # fmt: skip
    ten, eleven = (np.arange(22.0) % k for k in (10, 11))
    some = {"n_all": 22, "position": np.arange(4), "judged": np.arange(4.0)[:, None]}
    assert len(sampling_checks(eight(values=ten[:, None], **some))) == 10
    (mean,) = sampling_checks(eight(values=eleven[:, None], **some))
    assert mean.words == "the mean label of 'm' is 1.5 on them and 5 on all"
    assert mean.p == pytest.approx(2 * stats.t.sf(3.5 / math.sqrt(10 / 4 * (1 - 4 / 22)), 3))
    (tabled,) = sampling_checks(eight(values=np.arange(11.0)[:, None], counts=np.full(11, 2.0), **some))
    assert tabled == SamplingCheck(pytest.approx(mean.p), mean.words)


def test_item_columns_are_checked_by_level_or_mean():
    def words(*values) -> list[str]:
        return sorted(one.words for one in column_checks(*values))

    assert words(*"abababa", None) == [
        "'x' is a for 75% of them and 50% of all", "'x' is b for 25% of them and 38% of all"
    ]  # fmt: skip
    assert words(*range(8)) == ["the mean of 'x' is 2.75 on them and 3.5 on all"]
    assert words(0, 1, 0, 1, 0, 1, 0, 1)[0] == "'x' is 0 for 75% of them and 50% of all"
    assert words(0, 1, 2, 1, 0, 1, 0, 1) == ["the mean of 'x' is 0.75 on them and 0.75 on all"]
    assert words(None, 1.0, None, None, 2.0, 3.0, None, 4.0) == []
    assert words([1], [2], [3], [4], [5], [6], [7], [8]) == []
    texts = [f"t{i}" for i in range(11)]
    assert words(*texts) == []
    assert len(words(*texts[:10], "t0")) == 10


def test_doubts_are_corrected_for_their_number_and_the_worst_comes_first():
    judged = np.nan_to_num(JUDGED, nan=1.0)
    made = eight(table=table(), values=judged[:, None])
    found = sampling_checks(made)
    assert [one.p for one in found] == sorted(one.p for one in found)
    place = next(one for one in found if "in the order of the item names" in one.words)
    assert place.words == "they are early in the order of the item names"
    # Places 0, 2, 3, 6 of 0 to 7: 2.75 against 3.5 with variance 63 / 12. Five labels, two halves, and two tests of the
    # order, one of which is returned.
    t = 0.75 / math.sqrt(63 / 12 / 4 / 2)
    assert len(found) == 8
    assert place.p == pytest.approx(min(9 * 2 * stats.t.sf(t, 3), 1))
    assert len(sampling_checks(made, skip=["half"])) == 6
    first = replace(made, position=np.arange(4), judged=judged[:4, None])
    place = next(one for one in sampling_checks(first) if "in the order" in one.words)
    shift = 2 * stats.t.sf(2 / math.sqrt(63 / 12 / 4 / 2), 3)  # 1.5 against 3.5
    assert place.p == pytest.approx(min(9 * shift, 1))
    assert (DOUBTED, REFUSED) == (0.01, 0.001)
    late = eight(table=table(), values=judged[:, None], position=np.array([1, 4, 5, 7]),
                 judged=judged[[1, 4, 5, 7], None])  # fmt: skip
    assert any("late in the order" in one.words for one in sampling_checks(late))
    assert sampling_checks(eight(n_all=4)) == []
    assert len(sampling_checks(eight())) == 5
    many = eight(n_all=3000, values=np.zeros((3000, 1)), position=np.arange(4), judged=np.ones((4, 1)))
    first = sampling_checks(replace(many, values=np.r_[np.ones(4), np.zeros(2996)][:, None]))
    assert [one.p for one in first] == pytest.approx([2 * 2 / math.comb(3000, 4)] * 2)


def order_check(labelled, n_all: int) -> SamplingCheck:
    """The check of the order of items named 1 to ``n_all``, some of them with a human label."""
    names = sorted(map(str, range(1, n_all + 1)))
    place = {name: i for i, name in enumerate(names)}
    some = np.sort([place[str(i)] for i in labelled])
    n, ones = np.arange(len(some)), np.ones((n_all, 1))
    checks = eight(n_all=n_all, values=ones, position=some, judged=ones[some], row=n, person=0 * n, y=1.0 * n,
                   weight=np.ones(len(n)), table=replace(table(), items=pl.DataFrame({"item": names})))  # fmt: skip
    return next(one for one in sampling_checks(checks) if "in the order of the item names" in one.words)


@pytest.mark.parametrize(
    ("labelled", "n_all", "words"),
    [
        (range(1, 101), 1000, "they are early in the order of the item names"),
        (range(1, 1001), 10_000, "they are early in the order of the item names"),
        (range(1, 501), 3500, "they are early in the order of the item names"),
        (range(901, 1001), 1000, "they are late in the order of the item names"),
        (range(401, 551), 1000, "they are close together in the order of the item names, half of them at places 438 to "
         "513 of 1,000"),
        ([*range(1, 51), *range(951, 1001)], 1000, "they are far apart in the order of the item names, half of them at "
         "places up to 25 or from 975 of 1,000"),
    ],
)  # fmt: skip
def test_order_of_names_that_are_numbers_is_that_of_the_numbers(labelled, n_all, words):
    found = order_check(labelled, n_all)
    assert (found.words, found.p < 1e-20) == (words, True)


def test_random_places_are_rarely_refused():
    """Of 200 studies 10 are expected below .05, and 2 below .01."""
    rng = np.random.default_rng(3)
    # Two tests; the judge's only label is another, which triples the p-value.
    p = np.array([order_check(1 + rng.choice(300, 60, replace=False), 300).p for _ in range(200)]) * 2 / 3
    assert 3 <= (p < 0.05).sum() <= 18
    assert (p < 0.01).sum() <= 6


class Folder:
    """A folder of chunks, which is never held whole."""

    judges, humans = ("m",), ("ann",)

    def in_memory(self, what: str):
        raise DesignError(f"not for {what}")


@pytest.mark.parametrize(
    ("columns", "first"),
    [
        ({"strata": "s", "probabilities": "p"}, "s"), ({"probabilities": "p", "gold": "g"}, "p"),
        ({"gold": "g", "clusters": "c"}, "g"), ({"clusters": "c", "columns": ("x",)}, "c"),
        ({"columns": ("x", "y")}, "x"),
    ],
)  # fmt: skip
def test_item_columns_require_table_in_memory(columns, first):
    with pytest.raises(DesignError) as found:
        SpotChecks.of(Folder(), ["m"], **columns)
    assert str(found.value) == f"not for an estimate with a column of the items ('{first}')"


def test_without_a_column_of_the_items_a_folder_may_be_read():
    with pytest.raises(DataError, match="judge 'z' is not in the judges of the table"):
        SpotChecks.of(Folder(), ["z"])
    with pytest.raises(DesignError, match="'m' is the judge and cannot also be one of the annotators"):
        SpotChecks.of(Folder(), ["m"], ["m"])


def _by_ward(seed: int, *, random: bool) -> assay.results.CorrectedEstimate:
    """Severity 0 to 4 of 240 reports; the judge is too high in one ward, whose reports alone a third person read."""
    rng = np.random.default_rng(seed)
    ward, true = rng.random(240) < 0.45, 1.8 + 1.2 * rng.normal(size=240)
    given = {who: np.clip(np.round(true + 0.6 * rng.normal(size=240)), 0, 4) for who in ("ann", "bob", "cho")}
    given["cho"] = np.where(rng.permutation(ward) if random else ward, given["cho"], np.nan)
    judge = np.clip(np.round(true + 0.8 * ward + 0.6 * rng.normal(size=240)), 0, 4)
    frame = pl.DataFrame(
        {"id": [f"r{k}" for k in range(240)], "ward": ["NS"[int(w)] for w in ward], **given, "m": judge}
    )
    labels = assay.read(frame.with_columns(pl.col("cho").fill_nan(None)), layout="wide", item="id", judges=["m"],
                        columns=["ann", "bob", "cho", "m"], scale="0-4")  # fmt: skip
    return assay.estimate(labels, "m")


def test_an_annotator_of_one_stratum_is_a_caution() -> None:
    """The judge's errors on its items then correct the judge's labels of all items: 77% coverage without covariates."""
    (caution,) = [one for one in _by_ward(0, random=False).run.cautions if "not like the others" in one]
    assert caution.startswith("cho's items are not like the others: 'ward' is N for 0% of them and 60% of all")
    assert "set covariates=... to the columns by which items were given to annotators" in caution
    few = [any("not like the others" in one for one in _by_ward(seed, random=True).run.cautions) for seed in range(20)]
    assert sum(few) <= 1


@pytest.mark.parametrize(("elsewhere", "refused"), [(1, True), (2, True), (3, False)])
def test_majorities_of_other_numbers_of_repeats_are_refused(elsewhere: int, refused: bool):
    """Of three runs on the labelled items and one elsewhere, intervals covered the share in half of the studies."""
    rng = np.random.default_rng(4)
    rows = []
    for k in range(150):
        rows += [(f"i{k:03d}", "gpt", rng.choice(["yes", "no"]), r) for r in range(3 if k % 3 == 0 else elsewhere)]
        rows += [(f"i{k:03d}", "ann", rng.choice(["yes", "no"]), 0)] if k % 3 == 0 else []
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "repeat"], orient="row")
    labels = assay.Annotations.from_frame(frame, judges=["gpt"], scale="nominal:no,yes")
    if refused:
        with pytest.raises(DesignError, match=rf"'gpt' labelled .* 3 times each and the others {elsewhere} times"):
            assay.estimate(labels, "gpt", repeats="majority")
    else:
        assert assay.estimate(labels, "gpt", repeats="majority").lines[0].found.low > 0
    assert assay.estimate(labels, "gpt", repeats="first").lines[0].found.low > 0
