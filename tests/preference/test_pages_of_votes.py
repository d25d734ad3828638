"""Parts of a report about votes: columns, sentences and pictures of results of few votes."""

from __future__ import annotations

import re
from dataclasses import replace

import polars as pl
import pytest
from test_leaderboard import frame_of, votes_of

import assay
from assay.estimation.result import Exclusion
from assay.preference.page import consistency_parts, leaderboard_parts, position_parts, separability_parts

# -- boards -------------------------------------------------------------------------------------------

COLUMNS = ["rank", "system", "estimate", "low", "high", "rank_low", "rank_high", "win_rate", "votes"]


def wins(rater, *order, often=4):
    """Votes of a rater, each item on two systems: the first of ``order`` wins most often."""
    pairs = [(a, b) for k, a in enumerate(order) for b in order[k + 1 :]]
    return [
        (f"{a}{b}{i}", rater, a, b, 1 if i == 0 else -1) for a, b in pairs for i in range(often)
    ]  # the first vote of each pair is for the second


def board(rows, judges=(), columns=None, **options):
    labels = votes_of(frame_of(rows, **(columns or {})), judges=[*judges])
    found = assay.ratings(labels, **{"method": "jackknife"} | options)
    found = replace(found, run=replace(found.run, exclusions=(Exclusion("vote", 2, "odd"),)))
    (part,) = leaderboard_parts(found)
    # The systems are in the table; the leads name their board.
    said = [re.sub(r"^[^:]*: (?=\S+ (− |and \S+ have)|No ratings)", "", line) for line in part.words]
    summary = [line for line in found.summary().splitlines() if not re.match(r"\d+\. |.* \([\d,]+ votes?\):$", line)]
    assert [line for line in summary if not line.startswith("Caution: ")] == [*said, found.signature]
    assert part.cautions == found.cautions
    return part


HUMAN = wins("w", "a", "b", "c")


def test_a_single_board_shows_no_column_that_is_the_same_in_all_rows():
    part = board(HUMAN)
    assert part.words[0].startswith("a − b: ")
    assert part.lines == ("2 votes: odd",)
    ((_, frame),) = part.frames
    assert frame.columns == COLUMNS
    assert [caption for caption, _ in part.pictures] == [
        "Ratings with their intervals", "Wins of the row over the column, in percent",
    ]  # fmt: skip


@pytest.mark.slow
def test_boards_of_several_raters_groups_and_components_name_them():
    rows = [*HUMAN, *wins("m", "a", "b", "c")]
    part = board(rows, ["m"], {"topic": ["art"] * len(HUMAN) + ["law"] * len(HUMAN)}, by="topic")
    ((_, frame), *_) = part.frames
    leads = [line for line in part.words if " − " in line]
    assert [line.split(":")[0] for line in leads] == ["Humans", "Humans, art", "m", "m, law"]
    assert frame.columns[:3] == ["who", "group", "rank"]
    assert part.title == "Ranking of systems by humans and judges"
    assert [caption for caption, _ in part.pictures][1:] == [
        "Wins of the row over the column, in percent: humans",
        "Wins of the row over the column, in percent: m",
    ]
    apart = [*wins("w", "a", "b"), *wins("w", "c", "d")]
    plain = board(apart, columns={"length": [float(k % 3) for k in range(len(apart))]}, covariates=["length"])
    assert plain.frames[0][1].columns == ["component", *COLUMNS, "plain", "plain_rank"]


@pytest.mark.parametrize(
    ("who", "title"),
    [(["humans"], "humans"), (["together"], "humans and judges together"), (["m"], "raters"),
     (None, "humans and judges")],
)  # fmt: skip
def test_title_names_the_raters(who, title):
    part = board([*HUMAN, *wins("m", "a", "b", "c")], ["m"], who=who)
    assert part.title == f"Ranking of systems by {title}"


def test_pairs_moves_and_covariates_have_frames_where_there_are_some():
    def captions(part):
        return [caption.split()[0] for caption, _ in part.frames]

    same, turned = wins("m", "a", "b", "c"), wins("m", "a", "c", "b")
    assert captions(board(HUMAN)) == ["Systems"]
    assert captions(board([*HUMAN, *same], ["m"])) == ["Systems", "Pairs"]
    length = [float(k % 3) for k in range(2 * len(HUMAN))]
    found = board([*HUMAN, *turned], ["m"], {"length": length}, covariates=["length"])
    assert captions(found) == ["Systems", "Pairs", "Systems", "Effects"]
    # Only systems whose rank is another; no empty column of groups.
    assert found.frames[2][1].select("system", "rank_humans", "rank_judge").rows() == [("b", 2, 3), ("c", 3, 2)]
    assert found.frames[3][1].columns[:3] == ["who", "covariate", "estimate"]
    assert found.frames[1][1].columns[:4] == ["who", "first", "second", "humans"]
    assert "p" not in found.frames[1][1].columns
    topics = [("art", "law")[k % 2] for k in range(2 * len(HUMAN))]
    grouped = board([*HUMAN, *same], ["m"], {"topic": topics}, by="topic")
    assert grouped.frames[1][1].columns[:2] == ["who", "group"]


# -- rating sets --------------------------------------------------------------------------------------


def sets(*rows, x=None):
    """The part of two votes of w each on items of these pairs of systems, with a number of each item."""
    votes = [(f"i{k}", "w", a, b, v) for k, (a, b) in enumerate(rows) for v in (-1, 1 - 2 * (k % 2))]
    columns = {} if x is None else {"x": [one for one in x for _ in range(2)]}
    found = assay.consistency(votes_of(frame_of(votes, **columns)), by=None if x is None else "x", bins=2)
    (part,) = consistency_parts(found)
    return part, found.summary().splitlines()


def test_rating_sets_name_the_pair_where_there_are_several_and_the_bin_where_there_is_one():
    one, lines = sets(("a", "b"), ("a", "b"), ("b", "a"))
    shares = ["unanimous", "one_sided", "mixed", "all_ties"]
    assert one.frames[0][1].columns == ["who", "estimate", "low", "high", "sets", *shares]
    assert list(one.words) == lines[:-1]
    # Several pairs have a row for all of them, without names.
    several, lines = sets(("a", "b"), ("a", "b"), ("a", "c"), ("a", "c"))
    assert several.frames[0][1].columns[:3] == ["who", "first", "second"]
    assert several.frames[0][1]["first"].to_list() == [None, "a", "a"]
    assert list(several.words) == lines[:-1]


def test_sentences_on_bins_are_left_to_the_table():
    part, lines = sets(*[("a", "b")] * 6, x=[0, 0, 0, 1, 1, 1])
    # The whole, two bins, their difference, and how intervals were made.
    assert [line.split(":")[0] for line in lines[:4]] == [
        "humans, a and b", "humans, a and b, x 0 to 0.5", "humans, a and b, x 0.5 to 1", "humans",
    ]  # fmt: skip
    assert list(part.words) == [lines[0], *lines[3:-1]]
    assert part.frames[0][1].columns[:2] == ["who", "bin"]
    assert part.frames[0][0] == "Mean consistency of rating sets; shares of unanimous, one-sided, mixed and tied sets."


# -- separability and places --------------------------------------------------------------------------


def separated(topics, **options):
    """Separability of the outputs of two systems on items with these topics (or two items); it grows with the item."""
    n = len(topics) or 2
    rows = [
        (f"i{k:02}", who, r, " ".join(["same"] * (13 - k) + [f"{who}"] * k))
        for k in range(n) for who in ("a", "b") for r in (1, 2)
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "annotator", "repeat", "label"], orient="row")
    items = pl.DataFrame({"item": [f"i{k:02}" for k in range(n)], "topic": list(topics) or ["x"] * n})
    labels = assay.read(frame, scale="text", repeat="repeat", humans=["a", "b"], items=items)
    return assay.separability(labels, similarity="words", method="none", **options)


def test_the_ten_most_and_the_ten_least_separable_items():
    (part,) = separability_parts(separated("x" * 12))
    (_, _), (about, shares), (_, most), (_, least) = part.frames
    assert about.startswith("Items by scenario: ")
    assert shares["items"].sum() == 12
    assert most["item"].to_list() == [f"i{k:02}" for k in range(11, 1, -1)]
    assert least["item"].to_list() == [f"i{k:02}" for k in range(10)]
    assert len(part.pictures) == 1


@pytest.mark.parametrize(("groups", "pictures"), [("", 1), ("xx", 2), ("xy", 4)])
def test_plot_has_a_panel_for_each_group(groups, pictures):
    (part,) = separability_parts(separated(groups, by="topic" if groups else None))
    assert len(part.pictures) == pictures
    assert (part.pictures[0][0] == "Separability by group") is (len(set(groups)) > 1)


def test_places_are_told_by_criterion_and_by_the_number_of_texts():
    def part(criteria, biased=(), consistent=True):
        common = {"annotator": "m", "place": "first", "estimate": 0.7, "low": 0.6, "high": 0.8, "difference": 0.2}
        common |= {"n": 9, "ties": 0, "p": 0.01, "p_adjusted": 0.02 if biased else 0.3}
        rows = [
            common | {"criterion": c, "chance": chance, "annotator": who}
            for c, chance in criteria for who in biased or ("m",)
        ]  # fmt: skip
        shares = pl.DataFrame(rows, schema_overrides={"criterion": pl.String})
        both = shares.select("criterion", "annotator", "estimate", "low", "high", "n")
        votes = {"item": ["i", "j"], "annotator": "m", "first": "a", "second": "b", "label": [-1, 1], "position": 1}
        found = assay.position_bias(assay.read(pl.DataFrame(votes), scale="preference"), method="none")
        run = replace(found.run, cautions=("Always in one order.",))
        found = replace(found, shares=shares, consistency=both if consistent else both.head(0), run=run)
        return position_parts(found)[0]

    one = part([(None, 0.5)])
    assert (*one.words, *one.cautions) == (
        "No position bias detected for any annotator (1 share tested, Holm-adjusted; intervals are not adjusted).",
        "Always in one order.",
    )  # fmt: skip
    assert one.frames[0][1].columns[:2] == ["annotator", "place"]
    assert [caption for caption, _ in one.pictures] == ["Share of choices by place, 2 texts"]
    two = part([("tone", 1 / 3), (None, 0.5)], biased=("m", "k"), consistent=False)
    assert two.words[0] == (
        "Position bias detected for m, k (4 shares tested, Holm-adjusted; intervals are not adjusted)."
    )
    assert two.frames[0][1].columns[0] == "criterion"
    assert (len(one.frames), len(two.frames)) == (2, 1)
    assert [caption.split(", ")[1][0] for caption, _ in two.pictures] == ["2", "3"]
