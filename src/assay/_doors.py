"""Names that are listed in the stub next to a module and imported on first use, so that ``import assay`` is quick."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_LINE = re.compile(r"^from (assay\S*) import (\w+) as (\w+)$", flags=re.M)


def names_in(file: str) -> dict[str, tuple[str, str]]:
    """Return the module and the attribute behind each name in the stub of this source file."""
    found = _LINE.findall(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    return {name: (module, attribute) for module, attribute, name in found}


def open_door(
    module: str, file: str, moved: Callable[[], Mapping[str, str]] = dict
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the ``__getattr__``, ``__dir__`` and ``__all__`` of a module.

    Parameters
    ----------
    module, file : str
        The module's ``__name__`` and ``__file__``.
    moved : function
        Returns the new place of each name that the module had in an earlier version.
    """
    homes = names_in(file)

    def attribute(name: str) -> Any:
        if name not in homes:
            if new := moved().get(name):
                raise AttributeError(f"{module}.{name} is now {new}")
            # With `name` and `obj`, Python adds the nearest name: "Did you mean: 'alt_test'?"
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name, obj=sys.modules[module])
        home, inside = homes[name]
        value = importlib.import_module(f"assay.{name}" if home == "assay" else home)
        value = value if home == "assay" else getattr(value, inside)
        setattr(sys.modules[module], name, value)
        return value

    names = [*homes]
    return attribute, lambda: sorted(names), names
