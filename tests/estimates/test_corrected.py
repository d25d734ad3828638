"""Means, shares and quantiles of all items: by hand, against ppi-python, in words, and how often intervals cover."""

from __future__ import annotations

import dataclasses
import importlib.util
import math
import sys
import types
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from checked_studies import checked_study, of_arrays
from scipy import stats

import assay
from assay.errors import DataError, DesignError
from assay.estimates import checked, corrected
from assay.estimates.checked import SamplingCheck
from assay.estimates.contrasts import SystemContrast
from assay.estimates.corrected import (
    CorrectedEstimate,
    EstimateLine,
    EstimateSettings,
    _codes,
    _fit_estimator,
    _has_several,
    _is,
    _labels_of,
    _labels_saved,
    _ppi_line,
    _quantile,
    _share_up_to,
    _skew_caution,
    _slices,
    _spread,
)
from assay.estimates.difference import MeanSpread
from assay.estimates.words import estimate_lines
from assay.estimation.intervals import Estimate, missing
from assay.estimation.result import Run
from selection import keep_rows


def estimated(labels, **options):
    return assay.estimate(labels, options.pop("judge", "judge"), **options)


# -- by hand and against others -------------------------------------------------------------------------


def test_binary_judge_is_post_stratified():
    """The estimate is the mean of people's shares in the judge's two groups, weighted by how large these are."""
    f = np.array([1, 1, 1, 1, 0, 0, 0, 0], float)
    y = np.array([1, 1, 1, 0, 0, 0, 0, 1], float)
    rest = np.array([1] * 9 + [0] * 3, float)
    found = estimated(of_arrays(y, f, rest), sampling="trust", population="infinite")
    share = 13 / 20  # the judge says 1 of 4 + 9 items of 20
    f_test = 0.25 * 6 / 0.75  # r = .5: F = 2 is above 1, so the judge counts
    assert f_test > 1
    assert found.table["estimate"][0] == pytest.approx(share * 3 / 4 + (1 - share) * 1 / 4, abs=1e-14)


def test_annotators_have_equal_weights():
    """Ann labelled 4 items and says 1; Bob 2 items and says 0: the mean of these two people is a half."""
    rows = [(f"i{i}", "ann", 1.0) for i in range(4)] + [(f"i{i}", "bob", 0.0) for i in range(2)]
    rows += [(f"i{i}", "judge", float(i % 2)) for i in range(6)]
    labels = assay.Annotations.from_frame(
        pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row"), judges=["judge"], scale="interval:0-1"
    )
    assert estimated(labels).table["estimate"][0] == pytest.approx(0.5)


PPI = [  # ppi_py.ppi_mean_ci of ppi-python 0.2.3: y, f of labelled items, f of others, level, low, high, point
    (
        [(i * 7) % 5 in (0, 3) for i in range(40)],
        [((i * 7) % 5 in (0, 3)) ^ (i % 6 == 0) for i in range(40)],
        [(i * 11) % 7 in (0, 2, 5) for i in range(160)],
        0.95, 0.27864129, 0.52765104, 0.40314616,
    ),
    (
        [((i * 13) % 11) / 2 for i in range(30)],
        [((i * 13) % 11) / 2 + ((i * 5) % 7 - 3) / 3 for i in range(30)],
        [((i * 17) % 23) / 4 for i in range(90)],
        0.90, 2.36019977, 2.93326936, 2.64673456,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("y", "f", "rest", "level", "low", "high", "point"), PPI)
def test_ppi_estimator_matches_stored_digits(y, f, rest, level, low, high, point):
    labels = of_arrays(*(np.array(x, float) for x in (y, f, rest)))
    row = estimated(labels, estimator="ppi++", confidence=level, sampling="trust").table.row(0, named=True)
    assert (row["low"], row["high"], row["estimate"]) == pytest.approx((low, high, point), abs=1e-8)


def test_ppi_estimator_matches_ppi_python():
    ppi_py = pytest.importorskip("ppi_py", reason="needs ppi-python 0.2.3")
    for y, f, rest, level, *_ in PPI:
        y, f, rest = (np.array(x, float) for x in (y, f, rest))
        row = estimated(of_arrays(y, f, rest), estimator="ppi++", confidence=level, sampling="trust").table
        low, high = ppi_py.ppi_mean_ci(y, f, rest, alpha=1 - level)
        assert (row["low"][0], row["high"][0]) == pytest.approx((low[0], high[0]), abs=1e-10)


def test_labelled_items_that_a_judge_saves():
    """Twice the variance takes twice the items; a variance of nothing, or a larger one, saves none."""

    def saved(corrected: float, alone: float) -> int | None:
        return _labels_saved(SimpleNamespace(n=10, variance=corrected), SimpleNamespace(variance=alone))

    assert [saved(0.5, 1.0), saved(0.4, 1.0), saved(1.0, 0.5)] == [10, 15, 0]
    assert saved(0.0, 1.0) is None
    assert saved(1.0, 0.0) is None


def test_reversed_judge_is_equally_useful():
    """λ is not clipped: 6 minus the judge's label gives the same interval."""
    labels = checked_study()
    turned = labels.labels.with_columns(
        label=pl.when(pl.col("annotator") == "judge").then(6 - pl.col("label")).otherwise(pl.col("label"))
    )
    one, other = (estimated(dataclasses.replace(labels, labels=frame)).table for frame in (labels.labels, turned))
    for column in ("estimate", "low", "high"):
        assert one[column][0] == pytest.approx(other[column][0], abs=1e-12)
    assert one["weight"][0] == pytest.approx(-other["weight"][0])


def test_shares_add_up_to_one_and_their_mean_is_near_the_mean():
    found = estimated(checked_study(), target="shares").table
    assert found["estimate"].sum() == pytest.approx(1.0, abs=1e-12)
    mean = estimated(checked_study()).table["estimate"][0]
    assert float((found["estimate"] * pl.Series([1.0, 2, 3, 4, 5])).sum()) == pytest.approx(mean, abs=0.1)


@pytest.mark.slow
def test_useless_judge_gets_weight_zero():
    rng = np.random.default_rng(4)
    y, f = rng.random(60).round(), rng.random(60).round()
    found = [estimated(of_arrays(y, rng.permutation(f), rng.random(400).round()), sampling="trust") for _ in range(20)]
    left_out = [one for one in found if one.table["weight"][0] == 0]
    assert len(left_out) >= 8
    row = left_out[0].table.row(0, named=True)
    assert (row["estimate"], row["low"]) == pytest.approx((row["humans_only"], row["humans_only_low"]))
    assert "The judge adds no precision here." in left_out[0].summary()


def test_quantiles_hold_the_true_ones():
    labels = checked_study(400, 4000, 1, scale="0-20", seed=8)
    found = estimated(labels, target="quantiles", quantiles=(0.1, 0.5, 0.9)).table
    assert (found["low"] < found["high"]).all()
    assert found["low"][1] <= 10 <= found["high"][1]  # labels are symmetric around 10
    assert found["estimate"].is_sorted()
    # The judge's own are the 400th, 2,000th and 3,600th of its 4,000 labels.
    own = labels.labels.filter(annotator="judge")["label"].sort()
    assert found["judge_only"].to_list() == [own[399], own[1999], own[3599]]


def test_several_judges_and_a_column_make_one_prediction():
    labels = checked_study(200, 2000, 1, noise=1.5, seed=3)
    one = estimated(labels).table
    more = estimated(labels, judge=["judge", "other"], covariates=["length"]).table
    width = [row["high"][0] - row["low"][0] for row in (one, more)]
    assert width[1] < width[0]
    assert 0 <= more["weight"][0] <= 1


def test_random_raters_are_wider_and_one_tells_nothing():
    labels = checked_study()
    fixed, random = (estimated(labels, raters=raters).table for raters in ("fixed", "random"))
    assert random["high"][0] - random["low"][0] > fixed["high"][0] - fixed["low"][0]
    alone = estimated(labels, raters="random", annotators=["ann_1"]).table
    assert alone["reason"][0].startswith("the variance among annotators cannot be estimated")
    assert np.isnan(alone["low"][0])


def test_slices_hold_together_and_are_wider():
    labels = checked_study(300, 3000)
    both = estimated(labels, by="language")
    assert "Brackets: 95% confidence intervals, simultaneous for the 2 slices." in both.summary()
    assert "Brackets: 95% confidence intervals." in estimated(labels).summary()
    assert both.table["slice"].to_list() == ["de", "en"]
    apart = estimated(labels.where(language="de")).table
    row = both.table.row(0, named=True)
    assert row["estimate"] == pytest.approx(apart["estimate"][0])
    assert row["low"] < apart["low"][0]
    assert row["high"] > apart["high"][0]


def test_stratified_estimate_removes_judge_label_strata(monkeypatch):
    """Items drawn equally from each label of the judge: strata are required, else rare labels bias the estimate."""
    rng = np.random.default_rng(2)
    f = np.repeat([0.0, 1.0], [900, 100])
    truth = (rng.random(1000) < np.where(f == 1, 0.8, 0.1)).astype(float)
    mine = np.sort(np.concatenate([rng.permutation(900)[:50], 900 + rng.permutation(100)[:50]]))
    names = np.array([f"i{i:04d}" for i in range(1000)])
    frame = pl.concat([
        pl.DataFrame({"item": names, "annotator": "judge", "label": f}),
        pl.DataFrame({"item": names[mine], "annotator": "ann", "label": truth[mine]}),
    ])  # fmt: skip
    items = pl.DataFrame({"item": names, "said": f, "chance": np.where(f == 1, 0.5, 50 / 900)})
    labels = assay.Annotations.from_frame(frame, judges=["judge"], scale="interval:0-1", items=items)
    with pytest.raises(DesignError, match="not a random sample"):
        estimated(labels)
    named = assay.Annotations.from_frame(
        frame.with_columns(pl.col("label").replace_strict({0.0: "no", 1.0: "yes"})), judges=["judge"],
        scale="nominal:no,yes", items=items.select("item"),
    )  # fmt: skip
    monkeypatch.setattr(checked, "MOST_SORTED", 1000)  # categories are looked at however many items there are
    with pytest.raises(DesignError, match=r"'judge' labels 50% of them and 90% of all as no"):
        estimated(named, target="shares")
    by_strata = estimated(labels, strata="said").table.row(0, named=True)
    by_chance = estimated(labels, probabilities="chance").table.row(0, named=True)
    for row in (by_strata, by_chance):
        assert row["low"] <= truth.mean() <= row["high"]
        assert row["high"] - row["low"] < 0.25
    assert by_strata["estimate"] == pytest.approx(by_chance["estimate"])


# -- gold ------------------------------------------------------------------------------------------------


def with_gold(seed: int = 1, share: float = 0.3) -> assay.Annotations:
    """A judge of yes and no; gold for half of each label among the first 100 items."""
    rng = np.random.default_rng(seed)
    truth = np.concatenate([np.repeat([0, 1], 50), (rng.random(2000) < share).astype(int)])
    judge = np.where(rng.random(2100) < np.where(truth == 1, 0.85, 0.9), truth, 1 - truth)
    names = [f"i{i:04d}" for i in range(2100)]
    words = np.array(["no", "yes"])
    items = pl.DataFrame({"item": names, "gold": [*words[truth[:100]], *([None] * 2000)]})
    frame = pl.DataFrame({"item": names, "annotator": "judge", "label": words[judge]})
    return assay.Annotations.from_frame(frame, judges=["judge"], scale="nominal:no,yes", items=items)


def test_rogan_gladen_is_its_closed_form():
    labels = with_gold()
    found = estimated(labels, gold="gold")
    judge = (labels.labels.sort("item")["label"] == "yes").to_numpy().astype(float)
    sensitivity, specificity, q = judge[50:100].mean(), 1 - judge[:50].mean(), judge[100:].mean()
    p = (q + specificity - 1) / (sensitivity + specificity - 1)
    assert found.table["estimate"][1] == pytest.approx(p, abs=1e-12)
    assert found.table["estimate"].sum() == pytest.approx(1.0)
    assert found.table["low"][1] < 0.3 < found.table["high"][1]
    assert "Rogan–Gladen" in found.summary()


@pytest.mark.simulation
def test_rogan_gladen_covers():
    inside = [
        row["low"][1] <= 0.3 <= row["high"][1]
        for row in (estimated(with_gold(seed), gold="gold").table for seed in range(200))
    ]
    assert np.mean(inside) > 0.95 - 2 * 0.0154


def test_gold_that_is_a_sample_takes_the_difference_estimator():
    rng = np.random.default_rng(5)
    labels = with_gold()
    answers = (labels.labels.sort("item")["label"]).to_list()
    gold = [word if rng.random() < 0.1 else None for word in answers]
    labels = dataclasses.replace(labels, items=labels.items.with_columns(gold=pl.Series(gold, dtype=pl.String)))
    found = estimated(labels, gold="gold")
    assert found.table["weight"].is_not_null().all()
    assert "Rogan-Gladen" not in found.summary()


def test_rogan_gladen_refuses_uninformative_judge():
    labels = with_gold()
    coin = labels.labels.with_columns(label=pl.Series(np.random.default_rng(1).choice(["no", "yes"], len(labels))))
    with pytest.raises(DesignError, match="does not distinguish the labels"):
        estimated(dataclasses.replace(labels, labels=coin), gold="gold", estimator="rogan-gladen")


# -- errors -----------------------------------------------------------------------------------------


def test_refusal_does_not_advise_an_option_that_is_given():
    labels = checked_study(first=True)
    items = labels.items.with_columns(pair=pl.int_range(pl.len()) // 2)
    with pytest.raises(DesignError) as refused:
        estimated(dataclasses.replace(labels, items=items), clusters="pair")
    assert "; or describe the sampling with probabilities=...; or use" in str(refused.value)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (lambda: checked_study(first=True), "they are early in the order of the item names"),
        (lambda: flagged(), "'judge' labels 100% of them and"),
    ],
)
def test_items_that_cannot_be_a_sample_are_refused(labels, words):
    with pytest.raises(DesignError) as refused:
        estimated(labels())
    assert words in str(refused.value)
    assert "not a random sample" in str(refused.value)
    assert "; or describe the sampling with probabilities=..., strata=... or clusters=...; or use" in str(refused.value)
    trusted = estimated(labels(), sampling="trust")
    assert "They are used anyway" in trusted.summary()


def flagged() -> assay.Annotations:
    """Only items to which the judge gave a 5 have human labels."""
    labels = checked_study(300, 1000)
    best = labels.labels.filter((pl.col("annotator") == "judge") & (pl.col("label") == 5))["item"]
    keep = labels.labels["annotator"].is_in(["judge", "other"]) | labels.labels["item"].is_in(best.implode())
    return keep_rows(labels, keep)


@pytest.mark.slow
def test_random_sample_is_rarely_refused_or_cautioned():
    refused = doubted = 0
    for seed in range(40):
        try:
            doubted += any("likely" in one for one in estimated(checked_study(60, 400, seed=seed)).cautions)
        except DesignError:
            refused += 1
    assert refused <= 1  # .001 each
    assert doubted <= 2  # at most .01 each


def without_judge_labels(missing: float, n: int, *, by_label: bool = False, seed: int = 0) -> assay.Annotations:
    """A judge's categories of 1,500 items, n of them labelled at random; some labels of the judge are missing, which
    leaves no row of an item that humans did not label.

    Parameters
    ----------
    missing : float
        Share of the judge's labels; twice that in one language, none in the other.
    by_label : bool
        Whether items with the judge's label b are drawn twice as often.
    """
    rng = np.random.default_rng(seed)
    n_all = 1500
    y = rng.random(n_all) < 0.3
    judged = np.where(rng.random(n_all) < 0.15, rng.random(n_all) < 0.5, y)
    language = np.arange(n_all) % 2
    given = rng.random(n_all) >= 2 * missing * language
    odds = np.where(judged & by_label, 2.0, 1.0)
    some = rng.choice(n_all, n, replace=False, p=odds / odds.sum())
    item = np.array([f"k{x}" for x in rng.permutation(n_all)])
    rows = [pl.DataFrame({"item": item[given], "annotator": "judge", "label": judged[given]})]
    rows += [pl.DataFrame({"item": item[some], "annotator": who, "label": y[some]}) for who in ("ann", "bob")]
    table = pl.concat(rows).with_columns(label=pl.when("label").then(pl.lit("b")).otherwise(pl.lit("a")))
    about = pl.DataFrame({"item": item, "language": np.where(language == 1, "es", "en")})
    return assay.read(table, judges=["judge"], scale="nominal:a,b", items=about)


@pytest.mark.parametrize(("missing", "n"), [(0.0, 500), (0.06, 500), (0.1, 200), (0.1, 500), (0.15, 500)])
def test_random_sample_is_not_refused_for_missing_judge_labels(missing, n):
    found = [estimated(without_judge_labels(missing, n, seed=seed)) for seed in range(12)]
    assert not any("likely" in one for each in found for one in each.cautions)
    cautioned = [any("has no label for" in one for one in each.cautions) for each in found]
    assert cautioned == [missing > 0] * 12


def test_share_of_missing_judge_labels_is_reported_if_it_differs():
    found = estimated(without_judge_labels(0.1, 500))
    assert found.cautions[0] == (
        "'judge' has no label for 49 of 500 human-labelled items (10%) and for 0 of 903 others (0%): items without "
        "any label are missing from the table, or the human-labelled items are not a random sample."
    )


def test_items_without_any_label_are_counted_as_excluded():
    """As above, in a wide table, which has a row for each of the 1,500 items."""
    long = without_judge_labels(0.1, 500)
    about = pl.DataFrame({"item": [f"k{x}" for x in range(1500)]})
    labels = long.labels.pivot("annotator", index="item", values="label")
    wide = about.join(labels, on="item", how="left").select("item", "judge", "ann", "bob")
    read = assay.read(wide, layout="wide", judges=["judge"], scale="nominal:a,b")
    found, before = estimated(read), estimated(long)
    n = 1500 - before.run.facts["items"]
    assert (n, found.run.facts["excluded"], before.run.facts["excluded"]) == (97, 97, None)
    assert [str(one) for one in found.exclusions] == ["97 items: without a label of 'judge' and of the annotators"]
    assert found.to_dict()["exclusions"][0]["count"] == 97
    assert f"|items:{1500 - n}|excluded:97|labelled:500|" in found.signature
    assert found.table.drop("reason").equals(before.table.drop("reason"))
    # 10% of the labelled items and of all, so that there is nothing to say of the missing labels.
    assert not any("has no label for" in one for one in found.cautions)
    other = pl.DataFrame({"item": ["z"], "annotator": ["other"], "label": ["a"]})
    more = assay.read(pl.concat([long.labels, other]), judges=["judge", "other"], scale="nominal:a,b")
    assert estimated(more).run.facts["excluded"] == 1


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_sample_by_judge_label_is_refused_with_missing_labels(missing):
    with pytest.raises(DesignError, match=r"'judge' labels \d+% of them and \d+% of all as a"):
        estimated(without_judge_labels(missing, 500, by_label=True))


def test_bad_input_is_a_sentence_each():
    labels = checked_study(40, 200)
    people = labels.where(annotator=["ann_1", "ann_2", "ann_3"])
    others = people.labels.with_columns(item="x" + pl.col("item"))
    apart = pl.concat([labels.where(annotator="judge").labels, others])
    with pytest.raises(DesignError, match="no item has both a label of 'judge' and a human label"):
        estimated(assay.read(apart, judges=["judge"], scale="1-5"))
    one = keep_rows(labels, (labels.column("kind") == "judge") | (labels.labels["item"] == people.labels["item"][0]))
    with pytest.raises(DesignError, match="humans labelled one item, which is not enough"):
        estimated(one)
    with pytest.raises(DataError, match="9"):
        assay.read(labels.labels.with_columns(label=pl.lit(9)), judges=["judge", "other"], scale="1-5")
    twice = pl.concat(
        [labels.labels, labels.where(annotator="judge").labels.head(1).with_columns(label=pl.lit(1, pl.Int64))]
    )
    with pytest.raises(DataError, match="1 answer given several times"):
        assay.read(twice.sort("item"), judges=["judge", "other"], scale="1-5")
    with pytest.raises(DataError, match="did you mean 'judge'"):
        estimated(labels, judge="judg")
    with pytest.raises(DesignError, match="specify the judge with"):
        estimated(labels, judge=None)
    with pytest.raises(DesignError, match="is the judge and cannot also be one of the annotators"):
        estimated(labels, annotators=["judge", "ann_1"])


def test_options_that_do_not_go_together_are_refused():
    labels = checked_study(40, 200)
    with pytest.raises(DesignError, match="name their column with contrast"):
        estimated(labels, baseline="a")
    with pytest.raises(DesignError, match="supports one judge"):
        estimated(labels, estimator="ppi++", clusters="document")
    with pytest.raises(DesignError, match="requires true labels"):
        estimated(labels, estimator="rogan-gladen")
    with pytest.raises(DesignError, match="too few for quantiles; use target='shares'"):
        estimated(labels, target="quantiles")
    with pytest.raises(DesignError, match="requires 15 labelled items"):
        estimated(checked_study(12, 200), judge=["judge", "other"], covariates=["length"])


def test_annotator_with_one_item_is_excluded_and_named():
    labels = checked_study(40, 200)
    item = labels.where(annotator="ann_1").labels["item"][0]
    more = pl.concat([labels.labels, pl.DataFrame({"item": [item], "annotator": ["zoe"], "label": [1]})])
    found = estimated(assay.read(more, judges=["judge", "other"], scale="1-5"))
    assert found.humans == ("ann_1", "ann_2", "ann_3")
    assert "1 annotator (zoe): labelled fewer than 2 items" in found.summary()


def test_items_without_the_judge_s_label_still_count():
    labels = checked_study(60, 400)
    gone = labels.labels.filter(
        ~((pl.col("annotator") == "judge") & pl.col("item").str.ends_with("7")) & (pl.col("annotator") != "other")
    )
    gone = pl.concat([gone, labels.labels.filter(pl.col("annotator") == "other")])
    found = estimated(assay.read(gone, judges=["judge", "other"], scale="1-5"), judge="judge", sampling="trust")
    assert found.table["estimate"][0] == pytest.approx(estimated(labels).table["estimate"][0], abs=0.2)


def test_skewed_numbers_without_ends_are_said():
    rng = np.random.default_rng(1)
    y = np.exp(rng.normal(0, 2.0, 30))
    found = estimated(
        of_arrays(y, y * np.exp(rng.normal(0, 0.3, 30)), np.exp(rng.normal(0, 1.2, 300))), sampling="trust"
    )
    assert "covers about 90%" in found.summary()


# -- why there is no interval ------------------------------------------------------------------------------


def spread_of(*, people=1, n=30, variance=0.04, df=28.0, bounds=None, raters="fixed", population="infinite", n_all=99,
              cluster=None, between=math.nan):  # fmt: skip
    found = types.SimpleNamespace(
        by_person=np.zeros(people),
        n=n,
        variance=variance,
        df=df,
        value=2.0,
        item_means=np.arange(float(n)),
        between=between,
    )
    settings = types.SimpleNamespace(raters=raters, population=population, confidence=0.9)
    checks = types.SimpleNamespace(n_all=n_all, cluster=cluster, position=np.arange(6))
    return _spread(found, bounds, None, settings, checks, 1)


LEAST = corrected.LEAST_ITEMS
FEW_CLUSTERS = "labelled items are in fewer than 3 clusters; label items of more clusters"
COUNT = "humans labelled every item, so this is a count without sampling error"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, None),
        (
            {"raters": "random"},
            "the variance among annotators cannot be estimated from one annotator; add annotators, or use "
            "raters='fixed'",
        ),
        ({"raters": "random", "people": 2, "between": 0.01}, None),
        ({"n": LEAST - 1}, f"{LEAST - 1} labelled items; an interval requires {LEAST}"),
        ({"n": LEAST}, None),
        ({"population": "finite", "n_all": 30, "variance": 0.0}, COUNT),
        ({"population": "finite", "n_all": 29, "variance": 0.0}, COUNT),
        ({"population": "finite", "n_all": 31, "variance": 0.0}, "the labels do not vary"),
        ({"population": "finite", "n_all": 30}, None),
        ({"n_all": 30, "variance": 0.0}, "the labels do not vary"),
        ({"cluster": np.array([0, 0, 0, 1, 1, 1]), "df": 0.5}, FEW_CLUSTERS),
        ({"cluster": np.array([0, 0, 0, 1, 1, 1]), "df": 1.0}, None),
        ({"cluster": np.array([0, 0, 1, 1, 2, 2]), "df": 0.5}, None),
        ({"variance": 0.0, "raters": "random", "people": 2, "between": 0.01}, None),
    ],
)  # fmt: skip
def test_why_a_mean_has_no_interval(given, reason):
    one = spread_of(**given)
    assert (one.estimate, one.reason) == (2.0, reason)
    assert np.isnan([one.low, one.high, one.standard_error]).tolist() == [reason is not None] * 3


def test_several_means_hold_together():
    one, three = spread_of(), MeanSpread(2.0, 0.04, 28.0, 30).estimate(0.9, 3)
    assert (one.low, one.high) == pytest.approx(MeanSpread(2.0, 0.04, 28.0, 30).ends(0.9))
    assert three.low == pytest.approx(MeanSpread(2.0, 0.04, 28.0, 30).ends(1 - 0.1 / 3)[0])


def test_quantile_is_first_point_reached():
    """Distribution .1, .3, .5, .9, 1 with t standard errors of .15 either way: the ends are where it is .5 at most."""
    places, level = np.array([1.0, 2, 3, 4, 5]), 0.9
    t = float(stats.t.ppf(0.95, 10))
    sure = [MeanSpread(v, (0.15 / t) ** 2, 10.0, 50) for v in (0.1, 0.3, 0.5, 0.9, 1.0)]

    def quantile_at(q, lone=False, tests=1):
        return _quantile(places, sure, q, level, tests, lone=lone)

    one = quantile_at(0.5)
    assert (one.estimate, one.low, one.high, one.reason) == (3, 3, 4, None)
    assert (quantile_at(0.4).estimate, quantile_at(0.4).low, quantile_at(0.4).high) == (3, 2, 4)
    assert np.isnan(one.standard_error)
    assert one.interval(0.99) == (2, 4)  # t of 3.17 instead of 1.81: .26 either way
    assert one.interval(0.9) == (3, 4)
    assert (quantile_at(0.5, tests=400).low, quantile_at(0.5, tests=400).high) == one.interval(1 - 0.1 / 400)
    out = quantile_at(0.9)
    assert (out.estimate, out.reason) == (4, "too few labelled items for so extreme a quantile")
    assert np.isnan([out.low, out.high]).all()
    narrow = _quantile(
        places, [MeanSpread(v, 1e-9, 10.0, 50) for v in (0.1, 0.3, 0.6, 0.9, 1.0)], 0.5, 0.9, 1, lone=False
    )
    assert (narrow.estimate, narrow.reason) == (
        3,
        "the whole interval is one label; use target='shares'",
    )
    assert quantile_at(0.5, lone=True).reason.startswith("the variance among annotators cannot be estimated")
    beyond = _quantile(places, [MeanSpread(0.2, 1e-9, 10.0, 50)] * 5, 0.5, 0.9, 1, lone=False)
    assert np.isnan(beyond.estimate)


@pytest.mark.parametrize(
    ("target", "bounds", "n", "said"),
    [("mean", None, 99, True), ("mean", None, 100, False), ("mean", (0, 9), 99, False), ("shares", None, 99, False)],
)
def test_skewed_unbounded_mean_has_caution(target, bounds, n, said):
    checks = types.SimpleNamespace(scale=types.SimpleNamespace(bounds=bounds), n=n, y=np.r_[np.zeros(9), 10.0])
    # One 10 among nine 0: p = .1, skewness (1 − 2p) / √(p (1 − p)) = .8 / .3.
    words = (
        f"the labels are skewed (skewness 2.7) and unbounded: a 95% interval from {n} labelled items covers about 90%; "
        "label more items.",
    )
    assert _skew_caution(checks, target) == (words if said else ())
    for other in (-checks.y, checks.y / 1000):  # in units of a thousand it is as skewed
        checks.y = other
        assert len(_skew_caution(checks, target)) == said
    for even in (np.r_[np.zeros(8), 5.0, 10.0], np.zeros(10)):
        checks.y = even
        assert _skew_caution(checks, target) == ()
    checks.y = np.r_[np.zeros(8), 10.0, 10.0]  # .6 / .4 = 1.5
    assert _skew_caution(checks, target) == ()


@pytest.mark.parametrize(
    ("label", "remedy"),
    [
        (lambda rare: np.where(rare, 0.9, 0.1), ", or read shares with their bounds, scale='interval:0-1'"),
        (lambda rare: np.where(rare, 90.0, 1.0), ", or estimate the mean of the logarithms."),
        (lambda rare: np.where(rare, 90.0, 0.0), "; label more items."),  # zeros have no logarithm
        (lambda rare: np.where(rare, 1.0, 90.0), "; label more items."),  # nor does it help if small ones are rare
    ],
)
def test_remedy_of_skewed_labels_can_be_applied(label, remedy):
    rare = np.arange(180) % 10 == 0
    rows = [(f"i{k}", "judge", float(one)) for k, one in enumerate(label(rare))]
    rows += [(f"i{k}", "ann", float(one)) for k, one in enumerate(label(np.roll(rare, 1))) if k % 4 in (0, 1)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    found = assay.estimate(assay.read(frame, judges=["judge"], scale="interval"), "judge", sampling="trust")
    (caution,) = [one for one in found.cautions if "skewed" in one]
    assert remedy in caution
    if "interval:0-1" in remedy:
        bounded = assay.read(frame, judges=["judge"], scale="interval:0-1")
        assert "skewed" not in " ".join(assay.estimate(bounded, "judge", sampling="trust").cautions)


# -- sentences ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("judge", "equivalent_labels", "words"),
    [
        (3.5, 12, "Judge only: 3.50 (+0.50). Humans only: 3.10 [2.50, 3.70]. The judge adds as much precision as 12 "
         "more human-labelled items."),
        (2.5, 1, "Judge only: 2.50 (−0.50). Humans only: 3.10 [2.50, 3.70]. The judge adds as much precision as 1 "
         "more human-labelled item."),
        (3.004, 0, "Judge only: 3.00 (+0.00). Humans only: 3.10 [2.50, 3.70]. The judge adds no precision here."),
        (2.994, None, "Judge only: 2.99 (−0.01). Humans only: 3.10 [2.50, 3.70]."),
    ],
)  # fmt: skip
def test_baselines_sentence(judge, equivalent_labels, words):
    line = EstimateLine(
        None, "mean", Estimate(3.0, 2.6, 3.4, 0.2), Estimate(3.1, 2.5, 3.7, 0.3), judge, equivalent_labels, 0.5, 40,
        900,
    )  # fmt: skip
    assert estimate_lines(made((line,)))[0].endswith(f"; 40 human-labelled). {words}")


@pytest.mark.parametrize(
    ("people", "options", "words"),
    [
        (("ann",), {}, "Estimated human mean: 3.00 [2.60, 3.40] ('ann'; items like these 1,900; "),
        (("ann", "bob"), {}, "Estimated human mean: 3.00 [2.60, 3.40] (these 2 annotators; items like these 1,900; "),
        (("ann", "bob"), {"raters": "random"}, "Estimated human mean: 3.00 [2.60, 3.40] (annotators like these 2; "),
        (("truth",), {"gold": "truth"}, "Estimated mean of 'truth': 3.00 [2.60, 3.40] (items like these 1,900; "),
    ],
)
def test_estimate_sentence_names_annotators(people, options, words):
    assert estimate_lines(made((a_line(),), people=people, **options))[0].startswith(words)


def test_codes_of_a_column_follow_its_texts_and_empty_cells_come_last():
    assert _codes(pl.Series(["b", None, "a", "b"])).tolist() == [1, 2, 0, 1]
    assert _codes(pl.Series([10, 9, 10])).tolist() == [0, 1, 0]  # as texts


def test_ppi_by_its_formula():
    """Labelled y and f, the judge's labels of others; λ = cov / ((1 + n / N) var), between 0 and 1."""
    y, f, rest = np.array([1.0, 2, 4, 5]), np.array([1.0, 3, 3, 5]), np.array([2.0, 4, 4, 1, 5, 2])
    values = np.r_[f, rest]
    checks = types.SimpleNamespace(
        row=np.r_[np.arange(4), 3], y=np.r_[y[:3], 4.0, 6.0], n=4, n_all=10, counts=None, position=np.arange(4),
        judged=f[:, None], values=values[:, None],
    )  # fmt: skip
    settings = types.SimpleNamespace(confidence=0.9)
    line = _ppi_line(checks, settings, "mean", lambda x: x, "s", 2)
    cov = float(np.mean((y - 3) * (f - 3)))
    weight = cov / ((1 + 4 / 6) * values.var(ddof=1))
    assert 0 < weight < 1
    value = weight * rest.mean() + (y - weight * f).mean()
    error = math.sqrt(weight**2 * rest.var() / 6 + (y - weight * f).var() / 4)
    z = stats.norm.ppf(1 - 0.1 / 2 / 2)  # of two tests
    assert (line.slice, line.quantity, line.weight) == ("s", "mean", pytest.approx(weight))
    found = line.found
    assert (found.estimate, found.low, found.high) == pytest.approx((value, value - z * error, value + z * error))
    assert (line.humans_only.estimate, line.humans_only.standard_error) == pytest.approx((3, y.std() / 2))
    assert line.judge_only == rest.mean()
    assert line.equivalent_labels == int(4 * ((y.std() / 2 / error) ** 2 - 1))
    assert (line.n, line.n_all) == (4, 10)
    turned = types.SimpleNamespace(**{**vars(checks), "judged": -f[:, None], "values": -values[:, None]})
    assert _ppi_line(turned, settings, "mean", lambda x: x, "s", 2).weight == 0
    for lacking in ({"judged": np.array([[1.0], [math.nan], [3], [5]])}, {"values": np.full((10, 1), math.nan)}):
        none = _ppi_line(types.SimpleNamespace(**{**vars(checks), **lacking}), settings, "mean", lambda x: x, "s", 2)
        assert none.found.reason.startswith("estimator='ppi++' requires the judge's label of every labelled item")
        assert np.isnan([none.judge_only, none.weight]).all()
    with pytest.raises(DesignError, match="requires the whole table in memory"):
        _ppi_line(types.SimpleNamespace(**{**vars(checks), "counts": 1}), settings, "mean", lambda x: x, "s", 2)


def benchmark():
    """benchmarks/estimates.py, whose studies have a known truth."""
    path = Path(__file__).parents[2] / "benchmarks" / "estimates.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_estimates", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


# -- coverage ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        {"n": 30, "share": 0.02},
        {"n": 100, "share": 0.2, "people": 3, "loads": "unequal"},
        {"n": 100, "share": 0.5, "judge": "adversarial"},
        {"n": 100, "n_all": 300, "share": 0.2, "people": 3, "population": "finite"},
        {"n": 100, "share": 0.5, "clusters": 10, "whole": True},
        {"n": 100, "share": 0.2, "drawn": "probabilities"},
        {"n": 100, "share": 0.5, "people": 3, "raters": "random"},
    ],
    ids=str,
)
def test_intervals_cover(design):
    """At least .93 less two Monte Carlo errors of 200 studies; docs/coverage.md has more cells of more studies."""
    module = benchmark()
    found = module.measured(module.Cell(**design), 200, 11)
    assert found["coverage"] > 0.93 - 2 * 0.018
    assert found["ratio"] < 1.03


@pytest.mark.parametrize(
    ("p", "options", "estimator", "said"),
    [
        (corrected.DOUBTED, {}, "auto", None),
        (corrected.DOUBTED - 1e-6, {}, "auto", "it is likely that the 4 labelled items are not a random sample of the "
         "8: late; odd (p = 0.010)."),
        (corrected.REFUSED, {"estimator": "plug-in"}, "plug-in", "late; odd (p = 0.001)."),
        (corrected.REFUSED, {"sampling": "trust"}, "auto", "late; odd (p = 0.001). They are used anyway."),
        (1e-7, {"sampling": "trust"}, "auto", "late; odd (p < 0.001). They are used anyway."),
        (1e-7, {"gold": "truth"}, "rogan-gladen", "the 4 labelled items are not a random sample of the 8: late; odd, "
         "so the judge's error rates on them correct its labels of the other items."),
        (1e-7, {}, None, "late; odd (p < 0.001). Human labels of them cannot correct the other items."),
        (1e-7, {"gold": "truth", "estimator": "plug-in"}, None, "late; odd (p < 0.001). Human labels of them"),
        (1e-7, {"estimator": "rogan-gladen"}, "rogan-gladen", None),
    ],
)  # fmt: skip
def test_how_sure_it_must_be_that_items_are_no_sample(monkeypatch, p, options, estimator, said):
    """Said below 1 in 100, refused below 1 in 1,000, unless they are trusted or their labels are the truth."""
    names = ("late", "odd", "long", "far")
    found = [SamplingCheck(each, name) for each, name in zip((p, p, p, 0.5), names, strict=True)]
    skipped = []
    monkeypatch.setattr(corrected, "sampling_checks", lambda checks, skip: skipped.append(skip) or found)
    monkeypatch.setattr(corrected, "_group_by_system", lambda checks, settings: checks)
    settings = types.SimpleNamespace(**{
        "estimator": "auto", "gold": None, "strata": "s", "probabilities": "q", "clusters": None, "sampling": "check",
        **options,
    })  # fmt: skip
    checks = types.SimpleNamespace(n=4, n_all=8)
    if estimator is None:
        with pytest.raises(DesignError) as refused:
            corrected._choose_estimator(checks, settings)
        assert said in str(refused.value)
        assert refused.value.option == "sampling"
        return
    chosen, cautions = corrected._choose_estimator(checks, settings)
    assert chosen == estimator
    assert len(cautions) == (said is not None)
    assert said is None or said in cautions[0]
    assert skipped in ([], [(settings.gold, "s", "q")])
    found.clear()
    assert corrected._choose_estimator(checks, settings) == (options.get("estimator", "auto"), ())


# -- which options go together ------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["auto", "difference", "ppi++", "rogan-gladen"])
@pytest.mark.parametrize(
    ("given", "judges", "knows"),
    [
        ({}, 1, {"ppi++", "rogan-gladen"}),
        ({"by": "x"}, 1, {"ppi++"}),
        ({"clusters": "x"}, 1, set()),
        ({"strata": "x"}, 1, set()),
        ({"probabilities": "x"}, 1, set()),
        ({"contrast": "x", "sources": "y"}, 1, set()),
        ({"covariates": ["x"]}, 1, set()),
        ({"raters": "random"}, 1, set()),
        ({}, 2, set()),
    ],
)
def test_estimator_supports_options(estimator, given, judges, knows):
    settings = EstimateSettings(estimator=estimator, gold="truth", **given)
    if estimator in {"auto", "difference"} | knows:
        _fit_estimator(settings, ["m"] * judges)
        return
    with pytest.raises(DesignError, match="supports one judge, and no clusters, strata") as refused:
        _fit_estimator(settings, ["m"] * judges)
    assert refused.value.option == "estimator"
    assert str(refused.value).startswith(f"estimator='{estimator}' supports one judge")


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"sources": "x"}, "sources"), ({"baseline": "x"}, "baseline"), ({"length": "x"}, "length"),
        ({"contrast": "x"}, "sources"), ({"strata": "x", "clusters": "y"}, "clusters"),
        ({"strata": "x", "probabilities": "y"}, "probabilities"),
        ({"contrast": "x", "sources": "y", "by": "z"}, "by"), ({"folds": 1}, "folds"),
        ({"quantiles": (0.0,)}, "quantiles"),
        ({"quantiles": (0.5, 1.0)}, "quantiles"),
    ],
)  # fmt: skip
def test_options_that_cannot_be(given, option):
    with pytest.raises(DesignError) as refused:
        EstimateSettings(**given)
    assert refused.value.option == option


def test_options_that_can_be_and_their_defaults():
    EstimateSettings(clusters="x", probabilities="y", by="z")
    EstimateSettings(contrast="x", sources="y", baseline="b", length="l", folds=2, quantiles=(0.01, 0.99))
    one = EstimateSettings()
    assert (one.quantiles, one.folds, one.covariates, one.confidence, one.seed) == ((0.25, 0.5, 0.75), 10, (), 0.95, 0)
    assert (one.adjust, one.raters, one.population, one.estimator, one.sampling, one.repeats) == (
        "holm", "fixed", "infinite", "auto", "test", "error",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("target", "numbers", "numeric", "refused"),
    [
        ("mean", 2, True, None),
        ("mean", 2, False, "a mean requires numbers; the labels are on the scale 'nominal:w00,w01'"),
        ("quantiles", 10, True, None), ("quantiles", 10, False, "a mean requires numbers"),
        ("quantiles", 9, True, "9 different labels are too few for quantiles"),
        ("shares", 40, True, None), ("shares", 2, False, None),
        ("shares", 41, True, "41 different labels are too many for shares; use target='mean' or "
         "target='quantiles'"),
        ("mean", 41, True, None), ("quantiles", 41, True, None),
    ],
)  # fmt: skip
def test_target_requires_suitable_labels(target, numbers, numeric, refused):
    """Numbers of people and of the judge count together: two annotators give two of them."""
    words = (lambda k: k) if numeric else "w{:02}".format
    rows = [(f"i{k:03}", "m", words(k % numbers)) for k in range(90)]
    rows += [(f"i{k:03}", who, words(k % 2)) for k in range(45) for who in ("ann", "bob")]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    scale = assay.Interval() if numeric else assay.Nominal(tuple(words(k) for k in range(numbers)))
    labels = assay.Annotations.from_frame(frame, judges=["m"], scale=scale)
    if refused is None:
        assert assay.estimate(labels, target=target, sampling="trust").lines
        return
    with pytest.raises(DesignError) as found:
        assay.estimate(labels, target=target, sampling="trust")
    assert str(found.value).startswith(refused)
    assert found.value.option == "target"


def test_whose_labels_are_corrected():
    labels = checked_study(40, 200)
    alone = labels.where(annotator=["judge", "ann_1", "ann_2"])
    assert estimated(alone, judge=None).table.equals(estimated(alone).table)
    with pytest.raises(DesignError, match=r"with judge=...; the table has no judge") as refused:
        assay.estimate(labels.where(annotator=["ann_1", "ann_2"]))
    assert refused.value.option == "judge"
    with pytest.raises(DesignError, match=r"the table has judge, other"):
        assay.estimate(labels)


def test_labels_have_numbers():
    def labels_of(categories, listed, y=(), values=()):
        return _labels_of(
            SimpleNamespace(categories=categories, scale=SimpleNamespace(categories=listed), y=np.array(y),
                            values=np.array(values).reshape(-1, 1))
        )  # fmt: skip

    assert labels_of(("no", "yes"), None) == [("no", 0.0), ("yes", 1.0)]
    assert labels_of(None, (1, 2)) == [("1", 1.0), ("2", 2.0)]
    assert labels_of(None, None, [2.5, 1.0], [0.0, math.nan, 2.5]) == [("0", 0.0), ("1", 1.0), ("2.5", 2.5)]
    x = np.array([1.0, 2, 3, math.nan])
    assert _is(2)(x)[:3].tolist() == [0, 1, 0]
    assert _share_up_to(2)(x)[:3].tolist() == [1, 1, 0]
    assert np.isnan([_is(2)(x)[3], _share_up_to(2)(x)[3]]).all()


# -- slices, quantiles and gold ------------------------------------------------------------------------------


def test_slices_name_who_labelled_too_few_there():
    """ann labels four items of each kind, bob four of the first and one of the second; an item has no kind."""
    rows = [(f"i{i}", "judge", i % 3) for i in range(11)] + [(f"i{i}", "ann", i % 2) for i in range(1, 9)]
    rows += [(f"i{i}", "bob", i % 2) for i in (1, 2, 3, 4, 5)]
    items = pl.DataFrame({"item": [f"i{i}" for i in range(11)], "kind": [None, *["x 9"] * 4, *["x 10"] * 6]})
    labels = assay.Annotations.from_frame(
        pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row"), judges=["judge"], scale="0-2",
        items=items,
    )  # fmt: skip
    checks = checked.SpotChecks.of(labels, ["judge"])
    parts, notes = _slices(checks, EstimateSettings(by="kind"))
    assert [(name, part.n_all, part.n, part.people) for name, part, _ in parts] == [
        ("x 9", 4, 4, ("ann", "bob")), ("x 10", 6, 4, ("ann",)),
    ]  # fmt: skip
    assert notes == [
        "kind x 10: bob excluded (fewer than 2 labelled items)",
        "1 item without 'kind' are in no slice",
    ]
    parts, notes = _slices(checks, EstimateSettings())
    assert [(name, part is checks, place.tolist()) for name, part, place in parts] == [(None, True, [*range(11)])]
    assert notes == []


def some_numbers(n=60, rest=200):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 12, n).astype(float)
    return y, y + rng.integers(-1, 2, n), rng.integers(-1, 13, rest).astype(float)


def test_quantile_has_weight_and_gain_of_share():
    """A slow method: labels for whether they are up to the quantile, whose mean is estimated."""
    y, f, rest = some_numbers()
    options = {"sampling": "trust", "confidence": 0.9}
    found = estimated(of_arrays(y, f, rest), target="quantiles", quantiles=(0.3, 0.6), **options).table
    assert found["quantity"].to_list() == ["quantile 0.3", "quantile 0.6"]
    for q, row in zip((0.3, 0.6), found.iter_rows(named=True), strict=True):
        at, before = (
            estimated(of_arrays(*(1.0 * (x <= place) for x in (y, f, rest))), **options).table.row(0, named=True)
            for place in (row["estimate"], row["estimate"] - 1)
        )
        assert before["estimate"] < q <= at["estimate"]
        assert (row["weight"], row["equivalent_labels"]) == (pytest.approx(at["weight"]), at["equivalent_labels"])
        assert row["equivalent_labels"] > 0
        assert before["humans_only"] < at["humans_only"]
        assert row["humans_only_low"] <= row["humans_only"] <= row["humans_only_high"]
        assert row["judge_only"] == np.sort(np.r_[f, rest])[math.ceil(q * 260) - 1]
        assert (row["n"], row["items"]) == (60, 260)


def test_quantiles_use_limited_thresholds(monkeypatch):
    """At three places: the least, the middle and the greatest label."""
    y, f, rest = some_numbers()
    monkeypatch.setattr(corrected, "MOST_THRESHOLDS", 3)
    found = estimated(of_arrays(y, f, rest), target="quantiles", quantiles=(0.2, 0.8), sampling="trust").table
    assert found["estimate"][0] in (5.0, 6.0)
    assert found["estimate"][1] == 12.0
    lone = estimated(of_arrays(y, f, rest), target="quantiles", raters="random", sampling="trust").table
    assert lone["reason"].str.starts_with("the variance among annotators").all()
    monkeypatch.setattr(corrected, "LEAST_VALUES", 2)
    for n in (3, 4):  # an interval needs four
        labels = of_arrays(np.arange(float(n)), np.arange(n) + 1.0, np.arange(20.0))
        few = estimated(labels, target="quantiles", sampling="trust").table
        assert few["quantity"].to_list() == ["quantile 0.25", "quantile 0.5", "quantile 0.75"]
        assert (few["reason"] == "too few labelled items").fill_null(value=False).to_list() == [n == 3] * 3
        assert few["estimate"].is_nan().to_list() == [n == 3] * 3


def test_rogan_gladen_covers_items_without_gold():
    labels = with_gold()
    options = {"gold": "gold", "estimator": "rogan-gladen"}
    shares = estimated(labels, **options)
    judge = (labels.labels.sort("item")["label"] == "yes").to_numpy()[100:]
    assert shares.table["judge_only"].to_list() == pytest.approx([1 - judge.mean(), judge.mean()])
    assert shares.table["quantity"].to_list() == ["no", "yes"]
    assert (shares.table["items"].to_list(), shares.table["n"].to_list()) == ([2000] * 2, [100] * 2)
    assert shares.table["humans_only"].is_nan().all()
    assert shares.table["weight"].is_nan().all()
    assert "Rogan–Gladen estimates, for the items without a gold label" in " ".join(shares.notes)
    every = labels.items.with_columns(gold=pl.lit("no"))
    with pytest.raises(DesignError, match="every item has a gold label, so there are no items to estimate"):
        estimated(dataclasses.replace(labels, items=every), **options)


@pytest.mark.parametrize("values", [(0, 1), (0, 1, 2)])
def test_rogan_gladen_has_the_mean_of_two_labels_alone(values):
    rng = np.random.default_rng(1)
    truth = rng.choice(values, 300)
    names = [f"i{i:03d}" for i in range(300)]
    judge = np.where(rng.random(300) < 0.9, truth, rng.choice(values, 300))
    items = pl.DataFrame({"item": names, "gold": [*truth[:150].tolist(), *[None] * 150]})
    labels = assay.Annotations.from_frame(
        pl.DataFrame({"item": names, "annotator": "judge", "label": judge}), judges=["judge"],
        scale=f"0-{values[-1]}", items=items,
    )  # fmt: skip
    options = {"gold": "gold", "estimator": "rogan-gladen"}
    shares = estimated(labels, target="shares", **options).table
    assert shares.height == len(values)
    if len(values) > 2:
        with pytest.raises(DesignError, match="Rogan–Gladen requires categories; use target='shares'"):
            estimated(labels, target="mean", **options)
        return
    mean = estimated(labels, target="mean", **options).table
    assert (mean.height, mean["estimate"][0]) == (1, shares["estimate"][1])


# -- sentences and tables -------------------------------------------------------------------------------------


def made(lines, *, contrasts=(), target="mean", judges=("m",), people=("ann", "bob"), **options):
    return CorrectedEstimate(
        lines, contrasts, people, judges, target, Run("estimate", EstimateSettings(**options), "none", {})
    )


def a_line(part=None, of="mean", found=None):
    return EstimateLine(
        part, of, found or Estimate(3.0, 2.6, 3.4, 0.2), Estimate(3.1, 2.5, 3.7, 0.3), 3.5, 12, 0.5, 40, 1900
    )


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        ({}, {}, "Estimated human mean: 3.00 [2.60, 3.40] (these 2 annotators; items like these 1,900; 40 "
         "human-labelled). Judge only: 3.50 (+0.50). Humans"),
        ({}, {"population": "finite", "confidence": 0.9}, "Estimated human mean: 3.00 [2.60, 3.40] (these 2 "
         "annotators; these 1,900 items; 40 human-labelled). "),
        ({"part": "de"}, {"by": "language"}, "language de: Estimated human mean: 3.00"),
        ({"part": "new"}, {"contrast": "system", "sources": "s"}, "system new: Estimated human mean: 3.00"),
        ({"of": "yes"}, {"target": "shares"}, "Estimated human share of 'yes': 3.00"),
        ({"of": "quantile 0.5"}, {"target": "quantiles", "judges": ("m", "n")}, "Estimated human quantile 0.5: 3.00"),
        ({"found": Estimate(3.0, math.nan, math.nan, math.nan, "the labels do not vary")}, {"by": "language"},
         "Estimated human mean: 3.00, no interval: the labels do not vary."),
    ],
)  # fmt: skip
def test_estimate_sentence(given, options, words):
    sentence, brackets = estimate_lines(made((a_line(**given),), **options))
    assert sentence.startswith(words)
    assert ("Judge only: 3.50" in sentence) == ("no interval" not in words)
    assert brackets == f"Brackets: {100 * options.get('confidence', 0.95):.0f}% confidence intervals."


def test_at_most_forty_estimates_then_contrasts():
    none = missing("no labels")
    apart = SystemContrast("a", "b", none, none, none, none, math.nan, 0, 0)
    assert len(estimate_lines(made((a_line(),) * 41, contrasts=(apart,)))) == 42
    assert estimate_lines(made((), contrasts=(apart,)))[0].startswith("a − b: ")
    many = made((a_line(), *(a_line(of=str(k)) for k in range(40))))
    assert len(many.row_estimates()) == 41
    assert many.at() is many.lines[0].found  # the first is the answer


def test_table_columns():
    one = made((a_line(),)).table
    assert one.columns == [
        "slice", "quantity", "estimate", "low", "high", "n", "items", "judge_only", "humans_only", "humans_only_low",
        "humans_only_high", "equivalent_labels", "weight", "reason",
    ]  # fmt: skip
    assert one.row(0) == (None, "mean", 3.0, 2.6, 3.4, 40, 1900, 3.5, 3.1, 2.5, 3.7, 12, 0.5, None)
    assert [name for name, kind in one.schema.items() if kind == pl.String] == ["slice", "quantity", "reason"]
    assert [name for name, kind in one.schema.items() if kind == pl.Int64] == ["n", "items", "equivalent_labels"]
    none = missing("no labels")
    both = made((a_line(),), contrasts=(SystemContrast("a", "b", none, none, none, none, 0.5, 3, 9),)).table
    assert both.columns == [*one.columns[:-1], "p", "p_adjusted", "length", "reason"]
    assert both.select("quantity", "p", "n", "reason").rows()[1] == ("a − b", 0.5, 3, "no labels")


@pytest.mark.parametrize(
    ("off", "words"), [(0.0051, "+0.01"), (0.0049, "+0.00"), (-0.0049, "+0.00"), (-0.0051, "−0.01"), (0.25, "+0.25")]
)
def test_judge_only_difference_is_rounded_to_hundredths(off, words):
    line = dataclasses.replace(a_line(found=Estimate(0.0, -0.1, 0.1, 0.05)), judge_only=off)
    assert f"({words}). Humans only" in estimate_lines(made((line,)))[0]


def test_several_judges_or_a_column_are_predictions():
    def several(judges, covariates):
        return _has_several(SimpleNamespace(judges=judges), EstimateSettings(covariates=covariates))

    assert [several("m", ()), several("mn", ()), several("m", ("x",)), several("mn", ("x",))] == [
        False,
        True,
        True,
        True,
    ]


def test_two_annotators_give_random_quantile_intervals():
    labels = checked_study(150, 600, 2, scale="0-20")
    options = {"target": "quantiles", "quantiles": (0.5,), "sampling": "trust"}
    fixed, random = (estimated(labels, raters=raters, **options).table for raters in ("fixed", "random"))
    assert random["reason"].to_list() == [None]
    assert random["high"][0] - random["low"][0] > fixed["high"][0] - fixed["low"][0]


def test_constant_labels_have_no_equivalent_labels():
    """Every label is 1, and so is every one of the judge's: nothing has an error with it or without."""
    row = estimated(of_arrays(np.ones(6), np.ones(6), np.ones(9)), estimator="ppi++", sampling="trust").table
    numbers = row.select("estimate", "equivalent_labels", "weight", "reason").row(0)
    assert numbers == (
        1.0,
        0,
        0.0,
        "the labels do not vary",
    )


def test_outputs_without_system_are_ignored():
    names = [f"i{k:02d}" for k in range(13)]
    items = pl.DataFrame({
        "item": names, "system": [*"ab" * 6, None], "source": [*(f"s{k // 2}" for k in range(12)), "s9"],
    })  # fmt: skip
    rows = [
        (name, who, float((k * step) % 5)) for who, step in (("ann", 2), ("judge", 3)) for k, name in enumerate(names)
    ]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    labels = assay.Annotations.from_frame(frame, judges=["judge"], scale="interval:0-4", items=items)
    found = estimated(labels, contrast="system", sources="source", sampling="trust")
    assert [(line.slice, line.n, line.n_all) for line in found.lines] == [("a", 6, 6), ("b", 6, 6)]


def test_mean_of_two_labels_is_share_of_three_is_number():
    def row(scale, labels, target="mean"):
        rows = [(f"i{k:02d}", "ann", v) for k, v in enumerate(labels)]
        rows += [(f"i{k:02d}", "judge", v) for k, v in enumerate([*labels[::-1], *labels])]
        frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
        found = assay.Annotations.from_frame(frame, judges=["judge"], scale=scale)
        return estimated(found, target=target, sampling="trust").table.select("estimate", "low", "high").rows()[-1]

    share = row("0-1", [0, 1] * 10)
    assert share == pytest.approx(row("0-1", [0, 1] * 10, "shares"))
    number = row("interval:0-1", [0.0, 1.0] * 10)  # two of many numbers
    assert number != pytest.approx(share, abs=1e-3)
    assert row("0-2", [0, 2] * 10) == pytest.approx([2 * one for one in number])


def test_rare_labels_of_a_small_stratum_do_not_narrow_the_interval() -> None:
    """No yes among 50 labelled of 950 items: their share can be up to .06, also if the other 50 items are known."""
    rows = [(f"i{i}", "gpt", "yes" if i >= 950 else "no") for i in range(1000)]
    rows += [(f"i{i}", "ann", "no") for i in range(0, 950, 19)] + [
        (f"i{i}", "ann", "yes" if i % 3 else "no") for i in range(950, 1000)
    ]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    items = pl.DataFrame({"item": [f"i{i}" for i in range(1000)], "part": ["ab"[i >= 950] for i in range(1000)]})
    labels = assay.read(frame, items=items, judges=["gpt"], scale="nominal:no,yes")
    row = (
        assay.estimate(labels, "gpt", strata="part")
        .table.filter(pl.col("quantity").str.contains("yes"))
        .row(0, named=True)
    )
    assert row["estimate"] == pytest.approx(0.05 * 33 / 50)
    assert row["high"] > 0.05 * 33 / 50 + 0.95 * 0.04


@pytest.mark.simulation
def test_shares_of_items_in_strata_of_the_judge_have_coverage() -> None:
    """A share of .05, 100 labelled of 1,000 items, half of them of each label of the judge: .98, and .70 if rare labels
    of the small stratum count as those of the large one."""
    covered = []
    for seed in range(100):
        rng = np.random.default_rng([seed, 12])
        truth = rng.random(1000) < 0.05
        judged = np.where(rng.random(1000) < 0.6, truth, rng.random(1000) < 0.05)
        chosen = np.concatenate([rng.permutation(np.flatnonzero(judged == k))[:50] for k in (False, True)])
        rows = [(f"i{i}", "gpt", "yes" if judged[i] else "no") for i in range(1000)]
        rows += [(f"i{i}", "ann", "yes" if truth[i] else "no") for i in chosen]
        frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
        items = pl.DataFrame({"item": [f"i{i}" for i in range(1000)], "part": [f"p{k:d}" for k in judged]})
        labels = assay.read(frame, items=items, judges=["gpt"], scale="nominal:no,yes")
        found = assay.estimate(labels, "gpt", strata="part", sampling="trust")
        row = found.table.filter(pl.col("quantity").str.contains("yes")).row(0, named=True)
        covered.append(row["low"] <= 0.05 <= row["high"])
    assert 0.92 <= np.mean(covered) <= 1
