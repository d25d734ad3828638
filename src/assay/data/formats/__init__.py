"""The files people bring: each format has a reader that ends in `Rows`, and takes some of the `FormatSettings`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import polars as pl

from assay.data.annotations import Annotations, Reading
from assay.data.roles import ColumnView, views_of
from assay.data.scales import Scale
from assay.errors import DesignError, listing
from assay.estimation.options import Settings, option


@dataclass(frozen=True, eq=False)
class Rows:
    """What a format's reader found: a long table and what is known beside it.

    Attributes
    ----------
    labels : polars.DataFrame
        One row a label, under the file's own column names; ``kind`` where the format says who is a judge.
        A column ``_row`` says where each row came
        from (a line number, or words such as ``ann: q17``); it is used in messages only.
    items, annotators : polars.DataFrame or None
        One row an item (column ``item``) or an annotator (column ``annotator``).
    reading : Reading
        What was read, excluded and assumed so far.
    scales : mapping of criterion to Scale, or None
        What a platform's own configuration says a label may be (under ``None`` where there is only one
        question); it is offered, and what the user says goes before it. None where the file is of no platform.
    untyped : bool
        The file writes everything as text (CSV), so numbers are still to be read as such.
    orders : mapping of criterion to tuple of str
        Labels in the order that their columns declared, where the labels themselves no longer tell.
    """

    labels: pl.DataFrame
    items: pl.DataFrame | None = None
    annotators: pl.DataFrame | None = None
    reading: Reading = field(default_factory=Reading)
    scales: Mapping[str | None, Scale] | None = None
    untyped: bool = False
    orders: Mapping[str | None, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def views(self) -> dict[str, ColumnView]:
        """What the columns of ``labels`` hold: once, for one table is tried with several options."""
        return views_of(self.labels)


@dataclass(frozen=True, kw_only=True)
class FormatSettings(Settings):
    """What the readers of formats may be told; each takes some of these (`assay.data.formats.registry.FORMATS`)."""

    sheet: str | None = option(None, "Sheet of a spreadsheet.", details="Without it the only one that holds a table.")
    criteria: Sequence[str] | None = option(
        None,
        "Questions wanted of an export; all when not given.",
        details="In flat exports of Label Studio also which columns are answers; in MLflow's tables also metrics "
        "without a justification; in logs of Inspect AI, DeepEval and lm-evaluation-harness also what follows a rule.",
    )
    users: str | Path | Mapping[Any, Any] | None = option(
        None,
        "Label Studio, Argilla: annotators' names by the platform's ids.",
        details="A mapping, or a JSON file of one or of a list of users; no export of Argilla holds names.",
    )
    config: str | Path | None = option(
        None,
        "Label Studio, potato: the project's configuration (XML, YAML), which states the scales.",
        details="potato's also says where the items are, and is found by itself in the project's folder.",
    )
    shown: str | Sequence[str] | None = option(
        None,
        "Label Studio, potato: what stood on the screen, so that answers by position are turned back.",
        details="Label Studio: the two or three fields of the data, from left to right. potato: the items' field that "
        "lists the names of the two things a pair compares; without it A counts as the first.",
    )
    predictions: bool = option(True, "Label Studio: take predictions as labels of judges, by their model version.")
    keep_unknown: bool = option(False, "Label Studio: keep answers of deleted accounts, all under the name `unknown`.")
    unchosen_is_tie: bool = option(
        False, "Label Studio: a submitted annotation without an answer to the Pairwise control means no preference."
    )
    settings: str | Path | None = option(
        None,
        "Argilla: `settings.json`, which states the scales.",
        details="Found by itself in `.argilla` beside the records.",
    )
    rankings: Sequence[str] = option((), "Argilla: questions that are rankings (best first), where no settings say so.")
    suggestions: bool = option(True, "Argilla: take suggestions as labels of judges, by their agent.")
    dataset: str | None = option(
        None, "Prodigy: the dataset's name, to be taken off annotators' names (`food-ann` is `ann` of `food`)."
    )
    question: str | None = option(
        None, "Prodigy: the criterion of `choice` tasks, which do not name it; binary tasks name their label."
    )
    pair: Sequence[str] | None = option(
        None, "Prodigy: the option ids that are first and second of a comparison; any other option is a tie."
    )
    numbered: Sequence[str] = option(
        (),
        "Mechanical Turk: questions asked several times in one HIT.",
        details="`pref` makes `Answer.pref1` ... `Answer.pref5` the answers to `pref` of items `id#1` ... `id#5`.",
    )
    swap: str | None = option(
        None,
        "Mechanical Turk: the input that says whether the two sides were swapped: 1 as listed, 2 swapped.",
        details="`id` for `Input.id1` ... Answers -1, 0, 1 (first shown, neither, second shown) are turned back, so "
        "that -1 is the same system everywhere.",
    )
    rejected: bool = option(False, "Mechanical Turk: keep rejected assignments.")
    workers: Literal["codes", "ids"] = option(
        "codes", "Mechanical Turk: a code for each worker (ids are personal data), the same in every file, or the ids."
    )
    salt: str = option("", "Mechanical Turk: makes codes impossible to guess for who has a list of worker ids.")
    judge: str | Mapping[str, str] | None = option(
        None,
        "Inspect AI, promptfoo, DeepEval, lm-evaluation-harness, MLflow: who judged, where the file does not say.",
        details="Inspect AI: of all scorers, or by scorer; without it what the log says, else the scorer's name.",
    )
    with_model: bool = option(
        False, "Inspect AI: name items `id@model`, to read logs of several evaluated models into one table."
    )
    value: Literal["score", "pass"] = option(
        "score", "promptfoo, DeepEval: the label is the score, or `true` and `false`."
    )


def one_answer_each(labels: Annotations, place: str) -> Annotations:
    """The table without its repeat column; refused where an annotator answered more than once, as ``place`` cannot."""
    if labels.has_repeats:
        raise DesignError(
            f"{place} holds one answer of an annotator to a question, and the table has repeated ones; choose with "
            f"labels.where(repeat={labels.values_of('repeat')[0]})"
        )
    single = labels.resolve_repeats("first")
    key = [c for c in ("item", "annotator", "criterion") if c in single.labels.columns]
    if single.labels.select(key).is_duplicated().any():
        raise DesignError(
            f"{place} holds one answer of an annotator to a question, and the table has several under different "
            f"conditions ({listing(labels.conditions)}); choose with labels.where({labels.conditions[0]}=...)"
        )
    return single
