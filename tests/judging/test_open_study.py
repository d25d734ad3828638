"""`assay.open_study`: a study in a notebook that is killed and resumed, its status, and its labels."""

from __future__ import annotations

import asyncio

import polars as pl
import pytest
import yaml
from chat_server import ChatServer, Say
from own_process import ask_in_notebook, start

import assay
from assay.errors import ChangedStudyError, DesignError, JudgeError, StudyError
from assay.judging.services import client
from waiting import wait_until

PRICED = {"price": {"input": 1.0, "output": 10.0}}


def status_of(study):
    return {row.pop("annotator"): row for row in assay.open_study(study.folder).status().table.to_dicts()}


@pytest.mark.slow
def test_open_study_killed_in_a_notebook_continues_and_asks_each_once(make_study):
    flying = 0
    with ChatServer(lambda n, body, server: Say(delay=0.01)) as server:
        folder = make_study(90, server.url, judge=PRICED).folder
        study = assay.open_study(folder)
        assert study.status().remaining == 90
        for goal in (25, 60):
            process = start(ask_in_notebook, folder)
            wait_until(lambda goal=goal: server.count >= goal, "the run does not go on", every=0.001)
            process.kill()
            process.join()
            wait_until(server.is_idle, "the server still answers a run that was killed")
            status = study.status()
            assert 0 < status.remaining < 90
            flying = server.count - (90 - status.remaining)
        done = study.ask(progress=False)
        assert server.count == 90 + flying, "only calls without a stored answer are made again"
        assert done.answered == status.remaining
    status = study.status()
    assert (status.remaining, status.rows[0]["labels"]) == (0, 90)
    assert status.spent == pytest.approx(90 * 0.0002)
    assert study.labels().labels.height == 90
    assert study.ask(progress=False).answered == 0


@pytest.fixture
def without_waits(monkeypatch):
    """Requests are repeated at once, instead of after up to half a minute."""

    async def no_wait(self, seconds, stopping):
        await asyncio.sleep(0)

    monkeypatch.setattr(client.Clock, "wait", no_wait)


@pytest.mark.slow
@pytest.mark.usefixtures("without_waits")
def test_status_counts_labels_of_judges_and_annotators(make_study):
    def reply(n, body, server):
        text = str(body["messages"])
        return Say("no idea") if "q00001" in text else Say(status=500) if "q00002" in text else Say()

    with ChatServer(reply) as server:
        study = make_study(4, server.url, judge=PRICED, labels="people.csv")
        people = [("q00000", "ann", 3), ("q00001", "ann", 2), ("q00000", "bob", 4)]
        frame = pl.DataFrame(people, schema=["item", "annotator", "label"], orient="row")
        frame.write_csv(study.folder / "people.csv")
        assert status_of(study)["m1"] == {"kind": "judge", "labels": 0, "missing": 0, "failed": 0, "remaining": 4}
        assert assay.open_study(study.folder).ask(progress=False).answered == 2
    found = assay.open_study(study.folder).status()
    assert status_of(study) == {
        "m1": {"kind": "judge", "labels": 2, "missing": 1, "failed": 1, "remaining": 1},
        "ann": {"kind": "human", "labels": 2, "missing": None, "failed": None, "remaining": None},
        "bob": {"kind": "human", "labels": 1, "missing": None, "failed": None, "remaining": None},
    }
    assert found.summary().splitlines()[:3] == [
        "m1: 2 labels, 1 unparseable, 1 remaining (1 failed).", "ann: 2 labels.", "bob: 1 label.",
    ]  # fmt: skip
    assert found.summary().splitlines()[3].startswith("1 label remaining; $0.0")
    assert found.to_dict()["remaining"] == found.remaining == 1
    assert found.to_dict()["rows"][0]["failed"] == 1
    assert found.summary() in found._repr_html_()


@pytest.mark.slow
def test_open_study_reads_an_edit_at_the_next_call(make_study):
    with ChatServer(lambda n, body, server: Say()) as server:
        loaded = make_study(5, server.url)
        study = assay.open_study(loaded.folder)
        study.ask(progress=False)
        file = loaded.folder / "study.yaml"
        content = yaml.safe_load(file.read_text())
        content["questions"][0]["text"] = "How bad is it?"
        file.write_text(yaml.safe_dump(content))
        status = study.status()
        assert (status.remaining, status.lost != "") == (5, True)
        assert status.summary().startswith(status.lost)
        with pytest.raises(ChangedStudyError, match="changed='new-version'"):
            study.ask(progress=False)
        assert study.ask(changed="new-version", progress=False).answered == 5
        assert server.count == 10
    assert study.labels().labels.equals(assay.read(loaded.folder).labels)


@pytest.mark.slow
def test_open_study_continues_a_cache_of_functions(tmp_path):
    rows = [{"item": name, "text": name} for name in "abc"]
    calls = []

    def mine(row):
        calls.append(row["item"])
        if len(calls) == 2:
            raise ValueError("no text")
        return 4

    assay.ask(rows, {"mine": mine}, question="?", scale="1-5", cache=tmp_path, progress=False, concurrency=1)
    study = assay.open_study(tmp_path)
    failed = study.status().rows[0]
    assert (failed["labels"], failed["failed"], failed["remaining"]) == (2, 1, 1)
    with pytest.raises(JudgeError, match=r"judge 'mine' is a function; give it with ask\({'mine': function}\)"):
        study.ask()
    with pytest.raises(DesignError, match=r"judge 'minr' is not in study\.yaml; did you mean 'mine'"):
        study.ask({"minr": mine})
    study.ask({"mine": mine}, progress=False)
    assert study.labels().labels.height == 3
    assert len(calls) == 4
    assert "All labels collected" in study._repr_html_()


@pytest.mark.usefixtures("without_waits")
def test_open_study_refuses_folders_without_a_study(tmp_path, make_study):
    with pytest.raises(StudyError, match=r"study\.yaml"):
        assay.open_study(tmp_path / "none")
    study = assay.open_study(make_study(2).folder)
    with pytest.raises(StudyError, match="no label"):
        study.labels()
    with pytest.raises(JudgeError, match=r"'m2' is not in study\.yaml"):
        study.ask(judges=["m2"])
    with ChatServer(lambda n, body, server: Say(status=401)) as server:
        refused = assay.open_study(make_study(2, server.url).folder)
        with pytest.raises(JudgeError, match="HTTP 401"):
            refused.ask(progress=False)
    (study.folder / "study.yaml").unlink()
    assert "study.yaml" in study._repr_html_()


def three_questions(folder, judges=("mine",)):
    """A study of twelve notes with three questions about each, answered by functions."""
    rows = [{"id": f"n{k}", "note": f"{'calm' if k % 3 else 'loud'} note {k}"} for k in range(12)]
    pl.DataFrame(rows).write_csv(folder / "notes.csv")
    study = {
        "items": {"file": "notes.csv", "id": "id"},
        "questions": [
            {"name": "tone", "text": "Rate the note.", "scale": "nominal:calm,loud"},
            {"name": "Clear style", "text": "Rate the note.", "scale": "1-5"},
            {"name": "score", "text": "Rate the note.", "scale": "1-9"},
        ],
        "judges": [{"name": name, "provider": "python", "model": f"ask:{name}"} for name in judges],
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    return assay.open_study(folder)


def test_function_that_returns_labels_of_several_questions_is_called_once_for_them(tmp_path):
    calls = []

    def mine(row):
        calls.append(row["item"])
        number = len(calls) % 5 + 1
        return {"tone": row["note"].split()[0], "clear_style": number, "score": {"value": number}, "reason": "so"}

    study = three_questions(tmp_path)
    assert (study.ask({"mine": mine}).answered, sorted(calls)) == (36, sorted(f"n{k}" for k in range(12)))
    labels = study.labels().labels.pivot("criterion", index="item", values="label")
    assert labels["Clear style"].cast(pl.Float64).to_list() == labels["score"].cast(pl.Float64).to_list()
    assert {*labels["tone"]} == {"calm", "loud"}
    assert study.ask({"mine": mine}).answered == 0


def test_function_that_returns_none_abstains_and_is_not_asked_again(tmp_path):
    calls = []

    def rare(row):
        calls.append(row["item"])
        return {"tone": row["note"].split()[0], "clear style": None, "score": None}

    study = three_questions(tmp_path, ("rare",))
    found = study.ask({"rare": rare})
    assert (found.answered, found.missing, found.reasons) == (12, 24, {"rare: the judge gives no label": 24})
    assert len(calls) == 12
    items = [{"item": f"i{k}", "text": str(k)} for k in range(60)]
    sparse = assay.ask(
        items, {"f": lambda row: 3 if row["text"] == "59" else None}, question="How?", scale="1-5",
        cache=tmp_path / "cache", progress=False,
    )  # fmt: skip
    assert sparse.labels["item"].to_list() == ["i59"]


def test_errors_about_functions_name_what_the_user_wrote(tmp_path):
    study = three_questions(tmp_path, ())
    entry = r"\{name: mine, provider: python, model: 'ask:mine'\}"
    with pytest.raises(DesignError, match=rf"judge 'mine' is not in study.yaml; .* add to its judges: {entry}"):
        study.ask({"mine": len})
    how = {"scale": "1-5", "cache": tmp_path / "cache", "progress": False}
    items, judges = [{"item": "a", "text": "x"}], {"f": lambda row: {"points": 3}}
    with pytest.raises(DesignError, match=r"question is one text; got a dict\. .* assay\.open_study"):
        assay.ask(items, judges, question={"tone": "How?"}, **how)
    for more, said in (
        ({"scale": "good-bad"}, r"scale: 'good-bad' is not a scale"),
        ({"show": ["body"]}, r"'label' shows the column 'body'"),
        ({"repeats": 0}, r"judge 'f', repeats: "),
    ):
        with pytest.raises(StudyError, match=f"^{said}"):
            assay.ask(items, judges, question="How?", **{**how, **more})
    with pytest.raises(JudgeError, match=r"a dict needs the key label, score or value, .*; it has points"):
        assay.ask(items, judges, question="How?", **how)
