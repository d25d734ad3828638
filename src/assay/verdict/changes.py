"""What changed since an older report: judge beside judge, cell beside cell, from the numbers that both keep as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from assay.errors import DataError, counted, listing
from assay.reporting import tables
from assay.reporting.page import Section
from assay.verdict.card import JudgeCard

Place = tuple[str, str | None, str, str | None]
"""Judge, criterion, question and measure of a number on the card."""

BESIDE = ("judges", "title", "plan", "compare", "progress")
"""Options that do not change what is found of a judge."""


@dataclass(frozen=True)
class OldReport:
    """A report as its JSON has it."""

    path: str
    found: Mapping[str, Any]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> OldReport:
        """The report whose page was written beside this file.

        Raises
        ------
        DataError
            Where there is no such file, or it is no report.
        """
        place, found = Path(path), None
        if not place.is_file():
            raise DataError(f"there is no file '{place}'; assay report writes report.json beside report.html")
        try:
            found = json.loads(place.read_text(encoding="utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError):
            found = None
        if not isinstance(found, dict) or found.get("kind") != "Report" or "signature" not in found:
            raise DataError(
                f"'{place}' is no report; name the .json file that assay report wrote beside the older page"
            )
        if not isinstance(found.get("card"), dict):
            raise DataError(
                f"'{place}' has no card to compare with: its labels allowed none, or an older version of assay made it"
            )
        return cls(str(path), found)

    def rows(self) -> Mapping[Place, Mapping[str, Any]]:
        """Every number on its card."""
        return {_place(row): row for row in self.found["card"]["table"]}

    def changed_options(self, settings: Mapping[str, Any]) -> list[str]:
        """Options that had another value then."""
        then: Mapping[str, Any] = self.found["settings"]
        names = [name for name in settings if name not in BESIDE and then.get(name) != settings[name]]
        return [f"{name} {then.get(name)} then, {settings[name]} now" for name in names]


def changes_since(old: OldReport, card: JudgeCard, settings: Mapping[str, Any], data: str) -> Section:
    """What changed since the older report.

    Parameters
    ----------
    old : OldReport
    card : JudgeCard
        The one of now.
    settings : mapping
        Every option of now.
    data : str
        Fingerprint of the labels of now.

    Returns
    -------
    Section
        Its first sentence counts the cells that differ and names them; its table has every cell that both cards have,
        those that differ first.
    """
    before = old.rows()
    now = {_place(row): row for row in card.table.iter_rows(named=True)}
    judges = [list(dict.fromkeys(place[0] for place in rows)) for rows in (before, now)]
    pairs, words = _pair_judges(*judges)
    rows = list(_compare_rows(pairs, before, now))
    moved = [row for row in rows if row["before"] != row["now"]]
    differ = "differs" if len(moved) == 1 else "differ"
    first = f"{len(moved)} of {counted(len(rows), 'cell')} of the card {differ} from {Path(old.path).name}"
    said = [f"{first}: {_moves(moved)}." if moved else f"No cell of the card differs from {Path(old.path).name}."]
    if not rows:
        said = [f"No judge is on this card and on that of {Path(old.path).name}."]
    same = old.found["data"] == data
    said.append("The labels are the same ones." if same else "The labels are not the same ones.")
    if options := old.changed_options(settings):
        said.append(f"Options differ: {listing(options, 6)}.")
    said += words
    if moved and not same:
        said.append(
            "A mark that moved tells what is shown now, not that a judge changed: more labels move marks, too. Whether "
            "the judge itself changed on the same items is asked by assay.drift (assay drift)."
        )
    frame = _frame([*moved, *(row for row in rows if row["before"] == row["now"])])
    caption = "Marks, and what is behind them, then and now: contrasts, above 0 within the boundary; of replacement, ρ."
    return Section("What changed", tuple(said), (tables.shown(frame, caption=caption),) if frame.height else ())


def _place(row: Mapping[str, Any]) -> Place:
    return row["judge"], row["criterion"], row["dimension"], row["measure"]


def _pair_judges(before: Sequence[str], now: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Judges of one name; one that is gone beside one that is new, where there is one of each."""
    pairs = [(name, name) for name in now if name in before]
    gone, new = ([name for name in one if name not in other] for one, other in ((before, now), (now, before)))
    if len(gone) == len(new) == 1:
        return [*pairs, (gone[0], new[0])], [f"{new[0]} is set beside {gone[0]}, which is not in these labels."]
    found = [f"Only then: {listing(gone, 6)}."] if gone else []
    return pairs, [*found, *([f"Only now: {listing(new, 6)}."] if new else [])]


def _compare_rows(
    pairs: Sequence[tuple[str, str]], before: Mapping[Place, Mapping[str, Any]], now: Mapping[Place, Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """A row a cell that both reports have; of a cell with several measures the one that decides least clearly."""
    for then, name in pairs:
        cells: dict[tuple[str | None, str], dict[str, Any]] = {}
        for place, row in now.items():
            old = before.get((then, *place[1:])) if place[0] == name else None
            if old is None and place[0] == name:  # a dash then, or a dash now, has no measure
                old = next((one for p, one in before.items() if (p[0], p[1], p[2]) == (then, place[1], place[2])), None)
            if old is None or place[1:3] in cells:
                continue
            cells[place[1:3]] = {
                "judge": name if then == name else f"{then} → {name}", "criterion": place[1], "question": place[2],
                "before": old["mark"], "now": row["mark"],
                **{f"{when}{end}": one[key] for when, one in (("then", old), ("since", row))
                   for end, key in (("", "estimate"), ("_low", "low"), ("_high", "high"))},
            }  # fmt: skip
        yield from cells.values()


def _moves(moved: Sequence[Mapping[str, Any]]) -> str:
    """``gpt: validity ? → ✓, bias ✓ → ?; llama: …``."""
    by_judge: dict[str, list[str]] = {}
    for row in moved:
        where = row["judge"] + (f", {row['criterion']}" if row["criterion"] else "")
        by_judge.setdefault(where, []).append(f"{row['question']} {row['before']} → {row['now']}")
    return "; ".join(f"{judge}: {', '.join(each)}" for judge, each in by_judge.items())


def _frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    numbers = [f"{when}{end}" for when in ("then", "since") for end in ("", "_low", "_high")]
    kinds: dict[str, Any] = {**dict.fromkeys(numbers, pl.Float64), "criterion": pl.String}
    frame = pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)
    if not frame.height:
        return frame
    drop = [c for c in ("criterion",) if frame[c].null_count() == frame.height]
    return frame.drop(drop)
