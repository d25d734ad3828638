"""The commands of studies: payment, responses, batches, confirmation, backups."""

from __future__ import annotations

import builtins
import io
import json
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')

from assay.cli.service import _own_files, restore
from assay.cli.studies import (
    ChangeOptions,
    _pay_words,
    _response_words,
    _responses_frame,
    has_responses,
    invited_already,
    is_sure,
    judge,
    serve,
    split,
)
from assay.errors import AssayError, ChangedStudyError
from assay.judging import batch
from assay.study.definition import load_study
from assay.study.store.connection import Store
from assay.study.store.intake import sync_study
from assay.study.store.people import Person


def test_pay_words_have_minutes_and_amounts():
    paid = pl.DataFrame([
        {"person": "p1", "outcome": "completed", "code": "C1", "minutes": 12.34, "at_work": 10.0, "answered": 7,
         "checks": 3, "checks_failed": 1, "pay": 1.5, "an_hour": 9.123},
        {"person": "person-two", "outcome": "at work", "code": None, "minutes": None, "at_work": 0.0, "answered": 12,
         "checks": 0, "checks_failed": 0, "pay": 0.0, "an_hour": None},
    ])  # fmt: skip
    # Numbers are right-aligned, words left-aligned.
    assert _pay_words(paid) == (
        "person      outcome    code  minutes  at_work  answered  checks failed   pay  an_hour\n"
        "p1          completed  C1       12.3     10.0         7         1 of 3  1.50     9.12\n"
        "person-two  at work    -           -      0.0        12              -  0.00        -\n"
    )


REPLY = {
    "annotator": "gpt", "item": "a", "criterion": "stars", "condition": {}, "repeat": 1, "status": "valid", "label": 4,
    "reason": None, "reply": "Four.\nSure.", "reasoning": None, "prompt": None,
}  # fmt: skip


def test_response_words_show_label_and_response():
    assert _response_words(REPLY, prompts=True) == "gpt, a, stars: label 4\n    Four.\n    Sure."
    other = REPLY | {"condition": {"temperature": 0.5}, "repeat": 2, "label": None, "reason": "refused", "reply": ""}
    assert _response_words(other, prompts=False) == "gpt, a, stars, temperature 0.5, repeat 2: refused\n    (nothing)"
    asked = REPLY | {"prompt": '[{"role": "user", "content": "How good?"}]'}
    shown = _response_words(asked, prompts=True).splitlines()
    assert "How good?" in "".join(shown[1:-2])
    assert shown[-2:] == ["    Four.", "    Sure."]
    assert _response_words(asked, prompts=False) == _response_words(REPLY, prompts=True)


def test_responses_frame_has_condition_columns():
    found = _responses_frame([REPLY, REPLY | {"condition": {"temperature": 0.5}, "label": None}], prompts=False)
    assert found.columns == [
        "annotator", "item", "criterion", "temperature", "repeat", "status", "label", "reason", "reply", "reasoning",
    ]  # fmt: skip
    assert found.select("temperature", "label").rows() == [(None, "4"), (0.5, None)]
    assert _responses_frame([REPLY], prompts=True).columns[-1] == "prompt"


@pytest.mark.parametrize(
    ("person", "attributes", "words"),
    [
        ({}, {"job": "nurse"}, "ana is already invited; their link is unchanged"),
        ({}, {"job": "cook"}, "ana is already invited; their link is unchanged; not changed: job=cook"),
        ({"excluded_at": 1.0}, {}, "ana is already invited and excluded; they have no link"),
        (
            {"state": "revoked"}, {},
            "ana is already invited, and their link was revoked; create a new one on the dashboard",
        ),
    ],
)  # fmt: skip
def test_invite_again_names_unchanged_attributes(person, attributes, words):
    one = replace(Person("ana", {"job": "nurse"}, 1, "active", None), **person)
    assert invited_already(one, attributes) == words


def changing(error: ChangedStudyError) -> Callable[[Any], Any]:
    """Work that a change of the study stops until it is decided what existing answers count for."""

    def work(changed: Any) -> Any:
        if changed is None:
            raise error
        return changed

    return work


class Terminal(io.StringIO):
    """A terminal, at which this was typed."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("can_keep", [True, False])
def test_refusal_names_options(can_keep):
    with pytest.raises(AssayError) as refused:
        ChangeOptions().decided(
            changing(ChangedStudyError("3 answers to 'stars' would no longer count", can_keep=can_keep))
        )
    said = str(refused.value)
    assert said.startswith(
        "3 answers to 'stars' would no longer count. Nothing was changed. With --new-version they no"
    )
    assert said.endswith("; --same-question keeps them") is can_keep


LOST = ChangedStudyError("3 answers would no longer count", can_keep=False)
KEPT = ChangedStudyError("3 answers would no longer count")


@pytest.mark.parametrize(
    ("error", "typed", "meant"),
    [
        (KEPT, "n\n", "new-version"), (KEPT, " S \n", "same-question"), (LOST, "N", "new-version"), (KEPT, "", None),
        (KEPT, "yes\n", None), (LOST, "s\n", None),
    ],
)  # fmt: skip
def test_ask_change_reads_answer_at_terminal(monkeypatch, capsys, error, typed, meant):
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    if meant is None:
        with pytest.raises(AssayError, match=r"^nothing was changed$"):
            ChangeOptions().decided(changing(error))
    else:
        assert ChangeOptions().decided(changing(error)) == meant
    said, choice, after = capsys.readouterr().err.partition("Your choice: ")
    assert (choice, bool(after)) == ("Your choice: ", meant is not None)
    assert said.startswith("3 answers would no longer count.")
    assert ("s  same question: keep existing answers" in said) is error.can_keep
    assert said.endswith("other keys: cancel\n")


@pytest.mark.parametrize("who", ["stdin", "stderr"])
def test_ask_change_refuses_without_terminal(monkeypatch, who):
    for name in ("stdin", "stderr"):
        monkeypatch.setattr(sys, name, Terminal("n\n") if name == who else io.StringIO("n\n"))
    with pytest.raises(AssayError, match=r"Nothing was changed\. With --new-version they no longer count"):
        ChangeOptions().decided(changing(KEPT))


def test_change_options_decide(capsys):
    def work(error, tried):
        def run(changed):
            tried.append(changed)
            if changed is None:
                raise error
            return "done"

        return run

    for options, meant, words in (
        ({"new_version": True}, "new-version", "they stay in the store (--new-version)"),
        ({"same_question": True}, "same-question", "they are kept (--same-question)"),
    ):
        tried: list[Any] = []
        assert ChangeOptions(**options).decided(work(KEPT, tried)) == "done"
        assert tried == [None, meant]
        assert capsys.readouterr().err == f"3 answers would no longer count; {words}\n"
    assert ChangeOptions(new_version=True).decided(work(LOST, [])) == "done"
    with pytest.raises(AssayError, match="Nothing was changed") as refused:
        ChangeOptions(same_question=True).decided(work(LOST, tried := []))
    assert tried == [None]
    assert "--same-question" not in str(refused.value)
    assert ChangeOptions().decided(lambda changed: changed) is None
    with pytest.raises(AssayError, match="exclude each other; give one"):
        ChangeOptions(new_version=True, same_question=True)


@pytest.mark.parametrize(
    ("content", "holds"),
    [
        (None, True), ("", True), (" \n{}", True), ('{"item": 1, "judge": 2, "reply": 3}\n', True),
        ('{"item": 1, "judge": 2}\n', False), ("item,judge,reply\n", False),
    ],
)  # fmt: skip
def test_has_responses_checks_first_line(tmp_path, content, holds):
    if content is not None:
        (tmp_path / "r.jsonl").write_text(content)
    assert has_responses(tmp_path / "r.jsonl") is holds
    assert has_responses(None)


def test_split_writes_table_or_study_file(study, tmp_path, capsys):
    table = tmp_path / "table.csv"
    table.write_text("item,kind\n" + "".join(f"i{n},{'xy'[n % 2]}\n" for n in range(8)))
    split(table)
    said = capsys.readouterr()
    assert said.out.startswith("2 items in the development set and 6 in the test set (seed 0).")
    assert said.err == f"written to {tmp_path / 'table-split.csv'}\n"
    split(table, out=tmp_path / "other.csv", test=0.5, seed=3, strata=["kind"])
    said = capsys.readouterr()
    assert said.out.startswith("4 items in the development set and 4 in the test set (seed 3).\nStratified by kind")
    assert pl.read_csv(tmp_path / "other.csv").group_by("kind").agg(
        pl.col("part").eq("test").sum()).sort("kind").rows() == [("x", 2), ("y", 2)]  # fmt: skip
    with pytest.raises(AssayError, match="exists and is not overwritten"):
        split(table)
    (study / "items.csv").write_text("item,text\na,A text.\nb,B text.\n")
    with pytest.raises(AssayError, match=r"writes split\.csv in the study folder; leave out --output"):
        split(study, out=tmp_path / "more.csv")
    split(study, test=0.5)
    assert capsys.readouterr().err == f"written to {study / 'split.csv'}\n"


def test_serve_without_study_names_the_page_for_files():
    with pytest.raises(AssayError, match="serve requires a study: assay serve STUDY; a page for files: assay look --b"):
        serve()
    for port in (0, 65536):
        with pytest.raises(AssayError, match="port must lie between 1 and 65535"):
            serve(port=port)
    with pytest.raises(AssayError, match="port must be a whole number from 1 to 65535"):
        serve(port=80.5)


def test_serve_of_signed_addresses_requires_the_public_address(study, monkeypatch):
    pytest.importorskip("jwt", reason='needs the extra "prolific"')
    pytest.importorskip("fastapi", reason='the page needs the extra "serve"')
    with (study / "study.yaml").open("a") as file:
        file.write("people: {crowd: {platform: prolific-signed, places: 2, codes: {completed: C1}}}\n")
    with pytest.raises(AssayError, match="prolific-signed requires --base-url, the address in Prolific's form"):
        serve(study)


def test_serve_prints_address_and_invited(study, monkeypatch, capsys):
    pytest.importorskip("fastapi", reason='the page needs the extra "serve"')
    from assay.collecting.hosting import server

    asked: list[Any] = []
    monkeypatch.setattr(server, "check_reach", lambda *given: None)
    monkeypatch.setattr(server, "take_in", lambda *given: None)
    monkeypatch.setattr(server, "links", lambda loaded, address, *_: (f"{address}/lead", {"ana": "a", "ben": "b"}))
    monkeypatch.setattr(server, "serve", lambda loaded, **how: asked.append((how["host"], how["port"], how["workers"])))
    for options, address, more in (
        ({}, "http://127.0.0.1:8321", ""),
        ({"port": 8000}, "http://127.0.0.1:8000", " --base-url http://127.0.0.1:8000"),
        ({"host": "0.0.0.0"}, "http://127.0.0.1:8321", ""),
        ({"base_url": "https://x.example"}, "https://x.example", " --base-url https://x.example"),
    ):
        serve(study, **options)
        assert capsys.readouterr().out.splitlines() == [
            f"The page of {study} is at {address} (2 invited)",
            f"Links of the study lead and all annotators: assay people links {study}{more}",
        ]
    serve(study, quiet=True, workers=3)
    assert capsys.readouterr().out == ""
    assert asked == [("127.0.0.1", 8321, 1), ("127.0.0.1", 8000, 1), ("0.0.0.0", 8321, 1), ("127.0.0.1", 8321, 1),
                     ("127.0.0.1", 8321, 3)]  # fmt: skip
    with pytest.raises(AssayError, match="workers must be a whole number of at least 1; got 0"):
        serve(study, workers=0)
    monkeypatch.setattr(server, "links", lambda *given: ("lead", {}))
    serve(study)
    assert "(no annotators invited)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("terminal", "typed", "sure"),
    [(True, "ana", True), (True, " ana ", True), (True, "Ana", False), (True, "", False), (False, "ana", False)],
)
def test_sure_requires_word_at_terminal(monkeypatch, terminal, typed, sure):
    asked = []
    monkeypatch.setattr(sys, "stdin", Terminal() if terminal else io.StringIO())
    monkeypatch.setattr(builtins, "input", lambda question: asked.append(question) or typed)
    assert is_sure("Type the name: ", "ana") is sure
    assert asked == ["Type the name: "] * terminal  # without a terminal it does not wait


@pytest.fixture
def study(tmp_path):
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "study.yaml").write_text(
        "items: {file: items.csv}\nquestions: [{name: stars, text: How good?, scale: 1-5}]\n"
    )
    (folder / "items.csv").write_text("item,text\na,A text.\n")
    return folder


@pytest.mark.parametrize(
    ("typed", "action", "passed"),
    [
        ({}, "send", {}), ({"status": True}, "status", {}), ({"cancel": True}, "cancel", {}),
        ({"wait": True}, "send", {"wait": batch.BATCH_LOOKS}),
        ({"only": ["m"], "part": "test", "store": "s.db"}, "send", {"judges": ["m"], "part": "test", "store": "s.db"}),
    ],
)  # fmt: skip
def test_judge_batch_actions(study, monkeypatch, capsys, typed, action, passed):
    asked: list[Any] = []

    def batch_study(loaded: Any, *args: Any, **options: Any) -> Any:
        asked.append((loaded.folder, args, {k: options[k] for k in ("judges", "part", "store", "wait")}))
        return SimpleNamespace(summary=lambda: "status of the batches")

    monkeypatch.setattr(batch, "batch_study", batch_study)
    assert judge(study, batch=True, **typed) == 0
    assert capsys.readouterr().out == "status of the batches\n"
    plain = {"judges": None, "part": None, "store": None, "wait": None}
    assert asked == [(study, (action,), plain | passed)]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"status": True}, "--status, --cancel and --wait require --batch"),
        ({"cancel": True}, "require --batch"),
        ({"wait": True}, "require --batch"),
        ({"batch": True, "status": True, "cancel": True}, "takes one of --status and --cancel"),
        ({"batch": True, "record": Path("r.jsonl")}, "--batch excludes --retry and --record"),
        ({"batch": True, "retry": "unreadable"}, "--batch excludes --retry and --record"),
        ({"item": "a"}, "an item requires --show: assay judge"),
    ],
)
def test_judge_refuses_conflicting_batch_options(study, monkeypatch, typed, words):
    monkeypatch.chdir(study)
    with pytest.raises(AssayError) as refused:
        judge(study, **typed)
    assert words in str(refused.value)


# -- backups -----------------------------------------------------------------------------------------


def zip_of(out: Path, **files: str | bytes) -> Path:
    with zipfile.ZipFile(out, "w") as file:
        for name, content in files.items():
            file.writestr(name, content)
    return out


def copy_of(study: Path, out: Path, settings: str = "") -> Path:
    with Store.open(study / "study.db") as store:
        sync_study(store, load_study(study))
    files = {name: (study / name).read_bytes() for name in ("items.csv", "study.db")}
    return zip_of(out, **files, **{"study.yaml": (study / "study.yaml").read_text() + settings})


def test_restore_creates_private_study(study, tmp_path, capsys):
    out = copy_of(study, tmp_path / "copy.zip")
    for folder in (tmp_path / "new", tmp_path / "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        restore(out, folder)
        said = capsys.readouterr()
        assert (said.out, said.err) == (f"{folder}: 0 answers\n", "")
        assert sorted(path.name for path in folder.iterdir()) == ["items.csv", "study.db", "study.yaml"]
        assert (folder / "study.db").stat().st_mode & 0o777 == 0o600
        assert (folder / "items.csv").read_bytes() == (study / "items.csv").read_bytes()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".assay-")]


def test_restore_warns_about_other_store(study, tmp_path, capsys):
    restore(copy_of(study, tmp_path / "copy.zip", settings="store: there.db\n"), tmp_path / "new")
    assert "study.yaml names another database (store: there.db); remove that line" in capsys.readouterr().err


def test_restore_refuses_existing_folder_and_other_files(tmp_path):
    whole = {"study.yaml": "", "study.db": ""}
    out = zip_of(tmp_path / "copy.zip", **whole)
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    for place in ("file", "full"):
        with pytest.raises(AssayError, match=f"{place} exists and is not empty; name another folder"):
            restore(out, tmp_path / place)
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]
    for files in (
        *(whole | {name: "x"} for name in ("../outside", "/tmp/outside", "in/../../outside")),
        {"study.yaml": "", "items.csv": ""},
        {"study.db": ""},
    ):
        with pytest.raises(
            AssayError, match=r"bad\.zip is not a backup of a study; name a file written by assay study backup"
        ):
            restore(zip_of(tmp_path / "bad.zip", **files), tmp_path / "new")
    with pytest.raises(AssayError, match=r"mine\.txt is not a backup of a study"):
        restore(tmp_path / "full" / "mine.txt", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_backup_excludes_database_files_and_backups(study):
    (study / "prompts").mkdir()
    (study / "prompts" / "study.db").write_text("not the database: it is in another folder")
    zip_of(study / "mine.zip", **{"study.db": "", "study.yaml": ""})
    zip_of(study / "pictures.zip", **{"a.png": "x"})
    (study / "no.zip").write_text("none")
    (study / "out.zip").write_text("being written")
    (study / "linked.csv").symlink_to(study / "items.csv")
    for ending in ("-wal", "-shm"):
        (study / f"study.db{ending}").write_text("")
    found = [path.relative_to(study).as_posix() for path in _own_files(study, {(study / "out.zip").resolve()})]
    assert found == ["items.csv", "no.zip", "pictures.zip", "prompts/study.db", "study.yaml"]


@pytest.fixture
def invited(study, run):
    """A study with two invited annotators."""
    pytest.importorskip("fastapi", reason='the page needs the extra "serve"')
    assert run("people", "invite", study, "Ana Ruiz", "Ben")[0] == 0
    return study


@pytest.mark.slow
def test_backup_and_restore_keep_links(invited, tmp_path, run):
    out, again = tmp_path / "copy.zip", tmp_path / "again"
    assert run("study", "backup", invited, "-o", out) == (0, f"{out}: 0 answers\n", "")
    assert out.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(out) as file:
        assert sorted(file.namelist()) == ["items.csv", "study.db", "study.yaml"]
    code, _, said = run("study", "backup", invited, "-o", out)
    assert (code, f"'{out}' exists and is not overwritten" in said) == (2, True)
    # Backups in the folder are not part of a backup, neither new nor older ones.
    (invited / "older.zip").write_bytes(out.read_bytes())
    assert run("study", "backup", invited, "-o", invited / "newer.zip")[0] == 0
    with zipfile.ZipFile(invited / "newer.zip") as file:
        assert sorted(file.namelist()) == ["items.csv", "study.db", "study.yaml"]
    assert run("study", "restore", out, again) == (0, f"{again}: 0 answers\n", "")
    assert [one.name for one in sorted(again.iterdir())] == ["items.csv", "study.db", "study.yaml"]

    def unsigned(folder):
        code, lines, _ = run("people", "links", folder)
        assert code == 0
        # The annotator is between the address and the time of signing.
        return [line.partition(".0.1:8321/")[2].partition(".")[0] for line in lines.splitlines()]

    assert unsigned(again) == unsigned(invited)


@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_restore_refuses_damaged_backup(tmp_path, kind):
    with zipfile.ZipFile(tmp_path / "copy.zip", "w", kind) as file:
        for name in ("study.yaml", "study.db"):
            file.writestr(name, "of this text some is lost, of this text more is lost, of this text most is lost")
    content = bytearray((tmp_path / "copy.zip").read_bytes())
    content[44:50] = b"\xff\xfe\xff\xfe\xff\xfe"  # 30 bytes of header and 10 of a name precede the first text
    (tmp_path / "copy.zip").write_bytes(content)
    with pytest.raises(AssayError, match=r"copy\.zip is damaged; use another backup"):
        restore(tmp_path / "copy.zip", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_links_prints_named_or_all(invited, run):
    code, out, _ = run("people", "links", invited, "--base-url", "https://study.example")
    lines = [line.split("\t") for line in out.splitlines()]
    assert (code, [name for name, _ in lines]) == (0, ["(study lead)", "Ana Ruiz", "Ben"])
    assert [link.startswith(f"https://study.example/{place}") for (_, link), place in zip(
        lines, ("lead/join/", "join/", "join/"), strict=True)] == [True] * 3  # fmt: skip
    code, out, _ = run("people", "links", invited, " Ben ", "Ana  Ruiz")
    assert (code, [line.split("\t")[0] for line in out.splitlines()]) == (0, ["Ben", "Ana Ruiz"])
    assert run("people", "links", invited, "Cho", "Ben") == (
        2, "", f"assay: no annotator 'Cho' has a link; invite them with: assay people invite {invited} 'Cho'\n"
    )  # fmt: skip


def test_status_prints_text_and_json(study, run):
    pytest.importorskip("fastapi", reason='the page needs the extra "serve"')
    none = f"assay: no annotator or judge has started yet; begin with: assay people invite {study} NAME\n"
    assert run("study", "status", study) == (2, "", none)
    run("people", "invite", study, "Ana Ruiz", "Ben")
    # One item, for both.
    assert run("study", "status", study) == (
        0, "Progress: 0 of 2 answers (0%)\n1 item, 0 answers, 0 skipped\n"
        "Ana Ruiz: active, 0 of 1\nBen: active, 0 of 1\n", "",
    )  # fmt: skip
    said = json.loads(run("study", "status", study, "--json")[1])
    ana = {"name": "Ana Ruiz", "state": "active", "done": 0, "skipped": 0, "of": 1, "last": None, "checks_failed": 0,
           "stopped": ""}  # fmt: skip
    assert said == {
        "items": 1, "answered": 0, "skipped": 0, "filled": 0, "wanted": 2, "notes": [], "judges": [],
        "people": [ana, ana | {"name": "Ben"}],
    }  # fmt: skip
    refused = "assay: study status has no --csv; give --json, or neither for text\n"
    assert run("study", "status", study, "--csv") == (2, "", refused)
    run("people", "exclude", study, "Ben", "--reason", "asked to be")
    assert "\nBen: excluded, 0" in run("study", "status", study)[1]


def test_status_counts_the_labels_of_each_judge(study, run):
    pytest.importorskip("fastapi", reason='the page needs the extra "serve"')
    (study / "rules.py").write_text("def good(columns, question):\n    return 4\n")
    text = (study / "study.yaml").read_text()
    (study / "study.yaml").write_text(f'{text}judges: [{{name: rule, provider: python, model: "rules:good"}}]\n')
    run("people", "invite", study, "Ben")
    assert "\nrule: judge, 0 labels, 1 remaining\n" in run("study", "status", study)[1]
    assert run("judge", study, "--allow-code")[0] == 0
    assert "\nrule: judge, 1 label\n" in run("study", "status", study)[1]
    said = json.loads(run("study", "status", study, "--json")[1])["judges"]
    assert said == [{"name": "rule", "labels": 1, "unparseable": 0, "failed": 0, "remaining": 0}]


@pytest.mark.slow
def test_record_exports_all_or_one(invited, tmp_path, run):
    out = tmp_path / "record.zip"
    assert run("study", "record", invited, "-o", out) == (0, f"{out}\n", "")
    code, _, said = run("study", "record", invited, "-o", out)
    assert (code, "exists and is not overwritten" in said) == (2, True)
    assert run("study", "record", invited, "-o", tmp_path / "ana.zip", "--person", " Ana  Ruiz")[0] == 0
    people = []
    for place in (out, tmp_path / "ana.zip"):
        with zipfile.ZipFile(place) as file:
            people.append([json.loads(line)["annotator"] for line in file.read("people.jsonl").splitlines()])
    assert people == [["Ana Ruiz", "Ben"], ["Ana Ruiz"]]
    code, _, said = run("study", "record", invited, "-o", tmp_path / "cho.zip", "--person", "Cho")
    assert (code, "person 'Cho' is not in the people who are invited" in said) == (2, True)
    assert not (tmp_path / "cho.zip").exists()


def test_adjudicated_labels_are_exported(invited, tmp_path, run):
    out = tmp_path / "adjudicated.csv"
    assert run("study", "adjudicated", invited, "-o", out) == (0, f"{out}\n", "")
    assert out.read_text() == "item,criterion,label,annotator,comment,blind\n"
    code, _, said = run("study", "adjudicated", invited, "-o", out)
    assert (code, "exists and is not overwritten" in said) == (2, True)


def test_init_says_that_rows_without_ids_are_numbered(run, tmp_path):
    (tmp_path / "items.csv").write_text("post,body\np00,Thanks!\np01,No.\n")
    about = ("--items", str(tmp_path / "items.csv"), "--text", "body", "--ask", "How polite?", "--scale", "1-5")
    code, _, err = run("init", str(tmp_path / "one"), *about)
    assert (code, err) == (
        0, "item ids: row numbers, added as column 'item' of items.csv; --id ... names another column\n"
    )  # fmt: skip
    code, _, err = run("init", str(tmp_path / "two"), *about, "--id", "post")
    assert (code, err) == (0, "item ids: column 'post' of items.csv\n")


@pytest.mark.parametrize(("n", "code"), [(1, 2), (2, 2), (3, 0)])
def test_init_requires_three_texts_for_odd_one_out(run, tmp_path, n, code):
    (tmp_path / "items.csv").write_text("id,text\n" + "".join(f"t{k},Text {k}.\n" for k in range(n)))
    options = ("--items", tmp_path / "items.csv", "--text", "text", "--ask", "Which one?", "--scale", "odd-one-out")
    ended, _, said = run("init", tmp_path / "st", *options)
    assert (ended, "compares three texts" in said) == (code, code == 2)
    assert (tmp_path / "st").exists() == (code == 0)
    if code == 0:
        assert [one.name for one in load_study(tmp_path / "st").config.questions] == ["odd"]


def test_init_makes_a_study_from_a_sheet(run, tmp_path):
    (tmp_path / "posts.csv").write_text("Nr,Post text\n1,Thanks!\n2,No.\n")
    made = tmp_path / "polite"
    about = ("--text", "Post text", "--ask", "How polite is this post?", "--scale", "1-5")
    code, out, err = run("init", str(made), "--items", str(tmp_path / "posts.csv"), *about)
    assert (code, err) == (0, "item ids: column 'Nr' of posts.csv\n")
    assert [Path(line).name for line in out.split()] == ["study.yaml", "posts.csv", ".gitignore", "study.schema.json"]
    study = load_study(made)
    assert [one.name for one in study.items()] == ["1", "2"]
    assert study.judges == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--text", "a"), "--text describes the items of a file; add --items FILE"),
        (("--items", "posts.csv"), "--items also requires --text, --ask, --scale; for example: assay init my-study"),
        (("--items", "posts.csv", "--text", "a", "--ask", "b", "--scale", "1-5"), "posts.csv does not exist"),
    ],
)
def test_init_refuses_incomplete_descriptions(run, tmp_path, options, message):
    code, _, err = run("init", str(tmp_path / "s"), *options)
    assert (code, message in err) == (2, True), err
    assert not (tmp_path / "s").exists()
