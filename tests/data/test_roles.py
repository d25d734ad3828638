"""Roles of columns by names, contents and arithmetic; and the ambiguities."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import polars as pl
import pytest

from assay.data.roles import (
    ROWS,
    ROWS_INSPECTED,
    ColumnRole,
    ColumnView,
    Guess,
    SpecifiedRoles,
    _arithmetic,
    _Finder,
    _is_majority,
    crossed_names,
    find_roles,
    plain_name,
    read_call,
    same_except_spelling,
    unclear,
    views_of,
)
from assay.data.values import MOST_CATEGORIES


def guess(table: dict[str, list[Any]], /, **told: Any) -> Guess:
    frame = pl.DataFrame(table, strict=False)
    return find_roles(frame, SpecifiedRoles(**told), views_of(frame))


def roles(found: Guess) -> dict[str, str]:
    return {one.name: one.role for one in found.columns}


def why(found: Guess, name: str) -> str:
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
        ("Größe", "grö e"),
        ("Q1Score", "q1 score"),
    ],
)
def test_plain_name_separates_words(name, plain):
    assert plain_name(name) == plain


# -- one row per label -------------------------------------------------------------------------------------

LONG = {"text_id": ["a", "a", "b", "b"], "rater": ["r1", "r2", "r1", "r2"], "score": [1, 2, 3, 3]}


def test_find_roles_of_long_table():
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
    assert (found.ambiguities, found.errors) == ((), ())
    assert why(found, "empty") == "no values"
    assert why(found, "score") == "by name"
    said = guess(LONG, label="score")
    assert why(said, "score") == "as specified"
    assert "'text_id' parsed as item id" in found.notes()
    assert "'comment' ignored (comment)" in found.notes()


def test_find_roles_prefers_id_columns():
    found = guess({"text": list("wxyz"), **LONG})
    assert roles(found)["text_id"] == "item"
    assert not found.ambiguities
    both = {"item_a": LONG["text_id"], "score": LONG["score"], "rating": LONG["score"], "rater": LONG["rater"]}
    two = guess(both, item="item_a")
    assert two.ambiguities == ("'score', 'rating' could each hold the label (set label=...)",)
    # A column in which no annotator repeats does not name the annotators.
    once = guess(LONG | {"worker": list("wxyz")})
    assert roles(once)["rater"] == "annotator"
    # A repeat is a whole number, and a kind is human or judge.
    found = guess(LONG | {"run": [0.5, 1, 1, 2], "kind": ["a", "b"] * 2})
    assert {"run", "kind"}.isdisjoint(name for name, role in roles(found).items() if role in ("repeat", "kind"))
    lacking = guess({"rater": LONG["rater"], "item": LONG["text_id"], "note": list("abcd")}, shape="long")
    assert lacking.errors == ("no column with the labels was found (set label=...)",)


# -- one row per item --------------------------------------------------------------------------------------


def wide(**more: list[Any]) -> dict[str, list[Any]]:
    return {"item": [f"i{k}" for k in range(6)], "ann": [1, 2, 3, 4, 5, 1], "bob": [1, 3, 3, 5, 5, 2], **more}


def test_find_roles_of_wide_table():
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
    assert few.errors == (
        "only 'ann' could hold an annotator's labels; if it does, set layout='wide' and columns=['ann']",
    )
    assert guess({"item": ["a", "b"], "ann": [1, 2]}, judges=("ann",)).errors == ()
    assert guess({"item": ["a", "b"]}).errors == ("no column could hold an annotator's labels: set columns=[...]",)
    assert guess({"item": ["a", "b"], "ann": [1, 2]}, alone=False).errors == ()
    twice = guess({"item": ["a", "a"], "ann": [1, 2], "bob": [1, 2]}, columns=("ann", "bob"))
    assert twice.errors == ("item 'a' has more than one row; a wide table has one row per item",)
    numbered = guess({"ann": [1, 2, 2], "bob": [2, 2, 1]})
    assert numbered.options["item"] == ROWS
    assert numbered.notes()[-1] == "no item id found; rows are numbered"


def test_find_roles_wide_range_is_metadata():
    """The maxima are 5, 5 and 50 or 51; their median is 5."""
    assert roles(guess(wide(x=[0, 50, 1, 2, 3, 4])))["x"] == "person"
    found = guess(wide(x=[0, 51, 1, 2, 3, 4]))
    assert roles(found)["x"] == "item column"
    assert why(found, "x") == "0 to 51, while other columns end at 5"
    assert roles(guess(wide(x=[0, -51, 1, 2, 3, 4])))["x"] == "item column"
    # Ends below 1 count as 1; with two columns, none is excluded.
    small = {"item": list("abc"), "p": [0.1, 0.2, 0.3], "q": [0.1, 0.1, 0.2], "r": [1, 9, 10]}
    assert roles(guess(small))["r"] == "person"
    assert roles(guess({name: small[name] for name in ("item", "p", "r")} | {"r": [1, 99, 100]}))["r"] == "person"


def test_find_roles_words_of_one_column_are_metadata():
    people = {"item": list("abcd"), "p": ["yes", "no", "no", "no"], "q": ["no", "yes", "yes", "no"]}
    found = guess(people | {"colour": ["red", "blue", "red", "red"]})
    assert roles(found)["colour"] == "item column"
    assert why(found, "colour") == "words that no annotator's column contains"
    assert why(found, "p") == "2 categories"
    mixed = guess(people | {"m": [3, 1, 1, 2]})
    assert (roles(mixed)["m"], why(mixed, "m")) == ("item column", "numbers, while other columns hold words")
    assert not mixed.ambiguities
    even = guess({"item": list("abcd"), "p": people["p"], "m": [3, 1, 1, 2]})
    assert even.ambiguities == (
        "column 'p' holds text and column 'm' holds numbers; name the annotators' columns with columns=['m']",
    )


def test_find_roles_reports_judge_without_labels():
    people = {"item": list("abcd"), "p": ["yes", "no", "no", "no"], "q": ["no", "yes", "yes", "no"]}
    short = people | {"o3-mini": ["Y", "N", "N", "N"]}
    looks = "'o3-mini' has the name of a model, but its column holds words that no annotator's column contains"
    assert guess(short).ambiguities == (f"{looks}: write its labels as the annotators do, or it is not a judge here",)
    named = guess(short, judges=("o3-mini",))
    assert named.errors == (looks.replace("has the name of a model", "is listed in judges")
                             + ": write its labels as the annotators do",)  # fmt: skip
    numbers, far = guess(people | {"gpt-4": [3, 1, 1, 2]}), guess(wide(m=[0, 51, 1, 2, 3, 4]), judges=("m",))
    assert (
        "'gpt-4' has the name of a model, but its column holds numbers, while other columns hold words: "
        in numbers.ambiguities[0]
    )
    assert "'m' is listed in judges, but its column holds 0 to 51, while other columns end at 5: " in far.errors[0]


def test_find_roles_judge_in_crossed_names():
    found = guess({"item": list("abc"), **{f"{who}_{what}": [1, 2, 3 + (who == "ann")]
                   for what in ("clear", "true") for who in ("ann", "bob", "gpt")}})  # fmt: skip
    assert roles(found)["gpt_true"] == "judge"
    assert why(found, "gpt_true") == "name of a model, its name combines annotator and criterion"
    assert roles(found)["ann_true"] == "person"


def test_find_roles_recognises_computed_columns():
    people = {"item": [f"i{k}" for k in range(18)], "p": [1, 2, 3] * 6, "q": [1, 3, 5] * 6, "s": [1, 2, 2] * 6}
    found = guess(people | {"x": [1.0, 2.33, 3.33] * 6})
    assert roles(found)["x"] == "computed"
    assert why(found, "x") == "equals the mean of p, q, s"
    assert not found.ambiguities
    middle = guess(
        people | {"x": [1, 2, 3] * 6}
    )  # 12 rows in which they differ; an annotator can agree with the others
    assert roles(middle)["x"] == "computed"
    assert "'x' equals the median of 'p', 'q', 's' and could be computed from them" in middle.ambiguities
    named = guess(people | {"total": [3, 7, 10] * 6})
    assert why(named, "total") == "equals the total of p, q, s"
    rows = guess({"item": ["a", "b", "c", "Mean"], "p": [1, 2, 3, 2], "q": [1, 2, 4, 2]})
    assert rows.rows == {"computed from the rows above it": ("Mean",)}
    assert not guess({"item": ["a", "Mean", "c"], "p": [1, 2, 3], "q": [1, 2, 4]}).rows


OTHERS = np.array(
    [[1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1], [2, 4, 3, 4, 1, 1, 3, 5, 4, 2, 3], [5, 2, 4, 4, 1, 2, 2, 5, 3, 5, 5]], float
)


@pytest.mark.parametrize("how", ["mean", "median", "total"])
def test_find_roles_computed_requires_three_differing_rows(how):
    each = {"mean": np.mean, "median": np.median, "total": np.sum}[how](OTHERS, axis=0)
    assert _arithmetic(each, OTHERS) == how
    assert _arithmetic(each + np.eye(11)[3], OTHERS) is None
    if how != "median":  # in fewer than ten rows an annotator can give the median by chance
        assert _arithmetic(each[:3], OTHERS[:, :3]) == how
    assert _arithmetic(each[:2], OTHERS[:, :2]) is None
    gaps = each.copy()
    gaps[4:8] = np.nan
    assert _arithmetic(gaps, OTHERS) == (how if how != "median" else None)


def test_find_roles_mean_matches_printed_digits():
    mean = OTHERS.mean(axis=0)
    for digits in (1, 2):
        assert _arithmetic(mean.round(digits), OTHERS) == "mean"
        off = mean.round(digits)
        off[0] += 0.6 * 10.0**-digits + (mean[0] - off[0])
        assert _arithmetic(off.round(digits + 2), OTHERS) is None
    assert _arithmetic(np.array([]), OTHERS[:, :0]) is None


def test_find_roles_majority_requires_ten_differing_rows():
    votes = np.array([[1, 1, 2], [2, 1, 2], [3, 3, 1], [1, 2, 1], [4, 4, 2]] * 2, dtype=float).T
    most = np.array([1, 2, 3, 1, 4] * 2, dtype=float)
    # The majority of three is also their median, which is found first.
    assert _arithmetic(most, votes) == "median"
    five = np.vstack([votes, votes[:1] * 0 + 9, votes[:1] * 0 + 8])
    assert _arithmetic(most, five) == "majority"
    assert _arithmetic(most[1:], five[:, 1:]) is None
    assert _arithmetic(np.where(np.arange(10) == 2, 1.0, most), five) is None


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
            "'zed', 'ox' could be judges (the name differs from 'rater 1', 'rater 2')",
        ),
        (["A1", "zed", "M1"], None, None),
        (["A1", "A2", "A3"], None, None),
    ],
)
def test_find_roles_suggests_judges(names, judges, words):
    labels = {name: [1, 2, 2, (k + 3) % 4] for k, name in enumerate(names)}
    found = guess({"item": list("abcd")} | labels)
    assert found.options.get("judges") == judges
    assert (found.ambiguities == ()) if words is None else any(one.startswith(words) for one in found.ambiguities)
    if judges:
        assert roles(found)[judges[0]] == "judge"
    told = guess({"item": list("abcd")} | labels, judges=(names[0],))
    assert roles(told)[names[0]] == "judge"
    assert not told.ambiguities


def test_find_roles_other_columns_are_metadata():
    n = MOST_CATEGORIES + 1
    sheet = {"item": [f"i{k}" for k in range(n)], "ann": [1, 2] * (n // 2) + [1] * (n % 2), "bob": [2] * n,
             "word": [f"w{k}" for k in range(n)]}  # fmt: skip
    assert roles(guess(sheet)) == {"item": "item", "ann": "person", "bob": "person", "word": "item column"}


@pytest.mark.parametrize(
    ("name", "cells", "doubted"),
    [
        ("RATERID", [1, 1, 2, 2], True),  # a column of ids, although its cells could be labels
        ("rater", [8, 8, 9, 9], True),
        ("rater", ["k", "k", "l", "l"], False),  # words are not labels if other columns hold numbers
        ("rater", [1, 1, 2, 3], False),  # the same values as the other columns
        ("rater", [1, 1, 2, 5], False),  # an annotator can give a label that the others never give
        ("rater", [1, 1, 8, 8], True),  # half of the cells are labels of no other annotator
        ("rater", [1, 2, 8, 9], False),  # no name occurs twice
        ("ann", [8, 8, 9, 9], False),
    ],
)
def test_find_roles_annotator_column_is_ambiguous(name, cells, doubted):
    sheet = pl.DataFrame({"segment": ["a", "b", "c", "d"], name: cells, "warm": [1, 2, 3, 2], "clear": [3, 2, 1, 1]})
    words = (
        f"'{name}' could name the annotators (then set annotator='{name}', item=... and label=[...]); it is read as "
        "one annotator's labels"
    )
    assert (words in guess(sheet).ambiguities) is doubted
    assert not guess(sheet, shape="wide").ambiguities
    if doubted:  # two such columns are a rater and a grader
        two = guess(sheet.with_columns(grader=pl.Series([7, 7, 6, 6])))
        assert not any("may name" in doubt for doubt in two.ambiguities)


def test_find_roles_splits_annotator_and_criterion():
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


def test_find_roles_of_transposed_table():
    form = {"Timestamp": [f"2024-05-0{k} 10:00" for k in range(1, 4)], "Name": ["ann", "bob", "gpt-4o"]}
    asked = {f"Question {k}": [1 + k % 2, 2, 2] for k in range(4)}
    found = guess(form | asked)
    assert found.shape == "transposed"
    assert found.options["annotator"] == "Name"
    assert found.options["columns"] == list(asked)
    assert found.options["judges"] == ["gpt-4o"]
    assert found.ambiguities[0] == "rows look like annotators (named by 'Name') and columns like items"
    assert roles(found) == {"Timestamp": "time stamp", "Name": "annotator"} | dict.fromkeys(asked, "item")
    told = guess(form | asked, shape="transposed", judges=())
    assert told.ambiguities == ()
    nobody = guess({"Timestamp": form["Timestamp"]} | asked)
    assert nobody.options["annotator"] == ROWS
    assert (
        nobody.ambiguities[0] == "rows look like annotators and columns like items, but no column names the annotators"
    )
    # Two questions are not enough for a form.
    assert guess(form | dict(list(asked.items())[:2])).shape != "transposed"


# -- words -------------------------------------------------------------------------------------------------


def test_read_call_quotes_options():
    assert read_call("a table in memory", {"scale": "1-5"}) == "assay.read(frame, scale='1-5')"
    assert read_call("a.csv", {"judges": ("m",), "scale": "1-5"}) == "assay.read('a.csv', judges=['m'], scale='1-5')"
    assert same_except_spelling(["Ann", "ann ", "bob", "b.o", "b_o"]) == [("Ann", "ann "), ("b.o", "b_o")]


# -- function by function ------------------------------------------------------------------------------------


def finder(table: dict[str, list[Any]], /, **told: Any) -> _Finder:
    frame = pl.DataFrame(table, strict=False)
    return _Finder(views_of(frame), SpecifiedRoles(**told), frame)


def of_name(name: str, cells: list[Any], *beside: str) -> str | None:
    return finder({name: cells, **{one: [3, 1] for one in beside}})._role_by_name(name)


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
        ("bob", [5, 7], ("ann",), None),
    ],
)  # fmt: skip
def test_role_by_name_of_usual_names(name, cells, beside, role):
    assert of_name(name, cells, *beside) == role


def test_role_by_name_of_dates():
    for n, role in ((MOST_CATEGORIES, None), (MOST_CATEGORIES + 1, "time stamp")):
        days = [f"2024-{1 + k // 28:02d}-{1 + k % 28:02d}" for k in range(n)]
        assert of_name("x", days) == role
        assert finder({"x": days})._other_role("x") == ("time stamp", "dates" if role is None else "dates and times")


@pytest.mark.parametrize(
    ("name", "cells", "told", "role"),
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
def test_other_role_of_columns(name, cells, told, role):
    assert finder({name: cells}, **told)._other_role(name) == role


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
    assert len(finder(table)._questions()) == asked
    assert finder(table).shape() == ("transposed" if asked else "wide")


def test_questions_more_than_annotators_make_a_form():
    for n, asked in ((60, 0), (61, 61)):
        people = [f"p{k}" for k in range(66)]
        words = {"".join("abcdefghij"[int(c)] for c in str(k)) + "!": [3, 1, 2] * 22 for k in range(n)}
        assert len(finder({"name": people, **words})._questions()) == asked


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
    ("table", "told", "shape"),
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
def test_shape_is_found_by_names_and_contents(table, told, shape):
    assert finder(table, **told).shape() == shape


@pytest.mark.parametrize(
    ("table", "told", "found"),
    [
        ({"item": [1, 2], "annotator": ["a", "b"], "label": [3, 1]}, {}, ("item", "annotator", "label")),
        ({"item": [1, 2], "worker": ["a", "b"], "label": [3, 1]}, {}, ("item", None, "label")),
        ({"item": [1, 2, 3], "worker": ["a", "a", "b"], "score": [3, 1, 2]}, {}, ("item", "worker", "score")),
        ({"item": [1, 2, 3], "model": ["a", "a", "b"], "score": [3, 1, 2]}, {}, ("item", "model", "score")),
        ({"item": [1, 2, 3], "model": ["a", "c", "b"], "score": [3, 1, 2]}, {}, ("item", None, "score")),
        ({"item": [1, 2, 3], "worker": ["a", "a", "b"], "score": [1, 2, 3]}, {}, ("item", "worker", None)),
        ({"item": [1, 2, 3], "worker": ["a", "a", "b"], "score": [None] * 3}, {}, ("item", "worker", None)),
        ({"text": [*"xyz"], "row": [*"abc"], "id": [1, 2, 3]}, {}, ("text", None, None)),  # rows are numbered by the id
        ({"x": [*"xyz"], "id": [1, 2, 3]}, {}, ("id", None, None)),
        ({"item": [1, 2], "x": [2, 1], "label": [3, 1]}, {"item": "x", "label": "item"}, ("x", None, "item")),
        ({"item": [1, 1], "name": ["a", "a"], "label": [3, 1]}, {"item": "name"}, ("name", None, "label")),
    ],
)  # fmt: skip
def test_long_roles_by_name(table, told, found):
    assert tuple(finder(table, **told)._long_roles().values()) == (*found,)


def test_long_roles_prefer_ids():
    one = finder({"text": [1], "text_id": [1], "doc": [1], "doc_ids": [1]})
    assert one._most_likely("item", ["text", "text_id"]) == ["text_id"]
    assert one.ambiguities == []
    assert one._most_likely("item", ["text_id", "doc_ids"]) == ["text_id", "doc_ids"]
    assert one._most_likely("label", ["text", "text_id"]) == ["text", "text_id"]
    assert one._most_likely("annotator", ["text", "doc"]) == ["text", "doc"]
    assert one.ambiguities == [
        "'text_id', 'doc_ids' could each hold the item (set item=...)",
        "'text', 'text_id' could each hold the label (set label=...)",
        "'text', 'doc' could each hold the annotator (set annotator=...)",
    ]  # fmt: skip


def test_long_roles_several_label_columns_are_criteria():
    people = {"item": [*"aabb"], "rater": [*"xyxy"], "warm": [1, 2, 3, 2], "clear": [3, 2, 1, 1], "far": [0, 900, 1, 2]}
    found = guess(people, annotator="rater")
    assert found.options == {"annotator": "rater", "label": ["warm", "clear"]}
    assert {"item": "item", "rater": "annotator", "warm": "label", "clear": "label"}.items() < roles(found).items()
    assert roles(found)["far"] != "label"
    assert (why(found, "rater"), why(found, "warm"), why(found, "item")) == ("as specified", "by name", "by name")
    one = guess({name: people[name] for name in ("item", "rater", "warm")}, annotator="rater")
    assert one.options == {"annotator": "rater", "label": "warm"}
    empty = guess({"thing": [1, 1], "other": [None, None]}, shape="long")
    assert empty.errors == (
        "no column with the item id was found (set item=...)",
        "no column with the annotators was found (set annotator=...)",
    )  # fmt: skip


def test_long_table_of_models_is_ambiguous():
    table = {"item": [*"aabb"], "model": ["gpt-4", "claude-3"] * 2, "label": [1, 2, 3, 2]}
    words = "'model' contains only models, which can be judges or the systems that are rated"
    assert words in guess(table).ambiguities
    assert words not in guess(table | {"model": ["gpt-4", "ann"] * 2}).ambiguities
    assert words not in guess({("who" if name == "model" else name): v for name, v in table.items()}).ambiguities
    assert guess(table).options["judges"] == ["gpt-4", "claude-3"]
    assert "judges" not in guess(table | {"kind": ["judge", "human"] * 2}).options


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
        ("rater1 rater2 x y", ["x", "y"], "'x', 'y' could be judges (the name differs from 'rater1', 'rater2')"),
        ("rater1 rater2 x y z", None, None),  # more other names than annotators
        ("rater1 x", None, None),
        ("rater1 rater2", None, None),
        ("A1 A2 M", ["M"], "'M' could be a judge (the name differs from 'A1', 'A2')"),
        ("A1 A2 M1 human", ["M1"], "'M1' could be a judge (the name differs from 'A1', 'A2', 'human')"),
        ("A1 A2 zed", None, None),  # only a letter distinguishes annotators from models
        (
            "A1 human1 human2 zed",
            ["A1", "zed"],
            "'A1', 'zed' could be judges (the name differs from 'human1', 'human2')",
        ),
    ],
)
def test_name_judges_by_pattern(names, judges, doubt):
    one, options = finder({"x": [1]}), {}
    one._name_judges(names.split(), options)
    assert (options.get("judges"), one.ambiguities) == (judges, [] if doubt is None else [doubt])
    for told in ({"judges": ()}, {"humans": ()}):
        said = finder({"x": [1]}, **told)
        said._name_judges(names.split(), options)
        assert said.ambiguities == []


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


@pytest.mark.parametrize(
    ("texts", "numbers", "kept", "doubt"),
    [
        (1, 3, "n", False), (3, 1, "t", False), (2, 2, "n", True), (1, 1, "n", True), (2, 1, "t", False),
        (1, 2, "n", False),
    ],
)  # fmt: skip
def test_keep_one_kind_selects_larger_group(texts, numbers, kept, doubt):
    table = {f"t{k}": ["yes", "no", "no"] for k in range(texts)} | {f"n{k}": [3, 1, 2] for k in range(numbers)}
    one, found = finder(table), {}
    assert one._keep_one_kind(list(table), found) == [name for name in table if name[0] == kept]
    beside = "words, while other columns hold numbers" if kept == "n" else "numbers, while other columns hold words"
    assert found == {name: ("item column", beside) for name in table if name[0] != kept}
    assert bool(one.ambiguities) is doubt
    if doubt:
        wanted = [f"n{k}" for k in range(numbers)]
        assert one.ambiguities[0].endswith(f"; name the annotators' columns with columns={wanted}")


def test_keep_one_range_uses_median_of_ends():
    def kept(*tops):
        table = {f"c{k}": [0, top] for k, top in enumerate(tops)}
        found = {}
        names = finder(table)._keep_one_range(list(table), found)
        assert set(found) == set(table) - set(names)
        assert all(role == "item column" for role, _ in found.values())
        return [tops[int(n[1:])] for n in names]

    assert kept(5, 5, 51) == [5, 5]
    assert kept(5, 50, 50) == [5, 50, 50]
    assert kept(5, 51, 51, 51) == [5, 51, 51, 51]
    assert kept(4, 5, 50, 51) == [4, 5, 50]  # the second of four
    assert kept(0.1, 0.1, 10) == [0.1, 0.1, 10]
    assert kept(0.1, 0.1, 10.5) == [0.1, 0.1]
    assert kept(1, 99) == [1, 99]


def test_majority_of_words_by_hand():
    def majority(said, votes):
        table = {"x": said} | {f"v{k}": [row[k] for row in votes] for k in range(len(votes[0]))}
        return finder(table)._majority_of_words("x", [n for n in table if n != "x"])

    votes = [("a", "a", "b"), ("b", "c", "b")] * 5
    most = ["a", "b"] * 5
    assert majority(most, votes) == "majority"
    assert majority([*most[:9], None], votes) is None  # nine rows
    assert majority([*most[:9], "c"], votes) is None
    assert majority([*most, "z", "z"], [*votes, ("a", "b", "c"), ("a", "a", "a")]) == "majority"  # no informative row
    assert majority([*most, "a"], [*votes, ("a", "a", None)]) == "majority"
    assert majority([*most[:9], "b"], [*votes[:9], ("b", "a", None)]) is None
    assert finder({"x": most, "v": most, "w": most})._follows("x", ["v", "w"], {}) is None
    three = {"x": most} | {f"v{k}": [row[k] for row in votes] for k in range(3)}
    assert finder(three)._follows("x", ["v0", "v1", "v2"], {}) == "majority"


def test_computed_rows_are_found():
    def rows(*items, labels=("p",), **told):
        table = {"item": [*items], "p": [3] * len(items)}
        return finder(table, **told)._computed_rows("item", list(labels))

    reason = "computed from the rows above it"
    assert rows("a", "b", "Mean", "c", "SD") == {reason: ("Mean", "SD")}
    assert rows("a", "Mean", "b") == rows("Mean", "a", "b") == rows("a", "b", "Meaning", None) == {}
    assert rows("a", "b", "Mean", exclude=()) == rows("a", "b", "Mean", labels=()) == {}
    assert finder({"p": [1, 2, 3]})._computed_rows("item", ["p"]) == {}


def test_find_computed_from_humans_only():
    people = {"item": [f"i{k}" for k in range(12)], "p": [1, 2, 3] * 4, "q": [2, 4, 5] * 4}
    found = guess(people | {"gpt-4": [5, 1, 1] * 4, "x": [1.5, 3.0, 4.0] * 4})
    assert why(found, "x") == "equals the mean of p, q"
    assert roles(found)["gpt-4"] == "judge"
    every = guess(people | {"gpt-4": [6, 3, 1] * 4, "x": [3.0, 3.0, 3.0] * 4})
    assert why(every, "x") == "equals the mean of p, q, gpt-4"
    assert (
        "'x' equals the mean of 'p', 'q', 'gpt-4' and could be computed from them" in every.ambiguities
    )  # whole numbers
    three = people | {"s": [3, 3, 3] * 4}
    named = guess(three | {"mean": [2, 3, 3.67] * 4})
    assert (roles(named)["mean"], why(named, "mean")) == ("computed", "equals the mean of p, q, s")
    other = guess(three | {"mean": [2, 3, 3.6] * 4})
    assert (roles(other)["mean"], why(other, "mean")) == ("computed", "by name")
    # A computed column follows the columns that it is computed from.
    twice = guess(people | {"r": [3, 6, 8] * 4})
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
    assert _arithmetic(np.array(column, float), np.array(others, float)) == how


def test_is_majority_requires_three_and_a_leading_label():
    others = np.array([[1, 2], [1, 3], [9, 2]], float).repeat(5, axis=1)
    most = np.array([1, 2], float).repeat(5)
    uneven = np.ones(10, bool)
    assert _is_majority(most, others, uneven)
    assert not _is_majority(most, others[:2], uneven)
    assert not _is_majority(most[1:], others[:, 1:], uneven[1:])
    assert not _is_majority(np.where(np.arange(10) == 4, 9, most), others, uneven)
    ties = np.concatenate([others, [[1], [2], [3]]], axis=1)  # a tie is not informative
    assert _is_majority(np.r_[most, 7], ties, np.ones(11, bool))


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
    found = guess(form, shape="transposed", columns=("q1", "q2"))
    assert found.options == {"layout": "transposed", "annotator": "Name", "columns": ["q1", "q2"]}
    assert (roles(found)["q3"], why(found, "q3")) == ("technical", "not a question")
    assert (why(found, "Name"), why(found, "q1")) == ("a different annotator in each row", "a question")
    assert found.ambiguities == ()
    rows = guess(form, shape="transposed", annotator=ROWS)
    assert (rows.options["annotator"], rows.ambiguities) == (ROWS, ())
    stamps = guess({"Timestamp": days, **THREE})
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


def test_guess_notes_list_roles():
    columns = (
        ColumnRole("a", "person", "1 to 5"), ColumnRole("b", "person", "1 to 4"), ColumnRole("m", "computed", "a mean"),
        ColumnRole("w", "item column", "words"), ColumnRole("v", "item column", "dates"),
        ColumnRole("g", "gold", "named"), ColumnRole("u", "unknown", "?"),
    )  # fmt: skip
    found = Guess("wide", columns, {"item": ROWS}, rows={"computed": ("Mean", "SD", "Sum", "Max")})
    assert found.notes() == [
        "'a', 'b' parsed as human labels", "'m' ignored (computed): a mean",
        "'w', 'v' kept as item metadata", "'g' kept as item metadata (gold label): named",
        "no item id found; rows are numbered", "row 'Mean', 'SD', 'Sum' and 1 more ignored: computed",
    ]  # fmt: skip
    assert found.named("computed", "gold") == ["m", "g"]


def test_unclear_lists_all_problems():
    error = unclear("t.csv", ["one", "two"], {"item": "x"})
    assert str(error) == "t.csv: one; two. If that is right: assay.read('t.csv', item='x')"
    assert (error.problems, error.source, error.advised) == (("one", "two"), "t.csv", {"item": "x"})
    assert str(unclear("t.csv", ["one"], {})) == "t.csv: one"
    assert read_call(["a.csv", "b.csv"], {}) == "assay.read(['a.csv', 'b.csv'])"


def test_views_of_inspects_first_rows():
    frame = pl.DataFrame({"x": [1] * ROWS_INSPECTED + [7], "_row": 0})
    seen = views_of(frame)
    assert (list(seen), seen["x"].rows, seen["x"].ends) == (["x"], ROWS_INSPECTED, (1, 1))
