"""Forms of public annotation files: criteria of one annotator, rated systems, several rows for each item."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from inputs import Case, Given, Rng, check_reading, records, scores, wide, written

import assay
from assay.errors import DataError

INPUTS: dict[str, Case] = {}
CRITERIA = ("faithfulness", "relevance", "tone")


def given(function: Case) -> Case:
    INPUTS[function.__name__] = function
    return function


def of_criteria(rng: Rng, names: tuple[str, ...] = CRITERIA, n: int = 40) -> dict[str, list[int]]:
    return dict(zip(names, scores(rng, n, len(names)).T.tolist(), strict=True))


def rows_of(columns: dict[str, list[Any]], who: str, names: tuple[str, ...] = CRITERIA) -> list[Any]:
    return [(f"i{k:02}", who, name, label) for name, own in zip(names, columns.values(), strict=True)
            for k, label in enumerate(own)]  # fmt: skip


# -- criteria of one annotator --------------------------------------------------------------------------------


@given
def criteria_of_a_judge(folder: Path, rng: Rng) -> Given:
    columns = of_criteria(rng)
    return Given(wide(folder, columns), rows_of(columns, "judge"), asked=True)


@given
def criteria_of_a_person_in_records(folder: Path, rng: Rng) -> Given:
    marks = {name: np.where(np.array(own) > 2, "pass", "fail").tolist() for name, own in of_criteria(rng).items()}
    lines = [{"id": f"i{k:02}", **{name: own[k] for name, own in marks.items()}, "note": ""} for k in range(40)]
    return Given(records(folder, lines), rows_of(marks, "human"), asked=True)


@given
def criteria_with_a_prefix(folder: Path, rng: Rng) -> Given:
    columns = {f"human_{name}": own for name, own in of_criteria(rng).items()}
    return Given(wide(folder, columns), rows_of(columns, "human"), asked=True)


@given
def criteria_with_a_suffix(folder: Path, rng: Rng) -> Given:
    columns = {f"{name}_human": own for name, own in of_criteria(rng).items()}
    return Given(wide(folder, columns), rows_of(columns, "human"), asked=True)


@given
def criteria_of_a_judge_on_several_scales(folder: Path, rng: Rng) -> Given:
    """The verdict is a word, and a category of the question comes before."""
    marks = np.where(np.arange(40) % 3 > 0, "pass", "fail").tolist()
    columns = {**{f"judge_{name}": own for name, own in of_criteria(rng).items()}, "judge_verdict": marks}
    about = {"intent": ["refund", "delivery"] * 20}
    return Given(wide(folder, about | columns), rows_of(columns, "judge", (*CRITERIA, "verdict")), asked=True)


@given
def criteria_next_to_the_class_of_the_data(folder: Path, rng: Rng) -> Given:
    columns = {f"judge_{name}": own for name, own in of_criteria(rng).items()}
    return Given(wide(folder, {"label": [1] * 40} | columns), rows_of(columns, "judge"), asked=True)


@given
def rows_of_criteria_of_one_model(folder: Path, rng: Rng) -> Given:
    """The column of the model is not called as annotators are."""
    columns = of_criteria(rng)
    rows = [(f"i{k:02}", "gpt4-o", name, own[k]) for k in range(40) for name, own in columns.items()]
    frame = pl.DataFrame(rows, schema=["art_id", "ann", "criteriaID", "annotation"], orient="row")
    return Given(written(folder, frame), rows, asked=True)


# -- rated systems --------------------------------------------------------------------------------------------


@given
def criteria_of_the_outputs_of_systems(folder: Path, rng: Rng) -> Given:
    columns, systems = of_criteria(rng, n=60), ("bart_full", "bart_lora", "qwen_lora")
    table = {"id": [k // 3 for k in range(60)], "model": [systems[k % 3] for k in range(60)], **columns}
    rows = [(f"{k // 3}/{systems[k % 3]}", "judge", name, own[k]) for name, own in columns.items() for k in range(60)]
    return Given(written(folder, table), rows, asked=True)


@given
def score_of_the_outputs_of_models(folder: Path, rng: Rng) -> Given:
    own, systems = scores(rng, 40, 1)[:, 0].tolist(), ("llama-3-8b", "llama-3-70b")
    table = {"question_id": [f"q{k // 2}" for k in range(40)], "difficulty": ["easy", "easy", "hard", "hard"] * 10,
             "model": systems * 20, "judge_score": own}  # fmt: skip
    rows = [(f"q{k // 2}/{systems[k % 2]}", "judge", "judge_score", label) for k, label in enumerate(own)]
    return Given(written(folder, table), rows, asked=True)


@given
def rating_of_variants(folder: Path, rng: Rng) -> Given:
    own = scores(rng, 48, 1)[:, 0].tolist()
    table = {"source_sentence": [f"una frase lunga numero {k // 4}" for k in range(48)],
             "model": ["phi-4", "phi-4", "gemma", "gemma"] * 12, "variant": ["v0", "v1"] * 24,
             "human_rating": own}  # fmt: skip
    cells = list(zip(*(table[name] for name in ("source_sentence", "model", "variant")), strict=True))
    rows = [("/".join(map(str, cell)), "human", "human_rating", own[k]) for k, cell in enumerate(cells)]
    return Given(written(folder, table), rows, asked=True)


@given
def person_and_judge_of_each_condition(folder: Path, rng: Rng) -> Given:
    """The id of the question repeats for each condition, and no column has one value for each row."""
    labels = {who: np.where(own > 2, "correct", "wrong").tolist()
              for who, own in zip(("human", "judge"), scores(rng, 12, 2).T, strict=True)}  # fmt: skip
    about = {"model": ["claude"] * 12, "tool": ["none", "search"] * 6, "item_id": [f"AIR-{k // 2}" for k in range(12)]}
    rows = [(f"AIR-{k // 2}/{('none', 'search')[k % 2]}", who, "", own[k]) for who, own in labels.items()
            for k in range(12)]  # fmt: skip
    return Given(written(folder, about | labels), rows, asked=True)


@pytest.mark.parametrize("name", INPUTS)
def test_read_labels_of_one_annotator(name: str, tmp_path: Path) -> None:
    check_reading(INPUTS[name], tmp_path)


# -- what the names of columns say ----------------------------------------------------------------------------


def test_columns_are_repeats_of_one_judge() -> None:
    table = pl.DataFrame({"id": range(6), "pick_original": list("abaabb"), "pick_swapped": list("abbabb")})
    read = assay.read(table, layout="wide", item="id", columns=["pick_original", "pick_swapped"],
                      split_columns="repeat", judges=["judge"])  # fmt: skip
    assert (read.judges, len(read), read.n_items) == (("judge",), 12, 6)
    assert read.labels["repeat"].to_list() == [1] * 6 + [2] * 6
    assert "repeats are numbered: pick_original = 1, pick_swapped = 2" in read.reading.notes


def test_numbers_of_repeats_are_those_of_their_names() -> None:
    table = pl.DataFrame({"id": range(6), "run2": [1, 2, 3, 1, 2, 3], "run1": [2, 2, 3, 1, 2, 3]})
    read = assay.read(table, layout="wide", item="id", columns=["run2", "run1"], split_columns="repeat",
                      judges=["gpt-4o"])  # fmt: skip
    assert read.labels.filter(pl.col("item") == "0").select("repeat", "label").sort("repeat").rows() == [(1, 2), (2, 1)]


def test_columns_are_systems_and_criteria() -> None:
    """The item is the question and the system, with the metadata of the question."""
    table = pl.DataFrame({"query": ["p", "q"], "topic": ["law", "tax"], "dense_tone": [1, 2], "dense_depth": [3, 4],
                          "bm25_tone": [5, 1], "bm25_depth": [2, 3]})  # fmt: skip
    columns = table.columns[2:]
    read = assay.read(table, layout="wide", item="query", columns=columns, split_columns="item_criterion",
                      humans=["human"])  # fmt: skip
    assert (read.humans, read.criteria) == (("human",), ("depth", "tone"))
    assert dict(read.items.select("item", "topic").rows()) == {
        "p/dense": "law", "p/bm25": "law", "q/dense": "tax", "q/bm25": "tax",
    }  # fmt: skip
    labels = read.labels.filter(pl.col("criterion") == "tone").select("item", "label")
    assert dict(labels.rows()) == {"p/dense": 1, "p/bm25": 5, "q/dense": 2, "q/bm25": 1}


@pytest.mark.parametrize("people", [{}, {"humans": ["ann", "bob"]}, {"humans": ["ann"], "judges": ["gpt-4o"]}])
def test_one_annotator_must_be_named(people: dict[str, list[str]]) -> None:
    table = pl.DataFrame({"id": range(4), "tone": [1, 2, 3, 4], "depth": [2, 3, 4, 5]})
    with pytest.raises(DataError, match="split_columns 'criterion' does not say who answered: name the one annotator"):
        assay.read(table, layout="wide", item="id", columns=["tone", "depth"], split_columns="criterion", **people)


@pytest.mark.parametrize(
    "names",
    [
        ("rater_a", "rater_b"),
        ("expert_anna", "expert_ben"),
        ("judge_gpt4", "judge_claude"),
        ("Ann / tone", "Bob / tone"),
    ],
)
def test_names_of_annotators_are_no_criteria(names: tuple[str, ...]) -> None:
    table = pl.DataFrame({"id": range(30), names[0]: [1 + k % 5 for k in range(30)],
                          names[1]: [1 + k * k % 5 for k in range(30)]})  # fmt: skip
    assert not any("criteria" in error for error in assay.look(table).errors)


def test_files_of_a_person_and_of_a_judge_are_joined(tmp_path: Path) -> None:
    """Each file names its annotator in its columns, or by its own name."""
    columns = of_criteria(np.random.default_rng(3))
    about = {"id": [f"q{k}" for k in range(40)]}
    files = {"human": {f"human_{name}": own for name, own in columns.items()},
             "model": {f"{name}_llm": own[::-1] for name, own in columns.items()},
             "judge": {name: own[::-1] for name, own in columns.items()}}  # fmt: skip
    for name, own in files.items():
        pl.DataFrame(about | own).write_csv(tmp_path / f"{name}.csv")
    human, model, judge = (tmp_path / f"{name}.csv" for name in files)
    with pytest.raises(DataError, match="'llm' could be a judge"):
        assay.read([human, model])
    read = assay.read([human, model], judges=["llm"])
    assert (read.humans, read.judges, read.criteria, len(read)) == (("human",), ("llm",), CRITERIA, 240)
    read = assay.read([human, judge], judges=["judge"])
    assert (read.humans, read.judges, read.criteria, len(read)) == (("human",), ("judge",), CRITERIA, 240)


def test_consensus_of_several_criteria_is_excluded_as_the_message_says() -> None:
    """The excluded name is a part of the names of columns."""
    given = {f"{who}_{name}": own for who in ("a", "b", "consensus") for name, own in
             of_criteria(np.random.default_rng(len(who))).items()}  # fmt: skip
    table = pl.DataFrame({"item_id": [f"q{k}" for k in range(40)], **given})
    with pytest.raises(DataError, match=r"set exclude=\['consensus'\] to ignore it"):
        assay.read(table)
    read = assay.read(table, exclude=["consensus"])
    assert (read.humans, read.criteria, len(read)) == (("a", "b"), CRITERIA, 240)
    with pytest.raises(DataError, match="excluded name 'consent' is not in"):
        assay.read(table, exclude=["consent"])


def test_scores_next_to_votes_are_noted(tmp_path: Path) -> None:
    lines = [{"question": f"q{k}", "answer_a": f"no {k}", "answer_b": f"yes {k}", "human_preference": "AB"[k % 2],
              "human_score_a": 2, "human_score_b": 2 + k % 3, "annotator": "Hieu"} for k in range(10)]  # fmt: skip
    notes = assay.read(records(tmp_path, lines)).reading.notes
    assert "not read as labels, next to votes: human_score_a, human_score_b" in notes


def test_files_with_one_column_of_labels_each_are_annotators(tmp_path):
    rng = np.random.default_rng(8)
    for who in ("anna", "ben", "chris"):
        frame = pl.DataFrame({"id": range(30), "text": [f"text {k}" for k in range(30)],
                              "relevant": rng.choice(["yes", "no"], 30)})  # fmt: skip
        frame.write_csv(tmp_path / f"{who}.csv")
    files = sorted(tmp_path.glob("*.csv"))
    assert set(assay.read(files).humans) == {"anna", "ben", "chris"}
    assert set(assay.read(tmp_path).humans) == {"anna", "ben", "chris"}


def test_files_of_one_person_with_a_name_of_an_annotator_are_not_annotators(tmp_path):
    for criterion in ("fluency", "coherence"):
        pl.DataFrame({"id": range(30), "rater_1": [k % 5 + 1 for k in range(30)]}).write_csv(
            tmp_path / f"{criterion}.csv"
        )
    with pytest.raises(assay.errors.AssayError, match="given several times"):
        assay.read(sorted(tmp_path.glob("*.csv")))
