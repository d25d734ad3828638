"""Six answers: what deserves each gets it, and what sees nothing is never praised."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import get_args

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.stats import spearmanr
from worlds import World, noisy, pair_values

import assay
from assay.errors import DataError
from assay.estimation.intervals import Estimate
from assay.ideas.choices import odd_one_labels
from assay.ideas.measures import (
    AUTHOR,
    LENGTH,
    WORDS,
    PairMeasure,
    PairsOfTexts,
    check_values,
    judge_of,
    short_measure,
    variant,
)
from assay.ideas.validate import (
    ALPHA,
    MOST_TIMES,
    POWER,
    Ceiling,
    FurtherData,
    MeasureVerdict,
    TextInference,
    _below,
    _numbers_for_one,
    _smaller_need,
    decide,
    numbers_needed,
)
from assay.ideas.words import BEATS_BASELINES, SimilarityVerdict
from assay.reporting.tables import clip_name
from assay.statistics.comparisons.odd_one_out import Step
from assay.statistics.comparisons.round_robin import ExpertRanks, Influence, RoundRobin, TextVariance, degrees

WORLD = World.of(14, 2, sharpness=1)
LABELS = WORLD.study(floor=8, overlap=1)
QUICK = {"n_resamples": 99}


def random_values(world: World, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pair_values(world).with_columns(value=pl.Series(rng.normal(size=pair_values(world).height)))


def level_of(world: World) -> pl.DataFrame:
    """The same of all pairs of a document."""
    return pair_values(world).with_columns(value=pl.col("document").rank("dense").cast(pl.Float64))


def texts_of(world: World, seed: int = 3) -> pl.DataFrame:
    """Texts whose words say nothing of where they lie, of all lengths, and by three authors."""
    rng = np.random.default_rng(seed)
    rows = []
    for d, name in zip(world.document, world.names, strict=True):
        words = rng.integers(100, 130, rng.integers(4, 30))
        rows.append((d, name, " ".join(f"w{w}" for w in words), f"a{rng.integers(3)}"))
    return pl.DataFrame(rows, schema=["document", "name", "text", "author"], orient="row")


def with_texts(labels: assay.Annotations, texts: pl.DataFrame) -> assay.Annotations:
    """Choices with the contents of their texts and who wrote them."""
    frame = labels.labels.join(labels.items, on="item")
    for place in ("first", "second", "third"):
        named = texts.select("document", pl.col("name").alias(f"{place}_item"), pl.col("text").alias(place),
                             pl.col("author").alias(f"{place}_author"))  # fmt: skip
        frame = frame.join(named, on=["document", f"{place}_item"], how="left")
    return assay.read(frame, scale="odd-one-out", humans=["p0", "p1", "p2"])


def test_what_knows_the_experts_minds_sees_what_experts_see():
    values, known = pair_values(WORLD), WORLD.truth()
    truth = values.with_columns(value=pl.Series([known[d, *sorted((a, b))] for d, a, b, _ in values.iter_rows()]))
    found = assay.validate_similarity(LABELS, {"mind": truth}, **QUICK)
    assert found.verdicts["mind"].verdict == "valid"
    assert found.summary().startswith("mind: valid (at least 80% of the noise ceiling): ρ = 0.9")
    assert found.table["verdict"][0] == "valid"
    assert found.table["share"][0] == pytest.approx(found.table["estimate"][0] / found.table["estimate"][2])


@pytest.mark.slow
def test_noise_constants_and_levels_of_documents_are_never_praised():
    """Each alone, so that nothing is corrected: at most 5% of the studies say that noise sees anything."""
    praised, n = 0, 10
    for seed in range(n):
        world = World.of(10, 2, sharpness=1, seed=seed)
        labels = world.study(floor=6, seed=seed)
        found = assay.validate_similarity(labels, {"noise": random_values(world, seed)}, **QUICK)
        praised += found.verdicts["noise"].verdict in BEATS_BASELINES
    assert praised <= 1  # of 10: at 5% more in 9 of 100 draws of seeds; docs/coverage.md has hundreds
    flat = pair_values(WORLD).with_columns(value=1.0)
    found = assay.validate_similarity(LABELS, {"flat": flat, "level": level_of(WORLD)}, **QUICK)
    assert {one.verdict for one in found.verdicts.values()} <= {"low", "undecided"}
    assert "flat: low: it gives all pairs the same value." in found.summary()
    assert found.verdicts["level"].p == 1
    assert "beats" not in found.summary()


@pytest.mark.slow
def test_no_verdict_if_experts_choose_at_random():
    blind = World(WORLD.names, WORLD.document, np.zeros_like(WORLD.alike))
    told = 0
    for seed in range(5):
        found = assay.validate_similarity(blind.study(floor=6, seed=seed), {"any": pair_values(WORLD)}, n_resamples=39)
        told += found.summary().startswith("Not testable: agreement among the experts is not demonstrated")
        assert found.verdicts["any"].verdict not in ("valid",)
    assert told >= 4
    assert "yet" not in found.summary().split(" which ")[0] or found.ceiling["high"] >= 0.3


@pytest.mark.slow
def test_baselines_of_length_words_and_authors_prevent_a_verdict():
    """Experts who go by authors: a judge that tells authors does not exceed a list of authors."""
    texts = texts_of(WORLD)
    same = (texts["author"].to_numpy()[:, None] == texts["author"].to_numpy()) * 2.0
    authors = World(WORLD.names, WORLD.document, same + 0.02 * WORLD.alike)
    labels = with_texts(authors.study(floor=8), texts)
    rng = np.random.default_rng(0)
    judge = pair_values(World(WORLD.names, WORLD.document, same))
    judge = judge.with_columns(pl.col("value") + pl.Series(rng.normal(size=judge.height) * 1e-6))
    found = assay.validate_similarity(labels, {"judge": judge}, **QUICK)
    assert set(found.table.filter(pl.col("kind") == "baseline")["measure"]) == {LENGTH, WORDS, AUTHOR}
    assert found.table["p"][0] <= 0.05
    assert found.verdicts["judge"].verdict == "undecided"
    assert AUTHOR in found.verdicts["judge"].beaten_by
    assert f"not significantly better than {AUTHOR}" in found.summary()
    # Without that column no baseline reaches as much.
    bare = assay.validate_similarity(authors.study(floor=8), {"judge": judge}, **QUICK)
    assert bare.verdicts["judge"].verdict in BEATS_BASELINES


@pytest.mark.slow
def test_shared_words_are_not_asked_to_see_more_than_shared_words():
    labels = with_texts(WORLD.study(floor=6), texts_of(WORLD))
    found = assay.validate_similarity(labels, ["words"], **QUICK)
    assert WORDS not in found.verdicts["words"].beaten_by
    assert found.measures["measure"].to_list() == ["words"]


@pytest.mark.slow
def test_measure_that_equals_a_baseline_is_a_baseline():
    """Experts go by authors: the list of authors is a baseline under any name, and so is any increasing function."""
    texts = texts_of(WORLD)
    same = (texts["author"].to_numpy()[:, None] == texts["author"].to_numpy()) * 1.0
    authors = World(WORLD.names, WORLD.document, 2 * same + 0.02 * WORLD.alike)
    labels = with_texts(authors.study(floor=8), texts)
    judge = pair_values(World(WORLD.names, WORLD.document, 3 * same - 1))
    found = assay.validate_similarity(labels, {"judge": judge, "words": "words"}, **QUICK)
    assert (found.verdicts["judge"].verdict, found.verdicts["judge"].same) == ("baseline", AUTHOR)
    assert found.verdicts["judge"].needed is None
    line = found.sentences()[0]
    assert line.startswith(f"judge: baseline (it equals {AUTHOR}, so that its validity is not tested): ρ = ")
    assert found.verdicts["words"].verdict not in BEATS_BASELINES
    assert f"not compared with {WORDS}, which it equals" in found.summary()


def test_no_number_is_advised_that_cannot_settle_the_question():
    """A measure better than permuted texts is never low: only the comparison with the baseline can settle it."""
    weak, other = measure(3), measure(3.01)  # far below half of the ceiling, and almost the same as the baseline
    assert 0 < weak.value < 0.4 * TOP.best.estimate
    equal = decide(weak, 0.01, [("length alone", replace(other, value=weak.value))], TOP, INFERENCE, N)
    assert (equal.verdict, equal.needed) == ("undecided", FurtherData(None, None))
    row = {"measure": "gpt", "estimate": 0.5, "low": 0.4, "high": 0.6, "n": 66}
    assert equal.sentence(row).endswith(
        "; not significantly better than length alone. Up to 20 times as many texts or judgments are unlikely to show "
        "that it is better than length alone."
    )
    above = decide(weak, 0.01, [("length alone", replace(other, value=weak.value + 0.01))], TOP, INFERENCE, N)
    assert above.needed == FurtherData(None, None)
    # If it is not better than permuted texts, it can still be low.
    open_ = decide(measure(60), 0.06, [], TOP, INFERENCE, 10)
    assert open_.verdict in ("low", "undecided")


def test_number_for_low_is_below_that_for_better_than_permuted():
    assert _below(FurtherData(3, 40), FurtherData(4, 30)) == FurtherData(3, None)
    assert _below(FurtherData(3, None), FurtherData(None, None)) == FurtherData(3, None)
    assert _below(FurtherData(3, 5), FurtherData(3, 5)) == FurtherData(None, None)


@pytest.mark.slow
def test_many_measures_are_corrected_for():
    many = {f"m{k}": random_values(WORLD, k) for k in range(8)}
    found = assay.validate_similarity(LABELS, many, n_resamples=199)
    p = found.table.filter(pl.col("kind") == "pairs").select("measure", "p")
    least = p.sort("p").row(0, named=True)
    assert found.verdicts[least["measure"]].p == pytest.approx(min(8 * least["p"], 1))
    assert "2 more measures in the table." in found.summary()


@pytest.mark.slow
def test_a_sweep_is_tested_as_the_best_of_its_settings():
    """Permuted together, the best of thirty settings of noise is what the best of thirty reaches."""
    noise = {k: random_values(WORLD, k) for k in range(30)}
    found = assay.validate_similarity(LABELS, {"sweep": noise}, n_resamples=99)
    alone = assay.validate_similarity(LABELS, {"one": noise[int(found.best.split()[1])]}, n_resamples=99)
    assert found.table["p"][0] > 5 * alone.table["p"][0]
    assert found.verdicts[found.best].verdict not in BEATS_BASELINES


@pytest.mark.slow
def test_a_judge_s_own_table_of_odd_ones_out_is_a_measure():
    judged = WORLD.study(floor=8, judges={"gpt": noisy(WORLD, 0.2)}, repeats=2)
    apart = judged.where(kind="judge")
    found = assay.validate_similarity(judged.where(kind="human"), {"folder": apart}, **QUICK)
    together = assay.validate_similarity(judged, **QUICK)
    assert "|humans:3|judges:1|" in together.signature
    assert "|judges:0|" in assay.validate_similarity(judged, {"folder": apart}, with_judges=False, **QUICK).signature
    assert found.measures.select("measure", "kind", "estimate", "low").rows() == (
        together.measures.select("measure", "kind", "estimate", "low").rows()
    )


def test_difference_in_percent_needs_a_rho_that_is_shown():
    found = assay.validate_similarity(
        LABELS, {"good": pair_values(noisy(WORLD, 0.3)), "noise": random_values(WORLD, 1)}, **QUICK
    )
    assert math.isfinite(found.difference("noise", "good")["percent"])
    assert math.isnan(found.difference("good", "noise")["percent_low"])


# -- the rule itself ----------------------------------------------------------------------------------


def inference(n: int = 16, seed: int = 0) -> tuple[TextInference, ExpertRanks, Ceiling, np.ndarray]:
    """A sharp study, its ranking, a ceiling, and the values that the experts go by."""
    world = World.of(n, sharpness=1, seed=seed)
    labels = world.study(floor=8, seed=seed)
    found = assay.validate_similarity(labels, {"truth": pair_values(world)}, n_resamples=20)
    robin: RoundRobin = found.inference.robin
    ranks = ExpertRanks(robin)
    values = np.array([world.alike[a, b] for a, b in zip(robin.first, robin.second, strict=True)])
    step = Step(0.6, 0.75, 0.86)
    return found.inference, ranks, Ceiling.of(0.7, step, ranks.reliability(), robin, 0.95), values


INFERENCE, RANKS, TOP, VALUES = inference()
N = len(INFERENCE.robin.at)


def measure(noise: float, seed: int = 1):
    rng = np.random.default_rng(seed)
    return RANKS.influence(VALUES + noise * VALUES.std() * rng.normal(size=len(VALUES)))


def test_the_answers_come_in_their_order():
    assert decide(measure(0), 0.01, [], TOP, INFERENCE, N).verdict == "valid"
    assert decide(measure(5), 0.01, [], TOP, INFERENCE, N).verdict == "partly_valid"
    assert decide(measure(60), 0.6, [], TOP, INFERENCE, N).verdict == "low"
    half = next(m for m in (measure(x) for x in np.linspace(0.5, 2, 16)) if m.value / TOP.best.estimate < 0.8)
    found = decide(half, 0.01, [], TOP, INFERENCE, N)
    assert found.verdict == "partly_valid_undecided"
    assert found.needed is not None
    # A p-value that is not small takes every "sees" away.
    assert decide(measure(0), 0.2, [], TOP, INFERENCE, N).verdict == "undecided"
    # So does a baseline measure with the same ρ.
    beaten = decide(measure(0), 0.01, [("length alone", measure(0, 2))], TOP, INFERENCE, N)
    assert (beaten.verdict, beaten.beaten_by) == ("undecided", ("length alone",))
    assert decide(measure(0), 0.01, [("length alone", measure(60, 2))], TOP, INFERENCE, N).verdict == "valid"


class Certain:
    """Pairs whose statistics do not vary, so that the lower end of a contrast is its value."""

    def variance(self, of):
        return TextVariance(0.0, 0.0, 0.0, np.array([17]))


def certain(value: float) -> Influence:
    return Influence(value, *np.zeros((4, 3)))


@pytest.mark.parametrize(
    ("value", "p", "baseline", "verdict", "beaten"),
    [
        (0.41, 0.05, 0.4, 0, ""),  # more than .8 of .5, and more than the baseline measure
        (0.4, 0.05, 0.3, 2, ""),  # .8 of the best itself is not more than it
        (0.39, 0.05, 0.3, 1, ""),
        (0.41, 0.0501, 0.3, 4, ""),
        (0.41, 0.05, 0.41, 4, "baseline"),  # as much as the baseline measure is not more
        (0.24, 0.0501, 0.3, 3, "baseline"),
        (0.24, 0.0501, 0.2, 3, ""),
        (0.25, 0.0501, 0.2, 4, ""),  # half of the best itself is not below it
        (0.24, 0.05, 0.3, 4, "baseline"),  # it is not shown that its texts do not matter
        (math.nan, 0.01, 0.3, 3, ""),
    ],
)
def test_an_answer_changes_where_a_boundary_is_passed(value, p, baseline, verdict, beaten):
    best = Estimate(0.5, 0.4, 0.6, 0.05)
    top = Ceiling(Estimate(0.5, 0.3, 0.7, 0.1), best, certain(0.5))
    found = decide(certain(value), p, [("baseline", certain(baseline))], top, TextInference(Certain(), 0.95), 100)
    assert (found.verdict, "".join(found.beaten_by)) == (get_args(SimilarityVerdict)[verdict], beaten)
    assert found.constant is math.isnan(value)
    assert found.share == pytest.approx(value / 0.5, nan_ok=True)
    assert found.p == (1.0 if math.isnan(value) else p)
    assert (found.needed is not None) == (verdict in (2, 4))


@pytest.mark.parametrize(("low", "best", "shown", "share"), [(0.0, 0.5, False, 0.8), (0.01, 0.0, True, math.nan)])
def test_there_is_no_share_of_nothing_and_no_verdict_without_agreement(low, best, shown, share):
    top = Ceiling(Estimate(0.5, low, 0.7, 0.1), Estimate(best, 0.0, 0.6, 0.05), certain(best))
    found = decide(certain(0.4), 0.01, [], top, TextInference(Certain(), 0.95), 100)
    assert found.share == pytest.approx(share, nan_ok=True)
    assert (found.verdict == "not_testable") is not shown


def test_verdict_not_testable_without_expert_agreement():
    nothing = Ceiling.of(-0.2, Step(0.3, 0.5, 0.7), RANKS.reliability(), INFERENCE.robin, 0.95)
    assert not nothing.demonstrated
    assert decide(measure(0), 0.001, [], nothing, INFERENCE, N).verdict == "not_testable"


def test_the_ceiling_s_intervals_and_p_values_agree():
    for one in (TOP.again, TOP.best):
        low, high = one.interval(0.9)
        assert low < one.estimate < high
        assert [one.p(low), one.p(high)] == pytest.approx([0.1, 0.1], abs=1e-3)
    assert TOP.best.low < TOP.best.estimate < TOP.best.high


def test_needed_judgments_are_the_fewest_with_enough_power():
    """By hand, one after the other: noise of the choices falls, and the ranking follows the experts more closely."""
    robin, found = INFERENCE.robin, []
    for less, again in itertools.product((0.5, 0.7, 0.8, 0.9), (0.02, 0.3)):
        of = measure(0).plus(TOP.mind, -less)
        parts = robin.variance(of)
        df = degrees(int(len(parts.texts) * (float(parts.texts.mean()) - 1)))
        reach = stats.t.ppf(1 - ALPHA, df) + stats.t.ppf(POWER, df)
        wanted = None
        for times in np.linspace(1.25, MOST_TIMES, 76):
            gain = times / (1 + (times - 1) * again)
            variance = parts.choice / times + (max(parts.text, 0) + parts.pair) * gain
            if of.value * math.sqrt(gain) > reach * math.sqrt(variance):
                wanted = math.ceil((times - 1) * N)
                break
        assert _numbers_for_one(of, robin, again, N).judgments == wanted
        found.append(wanted)
    assert len({one for one in found if one is not None}) > 2


def test_needed_numbers_decrease_with_effect_size():
    needed = []
    for noise in (0.9, 1.0, 1.1, 1.2):
        of = measure(noise).plus(TOP.mind, -0.5)
        needed.append(numbers_needed([of], INFERENCE, TOP, N).texts)
    known = [n for n in needed if n is not None]
    assert known == sorted(known)
    assert known[0] >= 1
    nothing = numbers_needed([measure(0).times(-1.0)], INFERENCE, TOP, N)
    assert nothing == FurtherData(None, None)
    assert str(nothing) == "Up to 20 times as many texts or judgments are unlikely to give a conclusive verdict."
    assert str(FurtherData(3, None)) == "About 3 more texts with as many judgments each are needed."
    assert str(FurtherData(1, 40)) == (
        "About 1 more text with as many judgments each or about 40 more judgments of these texts are needed."
    )


def test_verdict_sentence_for_each_code():
    row = {"measure": "gpt", "estimate": 0.5, "low": 0.4, "high": 0.6, "n": 66}
    begin = {
        "valid": "gpt: valid (at least 80% of the noise ceiling): ρ = 0.50 [0.40, 0.60] (66 pairs), 0.90 of the noise",
        "partly_valid": "gpt: partly valid (beats the baselines, below 80% of the noise ceiling): ρ = 0.50",
        "partly_valid_undecided": "gpt: partly valid (beats the baselines; 80% of the noise ceiling undecided): ρ = "
        "0.50",
        "low": "gpt: low (baselines not beaten, at most half of the noise ceiling): ρ = 0.50",
        "undecided": "gpt: undecided: ρ = 0.50 [0.40, 0.60] (66 pairs); not better than permuted texts (p = 0.200) and "
        "not significantly better than a or b. About 2 more",
    }
    for verdict, words in begin.items():
        needed = FurtherData(2, None) if verdict in ("partly_valid_undecided", "undecided") else None
        line = MeasureVerdict(verdict, 0.9, 0.2, ("a", "b"), needed).sentence(row)
        assert line.startswith(words), line


@pytest.mark.parametrize(
    ("p", "beaten", "reason"),
    [
        (0.0501, (), "not better than permuted texts (p = 0.0501)"),
        (0.05, ("a",), "not significantly better than a"),
        (0.2, ("a", "b"), "not better than permuted texts (p = 0.200) and not significantly better than a or b"),
    ],
)
def test_verdict_sentence_reports_reasons(p, beaten, reason):
    row = {"measure": "gpt", "estimate": 0.5, "low": 0.4, "high": 0.6, "n": 1}
    rho = "ρ = 0.50 [0.40, 0.60] (1 pair)"
    assert MeasureVerdict("low", 0.4, p, beaten).sentence(row) == (
        f"gpt: low (baselines not beaten, at most half of the noise ceiling): {rho}; {reason}."
    )
    assert MeasureVerdict("undecided", 0.4, p, beaten, FurtherData(None, 5)).sentence(row) == (
        f"gpt: undecided: {rho}; {reason}. About 5 more judgments of these texts are needed."
    )
    assert MeasureVerdict("undecided", 0.4, p, beaten).sentence(row).endswith(f"{reason}.")


def test_verdict_sentence_reports_share_of_ceiling():
    row = {"measure": "gpt", "estimate": 0.5, "low": 0.4, "high": 0.6, "n": 66}
    rho = "ρ = 0.50 [0.40, 0.60] (66 pairs), 0.90 of the noise ceiling"
    assert [MeasureVerdict(verdict, 0.9, 0.01, needed=need).sentence(row) for verdict, need in (
        ("valid", None), ("partly_valid", None), ("partly_valid_undecided", None),
        ("partly_valid_undecided", FurtherData(2, None)))] == [
        f"gpt: valid (at least 80% of the noise ceiling): {rho}.",
        f"gpt: partly valid (beats the baselines, below 80% of the noise ceiling): {rho}.",
        f"gpt: partly valid (beats the baselines; 80% of the noise ceiling undecided): {rho}.",
        f"gpt: partly valid (beats the baselines; 80% of the noise ceiling undecided): {rho}. About 2 more texts "
        "with as "
        "many judgments each are needed.",
    ]  # fmt: skip
    flat = MeasureVerdict("low", math.nan, 1.0, constant=True).sentence(row)
    assert flat == "gpt: low: it gives all pairs the same value."


@pytest.mark.parametrize(
    ("one", "other", "smaller"),
    [
        (FurtherData(3, 40), FurtherData(5, 20), FurtherData(3, 20)),
        (FurtherData(None, 40), FurtherData(5, None), FurtherData(5, 40)),
        (FurtherData(None, None), FurtherData(None, None), FurtherData(None, None)),
        (FurtherData(2, None), FurtherData(None, None), FurtherData(2, None)),
    ],
)
def test_of_two_ways_to_tell_the_shorter_is_named(one, other, smaller):
    assert _smaller_need(one, other) == _smaller_need(other, one) == smaller


def test_of_several_contrasts_the_hardest_says_how_many(monkeypatch):
    each = {1.0: FurtherData(3, 40), 2.0: FurtherData(5, 20), 3.0: FurtherData(None, 10)}
    monkeypatch.setattr("assay.ideas.validate._numbers_for_one", lambda of, *_: each[of.value])
    top = Ceiling(Estimate(0.5, 0.3, 0.7, 0.1), Estimate(0.5, 0.4, 0.6, 0.05), certain(0.5))
    found = [numbers_needed([certain(v) for v in some], INFERENCE, top, 9) for some in ((1.0, 2.0), (2.0, 3.0))]
    assert found == [FurtherData(5, 40), FurtherData(None, 20)]


# -- names --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("embeddings:/models/deep/all-MiniLM", "embeddings:all-MiniLM"),
        ("embeddings:/models/deep/all-MiniLM/,split=whole", "embeddings:all-MiniLM,split=whole"),
        ("embeddings:./here", "embeddings:here"),
        ("embeddings:org/model", "embeddings:org/model"),
        ("words", "words"),
        ("rouge-1,stem=porter", "rouge-1,stem=porter"),
    ],
)
def test_a_folder_s_path_is_no_part_of_a_name(name, short):
    assert short_measure(name) == short


@pytest.mark.slow
def test_long_names_leave_the_picture_its_room():
    name = "embeddings:a-very-long-name-of-a-model-too-long-to-read-instruct-v2"
    assert len(clip_name(name)) <= 34
    assert clip_name(name).startswith("embeddings:a-very")
    assert clip_name(name).endswith("instruct-v2")
    found = assay.validate_similarity(LABELS, {name: pair_values(WORLD)}, **QUICK)
    ax = found.plot()
    ax.figure.canvas.draw() if hasattr(ax.figure.canvas, "draw") else None
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [clip_name(name)]
    assert ax.get_position().width > 0.4


@pytest.mark.slow
def test_every_pair_of_texts_has_one_baseline_value():
    labels = with_texts(WORLD.study(floor=6), texts_of(WORLD))
    found = assay.validate_similarity(labels, {"any": pair_values(WORLD)}, **QUICK)
    length = {d + name: len(text) for d, name, text, _ in texts_of(WORLD).iter_rows()}
    pairs = assay.triplet_similarity(labels).table
    named = pairs.select("document", "first", "second").iter_rows()
    values = [-abs(length[d + a] - length[d + b]) for d, a, b in named]
    row = found.table.filter(pl.col("measure") == LENGTH).row(0, named=True)
    assert row["estimate"] == pytest.approx(spearmanr(pairs["estimate"], values).statistic)
    assert row["verdict"] is None
    assert all(one not in found.verdicts for one in (LENGTH, WORDS, AUTHOR))
    assert not set(itertools.chain(found.verdicts)) & {LENGTH}


def test_of_two_questions_the_one_with_odd_ones_out_is_asked():
    rows = [("i", who, c, label) for who in ("ann", "bob") for c, label in (("odd", "A"), ("stars", "3"))]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "criterion", "label"], orient="row")
    scales = {"odd": "odd-one-out", "stars": "1-5"}
    texts = pl.DataFrame({"item": ["i"], "first_item": ["p"], "second_item": ["q"], "third_item": ["r"]})
    labels = assay.Annotations.from_frame(frame, scale=scales, humans=["ann", "bob"], judges=[], items=texts)
    assert odd_one_labels(labels, "this").criteria == ("odd",)


@pytest.mark.parametrize(
    ("name", "of", "whole"),
    [("gpt", {}, "gpt"), ("gpt", {"prompt": "strict"}, "gpt (prompt=strict)"),
     ("gpt (new)", {"prompt": "a", "t": 0}, "gpt (new) (prompt=a, t=0)")],
)  # fmt: skip
def test_a_judge_s_measure_is_named_by_what_it_was_asked(name, of, whole):
    assert variant(name, of) == whole
    assert judge_of(whole) == name


@pytest.mark.parametrize("name", ["gpt (new)", "gpt (a=b", "(a=b)", "words", "gpt (a=b) more"])
def test_judge_name_may_contain_brackets(name):
    assert judge_of(name) == name


@pytest.mark.slow
def test_a_pair_that_was_asked_both_ways_round_has_the_mean_of_both():
    """A judge gives values in one order, or half of the pairs also the other way round with as much more and less."""
    one = pair_values(WORLD).with_columns(value=pl.col("value").rank() / 1000).with_row_index("item")
    some = one.filter(pl.col("item") % 2 == 0)
    turned = some.select(pl.col("item") + 5000, "document", first="second", second="first", value=pl.col("value") + 0.1)
    lower = one.with_columns(value=pl.col("value") - 0.1 * (pl.col("item") % 2 == 0).cast(pl.Float64) + 0.1)
    upper = turned.with_columns(value=pl.col("value") + 0.1)
    found = []
    for frame in (one, pl.concat([lower, upper.select(lower.columns)])):
        asked = frame.rename({"first": "first_item", "second": "second_item", "value": "label"})
        judge = assay.read(asked.with_columns(annotator=pl.lit("m")), scale="interval:0-1", judges=["m"])
        found.append(assay.validate_similarity(LABELS, {"m": judge}, **QUICK).table["estimate"][0])
    assert found[0] == pytest.approx(found[1])


def test_a_measure_without_any_value_is_refused_by_its_name():
    texts = pl.DataFrame({"document": ["d"] * 3, "text": ["x", "y", "z"]})
    pairs = PairsOfTexts(np.array([0, 0]), np.array([2, 1]), texts, np.zeros(3, dtype=int), None)
    known, none = (
        PairMeasure(name, "pairs", np.full(3, np.nan), np.array(values))
        for name, values in (("some", [np.nan, 0.1]), ("none", [np.nan, np.inf]))
    )
    check_values([known], pairs)
    words = "measure 'none' has no value for any of the 2 pairs that the experts compared, such as 'x' and 'z'"
    with pytest.raises(DataError, match=words):
        check_values([known, none], pairs)
