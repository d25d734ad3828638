"""What columns are: by their names, by what they hold, and by what follows from others; and what is left in doubt."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from assay.data.roles import (
    ROWS,
    ColumnView,
    Guess,
    Told,
    _arithmetic,
    crossed_names,
    find_roles,
    plain_name,
    read_call,
    same_but_for_spelling,
    views_of,
)
from assay.data.values import MOST_CATEGORIES


def guess(table: dict[str, list[Any]], /, **told: Any) -> Guess:
    frame = pl.DataFrame(table, strict=False)
    return find_roles(frame, Told(**told), views_of(frame, untyped=False))


def roles(found: Guess) -> dict[str, str]:
    return {one.name: one.role for one in found.columns}


def why(found: Guess, name: str) -> str:
    return next(one.why for one in found.columns if one.name == name)


def view(*cells: Any) -> ColumnView:
    return ColumnView(pl.Series("x", cells, strict=False), untyped=True)


# -- what a column holds -----------------------------------------------------------------------------------


def test_cells_of_a_column():
    one = view("1", "2", "", "2", "n/a", None)
    assert (one.rows, one.filled, one.marks) == (6, 3, {"n/a": 1})
    assert one.distinct.to_list() == ["1", "2"]
    assert one.numbers.to_list() == [1, 2, None, 2, None, None]
    assert (one.ends, one.whole, one.is_text, one.unique) == ((1, 2), True, False, False)
    assert not view("1", "2.5").whole
    # Slips among numbers may be up to half of the different cells.
    assert view("1", "2", "x", "y").numbers.to_list() == [1, 2, None, None]
    assert view("1", "x", "y").numbers is None
    assert view("a", "b").unique
    assert not view("a", "b", None).unique
    assert not view().unique


def test_words_are_free_text_where_they_are_long_or_many():
    assert view("a" * 41, "b" * 41).free
    assert not view("a" * 40, "b" * 40).free
    many = [f"words {i:07d}" for i in range(60)]  # 13 letters, all different
    assert view(*many).free
    assert not view(*(word[1:] for word in many)).free
    assert view("yes", "no").could_be_labels
    assert not view(*many).could_be_labels
    assert not view("2024-01-01", "2024-01-02", "2024-05-03").could_be_labels
    assert not view(None, None).could_be_labels
    # Of words as many as a code book holds; of numbers any.
    for n, could in ((MOST_CATEGORIES, True), (MOST_CATEGORIES + 1, False)):
        assert view(*(f"w{'x' * (i % 5)}{i}" for i in range(n)), *["w0"] * 900).could_be_labels is could
        assert view(*range(n)).could_be_labels


def test_numbers_of_rows_begin_with_0_or_1_and_rise_by_1():
    assert view("0", "1", "2").counts_rows
    assert view("1", "2").counts_rows
    for cells in (("2", "3"), ("1", "3"), ("1",), ("1", "2", None), ("2", "1"), ("a", "b")):
        assert not view(*cells).counts_rows, cells


def test_two_cells_are_shown_of_which_none_is_long():
    assert view("a" * 24, "b" * 25, "c").examples() == "a" * 24 + ", " + "b" * 21 + "..."
    assert view("a", "b", "c").examples(3) == "a, b, c"


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("itemId", "item id"),
        ("Item_ID ", "item id"),
        ("n.ratings", "n ratings"),
        ("Größe", "grö e"),
        ("Q1Score", "q1 score"),
    ],
)
def test_a_name_in_lower_case_words_apart(name, plain):
    assert plain_name(name) == plain


# -- one row a label ---------------------------------------------------------------------------------------

LONG = {"text_id": ["a", "a", "b", "b"], "rater": ["r1", "r2", "r1", "r2"], "score": [1, 2, 3, 3]}


def test_a_row_a_label():
    found = guess(LONG | {
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
    assert (found.doubts, found.lacking) == ((), ())
    assert why(found, "empty") == "nothing in it"
    assert why(found, "score") == "by its name"
    said = guess(LONG, label="score")
    assert why(said, "score") == "as said"
    assert "'text_id' taken as the item" in found.notes()
    assert "'comment' left out, comments" in found.notes()


def test_of_names_that_fit_the_id_is_taken_and_else_it_is_doubted():
    found = guess({"text": list("wxyz"), **LONG})
    assert roles(found)["text_id"] == "item"
    assert not found.doubts
    both = {"item_a": LONG["text_id"], "score": LONG["score"], "rating": LONG["score"], "rater": LONG["rater"]}
    two = guess(both, item="item_a")
    assert two.doubts == ("'score', 'rating' could each hold the label",)
    # Who answered once only is nobody's annotator: the column does not repeat.
    once = guess(LONG | {"worker": list("wxyz")})
    assert roles(once)["rater"] == "annotator"
    # A repeat is a whole number, and a kind says human or judge.
    found = guess(LONG | {"run": [0.5, 1, 1, 2], "kind": ["a", "b"] * 2})
    assert {"run", "kind"}.isdisjoint(name for name, role in roles(found).items() if role in ("repeat", "kind"))
    lacking = guess({"rater": LONG["rater"], "item": LONG["text_id"], "note": list("abcd")}, shape="long")
    assert lacking.lacking == ("no column that holds the label was found",)


# -- one row an item ---------------------------------------------------------------------------------------


def wide(**more: list[Any]) -> dict[str, list[Any]]:
    return {"item": [f"i{k}" for k in range(6)], "ann": [1, 2, 3, 4, 5, 1], "bob": [1, 3, 3, 5, 5, 2], **more}


def test_a_column_an_annotator():
    found = guess(wide(words=[120, 90, 44, 81, 200, 31], cho=[2, 2, 3, 4, 4, 1], long=["a" * 50] * 6))
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
    few = guess({"item": ["a", "b"], "ann": [1, 2]})
    assert few.lacking == ("fewer than two columns could hold labels of an annotator",)
    assert guess({"item": ["a", "b"], "ann": [1, 2]}, alone=False).lacking == ()
    twice = guess({"item": ["a", "a"], "ann": [1, 2], "bob": [1, 2]}, columns=("ann", "bob"))
    assert twice.lacking == ("item 'a' has more than one row; a wide table has one row an item",)
    numbered = guess({"ann": [1, 2, 2], "bob": [2, 2, 1]})
    assert numbered.options["item"] == ROWS
    assert numbered.notes()[-1] == "rows are numbered: no column names the items"


def test_a_column_on_a_range_ten_times_as_wide_is_beside():
    """Tops 5, 5 and 50 or 51: the middle one is 5."""
    assert roles(guess(wide(x=[0, 50, 1, 2, 3, 4])))["x"] == "person"
    found = guess(wide(x=[0, 51, 1, 2, 3, 4]))
    assert roles(found)["x"] == "item column"
    assert why(found, "x") == "0 to 51, where others end at 5"
    assert roles(guess(wide(x=[0, -51, 1, 2, 3, 4])))["x"] == "item column"
    # Ends below 1 count as 1; of two columns neither is told out.
    small = {"item": list("abc"), "p": [0.1, 0.2, 0.3], "q": [0.1, 0.1, 0.2], "r": [1, 9, 10]}
    assert roles(guess(small))["r"] == "person"
    assert roles(guess({name: small[name] for name in ("item", "p", "r")} | {"r": [1, 99, 100]}))["r"] == "person"


def test_words_that_nobody_else_says_are_beside():
    people = {"item": list("abcd"), "p": ["yes", "no", "no", "no"], "q": ["no", "yes", "yes", "no"]}
    found = guess(people | {"colour": ["red", "blue", "red", "red"]})
    assert roles(found)["colour"] == "item column"
    assert why(found, "colour") == "words that are none of the annotators'"
    assert why(found, "p") == "2 categories"
    mixed = guess(people | {"m": [3, 1, 1, 2]})
    assert (roles(mixed)["m"], why(mixed, "m")) == ("item column", "numbers beside columns of words")
    assert not mixed.doubts
    even = guess({"item": list("abcd"), "p": people["p"], "m": [3, 1, 1, 2]})
    assert even.doubts == (
        "column 'p' holds text and column 'm' holds numbers; name the annotators' columns with columns=['m']",
    )


def test_a_judge_whose_column_holds_no_labels_is_doubted():
    people = {"item": list("abcd"), "p": ["yes", "no", "no", "no"], "q": ["no", "yes", "yes", "no"]}
    short = people | {"o3-mini": ["Y", "N", "N", "N"]}
    looks = "'o3-mini' looks like a model, but its column holds words that are none of the annotators'"
    assert guess(short).doubts == (f"{looks}: write its labels as the annotators do, or it is no judge here",)
    named = guess(short, judges=("o3-mini",))
    assert named.lacking == (looks.replace("looks like a model", "is named as a judge")
                             + ": write its labels as the annotators do",)  # fmt: skip
    numbers, far = guess(people | {"gpt-4": [3, 1, 1, 2]}), guess(wide(m=[0, 51, 1, 2, 3, 4]), judges=("m",))
    assert "'gpt-4' looks like a model, but its column holds numbers beside columns of words: " in numbers.doubts[0]
    assert "'m' is named as a judge, but its column holds 0 to 51, where others end at 5: " in far.lacking[0]


def test_a_judge_is_one_where_its_column_names_a_criterion_too():
    found = guess({"item": list("abc"), **{f"{who}_{what}": [1, 2, 3 + (who == "ann")]
                   for what in ("clear", "true") for who in ("ann", "bob", "gpt")}})  # fmt: skip
    assert roles(found)["gpt_true"] == "judge"
    assert why(found, "gpt_true") == "a model's name, annotator and criterion in its name"
    assert roles(found)["ann_true"] == "person"


def test_what_follows_from_others_is_computed():
    people = {"item": [f"i{k}" for k in range(18)], "p": [1, 2, 3] * 6, "q": [1, 3, 5] * 6, "s": [1, 2, 2] * 6}
    found = guess(people | {"x": [1.0, 2.33, 3.33] * 6})
    assert roles(found)["x"] == "computed"
    assert why(found, "x") == "equals the mean of p, q, s"
    assert not found.doubts
    middle = guess(people | {"x": [1, 2, 3] * 6})  # 12 rows in which they differ; a person may side with the others
    assert roles(middle)["x"] == "computed"
    assert "'x' equals the median of 'p', 'q', 's' and may be computed from them" in middle.doubts
    named = guess(people | {"total": [3, 7, 10] * 6})
    assert why(named, "total") == "equals the total of p, q, s"
    rows = guess({"item": ["a", "b", "c", "Mean"], "p": [1, 2, 3, 2], "q": [1, 2, 4, 2]})
    assert rows.rows == {"computed from the rows above it": ("Mean",)}
    assert not guess({"item": ["a", "Mean", "c"], "p": [1, 2, 3], "q": [1, 2, 4]}).rows


OTHERS = np.array(
    [[1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1], [2, 4, 3, 4, 1, 1, 3, 5, 4, 2, 3], [5, 2, 4, 4, 1, 2, 2, 5, 3, 5, 5]], float
)


@pytest.mark.parametrize("how", ["mean", "median", "total"])
def test_three_rows_that_differ_tell_what_a_column_is(how):
    each = {"mean": np.mean, "median": np.median, "total": np.sum}[how](OTHERS, axis=0)
    assert _arithmetic(each, OTHERS) == how
    assert _arithmetic(each + np.eye(11)[3], OTHERS) is None
    if how != "median":  # in fewer than ten rows a person may stand in the middle
        assert _arithmetic(each[:3], OTHERS[:, :3]) == how
    assert _arithmetic(each[:2], OTHERS[:, :2]) is None
    gaps = each.copy()
    gaps[4:8] = np.nan
    assert _arithmetic(gaps, OTHERS) == (how if how != "median" else None)


def test_a_mean_is_told_to_the_digits_it_is_written_in():
    mean = OTHERS.mean(axis=0)
    for digits in (1, 2):
        assert _arithmetic(mean.round(digits), OTHERS) == "mean"
        off = mean.round(digits)
        off[0] += 0.6 * 10.0**-digits + (mean[0] - off[0])
        assert _arithmetic(off.round(digits + 2), OTHERS) is None
    assert _arithmetic(np.array([]), OTHERS[:, :0]) is None


def test_a_majority_is_told_by_ten_rows_in_which_somebody_differs():
    votes = np.array([[1, 1, 2], [2, 1, 2], [3, 3, 1], [1, 2, 1], [4, 4, 2]] * 2, dtype=float).T
    most = np.array([1, 2, 3, 1, 4] * 2, dtype=float)
    # The majority of three is their median too, which is found first.
    assert _arithmetic(most, votes) == "median"
    five = np.vstack([votes, votes[:1] * 0 + 9, votes[:1] * 0 + 8])
    assert _arithmetic(most, five) == "majority"
    assert _arithmetic(most[1:], five[:, 1:]) is None
    assert _arithmetic(np.where(np.arange(10) == 2, 1.0, most), five) is None


# -- who is a judge ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "judges", "words"),
    [
        (["ann", "bob", "gpt-4o"], ["gpt-4o"], "'gpt-4o' looks like a model, and nothing says who is a judge"),
        (["ann", "bob", "AI"], ["AI"], "'AI' may be a judge, by its name"),
        (["A1", "A2", "M1"], ["M1"], "'M1' shares nothing with 'A1', 'A2' and may be a judge"),
        (["rater 1", "rater 2", "zed", "ox"], ["zed", "ox"], "'zed', 'ox' share nothing with 'rater 1', 'rater 2'"),
        (["A1", "zed", "M1"], None, None),
        (["A1", "A2", "A3"], None, None),
    ],
)
def test_who_looks_like_a_judge(names, judges, words):
    labels = {name: [1, 2, 2, (k + 3) % 4] for k, name in enumerate(names)}
    found = guess({"item": list("abcd")} | labels)
    assert found.options.get("judges") == judges
    assert (found.doubts == ()) if words is None else any(one.startswith(words) for one in found.doubts)
    if judges:
        assert roles(found)[judges[0]] == "judge"
    told = guess({"item": list("abcd")} | labels, judges=(names[0],))
    assert roles(told)[names[0]] == "judge"
    assert not told.doubts


def test_what_is_no_label_of_a_wide_sheet_is_a_column_of_the_items():
    n = MOST_CATEGORIES + 1
    sheet = {"item": [f"i{k}" for k in range(n)], "ann": [1, 2] * (n // 2) + [1] * (n % 2), "bob": [2] * n,
             "word": [f"w{k}" for k in range(n)]}  # fmt: skip
    assert roles(guess(sheet)) == {"item": "item", "ann": "person", "bob": "person", "word": "item column"}


@pytest.mark.parametrize(
    ("name", "cells", "doubted"),
    [
        ("RATERID", [1, 1, 2, 2], True),  # a column of ids, though its cells could be labels
        ("rater", [8, 8, 9, 9], True),
        ("rater", ["k", "k", "l", "l"], False),  # words beside numbers are no labels here
        ("rater", [1, 1, 2, 3], False),  # as the others' labels are
        ("rater", [1, 1, 2, 5], False),  # a person may give a label that the others never give
        ("rater", [1, 1, 8, 8], True),  # half of the cells are nobody's label
        ("rater", [1, 2, 8, 9], False),  # it names nobody twice
        ("ann", [8, 8, 9, 9], False),
    ],
)
def test_a_column_of_raters_is_not_taken_for_a_rater_in_silence(name, cells, doubted):
    sheet = pl.DataFrame({"segment": ["a", "b", "c", "d"], name: cells, "warm": [1, 2, 3, 2], "clear": [3, 2, 1, 1]})
    words = (
        f"'{name}' may name who answered (then give annotator='{name}', with item=... and label=[...]); it is read as "
        "one person's labels"
    )
    assert (words in guess(sheet).doubts) is doubted
    assert not guess(sheet, shape="wide").doubts
    if doubted:  # two such columns are a rater and a grader
        two = guess(sheet.with_columns(grader=pl.Series([7, 7, 6, 6])))
        assert not any("may name" in doubt for doubt in two.doubts)


def test_annotators_and_criteria_in_names_of_columns():
    found = crossed_names(["ann_tone", "ann_fact", "bob_tone", "bob_fact"])
    assert (found.template, found.annotators) == ("annotator_criterion", ["ann", "bob"])
    assert not found.doubt  # a tone is a criterion by its name
    unsure = crossed_names(["u/x", "u/y", "v/x", "v/y"])
    assert unsure.doubt == "as in 'u/x', and which of the two comes first is not sure"
    turned = crossed_names(["clarity: p", "clarity: q", "depth: p", "depth: q"])
    assert (turned.template, turned.annotators) == ("criterion: annotator", ["p", "q"])
    assert crossed_names(["u/x", "u/y", "v/x"]) is None
    assert crossed_names(["u_1", "u_2", "v_1", "v_2"]) is None  # a number alone is no name
    # Three of four combinations suffice, fewer do not.
    grid = [f"{a}/{b}" for a in "uvwz" for b in ("x", "y")]
    assert crossed_names(grid[:6] + grid[6:7]) is not None
    assert crossed_names([grid[0], grid[3], grid[4], grid[7], grid[1]]) is None


# -- one row a person --------------------------------------------------------------------------------------


def test_a_row_a_person_as_forms_write_them():
    form = {"Timestamp": [f"2024-05-0{k} 10:00" for k in range(1, 4)], "Name": ["ann", "bob", "gpt-4o"]}
    asked = {f"Question {k}": [1 + k % 2, 2, 2] for k in range(4)}
    found = guess(form | asked)
    assert found.shape == "transposed"
    assert found.options["annotator"] == "Name"
    assert found.options["columns"] == list(asked)
    assert found.options["judges"] == ["gpt-4o"]
    assert found.doubts[0] == "rows look like people ('Name' names them) and columns like items"
    assert roles(found) == {"Timestamp": "time stamp", "Name": "annotator"} | dict.fromkeys(asked, "item")
    told = guess(form | asked, shape="transposed", judges=())
    assert told.doubts == ()
    nobody = guess({"Timestamp": form["Timestamp"]} | asked)
    assert nobody.options["annotator"] == ROWS
    assert nobody.doubts[0] == "rows look like people and columns like items, and no column names the people"
    # Two questions are no form.
    assert guess(form | dict(list(asked.items())[:2])).shape != "transposed"


# -- words -------------------------------------------------------------------------------------------------


def test_the_call_that_reads_a_table():
    assert read_call("a table in memory", {"scale": "1-5"}) == "assay.read(frame, scale='1-5')"
    assert read_call("a.csv", {"judges": ("m",), "scale": "1-5"}) == "assay.read('a.csv', judges=['m'], scale='1-5')"
    assert same_but_for_spelling(["Ann", "ann ", "bob", "b.o", "b_o"]) == [("Ann", "ann "), ("b.o", "b_o")]
