"""Every shell block of README and documents runs as it is pasted; those that cannot are marked, and counted here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

if not (Path(__file__).parent.parent / "README.md").exists():
    pytest.skip("the documentation is not next to these tests", allow_module_level=True)

from assay.cli.app import app, command_in
from pasted import PAGES, ROOT, Newcomer, blocks, is_install, runnable, warm_start

MARKED = {
    "commands.md": ["reviews.csv, a table of texts and human labels"],
    "judging.md": ["a model of a provider with a batch API"],
    "preferences.md": ["people.csv and scores.csv"],
    "raters.md": ["class_data.csv of the NCTE study"],
    "similarities.md": ["assay[embed] and an encoder"],
    "training.md": ["reviews.csv, a table of texts and human labels"],
}
"""The blocks that cannot be run from the project alone, by page: what they need."""

SERVED = ("collecting.md", "commands.md", "ideas.md", "preferences.md")
"""Pages on which people answer, or models: run with a browser by ``tests/collecting/test_pasted_pages.py``."""

SHOWN = ("index.md", *(page.name for page in PAGES if page.name.startswith("tutorial-")))
"""Pages whose commands ``tests/test_documents.py`` runs in order, and whose printed output it compares."""

PASTED: dict[Path, set[str]] = {}
"""Pages that are run here, with their commands, except a page whose commands are all on an earlier one."""
for _page in PAGES:
    _own = {one for block in runnable(_page) for one in block.commands if not is_install(one)}
    if _page.name not in (*SERVED, *SHOWN) and not any(_own <= earlier for earlier in PASTED.values()):
        PASTED[_page] = _own

COMMANDS = [(page, block, one) for page in PAGES for block in blocks(page) for one in block.commands]


def test_what_cannot_be_run_is_marked_and_counted() -> None:
    marked = {page.name: [b.needs for b in blocks(page) if b.needs] for page in PAGES}
    assert {name: needs for name, needs in marked.items() if needs} == MARKED
    installs = [one for _, block, one in COMMANDS if is_install(one)]
    assert len(installs) == 9, installs
    assert len(COMMANDS) > 100


@pytest.mark.slow
def test_every_command_of_the_documents_is_one_that_assay_takes() -> None:
    for page, block, command in COMMANDS:
        words = shlex.split(command)
        if words[0] != "assay":
            assert is_install(command) or words[0] == "export", f"{page.name}:{block.line}: {command}"
            continue
        assert command_in(words[1:]) is not None, f"{page.name}:{block.line}: {command}"
        app.parse_args(words[1:], exit_on_error=False, print_error=False)


@pytest.mark.slow
def test_every_command_in_the_tables_of_papers_is_one_that_assay_takes() -> None:
    """With the options that the page abbreviates: ``Below, `READ` is `--item id ...`."""
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    short = {name: " ".join(options.split()) for name, options in re.findall(r"`([A-Z]+)` is\s+`([^`]+)`", page)}
    assert len(short) == 5
    cells = [
        cell for line in page.splitlines() if line.startswith("| ") for cell in re.findall(r"`(assay [^`]+)`", line)
    ]
    commands = [cell.replace("\\|", "|") for cell in cells if "…" not in cell]
    assert len(commands) > 40
    for command in commands:
        whole = re.sub(r"\b[A-Z]+\b", lambda found: short.get(found[0], found[0]), command)
        words = shlex.split(whole)
        found = command_in(words[1:])
        assert found is not None, command
        if " ".join(words[1:]) == found.name:
            continue  # named without its options
        assert not re.search(r"[()]", re.sub(r"'[^']*'", "", whole)), f"a shell reads the brackets of {command}"
        app.parse_args(words[1:], exit_on_error=False, print_error=False)


def test_every_file_that_the_documents_name_is_in_examples() -> None:
    for page in PAGES:
        for name in re.findall(r"examples/[\w./-]*\w", page.read_text(encoding="utf-8")):
            assert (ROOT / name).exists(), f"{page.name} names {name}"


@pytest.fixture(scope="session")
def warm() -> Iterator[Path]:
    with warm_start() as address:
        yield address


@pytest.mark.slow
@pytest.mark.parametrize("page", PASTED, ids=lambda one: one.name)
def test_a_page_runs_as_pasted(page: Path, warm: Path, tmp_path: Path) -> None:
    assert Newcomer(tmp_path, warm).paste(page) > 0
