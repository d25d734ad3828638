"""One bad cell in an annotator's column: a date, a number without its %, a word. It is refused, in every layout."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from corpus import xlsx

import assay
from assay.errors import DataError

PEOPLE = ("ann", "bob", "cho", "gpt-4o")
N = 60


def cells(values: list[str], bad: dict[int, str], who: tuple[str, ...] = ("bob",)) -> dict[str, list[str]]:
    """Labels of four annotators, with cells that some of them have written otherwise."""
    rng = np.random.default_rng(7)
    first = rng.integers(0, len(values), N)
    found = {}
    for name in PEOPLE:
        own = np.where(rng.random(N) < 0.7, first, rng.integers(0, len(values), N))
        found[name] = [values[k] for k in own]
    for name in who:
        for k, cell in bad.items():
            found[name][k] = cell
    return found


def written(folder: Path, columns: dict[str, list[str]]) -> Path:
    path = folder / "t.csv"
    pd.DataFrame({"id": [f"x{k:02}" for k in range(N)], **columns}).to_csv(path, index=False)
    return path


STEPS = ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    ("values", "bad", "who", "said"),
    [
        (STEPS, {4: "4-May"}, ("bob",), r"'4-May' look like dates \(row 6: '4-May'\)"),
        (STEPS, {4: "4-May", 5: "2026-05-03"}, ("bob",), r"\(row 6: '4-May', row 7: '2026-05-03'\)"),
        (STEPS, {4: "4-May"}, ("gpt-4o",), r"'4-May' look like dates \(row 6: '4-May'\)"),
        (STEPS, {4: "4-May"}, ("ann", "bob", "cho"), "'4-May' look like dates"),
        (STEPS, {4: "1,234"}, ("bob",), "'1,234' are ambiguous"),
        (["20%", "40%", "60%", "80%"], {3: "60", 9: "80"}, ("ann",), r"'60' is not \(row 5: '60', row 11: '80'\)"),
        (["0", "1"], {4: "n.a.?", 5: "see note", 9: "unsure"}, ("bob",), r"row 6: 'n\.a\.\?', row 7: 'see note'"),
        ([str(k) for k in range(101)], {4: "4-May"}, ("bob",), r"row 6: '4-May'"),
        (["4,5", "3,5", "2", "1"], {4: "4-May"}, ("bob",), r"row 6: '4-May'"),
    ],
)
def test_bad_cells_do_not_make_an_annotator_item_metadata(tmp_path, values, bad, who, said):
    with pytest.raises(DataError, match=said):
        assay.read(written(tmp_path, cells(values, bad, who)), judges=["gpt-4o"])


def test_bad_cells_are_off_a_stated_scale(tmp_path):
    path = written(tmp_path, cells(STEPS, {4: "4-May"}))
    with pytest.raises(DataError, match=r"1 label off the scale \(row 6: '4-May'\)"):
        assay.read(path, judges=["gpt-4o"], scale="1-5")
    assert "! labels such as '4-May' look like dates" in assay.look(path, judges=["gpt-4o"]).summary()


def test_date_of_a_spreadsheet_among_numbers_is_refused(tmp_path):
    columns = {name: [int(cell) for cell in own] for name, own in cells(STEPS, {4: "2605"}).items()}
    rows = [["id", *PEOPLE], *([f"x{k:02}", *one] for k, one in enumerate(zip(*columns.values(), strict=True)))]
    path, dated = xlsx(tmp_path / "numbers.xlsx", {"Sheet1": rows}), tmp_path / "t.xlsx"
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(dated, "w") as after:
        for name in before.namelist():
            cell = '<c r="C6"><v>2605</v></c>', '<c r="C6" t="d"><v>2026-05-03T00:00:00</v></c>'
            after.writestr(name, before.read(name).decode().replace(*cell))
    with pytest.raises(DataError, match=r"look like dates \(row 6: '2026-05-03"):
        assay.read(dated, judges=["gpt-4o"])


def test_bad_cell_of_a_frame_is_named():
    columns = {name: [int(cell) for cell in own] for name, own in cells(STEPS, {}).items()}
    frame = pd.DataFrame({"id": [f"x{k:02}" for k in range(N)], **columns}).astype({"bob": object})
    frame.loc[4, "bob"] = "4-May"
    with pytest.raises(DataError, match=r"column 'bob' mixes numbers and text \(row 5: '4-May'\)"):
        assay.read(frame, judges=["gpt-4o"])


@pytest.mark.parametrize(
    ("name", "own", "bad"),
    [("year", [2019, 2020, 2021], "2020?"), ("topic", [1, 2, 3], "4-May"), ("score of page", [11, 40, 97], "n.a.?")],
)
def test_item_columns_with_a_bad_cell_describe_the_items(tmp_path, name, own, bad):
    columns = cells(STEPS, {})
    columns[name] = [str(own[k % 3]) for k in range(N)]
    columns[name][5] = bad
    read = assay.read(written(tmp_path, columns), judges=["gpt-4o"])
    assert [read.humans, read.judges] == [("ann", "bob", "cho"), ("gpt-4o",)]


def test_columns_of_two_sorts_of_cells_describe_the_items(tmp_path):
    columns = cells(STEPS, {})
    columns["origin"] = [STEPS[k % 5] if k % 5 else "web" for k in range(N)]
    assert assay.read(written(tmp_path, columns), judges=["gpt-4o"]).humans == ("ann", "bob", "cho")
