"""Forms of public annotation files: one column of labels, criteria in columns and rows, and judges with other codes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import assay
from assay.errors import DataError

N = range(30)
RNG = np.random.default_rng(5)
A, B, C = (RNG.integers(1, 6, len(N)).tolist() for _ in range(3))
WORDS = {name: [("low", "mid", "high")[k % 3] for k in own] for name, own in (("a", A), ("b", B), ("c", C))}


def choices(table: pl.DataFrame, match: str, **options: object) -> dict[str, assay.Annotations]:
    """The readings that the error offers, by its words; those that cannot be read yet are left out."""
    with pytest.raises(DataError, match=match) as error:
        assay.read(table, **options)
    return {words: assay.read(table, **options, **given) for words, given in error.value.choices if given}


# -- one column of labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("about", "label", "items"),
    [
        ({"id": [f"x{k}" for k in N]}, "score", 30),
        ({"ticket_id": [f"T{k}" for k in N]}, "category", 30),
        ({"pair_idx": N, "rouge_l": [k / 30 for k in N]}, "label", 30),
        ({"run_id": [f"r{k * k % 17}" for k in N], "step_idx": N}, "label", 30),
        ({"qid": [k // 5 for k in N], "pid": [7 * (k % 5) + k // 5 for k in N]}, "annotation", 30),
        ({"item_id": [f"x{k % 11}" for k in N], "group": list("xyyzz") * 6, "trial": [k * k % 7 for k in N],
          "run": [f"u{k}" for k in N]}, "human_declined", 30),
    ],
)  # fmt: skip
def test_one_column_of_labels_is_of_one_human_or_judge(about: dict[str, object], label: str, items: int) -> None:
    labels = [k > 3 for k in A] if label == "human_declined" else WORDS["a"] if label == "category" else A
    found = choices(pl.DataFrame({**about, label: labels}), f"only '{label}' could hold labels")
    human, *judges = found.values()
    who = "human_declined" if label == "human_declined" else "human"
    assert (human.humans, human.judges, human.n_items, len(human)) == ((who,), (), items, len(N))
    assert len(judges) == (label != "human_declined")
    for judge in judges:
        assert (judge.humans, judge.judges, judge.n_items) == ((), ("judge",), items)


def test_parts_of_an_item_in_all_combinations_can_name_an_annotator_or_not() -> None:
    steps = {"run_id": [f"r{k // 3}" for k in N], "step_idx": [k % 3 for k in N], "label": A}
    found = choices(pl.DataFrame(steps), "is it 'run_id'")
    one = found["the item is 'run_id', 'step_idx', and 'label' has the labels of one judge"]
    assert (one.judges, one.n_items) == (("judge",), 30)


def test_one_column_of_labels_with_a_column_of_criteria() -> None:
    table = pl.DataFrame({"task_id": [f"t{k}" for k in N], "dimension": list("xyz") * 10, "human_score": A})
    found = choices(table, "only 'human_score' could hold labels")
    one = found["'human_score' has the labels of one human, and 'dimension' names their criteria"]
    assert (one.humans, one.criteria, one.n_items) == (("human_score",), ("x", "y", "z"), 30)


def test_criteria_on_several_scales_are_of_one_human_or_judge() -> None:
    table = pl.DataFrame({"name": [f"n{k}" for k in N], "stance": A, "voice": B, "pass": [k > 2 for k in A]})
    found = choices(table, "share a scale")
    judge = found["'stance', 'voice', 'pass' are questions that one judge answered"]
    assert (judge.judges, judge.criteria, len(judge)) == (("judge",), ("pass", "stance", "voice"), 90)


def test_judge_named_in_a_column_has_criteria_with_its_prefix() -> None:
    table = pl.DataFrame({"variant": [f"v{k // 3}" for k in N], "scenario_id": [k % 3 for k in N], "judge_model":
                          "gpt-4o-mini", "llm_judge_score": A, "llm_judge_pass": [int(k > 3) for k in A]})  # fmt: skip
    with pytest.raises(DataError, match="'gpt-4o-mini' could be a judge") as error:
        assay.read(table)
    answers = [options for _, options in error.value.choices]
    both = assay.read(table, **{**answers[0], "label": ["llm_judge_score", "llm_judge_pass"]})
    assert (both.judges, both.n_items, len(both)) == (("gpt-4o-mini",), 30, 60)


def test_votes_name_no_annotators() -> None:
    votes = [("ModelA", "Tie", "ModelB")[k % 3] for k in A]
    table = pl.DataFrame({"output_id": [f"o{k}" for k in N], "accuracy": A, "clarity": B, "better_than_other": votes})
    found = choices(table, "share a scale")
    one = found["'accuracy', 'clarity', 'better_than_other' are questions that one human answered"]
    assert one.criteria == ("accuracy", "better_than_other", "clarity")


# -- criteria --------------------------------------------------------------------------------------------------


def test_columns_with_numbers_of_annotators_are_their_criteria() -> None:
    table = pl.DataFrame({"id": [f"x{k}" for k in N], "annotator_1": A, "error_1": WORDS["a"], "annotator_2": B,
                          "error_2": WORDS["b"]})  # fmt: skip
    found = choices(table, "'error_1', 'error_2' .* are named as 'annotator_1', 'annotator_2' are")
    both, own = found.values()
    assert (both.humans, both.criteria, len(both)) == (("1", "2"), ("annotator", "error"), 120)
    assert (own.humans, own.criteria) == (("annotator_1", "annotator_2"), ())


def test_confidence_with_the_number_of_an_annotator_is_not_a_label() -> None:
    table = pl.DataFrame({"id": [f"x{k}" for k in N], "rater1": A, "confidence1": B, "rater2": C, "confidence2": A})
    labels = assay.read(table)
    assert labels.humans == ("rater1", "rater2")
    assert "'confidence1', 'confidence2' kept as confidence in the labels" in labels.reading.notes
    assert labels.technical_columns == ("confidence1", "confidence2")


@pytest.mark.parametrize("name", ["field", "column", "question", "code"])
def test_words_that_come_again_in_each_item_can_name_criteria(name: str) -> None:
    fields = [("mode", "gap", "size")[k % 3] for k in N]
    mixed = [(f"{1 + k / 10}", "High", str(k))[i % 3] for i, k in enumerate(A)]
    other = [(f"{1 + k / 10}", ("Low", "High")[k % 2], str(k))[i % 3] for i, k in enumerate(B)]
    about = {"doc": [f"d{k // 3}" for k in N], name: fields}
    found = choices(pl.DataFrame({**about, "rater_a": mixed, "rater_b": other}), f"is '{name}', which has the same")
    (labels,) = found.values()  # numbers and words are on one scale only within criteria
    assert (labels.humans, labels.criteria, labels.n_items) == (("rater_a", "rater_b"), ("gap", "mode", "size"), 10)
    found = choices(pl.DataFrame({**about, "rater_a": A, "rater_b": B}), f"is '{name}', which has the same")
    assert [(one.n_items, len(one.criteria)) for one in found.values()] == [(30, 0), (10, 3)]


def test_systems_in_each_item_name_no_criteria() -> None:
    about = {"doc": [f"d{k // 3}" for k in N], "system": [("base", "ours", "old")[k % 3] for k in N]}
    assert assay.read(pl.DataFrame({**about, "rater_a": A, "rater_b": B})).n_items == 30


def test_all_criteria_of_a_long_table_are_offered() -> None:
    table = pl.DataFrame({"item": [f"x{k % 10}" for k in N], "rater": [f"r{k // 10}" for k in N], "age": A,
                          "tone": B, "kind of talk": WORDS["c"]})  # fmt: skip
    found = choices(table, "could each hold labels")
    assert any(one.criteria == ("age", "kind of talk", "tone") for one in found.values()) or any(
        len(one.criteria) == 2 for one in found.values()
    )


GRADES = {
    "essay": [f"e{k // 3}" for k in N], "rater": [("Dr_Lind", "Dr_Sato", "Dr_Meyer")[k % 3] for k in N],
    "Content": A, "Style": B, "GPT_Content": [A[k // 3] for k in N], "GPT_Style": [C[k // 3] for k in N],
}  # fmt: skip


def test_criteria_of_a_judge_next_to_criteria_of_people() -> None:
    found = choices(pl.DataFrame(GRADES), "'GPT_Content', 'GPT_Style' have one value for each item")
    labels = found["'GPT' is a judge"]
    assert (labels.judges, labels.criteria, len(labels)) == (("GPT",), ("Content", "Style"), 80)
    own = labels.labels.filter(annotator="GPT", criterion="Style").sort("item")["label"].to_list()
    assert own == [C[k] for k in range(10)]


def test_criteria_of_a_judge_are_not_several_judges() -> None:
    with pytest.raises(DataError, match=r"are criteria of 'GPT': name this annotator \(judges=\['GPT'\]"):
        assay.read(pl.DataFrame(GRADES), label=["Content", "Style"], judges=["GPT_Content", "GPT_Style"])


# -- people and judges ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("ann", "bob", "cho"), ("Anna", "Ben"), ("ann", "bob", "gpt")])
@pytest.mark.parametrize("labels", ["xyz", "xy"])
def test_columns_next_to_numbered_items_are_annotators(names: tuple[str, ...], labels: str) -> None:
    cells = {name: [labels[k % len(labels)] for k in own] for name, own in zip(names, (A, B, C), strict=False)}
    table = pl.DataFrame({"item": N, **cells})
    try:
        found = [assay.read(table)]
    except DataError as error:
        found = [assay.read(table, **given) for _, given in error.choices if given]
    assert any({*one.humans, *one.judges} == {*names} and one.n_items == len(N) for one in found)


def test_models_in_other_languages() -> None:
    table = pl.DataFrame({"идентификатор": [f"x{k}" for k in N], "автор": A, "модель_1": B, "модель_2": C})
    labels = next(iter(choices(table, "'модель_1', 'модель_2' could be judges").values()))
    assert (labels.humans, labels.judges) == (("автор",), ("модель_1", "модель_2"))


def of_people_and_judges(people: list[list[object]], judges: list[list[object]]) -> pl.DataFrame:
    given = {"ann": people[0], "bob": people[1], "gpt": judges[0], "llama": judges[1]}
    rows = [(f"x{k}", who, own[k]) for who, own in given.items() for k in N]
    return pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")


def test_two_judges_with_the_same_other_words_are_refused() -> None:
    people, judges = ([[words[k % 2] for k in own] for own in (A, B)] for words in (("yes", "no"), ("Y", "N")))
    with pytest.raises(DataError, match=r"labels of 'gpt', 'llama' .* are labels of no other annotator"):
        assay.read(of_people_and_judges(people, judges), judges=["gpt", "llama"])
    mixed = [judges[0], people[1]]
    with pytest.raises(DataError, match=r"labels of 'gpt' .* are labels of no other annotator"):
        assay.read(of_people_and_judges(people, mixed), judges=["gpt", "llama"])


def test_two_judges_whose_scale_begins_at_0_are_refused() -> None:
    judges = [[k - 1 for k in own] for own in (C, A)]
    with pytest.raises(DataError, match="labels of 'gpt', 'llama' range from 0 to 4"):
        assay.read(of_people_and_judges([A, B], judges), judges=["gpt", "llama"])
    assert len(assay.read(of_people_and_judges([A, B], judges), judges=["gpt", "llama"], scale="interval:0-5")) == 120


@pytest.mark.parametrize(
    "labels",
    [
        ("A", "A-", "A+", "B", "C"),
        ("fear", "fear; joy", "joy"),
        ("fear", "fear|joy", "joy"),
        ("fear", "fear+joy", "joy"),
    ],
)
def test_grades_with_signs_and_further_choices_are_different_labels(labels: tuple[str, ...]) -> None:
    """Two of the labels never meet on an item, while chance predicts at least 12 · 12 / 60 = 2.4 such items."""
    rows = [(f"x{k}", who, labels[k % len(labels)]) for who in ("ann", "bob") for k in range(60)]
    table = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    assert len(assay.read(table)) == 120
    renamed = table.with_columns(pl.col("label").replace({labels[1]: f"{labels[0]} too"}))
    with pytest.raises(DataError, match="never occur on the same item"):
        assay.read(renamed)


def test_scores_of_a_judge_next_to_its_verdict() -> None:
    table = pl.DataFrame({"id": [f"x{k}" for k in N], "expected_label": [str(k > 3) for k in A], "judge_label":
                          [str(k > 2) for k in A], "truth_score": B, "safety_score": C, "tone_score": A})  # fmt: skip
    with pytest.raises(DataError, match="'judge_label' has the name of a model") as error:
        assay.read(table)
    pair = next(options for words, options in error.value.choices if "'expected_label' is human" in words)
    labels = assay.read(table, **pair)
    assert (labels.humans, labels.judges, len(labels)) == (("expected_label",), ("judge_label",), 60)


def test_columns_called_as_models_can_be_what_a_person_rated() -> None:
    table = pl.DataFrame({"id": [f"x{k}" for k in N], "gpt-4": A, "claude-3": B})
    found = choices(table, "can be judges and annotators, or the systems that are rated")
    one = found["'gpt-4', 'claude-3' are rated, by one human"]
    assert (one.humans, one.judges, one.n_items) == (("human",), (), 60)
