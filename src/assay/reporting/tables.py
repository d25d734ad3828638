"""Tables for readers: columns chosen and named, numbers rounded; as text, CSV or for the page."""

from __future__ import annotations

import html
import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any
from unicodedata import east_asian_width

import polars as pl

# -- Untrusted text on a terminal ------------------------------------------------------------------
# Text from models, services and label files cannot control the terminal or disguise other text.

_STEERING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)")
"""C0 except tab and newline, DEL and C1, which begin escape sequences; embeddings, overrides and isolates of text that
runs from right to left, which reorder a line; halves of a character, which no terminal can be sent."""


def printable(text: str) -> str:
    r"""Escape the characters of a text that control a terminal, or reorder a line, as ``\u001b``.

    Parameters
    ----------
    text : str
        Any text; JSON remains JSON with the same content, because these are JSON escapes.

    Returns
    -------
    str
        The text with only letters, signs, spaces, tabs and newlines.

    Examples
    --------
    >>> print(printable("\x1b[2Jgood"))
    \u001b[2Jgood
    """
    return text if text.isascii() and text.isprintable() else _STEERING.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


# -- Numbers and intervals for readers -------------------------------------------------------------


def number(value: float | None, digits: int = 2) -> str:
    """Format a number for readers: two decimals, a minus sign, a dash for a missing value."""
    if value is None or not math.isfinite(value):
        return "–"
    text = decimals(value, digits)
    if digits > 2:
        text = text.rstrip("0").rstrip(".") if len(text.rstrip("0").partition(".")[2]) > 2 else decimals(value, 2)
    return text


def decimals(value: float, digits: int, sign: str = "") -> str:
    """Format a number; one that rounds to 0 has no minus sign; ``sign="+"`` adds a plus to positive numbers."""
    value = value if round(value, digits) else 0.0
    return f"{value:{sign}.{digits}f}".replace("-", "−")


def signed(value: float, digits: int = 2) -> str:
    """A difference: ``+0.36``, ``−0.20``."""
    return decimals(value, digits, "+")


def interval(low: float | None, high: float | None, digits: int = 2, sign: str = "") -> str:
    """``[0.70, 0.76]``, or ``(no interval)``."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return "(no interval)"
    return f"[{decimals(low, digits, sign)}, {decimals(high, digits, sign)}]"


def estimated(value: float, low: float | None, high: float | None, digits: int = 2) -> str:
    """``0.73 [0.70, 0.76]``."""
    return f"{said(value, digits)} {interval(low, high, digits)}"


def said(value: float, digits: int = 2) -> str:
    """Format a number for a sentence; a missing value is ``not estimable``."""
    return decimals(value, digits) if math.isfinite(value) else "not estimable"


def digits_of(low: float, high: float) -> int:
    """Return the decimals of an estimate whose unit is not that of labels: two digits of half its interval; 2 without.

    A coefficient per word is ``0.0043 [0.0008, 0.0078]``, which two decimals would show as 0.00.
    """
    half = (high - low) / 2
    return min(max(1 - math.floor(math.log10(half)), 0), MOST_DIGITS) if math.isfinite(half) and half > 0 else 2


MOST_DIGITS = 12
"""Decimals in a sentence, at most."""

NAME = 34
"""Characters of a name in a picture: a longer name is clipped."""


def clip_name(name: str, most: int = NAME) -> str:
    """Clip the middle of a long name: names differ mostly at their ends."""
    return name if len(name) <= most else f"{name[: most // 2]}…{name[len(name) - most // 2 + 1 :]}"


def p_value(value: float) -> str:
    """``p = 0.012``, ``p < 0.001``, or ``no p-value``; ``p = 0.0504`` where three digits would equal a level."""
    if not math.isfinite(value):
        return "no p-value"
    if value < 0.001:
        return "p < 0.001"
    above = any(level < value and round(value, 3) == level for level in LEVELS)
    return f"p = {value:.{4 if above else 3}f}"


LEVELS = (0.01, 0.05, 0.1)
"""Usual levels: a p-value above one is not printed as equal to it."""


# -- Tables for readers ----------------------------------------------------------------------------

MOST_ROWS = 20
"""Rows that a notebook shows, at most."""

WHOLE = 300
"""A column of numbers from here up, such as ratings, is shown without decimals."""

TITLES: Mapping[str, str] = {
    "judge": "judge",
    "annotator": "annotator",
    "rho": "ρ",
    "psi": "ψ",
    "title": "coefficient",
    "winning_rate": "ω",
    "accuracy_with_majority": "accuracy",
    "mean_pearson": "Pearson r",
    "mean_similarity": "similarity",
    "smallest_epsilon": "smallest passing margin",
    "needed_epsilon": "parity margin",
    "rho_human": "ρ of annotator",
    "advantage_difference": "ρ minus annotators'",
    "tie_rate": "ties",
    "p_adjusted": "p (adjusted)",
    "rejected": "judge wins",
    "n_judge_better": "closer",
    "n_tie": "equal",
    "n_human_better": "further",
    "n_annotators": "annotators",
    "agreement_ratio": "R",
    "sample_size": "sample size",
    "p_noninferior": "p (non-inferior)",
    "p_worse": "p (worse)",
}


FOLDED, UNFOLDED = 20, 8
"""A page folds a table with more rows than the first number, and shows the second number of rows: one screen."""


LONG = 32
"""Characters of a cell from which its column is text in several lines."""

WIDE = 95
"""Characters that fit next to the title of a section: 57 rem at .9 rem per line."""

Drawn = tuple[float, float, float]
"""An estimate and its ends, in percent of the width of its column's axis."""


@dataclass(frozen=True)
class IntervalColumn:
    """The intervals of a column on a common axis: one per row, None if there is none; and the position of 0."""

    rows: tuple[Drawn | None, ...]
    zero: float | None

    @classmethod
    def of(cls, values: Sequence[Any], lows: Sequence[Any], highs: Sequence[Any]) -> IntervalColumn | None:
        """Return None if fewer than two rows have an interval: one interval has no comparison."""
        rows = [tuple(map(_float, row)) for row in zip(values, lows, highs, strict=True)]
        known = [row for row in rows if all(map(math.isfinite, row))]
        if len(known) < 2:
            return None
        first, last = min(min(row) for row in known), max(max(row) for row in known)
        # An axis starts at 0 if this costs at most a third of its width.
        if 0 < first < (last - first) / 2:
            first = 0.0
        if 0 > last > (first - last) / 2:
            last = 0.0
        width = last - first or 1.0

        def at(value: float) -> float:
            return round(2 + 96 * (value - first) / width, 1)

        drawn = tuple((at(row[0]), at(row[1]), at(row[2])) if row in known else None for row in rows)
        return cls(drawn, at(0.0) if first <= 0 <= last else None)


@dataclass(frozen=True)
class Table:
    """Rows of text for readers; ``numeric`` marks columns of numbers, ``intervals`` has the drawn intervals."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    caption: str = ""
    intervals: Mapping[int, IntervalColumn] = field(default_factory=dict)
    tones: Mapping[int, Mapping[Any, str]] = field(default_factory=dict)
    """The colour class of each text of a column."""
    frame: pl.DataFrame | None = field(default=None, compare=False, repr=False)
    """The table with all digits."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kind of each column: numbers, text in several lines, or names."""
        return tuple(
            "number" if numeric else "text" if any(len(row[i]) > LONG for row in self.rows) else "name"
            for i, numeric in enumerate(self.numeric)
        )

    @property
    def wide(self) -> bool:
        """Whether it requires the whole width: by its characters, and 15 per column of drawn intervals."""
        columns = zip(self.columns, *self.rows, strict=True)
        most = (max(len(cell) for cell in (column[0].partition(" ")[0], *column[1:])) for column in columns)
        return sum(min(one, LONG) + 2 for one in most) + 15 * len(self.intervals) > WIDE

    @property
    def first(self) -> tuple[tuple[str, ...], ...]:
        """The rows that a page shows at once: all, or the first rows of a long table."""
        return self.rows if len(self.rows) <= FOLDED else self.rows[:UNFOLDED]

    @property
    def rest(self) -> tuple[tuple[str, ...], ...]:
        """The folded rows."""
        return self.rows[len(self.first) :]


def shown(
    frame: pl.DataFrame, *, caption: str = "", drop: Sequence[str] = (), symbol: str = "estimate",
    counted: str = "items", tones: Mapping[str, Mapping[Any, str]] | None = None,
) -> Table:  # fmt: skip
    """Return the table of a result for readers: a number with its low and high is one column.

    ``counted`` is the title of ``n``; ``tones`` has the colours of texts in columns such as the verdict.

    Numbers have two decimals, and none in a column of hundreds and more, such as ratings.
    """
    ends = {c: (f"{c}_low", f"{c}_high") for c in frame.columns if f"{c}_low" in frame.columns}
    if "low" in frame.columns:
        ends["estimate"] = ("low", "high")
    columns = [c for c in frame.columns if c not in drop and not any(c in pair for pair in ends.values())]
    digits = {name: _digits(frame[name]) for name in ends}
    rows = []
    for row in frame.iter_rows(named=True):
        each = [
            _interval_cell(row[name], row[ends[name][0]], row[ends[name][1]], digits[name])
            if name in ends
            else _cell(name, row[name])
            for name in columns
        ]
        rows.append(tuple(each))
    named = {**TITLES, "estimate": symbol, "n": counted}
    titles = tuple(named.get(c, c.replace("_", " ")) for c in columns)
    numeric = tuple(frame.schema[c].is_numeric() for c in columns)
    drawn = {
        columns.index(name): IntervalColumn.of(*(frame[c].to_list() for c in (name, *pair)))
        for name, pair in ends.items()
        if name in columns and frame.schema[name].is_float()
    }
    coloured = {columns.index(name): words for name, words in (tones or {}).items() if name in columns}
    known = {i: one for i, one in drawn.items() if one is not None}
    return Table(titles, tuple(rows), numeric, caption, known, coloured, frame)


def empty_columns(frame: pl.DataFrame) -> tuple[str, ...]:
    """Return the names of columns without values."""
    return tuple(c for c in frame.columns if frame[c].null_count() == frame.height)


def filled(frame: pl.DataFrame, counted: str = "items") -> pl.DataFrame:
    """Drop empty columns; rename ``n`` to the unit that it counts."""
    return frame.drop(empty_columns(frame)).rename({"n": counted}, strict=False)


def plain(frame: pl.DataFrame) -> Table:
    """Return a small table unchanged."""
    rows = tuple(tuple(f"{v:,}" if isinstance(v, int) else str(v) for v in row) for row in frame.iter_rows())
    return Table(tuple(frame.columns), rows, tuple(t.is_numeric() for t in frame.dtypes))


def to_csv(frame: pl.DataFrame) -> str:
    """Return the table with all digits as CSV."""
    return frame.write_csv()


def to_markdown(table: Table) -> str:
    """Return a table in Markdown."""
    cells = [table.columns, tuple("--:" if n else "---" for n in table.numeric), *table.rows]
    escaped = ([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in cells)
    return "\n".join("| " + " | ".join(row) + " |" for row in escaped)


def to_html(table: Table) -> str:
    """Return a ``<table>`` for a notebook."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.columns)
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _digits(column: pl.Series) -> int:
    """Number of decimals of a column."""
    if not column.dtype.is_float():
        return 2
    known = column.filter(column.is_finite()).abs()
    return 0 if len(known) and (known >= WHOLE).all() else 2


def _interval_cell(value: Any, low: float | None, high: float | None, digits: int) -> str:
    """A number with its interval, or a count with its range."""
    if not isinstance(value, int):
        return "–" if value is None else f"{number(value, digits)} {interval(_float(low), _float(high), digits)}"
    return f"{value:,} ({'?' if low is None else f'{low:,}'} to {'?' if high is None else f'{high:,}'})"


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if name in ("p", "p_adjusted", "p_reverse", "p_noninferior", "p_worse"):
            return "< 0.001" if value < 0.001 else number(value, 3)
        return number(value) if not value.is_integer() or abs(value) <= 1 else f"{int(value):,}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _float(value: float | None) -> float:
    return float("nan") if value is None else value


def marks_text(columns: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Return the lines of a table of marks: a row per name, or a column per name if only this fits a line.

    Parameters
    ----------
    columns : sequence of str
        Titles of the marks.
    rows : iterable of (str, marks)
    """
    names = [(name, *marks) for name, marks in rows]
    titles = ["", *columns]
    upright = _mark_lines(titles, names)
    if max(map(_terminal_width, upright)) <= LINE:
        return upright
    turned = list(zip(titles, *names, strict=True))
    sideways = _mark_lines(turned[0], turned[1:])
    return sideways if max(map(_terminal_width, sideways)) <= LINE else upright


def _mark_lines(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    cells = tuple(tuple(row) for row in rows)
    return to_text(Table(tuple(titles), cells, (False, *(True,) * (len(titles) - 1))), LINE).splitlines()


def to_text(table: Table, width: int | None = None) -> str:
    """Align columns for a terminal or a log; cells of text are wrapped if the table is wider than ``width``.

    If less than `REASON` characters are available for a column of reasons, they are listed below the table, each once.
    """
    table = replace(table, columns=_shown(table.columns), rows=tuple(map(_shown, table.rows)))
    widths = [max(map(_terminal_width, column)) for column in zip(table.columns, *table.rows, strict=True)]
    if width is not None and sum(widths) + 2 * (len(widths) - 1) > width:
        natural, widths = widths, _narrower(table, width)
        if "reason" in table.columns and widths[i := table.columns.index("reason")] < min(natural[i], REASON):
            return _reasons_below(table, i, width)

    def lines(cells: Sequence[str]) -> str:
        wrapped = [_wrap(cell, w) for cell, w in zip(cells, widths, strict=True)]
        return "\n".join(map(line, zip_longest(*wrapped, fillvalue="")))

    def line(cells: Sequence[str]) -> str:
        spaces = [" " * (width - _terminal_width(cell)) for cell, width in zip(cells, widths, strict=True)]
        padded = (f"{s}{cell}" if right else f"{cell}{s}"
                  for cell, s, right in zip(cells, spaces, table.numeric, strict=True))  # fmt: skip
        return "  ".join(padded).rstrip()

    return "\n".join([lines(table.columns), *map(lines, table.rows)])


def _shown(cells: Sequence[str]) -> tuple[str, ...]:
    """Return the cells as one line each."""
    return tuple(re.sub(r"[\t\r\n]", " ", printable(cell)) for cell in cells)


def _terminal_width(text: str) -> int:
    """Return the width of a text on a terminal: Chinese, Japanese and Korean characters have width two."""
    return len(text) if text.isascii() else len(text) + sum(east_asian_width(one) in "WF" for one in text)


REASON = 30
"""Smallest width of a column of reasons: half of most reasons."""


def _reasons_below(table: Table, place: int, width: int) -> str:
    """Return a table with numbers in its column of reasons, and the reasons below."""
    reasons = dict.fromkeys(row[place] for row in table.rows if row[place] != "–")
    marks = {reason: f"({n})" for n, reason in enumerate(reasons, 1)}
    rows = tuple((*row[:place], marks.get(row[place], "–"), *row[place + 1 :]) for row in table.rows)
    notes = [f"{mark} {reason}" for reason, mark in marks.items()]
    return "\n".join([to_text(replace(table, rows=rows), width), "", *map(wrap_text, notes)])


LINE = 80
"""Characters of a line of text in a terminal; a signature, which has no spaces, is one line."""


def wrap_text(text: str) -> str:
    """Wrap sentences for a terminal; continuation lines keep the indentation."""
    found = []
    for line in printable(text).splitlines():
        indent = " " * (len(line) - len(line.lstrip()))
        kept = textwrap.wrap(line, LINE, break_long_words=False, break_on_hyphens=False, subsequent_indent=indent)
        found += kept or [""]
    return "\n".join(found)


def _wrap(cell: str, width: int) -> list[str]:
    return textwrap.wrap(cell, width, break_long_words=False) if len(cell) > width else [cell]


def _narrower(table: Table, width: int) -> list[int]:
    """Return widths of columns that fit, if words allow it: titles are wrapped first, then the widest text."""
    cells = [[row[i] for row in table.rows] for i in range(len(table.columns))]
    whole = [[*column, *_wrap(title, 1)] for title, column in zip(table.columns, cells, strict=True)]
    widths = [max(map(len, column)) for column in whole]
    texts = [not number and not any("[" in cell for cell in column)
             for number, column in zip(table.numeric, cells, strict=True)]  # fmt: skip
    words = [max(len(word) for cell in column for word in _wrap(cell, 1)) if text else most
             for column, text, most in zip(whole, texts, widths, strict=True)]  # fmt: skip
    while sum(widths) + 2 * (len(widths) - 1) > width:
        spare = [most - least for most, least in zip(widths, words, strict=True)]
        if not any(spare):
            break
        widest = max((i for i in range(len(widths)) if spare[i]), key=lambda i: widths[i])
        widths[widest] -= 1
    return widths
