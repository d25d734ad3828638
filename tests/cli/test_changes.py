"""A changed study on the command line: the number of affected answers and the decision about them."""

from __future__ import annotations

import io
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')
pytest.importorskip("alembic", reason='a study needs the extra "judge"')
pytest.importorskip("aiohttp", reason='asking models needs the extra "judge"')

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def edited(run: Run, tmp_path: Path) -> Path:
    """A study whose question was reworded after its judges had answered."""
    folder = tmp_path / "study"
    assert run("init", folder)[0] == 0
    assert run("judge", folder)[0] == 0
    file = folder / "study.yaml"
    file.write_text(file.read_text().replace("How many stars would", "How many stars, really, would"))
    return folder


def versions(folder: Path) -> list[tuple[int, str]]:
    with sqlite3.connect(folder / "study.db") as db:
        found = db.execute("select version, current from questions order by id").fetchall()
    db.close()
    return found


SAYS = "8 answers to 'stars' (8 by judges) would no longer count"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["judge", "people invite", "serve"])
def test_changed_study_is_refused_without_decision(run: Run, edited: Path, command: str) -> None:
    if command != "judge":
        pytest.importorskip("fastapi", reason='the page needs the extra "serve"')
    code, out, err = run(*command.split(), edited, *(["ana"] if command == "people invite" else []))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert SAYS in err
    assert "--new-version" in err
    assert "--same-question" in err
    assert "changed=" not in err
    assert versions(edited) == [(1, 1)]


@pytest.mark.slow
def test_judge_queries_again_after_new_version(run: Run, edited: Path) -> None:
    code, out, err = run("judge", edited, "--new-version")
    assert (code, "8 of 8 labels collected" in out, SAYS in err) == (0, True, True)
    assert versions(edited) == [(1, 0), (2, 1)]


@pytest.mark.slow
def test_judge_keeps_answers_with_same_question(run: Run, edited: Path) -> None:
    code, out, err = run("judge", edited, "--same-question")
    assert (code, "0 of 0 labels collected" in out, SAYS in err) == (0, True, True)
    assert versions(edited) == [(1, 1)]


@pytest.mark.slow
def test_new_version_and_same_question_exclude_each_other(run: Run, edited: Path) -> None:
    code, _, err = run("judge", edited, "--same-question", "--new-version")
    assert code == 2
    assert "exclude each other" in err


@pytest.mark.slow
def test_dry_run_of_changed_study_writes_nothing(run: Run, edited: Path) -> None:
    before = (edited / "study.db").read_bytes()
    code, out, _ = run("judge", edited, "--dry-run")
    assert code == 0
    assert SAYS in out
    assert "example: 8 calls" in out
    assert (edited / "study.db").read_bytes() == before
    assert "example: 0 calls" in run("judge", edited, "--dry-run", "--same-question")[1]


class Terminal(io.StringIO):
    """A terminal with typed input."""

    def isatty(self) -> bool:
        return True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "code", "now"),
    [("n\n", 0, [(1, 0), (2, 1)]), ("s\n", 0, [(1, 1)]), ("\n", 2, [(1, 1)]), ("", 2, [(1, 1)])],
)
def test_changed_study_asks_at_terminal(
    run: Run, edited: Path, monkeypatch: pytest.MonkeyPatch, typed: str, code: int, now: list[tuple[int, int]]
) -> None:
    said = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stderr", said)
    assert run("judge", edited)[0] == code
    assert SAYS in said.getvalue()
    assert "Your choice:" in said.getvalue()
    assert versions(edited) == now


def test_report_of_changed_study_warns(run: Run, edited: Path) -> None:
    code, _, err = run("export", edited, edited.parent / "labels.csv")
    assert code == 0
    assert SAYS in err
    assert "before the change" in err
    assert versions(edited) == [(1, 1)]
