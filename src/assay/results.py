"""The classes of results, for type hints and ``isinstance``.

>>> import assay
>>> labels = assay.simulate(n_items=100, n_annotators=3, seed=7)
>>> isinstance(assay.measures.fleiss_kappa(labels), assay.results.Coefficient)
True
"""

from __future__ import annotations

from assay._doors import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
