"""How well people agree so far, question by question, for a look while they are at work."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.collecting.design import Design
from assay.data.scales import Label, Scale, parse_scale
from assay.errors import AssayError
from assay.study.kinds import kind_of
from assay.study.schema import scale_of
from assay.study.store.connection import Connection
from assay.study.store.standing import human_answers

log = logging.getLogger("assay.collecting")

FEWEST_ITEMS = 5
"""With fewer items that two people answered, nothing is said of agreement: its interval would say nothing."""


@dataclass(frozen=True)
class Agreed:
    """How well people agree on one question so far.

    Attributes
    ----------
    question, scale : str
        The question's name; and its scale, where the study varies it.
    title : str
        Of the coefficient.
    estimate, low, high : float, optional
        With its 95% interval; None where there is none, and `reason` says why.
    items, people : int
        Items that two people or more answered, and people.
    """

    question: str
    scale: str
    title: str = ""
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    items: int = 0
    people: int = 0
    reason: str = ""


def agreement_so_far(design: Design, db: Connection) -> tuple[Agreed, ...]:
    """Krippendorff's alpha of the people, for every question and every scale on which it was asked."""
    tables = _labels_of_people(design, db)
    found = []
    for question in design.questions:
        one = question.definition
        for spec in design.scales or (None,):
            scale = parse_scale(spec) if spec else scale_of(one.scale)
            found.append(_agreed(one.name, spec or "", scale, tables.get((question.id, spec), {})))
    return tuple(found)


def _labels_of_people(design: Design, db: Connection) -> dict[tuple[int, str | None], dict[tuple[str, str], Label]]:
    """By question and scale: the label by item and person, the first time that they were asked."""
    found: dict[tuple[int, str | None], dict[tuple[str, str], Label]] = {}
    for row in human_answers(db, [q.id for q in design.questions]):
        spec = json.loads(row.condition).get("scale") if design.scales else None
        found.setdefault((row.question, spec), {}).setdefault((row.item, row.annotator), row.label)
    return found


def _agreed(question: str, spec: str, scale: Scale, labels: Mapping[tuple[str, str], Label]) -> Agreed:
    """The coefficient that suits the scale, or why there is none."""
    each: dict[str, int] = {}
    for item, _ in labels:
        each[item] = each.get(item, 0) + 1
    items = sum(number > 1 for number in each.values())
    people = len({person for _, person in labels})
    so_far = Agreed(question, spec, items=items, people=people)
    if kind_of(scale).free_text:
        return replace(so_far, reason="free text has no labels that could be the same; read the answers")
    if people < 2:
        who = "nobody has" if people == 0 else "only one person has"
        return replace(so_far, reason=f"{who} answered so far; agreement needs two people on the same items")
    if items < FEWEST_ITEMS:
        have = "1 item has" if items == 1 else f"{items} items have"
        return replace(so_far, reason=f"{have} answers of two people so far; it is computed from {FEWEST_ITEMS} on")
    try:
        return replace(so_far, **_alpha(scale, labels))
    except AssayError as error:
        return replace(so_far, reason=str(error))
    except Exception:
        log.exception("agreement on %s could not be computed", question)
        return replace(so_far, reason="it could not be computed; the server's log says why")


def _alpha(scale: Scale, labels: Mapping[tuple[str, str], Label]) -> dict[str, Any]:
    import polars as pl

    from assay.concordance.categorical import krippendorff_alpha
    from assay.data.annotations import Annotations

    values = list(labels.values())
    column: Sequence[Any] = values
    if any(isinstance(value, str) for value in values):
        column = [value if isinstance(value, str) else f"{value:g}" for value in values]
    rows = {"item": [item for item, _ in labels], "annotator": [person for _, person in labels]}
    frame = pl.DataFrame({**rows, "label": pl.Series(column, strict=False)})
    level = {"interval": "interval", "ordinal": "ordinal"}.get(scale.kind, "nominal")
    # Items and people have been told apart by the study already.
    table = Annotations.from_frame(frame, humans=set(rows["annotator"]), spelling="apart", scale=scale)
    one = krippendorff_alpha(table, level=level)  # type: ignore[arg-type]
    estimate, low, high = (value if math.isfinite(value) else None for value in (one.estimate, one.low, one.high))
    words = "" if None not in (estimate, low, high) else one.reason or "there is no interval"
    return {"title": one.title, "estimate": estimate, "low": low, "high": high, "reason": words}
