"""The order in which shapes of answers are tried, each on a record that has it and on one that the next reads, too."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import polars as pl
import pytest

from assay.data.formats import Rows
from assay.data.formats.nested import SHAPES, unfold
from assay.data.formats.nested.cells import Nested

NAMES = [read.__name__ for read in SHAPES]

CONTESTED = {
    "lists_of_objects": '{"reviews": [{"worker": "ann", "stars": 4}], "evals": {"tone": {"scores": [4, 3]}}}',
    "lists_by_criterion": '{"evals": {"tone": {"scores": [4, 3], "first": 4, "last": 3}}}',
    "objects_of_objects": '{"scores": {"ann": {"tone": 4, "depth": 2}, "bo": {"tone": 3}}, "labels": [4, 3]}',
    "parallel_lists": '{"annotators": [17, 23], "labels": [4, 3]}',
    "lists_of_criteria": '{"fluency": [4, 3], "tone": [2, 2], "judge_scores": {"fluency": 4, "tone": 2}}',
    "labels_by_key": '{"scores": {"gpt-4o": 4, "claude-3-opus": 2}}',
    "labels_by_annotator": '{"scores": {"ann": 4, "bo": 5}, "check": {"score": 4, "reason": "too short"}}',
}
"""A record that a shape and the next one both fit."""


def table(example: str) -> Nested:
    """Eight records like an example, with other labels."""
    records = [re.sub(r"(?<=[\[ ])\d+", lambda n, k=k: str(1 + (int(n[0]) * k + k) % 5), example) for k in range(8)]
    return Nested([{"id": f"q{k}", **json.loads(record)} for k, record in enumerate(records)])


def readers(example: str) -> list[str]:
    return [read.__name__ for read in SHAPES if read(table(example)) is not None]


@pytest.mark.parametrize("read", [*SHAPES], ids=NAMES)
def test_shape_is_the_first_that_reads_its_example(read):
    assert readers(SHAPES[read])[0] == read.__name__


@pytest.mark.parametrize(("shape", "following"), [*pairwise(NAMES)])
def test_shape_is_read_before_the_next_that_fits(shape, following):
    assert readers(CONTESTED[shape])[:2] == [shape, following]


def test_sections_are_found_in_an_object_without_its_wrapper():
    scores = [{"overall": k, "content": {"depth": k}, "style": {"tone": 3 - k}} for k in range(4)]
    rows = Rows(pl.DataFrame({"id": range(4), "result": [{"scores": one, "cost": 0.5} for one in scores]}))
    assert unfold(rows).labels.columns == ["id", "result.cost", "overall", "depth", "tone"]
