"""Whether people answer as is known to be right: attention checks, and the practice before the study."""

from __future__ import annotations

import json

from assay.collecting.design import Design, is_wrong
from assay.data.scales import Scale, parse_scale
from assay.study.schema import scale_of
from assay.study.store import standing
from assay.study.store.connection import Connection
from assay.study.store.items import Role, known_items


def stopped(design: Design, db: Connection, person: str | None = None) -> dict[str, str]:
    """By person (or of one), why they are given nothing further; those who may go on are left out.

    Whether practice was passed is told by the first answers, as the page says afterwards what was expected.
    """
    found = {}
    least, checks = design.people.pass_warm_up, design.people.checks
    if checks is not None and checks.most_failed is not None:
        for name, wrong in _wrong(design, db, "check", person).items():
            if sum(wrong) > checks.most_failed:
                found[name] = f"failed {sum(wrong)} of {len(wrong)} checks"
    if least is not None:
        of = len(known_items(design.store, "warm-up"))
        for name, wrong in _wrong(design, db, "warm-up", person).items():
            right = len(wrong) - sum(wrong)
            if len(wrong) == of and right < least * of:
                found[name] = f"had {right} of {of} right in the practice"
    return found


def checks_failed(design: Design, db: Connection) -> dict[str, list[bool]]:
    """By person, for each attention check that they answered, whether they failed it."""
    return _wrong(design, db, "check")


def _wrong(design: Design, db: Connection, role: Role, person: str | None = None) -> dict[str, list[bool]]:
    """By person, for each item of a role that they answered, whether one of its answers is wrong."""
    known = known_items(design.store, role)
    if not known:
        return {}
    names = {q.id: (q.definition.name, scale_of(q.definition.scale)) for q in design.questions}
    found: dict[str, dict[tuple[str, str, int], bool]] = {}
    for row in standing.known_answers(db, list(names), role, person, first=role == "warm-up"):
        name, scale = names[row.question]
        if row.item in known and name in known[row.item]["labels"]:
            wrong = is_wrong(row.label, known[row.item]["labels"][name], _scale_in(row.condition, scale), scale)
            mine = found.setdefault(row.annotator, {})
            task = (row.item, row.condition, row.repeat)
            mine[task] = mine.get(task, False) or wrong
    return {one: list(tasks.values()) for one, tasks in found.items()}


def _scale_in(condition: str, scale: Scale) -> Scale:
    """The scale of a session, or the question's own."""
    varied = json.loads(condition).get("scale")
    return parse_scale(varied) if varied else scale
