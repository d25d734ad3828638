"""`read`: files, folders, frames and studies -> the one table."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, Reading
from assay.data.columns import column_of, to_polars
from assay.data.formats import Rows
from assay.data.formats.nested import unfold
from assay.data.formats.platforms.intake import REJECTED
from assay.data.formats.platforms.scores import scores_of_frame
from assay.data.formats.registry import (
    ReadSettings,
    annotations_of,
    existing_path,
    format_of,
    format_options,
    given_options,
    join_tables,
    platform_of,
    rows_of,
    sheets_of,
)
from assay.data.formats.sheets import SPREADSHEETS
from assay.data.formats.tables import (
    arena_rows,
    is_arena,
    parse_numeric_columns,
    read_battles,
    read_table,
    votes_by_place,
    with_names_of_battles,
    without_marks,
)
from assay.data.names import IN_MEMORY, KindUnknownError, strip_spaces
from assay.data.notations import with_choices
from assay.data.scales import Preference, parse_scale
from assay.data.structure.cells import total_of_counts
from assay.data.structure.readings import UnclearTableError, read_call, unclear
from assay.data.structure.role_names import called_people, is_crossed, plain_name
from assay.errors import AssayError, ChangedStudyError, DataError, DesignError, StudyError, counted, listing, unknown
from assay.estimation.options import question
from assay.reporting.page import READING_MARK, atomic_write, writable

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
        or evaluation platform (see ``format``); a study folder; several of these files, which are joined into one
        table; or a pandas, Polars or Arrow frame, which is never changed.

    Raises
    ------
    DataError
        If the source cannot be read; the message names the file, the rows and the remedy.

    Examples
    --------
    >>> import assay, polars as pl
    >>> frame = pl.DataFrame({"id": ["a", "b"], "ann": [4, 2], "bob": [5, 2], "gpt": [4, 3]})
    >>> assay.read(frame, item="id", layout="wide", judges=["gpt"], scale="1-5")
    Annotations(6 labels, 2 items, 2 humans, 1 judge, ordinal:1-5)
    """
    if (apart := read_apart(source)) is not None:
        return _join_all(apart, settings)
    settings, paths, source = read_settings(source, settings)
    rows, settings = rows_of_source(source, paths, settings)
    if rows is None:
        from assay.study.definition import load_study

        study = load_study(paths[0])
        if settings.what == "outputs":
            return study_outputs(study)
        made = study_spans if settings.what == "spans" else study_labels
        return made(study, only=_asked(study, settings))
    return annotations_of(rows, settings)


def read_where(source: Any, options: Mapping[str, Any]) -> Annotations:
    """Read labels with the options of `read` and ``where``, which keeps rows: policies and assertions have it.

    Parameters
    ----------
    source
        As of `read`.
    options : mapping
        ``where`` is ``COLUMN=VALUE``, a list of these, or a mapping of columns to values.
    """
    options = dict(options)
    where = options.pop("where", ())
    if isinstance(where, Mapping):
        several = ((name, value if isinstance(value, list | tuple) else [value]) for name, value in where.items())
        where = [f"{name}={','.join(map(str, values))}" for name, values in several]
    conditions = [where] if isinstance(where, str) or not isinstance(where, Sequence) else [*where]
    if not all(isinstance(one, str) for one in conditions):
        raise DesignError("where must be 'COLUMN=VALUE', or a list of such texts", option="where")
    labels = read(source, **options)
    for condition in conditions:
        labels = filter_labels(labels, condition)
    return labels


def filter_labels(labels: Annotations, condition: str) -> Annotations:
    """Return the labels with ``COLUMN=VALUE`` or ``COLUMN=A,B``, as `Annotations.where`, with the values as texts.

    Raises
    ------
    DesignError
        If the condition has no equals sign.
    """
    name, equals, values = condition.partition("=")
    if not equals:
        raise DesignError(f"where must be COLUMN=VALUE; got '{condition}'", option="where")
    whole = values in {str(v) for v in labels.values_of(name)}
    return labels.where(**{name: values if whole else values.split(",")})


def _asked(study: Study, settings: ReadSettings) -> list[str] | None:
    """The questions of a study that options choose; None for all of them."""
    from assay.study.schema import scale_of

    asked, wanted = {q.name: scale_of(q.scale).kind for q in study.config.questions}, settings.question
    names = list(asked) if wanted is None else [wanted]
    if wanted is not None and wanted not in asked:
        raise DesignError(unknown("question", wanted, list(asked), "study.yaml"), option="question")
    if settings.what == "labels":
        return None if wanted is None else names
    kind = {"votes": "preference", "triplets": "odd-one-out"}.get(settings.what, settings.what)
    if not (found := [name for name in names if asked[name] == kind]):
        raise DesignError(
            f"no question of this study is on the scale {kind}; its questions are {listing(names)}", option="what"
        )
    return found


def columns_of_judges(
    source: str | os.PathLike[str], columns: Sequence[str] | None, judges: Sequence[str] | None
) -> list[str]:
    """Return the judges' columns if a file has some of these, but no person's; else none, as for files without a table.

    A later run of a judge is often without people, whose columns the options of the earlier run name.
    """
    path = Path(source)
    if not columns or not judges or not path.is_file() or path.suffix.lower() in READING:
        return []
    try:
        names = rows_of(path, ReadSettings()).labels.columns
    except AssayError:
        return []  # such as a workbook with several sheets, which is read with its own options
    there = [str(one) for one in columns if str(one) in names]
    return there if len(there) < len(columns) and {*there} <= {*judges} else []


def read_apart(source: Any) -> list[Path] | None:
    """Several sources with a study or a file of reading options among them, which state how they are read, or None."""
    paths = _paths(source) if isinstance(source, list | tuple) else []
    states = [(one / "study.yaml").is_file() or (one.suffix.lower() in READING and one.is_file()) for one in paths]
    return paths if len(paths) > 1 and any(states) else None


def _join_all(paths: Sequence[Path], settings: ReadSettings) -> Annotations:
    """Read each source as it states, or with the given options, and join them.

    A plain file has the judges, and the categories, that other sources state.
    """
    given = {name: value for name, value in settings.changed().items() if name != "match"}
    states = {one: (one / "study.yaml").is_file() or one.suffix.lower() in READING for one in paths}
    stated = {one: read(one) for one in paths if states[one]}
    tables = [stated[one] if states[one] else _read_like(one, [*stated.values()], given) for one in paths]
    whole = tables[0]
    for other in tables[1:]:
        whole = whole.join(other, settings.match)
    return whole


def _read_like(path: Path, stated: Sequence[Annotations], given: Mapping[str, Any]) -> Annotations:
    """Read a file with the given options, and what other tables state of its judges and categories."""
    scales = {scale for table in stated for scale in table.scales.values()}
    words = [s for s in scales if s.categories is not None and all(isinstance(c, str) for c in s.categories)]
    if "scale" not in given and len(words) == len(scales) == 1:
        given = {**given, "scale": words[0]}
    try:
        return read(path, **given)
    except AssayError as error:
        judges = error.advised.get("judges") or ()
        if "judges" in given or not judges or not {*judges} <= {one for table in stated for one in table.judges}:
            raise
        return read(path, **given, judges=judges)


def rows_of_source(source: Any, paths: tuple[Path, ...], settings: ReadSettings) -> tuple[Rows | None, ReadSettings]:
    """The rows of files or a frame as read, and the settings with the additional tables; None for a study."""
    is_study = len(paths) == 1 and (paths[0] / "study.yaml").is_file()
    if is_study or not paths:
        for name in format_options(settings):
            source_kind = "a study" if is_study else "a frame"
            if is_study and name == "question":
                continue
            if name == "judge":
                raise DesignError("name the judges with judges=['...'], not judge=...", option=name)
            raise DesignError(f"option '{name}' is only for platform exports, not for {source_kind}", option=name)
    if is_study:
        for name in settings.changed().keys() - {"what", "question"}:
            instead = "; keep the other rows with labels.where(...), or run: assay people exclude" * (name == "exclude")
            said = f"option '{name}' is not for a study: study.yaml states how its labels are read{instead}"
            raise DesignError(said, option=name)
        return None, settings
    if settings.what != "labels":
        kind = {"votes": "preference", "triplets": "odd-one-out"}.get(settings.what, "text")
        words = f"only a study folder has {settings.what}; read those of other sources with scale='{kind}'"
        raise DesignError(words, option="what")
    items = [settings.item] if isinstance(settings.item, str | int) else settings.item
    named = ("item", "annotator", "kind", *map(str, items), str(settings.annotator))
    tables = {
        name: _attribute_table(getattr(settings, name), named, settings.marks) for name in ("items", "annotator_table")
    }
    settings = replace(settings, **tables, codes=_codes(settings.codes, paths))
    paths = _files_of_annotators(paths, settings)
    read = [rows for path in paths for rows in _read_file(path, paths, settings)]
    parts = read if paths else [_rows_of_frame(source, settings)]
    _refuse_unknown_exclusions(parts, settings.excluded)
    parts = [part if part.scales is not None else _exclude_rejected(part, settings.label) for part in parts]
    parts = [part if _has_roles(part, settings) else _read_plain(part, settings) for part in parts]
    return join_tables(_with_file_names(parts, paths, settings), settings)


def _read_file(path: Path, paths: Sequence[Path], settings: ReadSettings) -> list[Rows]:
    """Read the rows of a file, or of each sheet; next to a spreadsheet, the option sheet is not about a text file."""
    books = [one for one in paths if one.suffix.lower() in SPREADSHEETS]
    if settings.sheet is None or path in books or not books:
        return sheets_of(path, settings)
    note = f"{path.name} is a text file, so sheet=... is not used for it"
    rows = sheets_of(path, replace(settings, sheet=None))
    return [replace(one, reading=one.reading.add_notes(note)) for one in rows]


def _files_of_annotators(paths: tuple[Path, ...], settings: ReadSettings) -> tuple[Path, ...]:
    """The files of a folder that contains only JSON Lines or text tables: one file per annotator."""
    if len(paths) != 1 or not paths[0].is_dir() or settings.format != "auto":
        return paths
    files = tuple(sorted(one for one in paths[0].iterdir() if not one.name.startswith(".")))
    kinds = {one.suffix.lower() for one in files}
    alike = len(files) > 1 and len(kinds) == 1 and kinds <= {".jsonl", ".csv", ".tsv"}
    # A platform's folder can contain JSON Lines alone, too.
    return files if alike and format_of(paths[0]).name == "table" else paths


def _has_roles(rows: Rows, settings: ReadSettings) -> bool:
    """Whether a table is the export of a platform, or has columns of item, annotator and label."""
    roles = (settings.item, settings.annotator, settings.label)
    return rows.scales is not None or {str(name) for name in roles} <= set(rows.labels.columns)


def _with_file_names(parts: list[Rows], paths: Sequence[Path], settings: ReadSettings) -> list[Rows]:
    """Name the annotators by their files, if each of several files has the labels of one person who is not named."""
    labels = {str(one) for one in (settings.label if isinstance(settings.label, list | tuple) else [settings.label])}
    if len(parts) < 2:
        return parts
    for part in parts:
        names = part.labels.columns
        named = any(called_people(plain_name(n)) for n in names) or str(settings.annotator) in names
        if part.scales is not None or named or not labels <= {*names} or settings.columns is not None:
            return parts
    note = "annotators are named by their files"
    return [
        replace(
            part, labels=part.labels.with_columns(annotator=pl.lit(path.stem)), reading=part.reading.add_notes(note)
        )
        for part, path in zip(parts, paths, strict=True)
    ]


_STATUS = re.compile(r"(?i)(assignment|submission)[ _.-]?status")
"""Names of columns that state whether the requester accepted the answers of a row."""


def _exclude_rejected(rows: Rows, label: object) -> Rows:
    """Return a plain table without the rows of rejected assignments, unless their status is the label."""
    frame = rows.labels
    status = next((n for n in frame.columns if _STATUS.fullmatch(n) and frame[n].dtype == pl.String), None)
    labels = [label] if isinstance(label, str) else label if isinstance(label, list | tuple) else []
    if status is None or status in labels:
        return rows
    kept = frame[status].str.strip_chars().str.to_lowercase().ne_missing("rejected")
    rejected = len(kept) - int(kept.sum())
    if not rejected:
        return rows
    note = f"'{status}' is Rejected in {counted(rejected, 'row')}; to keep them, remove this column"
    reading = rows.reading.without(REJECTED, rejected).add_notes(note)
    return replace(rows, labels=frame.filter(kept), reading=reading)


def _read_plain(rows: Rows, settings: ReadSettings) -> Rows:
    """Read the lists and marks of a plain table, and its battles, unless its labels or its layout are specified."""
    changed = settings.changed()
    rows = unfold(with_names_of_battles(rows), given_options(settings))
    frame, notes = with_choices(rows.labels, _columns_named(settings))
    rows = replace(rows, labels=frame, reading=rows.reading.add_notes(*notes)) if notes else rows
    usual = "label" in rows.labels.columns or {"label", "criterion"} & changed.keys()
    other = "scale" in changed and not (
        isinstance(settings.scale, Preference) or str(settings.scale).startswith(Preference.kind)
    )
    if rows.scales is not None or usual or other:
        return rows
    annotator = str(settings.annotator) if "annotator" in changed else None
    wide = bool({"layout", "columns", "scale"} & changed.keys())
    return read_battles(rows, settings.own_item(), annotator, wide=wide, judges=settings.named["judges"])


def _columns_named(settings: ReadSettings) -> set[str]:
    """The columns that the user names as the labels or the annotators."""
    named = [settings.label, *(settings.columns or ())]
    return {str(one) for each in named for one in ([each] if isinstance(each, str | int) else each)}


MOST_SUGGESTED = 1000
"""Distinct values of a column up to which they can be suggested for a mistyped one."""


def _refuse_unknown_exclusions(parts: Sequence[Rows], excluded: Sequence[str]) -> None:
    """Refuse an excluded name that is neither a column, a part of its name nor a cell of any table: it is mistyped."""
    if not excluded:
        return
    known = dict.fromkeys(name for part in parts for name in part.labels.columns)
    for column in (part.labels[name] for part in parts for name in part.labels.columns if name != "_row"):
        names = strip_spaces(column.cast(pl.String, strict=False).drop_nulls().unique())
        found = names.filter(names.is_in(list(excluded)))
        known |= dict.fromkeys((names if len(names) <= MOST_SUGGESTED else found).to_list())
    for name in excluded:
        if name not in known and not any(is_crossed(name, part.labels.columns) for part in parts):
            raise DataError(unknown("excluded name", name, known, parts[0].reading.source), option="exclude")


# -- the input of every question --------------------------------------------------------------------------

ARRAYS = "first", "second"
"""The annotators of two plain arrays of labels."""


def labels_of(question: str, given: tuple[Any, ...], judges: str | Sequence[str] | None) -> tuple[Any, ...]:
    """Return the positional arguments of a question, with the one table instead of a path, a frame or plain arrays.

    Parameters
    ----------
    question : str
        The name of the question, for messages.
    given : tuple
        A path, several paths, or a frame; two arrays of labels of the same items; or a matrix, one row per item.
    judges : str, sequence of str or None
        The annotators that the call names as judges. They are judges by any name, unless the table has a column
        ``kind``. Any other annotator with the name of a model is refused, as in `read`.

    Raises
    ------
    DataError
        If it is none of these, or ambiguous; the message has the call of `read` that resolves the ambiguity.
    """
    first = given[0]
    if isinstance(first, Mapping) and question in TAKE_SEVERAL:
        return ({name: _table(question, one) for name, one in first.items()}, *given[1:])
    if _is_array(first) and len(given) > 1 and _is_array(given[1]):
        return (_read_arrays(question, first, given[1]), *given[2:])
    if _is_array(first) and not _is_paths(first):
        return (_read_matrix(question, first), *given[1:])
    if question in OF_OUTPUTS and isinstance(first, str | os.PathLike) and (Path(first) / "study.yaml").is_file():
        return (read(first, what="outputs"), *given[1:])
    return (_read_with_judges(question, first, _names(judges)), *given[1:])


def _names(judges: object) -> list[str]:
    """The names among the judges of a call; an array of labels has none."""
    if isinstance(judges, str):
        return [judges]
    return [one for one in judges if isinstance(one, str)] if isinstance(judges, list | tuple) else []


def refuse_read_options(question: str, source: Any, judges: object, options: Mapping[str, Any]) -> None:
    """Refuse options of `read` that are given to a question, with the call of `read` that accepts them.

    Raises
    ------
    DesignError
        If `read` has one of the options.
    AssayError
        If `read` refuses these options and advises no others.
    """
    reads = {f.name for f in fields(ReadSettings)}
    given = {name: value for name, value in options.items() if name in reads}
    if not given or _is_array(source):
        return
    first = next(iter(given))
    named = _names(given.pop("judge", judges))  # `judge` of `read` is an option for platform exports
    asked = {**({"judges": named} if named else {}), **given}
    refused = f"{question} has no option '{first}'; assay.read has it"
    try:
        read(source, **asked)
    except AssayError as error:
        if not error.advised:
            raise
        if isinstance(error, KindUnknownError) and asked.get("judges"):
            words = _unnamed_judges(source, asked, error.names)
            raise DesignError(f"{refused}. {words}", option=first) from error
        asked |= error.advised
    call = read_call(_source_name(source), asked)
    raise DesignError(f"{refused}. Read the table first: {call}", option=first)


def _read_with_judges(question: str, source: Any, named: list[str]) -> Annotations:
    """Read the table with the named annotators as judges; an error carries the call of `read` that resolves it."""
    try:
        table = read(source)
        if table.judges or not named:
            return table
    except AssayError as error:
        if not error.advised and not isinstance(error, UnclearTableError):
            raise
        if not named or ("judges" not in error.advised and not isinstance(error, UnclearTableError)):
            raise _with_call(error, source, {}) from error
    try:
        return read(source, judges=named)
    except KindUnknownError as error:
        words = _unnamed_judges(source, {"judges": named}, error.names)
        raise DataError(f"{question}: {words}", advised=error.advised) from error
    except AssayError as error:
        if not error.advised and not isinstance(error, UnclearTableError):
            raise
        raise _with_call(error, source, {"judges": named}) from error


def _unnamed_judges(source: Any, asked: Mapping[str, Any], models: Sequence[str]) -> str:
    """Return the message for annotators with names of models that the call does not name, with both possible calls."""
    looks, who = (
        ("have names of models", "they are human") if len(models) > 1 else ("has the name of a model", "it is human")
    )
    named, humans = _names(asked["judges"]), _names(asked.get("humans"))
    judges = read_call(_source_name(source), {**asked, "judges": [*named, *models]})
    people = read_call(_source_name(source), {**asked, "humans": [*humans, *models]})
    return (
        f"{listing([repr(one) for one in models])} {looks}, but this call names only {listing(named)} as a "
        f"judge. Read the table first, with all judges: {judges}; or, if {who}: {people}"
    )


def _with_call(error: AssayError, source: Any, options: Mapping[str, Any]) -> AssayError:
    """Add the whole advised call to an error of `read`: a question has none of its options."""
    advised = {**options, **error.advised}
    if isinstance(error, UnclearTableError):
        readings = [(said, {**options, **more} if more else {}) for said, more in error.choices]
        return unclear(error.source, error.problems, readings)
    kind = DesignError if isinstance(error, DesignError) else DataError
    call = read_call(_source_name(source), advised)
    return kind(
        f"{str(error).rstrip('.')}. If that is right, read the table first: {call}",
        option=error.option,
        value=error.value,
        advised=advised,
    )


def _source_name(source: Any) -> str | list[str]:
    """The source as a call names it."""
    paths = [str(one) for one in _paths(source)]
    return paths if len(paths) > 1 else paths[0] if paths else IN_MEMORY


OF_OUTPUTS = ("separability", "separability_sweep")
"""Questions about the outputs of a study's systems, not its labels."""

TAKE_SEVERAL = ("separability",)
"""Questions that take several tables, each with a name."""


def _table(question: str, one: Any) -> Any:
    """One of several tables: labels unchanged, anything else read as for a single table."""
    return one if type(one).__module__.startswith("assay.") else labels_of(question, (one,), None)[0]


def _is_array(value: Any) -> bool:
    """Whether a value is a list, a tuple, a NumPy array or a column of a frame."""
    return isinstance(value, list | tuple | np.ndarray | pl.Series) or type(value).__name__ == "Series"


def _is_paths(value: Any) -> bool:
    """Whether a value is a list of paths; texts count as paths if all of these files exist."""
    one = isinstance(value, list | tuple) and bool(value)
    return one and all(isinstance(v, os.PathLike) or (isinstance(v, str) and Path(v).exists()) for v in value)


def _read_arrays(question: str, first: Any, second: Any) -> Annotations:
    one, two = list(first), list(second)
    if len(one) != len(two):
        raise DataError(f"{question}: two arrays are labels of the same items; they have {len(one)} and {len(two)}")
    return _read_columns(question, dict(zip(ARRAYS, (one, two), strict=True)))


def _read_matrix(question: str, matrix: Any) -> Annotations:
    rows = [list(row) if _is_array(row) else row for row in matrix]
    flat = all(isinstance(row, list) and row and not any(map(_is_array, row)) for row in rows)
    if not flat or len({len(row) for row in rows}) != 1:
        raise DataError(
            f"{question} takes a table of labels, a path, a frame, two arrays of labels or a matrix of items and "
            f"annotators; got a {type(matrix).__name__}"
        )
    with contextlib.suppress(TypeError, ValueError):  # labels can be words
        if total := total_of_counts(np.array(rows, dtype=float)):
            return _read_counts(question, rows, total)
    side = f"each row of the matrix is one item: {counted(len(rows), 'item')} by {counted(len(rows[0]), 'annotator')}; "
    side += "if the rows are annotators, give the transpose"
    columns = {f"annotator {j + 1}": [row[j] for row in rows] for j in range(len(rows[0]))}
    return _read_columns(question, columns, side)


def _read_counts(question: str, rows: Sequence[Sequence[Any]], total: int) -> Annotations:
    """Make the table from how many annotators chose each category; only Fleiss's κ needs no names of annotators."""
    if question != "fleiss_kappa":
        raise DataError(
            f"{question}: each row of the matrix sums to {total}, as counts of {total} annotators for {len(rows[0])} "
            "categories do; give one column per annotator (fleiss_kappa also accepts counts)"
        )
    each = [[f"category {j + 1}" for j, count in enumerate(row) for _ in range(int(count))] for row in rows]
    note = f"each row of the matrix has the counts of {total} annotators for {len(rows[0])} categories"
    return _read_columns(question, {f"annotator {k + 1}": [row[k] for row in each] for k in range(total)}, note)


def _read_columns(question: str, columns: Mapping[str, Sequence[Any]], *notes: str) -> Annotations:
    """Make the table from the labels of each annotator, item by item."""
    found = [(f"item {i + 1}", who, label) for who, each in columns.items() for i, label in enumerate(each)]
    there = [row for row in found if row[2] is not None and row[2] == row[2]]
    if not there:
        raise DataError(f"{question}: the arrays contain no label")
    frame = pl.DataFrame({
        "item": [row[0] for row in there], "annotator": [row[1] for row in there],
        "label": column_of("label", [getattr(row[2], "item", lambda v=row[2]: v)() for row in there], question),
    })  # fmt: skip
    return Annotations.from_frame(frame, humans=list(columns), reading=Reading("plain arrays", len(found), notes=notes))


# -- saved options of reading ---------------------------------------------------------------------------

TABLES = {"items", "annotator_table"}
"""Options of `read` that name further files."""

READING = ".yaml", ".yml"
"""Suffixes of a reading file."""

_HEAD = f"# How a table of labels is read. assay accepts this file instead of the table. {READING_MARK}.\n"


def read_settings(source: Any, settings: ReadSettings) -> tuple[ReadSettings, tuple[Path, ...], Any]:
    """The settings, the files and the source; if the source is a file of reading options, those that it states.

    Options given in addition to such a file override it.
    """
    paths = tuple(_paths(source))
    if len(paths) != 1 or paths[0].suffix.lower() not in READING or not paths[0].is_file():
        return settings, paths, source
    path = paths[0]
    names, kept = _load_reading(path)
    files = [str(path.parent / one) for one in names]
    settings = ReadSettings.of({**kept, **settings.changed()}, f"the reading {path}")
    return settings, tuple(_paths(files)), files if len(files) > 1 else files[0]


def reading_options(path: Path) -> dict[str, Any]:
    """The options in a file of reading options, for labels in another file.

    Raises
    ------
    DataError
        If the file does not exist or is not a file of reading options.
    """
    if not path.is_file():
        raise DataError(f"the file '{path}' does not exist; write it with: assay look FILE --write {path.name}")
    return _load_reading(path)[1]


def _load_reading(path: Path) -> tuple[list[str], dict[str, Any]]:
    """The names of the files and the options in a file of reading options."""
    import yaml

    try:
        kept = yaml.safe_load(path.read_text("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not a reading file: {str(error).splitlines()[0]}") from None
    names = kept.get("read") if isinstance(kept, dict) else None
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise DataError(f"{path} is not a reading file; make one with: assay look FILE --write {path.name}")
    for name in TABLES & kept.keys():
        kept[name] = str(path.parent / str(kept[name]))
    return names, {name: value for name, value in kept.items() if name != "read"}


def write_reading(path: Path, sources: Sequence[Path], options: Mapping[str, Any]) -> Path:
    """Write a reading file for `read`; see `assay.looking.Look.write`."""
    import yaml

    if not sources:
        raise DataError("a reading file names files, but this table is in memory; write the table to a file first")
    target = writable(path, suffixes=READING)

    def relative(one: Path) -> str:
        return os.path.relpath(one.expanduser().resolve(), target.resolve().parent)

    names = [relative(one) for one in sources]
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    values |= {name: relative(Path(str(values[name]))) for name in TABLES & values.keys()}
    text = _HEAD + yaml.safe_dump({"read": names, **values}, sort_keys=False, allow_unicode=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(target) as place:
        place.write_text(text, encoding="utf-8")
    return target


def study_labels(
    study: Study,
    store: str | None = None,
    *,
    excluded_people: bool = False,
    probes: bool = False,
    reasoning: bool = False,
    only: Collection[str] | None = None,
) -> Annotations:
    """Return all labels of a study that annotators and judges have given so far, as the one table.

    Parameters
    ----------
    study : Study
        See `assay.study.definition.load_study`.
    store : str, optional
        A database to use instead of the one in the folder: a path or ``postgresql://…``.
    excluded_people : bool
        Keep the answers of excluded annotators, with True in the column ``excluded``.
    probes : bool
        Keep the judges' answers to probes. The column ``probe`` names the probe and is empty for other labels.
    reasoning : bool
        Add the judges' reasoning before each label, in the column ``reasoning``.
    only : list of str, optional
        The questions; by default all.

    Reading never changes which answers count. If the folder has changed so that some answers would no longer count, the
    table shows the study before the change, and ``reading`` has a note on it.

    Raises
    ------
    StudyError
        If the study has no labels yet.
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
                f"the study folder has changed; these labels are from before the change: {error.what} (to decide about "
                "the change, run assay judge, assay serve or assay people invite)"
            )
        kept = {"excluded_people": excluded_people, "probes": probes, "reasoning": reasoning}
        return stored_annotations(opened, notes, study.folder, **kept, only=only)


def study_spans(study: Study, store: str | None = None, *, only: Collection[str] | None = None) -> Annotations:
    """Return every marked span of a study's texts: its label is the text about it, otherwise its words.

    Raises
    ------
    StudyError
        If no span is marked yet.
    """
    from assay.study.store.connection import open_to_read

    with open_to_read(study, store) as opened:
        from assay.study.store.table import stored_spans

        return stored_spans(opened, study.folder, only=only)


def study_outputs(study: Study, store: str | None = None) -> Annotations:
    """Return all outputs of a study's systems: each system is an annotator, and each of its outputs a repeat.

    Raises
    ------
    StudyError
        If there is no output yet, or the study has no systems.
    """
    if not study.systems:
        raise StudyError(
            f"{study.folder}/study.yaml names no systems; to compare other texts, read them with scale='text'"
        )
    from assay.study.store.connection import open_to_read
    from assay.study.store.items import system_outputs
    from assay.study.store.table import sources_frame

    with open_to_read(study, store) as opened:
        with opened.reading() as db:
            found = system_outputs(db)
        if not found.outputs:
            raise StudyError(f"{opened.where} has no outputs yet; query the systems with: assay judge {study.folder}")
        gone = {
            "no output yet": found.missing,
            "the response is empty or cut off": found.unreadable,
        }
        reading = Reading(source=opened.where, rows=len(found.outputs) + sum(gone.values()), drawn=("output_id",))
        for why, number in gone.items():
            reading = reading.without(why, number)
        with opened.reading() as db:
            items = sources_frame(db)
        return outputs_of(found.outputs, reading, items)


def outputs_of(outputs: Iterable[SystemOutput], reading: Reading | None = None, items: Any = None) -> Annotations:
    """Return outputs of systems as the one table, on the scale text."""
    rows = [(one.item, one.system, one.number, one.text, one.temperature, one.id) for one in outputs]
    columns = ["item", "annotator", "repeat", "label", "temperature", "output_id"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    frame = frame if frame["temperature"].count() else frame.drop("temperature")
    return Annotations.from_frame(
        frame, scale=parse_scale("text"), spelling="apart", judges=frame["annotator"].unique().to_list(), items=items,
        reading=reading, conditions=[c for c in ("temperature",) if c in frame.columns],
    )  # fmt: skip


def _paths(source: Any) -> list[Path]:
    """The files of a source; none for a frame."""
    if isinstance(source, list | tuple) and source and all(isinstance(one, str | os.PathLike) for one in source):
        return [existing_path(one) for one in source]
    return [existing_path(source)] if isinstance(source, str | os.PathLike) else []


def _rows_of_frame(source: Any, settings: ReadSettings) -> Rows:
    labels = [settings.label] if isinstance(settings.label, str | int) else settings.label
    frame = to_polars(source, strict=list(map(str, labels)), orders=True)
    if is_arena(frame.columns):
        votes = arena_rows(frame, item=settings.own_item())
        return votes_by_place(votes, settings.annotator, settings.named["judges"])
    if not settings.names_roles and (platform := platform_of(frame.columns.__contains__)) is not None:
        own = settings.own_item()
        return scores_of_frame(platform, frame.to_dicts(), own if isinstance(own, str) else None, settings)
    return Rows(frame, reading=Reading(rows=frame.height))


def _codes(given: Any, paths: tuple[Path, ...]) -> Any:
    """A table of codes from a frame, a file, or a sheet of the workbook with the labels."""
    if isinstance(given, str) and not Path(given).exists() and len(paths) == 1 and paths[0].suffix in SPREADSHEETS:
        return read_table(paths[0], given).labels.drop("_row", strict=False)
    return given if isinstance(given, Mapping) else _attribute_table(given)


def _attribute_table(given: Any, named: Sequence[str] | None = None, missing: Collection[Any] | None = None) -> Any:
    """An additional table, from a frame or a file; columns in ``named`` hold names, others can become numbers."""
    if given is None:
        return None
    rows = read_table(existing_path(given)) if isinstance(given, str | os.PathLike) else Rows(to_polars(given))
    table = rows.labels.drop("_row", strict=False)
    if named is None:
        return table
    table, _ = without_marks(table, named, missing, untyped=rows.untyped)
    return parse_numeric_columns(table, leave=named) if rows.untyped else table
