"""Text is standard English: no phrase of `wording.PHRASES` is left."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from wording import found_in, texts_in

ROOT = Path(__file__).parents[1]
SOURCE = Path(assay.__file__).parent
ENDS = {".py", ".md", ".html", ".js", ".toml", ".yaml", ".yml"}
THIS = {"wording.py", "test_wording.py", "replies.yaml", "reply_kinds.yaml", "reply_draws.yaml"}
"""These, and responses of models, which are not our words."""

LEFT_IN_TESTS = 109
"""Phrases that tests still contain: reduce it with them."""


def files_of(folder: Path) -> list[Path]:
    return [p for p in sorted(folder.rglob("*")) if p.suffix in ENDS and p.name not in THIS and "vendor" not in p.parts]


@pytest.mark.parametrize("folder", ["docs", "examples", "benchmarks"])
def test_pages_and_scripts_use_standard_english(folder: str) -> None:
    if not (ROOT / folder).is_dir():
        pytest.skip(f"{folder} is not next to these tests")
    assert [line for path in files_of(ROOT / folder) for line in found_in(path)] == []


def test_first_pages_use_standard_english() -> None:
    pages = [path for path in sorted(ROOT.glob("*.md")) if path.is_file()]
    assert [line for path in pages for line in found_in(path)] == []


def test_source_uses_standard_english() -> None:
    assert [line for path in files_of(SOURCE) for line in found_in(path)] == []


@pytest.mark.slow
def test_tests_use_standard_english() -> None:
    found = [line for path in files_of(Path(__file__).parent) for line in found_in(path)]
    assert len(found) <= LEFT_IN_TESTS, found


def test_phrases_are_found_in_prose_strings_comments_and_names(tmp_path: Path) -> None:
    page, script = tmp_path / "page.md", tmp_path / "script.py"
    page.write_text("Nobody reads `nobody`.\n\n```sh\nnobody\n```\n\nIt stands there.\n")
    assert [line.split(": ", 1)[1] for line in found_in(page)] == [
        "'nobody' → no annotator; no one",
        "'stands' → is; appears",
    ]
    script.write_text(
        'def all_told(x):  # beside it\n    """Nobody."""\n    return f"{x} lacks a name", "nobody here"  \n'
        '"nobody there"  # dialect: kept\n'
    )
    assert {line.split(": ", 1)[1].split(" →")[0] for line in found_in(script)} == {
        "'told'", "'beside'", "'lacks'", "'nobody'",
    }  # fmt: skip
    assert [text.line for text in texts_in(page) if "stands" in text.words] == [7]
