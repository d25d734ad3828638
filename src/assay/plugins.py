"""Parts that other packages add: formats, providers, similarities, report parts and commands.

A package adds one with an entry point in its ``pyproject.toml``::

    [project.entry-points."assay.similarities"]
    vowels = "my_package:VOWELS"

The name is the one that users type. The object is of the same class as the built-in ones (see `GROUPS`). It is imported
when it is first used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from assay.errors import AssayError

GROUPS: Mapping[str, str] = {
    "assay.formats": "assay.data.formats.registry.Format",
    "assay.providers": "assay.judging.providers.ProviderRow",
    "assay.similarities": "assay.similarity.registry.Named",
    "assay.report_parts": "assay.verdict.report.FurtherPart",
    "assay.commands": "assay.cli.commands.Command",
}
"""The groups of entry points, and the class of their objects."""

T = TypeVar("T")


@cache
def _found(group: str) -> Mapping[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}


class Registry(Mapping[str, T]):
    """The built-in parts of one kind by name, followed by those of installed packages.

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
        On access to a part that cannot be imported, is not a ``kind`` or has the name of a built-in part. The message
        names the package.
    """

    def __init__(self, group: str, kind: type[T], parts: Mapping[str, T]) -> None:
        assert group in GROUPS
        self._group, self._kind, self._parts = group, kind, parts

    def __getitem__(self, name: str) -> T:
        return self._parts[name] if name in self._parts else self._load(_found(self._group)[name])

    def __iter__(self) -> Iterator[str]:
        yield from self._parts
        for name, point in _found(self._group).items():
            if name in self._parts:
                raise AssayError(f"{_source(point)}: assay has a part named '{name}' already; rename the entry point")
            yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._parts or name in _found(self._group)

    def _load(self, point: EntryPoint) -> T:
        try:
            part = point.load()
        except Exception as error:
            raise AssayError(
                f"{_source(point)} cannot be imported: {type(error).__name__}: {error}; update or uninstall the package"
            ) from error
        if not isinstance(part, self._kind):
            kind = GROUPS[self._group]
            raise AssayError(f"{_source(point)} must be an instance of {kind}; got {type(part).__name__}")
        return part


def _source(point: EntryPoint) -> str:
    """Return the package and the entry point, for messages."""
    package = point.dist.name if point.dist else "an installed package"
    return f"plugin '{point.name}' of {package} (group {point.group})"
