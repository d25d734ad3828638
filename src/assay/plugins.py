"""Parts that other packages add: formats, providers, similarities, report parts and commands.

A package adds one with an entry point in its ``pyproject.toml``::

    [project.entry-points."assay.similarities"]
    vowels = "my_package:VOWELS"

The name is the one that users type. The object is of the same class as the built-in ones (see `GROUPS`). It is imported
when it is first used.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from assay.errors import AssayError

GROUPS: Mapping[str, str] = {
    "assay.formats": "assay.data.formats.registry.Format",
    "assay.providers": "assay.judging.services.providers.ProviderRow",
    "assay.similarities": "assay.similarity.registry.Named",
    "assay.report_parts": "assay.verdict.report.ReportPart",
    "assay.commands": "assay.cli.commands.Command",
}
"""The groups of entry points, and the class of their objects."""

T = TypeVar("T")


class Registry(dict[str, T]):
    """The built-in parts of one kind by name; the parts of installed packages are found and imported on access.

    Iteration, ``in`` and ``get`` see the built-in parts only; `names`, `find` and `everything` see all.

    Parameters
    ----------
    group : str
        One of `GROUPS`.
    kind : type
        The class of the parts.
    parts : mapping
        The built-in ones. A package cannot replace one of them.

    Raises
    ------
    AssayError
        On access to a part that cannot be imported, is not a ``kind``, or has another name than its entry point, or
        that of a built-in part. The message names the package.
    """

    def __init__(self, group: str, kind: type[T], parts: Mapping[str, T]) -> None:
        assert group in GROUPS
        super().__init__(parts)
        self._group, self._kind = group, kind

    @cached_property
    def further(self) -> Mapping[str, EntryPoint]:
        """The entry points of installed packages, by name."""
        return {point.name: point for point in entry_points(group=self._group)}

    @property
    def names(self) -> list[str]:
        """The names of all parts, the built-in ones first."""
        return [*self, *(name for name in self.further if name not in self)]

    def everything(self) -> dict[str, T]:
        """Return all parts by name, those of installed packages imported."""
        return {**self, **{name: self.plugin(name) for name in self.further}}

    def find(self, name: str) -> T | None:
        """Return the part of this name, or None."""
        return self[name] if name in self or name in self.further else None

    def plugin(self, name: str) -> T:
        """Return the part of an installed package."""
        point = self.further[name]
        if name in self:
            raise AssayError(f"{_source(point)}: assay has a part named '{name}' already; rename the entry point")
        try:
            part = point.load()
        except Exception as error:
            raise AssayError(
                f"{_source(point)} cannot be imported: {type(error).__name__}: {error}; update or uninstall the package"
            ) from error
        if not isinstance(part, self._kind):
            kind = GROUPS[self._group]
            raise AssayError(f"{_source(point)} must be an instance of {kind}; got {type(part).__name__}")
        if (own := getattr(part, "name", name)) != name:
            raise AssayError(f"{_source(point)} has the name '{own}'; use the same name for both")
        return part

    __missing__ = plugin


def _source(point: EntryPoint) -> str:
    """Return the package and the entry point, for messages."""
    package = point.dist.name if point.dist else "an installed package"
    return f"plugin '{point.name}' of {package} (group {point.group})"
