"""Places on a screen turned back into what stood there: left and right, A, B and C, shuffled or not."""

from __future__ import annotations

from collections.abc import Sequence

from assay.data.annotations import natural


def chosen_of_two(shown: Sequence[str], position: int | None) -> int | None:
    """Which of two was preferred, whatever their order on the screen.

    ``shown`` names the two in screen order and ``position`` the chosen one (0, 1, or None for a tie).
    −1 is the first in alphabetical order, 1 the second, 0 a tie; None where both have the same name.
    """
    if position is None:
        return 0
    if len(set(shown)) < 2:
        return None
    return -1 if shown[position] == natural(shown)[0] else 1


def odd_of_three(shown: Sequence[str], position: int, order: Sequence[str] | None = None) -> str | None:
    """Which of three was the odd one: A, B or C in the item's own order, whatever the order on the screen.

    Without the item's own ``order`` the alphabetical one stands for it. None where two have the same name.
    """
    own = tuple(order) if order is not None and set(order) == set(shown) else natural(shown)
    if len(set(shown)) < 3 or len(own) != 3:
        return None
    return "ABC"[own.index(shown[position])]


def members(shown: Sequence[str]) -> dict[str, str]:
    """Attributes of an item that compares two or three things: ``first``, ``second``, ``third``."""
    return dict(zip(("first", "second", "third"), natural(shown), strict=False))
