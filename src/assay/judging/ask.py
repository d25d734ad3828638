"""Ask models and functions about the rows of a table: one call from Python, with the cache and limits of a study."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from assay.data.annotations import Annotations
from assay.data.columns import to_polars
from assay.data.scales import Scale
from assay.errors import DesignError, JudgeError, listing
from assay.judging.http import CallFailed, Provider, Request
from assay.judging.providers import PROVIDERS
from assay.judging.records import Program
from assay.judging.run import JudgeRun, Progress, judge_study
from assay.reading import study_labels
from assay.study.definition import Study, load_study
from assay.study.items import canonical

Evaluator = Callable[[dict[str, Any]], Any]
"""A function of a row, also ``async``: it gives a label, a dict, or an object with ``value`` or ``score``."""

_ITEMS = "items.parquet"


def ask(
    items: Any,
    judges: Mapping[str, str | Evaluator | Mapping[str, Any]],
    *,
    question: str,
    scale: str | Sequence[str] | Scale,
    cache: str | Path,
    item: str = "item",
    show: Sequence[str] | None = None,
    guidelines: str = "",
    repeats: int = 1,
    max_cost: float | None = None,
    concurrency: int = 10,
    progress: bool = True,
) -> Annotations:
    """What labels do these models and functions give to the rows of a table?

    Each answer is stored in ``cache`` when it arrives. A second call with the same table asks only what is missing,
    also after Ctrl-C or a crash. The folder is a study: `assay study responses` and `assay report` work on it.

    Parameters
    ----------
    items : frame or list of dict
        One row per item: Polars, pandas or any frame that narwhals reads.
    judges : dict
        By the annotator's name: ``"provider:model"`` (``"openai:gpt-5-mini"``), a dict with any keys of a judge in
        study.yaml, or a function of a row. A function gives a label, a number, a dict with ``label``, ``score`` or
        ``value`` and perhaps ``reasoning``, or an object with an attribute ``value`` or ``score``; None is a missing
        label. It can be ``async``.
    question : str
        The question about each item.
    scale : str, list of str or Scale
        The labels, as in study.yaml: ``"1-5"``, ``"nominal:yes,no"``, or a list of categories.
    cache : path
        The folder for the answers. It is created if necessary.
    item : str
        Column with the id of each item. Without such a column, the id is a digest of the row.
    show : list of str, optional
        Columns that judges see; all but the id by default.
    guidelines : str
        Instructions after the question.
    repeats : int
        Number of calls per item and judge.
    max_cost : float, optional
        Dollars that all calls of this cache can cost.
    concurrency : int
        Number of calls at a time.
    progress : bool
        Whether to print the progress to a terminal.

    Returns
    -------
    Annotations
        One row per label, with the column ``repeat`` if there are repeats.

    Raises
    ------
    DesignError
        If no judge is given, or one is neither a name, a dict nor a function.
    JudgeError
        If a judge cannot be called, or no call gave a label.
    StudyError
        If the scale, a column or another setting does not fit.

    Notes
    -----
    The answers of a function count until its name in ``judges`` or its own name changes. After a change of its code,
    use another cache.

    Examples
    --------
    >>> import tempfile, assay
    >>> rows = [{"item": "a", "text": "Good soup."}, {"item": "b", "text": "Bad."}]
    >>> folder = tempfile.mkdtemp()
    >>> length = lambda row: 5 if len(row["text"]) > 6 else 1
    >>> labels = assay.ask(rows, {"length": length}, question="How long?", scale="1-5", cache=folder)
    >>> sorted(labels.labels["label"].to_list())
    [1, 5]
    """
    if not judges:
        raise DesignError("ask needs at least one judge: {'gpt': 'openai:gpt-5-mini'}")
    folder = Path(cache)
    functions = {name: judge for name, judge in judges.items() if callable(judge)}
    content: dict[str, Any] = {
        "items": {"file": _ITEMS, "id": "item"},
        "questions": [{"name": "label", "text": question, "scale": _spec(scale)}],
        "judges": [{"name": name, "repeats": repeats} | _judge_part(name, judge) for name, judge in judges.items()],
        "limits": {"concurrency": concurrency} | ({} if max_cost is None else {"max_cost": max_cost}),
    }
    frame = _with_ids(items, item)
    shown = [column for column in frame.columns if column != "item"] if show is None else list(show)
    content["questions"][0] |= {"show": shown} | ({"guidelines": guidelines} if guidelines else {})
    folder.mkdir(parents=True, exist_ok=True)
    frame.write_parquet(folder / _ITEMS)
    (folder / "study.yaml").write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8")
    study = load_study(folder)
    own = {one.name: one for one in study.models}
    providers: dict[str, Provider] = {
        name: FunctionOfRow(own[name], function, study.config.limits.timeout) for name, function in functions.items()
    }
    done = _run(study, providers, _print_progress if progress and sys.stderr.isatty() else None)
    if done.stopped == "interrupted":
        raise KeyboardInterrupt(f"the answers so far are in {folder}; the same call continues")
    if done.stopped or done.is_vain:
        raise JudgeError(done.summary())
    return study_labels(study)


def _spec(scale: str | Sequence[str] | Scale) -> Any:
    return scale.spec if isinstance(scale, Scale) else scale if isinstance(scale, str) else list(scale)


def _judge_part(name: str, judge: Any) -> dict[str, Any]:
    """The keys of a judge in study.yaml."""
    if isinstance(judge, Mapping):
        return dict(judge)
    if isinstance(judge, str):
        provider, _, model = judge.partition(":")
        known = model and provider in PROVIDERS.names
        return {"provider": provider, "model": model} if known else {"provider": "openai", "model": judge}
    if callable(judge):
        word = re.sub(r"\W", "_", getattr(judge, "__name__", type(judge).__name__))
        return {"provider": "python", "model": f"ask:{word if word[:1].isalpha() else f'f_{word}'}"}
    raise DesignError(
        f"judge '{name}' must be 'provider:model', a dict of its settings, or a function of a row; got {judge!r}"
    )


def _with_ids(items: Any, item: str) -> pl.DataFrame:
    """The table with the ids of its items in the column ``item``."""
    frame = pl.DataFrame(items) if isinstance(items, Sequence) else to_polars(items)
    if frame.is_empty():
        raise DesignError("ask needs at least one row")
    if item in frame.columns:
        return frame.rename({item: "item"}) if item != "item" else frame
    if item != "item":
        raise DesignError(f"the table has no column '{item}'; its columns are {listing(frame.columns)}")
    ids = [hashlib.sha256(canonical(row).encode()).hexdigest()[:12] for row in frame.iter_rows(named=True)]
    return frame.with_columns(item=pl.Series(ids))


def _run(study: Study, providers: dict[str, Provider], progress: Callable[[Progress], None] | None) -> JudgeRun:
    """Run the judges: in this thread or, if a loop is running here as in a notebook, in another one."""
    stop = threading.Event()
    run = partial(judge_study, study, providers=providers, progress=progress, changed="new-version", stop=stop.is_set)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(run)
        try:
            return done.result()
        except KeyboardInterrupt:
            stop.set()  # calls in flight end, and their answers are stored
            done.result()
            raise


def _print_progress(progress: Progress) -> None:
    print(f"\r{progress}   ", end="" if progress.done < progress.total else "\n", file=sys.stderr, flush=True)


class FunctionOfRow(Program):
    """A function of the user's as a judge: given a row with the displayed columns, it gives a label."""

    def __init__(self, judge: Any, function: Evaluator, timeout: float) -> None:
        super().__init__(judge, timeout)
        self._function = function

    async def run(self, request: Request) -> Any:
        """Call it: in a thread, unless it is ``async``."""
        row = {"item": request.about.get("item"), **request.columns}
        try:
            is_async = inspect.iscoroutinefunction(self._function) or inspect.iscoroutinefunction(
                getattr(self._function, "__call__", None)  # noqa: B004 - an object with an async __call__
            )
            found = self._function(row) if is_async else await asyncio.to_thread(self._function, row)
            return _label_of(await found if inspect.isawaitable(found) else found)
        except Exception as error:  # a function of the user's can raise anything
            raise CallFailed("rejected", f"{self.judge.name} raised {type(error).__name__}: {error}") from None


_LABELS = ("label", "score", "value")
_REASONS = ("reasoning", "reason", "explanation", "rationale")


def _label_of(found: Any) -> Any:
    """The label in an evaluator's result, as a label or a dict of ``label`` and ``reasoning``."""
    if found is None or isinstance(found, str | int | float | list):
        return found
    if isinstance(found, Mapping):
        inside: Callable[[str], Any] = found.get
    else:
        inside = partial(_attribute, found)
    label = next((value for name in _LABELS if (value := inside(name)) is not None), None)
    reason = next((str(value) for name in _REASONS if (value := inside(name))), None)
    if label is None and not isinstance(found, Mapping):
        return found  # such as a number of numpy's
    label = label if label is None or isinstance(label, str | int | float | list) else _label_of(label)
    return {"label": label, "reasoning": reason} if reason else {"label": label}


def _attribute(found: Any, name: str) -> Any:
    value = getattr(found, name, None)
    return None if callable(value) else value
