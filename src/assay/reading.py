"""`read`: whatever holds annotations -> the one table."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from assay.data.annotations import Annotations, Reading
from assay.data.columns import to_polars
from assay.data.formats import Rows
from assay.data.formats.registry import ReadSettings, annotations_of, existing_path, format_options, join_files, rows_of
from assay.data.formats.tables import arena_rows, is_arena, read_table
from assay.data.scales import parse_scale
from assay.errors import ChangedStudyError, DesignError, StudyError
from assay.estimation.options import question

if TYPE_CHECKING:
    from assay.study.definition import Study
    from assay.study.store.items import SystemOutput


@question(ReadSettings)
def read(source: Any, settings: ReadSettings) -> Annotations:
    """Read annotations from a file, a folder or a frame.

    Parameters
    ----------
    source : path, list of paths, or frame
        CSV, TSV, JSON, JSON Lines or Parquet; a folder of Parquet files; a folder with
        ``human_annotations.json`` (and ``llm_annotations.json``, ``items.jsonl``); an export of an annotation
        or evaluation platform (see ``format``); a study folder; several of these files, which become one
        table; or a pandas, Polars or Arrow frame, which is never changed.

    Raises
    ------
    DataError
        With the file, the rows and what would mend them.

    Examples
    --------
    >>> import assay, polars as pl
    >>> frame = pl.DataFrame({"id": ["a", "b"], "ann": [4, 2], "bob": [5, 2], "gpt": [4, 3]})
    >>> assay.read(frame, item="id", layout="wide", judges=["gpt"], scale="1-5")
    Annotations(6 labels, 2 items, 2 humans, 1 judges, ordinal:1-5)
    """
    paths = _paths(source)
    is_study = len(paths) == 1 and (paths[0] / "study.yaml").is_file()
    if is_study or not paths:
        for name in format_options(settings):
            held = "a study" if is_study else "a frame"
            raise DesignError(f"option '{name}' is of exports of a platform, and {held} is none", option=name)
    if is_study:
        from assay.study.definition import load_study

        return study_labels(load_study(paths[0]))
    beside = {name: _beside(getattr(settings, name)) for name in ("items", "annotators")}
    settings = replace(settings, **beside)
    rows = join_files([rows_of(path, settings) for path in paths]) if paths else _rows_of_frame(source, settings)
    return annotations_of(rows, settings)


def study_labels(study: Study, store: str | None = None, *, excluded_people: bool = False) -> Annotations:
    """Everything that people and judges have answered so far in a study, as the one table.

    Parameters
    ----------
    study : Study
        See `assay.study.definition.load_study`.
    store : str, optional
        A database in place of the one in the folder: a path or ``postgresql://…``.
    excluded_people : bool
        Keep the answers of people who are excluded, with True in the column ``excluded``.

    Nobody's answers are taken out of count by looking: where the folder has changed so that some would, the table is
    that of the study before the change, and ``reading`` says so.

    Raises
    ------
    StudyError
        While there is no answer with a label.
    """
    from assay.study.store.connection import open_to_read

    with open_to_read(study, store) as opened:
        from assay.study.store.intake import sync_study
        from assay.study.store.table import stored_annotations

        notes = []
        try:
            sync_study(opened, study)
        except ChangedStudyError as error:
            notes.append(
                f"the study's folder has changed, and this is the study before the change: {error.what} (assay judge, "
                "assay serve and assay invite ask what the change means)"
            )
        return stored_annotations(opened, notes, study.folder, excluded_people=excluded_people)


def study_outputs(study: Study, store: str | None = None) -> Annotations:
    """Everything that the systems of a study have written: an annotator is a system, a repeat one of its outputs.

    Raises
    ------
    StudyError
        While there is no output, and for a study without systems.
    """
    if not study.systems:
        raise StudyError(
            f"{study.folder}/study.yaml names no systems, whose outputs are compared; read texts with scale='text'"
        )
    from assay.study.store.connection import open_to_read
    from assay.study.store.items import system_outputs
    from assay.study.store.table import sources_frame

    with open_to_read(study, store) as opened:
        with opened.reading() as db:
            found = system_outputs(db)
        if not found.outputs:
            raise StudyError(f"{opened.where} holds no output yet; ask the systems with: assay judge {study.folder}")
        gone = {
            "the output is not there yet": found.lacking,
            "the reply is empty or cut off": found.unreadable,
        }
        reading = Reading(source=opened.where, rows=len(found.outputs) + sum(gone.values()))
        for why, number in gone.items():
            reading = reading.without(why, number)
        with opened.reading() as db:
            items = sources_frame(db)
        return outputs_of(found.outputs, reading, items)


def outputs_of(outputs: Iterable[SystemOutput], reading: Reading | None = None, items: Any = None) -> Annotations:
    """Outputs of systems as the one table, on the scale text."""
    rows = [(one.item, one.system, one.number, one.text, one.temperature) for one in outputs]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "repeat", "label", "temperature"], orient="row")
    frame = frame if frame["temperature"].count() else frame.drop("temperature")
    return Annotations.from_frame(
        frame, scale=parse_scale("text"), spelling="apart", judges=frame["annotator"].unique().to_list(), items=items,
        reading=reading, conditions=[c for c in ("temperature",) if c in frame.columns],
    )  # fmt: skip


def _paths(source: Any) -> list[Path]:
    """The files of a source; none where it is a frame."""
    if isinstance(source, list | tuple) and source and all(isinstance(one, str | os.PathLike) for one in source):
        return [existing_path(one) for one in source]
    return [existing_path(source)] if isinstance(source, str | os.PathLike) else []


def _rows_of_frame(source: Any, settings: ReadSettings) -> Rows:
    labels = [settings.label] if isinstance(settings.label, str | int) else settings.label
    frame = to_polars(source, strict=list(map(str, labels)), orders=True)
    if is_arena(frame.columns):
        return arena_rows(frame)
    return Rows(frame, reading=Reading(rows=frame.height))


def _beside(frame: Any) -> Any:
    """A table of items or annotators, from a frame or a file."""
    if frame is None or not isinstance(frame, str | os.PathLike):
        return None if frame is None else to_polars(frame)
    return read_table(existing_path(frame)).labels.drop("_row", strict=False)
