"""Forms of public annotation files, as small tables, each with the correct reading or its refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inputs import Case, Given, Rng, check_reading, records, scores, text, wide, written

import assay
from assay.errors import DataError

INPUTS: dict[str, Case] = {}


def given(function: Case) -> Case:
    INPUTS[function.__name__] = function
    return function


@pytest.fixture
def rng() -> Rng:
    return np.random.default_rng(17)


def pick(rng: Rng, labels: tuple[str, ...], n: int) -> list[str]:
    return [labels[k] for k in rng.integers(0, len(labels), n)]


# -- names of columns that combine two things --------------------------------------------------------------------


@given
def codes_in_brackets(folder: Path, rng: Rng) -> Given:
    """The marks between the codes of a criterion separate no annotator, and criteria have several kinds of labels."""
    kinds = {"human_role(source/agent)": ("source", "agent"), "human_label(neg/neu/pos)": ("neg", "neu", "pos"),
             "human_frame_conflict(0/1)": ("0", "1"), "human_frame_human_interest(0/1)": ("0", "1")}  # fmt: skip
    columns = {f"{kind}_{who}": pick(rng, own, 40) for who in ("coder1", "coder2") for kind, own in kinds.items()}
    rows = [(f"i{k:02}", name[-6:], name[:-7], v) for name, own in columns.items() for k, v in enumerate(own)]
    return Given(wide(folder, columns), rows, asked=True)


@given
def criteria_on_two_numeric_scales(folder: Path, rng: Rng) -> Given:
    own = {"quality": 100, "fluency": 5, "tone": 5}
    columns = {f"{who}_{kind}": rng.integers(1, top + 1, 40).tolist() for who in ("rater1", "rater2")
               for kind, top in own.items()}  # fmt: skip
    rows = [(f"i{k:02}", name[:6], name[7:], v) for name, cells in columns.items() for k, v in enumerate(cells)]
    return Given(wide(folder, columns), rows, asked=True)


@given
def criteria_of_people_with_first_names(folder: Path, rng: Rng) -> Given:
    columns = {f"{who}_{kind}": scores(rng, 40, 1)[:, 0].tolist() for who in ("ben", "sarah", "jonas")
               for kind in ("correctness", "safety")}  # fmt: skip
    parts = {name: name.split("_") for name in columns}
    rows = [(f"i{k:02}", *parts[name], v) for name, cells in columns.items() for k, v in enumerate(cells)]
    return Given(wide(folder, columns), rows)


@pytest.mark.parametrize("names", [("dense", "bm25", "hybrid"), ("aurora", "tempest", "monsoon")])
def test_systems_in_names_of_columns_are_asked_about(names: tuple[str, ...], tmp_path: Path, rng: Rng) -> None:
    columns = {
        f"{one}_{kind}": scores(rng, 40, 1)[:, 0].tolist() for one in names for kind in ("correctness", "safety")
    }
    path = wide(tmp_path, columns)
    with pytest.raises(DataError, match="in the names of columns, can be annotators, or the systems that") as error:
        assay.read(path)
    people, by_human, by_judge = (assay.read(path, **options) for _, options in error.value.choices)
    assert people.humans == tuple(sorted(names))
    assert (by_human.humans, by_human.criteria, by_human.n_items) == (("human",), ("correctness", "safety"), 120)
    assert by_judge.judges == ("judge",)


@given
def predicted_intent_next_to_scores(folder: Path, rng: Rng) -> Given:
    """A prediction of a system in words is not a label of its reply."""
    kinds = ("groundedness", "helpfulness")
    columns = {f"{kind}{who}": scores(rng, 40, 1)[:, 0].tolist() for who in ("", "_human") for kind in kinds}
    about = {"predicted_intent": pick(rng, ("battery", "refund", "login"), 40)}
    rows = [(f"i{k:02}", "human" if name.endswith("_human") else "judge", name.removesuffix("_human"), v)
            for name, cells in columns.items() for k, v in enumerate(cells)]  # fmt: skip
    return Given(wide(folder, about | columns), rows, asked=True)


def test_prediction_next_to_scores_is_asked_about(tmp_path: Path, rng: Rng) -> None:
    truth, guess, flag = (pick(rng, own, 30) for own in (("app", "login"), ("app", "login"), ("True", "False")))
    own = scores(rng, 30, 2).T.tolist()
    columns = {"true_intent": truth, "predicted_intent": guess, "should_stop": flag, "predicted_stop": flag[::-1],
               "helpfulness_score": own[0], "tone_score": own[1]}  # fmt: skip
    with pytest.raises(DataError, match="'helpfulness_score', 'tone_score' could hold the annotators' lab") as error:
        assay.read(wide(tmp_path, columns))
    assert "helpfulness_score" in error.value.choices[1][0]
    assert assay.read(wide(tmp_path, columns), **error.value.choices[0][1]).judges == ("predicted_intent",)


# -- a column with the names of judges -------------------------------------------------------------------------


@given
def one_judge_of_several_criteria(folder: Path, rng: Rng) -> Given:
    """The name of the judge, the same in all rows, is not a label."""
    metrics = ("relevance", "safety", "tone")
    cells = [(f"H{k}", system, metric) for k in range(2) for system in ("base", "rag") for metric in metrics]
    own = scores(rng, len(cells), 1)[:, 0].tolist()
    names = ("scenario_id", "system_name", "metric")
    columns = {name: [one[i] for one in cells] for i, name in enumerate(names)}
    path = written(folder, columns | {"score": own, "judge_model": ["gpt-4o-mini"] * len(cells)})
    rows = [(f"{a}/{b}", "gpt-4o-mini", c, v) for (a, b, c), v in zip(cells, own, strict=True)]
    return Given(path, rows, asked=True)


@given
def one_judge_with_two_names(folder: Path, rng: Rng) -> Given:
    """Amounts and steps of the item are on no scale of labels, and the names of the judge are no labels."""
    verdicts = pick(rng, ("yes", "no"), 20)
    columns: dict[str, Any] = {
        "trace_file": [f"t{k}.json" for k in range(20)],
        "amount_eur": [round(float(v), 2) for v in rng.uniform(100, 300, 20)],
        "step_index": rng.integers(5, 12, 20).tolist(),
        "judge_id": ["qwen2.5-7b"] * 20, "judge_model": ["qwen2.5:7b"] * 20, "verdict": verdicts,
    }  # fmt: skip
    rows = [(f"t{k}.json", "qwen2.5-7b", "", v) for k, v in enumerate(verdicts)]
    return Given(written(folder, columns), rows, asked=True)


@given
def judge_choice_next_to_the_correct_one(folder: Path, rng: Rng) -> Given:
    """The model that wrote the texts is not the judge."""
    right, chosen = pick(rng, ("A", "B"), 20), pick(rng, ("A", "B"), 20)
    columns: dict[str, Any] = {
        "org_id": rng.choice(5000, 20, replace=False).tolist(),
        "sentence": [f"A sentence of some words, with the number {k} in it" for k in range(20)],
        "error_type": pick(rng, ("word choice", "other", "order"), 20), "model": ["gemini-1.5-flash"] * 20,
        "judge_model": ["gpt-4o"] * 20, "correct_choice": right, "judge_choice": chosen,
    }  # fmt: skip
    rows = [(sentence, who, "", v) for who in ("correct_choice", "judge_choice")
            for sentence, v in zip(columns["sentence"], columns[who], strict=True)]  # fmt: skip
    return Given(written(folder, columns), rows, asked=True)


@given
def one_model_with_two_criteria(folder: Path, rng: Rng) -> Given:
    stance, topic = pick(rng, ("dovish", "hawkish"), 20), pick(rng, ("growth", "prices", "policy"), 20)
    sentences = [f"Sentence {k} is about the economy of a country." for k in range(20)]
    columns = {"model": ["gpt-5"] * 20, "stance": stance, "topic": topic, "sentence": sentences}
    rows = [(one, "gpt-5", criterion, v) for criterion, own in (("stance", stance), ("topic", topic))
            for one, v in zip(sentences, own, strict=True)]  # fmt: skip
    return Given(written(folder, columns), rows, asked=True)


@given
def judges_in_ids_of_sessions(folder: Path, rng: Rng) -> Given:
    """A session names the judge and the prompt; guesses have the values of the judges' column."""
    makers = ("Claude", "GPT", "Gemini", "Grok")
    rows, table = [], []
    for prompt in range(3):
        for judge in makers:
            order = rng.permutation(4)
            for slot in range(4):
                author, guess = makers[order[slot]], makers[rng.integers(0, 4)]
                table.append((f"E{prompt}__{judge}", f"E{prompt}", judge, "WXYZ"[slot], author, guess))
                rows.append((f"{author}/E{prompt}", judge, "", guess))
    names = ("session_id", "prompt_id", "judge", "slot", "true_author", "guessed_model")
    return Given(written(folder, {name: [one[i] for one in table] for i, name in enumerate(names)}), rows, asked=True)


@given
def criterion_that_is_equal_within_items(folder: Path, rng: Rng) -> Given:
    """All raters agree on the coherence of each of three texts."""
    equal = {"W1": 5, "P1": 4, "M1": 3}
    table = {
        (item, who): (*scores(rng, 3, 1)[:, 0].tolist(), item) for item in equal for who in ("R1", "R2", "R3", "R4")
    }
    names = ("Plaus", "Coher", "CultFit", "AuthSim")
    cells = {one: (a, equal[one[0]], b, c) for one, (a, b, c, _) in table.items()}
    columns = {"Text_ID": [a for a, _ in cells], "Rater": [b for _, b in cells]}
    columns |= {name: [own[k] for own in cells.values()] for k, name in enumerate(names)}
    rows = [(*one, name, own[k]) for one, own in cells.items() for k, name in enumerate(names)]
    return Given(written(folder, columns), rows, asked=True)


# -- lists in cells ----------------------------------------------------------------------------------------------


def test_labels_in_lists_without_names_are_of_several_or_of_one(tmp_path: Path, rng: Rng) -> None:
    runs = rng.choice([0.0, 0.5, 1.0], (12, 3)).tolist()
    about = {"case": [f"c{k // 2}" for k in range(12)], "positive": [True, False] * 6}
    path = written(tmp_path, about | {"scores": [str(one) for one in runs]})
    with pytest.raises(DataError, match="labels of several annotators, or repeated labels of one, such as") as error:
        assay.read(path)
    assert [options for _, options in error.value.choices] == [
        {"annotator": "place"}, {"annotator": "place", "judges": ["1", "2", "3"]},
        {"repeat": "place"}, {"repeat": "place", "judges": ["scores"]},
    ]  # fmt: skip
    several, judges, one, judge = (assay.read(path, **options) for _, options in error.value.choices)
    assert (several.humans, judges.judges) == (("1", "2", "3"), ("1", "2", "3"))
    assert (one.humans, judge.judges) == (("scores",), ("scores",))
    assert {(each.n_items, len(each)) for each in (several, judges, one, judge)} == {(12, 36)}
    given = one.labels.sort("item", "repeat").filter(item="c0/true")["label"].to_list()
    assert given == runs[0]


def test_lists_of_each_criterion_are_of_several_or_of_one(tmp_path: Path, rng: Rng) -> None:
    lists = {f"{kind}_scores": [str(one) for one in scores(rng, 10, 3, 10).tolist()] for kind in ("truth", "tone")}
    path = written(tmp_path, {"query": [f"q{k}" for k in range(10)]} | lists | {"truth": list(range(10))})
    with pytest.raises(DataError, match="contain lists of 3 labels without names") as error:
        assay.read(path)
    read = [assay.read(path, **options) for _, options in error.value.choices]
    assert [(len(one.annotators), one.criteria, len(one)) for one in read] == [
        (n, ("tone_scores", "truth_scores"), 60) for n in (3, 3, 1, 1)
    ]


def test_lists_of_people_are_of_several(tmp_path: Path, rng: Rng) -> None:
    lists = {"query": [f"q{k}" for k in range(10)], "human_scores": [str(one) for one in scores(rng, 10, 3).tolist()]}
    assert assay.read(written(tmp_path, lists)).humans == ("1", "2", "3")


def criteria_in_objects(who: str, name: str, rng: Rng) -> tuple[list[dict[str, Any]], list[Any]]:
    made, rows = [], []
    for k in range(20):
        own = dict(zip(("C1", "C2", "C3"), pick(rng, ("pass", "fail"), 3), strict=True))
        objects = {key: {"result": label, "note": "" if k % 2 else "too long"} for key, label in own.items()}
        made.append(
            {"incident_id": f"INC-{k}", who: name, "scores": objects, "overall_pass": "fail" not in own.values()}
        )
        rows += [(f"INC-{k}", name, key, label) for key, label in own.items()]
    return made, rows


@given
def criteria_with_notes_of_one_person(folder: Path, rng: Rng) -> Given:
    made, rows = criteria_in_objects("labeled_by", "human", rng)
    return Given(records(folder, made), rows, asked=True)


@given
def criteria_with_notes_of_one_judge(folder: Path, rng: Rng) -> Given:
    made, rows = criteria_in_objects("judge_model", "gpt-4o", rng)
    return Given(records(folder, made), rows, asked=True)


# -- JSON that is not a list of records --------------------------------------------------------------------------------


@given
def lists_of_one_length(folder: Path, rng: Rng) -> Given:
    people, judge = scores(rng, 20, 2, 3).T.tolist()
    pairs = [[f"q{k // 2}", f"d{k}"] for k in range(20)]
    document = {"pair_index": pairs, "human_scores": people, "per_judge_scores": {"Gemma 4 26B (OpenRouter)": judge},
                "about_judges": {"Gemma 4 26B (OpenRouter)": {"n_valid": 20}}, "specs": ["gemma-4-26b"]}  # fmt: skip
    rows = [("/".join(pair), who, "", v) for who, own in (("human_scores", people), ("Gemma 4 26B (OpenRouter)", judge))
            for pair, v in zip(pairs, own, strict=True)]  # fmt: skip
    return Given(text(folder, json.dumps(document), "t.json"), rows, asked=True)


@given
def labels_by_item_next_to_settings(folder: Path, rng: Rng) -> Given:
    own = {f"e{k}f3": v for k, v in enumerate(scores(rng, 20, 1, 9)[:, 0].tolist())}
    settings = {"model": "meta-llama/Llama-3.1-8B", "rubric": "rubric.py", "seed": 42, "score_of_failures": 5.0}
    rows = [(one, "meta-llama/Llama-3.1-8B", "", v) for one, v in own.items()]
    return Given(text(folder, json.dumps(settings | {"scores_by_hash": own}), "t.json"), rows, asked=True)


def test_json_of_another_form_says_which_forms_are_read(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"must contain a list of objects, one per answer, such as .* an object can cont"
    ):
        assay.read(
            text(tmp_path, json.dumps({"human_scores": [1, 2, 3], "judge_scores": {"gpt-4o": [1, 2]}}), "t.json")
        )


# -- objects of labels in JSON -----------------------------------------------------------------------------------

KINDS = ("relevance", "tone", "depth")


def objects(rng: Rng, n: int, kinds: tuple[str, ...] = KINDS) -> list[dict[str, int]]:
    return [dict(zip(kinds, own, strict=True)) for own in scores(rng, n, len(kinds)).tolist()]


@given
def keys_are_criteria(folder: Path, rng: Rng) -> Given:
    """A total, a text and a list next to numbers are no labels."""
    own = objects(rng, 20)
    about = {"total": 9, "verdict": "a good answer", "names": ["Tom"]}
    path = records(folder, [{"id": f"i{k:02}", "scores": one | about} for k, one in enumerate(own)])
    return Given(path, [(f"i{k:02}", "judge", c, v) for k, one in enumerate(own) for c, v in one.items()], asked=True)


@given
def keys_are_criteria_of_the_judge_that_is_named(folder: Path, rng: Rng) -> Given:
    """Numbers in texts are numbers, and a missing one is not a label; the generator is not a judge."""
    own = objects(rng, 24)
    rows, cells = [], []
    for k, one in enumerate(own):
        item, judge = f"i{k % 12:02}", ("qwen2.5:3b", "gpt-4o")[k // 12]
        written_as = {c: None if (k, c) == (3, "tone") else str(v) if k % 2 else v for c, v in one.items()}
        rows.append({"id": item, "judge_model": judge, "generator": "llama-3", "scores": written_as, "raw": "tone: 4"})
        cells += [(item, judge, c, v) for c, v in one.items() if (k, c) != (3, "tone")]
    return Given(records(folder, rows), cells, asked=True)


@given
def keys_are_criteria_of_a_family_of_judges(folder: Path, rng: Rng) -> Given:
    own = objects(rng, 20)
    judges = [("gptoss", "mistral")[k % 2] for k in range(20)]
    rows = [{"id": f"i{k:02}", "judge_family": who, "scores": one, "error": None}
            for k, (who, one) in enumerate(zip(judges, own, strict=True))]  # fmt: skip
    cells = [(f"i{k:02}", judges[k], c, v) for k, one in enumerate(own) for c, v in one.items()]
    return Given(records(folder, rows), cells, asked=True)


@given
def sections_of_criteria_of_a_judge(folder: Path, rng: Rng) -> Given:
    """Each task has its own criteria, in sections and next to one more."""
    rows, cells = [], []
    for k in range(16):
        item, judge = f"t{k // 2}", ("gpt-4o", "google/gemini-3.8-flash")[k % 2]
        own = {f"{'VP'[k // 2 % 2]}{j}": int(v) for j, v in enumerate(rng.integers(0, 2, 4))}
        more = {"D1": int(rng.integers(0, 2))}
        rows.append({"key": item, "judge": judge, "result": {"items": own, "distractors": more, "phishing": k % 3 % 2}})
        cells += [(item, judge, c, v) for c, v in (own | more | {"phishing": k % 3 % 2}).items()]
    return Given(records(folder, rows), cells, asked=True)


@given
def keys_are_people(folder: Path, rng: Rng) -> Given:
    own = objects(rng, 20, ("alice", "bob", "zoe"))
    path = records(folder, [{"id": f"i{k:02}", "scores": one} for k, one in enumerate(own)])
    return Given(path, [(f"i{k:02}", who, "", v) for k, one in enumerate(own) for who, v in one.items()])


@given
def keys_are_a_few_of_a_crowd(folder: Path, rng: Rng) -> Given:
    own = [{f"AMT_{j}7": int(rng.integers(1, 6)) for j in rng.choice(12, 3, replace=False)} for _ in range(20)]
    path = records(folder, [{"id": f"i{k:02}", "ratings": one} for k, one in enumerate(own)])
    return Given(path, [(f"i{k:02}", who, "", v) for k, one in enumerate(own) for who, v in one.items()])


@given
def keys_are_numbered_criteria(folder: Path, rng: Rng) -> Given:
    own = [{f"C{j}": bool(v) for j, v in enumerate(one)} for one in rng.integers(0, 2, (20, 3))]
    path = records(folder, [{"id": f"i{k:02}", "judgment": one} for k, one in enumerate(own)])
    rows = [(f"i{k:02}", "judge", c, str(v).lower()) for k, one in enumerate(own) for c, v in one.items()]
    return Given(path, rows, asked=True)


@given
def keys_are_systems_and_criteria(folder: Path, rng: Rng) -> Given:
    """A total and a verdict are no labels; the keys outside are what is rated."""
    systems = ("qwen_32b", "gpt_oss_20b", "nemo_12b")
    own = [dict(zip(systems, objects(rng, 3), strict=True)) for _ in range(8)]
    more = {"total": 12, "verdict": "a comprehensive and detailed explanation of the difference"}
    rows = [{"question": f"What is number {k}?", "scores": {s: labels | more for s, labels in one.items()}}
            for k, one in enumerate(own)]  # fmt: skip
    cells = [(f"What is number {k}?/{s}", "judge", c, v)
             for k, one in enumerate(own) for s, labels in one.items() for c, v in labels.items()]  # fmt: skip
    return Given(records(folder, rows), cells, asked=True)


@given
def keys_are_unknown_systems_and_criteria(folder: Path, rng: Rng) -> Given:
    own = [dict(zip(("A", "B"), objects(rng, 2, ("warmth", "wit")), strict=True)) for _ in range(10)]
    path = records(folder, [{"id": f"i{k:02}", "ratings": one} for k, one in enumerate(own)])
    cells = [(f"i{k:02}/{s}", "human", c, v)
             for k, one in enumerate(own) for s, labels in one.items() for c, v in labels.items()]  # fmt: skip
    return Given(path, cells, asked=True)


@given
def systems_and_criteria_of_a_judge(folder: Path, rng: Rng) -> Given:
    own = [dict(zip(("gpt-4o", "llama-3"), objects(rng, 2), strict=True)) for _ in range(10)]
    rows = [{"id": f"i{k:02}", "judge": "claude-3-opus", "scores": one} for k, one in enumerate(own)]
    cells = [(f"i{k:02}/{s}", "claude-3-opus", c, v)
             for k, one in enumerate(own) for s, labels in one.items() for c, v in labels.items()]  # fmt: skip
    return Given(records(folder, rows), cells, asked=True)


@given
def keys_are_models(folder: Path, rng: Rng) -> Given:
    own = objects(rng, 20, ("gpt-4o", "claude-3-opus"))
    path = records(folder, [{"id": f"i{k:02}", "scores": one} for k, one in enumerate(own)])
    return Given(
        path, [(f"i{k:02}/{s}", "human", "", v) for k, one in enumerate(own) for s, v in one.items()], asked=True
    )


@given
def objects_of_a_person_and_a_judge(folder: Path, rng: Rng) -> Given:
    own = list(zip(objects(rng, 20), objects(rng, 20), strict=True))
    path = records(folder, [{"id": f"i{k:02}", "human_scores": a, "llm_scores": b} for k, (a, b) in enumerate(own)])
    names = ("human_scores", "llm_scores")
    rows = [(f"i{k:02}", who, c, v) for k, pair in enumerate(own)
            for who, one in zip(names, pair, strict=True) for c, v in one.items()]  # fmt: skip
    return Given(path, rows, asked=True)


@given
def a_judge_in_an_object(folder: Path, rng: Rng) -> Given:
    own = objects(rng, 20)
    rows = [{"id": f"i{k:02}", "judge": {"model": "gpt-4o", "scores": one, "rationale": "as it is"}}
            for k, one in enumerate(own)]  # fmt: skip
    cells = [(f"i{k:02}", "gpt-4o", c, v) for k, one in enumerate(own) for c, v in one.items()]
    return Given(records(folder, rows), cells, asked=True)


@given
def criteria_in_a_list_of_a_judge(folder: Path, rng: Rng) -> Given:
    own = objects(rng, 20)
    rows = [{"id": f"i{k:02}", "judge": "gpt-4o", "evaluations": [
        {"name": c, "score": v, "why": "as it is"} for c, v in one.items()]} for k, one in enumerate(own)]  # fmt: skip
    cells = [(f"i{k:02}", "gpt-4o", c, v) for k, one in enumerate(own) for c, v in one.items()]
    return Given(records(folder, rows), cells, asked=True)


@given
def a_document_of_items_and_criteria(folder: Path, rng: Rng) -> Given:
    own = objects(rng, 20)
    path = text(folder, json.dumps({f"i{k:02}": one for k, one in enumerate(own)}), "t.json")
    return Given(path, [(f"i{k:02}", "judge", c, v) for k, one in enumerate(own) for c, v in one.items()], asked=True)


@given
def a_document_of_people_and_items(folder: Path, rng: Rng) -> Given:
    """Numbered items have names of questions, too."""
    own = {who: {f"q{k}": int(v) for k, v in enumerate(scores(rng, 20, 1)[:, 0])} for who in ("mturk_a", "mturk_b")}
    rows = [(item, who, "", v) for who, one in own.items() for item, v in one.items()]
    return Given(text(folder, json.dumps(own), "t.json"), rows)


@given
def a_document_whose_setting_names_the_judge(folder: Path, rng: Rng) -> Given:
    own = objects(rng, 20)
    results = [{"id": f"i{k:02}", "scores": one} for k, one in enumerate(own)]
    path = text(folder, json.dumps({"judge_model": "gpt-4o", "seed": 1, "results": results}), "t.json")
    return Given(path, [(f"i{k:02}", "gpt-4o", c, v) for k, one in enumerate(own) for c, v in one.items()], asked=True)


@given
def one_record_of_each_annotator(folder: Path, rng: Rng) -> Given:
    """The keys of the labels of an annotator are the items."""
    own = {f"ta_{j}": {f"e{k:02}": int(v) for k, v in enumerate(one)} for j, one in enumerate(scores(rng, 20, 3).T)}
    path = records(folder, [{"grader": who, "n": len(one), "labels": one} for who, one in own.items()])
    return Given(path, [(item, who, "", v) for who, one in own.items() for item, v in one.items()])


@given
def a_panel_of_judges_with_reasons(folder: Path, rng: Rng) -> Given:
    own = objects(rng, 20, ("command-r", "haiku", "gpt-3.5-turbo"))
    rows = [{"id": f"i{k:02}", "panel": {who: {"score": v, "why": f"because {v} is right"} for who, v in one.items()}}
            for k, one in enumerate(own)]  # fmt: skip
    cells = [(f"i{k:02}", who, "", v) for k, one in enumerate(own) for who, v in one.items()]
    return Given(records(folder, rows), cells, asked=True)


def test_keys_without_labels_are_noted(tmp_path: Path, rng: Rng) -> None:
    rows = [{"id": f"i{k}", "rater": "ann", "scores": one | {"total": 9, "why": "so"}}
            for k, one in enumerate(objects(rng, 9))]  # fmt: skip
    labels = assay.read(records(tmp_path, rows))
    assert (labels.humans, labels.criteria) == (("ann",), tuple(sorted(KINDS)))
    assert "'total', 'why' in scores: not read as labels" in labels.reading.notes


def test_shares_of_categories_are_no_labels(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="objects of another form"):
        assay.read(records(tmp_path, [{"id": f"i{k}", "scores": {"pos": k / 10, "neg": 1 - k / 10}} for k in range(9)]))


def test_a_judge_that_is_named_answered_the_keys(tmp_path: Path, rng: Rng) -> None:
    path = records(tmp_path, [{"id": f"i{k}", "scores": one} for k, one in enumerate(objects(rng, 20))])
    with pytest.raises(DataError, match="If that is right") as error:
        assay.read(path, judges=["gpt-4o"])
    labels = assay.read(path, **{"judges": ["gpt-4o"], **dict(error.value.choices[0][1])})
    assert (labels.judges, labels.criteria) == (("gpt-4o",), tuple(sorted(KINDS)))
    assert assay.read(path, humans=list(KINDS)).humans == tuple(sorted(KINDS))


def test_votes_without_a_voter_say_how_to_name_a_judge(tmp_path: Path, rng: Rng) -> None:
    votes = [{"task": f"t{k}", "model_a": "gpt-4o", "model_b": "llama-3", "winner": "AB"[k % 2]} for k in range(9)]
    both = zip(votes, objects(rng, 9), objects(rng, 9), strict=True)
    rows = [{**vote, "scores_a": a, "scores_b": b} for vote, a, b in both]
    path = records(tmp_path, rows)
    labels = assay.read(path)
    assert any("no column names who voted" in note and "judges=['voters']" in note for note in labels.reading.notes)
    assert "'scores_a', 'scores_b': objects like answers, not read as labels" in labels.reading.notes
    assert assay.read(path, judges=["voters"]).judges == ("voters",)


# -- files that do not parse as they are -------------------------------------------------------------------------


def test_lines_that_end_in_cr_cr_lf_and_a_footer_are_read(tmp_path: Path) -> None:
    lines = ["id,kind,judge,why", *(f'i{k},a,{k % 5 / 4},"so, and, so"' for k in range(12))]
    footer = ["", "AVERAGE,,0.5,", "", "COVERAGE,11/11"]
    (tmp_path / "t.csv").write_bytes("\r\r\n".join([*lines, *footer, ""]).encode())
    options = {"layout": "wide", "columns": ["judge"], "judges": ["judge"]}
    labels = assay.read(tmp_path / "t.csv", item="id", **options)
    assert (labels.n_items, len(labels)) == (12, 12)
    assert "lines end in CR CR LF, each read as one line end" in labels.reading.notes
    assert "skipped 2 rows below the table: 'AVERAGE 0.5', 'COVERAGE 11/11'" in labels.reading.notes
    # Sparse rows of items after an empty one are no footer.
    (tmp_path / "t.csv").write_text("\n".join([*lines, "", "i12,a,1,", "i13,a,0,"]))
    assert assay.read(tmp_path / "t.csv", item="id", **options).n_items == 14


@pytest.mark.parametrize(
    ("cells", "advice"),
    [
        ("six coins, not five", ', put it in quotation marks: "six coins, not five"$'),
    ],
)
def test_a_row_with_further_cells_is_named(cells: str, advice: str, tmp_path: Path) -> None:
    rows = [f"i{k},pass,fine" for k in range(5)]
    path = text(tmp_path, "\n".join(["id,label,notes", *rows, f"i5,fail,{cells}", *rows]))
    with pytest.raises(DataError, match=rf"line 7 has 4 cells, but the header has 3\. If ',' is .* 'notes'{advice}"):
        assay.read(path)
    path = text(tmp_path, "id,ann,bob\n1,2,3\n2,3,4,5\n3,4,4\n4,4,4,4\n")
    with pytest.raises(
        DataError, match=r"line 3 has 4 cells \(also line 5\).*or remove the|if not, remove the further"
    ):
        assay.read(path)


def test_a_numbered_first_row_is_no_header(tmp_path: Path) -> None:
    rows = [f"{k},hash{k}{k}f,area {k % 3},{'good' if k % 2 else 'bad'}" for k in range(1, 10)]
    with pytest.raises(
        DataError, match="first column is called '1', and its cells continue with 2, 3, so the first row"
    ):
        assay.read(text(tmp_path, "\n".join(rows)))
    # The same names and cells are right if the user states them, and columns of labels can be numbered.
    table = "id,1,2\n" + "\n".join(f"i{k},{k % 5},{k % 4}" for k in range(9))
    assert assay.read(text(tmp_path, table), layout="wide").humans == ("1", "2")


# -- tables of results -------------------------------------------------------------------------------------------

PAIRS = [("gpt4o", "gemini"), ("gpt4o", "human"), ("gemini", "human")]


@pytest.mark.parametrize(
    "columns",
    [
        {"judge_a": [a for a, _ in PAIRS] * 2, "judge_b": [b for _, b in PAIRS] * 2, "n": [40] * 6,
         "agreement_pct": [95.0, 100.0, 92.5, 92.5, 90.0, 95.0], "cohen_kappa": [0.86, 1.0, 0.79, 0.8, 0.75, 0.82]},
        {"model_a": ["qwen2.5:7b"] * 4, "model_b": ["gemma3:4b"] * 4, "item": ["tone", "aim", "staff", "food"],
         "kappa": [0.7, 0.6, 0.2, 0.9], "raw_agreement": [0.8, 0.8, 0.7, 0.9], "rate_a": [None, None, 0.7, 0.3],
         "rate_b": [None, None, 0.9, 0.4]},
        {"metric": [f"m{k}" for k in range(6)], "dimension": ["Depth", "Style"] * 3, "reliable": [True, False] * 3,
         "krippendorff_alpha": [0.9, 0.2, 0.8, 0.1, 0.7, 0.3], "n_judges": [3] * 6, "n_models": [12] * 6},
        {"annotator": [f"0{k}f3a" for k in range(6)], "num_annotations": [20] * 6, "num_agreed": [6, 16, 17, 6, 13, 9],
         "label_agreement": [-0.7, -0.2, -0.15, -0.7, -0.35, -0.55]},
    ],
)  # fmt: skip
def test_table_of_statistics_is_refused(columns: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="statistics, not labels, by their names: the table contains no annot") as error:
        assay.read(written(tmp_path, columns))
    assert not error.value.choices


def test_statistics_next_to_labels_are_ignored(tmp_path: Path, rng: Rng) -> None:
    people = {who: pick(rng, ("good", "bad"), 30) for who in ("rater_1", "rater_2")}
    table = {"id": [f"q{k}" for k in range(30)]} | people | {"agreement": [0.5, 1.0, 0.0] * 10}
    assert assay.read(written(tmp_path, table)).humans == ("rater_1", "rater_2")
    # A rating of how much a person agrees is a label.
    rows = [(f"s{k}", who) for k in range(20) for who in ("ann", "bob", "cho")]
    rated = {"statement": [a for a, _ in rows], "person": [b for _, b in rows],
             "agreement": rng.uniform(0, 100, 60).round(1).tolist()}  # fmt: skip
    for who in ("rater", "participant"):
        named = {who if name == "person" else name: cells for name, cells in rated.items()}
        assert len(assay.read(written(tmp_path, named), item="statement", label="agreement")) == 60
        assert "hold statistics" not in str(assay.look(written(tmp_path, named)))


def test_votes_of_a_judge_for_models_are_labels(tmp_path: Path, rng: Rng) -> None:
    columns = {who: pick(rng, ("gpt-4o", "llama-3-8b"), 30) for who in ("human_1", "human_2", "judge")}
    path = written(tmp_path, {"id": [f"q{k}" for k in range(30)]} | columns)
    labels = assay.read(path, judges=["judge"])
    assert (labels.n_items, labels.humans, labels.judges) == (30, ("human_1", "human_2"), ("judge",))


@pytest.mark.parametrize("case", INPUTS.values(), ids=INPUTS)
def test_form_is_read_or_asked_about(case: Case, tmp_path: Path) -> None:
    check_reading(case, tmp_path)
