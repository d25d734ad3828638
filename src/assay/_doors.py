"""Names that are listed in the stub next to a module and imported on first use, so that ``import assay`` is quick."""

from __future__ import annotations

import difflib
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


def _fold(name: str) -> str:
    return name.replace("_", "").casefold()


USUAL = {
    **dict.fromkeys(("load", "load_csv", "read_csv", "load_labels", "from_csv", "from_pandas", "from_frame"), "read"),
    **dict.fromkeys(("test", "evaluate", "alternative_annotator_test", "run_alt_test"), "alt_test"),
    **dict.fromkeys(("leaderboard", "rank", "arena"), "ratings"),
    **dict.fromkeys(("mfrm", "facets", "hrm"), "rater_model"),
    **dict.fromkeys(("compare", "compare_models"), "compare_judges"),
    **dict.fromkeys(("judge", "run_judge"), "ask"), **dict.fromkeys(("power", "sample_size"), "plan_alt_test"),
}  # fmt: skip
"""Names that people try first, with the names that do it."""

LEAST_PART = 4
"""Letters of a part of a name that suggests the name: ``kappa``."""


def _guesses(name: str, places: Mapping[str, str]) -> list[str]:
    """The places of the names that this one could mean: in other letters, as a part of them, or mistyped."""
    fold = _fold(name)
    usual = next((to for one, to in USUAL.items() if _fold(one) == fold and to in places), None)
    if usual is not None:
        return [places[usual]]
    same = [place for one, place in places.items() if _fold(one) == fold]
    functions = [place for one, place in places.items() if one.islower()]
    part = [one for one in functions if len(fold) >= LEAST_PART and fold in _fold(one.rpartition(".")[2])]
    near = difflib.get_close_matches(fold, [_fold(one) for one in places if one.islower()], n=1, cutoff=0.8)
    return same[:1] or part[:3] or [place for one, place in places.items() if one.islower() and _fold(one) in near][:1]


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
            places = moved()
            own = next((one for one in homes if _fold(one) == _fold(name)), None)
            if new := places.get(name):
                function = f"; the function is {module}.{own}" if own else ""
                raise AttributeError(f"{module}.{name} is now {new}{function}")
            if near := _guesses(name, {one: f"{module}.{one}" for one in homes} | dict(places)):
                raise AttributeError(f"module {module!r} has no attribute {name!r}; did you mean {' or '.join(near)}?")
            # With `name` and `obj`, Python adds the nearest name: "Did you mean: 'alt_test'?"
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name, obj=sys.modules[module])
        home, inside = homes[name]
        value = importlib.import_module(f"assay.{name}" if home == "assay" else home)
        value = value if home == "assay" else getattr(value, inside)
        setattr(sys.modules[module], name, value)
        return value

    names = [*homes]
    return attribute, lambda: sorted(names), names
