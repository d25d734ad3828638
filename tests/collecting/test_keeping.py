"""Backups, status, links and record of a study from the command line; consent texts and personal data."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from annotating import SECRET, STARS, Served, write_study

from assay.cli import app as cli
from assay.collecting.invitations import signer_of
from assay.study.definition import load_study
from assay.study.store import tables
from assay.study.store.answers import history
from assay.study.store.connection import open_store
from assay.study.store.table import stored_annotations
from waiting import wait_until


def run(capsys: Any, *words: object) -> str:
    """The output of a command."""
    with pytest.raises(SystemExit) as stopped:
        cli.main([str(word) for word in words])
    assert stopped.value.code == 0, capsys.readouterr().err
    return str(capsys.readouterr().out)


def refused(capsys: Any, *words: object) -> str:
    """The error message of a refused command."""
    with pytest.raises(SystemExit) as stopped:
        cli.main([str(word) for word in words])
    assert stopped.value.code == 2
    return str(capsys.readouterr().err)


def rows_of(content: bytes) -> dict[str, list[dict[str, Any]]]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        names = [name for name in file.namelist() if name.endswith(".jsonl")]
        return {n.removesuffix(".jsonl"): [json.loads(line) for line in file.read(n).splitlines()] for n in names}


# -- copies ---------------------------------------------------------------------------------------------


@pytest.mark.served
def test_backup_during_answering_has_all_acknowledged_answers(serve: Any, tmp_path: Path, capsys: Any) -> None:
    who = ("ana", "ben", "chi")
    page: Served = serve(items=60, who=who)
    people = [page.annotator(name) for name in who]
    stop = threading.Event()

    def answer(person: Any) -> None:
        while not stop.is_set() and person.work_through(1) == "enough":
            pass

    threads = [threading.Thread(target=answer, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    copies: list[tuple[Path, int, int]] = []
    wait_until(lambda: all(person.saved for person in people), "no one answers")
    for number in range(3):
        before = sum(len(person.saved) for person in people)
        out = tmp_path / f"{number}.zip"
        run(capsys, "study", "backup", page.folder, "-o", out)
        copies.append((out, before, sum(len(person.saved) for person in people)))
    stop.set()
    for thread in threads:
        thread.join()
    for out, before, after in copies:
        again = tmp_path / out.stem
        said = run(capsys, "study", "restore", out, again)
        study = load_study(again)
        with open_store(study) as store:
            kept = history(store).height
            assert before <= kept <= after + len(who), "one answer of each can be saved without acknowledgement"
            assert len(stored_annotations(store)) == kept
            assert said == f"{again}: {kept} answer{'' if kept == 1 else 's'}\n"
            link = page.links["ana"].removeprefix("/join/")
            assert signer_of(study, store, SECRET).person(link) == ("ana", 1), "links keep working"
        assert (again / "study.db").stat().st_mode & 0o077 == 0
        assert out.stat().st_mode & 0o777 == 0o600
        assert (again / "items.jsonl").read_bytes() == (page.folder / "items.jsonl").read_bytes()


def test_restore_refuses_invalid_archives_and_overwriting(serve: Any, tmp_path: Path, capsys: Any) -> None:
    page: Served = serve()
    out = tmp_path / "copy.zip"
    run(capsys, "study", "backup", page.folder, "-o", out)
    assert "exists and is not overwritten" in refused(capsys, "study", "backup", page.folder, "-o", out)
    assert "exists and is not empty; name another" in refused(capsys, "study", "restore", out, page.folder)
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"nothing")
    assert "is not a backup of a study" in refused(capsys, "study", "restore", broken, tmp_path / "new")
    with zipfile.ZipFile(broken, "w") as file:
        for name in ("study.yaml", "study.db", "../outside"):
            file.writestr(name, "")
    assert "is not a backup of a study" in refused(capsys, "study", "restore", broken, tmp_path / "new")
    content = bytearray(out.read_bytes())
    content[200] ^= 255
    broken.write_bytes(content)
    assert "is damaged; use another backup" in refused(capsys, "study", "restore", broken, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "outside").exists()
    inside = page.folder / "monday.zip"
    run(capsys, "study", "backup", page.folder, "-o", inside)
    run(capsys, "study", "backup", page.folder, "-o", page.folder / "tuesday.zip")
    with zipfile.ZipFile(page.folder / "tuesday.zip") as file:
        assert sorted(file.namelist()) == ["items.jsonl", "study.db", "study.yaml"], "no backup contains another"


def test_backup_of_postgresql_is_refused(serve: Any, url: str, tmp_path: Path, capsys: Any) -> None:
    if not url.startswith("postgresql"):
        pytest.skip("of PostgreSQL")
    page: Served = serve(store=url)
    said = refused(capsys, "study", "backup", page.folder, "--store", url, "-o", tmp_path / "copy.zip")
    assert "pg_dump --format=custom" in said
    assert not (tmp_path / "copy.zip").exists()


# -- links, status --------------------------------------------------------------------------------------


def test_links_command_prints_links(serve: Any, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("ASSAY_SECRET", SECRET)
    page: Served = serve(who=("ana", "ben"))
    found = dict(line.split("\t") for line in run(capsys, "people", "links", page.folder).splitlines())
    assert list(found) == ["(study lead)", "ana", "ben"]
    for name in ("ana", "ben"):
        link = found[name].removeprefix("http://127.0.0.1:8321")
        assert name in page.visitor(link).send("GET", link).text
    assert run(capsys, "people", "links", page.folder, "ben").startswith("ben\thttp://127.0.0.1:8321/join/")
    assert "no annotator 'eve' has a link" in refused(capsys, "people", "links", page.folder, "eve")


def test_server_does_not_print_the_secret(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    from assay.collecting.hosting import server

    folder = write_study(tmp_path / "study")
    monkeypatch.setattr(server, "serve", lambda *_, **__: None)
    said = run(capsys, "serve", folder, "--port", "8399")
    assert said == (
        f"The page of {folder} is at http://127.0.0.1:8399 (no annotators invited)\n"
        f"Links of the study lead and all annotators: assay people links {folder} --base-url http://127.0.0.1:8399\n"
    )
    assert run(capsys, "serve", folder, "--port", "8399", "--quiet") == ""


@pytest.mark.slow
def test_status_of_a_study(serve: Any, tmp_path: Path, capsys: Any) -> None:
    page: Served = serve(items=4, who=("ana", "ben"), people={"overlap": 1, "quota": 3})
    page.annotator().work_through(3)
    lines = run(capsys, "study", "status", page.folder).splitlines()
    assert lines[:2] == ["Progress: 3 of 4 answers (75%)", "4 items, 3 answers, 0 skipped"]
    assert lines[2].startswith("ana: active, 3 of 3, last 20")
    assert lines[3] == "ben: active, 0 of 3"
    found = json.loads(run(capsys, "study", "status", page.folder, "--json"))
    assert (found["filled"], found["wanted"], found["people"][0]["done"]) == (3, 4, 3)
    nobody = write_study(tmp_path / "new")
    assert f"begin with: assay people invite {nobody} NAME" in refused(capsys, "study", "status", nobody)


# -- rights ---------------------------------------------------------------------------------------------

FIRST, SECOND = "We keep it for a year.", "We keep it for two years."


def test_each_answer_records_its_consent_text(serve: Any, tmp_path: Path, capsys: Any) -> None:
    first: Served = serve(items=2, people={"consent": FIRST, "ahead": 1})
    ana = first.annotator()
    assert ana.answer(ana.work()[0]).status == 200
    path = first.folder / "study.yaml"
    path.write_text(path.read_text().replace(FIRST, SECOND))
    with first.again() as now:
        ana = now.annotator()
        assert ana.answer(ana.work()[0]).status == 200
        run(capsys, "study", "record", now.folder, "-o", tmp_path / "answers.zip")
        found = rows_of((tmp_path / "answers.zip").read_bytes())
        texts = {row["digest"]: row["text"] for row in found["consents"]}
        assert [texts[row["shown"]["consent"]] for row in found["answers"]] == [FIRST, SECOND]


@pytest.mark.slow
def test_record_of_one_person(serve: Any, tmp_path: Path, capsys: Any) -> None:
    known = [{"item": "c1", "text": "Say 1.", "stars": 1}]
    people = {"consent": FIRST, "checks": {"file": "checks.jsonl", "every": 2}, "quota": 3}
    page: Served = serve(items=9, who=("ana", "ben"), people=people, tables={"checks.jsonl": known})
    for name in ("ana", "ben"):
        assert page.annotator(name).work_through() == "done"
    out = tmp_path / "ana.zip"
    run(capsys, "study", "record", page.folder, "--person", "ana", "-o", out)
    found = rows_of(out.read_bytes())
    assert b"ben" not in b"".join(json.dumps(row).encode() for rows in found.values() for row in rows)
    assert {row["annotator"] for row in found["answers"]} == {"ana"}
    assert {row["item"] for row in found["items"]} == {row["item"] for row in found["tasks"]}
    assert not any(row["known"] for row in found["items"]), (
        "known answers and the list of checks are for the study lead only"
    )
    assert [row["text"] for row in found["consents"]] == [FIRST]
    assert page.lead().send("GET", "/lead/person.zip?name=ana").body == out.read_bytes()
    assert page.lead().send("GET", "/lead/person.zip?name=eve").status == 422
    assert page.annotator("ben").send("GET", "/lead/person.zip?name=ana").status == 403
    assert "'eve' is not in the people" in refused(
        capsys, "study", "record", page.folder, "--person", "eve", "-o", out, "--force"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("until", "passed"), [("2001-02-03", True), ("2999-12-31", False)])
def test_keep_until_is_shown_and_reported(serve: Any, capsys: Any, until: str, passed: bool) -> None:
    page: Served = serve(people={"consent": FIRST})
    path = page.folder / "study.yaml"
    content = yaml.safe_load(path.read_text())
    content["people"]["keep_until"] = date.fromisoformat(until)
    path.write_text(yaml.safe_dump(content))
    with page.again() as now:
        someone = now.annotator(join=False)
        someone.join(agree=False)
        said = someone.send("GET", "/consent").text
        assert f'are kept with your name until <time datetime="{until}">' in said
        notice = f"kept until {until}. This date has passed"
        assert (notice in now.lead().send("GET", "/lead").text) == passed
        assert (notice in run(capsys, "study", "status", now.folder)) == passed


def test_status_reports_added_questions(serve: Any, capsys: Any) -> None:
    page: Served = serve(items=2)
    page.annotator().work_through()
    path = page.folder / "study.yaml"
    content = yaml.safe_load(path.read_text())
    content["questions"] = [dict(STARS), {"name": "why", "text": "Why?", "scale": "text"}]
    path.write_text(yaml.safe_dump(content))
    with page.again() as now:
        assert "not part of earlier answers: 'why' (2 answers)" in run(capsys, "study", "status", now.folder)
        assert len(now.rows(tables.tasks)) == 2
