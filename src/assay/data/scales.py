"""What a label may be: the scale an answer was given on.

A scale says which labels are valid, whether they have an order and a distance, and how to name
itself in one line (`spec`) that `parse_scale` reads back. `judging` reads replies by it,
`collecting` draws its form from it, the questions pick their score or distance by it.
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
"""What texts to rank are called; nobody ranks more of them."""

MOST_SPANS = 500
"""Of one answer."""

MOST_GRADES = 4
"""Of a preference on each side: nine answers, as many as there are digits on a keyboard."""


@dataclass(frozen=True)
class Scale(ABC):
    """The labels that are valid, and what may be done with them."""

    kind: ClassVar[str]
    ordered: ClassVar[bool] = False
    """Whether more and less mean something."""

    @property
    def categories(self) -> tuple[Label, ...] | None:
        """Every valid label, lowest first, or None where they cannot be listed."""
        return None

    @property
    def numeric(self) -> bool:
        """Whether labels are numbers that may be subtracted and averaged."""
        return False

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Lowest and highest value, where the scale has them."""
        return None

    @property
    @abstractmethod
    def spec(self) -> str:
        """One line that `parse_scale` turns back into this scale."""

    @abstractmethod
    def describe(self) -> str:
        """What a valid label is, in words that fit after 'the label must be'."""

    @abstractmethod
    def valid(self, labels: pl.Series) -> pl.Series:
        """True for each label that is on the scale; null stays null."""

    def contains(self, label: object) -> bool:
        """Whether one label is on the scale."""
        if label is None or isinstance(label, bool) or not isinstance(label, str | int | float):
            return False
        return bool(self.valid(pl.Series([label]))[0])

    def cast(self, labels: pl.Series) -> pl.Series:
        """Labels in the type the scale speaks of; what cannot be cast becomes null."""
        return labels

    def read(self, label: object) -> Label | None:
        """One label in the type the scale speaks of; None where it is not on the scale."""
        if label is None or isinstance(label, bool) or not isinstance(label, str | int | float):
            return None
        cast = self.cast(pl.Series([label]))
        found: Label | None = cast[0] if self.valid(cast)[0] else None
        return found

    def word(self, label: Label) -> str:
        """A label as a reader wants it."""
        return str(label)

    def values(self, labels: pl.Series) -> NDArray[np.float64]:
        """Labels as numbers that keep the scale's order, for scores and coefficients."""
        if self.numeric:
            return labels.cast(pl.Float64).to_numpy().astype(np.float64)
        listed = self.categories
        if listed is None:
            raise DataError(f"labels on the scale '{self.spec}' have no numbers")
        ranks = pl.Series(range(len(listed)), dtype=pl.Float64)
        return labels.replace_strict(pl.Series(listed), ranks, default=None).to_numpy().astype(np.float64)

    def moved(self, label: Label, to: Scale) -> Label:
        """A label on another scale of numbers, at the same place between the ends; as it is where there are none."""
        if self == to or self.bounds is None or to.bounds is None or isinstance(label, str):
            return label
        (low, high), (new_low, new_high) = self.bounds, to.bounds
        value = new_low + (label - low) / (high - low) * (new_high - new_low)
        return round(value) if to.kind == "ordinal" else round(value, 2)


@dataclass(frozen=True)
class Nominal(Scale):
    """Categories without order. With none given, every label seen counts as one."""

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
        """Membership in the categories; where they are whole numbers, text that is one counts as one."""
        return _member(self.cast(labels), self.names)

    def cast(self, labels: pl.Series) -> pl.Series:
        """Text to whole numbers where the categories are whole numbers."""
        if self.names is not None and all(isinstance(n, int) for n in self.names):
            return _whole(labels)
        return labels


@dataclass(frozen=True)
class Ordinal(Scale):
    """Ordered labels: the whole numbers ``low`` to ``high``, or named categories from lowest to highest.

    Whole-number scales count as numeric: a mean of stars is what users of such scales report.
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
                raise DataError(f"Ordinal needs two whole numbers, low < high; got {low!r} and {high!r}")
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
        """The scale in words."""
        if self.names is not None:
            return "one of " + ", ".join(self.names)
        return f"a whole number from {self.low} to {self.high}"

    def valid(self, labels: pl.Series) -> pl.Series:
        """Membership; 4.0 is the whole number 4."""
        if self.names is not None:
            return _member(labels, self.names)
        if labels.dtype.is_integer():
            return labels.cast(pl.Int64, strict=False).is_between(self.low, self.high)
        number = _number(labels)
        return (number == number.round()) & number.is_between(*self.bounds)

    def cast(self, labels: pl.Series) -> pl.Series:
        """Whole numbers as integers."""
        return labels if self.names is not None else _whole(labels)


@dataclass(frozen=True)
class Interval(Scale):
    """Any number from ``low`` to ``high``, fractions included; without ends, any number at all."""

    low: float = -math.inf
    high: float = math.inf
    kind: ClassVar[str] = "interval"
    ordered: ClassVar[bool] = True
    numeric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise DataError(f"Interval needs low < high; got {self.low!r} and {self.high!r}")

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The ends, where both are finite."""
        return (self.low, self.high) if math.isfinite(self.low) and math.isfinite(self.high) else None

    @property
    def spec(self) -> str:
        """``interval:0-100``, ``interval:0-inf`` or ``interval``."""
        return "interval" if self == Interval() else f"interval:{plain_number(self.low)}-{plain_number(self.high)}"

    def describe(self) -> str:
        """The scale in words."""
        if self.bounds:
            return f"a number from {plain_number(self.low)} to {plain_number(self.high)}"
        if math.isfinite(self.low):
            return f"a number of at least {plain_number(self.low)}"
        return f"a number of at most {plain_number(self.high)}" if math.isfinite(self.high) else "a number"

    def valid(self, labels: pl.Series) -> pl.Series:
        """Finite and between the ends."""
        number = _number(labels)
        return number.is_finite() & number.is_between(self.low, self.high)

    def cast(self, labels: pl.Series) -> pl.Series:
        """Numbers; whole ones stay whole."""
        return labels if labels.dtype.is_integer() else _number(labels)


@dataclass(frozen=True)
class Text(Scale):
    """Free text: compared by a similarity, never counted."""

    kind: ClassVar[str] = "text"
    spec: ClassVar[str] = "text"

    def describe(self) -> str:
        """The scale in words."""
        return "text"

    def valid(self, labels: pl.Series) -> pl.Series:
        """Any text that is not blank."""
        return labels.cast(pl.String).str.strip_chars() != ""

    def cast(self, labels: pl.Series) -> pl.Series:
        """Text."""
        return labels.cast(pl.String)


@dataclass(frozen=True)
class Preference(Scale):
    """Which of two: −1 the first, 1 the second, 0 no preference. Reads the words first, second, tie.

    With ``grades``, words for how much better from the least to the most, labels go to −2, −3 … for the first and 2,
    3 … for the second.
    """

    grades: tuple[str, ...] = ()
    kind: ClassVar[str] = "preference"
    ordered: ClassVar[bool] = True
    WORDS: ClassVar[Mapping[int, str]] = {-1: "first", 0: "tie", 1: "second"}

    def __post_init__(self) -> None:
        object.__setattr__(self, "grades", tuple(self.grades))
        if len(self.grades) == 1:
            raise DataError(
                f"a preference has no grade or several (slightly better<much better); got {self.grades[0]!r}"
            )
        if self.grades:
            _check_categories(tuple(one.casefold() for one in self.grades), least=2)
        if len(self.grades) > MOST_GRADES:
            raise DataError(f"a preference has at most {MOST_GRADES} grades; got {len(self.grades)}")

    @property
    def categories(self) -> tuple[Label, ...]:
        """From the first by far to the second by far."""
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
        """The scale in words."""
        if not self.grades:
            return "first, second or tie (−1, 1 or 0)"
        most = len(self.grades)
        return f"a whole number from {-most} ({self.word(-most)}) to {most} ({self.word(most)})"

    def valid(self, labels: pl.Series) -> pl.Series:
        """Membership, as number or word."""
        return _member(self.cast(labels), self.categories, nulls=False) & labels.is_not_null()

    def cast(self, labels: pl.Series) -> pl.Series:
        """Words to numbers: first, tie and second to −1, 0 and 1."""
        if labels.dtype == pl.String:
            words = {self.word(number).lower(): str(number) for number in self.categories}
            labels = labels.str.strip_chars().str.to_lowercase().replace(words)
        return _whole(labels)

    def word(self, label: Label) -> str:
        """First, tie or second; with its grade where there are grades."""
        number = int(label)
        side = self.WORDS[(number > 0) - (number < 0)]
        return f"{side}: {self.grades[abs(number) - 1]}" if self.grades and number else side

    def values(self, labels: pl.Series) -> NDArray[np.float64]:
        """The numbers themselves."""
        return labels.cast(pl.Float64).to_numpy().astype(np.float64)


@dataclass(frozen=True)
class OddOneOut(Scale):
    """Which of three does not belong: A, B or C, in the order in which the item lists its three."""

    kind: ClassVar[str] = "odd-one-out"
    categories: ClassVar[tuple[Label, ...]] = ("A", "B", "C")
    spec: ClassVar[str] = "odd-one-out"

    def describe(self) -> str:
        """The scale in words."""
        return "A, B or C"

    def valid(self, labels: pl.Series) -> pl.Series:
        """Membership."""
        return _member(labels, self.categories)


class Listed(Scale):
    """An answer that is a list, of names or with them, as JSON text. Only questions of a study are asked so."""

    names: tuple[str, ...]

    @abstractmethod
    def chosen(self, label: object) -> tuple[Any, ...] | None:
        """What a list, its JSON, or words with commas give; None where these are no answer."""

    def read(self, label: object) -> Label | None:
        """One answer as JSON."""
        found = self.chosen(label)
        return None if found is None else json.dumps(found, ensure_ascii=False, separators=(",", ":"))

    def valid(self, labels: pl.Series) -> pl.Series:
        """Whether each is such a list."""
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
    """A list of labels that the scale names; in a table each is a criterion, answered yes or no."""

    names: tuple[str, ...]
    least: ClassVar[int]
    """How many labels there are at least."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(str(name) for name in self.names))
        _check_categories(self.names, least=self.least)

    @property
    def spec(self) -> str:
        """``several:food,price``, ``spans:person,place``."""
        return f"{self.kind}:{_join_names(self.names, ',')}"


@dataclass(frozen=True)
class SeveralLabels(NamedLabels):
    """Which of some labels apply, none or many."""

    kind: ClassVar[str] = "several"
    least: ClassVar[int] = 2

    def describe(self) -> str:
        """The labels in words."""
        return "all that apply of " + ", ".join(self.names)

    def chosen(self, label: object) -> tuple[str, ...] | None:
        """The labels that apply, in the order of the scale."""
        found = self._parse_texts(label)
        return None if found is None else tuple(name for name in self.names if name in found)


@dataclass(frozen=True)
class RankedTexts(Listed):
    """All of some texts by their letters, the best first. In a table every two of them are a vote."""

    size: int
    kind: ClassVar[str] = "ranking"

    def __post_init__(self) -> None:
        if not 3 <= self.size <= len(LETTERS):
            raise DataError(
                f"a ranking is of 3 to {len(LETTERS)} texts, each a column of options; got {self.size}"
                + (" (of two, ask for a preference)" if self.size == 2 else "")
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
        """The letters, the best first; None unless each is there once."""
        found = self._parse_texts(label)
        return None if found is None or sorted(found) != list(self.names) else tuple(found)


@dataclass(frozen=True)
class SpanLabels(NamedLabels):
    """Spans of an item's text, each with a label: ``[[0, 5, "person"]]``, from and up to a character, counted from 0.

    Spans of one label do not overlap; those of different labels may. In a table every word is an item.
    """

    kind: ClassVar[str] = "spans"
    least: ClassVar[int] = 1

    def describe(self) -> str:
        """The labels in words."""
        return "spans of the text, each labelled as one of " + ", ".join(self.names)

    def chosen(self, label: object) -> tuple[tuple[int, int, str], ...] | None:
        """The spans, (start, end, label), in the order of the text."""
        if isinstance(label, str):
            try:
                label = json.loads(label)
            except json.JSONDecodeError:
                return None
        if not isinstance(label, list | tuple) or len(label) > MOST_SPANS or not all(map(self._is_span, label)):
            return None
        place = {name: k for k, name in enumerate(self.names)}
        spans = sorted(((a, b, name) for a, b, name in label), key=lambda one: (one[0], one[1], place[one[2]]))
        for name in self.names:
            own = [one for one in spans if one[2] == name]
            if any(one[1] > following[0] for one, following in pairwise(own)):
                return None
        return tuple(spans)

    def _is_span(self, one: object) -> bool:
        if not isinstance(one, list | tuple) or len(one) != 3 or one[2] not in self.names:
            return False
        return type(one[0]) is int and type(one[1]) is int and 0 <= one[0] < one[1]


# Scripts that are written without spaces between words: Thai to Lao, Burmese, Khmer, kana, Han.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_WORD = re.compile("w[wm]*(?:'w[wm]*)*|cm*|s[sm]*")


@lru_cache(maxsize=4096)
def _sign_kind(sign: str) -> str:
    """Of a word, a mark on the sign before it, a word by itself, a symbol, an apostrophe, or none of these."""
    kind = unicodedata.category(sign)[0]
    if kind == "M" or sign == "\u200d":  # joins emoji
        return "m"
    if kind in "LN":
        return "c" if _UNSPACED.match(sign) else "w"
    return "s" if kind == "S" else "'" if sign in "'’" else "-"


@lru_cache(maxsize=10_000)
def words_of(text: str) -> tuple[tuple[int, int], ...]:
    """Where the words of a text begin and end, in characters: the units by which spans are marked and compared.

    A word is a run of letters and digits, with apostrophes within it; a run of symbols; or one character of a script
    without spaces. Punctuation belongs to no word.
    """
    return tuple(found.span() for found in _WORD.finditer("".join(map(_sign_kind, text))))


def scale_of(said: Scale | str | int | Sequence[Label]) -> Scale:
    """A scale as people say it: ``"1-5"``, ``(1, 5)``, ``[1, 2, 3, 4, 5]``, ``5`` for 1 to 5, ``(0.0, 1.0)``.

    Raises
    ------
    DataError
        For what says no scale, or two: a list of words has an order or not.
    """
    found = parse_scale(said) if isinstance(said, str) else said
    if isinstance(found, SeveralLabels):
        raise DataError(
            f"'{found.spec}' is for the questions of a study; a table has a criterion for each label, answered yes or "
            "no: make it so, and read it with scale='nominal:no,yes'"
        )
    if isinstance(found, SpanLabels):
        raise DataError(
            f"'{found.spec}' is for the questions of a study; a table has an item for each word and a criterion for "
            "each label, answered yes or no: make it so, and read it with scale='nominal:no,yes'"
        )
    if isinstance(found, RankedTexts):
        raise DataError(
            f"'{found.spec}' is for the questions of a study; a table has a vote for every two texts, in the columns "
            "first, second and label: make it so, and read it with scale='preference'"
        )
    if isinstance(found, Scale):
        return found
    if isinstance(said, int) and not isinstance(said, bool):
        return Ordinal(1, said)
    values = list(said) if isinstance(said, Sequence) else []
    if values and all(isinstance(v, str) for v in values):
        words = [str(v) for v in values]
        raise DataError(
            f"scale {words} may have an order or not; say scale='ordinal:{_join_names(words, '<')}' or "
            f"scale='nominal:{_join_names(words, ',')}'"
        )
    numbers = [float(v) for v in values if isinstance(v, int | float)]
    if len(numbers) < 2 or len(numbers) < len(values):
        raise DataError(f"scale {said!r} says no scale; write (1, 5), '1-5' or 'interval:0-100'")
    steps = [b - a for a, b in pairwise(numbers)]
    whole = all(isinstance(v, int) for v in values)
    if len(numbers) == 2 and numbers[0] < numbers[1]:
        return Ordinal(int(numbers[0]), int(numbers[1])) if whole else Interval(*numbers)
    if whole and all(step == 1 for step in steps):
        return Ordinal(int(numbers[0]), int(numbers[-1]))
    raise DataError(
        f"scale {values} has steps of its own; say scale='interval:{plain_number(min(numbers))}-"
        f"{plain_number(max(numbers))}' where distances count, or scale='nominal:{_join_names(values, ',')}'"
    )


def parse_scale(spec: str) -> Scale:
    """Read a scale from one line.

    ``1-5`` or ``ordinal:1-5`` (whole numbers), ``interval:0-100`` or ``interval:0-1`` (fractions too),
    ``ordinal:bad<fair<good``, ``nominal:yes,no`` or ``nominal``, ``text``, ``preference``,
    ``preference:slightly better<much better`` (grades, from the least to the most), ``odd-one-out``,
    ``several:food,price`` (all that apply), ``ranking:4`` (of four texts),
    ``spans:person,place`` (of a text). Categories that hold a comma or a ``<``
    stand in a JSON list: ``nominal:["yes, really", "no"]``.
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
        raise DataError(f"scale '{spec}' holds no JSON list of categories ({error.msg})") from None
    if not all(isinstance(name, str | int | float) for name in names):
        raise DataError(f"scale '{spec}': a category is text or a number")
    return list(names)


def _join_names(names: Sequence[Label], separator: str) -> str:
    """Categories in a line that `parse_scale` reads back: plain where it can be, else as a JSON list."""
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
    """A number with all its digits, whole ones without a point."""
    return str(int(number)) if math.isfinite(number) and number == int(number) else repr(float(number))


def _check_categories(names: tuple[Label, ...], least: int) -> None:
    if len(names) < least:
        raise DataError(f"a scale of categories needs at least {least}; got {len(names)}")
    if len(set(names)) != len(names):
        raise DataError(f"a category appears twice in {list(names)}")
    if any(isinstance(name, str) and not name.strip() for name in names):
        raise DataError(f"a category may not be empty; got {list(names)}")


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
_RANGE = re.compile(rf"\s*{_END}\s*(?:-|–|to|\.\.)\s*{_END}\s*")


def range_of(name: str) -> tuple[float, float] | None:
    """The ends that the name of a scale says, as "0-10" or "1 to 5" do; None where it says none."""
    found = _RANGE.fullmatch(name)
    return None if found is None else (float(found[1]), float(found[2]))
