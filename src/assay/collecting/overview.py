"""How a study stands, for whoever leads it."""

from __future__ import annotations

from dataclasses import dataclass

from assay.collecting.design import Design


@dataclass(frozen=True)
class Overview:
    """A study at a moment."""

    items: int


class Watch:
    """Looks at a study again and again.

    Parameters
    ----------
    design : Design
    """

    def __init__(self, design: Design) -> None:
        self.design = design

    def look(self) -> Overview:
        """The study as it stands now."""
        return Overview(self.design.n_items)
