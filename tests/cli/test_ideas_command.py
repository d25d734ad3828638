"""A judge's table as a measure, short names, and a table that fits a terminal."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from assay.cli import app

EXAMPLE = Path(__file__).parents[2] / "examples" / "odd_ones.csv"


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    """The human annotators of the example in one file, its judge in another."""
    frame = pl.read_csv(EXAMPLE)
    frame.filter(pl.col("annotator") != "gpt-4o").write_csv(tmp_path / "people.csv")
    frame.filter(pl.col("annotator") == "gpt-4o").write_csv(tmp_path / "judge.csv")
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *given: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        app.main(["ideas", *given, "--scale", "odd-one-out", "--n-resamples", "99"])
    assert not stopped.value.code
    return capsys.readouterr().out


def test_ideas_reads_file_of_choices_as_measure(apart, capsys):
    """A file of choices is read with any annotators; ρ is the same as from one table."""
    alone = said(capsys, str(apart / "people.csv"), "--measures", str(apart / "judge.csv"))
    together = said(capsys, str(EXAMPLE), "--judges", "gpt-4o")
    row = next(line for line in alone.splitlines() if line.startswith("gpt-4o "))
    assert row.split() == next(line for line in together.splitlines() if line.startswith("gpt-4o ")).split()
    assert "expert test–retest" in alone


def test_ideas_reads_file_of_pair_numbers_as_measure(apart, capsys):
    names = [f"note {k:02d}" for k in range(1, 13)]
    rows = [
        (f"{a} {b}", "bot", a, b, (i * j % 7) / 7) for i, a in enumerate(names) for j, b in enumerate(names) if i < j
    ]
    columns = ["item", "annotator", "first_item", "second_item", "label"]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(apart / "pairs.csv")
    found = said(capsys, str(apart / "people.csv"), "--measures", str(apart / "pairs.csv"))
    assert any(line.startswith("bot ") for line in found.splitlines())


def test_ideas_table_omits_summary_columns(apart, capsys):
    head = said(capsys, str(EXAMPLE), "--judges", "gpt-4o", "--measures", "words").splitlines()[0]
    assert head.split() == ["measure", "verdict", "ρ", "share", "p", "same", "texts"]
