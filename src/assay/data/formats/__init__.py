"""File formats: each has a reader that returns `Rows`, and uses some of the `FormatSettings`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import polars as pl

from assay.data.annotations import Annotations, Reading
from assay.data.scales import Scale
from assay.data.structure.cells import ColumnView, views_of
from assay.errors import DesignError, listing
from assay.estimation.options import Settings, option


class KeyColumns(NamedTuple):
    """Columns that were keys of objects, whose names do not say whether they are criteria, annotators or systems.

    ``who`` are the first parts of columns such as ``gpt-4o / clarity``, which can be annotators or systems.
    """

    objects: tuple[str, ...]
    columns: tuple[str, ...]
    who: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Rows:
    """The result of a format's reader: a long table and further tables and properties.

    Attributes
    ----------
    labels : polars.DataFrame
        One row per label, with the file's own column names, and ``kind`` if the format distinguishes judges.
        A column ``_row`` gives the place of each row in the source
        (a line number, or words such as ``ann: q17``); it is only used in messages.
    items, annotators : polars.DataFrame or None
        One row per item (column ``item``) or annotator (column ``annotator``).
    reading : Reading
        The rows read, exclusions and assumptions so far.
    scales : mapping of criterion to Scale, or None
        The scales in a platform's own configuration (under ``None`` if there is only one question); scales that the
        user specifies override them. None if the file does not come from a platform.
    untyped : bool
        Whether the file stores everything as text (CSV), so that numbers are still to be parsed.
    orders : mapping of criterion to tuple of str
        Labels in the order that their columns declared, if the labels themselves no longer show it.
    compared : tuple of str or None
        The columns that the votes of each annotator's column compare, as the file calls them.
    texts : tuple of str or None
        The columns of the two texts that each row, a vote, compares.
    keys : KeyColumns or None
        Columns that were keys of objects of labels, if it is to be asked what they are.
    """

    labels: pl.DataFrame
    items: pl.DataFrame | None = None
    annotators: pl.DataFrame | None = None
    reading: Reading = field(default_factory=Reading)
    scales: Mapping[str | None, Scale] | None = None
    untyped: bool = False
    orders: Mapping[str | None, tuple[str, ...]] = field(default_factory=dict)
    compared: tuple[str, str] | None = None
    texts: tuple[str, str] | None = None
    keys: KeyColumns | None = None

    @cached_property
    def views(self) -> dict[str, ColumnView]:
        """Views of the columns of ``labels``; cached, because one table is read with several options."""
        return views_of(self.labels)


@dataclass(frozen=True, kw_only=True)
class FormatSettings(Settings):
    """Options of the readers of formats; each uses some of these (`assay.data.formats.registry.FORMATS`)."""

    sheet: str | Sequence[str] | None = option(
        None, "Sheet of a spreadsheet, or several.",
        details="Without it the only one that holds a table. Several sheets are joined as files are: each has the "
        "labels of one annotator, or of one criterion, which the sheet names.",
    )  # fmt: skip
    criteria: Sequence[str] | None = option(
        None,
        "Criteria of an export to read; by default all.",
        details="Also the columns that are answers in flat exports of Label Studio, metrics without a justification in "
        "MLflow's tables, and rule-based scores in logs of Inspect AI, DeepEval and lm-evaluation-harness.",
    )
    users: str | Path | Mapping[Any, Any] | None = option(
        None,
        "Label Studio, Argilla: annotators' names by the platform's ids.",
        details="A mapping, or a JSON file with a mapping or a list of users; exports of Argilla contain no names.",
    )
    config: str | Path | None = option(
        None,
        "Label Studio, potato: the project's configuration (XML, YAML), which defines the scales.",
        details="potato's also gives the place of the items, and is found automatically in the project's folder.",
    )
    shown: str | Sequence[str] | None = option(
        None,
        "Label Studio, potato: the fields shown on the screen, so that answers by position become options.",
        details="Label Studio: the two or three fields of the data, from left to right. potato: the items' field that "
        "lists the names of the two options in a pair; by default A is the first.",
    )
    predictions: bool = option(True, "Label Studio: read predictions as judge labels, by their model version.")
    keep_unknown: bool = option(False, "Label Studio: keep answers of deleted accounts, all with the name `unknown`.")
    unchosen_is_tie: bool = option(
        False, "Label Studio: a submitted annotation without an answer to the Pairwise control means no preference."
    )
    settings: str | Path | None = option(
        None,
        "Argilla: `settings.json`, which defines the scales.",
        details="Found automatically in `.argilla` in the folder of the records.",
    )
    rankings: Sequence[str] = option(
        (), "Argilla: questions that are rankings (best first), if no settings define them."
    )
    suggestions: bool = option(True, "Argilla: read suggestions as judge labels, by their agent.")
    dataset: str | None = option(
        None, "Prodigy: the dataset's name, to remove from annotators' names (`food-ann` is `ann` of `food`)."
    )
    question: str | None = option(
        None,
        "Of a study: the question whose labels are read (by default all). Prodigy: the criterion of `choice` tasks.",
        details="`choice` tasks do not name their criterion; binary tasks name their label.",
    )
    pair: Sequence[str] | None = option(
        None, "Prodigy: the option ids for first and second in a comparison; any other option is a tie."
    )
    numbered: Sequence[str] = option(
        (),
        "Mechanical Turk: questions that occur several times in one HIT.",
        details="With `pref`, `Answer.pref1` ... `Answer.pref5` are the answers to `pref` on items `id#1` ... `id#5`.",
    )
    swap: str | None = option(
        None,
        "Mechanical Turk: the input that states whether the two sides were swapped: 1 as listed, 2 swapped.",
        details="For example `id` for `Input.id1` ... Answers -1, 0, 1 (first shown, neither, second shown) are "
        "swapped back, so that -1 is the same system everywhere.",
    )
    rejected: bool = option(False, "Mechanical Turk: keep rejected assignments.")
    workers: Literal["codes", "ids"] = option(
        "codes", "Mechanical Turk: a code for each worker (ids are personal data), the same in every file, or the ids."
    )
    salt: str = option("", "Mechanical Turk: prevents that anyone with a list of worker ids can guess the codes.")
    judge: str | Mapping[str, str] | None = option(
        None,
        "Inspect AI, promptfoo, DeepEval, lm-evaluation-harness, MLflow: the judge's name, if it is not in the file.",
        details="Inspect AI: for all scorers, or by scorer; by default the name in the log, or the scorer's name.",
    )
    with_model: bool = option(
        False, "Inspect AI: name items `id@model`, to read logs of several evaluated models into one table."
    )
    value: Literal["score", "pass"] = option(
        "score", "promptfoo, DeepEval: the label is the score, or `true` and `false`."
    )


def one_answer_each(labels: Annotations, place: str) -> Annotations:
    """Return the table without its repeat column; refuse repeated labels, which ``place`` cannot store."""
    if labels.has_repeats:
        raise DesignError(
            f"{place} stores one answer per annotator and question, but the table contains repeated labels; choose "
            f"with labels.where(repeat={labels.values_of('repeat')[0]})"
        )
    single = labels.resolve_repeats("first")
    key = [c for c in ("item", "annotator", "criterion") if c in single.labels.columns]
    if single.labels.select(key).is_duplicated().any():
        raise DesignError(
            f"{place} stores one answer per annotator and question, but the table contains several for different "
            f"conditions ({listing(labels.conditions)}); choose with labels.where({labels.conditions[0]}=...)"
        )
    return single
