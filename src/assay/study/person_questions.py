"""Questions to a person: screening, before the first item, after the last one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.data.scales import Listed, Ordinal, Scale, Text, parse_scale, plain_number
from assay.errors import DataError

Stage = Literal["screening", "before", "after"]
"""When a person is asked: before a place is given, before the first item, after the last one."""

Options = str | tuple[str, ...] | dict[str, bool | str]
"""A scale or ``text``; the answers; or each answer with true, or with false or a text if it is wrong."""

RESERVED = ("annotator", "name", "kind", "item", "label", "criterion", "repeat", "link")
"""Names that an annotator's column cannot have."""


@dataclass(frozen=True)
class PersonQuestion:
    """One question to a person; the answer is a column of the annotator, unless the question has a right answer.

    Attributes
    ----------
    name : str
        The name of the column.
    text : str
        The question.
    choices : tuple of str
        The answers to choose from; empty for a number or a text.
    scale : Scale, optional
        The numbers that can be answered; None for choices and texts.
    wrong : dict
        The answers that are wrong, or that screen out, each with the words shown after it.
    """

    name: str
    text: str
    choices: tuple[str, ...] = ()
    scale: Scale | None = None
    wrong: Mapping[str, str] = field(default_factory=dict)

    @property
    def optional(self) -> bool:
        """Whether it can be left empty: a text."""
        return not self.choices and self.scale is None

    @property
    def whole(self) -> bool:
        """Whether the numbers are whole."""
        return isinstance(self.scale, Ordinal)

    @property
    def ends(self) -> tuple[str, str]:
        """The smallest and the largest number; empty without limits."""
        low, high = (None, None) if self.scale is None or self.scale.bounds is None else self.scale.bounds
        return "" if low is None else plain_number(low), "" if high is None else plain_number(high)

    def read(self, said: str) -> Any:
        """Return an answer as it is stored; None if it is not one.

        Examples
        --------
        >>> person_question("age", "How old are you?", "18-99").read("30")
        30
        >>> person_question("age", "How old are you?", "18-99").read("17") is None
        True
        """
        said = said.strip()
        if self.choices:
            return said if said in self.choices else None
        if self.scale is None:
            return said
        found = self.scale.read(said) if said else None
        return int(found) if self.whole and found is not None else found


def person_question(name: str, text: str, options: Options) -> PersonQuestion:
    """Make a question from its part of study.yaml.

    Raises
    ------
    ValueError
        With the words for the key.
    """
    if isinstance(options, dict):
        wrong = {answer: "" if right is False else str(right) for answer, right in options.items() if right is not True}
        if len(wrong) == len(options):
            raise ValueError(f"'{text}' must have at least one right answer (true)")
        return PersonQuestion(name, text, _distinct(text, tuple(options)), wrong=wrong)
    if not isinstance(options, str):
        return PersonQuestion(name, text, _distinct(text, options))
    try:
        scale = parse_scale(options)
    except DataError as error:
        raise ValueError(f"'{text}': {error}") from None
    if isinstance(scale, Text):
        return PersonQuestion(name, text)
    if not scale.numeric:
        known = None if isinstance(scale, Listed) or scale.kind in ("preference", "odd-one-out") else scale.categories
        if not known:
            raise ValueError(f"'{text}': '{options}' is not for people; write a list, a range such as 18-99, or text")
        return PersonQuestion(name, text, _distinct(text, tuple(map(str, known))))
    return PersonQuestion(name, text, scale=scale)


def _distinct(text: str, choices: tuple[str, ...]) -> tuple[str, ...]:
    if len(choices) < 2 or len(set(choices)) < len(choices) or not all(one.strip() == one != "" for one in choices):
        raise ValueError(f"'{text}' must have at least two different answers")
    return choices
