"""Write labels and verdicts as scores of platforms that trace applications, in the form that each platform imports.

A line of JSON is one call of the platform's documented interface:

- Langfuse: the body of ``POST /api/public/scores``
  (https://langfuse.com/docs/evaluation/evaluation-methods/scores-via-sdk).
- Phoenix: one annotation of ``POST /v1/span_annotations`` or ``/v1/trace_annotations``
  (https://arize.com/docs/phoenix/tracing/how-to-tracing/feedback-and-annotations/capture-feedback).
- MLflow: the arguments of ``mlflow.log_feedback``
  (https://mlflow.org/docs/latest/api_reference/python_api/mlflow.html#mlflow.log_feedback).
- Inspect AI: one log, as ``inspect_ai.log.read_eval_log`` reads it
  (https://inspect.aisi.org.uk/reference/inspect_ai.log.html).

The metadata of a score name its annotator, kind and criterion, so that `assay.read` finds them again in the platform's
export (`stated_rater`). A verdict is one annotation per judge (and criterion).
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from assay.data.annotations import Annotations
from assay.data.formats import one_answer_each
from assay.data.formats.tables import load_json
from assay.data.scales import Label, Text
from assay.errors import DataError, DesignError, counted, unknown
from assay.estimation.result import Result, json_safe
from assay.reporting.tables import estimated, number

Record = dict[str, Any]

VERDICT = "verdict"
"""The value of ``assay`` in the metadata of a verdict."""

_COMMENTS = ("comment", "explanation", "rationale", "justification", "reason")
"""Columns of an answer that are written as its comment; the first that the table has."""

_MARKS = {"✓": "pass", "✗": "fail", "?": "undecided", "–": "insufficient data"}

_LONGEST = 500
"""Characters of a text score of Langfuse."""

TITLES = {"langfuse": "Langfuse", "phoenix": "Phoenix", "mlflow": "MLflow", "inspect-ai": "Inspect AI"}
"""The platforms that are written, by the name of the format."""

_IDS = {
    "langfuse": ("trace ids", "[0-9a-f]{32}"),
    "phoenix": ("span or trace ids", "[0-9a-f]{16}|[0-9a-f]{32}"),
    "mlflow": ("trace ids", "tr-.+|[0-9a-f]{32}"),
}
"""The ids of items, and their form."""


@dataclass(frozen=True)
class JudgeVerdict:
    """The verdict on one judge, as it is written to a platform.

    Attributes
    ----------
    judge, verdict : str
        The judge and the code of its verdict, such as ``replace``.
    domain : str or None
        The criterion or other domain; None for a table of one.
    words : str
        The verdict as a sentence, and its numbers.
    facts : mapping
        Numbers and texts, without missing values.
    """

    judge: str
    verdict: str
    domain: str | None
    words: str
    facts: Mapping[str, str | int | float]

    @property
    def name(self) -> str:
        """The name of the annotation."""
        return f"verdict on {self.judge}" + (f", {self.domain}" if self.domain else "")

    @property
    def metadata(self) -> Record:
        """The facts, and the mark by which a reader skips the annotation."""
        return {"assay": VERDICT, **self.facts}


def verdicts_of(found: Result | str | Path, labels: Annotations | None = None) -> tuple[JudgeVerdict, ...]:
    """Return the verdicts of a report or test, one for each judge and domain.

    Parameters
    ----------
    found : Result or path
        A result of `assay.report`, `assay.alt_test` or `assay.compare_judges`, or the JSON file of one.
    labels : Annotations, optional
        The labels that are written; verdicts on other labels are refused.

    Raises
    ------
    DataError
        If the file contains no verdict, or verdicts on other labels.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=60, judges={"gpt": 0.2}, seed=1)
    >>> [(one.judge, one.verdict) for one in verdicts_of(assay.alt_test(labels, "gpt", epsilon=0.2))]
    [('gpt', 'replace')]
    """
    place = "the result" if isinstance(found, Result) else str(found)
    saved = found.to_dict() if isinstance(found, Result) else load_json(Path(found))
    tests = list(_tests(saved)) if isinstance(saved, dict) else []
    if not tests:
        raise DataError(f"{place} contains no verdict; it must be the .json file of a report or of an alt-test")
    if labels is not None:
        if (made_of := saved.get("fingerprint")) and made_of != labels.fingerprint:
            raise DataError(
                f"the verdicts in {place} are about other labels (fingerprint {made_of}) than those written "
                f"({labels.fingerprint}); read the labels as they were read for the report"
            )
        for test, _ in tests:
            if test["judge"] not in labels.judges:
                raise DataError(unknown("judge", test["judge"], labels.judges, "the labels that are written"))
    marks = (saved.get("card") or {}).get("table") or []
    return tuple(_verdict(test, domain, marks) for test, domain in tests)


def _tests(saved: Mapping[str, Any]) -> Iterator[tuple[Record, str | None]]:
    """The alternative annotator tests of a result, each with its domain."""
    kind = saved.get("kind")
    if kind == "AltTest":
        yield dict(saved), saved.get("domain")
    elif kind == "AltTestBy":
        yield from ((test, str(domain)) for domain, test in saved["tests"].items())
    elif kind == "JudgeComparison":
        yield from ((test, None) for test in saved["tests"].values())
    elif kind == "Report":
        for one in [saved["comparison"]] if saved.get("comparison") else saved["by"].values():
            yield from _tests(one)


def _verdict(test: Record, domain: str | None, marks: Sequence[Record]) -> JudgeVerdict:
    judge, tests = test["judge"], test["verdict_tests"]
    facts: Record = {"judge": judge, "criterion": domain, "verdict": test["verdict"], "reason": test["reason"]}
    for name in ("advantage_probability", "agreement_ratio"):
        facts |= {name: test[name]["estimate"], f"{name}_low": test[name]["low"], f"{name}_high": test[name]["high"]}
    facts |= {name: test[name] for name in ("winning_rate", "epsilon", "n_items")}
    facts |= {name: tests[name] for name in ("p_noninferior", "p_item_level", "p_ratio_above")}
    for row in marks:
        if row["judge"] == judge and row["criterion"] in (None, domain):
            facts[f"card_{row['dimension']}"] = _MARKS[row["mark"]]
    facts |= {"data": test["data"], "signature": test["signature"]}
    reason = f": {test['reason_text']}" if test["reason_text"] else ""
    rho, ratio = test["advantage_probability"], test["agreement_ratio"]
    numbers = [
        f"advantage probability ρ = {estimated(*_interval(rho))}", f"winning rate ω = {number(test['winning_rate'])}",
        f"agreement ratio R = {estimated(*_interval(ratio))}", f"margin ε = {test['epsilon']:g}",
        counted(test["n_items"], "item"),
    ]  # fmt: skip
    words = f"{test['verdict_text']}{reason}. {'; '.join(numbers)}. Brackets: 95% confidence intervals."
    if (level := test["settings"].get("confidence")) is not None:
        words = words.replace("95%", f"{100 * level:g}%")
    known = {key: value for key, value in facts.items() if value not in (None, "")}
    return JudgeVerdict(judge, test["verdict"], domain, words, known)


def _interval(found: Record) -> tuple[float, float | None, float | None]:
    value = found["estimate"]
    return (math.nan if value is None else value), found["low"], found["high"]


# -- one line per score ---------------------------------------------------------------------------------


def write_platform(
    platform: str, labels: Annotations, path: Path, verdicts: Sequence[JudgeVerdict] = (), trace: str | None = None
) -> list[str]:
    """Write labels and verdicts for a platform, and return everything that was not written.

    Parameters
    ----------
    platform : str
        ``langfuse``, ``phoenix``, ``mlflow`` or ``inspect-ai``.
    labels : Annotations
    path : path
        JSON Lines; for Inspect AI the JSON of a log.
    verdicts : sequence of JudgeVerdict
    trace : str, optional
        The trace that receives the verdicts; Inspect AI stores them in the results of the log.

    Raises
    ------
    DesignError
        If a verdict needs a trace, or an answer is repeated.
    DataError
        If the platform cannot store a label.
    """
    if verdicts and trace is None and platform != "inspect-ai":
        raise DesignError(
            f"{TITLES[platform]} stores a verdict as an annotation of a trace; name the trace with trace='...'",
            option="trace",
        )
    single = one_answer_each(labels, TITLES[platform])
    scores = list(_scores(single))
    if platform == "inspect-ai":
        path.write_text(json.dumps(_log(single, scores, verdicts), ensure_ascii=False, indent=1) + "\n", "utf-8")
        return []
    row, about = _ROWS[platform], _VERDICTS[platform]
    lines = [row(one) for one in scores] + [about(one, str(trace)) for one in verdicts]
    path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), "utf-8")
    return [*_unusual_ids(platform, single), *_not_written(single)]


@dataclass(frozen=True)
class _Score:
    """One label, in the terms that all platforms share."""

    item: str
    trace: str | None
    annotator: str
    kind: str
    criterion: str | None
    label: Label
    text: bool
    comment: str | None

    @property
    def name(self) -> str:
        return self.criterion or "label"

    @property
    def metadata(self) -> dict[str, str]:
        said = {"annotator": self.annotator, "kind": self.kind}
        return said if self.criterion is None else said | {"criterion": self.criterion}

    @property
    def key(self) -> str:
        """An id of 32 hexadecimal digits from the item, the annotator and the criterion."""
        parts = json.dumps([self.item, self.trace, self.annotator, self.kind, self.criterion])
        return hashlib.sha256(parts.encode()).hexdigest()[:32]


def _scores(labels: Annotations) -> Iterator[_Score]:
    comment = next((name for name in _COMMENTS if name in labels.labels.columns), None)
    traces = dict(labels.items.select("item", "trace_id").iter_rows()) if "trace_id" in labels.items.columns else {}
    kinds = dict(labels.annotators.select("annotator", "kind").iter_rows())
    cast: dict[tuple[str | None, Label], Label] = {}
    for row in labels.labels.iter_rows(named=True):
        criterion, given = row.get("criterion"), row["label"]
        scale = labels.scale_of(criterion)
        if (criterion, given) not in cast:  # criteria of numbers and of text share one text column
            cast[criterion, given] = scale.cast(pl.Series([given]))[0]
        label = cast[criterion, given]
        whole = isinstance(label, float) and label.is_integer()
        yield _Score(
            row["item"], traces.get(row["item"]), row["annotator"], kinds[row["annotator"]], criterion,
            int(label) if whole else label, isinstance(scale, Text),
            None if comment is None or row[comment] is None else str(row[comment]),
        )  # fmt: skip


def _filled(**fields: Any) -> Record:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def _langfuse(one: _Score) -> Record:
    form = "TEXT" if one.text else "CATEGORICAL" if isinstance(one.label, str) else "NUMERIC"
    if form == "TEXT" and not 1 <= len(str(one.label)) <= _LONGEST:
        raise DataError(
            f"item '{one.item}': a text score of Langfuse has 1 to {_LONGEST} characters, not {len(str(one.label))}"
        )
    return _filled(
        id=one.key, traceId=one.trace or one.item, observationId=one.item if one.trace else None, name=one.name,
        value=one.label, dataType=form, comment=one.comment, metadata=one.metadata,
    )  # fmt: skip


def _langfuse_verdict(one: JudgeVerdict, trace: str) -> Record:
    key = hashlib.sha256(json.dumps([trace, one.name]).encode()).hexdigest()[:32]
    return _filled(
        id=key, traceId=trace, name=one.name, value=one.verdict, dataType="CATEGORICAL", comment=one.words,
        metadata=one.metadata,
    )  # fmt: skip


def _phoenix_target(item: str) -> Record:
    return {"trace_id" if re.fullmatch("[0-9a-f]{32}", item) else "span_id": item}


def _phoenix(one: _Score) -> Record:
    value = {"label": one.label} if isinstance(one.label, str) else {"score": one.label}
    return {
        **_phoenix_target(one.item), "name": one.name, "annotator_kind": "LLM" if one.kind == "judge" else "HUMAN",
        "result": value | _filled(explanation=one.comment), "metadata": one.metadata, "identifier": one.annotator,
    }  # fmt: skip


def _phoenix_verdict(one: JudgeVerdict, trace: str) -> Record:
    return {
        **_phoenix_target(trace), "name": one.name, "annotator_kind": "CODE",
        "result": {"label": one.verdict, "explanation": one.words}, "metadata": one.metadata, "identifier": "assay",
    }  # fmt: skip


def _mlflow(one: _Score) -> Record:
    source = {"source_type": "LLM_JUDGE" if one.kind == "judge" else "HUMAN", "source_id": one.annotator}
    return _filled(
        trace_id=one.trace or one.item, span_id=one.item if one.trace else None, name=one.name, value=one.label,
        source=source, rationale=one.comment, metadata=one.metadata,
    )  # fmt: skip


def _mlflow_verdict(one: JudgeVerdict, trace: str) -> Record:
    return {
        "trace_id": trace, "name": one.name, "value": one.verdict,
        "source": {"source_type": "CODE", "source_id": "assay"}, "rationale": one.words,
        "metadata": {key: str(value) for key, value in one.metadata.items()},  # MLflow stores texts only
    }  # fmt: skip


_ROWS: Mapping[str, Callable[[_Score], Record]] = {"langfuse": _langfuse, "phoenix": _phoenix, "mlflow": _mlflow}
_VERDICTS: Mapping[str, Callable[[JudgeVerdict, str], Record]] = {
    "langfuse": _langfuse_verdict, "phoenix": _phoenix_verdict, "mlflow": _mlflow_verdict,
}  # fmt: skip


def _unusual_ids(platform: str, labels: Annotations) -> list[str]:
    what, form = _IDS[platform]
    strange = [item for item in labels.items["item"] if not re.fullmatch(form, item)]
    if not strange or "trace_id" in labels.items.columns:
        return []
    return [
        f"{counted(len(strange), 'item id')}, such as '{strange[0]}', "
        f"{'is' if len(strange) == 1 else 'are'} not {what} of {TITLES[platform]}; name the column of "
        "these ids with item='...'"
    ]


def _not_written(labels: Annotations) -> list[str]:
    """A note on the attributes of items, which the platform has itself."""
    rest = [name for name in labels.items.columns if name not in ("item", "trace_id")]
    return [f"{counted(len(rest), 'column')} about items not written: {', '.join(rest[:4])}"] if rest else []


# -- a log of Inspect AI -------------------------------------------------------------------------------


def _log(labels: Annotations, scores: Sequence[_Score], verdicts: Sequence[JudgeVerdict]) -> Record:
    """One log: a sample for each item, a score for each rater and criterion, the verdicts among the results."""
    samples: dict[str, Record] = {}
    for item in labels.items.iter_rows(named=True):
        about = _filled(**{key: json_safe(value) for key, value in item.items() if key != "item"})
        text = {key: str(about.pop(key, "")) for key in ("input", "target")}
        samples[item["item"]] = {"id": item["item"], "epoch": 1, **text, "metadata": about, "scores": {}}
    raters: dict[str, _Score] = {}
    values: dict[str, list[Label]] = {}
    several = len(labels.criteria) > 1
    for one in scores:
        name = f"{one.annotator}, {one.criterion}" if several else one.annotator
        score = _filled(value=one.label, explanation=one.comment, metadata=one.metadata)
        samples[one.item]["scores"][name] = score
        raters.setdefault(name, one)
        values.setdefault(name, []).append(one.label)
    systems = labels.items["system"].unique().to_list() if "system" in labels.items.columns else []
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "run_id": f"assay-{labels.fingerprint}", "task_id": f"assay-{labels.fingerprint}", "created": now,
            "task": "assay", "dataset": {"name": "assay", "samples": len(samples), "sample_ids": list(samples)},
            "model": str(systems[0]) if len(systems) == 1 and systems[0] else "none/none", "config": {},
        },
        "results": {
            "total_samples": len(samples), "completed_samples": len(samples),
            "scores": [_result(name, raters[name], values[name], verdicts) for name in raters],
        },
        "samples": list(samples.values()),
    }  # fmt: skip


def _result(name: str, rater: _Score, values: Sequence[Label], verdicts: Sequence[JudgeVerdict]) -> Record:
    """The summary of one rater: the mean of numbers, and the verdict on a judge."""
    numbers = [float(one) for one in values if not isinstance(one, str)]
    metrics = {"mean": math.fsum(numbers) / len(numbers)} if len(numbers) == len(values) else {}
    metadata: Record = dict(rater.metadata)
    for one in verdicts:
        if rater.kind == "judge" and one.judge == rater.annotator and one.domain in (None, rater.criterion):
            metadata |= {**one.metadata, "words": one.words}
            shown = ("advantage_probability", "winning_rate", "agreement_ratio")
            metrics |= {key: float(one.facts[key]) for key in shown if key in one.facts}
    return {
        "name": name, "scorer": name, "params": {}, "metadata": metadata,
        "metrics": {key: {"name": key, "value": value} for key, value in metrics.items()},
    }  # fmt: skip
