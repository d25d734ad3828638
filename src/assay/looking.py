"""`look`: how a file is read, its ambiguities, and the analyses that it supports."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from assay.data import words
from assay.data.annotations import Annotations
from assay.data.formats import Rows
from assay.data.formats.registry import (
    ReadSettings,
    given_options,
    readings_left,
    structure_of,
    table_of,
)
from assay.data.names import IN_MEMORY, model_names, possible_judges
from assay.data.scales import Nominal, OddOneOut, Ordinal, Preference, Text, range_of
from assay.data.structure.readings import read_call
from assay.data.structure.role_names import same_except_spelling
from assay.data.structure.roles import IGNORED, Choice, Role, RoleKind, Shape
from assay.data.structure.sides import PAIR
from assay.errors import AssayError, counted, listing
from assay.estimation.options import question
from assay.reading import TABLES, read, read_apart, read_settings, rows_of_source, write_reading


@dataclass(frozen=True)
class Analysis:
    """An analysis, and whether a table supports it.

    Attributes
    ----------
    name : str
        ``replacement_test``, ``agreement``, ``rating_scales``, ``pairwise_votes``, ``triplets``, ``separability``,
        ``g_study``, ``fairness`` or ``corrected_estimates``.
    supported : bool
    reason : str
        Code of the reason; empty if there is none.
    names : tuple of str
        The judges or columns that the reason refers to.
    number : int or None
        The number of items or annotators that the reason refers to.
    criteria : tuple of str
        The criteria that the reason refers to.
    """

    name: str
    supported: bool
    reason: str = ""
    names: tuple[str, ...] = ()
    number: int | None = None
    criteria: tuple[str, ...] = ()

    @property
    def detail(self) -> str:
        """The reason in words."""
        return words.analysis_detail(self.reason, self.names, self.number, self.criteria)


@dataclass(repr=False, frozen=True, eq=False)
class Look:
    """How a file is read.

    Attributes
    ----------
    source : str
    n_rows, n_columns : int
    shape : str or None
        ``long``, ``wide`` or ``transposed``; None for a platform export, which has a layout of its format.
    columns : tuple of Role
    notes : tuple of str
        Rows and columns that were skipped or joined, and assumptions of reading.
    ambiguities : tuple of str
        Readings with an alternative; the call uses the more likely one.
    errors : tuple of str
        Reasons why the file cannot be read; empty if it can.
    options : mapping
        The options of `assay.read` with which the file was read.
    labels : Annotations or None
        The labels that the call returns.
    readings : tuple of (str, mapping)
        The readings that are left, if there are several: each in words, and as options of `assay.read` that have been
        tried on this file.
    """

    source: str
    n_rows: int
    n_columns: int
    shape: Shape | None
    columns: tuple[Role, ...]
    notes: tuple[str, ...]
    ambiguities: tuple[str, ...]
    errors: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    labels: Annotations | None = None
    paths: tuple[Path, ...] = ()
    readings: tuple[Choice, ...] = ()

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per column of the file: its role, the reason, some of its values, and the evidence.

        The evidence of a role is ``stated`` (as specified), ``found`` (the rows decide), ``named`` (only its name does)
        or ``doubtful``.
        """
        stated = {str(name) for name in self.options.get("conditions", ())}
        rows = [(one.name, words.CONDITION, "as specified", one.examples, "stated") if one.name in stated
                else (one.name, words.ROLES[one.kind], one.why, one.examples, one.found)
                for one in self.columns]  # fmt: skip
        return pl.DataFrame(rows, schema=dict.fromkeys(("column", "role", "reason", "examples", "evidence"), pl.String),
                            orient="row")  # fmt: skip

    @property
    def call(self) -> str:
        """The Python call that reads the file; it has been run."""
        return self._call(self.options)

    @property
    def refusal(self) -> str:
        """Why the file cannot be read, as one sentence; only if ``labels`` is None."""
        return f"{self.source} cannot be read without more options: {'; '.join(self.errors)}"

    def _call(self, options: Mapping[str, Any]) -> str:
        return read_call([str(path) for path in self.paths] if len(self.paths) > 1 else self.source, options)

    @cached_property
    def analyses(self) -> tuple[Analysis, ...]:
        """The analyses, and whether the labels support them."""
        gold = [one.name for one in self.columns if one.kind == "gold"]
        return () if self.labels is None else tuple(supported_analyses(self.labels, gold))

    @property
    def head(self) -> str:
        """The source, its size and its layout in one line."""
        within = [one.kind for one in self.columns if one.kind in ("criterion", "repeat") and self.shape == "wide"]
        shape = "" if self.shape is None else f", {words.shape_of(self.shape, within)}"
        return f"{self.source}: {counted(self.n_rows, 'row')} × {counted(self.n_columns, 'column')}{shape}"

    def lines(self) -> list[str]:
        """Return the assumptions to check, then the supported analyses or the errors, one per line."""
        checks = [f"  ! {one}" for one in (*self.ambiguities, *self.notes)]
        lines = ["Check these assumptions:", *checks] if checks else []
        if self.labels is None:
            errors = [f"  ! {one}" for one in self.errors]
            left = [f"  {said}" + (f": {self._call(given)}" if given else "") for said, given in self.readings]
            left = ["Choose one:", *left] if left else []
            return [*lines, *([""] if lines else []), "This file cannot be read without more options:", *errors, *left]
        supported = [f"  {words.analysis_line(a.name, a.supported, a.detail)}" for a in self.analyses]
        read_as = [f"Read as {self.labels!r}.", *_human_counts(self.labels), *_repeats_needed(self.labels)]
        return [*lines, *([""] if lines else []), *read_as, "Supported analyses:", *supported]

    def summary(self) -> str:
        """Return the roles of the columns, the assumptions, the supported analyses and the call."""
        columns = [f"  {name}: {role}" + (f", {why}" if why else "") for name, role, why, *_ in self.table.rows()]
        call = ["", f"Python: {self.call}"] if self.labels is not None else []
        return "\n".join([self.head, *columns, "", *self.lines(), *call])

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dictionary that can be written as JSON."""
        return {
            "source": self.source, "rows": self.n_rows, "shape": self.shape, "columns": self.table.to_dicts(),
            "notes": list(self.notes), "ambiguities": list(self.ambiguities), "errors": list(self.errors),
            "readings": [{"answer": said, "options": dict(given)} for said, given in self.readings],
            "options": dict(self.options), "call": self.call if self.labels is not None else None,
            "analyses": [{"analysis": a.name, "supported": a.supported, "reason": a.reason, "detail": a.detail}
                         for a in self.analyses],
        }  # fmt: skip

    def roles_of(self, column: Role) -> tuple[RoleKind, ...]:
        """Return the roles that `with_role` can give a column, its own first."""
        return (column.kind, *(one for one in _ROLES_TO_GIVE.get(self.shape or "", ()) if one != column.kind))

    def with_role(self, column: str, kind: RoleKind, stated: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of `assay.read` with which a column has another role, and the others their own.

        Parameters
        ----------
        column : str
        kind : str
            A role that `roles_of` returns. A column that had it before, if only one can, becomes metadata.
        stated : mapping
            Options that the user has stated before.

        Examples
        --------
        >>> import assay, polars as pl
        >>> frame = pl.DataFrame({"ID": ["a", "b", "c"], "Ann": [4, 2, 1], "Bob": [5, 2, 1], "Len": [4, 3, 1]})
        >>> assay.look(frame).with_role("Len", "item column", {})
        {'layout': 'wide', 'item': 'ID', 'columns': ['Ann', 'Bob']}
        """
        away = [one for one in stated.get("exclude", ()) if one != column]
        who = {name: stated[name] for name in ("judges", "humans") if name in stated}
        if kind in IGNORED:  # says nothing about other columns
            return {**_without(stated, column), "exclude": [*away, column]}
        given = {name: value for name, value in stated.items() if name not in (*_ROLE_OPTIONS, "exclude")}
        roles = {one.name: "computed" if one.name in away else one.kind for one in self.columns}
        computed = kind in _LABELS and roles.get(column) == "computed" and column not in stated.get("exclude", ())
        given |= {"exclude": away} if away or computed else {}  # an empty list keeps computed columns
        if self.shape == "long":
            if kind in (*_OF_ROWS, "item"):  # the column that had this role gets the other one
                roles |= {name: roles[column] for name, its in roles.items() if its == kind}
        elif kind in ("item", "annotator") and (kind == "annotator") == (self.shape == "transposed"):
            roles |= {name: "item column" for name, its in roles.items() if its == kind}
        roles[column] = kind
        names = self._annotators
        if kind in _LABELS:  # an annotator of several criteria has several columns
            roles |= {one: kind for one, name in names.items() if name == names.get(column)}
        elif (self.shape == "long" and kind != "kind") or (self.shape == "transposed" and kind != "annotator"):
            given |= who
        return given | _options_of(roles, kind, self.shape, names, stated=bool(who))

    @cached_property
    def _annotators(self) -> dict[str, str]:
        """The annotator of each column of labels, which can be a part of its name."""
        people = [] if self.labels is None else [*self.labels.humans, *self.labels.judges]
        held = [one.name for one in self.columns if one.kind in _LABELS]
        parts = {one: [p for p in people if one.startswith(p) or one.endswith(p)] for one in held}
        return {one: one if one in people else max(parts[one], key=len, default=one) for one in held}

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Save the options as a file that `assay.read` and every command accept instead of the labels.

        Raises
        ------
        AssayError
            If the file cannot be read.
        """
        if self.labels is None:
            raise AssayError(self.refusal)
        return write_reading(Path(path), self.paths, self.options)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.summary())}</pre>"


def _human_counts(labels: Annotations) -> list[str]:
    """One line with the numbers of annotators of an item and of items of an annotator; none without annotators.

    Each criterion is counted separately, because each is tested separately.
    """
    of_one = _criterion(labels)
    pairs = labels.labels.filter(pl.col("annotator").is_in(labels.humans)).select("item", "annotator", *of_one).unique()
    if not pairs.height:
        return []
    counts = [pairs.group_by(column, *of_one).len()["len"] for column in ("item", "annotator")]
    of_item, of_annotator = ((int(one.min()), int(one.max())) for one in counts)  # type: ignore[arg-type]
    return [words.human_counts_line(pairs["item"].n_unique(), of_item, of_annotator, len(labels.criteria))]


def _repeats_needed(labels: Annotations) -> list[str]:
    """One line if tests of the labels require an option for repeated labels."""
    if not labels.with_one_vote.has_repeats:
        return []
    return [words.repeats_required(numeric=all(scale.numeric for scale in labels.scales.values()))]


_LABELS: tuple[RoleKind, ...] = ("person", "judge")
_OF_ROWS: tuple[RoleKind, ...] = ("annotator", "label", "criterion", "repeat", "kind")
"""Roles of columns in a table with one row per label; each has one column."""

_ROLES_TO_GIVE: Mapping[str, tuple[RoleKind, ...]] = {
    "wide": ("item", *_LABELS, "item column", "criterion", "repeat", "computed", "annotator", "label"),
    "long": ("item", *_OF_ROWS, "computed", *_LABELS),
    "transposed": ("annotator", "item", "annotator column", "computed"),
}
_ROLE_OPTIONS = ("layout", "item", "columns", "judges", "humans", *_OF_ROWS)


def _having(roles: Mapping[str, RoleKind], *kinds: RoleKind) -> list[str]:
    return [name for name, its in roles.items() if its in kinds]


def _options_of(
    roles: Mapping[str, RoleKind], latest: RoleKind, shape: Shape | None, names: Mapping[str, str], *, stated: bool
) -> dict[str, Any]:
    """The options that state the roles of columns; the latest role can change the layout.

    ``names`` has the annotators of columns. If the user has ``stated`` who is human, names decide about no column.
    """
    items = _having(roles, "item")
    of_rows: dict[str, Any] = {its: name for name, its in roles.items() if its in _OF_ROWS}
    item: dict[str, Any] = {"item": items if len(items) > 1 else items[0]} if items else {}
    if shape == "transposed" and latest not in _LABELS:
        return {"layout": "transposed", **of_rows, "columns": items}
    held = _having(roles, *_LABELS)
    # Rows of an item can differ in its criterion or repeat in a table of any shape.
    within = {its: name for its, name in of_rows.items() if its in ("criterion", "repeat")}
    if latest in _LABELS or (held and (latest not in _OF_ROWS or (shape == "wide" and latest in within))):
        judges = list(dict.fromkeys(names.get(one, one) for one in _having(roles, "judge")))
        humans = list(dict.fromkeys(names.get(one, one) for one in _having(roles, "person")))
        who: dict[str, Any] = {"judges": judges} if judges else {"humans": humans} if latest == "person" else {}
        who |= who_answered(judges, humans) if stated else {}
        return {"layout": "wide", **item, **within, "columns": held, **who}
    return {**item, **of_rows}


def who_answered(judges: Sequence[str], humans: Sequence[str]) -> dict[str, list[str]]:
    """Return the options of `assay.read` that make these annotators judges and humans, with any names."""
    if not judges:
        return {"humans": [*humans]}
    doubtful = model_names(humans)
    return {"judges": [*judges], **({"humans": doubtful} if doubtful else {})}


def _without(stated: Mapping[str, Any], column: str) -> dict[str, Any]:
    """The options without those that give a column a role."""
    of_role = {name: value for name, value in stated.items() if name in _ROLE_OPTIONS}
    for name, value in of_role.items():
        of_role[name] = [one for one in value if one != column] if isinstance(value, list | tuple) else value
    gone = {name for name, value in of_role.items() if value in (column, [])}
    return {name: of_role.get(name, value) for name, value in stated.items() if name not in gone}


@question(ReadSettings)
def look(source: Any, settings: ReadSettings) -> Look:
    """Show how a file will be read, any ambiguities, and the analyses it supports.

    Parameters
    ----------
    source : path, list of paths, or frame
        As for `assay.read`.

    Raises
    ------
    DataError
        If the file does not exist, or is not a table.

    Examples
    --------
    >>> import assay, polars as pl
    >>> frame = pl.DataFrame({"ID": ["a", "b", "c"], "Ann": [4, 2, 1], "Bob": [5, 2, 1], "gpt-4o": [4, 3, 1]})
    >>> found = assay.look(frame)
    >>> found.options["columns"], found.options["judges"]
    (['Ann', 'Bob', 'gpt-4o'], ['gpt-4o'])
    >>> found.ambiguities
    ("Assumed that 'gpt-4o' is a judge (by name), and 'Ann', 'Bob' human. Set judges=[...]",)
    """
    if (apart := read_apart(source)) is not None:
        labels = read(source, **settings.changed())
        return Look(f"{len(apart)} sources", len(labels), len(labels.labels.columns), None, (),
                    tuple(labels.reading.lines()), (), (), settings.changed(), labels, tuple(apart))  # fmt: skip
    settings, paths, given = read_settings(source, settings)
    about = {name: str(value) for name in TABLES if isinstance(value := getattr(settings, name), str | os.PathLike)}
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
        of_study = settings.changed()
        labels = read(given, **of_study)
        return Look(name, len(labels), len(labels.labels.columns), None, (), tuple(labels.reading.lines()), (), (),
                    of_study, labels, paths)  # fmt: skip
    found = _look_at_rows(rows, settings, name, paths)
    return replace(found, ambiguities=(*before, *found.ambiguities), options={**found.options, **about})


def _look_at_rows(rows: Rows, settings: ReadSettings, name: str, paths: tuple[Path, ...]) -> Look:
    columns: tuple[Role, ...] = ()
    shape: Shape | None = None
    about_rows: list[str] = []
    options = given_options(settings)
    plain = rows.scales is None and isinstance(settings.item, str | int) and isinstance(settings.label, str | int)
    if plain and rows.labels.height:
        found = structure_of(rows, settings)
        columns, shape, about_rows = found.columns, found.shape, found.row_notes()
        if not found.problems:
            options |= found.stated_options
    problems: list[str] = []
    readings: list[Choice] = []
    try:
        labels: Annotations | None = table_of(rows, replace(settings, **options))
    except AssayError as first:
        problems, readings = readings_left(rows, replace(settings, **options), first)
        likely = _likely(readings)
        options |= likely
        labels = table_of(rows, replace(settings, **options)) if likely else None
    errors, doubts = ([], problems) if labels is not None else (problems, [])
    if "judges" in options and settings.judges is None:
        doubts = _assume_judges(doubts, options["judges"])
    if labels is not None:
        readings = []
        options |= _scale_option(labels, options)
        if options.get("scale") == "preference":
            labels = table_of(rows, replace(settings, **options))
        doubts += possible_slips(labels, columns)
    notes = tuple(dict.fromkeys([*about_rows, *(rows if labels is None else labels).reading.lines()]))
    width = len([c for c in rows.labels.columns if c != "_row"])
    return Look(name, rows.labels.height, width, shape, columns, notes, tuple(dict.fromkeys(doubts)), tuple(errors),
                options, labels, paths, tuple(readings))  # fmt: skip


def _likely(readings: Sequence[Choice]) -> Mapping[str, Any]:
    """The options of the only reading, or of the first if the others only treat marks of missing values otherwise."""
    rest = [{name: value for name, value in given.items() if name != "missing"} for _, given in readings]
    alike = all(given for _, given in readings) and all(one == rest[0] for one in rest)
    return readings[0][1] if readings and alike else {}


def _assume_judges(ambiguities: list[str], judges: list[str]) -> list[str]:
    """The ambiguities, with the assumption about the judges instead of the question who is one."""
    if not any("judge" in one for one in ambiguities):
        return [words.assumed_judges(judges)]
    found = possible_judges(judges)
    return [
        words.assumed_judges(judges, one.removeprefix(found)) if one.startswith(found) else one for one in ambiguities
    ]


def _scale_option(labels: Annotations, options: Mapping[str, Any]) -> dict[str, Any]:
    """The option ``scale``, if labels are votes or whole numbers on one scale."""
    found = set(labels.scales.values())
    one = next(iter(found)) if len(found) == 1 else None
    if isinstance(one, Nominal) and set(labels.labels["label"].unique().to_list()) <= _VOTES and "scale" not in options:
        return {"scale": "preference"}
    if "scale" in options or not isinstance(one, Ordinal) or one.names is not None:
        return {}
    return {"scale": f"{one.low}-{one.high}"}


_VOTES = {"first", "second", "tie"}
"""The words of a pairwise vote."""


def possible_slips(labels: Annotations, columns: Collection[Role] = ()) -> list[str]:
    """Return possible slips: names that differ only in spelling, outlying labels, texts that items share."""
    found = [
        f"{role}s {listing([repr(n) for n in group], 3)} differ only in spelling"
        for role, names in (("annotator", [*labels.humans, *labels.judges]), ("column", [c.name for c in columns]))
        for group in same_except_spelling(names)
    ]
    if labels.labels["label"].dtype.is_numeric():
        # With at most 25 labels, these quantiles are the extremes, and no label lies outside.
        values = labels.labels["label"].cast(pl.Float64)
        low, high = float(values.quantile(0.02) or 0), float(values.quantile(0.98) or 0)
        far = labels.labels.filter((values > high + 3 * max(high - low, 1)) | (values < low - 3 * max(high - low, 1)))
        found += [
            f"label {row['label']:g} of {row['annotator']} on '{row['item']}' is far outside {low:g} to {high:g}"
            for row in far.head(3).iter_rows(named=True)
        ]
    for name in ("text", "question", "prompt"):
        # A text that all items share is the template of a prompt.
        if name in labels.items.columns and labels.items[name].drop_nulls().n_unique() > 1:
            twice = labels.items.filter(pl.col(name).is_not_null() & pl.col(name).is_duplicated())["item"].to_list()
            found += [f"items {listing([repr(i) for i in twice], 3)} share their {name}"] if twice else []
    return found + identical_annotators(labels)


MOST_COMPARED = 30
"""Annotators up to which each two are compared."""

LEAST_EQUAL = 20
"""Items of two annotators from which equal labels are noted."""

CHANCE = 0.001
"""Probability of equal labels, at the rate at which these two differ from others, up to which they are noted.

Two careful annotators next to a careless one can be as equal: the note states what is there, and no reason.
"""


def identical_annotators(labels: Annotations) -> list[str]:
    """Return a note on each two annotators who have the same labels, although other pairs have not."""
    people = [*labels.humans, *labels.judges]
    if not 2 < len(people) <= MOST_COMPARED or labels.with_one_vote.has_repeats:
        return []
    key = ["item", *_criterion(labels), *labels.conditions]
    of = {who: part.select(*key, "label") for (who,), part in labels.labels.group_by("annotator", maintain_order=True)}
    both: dict[tuple[str, str], tuple[int, int]] = {}
    items: dict[tuple[str, str], int] = {}
    for pair in combinations([who for who in people if who in of], 2):
        shared = of[pair[0]].join(of[pair[1]], on=key, nulls_equal=True)
        items[pair] = shared["item"].n_unique()
        both[pair] = shared.height, shared.filter(pl.col("label") != pl.col("label_right")).height
    found = []
    for pair, (n, differ) in both.items():
        others = [counts for other, counts in both.items() if other != pair and {*other} & {*pair}]
        rate = sum(d for _, d in others) / max(sum(m for m, _ in others), 1)
        if n >= LEAST_EQUAL and not differ and (1 - rate) ** n < CHANCE:
            found.append(words.identical_annotators(pair, items[pair]))
    return found


def _names_ranges(column: pl.Series) -> bool:
    """Whether all values of a column are ranges, such as 0-5 and 0-100; a month, such as 2026-11, is not a range."""
    ends = [range_of(name) for name in column.drop_nulls().unique().cast(pl.String).to_list()]
    return bool(ends) and all(each is not None and each[0] < each[1] for each in ends)


def supported_analyses(labels: Annotations, gold: Collection[str] = ()) -> list[Analysis]:
    """Return every analysis and whether a table supports it; ``gold`` columns do not count as groups."""
    scales = list(labels.scales.values())
    odd = any(isinstance(s, OddOneOut) for s in scales)
    texts = any(isinstance(s, Text) for s in scales)
    raters = labels.labels.group_by("item", *_criterion(labels)).agg(pl.col("annotator").n_unique())
    together = raters.filter(pl.col("annotator") >= 2)["item"].n_unique()
    columns = [c for c in labels.items.columns if c not in ("item", *labels.technical_columns, *gold)]
    copied = {c for c in model_names(columns) if _holds_labels(labels, c)}
    nested = [c for c in columns if 1 < labels.items[c].n_unique() < labels.n_items and c not in copied]
    groups = [c for c in nested if labels.items[c].n_unique() <= 6]
    varied = [c for c in (*labels.conditions, "scale", "range") if c in labels.labels.columns]
    ranges = [c for c in varied if c in ("scale", "range") or _names_ranges(labels.labels[c])]
    agreement = Analysis("agreement", together > 0 and not texts, "items_with_two_labels", number=together)
    return [
        _replacement_test(labels, odd=odd),
        replace(agreement, reason="free_text", number=None) if texts else agreement,
        Analysis("rating_scales", bool(ranges), "" if ranges else "no_scale_column"),
        *_choices(labels, odd=odd),
        *([_separability(labels)] if texts and labels.has_repeats else []),
        _g_study(labels, nested, together),
        _fairness(labels, groups),
        _corrected_estimates(labels),
    ]


def _g_study(labels: Annotations, nested: list[str], together: int) -> Analysis:
    """A G-study of items by raters, the simplest design, or with the columns in which items are nested."""
    if not all(scale.numeric for scale in labels.scales.values()):
        return Analysis("g_study", False, "labels_not_numeric")
    if nested:
        return Analysis("g_study", True, "by_column", tuple(nested))
    return Analysis("g_study", together > 1, "items_by_raters" if together > 1 else "no_nested_column")


def _replacement_test(labels: Annotations, *, odd: bool) -> Analysis:
    humans, judges = len(labels.humans), labels.judges
    if not judges or humans < 2 or odd:
        reason = "judge_unspecified" if not judges else "too_few_humans" if humans < 2 else "odd_one_out_choices"
        names = () if judges else model_names([c for c in labels.items.columns if c != "item"])
        return Analysis("replacement_test", False, reason, tuple(name for name in names if _holds_labels(labels, name)))
    few = _criteria_of_few_items(labels)
    asked = [labels.where(annotator=list(who)).criteria for who in (labels.humans, judges)]
    if few and labels.criteria and {*asked[0]}.isdisjoint(asked[1]):
        return Analysis("replacement_test", False, "no_common_criterion")
    if len(few) == max(1, len(labels.criteria)):  # the test would be undecided, or refused
        return Analysis("replacement_test", False, "few_items", judges, criteria=few)
    if humans < words.RECOMMENDED_HUMANS:
        return Analysis("replacement_test", True, "few_humans", judges, humans)
    if not few:
        return Analysis("replacement_test", True, "judges", judges)
    return Analysis("replacement_test", True, "few_items_of", judges, criteria=few)


def _criteria_of_few_items(labels: Annotations) -> tuple[str, ...]:
    """The criteria on which no annotator has enough items to compare with a judge; an empty name without criteria.

    An item can be compared if the judge, the annotator and another annotator labelled it.
    """
    of_one = _criterion(labels)
    pairs = labels.labels.select("item", "annotator", *of_one).unique()
    human = pl.col("annotator").is_in(labels.humans)
    several = pl.col("annotator").n_unique() >= 2
    judged = pairs.filter(pl.col("annotator").is_in(labels.judges)).rename({"annotator": "judge"})
    people = pairs.filter(human).filter(several.over("item", *of_one))
    counts = people.join(judged, on=["item", *of_one]).group_by("annotator", "judge", *of_one).len()
    enough = counts.filter(pl.col("len") >= words.REQUIRED_ITEMS)
    if not labels.criteria:
        return () if enough.height else ("",)
    tested = set(enough["criterion"])
    return tuple(name for name in labels.criteria if name not in tested)


def _criterion(labels: Annotations) -> list[str]:
    """The column of the criterion, if there are criteria."""
    return ["criterion"] if labels.criteria else []


def _holds_labels(labels: Annotations, column: str) -> bool:
    """Whether the values of a column of the items are labels of the table."""
    values = labels.items[column].drop_nulls().unique()
    kind = pl.Float64 if labels.labels["label"].dtype.is_numeric() else pl.String
    given = labels.labels["label"].unique().cast(kind)
    return len(values) > 0 and bool(values.cast(kind, strict=False).is_in(given.implode()).fill_null(value=False).all())


def _choices(labels: Annotations, *, odd: bool) -> list[Analysis]:
    """Pairwise votes and triplets."""
    votes = any(isinstance(s, Preference) for s in labels.scales.values())
    values = labels.labels["label"].unique()
    seen = {*map(str, values)} if 0 < len(values) <= 3 else {"more than three values"}
    no_votes = "read_as_votes" if seen <= _VOTES else "not_votes"
    if votes and not set(PAIR) <= {*labels.labels.columns, *labels.items.columns}:
        votes, no_votes = False, "unnamed_systems"
    no_triplets = "read_as_triplets" if seen <= set("ABC") else "not_triplets"
    return [Analysis("pairwise_votes", votes, "" if votes else no_votes),
            Analysis("triplets", odd, "" if odd else no_triplets)]  # fmt: skip


def _separability(labels: Annotations) -> Analysis:
    """Several texts of each item by each of several systems."""
    systems = (*labels.humans, *labels.judges)
    return Analysis("separability", len(systems) > 1, "by_column", systems)


def _fairness(labels: Annotations, groups: list[str]) -> Analysis:
    if not labels.judges:
        return Analysis("fairness", False, "no_judge")
    if groups and not any(scale.ordered for scale in labels.scales.values()):
        return Analysis("fairness", False, "unordered_labels")
    return Analysis("fairness", bool(groups), "by_column" if groups else "no_group_column", tuple(groups))


def _corrected_estimates(labels: Annotations) -> Analysis:
    if not labels.judges or not labels.humans:
        return Analysis("corrected_estimates", False, "no_human_labels" if labels.judges else "no_judge")
    kinds = dict(labels.annotators.select("annotator", "kind").rows())
    kind = pl.col("annotator").replace_strict(kinds, return_dtype=pl.String)
    of_kind = (kind == "human").any().alias("human"), (kind != "human").any().alias("judge")
    criterion = _criterion(labels)
    both = labels.labels.group_by(criterion or pl.lit(1)).agg(of_kind).filter("human", "judge")
    if not both.height:
        return Analysis("corrected_estimates", False, "no_common_criterion")
    common = labels.labels.join(both, on=criterion, how="semi") if criterion else labels.labels
    human = common.group_by("item", *criterion).agg(of_kind)
    alone = human.filter(~pl.col("human"))["item"].n_unique()
    if not alone:
        return Analysis("corrected_estimates", False, "all_items_human_labelled")
    return Analysis("corrected_estimates", True, "items_without_human_labels", number=alone)
