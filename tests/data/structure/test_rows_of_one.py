"""Tables in which one human or judge labelled each row, or the files name who did: what they are is asked or read."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

import assay
from assay.data.structure.readings import UnclearTableError
from assay.errors import DataError


def asked(source: Any, **options: Any) -> list[tuple[str, dict[str, Any]]]:
    """The readings of the question that reading a table asks."""
    with pytest.raises(UnclearTableError) as error:
        assay.read(source, **options)
    return [*error.value.choices]


def runs() -> pl.DataFrame:
    """Replies of each question in two conditions and five trials, which one person marked."""
    rows = [
        (f"{k}_{c}_{t}", f"q{k:02d}", c, t, bool((k + t) % 3), "declines" if (k + t) % 3 else "answers")
        for k in range(24)
        for c in ("plain", "prompted")
        for t in range(1, 6)
    ]
    names = ["run_id", "item_id", "condition", "trial", "human_declined", "note"]
    return pl.DataFrame(rows, schema=names, orient="row").sample(fraction=1, shuffle=True, seed=3)


def test_column_called_as_a_persons_has_the_labels_of_each_row():
    (said, options), *others = asked(runs())
    assert said == "the item is 'item_id', 'condition', 'trial', and 'human_declined' has the labels of one human"
    labels = assay.read(runs(), **options)
    assert (labels.n_items, labels.humans, labels.judges) == (240, ("human",), ())
    of_trials = next(more for text, more in others if text.startswith("'trial' names") and more)
    assert assay.read(runs(), **of_trials).n_items == 24  # each reading that is shown can be read


def windows() -> pl.DataFrame:
    """The windows of videos, with their times and one level each."""
    rows = [
        (v, k, round(v / 7 + 5.3 * k, 2), round(v / 7 + 5.3 * k + 5.1, 2), f"v{v}_{k}.mp4", (3 * v + k) % 7 - 3)
        for v in range(1, 7)
        for k in range(24)
    ]
    return pl.DataFrame(rows, schema=["video_id", "window_id", "start", "end", "path", "level"], orient="row")


def test_labels_on_another_scale_than_two_measures_are_among_the_readings():
    readings = dict(asked(windows()))
    one = readings["the item is 'video_id', 'window_id', and 'level' has the labels of one human"]
    labels = assay.read(windows(), **one)
    assert (labels.n_items, labels.humans, labels.scale) == (144, ("human",), assay.Ordinal(-3, 3))


def test_named_column_is_read_next_to_measures_on_other_scales():
    """Only columns that are read have to be on one scale."""
    labels = assay.read(windows(), layout="wide", item="path", columns=["level"], humans=["level"])
    assert (labels.n_items, labels.humans) == (144, ("level",))


def scores(**more: list[Any]) -> pl.DataFrame:
    n = 40
    shares = [((7 * k) % 11 / 10, (5 * k) % 7 / 6, (3 * k) % 5 / 4) for k in range(n)]
    names = ("faithfulness", "llm_context_precision", "context_recall")
    texts = {
        "user_input": [f"What is the {k}th prime?" for k in range(n)],
        "response": [f"It is {k}." for k in range(n)],
    }
    return pl.DataFrame({**texts, **{name: [s[i] for s in shares] for i, name in enumerate(names)}, **more})


def test_question_that_begins_with_llm_is_asked_about_with_the_other_questions():
    readings = dict(asked(scores()))
    said = "'faithfulness', 'llm_context_precision', 'context_recall' are questions that one judge answered"
    labels = assay.read(scores(), **readings[said])
    assert (labels.judges, labels.humans) == (("judge",), ())
    assert labels.criteria == ("context_recall", "faithfulness", "llm_context_precision")


def test_label_of_a_model_next_to_people_is_a_judges():
    table = scores().select("response", ann_1="faithfulness", ann_2="context_recall", llm_score="llm_context_precision")
    assert assay.read(table, judges=["llm_score"]).judges == ("llm_score",)
    with pytest.raises(UnclearTableError, match="'llm_score' could be a judge"):
        assay.read(table)


def test_title_of_each_row_under_the_name_label_is_not_a_label(tmp_path):
    titles = [f"Offline: answer number {k}" for k in range(40)]
    records = scores().select(pl.Series("label", titles), pl.all()).to_dicts()
    (tmp_path / "results.json").write_text(json.dumps(records))
    readings = asked(tmp_path / "results.json")
    assert readings
    assert all("label" not in options.get("columns", ()) for _, options in readings)
    assert any(text.endswith("questions that one judge answered") for text, _ in readings)


def test_sentences_name_no_annotator():
    rows = [
        (f"Sentence number {k} of the old text, as it is written", m, f"v{v}",
         f"Sentence number {k} in new words by {m} {v % 2}", 1 + (k + v) % 5)
        for m in ("phi-4", "qwen")
        for v in range(4)
        for k in range(15)
    ]  # fmt: skip
    table = pl.DataFrame(rows, schema=["source", "model", "variant", "translation", "human_rating"], orient="row")
    readings = asked(table)
    assert not [options for _, options in readings if options.get("annotator") == "translation"]
    ones = [options for text, options in readings if text.endswith("'human_rating' has the labels of one human")]
    assert assay.read(table, **ones[0]).n_items == 120


def test_reply_of_each_language_is_not_a_label_and_the_item_one_question():
    """Raters of each language rated the replies to the same scenarios."""
    rng, rows = np.random.default_rng(4), []
    for s, bot in product(("s1", "s2", "s3"), ("gemini", "claude", "gpt-4o")):
        for language, of in {"English": "12", "French": "34", "Thai": "56", "Hebrew": "78"}.items():
            quality = rng.integers(2, 6)
            for who in of:
                given = np.clip(np.round(rng.normal(quality, 0.6, 3)), 1, 5).astype(int).tolist()
                rows.append((f"{s}_{language}_{bot}", s, bot, language, f"R{who}", *given))
    names = ["response_internal", "scenario", "chatbot", "language", "rater_id", "accuracy", "safety", "empathy"]
    readings = asked(pl.DataFrame(rows, schema=names, orient="row"))
    assert not [options for _, options in readings if "response_internal" in options.get("label", ())]
    assert not [text for text, _ in readings if text.count("the item is") > 1]
    assert readings[0][1]["item"] == ["chatbot", "scenario", "language"]
    assert readings[0][1]["label"] == ["accuracy", "safety", "empathy"]


def test_id_of_a_note_describes_the_item():
    rows = [(f"n{k // 5}", f"g{k}", ("drug", "symptom", "test")[k % 3], k % 3 + 1) for k in range(60)]
    table = pl.DataFrame(rows, schema=["note_id", "gold_id", "concept", "risk"], orient="row")
    labels = assay.read(table, layout="wide", item="gold_id", columns=["risk"], humans=["risk"])
    assert "note_id" in labels.items.columns


def test_files_called_as_annotators_name_them_next_to_equal_columns(tmp_path):
    for who in (1, 2):
        rows = [(f"Sentence {k}", str(bool((k + who) % 3)), str(bool(k % 2))) for k in range(30)]
        table = pl.DataFrame(rows, schema=["sentence", "HERO IS OBJECT", "HERO IS AGENT"], orient="row")
        table.write_csv(tmp_path / f"annotator{who}.csv")
    files = [tmp_path / f"annotator{who}.csv" for who in (1, 2)]
    labels = assay.read(files, item="sentence", layout="wide", columns=["HERO IS OBJECT", "HERO IS AGENT"])
    assert labels.humans == ("annotator1", "annotator2")
    assert (labels.criteria, labels.n_items, len(labels)) == (("HERO IS AGENT", "HERO IS OBJECT"), 30, 120)


def test_merged_cells_of_several_columns_name_the_items_of_each_raters_file(tmp_path):
    """A sheet with one text for all rows of a model, and of each of its criteria, saved as CSV."""
    for who in (1, 2):
        rows = [
            (m if not (c or k) else "", s if not (c or k) else "", "" if k else f"Criterion {c}", k + 1,
             1 + (a + c + k) % 4, 1 + (a + c + k * who) % 4)
            for a, (m, s) in enumerate(product(("m1", "m2"), ("zero-shot", "one-shot")))
            for c in range(4)
            for k in range(5)
        ]  # fmt: skip
        names = ["model", "strategy", "aspect", "number", "coherence", "usefulness"]
        pl.DataFrame(rows, schema=names, orient="row").write_csv(tmp_path / f"rater{who}.csv")
    one = assay.read(
        tmp_path / "rater1.csv", item=["model", "strategy", "aspect", "number"], layout="wide",
        columns=["coherence", "usefulness"], split_columns="criterion", humans=["rater1"],
    )  # fmt: skip
    assert (one.n_items, len(one)) == (80, 160)
    notes = [note for note in one.reading.notes if note.endswith("assumed to be merged with it")]
    assert [note.split()[0] for note in notes] == ["76", "76", "64"]


def test_folder_of_tables_is_read_as_its_files(tmp_path):
    for seed, who in enumerate(("ann", "bob", "cho"), 2):
        pl.DataFrame(
            {"text": [f"Text {k}" for k in range(30)], "label": [k * seed % 5 % 2 for k in range(30)]}
        ).write_csv(tmp_path / f"{who}.csv")
    labels = assay.read(tmp_path)
    assert (labels.humans, labels.n_items, len(labels)) == (("ann", "bob", "cho"), 30, 90)
    (tmp_path / "read.me").write_text("Three people.")
    with pytest.raises(DataError, match="name files in it, such as"):
        assay.read(tmp_path)


def test_votes_on_texts_with_an_id_in_each_row_say_that_pairs_come_again():
    """The advice, followed, reads the votes on one pair as those on one item, shown in either order."""
    rows = []
    for k, (n, who) in product(range(20), enumerate(("ann", "bob", "cho"))):
        good, bad = (
            f"A good reply to question {k}, with a reason that is true",
            f"A bad reply to question {k}, as no reason is given",
        )
        first = (k + n) % 2 == 0
        shown = (good, bad) if first else (bad, good)
        rows.append((f"e{k}_{n}", f"Question number {k}?", *shown, "A" if first else "B", who))
    names = ["example_id", "prompt", "response_a", "response_b", "preferred", "annotator_id"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    labels = assay.read(table)
    said = "60 rows show 20 pairs of texts: to make each pair an item, set item='prompt'"
    assert labels.n_items == 60
    assert said in labels.reading.notes
    pairs = assay.read(table, item="prompt")
    assert (pairs.n_items, len(pairs), pairs.labels["label"].n_unique()) == (20, 60, 1)
    assert said not in pairs.reading.notes
    assert 0 < pairs.labels["sides_swapped"].sum() < 60
    assert (pairs.items["response_a"] < pairs.items["response_b"]).all()


def votes_on_texts(people: tuple[str, ...], seed: int, first: str = "") -> pl.DataFrame:
    """People prefer the same text of each pair, which each saw in another order; one always chooses the first."""
    rng, rows = np.random.default_rng(seed), []
    for k, who in product(range(30), people):
        texts = [f"The reply to question {k} that gives {what} reason for what it says" for what in ("a", "no")]
        shown = rng.permutation(2).tolist()
        rows.append((f"p{k}", *(texts[i] for i in shown), "A" if who == first else "AB"[shown.index(k % 2)], who))
    return pl.DataFrame(rows, schema=["pair_id", "output_1", "output_2", "winner", "annotator"], orient="row")


def unequal(labels: assay.Annotations) -> int:
    """How many items have different votes."""
    return labels.labels.group_by("item").agg(pl.col("label").n_unique()).filter(pl.col("label") > 1).height


def test_votes_on_texts_agree_shown_in_either_order():
    table = votes_on_texts(("ann", "bob", "gpt-4o"), 1)
    labels = assay.read(table, judges=["gpt-4o"])
    assert unequal(labels) == 0
    mixed = assay.read(table.sample(fraction=1, shuffle=True, seed=2), judges=["gpt-4o"])
    assert assay.agreement(labels).to_dict() == assay.agreement(mixed).to_dict()


def test_votes_on_texts_of_several_tables_agree_shown_in_either_order(tmp_path):
    votes_on_texts(("ann", "bob"), 1).write_csv(tmp_path / "people.csv")
    votes_on_texts(("gpt-4o",), 2).write_csv(tmp_path / "judge.csv")
    files = [tmp_path / "people.csv", tmp_path / "judge.csv"]
    assert unequal(assay.read(files, judges=["gpt-4o"])) == 0
    people, judge = assay.read(files[0]), assay.read(files[1], judges=["gpt-4o"])
    both = people.join(judge)
    assert unequal(both) == unequal(judge.join(people)) == 0
    assert any("in the other order" in note for note in both.reading.notes)


def test_drift_compares_votes_on_texts_shown_in_either_order():
    runs = [assay.read(votes_on_texts(("gpt-4o",), seed), judges=["gpt-4o"]) for seed in (5, 6)]
    assert "0% [0%, " in assay.drift(*runs).summary()


def test_judge_that_chooses_the_first_of_two_texts_is_found():
    labels = assay.read(votes_on_texts(("ann", "bob", "cho", "gpt-4o"), 3, first="gpt-4o"), judges=["gpt-4o"])
    found = assay.probes(labels).table.filter(pl.col("probe") == "position")
    assert found["detected"].to_list() == [True]


def test_blank_before_a_quotation_mark_is_no_part_of_the_cell(tmp_path):
    (tmp_path / "t.csv").write_text(
        'id,worker,label,why\n001,ann,good,yes\n001, bob, good, "well, no"\n002, ann, bad, "no, never"\n'
        '002, bob, good, "I am, too"\n003, ann, bad, "so, so"\n003, bob, bad, "no, no"\n'
    )
    labels = assay.read(tmp_path / "t.csv", item="id", annotator="worker", label="label")
    assert (labels.humans, labels.n_items) == (("ann", "bob"), 3)
    assert {*labels.labels["label"].cast(pl.String)} == {"good", "bad"}
    assert {*labels.labels["why"]} >= {"well, no", "so, so", "yes"}
    assert any(note.startswith("blanks before quotation marks") for note in labels.reading.notes)
    (tmp_path / "t.csv").write_text('id,worker,label\n1,ann,good\n2, ann, "a, b", c\n')
    with pytest.raises(DataError, match="line 3 has 5 cells"):
        assay.read(tmp_path / "t.csv")
