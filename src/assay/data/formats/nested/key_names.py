"""The names of keys: which are called as annotators, as answers, as criteria or as comments are.

In ``{"rater": "ann", "scores": {"clarity": 4, "reason": "..."}}``, ``rater`` names who answered, ``scores`` contains
answers, ``clarity`` is a criterion and ``reason`` is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.data.names import model_names
from assay.data.structure.role_names import (
    MACHINE_KINDS,
    MOST_INITIALS,
    PEOPLE_KINDS,
    SYSTEM_NAME,
    called,
    called_people,
    is_human,
    plain_name,
)


def single(name: str) -> str:
    """The plain name of a key in the singular."""
    return plain_name(name).removesuffix("s")


def has_role(key: str, *roles: str) -> bool:
    """Whether a key is called as one of some roles of ``roles.toml``."""
    return any(called(plain_name(key), role) for role in roles)


def tells_answer(key: str) -> bool:
    """Whether a key is called as a label or a comment is, not as an annotator."""
    return has_role(key, "label", "comment")


def called_criterion(key: str) -> bool:
    """Whether a key is called as a criterion is; a numbered question can be an item, too."""
    return has_role(key, "questions") and not re.search(r"\d", key)


MOST_NAME = 3
"""Words up to which a name that ends in ``scores`` names a list of answers."""


def holds_answers(name: str) -> bool:
    """Whether a list is called as labels are: ``scores``, ``human_scores``."""
    parts = single(name).split()
    return has_role(" ".join(parts), "label") or (len(parts) <= MOST_NAME and has_role(" ".join(parts[-1:]), "label"))


EVALUATIONS = (
    "evaluation", "eval", "assessment", "criteria", "criterion", "dimension", "rubric", "aspect", "feedback", "grading",
    "scoring", "check", "checklist", "flag",
)  # fmt: skip
"""Names, in the singular, of an object of labels by criterion, next to no other label."""


def holds_labels(name: str) -> bool:
    """Whether an object is called as labels are, or as their criteria: ``scores``, ``rubric``."""
    return holds_answers(name) or single(name) in EVALUATIONS


def called_machines(name: str) -> bool:
    """Whether a list is called as the answers of models are: ``llm_annotations``, ``judge_scores``."""
    first = plain_name(name).partition(" ")[0]
    return holds_answers(name) and (first in MACHINE_KINDS or bool(model_names([first])))


def name_people(names: Iterable[str]) -> bool:
    """Whether a column or key is called as those of annotators are."""
    return any(called_people(plain_name(name)) == 2 for name in names)


ABOUT_JUDGE = {"family", "provider", "vendor", "persona", "alias", "slug", "engine"}
"""Words after ``judge`` in the name of a column that names the judge."""

MOST_ID = 100
"""Characters up to which a text names an annotator."""


def raters_in(cells: Mapping[str, Sequence[Any]]) -> list[str]:
    """The columns that name who answered: ``annotator``, ``rater_id``, ``judge_model``, ``judge_family``."""
    found = []
    for name, values in cells.items():
        plain = plain_name(name)
        judge = plain.split()[:1] == ["judge"] and {*plain.split()[1:]} <= ABOUT_JUDGE
        if values and all(type(v) in (str, int) and len(str(v)) <= MOST_ID for v in values):
            again = called_people(plain) == 1 and plain != "name" and len({*values}) < len(values)
            found += [name] if name_people([name]) or has_role(name, "judge") or judge or again else []
    return found


SHORT_CRITERIA = {
    "acc", "rel", "flu", "coh", "con", "inf", "cor", "com", "cla", "gra", "hel", "saf", "fac", "nat", "ade", "ton",
    "sty", "rea", "use", "eng", "cre", "int", "det", "dep", "log", "sim", "val", "nov",
}  # fmt: skip
"""Abbreviations of criteria, which are no initials."""


def name_annotators(keys: Sequence[str], objects: Sequence[Mapping[str, Any]] = ()) -> bool:
    """Whether keys are annotators by their names: people, models, first names, initials, or ids of a crowd."""
    plain = {key: plain_name(key) for key in keys}
    if not keys or any(called(one, "questions") or one in SHORT_CRITERIA for one in plain.values()):
        return False
    people = [k for k in keys if is_human(k)]
    machines = [k for k in keys if k in model_names(keys, keys) or plain[k] in MACHINE_KINDS or "@" in k]
    # A key such as human_likeness is called as a person, but only next to others.
    if {*people, *machines} < {*keys}:
        people = [k for k in people if re.sub(r" ?(\d+|\b[a-z])$", "", plain[k]) in PEOPLE_KINDS
                  or called_people(re.sub(r" ?\d+$", "", plain[k])) == 2]  # fmt: skip
    numbered = [k for k in keys if re.fullmatch(r"(?i)[ahrw]\d+", k)]
    names = [k for k in keys if called(plain[k], "first names")]
    sure = {*people, *machines, *names, *(numbered if len(numbered) == len(keys) else ())}
    # Single letters are the sides of a pair, or options, as often as people.
    letters = max(map(len, keys)) == 1
    initials = {k for k in keys if len(k) <= MOST_INITIALS and k.isalpha() and not letters}
    return 2 * len(sure) >= len(keys) or sure | initials == {*keys} or _are_crowd(keys, objects)


def _are_crowd(keys: Sequence[str], objects: Sequence[Mapping[str, Any]]) -> bool:
    """Whether keys are numbered ids, some of which are in each object: a few of many annotators, not its criteria."""
    sets = {frozenset(k for k, v in one.items() if v is not None) for one in objects}
    several = len(keys) >= 1.5 * max(map(len, sets), default=len(keys))
    return several and all(any(c.isdigit() for c in key) for key in keys) and any(
        one & other and one != other for one in sets for other in sets)  # fmt: skip


def could_be_rated(keys: Sequence[str]) -> bool:
    """Whether keys are called as models or systems are, whose outputs can be rated."""
    return all(has_role(k, "rated") or SYSTEM_NAME.fullmatch(k) or model_names([k]) for k in keys)
