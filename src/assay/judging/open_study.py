"""A study in a notebook: query its judges, see what remains, and read the labels."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from pathlib import Path
from typing import Any

import polars as pl

from assay.data.annotations import Annotations
from assay.errors import AssayError, DesignError, JudgeError, StudyError, unknown
from assay.judging import words
from assay.judging.dry_run import ItemPart, chosen_judges
from assay.judging.functions import FUNCTION, Evaluator, FunctionOfRow
from assay.judging.plan import plan_study
from assay.judging.run import JudgeRun, Progress, Retry, judge_study
from assay.judging.services.http import Provider
from assay.reading import study_labels
from assay.study.definition import Study, load_study
from assay.study.store import work
from assay.study.store.connection import open_scratch, store_in_use
from assay.study.store.work import Changed


def open_study(folder: str | Path, *, store: str | None = None) -> OpenStudy:
    """Open a study folder in Python or a notebook: query its judges, see what remains, and read the labels.

    Answers are stored as they arrive. After Ctrl-C, a crash or a restart of the notebook, ``ask`` queries only what is
    missing. Each call reads study.yaml again, so an edit counts from the next call.

    Parameters
    ----------
    folder : path
        The folder with study.yaml, as `assay init` writes it; also the ``cache`` of `assay.ask`.
    store : str, optional
        A database instead of the one in the folder: a path or ``postgresql://…``.

    Returns
    -------
    OpenStudy
        With ``ask()``, ``status()`` and ``labels()``.

    Raises
    ------
    StudyError
        If the folder has no study.yaml, or if it is not valid.

    Examples
    --------
    >>> import tempfile, assay
    >>> folder = tempfile.mkdtemp()
    >>> rows = [{"item": "a", "text": "Good soup."}, {"item": "b", "text": "Bad."}]
    >>> _ = assay.ask(rows, {"length": len}, question="How long?", scale="1-5", cache=folder)
    >>> study = assay.open_study(folder)
    >>> print(study.status().summary())
    length: 2 labels.
    All labels collected; $0.0000 spent so far.
    >>> study.labels().n_items
    2
    """
    load_study(folder)
    return OpenStudy(Path(folder), store)


@dataclass(frozen=True)
class OpenStudy:
    """A study folder.

    Attributes
    ----------
    folder : Path
    store : str or None
        A database instead of the one in the folder.
    """

    folder: Path
    store: str | None = None

    def ask(
        self,
        functions: Mapping[str, Evaluator] | None = None,
        *,
        judges: Collection[str] | None = None,
        retry: Retry | None = None,
        part: ItemPart | None = None,
        changed: Changed | None = None,
        allow_code: bool = False,
        progress: bool = True,
    ) -> JudgeRun:
        """Query every judge for every missing label, as `assay judge` does.

        Parameters
        ----------
        functions : dict, optional
            Functions of a row, by the judge's name, which answer instead of its provider; as for `assay.ask`. One call
            answers all questions that show the same columns, and can return a dict of their labels.
        judges : list of str, optional
            Only these.
        retry : {"missing"}, optional
            Query again for unparseable responses only.
        part : {"development", "test", "all"}, optional
            The items to label after `assay study split`; by default the development set.
        changed : {"new-version", "same-question"}, optional
            After an edit of study.yaml because of which answers would not count: query again, or keep these answers.
        allow_code : bool
            Whether judges can run that are functions or commands named in the study folder.
        progress : bool
            Whether to print the progress to a terminal or a notebook.

        Returns
        -------
        JudgeRun
            The numbers of labels, the cost and the reasons for missing labels.

        Raises
        ------
        ChangedStudyError
            If answers would no longer count, and ``changed`` is not given; nothing was changed.
        DesignError
            If a function is given for an unknown judge.
        JudgeError
            If a judge cannot be called, if the run stopped early, or if no call gave a label. Earlier answers are kept.
        KeyboardInterrupt
            After Ctrl-C. The answers so far are stored.
        """
        study = load_study(self.folder)
        providers = _providers(study, functions or {}, judges)
        options: dict[str, Any] = {"store": self.store, "judges": judges, "retry": retry, "part": part}
        options |= {"changed": changed, "allow_code": allow_code, "providers": providers}
        options["progress"] = _print_progress if progress and _can_print() else None
        done = _run(study, options)
        if done.stopped == "interrupted":
            raise KeyboardInterrupt(f"the answers so far are in {self.folder}; the same call continues")
        if done.stopped or done.is_vain:
            raise JudgeError(done.summary())
        return done

    def status(self) -> StudyStatus:
        """Return the number of labels of each annotator and judge, and of those that judges still have to give.

        Nothing is queried or stored.
        """
        study = load_study(self.folder)
        with store_in_use(study, self.store, opening=open_scratch) as opened:
            _, change = plan_study(study, opened, "new-version")
            rows = [_judge_row(one.name, work.counts(opened, [one.name])) for one in study.models]
            spent = work.dollars_spent(opened)
        known = {row["annotator"] for row in rows}
        try:
            labels = self.labels()
        except StudyError:  # there are none yet
            return StudyStatus(tuple(rows), spent, change.words)
        number = dict(labels.labels.group_by("annotator").len().iter_rows())
        others = [(one, "human") for one in labels.humans] + [(one, "judge") for one in labels.judges]
        rows += [{"annotator": one, "kind": kind, "labels": number[one]} for one, kind in others if one not in known]
        return StudyStatus(tuple(rows), spent, change.words)

    def labels(
        self, *, excluded_people: bool = False, probes: bool = False, reasoning: bool = False
    ) -> Annotations:  # fmt: skip
        """Return all labels that annotators and judges have given so far, as the one table.

        Parameters
        ----------
        excluded_people : bool
            Keep the labels of excluded annotators, with True in the column ``excluded``.
        probes : bool
            Keep the judges' labels under probes, named in the column ``probe``.
        reasoning : bool
            Add the judges' reasoning, in the column ``reasoning``.

        Raises
        ------
        StudyError
            If the study has no labels yet.
        """
        study = load_study(self.folder)
        return study_labels(study, self.store, excluded_people=excluded_people, probes=probes, reasoning=reasoning)

    def _repr_html_(self) -> str:
        try:
            return f"<pre>{escape(f'{self.folder}{chr(10)}{self.status().summary()}')}</pre>"
        except AssayError as error:
            return f"<pre>{escape(f'{self.folder}: {error}')}</pre>"


@dataclass(frozen=True)
class StudyStatus:
    """The labels of a study so far.

    Attributes
    ----------
    rows : tuple of dict
        One per annotator or judge; the judges' have the numbers of the next run.
    spent : float
        Dollars that the judges' calls have cost, over those with a known price.
    lost : str
        The answers that would no longer count after an edit of study.yaml, in words; empty if all count.
    """

    rows: tuple[Mapping[str, Any], ...]
    spent: float
    lost: str = ""

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per annotator or judge: ``annotator``, ``kind``, ``labels``, ``missing``, ``failed``, ``remaining``.

        Responses without a label are ``missing``; ``remaining`` counts the labels that the next run requests, with
        ``failed`` calls. Those three are null for humans and ensembles.
        """
        schema = {"annotator": pl.String, "kind": pl.String, **dict.fromkeys(_COUNTS, pl.Int64)}
        return pl.DataFrame([{name: row.get(name) for name in schema} for row in self.rows], schema=schema)

    @property
    def remaining(self) -> int:
        """The number of labels that the judges still have to give."""
        return sum(row.get("remaining", 0) for row in self.rows)

    def summary(self) -> str:
        """Return one line per annotator or judge, and the numbers of all."""
        return words.status_words(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the status as a dictionary that can be written as JSON."""
        return {"rows": self.table.to_dicts(), "remaining": self.remaining, "spent": self.spent, "lost": self.lost}

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.summary())}</pre>"


_COUNTS = ("labels", "missing", "failed", "remaining")


def _judge_row(name: str, counts: Mapping[str, int]) -> dict[str, Any]:
    failed = counts.get("failed", 0)
    remaining = counts.get("open", 0) + counts.get("claimed", 0) + failed
    numbers = (counts.get("answered", 0), counts.get("missing", 0), failed, remaining)
    return {"annotator": name, "kind": "judge", **dict(zip(_COUNTS, numbers, strict=True))}


def _providers(
    study: Study, functions: Mapping[str, Evaluator], judges: Collection[str] | None
) -> dict[str, Provider]:  # fmt: skip
    """The functions as providers."""
    own = {one.name: one for one in study.models}
    for name in functions:
        if name not in own:
            entry = f"{{name: {name}, provider: python, model: '{FUNCTION}{name}'}}"
            said = f"{unknown('judge', name, list(own), 'study.yaml')}. For a function, add to its judges: {entry}"
            raise DesignError(said, option="functions", value=name)
    for one in chosen_judges(study, judges):
        if one.name not in functions and one.provider == "python" and (one.model or "").startswith(FUNCTION):
            raise JudgeError(f"judge '{one.name}' is a function; give it with ask({{'{one.name}': function}})")
    timeout = study.config.limits.timeout
    questions = [one.name for one in study.config.questions]
    return {name: FunctionOfRow(own[name], function, timeout, questions) for name, function in functions.items()}


OFTEN = 0.1
"""Seconds after which a wait for another thread looks for Ctrl-C."""


def _run(study: Study, options: Mapping[str, Any]) -> JudgeRun:
    """Run the judges: in this thread or, if a loop is running here as in a notebook, in another one."""
    stop = threading.Event()
    run: Callable[[], JudgeRun] = partial(judge_study, study, **options, stop=stop.is_set)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(run)
        try:
            # Ctrl-C does not end a wait without a limit on Windows, nor where another thread receives the signal.
            while not done.done():
                wait([done], timeout=OFTEN)
            return done.result()
        except KeyboardInterrupt:
            stop.set()  # calls in flight end, and their answers are stored
            done.result()
            raise


def _can_print() -> bool:
    """Whether standard error is a terminal or the output of a notebook's cell."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def _print_progress(progress: Progress) -> None:
    print(f"\r{progress}   ", end="" if progress.done < progress.total else "\n", file=sys.stderr, flush=True)
