"""Kinds of whole public files: adjudicated labels, judges with providers, criteria called as models are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import assay
from assay.data.structure.readings import UnclearTableError

N = 60


def labels_of(words: list[str], seed: int, n: int = N) -> list[str]:
    """Labels that two annotators share in most rows."""
    truth = np.random.default_rng(0).integers(0, len(words), n)
    other = np.random.default_rng(seed).integers(0, len(words), n)
    keep = np.random.default_rng(seed).random(n) < 0.8
    return [words[k] for k in np.where(keep, truth, other)]


def choices_of(table: pl.DataFrame, **options: Any) -> list[Mapping[str, Any]]:
    """The options of each reading that is offered."""
    with pytest.raises(UnclearTableError) as asked:
        assay.read(table, **options)
    return [given for _, given in asked.value.choices]


def test_labels_of_two_annotators_and_the_adjudicated_one_are_no_votes():
    """The adjudicated label is always that of one of the two, as the winner of two systems is."""
    words = ["refusal", "partial", "compliance"]
    one, two = labels_of(words, 1), labels_of(words, 2)
    table = pl.DataFrame({
        "id": [f"v2-{n}" for n in range(N)], "completion": [f"There are {n} ways to stop a process." for n in range(N)],
        "annotation_1": one, "annotation_2": two, "final_label": [(one, two)[n % 2][n] for n in range(N)],
        "gpt4_label": [(two, one)[n % 2][n] for n in range(N)],
    })  # fmt: skip
    read = assay.read(table, judges=["gpt4_label"], scale="nominal")
    assert (read.humans, read.judges) == (("annotation_1", "annotation_2"), ("gpt4_label",))
    assert "completion" in read.items.columns, "no time stamp"
    assert not any("comparisons" in note for note in read.reading.notes)


def test_scores_of_a_human_next_to_models_are_no_labels_of_the_models():
    rng = np.random.default_rng(0)
    rows = [(f"q{q}", m, c, int(rng.integers(1, 6)), f"note {q} {m} {c}") for q in range(20)
            for m in ("claude-sonnet", "gpt-4o-mini", "gpt-3.5-turbo") for c in ("factuality", "safety")]  # fmt: skip
    table = pl.DataFrame(rows, schema=["question_id", "model_name", "dimension", "human_score", "notes"], orient="row")
    (given,) = choices_of(table)
    read = assay.read(table, **given)
    assert (read.n_items, len(read), read.humans, read.judges) == (60, 120, ("human_score",), ())
    assert read.criteria == ("factuality", "safety")
    by_judge = choices_of(table.rename({"human_score": "score"}))
    assert [("judges" in one, "humans" in one) for one in by_judge] == [(True, False), (False, True), (True, False)]


def test_provider_next_to_a_judge_is_no_second_judge():
    """Both name each other, so that neither of the two keys of a row was used."""
    rng = np.random.default_rng(1)
    makers = ("openai", "openrouter", "human-written")
    judges = {"openai": "gpt-5-mini", "openrouter": "anthropic/claude-haiku-4.5"}
    rows = [
        (f"scenario_{n:02d}_{maker}", provider, judge, f"raw {n} {maker} {judge}", *rng.integers(2, 6, 3))
        for n in range(12) for maker in makers for provider, judge in judges.items()
    ]  # fmt: skip
    names = ["text_id", "judge_provider", "judge_model", "judge_raw", "authenticity", "plausibility", "specificity"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    read = assay.read(table, **choices_of(table)[0])
    assert read.judges == ("anthropic/claude-haiku-4.5", "gpt-5-mini")
    assert (read.n_items, len(read), read.criteria) == (36, 216, ("authenticity", "plausibility", "specificity"))


def test_criteria_with_a_scale_each_are_no_annotators():
    """The use of language models is a criterion here: the first parts have different words."""
    scales = {"track": ["T1", "T2", "T7"], "llm": ["core", "minor", "absent"], "agentic": ["yes", "no"]}
    passes = ("content", "title_a", "title_b")
    table = pl.DataFrame({
        "paper_id": list(range(100, 100 + N)),
        **{f"{one}_{who}": labels_of(words, k) for one, words in scales.items() for k, who in enumerate(passes)},
    })  # fmt: skip
    read = assay.read(table, **choices_of(table)[0])
    assert (read.humans, read.judges, read.criteria) == (passes, (), ("agentic", "llm", "track"))
    assert len(read) == 9 * N


def test_annotators_called_by_a_letter_and_a_number_next_to_what_is_computed_from_them():
    rng = np.random.default_rng(2)
    people = {
        f"{who} {one}": rng.integers(1, 6, N) for who in ("A1", "A2", "A3") for one in ("agents", "events", "world")
    }
    mean = {f"{one.title()} mean": np.mean([people[f"A{k} {one}"] for k in (1, 2, 3)], axis=0).round() for one in
            ("agents", "events", "world")}  # fmt: skip
    final = {f"Final {name.split()[0].upper()}": values for name, values in mean.items()}
    table = pl.DataFrame({"URL": [f"https://songs.org/{n}" for n in range(N)], **final, **mean, **people})
    (first, *_) = choices_of(table)
    read = assay.read(table, **first)
    assert (read.humans, read.criteria, len(read)) == (("A1", "A2", "A3"), ("agents", "events", "world"), 9 * N)
    assert {*final} <= {*read.reading.left_out}, "the means would be strata of the labels that they are made from"


def test_rows_of_an_item_without_names_of_annotators_are_asked_and_read():
    """A crowd's file has a row for each answer and does not say whose it is; an image has several descriptions."""
    rng = np.random.default_rng(4)
    item = [k for k in range(N) for _ in range(1 + k % 3)]
    table = pl.DataFrame({
        "description_id": [f"d{k * 7919 % 1000}" for k in item], "image": [f"{k // 4:04}.jpg" for k in item],
        "fluency": rng.integers(1, 6, len(item)), "detail": rng.integers(1, 6, len(item)),
    })  # fmt: skip
    choices = choices_of(table)
    assert choices[0] == {
        "item": "description_id", "layout": "long", "annotator": "place", "label": ["fluency", "detail"]
    }  # fmt: skip
    labels = assay.read(table, **choices[0])
    assert (labels.n_items, len(labels), labels.humans) == (N, 2 * len(item), ("1", "2", "3"))
    assert labels.reading.places == ("1", "2", "3")
    # The rows of an item are its annotators in a drawn order, each with the labels of one row.
    both = labels.labels.pivot("criterion", index=["item", "annotator"], values="label")
    read = sorted(both.select("item", pl.col("fluency", "detail").cast(pl.Int64)).rows())
    assert read == sorted(table.select("description_id", "fluency", "detail").rows())
    counts = both.group_by("item").agg(pl.col("annotator").sort())
    assert {*map(tuple, counts["annotator"].to_list())} == {("1",), ("1", "2"), ("1", "2", "3")}
    repeated = [given for given in choices if given["item"] == "description_id" and "repeat" in given]
    assert [assay.read(table, **given).has_repeats for given in repeated] == [True, True]
    # One row that is there twice is no second annotator.
    once = table.unique("description_id", maintain_order=True)
    with pytest.raises(UnclearTableError, match="remove a row that is there twice") as caught:
        assay.read(pl.concat([once, once.head(1)]), item="description_id")
    assert caught.value.choices == ()


def test_rows_that_are_sorted_by_label_give_no_lenient_place():
    """The first of three sorted labels is the lowest: such places would differ as severe and lenient people do."""
    rng = np.random.default_rng(11)
    labels = [sorted(rng.integers(1, 6, 3).tolist()) for _ in range(200)]
    rows = pl.DataFrame([(f"q{k}", one) for k, each in enumerate(labels) for one in each], schema=["id", "label"],
                        orient="row")  # fmt: skip
    read = assay.read(rows, item="id", annotator="place", scale="1-5")
    means = read.labels.group_by("annotator").agg(pl.col("label").cast(pl.Float64).mean())["label"]
    assert len(means) == 3
    assert means.max() - means.min() < 0.5  # sorted: 2.4; the standard error of a difference is .14
    repeats = assay.read(rows, layout="wide", split_columns="criterion", item="id", columns=["label"], humans=["human"],
                         repeat="place")  # fmt: skip
    kept = repeats.labels.sort("item", "repeat").group_by("item", maintain_order=True).agg("label")["label"].to_list()
    assert all(list(each) == sorted(each) for each in kept)


@pytest.mark.parametrize("by", ["label", "number"])
def test_lists_that_are_sorted_give_no_lenient_place(by: str):
    """Sorted by label, or by how many gave it: the first place would be the lowest, or agree with most."""
    rng = np.random.default_rng(12)
    labels = [rng.integers(1, 4, 3).tolist() for _ in range(150)]
    order = {
        "label": lambda each: sorted(each),
        "number": lambda each: sorted(each, key=lambda one: (-each.count(one), one)),
    }
    cells = [(f"q{k}", "|".join(map(str, order[by](each)))) for k, each in enumerate(labels)]
    table = pl.DataFrame(cells, schema=["id", "scores"], orient="row")
    read = assay.read(table, item="id", annotator="place", scale="1-3")
    assert "a place that is drawn within each item" in str(read.reading)
    kept = read.labels.group_by("item").agg("label")
    assert {item: sorted(map(float, each)) for item, each in kept.rows()} == {
        f"q{k}": sorted(map(float, each)) for k, each in enumerate(labels)
    }
    means = read.labels.group_by("annotator").agg(pl.col("label").cast(pl.Float64).mean())["label"]
    assert means.max() - means.min() < 0.4  # sorted by label: .9; the standard error of a difference is .09
    # Places of lists that are not sorted can be one person's each: they are kept, as is a place that the user names.
    plain = table.with_columns(pl.Series("scores", ["|".join(map(str, each)) for each in labels]))
    for frame, named in ((plain, {}), (table, {"judges": ["1"]})):
        read = assay.read(frame, item="id", annotator="place", scale="1-3", **named)
        first = dict(read.labels.filter(annotator="1").select("item", pl.col("label").cast(pl.Int64)).rows())
        assert first == {item: int(cell.split("|")[0]) for item, cell in frame.rows()}


def test_a_judge_next_to_rows_without_names_is_one_annotator():
    words = ["yes", "no", "unsure"]
    judge, people = labels_of(words, 1), [labels_of(words, seed) for seed in (2, 3, 4)]
    rows = [(f"q{k}", who[k], judge[k]) for k in range(N) for who in people]
    table = pl.DataFrame(rows, schema=["id", "label", "gpt-4o"], orient="row")
    (first, *_) = choices_of(table, judges=["gpt-4o"])
    labels = assay.read(table, **first)
    assert (labels.humans, labels.judges, len(labels)) == (("1", "2", "3"), ("gpt-4o",), 4 * N)
    test = assay.alt_test(labels, "gpt-4o", expertise="crowd")
    assert "annotators 1, 2, 3 have no names: each is a place of labels" in test.summary()
    named = assay.read(table.with_columns(annotator=pl.Series(["ann", "bob", "cho"] * N)), judges=["gpt-4o"])
    assert "have no names" not in assay.alt_test(named, "gpt-4o", expertise="crowd").summary()


def test_lists_of_labels_are_criteria_or_categories(tmp_path):
    """Findings in one cell: a judge that never reports the rare one agrees on the usual combinations."""
    rng = np.random.default_rng(8)
    names = ["effusion", "nodule", "rib, fracture"]

    def cell(found: np.ndarray) -> str:
        return "; ".join(name for name, there in zip(names, found, strict=True) if there) or "none"

    true = rng.random((N, 3)) < (0.5, 0.3, 0.3)
    given = {who: true ^ (rng.random((N, 3)) < 0.05) for who in ("Ann", "Bob", "Cho")}
    given["gpt-4o"] = true & (True, True, False)
    table = pl.DataFrame({"id": [f"r{k}" for k in range(N)], **{who: [*map(cell, one)] for who, one in given.items()}})
    choices = choices_of(table, judges=["gpt-4o"])
    assert [{**one, "missing": None}["scale"] for one in choices] == ["several", "nominal", "nominal"]
    labels = assay.read(table, **choices[0])
    assert (labels.criteria, len(labels), labels.humans) == (tuple(names), 12 * N, ("Ann", "Bob", "Cho"))
    for k, name in enumerate(names):
        for who, one in given.items():
            mine = labels.where(criterion=name, annotator=who).labels
            assert dict(mine.select("item", "label").rows()) == {
                f"r{i}": "yes" if there else "no" for i, there in enumerate(one[:, k])
            }
    assert assay.alt_test_by(labels, "gpt-4o", expertise="expert").tests["rib, fracture"].verdict == "do_not_replace"
    named = assay.read(table, judges=["gpt-4o"], scale='several:["effusion", "nodule", "rib, fracture"]')
    assert named.fingerprint == labels.fingerprint
    with pytest.raises(
        assay.errors.DataError, match=r"lists 'rib, fracture', which scale='several:\.\.\.' does not name"
    ):
        assay.read(table, judges=["gpt-4o"], scale="several:effusion,nodule")
    # An empty cell is a missing answer.
    table = table.with_columns(Bob=pl.when(pl.col("id") == "r0").then(None).otherwise("Bob"))
    assert len(assay.read(table, judges=["gpt-4o"], scale="several")) == 12 * N - 3
    rows = table.unpivot(index="id", variable_name="annotator", value_name="label")
    less = assay.read(rows, item="id", judges=["gpt-4o"], scale="several")
    assert len(less) == 12 * N - 3
    assert any("1 empty cell missing" in note for note in less.reading.notes)


def test_categories_with_a_comma_and_texts_are_no_lists():
    words = ["yes, surely", "no, never", "unsure, ask again"]
    table = pl.DataFrame({"id": [f"q{k}" for k in range(N)], "ann": labels_of(words, 1), "bob": labels_of(words, 2)})
    assert assay.read(table, layout="wide", columns=["ann", "bob"]).criteria == ()


def test_numbered_columns_are_annotators_next_to_ratios_and_the_final_rating():
    rng = np.random.default_rng(9)
    true = rng.integers(0, 3, N)
    rated = {f"Rating_{k}": np.clip(true + rng.integers(-1, 2, N) * (rng.random(N) < 0.3), 0, 2) for k in range(1, 5)}
    table = pl.DataFrame({"FileID": [f"img_{k:04}" for k in range(N)], **rated, " Rating_5": np.roll(true, 1),
                          "Rating_Final": true, "Hair_Ratio": rng.random(N)})  # fmt: skip
    first = assay.read(table, **choices_of(table)[0])
    assert first.humans == ("Rating_1", "Rating_2", "Rating_3", "Rating_4", "Rating_5")


def test_sparse_numbered_columns_of_two_categories_are_no_battles():
    """Five of ten people labelled each text: two columns and the majority look as two sides and a winner do."""
    rng = np.random.default_rng(10)
    words = labels_of(["hateful", "non-hateful"], 1)
    rows = []
    for k, word in enumerate(words):
        there = {*rng.permutation(10)[:5].tolist()}
        rows.append([f"c{k}", *(word if j in there else None for j in range(10)), word])
    names = ["case_id", *(f"label_{j}" for j in range(1, 11)), "label_annot_maj"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    chosen = assay.read(table, **choices_of(table)[0])
    assert (len(chosen.humans), len(chosen), chosen.n_items) == (10, 5 * N, N)


def test_averages_with_the_error_of_a_formula_are_left_out(tmp_path):
    rows = [f"Text number {k} of these;{1 + k % 5};{1 + (k + 1) % 5}" for k in range(30)]
    (tmp_path / "t.csv").write_text("\n".join(["Sentence;Ann;Bob", *rows, ";#REF!;4,27", ""]))
    labels = assay.read(tmp_path / "t.csv", layout="wide", columns=["Ann", "Bob"])
    assert (labels.n_items, len(labels)) == (30, 60)
    assert any("with an error of a formula: '#REF! 4,27'" in note for note in labels.reading.notes)


def test_the_consensus_of_readers_is_computed():
    one, two = labels_of(["0", "1", "2"], 1), labels_of(["0", "1", "2"], 2)
    table = pl.DataFrame({"id": [f"r{k}" for k in range(N)], "reader1": one, "reader2": two,
                          "consensus_2reader_senior": one, "gpt-4o": labels_of(["0", "1", "2"], 3)})  # fmt: skip
    labels = assay.read(table, judges=["gpt-4o"])
    assert (labels.humans, labels.judges) == (("reader1", "reader2"), ("gpt-4o",))


FINDINGS = ["none", "fever", "cough", "rash", "fever; cough", "cough; rash", "fever; rash", "fever; cough; rash"]


def listed(name: str, cells: list[str], **options: Any) -> assay.Annotations:
    table = pl.DataFrame({"id": [f"q{k:02d}" for k in range(40)], name: [cells[k % len(cells)] for k in range(40)]})
    return assay.read(table, layout="wide", item="id", columns=[name], scale="several", **options)


def test_a_label_that_only_the_other_file_lists_is_answered_no():
    """A judge that never reports a rash is wrong about it; it was left out of the criterion instead."""
    people = listed("ann", FINDINGS)
    judge = listed("gpt-4o", [cell.replace("rash", "chill") for cell in FINDINGS], judges=["gpt-4o"])
    both = people.join(judge)
    assert sorted(both.criteria) == ["chill", "cough", "fever", "rash"]
    said = both.labels.filter(annotator="gpt-4o", criterion="rash")
    assert (len(said), said["label"].unique().to_list()) == (40, ["no"])
    assert both.labels.filter(annotator="ann", criterion="chill")["label"].unique().to_list() == ["no"]
    # The labels that the user names are those that were asked: nothing is known of others.
    table = pl.DataFrame({"id": [f"q{k:02d}" for k in range(40)], "bob": ["fever; cough", "cough"] * 20})
    asked = assay.read(table, layout="wide", item="id", columns=["bob"], scale="several:fever,cough")
    assert asked.join(judge).labels.filter(annotator="bob", criterion="chill").is_empty()


def test_listed_labels_that_differ_in_case_are_one_or_refused():
    cells = [cell.replace("rash", "Rash") if k % 2 else cell for k, cell in enumerate(FINDINGS)]
    with pytest.raises(
        assay.errors.DataError, match=r"labels differ only in spelling: 'Rash', 'rash'. Set label_spelling='merge'"
    ):
        listed("ann", cells)
    merged = listed("ann", cells, label_spelling="merge")
    assert sorted(merged.criteria) == ["Rash", "cough", "fever"]
    assert sorted(listed("ann", cells, label_spelling="apart", spelling="apart").criteria) == [
        "Rash",
        "cough",
        "fever",
        "rash",
    ]
    with pytest.raises(assay.errors.DataError, match="in lists differ only in spelling: 'Rash', 'rash'; spell each"):
        merged.join(listed("gpt-4o", FINDINGS, judges=["gpt-4o"]))


@pytest.mark.parametrize("files", [1, 2])
def test_people_of_few_items_each_are_a_crowd_next_to_a_judge(files: int, tmp_path: Path):
    """Reviewers of two papers each cannot be tested one by one; as places they can, and the judge keeps its name."""
    truth = np.random.default_rng(3).integers(1, 6, 120)
    people = [(f"p{k:03d}", f"R{(3 * k + i) % 180:03d}", min(int(truth[k]) + i % 2, 5))
              for k in range(120) for i in range(3)]  # fmt: skip
    judge = [(f"p{k:03d}", "gpt-4o", int(truth[k])) for k in range(120)]
    for name, rows in (("people.csv", people), ("judge.csv", judge), ("all.csv", people + judge)):
        pl.DataFrame(rows, schema=["paper", "reviewer", "rating"], orient="row").write_csv(tmp_path / name)
    names = ["all.csv"] if files == 1 else ["people.csv", "judge.csv"]
    sources = [str(tmp_path / name) for name in names]
    given = {"item": "paper", "label": "rating", "judges": ["gpt-4o"], "scale": "1-5"}
    labels = assay.read(sources if files == 2 else sources[0], annotator="place", **given)
    assert (labels.humans, labels.judges, len(labels)) == (("1", "2", "3"), ("gpt-4o",), 480)
    said = labels.labels.filter(annotator="gpt-4o").sort("item")["label"].to_list()
    assert said == truth.tolist()
    assert assay.alt_test(labels, "gpt-4o", expertise="crowd").verdict == "replace"
    one_by_one = assay.read(sources if files == 2 else sources[0], annotator="reviewer", **given)
    assert assay.alt_test(one_by_one, "gpt-4o", expertise="crowd").verdict == "undecided"


def test_two_columns_with_the_names_of_judges_are_refused_for_places():
    """A model can have written the texts that it judges: its own texts are not its labels."""
    rows = [(f"q{k}", ("gpt-4o", "llama")[k % 2], who, 1 + k % 5) for k in range(20) for who in ("w1", "w2", "gpt-4o")]
    table = pl.DataFrame(rows, schema=["id", "system", "worker", "stars"], orient="row")
    given: dict[str, Any] = {"item": "id", "annotator": "place", "label": "stars", "judges": ["gpt-4o"]}
    with pytest.raises(assay.errors.DataError, match="'system', 'worker' contain the names of the judges"):
        assay.read(table, **given)
    assert assay.read(table.drop("system"), **given).humans == ("1", "2")


def test_a_column_that_no_file_has_is_refused(tmp_path: Path):
    for name, who in (("a.csv", "ann"), ("b.csv", "bob")):
        pl.DataFrame({"id": ["p", "q", "r"], "worker": who, "stars": [1, 2, 3]}).write_csv(tmp_path / name)
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    with pytest.raises(assay.errors.DataError, match="column 'nosuch' is not in the files; it has id, worker, stars"):
        assay.read(files, item="id", annotator="nosuch", label="stars")
    assert assay.read(files, item="id", annotator="worker", label="stars").humans == ("ann", "bob")


def test_columns_of_lists_name_no_annotator_and_numbered_excerpts_are_the_items():
    """A codebook's codes in cells next to a column that comes again: the pair identified rows and was asked about."""
    rng = np.random.default_rng(5)
    names = ["anger", "coping", "faith", "family", "hope", "money", "sleep", "work"]

    def cell() -> str:
        return "; ".join(rng.permutation(names)[: rng.integers(0, 4)]) or "none"

    rows = [(f"E{k:04d}", f"P{k % 22:02d}", f"I said something about it {k}", cell(), cell()) for k in range(180)]
    table = pl.DataFrame(rows, schema=["excerpt", "interviewee", "text", "Anna", "Birgit"], orient="row")
    first = choices_of(table)[0]
    assert (first["item"], first["scale"], [*first["columns"]]) == ("excerpt", "several", ["Anna", "Birgit"])
    assert assay.read(table, **first).criteria == tuple(names)


def test_a_session_of_reading_is_asked_about(tmp_path):
    rng = np.random.default_rng(4)
    rows = [
        (f"P{p:02}", reader, session, int(rng.integers(1, 6)))
        for p in range(20) for reader in ("R1", "R2", "R3") for session in (1, 2)
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["patient_id", "reader", "session", "birads"], orient="row")
    with pytest.raises(UnclearTableError, match="'session' can number repeated answers, or versions of the item"):
        assay.read(frame)
    again = assay.read(frame, item="patient_id", annotator="reader", label="birads", repeat="session")
    assert again.n_items == 20
    assert len(again) == 120
