"""Parts of a report about votes: columns, sentences and pictures of known results."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest

from assay.preference.page import consistency_parts, leaderboard_parts, position_parts, separability_parts


def picture(*_, **__):
    """Not drawn."""


def result(lines, **more):
    """A result whose last line is its signature."""
    return SimpleNamespace(summary=lambda: "\n".join([*lines, "signature"]), exclusions=("2 votes: odd",), **more)


# -- boards -------------------------------------------------------------------------------------------

BOARD = {"rank": 1, "system": "a", "estimate": 1.0, "low": 0.0, "high": 2.0, "rank_low": 1, "rank_high": 2,
         "win_rate": 0.6, "votes": 9, "component": None}  # fmt: skip
PAIR = {"who": "m", "group": None, "first": "a", "second": "b", "humans": 1.0, "judge": 2.0, "p": 0.01,
        "demonstrated": True}  # fmt: skip
RANK = {"who": "m", "system": "a", "rank_humans": 1, "rank_judge": 1, "demonstrated": False}
EFFECT = {"who": "humans", "group": None, "covariate": "length", "estimate": 3.0}


def board(*rows, pairs=(), ranks=(), coefficients=(), raters=("humans",), **more):
    rows = pl.DataFrame([BOARD | {"who": "humans", "group": None} | row for row in rows] or [BOARD], strict=False)
    frames = {"pairs": pairs, "ranks": ranks, "coefficients": coefficients}
    made = {name: pl.DataFrame(some, infer_schema_length=None) for name, some in frames.items()}
    (part,) = leaderboard_parts(
        result(["one", "two"], rows=rows, raters=raters, plot=picture, plot_wins=picture, **made, **more)
    )
    return part


def test_a_single_board_shows_no_column_that_is_the_same_in_all_rows():
    part = board({"rank": 1}, {"rank": 2})
    assert part.words == ("one", "two")
    assert part.lines == ("2 votes: odd",)
    ((_, frame),) = part.frames
    assert frame.columns == [name for name in BOARD if name != "component"]
    assert [caption for caption, _ in part.pictures] == [
        "Ratings with their intervals", "Wins of the row over the column, in percent",
    ]  # fmt: skip


def test_boards_of_several_raters_groups_and_components_name_them():
    part = board({"who": "humans", "group": "art"}, {"who": "m", "group": None}, raters=("humans", "m"))
    ((_, frame),) = part.frames
    assert frame.columns[:3] == ["who", "group", "rank"]
    assert part.title == "Ranking of systems by humans and judges"
    assert [caption for caption, _ in part.pictures][1:] == [
        "Wins of the row over the column, in percent: humans",
        "Wins of the row over the column, in percent: m",
    ]
    plain = board(
        {"component": "a, b", "plain": 3.0, "plain_rank": 1}, {"component": "c, d", "plain": 2.0, "plain_rank": 2}
    )
    assert plain.frames[0][1].columns[0] == "component"
    assert plain.frames[0][1].columns[-2:] == ["plain", "plain_rank"]


@pytest.mark.parametrize(
    ("raters", "title"),
    [(("humans",), "humans"), (("together",), "humans and judges together"), (("m",), "raters"),
     (("humans", "m"), "humans and judges")],
)  # fmt: skip
def test_title_names_the_raters(raters, title):
    assert board({"rank": 1}, raters=raters).title == f"Ranking of systems by {title}"


def test_pairs_moves_and_covariates_have_frames_where_there_are_some():
    def captions(**more):
        return [caption.split()[0] for caption, _ in board({"rank": 1}, **more).frames]

    assert captions() == ["Systems"]
    assert captions(pairs=[PAIR], ranks=[RANK]) == ["Systems", "Pairs"]
    other = RANK | {"rank_judge": 2}
    found = board({"rank": 1}, pairs=[PAIR], ranks=[RANK, other], coefficients=[EFFECT])
    assert found.frames[2][1].rows() == [tuple(other.values())]  # only systems whose rank is another
    assert found.frames[3][1].columns == ["who", "covariate", "estimate"]  # without the empty group
    assert found.frames[1][1].columns == ["who", "first", "second", "humans", "judge", "demonstrated"]
    grouped = board({"rank": 1}, pairs=[PAIR, PAIR | {"group": "art"}], ranks=[RANK])
    assert grouped.frames[1][1].columns[:2] == ["who", "group"]


# -- rating sets --------------------------------------------------------------------------------------


def sets(*rows, lines):
    """Rows of (first, second, bin)."""
    numbers = {"estimate": 0.5, "low": 0.4, "high": 0.6, "sets": 9, "one_sided": 0.5, "mixed": 0.3, "all_ties": 0.2,
               "unanimous": 0.4}  # fmt: skip
    frame = pl.DataFrame(
        [{"who": "m", "first": a, "second": b, "bin": bin_} | numbers for a, b, bin_ in rows],
        infer_schema_length=None, schema_overrides=dict.fromkeys(("first", "second", "bin"), pl.String),
    )  # fmt: skip
    found = result(
        lines, rows=frame, headlines=frame, measure="consistency", plot=picture, plot_values=picture
    )  # fmt: skip
    (part,) = consistency_parts(found)
    return part


def test_rating_sets_name_the_pair_where_there_are_several_and_the_bin_where_there_is_one():
    one = sets(("a", "b", None), lines=["m, a and b"])
    shares = ["unanimous", "one_sided", "mixed", "all_ties"]
    assert one.frames[0][1].columns == ["who", "estimate", "low", "high", "sets", *shares]
    assert one.words == ("m, a and b",)
    # Several pairs have a row for all of them, without names.
    several = sets((None, None, None), ("a", "b", None), ("a", "c", None), lines=["all", "first", "second", "trend"])
    assert several.frames[0][1].columns[:3] == ["who", "first", "second"]
    assert several.words == ("all", "first", "second", "trend")


def test_sentences_on_bins_are_left_to_the_table():
    part = sets(("a", "b", None), ("a", "b", "low"), ("a", "b", "high"), lines=["whole", "low", "high", "trend"])
    assert part.words == ("whole", "trend")
    assert part.frames[0][1].columns[:2] == ["who", "bin"]
    assert part.frames[0][0] == "Mean consistency of rating sets; shares of unanimous, one-sided, mixed and tied sets."


# -- separability and places --------------------------------------------------------------------------


def test_the_ten_most_and_the_ten_least_separable_items():
    items = pl.DataFrame({"item": [f"i{k:02}" for k in range(12)], "separability": [k / 12 for k in range(12)]})
    found = result(["one"], items=items, rows=items, groups=(), plot=picture, scenarios=lambda: items.head(1))
    (part,) = separability_parts(found)
    (_, _), (about, shares), (_, most), (_, least) = part.frames
    assert about.startswith("Items by scenario: ")
    assert shares.height == 1
    assert most["item"].to_list() == [f"i{k:02}" for k in range(11, 1, -1)]
    assert least["item"].to_list() == [f"i{k:02}" for k in range(10)]
    assert len(part.pictures) == 1


@pytest.mark.parametrize(("groups", "pictures"), [((), 1), (("x",), 2), (("x", "y"), 4)])
def test_plot_has_a_panel_for_each_group(groups, pictures):
    items = pl.DataFrame({"item": ["a"], "separability": [0.1]})
    found = result(
        ["one"], items=items, rows=items, groups=groups, plot=picture, plot_groups=picture, scenarios=lambda: items
    )
    (part,) = separability_parts(found)
    assert len(part.pictures) == pictures
    assert (part.pictures[0][0] == "Separability by group") is (len(groups) > 1)


def test_places_are_told_by_criterion_and_by_the_number_of_texts():
    def part(criteria, biased=(), consistent=True):
        common = {"annotator": "m", "place": "first", "estimate": 0.7, "low": 0.6, "high": 0.8, "difference": 0.2}
        common |= {"n": 9, "ties": 0}
        shares = pl.DataFrame(
            [common | {"criterion": c, "chance": chance} for c, chance in criteria],
            schema_overrides={"criterion": pl.String},
        )
        both = shares.select("criterion", "annotator", "estimate", "low", "high", "n")
        found = result(
            [], shares=shares, consistency=both if consistent else both.head(0), biased=biased, counted="choices",
            cautions=("Always in one order.",), plot=picture,
        )  # fmt: skip
        return position_parts(found)[0]

    one = part([(None, 0.5)])
    assert one.words == (
        "No position bias detected for any annotator.", "Always in one order.",
    )  # fmt: skip
    assert one.frames[0][1].columns[:2] == ["annotator", "place"]
    assert [caption for caption, _ in one.pictures] == ["Share of choices by place, 2 texts"]
    two = part([("tone", 1 / 3), (None, 0.5)], biased=("m", "k"), consistent=False)
    assert two.words[0] == "Position bias detected for m, k."
    assert two.frames[0][1].columns[0] == "criterion"
    assert (len(one.frames), len(two.frames)) == (2, 1)
    assert [caption.split(", ")[1][0] for caption, _ in two.pictures] == ["2", "3"]
