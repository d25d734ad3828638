"""Items set apart: whole documents, the same share of every stratum, drawn once."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import polars as pl
import pytest

from assay.data.names import factorize
from assay.errors import DataError, DesignError, StudyError
from assay.study.definition import load_study
from assay.study.split import draw_parts, split_items, split_study, split_table


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
        "15 items in the development set and 45 in the test set (seed 1).\n"
        "Items of one document stay together: 20 documents, by the text before '_' in their names."
    )


def test_column_says_what_a_document_is():
    found = split_items(items(), document="paper", test=0.6)
    assert found.parts.group_by("document").agg(pl.col("part").n_unique())["part"].to_list() == [1] * 5
    assert (found.parts["part"] == "test").sum() == 36
    assert "5 documents, as column 'paper' says" in found.summary()


@pytest.mark.parametrize("seed", range(5))
def test_every_stratum_has_the_same_share(seed):
    found = split_items(items(40), strata=["topic"], test=0.8, seed=seed)
    assert found.table["stratum"].to_list() == ["art", "law"]
    assert found.table["share"].to_list() == pytest.approx([0.8, 0.8])
    # Of 40 documents of three sentences each fourth is on law: 90 and 30 items, four of five for the test.
    assert found.table.select("n", "development", "test").rows() == [(90, 18, 72), (30, 6, 24)]
    assert "Stratified by topic: 80 to 80% of each of 2 kinds are in the test set." in found.summary()


@pytest.mark.parametrize("seed", range(3))
def test_split_items_draws_a_number_of_each_stratum(seed):
    whole = items(40).with_columns(document=pl.col("item"))  # each item alone: 90 on art, 30 on law
    found = split_items(whole, strata=["topic"], document="document", n_test=25, seed=seed)
    assert found.table.select("stratum", "development", "test").rows() == [("art", 65, 25), ("law", 5, 25)]
    assert "Test set: 25 items of each of 2 kinds of topic." in found.summary()
    # Documents of three sentences: 25 is nearest to 8 documents, 24 items; the next stratum does not make up for it.
    found = split_items(items(40), strata=["topic"], n_test=25, seed=seed)
    assert found.table["test"].to_list() == [24, 24]
    # Each question has an output of each of two systems: 25 questions have 25 outputs of both.
    pairs = pl.DataFrame(
        {"item": [f"q{n:02d}-{system}" for n in range(40) for system in "ab"], "system": ["a", "b"] * 40}
    )
    found = split_items(pairs, strata=["system"], n_test=25, seed=seed)
    assert found.table["test"].to_list() == [25, 25]
    assert found.parts.group_by("document").agg(pl.col("part").n_unique())["part"].to_list() == [1] * 40
    with pytest.raises(DataError, match="'law' has 30 items; the test set requires 31 of each kind"):
        split_items(items(40), strata=["topic"], n_test=31)
    with pytest.raises(DataError, match="120 items cannot be split into two parts, 120 of each kind for the test"):
        split_items(whole.with_columns(item=pl.Series(map(str, range(120)))), n_test=120)
    with pytest.raises(DesignError, match="n_test"):
        split_items(items(), n_test=0)


def test_strata_that_item_names_begin_with_are_no_documents():
    """25 items of each benchmark, whose names are stsb-07, mtb-12 and so on."""
    sizes = {"stsb": 80, "mtb": 60, "toxigen": 100}
    cells = [(name, k) for name, n in sizes.items() for k in range(n)]
    whole = pl.DataFrame(
        {"item": [f"{name}-{k}" for name, k in cells], "benchmark": [name.upper() for name, _ in cells]}
    )
    found = split_items(whole, strata=["benchmark"], n_test=25)
    assert found.table["test"].to_list() == [25, 25, 25]
    assert found.summary() == (
        "165 items in the development set and 75 in the test set (seed 0).\n"
        "Test set: 25 items of each of 3 kinds of benchmark."
    )
    # Without the strata, or with others, they could be documents: the error names the rule and the option.
    message = (
        r"3 documents \(by the text before '-' in their names\) cannot be split into two parts, 25 of each kind for "
        "the test; if items of one document may be in different parts, set document='item'"
    )
    with pytest.raises(DataError, match=message):
        split_items(whole, n_test=25)
    assert split_items(whole, n_test=25, document="item").table["test"].to_list() == [25]


def test_share_is_kept_over_all_strata_where_each_is_too_small_for_it():
    # Twelve strata of one document each: three of four documents, in any stratum.
    parts = draw_parts(list(range(12)), list(range(12)), test=0.75, seed=0)
    assert parts.count("test") == 9


def test_large_documents_are_as_near_to_the_share_as_they_can_be():
    documents = ["big"] * 70 + [f"small{i}" for i in range(30)]
    for seed in range(20):
        parts = draw_parts(documents, [None] * 100, test=0.75, seed=seed)
        # Off by half of the largest document at most, wherever in the order it is drawn.
        assert abs(parts.count("test") - 75) <= 35


def test_seed_decides_and_the_order_of_items_does_not():
    whole = items()
    one, other = split_items(whole, seed=3), split_items(whole.reverse(), seed=3)
    assert one.parts.sort("item")["part"].to_list() == other.parts.sort("item")["part"].to_list()
    assert split_items(whole).parts.equals(split_items(whole, test=0.75, seed=0).parts)
    assert split_items(whole, seed=4).parts["part"].to_list() != one.parts["part"].to_list()


@pytest.mark.slow
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
def test_split_items_rejects_invalid_input(changed, options, words):
    frame = items().with_columns(**{name: pl.lit(value, dtype=pl.String) for name, value in changed.items()})
    with pytest.raises(DataError, match=words):
        split_items(frame, **options)


@pytest.mark.parametrize("test", [0, 1, -0.5, "half"])
def test_share_is_between_none_and_all(test):
    with pytest.raises(DesignError, match="test"):
        split_items(items(), test=test)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_table_of_labels_gets_a_column(tmp_path, suffix):
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


def test_table_without_the_column_is_refused(tmp_path):
    items().write_csv(tmp_path / "items.csv")
    with pytest.raises(DataError, match=r"'id'.*it should hold the item"):
        split_table(tmp_path / "items.csv", tmp_path / "out.csv", item="id")


@pytest.mark.parametrize("source", ["labels.csv", "labels.TSV", "labels.jsonl"])
@pytest.mark.parametrize("out", ["out.csv", "out.tsv", "out.jsonl"])
def test_split_table_keeps_cells_unchanged(tmp_path, source, out):
    """1.50 of one text file is 1.50 of the other; a text 1.50 of JSON would come back from CSV as the number 1.5."""
    labels = pl.DataFrame({"id": ["a", "b", "c", "d"] * 2, "label": ["1.50", "2.00", "3.25", "1.75"] * 2})
    if source.endswith("jsonl"):
        labels.write_ndjson(tmp_path / source)
    else:
        labels.write_csv(tmp_path / source, separator="," if source.endswith("csv") else "\t")
    if source.endswith("jsonl") and not out.endswith("jsonl"):
        with pytest.raises(DataError, match=r"column 'label' contains '1\.50'"):
            split_table(tmp_path / source, tmp_path / out, item="id")
        assert not (tmp_path / out).exists()
        return
    found = split_table(tmp_path / source, tmp_path / out, item="id", seed=2)
    if out.endswith("jsonl"):
        again = pl.read_ndjson(tmp_path / out)
    else:
        again = pl.read_csv(tmp_path / out, infer_schema=False, separator="," if out.endswith("csv") else "\t")
    assert again.columns == ["id", "label", "part"]
    assert again.drop("part").rows() == labels.rows()
    assert dict(again.select("id", "part").iter_rows()) == dict(found.parts.select("item", "part").iter_rows())
    assert found.parts.height == 4


def study(folder, table="item,text,topic\na1,x,\na2,y,law\nb1,z,law\nb2,,art\n", **more):
    (folder / "items.csv").write_text(table)
    rows = [f"{name}: {value}" for name, value in more.items()]
    rows += ["questions: [{name: stars, text: How good?, scale: 1-5}]"]
    (folder / "study.yaml").write_text("\n".join(rows))
    return load_study(folder)


def test_parts_of_a_study_are_kept_once_in_its_folder(tmp_path):
    one = study(tmp_path)
    found, path = split_study(one, test=0.5, seed=1)
    assert path == tmp_path / "split.csv"
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] == "item,part"
    assert lines[1:] == [f"{item},{part}" for item, part in found.parts.select("item", "part").iter_rows()]
    assert [line.split(",")[0] for line in lines[1:]] == ["a1", "a2", "b1", "b2"]
    assert sorted(found.parts["part"]) == ["development"] * 2 + ["test"] * 2
    with pytest.raises(StudyError, match=r"split\.csv exists: the items are split already"):
        split_study(one, test=0.5)


def test_documents_and_strata_of_a_study_are_those_of_its_items(tmp_path):
    filled = "item,text,topic\na1,x,art\na2,y,law\nb1,z,law\nb2,w,art\n"
    found, path = split_study(study(tmp_path, filled, items="{file: items.csv, document: topic}"), test=0.5)
    assert found.grouped_by == "as column 'topic' says"
    assert found.parts["document"].to_list() == ["art", "law", "law", "art"]
    path.unlink()
    found, path = split_study(study(tmp_path, filled, items="{file: items.csv, document: topic}"), document="text")
    assert found.grouped_by == "as column 'text' says"  # what is said goes before it
    path.unlink()
    with pytest.raises(DataError, match=r"1 item \(a1\) without 'topic'"):  # an empty cell is none
        split_study(study(tmp_path), strata=["topic"])
    assert not path.exists()


@pytest.mark.parametrize(
    ("systems", "drawn_from"), [(("s", "t"), [None]), ((), [None, "text"]), (("s", "t"), [None, "text"])]
)
def test_items_from_which_what_is_judged_is_drawn_are_not_split(tmp_path, systems, drawn_from):
    asked = [SimpleNamespace(drawn_from=one) for one in drawn_from]
    drawn = SimpleNamespace(folder=tmp_path, systems=systems, config=SimpleNamespace(questions=asked))
    with pytest.raises(StudyError, match="this study draws pairs or triplets from its items"):
        split_study(drawn)
    assert list(tmp_path.iterdir()) == []


def test_each_document_goes_where_it_brings_the_share_nearer():
    """By hand, of half: one item is half short and taken (a tie), the next not (−.5 + .5 = 0 < .5), and so on."""
    assert draw_parts(["a"], [0], test=0.5, seed=0) == ["test"]
    assert draw_parts(["a"], [0], test=0.49, seed=0) == ["development"]
    assert sorted(draw_parts(["a", "b"], [0, 0], test=0.5, seed=0)) == ["development", "test"]
    # Of three the first and third: missing .5, taken, -.5; 0; .5, taken.
    assert draw_parts(["a", "b", "c"], [0] * 3, test=0.5, seed=0).count("test") == 2
    # Of a document of one and one of three, .25 of 4 is 1, but where the small one comes first: .25 < .5, then 1 < 1.5.
    found = [draw_parts(["a", "b", "b", "b"], [0] * 4, test=0.25, seed=seed) for seed in range(20)]
    assert {one.count("test") for one in found} == {0, 1}
    assert all(one[1] == one[2] == one[3] == "development" for one in found)
    # A document's stratum is that of most of its items, so what is there once decides nothing.
    parts = draw_parts(["a", "a", "a", "b", "b", "b"], ["x", "y", "y", "y", "x", "x"], test=0.5, seed=3)
    assert parts == draw_parts(["a", "a", "a", "b", "b", "b"], ["y", "y", "y", "x", "x", "x"], test=0.5, seed=3)
