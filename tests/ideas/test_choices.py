"""Choices of the odd one of three texts as arrays: which texts, whose choices, what is refused."""

from __future__ import annotations

import polars as pl
import pytest

import assay
from assay.errors import DataError, DesignError
from assay.ideas.choices import (
    Choices,
    ChoiceSettings,
    ReliabilitySettings,
    columns_of_texts,
    document_of,
    has_choices,
    has_column,
    item_column,
    odd_one_labels,
)

NAMES = ("first_item", "second_item", "third_item")
ROWS = [
    ("q1", "t10", "t2", "t1", "ann", "A"), ("q1", "t10", "t2", "t1", "bob", "B"), ("q1", "t10", "t2", "t1", "gpt", "A"),
    ("q2", "t1", "t2", "t3", "ann", "C"), ("q2", "t1", "t2", "t3", "pal", "C"),
]  # fmt: skip


def read(rows=ROWS, names=NAMES, judges=("gpt", "pal"), **more):
    frame = pl.DataFrame(rows, schema=["item", *names, "annotator", "label"], orient="row")
    people = sorted({row[4] for row in rows} - set(judges))
    there = [name for name in judges if name in {row[4] for row in rows}]
    return assay.read(frame.with_columns(**more), scale="odd-one-out", humans=people, judges=there)


def choices(labels=None, **options):
    return Choices.of(read() if labels is None else labels, ChoiceSettings(**options), "this")


def test_texts_are_in_natural_order_and_choices_name_theirs():
    found = choices()
    assert found.texts["text"].to_list() == ["t1", "t2", "t3", "t10"]
    assert found.texts["document"].to_list() == [None] * 4
    by_row = sorted(zip(found.item.tolist(), found.member.tolist(), found.odd.tolist(), strict=True))
    assert by_row == [(0, [3, 1, 0], 0), (0, [3, 1, 0], 0), (0, [3, 1, 0], 1), (1, [0, 1, 2], 2), (1, [0, 1, 2], 2)]
    assert found.of_item.tolist() == [[3, 1, 0], [0, 1, 2]]
    assert (len(found), found.n_triplets, found.columns) == (5, 2, NAMES)
    assert found.facts == {"choices": 5, "triplets": 2, "texts": 4, "documents": 1, "humans": 2, "judges": 2}
    assert found.documents == (None,)
    assert found.document.tolist() == [0] * 4
    # t1 and t2 are kept together by who names the third: twice t10 and twice t3 of five.
    pairs = {(a, b): (n, kept) for a, b, n, kept in zip(
        *(each.tolist() for each in (found.pairs.first, found.pairs.second, found.pairs.n, found.pairs.kept)),
        strict=True,
    )}  # fmt: skip
    assert pairs == {(0, 1): (5, 4), (0, 2): (2, 0), (0, 3): (3, 1), (1, 2): (2, 0), (1, 3): (3, 0)}


def test_one_name_in_two_documents_is_two_texts():
    documents = pl.when(pl.col("item") == "q1").then(pl.lit("d10")).otherwise(pl.lit("d2"))
    found = choices(read(document=documents))
    assert found.texts.rows() == [
        ("d2", "t1"), ("d2", "t2"), ("d2", "t3"), ("d10", "t1"), ("d10", "t2"), ("d10", "t10"),
    ]  # fmt: skip
    assert found.documents == ("d10", "d2")
    assert found.document.tolist() == [1, 1, 1, 0, 0, 0]  # places in that order
    assert found.named_pairs(found.pairs.first[:1], found.pairs.second[:1]).rows() == [("d2", "t1", "t2")]
    assert found.facts["documents"] == 2
    other = choices(read(paper=documents), document="paper")
    assert other.texts.equals(found.texts)
    assert choices(read(paper=documents)).facts["documents"] == 1


def test_whose_choices_count_and_how_many_do_not():
    found = choices()
    assert (found.chosen("humans"), found.chosen("judges")) == (("ann", "bob"), ("gpt", "pal"))
    assert (found.chosen(["humans"]), found.chosen(["judges"])) == (("ann", "bob"), ("gpt", "pal"))
    assert found.chosen(["pal", "ann"]) == ("pal", "ann")
    people = found.chosen_by("humans")
    assert (len(people), people.facts["judges"], people.facts["humans"]) == (3, 0, 2)
    (gone,) = people.exclusions
    assert (gone.what, gone.count, gone.reason) == ("choice", 2, "of gpt, pal, whose choices are not asked about")
    beside = found.chosen_by("humans", also=["gpt"])
    assert [(one.count, one.reason) for one in beside.exclusions] == [
        (1, "of pal, whose choices are not asked about")
    ]  # fmt: skip
    assert found.chosen_by("humans", also=["gpt", "pal"]).exclusions == ()
    assert found.chosen_by(["bob"]).n_triplets == 1
    assert found.chosen_by(["bob"]).facts["texts"] == 4  # texts keep their positions
    with pytest.raises(DataError, match=r"'anne'.*did you mean 'ann'"):
        found.chosen(["anne"])
    alone = choices(read([row for row in ROWS if row[4] in ("ann", "bob")]))
    with pytest.raises(DesignError, match="no judge made odd-one-out choices; set annotators='humans'"):
        alone.chosen("judges")
    models = choices(read([row for row in ROWS if row[4] in ("gpt", "pal")]))
    with pytest.raises(DesignError, match="no human made odd-one-out choices; set annotators='judges'"):
        models.chosen("humans")


def test_who_chose_nothing_is_not_there():
    found = choices().where([True, True, False, True, True])
    assert "gpt" not in found.chosen("judges")
    with pytest.raises(DataError, match="'gpt'"):
        found.chosen(["gpt"])


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("q", "a", "a", "b", "ann", "A")], r"1 triplet \(q\) names a text twice \('a'\); a triplet has three"),
        ([("q", "a", "b", "a", "ann", "A")], r"1 triplet \(q\) names a text twice \('a'\)"),
        ([("q", "b", "a", "a", "ann", "A")], r"1 triplet \(q\) names a text twice \('a'\)"),
        ([("q", "a", "a", "b", "ann", "A"), ("r", "c", "d", "c", "ann", "A")],
         r"2 triplets \(q, r\) name a text twice \('a'\)"),
        ([("q", "a", " ", "b", "ann", "A")], r"1 triplet \(q\) has nothing in 'second_item'; fill it or drop"),
        ([("q", "a", "c", None, "ann", "A"), ("r", "a", "b", "", "ann", "A")],
         r"2 triplets \(q, r\) have nothing in 'third_item'"),
    ],
)  # fmt: skip
def test_a_triplet_names_three_different_texts(rows, words):
    with pytest.raises(DataError, match=words):
        choices(read(rows))


def test_a_triplet_has_a_document_where_any_has():
    with pytest.raises(DataError, match=r"1 triplet \(q2\) has nothing in 'document'"):
        choices(read(document=pl.when(pl.col("item") == "q1").then(pl.lit("d"))))


@pytest.mark.parametrize("names", [("id_a", "id_b", "id_c"), ("first", "second", "third"), ("a", "b", "c")])
def test_columns_of_texts_are_found_by_their_names(names):
    labels = read(names=names)
    assert columns_of_texts(labels, None) == names
    assert columns_of_texts(labels, names[::-1]) == names[::-1]
    assert has_choices(labels)
    assert document_of(labels, None) is None
    assert (has_column(labels, names[0]), has_column(labels, "nothing")) == (True, False)


def test_columns_of_other_names_are_asked_for():
    labels = read(names=("x", "y", "z"))
    with pytest.raises(DesignError, match=r"name the columns with texts=\['a', 'b', 'c'\].*the table has item, .*x, y"):
        columns_of_texts(labels, None)
    assert not has_choices(labels)
    assert choices(labels, texts=("z", "y", "x")).of_item.tolist() == [[0, 1, 3], [2, 1, 0]]
    both = read(**{c: pl.col(n) for c, n in zip("abc", NAMES, strict=True)})
    assert columns_of_texts(both, None) == NAMES  # the first of the known names


def test_a_column_about_items_has_one_value_an_item():
    topic = read(topic=pl.col("item") + "!")
    assert item_column(topic, "topic").to_list() == ["q1!", "q2!"]
    assert item_column(topic, "first_item").to_list() == ["t10", "t1"]
    with pytest.raises(DataError, match=r"item 'q[12]' has several values in 'annotator'; a triplet has one"):
        item_column(topic, "annotator")


def test_what_are_no_odd_ones_out_is_refused():
    frame = pl.DataFrame({"item": ["i"], "annotator": ["ann"], "label": [3]})
    stars = assay.read(frame, scale="1-5")
    assert not has_choices(stars)
    with pytest.raises(DesignError, match=r"this needs odd-one-out choices: labels A, B or C.*scale='odd-one"):
        odd_one_labels(stars, "this")
    rows = [("i", c, "A") for c in ("one", "two")]
    two = pl.DataFrame(rows, schema=["item", "criterion", "label"], orient="row").with_columns(annotator=pl.lit("ann"))
    texts = pl.DataFrame({"item": ["i"], "a": ["x"], "b": ["y"], "c": ["z"]})
    labels = assay.Annotations.from_frame(two, scale="odd-one-out", humans=["ann"], judges=[], items=texts)
    assert not has_choices(labels)
    with pytest.raises(DesignError, match=r"one, two have odd-one-out choices; choose one with"):
        odd_one_labels(labels, "this")
    one = labels.where(criterion="one")
    assert odd_one_labels(one, "this") is one
    assert has_choices(one)


def test_one_comparison_may_be_asked_for_by_its_word():
    assert ReliabilitySettings(who="pairs").who == ("pairs",)


@pytest.mark.parametrize(
    ("texts", "right"), [("abc", True), (("a", "b"), False), (("a", "b", "a"), False), ("abcd", False), (None, True)]
)
def test_a_triplet_has_three_columns_of_texts(texts, right):
    given = texts if texts is None else tuple(texts)
    if right:
        assert ChoiceSettings(texts=given).texts == given
    else:
        with pytest.raises(DesignError, match="needs three columns"):
            ChoiceSettings(texts=given)
