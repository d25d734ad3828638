"""Agreement coefficients and errors: each takes labels, and returns a `Coefficient`.

>>> from assay import measures
>>> round(measures.cohen_kappa([1, 2, 3], [1, 2, 2]).estimate, 2)
0.5
"""

from __future__ import annotations

from assay._doors import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
