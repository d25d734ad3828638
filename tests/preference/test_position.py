"""Position bias: by hand, laws, edges, errors; from the columns that a study's store writes."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

import references
from assay.data.annotations import Annotations
from assay.data.scales import Nominal, OddOneOut, Preference
from assay.errors import DataError, DesignError
from assay.estimation.resampling import resampling_counts
from assay.preference.page import position_parts
from assay.preference.position import PositionBias, position_bias
from assay.reading import study_labels
from assay.reporting import pictures

#        item  order  label place
PAIRS = [
    ("p1", "a>b", -1, 1),
    ("p1", "b>a", -1, 2),  # the same text in both orders
    ("p2", "a>b", -1, 1),
    ("p2", "b>a", 1, 1),  # the first in both
    ("p3", "a>b", 0, None),
    ("p3", "b>a", 0, None),  # twice a tie: the same answer, no choice
    ("p4", "a>b", 0, None),
    ("p4", "b>a", 1, 1),  # a tie and a choice
]


def pairs(rows=PAIRS, *, annotator="m", **columns) -> Annotations:
    item, order, label, position = zip(*rows, strict=True)
    frame = pl.DataFrame({"item": item, "annotator": annotator, "label": label, "order": order, "position": position})
    frame = frame.with_columns(kind=pl.lit("judge"), **columns)
    return Annotations.from_frame(frame, scale=Preference(), conditions=["order"])


def simulated(bias: float, *, seed: int = 0, n: int = 200) -> Annotations:
    """Both orders of n pairs; with probability ``bias`` the first is chosen, else the better text."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        better = rng.choice([-1, 1])
        for order, first in (("a>b", -1), ("b>a", 1)):
            label = first if rng.random() < bias else better
            rows.append((f"p{i}", order, int(label), 1 if label == first else 2))
    return pairs(rows)


def triplets(places) -> Annotations:
    frame = pl.DataFrame({"item": [f"t{i}" for i in range(len(places))], "position": places})
    frame = frame.with_columns(
        annotator=pl.lit("m"), kind=pl.lit("judge"), order=pl.lit("a>b>c"), label=pl.lit("A")
    ).with_columns(order=pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("c>a>b")).otherwise("order"))
    return Annotations.from_frame(frame, scale=OddOneOut())


def test_two_texts_by_hand():
    found = position_bias(pairs())
    # Choices at places 1, 2, 1, 1, 1: four of five. Equal pairs: p1 and p3 of four.
    row = found.shares.row(0, named=True)
    assert (row["estimate"], row["n"], row["ties"], row["place"]) == (0.8, 5, 3, "first")
    assert row["difference"] == pytest.approx(0.3)
    assert (found.consistency["estimate"][0], found.consistency["n"][0]) == (0.5, 4)
    assert (found.n_items, found.n_labels) == (4, 8)
    assert "m: probability of choosing the text shown first 0.80" in found.summary()
    assert "m: same choice in both orders for 0.50 of 4 pairs." in found.summary()


def test_three_texts_by_hand():
    found = position_bias(triplets([1, 1, 1, 2, 3, 1]))
    assert found.shares["estimate"].to_list() == pytest.approx([4 / 6, 1 / 6, 1 / 6])
    assert found.shares["difference"].to_list() == pytest.approx([1 / 3, -1 / 6, -1 / 6])
    assert found.consistency.height == 0


def test_a_judge_without_bias_is_not_called_biased_and_one_with_it_is():
    fair, unfair = position_bias(simulated(0.0)), position_bias(simulated(0.4))
    # Without bias each pair is chosen once in each place: exactly one half, and no resample differs.
    assert fair.shares.row(0, named=True)["estimate"] == 0.5
    assert fair.shares.select("low", "high").row(0) == pytest.approx(references.wilson(100, 200))
    assert fair.row_estimates()[0].p(0.5) == 1.0
    assert fair.consistency["estimate"][0] == 1.0
    assert fair.consistency.select("low", "high").row(0) == pytest.approx(references.wilson(200, 200))
    assert fair.biased == ()
    # With bias .4 the first has .4 + .6 / 2 = .7.
    assert unfair.shares["low"][0] < 0.7 < unfair.shares["high"][0]
    assert unfair.biased == ("m",)


@pytest.mark.parametrize("method", ["percentile", "jackknife", "bca"])
@pytest.mark.parametrize(("place", "share"), [(1, 1.0), (2, 0.0)])
def test_one_place_in_every_choice_is_a_bias(method, place, share):
    rows = [
        (f"p{i}", order, first if place == 1 else -first, place)
        for i in range(60)
        for order, first in (("a>b", -1), ("b>a", 1))
    ]
    found = position_bias(pairs(rows), method=method)
    row = found.shares.row(0, named=True)
    assert (row["estimate"], row["n"], row["reason"]) == (share, 120, None)
    assert (row["low"], row["high"]) == pytest.approx(references.wilson(60 * share, 60))  # 60 pairs, not 120 choices
    assert found.row_estimates()[0].p(0.5) == pytest.approx(2 / 2**60)
    assert found.biased == ("m",)
    assert "No interval" not in found.summary()


def test_three_places_have_exact_tests_if_one_is_never_chosen():
    shares = position_bias(triplets([1] * 30)).row_estimates()
    # 30 choices of the first: probability 1/3 each; none of the second: 2/3 each; two-sided.
    assert [one.p(1 / 3) for one in shares] == pytest.approx([2 / 3**30, 2 * (2 / 3) ** 30, 2 * (2 / 3) ** 30])


@pytest.mark.slow
def test_the_interval_covers_the_truth():
    inside = 0
    for seed in range(150):
        row = position_bias(simulated(0.4, seed=seed, n=60), n_resamples=400).shares.row(0, named=True)
        inside += row["low"] <= 0.7 <= row["high"]
    # 150 intervals of 95% hold the truth 132 to 149 times with probability .999 (binomial).
    assert 132 <= inside <= 149


def test_swapping_the_places_mirrors_the_share():
    mirrored = [(i, o, v, None if p is None else 3 - p) for i, o, v, p in PAIRS]
    assert position_bias(pairs(mirrored)).shares["estimate"][0] == pytest.approx(0.2)


def test_order_of_rows_and_names_change_nothing():
    one = position_bias(pairs())
    other = position_bias(pairs(PAIRS[::-1]))
    assert one.shares.equals(other.shares)
    assert one.signature == other.signature
    renamed = [({"p1": "p4", "p4": "p1"}.get(i, i), *rest) for i, *rest in PAIRS]
    assert position_bias(pairs(renamed)).shares["estimate"][0] == one.shares["estimate"][0]


@pytest.mark.slow
def test_what_was_shown_and_chosen_and_the_clusters_are_of_the_data():
    def digest(rows=PAIRS, doc=(1, 1, 2, 2), clusters=None):
        labels = pairs(rows)
        items = pl.DataFrame({"item": ["p1", "p2", "p3", "p4"], "doc": doc})
        wide = Annotations.from_frame(
            labels.labels, scale=Preference(), conditions=["order"], items=items, annotator_table=labels.annotators
        )
        return position_bias(wide, clusters=clusters, method="none").run.data

    places = [(i, o, v, p and 3 - p) for i, o, v, p in PAIRS]
    orders = [(i, {"a>b": "x>y", "b>a": "y>x"}[o], v, p) for i, o, v, p in PAIRS]
    assert len({digest(), digest(places), digest(orders), digest(clusters="doc")}) == 4
    assert digest(doc=(1, 2, 2, 2)) == digest()
    assert digest(doc=(1, 2, 2, 2), clusters="doc") != digest(clusters="doc")


def test_clusters_are_resampled_whole():
    labels = simulated(0.4, n=43)
    items = labels.labels.select("item").unique().sort("item").with_columns(doc=pl.int_range(pl.len()) // 8)
    wide = Annotations.from_frame(
        labels.labels, scale=Preference(), conditions=["order"], items=items, annotator_table=labels.annotators
    )
    alone, together = position_bias(wide), position_bias(wide, clusters="doc")
    assert alone.shares["estimate"][0] == together.shares["estimate"][0]
    assert alone.shares.select("low", "high").row(0) != together.shares.select("low", "high").row(0)
    assert "clusters:doc" in together.signature
    with pytest.raises(DataError, match="item column 'docs' is not in the table of items; did you mean 'doc'"):
        position_bias(wide, clusters="docs")


def test_people_and_several_judges_each_have_their_row():
    both = pl.concat(
        [
            pairs().labels.with_columns(kind=pl.lit("judge")),
            pairs(annotator="ana").labels.with_columns(kind=pl.lit("human")),
        ]
    )
    found = position_bias(Annotations.from_frame(both, scale=Preference(), conditions=["order"]))
    assert dict(found.shares.select("annotator", "kind").iter_rows()) == {"m": "judge", "ana": "human"}


def test_answers_whose_place_is_not_known_are_counted():
    found = position_bias(pairs([*PAIRS, ("p5", None, 1, None)]))
    assert [(e.count, e.reason) for e in found.exclusions] == [(1, "unknown chosen place")]
    assert "Excluded: 1 label: unknown chosen place." in found.summary()


def test_repeats_and_conditions_are_paired_with_their_own():
    rows = [(*r, t) for r in PAIRS[:4] for t in (0.0, 1.0)]
    item, order, label, position, temperature = zip(*rows, strict=True)
    frame = pl.DataFrame({"item": item, "annotator": "m", "label": label, "order": order, "position": position})
    frame = frame.with_columns(temperature=pl.Series(temperature), kind=pl.lit("judge"))
    labels = Annotations.from_frame(frame, scale=Preference(), conditions=["order", "temperature"])
    found = position_bias(labels)
    assert (found.consistency["estimate"][0], found.consistency["n"][0]) == (0.5, 4)


def test_one_order_throughout_is_cautioned_against():
    found = position_bias(pairs([(f"p{i}", "a>b", -1 if i % 3 else 1, 1 if i % 3 else 2) for i in range(30)]))
    assert found.fixed == ("the question",)
    assert "was always shown in one order" in found.summary()
    assert found.consistency.height == 0


def test_all_ties_leave_nothing_to_estimate():
    found = position_bias(pairs([("p1", "a>b", 0, None), ("p2", "b>a", 0, None)]))
    row = found.shares.row(0, named=True)
    assert math.isnan(row["estimate"])
    assert (row["n"], row["ties"]) == (0, 2)
    assert "not estimable" in found.summary()


def test_page_reports_its_limits():
    with pytest.raises(DesignError, match="needs a column 'position'"):
        position_bias(Annotations.from_frame(pairs().labels.drop("position").head(1), scale=Preference()))
    with pytest.raises(DesignError, match="scale preference or odd-one-out"):
        position_bias(
            Annotations.from_frame(
                pl.DataFrame({"item": ["a"], "annotator": "m", "label": ["x"], "position": [1]}), scale=Nominal()
            )
        )
    with pytest.raises(DataError, match="item 'p1': position 3 is not among the 2 texts shown"):
        position_bias(pairs([("p1", "a>b", -1, 3)]))
    with pytest.raises(DesignError, match="no label has a chosen place"):
        position_bias(pairs([("p1", None, -1, None)]))


def test_a_result_can_be_kept_drawn_and_laid_out():
    found = position_bias(simulated(0.4, n=40))
    kept = found.to_dict()
    assert kept["kind"] == "PositionBias"
    assert kept["signature"] == found.signature
    (part,) = position_parts(found)
    assert [frame.height for _, frame in part.frames] == [1, 1]
    assert "m" in part.words[0]
    pytest.importorskip("matplotlib")
    for _, draw in part.pictures:
        assert draw().get_xlabel() == "share of choices"


def test_a_study_s_own_answers(tmp_path):
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("aiohttp")
    import json

    from assay.judging.run import judge_study
    from assay.study.definition import load_study

    (tmp_path / "items.csv").write_text("item,a,b\np1,x,y\np2,x,y\n")
    (tmp_path / "study.yaml").write_text(
        "questions: [{name: better, text: 'Which?', scale: preference, options: [a, b]}]\n"
        "judges: [{name: m, provider: recorded, file: replies.jsonl}]\n"
    )
    replies = [{"item": i, "judge": "m", "reply": '{"label": "first"}'} for i in ("p1", "p2")]
    (tmp_path / "replies.jsonl").write_text("\n".join(map(json.dumps, replies)))
    study = load_study(tmp_path)
    judge_study(study)
    found = position_bias(study_labels(study))
    assert found.shares["estimate"].to_list() == [1.0]
    assert found.consistency["estimate"].to_list() == [0.0]


@pytest.mark.parametrize("method", ["percentile", "jackknife", "bca"])
def test_the_intervals_by_drawing_pairs_of_texts(method):
    """Whole pairs are drawn, with both their orders; ties have no place, and a pair with one order no consistency."""
    rng = np.random.default_rng(4)
    rows = []
    for i in range(25):
        for order in ("a>b", "b>a") if i % 5 else ("a>b",):
            label = int(rng.choice([-1, 0, 1], p=[0.5, 0.2, 0.3]))
            place = None if label == 0 else int(rng.choice([1, 2], p=[0.7, 0.3]))
            rows.append((f"p{i:02d}", order, label, place))
    of_item = [[row for row in rows if row[0] == f"p{i:02d}"] for i in range(25)]

    def share(items):
        chosen = [row[3] for item in items for row in item if row[3] is not None]
        return sum(place == 1 for place in chosen) / len(chosen)

    def agreed(items):
        both = [item for item in items if len(item) == 2]
        return sum(item[0][2] == item[1][2] for item in both) / len(both)

    found = position_bias(pairs(rows), method=method, n_resamples=64, confidence=0.8, seed=6)
    counts = resampling_counts(25, 64, seed=6)
    for frame, statistic in ((found.shares, share), (found.consistency, agreed)):
        row = frame.row(0, named=True)
        assert row["estimate"] == pytest.approx(statistic(of_item))
        if method == "jackknife":
            # Wilson's, for the number of independent trials with the standard error of the jackknife.
            value, se = statistic(of_item), references.jackknife(statistic, of_item)[0]
            n = value * (1 - value) / se**2 * (stats.norm.ppf(0.9) / stats.t.ppf(0.9, 24)) ** 2
            ends = references.wilson(value * n, n, 0.8)
        else:
            drawn = references.resampled(statistic, of_item, counts)
            without = references.jackknife(statistic, of_item)[1]
            ends = (
                references.percentile_interval(drawn, 0.8) if method == "percentile"
                else references.bca_interval(statistic(of_item), drawn, without, 0.8)
            )  # fmt: skip
        assert (row["low"], row["high"]) == pytest.approx(ends)
    assert found.shares["n"][0] == sum(row[3] is not None for row in rows)
    assert found.consistency["n"][0] == 20


# -- biased annotators, sentences, pictures and errors ------------------------------------------


def crowd(firsts, n=30) -> Annotations:
    """Annotators who chose the first of two texts so many times of n; the pairs are others for each of them."""
    rows = [
        (f"p{i}", f"w{who:02}", -1 if k < first else 1, 1 if k < first else 2)
        for who, first in enumerate(firsts)
        for k, i in enumerate(range(who * n, who * n + n))
    ]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "position"], orient="row")
    order = pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("a>b")).otherwise(pl.lit("b>a"))
    return Annotations.from_frame(frame.with_columns(kind=pl.lit("human"), order=order), scale=Preference())


def test_position_bias_is_adjusted_for_number_of_annotators():
    """21 of 30: the score test has z = 6 / √7.5 · √(29/30) = 2.154 and t(29) gives p = .040, times 80 is 1."""
    alone = position_bias(crowd([21]))
    assert alone.shares["p"][0] == pytest.approx(2 * stats.t.sf(6 / np.sqrt(7.5) * np.sqrt(29 / 30), 29))
    assert (alone.shares["p_adjusted"][0], alone.biased) == (alone.shares["p"][0], ("w00",))
    many = position_bias(crowd([21, 28, *[15, 14, 16] * 26]))
    low, high = (many.shares.filter(annotator=name).row(0, named=True) for name in ("w00", "w01"))
    assert low["low"] > 0.5  # the interval is that of one annotator
    assert (many.n_tests, many.biased) == (80, ("w01",))
    assert high["p_adjusted"] == pytest.approx(80 * high["p"])
    lines = many.summary().splitlines()
    assert lines[0] == ("Position bias detected for w01 (80 shares tested, Holm-adjusted; intervals are not adjusted).")
    assert lines[1].startswith("w01: probability of choosing the text shown first 0.93 [")
    assert lines[2] == (
        "79 other annotators: no bias detected; probability of choosing the text shown first between 0.47 and 0.70 "
        "(2,370 choices). Each is in the table."
    )
    untested = position_bias(crowd([15] * 13), method="none")
    assert (untested.n_tests, untested.biased) == (0, ())
    assert untested.sentences()[0].startswith("13 other annotators: probability of choosing the text shown first")


@pytest.mark.simulation
@pytest.mark.parametrize(("n", "annotators"), [(30, 80), (12, 80), (100, 3)])
def test_position_bias_accuses_none_of_many_unbiased_annotators(n, annotators):
    rng = np.random.default_rng(n)
    accused = sum(
        bool(position_bias(crowd(rng.binomial(n, 0.5, annotators), n), method="jackknife").biased) for _ in range(40)
    )
    assert accused <= stats.binom.ppf(0.999, 40, 0.05)


@pytest.mark.simulation
def test_position_bias_accuses_none_of_many_who_choose_among_three():
    rng, accused = np.random.default_rng(3), 0
    for _ in range(40):
        parts = [triplets(rng.integers(1, 4, 30).tolist()).labels.with_columns(
            annotator=pl.lit(f"w{k}"), kind=pl.lit("human"), item=pl.format("{}-{}", pl.lit(f"w{k}"), "item"))
            for k in range(20)]  # fmt: skip
        labels = Annotations.from_frame(pl.concat(parts, how="diagonal"), scale=OddOneOut())
        accused += bool(position_bias(labels, method="jackknife").biased)
    assert accused <= stats.binom.ppf(0.999, 40, 0.05)


def test_choices_among_three_have_a_row_a_place():
    found = position_bias(triplets([1, 1, 1, 2, 3, 1]), method="none")
    assert found.shares.select("place", "n", "ties").rows() == [("first", 6, 0), ("second", 6, 0), ("third", 6, 0)]
    assert found.shares["chance"].to_list() == [1 / 3] * 3
    assert found.sentences()[2] == "m: probability of choosing the text shown third 0.17, −0.17 from 0.33 (6 choices)."
    assert found.table.height == 3
    for place in (0, 4):
        with pytest.raises(DataError, match=f"item 't1': position {place}.* is not among the 3 texts shown"):
            position_bias(triplets([1, place]))


def test_a_tie_of_which_nothing_was_shown_is_no_answer():
    found = position_bias(pairs([*PAIRS, ("p5", None, 0, None)]), method="none")
    assert (found.exclusions[0].count, found.n_labels) == (1, 8)
    assert found.shares["ties"][0] == 3


def test_without_the_order_places_are_counted_and_no_pair_is_compared():
    frame = pairs().labels.drop("order").with_columns(kind=pl.lit("judge"), repeat=pl.Series([1, 2] * 4))
    found = position_bias(Annotations.from_frame(frame, scale=Preference()), method="none")
    assert (found.shares["estimate"][0], found.shares["ties"][0]) == (0.8, 3)
    assert (found.consistency.height, found.fixed) == (0, ())


def test_graded_preferences_count_by_side():
    rows = [("p1", "a>b", -2, 1), ("p1", "b>a", -1, 2), ("p2", "a>b", 2, 2), ("p2", "b>a", -2, 2)]
    item, order, label, position = zip(*rows, strict=True)
    frame = pl.DataFrame({"item": item, "annotator": "m", "label": label, "order": order, "position": position})
    scale = Preference(grades=("slightly better", "much better"))
    labels = Annotations.from_frame(frame.with_columns(kind=pl.lit("judge")), scale=scale, conditions=["order"])
    assert position_bias(labels, method="none").consistency["estimate"].to_list() == [0.5]


def test_each_criterion_has_its_rows_and_the_picture_those_of_as_many_places():
    both = pl.concat([
        pairs().labels.with_columns(pl.lit("tone").alias("criterion"), pl.lit("judge").alias("kind")),
        pairs(annotator="ana").labels.with_columns(pl.lit("fact").alias("criterion"), pl.lit("human").alias("kind")),
    ])  # fmt: skip
    labels = Annotations.from_frame(both, scale=Preference(), conditions=["order"])
    found = position_bias(labels, method="none")
    assert found.sentences() == (
        "ana (fact): probability of choosing the text shown first 0.80, +0.30 from 0.50 (5 choices).",
        "m (tone): probability of choosing the text shown first 0.80, +0.30 from 0.50 (5 choices).",
        "ana (fact): same choice in both orders for 0.50 of 4 pairs.",
        "m (tone): same choice in both orders for 0.50 of 4 pairs.",
    )
    ax = found.plot()
    assert [one.get_text() for one in ax.get_yticklabels()] == ["ana, fact, first", "m, tone, first"]
    assert ax.lines[-1].get_xdata() == [0.5, 0.5]
    assert (ax.get_xlim(), ax.get_xlabel()) == ((-0.02, 1.02), "share of choices")
    dots = [line.get_color() for line in ax.lines if list(line.get_xdata()) == [0.8]]
    assert dots == [pictures.HUMAN, pictures.JUDGE]
    three = position_bias(triplets([1, 1, 1, 2, 3, 1]), method="none")
    ax = three.plot()
    assert [one.get_text() for one in ax.get_yticklabels()] == ["m, first", "m, second", "m, third"]
    assert ax.lines[-1].get_xdata() == [1 / 3, 1 / 3]
    mixed = PositionBias(pl.concat([found.shares, three.shares]), found.consistency, 0, 0, (), None, ())
    assert len(mixed.plot().get_yticks()) == 2  # those of two places, of which chance is highest
    assert len(mixed.plot(places=3).get_yticks()) == 3
