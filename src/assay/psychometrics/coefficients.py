"""Which variances count in which coefficient, for so many levels of each facet (Brennan 2001, chapters 1, 4 and 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.estimation.statistic import Floats
from assay.psychometrics.design import Design
from assay.psychometrics.identified import Term
from assay.psychometrics.settings import Merged
from assay.statistics.reml import Ratio


@dataclass(frozen=True, eq=False)
class Weights:
    """How much of each term's variance is the universe score's, the relative error's and the absolute error's.

    Attributes
    ----------
    universe, relative, absolute : (terms,) float
    """

    universe: Floats
    relative: Floats
    absolute: Floats

    @property
    def generalizability(self) -> Ratio:
        """Eρ²: universe score over itself and relative error."""
        return Ratio(self.universe, self.relative)

    @property
    def dependability(self) -> Ratio:
        """Φ: universe score over itself and absolute error."""
        return Ratio(self.universe, self.absolute)

    def quantities(self) -> dict[str, Ratio]:
        """Everything that is reported of a study, by name."""
        return {
            "Eρ²": self.generalizability,
            "Φ": self.dependability,
            "σ²(δ)": Ratio(self.relative),
            "σ²(Δ)": Ratio(self.absolute),
        }


def weights(
    terms: Sequence[Term], design: Design, measured: str, fixed: Sequence[str], sizes: Mapping[str, float],
    merged: Merged = "careful",
) -> Weights:  # fmt: skip
    """Each term's part in the mean over so many levels of each facet.

    An effect with the object and only fixed facets is a part of the universe score; one without the object and
    without a random facet is in no error; all others are error, relative where they hold the object. A term of
    several effects that cannot be told apart shrinks with the facets that all of them share (``careful``), or with
    all that index any of them (``usual``).
    """
    own = design.nests[measured] | {measured}
    found = np.zeros((3, len(terms)))
    for k, term in enumerate(terms):
        shares = term.shared if merged == "careful" else term.index
        many = float(np.prod([sizes.get(f, 1.0) for f in shares - own] or [1.0]))
        holds = any(measured in e.index for e in term.effects)
        random = any((e.index - own) - set(fixed) for e in term.effects) or term.code is None
        if holds and not random:
            found[0, k] = 1 / many
        elif holds:
            found[1:, k] = 1 / many
        elif random:
            found[2, k] = 1 / many
    return Weights(*found)
