"""Inputs as evaluations of systems, clinical forms and repeated runs write them, with the correct readings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from inputs import PEOPLE, Case, Given, Rng, check_reading, long

import assay

INPUTS: dict[str, Case] = {}


def given(function: Case) -> Case:
    INPUTS[function.__name__] = function
    return function


# -- checkboxes --------------------------------------------------------------------------------------------------


def ticks(rng: Rng, n: int, boxes: int) -> list[list[int]]:
    return (rng.random((n, boxes)) < 0.4).astype(int).tolist()


def joined(names: list[str], row: list[int]) -> str:
    return "; ".join(name for name, ticked in zip(names, row, strict=True) if ticked) or "no box"


@given
def checkboxes_by_code(folder: Path, rng: Rng) -> Given:
    """As REDCap exports one question: a column for each code, of which one is negative."""
    pairs = [(k, who) for k in range(20) for who in PEOPLE]
    rows = [(k, who, *row) for (k, who), row in zip(pairs, ticks(rng, 60, 3), strict=True)]
    path = long(folder, ("record_id", "rater", "signs___1", "signs___2", "signs____9"), rows)
    return Given(path, [(k, who, "", joined(["box 1", "box 2", "box -9"], row)) for k, who, *row in rows])


@given
def checkboxes_by_choice(folder: Path, rng: Rng) -> Given:
    """As REDCap exports the same with labels."""
    choices = ["Joy", "Fear", "None of these"]
    pairs = [(k, who) for k in range(20) for who in PEOPLE]
    rows = [(k, who, *row) for (k, who), row in zip(pairs, ticks(rng, 60, 3), strict=True)]
    named = [(k, who, *(("Unchecked", "Checked")[one] for one in row)) for k, who, *row in rows]
    path = long(folder, ("Record ID", "Rater name", *(f"Which apply? (choice={one})" for one in choices)), named)
    return Given(path, [(k, who, "", joined(choices, row)) for k, who, *row in rows])


@given
def checkboxes_of_a_form_that_is_not_filled_in(folder: Path, rng: Rng) -> Given:
    pairs = [(k, who) for k in range(20) for who in PEOPLE]
    rows = [(k, who, *row) for (k, who), row in zip(pairs, ticks(rng, 60, 2), strict=True)]
    empty = [(k, who, *((None, None) if k % 5 == 0 else row)) for k, who, *row in rows]
    path = long(folder, ("record_id", "rater", "signs___1", "signs___2"), empty)
    return Given(path, [(k, who, "", joined(["box 1", "box 2"], row)) for k, who, *row in rows if k % 5])


@given
def checkboxes_that_are_named(folder: Path, rng: Rng) -> Given:
    """A user who names the columns gets a criterion for each."""
    rows = [(k, who, *ticks(rng, 1, 2)[0]) for k in range(20) for who in PEOPLE]
    path = long(folder, ("record_id", "rater", "signs___1", "signs___2"), rows)
    right = [(k, who, f"signs___{b}", row[b - 1]) for k, who, *row in rows for b in (1, 2)]
    options = {"item": "record_id", "annotator": "rater", "label": ["signs___1", "signs___2"]}
    return Given(path, right, options=options)


@given
def columns_of_three_underscores(folder: Path, rng: Rng) -> Given:
    """Scores of 1 to 5 are no boxes."""
    rows = [(k, who, int(rng.integers(1, 6)), int(rng.integers(1, 6))) for k in range(20) for who in PEOPLE]
    path = long(folder, ("record_id", "rater", "form___clarity", "form___tone"), rows)
    return Given(path, [(k, who, f"form___{name}", x) for k, who, *row in rows
                        for name, x in zip(("clarity", "tone"), row, strict=True)], asked=True)  # fmt: skip


def test_read_notes_rows_without_a_tick():
    pairs = [(f"i{k}", who) for k in range(20) for who in PEOPLE]
    boxes = ticks(np.random.default_rng(1), len(pairs), 2)
    rows = [(*pair, *row) for pair, row in zip(pairs, boxes, strict=True)]
    frame = pl.DataFrame(rows, schema=["item", "rater", "q___1", "q___2"], orient="row")
    none = sum(not (one or other) for *_, one, other in rows)
    assert f"rows without a tick are 'no box' ({none})" in assay.read(frame).reading.notes[0]
    assert len(assay.read(frame, missing=["no box"])) == len(rows) - none


@pytest.mark.parametrize("name", INPUTS)
def test_read_inputs_of_evaluations(name: str, tmp_path: Path) -> None:
    check_reading(INPUTS[name], tmp_path)
