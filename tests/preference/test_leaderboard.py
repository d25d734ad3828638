"""Ratings and consistency of votes: slow references, other libraries, published numbers, and errors."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from functools import partial

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex
from scipy import optimize

import assay
import references
from assay.errors import DataError, DesignError
from assay.estimation.intervals import Estimate, EstimateByRule, Estimates
from assay.preference import leaderboard, words
from assay.preference.boards import Board, orders_each
from assay.preference.page import leaderboard_parts
from assay.preference.votes import RatingSettings
from assay.reporting import pictures
from assay.reporting.tables import p_value
from assay.statistics.comparisons import tournaments

ELO = partial(assay.ratings, model="elo")
STRENGTH = partial(assay.consistency, measure="strength")

NAN = float("nan")
SYSTEMS = ("anna", "bert", "carl", "dora")


def frame_of(rows: list[tuple[str, str, str, str, int]], **columns: object) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema=["item", "annotator", "first", "second", "label"], orient="row")
    return frame.with_columns(
        repeat=pl.int_range(1, pl.len() + 1).over("item", "annotator"),
        **{k: pl.Series(v) if isinstance(v, list | np.ndarray) else pl.lit(v) for k, v in columns.items()},
    )


def drawn(n: int, seed: int = 0, gap: float = 0.5, tie: float = 0.4) -> pl.DataFrame:
    """Votes between systems with strengths 0, gap, 2 gap, …, each on a separate item."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        a, b = rng.choice(len(SYSTEMS), 2, replace=False)
        lean = gap * (b - a) + rng.logistic()
        rows.append((f"i{i:05d}", f"w{i % 5}", SYSTEMS[a], SYSTEMS[b], 0 if abs(lean) < tie else int(np.sign(lean))))
    return frame_of(rows, time=rng.random(n), separability=rng.random(n))


def votes_of(frame: pl.DataFrame, **options: object) -> assay.Annotations:
    return assay.read(frame, scale="preference", repeat="repeat", **options)


def ratings_of(found) -> dict[str, float]:
    return dict(found.rows.select("system", "estimate").rows())


# -- Elo ----------------------------------------------------------------------------------------------


def plain_elo(rows, weight=lambda row: 1.0, **options) -> dict[str, float]:
    rows = list(rows)
    votes = [(row["first"], row["second"], (1 - row["label"]) / 2) for row in rows]
    return references.elo(votes, weights=[weight(row) for row in rows], **options)


@pytest.mark.parametrize("options", [{}, {"k": 4.0, "base": 2.0, "rating_scale": 100.0, "start": 1500.0}])
def test_elo_in_the_order_of_votes_is_the_plain_loop(options):
    frame = drawn(400, seed=1)
    found = assay.ratings(votes_of(frame), model="elo", order="time", method="none", **options)
    assert ratings_of(found) == pytest.approx(plain_elo(frame.sort("time").iter_rows(named=True), **options), abs=1e-9)


def test_sep_elo_weighs_each_vote_by_equation_6():
    frame = drawn(300, seed=2)
    found = assay.ratings(
        votes_of(frame), model="elo", order="time", method="none", separability="separability", beta=3.0
    )
    expected = plain_elo(
        frame.sort("time").iter_rows(named=True),
        weight=lambda row: 2 / (1 + math.exp(-3 * (row["separability"] - 0.4))),
    )
    assert ratings_of(found) == pytest.approx(expected, abs=1e-9)


def test_each_resample_of_elo_is_the_mean_of_up_to_ten_orders():
    """Ten orders add a tenth of the variance that one adds; 20 million votes in all are gone through, some 2 s."""

    def orders(n_votes: int, n_resamples: int, order: str | None = None) -> int:
        return orders_each(np.empty(n_votes), RatingSettings(model="elo", order=order, n_resamples=n_resamples))

    assert orders(100, 1000) == orders(2_000, 1000) == 10
    assert [orders(n, 1000) for n in (2_001, 5_000, 10_000, 20_001, 10**6)] == [9, 4, 2, 1, 1]
    assert orders(100, 1000, order="time") == 1


@pytest.mark.parametrize("cells", [1 << 18, 40])
def test_elo_without_an_order_is_the_mean_over_random_orders(cells, monkeypatch):
    monkeypatch.setattr(tournaments, "STEP_CELLS", cells)  # laid out at once, and one step after the other
    frame = drawn(120, seed=3).sort("item", "annotator", "repeat")
    found = assay.ratings(votes_of(frame), model="elo", method="none", n_orders=25, seed=7)
    rng = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(1,)))
    runs = [plain_elo(frame[rng.permutation(120).tolist()].iter_rows(named=True)) for _ in range(25)]
    expected = {name: np.mean([run[name] for run in runs]) for name in SYSTEMS}
    assert ratings_of(found) == pytest.approx(expected, abs=1e-9)
    spread = {name: np.std([run[name] for run in runs], ddof=1) for name in SYSTEMS}
    assert dict(found.rows.select("system", "order_sd").rows()) == pytest.approx(spread, abs=1e-9)


@pytest.mark.parametrize(
    ("order", "n_orders", "moved"), [(None, 1, False), (None, 5, True), ("time", 1, False), ("time", 5, True)]
)
def test_order_sensitivity_needs_several_orders(order, n_orders, moved):
    frame = drawn(60, seed=5)
    found = assay.ratings(votes_of(frame), model="elo", order=order, n_orders=n_orders, method="none", seed=7)
    rng = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(1,)))
    runs = [plain_elo(frame[rng.permutation(60).tolist()].iter_rows(named=True)) for _ in range(n_orders)]
    for row in found.rows.iter_rows(named=True):
        each = [run[row["system"]] for run in runs]
        wanted = np.std(each, ddof=1) if moved else math.nan
        assert row["order_sd"] == pytest.approx(wanted, nan_ok=True)
        if order is None:
            assert row["estimate"] == pytest.approx(np.mean(each))
    if order is not None:  # the order that there was gives the ratings, however many others are tried
        assert ratings_of(found) == pytest.approx(plain_elo(frame.sort("time").iter_rows(named=True)), abs=1e-9)


@pytest.mark.slow
def test_each_resample_of_elo_holds_whole_items_and_keeps_the_order():
    frame = drawn(60, seed=4).with_columns(item=pl.format("i{}", pl.int_range(60) // 4))
    frame = frame.with_columns(repeat=pl.int_range(1, pl.len() + 1).over("item", "annotator"))
    found = assay.ratings(votes_of(frame), model="elo", order="time", n_resamples=30)
    from assay.estimation.resampling import resampling_counts

    items = sorted(frame["item"].unique())
    for counts, replicate in zip(resampling_counts(15, 30, 0), found.estimates.replicates, strict=True):
        often = dict(zip(items, counts.astype(int).tolist(), strict=True))
        rows = [row for row in frame.sort("time").iter_rows(named=True) for _ in range(often[row["item"]])]
        plain = {**dict.fromkeys(SYSTEMS, 1000.0), **plain_elo(rows)}
        assert replicate == pytest.approx([plain[name] for name in SYSTEMS], abs=1e-9)


def test_runs_one_by_one_are_runs_together(monkeypatch):
    rng = np.random.default_rng(5)
    first, second, orders = rng.integers(0, 3, 50), rng.integers(3, 6, 50), rng.integers(-1, 50, (60, 4))
    given = (first, second, rng.random(50), rng.random(50), orders, np.full(6, 1000.0), 0.01)
    found = []
    for few in (0, 5):
        monkeypatch.setattr(tournaments, "FEW_RUNS", few)
        found.append(tournaments.elo(*given))
    np.testing.assert_allclose(*found, rtol=1e-12)


# -- Bradley-Terry ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_bradley_terry_is_a_logistic_regression():
    linear_model = pytest.importorskip("sklearn.linear_model", reason="needs scikit-learn")
    frame = drawn(800, seed=5)
    place = {name: i for i, name in enumerate(SYSTEMS)}
    rows, wins, weights = [], [], []
    for row in frame.iter_rows(named=True):
        for sign in (1, 0) if row["label"] == 0 else ((row["label"] < 0) * 1,):
            x = np.zeros(len(SYSTEMS))
            x[place[row["first"]]], x[place[row["second"]]] = 1, -1
            rows.append(x)
            wins.append(sign)
            weights.append(0.5 if row["label"] == 0 else 1.0)
    model = linear_model.LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-12, max_iter=10_000)
    theta = model.fit(np.array(rows), wins, weights).coef_[0]
    expected = 1000 + (theta - theta.mean()) * 400 / math.log(10)
    found = ratings_of(assay.ratings(votes_of(frame), method="none"))
    assert [found[name] for name in SYSTEMS] == pytest.approx(expected.tolist(), abs=1e-4)


@pytest.mark.slow
def test_davidson_by_general_maximisation():
    frame = drawn(500, seed=6)
    place = {name: i for i, name in enumerate(SYSTEMS)}
    first, second = (np.array([place[s] for s in frame[c]]) for c in ("first", "second"))
    label = frame["label"].to_numpy()

    def loss(p):
        apart = p[first] - p[second]
        whole = np.exp(apart / 2) + np.exp(-apart / 2) + np.exp(p[-1])
        return -np.sum(np.where(label < 0, apart / 2, np.where(label > 0, -apart / 2, p[-1])) - np.log(whole)) + (
            p[:-1].mean() ** 2
        )

    theta = optimize.minimize(loss, np.zeros(5), tol=1e-12).x[:-1]
    found = ratings_of(assay.ratings(votes_of(frame), ties="davidson", method="none"))
    assert [found[name] for name in SYSTEMS] == pytest.approx((1000 + theta * 400 / math.log(10)).tolist(), abs=0.01)


@pytest.mark.slow
def test_many_tables_at_once_are_each_alone():
    rng = np.random.default_rng(0)
    wins = rng.integers(1, 20, (7, 3, 5, 5)).astype(float) * (1 - np.eye(5))
    ties = rng.integers(0, 9, (7, 3, 5, 5)).astype(float)
    ties = (ties + ties.swapaxes(2, 3)) * (1 - np.eye(5))
    for tied in (None, ties):
        together = tournaments.bradley_terry(wins, tied)
        for i, j in itertools.product(range(7), range(3)):
            alone = tournaments.bradley_terry(wins[i, j], None if tied is None else tied[i, j])
            assert together[i, j] == pytest.approx(alone, abs=1e-8)


def test_a_system_that_never_lost_is_refused_until_votes_are_added():
    rows = [(f"i{i}", "w", "anna", "bert", -1) for i in range(5)] + [("j", "w", "bert", "carl", 1)]
    rows += [("k", "w", "bert", "carl", -1)]
    votes = votes_of(frame_of(rows))
    with pytest.raises(
        assay.errors.DesignError, match=r"anna lost no vote against the other systems.*prior=1.*systems="
    ):
        assay.ratings(votes)
    found = ratings_of(assay.ratings(votes, prior=1.0, method="none"))
    # To the optimum of the same likelihood: half a vote for each in every pair.
    assert found["anna"] > max(found["bert"], found["carl"])
    assert all(map(math.isfinite, found.values()))
    left = assay.ratings(votes, systems=("bert", "carl"), method="none")
    assert ratings_of(left) == pytest.approx({"bert": 1000, "carl": 1000})
    assert [(one.count, one.reason) for one in left.exclusions] == [
        (5, "on a system that systems=... does not name"),
    ]


@pytest.mark.parametrize("ask", [assay.ratings, ELO])
def test_systems_that_never_met_have_no_common_leaderboard(ask):
    rows = [(f"i{i}", "w", a, b, s) for i, (a, b, s) in enumerate(
        [("anna", "bert", 1), ("anna", "bert", -1), ("carl", "dora", 1), ("carl", "dora", -1)] * 3)]  # fmt: skip
    found = ask(votes_of(frame_of(rows)), n_resamples=40)
    assert found.rows.select("component", "system", "rank").sort("system").rows() == [
        ("anna, bert", "anna", 1), ("anna, bert", "bert", 1), ("carl, dora", "carl", 1), ("carl, dora", "dora", 1),
    ] or ask is ELO  # fmt: skip
    assert "no vote connects anna, bert; carl, dora" in found.cautions[0]
    assert found.difference("carl", "dora").estimate == pytest.approx(0, abs=20)
    with pytest.raises(assay.errors.DesignError, match="no vote connects anna with carl"):
        found.difference("anna", "carl")
    # Votes added by a prior do not connect systems.
    assert assay.ratings(votes_of(frame_of(rows)), prior=1.0, method="none").rows["component"].n_unique() == 2


@pytest.mark.slow
def test_systems_with_only_wins_differ_from_unconnected_systems():
    won = [(f"i{i}", "w", "anna", "bert", -1) for i in range(4)]
    apart = [(f"j{i}", "w", "carl", "dora", s) for i, s in enumerate((-1, 1, 1))]
    found = assay.ratings(votes_of(frame_of(won + apart)), n_resamples=40)
    assert found.rows.filter(pl.col("component") == "anna, bert")["reason"].unique().to_list() == [
        "anna lost no vote against the other systems, and won 4, so the maximum-likelihood ratings are "
        "infinite; add votes with prior=1"
    ]
    assert found.rows.filter(pl.col("component") == "carl, dora")["estimate"].is_not_nan().all()
    assert "No ratings of anna, bert: anna lost no vote" in found.summary()
    with pytest.raises(assay.errors.DesignError, match="anna lost no vote against the other systems, and won 4"):
        assay.ratings(votes_of(frame_of(won)))
    lost = [*won, ("k", "w", "anna", "carl", -1), ("l", "w", "anna", "carl", 1)]
    with pytest.raises(
        assay.errors.DesignError, match=r"^bert won no vote against the other systems, and lost 4.*leave bert"
    ):
        assay.ratings(votes_of(frame_of(lost)))


@pytest.mark.slow
def test_without_its_votes_a_rating_does_not_depend_on_their_order_or_side():
    frame = drawn(300, seed=8)
    turned = frame.with_columns(first=pl.col("second"), second=pl.col("first"), label=-pl.col("label"))
    for ask in (assay.ratings, STRENGTH):
        one, other = (ask(votes_of(f), n_resamples=50) for f in (frame, turned.reverse()))
        np.testing.assert_allclose(one.table["estimate"].to_numpy(), other.table["estimate"].to_numpy(), rtol=1e-9)


@pytest.mark.simulation
@pytest.mark.parametrize("ties", ["davidson", "half", "drop"])
def test_intervals_cover_the_truth(ties):
    truth = assay.ratings(votes_of(drawn(40_000, seed=99)), ties=ties, method="none")
    best = ratings_of(truth)["dora"] - ratings_of(truth)["anna"]
    hits = 0
    for seed in range(60):
        found = assay.ratings(votes_of(drawn(300, seed=seed)), ties=ties, method="jackknife")
        names = list(found.run.settings.systems or SYSTEMS)
        weights = np.zeros(4)
        weights[[names.index("dora"), names.index("anna")]] = 1, -1
        lead = found.estimates.contrast(weights)[0]
        hits += lead.low <= best <= lead.high
    # .95 of 60: at least 50 with probability .999.
    assert hits >= 50


@pytest.mark.slow
def test_ranks_come_from_the_resamples():
    found = assay.ratings(votes_of(drawn(250, seed=11)), n_resamples=400)
    replicates = found.estimates.replicates
    for row in found.rows.iter_rows(named=True):
        i = SYSTEMS.index(row["system"])
        ranks = np.array([1 + (one > one[i]).sum() for one in replicates])
        assert (row["rank_low"], row["rank_high"]) == tuple(
            np.quantile(ranks, [0.025, 0.975], method="nearest").astype(int)
        )


@pytest.mark.slow
def test_the_table_of_wins_counts_each_vote_twice_over():
    frame = drawn(200, seed=12)
    found = assay.ratings(votes_of(frame), method="none")
    assert found.rows["votes"].sum() == 400
    cell = found.wins.filter((pl.col("first") == "anna") & (pl.col("second") == "bert")).row(0, named=True)
    both = frame.filter(pl.col("first").is_in(["anna", "bert"]) & pl.col("second").is_in(["anna", "bert"]))
    won = both.filter(
        pl.when(pl.col("first") == "anna").then(pl.col("label") < 0).otherwise(pl.col("label") > 0)
    ).height
    tied = both.filter(pl.col("label") == 0).height
    assert (cell["wins"], cell["ties"], cell["votes"]) == (won, tied, both.height)
    assert cell["win_rate"] == pytest.approx((won + tied / 2) / both.height)
    assert found.plot_wins().figure is not None


# -- consistency --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "consistency", "strength", "kind"),
    [
        ([-1, -1, -1], 1, -1, "one-sided"),
        ([-1, 0, 0], 1 / 3, -1 / 3, "one-sided"),
        ([0, 0, 0], 0, 0, "all ties"),
        ([-1, 1, 0], 0, 0, "mixed"),
        ([1, 1, -1], 0, 1 / 3, "mixed"),
    ],
)
def test_equations_4_and_7(labels, consistency, strength, kind):
    votes = votes_of(frame_of([("i", "w", "anna", "bert", label) for label in labels]))
    (row,) = assay.consistency(votes, method="none").sets.iter_rows(named=True)
    assert (row["consistency"], row["strength"], row["set"]) == (
        pytest.approx(consistency), pytest.approx(strength), kind,
    )  # fmt: skip
    # Shown in the other order, each vote turned: the same sets.
    turned = votes_of(frame_of([("i", "w", "bert", "anna", -label) for label in labels]))
    assert assay.consistency(turned, method="none").sets.row(0, named=True) == row


@pytest.mark.slow
def test_bins_tell_separable_items_apart():
    rng = np.random.default_rng(1)
    rows, delta = [], []
    for i in range(80):
        separable = rng.random()
        for who in ("w1", "w2", "m"):
            side = rng.random() < 0.5
            for _ in range(4):
                same = rng.random() < 0.5 + separable / 2
                rows.append((f"i{i:02d}", who, "anna", "bert", -1 if side == same else 1))
                delta.append(separable)
    votes = votes_of(frame_of(rows, separability=delta), judges=["m"])
    found = assay.consistency(votes, by="separability", bins=4)
    assert found.rows.filter(pl.col("bin").is_null())["who"].to_list() == ["humans", "m"]
    for who in ("humans", "m"):
        mine = found.rows.filter((pl.col("who") == who) & pl.col("bin").is_not_null())
        assert mine["sets"].sum() == {"humans": 160, "m": 80}[who]
        values = mine["estimate"].to_list()
        assert values[-1] > values[0] + 0.2
        assert found.trend[who].low > 0
    assert "in the highest bin minus the lowest bin" in found.summary()
    even = assay.consistency(votes, by="separability", binning="count", who="judges", method="none")
    assert even.rows.filter(pl.col("bin").is_not_null())["sets"].to_list() == [20] * 4


def test_a_mean_is_as_sure_as_the_items_that_it_rests_on():
    """Three of a hundred items in a bin, with equal sets, carry little information about it."""
    rows = [(f"i{i:02d}", "w", "anna", "bert", label) for i in range(100) for label in (-1, -1, 1 if i < 97 else -1)]
    half = ["a" if i < 97 else "b" for i in range(100) for _ in "123"]
    found = assay.consistency(votes_of(frame_of(rows, half=half)), by="half")
    few = found.rows.filter(pl.col("bin") == "b").row(0, named=True)
    assert (few["estimate"], few["sets"]) == (1.0, 3)
    assert few["low"] < 0.5
    assert found.rows.filter(pl.col("bin") == "a")["high"][0] < 0.05


def test_sets_of_one_vote_are_said():
    found = assay.consistency(votes_of(drawn(50)), method="none")
    assert "Excluded: 50 rating sets: one vote cannot be inconsistent (50 of humans)." in found.summary()


@pytest.mark.real_data
def test_the_published_votes(real_data):
    """150 rating sets of summaries: mean consistency .468 once votes are about models, not places on the screen."""
    raw = pl.read_csv(real_data / "preference" / "mistral-7b_vicuna-7b_samsum.csv")
    names, rows = ("mistral", "vicuna"), []
    items: dict[tuple[str, ...], str] = {}
    for row in raw.iter_rows(named=True):
        shown = tuple(sorted(str(row[f"Input.model{m}_summary{j}"]) for m in (1, 2) for j in range(1, 6)))
        item = items.setdefault(shown, f"d{len(items)}")
        for j in range(1, 6):
            first = row[f"Input.id{j}"] - 1
            rows.append((item, f"w{row['WorkerId']}", names[first], names[1 - first], row[f"Answer.pref{j}"]))
    votes = votes_of(frame_of(rows))
    found = assay.consistency(votes)
    assert (found.rows["sets"][0], found.rows["votes"][0], len(items)) == (150, 750, 50)
    assert found.rows["estimate"][0] == pytest.approx(0.468, abs=0.0005)
    assert found.rows["low"][0] < 0.468 < found.rows["high"][0]
    # Two systems: the log odds of Bradley and Terry are those of the wins, ties halved.
    board = assay.ratings(votes, method="none")
    share = board.rows["win_rate"][0]
    points = board.rows["estimate"][0] - board.rows["estimate"][1]
    assert points == pytest.approx(400 * math.log10(share / (1 - share)), abs=1e-6)


# -- tables that people bring -------------------------------------------------------------------------


@pytest.mark.slow
def test_battles_are_read_as_votes(tmp_path):
    frame = pl.DataFrame({
        "question_id": [1, 1, 2, 3, 4], "model_a": ["x", "y", "x", "y", "x"], "model_b": ["y", "x", "y", "x", "y"],
        "winner": ["model_a", "model_b", "tie (bothbad)", "tie", "skipped"],
        "judge": ["ann", "ann", "bob", "bob", "bob"],
    })  # fmt: skip
    frame.write_csv(tmp_path / "battles.csv")
    frame.write_ndjson(tmp_path / "battles.jsonl")
    tables = [assay.read(frame), assay.read(tmp_path / "battles.csv"), assay.read(tmp_path / "battles.jsonl")]
    for votes in tables:
        # Question 1 shows x and y in both orders, a condition, and x, which wins twice, is the first of all votes.
        assert votes.labels.select("item", "annotator", "label").rows() == [
            ("1", "ann", -1), ("1", "ann", -1), ("2", "bob", 0), ("3", "bob", 0),
        ]  # fmt: skip
        assert votes.conditions == ("order",)
        assert votes.column("first").to_list() == ["x"] * 4
        assert votes.labels["order"].to_list() == ["x>y", "y>x", "x>y", "y>x"]
        assert any("winner names neither" in line for line in votes.reading.lines())
        assert any("first is model_a" in line for line in votes.reading.lines())
    assert assay.ratings(tables[0], prior=1, method="none").rows["win_rate"].to_list() == [0.75, 0.25]


def test_battles_without_voters_are_separate_items():
    votes = assay.read(pl.DataFrame({"model_a": ["x", "x"], "model_b": ["y", "y"], "winner": ["a", "b"]}))
    assert votes.labels["annotator"].unique().to_list() == ["voters"]
    assert votes.n_items == 2


# -- refused ------------------------------------------------------------------------------------------

GOOD = [("i", "w", "anna", "bert", -1), ("j", "w", "anna", "bert", 1)]


@pytest.mark.parametrize("ask", [assay.consistency, STRENGTH, assay.ratings, ELO])
@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ([*GOOD, ("k", "w", "anna", "anna", 1)], {}, "vote of 'w' on item 'k' compares a system with itself .anna."),
        ([*GOOD, ("k", "w", None, "anna", 1)], {}, "vote of 'w' on item 'k' does not name both systems"),
        (GOOD, {"systems": ("anna", "bort")}, "system 'bort' is not in the votes; did you mean 'bert'"),
        (GOOD, {"systems": ("anna",)}, "needs at least two systems"),
        ([*GOOD, ("k", "w", "carl", "dora", 1)], {"systems": ("anna", "carl")}, "no vote compares two of anna, carl"),
        (GOOD, {"systms": ("anna",)}, "did you mean 'systems'|unexpected keyword"),
    ],
)
def test_words_of_each_error(ask, rows, options, words):
    with pytest.raises((assay.errors.AssayError, TypeError), match=words):
        ask(votes_of(frame_of(rows)), **options)


@pytest.mark.parametrize("ask", [assay.consistency, STRENGTH, assay.ratings, ELO])
def test_what_are_no_votes_is_refused(ask):
    with pytest.raises(assay.errors.DesignError, match=r"needs votes: labels first, second or tie.*scale='preference'"):
        ask(assay.simulate(n_items=5))
    with pytest.raises(assay.errors.DesignError, match=r"no 'first'.*model_a, model_b and winner"):
        ask(assay.read(frame_of(GOOD).drop("first"), scale="preference", repeat="repeat"))
    two = pl.concat([frame_of(GOOD).with_columns(criterion=pl.lit(c)) for c in ("clear", "true")])
    with pytest.raises(assay.errors.DesignError, match=r"one criterion.*labels.where\(criterion='clear'\)"):
        ask(votes_of(two))


def test_options_that_would_do_nothing_are_refused():
    votes = votes_of(drawn(40))
    with pytest.raises(assay.errors.DesignError, match=r"alpha=\.\.\. weights votes by separability; name its column"):
        assay.ratings(votes, model="elo", alpha=1.0)
    with pytest.raises(assay.errors.DesignError, match="must be a number for every item; it is String"):
        assay.ratings(votes, separability="first")
    with pytest.raises(assay.errors.DesignError, match="depends on the order of votes; use method='percentile'"):
        assay.ratings(votes, model="elo", method="jackknife")


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ("bradley-terry", {"k": 16.0}, "k=... is an option of model='elo'; got model='bradley-terry'"),
        ("bradley-terry", {"order": "time"}, "order=... is an option of model='elo'; got model='bradley-terry'"),
        ("elo", {"ties": "drop"}, "ties=... is an option of model='bradley-terry'; got model='elo'"),
        ("elo", {"covariates": "size"}, "covariates=... is an option of model='bradley-terry'; got model='elo'"),
    ],
)
def test_ratings_rejects_options_of_the_other_model(model, options, words):
    with pytest.raises(assay.errors.DesignError, match=re.escape(words)):
        assay.ratings(votes_of(drawn(40)), model=model, **options)


@pytest.mark.slow
def test_a_report_on_votes_rates_the_systems():
    rng = np.random.default_rng(0)
    rows = [(f"i{i:03d}", who, "anna", "bert", int(rng.choice([-1, 0, 1], p=[0.5, 0.2, 0.3])))
            for i in range(60) for who in ("w1", "w2", "w3", "m")]  # fmt: skip
    page = assay.report(
        votes_of(frame_of(rows).drop("repeat").with_columns(repeat=1), judges=["m"]), epsilon=0.1
    ).html()
    assert "Ranking of systems by humans and judges" in page
    assert "m and humans: " in page
    assert "Consistency of votes" in page
    assert "Wins of the row over the column, in percent" in page


@pytest.mark.parametrize("ask", [ELO, assay.ratings])
@pytest.mark.parametrize(("old", "new"), [("scale", "rating_scale"), ("threshold", "separability_threshold")])
def test_words_that_mean_something_else_elsewhere_are_refused_with_todays(ask, old, new):
    with pytest.raises(assay.errors.DesignError, match=rf"{old}=\.\.\. is now {new}=\.\.\."):
        ask(votes_of(drawn(20)), **{old: 1.0})


@pytest.mark.slow
def test_systems_are_read_from_the_items_too():
    frame = drawn(80, seed=12)
    without = frame.drop("first", "second")
    items = pl.concat([frame.select("item", "first", "second"), pl.DataFrame([("z", None, "eve")], frame.select(
        "item", "first", "second").schema, orient="row")])  # fmt: skip
    with_items = votes_of(without, items=items)
    assert "first" in with_items.items.columns
    for ask in (ELO, assay.ratings, assay.consistency):
        one, other = (ask(votes, n_resamples=30) for votes in (votes_of(frame), with_items))
        assert one.table.equals(other.table)


def test_a_signature_holds_whom_each_vote_is_about():
    frame = drawn(80, seed=13)
    signature = assay.ratings(votes_of(frame), method="none").signature
    assert assay.ratings(votes_of(frame.reverse()), method="none").signature == signature
    # Two votes exchange their second system: neither labels nor how often each is named change.
    a = frame["second"][0]
    row = next(i for i in range(1, 80) if frame["second"][i] != a and a not in frame.row(i)[2:4] and
               frame["second"][i] != frame["first"][0])  # fmt: skip
    second = frame["second"].to_list()
    second[0], second[row] = second[row], a
    other = frame.with_columns(second=pl.Series(second))
    assert assay.ratings(votes_of(other), method="none").signature != signature


# -- what pairs, leads and judges are said to be -------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "p", "line"),
    [(1.0, 0.01, "; significant."), (1.0, 0.05, "; significant."), (1.0, 0.06, "; not significant (p = 0.060)."),
     (0.0, 0.01, "; not significant."), (-1.0, 0.01, "; not significant."), (NAN, 0.01, "]: ")],
)  # fmt: skip
def test_a_lead_is_clear_by_its_interval_and_its_p_value(low, p, line, small):
    lead = EstimateByRule(20.0, low, 40.0, 9.0, ends=lambda level: (low, 40.0), test=lambda null: p)
    text = dataclasses.replace(small, lead=lead).summary()
    assert (line in text) if low == low else "significant" not in text


def test_leads_of_several_boards_of_one_rater_share_a_correction():
    frame = drawn(150, seed=5, gap=0.3).with_columns(topic=pl.Series(["art", "law", "art"] * 50))
    judge = drawn(150, seed=6, gap=0.6).with_columns(annotator=pl.lit("gpt"), topic=frame["topic"])
    labels = votes_of(pl.concat([frame, judge.with_columns(item="j" + pl.col("item"))]), judges=["gpt"])
    found = assay.ratings(labels, by="topic", method="jackknife")
    leads = [(one.who, one.difference(*one.order[:2].tolist()).p()) for one in found.boards]
    assert [who for who, _ in leads] == ["humans"] * 3 + ["gpt"] * 3
    said = [line for line in found.summary().splitlines() if line.endswith(", Holm).") and " − " in line]
    for who in ("humans", "gpt"):
        mine = [p for name, p in leads if name == who]
        largest, adjusted = 0.0, {}
        for rank, p in enumerate(sorted(mine)):
            largest = adjusted[p] = max(largest, min(1.0, (len(mine) - rank) * p))
        for p in mine:
            line = said.pop(0)
            assert f"({p_value(adjusted[p])}, Holm)" in line
            assert ("; significant" in line) is (adjusted[p] <= 0.05)


@pytest.mark.slow
def test_agreement_with_humans_is_of_all_votes_and_not_of_groups():
    frame = drawn(150, seed=5, gap=0.3).with_columns(topic=pl.Series(["art", "law", "art"] * 50))
    # The judge votes as the humans on art, and for the other system on law.
    turned = pl.when(pl.col("topic") == "law").then(-pl.col("label")).otherwise(pl.col("label"))
    judge = frame.with_columns(annotator=pl.lit("gpt"), label=turned, item="j" + pl.col("item"))
    labels = votes_of(pl.concat([frame, judge]), judges=["gpt"])
    by = assay.ratings(labels, by="topic", method="jackknife")
    assert by.pairs["group"].null_count() < by.pairs.height
    orders = by.pairs.filter(pl.col("group") == "law")["order"].to_list()
    assert set(orders) == {"reversed"}
    assert by.agreement["gpt"].estimate == assay.ratings(labels, method="jackknife").agreement["gpt"].estimate == 1


def test_judge_without_ratings_has_a_reason():
    rows = [("i1", "ann", "a", "b", 1), ("i2", "ann", "a", "b", -1), ("i3", "gpt", "a", "b", 1)]
    found = assay.ratings(votes_of(frame_of(rows), judges=["gpt"]), method="none")
    (line,) = found.headlines()
    assert line.startswith(
        "gpt cannot be compared with humans: b lost no vote against the other systems, and won 1, so"
    )
    pal = frame_of([*rows, ("i4", "pal", "a", "b", 1), ("i5", "pal", "b", "a", 1)])
    judges = assay.ratings(votes_of(pal, judges=["gpt", "pal"]), method="none", who=["gpt", "pal"])
    assert judges.headlines() == []
    turned = [("i4", "gpt", "a", "b", -1), ("i5", "ann", "a", "b", 1), ("i6", "ann", "a", "b", -1)]
    parts = frame_of([*rows, *turned], topic=["art"] * 3 + ["law"] * 3)
    each = assay.ratings(votes_of(parts, judges=["gpt"]), by="topic", method="none")
    assert [board.group for board in each.boards if board.reason is not None] == ["art", "law"]
    assert not [line for line in each.headlines() if "cannot be compared" in line]


def test_votes_on_each_board_are_counted_and_intervals_said_together():
    """Items of either category differ in number; what is left out of earlier and later votes is one sum."""
    frame = drawn(90, seed=3).with_columns(topic=pl.Series(["art"] * 40 + ["law"] * 50))
    found = assay.ratings(votes_of(frame), by="topic", method="jackknife")
    assert "jackknife" in found.run.interval
    assert " over 40 to 90 items" in found.run.interval
    whole = assay.ratings(votes_of(frame), method="jackknife", ties="drop", systems=["anna", "bert", "carl"])
    parts = assay.ratings(votes_of(frame.head(60)), method="jackknife", ties="drop", systems=["anna", "bert", "carl"])
    added = parts.add(votes_of(frame.tail(30)))
    assert [(e.what, e.count, e.reason) for e in added.exclusions] == [
        (e.what, e.count, e.reason) for e in whole.exclusions
    ]
    assert len(added.exclusions) == len({(e.what, e.reason) for e in added.exclusions})


def pairs_of(*rows):
    names = ["first", "second", "order", "p", "p_adjusted", "demonstrated"]
    types = {"p": pl.Float64, "p_adjusted": pl.Float64}
    return pl.DataFrame(rows, schema=names, schema_overrides=types, orient="row")


TAU = Estimate(0.5, -0.2, 1.0, NAN)
NUMBER = "Kendall's τ 0.50 [−0.20, 1.00]"


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([("a", "b", "same", 0, 0.01, True), ("a", "c", "same", 0, 0.01, True)],
         f"m and humans: same order demonstrated for all 2 pairs. {NUMBER}."),
        ([("a", "b", "same", 0, 0.01, True), ("a", "c", "reversed", 0, 0.02, True)],
         "m and humans: order reversed for a–c (p = 0.020); same order demonstrated for 1 of 2 pairs. "
         f"{NUMBER}."),
        ([("a", "b", "same", 0, 0.01, True), ("a", "c", "reversed", 0, 0.2, False)],
         "m and humans: same order demonstrated for 1 of 2 pairs; 1 undecided (a–c); no reversal demonstrated. "
         f"{NUMBER}."),
        ([("a", "b", "same", 0, 0.1, False)],
         f"m and humans: order undecided for a–b. {NUMBER}."),
    ],
)  # fmt: skip
def test_order_of_judge_is_same_reversed_or_undecided(rows, line):
    assert words.order_line("m", pairs_of(*rows), TAU, intervals=True) == line


def test_without_intervals_the_order_is_counted_alone():
    rows = [
        ("a", "b", "same", 0, 0.01, False),
        ("a", "c", "reversed", 0, 0.02, False),
        ("b", "c", "equal", 0, 1, False),
    ]
    assert words.order_line("m", pairs_of(*rows), TAU, intervals=False) == (
        f"m and humans: same order for 1 of 3 pairs; not tested. {NUMBER}."
    )


def test_three_pairs_are_named_and_more_are_counted():
    rows = [("a", x, "reversed", 0, p, True) for x, p in (("b", 0.04), ("c", 0.01), ("d", 0.03), ("e", 0.02))]
    # The smallest p-value first.
    three = "order reversed for a–c (p = 0.010), a–e (p = 0.020), a–d (p = 0.030)"
    assert words.reversals(pairs_of(*rows[1:])) == three
    assert words.reversals(pairs_of(*rows)) == f"{three} and 1 more pair"
    left = [("a", x, "same", 0, 0.5, False) for x in "bcde"]
    for some, names in ((left[:3], "a–b, a–c, a–d"), (left, "a–b and 3 more")):
        said = words.order_line("m", pairs_of(*some), TAU, intervals=True)
        assert said.endswith(f": order undecided for {names}. {NUMBER}.")


@pytest.mark.parametrize(
    ("estimate", "p", "effect"),
    [(50.0, 0.05, "more is preferred"), (-50.0, 0.05, "less is preferred"),
     (50.0, 0.051, "no significant effect"), (50.0, math.nan, "no significant effect")],
)  # fmt: skip
def test_covariate_effect_significant_or_not(estimate, p, effect):
    row = {"who": "humans", "group": None, "covariate": "length", "estimate": estimate, "low": 10.0, "high": 90.0}
    table = pl.DataFrame([row | {"p_adjusted": p}], schema_overrides={"group": pl.String})
    first, last = words.covariate_lines(table, 0.95)
    assert first.startswith(f"length: {effect}, ")
    assert last.startswith("Ratings are adjusted for these covariates")
    assert words.covariate_lines(table.with_columns(group=pl.lit("art")), 0.95) == []
    both = pl.concat([table, table.with_columns(who=pl.lit("m"))])
    assert [line.split(":")[0] for line in words.covariate_lines(both, 0.95)[:2]] == ["humans", "m"]


# -- tables of boards by hand --------------------------------------------------------------------------

# Votes by outcome, (first, tie, second) by (first system, second system): a beat b 3 times as first and once as second,
# one tie and b's one win; a beat c once; b and c never met.
COUNTS = np.zeros((3, 3, 3), dtype=np.int64)
COUNTS[0, 0, 1], COUNTS[2, 1, 0], COUNTS[1, 0, 1], COUNTS[2, 0, 1], COUNTS[0, 0, 2] = 3, 1, 1, 1, 1


def estimates_of(value, replicates=(), without=(), confidence=0.9):
    """Ratings of a board with resamples, or with units left out, and intervals of 9 points on either side."""
    value = np.array(value, dtype=float)
    q = len(value)
    made, left = (np.array(rows, dtype=float).reshape(-1, q) for rows in (replicates, without))
    return Estimates(
        value, np.full(q, 5.0), value - 9, value + 9, ("why",) * q, 20, 20, "jackknife" if len(left) else "percentile",
        confidence, len(made), 0, made, np.zeros(q, dtype=np.int64), leave_one_out=left, transform=("none",) * q,
    )  # fmt: skip


def rated(value=(100.0, 50.0, 200.0), systems="abc", counts=COUNTS, **more):
    common = {"who": "humans", "group": None, "component": None, "slope": 0.01}
    replicates = more.pop("replicates", ())
    return Board(systems=tuple(systems), counts=counts, estimates=estimates_of(value, replicates), **common | more)


def test_rows_of_a_board_are_the_systems_from_the_best():
    found = leaderboard.board_rows(rated())
    assert found["system"].to_list() == ["c", "a", "b"]
    assert found["estimate"].to_list() == [200, 100, 50]
    assert (found["low"].to_list(), found["high"].to_list()) == ([191, 91, 41], [209, 109, 59])
    assert found["rank"].to_list() == [1, 2, 3]
    assert found.select("votes", "wins", "ties", "losses").rows() == [(1, 0, 0, 1), (7, 5, 1, 1), (6, 1, 1, 4)]
    assert found["win_rate"].to_list() == pytest.approx([0, 5.5 / 7, 1.5 / 6])
    assert found["rank_low"].to_list() == found["rank_high"].to_list() == [None] * 3
    assert found["reason"].to_list() == ["why"] * 3
    assert not {"order_sd", "plain", "plain_rank"} & set(found.columns)
    more = leaderboard.board_rows(
        rated(order_sd=np.array([1.0, 2, 3]), plain=np.array([7.0, 9, 8]), group="art", component="a, b, c")
    )
    assert more["order_sd"].to_list() == [3, 1, 2]
    assert more.select("plain", "plain_rank").rows() == [(8, 2), (7, 3), (9, 1)]
    assert more.select("who", "group", "component").unique().rows() == [("humans", "art", "a, b, c")]
    unrated = leaderboard.board_rows(rated(reason="a never lost"))
    assert unrated["rank"].to_list() == [None] * 3


def test_ranks_over_resamples_and_equal_ratings():
    """Ten resamples: c is first in nine and second in one, after a; a and b are even in one."""
    usual, turned, even = [100, 50, 200], [300, 50, 200], [50, 50, 200]
    found = leaderboard.board_rows(rated(replicates=[usual] * 8 + [turned, even]))
    assert found["system"].to_list() == ["c", "a", "b"]
    assert found.select("rank_low", "rank_high").rows() == [(1, 2), (1, 3), (2, 3)]
    assert leaderboard.board_rows(rated((50.0, 50, 20)))["rank"].to_list() == [1, 1, 3]


def test_of_every_two_that_met_the_better_one_comes_first():
    found = leaderboard.board_wins(rated(group="art"))
    assert found.select("first", "second", "wins", "ties", "votes").rows() == [
        ("c", "a", 0, 0, 1), ("a", "c", 1, 0, 1), ("a", "b", 4, 1, 6), ("b", "a", 1, 1, 6),
    ]  # fmt: skip
    assert found["win_rate"].to_list() == pytest.approx([0, 1, 4.5 / 6, 1.5 / 6])
    assert found.select("who", "group").unique().rows() == [("humans", "art")]


@pytest.mark.parametrize(
    ("who", "group", "component", "name"),
    [
        ("humans", None, None, "Humans"), ("together", None, None, "Humans and judges together"),
        ("gpt", None, None, "gpt"), ("gpt", "art", None, "gpt, art"), ("humans", None, "a, b", "Humans, among a, b"),
        ("humans", "art", "a, b", "Humans, art, among a, b"),
    ],
)  # fmt: skip
def test_a_board_is_named_by_whose_it_is(who, group, component, name):
    assert words.board_name(rated(who=who, group=group, component=component)) == name


# -- sentences about a board ---------------------------------------------------------------------------------


def lines_of(mine, clear, lead, test=""):
    found = Estimate(lead, lead - 1, lead + 1, 0.5)
    return words.board_lines(mine, leaderboard.board_rows(mine), leaderboard.Lead(found, clear, test))


def test_lines_of_a_board_are_its_systems_and_its_lead():
    assert lines_of(rated(replicates=[[100, 50, 200]] * 3), True, 100.0) == [
        "1. c 200 [191, 209], rank 1, won 0% of 1 vote.",
        "2. a 100 [91, 109], rank 2, won 79% of 7 votes.",
        "3. b 50 [41, 59], rank 3, won 25% of 6 votes.",
        "c − a: 100 [99, 101]; significant.",
    ]
    plain = lines_of(rated(order_sd=np.array([1.0, 2.54, 2])), False, 100.0, " (p = 0.2, Holm)")
    assert plain[0] == "1. c 200 [191, 209], won 0% of 1 vote."
    assert plain[3:] == [
        "c − a: 100 [99, 101]; not significant (p = 0.2, Holm).",
        "Elo: order sensitivity, SD 2.5 points.",
    ]
    assert lines_of(rated(), None, 100.0)[3] == "c − a: 100 [99, 101]."
    tolerance = rated().tolerance
    for lead, even in ((tolerance, True), (-tolerance, True), (1.5 * tolerance, False)):
        last = lines_of(rated(), True, lead)[3]
        assert (last == "c and a have the same rating.") == even
    assert lines_of(rated(reason="a never lost"), True, 1.0) == ["No ratings of a, b, c: a never lost."]


# -- whose board ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small():
    return assay.ratings(votes_of(drawn(60)), method="none")


def with_boards(small, *some):
    rows = pl.concat([leaderboard.board_rows(one) for one in some], how="diagonal")
    wins = pl.concat([leaderboard.board_wins(one) for one in some])
    return dataclasses.replace(small, boards=some, rows=rows, wins=wins)


def test_a_difference_is_of_one_board(small):
    """The first board's unless another is named; systems of two components cannot be compared."""
    de = np.zeros((3, 2, 2), dtype=np.int64)
    de[0, 0, 1] = 2
    found = with_boards(
        small, rated(component="a, b, c"), rated((10.0, 40.0), "de", de, component="d, e"),
        rated((1.0, 2, 3), who="m", group="art"),
    )  # fmt: skip
    assert found.raters == ("humans", "m")
    assert found.systems == ("a", "b", "c")
    assert found.difference("c", "b").estimate == 150
    assert found.difference("b", "c").estimate == -150
    assert found.difference("e", "d").estimate == 30
    assert found.difference("a", "c", "m", "art").estimate == -2
    with pytest.raises(DesignError, match="no vote connects a with d"):
        found.difference("a", "d")
    with pytest.raises(DataError, match="'x'"):
        found.difference("a", "x")
    for who, group in (("k", None), ("m", None), ("humans", "art")):
        with pytest.raises(DesignError, match="the leaderboard"):
            found.difference("a", "b", who, group)


@pytest.mark.parametrize(
    ("low", "high", "undecided"),
    [(-1.0, 9.0, True), (0.0, 9.0, True), (1.8, 2.2, False), (-9.0, 0.0, True), (0.5, 9.0, True)],
)
def test_pair_is_undecided_if_interval_includes_0_or_p_is_large(low, high, undecided, small):
    """Resamples of a minus b with these ends, half of them each: 0.5 and 9 have a standard error of 4.3."""
    two = np.ones((3, 2, 2), dtype=np.int64)
    one = rated((3.0, 1.0), "ab", two, replicates=[[end, 0.0] for end in (low, high)] * 20)
    (row,) = dataclasses.replace(small, boards=(one,)).next_pairs().to_dicts()
    assert (row["first"], row["second"], row["difference"], row["votes"]) == ("a", "b", 2.0, 6)
    assert (row["low"], row["high"], row["undecided"]) == (low, high, undecided)
    assert row["width"] == high - low


def test_pair_without_resamples_is_undecided_and_an_unrated_board_has_none(small):
    found = dataclasses.replace(small, boards=(rated(),)).next_pairs()
    assert found["undecided"].all()
    assert found["information"].is_nan().all()
    assert dataclasses.replace(small, boards=(rated(reason="a never lost"),)).next_pairs().height == 0


def test_what_one_more_vote_on_a_pair_tells(small):
    # 100 points at .01: q = 1 / (1 + 1/e) = .7311, q (1 - q) = .19661. The variance of a - b is 400 + 900 - 2 * 100
    # = 1100, in log odds .11; log(1 + .19661 * .11) = .021396.
    root = np.linalg.cholesky(np.array([[400.0, 100.0], [100.0, 900.0]]))
    drawn_ = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]) * math.sqrt(3) / 2 @ root.T
    one = rated((150.0, 50.0), "ab", np.ones((3, 2, 2), dtype=np.int64), replicates=drawn_)
    (row,) = dataclasses.replace(small, boards=(one,)).next_pairs().to_dicts()
    assert row["information"] == pytest.approx(0.021396, abs=1e-6)


def test_pairs_that_no_vote_connects_say_most(small):
    """They come before all others, also without intervals, when the information of the others is unknown."""
    two = np.ones((3, 2, 2), dtype=np.int64)
    found = with_boards(small, rated(component="a, b, c"), rated((10.0, 20), "de", two, component="d, e"))
    pairs = found.next_pairs(aim="information", n=7)
    across = pairs.head(6)
    assert set(across.select("first", "second").rows()) == {(x, y) for x in "abc" for y in "de"}
    assert across["information"].to_list() == [math.inf] * 6
    assert (across["votes"].to_list(), across["undecided"].to_list()) == ([0] * 6, [True] * 6)
    assert pairs.height == 7
    every = found.next_pairs(aim="information", n=50)
    assert every.height == 6 + 3 + 1
    met = {(a, b): votes for a, b, votes in every.tail(4).select("first", "second", "votes").iter_rows()}
    assert met == {("a", "b"): 6, ("a", "c"): 1, ("b", "c"): 0, ("d", "e"): 6}
    assert found.next_pairs().height == 10


# -- pictures ------------------------------------------------------------------------------------------


def labels_of(axis):
    return [tick.get_text() for tick in axis.get_ticklabels()]


def colours_of(ax):
    points = [(line.get_ydata()[0], to_hex(line.get_color())) for line in ax.lines if len(line.get_xydata()) == 1]
    return [colour for _, colour in sorted(points, reverse=True)]


@pytest.mark.slow
def test_boards_are_drawn_by_group_and_system_in_their_colours(small):
    both = with_boards(small, rated(), rated((300.0, 50, 200), who="m"), rated((1.0, 2, 3), who="m", group="art"))
    ax = both.plot()
    assert labels_of(ax.yaxis) == [
        "c, humans", "c, m", "a, humans", "a, m", "b, humans", "b, m", "c, art, m", "a, art, m", "b, art, m",
    ]  # fmt: skip
    assert colours_of(ax) == [pictures.HUMAN, pictures.JUDGE] * 3 + [pictures.JUDGE] * 3
    assert ax.get_xlabel() == "rating, points"
    one = with_boards(small, rated()).plot()
    assert (labels_of(one.yaxis), colours_of(one)) == (["c", "a", "b"], [pictures.JUDGE] * 3)
    n = pictures.MOST_ROWS + 1
    many = with_boards(small, rated(-np.arange(n), [f"s{k:02d}" for k in range(n)], np.ones((3, n, n), dtype=np.int64)))
    assert labels_of(many.plot().yaxis) == [f"s{k:02d}" for k in range(n - 1)]


def test_the_table_of_wins_is_of_one_rater_over_all_votes(small):
    flipped = COUNTS[::-1].copy()
    found = with_boards(small, rated(), rated(who="m", counts=flipped), rated(who="m", group="art"))

    def cells(ax):
        return {(2.5 - t.get_position()[1], t.get_position()[0] - 0.5): t.get_text() for t in ax.texts}

    # Rows and columns c, a, b: a is preferred to b in 4.5 of 6, to c in 1 of 1; the judge says the opposite.
    assert cells(found.plot_wins()) == {(0, 1): "0", (1, 0): "100", (1, 2): "75", (2, 1): "25"}
    assert cells(found.plot_wins(who="m")) == {(0, 1): "100", (1, 0): "0", (1, 2): "25", (2, 1): "75"}
    ax = found.plot_wins()
    assert labels_of(ax.xaxis) == labels_of(ax.yaxis) == ["c", "a", "b"]
    assert (ax.get_xticks().tolist(), ax.get_yticks().tolist()) == ([0.5, 1.5, 2.5], [2.5, 1.5, 0.5])


def test_kendall_has_no_interval_of_no_width():
    """With every order demonstrated, the bounds of Kendall's τ are its value."""
    votes = [
        {"question_id": f"q{i}", "judge": who, "model_a": "x", "model_b": "y", "winner": "B" if turned else "A"}
        for i in range(60) for who in ("ann", "ben", "gpt-4o") for turned in [(i % 10 == 0) ^ (who == "gpt-4o")]
    ]  # fmt: skip
    found = assay.ratings(assay.read(pl.DataFrame(votes), judges=["gpt-4o"]))
    tau = found.agreement["gpt-4o"]
    assert (tau.estimate, tau.reason) == (-1, "the orders of all pairs are demonstrated")
    assert math.isnan(tau.low)
    assert math.isnan(tau.high)
    assert tau.interval(1 - 1e-14) == (-1, 1)
    assert "Kendall's τ −1.00 (no interval)." in found.summary()


def test_ratings_say_that_an_item_is_a_question_with_all_its_pairs():
    votes = [
        {"question_id": f"q{i}", "judge": "ann", "model_a": one, "model_b": other, "winner": "A" if i % 3 else "B"}
        for i in range(30) for one, other in itertools.combinations("xyz", 2)
    ]  # fmt: skip
    said = "the votes on all pairs of one question are one item (column pair_of)"
    found = assay.ratings(assay.read(pl.DataFrame(votes)), n_resamples=50)
    assert "resamples of 30 items" in found.run.interval
    assert said in found.notes
    single = assay.ratings(assay.read(pl.DataFrame(votes).filter(model_a="x", model_b="y")), n_resamples=50)
    assert said not in single.notes


# -- fit of the model ------------------------------------------------------------------------------------


def cycle(who: str, shares: dict[str, int], n: int = 100) -> list[tuple[str, str, str, str, int, int]]:
    """Votes of one annotator: of n on each pair, so many for its first system."""
    return [(f"{pair}{k}", who, *pair, 1, -1 if k < wins else 1) for pair, wins in shares.items() for k in range(n)]


def test_votes_that_run_in_a_circle_differ_from_the_ratings():
    """A beats B, B beats C and C beats A in 80 of 100 votes each: equal ratings, which expect 50."""
    rows = cycle("ann", {"AB": 80, "BC": 80, "CA": 80})
    frame = pl.DataFrame(rows, schema=["item", "annotator", "first", "second", "repeat", "label"], orient="row")
    found = assay.ratings(votes_of(frame), n_resamples=100)
    assert found.fit["expected"].to_list() == pytest.approx([50] * 3)
    # Each of 300 votes is 0.5 off and counts by a third in each residual: 30 / √(300 × 0.25 / 9), with n − 1 for n.
    assert found.fit["residual"].abs().to_list() == pytest.approx([30 / (300 * 0.25 / 9 * 100 / 99) ** 0.5] * 3)
    assert found.fit["differs"].all()
    (line,) = [line for line in found.summary().splitlines() if line.startswith("Fit")]
    assert "Fit, humans: 3 of 3 pairs differ from the Bradley–Terry model: " in line
    assert "A was preferred to B 80:20, expected 50:50 (p < 0.001)" in line
    assert "Observed and expected wins" in str(leaderboard_parts(found)[0].frames)


def test_no_order_is_demonstrated_for_a_pair_whose_votes_contradict_the_ratings():
    """People prefer b to a in 70 of 100 votes, but a wins more against c and d, so that its rating is higher."""
    people = {"AB": 30, "AC": 95, "AD": 95, "BC": 60, "BD": 60, "CD": 55}
    judge = {**people, "AB": 75}
    rows = [*cycle("ann", people), *cycle("gpt", judge)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "first", "second", "repeat", "label"], orient="row")
    found = assay.ratings(votes_of(frame, judges=["gpt"]), n_resamples=500)
    ab = found.pairs.filter(pl.col("first").is_in(["A", "B"]) & pl.col("second").is_in(["A", "B"])).row(0, named=True)
    assert (ab["order"], ab["contradicted"], ab["demonstrated"], ab["p"]) == ("same", True, False, 1.0)
    assert ab["humans_low"] > 0
    assert " Votes on A–B contradict the ratings (see Fit): no order is demonstrated." in found.headlines()[0]
    others = found.pairs.filter((pl.col("first") == "A") & (pl.col("second") != "B"))
    assert others["demonstrated"].all()


def test_votes_of_the_model_seldom_differ_from_it():
    """Items of three votes whose preferences differ between items: at most 5% of boards have a pair that differs."""
    rng, flagged, n = np.random.default_rng(4), 0, 120
    for _ in range(n):
        strengths, wins = rng.normal(0, 0.5, 5), np.zeros((150, 5, 5))
        for unit in wins:
            here = strengths + rng.normal(0, 1, 5)
            for _ in range(3):
                a, b = rng.choice(5, 2, replace=False)
                unit[(a, b) if rng.random() < 1 / (1 + np.exp(here[b] - here[a])) else (b, a)] += 1
        fit = tournaments.pair_fit(wins, tournaments.bradley_terry(wins.sum(axis=0)))
        assert np.isfinite(fit.p).all()
        flagged += 10 * fit.p.min() <= 0.05
    assert flagged <= 0.05 * n + 2 * (0.05 * 0.95 * n) ** 0.5


def test_pairs_that_one_way_connects_have_no_residual():
    rows = cycle("ann", {"AB": 80, "BC": 70})
    frame = pl.DataFrame(rows, schema=["item", "annotator", "first", "second", "repeat", "label"], orient="row")
    found = assay.ratings(votes_of(frame), n_resamples=50)
    assert found.fit["p"].is_nan().all()
    assert "Fit" not in found.summary()


# -- dependent votes ----------------------------------------------------------------------------------


def votes_of_users(seed: int, taste: float, groups: int = 5, name: str = "user", n: int = 100) -> assay.Annotations:
    """Votes on three equal systems, all pairs of a question, whose voters or documents have different tastes."""
    rng = np.random.default_rng([19, seed])
    of = rng.integers(groups, size=n)
    likes = rng.normal(0, taste, (groups, 3))
    rows = []
    for q, one in enumerate(of.tolist()):
        for a, b in itertools.combinations(range(3), 2):
            first = rng.random() < 1 / (1 + math.exp(likes[one, b] - likes[one, a]))
            rows.append((f"q{q}-{a}{b}", f"q{q}", f"{name}{one}", f"s{a}", f"s{b}", -1 if first else 1))
    frame = pl.DataFrame(rows, schema=["item", "pair_of", name, "first", "second", "label"], orient="row")
    more = {"annotator": "user"} if name == "user" else {"annotator": "ann", "conditions": ()}
    frame = frame if name == "user" else frame.with_columns(ann=pl.lit("anna"))
    return assay.read(frame, scale="preference", humans=frame[more["annotator"]].unique().to_list(), **more)


def cautions_of(labels: assay.Annotations, **options: object) -> str:
    return " ".join(assay.ratings(labels, n_resamples=50, **options).cautions)


def test_votes_of_few_users_with_tastes_are_dependent():
    said = [cautions_of(votes_of_users(seed, 1.0)) for seed in range(5)]
    assert all("share 5 values of “annotator”" in one and "clusters='annotator'" in one for one in said)
    assert "of “annotator”" in cautions_of(votes_of_users(0, 1.0), model="elo", n_orders=2)
    assert not cautions_of(votes_of_users(0, 1.0), clusters="annotator")
    assert sum(bool(cautions_of(votes_of_users(seed, 0.0))) for seed in range(20)) <= 3


def test_votes_on_questions_of_one_document_are_dependent():
    labels = votes_of_users(1, 1.5, groups=15, name="document")
    assert "share 15 values of “document”" in cautions_of(labels)
    assert not cautions_of(labels, clusters="document")
    assert not cautions_of(votes_of_users(3, 0.0, groups=15, name="document"))


def test_a_caution_about_dependent_votes_stays_when_votes_are_added():
    labels = votes_of_users(2, 1.0)
    users = labels.annotators["annotator"].to_list()
    half, rest = (labels.where(annotator=users[start::2]) for start in (0, 1))
    found = assay.ratings(half, n_resamples=50)
    assert found.cautions
    assert found.add(rest).cautions == found.cautions
