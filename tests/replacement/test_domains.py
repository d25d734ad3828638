"""Several criteria or domains, and two sets of annotators that never met."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from panels import columns, random_study, table
from statsmodels.stats.multitest import multipletests

import assay
from assay.data.annotations import Annotations
from assay.data.scales import Ordinal
from assay.errors import DataError, DesignError
from assay.reading import read
from assay.replacement import decision, domains
from assay.replacement.alt_test import alt_test
from assay.replacement.domains import alt_test_by, alt_test_paired
from assay.replacement.page import card_by
from assay.statistics import wins

FEATURES = ("Asymmetry", "Blue", "Border", "Color", "Dermo")

# Table 5 of the paper, Lesion, epsilon = .15: omega and rho of each judge, in the order of the features.
TABLE_5 = {
    "gemini_flash": ((0.00, 0.52), (1.0, 0.91), (0.0, 0.61), (1.0, 0.89), (0.0, 0.63)),
    "gemini_pro": ((0.17, 0.74), (1.0, 0.95), (0.0, 0.72), (1.0, 0.85), (0.5, 0.78)),
    "gpt-4o": ((0.00, 0.57), (1.0, 0.91), (0.0, 0.21), (0.83, 0.81), (0.0, 0.59)),
    "gpt-4o-mini": ((0.17, 0.65), (1.0, 0.93), (0.0, 0.57), (0.67, 0.75), (0.5, 0.77)),
}


@pytest.mark.real_data
@pytest.mark.parametrize("judge", TABLE_5)
def test_table_5_of_the_paper(real_data, judge):
    labels = read(real_data / "alt_test" / "lesion")
    found = alt_test_by(labels, judge, correction="within", expertise="skilled", n_resamples=20)
    assert tuple(found.tests) == FEATURES
    for (feature, test), (omega, rho) in zip(found.tests.items(), TABLE_5[judge], strict=True):
        assert round(test.winning_rate, 2) == omega, feature
        # Two decimals of the paper: half a unit of the last, and a rounding of ours.
        assert test.advantage_probability.estimate == pytest.approx(rho, abs=0.005 + 1e-9), feature
    assert found.passed_in == sum(omega >= 0.5 for omega, _ in TABLE_5[judge])


def by_criterion(**parts):
    """Studies side by side as criteria of one table, over the same items."""
    frames = [part.labels.with_columns(criterion=pl.lit(name)) for name, part in parts.items()]
    return Annotations.from_frame(pl.concat(frames), judges=["good", "poor"], scale=Ordinal(1, 5))


BOTH = by_criterion(depth=random_study(1), fluency=random_study(2, judge_noise=0.6), clarity=random_study(3))


def test_within_each_domain_it_is_the_test_of_that_domain():
    found = alt_test_by(BOTH, "good", expertise="crowd", correction="within")
    assert list(found.tests) == ["clarity", "depth", "fluency"]
    for name, test in found.tests.items():
        alone = alt_test(BOTH.where(criterion=name), "good", expertise="crowd")
        assert test.annotators.equals(alone.annotators)
        assert (test.winning_rate, test.verdict) == (alone.winning_rate, alone.verdict)
        assert test.domain == f"criterion={name}"
        assert test.data == alone.data


def test_across_domains_all_p_values_are_corrected_together():
    found = alt_test_by(BOTH, "good", expertise="crowd")
    assert found.correction == "across"
    alone = [alt_test(BOTH.where(criterion=c), "good", expertise="crowd") for c in ("clarity", "depth", "fluency")]
    p = np.concatenate([t.annotators["p"].to_numpy() for t in alone])
    rejected, adjusted = multipletests(p, 0.05, method="fdr_by")[:2]
    mine = pl.concat([t.annotators for t in found.tests.values()])
    np.testing.assert_allclose(mine["p_adjusted"].to_numpy(), adjusted)
    assert mine["rejected"].to_list() == rejected.tolist()
    reverse = multipletests(
        np.concatenate([t.annotators["p_reverse"].to_numpy() for t in alone]), 0.05, method="fdr_by"
    )
    assert mine["rejected_reverse"].to_list() == reverse[0].tolist()
    for test, part in zip(found.tests.values(), np.split(rejected, 3), strict=True):
        assert test.winning_rate == part.mean()
        assert test.passed == (part.mean() >= 0.5)
        assert test.verdict == test.verdict_tests.verdict
        assert test.annotators.columns == alone[0].annotators.columns


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"threshold": 1.0}])
def test_smallest_epsilon_uses_the_shared_correction(options):
    hard = {f"d{i}": random_study(10 + i, n_items=40, judge_noise=0.7) for i in range(2)}
    labels = by_criterion(easy=random_study(5, n_items=60), **hard)
    given = {"min_items": 20, "method": "none", **options}
    found = alt_test_by(labels, "good", epsilon=0.1, **given)

    def passes(name, epsilon):
        return alt_test_by(labels, "good", epsilon=epsilon, **given).tests[name].passed

    for name, test in found.tests.items():
        smallest = test.smallest_epsilon
        assert passes(name, smallest)
        assert smallest == 0 or not passes(name, smallest - 1e-5)
        curve = test.epsilon_curve()
        assert curve.smallest == smallest
        assert test.passed == (smallest <= 0.1)
        for epsilon in (0.1, 0.3):
            again = alt_test_by(labels, "good", epsilon=epsilon, **given).tests[name]
            assert curve.winning_rate[round(epsilon * 100)] == pytest.approx(again.winning_rate)
    # Alone, where fewer tests are corrected together, another epsilon would do.
    alone = [alt_test(labels.where(criterion=name), "good", epsilon=0.1, **given) for name in found.tests]
    assert [t.smallest_epsilon for t in alone] != [t.smallest_epsilon for t in found.tests.values()]
    within = alt_test_by(labels, "good", epsilon=0.1, correction="within", **given)
    assert [t.smallest_epsilon for t in alone] == [t.smallest_epsilon for t in within.tests.values()]


@pytest.mark.slow
def test_alt_test_by_correction_can_change_a_verdict():
    # One domain where the judge just wins, among others where nothing is to be won.
    hard = {f"d{i}": random_study(10 + i, n_items=40, judge_noise=0.7) for i in range(5)}
    labels = by_criterion(easy=random_study(5, n_items=60), **hard)
    within = alt_test_by(labels, "good", epsilon=0.1, correction="within", min_items=20, method="none", test="t")
    across = alt_test_by(labels, "good", epsilon=0.1, correction="across", min_items=20, method="none", test="t")
    adjusted = [t.tests["easy"].annotators["p_adjusted"].sum() for t in (within, across)]
    assert adjusted[0] < adjusted[1]


def test_domains_of_items():
    labels = random_study(4, n_items=160)
    items = labels.items.with_columns(language=pl.Series(["de", "en"] * 80))
    frame = labels.labels.join(labels.annotators, on="annotator")
    found = alt_test_by(
        Annotations.from_frame(frame, items=items, scale=Ordinal(1, 5)), "good", by="language", epsilon=0.1
    )
    assert list(found.tests) == ["de", "en"]
    assert sum(t.n_items for t in found.tests.values()) <= 160
    assert f"Published rule: passes in {found.passed_in} of 2 (language; " in found.summary()


def test_alt_test_by_names_untestable_domains():
    one = random_study(1)
    only = one.labels.filter(pl.col("annotator").is_in(["h0", "good"])).with_columns(criterion=pl.lit("lonely"))
    unjudged = one.labels.filter(pl.col("annotator") != "good").with_columns(criterion=pl.lit("unjudged"))
    frame = pl.concat([one.labels.with_columns(criterion=pl.lit("depth")), only, unjudged])
    found = alt_test_by(Annotations.from_frame(frame, judges=["good", "poor"]), "good", expertise="crowd")
    assert list(found.tests) == ["depth"]
    assert set(found.untested) == {"lonely", "unjudged"}
    assert found.n_domains == 3
    assert "requires at least 2 human annotators; the table has 1" in found.untested["lonely"]
    assert "judge 'good' is not in the judges of the table" in found.untested["unjudged"]
    assert "lonely: not tested: " in found.summary()
    assert "good: replace on 1, not tested on 2 (lonely, unjudged) of 3 criteria." in found.summary()
    assert f"Published rule: passes in {found.passed_in} of 1 tested (criterion; " in found.summary()
    line = "lonely: not tested; the alternative annotator test requires at least 2 human annotators; the table has 1."
    assert line in card_by(found).details
    json.dumps(found.to_dict(), allow_nan=False)


def several_settings() -> Annotations:
    """Labels of people, and of a judge with two tones at two lengths."""
    people, judge = (
        random_study(1).labels.filter(
            pl.col("annotator") == "good" if judge else pl.col("annotator").str.starts_with("h")
        )
        for judge in (False, True)
    )
    settings = pl.DataFrame({"tone": ["dry", "dry", "warm", "warm"], "length": [50, 200, 50, 200]})
    frame = pl.concat([people, judge.join(settings, how="cross")], how="diagonal")
    return Annotations.from_frame(frame, judges=["good"], conditions=["tone", "length"])


def test_alt_test_by_condition_names_the_other_condition_and_no_empty_domain():
    labels = several_settings()
    with pytest.raises(DesignError, match=r"no value of 'tone' can be tested; dry: .* of 'length' \(50, 200\); choose"):
        alt_test_by(labels, "good", by="tone", expertise="crowd")
    found = alt_test_by(labels.where(length=50), "good", by="tone", expertise="crowd")
    assert (list(found.tests), found.untested) == (["dry", "warm"], {})
    only = labels.where(kind="judge", tone="dry", length=50).labels.with_columns(criterion=pl.lit("x"))
    with pytest.raises(DesignError, match=r"no criterion can be tested; x: .* requires at least 2 human annotators"):
        alt_test_by(Annotations.from_frame(only, judges=["good"]), "good", expertise="crowd")


def test_alt_test_by_gives_the_reason_of_each_verdict_and_advice_on_small_domains():
    labels = random_study(1)
    small = pl.col("item").is_in(sorted(labels.items["item"])[:12])
    frame = labels.to_polars().with_columns(site=pl.when(small).then(pl.lit("south")).otherwise(pl.lit("north")))
    found = alt_test_by(assay.read(frame), "poor", by="site", expertise="crowd")
    north, south = (
        next(line for line in found.summary().splitlines() if line.startswith(f"  {n}")) for n in found.tests
    )
    test = found.tests["north"]
    assert test.reason
    assert north.startswith(f"  north: {test.verdict_text}: {test.reason_text}; ω = ")
    assert south == "  south: Undecided: no annotator has 30 comparable items."
    assert "To test domains of fewer items, lower min_items=..." in found.summary()
    lower = alt_test_by(assay.read(frame), "poor", by="site", expertise="crowd", min_items=10)
    assert lower.tests["south"].n_annotators
    assert "lower min_items" not in lower.summary()


def test_alt_test_by_rejects_untestable_tables():
    one = random_study(1)
    frame = one.labels.filter(pl.col("annotator").is_in(["h0", "good"])).with_columns(criterion=pl.lit("x"))
    with pytest.raises(DesignError, match="no criterion can be tested; x: the alternative annotator test requires"):
        alt_test_by(Annotations.from_frame(frame, judges=["good"]), "good", expertise="crowd")


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"judge": "gooood"}, DataError, "judge 'gooood' is not in the judges of the table; did you mean 'good'"),
        ({"by": "languge"}, DataError, "column 'languge' is not in the table"),
        ({"correction": "between"}, DesignError, "correction must be across or within; got 'between'"),
        ({"epsilom": 1}, DesignError, "did you mean 'epsilon'"),
        ({"epsilon": None}, DesignError, "no default margin epsilon"),
    ],
)
def test_alt_test_by_refusals(options, kind, words):
    given = {"judge": "good", "epsilon": 0.1, **options}
    with pytest.raises(kind, match=words):
        alt_test_by(BOTH, given.pop("judge"), **given)


@pytest.mark.slow
def test_by_domain_it_reads_like_every_result():
    found = alt_test_by(BOTH, "good", expertise="crowd")
    assert found.table["criterion"].to_list() == ["clarity", "depth", "fluency"]
    assert found.table.columns[1:5] == ["estimate", "low", "high", "n"]
    made = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert list(made["tests"]) == ["clarity", "depth", "fluency"]
    assert "domain:criterion=depth" in found.tests["depth"].signature
    assert found.signature.startswith("alt-test-by|domains:3|judge:good|")
    assert "Benjamini–Yekutieli across all criteria" in found.summary()
    axes = found.plot()
    assert [t.get_text() for t in axes.get_yticklabels()] == ["clarity", "depth", "fluency"]
    axes.get_figure().canvas.draw()


# -- two sets of annotators -------------------------------------------------------------------------


def two_sets(n=20, seed=0):
    """Sets a and b of annotators, each with n separate items."""
    rng = np.random.default_rng(seed)
    humans = {}
    judge = {}
    for s, names in (("a", ("a1", "a2")), ("b", ("b1", "b2", "b3"))):
        truth = rng.integers(1, 6, n)
        for name in names:
            noise = np.where(rng.random(n) < 0.5, rng.choice([-1, 1], n), 0)
            humans[name] = {f"{s}{i:02d}": int(v) for i, v in enumerate(np.clip(truth + noise, 1, 5))}
        off = np.where(rng.random(n) < 0.4, rng.choice([-1, 1], n), 0)
        judge.update({f"{s}{i:02d}": int(v) for i, v in enumerate(np.clip(truth + off, 1, 5))})
    return table(humans, {"j": judge}, scale=Ordinal(1, 5))


def test_pairings_by_hand():
    labels = two_sets()
    found = alt_test_paired(labels, "j", [["a1", "a2"], ["b1", "b2", "b3"]], epsilon=0.2)
    # Everybody's counts, from the set they are in; a combined annotator has the sum of two.
    alone = alt_test(labels, "j", epsilon=0.2, min_items=2, test="t", method="none").annotators
    counts = {
        r["annotator"]: np.array([r["n_judge_better"], r["n_tie"], r["n_human_better"]])
        for r in alone.iter_rows(named=True)
    }
    wanted = []
    for pair in itertools.permutations(["b1", "b2", "b3"], 2):
        combined = np.array([[counts[a] + counts[b]] for a, b in zip(("a1", "a2"), pair, strict=True)])
        decided = decision.decide(combined, 0.2, 0.05, "published")
        wanted.append((decided.rejected.mean(), float(wins.average_advantage(combined))))
    assert found.pairings.height == 6
    np.testing.assert_allclose(sorted(found.pairings.select("estimate", "rho").rows()), sorted(wanted))
    assert len({r for _, r in wanted}) > 1
    assert found.winning_rate == pytest.approx(np.mean([w for w, _ in wanted]))
    assert (found.low, found.high) == (min(w for w, _ in wanted), max(w for w, _ in wanted))
    assert found.advantage_probability.estimate == pytest.approx(np.mean([r for _, r in wanted]))
    assert found.passed == (found.winning_rate >= 0.5)
    assert found.n_items == 40
    assert found.pairings["annotators"][0] == "a1 + b1; a2 + b2"


def test_alt_test_paired_combines_items():
    labels = two_sets()
    assert alt_test(labels, "j", epsilon=0.2).annotators.height == 0
    assert (
        alt_test_paired(labels, "j", [["a1", "a2"], ["b1", "b2", "b3"]], epsilon=0.2).pairings["n"].to_list() == [2] * 6
    )


def test_alt_test_paired_accepts_columns_in_any_order():
    labels = two_sets()
    a = alt_test_paired(labels, "j", [["a1", "a2"], ["b1", "b2", "b3"]], epsilon=0.2)
    b = alt_test_paired(labels, "j", [["b1", "b2", "b3"], ["a1", "a2"]], epsilon=0.2)
    assert a.pairings.equals(b.pairings)
    people = labels.annotators.with_columns(team=pl.col("annotator").str.slice(0, 1))
    frame = labels.labels
    named = Annotations.from_frame(frame, judges=["j"], scale=Ordinal(1, 5), annotator_table=people)
    c = alt_test_paired(named, "j", "team", epsilon=0.2)
    assert a.pairings.equals(c.pairings)
    assert a.advantage_probability == c.advantage_probability


def test_some_of_many_pairings_follow_the_seed():
    labels = two_sets()
    sets = [["a1", "a2"], ["b1", "b2", "b3"]]
    some = [alt_test_paired(labels, "j", sets, epsilon=0.2, n_pairings=4, seed=s, n_resamples=50) for s in (0, 0, 5)]
    assert [s.pairings.height for s in some] == [4, 4, 4]
    assert some[0].to_dict() == some[1].to_dict()
    assert some[0].pairings["annotators"].n_unique() == 4


@pytest.mark.parametrize(
    ("sets", "kind", "words"),
    [
        ([["a1", "a2"]], DesignError, "pairing requires two sets of at least 2 annotators; got 2"),
        ([["a1"], ["b1", "b2"]], DesignError, "pairing requires two sets of at least 2 annotators; got 1, 2"),
        ([["a1", "a2"], ["a2", "b1"]], DesignError, "'a2' is in both sets"),
        ([["a1", "a9"], ["b1", "b2"]], DataError, "annotator 'a9' is not in the annotators of the table; it has a1"),
        ("team", DataError, "annotator column 'team' is not in the table"),
    ],
)
def test_alt_test_paired_rejects_invalid_sets(sets, kind, words):
    with pytest.raises(kind, match=words):
        alt_test_paired(two_sets(), "j", sets, epsilon=0.2)


def test_even_combined_too_few():
    with pytest.raises(DesignError, match="no combined annotator has 30 comparable items"):
        alt_test_paired(two_sets(n=10), "j", [["a1", "a2"], ["b1", "b2", "b3"]], epsilon=0.2)


def test_paired_it_reads_like_every_result():
    found = alt_test_paired(two_sets(), "j", [["a1", "a2"], ["b1", "b2", "b3"]], epsilon=0.2)
    made = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert made["sets"] == [["a1", "a2"], ["b1", "b2", "b3"]]
    assert found.signature.startswith("alt-test-paired|items:40|judge:j|pairings:6|score:neg_rmse|eps:0.20|")
    assert "over 6 pairings of 2 and 3 annotators" in found.summary()
    assert found.table.equals(found.pairings)
    assert found.plot().figure is not None


def test_alt_test_paired_rejects_overlapping_sets():
    humans = columns(a="ab" * 20, b="ab" * 20, c="." * 40 + "ab" * 20, d="." * 40 + "aa" * 20)
    labels = table(humans, columns(j="ab" * 40))
    found = alt_test_paired(labels, "j", [["a", "b"], ["c", "d"]], epsilon=0.2)
    assert set(found.pairings["annotators"]) == {"a + c; b + d", "a + d; b + c"}


def test_pairings_are_complete_or_distinct():
    rng = np.random.default_rng(0)
    whole = domains._pairings([0, 1], [2, 3, 4], 6, rng)  # 3 · 2 ways to give two people a partner each
    assert [tuple(p.tolist()) for p in whole] == list(itertools.permutations([2, 3, 4], 2))
    some = domains._pairings([0, 1], [2, 3, 4], 5, rng)
    assert len({tuple(p.tolist()) for p in some}) == len(some) == 5


def test_alt_test_command_pairs_two_sets(tmp_path, run):
    labels, path = two_sets(), tmp_path / "two.csv"
    team = pl.col("annotator").str.slice(0, 1)
    labels.to_polars().with_columns(team=pl.when(pl.col("kind") == "human").then(team)).write_csv(path)
    given = ("alt-test", path, "--judges", "j", "--scale", "1-5", "--epsilon", "0.2")
    found = alt_test_paired(labels, "j", [["a1", "a2"], ["b1", "b2", "b3"]], epsilon=0.2)
    code, out, err = run(*given, "--sets", "a1+a2,b1+b2+b3", "--json")
    assert code == 0, err
    assert json.loads(out)["table"] == found.to_dict()["table"]
    assert run(*given, "--sets", "a1+a2,b1+b2+b3", "--fail-under", "0.99")[0] == int(found.winning_rate < 0.99)
    code, _, err = run(*given, "--sets", "a1+a2,b1+b2+b3", "--by", "team")
    assert (code, err.splitlines()[-1]) == (
        2, "assay: --by is for one set of annotators; the labels are of two sets of annotators"
    )  # fmt: skip
    code, _, err = run(*given, "--sets", "a1+a2,b1")
    assert code == 2
    assert "two sets of at least 2 annotators; got 2, 1" in err


def test_cautions_of_some_domains_name_them():
    one, other, rest = random_study(1), random_study(2), random_study(3)
    few = other.labels.filter(pl.col("annotator").is_in(["h0", "h1", "good"]))
    parts = {"whole": one.labels, "pair": few, "rest": rest.labels}
    frame = pl.concat([part.with_columns(criterion=pl.lit(name)) for name, part in parts.items()])
    found = alt_test_by(Annotations.from_frame(frame, judges=["good", "poor"]), "good", expertise="crowd")
    assert "pair: With fewer than three annotators there is no consensus" in card_by(found).advice


def test_rows_of_many_pairs_name_the_first_ones():
    made = assay.simulate(n_items=120, n_annotators=12, judges={"j": 0.3}, seed=2)
    teams = made.annotators.with_columns(team=pl.Series([None if k == "judge" else f"t{i % 2}" for i, k in enumerate(
        made.annotators["kind"])]))  # fmt: skip
    labels = replace(made, annotators=teams)
    found = alt_test_paired(labels, "j", "team", epsilon=0.2, n_pairings=3)
    assert found.pairings["n"].to_list() == [6] * 3
    assert all(row.endswith("; and 2 more") and row.count(" + ") == 4 for row in found.pairings["annotators"])
    assert found.signature.count("+") == 0
    assert "|sets:team|" in found.signature
