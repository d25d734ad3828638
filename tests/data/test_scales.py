"""Valid labels, labels as numbers, and the one-line specification of a scale."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.data.scales import (
    Interval,
    Nominal,
    OddOneOut,
    Ordinal,
    Preference,
    RankedTexts,
    Scale,
    SeveralLabels,
    SpanLabels,
    Text,
    parse_scale,
    range_of,
    scale_of,
    words_of,
)
from assay.errors import DataError

SCALES: tuple[Scale, ...] = (
    Nominal(),
    Nominal(["yes", "no"]),
    Nominal([1, 2, 3]),
    Nominal(["1", "2"]),
    Nominal([0.5, 1]),
    Nominal(["yes, really", "no"]),
    Nominal(["[a]", " b"]),
    Nominal(["01", "02"]),
    Nominal(["yes"]),
    Ordinal(1, 5),
    Ordinal(-2, 2),
    Ordinal(["bad", "fair", "good"]),
    Ordinal(["a<b", "c"]),
    Ordinal(["1", "2", "3"]),
    Interval(),
    Interval(0),
    Interval(high=-0.1),
    Interval(0, 1234567.875),
    Interval(1e-7, 1e22),
    Interval(0, 100),
    Interval(0, 0.5),
    Interval(-1.5, 2.25),
    Text(),
    Preference(),
    Preference(("slightly better", "much better")),
    Preference(("a < b", "b")),
    SeveralLabels(("food", "price")),
    SeveralLabels(("a, b", "c")),
    RankedTexts(3),
    SpanLabels(("person", "place")),
    SpanLabels(("a, b",)),
    OddOneOut(),
)


@pytest.mark.parametrize("scale", SCALES, ids=lambda s: s.spec)
def test_parse_scale_reads_spec(scale):
    assert parse_scale(scale.spec) == scale


@given(st.integers(-50, 50), st.integers(1, 100))
def test_parse_scale_reads_ordinal_spec(low, width):
    scale = Ordinal(low, low + width)
    assert parse_scale(scale.spec) == scale
    assert parse_scale(f"{low}..{low + width}") == scale


@given(st.floats(-1e6, 1e6, allow_nan=False), st.floats(0.001, 1e6))
def test_parse_scale_reads_interval_spec(low, width):
    scale = Interval(low, low + width)
    assert parse_scale(scale.spec) == scale


@pytest.mark.parametrize(
    ("spec", "scale"),
    [
        ("1-5", Ordinal(1, 5)),
        (" 1 - 5 ", Ordinal(1, 5)),
        ("1–5", Ordinal(1, 5)),
        ("-2-2", Ordinal(-2, 2)),
        ("-2--1", Ordinal(-2, -1)),
        ("ordinal:0-10", Ordinal(0, 10)),
        ("Interval:0-1", Interval(0, 1)),
        ("interval: 0.5 - 1.5", Interval(0.5, 1.5)),
        ("ordinal: bad < fair < good", Ordinal(["bad", "fair", "good"])),
        ("nominal: yes, no", Nominal(["yes", "no"])),
        ("nominal", Nominal()),
        ("odd-one-out", OddOneOut()),
    ],
)
def test_parse_scale_by_hand(spec, scale):
    assert parse_scale(spec) == scale


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("stars", "'stars' is not a scale; write 1-5, interval:0-100"),
        ("", "'' is not a scale"),
        ("1", "'1' is not a scale"),
        ("text:long", "'text:long' is not a scale"),
        ("0-0.5", "scale '0-0.5' has ends that are not whole numbers; write interval:0-0.5"),
        ("5-1", "Ordinal requires two whole numbers, low < high; got 5 and 1"),
        ("interval:3-3", "Interval requires low < high; got 3.0 and 3.0"),
        ("nominal:a,a", "a category appears twice"),
        ("ordinal:a<", "a category cannot be empty"),
        ("nominal:a,,b", "a category cannot be empty"),
        ("1-2-3", "'1-2-3' is not a scale"),
        ("nominal:[1, ", "does not contain a JSON list of categories"),
        ("ordinal:[[1], [2]]", "each category must be text or a number"),
    ],
)
def test_parse_scale_refuses_other_text(spec, words):
    with pytest.raises(DataError) as caught:
        parse_scale(spec)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Ordinal("low", "high"), "Ordinal takes (low, high), or a list of categories"),
        (lambda: Ordinal(["a", "b"], 3), "Ordinal takes (low, high), or a list of categories"),
        (lambda: Ordinal(1), "Ordinal requires two whole numbers, low < high; got 1 and None"),
        (lambda: Ordinal(1.5, 3), "Ordinal requires two whole numbers, low < high; got 1.5 and 3"),
        (lambda: Ordinal(["a"]), "a scale of categories requires at least 2; got 1"),
        (lambda: Nominal([]), "a scale of categories requires at least 1; got 0"),
        (lambda: Nominal(["a", "a"]), "a category appears twice in ['a', 'a']"),
        (lambda: Interval(2, 1), "Interval requires low < high; got 2 and 1"),
        (lambda: Interval(math.nan, 1), "Interval requires low < high; got nan and 1"),
    ],
)
def test_scales_refuse_invalid_definitions(make, words):
    with pytest.raises(DataError) as caught:
        make()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("scale", "on", "off"),
    [
        (Nominal(["yes", "no"]), ["yes", "no"], ["Yes", "", 1, None, True, ["yes"]]),
        (Nominal([1, 2]), [1, 2, 2.0, "1"], [0, 1.5, "x", None]),
        (Nominal(["1", "2"]), ["1"], [1]),
        (Nominal(), ["anything", 3], [None]),
        (Ordinal(1, 5), [1, 5, 4.0, "3"], [0, 6, 2.5, "x", None, math.nan, math.inf, True]),
        (Ordinal(["low", "high"]), ["low"], ["mid", 0]),
        (Interval(0, 1), [0, 1, 0.5, "0.25"], [-0.01, 1.01, math.nan, "a"]),
        (Interval(), [1e300, -5], [math.inf, math.nan]),
        (Text(), ["a"], ["", "  "]),
        (Preference(), [-1, 0, 1, "first", " Tie ", "SECOND", "-1"], [2, 0.5, "third", None]),
        (Preference(("a bit", "much")), [-2, 0, 1, "First: MUCH", "tie", "-2"], [3, "first", "much", None]),
        (OddOneOut(), ["A", "B", "C"], ["a", "D", 1]),
    ],
    ids=lambda v: getattr(v, "spec", ""),
)
def test_valid_by_scale(scale, on, off):
    assert [scale.contains(label) for label in on] == [True] * len(on)
    assert [scale.contains(label) for label in off] == [False] * len(off)


@pytest.mark.parametrize("scale", SCALES, ids=lambda s: s.spec)
def test_valid_keeps_missing_labels(scale):
    labels = pl.Series([None, None], dtype=pl.Float64 if scale.numeric else pl.String)
    valid = scale.valid(labels)
    assert len(valid) == 2
    assert not valid.fill_null(False).any()
    assert scale.cast(labels).null_count() == 2


@pytest.mark.parametrize(
    ("scale", "label", "read"),
    [
        (Ordinal(1, 5), "4", 4),
        (Ordinal(1, 5), 4.0, 4),
        (Ordinal(1, 5), 6, None),
        (Ordinal(1, 5), None, None),
        (Ordinal(0, 1), True, None),
        (Ordinal(1, 5), [4], None),
        (Ordinal(1, 5), {"label": 4}, None),
        (Interval(0, 1), "0.5", 0.5),
        (Nominal(["yes", "no"]), "no", "no"),
        (Nominal(["yes", "no"]), ["no"], None),
        (Text(), None, None),
        (Text(), ["a", "b"], None),
        (Preference(), "first", -1),
    ],
    ids=repr,
)
def test_read_returns_label_or_none(scale, label, read):
    found = scale.read(label)
    assert found == read
    assert type(found) is type(read)


def test_cast_by_scale():
    assert Ordinal(1, 5).cast(pl.Series(["1", "4.0", " 2 "])).to_list() == [1, 4, 2]
    assert Ordinal(1, 5).cast(pl.Series([1.0, 2.0])).dtype == pl.Int64
    assert Interval(0, 9).cast(pl.Series(["1.5"])).to_list() == [1.5]
    assert Interval(0, 9).cast(pl.Series([1, 2])).dtype.is_integer()
    assert Nominal([1, 2]).cast(pl.Series([1.0, 2.0])).to_list() == [1, 2]
    assert Preference().cast(pl.Series(["first", "tie", " Second"])).to_list() == [-1, 0, 1]
    assert Text().cast(pl.Series([1, 2])).to_list() == ["1", "2"]


def test_values_by_scale():
    np.testing.assert_array_equal(
        Ordinal(["bad", "fair", "good"]).values(pl.Series(["good", "bad", None])), [2, 0, np.nan]
    )
    np.testing.assert_array_equal(Ordinal(1, 5).values(pl.Series([5, None, 1])), [5, np.nan, 1])
    np.testing.assert_array_equal(Preference().values(pl.Series([-1, 0, 1])), [-1, 0, 1])
    np.testing.assert_array_equal(OddOneOut().values(pl.Series(["C", "A"])), [2, 0])
    with pytest.raises(DataError, match="labels on the scale 'text' cannot be converted to numbers"):
        Text().values(pl.Series(["a"]))
    with pytest.raises(DataError, match="labels on the scale 'nominal' cannot be converted to numbers"):
        Nominal().values(pl.Series(["a"]))


@pytest.mark.parametrize(
    ("scale", "numeric", "ordered", "bounds", "categories"),
    [
        (Nominal(), False, False, None, None),
        (Nominal(["b", "a"]), False, False, None, ("b", "a")),
        (Ordinal(1, 3), True, True, (1, 3), (1, 2, 3)),
        (Ordinal(["b", "a"]), False, True, (0, 1), ("b", "a")),
        (Interval(), True, True, None, None),
        (Interval(0, 1), True, True, (0, 1), None),
        (Interval(low=0), True, True, None, None),
        (Interval(high=1), True, True, None, None),
        (Text(), False, False, None, None),
        (Preference(), False, True, (-1, 1), (-1, 0, 1)),
        (Preference(("a bit", "much")), False, True, (-2, 2), (-2, -1, 0, 1, 2)),
        (OddOneOut(), False, False, None, ("A", "B", "C")),
    ],
    ids=lambda v: getattr(v, "spec", None),
)
def test_scale_properties(scale, numeric, ordered, bounds, categories):
    assert (scale.numeric, scale.ordered, scale.bounds, scale.categories) == (numeric, ordered, bounds, categories)


def test_equal_scales_are_equal():
    assert Ordinal(1, 5) == Ordinal(1.0, 5.0)
    assert len({Ordinal(1, 5), Ordinal(1, 5), Nominal(["a"]), Nominal(("a",))}) == 2
    assert Ordinal(["a", "b"]) != Ordinal(["b", "a"])


@pytest.mark.parametrize("scale", SCALES, ids=lambda s: s.spec)
def test_describe_completes_label_must_be(scale):
    # The description follows 'the label must be' in messages and prompts.
    assert scale.describe()
    assert not scale.describe().endswith(".")


def test_word_by_scale():
    assert Ordinal(1, 5).describe() == "a whole number from 1 to 5"
    assert Interval(0, 100).describe() == "a number from 0 to 100"
    assert Interval(0.123456789, 1e7).describe() == "a number from 0.123456789 to 10000000"
    assert Interval(0).describe() == "a number of at least 0"
    assert Interval(high=2).describe() == "a number of at most 2"
    assert Nominal(["yes", "no"]).describe() == "one of yes, no"


@pytest.mark.parametrize("label", [None, True, False, [1], {"a": 1}, 1j])
def test_read_refuses_other_types(label):
    for scale in (Ordinal(0, 1), Interval(), Nominal(), Text()):
        assert scale.read(label) is None
        assert not scale.contains(label)
    assert Ordinal(0, 1).read("1") == 1
    assert Ordinal(0, 1).read(2) is None


@pytest.mark.parametrize(
    ("scale", "label", "to", "moved"),
    [
        ("1-5", 2, "0-10", 2), ("1-5", 3, "11-15", 13), ("1-5", 4, "interval:0-1", 0.75),
        ("interval:2-4", 2.5, "1-3", 2),
        ("interval:2-4", 3.0, "interval:-1-2", 0.5), ("1-5", 2, "1-5", 2), ("1-5", 2, "nominal", 2),
        ("interval:0-3", 1, "interval:0-1", 0.33), ("nominal:a,b", "a", "1-5", "a"), ("interval", 7.5, "1-5", 7.5),
    ],
)  # fmt: skip
def test_moved_keeps_relative_position(scale, label, to, moved):
    found = parse_scale(scale).moved(label, parse_scale(to))
    assert (found, type(found)) == (moved, type(moved))


@pytest.mark.parametrize(
    ("scale", "spec"),
    [
        (Nominal(["yes", "no"]), "nominal:yes,no"), (Nominal([1, 2]), "nominal:1,2"),
        (Nominal(["1", "2"]), 'nominal:["1", "2"]'), (Nominal(["1", "x"]), "nominal:1,x"),
        (Nominal([1, "x"]), 'nominal:[1, "x"]'), (Nominal(["a,b", "c"]), 'nominal:["a,b", "c"]'),
        (Nominal(["[a", "c"]), 'nominal:["[a", "c"]'), (Nominal([" a", "c"]), 'nominal:[" a", "c"]'),
        (Ordinal(["1", "3"]), "ordinal:1<3"), (Ordinal(["low", "é"]), "ordinal:low<é"),
        (Ordinal(["a<b", "c"]), 'ordinal:["a<b", "c"]'),
    ],
)  # fmt: skip
def test_spec_is_plain_if_possible(scale, spec):
    assert scale.spec == spec
    assert parse_scale(spec) == scale


def test_valid_of_null_is_null():
    numbers, words = pl.Series([1, None, 7]), pl.Series(["a", None, "z"])
    for scale in ("1-5", "nominal:1,2", "ordinal:a<b", "nominal:a,1"):
        on_numbers = [scale in ("1-5", "nominal:1,2"), None, False]
        assert parse_scale(scale).valid(numbers).to_list() in (on_numbers, [bool(x) for x in on_numbers]), scale
    assert parse_scale("ordinal:a<b").valid(words).to_list() == [True, None, False]
    assert parse_scale("ordinal:a<b").valid(numbers).to_list() == [False, None, False]
    assert parse_scale("nominal").valid(words).to_list() == [True, None, True]
    assert Nominal([1, "a"]).valid(words).to_list() == [True, None, False]
    assert Nominal([1, "a"]).valid(numbers).to_list() == [True, None, False]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("preference:better", "either no grades or several .slightly better<much better.; got 'better'"),
        ("preference:much<Much", "appears twice"),
        ("preference:a<b<c<d<e", "has at most 4 grades; got 5"),
        ("preference:a<<b", "cannot be empty"),
    ],
)
def test_preference_refuses_invalid_grades(spec, words):
    with pytest.raises(DataError, match=words):
        parse_scale(spec)


@pytest.mark.parametrize(
    ("said", "read"),
    [
        (["price", "food"], '["food","price"]'), ('["price"]', '["price"]'), ("price, food", '["food","price"]'),
        ([], "[]"),
        ("[]", "[]"), (["food", "food"], '["food"]'), (["staff"], None), ("food, staff", None), ([1], None),
        ('["food"', None), (3, None), ({"food": 1}, None),
    ],
)  # fmt: skip
def test_several_labels_are_listed_in_scale_order(said, read):
    assert SeveralLabels(("food", "price")).read(said) == read


def test_several_labels_are_refused_for_tables():
    with pytest.raises(DataError, match=r"requires one criterion per label.*scale='nominal:no,yes'"):
        scale_of("several:food,price")


@pytest.mark.parametrize(
    ("said", "read"),
    [
        (["B", "A", "C"], '["B","A","C"]'), ("C > A > B", '["C","A","B"]'), ("C, A, B", '["C","A","B"]'),
        (["B", "A"], None), (["A", "A", "B"], None), (["A", "B", "D"], None), ("[]", None),
    ],
)  # fmt: skip
def test_ranking_requires_each_letter_once(said, read):
    assert RankedTexts(3).read(said) == read


@pytest.mark.parametrize(
    ("spec", "words"), [("ranking:2", "for two, use a preference"), ("ranking:10", "3 to 9 texts")]
)
def test_ranking_refuses_invalid_sizes(spec, words):
    with pytest.raises(DataError, match=words):
        parse_scale(spec)
    with pytest.raises(DataError, match=r"one vote per pair of texts.*scale='preference'"):
        scale_of("ranking:3")


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ([[4, 6, "place"], [0, 5, "person"]], '[[0,5,"person"],[4,6,"place"]]'),
        ([[0, 5, "place"], [0, 5, "person"]], '[[0,5,"person"],[0,5,"place"]]'),
        ('[[0, 2, "person"], [2, 4, "person"]]', '[[0,2,"person"],[2,4,"person"]]'),
        ("[]", "[]"), ([[0, 3, "person"], [2, 4, "person"]], None), ([[0, 3, "person"]] * 2, None),
        ([[0, 3, "thing"]], None), ([[3, 3, "person"]], None),
        ([[-1, 3, "person"]], None), ([[0, 3.0, "person"]], None),
        ([[0, True, "person"]], None), ([[0, 3]], None), ([0, 3, "person"], None), ("person", None),
        ([[k, k + 1, "person"] for k in range(501)], None),
    ],
)  # fmt: skip
def test_spans_are_listed_in_text_order(said, read):
    assert SpanLabels(("person", "place")).read(said) == read


def test_spans_can_have_texts():
    scale = SpanLabels(("person", "place"))
    said = [[8, 9, "place", " the town "], [0, 5, "person", "  "]]
    assert scale.read(said) == '[[0,5,"person"],[8,9,"place","the town"]]'
    assert scale.read(scale.read(said)) == scale.read(said)
    assert scale.with_texts(said) == ((0, 5, "person", ""), (8, 9, "place", "the town"))
    assert scale.chosen(said) == ((0, 5, "person"), (8, 9, "place"))
    for text, valid in (("x" * 2000, True), ("x" * 2001, False), (3, False), (None, False)):
        assert (scale.read([[0, 5, "person", text]]) is not None) == valid


def test_spans_are_refused_for_tables():
    with pytest.raises(DataError, match=r"one item per word and one criterion.*scale='nominal:no,yes'"):
        scale_of("spans:person")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Ana's café—don’t go, 'now'!", ["Ana's", "café", "don’t", "go", "now"]),
        ("東京へ 2 km", ["東", "京", "へ", "2", "km"]),
        ("सुन्दर ไทย", ["सुन्दर", "ไ", "ท", "ย"]),
        ("👍🏽 $5 a_b", ["👍🏽", "$", "5", "a", "b"]),
        (" … ", []),
    ],
)
def test_words_of_by_hand(text, words):
    assert [text[start:end] for start, end in words_of(text)] == words


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (5, Ordinal(1, 5)), ((1, 5), Ordinal(1, 5)), ([0, 10], Ordinal(0, 10)), ((1, 2), Ordinal(1, 2)),
        ((-1, 1), Ordinal(-1, 1)), ([1, 2, 3], Ordinal(1, 3)), ([3, 4, 5, 6], Ordinal(3, 6)),
        ((0.0, 1.0), Interval(0, 1)), ((0, 1.5), Interval(0, 1.5)), ((0, 1.0), Interval(0, 1)),
        ("1-5", Ordinal(1, 5)), (Interval(0, 1), Interval(0, 1)),
    ],
)  # fmt: skip
def test_scale_of_accepts_usual_forms(said, wanted):
    assert scale_of(said) == wanted


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ([1, 3, 5], r"scale [1, 3, 5] does not have steps of 1; set scale='interval:1-5' if distances matter, or "
                    "scale='nominal:1,3,5'"),
        ((5, 1), "scale [5, 1] does not have steps of 1; set scale='interval:1-5'"),
        ((2, 2), "scale [2, 2] does not have steps of 1"),
        ([0.0, 1.0, 2.0], "scale [0.0, 1.0, 2.0] does not have steps of 1; set scale='interval:0-2'"),
        ([1], "[1] is not a scale; write (1, 5), '1-5' or 'interval:0-100'"), ([], "[] is not a scale"),
        (True, "True is not a scale"), ([1, "a"], "[1, 'a'] is not a scale"),
        (None, "None is not a scale"),
        (["bad", "good"], "scale ['bad', 'good'] can be ordered or not; set scale='ordinal:bad<good' or "
                          "scale='nominal:bad,good'"),
    ],
)  # fmt: skip
def test_scale_of_refuses_ambiguous_values(said, words):
    with pytest.raises(DataError) as refused:
        scale_of(said)
    assert str(refused.value).startswith(words)


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("0-10", (0, 10)), (" 1 to 5 ", (1, 5)), ("0..1", (0, 1)), ("-1–1.5", (-1, 1.5)), ("-3--1", (-3, -1)),
        ("10", None), ("0-10 points", None), ("", None), ("1.0.2-3", None), (".-3", None), (".5-1", (0.5, 1)),
    ],
)  # fmt: skip
def test_range_of_names(name, ends):
    assert range_of(name) == ends
