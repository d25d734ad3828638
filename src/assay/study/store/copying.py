"""A SQLite file as it stands, copied without a write to it or to its folder."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path


def can_be_written(path: Path) -> bool:
    """Whether SQLite may write here: to the file, where there is one, and beside it."""
    beside = path.absolute().parent
    return beside.is_dir() and os.access(beside, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))


def copy_of_sqlite(source: Path, target: Path) -> None:
    """Copy a database, with what its log still holds; nothing where there is none.

    Where nobody may write beside it, SQLite cannot open a database with a log; then the files themselves are copied.
    """
    if not source.is_file():
        return
    if can_be_written(source):
        uri = f"{source.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=60)) as there, closing(sqlite3.connect(target)) as here:
            there.backup(here)
        return
    for ending in ("", "-wal"):
        if (one := source.with_name(source.name + ending)).is_file():
            shutil.copyfile(one, target.with_name(target.name + ending))
