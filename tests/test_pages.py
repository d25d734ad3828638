"""The generated pages: every public name and command is documented."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from assay.cli.app import COMMANDS, all_commands, visible_arguments
from laws import DOORS, PUBLIC

# One process reads both pages and the options of each command once.
pytestmark = pytest.mark.xdist_group("pages")
DOCS = Path(__file__).parents[1] / "docs"

if not DOCS.exists():
    pytest.skip("the folder of documents is missing", allow_module_level=True)

NO_HOW_TO = {"reference.md", "commands.md", "glossary.md", "architecture.md", "benchmarks.md", "methods.md", "index.md"}


def made() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make", DOCS / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("name", ["commands.md", "reference.md"])
def test_generated_page_is_current(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == made().PAGES[name](), "run: python docs/make.py"


def test_every_public_name_is_in_the_reference() -> None:
    named = set(re.findall(r"^::: assay\.\S*?(\w+)$", (DOCS / "reference.md").read_text(), flags=re.M))
    assert sorted(set(PUBLIC) - named) == []


@pytest.mark.slow
def test_every_public_name_is_in_a_how_to() -> None:
    pages = [page.read_text() for page in sorted(DOCS.glob("*.md")) if page.name not in NO_HOW_TO]
    names = {name for door in DOORS for name in door.__all__ if name != "MissingExtra"}
    assert [n for n in sorted(names) if not any(re.search(rf"\b{n}\b", page) for page in pages)] == ["__version__"]


def test_commands_and_options_have_help() -> None:
    apps = all_commands()
    assert len(apps) == sum(len(rows) for rows in COMMANDS.values())
    for name, command in apps.items():
        assert (command.help or "").strip(), name
        for argument in visible_arguments(name):
            assert (argument.parameter.help or "").strip(), f"{name} {argument.name}"


@pytest.mark.slow
def test_every_command_is_on_its_page_and_in_a_how_to_or_the_readme() -> None:
    page = (DOCS / "commands.md").read_text()
    texts = [p.read_text() for p in DOCS.glob("*.md") if p.name not in NO_HOW_TO]
    texts.append((DOCS.parent / "README.md").read_text())
    for rows in COMMANDS.values():
        for row in rows:
            assert f"\n## assay {row.name}\n" in page
            assert row.line.startswith(f"assay {row.name}")
            assert any(re.search(rf"\bassay {row.name}\b", text) for text in texts), row.name


def anchors(page: Path, *, github: bool) -> set[str]:
    """The anchors of a page's headings, as GitHub or Python-Markdown (the site) makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    titles = [title.replace("`", "").replace("*", "") for title in re.findall(r"^#{1,6} (.+)$", text, flags=re.M)]
    if github:
        return {re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles}
    plain = (title.encode("ascii", "ignore").decode() for title in titles)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in plain}


@pytest.mark.slow
@pytest.mark.parametrize("github", [True, False])
def test_links_to_headings_work_on_github_and_on_the_site(*, github: bool) -> None:
    pages = [*sorted(DOCS.glob("*.md")), *(DOCS.parent / name for name in ("README.md", "CHANGELOG.md"))]
    links = [
        (page, (page.parent / to).resolve() if to else page.resolve(), heading)
        for page in pages
        for to, heading in re.findall(r"\]\(([\w/.-]*\.md|)#([^)\s]+)\)", page.read_text(encoding="utf-8"))
    ]
    known = {to: anchors(to, github=github) for _, to, _ in links}
    assert len(links) > 100
    assert [f"{page.name}: {to.name}#{heading}" for page, to, heading in links if heading not in known[to]] == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (DOCS.parent / "zensical.toml").read_text()
    assert [page.name for page in sorted(DOCS.glob("*.md")) if f'"{page.name}"' not in navigation] == []
