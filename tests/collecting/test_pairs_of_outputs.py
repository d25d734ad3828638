"""From items to votes in one study: systems write, separability chooses, people and judges compare."""

from __future__ import annotations

import json

import polars as pl
import pytest
import sqlalchemy as sa
from annotating import Served
from systems import BETTER, TASK, WORDS, Scripted, outputs, prefers_beta, systems_study

import assay
from assay.cli.app import main
from assay.data.formats.exports import write
from assay.errors import ChangedStudyError, JudgeError, StudyError
from assay.judging.dry_run import estimate_study, requests_of
from assay.judging.plan import store_outputs
from assay.judging.run import judge_study
from assay.reading import study_outputs
from assay.study.definition import load_study
from assay.study.store import tables
from assay.study.store.connection import open_store
from assay.study.store.items import PAIRS


def judged(folder, rule=prefers_beta, **options):
    return judge_study(load_study(folder), providers={"m1": Scripted(rule)}, **options)


@pytest.mark.served
def test_from_items_to_ratings(tmp_path, capsys):
    folder = systems_study(tmp_path / "study")
    run = judged(folder)
    assert (run.answered, run.left) == (2 * 12 * 5 + 6 * 5, 0)
    assert "30 pairs of outputs drawn, of 6 of 12 items, chosen by separability (top)" in run.summary()

    # Separability reads the outputs; the most separable items are the chosen ones.
    written = study_outputs(load_study(folder))
    assert len(written) == 120
    alike = assay.separability(written, method="none").items.sort("separability", descending=True)
    chosen = set(alike["item"].head(6))
    assert chosen.isdisjoint({"d00", "d01", "d02", "d03"})

    with Served(folder, ("ana", "ben")) as served:
        for name, better in (("ana", "alpha"), ("ben", None)):
            person = served.annotator(name)
            for _ in range(30):
                task = person.work()[0]
                page = person.send("GET", "/work").text
                assert not [w for w in ("alpha", "beta", "separab", " | ") if w in page], "the author is not sent"
                left = next(
                    line
                    for line in task.text.splitlines()
                    if any(w in line.split() for ws in WORDS.values() for w in ws)
                )
                is_alpha = any(word in WORDS["alpha"] for word in left.split())
                label = 0 if better is None else -1 if is_alpha == (better == "alpha") else 1
                question = task.questions[0]
                assert sorted(map(json.loads, question.values)) == ["first", "second", "tie"]
                words = {-1: "first", 0: "tie", 1: "second"}
                person.keep(task, {question.id: words[label]})
            assert person.pages()[1]["end"]["kind"] == "done"

    votes = assay.read(folder)
    assert (len(votes), votes.criteria, votes.humans, votes.judges) == (90, ("better",), ("ana", "ben"), ("m1",))
    table = votes.labels.join(votes.items, on="item")
    assert set(table["pair_of"]) == chosen
    assert table.group_by("annotator", "pair_of").len()["len"].to_list() == [5] * 18
    delta = dict(alike.select("item", "separability").rows())
    assert table["separability"].to_list() == pytest.approx([delta[item] for item in table["pair_of"]])
    # Sides were randomised, and labels of positions were converted to labels of systems.
    assert set(table["order"]) == {"first_text>second_text", "second_text>first_text"}
    said = {name: set(rows["label"]) for (name,), rows in table.group_by("annotator")}
    assert said == {"ana": {-1}, "ben": {0}, "m1": {1}}

    sets = assay.consistency(votes, by="separability", who=["annotators"], method="none").sets
    assert sets["n"].to_list() == [5] * 18
    assert dict(sets.group_by("annotator").agg(pl.col("consistency").mean()).rows()) == {"ana": 1, "ben": 0, "m1": 1}
    board = assay.ratings(votes, systems=("alpha", "beta"), method="none", who="together")
    assert dict(board.rows.select("system", "wins").rows()) == {"alpha": 30, "beta": 30}
    # The texts are in the table with the votes, so that ratings can be corrected for length.
    assert {"first_text", "second_text"} <= set(votes.items.columns)
    assert board.run.facts["items"] == 6

    # The same by way of CSV and the command line.
    write(votes, tmp_path / "votes.csv")
    for source in (str(folder), f"{tmp_path / 'votes.csv'} --scale preference --judges m1"):
        with pytest.raises(SystemExit, match="0"):
            main(["ratings", *source.split(), "--json"])
        found = json.loads(capsys.readouterr().out)
        assert found["table"] == json.loads(json.dumps(assay.ratings(votes).to_dict()["table"]))


@pytest.mark.slow
def test_existing_pairs_are_not_drawn_again(tmp_path):
    folder = systems_study(tmp_path / "study")
    study = load_study(folder)
    judged(folder)
    with open_store(study) as store:
        assert store_outputs(study, store) == ((), True)
        with store.writing() as db:
            db.execute(sa.delete(tables.settings).where(tables.settings.c.key == PAIRS))
        words, there = store_outputs(study, store)
    assert there
    assert words[-1].startswith("30 pairs of outputs drawn, of 6 of 12 items, chosen by separability (top)")


@pytest.mark.slow
def test_all_pairs_of_an_item_on_one_page(tmp_path):
    folder = systems_study(tmp_path / "study", people={"together": True})
    judged(folder)
    with Served(folder) as served:
        person = served.annotator()
        tasks = [task for task in person.work() if task.page == 1]
        page = person.send("GET", "/work").text
        assert len(tasks) == 5
        assert len({tuple(task.text.split()) for task in tasks}) == 5
        pages = len({task.page for task in person.work()})
        assert page.count("What was said in") == 2 * pages  # the text, and the bar into which it folds on a phone


@pytest.mark.slow
def test_second_run_sends_no_requests_and_keeps_the_pairs(tmp_path):
    folder = systems_study(tmp_path / "study")
    judged(folder)
    pairs = assay.read(folder).items["item"].to_list()
    again = judged(folder, rule=lambda request: pytest.fail("asked twice"))
    assert (again.answered, again.left) == (0, 0)
    # Updating from the folder again does not change the pairs.
    content = (folder / "study.yaml").read_text()
    (folder / "study.yaml").write_text(content.replace("name: A study", "name: Another name"))
    judged(folder, rule=lambda request: pytest.fail("asked twice"))
    assert assay.read(folder).items["item"].to_list() == pairs


@pytest.mark.slow
def test_requests_to_systems_and_judges(tmp_path):
    folder = systems_study(tmp_path / "study")
    judged(folder)
    shown = {one.judge: one for one in requests_of(load_study(folder))}
    system = shown["alpha"].body
    assert system["temperature"] == 0.5
    assert shown["alpha"].times == 5
    words = json.dumps(system["messages"])
    assert "Summarize the dialogue." in words
    assert not [w for w in ("judge", "annotate", "do not follow", "label") if w in words.lower()]
    words = json.dumps(shown["m1"].body["messages"])
    assert "What was said in" in words
    assert not [w for w in ("alpha", "beta", "separab", "pair_of", "output") if w in words]


def test_pairs_wait_for_every_output(tmp_path):
    rows = [row for row in outputs([f"d{n:02d}" for n in range(12)], 4) if row["item"] != "d05"]
    folder = systems_study(tmp_path / "study", rows=rows)
    estimate = estimate_study(load_study(folder)).summary()
    assert "each judge also compares 30 pairs of them" in estimate
    with pytest.raises(StudyError, match=r"not drawn yet \(there are no outputs\).*assay judge"):
        Served(folder)
    run = judged(folder, rule=lambda request: pytest.fail("no pair is drawn yet"))
    assert run.left == 10
    assert "10 outputs of the systems are not there yet; pairs are drawn once all of them are" in run.summary().lower()
    with pytest.raises(JudgeError, match=r"10 outputs.*Ask the systems first: assay judge"):
        judged(folder, judges=["m1"])
    with pytest.raises(StudyError, match=r"not drawn yet \(10 outputs missing\)"):
        Served(folder)
    whole = outputs([f"d{n:02d}" for n in range(12)], 4)
    (folder / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in whole))
    assert judged(folder).answered == 10 + 30


@pytest.mark.slow
def test_changed_outputs_give_new_pairs_and_require_a_decision_on_old_votes(tmp_path):
    folder = systems_study(tmp_path / "study")
    judged(folder)
    content = (folder / "study.yaml").read_text()
    (folder / "study.yaml").write_text(content.replace("Summarize the dialogue.", "Summarize it in two sentences."))
    with pytest.raises(ChangedStudyError, match="120 answers to 'summary'"):
        judged(folder)
    assert len(assay.read(folder)) == 30, "reading does not invalidate answers"
    # Fewer items: the votes on the removed ones also require a decision.
    (folder / "study.yaml").write_text(content.replace("top: 6", "top: 4"))
    with pytest.raises(StudyError, match=r"not drawn yet \(all outputs exist\)"):
        Served(folder)
    with pytest.raises(ChangedStudyError, match=r"10 answers to 'better' \(10 by judges\)"):
        judged(folder)
    run = judged(folder, changed="new-version")
    assert run.answered == 0
    assert len(assay.read(folder)) == 20


@pytest.mark.slow
def test_outputs_from_file_are_completed_by_a_model(tmp_path, monkeypatch):
    rows = [row for row in outputs([f"d{n:02d}" for n in range(12)], 4) if row["item"] < "d10"]
    live = {"provider": "openai", "model": "small", "base_url": "http://127.0.0.1:9/v1", "file": "outputs.jsonl"}
    folder = systems_study(tmp_path / "study", rows=[{k: v for k, v in row.items() if k != "repeat"} for row in rows],
                           systems=[live | {"name": name} for name in WORDS])  # fmt: skip
    sampled = Scripted(lambda request: f"{request.about['item']} {request.about['repeat']}")
    monkeypatch.setattr("assay.judging.services.providers.Service", lambda *_, **__: sampled)
    judged(folder)
    written = study_outputs(load_study(folder)).labels
    assert {request.about["item"] for request in sampled.asked} == {"d10", "d11"}
    assert len(sampled.asked) == 2 * 2 * 5
    mine = written.filter((pl.col("item") == "d00") & (pl.col("annotator") == "alpha")).sort("repeat")
    assert mine["label"].to_list() == [r["text"] for r in rows if (r["item"], r["system"]) == ("d00", "alpha")]


def test_empty_output_is_missing_and_its_item_is_not_compared(tmp_path):
    rows = outputs([f"d{n:02d}" for n in range(12)], 4)
    for row in rows:
        if (row["item"], row["system"]) == ("d07", "alpha") and row["repeat"] < 5:
            row["text"] = " "
        if (row["item"], row["system"], row["repeat"]) == ("d08", "beta", 2):
            row["text"] = ""
    folder = systems_study(tmp_path / "study", rows=rows, comparisons={"pairs": 2})
    run = judged(folder)
    assert run.missing == 5
    assert "5 outputs could not be used: empty or cut off" in run.summary()
    assert "1 item (d07) without two outputs of a system, which is not compared there" in run.summary()
    votes = assay.read(folder)
    assert set(votes.items["pair_of"]) == {f"d{n:02d}" for n in range(12)} - {"d07"}
    assert "5" in " ".join(study_outputs(load_study(folder)).reading.lines())


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"systems": [{"name": "alpha", "model": "m"}]}, "systems: must be at least two"),
        ({"systems": []}, "requires two columns to choose between, or one question and systems"),
        ({"questions": [TASK, BETTER | {"options": ["sumary"]}]}, "question 'sumary' is not in those; did you mean"),
        ({"questions": [TASK]}, "this study is about the outputs of 0"),
        ({"judges": [{"name": "beta", "model": "m"}]}, "'beta' is a system; give the judge another name"),
        ({"labels": "labels.csv"}, "labels: cannot be used"),
        ({"comparisons": {"items": {"best": 3}}}, "input should be 'weighted', 'stratified' or 'top'"),
        ({"comparisons": {"items": 0}}, "comparisons.items: must be 1 or more"),
        ({"comparisons": {"items": {"top": 0}}}, "must be 1 or more"),
        ({"comparisons": {"items": {"top": 3, "weighted": 2}}}, "must be a number, or one choice with"),
        ({"systems": [{"name": n, "model": "m", "repeats": 1} for n in "ab"]}, "repeats: must be 2 to 100"),
        ({"systems": [{"name": n, "model": "m", "strategy": "few-shot"} for n in "ab"]}, "strategy: is for judges"),
    ],
)  # fmt: skip
def test_invalid_comparisons_are_refused_with_message(tmp_path, parts, words):
    folder = systems_study(tmp_path / "study", **parts)
    with pytest.raises(StudyError) as refused:
        load_study(folder)
    assert words in str(refused.value)


def test_outputs_are_checked_when_collected(tmp_path):
    folder = systems_study(tmp_path / "a", comparisons={"similarity": "rogue-1"})
    with pytest.raises(StudyError, match=r"comparisons.similarity: similarity 'rogue-1'.*did you mean 'rouge-1'"):
        judged(folder)
    rows = outputs([f"d{n:02d}" for n in range(12)], 4)
    folder = systems_study(tmp_path / "b", rows=rows[1:])
    with pytest.raises(StudyError, match=r"has 4 outputs of 'alpha' on item 'd00', but 5 are required.*repeats: 4"):
        judged(folder)
    folder = systems_study(tmp_path / "c")
    items = (folder / "items.jsonl").read_text().replace('"dialogue"', '"first"')
    (folder / "items.jsonl").write_text(items)
    with pytest.raises(StudyError, match="column 'first' is reserved for the outputs of systems; rename it"):
        judged(folder)
