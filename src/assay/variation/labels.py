"""What opinions and panels read alike: whose labels count, labels as numbers, and copies of an annotator's labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from assay.data.annotations import Annotations, Answers, Repeats
from assay.data.scales import Label, Scale
from assay.errors import DataError, DesignError, unknown
from assay.estimation.statistic import Floats
from assay.statistics.guard import Guard

Combined = Literal["error", "first", "last", "mean", "majority"]
"""How repeated labels of one annotator become one: they are not labels of different annotators."""

_ENSEMBLE = re.compile(r"(majority|mean|median) of (.+)")


class Compared(Protocol):
    """Options that a comparison with the labels of annotators has."""

    @property
    def clusters(self) -> str | None:
        """Item column of clusters."""

    @property
    def repeats(self) -> Combined:
        """How to combine repeated labels."""


def require_comparable(scale: Scale, question: str) -> None:
    """Refuse free text and choices of texts.

    Raises
    ------
    DesignError
        For labels that are not categories, ordered labels or numbers.
    """
    if not (scale.ordered or scale.kind in ("nominal", "preference")):
        raise DesignError(
            f"{question} requires categories, ordered labels or numbers; these labels are free text. Name the "
            "categories with scale=..."
        )


def people_of(labels: Annotations, named: Sequence[str] | None, question: str) -> tuple[str, ...]:
    """Return the annotators whose labels count.

    Raises
    ------
    DataError
        For an unknown annotator.
    DesignError
        For fewer than two.
    """
    people = labels.humans if named is None else tuple(dict.fromkeys(named))
    there = present(people, labels)
    missing = [one for one in people if one not in there]
    if missing:
        raise DataError(unknown("annotator", missing[0], labels.humans))
    if len(people) < 2:
        have = f"there {'is' if len(people) == 1 else 'are'} {len(people)}"
        raise DesignError(f"{question} requires two annotators or more; {have}")
    return people


def present(people: Sequence[str], table: Annotations) -> list[str]:
    """Return those of some annotators whose labels a table contains."""
    known = {*table.humans, *table.judges}
    return [one for one in people if one in known]


def ensembles_of(labels: Annotations) -> dict[str, tuple[str, ...]]:
    """Return the judges that are computed from other judges of the table, with their members."""
    if "strategy" not in labels.annotators.columns:
        return {}
    found = {}
    for name, strategy in labels.annotators.select("annotator", "strategy").iter_rows():
        said = _ENSEMBLE.fullmatch(strategy or "")
        members = tuple(said[2].split(", ")) if said else ()
        if members and set(members) <= set(labels.judges):
            found[name] = members
    return found


@dataclass(frozen=True, eq=False)
class LabelNumbers:
    """The labels of a table as numbers: numbers and votes are their own, categories are numbered."""

    scale: Scale
    labels: tuple[Label, ...] | None

    @classmethod
    def of(cls, table: Annotations) -> LabelNumbers:
        """Number the categories of the scale or, if it lists none, those that occur."""
        scale = table.scale
        if scale.numeric or scale.kind == "preference":
            return cls(scale, None)
        return cls(scale, scale.categories or tuple(sorted(table.labels["label"].unique().to_list(), key=str)))

    def of_answers(self, answers: Answers) -> Floats:
        """The labels as numbers: (labels,)."""
        if self.labels is None or answers.categories is None:
            return answers.value.astype(float)
        at = {label: i for i, label in enumerate(self.labels)}
        codes: Floats = np.array([at[label] for label in answers.categories], dtype=float)
        return np.asarray(codes[answers.value])

    def of_text(self, text: str) -> float | None:
        """The number of a label that is the end of a column's name; None if it is not a label."""
        if self.labels is not None:
            at = {str(label): i for i, label in enumerate(self.labels)}
            return float(at[text]) if text in at else None
        try:
            value = float(text)
        except ValueError:
            return None
        return value if self.scale.contains(int(value) if value.is_integer() else value) else None


def matched_annotator(
    parts: Sequence[Annotations], judge: str, people: Sequence[str], settings: Compared
) -> str | None:
    """Return the annotator whose labels the judge matches unusually often.

    None also with two annotators, and with several labels per answer.
    """
    if len(people) < 3 or len(parts) > 1 or judge not in parts[0].judges:
        return None
    here = present(people, parts[0])
    repeats: Repeats = "first" if settings.repeats == "error" else settings.repeats
    guard = Guard.of(
        parts[0].where(annotator=[judge, *here]), judge, epsilon=0.0, min_agreement_ratio=0.0, annotators=here,
        clusters=settings.clusters, repeats=repeats,
    )  # fmt: skip
    return guard.matched
