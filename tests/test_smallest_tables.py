"""Every question of agreement and of scores on the smallest tables: a number, a reason, or an error that says why.

Never another exception, a warning of numpy, a value that is missing without a reason, or an interval of no width.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import polars as pl
import pytest

import assay
from laws import PUBLIC

Row = tuple[str, str, float, str, str | None]


def grid(*lines: Sequence[float | None], criterion: str | None = None) -> list[Row]:
    """Items by annotators, None for a missing label; two items belong to one lesson."""
    return [
        (f"i{i}", f"r{j}", v, f"L{i // 2}", criterion)
        for i, line in enumerate(lines) for j, v in enumerate(line) if v is not None
    ]  # fmt: skip


TABLES: Mapping[str, list[Row]] = {
    "one label": grid([3]),
    "one item, equal labels": grid([2, 2]),
    "one item, different labels": grid([1, 2]),
    "two items, one annotator": grid([1], [2]),
    "two items, an annotator each": grid([1, None], [None, 1]),
    "two items, one label missing": grid([1, 1], [2, None]),
    "no label varies": grid([1, 1], [1, 1]),
    "annotators agree": grid([1, 1], [2, 2]),
    "annotators differ by a constant": grid([1, 2], [2, 3]),
    "annotators cross": grid([1, 2], [2, 1]),
    "two by two": grid([1, 2], [3, 5]),
    "three items, two annotators": grid([1, 2], [3, 5], [2, 2]),
    "pairs that no two items share": grid([1, 2, None], [2, None, 4], [None, 3, 5]),
    "few labels of two annotators": grid([1, 1], [1, 2], [2, None]),
    "one annotator has one label": grid([None, 3, 2], [None, 2, 5], [1, 2, 1]),
    "two lessons of two items": grid([1, 2], [2, 2], [4, 5], [5, 3]),
    "two criteria, one with a label": [*grid([1, 2], [3, 5], criterion="a"), *grid([4], criterion="b")],
}

FACETS = {"p": "item", "r": "annotator"}
LESSONS = {**FACETS, "l": "lesson"}
CROSSED = {"design": "p x r", "object": "p", "facets": FACETS}


def d_study(labels: assay.Annotations) -> Any:
    return assay.g_study(labels, **CROSSED).d_study(r=[1, 2, 3])


def in_the_loop(labels: assay.Annotations) -> Any:
    return assay.g_study(labels, **CROSSED, by="kind").human_in_the_loop()


ASKED: Mapping[str, Callable[[assay.Annotations], Any]] = {
    **{name: PUBLIC[name] for name in (
        "agreement", "brennan_prediger", "cohen_kappa", "concordance_correlation", "conger_kappa", "correlation",
        "disagreement", "exact_agreement", "fleiss_kappa", "gwet_ac", "icc", "icc_table", "krippendorff_alpha", "mae",
        "many_facet_rasch", "nmae", "rmse", "scott_pi", "within_agreement",
    )},
    "bias": partial(assay.measures.bias, annotators=["r0", "r1"]),
    **{
        f"icc, {form}": partial(assay.measures.icc, form=form)
        for form in ("ICC(1)", "ICC(1,k)", "ICC(C,k)", "ICC(A,k)")
    },
    "icc, components": partial(assay.measures.icc, estimator="components"),
    "icc, mixed": partial(assay.measures.icc, model="mixed"),
    **{
        f"g_study, {method}": partial(assay.g_study, **CROSSED, method=method, n_resamples=20)
        for method in ("profile", "delta", "parametric", "objects", "none")
    },
    "g_study, anova": partial(assay.g_study, **CROSSED, estimator="anova", n_resamples=20),
    "g_study, ml": partial(assay.g_study, **CROSSED, estimator="ml"),
    "g_study, annotators measured": partial(assay.g_study, design="p x r", object="r", facets=FACETS),
    "g_study, annotators nested": partial(assay.g_study, design="r:p", object="p", facets=FACETS),
    "g_study, items nested": partial(assay.g_study, design="p:r", object="r", facets=FACETS),
    "g_study, lessons": partial(assay.g_study, design="r x (p:l)", object="l", facets=LESSONS),
    "g_study, items of lessons": partial(assay.g_study, design="r x (p:l)", object="p", facets=LESSONS),
    "g_study, fixed": partial(assay.g_study, **CROSSED, fixed="r"),
    "g_study, by kind": partial(assay.g_study, **CROSSED, by="kind"),
    "d_study": d_study,
    "human_in_the_loop": in_the_loop,
    "nested_icc": partial(assay.measures.nested_icc, within="lesson"),
    "disattenuated_correlation": partial(assay.disattenuated_correlation, **CROSSED),
    "rater_model": partial(assay.rater_model, quick=True),
}  # fmt: skip


def read(rows: Sequence[Row], scale: str, judges: Sequence[str]) -> assay.Annotations:
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "lesson", "criterion"], orient="row")
    frame = frame if frame["criterion"].is_not_null().any() else frame.drop("criterion")
    return assay.read(frame, scale=scale, judges=list(judges))


def missing(value: float | None) -> bool:
    return value is None or math.isnan(value)


def check(found: Any, first: int | None = None) -> None:
    """Every row at the level asked; every row at another one too, or each third from ``first``."""
    found.summary()
    found.to_dict()
    table = found.table
    for row in table.iter_rows(named=True) if {"low", "high"} <= set(table.columns) else ():
        assert missing(row["low"]) == missing(row["high"]), row
        assert missing(row["low"]) or row["low"] < row["high"], f"an interval of no width: {row}"
        if "reason" in row and "estimate" in row:
            assert row["reason"] or not missing(row["estimate"]), f"missing without a reason: {row}"
    for one in found.row_estimates()[first :: 1 if first is None else 3]:
        if one is not None:
            low, high = one.interval(0.8)
            assert (missing(low) and missing(high)) or low < high


def ask(question: str, labels: assay.Annotations, first: int | None = None) -> bool:
    """Whether there was an answer; none is an `AssayError`."""
    try:
        found = ASKED[question](labels)
    except assay.errors.AssayError:
        return False
    check(found, first)
    return True


WITH_JUDGES = (
    "agreement", "disagreement", "g_study, by kind", "human_in_the_loop", "disattenuated_correlation", "rater_model",
    "many_facet_rasch",
)  # fmt: skip
"""Questions that treat judges differently from humans: asked of both by default, the others as slow tests."""

BY_DEFAULT = [(question, ()) for question in ASKED] + [(question, ("r0",)) for question in WITH_JUDGES]
LATER = [(question, ("r0",)) for question in ASKED if question not in WITH_JUDGES]


@cache
def small(name: str, judges: tuple[str, ...]) -> assay.Annotations | None:
    """One of the tables, if it can be read."""
    try:
        return read(TABLES[name], "1-5", judges)
    except assay.errors.AssayError:
        return None


@cache
def answered(question: str, name: str, judges: tuple[str, ...] = ()) -> bool | None:
    """Whether the table had an answer, if it can be read; which rows are asked at another level differs by table."""
    if (labels := small(name, judges)) is None:
        return None
    try:
        return ask(question, labels, list(TABLES).index(name) % 3)
    except Exception as error:
        raise AssertionError(f"{question} of '{name}', judges {judges}") from error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "judges"), [*BY_DEFAULT, *(pytest.param(*one, marks=pytest.mark.slow) for one in LATER)]
)
def test_question_answers_or_says_why_not_on_the_smallest_tables(question: str, judges: tuple[str, ...]) -> None:
    assert any(answered(question, name, judges) is not None for name in TABLES)


def alike(labels: tuple[int | None, ...]) -> list[tuple[int | None, ...]]:
    """A table of two items by two annotators with its items, its annotators or both exchanged."""
    a, b, c, d = labels
    return [(a, b, c, d), (c, d, a, b), (b, a, d, c), (d, c, b, a)]


DIFFERENT = sorted(
    {max(alike(labels), key=str) for labels in itertools.product((1, 2, None), repeat=4) if any(labels)}, key=str
)
"""Tables of two by two that differ in more than the order of items or annotators, which changes no digit (`laws`)."""


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["1-5", "nominal"])
@pytest.mark.parametrize("question", ASKED)
def test_question_answers_or_says_why_not_on_every_table_of_two_by_two(question: str, scale: str) -> None:
    for labels in DIFFERENT:
        ask(question, read(grid(labels[:2], labels[2:]), scale, ()))


def test_the_smallest_tables_are_answered_where_something_is_known() -> None:
    """So that the tests above do not pass on refusals alone."""

    def number(name: str) -> int:
        return sum(answered(question, name) is True for question in ASKED)

    assert number("one label") == 0
    assert number("two by two") >= 30
    assert number("two lessons of two items") >= 33
