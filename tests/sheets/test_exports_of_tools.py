"""Files written by other tools: the files of `exports/` were made with these tools, offline.

promptfoo 0.121.20 (`echo` provider, a scripted grader and a `contains` rule): `promptfoo eval --output`.
Inspect AI 0.3.285 (`mockllm`, `model_graded_qa` that returns C, I, P, and `includes`): its `.eval` log.
potato 2.12.1: its server, two users of `potato.simulator`, and `potato.export` in each format of a table.
Argilla 2.8.0: `JsonIO` and `HFDatasetsIO` of its records, in the layout of `to_disk` and of the Hub.
label-studio-sdk 2.1.2: `label-studio-converter export --format CSV`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import assay
from assay.errors import DataError

EXPORTS = Path(__file__).parent / "exports"


def read(name: str, **options: Any) -> assay.Annotations:
    return assay.read(EXPORTS / name, **options)


def said(labels: assay.Annotations, criterion: str | None = None) -> dict[tuple[str, str], Any]:
    rows = labels.labels.iter_rows(named=True)
    return {(r["item"], r["annotator"]): r["label"] for r in rows if criterion in (None, r.get("criterion"))}


def notes(labels: assay.Annotations) -> str:
    assert labels.reading is not None
    return " | ".join(labels.reading.notes)


@pytest.mark.parametrize("name", ["results.json", "results.jsonl"])
def test_read_promptfoo_export(name: str) -> None:
    labels = read(f"promptfoo/{name}", item="item")
    assert said(labels) == {("q1", "file://judge.js"): 1.0, ("q2", "file://judge.js"): 0.25}
    assert labels.judges == ("file://judge.js",)
    assert "default grader" not in notes(labels), "each assertion names its grader"


def test_read_refuses_promptfoo_csv() -> None:
    with pytest.raises(DataError, match=r"does not contain which assertions gave a score.*--output results\.json"):
        read("promptfoo/results.csv")


def test_read_inspect_export() -> None:
    labels = read("inspect/capitals.eval")
    assert said(labels) == {
        (item, "mockllm/grader"): grade for item, grade in zip(("q1", "q2", "q3"), "CIP", strict=True)
    }
    assert labels.judges == ("mockllm/grader",)


def test_read_potato_exports_agree() -> None:
    labels = read("potato")
    first, second = "sim_user_0000", "sim_user_0001"
    assert said(labels, "stars") == {
        **{("q1", first): "2", ("q2", first): "1", ("q3", first): "4"},
        **{("q1", second): "1", ("q2", second): "1", ("q3", second): "2"},
    }
    assert said(labels, "topics")["q2", first] == "food|staff"
    assert said(labels, "why")["q1", first] == "This is a test response."
    assert said(labels, "why")["q1", second] == "Generated text for testing purposes."
    assert labels.scales["sure"] == assay.Interval(0, 100)
    for ending in ("csv", "tsv", "jsonl", "parquet"):
        export = read(f"potato/annotations.{ending}", config=EXPORTS / "potato" / "config.yaml")
        assert export.fingerprint == labels.fingerprint, ending
        # Without the configuration, the scales are required, and no choice becomes a separate question.
        with pytest.raises(DataError, match="set the scale of stars, sure, tone, topics"):
            read(f"potato/annotations.{ending}")


def test_read_argilla_export() -> None:
    ann, ben = (f"00000000-0000-0000-0000-00000000000{n}" for n in (1, 2))
    local, hub = read("argilla-json"), read("argilla")
    for labels in (local, hub):
        assert labels.judges == ("gpt",)
        assert labels.scales["stars"] == assay.Ordinal(1, 5)
        assert said(labels, "order")["q1", ann] == "b>a>c"
        assert said(labels, "tone")["q2", ben] == "warm"
        assert said(labels, "tone")["q1", "gpt"] == "warm"
    assert said(hub, "stars").items() < said(local, "stars").items()
    assert ("q3", ben) not in said(hub, "stars"), "a draft, which records.json does not distinguish from a submission"


def test_read_argilla_clone_without_settings() -> None:
    with pytest.raises(DataError, match=r"set the scale of order, stars, tone, topics"):
        read("argilla/data")


def test_read_label_studio_export() -> None:
    labels = read("label-studio/result.csv", item="qid", config=EXPORTS / "label-studio" / "config.xml")
    assert said(labels, "tone") == {
        **{(f"q{n}", "ann@example.org"): tone for n, tone in ((1, "warm"), (2, "cold"))},
        **{(f"q{n}", "ben@example.org"): "warm" for n in (1, 2)},
    }
    assert said(labels, "stars")["q2", "ben@example.org"] == "2"
