"""What tests of the code itself share: its files, read."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

BODIES = ("body", "handlers", "orelse", "finalbody", "cases")
"""What holds the statements of a statement."""


@cache
def statements(path: Path) -> tuple[ast.AST, ...]:
    """Every statement of a file, in functions and classes too; parts of an expression are none."""
    collects = gc.isenabled()
    gc.disable()  # a tree is all new objects, and no garbage: looking for some is three quarters of the time
    try:
        found: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
        for node in found:
            for body in (getattr(node, name, None) for name in BODIES):
                found.extend(body if isinstance(body, list) else ())
    finally:
        if collects:
            gc.enable()
    return tuple(found)
