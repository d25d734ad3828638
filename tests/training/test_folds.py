"""Texts, targets and folds: nothing that people said or wrote gets into another document's fold."""

from __future__ import annotations

import math
import re

import numpy as np
import polars as pl
import pytest
from teaching import lessons, reviews

import assay
from assay.data.annotations import Annotations
from assay.errors import DataError, DesignError
from assay.training.documents import (
    MOST_CATEGORIES,
    TrainSettings,
    documents_of,
    equal_partition,
    gather_texts,
    make_folds,
    near_duplicates,
    targets_of,
    text_column,
)


def gathered(labels, **options):
    settings = TrainSettings(**options)
    documents = documents_of(labels, settings)
    texts, left, notes = gather_texts(labels.items, settings, documents[0])
    return texts, make_folds(labels, texts, documents, settings), left, notes


def folds_of(labels, **options):
    return gathered(labels, **options)[1]


def test_parts_have_as_many_words_as_sentences_allow():
    # 12 words in three parts of 4: sentences of 4, 2, 2, 3, 1 words end at 4, 6, 8, 11, 12
    assert equal_partition([4, 2, 2, 3, 1], 3) == [0, 1, 3, 5]
    assert equal_partition([1, 1, 1, 9], 2) == [0, 3, 4]
    assert equal_partition([9, 1, 1, 1], 3) == [0, 1, 2, 4], "every part has a sentence"
    assert equal_partition([5, 5], 3) == [0, 1, 1, 2], "of fewer sentences parts share one"


def timed(starts, text="[0:00:01] Hello all.\n[0:00:10] One. Two.\nThree.\n[0:01:00] Four.\n1:00:00.5 - Five.\n"):
    """Three people's labels of segments of two lessons that share a text."""
    names = [f"d{d} {k}" for d in range(2) for k in range(len(starts))]
    rows = [(n, f"ann_{p}", 1 + (p + len(n)) % 3) for n in names for p in range(3)]
    items = pl.DataFrame({"item": names, "document": [n[:2] for n in names], "text": text, "begins": [*starts] * 2})
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return Annotations.from_frame(frame, judges=[], scale="1-5", items=items)


def by_time(starts, **options):
    labels = timed(starts, **options)
    settings = TrainSettings(document="document", starts="begins", near=0.0)
    return gather_texts(labels.items, settings, documents_of(labels, settings)[0])


@pytest.mark.parametrize("starts", [[10.0, 60.0, 3000.5], ["0:10", "1:00", "[0:50:00.5]"]])
def test_sentences_go_to_the_segment_in_whose_time_they_were_said(starts):
    """What was said before the first segment is nobody's; a line without a time has that of the line before."""
    texts, left, notes = by_time(starts)
    assert texts.sentences[0] == ["Hello all.", "One.", "Two.", "Three.", "Four.", "Five."]
    assert [texts.text_of(i) for i in range(3)] == [["One.", "Two.", "Three."], ["Four."], ["Five."]]
    assert not left
    assert notes[-1] == "a document's sentences are divided among its items by their time stamps and 'begins'"


def test_a_segment_in_which_nothing_was_said_is_left_out_and_order_is_by_time():
    texts, left, _ = by_time([3500, 10, 100])
    assert texts.items == ("d0 0", "d0 1", "d1 0", "d1 1")
    assert texts.text_of(1) == ["One.", "Two.", "Three.", "Four."]
    assert left[0].names == ("d0 2", "d1 2")
    assert "no sentence between its 'begins' and the next" in left[0].reason


@pytest.mark.parametrize(
    ("starts", "text", "words"),
    [
        ([1, 2], "No time. At all.", "no line of document 'd0' begins with a time, such as [0:12:05]"),
        ([1, 2], "0:10 Late.\n0:05 Early.", "go back, from 0:00:10 to 0:00:05"),
        ([5, 5], "0:01 Hello.", "items 'd0 0' and 'd0 1' of document 'd0' both begin at 0:00:05"),
        (["soon", "1:00"], "0:01 Hello.", "item 'd0 0' begins at 'soon' in 'begins', which is no time"),
        ([9e5, 1e6], "0:01 Hello.", "no sentence falls into a segment: all of 'begins' are later"),
        ([None, 3], "0:01 Hello.", "item 'd0 0' has no time in 'begins'"),
    ],
)
def test_times_that_cannot_be_followed_are_refused(starts, text, words):
    with pytest.raises(DataError, match=re.escape(words)):
        by_time(starts, text=text)


def test_times_are_for_texts_of_documents_and_give_the_order():
    with pytest.raises(DesignError, match="leave order="):
        gathered(lessons(), document="document", starts="number", order="number", near=0.0)
    with pytest.raises(DesignError, match="each item has a text of its own"):
        gathered(reviews(12), document="document", starts="number", near=0.0)


def test_a_documents_text_is_divided_among_its_segments_in_their_order():
    labels = lessons()
    texts, _, _, notes = gathered(labels, document="document", near=0.0)
    assert texts.by_document
    assert len(texts.sentences) == 12
    names = [n for n in texts.items if n.startswith("d03")]
    ends = [(int(texts.first[texts.items.index(n)]), int(texts.end[texts.items.index(n)])) for n in names]
    assert ends == [(0, 4), (4, 8), (8, 12)]
    assert any("equal partition" in note and "their names" in note for note in notes)
    turned = gathered(labels, document="document", order="number", near=0.0)[0]
    ends = [(int(turned.first[turned.items.index(n)]), int(turned.end[turned.items.index(n)])) for n in names]
    assert ends == [(8, 12), (4, 8), (0, 4)]


def test_each_text_is_the_items_own_where_it_is_said():
    texts = gathered(lessons(), document="document", text_holds="item", near=0.0)[0]
    assert not texts.by_document
    assert set(texts.end - texts.first) == {12}
    with pytest.raises(DataError, match="document 'shop 0' have 2 different texts"):
        gathered(reviews(), document="document", text_holds="document")
    with pytest.raises(DesignError, match="name their column with document="):
        gathered(reviews().where(item=["r001", "r004"]), text_holds="document")


def test_documents_are_in_one_fold_and_so_are_teachers():
    labels = reviews()
    folds = folds_of(labels, document="document", near=0.0)
    owner = labels.items["document"].to_list()
    assert len(set(zip(owner, folds.fold.tolist(), strict=True))) == 30
    assert folds_of(labels, near=0.0).group.max() + 1 == 60, "each item for itself where nothing says more"
    taught = folds_of(labels, document="document", together=["teacher"], near=0.0)
    assert len(set(zip(labels.items["teacher"].to_list(), taught.fold.tolist(), strict=True))) == 10
    sizes = np.bincount(folds_of(labels, document="document", near=0.0).fold)
    assert sizes.max() - sizes.min() <= 2


def test_documents_hide_in_names():
    names = [f"{d}{k:06d}__stars" for d in (1020, 1021, 1045, 2000, 2001) for k in (1, 2)]
    frame = pl.DataFrame({"item": names, "annotator": "ann", "label": [1, 2] * 5})
    items = pl.DataFrame({"item": names, "text": [f"This is review number {w} of them." for w in "abcdefghij"]})
    labels = Annotations.from_frame(frame, scale="1-5", items=items, judges=[])
    folds = folds_of(labels, document_pattern=r"^(\d+)\d{6}__", near=0.0)
    assert len(set(folds.group.tolist())) == 5
    assert any("5 documents by the pattern" in word for word in folds.words)
    for pattern, words in (("^(x)", "no document in the name of item"), (r"^\d+", "no group"), ("(", "no regular")):
        with pytest.raises(DesignError, match=words):
            folds_of(labels, document_pattern=pattern)


def test_copies_of_a_text_are_one_document_and_that_is_told():
    labels = reviews(20)
    words = re.findall(r"\w+", "the soup was cold and the waiter did not come for a very long time")
    texts = labels.items["text"].to_list()
    texts[3], texts[11] = " ".join(words), " ".join([*words, "at", "all"])
    one = Annotations.from_frame(labels.labels, judges=[], scale=labels.scale,
                                 items=pl.DataFrame({"item": labels.items["item"], "text": texts}))  # fmt: skip
    found, folds, *_ = gathered(one, near=0.9)
    assert (3, 11) in near_duplicates(found, 0.9)
    assert folds.group[3] == folds.group[11]
    assert any("taken for one document" in word for word in folds.words)
    assert (3, 11) in near_duplicates(found, 1.0), "of the words of the shorter"
    texts[11] = " ".join(reversed(words))
    other = Annotations.from_frame(labels.labels, judges=[], scale=labels.scale,
                                   items=pl.DataFrame({"item": labels.items["item"], "text": texts}))  # fmt: skip
    assert (3, 11) not in near_duplicates(gathered(other, near=0.0)[0], 0.5)


def test_folds_made_by_hand_may_not_divide_a_document():
    labels = reviews()
    assert folds_of(labels, document="document", fold="half", near=0.0).names == ("a", "b")
    with pytest.raises(
        DataError, match=r"divide a document: items 'r000' and 'r002' belong together.*folds 'a' and 'b'"
    ):
        folds_of(labels, document="teacher", fold="half", near=0.0)


def test_fewer_documents_than_folds_are_refused_with_what_works():
    with pytest.raises(DataError, match=r"3 documents cannot fall into 5 folds; take folds=3"):
        folds_of(lessons(3), document="document", near=0.0)
    folds_of(lessons(3), document="document", folds=3, near=0.0)
    with pytest.raises(DataError, match="none can be held out"):
        folds_of(lessons(1), document="document", folds=2)
    with pytest.raises(DataError, match=r"12 documents are taken for 1;.*with near=0\.9, or compare none with near=0"):
        folds_of(lessons(), document="document", near=0.3)


def test_which_column_is_the_text():
    items = reviews().items
    assert text_column(items, None) == "text"
    assert text_column(items.drop("text"), None) == "other_text"
    with pytest.raises(DataError, match=r"none looks like one.*name it with text='\.\.\.'"):
        text_column(items.drop("text", "other_text"), None)
    with pytest.raises(DataError, match="did you mean 'other_text'"):
        text_column(items, "othertext")
    with pytest.raises(DataError, match="holds no texts"):
        text_column(items, "number")


def test_items_without_a_text_are_left_out_by_name():
    labels = reviews(20)
    items = labels.items.with_columns(
        text=pl.when(pl.col("item") == "r004").then(pl.lit("  ")).otherwise(pl.col("text"))
    )
    texts, _, left, _ = gathered(Annotations.from_frame(labels.labels, judges=[], scale="1-5", items=items), near=0.0)
    assert len(texts.items) == 19
    assert (left[0].count, left[0].names, left[0].reason) == (1, ("r004",), "no text in 'text'")


def test_targets_are_what_people_said_with_all_their_disagreement():
    rows = [("a", "x", 1), ("a", "y", 3), ("b", "x", 5), ("a", "z", 3)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    labels = Annotations.from_frame(frame, scale="1-5", judges=[])
    (target,) = targets_of(labels, ["x", "y", "z"], ["a", "b", "c"])
    np.testing.assert_allclose(target.share[0], [1 / 3, 0, 2 / 3, 0, 0])
    assert target.mean[0] == 7 / 3
    assert math.isnan(target.mean[2])
    assert np.isnan(target.share[2]).all()
    assert target.label_of(np.array([2.4999, 2.5, 9.0, -3])) == [2, 2, 5, 1], "the nearest that is on the scale"
    assert target.coordinates([2, 5]).tolist() == [[2.0], [5.0]]
    assert (target.item.tolist(), target.who.tolist()) == ([0, 0, 0, 1], [0, 1, 2, 0])


def test_categories_are_corners_that_lie_1_apart():
    frame = pl.DataFrame({"item": ["a", "b", "c"], "annotator": "x", "label": ["u", "v", "w"]})
    (target,) = targets_of(assay.read(frame, scale="nominal:u,v,w", judges=[]), ["x"], ["a", "b", "c"])
    corners = target.coordinates([0, 1, 2])
    assert [((corners[i] - corners[j]) ** 2).sum() for i, j in ((0, 1), (0, 2), (1, 2))] == pytest.approx([1, 1, 1])
    assert target.label_of(np.array([[0.2, 0.5, 0.3]])) == ["v"]


def test_each_criterion_has_labels_of_its_own_kind():
    rows = [("a", "x", "tone", "1"), ("a", "y", "tone", "4"), ("b", "x", "tone", "2"), ("a", "x", "kind", "v"),
            ("b", "y", "kind", "u"), ("c", "y", "kind", "v")]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "annotator", "criterion", "label"], orient="row")
    labels = Annotations.from_frame(frame, scale={"tone": "1-5", "kind": "nominal:u,v"}, judges=[])
    found = {target.criterion: target for target in targets_of(labels, ["x", "y"], ["a", "b", "c"])}
    tone, kind = found["tone"], found["kind"]
    assert (tone.nominal, kind.nominal, tone.whole, kind.whole) == (False, True, True, False)
    np.testing.assert_array_equal(tone.mean, [2.5, 2, np.nan])
    np.testing.assert_array_equal(tone.share[:2], [[0.5, 0, 0, 0.5, 0], [0, 1, 0, 0, 0]])
    assert tone.number.tolist() == [1, 2, 3, 4, 5]
    assert (kind.categories, kind.number.tolist()) == (("u", "v"), [])
    np.testing.assert_array_equal(kind.share, [[0, 1], [1, 0], [0, 1]])
    assert np.isnan(kind.mean).all()
    assert (kind.item.tolist(), kind.who.tolist(), kind.value.tolist()) == ([0, 1, 2], [0, 1, 1], [1, 0, 1])
    assert tone.labelled.tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("scale", "given", "n_shares", "whole"),
    [
        ("interval", [0.5, 1.25, 0.5, 3.0], 3, False),  # those that were given have a share each
        ("interval", list(range(MOST_CATEGORIES)), MOST_CATEGORIES, True),
        ("interval", list(range(MOST_CATEGORIES + 1)), 0, True),  # too many for that
        (f"1-{MOST_CATEGORIES}", [1, 3], MOST_CATEGORIES, True),
        (f"1-{MOST_CATEGORIES + 1}", [1, 3], 2, True),
    ],
)
def test_numbers_have_shares_where_they_are_few(scale, given, n_shares, whole):
    names = [f"i{k}" for k in range(len(given))]
    frame = pl.DataFrame({"item": names, "annotator": "x", "label": given})
    labels = Annotations.from_frame(frame, judges=[], scale=scale)
    (target,) = targets_of(labels, ["x"], names)
    assert (len(target.categories), len(target.number), target.share.shape[1]) == (n_shares,) * 3
    assert target.whole == whole
    assert target.mean.tolist() == given
    if n_shares:
        assert (target.share @ target.number).tolist() == given


@pytest.mark.parametrize(("value", "label"), [(2.4, 2), (2.5, 3), (-0.5, 0), (-1.6, -2)])
def test_a_prediction_is_whole_where_labels_are(value, label):
    frame = pl.DataFrame({"item": ["a", "b"], "annotator": "x", "label": [1.0, 7.0]})
    (target,) = targets_of(Annotations.from_frame(frame, judges=[], scale="interval"), ["x"], ["a", "b"])
    assert target.label_of(np.array([value])) == [label]
    frame = frame.with_columns(pl.Series("label", [1.0, 7.5]))
    (target,) = targets_of(Annotations.from_frame(frame, judges=[], scale="interval"), ["x"], ["a", "b"])
    assert target.label_of(np.array([value])) == [value]


def test_nobody_who_counts_and_no_item_with_a_text():
    frame = pl.DataFrame({"item": ["a"], "annotator": ["x"], "label": [1]})
    labels = Annotations.from_frame(frame, judges=[], scale="1-5")
    for people, items in ((["y"], ["a"]), (["x"], ["b"])):
        with pytest.raises(DataError, match=r"nobody labelled an item that has a text$"):
            targets_of(labels, people, items)


def test_labels_that_are_texts_are_refused():
    frame = pl.DataFrame({"item": ["a"], "annotator": ["x"], "label": ["a word or two"]})
    labels = assay.read(frame, scale="text", judges=[])
    with pytest.raises(DesignError, match="trained on categories or numbers"):
        targets_of(labels, ["x"], ["a"])
