"""Boards by who, each judge against the people, covariates, categories, what to ask next, and votes that are added."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import polars as pl
import pytest
from test_leaderboard import drawn, estimates_of, frame_of, plain_elo, ratings_of, votes_of

import assay
from assay.estimation.intervals import leave_out_variance
from assay.preference import boards
from assay.preference.boards import Board, covariate_columns, covariate_values
from assay.preference.votes import RatingSettings, weight
from assay.preference.words import covariate_lines
from assay.statistics.comparisons import tournaments

ELO = partial(assay.ratings, model="elo")

FLIPPED = ([0, 0.4, 1.2, 1.6], [0, 1.2, 0.4, 1.6])
"""Strengths by people and by a judge that turns one pair round."""


def study(seed: int, n: int, people: list[float], judge: list[float], **columns: object) -> assay.Annotations:
    """Items with a pair of systems each, on which three people and a judge vote; an item moves all votes on it."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, len(people), n)
    b = (a + rng.integers(1, len(people), n)) % len(people)
    shift, parts = rng.normal(0, 0.6, n), []
    for who in ("ann", "bob", "cho", "gpt"):
        strength = np.asarray(judge if who == "gpt" else people, dtype=float)
        lean = strength[b] - strength[a] + shift + rng.logistic(size=n)
        parts.append(
            pl.DataFrame(
                {"item": [f"i{i:04d}" for i in range(n)], "annotator": who, "first": [f"s{x}" for x in a],
                 "second": [f"s{x}" for x in b], "label": np.where(np.abs(lean) < 0.15, 0, np.sign(lean)).astype(int)}
            ).with_columns(**{k: pl.Series(v) for k, v in columns.items()})
        )  # fmt: skip
    return assay.read(pl.concat(parts), scale="preference", judges=["gpt"])


# -- grades ---------------------------------------------------------------------------------------------


def graded(counts: dict[int, int]) -> assay.Annotations:
    rows = [{"item": f"i{n}", "label": label} for n, label in enumerate(k for k, m in counts.items() for _ in range(m))]
    frame = pl.DataFrame(rows).with_columns(annotator=pl.lit("ann"), first=pl.lit("x"), second=pl.lit("y"))
    return assay.read(frame, scale="preference:a bit<much", humans=["ann"])


@pytest.mark.slow
def test_a_slight_vote_is_in_part_a_tie():
    # 6 much and 4 a bit for x; 2 much and 4 a bit for y; 4 ties. With "alike", 10 + 2 of 20 votes. With "shares",
    # x has 6 + 4 / 2 votes, y 2 + 4 / 2, and there are 4 + 8 / 2 ties, half for each: 12 of 20.
    labels = graded({-2: 6, -1: 4, 0: 4, 1: 4, 2: 2})
    for options, share in (
        ({}, 12 / 20),
        ({"grades": "shares"}, 12 / 20),
        ({"grades": "shares", "ties": "drop"}, 8 / 12),
    ):
        found = assay.ratings(labels, method="none", **options)
        assert found.lead.estimate == pytest.approx(400 * math.log10(share / (1 - share)))
    # 8 slight votes and 2 full ones against them: the majority, or the stronger.
    split = graded({-1: 8, 2: 5})
    alike, shares = (assay.ratings(split, method="none", grades=one) for one in ("alike", "shares"))
    assert (alike.table["system"][0], shares.table["system"][0]) == ("x", "y")
    assert alike.wins.sort("first").equals(shares.wins.sort("first")), "a table of votes counts whole ones"
    elo = {
        one: assay.ratings(split, model="elo", method="none", grades=one).table["system"][0]
        for one in ("alike", "shares")
    }
    assert elo == {"alike": "x", "shares": "y"}
    assert alike.signature != shares.signature


def test_shares_of_votes_without_grades_are_refused():
    labels = assay.read(graded({-1: 3, 1: 2}).labels, scale="preference", humans=["ann"])
    with pytest.raises(
        assay.errors.DesignError, match=r"needs votes with grades, as on the scale 'preference:slightly"
    ):
        assay.ratings(labels, grades="shares")


# -- whose votes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["percentile", "jackknife"])
def test_each_board_is_that_of_its_votes_alone(method):
    labels = study(1, 80, *FLIPPED)
    found = assay.ratings(labels, method=method, n_resamples=60)
    assert found.raters == ("humans", "gpt")
    alone = {"humans": labels.where(kind="human"), "gpt": labels.where(annotator="gpt")}
    for who, some in alone.items():
        mine = assay.ratings(some, method=method, n_resamples=60)
        assert found.rows.filter(pl.col("who") == who).equals(mine.rows)
        asked = assay.ratings(labels, method=method, n_resamples=60, who=who)
        assert asked.rows.equals(mine.rows)
        assert f"who:{who}" in asked.signature


def test_people_and_judges_are_together_only_where_that_is_asked_for():
    labels = study(2, 60, *FLIPPED)
    pooled = assay.ratings(labels, who="together", method="none")
    assert pooled.rows["votes"].sum() == 2 * 240
    frame = labels.labels.with_columns(annotator=pl.lit("one"), repeat=pl.int_range(1, pl.len() + 1).over("item"))
    columns = frame.with_columns(first=labels.column("first"), second=labels.column("second"))
    one = assay.ratings(votes_of(columns.select("item", "annotator", "repeat", "label", "first", "second")),
                              method="none")  # fmt: skip
    np.testing.assert_allclose(pooled.rows["estimate"].to_numpy(), one.rows["estimate"].to_numpy(), atol=1e-6)
    each = assay.ratings(labels, who=["annotators"], method="none")
    assert each.raters == ("ann", "bob", "cho", "gpt")
    assert not each.pairs.height  # no pooled leaderboard of humans
    assert [(one.what, one.count) for one in assay.ratings(labels, who="gpt", method="none").exclusions] == [
        ("vote", 180)
    ]
    assert assay.ratings(labels, model="elo", method="none", n_orders=3).raters == ("humans", "gpt")


@pytest.mark.parametrize(
    ("who", "words"),
    [("human", "who 'human' is not in the votes; did you mean 'humans'"), ("ana", "did you mean 'ann'"),
     (["humans", "gtp"], "did you mean 'gpt'")],
)  # fmt: skip
def test_who_is_not_there_is_refused(who, words):
    with pytest.raises(assay.errors.DesignError, match=words):
        assay.ratings(study(3, 40, *FLIPPED), who=who)


def test_elo_boards_are_those_of_their_votes_alone():
    labels = study(4, 40, *FLIPPED)
    found = assay.ratings(labels, model="elo", n_orders=5, n_resamples=30)
    for who, some in {"humans": labels.where(kind="human"), "gpt": labels.where(annotator="gpt")}.items():
        mine = assay.ratings(some, model="elo", n_orders=5, n_resamples=30)
        assert found.rows.filter(pl.col("who") == who).equals(mine.rows)
    assert headline(found).startswith("gpt and humans: ")


def test_who_has_no_votes_is_refused():
    people = votes_of(drawn(40))
    with pytest.raises(assay.errors.DesignError, match="needs votes by judges; name the judges with judges="):
        assay.ratings(people, who="judges")
    judges = votes_of(drawn(40), judges=[f"w{i}" for i in range(5)])
    with pytest.raises(assay.errors.DesignError, match="needs votes by humans; all votes are by judges"):
        assay.ratings(judges, who="humans")


# -- each judge against the people --------------------------------------------------------------------


def headline(found) -> str:
    return found.summary().splitlines()[0]


def test_what_the_first_line_says_follows_from_the_pairs():
    found = assay.ratings(study(5, 700, *FLIPPED), method="jackknife")
    flips = found.pairs.filter(pl.col("demonstrated") & (pl.col("order") == "reversed"))
    assert flips.select("first", "second").rows() == [("s2", "s1")]
    assert headline(found).startswith("gpt and humans: order reversed for s2–s1 (p ")
    moved = found.ranks.filter("demonstrated")
    assert moved.select("system", "rank_humans", "rank_judge").rows() == [("s2", 2, 3), ("s1", 3, 2)]
    for row in found.pairs.iter_rows(named=True):
        ours = found.difference(row["first"], row["second"])
        theirs = found.difference(row["first"], row["second"], who="gpt")
        assert (row["humans"], row["judge"]) == (ours.estimate, theirs.estimate)
        assert row["humans"] >= 0
        assert row["p"] == pytest.approx(max(ours.p(), theirs.p()))
        assert row["order"] == ("same" if theirs.estimate > 0 else "reversed")
    tau = found.agreement["gpt"]
    shown = found.pairs.filter("demonstrated")
    assert (shown.height, shown.filter(pl.col("order") == "same").height) == (6, 5)
    assert tau.estimate == pytest.approx(4 / 6)
    assert (tau.low, tau.high) == pytest.approx((math.nan, math.nan), nan_ok=True)
    assert tau.reason == "the orders of all pairs are demonstrated"
    for level in (0.5, 0.9, 0.999, 1 - 1e-9):
        decided = found.pairs.filter(pl.col("p_adjusted") <= 1 - level)["order"].to_list()
        value, rest = decided.count("same") - decided.count("reversed"), 6 - len(decided)
        ends = ((value - rest) / 6, (value + rest) / 6) if rest else (math.nan, math.nan)
        assert tau.interval(level) == pytest.approx(ends, nan_ok=True)


@pytest.mark.slow
def test_words_where_nothing_and_where_everything_is_shown():
    same = [0.0, 1.5, 3.0]
    sure = headline(assay.ratings(study(6, 300, same, same), method="jackknife"))
    assert sure == ("gpt and humans: same order demonstrated for all 3 pairs. Kendall's τ 1.00 (no interval).")
    half = assay.ratings(study(7, 60, [0, 0.1, 3.0], same), method="jackknife")
    some, tau = headline(half), half.agreement["gpt"]
    assert (tau.low, tau.high) == pytest.approx((1 / 3, 1))
    assert "gpt and humans: same order demonstrated for 2 of 3 pairs; 1 undecided (" in some
    assert "(s1–s0); no reversal demonstrated." in some or "(s0–s1); no reversal demonstrated." in some
    coin = headline(assay.ratings(study(8, 30, [0, 0, 0], [0, 0, 0]), method="jackknife"))
    assert coin.startswith("gpt and humans: order undecided for s")
    bare = assay.ratings(study(6, 300, same, same), method="none")
    assert "same order for 3 of 3 pairs; not tested." in headline(bare)
    assert math.isnan(bare.agreement["gpt"].low)


def test_a_judge_who_ties_everything_claims_nothing():
    labels = study(9, 80, *FLIPPED)
    label = pl.when(pl.col("annotator") == "gpt").then(0).otherwise("label")
    frame = labels.labels.with_columns(label=label.cast(pl.Int64))
    flat = assay.read(
        frame.with_columns(first=labels.column("first"), second=labels.column("second")), scale="preference",
        judges=["gpt"],
    )  # fmt: skip
    found = assay.ratings(flat, n_resamples=60)
    assert found.pairs["order"].unique().to_list() == ["equal"]
    assert not found.pairs["demonstrated"].any()
    ranks = found.rows.filter(pl.col("who") == "gpt").select("rank", "rank_low", "rank_high").unique().rows()
    assert ranks == [(1, 1, 4)]
    assert "s0 and s1 have the same rating" in found.summary()


def rates(people: list[float], judge: list[float], n: int, studies: int) -> tuple[float, float, float]:
    """Rates of demonstrated reversals, of any false order, and of intervals that cover τ."""
    flips, wrong, covered = [], [], []
    pairs = list(itertools.combinations(range(len(people)), 2))
    tau = np.mean([np.sign(people[a] - people[b]) * np.sign(judge[a] - judge[b]) for a, b in pairs])
    for seed in range(studies):
        found = assay.ratings(study(seed, n, people, judge), method="jackknife")
        shown = found.pairs.filter("demonstrated")
        truth = [
            np.sign(people[a] - people[b]) * np.sign(judge[a] - judge[b])
            for a, b in ((int(x[1]), int(y[1])) for x, y in shown.select("first", "second").iter_rows())
        ]
        said = [1 if order == "same" else -1 for order in shown["order"]]
        flips.append(-1 in said)
        wrong.append(said != truth)
        interval = found.agreement["gpt"]
        # Without an interval the orders of all pairs are demonstrated: τ is the value itself.
        low, high = (interval.estimate,) * 2 if np.isnan(interval.low) else (interval.low, interval.high)
        covered.append(low - 1e-9 <= tau <= high + 1e-9)
    return float(np.mean(flips)), float(np.mean(wrong)), float(np.mean(covered))


@pytest.mark.simulation
@pytest.mark.parametrize("studies", [60])
def test_reversals_are_found_without_false_positives(studies):
    """In 300 studies of 600 items: reversals in 1.00, and in .00 for a judge with the humans' order."""
    detected, wrong, covered = rates(*FLIPPED, 600, studies)
    assert detected >= 0.95
    assert wrong <= 0.05 + 2 / studies
    assert covered >= 0.95 - 2 / studies
    reversed_, wrong, covered = rates([0, 0.4, 0.8, 1.2], [0, 0.4, 0.8, 1.2], 200, studies)
    assert reversed_ <= 0.05
    assert wrong <= 0.05
    assert covered >= 0.95


def test_what_covariates_are_worth_is_said_of_each_who_where_there_are_several():
    rows = [
        {"who": "humans", "group": None, "covariate": "length", "estimate": 40.0, "low": 10.0, "high": 70.0,
         "p_adjusted": 0.05},
        {"who": "humans", "group": "maths", "covariate": "length", "estimate": 40.0, "low": 10.0, "high": 70.0,
         "p_adjusted": 0.01},
        {"who": "m", "group": None, "covariate": "lists", "estimate": -5.0, "low": -30.0, "high": 20.0,
         "p_adjusted": 0.06},
        {"who": "m", "group": None, "covariate": "tone", "estimate": -25.0, "low": -30.0, "high": -20.0,
         "p_adjusted": 0.001},
    ]  # fmt: skip
    last = "Ratings are adjusted for these covariates; the column plain has the unadjusted ratings."
    assert covariate_lines(pl.DataFrame(rows), 0.95) == [
        "humans: length: more is preferred, 40 [10, 70] points per standard deviation (p = 0.050, Holm).",
        "m: lists: no significant effect, −5 [−30, 20] points per standard deviation (p = 0.060, Holm).",
        "m: tone: less is preferred, −25 [−30, −20] points per standard deviation (p = 0.001, Holm).",
        last,
    ]
    alone = covariate_lines(pl.DataFrame(rows[2:]), 0.95)
    assert [line[:6] for line in alone] == ["lists:", "tone: ", last[:6]]
    assert covariate_lines(pl.DataFrame(rows[1:2]), 0.95) == []


@pytest.mark.simulation
@pytest.mark.parametrize("studies", [120])
@pytest.mark.parametrize(
    ("people", "judge"),
    [([0, 0, 0.8, 1.6], [0, 0.8, 0.8, 1.6]), ([0, 0, 0, 0], [0, 0.5, 1, 1.5]), ([0, 0.6, 1.2, 1.8], [0, 0, 0, 0])],
)
def test_equal_pairs_rarely_give_reversals(people, judge, studies):
    _, wrong, covered = rates(people, judge, 200, studies)
    assert wrong <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / studies)
    assert covered >= 0.95 - 2 * math.sqrt(0.05 * 0.95 / studies)


@pytest.mark.slow
@pytest.mark.parametrize("studies", [20, pytest.param(120, marks=pytest.mark.slow)])
def test_of_two_equal_systems_neither_is_put_ahead(studies):
    """The percentile interval alone would in .09 of studies of a dozen items."""
    ahead = 0
    for seed in range(studies):
        found = assay.ratings(study(seed, 14, [0, 0], [0, 0]), who="humans", n_resamples=300)
        ahead += "; significant." in found.summary()
    assert ahead / studies <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / studies)


def test_resamples_that_leave_systems_out_are_none():
    """Of a dozen items on four systems, some resamples hold no vote on two of them."""
    rows = [(f"i{k}", "w", a, b, s) for k, (a, b, s) in enumerate(
        [(a, b, s) for a, b in itertools.pairwise(("anna", "bert", "carl", "dora")) for s in (1, -1)])]  # fmt: skip
    found = assay.ratings(votes_of(frame_of(rows)), n_resamples=300)
    assert np.isnan(found.estimates.replicates).any()
    assert found.rows["reason"].str.contains("undefined").all() or found.rows["low"].is_nan().all()


# -- a board by hand --------------------------------------------------------------------------------------


def board(values=(), replicates=(), without=(), counts=None, confidence=0.9, reason=None):
    """A board of systems a, b, c …; equal are ratings within 1e-7 log odds, here 1e-5 points."""
    found = estimates_of(values, replicates, without, confidence)
    return Board("humans", None, None, tuple("abcdef"[: len(values)]), counts, found, 0.01, reason)


def test_wins_and_ties_ignore_order_of_names():
    counts = np.array([[[0, 3], [1, 0]], [[0, 2], [5, 0]], [[0, 4], [7, 0]]])  # wins of the first, ties, of the second
    found = board((0, 0), counts=counts)
    assert found.won.tolist() == [[0, 3 + 7], [1 + 4, 0]]
    assert found.tied.tolist() == [[0, 7], [7, 0]]
    assert found.met.tolist() == [[0, 22], [22, 0]]


@pytest.mark.parametrize(
    ("values", "ranks", "order"),
    [
        ((1000, 1200, 1100), [3, 1, 2], [1, 2, 0]),
        ((1000, 1200, 1000), [2, 1, 2], [1, 0, 2]),
        ((1000, 1000 + 0.4e-5, 900), [1, 1, 3], [0, 1, 2]),  # within what counts as equal
        ((1000, 1000 + 2.1e-5, 900), [2, 1, 3], [1, 0, 2]),
    ],
)
def test_equal_ratings_share_the_better_rank(values, ranks, order):
    found = board(values)
    assert found.tolerance == pytest.approx(1e-5)
    assert (found.ranks.tolist(), found.order.tolist()) == (ranks, order)
    assert found.ranks_of(np.array(values)[::-1]).tolist() == ranks[::-1]


def test_ranks_have_the_range_of_the_resamples():
    """In one resample a leads, and in another all are equal; of 20 both lie outside of 50%, of 4 inside of 99%."""
    usual = [[0, 2, 1]] * 18
    low, high = board((0, 2, 1), [*usual, [9, 2, 1], [1, 1, 1]], confidence=0.5).rank_ranges()
    assert (low.tolist(), high.tolist()) == ([3, 1, 2], [3, 1, 2])
    low, high = board((0, 2, 1), [*usual[:2], [9, 2, 1], [1, 1, 1]], confidence=0.99).rank_ranges()
    assert (low.tolist(), high.tolist()) == ([1, 1, 1], [3, 3, 3])
    assert board((0, 2, 1), np.empty((0, 3))).rank_ranges() == (None, None)


@pytest.mark.parametrize(("lost", "told"), [(1, True), (2, False)])
def test_rank_interval_allows_5_percent_missing_resamples(lost, told):
    rows = [[0.0, 1.0]] * (20 - lost) + [[math.nan, 1.0]] * lost
    low, _ = board((0, 1), rows).rank_ranges()
    assert (low is not None) is told


def test_a_difference_without_intervals_says_why():
    one = board((1000, 1250, 900)).difference(1, 2)
    assert (one.estimate, one.reason) == (350, "no interval was requested")
    assert math.isnan(one.low)
    two = board((1000, 1250, 900), reason="a lost no vote").differences(np.array([[0, 1], [2, 0]]))
    assert [(x.estimate, x.reason) for x in two] == [(-250, "a lost no vote"), (-100, "a lost no vote")]


def test_the_covariance_is_that_of_the_resamples_or_of_units_left_out():
    rows = np.random.default_rng(0).normal(size=(6, 2))
    known = board((0, 0), [*rows.tolist(), [math.nan, 1.0]]).covariance()
    np.testing.assert_allclose(known, np.cov(rows.T))
    assert board((0, 0), [[1.0, 2], [math.nan, 1]]).covariance() is None
    assert board((0, 0)).covariance() is None
    without = board((0, 0), without=rows).covariance()
    np.testing.assert_allclose(np.diagonal(without), leave_out_variance(rows))
    np.testing.assert_allclose(
        without[0, 1] / np.sqrt(np.prod(np.diagonal(without))), np.corrcoef(rows.T)[0, 1]
    )  # fmt: skip


# -- who has a board, and about which systems ---------------------------------------------------------------


def polls(rows, judges=("gpt",), **options):
    """Boards as (who, group, component, votes)."""
    columns = options.pop("columns", {})
    labels = votes_of(frame_of(rows, **columns), judges=list(judges))
    settings = RatingSettings(**options)
    made = boards.Votes.of(labels, settings, "this", *([settings.by] if settings.by else []))
    return [(p.who, p.group, p.component, len(p.votes)) for p in boards.polls(made, settings)]


ROWS = [("i1", "ann", "a", "b", -1), ("i2", "bob", "b", "a", 0), ("i3", "gpt", "a", "b", 1), ("i4", "gpt", "c", "d", 1),
        ("i5", "ann", "c", "d", -1)]  # fmt: skip


def test_votes_are_parted_by_who_gave_them_and_by_what_they_connect():
    assert polls(ROWS) == [
        ("humans", None, "a, b", 2), ("humans", None, "c, d", 1), ("gpt", None, "a, b", 1), ("gpt", None, "c, d", 1),
    ]  # fmt: skip
    linked = [*ROWS, ("i6", "bob", "b", "c", 1)]
    assert polls(linked)[0] == ("humans", None, None, 4)
    assert polls(linked, who=["together"]) == [("together", None, None, 6)]
    assert [p[0] for p in polls(linked, who=["annotators"])] == ["ann", "ann", "bob", "gpt", "gpt"]
    assert [p[0] for p in polls(linked, who=["bob", "humans", "bob"])] == ["bob", "humans"]


def test_a_tie_connects_but_where_ties_are_dropped():
    tied = [("i1", "ann", "a", "b", -1), ("i2", "ann", "b", "c", 0), ("i3", "ann", "c", "d", 1)]
    assert polls(tied, judges=()) == [("humans", None, None, 3)]
    assert polls(tied, judges=(), ties="drop") == [("humans", None, "a, b", 1), ("humans", None, "c, d", 1)]


def test_each_category_has_a_board_after_all_of_them():
    found = polls(ROWS[:3], by="topic", columns={"topic": ["t10", "t2", None]})
    assert found == [
        ("humans", None, None, 2), ("humans", "t2", None, 1), ("humans", "t10", None, 1), ("gpt", None, None, 1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "judges", "who", "words"),
    [
        (ROWS, ("gpt",), "gpt4", "'gpt4'.*did you mean 'gpt'"),
        (ROWS[2:4], ("gpt",), "humans", "who='humans' needs votes by humans; all votes are by judges"),
        (ROWS[:2], (), "judges", "needs votes by judges; name the judges with judges="),
    ],
)
def test_who_cannot_have_a_board(rows, judges, who, words):
    with pytest.raises(assay.errors.DesignError, match=words):
        polls(rows, judges=judges, who=[who])


def test_who_cast_no_vote_on_these_systems_has_no_board():
    labels = votes_of(frame_of([*ROWS, ("i6", "cho", "y", "z", 1), ("i7", "llm", "y", "z", 1)]), judges=["gpt", "llm"])
    settings = RatingSettings(who=["annotators"], systems=["a", "b", "c", "d"])
    votes = boards.Votes.of(labels, settings, "this")
    assert {p.who for p in boards.polls(votes, settings)} == {"ann", "bob", "gpt"}
    people = RatingSettings(systems=["y", "z"])
    assert [p.who for p in boards.polls(boards.Votes.of(labels, people, "this"), people)] == ["humans", "llm"]


def test_votes_without_a_leaderboard_are_excluded():
    labels = votes_of(frame_of(ROWS), judges=["gpt"])
    votes = boards.Votes.of(labels, RatingSettings(), "this")
    assert boards.votes_with_board(votes, None) is votes
    found = boards.votes_with_board(votes, ["ann"])
    assert [(one.count, one.reason) for one in found.exclusions] == [(3, "by a rater that who=... does not name")]
    assert len(found) == 2
    assert boards.votes_with_board(votes, ["ann", "bob", "gpt"]).exclusions == ()


# -- weights, covariates and orders by hand -------------------------------------------------------------------


def elo_by(values, **options):
    """Elo of four votes with this column."""
    rows = [(f"i{k}", "w", "a", "b", label) for k, label in enumerate((1, 1, -1, 1))]
    frame = frame_of(rows).head(len(values)).with_columns(s=pl.Series(values))
    return ratings_of(assay.ratings(votes_of(frame), model="elo", method="none", **options)), frame


def test_votes_weigh_by_separability_where_that_is_asked_for():
    values = [0.0, 0.4, 1.0, -1.0]
    plain, _ = elo_by(values, n_orders=400)
    options = {"separability": "s", "alpha": 3.0, "beta": 2.0, "separability_threshold": 0.3, "order": "order"}
    rows = [(f"i{k}", "w", "a", "b", label) for k, label in enumerate((1, 1, -1, 1))]
    frame = frame_of(rows, s=values, order=[3, 1, 2, 0])
    found = ratings_of(assay.ratings(votes_of(frame), model="elo", method="none", **options))
    by_hand = plain_elo(
        frame.sort("order").iter_rows(named=True),
        weight=lambda row: float(weight(np.array([row["s"]]), 3.0, 2.0, 0.3)[0]),
    )
    assert found == pytest.approx(by_hand)
    assert plain["b"] - plain["a"] != pytest.approx(found["b"] - found["a"])


@pytest.mark.parametrize(
    ("values", "options", "words"),
    [
        ([0.1], {"beta": 2.0}, r"beta=\.\.\. weights votes by separability; name its column"),
        (["a"], {"separability": "s"}, "must be a number for every item; it is String"),
        ([0.1, None], {"separability": "s"}, "must be a number for every item; 1 vote has none"),
        ([0.1, math.nan, None], {"separability": "s"}, "must be a number for every item; 2 votes have none"),
        ([0.1, 1.01], {"separability": "s"}, "separability must be between -1 and 1; 's' has 1.01"),
        ([0.1, -7.0], {"separability": "s"}, "'s' has -7"),
    ],
)
def test_what_is_no_separability_is_refused(values, options, words):
    with pytest.raises(assay.errors.DesignError, match=words):
        elo_by(values, **options)


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (([3, -1],), [3, -1]),  # one column is the difference
        (([3, 0, 2], [1, 0, 2]), [0.5, 0, 0]),  # (3 − 1) / (3 + 1); of nothing at all there is no difference
        (([3, -1], [1, 1]), [2, -2]),  # numbers below 0 are no counts
        (([0.0, 2.0], [0.0, 0.0]), [0, 1]),
    ],
)
def test_a_covariate_is_a_difference_and_of_counts_a_share(columns, found):
    assert covariate_values("x", [pl.Series(c) for c in columns]).tolist() == pytest.approx(found)


@pytest.mark.parametrize(
    ("values", "words"),
    [(["a"], "covariates='x' must be numbers; 'c' is String"), ([1, None], "for every vote; 1 vote has none"),
     ([1.0, math.nan, None], "for every vote; 2 votes have none")],
)  # fmt: skip
def test_a_covariate_is_known_of_every_vote(values, words):
    with pytest.raises(assay.errors.DesignError, match=words):
        covariate_values("x", [pl.Series("c", values)])


@pytest.mark.parametrize(
    ("order", "found"),
    [([3, 1, 2, 1], [1, 3, 2, 0]), (["wave 10", "wave 9", "wave 9", "wave 11"], [1, 2, 0, 3]),
     (["28.2.2026", "9.2.2026", "9.2.2026", "1.3.2026"], [1, 2, 0, 3])],
)  # fmt: skip
def test_votes_of_one_moment_stay_in_their_order(order, found):
    rows = [(f"i{k}", "w", *two, label) for k, (two, label) in enumerate([("ab", 1), ("bc", -1), ("ca", 1), ("ab", 1)])]
    frame = frame_of(rows, t=order)
    mine = assay.ratings(votes_of(frame), model="elo", order="t", method="none", k=100)
    assert ratings_of(mine) == pytest.approx(plain_elo(frame[found].iter_rows(named=True), k=100))
    others = (plain_elo(frame[list(o)].iter_rows(named=True), k=100) for o in itertools.permutations(range(4)))
    assert sum(one == pytest.approx(ratings_of(mine)) for one in others) < 5
    late = frame.with_columns(t=pl.Series([1, None, None, 2]))
    with pytest.raises(assay.errors.DesignError, match="2 votes have no 't', the order of the votes"):
        assay.ratings(votes_of(late), model="elo", order="t", method="none")


@pytest.mark.parametrize(
    ("votes", "words"),
    [
        ({"ab": 4}, "a lost no vote against the other systems, and won 4, %END"),
        ({"ab": 1, "cb": 1200, "ac": 1, "ca": 1},
         "b won no vote against the other systems, and lost 1,201, %END, or leave b out with systems=..."),
        ({"ac": 1, "bd": 1, "a=b": 1, "c=d": 1},
         "a, b lost no vote against the other systems, and won 2, %END, or leave a, b out with systems=..."),
    ],
)  # fmt: skip
def test_who_lost_nothing_or_won_nothing_is_named(votes, words):
    rows = [(pair[0], pair[-1], 0 if "=" in pair else -1) for pair, n in votes.items() for _ in range(n)]
    frame = frame_of([(f"i{k}", "w", a, b, label) for k, (a, b, label) in enumerate(rows)])
    with pytest.raises(assay.errors.DesignError) as refused:
        assay.ratings(votes_of(frame), method="none")
    end = "so the maximum-likelihood ratings are infinite; add votes with prior=1"
    assert words.replace("%END", end) in str(refused.value)


# -- ranks, categories, users -------------------------------------------------------------------------


def test_equal_ratings_share_their_rank_and_its_range():
    rows = [(f"i{i}", "w", "anna", "bert", (-1, 1)[i % 2]) for i in range(20)]
    rows += [(f"j{i}", "w", ("anna", "bert")[i % 2], "carl", -1 if i > 3 else 1) for i in range(20)]
    found = assay.ratings(votes_of(frame_of(rows)), n_resamples=200)
    assert found.rows["rank"].to_list() == [1, 1, 3]
    assert found.rows.select("rank_low", "rank_high").rows()[:2] == [(1, 2), (1, 2)]
    assert "anna and bert have the same rating" in found.summary()


@pytest.mark.slow
def test_categories_have_a_board_each_under_one_correction():
    topic = ["code" if i % 3 else "chat" for i in range(300)]
    labels = study(11, 300, *FLIPPED, topic=topic)
    found = assay.ratings(labels, by="topic", method="jackknife")
    assert found.rows["group"].unique().sort().to_list() == [None, "chat", "code"]
    code = labels.where(topic="code")
    mine = assay.ratings(code, method="jackknife")
    theirs = found.rows.filter(pl.col("group") == "code").drop("group")
    assert theirs.equals(mine.rows.drop("group"))
    # The p-values of a judge's pairs are corrected over categories too.
    p = np.sort(found.pairs["p"].to_numpy())
    assert found.pairs.height == 18
    assert found.pairs["p_adjusted"].min() == pytest.approx(min(1, 18 * p[0]))
    assert "Humans, code (600 votes):" in found.summary()
    assert ", Holm)" in found.summary()
    assert found.difference("s3", "s0", who="gpt", group="code").estimate > 0


def test_users_are_clusters_where_each_item_is_one_users():
    rng = np.random.default_rng(12)
    frame = drawn(300, seed=12).drop("annotator")
    frame = frame.with_columns(annotator=pl.Series([f"u{k:02d}" for k in rng.integers(0, 25, 300)])).drop("repeat")
    items = frame.select("item", user="annotator")
    read = assay.read(frame.select("item", "annotator", "first", "second", "label"), scale="preference", items=items)
    one, other = (assay.ratings(read, clusters=c, n_resamples=60) for c in ("annotator", "user"))
    assert one.rows.equals(other.rows)
    assert "25 clusters" in one.summary()
    with pytest.raises(assay.errors.DesignError, match=r"ann, cho voted on item 'i0000'; remove clusters"):
        assay.ratings(study(13, 40, *FLIPPED), clusters="annotator")


def test_a_judges_votes_lie_with_the_user_of_their_item():
    frame = drawn(120, seed=14).drop("repeat", "time", "separability")
    both = pl.concat([frame, frame.with_columns(annotator=pl.lit("gpt"))])
    found = assay.ratings(assay.read(both, scale="preference", judges=["gpt"]), clusters="annotator", n_resamples=60)
    people, judge = found.rows.partition_by("who")
    assert people.drop("who").equals(judge.drop("who"))


# -- covariates ---------------------------------------------------------------------------------------


def arena(seed: int, n: int, worth: float, gap: float = 0.4, longer: float = 0.3, tie: float = 0.2) -> pl.DataFrame:
    """Votes for better outputs, and for longer ones by ``worth`` a standard deviation; better systems write more."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, n)
    b = (a + rng.integers(1, 4, n)) % 4
    size = np.exp(rng.normal(5, 0.5, (n, 2)) + longer * np.stack([a, b], axis=1)).round()
    x = (size[:, 0] - size[:, 1]) / size.sum(axis=1)
    lean = gap * (b - a) - worth * x / np.sqrt(np.mean(x**2)) + rng.logistic(size=n)
    return pl.DataFrame(
        {"item": [f"i{i:05d}" for i in range(n)], "annotator": "u", "first": [f"s{k}" for k in a],
         "second": [f"s{k}" for k in b], "label": np.where(np.abs(lean) < tie, 0, np.sign(lean)).astype(int),
         "first_length": size[:, 0], "second_length": size[:, 1]}
    )  # fmt: skip


@pytest.mark.slow
def test_covariates_are_a_logistic_regression():
    linear_model = pytest.importorskip("sklearn.linear_model", reason="needs scikit-learn")
    frame = arena(1, 900, 0.5)
    rows, wins, weights = [], [], []
    x = ((frame["first_length"] - frame["second_length"]) / (frame["first_length"] + frame["second_length"])).to_numpy()
    x = x / np.sqrt(np.mean(x**2))
    for row, value in zip(frame.iter_rows(named=True), x, strict=True):
        design = np.zeros(5)
        design[[int(row["first"][1]), int(row["second"][1])]] = 1, -1
        design[4] = value
        for won in (1, 0) if row["label"] == 0 else (int(row["label"] < 0),):
            rows.append(design)
            wins.append(won)
            weights.append(0.5 if row["label"] == 0 else 1.0)
    model = linear_model.LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-12, max_iter=10_000)
    fitted = model.fit(np.array(rows), wins, weights).coef_[0]
    found = assay.ratings(assay.read(frame, scale="preference"), covariates="length", method="none")
    points = 400 / math.log(10)
    expected = 1000 + (fitted[:4] - fitted[:4].mean()) * points
    assert [ratings_of(found)[f"s{k}"] for k in range(4)] == pytest.approx(expected.tolist(), abs=1e-3)
    assert found.coefficients["estimate"][0] == pytest.approx(fitted[4] * points, abs=1e-3)
    assert found.coefficients["odds"][0] == pytest.approx(math.exp(fitted[4]), abs=1e-5)
    plain = assay.ratings(assay.read(frame, scale="preference"), method="none")
    assert dict(found.rows.select("system", "plain").rows()) == pytest.approx(ratings_of(plain), abs=1e-6)


def test_p_values_of_covariates_are_adjusted_over_those_of_a_rater():
    frame = arena(4, 300, 0.15).with_columns(tone=pl.Series(np.random.default_rng(1).normal(size=300)))
    found = assay.ratings(
        assay.read(frame, scale="preference"), covariates=["length", "tone"], method="jackknife"
    ).coefficients
    small, large = sorted(found["p"])
    assert sorted(found["p_adjusted"]) == pytest.approx([min(2 * small, 1), min(max(2 * small, large), 1)])


@pytest.mark.slow
def test_resamples_with_covariates_come_near_a_fit_of_each():
    frame = arena(2, 600, 0.5)
    labels = assay.read(frame, scale="preference")
    found = assay.ratings(labels, covariates="length", n_resamples=40)
    from assay.estimation.resampling import resampling_counts

    x = ((frame["first_length"] - frame["second_length"]) / (frame["first_length"] + frame["second_length"])).to_numpy()
    votes = [np.array([int(s[1]) for s in frame[c]]) for c in ("first", "second")]
    got = (1 - frame["label"].to_numpy()) / 2
    for counts, replicate in zip(resampling_counts(600, 40, 0), found.estimates.replicates, strict=True):
        column = (x / np.sqrt(np.mean(x**2)))[:, None]
        fit = tournaments.CovariateVotes(*votes, got, column, counts.astype(float), 4).fit()
        off = np.abs(replicate - 1000 - fit[:4] * 400 / math.log(10)).max()
        assert off < 0.25 * found.estimates.standard_error.max()  # of second order: .06 on average


@pytest.mark.slow
def test_what_length_decides_is_taken_out_and_what_it_does_not_is_kept():
    """Equal systems, the later ones longer: s3 leads without the covariate length, and no system leads with it."""
    found = assay.ratings(assay.read(arena(3, 2500, 0.8, gap=0.0), scale="preference"), covariates="length")
    plain = found.rows.sort("plain")
    assert plain["system"].to_list()[-1] == "s3"
    assert plain["plain"][-1] - plain["plain"][0] > 100
    assert found.rows["estimate"].max() - found.rows["estimate"].min() < 60
    row = found.coefficients.row(0, named=True)
    assert row["low"] < 0.8 * 400 / math.log(10) < row["high"]
    assert "length: more is preferred" in found.summary()
    assert "the column plain has the unadjusted ratings" in found.summary()


@pytest.mark.slow
@pytest.mark.parametrize("studies", [120])
def test_a_length_that_decides_nothing_is_seldom_said_to(studies):
    said, covered, led = 0, 0, 0
    for seed in range(studies):
        labels = assay.read(arena(seed, 400, 0.0, gap=0.0), scale="preference")
        found = assay.ratings(labels, covariates="length", method="jackknife")
        said += found.coefficients["p_adjusted"][0] <= 0.05
        covered += found.coefficients["low"][0] <= 0 <= found.coefficients["high"][0]
        led += found.lead.low > 0
    limit = 0.05 + 2 * math.sqrt(0.05 * 0.95 / studies)
    assert said / studies <= limit
    assert 1 - covered / studies <= limit
    assert led / studies <= limit


@pytest.mark.slow
def test_a_covariate_is_made_of_two_columns_of_one_or_of_the_texts():
    def columns(*names: str) -> tuple[str, ...]:
        rows = [{"item": "i", "annotator": who, "label": "first"} | dict.fromkeys(names, 1) for who in "ab"]
        return covariate_columns(assay.read(pl.DataFrame(rows), scale="preference"), ["length"])["length"]

    assert columns("length", "first_length", "second_length", "first_text") == ("first_length", "second_length")
    assert columns("length_a", "length_b") == ("length_a", "length_b")
    assert columns("length", "first_text", "second_text") == ("length",)
    assert columns("first_text", "second_text") == ("first_text", "second_text")
    with pytest.raises(assay.errors.DesignError, match="\\(for length, headers, bold, lists\\) the texts in columns"):
        columns("first_text")


def test_style_is_counted_in_texts():
    texts = pl.Series("first_text", ["# A\n\n**b** and __c__\n- d\n2. e", "plain", None])
    other = pl.Series("second_text", ["plain", "plain", ""])
    for name, counts in {"length": (30, 5), "headers": (1, 0), "bold": (2, 0), "lists": (2, 0)}.items():
        one, zero = counts if name != "length" else (len(texts[0]), 5)
        expected = (one - zero) / (one + zero)
        np.testing.assert_allclose(covariate_values(name, [texts, other]), [expected, 0, 0])


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({}, {"covariates": "lenght"}, "needs columns 'first_lenght' and 'second_lenght', one column 'lenght'"),
        ({"second_length": "first_length"}, {"covariates": "length"}, "outputs of every vote are equal in 'length'"),
        ({}, {"covariates": "length", "ties": "davidson"}, "need ties='half' or ties='drop'"),
        ({}, {"covariates": "second"}, "must be numbers; 'second' is"),
        ({"same": pl.col("first_length") - pl.col("second_length")}, {"covariates": ["same", "same2"]}, "each other"),
        ({"rank": pl.col("first").str.slice(1).cast(pl.Int64) - pl.col("second").str.slice(1).cast(pl.Int64)},
         {"covariates": "rank"}, "are confounded with the systems"),
        ({"rank": pl.col("first").str.slice(1).cast(pl.Int64) - pl.col("second").str.slice(1).cast(pl.Int64)},
         {"covariates": "rank", "prior": 1}, "are confounded with the systems"),
    ],
)  # fmt: skip
def test_unidentified_covariates_are_refused(change, options, words):
    frame = arena(4, 200, 0.3).with_columns(**{k: pl.col(v) if isinstance(v, str) else v for k, v in change.items()})
    if "same" in frame.columns:
        frame = frame.with_columns(same2=2 * pl.col("same"))
    with pytest.raises(assay.errors.DesignError, match=words):
        assay.ratings(assay.read(frame, scale="preference"), **options)


@pytest.mark.parametrize("unit", [1e-5, 1e5])
def test_the_unit_of_a_covariate_changes_only_what_one_of_it_is_worth(unit):
    frame = arena(4, 200, 0.3)
    other = frame.with_columns(pl.col("first_length", "second_length") * unit)
    plain, scaled = (
        assay.ratings(assay.read(one, scale="preference"), covariates="length", method="none") for one in (frame, other)
    )
    assert scaled.rows["estimate"].to_list() == pytest.approx(plain.rows["estimate"].to_list())


# -- what to ask next, and votes that are added -------------------------------------------------------


@pytest.mark.parametrize("method", ["percentile", "jackknife"])
def test_the_next_pair_is_the_one_that_says_most(method):
    found = assay.ratings(votes_of(drawn(400, seed=21)), method=method, n_resamples=200)
    pairs = found.next_pairs(10)
    assert pairs["information"].is_sorted(descending=True)
    assert pairs.height == 6
    slope = math.log(10) / 400
    for row in pairs.iter_rows(named=True):
        one = found.difference(row["first"], row["second"])
        q = 1 / (1 + math.exp(-one.estimate * slope))
        expected = math.log1p(q * (1 - q) * (one.standard_error * slope) ** 2)
        assert row["information"] == pytest.approx(expected, rel=1e-6)
        assert row["width"] == pytest.approx(one.high - one.low)
        assert row["undecided"] == (one.low <= 0 <= one.high)
    wide = found.next_pairs(3, aim="width")
    assert wide["width"].is_sorted(descending=True)
    assert found.next_pairs(1).height == 1


def asked(pairs: list[tuple[int, int]], rng: np.random.Generator, batch: str) -> assay.Annotations:
    """Votes on these pairs of eight systems of even steps."""
    strength = np.linspace(0, 2.1, 8)
    rows = [
        (
            f"{batch}{k:04d}",
            "u",
            f"s{a}",
            f"s{b}",
            -1 if rng.random() < 1 / (1 + np.exp(strength[b] - strength[a])) else 1,
        )
        for k, (a, b) in enumerate(pairs)
    ]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "first", "second", "label"], orient="row")
    return assay.read(frame, scale="preference")


@pytest.mark.slow
def test_votes_that_are_asked_next_bring_more_than_others():
    """Two systems of eight with few votes, 60 votes more: standard errors of differences are 48 points, not 63."""
    errors: dict[str, list[float]] = {"next": [], "random": []}
    for seed, how in itertools.product(range(4), errors):
        rng = np.random.default_rng(seed)
        chance = [0.005] * 2 + [0.99 / 6] * 6
        a, b = rng.choice(8, 600, p=chance), rng.choice(8, 600, p=chance)
        first = list(zip(a.tolist(), np.where(a == b, (a + 1) % 8, b).tolist(), strict=True))
        board = assay.ratings(asked(first, rng, "a"), method="jackknife", prior=0.1)
        for batch in "bcde":
            if how == "next":
                top = board.next_pairs(3).select("first", "second").rows()
                pairs = [(int(x[1]), int(y[1])) for x, y in top] * 5
            else:
                x = rng.integers(0, 8, 15)
                pairs = list(zip(x.tolist(), ((x + rng.integers(1, 8, 15)) % 8).tolist(), strict=True))
            board = board.add(asked(pairs, rng, batch))
        every = itertools.combinations([f"s{k}" for k in range(8)], 2)
        errors[how].append(float(np.mean([board.difference(x, y).standard_error for x, y in every])))
    assert np.mean(errors["next"]) < 0.9 * np.mean(errors["random"])


def test_systems_that_never_met_are_asked_about_first():
    rows = [(f"i{i}", "w", a, b, s) for i, (a, b, s) in enumerate(
        [("anna", "bert", 1), ("anna", "bert", -1), ("carl", "dora", 1), ("carl", "dora", -1)] * 5)]  # fmt: skip
    pairs = assay.ratings(votes_of(frame_of(rows)), n_resamples=40).next_pairs(5)
    assert pairs["information"].to_list()[:4] == [math.inf] * 4
    assert {frozenset(row) for row in pairs.select("first", "second").head(4).iter_rows()} == {
        frozenset(pair) for pair in itertools.product(("anna", "bert"), ("carl", "dora"))
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"method": "jackknife"}, {"ties": "davidson"}, {"separability": "separability"}, {"by": "half"},
     {"ties": "drop", "prior": 1.0}, {"systems": ["anna", "bert", "carl"], "who": ["w0", "w1", "w2", "w3"]}],
)  # fmt: skip
def test_added_votes_give_the_board_of_all(options):
    frame = drawn(400, seed=23).with_columns(half=pl.Series(["a", "b"] * 200))
    old, new = frame.head(300), frame.tail(100)
    board = assay.ratings(votes_of(old), n_resamples=60, **options).add(votes_of(new))
    whole = assay.ratings(votes_of(frame), n_resamples=60, **options)
    for column in ("estimate", "low", "high"):
        np.testing.assert_allclose(board.rows[column].to_numpy(), whole.rows[column].to_numpy(), atol=1e-5)
    same = [c for c in board.rows.columns if c not in ("estimate", "low", "high")]
    assert board.rows.select(same).equals(whole.rows.select(same))
    assert board.wins.equals(whole.wins)
    assert board.run.facts == whole.run.facts
    assert [str(one) for one in board.exclusions] == [str(one) for one in whole.exclusions]


@pytest.mark.slow
def test_added_votes_may_bring_systems_items_and_judges():
    first = study(24, 60, *FLIPPED)
    more = study(25, 60, [*FLIPPED[0], 2.0], [*FLIPPED[1], 2.0])
    named = more.labels.with_columns(
        item="j" + pl.col("item").cast(pl.String), first=more.column("first"), second=more.column("second")
    )
    further = assay.read(named, scale="preference", judges=["gpt"])
    board = assay.ratings(first, n_resamples=60).add(further)
    both = pl.concat([
        first.labels.with_columns(first=first.column("first"), second=first.column("second")), named,
    ], how="diagonal")  # fmt: skip
    whole = assay.ratings(assay.read(both, scale="preference", judges=["gpt"]), n_resamples=60)
    np.testing.assert_allclose(board.rows["low"].to_numpy(), whole.rows["low"].to_numpy(), atol=1e-5)
    assert board.headlines() == whole.headlines()
    with pytest.raises(
        assay.errors.DesignError, match="'gpt' is a human in one of the tables and a judge in the other"
    ):
        board.add(assay.read(named, scale="preference", humans=["ann", "bob", "cho", "gpt"]))


def test_leaderboard_without_refit_refuses_a_system():
    votes = votes_of(drawn(60))
    with pytest.raises(assay.errors.DesignError, match=r"from all votes with assay\.ratings\(votes, model='elo'\)"):
        assay.ratings(votes, model="elo", method="none").add(votes)
    items = drawn(60).select("item", document=pl.col("item").str.slice(0, 5))
    clustered = assay.ratings(votes_of(drawn(60), items=items), clusters="document", prior=1, method="none")
    with pytest.raises(assay.errors.DesignError, match="cannot be added with clusters"):
        clustered.add(votes)


# -- against another library --------------------------------------------------------------------------


@pytest.mark.slow
def test_each_board_is_evalicas():
    evalica = pytest.importorskip("evalica", reason="needs evalica")
    frame = arena(31, 3000, 0.0)
    found = ratings_of(assay.ratings(assay.read(frame, scale="preference"), method="none"))
    winner = {-1: evalica.Winner.X, 0: evalica.Winner.Draw, 1: evalica.Winner.Y}
    lists = frame["first"].to_list(), frame["second"].to_list(), [winner[one] for one in frame["label"]]
    scores = evalica.bradley_terry(*lists, tolerance=1e-10, limit=10_000).scores
    log = {name: 400 * math.log10(score) for name, score in scores.items()}
    middle = np.mean(list(log.values()))
    assert found == pytest.approx({name: 1000 + value - middle for name, value in log.items()}, abs=1e-7)


def test_separability_of_700_is_refused():
    frame = drawn(40).with_columns(separability=pl.Series([700.0, *[0.4] * 39]))
    for ask in (assay.ratings, ELO):
        with pytest.raises(
            assay.errors.DesignError, match="separability must be between -1 and 1; 'separability' has 700"
        ):
            ask(votes_of(frame), separability="separability")


@pytest.mark.parametrize("ask", [assay.ratings, ELO])
def test_separability_column_may_be_text(ask):
    """A table of items in CSV has its numbers as text."""
    frame = drawn(60, seed=41)
    items = frame.select("item", pl.col("separability").cast(pl.String))
    with_items = votes_of(frame.drop("separability"), items=items)
    one, other = (ask(v, separability="separability", method="none") for v in (votes_of(frame), with_items))
    assert one.rows.equals(other.rows)
    binned = assay.consistency(with_items, by="separability", bins=2)
    assert binned.rows["bin"].drop_nulls().n_unique() == 2
