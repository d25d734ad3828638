"""Plain tables: CSV, TSV, JSON, JSON Lines, Parquet, Arrow, SPSS, a folder of Parquet or Arrow files; long or wide."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data import words
from assay.data.annotations import Annotations, Reading
from assay.data.columns import (
    KEY,
    arrow_orders,
    class_names,
    column_of,
    declare_orders,
    mixed_column,
    name_classes,
    natural,
)
from assay.data.formats import Rows, one_answer_each
from assay.data.formats.nested.cells import objects_like_answers
from assay.data.formats.nested.records import records_in, records_of_arrays
from assay.data.formats.sheets import SPREADSHEETS, TEXTS, read_sheet, refuse_further_cells, without_footer
from assay.data.names import (
    IN_MEMORY,
    any_twice,
    cell_numbers,
    factorize,
    model_names,
    numbered_texts,
    places_within,
    refuse_equal_names,
    strip_spaces,
)
from assay.data.scales import Preference
from assay.data.structure.cells import views_of
from assay.data.structure.one_scale import MOST_SHARED_VALUES, scale_groups
from assay.data.structure.role_names import (
    ID,
    MIN_VOTES,
    by_criterion,
    called,
    called_people,
    plain_name,
    question_of,
    split_alone,
    voter_of,
)
from assay.data.structure.roles import PLACE, ROWS
from assay.data.structure.sides import (
    GRADES,
    PAIR,
    PAIR_OF,
    SWAPPED,
    Battle,
    Sides,
    find_battles,
    marked_as_swapped,
    name_sides,
    pair_names,
    swap_sides,
    votes_in,
)
from assay.data.values import MARKS, parse_numbers, plain_numbers
from assay.data.words import (
    labels_by_criterion,
    no_voter,
    pairs_of_texts,
    same_for_criteria,
    unread_answers,
)
from assay.errors import AssayError, DataError, counted, listing, require, unknown
from assay.estimation.result import Exclusion

ARROW = (".arrow", ".feather")
SPSS = (".sav", ".zsav")
SUFFIXES = {*TEXTS, *SPREADSHEETS, *ARROW, *SPSS, ".json", ".jsonl", ".ndjson", ".parquet", ".pq"}

COMMENTS = re.compile(r"(?i)(comment|note|remark|feedback|kommentar|reason|rationale|explanation)s?")
"""Names of columns that contain words about an item, not labels."""

SMALL_JSON = 200 * 2**20
"""JSON Lines up to this size are parsed value by value, so that 1 and "1" stay different; Python objects of larger
files would fill the memory."""


_OTHER_FORM = (AttributeError, IndexError, KeyError, TypeError, ValueError)
_DAMAGED = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error, struct.error, pl.exceptions.PolarsError)


@contextmanager
def naming(path: Path, about: str = "") -> Iterator[None]:
    """Report errors of a library as errors of the file; ``about`` is the program that writes its format.

    Files come from other programs: a file that is damaged or malformed should not cause a traceback.
    """
    try:
        yield
    except AssayError:
        raise
    except BaseException as error:
        # A panic of a Rust library is not an Exception, and each library has a separate class for it.
        damaged = isinstance(error, _DAMAGED) or type(error).__name__ == "PanicException"
        if not damaged and not isinstance(error, _OTHER_FORM):
            raise
        said = (str(error).strip().splitlines() or [""])[0]
        if damaged or not about:
            raise DataError(
                f"{path} cannot be read ({type(error).__name__}: {said}); if it is damaged, copy or export it again"
            ) from error
        raise DataError(
            f"{path} is not as {about} writes it ({type(error).__name__}: {error}); specify its format with "
            "format=..., or export it again"
        ) from error


def read_table(path: Path, sheet: str | None = None) -> Rows:
    """Read a file, or all files of a folder of Parquet or Arrow; ``sheet`` names a sheet of a spreadsheet."""
    with naming(path):
        return _read_table(path, sheet)


MOST_BELOW = 20
"""Rows at the end of a table, an empty one among which is above what is written below the table."""


def _read_table(path: Path, sheet: str | None) -> Rows:
    suffix, first = path.suffix.lower(), 1
    notes: list[str] = []
    if not path.is_dir():
        _refuse_other_files(path)
    elif not is_dataset(path):
        raise DataError(f"{path} is a folder without a table in Parquet or Arrow; name one file of it")
    if (path.is_dir() and not any(path.glob("*.parquet"))) or suffix in ARROW:
        frame, notes = _arrow(path)
    elif suffix in SPSS:
        frame, notes = _spss(path)
    elif path.is_dir() or suffix in (".parquet", ".pq"):
        files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        frame = read_safely(path, lambda: apply_declared(pl.read_parquet(files), files[0]))
        notes = _order_lost(frame, files[0])
    elif suffix in (".jsonl", ".ndjson"):
        frame = _json_lines(path)
    elif suffix == ".json":
        frame = _json(path)
    elif sheet is None and _is_plain(path):
        frame, first = read_delimited(path), 2
    else:
        found = read_sheet(path, sheet)
        frame, first, notes = found.frame, found.first, [*found.notes]
    if frame.height == 0 and not path.is_dir():
        raise DataError(f"{path} has a header but no rows" if frame.width else f"{path} is empty")
    untyped = not path.is_dir() and suffix in (*TEXTS, *SPREADSHEETS)
    # Below an empty row, or without a name in the first column, there can be averages.
    below = untyped and frame.tail(MOST_BELOW).select(pl.all_horizontal(pl.all().is_null()).any()).item()
    if below or (untyped and frame[-1, 0] in (None, "")):
        frame, said = without_footer(frame)
        notes += said
    frame = frame.with_columns(_row=pl.int_range(first, frame.height + first))
    return Rows(frame, reading=Reading(str(path), frame.height, notes=tuple(notes)), untyped=untyped)


def is_dataset(folder: Path) -> bool:
    """Whether a folder is a table: of Parquet, or a data set of Hugging Face (``save_to_disk``, a clone of its Hub)."""
    return any(folder.glob("*.parquet")) or bool(_splits(folder))


def _splits(folder: Path) -> dict[str, list[Path]]:
    """The files of each split of a Hugging Face data set; without splits, all files under the key None."""
    for files in ("*.arrow", "data/*.parquet"):
        if found := sorted(folder.glob(files)):
            # On the Hub, the name of a file contains its split: train-00000-of-00002.parquet.
            names = [re.sub(r"-\d{5}-of-\d{5}$", "", one.stem) if "parquet" in files else "" for one in found]
            return {name: [f for f, n in zip(found, names, strict=True) if n == name] for name in dict.fromkeys(names)}
    if not (folder / "dataset_dict.json").is_file():
        return {}
    return {one.name: sorted(one.glob("*.arrow")) for one in sorted(folder.iterdir()) if any(one.glob("*.arrow"))}


def _arrow(path: Path) -> tuple[pl.DataFrame, list[str]]:
    """Read a file of Arrow, or a data set of Hugging Face; with several splits, the column ``split`` names them."""
    splits = _splits(path) if path.is_dir() else {"": [path]}
    frames = []
    for name, files in splits.items():
        for file in files:
            frame = read_safely(file, lambda file=file: _arrow_or_parquet(file))
            frames.append(frame.with_columns(split=pl.lit(name)) if len(splits) > 1 else frame)
    if len({tuple(frame.columns) for frame in frames}) > 1:
        raise DataError(f"the files of {path} have different columns; name one of them")
    notes = [f"joined {len(splits)} splits: {listing(list(splits))}"] if len(splits) > 1 else []
    return pl.concat(frames, how="vertical_relaxed"), notes


def _arrow_or_parquet(file: Path) -> pl.DataFrame:
    if file.suffix == ".parquet":
        return apply_declared(pl.read_parquet(file), file)
    with file.open("rb") as opened:
        # A file starts with a magic word; ``datasets`` writes a stream, which does not.
        is_file = opened.read(6) == b"ARROW1"
    frame = pl.read_ipc(file) if is_file else pl.read_ipc_stream(file)
    about = file.with_name("dataset_info.json")
    said = json.loads(about.read_text("utf-8")) if about.is_file() else {}
    return name_classes(frame, class_names({"huggingface": json.dumps({"info": said})}))


def _spss(path: Path) -> tuple[pl.DataFrame, list[str]]:
    """Read a file of SPSS, with words instead of the codes of nominal variables; other codes are kept and noted."""
    pyreadstat = require("pyreadstat", "spss", "reading files of SPSS")
    try:
        columns, about = pyreadstat.read_sav(str(path), output_format="dict")
    except Exception as error:  # the library has several error classes
        raise DataError(f"{path} cannot be read as a file of SPSS: {error}") from None
    values = {name: [None if v != v else v for v in column] for name, column in columns.items()}
    frame = pl.DataFrame(values, strict=False)
    notes = []
    for name, texts in about.variable_value_labels.items():
        coded = frame[name].drop_nulls().unique()
        if about.variable_measure.get(name) == "nominal" and all(code in texts for code in coded):
            frame = frame.with_columns(pl.col(name).replace_strict(texts, default=None, return_dtype=pl.String))
        else:
            shown = [f"{code:g}" if isinstance(code, float) else code for code in texts]
            pairs = [f"{code} = {word}" for code, word in zip(shown, texts.values(), strict=True)]
            notes.append(f"'{name}' keeps its codes: {listing(pairs, 8)}")
    numbers = {name: frame[name].drop_nulls() for name, kind in frame.schema.items() if kind == pl.Float64}
    whole = [name for name, one in numbers.items() if one.is_finite().all() and (one % 1 == 0).all()]
    return frame.with_columns(pl.col(whole).cast(pl.Int64)), notes


def apply_declared(frame: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The columns of a Parquet file with its metadata: the names of class labels, the order of categories."""
    metadata = pl.read_parquet_metadata(path)
    frame = name_classes(frame, class_names(metadata))
    ordered = [name for name in pandas_orders(metadata) if frame.schema.get(name) == pl.Categorical]
    if not ordered or not importlib.util.find_spec("pyarrow"):
        return frame
    # Polars drops the order of pandas' categories, and Arrow preserves it.
    table = importlib.import_module("pyarrow.parquet").read_table(path, columns=ordered)
    return declare_orders(frame, arrow_orders(table))


def pandas_orders(metadata: Mapping[str, str]) -> list[str]:
    """The columns that pandas wrote as ordered categories."""
    said = json.loads(metadata.get("pandas") or "{}").get("columns", ())
    return [c["name"] for c in said if isinstance(c.get("metadata"), dict) and c["metadata"].get("ordered")]


def _order_lost(frame: pl.DataFrame, path: Path) -> list[str]:
    """A note on ordered columns whose order cannot be read here."""
    lost = [n for n in pandas_orders(pl.read_parquet_metadata(path)) if frame.schema.get(n) == pl.Categorical]
    return [f"the order of column '{n}' cannot be read without pyarrow; set scale='ordinal:...'" for n in lost]


def unpivot(
    rows: Rows, item: str, columns: Sequence[str] | None, *, criterion: str | None = None, repeat: str | None = None,
    judges: Collection[str] = (), check: bool = True,
) -> Rows:  # fmt: skip
    """Convert a wide table (one row per item, one column per annotator) to a long one.

    Columns that are not named stay as attributes of the item; by default, every column except the item's
    contains an annotator's labels. With ``check``, a mixture of numeric and text columns is refused.

    An item has one row for each value of the columns ``criterion`` and ``repeat``, if there are any. Next to repeats of
    judges, columns of people with one value for each item (and criterion) are one label each, which a merge copies to
    every row. If a person's labels differ between repeats, all people have repeats.
    """
    rows = replace(rows, labels=_rows_named(rows.labels, item, "item"))
    frame, source = rows.labels, rows.reading.source
    _refuse_absent(rows, [item], "it should contain the item id")
    named = columns is not None
    columns = [c for c in frame.columns if c not in (item, "_row")] if columns is None else list(columns)
    _refuse_absent(rows, columns)
    if not columns:
        raise DataError(f"{source}: except '{item}', no column could contain an annotator's labels")
    if check:
        _refuse_other_columns(rows, columns, named=named)
    within = [c for c in (criterion, repeat) if c in frame.columns and c not in (item, *columns)]
    other = [c for c in frame.columns if c not in columns and c not in (item, "_row", *within)]
    frame, _ = _enum_texts(frame, [item, *other])
    twice = frame.filter(frame.select(item, *within).is_duplicated())
    if twice.height:
        raise DataError(
            f"{source}: item '{twice[item][0]}' has more than one row; a wide table has one row per item. "
            "A long table has columns of annotators and labels and is read without layout='wide'"
        )
    frame, orders = _enum_texts(frame, columns)
    about, notes = _one_row_each(frame, item, other) if within else (frame, [])
    people = [c for c in columns if c not in judges]
    if repeat in within and people and len(people) < len(columns):
        frame, once = _labels_once(frame, people, [item, *(c for c in within if c != repeat)])
        notes += [f"one label for each item, and not for each '{repeat}': {listing(once)}"] if once else []
    index = list(dict.fromkeys(c for c in (item, *within, "_row") if c in frame.columns))
    if len(set(orders.values())) > 1:
        raise DataError(
            f"{source}: columns {listing(list(orders), 4)} declare different orders of their categories; "
            "declare one order for all annotators"
        )
    order: dict[str | None, tuple[str, ...]] = {None: next(iter(orders.values()))} if orders else {}
    long = _stack(frame, columns, index, "annotator")
    other = [c for c in other if c in about.columns]
    bare = frame.select(pl.all_horizontal(pl.col(columns).is_null()).any()).item()
    # Without other columns, the table of items only counts those without a label.
    items = (
        about.select(pl.col(item).alias("item"), *(pl.col(c).alias(_own_name(c)) for c in other))
        if other or bare
        else None
    )
    # An empty cell is not an excluded row.
    long = long.filter(pl.col("label").is_not_null())
    reading = _reading_of(rows, long).add_notes(*notes)
    long = long.rename({_free_name(item, "annotator"): "item"})
    return Rows(long, items=items, reading=reading, untyped=rows.untyped, orders=order)


def _one_row_each(frame: pl.DataFrame, item: str, columns: Sequence[str]) -> tuple[pl.DataFrame, list[str]]:
    """The columns that have one value for each item, one row per item; and a note on the others."""
    each = frame.group_by(item, maintain_order=True).agg(pl.col(columns).drop_nulls())
    several = each.select(pl.col(columns).list.n_unique().max())
    kept = [c for c in columns if (several[c][0] or 0) <= 1]
    left = [c for c in columns if c not in kept]
    notes = [f"not kept as item metadata, since rows of one item differ: {listing(left)}"] if left else []
    return each.select(item, pl.col(kept).list.first()), notes


def _labels_once(frame: pl.DataFrame, columns: Sequence[str], by: Sequence[str]) -> tuple[pl.DataFrame, list[str]]:
    """Keep the first cell of columns that all have one value for each combination of others; also return them."""
    several = frame.group_by(by).agg(pl.col(columns).drop_nulls().n_unique()).select(pl.col(columns).max())
    once = [*columns] if all((several[c][0] or 0) <= 1 for c in columns) else []
    first = pl.int_range(pl.len()).over(by) == 0
    known = (pl.when(first).then(pl.col(c).drop_nulls().first().over(by)).alias(c) for c in once)
    return frame.with_columns(known), once if frame.select(by).is_duplicated().any() else []


def stack_criteria_of_named(rows: Rows, names: Iterable[str], members: Sequence[str], label: str, who: str) -> Rows:
    """Add labels that annotators have in one column for each criterion, ``gpt_tone, gpt_depth``, as rows."""
    frame, found, notes = rows.labels, [], []
    if len(members) < 2:
        return rows
    others, criteria = set(frame.columns), frame[members[1]].unique().to_list()
    parts = by_criterion(frame.columns, criteria)
    for name in (n for n in names if n not in others and not (frame[who].cast(pl.String) == n).any()):
        own = {column: criterion for column, (one, criterion) in parts.items() if one == name}
        about = frame.group_by(members[0]).agg(pl.all().n_unique()).max().row(0, named=True) if own else {}
        if not own or any(about[column] > 1 for column in own):
            continue
        kept = [
            n for n in frame.columns if n in ("_row", *members) or (about[n] == 1 and n not in (*parts, label, who))
        ]
        for column, criterion in own.items():
            once = frame.filter(pl.col(members[1]) == criterion).unique(members, keep="first", maintain_order=True)
            found.append(once.drop_nulls(column).select(*kept, pl.lit(name).alias(who), pl.col(column).alias(label)))
        others -= set(own)
        notes.append(f"labels of {name}, one for each item, from a column for each criterion: {listing([*own], 4)}")
    if not found:
        return rows
    kept = [column for column in frame.columns if column in others]
    labels = pl.concat([frame.select(kept), *found], how="diagonal_relaxed")
    return replace(rows, labels=labels, reading=rows.reading.add_notes(*notes))


def stack_named(rows: Rows, names: Iterable[str], members: Sequence[str], label: str, who: str) -> Rows:
    """Add labels that annotators have in columns of a long table, one for each item (and criterion), as rows."""
    frame = rows.labels
    given = [one for one in names if one in frame.columns]
    named = [n for n in given if n not in (*members, label, who) and not (frame[who].cast(pl.String) == n).any()]
    same = frame.group_by(members).agg(pl.all().n_unique()).max().row(0, named=True) if named else {}
    if not named or any(same[one] > 1 for one in named):
        return rows
    if len(members) > 1 and len(parts := by_criterion(named, frame[members[1]].unique().to_list())) == len(named):
        raise DataError(f"{rows.reading.source}: {labels_by_criterion(parts)}")
    kept = [n for n in frame.columns if n in ("_row", *members) or (same[n] == 1 and n not in (*named, label, who))]
    once = frame.unique(members, keep="first", maintain_order=True)
    found = [once.drop_nulls(n).select(*kept, pl.lit(n).alias(who), pl.col(n).alias(label)) for n in named]
    labels = pl.concat([frame.drop(named), *found], how="diagonal_relaxed")
    notes = [f"one label for each item, from a column next to the annotators' labels: {listing(named)}"]
    if len(members) > 1:
        of_item = frame.group_by(members[0]).agg(pl.col(named).n_unique()).select(pl.col(named).max())
        alike = [n for n in named if of_item[n][0] == 1]
        notes += [same_for_criteria(n, members[1]) for n in alike]
    return replace(rows, labels=labels, reading=rows.reading.add_notes(*notes))


def number_rows(rows: Rows, options: Sequence[Mapping[str, Any]]) -> Rows:
    """Add the column ``_row`` with row numbers, if some options use it."""
    if not any(ROWS in one.values() for one in options) or ROWS in rows.labels.columns:
        return rows
    return replace(rows, labels=rows.labels.with_columns(pl.int_range(1, pl.len() + 1).alias(ROWS)))


def number_rows_of_items(
    rows: Rows, item: str | Sequence[str], places: Sequence[str | None], judges: Sequence[str] = ()
) -> Rows:
    """Add the column ``place`` with the place of a row among those of its item.

    ``places`` are the columns of annotators and of repeats; nothing is added if neither is ``place``. Places of
    annotators are drawn: rows can be sorted by label, and the first of three would then be the lowest. Rows of judges,
    which a column names, keep their name.
    """
    frame, key = rows.labels, [item] if isinstance(item, str) else list(item)
    if PLACE not in places or PLACE in frame.columns or not {*key} <= {*frame.columns}:
        return rows
    people = places[0] == PLACE
    texts = [n for n, dtype in frame.schema.items() if dtype == pl.String and n not in key and people and judges]
    named = [n for n in texts if {*judges} <= {*frame[n].unique()}]
    if len(named) > 1:
        raise DataError(
            f"{rows.reading.source}: {listing([repr(n) for n in named])} contain the names of the judges; drop the "
            "columns that do not say who answered, or read the judges' labels from a separate file"
        )
    name = named[0] if named else None
    judged = pl.lit(False) if name is None else pl.col(name).is_in([*judges]).fill_null(False)
    place = places_within(frame.select(*key, judged.alias("of a judge")), drawn=people)
    who = pl.lit(place) if name is None else pl.when(judged).then(name).otherwise(pl.lit(place))
    frame = frame.with_columns(who.alias(PLACE))
    known = [one for one in natural(frame[PLACE].unique()) if one not in judges]
    reading = rows.reading.add_notes(words.rows_by_place([one for one in key if one != ROWS], people=people))
    reading = replace(reading, places=(*known,) if people else ())
    return replace(rows, labels=frame, reading=reading)


def transpose(rows: Rows, annotator: str, columns: Sequence[str] | None) -> Rows:
    """Convert a table of forms (one row per annotator, one column per item) to a long one.

    Columns that are not named describe the annotator and are dropped; by default, every column except the
    annotator's is an item.
    """
    source = rows.reading.source
    rows = replace(rows, labels=_rows_named(rows.labels, annotator, "person"))
    _refuse_absent(rows, [annotator], "it should contain the annotator")
    columns = [c for c in rows.labels.columns if c not in (annotator, "_row")] if columns is None else list(columns)
    _refuse_absent(rows, columns)
    if not columns:
        raise DataError(f"{source}: except '{annotator}', no column could be an item")
    frame, orders = _enum_texts(rows.labels, [annotator, *columns])
    twice = frame.filter(frame[annotator].is_duplicated())
    if twice.height:
        raise DataError(
            f"{source}: '{twice[annotator][0]}' has more than one row; a transposed table has one row per annotator"
        )
    index = list(dict.fromkeys(c for c in (annotator, "_row") if c in frame.columns))
    long = _stack(frame, columns, index, "item").filter(pl.col("label").is_not_null())
    declared = set(orders.values())
    order: dict[str | None, tuple[str, ...]] = {None: declared.pop()} if len(declared) == 1 else {}
    reading = _reading_of(rows, long)
    long = long.rename({_free_name(annotator, "item"): "annotator"})
    return Rows(long, reading=reading, untyped=rows.untyped, orders=order)


NAME_PARTS = ("annotator", "criterion", "repeat", "item")
"""What a part of the name of a column can be, in ``split_columns``."""


def split_names(rows: Rows, template: str, people: Sequence[str] = ()) -> Rows:
    """Split names of columns, ``ann_clarity``, into what they say: annotator, criterion, repeat or part of the item.

    If they do not say the annotator, there is one, whom ``people`` names.
    """
    kinds = "|".join(NAME_PARTS)
    found = re.fullmatch(rf"({kinds})(?:(.*?)({kinds}))?", template)
    roles = [] if found is None else [role for role in (found[1], found[3]) if role]
    if found is None or len({*roles}) < len(roles) or roles == ["annotator"]:
        raise DataError(
            f"split_columns '{template}' has no order; write annotator and criterion with the text between them, "
            "such as split_columns='annotator_criterion', annotator and repeat, or criterion for those of one annotator"
        )
    if "annotator" not in roles and len(people) != 1:
        raise DataError(
            f"split_columns '{template}' does not say who answered: name the one annotator with humans=['ann'] or "
            "judges=['gpt-4o']"
        )
    who = rows.labels["annotator"]
    parts = _parts_of_names(who.unique(maintain_order=True).to_list(), roles, found[2] or "", rows.reading.source)
    numbered = _numbers_of_repeats(parts.get("repeat", {}))
    parts |= {"repeat": numbered} if numbered else {}
    columns = {role: who.replace_strict(of) for role, of in parts.items()}
    if numbered:
        said = listing([f"{name} = {number}" for name, number in numbered.items()], 4)
        rows = replace(rows, reading=rows.reading.add_notes(f"repeats are numbered: {said}"))
    if "annotator" not in roles:
        columns["annotator"] = pl.Series([people[0]]).new_from_index(0, len(who))
    return _with_parts_of_items(rows, columns)


def _numbers_of_repeats(parts: Mapping[str, str]) -> dict[str, str]:
    """Numbers of repeats that have other names, ``original`` and ``swapped``, in their order; none for numbers."""
    names = list(dict.fromkeys(parts.values()))
    if all(name.isdigit() for name in names) or numbered_texts(pl.Series(names, dtype=pl.String)) is not None:
        return {}
    return {name: str(1 + names.index(part)) for name, part in parts.items()}


def _parts_of_names(names: Sequence[str], roles: Sequence[str], mark: str, source: str) -> dict[str, dict[str, str]]:
    """What each name says, by the role of its part."""
    if len(roles) == 1:
        return {roles[0]: {name: name for name in names}}
    alone = split_alone(names, mark, who_first=roles[0] == "annotator")
    if alone is not None and {*roles} == {"annotator", "criterion"}:
        return {role: {n: pair[k] for n, pair in alone.items()} for k, role in enumerate(("annotator", "criterion"))}
    # Without a text between them, each part ends in a number, P1R2, or the second is one: rater2.
    both = r"(?<=\d)(?=[^\W\d])"
    between = re.escape(mark) or (both if all(re.search(both, n) for n in names) else r"(?<=[^\W\d])(?=\d+\Z)")
    # Names with several marks are split at the first or at the last: the one that gives fewer annotators and criteria.
    cuts = [{name: re.fullmatch(rf"(?s)(.+{least}){between}(.+)", name) for name in names} for least in ("?", "")]
    cut = min(cuts, key=lambda one: sum(len({parts[k] for parts in one.values() if parts}) for k in (1, 2)))
    bad = next((name for name, parts in cut.items() if parts is None), None)
    if bad is not None:
        raise DataError(f"{source}: column '{bad}' does not contain '{mark}' of split_columns=...")
    return {
        role: {name: parts[k].strip() for name, parts in cut.items() if parts is not None}
        for k, role in enumerate(roles, 1)
    }


def _with_parts_of_items(rows: Rows, columns: dict[str, pl.Series]) -> Rows:
    """Rows with these columns; a part of the item is joined to it, and to that of the items' metadata."""
    part = columns.pop("item", None)
    labels, items = rows.labels.with_columns(**columns), rows.items
    if part is not None:
        labels = labels.with_columns(part.alias("_part"), pl.col("item").alias("_whole"))
        labels = labels.with_columns(_joined(["_whole", "_part"]).alias("item"))
        if items is not None:
            pairs = labels.select("item", "_whole").unique(maintain_order=True)
            items = pairs.join(items.rename({"item": "_whole"}), on="_whole", how="left").drop("_whole")
        labels = labels.drop("_part", "_whole")
    return replace(rows, labels=labels, items=items)


def _rows_named(frame: pl.DataFrame, column: str, what: str) -> pl.DataFrame:
    """A frame whose column ``_row`` names its rows, if the options use it: ``row 2``."""
    if column != ROWS or ROWS not in frame.columns:
        return frame
    return frame.with_columns(pl.format("row {}", ROWS).alias(ROWS))


def _refuse_absent(rows: Rows, columns: Iterable[str], purpose: str = "") -> None:
    for name in columns:
        if name not in rows.labels.columns:
            words = unknown("column", name, rows.labels.columns, rows.reading.source)
            raise DataError(f"{words} ({purpose})" if purpose else words)


def _reading_of(rows: Rows, long: pl.DataFrame) -> Reading:
    """The report of reading, with counts in rows of the long table."""
    return replace(rows.reading, rows=long.height + sum(e.count for e in rows.reading.exclusions))


def _stack(frame: pl.DataFrame, columns: Sequence[str], index: Sequence[str], named: str) -> pl.DataFrame:
    """Stack columns, with their names in a column called ``named``, independent of the names of other columns."""
    long = frame.unpivot(list(columns), index=list(index), variable_name="_name of column", value_name="_label of it")
    return long.rename({c: _free_name(c, named) for c in index}).rename(
        {"_name of column": named, "_label of it": "label"}
    )


def _free_name(name: str, named: str) -> str:
    """The name of a column, changed if it equals that of the stacked names or labels."""
    return _own_name(name) if name in (named, "label") else name


def _own_name(name: str) -> str:
    """The name of a column, changed if it equals the name of a role that the column does not have."""
    return f"{name} (original)" if name in ("item", "annotator", "criterion", "label") else name


def _refuse_other_columns(rows: Rows, columns: Sequence[str], *, named: bool) -> None:
    """Refuse a mixture of text and numeric columns, and, without names, a column of comments."""
    held = {c: _holds(rows, c) for c in columns}
    texts, numbers = ([c for c, what in held.items() if what == kind] for kind in ("text", "numbers"))
    source = rows.reading.source
    if texts and numbers:
        for name in texts:
            view = rows.views[name]
            known = view.numbers if view.numeric else None if view.corrected is None else view.corrected.texts
            cells = [] if known is None else enumerate(zip(view.texts, known, strict=True), 1)
            if few := {n: cell for n, (cell, read) in cells if cell is not None and read is None}:
                raise mixed_column(name, few, source)
        raise DataError(
            f"{source}: {_hold(texts)} text and {_hold(numbers)} numbers; name the annotators' columns with "
            f"columns={numbers if len(numbers) > 1 or len(texts) < 2 else texts}"
        )
    comments = [c for c in texts if COMMENTS.fullmatch(c.strip())]
    rest = [c for c in columns if c not in comments]
    if comments and rest and not named:
        raise DataError(
            f"{source}: {_hold(comments)} no labels (by name); name the annotators' columns with columns={rest}"
        )


def _hold(columns: Sequence[str]) -> str:
    """``column 'x' holds``, ``columns 'x', 'y' hold``."""
    names = listing([f"'{c}'" for c in columns], 4)
    return f"column {names} holds" if len(columns) == 1 else f"columns {names} hold"


def _holds(rows: Rows, name: str) -> str:
    """``numbers`` or ``text``; ``both`` for a text file with some of each, and ``nothing``."""
    column = rows.labels[name]
    if column.dtype.is_numeric():
        return "numbers" if column.null_count() < len(column) else "nothing"
    if column.null_count() == len(column):
        return "nothing"
    if column.dtype != pl.String or not rows.untyped:
        return "text"
    cells = strip_spaces(column.drop_nulls().unique())
    cells = cells.filter((cells != "") & ~cells.str.to_lowercase().is_in(MARKS))
    found = parse_numbers(cells, None, None, ()) if len(cells) else None
    if found is None:
        return "text" if len(cells) else "nothing"
    return "both" if found.ambiguity is not None or found.mixed else "numbers"


def join_items(rows: Rows, columns: Sequence[str]) -> Rows:
    """Join several columns that together identify an item (lesson and segment) with ``/``, in a column ``item``.

    The two systems of a vote form one pair, independent of their order; the other columns identify its question.
    """
    _refuse_absent(rows, columns, "it should contain a part of the item id")
    if not set(PAIR) <= set(columns):
        return replace(rows, labels=rows.labels.with_columns(_joined(columns).alias("item")))
    rest = [c for c in columns if c not in PAIR]
    pair = pair_names(*map(pl.col, PAIR))
    if not rest:
        return replace(rows, labels=rows.labels.with_columns(pair.alias("item")))
    named = {"item": pl.format("{}: {}", _joined(rest), pair), PAIR_OF: _joined(rest)}
    return replace(rows, labels=rows.labels.with_columns(**named))


def _joined(columns: Sequence[str]) -> pl.Expr:
    return pl.concat_str([pl.col(c).cast(pl.String) for c in columns], separator="/")


def stack_criteria(rows: Rows, columns: Sequence[str]) -> Rows:
    """Convert a table with one column per criterion (one row per item and annotator) to a long one."""
    _refuse_absent(rows, columns, "it should contain labels")
    frame = rows.labels
    index = [c for c in frame.columns if c not in columns]
    frame, orders = _enum_texts(frame, columns)
    # Yes and no next to numbers stay words, as they are in a column alone.
    frame = frame.with_columns(pl.col(c).cast(pl.String) for c in columns if frame[c].dtype == pl.Boolean)
    # If columns of numbers and of words are mixed, numbers become text and are parsed like those of a text file.
    mixed = len({frame[c].dtype == pl.String for c in columns}) > 1
    long = _stack(frame, columns, index, "criterion")
    if "_row" not in long.columns:
        long = long.with_columns(_row=1 + pl.int_range(pl.len()) % frame.height)
    return replace(rows, labels=long, reading=replace(_reading_of(rows, long), as_text=mixed), orders=orders)


def _enum_texts(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[pl.DataFrame, dict[str | None, tuple[str, ...]]]:
    """Convert columns of categories to text, so that they can be stacked; also return the orders that they declare."""
    schema = frame.schema
    kinds = {name: schema[name] for name in columns}
    orders: dict[str | None, tuple[str, ...]] = {
        name: tuple(kind.categories.to_list()) for name, kind in kinds.items() if isinstance(kind, pl.Enum)
    }
    texts = [name for name, kind in kinds.items() if kind in (pl.Categorical, pl.Enum)]
    return frame.with_columns(pl.col(texts).cast(pl.String)), orders


def parse_numeric_columns(frame: pl.DataFrame, leave: Iterable[str]) -> pl.DataFrame:
    """Convert text columns that contain only numbers to numbers; 02139 is a code, not a number."""
    for name in set(frame.columns) - set(leave):
        column = frame[name]
        if column.dtype == pl.String and column.null_count() < len(column):
            if column.str.contains(r"^\s*[-+]?0\d").any():
                continue
            for dtype in (pl.Int64, pl.Float64):
                number = column.cast(dtype, strict=False)
                if number.null_count() == column.null_count():
                    frame = frame.with_columns(number)
                    break
    return frame


def without_marks(
    frame: pl.DataFrame, leave: Iterable[str | None], missing: Collection[Any] | None, *, untyped: bool
) -> tuple[pl.DataFrame, dict[str, list[str]]]:
    """Return the frame without blank cells and marks of missing values, and the columns of each mark that was found.

    Words in ``missing`` are marks in every column of text; the usual marks among numbers are, if the source is untyped.
    """
    texts = pl.Series([one.strip() for one in missing or () if isinstance(one, str)], dtype=pl.String)
    named = texts.filter(plain_numbers(texts).is_null()).to_list()  # a number can be a value elsewhere
    usual, found = () if missing is not None and not len(missing) else MARKS, dict[str, list[str]]()
    for name in frame.columns:
        column = frame[name]
        if column.dtype != pl.String or name in PAIR or name in leave:
            continue
        distinct = column.drop_nulls().unique(maintain_order=True)
        bare = strip_spaces(distinct)
        gone, mark = bare.is_in(named), bare.str.to_lowercase().is_in(list(usual))
        rest = bare.filter(~gone & ~mark & (bare != ""))
        if untyped and len(rest) and not rest.str.contains(r"^[-+]?0\d").any():
            gone = gone | (mark & (plain_numbers(rest).null_count() == 0))
        gone = gone | (bare == "")
        if gone.any():
            for one in bare.filter(gone & (bare != "")).unique(maintain_order=True):
                found.setdefault(one, []).append(name)
            there = column.is_in(distinct.filter(gone).implode()).fill_null(value=False)
            frame = frame.with_columns(pl.select(pl.when(~there).then(column)).to_series().alias(name))
    return frame, found


def records(values: Any, source: str, *, strict: bool = True) -> pl.DataFrame:
    """Convert a list of JSON objects to a frame.

    A column that mixes numbers and text is refused, with the rows; with ``strict=False`` (attributes, not labels)
    it becomes text.
    """
    if not isinstance(values, list) or not all(isinstance(v, dict) for v in values):
        raise DataError(
            f"{source} must contain a list of objects, one per answer, such as "
            '[{"item": "q1", "annotator": "ann", "label": 4}]; an object can contain lists of one length, or one '
            'object of labels by item, such as {"scores": {"q1": 4, "q2": 5}}'
        )
    names = list(dict.fromkeys(key for value in values for key in value))
    return pl.DataFrame({name: column_of(name, [v.get(name) for v in values], source, strict=strict) for name in names})


def load_json(path: Path) -> Any:
    """Load a JSON file; refuse an object with a repeated key, of which ``json`` would drop the first."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(found)
        if len(made) < len(found):
            names = [k for k, _ in found]
            twice = next(n for n in names if names.count(n) > 1)
            raise DataError(f"{path}: key '{twice}' occurs more than once in one object; one answer would be lost")
        return made

    try:
        return json.loads(path.read_text("utf-8-sig"), object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}: not JSON ({error.msg})") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text; save it as UTF-8") from None


def json_objects(path: Path) -> list[dict[str, Any]]:
    """Load the objects of a JSON Lines file."""
    found = []
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    if line.strip():
                        found.append(json.loads(line))
                except json.JSONDecodeError as error:
                    raise DataError(f"{path}, line {number}: not JSON ({error.msg})") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text; save it as UTF-8") from None
    return found


def _json_lines(path: Path) -> pl.DataFrame:
    if path.stat().st_size > SMALL_JSON:
        return read_safely(path, lambda: pl.read_ndjson(path, infer_schema_length=10_000))
    return records(json_objects(path), str(path))


def _json(path: Path) -> pl.DataFrame:
    values = load_json(path)
    found = records_in(values)
    found = _of_pandas(values) if found is None else found
    if found is not None:
        return records(found, str(path))
    if isinstance(values, dict) and values and all(isinstance(v, dict) for v in values.values()):
        labels = nested_labels(values, str(path))
        return labels if path.name not in _KINDS else labels.with_columns(kind=pl.lit(_KINDS[path.name]))
    if isinstance(values, dict) and values and all(isinstance(v, list) for v in values.values()):
        if len({len(v) for v in values.values()}) > 1:
            raise DataError(f"{path}: the columns have different lengths")
        return pl.DataFrame({k: column_of(k, v, str(path)) for k, v in values.items()})
    arrays = records_of_arrays(values)
    return records(values if arrays is None else arrays, str(path))


def _of_pandas(values: Any) -> list[dict[str, Any]] | None:
    """The records of a frame as `pandas.DataFrame.to_json` writes it, by columns or split; None for other objects."""
    if not isinstance(values, dict) or not values:
        return None
    if values.keys() == {"columns", "index", "data"}:
        return [dict(zip(map(str, values["columns"]), row, strict=True)) for row in values["data"]]
    columns = list(values.values())
    if not all(isinstance(one, dict) for one in columns):
        return None
    rows = list(columns[0])
    if rows != [str(i) for i in range(len(rows))] or any(list(one) != rows for one in columns):
        return None
    kinds = [{type(v) for v in one.values() if v is not None} for one in columns]
    # Labels by annotator and item have the same form, but the same type everywhere.
    if not rows or all({str} == kind for kind in kinds) or not any(str in kind for kind in kinds):
        return None
    return [{name: one[row] for name, one in values.items()} for row in rows]


def nested_labels(values: dict[str, dict[str, Any]], source: str) -> pl.DataFrame:
    """Convert ``{annotator: {item: label}}`` to a long frame."""
    found = [(i, a, label) for a, answers in values.items() for i, label in answers.items()]
    texts = [row for row in found if isinstance(row[2], str)]
    numbers = [row for row in found if isinstance(row[2], int | float)]
    if texts and numbers:
        few = min(texts, numbers, key=len)
        shown = "; ".join(f"annotator '{a}', item '{i}': {label!r}" for i, a, label in few[:5])
        more = f"; and {len(few) - 5} more" if len(few) > 5 else ""
        raise DataError(f"{source}: labels mix numbers and text ({shown}{more}); convert them to one type")
    for i, a, label in found:
        if isinstance(label, dict | list):
            raise DataError(f"{source}: annotator '{a}', item '{i}' has {label!r}; a label must be one number or text")
    return pl.DataFrame(
        {
            "item": pl.Series([row[0] for row in found], dtype=pl.String),
            "annotator": pl.Series([row[1] for row in found], dtype=pl.String),
            "label": column_of("label", [row[2] for row in found], source),
        }
    )


def read_delimited(path: Path) -> pl.DataFrame:
    """Read a CSV or TSV file with every cell as text."""
    with path.open("rb") as file:
        header = file.readline().decode("utf-8-sig", errors="replace")
    separator = "\t" if path.suffix.lower() == ".tsv" else max(",;\t|", key=header.count) if header else ","
    try:
        frame = read_safely(path, lambda: pl.read_csv(path, separator=separator, infer_schema=False, has_header=False))
    except DataError:
        refuse_further_cells(path, separator)
        raise
    if not frame.height:
        return frame
    names = [(name or "").strip() for name in frame.row(0)]
    frame = frame[1:]
    # Empty columns without a name to the right of the table.
    kept = [i for i, name in enumerate(names) if name or frame[:, i].null_count() < frame.height]
    names = [names[i] or ("" if not i else f"column {i + 1}") for i in kept]
    refuse_equal_names(path, names)
    return frame.select(pl.nth(kept)).rename(dict(zip([frame.columns[i] for i in kept], names, strict=True)))


def _is_plain(path: Path) -> bool:
    """Whether a text file begins with one row of column names, so that it needs no detection of the header."""
    if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        return False
    with path.open("rb") as file:
        head = file.read(2**16)
    lines = head[: head.rfind(b"\n") + 1].splitlines()
    if len(lines) < 2 or b'"' in lines[0] or b'"' in lines[1] or b"ImportId" in head:
        return False
    try:
        texts = [line.decode("utf-8-sig") for line in lines]
    except UnicodeDecodeError:
        return False
    separator = "\t" if path.suffix.lower() == ".tsv" else max(",;\t|", key=texts[0].count)
    names = [name.strip() for name in texts[0].split(separator)]
    same = len(names) > 2 and texts[1].count(separator) == len(names) - 1
    merged = any(text.startswith((separator, f'""{separator}')) for text in texts[1:40])
    spaced = any(f'{separator} "' in text for text in texts)
    named = all(name and not name.replace(".", "").isdecimal() for name in names)
    return same and named and len(set(names)) == len(names) and not (merged or spaced)


def read_safely(path: Path, read: Any) -> pl.DataFrame:
    """Read the file, or report the error in one line."""
    try:
        frame: pl.DataFrame = read()
    except pl.exceptions.NoDataError:
        raise DataError(f"{path} is empty") from None
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if "utf" in reason.lower():
            raise DataError(f"{path} is not UTF-8 text; save it as UTF-8") from None
        raise DataError(f"{path} cannot be read as a table: {reason}") from None
    return frame


def _refuse_other_files(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise DataError(
            f"{path}: this file type is not supported ({', '.join(sorted(SUFFIXES))} are); save it as CSV or Parquet"
        )
    with path.open("rb") as file:
        start = file.read(4096)
    if not start:
        raise DataError(f"{path} is empty")
    if start.lstrip().startswith((b"#FORMAT=", b"-DOCSTART-", b"#T_SP=")):
        line = start.splitlines()[0].decode(errors="replace")
        raise DataError(
            f"{path} contains spans of text (its first line is {line!r}), not one label per item; export one row per "
            "item and annotator"
        )
    parquet = start[:4] == b"PAR1"
    if (path.suffix.lower() in (".parquet", ".pq")) != parquet:
        raise DataError(f"{path} is {'' if parquet else 'not '}a Parquet file, despite its name")
    if path.suffix.lower() in (*SPREADSHEETS, *ARROW, *SPSS) or start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return
    if not parquet and b"\0" in start:
        kind = " (a spreadsheet or zip archive)" if start[:2] == b"PK" else ""
        raise DataError(f"{path} is a binary file{kind}, not a text table; save it as CSV or Parquet")


# -- pairwise comparisons of models ------------------------------------------------------------------

COLUMNS = ("model_a", "model_b", "winner")
ARENA = Battle(*COLUMNS)

ARENA_ITEMS = ("item", "question_id", "conversation_id", "id")
VOTERS = ("annotator", "judge")
NOBODY = "voters"
"""The annotator, if the table does not name one."""


def is_arena(columns: Collection[str]) -> bool:
    """Whether a table with these columns contains pairwise comparisons of models."""
    return set(COLUMNS) <= set(columns) and "label" not in columns


def read_arena(path: Path, item: str | Sequence[str] | None = None) -> Rows:
    """Read the comparisons of a file as votes: ``first`` is ``model_a``; ``item`` names the column of the question."""
    found = read_table(path)
    return arena_rows(found.labels, str(path), item)


def _votes_of(battles: pl.DataFrame, *, in_order: bool = False) -> NDArray[np.int64]:
    """Number the votes of each question, voter and pair of systems, or of each order of the pair."""
    sides = Sides(battles, np.ones(battles.height, dtype=bool))
    shown = factorize(sides.orders) if in_order else sides.pairs
    coded = (factorize(battles["item"]), factorize(battles["annotator"]), shown)
    return cell_numbers((len(names), codes) for names, codes in coded)[0]


def arena_rows(
    frame: pl.DataFrame, source: str = IN_MEMORY, item: str | Sequence[str] | None = None, battle: Battle = ARENA,
    annotator: str | None = None,
) -> Rows:  # fmt: skip
    """Convert the comparisons of a frame to votes; rows without a winner are counted."""
    absent = [c for c in battle[:3] if c not in frame.columns]
    if absent:
        raise DataError(f"{source} has no column '{absent[0]}'; a table of comparisons has {listing(COLUMNS)}")
    asked = [item] if isinstance(item, str) else list(item or ())
    if (name := next((n for n in asked if n not in frame.columns), None)) is not None:
        raise DataError(f"{source} has no column '{name}'; it has {listing(frame.columns)}")
    frame = frame if "_row" in frame.columns else frame.with_columns(_row=pl.int_range(1, frame.height + 1))
    rest = [c for c in frame.columns if c not in battle[:3]]
    scores = _scores_next_to_votes(frame.select(c for c in rest if c not in (*asked, annotator)))
    items = [c for c in rest if called(plain_name(c), "item") and c not in scores]
    ids = [c for c in items if ID.search(plain_name(c)) or plain_name(c).endswith("id")]
    usual = (*ARENA_ITEMS, *ids, *(c for c in items if frame[c].n_unique() < frame.height))
    named = asked[0] if len(asked) == 1 else next((c for c in usual if c in rest), None)
    people = sorted((c for c in rest if called_people(plain_name(c))), key=lambda c: -called_people(plain_name(c)))
    voter = annotator or next((c for c in (*VOTERS, *people) if c in rest and c != named), None)
    others = [c for c in frame.columns if c not in (voter, battle.winner, "_row")]
    if named is None and not asked and voter is not None:
        named = question_of(frame, others, voter)
    if by_values := voter is None:
        named, voter = voter_of(frame, [c for c in others if c in rest], others, named or asked)
    label = votes_in(frame, battle)
    itself = _against_itself(frame, battle)
    label = pl.select(pl.when(~itself).then(label)).to_series()
    graded = bool((label.abs() > 1).any())
    sides = dict(zip(battle[:2], PAIR, strict=True)) if battle.systems else {}
    votes = frame.drop([c for c in PAIR if c in rest and sides]).rename(sides).with_columns(
        label=label,
        item=pl.col(named).cast(pl.String) if named else pl.format("battle {}", "_row"),
        annotator=pl.col(voter).cast(pl.String) if voter else pl.lit(NOBODY),
    )  # fmt: skip
    if len(asked) > 1:
        votes = join_items(Rows(votes, reading=Reading(source)), [sides.get(c, c) for c in asked]).labels
        named = None
    spent = {c for c in (named, voter) if c is not None} - {"item", "annotator", annotator}
    kept = votes.filter(pl.col("label").is_not_null()).drop(battle.winner, *spent)
    out = votes.height - kept.height - int(itself.sum())
    words = _unread_winners(frame.filter(label.is_null() & ~itself), frame.height, kept.height, battle, source)
    item_is = f"the item is {named or listing(asked)}" if named or asked else "each is an item"
    if by_values and voter:
        item_is += f"; the annotator is {voter} (it contains names of models and others)"
    notes = [f"comparisons read as votes: first is {battle.first}, second is {battle.second}; {item_is}"]
    left = _unread(frame, [c for c in rest if c not in (*spent, "_row")], scores)
    notes += [*([] if voter else [no_voter(NOBODY)]), *left]
    if battle.systems:
        # Battles without a question are separate items, so no vote is repeated.
        again = "repeat" not in kept.columns and bool(named or asked)
        kept, said = _repeated_votes(kept, named or "item") if again else (kept, [])
    else:
        single = kept["item"].n_unique() == kept.height and not asked
        kept, said = (kept, _pairs_of_texts(kept, battle)) if single else texts_on_one_side(kept, battle[:2])
    notes += said
    neither = f"{battle.winner} names neither {battle.first}, {battle.second} nor a tie{f' ({words})' if words else ''}"
    gone = (Exclusion("row", out, neither),) if out else ()
    if itself.any():
        gone = (*gone, Exclusion("row", int(itself.sum()), "compares a system with itself"))
    if annotator is not None and annotator != "annotator":
        kept = kept.drop("annotator")
    scale = Preference(GRADES) if graded else Preference()
    reading = Reading(source, frame.height, exclusions=gone, notes=tuple(notes))
    return Rows(kept, reading=reading, scales={None: scale}, texts=None if battle.systems else battle[:2])


def texts_on_one_side(votes: pl.DataFrame, sides: tuple[str, str]) -> tuple[pl.DataFrame, list[str]]:
    """Return votes on texts with each on one side, if those on one item show its two texts in both orders; and a note.

    The text that is first by its letters becomes the first of all votes, so that the order of rows has no influence.
    """
    first, second = (votes[side].cast(pl.String) for side in sides)
    orders = pl.DataFrame([votes["item"], first.alias("first"), second.alias("second")]).unique()
    swapped = (first > second).fill_null(value=False)
    if not orders.join(orders, left_on=["item", "first", "second"], right_on=["item", "second", "first"]).filter(
            pl.col("first") != pl.col("second")).height:  # fmt: skip
        return votes, []
    label = pl.col("label").cast(pl.Int64)
    place = pl.when(label < 0).then(1).when(label > 0).then(2).cast(pl.Int64)
    shown = votes if "position" in votes.columns else votes.with_columns(position=place)
    made = swap_sides(shown, swapped.to_numpy(), sides)
    before = marked_as_swapped(votes[SWAPPED]) if SWAPPED in votes.columns else False
    made = made.with_columns(pl.Series(SWAPPED, swapped.to_numpy() ^ before))
    return made, [words.texts_on_one_side(int(swapped.sum()), SWAPPED)]


def _pairs_of_texts(votes: pl.DataFrame, battle: Battle) -> list[str]:
    """A note if pairs of texts come again in several rows, each of them an item, and a column names each of them."""
    others = [c for c in votes.columns if c not in (*battle[:2], "item", "annotator", "label", "_row")]
    texts = [pl.col(side).cast(pl.String) for side in battle[:2]]
    pairs = votes.select(*others, _pair=pl.concat_list(texts).list.sort().list.join("\n"))
    number = pairs["_pair"].n_unique()
    same = (c for c in others if pairs[c].null_count() == 0 and pairs[c].n_unique() == number)
    found = next((c for c in same if pairs.select("_pair", c).n_unique() == number), None)
    return [] if found is None or 2 * number > votes.height else [pairs_of_texts(number, found, votes.height)]


MOST_UNREAD, FEW_UNREAD = 0.05, 3
"""Share, and number, of rows whose winner can be an unknown word: with more, the votes for one side can be lost."""


def _unread_winners(unread: pl.DataFrame, n: int, kept: int, battle: Battle, source: str) -> str:
    """The words of no known meaning in rows without a vote; refused if they are more than a few of ``n`` rows."""
    said = unread[battle.winner].cast(pl.String).str.strip_chars()
    said = said.filter(said.is_not_null() & ~said.str.to_lowercase().is_in(list(MARKS)))
    words = listing([repr(v) for v in said.unique(maintain_order=True)], 4)
    if len(said) > min(max(MOST_UNREAD * n, FEW_UNREAD), n / 2) or not kept:
        raise DataError(
            f"{source}: '{battle.winner}' names no winner in {counted(len(said), 'row')} ({words}); it must "
            f"contain a side (a name in '{battle.first}' or '{battle.second}', or words such as {battle.first}, "
            f"{battle.second}, left, right), tie, or a grade such as A>>B; leave the cells of missing votes empty"
        )
    return words


def _against_itself(frame: pl.DataFrame, battle: Battle) -> pl.Series:
    """Which rows have one system on both sides."""
    if not battle.systems:
        return pl.repeat(False, frame.height, dtype=pl.Boolean, eager=True)
    one, other = (strip_spaces(frame[side].cast(pl.String)) for side in battle[:2])
    return (one == other).fill_null(False)


def votes_by_place(rows: Rows, annotator: object, judges: Collection[str]) -> Rows:
    """Return votes of people by their places among those on one pair, drawn, if the annotator is ``place``.

    Judges, and annotators with names of models, keep their names.
    """
    if annotator != PLACE or PLACE in rows.labels.columns:
        return rows
    votes = rows.labels.drop("repeat", strict=False)
    names = votes["annotator"].unique().to_list()
    people = ~votes["annotator"].is_in([*judges, *model_names(names, names)])
    pair = Sides(votes, np.ones(votes.height, dtype=bool)).pairs.codes if set(PAIR) <= {*votes.columns} else 0
    groups = votes.select("item", people.alias("people"), pl.Series("pair", np.broadcast_to(pair, votes.height)))
    place = places_within(groups, drawn=True)
    votes = votes.with_columns(pl.when(people).then(pl.lit(place)).otherwise(pl.col("annotator")).alias(PLACE))
    places = (*natural(votes.filter(people)[PLACE].unique()),)
    kept = [note for note in rows.reading.notes if note not in (REPEATED_VOTES, no_voter(NOBODY))]
    note = (
        "people are named by a place among the votes on one pair of systems, which is drawn and can be another "
        "person's on another pair; judges keep their names"
    )
    notes = (*kept, note)
    reading = replace(rows.reading, notes=notes, places=places)
    return replace(rows, labels=votes.drop("annotator"), reading=reading)


LEAST_SCORES = 3
"""Columns of whole numbers on one scale from which they are scores next to votes, under any names."""


def _scores_next_to_votes(frame: pl.DataFrame) -> list[str]:
    """The columns with scores next to votes, by their names or by their common scale."""
    views = {n: v for n, v in views_of(frame).items() if v.numeric and not v.dates}
    plain = {n: plain_name(n) for n in views}
    few = [n for n, v in views.items() if v.whole and 2 <= v.n_values <= MOST_SHARED_VALUES
           and not (ID.search(plain[n]) or called(plain[n], "repeat") or called_people(plain[n]))]  # fmt: skip
    shared = {n for group in scale_groups(few, views) if len(group) >= LEAST_SCORES for n in group}
    return [n for n in views if n in shared or {"score", "rating", "grade"} & {*plain[n].split()}]


def _unread(frame: pl.DataFrame, names: Sequence[str], scores: Sequence[str]) -> list[str]:
    """The notes on columns next to votes with scores, and on those whose cells are objects like answers."""
    found = objects_like_answers(frame, names)
    notes = [unread_answers(found)] if found else []
    return [*notes, f"not read as labels, next to votes: {listing(scores)}"] if scores else notes


REPEATED_VOTES = "several votes of one voter on one item are numbered in the order of the table (repeat)"


def _repeated_votes(votes: pl.DataFrame, question: str) -> tuple[pl.DataFrame, list[str]]:
    """Votes of one voter on one item, which are on parts of a question, in both orders, or repeats; and a note."""
    vote = pl.Series("_vote", _votes_of(votes))
    if not any_twice(vote.to_numpy()):
        return votes, []
    if part := _part_of_question(votes, vote):
        votes = votes.with_columns(item=pl.format("{}/{}", "item", pl.col(part).cast(pl.String)))
        return votes, [f"votes of one voter on one {question} differ in '{part}': each of its values is an item"]
    if (votes["annotator"] != NOBODY).all():  # voters without a name are several
        vote = pl.Series("_vote", _votes_of(votes, in_order=True))
        if not any_twice(vote.to_numpy()):
            return votes, []  # one vote in each order, which is a condition
    nested = any(kind.is_nested() for kind in votes.dtypes)
    copies = 0 if nested else votes.height - votes.drop("_row").unique().height
    votes = votes.with_columns(vote).with_columns(repeat=pl.int_range(1, pl.len() + 1).over("_vote")).drop("_vote")
    copied = (
        f"{counted(copies, 'vote')} {'equals' if copies == 1 else 'equal'} an earlier row in every cell and "
        f"{'counts' if copies == 1 else 'count'} as further votes: remove them if they are copies"
    )
    named = (votes["annotator"] != NOBODY).all()
    return votes, [REPEATED_VOTES, *([copied] if copies and named else [])]


def _part_of_question(votes: pl.DataFrame, vote: pl.Series) -> str | None:
    """The column in which all votes of one voter on one question differ, such as its turn; None if there is none.

    Its values come again in all questions, as those of a time do not; a column called as a repeat numbers the votes.
    """
    known = {"item", "annotator", "label", "criterion", "_row", *PAIR}
    for name in (c for c in votes.columns if c not in known):
        column, plain = votes[name], plain_name(name)
        few = 2 <= column.n_unique() <= votes.height / (2 * MIN_VOTES * votes["item"].n_unique()) + 1
        if not few or column.null_count() or column.dtype.is_nested() or called(plain, "repeat"):
            continue
        if not called(plain, "time stamp") and not pl.DataFrame([vote, column]).is_duplicated().any():
            return name
    return None


_ALPACA = {"generator_1": "model_a", "generator_2": "model_b", "preference": "winner", "output_1": "text_a",
           "output_2": "text_b", "instruction": "question"}  # fmt: skip
"""Columns of AlpacaEval's annotations, and their names in battles."""


def with_names_of_battles(rows: Rows) -> Rows:
    """Return annotations of AlpacaEval as battles: a preference from 1 (the first output) to 2; 1.5 or 0 is a tie."""
    frame = rows.labels
    if not {*list(_ALPACA)[:3]} <= {*frame.columns} or not {*_ALPACA.values()}.isdisjoint(frame.columns):
        return rows
    number = frame["preference"].cast(pl.Float64, strict=False)
    known = number.drop_nulls()
    if number.null_count() > frame["preference"].null_count() or not (known.is_between(1, 2) | (known == 0)).all():
        return rows
    tie = (number == 1.5) | (number == 0)
    winner = pl.when(tie).then(pl.lit("tie")).when(number < 1.5).then(pl.lit("model_a")).when(number > 1.5).then(
        pl.lit("model_b"))  # fmt: skip
    made = frame.with_columns(winner.alias("preference")).rename({n: m for n, m in _ALPACA.items() if n in frame})
    graded = "" if known.is_in([0.0, 1.0, 1.5, 2.0]).all() else "; its size is not read"
    note = f"preference of AlpacaEval: below 1.5 a vote for generator_1, above 1.5 for generator_2{graded}"
    return replace(rows, labels=made, reading=rows.reading.add_notes(note))


def read_battles(
    rows: Rows, item: str | Sequence[str] | None, annotator: str | None, *, wide: bool, judges: Collection[str] = ()
) -> Rows:
    """Read the rows of a table as votes if they are battles, by any names; unchanged otherwise.

    If each rater has a column of votes, only their words change; ``wide`` reads no other tables.
    """
    battles = find_battles(rows.labels, rows.views)
    if len(battles) > 1:
        named = name_sides(rows.labels, battles)
        note = f"comparisons read as votes: first is {battles[0].first}, second is {battles[0].second}"
        same = named.equals(rows.labels)
        rows = replace(rows, compared=battles[0][:2])
        return rows if same else replace(rows, labels=named, reading=rows.reading.add_notes(note))
    if wide or not battles:
        return rows
    drawn = annotator == PLACE and PLACE not in rows.labels.columns
    made = arena_rows(rows.labels, rows.reading.source, item, battles[0], None if drawn else annotator)
    made = votes_by_place(made, annotator, judges)
    reading = replace(rows.reading.add_notes(*made.reading.notes), exclusions=made.reading.exclusions,
                      places=made.reading.places)  # fmt: skip
    return replace(made, items=rows.items, annotators=rows.annotators, reading=reading, untyped=rows.untyped)


# -- JSON Lines for ``datasets.load_dataset('json')`` ----------------------------------------------


def read_hugging_face(path: Path) -> Rows:
    """Read the answers of each line: lists as long as ``label`` belong to the answers, other values to the item."""
    answers: list[dict[str, Any]] = []
    items: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(json_objects(path), 1):
        if not isinstance(line.get("label"), list) or not isinstance(line.get("annotator"), list) or "item" not in line:
            raise DataError(f"{path}, line {number}: 'item' and lists 'annotator' and 'label' are required")
        length = len(line["label"])
        lists = {k: v for k, v in line.items() if isinstance(v, list)}
        uneven = [k for k, v in lists.items() if len(v) != length]
        if uneven:
            raise DataError(
                f"{path}, line {number}: '{uneven[0]}' has {len(lists[uneven[0]])} entries and 'label' {length}"
            )
        same: dict[str, Any] = {k: line[k] for k in ("item", "criterion") if k in line}
        answers += [{**same, **{k: v[i] for k, v in lists.items()}, "_row": f"line {number}"} for i in range(length)]
        about = {k: v for k, v in line.items() if k not in lists and k not in same}
        items.setdefault(str(line["item"]), {"item": line["item"], **about})
    if not answers:
        raise DataError(f"{path} is empty")
    table = records(answers, str(path))
    return Rows(
        table, items=records(list(items.values()), str(path), strict=False), reading=Reading(str(path), len(answers))
    )


def write_hugging_face(labels: Annotations, path: Path) -> list[str]:
    """Write one line per item (and criterion): its attributes, and lists of annotators, kinds, labels, conditions."""
    table = labels.labels.with_columns(labels.column("kind").alias("kind"))
    keys = [k for k in ("item", "criterion") if k in table.columns]
    lists = [c for c in ("annotator", "kind", "label", *KEY[3:]) if c in table.columns]
    lists += sorted(c for c in table.columns if c not in (*keys, *lists))
    about = labels.items.select("item", *sorted(c for c in labels.items.columns if c != "item"))
    known = {row["item"]: row for row in about.iter_rows(named=True)}
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in table.group_by(keys, maintain_order=True).agg(lists).iter_rows(named=True):
            of_item = {k: v for k, v in known[row["item"]].items() if k != "item" and v is not None}
            line: dict[str, Any] = {**{k: row[k] for k in keys}, **of_item, **{k: row[k] for k in lists}}
            file.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
    people = [c for c in labels.annotators.columns if c not in ("annotator", "kind")]
    return [f"attributes of annotators not written: {', '.join(people)}"] if people else []


# -- the folder of the alternative annotator test --------------------------------------------------
# ``human_annotations.json`` and ``llm_annotations.json`` hold ``{annotator: {item: label}}``; an optional
# ``items.jsonl`` holds one object an item. Labels keep their JSON type.

HUMANS = "human_annotations.json"
JUDGES = "llm_annotations.json"
ITEMS = "items.jsonl"
_KINDS = {HUMANS: "human", JUDGES: "judge"}
"""The kind of annotator, by the name of a file, also if it is read alone."""


def is_alt_test(folder: Path) -> bool:
    """Whether a folder is in this layout."""
    return (folder / HUMANS).is_file()


def read_alt_test(folder: Path) -> Rows:
    """Read the labels of humans and judges, and the items."""
    parts: list[pl.DataFrame] = []
    names: list[set[str]] = []
    for file in (HUMANS, JUDGES):
        path = folder / file
        values = load_json(path) if path.is_file() else {}
        if not isinstance(values, dict) or not all(isinstance(v, dict) for v in values.values()):
            raise DataError(f"{path} must contain {{annotator: {{item: label}}}}")
        names.append(set(values))
        parts.append(nested_labels(values, str(path)).with_columns(kind=pl.lit(_KINDS[file])))
    both = names[0] & names[1]
    if both:
        raise DataError(f"{folder}: '{min(both)}' is both a human and a judge; rename one of them")
    filled = [part for part in parts if part.height]
    if not filled:
        raise DataError(f"{folder} contains no labels")
    if len({part["label"].dtype == pl.String for part in filled}) > 1:
        raise DataError(f"{folder}: one of {HUMANS} and {JUDGES} contains text labels, the other numbers")
    labels = pl.concat(filled, how="vertical_relaxed")
    labels = labels.with_columns(_row=pl.format("{}: {}", "annotator", "item"))
    items = None
    if (folder / ITEMS).is_file():
        items = records(json_objects(folder / ITEMS), str(folder / ITEMS), strict=False)
    return Rows(labels, items=items, reading=Reading(str(folder), labels.height))


def write_alt_test(labels: Annotations, folder: Path) -> list[str]:
    """Write the labels as a folder of the alternative annotator test, which cannot store conditions.

    A criterion becomes a part of the item id, ``item__criterion``; `assay.read` splits it again, automatically or,
    if there are few items, with ``split_item="__"``.

    Returns
    -------
    list of str
        Everything that was not written.
    """
    labels = one_answer_each(labels, "this folder")
    name = pl.col("item") if not labels.criteria else pl.format("{}__{}", "item", "criterion")
    table = labels.labels.select(name.alias("id"), "item", "annotator", "label")
    folder.mkdir(parents=True, exist_ok=True)
    for file, people in ((HUMANS, labels.humans), (JUDGES, labels.judges)):
        answers = {who: _answers(table.filter(pl.col("annotator") == who)) for who in natural(people)}
        (folder / file).write_text(json.dumps(answers, ensure_ascii=False, indent=1) + "\n", "utf-8")
    about = sorted(c for c in labels.items.columns if c != "item")
    if about:
        ids = table.select("id", "item").unique()
        of_items = ids.join(labels.items.select("item", *about), on="item", how="left").sort("id").drop("item")
        lines = [{"item": row.pop("id"), **row} for row in of_items.iter_rows(named=True)]
        text = "".join(json.dumps(line, ensure_ascii=False, default=str) + "\n" for line in lines)
        (folder / ITEMS).write_text(text, "utf-8")
    known = {"item", "annotator", "criterion", "label", "repeat"}
    lost = [c for c in labels.labels.columns if c not in known]
    lost += [c for c in labels.annotators.columns if c not in ("annotator", "kind")]
    return [f"columns not written, because the folder has no place for them: {', '.join(lost)}"] if lost else []


def _answers(table: pl.DataFrame) -> dict[str, Any]:
    found = dict(zip(table["id"], table["label"], strict=True))
    return {name: found[name] for name in natural(found)}
