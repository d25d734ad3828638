"""Scales that a platform offers, and those that the user says: which of them count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from assay.data.annotations import natural
from assay.data.formats import Rows
from assay.data.formats.intake import OFF_SCALE, is_number
from assay.data.scales import Scale
from assay.data.written import valid_as_written
from assay.errors import DataError, listing


def settle_scales(rows: Rows, said: Scale | Mapping[str, Scale] | None) -> tuple[Rows, Scale | dict[str, Scale] | None]:
    """The scales that count: what the user says, else what the platform states; and the rows that are on them.

    Platforms accept labels off their own scale and the user cannot mend an export, so such labels are left
    out and counted.
    """
    if isinstance(said, Scale):
        return _on_scale(rows, {"": said}), said
    given = said or {}
    known = {c or "": s for c, s in (rows.scales or {}).items()} | dict(given)
    asked = rows.labels["criterion"].unique().to_list() if "criterion" in rows.labels.columns else [""]
    _needs_scale(rows, known)
    if not given and not known.keys() >= set(asked):
        return rows, None
    stated = [f"{c or 'labels'} {known[c].spec}" for c in natural(asked) if c in known and c not in given]
    if stated:
        rows = replace(rows, reading=rows.reading.noted(f"scale as the export states it: {'; '.join(stated)}"))
    return _on_scale(rows, known), known.get("") or known


def _needs_scale(rows: Rows, known: Mapping[str, Scale]) -> None:
    """Refuse a table that mixes questions of numbers and of text while nobody has said their scales."""
    frame = rows.labels
    if "criterion" not in frame.columns or frame["label"].dtype != pl.String:
        return
    unsaid = [c for c in natural(frame["criterion"].unique().to_list()) if c not in known]
    numeric = [c for c in unsaid if all(is_number(v) for v in frame.filter(pl.col("criterion") == c)["label"])]
    if numeric:
        example = ", ".join(f"'{c}': '1-5'" for c in numeric[:3])
        raise DataError(
            f"{rows.reading.source}: some questions are answered with numbers and some with text; say the scale of "
            f"{listing(numeric)} (scale={{{example}}}), or read one kind with criteria=..."
        )


def _on_scale(rows: Rows, scales: Mapping[str, Scale]) -> Rows:
    """The rows whose label is on the scale of its criterion; the name "" is of every criterion."""
    frame = rows.labels
    valid = pl.Series([True] * frame.height)
    for criterion, scale in scales.items():
        concerned = pl.Series([True] * frame.height)
        if criterion:
            concerned = (frame["criterion"] == criterion).fill_null(False)
        valid = valid & (~concerned | valid_as_written(frame["label"], scale))
    off = frame.filter(~valid)
    if not off.height:
        return rows
    shown = ", ".join(f"{where}: {v!r}" for where, v in off.head(5).select("_row", "label").iter_rows())
    more = f" and {off.height - 5} more" if off.height > 5 else ""
    if off.height == frame.height:
        allowed = " or ".join(dict.fromkeys(scale.describe() for scale in scales.values()))
        raise DataError(
            f"{rows.reading.source}: every label is off its scale ({shown}{more}); each must be {allowed}. "
            "Give the scale they are on with scale=..."
        )
    reading = rows.reading.without(OFF_SCALE, off.height).noted(f"labels off the scale: {shown}{more}")
    return replace(rows, labels=frame.filter(valid), reading=reading)
