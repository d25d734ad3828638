"""The one table: who gave which label to what.

Every question takes an `Annotations`; every source (files, people, models) ends in one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.columns import to_polars
from assay.data.scales import Interval, Label, Nominal, Ordinal, Scale, Text
from assay.errors import DataError, DesignError, counted, listing, unknown

Kind = Literal["human", "judge"]
Repeats = Literal["error", "first", "last", "mean", "majority", "each"]

KEY = ("item", "annotator", "criterion", "repeat")
"""The columns whose combination names one answer (with the declared conditions)."""


@dataclass(frozen=True)
class Reading:
    """How the table came to be: what was read, what was left out and why, what was assumed."""

    source: str = "a table in memory"
    rows: int = 0
    left_out: tuple[tuple[str, int], ...] = ()
    """(reason, rows) for every row that was read and is not a label."""
    notes: tuple[str, ...] = ()
    """Choices made for the user, in plain words."""

    def noted(self, *notes: str) -> Reading:
        """The same reading with more notes."""
        return replace(self, notes=self.notes + notes)

    def without(self, reason: str, rows: int) -> Reading:
        """The same reading with rows left out for a reason; nothing changes when there are none."""
        return replace(self, left_out=(*self.left_out, (reason, rows))) if rows else self

    def lines(self) -> list[str]:
        """One line a fact, fit to print."""
        lines = [f"{counted(rows, 'row')} left out: {reason}" for reason, rows in self.left_out]
        return lines + list(self.notes)


@dataclass(frozen=True, eq=False)
class Answers:
    """Labels as the arrays that formulas speak of, one entry a label, sorted by item, then annotator.

    Attributes
    ----------
    item, annotator : (labels,) int
        Positions in `items` and `annotators`.
    value : (labels,) float or int
        The label as a number; for categories, its position in `categories`.
    items, annotators : tuple of str
        Names, in the order of the codes.
    categories : tuple or None
        The categories that `value` points into, where labels are categories.
    """

    item: NDArray[np.int64]
    annotator: NDArray[np.int64]
    value: NDArray[Any]
    items: tuple[str, ...]
    annotators: tuple[str, ...]
    categories: tuple[Label, ...] | None = None

    def __len__(self) -> int:
        return len(self.item)

    def select(self, keep: NDArray[np.bool_]) -> Answers:
        """The answers where ``keep`` holds; names and codes stay as they are."""
        return replace(self, item=self.item[keep], annotator=self.annotator[keep], value=self.value[keep])


@dataclass(frozen=True, eq=False)
class Annotations:
    """Labels that somebody gave to something; immutable.

    Attributes
    ----------
    labels : polars.DataFrame
        One row a label: ``item``, ``annotator`` (text), ``label`` (number or text), optionally
        ``criterion`` (text), ``repeat`` (whole number) and any columns about the single answer.
    items : polars.DataFrame
        One row an item, first column ``item``: text, benchmark, document, system, facets of a design.
    annotators : polars.DataFrame
        One row an annotator: ``annotator``, ``kind`` (``human`` or ``judge``), and any attributes.
    scales : mapping
        The scale by criterion; the key ``None`` serves every criterion that is not named.
    conditions : tuple of str
        Columns of ``labels`` that were varied on purpose (temperature, prompt, scale): the same
        annotator may answer the same item once under each combination.
    reading : Reading
        Where the labels came from, what was left out, what was assumed.
    """

    labels: pl.DataFrame
    items: pl.DataFrame
    annotators: pl.DataFrame
    scales: Mapping[str | None, Scale]
    conditions: tuple[str, ...] = ()
    reading: Reading = field(default_factory=Reading)

    # -- making one -----------------------------------------------------------------------------

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        item: str = "item",
        annotator: str = "annotator",
        label: str = "label",
        criterion: str | None = None,
        repeat: str | None = None,
        kind: str | None = None,
        judges: Iterable[str] | None = None,
        scale: Scale | Mapping[str, Scale] | None = None,
        conditions: Iterable[str] = (),
        items: Any = None,
        annotators: Any = None,
        split_item: str | None = None,
        reading: Reading | None = None,
    ) -> Annotations:
        """Make the table from a long frame: one row a label.

        Parameters
        ----------
        frame : polars, pandas or pyarrow frame (anything narwhals reads)
            Never changed.
        item, annotator, label, criterion, repeat, kind : str
            Names of the columns. ``criterion``, ``repeat`` and ``kind`` are used when columns of
            those names are there, unless told otherwise. ``kind`` holds ``human`` or ``judge``.
        judges : list of str
            The annotators that are models. Without it and without a ``kind`` column everybody is a person.
        scale : Scale or mapping of criterion to Scale
            What a label may be. Inferred when not given, and `reading` says what was inferred.
        conditions : list of str
            Columns that were varied on purpose, see `Annotations`.
        items, annotators : frame, optional
            One row an item (column ``item``) or an annotator (column ``annotator``), with attributes.
        split_item : str, optional
            A separator (``"__"``: what follows the last one is the criterion) or a regular expression
            with named groups (``(?P<item>.+)__(?P<criterion>\\w+)``); groups other than ``item``,
            ``criterion`` and ``repeat`` become columns of ``items``.
        reading : Reading
            What is known of the source already. A column ``_row`` of the frame, if there is one, says in
            messages where each row stands.

        Raises
        ------
        DataError
            For a missing column, a missing id, labels of mixed type or off the scale, an answer given
            twice, a judge who is not there: with rows and the remedy.
        """
        table = to_polars(frame, strict=label)
        reading = reading or Reading(rows=table.height)
        source = reading.source
        wanted = {"item": item, "annotator": annotator, "label": label}
        for role, name in wanted.items():
            if name not in table.columns:
                raise DataError(
                    unknown("column", name, table.columns, source)
                    + f" (it should hold the {role}; name another with {role}=...)"
                )
        for role, given in (("criterion", criterion), ("repeat", repeat), ("kind", kind)):
            if given is not None and given not in table.columns:
                raise DataError(unknown("column", given, table.columns, source))
            if given is not None or role in table.columns:
                wanted[role] = given or role
        if table.height == 0:
            raise DataError(f"{source} has no rows")
        # A column that bears a role's name but plays no role would clash after renaming.
        clash = {r for r, name in wanted.items() if name != r and r in table.columns} - set(wanted.values())
        table = table.rename({name: f"{name} (original)" for name in clash}).rename(
            {name: role for role, name in wanted.items()}
        )
        if "_row" not in table.columns:
            table = table.with_columns(_row=pl.int_range(1, table.height + 1))
        for name in ("item", "annotator"):
            table = table.with_columns(_as_id(table[name]))
            missing = table.filter(pl.col(name).is_null())
            if missing.height:
                raise DataError(
                    f"{source}: {counted(missing.height, 'row')} without {name} ({_rows(missing)}); fill or remove them"
                )
        item_frame = None if items is None else _with_id(to_polars(items), "item", item)
        if split_item is not None:
            table, item_frame = _split_items(table, item_frame, split_item)
        if "criterion" in table.columns:
            table = table.with_columns(_as_id(table["criterion"]).fill_null(""))
        if "repeat" in table.columns:
            table = _whole_repeats(table, source)
        blank = table["label"].is_null()
        if table["label"].dtype == pl.String:
            blank = blank | (table["label"].str.strip_chars() == "")
        elif table["label"].dtype.is_float():
            blank = blank | table["label"].is_nan()
        reading = reading.without("no label in it", int(blank.sum()))
        table = table.filter(~blank)
        if table.height == 0:
            raise DataError(f"{source}: no row has a label in column '{label}'")
        table, scales, notes = _on_scale(table, scale, source)
        reading = reading.noted(*notes)
        people = _annotator_frame(table, judges, None if annotators is None else to_polars(annotators), source)
        item_frame, forgotten = _item_frame(table, item_frame)
        if forgotten:
            reading = reading.noted(f"{counted(forgotten, 'item')} of the item table without a label, not counted")
        declared = tuple(conditions)
        for name in declared:
            if name not in table.columns:
                raise DataError(unknown("condition", name, table.columns, source))
        rest = [c for c in table.columns if c not in (*KEY, "label", "kind", "_row")]
        order = [k for k in KEY[:3] if k in table.columns]
        order += ["label"] + [k for k in KEY[3:] if k in table.columns] + rest
        made = cls(table.select(order), item_frame, people, scales, declared, reading)
        key = [k for k in (*KEY, *declared) if k in table.columns]
        cells = made._cells(key)
        if pl.Series(cells).n_unique() < len(cells):
            raise DataError(f"{source}: {_twice(table, key)}")
        return made._with_attributes_at_home(rest)

    # -- looking --------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.labels.height

    def __repr__(self) -> str:
        criteria = f", criteria: {listing(self.criteria, 4)}" if self.criteria else ""
        return (
            f"Annotations({len(self)} labels, {self.n_items} items, {len(self.humans)} humans, "
            f"{len(self.judges)} judges{criteria}, {', '.join(sorted({s.spec for s in self.scales.values()}))})"
        )

    @cached_property
    def n_items(self) -> int:
        """Number of items with at least one label."""
        return self.items.height

    @cached_property
    def humans(self) -> tuple[str, ...]:
        """Names of the people, in natural order ('2' before '10')."""
        return self._names("human")

    @cached_property
    def judges(self) -> tuple[str, ...]:
        """Names of the models, in natural order."""
        return self._names("judge")

    @cached_property
    def criteria(self) -> tuple[str, ...]:
        """The questions asked, in natural order; empty where the table has no criterion column."""
        if "criterion" not in self.labels.columns:
            return ()
        return natural(self.labels["criterion"].unique().to_list())

    @property
    def scale(self) -> Scale:
        """The one scale of the table; a `DesignError` where criteria have different ones."""
        found = list(dict.fromkeys(self.scale_of(c) for c in self.criteria or (None,)))
        if len(found) > 1:
            raise DesignError(
                "the criteria are on different scales ("
                + "; ".join(f"{c}: {self.scale_of(c).describe()}" for c in self.criteria)
                + "); choose one with labels.where(criterion=...)"
            )
        return found[0]

    def scale_of(self, criterion: str | None) -> Scale:
        """The scale of one criterion."""
        if criterion in self.scales:
            return self.scales[criterion]
        if None in self.scales:
            return self.scales[None]
        raise DataError(unknown("criterion", criterion, [str(c) for c in self.scales], "the scales"))

    def _names(self, kind: Kind) -> tuple[str, ...]:
        return natural(self.annotators.filter(pl.col("kind") == kind)["annotator"].to_list())

    # -- choosing -------------------------------------------------------------------------------

    def where(self, **values: Any) -> Annotations:
        """The labels whose columns have these values: of the answer, its item or its annotator.

        A list keeps any of its members; ``None`` keeps the empty. Several columns join with *and*:
        ``labels.where(kind="human", benchmark=["a", "b"])``.
        """
        table = self
        for name, value in values.items():
            several = isinstance(value, Iterable) and not isinstance(value, str)
            wanted = list(value) if several else [value]
            seen = table.values_of(name)
            for one in wanted:
                if one not in seen:
                    raise DataError(unknown(name, one, seen))
            column = table.column(name)
            keep = column.is_in([w for w in wanted if w is not None]).fill_null(None in wanted)
            table = table._with_labels(table.labels.filter(keep))
        return table

    def column(self, name: str) -> pl.Series:
        """One value a label, from the column of that name about the answer, its item or its annotator."""
        if name in self.labels.columns:
            return self.labels[name]
        for frame, key in ((self.items, "item"), (self.annotators, "annotator")):
            if name in frame.columns:
                looked_up = self.labels.select(key).join(
                    frame.select(key, name), on=key, how="left", maintain_order="left"
                )
                return looked_up[name]
        known = [*self.labels.columns, *self.items.columns, *self.annotators.columns]
        raise DataError(unknown("column", name, dict.fromkeys(known)))

    def values_of(self, name: str) -> tuple[Any, ...]:
        """The different values of a column, in natural order, empty last."""
        values = self.column(name).unique().to_list()
        return (*natural([v for v in values if v is not None]), *([None] if None in values else []))

    def split(self, by: str) -> Iterator[tuple[Any, Annotations]]:
        """The table in parts, one for each value of a column, in natural order."""
        for value in self.values_of(by):
            yield value, self.where(**{by: value})

    def _with_attributes_at_home(self, names: Iterable[str]) -> Annotations:
        """Columns that say something of the item (or the annotator) alone, moved to its frame."""
        items, annotators, moved = self.items, self.annotators, []
        for name in names:
            column = self.labels[name]
            simple = column.dtype.is_numeric() or column.dtype in (pl.String, pl.Boolean)
            if name in (*self.conditions, *items.columns, *annotators.columns) or not simple:
                continue
            if items.height < len(self) and pl.Series(self._cells(["item", name])).n_unique() == items.height:
                about = self.labels.select("item", name).unique("item", keep="any")
                items = items.join(about, on="item", how="left", maintain_order="left")
            elif pl.Series(self._cells(["annotator", name])).n_unique() == annotators.height > 1:
                about = self.labels.select("annotator", name).unique("annotator", keep="any")
                annotators = annotators.join(about, on="annotator", how="left", maintain_order="left")
            else:
                continue
            moved.append(name)
        return replace(self, labels=self.labels.drop(moved), items=items, annotators=annotators) if moved else self

    def _with_labels(self, labels: pl.DataFrame) -> Annotations:
        if labels.height == self.labels.height:
            return replace(self, labels=labels)
        items = self.items.join(labels.select("item").unique(), on="item", how="semi", maintain_order="left")
        people = self.annotators.join(
            labels.select("annotator").unique(), on="annotator", how="semi", maintain_order="left"
        )
        scales = dict(self.scales)
        if "criterion" in labels.columns and None not in scales:
            left = set(labels["criterion"].unique().to_list())
            scales = {c: s for c, s in scales.items() if c in left}
        if labels["label"].dtype == pl.String and len(set(scales.values())) == 1:
            # Criteria of numbers and of text share one text column until one of them is chosen.
            labels = labels.with_columns(next(iter(scales.values())).cast(labels["label"]).alias("label"))
        return replace(self, labels=labels, items=items, annotators=people, scales=scales)

    # -- repeats and conditions -----------------------------------------------------------------

    @cached_property
    def has_repeats(self) -> bool:
        """Whether an annotator answered one question about an item more than once."""
        key = [k for k in (*KEY[:3], *self.conditions) if k in self.labels.columns]
        return "repeat" in self.labels.columns and pl.Series(self._cells(key)).n_unique() < len(self)

    def resolve_repeats(self, how: Repeats) -> Annotations:
        """One answer for each annotator and question, by a rule that is said and never the default.

        Parameters
        ----------
        how : {"error", "first", "last", "mean", "majority", "each"}
            ``error`` refuses a table with repeats; ``first`` and ``last`` keep one; ``mean`` averages
            (numeric scales; it makes an annotator look more reliable than a single answer is);
            ``majority`` takes the most frequent, the earliest of a tie; ``each`` makes every repeat an
            annotator of its own, named ``m1 (repeat 2)``.
        """
        if not self.has_repeats:
            return self if "repeat" not in self.labels.columns else replace(self, labels=self.labels.drop("repeat"))
        if how == "error":
            raise DesignError(
                "the table holds repeated answers of the same annotator to the same question; say what they "
                "stand for with repeats='first', 'last', 'mean', 'majority' or 'each'"
            )
        if how == "each":
            return self._each_repeat()
        key = [k for k in (*KEY[:3], *self.conditions) if k in self.labels.columns]
        ordered = self.labels.sort("repeat", maintain_order=True)
        if how in ("first", "last"):
            kept = ordered.unique(key, keep=how, maintain_order=True).drop("repeat")
            return replace(self, labels=kept, reading=self.reading.noted(f"repeated answers: the {how} one counts"))
        group = ordered.group_by(key, maintain_order=True)
        scales: Mapping[str | None, Scale] = self.scales
        if how == "mean":
            if not all(s.numeric for s in self.scales.values()):
                raise DesignError("repeats='mean' needs numeric labels; take 'first', 'last' or 'majority'")
            label = pl.col("label").mean()
            scales = {c: Interval(*(s.bounds or ())) for c, s in self.scales.items()}
        else:
            label = pl.col("label")
            label = label.unique(maintain_order=True).gather(label.unique_counts().arg_max()).first()
        kept = group.agg(label)
        return replace(
            self,
            labels=kept,
            scales=scales,
            reading=self.reading.noted(f"repeated answers: their {how} counts"),
        )

    def _each_repeat(self) -> Annotations:
        name = pl.format("{} (repeat {})", "annotator", "repeat")
        labels = self.labels.with_columns(annotator=name).drop("repeat")
        pairs = self.labels.select("annotator", pl.col("repeat").fill_null(1)).unique()
        people = (
            pairs.join(self.annotators, on="annotator", how="left")
            .with_columns(annotator=name)
            .drop("repeat")
            .sort("annotator")
        )
        return replace(
            self,
            labels=labels,
            annotators=people,
            reading=self.reading.noted("repeated answers: each counts as an annotator of its own"),
        )

    # -- arrays ---------------------------------------------------------------------------------

    def answers(self) -> Answers:
        """The labels as arrays: one criterion, one answer for each item and annotator.

        Raises
        ------
        DesignError
            Where the table holds several criteria, conditions or repeats, so that an item and an
            annotator do not name one label.
        """
        return self._answers

    @cached_property
    def _answers(self) -> Answers:
        if len(self.criteria) > 1:
            raise DesignError(
                f"the table has {len(self.criteria)} criteria ({listing(self.criteria, 4)}); "
                "choose one with labels.where(criterion=...)"
            )
        single = self.resolve_repeats("error")
        for name in self.conditions:
            if len(self.values_of(name)) > 1 and self.labels.select("item", "annotator").is_duplicated().any():
                raise DesignError(
                    f"annotators answered items under several values of '{name}' "
                    f"({listing(self.values_of(name), 4)}); choose one with labels.where({name}=...)"
                )
        labels = single.labels
        items, item = single._coded("item")
        annotators, annotator = single._coded("annotator")
        scale = self.scale_of(self.criteria[0] if self.criteria else None)
        categories: tuple[Label, ...] | None = None
        value: NDArray[Any]
        if scale.numeric or scale.kind == "preference":
            value = scale.values(labels["label"])
        else:
            seen = scale.categories or tuple(labels["label"].unique().sort().to_list())
            categories = seen
            value = _codes(labels["label"], seen)
        key = single._cells(["item", "annotator"])
        if not (key[1:] >= key[:-1]).all():
            # One order whatever the order of the rows, so that sums agree to the last digit.
            order = np.argsort(key, kind="stable")
            item, annotator, value = item[order], annotator[order], value[order]
        return Answers(item, annotator, value, items, annotators, categories)

    def matrix(self, annotators: Sequence[str] | None = None) -> NDArray[np.float64]:
        """Labels as (items, annotators), NaN where nobody answered.

        Rows follow sorted item names, columns ``annotators`` (all, people first, when not given).
        Categories stand as their position in the scale.
        """
        columns = tuple(annotators) if annotators is not None else (*self.humans, *self.judges)
        found = self.answers()
        position = {name: i for i, name in enumerate(columns)}
        for name in columns:
            if name not in found.annotators:
                raise DataError(unknown("annotator", name, found.annotators))
        column = np.array([position.get(name, -1) for name in found.annotators])[found.annotator]
        grid = np.full((len(found.items), len(columns)), np.nan)
        grid[found.item[column >= 0], column[column >= 0]] = found.value[column >= 0]
        return grid

    @cached_property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits of the labels themselves, the same whatever the order of the rows."""
        names = hashlib.blake2b(digest_size=6)
        rows = np.zeros(len(self), dtype=np.uint64)
        for name in (*KEY, *self.conditions, "label"):
            if name in self.labels.columns:
                distinct, codes = self._coded(name)
                names.update("\0".join([name, *map(_said, distinct)]).encode())
                rows = _mix(rows ^ codes.astype(np.uint64))
        # Sums do not depend on the order of the rows; mixing makes them depend on everything else.
        for total in (rows.sum(dtype=np.uint64), _mix(rows).sum(dtype=np.uint64)):
            names.update(total.tobytes())
        return names.hexdigest()

    def _cells(self, key: Sequence[str]) -> NDArray[np.int64]:
        """One number a label that tells its combination of ``key`` from every other."""
        cells = np.zeros(len(self), dtype=np.int64)
        for name in key:
            distinct, codes = self._coded(name)
            cells = cells * len(distinct) + codes
        return cells

    def _coded(self, name: str) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
        """The different values of a label column, in one order, and each row's position among them."""
        if name not in self._codes:
            column = self.labels[name]
            if name == "item":
                distinct = self.items["item"]
            elif name == "annotator":
                distinct = self.annotators["annotator"]
            else:
                if column.null_count():
                    column = column.cast(pl.String).fill_null("\0")
                distinct = column.unique().sort()
            self._codes[name] = (tuple(distinct.to_list()), _codes(column, distinct))
        return self._codes[name]

    @cached_property
    def _codes(self) -> dict[str, tuple[tuple[Any, ...], NDArray[np.int64]]]:
        return {}


# -- making the parts -------------------------------------------------------------------------------


def natural(names: Iterable[Any]) -> tuple[Any, ...]:
    """Names in the order people expect: '2' before '10', numbers as numbers."""
    values = list(names)
    if all(isinstance(v, int | float) for v in values):
        return tuple(sorted(values))
    return tuple(sorted(values, key=lambda v: ([_piece(p) for p in re.split(r"(\d+)", str(v))], str(v))))


def _piece(piece: str) -> tuple[int, str]:
    # str.isdecimal, not int(): digits of other scripts and of great length are names, not numbers.
    return (int(piece), "") if piece.isascii() and piece.isdecimal() and len(piece) < 16 else (-1, piece)


def _codes(column: pl.Series, names: Sequence[Any] | pl.Series) -> NDArray[np.int64]:
    """Position of each value in ``names``."""
    known = pl.Series(names).cast(column.dtype)
    if column.dtype == pl.String:
        return column.cast(pl.Enum(known)).to_physical().to_numpy().astype(np.int64)
    positions = pl.Series(range(len(known)), dtype=pl.Int64)
    return column.replace_strict(known, positions).to_numpy().astype(np.int64)


def _said(value: Any) -> str:
    """A value in the words that are the same whether a whole number is an integer or not."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    # splitmix64's finaliser: every input bit reaches every output bit.
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _as_id(column: pl.Series) -> pl.Series:
    """Names are text; whole numbers lose the .0 that a missing value elsewhere gave them."""
    if column.dtype.is_float() and bool((column.drop_nulls().drop_nans() % 1 == 0).all()):
        column = column.fill_nan(None).cast(pl.Int64)
    text = column.cast(pl.String)
    if column.dtype.is_integer():
        return text
    return pl.select(pl.when(text.str.strip_chars() != "").then(text)).to_series().alias(column.name)


def _rows(bad: pl.DataFrame) -> str:
    return ("row " if bad.height == 1 else "rows ") + listing([f"{r}" for r in bad["_row"]], 5)


def _with_id(frame: pl.DataFrame, role: str, alias: str) -> pl.DataFrame:
    if role not in frame.columns and alias in frame.columns:
        frame = frame.rename({alias: role})
    if role not in frame.columns:
        raise DataError(unknown("column", role, frame.columns, f"the table of {role}s"))
    return frame.with_columns(_as_id(frame[role]))


def _split_items(
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


def _whole_repeats(table: pl.DataFrame, source: str) -> pl.DataFrame:
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


def _on_scale(
    table: pl.DataFrame, scale: Scale | Mapping[str, Scale] | None, source: str
) -> tuple[pl.DataFrame, dict[str | None, Scale], list[str]]:
    """Cast the labels to their scale, inferring it where none is given; refuse labels off the scale."""
    dtype = table["label"].dtype
    if dtype in (pl.Boolean, pl.Categorical, pl.Enum):
        table = table.with_columns(pl.col("label").cast(pl.String))
    elif not (dtype.is_numeric() or dtype == pl.String):
        raise DataError(f"{source}: labels of type {dtype} cannot be read; give one number or text a row")
    criteria: list[str | None] = (
        list(natural(table["criterion"].unique().to_list())) if "criterion" in table.columns else [None]
    )
    notes: list[str] = []
    said: dict[str, list[str | None]] = {}
    scales: dict[str | None, Scale] = {}
    if isinstance(scale, Scale):
        scales = {None: scale}
    elif scale is not None:
        scales = dict[str | None, Scale](scale.items())
        for criterion in criteria:
            if criterion not in scales:
                raise DataError(unknown("criterion", criterion, [str(s) for s in scales], "scale=..."))
        scales = {c: scales[c] for c in criteria}
    else:
        for criterion in criteria:
            part = table if criterion is None else table.filter(pl.col("criterion") == criterion)
            scales[criterion], note = _infer(part["label"])
            said.setdefault(note, []).append(criterion)
        if len(set(scales.values())) == 1:
            scales = {None: next(iter(scales.values()))}
        for note, those in said.items():
            whose = "" if None in scales else listing(those, 4) + ": "
            notes.append(f"{whose}{note}; say so with scale=... if they are something else")
    parts = []
    for criterion in [None] if None in scales else criteria:
        part = table if criterion is None else table.filter(pl.col("criterion") == criterion)
        its = scales[criterion]
        off = part.filter(~its.valid(part["label"]).fill_null(False))
        if off.height:
            about = f" of criterion '{criterion}'" if criterion else ""
            shown = ", ".join(f"row {r}: {v!r}" for r, v in off.head(5).select("_row", "label").iter_rows())
            more = f" and {off.height - 5} more" if off.height > 5 else ""
            raise DataError(
                f"{source}: {counted(off.height, 'label')}{about} off the scale ({shown}{more}); each must be "
                f"{its.describe()}. Mend them, or give the scale they are on with scale=..."
            )
        parts.append(part.with_columns(its.cast(part["label"]).alias("label")))
    if len({part["label"].dtype for part in parts}) > 1:
        numeric = all(part["label"].dtype.is_numeric() for part in parts)
        parts = [part.with_columns(pl.col("label").cast(pl.Float64 if numeric else pl.String)) for part in parts]
    return (pl.concat(parts).sort("_row") if len(parts) > 1 else parts[0]), scales, notes


def _annotator_frame(
    table: pl.DataFrame, judges: Iterable[str] | None, about: pl.DataFrame | None, source: str
) -> pl.DataFrame:
    """One row an annotator with its kind."""
    names = natural(table["annotator"].unique().to_list())
    frame = pl.DataFrame({"annotator": list(names)}, schema={"annotator": pl.String})
    if about is not None:
        about = _with_id(about, "annotator", "annotator")
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
    if "kind" in table.columns:
        kinds = table.select("annotator", pl.col("kind").cast(pl.String).str.to_lowercase()).unique()
        odd = kinds.filter(~pl.col("kind").is_in(["human", "judge"]) | pl.col("kind").is_null())
        if odd.height:
            raise DataError(
                f"{source}: column 'kind' must say human or judge; annotator '{odd['annotator'][0]}' "
                f"has {odd['kind'][0]!r}"
            )
        both = kinds.filter(kinds["annotator"].is_duplicated())
        if both.height:
            raise DataError(f"{source}: annotator '{both['annotator'][0]}' is both human and judge")
        frame = frame.drop("kind", strict=False).join(kinds, on="annotator", how="left", maintain_order="left")
    if "kind" not in frame.columns:
        frame = frame.with_columns(kind=pl.lit("human"))
    rest = [c for c in frame.columns if c not in ("annotator", "kind")]
    return frame.with_columns(pl.col("kind").fill_null("human")).select("annotator", "kind", *rest)


def _item_frame(table: pl.DataFrame, about: pl.DataFrame | None) -> tuple[pl.DataFrame, int]:
    """One row an item that has a label, in sorted order; and how many known items have none."""
    frame = table.select("item").unique().sort("item")
    if about is None:
        return frame, 0
    twice = about.filter(about["item"].is_duplicated())
    if twice.height:
        raise DataError(f"the table of items names '{twice['item'][0]}' twice")
    unlabelled = about.join(frame, on="item", how="anti").height
    return frame.join(about, on="item", how="left", maintain_order="left"), unlabelled


def _twice(table: pl.DataFrame, key: list[str]) -> str:
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
