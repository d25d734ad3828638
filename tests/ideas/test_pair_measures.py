"""Measures brought to the pairs of texts that experts compared: their names, their values, what is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import assay
from assay.errors import DataError, DesignError
from assay.ideas.choices import Choices, ValidateSettings
from assay.ideas.measures import (
    AUTHOR,
    LEAST_PAIRS,
    LENGTH,
    WORDS,
    PairsOfTexts,
    compared_pairs,
    each_judge,
    identity,
    judged_pairs,
    name_measures,
    signed_measures,
)

NAN = float("nan")


def like(a, b):
    return 1.0


class Named:
    """A measure that says its name."""

    def __init__(self, name):
        self.name = name

    def __call__(self, a, b):
        return 0.0


def test_measures_have_the_names_that_they_are_given_or_bear():
    assert name_measures(None) == {}
    assert list(name_measures({1: "words", "x": like})) == ["1", "x"]
    assert list(name_measures("words")) == ["words"]
    assert list(name_measures(like)) == ["like"]
    assert list(name_measures([like, Named("own"), {("a", "b"): 1.0}, "words"])) == [
        "like",
        "own",
        "measure 3",
        "words",
    ]
    table = pl.DataFrame({"first": ["a"]})
    assert list(name_measures(table)) == ["measure 1"]
    assert name_measures([table])["measure 1"] is table
    with pytest.raises(DesignError, match="two measures are called 'own'; rename one"):
        name_measures([Named("own"), Named("own")])


def test_folders_are_left_out_of_names_while_that_leaves_them_apart():
    small, other = "embeddings:/models/small", "embeddings:/others/small"
    assert list(name_measures([small])) == ["embeddings:small"]
    assert list(name_measures([small, other])) == [small, other]


# Two documents of texts: a, b, c and d; and a and b again, whose pair is in a separate block.
TEXTS = pl.DataFrame(
    [("d1", "a"), ("d1", "b"), ("d1", "c"), ("d2", "a"), ("d2", "b")], schema=["document", "text"], orient="row"
)
WHERE = {("a", "b"): (0, 1), ("a", "c"): (0, 2), ("b", "c"): (1, 2)}


def pairs_of(contents=None, authors=None, texts=TEXTS):
    """All pairs: three of the first document, one of the second."""
    first, second = np.array([0, 0, 1, 3]), np.array([1, 2, 2, 4])
    return PairsOfTexts(first, second, texts, np.array([0, 0, 0, 1, 1]), contents, authors)


def test_values_of_pairs_lie_in_the_block_of_their_document():
    pairs = pairs_of()
    assert [group.tolist() for group in pairs.groups] == [[0, 1, 2], [3, 4]]
    every = np.arange(13.0)  # rows of 3 by 3, then of 2 by 2
    found = pairs.measure("m", "pairs", every, "sweep", "read by x")
    assert found.values.tolist() == [1, 2, 5, 10]
    assert (found.name, found.kind, found.family, found.about) == ("m", "pairs", "sweep", "read by x")
    plain = pairs.measure("m", "pairs", every)
    assert (plain.family, plain.about) == (None, "")


def test_given_values_name_either_text_first():
    rows = [("d1", "b", "a", 0.1), ("d1", "a", "c", 0.2), ("d2", "a", "b", 0.4)]
    table = pl.DataFrame(rows, schema=["document", "first", "second", "sim"], orient="row")
    (found,) = pairs_of().of("m", table)
    assert (found.kind, found.name, found.family) == ("pairs", "m", None)
    np.testing.assert_array_equal(found.values, [0.1, 0.2, NAN, 0.4])
    # Without documents, a name selects the texts of that name in each.
    (everywhere,) = pairs_of().of("m", {("b", "a"): 0.3, ("c", "b"): 0.5})
    np.testing.assert_array_equal(everywhere.values, [0.3, NAN, 0.5, 0.3])
    with_text = table.with_columns(note=pl.lit("x"))
    np.testing.assert_array_equal(pairs_of().of("m", with_text)[0].values, found.values)
    empty = table.with_columns(sim=pl.lit(None, pl.Float64))
    assert np.isnan(pairs_of().of("m", empty)[0].values).all()
    both = pl.concat([table, table.select("document", first="second", second="first", sim="sim")])
    np.testing.assert_array_equal(pairs_of().of("m", both)[0].values, found.values)  # said twice alike


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            {"first": ["a"], "sim": [1.0]},
            "measure 'm' needs columns 'first', 'second' and one of",
        ),
        ({"first": ["a"], "second": ["b"]}, "needs columns 'first', 'second' and one of numbers"),
        ({"first": ["a"], "second": ["b"], "x": [1], "y": [2]}, "needs columns 'first', 'second' and one of numbers"),
        ({"first": ["a", "b"], "second": ["b", "a"], "x": [1, 2]}, "measure 'm' has two values for '[ab]' and '[ab]'"),
    ],
)
def test_a_table_of_pairs_has_one_number_a_pair(table, words):
    with pytest.raises(DataError, match=words):
        pairs_of().of("m", pl.DataFrame(table))


def test_a_mapping_of_settings_is_a_sweep():
    values = {("a", "b"): 0.3}
    found = pairs_of().of("m", {"low": values, "high": {("a", "c"): 0.2}})
    assert [(one.name, one.family) for one in found] == [("m low", "m"), ("m high", "m")]
    with pytest.raises(DesignError, match="measure 'm' holds a sweep in a sweep"):
        pairs_of().of("m", {"low": {"deep": values}})
    with pytest.raises(DesignError, match="measure 'm' is int; give a name, a function of two texts"):
        pairs_of().of("m", 3)


def test_a_similarity_reads_the_texts_document_by_document():
    contents = ("red red", "red", "blue", "green old", "old")
    (found,) = pairs_of(contents).of("m", lambda a, b: float(len(a) * len(b)))
    assert found.kind == "similarity"
    assert found.values.tolist() == [21, 28, 12, 27]  # letters of one times those of the other
    with pytest.raises(DesignError, match=r"measure 'm' reads the texts; name the three columns"):
        pairs_of().of("m", like)


def test_what_is_seen_without_reading_for_ideas():
    contents = ("red red", "red", "blue", "green old", "old")
    length, words, author = pairs_of(contents, ("ann", "bob", "ann", "bob", "ann")).baselines()
    assert [one.name for one in (length, words, author)] == [LENGTH, WORDS, AUTHOR]
    assert {one.kind for one in (length, words, author)} == {"baseline"}
    assert length.values.tolist() == [-4, -3, -1, -6]
    assert author.values.tolist() == [0, 1, 0, 0]
    assert words.values[0] == 1.0  # the same word
    assert words.values[1] == words.values[2] == 0
    assert 0 < words.values[3] < 1
    assert [one.name for one in pairs_of(contents).baselines()] == [LENGTH, WORDS]
    assert pairs_of().baselines() == []
    # What is the same of all pairs tells none from another.
    assert [one.name for one in pairs_of(("aa", "bb", "cc", "dd", "ee"), ("ann",) * 5).baselines()] == []


# -- from labels ---------------------------------------------------------------------------------------

NAMES = ("first_item", "second_item", "third_item")


def triplets(*rows, humans=("ann",), judges=(), **more):
    frame = pl.DataFrame(rows, schema=["item", *NAMES, "annotator", "label"], orient="row").with_columns(**more)
    return assay.read(
        frame, scale="odd-one-out", humans=list(humans), judges=list(judges),
        conditions=[c for c in ("prompt", "order", "fixed") if c in frame.columns],
    )  # fmt: skip


TWICE = [("q1", "a", "b", "c", "ann", "A"), ("q2", "a", "b", "d", "ann", "B"), ("q3", "a", "b", "c", "ann", "C")]


def compared(labels, **options):
    settings = ValidateSettings(**options)
    return compared_pairs(labels, Choices.of(labels, settings, "this"), settings)


def test_pairs_count_where_they_were_compared_often_enough():
    """Of a, b, c, d: a–b three times, a–c and b–c twice, a–d and b–d once."""
    labels = triplets(*TWICE)
    for floor, n in ((1, 5), (2, 3)):
        pairs, above = compared(labels, floor=floor)
        assert (len(above), len(pairs.first)) == (n, n)
    assert [(a, b) for a, b in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)] == [
        (0, 1),
        (0, 2),
        (1, 2),
    ]
    assert above.tolist() == [0, 1, 3]
    assert LEAST_PAIRS == 3
    with pytest.raises(DesignError, match="1 pair compared 3 times or more; a ranking needs 3 at least"):
        compared(labels, floor=3)


def test_texts_and_authors_come_from_their_columns():
    labels = triplets(
        *TWICE,
        **{c: pl.format("text of {}", n) for c, n in zip(("first", "second", "third"), NAMES, strict=True)},
        **{f"{c}_author": pl.col(n) + "!" for c, n in zip(("first", "second", "third"), NAMES, strict=True)},
    )
    pairs, _ = compared(labels, floor=1)
    assert pairs.contents == tuple(f"text of {name}" for name in "abcd")
    assert pairs.authors == ("a!", "b!", "c!", "d!")
    named, _ = compared(labels, floor=1, contents=["first_author", "second_author", "third_author"])
    assert named.contents == ("a!", "b!", "c!", "d!")
    other, _ = compared(labels, floor=1, authors=["first", "second", "third"])
    assert other.authors == pairs.contents
    bare, _ = compared(triplets(*TWICE), floor=1)
    assert (bare.contents, bare.authors) == (None, None)
    for word in ("contents", "authors"):
        with pytest.raises(DesignError, match=rf"{word}=\.\.\. needs three columns"):
            compared(labels, floor=1, **{word: ["first", "second"]})
    last = pl.when(pl.col("item") == "q3").then(pl.lit("else")).otherwise("first_item")
    for columns, words in (
        (
            ("first", "second", "third"),
            "text 'a' has different contents in two triplets; names of texts must be unique",
        ),
        (("first_author", "second_author", "third_author"), "text 'a' has different authors in two triplets"),
    ):
        wrong = triplets(*TWICE, **{columns[0]: last, columns[1]: pl.col(NAMES[1]), columns[2]: pl.col(NAMES[2])})
        with pytest.raises(DataError, match=words):
            compared(wrong, floor=1)


def test_where_names_alone_are_given_they_are_read_as_the_texts():
    frame = pl.DataFrame(TWICE, schema=["item", "a", "b", "c", "annotator", "label"], orient="row")
    pairs, _ = compared(assay.read(frame, scale="odd-one-out", humans=["ann"]), floor=1)
    assert pairs.contents == ("a", "b", "c", "d")


def test_each_judge_under_each_condition_that_varies():
    rows = [(q, "a", "b", "c", who, "A") for who in ("ann", "gpt", "pal") for q in ("q1", "q2", "q3", "q4")]
    prompt = pl.when(pl.col("annotator") == "gpt").then(
        pl.when(pl.col("item") < "q3").then(pl.lit("x")).otherwise(pl.lit("y"))
    )
    order = pl.when(pl.col("item") < "q2").then(pl.lit("abc")).otherwise(pl.lit("cba"))
    labels = triplets(*rows, judges=("gpt", "pal"), prompt=prompt, order=order, fixed=pl.lit("same"))
    items = labels.labels["item"]

    def found(names, apart=()):
        return [(name, sorted(items.filter(pl.Series(mine)))) for name, mine in each_judge(labels, names, apart)]

    four = ["q1", "q2", "q3", "q4"]
    wanted = [("gpt (prompt=x)", four[:2]), ("gpt (prompt=y)", four[2:]), ("pal (prompt=None)", four)]
    assert found(["gpt", "pal"]) == wanted
    assert found(["gpt", "pal"], apart=["gpt"]) == wanted[2:]
    assert found(["gpt"]) == wanted[:2]
    plain = triplets(*rows, judges=("gpt", "pal"), order=order)
    assert [name for name, _ in each_judge(plain, ["gpt", "pal"])] == ["gpt", "pal"]


def answers(*rows, columns=("first_item", "second_item"), scale="interval:0-1", conditions=("order", "prompt"), **more):
    names = ["item", "document", *columns, "annotator", "repeat", "label"]
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(**more)
    return assay.read(
        frame, scale=scale, judges=sorted({row[4] for row in rows}), repeat="repeat",
        conditions=[c for c in conditions if c in frame.columns],
    )  # fmt: skip


ASKED = [
    ("i1", "d1", "a", "b", "gpt", 1, 0.2), ("i1", "d1", "a", "b", "gpt", 2, 0.4), ("i2", "d1", "b", "a", "gpt", 1, 0.9),
    ("i3", "d2", "b", "a", "gpt", 1, 0.6), ("i1", "d1", "a", "b", "pal", 1, 1.0),
]  # fmt: skip


def test_answers_about_pairs_are_averaged_over_repeats_and_then_over_orders():
    """a with b: repeats .2 and .4 have the mean .3, the other way round it is .9: .6. In the other document .6."""
    found = judged_pairs(answers(*ASKED), pairs_of())
    assert list(found) == ["gpt", "pal"]
    at = pairs_of().blocks.where(np.array([0, 0, 3]), np.array([1, 2, 4]))
    assert found["gpt"][at] == pytest.approx([0.6, NAN, 0.6], nan_ok=True)
    assert found["pal"][at] == pytest.approx([1.0, NAN, NAN], nan_ok=True)
    (gpt, pal) = pairs_of().of("any", answers(*ASKED))
    assert (gpt.name, gpt.kind, pal.name) == ("gpt", "judge", "pal")
    assert gpt.values == pytest.approx([0.6, NAN, NAN, 0.6], nan_ok=True)
    other = judged_pairs(answers(*ASKED, columns=("id_a", "id_b")), pairs_of())
    np.testing.assert_array_equal(other["gpt"], found["gpt"])


def test_a_judge_asked_in_two_ways_gives_two_measures():
    prompt = pl.when(pl.col("repeat") == 2).then(pl.lit("strict")).otherwise(pl.lit("plain"))
    found = judged_pairs(answers(*ASKED[:2], prompt=prompt), pairs_of())
    assert list(found) == ["gpt (prompt=plain)", "gpt (prompt=strict)"]
    assert [values[1] for values in found.values()] == pytest.approx([0.2, 0.4])
    once = judged_pairs(answers(*ASKED[:2], prompt=pl.lit("plain")), pairs_of())
    assert list(once) == ["gpt"]


def test_answers_about_pairs_need_names_and_numbers():
    with pytest.raises(DataError, match=r"need two columns that name their texts, such as first_item and second_item"):
        judged_pairs(answers(*ASKED, columns=("x", "y")), pairs_of())
    words = [(*row[:-1], "yes") for row in ASKED]
    with pytest.raises(DataError, match=r"labels of pairs must be numbers, such as 0-1 or interval:0-1"):
        judged_pairs(answers(*words, scale="nominal:yes,no"), pairs_of())


def test_a_signature_tells_measures_of_one_name_apart():
    assert signed_measures({}) is None
    one, two = {("a", "b"): 1.0}, {("a", "b"): 2.0}
    ((first,), (second,), (again,)) = (signed_measures({"m": x}) for x in (one, two, dict(one)))
    assert first == again != second
    assert first.startswith("m@")
    assert signed_measures({"rouge-1": "rouge-1"}) == ("rouge-1",)
    table = pl.DataFrame({"first": ["a"], "second": ["b"], "x": [1.0]})
    assert identity(table) == identity(table.clone()) != identity(table.with_columns(x=2.0))
    labels = answers(*ASKED)
    assert identity(labels) == labels.fingerprint
