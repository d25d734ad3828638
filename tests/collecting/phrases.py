"""The English messages of the annotation page, collected from the code, the templates and the script."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from jinja2 import Environment, nodes

import assay.collecting
from assay.study.schema import KINDS

ROOM = Path(assay.collecting.__file__).parent
TEMPLATES = [path for path in sorted((ROOM / "templates").glob("*.html")) if not path.name.startswith("lead")]
_LEAD = {"desk/lead.py", "desk/overview.py", "desk/report.py"}
_SAY = re.compile(r'\bsay\(\s*"((?:[^"\\]|\\.)*)"')


def script_phrases() -> set[str]:
    """The messages of the page's script."""
    files = [path for path in (ROOM / "static").glob("*.js") if path.name != "lead.js"]
    return {found for path in files for found in _SAY.findall(path.read_text(encoding="utf-8"))}


def page_phrases() -> set[str]:
    """The messages of the server: in templates, and in code."""
    found = {word for kind in KINDS.values() for word in kind.page_labels.values()}
    for path in TEMPLATES:
        for call in Environment().parse(path.read_text(encoding="utf-8")).find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name == "say":
                assert isinstance(call.args[0], nodes.Const), f"{path.name}: say() is given {call.args[0]}"
                found.add(call.args[0].value)
    for path in sorted(ROOM.rglob("*.py")):
        if path.relative_to(ROOM).as_posix() not in _LEAD:
            found |= _said_in(ast.parse(path.read_text(encoding="utf-8")))
    return found


def _said_in(tree: ast.AST) -> set[str]:
    """The words of each Said, Refused and LinkRefusedError, and of ``say``."""
    found = set()
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        if name in ("Said", "Refused", "LinkRefusedError", "say"):
            found |= {one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    return found
