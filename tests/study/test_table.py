"""The store's answers as one table: columns that say something, scales that hold every label, ensembles by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')

from assay.data.columns import CONTENT
from assay.data.scales import Interval, Nominal, parse_scale
from assay.study.store import table, work_log


def row(item: str, label: Any, **more: Any) -> Any:
    """An answer as the database gives it."""
    return SimpleNamespace(**{
        "item": item, "annotator": "ann", "label": label, "repeat": 1, "condition": "{}", "shown": None,
        "seconds": None, "reasoning": None, "excluded_at": None, "excluded_for": "", "does": None, "there": True,
        "role": "item", "question": 1, "active": True, "status": "valid", "reason": None,
    } | more)  # fmt: skip


def frame(*rows: Any, content: int = 1) -> pl.DataFrame:
    return table._frame([table._label_row(one, "quality", one.label, content) for one in rows], ["temperature"])


def test_columns_are_there_where_they_say_something():
    plain = frame(row("a", 1.0), row("b", 2.5, condition='{"temperature": 0.5}'))
    assert plain.columns == ["item", "annotator", "criterion", "label", "temperature"]
    assert plain.rows() == [("a", "ann", "quality", 1.0, None), ("b", "ann", "quality", 2.5, 0.5)]
    assert frame(row("a", 1), row("a", 1, repeat=2))["repeat"].to_list() == [1, 2]
    assert frame(row("a", 1), content=2)[CONTENT].to_list() == [2]
    pairs = frame(row("a", "x", shown={"order": ["x", "y"], "position": 1, "about": {"page": 3}}), row("b", 2.0))
    assert pairs.select("label", "order", "position", "page").rows() == [("x", "x>y", 1, 3), ("2", None, None, None)]
    mixed = frame(*(row("a", 1.0, shown={"about": {"page": page}}) for page in (3, "iv")))
    assert mixed["page"].to_list() == ["3", "iv"]
    gone = frame(row("a", 1, excluded_at=5.0, seconds=2.5), row("b", 1, does="adjudicator"))
    assert gone.select("seconds", "excluded").rows() == [(2.5, True), (None, True)]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, None),
        ({"there": False}, "the item is no longer in the study"),
        ({"question": 2}, "the question has changed since, or is no longer asked"),
        ({"annotator": "judge"}, "the judge is no longer in the study"),
        ({"active": False}, "the judge, its prompt or the item has changed since"),
        ({"excluded_at": 1.0}, "ann is excluded"),
        ({"excluded_at": 1.0, "excluded_for": "asleep"}, "ann is excluded: asleep"),
        ({"does": "adjudicator"}, "ann decides between the answers of others"),
        ({"status": "missing", "reason": "refused"}, "ann: refused"),
    ],
)
def test_why_an_answer_does_not_count(changed, words):
    one = row("a", 1, **changed)
    assert table._exclusion_reason(one, {1: None}, {"ann"}, excluded_people=False) == words
    kept = "excluded_at" in changed or "does" in changed
    assert table._exclusion_reason(one, {1: None}, {"ann"}, excluded_people=True) == (None if kept else words)


def test_a_scale_holds_labels_of_other_scales_and_means():
    def scale(labels: list[Any], specs: list[str | None] | None = None, own: Any = None) -> Any:
        columns = {"criterion": ["q"] * len(labels), "label": labels} | ({} if specs is None else {"scale": specs})
        return table._common_scale(own or parse_scale("1-5"), pl.DataFrame(columns), "q")

    assert scale([1, 5]) == parse_scale("1-5")
    assert scale([1.0, 2.25]) == Interval(1, 5)  # a mean
    assert scale(["a", "d"], own=parse_scale("nominal:a,b")) == Nominal()
    assert scale([1, 90], ["1-5", "0-100"]) == Interval(0, 100)
    assert scale([1, 9], ["2-5", None]) == Interval(2, 5)
    assert scale([1, 9], ["1-5", "interval"]) == Interval()
    assert scale([], own=parse_scale("nominal:a,b")) == parse_scale("nominal:a,b")


def test_who_annotators_are():
    people = [
        {"annotator": "ann", "kind": "human", "definition": {"attributes": {"age": 30}}},
        {"annotator": "m", "kind": "judge",
         "definition": {"model": "x", "strategy": "few-shot", "demonstrations": {"use": 4}}},
        {"annotator": "both", "kind": "judge", "definition": {"of": ["m", "n"], "rule": "mean"}},
    ]  # fmt: skip
    found = table._annotators_frame(people)
    assert found.select("annotator", "model", "strategy", "demonstrations", "age").rows() == [
        ("ann", None, None, None, 30), ("m", "x", "few-shot", 4, None), ("both", None, "mean of m, n", None, None)
    ]  # fmt: skip


def test_ensembles_answer_once_under_each_condition():
    def definition(rule: str, *of: str) -> dict[str, Any]:
        return {"annotator": rule, "definition": {"of": list(of), "rule": rule, "seed": 1}}

    given = [("i1", "m", 1, 0.0), ("i1", "m", 4, 1.0), ("i1", "n", 2, 0.0), ("i2", "m", 3, 0.0)]
    labels = pl.DataFrame(given, schema=["item", "annotator", "label", "temperature"], orient="row")
    labels = labels.with_columns(criterion=pl.lit("q"), order=pl.lit("a>b"), repeat=pl.lit(2))
    whole, notes = table.add_ensembles(
        labels, ["temperature", "order"], [definition("mean", "m", "n"), definition("majority", "m", "n"),
                                           definition("median", "nobody")],
    )  # fmt: skip
    means = whole.filter(annotator="mean").select("item", "temperature", "label", "repeat").rows()
    assert means == [("i1", 0.0, 1.5, 1), ("i1", 1.0, 4.0, 1), ("i2", 0.0, 3.0, 1)]
    assert whole.height == 4 + 3 + 3
    assert notes == [
        "majority: 1 of 3 majorities were ties, drawn by seed",
        "median: none of its judges has answered yet",
    ]
    words = labels.with_columns(label=pl.Series(["x", "y", "x", "z"]))
    whole, notes = table.add_ensembles(words, ["temperature"], [definition("mean", "m", "n")])
    assert whole.filter(annotator="mean")["label"].to_list() == ["x", "y", "z"]
    assert notes == ["mean: labels that are not numbers have no mean; their majority counts"]
    assert table.add_ensembles(labels, [], [{"annotator": "m", "definition": {}}])[0] is labels
    assert table.combine_votes([3, 1], "median", "") == (2, False)
    assert table.combine_votes([5, 1, 2], "median", "") == (2, False)


def log_frame(*rows: tuple[Any, ...]) -> pl.DataFrame:
    schema = ["assignment", "question", "condition", "item", "annotator", "repeat", "label"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_the_first_label_of_each_person_to_each_item_counts():
    labels = log_frame(
        (5, 1, "{}", "a", "ann", 2, "4"), (9, 1, "{}", "a", "ann", 1, "3"), (7, 1, "{}", "a", "ann", 1, "2"),
        (1, 2, "{}", "a", "ann", 1, "1"), (2, 1, "{}", "a", "bob", 1, "5"), (3, 1, "x", "a", "ann", 1, "1"),
        (4, 1, "{}", "b", "eve", 1, "1"),
    )  # fmt: skip
    found = work_log.first_labels(labels, 1, ["eve"])
    assert sorted(found["assignment"].to_list()) == [2, 3, 7]
    assert sorted(work_log.first_labels(labels, 2, [])["assignment"].to_list()) == [1]


@pytest.mark.parametrize(
    ("written", "read", "kind"),
    [
        (["1", "5"], [1, 5], pl.Int64), (["1", "2.5"], [1.0, 2.5], pl.Float64), (['"a"', '"b"'], ["a", "b"], pl.String),
        (['"a"', "2", "2.5"], ["a", "2", "2.5"], pl.String)
    ],
)  # fmt: skip
def test_labels_as_they_are_written_and_read(written, read, kind):
    found = work_log.read_labels(pl.DataFrame({"label": pl.Series(written, dtype=pl.String)}))
    assert (found.to_list(), found.dtype) == (read, kind)


def test_one_label_on_another_scale_widens_the_question_s():
    labels = pl.DataFrame({"criterion": ["q"], "label": [9], "scale": ["0-10"]})
    assert table._common_scale(parse_scale("1-5"), labels, "q") == Interval(0, 10)
    none = labels.with_columns(criterion=pl.lit("other"))
    assert table._common_scale(parse_scale("1-5"), none, "q") == parse_scale("1-5")
    nothing = pl.DataFrame({"criterion": ["q"], "label": [9], "scale": pl.Series([None], dtype=pl.String)})
    assert table._common_scale(parse_scale("1-5"), nothing, "q") == parse_scale("1-5")
