"""What tests of the code itself share: its files, read."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def statements(path: Path) -> tuple[ast.AST, ...]:
    """Every statement of a file, in functions and classes too; what stands within an expression is none."""
    found: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    for node in found:
        found.extend(
            c for c in ast.iter_child_nodes(node) if isinstance(c, ast.stmt | ast.excepthandler | ast.match_case)
        )
    return tuple(found)
