"""Evaluators of other tools as judges of `assay.ask`, as docs/judging.md writes them; each requires its tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import assay

ROWS = [
    {"item": "a", "q": "2 + 2?", "a": "4", "gold": "4"},
    {"item": "b", "q": "Capital of France?", "a": "Lyon", "gold": "Paris"},
]
SHARE = {"question": "Is it right?", "scale": "interval:0-1", "progress": False}


def asked(judge: Any, cache: Path, **how: Any) -> dict[str, Any]:
    """The labels of the two rows."""
    labels = assay.ask(ROWS, {"tool": judge}, cache=cache, **SHARE | how).labels
    return dict(zip(labels["item"], labels["label"], strict=True))


def test_inspect_scorer(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Target, f1, includes
    from inspect_ai.solver import TaskState

    def judge(scorer: Any) -> Any:
        async def score(row: dict[str, Any]) -> Any:
            output = ModelOutput.from_content("none/none", row["a"])
            state = TaskState("none/none", row["item"], 1, row["q"], [], output=output)
            return await scorer(state, Target(row["gold"]))

        return score

    labels = asked(judge(includes()), tmp_path / "includes", scale="nominal:C,P,I,N")
    assert labels == {"a": "C", "b": "I"}, "Inspect's letters for correct and incorrect"
    assert asked(judge(f1()), tmp_path / "f1") == {"a": 1, "b": 0}


def test_mlflow_scorer(tmp_path: Path) -> None:
    pytest.importorskip("mlflow.genai")
    from mlflow.entities import Feedback
    from mlflow.genai.scorers import scorer

    @scorer
    def equal(outputs: str, expectations: dict[str, str]) -> Feedback:
        return Feedback(value=float(outputs == expectations["gold"]), rationale="They are compared.")

    @scorer
    def same(outputs: str, expectations: dict[str, str]) -> Feedback:
        return Feedback(value="yes" if outputs == expectations["gold"] else "no")

    def judge(metric: Any) -> Any:
        return lambda row: metric.run(inputs={"q": row["q"]}, outputs=row["a"], expectations={"gold": row["gold"]})

    assert asked(judge(equal), tmp_path / "equal") == {"a": 1, "b": 0}
    assert asked(judge(same), tmp_path / "same", scale="nominal:no,yes") == {"a": "yes", "b": "no"}


def test_deepeval_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    monkeypatch.chdir(tmp_path)  # it writes a folder
    pytest.importorskip("deepeval")
    from deepeval.metrics import ExactMatchMetric
    from deepeval.test_case import LLMTestCase

    def deepeval(row: dict[str, Any]) -> Any:
        metric = ExactMatchMetric()
        metric.measure(LLMTestCase(input=row["q"], actual_output=row["a"], expected_output=row["gold"]))
        return metric

    assert asked(deepeval, tmp_path / "cache") == {"a": 1, "b": 0}


def test_ragas_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGAS_DO_NOT_TRACK", "true")
    pytest.importorskip("ragas", exc_type=ImportError)
    from ragas.metrics import discrete_metric
    from ragas.metrics.collections import ExactMatch
    from ragas.metrics.result import MetricResult

    @discrete_metric(name="same", allowed_values=["yes", "no"])
    def same(response: str, gold: str) -> MetricResult:
        return MetricResult(value="yes" if response == gold else "no", reason="They are compared.")

    metric = ExactMatch()
    labels = asked(lambda row: metric.ascore(reference=row["gold"], response=row["a"]), tmp_path / "exact")
    assert labels == {"a": 1, "b": 0}
    labels = asked(
        lambda row: same.score(response=row["a"], gold=row["gold"]), tmp_path / "same", scale="nominal:no,yes"
    )
    assert labels == {"a": "yes", "b": "no"}
