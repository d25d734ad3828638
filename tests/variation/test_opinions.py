"""Distances between a judge's distribution of labels and the annotators': definitions, intervals, refusals, nulls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from opinion_worlds import drawn, heated, opinions_of, table, word
from scipy import stats

import assay
import references
from assay.data.annotations import Annotations
from assay.errors import DataError, DesignError
from assay.reporting.tables import p_value


def far(*, ordered: bool) -> Callable[[float, float], float]:
    return (lambda x, y: abs(x - y)) if ordered else (lambda x, y: float(x != y))


def study(seed: int, n: int = 40, people: int = 4, **options: Any) -> tuple[Any, Any, Any, Any]:
    """What people think, their labels (some missing), probabilities of a judge, five repeats of another."""
    rng = np.random.default_rng(seed)
    shares = opinions_of(rng, n, 3)
    labels = drawn(rng, shares, people)
    labels[rng.random(labels.shape) < 0.1] = -1
    labels[:, :2] = np.maximum(labels[:, :2], 0)
    return shares, labels, heated(opinions_of(rng, n, 3) + shares, 0.8), drawn(rng, shares, 5)


def terms(labels: Any, judge: Any, *, ordered: bool) -> np.ndarray:
    """D, h and s of each item by the slow reference: (items, 3)."""
    rows = []
    for mine, given in zip(labels.tolist(), judge, strict=True):
        known = [y for y in mine if y >= 0]
        soft = given.dtype.kind == "f"
        a, h, s = references.energy_terms(
            known,
            dict(enumerate(given.tolist())) if soft else None,
            [] if soft else given.tolist(),
            far(ordered=ordered),
        )
        rows.append((2 * a - h - s, h, s))
    return np.array(rows)


# -- definitions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ordered", [False, True])
def test_distances_of_items_are_those_of_their_definitions(ordered: bool) -> None:
    _, labels, soft, repeats = study(1)
    single = repeats[:, :1]
    found = assay.opinions(table(labels, {"soft": soft, "again": repeats, "once": single}, ordered=ordered, k=3))
    for judge, given in (("soft", soft), ("again", repeats), ("once", single)):
        mine = found.items.filter(judge=judge)
        np.testing.assert_allclose(
            mine.select("D", "h", "s").to_numpy(), terms(labels, given, ordered=ordered), atol=1e-12
        )
        total = terms(labels, given, ordered=ordered).sum(axis=0)
        psi = found.at(judge=judge, quantity="relative distance").estimate
        assert psi == pytest.approx(total[0] / total[1], abs=1e-12)
    assert found.sources == {"again": "repeats", "once": "label", "soft": "probabilities"}


@pytest.mark.slow
def test_energy_distance_of_categories_is_the_brier_distance_of_known_shares() -> None:
    """With many annotators whose label shares are the truth, D is Σ(q − p)²."""
    q, p = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
    labels = np.repeat(np.arange(3), (p * 5000).astype(int))[None, :]
    from assay.variation.distances import JudgeDistribution, LabelSlots, item_distances

    slots = LabelSlots(labels.astype(float), np.arange(5000)[None, :])
    d = item_distances(slots, JudgeDistribution(np.arange(3.0), q[None, :]), ordered=False).energy[0]
    assert d == pytest.approx(((q - p) ** 2).sum(), abs=1e-3)
    ordered = item_distances(slots, JudgeDistribution(np.arange(3.0), q[None, :]), ordered=True).energy[0]
    assert ordered == pytest.approx(2 * (np.cumsum(q - p) ** 2).sum(), abs=1e-3)


@pytest.mark.slow
def test_a_poll_of_k_annotators_has_a_relative_distance_of_one_kth() -> None:
    """The label shares of k random people as the judge's probabilities, in a large study: ψ is 1/k."""
    rng = np.random.default_rng(5)
    shares = opinions_of(rng, 3000, 3)
    labels = drawn(rng, shares, 3)
    for k in (1, 3):
        poll = drawn(rng, shares, k)
        asked = np.stack([(poll == v).mean(axis=1) for v in range(3)], axis=1)
        found = assay.opinions(table(labels, {"poll": asked}, k=3)).at(quantity="relative distance")
        assert found.low < 1 / k < found.high
        assert found.high - found.low < 0.2


def test_leave_one_out_question_of_the_alt_test_is_the_distance_beyond_a_share_of_h() -> None:
    """Judge and other m − 1 people at the left-out person: the difference of squares is D − h/(m − 1)."""
    rng = np.random.default_rng(8)
    shares = opinions_of(rng, 6, 3)
    labels, soft = drawn(rng, shares, 4), heated(shares, 0.7)
    for mine, q in zip(labels, soft, strict=True):
        one_hot = np.eye(3)[mine]
        losses = []
        for j in range(4):
            others = np.delete(one_hot, j, axis=0).mean(axis=0)
            losses.append(((q - one_hot[j]) ** 2).sum() - ((others - one_hot[j]) ** 2).sum())
        _, h, _ = references.energy_terms(mine.tolist(), dict(enumerate(q.tolist())), [], far(ordered=False))
        d = terms(mine[None, :], q[None, :], ordered=False)[0, 0]
        assert np.mean(losses) == pytest.approx(d - h / 3, abs=1e-12)


# -- intervals ------------------------------------------------------------------------------------------


def hall(top: np.ndarray, bottom: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    psi, n = top.sum() / bottom.sum(), len(top)
    u = (top - psi * bottom) / bottom.mean()
    g, x = np.mean(u**3) / np.mean(u**2) ** 1.5, stats.t.ppf((1 + level) / 2, n - 1) / math.sqrt(n)
    ends = [3 / g * (np.cbrt(1 + g * (v - g / (6 * n))) - 1) for v in (x, -x)]
    return psi - u.std(ddof=1) * ends[0], psi - u.std(ddof=1) * ends[1]


def fieller(top: np.ndarray, bottom: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Roots of (Σ top − r Σ bottom)² = t² n var(top − r bottom)."""
    n, t = len(top), stats.t.ppf((1 + level) / 2, len(top) - 1)
    v = np.cov(top, bottom)
    roots = np.roots([
        bottom.mean() ** 2 - t**2 * v[1, 1] / n, -2 * (top.mean() * bottom.mean() - t**2 * v[0, 1] / n),
        top.mean() ** 2 - t**2 * v[0, 0] / n,
    ])  # fmt: skip
    return tuple(sorted(roots.tolist()))  # type: ignore[return-value]


@pytest.mark.parametrize("n", [40, 90])
def test_interval_of_the_relative_distance_is_halls_and_with_few_items_the_wider(n: int) -> None:
    _, labels, soft, _ = study(2, n)
    found = assay.opinions(table(labels, {"soft": soft}, k=3))
    d, h, s = terms(labels, soft, ordered=False).T
    wanted = hall(d, h)
    disagreed = int((h > 0).sum())
    assert disagreed >= 20
    assert (disagreed >= 50) == (n == 90)
    if n == 40:
        other = fieller(d, h)
        wanted = (min(wanted[0], other[0]), max(wanted[1], other[1]))
    psi = found.at(quantity="relative distance")
    assert (psi.low, psi.high) == pytest.approx(wanted, abs=1e-9)
    ratio = found.at(quantity="spread ratio")
    assert (ratio.low, ratio.high) == pytest.approx(fieller(s, h), abs=1e-9)
    row = found.rows.filter(quantity="relative distance").row(0, named=True)
    if row["people_at_least"] is not None:
        assert row["people_at_least"] == pytest.approx(1 / psi.high)


def test_documents_are_summed() -> None:
    _, labels, soft, _ = study(3, 90)
    documents = pl.DataFrame({"item": [f"i{i:04d}" for i in range(90)], "document": [f"d{i // 3}" for i in range(90)]})
    found = assay.opinions(table(labels, {"soft": soft}, k=3, items=documents), clusters="document")
    d, h, _ = terms(labels, soft, ordered=False).reshape(30, 3, 3).sum(axis=1).T
    low, high = hall(d, h)
    other = fieller(d, h)
    psi = found.at(quantity="relative distance")
    assert (psi.low, psi.high) == pytest.approx((min(low, other[0]), max(high, other[1])), abs=1e-9)


def test_slope_on_probabilities_has_hc3_standard_errors() -> None:
    _, labels, soft, _ = study(4, 60)
    found = assay.opinions(table(labels, {"soft": soft}, k=3)).at(quantity="spread slope")
    _, h, s = terms(labels, soft, ordered=False).T
    x = np.column_stack([np.ones(60), s])
    inverse = np.linalg.inv(x.T @ x)
    beta = inverse @ x.T @ h
    lever = np.einsum("ij,jk,ik->i", x, inverse, x)
    meat = x.T @ (((h - x @ beta) / (1 - lever))[:, None] ** 2 * x)
    error = math.sqrt((inverse @ meat @ inverse)[1, 1])
    t = stats.t.ppf(0.975, 58)
    assert (found.estimate, found.low, found.high) == pytest.approx((beta[1], beta[1] - t * error, beta[1] + t * error))


def test_slope_on_repeats_is_free_of_their_noise() -> None:
    """Covariances by pairs of different items, the variance by four different repeats; jackknife of items."""
    rng = np.random.default_rng(6)
    shares = heated(opinions_of(rng, 30, 3), 0.6)
    labels, repeats = drawn(rng, shares, 4), drawn(rng, shares, 7)
    _, h, s = terms(labels, repeats, ordered=False).T
    q = np.array([references.four_different(r.tolist(), far(ordered=False)) for r in repeats])

    def slope(keep: np.ndarray) -> float:
        a, b, four, n = s[keep], h[keep], q[keep], len(keep)
        other = [(i, j) for i in range(n) for j in range(n) if i != j]
        cov = np.mean(a * b) - np.mean([a[i] * b[j] for i, j in other])
        return float(cov / (np.mean(four) - np.mean([a[i] * a[j] for i, j in other])))

    every = np.arange(30)
    without = np.array([slope(np.delete(every, i)) for i in every])
    error = math.sqrt(29 / 30 * ((without - without.mean()) ** 2).sum())
    found = assay.opinions(table(labels, {"again": repeats}, k=3)).at(quantity="spread slope")
    t = stats.t.ppf(0.975, 29)
    wanted = (slope(every), slope(every) - t * error, slope(every) + t * error)
    assert (found.estimate, found.low, found.high) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.slow
def test_annotators_like_these_are_left_out_with_their_t() -> None:
    _, labels, soft, _ = study(7, 36)
    n, m = labels.shape

    def psi(rows: np.ndarray, people: np.ndarray) -> float:
        part = labels[np.ix_(rows, people)]
        keep = (part >= 0).sum(axis=1) > 1
        d, h, _ = terms(part[keep], soft[rows][keep], ordered=False).sum(axis=0)
        return float(d / h)

    items, people = np.arange(n), np.arange(m)
    z_i = np.array([psi(np.delete(items, i), people) for i in items])
    z_p = np.array([psi(items, np.delete(people, p)) for p in people])
    z_b = np.array([[psi(np.delete(items, i), np.delete(people, p)) for p in people] for i in items])
    v_i, v_p = (n - 1) / n * ((z_i - z_i.mean()) ** 2).sum(), (m - 1) / m * ((z_p - z_p.mean()) ** 2).sum()
    both = z_b - z_b.mean(axis=0) - z_b.mean(axis=1, keepdims=True) + z_b.mean()
    v_b = (n - 1) * (m - 1) / (n * m) * (both**2).sum()
    d = z_i.mean() - z_i
    kappa = n * (d**4).sum() / (d**2).sum() ** 2
    df = (n - 1) * min(1, 2 / (kappa * (n + 1) / (n - 1) - 1))
    half = math.sqrt(stats.t.ppf(0.975, df) ** 2 * v_i + stats.t.ppf(0.975, m - 1) ** 2 * max(v_p - v_b, 0))
    found = assay.opinions(table(labels, {"soft": soft}, k=3), raters="random").at(quantity="relative distance")
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=1e-9)
    assert found.estimate == pytest.approx(psi(items, people))


def test_difference_of_judges_is_that_of_their_distances() -> None:
    _, labels, soft, repeats = study(9, 50)
    found = assay.opinions(table(labels, {"soft": soft, "again": repeats}, k=3))
    d = terms(labels, repeats, ordered=False)[:, 0] - terms(labels, soft, ordered=False)[:, 0]
    row = found.rows.filter(quantity="difference").row(0, named=True)
    assert (row["judge"], row["other"]) == ("again", "soft")
    test = stats.ttest_1samp(d, 0)
    assert (row["estimate"], row["p"]) == pytest.approx((d.mean(), test.pvalue), rel=1e-6)
    assert (row["low"], row["high"]) == pytest.approx(tuple(test.confidence_interval()))


def test_against_shares_is_the_gain_on_the_best_constant() -> None:
    """The label shares of all items, the item's own labels included; no constant can be closer."""
    _, labels, soft, _ = study(10, 50)
    found = assay.opinions(table(labels, {"soft": soft}, k=3)).rows.filter(quantity="against shares").row(0, named=True)
    each = np.stack([(labels == v).sum(axis=1) for v in range(3)], axis=1) / (labels >= 0).sum(axis=1)[:, None]
    shares = np.repeat(each.mean(axis=0)[None, :], 50, axis=0)
    gain = terms(labels, soft, ordered=False)[:, 0] - terms(labels, shares, ordered=False)[:, 0]
    assert found["estimate"] == pytest.approx(gain.mean())
    assert found["p"] == pytest.approx(stats.ttest_1samp(gain, 0, alternative="less").pvalue, rel=1e-6)
    other = np.repeat(np.random.default_rng(1).dirichlet(np.ones(3))[None, :], 50, axis=0)
    constant = assay.opinions(table(labels, {"c": other}, k=3)).at(quantity="against shares")
    assert constant.estimate > 0


def test_labels_that_apply_are_summed_over_the_answers_of_a_question() -> None:
    rng = np.random.default_rng(11)
    parts, total = [], np.zeros(2)
    for name in ("food", "price"):
        shares = opinions_of(rng, 60, 2)
        labels, repeats = drawn(rng, shares, 3), drawn(rng, shares, 3)
        total += terms(labels, repeats, ordered=False).sum(axis=0)[:2]
        one = table(labels, {"again": repeats}, k=2).labels
        parts.append(
            one.with_columns(criterion=pl.lit(f"topic: {name}"), label=pl.col("label").replace({"a": "no", "b": "yes"}))
        )
    frame = pl.concat(parts).select("item", "annotator", "criterion", "repeat", "label")
    labels = Annotations.from_frame(frame, judges=["again"], scale=assay.Nominal(("no", "yes")), repeat="repeat")
    found = assay.opinions(labels)
    assert found.rows["criterion"].unique().to_list() == ["topic"]
    assert found.at(quantity="relative distance").estimate == pytest.approx(total[0] / total[1])
    slope = found.rows.filter(quantity="spread slope").row(0, named=True)
    assert "requires probabilities" in slope["reason"]


# -- reasons and refusals -------------------------------------------------------------------------------


def test_few_items_with_disagreement_have_no_interval() -> None:
    labels = np.zeros((60, 3), dtype=int)
    labels[:12, 0] = 1
    soft = np.repeat([[0.9, 0.1]], 60, axis=0)
    found = assay.opinions(table(labels, {"soft": soft}, k=2))
    row = found.rows.filter(quantity="relative distance").row(0, named=True)
    assert row["low"] is None
    assert row["reason"] == "the annotators disagree on only 12 items; 20 are required"
    assert "no interval: the annotators disagree on only 12 items" in found.summary()
    labels[:12, 0] = 0
    assert assay.opinions(table(labels, {"soft": soft}, k=2)).rows["reason"][0] == "the annotators disagree on no item"


def test_single_labels_have_a_distance_and_no_spread() -> None:
    _, labels, _, repeats = study(13, 60)
    found = assay.opinions(table(labels, {"once": repeats[:, :1]}, k=3))
    rows = {row["quantity"]: row for row in found.rows.iter_rows(named=True)}
    assert rows["spread ratio"]["reason"] == rows["spread slope"]["reason"] == "one label per item has no spread"
    assert rows["relative distance"]["people"] is not None
    assert "one label per item, no spread" in found.summary()
    with pytest.raises(DesignError, match="one label per item, which has no spread"):
        found.plot_spread()


def test_three_repeats_have_no_slope() -> None:
    _, labels, _, repeats = study(13, 60)
    rows = assay.opinions(table(labels, {"again": repeats[:, :3]}, k=3)).rows
    assert "4 repeated labels per item" in rows.filter(quantity="spread slope")["reason"][0]


def test_probabilities_that_do_not_sum_to_one_are_refused_with_their_item() -> None:
    _, labels, soft, _ = study(14, 30)
    soft[4] *= 0.9
    with pytest.raises(DataError, match=r"item 'i0004': the probabilities of soft \(p_a, p_b, p_c\) sum to 0\.9"):
        assay.opinions(table(labels, {"soft": soft}, k=3))
    soft[4] = [-0.1, 0.6, 0.5]
    with pytest.raises(DataError, match="include a negative number"):
        assay.opinions(table(labels, {"soft": soft}, k=3))


def test_probabilities_of_items_are_refused_with_several_judges() -> None:
    _, labels, soft, repeats = study(15, 30)
    plain = table(labels, {"one": repeats[:, :1], "two": repeats[:, 1:2]}, k=3).labels.select(
        "item", "annotator", "label"
    )
    items = pl.DataFrame({"item": [f"i{i:04d}" for i in range(30)], **{f"p_{word(v)}": soft[:, v] for v in range(3)}})
    scale = assay.Nominal(["a", "b", "c"])
    both = Annotations.from_frame(plain, judges=["one", "two"], scale=scale, items=items)
    with pytest.raises(DesignError, match="give the probabilities in the rows of the judge's labels"):
        assay.opinions(both)
    one = Annotations.from_frame(plain.filter(pl.col("annotator") != "two"), judges=["one"], scale=scale, items=items)
    found = assay.opinions(one)
    assert found.sources == {"one": "probabilities"}
    assert found.at(quantity="relative distance").estimate == pytest.approx(
        np.divide(*terms(labels, soft, ordered=False).sum(axis=0)[:2])
    )


def test_bad_input_is_refused() -> None:
    _, labels, _, repeats = study(16, 30)
    given = table(labels, {"once": repeats[:, :1]}, k=3)
    with pytest.raises(DataError, match="'onec' is not"):
        assay.opinions(given, "onec")
    with pytest.raises(DesignError, match="two annotators or more"):
        assay.opinions(given, annotators=["ann_1"])
    with pytest.raises(DesignError, match="categories have no order; use distance='nominal'"):
        assay.opinions(given, distance="ordered")
    mine = np.arange(4) == np.arange(30)[:, None] % 4
    with pytest.raises(DesignError, match="no item has labels of two annotators and of a judge"):
        assay.opinions(table(np.where(mine, np.abs(labels), -1), {"once": repeats[:, :1]}, k=3))


# -- useless judges -------------------------------------------------------------------------------------

N, STUDIES = 60, 60


def useless(rng: np.random.Generator, shares: Any, labels: Any) -> dict[str, Any]:
    n = len(shares)
    seen = np.stack([(labels == v).mean() for v in range(3)])
    return {
        "coin": rng.dirichlet(np.ones(3), n), "flat": np.full((n, 3), 1 / 3), "shares": np.tile(seen, (n, 1)),
        "shuffled": shares[rng.permutation(n)],
    }  # fmt: skip


@pytest.mark.slow
def test_useless_judges_get_no_claim() -> None:
    """Each claim is made in at most .05 of the studies (of 60, with Monte Carlo error: at most 6)."""
    claims: dict[tuple[str, str], int] = {}
    for seed in range(STUDIES):
        rng = np.random.default_rng([51, seed])
        shares = opinions_of(rng, N)
        labels = drawn(rng, shares, 3)
        found = assay.opinions(table(labels, useless(rng, shares, labels), k=3))
        for judge in found.sources:
            mine = found.rows.filter(pl.col("other").is_null(), judge=judge)
            people = mine.filter(quantity="relative distance")["people"].is_not_null().item()
            slope = (mine.filter(quantity="spread slope")["low"] > 0).fill_null(value=False).item()
            for claim, is_made in (("people", people), ("follows", slope)):
                claims[judge, claim] = claims.get((judge, claim), 0) + bool(is_made)
    assert max(claims.values()) <= 6, claims
    assert all(claims[judge, "people"] == 0 for judge in ("flat", "shares"))


def test_a_copy_is_not_expressed_as_a_number_of_annotators() -> None:
    rng = np.random.default_rng(17)
    shares = opinions_of(rng, 120)
    labels = drawn(rng, shares, 4)
    found = assay.opinions(table(labels, {"copy": labels[:, [2]]}, k=3))
    row = found.rows.filter(quantity="relative distance").row(0, named=True)
    assert row["matches"] == "ann_2"
    assert row["people"] is None
    assert "match ann_2's more often" in found.summary()


def test_sentences_claim_what_the_tests_of_their_rows_show() -> None:
    """At 95% confidence: closer than the label shares, or than another judge, only with p < .05 and less distance."""
    claims = set()
    for seed, n in ((21, 40), (22, 90), (23, 250)):
        shares, labels, soft, repeats = study(seed, n)
        flat = np.repeat([[0.4, 0.35, 0.25]], n, axis=0)
        judges = {"soft": soft, "known": shares, "again": repeats, "once": repeats[:, :1], "flat": flat}
        found = assay.opinions(table(labels, judges, k=3))
        text = found.summary()
        for row in found.rows.filter(quantity="against shares").iter_rows(named=True):
            closer = row["p"] < 0.05 and row["estimate"] < 0
            (line,) = (one for one in text.splitlines() if "ψ" in one and one.startswith(row["judge"]))
            assert ("not demonstrated to be closer" in line) is not closer
            assert (f"than the label shares of this sample ({p_value(row['p'])})" in line) is not closer
            claims.add(("shares", closer))
        for row in found.rows.filter(quantity="difference").iter_rows(named=True):
            one, other, p = row["judge"], row["other"], row["p_adjusted"]
            first, second = (one, other) if row["estimate"] < 0 else (other, one)
            start = f"{first} is closer to the annotators' distribution than {second}"
            (line,) = (one for one in text.splitlines() if f"{row['judge']} minus {row['other']}" in one)
            assert line.startswith(start if p <= 0.05 else f"{one} and {other}: no significant difference")
            assert (f"adjusted {p_value(p)}" in line) is (p <= 0.05)
            claims.add(("other", p <= 0.05, row["estimate"] < 0))
    assert {("shares", True), ("shares", False), ("other", True, True), ("other", True, False)} < claims
    assert any(claim[:2] == ("other", False) for claim in claims)


def test_two_annotators_are_a_note() -> None:
    _, labels, soft, _ = study(20, 60, 2)
    found = assay.opinions(table(labels, {"soft": soft}, k=3))
    assert any("with two annotators, a judge that repeats" in note for note in found.notes)


def test_names_and_the_order_of_rows_change_no_digit() -> None:
    _, labels, soft, repeats = study(18, 40)
    given = table(labels, {"soft": soft, "again": repeats}, k=3)
    turned = Annotations.from_frame(
        given.labels.sample(fraction=1.0, shuffle=True, seed=3).with_columns(
            annotator=pl.col("annotator").replace({"ann_0": "zoe", "soft": "alpha"})
        ), judges=["alpha", "again"], scale=given.scale, repeat="repeat",
    )  # fmt: skip
    one, other = assay.opinions(given, raters="random"), assay.opinions(turned, raters="random")
    for judge, name in (("soft", "alpha"), ("again", "again")):
        columns = ("quantity", "estimate", "low", "high", "people")
        a = one.rows.filter(pl.col("other").is_null(), judge=judge).select(columns)
        b = other.rows.filter(pl.col("other").is_null(), judge=name).select(columns)
        assert a.equals(b) or np.allclose(
            a.drop("quantity").to_numpy(), b.drop("quantity").to_numpy(), rtol=1e-12, equal_nan=True
        )


# -- distances that mislead -----------------------------------------------------------------------------


@pytest.mark.slow
def test_published_distances_prefer_too_little_spread_with_three_annotators() -> None:
    """The truth against temperature .67, 150 items: shares' distances rank the sure judge first, D the truth."""
    wrong = dict.fromkeys(("jensen-shannon", "manhattan", "D"), 0)
    for seed in range(20):
        rng = np.random.default_rng([52, seed])
        shares = opinions_of(rng, 150)
        found = assay.opinions(table(drawn(rng, shares, 3), {"truth": shares, "sure": heated(shares, 0.67)}, k=3))
        for name in ("jensen-shannon", "manhattan"):
            means = dict(found.distances.filter(distance=name).select("judge", "mean").iter_rows())
            wrong[name] += means["sure"] < means["truth"]
        wrong["D"] += found.rows.filter(quantity="difference")["estimate"].item() < 0
    assert min(wrong["jensen-shannon"], wrong["manhattan"]) >= 14, wrong
    assert wrong["D"] <= 3


def test_shares_of_few_annotators_are_those_of_scipy() -> None:
    _, labels, soft, _ = study(19, 25)
    found = assay.opinions(table(labels, {"soft": soft}, ordered=True, k=3)).distances
    p = np.stack([(labels == v).sum(axis=1) for v in range(3)], axis=1) / (labels >= 0).sum(axis=1)[:, None]
    from scipy.spatial.distance import jensenshannon

    wanted = {
        "jensen-shannon": (jensenshannon(p, soft, base=2, axis=1) ** 2).mean(),
        "manhattan": np.abs(p - soft).sum(axis=1).mean(),
        "wasserstein": np.abs(np.cumsum(p - soft, axis=1)).sum(axis=1).mean(),
        "cross-entropy": -(p * np.log(soft)).sum(axis=1).mean(),
    }
    assert dict(found.select("distance", "mean").iter_rows()) == pytest.approx(wanted)
