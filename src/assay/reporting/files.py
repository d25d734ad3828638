"""Where something may be written."""

from __future__ import annotations

from pathlib import Path

from assay.errors import AssayError


def writable(path: Path, *, folder: bool = False) -> Path:
    """The path, where a file (or a folder) can be written; asked before any work is done.

    Raises
    ------
    AssayError
        For a folder in place of a file, a file in place of a folder, and a place below a file.
    """
    if path.is_dir() and not folder:
        raise AssayError(f"'{path}' is a folder; name a file in it")
    for place in (path, *path.parents) if folder else path.parents:
        if place.is_file():
            below = "" if place == path else f"'{path}' cannot be written, because "
            raise AssayError(f"{below}'{place}' is a file; name another folder")
    return path
