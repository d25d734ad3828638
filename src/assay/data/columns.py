"""Frames and columns of any make, as Polars ones, with 1 and "1" kept apart."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.names import Coded as Coded
from assay.data.names import Spelling, alike, coded, like_models, one_spelling, spelled_as, trimmed, without_spaces
from assay.data.scales import Scale
from assay.data.values import LabelColumn, Settled, Ways, inferred, numbers_of_series, refuse_off_scale, settled
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.options import one_of

# -- Frames and columns of any make, as Polars ones, with 1 and "1" kept apart ---------------------


def to_polars(
    frame: Any, strict: Collection[str] = (), source: str = "a table in memory", *, orders: bool = False
) -> pl.DataFrame:
    """Any eager or lazy frame that narwhals knows, as a Polars frame; the original is never changed.

    ``strict`` names the columns in which a mixture of numbers and text is refused; in others it becomes text. With
    ``orders``, categories whose order is declared become an Enum, which keeps it; they become text otherwise. Class
    labels of Hugging Face's ``datasets`` become their names.
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    import narwhals as nw

    frame, classes = _of_datasets(frame)
    try:
        native = nw.from_native(_with_names_of_text(frame))
    except TypeError:
        raise DataError(
            f"cannot read a table from {type(frame).__name__}; give a path, or a pandas, Polars or Arrow frame"
        ) from None
    eager = native.collect("polars") if isinstance(native, nw.LazyFrame) else native
    if not eager.implementation.is_pandas_like():
        found = eager.to_polars()
        if not eager.implementation.is_pyarrow():
            return found
        table = eager.to_native()
        found = with_orders(found, orders_of(table)) if orders else found
        return with_class_names(found, classes or class_names(table.schema.metadata))
    # Column by column, because pandas columns of objects may hold anything and Arrow may not be installed.
    columns = {}
    for name in eager.columns:
        column = eager[name]
        if column.dtype.is_numeric() and not column.is_null().any():
            columns[str(name)] = pl.Series(str(name), column.to_numpy())
        else:
            values = [None if gone else v for v, gone in zip(column.to_list(), column.is_null().to_list(), strict=True)]
            columns[str(name)] = column_of(str(name), values, source, strict=name in strict)
    ordered = {str(n): dtype for n, dtype in eager.schema.items() if isinstance(dtype, nw.Enum) and orders}
    return with_orders(pl.DataFrame(columns), {n: tuple(map(str, dtype.categories)) for n, dtype in ordered.items()})


# -- what columns declare -------------------------------------------------------------------------------


def with_orders(frame: pl.DataFrame, orders: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Columns of text whose order is declared as Enums, which keep it."""
    return frame.with_columns(
        pl.col(name).cast(pl.String).cast(pl.Enum(list(order))) for name, order in orders.items() if len(order)
    )


def orders_of(table: Any) -> dict[str, tuple[str, ...]]:
    """The categories of an Arrow table's ordered columns, lowest first."""
    found = {}
    for field in table.schema:
        if getattr(field.type, "ordered", False):
            column = table[field.name].unify_dictionaries()
            chunk = column.chunk(0) if column.num_chunks else None
            found[field.name] = () if chunk is None else tuple(map(str, chunk.dictionary.to_pylist()))
    return found


def class_names(metadata: Mapping[Any, Any] | None) -> dict[str, list[str]]:
    """The names of class labels by column, as Hugging Face's ``datasets`` writes them beside a table."""
    known = {k.decode() if isinstance(k, bytes) else k: v for k, v in (metadata or {}).items()}
    try:
        features = json.loads(known.get("huggingface") or "{}").get("info", {}).get("features", {})
    except (ValueError, AttributeError):
        return {}
    classes = {n: f for n, f in features.items() if isinstance(f, dict) and f.get("_type") == "ClassLabel"}
    return {name: list(map(str, feature["names"])) for name, feature in classes.items() if feature.get("names")}


def with_class_names(frame: pl.DataFrame, classes: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Numbers of classes as the names of the classes; −1 stands for no label.

    Raises
    ------
    DataError
        For a number that no class has.
    """
    for name, names in classes.items():
        if name not in frame.columns or not frame[name].dtype.is_integer():
            continue
        strange = frame[name].filter(~frame[name].is_between(-1, len(names) - 1))
        if strange.len():
            raise DataError(f"column '{name}' has {len(names)} classes, and a label of number {strange[0]}")
        frame = frame.with_columns(
            pl.col(name).replace_strict(list(range(len(names))), list(names), default=None, return_dtype=pl.String)
        )
    return frame


def _of_datasets(frame: Any) -> tuple[Any, dict[str, list[str]]]:
    """A data set of Hugging Face's ``datasets`` as its Arrow table, and the names of its classes."""
    if not type(frame).__module__.startswith("datasets."):
        return frame, {}
    if not hasattr(frame, "with_format") or not hasattr(frame, "num_rows"):
        raise DataError(f"a {type(frame).__name__} holds several tables or none; give one of them: dataset['train']")
    if isinstance(frame.num_rows, dict):
        raise DataError(f"the data set has several parts ({', '.join(frame.num_rows)}); give one: dataset['train']")
    names = {n: list(f.names) for n, f in frame.features.items() if type(f).__name__ == "ClassLabel" and f.names}
    return frame.with_format("arrow")[:], names


def _with_names_of_text(frame: Any) -> Any:
    """A frame whose columns have one name each, a text: 1 becomes "1"."""
    names = list(getattr(frame, "column_names", getattr(frame, "columns", ())))
    if any(isinstance(name, tuple) for name in names):
        raise DataError("the table has column names of several levels; give each column one name")
    texts = [str(name) for name in names]
    twice = next((name for name in texts if texts.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"the table has two columns '{twice}'; rename one of them")
    if names != texts and hasattr(frame, "set_axis"):
        return frame.set_axis(texts, axis=1)
    return frame


def column_of(name: str, values: Sequence[Any], source: str, *, strict: bool = True) -> pl.Series:
    """A column of Python values in the one type they have.

    Numbers mixed with text are refused by row, or become text with ``strict=False``; lists and objects
    become JSON text.
    """
    said = [v for v in values if v is not None]
    if any(isinstance(v, dict | list) for v in said):
        return pl.Series(name, [None if v is None else json.dumps(v, ensure_ascii=False, default=str) for v in values])
    texts = [i for i, v in enumerate(values) if isinstance(v, str)]
    if texts and len(texts) < len(said):
        if not strict:
            return pl.Series(name, [None if v is None else str(v) for v in values])
        others = [i for i, v in enumerate(values) if v is not None and not isinstance(v, str)]
        few = min(texts, others, key=len)
        rows = ", ".join(f"row {i + 1}: {values[i]!r}" for i in few[:5])
        more = f" and {len(few) - 5} more" if len(few) > 5 else ""
        raise DataError(
            f"{source}: column '{name}' mixes numbers and text ({rows}{more}); 1 is not \"1\": make them one type"
        )
    return pl.Series(name, values, strict=False)


# -- A long frame of any make -> the parts of the one table, checked -------------------------------

KEY = ("item", "annotator", "criterion", "repeat")
"""The columns whose combination names one answer (with the declared conditions)."""


BLANK = "blank, as sheets end in"
"""Why a row without anything in it does not count."""


def roles(table: pl.DataFrame, given: Mapping[str, str | None], source: str) -> dict[str, str]:
    """The column of each role: those of item, annotator and label have to be there, others count where they are."""
    found = {}
    for role in ("item", "annotator", "label"):
        name = str(given[role])
        if name not in table.columns:
            raise DataError(
                unknown("column", name, table.columns, source)
                + f" (it should hold the {role}; name another with {role}=...)"
            )
        found[role] = name
    for role in ("criterion", "repeat", "kind"):
        chosen = given[role]
        if chosen is not None and chosen not in table.columns:
            raise DataError(unknown("column", chosen, table.columns, source))
        if chosen is not None or role in table.columns:
            found[role] = chosen or role
    for role, name in found.items():
        other = next((one for one, its in found.items() if its == name and one != role), None)
        if other is not None:
            raise DataError(
                f"column '{name}' cannot hold both the {role} and the {other}; name another with {other}=..."
            )
    if table.height == 0:
        raise DataError(f"{source} has no rows")
    return found


def under_roles(table: pl.DataFrame, wanted: Mapping[str, str]) -> pl.DataFrame:
    """The columns under the names of their roles, and where each row stands."""
    # A column that bears a role's name but plays no role would clash after renaming.
    clash = {r for r, name in wanted.items() if name != r and r in table.columns} - set(wanted.values())
    table = table.rename({name: f"{name} (original)" for name in clash}).rename(
        {name: role for role, name in wanted.items()}
    )
    if "_row" not in table.columns:
        table = table.with_columns(_row=pl.int_range(1, table.height + 1, dtype=pl.UInt32))
    texts = [n for n, dtype in table.schema.items() if dtype in (pl.Categorical, pl.Enum) and n != "label"]
    return table.with_columns(pl.col(texts).cast(pl.String))


def without_blank_rows(table: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The rows in which there is something, and how many have nothing: a sheet often ends in such rows."""
    rows: NDArray[np.int64] | None = None
    for name in table.columns:
        if name == "_row":
            continue
        if rows is None:
            rows = np.flatnonzero(_blank(table[name]).to_numpy())
        else:
            rows = rows[_blank(table[name][rows]).to_numpy()]
        if not len(rows):
            return table, 0
    if rows is None:
        return table, 0
    there = np.ones(table.height, dtype=bool)
    there[rows] = False
    return table.filter(pl.Series(there)), len(rows)


def _blank(column: pl.Series) -> pl.Series:
    """Where a cell holds nothing: null, NaN, or text of spaces."""
    blank = column.is_null()
    if column.dtype == pl.String:
        return blank | (column.str.strip_chars() == "").fill_null(True)
    return blank | column.is_nan().fill_null(True) if column.dtype.is_float() else blank


def with_ids(table: pl.DataFrame, source: str) -> tuple[pl.DataFrame, dict[str, Coded], list[str]]:
    """Items and annotators as text without spaces around it, and as numbers; a row without one is refused."""
    ids: dict[str, Coded] = {}
    notes: list[str] = []
    for name in ("item", "annotator"):
        column = _whole(table[name])
        if not column.null_count():
            ids[name] = _named(column)
        # Whether a name is blank is asked of each name, not of each row.
        if column.null_count() or (ids[name].names.str.strip_chars() == "").any():
            missing = table.filter(_as_id(table[name]).is_null())
            raise DataError(
                f"{source}: {counted(missing.height, 'row')} without {name} ({_rows(missing)}); fill or remove them"
            )
        ids[name], said = trimmed(ids[name], name)
        table = table.with_columns(column if column.dtype == pl.String and not said else ids[name].column())
        notes += said
    return table, ids, notes


def _named(column: pl.Series) -> Coded:
    """Names as text, and each row's; numbers are told apart as numbers, and each is written once."""
    if not column.dtype.is_integer():
        return Coded(*coded(column.cast(pl.String)))
    numbers, codes = coded(column)
    names, place = coded(numbers.cast(pl.String))
    return Coded(names, place[codes])


def with_criteria(table: pl.DataFrame, ids: dict[str, Coded]) -> tuple[pl.DataFrame, list[str]]:
    """The criterion as text without spaces around it, empty where there is none."""
    text = _as_text(table["criterion"]).fill_null("")
    ids["criterion"], said = trimmed(Coded(*coded(text)), "criterion")
    return table.with_columns(ids["criterion"].column() if said else text), said


def in_one_spelling(
    table: pl.DataFrame, ids: dict[str, Coded], how: Spelling, source: str
) -> tuple[pl.DataFrame, list[str]]:
    """Names that differ only in spelling refused, merged or kept apart; see `assay.data.names.one_spelling`."""
    one_of("spelling", how, get_args(Spelling))
    notes: list[str] = []
    for role, found in ids.items():
        ids[role], said = one_spelling(found, role, how, source)
        if ids[role] is not found:
            table = table.with_columns(ids[role].column().alias(role))
        notes += said
    return table, notes


def labelled(table: pl.DataFrame, ids: dict[str, Coded]) -> tuple[pl.DataFrame, dict[str, Coded]]:
    """The rows that have a label."""
    blank = _blank(table["label"])
    if not blank.any():
        return table, ids
    keep = (~blank).to_numpy()
    return table.filter(~blank), {name: found.where(keep) for name, found in ids.items()}


def natural(names: Iterable[Any]) -> tuple[Any, ...]:
    """Names in the order people expect: '2' before '10', numbers as numbers."""
    values = list(names)
    if all(isinstance(v, int | float) for v in values):
        return tuple(sorted(values))
    return tuple(sorted(values, key=lambda v: ([_piece(p) for p in re.split(r"(\d+)", str(v))], str(v))))


def _piece(piece: str) -> tuple[int, str]:
    # str.isdecimal, not int(): digits of other scripts and of great length are names, not numbers.
    return (int(piece), "") if piece.isascii() and piece.isdecimal() and len(piece) < 16 else (-1, piece)


def _as_text(column: pl.Series) -> pl.Series:
    """Names are text; whole numbers lose the .0 that a missing value elsewhere gave them."""
    return _whole(column).cast(pl.String)


def _whole(column: pl.Series) -> pl.Series:
    """Whole numbers that a missing value elsewhere made fractions, as whole numbers."""
    if column.dtype.is_float() and bool((column.drop_nulls().drop_nans() % 1 == 0).all()):
        return column.fill_nan(None).cast(pl.Int64)
    return column


def _as_id(column: pl.Series) -> pl.Series:
    """Names as text, null where they are blank."""
    text = _as_text(column)
    if column.dtype.is_integer():
        return text
    return pl.select(pl.when(text.str.strip_chars() != "").then(text)).to_series().alias(column.name)


def _rows(bad: pl.DataFrame) -> str:
    return ("row " if bad.height == 1 else "rows ") + listing([f"{r}" for r in bad["_row"]], 5)


def with_id(frame: pl.DataFrame, role: str, alias: str) -> pl.DataFrame:
    """A table of items (or annotators) with their names as text, under the name of the role."""
    if role not in frame.columns and alias in frame.columns:
        frame = frame.rename({alias: role})
    if role not in frame.columns:
        raise DataError(unknown("column", role, frame.columns, f"the table of {role}s"))
    return frame.with_columns(_as_id(frame[role]))


def split_items(
    table: pl.DataFrame, items: pl.DataFrame | None, pattern: str
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Turn parts of the item id into columns of the labels (criterion, repeat) or of the items."""
    if "(?P<" in pattern:
        try:
            groups = list(re.compile(pattern).groupindex)
        except re.error as error:
            raise DataError(f"split_item '{pattern}' is not a regular expression: {error}") from None
        expression = pattern
    else:
        groups = ["item", "criterion"]
        expression = rf"(?s)^(?P<item>.+){re.escape(pattern)}(?P<criterion>.+?)$"
    parts = table["item"].str.extract_groups(expression).struct.unnest().with_columns(pl.all().str.strip_chars())
    unmatched = table.filter(parts.select(pl.any_horizontal(pl.all().is_null())).to_series())
    if unmatched.height:
        raise DataError(
            f"split_item '{pattern}' does not fit item '{unmatched['item'][0]}' "
            f"({unmatched.height} rows, {_rows(unmatched)})"
        )
    attributes = [g for g in groups if g not in ("item", "criterion", "repeat")]
    whole = table["item"].alias("_whole")
    if "item" not in groups:
        parts = parts.with_columns(item=whole)
    about = parts.select("item", *attributes, whole)
    if items is not None:
        about = about.unique("_whole", maintain_order=True).join(
            items.rename({"item": "_whole"}), on="_whole", how="left", maintain_order="left"
        )
    taken = [c for c in parts.columns if c not in attributes]
    table = table.drop([c for c in taken if c in table.columns]).with_columns(parts.select(taken))
    return table, about.unique("item", keep="first", maintain_order=True).drop("_whole")


def whole_repeats(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """The number of each answer, 1 where none is given."""
    number = table["repeat"].cast(pl.Float64, strict=False)
    bad = table.filter(table["repeat"].is_not_null() & (number.is_null() | (number % 1 != 0)))
    if bad.height:
        raise DataError(f"{source}: column 'repeat' must hold whole numbers; {_rows(bad)} does not")
    return table.with_columns(number.fill_null(1).cast(pl.Int64).alias("repeat"))


def on_scale(
    table: pl.DataFrame, scale: Scale | Mapping[str, Scale] | None, ways: Ways, source: str
) -> tuple[pl.DataFrame, dict[str | None, Scale], list[str], dict[str, int]]:
    """Labels as they count, on their scale, which is inferred where none is given; labels off the scale are refused.

    Returns
    -------
    table : polars.DataFrame
        Null where a label is no answer.
    scales : mapping of criterion to Scale
        Of all criteria under None, where they have one.
    notes : list of str
        What was assumed.
    marks : mapping of label to int
        The marks of no answer that ``missing`` names, and how many rows they are.
    """
    if table["label"].dtype == pl.Null:
        table = table.with_columns(pl.col("label").cast(pl.String))
    dtype = table["label"].dtype
    if not (dtype.is_numeric() or dtype in (pl.String, pl.Boolean, pl.Categorical, pl.Enum)):
        raise DataError(
            f"{source}: labels of type {dtype} cannot be read; give one number or text a row (spreadsheets turn what "
            "was typed as 4/5 into dates)"
        )
    # Each criterion apart, and back in the order of the rows.
    whole = isinstance(scale, Scale) or "criterion" not in table.columns
    at, found, said, marks = [], {}, _Notes(), Counter[str]()
    for criterion in (None,) if whole else natural(table["criterion"].unique().to_list()):
        rows = None if criterion is None else pl.Series(np.flatnonzero((table["criterion"] == criterion).to_numpy()))
        some = table.select("label", "_row") if rows is None else table.select("label", "_row")[rows]
        part = LabelColumn(some["label"], some["_row"], criterion, source)
        labels = settled(part, _given(scale, criterion, part), ways)
        if rows is not None:
            at.append(rows.to_numpy())
        found[criterion] = _cast(part, labels, _given(scale, criterion, part), said, ways)
        marks.update(labels.marks)
    scales = {criterion: one for criterion, (_, one) in found.items() if one is not None}
    cast = _of_one_type([labels for labels, _ in found.values()])
    if len(set(scales.values())) == 1 and scale is None:
        scales = {None: next(iter(scales.values()))}
    column = cast[0] if len(cast) == 1 and whole else pl.concat(cast).gather(np.argsort(np.concatenate(at)))
    return table.with_columns(column.alias("label")), scales, said.lines(None in scales), dict(marks)


def marks_not_found(ways: Ways, marks: Mapping[str, int]) -> list[str]:
    """A note on each mark of no answer that no label is."""
    found = {*marks, *numbers_of_series(pl.Series(list(marks), dtype=pl.String)).drop_nulls().to_list()}
    wanted = [str(mark).strip() for mark in ways.missing or ()]
    number = numbers_of_series(pl.Series(wanted, dtype=pl.String)).to_list()
    return [
        f"no label is '{mark}', which missing=... names"
        for mark, value in zip(wanted, number, strict=True)
        if mark and mark not in found and value not in found
    ]


class _Notes(dict[str, list[str | None]]):
    """What was assumed of which criteria."""

    def add(self, note: str, criterion: str | None) -> None:
        self.setdefault(note, []).append(criterion)

    def lines(self, of_all: bool) -> list[str]:
        return [("" if of_all else listing(those, 4) + ": ") + note for note, those in self.items()]


def _given(scale: Scale | Mapping[str, Scale] | None, criterion: str | None, part: LabelColumn) -> Scale | None:
    """The scale that was given for a criterion; one without labels needs none."""
    if scale is None or isinstance(scale, Scale):
        return scale
    given: Mapping[Any, Scale] = scale
    if criterion not in given and bool(_blank(part.labels).all()):
        return None
    if criterion not in given:
        raise DataError(unknown("criterion", criterion, [str(s) for s in given], "scale=..."))
    return given[criterion]


def _of_one_type(columns: list[pl.Series]) -> list[pl.Series]:
    """Labels of several criteria in one type: numbers, or text where some are text."""
    if len({labels.dtype for labels in columns if labels.null_count() < len(labels)}) <= 1:
        dtype = next((labels.dtype for labels in columns if labels.null_count() < len(labels)), columns[0].dtype)
        return [labels.cast(dtype) for labels in columns]
    numeric = all(labels.dtype.is_numeric() for labels in columns)
    return [labels.cast(pl.Float64 if numeric else pl.String) for labels in columns]


def _cast(
    part: LabelColumn, found: Settled, scale: Scale | None, said: _Notes, ways: Ways
) -> tuple[pl.Series, Scale | None]:
    """The labels of one criterion in the type of its scale, and the scale; none where there is no label."""
    for note in found.notes:
        said.add(note, part.criterion)
    blank = _blank(found.labels)
    there = found.labels.filter(~blank) if blank.any() else found.labels
    if not len(there):
        return pl.Series("label", [None] * len(blank), dtype=found.labels.dtype), None
    if scale is None:
        scale, note = inferred(there, found.scale)
        said.add(f"{note}; say so with scale=... if they are something else", part.criterion)
    off = ~scale.valid(found.labels).fill_null(False) & ~blank
    if off.any():
        refuse_off_scale(part._replace(labels=found.labels), off, scale, ways)
    return scale.cast(found.labels).alias("label"), scale


def item_frame(names: pl.Series, about: pl.DataFrame | None, how: Spelling, source: str) -> tuple[pl.DataFrame, int]:
    """One row an item that has a label, in sorted order; and how many known items have none."""
    frame = pl.DataFrame({"item": names})
    if about is None:
        return frame, 0
    about = about.with_columns(spelled_as(about["item"], names, "item", how, source))
    twice = about.filter(about["item"].is_duplicated())
    if twice.height:
        raise DataError(f"the table of items names '{twice['item'][0]}' twice")
    unlabelled = about.join(frame, on="item", how="anti").height
    return frame.join(about, on="item", how="left", maintain_order="left"), unlabelled


def twice(table: pl.DataFrame, key: list[str]) -> str:
    """Words for answers that are given more than once, and the likely remedy."""
    bad = table.filter(table.select(key).is_duplicated()).sort(key, maintain_order=True)
    groups = bad.group_by(key, maintain_order=True).agg("_row")
    shown = "; ".join(
        f"item '{row['item']}', annotator '{row['annotator']}': rows {listing(row['_row'], 3)}"
        for row in groups.head(5).iter_rows(named=True)
    )
    more = f"; and {groups.height - 5} more" if groups.height > 5 else ""
    varied = [
        c
        for c in bad.columns
        if c not in (*KEY, "label", "kind", "_row") and not bad.select([*key, c]).is_duplicated().any()
    ]
    remedy = (
        f"if column '{varied[0]}' was varied on purpose, say conditions=['{varied[0]}']"
        if varied
        else "remove the extra rows, or number the answers in a column 'repeat'"
    )
    return f"{counted(groups.height, 'answer')} given more than once ({shown}{more}); {remedy}"


# -- contents ---------------------------------------------------------------------------------------

CONTENT = "content_version"
"""The column that numbers the contents of an item that was changed while it was annotated."""


def several_contents(table: pl.DataFrame) -> list[str]:
    """Words for items whose labels were given on several contents; none where there are no such items."""
    if CONTENT not in table.columns:
        return []
    key = [name for name in ("item", "criterion") if name in table.columns]
    contents = table.group_by(key, maintain_order=True).agg(pl.col(CONTENT).drop_nulls().n_unique())
    varied = contents.filter(pl.col(CONTENT) > 1)["item"].unique(maintain_order=True).to_list()
    if not varied:
        return []
    have = f"{counted(len(varied), 'item')} {'has' if len(varied) == 1 else 'have'}"
    return [f"{have} labels given on several contents, as the column {CONTENT} says: {listing(varied)}"]


# -- Who is a person and who is a model ------------------------------------------------------------

KINDS = ("human", "judge")

FEW = 12
"""So many names are listed in a remedy; for more, a column is the shorter way."""


class KindUnknownError(DataError):
    """Nothing says whether annotators with a model's name are people or models."""

    def __init__(self, message: str, names: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.names = tuple(names)


def annotator_frame(
    who: Coded,
    kinds: pl.Series | None,
    named: Mapping[str, Iterable[str] | None],
    about: pl.DataFrame | None,
    how: Spelling,
    source: str,
) -> tuple[pl.DataFrame, list[str]]:
    """One row an annotator with its kind, and what was assumed.

    Parameters
    ----------
    who : Coded
        The annotators of the labels.
    kinds : polars.Series or None
        The kind of each label's annotator, where the table has such a column.
    named : mapping of kind to names, or to None
        Whom the user calls a ``judge`` and a ``human``.
    about : polars.DataFrame or None
        Attributes, perhaps ``kind`` among them.
    how : {"refuse", "merge", "apart"}
        What becomes of names that differ only in spelling.
    source : str
        The table, in words for messages.
    """
    names = natural(who.names.to_list())
    frame = pl.DataFrame({"annotator": list(names)}, schema={"annotator": pl.String})
    said: dict[str, str] = {}
    if about is not None:
        about = with_id(about, "annotator", "annotator")
        about = about.with_columns(spelled_as(about["annotator"], who.names, "annotator", how, source))
        twice = about.filter(about["annotator"].is_duplicated())
        if twice.height:
            raise DataError(f"the table of annotators names '{twice['annotator'][0]}' twice")
        frame = frame.join(about, on="annotator", how="left", maintain_order="left")
    chosen = {kind: None if given is None else _known(given, kind, names, how, source) for kind, given in named.items()}
    only_words = any(given is not None for given in chosen.values())
    if about is not None and "kind" in about.columns:
        said = _said_beside(frame, only_words=only_words)
    if kinds is not None:
        said |= _said_of_labels(who, kinds, source, only_words=only_words)
    found, notes = settle_kinds(names, said, chosen["judge"], chosen["human"], source)
    rest = [c for c in frame.columns if c not in ("annotator", "kind")]
    return frame.with_columns(kind=pl.Series(found, dtype=pl.String)).select("annotator", "kind", *rest), notes


def _known(given: Iterable[str], kind: str, names: Sequence[str], how: Spelling, source: str) -> tuple[str, ...]:
    """The annotators that the user names, as the labels spell them."""
    wanted = without_spaces(
        pl.Series([given] if isinstance(given, str) else [str(one) for one in given], dtype=pl.String)
    )
    spelled = (
        dict(zip(alike(pl.Series(names, dtype=pl.String)).to_list(), names, strict=True)) if how == "merge" else {}
    )
    found = []
    for name in wanted:
        one = name if name in names else spelled.get(alike(pl.Series([name]))[0])
        if one is None:
            raise DataError(unknown(kind, name, names, source))
        found.append(one)
    return tuple(found)


def settle_kinds(
    names: Sequence[str],
    said: Mapping[str, str],
    judges: Sequence[str] | None,
    humans: Sequence[str] | None,
    source: str,
) -> tuple[list[str], list[str]]:
    """The kind of each annotator, and what was assumed: what the user says counts first, then what the table says."""
    both = [name for name in judges or () if name in (humans or ())]
    if both:
        raise DesignError(f"judges=... and humans=... both name '{both[0]}'; name it in one")
    given = {**dict.fromkeys(judges or (), "judge"), **dict.fromkeys(humans or (), "human")}
    if judges is not None:
        _refuse_dropped_judges(names, said, given, judges, source)
    if judges is None and humans is not None:
        # Who says who the people are leaves out the models, but somebody may be forgotten.
        said = {**dict.fromkeys(like_models(names, names), "judge"), **said}
    known = {**said, **given}
    open_ = [name for name in names if name not in known]
    models = like_models(open_, names)
    if models:
        raise KindUnknownError(_nothing_says(models, judges, names, source), models)
    if open_ and humans is not None and judges is None:
        raise DataError(
            f"{source}: humans=... does not name {listing(open_)}; name all people there, or the judges with "
            "judges=[...] too, and who is in neither is taken as a person"
        )
    notes = []
    if open_ and judges is not None and humans is not None:
        notes.append(f"{counted(len(open_), 'annotator')} named neither as judge nor as human, taken as people: "
                     f"{listing(open_)}")  # fmt: skip
    if humans is not None and judges is None:
        rest = [name for name in names if known[name] == "judge"]
        notes += [f"taken as judges, because humans=... does not name them: {listing(rest)}"] if rest else []
    return [known.get(name, "human") for name in names], notes


def _refuse_dropped_judges(
    names: Sequence[str], said: Mapping[str, str], given: Mapping[str, str], judges: Sequence[str], source: str
) -> None:
    """Whoever the table calls a judge does not become a person by not being named."""
    dropped = [name for name in names if said.get(name) == "judge" and name not in given]
    if dropped:
        it, is_person = ("them", "they are people") if len(dropped) > 1 else ("it", "it is a person")
        raise DataError(
            f"{source} says that {listing(dropped)} {'are judges' if len(dropped) > 1 else 'is a judge'}, and "
            f"judges=... does not name {it}; add {it} with judges={[*judges, *dropped]}, or say that {is_person} "
            f"with humans={dropped}"
        )


def _nothing_says(models: Sequence[str], judges: Sequence[str] | None, names: Sequence[str], source: str) -> str:
    """Words for annotators who look like models, and the remedy."""
    looks = f"{listing([repr(m) for m in models])} {'look like models' if len(models) > 1 else 'looks like a model'}"
    people = list(models) if judges is not None else list(names)
    person = f"humans={people}" if len(people) <= FEW else "a column 'kind' (human or judge)"
    return (
        f"{source}: {looks}, and nothing says who is a judge. Name all judges with "
        f"judges={[*(judges or ()), *models]}, or say with {person} who is a person"
    )


# -- what the table says ----------------------------------------------------------------------------


def _said_beside(frame: pl.DataFrame, *, only_words: bool) -> dict[str, str]:
    """The kinds that the table of annotators states; with ``only_words`` none where the column has another meaning."""
    words = frame.select("annotator", pl.col("kind").cast(pl.String).str.strip_chars().str.to_lowercase()).drop_nulls()
    odd = words.filter(~words["kind"].is_in(KINDS))
    if odd.height and not only_words:
        raise DataError(
            f"the table of annotators: column 'kind' must say human or judge; '{odd['annotator'][0]}' has "
            f"{odd['kind'][0]!r}"
        )
    return {} if odd.height else dict(words.iter_rows())


def _said_of_labels(who: Coded, kinds: pl.Series, source: str, *, only_words: bool) -> dict[str, str]:
    """The one kind of each annotator, as a column of the labels says; empty cells say nothing.

    With ``only_words`` the user has named judges or people: a column of other words has another meaning then.
    """
    words, codes = coded(kinds.cast(pl.String).str.strip_chars().str.to_lowercase())
    cells = np.unique(who.codes.astype(np.int64) * len(words) + codes)
    said = pl.DataFrame(
        {"annotator": who.names.gather(cells // len(words)), "kind": words.gather(cells % len(words))},
        schema={"annotator": pl.String, "kind": pl.String},
    ).filter(pl.col("kind").is_not_null() & (pl.col("kind") != ""))
    odd = said.filter(~pl.col("kind").is_in(KINDS))
    if odd.height and not only_words:
        raise DataError(
            f"{source}: column 'kind' must say human or judge; annotator '{odd['annotator'][0]}' has {odd['kind'][0]!r}"
        )
    if odd.height:
        return {}
    both = said.filter(said["annotator"].is_duplicated())
    if both.height:
        raise DataError(f"{source}: annotator '{both['annotator'][0]}' is both human and judge")
    return dict(said.iter_rows())
