"""Tables in which labels of people lie next to those of judges, each with the correct reading.

Results of evaluations are merged with labels of people in many ways: a column of each, gold labels next to predictions,
criteria with and without the name of who answered, rows of criteria or of runs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from inputs import Case, Given, Rng, Row, cells_of, check_reading, records, scores, text, wide, words, written

import assay
from assay.errors import DataError

INPUTS: dict[str, Case] = {}
CRITERIA = ("fluency", "coherence")


def given(function: Case) -> Case:
    INPUTS[function.__name__] = function
    return function


def merged(rng: Rng, names: tuple[str, ...], n: int = 40, top: int = 5) -> dict[str, list[Any]]:
    return dict(zip(names, scores(rng, n, len(names), top).T.tolist(), strict=True))


# -- one row per item -----------------------------------------------------------------------------------------


@given
def outputs_of_systems(folder: Path, rng: Rng) -> Given:
    """Each question has the outputs of two systems, whose column is not that of the annotators."""
    columns = merged(rng, ("human1", "human2", "judge"), 80)
    about = {"qid": [k // 2 for k in range(80)], "model": ["gpt-4o", "llama-3-8b"] * 40}
    items = [f"{k // 2}/{model}" for k, model in enumerate(about["model"])]
    rows = [(one, who, "", v) for who, own in columns.items() for one, v in zip(items, own, strict=True)]
    return Given(written(folder, about | columns), rows, asked=True)


@given
def gold_and_prediction(folder: Path, rng: Rng) -> Given:
    truth, guess, _ = words(rng, ("no", "yes")).values()
    columns = {"ground_truth": truth, "prediction": guess}
    return Given(wide(folder, columns), cells_of(columns), asked=True)


@given
def gold_and_versions_of_a_prompt(folder: Path, rng: Rng) -> Given:
    columns = dict(
        zip(("gold", "prompt_v1", "prompt_v2"), words(rng, ("relevant", "irrelevant")).values(), strict=True)
    )
    return Given(wide(folder, columns), cells_of(columns), asked=True)


@given
def label_and_prediction(folder: Path, rng: Rng) -> Given:
    """Without the name of an annotator; the text is the item."""
    label, guess, _ = words(rng, ("neutral", "positive", "negative")).values()
    texts = [f"a sentence with the number {k} in it" for k in range(40)]
    columns = {"label": label, "pred": guess}
    rows = [(one, who, "", v) for who, own in columns.items() for one, v in zip(texts, own, strict=True)]
    return Given(written(folder, {"text": texts} | columns), rows, asked=True)


@given
def person_next_to_an_unknown_metric(folder: Path, rng: Rng) -> Given:
    person, metric = scores(rng, 60, 2, 100).T.tolist()
    columns = {"human_da": person, "gemba": metric}
    about = {"BLEU": [round(float(v), 2) for v in rng.uniform(0, 60, 60)]}
    return Given(wide(folder, about | columns), cells_of(columns), asked=True)


@given
def criteria_of_an_unnamed_person(folder: Path, rng: Rng) -> Given:
    """The judge's columns have a prefix, and the person's do not."""
    own, judged = merged(rng, CRITERIA), merged(rng, CRITERIA)
    columns = own | {f"llm_{name}": cells for name, cells in judged.items()}
    rows = [(f"i{k:02}", who, criterion, v) for who, of in (("human", own), ("llm", judged))
            for criterion, cells in of.items() for k, v in enumerate(cells)]  # fmt: skip
    return Given(wide(folder, columns), rows, asked=True)


@given
def criteria_of_an_unnamed_judge(folder: Path, rng: Rng) -> Given:
    """The other way round, and one criterion has no labels of people."""
    judged, own = merged(rng, ("faithfulness", "answer_relevancy")), merged(rng, ("faithfulness",))
    columns = judged | {f"human_{name}": cells for name, cells in own.items()}
    rows = [(f"i{k:02}", who, criterion, v) for who, of in (("human", own), ("judge", judged))
            for criterion, cells in of.items() for k, v in enumerate(cells)]  # fmt: skip
    return Given(wide(folder, columns), rows, asked=True)


@given
def two_rounds_of_two_coders(folder: Path, rng: Rng) -> Given:
    """A round is a repeat, and no criterion."""
    columns = merged(rng, ("coder1_round1", "coder2_round1", "coder1_round2", "coder2_round2"))
    rows = [(f"i{k:02}", name[:6], "", v) for name, cells in columns.items() for k, v in enumerate(cells)]
    return Given(wide(folder, columns), rows)


# -- several rows of an item ----------------------------------------------------------------------------------


@given
def rows_of_criteria(folder: Path, rng: Rng) -> Given:
    columns = merged(rng, ("ana", "ben", "gpt4"), 80)
    about = {"id": [f"d{k // 2}" for k in range(80)], "dimension": [*CRITERIA] * 40}
    rows = [(f"d{k // 2}", who, CRITERIA[k % 2], v) for who, own in columns.items() for k, v in enumerate(own)]
    return Given(written(folder, about | columns), rows, asked=True)


@given
def runs_next_to_a_person(folder: Path, rng: Rng) -> Given:
    """A merge has copied the label of the person to each run of the judge."""
    person = scores(rng, 40, 1)[:, 0].tolist()
    runs = scores(rng, 40, 3).tolist()
    table = [(k, r, 0.7, person[k], runs[k][r]) for k in range(40) for r in range(3)]
    rows = [(k, "human", "", v) for k, v in enumerate(person)]
    rows += [(k, "gpt4o", "", v) for k, of in enumerate(runs) for v in of]
    frame = pl.DataFrame(table, schema=["id", "run", "temperature", "human", "gpt4o"], orient="row")
    return Given(written(folder, frame), rows, asked=True)


@given
def person_next_to_rows_of_judges(folder: Path, rng: Rng) -> Given:
    person, judged = scores(rng, 40, 1)[:, 0].tolist(), scores(rng, 40, 3).tolist()
    names = ("gpt-4o", "claude-3-haiku", "mixtral-8x7b")
    table = [(f"r{k}", person[k], name, judged[k][j]) for k in range(40) for j, name in enumerate(names)]
    rows: list[Row] = [(f"r{k}", "human_score", "", v) for k, v in enumerate(person)]
    rows += [(f"r{k}", name, "", judged[k][j]) for k in range(40) for j, name in enumerate(names)]
    frame = pl.DataFrame(table, schema=["id", "human_score", "judge_model", "judge_score"], orient="row")
    return Given(written(folder, frame), rows, asked=True)


# -- objects --------------------------------------------------------------------------------------------------


@given
def scores_with_explanations(folder: Path, rng: Rng) -> Given:
    """An object of who answered, each with a value and perhaps a reason."""
    judged, person, _ = words(rng, ("C", "I"), 30).values()
    rows = [{"id": f"x{k}", "input": f"question {k}", "scores": {
        "model_graded_qa": {"value": judged[k], "explanation": f"since the answer {'of which this says more ' * 2}{k}"},
        "human": {"value": person[k]}}} for k in range(30)]  # fmt: skip
    both = {"model_graded_qa": judged, "human": person}
    right = [(f"x{k}", who, "", v) for who, own in both.items() for k, v in enumerate(own)]
    return Given(records(folder, rows), right, asked=True)


@given
def objects_of_lists(folder: Path, rng: Rng) -> Given:
    """As ``datasets`` of Hugging Face writes a list of objects."""
    labels = scores(rng, 30, 3).tolist()
    who = [rng.choice(5, 3, replace=False).tolist() for _ in labels]
    rows = [{"post_id": f"{k}_gab", "annotators": {"label": labels[k], "annotator_id": who[k]},
             "post_tokens": ["words", "of", "post", str(k)]} for k in range(30)]  # fmt: skip
    right = [(f"{k}_gab", w, "", v) for k in range(30) for w, v in zip(who[k], labels[k], strict=True)]
    return Given(text(folder, json.dumps(rows), "t.json"), right)


# -- forms ----------------------------------------------------------------------------------------------------


@given
def survey_with_many_rows(folder: Path, rng: Rng) -> Given:
    """Answers to three questions identify each of the 60 rows by chance."""
    answers = {f"Q{q}": rng.integers(1, 8, 60).tolist() for q in range(1, 16)}
    names = [f"R_{k:04}xY" for k in range(60)]
    about = {"ResponseId": names, "Duration (in seconds)": rng.integers(200, 900, 60).tolist()}
    rows = [(q, names[k], "", v) for q, own in answers.items() for k, v in enumerate(own)]
    return Given(written(folder, about | answers), rows, asked=True)


@pytest.mark.parametrize("name", INPUTS)
def test_read_inputs_with_judges(name: str, tmp_path: Path) -> None:
    check_reading(INPUTS[name], tmp_path)


# -- people and judges who are named --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("humans", "judges"),
    [
        (["gold"], ["prompt_v1", "prompt_v2"]),
        (["human_avg"], ["gpt4o_score"]),
        (["label"], ["pred"]),
        (["x"], ["y", "z"]),
    ],
)
def test_people_and_judges_who_are_columns_hold_the_labels(humans, judges, tmp_path):
    columns = merged(np.random.default_rng(4), (*humans, *judges, "coverage"))
    labels = assay.read(wide(tmp_path, columns), humans=humans, judges=judges)
    assert (labels.humans, labels.judges) == (tuple(humans), tuple(judges))
    assert len(labels) == 40 * (len(humans) + len(judges))
    assert "coverage" in labels.items.columns


def test_judge_with_equal_runs_keeps_them(tmp_path):
    """A column of one label per item is that of the person alone: a judge can answer alike each time."""
    table = pl.DataFrame(
        {"id": [0, 0, 1, 1, 2, 2], "run": [1, 2] * 3, "ana": [1, 1, 2, 2, 3, 3], "gpt-4o": [1, 1, 2, 2, 2, 2]}
    )
    labels = assay.read(table, layout="wide", item="id", repeat="run", columns=["ana", "gpt-4o"], judges=["gpt-4o"])
    counts = labels.labels.group_by("annotator").len().sort("annotator")
    assert dict(counts.iter_rows()) == {"ana": 3, "gpt-4o": 6}
    assert any("one label for each item, and not for each 'run': ana" in note for note in labels.reading.notes)


def test_metadata_that_differs_between_rows_of_an_item_is_noted():
    table = pl.DataFrame({"id": ["a", "a", "b", "b"], "criterion": ["x", "y"] * 2,
                          "ana": [1, 2, 3, 4], "ben": [1, 2, 3, 3],
                          "genre": ["n", "n", "m", "m"], "seconds_read": [5, 6, 7, 8]})  # fmt: skip
    options = {"layout": "wide", "item": "id", "criterion": "criterion", "columns": ["ana", "ben"]}
    labels = assay.read(table, **options)
    assert labels.items.columns == ["item", "genre"]
    assert any("rows of one item differ in them: seconds_read" in note for note in labels.reading.notes)
    with pytest.raises(DataError, match="item 'a' has more than one row"):
        assay.read(table.with_columns(criterion=pl.lit("x")), **options)


def test_role_of_criteria_is_kept_where_another_role_changes():
    table = pl.DataFrame({"id": [f"d{k // 2}" for k in range(80)], "dimension": [*CRITERIA] * 40,
                          "ana": [k % 5 + 1 for k in range(80)], "ben": [k % 5 + 1 for k in range(80)],
                          "gpt4": [(k + k // 7) % 5 + 1 for k in range(80)]})  # fmt: skip
    seen = assay.look(table)
    assert {one.name: one.kind for one in seen.columns}["dimension"] == "criterion"
    options = seen.with_role("gpt4", "item column", {})
    assert options == {"layout": "wide", "item": "id", "criterion": "dimension", "columns": ["ana", "ben"]}
    assert seen.with_role("dimension", "repeat", {})["repeat"] == "dimension"
