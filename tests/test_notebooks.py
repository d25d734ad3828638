"""The notebooks in examples/ have the cells of their pages, run, and show each last expression."""

from __future__ import annotations

import ast
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))

if not (ROOT / "docs").exists():
    pytest.skip("the documentation is not next to these tests", allow_module_level=True)


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("examples_make", ROOT / "examples" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def code_cells(path: Path) -> list[str]:
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def test_notebooks_are_their_pages() -> None:
    make = maker()
    assert {path.name for path in NOTEBOOKS} == set(make.NOTEBOOKS)
    for path in NOTEBOOKS:
        page = ROOT / "docs" / make.NOTEBOOKS[path.name]
        assert json.loads(path.read_text("utf-8")) == make.notebook(page), "run python examples/make.py"
        assert code_cells(path)


def test_notebooks_have_the_fields_of_the_format() -> None:
    """The required fields of nbformat 4.5 (https://nbformat.readthedocs.io/en/latest/format_description.html)."""
    for path in NOTEBOOKS:
        found = json.loads(path.read_text("utf-8"))
        assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
        ids = [cell["id"] for cell in found["cells"]]
        assert len(set(ids)) == len(ids)
        for cell in found["cells"]:
            assert {"cell_type", "id", "metadata", "source"} <= set(cell)
            assert ({"outputs", "execution_count"} <= set(cell)) == (cell["cell_type"] == "code")


def shown(source: str, names: dict[str, Any]) -> Any:
    """Run a cell, and return the value of its last line as a notebook shows it."""
    tree = ast.parse(source)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, "<cell>", "exec"), names)
        return None
    exec(compile(ast.Module(tree.body[:-1], []), "<cell>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_next_to_the_examples(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in (ROOT / "examples").glob("*.csv"):
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    screens = [found for source in code_cells(path) if (found := shown(source, names)) is not None]
    assert screens
    for one in screens:
        html = getattr(one, "_repr_html_", None)
        assert html is not None or hasattr(one, "figure") or repr(one), one
        if html is not None:
            assert 20 < len(html()) < 20_000, "one screen"
