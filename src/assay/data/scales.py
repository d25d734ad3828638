"""Scales: the valid labels of a question.

A scale defines which labels are valid, and whether they have an order and a distance. Its `spec` describes it in one
line that `parse_scale` reads back. `judging` parses responses with it, `collecting` builds its form from it, and the
analyses select their score or distance by it.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.errors import DataError

Label = str | int | float

LETTERS = "ABCDEFGHI"
"""Names of the texts in a ranking, which has at most this many."""

MOST_SPANS = 500
"""Largest number of spans in one answer."""

LONGEST_SPAN_TEXT = 2000
"""Characters of a text about a span."""

MOST_GRADES = 4
"""Largest number of grades on each side of a preference: nine answers, one for each digit key without zero."""


@dataclass(frozen=True)
class Scale(ABC):
    """The valid labels of a question, and the operations on them."""

    kind: ClassVar[str]
    ordered: ClassVar[bool] = False
    """Whether labels have an order."""

    @property
    def categories(self) -> tuple[Label, ...] | None:
        """Every valid label, lowest first, or None if they cannot be listed."""
        return None

    @property
    def numeric(self) -> bool:
        """Whether labels are numbers that can be subtracted and averaged."""
        return False

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Lowest and highest value; None if the scale has none."""
        return None

    @property
    @abstractmethod
    def spec(self) -> str:
        """One line that `parse_scale` converts back to this scale."""

    @abstractmethod
    def describe(self) -> str:
        """Describe a valid label in words that fit after 'the label must be'."""

    @abstractmethod
    def valid(self, labels: pl.Series) -> pl.Series:
        """Return True for each label that is on the scale; null stays null."""

    def contains(self, label: object) -> bool:
        """Whether one label is on the scale."""
        if label is None or isinstance(label, bool) or not isinstance(label, str | int | float):
            return False
        return bool(self.valid(pl.Series([label]))[0])

    def cast(self, labels: pl.Series) -> pl.Series:
        """Convert labels to the type of the scale; labels that cannot be converted become null."""
        return labels

    def read(self, label: object) -> Label | None:
        """Convert one label to the type of the scale; None if it is not on the scale."""
        if label is None or isinstance(label, bool) or not isinstance(label, str | int | float):
            return None
        cast = self.cast(pl.Series([label]))
        found: Label | None = cast[0] if self.valid(cast)[0] else None
        return found

    def word(self, label: Label) -> str:
        """Format a label for readers."""
        return str(label)

    def values(self, labels: pl.Series) -> NDArray[np.float64]:
        """Return labels as numbers in the order of the scale, for scores and coefficients."""
        if self.numeric:
            return labels.cast(pl.Float64).to_numpy().astype(np.float64)
        listed = self.categories
        if listed is None:
            raise DataError(f"labels on the scale '{self.spec}' cannot be converted to numbers")
        ranks = pl.Series(range(len(listed)), dtype=pl.Float64)
        return labels.replace_strict(pl.Series(listed), ranks, default=None).to_numpy().astype(np.float64)

    def moved(self, label: Label, to: Scale) -> Label:
        """Move a label to the same relative position on another numeric scale; other labels are unchanged."""
        if self == to or self.bounds is None or to.bounds is None or isinstance(label, str):
            return label
        (low, high), (new_low, new_high) = self.bounds, to.bounds
        value = new_low + (label - low) / (high - low) * (new_high - new_low)
        return round(value) if to.kind == "ordinal" else round(value, 2)


@dataclass(frozen=True)
class Nominal(Scale):
    """Categories without order. If none are given, every label that occurs is a category."""

    names: tuple[Label, ...] | None = None
    kind: ClassVar[str] = "nominal"

    def __init__(self, categories: Iterable[Label] | None = None) -> None:
        names = None if categories is None else tuple(categories)
        if names is not None:
            _check_categories(names, least=1)
        object.__setattr__(self, "names", names)

    @property
    def categories(self) -> tuple[Label, ...] | None:
        """The categories given."""
        return self.names

    @property
    def spec(self) -> str:
        """``nominal`` or ``nominal:yes,no``."""
        return "nominal" if self.names is None else "nominal:" + _join_names(self.names, ",")

    def describe(self) -> str:
        """The categories in words."""
        return "a category" if self.names is None else "one of " + ", ".join(map(str, self.names))

    def valid(self, labels: pl.Series) -> pl.Series:
        """Return True for labels among the categories; if these are whole numbers, text of one is valid."""
        return _member(self.cast(labels), self.names)

    def cast(self, labels: pl.Series) -> pl.Series:
        """Convert text to whole numbers if the categories are whole numbers."""
        if self.names is not None and all(isinstance(n, int) for n in self.names):
            return _whole(labels)
        return labels


@dataclass(frozen=True)
class Ordinal(Scale):
    """Ordered labels: the whole numbers ``low`` to ``high``, or named categories from lowest to highest.

    Whole-number scales are numeric, because users of such scales report means.
    """

    low: int | None = None
    high: int | None = None
    names: tuple[str, ...] | None = None
    kind: ClassVar[str] = "ordinal"
    ordered: ClassVar[bool] = True

    def __init__(self, low: int | Sequence[str], high: int | None = None) -> None:
        if isinstance(low, Sequence):
            if isinstance(low, str) or high is not None:
                raise DataError("Ordinal takes (low, high), or a list of categories from lowest to highest")
            names = tuple(str(n) for n in low)
            _check_categories(names, least=2)
            ends: tuple[int | None, int | None] = (None, None)
            named: tuple[str, ...] | None = names
        else:
            if high is None or int(low) != low or int(high) != high or not low < high:
                raise DataError(f"Ordinal requires two whole numbers, low < high; got {low!r} and {high!r}")
            ends, named = (int(low), int(high)), None
        object.__setattr__(self, "low", ends[0])
        object.__setattr__(self, "high", ends[1])
        object.__setattr__(self, "names", named)

    @property
    def categories(self) -> tuple[Label, ...]:
        """Every label, lowest first."""
        if self.names is not None:
            return self.names
        assert self.low is not None
        assert self.high is not None
        return tuple(range(self.low, self.high + 1))

    @property
    def numeric(self) -> bool:
        """True for whole-number scales."""
        return self.names is None

    @property
    def bounds(self) -> tuple[float, float]:
        """The ends; positions 0 to n − 1 for named categories."""
        if self.names is not None:
            return 0.0, float(len(self.names) - 1)
        assert self.low is not None
        assert self.high is not None
        return float(self.low), float(self.high)

    @property
    def spec(self) -> str:
        """``ordinal:1-5`` or ``ordinal:low<mid<high``."""
        if self.names is not None:
            return "ordinal:" + _join_names(self.names, "<")
        return f"ordinal:{self.low}-{self.high}"

    def describe(self) -> str:
        """Describe the scale in words."""
        if self.names is not None:
            return "one of " + ", ".join(self.names)
        return f"a whole number from {self.low} to {self.high}"

    def valid(self, labels: pl.Series) -> pl.Series:
        """Return True for labels among the categories; 4.0 is the whole number 4."""
        if self.names is not None:
            return _member(labels, self.names)
        if labels.dtype.is_integer():
            return labels.cast(pl.Int64, strict=False).is_between(self.low, self.high)
        number = _number(labels)
        return (number == number.round()) & number.is_between(*self.bounds)

    def cast(self, labels: pl.Series) -> pl.Series:
        """Convert whole numbers to integers."""
        return labels if self.names is not None else _whole(labels)


@dataclass(frozen=True)
class Interval(Scale):
    """Any number from ``low`` to ``high``, including fractions; without ends, any number."""

    low: float = -math.inf
    high: float = math.inf
    kind: ClassVar[str] = "interval"
    ordered: ClassVar[bool] = True
    numeric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise DataError(f"Interval requires low < high; got {self.low!r} and {self.high!r}")

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The ends, if both are finite."""
        return (self.low, self.high) if math.isfinite(self.low) and math.isfinite(self.high) else None

    @property
    def spec(self) -> str:
        """``interval:0-100``, ``interval:0-inf`` or ``interval``."""
        return "interval" if self == Interval() else f"interval:{plain_number(self.low)}-{plain_number(self.high)}"

    def describe(self) -> str:
        """Describe the scale in words."""
        if self.bounds:
            return f"a number from {plain_number(self.low)} to {plain_number(self.high)}"
        if math.isfinite(self.low):
            return f"a number of at least {plain_number(self.low)}"
        return f"a number of at most {plain_number(self.high)}" if math.isfinite(self.high) else "a number"

    def valid(self, labels: pl.Series) -> pl.Series:
        """Return True for finite numbers between the ends."""
        number = _number(labels)
        return number.is_finite() & number.is_between(self.low, self.high)

    def cast(self, labels: pl.Series) -> pl.Series:
        """Convert labels to numbers; integers stay integers."""
        return labels if labels.dtype.is_integer() else _number(labels)


@dataclass(frozen=True)
class Text(Scale):
    """Free text, which is compared by a similarity measure."""

    kind: ClassVar[str] = "text"
    spec: ClassVar[str] = "text"

    def describe(self) -> str:
        """Describe the scale in words."""
        return "text"

    def valid(self, labels: pl.Series) -> pl.Series:
        """Return True for any text that is not blank."""
        return labels.cast(pl.String).str.strip_chars() != ""

    def cast(self, labels: pl.Series) -> pl.Series:
        """Convert labels to text."""
        return labels.cast(pl.String)


@dataclass(frozen=True)
class Preference(Scale):
    """A choice between two: −1 the first, 1 the second, 0 no preference. Also reads the words first, second, tie.

    ``grades`` are words for the strength of the preference, from the weakest to the strongest. Labels then extend to
    −2, −3 … for the first and 2, 3 … for the second.
    """

    grades: tuple[str, ...] = ()
    kind: ClassVar[str] = "preference"
    ordered: ClassVar[bool] = True
    WORDS: ClassVar[Mapping[int, str]] = {-1: "first", 0: "tie", 1: "second"}

    def __post_init__(self) -> None:
        object.__setattr__(self, "grades", tuple(self.grades))
        if len(self.grades) == 1:
            raise DataError(
                f"a preference has either no grades or several (slightly better<much better); got {self.grades[0]!r}"
            )
        if self.grades:
            _check_categories(tuple(one.casefold() for one in self.grades), least=2)
        if len(self.grades) > MOST_GRADES:
            raise DataError(f"a preference has at most {MOST_GRADES} grades; got {len(self.grades)}")

    @property
    def categories(self) -> tuple[Label, ...]:
        """The labels, from the strongest preference for the first to the strongest for the second."""
        most = max(1, len(self.grades))
        return tuple(range(-most, most + 1))

    @property
    def bounds(self) -> tuple[float, float]:
        """The ends."""
        most = float(max(1, len(self.grades)))
        return -most, most

    @property
    def spec(self) -> str:
        """``preference`` or ``preference:slightly better<much better``."""
        return "preference" + (":" + _join_names(self.grades, "<") if self.grades else "")

    def describe(self) -> str:
        """Describe the scale in words."""
        if not self.grades:
            return "first, second or tie (−1, 1 or 0)"
        most = len(self.grades)
        return f"a whole number from {-most} ({self.word(-most)}) to {most} ({self.word(most)})"

    def valid(self, labels: pl.Series) -> pl.Series:
        """Return True for valid numbers or words."""
        return _member(self.cast(labels), self.categories, nulls=False) & labels.is_not_null()

    def cast(self, labels: pl.Series) -> pl.Series:
        """Convert words to numbers: first, tie and second to −1, 0 and 1."""
        if labels.dtype == pl.String:
            words = {self.word(number).lower(): str(number) for number in self.categories}
            labels = labels.str.strip_chars().str.to_lowercase().replace(words)
        return _whole(labels)

    def word(self, label: Label) -> str:
        """Return first, tie or second, with the grade if the scale has grades."""
        number = int(label)
        side = self.WORDS[(number > 0) - (number < 0)]
        return f"{side}: {self.grades[abs(number) - 1]}" if self.grades and number else side

    def values(self, labels: pl.Series) -> NDArray[np.float64]:
        """Return the numbers themselves."""
        return labels.cast(pl.Float64).to_numpy().astype(np.float64)


@dataclass(frozen=True)
class OddOneOut(Scale):
    """A choice of the text that does not belong to the other two: A, B or C, in the item's own order."""

    kind: ClassVar[str] = "odd-one-out"
    categories: ClassVar[tuple[Label, ...]] = ("A", "B", "C")
    spec: ClassVar[str] = "odd-one-out"

    def describe(self) -> str:
        """Describe the scale in words."""
        return "A, B or C"

    def valid(self, labels: pl.Series) -> pl.Series:
        """Return True for labels among the categories."""
        return _member(labels, self.categories)


class Listed(Scale):
    """An answer that is a list, stored as JSON text. Only questions of a study use it."""

    names: tuple[str, ...]

    @abstractmethod
    def chosen(self, label: object) -> tuple[Any, ...] | None:
        """Parse a list, its JSON, or words separated by commas; None if it is not a valid answer."""

    def read(self, label: object) -> Label | None:
        """Convert one answer to JSON."""
        found = self.chosen(label)
        return None if found is None else json.dumps(found, ensure_ascii=False, separators=(",", ":"))

    def valid(self, labels: pl.Series) -> pl.Series:
        """Return True for valid lists."""
        return pl.Series([None if one is None else self.read(one) is not None for one in labels], dtype=pl.Boolean)

    def _parse_texts(self, label: object) -> list[str] | None:
        if isinstance(label, str):
            listed = label.strip()
            try:
                label = json.loads(listed) if listed.startswith("[") else re.split(r"\s*[,>]\s*", listed)
            except json.JSONDecodeError:
                return None
        if not isinstance(label, list | tuple) or not all(isinstance(one, str) and one in self.names for one in label):
            return None
        return list(label)


@dataclass(frozen=True)
class NamedLabels(Listed):
    """A list of labels that the scale names; in a table, each is a criterion with the labels yes and no."""

    names: tuple[str, ...]
    least: ClassVar[int]
    """Smallest number of labels."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(str(name) for name in self.names))
        _check_categories(self.names, least=self.least)

    @property
    def spec(self) -> str:
        """``several:food,price``, ``spans:person,place``."""
        return f"{self.kind}:{_join_names(self.names, ',')}"


@dataclass(frozen=True)
class SeveralLabels(NamedLabels):
    """All labels that apply, possibly none."""

    kind: ClassVar[str] = "several"
    least: ClassVar[int] = 2

    def describe(self) -> str:
        """The labels in words."""
        return "all that apply of " + ", ".join(self.names)

    def chosen(self, label: object) -> tuple[str, ...] | None:
        """Return the labels that apply, in the order of the scale."""
        found = self._parse_texts(label)
        return None if found is None else tuple(name for name in self.names if name in found)


@dataclass(frozen=True)
class RankedTexts(Listed):
    """A ranking of all texts by their letters, the best first; in a table, each pair of texts is a vote."""

    size: int
    kind: ClassVar[str] = "ranking"

    def __post_init__(self) -> None:
        if not 3 <= self.size <= len(LETTERS):
            raise DataError(
                f"a ranking requires 3 to {len(LETTERS)} texts, one column of options each; got {self.size}"
                + (" (for two, use a preference)" if self.size == 2 else "")
            )

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The letters, in the order in which an item lists its texts."""
        return tuple(LETTERS[: self.size])

    @property
    def spec(self) -> str:
        """``ranking:4``."""
        return f"ranking:{self.size}"

    def describe(self) -> str:
        """The letters in words."""
        return f"all of {', '.join(self.names)}, the best first"

    def chosen(self, label: object) -> tuple[str, ...] | None:
        """Return the letters, the best first; None unless each occurs once."""
        found = self._parse_texts(label)
        return None if found is None or sorted(found) != list(self.names) else tuple(found)


@dataclass(frozen=True)
class SpanLabels(NamedLabels):
    """Spans of an item's text, each with a label: ``[[0, 5, "person"]]``, from and up to a character, counted from 0.

    Spans of one label do not overlap; those of different labels can. In a table, every word is an item. A span can have
    a text about it: ``[[0, 5, "person", "the narrator"]]``.
    """

    kind: ClassVar[str] = "spans"
    least: ClassVar[int] = 1

    def describe(self) -> str:
        """The labels in words."""
        return "spans of the text, each labelled as one of " + ", ".join(self.names)

    def chosen(self, label: object) -> tuple[tuple[int, int, str], ...] | None:
        """The spans, (start, end, label), in the order of the text."""
        found = self.with_texts(label)
        return None if found is None else tuple((a, b, name) for a, b, name, _ in found)

    def read(self, label: object) -> Label | None:
        """Convert one answer to JSON; a span without a text about it has three parts."""
        found = self.with_texts(label)
        spans = None if found is None else [one if one[3] else one[:3] for one in found]
        return None if spans is None else json.dumps(spans, ensure_ascii=False, separators=(",", ":"))

    def with_texts(self, label: object) -> tuple[tuple[int, int, str, str], ...] | None:
        """The spans, (start, end, label, text about it), in the order of the text; the text is empty without one."""
        if isinstance(label, str):
            try:
                label = json.loads(label)
            except json.JSONDecodeError:
                return None
        if not isinstance(label, list | tuple) or len(label) > MOST_SPANS or not all(map(self._is_span, label)):
            return None
        place = {name: k for k, name in enumerate(self.names)}
        texts = ((a, b, name, about[0].strip() if about else "") for a, b, name, *about in label)
        spans = sorted(texts, key=lambda one: (one[0], one[1], place[one[2]]))
        for name in self.names:
            own = [one for one in spans if one[2] == name]
            if any(one[1] > following[0] for one, following in pairwise(own)):
                return None
        return tuple(spans)

    def _is_span(self, one: object) -> bool:
        if not isinstance(one, list | tuple) or len(one) not in (3, 4) or one[2] not in self.names:
            return False
        if len(one) == 4 and not (isinstance(one[3], str) and len(one[3]) <= LONGEST_SPAN_TEXT):
            return False
        return type(one[0]) is int and type(one[1]) is int and 0 <= one[0] < one[1]


# Scripts that are written without spaces between words: Thai to Lao, Burmese, Khmer, kana, Han.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_WORD = re.compile("w[wm]*(?:'w[wm]*)*|cm*|s[sm]*")


@lru_cache(maxsize=4096)
def _sign_kind(sign: str) -> str:
    """The kind of a character: in a word, a mark on the previous one, a single word, a symbol, an apostrophe, other."""
    kind = unicodedata.category(sign)[0]
    if kind == "M" or sign == "\u200d":  # joins emoji
        return "m"
    if kind in "LN":
        return "c" if _UNSPACED.match(sign) else "w"
    return "s" if kind == "S" else "'" if sign in "'’" else "-"


@lru_cache(maxsize=10_000)
def words_of(text: str) -> tuple[tuple[int, int], ...]:
    """Return the start and end of each word of a text, in characters: the units in which spans are marked and compared.

    A word is a run of letters and digits, with apostrophes within it; a run of symbols; or one character of a script
    without spaces. Punctuation belongs to no word.
    """
    return tuple(found.span() for found in _WORD.finditer("".join(map(_sign_kind, text))))


def scale_of(spec: Scale | str | int | Sequence[Label]) -> Scale:
    """Parse a scale in any usual form: ``"1-5"``, ``(1, 5)``, ``[1, 2, 3, 4, 5]``, ``5`` for 1 to 5, ``(0.0, 1.0)``.

    Raises
    ------
    DataError
        If the value is not a scale, or ambiguous: a list of words can be ordered or unordered.
    """
    found = parse_scale(spec) if isinstance(spec, str) else spec
    if isinstance(found, SeveralLabels):
        raise DataError(
            f"'{found.spec}' is only for the questions of a study; a table requires one criterion per label, answered "
            "yes or no: convert it, and read it with scale='nominal:no,yes'"
        )
    if isinstance(found, SpanLabels):
        raise DataError(
            f"'{found.spec}' is only for the questions of a study; a table requires one item per word and one "
            "criterion per label, answered yes or no: convert it, and read it with scale='nominal:no,yes'"
        )
    if isinstance(found, RankedTexts):
        raise DataError(
            f"'{found.spec}' is only for the questions of a study; a table requires one vote per pair of texts, in the "
            "columns first, second and label: convert it, and read it with scale='preference'"
        )
    if isinstance(found, Scale):
        return found
    if isinstance(spec, int) and not isinstance(spec, bool):
        return Ordinal(1, spec)
    values = list(spec) if isinstance(spec, Sequence) else []
    if values and all(isinstance(v, str) for v in values):
        words = [str(v) for v in values]
        raise DataError(
            f"scale {words} can be ordered or not; set scale='ordinal:{_join_names(words, '<')}' or "
            f"scale='nominal:{_join_names(words, ',')}'"
        )
    numbers = [float(v) for v in values if isinstance(v, int | float)]
    if len(numbers) < 2 or len(numbers) < len(values):
        raise DataError(f"{spec!r} is not a scale; write (1, 5), '1-5' or 'interval:0-100'")
    steps = [b - a for a, b in pairwise(numbers)]
    whole = all(isinstance(v, int) for v in values)
    if len(numbers) == 2 and numbers[0] < numbers[1]:
        return Ordinal(int(numbers[0]), int(numbers[1])) if whole else Interval(*numbers)
    if whole and all(step == 1 for step in steps):
        return Ordinal(int(numbers[0]), int(numbers[-1]))
    raise DataError(
        f"scale {values} does not have steps of 1; set scale='interval:{plain_number(min(numbers))}-"
        f"{plain_number(max(numbers))}' if distances matter, or scale='nominal:{_join_names(values, ',')}'"
    )


def parse_scale(spec: str) -> Scale:
    """Parse the one-line description of a scale.

    ``1-5`` or ``ordinal:1-5`` (whole numbers), ``interval:0-100`` or ``interval:0-1`` (fractions too),
    ``ordinal:bad<fair<good``, ``nominal:yes,no`` or ``nominal``, ``text``, ``preference``,
    ``preference:slightly better<much better`` (grades, from the least to the most), ``odd-one-out``,
    ``several:food,price`` (all that apply), ``ranking:4`` (of four texts),
    ``spans:person,place`` (of a text). Categories that contain a comma or a ``<``
    are written as a JSON list: ``nominal:["yes, really", "no"]``.
    """
    head, _, rest = spec.strip().partition(":")
    head, rest = head.strip().lower(), rest.strip()
    number = r"(-?(?:inf|(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?))"
    ends = re.fullmatch(rf"{number}\s*(?:-|–|\.\.)\s*{number}", rest or spec.strip())
    if ends and (not rest or head in ("ordinal", "interval")):
        try:
            return (
                Interval(float(ends[1]), float(ends[2])) if head == "interval" else Ordinal(int(ends[1]), int(ends[2]))
            )
        except ValueError:
            raise DataError(
                f"scale '{spec}' has ends that are not whole numbers; write interval:{ends[1]}-{ends[2]}"
            ) from None
    if head in ("nominal", "ordinal") and rest.startswith("["):
        listed = _parse_list(spec, rest)
        return Ordinal([str(name) for name in listed]) if head == "ordinal" else Nominal(listed)
    if head == "ranking" and rest.isdecimal():
        return RankedTexts(int(rest))
    if head in ("several", "spans") and rest:
        labels = _parse_list(spec, rest) if rest.startswith("[") else [part.strip() for part in rest.split(",")]
        return (SeveralLabels if head == "several" else SpanLabels)(tuple(map(str, labels)))
    if head == "preference" and rest:
        grades = _parse_list(spec, rest) if rest.startswith("[") else [part.strip() for part in rest.split("<")]
        return Preference(tuple(map(str, grades)))
    if head == "ordinal" and "<" in rest:
        return Ordinal([part.strip() for part in rest.split("<")])
    if head == "nominal":
        names = [part.strip() for part in rest.split(",")]
        whole = all(re.fullmatch(r"0|-?[1-9]\d*", name) for name in names)
        return Nominal([int(name) for name in names] if whole else names) if rest else Nominal()
    plain: dict[str, Scale] = {
        "interval": Interval(),
        "text": Text(),
        "preference": Preference(),
        "odd-one-out": OddOneOut(),
    }
    if head in plain and not rest:
        return plain[head]
    raise DataError(
        f"'{spec}' is not a scale; write 1-5, interval:0-100, ordinal:low<mid<high, nominal:yes,no, "
        "several:food,price, spans:person,place, text, preference or odd-one-out"
    )


def _parse_list(spec: str, rest: str) -> list[Label]:
    try:
        names = json.loads(rest)
    except json.JSONDecodeError as error:
        raise DataError(f"scale '{spec}' does not contain a JSON list of categories ({error.msg})") from None
    if not all(isinstance(name, str | int | float) for name in names):
        raise DataError(f"scale '{spec}': each category must be text or a number")
    return list(names)


def _join_names(names: Sequence[Label], separator: str) -> str:
    """Join categories so that `parse_scale` can read them: as plain text if possible, otherwise as a JSON list."""
    plain = separator.join(map(str, names))
    read = [part.strip() for part in plain.split(separator)]
    whole = all(isinstance(name, int) for name in names)
    digits = all(re.fullmatch(r"0|-?[1-9]\d*", name) for name in read)
    texts = all(isinstance(name, str) for name in names)
    safe = read == [str(name) for name in names] and not plain.startswith("[")
    if safe and (whole or (texts and not (digits and separator == ","))):
        return plain
    return json.dumps(list(names), ensure_ascii=False)


def plain_number(number: float) -> str:
    """Return a number with all its digits, whole numbers without a point."""
    return str(int(number)) if math.isfinite(number) and number == int(number) else repr(float(number))


def _check_categories(names: tuple[Label, ...], least: int) -> None:
    if len(names) < least:
        raise DataError(f"a scale of categories requires at least {least}; got {len(names)}")
    if len(set(names)) != len(names):
        raise DataError(f"a category appears twice in {list(names)}")
    if any(isinstance(name, str) and not name.strip() for name in names):
        raise DataError(f"a category cannot be empty; got {list(names)}")


def _member(labels: pl.Series, names: Sequence[Label] | None, nulls: bool = True) -> pl.Series:
    if names is None:
        return pl.select(pl.when(labels.is_not_null()).then(True)).to_series()
    if labels.dtype == pl.String or all(isinstance(n, str) for n in names):
        # 1 is not "1": a text label never equals a number and a number never a text.
        texts = [n for n in names if isinstance(n, str)]
        if labels.dtype == pl.String:
            return labels.is_in(texts)
        return pl.select(pl.when(labels.is_not_null()).then(False)).to_series()
    numbers = [float(n) for n in names if not isinstance(n, str)]
    inside = labels.cast(pl.Float64, strict=False).is_in(numbers)
    return inside if nulls else inside.fill_null(False)


def _number(labels: pl.Series) -> pl.Series:
    if labels.dtype == pl.String:
        labels = labels.str.strip_chars()
    return labels.cast(pl.Float64, strict=False)


def _whole(labels: pl.Series) -> pl.Series:
    if labels.dtype.is_integer():
        return labels
    number = _number(labels)
    whole = pl.select(pl.when(number == number.round()).then(number)).to_series()
    return whole.cast(pl.Int64, strict=False)


_END = r"(-?(?:\d+(?:\.\d+)?|\.\d+))"
_RANGE = re.compile(rf"\s*(?:(?:interval|ordinal)\s*:\s*)?{_END}\s*(?:-|–|to|\.\.)\s*{_END}\s*")


def range_of(name: str) -> tuple[float, float] | None:
    """Return the ends that the name of a scale states: "0-10", "1 to 5", "interval:0-100"; None if it states none."""
    found = _RANGE.fullmatch(name)
    return None if found is None else (float(found[1]), float(found[2]))


def scale_named(name: str) -> Scale | None:
    """Return the numeric scale that a name states, as `range_of`; None if it states none."""
    ends = range_of(name)
    if ends is None or not ends[0] < ends[1]:
        return None
    head, _, rest = name.rpartition(":")
    try:
        return parse_scale(name if head else re.sub(r"\s*(?:–|to|\.\.)\s*", "-", rest.strip()))
    except DataError:
        return Interval(*ends)
