"""Prodigy: what an answer means in binary and choice views; shuffled options; repeated answers."""

from __future__ import annotations

import pytest

import assay
from assay.data.formats import intake, paths
from assay.errors import DataError


def choice(key, who, accept, answer="accept", time=0, options=("a", "b", "c")):
    return {
        "text": f"text {key}",
        "key": key,
        "options": [{"id": o, "text": f"option {o}"} for o in options],
        "accept": accept,
        "answer": answer,
        "_input_hash": int(key[1:]),
        "_task_hash": 1,
        "_view_id": "choice",
        "_timestamp": time,
        "_annotator_id": f"my-set-{who}",
    }


def test_choices(put, answers, excluded):
    path = put(
        "choices.jsonl",
        [
            choice("q1", "ann", ["a"], time=1),
            choice("q1", "bob", ["b"]),
            choice("q2", "ann", [], "ignore"),
            choice("q2", "bob", ["a"], "reject"),
            choice("q3", "ann", []),
            choice("q1", "ann", ["c"], time=9),
            {**choice("q3", "bob", ["c"]), "_view_id": "review"},
        ],
    )
    labels = assay.read(path, item="key", dataset="my-set", question="kind")
    assert answers(labels) == {("q1", "ann", "kind", "c"), ("q1", "bob", "kind", "b")}
    assert excluded(labels) == {
        intake.SKIPPED: 1,
        paths.BAD_TASK: 1,
        intake.EMPTY: 1,
        paths.REVIEW: 1,
        intake.SUPERSEDED: 1,
    }
    assert labels.scale.spec == "nominal:a,b,c"


def test_whole_numbers_stay_numbers(put, answers):
    path = put("stars.jsonl", [choice("q1", "ann", [5], options=(1, 2, 3, 4, 5)), choice("q2", "ann", [2])])
    assert answers(assay.read(path, item="key", dataset="my-set", scale="1-5")) == {("q1", "ann", 5), ("q2", "ann", 2)}


def test_a_pair_is_a_preference_however_it_was_shuffled(put, answers):
    path = put(
        "pairs.jsonl",
        [
            choice("q1", "ann", ["m1"], options=("m2", "m1", "same")),
            choice("q1", "bob", ["m1"], options=("m1", "m2", "same")),
            choice("q2", "ann", ["same"], options=("m1", "m2", "same")),
        ],
    )
    labels = assay.read(path, item="key", dataset="my-set", pair=["m1", "m2"])
    assert answers(labels, "item", "annotator", "label", "position") == {
        ("q1", "ann", -1, 2),
        ("q1", "bob", -1, 1),
        ("q2", "ann", 0, 3),
    }
    with pytest.raises(DataError, match="option 'm3'"):
        assay.read(path, item="key", pair=["m1", "m3"])


def test_in_a_binary_view_the_verdict_is_the_label(put, answers):
    made = {"text": "t", "label": "GOOD", "_input_hash": 1, "_task_hash": 2, "_view_id": "classification"}
    session = {"_annotator_id": "2030-01-01_10-00-00"}
    path = put(
        "binary.jsonl",
        [{**made, **session, "answer": "reject"}, {**made, **session, "_input_hash": 2, "answer": "ignore"}],
    )
    labels = assay.read(path)
    assert answers(labels) == {("1", "2030-01-01_10-00-00", "GOOD", "reject")}
    assert any("starting times" in note for note in labels.reading.notes)


@pytest.mark.real_data
@pytest.mark.parametrize(
    "file", ["choice_single", "choice_rating_int_ids", "choice_pairwise_shuffled", "binary_unnamed_session"]
)
def test_real_shapes(real_data, expected, answers, file):
    names = {"choice_single": "food", "choice_rating_int_ids": "stars", "choice_pairwise_shuffled": "pref"}
    question = names.get(file)
    labels = assay.read(
        real_data / "formats" / "prodigy" / f"{file}.jsonl",
        item="item_id",
        dataset=f"{question}_ds",
        question=question,
    )
    rows = [r for r in expected("formats/prodigy") if r["file"] == f"{file}.jsonl" and r["status"] == "ok"]
    assert {(*key, str(v)) for *key, v in answers(labels)} == {
        (r["item"], r["annotator"], r["control"], r["value"]) for r in rows
    }
