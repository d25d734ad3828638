"""The options of a question, each stated once.

A question's options are the fields of one frozen dataclass that inherits `Settings`. A field's type says which values
it accepts, `option` gives its default, its range and its help. From both come the check at run time,
the words of a refusal, what ``help()`` and editors show (`question` gives the function its parameters), the command
line's options (`assay.cli`), the docs and the signature of a result (`assay.estimation.result.Run`). Type checkers get
them through the parameters of the settings' constructor, so ``alt_test(labels, judge, epsilonn=.1)`` is an error there.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import hashlib
import inspect
import math
import re
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Literal, ParamSpec, Self, TypeVar

import numpy as np

from assay.errors import DataError, DesignError, listing, unknown, unknown_judge
from assay.estimation import table_reader

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Method = Literal["percentile", "bca", "jackknife", "none"]
Adjustment = Literal["by", "bh", "holm", "none"]
Raters = Literal["fixed", "random"]
"""Whether annotators are fixed or a random sample of annotators."""
T = TypeVar("T")
P = ParamSpec("P")
S = TypeVar("S", bound="Settings")
A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")

LEAST_RESAMPLES = 20
"""Fewer bootstrap resamples say nothing of a tail."""


@dataclass(frozen=True)
class Limits:
    """The limits and texts of an option, in addition to its type.

    Attributes
    ----------
    help : str
        One line for people at a command line.
    low, high : float or None
        The range of a number.
    low_open, high_open : bool
        Whether the ends themselves are refused.
    key : str or None
        Its name in a signature, if it differs; empty if the signature never contains it.
    always : bool
        Whether a signature names it even at its default.
    hidden : bool
        Whether the command line does not offer it.
    details : str
        What ``help()`` and the docs say after the one line.
    transient : bool
        Whether it decides nothing, such as a progress bar: no signature and no ``to_dict`` holds it.
    first : bool
        Whether the short help of a command shows it: one of the few that most people need.
    """

    help: str = ""
    low: float | None = None
    high: float | None = None
    low_open: bool = False
    high_open: bool = False
    key: str | None = None
    always: bool = False
    hidden: bool = False
    details: str = ""
    transient: bool = False
    first: bool = False


def option(
    default: T,
    help: str = "",  # noqa: A002 - its name in command-line interfaces
    *,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    below: float | None = None,
    key: str | None = None,
    always: bool = False,
    hidden: bool = False,
    details: str = "",
    transient: bool = False,
    first: bool = False,
) -> T:
    """A field of `Settings`: its default, its help, the range of a number (``above`` and ``below`` refuse the ends)."""
    lowest, highest = above if low is None else low, below if high is None else high
    limits = Limits(
        help, lowest, highest, above is not None, below is not None, key, always, hidden or transient, details,
        transient, first,
    )  # fmt: skip
    return dataclasses.field(default=default, metadata={"option": limits})


def level_option(help: str = "Confidence level of the intervals.", details: str = "") -> float:  # noqa: A002 - see `option`
    """The field ``confidence`` of a question that makes intervals."""
    return option(0.95, help, above=0, below=1, key="level", details=details)


def seed_option(help: str = "Random seed.", *, always: bool = False) -> int:  # noqa: A002 - see `option`
    """The field ``seed`` of a question in which chance takes part."""
    return option(0, help, low=0, always=always)


@dataclass(frozen=True)
class Settings:
    """Everything that decides a question's numbers besides the labels; a subclass has one field an option.

    Subclasses are ``@dataclass(frozen=True, kw_only=True)``; a positional option is a field of a subclass that is
    ``@dataclass(frozen=True)``. An option without a default is ``name: Annotated[str, Limits("One line of help.")]``.
    """

    renamed: ClassVar[Mapping[str, str]] = {}
    """Words of before, refused with the word of today."""

    @classmethod
    def of(cls, options: Mapping[str, Any], question: str | None = None) -> Self:
        """Settings from keyword options; an unknown one is refused with its nearest."""
        key = (cls, *((name, type(value), value) for name, value in options.items()))
        simple = all(type(value) in _SIMPLE for value in options.values())
        if simple and key in _MADE:
            return _MADE[key]  # type: ignore[return-value]
        known = [f.name for f in dataclasses.fields(cls)]
        where = "the options" if question is None else f"the options of {question}"
        for name in options:
            if name in cls.renamed:
                raise DesignError(f"{name}=... is now {cls.renamed[name]}", option=name)
            if name not in known:
                guess = next((one for one in GUESSES.get(name, ()) if one in known), None)
                if guess is not None:
                    raise DesignError(f"option '{name}' is not in {where}; did you mean '{guess}'?", option=name)
                raise DesignError(unknown("option", name, known, where, NEAR_OPTION), option=name)
        made = cls(**options)
        if simple:
            # Nothing can change simple values later, so a thousand tests check theirs once.
            if len(_MADE) >= 256:
                _MADE.clear()
            _MADE[key] = made
        return made

    def __post_init__(self) -> None:
        for name, hint, limits, default in _fields(type(self)):
            value = getattr(self, name)
            if isinstance(value, list):
                object.__setattr__(self, name, value := tuple(value))
            if not (value is default or (type(value) is type(default) and value == default)):
                check(name, value, hint, limits)

    def of_table(self, labels: Any) -> Self:
        """Return the same with the clusters that the study of these labels declares, if others are not given.

        A study's document groups dependent items, so that every question resamples documents. ``clusters="none"`` is
        without clusters.
        """
        reading: Any = getattr(labels, "reading", None)
        items: Any = getattr(labels, "items", None)
        given = getattr(self, "clusters", "")
        if reading is None or not hasattr(items, "columns") or given not in (None, "none"):
            return self
        if given == "none":
            return self if "none" in items.columns else dataclasses.replace(self, clusters=None)  # type: ignore[call-arg]
        column = reading.clusters
        if column not in items.columns or items[column].null_count() or not 1 < items[column].n_unique() < items.height:
            return self
        return dataclasses.replace(self, clusters=column)  # type: ignore[call-arg]

    def changed(self) -> dict[str, Any]:
        """The options that are not at their default."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if _differs(self, f)}

    def signed(self) -> dict[str, str]:
        """Return the options of a signature: those that differ from their default, and those that it always names."""
        said = {}
        for f in dataclasses.fields(self):
            limits = hints_of(type(self))[f.name][1]
            value = getattr(self, f.name)
            if limits.key == "" or limits.transient or value is None or not (limits.always or _differs(self, f)):
                continue
            said[limits.key or f.name] = short(value)
        return said

    def to_dict(self) -> dict[str, Any]:
        """Every option, defaults too, safe for JSON."""
        known = hints_of(type(self))
        return {name: plain(getattr(self, name)) for name, (_, limits) in known.items() if not limits.transient}


@dataclass(frozen=True, kw_only=True)
class IntervalSettings(Settings):
    """The interval options; every analysis with intervals inherits them."""

    method: Method = option("jackknife", "Interval method.")
    n_resamples: int = option(2000, "Bootstrap resamples.", low=LEAST_RESAMPLES, key="resamples")
    confidence: float = level_option()
    seed: int = seed_option()


# -- one statement: the function's parameters, its help and its types -------------------------------


def question(settings: Callable[P, S]) -> Callable[[Callable[[A, S], R]], Callable[Concatenate[A, P], R]]:
    """Give a function of labels and settings the options of the settings as its parameters.

    Fields that are not keyword-only can be given by position, after the function's own arguments.

    Examples
    --------
    >>> @dataclass(frozen=True, kw_only=True)
    ... class ShareSettings(Settings):
    ...     "Options of `share`."
    ...     above: float = option(0.0, "Numbers above this count.")
    >>> @question(ShareSettings)
    ... def share(numbers, settings):
    ...     "What share of the numbers is large?"
    ...     return sum(x > settings.above for x in numbers) / len(numbers)
    >>> share([1, 2, 3, 4], above=2)
    0.5
    >>> import inspect
    >>> str(inspect.signature(share))
    '(numbers, *, above: float = 0.0)'
    """
    return lambda function: _ask(function, typing.cast("type[Settings]", settings))


def question_of_two(settings: Callable[P, S]) -> Callable[[Callable[[A, B, S], R]], Callable[Concatenate[A, B, P], R]]:
    """As `question`, for a function with two arguments: labels, and a judge or other labels."""
    return lambda function: _ask(function, typing.cast("type[Settings]", settings))


def question_alone(settings: Callable[P, S]) -> Callable[[Callable[[S], R]], Callable[P, R]]:
    """As `question`, for a function that has only options."""
    return lambda function: _ask(function, typing.cast("type[Settings]", settings))


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread.

    Products of thousands of small matrices take twice the processor time with two threads, and several times as long
    where another program uses one of the processors. Questions run in several processes with joblib.
    """
    limited: AbstractContextManager[Any] = _libraries("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas")
    return limited


@functools.cache
def _libraries(with_scipy: bool) -> ThreadpoolController:
    """The libraries that are loaded now: NumPy's, and SciPy's once it is imported."""
    from threadpoolctl import ThreadpoolController

    del with_scipy
    return ThreadpoolController()


def _ask(function: Callable[..., Any], settings: type[Settings]) -> Callable[..., Any]:
    """The function with its options as keywords."""
    signature = inspect.signature(function)
    own = [*signature.parameters.values()][:-1]
    named = {one.name for one in own}
    by_place = [f.name for f in dataclasses.fields(settings) if not f.kw_only]
    required = [f.name for f in dataclasses.fields(settings) if f.default is dataclasses.MISSING]
    most = len(own) + len(by_place)

    places = [*(one.name for one in own), *by_place]
    known = {*places, *(f.name for f in dataclasses.fields(settings)), *settings.renamed}
    opens = bool(own) and own[0].name in OPENED
    judged = [one.name for one in own[1:2]] == ["judge"]

    @functools.wraps(function)
    def call(*given: Any, **options: Any) -> Any:
        if opens and not given and own[0].name in options:
            given = (options.pop(own[0].name),)
        if opens and not given and {"y1", "y2"} <= options.keys() - known:
            given = (options.pop("y1"), options.pop("y2"))  # two arrays of labels, as in scikit-learn
        _refuse_separate_raters(function.__name__, given[len(own) :], by_place)
        if opens and given:
            strange = {one: value for one, value in options.items() if one not in known}
            given, options = _open_tables(function.__name__, given, options, places, strange)
            if judged:
                _refuse_several_judges(function.__name__, given[0], options, known)
                given = _add_only_judge(function.__name__, given, options)
        if len(given) > most:
            raise TypeError(_too_many_by_place(function.__name__, given, most, known))
        placed = dict(zip(by_place, given[len(own) :], strict=False))
        mine = {name: options.pop(name) for name in named & options.keys()}
        if twice := placed.keys() & options.keys():
            raise TypeError(f"{function.__name__}() got several values for {', '.join(sorted(twice))}")
        if missing := [name for name in required if name not in placed and name not in options]:
            name = function.__name__
            raise TypeError(f"{name}() is missing {listing(missing)}; help(assay.{name}) has an example")
        made = settings.of({**placed, **options}, function.__name__)
        made = made.of_table(given[0]) if given and own else made
        with one_thread():
            return function(*given[: len(own)], **mine, settings=made)

    hints = hints_of(settings)
    kind = inspect.Parameter
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        own
        + [
            kind(
                f.name,
                kind.KEYWORD_ONLY if f.kw_only else kind.POSITIONAL_OR_KEYWORD,
                default=kind.empty if f.default is dataclasses.MISSING else f.default,
                annotation=hints[f.name][0],
            )
            for f in sorted(_order_options(settings), key=lambda f: f.kw_only is True)
        ],
        return_annotation=signature.return_annotation,
    )
    call.__doc__ = _document_options(inspect.getdoc(function) or "", settings)
    call.settings = settings  # type: ignore[attr-defined]  # so that a command finds its options
    del call.__wrapped__
    return call


OPENED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("labels", "votes"), ("judge", "judges")),
    **dict.fromkeys(("before", "anchors"), ("judge",)), "after": ("judge_after", "judge"),
}  # fmt: skip
"""What questions call a table of labels that they take, and the parameters that name its judges: the first that is
given counts."""


def _open_tables(
    name: str, given: tuple[Any, ...], options: dict[str, Any], places: Sequence[str], strange: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The positional and keyword arguments, with a table instead of a path, a frame or plain arrays.

    ``strange`` are options that the question does not have: those of reading are refused as such.
    """
    said = {**dict(zip(places, given, strict=False)), **options}
    for table in [one for one in said if one in OPENED]:
        value = said[table]
        if type(value).__module__.startswith("assay.") or (value is None and table != places[0]):
            continue
        judges = next((said[one] for one in OPENED[table] if one not in strange and said.get(one) is not None), None)
        reader = table_reader()
        if strange:
            reader.refuse_read_options(name, value, judges, strange)
        if table == places[0]:
            given = reader.labels_of(name, given, judges)  # two arrays become one table
        elif table in options:
            options = {**options, table: reader.labels_of(name, (value,), judges)[0]}
        else:
            at = places.index(table)
            given = (*given[:at], reader.labels_of(name, (value,), judges)[0], *given[at + 1 :])
    return given, options


def _too_many_by_place(name: str, given: Sequence[Any], most: int, known: Collection[str]) -> str:
    """The message for too many arguments by position: the keyword for judges, which are the usual reason."""
    further, judges = list(given[most:]), getattr(given[0], "judges", ())
    if "judges" in known and further and all(isinstance(one, str) and one in judges for one in further):
        return f"{name}() takes judges by name: {name}(labels, judges={further})"
    allowed = "no arguments" if not most else "1 argument" if most == 1 else f"at most {most} arguments"
    return f"{name}() takes {allowed} by position; got {len(given)}. Give options by name"


def _refuse_separate_raters(name: str, further: Sequence[Any], places: Sequence[str]) -> None:
    """Refuse names of raters one by one, ``cohen_kappa(labels, "ann", "bob")``, with the call that has a list."""
    names = [one for one in further if isinstance(one, str)]
    if len(names) > 1 and places[:1] == ["annotators"] and len(names) == len(further):
        raise TypeError(f"{name}() takes the raters as one list: {name}(labels, annotators={names})")


def _refuse_several_judges(name: str, labels: Any, options: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse ``judges=...`` of a question about one judge, with the call that names it."""
    if "judges" not in options or "judges" in known:
        return
    named, judges = options["judges"], getattr(labels, "judges", ())
    names = [named] if isinstance(named, str) else list(named) if isinstance(named, list | tuple) else []
    for one in names:
        if one not in judges:
            raise DataError(unknown_judge(one, judges, getattr(labels, "humans", ())))
    call = f"{name}(labels, {names[0]!r})" if names else f"{name}(labels, judge)"
    raise DesignError(f"{name} takes one judge: {call}; compare_judges tests several", option="judges")


def _add_only_judge(name: str, given: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arguments with the only judge of the table, if no judge is named."""
    if len(given) > 1 or "judge" in options:
        several = given[1] if len(given) > 1 else options["judge"]
        if isinstance(several, list | tuple):
            tested = f", such as '{several[0]}'" if several else ""
            raise DesignError(f"{name} tests one judge{tested}; compare_judges tests several", option="judge")
        return given
    judges: Sequence[str] = getattr(given[0], "judges", ())
    if len(judges) != 1:
        known = f"one of {listing(judges)}" if judges else "and the table has none: read it with judges=[...]"
        raise DesignError(f"{name} needs the name of a judge, {known}", option="judge")
    return (given[0], judges[0])


def _order_options(settings: type[Settings]) -> list[dataclasses.Field[Any]]:
    """Every option, a question's own before those that it shares with others."""
    known = {f.name: f for f in dataclasses.fields(settings)}
    names = dict.fromkeys(name for cls in settings.__mro__ for name in vars(cls).get("__annotations__", {}))
    return [known[name] for name in names if name in known]


_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", flags=re.M)


def _document_options(doc: str, settings: type[Settings]) -> str:
    """A docstring with every option at the end of its parameters."""
    lines = []
    known = hints_of(settings)
    for f in _order_options(settings):
        name, default, (hint, limits) = f.name, f.default, known[f.name]
        shown = "" if default in (None, dataclasses.MISSING) or limits.transient else f", default {default!r}"
        about = " ".join(part for part in (limits.help, limits.details) if part)
        lines += [
            f"{name} : {type_words(hint, default)}{shown}",
            *textwrap.wrap(about, 112, initial_indent="    ", subsequent_indent="    "),
        ]
    options = "\n".join(lines)
    sections = list(_SECTION.finditer(doc))
    place = next((i for i, m in enumerate(sections) if m[1] == "Parameters"), None)
    if place is not None:
        end = sections[place + 1].start() if place + 1 < len(sections) else len(doc)
        return f"{doc[:end].rstrip()}\n{options}\n\n{doc[end:]}".rstrip()
    start = sections[0].start() if sections else len(doc)
    return f"{doc[:start].rstrip()}\n\nParameters\n----------\n{options}\n\n{doc[start:]}".rstrip()


def type_words(hint: Any, default: Any = None) -> str:
    """A type as a reader of the help wants it: ``{"a", "b"}``, ``float``, ``list of str``.

    In braces the default comes first, as numpydoc has it; where there is none, words are joined by *or*.
    """
    words: list[Any] = []
    kinds = []
    for member in members_of(hint):
        origin = typing.get_origin(member)
        if member is type(None):
            continue
        if origin is Literal:
            words += typing.get_args(member)
        elif origin in (tuple, list, Sequence):
            kinds.append(f"list of {type_words(typing.get_args(member)[0])}")
        elif member is Any or member is object:
            kinds.append("object")
        elif member is Callable or origin is Callable or "Callable" in str(member):
            kinds.append("callable")
        else:
            kinds.append(str(getattr(origin or member, "__name__", member)).lower())
    quoted = [f'"{w}"' if isinstance(w, str) else str(w) for w in sorted(words, key=lambda w: w != default)]
    chosen = [f"{{{', '.join(quoted)}}}"] if default in words else [" or ".join(quoted)] if quoted else []
    said = [*chosen, *kinds]
    optional = ", optional" if type(None) in members_of(hint) else ""
    return " or ".join(dict.fromkeys(said)) + optional


# -- checking ---------------------------------------------------------------------------------------


def check(name: str, value: Any, hint: Any, limits: Limits = Limits()) -> None:
    """Refuse a value that is not of the type, not one of the words, or out of range.

    Raises
    ------
    DesignError
        With what the option takes and, for a word, the nearest.
    """
    if not _accepts(hint, value):
        words = words_of(hint)
        strange = [v for v in (value if isinstance(value, list | tuple) else (value,)) if v not in words]
        if words and strange:
            raise DesignError(_bad_word_message(name, strange[0], words), option=name, value=strange[0])
        listed = f"; write {name}=[{value!r}]" if isinstance(value, str) and _accepts(hint, [value]) else ""
        raise DesignError(f"{name} must be {_kind(hint, limits)}; got {value!r}{listed}", option=name, value=value)
    numbers = value if isinstance(value, list | tuple) else (value,)
    for number in numbers:
        if _is_number(number) and not _inside(float(number), limits):
            raise DesignError(f"{name} must {_range(hint, limits, number)}; got {value}", option=name, value=value)


def one_of(name: str, value: T, words: Iterable[T]) -> T:
    """Return the value if it is one of the words; for options outside of settings.

    Raises
    ------
    DesignError
        With the words and the nearest.
    """
    known = tuple(words)
    if value not in known:
        raise DesignError(_bad_word_message(name, value, known), option=name, value=value)
    return value


def number_in(
    name: str, value: Any, *, low: float | None = None, high: float | None = None, above: float | None = None,
    below: float | None = None, whole: bool = False,
) -> None:  # fmt: skip
    """Refuse values that are not numbers in the range; for options outside of settings."""
    first, last = above if low is None else low, below if high is None else high
    limits = Limits("", first, last, above is not None, below is not None)
    check(name, value, int if whole else float, limits)


GUESSES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("rater", "coder", "worker", "user", "annotator_id", "annotator_col"), ("annotator",)),
    **dict.fromkeys(("id", "id_col", "item_id", "item_col", "index", "index_col"), ("item",)),
    **dict.fromkeys(("rating", "score", "y", "target", "value", "label_col"), ("label",)),
    **dict.fromkeys(("raters", "annotators", "people", "human", "coders"), ("humans", "annotators", "columns")),
    **dict.fromkeys(("judge", "model", "models"), ("judges", "judge")),
    **dict.fromkeys(("eps", "margin", "delta"), ("epsilon",)),
    **dict.fromkeys(("bootstrap", "n_boot", "n_bootstrap", "n_bootstraps", "resamples"), ("n_resamples",)),
    **dict.fromkeys(("ci", "level", "conf_level", "confidence_level"), ("confidence",)),
    **dict.fromkeys(("metric", "method"), ("score", "coefficients", "measure", "model")),
    **dict.fromkeys(("random_state", "rng"), ("seed",)),
    **dict.fromkeys(("na", "na_values", "on_missing"), ("missing",)),
    **dict.fromkeys(("sheet_name",), ("sheet",)),
    **dict.fromkeys(("dimension", "metric_name", "aspect"), ("criterion",)),
    "criteria": ("criterion",), "type": ("form",), "weight": ("weights",), "n": ("n_items",), "items": ("n_items",),
}  # fmt: skip
"""Options that people try first, with the options that do it; the first that a question has is suggested."""

NEAR_OPTION = 0.8
"""Least similarity of a suggested option; at difflib's default of 0.6, a wrong one is often suggested."""

_SIMPLE = (str, int, float, bool, type(None))
_MADE: dict[tuple[Any, ...], Settings] = {}
"""Settings that were checked before, by class and options."""


_KNOWN: dict[type, tuple[tuple[str, Any, Limits, Any], ...]] = {}


def _fields(cls: type[Settings]) -> tuple[tuple[str, Any, Limits, Any], ...]:
    """Name, type, limits and default of every option."""
    if cls not in _KNOWN:
        hints = typing.get_type_hints(cls, include_extras=True)
        found = []
        for f in dataclasses.fields(cls):
            hint, limits = hints[f.name], f.metadata.get("option", Limits())
            if typing.get_origin(hint) is typing.Annotated:
                limits = next((m for m in hint.__metadata__ if isinstance(m, Limits)), limits)
                hint = hint.__origin__
            found.append((f.name, hint, limits, f.default))
        _KNOWN[cls] = tuple(found)
    return _KNOWN[cls]


def hints_of(cls: type[Settings]) -> dict[str, tuple[Any, Limits]]:
    """The type and the limits of every option, for the command line and the laws."""
    return {name: (hint, limits) for name, hint, limits, _ in _fields(cls)}


def members_of(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union; a single type is its own only member."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(m for part in typing.get_args(hint) for m in members_of(part))
    return (hint,)


def _words(hint: Any) -> tuple[Any, ...]:
    """The words that a type lists."""
    return tuple(w for m in members_of(hint) if typing.get_origin(m) is Literal for w in typing.get_args(m))


def words_of(hint: Any) -> tuple[Any, ...]:
    """Return the words that an option accepts, one or several."""
    found = list(_words(hint))
    for m in members_of(hint):
        if typing.get_origin(m) in (tuple, list, Sequence):
            found += words_of(typing.get_args(m)[0])
    return tuple(dict.fromkeys(found))


def _accepts(hint: Any, value: Any) -> bool:
    return any(_is(member, value) for member in members_of(hint))


def _is(hint: Any, value: Any) -> bool:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or hint is object:
        return True
    if hint is None or hint is type(None):
        return value is None
    if origin is Literal:
        return isinstance(value, str | int) and any(value == w and isinstance(value, type(w)) for w in parts)
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    if hint is int:
        return isinstance(value, Integral) and not isinstance(value, bool)
    if hint is float:
        return _is_number(value) and math.isfinite(value)
    if origin in (tuple, list, Sequence):
        return isinstance(value, list | tuple) and all(_accepts(parts[0], v) for v in value)
    if origin is not None and isinstance(origin, type):
        return isinstance(value, origin)
    return isinstance(value, hint) if isinstance(hint, type) else callable(value) if hint is Callable else True


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool | np.bool_) and isinstance(value, Real)


_PLAIN = {"sequence": "a list", "list": "a list", "tuple": "a list", "str": "a text", "int": "a whole number",
          "float": "a number"}  # fmt: skip


def _kind(hint: Any, limits: Limits) -> str:
    members = [m for m in members_of(hint) if m is not type(None)]
    if members == [bool]:
        return "True or False"
    if members == [int]:
        return _number_words(hint, limits)
    if all(m in (int, float) for m in members):
        return f"a number{_bounds(limits)}"
    if str in members and len(members) == 1:
        return "a text"
    names = [_PLAIN.get(name := getattr(m, "__name__", str(m)).lower(), name) for m in members]
    return " or ".join(dict.fromkeys(names))


def _inside(value: float, limits: Limits) -> bool:
    low, high = limits.low, limits.high
    above = low is None or (value > low if limits.low_open else value >= low)
    return above and (high is None or (value < high if limits.high_open else value <= high))


def _range(hint: Any, limits: Limits, value: Any = None) -> str:
    if limits.low is not None and limits.high is not None:
        ends = f"lie between {limits.low:g} and {limits.high:g}"
        return ends if value not in (limits.low, limits.high) else f"{ends} but not be {value:g}"
    return f"be {_number_words(hint, limits)}"


def _number_words(hint: Any, limits: Limits) -> str:
    """The required kind and range of a number, in words."""
    several = any(typing.get_origin(m) in (tuple, list, Sequence) for m in members_of(hint))
    inner = [p for m in members_of(hint) for p in (typing.get_args(m) or (m,))]
    whole = int in inner and float not in inner
    if not several and limits.low == 0 and limits.high is None and not limits.low_open:
        return "0 or a larger whole number" if whole else "0 or a larger number"
    kind = ("whole numbers" if several else "a whole number") if whole else "numbers" if several else "a number"
    return kind + _bounds(limits)


def _bounds(limits: Limits) -> str:
    if limits.low is not None and limits.high is not None:
        return f" from {limits.low:g} to {limits.high:g}"
    if limits.low is not None:
        return f" above {limits.low:g}" if limits.low_open else f" of at least {limits.low:g}"
    if limits.high is not None:
        return f" below {limits.high:g}" if limits.high_open else f" of at most {limits.high:g}"
    return ""


def _bad_word_message(name: str, value: object, words: Sequence[object]) -> str:
    said = [str(w) for w in words]
    known = f"{', '.join(said[:-1])} or {said[-1]}" if len(said) > 1 else said[0]
    near = difflib.get_close_matches(str(value), said, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"{name} must be {known}; got {value!r}{hint}"


# -- saying -----------------------------------------------------------------------------------------


def short(value: Any) -> str:
    """Return a value as in a signature; different values are always written differently."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}" if round(value, 2) == value else repr(float(value))
    if isinstance(value, str | Integral | Real):
        return str(value).replace("|", "/")
    if isinstance(value, list | tuple) and len(value) <= 12 and all(isinstance(v, str | int | float) for v in value):
        return ",".join(map(short, value))
    if isinstance(value, Mapping) and not value:
        return "none"
    if isinstance(value, Mapping) and len(value) <= 4 and all(_is_short_entry(k, v) for k, v in value.items()):
        return ";".join(f"{k}={short(v if isinstance(v, Integral) else tuple(v))}" for k, v in value.items())
    name = getattr(value, "name", None) or getattr(value, "__name__", None) or type(value).__name__
    return f"{str(name).replace('|', '/')}@{digest(value)}"


def _is_short_entry(key: Any, value: Any) -> bool:
    """Whether an entry of a mapping is written whole in a signature: a name, and a few whole numbers."""
    several = isinstance(value, list | tuple | range)
    many = tuple(value[:13]) if several else (value,)
    whole = all(isinstance(v, Integral) and not isinstance(v, bool) for v in many)
    return isinstance(key, str) and key.isidentifier() and 0 < len(many) <= 12 and whole


def digest(value: Any) -> str:
    """Six hexadecimal digits of a value that is too long to be said: a mapping, a frame, a function."""
    return hashlib.blake2b(repr(_essence(value)).encode(), digest_size=3).hexdigest()


def _essence(value: Any, depth: int = 0) -> Any:
    """What makes a value different from others, as plain data whose ``repr`` is the same in every process."""
    if isinstance(value, np.generic):  # before numbers and texts, which many of them are as well
        return value.item()
    if depth > 6 or value is None or isinstance(value, str | bytes | bool | int | float | complex):
        return value if depth <= 6 else type(value).__qualname__
    if isinstance(value, np.ndarray):
        return (value.shape, value.tolist())
    if isinstance(value, Mapping):
        return sorted((repr(_essence(k, depth + 1)), _essence(v, depth + 1)) for k, v in value.items())
    if isinstance(value, list | tuple):
        return [_essence(v, depth + 1) for v in value]
    if isinstance(value, set | frozenset):
        return sorted(repr(_essence(v, depth + 1)) for v in value)
    if isinstance(value, types.CodeType):
        return (value.co_code.hex(), [_essence(c, depth + 1) for c in value.co_consts], value.co_names)
    if isinstance(value, types.FunctionType):
        cells = [_essence(c.cell_contents, depth + 1) for c in value.__closure__ or ()]
        return (value.__qualname__, _essence(value.__code__, depth + 1), cells, _essence(value.__defaults__, depth + 1))
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        return [(str(c), _essence(list(value[c]), depth + 1)) for c in value.columns]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.compare}
        return (type(value).__qualname__, _essence(fields, depth + 1))
    return (
        getattr(value, "__qualname__", type(value).__qualname__),
        _essence(getattr(value, "__dict__", None), depth + 1),
    )


def plain(value: Any) -> Any:
    """Return an option as a JSON value; other values are replaced by their digest."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Settings):
        return value.to_dict()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, Mapping) and len(value) <= 100:
        return {str(k): plain(v) for k, v in value.items()}
    return short(value)


def _differs(settings: Settings, field: dataclasses.Field[Any]) -> bool:
    value = getattr(settings, field.name)
    if value is field.default or field.default is None:
        return value is not field.default
    try:
        return bool(value != field.default)
    except (ValueError, TypeError):
        return True
