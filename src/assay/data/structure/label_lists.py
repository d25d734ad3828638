"""Lists of labels in one cell, ``fever; cough``: each label is a criterion, or each combination a category.

A list in which labels are there twice, ``joy|joy|fear``, has one of each annotator: `data.formats.nested`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from assay.data.names import Spelling, factorize, unify_spelling
from assay.errors import DataError, listing

MOST_LISTED = 40
"""Labels up to which cells can be lists of them."""

LEAST_LISTS = 0.05
"""Share of the cells that are lists, at least, in a column of lists."""


def lists_of_labels(texts: pl.Series) -> tuple[str, list[str]] | None:
    """Return the separator of lists of labels in cells, and the labels; None if cells are single labels.

    ``fever; cough`` and ``cough; rash`` are lists: there are more different cells than labels.
    """
    there = texts.drop_nulls()
    cells = there.unique(maintain_order=True)
    # The first cells are enough to see that a column has texts.
    for mark in BETWEEN:
        if _names_in_lists(cells.head(MOST_TRIED), mark) is None or (found := _names_in_lists(cells, mark)) is None:
            continue
        names, listed = found
        often = int(there.is_in(listed).sum()) >= LEAST_LISTS * len(there)
        # Brackets say it; marks alone need more different cells than labels.
        if often and len(names) > 1 and (len(names) < len(cells) - 1 or all(map(_in_brackets, cells))):
            return mark, sorted(names, key=str.lower)
    return None


def _names_in_lists(cells: pl.Series, mark: str) -> tuple[list[str], list[str]] | None:
    """The labels in cells that can be lists, and the cells with several; None if a mark is no separator of lists."""
    parts = {cell: _listed(cell, mark) for cell in cells.to_list()}
    listed = [cell for cell, found in parts.items() if len(found) > 1]
    names = dict.fromkeys(name for found in parts.values() for name in found)
    twice = any(len({*parts[cell]}) < len(parts[cell]) for cell in listed)
    numbers = all(map(_is_numeral, names)) and not all(map(_in_brackets, listed))
    if not listed or twice or not 1 < len(names) <= MOST_LISTED or numbers:
        return None
    return [name for name in names if name.lower() not in NOTHING], listed


MOST_TRIED = 300
"""Different cells that are inspected first."""

BETWEEN = (";", "|", "\n", ",")
"""What is between the labels of a list."""

NOTHING = (
    "none", "no", "nothing", "no finding", "no findings", "no label", "none of these", "none of the above", "-", "–",
    "[]", "keine", "keines", "nichts", "aucun", "aucune", "ninguno", "ninguna", "no box",
)  # fmt: skip
"""Texts that say that no label applies."""


def _is_numeral(text: str) -> bool:
    return re.fullmatch(r"[-+]?\d+([.,]\d+)?%?", text) is not None


def parts_of(cell: str, mark: str) -> list[str]:
    """Return the parts of a cell without spaces around them; the mark can be a space, and a part empty."""
    return cell.split() if mark == " " else [part.strip() for part in cell.split(mark)]


_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")


def _in_brackets(cell: str) -> bool:
    """Whether a cell is a list as Python, JSON or NumPy writes it: ``['joy', 'fear']``."""
    bare = cell.strip()
    return len(bare) > 1 and bare[0] + bare[-1] == "[]"


def _listed(cell: str, mark: str) -> list[str]:
    if mark == "," and _in_brackets(cell):
        quoted = ["".join(found) for found in _QUOTED.findall(cell)]
        inside = cell.strip()[1:-1]
        return quoted or [part for part in parts_of(inside, "," if "," in inside else " ") if part]
    return [part for part in parts_of(cell, mark) if part]


def split_lists(
    texts: pl.Series, names: Sequence[str], where: pl.Series, source: str, spelling: Spelling
) -> tuple[pl.DataFrame, list[str]]:
    """Return yes or no for each label of each cell, and notes.

    Parameters
    ----------
    names : sequence of str
        The labels; if empty, all that occur.
    where : Series
        The rows, for messages.
    spelling : str
        How to treat labels that differ only in spelling.

    Returns
    -------
    DataFrame
        ``cell``, ``name``, ``label`` (yes or no).

    Raises
    ------
    DataError
        If a cell has another label than these, or there are no lists and no names.
    """
    cells = [cell for cell in texts.drop_nulls().unique(maintain_order=True).to_list() if cell.strip()]
    found = lists_of_labels(texts)
    mark = next((m for m in BETWEEN if any(m in cell for cell in cells)), ";") if found is None else found[0]
    known = [*names] or ([] if found is None else found[1])
    if len(known) < 2:
        raise DataError(f"{source}: no label lists several labels; name all labels with scale='several:food,price'")
    every = pl.Series([*known, *(part for cell in texts.drop_nulls() for part in _listed(cell, mark))])
    alike, notes = unify_spelling(factorize(every), "label", spelling, source)
    spelled = dict(zip(every, alike.names.gather(alike.codes), strict=True))
    known = [*dict.fromkeys(spelled[name] for name in known)]
    rows = []
    for cell in cells:
        parts = [spelled[part] for part in _listed(cell, mark)]
        parts = [part for part in parts if part in known or part.lower() not in NOTHING]
        if off := [part for part in parts if part not in known]:
            row = where.filter(texts == cell)[0]
            raise DataError(f"{source}: '{cell}' (row {row}) lists '{off[0]}', which scale='several:...' does not name")
        rows += [(cell, name, "yes" if name in parts else "no") for name in known]
    table = pl.DataFrame(rows, schema={"cell": pl.String, "name": pl.String, "label": pl.String}, orient="row")
    notes = [f"labels are lists of {listing(known, 8)}; each of these is a criterion, answered yes or no", *notes]
    return table, notes
