"""`look`: what a file is, what is doubtful in it, what it can answer, and the call that reads it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import polars as pl

from assay.data.annotations import Annotations
from assay.data.formats import Rows
from assay.data.formats.registry import ReadSettings, all_problems, guess_of, said_of, table_of
from assay.data.names import IN_MEMORY
from assay.data.roles import ColumnRole, Shape, read_call, same_but_for_spelling
from assay.data.scales import Nominal, OddOneOut, Ordinal, Preference, Text, range_of
from assay.errors import AssayError, counted, listing
from assay.estimation.options import question
from assay.reading import read, read_settings, rows_of_source, write_reading

SHAPES: dict[Shape, str] = {
    "long": "one row a label", "wide": "one row an item, a column for each annotator",
    "transposed": "one row a person, a column for each item",
}  # fmt: skip

WORDS = {
    "item": "item", "annotator": "annotator", "label": "label", "criterion": "criterion", "repeat": "repeat",
    "kind": "human or judge", "person": "person", "judge": "judge", "item column": "item column",
    "gold": "item column (gold)", "computed": "computed, left out", "time stamp": "time stamp, left out",
    "comment": "comment, left out", "row number": "row number, left out", "technical": "technical, left out",
    "empty": "empty, left out", "unknown": "not understood",
}  # fmt: skip
"""What a column is, as a reader of the table wants it."""

ENOUGH_PEOPLE = 3
"""People from which a verdict is likely to be reached: with two, each is compared with one other alone."""


@dataclass(frozen=True)
class Answerable:
    """A question, whether the table can answer it, and what it lacks or rests on."""

    question: str
    yes: bool
    why: str = ""


@dataclass(frozen=True, eq=False)
class Look:
    """What a file is.

    Attributes
    ----------
    source : str
    n_rows, n_columns : int
    shape : str or None
        ``long``, ``wide`` or ``transposed``; None of a platform's export, which says itself what it holds.
    columns : tuple of ColumnRole
    notes : tuple of str
        What reading it passed over, joined or assumed.
    doubts : tuple of str
        What could be otherwise; the call chooses the likelier.
    lacking : tuple of str
        Why it cannot be read at all; empty where it can.
    options : mapping
        What `assay.read` is to be told. It was tried.
    labels : Annotations or None
        What the call gives.
    """

    source: str
    n_rows: int
    n_columns: int
    shape: Shape | None
    columns: tuple[ColumnRole, ...]
    notes: tuple[str, ...]
    doubts: tuple[str, ...]
    lacking: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    labels: Annotations | None = None
    paths: tuple[Path, ...] = ()

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row a column: what it is, why, and some of its values."""
        rows = [(one.name, WORDS[one.role], one.why, one.examples) for one in self.columns]
        return pl.DataFrame(
            rows, schema=dict.fromkeys(("column", "what it is", "why", "e.g."), pl.String), orient="row"
        )

    @property
    def call(self) -> str:
        """The call in Python that reads it; it was tried."""
        source = [str(path) for path in self.paths] if len(self.paths) > 1 else self.source
        return read_call(source, self.options)

    @cached_property
    def answers(self) -> tuple[Answerable, ...]:
        """What the table can answer."""
        gold = [one.name for one in self.columns if one.role == "gold"]
        return () if self.labels is None else tuple(_answerable(self.labels, gold))

    @property
    def head(self) -> str:
        """What was read, in a line."""
        shape = "" if self.shape is None else f", {SHAPES[self.shape]}"
        return f"{self.source}: {counted(self.n_rows, 'row')} × {counted(self.n_columns, 'column')}{shape}"

    def lines(self) -> list[str]:
        """What is to be looked at and what it can answer, a line each."""
        said = [f"! {one}" for one in (*self.lacking, *self.doubts, *self.notes)]
        lines = ["Please look:", *(f"  {one}" for one in said)] if said else []
        if self.labels is not None:
            lines += ["", f"It is read as {self.labels!r}.", "With this table:"]
            lines += [f"  {one.question} {'yes' if one.yes else 'no'}{f': {one.why}' if one.why else ''}"
                      for one in self.answers]  # fmt: skip
        return lines

    def summary(self) -> str:
        """Everything in sentences, and the call."""
        columns = [f"  {name}: {what}" + (f" ({why})" if why else "") for name, what, why, _ in self.table.rows()]
        last = ["", f"Read it with: {self.call}"] if self.labels is not None else ["", "It cannot be read as it is."]
        return "\n".join([self.head, *columns, "", *self.lines(), *last])

    def to_dict(self) -> dict[str, Any]:
        """Everything, safe for JSON."""
        return {
            "source": self.source, "rows": self.n_rows, "shape": self.shape, "columns": self.table.to_dicts(),
            "notes": list(self.notes), "doubts": list(self.doubts), "lacking": list(self.lacking),
            "options": dict(self.options), "call": self.call if self.labels is not None else None,
            "answers": [{"question": a.question, "yes": a.yes, "why": a.why} for a in self.answers],
        }  # fmt: skip

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Keep the reading as a file that `assay.read` and every command take in place of the table.

        Raises
        ------
        AssayError
            Where the table cannot be read.
        """
        if self.labels is None:
            raise AssayError(f"{self.source} cannot be read yet: {'; '.join(self.lacking)}")
        return write_reading(Path(path), self.paths, self.options)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.summary())}</pre>"


@question(ReadSettings)
def look(source: Any, settings: ReadSettings) -> Look:
    """What is this file, what is doubtful in it, what can it answer, and how is it read?

    Parameters
    ----------
    source : path, list of paths, or frame
        As for `assay.read`.

    Raises
    ------
    DataError
        Where there is no such file, or it is no table of any kind.

    Examples
    --------
    >>> import assay, polars as pl
    >>> frame = pl.DataFrame({"ID": ["a", "b", "c"], "Ann": [4, 2, 1], "Bob": [5, 2, 1], "gpt-4o": [4, 3, 1]})
    >>> found = assay.look(frame)
    >>> found.options["columns"], found.options["judges"]
    (['Ann', 'Bob', 'gpt-4o'], ['gpt-4o'])
    >>> found.doubts
    ("'gpt-4o' looks like a model, and nothing says who is a judge",)
    """
    settings, paths, given = read_settings(source, settings)
    name = str(paths[0]) if len(paths) == 1 else f"{len(paths)} files" if paths else IN_MEMORY
    before: list[str] = []
    try:
        rows, settings = rows_of_source(given, paths, settings)
    except AssayError as error:
        if not error.advised:
            raise
        before = [str(error)]
        rows, settings = rows_of_source(given, paths, replace(settings, **error.advised))
    if rows is None:
        labels = read(given)
        return Look(name, len(labels), len(labels.labels.columns), None, (), tuple(labels.reading.lines()), (), (),
                    {}, labels, paths)  # fmt: skip
    found = _looked_at(rows, settings, name, paths)
    return replace(found, doubts=(*before, *found.doubts))


def _looked_at(rows: Rows, settings: ReadSettings, name: str, paths: tuple[Path, ...]) -> Look:
    columns: tuple[ColumnRole, ...] = ()
    shape: Shape | None = None
    options = said_of(settings)
    doubts: list[str] = []
    missing: tuple[str, ...] = ()
    plain = rows.scales is None and isinstance(settings.item, str | int) and isinstance(settings.label, str | int)
    if plain and rows.labels.height:
        guess, problems = guess_of(rows, settings)
        columns, shape = guess.columns, guess.shape
        doubts, missing = [one for one in problems if one not in guess.lacking], guess.lacking
        if not guess.lacking:
            options |= {k: v for k, v in guess.options.items() if k != "judges"}
    lacking = list(missing)
    labels = None if lacking else _try_reading(rows, settings, options, doubts, lacking)
    if "judges" in options and settings.judges is None and not any("judge" in one for one in doubts):
        doubts = [f"{listing([f'{one}' for one in options['judges']])} taken as judges, by their names"]
    if labels is not None:
        options |= _scale_said(labels, options)
        if options.get("scale") == "preference":
            labels = table_of(rows, replace(settings, **options))
        doubts += _doubts_of(labels, columns)
    notes = tuple(labels.reading.lines()) if labels is not None else tuple(rows.reading.lines())
    width = len([c for c in rows.labels.columns if c != "_row"])
    return Look(name, rows.labels.height, width, shape, columns, notes, tuple(dict.fromkeys(doubts)), tuple(lacking),
                options, labels, paths)  # fmt: skip


def _try_reading(
    rows: Rows, settings: ReadSettings, options: dict[str, Any], doubts: list[str], lacking: list[str]
) -> Annotations | None:  # fmt: skip
    """The table as the options read it, with the likelier of each doubt added to them; None where nothing does."""
    try:
        return table_of(rows, replace(settings, **options))
    except AssayError as first:
        found, advised = all_problems(rows, replace(settings, **options), first)
    options |= advised
    try:
        labels = table_of(rows, replace(settings, **options))
    except AssayError as last:
        lacking.append(str(last).removeprefix(f"{rows.reading.source}: "))
        found = [one for one in found if one not in lacking]
        labels = None
    known = " ".join(doubts)
    doubts += [one for one in found if one[:40] not in known]
    return labels


def _scale_said(labels: Annotations, options: Mapping[str, Any]) -> dict[str, Any]:
    """The scale as it is typed, where labels are whole numbers on one scale."""
    found = set(labels.scales.values())
    one = next(iter(found)) if len(found) == 1 else None
    if isinstance(one, Nominal) and set(labels.labels["label"].unique().to_list()) <= _VOTES and "scale" not in options:
        return {"scale": "preference"}
    if "scale" in options or not isinstance(one, Ordinal) or one.names is not None:
        return {}
    return {"scale": f"{one.low}-{one.high}"}


_VOTES = {"first", "second", "tie"}
"""The words of a vote between two."""


def _doubts_of(labels: Annotations, columns: tuple[ColumnRole, ...]) -> list[str]:
    """What may be a slip: names nearly alike, a label far from the others, texts that items share."""
    said = [
        f"{listing([repr(n) for n in group], 3)} are nearly the same {what}"
        for what, names in (("annotator", [*labels.humans, *labels.judges]), ("column", [c.name for c in columns]))
        for group in same_but_for_spelling(names)
    ]
    if labels.labels["label"].dtype.is_numeric():
        # Of 25 labels or fewer these are the least and the greatest, and none is far.
        values = labels.labels["label"].cast(pl.Float64)
        low, high = float(values.quantile(0.02) or 0), float(values.quantile(0.98) or 0)
        far = labels.labels.filter((values > high + 3 * max(high - low, 1)) | (values < low - 3 * max(high - low, 1)))
        said += [
            f"label {row['label']:g} of {row['annotator']} on '{row['item']}' is far from {low:g} to {high:g}"
            for row in far.head(3).iter_rows(named=True)
        ]
    for name in ("text", "question", "prompt"):
        # What all items have is no text of theirs: the template of a prompt.
        if name in labels.items.columns and labels.items[name].drop_nulls().n_unique() > 1:
            twice = labels.items.filter(pl.col(name).is_not_null() & pl.col(name).is_duplicated())["item"].to_list()
            said += [f"items {listing([repr(i) for i in twice], 3)} share their {name}"] if twice else []
    return said


def _says_ranges(column: pl.Series) -> bool:
    """Whether a column names ranges, such as 0-5 and 0-100, and nothing else; a month, such as 2026-11, is none."""
    ends = [range_of(name) for name in column.drop_nulls().unique().cast(pl.String).to_list()]
    return bool(ends) and all(each is not None and each[0] < each[1] for each in ends)


def _answerable(labels: Annotations, gold: Collection[str] = ()) -> list[Answerable]:
    """What a table can answer, and what each question still lacks; columns of ``gold`` make no groups."""
    scales = list(labels.scales.values())
    votes = any(isinstance(s, Preference) for s in scales)
    odd = any(isinstance(s, OddOneOut) for s in scales)
    texts = any(isinstance(s, Text) for s in scales)
    people, judges = len(labels.humans), len(labels.judges)
    who = listing(list(labels.judges), 3)
    lacks = "no judge: name it with judges=[...]" if not judges else "fewer than two people" if people < 2 else ""
    nobody = "no judge" if not judges else "no labels of people" if not people else ""
    few = f"with {counted(people, 'person')}; {ENOUGH_PEOPLE} or more tell more" if people < ENOUGH_PEOPLE else ""
    by = pl.col("annotator")
    both = labels.labels.group_by("item").agg(by.n_unique().alias("n"))["n"]
    together = int((both >= 2).sum())
    nested = [c for c in labels.items.columns
              if c not in ("item", *gold) and 1 < labels.items[c].n_unique() < labels.n_items]  # fmt: skip
    groups = [c for c in nested if labels.items[c].n_unique() <= 6]
    kinds = dict(labels.annotators.select("annotator", "kind").rows())
    each = labels.labels.with_columns(kind=by.replace_strict(kinds, return_dtype=pl.String))
    only = each.group_by("item").agg((pl.col("kind") == "human").any().alias("h"))["h"]
    alone = int((~only).sum())
    varied = [c for c in (*labels.conditions, "scale", "range") if c in labels.labels.columns]
    ranges = [c for c in varied if c in ("scale", "range") or _says_ranges(labels.labels[c])]
    kinds_of_label = labels.labels["label"].unique()
    said = {*map(str, kinds_of_label)} if 0 < len(kinds_of_label) <= 3 else {"more kinds"}
    no_votes = "read with scale='preference'" if said <= _VOTES else "labels are not first, second or tie"
    none_odd = "read with scale='odd-one-out'" if said <= set("ABC") else "labels are not A, B or C"
    return [
        Answerable(f"may {who or 'a judge'} stand in for people?", not lacks and not odd, lacks or few),
        Answerable("agreement?", together > 0 and not texts, f"{counted(together, 'item')} with two labels or more"),
        Answerable("on which scale to ask?", bool(ranges), "" if ranges else "no column says on which scale was asked"),
        Answerable("which is better (votes)?", votes, "" if votes else f"no votes; {no_votes}"),
        Answerable("the same ideas (triplets)?", odd, "" if odd else f"no odd ones out; {none_odd}"),
        Answerable("lessons and raters (G-study)?", bool(nested),
                   f"by {listing(nested, 3)}" if nested else "no column of the items that several share"),
        Answerable("is the judge fair to groups?", bool(groups and judges), nobody if not judges else
                   f"by {listing(groups, 3)}" if groups else "no column of few groups"),
        Answerable("corrected estimates?", bool(alone and not nobody), nobody or (
                   f"{counted(alone, 'item')} with the judge's label alone" if alone else
                   "every item has people's labels: add items that the judge alone has labelled")),
    ]  # fmt: skip
