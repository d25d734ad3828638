"""Names as numbers: against the slow obvious road."""

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.data.names import Names, Utf8, any_twice, codes_in, factorize, sort_cells, text_order

TEXTS = st.lists(st.one_of(st.text(max_size=12), st.sampled_from(["a", "a\0", "a\0\0", "prefix-12345678", "é"])))


def utf8(text: str) -> bytes:
    return text.encode()


@given(TEXTS)
def test_texts_are_coded_in_the_order_of_their_bytes(texts):
    distinct, codes = factorize(pl.Series(texts, dtype=pl.String))
    assert distinct.to_list() == sorted(set(texts), key=utf8)
    assert [distinct[int(c)] for c in codes] == texts


@given(TEXTS, st.sampled_from([1, 3, 10]))
def test_in_runs_too(texts, times):
    rows = [t for t in texts for _ in range(times)]
    distinct, codes = factorize(pl.Series(rows, dtype=pl.String))
    assert [distinct[int(c)] for c in codes] == rows


@given(st.lists(st.text(max_size=20), unique=True))
def test_the_order_of_texts(texts):
    texts = [f"the same beginning {t}" for t in texts]
    assert [texts[i] for i in text_order(pl.Series(texts, dtype=pl.String))] == sorted(texts, key=utf8)


def test_texts_whose_hashes_begin_alike_are_told_apart(monkeypatch):
    rows = pl.Series([f"t{i % 40}" for i in range(200)])
    monkeypatch.setattr(pl.Series, "hash", lambda self: self.str.tail(1).cast(pl.UInt64) * 2**60 + 1)
    distinct, codes = factorize(rows)
    assert distinct.to_list() == sorted(set(rows))
    assert distinct.gather(codes).to_list() == rows.to_list()


@pytest.mark.parametrize(
    ("values", "distinct"),
    [
        ([2, 1, 2], [1, 2]),
        ([0.5, None, -1.0], [None, -1.0, 0.5]),
        ([True, False], [0, 1]),
        ([date(2024, 1, 2), date(2024, 1, 1)], [date(2024, 1, 1), date(2024, 1, 2)]),
        (["b", None, "a"], [None, "a", "b"]),
        ([None, None], [None]),
    ],
)
def test_columns_of_any_type(values, distinct):
    found, codes = factorize(pl.Series(values))
    assert found.to_list() == distinct
    assert [found[int(c)] for c in codes] == values


def test_codes_in_a_given_order():
    assert codes_in(pl.Series(["b", "a", "b"]), pl.Series(["b", "c", "a"])).tolist() == [0, 2, 0]
    assert codes_in(pl.Series([3, 1]), pl.Series([1, 2, 3])).tolist() == [2, 0]


@given(st.lists(st.integers(0, 30)), st.sampled_from([31, 2**61]))
def test_sorting_keeps_equal_ones_as_they_are(cells, n_cells):
    numbers = np.array(cells, dtype=np.int64)
    order, found = sort_cells(numbers, n_cells)
    assert found.tolist() == sorted(cells)
    wanted = sorted(range(len(cells)), key=cells.__getitem__)
    assert (list(range(len(cells))) if order is None else order.tolist()) == wanted
    assert any_twice(numbers) == (len(set(cells)) < len(cells))


def test_words_of_texts():
    found = Utf8.of(pl.Series(["abcdefghij", "é", ""]))
    every = np.arange(3)
    assert found.words(every, 0, ">").tolist() == [
        int.from_bytes(b"abcdefgh", "big"), int.from_bytes("é".encode() + bytes(6), "big"), 0
    ]  # fmt: skip
    assert found.words(every, 8, "<").tolist() == [int.from_bytes(b"ij", "little"), 0, 0]


def test_names_are_a_sequence():
    names = Names(pl.Series(["a", "b", "c"]))
    assert names == ("a", "b", "c")
    assert names == Names(pl.Series(["a", "b", "c"]))
    assert names != ("a", "b")
    assert names != "abc"
    assert (names[0], names[-1], names[1:]) == ("a", "c", ("b", "c"))
    assert (list(names), len(names), "b" in names, "x" in names, 3 in names) == (["a", "b", "c"], 3, True, False, False)
    assert repr(names) == "('a', 'b', 'c')"
    assert pl.DataFrame({"item": names})["item"].to_list() == ["a", "b", "c"]
    with pytest.raises(IndexError):
        names[3]
