"""A statistic -> value, interval, result: the one way in which assay estimates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class TableReader(NamedTuple):
    """Functions that turn the first argument of a question into a table of labels.

    Attributes
    ----------
    labels_of : function
        See `assay.reading.labels_of`.
    refuse_read_options : function
        See `assay.reading.refuse_read_options`.
    """

    labels_of: Callable[[str, tuple[Any, ...], Any], tuple[Any, ...]]
    refuse_read_options: Callable[[str, Any, Any, Any], None]


_readers: list[TableReader] = []


def set_table_reader(reader: TableReader) -> None:
    """Set the functions that questions use for paths, frames and arrays; `assay` itself calls this once."""
    _readers[:] = [reader]


def table_reader() -> TableReader:
    """The functions that questions use for paths, frames and arrays."""
    return _readers[0]
