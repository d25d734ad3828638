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
