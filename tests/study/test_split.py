"""Items set apart: whole documents, the same share of every stratum, drawn once."""

from __future__ import annotations

import itertools

import polars as pl
import pytest

from assay.data.names import factorize
from assay.errors import DataError, DesignError
from assay.study.split import draw_parts, split_items, split_table


def items(n_documents: int = 20, sentences: int = 3) -> pl.DataFrame:
    cells = list(itertools.product(range(n_documents), range(sentences)))
    return pl.DataFrame(
        {
            "item": [f"doc{d}_s{s}" for d, s in cells],
            "paper": [f"p{d % 5}" for d, _ in cells],
            "topic": ["law" if d % 4 == 0 else "art" for d, _ in cells],
        }
    )


def test_items_whose_names_share_a_document_stay_together():
    found = split_items(items(), test=0.75, seed=1)
    assert found.parts["part"].value_counts().sort("part")["count"].to_list() == [15, 45]
    assert found.parts.group_by("document").agg(pl.col("part").n_unique())["part"].to_list() == [1] * 20
    assert found.summary() == (
        "15 items for development and 45 for the test, drawn with seed 1.\n"
        "Items of one document stay together: 20 documents, by what stands before '_' in their names."
    )


def test_a_column_says_what_a_document_is():
    found = split_items(items(), document="paper", test=0.6)
    assert found.parts.group_by("document").agg(pl.col("part").n_unique())["part"].to_list() == [1] * 5
    assert (found.parts["part"] == "test").sum() == 36
    assert "5 documents, as column 'paper' says" in found.summary()


@pytest.mark.parametrize("seed", range(5))
def test_every_stratum_has_the_same_share(seed):
    found = split_items(items(40), strata=["topic"], test=0.8, seed=seed)
    assert found.table["stratum"].to_list() == ["art", "law"]
    assert found.table["share"].to_list() == pytest.approx([0.8, 0.8])
    assert "Alike in topic: 80 to 80% of each of 2 kinds are for the test." in found.summary()


def test_the_share_is_kept_over_all_strata_where_each_is_too_small_for_it():
    # Twelve strata of one document each: three of four documents, whatever their stratum.
    parts = draw_parts(list(range(12)), list(range(12)), test=0.75, seed=0)
    assert parts.count("test") == 9


def test_large_documents_are_as_near_to_the_share_as_they_can_be():
    documents = ["big"] * 70 + [f"small{i}" for i in range(30)]
    for seed in range(20):
        parts = draw_parts(documents, [None] * 100, test=0.75, seed=seed)
        # Off by half of the largest document at most, wherever in the order it is drawn.
        assert abs(parts.count("test") - 75) <= 35


def test_the_seed_decides_and_the_order_of_items_does_not():
    whole = items()
    one, other = split_items(whole, seed=3), split_items(whole.reverse(), seed=3)
    assert one.parts.sort("item")["part"].to_list() == other.parts.sort("item")["part"].to_list()
    assert split_items(whole, seed=4).parts["part"].to_list() != one.parts["part"].to_list()


def test_every_item_is_as_likely_to_be_tested():
    # 4,000 draws of 12 items: each is for the test in 9 of 12, with a standard error of .007.
    drawn = [draw_parts(list(range(12)), [0] * 12, test=0.75, seed=seed) for seed in range(4000)]
    shares = [sum(parts[i] == "test" for parts in drawn) / 4000 for i in range(12)]
    assert shares == pytest.approx([0.75] * 12, abs=0.03)


@pytest.mark.parametrize(
    ("changed", "options", "words"),
    [
        ({}, {"document": "papr"}, "papr"),
        ({}, {"strata": ["subject"]}, "subject"),
        ({"part": "x"}, {}, "the items have a column 'part' already"),
        ({"topic": None}, {"strata": ["topic"]}, r"60 items \(doc0_s0, doc0_s1, doc0_s2 and 57 more\) without 'topic'"),
        ({"paper": "same"}, {"document": "paper"}, "1 document cannot be split into two parts, 75% for the test"),
    ],
)
def test_what_cannot_be_split_is_refused(changed, options, words):
    frame = items().with_columns(**{name: pl.lit(value, dtype=pl.String) for name, value in changed.items()})
    with pytest.raises(DataError, match=words):
        split_items(frame, **options)


@pytest.mark.parametrize("test", [0, 1, -0.5, "half"])
def test_the_share_is_between_none_and_all(test):
    with pytest.raises(DesignError, match="test"):
        split_items(items(), test=test)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_table_of_labels_gets_a_column(tmp_path, suffix):
    whole = items()
    labels = pl.concat([whole.with_columns(annotator=pl.lit(who), label=pl.lit(3)) for who in ("ann", "bob")])
    labels = labels.rename({"item": "id"})
    source = tmp_path / f"labels.{suffix}"
    {"csv": labels.write_csv, "jsonl": labels.write_ndjson, "parquet": labels.write_parquet}[suffix](source)
    out = tmp_path / f"out.{suffix}"
    found = split_table(source, out, item="id")
    again = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[suffix](out)
    assert again.drop("part").equals(labels)
    part_of = dict(found.parts.select("item", "part").iter_rows())
    assert again["part"].to_list() == [part_of[name] for name in labels["id"]]
    assert len(factorize(again["part"]).names) == 2


def test_a_table_without_the_column_is_refused(tmp_path):
    items().write_csv(tmp_path / "items.csv")
    with pytest.raises(DataError, match=r"'id'.*it should hold the item"):
        split_table(tmp_path / "items.csv", tmp_path / "out.csv", item="id")
