"""What tests of the code itself share: its files, read."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

BODIES = ("body", "handlers", "orelse", "finalbody", "cases")
"""What holds the statements of a statement."""


@contextmanager
def uncollected() -> Iterator[None]:
    """A tree is all new objects, and no garbage: looking for some is three quarters of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@cache
def statements(path: Path) -> tuple[ast.AST, ...]:
    """Every statement of a file, in functions and classes too; parts of an expression are none."""
    with uncollected():
        found: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
        for node in found:
            for body in (getattr(node, name, None) for name in BODIES):
                found.extend(body if isinstance(body, list) else ())
    return tuple(found)


def nodes_with_words(source: str) -> list[ast.AST]:
    """Strings, formatted strings, functions, classes, arguments and annotated names of a source, outer ones first."""
    with uncollected():
        found: list[ast.AST] = [ast.parse(source)]
        for node in found:
            for part in node.__dict__.values():
                if isinstance(part, list):
                    found.extend(one for one in part if isinstance(one, ast.AST) and type(one) not in READ)
                elif isinstance(part, ast.AST) and type(part) not in READ:
                    found.append(part)
        return [node for node in found if type(node) in WORDED]


WORDED = {ast.JoinedStr, ast.Constant, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.arg, ast.AnnAssign}
READ = {ast.Name, ast.Load, ast.Store}
"""Names in expressions, which are most of the nodes and hold no others."""
