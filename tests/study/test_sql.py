"""All SQL lives in the store."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import assay
from sources import statements

pytestmark = pytest.mark.xdist_group("house")  # one worker reads all files

HOUSE = Path(assay.__file__).parent


def imports_sqlalchemy(path: Path) -> bool:
    for node in statements(path):
        if isinstance(node, ast.Import) and any(name.name.startswith("sqlalchemy") for name in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sqlalchemy"):
            return True
    return False


@pytest.mark.slow
def test_sql_stays_in_the_store():
    users = {path.relative_to(HOUSE).as_posix() for path in HOUSE.rglob("*.py") if imports_sqlalchemy(path)}
    assert "study/store/work.py" in users
    assert {name for name in users if not name.startswith("study/store/")} == set()
