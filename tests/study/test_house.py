"""The plan of the house, where a study is asked and answered: imports run downward, SQL stays in the store."""

from __future__ import annotations

import ast
from pathlib import Path

import assay

ROOT = Path(assay.__file__).parent
ORDER = ("cli", "verdict", "planning", "simulation", "collecting", "judging", "reading", "study", "data", "errors")


def modules() -> dict[str, Path]:
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(("assay", *parts)).removesuffix(".__init__")] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """Every module that a file imports: at its top, inside functions, for types alone."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inner & set(known)) or {node.module}
    return found


def part(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_imports_run_downward():
    known = modules()
    upward = [
        (name, one)
        for name, path in known.items()
        for one in imports(path, known)
        if part(name) in ORDER and part(one) in ORDER and one.startswith("assay.")
        if ORDER.index(part(one)) < ORDER.index(part(name))
    ]
    assert upward == []


def test_no_file_of_a_study_is_imported_by_what_it_imports():
    known = modules()
    below = {name: imports(path, known) & set(known) for name, path in known.items()}

    def reached(name: str) -> set[str]:
        seen: set[str] = set()
        rest = [name]
        while rest:
            new = below[rest.pop()] - seen
            seen |= new
            rest += new
        return seen

    mine = [name for name in known if part(name) in ("collecting", "judging", "reading", "study", "data")]
    assert [name for name in mine if name in reached(name)] == []


def test_sql_stays_in_the_store():
    known = modules()
    users = {name for name, path in known.items() if any(one.startswith("sqlalchemy") for one in imports(path, known))}
    assert {name for name in users if not name.startswith("assay.study.store.")} == set()
