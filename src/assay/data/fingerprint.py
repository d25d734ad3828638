"""One fingerprint of labels: the same whatever the order of rows, the files, the chunks, memory or disk.

Each label is hashed with its item, annotator, criterion, repeat and conditions; the hashes are summed, which no order
changes; and the sums are digested together with what else decides numbers: the scales, and who is a judge. Hashes are
our own, because those of libraries differ between versions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.coding import Utf8

Hashes = NDArray[np.uint64]

LONG = 1_024
"""Texts of more bytes are hashed one by one."""

ROWS = 2**14
"""Rows that are mixed at a time, so that they stay in the processor's cache."""


def hashes(values: pl.Series, column: str) -> Hashes:
    """A number for each value of a column, which differs from column to column; 0 for null.

    A whole number reads the same as integer and as float. What is neither number nor text is taken as text.
    """
    if values.dtype.is_numeric():
        there = values.is_not_null().to_numpy()
        found = _number_hashes(values.cast(pl.Float64).fill_null(0.0).to_numpy(), _salt(column))
    else:
        texts = values.cast(pl.String)
        there = texts.is_not_null().to_numpy()
        found = _text_hashes(texts.fill_null(""), _salt(column))
    return found if there.all() else np.where(there, found, np.uint64(0))


def _salt(column: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(column.encode(), digest_size=8).digest(), "little"))


def _number_hashes(numbers: NDArray[Any], salt: np.uint64) -> Hashes:
    return mixed((numbers + 0.0).view(np.uint64) ^ salt)  # + 0.0 makes floats of integers and 0 of −0


def mixed(x: Hashes) -> Hashes:
    """The finaliser of splitmix64: every input bit reaches every output bit."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def _text_hashes(texts: pl.Series, salt: np.uint64) -> Hashes:
    utf8 = Utf8.of(texts)
    found = mixed(utf8.length.astype(np.uint64) ^ salt)
    left = np.flatnonzero(utf8.length <= LONG)
    at = 0
    while len(left := left[utf8.length[left] > at]):
        found[left] = mixed(found[left] ^ utf8.words(left, at, "<"))
        at += 8
    for i in np.flatnonzero(utf8.length > LONG):
        text = utf8.data[utf8.start[i] : utf8.start[i] + utf8.length[i]]
        digest = hashlib.blake2b(text.tobytes(), digest_size=8, salt=salt.tobytes()).digest()
        found[i] = int.from_bytes(digest, "little")
    return found


class LabelHashes:
    """Labels as columns of numbers to be hashed: codes into a table of hashes, or hashes as they are."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.tables: list[tuple[Hashes, NDArray[Any]]] = []
        self.numbers: list[tuple[NDArray[Any], np.uint64]] = []

    def add(self, column: str, values: pl.Series, codes: NDArray[Any]) -> None:
        """A column with few different values, and each row's position among them."""
        self.add_hashed(hashes(values, column), codes)

    def add_hashed(self, table: Hashes, codes: NDArray[Any]) -> None:
        """A column whose different values are hashed already."""
        self.tables.append((table, codes))

    def add_numbers(self, column: str, numbers: NDArray[Any]) -> None:
        """A column of numbers, none missing."""
        self.numbers.append((numbers, _salt(column)))

    def sums(self, group: NDArray[Any] | None = None, n_groups: int = 1) -> Hashes:
        """Two sums made of the rows' hashes and the number of rows, by group: (groups, 3)."""
        total = np.zeros((n_groups, 3), dtype=np.uint64)
        for start in range(0, self.n_rows, ROWS):
            rows = slice(start, min(start + ROWS, self.n_rows))
            found = np.zeros(rows.stop - start, dtype=np.uint64)
            for table, codes in self.tables:
                found ^= table[codes[rows]]
            for numbers, salt in self.numbers:
                found ^= _number_hashes(numbers[rows], salt)
            found = mixed(found)
            halves = (found >> np.uint64(32)) * (found & np.uint64(0xFFFFFFFF))
            if group is None:
                total[0] += np.array([found.sum(), halves.sum(), len(found)], dtype=np.uint64)
            else:
                total += np.stack([_sums(x, group[rows], n_groups) for x in (found, halves, None)], axis=1)
        return total


def _sums(x: Hashes | None, group: NDArray[Any], n_groups: int) -> Hashes:
    """Sums by group modulo 2**64, or the number of rows."""
    if x is None:
        return np.bincount(group, minlength=n_groups).astype(np.uint64)
    # Halves, because bincount adds floats, which are exact below 2**53.
    low = np.bincount(group, x & np.uint64(0xFFFFFFFF), minlength=n_groups).astype(np.uint64)
    high = np.bincount(group, x >> np.uint64(32), minlength=n_groups).astype(np.uint64)
    return np.asarray(low + (high << np.uint64(32)))


def digits(sums: Hashes, scales: Sequence[tuple[str | None, str]], kinds: Mapping[str, str]) -> str:
    """Twelve hexadecimal digits.

    Parameters
    ----------
    sums : (3,) uint64
        Of all labels, see `LabelHashes.sums`.
    scales : (criterion, scale in one line) of every criterion
    kinds : annotator to ``human`` or ``judge``
    """
    said = [[f"{c!r}", spec] for c, spec in sorted(scales, key=repr)], sorted(kinds.items())
    return hashlib.blake2b(sums.astype("<u8").tobytes() + repr(said).encode(), digest_size=6).hexdigest()
