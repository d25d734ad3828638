"""Studies that annotators could not see or reach are refused before serving; known annotators are reported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from annotating import STARS, Served, write_study
from browsing import picture

from assay.cli.app import main
from assay.collecting.design import StudyDesign
from assay.collecting.invitations import checked_address
from assay.errors import StudyError
from assay.study.definition import load_study
from assay.study.store import people
from assay.study.store.connection import open_store
from assay.study.store.intake import sync_study

PREFERENCE = {"name": "better", "text": "Which?", "scale": "preference", "options": ["one", "two"], "show": []}


def command(*given: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(given))
    return int(end.value.code or 0)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing.png", "does not exist"),
        ("../outside.png", "outside the study folder"),
        ("link.png", "outside the study folder"),
        ("fine.svg", "an SVG may hold a script, so save it as PNG"),
        ("notes.txt", "is not of a kind that the page shows"),
        ("https://example.org/a.png", "is on another host"),
        ("//example.org/a.png", "is on another host"),
    ],
)
@pytest.mark.parametrize("role", ["items", "checks"])
def test_invisible_image_is_refused(tmp_path: Path, name: str, why: str, role: str) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    picture(tmp_path / "outside.png", (1, 2, 3))
    picture(folder / "fine.png", (1, 2, 3))
    (folder / "link.png").symlink_to(tmp_path / "outside.png")
    for other in ("fine.svg", "notes.txt"):
        (folder / other).write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    rows = [{"item": f"{role[0]}{n}", "photo": one} for n, one in enumerate(("fine.png", name))]
    fine = [{"item": "fine", "photo": "fine.png"}]
    write_study(
        folder,
        items=rows if role == "items" else fine,
        questions=[{**STARS, "show": ["photo"]}],
        people={"checks": {"file": "c.jsonl"}} if role == "checks" else {},
        tables={"c.jsonl": [{**row, "stars": 5} for row in rows]} if role == "checks" else {},
    )
    text = (folder / "study.yaml").read_text().replace("file: items.jsonl", "file: items.jsonl\n  images: [photo]")
    (folder / "study.yaml").write_text(text)
    with pytest.raises(StudyError) as error:
        Served(folder)
    assert f"the image '{name}' of item '{role[0]}1' (column 'photo')" in str(error.value)
    assert why in str(error.value)


def test_meanings_without_a_place_on_the_page_are_refused(tmp_path: Path) -> None:
    rows = [{"item": "a", "one": "x", "two": "y"}]
    folder = write_study(tmp_path / "s", items=rows, questions=[{**PREFERENCE, "meanings": {-1: "much better"}}])
    with pytest.raises(StudyError, match="'better' has meanings, which the page has no place for"):
        Served(folder)


@pytest.mark.slow
def test_meanings_of_numbers_are_shown_on_their_scale(serve: Callable[..., Served]) -> None:
    question = {"name": "quality", "text": "?", "scale": "interval:0-10", "meanings": {0: "useless", 10: "perfect"}}
    assert "0: useless; 10: perfect." in serve(questions=[question]).annotator().send("GET", "/work").text
    there = {"by_scale": {"interval:0-100": {"meanings": {100: "superb"}}, "1-7": {"meanings": {}}}}
    for question_ in (question, {**question, "scale": "1-5", "meanings": {1: "useless", 5: "perfect"}}):
        crossed = serve(questions=[question_ | there], conditions={"scale": ["interval:0-100", "1-7"]}, items=2)
        ana = crossed.annotator()
        ana.work_through()
        heard = "".join(reply.text for reply in crossed.heard)
        assert "How" in heard or "?" in heard
        assert "useless" not in heard, "1 of 7, and 0 of 100, mean something else"
        assert "100: superb." in heard


# -- addresses --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("label.example.org", "must be the public address of the page"),
        ("ftp://label.example.org", "must be the public address of the page"),
        ("https://", "must be the public address of the page"),
        ("https://label.example.org:port", "must be the public address of the page"),
        ("https://me:secret@label.example.org", "must be the public address of the page"),
        ("https://label example.org", "must be the public address of the page"),
        ("https://[::1", "must be the public address of the page"),
        ("https://example.org/label", "cannot have a path"),
        ("https://example.org/?study=1", "cannot have a path"),
    ],
)
@pytest.mark.parametrize("name", ["serve", "people invite"])
def test_checked_address_refuses_invalid_address(tmp_path: Path, capsys: Any, given: str, why: str, name: str) -> None:
    folder = write_study(tmp_path / "s")
    assert command(*name.split(), str(folder), "--base-url", given) == 2
    said = capsys.readouterr()
    assert why in said.err
    assert said.out == "", "no link was printed"


def test_checked_address_accepts_valid_address() -> None:
    assert checked_address("https://label.example.org/") == "https://label.example.org"
    assert checked_address(" http://127.0.0.1:8321") == "http://127.0.0.1:8321"
    assert checked_address("http://[::1]:8321") == "http://[::1]:8321"


# -- invitations ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_known_annotators_do_not_prevent_other_invitations(tmp_path: Path, capsys: Any) -> None:
    folder = write_study(tmp_path / "s")
    assert command("people", "invite", str(folder), "P01") == 0
    first = capsys.readouterr().out
    assert command("people", "invite", str(folder), "P51", " P01", "P52", "P51", "--attribute", "job=nurse") == 0
    said = capsys.readouterr()
    assert [line.split("\t")[0] for line in said.out.splitlines()] == ["P01", "P51", "P52"]
    assert said.out.splitlines()[0].split("\t")[0] == first.split("\t")[0]
    assert "P01 is already invited; their link is unchanged; not changed: job=nurse" in said.err
    with Served(folder, ()) as page:
        assert [one.name for one in people.all_people(page.store)] == ["P01", "P51", "P52"]
        people.set_state(page.store, "P51", "revoked")
        people.exclude(page.store, "P52")
    assert command("people", "invite", str(folder), "P51", "P52") == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "P51 is already invited, and their link was revoked" in said.err
    assert "P52 is already invited and excluded" in said.err


def test_invite_all_adds_none_if_one_name_is_invalid(tmp_path: Path, capsys: Any) -> None:
    judge = {"name": "gpt", "provider": "recorded", "file": "replies.jsonl"}
    folder = write_study(tmp_path / "s", judges=[judge])
    assert command("people", "invite", str(folder), "P01", "gpt", "P02") == 2
    assert "'gpt' is the name of a judge" in capsys.readouterr().err
    with Served(folder, ()) as page:
        assert people.all_people(page.store) == [], "a list is invited completely or not at all"
        assert isinstance(page.design, StudyDesign)


def test_pairs_of_items_are_for_judges_only(tmp_path: Path) -> None:
    question = {"name": "alike", "text": "Similar?", "scale": "0-1", "options": ["review"], "show": []}
    folder = tmp_path / "study"
    write_study(folder, items=[{"item": f"r{n}", "review": f"text {n}"} for n in range(3)], questions=[question])
    study = load_study(folder)
    with open_store(study) as store:
        sync_study(store, study)
        with pytest.raises(StudyError, match=r"only judges can compare pairs of items; .* scale: odd-one-out"):
            StudyDesign(study, store)
