"""A question's options as a command line offers them: built from its settings, so nothing is said twice.

`takes` gives a command the options of one or more settings; `Given.options` are the ones that somebody typed, checked.
`as_typed` puts the options in an error's words as the user of a command would type them.
"""

from __future__ import annotations

import re
import shlex
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, make_dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast

from cyclopts import Parameter
from cyclopts.group import Group

from assay.estimation.options import Limits, Settings, check, hints_of, words_of

Command = TypeVar("Command", bound=Callable[..., Any])
Read = Mapping[str, Callable[[Any], Any]]

_LISTS: Mapping[Any, Any] = {int: list[int], float: list[float]}


def commas(_: Any, tokens: Sequence[Any]) -> list[str]:
    """``a,b,c`` as a list; ``icc(a,1)`` is one name."""
    parts = (part.strip() for token in tokens for part in re.split(r",(?![^(]*\))", token.value))
    return [part for part in parts if part]


Names = Annotated[list[str] | None, Parameter(converter=commas, n_tokens=1)]
"""Names separated by commas."""


@dataclass(frozen=True)
class Given:
    """The options of a question that somebody typed; a command's own kind is made by `takes`."""

    known: ClassVar[Mapping[str, tuple[Any, Limits]]] = {}
    read: ClassVar[Read] = {}

    def options(self) -> dict[str, Any]:
        """Keyword options of the question's function, each checked; those not typed are not there.

        Raises
        ------
        DesignError
            For a value that the settings refuse.
        """
        found = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not one.default:
                value = self.read[one.name](value) if one.name in self.read else value
                check(one.name, value, *self.known[one.name])
                found[one.name] = value
        return found


NOTHING = Given()
"""The default of a command's parameter ``options``, until `takes` puts the command's own there."""


def takes(
    *settings: type[Settings],
    group: Group,
    without: Collection[str] = (),
    named: Mapping[str, str] | None = None,
    shown: Mapping[str, str] | None = None,
    read: Read | None = None,
) -> Callable[[Command], Command]:
    """Give a command, as its parameter ``options``, every option of these settings.

    Parameters
    ----------
    settings : type of Settings
        Where two have an option of the same name, the first counts.
    group : Group
        The heading of the options in the command's help.
    without : collection of str
        Options that the command does not offer, or states itself.
    named : mapping of option to name
        What is typed in place of ``--name-of-the-option``.
    shown : mapping of option to text
        What the help says in place of the default.
    read : mapping of option to function
        What makes of the text typed the value that the settings take.
    """
    offered: dict[str, tuple[Any, Limits]] = {}
    parts = []
    for one in settings:
        defaults = {f.name: None if f.default is MISSING else f.default for f in fields(one)}
        for name, (hint, limits) in hints_of(one).items():
            typed = _typed(hint)
            if name in offered or name in without or limits.hidden or typed is None:
                continue
            offered[name] = (hint, limits)
            default = (shown or {}).get(name, _default(defaults[name]))
            parameter = _parameter((named or {}).get(name), hint, typed, limits, default)
            # A flag is given where it is not at its default, anything else where there is something.
            flag = typed is bool
            unset = field(default=defaults[name] if flag else None)
            parts.append((name, Annotated[typed if flag else typed | None, parameter], unset))
    about = {"known": offered, "read": dict(read or {}), "__module__": __name__}
    kind = make_dataclass(settings[0].__name__, parts, bases=(Given,), namespace=about, frozen=True)
    kind = Parameter(name="*", group=group)(kind)

    def give(command: Command) -> Command:
        function = cast(types.FunctionType, command)
        function.__annotations__["options"] = kind
        function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "options": kind()}
        return command

    return give


# -- from a setting to a parameter ------------------------------------------------------------------


def _typed(hint: Any) -> Any:
    """What is typed for an option of this type; None where it cannot be typed: a function, a mapping."""
    members = [m for m in _members(hint) if m is not type(None)]
    if Any in members:
        return str
    for member in members:
        if typing.get_origin(member) in (tuple, list, Sequence):
            return _LISTS.get(typing.get_args(member)[0], list[str])
    words = tuple(w for m in members if typing.get_origin(m) is Literal for w in typing.get_args(m))
    if words:
        return Literal[words]
    return next((kind for kind in (bool, float, int, str) if kind in members), None)


def _members(hint: Any) -> tuple[Any, ...]:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(m for part in typing.get_args(hint) for m in _members(part))
    return (hint,)


def _parameter(name: str | None, hint: Any, typed: Any, limits: Limits, default: str) -> Parameter:
    words = range_words(limits)
    about = limits.help + (f" [range: {words}]" if words and words not in limits.help else "")
    negative = None if default == "True" else ()
    if typing.get_origin(typed) is not list:
        return Parameter(name=name, help=about, show_default=default or False, negative=negative)
    # The words of a list are checked by the settings: cyclopts takes the whole list for one word.
    about += f" [choices: {', '.join(map(str, words_of(hint)))}]" if words_of(hint) else ""
    several = _several(typing.get_args(typed)[0])
    return Parameter(name=name, help=about, show_default=default or False, converter=several, n_tokens=1)


def _several(kind: Any) -> Callable[[Any, Sequence[Any]], list[Any]]:
    """``30,50`` as a list of numbers, ``a,b`` as one of texts."""

    def one(part: str) -> Any:
        try:
            return kind(part) if kind in (int, float) else part
        except ValueError:
            raise ValueError(f"'{part}' is not a {'whole number' if kind is int else 'number'}") from None

    return lambda _, tokens: [one(part) for part in commas(_, tokens)]


def _default(value: Any) -> str:
    """A default as it would be typed; empty where there is none to show."""
    if value is None or value is False or value == "":
        return ""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def range_words(limits: Limits) -> str:
    """``0 to 1``, ``at least 40``, ``above 0 and below 1``."""
    low, high = limits.low, limits.high
    if low is None and high is None:
        return ""
    if low is not None and high is not None and not limits.low_open and not limits.high_open:
        return f"{low:g} to {high:g}"
    first = "" if low is None else f"above {low:g}" if limits.low_open else f"at least {low:g}"
    last = "" if high is None else f"below {high:g}" if limits.high_open else f"at most {high:g}"
    return " and ".join(part for part in (first, last) if part)


# -- the words of an error --------------------------------------------------------------------------

_VALUE = r"\.\.\.|'[^']*'|\[[^\]]*\]|\{[^}]*\}|assay\.\w+\([^)]*\)|[\w:+-]+(?:\.[\w:+-]+)*"
_MORE = r"(?:(?: \([^)]*\))?(?:, | or )'[^']*')*"
_KEYWORD = re.compile(rf"(?<![\w'-])(?<!\w\()(?<!--option )(?<!--where )([a-z][a-z_]*)=({_VALUE})({_MORE})")
_CALL = re.compile(r"assay\.(\w+)\(([^()]*)\)")
_WHERE = re.compile(rf"labels\.where\((\w+)=({_VALUE})\)")


def as_typed(message: str, typed: Mapping[str, str]) -> str:
    """Python's ``name=value`` in a message as ``--name value``.

    Parameters
    ----------
    message : str
    typed : mapping of keyword to option
        The options of the command, such as ``{"n_resamples": "--n-resamples"}``. What is none of them is taken as an
        option of a format's reader, where one has it, and left as it is otherwise.

    Examples
    --------
    >>> as_typed("choose one with labels.where(criterion=...)", {})
    'choose one with --where criterion=...'
    >>> as_typed("name the judges with judges=['gpt', ...]", {"judges": "--judges"})
    'name the judges with --judges gpt,...'
    """
    message = message.replace("labels.where(...)", "--where COLUMN=VALUE")
    message = _WHERE.sub(lambda m: f"--where {m[1]}={_plain(m[2])}", message)
    message = _CALL.sub(lambda m: _arguments(m, typed), message)
    message = _KEYWORD.sub(lambda m: _option(m, typed), message)
    return re.sub(r"^([a-z_]+)(?= must )|^([a-z]+_[a-z_]+)(?= )", lambda m: typed.get(m[0], m[0]), message)


def _arguments(match: re.Match[str], typed: Mapping[str, str]) -> str:
    """A call in Python as the options that are among its arguments; left as it is where there are none."""
    named = [(m[1], m[2]) for m in _KEYWORD.finditer(match[2]) if m[1] in typed]
    return " ".join(f"{typed[name]} {_plain(value)}" for name, value in named) or match[0]


def _option(match: re.Match[str], typed: Mapping[str, str]) -> str:
    name, value, more = match[1], _plain(match[2]), match[3].replace("'", "")
    if name == "layout" and "wide" in typed:
        return typed["wide"]
    if name in typed:
        return f"{typed[name]} {value}{more}"
    return f"--option {name}={value}{more}" if name in _of_readers() else match[0]


def _plain(value: str) -> str:
    """A Python value as it is typed: ``['a', 'b']`` is ``a,b`` and ``{'stars': '1-5'}`` is ``'stars=1-5'``."""
    if value[:1] == "{":
        return "'" + re.sub(r"'([^']*)': '([^']*)'", r"\1=\2", value[1:-1]) + "'"
    if value[:1] == "[":
        value = ",".join(part.strip(" '\"") for part in value[1:-1].split(","))
    return "..." if value.startswith("assay.") else typed_value(value.strip("'"))


def typed_value(value: str) -> str:
    """A value as a shell takes it: in quotes where there are spaces or signs that mean something to it."""
    return value if re.fullmatch(r"[\w.,:/@%+=()…-]+", value) and "(" not in value else shlex.quote(value)


def _of_readers() -> set[str]:
    """The options of all formats' readers."""
    from assay.data.formats.registry import FORMATS

    return {name for one in FORMATS.values() for name in one.options}
