"""Mutated inputs through every reader: a table, or an `AssayError`, and nothing else.

A small share runs by default, 4,000 with ``pytest -m simulation``, or the number in the environment variable
``ASSAY_INPUTS``. Every input is determined by its number: ``mutated(number)`` recreates the input of a failure.
"""

from __future__ import annotations

import copy
import io
import json
import os
import random
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import assay
from assay.data.annotations import Annotations
from assay.errors import AssayError

ALL, SHARE = int(os.environ.get("ASSAY_INPUTS", "2400")), 20

# -- a valid input for every reader -----------------------------------------------------------------

STARS = {"from_name": "stars", "to_name": "t", "type": "rating", "value": {"rating": 3}}
TASKS = [
    {
        "id": n, "data": {"key": f"k{n}", "text": "one"}, "drafts": [], "predictions": [
            {"model_version": "m1", "result": [STARS], "score": 0.5}],
        "annotations": [{"id": 1, "completed_by": {"id": 7, "email": "ann@example.org"}, "result": [STARS],
                         "was_cancelled": False, "created_at": "2030-01-01T10:00:00Z", "lead_time": 2.5}],
    }
    for n in (1, 2)
]  # fmt: skip
FLAT_TASKS = [
    {"id": n, "text": "one", "stars": 4, "annotator": 7, "annotation_id": n, "lead_time": 1.5,
     "created_at": "2030-01-01", "updated_at": "2030-01-02"}
    for n in (1, 2)
]  # fmt: skip
ARGILLA = [
    {"id": f"r{n}", "status": "completed", "_server_id": None, "text": "one", "stars.responses": [4, 2],
     "stars.responses.users": ["u1", "u2"], "stars.responses.status": ["submitted", "submitted"],
     "stars.suggestion": 5, "stars.suggestion.agent": "m1", "stars.suggestion.score": 0.5}
    for n in (1, 2)
]  # fmt: skip
NESTED = [
    {"id": f"r{n}", "fields": {"text": "one"}, "metadata": {}, "_server_id": "s", "status": "completed",
     "responses": {"stars": [{"value": 4, "user_id": "u1"}, {"value": 2, "user_id": "u2"}]},
     "suggestions": {"stars": {"value": 3, "score": None, "agent": "m1"}}}
    for n in (1, 2)
]  # fmt: skip
PRODIGY = [
    {"text": "one", "options": [{"id": "a", "text": "A"}, {"id": "b", "text": "B"}], "accept": ["a"],
     "answer": "accept", "_input_hash": n, "_task_hash": 1, "_view_id": "choice", "_timestamp": n,
     "_annotator_id": f"set-{who}"}
    for n in (1, 2) for who in ("ann", "bob")
]  # fmt: skip
INSPECT = {
    "version": 2, "status": "success",
    "eval": {"task_id": "t", "model": "m", "config": {"epochs": 2}, "model_roles": {"grader": {"model": "g"}},
             "scorers": [{"name": "rating", "options": {"model": {"model": "m/rater"}}}]},
    "results": {"scores": [{"scorer": "rating", "params": {"model": {"model": "m/rater"}}}]},
    "samples": [
        {"id": n, "epoch": 1, "input": "?", "target": "x", "metadata": {"key": f"k{n}"}, "output": {"completion": "y"},
         "scores": {"rating": {"value": 4, "metadata": {"judge_model": "m/rater"}, "history": []},
                    "two": {"value": {"a": 1, "b": 2}}, "match": {"value": "C"}}}
        for n in (1, 2)
    ],
}  # fmt: skip
PROMPTFOO = {
    "evalId": "e", "config": {"defaultTest": {"options": {"provider": "m1"}}},
    "results": {"version": 3, "results": [
        {"testIdx": n, "promptIdx": 0, "provider": {"id": "openai:m", "label": "m"}, "vars": {"key": f"k{n}"},
         "response": {"output": "because"},
         "gradingResult": {"pass": True, "score": 1, "componentResults": [
             {"pass": True, "score": 0.8, "assertion": {"type": "llm-rubric", "metric": "tone"}},
             {"pass": True, "score": 1, "assertion": {"type": "contains"}}]}}
        for n in (0, 1)]},
}  # fmt: skip
MLFLOW = {
    "columns": ["inputs", "outputs", "tone/v1/score", "tone/v1/justification"],
    "data": [["q1", "a1", 4, "good"], ["q2", "a2", 2, "bad"]],
}
TRACES = [
    {"info": {"trace_id": f"t{n}", "request_preview": "?", "assessments": [
        {"assessment_name": "good", "source": {"source_type": "LLM_JUDGE", "source_id": "m1"},
         "feedback": {"value": True}, "create_time": "2030-01-01"},
        {"assessment_name": "good", "source": {"source_type": "HUMAN", "source_id": "ann"},
         "feedback": {"value": False}}]}, "data": {"spans": []}}
    for n in (1, 2)
]  # fmt: skip
DEEPEVAL = {
    "testCases": [
        {"name": f"case_{n}", "input": "?", "actualOutput": "because", "success": True, "order": n,
         "metricsData": [{"name": "Tone [GEval]", "score": 0.8, "success": True, "evaluationModel": "gpt-4.1"},
                         {"name": "Exact Match", "score": 1.0, "success": True}]}
        for n in (0, 1)],
    "metricsScores": [], "testPassed": 2,
}  # fmt: skip
LM_EVAL = [
    {"doc_id": n, "doc": {"key": f"k{n}"}, "target": "x", "resps": [["y"]], "filtered_resps": ["y"], "filter": "none",
     "metrics": ["exact_match", "judged"], "doc_hash": "a", "exact_match": 0.0, "judged": n + 1}
    for n in (0, 1)
]  # fmt: skip
POTATO = {
    "user_id": "ann", "instance_id_ordering": ["k1", "k2"],
    "instance_id_to_label_to_value": {
        "k1": [[{"schema": "stars", "name": "4"}, "4"], [{"schema": "kind", "name": "Good"}, "Good"]],
        "k2": [[{"schema": "stars", "name": "2"}, "2"]]},
}  # fmt: skip
LABELS = [{"item": f"q{n}", "annotator": who, "label": 1 + n % 3} for n in (1, 2, 3) for who in ("ann", "bob")]
PARALLEL = [{"item": f"q{n}", "annotator": ["ann", "bob"], "label": [1, 2], "text": "one"} for n in (1, 2)]
TABLE = "item,annotator,label,text\nq1,ann,1,one\nq1,bob,2,one\nq2,ann,3,two\nq2,bob,1,two\n"
WIDE = "item,ann,bob,m1\nq1,1,2,1\nq2,3,1,2\nq3,2,2,3\n"
TURK = (
    '"HITId","AssignmentId","WorkerId","AssignmentStatus","SubmitTime","Input.key","Answer.stars","Answer.taskAnswers"\n'
    '"H1","A1","W1","Approved","Fri Nov 20 09:00:00 PST 2026","k1","4","[{""kind"":{""Good"":true}}]"\n'
    '"H1","A2","W2","Submitted","Fri Nov 20 09:01:00 PST 2026","k1","2","[{""kind"":{""Good"":false}}]"\n'
)

SOUND: dict[str, tuple[str, str, Any, dict[str, Any]]] = {
    "csv": ("table", "t.csv", TABLE, {}),
    "csv with a scale": ("table", "t.csv", TABLE, {"scale": "1-5"}),
    "tsv": ("table", "t.tsv", TABLE.replace(",", "\t"), {}),
    "wide": ("table", "t.csv", WIDE, {"layout": "wide"}),
    "two labels": ("table", "t.csv", TABLE.replace("text", "sure"), {"label": ["label", "sure"]}),
    "json": ("table", "t.json", LABELS, {}),
    "json by annotator": ("table", "t.json", {"ann": {"q1": 1, "q2": 2}, "bob": {"q1": 2}}, {}),
    "json lines": ("table", "t.jsonl", LABELS, {}),
    "hugging face": ("hugging-face", "t.jsonl", PARALLEL, {}),
    "alt-test": ("alt-test", "human_annotations.json", {"ann": {"q1": 1, "q2": 2}, "bob": {"q1": 2}}, {}),
    "label studio": ("label-studio", "t.json", TASKS, {}),
    "label studio, own id": ("label-studio", "t.json", TASKS, {"item": "key"}),
    "label studio, flat": ("label-studio", "t.json", FLAT_TASKS, {"criteria": ["stars"]}),
    "argilla": ("argilla", "flat.json", ARGILLA, {}),
    "argilla, nested": ("argilla", "records.json", NESTED, {}),
    "prodigy": ("prodigy", "t.jsonl", PRODIGY, {}),
    "prodigy, pairs": ("prodigy", "t.jsonl", PRODIGY, {"pair": ["a", "b"]}),
    "mturk": ("mturk", "t.csv", TURK, {}),
    "potato": ("potato", "user_state.json", POTATO, {}),
    "inspect": ("inspect-ai", "t.json", INSPECT, {}),
    "inspect, eval": ("inspect-ai", "t.eval", INSPECT, {"with_model": True}),
    "promptfoo": ("promptfoo", "t.json", PROMPTFOO, {}),
    "promptfoo, lines": ("promptfoo", "t.jsonl", PROMPTFOO["results"]["results"], {"judge": "m1"}),
    "deepeval": ("deepeval", "t.json", DEEPEVAL, {}),
    "lm-eval": ("lm-eval", "t.jsonl", LM_EVAL, {"criteria": ["judged"]}),
    "mlflow": ("mlflow", "t.json", MLFLOW, {}),
    "mlflow, traces": ("mlflow", "t.json", TRACES, {}),
    "parquet": ("table", "t.parquet", LABELS, {}),
    "argilla, parquet": ("argilla", "t.parquet", ARGILLA, {}),
}
"""By name: the format, a file's name, its content, options of `assay.read`."""

# -- mutations --------------------------------------------------------------------------------------

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 7, 2**70, -1.5, 1e308, float("nan"), float("inf"), "", " ", "x", "NaN", "1", "1,5",
    "2030-99-99", "é\u0301", "\u200b", "\ud7ff", "a" * 300, [], {}, [None], [[]], [1, "x"], {"": None}, {"a": [1]},
    ["a"],
    "gpt-4o", "Ann", "ann ", {"id": 1}, [{"id": 1}], "[", "{}", '{"a": 1}', "null", "human", "judge",
)  # fmt: skip


def nodes(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a tree: its parent and its key."""
    for key in list(tree if isinstance(tree, dict) else range(len(tree))) if isinstance(tree, dict | list) else ():
        yield tree, key
        yield from nodes(tree[key])


def of_tree(tree: Any, draw: random.Random) -> Any:
    """A tree with one to three places removed, duplicated, renamed, or replaced."""
    tree = copy.deepcopy(tree)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        places = list(nodes(tree))
        if not places:
            return draw.choice(ODD)
        held, key = draw.choice(places)
        what = draw.choice(("replace", "replace", "replace", "drop", "double", "swap", "wrap"))
        if what == "replace":
            held[key] = copy.deepcopy(draw.choice(ODD))
        elif what == "drop":
            del held[key]
        elif what == "double" and isinstance(held, list):
            held.insert(key, copy.deepcopy(held[key]))
        elif what == "double":
            held[draw.choice(("", "x", f"{key} ", str(key).upper()))] = copy.deepcopy(held[key])
        elif what == "swap":
            other, there = draw.choice(places)
            if there in other if isinstance(other, dict) else there < len(other):
                held[key] = copy.deepcopy(other[there])
        else:
            held[key] = draw.choice(([held[key]], {"value": held[key]}))
    return tree


def of_cells(text: str, separator: str, draw: random.Random) -> str:
    """A text table with some cells, rows or columns changed."""
    rows = [line.split(separator) for line in text.splitlines()]
    for _ in range(draw.choice((1, 1, 2, 4))):
        row = draw.randrange(len(rows)) if rows else 0
        if not rows or not rows[row]:
            break
        cell = draw.randrange(len(rows[row]))
        what = draw.choice(("cell", "cell", "cell", "cell", "row", "double", "column", "ragged", "blank", "quote"))
        if what == "cell":
            odd = draw.choice(ODD)
            rows[row][cell] = odd if isinstance(odd, str) else json.dumps(odd, default=str)
        elif what == "row":
            del rows[row]
        elif what == "double":
            rows.insert(row, list(rows[row]))
        elif what == "column":
            for one in rows:
                del one[cell : cell + 1]
        elif what == "ragged":
            rows[row].append("more")
        elif what == "blank":
            rows.append([""] * len(rows[0]))
        else:
            rows[row][cell] = '"' + rows[row][cell]
    return "\n".join(separator.join(row) for row in rows) + draw.choice(("\n", "", "\n\n"))


def of_bytes(content: bytes, draw: random.Random) -> bytes:
    """Bytes flipped, removed, duplicated, truncated."""
    found = bytearray(content)
    for _ in range(draw.choice((1, 2, 8))):
        if not found:
            break
        at = draw.randrange(len(found))
        what = draw.choice(("flip", "cut", "double", "end", "text"))
        if what == "flip":
            found[at] = draw.randrange(256)
        elif what == "cut":
            del found[at : at + draw.randrange(1, 20)]
        elif what == "double":
            found[at:at] = found[at : at + draw.randrange(1, 40)]
        elif what == "end" and draw.random() < 0.3:
            del found[at:]
        else:
            found[at : at + 1] = draw.choice((b'"', b"\n", b",", b"}", b"\xff", b"\0", b"null", b"\\", b"\xef\xbb\xbf"))
    return bytes(found)


def text_of(tree: Any, name: str) -> str:
    """A tree as JSON, or as JSON Lines."""
    if name.endswith(".jsonl") and isinstance(tree, list):
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in tree)
    return json.dumps(tree, ensure_ascii=False)


def packed(name: str, tree: Any) -> bytes:
    """A tree in the format of the file name: an archive of Inspect AI, Parquet, JSON."""
    if name.endswith(".parquet"):
        buffer = io.BytesIO()
        rows = [row for row in tree if isinstance(row, dict)] if isinstance(tree, list) else []
        names = list(dict.fromkeys(key for row in rows for key in row))
        columns = {}
        for column in names:
            values = [row.get(column) for row in rows]
            try:
                columns[column] = pl.Series(column, values, strict=True)
            except (TypeError, OverflowError, pl.exceptions.PolarsError):
                columns[column] = pl.Series(column, [None if v is None else str(v) for v in values], dtype=pl.String)
        pl.DataFrame(columns).write_parquet(buffer)
        return buffer.getvalue()
    if name.endswith(".eval"):
        buffer = io.BytesIO()
        log = tree if isinstance(tree, dict) else {"eval": tree}
        samples = log.get("samples")
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("header.json", json.dumps({k: v for k, v in log.items() if k != "samples"}))
            for n, sample in enumerate(samples if isinstance(samples, list) else [samples]):
                archive.writestr(f"samples/{n}.json", json.dumps(sample))
        return buffer.getvalue()
    return text_of(tree, name).encode(errors="replace")


def mutated(number: int) -> tuple[str, str, bytes, dict[str, Any]]:
    """The format, the file's name, its bytes and the options of an input, by its number."""
    draw = random.Random(number)
    kind = list(SOUND)[number % len(SOUND)]
    form, name, content, options = SOUND[kind]
    if isinstance(content, str):
        made = content if draw.random() < 0.2 else of_cells(content, "\t" if name.endswith(".tsv") else ",", draw)
        found = made.encode(errors="replace")
    else:
        found = packed(name, content if draw.random() < 0.2 else of_tree(content, draw))
    if draw.random() < 0.2:
        found = of_bytes(found, draw)
    options = dict(options)
    if draw.random() < 0.6:
        options["format"] = form
    if draw.random() < 0.1:
        options |= draw.choice(
            ({"judges": ["bob"]}, {"humans": ["ann", "bob"]}, {"scale": "1-5"}, {"scale": "nominal"}, {"scale": "text"},
             {"spelling": "merge"}, {"spelling": "apart"}, {"split_item": "q"}, {"conditions": ["text"]},
             {"item": "annotator"}, {"label": "text"}, {"layout": "wide"}, {"scale": "preference"})
        )  # fmt: skip
    return form, name, found, options


def tried(folder: Path, number: int) -> bool:
    """Whether an input is a table; anything but a table and an `AssayError` is raised, with its number."""
    form, name, content, options = mutated(number)
    path = folder / str(number)
    path.mkdir()
    (path / name).write_bytes(content)
    # Some readers require a folder.
    source = path if form == "alt-test" else path / name
    try:
        labels = assay.read(source, **options)
    except AssayError as error:
        return not str(error)  # an error requires a message
    except Exception as error:
        error.add_note(f"input {number}: {options} {content[:2000]!r}")
        raise
    assert isinstance(labels, Annotations)
    assert len(labels) > 0
    return True


def of_all(folder: Path, numbers: range, try_one: Callable[[Path, int], bool] = tried) -> None:
    """Every input of a range; at least a tenth are tables, so that the mutations reach the code behind the checks."""
    loads = sum(try_one(folder, number) for number in numbers)
    assert loads > len(numbers) / 10


@pytest.mark.parametrize("kind", SOUND)
def test_inputs_are_valid_before_mutation(tmp_path, kind):
    form, name, content, options = SOUND[kind]
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else packed(name, content))
    source = tmp_path if form == "alt-test" else tmp_path / name
    extra = {"scale": {"label": "1-5", "sure": "nominal"}} if kind == "two labels" else {}
    extra = {"scale": {"kind": "nominal", "stars": "1-5"}} if form in ("mturk", "potato") else extra
    extra = {"criteria": ["rating"]} if form == "inspect-ai" else extra
    assert len(assay.read(source, format=form, **options, **extra)) > 1


def test_read_some_mutated_inputs(tmp_path):
    of_all(tmp_path, range(SHARE))


@pytest.mark.simulation
@pytest.mark.parametrize("start", range(0, ALL, ALL // 8))
def test_read_all_mutated_inputs(tmp_path, start):
    of_all(tmp_path, range(start, start + ALL // 8))
