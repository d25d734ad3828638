"""Base classes of similarities: all pairs of a list of texts, with each text tokenized or encoded once."""

from __future__ import annotations

import hashlib
import os
import sys
import uuid
import zipfile
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError, DesignError, require

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEW = 100
"""Pairs below which n-grams are counted pair by pair, because a sparse table costs more than they do."""
BLOCK = 1 << 24
"""Numbers that are held at once while pairs are compared: 128 MiB."""


class Similarity(ABC):
    """Similarity of two texts; a subclass has a ``name`` and compares listed pairs.

    The base class finds the distinct texts and pairs, so that each text is tokenized once and each pair is compared
    once, in either order.
    """

    name: str

    equal_is_one: ClassVar[bool] = True
    """Whether the similarity of a text with itself is 1, so that it is not computed."""

    @abstractmethod
    def compare(self, texts: Sequence[str], first: Ints, second: Ints) -> Floats:
        """The similarity of ``texts[first[k]]`` and ``texts[second[k]]`` for every k: (pairs,).

        Parameters
        ----------
        texts : sequence of str
            Distinct texts.
        first, second : (pairs,) int
            Positions in ``texts``; no pair occurs twice, in either order.
        """

    @property
    def about(self) -> str:
        """Description of the model and its settings; empty if the name is complete."""
        return ""

    def fitted(self, texts: Sequence[str]) -> Similarity:
        """The similarity fitted to these texts, ready to compare any of them."""
        return self

    def __call__(self, first: str, second: str) -> float:
        """The similarity of two texts."""
        return float(self.pairs([first], [second])[0])

    def pairs(self, first: Sequence[str], second: Sequence[str]) -> Floats:
        """The similarity of each pair of two equally long lists: (pairs,)."""
        if len(first) != len(second):
            raise DataError(f"pairs of texts need two equally long lists; they have {len(first)} and {len(second)}")
        texts, codes = _unique_texts([*first, *second])
        a, b = np.split(codes, 2)
        return self._compare_pairs(texts, a, b)

    def matrix(self, texts: Sequence[str]) -> Floats:
        """The similarity of every two texts: (texts, texts), symmetric."""
        return self.matrices([texts])[0]

    def matrices(self, groups: Sequence[Sequence[str]]) -> list[Floats]:
        """The similarity of every two texts of each group, (texts, texts) each; a text is encoded once over all."""
        texts, codes = _unique_texts([text for group in groups for text in group])
        parts = np.split(codes, np.cumsum([len(group) for group in groups])[:-1]) if groups else []
        halves = [np.triu_indices(len(part)) for part in parts]
        a = np.concatenate([part[i] for part, (i, _) in zip(parts, halves, strict=True)]) if parts else codes
        b = np.concatenate([part[j] for part, (_, j) in zip(parts, halves, strict=True)]) if parts else codes
        values = self._compare_pairs(texts, a, b)
        found, start = [], 0
        for part, (i, j) in zip(parts, halves, strict=True):
            one = np.empty((len(part), len(part)))
            one[i, j] = one[j, i] = values[start : start + len(i)]
            found.append(one)
            start += len(i)
        return found

    def _compare_pairs(self, texts: list[str], first: Ints, second: Ints) -> Floats:
        """Pairs by position, each distinct one compared once."""
        low, high = np.minimum(first, second), np.maximum(first, second)
        keys, where = np.unique(low * max(len(texts), 1) + high, return_inverse=True)
        low, high = np.divmod(keys, max(len(texts), 1))
        values = np.ones(len(keys))
        computed = low != high if self.equal_is_one else np.ones(len(keys), dtype=bool)
        if computed.any():
            got = np.asarray(self.compare(texts, low[computed], high[computed]), dtype=float)
            if got.shape != (int(computed.sum()),):
                raise DataError(
                    f"the similarity '{self.name}' gave {got.shape} numbers for {int(computed.sum())} pairs"
                )
            values[computed] = got
        if not np.isfinite(values).all():
            k = int(np.flatnonzero(~np.isfinite(values))[0])
            raise DesignError(f"the similarity '{self.name}' of {_quote(texts, low[k], high[k])} is not a number")
        return np.asarray(values[where.reshape(first.shape)])


class Vectors(Similarity):
    """A similarity of texts that are rows of numbers: their inner product, put on the scale of the similarity.

    A row of zeros has similarity 0 with any other, except that two blank texts have similarity 1.
    """

    @abstractmethod
    def rows(self, texts: Sequence[str]) -> Floats:
        """A row for each of some distinct texts, of length 1 or 0: (texts, dimensions)."""

    def of_products(self, product: Floats) -> Floats:
        """The similarity of two rows from their inner product."""
        return product

    def fitted(self, texts: Sequence[str]) -> Similarity:
        """The rows of these texts, made once."""
        known = list(dict.fromkeys(texts))
        rows = self.rows(known)
        return VectorRows(
            self.name, dict(zip(known, range(len(known)), strict=True)), rows, self.of_products, self.about
        )

    def compare(self, texts: Sequence[str], first: Ints, second: Ints) -> Floats:
        """Inner products of the rows, some at a time."""
        rows = self.rows(texts)
        empty = np.asarray(~rows.any(axis=1))
        found = np.empty(len(first))
        step = max(BLOCK // max(rows.shape[1], 1), 1)
        for k in range(0, len(first), step):
            i, j = first[k : k + step], second[k : k + step]
            found[k : k + step] = self.of_products(np.einsum("kd,kd->k", rows[i], rows[j]))
        blank = _blank(texts)
        found[empty[first] | empty[second]] = 0.0
        found[blank[first] & blank[second]] = 1.0
        return found

    def matrix(self, texts: Sequence[str]) -> Floats:
        """One product of all rows, rather than pair by pair."""
        distinct, codes = _unique_texts(texts)
        rows = self.rows(distinct)
        empty = np.asarray(~rows.any(axis=1))
        found = np.asarray(self.of_products(rows @ rows.T))
        found[empty] = found[:, empty] = 0.0
        found[np.ix_(_blank(distinct), _blank(distinct))] = 1.0
        np.fill_diagonal(found, 1.0)
        found = (found + found.T) / 2
        if not np.isfinite(found).all():
            i, j = (int(k[0]) for k in np.nonzero(~np.isfinite(found)))
            raise DesignError(f"the similarity '{self.name}' of {_quote(distinct, i, j)} is not a number")
        return np.asarray(found if len(distinct) == len(codes) else found[np.ix_(codes, codes)])


@dataclass(frozen=True, eq=False)
class VectorRows(Vectors):
    """Rows that were made before, for the texts they were made from."""

    name: str
    place: dict[str, int] = field(repr=False)
    table: Floats = field(repr=False)
    scale: Callable[[Floats], Floats] = field(repr=False)
    words: str = ""

    @property
    def about(self) -> str:
        """As of the similarity that the rows are of."""
        return self.words

    def rows(self, texts: Sequence[str]) -> Floats:
        """Look up rows; a text without a row is an error."""
        strange = next((text for text in texts if text not in self.place), None)
        if strange is not None:
            raise DataError(f"the similarity '{self.name}' was not fitted to {_clip(strange)}; fit it to all texts")
        return np.asarray(self.table[[self.place[text] for text in texts]])

    def of_products(self, product: Floats) -> Floats:
        """As of the similarity that the rows are of."""
        return self.scale(product)

    def fitted(self, texts: Sequence[str]) -> Similarity:
        """Itself, already fitted."""
        return self


@dataclass(frozen=True)
class OfFunction(Similarity):
    """A function of two texts, called in both orders."""

    equal_is_one: ClassVar[bool] = False

    function: Callable[[str, str], float]

    @property
    def name(self) -> str:  # type: ignore[override]
        """The function's own."""
        return str(getattr(self.function, "name", None) or getattr(self.function, "__name__", "similarity"))

    def compare(self, texts: Sequence[str], first: Ints, second: Ints) -> Floats:
        """Every pair in both orders; a function that depends on the order is refused."""
        ways = [(float(self.function(texts[i], texts[j])), float(self.function(texts[j], texts[i])))
                for i, j in zip(first.tolist(), second.tolist(), strict=True)]  # fmt: skip
        found = np.array(ways).reshape(-1, 2)
        _refuse_asymmetric(self.name, texts, first, second, found[:, 0], found[:, 1])
        return found[:, 0]


@dataclass(frozen=True)
class OfMatrix(Similarity):
    """An object that scores all pairs of a list with its method ``matrix``."""

    equal_is_one: ClassVar[bool] = False

    given: Any

    @property
    def name(self) -> str:  # type: ignore[override]
        """The given one's own."""
        return str(getattr(self.given, "name", None) or type(self.given).__name__)

    def compare(self, texts: Sequence[str], first: Ints, second: Ints) -> Floats:
        """All pairs of the texts, and those that are wanted."""
        found = np.asarray(self.given.matrix(list(texts)), dtype=float)
        if found.shape != (len(texts), len(texts)):
            raise DataError(f"the similarity '{self.name}' gave {found.shape} numbers for pairs of {len(texts)} texts")
        _refuse_asymmetric(self.name, texts, first, second, found[first, second], found[second, first])
        return np.asarray(found[first, second])

    def matrices(self, groups: Sequence[Sequence[str]]) -> list[Floats]:
        """Each group on its own: all pairs of all texts would be too many."""
        return [super(OfMatrix, self).matrices([group])[0] for group in groups]


def shared_counts(counted: Sequence[Counter[Hashable]], first: Ints, second: Ints, block: int = BLOCK // 8) -> Floats:
    """How many n-grams two texts share, each as often as the text that has it less often: (pairs,).

    From `FEW` pairs on they are compared as rows of a table, about ``block`` numbers at once.
    """
    if len(first) < FEW:
        pairs = zip(first.tolist(), second.tolist(), strict=True)
        return np.array([(counted[i] & counted[j]).total() for i, j in pairs], dtype=float)
    sparse = require("scipy.sparse", "similarity", "counting what texts share")
    place: dict[Hashable, int] = {}
    at = [place.setdefault(gram, len(place)) for one in counted for gram in one]
    many = [number for one in counted for number in one.values()]
    start = np.cumsum([0, *map(len, counted)])
    table = sparse.csr_matrix((np.array(many, dtype=float), at, start), shape=(len(counted), max(len(place), 1)))
    table.sort_indices()
    step = max(block // max(len(at) // max(len(counted), 1), 1), 1)
    found = np.zeros(len(first))
    for k in range(0, len(first), step):
        both = table[first[k : k + step]].minimum(table[second[k : k + step]])
        found[k : k + step] = np.asarray(both.sum(axis=1)).ravel()
    return found


def _refuse_asymmetric(name: str, texts: Sequence[str], first: Ints, second: Ints, there: Floats, back: Floats) -> None:
    wrong = np.flatnonzero(~np.isclose(there, back, rtol=1e-6, atol=1e-6) & np.isfinite(there) & np.isfinite(back))
    if len(wrong):
        k = int(wrong[0])
        raise DesignError(
            f"the similarity '{name}' of {_quote(texts, first[k], second[k])} is {there[k]:.6g}, and another one when "
            f"they are swapped ({back[k]:.6g}); a similarity must be symmetric"
        )


def _unique_texts(texts: Sequence[str]) -> tuple[list[str], Ints]:
    """The distinct texts in the order in which they come, and each text's position among them."""
    place: dict[str, int] = {}
    for text in texts:
        if not isinstance(text, str):
            raise DataError(f"a similarity of texts compares texts; got {text!r}, which is {type(text).__name__}")
        place.setdefault(text, len(place))
    return list(place), np.fromiter((place[text] for text in texts), dtype=np.int64, count=len(texts))


def _blank(texts: Sequence[str]) -> NDArray[np.bool_]:
    return np.array([not text.strip() for text in texts], dtype=bool)


def _quote(texts: Sequence[str], i: int, j: int) -> str:
    return f"{_clip(texts[i])} and {_clip(texts[j])}"


def _clip(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


# -- cache of encodings on disk -------------------------------------------------
# The folder is ``$ASSAY_CACHE``, or else ``assay`` in the user's folder of caches; ``ASSAY_CACHE=off`` keeps nothing on
# disk. Texts are known by their hashes alone. A file is written once and never changed, so that several processes may
# use a folder; it may be deleted at any time.

Make = Callable[[list[int]], NDArray[Any]]

KEY = 16
"""Bytes of a hash: among 10⁹ texts two are equal by chance once in 10²⁰."""
MANY = 32
"""Files of one model after which they are joined into one: opening them costs more than their rows."""
AT_ONCE = 4096
"""Rows per write: the most that an interrupted run can lose."""

_READ: dict[tuple[str, str], _Kept] = {}


def cache_folder(platform: str = sys.platform) -> Path | None:
    """The folder of the cache on a platform, this one by default; None without a cache on disk."""
    given = os.environ.get("ASSAY_CACHE", "")
    if given.lower() in ("off", "no", "0"):
        return None
    if given:
        return Path(given).expanduser()
    if platform == "win32":
        home = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif platform == "darwin":
        home = Path.home() / "Library" / "Caches"
    else:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "assay"


def key_of(*texts: str) -> bytes:
    """The hash of a text, or of two texts in either order."""
    mixed = hashlib.blake2b(digest_size=KEY)
    for text in sorted(texts):
        data = text.encode("utf-8", "surrogatepass")
        mixed.update(len(data).to_bytes(8, "little") + data)
    return mixed.digest()


def kept(what: str, keys: Sequence[bytes], make: Make, at_once: int = AT_ONCE) -> NDArray[Any]:
    """A row for each key; missing ones are computed and cached.

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


def forget_rows() -> None:
    """Forget the rows in memory; those on disk are read when they are next needed, as by another process."""
    _READ.clear()


def cached_scores(
    what: str, texts: Sequence[str], first: Ints, second: Ints, score: Callable[[Ints, Ints], Floats]
) -> Floats:
    """The cached score of each pair of texts; missing ones are computed in one call."""
    keys = [key_of(texts[i], texts[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)]
    found = kept(what, keys, lambda some: score(first[some], second[some])[:, None], at_once=len(keys))
    return np.asarray(found[:, 0], dtype=float)


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
