"""Tables in which labels of people lie next to those of judges, each with the correct reading.

Results of evaluations are merged with labels of people in many ways: a column of each, gold labels next to predictions,
criteria with and without the name of who answered, rows of criteria or of runs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from inputs import PEOPLE, Case, Given, Rng, Row, cells_of, check_reading, records, scores, text, wide, words, written

import assay
from assay.errors import DataError

INPUTS: dict[str, Case] = {}
CRITERIA = ("fluency", "coherence")


def given(function: Case) -> Case:
    INPUTS[function.__name__] = function
    return function


@pytest.fixture
def rng() -> Rng:
    return np.random.default_rng(11)


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
def criteria_of_an_unnamed_person_before_the_judge(folder: Path, rng: Rng) -> Given:
    """As a merge with a suffix for the second table leaves them."""
    own, judged = merged(rng, CRITERIA), merged(rng, CRITERIA)
    columns = own | {f"{name}_gpt4": cells for name, cells in judged.items()}
    rows = [(f"i{k:02}", who, criterion, v) for who, of in (("human", own), ("gpt4", judged))
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
def runs_next_to_people_with_names(folder: Path, rng: Rng) -> Given:
    """A judge's reply differs in each row, and is not the item."""
    people, runs = scores(rng, 40, 3).tolist(), scores(rng, 40, 3).tolist()
    table = [(f"q{k}", r, f"reply {k}-{r}", *people[k], runs[k][r]) for k in range(40) for r in range(3)]
    rows = [(f"q{k}", who, "", v) for k, of in enumerate(people) for who, v in zip(PEOPLE, of, strict=True)]
    rows += [(f"q{k}", "gpt4o", "", v) for k, of in enumerate(runs) for v in of]
    frame = pl.DataFrame(table, schema=["id", "run", "response", *PEOPLE, "gpt4o"], orient="row")
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


@given
def judge_next_to_rows_of_people(folder: Path, rng: Rng) -> Given:
    judged, people = scores(rng, 40, 1)[:, 0].tolist(), scores(rng, 40, 3).tolist()
    table = [(f"r{k}", who, people[k][j], judged[k]) for k in range(40) for j, who in enumerate(("ana", "ben", "cho"))]
    rows: list[Row] = [(item, who, "", v) for item, who, v, _ in table]
    rows += [(f"r{k}", "gpt4_label", "", v) for k, v in enumerate(judged)]
    frame = pl.DataFrame(table, schema=["text_id", "annotator", "label", "gpt4_label"], orient="row")
    return Given(written(folder, frame), rows, asked=True)


@given
def judge_next_to_rows_of_people_and_criteria(folder: Path, rng: Rng) -> Given:
    judged, people = scores(rng, 80, 1)[:, 0].tolist(), scores(rng, 80, 2).tolist()
    table = [(f"r{k // 2}", who, ("clarity", "depth")[k % 2], people[k][j], judged[k])
             for k in range(80) for j, who in enumerate(("ana", "ben"))]  # fmt: skip
    rows: list[Row] = [row[:4] for row in table]
    rows += [(f"r{k // 2}", "llama-3-8b", ("clarity", "depth")[k % 2], v) for k, v in enumerate(judged)]
    frame = pl.DataFrame(table, schema=["text_id", "annotator", "criterion", "label", "llama-3-8b"], orient="row")
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
def objects_of_people_and_of_models(folder: Path, rng: Rng) -> Given:
    labels = words(rng, ("Neg", "Pos", "Q"), 30)
    names = dict(zip(("vee", "nora", "gpt-4o"), labels.values(), strict=True))
    rows = []
    for k in range(30):
        people = {who: names[who][k] for who in ("vee", "nora")[: 1 + k % 2]}
        models = {"gpt-4o": names["gpt-4o"][k], "haiku": names["vee"][k]}
        rows.append({"thread": f"t{k}", "human_annotations": people, "llm_annotations": models})
    right = [(row["thread"], who, "", label) for row in rows
             for own in (row["human_annotations"], row["llm_annotations"]) for who, label in own.items()]  # fmt: skip
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


# -- who is a machine ----------------------------------------------------------------------------------------


def rated(folder: Path, rng: Rng, names: Sequence[str], **about: Sequence[Any]) -> Given:
    """One row per label; ``about`` describes the annotators."""
    labels = scores(rng, 30, len(names)).tolist()
    table = [(f"s{k}", name, labels[k][j], *(of[j] for of in about.values()))
             for k in range(30) for j, name in enumerate(names)]  # fmt: skip
    rows = [(f"s{k}", name, "", labels[k][j]) for k in range(30) for j, name in enumerate(names)]
    frame = pl.DataFrame(table, schema=["item_id", "rater", "score", *about], orient="row")
    return Given(written(folder, frame), rows, asked=True)


@pytest.mark.parametrize("name", [
    "coderabbitai[bot]", "hatebert", "distilroberta", "openai_moderation", "AutoQA", "flan_t5", "model_pred",
    "模型评分", "classifier", "shieldgemma", "WildGuard", "xlm-r", "system_output",
])  # fmt: skip
def test_machine_among_people_is_asked_about(name: str, tmp_path: Path, rng: Rng) -> None:
    case = rated(tmp_path, rng, (*PEOPLE, name))
    with pytest.raises(DataError, match="could be a judge") as error:
        assay.read(case.source)
    assert error.value.advised["judges"] == [name]


@pytest.mark.parametrize(
    "name", ["Albert", "Roberta", "Ai", "Claude Dubois", "Gemma Rossi", "Bart", "Abbot", "Talbot", "Bernard", "Modesta"]
)
def test_person_with_the_name_of_a_machine_is_a_person(name: str, tmp_path: Path, rng: Rng) -> None:
    case = rated(tmp_path, rng, (*PEOPLE, name))
    read = assay.read(case.source)
    assert (set(read.humans), read.judges) == ({*PEOPLE, name}, ())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("is_human", [True, True, True, False]), ("is_llm", ["no", "no", "no", "yes"]), ("is_automatic", [0, 0, 0, 1]),
        ("rater_type", ["human", "human", "expert", "LLM"]),
    ],
)  # fmt: skip
def test_column_says_who_is_a_machine(column: str, cells: list[Any], tmp_path: Path, rng: Rng) -> None:
    case = rated(tmp_path, rng, ("r1", "r2", "r3", "system_X"), **{column: cells})
    with pytest.raises(DataError, match=f"'system_X' could be a judge .by column '{column}'.") as error:
        assay.read(case.source)
    assert assay.read(case.source, **error.value.advised).judges == ("system_X",)
    assert assay.look(case.source).labels.judges == ("system_X",)
    assert (
        f"Assumed that 'system_X' is a judge (by column '{column}'). Set judges=[...]"
        in assay.look(case.source).ambiguities
    )


def test_column_that_describes_labels_says_nothing_about_annotators(tmp_path: Path, rng: Rng) -> None:
    case = rated(tmp_path, rng, ("r1", "r2", "r3"), automatic=[0, 0, 0])
    frame = pl.read_csv(case.source).with_columns(automatic=pl.Series(rng.integers(0, 2, 90)))
    assert assay.read(frame).judges == ()


@given
def columns_unlike_those_of_people(folder: Path, rng: Rng) -> Given:
    """More columns than people: a judge, and measures of which only their names tell that they are none."""
    columns = merged(rng, ("DA_rater1", "DA_rater2", "GEMBA-DA"), top=100)
    about = {"BLEU": rng.uniform(0, 100, 40).round(2).tolist(), "chrF": rng.uniform(0, 100, 40).round(2).tolist()}
    return Given(wide(folder, columns | about), cells_of(columns), asked=True)


@given
def measures_next_to_two_people(folder: Path, rng: Rng) -> Given:
    columns = dict(zip(("human_1", "human_2"), rng.integers(0, 2, (2, 40)).tolist(), strict=True))
    about = {
        name: rng.uniform(0, 1, 40).round(3).tolist() for name in ("faithfulness", "answer_relevancy", "precision")
    }
    return Given(wide(folder, about | columns), cells_of(columns), asked=True)


@pytest.mark.slow
def test_columns_that_are_then_people_are_named(tmp_path: Path, rng: Rng) -> None:
    columns = merged(rng, ("HR 1", "HR 2", "Hiring manager", "Sincerity", "ChatGPT"), top=10)
    with pytest.raises(DataError, match="'HR 1', 'HR 2', 'Hiring manager', 'Sincerity' human"):
        assay.read(wide(tmp_path, columns))


@given
def mean_of_people_next_to_a_judge(folder: Path, rng: Rng) -> Given:
    """A mean of 20 to 30 people is no annotator."""
    judged = merged(rng, ("gpt4_concreteness",))
    about = {
        "mean_concreteness": rng.uniform(1, 5, 40).round(2).tolist(),
        "n_raters": rng.integers(20, 30, 40).tolist(),
    }
    return Given(wide(folder, about | judged, "word"), cells_of(judged), asked=True)


@given
def judge_that_is_called_as_a_measure(folder: Path, rng: Rng) -> Given:
    columns = merged(rng, ("Marta", "Jonas", "Perplexity"), top=4)
    return Given(wide(folder, columns), cells_of(columns), options={"judges": ["Perplexity"]})


# -- names of columns, cells and rows --------------------------------------------------------------------------


@given
def none_as_a_category(folder: Path, rng: Rng) -> Given:
    """Next to other words, ``none`` is a category first; the other reading stays a choice."""
    columns = words(rng, ("none", "mild", "severe"))
    return Given(wide(folder, columns), cells_of(columns), refused="can be missing values or categories", asked=True)


@given
def criteria_of_numbered_people_and_two_systems(folder: Path, rng: Rng) -> Given:
    names = [f"{criterion}_{who}" for criterion in CRITERIA for who in (1, 2, 3)]
    columns = {name: scores(rng, 60, 1)[:, 0].tolist() for name in names}
    about = {"doc_id": [f"cnn-{k // 3}" for k in range(60)], "system": ["BART", "PEGASUS", "LEAD-3"] * 20}
    items = [f"{doc}/{system}" for doc, system in zip(*about.values(), strict=True)]
    rows = [(one, name[-1], name[:-2], v) for name, own in columns.items() for one, v in zip(items, own, strict=True)]
    return Given(written(folder, about | columns), rows, asked=True)


@given
def targets_of_stance(folder: Path, rng: Rng) -> Given:
    """Two targets for each text, whose column names no annotators."""
    names = ("stance_A1", "stance_A2", "stance_flan_t5")
    columns = dict(zip(names, words(rng, ("FAVOR", "AGAINST", "NEITHER"), 80).values(), strict=True))
    about = {"tweet_id": [f"T{k // 2}" for k in range(80)], "target": ["Climate Change", "Feminism"] * 40}
    items = [f"{tweet}/{target}" for tweet, target in zip(*about.values(), strict=True)]
    rows = [(one, name, "", v) for name, own in columns.items() for one, v in zip(items, own, strict=True)]
    return Given(written(folder, about | columns), rows, asked=True)


@given
def codes_and_names_of_raters(folder: Path, rng: Rng) -> Given:
    names = ("Human A", "Human B", "Human C", "GPT-4")
    labels = scores(rng, 30, 4).tolist()
    table = [(k, j + 1, name, labels[k][j]) for k in range(30) for j, name in enumerate(names)]
    rows = [(k, name, "", labels[k][j]) for k in range(30) for j, name in enumerate(names)]
    frame = pl.DataFrame(table, schema=["stim", "rater_code", "rater_name", "rating"], orient="row")
    return Given(written(folder, frame), rows, asked=True)


@given
def pivot_table_of_pandas(folder: Path, rng: Rng) -> Given:
    """As ``pivot_table(...).to_csv()`` writes it: three rows of names."""
    columns = merged(rng, ("hana", "ivo", "gpt-4o"))
    names = list(columns)
    head = f",{','.join(['score'] * 3)}\nrater,{','.join(names)}\nitem_id,,,\n"
    body = "\n".join(f"i{k:02},{','.join(str(columns[n][k]) for n in names)}" for k in range(40))
    return Given(text(folder, head + body), cells_of(columns), asked=True)


@given
def rows_of_summaries(folder: Path, rng: Rng) -> Given:
    """Numbers below words, in rows that are named as summaries."""
    columns = dict(zip(("Screener 1", "Screener 2", "GPT-4"), words(rng, ("Include", "Exclude")).values(), strict=True))
    path = wide(folder, columns)
    path.write_text(path.read_text() + "\nTotal included,39,39,40\nKappa vs Screener 1,,0.71,0.66\n")
    return Given(path, cells_of(columns), asked=True)


@given
def form_whose_answers_agree_by_chance(folder: Path, rng: Rng) -> Given:
    """A third question has the answer to one of two others in each row, as a winner would."""
    answers = {f"Bewertung[SQ{q:03}]": rng.choice(["AO01", "AO02", "AO03"], 20).tolist() for q in range(1, 11)}
    first, second = answers["Bewertung[SQ004]"], answers["Bewertung[SQ007]"]
    second[:] = [b if a != b else "AO04" for a, b in zip(first, second, strict=True)]
    answers["Bewertung[SQ006]"] = [str(rng.choice(both)) for both in zip(first, second, strict=True)]
    about = {"id": list(range(1, 21)), "submitdate": [f"2024-02-{k:02} 12:00:00" for k in range(1, 21)]}
    rows = [(q, k + 1, "", v) for q, own in answers.items() for k, v in enumerate(own)]
    return Given(written(folder, about | answers | {"Alter": rng.integers(20, 60, 20).tolist()}), rows, asked=True)


@given
def models_next_to_people_in_lists_of_objects(folder: Path, rng: Rng) -> Given:
    """The order of the models differs between items."""
    names, labels = ("gpt-4o", "claude-3-haiku"), scores(rng, 30, 4).tolist()
    rows, right = [], list[Row]()
    for k, own in enumerate(labels):
        turned = names[:: 1 if k % 2 else -1]
        people = [{"annotator": who, "label": own[j]} for j, who in enumerate(PEOPLE[:2])]
        models = [{"model": who, "label": own[2 + names.index(who)]} for who in turned]
        rows.append({"id": f"x{k}", "annotations": people, "llm_annotations": models})
        right += [(f"x{k}", who, "", own[j]) for j, who in enumerate((*PEOPLE[:2], *names))]
    return Given(text(folder, json.dumps(rows), "t.json"), right, asked=True)


def test_objects_that_are_not_read_are_noted(tmp_path: Path, rng: Rng) -> None:
    labels = scores(rng, 30, 4).tolist()
    rows = [{"question": f"q{k}", "human": {"faithfulness": {"anna": own[0], "lin": own[1]}, "relevance": {
        "anna": own[1], "lin": own[2]}}, "judge": {"model": "gpt-4o", "faithfulness": own[3], "relevance": own[2]}}
        for k, own in enumerate(labels)]  # fmt: skip
    read = assay.read(records(tmp_path, rows))
    assert (read.humans, len(read)) == (("anna", "lin"), 120)
    assert "'judge': objects like answers, not read as labels" in read.reading.notes


@pytest.mark.slow
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
    assert any(
        "'coverage' kept as item metadata: labels, not in humans or judges" in note for note in labels.reading.notes
    )


def test_people_who_are_named_only_because_of_models_names_are_not_all_people(tmp_path):
    columns = merged(np.random.default_rng(4), ("Ann", "Bob", "Cho", "gpt-4o"))
    labels = assay.read(wide(tmp_path, columns), humans=["gpt-4o"], judges=["Ann"])
    assert (labels.humans, labels.judges) == (("Bob", "Cho", "gpt-4o"), ("Ann",))


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
    assert any("rows of one item differ: seconds_read" in note for note in labels.reading.notes)
    with pytest.raises(DataError, match="item 'a' has more than one row"):
        assay.read(table.with_columns(criterion=pl.lit("x")), **options)


def test_role_of_criteria_is_kept_where_another_role_changes():
    table = pl.DataFrame({"id": [f"d{k // 2}" for k in range(80)], "dimension": [*CRITERIA] * 40,
                          "ana": [k % 5 + 1 for k in range(80)], "ben": [k % 5 + 1 for k in range(80)],
                          "gpt4": [(k + k // 7) % 5 + 1 for k in range(80)]})  # fmt: skip
    seen = assay.look(table)
    assert {one.name: one.kind for one in seen.columns}["dimension"] == "criterion"
    assert seen.head.endswith("one row per item and criterion, one column per annotator")
    options = seen.with_role("gpt4", "item column", {})
    assert options == {"layout": "wide", "item": "id", "criterion": "dimension", "columns": ["ana", "ben"]}
    assert seen.with_role("dimension", "repeat", {})["repeat"] == "dimension"


# -- tables that are like these, and have another reading ----------------------------------------------------------

N = range(20)
A = [k * 7 % 5 + 1 for k in N]
B = [min(5, max(1, x + k % 3 - 1)) for k, x in zip(N, A, strict=True)]
C = [min(5, max(1, x + k * 2 % 3 - 1)) for k, x in zip(N, A, strict=True)]
TWICE, ONE_EACH = [k for k in N for _ in "12"], [one for pair in zip(B, C, strict=True) for one in pair]
MODELS = ["gpt-4o", "claude-3"] * 20


def again(cells: Sequence[Any]) -> list[Any]:
    return [cells[k] for k in TWICE]


@pytest.mark.parametrize(("column", "cells"), [("judge_model", MODELS), ("seed", [1, 2] * 20)])
def test_label_of_a_person_is_not_counted_for_each_row(column: str, cells: list[Any]) -> None:
    table = pl.DataFrame({"id": TWICE, column: cells, "human": again(A), "judge_score": ONE_EACH})
    with pytest.raises(DataError, match=f"'human' has one value for each id, which has several rows .* '{column}'"):
        assay.read(table, humans=["human"], judges=["judge_score"])


def test_different_text_in_each_row_is_not_the_item_of_runs() -> None:
    texts = [f"the answer {k}" for k in range(40)]
    table = pl.DataFrame({"id": TWICE, "run": [1, 2] * 20, "human": again(A), "gpt4": ONE_EACH, "response": texts})
    labels = assay.read(table, humans=["human"], judges=["gpt4"])
    assert (labels.n_items, len(labels)) == (20, 60)


def test_label_that_is_the_same_for_all_criteria_is_asked_about() -> None:
    table = pl.DataFrame({"id": TWICE, "criterion": [*CRITERIA] * 20, "human": again(A), "gpt4": ONE_EACH})
    with pytest.raises(DataError, match="'human' has the same label for each 'criterion' of an item"):
        assay.read(table, humans=["human"], judges=["gpt4"])


def test_consistent_person_keeps_repeats() -> None:
    table = pl.DataFrame({"id": TWICE, "round": [1, 2] * 20, "rater1": again(A), "rater2": ONE_EACH})
    assert len(assay.read(table)) == 80
    options = {"layout": "wide", "item": "id", "repeat": "round", "columns": ["rater1", "gpt-4o"]}
    judged = assay.read(table.rename({"rater2": "gpt-4o"}), **options, humans=["gpt-4o", "rater1"])
    assert len(judged) == 80


@pytest.mark.parametrize(
    ("name", "labels"),
    [("Total waste of money", (2, 2)), ("Mean Girls", (2.5, 1.5)), ("Average speed of a train?", (0, 1))],
)
def test_item_that_is_called_as_a_summary_stays(name: str, labels: tuple[float, float]) -> None:
    texts = [*(f"sentence {k}" for k in N), name]
    raters = {f"rater{j + 1}": [*(float((k + j) % 2) for k in N), float(labels[j])] for j in (0, 1)}
    assert assay.look(pl.DataFrame({"text": texts, **raters})).labels.n_items == 21


@pytest.mark.parametrize("names", [
    ("ana_run1", "ana_run2", "ben_run1", "ben_run2"),
    ("Anna - Round 1", "Anna - Round 2", "Lee - Round 1", "Lee - Round 2"),
    ("pass1_ana", "pass1_ben", "pass2_ana", "pass2_ben"),
])  # fmt: skip
def test_runs_of_people_with_any_names(names: tuple[str, ...]) -> None:
    table = pl.DataFrame({"id": N, **dict(zip(names, (A, B, C, A), strict=True))})
    labels = assay.read(table)
    assert (len(labels.humans), len(labels), labels.has_repeats) == (2, 80, True)


def test_rated_systems_in_objects_are_not_judges(tmp_path: Path) -> None:
    rows = []
    for k in N:
        rated = [("gpt-4o", A[k]), ("mixtral", B[k])]
        outputs = [{"model": name, "response": f"text {k} of {name}", "overall_score": x} for name, x in rated]
        rows.append({"instruction": f"do {k}", "annotator": "ana" if k % 2 else "ben", "completions": outputs})
    try:
        read = assay.look(records(tmp_path, rows)).labels
    except DataError:
        read = None
    assert read is None or not read.judges


def test_mean_of_the_raters_is_not_a_judge() -> None:
    mean = [(x + y) / 2 for x, y in zip(A, B, strict=True)]
    table = pl.DataFrame({"id": N, "fluency": mean, "rater1_fluency": A, "rater2_fluency": B,
                          "tone": mean[::-1], "rater1_tone": A[::-1], "rater2_tone": B[::-1]})  # fmt: skip
    assert (assay.read(table).humans, assay.read(table).judges) == (("rater1", "rater2"), ())


def test_items_do_not_become_annotators_next_to_rated_models() -> None:
    table = pl.DataFrame({"id": TWICE, "model": MODELS, "human_rating": again(A), "llm_score": ONE_EACH})
    with pytest.raises(DataError, match="'model' contains only models") as error:
        assay.read(table)
    assert [choice.get("annotator") or choice["item"] for _, choice in error.value.choices] == [
        "model", "model", ["id", "model"],
    ]  # fmt: skip


@pytest.mark.parametrize("column", ["condition", "source", "ai", "role"])
def test_condition_of_participants_is_no_kind(column: str) -> None:
    cells = {"ai": ["yes", "no"], "role": ["annotator", "judge"]}.get(column, ["human", "ai"])
    rows = [(f"P{p}", f"s{k}", cells[p % 2], (A, B, C, B)[p][k]) for p in range(4) for k in N]
    table = pl.DataFrame(rows, schema=["participant", "story", column, "rating"], orient="row")
    assert assay.read(table).humans == ("P0", "P1", "P2", "P3")


def test_criteria_of_a_person_are_not_offered_as_two_people() -> None:
    table = pl.DataFrame({"id": TWICE, "judge": MODELS, "human_fluency": again(A), "human_tone": again(B),
                          "fluency": ONE_EACH, "tone": ONE_EACH[::-1]})  # fmt: skip
    with pytest.raises(DataError) as error:
        assay.read(table)
    assert "humans" not in error.value.advised


def test_label_of_an_item_is_not_offered_for_each_criterion() -> None:
    rows = [(k, name, c, A[k], (B, C)[j][k]) for k in N for j, name in enumerate(MODELS[:2]) for c in CRITERIA]
    table = pl.DataFrame(rows, schema=["id", "judge", "criterion", "human", "score"], orient="row")
    with pytest.raises(DataError) as error:
        assay.read(table)
    assert "humans" not in error.value.advised
    labels = assay.read(table, **error.value.advised, humans=["human"])
    assert any("'human' has the same label for each 'criterion' of an item" in note for note in labels.reading.notes)


@pytest.mark.slow
def test_criterion_whose_name_is_the_end_of_another_is_kept() -> None:
    table = pl.DataFrame(
        {"id": N, "relevance": A, "answer_relevance": B, "llm_relevance": C, "llm_answer_relevance": B[::-1]}
    )
    with pytest.raises(DataError) as error:
        assay.read(table)
    labels = assay.read(table, **error.value.choices[0][1])
    assert (labels.humans, labels.judges, len(labels)) == (("human",), ("llm",), 80)
    assert labels.criteria == ("answer_relevance", "relevance")


@pytest.mark.parametrize("names", [("SD Sharma", "Avg Singh", "Average Joe"), ("Maj", "Lars", "Ida")])
def test_people_whose_names_are_words_of_averages(names: tuple[str, ...]) -> None:
    table = pl.DataFrame({"id": N, **dict(zip(names, (A, B, C), strict=True))})
    with pytest.raises(DataError, match="are they annotators") as error:
        assay.read(table)
    assert len(assay.read(table, **error.value.choices[0][1])) == 60


def test_person_called_human_makes_no_judges_of_several_others() -> None:
    rows = [(k, who, of[k]) for who, of in (("human", A), ("ana", B), ("ben", C)) for k in N]
    table = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    assert assay.read(table).humans == ("ana", "ben", "human")


@pytest.mark.slow
def test_look_says_the_reason_of_a_judge_as_the_question_does() -> None:
    names = ("Coder A", "Coder B", "Dobs (if conflict)")
    table = pl.DataFrame({"id": N, **dict(zip(names, (A, B, C), strict=True)), "gpt-4o": A[::-1]})
    assumed = "Assumed that 'gpt-4o' is a judge (by name), and 'Coder A', 'Coder B', 'Dobs (if conflict)' human."
    assert any(one.startswith(assumed) for one in assay.look(table).ambiguities)


def test_contrast_of_names_offers_that_all_are_human() -> None:
    names = ("expert_1", "expert_2", "novice_1", "novice_2")
    table = pl.DataFrame({"id": N, **dict(zip(names, (A, B, C, A), strict=True))})
    with pytest.raises(
        DataError, match="'novice_1', 'novice_2' are judges, and 'expert_1', 'expert_2' are human"
    ) as error:
        assay.read(table)
    everyone = next(choice for words, choice in error.value.choices if "all are human" in words)
    assert len(assay.read(table, **everyone).humans) == 4


def test_flags_of_texts_are_not_annotators() -> None:
    yes = [k % 2 for k in N]
    table = pl.DataFrame(
        {"text": [f"a text {k}" for k in N], "label": yes, "has_url": yes[::-1], "is_reply": [0, 1] * 10}
    )
    with pytest.raises(DataError, match="only 'label' could hold labels") as error:
        assay.read(table)
    one, judge = (assay.read(table, **options) for _, options in error.value.choices)
    assert (one.humans, one.criteria, one.n_items) == (("human",), ("label",), 20)
    assert judge.judges == ("judge",)


def test_people_next_to_gold_labels_are_annotators_first() -> None:
    table = pl.DataFrame({"id": N, "gold": A, "ana": B, "ben": C})
    with pytest.raises(DataError, match="are they annotators") as error:
        assay.read(table)
    assert assay.read(table, **error.value.choices[0][1]).humans == ("ana", "ben")


def test_person_next_to_runs_of_judges() -> None:
    rows = [(k, name, run, A[k], (B, C)[run][k]) for k in N for name in ("gpt-4o", "claude-3") for run in (0, 1)]
    table = pl.DataFrame(rows, schema=["id", "judge", "run", "human", "score"], orient="row")
    with pytest.raises(DataError, match="a person's labels, or a description") as error:
        assay.read(table)
    labels = assay.read(table, **error.value.choices[0][1])
    assert dict(labels.labels.group_by("annotator").len().iter_rows()) == {"human": 20, "gpt-4o": 40, "claude-3": 40}


def test_columns_of_criteria_that_are_named_as_people_and_judges() -> None:
    table = pl.DataFrame({"id": N, "fluency": A, "tone": B, "llm_fluency": C, "llm_tone": A[::-1]})
    labels = assay.look(table, humans=["fluency", "tone"], judges=["llm_fluency", "llm_tone"]).labels
    assert (labels.humans, labels.judges, labels.criteria) == (("human",), ("llm",), ("fluency", "tone"))


def test_person_who_agrees_with_three_judges_is_a_person() -> None:
    """In each untied row, the person has the majority's label: with good judges, that is not rare."""
    votes = [
        ("yes", "yes", "yes", "no"),
        ("no", "no", "yes", "no"),
        ("no", "yes", "yes", "yes"),
        ("yes", "no", "no", "no"),
    ]
    most = ["yes" if row.count("yes") > 2 else "no" for row in votes]
    columns = dict(zip(("coder_JS", "gpt4_p1", "gpt4_p2", "gpt4_p3"), zip(*votes * 8, strict=True), strict=True))
    table = pl.DataFrame({"id": range(32), **{name: list(own) for name, own in columns.items()}, "coder_MK": most * 8})
    labels = assay.look(table).labels
    assert (labels.humans, len(labels.judges)) == (("coder_JS", "coder_MK"), 3)


def test_model_among_the_sessions_of_prodigy_is_asked_about(tmp_path: Path) -> None:
    rows = []
    for k in range(20):
        task = {"text": f"t{k}", "_input_hash": k, "_task_hash": k, "options": [{"id": "A"}, {"id": "B"}]}
        for j, who in enumerate(("d-anna", "d-ravi", "d-llm_gpt4")):
            given = {"answer": "accept", "accept": ["AB"[(k + j) % 2]], "_annotator_id": who, "_session_id": who}
            rows.append(task | given | {"_view_id": "choice"})
    with pytest.raises(DataError, match="'d-llm_gpt4' could be a judge") as error:
        assay.read(records(tmp_path, rows))
    assert assay.read(records(tmp_path, rows), **error.value.advised).judges == ("d-llm_gpt4",)


def test_judge_next_to_rows_of_people_can_describe_the_items(tmp_path: Path, rng: Rng) -> None:
    path = judge_next_to_rows_of_people(tmp_path, rng).source
    with pytest.raises(DataError, match="'gpt4_label' has one value for each item: a judge's labels") as error:
        assay.read(path)
    assert {text: options["judges"] for text, options in error.value.choices} == {
        "'gpt4_label' is a judge": ["gpt4_label"],
        "'gpt4_label' describes the items": [],
    }
    labels = assay.read(path, judges=[])
    assert (labels.judges, "gpt4_label" in labels.items.columns) == ((), True)
    # Lengths are not on the scale of the labels.
    other = pl.read_csv(path).with_columns(pl.col("gpt4_label") * 17).rename({"gpt4_label": "gpt4_length"})
    assert assay.read(other).judges == ()


def test_runs_of_a_judge_are_repeats_of_its_column():
    rows = [(f"E{k:03d}", run, 1 + (k + (run == 2 and k % 4 == 0)) % 5) for k in range(40) for run in (1, 2, 3)]
    table = pl.DataFrame(rows, schema=["excerpt", "run", "gpt-4o"], orient="row")
    with pytest.raises(DataError) as asked:
        assay.read(table)
    said, options = asked.value.choices[0]
    assert said == "'run' numbers repeated answers"
    for given in (options, {"item": "excerpt", "repeat": "run", "judges": ["gpt-4o"]}):
        labels = assay.read(table, **given)
        assert (labels.judges, labels.n_items, labels.has_repeats, len(labels)) == (("gpt-4o",), 40, True, 120)
    others = [options for _, options in asked.value.choices if options.get("annotator") == "run"]
    assert [one.get("layout") for one in others] == ["long"]


# -- prompts and times next to labels ----------------------------------------------------------------------------


def essays_under_prompts() -> pl.DataFrame:
    """Each of two models labels each essay under six prompts; ids in hexadecimal digits end like sizes of models."""
    rng, rows = np.random.default_rng(5), []
    for essay in range(20):
        for prompt in ("minimal_v1", "minimal_v2", "rubric_v1", "rubric_v2", "cot_v1", "cot_v2"):
            for model in ("gpt-4o-mini", "phi-3-mini"):
                said = str(rng.choice(["A2", "B1", "B2", "C1"]))
                rows.append((f"essay_{essay:011x}9b" if essay % 3 else f"essay_{essay:010d}28b", model, prompt, said))
    return pl.DataFrame(rows, schema=["essay_id", "model", "prompt_name", "prediction"], orient="row")


def test_prompts_of_models_are_conditions():
    frame = essays_under_prompts()
    labels = assay.read(frame, label="prediction", annotator="model", judges=["gpt-4o-mini", "phi-3-mini"])
    assert labels.conditions == ("prompt_name",)
    assert labels.n_items == 20


def test_ids_in_hexadecimal_digits_are_no_models():
    with pytest.raises(assay.errors.DataError, match="'model' contains only models") as error:
        assay.read(essays_under_prompts())
    assert "'essay_0" not in str(error.value).partition("Choose")[2]


@pytest.mark.parametrize("parts", [("12a", "12b"), ("3a", "3b", "4a", "4b")])
def test_parts_of_items_are_no_models(parts):
    rows = [(f"text_{part}", who, k % 3) for k, part in enumerate(parts) for who in ("ann", "bob", "cem")]
    labels = assay.read(
        pl.DataFrame(rows, schema=["text", "rater", "label"], orient="row"), item="rater", annotator="text"
    )
    assert labels.judges == ()


def test_times_and_comments_of_a_survey_are_no_labels():
    rng = np.random.default_rng(2)
    questions = [
        (f"R{r}Q{q}", f"Le rapport est-il {word} ?") for r in (1, 2, 3) for q, word in ((1, "fluide"), (2, "concis"))
    ]
    table = {"token. Code d'accès": [f"student_{k:02}" for k in range(8)]}
    for code, asked in questions:
        table[f"{code}. {asked}"] = [f"{n} : {'peu' if n < 3 else 'plutôt'} bien" for n in rng.integers(2, 4, 8)]
        table[f"{code}[comment]. {asked} [Commentaire]"] = rng.choice(["Oui.", "Je pense que oui."], 8).tolist()
    for code, _ in questions:
        table[f"{code}Time. Durée pour la question: {code}"] = rng.uniform(1, 300, 8).round(2).tolist()
    with pytest.raises(assay.errors.DataError) as error:
        assay.read(pl.DataFrame(table))
    assert "Durée" not in str(error.value)
    assert "Commentaire" not in str(error.value)
    assert "R3Q2. Le rapport est-il concis ?" in str(error.value)
