"""No command overwrites its input; other files only with --force."""

from __future__ import annotations

import inspect
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from assay.cli.app import all_commands
from assay.cli.commands import BY_NAME
from assay.cli.labels import _question
from assay.cli.output import import_named
from assay.errors import AssayError
from assay.reporting.page import Page, atomic_write, refuse_overwriting, writable

Run = Callable[..., tuple[int, str, str]]
pytestmark = [pytest.mark.xdist_group("overwriting"), pytest.mark.usefixtures("few_truths", "sketches")]

EXAMPLES = Path(__file__).parents[2] / "examples"
READ = ("--item", "id", "--annotator", "worker", "--label", "stars", "--judges", "gpt-4o,llama")
FEW = ("--n-resamples", "40")
WRITERS = {
    # a command that writes, and the suffix of its output
    "report": (("report", "labels.csv", *READ, "--expertise", "crowd", *FEW, "-o"), ".html"),
    "agreement": (("agreement", "labels.csv", *READ, "--coefficients", "exact-agreement", *FEW, "-o"), ".html"),
    "import": (("import", "labels.csv", *READ, "-o"), ".csv"),
    "export": (("export", "labels.csv", *READ), ".csv"),
    "export to Label Studio": (("export", "labels.csv", *READ, "--to", "label-studio"), ".json"),
    "export to Langfuse": (("export", "labels.csv", *READ, "--to", "langfuse"), ".jsonl"),
    "split": (("study", "split", "labels.csv", "--item", "id", "-o"), ".csv"),
    "triplets": (("plan", "triplets", "notes.csv", "--name", "a", "--floor", "2", "-o"), ".csv"),
    "votes": (("ratings", "votes.csv", "--scale", "preference", "--repeat", "repeat", *FEW, "--judges", "gpt-4o", "-o"),
              ".html"),
}  # fmt: skip


WITHOUT_FORCE = {"plan alt-test", "judge"}
"""A plan is written once; the record of a run only grows."""


def test_writing_commands_have_force():
    """The refusal of every command names --force."""
    for name, command in all_commands().items():
        names = {one for argument in command.assemble_argument_collection() for one in argument.names}
        if names & {"--output", "--write", "--record"} and name not in WITHOUT_FORCE:
            assert "--force" in names, name


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("labels.csv", "votes.csv"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    pl.DataFrame({"a": list("uvwxyz"), "b": ["s"] * 6}).write_csv(tmp_path / "notes.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def typed(case: str, to: str, *more: str) -> tuple[str, ...]:
    words = WRITERS[case][0]
    if "-o" not in words:  # the output is the second argument of export
        return (*words[:2], to, *words[2:], *more)
    return (*words, to, *more)


@pytest.mark.parametrize("case", WRITERS)
def test_source_is_never_overwritten(run: Run, desk: Path, case: str) -> None:
    source = next(word for word in WRITERS[case][0] if word.endswith(".csv"))
    before = (desk / source).read_bytes()
    for more in ((), ("--force",)):
        code, _, err = run(*typed(case, source, *more))
        assert code == 2, err
        assert source in err
        assert (desk / source).read_bytes() == before


def test_source_is_never_overwritten_by_link(run: Run, desk: Path) -> None:
    (desk / "copy.html").symlink_to(desk / "labels.csv")
    before = (desk / "labels.csv").read_bytes()
    code, _, err = run(*typed("report", "copy.html", "--force"))
    assert code == 2
    assert "is an input file" in err
    assert (desk / "labels.csv").read_bytes() == before


def test_item_table_is_never_overwritten(run: Run, desk: Path) -> None:
    pl.DataFrame({"item": ["item_01"], "topic": ["x"]}).write_csv(desk / "items.csv")
    code, _, err = run(*typed("export", "items.csv", "--items", "items.csv", "--force"))
    assert code == 2
    assert "is an input file" in err


@pytest.mark.slow
@pytest.mark.parametrize("case", WRITERS)
def test_other_file_requires_force(run: Run, desk: Path, case: str) -> None:
    place = desk / f"own{WRITERS[case][1]}"
    place.write_text("my own notes", encoding="utf-8")
    code, _, err = run(*typed(case, place.name))
    assert code == 2
    assert "exists and is not overwritten" in err
    assert place.read_text(encoding="utf-8") == "my own notes"
    before = {*desk.iterdir()}
    code, said, err = run(*typed(case, place.name, "--force"))
    assert code == 0, err
    assert place.read_text(encoding="utf-8") != "my own notes"
    assert not list(desk.glob(".*part*"))
    for path in {*desk.iterdir()} - before | {place}:
        assert re.search(rf"\b{re.escape(path.name)}\b", said + err), f"{path.name} is written and not named"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "way"),
    [
        (WRITERS["report"][0][:-1], "--csv"),
        (("demo",), "--json"),
        pytest.param(WRITERS["report"][0][:-1], "--json", marks=pytest.mark.slow),
        pytest.param(("demo",), "--csv", marks=pytest.mark.slow),
    ],
)
def test_numbers_alone_write_no_page(run: Run, desk: Path, words: tuple[str, ...], way: str) -> None:
    before = {*desk.iterdir()}
    code, said, err = run(*words, way)
    assert code == 0, err
    assert said.startswith("{" if way == "--json" else "judge,"), said[:80]
    assert {*desk.iterdir()} == before
    assert "written" not in err
    assert run(*words, way, "-o", "page.html")[2].endswith("written to page.html, page.json\n")


def test_gate_names_its_files(run: Run, desk: Path) -> None:
    (desk / "assay.toml").write_text(
        'labels = "labels.csv"\njudge = "gpt-4o"\n[read]\nitem = "id"\nannotator = "worker"\nlabel = "stars"\n'
        'judges = ["gpt-4o", "llama"]\n[verdict]\nepsilon = 0.1\n',
        encoding="utf-8",
    )
    err = run("gate", "assay.toml", "--comment", "comment.md", "--junit", "gate.xml")[2]
    assert err.endswith("written to comment.md\nwritten to gate.xml\n"), err
    assert {"comment.md", "gate.xml"} <= {one.name for one in desk.iterdir()}


@pytest.mark.slow
def test_own_page_is_overwritten(run: Run, desk: Path) -> None:
    for _ in range(2):
        assert run(*typed("agreement", "page.html"))[0] == 0


def test_force_is_off_by_default() -> None:
    runs = {row.name: import_named(row.run) if row.run else _question(row) for row in BY_NAME.values()}
    parameters = {name: inspect.signature(run).parameters for name, run in runs.items()}
    forced = {name: each["force"].default for name, each in parameters.items() if "force" in each}
    assert len(forced) > 20
    assert {name for name, default in forced.items() if default is not False} == set()


def test_command_defaults() -> None:
    """All flags are off; these are the numbers."""
    from assay.cli import app, estimates, guesses, labels, output, plans, service, studies

    made = {
        f"{function.__name__}.{one.name}": one.default
        for module in (app, estimates, guesses, labels, output, plans, service, studies)
        for function in vars(module).values()
        if inspect.isfunction(function) and function.__module__ == module.__name__
        for one in inspect.signature(function).parameters.values()
        if isinstance(one.default, int | float)
    }
    assert len(made) > 50
    assert {name: default for name, default in made.items() if default is not False} == {
        "demo.seed": 7, "separability.n_pairs": 5, "split.seed": 0, "serve.port": 8321,
        "serve.workers": 1, "look.port": 0, "progress_bar.patience": 1.0,
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", WRITERS)
@pytest.mark.parametrize("name", [pytest.param("x.pdf", marks=pytest.mark.slow), "x"])
def test_wrong_suffix_is_refused(run: Run, desk: Path, case: str, name: str) -> None:
    code, _, err = run(*typed(case, name))
    assert code == 2
    better = err.rpartition("name ")[2].strip()
    assert not (desk / name).exists()
    code, _, err = run(*typed(case, better))
    assert code == 0, err
    assert (desk / better).is_file()


def test_export_to_folder_keeps_other_files(run: Run, desk: Path) -> None:
    words = ("export", "labels.csv", "folder", *READ, "--to", "alt-test")
    assert run(*words)[0] == 0
    (desk / "folder" / "mine.txt").write_text("mine")
    code, _, err = run(*words)
    assert code == 2
    assert "human_annotations.json" in err
    assert run(*words, "--force")[0] == 0
    assert (desk / "folder" / "mine.txt").read_text() == "mine"
    code, _, err = run("export", "folder", "folder", "--to", "alt-test", "--force")
    assert code == 2
    assert "is an input file" in err


def test_record_appends_to_responses_only(run: Run, desk: Path) -> None:
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("aiohttp")
    assert run("init", "study")[0] == 0
    (desk / "mine.jsonl").write_text('{"id": 1}\n')
    code, _, err = run("judge", "study", "--record", "mine.jsonl")
    assert code == 2
    assert "is not a file of responses" in err
    assert (desk / "mine.jsonl").read_text() == '{"id": 1}\n'
    assert run("judge", "study", "--record", "replies.jsonl")[0] == 0
    assert run("judge", "study", "--record", "replies.jsonl")[0] == 0


def test_atomic_write_replaces_whole_file(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("before")

    def interrupted() -> None:
        with atomic_write(file) as place:
            place.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert file.read_text() == "before"
    file.chmod(0o640)
    with atomic_write(file) as place:
        place.write_text("all")
    assert file.read_text() == "all"
    assert file.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["x.csv"]


def test_atomic_write_keeps_links(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("before")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    with atomic_write(tmp_path / "link.csv") as place:
        place.write_text("after")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "after"


def test_atomic_write_uses_devices_directly(tmp_path: Path) -> None:
    place = writable(Path("/dev/null"), suffixes=(".html",))
    refuse_overwriting(place, [], force=False)
    with atomic_write(place) as same:
        assert same == place
    assert not Path("/dev/null").is_file()


def test_page_refuses_pdf_suffix(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"written as .html, .htm, .md, not as 'x.pdf'"):
        Page("t", "", (), ()).save(tmp_path / "x.pdf")


def test_plan_labels_writes_chosen_items(run: Run, tmp_path: Path) -> None:
    chosen, pilot = tmp_path / "next.csv", str(EXAMPLES / "checked.csv")
    asked = ("--half-width", ".1", "--choose", "20", "--judges", "gpt-4o")
    command = ("plan", "labels", "--pilot", pilot, *asked, "-o", chosen)
    code, _, said = run(*command)
    assert code == 0, said
    items = pl.read_csv(chosen)
    assert f"{items['ask'].sum()} items to label" in said
    assert items.columns == ["item", "chance", "ask"]
    assert items["chance"].is_between(0, 1).all()
    assert "use --force" in run(*command)[2]
    assert run(*command, "--force")[0] == 0
