"""May this LLM judge stand in for human annotators, when no human label is gold?

>>> import assay
>>> labels = assay.simulate(n_items=100, n_annotators=3, seed=7)
>>> assay.alt_test(labels, "judge", expertise="skilled").passed
True

The public names stand in ``__init__.pyi``, for type checkers and for this file alike. They are imported when they
are first used, so that ``import assay`` is quick.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

_HOME = {
    name: module
    for module, name in re.findall(
        r"^from (assay\.\S+) import (\w+) as \2$", Path(__file__).with_suffix(".pyi").read_text(), flags=re.M
    )
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        # With both, Python names the nearest: "Did you mean: 'alt_test'?"
        raise AttributeError(f"module 'assay' has no attribute '{name}'", name=name, obj=sys.modules[__name__])
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
