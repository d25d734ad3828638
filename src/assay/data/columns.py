"""Frames and columns of any library -> the checked parts of the one table.

`to_polars` reads any frame. `table_parts` splits a long table (one row per label) into labels, items and annotators,
with names as text, labels on their scale, and a `Reading` that reports exclusions and assumptions.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data import words
from assay.data.names import (
    IN_MEMORY,
    Coded,
    Spelling,
    annotator_kinds,
    are_visible,
    computed_names,
    factorize,
    match_spelling,
    model_names,
    numbered_texts,
    strip_spaces,
    trim_names,
    unify_spelling,
)
from assay.data.names import natural as natural
from assay.data.notations import are_dates
from assay.data.scales import Label, Nominal, Ordinal, Preference, Scale, SeveralLabels, parse_scale, scale_of
from assay.data.structure.label_lists import split_lists
from assay.data.structure.orders import order_of
from assay.data.structure.role_names import NUMBERED, called, plain_name, split_scale
from assay.data.structure.sides import (
    PAIR,
    PAIR_OF,
    SWAPPED,
    Sides,
    keep_shown,
    marked_as_swapped,
    side_columns,
    swap_sides,
)
from assay.data.values import (
    MARKS,
    AnnotatorLabels,
    LabelColumn,
    LabelSettings,
    flat_codes,
    infer_scale,
    plain_numbers,
    refuse_differing_labels,
    refuse_off_scale,
    refuse_slips,
    settle_labels,
    with_rarest,
    word_order,
)
from assay.errors import DataError, counted, listing, named_column, unknown
from assay.estimation.options import option
from assay.estimation.result import Exclusion

# -- frames of any library -------------------------------------------------------------------------


def to_polars(frame: Any, strict: Collection[str] = (), *, orders: bool = False) -> pl.DataFrame:
    """Convert any eager or lazy frame that narwhals supports to a Polars frame; the original is never changed.

    Columns in ``strict`` cannot mix numbers and text; other mixed columns become text. With ``orders``, categories
    with a declared order become an Enum, which preserves it; otherwise they become text. Class labels of Hugging
    Face's ``datasets`` become their names.
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    import narwhals as nw

    frame, classes = _datasets_table(frame)
    try:
        native = nw.from_native(_name_columns(frame))
    except TypeError:
        if hasattr(frame, "annotators"):
            raise DataError("these labels are read already: give them to a question") from None
        raise DataError(
            f"cannot read a table from {type(frame).__name__}; give a path, or a pandas, Polars or Arrow frame"
            + (", such as pandas.DataFrame(...) of it" if isinstance(frame, dict | list) else "")
        ) from None
    eager = native.collect("polars") if isinstance(native, nw.LazyFrame) else native
    if not eager.implementation.is_pandas_like():
        found = eager.to_polars()
        if not eager.implementation.is_pyarrow():
            return found
        table = eager.to_native()
        found = declare_orders(found, arrow_orders(table)) if orders else found
        return name_classes(found, classes or class_names(table.schema.metadata))
    # Column by column, because pandas columns of objects can contain anything and Arrow might not be installed.
    columns = {}
    for name in eager.columns:
        column = eager[name]
        if column.dtype.is_numeric() and not column.is_null().any():
            columns[str(name)] = pl.Series(str(name), column.to_numpy())
        else:
            values = [None if gone else v for v, gone in zip(column.to_list(), column.is_null().to_list(), strict=True)]
            columns[str(name)] = column_of(str(name), values, IN_MEMORY, strict=name in strict)
    ordered = {str(n): dtype for n, dtype in eager.schema.items() if isinstance(dtype, nw.Enum) and orders}
    return declare_orders(pl.DataFrame(columns), {n: tuple(map(str, d.categories)) for n, d in ordered.items()})


def declare_orders(frame: pl.DataFrame, orders: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Convert text columns with a declared order to Enums, which preserve it."""
    return frame.with_columns(
        pl.col(name).cast(pl.String).cast(pl.Enum(list(order))) for name, order in orders.items() if len(order)
    )


def arrow_orders(table: Any) -> dict[str, tuple[str, ...]]:
    """The categories of an Arrow table's ordered columns, lowest first."""
    found = {}
    for one in table.schema:
        if getattr(one.type, "ordered", False):
            column = table[one.name].unify_dictionaries()
            chunk = column.chunk(0) if column.num_chunks else None
            found[one.name] = () if chunk is None else tuple(map(str, chunk.dictionary.to_pylist()))
    return found


def class_names(metadata: Mapping[Any, Any] | None) -> dict[str, list[str]]:
    """The names of class labels by column, from the metadata that Hugging Face's ``datasets`` writes."""
    known = {k.decode() if isinstance(k, bytes) else k: v for k, v in (metadata or {}).items()}
    try:
        features = json.loads(known.get("huggingface") or "{}").get("info", {}).get("features", {})
    except (ValueError, AttributeError):
        return {}
    classes = {n: f for n, f in features.items() if isinstance(f, dict) and f.get("_type") == "ClassLabel"}
    return {name: list(map(str, feature["names"])) for name, feature in classes.items() if feature.get("names")}


def name_classes(frame: pl.DataFrame, classes: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Replace the numbers of classes by the names of the classes; −1 means no label.

    Raises
    ------
    DataError
        If a number has no class.
    """
    for name, names in classes.items():
        if name not in frame.columns or not frame[name].dtype.is_integer():
            continue
        strange = frame[name].filter(~frame[name].is_between(-1, len(names) - 1))
        if strange.len():
            raise DataError(f"column '{name}' has {len(names)} classes, but contains class number {strange[0]}")
        frame = frame.with_columns(
            pl.col(name).replace_strict(list(range(len(names))), list(names), default=None, return_dtype=pl.String)
        )
    return frame


def _datasets_table(frame: Any) -> tuple[Any, dict[str, list[str]]]:
    """A data set of Hugging Face's ``datasets`` as its Arrow table, and the names of its classes."""
    if not type(frame).__module__.startswith("datasets."):
        return frame, {}
    if not hasattr(frame, "with_format") or not hasattr(frame, "num_rows"):
        raise DataError(f"a {type(frame).__name__} contains several tables or none; give one of them: dataset['train']")
    if isinstance(frame.num_rows, dict):
        raise DataError(f"the data set has several parts ({', '.join(frame.num_rows)}); give one: dataset['train']")
    names = {n: list(f.names) for n, f in frame.features.items() if type(f).__name__ == "ClassLabel" and f.names}
    return frame.with_format("arrow")[:], names


def _with_index(frame: Any) -> Any:
    """Convert the index of a pandas frame to columns: each level that has a name or contains texts."""
    if not hasattr(frame, "columns") or not hasattr(getattr(frame, "index", None), "names"):
        return frame
    index = frame.index
    levels = [(name, index.get_level_values(level)) for level, name in enumerate(index.names)]
    said = [name not in frame.columns and (name is not None or _holds_texts(values)) for name, values in levels]
    kept = [level for level in range(index.nlevels) if said[level]]
    others = [level for level in range(index.nlevels) if level not in kept]
    frame = frame.reset_index(others, drop=True) if others else frame
    return frame.reset_index() if kept else frame


def _holds_texts(values: Any) -> bool:
    return values.dtype.kind == "O" and any(isinstance(value, str) for value in values)


def _name_columns(frame: Any) -> Any:
    """Give each column of a frame one text as its name: 1 becomes "1"; an informative index becomes a column."""
    frame = _with_index(frame)
    names = list(getattr(frame, "column_names", getattr(frame, "columns", ())))
    # Names with several levels are joined like two header rows of a sheet.
    levels = [[str(part) for part in name if str(part)] if isinstance(name, tuple) else [str(name)] for name in names]
    texts = [" / ".join(parts) for parts in levels]
    twice = next((name for name in texts if texts.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"the table has two columns named '{twice}'; rename one of them")
    if names != texts and hasattr(frame, "set_axis"):
        return frame.set_axis(texts, axis=1)
    return frame


def column_of(name: str, values: Sequence[Any], source: str, *, strict: bool = True) -> pl.Series:
    """Make a column from Python values of one type.

    A mixture of numbers and text is refused, with the rows, or becomes text with ``strict=False``; lists and objects
    become JSON text.
    """
    there = [v for v in values if v is not None]
    if any(isinstance(v, dict | list) for v in there):
        return pl.Series(name, [None if v is None else json.dumps(v, ensure_ascii=False, default=str) for v in values])
    texts = [i for i, v in enumerate(values) if isinstance(v, str)]
    if texts and len(texts) < len(there):
        if not strict:
            return pl.Series(name, [None if v is None else str(v) for v in values])
        others = [i for i, v in enumerate(values) if v is not None and not isinstance(v, str)]
        raise mixed_column(name, {i + 1: values[i] for i in min(texts, others, key=len)}, source)
    found = pl.Series(name, values, strict=False)
    return found.cast(pl.Float64) if found.dtype == pl.Int128 else found  # NumPy has no such integers


def mixed_column(name: str, few: Mapping[int, Any], source: str) -> DataError:
    """Return the error about a column of numbers and text, with the rows of the fewer."""
    rows = ", ".join(f"row {row}: {value!r}" for row, value in [*few.items()][:5])
    more = f" and {len(few) - 5} more" if len(few) > 5 else ""
    return DataError(f"{source}: column '{name}' mixes numbers and text ({rows}{more}); convert all values to one type")


# -- the report of reading -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """How a table was read: the number of rows, the exclusions with reasons, and the assumptions."""

    source: str = IN_MEMORY
    rows: int = 0
    exclusions: tuple[Exclusion, ...] = ()
    """Numbers of rows that are not labels, by reason."""
    notes: tuple[str, ...] = ()
    """Assumptions and changes in words."""
    as_text: bool = False
    """Whether the source stores numbers as text, as CSV does."""
    orders: Mapping[str | None, tuple[str, ...]] = field(default_factory=dict)
    """Labels in the order that their column declares, by criterion, if the labels no longer show it."""
    study: str = ""
    """The folder of the study that the labels come from; empty for other sources."""
    asked: tuple[str, ...] = ()
    """Judges that assay asked itself, so that their requests are known: they had no annotator's label of the item."""
    tried: int = 0
    """Settings of judges and prompts of which the study has answers to one question, also earlier versions, or of which
    labels were selected; 0 of other sources."""
    clusters: str = ""
    """The item column of a study by which its items belong together: the document, or that of the pairs of a ranking or
    the words of a text. Empty without one."""
    drawn: tuple[str, ...] = ()
    """Item columns with the numbers of a study's drawn pairs or triplets, which describe no item."""
    left_out: tuple[str, ...] = ()
    """Item columns with labels of annotators whom ``columns=...`` leaves out: they are not known of an item without
    reading it."""
    excluded: tuple[str, ...] = ()
    """Annotators with names of models whom ``exclude=...`` leaves out."""
    places: tuple[str, ...] = ()
    """Annotators without names that are called by the place of their labels, in a list or among the rows of an item."""
    as_one_vote: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Annotators whose votes in both orders of a pair count as one: the number of pairs, and of those with different
    votes."""
    with_items: bool = False
    """Whether the table of items is that of the source: its items without a label belong to the study."""
    listed: tuple[str, ...] = ()
    """Criteria that are the labels of lists in cells, unless the user has named them: another label is in no list."""
    apart: tuple[str | None, ...] = ()
    """Criteria (None: all labels) on one scale of several sources that each stated another one, or none: their
    annotators are compared, as are those of labels whose scale is inferred."""
    split_detected: bool = False
    """Whether item ids were split into item and criterion because all of them show this structure."""

    @property
    def pooled_by(self) -> str:
        """Another remedy for a table with several criteria: item ids that were split can stay whole."""
        return ", or set split_item='no' to pool them" if self.split_detected else ""

    def n_tried(self, judges: Iterable[Hashable]) -> int:
        """The number of settings of judges and prompts with labels: in the study, or in the file."""
        return max(self.tried, len({*judges} | {*model_names(self.left_out), *self.excluded}))

    def provenance(self, judge: str) -> Literal["asked", "file"]:
        """Where a judge's labels come from: assay asked it, or a file, so that its requests are not known."""
        return "asked" if judge in self.asked else "file"

    def add_notes(self, *notes: str) -> Reading:
        """Return the same report with more notes."""
        return replace(self, notes=self.notes + notes)

    def without(self, reason: str, rows: int) -> Reading:
        """Return the same report with rows excluded for a reason; unchanged if there are none."""
        return replace(self, exclusions=(*self.exclusions, Exclusion("row", rows, reason))) if rows else self

    def lines(self) -> list[str]:
        """Return the exclusions and notes, one per line."""
        lines = [_excluded(e) for e in self.exclusions]
        return lines + list(self.notes)


def _excluded(exclusion: Exclusion) -> str:
    """The line on an exclusion: ``3 rows without a label excluded``, ``2 rows excluded: blank``."""
    rows = counted(exclusion.count, exclusion.what)
    if exclusion.reason.startswith(NO_LABEL):
        return f"{rows} {exclusion.reason} excluded"
    return f"{rows} excluded: {exclusion.reason}"


SPLIT_DETAILS = (
    r"The criterion follows the last `__`; groups of `(?P<item>.+)__(?P<criterion>\w+)` other than item, "
    "criterion and repeat become columns of `items`. With `no` or None, item ids stay whole."
)


@dataclass(frozen=True, kw_only=True)
class FrameSettings(LabelSettings):
    """The roles of the columns of a long frame, and how their values are parsed."""

    renamed: ClassVar[Mapping[str, str]] = {"annotators": "annotator_table=..."}

    item: str | int = option("item", "Column with the item id.")
    annotator: str | int = option("annotator", "Column with the annotator.", first=True)
    label: str | int = option("label", "Column with the label.")
    criterion: str | int | None = option(
        None,
        "Column with the criterion.",
        details="By default a column called `criterion`, if there is one. In a wide table, an item has one row for "
        "each.",
    )
    repeat: str | int | None = option(
        None,
        "Column with the repeat number.",
        details="By default a column called `repeat`, if there is one. In a wide table, an item has one row for each; "
        "a column of people with one value for each item is one label.",
    )
    kind: str | int | None = option(
        None,
        "Column that distinguishes `human` and `judge`.",
        details="By default a column called `kind`, if there is one.",
    )
    judges: Iterable[str] | None = option(
        None,
        "Names of all judges in the table.",
        first=True,
        details="All other annotators are human. An annotator with the name of a model (`gpt-4o`), or listed as a "
        "judge in `kind`, is refused until named here or in `humans`. Names of columns, here and in `humans`, state "
        "which columns hold the labels of a wide table.",
    )
    humans: Iterable[str] | None = option(
        None,
        "Names of all human annotators in the table.",
        details="Without `judges`, name all humans; other annotators are judges if their names are names of models. "
        "With `judges`, only humans whose names look like a model's must be named.",
    )
    spelling: Spelling = option(
        "refuse",
        "Names that differ only in case or inner spaces, such as `Ann` and `ann`.",
        details="For items, annotators, criteria and systems: refused until you specify that they are the same "
        "(`merge`) or different (`apart`). Spaces around names are removed, and `reading` reports it.",
    )
    scale: Scale | str | int | Sequence[Label] | Mapping[str, Any] | None = option(
        None,
        "Scale of the labels: 1-5, interval:0-100, ordinal:low<mid<high, nominal:yes,no, several, text, preference.",
        first=True,
        details="With `several`, each label that cells list (`fever; cough`) is a criterion, answered yes or no. For "
        "all criteria, or one for each: `assay.Ordinal(1, 5)`, `1-5`, `(1, 5)` or `5`. See "
        "`assay.data.scales.parse_scale`. By default the scale is inferred and reported in `reading`: the order of "
        "ordered Categoricals and Enums, otherwise numbers, categories or free text.",
    )
    exclude: Iterable[str] | None = option(
        None,
        "Columns, annotators or items to ignore, such as `Mean`.",
        details="By default, rows and columns that are computed from others are ignored and reported in `reading`, and "
        "an annotator or an item called `Consensus` or `Average` is refused until you specify its role; `[]` states "
        "that nothing is computed.",
    )
    conditions: Iterable[str] = option((), "Columns with experimental conditions, such as temperature or prompt.")
    split_item: str | None = option(
        None,
        "Separator, or regular expression with named groups, that splits criteria off item ids.",
        details=SPLIT_DETAILS,
    )
    items: Any = option(None, "Item metadata: a table with one row per item.")
    annotator_table: Any = option(None, "Annotator metadata: a table with one row per annotator.")
    reading: Reading | None = option(
        None,
        "The report of reading the source, to which notes are added.",
        details="If the frame has a column `_row`, messages use it for the place of each row.",
        transient=True,
    )

    @property
    def excluded(self) -> tuple[str, ...]:
        """The annotators, items and columns to ignore."""
        given = self.exclude or ()
        return (given,) if isinstance(given, str) else tuple(map(str, given))

    @property
    def named(self) -> dict[str, tuple[str, ...]]:
        """The annotators that are named as ``judges`` and as ``humans``."""
        given = {"judges": self.judges, "humans": self.humans}
        return {which: (who,) if isinstance(who, str) else tuple(map(str, who or ())) for which, who in given.items()}

    @property
    def people(self) -> set[str]:
        """All annotators that are named."""
        return {name for names in self.named.values() for name in names}

    @property
    def splitting(self) -> str | None:
        """How item ids are split; None if they stay whole."""
        return None if self.split_item == "no" else self.split_item

    @property
    def several(self) -> tuple[str, ...] | None:
        """The labels that a list in a cell can contain, empty for all that occur; None if cells are no lists."""
        if self.scale == SeveralLabels.kind:
            return ()
        found = parse_scale(self.scale) if isinstance(self.scale, str) else self.scale
        return found.names if isinstance(found, SeveralLabels) else None

    def parsed_scale(self) -> Scale | dict[str, Scale] | None:
        """The scale, or the scale of each criterion, with parsed specifications; yes or no for lists of labels."""
        if self.several is not None:
            return Nominal(("no", "yes"))
        if isinstance(self.scale, Mapping):
            return {name: scale_of(one) for name, one in self.scale.items()}
        return None if self.scale is None else scale_of(self.scale)


# -- parts of a long frame ---------------------------------------------------------------------------

KEY = ("item", "annotator", "criterion", "repeat")
"""The columns that together identify one answer (with the declared conditions)."""

BLANK = "blank"
"""Reason for the exclusion of rows without any value."""

NO_LABEL = "without a label"
"""Reason for the exclusion of rows without a label."""

_FEW_NAMES = 10_000
"""Number of names up to which averages are searched for: they occur in sheets that are kept by hand."""

CONTENT = "content_version"
"""The column with the version number of an item's content, for items that were changed during annotation."""


PART, PARTS = "part", ("development", "test")
"""The column of the items that separates the development set, which prompts can use, from the test set."""


class Parts(NamedTuple):
    """The parts of the one table; the first seven as in `assay.data.annotations.Annotations`."""

    labels: pl.DataFrame
    items: pl.DataFrame
    annotators: pl.DataFrame
    scales: dict[str | None, Scale]
    conditions: tuple[str, ...]
    reading: Reading
    names: dict[str, str]
    codes: dict[str, Coded]
    """Items, annotators and criteria as numbers."""
    rows: pl.Series
    """The row of each label in the source."""
    unlabelled: pl.DataFrame | None
    """Items whose rows have no label."""


def table_parts(frame: Any, settings: FrameSettings) -> Parts:
    """Return the parts of the one table, from a long frame; see `assay.data.annotations.Annotations.from_frame`."""
    sheet = _Sheet(frame, settings)
    if settings.several is not None:
        sheet.split_lists(settings.several)
    sheet.read_names()
    scales = sheet.read_labels()
    sheet.read_sides(scales)
    people = sheet.read_annotators()
    sheet.notes += several_contents(sheet.table)
    items = sheet.item_frame()
    roles = sheet.roles
    # After splitting, the column no longer contains the item id.
    names = {n: r for r, n in roles.items() if n != r and not (r == "item" and settings.splitting is not None)}
    if sheet.pairs_are_items:
        names |= {name: PAIR_OF for name, role in names.items() if role == "item"}
    asked = map(str, [settings.conditions] if isinstance(settings.conditions, str) else settings.conditions)
    columns = sheet.table.columns
    declared = tuple(name if name in columns else names.get(name, name) for name in asked)
    for name in declared:
        if name not in columns:
            raise DataError(unknown("condition", name, columns, sheet.source))
    sheet.clear_conditions_of_humans(people, declared)
    if sheet.in_both_orders(scales, declared):
        declared += ("order",)
    table = sheet.table
    rest = [c for c in table.columns if c not in (*KEY, "label", "kind", "_row")]
    order = [k for k in (*KEY[:3], "label", *KEY[3:]) if k in table.columns] + rest
    reading = sheet.reading.add_notes(*sheet.notes)
    return Parts(table.select(order), items, people, scales, declared, reading, names, sheet.ids, table["_row"],
                 sheet.unlabelled_items())  # fmt: skip


_PAIR_KEY = pl.concat_list(pl.col(name).cast(pl.String) for name in PAIR).list.sort().list.join("\0")
"""The two systems of a vote, in either order."""


class _Sheet:
    """Splits one long frame into its parts."""

    def __init__(self, frame: Any, settings: FrameSettings) -> None:
        table = to_polars(frame, strict=(str(settings.label),), orders=True)
        reading = settings.reading or Reading(rows=table.height)
        table, n_blank = drop_blank_rows(table)
        self.settings, self.source, self.reading = settings, reading.source, reading.without(BLANK, n_blank)
        self.roles = _roles(table, settings, self.source)
        self.table = _rename_to_roles(table, self.roles)
        self.ids: dict[str, Coded] = {}
        self.notes: list[str] = []
        self.silent: tuple[str, ...] = ()
        """Annotators without any label."""
        self.bare: pl.Series | None = None
        """Items of rows without a label, if there are such rows."""
        self.without_label: pl.DataFrame | None = None
        """Items of the table of items without a label."""
        self.pairs_are_items = False
        """Whether the item now consists of the question and the pair of systems."""
        items = settings.items
        self.items = (
            None if items is None else _rows_about(to_polars(items), self.table["item"], "item", str(settings.item))
        )

    def read_names(self) -> None:
        """Read items, annotators and criteria as text in one spelling, and as codes; repeats as whole numbers."""
        for name in ("item", "annotator"):
            self._read_ids(name)
        self._exclude_computed()
        if self.settings.splitting is not None:
            self.table, self.items, notes = split_items(self.table, self.items, self.settings.splitting)
            self.ids["item"] = factorize(self.table["item"])
            self.notes += notes
        if "criterion" in self.table.columns:
            text = whole_ids(self.table["criterion"]).cast(pl.String).fill_null("")
            self.ids["criterion"], notes = trim_names(factorize(text), "criterion")
            self._replace_names("criterion", self.ids["criterion"].column() if notes else text, notes)
        for role, found in self.ids.items():
            self.ids[role], notes = unify_spelling(found, role, self.settings.spelling, self.source)
            self._replace_names(role, None if self.ids[role] is found else self.ids[role].column(), notes)
        if "repeat" in self.table.columns:
            if _are_times(self.table["repeat"]):
                of = [name for name in KEY[:3] if name in self.table.columns]
                places = order_of(self.table["repeat"], str(self.settings.repeat))
                self.table = self.table.with_columns(repeat=places).with_columns(
                    pl.col("repeat").rank("dense").over(of)
                )
                self.notes.append(f"answers given several times are numbered in the order of '{self.settings.repeat}'")
            written = numbered_texts(self.table["repeat"])
            number = (self.table["repeat"] if written is None else written).cast(pl.Float64, strict=False)
            bad = self.table.filter(self.table["repeat"].is_not_null() & (number.is_null() | (number % 1 != 0)))
            if bad.height:
                raise DataError(f"{self.source}: column 'repeat' must contain whole numbers; check {_rows(bad)}")
            self.table = self.table.with_columns(number.fill_null(1).cast(pl.Int64).alias("repeat"))

    def split_lists(self, names: Sequence[str]) -> None:
        """Make each label of the lists in cells a criterion; with criteria, a criterion of each."""
        texts = self.table["label"].cast(pl.String)
        answers, notes = split_lists(texts, names, self.table["_row"], self.source, self.settings.label_spelling)
        each = pl.DataFrame({"name": answers["name"].unique(maintain_order=True)})
        made = self.table.with_columns(cell=texts).drop("label").join(each, how="cross")
        made = made.join(answers, on=["cell", "name"], how="left", maintain_order="left")
        of = [pl.col("criterion").cast(pl.String)] if "criterion" in made.columns else []
        self.table = made.with_columns(criterion=pl.concat_str(*of, "name", separator=": ")).drop("cell", "name")
        self.roles["criterion"] = "criterion"
        if not names:
            listed = (*self.table["criterion"].unique(maintain_order=True),)
            self.reading = replace(self.reading, listed=listed)
        empty = int((texts.is_null() | (texts.str.strip_chars() == "")).sum())
        missing = f"; {counted(empty, 'empty cell')} missing, because 'none' would say that no label applies"
        self.notes += [f"{notes[0]}{missing if empty else ''}", *notes[1:]]

    def _exclude_computed(self) -> None:
        """Exclude the annotators and items listed in ``exclude``; by default refuse names of computed values."""
        if self.settings.exclude is None:
            self._refuse_computed()
            return
        for role in ("annotator", "item"):
            gone = self.ids[role].names.is_in(list(self.settings.excluded))
            if not gone.any():
                continue
            names = self.ids[role].names.filter(gone).to_list()
            keep = ~gone.to_numpy()[self.ids[role].codes]
            self.table, self.ids = self.table.filter(pl.Series(keep)), {n: c.where(keep) for n, c in self.ids.items()}
            reason = f"{role} {listing(names, 3)} (listed in exclude=...)"
            self.reading = self.reading.without(reason, int((~keep).sum()))
            if role == "annotator":
                self.reading = replace(self.reading, excluded=(*model_names(names),))

    def _refuse_computed(self) -> None:
        for role in ("annotator", "item"):
            names = self.ids[role].names
            found = computed_names(names) if len(names) <= _FEW_NAMES else []
            found = [name for name in found if name not in self.settings.people]
            if found and len(found) < len(names):
                finding = "not an annotator" if role == "annotator" else "not an item but computed"
                raise DataError(
                    f"{self.source}: {role} '{found[0]}' is probably {finding} (by name): set exclude={found} to "
                    f"ignore it, or exclude=[] if it is one of the {role}s",
                    advised={"exclude": found},
                )

    def _replace_names(self, role: str, column: pl.Series | None, notes: Iterable[str]) -> None:
        if column is not None:
            self.table = self.table.with_columns(column.alias(role))
        self.notes += notes

    def _read_ids(self, name: str) -> None:
        """Read items or annotators without spaces around them; refuse a row without one."""
        column = whole_ids(self.table[name])
        if not column.null_count():
            self.ids[name] = factorize_ids(column)
        # Names are checked for blanks, because rows are many more.
        if column.null_count() or _blank(self.ids[name].names).any():
            missing = self.table.filter(_id_texts(self.table[name]).is_null())
            rows = counted(missing.height, "row")
            raise DataError(f"{self.source}: {rows} without {name} ({_rows(missing)}); fill or remove them")
        self.ids[name], notes = trim_names(self.ids[name], name)
        self._replace_names(name, self.ids[name].column() if notes or column.dtype != pl.String else None, notes)

    def read_labels(self) -> dict[str | None, Scale]:
        """Parse labels on their scales, which are inferred if not given; exclude rows without a label.

        The scale under None applies to all criteria, if they have the same one.
        """
        if self.table["label"].dtype == pl.Null:
            self.table = self.table.with_columns(pl.col("label").cast(pl.String))
        if self.table["label"].dtype == pl.Boolean:
            self.table = self.table.with_columns(pl.col("label").cast(pl.String))
        dtype = self.table["label"].dtype
        if not (dtype.is_numeric() or dtype in (pl.String, pl.Boolean, pl.Categorical, pl.Enum)):
            raise DataError(
                f"{self.source}: labels of type {dtype} cannot be parsed; give one number or text per row "
                "(spreadsheets convert entries such as 4/5 to dates)"
            )
        # Criteria are parsed separately, then put back in the order of the rows.
        table, scale = self.table, self.settings.parsed_scale()
        whole = isinstance(scale, Scale) or "criterion" not in table.columns
        settings = self.settings if whole else self._with_codes_of_criteria()
        at, found, assumed, marks = [], {}, dict[str, list[str | None]](), Counter[str]()
        for criterion in (None,) if whole else natural(table["criterion"].unique().to_list()):
            some = table.select("label", "_row")
            if criterion is not None:
                at.append(np.flatnonzero((table["criterion"] == criterion).to_numpy()))
                some = some[pl.Series(at[-1])]
            order = self.reading.orders.get(criterion)
            part = LabelColumn(some["label"], some["_row"], criterion, self.source, self.reading.as_text, order)
            given = Preference() if scale is None and self._names_sides(part.labels) else scale
            labels, part_scale, notes, part_marks = _settle_criterion(part, given, settings)
            if given is not scale:
                notes = [*notes, "Assumed scale preference, because labels name the columns 'first' and 'second'. If "
                         "they are categories, set scale='nominal:first,second,tie'"]  # fmt: skip
            found[criterion] = labels, part_scale
            marks.update(part_marks)
            for note in notes:
                assumed.setdefault(note, []).append(criterion)
        scales = {criterion: one for criterion, (_, one) in found.items() if one is not None}
        if len(set(scales.values())) == 1 and scale is None:
            scales = {None: next(iter(scales.values()))}
        cast = cast_together([labels for labels, _ in found.values()])
        column = cast[0] if whole else pl.concat(cast).gather(np.argsort(np.concatenate(at)))
        column = _equal_numbers(column)
        self.table = table.with_columns(column.alias("label"))
        for note, which in assumed.items():
            said = with_rarest(note, [found[one][0] for one in which])
            self.notes.append(said if None in scales else f"{listing(which, 4)}: {said}")
        if scale is None and not whole:
            self.notes += _ordered_words(found)
        self.notes += _marks_not_found(self.settings.marks or (), marks)
        self._drop_unlabelled(marks)
        apart = self.reading.apart
        compared = {c: one for c, one in scales.items() if scale is None or c in apart or None in apart}
        self._refuse_differing_labels(compared)
        return scales

    def _with_codes_of_criteria(self) -> FrameSettings:
        """The settings, with codes that name no criterion only for the criteria that have such labels, if any has."""
        codes = self.settings.codes
        if codes is None or not (known := flat_codes(codes)):
            return self.settings
        texts = strip_spaces(self.table["label"].cast(pl.String)).str.to_lowercase()
        mine = self.table["criterion"].filter(texts.is_in([one.lower() for one in known])).unique()
        return replace(self.settings, codes=dict.fromkeys(mine, known)) if len(mine) else self.settings

    def _refuse_differing_labels(self, scales: Mapping[str | None, Scale]) -> None:
        """Refuse labels that annotators write differently, by criterion."""
        who, item = self.ids["annotator"], self.ids["item"]
        stated = self.settings.codes is not None or self.settings.label_spelling == "apart"
        if len(who.names) < 2 or (stated and not self.table["label"].dtype.is_numeric()):
            return
        names, values = tuple(who.names.to_list()), self.table["label"].to_numpy()
        of = self.table["criterion"].to_numpy() if "criterion" in self.table.columns else None
        for criterion, scale in scales.items():
            rows = slice(None) if of is None or criterion is None else of == criterion
            items, people = item.codes[rows].astype(np.int64), who.codes[rows].astype(np.int64)
            given = AnnotatorLabels(values[rows], items, people, names, self.source)
            refuse_differing_labels(given, scale)

    def _names_sides(self, labels: pl.Series) -> bool:
        """Whether labels are the names of the columns of two systems, or ties."""
        known = {*self.table.columns, *(() if self.items is None else self.items.columns)}
        if not set(PAIR) <= known or labels.dtype.is_numeric() or labels.dtype == pl.Boolean:
            return False
        words = set(labels.drop_nulls().unique().cast(pl.String).str.strip_chars().str.to_lowercase().to_list()) - {""}
        return bool(words & set(PAIR)) and words <= set(Preference.WORDS.values())

    def read_sides(self, scales: Mapping[str | None, Scale]) -> None:
        """Assign each system to one side of all votes, and make each pair of systems an item."""
        kinds = {criterion: isinstance(scale, Preference) for criterion, scale in scales.items()}
        if not any(kinds.values()) or not set(PAIR) <= set(self.table.columns):
            return
        votes = np.ones(self.table.height, dtype=bool)
        if None not in kinds:
            votes = self.table["criterion"].replace_strict(kinds, default=False, return_dtype=pl.Boolean).to_numpy()
        self._read_systems()
        sides = Sides(self.table, votes)
        if self.items is not None and set(PAIR) <= set(self.items.columns):
            self.items = self._rows_of_pairs(self.items)
        known = (*self.table.columns, *(() if self.items is None else self.items.columns))
        if PAIR_OF not in known and sides.several(self.ids["item"]):
            self._pairs_as_items(sides)
        swapped = sides.swapped(self.ids["item"], self.table["label"].cast(pl.Float64, strict=False).to_numpy())
        if not swapped.any():
            return
        before = marked_as_swapped(self.table[SWAPPED]) if SWAPPED in self.table.columns else False
        table = swap_sides(keep_shown(self.table, sides), swapped)
        self.table = table.with_columns(pl.Series(SWAPPED, swapped ^ before))
        others = [name for pair in side_columns(self.table.columns) if pair != PAIR for name in pair]
        self.notes.append(
            "votes on one item show its two systems in both orders. The system with more wins minus losses is now "
            f"the first in all votes ({int(swapped.sum()):,} swapped: column {SWAPPED}"
            f"{f'; also swapped, by their names: {listing(others, 6)}' if others else ''})"
        )

    def in_both_orders(self, scales: Mapping[str | None, Scale], conditions: Sequence[str]) -> bool:
        """Whether votes of one annotator on one item differ in the shown order, which is then a condition."""
        table = self.table
        if "order" in conditions or "order" not in table.columns or not {*PAIR, "position"} <= set(table.columns):
            return False
        if not any(isinstance(scale, Preference) for scale in scales.values()):
            return False
        key = [c for c in (*KEY, *conditions) if c in table.columns]
        if not table.select(key).is_duplicated().any() or table.select(*key, "order").is_duplicated().any():
            return False
        self.notes.append("votes of one annotator on one pair in both orders: the order is a condition")
        return True

    def clear_conditions_of_humans(self, people: pl.DataFrame, conditions: Sequence[str]) -> None:
        """Read a condition as missing where humans have only usual marks, such as NA: they labelled without it."""
        humans = people.filter(pl.col("kind") == "human")["annotator"]
        rows = self.table["annotator"].is_in(humans.implode())
        for name in conditions if self.settings.marks != () and 0 < len(humans) < people.height else ():
            column = self.table[name]
            if column.dtype == pl.String and len(seen := column.filter(rows).drop_nulls().unique()):
                if not strip_spaces(seen).str.to_lowercase().is_in(list(MARKS)).all():
                    continue
                self.table = self.table.with_columns(pl.when(~rows).then(column).alias(name))
                self.notes += [words.marks_in_columns(one, [name]) for one in seen.sort()]

    def _rows_of_pairs(self, about: pl.DataFrame) -> pl.DataFrame:
        """The rows of a table of questions and pairs of systems whose pair has votes, in either order of systems."""
        mine = self.table.select(_id_texts(self.table["item"]).alias("item"), _pair=_PAIR_KEY).unique()
        return about.with_columns(_pair=_PAIR_KEY).join(mine, on=["item", "_pair"], how="semi").drop(*PAIR)

    def _read_systems(self) -> None:
        """Read the names of systems that come again in one spelling, as those of annotators."""
        height = self.table.height
        both = factorize(pl.concat([self.table[name].cast(pl.String) for name in PAIR]))
        if 2 * len(both.names) > height:
            return  # texts, not names
        trimmed, notes = trim_names(both, "system")
        found, more = unify_spelling(trimmed, "system", self.settings.spelling, self.source)
        self.notes += [*notes, *more]
        if found is not both:
            names = found.column()
            self.table = self.table.with_columns(names[:height].alias(PAIR[0]), names[height:].alias(PAIR[1]))

    def _pairs_as_items(self, sides: Sides) -> None:
        """Make the question and its pair of systems the item; `PAIR_OF` is the question."""
        of_pairs = self.items is not None and "_pair" in self.items.columns
        about = self.items if self.items is None or of_pairs else self._match_rows(self.items, "item")
        self.ids["item"] = sides.named_pairs(self.ids["item"])
        self.table = self.table.with_columns(self.ids["item"].column().alias("item"), pl.col("item").alias(PAIR_OF))
        if about is not None:
            key = [PAIR_OF, *(["_pair"] if of_pairs else [])]
            of_pair = (
                self.table.select("item", PAIR_OF, _pair=_PAIR_KEY).select("item", *key).unique(maintain_order=True)
            )
            joined = about.rename({"item": PAIR_OF}).join(of_pair, on=key, how="left", maintain_order="left")
            self.items = joined.with_columns(pl.col("item").fill_null(pl.col(PAIR_OF))).drop(key)
        self.pairs_are_items = True
        self.notes.append(
            f"several pairs of systems share an item. Each pair is now an item, such as '{self.ids['item'].names[0]}', "
            f"and {PAIR_OF} names the question"
        )

    def _drop_unlabelled(self, marks: Mapping[str, int]) -> None:
        """Exclude rows without a label; ``marks`` has the number of rows with each mark of a missing value."""
        blank = _blank(self.table["label"])
        n_marks = sum(marks.values())
        if blank.any():
            keep = (~blank).to_numpy()
            there = self.ids["annotator"].names.to_list()
            self.bare = self.ids["item"].where(blank.to_numpy()).names
            self.table, self.ids = self.table.filter(~blank), {n: one.where(keep) for n, one in self.ids.items()}
            left = set(self.ids["annotator"].names.to_list())
            self.silent = tuple(name for name in there if name not in left)
        self.reading = self.reading.without(NO_LABEL, int(blank.sum()) - n_marks).without(
            f"missing label ({listing(list(marks), 5)})", n_marks
        )
        if self.table.height == 0:
            raise DataError(f"{self.source}: no row has a label in column '{self.settings.label}'")

    def read_annotators(self) -> pl.DataFrame:
        """Return one row per annotator, with its kind."""
        about, who = self.settings.annotator_table, self.ids["annotator"]
        if about is not None:
            about = self._match_rows(
                _rows_about(to_polars(about), self.ids["annotator"].names, "annotator", str(self.settings.annotator)),
                "annotator",
            )
        names = natural(who.names.to_list())
        for which, named in self.settings.named.items():
            for name in self.silent if names else ():
                if name in named:
                    raise DataError(
                        f"{self.source}: annotator '{name}' has no labels; fill column '{self.settings.label}', or "
                        f"remove the annotator from {which}=..."
                    )
            for name in named:
                if name in self.table.columns and name not in names:
                    raise DataError(named_column(name, self.settings.item, self.settings.annotator, self.source))
        frame = pl.DataFrame({"annotator": list(names)}, schema={"annotator": pl.String})
        if about is not None:
            frame = frame.join(about, on="annotator", how="left", maintain_order="left")
        found, notes = annotator_kinds(
            who,
            self.table["kind"] if "kind" in self.table.columns else None,
            frame if about is not None and "kind" in about.columns else None,
            self.settings.judges,
            self.settings.humans,
            self.settings.spelling,
            self.source,
        )
        self.notes += notes
        self.ids["annotator"] = who.reorder(names)
        rest = [c for c in frame.columns if c not in ("annotator", "kind")]
        return frame.select("annotator", pl.Series("kind", found, dtype=pl.String), *rest)

    def item_frame(self) -> pl.DataFrame:
        """Return one row per item with a label, in sorted order."""
        frame = pl.DataFrame({"item": self.ids["item"].names})
        if self.items is None:
            return frame
        about = self._match_rows(self.items.drop("_pair", strict=False), "item")
        self.without_label = about.join(frame, on="item", how="anti", maintain_order="left")
        if unlabelled := self.without_label.height:
            if unlabelled == about.height:
                raise DataError(
                    f"{self.source}: no item of the table of items has a label: it has '{about['item'][0]}', and the "
                    f"labels have '{frame['item'][0]}'; write the same ids in both"
                )
            of = "" if self.reading.with_items else " of the item table"
            self.notes.append(f"{counted(unlabelled, 'item')}{of} without a label")
        absent = frame.join(about, on="item", how="anti")
        if 2 * absent.height > frame.height:
            number = f"{absent.height:,} of {counted(frame.height, 'item')}"
            self.notes.append(f"{number} with labels are not in the table of items, such as '{absent['item'][0]}'")
        return frame.join(about, on="item", how="left", maintain_order="left")

    def unlabelled_items(self) -> pl.DataFrame | None:
        """Return the items of the source without a label; None if there are none, or if pairs of systems are items."""
        found = [self.without_label] if self.without_label is not None and self.reading.with_items else []
        if self.bare is not None:
            rest = self.bare.filter(~self.bare.is_in(self.ids["item"].names.implode()))
            found.append(pl.DataFrame({"item": rest}, schema={"item": pl.String}))
        if not any(one.height for one in found) or self.pairs_are_items or self.settings.splitting is not None:
            return None
        return pl.concat(found, how="diagonal_relaxed").unique("item", keep="first", maintain_order=True)

    def _match_rows(self, about: pl.DataFrame, role: str) -> pl.DataFrame:
        """Spell the names of an additional table as the labels spell them."""
        names = match_spelling(about[role], self.ids[role].names, role, self.settings.spelling, self.source)
        about = about.with_columns(names)
        twice = about.filter(about[role].is_duplicated())
        if twice.height:
            raise DataError(f"the table of {role}s contains '{twice[role][0]}' twice")
        return about


def _roles(table: pl.DataFrame, settings: FrameSettings, source: str) -> dict[str, str]:
    """Find the column of each role; item, annotator and label are required, other roles are optional."""
    found = {}
    for role in ("item", "annotator", "label"):
        name = str(getattr(settings, role))
        if name not in table.columns:
            raise DataError(
                unknown("column", name, table.columns, source)
                + f" (it should contain the {role}; name another column with {role}=...)"
            )
        found[role] = name
    for role in ("criterion", "repeat", "kind"):
        given = getattr(settings, role)
        if given is not None and str(given) not in table.columns:
            raise DataError(unknown("column", str(given), table.columns, source))
        if given is not None or role in table.columns:
            found[role] = role if given is None else str(given)
    for role, name in found.items():
        other = next((one for one, its in found.items() if its == name and one != role), None)
        if other is not None:
            raise DataError(
                f"column '{name}' cannot be both the {role} and the {other}; name another column with {other}=..."
            )
    if table.height == 0:
        raise DataError(f"{source} has no rows")
    return found


def _rename_to_roles(table: pl.DataFrame, roles: Mapping[str, str]) -> pl.DataFrame:
    """Rename columns to their roles, and add the number of each row."""
    # A column with the name of a role but without that role would clash after renaming.
    clash = {r for r, name in roles.items() if name != r and r in table.columns} - set(roles.values())
    for change in ({name: f"{name} (original)" for name in clash}, {n: r for r, n in roles.items() if n != r}):
        table = table.rename(change) if change else table
    if "_row" not in table.columns:
        table = table.with_columns(_row=pl.int_range(1, table.height + 1, dtype=pl.UInt32))
    texts = [n for n, dtype in table.schema.items() if dtype in (pl.Categorical, pl.Enum) and n != "label"]
    return table.with_columns(pl.col(texts).cast(pl.String)) if texts else table


def drop_blank_rows(table: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Drop rows without any value, and return their number: sheets often end in such rows."""
    rows: NDArray[np.int64] | None = None
    for name in table.columns:
        if name == "_row":
            continue
        # Later columns are checked only in rows whose earlier columns are all blank.
        column = table[name] if rows is None else table[name][rows]
        blank = np.flatnonzero(_blank(column).to_numpy())
        rows = blank if rows is None else rows[blank]
        if not len(rows):
            return table, 0
    if rows is None:
        return table, 0
    there = np.ones(table.height, dtype=bool)
    there[rows] = False
    return table.filter(pl.Series(there)), len(rows)


def _blank(column: pl.Series) -> pl.Series:
    """True for cells without a value: null, NaN, or text of spaces."""
    cell = pl.first()
    if column.dtype == pl.String:
        if are_visible(column):
            return column == ""
        blank = (cell.str.strip_chars() == "").fill_null(True)
    elif column.dtype.is_float():
        blank = cell.is_null() | cell.is_nan().fill_null(True)
    else:
        blank = cell.is_null()
    return column.to_frame().select(blank).to_series()


def factorize_ids(column: pl.Series) -> Coded:
    """Names as text and the code of each row; numeric ids are compared as numbers, and each is formatted once."""
    if not column.dtype.is_integer():
        return factorize(column.cast(pl.String))
    numbers, codes = factorize(column)
    names, place = factorize(numbers.cast(pl.String))
    return Coded(names, place[codes])


def whole_ids(column: pl.Series) -> pl.Series:
    """Convert ids that became floats because of a missing value back to whole numbers."""
    if column.dtype.is_float() and bool((column.drop_nulls().drop_nans() % 1 == 0).all()):
        return column.fill_nan(None).cast(pl.Int64)
    return column


def _id_texts(column: pl.Series) -> pl.Series:
    """Ids as text, null if blank."""
    text = whole_ids(column).cast(pl.String)
    blank = _blank(text)
    return pl.select(pl.when(~blank).then(text)).to_series().alias(column.name) if blank.any() else text


def _named_rows(frame: pl.DataFrame, role: str, alias: str) -> pl.DataFrame:
    """A table of items (or annotators) with their ids as text, in a column with the name of the role."""
    if role not in frame.columns and alias in frame.columns:
        frame = frame.rename({alias: role})
    if role not in frame.columns:
        raise DataError(unknown("column", role, frame.columns, f"the table of {role}s"))
    return frame.with_columns(_id_texts(frame[role]))


def _rows_about(frame: pl.DataFrame, names: pl.Series, role: str, alias: str) -> pl.DataFrame:
    """A table of items or annotators with their ids in a column of the role: by its name, or the only one with them."""
    if role in frame.columns or alias in frame.columns:
        return _named_rows(frame, role, alias)
    known = strip_spaces(_id_texts(names).drop_nulls().unique(maintain_order=True))
    ids = {name: strip_spaces(_id_texts(frame[name])) for name in frame.columns if not frame[name].dtype.is_nested()}
    least = max(1, LEAST_MATCHED * min(len(known), frame.height))
    unique = {name: one for name, one in ids.items() if not one.is_duplicated().any()}
    fits = [name for name, one in unique.items() if one.is_in(known.implode()).sum() >= least]
    if len(fits) == 1:
        return _named_rows(frame, role, fits[0])
    said = f"; {listing([repr(name) for name in fits])} have" if fits else "; no column has"
    said += " the ids of the labels" + (f", such as '{known[0]}'" if len(known) else "")
    raise DataError(f"{unknown('column', role, frame.columns, f'the table of {role}s')}{said}")


LEAST_MATCHED = 0.5
"""Share of the ids of the labels, or of a table of items, from which a column has the ids of the labels' items."""


def _rows(bad: pl.DataFrame) -> str:
    return ("row " if bad.height == 1 else "rows ") + listing([f"{r}" for r in bad["_row"]], 5)


def split_items(
    table: pl.DataFrame, items: pl.DataFrame | None, pattern: str
) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    """Split the item id into columns of the labels (criterion, repeat) or of the items; also return the notes."""
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
            f"split_item '{pattern}' does not match item '{unmatched['item'][0]}' "
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
    first = about.unique("item", keep="first", maintain_order=True).drop("_whole")
    lost = [] if items is None else [c for c in items.columns if c != "item" and _varies(about, c)]
    if not lost:
        return table, first, []
    return table, first, [f"{listing(lost, 4)} of the item table: kept the value of the first part of each item"]


def _varies(about: pl.DataFrame, column: str) -> bool:
    """Whether an attribute of items differs among the parts of an item id that was split."""
    return bool((about.group_by("item").agg(pl.col(column).drop_nulls().n_unique())[column] > 1).any())


# -- labels on their scales ---------------------------------------------------------------------------


def _settle_criterion(
    part: LabelColumn, given: Scale | Mapping[str, Scale] | None, settings: LabelSettings
) -> tuple[pl.Series, Scale | None, list[str], Mapping[str, int]]:
    """Return the labels of one criterion in the type of its scale, the scale (None without labels), notes, marks."""
    scale = given if given is None or isinstance(given, Scale) else given.get(part.criterion or "")
    if isinstance(given, Mapping) and scale is None and not bool(_blank(part.labels).all()):
        if part.criterion is None:
            raise DataError(f"a column 'criterion' must assign each label to one of {listing(list(given))}")
        raise DataError(unknown("criterion", part.criterion, [str(s) for s in given], "scale=..."))
    found = settle_labels(part, scale, settings)
    notes, blank = list(found.notes), _blank(found.labels)
    there = found.labels.filter(~blank) if blank.any() else found.labels
    if not len(there):
        return pl.Series("label", [None] * len(blank), dtype=found.labels.dtype), None, notes, found.marks
    if scale is None:
        refuse_slips(part._replace(labels=found.labels), there)
        name = part.criterion or str(getattr(settings, "label", ""))
        named = split_scale(name)[1] if found.scale is None and there.dtype.is_numeric() else None
        if named is not None and named.valid(there).all():
            scale, note = named, words.scale_by_name(named.spec, name)
        else:
            scale, note = infer_scale(there, found.scale)
        remedy = "If wrong, set scale=..."
        if part.criterion is None and isinstance(scale, Nominal) and (order := word_order(there)):
            remedy = f"If the categories have the order of their words, set scale='{Ordinal(order).spec}'"
        notes.append(f"{note}. {remedy}")
    off = ~scale.valid(found.labels).fill_null(False) & ~blank
    if off.any():
        refuse_off_scale(part._replace(labels=found.labels), off, scale, settings)
    return scale.cast(found.labels).alias("label"), scale, notes, found.marks


def _ordered_words(found: Mapping[str | None, tuple[pl.Series, Scale | None]]) -> list[str]:
    """A note on criteria with ordered words; it names the scale of every criterion, because the option needs all."""
    specs = {criterion: one.spec for criterion, (_, one) in found.items() if one is not None}
    nominal = {criterion: labels for criterion, (labels, one) in found.items() if isinstance(one, Nominal)}
    ordered = {c: Ordinal(order).spec for c, labels in nominal.items() if (order := word_order(labels))}
    if not ordered:
        return []
    each = specs | ordered
    scale = repr(next(iter(each.values())) if len(set(each.values())) == 1 else each)
    return [f"the words of {listing(list(ordered), 4)} have an order. If the labels have it, set scale={scale}"]


DIGITS = 9
"""Digits to which numbers are compared: programs write 1/3 with ten digits or with sixteen."""


def _equal_numbers(labels: pl.Series) -> pl.Series:
    """Return labels with one value for numbers that differ only in their last digits; others stay unchanged."""
    if not labels.dtype.is_float():
        return labels
    rounded = labels.round_sig_figs(DIGITS)
    return rounded if rounded.n_unique() < labels.n_unique() else labels


def cast_together(columns: list[pl.Series]) -> list[pl.Series]:
    """Labels of several criteria in one type: numbers, or text if some are text."""
    dtypes = {labels.dtype: None for labels in columns if labels.null_count() < len(labels)}
    if len(dtypes) <= 1:
        return [labels.cast(next(iter(dtypes), columns[0].dtype)) for labels in columns]
    numeric = all(labels.dtype.is_numeric() for labels in columns)
    return [labels.cast(pl.Float64 if numeric else pl.String) for labels in columns]


def _marks_not_found(marks: Collection[Any], seen: Mapping[str, int]) -> list[str]:
    """A note on each mark of a missing value that no label has."""
    if not marks:
        return []
    found = {*seen, *plain_numbers(pl.Series(list(seen), dtype=pl.String)).drop_nulls().to_list()}
    wanted = [str(mark).strip() for mark in marks]
    number = plain_numbers(pl.Series(wanted, dtype=pl.String)).to_list()
    return [
        f"no label is '{mark}', listed in missing=..."
        for mark, value in zip(wanted, number, strict=True)
        if mark and mark not in found and value not in found
    ]


# -- messages on a whole table -------------------------------------------------------------------------


def duplicate_words(table: pl.DataFrame, key: list[str]) -> tuple[str, dict[str, Any]]:
    """Return the message for repeated answers, with the likely remedy, and its options of `assay.read`."""
    bad = table.filter(table.select(key).is_duplicated()).sort(key, maintain_order=True)
    groups = bad.group_by(key, maintain_order=True).agg("_row")
    # Repeated rows of a table repeat the answers on all of its criteria.
    places = groups.unique(["item", "annotator"], keep="first", maintain_order=True)
    shown = "; ".join(
        f"item '{row['item']}', annotator '{row['annotator']}': rows {listing(row['_row'], 3)}"
        for row in places.head(5).iter_rows(named=True)
    )
    more = f"; and {places.height - 5} more" if places.height > 5 else ""
    given = (*key, *KEY, "label", "_row")
    timed = next((name for name in bad.columns if name not in given and _are_times(bad[name])), None)
    numbers, conditions, options = _varied_by(bad, key)
    if timed is not None:
        remedy, options = (
            f"if '{timed}' is their time, set repeat='{timed}', and keep the latest with repeats='last'",
            {},
        )
    elif numbers or conditions:
        criterion = "criterion" not in key and not numbers and called(plain_name(conditions[0]), "criterion")
        remedy = words.answers_vary(numbers, conditions, criterion=criterion)
        options = {} if criterion else options
    else:
        remedy = (
            "remove the extra rows, number the answers in a column 'repeat', or write one label for all of them, such "
            "as the number of errors"
        )
    return f"{counted(groups.height, 'answer')} given several times ({shown}{more}); {remedy}", options


MOST_VALUES = 12
"""Values of a column up to which it can be an experimental condition."""

MOST_CONDITIONS = 3
"""Columns that together can be the conditions and repeats of answers."""


def _varied_by(bad: pl.DataFrame, key: list[str]) -> tuple[list[str], list[str], dict[str, Any]]:
    """The fewest columns that tell apart repeated answers: numbers of repeats, conditions, and both as options.

    They are options only if more answers are repeated than these columns have combinations of values: a few repeated
    answers can differ in anything.
    """
    outside = {*key, *KEY, "label", "kind", "_row"}
    further = [c for c in bad.columns if c not in outside and not bad[c].dtype.is_nested()]
    within = bad.group_by(key).agg(pl.col(further).n_unique()).select(pl.col(further).max())
    further = [c for c in further if within[c].item() > 1 and bad[c].n_unique() <= MOST_VALUES]
    further = [c for c in further if not NUMBERED.fullmatch(plain_name(c))]
    further.sort(key=lambda c: not called(plain_name(c), "repeat"))
    for size in range(1, min(MOST_CONDITIONS, len(further)) + 1):
        for some in combinations(further[:MOST_VALUES], size):
            if not bad.select([*key, *some]).is_duplicated().any():
                numbers = [c for c in some if called(plain_name(c), "repeat") and "repeat" not in key][:1]
                conditions = [c for c in some if c not in numbers]
                conditions += [c for c in key if c not in KEY] if conditions else []
                options: dict[str, Any] = {"repeat": "".join(numbers), "conditions": conditions}
                many = bad.select(key).n_unique() > math.prod(bad[c].n_unique() for c in some)
                return numbers, conditions, {name: given for name, given in options.items() if given and many}
    return [], [], {}


def _are_times(column: pl.Series) -> bool:
    """Whether a column contains dates or times, also as text."""
    if column.dtype == pl.String:
        return bool(column.count()) and are_dates(column.drop_nulls().unique(maintain_order=True))
    return column.dtype.is_temporal()


def several_contents(table: pl.DataFrame) -> list[str]:
    """A note on items whose labels were given on several versions of the content; none if there are none."""
    if CONTENT not in table.columns:
        return []
    key = [name for name in ("item", "criterion") if name in table.columns]
    contents = table.group_by(key, maintain_order=True).agg(pl.col(CONTENT).drop_nulls().n_unique())
    varied = contents.filter(pl.col(CONTENT) > 1)["item"].unique(maintain_order=True).to_list()
    if not varied:
        return []
    have = f"{counted(len(varied), 'item')} {'has' if len(varied) == 1 else 'have'}"
    return [f"{have} labels on several versions of the content (column {CONTENT}): {listing(varied)}"]
