"""Two options: --judges names the judges of the table, --only those to test."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cli import app as cli

Run = Callable[..., tuple[int, str, str]]
COLUMNS = ("--item", "id", "--annotator", "worker", "--label", "stars", "--scale", "1-5", "--epsilon", ".1")


@pytest.mark.parametrize("command", ["alt-test", "report", "agreement"])
def test_model_names_require_judges_or_humans(run: Run, table: str, command: str, tmp_path: Path) -> None:
    columns = COLUMNS[:-2] if command == "agreement" else COLUMNS
    code, out, err = run(command, table, *columns)
    assert (code, out) == (2, "")
    assert "'gpt-4o', 'llama' could be judges (names of models)" in err
    assert "--judges gpt-4o,llama" in err
    assert "--humans ann_1,ann_2,ann_3,gpt-4o,llama" in err
    code, out, err = run(command, table, *columns, "--judges", "gpt-4o")
    assert (code, out) == (2, "")
    assert "'llama' could be a judge (name of a model)" in err
    assert "--judges gpt-4o,llama" in err
    assert "--humans llama" in err


@pytest.mark.parametrize("option", ["--only", "--judge"])
def test_only_selects_among_judges(run: Run, table: str, option: str) -> None:
    both = ("--judges", "gpt-4o,llama", "--json")
    code, out, _ = run("alt-test", table, *COLUMNS, *both, option, "gpt-4o")
    assert code == 0
    found = json.loads(out)
    assert (found["judge"], found["signature"].split("|")[2]) == ("gpt-4o", "humans:3")
    code, out, err = run("alt-test", table, *COLUMNS, option, "gpt-4o")  # makes llama the fourth human
    assert (code, out) == (2, "")
    assert "--judges gpt-4o,llama" in err


@pytest.mark.parametrize("option", ["--only", "--judge"])
def test_only_requires_judges(run: Run, tmp_path: Path, option: str) -> None:
    path = tmp_path / "labels.csv"
    rows = [f"q{i},{who},{i % 3}" for i in range(40) for who in ("ann", "bob", "m1", "m2")]
    path.write_text("item,annotator,label\n" + "\n".join(rows) + "\n")
    for command in (
        ("alt-test", path),
        ("report", path, "-o", tmp_path / "r.html"),
        ("plan", "alt-test", "--pilot", path),
    ):
        code, _, err = run(*command, "--epsilon", ".1", option, "m1")
        assert code == 2
        assert "the table does not name its judges. Name all judges with --judges m1, and the judges to test" in err
    assert run("alt-test", path, "--epsilon", ".1", "--judges", "m1,m2", option, "m1")[0] == 0


def test_report_requires_a_judge_before_a_margin(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,label\n" + "".join(f"q{i},{who},{i % 3}\n" for i in range(9) for who in "ab"))
    code, _, err = run("report", path, "--humans", "a,b", "-o", tmp_path / "r.html")
    assert (code, "no judge to report on; name the judges with --judges" in err, "margin" in err) == (2, True, False)
    code, _, err = run("alt-test", path, "--humans", "a,b")
    assert (code, "no judge to test; name the judges with --judges" in err, "margin" in err) == (2, True, False)
    said = run("look", path, "--humans", "a,b", "--write", tmp_path / "read.yaml")[2]
    assert f"read it with: assay agreement {tmp_path / 'read.yaml'}" in said


@pytest.mark.slow
def test_each_repeat_of_a_judge_is_tested(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    rows = [f"q{i},{who},{(i + k) % 3},1" for i in range(40) for k, who in enumerate(("ann", "bob", "cho", "m1", "m2"))]
    rows += [f"q{i},m1,{i % 3},2" for i in range(40)]
    path.write_text("item,annotator,label,repeat\n" + "\n".join(rows) + "\n")
    how = ("--judges", "m1,m2", "--scale", "0-2", "--epsilon", ".1", "--repeats", "each", "--json")
    for command in (("alt-test", path), ("report", path, "-o", tmp_path / "r.html", "--n-resamples", "50")):
        for only, judges in (((), {"m1 (repeat 1)", "m1 (repeat 2)", "m2 (repeat 1)"}),
                             (("--only", "m1"), {"m1 (repeat 1)", "m1 (repeat 2)"})):  # fmt: skip
            code, out, err = run(*command, *how, *only, *(("--force",) if command[0] == "report" else ()))
            assert code == 0, err
            assert {row["judge"] for row in json.loads(out)["table"] if "(repeat" in row["judge"]} == judges


def test_only_and_judge_exclude_each_other(run: Run, table: str) -> None:
    code, _, err = run("alt-test", table, *COLUMNS, "--judges", "gpt-4o,llama", "--only", "gpt-4o", "--judge", "llama")
    assert (code, err.count("--only")) == (2, 2)
    code, _, err = run(
        "plan", "alt-test", "--pilot", table, *COLUMNS, "--judges", "gpt-4o,llama", "--only", "gpt-4o,llama"
    )
    assert code == 2
    assert "plan alt-test requires one judge of the pilot" in err


def test_help_hides_earlier_name_of_only() -> None:
    for command in ("alt-test", "report", "plan alt-test"):
        shown = {a.name: a.parameter.show for a in cli.app_of(command).assemble_argument_collection()}
        assert shown["--judge"] is False
        assert shown["--only"] is not False


def test_advice_quotes_names_with_spaces(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,label\na,ann,1\na,gpt 4,2\nb,ann,2\nb,gpt 4,2\n")
    _, _, err = run("agreement", path)
    assert "--judges 'gpt 4'" in err
    _, _, err = run("agreement", path, "--judges", "gpt 4")
    assert "looks like a model" not in err


@pytest.mark.slow
def test_spelling_option_merges_names(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    rows = [f"q{i},{('Ann ', 'ann')[i % 2]},{1 + i % 4}\nq{i},Bob,{1 + i % 3}" for i in range(8)]
    path.write_text("item,annotator,label\n" + "\n".join(rows) + "\n")
    code, out, err = run("agreement", path, "--scale", "1-5")
    assert (code, out) == (2, "")
    assert "annotators differ only in case or spaces: 'Ann', 'ann'" in err
    assert "Set --spelling merge if they are the same, or --spelling apart if they are different" in err
    code, _, err = run("agreement", path, "--scale", "1-5", "--spelling", "merge")
    assert code == 0
    assert "note: removed spaces around names of annotators in 4 rows: 'Ann '" in err
    assert "note: annotators that differ only in spelling are merged: 'Ann', 'ann'" in err
    code, _, err = run("agreement", path, "--scale", "1-5", "--spelling", "apart")
    assert code == 0
    assert "kept separate" in err


@pytest.mark.parametrize(
    ("typed", "advised"),
    [
        (("--judge", "gpt4o"), "--judge gpt-4o "),
        (("--judge=GPT-4O",), "--judge=gpt-4o "),
        (("--only", "lama,gpt4o"), "--only llama,gpt-4o "),
        (("--only", "claude"), "--only claude "),
    ],
)
def test_printed_command_names_judges_as_the_table_does(
    run: Run, table: str, typed: tuple[str, ...], advised: str
) -> None:
    code, _, err = run("alt-test", table, *COLUMNS, *typed)
    assert code == 2
    assert f" {advised}" in err


def test_look_names_options_as_they_are_typed(run: Run, tmp_path: Path) -> None:
    rows = [f"i{n},{who},{n % 5 + 1},2026-01-0{n % 9 + 1} 10:0{k}" for n in range(9) for k, who in enumerate("aab")]
    (tmp_path / "twice.csv").write_text("\n".join(["item,annotator,label,time", *rows]))
    code, out, _ = run("look", tmp_path / "twice.csv")
    assert code == 2
    assert "set --repeat time, and keep the latest with --repeats last" in " ".join(out.split())
