"""How many settings of judges and prompts a study tried: its store knows earlier ones too."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from walking import answer, begin, judges, models, said

import assay

ROWS = [{"item": f"t{n:02d}", "text": f"Text {n}."} for n in range(24)]


def edit(folder: Path, **keys: Any) -> None:
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text("utf-8")) | keys, sort_keys=False), encoding="utf-8")


def tried(folder: Path) -> int:
    return assay.read(folder).reading.tried


@pytest.mark.slow
def test_settings_tried_are_judges_conditions_and_versions(tmp_path: Path, run: Any) -> None:
    study = begin(run, tmp_path / "my-study", ROWS, "text", "How good is it?", "1-5", judges=judges("a"))
    models(lambda asked: json.dumps({"label": 1 + len(said(asked)) % 5}))
    number = lambda text: int(re.findall(r"Text (\d+)", text)[-1])  # noqa: E731
    people = {"ana": 0, "ben": 1, "cem": 3}
    answer(
        study,
        list(people),
        lambda who, task: {task.questions[0].id: str(1 + (number(task.text) + people[who] // 2) % 5)},
    )
    assert tried(study) == 0
    assert run("judge", study)[0] == 0
    assert tried(study) == 1
    labels = assay.read(study)
    assert not [one for one in assay.estimate(labels, "a").cautions if "settings of judges" in one]
    # A second judge, then each under two temperatures: four further settings.
    edit(study, judges=judges("a", "b"))
    assert run("judge", study)[0] == 0
    assert tried(study) == 2
    edit(study, conditions={"temperature": [0, 1]})
    code, _, err = run("judge", study, "--new-version")
    assert code == 0, err
    assert tried(study) == 6
    # One judge is dropped from the study; its labels leave the table, and the store still knows that it was tried.
    edit(study, judges=judges("a"))
    assert run("judge", study, "--new-version")[0] == 0
    labels = assay.read(study)
    assert (labels.judges, labels.reading.tried) == (("a",), 6)
    found = assay.estimate(labels.where(temperature=0.0), "a")
    assert [one for one in found.cautions if one.startswith("6 settings of judges and prompts")]


def test_settings_tried_in_a_file_are_its_judges() -> None:
    labels = assay.simulate(n_items=80, n_annotators=3, judges={"a": 0.3, "b": 0.6}, seed=1)
    assert labels.reading.tried == 0
    found = assay.estimate(labels, "a")
    assert [one for one in found.cautions if one.startswith("2 settings of judges and prompts")]
    assert not [one for one in assay.estimate(labels, ["a", "b"]).cautions if "settings of judges" in one]


def test_verdicts_caution_of_a_judge_that_can_be_the_best_of_several() -> None:
    labels = assay.simulate(n_items=60, n_annotators=3, judges={"a": 0.3, "b": 0.5, "c": 0.6}, seed=1)
    first = "3 settings of judges and prompts have labels here. If this one was chosen for its result, "
    (caution,) = [one for one in assay.alt_test(labels, "a", epsilon=0.2).cautions if "settings of" in one]
    assert caution.startswith(f"{first}the verdict's error rate is above 0.05: ")
    assert f"Caution: {first}" in assay.alt_test(labels, "a", epsilon=0.2).summary()
    two = assay.compare_judges(labels, ["a", "b"], epsilon=0.2).cautions
    assert [one for one in two if "If these were chosen for their results, the verdict's error rate" in one]
    assert not assay.compare_judges(labels, epsilon=0.2).cautions
    half = pl.when(pl.col("item").str.slice(-1).is_in(list("02468"))).then(pl.lit("x")).otherwise(pl.lit("y"))
    parts = assay.read(labels.to_polars().with_columns(area=half), judges=["a", "b", "c"])
    by = assay.alt_test_by(parts, "a", by="area", epsilon=0.2, min_items=20)
    assert [one for one in by.cautions if one.startswith(first)]
    # Who selects one, or excludes the others, has still seen them.
    names = {"a": "gpt-4o", "b": "gpt-5", "c": "claude-sonnet-4"}
    rest = labels.to_polars().with_columns(pl.col("annotator").replace(names)).select("item", "annotator", "label")
    rest = assay.read(rest, judges=["gpt-4o"], exclude=["gpt-5", "claude-sonnet-4"])
    assert [one for one in assay.alt_test(rest, "gpt-4o", epsilon=0.2).cautions if one.startswith(first)]
    alone = labels.where(annotator=[*labels.humans, "a"])
    assert [one for one in assay.alt_test(alone, "a", epsilon=0.2).cautions if one.startswith(first)]


def test_a_prompt_that_is_selected_is_one_of_several() -> None:
    labels = assay.simulate(n_items=60, n_annotators=3, judges={"a": 0.3}, seed=1)
    frame = labels.to_polars().select("item", "annotator", "label")
    people, judge = frame.filter(pl.col("annotator") != "a"), frame.filter(pl.col("annotator") == "a")
    each = [judge.with_columns(prompt=pl.lit(name)) for name in ("short", "long")]
    labels = assay.read(pl.concat([people, *each], how="diagonal"), judges=["a"], conditions=["prompt"])
    found = assay.alt_test(labels.where(prompt="short"), "a", epsilon=0.2)
    assert [one for one in found.cautions if one.startswith("2 settings of judges and prompts have labels here.")]
    # A condition of the question, which people answered too, is no setting of the judge.
    both = pl.concat([frame.with_columns(asked=pl.lit(name)) for name in ("first", "second")])
    asked = assay.read(both, judges=["a"], conditions=["asked"]).where(asked="first")
    assert not [one for one in assay.alt_test(asked, "a", epsilon=0.2).cautions if "settings of" in one]


def test_verdicts_caution_of_items_on_which_prompts_were_tuned() -> None:
    frame = assay.simulate(n_items=60, n_annotators=3, judges={"a": 0.3}, seed=1).to_polars()
    part = pl.when(pl.col("item").str.slice(-1).is_in(["1", "2"])).then(pl.lit("development")).otherwise(pl.lit("test"))
    labels = assay.read(frame.with_columns(part=part), judges=["a"])
    found = assay.alt_test(labels, "a", epsilon=0.2)
    assert [one for one in found.cautions if one.startswith("12 of 60 items belong to the development set")]
    assert not assay.alt_test(labels.where(part="test"), "a", epsilon=0.2).cautions


def test_settings_tried_include_columns_of_models_that_are_left_out() -> None:
    made = assay.simulate(n_items=60, n_annotators=3, judges={"gpt-4o": 0.3, "llama-8b": 0.5, "qwen-7b": 0.5}, seed=1)
    wide = made.labels.pivot("annotator", index="item", values="label")
    columns = [*made.humans, "gpt-4o"]
    labels = assay.read(wide, layout="wide", item="item", columns=columns, judges=["gpt-4o"])
    (caution,) = assay.alt_test(labels, "gpt-4o", epsilon=0.2).cautions
    assert caution.startswith("3 settings of judges and prompts have labels here.")
    assert [one for one in assay.estimate(labels, "gpt-4o", sampling="trust").cautions if one.startswith("3 settings")]
    alone = assay.read(wide.select("item", *columns), layout="wide", item="item", columns=columns, judges=["gpt-4o"])
    assert not assay.alt_test(alone, "gpt-4o", epsilon=0.2).cautions
