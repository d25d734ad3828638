"""The one table: who gave which label to what.

Every question takes an `Annotations`; every source (files, annotators, models) is converted to one.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data import words
from assay.data.columns import KEY, FrameSettings, duplicate_words, table_parts
from assay.data.columns import Reading as Reading
from assay.data.joining import Match, joined
from assay.data.names import (
    FEW_ROWS,
    Coded,
    Names,
    Utf8,
    any_twice,
    cell_numbers,
    codes_in,
    factorize,
    natural,
    sort_cells,
)  # fmt: skip
from assay.data.scales import Interval, Label, Preference, Scale, plain_number, scale_named
from assay.data.structure.probabilities import PREFIXES, probability_columns
from assay.data.structure.role_names import confidences
from assay.data.structure.vote_rows import common_side, one_vote, scores_on_pairs
from assay.errors import PANDAS, DataError, DesignError, counted, listing, no_attribute, require_packages, unknown
from assay.estimation.options import one_of, question_of_two
from assay.reporting.tables import printable

Kind = Literal["human", "judge"]
Repeats = Literal["error", "first", "last", "mean", "majority", "each"]

SHOWN = 10
"""Rows that a notebook shows."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Labels as arrays for formulas, one entry per label, sorted by item, then annotator.

    Attributes
    ----------
    item, annotator : (labels,) int
        Positions in `items` and `annotators`.
    value : (labels,) float or int
        The label as a number; for categories, its position in `categories`.
    items : sequence of str
        Names in the order of the codes; a `Names` or a tuple.
    annotators : tuple of str
        Names in the order of the codes.
    categories : tuple or None
        The categories that `value` points into; None if labels are not categories.
    """

    item: NDArray[np.int64]
    annotator: NDArray[np.int64]
    value: NDArray[Any]
    items: Sequence[str]
    annotators: tuple[str, ...]
    categories: tuple[Label, ...] | None = None

    def __len__(self) -> int:
        return len(self.item)

    @cached_property
    def n_items(self) -> int:
        """Number of items, with labels or without."""
        return len(self.items)

    def select(self, keep: NDArray[np.bool_]) -> Answers:
        """Return the answers for which ``keep`` is True; names and codes do not change."""
        return replace(self, item=self.item[keep], annotator=self.annotator[keep], value=self.value[keep])


OTHER_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("df", "data", "frame", "dataframe", "to_frame", "to_df", "rows"), "to_polars()"),
    **dict.fromkeys(("head", "columns", "shape", "describe", "values", "groupby", "to_dict"), "to_pandas()"),
    **{name: f"to_pandas().{name}(...)" for name in ("to_csv", "to_excel", "to_json", "to_parquet")},
    **dict.fromkeys(("filter", "query", "select"), "where(...)"),
    "merge": "join(...)",
    "group_by": "split(...)",
    "models": "judges",
    "people": "humans",
    "raters": "annotators",
    "texts": "items",
}
"""Names in other libraries, with what does the same for labels."""


@dataclass(frozen=True, eq=False)
class Annotations:
    """Labels that annotators gave to items; immutable.

    Attributes
    ----------
    labels : polars.DataFrame
        One row per label: ``item``, ``annotator`` (text), ``label`` (number or text), optionally
        ``criterion`` (text), ``repeat`` (whole number) and any columns about the single answer.
    items : polars.DataFrame
        One row per item, first column ``item``: text, benchmark, document, system, facets of a design.
    annotators : polars.DataFrame
        One row per annotator: ``annotator``, ``kind`` (``human`` or ``judge``), and any attributes.
    scales : mapping
        The scale by criterion; the key ``None`` applies to every criterion that is not named.
    conditions : tuple of str
        Columns of ``labels`` with experimental conditions (temperature, prompt, scale): the same
        annotator can label the same item under each combination.
    reading : Reading
        The source of the labels, exclusions and assumptions.
    names : mapping
        The user's names of columns with a role, and the role: ``{"worker": "annotator"}``.
    unlabelled : polars.DataFrame, optional
        Items of the source without any label, one row each: ``item``, and other columns if they are known. None if all
        of its items have labels.
    """

    labels: pl.DataFrame
    items: pl.DataFrame
    annotators: pl.DataFrame
    scales: Mapping[str | None, Scale]
    conditions: tuple[str, ...] = ()
    reading: Reading = field(default_factory=Reading)
    names: Mapping[str, str] = field(default_factory=dict)
    unlabelled: pl.DataFrame | None = None

    # -- construction ---------------------------------------------------------------------------

    @classmethod
    @question_of_two(FrameSettings)
    def from_frame(cls: Any, frame: Any, settings: FrameSettings) -> Annotations:
        """Make the table from a long frame, with one row per label.

        Parameters
        ----------
        frame : polars, pandas or pyarrow frame (anything narwhals reads)
            Never changed.

        Raises
        ------
        DataError
            For a missing column, a missing id, labels of mixed type or off the scale, a repeated answer, an unknown
            judge or a judge that is not named, names that differ only in spelling; the message names the rows and
            the remedy.
        """
        return from_frame(frame, settings)

    # -- display --------------------------------------------------------------------------------

    def to_polars(self) -> pl.DataFrame:
        """Return one row per label with all attributes of the answer, its item and its annotator."""
        table = self.labels.join(self.annotators, on="annotator", how="left", maintain_order="left")
        about = self.items.select("item", *(c for c in self.items.columns if c not in table.columns))
        table = table.join(about, on="item", how="left", maintain_order="left")
        first = [c for c in ("item", "annotator", "kind", "criterion", "label", *KEY[3:]) if c in table.columns]
        # Sorted by name, because an attribute can move between items, annotators and answers when it is read again.
        return table.select(*first, *sorted(c for c in table.columns if c not in first))

    def to_pandas(self) -> Any:
        """Return the rows of `to_polars` as a pandas data frame; requires pandas and pyarrow."""
        require_packages(PANDAS, "to_pandas()")
        return self.to_polars().to_pandas()

    def __getattr__(self, name: str) -> Any:
        """Refuse an attribute, and name what does the same here."""
        raise no_attribute(self, name, OTHER_NAMES.get(name))

    def __len__(self) -> int:
        return self.labels.height

    def __repr__(self) -> str:
        return printable(f"Annotations({self._contents()})")

    def _contents(self) -> str:
        """The numbers of labels, items and annotators, and the scales, in one line."""
        criteria = f", criteria: {listing(self.criteria, 4)}" if self.criteria else ""
        counts = {"label": len(self), "item": self.n_items, "human": len(self.humans), "judge": len(self.judges)}
        scales = ", ".join(sorted({s.spec for s in self.scales.values()}))
        return f"{', '.join(counted(n, noun) for noun, n in counts.items())}{criteria}, {scales}"

    def _repr_html_(self) -> str:
        """The numbers and the first rows, for notebooks."""
        rows = self.labels.head(SHOWN).iter_rows()
        head = "".join(f"<th>{escape(name)}</th>" for name in self.labels.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{'' if cell is None else escape(_clip_cell(cell))}</td>" for cell in row) + "</tr>"
            for row in rows
        )
        more = f"<p>... and {len(self) - SHOWN} more labels</p>" if len(self) > SHOWN else ""
        return (
            f"<p><b>Annotations</b>: {escape(self._contents())}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
        )

    @cached_property
    def n_items(self) -> int:
        """Number of items with at least one label."""
        return self.items.height

    @cached_property
    def humans(self) -> tuple[str, ...]:
        """Names of the human annotators, in natural order ('2' before '10')."""
        return self._names("human")

    @cached_property
    def judges(self) -> tuple[str, ...]:
        """Names of the judges, in natural order."""
        return self._names("judge")

    @cached_property
    def criteria(self) -> tuple[str, ...]:
        """The criteria, in natural order; empty if the table has no criterion column."""
        if "criterion" not in self.labels.columns:
            return ()
        return natural(self.labels["criterion"].unique().to_list())

    @cached_property
    def technical_columns(self) -> tuple[str, ...]:
        """Item columns that describe no item: of a study's draw, a judge's probabilities, labels that are not read.

        So are those of a confidence in a label, which is not known before the label.
        """
        named = [c for c in self.items.columns if c.startswith(PREFIXES) and self.items[c].dtype.is_numeric()]
        known = (*self.reading.drawn, *self.reading.left_out)
        if self.items.width > 1:
            known += tuple(confidences(self.items.columns[1:], self.annotators["annotator"]))
        if len(named) < 2:
            return known
        parts = self.labels.partition_by("criterion") if self.criteria else [self.labels]
        labels = [one["label"].unique().to_list() for one in parts]
        return (*known, *probability_columns({c: self.items[c] for c in named}, labels))

    @property
    def scale(self) -> Scale:
        """The scale of the table; a `DesignError` if criteria have different scales."""
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
        each = zip(self.annotators["annotator"].to_list(), self.annotators["kind"].to_list(), strict=True)
        return natural([name for name, one in each if one == kind])

    def in_memory(self, question: str) -> Annotations:
        """Return the table itself; `Chunks` raise an error for a question that needs all labels."""
        return self

    # -- selection ------------------------------------------------------------------------------

    def where(self, **values: Any) -> Annotations:
        """Return the labels whose columns, of the answer, its item or its annotator, have these values.

        A list selects any of its members; ``None`` selects missing values; ``0`` also selects 0.0 and the text ``0``.
        Several columns are combined with *and*: ``labels.where(kind="human", benchmark=["a", "b"])``. Of a condition,
        the labels of annotators who never have a value are kept: they labelled without it, such as humans if a judge
        has several temperatures. Of a column of the annotators, such as their gender, judges without a value are kept.
        """
        table = self
        for name, value in values.items():
            several = isinstance(value, Iterable) and not isinstance(value, str)
            wanted = _values_meant(name, list(value) if several else [value], table.values_of(name))
            column, at = table._find_column(name)
            keep = _are_among(column, wanted)
            if at is not None and table.column_name(name) not in table.items.columns:
                keep |= ((table.annotators["kind"] == "judge") & column.is_null()).to_numpy()
            if name in table.conditions:
                who = table.labels["annotator"]
                keep |= ~who.is_in(who.filter(column.is_not_null()).unique().implode()).to_numpy()
            table = table._keep_rows(keep if at is None else keep[at])._where_unlabelled(name, wanted)
            if name == "scale" and name in table.conditions and len(wanted) == 1:
                table = table._on_scale(str(wanted[0]))
        if not {*values} & {"annotator", *self.conditions} or not table.judges:
            return table
        tried = self.reading.n_tried(self._settings_of_judges())
        return table._share_codes(replace(table, reading=replace(table.reading, tried=tried)), *table._codes)

    def _settings_of_judges(self) -> list[tuple[str, ...]]:
        """The different judges, each with the conditions that no annotator has: a model and its prompt."""
        judged = self.labels["annotator"].is_in([*self.judges])
        own = [name for name in self.conditions if self.labels.filter(~judged)[name].n_unique() <= 1]
        return self.labels.filter(judged).select("annotator", *own).unique().rows()

    def _where_unlabelled(self, name: str, wanted: Sequence[Any]) -> Annotations:
        """The same with the items without labels that have one of these values, in a column of the items."""
        name = self.column_name(name)
        if self.unlabelled is None or name in self.annotators.columns or name in (*KEY[2:], *self.conditions):
            return self
        if name not in self.unlabelled.columns:
            return self._share_codes(replace(self, unlabelled=None), *self._codes)
        rest = self.unlabelled.filter(pl.Series(_are_among(self.unlabelled[name], wanted)))
        return self._share_codes(replace(self, unlabelled=rest if rest.height else None), *self._codes)

    def with_unlabelled(self, items: pl.DataFrame) -> Annotations:
        """Return the same labels with more items, of which those without any label are `unlabelled`."""
        known = [items] if self.unlabelled is None else [items, self.unlabelled]
        rest = pl.concat(known, how="diagonal_relaxed").unique("item", keep="first", maintain_order=True)
        rest = rest.join(self.items, on="item", how="anti", maintain_order="left")
        return self._share_codes(replace(self, unlabelled=rest if rest.height else None), *self._codes)

    def of_kind(self, *kinds: str) -> Annotations:
        """Return the labels of the criteria on these kinds of scale; all of them if none, or all, are on these."""
        found = [c for c in self.criteria if self.scale_of(c).kind in kinds]
        return self.where(criterion=found) if 0 < len(found) < len(self.criteria) else self

    def join(
        self, other: Annotations, match: Match = "exact", *, scored: str | None = None, sources: str | None = None
    ) -> Annotations:
        """Return the labels of two tables of the same items as one: of people from a form, and of a model from a file.

        Each table has been read in its own layout.

        Parameters
        ----------
        other : Annotations
        match : {"exact", "loose"}
            How item ids match; ``loose`` as in `assay.read`.
        scored, sources : str, optional
            Columns of systems and of what their outputs answer in ``other``, whose scores become votes on the pairs of
            this table's votes.

        Raises
        ------
        DataError
            If neither an item nor an annotator is in both, if the scales exclude each other, or if someone is a human
            in one and a judge in the other.

        Examples
        --------
        >>> import assay, polars as pl
        >>> form = pl.DataFrame({"id": ["a", "b"], "ann": [4, 2], "bob": [5, 2]})
        >>> model = pl.DataFrame({"id": ["a", "b"], "gpt": [4, 3]})
        >>> people, judge = assay.read(form, layout="wide"), assay.read(model, layout="wide", judges=["gpt"])
        >>> people.join(judge).judges
        ('gpt',)
        """
        if scored is not None and sources is not None:
            other = scores_on_pairs(self, other, scored, sources)
        made = joined(self, other, match)
        rest = made.pop("unlabelled")
        table: Annotations = Annotations.from_frame(made.pop("frame"), **made)
        table = table if rest is None else table.with_unlabelled(rest)
        return replace(table, names={**other.names, **self.names})

    def _on_scale(self, name: str) -> Annotations:
        """The same labels on the numeric scale that a name states, if it states one that holds them."""
        stated = scale_named(name)
        if stated is None or not all(scale.numeric for scale in self.scales.values()):
            return self
        if not stated.valid(self.labels["label"]).all():
            stated = Interval(*(stated.bounds or ()))
        if not stated.valid(self.labels["label"]).all():
            return self
        return self._share_codes(replace(self, scales=dict.fromkeys(self.scales, stated)), *self._codes)

    def column(self, name: str) -> pl.Series:
        """Return one value per label from a column about the answer, its item or its annotator."""
        column, at = self._find_column(name)
        return column if at is None else column.gather(pl.Series(at))

    def _find_column(self, name: str) -> tuple[pl.Series, NDArray[Any] | None]:
        """The values of a column, and which of them each label has; None where there is one for each label."""
        name = self.column_name(name)
        if name in self.labels.columns:
            return self.labels[name], None
        frame, key = (self.items, "item") if name in self.items.columns else (self.annotators, "annotator")
        return frame[name], self._code_column(key).codes

    def crossed_columns(self, name: str) -> list[str]:
        """Return the columns in a name such as ``hospital,sex``; a name that a column has is this column."""
        known = {*self.labels.columns, *self.items.columns, *self.annotators.columns, *self.names}
        return [name] if name in known else [self.column_name(part.strip()) for part in name.split(",")]

    def crossed(self, name: str) -> pl.Series:
        """Return `column`, or the combined values of several columns: ``North × F`` of ``hospital,sex``."""
        columns = self.crossed_columns(name)
        if len(columns) == 1:
            return self.column(columns[0])
        texts = pl.DataFrame([self.column(one).cast(pl.String) for one in columns])
        return texts.select(pl.concat_str(pl.all(), separator=" × ")).to_series()

    def column_name(self, name: str) -> str:
        """Return the internal name of a column; the user's name of a column with a role is accepted.

        Raises
        ------
        DataError
            If there is no such column; the message has the nearest name.
        """
        known = dict.fromkeys((*self.labels.columns, *self.items.columns, *self.annotators.columns))
        if name in known:
            return name
        if name in self.names:
            return self.names[name]
        raise DataError(unknown("column", name, dict.fromkeys((*known, *self.names))))

    def also_called(self, names: Mapping[str, str]) -> Annotations:
        """Return the same table with more of the user's names of columns: ``{"worker": "annotator"}``."""
        return self._share_codes(replace(self, names={**names, **self.names}), *self._codes)

    def values_of(self, name: str) -> tuple[Any, ...]:
        """Return the distinct values of a column, in natural order, missing values last."""
        column, _ = self._find_column(name)
        # In plain Python where there are few: a call of Polars costs more. To Python, NaN is not NaN.
        few = len(column) <= FEW_ROWS and not (column.dtype.is_float() or column.dtype.is_nested())
        values = [*dict.fromkeys(column.to_list())] if few else column.unique().to_list()
        return (*natural([v for v in values if v is not None]), *([None] if None in values else []))

    def split(self, by: str) -> Iterator[tuple[Any, Annotations]]:
        """Split the table into one part for each value of a column, in natural order."""
        for value in self.values_of(by):
            yield value, self.where(**{by: value})

    def _move_attributes(self, names: Iterable[str]) -> Annotations:
        """Move columns that depend only on the item (or the annotator) to its frame."""
        items, annotators, moved = self.items, self.annotators, []
        for name in names:
            column = self.labels[name]
            simple = column.dtype.is_numeric() or column.dtype in (pl.String, pl.Boolean)
            if name in (*self.conditions, *items.columns, *annotators.columns) or not simple:
                continue
            if items.height < len(self) and (about := self._value_of_each("item", column)) is not None:
                items = items.with_columns(about)
            elif annotators.height > 1 and (about := self._value_of_each("annotator", column)) is not None:
                annotators = annotators.with_columns(about)
            else:
                continue
            moved.append(name)
        if not moved:
            return self
        return self._share_codes(
            replace(self, labels=self.labels.drop(moved), items=items, annotators=annotators), *self._codes
        )

    def of_items(self, name: str) -> pl.Series:
        """Return one value per item: an item column, or one of the labels that is the same in all labels of an item.

        If every item has one label, as in a file of one judge, no column is known to describe items.

        Raises
        ------
        DataError
            If there is no such column.
        """
        known = name if name in self.items.columns else self.names.get(name, name)
        if known in self.items.columns:
            return self.items[known]
        own = known in self.labels.columns and known not in (*KEY, "label")
        if own and (column := self._value_of_each("item", self.labels[known])) is not None:
            return column
        raise DataError(unknown("item column", name, self.items.columns, "the table of items"))

    def _value_of_each(self, role: str, column: pl.Series) -> pl.Series | None:
        """The value of each item (or annotator), if it has only one."""
        names, codes = self._code_column(role)
        row = np.empty(len(names), dtype=np.uint32)
        row[codes] = np.arange(len(codes), dtype=np.uint32)
        each = column.gather(pl.Series(row))
        for some in (slice(0, 1_000), slice(None)) if len(codes) > 1_000 else (slice(None),):
            if not each.gather(pl.Series(codes[some].astype(np.uint32))).eq_missing(column[some]).all():
                return None
        return each

    def without_items(self, names: Sequence[str]) -> Annotations:
        """Return the labels of all other items."""
        if not names:
            return self
        return self._keep_rows(~self.labels["item"].is_in(pl.Series(names, dtype=pl.String).implode()).to_numpy())

    def _keep_rows(self, rows: NDArray[np.bool_]) -> Annotations:
        """Some of the labels, with their items, annotators and scales."""
        if rows.all():
            return self
        labels = self.labels.filter(pl.Series(rows))
        ids = {role: self._code_column(role) for role in ("item", "annotator")}
        left = {role: np.bincount(found.codes[rows], minlength=len(found.names)) > 0 for role, found in ids.items()}
        scales = dict(self.scales)
        if "criterion" in labels.columns and None not in scales:
            asked = set(labels["criterion"].unique().to_list())
            scales = {c: s for c, s in scales.items() if c in asked}
        if labels["label"].dtype == pl.String and len(set(scales.values())) == 1:
            # Criteria of numbers and of text share one text column until one of them is selected.
            labels = labels.with_columns(next(iter(scales.values())).cast(labels["label"]).alias("label"))
        made = replace(
            self,
            labels=labels,
            items=self.items.filter(pl.Series(left["item"])),
            annotators=self.annotators.filter(pl.Series(left["annotator"])),
            scales=scales,
        )
        made._codes.update({role: found.where(rows) for role, found in ids.items()})
        return made

    def _share_codes(self, made: Annotations, *columns: str) -> Annotations:
        """A table of the same rows that reuses the codes of these columns."""
        made._codes.update({name: self._codes[name] for name in columns if name in self._codes})
        return made

    # -- repeats and conditions -----------------------------------------------------------------

    @cached_property
    def has_repeats(self) -> bool:
        """Whether an annotator answered one question about an item several times."""
        key = [k for k in (*KEY[:3], *self.conditions) if k in self.labels.columns]
        return "repeat" in self.labels.columns and any_twice(self._cells(key))

    @property
    def _repeated(self) -> pl.DataFrame:
        """The questions with several labels of an annotator: their key and ``len``."""
        key = [k for k in (*KEY[:3], *self.conditions) if k in self.labels.columns]
        return self.labels.group_by(key, maintain_order=True).len().filter(pl.col("len") > 1)

    def resolve_repeats(self, how: Repeats) -> Annotations:
        """Reduce repeated labels to one answer per annotator and question, by an explicit rule.

        Parameters
        ----------
        how : {"error", "first", "last", "mean", "majority", "each"}
            ``error`` refuses a table with repeats; ``first`` and ``last`` select one; ``mean`` averages
            (numeric scales; an annotator then appears more reliable than a single answer is);
            ``majority`` selects the most frequent, the earliest if tied (a tie for votes on different sides, also
            for votes on a pair in both orders, which are one drawn vote otherwise);
            ``each`` makes every repeat a separate annotator, named ``m1 (repeat 2)``.

        Raises
        ------
        DesignError
            For an unknown rule, for repeats without a rule, for the mean of labels that are not numbers.
        """
        one_of("repeats", how, get_args(Repeats))
        if (votes := self._one_vote(ties=True) if how == "majority" else self.with_one_vote).labels is not self.labels:
            return votes.resolve_repeats(how)
        if not self.has_repeats:
            if "repeat" not in self.labels.columns:
                return self
            return self._share_codes(replace(self, labels=self.labels.drop("repeat")), *KEY[:3], *self.conditions)
        if how == "error":
            found = self._repeated.select("item", "annotator", "len").rows()
            raise DesignError(words.repeated_labels(found, numeric=all(s.numeric for s in self.scales.values())))
        if how == "each":
            return self._repeats_as_annotators()
        key = [k for k in (*KEY[:3], *self.conditions) if k in self.labels.columns]
        ordered = self.labels.sort("repeat", maintain_order=True)
        if how in ("first", "last"):
            kept = ordered.unique(key, keep=how, maintain_order=True).drop("repeat")
            return replace(self, labels=kept, reading=self.reading.add_notes(f"repeated labels: used the {how} one"))
        group = ordered.group_by(key, maintain_order=True)
        scales: Mapping[str | None, Scale] = self.scales
        if how == "mean":
            if not all(s.numeric for s in self.scales.values()):
                raise DesignError("repeats='mean' requires numeric labels; use 'first', 'last' or 'majority'")
            label = pl.col("label").mean()
            scales = {c: Interval(*(s.bounds or ())) for c, s in self.scales.items()}
        else:
            label = pl.col("label")
            often = label.unique_counts()
            most = label.unique(maintain_order=True).filter(often == often.max())
            label = most.first()
            if all(isinstance(s, Preference) for s in self.scales.values()):
                label = common_side(most.min(), most.max())
        kept = group.agg(label)
        return replace(
            self,
            labels=kept,
            scales=scales,
            reading=self.reading.add_notes(f"repeated labels: used their {how}"),
        )

    @cached_property
    def with_one_vote(self) -> Annotations:
        """The table with one vote where an annotator compared two texts in both orders: that of a drawn order.

        A drawn vote compares with the votes of those who saw one order; ties made of different votes would not. Other
        tables are returned unchanged.
        """
        return self._one_vote(ties=False)

    def _one_vote(self, *, ties: bool) -> Annotations:
        """Votes in both orders as one: of a drawn order, or their common side and a tie if they differ."""
        made = one_vote(self, ties=ties) if "order" in self.conditions else None
        if made is None:
            return self
        return replace(
            self, labels=made.labels, reading=replace(self.reading.add_notes(made.note), as_one_vote=made.counted)
        )

    def each_repeat(self, judges: Sequence[str] | None, how: Repeats) -> tuple[Annotations, list[str]]:
        """Return a table in which every repeat is an annotator, if ``how`` is ``each``, and the judges to test.

        A judge that is named without a number is all of its repeats. By default all judges are tested.
        """
        made = self.resolve_repeats(how) if how == "each" and self.has_repeats else self
        names = made.judges if judges is None else judges
        of = {name: [one for one in made.judges if one.startswith(f"{name} (repeat ")] for name in names}
        return made, [one for name in names for one in (name in made.judges and [name]) or of[name] or [name]]

    def _repeats_as_annotators(self) -> Annotations:
        name = pl.format("{} (repeat {})", "annotator", "repeat")
        labels = self.labels.with_columns(annotator=name).drop("repeat")
        pairs = self.labels.select("annotator", "repeat").unique()
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
            reading=self.reading.add_notes("repeated labels: treated as separate annotators"),
        )

    @cached_property
    def crossed_condition(self) -> str | None:
        """The first condition under several values of which an annotator answered the same item; None without one."""
        key = [name for name in KEY if name in self.labels.columns and name not in self.conditions]
        varied = [name for name in self.conditions if len(self.values_of(name)) > 1]
        if not varied or not (twice := self.labels.select(key).is_duplicated()).any():
            return None
        values = self.labels.filter(twice).group_by(key).agg(pl.col(varied).n_unique()).select(pl.col(varied).max())
        return next((name for name in varied if values[name].item() > 1), None)

    def crossing_words(self, name: str) -> str:
        """Say that annotators answered under several values of a condition; labels without a value are not named."""
        values = [one for one in self.values_of(name) if one is not None]
        return f"annotators answered items under several values of '{name}' ({listing(values, 4, cut=True)})"

    # -- arrays ---------------------------------------------------------------------------------

    def answers(self) -> Answers:
        """Return the labels as arrays: one criterion, one answer per item and annotator.

        Raises
        ------
        DesignError
            If the table contains several criteria, conditions or repeats, so that an item and an
            annotator do not identify one label.
        """
        return self._answers

    @cached_property
    def _answers(self) -> Answers:
        if len(self.criteria) > 1:
            raise DesignError(
                f"the table has {len(self.criteria)} criteria ({listing(self.criteria, 4)}); "
                f"choose one with labels.where(criterion=...){self.reading.pooled_by}"
            )
        single = self.resolve_repeats("error")
        if (name := single.crossed_condition) is not None:
            raise DesignError(f"{self.crossing_words(name)}; choose one with labels.where({name}=...)")
        labels = single.labels["label"]
        items, annotators = single._code_column("item").names, single._code_column("annotator").names
        scale = self.scale_of(self.criteria[0] if self.criteria else None)
        categories: tuple[Label, ...] | None = None
        value: NDArray[Any]
        if scale.numeric or scale.kind == "preference":
            value = scale.values(labels)
        elif scale.categories is not None:
            categories = scale.categories
            value = codes_in(labels, pl.Series(list(categories))).astype(np.int64)
        else:
            seen, codes = factorize(labels)
            categories, value = tuple(seen.to_list()), codes.astype(np.int64)
        # The order does not depend on the order of the rows, so that sums agree to the last digit.
        order, cells = single._row_order
        single.__dict__.pop("_row_order")  # as large as the table, and used only once
        item = cells // len(annotators)
        return Answers(
            item,
            cells - item * len(annotators),
            value if order is None else value[order],
            Names(items),
            tuple(annotators.to_list()),
            categories,
        )

    def matrix(self, annotators: Sequence[str] | None = None) -> NDArray[np.float64]:
        """Return labels as (items, annotators), NaN for missing labels.

        Rows follow sorted item names, columns ``annotators`` (by default all, humans first).
        Categories are numbered by their position in the scale.
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
        """Twelve hexadecimal digits of the labels, their scales and who is a judge; see `assay.data.annotations`."""
        rows = LabelHashes(len(self))
        for name in (*KEY, *self.conditions):
            if name in self.labels.columns:
                rows.add_hashed(*self.hashed(name))
        labels = self.labels["label"]
        if labels.dtype.is_numeric():
            rows.add_numbers("label", labels.to_numpy())
        else:
            self._add_texts(rows, labels)
        scales = [(c, self.scale_of(c).spec) for c in (self.criteria or (None,))]
        kinds = dict(self.annotators.select("annotator", "kind").iter_rows())
        return digits(rows.sums()[0], scales, kinds)

    def _add_texts(self, rows: LabelHashes, labels: pl.Series) -> None:
        """Labels as texts; as numbers where their criterion is one of numbers."""
        seen, codes = factorize(labels)
        numeric = [c for c in self.criteria if self.scale_of(c).numeric]
        if not numeric:
            rows.add("label", seen, codes)
            return
        names, criterion = self._code_column("criterion")
        is_number = names.is_in(numeric).to_numpy()[criterion]
        texts, numbers = (hashes(s, "label") for s in (seen, seen.cast(pl.Float64, strict=False)))
        rows.add_hashed(np.concatenate([texts, numbers]), codes + len(seen) * is_number)

    @cached_property
    def _row_order(self) -> tuple[NDArray[Any] | None, NDArray[np.int64]]:
        """The order of rows by item, then annotator (None if they are sorted), and the cell of each in that order."""
        n_cells = len(self._code_column("item").names) * len(self._code_column("annotator").names)
        return sort_cells(self._cells(["item", "annotator"]), n_cells)

    def _cells(self, key: Sequence[str]) -> NDArray[np.int64]:
        """One number per label that identifies its combination of ``key``."""
        coded = [self._code_column(name) for name in key]
        return cell_numbers((len(names), codes) for names, codes in coded)[0]

    def _code_column(self, name: str) -> Coded:
        """The distinct values of a label column, in one order, and each row's position among them."""
        if name not in self._codes:
            column = self.labels[name]
            if name in ("item", "annotator"):
                names = (self.items if name == "item" else self.annotators)[name]
                self._codes[name] = Coded(names, codes_in(column, names))
            else:
                self._codes[name] = factorize(column)
        return self._codes[name]

    def codes_of(self, name: str) -> Coded:
        """Return the distinct values of a column of the labels, in one order, and each row's position; cached."""
        return self._code_column(name)

    def hashed(self, name: str) -> tuple[Hashes, NDArray[Any]]:
        """A hash for each distinct value of a column of the labels, and each row's position; for fingerprints."""
        values, codes = self._code_column(name)
        if name not in self._hashes:
            # A first answer has the same hash as the answer in a table without repeats.
            self._hashes[name] = hashes(values.set(values == 1, None) if name == "repeat" else values, name)
        return self._hashes[name], codes

    @cached_property
    def _hashes(self) -> dict[str, Hashes]:
        return {}

    @cached_property
    def _codes(self) -> dict[str, Coded]:
        return {}


def from_frame(frame: Any, settings: FrameSettings) -> Annotations:
    """Return the one table from a long frame, as `Annotations.from_frame` does."""
    parts = table_parts(frame, settings)
    made = Annotations(*parts[:7], unlabelled=parts.unlabelled)
    made._codes.update(parts.codes)
    key = [k for k in (*KEY, *made.conditions) if k in made.labels.columns]
    if any_twice(made._row_order[1] if key == ["item", "annotator"] else made._cells(key)):
        where = made.labels.with_columns(_row=parts.rows)
        said, options = duplicate_words(where, key)
        raise DataError(f"{made.reading.source}: {said}", advised=options)
    return made._move_attributes([c for c in made.labels.columns if c not in (*KEY, "label")])


def _values_meant(name: str, wanted: Sequence[Any], seen: Sequence[Any]) -> list[Any]:
    """The values of a column that are wanted: equal ones, or those that are written so, or that are this number.

    Types of columns differ with the file: ``temperature=0`` is the text ``0`` in one table and 0.0 in another.

    Raises
    ------
    DataError
        If the column does not have a value.
    """
    if all(any(one is value for value in seen) for one in wanted):
        return [*wanted]
    equal = {value: value for value in seen}
    written = {plain_number(v): v for v in seen if isinstance(v, float)} | {str(v): v for v in seen}
    numbers: dict[float, list[Any]] = {}
    found = []
    for one in wanted:
        if one in equal or str(one) in written:
            found.append(equal[one] if one in equal else written[str(one)])
            continue
        if not numbers:
            for value in seen:
                numbers.setdefault(_number(value), []).append(value)
        if len(same := numbers.get(_number(one), [])) != 1:
            raise DataError(unknown(name, one, seen))
        found += same
    return found


def _number(value: Any) -> float:
    """A value as a number, to the digits of the shortest floats; NaN, which equals nothing, for other values."""
    try:
        return float(np.float32(float(value)))
    except (TypeError, ValueError):
        return math.nan


def _are_among(column: pl.Series, wanted: Sequence[Any]) -> NDArray[np.bool_]:
    """Whether each value of a column is one of those wanted, or null where None is."""
    if len(column) <= FEW_ROWS and not (column.dtype.is_float() or column.dtype.is_nested()):
        several = {*wanted}
        return np.array([value in several for value in column.to_list()], dtype=bool)
    among = pl.Series([one for one in wanted if one is not None], dtype=column.dtype)
    return column.is_in(among.implode()).fill_null(None in wanted).to_numpy()


def _clip_cell(cell: Any) -> str:
    """A cell of a table in a notebook."""
    text = str(cell)
    return text if len(text) <= 80 else text[:77] + "..."


# -- the fingerprint of labels ---------------------------------------------------------------------
# Each label is hashed with its item, annotator, criterion, repeat and conditions; the hashes are summed, which no order
# changes; and the sums are hashed together with everything else that determines numbers: the scales and the judges. The
# hashes are defined here, because those of libraries differ between versions.

Hashes = NDArray[np.uint64]

LONG = 1_024
"""Texts of more bytes are hashed one by one: eight bytes a round, few such texts would make many rounds."""

ROWS = 2**14
"""Rows that are mixed at a time, so that they fit in the processor's cache."""

TEXTS = 2**16
"""Texts that are hashed at a time, for the same reason: 10⁷ names take .6 s, and 2 s all at once."""


def hashes(values: pl.Series, column: str) -> Hashes:
    """Return a hash for each value of a column, which depends on the column; 0 for null.

    A whole number has the same hash as integer and as float. Values of other types are treated as text.
    """
    numeric = values.dtype.is_numeric()
    wanted = pl.Float64 if numeric else pl.String
    values = values if values.dtype == wanted else values.cast(wanted)
    there = None
    if values.null_count():  # asked first: most columns have none, and small tables are many
        there = values.is_not_null().to_numpy()
        values = values.fill_null(0.0 if numeric else "")
    found = _number_hashes(values.to_numpy(), _salt(column)) if numeric else _text_hashes(values, _salt(column))
    return found if there is None else np.where(there, found, np.uint64(0))


def _salt(column: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(column.encode(), digest_size=8).digest(), "little"))


def _number_hashes(numbers: NDArray[Any], salt: np.uint64) -> Hashes:
    return mix((numbers + 0.0).view(np.uint64) ^ salt)  # + 0.0 makes floats of integers and 0 of −0


def mix(x: Hashes) -> Hashes:
    """The finaliser of splitmix64: every input bit reaches every output bit."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def _text_hashes(texts: pl.Series, salt: np.uint64) -> Hashes:
    if len(texts) > TEXTS:
        starts = range(0, len(texts), TEXTS)
        return np.concatenate([_text_hashes(texts.slice(start, TEXTS), salt) for start in starts])
    utf8 = Utf8.of(texts)
    found = mix(utf8.length.astype(np.uint64) ^ salt)
    left = np.flatnonzero(utf8.length <= LONG)
    at = 0
    while len(left := left[utf8.length[left] > at]):
        found[left] = mix(found[left] ^ utf8.words(left, at, "<"))
        at += 8
    for i in np.flatnonzero(utf8.length > LONG):
        text = utf8.data[utf8.start[i] : utf8.start[i] + utf8.length[i]]
        digest = hashlib.blake2b(text.tobytes(), digest_size=8, salt=salt.tobytes()).digest()
        found[i] = int.from_bytes(digest, "little")
    return found


class LabelHashes:
    """Labels as columns of numbers to hash: codes into a table of hashes, or hashes themselves."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.tables: list[tuple[Hashes, NDArray[Any]]] = []
        self.numbers: list[tuple[NDArray[Any], np.uint64]] = []

    def add(self, column: str, values: pl.Series, codes: NDArray[Any]) -> None:
        """Add a column with few distinct values, and each row's position among them."""
        self.add_hashed(hashes(values, column), codes)

    def add_hashed(self, table: Hashes, codes: NDArray[Any]) -> None:
        """Add a column whose distinct values are already hashed."""
        self.tables.append((table, codes))

    def add_numbers(self, column: str, numbers: NDArray[Any]) -> None:
        """Add a column of numbers without missing values."""
        self.numbers.append((numbers, _salt(column)))

    def sums(self, group: NDArray[Any] | None = None, n_groups: int = 1) -> Hashes:
        """Return two sums of the rows' hashes and the number of rows, by group: (groups, 3)."""
        total = np.zeros((n_groups, 3), dtype=np.uint64)
        for start in range(0, self.n_rows, ROWS):
            rows = slice(start, min(start + ROWS, self.n_rows))
            found = np.zeros(rows.stop - start, dtype=np.uint64)
            for table, codes in self.tables:
                found ^= table[codes[rows]]
            for numbers, salt in self.numbers:
                found ^= _number_hashes(numbers[rows], salt)
            found = mix(found)
            halves = (found >> np.uint64(32)) * (found & np.uint64(0xFFFFFFFF))
            if group is None:
                total[0] += np.array([found.sum(), halves.sum(), len(found)], dtype=np.uint64)
            else:
                total += np.stack([_sums(x, group[rows], n_groups) for x in (found, halves, None)], axis=1)
        return total


def _sums(x: Hashes | None, group: NDArray[Any], n_groups: int) -> Hashes:
    """Sums by group modulo 2**64, or the number of rows."""
    if x is None:
        return np.bincount(group, minlength=n_groups).astype(np.uint64)
    # Halves, because bincount adds floats, which are exact below 2**53.
    low = np.bincount(group, x & np.uint64(0xFFFFFFFF), minlength=n_groups).astype(np.uint64)
    high = np.bincount(group, x >> np.uint64(32), minlength=n_groups).astype(np.uint64)
    return np.asarray(low + (high << np.uint64(32)))


def digits(sums: Hashes, scales: Sequence[tuple[str | None, str]], kinds: Mapping[str, str]) -> str:
    """Twelve hexadecimal digits.

    Parameters
    ----------
    sums : (3,) uint64
        Of all labels, see `LabelHashes.sums`.
    scales : (criterion, scale in one line) of every criterion
    kinds : annotator to ``human`` or ``judge``
    """
    said = [[f"{c!r}", spec] for c, spec in sorted(scales, key=repr)], sorted(kinds.items())
    return hashlib.blake2b(sums.astype("<u8").tobytes() + repr(said).encode(), digest_size=6).hexdigest()


def digest_of_columns(labels: Annotations, *columns: str | None) -> dict[str, str]:
    """Return fingerprints of further columns that a question uses, by table; the order of rows does not matter."""
    wanted = sorted({labels.column_name(c) for c in columns if c is not None})
    found, left = {}, wanted
    for table, frame in (("items", labels.items), ("annotators", labels.annotators), ("labels", labels.labels)):
        mine = [name for name in left if name in frame.columns]
        left = [name for name in left if name not in mine]
        if not mine:
            continue
        rows = LabelHashes(frame.height)
        for name in dict.fromkeys(k for k in (*KEY, *mine) if k in frame.columns):
            column = frame[name]
            if column.dtype.is_numeric() and not column.null_count():
                rows.add_numbers(name, column.to_numpy())
            elif table == "labels":
                rows.add_hashed(*labels.hashed(name))
            else:
                rows.add_hashed(hashes(column, name), np.arange(frame.height))
        digest = hashlib.blake2b(rows.sums().astype("<u8").tobytes(), digest_size=6).hexdigest()
        found[f"{table}: {', '.join(mine)}"] = digest
    return found
