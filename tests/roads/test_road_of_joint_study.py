"""One study for ratings of items, ratings of outputs, pairs and triplets of outputs: one folder, ids that join."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from annotating import TaskOnPage, write_study
from systems import BETTER, TASK, outputs
from walking import Asked, answer, begin_systems, judges, models, said

import assay
from assay.errors import DesignError, StudyError
from assay.judging.run import judge_study
from assay.study.definition import load_study
from assay.study.store.connection import open_store
from assay.study.store.people import tasks_of

pytestmark = pytest.mark.slow  # a whole workflow

CLEAR = {"name": "clear", "text": "How clear is the dialogue?", "scale": "1-5", "show": ["dialogue"]}
GOOD = {"name": "good", "text": "How good is the summary?", "scale": "1-5", "of": "summary", "show": ["dialogue"]}
ODD = {"name": "odd", "text": "Which differs most?", "scale": "odd-one-out", "options": ["summary"], "show": []}
EVERY = [TASK, CLEAR, GOOD, BETTER, ODD]
N = 8
"""Dialogues; each has 10 outputs and 3 pairs of them."""


PARTS = {"comparisons": {"pairs": 3}, "questions": EVERY, "people": {"pairs": 1, "instructions": "Read everything."}}


def edit(folder: Path, **parts: Any) -> None:
    """Change keys of the study's file."""
    written = folder / "study.yaml"
    written.write_text(yaml.safe_dump(yaml.safe_load(written.read_text("utf-8")) | parts), encoding="utf-8")


def reply(asked: Asked) -> str:
    """Four of five, the first of two, and A is the odd one."""
    text = said(asked)
    label = "A" if "Which differs" in text else "first" if "Which summary" in text else 4
    return json.dumps({"label": label})


def rule(chance: random.Random) -> Any:
    """Labels at random."""

    def label(_: str, task: TaskOnPage) -> dict[str, Any]:
        return {q.id: json.loads(chance.choice(q.values)) for q in task.questions}

    return label


@pytest.fixture
def study(tmp_path: Path, run: Any) -> Path:
    return begin_systems(run, tmp_path / "my-study", n=N, **PARTS)


def test_one_study_answers_every_question(study, run):
    asked = models(reply)
    with pytest.raises(StudyError, match=r"pairs for annotators are not drawn yet \(there are no outputs\)"):
        answer(study, ("ana",), rule(random.Random(1)))
    judge_study(load_study(study), judges=["alpha", "beta"])
    assert answer(study, ("ana", "ben", "cem"), rule(random.Random(1))) > 3 * (N + 10 * N + 3 * N)
    code, out, _ = run("judge", study)
    assert code == 0, out
    # No request names the system or the number of an output.
    assert not [one for one in asked if any(word in said(one) for word in ("system: ", "alpha", "beta", "output: "))]
    table = assay.read(study)
    assert table.criteria == ("better", "clear", "good", "odd")
    n_triplets = table.where(criterion="odd").items.height
    counts = dict(table.labels.filter(annotator="m1").group_by("criterion").len().rows())
    assert counts == {"clear": N, "good": 10 * N, "better": 3 * N, "odd": n_triplets}
    kinds = dict(table.items.group_by("item_kind").len().rows())
    assert kinds == {"item": N, "output": 10 * N, "pair": 3 * N, "triplet": n_triplets}
    # Every item belongs to a dialogue, and the ids of outputs join ratings, votes, triplets and texts.
    assert set(table.items["document"]) == {f"d{n:02}" for n in range(N)}
    rated = set(assay.read(study, question="good").items["item"])
    texts = assay.read(study, what="outputs").labels
    assert rated == set(texts["output_id"])
    votes, triplets = assay.read(study, what="votes").items, assay.read(study, what="triplets").items
    assert rated.issuperset([*votes["first_item"], *votes["second_item"], *triplets["third_item"]])
    text_of = dict(texts.select("output_id", "label").iter_rows())
    assert [text_of[name] for name in votes["second_item"]] == votes["second_text"].to_list()
    commands = [
        ("look",), ("look", "--question", "good"), ("look", "--what", "votes"), ("look", "--what", "outputs"),
        ("agreement",), ("agreement", "--question", "odd"), ("disagreement", "--question", "good"),
        ("alt-test", "--expertise", "crowd"), ("alt-test", "--question", "good", "--expertise", "crowd"),
        ("card", "--question", "good", "--expertise", "crowd"), ("probes",), ("ratings",), ("consistency",),
        ("separability",), ("ideas",), ("study", "status"), ("study", "responses"),
        ("g-study", "--question", "good", "--object", "i", "--design", "i x r", "--facets", "i=item,r=annotator"),
        ("report", "--expertise", "crowd", "--output", study / "report.html"),
    ]  # fmt: skip
    for command, *options in commands:
        name, *options = (command, *options) if command != "study" else (command, options[0], *options[1:])
        place = [options.pop(0), study] if name == "study" else [study]
        code, out, err = run(name, *place, *options)
        assert code == 0, (name, options, out, err)
    page = (study / "report.html").read_text()
    parts = [
        "By criterion", "Agreement among annotators", "Disagreements among annotators",
        "Severity and variability of raters",
        "Ranking of systems by humans and judges", "Consistency of votes", "Separability of systems",
        "Validity of similarity measures", "Generalizability",
    ]  # fmt: skip
    assert [part for part in parts if part not in page] == []
    assert "first_output" not in page
    for what, rows in {"labels": len(table), "votes": 3 * N * 4, "triplets": 2 * n_triplets, "outputs": 10 * N}.items():
        code, out, _ = run("export", study, study / f"{what}.csv", "--what", what)
        assert (code, pl.read_csv(study / f"{what}.csv").height) == (0, rows)


def test_parts_come_one_after_the_other(study):
    """Items, then outputs, pairs and triplets; each session displays only the questions about its items."""
    models(reply)
    judge_study(load_study(study), judges=["alpha", "beta"])
    seen: list[tuple[int, ...]] = []

    def note(_: str, task: TaskOnPage) -> dict[str, Any]:
        seen.append(tuple(len(q.values) for q in task.questions))
        return rule(random.Random(len(seen)))(_, task)

    answer(study, ("ana",), note)
    assert seen[: 11 * N] == [(5,)] * (11 * N)
    assert set(seen[11 * N :]) == {(3,)}
    with open_store(load_study(study)) as store, store.reading() as db:
        tasks = tasks_of(db, "ana")
    roles = [(task.session, task.item.count(" | ")) for task in tasks]
    assert list(dict.fromkeys(roles)) == [(1, 0), (2, 1), (3, 3), (4, 5)]
    assert [roles.count(one) for one in ((1, 0), (2, 1), (3, 3))] == [N, 10 * N, 3 * N]


def test_ratings_of_the_outputs_of_one_system(tmp_path):
    """No pairs: one system is enough, and the outputs are rated once all exist."""
    models(reply)
    recorded = [{"name": "alpha", "provider": "recorded", "file": "outputs.jsonl"}]
    items = [{"item": f"d{n:02}", "dialogue": f"What was said in d{n:02}."} for n in range(3)]
    tables = {"outputs.jsonl": outputs([one["item"] for one in items], alike=1)}

    study = write_study(
        tmp_path / "study",
        items=items,
        tables=tables,
        questions=[TASK, GOOD],
        systems=recorded,
        judges=judges("m1"),
    )
    with pytest.raises(StudyError, match="the outputs for annotators are not stored yet"):
        answer(study, ("ana",), rule(random.Random(1)))
    done = judge_study(load_study(study))
    assert (done.answered, done.notes) == (15 + 15, ("15 outputs of 1 system to label",))
    assert answer(study, ("ana",), rule(random.Random(1))) == 15
    table = assay.read(study)
    assert (table.items["system"].unique().to_list(), table.reading.clusters) == (["alpha"], "document")
    with pytest.raises(DesignError, match="no question of this study is on the scale preference"):
        assay.read(study, what="votes")
    with pytest.raises(DesignError, match=r"question 'goood' is not in study\.yaml; did you mean 'good'"):
        assay.read(study, question="goood")


def test_question_is_about_outputs_no_more(study):
    models(reply)
    judge_study(load_study(study))
    before = len(assay.read(study, question="good"))
    edit(study, questions=[TASK, CLEAR, BETTER])
    judge_study(load_study(study), changed="new-version")
    table = assay.read(study)
    assert (before, table.criteria) == (10 * N, ("better", "clear"))
    assert "output" not in table.items["item_kind"].to_list()
    edit(study, questions=EVERY)
    judge_study(load_study(study))
    assert len(assay.read(study, question="good")) == 10 * N


def test_show_of_the_author_is_refused(study):
    edit(study, questions=[TASK, {**GOOD, "show": ["dialogue", "system"]}, BETTER])
    with pytest.raises(StudyError, match="'good' shows the column 'system', which names the author of a text"):
        judge_study(load_study(study))
    edit(study, questions=EVERY)
    (study / "my-study.jsonl").write_text(json.dumps({"item": "d00", "dialogue": "x", "system": "y"}) + "\n")
    with pytest.raises(StudyError, match="the items' column 'system' is reserved for the outputs of systems; rename"):
        judge_study(load_study(study))
