"""Results by epsilon, size and amount of data: laws, and a slow reference."""

from __future__ import annotations

import itertools
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from panels import columns, random_study, table

import references
from assay.data.scales import Text
from assay.errors import DesignError
from assay.replacement import decision
from assay.replacement.alt_test import alt_test
from assay.replacement.page import size_curves
from assay.replacement.studies import SIZES, draw_panels
from assay.replacement.words import LABELS


def plain(labels, judge="good"):
    """The labels as {annotator: {item: label}} and {item: label}."""
    by = {
        a: dict(labels.where(annotator=a).labels.select("item", "label").iter_rows()) for a in (*labels.humans, judge)
    }
    return {h: by[h] for h in labels.humans}, by[judge]


# -- epsilon ----------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=12)
@given(
    st.integers(0, 10**6),
    st.sampled_from(
        [{}, {"balance": True, "min_class": 0}, {"min_items": 10, "test": "wilcoxon"}, {"fdr": 0.3}, {"test": "exact"}]
    ),
)
def test_omega_at_each_epsilon_is_that_of_a_test_made_there(seed, options):
    labels = random_study(seed, n_items=40)
    test = alt_test(labels, "good", epsilon=0.1, method="none", **{"min_items": 20, **options})
    curve = test.epsilon_curve([0.3, 0, 0.1, 0.17, 0.05])
    assert curve.epsilon.tolist() == [0, 0.05, 0.1, 0.17, 0.3]
    for epsilon, omega in zip(curve.epsilon, curve.winning_rate, strict=True):
        again = alt_test(labels, "good", epsilon=float(epsilon), method="none", **{"min_items": 20, **options})
        assert again.winning_rate == omega
    assert curve.winning_rate[2] == test.winning_rate


@pytest.mark.slow
@settings(max_examples=12)
@given(st.integers(0, 10**6), st.sampled_from(["good", "poor"]), st.sampled_from([0.3, 0.5, 0.75, 1.0]))
def test_omega_never_falls_and_the_smallest_epsilon_is_where_the_judge_first_passes(seed, judge, threshold):
    labels = random_study(seed, n_items=50)
    test = alt_test(labels, judge, epsilon=0.1, threshold=threshold, min_items=20, method="none")
    curve = test.epsilon_curve(np.linspace(0, 1, 101))
    assert (np.diff(curve.winning_rate) >= 0).all()
    smallest = test.smallest_epsilon
    assert curve.smallest == smallest

    def passes(epsilon):
        return alt_test(labels, judge, epsilon=epsilon, threshold=threshold, min_items=20, method="none").passed

    assert passes(smallest)
    assert smallest == 0 or not passes(max(smallest - 2e-8, 0))


@pytest.mark.slow
@settings(max_examples=12)
@given(st.integers(0, 10**6), st.sampled_from(["good", "poor"]), st.sampled_from([0.3, 0.5, 1.0]), st.booleans())
def test_smallest_epsilon_by_quantiles_equals_fine_steps(seed, judge, threshold, weighted):
    labels = random_study(seed, n_items=50)
    quality = {f"h{j}": 1.0 + j for j in range(4)} if weighted else None
    how = {"threshold": threshold, "min_items": 20, "method": "none", "quality": quality, "test": "t"}
    by_quantiles = alt_test(labels, judge, epsilon=0.1, **how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decision, "_passing_from", lambda test, among: 1.0)
        assert alt_test(labels, judge, epsilon=0.1, **how).smallest_epsilon == by_quantiles.smallest_epsilon


@pytest.mark.slow
def test_smallest_epsilon_of_exact_tests():
    labels = random_study(3, n_items=40)
    test = alt_test(labels, "good", epsilon=0.1, min_items=20, method="none", test="exact")

    def passes(epsilon):
        return alt_test(labels, "good", epsilon=epsilon, min_items=20, method="none", test="exact").passed

    assert 0 < test.smallest_epsilon < 1
    assert passes(test.smallest_epsilon)
    assert not passes(test.smallest_epsilon - 1e-5)
    assert test.epsilon_curve().smallest == test.smallest_epsilon


def test_epsilon_curve_without_passing_margin():
    labels = table(columns(ann="a" * 40, bob="a" * 40), columns(judge="b" * 40))
    test = alt_test(labels, "judge", epsilon=0.2)
    assert math.isnan(test.smallest_epsilon)
    assert test.epsilon_curve().summary().splitlines()[0] == "judge: the published rule passes at no margin ε."


def test_epsilon_curve_of_judge_passing_at_zero():
    gold = dict.fromkeys(columns(x="a" * 40)["x"], "a")
    labels = table(columns(ann="b" * 40, bob="b" * 40), columns(judge="a" * 40))
    test = alt_test(labels, "judge", gold=gold)
    assert test.smallest_epsilon == 0
    first = test.epsilon_curve().summary().splitlines()[0]
    assert first.startswith("judge: the published rule passes at ε ≥ 0.000 (the test used 0). Exploratory; choose ε")


@pytest.mark.parametrize("epsilons", [[], [-0.1, 0.2], [0.5, 1.5]])
def test_epsilon_curve_rejects_invalid_epsilons(epsilons):
    with pytest.raises(DesignError, match=r"epsilons must lie between 0 and 1|epsilons is empty"):
        alt_test(random_study(1), "good", epsilon=0.1).epsilon_curve(epsilons)


# -- size -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_size_curve_equals_reference():
    # Section 5.1, word for word: draw three annotators and n items, run the procedure, average.
    labels = random_study(3, n_items=70, n_humans=4, missing=0)
    humans, judge = plain(labels)
    rng = np.random.default_rng(0)
    size, draws = 40, 200
    omega, rho = [], []
    for _ in range(draws):
        panel = rng.choice(list(humans), 3, replace=False)
        items = rng.choice(list(judge), size)
        drawn = {h: {str(k): humans[h][i] for k, i in enumerate(items)} for h in panel}
        found = references.alt_test(drawn, {str(k): judge[i] for k, i in enumerate(items)}, references.neg_rmse, 0.2)
        omega.append(found.winning_rate)
        rho.append(found.advantage_probability)
    curve = alt_test(labels, "good", epsilon=0.2).size_curve(sizes=(size,), n_annotators=3, n_draws=2000)
    # Four standard errors of the 200 slow draws.
    assert curve.winning_rate[0] == pytest.approx(np.mean(omega), abs=4 * np.std(omega) / math.sqrt(draws))
    assert curve.advantage_probability[0] == pytest.approx(np.mean(rho), abs=4 * np.std(rho) / math.sqrt(draws))
    assert curve.passing[0] == pytest.approx(np.mean(np.array(omega) >= 0.5), abs=4 * 0.5 / math.sqrt(draws))
    assert curve.high[0] - curve.low[0] == pytest.approx(np.subtract(*np.quantile(rho, [0.95, 0.05])), rel=0.25)


@pytest.mark.parametrize(
    "options", [{}, {"balance": True}, {"quality": {"h0": 3, "h1": 1, "h2": 1}}, {"score": "accuracy"}]
)
def test_size_curve_of_many_items_approaches_the_test(options):
    labels = random_study(4, n_items=80, n_humans=3, missing=0)
    test = alt_test(labels, "good", epsilon=0.2, **options)
    curve = test.size_curve(sizes=(4000,), n_draws=20)
    # A study of 4,000 items scatters by less than .01 (balanced labels: a little more).
    assert curve.advantage_probability[0] == pytest.approx(test.advantage_probability.estimate, abs=0.015)
    assert curve.high[0] - curve.low[0] < 0.06


def test_more_items_scatter_less_and_show_more():
    curve = alt_test(random_study(5), "good", epsilon=0.2).size_curve(n_draws=200)
    assert curve.size.tolist() == list(SIZES)
    width = curve.high - curve.low
    assert width[-1] < width[0] / 2
    assert curve.winning_rate[-1] >= curve.winning_rate[0]
    assert ((curve.low <= curve.advantage_probability) & (curve.advantage_probability <= curve.high)).all()


def test_size_curve_follows_seed():
    test = alt_test(random_study(6), "good", epsilon=0.2)
    a, b, c = (test.size_curve(sizes=(50,), n_draws=50, seed=s) for s in (1, 1, 2))
    assert a.to_dict() == b.to_dict()
    assert a.advantage_probability[0] != c.advantage_probability[0]


def test_size_curve_supports_text():
    words = columns(ann="abcd" * 10, bob="abca" * 10, cat="abdd" * 10)
    labels = table(words, columns(judge="abcd" * 10), scale=Text())
    curve = alt_test(labels, "judge", epsilon=0.1, similarity=lambda a, b: float(a == b)).size_curve(
        sizes=(30,), n_draws=9
    )
    assert 0 < curve.advantage_probability[0] <= 1


def test_draw_panels_uses_annotators_with_shared_items():
    answered = np.zeros((90, 5), dtype=bool)
    answered[:50, :3] = True
    answered[50:, 3:] = True
    panels = draw_panels(answered, 3, 30, np.random.default_rng(0))
    assert {tuple(m) for m in panels.members} == {(0, 1, 2)}
    drawn = panels.draw(200, np.random.default_rng(0))
    assert drawn.shape == (30, 200)
    assert drawn.max() < 50


def test_panels_draw_from_their_items():
    """Annotators 0 and 1 share items 0 to 39, and 2 and 3 items 40 to 99."""
    answered = np.zeros((100, 4), dtype=bool)
    answered[:40, :2] = True
    answered[40:, 2:] = True
    rng = np.random.default_rng(0)
    panels = draw_panels(answered, 2, 20, rng)
    first = panels.members[:, 0] == 0
    assert 0 < first.sum() < 20
    drawn = panels.draw(300, rng)
    assert set(drawn[first].ravel()) == set(range(40))
    assert set(drawn[~first].ravel()) == set(range(40, 100))


def test_draw_panels_is_uniform():
    panels = draw_panels(np.ones((40, 5), dtype=bool), 3, 1000, np.random.default_rng(0))
    found = [tuple(m) for m in panels.members]
    counts = [found.count(c) for c in itertools.combinations(range(5), 3)]
    assert sum(counts) == 1000
    # Each of ten panels 100 times, ± 4·√(1000·.1·.9) = 38.
    assert max(abs(c - 100) for c in counts) < 38


def test_size_curve_refusals():
    test = alt_test(random_study(1), "good", epsilon=0.1)
    with pytest.raises(DesignError, match="sizes must be whole numbers of at least 2"):
        test.size_curve(sizes=(1, 30))
    with pytest.raises(DesignError, match="n_draws must be a whole number of at least 1; got 0"):
        test.size_curve(n_draws=0)
    with pytest.raises(DesignError, match=r"omit expert=\.\.\. or gold="):
        alt_test(random_study(1), "good", expert="h0", epsilon=0.1).size_curve()
    apart = table(columns(ann="ab" * 20, bob="." * 40 + "ab" * 20), columns(judge="ab" * 40))
    with pytest.raises(DesignError, match="no 2 annotators share items, so that no panel can be drawn"):
        alt_test(apart, "judge", epsilon=0.1).size_curve()


# -- sample sizes of conclusive verdicts ----------------------------------------------------------------------


def test_items_to_decide_of_clear_test_is_smaller():
    test = alt_test(random_study(7, n_items=300), "good", epsilon=0.2)
    assert test.verdict == "replace"
    assert test.items_to_decide() < test.n_items


@pytest.mark.slow
def test_items_to_decide_gives_conclusive_studies():
    labels = random_study(8, n_items=60, n_humans=3, missing=0)
    test = alt_test(labels, "good", epsilon=0.05)
    assert test.verdict == "undecided"
    wanted = test.items_to_decide(power=0.8)
    assert wanted > test.n_items
    # Slow reference: studies of this size, drawn from these items, are conclusive in about 80% or more;
    # studies of a quarter of the size do not.
    humans, judge = plain(labels)
    rng = np.random.default_rng(1)

    def told(size, draws=25):
        n = 0
        for _ in range(draws):
            items = rng.choice(list(judge), size)
            again = {h: {str(k): own[i] for k, i in enumerate(items)} for h, own in humans.items()}
            answers = {str(k): judge[i] for k, i in enumerate(items)}
            study = table(again, {"good": answers}, scale=labels.scale)
            n += alt_test(study, "good", epsilon=0.05, method="none", test="t").verdict != "undecided"
        return n / draws

    share = told(wanted)
    assert share > 0.8 - 4 * math.sqrt(0.16 / 25)
    assert told(wanted // 4) < share


def test_items_to_decide_is_none_at_the_margin():
    # Judge and annotators differ by exactly epsilon, in 400 items: of fewer, one seed in ten or more names a number
    # little below the largest that is looked at.
    humans = columns(ann="a" * 400, bob="a" * 280 + "b" * 120)
    gold = dict.fromkeys(humans["ann"], "a")
    labels = table({"bob": humans["bob"]}, columns(judge="a" * 240 + "b" * 120 + "a" * 40))
    test = alt_test(labels, "judge", gold=gold, epsilon=0.0)
    assert test.annotators["difference"].to_list() == [0]
    assert test.items_to_decide() is None


# -- how they read ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["epsilon_curve", "size_curve"])
def test_curves_read_like_every_result(name):
    test = alt_test(random_study(1), "good", expertise="crowd")
    curve = getattr(test, name)()
    made = json.loads(json.dumps(curve.to_dict(), allow_nan=False))
    assert made["judge"] == "good"
    assert len(made["table"]) == curve.table.height
    assert "estimate" in curve.table.columns
    assert test.signature in curve.signature
    assert curve.summary().startswith("good")
    axes = curve.plot()
    axes.get_figure().canvas.draw()
    assert curve.plot(axes) is axes


def test_size_curve_summary():
    test = alt_test(random_study(1), "good", expertise="crowd")
    curve = test.size_curve(sizes=(30, 60), n_annotators=3, n_draws=10)
    assert curve.summary().splitlines()[0] == (
        f"good, panels of 3 annotators: ω = {curve.winning_rate[0]:.2f} with 30 items and "
        f"{curve.winning_rate[1]:.2f} with 60; the published rule passes in {100 * curve.passing[0]:.0f}% and "
        f"{100 * curve.passing[1]:.0f}% of 10 draws. A study of this size gives a conclusive verdict with probability "
        f"{curve.assurance[0]:.2f} and {curve.assurance[1]:.2f}."
    )
    assert curve.signature.startswith("size-curve|sizes:30,60|panel:3|draws:10|seed:0 of ")


def test_size_curves_have_ticks_and_power():
    needed = SimpleNamespace(sizes=[10, 100, 1000], assurance=[0.1, 0.6, 0.9], power=0.8, limit=1000)
    tests = [SimpleNamespace(judge=name, verdict=verdict, verdict_text=LABELS[verdict], sample_size=needed)
             for name, verdict in (("a", "replace"), ("b", "undecided"), ("c", "replace"))]  # fmt: skip
    ax = size_curves(tests)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["10", "30", "100", "300", "1,000"]
    lines = [(line.get_label(), line.get_linestyle()) for line in ax.lines[:3]]
    assert lines == [("a (Replace)", "-"), ("b (Undecided)", "-"), ("c (Replace)", "--")]
    assert ax.lines[3].get_ydata()[0] == 0.8
