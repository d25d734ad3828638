"""Files of labels -> the one table."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from assay.data.annotations import Annotations
from assay.data.formats import Rows, alt_test, tables
from assay.data.formats.offered import settle_scales
from assay.data.formats.registry import format_of
from assay.data.frames import BLANK, without_blank_rows
from assay.data.scales import Preference, Scale
from assay.errors import DataError

Layout = Literal["long", "wide"]


def read_labels(path: Path, scale: Scale | Mapping[str, Scale] | None) -> Annotations:
    """Read a file of labels whose columns have their usual names; see `assay.reading.read`."""
    return annotations_of(rows_of(existing(path)), scale=scale)


def existing(source: str | os.PathLike[str]) -> Path:
    """The path of a file or folder that is there.

    Raises
    ------
    DataError
        Where it is not, with the nearest name beside it.
    """
    path = Path(source).expanduser()
    if not path.exists():
        near = difflib.get_close_matches(path.name, [p.name for p in path.parent.glob("*")], n=1)
        hint = f"; did you mean '{path.parent / near[0]}'?" if near else ""
        raise DataError(f"there is no file or folder '{path}'{hint}")
    return path


def rows_of(
    path: Path,
    item: str | None = None,
    format: str = "auto",  # noqa: A002 - what the user calls it
    options: Mapping[str, Any] | None = None,
) -> Rows:
    """The rows of a file or folder, in whatever format it is."""
    chosen = format_of(path, format)
    if chosen.name == "table" and path.is_dir() and not any(path.glob("*.parquet")):
        raise DataError(
            f"the folder '{path}' holds no study.yaml, no {alt_test.HUMANS} and no Parquet files; name a file in it"
        )
    return chosen.rows(path, item, options or {})


def annotations_of(
    rows: Rows,
    *,
    item: str | Sequence[str] = "item",
    annotator: str = "annotator",
    label: str | Sequence[str] = "label",
    criterion: str | None = None,
    scale: Scale | Mapping[str, Scale] | None = None,
    layout: Layout = "long",
    columns: Sequence[str] | None = None,
    items: Any = None,
    annotators: Any = None,
    **further: Any,
) -> Annotations:
    """Rows as they were read, as the one table; the options are those of `assay.reading.read`."""
    if rows.scales is not None:
        rows, scale = settle_scales(rows, scale)
        item = "item"
    there, n_blank = without_blank_rows(rows.labels)
    if n_blank:
        rows = replace(rows, labels=there, reading=rows.reading.without(BLANK, n_blank))
    if not isinstance(item, str):
        rows, item = tables.one_item_of(rows, item), "item"
    if not isinstance(label, str):
        rows, label, criterion = tables.by_criterion(rows, label), "label", "criterion"
    if layout == "wide":
        rows = tables.unpivot(rows, item, columns, check=_numbers_wanted(scale) is not False)
        item, annotator, label = "item", "annotator", "label"
    elif columns is not None:
        raise DataError("columns=... names the annotators of a wide table; say layout='wide' too")
    leave = (item, annotator, criterion or "criterion", label, "_row")
    return Annotations.from_frame(
        tables.numbers_where_all_are(rows.labels, leave=leave) if rows.untyped else rows.labels,
        item=item,
        annotator=annotator,
        label=label,
        criterion=criterion,
        scale=scale,
        items=rows.items if items is None else items,
        annotators=rows.annotators if annotators is None else annotators,
        reading=replace(rows.reading, as_text=rows.untyped or rows.reading.as_text, orders=rows.orders),
        **further,
    )


def _numbers_wanted(scales: Scale | Mapping[str, Scale] | None) -> bool | None:
    """Whether labels have to be numbers; None where there is no scale to say it."""
    if scales is None:
        return None
    each = [scales] if isinstance(scales, Scale) else list(scales.values())
    return all(s.numeric for s in each) and not any(isinstance(s, Preference) for s in each)
