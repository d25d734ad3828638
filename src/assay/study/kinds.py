"""What each kind of answer makes of a question: its options, and the words that people and models read and write.

A kind that is not listed is answered with a label of its scale, by number or from a list, and needs no row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from assay.data.scales import Label, Scale

Orders = Literal["all", "shuffled", "fixed"]


@dataclass(frozen=True)
class Kind:
    """One kind of answer.

    Attributes
    ----------
    places : tuple of labels
        For each option, in the item's own order, the label that chooses it; empty where there are no options.
    titles : tuple of str
        What models are told the options are called, in the order shown.
    order : {"all", "shuffled"}
        How the options' order is varied where the question does not say.
    drawn : bool
        Whether one column may be named, of which the options are drawn while people answer.
    words : dict
        What models read and write, and the page sends, for a label; as it is where none are given.
    told : dict
        What people are told for a label; as it is where none are given.
    free_text : bool
        Whether the reply itself is the label.
    """

    places: tuple[Label, ...] = ()
    titles: tuple[str, ...] = ()
    order: Orders = "shuffled"
    drawn: bool = False
    words: Mapping[Label, str] = field(default_factory=dict)
    told: Mapping[Label, str] = field(default_factory=dict)
    free_text: bool = False

    def allowed(self, words: Mapping[Label, str]) -> str:
        """Words for what a label may be: ``first, second or tie``."""
        *some, last = words.values()
        return f"{', '.join(some)} or {last}"


KINDS: dict[str, Kind] = {
    "preference": Kind(
        places=(-1, 1),
        titles=("first", "second"),
        order="all",
        words={-1: "first", 1: "second", 0: "tie"},
        told={-1: "left", 1: "right", 0: "no preference"},
    ),
    "odd-one-out": Kind(places=("A", "B", "C"), titles=("A", "B", "C"), drawn=True),
    "text": Kind(free_text=True),
}
"""By the name of the scale."""

_PLAIN = Kind()


def kind_of(scale: Scale) -> Kind:
    """What a scale makes of a question."""
    return KINDS.get(scale.kind, _PLAIN)
