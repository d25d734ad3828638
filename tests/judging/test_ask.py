"""`assay.ask`: models and functions of a row, with the cache, limits and records of a study."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections import Counter
from contextlib import closing
from types import SimpleNamespace

import polars as pl
import pytest
from chat_server import ChatServer, Say

import assay
from assay.errors import DesignError, JudgeError, StudyError
from assay.judging.run import judge_study
from assay.study.definition import load_study
from waiting import wait_until

ROWS = pl.DataFrame({"item": ["a", "b", "c"], "text": ["good soup", "bad", "so so"]})
HOW = {"question": "How good?", "scale": "1-5", "progress": False}


def labels_of(found, judge):
    frame = found.labels.filter(pl.col("annotator") == judge)
    return dict(zip(frame["item"].to_list(), frame["label"].to_list(), strict=True))


class Metric:
    """A metric object that is called, as those of evaluation tools."""

    def __call__(self, row):
        return SimpleNamespace(score=2, reason="short", measure=print)


class AsyncMetric:
    async def __call__(self, row):
        await asyncio.sleep(0)
        return SimpleNamespace(value=3, explanation="fair")


async def waits(row):
    await asyncio.sleep(0)
    return 4


@pytest.mark.parametrize(
    ("judge", "label"),
    [
        (lambda row: 5, 5), (lambda row: "Rating: 4/5", 4), (lambda row: {"label": 3, "reasoning": "x"}, 3),
        (lambda row: {"score": 2, "reason": "y"}, 2), (Metric(), 2), (AsyncMetric(), 3), (waits, 4),
        (lambda row: SimpleNamespace(value=SimpleNamespace(value=1)), 1), (lambda row: pl.Series([4])[0], 4),
        (lambda row: len(row["item"]) + 1, 2), (lambda row: 4.0, 4),
    ],
)  # fmt: skip
def test_ask_takes_every_kind_of_evaluator(tmp_path, judge, label):
    found = assay.ask(ROWS, {"mine": judge}, cache=tmp_path, **HOW)
    assert labels_of(found, "mine") == dict.fromkeys("abc", label)


@pytest.mark.slow
@pytest.mark.parametrize("is_async", [False, True])
def test_ask_gives_each_row_its_own_score_of_a_metric_that_keeps_its_last_one(tmp_path, is_async):
    rows = [{"item": f"q{n}", "text": str(n % 5 + 1)} for n in range(20)]
    metric, running = SimpleNamespace(score=None), Counter()

    def measure(row):
        metric.score = int(row["text"])
        threading.Event().wait(0.002)
        return metric

    async def measure_later(row):
        metric.score = int(row["text"])
        await asyncio.sleep(0.002)
        return metric

    found = assay.ask(rows, {"m": measure_later if is_async else measure}, cache=tmp_path / "one", **HOW)
    assert labels_of(found, "m") == {row["item"]: int(row["text"]) for row in rows}

    def separate(row):
        running["now"] += 1
        running["most"] = max(running["most"], running["now"])
        threading.Event().wait(0.005)
        running["now"] -= 1
        return SimpleNamespace(score=int(row["text"]))

    found = assay.ask(rows, {"m": separate}, cache=tmp_path / "each", **HOW)
    assert labels_of(found, "m") == {row["item"]: int(row["text"]) for row in rows}
    assert running["most"] > 2, "separate results, at the same time"


@pytest.mark.slow
def test_ask_gives_models_and_functions_in_one_table_and_asks_each_once(tmp_path):
    calls = Counter()

    def mine(row):
        calls[row["item"]] += 1
        return 1 if "bad" in row["text"] else 5

    with ChatServer(lambda n, body, server: Say('{"label": 3}')) as server:
        judges = {"mine": mine, "gpt": {"model": "tiny", "base_url": server.url}}
        found = assay.ask(ROWS, judges, cache=tmp_path, repeats=3, **HOW)
        again = assay.ask(ROWS, judges, cache=tmp_path, repeats=3, **HOW)
        assert (server.count, calls) == (9, Counter({"a": 3, "b": 3, "c": 3})), "the second call asks nothing"
        more = pl.concat([ROWS, pl.DataFrame({"item": ["d"], "text": ["fine"]})])
        assay.ask(more, judges, cache=tmp_path, repeats=3, **HOW)
        assert (server.count, calls["d"], calls["a"]) == (12, 3, 3), "a new row alone is asked"
    assert found.labels.height == again.labels.height == 18
    assert set(found.labels.columns) >= {"item", "annotator", "label", "repeat"}
    assert found.labels.filter(pl.col("annotator") == "mine", pl.col("item") == "b")["label"].to_list() == [1, 1, 1]
    assert judge_study(load_study(tmp_path), allow_code=True, judges=["gpt"]).answered == 0, "the cache is a study"


def test_ask_resumes_after_an_interrupt_and_asks_each_row_once(tmp_path):
    calls = Counter()
    rows = pl.DataFrame({"item": [f"q{n}" for n in range(40)], "text": ["x"] * 40})

    def slow(row):
        calls[row["item"]] += 1
        if sum(calls.values()) == 10:
            os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(0.005)
        return 2

    with pytest.raises(KeyboardInterrupt, match="the same call continues"):
        assay.ask(rows, {"slow": slow}, cache=tmp_path, concurrency=2, **HOW)
    assert 10 <= sum(calls.values()) < 40
    found = assay.ask(rows, {"slow": slow}, cache=tmp_path, concurrency=2, **HOW)
    assert found.labels.height == 40
    assert set(calls.values()) == {1}


def test_ask_works_where_a_loop_is_running_and_can_be_interrupted_there(tmp_path):
    calls, interrupted = Counter(), threading.Event()
    rows = pl.DataFrame({"item": [f"q{n}" for n in range(40)], "text": ["x"] * 40})

    def slow(row):
        calls[row["item"]] += 1
        if len(calls) > 8:
            interrupted.wait(10)
        threading.Event().wait(0.02)
        return 2

    def interrupt():
        wait_until(lambda: len(calls) >= 8, "no calls")
        os.kill(os.getpid(), signal.SIGINT)
        interrupted.set()

    async def cell():
        return assay.ask(rows, {"slow": slow}, cache=tmp_path, concurrency=2, **HOW)

    threading.Thread(target=interrupt).start()
    with closing(asyncio.new_event_loop()) as loop:  # without asyncio's treatment of Ctrl-C, as in a notebook
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(cell())
        assert sum(calls.values()) < 40
    with closing(asyncio.new_event_loop()) as loop:
        assert loop.run_until_complete(cell()).labels.height == 40
    assert set(calls.values()) == {1}


def test_ask_counts_rows_that_a_function_cannot_label_as_missing(tmp_path):
    def mine(row):
        if row["item"] == "b":
            raise ValueError("no text")
        return None if row["item"] == "c" else 4

    assert labels_of(assay.ask(ROWS, {"mine": mine}, cache=tmp_path, **HOW), "mine") == {"a": 4}
    with pytest.raises(JudgeError, match="mine raised ZeroDivisionError: division by zero"):
        assay.ask(ROWS, {"mine": lambda row: 1 / 0}, cache=tmp_path / "other", **HOW)


@pytest.mark.slow
@pytest.mark.parametrize("progress", [True, False])
def test_ask_prints_missing_labels_also_without_a_terminal(tmp_path, capsys, progress):
    def judge(row):
        if row["item"] == "b":
            raise ValueError("no text")
        return 4

    assay.ask(ROWS, {"mine": judge}, cache=tmp_path, **HOW | {"progress": progress})
    said = capsys.readouterr().err
    assert ("1 failed" in said, "no text" in said) == (progress, progress), said


def test_ask_takes_other_frames_ids_and_scales(tmp_path):
    rows = [{"id": 1, "text": "good"}, {"id": 2, "text": "bad"}]
    how = HOW | {"scale": ["no", "yes"], "item": "id"}
    found = assay.ask(rows, {"mine": lambda row: "yes" if row["text"] == "good" else "no"}, cache=tmp_path, **how)
    assert labels_of(found, "mine") == {"1": "yes", "2": "no"}
    without = [{"text": "good"}, {"text": "bad"}]
    once = assay.ask(without, {"mine": lambda row: 3}, cache=tmp_path / "ids", **HOW)
    again = assay.ask(without[::-1], {"mine": lambda row: 3}, cache=tmp_path / "ids", **HOW)
    assert set(once.labels["item"]) == set(again.labels["item"]), "an id is a digest of its row"
    seen = []
    assay.ask(ROWS.with_columns(gold=5), {"m": lambda row: seen.append(row) or 1}, cache=tmp_path / "s", show=["text"],
              **HOW)  # fmt: skip
    assert set(seen[0]) == {"item", "text"}


@pytest.mark.parametrize(
    ("items", "judges", "more", "error", "message"),
    [
        (ROWS, {}, {}, DesignError, "ask needs at least one judge"),
        (ROWS, {"m": 3}, {}, DesignError, "judge 'm' must be 'provider:model', a dict of its settings, or a function"),
        (ROWS, {"m": len}, {"item": "id"}, DesignError, "the table has no column 'id'; its columns are item, text"),
        (ROWS.head(0), {"m": len}, {}, DesignError, "ask needs at least one row"),
        (ROWS, {"m": len}, {"scale": "1-"}, StudyError, "scale"),
        (ROWS, {"m": "opnai:gpt"}, {}, JudgeError, "needs a key"),
    ],
)
def test_ask_rejects_what_it_cannot_use(tmp_path, monkeypatch, items, judges, more, error, message):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(error, match=message):
        assay.ask(items, judges, cache=tmp_path, **HOW | more)
