"""`read`: whatever holds annotations -> the one table."""

from __future__ import annotations

import inspect
import os
import typing
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from assay.data.annotations import Annotations, Reading
from assay.data.columns import to_polars
from assay.data.formats import Rows, tables
from assay.data.formats.registry import Layout, annotations_of, existing, joined, rows_of
from assay.data.formats.tables import arena_rows, is_arena
from assay.data.names import Spelling
from assay.data.scales import Label, Scale, parse_scale
from assay.data.values import Decimal
from assay.errors import ChangedStudyError, DesignError, StudyError, unknown
from assay.estimation.options import one_of

if TYPE_CHECKING:
    from assay.study.definition import Study
    from assay.study.store.items import SystemOutput


def read(
    source: Any,
    *,
    item: str | Sequence[str] = "item",
    annotator: str = "annotator",
    label: str | Sequence[str] = "label",
    criterion: str | None = None,
    repeat: str | None = None,
    kind: str | None = None,
    judges: Iterable[str] | None = None,
    humans: Iterable[str] | None = None,
    spelling: Spelling = "refuse",
    scale: Scale | str | Mapping[str, Scale | str] | None = None,
    missing: Iterable[Label] | None = None,
    label_spelling: Spelling = "refuse",
    decimal: Decimal | None = None,
    layout: Layout = "long",
    columns: Sequence[str] | None = None,
    conditions: Iterable[str] = (),
    split_item: str | None = None,
    items: Any = None,
    annotators: Any = None,
    format: str = "auto",  # noqa: A002 - what the user calls it
    **options: Any,
) -> Annotations:
    """Read annotations from a file, a folder or a frame.

    Parameters
    ----------
    source : path, list of paths, or frame
        CSV, TSV, JSON, JSON Lines or Parquet; a folder of Parquet files; a folder with
        ``human_annotations.json`` (and ``llm_annotations.json``, ``items.jsonl``); an export of an annotation
        or evaluation platform (see ``format``); a study folder; several of these files, which become one
        table; or a pandas, Polars or Arrow frame, which is never changed.
    item, annotator, label, criterion, repeat, kind : str
        Names of the columns, see `Annotations.from_frame`. In a platform's export ``item`` is the field that
        holds your item id; without it the platform's own id counts. Several item columns name an item
        together (lesson and segment); several label columns are one criterion each.
    judges, humans : list of str
        The annotators that are models, and those that are people. Whoever is in neither counts as a person; a name that
        looks like a model's (``gpt-4o``, ``llama``) is refused until one of them says what it is.
    spelling : {"refuse", "merge", "apart"}
        What becomes of names that differ only in case or inner spaces (``Ann``, ``ann``): refused until you say that
        they are one (``merge``) or different (``apart``). Spaces around names are taken off, which is said.
    scale : Scale or str, or a mapping of criterion to either
        What a label may be: ``assay.Ordinal(1, 5)`` or ``"1-5"``, see `assay.data.scales.parse_scale`.
        Without it the scale is inferred from the labels, and ``labels.reading`` says so. A declared order counts:
        ordered Categoricals, Polars Enums.
    missing : list of str or number
        Labels that are no answer, such as ``["N/A", -99]``, see `Annotations.from_frame`.
    label_spelling : {"refuse", "merge", "apart"}
        What becomes of categories that differ only in case or inner spaces: ``Agree``, ``agree``.
    decimal : {"point", "comma"}
        What stands before the decimals of numbers in text, where labels such as ``1,234`` do not tell.
    layout : {"long", "wide"}
        One row a label, or one row an item with a column for each annotator.
    columns : list of str
        The annotators' columns of a wide table; all but the item's when not given.
    conditions : list of str
        Columns that were varied on purpose (temperature, prompt), see `Annotations`.
    split_item : str
        Turns parts of the item id into columns: ``"__"``, or a regular expression with named groups.
    items, annotators : path or frame
        Attributes: one row an item (column ``item``), one row an annotator (column ``annotator``).
    format : str
        ``auto``, or the name of a format: ``table``, ``alt-test``, ``hugging-face``, ``label-studio``,
        ``argilla``, ``prodigy``, ``potato``, ``mturk``, ``inspect-ai``, ``promptfoo``, ``mlflow``, ``arena``. Exports
        are recognised by marks that no plain table has; name the format where one is not.
    **options
        What a format's reader may be told besides (``users``, ``config``, ``criteria`` …), see the page on
        importing, or ``assay.data.formats.registry.FORMATS[...].options``.

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
    item, annotator, label, criterion, repeat, kind = (
        _text(name) for name in (item, annotator, label, criterion, repeat, kind)
    )
    own_name = {item: "item"} if isinstance(item, str) and item != "item" and split_item is None else {}
    one_of("layout", layout, typing.get_args(Layout))
    paths = _paths(source)
    is_study = len(paths) == 1 and (paths[0] / "study.yaml").is_file()
    if options and (is_study or not paths):
        known = inspect.signature(read).parameters
        raise DesignError(unknown("option", next(iter(options)), known, "the options of read"))
    if is_study:
        from assay.study.definition import load_study

        return study_labels(load_study(paths[0]))
    own_item = None if item == "item" or not isinstance(item, str) else item
    parts = [rows_of(path, own_item, format, options) for path in paths]
    made = annotations_of(
        joined(parts) if parts else _rows_of_frame(source, [label] if isinstance(label, str) else label),
        item=item,
        annotator=annotator,
        label=label,
        criterion=criterion,
        scale=_scales(scale),
        missing=missing,
        label_spelling=label_spelling,
        decimal=decimal,
        layout=layout,
        columns=None if columns is None else [_text(name) for name in columns],
        judges=judges,
        humans=humans,
        spelling=spelling,
        items=None if items is None else _beside(items),
        annotators=None if annotators is None else _beside(annotators),
        repeat=repeat,
        kind=kind,
        conditions=[_text(name) for name in ([conditions] if isinstance(conditions, str) else conditions)],
        split_item=split_item,
    )
    return made.also_called(own_name)


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
    rows = [(one.item, one.system, one.number, one.text) for one in outputs]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "repeat", "label"], orient="row")
    return Annotations.from_frame(
        frame, scale=parse_scale("text"), spelling="apart", judges=frame["annotator"].unique().to_list(), items=items,
        reading=reading,
    )  # fmt: skip


def _paths(source: Any) -> list[Path]:
    """The files of a source; none where it is a frame."""
    if isinstance(source, list | tuple) and source and all(isinstance(one, str | os.PathLike) for one in source):
        return [existing(one) for one in source]
    return [existing(source)] if isinstance(source, str | os.PathLike) else []


def _text(name: Any) -> Any:
    """The name of a column as text; pandas names columns by numbers too."""
    if isinstance(name, list | tuple):
        return [_text(one) for one in name]
    return str(name) if isinstance(name, int) else name


def _rows_of_frame(source: Any, labels: Sequence[str]) -> Rows:
    frame = to_polars(source, strict=labels, orders=True)
    if is_arena(frame.columns):
        return arena_rows(frame)
    return Rows(frame, reading=Reading(rows=frame.height))


def _scales(scale: Scale | str | Mapping[str, Scale | str] | None) -> Scale | dict[str, Scale] | None:
    if scale is None or isinstance(scale, Scale):
        return scale
    if isinstance(scale, str):
        return parse_scale(scale)
    return {name: parse_scale(one) if isinstance(one, str) else one for name, one in scale.items()}


def _beside(frame: Any) -> pl.DataFrame:
    if not isinstance(frame, str | os.PathLike):
        return to_polars(frame)
    return tables.read_table(existing(frame)).labels.drop("_row", strict=False)
