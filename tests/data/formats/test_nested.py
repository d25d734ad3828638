"""Lists and objects in the cells of a table become one row per answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import assay
from assay.data.formats.nested.records import records_in
from assay.data.structure.readings import UnclearTableError
from assay.errors import DataError

ANSWERS = {f"q{k}": {w: (k + (len(w) + k == 5)) % 3 for w in ("ann", "bo", "c")[: 2 + k % 2]} for k in range(1, 13)}


def cells(labels: assay.Annotations) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for item, who, label in labels.labels.select("item", "annotator", "label").iter_rows():
        found.setdefault(item, {})[who] = label
    return found


def lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, records)))
    return path


TEXT = "a text that is long enough to be the text of an item, not a label {}"
WAYS: dict[str, list[dict[str, Any]]] = {
    "lists side by side": [
        {"id": q, "text": TEXT.format(q), "annotators": list(a), "labels": list(a.values())} for q, a in ANSWERS.items()
    ],
    "texts with commas": [
        {"id": q, "annotators": ",".join(a), "annotations": ",".join(map(str, a.values())), "lang": "en"}
        for q, a in ANSWERS.items()
    ],
    "objects": [
        {"id": q, "reviews": [{"worker": w, "rating": v} for w, v in a.items()], "text": TEXT.format(q)}
        for q, a in ANSWERS.items()
    ],
    "annotators listed, labels by name": [
        {"id": q, "annotators": ",".join(a), "annotations": a} for q, a in ANSWERS.items()
    ],
    "names and labels": [{"id": q, "annotations": a, "meta": {"source": "x"}} for q, a in ANSWERS.items()],
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_read_unfolds_answers(way, tmp_path):
    for labels in (
        assay.read(lines(tmp_path / "t.jsonl", WAYS[way])),
        assay.read(pl.DataFrame(WAYS[way], strict=False)) if "name" not in way else None,
    ):
        if labels is not None:
            assert cells(labels) == ANSWERS
            assert any("one row per answer in" in note for note in labels.reading.notes)


def test_read_names_annotators_by_place(tmp_path):
    def scores(k: int, j: int) -> dict[str, int]:
        return {"coherence": 1 + (k + j * k % 2) % 5, "fluency": 1 + (k + j // 2) % 5}

    summaries = [
        {"id": f"s{k}", "system": f"m{k % 2}", "experts": [scores(k, j) for j in range(3)]} for k in range(10)
    ]  # fmt: skip
    labels = assay.read(lines(tmp_path / "t.jsonl", summaries))
    assert labels.criteria == ("coherence", "fluency")
    assert labels.humans == ("1", "2", "3")
    assert labels.reading.places == labels.humans
    assert any(note.startswith("annotators of experts have no names; they are") for note in labels.reading.notes)


def test_read_finds_records_in_a_document(tmp_path):
    records = WAYS["lists side by side"]
    by_item = {one["id"]: {k: v for k, v in one.items() if k != "id"} for one in records}
    scores = {"instances": [
        {"id": q, "annotations": {"clear": {"individual_human_scores": [*a.values()][:2], "mean_human": 1.0}}}
        for q, a in ANSWERS.items()
    ], "dataset": "d"}  # fmt: skip
    for name, document in (("one.json", by_item), ("two.json", {"data": records, "version": 2})):
        (tmp_path / name).write_text(json.dumps(document))
        assert cells(assay.read(tmp_path / name)) == ANSWERS
    (tmp_path / "three.json").write_text(json.dumps(scores))
    placed = assay.read(tmp_path / "three.json")
    assert (placed.n_items, len(placed), placed.criteria) == (12, 24, ("clear",))
    assert records_in({"ann": {"q1": 1, "q2": 2}, "bob": {"q1": 3, "q2": 2}}) is None  # labels by annotator


def test_read_refuses_lists_of_different_lengths(tmp_path):
    uneven = [
        {"id": "a", "annotators": ["x", "y"], "labels": [1, 2]},
        {"id": "b", "annotators": ["x"], "labels": [1, 2]},
    ]
    with pytest.raises(DataError, match="record 2: 'annotators' and labels have different lengths"):
        assay.read(lines(tmp_path / "t.jsonl", uneven))


UNEVEN: dict[str, list[dict[str, Any]]] = {
    "ratings": [{"id": q, "text": TEXT.format(q), "ratings": list(a.values())} for q, a in ANSWERS.items()],
    "reviews": [{"id": q, "reviews": [{"rating": v, "tone": v} for v in a.values()]} for q, a in ANSWERS.items()],
    "scores": [{"id": q, "annotations": {"clear": {"scores": list(a.values())}}} for q, a in ANSWERS.items()],
}


@pytest.mark.parametrize("name", UNEVEN)
def test_read_asks_about_uneven_answers_without_names(name, tmp_path):
    listed = "annotations" if name == "scores" else name
    with pytest.raises(DataError, match=rf"'{listed}' contains lists of 2 to 3 labels without names"):
        assay.read(lines(tmp_path / "t.jsonl", UNEVEN[name]))
    more: dict[str, Any] = {"label": ["rating", "tone"]} if name == "reviews" else {}
    placed = assay.read(lines(tmp_path / "t.jsonl", UNEVEN[name]), annotator="place", **more)
    assert (placed.humans, placed.reading.places) == (("1", "2", "3"), ("1", "2", "3"))
    assert any("which can be another person's in another item" in note for note in placed.reading.notes)
    # With names they are people, and an item without any answer is no different length.
    if name == "ratings":
        named = [{**one, "annotators": list(a)} for one, a in zip(UNEVEN[name], ANSWERS.values(), strict=True)]
        assert cells(assay.read(lines(tmp_path / "t.jsonl", named))) == ANSWERS
        even = [{**one, "ratings": one["ratings"][:2] if k else []} for k, one in enumerate(UNEVEN[name])]
        assert len(assay.read(lines(tmp_path / "t.jsonl", even), annotator="place")) == 22


@pytest.mark.parametrize("mark", ["|", "; ", ", ", " "])
def test_read_asks_about_labels_of_several_annotators_in_one_cell(mark, tmp_path):
    """A crowd's answers in one cell are no category ``1|1|2`` and no choices of one person: some are there twice."""
    rng = np.random.default_rng(5)
    answers = rng.integers(1, 4, (20, 3))
    packed = [mark.join(map(str, one)) for one in answers.tolist()]
    frame = pl.DataFrame({"id": [f"q{i}" for i in range(20)], "votes_raw": packed, "gpt-4o": answers[:, 0].tolist()})
    frame.write_csv(tmp_path / "t.csv")
    with pytest.raises(UnclearTableError, match="'votes_raw' contains lists of 3 labels without names"):
        assay.read(tmp_path / "t.csv", judges=["gpt-4o"])
    labels = assay.read(tmp_path / "t.csv", judges=["gpt-4o"], annotator="place")
    assert (labels.humans, labels.judges, len(labels)) == (("1", "2", "3"), ("gpt-4o",), 80)
    of_second = labels.labels.filter(pl.col("annotator") == "2").sort(pl.col("item").str.slice(1).cast(pl.Int64))
    assert of_second["label"].cast(pl.Int64).to_list() == answers[:, 1].tolist()
    repeated = assay.read(tmp_path / "t.csv", judges=["gpt-4o"], repeat="place")
    assert (repeated.humans, repeated.has_repeats, repeated.reading.places) == (("votes_raw",), True, ())


def test_read_leaves_choices_texts_and_decimal_commas_in_one_cell(tmp_path):
    rng = np.random.default_rng(6)
    several = [";".join(sorted(rng.choice(list("abcd"), 2, replace=False))) for _ in range(20)]
    number = [f"{a},{b}" for a, b in rng.integers(1, 5, (20, 2)).tolist()]
    said = ["no, no, no", "good good", "so, so", "well"] * 5
    frame = pl.DataFrame({"id": [f"q{i}" for i in range(20)], "ann": several, "bob": several[::-1], "weight": number,
                          "why": said})  # fmt: skip
    frame.write_csv(tmp_path / "t.csv")
    labels = assay.read(tmp_path / "t.csv", layout="wide", item="id", columns=["ann", "bob"], scale="nominal")
    assert labels.humans == ("ann", "bob")
    assert {"weight", "why"} <= {*labels.items.columns}
    with pytest.raises(UnclearTableError) as caught:
        assay.read(tmp_path / "t.csv")
    assert "without names" not in str(caught.value)


def test_read_takes_the_marked_categories_of_an_object(tmp_path):
    def records(name: str, yes: float, no: float) -> list[dict[str, Any]]:
        return [
            {"id": q, "text": TEXT.format(q), "annotator": w, name: {"good": yes if v else no, "bad": no if v else yes}}
            for q, a in ANSWERS.items() for w, v in a.items()
        ]  # fmt: skip

    expected = {q: {w: "good" if v else "bad" for w, v in a.items()} for q, a in ANSWERS.items()}
    for name, yes, no in (("cats", 1, 0), ("cats", 1.0, 0.0), ("label", True, False)):
        assert cells(assay.read(lines(tmp_path / "t.jsonl", records(name, yes, no)))) == expected
    with pytest.raises(DataError, match=r"'cats' contains a share for each category \(good, bad\), not a label"):
        assay.read(lines(tmp_path / "t.jsonl", records("cats", 0.75, 0.25)))


def test_read_one_file_of_each_annotator(tmp_path):
    for who in ("ann", "bob"):
        lines(tmp_path / f"{who}.jsonl", [{"id": k, "text": TEXT.format(k), "label": ["good" if k % 3 else "bad"],
                                           "comments": []} for k in range(1, 13)])  # fmt: skip
    for source in ([tmp_path / "ann.jsonl", tmp_path / "bob.jsonl"], tmp_path):
        labels = assay.read(source)
        assert (labels.humans, labels.n_items) == (("ann", "bob"), 12)
        assert any("annotators are named by their files" in note for note in labels.reading.notes)
    (tmp_path / "notes.txt").write_text("not labels")
    with pytest.raises(DataError, match="name a file in it"):
        assay.read(tmp_path)


def test_read_keeps_lists_that_are_not_answers(tmp_path):
    table = [
        {"item": f"i{k // 2}", "annotator": "ab"[k % 2], "label": k % 3, "tags": ["x", "y"],
         "messages": [{"role": "user", "content": TEXT.format(k // 2)}], "meta": {"length": k, f"k{k}": 1}}
        for k in range(12)
    ]  # fmt: skip
    labels = assay.read(lines(tmp_path / "t.jsonl", table))
    assert (len(labels), labels.humans) == (12, ("a", "b"))


def test_read_refuses_files_of_spans(tmp_path):
    (tmp_path / "spans.tsv").write_text("#FORMAT=WebAnno TSV 3.3\n\n1-1\t0-2\tIt\t_\n")
    with pytest.raises(DataError, match="contains spans of text"):
        assay.read(tmp_path / "spans.tsv")


def test_read_refuses_spans_in_cells(tmp_path):
    spans = [{"text": TEXT.format(k), "entities": [[0, 3, "PER"]], "cats": {"good": 1.0}} for k in range(4)]
    with pytest.raises(DataError, match="'entities' contains spans of text"):
        assay.read(lines(tmp_path / "t.jsonl", spans))


def test_read_asks_about_objects_of_one_score(tmp_path):
    """The key of a label is no annotator."""
    rows = [
        {"id": f"c{k}", "scores": {"correctness": {"score": k % 5}, "toxicity": {"score": k % 3}}} for k in range(9)
    ]
    with pytest.raises(
        UnclearTableError, match="'correctness', 'toxicity', the keys of 'scores', can be criteria"
    ) as e:
        assay.read(lines(tmp_path / "t.jsonl", rows))
    labels = assay.read(tmp_path / "t.jsonl", **dict(e.value.choices[0][1]))
    assert (labels.humans, labels.criteria, len(labels)) == (("human",), ("correctness", "toxicity"), 18)


@pytest.mark.parametrize("cell", [lambda k: [k % 3, 2], lambda k: {"tone": k % 3, "depth": 1}])
def test_read_accepts_lists_and_objects_under_a_name_without_letters(cell, tmp_path):
    rows = [{"id": f"q{k}", "ann": k % 3, "bo": k % 3, "--": cell(k)} for k in range(9)]
    labels = assay.read(lines(tmp_path / "t.jsonl", rows), columns=["ann", "bo"])
    assert (labels.humans, len(labels)) == (("ann", "bo"), 18)
