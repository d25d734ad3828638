"""What an encoder gave for a text is kept on disk, by text and model, so that no text is encoded twice.

The folder is ``$ASSAY_CACHE``, or else ``assay`` in the user's folder of caches; ``ASSAY_CACHE=off`` keeps nothing on
disk. Texts are known by their hashes alone. A file is written once and never changed, so that several processes may
use a folder; it may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import sys
import uuid
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Make = Callable[[list[int]], NDArray[Any]]

KEY = 16
"""Bytes of a hash."""
MANY = 32
"""Files of one model that are joined into one."""
AT_ONCE = 4096
"""Rows that are made before they are written."""

_READ: dict[tuple[str, str], _Kept] = {}


def cache_folder() -> Path | None:
    """Where encodings are kept; None where nothing is kept on disk."""
    given = os.environ.get("ASSAY_CACHE", "")
    if given.lower() in ("off", "no", "0"):
        return None
    if given:
        return Path(given).expanduser()
    if sys.platform == "win32":
        home = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        home = Path.home() / "Library" / "Caches"
    else:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "assay"


def key_of(*texts: str) -> bytes:
    """The hash of a text, or of two texts whichever comes first."""
    mixed = hashlib.blake2b(digest_size=KEY)
    for text in sorted(texts):
        data = text.encode("utf-8", "surrogatepass")
        mixed.update(len(data).to_bytes(8, "little") + data)
    return mixed.digest()


def kept(what: str, keys: Sequence[bytes], make: Make, at_once: int = AT_ONCE) -> NDArray[Any]:
    """A row for each key; those that are not there are made, and kept.

    Parameters
    ----------
    what : str
        Everything besides the text that decides a row: the model's digest, the kind of row.
    keys : sequence of bytes
        Distinct, from `key_of`.
    make : callable
        Positions in ``keys`` -> their rows, (positions, width).
    at_once : int
        Rows that are made before they are written.

    Returns
    -------
    (keys, width) array
    """
    folder = cache_folder()
    place = (str(folder), what)
    if place not in _READ:
        own = hashlib.blake2b(what.encode(), digest_size=12).hexdigest()
        _READ[place] = _Kept(None if folder is None else folder / own)
    return _READ[place].rows_of(what, keys, make, at_once)


class _Kept:
    """The rows of one model: in memory, and in files."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.seen: set[str] = set()
        self.at: dict[bytes, tuple[int, int]] = {}
        self.parts: list[NDArray[Any]] = []

    def rows_of(self, what: str, keys: Sequence[bytes], make: Make, at_once: int) -> NDArray[Any]:
        self._read()
        absent = [i for i, key in enumerate(keys) if key not in self.at]
        for k in range(0, len(absent), max(at_once, 1)):
            some = absent[k : k + max(at_once, 1)]
            rows = np.asarray(make(some))
            self._add([keys[i] for i in some], rows)
            self._write(what, [keys[i] for i in some], rows)
        if not keys:
            return np.zeros((0, self.parts[0].shape[1] if self.parts else 0))
        return np.stack([self.parts[part][row] for part, row in (self.at[key] for key in keys)])

    def _add(self, keys: Sequence[bytes], rows: NDArray[Any]) -> None:
        self.at.update({key: (len(self.parts), row) for row, key in enumerate(keys)})
        self.parts.append(rows)

    def _read(self) -> None:
        """Files that came since the last look."""
        if self.folder is None or not self.folder.is_dir():
            return
        new = sorted(path for path in self.folder.glob("*.npz") if path.name not in self.seen)
        for path in new:
            self.seen.add(path.name)
            try:
                with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
                    keys, rows = found["keys"].tobytes(), found["rows"]
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
                continue  # another process has joined it to others, or it was cut off: its rows are made again
            if rows.ndim == 2 and len(keys) == KEY * len(rows):
                self._add([keys[i : i + KEY] for i in range(0, len(keys), KEY)], rows)

    def _write(self, what: str, keys: Sequence[bytes], rows: NDArray[Any]) -> None:
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "what.txt").write_text(what + "\n", encoding="utf-8")
            self._save(keys, rows)
            files = sorted(self.folder.glob("*.npz"))
            if len(files) > MANY and {path.name for path in files} <= self.seen:
                every = list(self.at)
                self._save(every, np.stack([self.parts[part][row] for part, row in self.at.values()]))
                for path in files:
                    path.unlink(missing_ok=True)
        except OSError:
            self.folder = None  # a folder that cannot be written keeps nothing; numbers are the same

    def _save(self, keys: Sequence[bytes], rows: NDArray[Any]) -> None:
        assert self.folder is not None
        name = f"{uuid.uuid4().hex}.npz"
        unfinished = self.folder / f"{name}.part"
        with unfinished.open("wb") as file:
            np.savez(file, keys=np.frombuffer(b"".join(keys), dtype=np.uint8), rows=rows)
        unfinished.replace(self.folder / name)
        self.seen.add(name)
