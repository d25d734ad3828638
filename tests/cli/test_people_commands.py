"""assay people invite with a table, and assay people pay: output and refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

pytest.importorskip("sqlalchemy", reason='the page needs the extra "serve"')
pytest.importorskip("fastapi", reason='the page needs the extra "serve"')

Run = Callable[..., tuple[int, str, str]]

STUDY = """
items: {file: items.jsonl}
questions: [{name: stars, text: "How many stars?", scale: 1-5}]
people: {overlap: {Job: {nurse: 1, doctor: 1}}, pay: {EUR: {item: 0.1}}}
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "my-study"
    folder.mkdir()
    (folder / "study.yaml").write_text(STUDY)
    (folder / "items.jsonl").write_text('{"item": "a", "text": "A text."}\n')
    return folder


def test_invite_sheet_writes_links_with_attributes(study: Path, run: Run) -> None:
    Path("people.csv").write_text("Name,Job,Language\nAna  Ruiz,nurse,es\nBen,doctor,\n", encoding="utf-8")
    code, out, err = run("people", "invite", study, "--sheet", "people.csv", "--output", "links.csv")
    assert (code, out) == (0, "")
    assert "2 links written to links.csv" in err
    links = pl.read_csv("links.csv")
    assert links.columns == ["name", "Job", "Language", "link"]
    assert links["name"].to_list() == ["Ana Ruiz", "Ben"]
    assert links["Language"].to_list() == ["es", None]
    assert all("/join/" in link for link in links["link"])
    code, _, err = run("people", "invite", study, "--sheet", "people.csv", "--output", "links.csv")
    assert (code, "is not overwritten" in err) == (2, True)
    code, out, err = run("people", "invite", study, "--sheet", "links.csv")
    assert (code, out.count("/join/")) == (0, 2), "the table of links can be given back, and links are no attribute"
    assert "Ana Ruiz is already invited; their link is unchanged" in err
    assert "not changed" not in err


@pytest.mark.parametrize(
    ("sheet", "words"),
    [
        ("who,Job\nAna,nurse\n", "has no column 'name'; it has who"),
        ("name,Job\nAna,nurse\nAna,doctor\n", "'Ana' appears twice"),
        ("name,Job\nAna,nurse\n ,doctor\n", "row 2 has no name"),
        ("name,Job\nAna,nurse\nBen,cook\n", "'cook' is not a group of the study"),
    ],
)
def test_invite_refuses_invalid_sheet(study: Path, run: Run, sheet: str, words: str) -> None:
    Path("people.csv").write_text(sheet)
    code, _, err = run("people", "invite", study, "--sheet", "people.csv")
    assert (code, words in err) == (2, True), err
    assert run("people", "invite", study)[1] == ""


def test_pay_prints_and_writes_table(study: Path, run: Run) -> None:
    code, _, err = run("people", "pay", study)
    assert (code, "no participants or invited annotators to pay yet" in err) == (2, True), err
    run("people", "invite", study, "Ana", "--attribute", "Job=nurse")
    code, out, err = run("people", "pay", study)
    assert code == 0
    assert out.splitlines()[0].split("  ")[0] == "person"
    assert "Ana" in out
    assert "None" not in out
    assert "1 annotator: 1 invited; 0.00 EUR in total" in err
    assert json.loads(run("people", "pay", study, "--json")[1])[0]["person"] == "Ana"
    assert run("people", "pay", study, "-o", "pay.csv")[0] == 0
    assert pl.read_csv("pay.csv")["currency"].to_list() == ["EUR"]
    assert "is not overwritten" in run("people", "pay", study, "-o", "pay.csv")[2]
    assert "--form writes a file for the platform" in run("people", "pay", study, "--form", "prolific")[2]
    code, _, err = run("people", "pay", study, "--form", "prolific", "-o", "bonuses.csv")
    assert (code, Path("bonuses.csv").read_text()) == (0, ""), "invited annotators are not on the platform"
    assert "written to bonuses.csv" in err
