"""Items as study.yaml names them: every format of file, what cannot be used, names by content, files of the folder."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

from assay.errors import StudyError
from assay.study.definition import load_study
from assay.study.items import (
    Item,
    canonical,
    chance,
    digest_of,
    file_within,
    items_of_file,
    picture_digests,
    read_known_items,
    read_names,
)
from assay.study.schema import ItemsPart, StudyFile
from assay.study.starter import init_study

sys.path.append(str(Path(__file__).parents[1] / "sheets"))
from corpus import xlsx


@pytest.fixture
def folder(tmp_path) -> Path:
    init_study(tmp_path / "s")
    return tmp_path / "s"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,review\na,x\na,y\n", "item 'a' appears twice; the second is item 2"),
        ("item,review\n,x\n", "item 1 has no id"),
        ("name,review\na,x\n", "column 'item' is not in"),
        ("item,review\na,x,y\n", "line 2: more or fewer values"),
        ("item,review\n", "has no items"),
    ],
)
def test_read_items_rejects_invalid_items(folder, text, message):
    (folder / "items.csv").write_text(text)
    with pytest.raises(StudyError, match=message):
        list(load_study(folder).items())


@pytest.mark.parametrize("name", ["items.tsv", "items.jsonl", "items.json", "items.parquet"])
def test_items_in_every_format(folder, name):
    frame = pl.DataFrame({"item": ["a", "b"], "review": ["x", "y"]})
    path = folder / name
    writers = {".json": frame.write_json, ".jsonl": frame.write_ndjson, ".parquet": frame.write_parquet}
    if path.suffix == ".tsv":
        frame.write_csv(path, separator="\t")
    else:
        writers[path.suffix](path)
    config = folder / "study.yaml"
    config.write_text(config.read_text().replace("items.csv", name, 1))
    items = list(load_study(folder).items())
    assert [(i.name, i.fields) for i in items] == [("a", {"review": "x"}), ("b", {"review": "y"})]


def testitems_of_file_a_spreadsheet_are_text(folder):
    xlsx(folder / "posts.xlsx", {"Sheet1": [["item", "review"], [1, "x"], [2, "y"]]})
    config = folder / "study.yaml"
    text = config.read_text()
    start, end = text.index("items:\n"), text.index("questions:\n")
    config.write_text(f"{text[:start]}items: posts.xlsx\n\n{text[end:]}")
    study = load_study(folder)
    assert [(i.name, i.fields) for i in study.items()] == [("1", {"review": "x"}), ("2", {"review": "y"})]
    assert folder / "posts.xlsx" in study.files()


def test_spreadsheet_with_two_tables_is_refused(tmp_path):
    rows = [["item", "review"], [1, "x"], [2, "y"]]
    path = xlsx(tmp_path / "posts.xlsx", {"A": rows, "B": rows})
    with pytest.raises(StudyError, match=r"posts\.xlsx has several sheets with a table; save the items as a file"):
        read_names(path)
    path.write_bytes(b"item")
    with pytest.raises(StudyError, match=r"posts\.xlsx cannot be read as a spreadsheet"):
        read_names(path)


def test_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "items.docx").write_text("item")
    with pytest.raises(StudyError, match=r"items.docx must be .csv, .tsv, .json, .jsonl, .parquet or a spreadsheet"):
        read_names(tmp_path / "items.docx")
    (tmp_path / "first.csv").write_text("item\n b \na\n")
    assert read_names(tmp_path / "first.csv") == ["b", "a"]


def test_equal_values_have_one_name_and_one_chance():
    assert canonical({"b": 1, "a": "é"}) == '{"a":"é","b":1}'
    assert digest_of({"b": 1, "a": 2}) == digest_of({"a": 2, "b": 1}) != digest_of({"a": 2, "b": 2})
    assert chance("a", 1).random() == chance("a", 1).random() != chance("a", 2).random()


def test_only_files_of_the_folder_are_pictures(tmp_path):
    inside = tmp_path / "study"
    inside.mkdir()
    (tmp_path / "secret.png").write_bytes(b"x")
    for name in ("a.png", "b.png"):
        (inside / name).write_bytes(b"same")
    assert file_within(inside, "a.png") == inside / "a.png"
    assert file_within(inside, "../secret.png") is None
    assert file_within(inside, "gone.png") is None
    assert file_within(inside, "x" * 5000) is None
    item = Item("i", None, {"one": "a.png", "two": "b.png", "three": "../secret.png", "four": None})
    found = picture_digests(item, ["one", "two", "three", "four", "five"], inside)
    assert list(found) == ["one", "two"]
    assert found["one"] == found["two"]


def test_named_columns_are_required_for_items_only(tmp_path):
    (tmp_path / "t.csv").write_text("id,text\na,x\n b ,y\n")
    path = tmp_path / "t.csv"
    for more in ({"document": "doc"}, {"images": ("photo",)}, {"media": ("clip",)}, {"markdown": ("note",)},
                 {"media": {"text": "words"}}):  # fmt: skip
        part = ItemsPart.model_validate({"id": "id", **more})
        with pytest.raises(StudyError, match=r"column '\w+' is not in .*t\.csv"):
            list(items_of_file(path, part, "items"))
        found = list(items_of_file(path, part, "checks"))
        assert [(one.name, one.document, one.fields) for one in found] == [
            ("a", None, {"text": "x"}), ("b", None, {"text": "y"}),
        ]  # fmt: skip
    for called in ("items", "checks"):
        with pytest.raises(StudyError, match="column 'item' is not in"):
            list(items_of_file(path, ItemsPart.model_validate({}), called))
        with pytest.raises(StudyError, match=f"gone.csv does not exist; study.yaml names it as the file of {called}"):
            list(items_of_file(tmp_path / "gone.csv", ItemsPart.model_validate({}), called))
    there = ItemsPart.model_validate({"id": "id", "document": "text"})
    assert [one.document for one in items_of_file(path, there, "items")] == ["x", "y"]


CHECKED = {
    "questions": [
        {"name": "stars", "text": "?", "scale": "1-5"},
        {"name": "tone", "text": "?", "scale": "nominal:a,b"},
    ],
    "people": {"checks": {"file": "checks.csv"}, "warm_up": "first.csv"},
}


def test_checks_and_practice_have_known_answers(tmp_path):
    config = StudyFile.model_validate(CHECKED)
    (tmp_path / "checks.csv").write_text("item,text,stars,tone\nc1,x,5,\nc2,y,,b\n")
    (tmp_path / "first.csv").write_text("item,text,stars,feedback\nw1,x,2,Look again.\n")
    found = read_known_items(tmp_path, config, "check")
    assert [(one.item.name, one.known) for one in found] == [("c1", {"stars": 5}), ("c2", {"tone": "b"})]
    assert found[0].item.fields == {"text": "x"}
    (one,) = read_known_items(tmp_path, config, "warm-up")
    assert (one.known, one.feedback, one.item.fields) == ({"stars": 2}, "Look again.", {"text": "x"})
    none = StudyFile.model_validate({"questions": CHECKED["questions"]})
    assert read_known_items(tmp_path, none, "check") == read_known_items(tmp_path, none, "warm-up") == []


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("c1,x,6,", "item 'c1': '6' is not a label of 'stars', which must be"),
        ("c1,x,5,c", "item 'c1': 'c' is not a label of 'tone', which must be"),
        ("c1,x,,", "item 'c1' has no known answer; give it in a column named as its question (stars, tone)"),
    ],
)
def test_known_answers_must_be_on_the_scale(tmp_path, row, words):
    (tmp_path / "checks.csv").write_text(f"item,text,stars,tone\n{row}\n")
    with pytest.raises(StudyError) as refused:
        read_known_items(tmp_path, StudyFile.model_validate(CHECKED), "check")
    assert words in str(refused.value)


def test_spreadsheets_are_those_of_labels():
    from assay.data.formats import sheets
    from assay.study import items

    assert items.SPREADSHEETS == sheets.SPREADSHEETS
