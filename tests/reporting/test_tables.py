"""Numbers and tables for readers: rounded, named, aligned, wrapped to a width, as LaTeX and HTML."""

from __future__ import annotations

import polars as pl
import pytest

from assay.reporting import tables
from assay.reporting.tables import (
    Table,
    clip_name,
    decimals,
    estimated,
    interval,
    number,
    p_value,
    printable,
    said,
    signed,
)

NONE = float("nan")


@pytest.mark.parametrize(
    ("say", "given", "wanted"),
    [
        (number, (0.126,), "0.13"), (number, (None,), "–"), (number, (NONE,), "–"), (number, (float("inf"),), "–"),
        (number, (0.1, 3), "0.10"), (number, (0.125, 3), "0.125"), (number, (2.0, 4), "2.00"),
        (number, (0.1234, 4), "0.1234"), (number, (0.12, 4), "0.12"), (number, (0.12, 1), "0.1"),
        (number, (-0.5,), "−0.50"), (number, (3, 2), "3.00"),
        (decimals, (-0.001, 2), "0.00"), (decimals, (-0.126, 2), "−0.13"), (decimals, (12.5, 0), "12"),
        (signed, (0.2,), "+0.20"), (signed, (-0.2, 1), "−0.2"), (signed, (-0.001,), "+0.00"),
        (interval, (0.1, 0.2), "[0.10, 0.20]"), (interval, (-0.1, 0.2, 1, "+"), "[−0.1, +0.2]"),
        (interval, (None, 0.2), "(no interval)"), (interval, (0.1, None), "(no interval)"),
        (interval, (0.1, NONE), "(no interval)"), (interval, (NONE, 0.2), "(no interval)"),
        (estimated, (0.5, 0.4, 0.6, 1), "0.5 [0.4, 0.6]"), (estimated, (0.5, 0.4, 0.6), "0.50 [0.40, 0.60]"),
        (estimated, (NONE, None, None), "not estimable (no interval)"),
        (said, (0.5,), "0.50"), (said, (NONE,), "not estimable"), (said, (-0.5, 1), "−0.5"),
        (p_value, (0.01234,), "p = 0.012"), (p_value, (0.0009,), "p < 0.001"), (p_value, (0.001,), "p = 0.001"),
        (p_value, (NONE,), "no p-value"), (p_value, (0.9996,), "p = 1.000"),
        (clip_name, ("a" * 34,), "a" * 34), (clip_name, ("a" * 17 + "b" * 18,), "a" * 17 + "…" + "b" * 16),
        (clip_name, ("abcdef", 5), "ab…f"), (clip_name, ("abcdef", 6), "abcdef"),
    ],
)  # fmt: skip
def test_numbers_for_readers(say, given, wanted):
    assert say(*given) == wanted


FRAME = pl.DataFrame(
    {
        "judge": ["a_b", "c"], "estimate": [0.5, None], "low": [0.4, None], "high": [0.6, None], "n": [1200, 7],
        "p": [0.0004, 0.0125], "power": [0.0001, 2.0], "p_adjusted": [0.001, 1.0], "winning_rate": [1.0, 0.25],
        "sets": [12.0, 2.5],
        "passed": [True, False], "items": [3, 5], "items_low": [2, None], "items_high": [1500, None],
    }
)  # fmt: skip


def test_columns_are_named_and_numbers_rounded():
    table = tables.shown(FRAME, symbol="κ", counted="answers", caption="who", drop=["sets"])
    assert table.columns == ("judge", "κ", "answers", "p", "power", "p (adjusted)", "ω", "passed", "items")
    assert table.rows == (
        ("a_b", "0.50 [0.40, 0.60]", "1,200", "< 0.001", "0.00", "0.001", "1.00", "yes", "3 (2 to 1,500)"),
        ("c", "–", "7", "0.013", "2", "1.00", "0.25", "no", "5 (? to ?)"),
    )
    assert table.numeric == (False, True, True, True, True, True, True, False, True)
    assert table.caption == "who"
    assert [row[-1] for row in tables.shown(FRAME.select("sets")).rows] == ["12", "2.50"]


def test_intervals_are_drawn_and_words_coloured_in_the_columns_that_are_shown():
    frame = pl.DataFrame({
        "who": ["a", "b"], "hidden": [1.0, 2.0], "hidden_low": [0.0, 1.0], "hidden_high": [2.0, 3.0],
        "estimate": [5.0, 2.5], "low": [0.0, 2.5], "high": [10.0, 7.5], "few": [5.0, None], "few_low": [0.0, None],
        "few_high": [10.0, None], "n": [3, 4], "n_low": [1, 2], "n_high": [4, 5], "verdict": ["yes", "no"],
    })  # fmt: skip
    colours = {"yes": "good", "no": "bad"}
    found = tables.shown(frame, drop=["hidden", "verdict"], tones={"verdict": colours})
    assert found.columns == ("who", "estimate", "few", "items")
    # One interval alone is not drawn, and no range of a count.
    assert found.intervals == {1: tables.IntervalColumn(((50, 2, 98), (26, 26, 74)), 2)}
    assert found.tones == {}
    assert tables.shown(frame, drop=["hidden"], tones={"verdict": colours, "gone": colours}).tones == {4: colours}
    assert found.frame is frame
    # Tables with the same text are equal; the repr does not contain all digits.
    assert found == tables.shown(frame.with_columns(hidden=0.0), drop=["hidden", "verdict"], tones={"verdict": colours})
    assert "shape:" not in repr(found)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([300.0, 1081.2], ["300", "1081"]), ([299.9, 1081.2], ["299.90", "1081.20"]),
        ([-300.0, None], ["−300", "–"]), ([300.0, NONE], ["300", "–"]), ([None, None], ["–", "–"]),
    ],
)  # fmt: skip
def test_columns_of_hundreds_have_no_decimals(values, wanted):
    frame = pl.DataFrame({"estimate": pl.Series(values, dtype=pl.Float64), "low": NONE, "high": NONE})
    assert [row[0].removesuffix(" (no interval)") for row in tables.shown(frame).rows] == wanted


def test_filled_drops_empty_columns():
    frame = pl.DataFrame({"a": [1, None], "b": pl.Series([None, None], dtype=pl.Int64), "n": [1, 2]})
    assert tables.empty_columns(frame) == ("b",)
    assert tables.filled(frame, "votes").columns == ["a", "votes"]
    assert tables.filled(frame.drop("n"), "votes").columns == ["a"]
    assert tables.plain(frame).rows == (("1", "None", "1"), ("None", "None", "2"))
    assert tables.plain(pl.DataFrame({"a": [12345], "b": ["x"]})) == tables.Table(
        ("a", "b"), (("12,345", "x"),), (True, False)
    )
    assert tables.to_csv(frame) == "a,b,n\n1,,1\n,,2\n"


def test_to_markdown_escapes_cells():
    assert tables.to_markdown(Table(("who", "n"), (("a|b\nc", "1"),), (False, True))) == (
        "| who | n |\n| --- | --: |\n| a\\|b c | 1 |"
    )


def test_to_text_gives_empty_columns_no_width():
    table = Table(("who", "", "n"), (("ann", "", "1"), ("b", "", "12")), (False, False, True))
    assert tables.to_text(table).splitlines() == ["who     n", "ann     1", "b      12"]
    assert tables.to_text(table, 5).splitlines() == ["who     n", "ann     1", "b      12"]
    named = Table(("who", "n"), [("通义", "1"), ("ann", "12")], (False, True))  # each character has width two
    assert tables.to_text(named).splitlines() == ["who    n", "通义   1", "ann   12"]


def test_lines_of_a_terminal_are_of_80_characters_and_keep_their_indentation():
    words = "  " + " ".join(["word"] * 15) + " abc"  # 2 + 15 * 5 - 1 + 4 = 80
    assert tables.wrap_text(f"{words}\n\n{words}d efg\n{'x' * 90}") == (
        f"{words}\n\n{words.removesuffix(' abc')}\n  abcd efg\n{'x' * 90}"
    )
    assert tables.wrap_text("-".join(["part"] * 20)) == "-".join(["part"] * 20)


def test_interval_column_common_axis_by_hand():
    """From 2 to 98 percent of the width of the column: for ends 0 and 10, 5 is in the middle."""
    of = tables.IntervalColumn.of
    assert of([5.0, 2.5], [0.0, 2.5], [10.0, 7.5]) == tables.IntervalColumn(((50, 2, 98), (26, 26, 74)), 2)
    assert of([5.0, 2.5, None], [0.0, 2.5, None], [10.0, 7.5, None]).rows[2] is None
    assert of([5.0, 2.5], [0.0, NONE], [10.0, 7.5]) is None  # only one interval
    # 4 to 14: an axis from 0 would be 14 for 10, as 4 < 10 / 2; 5 to 15 would need half again as much and stays.
    assert of([4.0, 14.0], [4.0, 4.0], [14.0, 14.0]).zero == 2
    assert of([0.4, 1.4], [0.4, 0.4], [1.4, 1.4]).zero == 2
    assert of([-0.4, -1.4], [-1.4, -1.4], [-0.4, -0.4]).zero == 98
    assert of([5.0, 15.0], [5.0, 5.0], [15.0, 15.0]).zero is None
    assert of([-4.0, -14.0], [-14.0, -14.0], [-4.0, -4.0]).zero == 98
    assert of([-5.0, -15.0], [-15.0, -15.0], [-5.0, -5.0]).zero is None
    assert of([-5.0, 5.0], [-5.0, -5.0], [5.0, 5.0]) == tables.IntervalColumn(((2, 2, 98), (98, 2, 98)), 50)
    assert of([-0.5, 0.5], [-0.5, -0.5], [0.5, 0.5]) == tables.IntervalColumn(((2, 2, 98), (98, 2, 98)), 50)
    # One decimal: 2 + 96 / 3 = 34 and 2 + 96 / 7 = 15.71.
    assert of([1.0, 0.0], [0.0, 0.0], [7.0, 3.0]).rows[0] == (15.7, 2, 98)
    # All ends equal: an axis of width 1 from there.
    assert of([0.5, 0.5], [0.5, 0.5], [0.5, 0.5]) == tables.IntervalColumn(((2, 2, 2), (2, 2, 2)), None)


SMALL = tables.Table(("who & why", "κ"), (("a<b", "−0.50"), ("c~d^e", "–")), (False, True))


def test_to_html_escapes_cells():
    assert tables.to_html(SMALL) == (
        "<table><thead><tr><th>who &amp; why</th><th>κ</th></tr></thead><tbody><tr><td>a&lt;b</td><td>−0.50</td></tr>"
        "<tr><td>c~d^e</td><td>–</td></tr></tbody></table>"
    )


WIDE = tables.Table(
    ("judge", "a long title", "some and more of it"),
    (("gpt", "0.50 [0.40, 0.60]", "one two three"), ("llama", "–", "four fives")),
    (False, True, False),
)


@pytest.mark.parametrize(
    ("width", "wanted"),
    [
        (None, [
            "judge       a long title  some and more of it",
            "gpt    0.50 [0.40, 0.60]  one two three",
            "llama                  –  four fives",
        ]),
        (45, [
            "judge       a long title  some and more of it",
            "gpt    0.50 [0.40, 0.60]  one two three",
            "llama                  –  four fives",
        ]),
        (44, [
            "judge       a long title  some and more",
            "                          of it",
            "gpt    0.50 [0.40, 0.60]  one two three",
            "llama                  –  four fives",
        ]),
        (34, [
            "judge       a long title  some and",
            "                          more of",
            "                          it",
            "gpt    0.50 [0.40, 0.60]  one two",
            "                          three",
            "llama                  –  four",
            "                          fives",
        ]),
        (10, [
            "judge       a long title  some",
            "                          and",
            "                          more",
            "                          of it",
            "gpt    0.50 [0.40, 0.60]  one",
            "                          two",
            "                          three",
            "llama                  –  four",
            "                          fives",
        ]),
    ],
)  # fmt: skip
def test_to_text_wraps_between_words(width, wanted):
    """Intervals and words are not wrapped; a table that is still too wide remains so."""
    assert tables.to_text(WIDE, width).splitlines() == wanted


def test_text_that_holds_an_interval_is_not_broken():
    table = tables.Table(("who", "found"), (("a b c d", "0.50 [0.40, 0.60] of 9"),), (False, False))
    assert tables.to_text(table, 26).splitlines() == ["who  found", "a b  0.50 [0.40, 0.60] of 9", "c d"]


def test_table_kinds_width_and_folding():
    short, long = "x" * 32, "x" * 33
    assert Table(("a", "b", "c"), (("1", short, long), ("22", "", "")), (True, False, False)).kinds == (
        "number", "name", "text"
    )  # fmt: skip
    # 34 + 34 + 27 characters are 95; a cell counts with 32 at most, and of a title its first word.
    one = Table((f"{'t' * 25} of a column", "b", "c"), (("1", long, short),), (True, False, False))
    assert not one.wide
    assert Table(("t" * 26, "b", "c"), one.rows, one.numeric).wide
    assert Table(("t" * 11, "b", "c"), one.rows, one.numeric, intervals={0: None}).wide
    assert not Table(("t" * 10, "b", "c"), one.rows, one.numeric, intervals={0: None}).wide
    rows = tuple((str(i),) for i in range(21))
    whole, folded = (Table(("a",), rows[:n], (True,)) for n in (20, 21))
    assert (whole.first, whole.rest) == (rows[:20], ())
    assert (folded.first, folded.rest) == (rows[:8], rows[8:])


@pytest.mark.parametrize(("width", "below"), [(None, False), (64, False), (42, False), (41, True)])
def test_to_text_moves_reasons_below_narrow_table(width, below):
    """Columns of 3 and (with a wrapped title) 5 characters and two gaps leave 30 of 42 for the reasons."""
    long, other = "fewer than five of the items have any other label", "a thing"
    rows = (("ann", "0.12", long), ("bob", "0.50", "–"), ("cho", "0.13", other), ("dee", "0.14", long))
    lines = tables.to_text(Table(("who", "share of", "reason"), rows, (False, True, False)), width).splitlines()
    assert ("" in lines) is below
    if below:
        assert [line.split()[-1] for line in lines[-7:-3]] == ["(1)", "–", "(2)", "(1)"]
        assert lines[lines.index("") + 1 :] == [f"(1) {long}", f"(2) {other}"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\ttab, a\nline\r\nanother, é, 好, 👍, ‑", "a\ttab, a\nline\r\nanother, é, 好, 👍, ‑"),
        ("\x1b[2J\x1b]0;title\x07", r"\u001b[2J\u001b]0;title\u0007"),
        ("over\rwritten", r"over\u000dwritten"),
        ("\x00\x08\x0b\x0c\x7f", r"\u0000\u0008\u000b\u000c\u007f"),
        ("\x85\x9b31m", r"\u0085\u009b31m"),  # C1: the second is ESC [ in one
        ("\u202egood\u202c \u2066x\u2069", r"\u202egood\u202c \u2066x\u2069"),
        ("half \ud83d", r"half \ud83d"),
        ("[red]no markup[/red]", "[red]no markup[/red]"),
        ("سلام \u200f", "سلام \u200f"),  # letters from right to left, and a mark that overrides nothing
    ],
)
def test_printable_escapes_control_characters(text, shown):
    assert printable(text) == shown
    assert printable(shown) == shown


def test_to_text_keeps_each_cell_on_its_line():
    made = Table(("na\x1bme", "n"), (("one\ntwo", "1"), ("\x1b[31mred", "2")), (False, True))
    assert tables.to_text(made).splitlines() == ["na\\u001bme     n", "one two        1", "\\u001b[31mred  2"]
    assert tables.wrap_text("one \x1b[1m two\rthree") == "one \\u001b[1m two\\u000dthree"
