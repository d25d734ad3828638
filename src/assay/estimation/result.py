"""The base class of results, and the run that produced a result.

Every public function returns a frozen dataclass that inherits `Result`. The common part of results is a `Run`: the
analysis, every option, the data, the exclusions. The signature, ``to_dict`` and the lines about intervals and
exclusions are made from it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import html
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from assay._version import __version__
from assay.errors import PANDAS, DesignError, counted, listing, no_attribute, require_packages, unknown
from assay.estimation.options import Settings, short
from assay.reporting.tables import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from assay.estimation.intervals import Estimate


@dataclass(frozen=True)
class Exclusion:
    """What does not count, how many of it, and why: in reading, in a reduction, in a result.

    Attributes
    ----------
    what : str
        One of them, in the singular: ``row``, ``item``, ``annotator``, ``comparison`` …
    count : int
    reason : str
    names : tuple of str
        The names of the excluded, if useful.
    """

    what: str
    count: int
    reason: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        named = f" ({listing(self.names)})" if self.names else ""
        return f"{counted(self.count, self.what)}{named}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Run:
    """What made a result.

    Attributes
    ----------
    question : str
        ``alt-test``, ``krippendorff-alpha-ordinal`` …
    settings : Settings
        Every option, defaults too.
    data : str
        Fingerprint of the labels and of every column that was used; it does not depend on the order of rows, nor on
        how a folder is cut into chunks.
    facts : mapping
        The data of the analysis, in the order of the signature: items, annotators, labels, the judge.
    interval : str
        The kind of intervals; empty without intervals.
    exclusions : tuple of Exclusion
    notes : tuple of str
        Decisions in the analysis.
    cautions : tuple of str
        Reservations about the result.
    of : Run or None
        The run that this one was derived from: a curve of a test.
    """

    question: str
    settings: Settings
    data: str
    facts: Mapping[str, object] = field(default_factory=dict)
    interval: str = ""
    exclusions: tuple[Exclusion, ...] = ()
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    of: Run | None = None

    @cached_property
    def signature(self) -> str:
        """``alt-test|items:87|…|data:9f3c|assay:0.2.0``: filled from the options, never from a list kept by hand."""
        said = {key: short(fact) for key, fact in self.facts.items() if fact is not None}
        said |= self.settings.signed()
        parts = [self.question, *(f"{key}:{value}" for key, value in said.items())]
        if self.of is not None:
            return "|".join(parts) + " of " + self.of.signature
        return "|".join([*parts, f"data:{self.data}", f"assay:{__version__}"])

    def to_dict(self) -> dict[str, Any]:
        """Everything, safe for JSON."""
        return {
            "question": self.question,
            "settings": self.settings.to_dict(),
            "data": self.data,
            "facts": json_safe(dict(self.facts)),
            "interval": self.interval,
            "exclusions": json_safe(self.exclusions),
            "notes": list(self.notes),
            "cautions": list(self.cautions),
            **({} if self.of is None else {"of": self.of.to_dict()}),
        }

    def with_cautions(self, cautions: Sequence[str]) -> Run:
        """Return the run with further cautions at the end."""
        return replace(self, cautions=(*self.cautions, *cautions)) if cautions else self

    def closing(self, *, intervals: bool = False) -> list[str]:
        """The last lines of a summary: how intervals were made, exclusions, notes, cautions, the signature."""
        lines = [f"Intervals: {self.interval}."] if intervals and self.interval else []
        lines += [f"Excluded: {one}." for one in self.exclusions]
        lines += [f"{note[:1].upper()}{note[1:]}." for note in self.notes]
        lines += [f"Caution: {caution}" for caution in self.cautions]
        return [*lines, self.signature]


def choice_caution(tried: int, named: int, effect: str, instead: str) -> list[str]:
    """Return a caution if other judges or prompts than the named ones were tried: the best of them is optimistic.

    Parameters
    ----------
    tried, named : int
        Settings of judges and prompts with labels, and those that the result is about.
    effect, instead : str
        What is wrong with the result of a chosen one, and what to do instead of choosing.
    """
    if tried <= named:
        return []
    return [
        f"{tried} settings of judges and prompts have labels here. If {'this one was' if named == 1 else 'these were'} "
        f"chosen for {'its result' if named == 1 else 'their results'}, {effect}: choose the judge before its labels "
        f"are known, or {instead}."
    ]


OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "value": ("estimate", "at().estimate"),
    "ci": ("interval(0.95)",),
    "conf_int": ("interval(0.95)",),
    "low": ("interval(0.95)",),
    "high": ("interval(0.95)",),
    "p_value": ("p_noninferior", "verdict_tests", "p(null)"),
    "pvalue": ("p_noninferior", "verdict_tests", "p(null)"),
    "rho": ("advantage_probability",),
    "omega": ("winning_rate",),
    "R": ("agreement_ratio",),
    "A": ("agreement_ratio",),
    "df": ("table",),
    "dataframe": ("table",),
    "to_frame": ("table",),
    "to_df": ("table",),
    "to_json": ("to_dict()",),
    "to_latex": ("table",),
    "print": ("summary()",),
    "report": ("summary()",),
    "verdict": ("summary()",),
}
"""Names in other libraries and in papers, with the attributes of a result; the first that it has is suggested."""


class Result(ABC):
    """The base class of results, which are frozen dataclasses with a field ``run``."""

    run: Run

    symbol: ClassVar[str] = "estimate"
    """The title of the column ``estimate`` of the table."""

    counted: ClassVar[str] = "items"
    """What its column ``n`` counts."""

    leads: ClassVar[bool] = False
    """Whether the first row of the table is the main estimate."""

    def __init_subclass__(cls) -> None:
        cls.__repr__ = Result.__repr__  # type: ignore[method-assign]  # or the dataclass would print every field

    def __getattr__(self, name: str) -> Any:
        """Refuse an attribute, and name the one that has the value."""
        kind = type(self)
        known = (
            one for one in OTHER_NAMES.get(name, ()) if hasattr(kind, one.partition("(")[0]) or one in _fields(kind)
        )
        raise no_attribute(self, name, next(known, None))

    def __float__(self) -> float:
        """The estimate of a result with one estimate, or whose first row is the answer."""
        return float(self.at().estimate)

    def to_pandas(self) -> Any:
        """The table as a pandas data frame; requires pandas and pyarrow."""
        require_packages(PANDAS, "to_pandas()")
        return self.table.to_pandas()

    def head(self, n: int = 5) -> pl.DataFrame:
        """The first rows of the table."""
        return self.table.head(n)

    def __repr__(self) -> str:
        first = next(iter(printable(self.summary()).splitlines()), "")
        return f"<{type(self).__name__}: {first[:160]}{'…' if len(first) > 160 else ''}>"

    @property
    @abstractmethod
    def table(self) -> pl.DataFrame:
        """One row per estimate."""

    @abstractmethod
    def summary(self) -> str:
        """Return the result in a few lines, for a report or paper."""

    def row_estimates(self) -> Sequence[Estimate | None]:
        """The estimate in each row of `table`, None if a row has none; empty if the result has no intervals."""
        return ()

    @property
    def confidence(self) -> float:
        """Level of the intervals in `table`."""
        run: Run | None = self.run
        while run is not None:
            if hasattr(run.settings, "confidence"):
                return float(run.settings.confidence)
            run = run.of
        raise DesignError(f"{type(self).__name__} has no intervals")

    def at(self, **row: object) -> Estimate:
        """The estimate in the row of the table that these columns name, such as ``system="gpt"``.

        No column is required if only one row has an estimate, or if the first row is the main estimate.

        Raises
        ------
        DesignError
            If no row, or more than one, matches.
        """
        table, found = self.table, self.row_estimates()
        if self.leads and not row and found and found[0] is not None:
            return found[0]
        unknown_columns = [name for name in row if name not in table.columns]
        if unknown_columns:
            raise DesignError(unknown("column", unknown_columns[0], table.columns, "the table"))
        meant = [
            (i, one)
            for i, one in enumerate(found)
            if one is not None and all(str(table[name][i]) == str(value) for name, value in row.items())
        ]
        if len(meant) == 1:
            return meant[0][1]
        if not meant:
            raise DesignError(
                f"no row of this {type(self).__name__} with an interval is meant; its table says which there are"
            )
        rows = table[[i for i, _ in meant]]
        apart = [c for c in table.columns if rows[c].n_unique() > 1]
        before = table.columns[: table.columns.index("estimate")]
        names = [c for c in apart if c in before] or [c for c in apart if table.schema[c] == pl.String]
        first, alike = dict[str, object](row), rows
        for name in names:
            if alike.height > 1 and alike[name].n_unique() > 1:
                first[name] = alike[name][0]
                alike = alike.filter(pl.col(name).eq_missing(pl.lit(alike[name][0], dtype=alike.schema[name])))
        such = f", such as {', '.join(f'{name}={value!r}' for name, value in first.items())}" if first else ""
        raise DesignError(
            f"{len(meant)} rows of this {type(self).__name__} could be meant; name one by its columns: "
            f"{listing(names)}{such}"
        )

    def interval(self, level: float, **row: object) -> tuple[float, float]:
        """The interval at another level, from the same resamples, of the row that is meant; see `at`."""
        return self.at(**row).interval(level)

    def p(self, null: float = 0.0, **row: object) -> float:
        """Two-sided p-value of a true value of ``null``, of the row that is meant; see `at`."""
        return self.at(**row).p(null)

    @property
    def signature(self) -> str:
        """One line that identifies the analysis, to compare two results."""
        return self.run.signature

    @property
    def settings(self) -> Settings:
        """Every option."""
        return self.run.settings

    @property
    def exclusions(self) -> tuple[Exclusion, ...]:
        """The exclusions, with reasons."""
        return self.run.exclusions

    @property
    def notes(self) -> tuple[str, ...]:
        """Decisions in the analysis."""
        return self.run.notes

    @property
    def cautions(self) -> tuple[str, ...]:
        """Reservations about the result."""
        return self.run.cautions

    @property
    def data(self) -> str:
        """Fingerprint of the labels."""
        return self.run.data

    def plot(self, ax: Axes | None = None) -> Axes:
        """A picture of the finding, on ``ax`` or on a new pyplot figure: a forest plot of the table by default."""
        from assay.reporting import pictures

        rows = self.table
        if "estimate" not in rows.columns:
            raise DesignError(f"{type(self).__name__} has no picture; its table says it all")
        rows = rows.head(pictures.MOST_ROWS)
        absent = [pl.lit(None, pl.Float64).alias(c) for c in ("low", "high") if c not in rows.columns]
        rows = rows.with_columns(absent)
        named = [c for c in rows.columns if rows.schema[c] == pl.String and c not in ("reason", "interval")]
        names = [", ".join(str(v) for v in row if v is not None) for row in rows.select(named).iter_rows()]
        ax = pictures.axes(ax, height=1.2 + 0.26 * max(len(names), 2))
        pictures.forest_of_rows(ax, names or [""] * rows.height, rows)
        ax.set_xlabel(self.symbol)
        return ax

    def to_dict(self) -> dict[str, Any]:
        """Everything, safe for JSON: NaN is null, with the version, every option and the seed."""
        fields = {
            f.name: json_safe(getattr(self, f.name))
            for f in dataclasses.fields(self)  # type: ignore[arg-type]
            if not f.name.startswith("_") and f.metadata.get("json", True) and f.name != "run"
        }
        return {
            "kind": type(self).__name__,
            "assay": __version__,
            "signature": self.signature,
            **self.run.to_dict(),
            **fields,
            "table": json_safe(self.table),
        }

    def __str__(self) -> str:
        return printable(self.summary())

    def _repr_html_(self) -> str:
        """The notebook display: the summary, then the formatted table."""
        from assay.reporting import tables

        words = "".join(f"<p>{html.escape(line)}</p>" for line in self.summary().splitlines()[:-1] if line.strip())
        whole = self.table
        # The summary says how intervals were computed, and the table has it by row.
        ends = [c for c in whole.columns if c.endswith(("_low", "_high")) or f"{c}_low" in whole.columns]
        left_out = [c for c in (*tables.empty_columns(whole), "interval") if c not in ends]
        rows = whole.head(tables.MOST_ROWS).drop(left_out, strict=False)
        shown = tables.to_html(tables.shown(rows, symbol=self.symbol, counted=self.counted))
        more = whole.height - rows.height
        shown += f"<p>… and {counted(more, 'more row')}: <code>.table</code></p>" if more > 0 else ""
        return f"<div>{words}{shown}<p><code>{html.escape(self.signature)}</code></p></div>"


def _fields(kind: type) -> set[str]:
    """The fields of a dataclass."""
    return set(getattr(kind, "__dataclass_fields__", ()))


class ResultOfRows(Result):
    """A finding that keeps its table as a field, ``rows``, and the estimate in each row as another, ``estimates``."""

    rows: pl.DataFrame
    estimates: Sequence[Estimate]

    @property
    def table(self) -> pl.DataFrame:
        """The rows."""
        return self.rows

    def row_estimates(self) -> Sequence[Estimate | None]:
        """The estimate in each row."""
        return self.estimates


def fingerprint_with(data: str, **used: object) -> str:
    """The fingerprint of labels together with everything else that numbers were made from.

    Parameters
    ----------
    data : str
        Of the labels.
    **used
        Columns and other values, as plain text or bytes; nothing is added for those that are None.
    """
    known = {name: value for name, value in used.items() if value is not None}
    if not known:
        return data
    mixed = hashlib.blake2b(data.encode(), digest_size=6)
    for name in sorted(known):
        value = known[name]
        mixed.update(f"\0{name}\0".encode() + (value if isinstance(value, bytes) else repr(value).encode()))
    return mixed.hexdigest()


def json_safe(value: Any) -> Any:
    """Plain lists, dicts, numbers and text; NaN and infinities become null."""
    if isinstance(value, pl.DataFrame):
        return [json_safe(row) for row in value.iter_rows(named=True)]
    if isinstance(value, np.ndarray):
        return json_safe(value.tolist())
    if isinstance(value, np.generic):
        return json_safe(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, Settings):
        return value.to_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        shown = [f for f in dataclasses.fields(value) if f.metadata.get("json", True) and f.name != "replicates"]
        return {f.name: json_safe(getattr(value, f.name)) for f in shown}
    if isinstance(value, Mapping):
        return {str(k): json_safe(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [json_safe(v) for v in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)
