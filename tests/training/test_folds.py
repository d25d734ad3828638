"""Texts, targets and folds: nothing that people said or wrote gets into another document's fold."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from teaching import lessons, reviews

import assay
from assay.data.annotations import Annotations
from assay.errors import DataError, DesignError
from assay.similarity.embeddings import DEFAULT_MODEL, folder_of
from assay.training import documents
from assay.training.documents import (
    COMMON,
    LEAST_GRAMS,
    MOST_CATEGORIES,
    Texts,
    TrainSettings,
    documents_of,
    equal_partition,
    gather_texts,
    make_folds,
    near_duplicates,
    seconds,
    stamped_sentences,
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


def test_equal_partition_balances_words():
    # 12 words in three parts of 4: sentences of 4, 2, 2, 3, 1 words end at 4, 6, 8, 11, 12
    assert equal_partition([4, 2, 2, 3, 1], 3) == [0, 1, 3, 5]
    assert equal_partition([1, 1, 1, 9], 2) == [0, 3, 4]
    assert equal_partition([9, 1, 1, 1], 3) == [0, 1, 2, 4], "every part has a sentence"
    assert equal_partition([5, 5], 3) == [0, 1, 1, 2], "parts share a sentence if there are too few"


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
def test_sentences_are_assigned_to_segments_by_time(starts):
    """Sentences before the first segment belong to no item; a line without a time has that of the line before."""
    texts, left, notes = by_time(starts)
    assert texts.sentences[0] == ["Hello all.", "One.", "Two.", "Three.", "Four.", "Five."]
    assert [texts.text_of(i) for i in range(3)] == [["One.", "Two.", "Three."], ["Four."], ["Five."]]
    assert not left
    assert notes[-1] == "a document's sentences are divided among its items by their time stamps and 'begins'"


def test_empty_segment_is_excluded_and_order_is_by_time():
    texts, left, _ = by_time([3500, 10, 100])
    assert texts.items == ("d0 0", "d0 1", "d1 0", "d1 1")
    assert texts.text_of(1) == ["One.", "Two.", "Three.", "Four."]
    assert left[0].names == ("d0 2", "d1 2")
    assert "no sentence between its 'begins' and the next" in left[0].reason


@pytest.mark.parametrize(
    ("starts", "text", "words"),
    [
        ([1, 2], "No time. At all.", "no line of document 'd0' begins with a time, such as [0:12:05]"),
        ([1, 2], "0:10 Late.\n0:05 Early.", "decrease from 0:00:10 to 0:00:05"),
        ([5, 5], "0:01 Hello.", "items 'd0 0' and 'd0 1' of document 'd0' both begin at 0:00:05"),
        (["soon", "1:00"], "0:01 Hello.", "item 'd0 0' has 'soon' in 'begins', which is not a time"),
        ([9e5, 1e6], "0:01 Hello.", "no segment contains a sentence: all times in 'begins' are later"),
        ([None, 3], "0:01 Hello.", "item 'd0 0' has no time in 'begins'"),
    ],
)
def test_invalid_times_are_refused(starts, text, words):
    with pytest.raises(DataError, match=re.escape(words)):
        by_time(starts, text=text)


def test_starts_requires_documents_and_excludes_order():
    with pytest.raises(DesignError, match="omit order="):
        gathered(lessons(), document="document", starts="number", order="number", near=0.0)
    with pytest.raises(DesignError, match="each item has its own text"):
        gathered(reviews(12), document="document", starts="number", near=0.0)


def test_document_text_is_divided_among_segments_in_order():
    labels = lessons()
    texts, _, _, notes = gathered(labels, document="document", near=0.0)
    assert texts.by_document
    assert len(texts.sentences) == 12
    names = [n for n in texts.items if n.startswith("d03")]
    ends = [(int(texts.first[texts.items.index(n)]), int(texts.end[texts.items.index(n)])) for n in names]
    assert ends == [(0, 4), (4, 8), (8, 12)]
    assert any("equal numbers of words" in note and "the item ids" in note for note in notes)
    turned = gathered(labels, document="document", order="number", near=0.0)[0]
    ends = [(int(turned.first[turned.items.index(n)]), int(turned.end[turned.items.index(n)])) for n in names]
    assert ends == [(8, 12), (4, 8), (0, 4)]


def test_text_holds_item_uses_separate_texts():
    texts = gathered(lessons(), document="document", text_holds="item", near=0.0)[0]
    assert not texts.by_document
    assert set(texts.end - texts.first) == {12}
    with pytest.raises(DataError, match="document 'shop 0' have 2 different texts"):
        gathered(reviews(), document="document", text_holds="document")
    with pytest.raises(DesignError, match="name their column with document="):
        gathered(reviews().where(item=["r001", "r004"]), text_holds="document")


def test_documents_and_teachers_stay_in_one_fold():
    labels = reviews()
    folds = folds_of(labels, document="document", together=[], near=0.0)
    owner = labels.items["document"].to_list()
    assert len(set(zip(owner, folds.fold.tolist(), strict=True))) == 30
    alone = folds_of(labels, together=[], near=0.0)
    assert alone.group.max() + 1 == 60, "each item separately without further information"
    found = folds_of(labels, document="document", near=0.0)
    numbered = replace(labels, items=labels.items.with_columns(pl.col("teacher").str.slice(1).cast(pl.Int64)))
    assert folds_of(numbered, document="document", near=0.0).fold.tolist() == found.fold.tolist()
    assert any("with the same 'teacher' are in the same fold (found; together=[] for none)" in w for w in found.words)
    taught = folds_of(labels, document="document", together=["teacher"], near=0.0)
    assert len(set(zip(labels.items["teacher"].to_list(), taught.fold.tolist(), strict=True))) == 10
    sizes = np.bincount(folds_of(labels, document="document", near=0.0).fold)
    assert sizes.max() - sizes.min() <= 2


def grouped_texts(documents: int, each: int, **columns: int) -> Annotations:
    """Items of documents without a prefix of the ids, and further columns with so many values, crossed with them."""
    n, rng = documents * each, np.random.default_rng(1)
    names = [f"item{i:03d}" for i in range(n)]
    frame = pl.DataFrame({"item": names, "annotator": "ann", "label": rng.integers(1, 6, n)})
    items = pl.DataFrame(
        {"item": names, "text": [" ".join(f"w{w}" for w in rng.integers(0, 4000, 40)) for _ in names]}
        | {"document": [f"doc{i % documents}" for i in range(n)]}
        | {name: [f"{name}{v}" for v in rng.integers(0, k, n)] for name, k in columns.items()}
    )
    return Annotations.from_frame(frame, scale="1-5", items=items, judges=[])


def divided(labels: Annotations, folds: documents.Folds, column: str) -> int:
    """How many values of a column are in several folds."""
    pairs = set(zip(labels.items[column].to_list(), folds.fold.tolist(), strict=True))
    return len(pairs) - labels.items[column].n_unique()


@pytest.mark.parametrize(("number", "each", "columns"), [(8, 20, {}), (40, 5, {"author": 20}), (60, 3, {"topic": 12})])
def test_documents_are_in_one_fold_though_they_are_few_or_crossed(number, each, columns):
    labels = grouped_texts(number, each, **columns)
    folds = folds_of(labels, near=0.0, text="text")
    assert divided(labels, folds, "document") == 0
    assert folds.documents
    assert len(set(folds.fold.tolist())) == 5
    teachers = replace(labels, items=labels.items.rename({"document": "teacher"}))
    if not columns:
        assert divided(teachers, folds_of(teachers, near=0.0, text="text"), "teacher") == 0


def test_items_without_documents_are_their_own():
    labels = grouped_texts(8, 20)
    alone = replace(labels, items=labels.items.drop("document"))
    assert not folds_of(alone, near=0.0, text="text").documents
    assert not folds_of(labels, near=0.0, text="text", together=[]).documents


def test_documents_are_found_in_item_ids():
    names = [f"{d}{k:06d}__stars" for d in (1020, 1021, 1045, 2000, 2001) for k in (1, 2)]
    frame = pl.DataFrame({"item": names, "annotator": "ann", "label": [1, 2] * 5})
    items = pl.DataFrame({"item": names, "text": [f"This is review number {w} of them." for w in "abcdefghij"]})
    labels = Annotations.from_frame(frame, scale="1-5", items=items, judges=[])
    folds = folds_of(labels, document_pattern=r"^(\d+)\d{6}__", near=0.0)
    assert len(set(folds.group.tolist())) == 5
    assert any("5 documents by the pattern" in word for word in folds.words)
    for pattern, words in (("^(x)", "does not match item"), (r"^\d+", "no group"), ("(", "not a regular")):
        with pytest.raises(DesignError, match=words):
            folds_of(labels, document_pattern=pattern)


def test_copies_of_a_text_are_one_document_with_note():
    labels = reviews(20)
    words = re.findall(r"\w+", "the soup was cold and the waiter did not come for a very long time")
    texts = labels.items["text"].to_list()
    texts[3], texts[11] = " ".join(words), " ".join([*words, "at", "all"])
    one = Annotations.from_frame(labels.labels, judges=[], scale=labels.scale,
                                 items=pl.DataFrame({"item": labels.items["item"], "text": texts}))  # fmt: skip
    found, folds, *_ = gathered(one, near=0.9)
    assert (3, 11) in near_duplicates(found, 0.9)
    assert folds.group[3] == folds.group[11]
    assert any("treated as one document" in word for word in folds.words)
    assert (3, 11) in near_duplicates(found, 1.0), "of the words of the shorter"
    texts[11] = " ".join(reversed(words))
    other = Annotations.from_frame(labels.labels, judges=[], scale=labels.scale,
                                   items=pl.DataFrame({"item": labels.items["item"], "text": texts}))  # fmt: skip
    assert (3, 11) not in near_duplicates(gathered(other, near=0.0)[0], 0.5)


def test_predefined_folds_cannot_divide_a_document():
    labels = reviews()
    assert folds_of(labels, document="document", fold="half", near=0.0).names == ("a", "b")
    with pytest.raises(
        DataError, match=r"divide a document: items 'r000' and 'r002' belong together.*folds 'a' and 'b'"
    ):
        folds_of(labels, document="teacher", fold="half", near=0.0)


def test_too_few_documents_are_refused_with_advice():
    with pytest.raises(DataError, match=r"3 documents cannot be divided into 5 folds; use folds=3"):
        folds_of(lessons(3), document="document", near=0.0)
    folds_of(lessons(3), document="document", folds=3, near=0.0)
    with pytest.raises(DataError, match="none can be held out"):
        folds_of(lessons(1), document="document", folds=2)
    with pytest.raises(
        DataError, match=r"12 documents are treated as 1 .*with near=0\.9, or disable the comparison with near=0"
    ):
        folds_of(lessons(), document="document", near=0.3)


def test_text_column():
    items = reviews().items
    assert text_column(items, None) == "text"
    assert text_column(items.drop("text"), None) == "other_text"
    with pytest.raises(DataError, match=r"there is no candidate among .*name it with text='\.\.\.'"):
        text_column(items.drop("text", "other_text"), None)
    with pytest.raises(DataError, match="did you mean 'other_text'"):
        text_column(items, "othertext")
    with pytest.raises(DataError, match="does not contain texts"):
        text_column(items, "number")


def test_items_without_a_text_are_excluded_by_name():
    labels = reviews(20)
    items = labels.items.with_columns(
        text=pl.when(pl.col("item") == "r004").then(pl.lit("  ")).otherwise(pl.col("text"))
    )
    texts, _, left, _ = gathered(Annotations.from_frame(labels.labels, judges=[], scale="1-5", items=items), near=0.0)
    assert len(texts.items) == 19
    assert (left[0].count, left[0].names, left[0].reason) == (1, ("r004",), "no text in 'text'")


def test_targets_keep_the_disagreement_of_annotators():
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


def test_category_coordinates_have_distance_1():
    frame = pl.DataFrame({"item": ["a", "b", "c"], "annotator": "x", "label": ["u", "v", "w"]})
    (target,) = targets_of(assay.read(frame, scale="nominal:u,v,w", judges=[]), ["x"], ["a", "b", "c"])
    corners = target.coordinates([0, 1, 2])
    assert [((corners[i] - corners[j]) ** 2).sum() for i, j in ((0, 1), (0, 2), (1, 2))] == pytest.approx([1, 1, 1])
    assert target.label_of(np.array([[0.2, 0.5, 0.3]])) == ["v"]
    assert (target.name, replace(target, criterion="tone").name) == ("", "tone")


def test_each_criterion_has_its_own_kind_of_labels():
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
def test_numbers_with_few_values_have_shares(scale, given, n_shares, whole):
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
def test_predictions_are_whole_if_labels_are(value, label):
    frame = pl.DataFrame({"item": ["a", "b"], "annotator": "x", "label": [1.0, 7.0]})
    (target,) = targets_of(Annotations.from_frame(frame, judges=[], scale="interval"), ["x"], ["a", "b"])
    assert target.label_of(np.array([value])) == [label]
    frame = frame.with_columns(pl.Series("label", [1.0, 7.5]))
    (target,) = targets_of(Annotations.from_frame(frame, judges=[], scale="interval"), ["x"], ["a", "b"])
    assert target.label_of(np.array([value])) == [value]


def test_missing_labels_and_texts_are_refused():
    frame = pl.DataFrame({"item": ["a"], "annotator": ["x"], "label": [1]})
    labels = Annotations.from_frame(frame, judges=[], scale="1-5")
    for people, items in ((["y"], ["a"]), (["x"], ["b"])):
        with pytest.raises(DataError, match=r"no item with a text has a label$"):
            targets_of(labels, people, items)


def test_labels_that_are_texts_are_refused():
    frame = pl.DataFrame({"item": ["a"], "annotator": ["x"], "label": ["a word or two"]})
    labels = assay.read(frame, scale="text", judges=[])
    with pytest.raises(DesignError, match="requires categories or numbers"):
        targets_of(labels, ["x"], ["a"])


# -- the parts, one by one ------------------------------------------------------------------------------


def partition_slowly(words, parts):
    """Each sentence belongs to the part with its middle; a first sentence moves if a part would be empty."""
    n, total = len(words), max(sum(words), 1)
    if n < parts:
        return [min(k, n - 1) for k in range(parts)] + [n]
    middles = [sum(words[:i]) + words[i] / 2 for i in range(n)]
    part = [min(int(parts * middle / total), parts - 1) for middle in middles]
    starts = [sum(p < k for p in part) for k in range(parts)]
    for k in range(1, parts):
        starts[k] = max(starts[k], starts[k - 1] + 1)  # one sentence for the part before
        starts[k] = min(starts[k], n - (parts - k))  # and one for each that follows
    return [*starts, n]


@pytest.mark.parametrize(
    ("words", "parts", "starts"),
    [
        ([1, 1, 1, 1], 2, [0, 2, 4]),
        ([3, 3], 2, [0, 1, 2]),
        ([5], 1, [0, 1]),
        ([1, 2, 3], 3, [0, 1, 2, 3]),  # as many sentences as parts: one each
        ([9, 1, 1], 3, [0, 1, 2, 3]),
        ([1, 1, 9], 3, [0, 1, 2, 3]),
        ([0, 0, 0], 2, [0, 2, 3]),  # no words at all: as late as each part allows
        ([2, 2, 2, 2, 2, 2], 3, [0, 2, 4, 6]),
        ([1, 1, 2], 2, [0, 2, 3]),
        ([2, 1, 1], 2, [0, 1, 3]),
        ([4], 3, [0, 0, 0, 1]),  # one sentence, shared by all three parts
        ([4, 4, 4], 5, [0, 1, 2, 2, 2, 3]),
    ],
)
def test_equal_partition_by_hand(words, parts, starts):
    assert equal_partition(words, parts) == starts == partition_slowly(words, parts)


def test_equal_partition_agrees_with_slow_reference():
    rng = np.random.default_rng(4)
    for _ in range(60):
        words = rng.integers(1, 12, rng.integers(1, 9)).tolist()
        parts = int(rng.integers(1, 7))
        assert equal_partition(words, parts) == partition_slowly(words, parts)


@pytest.mark.parametrize(
    ("said", "at"),
    [
        ("0:10", 10), ("1:02:03", 3723), ("[02:03.5]", 123.5), ("(2:03,25)", 123.25), ("00:02:03.000", 123),
        ("00:02:03.000 --> 00:02:07.000", 123), ("100:00", 6000), (" 0:07 ", 7), (12, 12), (1.5, 1.5), (0, 0),
    ],
)  # fmt: skip
def test_time_formats(said, at):
    assert seconds(said, "begins", "i1") == at


@pytest.mark.parametrize("said", ["12", "1:2", "1:02:3", "0:10 later", "", math.inf, math.nan])
def test_invalid_time_formats_are_refused(said):
    with pytest.raises(DataError, match=r"item 'i1' has .* in 'begins', which is not a time; use seconds"):
        seconds(said, "begins", "i1")


def test_stamped_sentences():
    said = "Before. All.\n[0:05] One. Two.\n\nStill.\n1:00:00 | Last.\n0:59\nAlone."
    found, times = stamped_sentences(said)
    assert found == ["Before.", "All.", "One.", "Two.", "Still.", "Last.", "Alone."]
    assert times.tolist() == [-math.inf, -math.inf, 5, 5, 5, 3600, 59]


@pytest.mark.parametrize(
    ("time", "words"), [(0, "0:00:00"), (59, "0:00:59"), (60, "0:01:00"), (3599, "0:59:59"), (3661, "1:01:01"),
                        (7325, "2:02:05"), (36000, "10:00:00")],
)  # fmt: skip
def test_a_time_that_two_segments_begin_at_is_named(time, words):
    items = pl.DataFrame({"item": ["a", "b"], "text": "[0:00] One.", "begins": [time, time]})
    with pytest.raises(DataError, match=f"items 'a' and 'b' of document 'd' both begin at {words};"):
        gather_texts(items, TrainSettings(text="text", starts="begins"), ["d", "d"])


def sequences(*texts):
    n = np.arange(len(texts))
    return Texts(tuple(f"i{k}" for k in n), [[one] for one in texts], n, 0 * n, 0 * n + 1)


def test_near_duplicates_use_the_shorter_text():
    """Six words have four 3-grams. The second text shares three of four with the first; the third is too short."""
    same, part, short = "a b c d e f", "A b, c d e g", "a b c d e"
    assert near_duplicates(sequences(same, part, same), 0.75) == [(0, 1), (0, 2), (1, 2)]
    assert near_duplicates(sequences(same, part, same), 0.76) == [(0, 2)]
    assert near_duplicates(sequences(same, short, short), 0.1) == [], "three 3-grams are too few"
    longer = f"x y z {same} u v w"
    assert near_duplicates(sequences(longer, same), 1.0) == [(0, 1)], "relative to the shorter, in either order"
    assert near_duplicates(sequences("a b", "", "a b"), 0.5) == []


@pytest.mark.parametrize(("others", "found"), [(COMMON - 2, True), (COMMON - 1, False)])
def test_common_3_grams_are_ignored(others, found):
    """Including the two compared texts: 100 texts with one 3-gram are not too many, 101 are, and 5 of 6 remain."""
    first = "i would like p q r s t"  # "i would like" and five more
    texts = sequences(first, first, *(f"i would like n{k}" for k in range(others)))
    assert ((0, 1) in near_duplicates(texts, 1.0)) == found
    assert (0, 1) in near_duplicates(texts, 5 / 6)


def test_many_3_grams_are_sampled():
    """Two equal texts with 58 3-grams each, 116 in total; a third text shares none of the remaining ones."""
    words = [f"w{k}" for k in range(60)]
    grams = documents.word_grams(" ".join(words))
    left = {sampled: sum(g % sampled == 0 for g in grams) for sampled in (2, 4, 16)}
    assert left[2] > left[4] >= LEAST_GRAMS > left[16] > 0
    texts = sequences(" ".join(words), " ".join(words))
    for most, found in ((116, [(0, 1)]), (58, [(0, 1)]), (29, [(0, 1)]), (7, [])):  # 116 // 7 is 16: too few remain
        assert near_duplicates(texts, 1.0, most) == found


@pytest.mark.parametrize(
    ("text", "n"), [("a b c", 1), ("a b c d", 2), ("a b", 0), ("", 0), ("a b c a b c", 3), ("A-b, C!", 1)]
)
def test_3_grams_of_words(text, n):
    assert len(documents.word_grams(text)) == n
    assert documents.word_grams("A-b, C!") == documents.word_grams("a b c")


def test_merge_numbers_connected_groups_by_first_item():
    assert documents.merge_groups(5, [np.array([7, 3, 7, 1, 3])]).tolist() == [0, 1, 0, 2, 1]
    assert documents.merge_groups(5, [np.array([0, 1, 2, 3, 4]), np.array([0, 1, 1, 3, 4])]).tolist() == [0, 1, 1, 2, 3]
    assert documents.merge_groups(4, [np.arange(4)], [(3, 1)]).tolist() == [0, 1, 2, 1]
    chain = documents.merge_groups(5, [np.array([0, 0, 1, 2, 3])], [(1, 2), (2, 4)])
    assert chain.tolist() == [0, 0, 0, 1, 0]


def test_groups_are_assigned_to_the_emptiest_fold():
    """Sizes 4, 1, 1, 2: in any order, folds differ by at most the largest group."""
    group = np.array([0, 0, 0, 0, 1, 2, 3, 3])
    for seed in range(12):
        fold = documents.draw_folds(group, 2, np.random.default_rng(seed))
        assert all(len(set(fold[group == one].tolist())) == 1 for one in range(4))
        order = np.random.default_rng(seed).permutation(4)
        filled, wanted = [0, 0], {}
        for one in order.tolist():
            emptiest = filled.index(min(filled))
            wanted[one] = emptiest
            filled[emptiest] += [4, 1, 1, 2][one]
        assert fold.tolist() == [wanted[one] for one in group.tolist()]


@pytest.mark.parametrize(
    ("groups", "before", "words"),
    [
        (1, 5, "5 documents are treated as 1 because of their common words"),
        (3, 90, "90 documents are treated as 3 "),
        (1, 4, "all items belong to one document, so none can be held out; name smaller documents"),
        (2, 4, "2 documents cannot be divided into 5 folds; use folds=2"),
        (4, 4, "4 documents cannot be divided into 5 folds; use folds=4"),
    ],
)
def test_too_few_documents_message(groups, before, words):
    """Each group has one text, in all of its documents."""
    said = [" ".join(f"w{k % groups}x{j}" for j in range(9)) for k in range(before)]
    rows = [(f"i{k}", "x", k % 5 + 1) for k in range(before)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    labels = Annotations.from_frame(frame, judges=[], scale="1-5")
    with pytest.raises(DataError, match=words):
        make_folds(labels, sequences(*said), (None, ""), TrainSettings(folds=5))


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"a": ["two words here", "so it is"], "b": ["x", "y"]}, "a"),
        ({"a": ["one two three", None], "b": ["x y", "y z"]}, "a"),  # two spaces on average are a text, one is none
        ({"a": ["x y", "y z"], "text": ["x", "y"]}, "text"),
        ({"a": ["one two three", "one"], "b": ["one two three", "one two three"]}, "b"),  # (2 + 0) / 2 is too few
    ],
)
def test_text_column_has_at_least_two_spaces_on_average(columns, found):
    assert text_column(pl.DataFrame({"item": ["one two three", "four five six"], **columns}), None) == found


def test_two_text_columns_are_ambiguous():
    items = pl.DataFrame({"item": ["i"], "a": ["one two three"], "b": ["one two three"], "c": ["x"], "n": [3]})
    with pytest.raises(DataError, match="a, b are candidates; name it with text="):
        text_column(items, None)
    assert text_column(items, "c") == "c"


def test_near_duplicates_that_join_documents_are_noted():
    """Items of one document with common words are not noted; the note has singular and plural forms."""
    names = [f"i{k}" for k in range(6)]
    text = ["a b c d e f"] * 2 + ["p q r s t u"] * 2 + ["one two three four five six", "g h i j k l"]
    frame = pl.DataFrame({"item": names, "annotator": "x", "label": [1, 2] * 3})

    def folds(document, **options):
        items = pl.DataFrame({"item": names, "text": text, "document": document})
        labels = Annotations.from_frame(frame, scale="1-5", judges=[], items=items)
        return folds_of(labels, document="document", folds=2, **options)

    one = folds(["d", "d", "e", "f", "g", "h"])
    assert one.words[:2] == (
        "5 documents by item column 'document'",
        "1 pair of texts with at least 60% common 3-grams is treated as one document",
    )
    assert one.group.tolist() == [0, 0, 1, 1, 2, 3]
    assert one.words[-1] == "2 folds of 4 groups, drawn with seed 0"
    assert (one.names, len(one)) == (("1", "2"), 2)
    judged = pl.DataFrame({"item": names, "annotator": "m", "label": [1, 2] * 3})
    some = pl.concat([frame.head(4), judged])
    items = pl.DataFrame({"item": names, "text": text, "document": list("ddefgh")})
    partly = Annotations.from_frame(some, scale="1-5", judges=["m"], items=items)
    words = folds_of(partly, document="document", folds=2).words
    assert words[-1] == "2 folds of 4 groups (2 with human labels), drawn with seed 0"
    two = folds(["c", "d", "e", "f", "g", "h"], near=1.0)
    assert two.words[1] == "2 pairs of texts with at least 100% common 3-grams are treated as one document"
    assert folds(["d", "d", "e", "e", "g", "h"]).words[1:] == ("2 folds of 4 groups, drawn with seed 0",)
    assert folds(["c", "d", "e", "f", "g", "h"], near=0.0).group.tolist() == [0, 1, 2, 3, 4, 5]


def test_position_of_an_item_in_a_document():
    texts = Texts(("a", "b", "c"), [["S1.", "S2.", "S3."], ["T1."]], *map(np.array, ([0, 0, 1], [0, 1, 0], [1, 3, 1])))
    assert texts.by_document
    assert texts.length.tolist() == [3, 1]
    assert [texts.text_of(k) for k in range(3)] == [["S1."], ["S2.", "S3."], ["T1."]]
    some = texts.some(np.array([2, 1]))
    assert (some.items, some.by_document) == (("c", "b"), False)
    assert [some.text_of(k) for k in range(2)] == [["T1."], ["S2.", "S3."]]


def test_prediction_becomes_the_nearest_category_and_the_first_of_equals():
    frame = pl.DataFrame({"item": ["a", "b"], "annotator": "x", "label": ["low", "high"]})
    (target,) = targets_of(assay.read(frame, judges=[], scale="ordinal:low<mid<high"), ["x"], ["a", "b"])
    low, mid, high = target.number
    assert low < mid < high
    said = target.label_of(np.array([low - 9, (low + mid) / 2, (low + mid) / 2 + 0.01, high + 9]))
    assert said == ["low", "low", "mid", "high"]


@pytest.mark.parametrize(
    ("text", "owner", "holds", "shared"),
    [
        (["x", "x", "y"], ["d", "d", "e"], "auto", True),
        (["x", "x", "y"], ["d", "d", "e"], "document", True),
        (["x", "x", "y"], ["d", "d", "e"], "item", False),
        (["x", "z", "y"], ["d", "d", "e"], "auto", False),  # two texts of one document are items' own
        (["x", "x", "y"], ["c", "d", "e"], "auto", False),  # an item a document: whose text it is makes no difference
        (["x", "x", "y"], ["c", "d", "e"], "document", False),
        (["x", "x"], None, "auto", False),
        (["x", "x"], None, "item", False),
    ],
)
def test_text_belongs_to_the_document_if_all_its_items_share_it(text, owner, holds, shared):
    items = pl.DataFrame({"item": [f"i{k}" for k in range(len(text))], "text": text})
    texts, _, _ = gather_texts(items, TrainSettings(text="text", text_holds=holds), owner)
    assert texts.by_document is shared


def test_items_without_sentences_join_no_copies():
    """Two documents with the same words; no item of the second remains."""
    texts = Texts(("a", "b"), [["one two three four five six"]] * 2, *map(np.array, ([0, 0], [0, 0], [1, 1])))
    assert near_duplicates(texts, 1.0) == [(0, 1)]
    frame = pl.DataFrame({"item": ["a", "b"], "annotator": "x", "label": [1, 2]})
    labels = Annotations.from_frame(frame, judges=[], scale="1-5")
    with pytest.raises(DataError, match="all items belong to one document"):
        make_folds(labels, texts, (None, ""), TrainSettings(folds=2))


def test_embed_returns_one_array_per_sequence():
    texts = Texts(("a", "b", "c"), [["1", "22"], ["333"], ["4444"]], *map(np.array, ([0, 1, 2], [0, 0, 0], [2, 1, 1])))
    encoder = documents.OwnEncoder(lambda some: np.array([[len(one), 1.0] for one in some]))
    rows = documents.embed(texts, encoder)
    assert [one.shape for one in rows] == [(2, 2), (1, 2), (1, 2)]
    along = [one[:, 0] / one[:, 1] for one in rows]  # regardless of their length
    assert np.concatenate(along) == pytest.approx([1, 2, 3, 4])
    assert rows[0].dtype == np.float32


def test_encoders_of_returns_the_named_models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (DEFAULT_MODEL, "e5", "bge"):
        Path(name).mkdir(parents=True)
        Path(name, "config.json").write_text(f'"{name}"')
    folder_of.cache_clear()  # the default one is here for now
    try:
        for given, names in {None: [DEFAULT_MODEL], "e5": ["e5"], ("e5", "bge"): ["e5", "bge"]}.items():
            made = documents.encoders_of(TrainSettings(encoders=given, device="cpu"))
            assert [(one.model, one.device) for one in made] == [(name, "cpu") for name in names]
    finally:
        folder_of.cache_clear()
    (own,) = documents.encoders_of(TrainSettings(encoders=len))
    assert own.function is len
    with pytest.raises(DesignError, match="encoders is empty; name a model, or omit it"):
        documents.encoders_of(TrainSettings(encoders=()))
