"""Ask models and functions about the rows of a table: one call from Python, with the cache and limits of a study."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from assay.data.annotations import Annotations
from assay.data.columns import to_polars
from assay.data.scales import Scale
from assay.errors import ChangedStudyError, DesignError, StudyError, listing
from assay.judging.functions import FUNCTION, Evaluator
from assay.judging.open_study import open_study
from assay.judging.services.providers import PROVIDERS
from assay.study.items import canonical

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
    also after Ctrl-C or a crash. The folder is a study: `assay.open_study`, `assay study responses` and `assay report`
    work on it.

    Parameters
    ----------
    items : frame or list of dict
        One row per item: Polars, pandas or any frame that narwhals reads.
    judges : dict
        By the annotator's name: ``"provider:model"`` (``"openai:gpt-5-mini"``), a dict with any keys of a judge in
        study.yaml, or a function of a row. A function gives a label, a number, a dict with ``label``, ``score`` or
        ``value`` and perhaps ``reasoning``, or an object with an attribute ``value`` or ``score``; None is a missing
        label, which is not requested again. It can be ``async``.
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
        Whether to print the progress to a terminal and, on standard error, how many labels are missing and why.

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
    if not isinstance(question, str):
        raise DesignError(
            f"question is one text; got a {type(question).__name__}. For several questions, write them to a study.yaml "
            "and use assay.open_study(folder).ask({'name': function})",
            option="question",
        )
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
    try:
        study = open_study(folder)
        done = study.ask(functions, changed="new-version", progress=progress)
    except ChangedStudyError:
        raise
    except StudyError as error:
        raise StudyError(_said_of_options(str(error), list(judges))) from None
    if progress and (done.missing or done.failed):
        print(done.summary(), file=sys.stderr)  # also without a terminal: the table has only the labels
    return study.labels()


_PLACE = re.compile(r"^.*study\.yaml, line \d+, (questions|judges|limits)(?:\[(\d+)\])?\.?([\w.\[\]]*)")


def _said_of_options(said: str, judges: Sequence[str]) -> str:
    """An error about the study that ask has written, in words of its options."""

    def option(found: re.Match[str]) -> str:
        part, number, key = found.groups()
        if part == "judges" and number is not None and int(number) < len(judges):
            return f"judge '{judges[int(number)]}'" + (f", {key}" if key else "")
        return "question" if key == "text" else key or "question"

    return re.sub(r"^.*study\.yaml: ", "", _PLACE.sub(option, said))


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
        return {"provider": "python", "model": f"{FUNCTION}{word if word[:1].isalpha() else f'f_{word}'}"}
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
