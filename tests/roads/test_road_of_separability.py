"""The paper on separability: outputs of two systems, pairs of them, votes of people and a model, then every table."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from annotating import write_study
from systems import beta_of
from walking import answer, begin_systems, models

import assay
from assay.judging.run import judge_study
from assay.study.definition import load_study

pytestmark = pytest.mark.slow  # a whole workflow

EPSILON = ("--expertise", "crowd")


@pytest.fixture
def study(tmp_path: Path, run: Any) -> Path:
    return begin_systems(run, tmp_path / "my-study", n=14, comparisons={"pairs": 3})


def test_one_study_gives_outputs_votes_and_every_table(study, run):
    models(lambda asked: beta_of(asked["messages"][-1]["content"]))
    code, out, _ = run("judge", study)
    assert code == 0
    assert "42 pairs of outputs drawn" in out
    chance = random.Random(1)
    saved = answer(
        study,
        ("ana", "ben", "cem"),
        lambda _, task: {q.id: json.loads(chance.choice(q.values)) for q in task.questions},
    )
    assert saved == 3 * 42
    for command in ("separability", "consistency", "ratings", "agreement", "disagreement", "probes"):
        code, out, _ = run(command, study)
        assert code == 0, (command, out)
    code, out, _ = run("look", study)
    assert f"Next command:   assay ratings {study}" in out
    assert "– G-study (labels are not numbers)" in out
    code, out, _ = run("look", study, "--what", "outputs")
    assert f"Next command:   assay separability {study} --what outputs" in out
    assert f"Python:   assay.read('{study}', what='outputs')" in out
    # The 140 outputs are a file, too, whose separability is the same.
    code, out, _ = run("export", study, study / "outputs.csv", "--what", "outputs")
    assert (code, pl.read_csv(study / "outputs.csv").height) == (0, 140)
    reading = ("--annotator", "annotator", "--label", "label", "--repeat", "repeat", "--scale", "text")
    _, alone, _ = run("separability", study / "outputs.csv", *reading, "--humans", "alpha,beta", "--json")
    _, inside, _ = run("separability", study, "--json")
    assert json.loads(alone)["table"] == json.loads(inside)["table"]
    # The dialogue of the outputs groups the pairs, and numbers of outputs are no strata.
    code, out, _ = run("alt-test", study, *EPSILON)
    said = " ".join(out.split())
    assert "standard errors robust to clusters of 'document'" in said
    assert "strata: document, dialogue;" in said
    assert not [word for word in ("first_output", "separability", "pair_of") if word in said]
    code, out, _ = run("report", study, *EPSILON, "--output", study / "report.html")
    assert code == 0
    assert "clusters:document" in out
    code, out, _ = run("report", study, *EPSILON, "--clusters", "none", "--output", study / "alone.html")
    assert "clusters" not in out.splitlines()[-2]


def test_outputs_are_read_in_python(study):
    models(lambda asked: beta_of(asked["messages"][-1]["content"]))
    judge_study(load_study(study))
    outputs = assay.read(study, what="outputs")
    assert (outputs.scale.kind, len(outputs), outputs.judges) == ("text", 140, ("alpha", "beta"))
    assert assay.separability(study).table.equals(assay.separability(outputs).table)
    with pytest.raises(assay.errors.DesignError, match="only a study folder has outputs"):
        assay.read(pl.DataFrame({"item": ["a"], "annotator": ["b"], "label": [1]}), what="outputs")
    with pytest.raises(assay.errors.StudyError, match="names no systems"):
        assay.read(write_study(study / "other", items=3), what="outputs")


@pytest.mark.parametrize("names", [("m1", "m2", "m3"), ("gpt-3.5", "vicuna-7b", "flan-t5-xxl")])
def test_benchmarks_with_different_systems_have_the_pairs_of_each(names, tmp_path, run):
    """A system without one benchmark has pairs in the other; one without any benchmark is refused."""
    reading = ("--annotator", "model", "--label", "text", "--repeat", "number", "--scale", "text")

    def write(name, systems):
        rows = [
            {"item": f"{name}{n}", "model": system, "number": k, "text": f"{system if k else 'word'} {n} {k}"}
            for n in range(5) for system in systems for k in range(3)
        ]  # fmt: skip
        pl.DataFrame(rows).write_ndjson(tmp_path / f"{name}.jsonl")
        return tmp_path / f"{name}.jsonl"

    files = write("one", names[:2]), write("two", names)
    code, out, _ = run("separability", *files, *reading, "--humans", ",".join(names), "--json")
    assert code == 0, out
    found = {(r["first"], r["second"], r["group"]) for r in json.loads(out)["table"]}
    assert {frozenset((a, b)) for a, b, group in found if group == "one"} == {frozenset(names[:2])}
    pairs = {frozenset(pair) for pair in itertools.combinations(names, 2)}
    assert {frozenset((a, b)) for a, b, group in found if group == "two"} == pairs
    code, _, err = run("separability", *files, *reading, "--humans", f"{names[0]},m9")
    assert code == 2
    assert "'m9' is not in" in err
