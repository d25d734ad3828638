"""Test whether an LLM judge can replace human annotators, without a gold standard.

>>> import assay
>>> labels = assay.simulate(n_items=100, n_annotators=3, seed=7)
>>> assay.alt_test(labels, "judge", expertise="skilled").passed
True

The questions are functions of this module. Coefficients are in `assay.measures`, sample sizes in `assay.plan`, the
classes of results in `assay.results`, errors in `assay.errors`. The public names are listed in ``__init__.pyi``.
"""

from __future__ import annotations

from typing import Any

from assay._doors import names_in, open_door
from assay.estimation import TableReader, set_table_reader


def _moved() -> dict[str, str]:
    """Return the new place of each name that was in this module in version 0.2."""
    from assay import errors

    places = {
        name: f"assay.{door}.{name}"
        for door in ("measures", "results")
        for name in names_in(__file__.replace("__init__", door))
    }
    places |= {name: f"assay.errors.{name}" for name in errors.__all__}
    return places | {
        "bradley_terry": 'assay.ratings(model="bradley-terry")',
        "elo": 'assay.ratings(model="elo")',
        "judgments_needed": "assay.plan.judgments",
        "plan_alt_test": "assay.plan.alt_test",
        "plan_labels": "assay.plan.labels",
        "plan_triplets": "assay.plan.triplets",
        "preference_strength": 'assay.consistency(measure="strength")',
        "validate": "assay.plan.validate",
    }


def _labels_of(question: str, given: tuple[Any, ...], judges: Any) -> tuple[Any, ...]:
    from assay.reading import labels_of

    return labels_of(question, given, judges)


def _refuse_read_options(question: str, source: Any, judges: Any, options: Any) -> None:
    from assay.reading import refuse_read_options

    refuse_read_options(question, source, judges, options)


set_table_reader(TableReader(_labels_of, _refuse_read_options))

__getattr__, __dir__, __all__ = open_door(__name__, __file__, _moved)
