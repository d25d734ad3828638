"""The search for the structure of a table: what names of columns say, and which annotators are judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data import words
from assay.data.names import KINDS, model_names, possible_judges
from assay.data.structure.cells import ColumnView
from assay.data.structure.probabilities import PREFIXES, probability_columns
from assay.data.structure.readings import MOST_CHOICES
from assay.data.structure.role_names import (
    BY_NAME,
    NUMBERED,
    called,
    called_people,
    data_of,
    human_names,
    is_human,
    plain_name,
)
from assay.data.structure.roles import ROWS, Choice, Doubt, RoleKind, Stated, quote
from assay.data.values import MOST_CATEGORIES
from assay.errors import counted

MOST_PEOPLE = 60
"""Largest number of annotators' columns in a wide sheet: forms have more questions, no study has more annotators."""

_REASONS: Mapping[RoleKind, str] = {
    "time stamp": "dates and times", "empty": "no values", "probability": words.SUM_TO_ONE,
}  # fmt: skip
"""Reasons of roles that a name does not decide alone."""

_HUMAN = {"human", "humans"}
"""Names of annotators, in the plain form, whose contrast with another one is that this is a machine."""

_AI = ("AI", "KI", "IA", "LLM", "ML")


class TableSearch:
    """What the search for the structure of a table knows, by the names and cells of its columns."""

    def __init__(self, views: Mapping[str, ColumnView], stated: Stated, frame: pl.DataFrame) -> None:
        self.views, self.stated, self.frame = views, stated, frame.drop(ROWS, strict=False)
        self.row_numbers = frame[ROWS] if ROWS in frame.columns else None
        self.plain = {name: plain_name(name) for name in views}
        self.excluded = {*(stated.exclude or ())} - {stated.item, stated.annotator, stated.label}
        self.questions: list[Doubt] = []
        self.errors: list[str] = []

    @cached_property
    def _names_people(self) -> bool:
        """Whether a column is called as those of annotators are."""
        return any(called_people(plain) == 2 for plain in self.plain.values())

    def _cells(self, names: Sequence[str]) -> NDArray[np.float64]:
        return np.column_stack([self.views[n].numbers.to_numpy() for n in names])  # type: ignore[union-attr]

    @cached_property
    def _probabilities(self) -> tuple[str, ...]:
        """The columns with a judge's probabilities of the labels, unless the user gives them another role."""
        said = {*(getattr(self.stated, role) for role in ("item", "annotator", "label", "criterion", "repeat"))}
        said |= {*(self.stated.columns or ()), *self.stated.people, *(self.stated.exclude or ())}
        named = [n for n in self.views if n.startswith(PREFIXES) and n not in said]
        numbers = {n: found for n in named if len(named) > 1 and (found := self.views[n].numbers) is not None}
        if not numbers:
            return ()
        few = [v for n, v in self.views.items() if n not in numbers and 0 < v.n_values <= MOST_CATEGORIES]
        return probability_columns(numbers, [v.distinct.to_list() for v in few])

    def _is_system(self, name: str) -> bool:
        return called(self.plain[name], "system")

    def _names_judges(self, name: str) -> bool:
        """Whether a column called as judges are has names of models alone: it says who answered, and holds no labels.

        Next to votes of people for models, a judge's are names of models, too.
        """
        view, plain = self.views[name], self.plain[name]
        if (
            not called(plain, "judge")
            or not view.is_text
            or name in {*self.stated.people, *(self.stated.columns or ())}
        ):
            return False
        cells = view.distinct.to_list()
        votes = any(is_human(n) and {*v.distinct.to_list()} & {*cells} for n, v in self.views.items() if n != name)
        return 0 < len(cells) <= MOST_PEOPLE and model_names(cells, cells) == cells and not votes

    def _statistics(self) -> list[str]:
        """The columns of statistics, such as kappa, in a table that has no other column which could hold labels."""
        stated = self.stated
        roles = {role for role in ("item", "annotator", "label", "criterion") if getattr(stated, role) is not None}
        if roles - stated.by_name or stated.columns is not None or stated.people or stated.shape is not None:
            return []
        if any(called_people(plain) == 2 and self._repeats(n) for n, plain in self.plain.items()):
            return []  # people who rate their agreement on a line
        agreements = [n for n, v in self.views.items() if v.numeric and called(self.plain[n], "agreement")]
        known = {n for n, plain in self.plain.items() if called(plain, "statistic")} | {*agreements}
        if all(self.views[n].whole for n in agreements) or not all(map(self._names_things, {*self.views} - known)):
            return []
        return [n for n in self.views if n in known and self.views[n].numeric]

    def _names_things(self, name: str) -> bool:
        """Whether a column has names or texts, or nothing, and not labels."""
        view, plain = self.views[name], self.plain[name]
        if not view.filled or view.free or view.dates or view.counts_rows or (view.unique and view.is_text):
            return True
        if not view.is_text or called(plain, "label") or called(plain, "gold"):
            return False
        cells = view.distinct.to_list()
        usual = ("item", "criterion", "system", "judge", "repeat", "condition", "item column")
        people = called_people(plain) > 0 or len(model_names(cells)) + len(human_names(cells)) >= len(cells)
        return people or any(called(plain, role) for role in usual)

    def _could_hold(self, role: str, names: Sequence[str]) -> None:
        choices = tuple((f"'{n}' is the {role}", {role: n}) for n in names[:MOST_CHOICES])
        self.questions.append(Doubt(f"{quote(names)} could each hold the {role} (set {role}=...)", choices))

    def _repeats(self, name: str) -> bool:
        view = self.views[name]
        return len(view.distinct) < view.filled

    def _is_kind(self, name: str) -> bool:
        return set(self.views[name].distinct.str.to_lowercase()) <= set(KINDS)

    def _asked(self) -> tuple[Doubt, ...]:
        return tuple({one.text: one for one in self.questions}.values())

    def name_judges(self, names: Sequence[str], options: dict[str, Any], *, of_columns: bool = False) -> None:
        """Find annotators with names of models, if the user has not specified the judges.

        Where annotators are columns, those with other names than people's are asked about however many they are, and
        the question also says who is then human.
        """
        if self.stated.judges is not None or self.stated.humans is not None:
            return
        models, contrast = model_names(names, names), False
        reason = words.model_reason(models)
        named = bool(models)
        if not models:
            models = [n for n in names if n in _AI and all(len(o) > len(n) for o in names if o != n)]
            reason = "by name"
        if not models:
            people = human_names(names)
            models = [n for n in names if n not in people]
            few = len(models) <= len(people) or of_columns
            of_two = len(names) == 2 and {plain_name(n) for n in people} & _HUMAN
            contrast = bool(models) and bool((len(people) > 1 and few) or of_two)
            if not contrast:
                return
            reason = f"{'the name differs' if len(models) == 1 else 'names differ'} from {quote(people, 4)}"
        options["judges"] = models
        choices: list[Choice] = [(words.are_judges(models), {"judges": models})]
        if not named and len(names) - len(models) > 1:
            choices.append((words.no_annotators(models), {"judges": (), "exclude": models}))
        if contrast:
            choices.append((words.all_human(), {"judges": []}))
        said = possible_judges(models, reason)
        rest = [n for n in names if n not in models]
        if of_columns and rest != human_names(rest):
            said += words.and_human(rest)
        self.questions.append(Doubt(said, tuple(choices)))

    def _confirm(self, text: str, options: Mapping[str, Any]) -> None:
        self.questions.append(Doubt(text, ((text, options),)))

    def _why_labels(self, view: ColumnView) -> str:
        if view.ends is not None:
            return f"{view.ends[0]:g} to {view.ends[1]:g}"
        return f"{len(view.distinct)} categories"

    def _by_name(self, name: str) -> RoleKind | None:
        """The role of a column by its name (and, for some roles, its cells); None if the name is not known."""
        view, plain = self.views[name], self.plain[name]
        if not view.filled:
            return "empty"
        if name in self._probabilities:
            return "probability"
        if name in self.stated.people:
            return None
        if self._names_judges(name):
            return "item column"
        timed = called(plain, "time stamp")
        if view.dates and (view.temporal or timed or len(view.distinct) > MOST_CATEGORIES):
            return "time stamp"
        if NUMBERED.fullmatch(plain) and (view.counts_rows or ("unnamed" in plain and view.unique and view.whole)):
            return "row number"
        if timed and (view.dates or view.ends is None or view.ends[1] > 1e5):
            return "time stamp"
        for role in BY_NAME[1:]:
            # Comments are words: `feedback.rating` has the numbers of a scale.
            if called(plain, role) and not (role == "comment" and view.numeric):
                return role  # type: ignore[return-value]
        if called(plain, "metric") and view.values is not None and not view.whole:
            return "item column"
        return data_of(name, self.views)

    def other_role(self, name: str) -> tuple[RoleKind, str]:
        """The role of a column that is neither item nor annotator nor label."""
        view, role = self.views[name], self._by_name(name)
        if self.stated.exclude and name in self.stated.exclude:
            return "computed", "listed in exclude"
        if self.stated.exclude == () and role == "computed":
            role = None
        if role is not None:
            return role, _REASONS.get(role, "by name")
        if view.free:
            return "comment", f"free text in {counted(view.filled, 'row')}"
        if view.dates:
            return "time stamp", "dates"
        return "unknown", ""
