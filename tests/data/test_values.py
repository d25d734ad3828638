"""Labels in sheets: numbers in any notation, declared orders, missing values, spellings."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.data.notations import are_dates
from assay.data.scales import Interval, Nominal, Ordinal
from assay.data.values import (
    LADDERS,
    MOST_CATEGORIES,
    LabelColumn,
    parse_numbers,
    refuse_slips,
    word_order,
)
from assay.errors import DataError
from assay.estimation.result import Exclusion


def sheet(tmp_path, cells):
    """A text file with one label per row."""
    path = tmp_path / "sheet.tsv"
    rows = "".join(f"q{k}\tann\t{cell}\n" for k, cell in enumerate(cells))
    path.write_text("item\tannotator\tlabel\n" + rows, encoding="utf-8")
    return path


def frame(values) -> pl.DataFrame:
    return pl.DataFrame({"item": [f"q{k}" for k in range(len(values))], "annotator": "ann", "label": values})


def read_both(tmp_path, cells, **options):
    """The labels of a text file, which equal those of the same text in memory."""
    found, other = (assay.read(source, **options) for source in (sheet(tmp_path, cells), frame(cells)))
    assert found.labels["label"].to_list() == other.labels["label"].to_list()
    assert found.scales == other.scales
    assert found.reading.lines() == other.reading.lines()
    return found


# -- numbers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "options", "wanted", "scale", "said"),
    [
        (["4,5", "3", "2,25"], {}, [4.5, 3, 2.25], Interval(2.25, 4.5), "'4,5' parsed as numbers with a decimal"),
        (["1.234,5", "2"], {}, [1234.5, 2], Interval(2, 1234.5), "with a decimal comma"),
        (["1,234.5", "2"], {}, [1234.5, 2], Interval(2, 1234.5), "with commas between thousands"),
        (["0,991", "0,872"], {}, [0.991, 0.872], Interval(0.872, 0.991), "with a decimal comma"),
        (["1,234", "2.5"], {}, [1234, 2.5], Interval(2.5, 1234), "with commas between thousands"),
        (["1,234", "2"], {"decimal": "comma"}, [1.234, 2], Interval(1.234, 2), "with a decimal comma"),
        (["1,234", "2"], {"decimal": "point"}, [1234, 2], Interval(2, 1234), "with a decimal point"),
        (["80%", "7,5 %"], {}, [80, 7.5], Interval(0, 100), "'80%' parsed as percentages"),
        (["80%", "75%"], {"scale": "0-100"}, [80, 75], Ordinal(0, 100), "'80%' parsed as percentages"),
        (["80%", "75%"], {"scale": "interval:0-1"}, [0.8, 0.75], Interval(0, 1), "'80%' parsed as shares of 1"),
        (["4/5", "3 / 5", "2 of 5"], {}, [4, 3, 2], Ordinal(1, 5), "'4/5' parsed as numbers up to 5"),
        (["0/5", "3/5"], {}, [0, 3], Ordinal(0, 5), "'0/5' parsed as numbers up to 5"),
        (["3.5/5", "3/5"], {}, [3.5, 3], Interval(1, 5), "'3.5/5' parsed as numbers up to 5"),
        (["4/5", "3/5"], {"scale": "1-5"}, [4, 3], Ordinal(1, 5), "'4/5' parsed as numbers up to 5"),
        (["1/2", "2/2"], {}, [1, 2], Ordinal(1, 2), "'1/2' parsed as numbers up to 2"),
        (["0.5/2", "2 out of 2"], {}, [0.5, 2], Interval(0, 2), "'0.5/2' parsed as numbers up to 2"),
        (["1,5/2", "2/2"], {}, [1.5, 2], Interval(1, 2), "'1,5/2' parsed as numbers up to 2"),
        (["4/5", "2/5"], {"scale": "interval:0-1"}, [0.8, 0.4], Interval(0, 1), "'4/5' parsed as shares of 1"),
        (["4,5", "N/A", "3"], {}, [4.5, 3], Interval(3, 4.5), "'N/A' treated as missing"),
        (["4,5", "3"], {"scale": "interval:1-5"}, [4.5, 3], Interval(1, 5), "with a decimal comma"),
    ],
)  # fmt: skip
def test_read_parses_number_notations(tmp_path, cells, options, wanted, scale, said):
    labels = read_both(tmp_path, cells, **options)
    assert labels.labels["label"].to_list() == pytest.approx(wanted)
    assert labels.scale == scale
    assert said in " ".join(labels.reading.notes)


@pytest.mark.parametrize("layout", ["long", "wide"])
@pytest.mark.parametrize(
    ("labels", "other", "asked"),
    [
        (["1.500", "1.400"], ["3,5", "2"], True), (["1.500", "500"], ["3,5", "2,25"], True),
        (["1.500", "0.500"], ["3,5", "2"], False), (["1.500", "1.25"], ["3,5", "2"], False),
        (["1.500", "1.400"], ["3.5", "2"], False), (["1.500", "1.400"], ["3,500", "2,250"], False),
        (["1.500", "1.400"], ["a,5", "2,1"], False),
    ],
)  # fmt: skip
def test_points_next_to_decimal_commas_are_asked_about(tmp_path, layout, labels, other, asked):
    given = {"humans": ["ann", "bob"]}
    if layout == "wide":
        names = "id;ann;bob;x"
        rows = [f"q{i};{labels[i % 2]};{labels[(i + i % 3) % 2]};{other[i // 7 % 2]}" for i in range(30)]
    else:
        names, given = "id;who;score;x", {**given, "item": "id", "annotator": "who", "label": "score"}
        both = [(i, k, who) for i in range(30) for k, who in enumerate(("ann", "bob"))]
        rows = [f"q{i};{who};{labels[(i + k) % 2]};{other[i // 7 % 2]}" for i, k, who in both]
    path = tmp_path / "t.csv"
    path.write_text("\n".join([names, *rows]))
    if not asked:
        read = assay.read(path, **given)
        assert read.labels["label"].max() <= 500
        noted = any("If it separates thousands, set decimal='comma'" in note for note in read.reading.notes)
        assert noted == (labels == ["1.500", "1.400"])
        return
    with pytest.raises(DataError, match=r"'1\.500' are ambiguous: .* column 'x' has decimal commas, such as '3,5'"):
        assay.read(path, **given)
    assert assay.read(path, decimal="comma", **given).labels["label"].max() == 1500
    assert assay.read(path, decimal="point", **given).labels["label"].min() in (1.4, 1.5)


@pytest.mark.parametrize(
    ("cells", "options", "words"),
    [
        (["1,234", "2,345"], {}, "'1,234' are ambiguous: "
         "the comma can separate decimals or thousands. Set decimal='comma' or dec"),
        (["4,5", "4.5"], {}, "Set decimal='comma' or decimal='point', and write all labels in the same notation"),
        (["1,234", "2"], {"scale": "interval:0-5000"}, "Set decimal='comma' or decimal='point'"),
        (["80%", "0.8"], {}, "'80%' are percentages and '0.8' is not (row "),
        (["4/5", "8/10"], {}, "'4/5' are ambiguous: they can be dates, or parts of 5, 10"),
        (["12/5", "4/5"], {}, "'12/5' are ambiguous: they can be dates"),
        (["8/10", "4/10"], {"scale": "1-5"}, "2 labels off the scale (row"),
        (["2024-05-04", "2024-05-03"], {}, "2024-05-03'). Spreadsheets convert entries such as 4/5"),
        (["04.05.2024", "x"], {}, "look like dates"),
        (["4-May", "3-4", "5-6"], {}, "'4-May' look like dates"),
        (["May 4", "good"], {}, "'May 4' look like dates"),
        (["4 stars", "5 points"], {}, "begin with a number"),
        (["5 - agree", "1 - disagree"], {}, "begin with a number"),
        (["18-24", "25-34"], {}, "set scale='nominal' if they are categories"),
        (["$5", "$7"], {}, "begin with a number"),
        (["1", "two"], {}, "labels mix numbers and text; 1 row of text (row"),
        (["4/1", "1/1"], {}, "'4/1' are ambiguous: they can be dates, or parts of 1."),
        (["1/2", "2/2", "3/2"], {}, "'1/2' are ambiguous: they can be dates, or parts of 2."),
        ([f"4/{10**19}", f"3/{10**19}"], {}, "begin with a number"),  # more than 64 bits hold
        (["4/5", f"3/{10**19}"], {}, "begin with a number"),
    ],
)  # fmt: skip
def test_read_refuses_ambiguous_labels_with_option(tmp_path, cells, options, words):
    for source in (sheet(tmp_path, cells), frame(cells)):
        with pytest.raises(DataError) as caught:
            assay.read(source, **options)
        assert words in str(caught.value)
    if not options:
        assert assay.read(sheet(tmp_path, cells), scale="nominal").labels["label"].to_list() == cells


def test_infer_scale_of_words_and_sentences(tmp_path):
    for words in (
        ["yes", "no"],
        ["model_a", "model_b", "tie"],
        ["may", "march"],
        ["B12", "C4"],
        ["food|service", "food"],
    ):
        assert read_both(tmp_path, words).scale == Nominal()
    sentences = [f"answer {k} of many, on 2024-05-0{k % 9 + 1}" for k in range(60)]
    assert read_both(tmp_path, sentences).scale == assay.Text()
    with_a_number = [*sentences, "42"]
    assert assay.read(frame(with_a_number)).scale == assay.Text()


def test_read_keeps_text_numbers_of_frame_with_note():
    labels = assay.read(frame(["4", "5", "1"]))
    assert labels.scale == Nominal()
    assert "labels are text that contains numbers; set scale='1-5' to parse them" in labels.reading.notes
    assert assay.read(frame(["4", "5", "1"]), scale="1-5").labels["label"].to_list() == [4, 5, 1]


def test_read_parses_each_criterion_separately(tmp_path):
    path = tmp_path / "criteria.csv"
    rows = ['a,x,stars,"4,5"', "a,x,share,80%", "a,x,why,good", "b,x,stars,3", "b,x,share,20%", "b,x,why,bad"]
    path.write_text("\n".join(["item,annotator,criterion,label", *rows]))
    labels = assay.read(path)
    assert labels.scales == {"stars": Interval(3, 4.5), "share": Interval(0, 100), "why": Nominal()}
    assert labels.where(criterion="stars").matrix().ravel().tolist() == [4.5, 3]
    assert labels.where(criterion="share").matrix().ravel().tolist() == [80, 20]
    assert any(note.startswith("share: labels such as '80%'") for note in labels.reading.notes)
    with pytest.raises(DataError, match=r"labels of criterion 'stars' such as '1,234' are ambiguous"):
        assay.read(pl.DataFrame({"item": ["a", "b"], "annotator": "x", "criterion": ["stars", "why"],
                                 "label": ["1,234", "good"]}))  # fmt: skip


def test_read_parses_numeric_column_next_to_words():
    table = pd.DataFrame({"item": ["a", "b"], "annotator": "x", "why": ["good", "bad"], "stars": [2, 4]})
    labels = assay.read(table, label=["why", "stars"])
    assert labels.scales == {"why": Nominal(), "stars": Ordinal(2, 4)}


def test_read_decimal_commas_for_agreement(tmp_path):
    study = assay.simulate(n_items=60, scale="interval:1-5", judges={"judge": 0.3}, seed=4)
    table = study.labels.with_columns(pl.col("label").round(1))
    written = table.with_columns(pl.col("label").cast(pl.String).str.replace(".", ",", literal=True))
    written.write_csv(tmp_path / "sheet.csv", separator=";")
    found = assay.alt_test(assay.read(tmp_path / "sheet.csv", judges=["judge"]), "judge", epsilon=0.1, n_resamples=100)
    plain = assay.alt_test(assay.read(table, judges=["judge"]), "judge", epsilon=0.1, n_resamples=100)
    assert found.score == "neg_rmse"
    assert found.advantage_probability.estimate == plain.advantage_probability.estimate


# -- declared orders ----------------------------------------------------------------------------------

ORDER = ["low", "mid", "high"]


def ordered(values=("low", "high", "mid"), categories=tuple(ORDER)) -> pd.DataFrame:
    label = pd.Categorical(list(values), categories=list(categories), ordered=True)
    return pd.DataFrame({"item": ["a", "b", "c"], "annotator": "ann", "label": label})


def test_read_uses_declared_order(tmp_path):
    ordered().to_parquet(tmp_path / "pandas.parquet")
    enum = pl.from_pandas(ordered()).with_columns(pl.col("label").cast(pl.String).cast(pl.Enum(ORDER)))
    enum.write_parquet(tmp_path / "polars.parquet")
    sources = (
        ordered(),
        enum,
        pa.Table.from_pandas(ordered()),
        tmp_path / "pandas.parquet",
        tmp_path / "polars.parquet",
    )
    for source in sources:
        labels = assay.read(source)
        assert labels.scale == Ordinal(ORDER)
        assert labels.reading.notes[0].startswith(
            "Assumed scale ordinal:low<mid<high, the order that the column declares"
        )
        assert labels.matrix().ravel().tolist() == [0, 2, 1]
        assert assay.read(source, scale="nominal").scale == Nominal()
    assert assay.Annotations.from_frame(ordered()).scale == Ordinal(ORDER)
    without = assay.read(ordered().assign(label=["low", "high", "mid"]))
    assert without.scale == Nominal()
    assert assay.read(ordered().assign(label=pd.Categorical(["low", "high", "mid"]))).scale == Nominal()


def test_read_declared_order_of_numbers():
    assert assay.read(ordered([1, 3, 2], [1, 2, 3, 4, 5])).scale == Ordinal(1, 5)
    assert assay.read(ordered([1, 3, 2], [1, 2, 3, 4, 5])).labels["label"].to_list() == [1, 3, 2]
    assert assay.read(ordered([1, 3, 2], [3, 2, 1])).scale == Ordinal(["3", "2", "1"])


def test_read_declared_orders_of_several_columns():
    two = ordered().rename(columns={"label": "size"})
    two["worth"] = pd.Categorical(["bad", "good", "bad"], categories=["bad", "good"], ordered=True)
    found = assay.read(two, label=["size", "worth"])
    assert found.scales == {"size": Ordinal(ORDER), "worth": Ordinal(["bad", "good"])}
    wide = ordered().drop(columns="annotator").rename(columns={"label": "ann"})
    wide["bob"] = wide["ann"]
    assert assay.read(wide, layout="wide").scale == Ordinal(ORDER)
    wide["bob"] = pd.Categorical(["low", "mid", "high"], categories=ORDER[::-1], ordered=True)
    with pytest.raises(DataError, match="columns ann, bob declare different orders"):
        assay.read(wide, layout="wide")


def test_read_ordered_missing_mark_is_not_a_category():
    table = ordered(["low", "none", "high"], [*ORDER, "none"])
    with pytest.raises(DataError, match=r"can be missing values or categories: set missing=\['none'\] if"):
        assay.read(table)
    assert assay.read(table, missing=["none"]).scale == Ordinal(ORDER)
    assert assay.read(table, missing=[]).scale == Ordinal([*ORDER, "none"])


def test_read_keeps_ordered_attributes():
    table = ordered().assign(topic=pd.Categorical(["x", "y", "x"], categories=["y", "x"], ordered=True))
    labels = assay.read(table)
    assert labels.column("topic").to_list() == ["x", "y", "x"]
    assert len(labels.where(topic="x")) == 2


# -- Hugging Face -------------------------------------------------------------------------------------


def test_read_keeps_names_of_class_labels(tmp_path):
    about = {"label": {"names": ["neg", "neutral", "pos"], "_type": "ClassLabel"}, "item": {"_type": "Value"}}
    table = pa.table({"item": ["a", "b", "c"], "annotator": ["ann"] * 3, "label": [0, 2, -1]})
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": about}})})
    (tmp_path / "parts").mkdir()
    for path in (tmp_path / "train.parquet", tmp_path / "parts" / "0.parquet"):
        pq.write_table(table, path)
    for source in (table, tmp_path / "train.parquet", tmp_path / "parts"):
        labels = assay.read(source)
        assert labels.labels["label"].to_list() == ["neg", "pos"]
        assert labels.reading.exclusions == (Exclusion("row", 1, "without a label"),)
    strange = table.set_column(2, "label", pa.array([0, 2, 7])).replace_schema_metadata(table.schema.metadata)
    with pytest.raises(DataError, match="column 'label' has 3 classes, but contains class number 7"):
        assay.read(strange)


# -- missing values -----------------------------------------------------------------------------------


def test_read_refuses_missing_marks_among_categories(tmp_path):
    cells = ["yes", "no", "N/A", "n/a"]
    with pytest.raises(
        DataError, match=r"'N/A' \(row 4: 'N/A', row 5: 'n/a'\) can be missing values or categories: set missi"
    ):
        assay.read(sheet(tmp_path, cells))
    labels = read_both(tmp_path, cells, missing=["N/A", "n/a"])
    assert labels.labels["label"].to_list() == ["yes", "no"]
    assert labels.reading.exclusions == (Exclusion("row", 2, "missing label (N/A, n/a)"),)
    assert read_both(tmp_path, cells[:3], missing=[]).labels["label"].to_list() == cells[:3]
    assert read_both(tmp_path, cells[:3], scale="nominal:yes,no,N/A").labels["label"].to_list() == cells[:3]
    with pytest.raises(DataError, match=r"off the scale \(row 4: 'N/A'\).* set missing=\['N/A'\] if"):
        assay.read(sheet(tmp_path, cells[:3]), scale="nominal:yes,no")


def test_missing_accepts_numbers(tmp_path):
    labels = assay.read(sheet(tmp_path, ["1", "-99", "5", "99"]), missing=[-99, "99"])
    assert labels.scale == Ordinal(1, 5)
    assert labels.reading.exclusions[0].count == 2
    assert assay.read(frame([1.0, -99.0, 5.0]), missing=["-99"]).labels["label"].to_list() == [1, 5]
    assert "no label is '77', listed in missing=..." in assay.read(frame([1, 2]), missing=[77]).reading.notes


def test_missing_in_wide_table(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("item,ann,bob\na,yes,no\nb,?,no\n")
    labels = assay.read(path, layout="wide", missing=["?"])
    assert len(labels) == 3
    assert labels.scale == Nominal()


# -- spellings ----------------------------------------------------------------------------------------


def test_label_spelling_of_categories(tmp_path):
    cells = ["Agree", "agree", "Agree ", "no"]
    with pytest.raises(DataError, match=r"labels differ only in spelling: 'Agree', 'agree'\. Set label_spelling="):
        assay.read(sheet(tmp_path, cells))
    merged = read_both(tmp_path, cells, label_spelling="merge")
    assert merged.labels["label"].to_list() == ["Agree", "Agree", "Agree", "no"]
    assert "removed spaces around labels in 1 row: 'Agree '" in merged.reading.notes
    assert "labels that differ only in spelling are merged: 'Agree', 'agree'" in merged.reading.notes
    apart = read_both(tmp_path, cells, label_spelling="apart")
    assert apart.labels["label"].to_list() == ["Agree", "agree", "Agree", "no"]
    with pytest.raises(assay.errors.DesignError, match="label_spelling"):
        assay.read(frame(cells), label_spelling="same")


def test_label_spelling_of_listed_categories(tmp_path):
    cells = ["agree", " Disagree", "Agree"]
    with pytest.raises(DataError, match="differ from the scale only in spelling: 'agree' and 'Agree'"):
        assay.read(sheet(tmp_path, cells), scale="ordinal:Disagree<Agree")
    labels = read_both(tmp_path, cells, scale="ordinal:Disagree<Agree", label_spelling="merge")
    assert labels.labels["label"].to_list() == ["Agree", "Disagree", "Agree"]
    with pytest.raises(DataError, match="1 label off the scale"):
        assay.read(sheet(tmp_path, cells), scale="ordinal:Disagree<Agree", label_spelling="apart")


def test_label_spelling_ignores_free_text():
    texts = ["Good", "good", " good ", "n/a"]
    assert assay.read(frame(texts), scale="text").labels["label"].to_list() == texts


# -- numbers by notation --------------------------------------------------------------------------------------

NO, UP = None, "percentages, numbers up to 100"
PERCENT, PARTS = "labels such as '{}' parsed as ", "labels such as '{}' parsed as numbers up to {}"


@pytest.mark.parametrize(
    ("cells", "scale", "decimal", "values", "note", "said"),
    [
        (["1", "2.5", "−3", "1e2"], NO, NO, [1, 2.5, -3, 100], "", NO),
        (["1,5", "2"], NO, "comma", [1.5, 2], "labels parsed as numbers with a decimal comma", NO),
        (["1.500,5", "2"], NO, "comma", [1500.5, 2], "labels parsed as numbers with a decimal comma", NO),
        (["1,500.5", "2"], NO, "point", [1500.5, 2], "labels parsed as numbers with a decimal point", NO),
        (["4,5", "2"], NO, NO, [4.5, 2], "labels such as '4,5' parsed as numbers with a decimal comma", NO),
        (["−4,5", "2"], NO, NO, [-4.5, 2], "labels such as '−4,5' parsed as numbers with a decimal comma", NO),
        (["1,234", "2.5"], NO, NO, [1234, 2.5],
         "labels such as '1,234' parsed as numbers with commas between thousands", NO),
        (["1,234,567", "2"], NO, NO, [1234567, 2],
         "labels such as '1,234,567' parsed as numbers with commas between thousands", NO),
        (["80%", "7 %"], NO, NO, [80, 7], PERCENT.format("80%") + UP, Interval(0, 100)),
        (["80%", "107%"], NO, NO, [80, 107], PERCENT.format("80%") + UP, NO),
        (["80%", "7%"], Interval(0, 1), NO, [0.8, 0.07], PERCENT.format("80%") + "shares of 1", Interval(0, 100)),
        (["80%", "7%"], Interval(0, 2), NO, [80, 7], PERCENT.format("80%") + UP, Interval(0, 100)),
        (["2,5%", "7%"], NO, NO, [2.5, 7], PERCENT.format("2,5%") + UP, Interval(0, 100)),
        (["4/5", "1/5"], NO, NO, [4, 1], PARTS.format("4/5", 5), Ordinal(1, 5)),
        (["4/5", "0/5"], NO, NO, [4, 0], PARTS.format("4/5", 5), Ordinal(0, 5)),
        (["4.5/5", "1/5"], NO, NO, [4.5, 1], PARTS.format("4.5/5", 5), Interval(1, 5)),
        (["4,5/5", "0,5/5"], NO, NO, [4.5, 0.5], PARTS.format("4,5/5", 5), Interval(0, 5)),
        (["1/2", "2/2"], NO, NO, [1, 2], PARTS.format("1/2", 2), Ordinal(1, 2)),
        (["4/5", "1/5"], Interval(0, 1), NO, [0.8, 0.2], PERCENT.format("4/5") + "shares of 1", NO),
        (["4/5", "1/5"], Ordinal(1, 5), NO, [4, 1], PARTS.format("4/5", 5), Ordinal(1, 5)),
    ],
)  # fmt: skip
def test_parse_numbers_by_notation(cells, scale, decimal, values, note, said):
    found = parse_numbers(pl.Series(cells, dtype=pl.String), scale, decimal, ())
    assert found.values.to_list() == pytest.approx(values)
    assert (found.note, found.scale, found.ambiguity, found.mixed) == (note, said, None, False)
    assert not found.missing.any()
    assert found.plain == (not note)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["1,234", "2"], "such as '1,234' are ambiguous: "
         "the comma can separate decimals or thousands. Set decimal='comma' or "
         "decimal='point'"),
        (["1,23", "2.5"], "such as '1,23' are ambiguous: "
         "the comma can separate decimals or thousands. Set decimal='comma' or "
         "decimal='point', and write all labels in the same notation"),
        (["80%", "7"], "such as '80%' are percentages and '7' is not (row 1: '7'): "
         "write all labels in the same notation"),
        (["1,234%", "2%"], "such as '1,234' are ambiguous: "
         "the comma can separate decimals or thousands. Set decimal='comma' or "
         "decimal='point'"),
        (["1/2", "2/3"], "such as '1/2' are ambiguous: "
         "they can be dates, or parts of 2, 3. Write them as numbers on one scale, or set "
         "scale='nominal' if they are categories"),
        (["7/5", "2/5"], "such as '7/5' are ambiguous: "
         "they can be dates, or parts of 5. Write them as numbers on one scale, or set "
         "scale='nominal' if they are categories"),
        (["1/1"], "such as '1/1' are ambiguous: "
         "they can be dates, or parts of 1. Write them as numbers on one scale, or set "
         "scale='nominal' if they are categories"),
        (["1 bad", "2 good"], "such as '1 bad' begin with a number: write only the numbers, specify their order with "
         "scale='ordinal:lowest<...<highest', or set scale='nominal' if they are categories"),
    ],
)  # fmt: skip
def test_parse_numbers_finds_ambiguities(cells, words):
    found = parse_numbers(pl.Series(cells), None, None, ())
    part = LabelColumn(pl.Series(cells), pl.Series(range(len(cells))), None, "t")
    assert found.ambiguity(part) == words
    assert found.values.null_count() == len(cells)
    assert not found.mixed


def test_parse_numbers_with_words_and_marks():
    assert parse_numbers(pl.Series(["good", "bad"]), None, None, ()) is None
    assert parse_numbers(pl.Series(["NA", None]), None, None, ("na",)) is None
    found = parse_numbers(pl.Series(["1", "NA", "two", None]), None, None, ("na",))
    assert found.values.to_list() == [1, None, None, None]
    assert found.missing.to_list() == [False, True, False, False]
    assert found.mixed
    assert parse_numbers(pl.Series(["80%", "good"]), Interval(0, 100), None, ()).unread.to_list() == [True, True]
    many = pl.Series([f"{n} texts here" for n in range(MOST_CATEGORIES + 1)])
    assert parse_numbers(many[:-1], None, None, ()).ambiguity is not None
    assert parse_numbers(many, None, None, ()) is None
    part = LabelColumn(pl.Series([*"abcdefg"]), pl.Series(range(2, 9)), "mood", "t.csv")
    six = pl.Series([True] * 6 + [False])
    assert part.rows(six) == "row 2: 'a', row 3: 'b', row 4: 'c', row 5: 'd', row 6: 'e' and 1 more"
    assert part.rows(six, most=6).endswith("row 7: 'f'")
    assert (part.about(), part.like("text")) == ("t.csv: labels of criterion 'mood'", "scale={'mood': 'text'}")


# -- dates, and slips among numbers --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "dates"),
    [
        (["2024-05-01", "1/2/24", "01.05.2024 12:30", "1.5.24T12:30:59", "3 March", "Mai 2024", "12-okt-24"], True),
        (["1-2-3"] * 5 + ["x"], True),  # 5 of 6 are more than four fifths
        (["1-2-3"] * 4 + ["x"], False),
        (["4/5", "3/5"], False),
        (["x", "y"], False),
        (["1-2-3 and more"], False),
        ([], False),
        (["1-2-3"] * 200 + ["x"] * 200, True),  # the first two hundred cells decide
        (["x"] * 40 + ["1-2-3"] * 161, False),  # 160 of 200
        (["x"] * 39 + ["1-2-3"] * 161, True),
    ],
)
def test_are_dates_requires_four_fifths(cells, dates):
    assert are_dates(pl.Series(cells, dtype=pl.String)) is dates


def slips_of(labels):
    part = SimpleNamespace(
        labels=pl.Series(labels), about=lambda: "labels", rows=lambda far: f"rows {np.flatnonzero(far).tolist()}",
        like=lambda scale: f"scale='{scale}'",
    )  # fmt: skip
    try:
        refuse_slips(part, part.labels)
    except DataError as refusal:
        return str(refusal)
    return None


SEVEN = [k % 7 + 1 for k in range(98)]


@pytest.mark.parametrize(
    ("labels", "slips"),
    [
        ([*SEVEN, 26], [26]),  # 7 + 3 · 6 = 25 is the largest accepted label
        ([*SEVEN, 25], None),
        ([*SEVEN, -18], [-18]),
        ([*SEVEN, -17], None),
        ([*SEVEN, 44, 55], [44, 55]),  # a fiftieth of them
        ([*SEVEN[:47], 44, 55], None),
        ([*([1] * 26), 22], [22]),
        ([*([1] * 26), 21], None),  # a scale of 20 steps is possible
        ([*([1] * 24), 22], None),  # one of 25 is more than a fiftieth
        ([*map(float, SEVEN), 26.5], None),
        ([*(k % 11 + 1 for k in range(110)), 44], [44]),
        ([*(k % 12 + 1 for k in range(120)), 99], None),  # already a wide range
        ([*range(1, 20), *range(1, 20), 90], None),
        (["x"] * 30, None),
    ],
)
def test_refuse_slips_finds_outlying_numbers(labels, slips):
    said = slips_of(labels)
    assert (said is None) == (slips is None)
    if slips is not None:
        assert f"set missing={slips} if they are missing values" in said


def test_refuse_slips_names_rows_and_remedy():
    assert slips_of([*SEVEN[:49], 44, *SEVEN[49:]]) == (
        "labels are far from the others, which range from 1 to 7 (rows [49]): correct them, set missing=[44] if "
        "they are missing values, or scale='interval:1-44' if they are labels"
    )


# -- ordered words ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "order"),
    [
        (["high", "low", "medium"], ["low", "medium", "high"]),
        (["Agree", "Strongly  agree", "Neutral", "DISAGREE"], ["DISAGREE", "Neutral", "Agree", "Strongly  agree"]),
        (["always", "never", "seldom"], ["never", "seldom", "always"]),
        (["severe", "none", "mild"], ["none", "mild", "severe"]),
        (["correct", "wrong", "partly correct"], ["wrong", "partly correct", "correct"]),
        (["high", "low"], []),  # an order of two words is not needed
        (["high", "low", "often"], []),  # words of two ladders
        (["high", "low", "medium", "other"], []),
        (["high", "low", "medium", "moderate"], []),  # two words of the same rank
        (["often", "Often", "never", "always"], []),
        ([1, 2, 3], []),
    ],
)
def test_word_order_of_questionnaires(words, order):
    assert word_order(pl.Series([*words, None, words[0]])) == order


def test_ladders_contain_each_word_once():
    for ladder in LADDERS:
        words = [word for rung in ladder for word in rung]
        assert len(words) == len(set(words))
        assert all(word == " ".join(word.lower().split()) for word in words)


def test_read_notes_scale_of_ordered_words(tmp_path):
    labels = assay.read(sheet(tmp_path, ["Low", "High", "Medium", "High"]))
    assert labels.scale == assay.Nominal()
    (note,) = (line for line in labels.reading.lines() if "without order" in line)
    assert note == (
        "Assumed scale nominal (3 categories without order; rarest first: 'Low' (1), 'Medium' (1), 'High' (2)). If the "
        "categories have the order of their words, "
        "set scale='ordinal:Low<Medium<High'"
    )
    again = assay.read(sheet(tmp_path, ["Low", "High", "Medium", "High"]), scale="ordinal:Low<Medium<High")
    assert again.scale == assay.Ordinal(["Low", "Medium", "High"])
    assert not any("order" in line for line in again.reading.lines())


def test_read_notes_rarest_categories():
    """A refusal and a slip are among the categories, of all criteria together."""
    label = ["yes", "no"] * 10 + ["I cannot answer this, because the text is missing.", "yess"]
    frame = pl.DataFrame({"item": range(22), "annotator": "ann", "label": label})
    said = "rarest first: 'I cannot answer this, because the text i…' (1), 'yess' (1), 'no' (10)"
    assert any(said in line for line in assay.Annotations.from_frame(frame).reading.lines())
    both = pl.concat([frame.with_columns(criterion=pl.lit(c)) for c in ("tone", "fit")])
    notes = [line for line in assay.Annotations.from_frame(both).reading.lines() if "rarest" in line]
    assert len(notes) == 1
    assert "(2), 'yess' (2), 'no' (20)" in notes[0]


def test_read_notes_order_of_each_criterion():
    frame = pl.DataFrame(
        {"item": ["a", "a", "b", "b", "c", "c"], "annotator": "ann", "criterion": ["tone", "speed"] * 3,
         "label": ["bad", "red", "good", "blue", "fair", "red"]}
    )  # fmt: skip
    lines = assay.Annotations.from_frame(frame).reading.lines()
    assert any(
        "nominal (2 categories without order; rarest first: 'blue' (1), 'red' (2)). If wrong, set scale=..." in line
        for line in lines
    )
    scales = {"speed": "nominal", "tone": "ordinal:bad<fair<good"}
    assert lines[-1] == f"the words of tone have an order. If the labels have it, set scale={scales}"
    read = assay.Annotations.from_frame(frame, scale=scales)
    assert read.scales == {"speed": assay.Nominal(), "tone": assay.Ordinal(["bad", "fair", "good"])}
    assert not read.reading.lines()


def test_read_notes_one_scale_for_same_words():
    frame = pl.DataFrame(
        {"item": ["a", "a", "b", "b", "c", "c"], "annotator": "ann", "criterion": ["tone", "speed"] * 3,
         "label": ["low", "high", "high", "low", "medium", "medium"]}
    )  # fmt: skip
    line = assay.Annotations.from_frame(frame).reading.lines()[-1]
    assert line == "the words of speed, tone have an order. If the labels have it, set scale='ordinal:low<medium<high'"


def test_read_treats_the_mark_of_mysql_as_missing(tmp_path):
    path = tmp_path / "dump.csv"
    rows = [
        f"q{k},{who},{chr(92) + 'N' if (k, who) == (3, 'bo') else 1 + k % 5}" for k in range(9) for who in ("ann", "bo")
    ]
    path.write_text("\n".join(["item,annotator,label", *rows]))
    labels = assay.read(path)
    assert labels.labels.height == 17
    assert (labels.scale.low, labels.scale.high) == (1, 5)
    # Among categories, as for other marks, the user says what it is.
    words = [row.rpartition(",") for row in rows]
    words = [f"{key},{dict(zip('12345', 'abcde', strict=True)).get(label, label)}" for key, _, label in words]
    path.write_text("\n".join(["item,annotator,label", *words]))
    with pytest.raises(DataError, match="can be missing values or categories"):
        assay.read(path)
