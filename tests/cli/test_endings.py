"""How commands end: exit status, one line on standard error without traceback, and standard output."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cli import app as cli
from assay.cli import output
from waiting import wait_until

Run = Callable[..., tuple[int, str, str]]
READ = ("--item", "id", "--annotator", "worker", "--label", "stars", "--scale", "1-5", "--judges", "gpt-4o,llama")
ASSAY = (sys.executable, "-m", "assay")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files that are wrong for commands."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty.csv").touch()
    (tmp_path / "header.csv").write_text("item,annotator,label\n")
    (tmp_path / "one.csv").write_text("item,annotator,label\na,ann,1\n")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1and no more")
    monkeypatch.chdir(tmp_path)
    return tmp_path


PLAN = ("plan", "alt-test")
BAD = [
    ("nope",), ("--nope",), ("demo", "more"), ("alt-test",), ("alt-test", "nothing.csv", "--epsilon", ".1"),
    ("demo", "--seed", "-1"), ("demo", "--seed", "x"), ("demo", "-o", "folder"), ("demo", "-o", "file/page.html"),
    *(("agreement", f) for f in ("folder", "empty.csv", "header.csv", "one.csv", "binary.csv", "broken.json",
                                 "broken.parquet", "", "/")),
    ("agreement", "TABLE", *READ, "--json", "--csv"), ("agreement", "TABLE", *READ, "-o", "folder"),
    ("agreement", "TABLE", *READ, "--coefficients", "kapa"), ("agreement", "TABLE", *READ, "--by", "nope"),
    ("agreement", "TABLE", *READ, "--seed", "-1", "--method", "percentile"),
    ("scales", "TABLE", *READ), ("scales", "one.csv"),
    (*PLAN, "--n-items", "30", "--pilot", "one.csv"), (*PLAN, "--judge", "gpt"), (*PLAN, "--categories", "text"),
    (*PLAN, "--n-items", ""), (*PLAN, "--quality", "x"),
    ("alt-test", "TABLE", *READ), ("alt-test", "TABLE", *READ, "--epsilon", ".1", "--correction", "within"),
    ("alt-test", "TABLE", *READ, "--epsilon", ".1", "--gold", "nope"),
    ("alt-test", "TABLE", *READ, "--epsilon", ".1", "--similarity", "broken.json"),
    ("alt-test", "TABLE", *READ, "--epsilon", ".1", "--items", "broken.json"),
    ("alt-test", "TABLE", *READ, "--epsilon", ".1", "--option", "users=x"),
    ("alt-test", "nothing.csv", "--epsilon", ".1", "--option", "users=x"),
    ("alt-test", "TABLE", *READ, "--epsilon", ".1", "--where", "worker"),
    ("alt-test", "TABLE", *READ, "--epsilon", ".1", "--split-item", "("),
    ("report", "TABLE", *READ, "--expertise", "crowd", "-o", "folder"), ("report", "one.csv", "--epsilon", ".1"),
    ("init", "file"), ("import", "TABLE", *READ, "-o", "labels.xyz"), ("import", "TABLE", *READ, "-o", "folder"),
    ("export", "TABLE", "folder", *READ), ("export", "TABLE", "file", *READ, "--to", "alt-test"),
    ("export", "TABLE", "labels.csv", *READ, "--to", "nope"),
    ("--install-completion", "--shell", "nope"),
]  # fmt: skip


@pytest.mark.parametrize("arguments", BAD, ids=lambda a: " ".join(w for w in a if w not in READ) or "(nothing)")
def test_commands_refuse_bad_input_in_one_line(run: Run, place: Path, table: str, arguments: tuple[str, ...]) -> None:
    code, out, err = run(*(table if word == "TABLE" else word for word in arguments))
    lines = [line for line in err.splitlines() if not line.startswith("note: ")]
    assert (code, out, len(lines)) == (2, "", 1), err
    assert lines[0].startswith("assay: ")
    assert "internal error" not in lines[0]


@pytest.mark.parametrize("command", ["judge", "people invite", "serve"])
def test_study_commands_refuse_other_folders(run: Run, place: Path, command: str) -> None:
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("alembic")
    pytest.importorskip("aiohttp" if command == "judge" else "fastapi")
    code, out, err = run(*command.split(), "folder")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "create a study with: assay init folder" in err


def test_unreadable_file_is_refused(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "labels.csv")

    monkeypatch.setattr("assay.reading.read", refuse)
    assert run("agreement", "labels.csv") == (2, "", "assay: labels.csv: Permission denied\n")


def test_internal_error_is_one_line(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.reading.read", lambda *_, **__: 1 / 0)
    code, out, err = run("agreement", "one.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "internal error in assay: ZeroDivisionError" in err
    monkeypatch.setenv("ASSAY_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        cli.main(["agreement", "one.csv"])


@pytest.mark.parametrize("form", ["--json", "--csv"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("alt-test", "TABLE", *READ, "--expertise", "crowd"),
        ("alt-test", "TABLE", *READ, "--expertise", "crowd", "--by", "half"),
        ("agreement", "TABLE", *READ, "--coefficients", "qwk", "--who", "humans,consensus", "-o", "page.html"),
        pytest.param(("report", "TABLE", *READ, "--expertise", "crowd", "-o", "page.html"), marks=pytest.mark.slow),
        (*PLAN, "--n-items", "30", "--n-studies", "20"),
        ("import", "TABLE", *READ, "-o", "labels.csv"),
    ],
    ids=lambda a: " ".join(w for w in a if w not in READ),
)
@pytest.mark.usefixtures("few_truths", "without_pictures")
def test_output_options_print_only_their_format(
    run: Run, place: Path, table: str, arguments: tuple[str, ...], form: str
) -> None:
    if "--by" in arguments:
        (place / "items.csv").write_text("item,half\n" + "".join(f"item_{i:02d},{i % 2}\n" for i in range(1, 81)))
        arguments = (*arguments, "--items", "items.csv")
    code, out, _ = run(*(table if word == "TABLE" else word for word in arguments), form)
    assert code == 0
    if form == "--json":
        assert json.loads(out)
    else:
        rows = out.splitlines()
        assert len({row.count(",") for row in rows if '"' not in row}) == 1
        assert rows.count(rows[0]) == 1


@pytest.mark.slow
def test_exports_with_other_column_names_are_read(run: Run, table: str) -> None:
    """``--where`` and ``--by`` accept the column names of the file."""
    code, out, err = run("agreement", table, *READ, "--where", "worker=ann_1,ann_2", "--who", "humans", "--json")
    assert code == 0, err
    assert json.loads(out)["humans"] == ["ann_1", "ann_2"]
    code, out, err = run("agreement", table, *READ, "--by", "worker", "--who", "humans", "--coefficients", "qwk")
    assert "is not in" not in err
    code, out, err = run("agreement", table, *READ, "--where", "stars=1,2", "--who", "humans", "--json")
    assert code == 0, err


# -- as a program -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_python_m_assay_prints_version() -> None:
    done = subprocess.run([*ASSAY, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == cli.__version__
    done = subprocess.run([*ASSAY, "nope"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


@pytest.mark.slow
def test_closed_pipe_ends_quietly(table: str) -> None:
    command = [*ASSAY, "agreement", table, *READ, "--csv", "--who", "humans"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_full_disk_is_one_line(table: str) -> None:
    with Path("/dev/full").open("w") as full:
        command = [*ASSAY, "agreement", table, *READ, "--csv", "--who", "humans"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("assay: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_output_replaces_letters_missing_from_encoding(table: str) -> None:
    command = [*ASSAY, "alt-test", table, *READ, "--expertise", "crowd"]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=False)
    assert done.returncode == 0, done.stderr
    assert "ρ" in done.stdout.decode()


def test_interrupt_has_no_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("assay.planning.plan_alt_test", interrupted)
    with pytest.raises(SystemExit) as ended:
        cli.main(["plan", "alt-test"])
    assert ended.value.code == 130
    assert "Traceback" not in "".join(capsys.readouterr())


class Terminal(io.StringIO):
    """The output of a command on a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("patience", "drawn"), [(60, False), (0.01, True)])
def test_progress_bar_appears_for_long_work(monkeypatch: pytest.MonkeyPatch, patience: float, drawn: bool) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with output.progress_bar("Planning", patience=patience) as tell:
        assert tell is not None
        if drawn:
            wait_until(lambda: "Planning" in terminal.getvalue(), "no bar was drawn")
        tell("step", 1, 2)
    assert drawn or "Planning" not in terminal.getvalue()


def test_progress_bar_is_absent_without_terminal() -> None:
    with output.progress_bar("Planning") as tell:
        assert tell is None


@pytest.mark.slow
def test_install_completion_writes_script(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # its .bashrc loads the script
    few = {group: [row for row in rows if row.name in ("alt-test", "judge")] for group, rows in cli.COMMANDS.items()}
    monkeypatch.setattr(cli, "COMMANDS", few)  # reading the options of all commands takes seconds
    monkeypatch.setattr(cli, "app", cli._app())
    script = tmp_path / "assay.bash"
    code, _, _ = run("--install-completion", "--shell", "bash", "--output", str(script))
    assert code == 0
    assert str(script) in (tmp_path / ".bashrc").read_text()
    assert "alt-test" in script.read_text()
    assert "--n-resamples" in script.read_text()
