"""The structure of a table by rows, names and arithmetic; and its questions."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import polars as pl
import pytest

from assay.data.structure.cells import ROWS_INSPECTED, ColumnView, computed_columns, views_of
from assay.data.structure.dependence import dependence, repetition, sameness
from assay.data.structure.finder import StructureSearch, find_structure
from assay.data.structure.readings import read_call, unclear
from assay.data.structure.role_names import crossed_names, plain_name, same_except_spelling
from assay.data.structure.roles import ROWS, Role, Stated, Structure
from assay.data.values import MOST_CATEGORIES


def found_in(table: dict[str, list[Any]] | pl.DataFrame, /, **stated: Any) -> Structure:
    frame = pl.DataFrame(table, strict=False)
    return find_structure(frame, views_of(frame), Stated(**stated))


def rows_of(keys: dict[str, Any], n: int = 30) -> dict[str, list[Any]]:
    """Three rows for each of ``n`` things, with a score and the values of functions of thing and row."""
    places = [(i, k) for i in range(n) for k in range(3)]
    return {name: [value(i, k) for i, k in places] for name, value in keys.items()} | {
        "score": [(3 * i + 2 * k) % 5 + 1 for i, k in places]
    }


def texts(found: Structure) -> tuple[str, ...]:
    return tuple(one.text for one in found.questions)


def roles(found: Structure) -> dict[str, str]:
    return {one.name: one.kind for one in found.columns}


def why(found: Structure, name: str) -> str:
    return next(one.why for one in found.columns if one.name == name)


def view(*cells: Any) -> ColumnView:
    return ColumnView(pl.Series("x", cells, strict=False))


# -- contents of a column -----------------------------------------------------------------------------------


def test_column_view_classifies_cells():
    one = view("1", "2", "", "2", "n/a", None)
    assert (one.rows, one.filled) == (6, 3)
    assert one.distinct.to_list() == ["1", "2"]
    assert one.numbers.to_list() == [1, 2, None, 2, None, None]
    assert (one.ends, one.whole, one.is_text, one.unique) == ((1, 2), True, False, False)
    assert not view("1", "2.5").whole
    # Up to half of the distinct cells can be slips among numbers.
    assert view("1", "2", "x", "y").numbers.to_list() == [1, 2, None, None]
    assert view("1", "x", "y").numbers is None
    assert view("a", "b").unique
    assert not view("a", "b", None).unique
    assert not view().unique


def test_column_view_free_text_is_long_or_varied():
    assert view("a" * 41, "b" * 41).free
    assert not view("a" * 40, "b" * 40).free
    many = [f"words {i:07d}" for i in range(60)]  # 13 letters, all different
    assert view(*many).free
    assert not view(*(word[1:] for word in many)).free
    assert view("yes", "no").could_be_labels
    assert not view(*many).could_be_labels
    assert not view("2024-01-01", "2024-01-02", "2024-05-03").could_be_labels
    assert not view(None, None).could_be_labels
    # At most the number of words in a code book; any number of numbers.
    for n, could in ((MOST_CATEGORIES, True), (MOST_CATEGORIES + 1, False)):
        assert view(*(f"w{'x' * (i % 5)}{i}" for i in range(n)), *["w0"] * 900).could_be_labels is could
        assert view(*range(n)).could_be_labels


def test_column_view_recognises_row_numbers():
    assert view("0", "1", "2").counts_rows
    assert view("1", "2").counts_rows
    for cells in (("2", "3"), ("1", "3"), ("1",), ("1", "2", None), ("2", "1"), ("a", "b")):
        assert not view(*cells).counts_rows, cells


def test_column_view_examples_are_two_short_cells():
    assert view("a" * 24, "b" * 25, "c").examples() == "a" * 24 + ", " + "b" * 21 + "..."
    assert view("a", "b", "c").examples(3) == "a, b, c"


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("itemId", "item id"),
        ("Item_ID ", "item id"),
        ("n.ratings", "n ratings"),
        ("Größe", "größe"),
        ("Q1Score", "q1 score"),
    ],
)
def test_plain_name_separates_words(name, plain):
    assert plain_name(name) == plain


# -- one row per label -------------------------------------------------------------------------------------

LONG = {"text_id": ["a", "a", "b", "b"], "rater": ["r1", "r2", "r1", "r2"], "score": [1, 2, 3, 3]}


def test_find_structure_of_long_table():
    found = found_in(LONG | {
        "aspect": ["tone"] * 4, "run": [1, 1, 1, 2], "kind": ["human", "judge"] * 2,
        "submitted": [f"2024-01-0{i}" for i in range(1, 5)],
        "comment": ["x", None, "y", "z"], "gold": [1, 1, 3, 3], "empty": [None] * 4,
    })  # fmt: skip
    assert found.shape == "long"
    assert roles(found) == {
        "text_id": "item", "rater": "annotator", "score": "label", "aspect": "criterion", "run": "repeat",
        "kind": "kind", "submitted": "time stamp", "comment": "comment", "gold": "gold", "empty": "empty",
    }  # fmt: skip
    assert found.options == {
        "item": "text_id",
        "annotator": "rater",
        "label": "score",
        "criterion": "aspect",
        "repeat": "run",
    }
    assert (texts(found), found.errors) == ((), ())
    assert why(found, "empty") == "no values"
    assert why(found, "score") == "by name"
    said = found_in(LONG, label="score")
    assert why(said, "score") == "as specified"
    assert "'text_id' parsed as item id" in found.notes()
    assert "'comment' ignored (comment)" in found.notes()


def test_find_structure_prefers_id_columns():
    found = found_in({"text": list("wxyz"), **LONG})
    assert roles(found)["text_id"] == "item"
    assert not texts(found)
    both = {"item_a": LONG["text_id"], "score": LONG["score"], "rating": LONG["score"], "rater": LONG["rater"]}
    two = found_in(both, item="item_a")
    assert texts(two) == ("'score', 'rating' could each hold labels (set label=...)",)
    # A column in which no annotator repeats does not name the annotators.
    once = found_in(LONG | {"worker": list("wxyz")})
    assert roles(once)["rater"] == "annotator"
    # A repeat is a whole number, and a kind is human or judge.
    found = found_in(LONG | {"run": [0.5, 1, 1, 2], "kind": ["a", "b"] * 2})
    assert {"run", "kind"}.isdisjoint(name for name, role in roles(found).items() if role in ("repeat", "kind"))
    lacking = found_in({"rater": LONG["rater"], "item": LONG["text_id"], "note": list("abcd")}, shape="long")
    assert lacking.errors == ("no column with the labels was found (set label=...)",)


# -- one row per item --------------------------------------------------------------------------------------


def wide(**more: list[Any]) -> dict[str, list[Any]]:
    return {"item": [f"i{k}" for k in range(6)], "ann": [1, 2, 3, 4, 5, 1], "bob": [1, 3, 3, 5, 5, 2], **more}


def test_find_structure_of_wide_table():
    found = found_in(wide(words=[120, 90, 44, 81, 200, 31], cho=[2, 2, 3, 4, 4, 1], long=["a" * 50] * 6))
    assert found.shape == "wide"
    assert roles(found) == {
        "item": "item",
        "ann": "person",
        "bob": "person",
        "words": "item column",
        "cho": "person",
        "long": "item column",
    }
    assert found.options == {"layout": "wide", "columns": ["ann", "bob", "cho"]}
    assert why(found, "ann") == "1 to 5"
    assert why(found, "item") == "6 different values"
    few = found_in({"item": ["a", "b"], "ann": [1, 2]})
    assert texts(few) == (
        "only 'ann' could hold labels, and no column names who answered: is it one human or one judge?",
    )
    assert found_in({"item": ["a", "b"], "ann": [1, 2]}, judges=("ann",)).errors == ()
    assert found_in({"item": ["a", "b"]}).errors == ("no column could hold an annotator's labels: set columns=[...]",)
    assert found_in({"item": ["a", "b"], "ann": [1, 2]}, alone=False).errors == ()
    twice = found_in({"item": ["a", "a"], "ann": [1, 2], "bob": [1, 2]}, columns=("ann", "bob"))
    assert twice.errors[0].startswith("item 'a' has more than one row, and no column names who answered")
    numbered = found_in({"ann": [1, 2, 2], "bob": [2, 2, 1]})
    assert numbered.options["item"] == ROWS
    assert numbered.notes()[-1] == "no item id found; rows are numbered"


def test_find_structure_wide_range_is_metadata():
    """Nine in ten numbers of one column lie within the range of the other."""
    assert roles(found_in(wide(x=[0, 50, 1, 2, 3, 4])))["x"] == "person"  # 50 could be a slip
    found = found_in(wide(x=[0, 51, 12, 40, 3, 44]))
    assert roles(found)["x"] == "item column"
    assert why(found, "x") == "0 to 51, while other columns end at 5"
    assert roles(found_in(wide(x=[0, -51, -12, 2, -3, -4])))["x"] == "item column"
    # Few numbers from −3 to 10 are not compared; two columns on different scales are a question.
    small = {"item": list("abc"), "p": [0.1, 0.2, 0.3], "q": [0.1, 0.1, 0.2], "r": [1, 9, 10]}
    assert roles(found_in(small))["r"] == "person"
    two = found_in({name: small[name] for name in ("item", "p")} | {"r": [1, 99, 100]})
    assert texts(two)[0] == "'p' or 'r' could hold the annotators' labels (set columns=[...])"


def test_find_structure_words_of_one_column_are_metadata():
    people = {"item": list("abcd"), "p": ["yes", "no", "no", "no"], "q": ["no", "yes", "yes", "no"]}
    found = found_in(people | {"colour": ["red", "blue", "red", "red"]})
    assert roles(found)["colour"] == "item column"
    assert why(found, "colour") == "words that no annotator's column contains"
    assert why(found, "p") == "2 categories"
    mixed = found_in(people | {"m": [3, 1, 1, 2]})
    assert (roles(mixed)["m"], why(mixed, "m")) == ("item column", "numbers, while other columns hold words")
    assert texts(mixed)[0].startswith("'p', 'q' share a scale (2 categories)")
    even = found_in({"item": list("abcd"), "p": people["p"], "m": [3, 1, 1, 2]})
    assert texts(even) == (
        "column 'p' holds text and column 'm' holds numbers; name the annotators' columns with columns=['m']",
    )


def test_find_structure_reports_judge_without_labels():
    people = {"item": list("abcd"), "p": ["yes", "no", "no", "no"], "q": ["no", "yes", "yes", "no"]}
    short = people | {"o3-mini": ["Y", "N", "N", "N"]}
    looks = "'o3-mini' has the name of a model, but its column holds words that no annotator's column contains"
    assert texts(found_in(short))[0] == f"{looks}: write its labels as the annotators do, or it is not a judge here"
    named = found_in(short, judges=("o3-mini",))
    assert named.errors == (looks.replace("has the name of a model", "is listed in judges")
                             + ": write its labels as the annotators do",)  # fmt: skip
    (probable,) = found_in(people | {"m": [0.9, 0.2, 0.55, 0.1]}, judges=("m",)).errors
    assert probable.endswith(
        "write its labels as the annotators do. If it is the probability of one label, write the annotators' labels "
        "as 1 (this label) and 0 instead"
    )
    numbers, far = found_in(people | {"gpt-4": [3, 1, 1, 2]}), found_in(wide(m=[30, 51, 40, 35, 33, 44]), judges=("m",))
    assert (
        "'gpt-4' has the name of a model, but its column holds numbers, while other columns hold words: "
        in texts(numbers)[0]
    )
    assert "'m' is listed in judges, but its column holds 30 to 51, while other columns end at 5: " in far.errors[0]


def test_find_structure_judge_in_crossed_names():
    found = found_in({"item": list("abc"), **{f"{who}_{what}": [1, 2, 3 + (who == "ann")]
                   for what in ("clear", "true") for who in ("ann", "bob", "gpt")}})  # fmt: skip
    assert roles(found)["gpt_true"] == "judge"
    assert why(found, "gpt_true") == "name of a model, its name combines annotator and criterion"
    assert roles(found)["ann_true"] == "person"


def test_find_structure_recognises_computed_columns():
    people = {"item": [f"i{k}" for k in range(18)], "p": [1, 2, 3] * 6, "q": [1, 3, 5] * 6, "s": [1, 2, 2] * 6}
    found = found_in(people | {"x": [1.0, 2.33, 3.33] * 6})
    assert roles(found)["x"] == "computed"
    assert why(found, "x") == "equals the mean of p, q, s"
    assert len(texts(found)) == 1  # annotators or questions
    middle = found_in(
        people | {"x": [1, 2, 3] * 6}
    )  # 12 rows in which they differ; an annotator can agree with the others
    assert roles(middle)["x"] == "computed"
    assert "'x' equals the median of 'p', 'q', 's' and could be computed from them" in texts(middle)
    named = found_in(people | {"total": [3, 7, 10] * 6})
    assert why(named, "total") == "equals the total of p, q, s"
    rows = found_in({"item": ["a", "b", "c", "Mean"], "p": [1, 2, 3, 2], "q": [1, 2, 4, 2]})
    assert rows.rows == {"computed from the rows above it": ("Mean",)}
    assert not found_in({"item": ["a", "Mean", "c"], "p": [1, 2, 3], "q": [1, 2, 4]}).rows


OTHERS = np.array(
    [[1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1], [2, 4, 3, 4, 1, 1, 3, 5, 4, 2, 3], [5, 2, 4, 4, 1, 2, 2, 5, 3, 5, 5]], float
)


def computed(column: Any, others: Any) -> str | None:
    """How a column ``x`` is computed from others."""
    rows = {f"p{k}": [None if np.isnan(v) else v for v in row] for k, row in enumerate([*others, column])}
    frame = pl.DataFrame(rows, schema=dict.fromkeys(rows, pl.Float64))
    found = [one for one in computed_columns(views_of(frame), frame.columns, set()) if one.name == frame.columns[-1]]
    assert all(one.of == tuple(frame.columns[:-1]) for one in found)
    return found[0].how if found else None


@pytest.mark.parametrize("how", ["mean", "median", "total"])
def test_find_structure_computed_requires_three_differing_rows(how):
    each = {"mean": np.mean, "median": np.median, "total": np.sum}[how](OTHERS, axis=0)
    assert computed(each, OTHERS) == how
    assert computed(each + np.eye(11)[3], OTHERS) is None
    if how != "median":  # in fewer than ten rows an annotator can give the median by chance
        assert computed(each[:3], OTHERS[:, :3]) == how
    assert computed(each[:2], OTHERS[:, :2]) is None
    gaps = each.copy()
    gaps[4:8] = np.nan
    assert computed(gaps, OTHERS) == (how if how != "median" else None)


def test_find_structure_mean_matches_printed_digits():
    mean = OTHERS.mean(axis=0)
    for digits in (1, 2):
        assert computed(mean.round(digits), OTHERS) == "mean"
        off = mean.round(digits)
        off[0] += 0.6 * 10.0**-digits + (mean[0] - off[0])
        assert computed(off.round(digits + 2), OTHERS) is None
    assert computed(np.array([]), OTHERS[:, :0]) is None


def test_find_structure_majority_requires_ten_differing_rows():
    votes = np.array([[1, 1, 2], [2, 1, 2], [3, 3, 1], [1, 2, 1], [4, 4, 2]] * 2, dtype=float).T
    most = np.array([1, 2, 3, 1, 4] * 2, dtype=float)
    # The majority of three is also their median, which is found first.
    assert computed(most, votes) == "median"
    five = np.vstack([votes, votes[:1] * 0 + 9, votes[:1] * 0 + 8])
    assert computed(most, five) == "majority"
    assert computed(most[1:], five[:, 1:]) is None
    assert computed(np.where(np.arange(10) == 2, 1.0, most), five) is None
    assert computed(most, five[[0, 3]]) is None
    tie = np.array([[1], [2], [3], [9], [8]], dtype=float)  # in a row without a majority any number can be given
    assert computed(np.append(most, 7), np.hstack([five, tie])) == "majority"
    assert computed(np.append(most, 7), np.hstack([votes, tie[:3]])) == "majority"


# -- who is a judge ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "judges", "words"),
    [
        (["ann", "bob", "gpt-4o"], ["gpt-4o"], "'gpt-4o' could be a judge (name of a model)"),
        (["ann", "bob", "AI"], ["AI"], "'AI' could be a judge (by name)"),
        (["A1", "A2", "M1"], ["M1"], "'M1' could be a judge (the name differs from 'A1', 'A2')"),
        (
            ["rater 1", "rater 2", "zed", "ox"],
            ["zed", "ox"],
            "'zed', 'ox' could be judges (names differ from 'rater 1', 'rater 2')",
        ),
        (["A1", "zed", "M1"], None, None),
        (["A1", "A2", "A3"], None, None),
    ],
)
def test_find_structure_suggests_judges(names, judges, words):
    labels = {name: [1, 2, 2, (k + 3) % 4] for k, name in enumerate(names)}
    found = found_in({"item": list("abcd")} | labels)
    assert found.options.get("judges") == judges
    doubts = [one for one in texts(found) if "share a scale" not in one]
    assert (doubts == []) if words is None else any(one.startswith(words) for one in doubts)
    if judges:
        assert roles(found)[judges[0]] == "judge"
    stated = found_in({"item": list("abcd")} | labels, judges=(names[0],))
    assert roles(stated)[names[0]] == "judge"
    assert not texts(stated)


def test_find_structure_other_columns_are_metadata():
    n = MOST_CATEGORIES + 1
    sheet = {"item": [f"i{k}" for k in range(n)], "ann": [1, 2] * (n // 2) + [1] * (n % 2), "bob": [2] * n,
             "word": [f"w{k}" for k in range(n)]}  # fmt: skip
    assert roles(found_in(sheet)) == {"item": "item", "ann": "person", "bob": "person", "word": "item column"}


@pytest.mark.parametrize(
    ("name", "cells", "named"),
    [
        ("RATERID", [1, 1, 2, 2], True),
        ("rater", ["k", "k", "l", "l"], True),
        ("rater", [1, 2, 8, 9], False),  # no name occurs twice
        ("ann", [8, 8, 9, 9], False),
    ],
)
def test_find_structure_confirms_one_annotator_of_each_item(name, cells, named):
    sheet = pl.DataFrame({"segment": ["a", "b", "c", "d"], name: cells, "warm": [1, 2, 3, 2], "clear": [3, 2, 1, 1]})
    found = found_in(sheet)
    assert (f"each 'segment' has one row; by its name, '{name}' is the annotator" in texts(found)) is named
    assert (found.shape == "long") is named
    assert not texts(found_in(sheet, shape="wide"))


def test_find_structure_splits_annotator_and_criterion():
    found = crossed_names(["ann_tone", "ann_fact", "bob_tone", "bob_fact"])
    assert (found.template, found.annotators) == ("annotator_criterion", ["ann", "bob"])
    assert not found.ambiguity  # a tone is a criterion by its name
    unsure = crossed_names(["u/x", "u/y", "v/x", "v/y"])
    assert unsure.ambiguity == "as in 'u/x', but the order of the two is uncertain"
    turned = crossed_names(["clarity: p", "clarity: q", "depth: p", "depth: q"])
    assert (turned.template, turned.annotators) == ("criterion: annotator", ["p", "q"])
    assert crossed_names(["u/x", "u/y", "v/x"]) is None
    assert crossed_names(["u_1", "u_2", "v_1", "v_2"]) is None  # a number is not a name
    # Three of four combinations are enough; fewer are not.
    grid = [f"{a}/{b}" for a in "uvwz" for b in ("x", "y")]
    assert crossed_names(grid[:6] + grid[6:7]) is not None
    assert crossed_names([grid[0], grid[3], grid[4], grid[7], grid[1]]) is None


# -- one row per annotator ---------------------------------------------------------------------------------


def test_find_structure_of_transposed_table():
    form = {"Timestamp": [f"2024-05-0{k} 10:00" for k in range(1, 4)], "Name": ["ann", "bob", "gpt-4o"]}
    asked = {f"Question {k}": [1 + k % 2, 2, 2] for k in range(4)}
    found = found_in(form | asked)
    assert found.shape == "transposed"
    assert found.options["annotator"] == "Name"
    assert found.options["columns"] == list(asked)
    assert found.options["judges"] == ["gpt-4o"]
    assert texts(found)[0] == "rows look like annotators (named by 'Name') and columns like items"
    assert roles(found) == {"Timestamp": "time stamp", "Name": "annotator"} | dict.fromkeys(asked, "item")
    stated = found_in(form | asked, shape="transposed", judges=())
    assert texts(stated) == ()
    nobody = found_in({"Timestamp": form["Timestamp"]} | asked)
    assert nobody.options["annotator"] == ROWS
    assert texts(nobody)[0] == "rows look like annotators and columns like items, but no column names the annotators"
    # Two questions are not enough for a form.
    assert found_in(form | dict(list(asked.items())[:2])).shape != "transposed"


# -- words -------------------------------------------------------------------------------------------------


def test_read_call_quotes_options():
    assert read_call("a table in memory", {"scale": "1-5"}) == "assay.read(frame, scale='1-5')"
    assert read_call("a.csv", {"judges": ("m",), "scale": "1-5"}) == "assay.read('a.csv', judges=['m'], scale='1-5')"
    assert same_except_spelling(["Ann", "ann ", "bob", "b.o", "b_o"]) == [("Ann", "ann "), ("b.o", "b_o")]


# -- function by function ------------------------------------------------------------------------------------


def finder(table: dict[str, list[Any]], /, **stated: Any) -> StructureSearch:
    frame = pl.DataFrame(table, strict=False)
    return StructureSearch(views_of(frame), Stated(**stated), frame)


def of_name(name: str, cells: list[Any], *beside: str) -> str | None:
    return finder({name: cells, **{one: [3, 1] for one in beside}})._by_name(name)


@pytest.mark.parametrize(
    ("name", "cells", "beside", "role"),
    [
        ("x", [None, ""], (), "empty"),
        ("submitted", ["2024-01-01", "2024-01-02"], (), "time stamp"),
        ("x", ["2024-01-01", "2024-01-02"], (), None),  # a few dates in a column of another name can be labels
        ("x", [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)], (), "time stamp"),
        ("row", [1, 2], (), "row number"),
        ("row", [1, 3], (), None),
        ("time", ["early", "late"], (), "time stamp"),
        ("time", [1, 100_000], (), None),  # seconds, not a date
        ("time", [1, 100_001], (), "time stamp"),
        ("status", [1, 2], (), "technical"), ("mean", [1, 2], (), "computed"), ("gold", [1, 2], (), "gold"),
        ("comment", ["a", "b"], (), "comment"), ("topic", ["a", "b"], (), "item column"),
        ("Ann_time", [5, 7], ("ann",), "technical"),
        ("Ann_time", [5, 7], ("bob",), None),
        ("sure", [0.5, 0.7], (), "confidence"), ("certainty", [1, 2], (), "confidence"),
        ("Ann confidence", [5, 7], ("ann",), "confidence"), ("gpt-4o_prob", [0.5, 0.7], ("gpt-4o",), "confidence"),
        ("certainty_gpt", [0.5, 0.7], ("gpt-4o",), "confidence"), ("certainty_gpt", [5, 7], ("certainty_ann",), None),
        ("confidence reason", [5, 7], ("confidence",), "technical"),
        ("bob", [5, 7], ("ann",), None),
    ],
)  # fmt: skip
def test_by_name_of_usual_names(name, cells, beside, role):
    assert of_name(name, cells, *beside) == role


def test_by_name_of_dates():
    for n, role in ((MOST_CATEGORIES, None), (MOST_CATEGORIES + 1, "time stamp")):
        days = [f"2024-{1 + k // 28:02d}-{1 + k % 28:02d}" for k in range(n)]
        assert of_name("x", days) == role
        assert finder({"x": days}).other_role("x") == ("time stamp", "dates" if role is None else "dates and times")


@pytest.mark.parametrize(
    ("name", "cells", "stated", "role"),
    [
        ("mean", [1, 2], {}, ("computed", "by name")),
        ("mean", [1, 2], {"exclude": ()}, ("unknown", "")),
        ("x", [1, 2], {"exclude": ("x",)}, ("computed", "listed in exclude")),
        ("x", [3, 1], {"exclude": ("y",)}, ("unknown", "")),
        ("gold", [1, 2], {"exclude": ()}, ("gold", "by name")),
        ("x", [None, None], {}, ("empty", "no values")),
        ("x", ["a" * 50, None], {}, ("comment", "free text in 1 row")),
    ],
)  # fmt: skip
def test_other_role_of_columns(name, cells, stated, role):
    assert finder({name: cells}, **stated).other_role(name) == role


THREE = {f"q{k}": [3, 1, 2] for k in range(1, 4)}


@pytest.mark.parametrize(
    ("table", "asked"),
    [
        ({"name": ["x", "y", "z"], **THREE}, 3),  # the same number of questions and annotators
        ({"name": ["x", "y", "z"], "q1": [3, 1, 2], "q2": [3, 1, 2]}, 0),
        ({"name": [*"wxyz"], **{f"q{k}": [3, 1, 2, 2] for k in range(3)}}, 3),  # names that differ only in a number
        ({"name": [*"wxyz"], "warm": [3, 1, 2, 2], "kind_of": [3, 1, 2, 2], "true": [3, 1, 2, 2]}, 0),
        ({"name": [*"vwxyz"], "p1": [3, 1, 2, 2, 2], "q1": [3, 1, 2, 2, 2], "q2": [3, 1, 2, 2, 1], "q3": [1] * 5}, 0),
        ({"name": [*"abcdefghi"], "p": [2] * 9, **{f"q{k}": [3] * 9 for k in range(7)}}, 8),  # two kinds of eight
        ({"name": [*"abcdefgh"], "p": [2] * 8, **{f"q{k}": [3] * 8 for k in range(6)}}, 0),  # two of seven
        ({"name": ["x", "x", "z"], **THREE}, 0),  # rows that do not name annotators
        ({"x": ["x", "y", "z"], **THREE}, 0),
        ({"submitted": ["2024-01-01", "2024-01-02", "2024-01-03"], **THREE}, 3),
        ({"response id": ["r1", "r2", "r3"], **THREE}, 3),
    ],
)  # fmt: skip
def test_questions_of_transposed_table(table, asked):
    assert len(finder(table)._form_questions()) == asked
    assert found_in(table).shape == ("transposed" if asked else "wide")


@pytest.mark.slow
def test_questions_more_than_annotators_make_a_form():
    for n, asked in ((60, 0), (61, 61)):
        people = [f"p{k}" for k in range(66)]
        words = {"".join("abcdefghij"[int(c)] for c in str(k)) + "!": [3, 1, 2] * 22 for k in range(n)}
        assert len(finder({"name": people, **words})._form_questions()) == asked


def test_rows_of_annotators_are_found_by_names():
    def who(**table):
        return finder(table)._people_column()

    days = ["2024-01-01", "2024-01-02"]
    assert who(x=[1, 2], worker=["a", "b"], name=["c", "d"]) == "worker"
    assert who(worker=["a", "a"], name=["c", "d"]) == "name"
    assert who(worker=["a", "a"]) is None
    assert who(**{"x": [1, 2], "Response ID": ["a", "b"]}) == "Response ID"
    assert who(**{"x": [1, 2], "Response ID": ["a", "a"]}) is None
    assert who(x=[1, 2], submitted=days) == "x"
    assert who(x=[1, 2]) is None


@pytest.mark.parametrize(
    ("table", "stated", "shape"),
    [
        ({"item": [1, 1], "annotator": ["a", "b"], "label": [1, 2]}, {}, "long"),
        ({"item": [1, 1], "annotator": ["a", "a"], "thing": [1, 2]}, {}, "long"),
        ({"item": [1, 2], "annotator": ["a", "a"], "thing": [1, 2]}, {}, "wide"),
        ({"item": [1, 2], "x": [1, 2]}, {"annotator": "x"}, "long"),
        ({"item": [1, 2], "x": [1, 2]}, {"label": "x"}, "long"),
        ({"item": [1, 2], "x": [1, 2]}, {}, "wide"),
        ({"item": [1, 1], "annotator": ["a", "b"], "label": [1, 2]}, {"columns": ("label",)}, "wide"),
    ],
)  # fmt: skip
def test_shape_is_found_by_names_and_contents(table, stated, shape):
    assert found_in(table, **stated).shape == shape


def test_long_roles_several_label_columns_are_criteria():
    people = {"item": [*"aabb"], "rater": [*"xyxy"], "warm": [1, 2, 3, 2], "clear": [3, 2, 1, 1], "far": [0, 900, 1, 2]}
    found = found_in(people, annotator="rater")
    assert found.options == {"annotator": "rater", "label": ["warm", "clear"]}
    assert {"item": "item", "rater": "annotator", "warm": "label", "clear": "label"}.items() < roles(found).items()
    assert roles(found)["far"] != "label"
    assert (why(found, "rater"), why(found, "warm"), why(found, "item")) == ("as specified", "by name", "by name")
    one = found_in({name: people[name] for name in ("item", "rater", "warm")}, annotator="rater")
    assert one.options == {"annotator": "rater", "label": "warm"}
    empty = found_in({"thing": [1, 1], "other": [None, None]}, shape="long")
    assert empty.errors == (
        "no column with the item id was found (set item=...)",
        "no column with the annotators was found (set annotator=...)",
        "no column with the labels was found (set label=...)",
    )  # fmt: skip


def test_long_table_of_models_is_ambiguous():
    table = {"item": [*"aabb"], "model": ["gpt-4", "claude-3"] * 2, "label": [1, 2, 3, 2]}
    words = "'model' contains only models, which can be judges or the systems that are rated"
    assert words in texts(found_in(table))
    assert words not in texts(found_in(table | {"model": ["gpt-4", "ann"] * 2}))
    assert words not in texts(found_in({("who" if name == "model" else name): v for name, v in table.items()}))
    assert found_in(table).options["judges"] == ["gpt-4", "claude-3"]
    assert "judges" not in found_in(table | {"kind": ["judge", "human"] * 2}).options


@pytest.mark.parametrize(
    ("names", "judges", "doubt"),
    [
        (
            "ann bob gpt-4 claude-3",
            ["gpt-4", "claude-3"],
            "'gpt-4', 'claude-3' could be judges (names of models)",
        ),
        ("ann bob ML", ["ML"], "'ML' could be a judge (by name)"),
        ("AB CD AI", None, None),  # other names also have two letters
        ("A B AI", None, None),
        ("rater1 rater2 x", ["x"], "'x' could be a judge (the name differs from 'rater1', 'rater2')"),
        ("rater1 rater2 x y", ["x", "y"], "'x', 'y' could be judges (names differ from 'rater1', 'rater2')"),
        ("rater1 rater2 x y z", None, None),  # more other names than annotators
        ("rater1 x", None, None),
        ("rater1 rater2", None, None),
        ("A1 A2 M", ["M"], "'M' could be a judge (the name differs from 'A1', 'A2')"),
        ("A1 A2 M1 human", ["M1"], "'M1' could be a judge (the name differs from 'A1', 'A2', 'human')"),
        ("A1 A2 zed", None, None),  # only a letter distinguishes annotators from models
        (
            "A1 human1 human2 zed",
            ["A1", "zed"],
            "'A1', 'zed' could be judges (names differ from 'human1', 'human2')",
        ),
    ],
)
def test_name_judges_by_pattern(names, judges, doubt):
    one, options = finder({"x": [1]}), {}
    one.name_judges(names.split(), options)
    assert (options.get("judges"), texts(one)) == (judges, () if doubt is None else (doubt,))
    for stated in ({"judges": ()}, {"humans": ()}):
        said = finder({"x": [1]}, **stated)
        said.name_judges(names.split(), options)
        assert texts(said) == ()


@pytest.mark.parametrize(
    ("table", "item"),
    [
        ({"a": [3, 1], "text": ["x", "y"], "ID": ["p", "q"]}, "ID"),
        ({"text": ["x", "y"], "item": ["p", "p"]}, "text"),  # one of several cells is not a name
        ({"text": ["x", "y"], "doc_no": ["p", "q"]}, "doc_no"),
        ({"text": ["x", "y"], "doc": ["p", "q"]}, "text"),
        ({"a": [3, 1], "what": ["x", "y"]}, "what"),
        ({"a": [3, 1], "what": ["x", "y"], "doc": ["x", "x"]}, "what"),
        ({"a": [3, 1], "doc": ["x", "x"]}, "doc"),
        ({"a": [3, 1], "doc": [2, 2]}, None),
        ({"": [1, 2], "a": [3, 1]}, ""),
        ({"a": [3, 1], "": [1, 2]}, None),  # only the first column can number the rows
        ({"ann": [1, 2], "bob": [2, 2]}, None),
        ({"doc": [None, None], "a": [3, 1]}, None),
    ],
)  # fmt: skip
def test_item_of_rows_is_unique_text(table, item):
    assert finder(table)._item_of_rows() == item
    assert finder(table, item="own")._item_of_rows() == "own"


def test_computed_rows_are_found():
    def rows(*items, labels=("p",), **stated):
        table = {"item": [*items], "p": [3] * len(items)}
        return finder(table, **stated)._computed_rows("item", list(labels))

    reason = "computed from the rows above it"
    assert rows("a", "b", "Mean", "c", "SD") == {reason: ("Mean", "SD")}
    assert rows("a", "Mean", "b") == rows("Mean", "a", "b") == rows("a", "b", "Meaning", None) == {}
    assert rows("a", "b", "Mean", exclude=()) == rows("a", "b", "Mean", labels=()) == {}
    assert finder({"p": [1, 2, 3]})._computed_rows("item", ["p"]) == {}


def test_find_computed_from_humans_only():
    people = {"item": [f"i{k}" for k in range(12)], "p": [1, 2, 3] * 4, "q": [2, 4, 5] * 4}
    found = found_in(people | {"gpt-4": [5, 1, 1] * 4, "x": [1.5, 3.0, 4.0] * 4})
    assert why(found, "x") == "equals the mean of p, q"
    assert roles(found)["gpt-4"] == "judge"
    every = found_in(people | {"gpt-4": [6, 3, 1] * 4, "x": [3.0, 3.0, 3.0] * 4})
    assert why(every, "x") == "equals the mean of p, q, gpt-4"
    assert "'x' equals the mean of 'p', 'q', 'gpt-4' and could be computed from them" in texts(every)  # whole numbers
    three = people | {"s": [3, 3, 3] * 4}
    named = found_in(three | {"mean": [2, 3, 3.67] * 4})
    assert (roles(named)["mean"], why(named, "mean")) == ("computed", "equals the mean of p, q, s")
    other = found_in(three | {"mean": [2, 3, 3.6] * 4})
    assert (roles(other)["mean"], why(other, "mean")) == ("computed", "by name")
    # A computed column follows the columns that it is computed from.
    twice = found_in(people | {"r": [3, 6, 8] * 4})
    assert (roles(twice)["r"], roles(twice)["p"]) == ("computed", "person")


@pytest.mark.parametrize(
    ("column", "others", "how"),
    [
        ([1.5, 2.5, 3.5], [[1, 2, 3], [2, 3, 4]], "mean"),
        ([1.5, 2.5], [[1, 2], [2, 3]], None),
        ([1.5, 2.5, 3.5, 9], [[1, 2, 3, np.nan], [2, 3, 4, 9]], "mean"),  # a single number is not informative
        ([2, 3, 4], [[1, 2, 3], [3, 4, 5]], None),  # whole: in three rows an annotator can give the median
        ([2, 3, 4] * 4, [[1, 2, 3] * 4, [3, 4, 5] * 4], "mean"),
        ([3, 5, 7], [[1, 2, 3], [2, 3, 4]], "total"),
        ([1.33, 1.67, 2.33], [[1, 1, 2], [1, 2, 2], [2, 2, 3]], "mean"),
        ([1.34, 1.67, 2.33], [[1, 1, 2], [1, 2, 2], [2, 2, 3]], None),
        ([1.3, 1.7, 2.3], [[1, 1, 2], [1, 2, 2], [2, 2, 3]], "mean"),
        ([1.3, 2.2, 1.8], [[1, 2, 1], [1, 2, 2], [1, 2, 2], [2, 3, 2]], "mean"),  # halves are rounded up or down
        ([1, 2, 2] * 3, [[1, 2, 3] * 3, [1, 2, 1] * 3], None),  # three rows differ, and its values there are whole
        ([np.nan] * 3, [[1, 2, 3], [2, 3, 4]], None),
    ],
)  # fmt: skip
def test_arithmetic_recognises_quantities(column, others, how):
    assert computed(np.array(column, float), np.array(others, float)) == how


@pytest.mark.parametrize(
    ("names", "template", "annotators", "doubt"),
    [
        (["gpt-4/x", "gpt-4/y", "ann/x", "ann/y"], "annotator/criterion", ["gpt-4", "ann"], ""),
        (["x/gpt-4", "x/ann", "y/gpt-4", "y/ann"], "criterion/annotator", ["gpt-4", "ann"], ""),
        (["human1 x", "human1 y", "human2 x", "human2 y"], "annotator criterion", ["human1", "human2"], ""),
        (["a b x", "a b y", "c x", "c y"], "annotator criterion", ["a b", "c"],
         "as in 'a b x', but the order of the two is uncertain"),
        (["a / x", "a / y", "b / x", "b / y"], "annotator / criterion", ["a", "b"],
         "as in 'a / x', but the order of the two is uncertain"),
    ],
)  # fmt: skip
def test_crossed_names_finds_template(names, template, annotators, doubt):
    found = crossed_names(names)
    assert (found.template, found.annotators, found.ambiguity) == (template, annotators, doubt)


@pytest.mark.parametrize(
    "names",
    [
        ["a/x", "a/y", "a/z", "a/w"], ["a/x", "b/x", "c/x", "d/x"], ["a/x", "a/y", "/x", "/y"],
        ["a/", "a/y", "b/", "b/y"],
        ["a/x", "a/y", "b/x", "c"], ["a/1", "a/2", "b/1", "b/2"], ["a/x", "a/x ", "b/x", "b/y"],
    ],
)  # fmt: skip
def test_crossed_names_is_none_for_other_names(names):
    assert crossed_names(names) is None


def test_transposed_other_columns_are_technical():
    days = [f"2024-05-0{k} 10:00" for k in range(1, 4)]
    form = {"Timestamp": days, "Name": ["ann", "bob", "cho"], "age": [31, 44, 29], **THREE}
    found = found_in(form, shape="transposed", columns=("q1", "q2"))
    assert found.options == {"layout": "transposed", "annotator": "Name", "columns": ["q1", "q2"]}
    assert (roles(found)["q3"], why(found, "q3")) == ("technical", "not a question")
    assert (why(found, "Name"), why(found, "q1")) == ("a different annotator in each row", "a question")
    assert texts(found) == ()
    rows = found_in(form, shape="transposed", annotator=ROWS)
    assert (rows.options["annotator"], texts(rows)) == (ROWS, ())
    stamps = found_in({"Timestamp": days, **THREE})
    assert stamps.options["annotator"] == ROWS
    assert "judges" not in stamps.options
    assert roles(stamps)["Timestamp"] == "time stamp"


def test_column_view_of_numbers_with_gaps():
    one = ColumnView(pl.Series("x", [1.0, None, float("nan"), 2.0]))
    assert (one.filled, one.distinct.to_list(), one.rows) == (2, ["1", "2"], 4)
    half = ColumnView(pl.Series("x", [1.0, 2.5]))
    assert half.distinct.to_list() == ["1.0", "2.5"]
    lists = ColumnView(pl.Series("x", [[1, 2], None]))
    assert lists.filled == 1
    dates = ColumnView(pl.Series("x", [datetime.date(2024, 1, 1)]))
    assert (dates.dates, dates.numbers, dates.is_text, dates.could_be_labels) == (True, None, False, False)
    assert view("x", "y").ends is None
    assert view().ends is None


def test_structure_notes_list_roles():
    columns = (
        Role("a", "person", "1 to 5"), Role("b", "person", "1 to 4"), Role("m", "computed", "a mean"),
        Role("w", "item column", "words"), Role("v", "item column", "dates"),
        Role("g", "gold", "named"), Role("u", "unknown", "?"),
    )  # fmt: skip
    found = Structure("wide", columns, {"item": ROWS}, rows={"computed": ("Mean", "SD", "Sum", "Max")})
    assert found.notes() == [
        "'a', 'b' parsed as human labels", "'m' ignored (computed): a mean",
        "'w', 'v' kept as item metadata", "'g' kept as item metadata (gold label): named",
        "no item id found; rows are numbered", "row 'Mean', 'SD', 'Sum' and 1 more ignored: computed",
    ]  # fmt: skip
    assert found.named("computed", "gold") == ["m", "g"]


def test_unclear_lists_all_problems():
    error = unclear("t.csv", ["one", "two"], [("", {"item": "x"})])
    assert str(error) == "t.csv: one; two. If that is right: assay.read('t.csv', item='x')"
    assert (error.problems, error.source, error.advised) == (("one", "two"), "t.csv", {"item": "x"})
    assert str(unclear("t.csv", ["one"])) == "t.csv: one"
    several = unclear("t.csv", ["which?"], [("x is", {"item": "x"}), ("y is", {"item": "y"}), ("none is", {})])
    assert str(several).splitlines() == [
        "t.csv: which? Choose one:",
        "  x is: assay.read('t.csv', item='x')",
        "  y is: assay.read('t.csv', item='y')",
        "  none is",
        "State the options of one of them.",
    ]
    assert (several.advised, len(several.choices)) == ({}, 3)
    many = unclear("t.csv", ["which?"], [(f"{k}", {"item": f"{k}"}) for k in range(9)])
    assert str(many).splitlines()[-2] == "  or 3 further readings, by the columns of item, annotator and label"
    assert read_call(["a.csv", "b.csv"], {}) == "assay.read(['a.csv', 'b.csv'])"


def test_views_of_inspects_first_rows():
    frame = pl.DataFrame({"x": [1] * ROWS_INSPECTED + [7], "_row": 0})
    seen = views_of(frame)
    assert (list(seen), seen["x"].rows, seen["x"].ends) == (["x"], ROWS_INSPECTED, (1, 1))


# -- the rows decide -----------------------------------------------------------------------------------------


def rated(n_items: int = 40, n_people: int = 8, each: int = 4, seed: int = 0) -> dict[str, list[Any]]:
    """Labels of a crowd: a quality of each item, and noise; four annotators of each item."""
    rng = np.random.default_rng(seed)
    quality, rows = rng.normal(size=n_items), []
    for i in range(n_items):
        rows += [(i, who, np.clip(round(3 + 1.3 * quality[i] + rng.normal(0, 0.7)), 1, 5))
                 for who in rng.choice(n_people, each, replace=False)]  # fmt: skip
    rng.shuffle(rows)
    item, who, label = (list(map(int, part)) for part in zip(*rows, strict=True))
    return {"item": item, "who": who, "label": label}


def test_find_structure_separates_labels_from_other_columns():
    one = rated()
    age, topic = [31, 25, 31, 47, 62, 25, 31, 40], list("abcdefgh")
    found = found_in({
        "unit": one["item"], "coder": one["who"], "stance": one["label"], "age": [age[w] for w in one["who"]],
        "topic": [topic[i % 8] for i in one["item"]], "path": ["/data/all.csv"] * len(one["item"]),
    })  # fmt: skip
    assert found.options == {"item": "unit", "annotator": "coder", "label": "stance"}
    assert not found.questions
    kinds = roles(found)
    assert (kinds["age"], kinds["topic"]) == ("annotator column", "item column")
    assert (found.roles["age"].of, found.roles["age"].found) == (("coder",), "found")
    assert why(found, "coder").startswith("by its name; no two rows share")
    assert why(found, "stance") == "differs within items and within annotators"


def test_find_structure_asks_who_answered_without_names():
    one = rated()
    found = found_in({"x1": one["who"], "x2": one["label"], "x3": one["item"]})
    (question,) = found.questions
    options = [dict(one) for _, one in question.choices]
    assert {"item": "x3", "annotator": "x1", "label": "x2"} in options
    assert {"item": "x1", "annotator": "x3", "label": "x2"} in options
    # Names decide if the rows do not: a question is not an annotator.
    named = found_in({"who": one["who"], "q": one["label"], "doc_id": one["item"]})
    assert (named.questions, named.options) == ((), {"item": "doc_id", "annotator": "who", "label": "q"})


def test_find_structure_joins_names_that_come_again():
    """Lesson 1 of two teachers are two lessons."""
    rng, rows = np.random.default_rng(1), []
    for teacher in range(12):
        for lesson in range(1, 5):
            quality = rng.normal(teacher % 3, 1)
            rows += [(f"T{teacher}", lesson, f"R{w}", round(quality + rng.normal(0, 0.5)))
                     for w in rng.choice(6, 3, replace=False)]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["teacher", "lesson", "rater", "clarity"], orient="row")
    found = found_in(frame)
    assert found.options == {"item": ["teacher", "lesson"], "annotator": "rater", "label": "clarity"}
    apart = frame.with_columns(lesson=pl.format("{}-{}", "teacher", "lesson"))
    assert found_in(apart).options == {"item": "lesson", "annotator": "rater", "label": "clarity"}
    assert roles(found_in(apart))["teacher"] == "item column"


def test_find_structure_asks_whether_item_and_annotator_are_exchanged():
    one = rated(each=6)
    found = found_in({"annotator_id": one["item"], "item_id": one["who"], "label": one["label"]})
    assert texts(found) == (
        "labels agree less within each item_id than if another column were the annotator; is 'annotator_id' the "
        "annotator?",
    )
    assert len(found.questions[0].choices) == 2


def test_find_structure_asks_which_columns_hold_labels():
    one, rng = rated(), np.random.default_rng(3)
    further = [int(np.clip(v + rng.integers(-1, 2), 1, 5)) for v in one["label"]]
    table = {"doc_id": one["item"], "coder": one["who"], "warm": one["label"], "mood": further}
    (question,) = found_in(table).questions
    assert [dict(options) for _, options in question.choices] == [
        {"label": ["warm", "mood"]}, {"label": "warm"}, {"label": "mood"},
    ]  # fmt: skip
    # Usual names of criteria answer it, and so does a column that is called a label.
    criteria = {"mood": "coherence", "warm": "fluency"}
    assert found_in({criteria.get(n, n): v for n, v in table.items()}).options["label"] == ["fluency", "coherence"]
    seconds = rng.integers(5, 400, len(further)).tolist()
    timed = {"doc_id": one["item"], "coder": one["who"], "warm": one["label"], "seconds": seconds}
    assert (found_in(timed).options["label"], found_in(timed).questions) == ("warm", ())


def test_find_structure_of_counts():
    counts = {"subject": [f"s{k}" for k in range(6)], "yes": [3, 0, 6, 2, 5, 1], "no": [1, 6, 0, 2, 1, 0],
              "unsure": [2, 0, 0, 2, 0, 5]}  # fmt: skip
    found = found_in(counts)
    assert found.shape == "counts"
    assert found.errors[0].startswith("'yes', 'no', 'unsure' hold counts, not labels: each row sums to 6.")
    square = {"": ["yes", "no"], "yes": [10, 3], "no": [2, 8]}
    assert "rows and columns have the same names" in found_in(square).errors[0]


def test_find_structure_of_items_without_annotators():
    rng, story = np.random.default_rng(2), [f"s{k // 3}" for k in range(30)]
    found = found_in({"story": story, "a": rng.integers(0, 2, 30).tolist(), "b": rng.integers(0, 2, 30).tolist()})
    assert (found.errors, len(found.questions)) == ((), 1)
    assert found.questions[0].text == (
        "item 's0' has more than one row (9 more such items), and no column names who answered; remove a row that is "
        "there twice, or add a column with the annotators (or set annotator=...)"
    )
    assert [said for said, _ in found.questions[0].choices] == [
        "in each of the rows of one story, another person without a name gave 'a', 'b'",
        "in the rows of one story, one human gave 'a', 'b' repeatedly",
        "in the rows of one story, one judge gave 'a', 'b' repeatedly",
    ]
    assert found.questions[0].choices[0][1] == {
        "item": "story", "layout": "long", "annotator": "place", "label": ["a", "b"]
    }  # fmt: skip


@pytest.mark.parametrize("again", [0, 7])
def test_find_structure_names_rows_of_an_item_that_a_table_has_twice(again):
    """Of 40 texts of two judges, one comes again: neither judge's column can name who answered."""
    rng = np.random.default_rng(3)
    one, other = (rng.choice(["yes", "no", "unsure"], 40).tolist() for _ in range(2))
    ids = [f"t{i}" for i in range(40)]
    table = {"tweet_id": [*ids, ids[again]], "gpt-4o-mini": [*one, "no"], "llama-3-8b": [*other, "unsure"]}
    frame = pl.DataFrame(table).with_columns(_row=pl.int_range(2, 43))
    found = find_structure(frame, views_of(frame), Stated(item="tweet_id", by_name=frozenset({"item"})))
    assert found.errors[0].startswith(f"item 't{again}' has more than one row (rows {again + 2}, 42), and no column")
    assert not any("names the annotators" in said for one in found.questions for said, _ in one.choices)


def test_find_structure_splits_grid_of_form():
    grid = {f"Response {k} [{c}]": [1 + (k + j) % 5 for j in range(4)] for k in range(1, 4) for c in ("Good", "Safe")}
    found = found_in({"Username": ["ann", "bob", "cho", "dee"], **grid})
    assert found.shape == "transposed"
    letters = {f"Answer {k} [{c}]": [1 + j % 3 for j in range(9)] for k in "AB" for c in ("Clear", "True")}
    assert found_in({"Email": [f"p{j}@x.org" for j in range(9)], **letters}).shape == "transposed"
    assert found.options["split_item"] == r"(?s)^(?P<item>.+?) ?\[(?P<criterion>.+)\]$"


def test_find_structure_ignores_the_order_of_rows_and_columns():
    one = rated(seed=5)
    frame = pl.DataFrame(
        {"a": one["who"], "b": one["label"], "doc": one["item"], "rater_age": [w % 3 for w in one["who"]]}
    )
    wanted = found_in(frame)
    for seed in range(5):
        names = np.random.default_rng(seed).permutation(frame.columns).tolist()
        again = found_in(frame.sample(fraction=1, shuffle=True, seed=seed).select(names))
        assert (again.options, texts(again)) == (wanted.options, texts(wanted))
        assert roles(again) == roles(wanted)


# -- the three counts ------------------------------------------------------------------------------------------


def test_dependence_counts_rows_that_break_it():
    of, on = np.array([0, 0, 1, 1, 1, -1]), np.array([0, 0, 1, 1, 1, 1])
    found = dependence(of, on)
    assert (found.broken, found.could, found.holds) == (0, 3, None)  # too few rows
    many = dependence(np.tile(of[:5], 10), np.tile(on[:5], 10))
    assert (many.broken, many.could, many.holds) == (0, 48, True)
    assert many.chance == pytest.approx(48 * (1 - 0.4**2 - 0.6**2))
    assert dependence(np.arange(50) % 3, np.arange(50) % 2).holds is False
    # A label that is nearly always the same does not belong to the item.
    rare = np.zeros(400, dtype=np.int64)
    rare[::40] = 1
    assert dependence(rare, np.arange(400) // 4).holds is False


def test_repetition_compares_with_chance():
    item, who = np.repeat(np.arange(20), 5), np.tile(np.arange(5), 20)
    found = repetition([item, who])
    assert (found.rows, found.repeats, found.is_key) == (100, 0, True)
    expected = min(100 - 20 * 5 * (1 - (4 / 5) ** 5), 100 - 5 * 20 * (1 - (19 / 20) ** 20))
    assert found.chance == pytest.approx(expected)
    assert repetition([item, np.zeros(100, dtype=np.int64)]).is_key is False
    assert repetition([np.arange(6), np.arange(6)]).is_key is None


def test_sameness_is_one_minus_disagreement_within_units():
    unit, label = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 0])
    # Within units 1 of 2 pairs differ; overall 3 of 6 pairs.
    assert sameness(unit, label, None) == pytest.approx(1 - (1 / 2) / (3 / 6))
    assert sameness(unit, label, np.array([1.0, 3.0])) == pytest.approx(1 - (4 / 2) / (12 / 6))
    assert np.isnan(sameness(np.arange(4), label, None))


def test_find_structure_of_table_without_header():
    one = rated()
    found = found_in({str(one["item"][0]): one["item"][1:], str(one["who"][0]): one["who"][1:], "x": one["label"][1:]})
    assert "so the first row seems to be data; add a row of names above it" in found.errors[0]
    choices = {"id": list("abcd"), "A": list("ABAB"), "B": list("BBAA")}  # annotators A and B choose A or B
    assert "or set layout=... if these are names" in found_in(choices).errors[0]
    assert found_in(choices, shape="wide").options["columns"] == ["A", "B"]
    numbered = {"id": list("abcde"), **{str(k): [1, 2, 3, 4, k] for k in (1, 2, 3)}}
    assert not found_in(numbered, judges=("3",)).errors


def test_find_structure_stars_describe_items_next_to_numbered_raters():
    rng = np.random.default_rng(4)
    sheet = {"id": [f"i{k}" for k in range(40)], **{f"rater{j}": rng.integers(1, 6, 40).tolist() for j in (1, 2, 3)},
             "stars": rng.integers(1, 6, 40).tolist()}  # fmt: skip
    found = found_in(sheet)
    assert (roles(found)["stars"], found.questions) == ("item column", ())
    assert found.options["columns"] == ["rater1", "rater2", "rater3"]


def test_find_structure_numbered_questions_are_items():
    """``q1`` is a usual name of a question, and no criterion if the column is called a question."""
    rng, rows = np.random.default_rng(6), []
    for k in range(30):
        for system in "AB":
            quality = rng.normal()
            rows += [(f"q{k}", who, round(quality + rng.normal(0, 0.5)), system) for who in ("kim", "lee", "mo")]
    frame = pl.DataFrame(rows, schema=["question", "annotator", "score", "system"], orient="row")
    assert found_in(frame).options == {"item": ["question", "system"], "label": "score"}


@pytest.mark.slow
def test_find_structure_asks_nothing_about_labels_that_agree_in_no_unit():
    one, rng = rated(), np.random.default_rng(9)
    for _ in range(20):
        table = {"doc_id": one["item"], "coder": one["who"], "score": rng.integers(0, 2, len(one["who"])).tolist()}
        assert not found_in(table).questions


def test_texts_belong_to_items_if_two_columns_are_named_as_annotators():
    """Workers wrote the texts that raters rated."""
    text = "worker {} wrote this about the {} things of the day".format
    keys = {"worker_id": "w{}".format, "rater_id": lambda i, k: f"r{k}", "text": lambda i, k: text(i, 7 * i)}
    found = found_in(rows_of(keys))
    assert (texts(found), found.errors) == ((), ())
    assert (found.options["item"], found.options["annotator"]) == ("worker_id", "rater_id")


def test_two_columns_with_the_same_things_are_offered_once_in_a_few_rows():
    """Of 6 rows no rule is certain; one value of each for each value of the other is the same thing twice."""
    places = [(i, k) for i in range(3) for k in range(2)]
    found = found_in({
        "A": [f"q{i}" for i, _ in places], "B": [("red", "blue", "green")[i] for i, _ in places],
        "C": [f"w{k}" for _, k in places], "label": [(2 * i + k) % 3 + 1 for i, k in places],
    })  # fmt: skip
    assert "is the annotator 'A' (3 values), 'C' (2 values) or " in texts(found)[0]
    assert "'B' (" not in texts(found)[0]


def test_column_named_as_annotators_is_offered_first_if_others_are_the_key():
    found = found_in(rows_of({"kb": "d{}".format, "xx": lambda i, k: f"w{k}", "rater": lambda i, k: f"r{i % 5}"}))
    assert "no name says who answered: is the annotator 'rater' (5 values), " in texts(found)[0]
    assert found.questions[0].choices[0] == (
        "'rater' names the annotators (r0, r1) of each kb, xx",
        {"item": ["kb", "xx"], "annotator": "rater", "label": "score"},
    )


def test_named_labels_are_recognised_if_another_role_is_missing():
    found = found_in({"who": ["a", "b", "c"] * 10, "label": [1, 2, 3, 4, 5] * 6}, annotator="who")
    assert roles(found) == {"who": "annotator", "label": "label"}
    assert found.errors == ("no column with the item id was found (set item=...)",)


@pytest.mark.parametrize("models", [["gpt-4o"], ["llm"], ["gpt-4o", "llama"], ["bart", "pegasus"]])
def test_column_called_human_next_to_models_is_never_a_judge(models):
    """`human` has a person's labels, or a person's text was rated like those of the systems."""
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(0, 2, 40).tolist() for name in (*models, "human")}
    found = found_in({"doc": [f"d{k}" for k in range(40)], **columns})
    assert {name: roles(found)[name] for name in columns} == {**dict.fromkeys(models, "judge"), "human": "person"}
    (are_judges, asked), (rated, by_human), (_, by_judge) = found.questions[0].choices
    assert asked == {"judges": models}
    assert are_judges.endswith(", and 'human' is human")
    assert rated.endswith("are rated, by one human")
    assert (by_human["split_columns"], by_human["humans"], by_judge["judges"]) == ("item", ["human"], ["judge"])


@pytest.mark.parametrize("name", ["income", "x1", "years"])
def test_numbers_with_fractions_are_not_on_the_scale_of_two_labels(name):
    """0 and 1 lie within the range of any score; that makes the score no third annotator."""
    rng = np.random.default_rng(2)
    table = {"doc": [f"d{k}" for k in range(90)], name: rng.normal(size=90).round(3).tolist()}
    table |= {who: rng.integers(0, 2, 90).tolist() for who in ("llm_label", "human_1", "human_2")}
    found = found_in(table, judges=["llm_label"])
    assert (roles(found)[name], found.options["columns"]) == ("item column", ["llm_label", "human_1", "human_2"])
    assert why(found, name).endswith("while other columns end at 1")


def test_probabilities_and_whole_numbers_stay_on_the_scale_of_two_labels():
    """A judge's probabilities end at 0 and 1, and an annotator can use only 1 and 5 of five stars."""
    rng = np.random.default_rng(2)
    extremes = {who: rng.choice([1, 5], 90).tolist() for who in ("ann", "bob")}
    whole = {**extremes, "cho": rng.integers(1, 6, 90).tolist()}
    shares = {"ann": rng.integers(0, 2, 90).tolist(), "gpt-4o": rng.random(90).round(3).tolist()}
    for labels in (whole, shares):
        found = found_in({"doc": [f"d{k}" for k in range(90)], **labels})
        assert found.options["columns"] == list(labels)
