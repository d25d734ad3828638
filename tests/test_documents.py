"""The README, the how-tos and the docstrings are run, and the README's printed answer is the true one."""

import doctest
import importlib
import inspect
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import assay

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NEEDS_EXTRA = re.compile(r"#\s*needs assay\[")

if not (ROOT / "README.md").exists():
    pytest.skip("the documentation is not next to these tests", allow_module_level=True)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.M | re.S)


def test_no_page_and_no_example_installs_assay_from_an_index() -> None:
    """No index has it, and one may have another package of this name; a folder, a repository or a wheel is named."""
    files = [*PAGES, ROOT / "CONTRIBUTING.md", *(p for p in (ROOT / "examples").rglob("*") if p.is_file())]
    files += (ROOT / "src").rglob("*.py")
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in files}
    installs = [line for text in texts.values() for line in text.splitlines() if "pip install" in line]
    assert len(installs) >= 10
    assert not [line for line in installs if re.search(r"pip install ([-\w]+ )*[\"'`]*assay\b", line)]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_blocks_run(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = [b for b in blocks(page, "python") if not NEEDS_EXTRA.search(b)]
    if not code:
        pytest.skip("no Python on this page")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in code:
        exec(compile(block, str(page), "exec"), names)
    assert names


@pytest.mark.slow
def test_the_card_in_the_readme_is_what_the_code_draws(tmp_path: Path) -> None:
    """Its marks and names; where exactly they are placed is matplotlib's."""
    draw = [sys.executable, str(ROOT / "docs" / "draw.py"), "card", "--to", str(tmp_path)]
    subprocess.run(draw, cwd=ROOT, check=True, capture_output=True)
    texts = [re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))
             for path in (ROOT / "docs" / "pictures" / "card.svg", tmp_path / "card.svg")]  # fmt: skip
    assert texts[0] == texts[1], "the card has changed: python docs/draw.py card"
    assert texts[0].count("✓") == 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["README.md", "docs/agreement.md", "docs/preferences.md"])
def test_a_page_prints_what_it_says(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    exec(blocks(ROOT / name, "python")[0], {})
    assert capsys.readouterr().out == blocks(ROOT / name, "text")[0]


@pytest.mark.slow
def test_the_tutorial_shows_what_look_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.cli.app import main

    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit):
        main(["look", "examples/sheet.csv"])
    printed = capsys.readouterr().out
    tutorial = ROOT / "docs" / "tutorial.md"
    assert blocks(tutorial, "text")[0] == printed
    (command,) = re.findall(r"^Next command: +(assay report .*)$", printed, flags=re.M)
    assert blocks(tutorial, "sh")[1] == f"{command}\n"


@pytest.mark.slow
@pytest.mark.parametrize("place", [1, 2])
def test_tutorial_shows_the_output_of_its_commands(
    place: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from assay.cli.app import main

    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    tutorial = ROOT / "docs" / "tutorial.md"
    with pytest.raises(SystemExit):
        main(shlex.split(blocks(tutorial, "sh")[place])[1:])
    shown, more, _ = blocks(tutorial, "text")[place].partition("…\n")
    printed = capsys.readouterr().out
    assert printed.startswith(shown) if more else printed == shown


TUTORIALS = [ROOT / "docs" / "index.md", *sorted((ROOT / "docs").glob("tutorial-*.md"))]


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorials_show_the_output_of_their_commands(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from assay.cli.app import main

    if "my-study" in page.read_text(encoding="utf-8"):
        pytest.importorskip("aiohttp", reason='asking models needs the extra "judge"')
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    steps = re.findall(r"^```sh\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", page.read_text("utf-8"), flags=re.M | re.S)
    for commands, text in steps:
        for command in commands.splitlines():
            if command.startswith("python -m pip"):
                continue
            capsys.readouterr()
            with pytest.raises(SystemExit) as end:
                main(shlex.split(command)[1:])
            failed = re.match(r"\w+ \(exit (\d)\)\.$", text, flags=re.M)
            assert (end.value.code or 0) == (int(failed[1]) if failed else 0), command
        if text:
            shown, more, _ = text.partition("…\n")
            printed = capsys.readouterr().out
            assert printed.startswith(shown) if more else printed == shown, command


@pytest.mark.slow
def test_the_first_commands_about_judges_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason='asking models needs the extra "judge"')
    from assay.cli.app import main

    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^\$ assay (.*)$", blocks(ROOT / "docs" / "judging.md", "console")[0], flags=re.M)
    assert [command.split()[0] for command in commands] == ["init", "judge", "judge", "report"]
    for command in commands:
        with pytest.raises(SystemExit) as end:
            main(command.split())
        assert end.value.code in (0, None), command
    assert "example" in (tmp_path / "report.html").read_text()


def test_the_readme_table_is_the_start_of_the_file() -> None:
    rows = re.findall(r"^\| (item_\d+) \| ([\w-]+) \| (\d) \|$", (ROOT / "README.md").read_text(), flags=re.M)
    lines = (ROOT / "examples" / "labels.csv").read_text().splitlines()
    assert len(rows) >= 4
    assert all(",".join(row) in lines for row in rows)


def modules() -> list[str]:
    found = [m.name for m in pkgutil.walk_packages(assay.__path__, "assay.")]
    return ["assay", *(m for m in found if "migrations" not in m and not m.endswith("__main__"))]


@pytest.mark.parametrize("name", modules())
def test_docstring_examples(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whether files have changed is looked up for each of thousands before each example: a third of the time.
    monkeypatch.setattr("linecache.checkcache", lambda filename=None: None)
    try:
        module = importlib.import_module(name)
    except assay.errors.AssayError as error:
        pytest.skip(str(error))
    except ModuleNotFoundError as error:
        pytest.skip(f"needs an extra: {error}")
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_every_public_function_has_an_example_in_its_help() -> None:
    for door in (assay, assay.measures, assay.plan):
        functions = [name for name in door.__all__ if inspect.isfunction(getattr(door, name))]
        assert functions
        assert [name for name in functions if ">>>" not in (inspect.getdoc(getattr(door, name)) or "")] == []


def test_every_public_name_is_there_and_documented() -> None:
    for door in (assay, assay.errors, assay.measures, assay.plan, assay.results):
        for name in door.__all__:
            assert getattr(door, name).__doc__, name
        assert set(door.__all__) <= set(dir(door))
    assert len(assay.__all__) <= 60


@pytest.mark.parametrize(
    ("door", "name", "words"),
    [
        (assay, "alttest", "module 'assay' has no attribute 'alttest'; did you mean assay.alt_test?"),
        (assay, "altTest", "did you mean assay.alt_test?"),
        (assay, "AltTest", "assay.AltTest is now assay.results.AltTest; the function is assay.alt_test"),
        (assay, "krippendorff", "did you mean assay.measures.krippendorff_alpha?"),
        (assay, "kappa", "cohen_kappa or assay.measures.conger_kappa or assay.measures.fleiss_kappa?"),
        (assay, "load_csv", "did you mean assay.read?"),
        (assay, "sample_size", "did you mean assay.plan.alt_test?"),
        (assay.measures, "cohens_kappa", "did you mean assay.measures.cohen_kappa?"),
    ],
)
def test_wrong_name_is_answered_with_the_right_one(door: ModuleType, name: str, words: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(door, name)
    assert str(caught.value).endswith(words)
    assert not hasattr(door, "xyz")
