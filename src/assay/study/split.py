"""Items set apart: some that prompts may see while they are written, and others on which judges are tested.

Whole documents go to one part, and each stratum has the same share of both, or the same number of items in the test
set. Parts are drawn once: a study keeps them in ``split.csv``, and an item that is not named there is for the test.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from assay.data.columns import PART, PARTS
from assay.data.names import stems
from assay.errors import DataError, StudyError, counted, listing, unknown
from assay.estimation.options import number_in
from assay.reporting.page import atomic_write, writable
from assay.study.definition import Study
from assay.study.items import SPLIT_FILE, canonical, chance

DEVELOPMENT, TEST = PARTS


@dataclass(frozen=True, eq=False)
class ItemSplit:
    """Which items are for development and which for the test.

    Attributes
    ----------
    parts : polars.DataFrame
        One row per item: ``item``, ``part``, ``document`` and ``stratum`` (null if there is none).
    grouped_by : str
        The grouping of items that stay together, in words; empty if each item is drawn separately.
    strata : tuple of str
        The columns with equal distributions in both parts.
    seed : int
    """

    parts: pl.DataFrame
    grouped_by: str
    strata: tuple[str, ...]
    seed: int
    n_test: int | None = None
    """The number of test items requested in each stratum; None for a share."""

    @property
    def table(self) -> pl.DataFrame:
        """One row a stratum: items of each part, and the share that is for the test."""
        counts = self.parts.group_by("stratum").agg(
            n=pl.len(), development=(pl.col(PART) == DEVELOPMENT).sum(), test=(pl.col(PART) == TEST).sum()
        )
        return counts.with_columns(share=pl.col("test") / pl.col("n")).sort("stratum")

    def summary(self) -> str:
        """Return the number of items in each part, the grouping and the strata."""
        n = Counter(self.parts[PART].to_list())
        lines = [f"{n[DEVELOPMENT]:,} items in the development set and {n[TEST]:,} in the test set (seed {self.seed})."]
        if self.grouped_by:
            documents = self.parts.group_by("document").agg(pl.len())
            lines.append(f"Items of one document stay together: {documents.height:,} documents, {self.grouped_by}.")
        if self.n_test is not None:
            counts = self.table["test"].to_list()
            low, high = min(counts), max(counts)
            numbers = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            of = f"each of {counted(len(counts), 'kind')} of {listing(self.strata)}" if self.strata else "the items"
            lines.append(f"Test set: {numbers} items of {of}.")
        elif self.strata:
            shares = self.table["share"].to_numpy()
            low, high = 100 * float(shares.min()), 100 * float(shares.max())
            lines.append(
                f"Stratified by {listing(self.strata)}: {low:.0f} to {high:.0f}% of each of "
                f"{counted(len(shares), 'kind')} are in the test set."
            )
        return "\n".join(lines)


def split_items(
    items: pl.DataFrame, *, document: str | None = None, strata: Sequence[str] = (), test: float = 0.75,
    n_test: int | None = None, seed: int = 0,
) -> ItemSplit:  # fmt: skip
    """Draw the part of each item.

    Parameters
    ----------
    items : polars.DataFrame
        One row an item, column ``item``.
    document : str, optional
        Column of what items share, which stays in one part; without it what their names share
        (`assay.data.names.stems`), unless it is their stratum.
    strata : list of str
        Columns to distribute equally over both parts. A document's stratum is that of most of its items.
    test : float
        Share of the items for the test, above 0 and below 1.
    n_test : int, optional
        Number of items for the test in each stratum, instead of a share. Of documents, as close to it as whole
        documents allow.
    seed : int

    Raises
    ------
    DataError
        For a column that is not there, an empty cell, fewer than two documents, a stratum with fewer items than
        ``n_test``, a table that is split already.
    """
    number_in("test", test, above=0, below=1)
    if n_test is not None:
        number_in("n_test", n_test, low=1, whole=True)
    if PART in items.columns:
        raise DataError(f"the items have a column '{PART}' already; remove or rename it to draw parts")
    for column in (document, *strata):
        if column is None:
            continue
        if column not in items.columns:
            raise DataError(unknown("column", column, items.columns, "the items"))
        if items[column].null_count():
            empty = items.filter(pl.col(column).is_null())["item"]
            raise DataError(f"{counted(len(empty), 'item')} ({listing(empty.to_list(), 3)}) without '{column}'")
    names = items["item"].cast(pl.String)
    kinds = [" | ".join(map(str, row)) for row in items.select(strata).iter_rows()] if strata else [None] * len(names)
    grouped_by, documents = "", names.to_list()
    if document is not None:
        grouped_by, documents = f"as column '{document}' says", items[document].to_list()
    elif (shared := stems(names)) is not None and not _same_groups(shared.stem.column().to_list(), kinds):
        grouped_by = f"by the text before '{shared.separator}' in their names"
        documents = shared.stem.column().to_list()
    if n_test is None:
        parts, wanted = draw_parts(documents, kinds, test=test, seed=seed), f"{100 * test:g}% for the test"
    else:
        _refuse_small_strata(kinds, n_test)
        parts, wanted = draw_parts(documents, kinds, n_test=n_test, seed=seed), f"{n_test} of each kind for the test"
    if len(set(parts)) < len(PARTS):
        few, alone = counted(len(set(documents)), "document" if grouped_by else "item"), ""
        if grouped_by and document is None:
            few += f" ({grouped_by})"
            alone = "; if items of one document may be in different parts, set document='item'"
        raise DataError(f"{few} cannot be split into two parts, {wanted}{alone}")
    found = pl.DataFrame(
        {"item": names, PART: parts, "document": documents if grouped_by else None, "stratum": kinds},
        schema_overrides={"stratum": pl.String},
        strict=False,
    )
    return ItemSplit(found, grouped_by, tuple(strata), seed, n_test)


def _same_groups(stem: Sequence[str], kinds: Sequence[str | None]) -> bool:
    """Whether item names begin with their stratum, such as *stsb-07* of benchmark *STS-B*: no document."""
    return len(set(zip(stem, kinds, strict=True))) == len(set(stem)) == len(set(kinds))


def _refuse_small_strata(kinds: Sequence[str | None], n_test: int) -> None:
    for kind, size in Counter(kinds).items():
        if size < n_test:
            where = "the table has" if kind is None else f"'{kind}' has"
            raise DataError(f"{where} {counted(size, 'item')}; the test set requires {n_test:,} of each kind")


def draw_parts(
    documents: Sequence[Any], strata: Sequence[Any], *, test: float = 0.75, n_test: int | None = None, seed: int
) -> list[str]:
    """Draw the part of each item, whole documents at a time.

    Documents come in a random order within their stratum, and each goes to the part that brings the share of test items
    (or with ``n_test`` their number in the stratum) closer to the target; so each stratum has it, as closely as its
    documents allow.

    Parameters
    ----------
    documents, strata : list
        Of each item.
    """
    whole: dict[Any, list[int]] = {}
    for place, document in enumerate(documents):
        whole.setdefault(document, []).append(place)
    kinds = {document: Counter(canonical(strata[place]) for place in places) for document, places in whole.items()}
    by_stratum: dict[str, list[Any]] = {}
    for document, counts in kinds.items():
        by_stratum.setdefault(counts.most_common(1)[0][0], []).append(document)
    parts = [DEVELOPMENT] * len(documents)
    short = 0.0  # items by which the test is short of its share, those of all strata before counted
    missing = dict.fromkeys((kind for counts in kinds.values() for kind in counts), 0 if n_test is None else n_test)
    for stratum in sorted(by_stratum):
        drawn = sorted(by_stratum[stratum], key=str)
        chance(seed, "split", stratum).shuffle(drawn)
        for document in drawn:
            size, counts = len(whole[document]), kinds[document]
            short += test * size
            # A document can have items of several strata, such as a question with an output of each system.
            closer = sum(abs(missing[kind]) - abs(missing[kind] - n) for kind, n in counts.items())
            taken = short >= size / 2 if n_test is None else closer >= 0
            if taken:
                short -= size
                missing |= {kind: missing[kind] - n for kind, n in counts.items()}
                for place in whole[document]:
                    parts[place] = TEST
    return parts


def split_study(study: Study, **how: Any) -> tuple[ItemSplit, Path]:
    """Split the items of a study, and keep the parts in its folder; see `split_items`.

    Raises
    ------
    StudyError
        If they are split already, because the items of a second split have been seen; if pairs or triplets are drawn
        from the items.
    """
    path = study.folder / SPLIT_FILE
    if path.exists():
        raise StudyError(f"{path} exists: the items are split already, and prompts may have used one part")
    if study.systems or any(q.drawn_from for q in study.config.questions):
        raise StudyError("this study draws pairs or triplets from its items, so they cannot be split")
    items = list(study.items())
    columns = dict.fromkeys(name for item in items for name in item.fields)
    frame = pl.DataFrame(
        {
            "item": [item.name for item in items],
            **{name: [_plain(item.fields.get(name)) for item in items] for name in columns if name != "item"},
        }
    )
    if how.get("document") is None and study.config.items.document is not None:
        how = {**how, "document": study.config.items.document}
    found = split_items(frame, **how)
    with path.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", PART])
        writer.writerows(found.parts.select("item", PART).iter_rows())
    return found, path


def split_table(source: Path, out: Path, *, item: str = "item", **how: Any) -> ItemSplit:
    """Split the items of a table (one row an item or a label), and write it with a column ``part``."""
    from assay.data.formats.exports import TABLES, write_frame
    from assay.data.formats.registry import existing_path
    from assay.data.formats.tables import read_table

    writable(out, suffixes=TABLES)
    table = read_table(existing_path(source)).labels.drop("_row", strict=False)
    if item not in table.columns:
        raise DataError(unknown("column", item, table.columns, str(source)) + " (it should hold the item)")
    about = table.rename({item: "item"}).unique("item", keep="first", maintain_order=True)
    found = split_items(about, **how)
    parts = found.parts.select(pl.col("item").alias(item), PART)
    table = table.with_columns(pl.col(item).cast(pl.String)).join(parts, on=item, how="left", maintain_order="left")
    if out.suffix.lower() in (".csv", ".tsv") and source.suffix.lower() in (".csv", ".tsv"):
        with atomic_write(out) as place:  # cells were read unchanged
            table.write_csv(place, separator="\t" if out.suffix.lower() == ".tsv" else ",")
    else:
        write_frame(table, out)
    return found


def _plain(value: Any) -> str | None:
    return None if value is None or value == "" else value if isinstance(value, str) else canonical(value)
