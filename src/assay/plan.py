"""How many items, annotators, labels or triplets a study requires: one function for each design."""

from __future__ import annotations

from assay._doors import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
