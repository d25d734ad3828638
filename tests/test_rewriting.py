"""Writing a table differently changes no number: formats and types of cells, orders, layouts and files."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import assay
from asking import ask
from assay.data.annotations import Annotations
from assay.errors import AssayError
from laws import JUDGES, QUESTIONS, ratings
from test_laws import numbers

pytestmark = pytest.mark.usefixtures("few_truths")
SCALE = {"judges": list(JUDGES), "scale": "1-5"}
QUICK = ("alt_test", "agreement", "krippendorff_alpha")
"""Questions that are asked of every rewriting by default; all others are slow."""


def long() -> pl.DataFrame:
    return ratings().labels.select("item", "annotator", "label")


def items() -> pl.DataFrame:
    """The items, with a length and stars that are known without reading."""
    rng, frame = np.random.default_rng(4), ratings().items
    return frame.with_columns(
        length=pl.Series(rng.integers(20, 300, frame.height)), stars=pl.Series(rng.integers(1, 6, frame.height))
    )


def read(labels: pl.DataFrame | Path, about: pl.DataFrame, **options: Any) -> Annotations:
    return assay.read(labels, items=about, annotator_table=ratings().annotators, **SCALE, **options)


def text(form: str, *names: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Write numbers as text: ``4``, ``4.0``, `` 4 ``."""
    return lambda frame: frame.with_columns(pl.format(form, pl.col(name).cast(pl.Int64)).alias(name) for name in names)


def wide() -> pl.DataFrame:
    return long().pivot("annotator", index="item", values="label")


def saved(suffix: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / f"labels{suffix}"
        {".csv": long().write_csv, ".tsv": lambda p: long().write_csv(p, separator="\t"),
         ".jsonl": long().write_ndjson, ".parquet": long().write_parquet}[suffix](path)  # fmt: skip
        return path

    return write


ABOUT = ("length", "stars")
REWRITINGS: dict[str, Callable[[Path], Annotations]] = {
    "rows shuffled": lambda _: read(long().sample(fraction=1, shuffle=True, seed=3), items()),
    "columns reversed": lambda _: read(long().select("label", "annotator", "item"), items()),
    "labels as floats": lambda _: read(long().with_columns(pl.col("label").cast(pl.Float64)), items()),
    "labels as text": lambda _: read(text("{}", "label")(long()), items()),
    "labels with decimals": lambda _: read(text("{}.0", "label")(long()), items()),
    "labels with spaces": lambda _: read(text(" {} ", "label")(long()), items()),
    "labels with zeros": lambda _: read(text("00{}", "label")(long()), items()),
    "labels in brackets": lambda _: read(text("[[{}]]", "label")(long()), items()),
    "names with spaces": lambda _: read(long().with_columns(annotator=pl.format(" {} ", "annotator")), items()),
    "other column names": lambda _: read(
        long().rename({"item": "id", "annotator": "who", "label": "stars"}), items().rename({"item": "id"}),
        item="id", annotator="who", label="stars",
    ),
    "items shuffled": lambda _: read(long(), items().sample(fraction=1, shuffle=True, seed=5)),
    "item columns reversed": lambda _: read(long(), items().select(reversed(items().columns))),
    "item columns as floats": lambda _: read(long(), items().with_columns(pl.col(ABOUT).cast(pl.Float64))),
    "item columns as text": lambda _: read(long(), text("{}", *ABOUT)(items())),
    "item columns with decimals": lambda _: read(long(), text("{}.0", *ABOUT)(items())),
    "documents as categories": lambda _: read(long(), items().with_columns(pl.col("document").cast(pl.Categorical))),
    "one row per item": lambda _: read(wide(), items(), layout="wide"),
    "wide, columns reversed": lambda _: read(wide().select(reversed(wide().columns)), items(), layout="wide"),
    **{f"as {suffix}": (lambda folder, suffix=suffix: read(saved(suffix)(folder), items()))
       for suffix in (".csv", ".tsv", ".jsonl", ".parquet")},
}  # fmt: skip


@functools.cache
def wanted(name: str) -> str:
    return answer(name, read(long(), items()))


def answer(name: str, table: Annotations) -> str:
    question = next(one for one in QUESTIONS if one.name == name)
    found = ask(question, dict(question.base), table)
    # Tables of items show their columns as they are: 283, or "283".
    return repr(found) if isinstance(found, AssayError) else re.sub(r'"(\d+)"', r"\1", numbers(found.to_dict()))


ASKED = [one.name for one in QUESTIONS if one.takes_labels and one.labels is ratings]


def test_twenty_rewritings_are_tried() -> None:
    assert len(REWRITINGS) >= 20
    assert set(QUICK) <= set(ASKED)
    assert len(ASKED) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("way", REWRITINGS)
@pytest.mark.parametrize("name", QUICK)
def test_writing_changes_no_number(name: str, way: str, tmp_path: Path) -> None:
    assert answer(name, REWRITINGS[way](tmp_path)) == wanted(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [one for one in ASKED if one not in QUICK])
def test_writing_changes_no_number_of_any_question(name: str, tmp_path: Path) -> None:
    for way in ("rows shuffled", "labels with decimals", "item columns as text", "items shuffled", "one row per item"):
        assert answer(name, REWRITINGS[way](tmp_path)) == wanted(name), way


def test_unicode_forms_of_labels_are_one_label() -> None:
    words = ["très bon", "bon", "à revoir"]
    rows = [(f"i{k}", who, words[(k + len(who)) % 3]) for k in range(30) for who in ("ann", "bo", "c")]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    other = frame.with_columns(
        label=pl.Series([unicodedata.normalize("NFD", w) if k % 2 else w for k, w in enumerate(frame["label"])])
    )
    one, two = (assay.read(each, label_spelling="merge") for each in (frame, other))
    assert assay.measures.krippendorff_alpha(one).estimate == assay.measures.krippendorff_alpha(two).estimate


@pytest.mark.parametrize("known", ["{}", "{}.0", " {} ", "{:03}"])
def test_the_verdict_does_not_depend_on_how_a_column_is_written(known: str) -> None:
    """A judge that only repeats a column of stars, which has something to do with the labels."""
    rng = np.random.default_rng(2)
    quality = rng.normal(size=60)
    stars = np.clip(np.round(3 + quality + rng.normal(0, 0.5, 60)), 1, 5).astype(int)
    rows = [(f"i{k:02}", who, int(np.clip(round(3 + q + rng.normal(0, 0.9)), 1, 5)))
            for who in ("ann", "bob", "cho", "dee") for k, q in enumerate(quality)]  # fmt: skip
    rows += [(f"i{k:02}", "judge", int(s)) for k, s in enumerate(stars)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    about = pl.DataFrame({"item": [f"i{k:02}" for k in range(60)], "stars": [known.format(s) for s in stars]})
    labels = assay.read(frame, items=about, judges=["judge"], scale="1-5")
    test = assay.alt_test(labels, "judge", expertise="crowd", n_resamples=20)
    assert test.verdict == "do_not_replace"
    assert test.item_agreement.for_item_level.strata == "stars"
