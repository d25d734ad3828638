"""What is the same question and what is not: versions, requests, contents."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')
pytest.importorskip("alembic", reason='a study needs the extra "judge"')
pytest.importorskip("aiohttp", reason='asking models needs the extra "judge"')

from assay.errors import ChangedStudyError
from assay.judging import prompts
from assay.judging.dry_run import estimate_study
from assay.judging.run import judge_study
from assay.reading import study_labels
from assay.study.definition import Study, load_study
from assay.study.store import tables, work
from assay.study.store.work import Changed

A, B = "How good is it?", "How very good is it?"


class Folder:
    """A study of six items with two recorded judges and a file of labels, which is edited."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        question = {"name": "quality", "text": A, "scale": "1-5", "show": ["text"]}
        recorded = {"provider": "recorded", "file": "replies.jsonl"}
        few = {"strategy": "few-shot", "demonstrations": {"count": 2}}
        self.content = {
            "items": {"file": "items.csv", "document": "doc"},
            "questions": [question],
            "labels": "labels.csv",
            "judges": [{"name": "plain"} | recorded, {"name": "shots"} | recorded | few],
        }
        self.items("note", ["n"] * 6)
        rows = "".join(f"i{n},ben,{n % 5 + 1}\n" for n in range(6))
        (path / "labels.csv").write_text("item,annotator,label\n" + rows)
        replies = [
            {"item": f"i{n}", "judge": judge, "reply": json.dumps({"label": (n + k) % 5 + 1})}
            for k, judge in enumerate(("plain", "shots"))
            for n in range(6)
        ]
        (path / "replies.jsonl").write_text("".join(json.dumps(one) + "\n" for one in replies))
        self.save()

    def items(self, column: str, values: list[str], texts: dict[int, str] | None = None) -> None:
        texts = {n: f"Text {n}." for n in range(6)} | (texts or {})
        rows = "".join(f"i{n},{texts[n]},d{n},{values[n]}\n" for n in range(6))
        (self.path / "items.csv").write_text(f"item,text,doc,{column}\n" + rows)

    def save(self) -> Study:
        (self.path / "study.yaml").write_text(yaml.safe_dump(self.content, sort_keys=False))
        return self.study

    @property
    def study(self) -> Study:
        return load_study(self.path)

    def ask(self, **question: object) -> Study:
        """The study with its question changed in this."""
        self.content["questions"][0] |= question
        return self.save()

    def judge(self, number: int, **change: object) -> Study:
        """The study with one of its judges changed in this."""
        self.content["judges"][number] |= change
        return self.save()

    def rows(self, query: str) -> list[tuple[object, ...]]:
        with sqlite3.connect(self.path / "study.db") as db:
            found = db.execute(query).fetchall()
        db.close()
        return found

    def versions(self) -> list[tuple[object, ...]]:
        return self.rows("select version, current from questions order by id")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "study")


def judged(folder: Folder, changed: Changed | None = None) -> Study:
    """The study after the judges have answered all open questions."""
    judge_study(folder.study, changed=changed)
    return folder.study


# -- what is the same question ----------------------------------------------------------------------


@pytest.mark.slow
def test_question_that_is_edited_and_edited_back_has_its_answers_again(folder: Folder) -> None:
    first = judge_study(folder.study)
    assert first.answered == 12
    assert judge_study(folder.ask(text=B), changed="new-version").answered == 12
    assert judge_study(folder.ask(text=A)).answered == 0, "and no judge is called"
    assert folder.versions() == [(1, 1), (2, 0)]
    labels = study_labels(folder.study)
    assert (len(labels), labels.judges) == (18, ("plain", "shots"))
    assert judge_study(folder.ask(text=B)).answered == 0
    assert folder.versions() == [(1, 0), (2, 1)]


HARMLESS: dict[str, Callable[[Folder], object]] = {
    "a key": lambda f: f.ask(scale=["bad", "good"], keys={"good": "g"}),
    "optional": lambda f: f.ask(scale=["bad", "good"], optional=True),
    "a trailing space": lambda f: f.ask(text=f"{A} ", guidelines=" \n", scale=["bad", "good"]),
    "the same scale in other words": lambda f: f.ask(scale="nominal:bad,good"),
    "show says what is shown anyway": lambda f: f.ask(show=["text"]),
    "another hidden column": lambda f: f.items("mood", ["calm"] * 6),
    "a hidden column with other values": lambda f: f.items("note", ["m"] * 6),
    "where replies are cut off": lambda f: f.judge(0, max_tokens=50),
    "a price, and where it runs": lambda f: f.judge(0, price={"input": 1, "output": 2}, base_url="http://localhost/v1"),
    "what is empty said": lambda f: f.ask(meanings={}, guidelines="", order=None),
}


@pytest.mark.slow
@pytest.mark.parametrize("change", HARMLESS.values(), ids=HARMLESS)
def test_invisible_changes_keep_the_version(folder: Folder, change: Callable[[Folder], object]) -> None:
    folder.judge(0, file="words.jsonl")
    folder.judge(1, file="words.jsonl")
    folder.ask(scale=["bad", "good"])
    (folder.path / "labels.csv").write_text("item,annotator,label\n" + "".join(f"i{n},ben,good\n" for n in range(6)))
    said = (folder.path / "replies.jsonl").read_text().splitlines()
    words = [{**json.loads(line), "reply": '{"label": "bad"}'} for line in said]
    (folder.path / "words.jsonl").write_text("".join(json.dumps(one) + "\n" for one in words))
    assert judge_study(folder.study).answered == 12
    change(folder)
    folder.save()
    assert judge_study(folder.study).answered == 0
    assert folder.versions() == [(1, 1)]
    assert len(study_labels(folder.study)) == 18


OF_MODELS: dict[str, Callable[[Folder], object]] = {
    "temperature": lambda f: f.judge(0, temperature=0.5),
    "a parameter": lambda f: f.judge(0, params={"top_p": 0.5}),
    "a prompt": lambda f: (f.judge(0, prompt="own"), prompt(f, "Say a label.")),
    "the schema": lambda f: f.judge(0, structured="never"),
    "the strategy": lambda f: f.judge(0, strategy="chain-of-thought"),
    "the model": lambda f: f.judge(0, model="other"),
}


def prompt(folder: Folder, text: str) -> None:
    (folder.path / "prompts").mkdir(exist_ok=True)
    (folder.path / "prompts" / "own.txt").write_text(text + "\n{{ question }} {{ format }}")


@pytest.mark.slow
@pytest.mark.parametrize("change", OF_MODELS.values(), ids=OF_MODELS)
def test_change_of_one_judge_affects_that_judge_only(folder: Folder, change: Callable[[Folder], object]) -> None:
    judge_study(folder.study)
    prompt(folder, "Say a label.")
    change(folder)
    with pytest.raises(ChangedStudyError, match=r"6 answers to 'quality' \(6 by judges"):
        judge_study(folder.study)
    assert judge_study(folder.study, changed="new-version").answered == 6
    assert folder.versions() == [(1, 1)], "people were shown the same"
    assert len(study_labels(folder.study)) == 18


@pytest.mark.slow
def test_guidelines_that_a_prompt_leaves_out_are_no_change_for_its_judge(folder: Folder) -> None:
    prompt(folder, "Say a label.")
    folder.judge(0, prompt="own")
    judge_study(folder.study)
    folder.ask(guidelines="Be strict.")
    assert judge_study(folder.study, changed="new-version").answered == 6
    assert folder.versions() == [(1, 0), (2, 1)]
    assert {len(study_labels(folder.study).where(annotator=name)) for name in ("plain", "shots")} == {6}


def test_words_of_assay_itself_are_part_of_what_is_sent(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    judge_study(folder.study)
    monkeypatch.setattr(prompts, "INSTRUCTIONS", prompts.INSTRUCTIONS.replace("You annotate", "You label"))
    with pytest.raises(ChangedStudyError, match="12 answers to 'quality'"):
        judge_study(folder.study)


@pytest.mark.slow
def test_bytes_of_an_image_are_part_of_what_is_sent_and_shown(folder: Folder) -> None:
    folder.content["items"] |= {"images": ["photo"]}
    folder.content["judges"].pop()
    (folder.path / "one.png").write_bytes(b"\x89PNG one")
    folder.items("photo", ["one.png"] * 6)
    folder.ask(show=["text", "photo"])
    judge_study(folder.study)
    (folder.path / "one.png").write_bytes(b"\x89PNG two")
    with pytest.raises(ChangedStudyError, match="6 answers to 'quality'"):
        judge_study(folder.study)
    labels = study_labels(judged(folder, "new-version"))
    assert labels.where(annotator="plain").column("content_version").to_list() == [2] * 6
    assert labels.where(annotator="ben").column("content_version").to_list() == [1] * 6


# -- what is said before answers go out of count ----------------------------------------------------


@pytest.mark.slow
def test_same_question_in_other_words_keeps_its_answers(folder: Folder) -> None:
    judge_study(folder.study)
    assert judge_study(folder.ask(text=B), changed="same-question").answered == 0
    assert folder.versions() == [(1, 1)]
    assert len(study_labels(folder.study)) == 18
    assert [json.loads(d)["text"] for (d,) in folder.rows("select definition from wordings order by made_at")] == [A, B]
    assert json.loads(folder.rows("select definition from questions")[0][0])["text"] == B
    assert judge_study(folder.ask(text=A)).answered == 0, "the words of before are the same question too"
    assert judge_study(folder.ask(text=B)).answered == 0
    assert judge_study(folder.judge(0, temperature=1), changed="same-question").answered == 0


@pytest.mark.slow
def test_removed_question_cannot_be_kept(folder: Folder) -> None:
    judge_study(folder.study)
    folder.content["judges"].pop(0)
    with pytest.raises(ChangedStudyError, match=r"6 answers.*with either option"):
        judge_study(folder.save(), changed="same-question")
    assert judge_study(folder.study, changed="new-version").answered == 0
    assert study_labels(folder.study).judges == ("shots",)


@pytest.mark.slow
def test_question_that_is_renamed_keeps_its_judges_answers(folder: Folder) -> None:
    judge_study(folder.study)
    folder.ask(name="Quality")
    assert judge_study(folder.study).answered == 0
    labels = study_labels(folder.study)
    assert (labels.criteria, labels.judges, len(labels)) == (("Quality",), ("plain", "shots"), 18)
    folder.ask(name="quality")
    assert judge_study(folder.study).answered == 0
    assert len(study_labels(folder.study)) == 18


@pytest.mark.slow
def test_arm_that_is_added_costs_that_arm_alone(folder: Folder) -> None:
    judge_study(folder.study)
    folder.judge(0, model="tiny")
    judge_study(folder.study, changed="new-version")
    prompt(folder, "Say a label.")
    folder.content["conditions"] = {"prompt": ["default", "own"]}
    folder.save()
    assert [one.calls for one in estimate_study(folder.study).judges] == [6, 6]
    run = judge_study(folder.study)
    assert run.answered == 12, "the arm that is new, of two judges"
    labels = study_labels(folder.study).where(kind="judge")
    assert sorted(labels.labels.group_by("annotator", "prompt").len()["len"]) == [6, 6, 6, 6]
    del folder.content["conditions"]
    folder.save()
    with pytest.raises(ChangedStudyError, match=r"12 answers to 'quality' \(12 by judges\)"):
        judge_study(folder.study)
    assert judge_study(folder.study, changed="new-version").answered == 0
    assert len(study_labels(folder.study).where(kind="judge")) == 12
    folder.content["conditions"] = {"prompt": ["own", "default"], "temperature": [0]}
    folder.save()
    assert judge_study(folder.study, changed="new-version").answered == 24, "another temperature is another request"


@pytest.mark.slow
def test_two_judges_that_send_the_same_are_each_asked_and_one_that_takes_a_name_over_is_not(folder: Folder) -> None:
    folder.content["judges"] = [folder.content["judges"][0] | {"model": "tiny"}]
    folder.save()
    judge_study(folder.study)
    twin = folder.content["judges"][0] | {"name": "twin"}
    replies = [json.loads(line) for line in (folder.path / "replies.jsonl").read_text().splitlines()]
    more = [one | {"judge": "twin"} for one in replies if one["judge"] == "plain"]
    with (folder.path / "replies.jsonl").open("a") as file:
        file.write("".join(json.dumps(one) + "\n" for one in more))
    folder.content["judges"].append(twin)
    folder.save()
    assert judge_study(folder.study).answered == 6, "asked twice on purpose"
    folder.content["judges"].pop(0)
    folder.save()
    assert judge_study(folder.study, changed="new-version").answered == 0
    assert len(study_labels(folder.study).where(kind="judge")) == 6


@pytest.mark.slow
def test_looking_takes_nothing_out_of_count_and_says_that_the_folder_has_changed(folder: Folder) -> None:
    judge_study(folder.study)
    before = study_labels(folder.study)
    after = study_labels(folder.ask(text=B))
    assert after.labels.equals(before.labels)
    assert any("12 answers to 'quality'" in line and "before the change" in line for line in after.reading.lines())
    assert folder.versions() == [(1, 1)]


def everything(folder: Folder) -> dict[str, list[tuple[object, ...]]]:
    return {t.name: folder.rows(f"select * from {t.name} order by 1, 2") for t in tables.TABLES}


@pytest.mark.slow
def test_estimate_writes_nothing(folder: Folder) -> None:
    assert [one.calls for one in estimate_study(folder.study).judges] == [6, 6]
    assert not (folder.path / "study.db").exists()
    judge_study(folder.study)
    before = everything(folder)
    estimate = estimate_study(folder.ask(text=B))
    assert [one.calls for one in estimate.judges] == [6, 6]
    assert "12 answers to 'quality' (12 by judges) would no longer count" in estimate.summary()
    assert everything(folder) == before
    assert [one.calls for one in estimate_study(folder.study, changed="same-question").judges] == [0, 0]


# -- contents ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_content_version_distinguishes_texts(folder: Folder) -> None:
    judge_study(folder.study)
    assert "content_version" not in study_labels(folder.study).labels.columns
    folder.items("note", ["m"] * 6)
    assert "content_version" not in study_labels(judged(folder)).labels.columns, "the note is hidden"
    folder.items("note", ["m"] * 6, {2: "Another text."})
    labels = study_labels(judged(folder, "new-version"))
    found = dict(labels.where(item="i2").labels.select("annotator", "content_version").iter_rows())
    assert found["ben"] == 1
    assert found["plain"] == found["shots"] == 2
    assert any("1 item has labels on several versions of the content" in line for line in labels.reading.lines())
    folder.items("note", ["m"] * 6)
    back = study_labels(judged(folder))
    assert "content_version" not in back.labels.columns, "the text of before is the content of before"


# -- read-only folders -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_study_on_a_read_only_mount_can_be_read(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    judge_study(folder.study)
    before = study_labels(folder.study)
    files = {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}
    read_only(monkeypatch, folder.path)
    labels = study_labels(folder.study)
    assert labels.labels.equals(before.labels)
    assert {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()} == files
    monkeypatch.undo()
    (folder.path / "study.db").unlink()
    read_only(monkeypatch, folder.path)
    assert study_labels(folder.study).humans == ("ben",), "from the file of labels alone"
    assert not (folder.path / "study.db").exists()


def read_only(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """What a read-only mount does: the system says no, and SQLite cannot open a file for writing there."""
    allowed, connect = os.access, sqlite3.connect

    def access(path: Any, mode: int, **more: Any) -> bool:
        inside = Path(path).resolve().is_relative_to(folder.resolve())
        return not (inside and mode & os.W_OK) and allowed(path, mode, **more)

    def refuse(path: Any, *arguments: Any, **more: Any) -> Any:
        assert str(folder) not in str(path), "SQLite would write in its folder"
        return connect(path, *arguments, **more)

    monkeypatch.setattr(os, "access", access)
    monkeypatch.setattr(sqlite3, "connect", refuse)


@pytest.mark.parametrize(("answer", "alive"), [(None, True), (ProcessLookupError, False), (PermissionError, True)])
def test_process_runs_where_no_signal_says_otherwise(monkeypatch, answer, alive):
    """Without /proc the operating system is asked by a signal without effect: its own, none, or that of another
    user."""
    asked = []

    def kill(pid: int, signal: int) -> None:
        asked.append((pid, signal))
        if answer is not None:
            raise answer

    monkeypatch.setattr(work.Path, "exists", lambda path: False)
    monkeypatch.setattr(work.os, "kill", kill)
    assert work._alive("123:456") is alive
    assert asked == [(123, 0)]
