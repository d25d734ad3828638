"""A long frame of any make -> the parts of the one table, checked: ids, labels on their scale, items, annotators."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.coding import Codes, coded
from assay.data.scales import Interval, Nominal, Ordinal, Scale, Text
from assay.errors import DataError, counted, listing, unknown

KEY = ("item", "annotator", "criterion", "repeat")
"""The columns whose combination names one answer (with the declared conditions)."""


class Coded(NamedTuple):
    """A column of names as numbers."""

    names: pl.Series
    """The different names, in one order."""
    codes: Codes
    """The position of each row's name."""

    def where(self, keep: NDArray[np.bool_]) -> Coded:
        """Some of the rows, with the names that are left."""
        codes = self.codes[keep]
        left = np.zeros(len(self.names), dtype=bool)
        left[codes] = True
        if left.all():
            return Coded(self.names, codes)
        return Coded(self.names.filter(pl.Series(left)), (np.cumsum(left, dtype=np.int32) - np.int32(1))[codes])

    def reordered(self, names: Sequence[str]) -> Coded:
        """The same with the names in another order."""
        place = {name: i for i, name in enumerate(names)}
        moved = np.array([place[name] for name in self.names.to_list()], dtype=np.int32)
        return Coded(pl.Series(self.names.name, names, dtype=pl.String), moved[self.codes])


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
    return table


def with_ids(table: pl.DataFrame, source: str) -> tuple[pl.DataFrame, dict[str, Coded]]:
    """Items and annotators as text and as numbers; a row without one is refused."""
    ids = {}
    for name in ("item", "annotator"):
        text = _as_text(table[name])
        if not text.null_count():
            ids[name] = Coded(*coded(text))
        # Whether a name is blank is asked of each name, not of each row.
        if text.null_count() or (ids[name].names.str.strip_chars() == "").any():
            missing = table.filter(_as_id(table[name]).is_null())
            raise DataError(
                f"{source}: {counted(missing.height, 'row')} without {name} ({_rows(missing)}); fill or remove them"
            )
        table = table.with_columns(text)
    return table, ids


def with_criteria(table: pl.DataFrame, ids: dict[str, Coded]) -> pl.DataFrame:
    """The criterion as text, empty where there is none."""
    text = _as_text(table["criterion"]).fill_null("")
    found = Coded(*coded(text))
    if (found.names.str.strip_chars() == "").any():
        text = _as_id(text).fill_null("")
        found = Coded(*coded(text))
    ids["criterion"] = found
    return table.with_columns(text)


def labelled(table: pl.DataFrame, ids: dict[str, Coded]) -> tuple[pl.DataFrame, dict[str, Coded]]:
    """The rows that have a label."""
    label = table["label"]
    blank = label.is_null()
    if label.dtype == pl.String:
        blank = blank | (label.str.strip_chars() == "")
    elif label.dtype.is_float():
        blank = blank | label.is_nan()
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
    if column.dtype.is_float() and bool((column.drop_nulls().drop_nans() % 1 == 0).all()):
        column = column.fill_nan(None).cast(pl.Int64)
    return column.cast(pl.String)


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
    parts = table["item"].str.extract_groups(expression).struct.unnest()
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


def _infer(labels: pl.Series) -> tuple[Scale, str]:
    """The scale that labels seem to be on, and a note that says so."""
    if labels.dtype.is_numeric():
        low, high = float(labels.min()), float(labels.max())  # type: ignore[arg-type]
        whole = labels.dtype.is_integer() or bool((labels % 1 == 0).all())
        if whole and low < high <= low + 20:
            return Ordinal(int(low), int(high)), f"labels taken as whole numbers from {low:g} to {high:g}"
        if low < high:
            return Interval(low, high), f"labels taken as numbers from {low:g} to {high:g}"
        return Interval(), "labels taken as numbers (there is only one value)"
    distinct = labels.n_unique()
    if distinct > 50 and distinct > 0.2 * len(labels):
        return Text(), f"labels taken as free text ({distinct} different ones)"
    return Nominal(), f"labels taken as {distinct} categories without order"


def on_scale(
    table: pl.DataFrame, criteria: Sequence[str | None], scale: Scale | Mapping[str, Scale] | None, source: str
) -> tuple[pl.DataFrame, dict[str | None, Scale], list[str]]:
    """Cast the labels to their scale, inferring it where none is given; refuse labels off the scale."""
    dtype = table["label"].dtype
    if dtype in (pl.Boolean, pl.Categorical, pl.Enum):
        table = table.with_columns(pl.col("label").cast(pl.String))
    elif not (dtype.is_numeric() or dtype == pl.String):
        raise DataError(f"{source}: labels of type {dtype} cannot be read; give one number or text a row")
    scales, notes = _scales(table, criteria, scale)
    if None in scales:
        return table.with_columns(_cast(table, scales[None], None, source)), scales, notes
    # Each criterion apart, and back in the order of the rows.
    at, cast = [], []
    for criterion in criteria:
        rows = table["criterion"] == criterion
        at.append(np.flatnonzero(rows.to_numpy()))
        cast.append(_cast(table.filter(rows), scales[criterion], criterion, source))
    if len({labels.dtype for labels in cast}) > 1:
        numeric = all(labels.dtype.is_numeric() for labels in cast)
        cast = [labels.cast(pl.Float64 if numeric else pl.String) for labels in cast]
    back = np.argsort(np.concatenate(at))
    return table.with_columns(pl.concat(cast).gather(back)), scales, notes


def _scales(
    table: pl.DataFrame, criteria: Sequence[str | None], scale: Scale | Mapping[str, Scale] | None
) -> tuple[dict[str | None, Scale], list[str]]:
    """The scale of each criterion, of all of them under None, and what was assumed."""
    if isinstance(scale, Scale):
        return {None: scale}, []
    if scale is not None:
        given: Mapping[Any, Scale] = scale
        for criterion in criteria:
            if criterion not in given:
                raise DataError(unknown("criterion", criterion, [str(s) for s in given], "scale=..."))
        return {c: given[c] for c in criteria}, []
    scales: dict[str | None, Scale] = {}
    said: dict[str, list[str | None]] = {}
    for criterion in criteria:
        part = table if criterion is None else table.filter(pl.col("criterion") == criterion)
        scales[criterion], note = _infer(part["label"])
        said.setdefault(note, []).append(criterion)
    if len(set(scales.values())) == 1:
        scales = {None: next(iter(scales.values()))}
    whose = {note: "" if None in scales else listing(those, 4) + ": " for note, those in said.items()}
    return scales, [f"{whose[note]}{note}; say so with scale=... if they are something else" for note in said]


def _cast(part: pl.DataFrame, scale: Scale, criterion: str | None, source: str) -> pl.Series:
    """The labels of one criterion in the type of its scale."""
    valid = scale.valid(part["label"]).fill_null(False)
    if not valid.all():
        off = part.filter(~valid)
        about = f" of criterion '{criterion}'" if criterion else ""
        shown = ", ".join(f"row {r}: {v!r}" for r, v in off.head(5).select("_row", "label").iter_rows())
        more = f" and {off.height - 5} more" if off.height > 5 else ""
        raise DataError(
            f"{source}: {counted(off.height, 'label')}{about} off the scale ({shown}{more}); each must be "
            f"{scale.describe()}. Mend them, or give the scale they are on with scale=..."
        )
    return scale.cast(part["label"]).alias("label")


def annotator_frame(
    who: Coded, kinds: pl.Series | None, judges: Iterable[str] | None, about: pl.DataFrame | None, source: str
) -> pl.DataFrame:
    """One row an annotator with its kind."""
    names = natural(who.names.to_list())
    frame = pl.DataFrame({"annotator": list(names)}, schema={"annotator": pl.String})
    if about is not None:
        about = with_id(about, "annotator", "annotator")
        twice = about.filter(about["annotator"].is_duplicated())
        if twice.height:
            raise DataError(f"the table of annotators names '{twice['annotator'][0]}' twice")
        frame = frame.join(about, on="annotator", how="left", maintain_order="left")
    if judges is not None:
        wanted = [str(j) for j in ([judges] if isinstance(judges, str) else judges)]
        for judge in wanted:
            if judge not in names:
                raise DataError(unknown("judge", judge, names, source))
        kind = pl.when(pl.col("annotator").is_in(wanted)).then(pl.lit("judge")).otherwise(pl.lit("human"))
        return frame.drop("kind", strict=False).with_columns(kind=kind)
    if kinds is not None:
        said = _kinds(who, kinds, source)
        frame = frame.drop("kind", strict=False).join(said, on="annotator", how="left", maintain_order="left")
    if "kind" not in frame.columns:
        frame = frame.with_columns(kind=pl.lit("human"))
    rest = [c for c in frame.columns if c not in ("annotator", "kind")]
    return frame.with_columns(pl.col("kind").fill_null("human")).select("annotator", "kind", *rest)


def _kinds(who: Coded, kinds: pl.Series, source: str) -> pl.DataFrame:
    """The one kind of each annotator, as a column of the labels says."""
    words, codes = coded(kinds.cast(pl.String).str.to_lowercase())
    cells = np.unique(who.codes.astype(np.int64) * len(words) + codes)
    said = pl.DataFrame(
        {"annotator": who.names.gather(cells // len(words)), "kind": words.gather(cells % len(words))},
        schema={"annotator": pl.String, "kind": pl.String},
    )
    odd = said.filter(~pl.col("kind").is_in(["human", "judge"]) | pl.col("kind").is_null())
    if odd.height:
        raise DataError(
            f"{source}: column 'kind' must say human or judge; annotator '{odd['annotator'][0]}' has {odd['kind'][0]!r}"
        )
    both = said.filter(said["annotator"].is_duplicated())
    if both.height:
        raise DataError(f"{source}: annotator '{both['annotator'][0]}' is both human and judge")
    return said


def item_frame(names: pl.Series, about: pl.DataFrame | None) -> tuple[pl.DataFrame, int]:
    """One row an item that has a label, in sorted order; and how many known items have none."""
    frame = pl.DataFrame({"item": names})
    if about is None:
        return frame, 0
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
