"""A long frame of any make -> the parts of the one table, checked: ids, labels on their scale, items, annotators."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.coding import coded
from assay.data.names import Coded as Coded
from assay.data.names import Spelling, one_spelling, spelled_as, trimmed
from assay.data.numerals import numbers_of_series
from assay.data.scales import Scale
from assay.data.written import Part, Settled, Ways, inferred, refuse_off_scale, settled
from assay.errors import DataError, counted, listing, unknown
from assay.estimation.options import one_of

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
        part = Part(some["label"], some["_row"], criterion, source)
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


def _given(scale: Scale | Mapping[str, Scale] | None, criterion: str | None, part: Part) -> Scale | None:
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


def _cast(part: Part, found: Settled, scale: Scale | None, said: _Notes, ways: Ways) -> tuple[pl.Series, Scale | None]:
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
