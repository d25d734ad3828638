"""The option --reading: reading options in a file, for labels in another file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

import assay
from assay.cli.app import visible_arguments
from assay.cli.labels import NAMES, READ_OPTIONS
from assay.data.formats import FormatSettings
from assay.data.formats.registry import ReadSettings
from assay.errors import DataError
from assay.estimation.options import hints_of

Run = Callable[..., tuple[int, str, str]]
FEW = ("--coefficients", "exact-agreement", "--n-resamples", "40")


@pytest.fixture
def sheets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, shift in (("june.csv", 0), ("july.csv", 1)):
        rows = "".join(f"q{k},{1 + (k + shift) % 5},{1 + k % 4}\n" for k in range(20))
        Path(name).write_text(f"ID,Ann,Bob\n{rows}")
    return tmp_path


@pytest.mark.slow
def test_reading_file_replaces_options_and_typed_options_override_it(run: Run, sheets: Path) -> None:
    code, _, err = run("look", "june.csv", "--item", "ID", "--wide", "--scale", "1-5", "--write", "reading.yaml")
    assert code == 0, err
    plain = run("agreement", "july.csv", "--item", "ID", "--wide", "--columns", "Ann,Bob", "--scale", "1-5", *FEW)
    assert plain[0] == 0
    assert run("agreement", "july.csv", "--reading", "reading.yaml", *FEW) == plain
    code, _, err = run("agreement", "july.csv", "--reading", "reading.yaml", "--scale", "1-3", *FEW)
    assert (code, "off the scale" in err) == (2, True)


def test_reading_file_must_be_one(run: Run, sheets: Path) -> None:
    code, _, err = run("agreement", "june.csv", "--reading", "none.yaml")
    assert (code, err) == (
        2, "assay: the file 'none.yaml' does not exist; write it with: assay look FILE --write none.yaml\n"
    )  # fmt: skip
    Path("other.yaml").write_text("scale: 1-5\n")
    code, _, err = run("agreement", "june.csv", "--reading", "other.yaml")
    assert (code, "other.yaml is not a reading file" in err) == (2, True)


def test_reading_file_is_never_overwritten_by_a_page(run: Run, sheets: Path) -> None:
    run("look", "june.csv", "--item", "ID", "--wide", "--scale", "1-5", "--write", "reading.yaml")
    before = Path("reading.yaml").read_text()
    Path("page.html").symlink_to("reading.yaml")
    code, _, err = run("agreement", "june.csv", "--reading", "reading.yaml", *FEW, "-o", "page.html", "--force")
    assert (code, "is an input file" in err) == (2, True)
    assert Path("reading.yaml").read_text() == before


def test_reading_options_are_those_of_read() -> None:
    own = {name for name, (_, limits) in hints_of(ReadSettings).items() if not limits.hidden}
    formats = set(hints_of(FormatSettings)) - {"sheet", "question"}
    assert {*READ_OPTIONS} == own - formats - {"reading"}
    offered = {one.name: one for one in visible_arguments("agreement")}
    for name, (_, limits) in READ_OPTIONS.items():
        option = offered[NAMES[name]]
        assert option.parameter.help.startswith(limits.help)
    first = {"--item", "--annotator", "--label", "--judges", "--scale", "--wide", "--reading"}
    listed = [NAMES[name] for name, (_, limits) in READ_OPTIONS.items() if limits.first]
    assert {*listed, "--wide", "--reading"} == first


@pytest.fixture
def months(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reading of people and a judge, and two files of further items: of that judge, and of another."""
    monkeypatch.chdir(tmp_path)
    words = ("bad", "ok", "good")
    rows = [f"q{k},{words[k % 3]},{words[(k + k % 2) % 3]},{words[(k + k % 4) % 3]}\n" for k in range(40)]
    Path("people.csv").write_text("ID,Ann,Bob,gpt-4o\n" + "".join(rows))
    for name, who in (("more", "gpt-4o"), ("other", "llama-3")):
        rows = [
            f"{f'r{k}' if name == 'more' else 'text ' + 'ab'[k // 15] + chr(97 + k % 15)},{words[k % 2]}\n"
            for k in range(30)
        ]
        Path(f"{name}.csv").write_text(f"ID,{who}\n" + "".join(rows))
    assay.look("people.csv", judges=["gpt-4o"], scale="ordinal:bad<ok<good").write("reading.yaml")
    return tmp_path


def test_further_items_of_annotators_are_read_next_to_a_reading_file(run: Run, months: Path) -> None:
    plain = assay.read(["people.csv", "more.csv"], judges=["gpt-4o"], scale="ordinal:bad<ok<good")
    for files in (["reading.yaml", "more.csv"], ["more.csv", "reading.yaml"]):
        both = assay.read(files)
        assert (both.fingerprint, both.n_items) == (plain.fingerprint, 70)
        assert "no item is in both tables: " in " ".join(both.reading.notes)
    Path("again.csv").write_text(re.sub(r"\nq(\d+)", r"\nText [q\1]", Path("people.csv").read_text()))
    for files in (["reading.yaml", "again.csv"], ["people.csv", "again.csv"]):
        with pytest.raises(DataError, match=r"40 of 40 match loosely \('Text \[q0\]' = 'q0'\)"):
            assay.read(files, judges=["gpt-4o"])
    code, out, err = run("look", "reading.yaml", "more.csv")
    assert (code, "corrected estimates (30 items without human labels)" in out) == (0, True), err


def test_advice_about_further_files_works_or_names_the_next_step(run: Run, months: Path) -> None:
    code, _, err = run("agreement", "reading.yaml", "--labels-from", "other.csv", *FEW)
    assert (code, "'llama-3' could be a judge" in err) == (2, True)
    pasted = shlex.split(err.partition("If this is right, run: assay ")[2])
    code, _, err = run(*pasted)
    said = "no annotator is in both. Read both with the column that has the same ids (--item ...)"
    assert (code, said in err) == (2, True), err
    Path("other.csv").write_text("ID,llama-3\n" + "".join(f"q{k},{('bad', 'ok')[k % 2]}\n" for k in range(30)))
    assert run(*pasted)[0] == 0, "the advice works as soon as items are shared"


def test_look_keeps_the_files_of_items_and_annotators(run: Run, sheets: Path) -> None:
    Path("about.csv").write_text("item,genre\n" + "".join(f"q{k},{'ab'[k % 2]}\n" for k in range(20)))
    Path("people.csv").write_text("annotator,team\nAnn,x\nBob,y\n")
    more = ("--items", "about.csv", "--annotator-table", "people.csv")
    code, out, err = run("look", "june.csv", "--item", "ID", "--wide", *more, "--write", "in/reading.yaml")
    assert code == 0, err
    command = next(line for line in out.splitlines() if line.startswith("Next command:"))
    assert "--items about.csv" in command
    assert "--annotator-table people.csv" in command
    assert "items='about.csv'" in out
    labels = assay.read("in/reading.yaml")
    assert labels.values_of("genre") == ("a", "b")
    assert labels.values_of("team") == ("x", "y")
    code, again, _ = run(*shlex.split(command.split(":", 1)[1])[1:], *FEW)
    assert (code, run("agreement", "in/reading.yaml", *FEW)[1]) == (0, again)
