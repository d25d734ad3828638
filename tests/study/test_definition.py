"""study.yaml: what may be said in it, and the words for what may not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.errors import StudyError
from assay.study.definition import load_study
from assay.study.starter import SCHEMA_FILE, init_study, study_schema


@pytest.fixture
def folder(tmp_path) -> Path:
    init_study(tmp_path / "s")
    return tmp_path / "s"


def changed(folder, old, new):
    path = folder / "study.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return folder


def test_a_new_study_is_whole_and_can_be_read(folder):
    study = load_study(folder)
    assert study.question_names == ("stars",)
    assert [item.name for item in study.items()][:2] == ["r01", "r02"]
    assert "strict" in study.prompts
    assert json.loads((folder / SCHEMA_FILE).read_text()) == study_schema()
    assert "study.db" in (folder / ".gitignore").read_text()


def test_nothing_is_overwritten(folder):
    with pytest.raises(StudyError, match=r"holds study\.yaml.* already"):
        init_study(folder)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        (
            "provider: recorded",
            "provdier: recorded",
            24,
            "[0].provdier: is not a key here; did you mean 'provider'",
        ),
        ("concurrency: 20", "concurrency: lots", 52, "limits.concurrency: input should be a valid integer"),
        ("scale: 1-5 ", "scale: 1~5 ", 14, "questions[0].scale: '1~5' is not a scale"),
        ("scale: 1-5 ", "scale: preference ", 12, "questions[0].options: needs 2 columns to choose between"),
        ("meanings: {1:", "meanings: {7:", 16, "questions[0].meanings.7: label '7' is not in the scale"),
        ("file: replies.jsonl", "prompt: strikt", 22, "judges[0].file: is missing"),
        ("name: Stars", "name: x\nname: Stars", 3, "'name' appears twice"),
        ("questions:", "questions: [", None, "study.yaml, line"),
    ],
)
def test_errors_name_file_line_and_key(folder, old, new, line, message):
    with pytest.raises(StudyError) as caught:
        load_study(changed(folder, old, new))
    words = str(caught.value)
    assert str(folder / "study.yaml") in words
    assert message in words
    if line is not None:
        assert abs(int(words.split("line ")[1].split(",")[0].split(":")[0]) - line) <= 3


def test_a_key_in_the_file_is_refused_and_not_repeated(folder):
    with pytest.raises(StudyError, match="NAME of an environment variable") as caught:
        load_study(changed(folder, "provider: recorded", "key: sk-secret-1\n    provider: recorded"))
    assert "sk-secret" not in str(caught.value)


def test_urls_with_secrets_are_refused(folder):
    changed(folder, "provider: recorded", "base_url: https://me:pw@host/v1\n    provider: recorded")
    with pytest.raises(StudyError, match="must not hold a name") as caught:
        load_study(folder)
    assert "pw" not in str(caught.value).split("base_url")[1]


def test_yes_and_no_are_words(folder):
    changed(folder, "meanings: {1: very bad, 5: excellent}\n", "\n")
    study = load_study(changed(folder, "scale: 1-5 ", "scale: [yes, no, on, 2024-01-01]"))
    assert study.config.questions[0].scale == ("yes", "no", "on", "2024-01-01")


def test_there_is_no_study(tmp_path):
    with pytest.raises(StudyError, match=r"make a study with: assay init"):
        load_study(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,review\na,x\na,y\n", "item 'a' appears twice; the second is item 2"),
        ("item,review\n,x\n", "item 1 has no name"),
        ("name,review\na,x\n", "column 'item' is not in"),
        ("item,review\na,x,y\n", "line 2: more or fewer values"),
        ("item,review\n", "has no items"),
    ],
)
def test_items_that_can_not_be_used(folder, text, message):
    (folder / "items.csv").write_text(text)
    with pytest.raises(StudyError, match=message):
        list(load_study(folder).items())


@pytest.mark.parametrize("name", ["items.tsv", "items.jsonl", "items.json", "items.parquet"])
def test_items_in_every_format(folder, name):
    import polars as pl

    frame = pl.DataFrame({"item": ["a", "b"], "review": ["x", "y"]})
    path = folder / name
    writers = {".json": frame.write_json, ".jsonl": frame.write_ndjson, ".parquet": frame.write_parquet}
    if path.suffix == ".tsv":
        frame.write_csv(path, separator="\t")
    else:
        writers[path.suffix](path)
    items = list(load_study(changed(folder, "items.csv", name)).items())
    assert [(i.name, i.fields) for i in items] == [("a", {"review": "x"}), ("b", {"review": "y"})]
