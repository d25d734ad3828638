"""The option --reading: reading options in a file, for labels in another file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cli.app import visible_arguments
from assay.cli.labels import NAMES, READ_OPTIONS
from assay.data.formats import FormatSettings
from assay.data.formats.registry import ReadSettings
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
