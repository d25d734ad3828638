"""Detect the role of each column: item, annotator, label, one annotator's labels, computed, time stamp, item metadata.

Reading, the command line, `assay.look` and error messages share this detection. Each detected role has a reason. A
reading with an alternative is an ambiguity, and the user has to resolve it: `Guess.ambiguities` is empty only if a
table allows one reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data import words
from assay.data.names import (
    IN_MEMORY,
    KINDS,
    model_names,
    natural,
    possible_judges,
    spelling_key,
    strip_spaces,
)
from assay.data.values import MARKS, MOST_CATEGORIES, are_dates, is_free_text, parse_numbers
from assay.errors import DataError, counted, listing

Role = Literal[
    "item", "annotator", "label", "criterion", "repeat", "kind", "person", "judge", "item column", "gold", "computed",
    "time stamp", "comment", "row number", "technical", "empty", "unknown",
]  # fmt: skip
Shape = Literal["long", "wide", "transposed"]
Layout = Literal["auto", "long", "wide", "transposed"]
"""The object of each row of a table; ``auto`` detects it."""

ROWS_INSPECTED = 20_000
"""Rows from which roles are detected: sheets kept by hand have fewer, and larger tables repeat themselves."""

MIN_DIFFERING_COMPUTED = 3
"""Rows in which the other columns differ, from which a column of their exact means or totals is called computed."""

MIN_DIFFERING_MAJORITY = 10
"""Rows in which the other columns differ, from which a column that equals their majority, median or rounded mean is
ambiguous: an annotator who agrees with it in three of four such rows does so in ten of ten with probability .06, in
three of three with .42."""

MOST_PEOPLE = 60
"""Largest number of annotators' columns in a wide sheet: forms have more questions, no study has more annotators."""

MOST_WORDS = 3
"""Largest number of words in an annotator's name: texts of items that mention a model have more."""

# -- usual names of columns ----------------------------------------------------------------------------

_ITEM = re.compile(
    r"(item|items|id|uid|uuid|key|qid|nr|no|question|sample|example|doc|document|text|prompt|task|case|instance|query|"
    r"pair|image|img|stimulus|essay|conversation|dialogue|record|tweet|post|sentence|segment|unit|passage|story|summary|"
    r"comparison|problem|exercise|output|file|filename|video|audio|clip|data)( ?(id|ids|nr|no|number|name|key|index))?"
)
_RATER = r"annotator|worker|rater|coder|reviewer|grader|label(l)?er|evaluator|assessor|scorer|participant|respondent"
_CALLED = r"( ?(?P<id>id|ids|name|code|nr|no|number|email))?"
_ANNOTATOR = re.compile(
    rf"({_RATER}|user|username|judge|expert|person|annotated by|rated by|graded by|email( address)?|e mail|your name|"
    rf"name|who|by|initials|prolific|crowdworker|turker){_CALLED}"
)
_WHO = re.compile(f"({_RATER}){_CALLED}")
"""Names of columns whose cells name annotators, and are not labels of an annotator with that name."""
_LABEL = re.compile(
    r"(label|labels|rating|ratings|score|scores|star|stars|vote|answer|value|grade|judg(e)?ment|annotation|class|"
    r"response|choice|decision|verdict|mark|points|likert|category)( ?(value|given))?"
)
_CRITERION = re.compile(r"criterion|criteria|aspect|dimension|question asked|metric|trait|attribute")
_REPEAT = re.compile(r"repeat|repetition|trial|replicate|run|attempt|pass")
_TIME = re.compile(
    r"(time ?stamp|submitted|submitted (at|on)|submission (time|date)|date|datetime|created( at)?|updated( at)?|"
    r"(start|end|recorded|completion|modified) ?(date|time|ed at)?|started( at)?|finished at|time|zeitstempel|"
    r"horodateur|marca temporal)"
)
_TECHNICAL = re.compile(
    r"(ip ?address|status|progress|finished|duration( in seconds)?|response ?id|recipient ?(last|first)? ?(name|email)|"
    r"external ?(data )?reference|location ?(latitude|longitude)|distribution ?channel|user ?language|consent|"
    r"seconds|time spent|lead time|elapsed|browser|operating system|resolution|hit id|assignment id|batch ?id|"
    r"session ?id|annotation id)"
)
_COMMENT = re.compile(
    r"(any |other |further |additional |your )?(comment|note|remark|feedback|kommentar|reason|reasoning|rationale|"
    r"explanation|justification|suggestion|observation|thought)(s)?( .*)?"
)
_COMPUTED = re.compile(
    r"(the )?(row |human |people |annotator |rater |overall |grand |final )?(mean|average|avg|median|mode|majority|"
    r"majority (vote|label)|consensus|total|sum|sd|std|stdev|std dev|standard deviation|variance|var|min|max|minimum|"
    r"maximum|range|count|n|n ratings|n raters|agreement|agree|disagreement|kappa|alpha|mittelwert|durchschnitt|summe|"
    r"moyenne|media|promedio)( of)?( (human|people|annotator|rater|score|rating|label|vote))?(s)?"
)
_GOLD = re.compile(
    r"(gold|golden|truth|ground truth|true|reference|correct|adjudicated|target|expected|resolved)"
    r"( ?(label|score|rating|answer|standard|value))?"
)
_METADATA = re.compile(
    r"((n|num|number of|text|word|token|char|character|answer|response|output|essay)? ?(length|len|words|tokens|"
    r"characters|chars|word count|sentences|lines)|count|topic|subject|domain|field|genre|theme|source|origin|dataset|"
    r"corpus|benchmark|system|year|month|age|gender|sex|grade level|level|language|lang|country|region|url|link|"
    r"text|prompt|question|answer|response|context|passage|article|story|summary|split|part|fold|batch|group|section|"
    r"type|kind of.*|difficulty|document|doc|school|teacher|class|student|lesson|cost|price|temperature|seed|version|"
    r"title|author|category|tag|tags|week|day|wave|condition|treatment|arm|readability|perplexity|weight|dialect)"
    r"( ?(id|name|text|nr|no))?"
)
_ID = re.compile(r"\b(id|key|nr|no|number)$")
"""The last word of the name of a column of ids."""
_NUMBERED = re.compile(r"(|unnamed 0|unnamed|index|row|row ?names?|rownames|x|x 1|nr|no|column 1|number)")
_HUMAN = re.compile(r"(?i)^(human|rater|annotator|person|people|expert|worker|coder|crowd|reviewer|grader|h)(?![a-z])")
_LETTER = re.compile(r"(?i)[ahrpwc]\d+")
_MACHINE = re.compile(r"(?i)[mjgl]\d*")
"""Names such as A1, A2, M1, in which a letter distinguishes annotators from models."""
_AI = ("AI", "KI", "IA", "LLM", "ML")
_ANNOTATOR_DATA = re.compile(
    r"(.+)[ _.:/-]+(conf(idence)?|certainty|time|seconds|duration|comments?|notes?|reasons?|rationale|explanation|"
    r"time ?stamp|justification)"
)
"""Other data of an annotator next to a label: ``Ann_confidence``."""
_MODEL_COLUMN = re.compile(r"(judge |rater |annotator )?(model|llm)( ?(id|name))?")
_AVERAGE_ROW = re.compile(
    r"(?i)(the )?(column |grand |overall )?(mean|average|avg\.?|median|total|sum|totals|sums|sd|std|stdev|"
    r"standard deviation|count|min|max|mittelwert|durchschnitt|summe|moyenne)s?"
)


def plain_name(name: str) -> str:
    """Return a column's name in lower case with separate words: ``itemId`` and ``item_id`` become ``item id``."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name.strip())
    return re.sub(r"[^a-z0-9äöüéèñ]+", " ", apart.lower()).strip()


# -- contents of a column ------------------------------------------------------------------------------


class ColumnView:
    """Properties of a column's cells, without marks of missing values."""

    def __init__(self, column: pl.Series) -> None:
        self.name, self.rows = column.name, len(column)
        self.temporal = column.dtype.is_temporal()
        if column.dtype.is_float():
            column = column.fill_nan(None)
        cells = strip_spaces(_texts(column)).to_frame("cell")
        cell, marked = pl.col("cell"), pl.col("cell").str.to_lowercase().is_in(list(MARKS)).fill_null(False)
        # One pass: a separate call per step takes longer than the steps do on a sheet of some hundred rows.
        self.texts = cells.select(pl.when(~marked & (cell != "")).then(cell)).to_series()
        self.filled = len(self.texts) - self.texts.null_count()

    @cached_property
    def distinct(self) -> pl.Series:
        """The distinct cells, in order of appearance."""
        return self.texts.drop_nulls().unique(maintain_order=True)

    @cached_property
    def numbers(self) -> pl.Series | None:
        """Every cell as a number, null for other cells (slips to correct); None if most cells are not numbers."""
        if self.temporal or not self.filled:
            return None
        read = parse_numbers(self.distinct, None, None, ())
        if read is None or read.ambiguity is not None or read.values.null_count() > 0.5 * len(self.distinct):
            return None
        return self.texts.replace_strict(self.distinct, read.values, default=None, return_dtype=pl.Float64)

    @cached_property
    def dates(self) -> bool:
        """Whether its cells are dates or times."""
        return self.temporal or (self.numbers is None and self.filled > 0 and are_dates(self.distinct))

    @property
    def is_text(self) -> bool:
        """Whether it contains words."""
        return self.filled > 0 and self.numbers is None and not self.dates

    @property
    def unique(self) -> bool:
        """Whether every cell is filled and different from the others."""
        return self.rows > 0 and len(self.distinct) == self.filled == self.rows

    @cached_property
    def free(self) -> bool:
        """Whether its words are free text: long, or with more distinct values than categories have."""
        if not self.is_text:
            return False
        length = float(self.distinct.str.len_chars().mean() or 0)  # type: ignore[arg-type]
        return length > 40 or (is_free_text(len(self.distinct), self.filled) and length > 12)

    @cached_property
    def spaced(self) -> bool:
        """Whether its cells contain several words, as texts do and ids and links do not."""
        return bool(self.distinct.str.contains(r"\s").any())

    @cached_property
    def ends(self) -> tuple[float, float] | None:
        """The smallest and the largest number."""
        if self.numbers is None or self.numbers.null_count() == len(self.numbers):
            return None
        return float(self.numbers.min()), float(self.numbers.max())  # type: ignore[arg-type]

    @cached_property
    def whole(self) -> bool:
        """Whether its numbers are whole."""
        there = None if self.numbers is None else self.numbers.drop_nulls()
        return there is not None and bool((there % 1 == 0).all())

    @property
    def could_be_labels(self) -> bool:
        """Whether its cells could be labels on a scale: numbers, or a limited number of distinct short words."""
        if not self.filled or self.dates or self.free:
            return False
        return self.numbers is not None or len(self.distinct) <= MOST_CATEGORIES

    @property
    def counts_rows(self) -> bool:
        """Whether it numbers the rows."""
        if self.numbers is None or self.numbers.null_count() or self.rows < 2:
            return False
        return bool((self.numbers.diff().drop_nulls() == 1).all()) and self.numbers[0] in (0, 1)

    def examples(self, most: int = 2) -> str:
        """Return two of its cells, unchanged."""
        return ", ".join(text if len(text) <= 24 else text[:21] + "..." for text in self.distinct.head(most))


def _texts(column: pl.Series) -> pl.Series:
    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        if bool((whole == column).fill_null(column.is_null()).all()):
            return whole.cast(pl.String)
    if column.dtype in (pl.List, pl.Struct, pl.Array, pl.Object, pl.Binary):
        return pl.Series(column.name, [None if v is None else str(v) for v in column], dtype=pl.String)
    return column.cast(pl.String)


LEAST_SHARED = 0.5
"""Share of a column's cells that also occur in another file, from which both columns name the same items: annotators
often label a sample of the items that a judge labels. Labels that happen to differ in every row are few."""


def shared_key(tables: Sequence[Mapping[str, ColumnView]]) -> list[str] | None:
    """Return the column of each table that names the same items: unique in each row, and shared by all tables."""
    for name, first in tables[0].items():
        informative = first.is_text or (first.whole and not first.counts_rows and first.rows >= MIN_DIFFERING_MAJORITY)
        if not (first.unique and informative):
            continue
        keys, cells = [name], set(first.distinct.to_list())
        for other in tables[1:]:
            shared = {n: len(cells & set(v.distinct.to_list())) / min(len(cells), v.rows)
                      for n, v in other.items() if v.unique}  # fmt: skip
            best = max(shared, key=lambda n: (shared[n], n == name), default=None)
            if best is not None and shared[best] >= LEAST_SHARED:
                keys.append(best)
        if len(keys) == len(tables):
            return keys
    return None


# -- detected roles ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnRole:
    """The detected role of a column, and the reason."""

    name: str
    role: Role
    why: str
    examples: str = ""


@dataclass(frozen=True)
class Guess:
    """The detected roles of a table's columns, the options that read it, and its ambiguities.

    Attributes
    ----------
    options : mapping
        The options of `assay.read` that read the table.
    ambiguities : tuple of str
        Readings that the user has to confirm; the options hold the more likely ones.
    errors : tuple of str
        Reasons why the table cannot be read.
    rows : mapping of a reason to tuple of str
        Rows that are not items, such as a last row of averages.
    """

    shape: Shape
    columns: tuple[ColumnRole, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    ambiguities: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def named(self, *roles: Role) -> list[str]:
        """Return the columns with one of these roles."""
        return [one.name for one in self.columns if one.role in roles]

    def notes(self) -> list[str]:
        """Return a note on each role, and on rows that are not items."""
        found = []
        for role in words.ROLES_NOTED:
            there = [one for one in self.columns if one.role == role]
            if there:
                why = there[0].why if len({one.why for one in there}) == 1 else ""
                found.append(words.role_note(role, [one.name for one in there], why))
        found += ["no item id found; rows are numbered"] if self.options.get("item") == ROWS else []
        found += [f"row {_quote(names, 3)} ignored: {why}" for why, names in self.rows.items()]
        return found


_NO_IDENTIFIER: tuple[Role | None, ...] = ("computed", "gold", "time stamp", "row number", "empty")
IGNORED: tuple[Role, ...] = ("computed", "time stamp", "comment", "row number", "technical", "empty")
"""Roles of columns that are ignored."""


@dataclass(frozen=True)
class SpecifiedRoles:
    """The roles of columns that the user has specified."""

    item: str | None = None
    annotator: str | None = None
    label: str | None = None
    criterion: str | None = None
    columns: tuple[str, ...] | None = None
    judges: tuple[str, ...] | None = None
    humans: tuple[str, ...] | None = None
    shape: Shape | None = None
    exclude: tuple[str, ...] | None = None
    split_columns: str | None = None
    alone: bool = True
    """Whether it is the only file; each of several files can hold the labels of one annotator."""


class UnclearTableError(DataError):
    """The roles of a table's columns are ambiguous, or a role is missing.

    Attributes
    ----------
    problems : tuple of str
        Everything that the user has to resolve; ``advised`` has the options of `assay.read` for the more likely
        readings.
    """

    def __init__(
        self, message: str, problems: Sequence[str] = (), options: Mapping[str, Any] | None = None, source: str = ""
    ) -> None:
        super().__init__(message, advised=options)
        self.problems, self.source = tuple(problems), source


def read_call(source: str | Sequence[str], options: Mapping[str, Any]) -> str:
    """Return the Python call that reads a source with these options; a table in memory is called ``frame``."""
    given = [f"{name}={list(value) if isinstance(value, tuple) else value!r}" for name, value in options.items()]
    return f"assay.read({', '.join(['frame' if source == IN_MEMORY else repr(source), *given])})"


def unclear(source: str, problems: Sequence[str], options: Mapping[str, Any]) -> UnclearTableError:
    """Return the error that lists all problems of a table, and the call that reads it with the likely options."""
    remedy = f". If that is right: {read_call(source, options)}" if options else ""
    return UnclearTableError(f"{source}: {'; '.join(problems)}{remedy}", problems, options, source)


def views_of(frame: pl.DataFrame) -> dict[str, ColumnView]:
    """Return a view of every column except ``_row``."""
    frame = frame.head(ROWS_INSPECTED)
    return {name: ColumnView(frame[name]) for name in frame.columns if name != "_row"}


def find_roles(frame: pl.DataFrame, given: SpecifiedRoles, views: Mapping[str, ColumnView]) -> Guess:
    """Detect the role of each column of a table.

    Parameters
    ----------
    frame : polars.DataFrame
        The table as read; a column ``_row`` is ignored.
    given : SpecifiedRoles
        The roles that the user has specified; they are never questioned.
    views : mapping
        Views of its columns.
    """
    finder = _Finder(views, given, frame.drop("_row", strict=False).head(ROWS_INSPECTED))
    shape = given.shape or finder.shape()
    return {"long": finder.long, "wide": finder.wide, "transposed": finder.transposed}[shape]()


class _Finder:
    """Detects the roles of one table."""

    def __init__(self, views: Mapping[str, ColumnView], given: SpecifiedRoles, frame: pl.DataFrame) -> None:
        self.views, self.given, self.frame = views, given, frame
        self.plain = {name: plain_name(name) for name in views}
        self.ambiguities: list[str] = []
        self.errors: list[str] = []

    # -- which shape ---------------------------------------------------------------------------------

    def shape(self) -> Shape:
        """Long, wide or transposed, from names and contents."""
        given = self.given
        if given.columns is not None:
            return "wide"
        long = self._long_roles()
        if None not in (long["item"], long["annotator"], long["label"]):
            return "long"
        if long["item"] and long["annotator"] and self._repeats(str(long["item"])):
            return "long"
        once = given.annotator in self.views and self.views[str(given.annotator)].unique
        if given.label is not None or (given.annotator is not None and not (once and given.item is None)):
            return "long"
        return "transposed" if self._questions() else "long" if once else "wide"

    def _asked(self) -> list[str]:
        """The columns that could each be a question of a form."""
        views = [v for v in self.views.values() if v.name not in self._columns_with_roles()]
        return [v.name for v in views if v.could_be_labels and not v.counts_rows and not self._names_rows(v)]

    def _questions(self) -> list[str]:
        """The columns of a form with one row per annotator, one question each; empty if the table is not a form."""
        asked, people = self._asked(), self._people_column()
        if self._rows_of_annotators is not None:
            return [name for name in asked if name != people]
        if people is None or len(asked) < 3:
            return []
        numbered = {re.sub(r"\d+", "0", plain_name(name)) for name in asked}
        many = len(asked) >= self.frame.height or len(asked) > MOST_PEOPLE
        return asked if many or len(numbered) <= max(1, len(asked) // 4) else []

    def _names_rows(self, view: ColumnView) -> bool:
        return view.unique and (view.is_text or bool(_ITEM.fullmatch(self.plain[view.name])))

    @cached_property
    def _rows_of_annotators(self) -> str | None:
        """The column that names an annotator in each row: the specified annotators, or a minority of models."""
        said = {*(self.given.judges or ()), *(self.given.humans or ())}
        if said & set(self.views):
            return None
        texts = [v for v in self.views.values() if v.unique and v.is_text]
        if said:
            return next((v.name for v in texts if said <= set(v.distinct.to_list())), None)
        first = next(iter(self.views.values()), None)
        if first not in texts or first is None or first.rows > MOST_PEOPLE or model_names(self.views):
            return None
        cells = first.distinct.to_list()
        short = all(len(cell.split()) <= MOST_WORDS for cell in cells)
        return first.name if short and 0 < len(model_names(cells, cells)) < len(cells) / 2 else None

    def _people_column(self) -> str | None:
        """A column whose cells name one annotator each."""
        if self._rows_of_annotators is not None:
            return self._rows_of_annotators
        found = [
            v.name
            for v in self.views.values()
            if v.unique and _ANNOTATOR.fullmatch(self.plain[v.name]) and not _ITEM.fullmatch(self.plain[v.name])
        ]
        if found:
            return found[0]
        stamped = any(self._role_by_name(name) == "time stamp" for name in self.views)
        ids = [v.name for v in self.views.values() if self.plain[v.name] in ("response id", "responseid") and v.unique]
        return ids[0] if ids else next(iter(self.views), None) if stamped else None

    def _columns_with_roles(self) -> set[str]:
        return {name for name in self.views if self._role_by_name(name) is not None}

    # -- long ------------------------------------------------------------------------------------------

    def _long_roles(self) -> dict[Role, str | None]:
        """The columns of item, annotator and label of a long table; None for a role without a column."""
        given, plain = self.given, self.plain
        found: dict[Role, str | None] = {"item": given.item, "annotator": given.annotator, "label": given.label}
        forms: dict[Role, re.Pattern[str]] = {"annotator": _ANNOTATOR, "label": _LABEL, "item": _ITEM}
        for role, form in forms.items():
            if found[role] is not None:
                continue
            taken = [name for name in found.values() if name is not None]
            exact = [n for n in self.views if plain[n] == role and n not in taken]
            fits = exact or [n for n in self.views if form.fullmatch(plain[n]) and n not in taken]
            if role == "annotator":
                fits = [n for n in fits if self._repeats(n)] or exact
            if role == "annotator" and not fits:
                fits = [n for n in self.views if _MODEL_COLUMN.fullmatch(plain[n]) and self._repeats(n)]
            if role == "label":
                fits = [n for n in fits if self.views[n].filled and not self.views[n].counts_rows]
            if role == "item":
                fits = [n for n in fits if not self.views[n].counts_rows] or fits
            if len(fits) > 1 and not exact:
                fits = self._most_likely(role, fits)
            found[role] = fits[0] if fits else None
        return found

    def _repeats(self, name: str) -> bool:
        view = self.views[name]
        return len(view.distinct) < view.filled

    def _most_likely(self, role: str, fits: list[str]) -> list[str]:
        """Choose the column for a role by its name; if no name is decisive, add an ambiguity."""
        ids = [n for n in fits if self.plain[n].endswith(("id", "ids"))]
        if role in ("item", "annotator") and len(ids) == 1:
            return ids
        self.ambiguities.append(f"{_quote(fits, 4)} could each hold the {role} (set {role}=...)")
        return fits

    def long(self) -> Guess:
        """One row per label."""
        found: dict[Role, str | None] = {**self._long_roles()}
        columns: list[ColumnRole] = []
        options: dict[str, Any] = {}
        extra: dict[Role, re.Pattern[str]]
        extra = {"criterion": _CRITERION, "repeat": _REPEAT, "kind": re.compile("kind")}
        several = [] if found["label"] is not None else self._label_columns(found)
        if several:
            found["label"] = several[0]
        taken: dict[str, Role] = {name: role for role, name in found.items() if name is not None}
        taken |= dict.fromkeys(several, "label")
        for role, form in extra.items():
            said = getattr(self.given, role, None)
            fits = [said] if said else [n for n in self.views if n not in taken and form.fullmatch(self.plain[n])]
            if role == "kind":
                fits = [n for n in fits if set(self.views[n].distinct.str.to_lowercase()) <= set(KINDS)]
            if role == "repeat":
                fits = [n for n in fits if self.views[n].whole]
            if fits:
                taken[fits[0]] = role
                found[role] = fits[0]
        for role, name in found.items():
            if name is None:
                content = {"item": "the item id", "annotator": "the annotators", "label": "the labels"}[role]
                self.errors.append(f"no column with {content} was found (set {role}=...)")
            elif name != role:
                options[role] = several if role == "label" and len(several) > 1 else name
        for name, view in self.views.items():
            role_, why = self._other_role(name)
            if name in taken:
                role_ = taken[name]
                why = "as specified" if getattr(self.given, role_, None) == name else "by name"
            columns.append(ColumnRole(name, role_, why, view.examples()))
        who = found["annotator"] or ""
        names = self.views[who].distinct.to_list() if who in self.views else []
        if names and _MODEL_COLUMN.fullmatch(self.plain[who]) and model_names(names) == names:
            self.ambiguities.append(f"'{who}' contains only models, which can be judges or the systems that are rated")
        self._judges_of(found["annotator"], options, kind=found.get("kind"))
        return Guess("long", tuple(columns), options, tuple(dict.fromkeys(self.ambiguities)), tuple(self.errors))

    def _label_columns(self, found: Mapping[Role, str | None]) -> list[str]:
        """The columns of a long table that could each hold the labels of a criterion."""
        roles = {n: self._other_role(n) for n in self.views if n not in found.values()}
        open_ = [n for n, (role, _) in roles.items() if role == "unknown" and self.views[n].could_be_labels]
        return self._keep_one_kind(open_, roles) if open_ else []

    def _judges_of(self, annotator: str | None, options: dict[str, Any], kind: str | None) -> None:
        if annotator is None or kind is not None or annotator not in self.views:
            return
        self._name_judges(self.views[annotator].distinct.to_list(), options)

    def _name_judges(self, names: Sequence[str], options: dict[str, Any]) -> None:
        """Find annotators with names of models, if the user has not specified the judges."""
        if self.given.judges is not None or self.given.humans is not None:
            return
        models = model_names(names, names)
        if models:
            self.ambiguities.append(
                possible_judges(models, "names of models" if len(models) > 1 else "name of a model")
            )
            options["judges"] = models
            return
        short = [n for n in names if n in _AI and all(len(o) > len(n) for o in names if o != n)]
        if short:
            self.ambiguities.append(possible_judges(short, "by name"))
            options["judges"] = short
            return
        people = [n for n in names if _HUMAN.match(n) or _LETTER.fullmatch(n)]
        if not all(_HUMAN.match(n) or _MACHINE.fullmatch(n) for n in names if n not in people):
            people = [n for n in people if _HUMAN.match(n)]
        others = [n for n in names if n not in people]
        if len(people) >= 2 and others and len(others) <= len(people):
            self.ambiguities.append(possible_judges(others, f"the name differs from {_quote(people, 4)}"))
            options["judges"] = others

    # -- wide ------------------------------------------------------------------------------------------

    def wide(self) -> Guess:
        """One row per item, one column per annotator."""
        item = self._item_of_rows()
        roles = {n: self._other_role(n) for n in self.views if n != item}
        labels = [n for n, (role, _) in roles.items() if role == "unknown" and self.views[n].could_be_labels]
        labels = list(self.given.columns) if self.given.columns is not None else self._keep_one_kind(labels, roles)
        computed = {} if self.given.columns is not None else self._find_computed(labels, roles)
        labels = [n for n in labels if n not in computed]
        roles.update({name: ("computed", why) for name, why in computed.items()})
        options: dict[str, Any] = {"layout": "wide"}
        free = [n for n, (role, why) in roles.items() if role == "comment" and why.startswith("free text")]
        if not labels and len(free) > 1 and self.given.columns is None:
            labels = free
            options["scale"] = "text"
            self.ambiguities.append(f"{_hold(free)} free text, which could be the labels of an annotator")
        # In a table with one row per item, text that is not a label usually is the item that was judged.
        roles.update({name: ("item column", roles[name][1]) for name in free if name not in labels})
        if item != "item" and item is not None:
            options["item"] = item
        if item is None:
            options["item"] = ROWS
        crossed = None if self.given.split_columns else crossed_names(labels)
        people = labels
        if crossed is not None:
            options["split_columns"] = crossed.template
            people = crossed.annotators
            if crossed.ambiguity:
                self.ambiguities.append(f"each column name combines an annotator and a criterion, {crossed.ambiguity}")
        if self.given.split_columns is None:
            self._name_judges(people, options)
        judges = {*options.get("judges", ()), *(self.given.judges or ())}
        options["columns"] = labels
        if self.given.shape != "wide" and self.given.columns is None:
            self._check_annotator_column(labels)
        if not labels:
            self.errors.append("no column could hold an annotator's labels: set columns=[...]")
        elif len(labels) == 1 and self.given.alone and self.given.shape != "wide" and not judges.intersection(labels):
            self.errors.append(
                f"only '{labels[0]}' could hold an annotator's labels; if it does, set layout='wide' and "
                f"columns=['{labels[0]}']"
            )
        self._require_unique_items(item)
        if self.given.columns is None:
            for name in (n for n, (role, _) in roles.items() if role == "unknown" and n not in labels):
                roles[name] = ("item column", self._why_metadata(name))
        columns = []
        for name, view in self.views.items():
            role, why = roles.get(name, ("item", "as specified" if self.given.item == name else self._why_item(view)))
            if name in labels:
                who = name if crossed is None else crossed.annotator_of[name]
                role, why = ("judge", "listed in judges") if who in judges else ("person", self._why_labels(view))
                why = "name of a model" if who in options.get("judges", ()) else why
                why += "" if crossed is None else ", its name combines annotator and criterion"
            columns.append(ColumnRole(name, role, why, view.examples(3 if name in labels else 2)))
        rows = {} if item is None else self._computed_rows(item, labels)
        return Guess("wide", tuple(columns), options, tuple(dict.fromkeys(self.ambiguities)), tuple(self.errors), rows)

    def _check_annotator_column(self, labels: list[str]) -> None:
        """Add an ambiguity if the cells of one label column seem to name who gave the labels of the others."""
        named = [(n, found) for n in labels if (found := _WHO.fullmatch(self.plain[n])) and self._repeats(n)]
        if len(named) != 1 or len(labels) < 2:
            return
        who, found = named[0]
        given = {value for n in labels if n != who for value in self.views[n].distinct.to_list()}
        cells = set(self.views[who].distinct.to_list())
        # An annotator can use labels that no other uses; if half of the cells are such labels, they are likely names.
        if found["id"] or 2 * len(cells - given) >= len(cells):
            self.ambiguities.append(
                f"'{who}' could name the annotators (then set annotator='{who}', item=... and label=[...]); it is "
                "read as one annotator's labels"
            )

    def _require_unique_items(self, item: str | None) -> None:
        view = self.views.get(item or "")
        if view is None or len(view.distinct) == view.filled:
            return
        twice = view.texts.drop_nulls()
        twice = twice.filter(twice.is_duplicated())
        long = "; a long table has columns of annotators and labels and is read without layout='wide'"
        self.errors.append(
            f"item '{twice[0]}' has more than one row; a wide table has one row per item"
            + (long if self.given.shape == "wide" else "")
        )

    def _why_item(self, view: ColumnView) -> str:
        return f"{len(view.distinct)} different values" if view.unique else "by name"

    def _why_labels(self, view: ColumnView) -> str:
        if view.ends is not None:
            return f"{view.ends[0]:g} to {view.ends[1]:g}"
        return f"{len(view.distinct)} categories"

    def _why_metadata(self, name: str) -> str:
        view = self.views[name]
        return "values differ in kind from the annotators' labels" if not view.unique else "different in every row"

    def _item_of_rows(self) -> str | None:
        """The column whose cells name the rows; None if there is none."""
        if self.given.item is not None:
            return self.given.item
        named = [n for n in self.views if _ITEM.fullmatch(self.plain[n]) and self.views[n].filled]
        unique = [n for n in named if self.views[n].unique]
        exact = [n for n in unique if self.plain[n] in ("item", "item id", "id")]
        if exact or len(unique) == 1:
            return (exact or unique)[0]
        if unique:
            ids = [n for n in unique if _ID.search(self.plain[n])]
            return (ids or unique)[0]
        texts = [n for n, v in self.views.items() if v.unique and v.is_text and self._role_by_name(n) is None]
        first = next(iter(self.views), None)
        numbers = [first] if first is not None and self.views[first].unique and self.views[first].counts_rows else []
        odd = [n for n in numbers if n is not None and _NUMBERED.fullmatch(self.plain[n])]
        found = texts or self._identifiers() or [n for n in named if self.views[n].is_text] or odd
        return found[0] if found else None

    def _identifiers(self) -> list[str]:
        """The columns with a different short text in each row, by any name; numbers only if named as ids."""
        found = [
            n for n, v in self.views.items()
            if v.unique and self._role_by_name(n) not in _NO_IDENTIFIER and not _WHO.fullmatch(self.plain[n])
            and ((v.is_text and not (v.free and v.spaced))
                 or ((v.is_text or v.whole) and bool(_ID.search(self.plain[n]))))
        ]  # fmt: skip
        return [n for n in found if _ID.search(self.plain[n])] or found

    def _keep_one_kind(self, labels: list[str], roles: dict[str, tuple[Role, str]]) -> list[str]:
        """The columns whose labels could be on one scale; the others become item metadata."""
        texts = [n for n in labels if self.views[n].is_text]
        numbers = [n for n in labels if n not in texts]
        if texts and numbers:
            # Columns of numbers and columns of words: the larger group holds the labels.
            larger, other = (numbers, texts) if len(numbers) >= len(texts) else (texts, numbers)
            if len(larger) < 2 or len(other) >= len(larger):
                self.ambiguities.append(
                    f"{_hold(texts)} text and {_hold(numbers)} numbers; name the annotators' columns with "
                    f"columns={numbers if len(numbers) > 1 or len(texts) < 2 else texts}"
                )
            for name in other:
                self._make_metadata(name, "words, while other columns hold numbers" if name in texts
                                 else "numbers, while other columns hold words", roles)  # fmt: skip
            labels = larger
        if not labels or self.views[labels[0]].is_text:
            return self._keep_one_code_book(labels, roles)
        return self._keep_one_range(labels, roles)

    def _keep_one_range(self, labels: list[str], roles: dict[str, tuple[Role, str]]) -> list[str]:
        """Columns of numbers, without those on a much wider range than most."""
        tops = sorted(max(abs(e) for e in self.views[n].ends or (0, 0)) for n in labels)
        middle = tops[(len(tops) - 1) // 2]
        kept = []
        for name in labels:
            low, high = self.views[name].ends or (0, 0)
            # Annotators' scales have similar ends: a scale 1-5 and counts of words in the 100s are different things.
            if max(abs(low), abs(high)) > 10 * max(middle, 1) and len(labels) > 2:
                self._make_metadata(name, f"{low:g} to {high:g}, while other columns end at {middle:g}", roles)
            else:
                kept.append(name)
        return kept

    def _keep_one_code_book(self, labels: list[str], roles: dict[str, tuple[Role, str]]) -> list[str]:
        """Columns of words, without those that share no word with the others."""
        books = {n: set(spelling_key(self.views[n].distinct).to_list()) for n in labels}
        kept = [n for n in labels if any(books[n] & books[o] for o in labels if o != n)]
        if len(kept) < 2:
            return labels
        for name in (n for n in labels if n not in kept):
            self._make_metadata(name, "words that no annotator's column contains", roles)
        return kept

    def _make_metadata(self, name: str, why: str, roles: dict[str, tuple[Role, str]]) -> None:
        """Make a column with values on another scale item metadata; for a judge's column, report the problem."""
        roles[name] = ("item column", why)
        named = name in (self.given.judges or ())
        if named or model_names([name]):
            kind = "is listed in judges" if named else "has the name of a model"
            (self.errors if named else self.ambiguities).append(
                f"'{name}' {kind}, but its column holds {why}: write its labels as the annotators do"
                + ("" if named else ", or it is not a judge here")
            )

    # -- computed columns and rows -----------------------------------------------------------------------

    def _find_computed(self, labels: list[str], roles: dict[str, tuple[Role, str]]) -> dict[str, str]:
        """Find label columns that are computed from the others, and how."""
        found: dict[str, str] = {}
        numeric = [n for n in labels if self.views[n].numbers is not None]
        if len(labels) < 3:
            return found
        values = {n: self.views[n].numbers.to_numpy() for n in numeric}  # type: ignore[union-attr]
        models = {*model_names(labels, labels), *(self.given.judges or ())}
        # A computed column usually follows the columns that it is computed from: of two equal columns, it is the later.
        for name in (n for n in reversed(labels) if n not in models):
            others = [n for n in labels if n != name and n not in found]
            people = [n for n in others if not model_names([n], labels)]
            for group in dict.fromkeys((tuple(people), tuple(others))):
                how = self._follows(name, list(group), values) if len(group) >= 2 else None
                if how is None:
                    continue
                if how in ("majority", "median", "rounded mean") or (how == "mean" and self.views[name].whole):
                    # An annotator can agree with the others in every row of a small sheet, but gives no fractions.
                    self.ambiguities.append(f"'{name}' equals the {how} of {_quote(group, 4)} "
                                       "and could be computed from them")  # fmt: skip
                found[name] = f"equals the {how} of {listing(list(group), 4)}"
                break
        for name, (role, _) in list(roles.items()):
            if role == "computed" and name not in labels:
                left = [n for n in labels if n not in found]
                people = [n for n in left if not model_names([n], labels)]
                for group in dict.fromkeys((tuple(people), tuple(left))):
                    how = self._follows(name, list(group), values)
                    if how is not None:
                        found[name] = f"equals the {how} of {listing(list(group), 4)}"
                        break
        return found

    def _follows(self, name: str, others: list[str], values: Mapping[str, NDArray[np.float64]]) -> str | None:
        """How a column is computed from others: see `_arithmetic`; None if it is not."""
        view = self.views[name]
        if view.numbers is not None and all(n in values for n in others) and len(others) >= 2:
            return _arithmetic(view.numbers.to_numpy(), np.stack([values[n] for n in others]))
        if view.is_text and len(others) >= 3:
            return self._majority_of_words(name, others)
        return None

    def _majority_of_words(self, name: str, others: list[str]) -> str | None:
        rows = zip(*(self.views[n].texts.to_list() for n in (name, *others)), strict=True)
        uneven = 0
        for said, *votes in rows:
            there = [v for v in votes if v is not None]
            if said is None or len(set(there)) < 2:
                continue
            most = max(map(there.count, set(there)))
            first = [v for v in set(there) if there.count(v) == most]
            if len(first) > 1:
                continue
            if said != first[0]:
                return None
            uneven += 1
        return "majority" if uneven >= MIN_DIFFERING_MAJORITY else None

    def _computed_rows(self, item: str, labels: list[str]) -> dict[str, tuple[str, ...]]:
        """Rows that are not items: averages and totals of the rows above them."""
        if item not in self.views or not labels or self.given.exclude is not None:
            return {}
        named = [(i, t) for i, t in enumerate(self.views[item].texts.to_list()) if t and _AVERAGE_ROW.fullmatch(t)]
        found: dict[str, tuple[str, ...]] = {}
        for at, text in named:
            if at >= 2:
                found["computed from the rows above it"] = (*found.get("computed from the rows above it", ()), text)
        return found

    # -- roles by name -------------------------------------------------------------------------------------

    def _role_by_name(self, name: str) -> Role | None:
        """The role of a column by its name (and, for some roles, its cells); None if the name is not known."""
        view, plain = self.views[name], self.plain[name]
        if not view.filled:
            return "empty"
        if view.dates and (view.temporal or _TIME.fullmatch(plain) or len(view.distinct) > MOST_CATEGORIES):
            return "time stamp"
        if _NUMBERED.fullmatch(plain) and view.counts_rows:
            return "row number"
        if _TIME.fullmatch(plain) and (view.dates or view.ends is None or view.ends[1] > 1e5):
            return "time stamp"
        for form, role in _NAMED:
            if form.fullmatch(plain):
                return role
        data = _ANNOTATOR_DATA.fullmatch(name.lower())
        if data is not None and any(other.lower() == data[1].strip() for other in self.views):
            return "technical"
        return None

    def _other_role(self, name: str) -> tuple[Role, str]:
        """The role of a column that is neither item nor annotator nor label."""
        view, role = self.views[name], self._role_by_name(name)
        if self.given.exclude is not None and name in self.given.exclude:
            return "computed", "listed in exclude"
        if self.given.exclude is not None and role == "computed":
            role = None
        if role is not None:
            return role, {"time stamp": "dates and times", "empty": "no values"}.get(role, "by name")
        if view.free:
            return "comment", f"free text in {counted(view.filled, 'row')}"
        if view.dates:
            return "time stamp", "dates"
        return "unknown", ""

    # -- transposed ----------------------------------------------------------------------------------------

    def transposed(self) -> Guess:
        """One row per annotator, one column per item, as forms write them."""
        given = self.given
        people = given.annotator or self._people_column()
        stamps = people in self.views and self._role_by_name(str(people)) == "time stamp"
        asked = list(given.columns) if given.columns is not None else [n for n in self._questions() if n != people]
        options: dict[str, Any] = {"layout": "transposed"}
        if people == ROWS:
            options["annotator"] = ROWS
        elif people is None or stamps:
            options["annotator"] = ROWS
            self.ambiguities.append(
                "rows look like annotators and columns like items, but no column names the annotators"
            )
        else:
            options["annotator"] = people
            if given.shape is None and not (given.judges and people == self._rows_of_annotators):
                self.ambiguities.append(f"rows look like annotators (named by '{people}') and columns like items")
        options["columns"] = asked
        if not stamps and people in self.views:
            self._name_judges(self.views[str(people)].distinct.to_list(), options)
        columns = []
        for name, view in self.views.items():
            role, why = self._other_role(name)
            if name == people and not stamps:
                role, why = "annotator", "a different annotator in each row"
            elif name in asked:
                role, why = "item", "a question"
            elif role == "unknown":
                role, why = "technical", "not a question"
            columns.append(ColumnRole(name, role, why, view.examples()))
        return Guess("transposed", tuple(columns), options, tuple(self.ambiguities), tuple(self.errors))


_NAMED: tuple[tuple[re.Pattern[str], Role], ...] = (
    (_TECHNICAL, "technical"),
    (_COMPUTED, "computed"),
    (_GOLD, "gold"),
    (_COMMENT, "comment"),
    (_METADATA, "item column"),
)

ROWS = "_row"
"""Used instead of a column's name: the number of the row."""


def _arithmetic(column: NDArray[np.float64], others: NDArray[np.float64]) -> str | None:
    """How a column is computed from the others, by all rows: mean, median, total, majority or rounded mean."""
    there = np.isfinite(column) & (np.isfinite(others).sum(axis=0) >= 2)
    column, others = column[there], others[:, there]
    if not len(column):
        return None
    uneven = np.nanmax(others, axis=0) > np.nanmin(others, axis=0)
    if uneven.sum() < MIN_DIFFERING_COMPUTED:
        return None
    decimals = max((len(f"{value:.4f}".rstrip("0").partition(".")[2]) for value in column[:200]), default=0)
    step = 0.5 * 10.0**-decimals + 1e-9 if decimals else 1e-9
    found = {
        "mean": np.nanmean(others, axis=0),
        "median": np.nanmedian(others, axis=0),
        "total": np.nansum(others, axis=0),
    }
    few = uneven.sum() < MIN_DIFFERING_MAJORITY
    whole = bool((column % 1 == 0).all())
    for how, value in found.items():
        by_chance = few and (how == "median" or (how == "mean" and whole))
        if not by_chance and bool((np.abs(column - value) <= step).all()):
            return how
    return "majority" if _is_majority(column, others, uneven) else _rounded_mean(column, others, found["mean"])


def _rounded_mean(column: NDArray[np.float64], others: NDArray[np.float64], mean: NDArray[np.float64]) -> str | None:
    """Halves can be rounded up or down. Rows in which the others differ by less than 2 do not count as evidence."""
    far = np.nanmax(others, axis=0) - np.nanmin(others, axis=0) >= 2
    whole = bool((column % 1 == 0).all())
    near = bool((np.abs(column - mean) <= 0.5 + 1e-9).all())
    return "rounded mean" if whole and near and far.sum() >= MIN_DIFFERING_MAJORITY else None


def _is_majority(column: NDArray[np.float64], others: NDArray[np.float64], uneven: NDArray[np.bool_]) -> bool:
    if len(others) < 3:
        return False
    counts = np.stack([(others == row).sum(axis=0) for row in others])
    most = counts.max(axis=0)
    values = np.where(counts == most, others, np.nan)
    single = np.nanmax(values, axis=0) == np.nanmin(values, axis=0)
    decided = uneven & single
    return bool(
        decided.sum() >= MIN_DIFFERING_MAJORITY and (column[decided] == np.nanmax(values, axis=0)[decided]).all()
    )


def _hold(columns: Sequence[str]) -> str:
    """``column 'x' holds``, ``columns 'x', 'y' hold``."""
    return f"column {_quote(columns)} holds" if len(columns) == 1 else f"columns {_quote(columns)} hold"


def _quote(names: Sequence[str], most: int = 4) -> str:
    return listing([f"'{name}'" for name in names], most)


_CRITERIA = re.compile(
    r"(?i)(clarity|clear|accuracy|accurate|fluency|relevance|coherence|consistency|quality|helpful(ness)?|safety|"
    r"harmless(ness)?|correct(ness)?|complete(ness)?|style|tone|grammar|informative(ness)?|overall|factual(ity)?|"
    r"toxicity|engag(ement|ing)|useful(ness)?|readability|content|organi[sz]ation|depth|empathy|naturalness|adequacy|"
    r"faithful(ness)?|groundedness|creativity|originality|conciseness|difficulty|q\d+)"
)
_BETWEEN = (" / ", "__", ": ", " - ", "/", ":", "_", "-", ".", " ")


@dataclass(frozen=True)
class CrossedNames:
    """Column names that each combine an annotator and a criterion."""

    template: str
    annotator_of: dict[str, str]
    ambiguity: str = ""

    @property
    def annotators(self) -> list[str]:
        """The annotators that the columns name, without repeats."""
        return list(dict.fromkeys(self.annotator_of.values()))


def crossed_names(names: Sequence[str]) -> CrossedNames | None:
    """How column names combine an annotator and a criterion, ``ann_clarity``; None if they do not."""
    for mark in _BETWEEN:
        if len(names) < 4 or not all(mark in name for name in names):
            continue
        for split in (str.partition, str.rpartition):
            pairs = [(left.strip(), right.strip()) for left, _, right in (split(name, mark) for name in names)]
            lefts, rights = (list(dict.fromkeys(part)) for part in zip(*pairs, strict=True))
            sides = len(lefts) >= 2 and len(rights) >= 2 and all(lefts) and all(rights)
            if not sides or len(set(pairs)) < len(pairs) or len(pairs) < 0.75 * len(lefts) * len(rights):
                continue
            if any(all(part.isdigit() for part in side) for side in (lefts, rights)):
                continue
            scores = [_names_people(side) - _names_criteria(side) for side in (lefts, rights)]
            first = scores[0] >= scores[1]
            template = f"annotator{mark}criterion" if first else f"criterion{mark}annotator"
            unsure = "" if scores[0] != scores[1] else f"as in '{names[0]}', but the order of the two is uncertain"
            annotators = (left if first else right for left, right in pairs)
            return CrossedNames(template, dict(zip(names, annotators, strict=True)), unsure)
    return None


def _names_people(side: Sequence[str]) -> int:
    return 2 * bool(model_names(side)) + all(_HUMAN.match(n) for n in side)


def _names_criteria(side: Sequence[str]) -> int:
    return int(any(_CRITERIA.fullmatch(name) for name in side))


def same_except_spelling(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return groups of names that differ only in case, spaces or the encoding of letters."""
    known = list(dict.fromkeys(names))
    keys = spelling_key(strip_spaces(pl.Series(known, dtype=pl.String)))
    groups: dict[str, list[str]] = {}
    for name, key in zip(known, keys.str.replace_all(r"[\s_.-]+", " ").to_list(), strict=True):
        groups.setdefault(key, []).append(name)
    return [tuple(natural(group)) for group in groups.values() if len(group) > 1]
