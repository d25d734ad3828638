"""Inputs as evaluations of systems, clinical forms and repeated runs write them, with the correct readings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from inputs import PEOPLE, Case, Given, Rng, Row, cells_of, check_reading, long, numbers, scores, wide, written

import assay

INPUTS: dict[str, Case] = {}
Rows = list[tuple[str, str, Any, int]]


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
    """As REDCap exports one question: a column for each code; one code is negative."""
    pairs = [(k, who) for k in range(20) for who in PEOPLE]
    rows = [(k, who, *row) for (k, who), row in zip(pairs, ticks(rng, 60, 3), strict=True)]
    path = long(folder, ("record_id", "rater", "signs___1", "signs___2", "signs____9"), rows)
    return Given(path, [(k, who, "", joined(["box 1", "box 2", "box -9"], row)) for k, who, *row in rows],
                 asked=True)  # fmt: skip


@given
def checkboxes_by_choice(folder: Path, rng: Rng) -> Given:
    """As REDCap exports the same with labels."""
    choices = ["Joy", "Fear", "None of these"]
    pairs = [(k, who) for k in range(20) for who in PEOPLE]
    rows = [(k, who, *row) for (k, who), row in zip(pairs, ticks(rng, 60, 3), strict=True)]
    named = [(k, who, *(("Unchecked", "Checked")[one] for one in row)) for k, who, *row in rows]
    path = long(folder, ("Record ID", "Rater name", *(f"Which apply? (choice={one})" for one in choices)), named)
    return Given(path, [(k, who, "", joined(choices, row)) for k, who, *row in rows], asked=True)


@given
def checkboxes_of_a_form_that_is_not_filled_in(folder: Path, rng: Rng) -> Given:
    pairs = [(k, who) for k in range(20) for who in PEOPLE]
    rows = [(k, who, *row) for (k, who), row in zip(pairs, ticks(rng, 60, 2), strict=True)]
    empty = [(k, who, *((None, None) if k % 5 == 0 else row)) for k, who, *row in rows]
    path = long(folder, ("record_id", "rater", "signs___1", "signs___2"), empty)
    return Given(path, [(k, who, "", joined(["box 1", "box 2"], row)) for k, who, *row in rows if k % 5],
                 asked=True)  # fmt: skip


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
    assert f"rows without a tick are 'no box' ({none})" in assay.read(frame, scale="nominal").reading.notes[0]
    assert len(assay.read(frame, missing=["no box"], scale="nominal")) == len(rows) - none
    each = assay.read(frame, scale="several")
    assert each.criteria == ("box 1", "box 2")
    given = each.where(criterion="box 2").labels
    assert int((given["label"] == "yes").sum()) == sum(row[3] for row in rows)


# -- repeated runs -----------------------------------------------------------------------------------------------


def runs(folder: Path, rng: Rng, name: str, numbers: Sequence[Any], who: Sequence[str] = PEOPLE) -> tuple[Path, Rows]:
    """A table with several labels of each annotator on each item."""
    base = scores(rng, 20, 1)[:, 0]
    found = [(f"d{k:02}", one, run, int(np.clip(base[k] + rng.integers(-1, 2), 1, 5)))
             for k in range(20) for one in who for run in numbers]  # fmt: skip
    return long(folder, ("doc", "annotator", name, "score"), found), found


def repeated(found: Rows) -> list[Row]:
    return [(item, who, "", label) for item, who, _, label in found]


@given
def runs_by_number(folder: Path, rng: Rng) -> Given:
    path, found = runs(folder, rng, "run_no", (1, 2, 3))
    return Given(path, repeated(found))


@given
def runs_by_name(folder: Path, rng: Rng) -> Given:
    path, found = runs(folder, rng, "run_id", ("run-1", "run-2", "run-3"))
    return Given(path, repeated(found))


@given
def attempts_of_models(folder: Path, rng: Rng) -> Given:
    path, found = runs(folder, rng, "attempt_index", (0, 1), ("gpt-4o", "claude-3"))
    return Given(path, repeated(found), asked=True)


@given
def iterations(folder: Path, rng: Rng) -> Given:
    """Repeated answers, or versions of the item."""
    path, found = runs(folder, rng, "iteration", (1, 2, 3))
    return Given(path, repeated(found), "'iteration' can number repeated answers, or versions", asked=True)


@given
def runs_of_one_judge(folder: Path, rng: Rng) -> Given:
    path, found = runs(folder, rng, "run_no", (1, 2, 3), ["gpt-4o"])
    return Given(path, repeated(found), asked=True)


def without_names(folder: Path, rng: Rng, name: str, numbers: Sequence[Any]) -> tuple[Path, Rows]:
    path, found = runs(folder, rng, name, numbers, ["gpt-4o"])
    return written(folder, pl.read_csv(path).drop("annotator")), found


@given
def runs_without_a_name(folder: Path, rng: Rng) -> Given:
    """The runs are annotators, or repeated labels of one who is not named; the documents are neither."""
    path, found = without_names(folder, rng, "run", (1, 2, 3))
    return Given(path, [(item, run, "", label) for item, _, run, label in found], "is it 'run'?", asked=True)


@given
def seeds_without_a_name(folder: Path, rng: Rng) -> Given:
    path, found = without_names(folder, rng, "seed", (13, 42, 99))
    return Given(path, [(item, run, "", label) for item, _, run, label in found], "is it 'seed'?", asked=True)


@given
def criteria_without_a_name(folder: Path, rng: Rng) -> Given:
    path, _ = without_names(folder, rng, "criterion", ("clarity", "tone", "depth"))
    return Given(path, refused="no other column names who answered; add a column")


@given
def runs_in_columns(folder: Path, rng: Rng) -> Given:
    columns = {f"run_{k + 1}": one for k, one in enumerate(numbers(rng).values())}
    right = [(f"i{k:02}", "run", "", label) for one in columns.values() for k, label in enumerate(one)]
    return Given(wide(folder, columns), right, asked=True)


def test_read_names_the_repeat(tmp_path):
    path, _ = runs(tmp_path, np.random.default_rng(0), "run_id", ("run-10", "run-2", "run-1"))
    labels = assay.read(path)
    assert "'run_id' parsed as repeat" in labels.reading.notes
    assert set(labels.labels["repeat"]) == {1, 2, 10}


# -- votes that name a system ------------------------------------------------------------------------------------


def votes_by_name(
    folder: Path, rng: Rng, systems: Sequence[str], n: int, voters: Sequence[str], first: str | None = None
) -> Given:
    """Two columns of systems and one column of votes for each annotator, who prefers the first name."""
    rows, right = [], []
    for k in range(n):
        pair = rng.choice(systems, 2, replace=False).tolist() if first is None else [first, str(rng.choice(systems))]
        votes = [str(rng.choice([min(pair)] * 6 + [*pair, "tie"])) for _ in voters]
        rows.append((f"q{k:02}", *pair, *votes))
        right += [(f"q{k:02}", who, vote) for who, vote in zip(voters, votes, strict=True)]
    path = long(folder, ("question", "x1", "x2", *voters), rows)
    sides = {row[0]: {row[1]: -1, row[2]: 1, "tie": 0} for row in rows}
    return Given(path, [(item, who, "", sides[item][vote]) for item, who, vote in right], "'x1', 'x2'", asked=True)


FEW = ("alpaca", "dolly", "koala", "vicuna")
MANY = tuple(f"sys{k:02}" for k in range(25))


@given
def votes_on_few_items(folder: Path, rng: Rng) -> Given:
    return votes_by_name(folder, rng, FEW, 14, ("x3", "x4", "x5"))


@given
def votes_on_many_systems(folder: Path, rng: Rng) -> Given:
    """Two of many systems are never equal in a row by chance, either."""
    return votes_by_name(folder, rng, MANY, 30, ("ann", "bob", "cho"))


@given
def votes_against_one_baseline(folder: Path, rng: Rng) -> Given:
    return votes_by_name(folder, rng, FEW, 40, ("x3", "x4", "x5"), "zephyr")


@given
def votes_in_rows(folder: Path, rng: Rng) -> Given:
    """One row per vote: labels were names of systems, without a question."""
    made = votes_by_name(folder, rng, MANY, 30, PEOPLE)
    table = pl.read_csv(made.source).unpivot(PEOPLE, index=["question", "x1", "x2"], variable_name="who")
    return Given(written(folder, table), made.rows)


@given
def third_label_where_two_differ(folder: Path, rng: Rng) -> Given:
    """Two annotators who are never equal are no systems, although a third column has one of their labels."""
    pairs = [rng.choice(["PER", "ORG", "LOC", "MISC"], 2, replace=False).tolist() for _ in range(60)]
    columns = {"ann1": [a for a, _ in pairs], "ann2": [b for _, b in pairs],
               "adjudicator": [str(rng.choice(pair)) for pair in pairs]}  # fmt: skip
    return Given(wide(folder, columns), cells_of(columns), asked=True)


@given
def third_rater_where_two_differ(folder: Path, rng: Rng) -> Given:
    pairs = [rng.choice(["PER", "ORG", "LOC", "MISC"], 2, replace=False).tolist() for _ in range(60)]
    columns = {"rater_1": [a for a, _ in pairs], "rater_2": [b for _, b in pairs],
               "rater_3": [str(rng.choice(pair)) for pair in pairs]}  # fmt: skip
    return Given(wide(folder, columns), cells_of(columns))


# -- errors in texts ---------------------------------------------------------------------------------------------


def errors_in_texts(rng: Rng, names: Sequence[str], *, numbered_in_documents: bool) -> pl.DataFrame:
    """One row per error, as raters of translations mark them; a text without errors has one row, too."""
    rows = []
    for k in range(20):
        segment = k % 5 if numbered_in_documents else k
        for system in ("sysA", "sysB"):
            for who in PEOPLE:
                target = f"the {system} <v>target</v> of segment {k}"
                kinds = rng.choice(["Major", "minor", "Minor"], int(rng.integers(0, 4))).tolist() or ["No-error"]
                rows += [(system, f"doc{k // 5}", segment, who, target, f"Style/{one}", one) for one in kinds]
    return pl.DataFrame(rows, schema=list(names), orient="row")


@pytest.mark.parametrize("numbered_in_documents", [False, True])
@pytest.mark.parametrize(
    "names",
    [
        ("system", "doc", "seg_id", "rater", "target", "category", "severity"),
        ("model", "document", "segment", "annotator", "mt", "error_type", "error severity"),
    ],
)
def test_errors_in_texts_are_refused_with_a_line_of_pandas_that_runs(tmp_path, names, numbered_in_documents):
    table = errors_in_texts(np.random.default_rng(3), names, numbered_in_documents=numbered_in_documents)
    path = written(tmp_path, table)
    with pytest.raises(assay.errors.DataError, match="rows are single errors") as error:
        assay.read(path)
    pasted = re.search(r"with pandas: table = (.*); then (assay.read.*)[.] A text", str(error.value))
    assert pasted is not None
    summed = eval(pasted[1], {"frame": pd.read_csv(path)})
    labels = eval(pasted[2], {"assay": assay, "table": summed})
    assert (len(labels), len(labels.items), tuple(labels.humans)) == (120, 40, PEOPLE)
    severity = table[names[-1]].str.to_lowercase()
    total = 5 * (severity == "major").sum() + (severity == "minor").sum()
    assert labels.labels["label"].sum() == total


@pytest.mark.parametrize("name", INPUTS)
def test_read_inputs_of_evaluations(name: str, tmp_path: Path) -> None:
    check_reading(INPUTS[name], tmp_path)
