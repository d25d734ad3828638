"""Columns that identify a row more often than chance would, and the labels that are left."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from assay.data import words
from assay.data.structure.cells import ColumnView
from assay.data.structure.dependence import crossed, dependence, identify_rows, repetition
from assay.data.structure.one_scale import MOST_SHARED_VALUES, on_one_scale, scale_groups
from assay.data.structure.readings import MOST_CHOICES, MOST_READINGS
from assay.data.structure.role_names import ENDS_IN_ID, ID, MEASURE, called, called_people
from assay.data.structure.roles import Doubt
from assay.data.structure.search import TableSearch

MOST_ENTITIES = 16
"""Columns that are tried as parts of a key, those with usual names first."""

LARGEST_ENTITY = 0.7
"""Share of rows up to which the values of a column come again, as those of an item or an annotator do."""

LEAST_AGAIN = 2
"""How often texts that name a part of an item occur, on average: replies of two annotators can be equal by chance."""

MOST_EQUAL_ITEMS = 10
"""Items up to which all annotators can agree on each of them by chance."""

LEAST_FILLED = 0.9
"""Share of filled cells of a column that identifies rows."""


class RowKey(NamedTuple):
    """Columns that identify a row: who answered, what was answered, and for which criterion and repeat."""

    who: str
    item: tuple[str, ...]
    criterion: str | None = None
    repeat: str | None = None
    why: str = ""
    condition: str | None = None
    found: bool = False
    """Whether the rows show it."""

    @property
    def members(self) -> tuple[str, ...]:
        """All its columns."""
        return tuple(n for n in (*self.item, self.who, self.criterion, self.repeat, self.condition) if n is not None)

    @property
    def options(self) -> dict[str, Any]:
        """The options of `assay.read` that state it."""
        found: dict[str, Any] = {
            "item": self.item[0] if len(self.item) == 1 else list(self.item),
            "annotator": self.who,
        }
        found |= {role: name for role, name in (("criterion", self.criterion), ("repeat", self.repeat)) if name}
        return found | ({"conditions": [self.condition]} if self.condition else {})


def columns_of(label: Any) -> list[str]:
    """Return the columns of an option ``label``, which is one of them or a list."""
    return [label] if isinstance(label, str) else [*label]


class KeySearch(TableSearch):
    """Finds the columns that identify a row, and those that hold labels."""

    @cached_property
    def _entities(self) -> list[list[str]]:
        """Columns whose values come again, those that name the same things together, the best name first."""
        stated = {self.stated.item, self.stated.annotator, self.stated.criterion, self.stated.repeat}
        rows = self.frame.height
        fits = [
            v for v in self.views.values()
            if v.name in stated or (
                v.share_filled > LEAST_FILLED and 2 <= v.n_values <= LARGEST_ENTITY * rows and not v.dates
                and (v.values is None or v.whole) and v.name != self.stated.label and v.name not in self._probabilities
                and v.name not in self.excluded and not MEASURE.fullmatch(self.plain[v.name])
                and not v.lists_labels
            )
        ]  # fmt: skip
        fits.sort(key=lambda v: (v.name not in stated, -self._entity_rank(v)))
        groups: list[list[str]] = []
        for view in fits[: 2 * MOST_ENTITIES]:
            same = next((g for g in groups if self._same_entity(self.views[g[0]], view)), None)
            if same is None:
                groups.append([view.name])
            elif view.name not in stated:
                # Names say more than codes of the same annotators.
                names = view.values is None and called_people(self.plain[view.name])
                first = names and self.views[same[0]].values is not None and same[0] not in stated
                same.insert(0 if first else len(same), view.name)
        return groups[:MOST_ENTITIES]

    def _entity_rank(self, view: ColumnView) -> int:
        plain = self.plain[view.name]
        rank = 4 * called_people(plain) + 3 * called(plain, "item")
        rank += 2 * bool(ID.search(plain)) + any(called(plain, one) for one in ("criterion", "repeat", "system"))
        return rank - 4 * called(plain, "label") - 2 * view.free - view.spaced

    def _same_entity(self, one: ColumnView, other: ColumnView) -> bool:
        forth, back = dependence(other.codes, one.codes), dependence(one.codes, other.codes)
        if forth.holds is None or back.holds is None:
            return forth.broken == back.broken == 0 and forth.could > 0 and one.n_values == other.n_values
        loose = max(forth.broken / max(forth.could, 1), back.broken / max(back.could, 1)) <= 0.1
        return loose and (forth.holds or back.holds) and one.n_values > 2

    def _belongs(self, name: str, on: Sequence[str]) -> bool | None:
        """Whether a column has one value for each value (or combination) of others; None if there are too few rows."""
        found = dependence(self.views[name].codes, crossed([self.views[n].codes for n in on]))
        if found.holds is None and found.broken:
            return False
        return found.holds

    @cached_property
    def _keys(self) -> list[tuple[str, ...]]:
        """The smallest sets of columns that identify a row more often than chance would."""
        return self._all_keys[0]

    @cached_property
    def _all_keys(self) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
        """The smallest sets of columns that identify a row; and those that do, but might by chance."""
        rows, heads = self.frame.height, [group[0] for group in self._entities]
        functions = {(a, b) for a in heads for b in heads if a != b and self._belongs(a, [b])}
        plain = [n for n in heads if not called(self.plain[n], "label") or called_people(self.plain[n])]
        possible: list[tuple[str, ...]] = []
        short = [n for n in plain if not self.views[n].free]
        for names in dict.fromkeys((tuple(short), tuple(plain), tuple(heads))):
            for size in (2, 3, 4):
                found = []
                for part in combinations(names, size):
                    ways = np.prod([float(self.views[n].n_values) for n in part])
                    if ways < LEAST_FILLED * rows or any((a, b) in functions for a in part for b in part):
                        continue
                    is_key = self._is_key(part)
                    if is_key:
                        found.append(part)
                    elif is_key is None and not any(set(k) <= set(part) for k in possible):
                        possible.append(part)
                if found:
                    # A coarser column gives way to a finer one: a teacher to a lesson.
                    return [k for k in found if not self._coarser(k, found, functions)], []
        return [], possible

    def _is_key(self, part: tuple[str, ...]) -> bool | None:
        """Whether columns identify a row, which their views remember: a table is searched once for each choice."""
        known = self.views[part[0]].identify_rows_with
        if part[1:] not in known:
            known[part[1:]] = identify_rows([self.views[n].codes for n in part])
        return known[part[1:]]

    def _coarser(self, key: tuple[str, ...], keys: Sequence[tuple[str, ...]], functions: set[tuple[str, str]]) -> bool:
        """Whether a column of a key is decided by that of another key; of two that decide each other, the later is."""
        for place, other in enumerate(keys):
            left, right = set(key) - set(other), set(other) - set(key)
            if len(left) == len(right) == 1 and (pair := (left.pop(), right.pop())) in functions:
                if pair[::-1] not in functions or self._names_judges(pair[1]) > self._names_judges(pair[0]):
                    return True
                if self._names_judges(pair[1]) == self._names_judges(pair[0]) and place < keys.index(key):
                    return True
        return False

    def _twice(self, names: Sequence[str]) -> int:
        codes = [self.views[n].codes for n in names if n in self.views]
        if len(codes) == 1:
            filled = codes[0][codes[0] >= 0]
            return len(filled) - len(np.unique(filled))
        return repetition(codes).repeats

    def _described(self, name: str, key: RowKey | tuple[str, ...]) -> tuple[str, ...] | None:
        """The smallest part of a key that decides a column; None if none does."""
        members = key.members if isinstance(key, RowKey) else key
        parts: list[tuple[str, ...]] = [(n,) for n in members]
        if isinstance(key, RowKey) and len(key.item) > 1:
            parts.append(key.item)
        for part in parts:
            if self._belongs(name, part):
                return part
        return None

    def _label_candidates(self, key: RowKey | tuple[str, ...]) -> list[str]:
        """The columns that differ within items and within annotators, as labels do."""
        members = key.members if isinstance(key, RowKey) else key
        same = {n for group in self._entities if group[0] in members for n in group}
        found = []
        for name, view in self.views.items():
            if name in same or name in members or name in self._probabilities or name in self.excluded:
                continue
            if self._names_judges(name) or ENDS_IN_ID.search(self.plain[name]):
                continue
            if not view.could_be_labels or view.n_values < 2:
                continue
            if view.unique and (view.values is None or view.counts_rows or view.whole):
                continue
            if self._described(name, key) is None and not self._names_parts(name, key):
                found.append(name)
        return found

    def _names_parts(self, name: str, key: RowKey | tuple[str, ...]) -> bool:
        """Whether a text that comes again is in the rows of one item only: it names a part of it, as an id does."""
        view = self.views[name]
        item = key.item if isinstance(key, RowKey) else ()
        again = view.values is None and LEAST_AGAIN * len(view.distinct) <= view.filled
        return again and len(item) > 1 and all(self._belongs(n, [name]) for n in item)

    def _labels(self, key: RowKey) -> tuple[list[str], Doubt | None]:
        """The columns of labels, one per criterion, and the question about them."""
        labels, question = self._labels_that_differ(key)
        further = self._same_within_items(labels, key)
        if not further:
            return labels, question
        every = [n for n in self.views if n in labels or n in further]
        choices = question.choices if question is not None else ((words.labels_are(labels), {"label": labels}),)
        asked = {n for _, options in choices for n in columns_of(options["label"])}
        could = [n for n in self.views if n in every or n in asked]
        return every, Doubt(words.several_labels(could), ((words.labels_are(every), {"label": every}), *choices))

    def _same_within_items(self, labels: Sequence[str], key: RowKey) -> list[str]:
        """Columns between those of labels, on their scale, that are the same for all annotators of each of few items.

        In so few items annotators can agree by chance.
        """
        order = list(self.views)
        items = crossed([self.views[n].codes for n in key.item if n in self.views])
        if self.stated.label is not None or len(labels) < 2 or len(np.unique(items)) > MOST_EQUAL_ITEMS:
            return []
        between = order[order.index(labels[0]) : order.index(labels[-1])]
        fits = [n for n in between if n not in (*labels, *key.members, *self.excluded) and self._by_name(n) is None]
        return [n for n in fits if self.views[n].could_be_labels and self.views[n].n_values > 1
                and self._belongs(n, key.item) is not False
                and any(on_one_scale(self.views[n], self.views[o]) for o in labels)]  # fmt: skip

    def _labels_that_differ(self, key: RowKey) -> tuple[list[str], Doubt | None]:
        """The columns of labels that differ within items, one per criterion, and the question about them."""
        stated = self.stated.label
        if stated is not None:
            return [stated], None
        open_ = self._label_candidates(key)
        open_ = [n for n in open_ if n != self.stated.kind and (n != "kind" or not self._is_kind(n))]
        exact = [n for n in open_ if self.plain[n] == "label"]
        # `category` is a label's name, and that of a description of items.
        usual = [n for n in open_ if called(self.plain[n], "label")]
        named = exact or ([n for n in usual if self._by_name(n) is None] if len(open_) > len(usual) else usual)
        if not open_:
            others = [n for n, v in self.views.items() if n not in (*key.members, *self.excluded)
                      and called(self.plain[n], "label") and v.filled and not v.counts_rows]  # fmt: skip
            return others[:1], None
        # A name such as "seconds" puts a column out only if its values are unlike labels, or another is called a label.
        left = [n for n in open_ if n in named or self._by_name(n) is None or (not named and self._like_labels(n))]
        left = left or open_
        # Fractions next to whole numbers are measurements, such as a fit.
        parts = [
            [n for n in g if self.views[n].whole is kind]
            for g in scale_groups(left, self.views)
            for kind in (True, False)
        ]
        groups = sorted(filter(None, parts), key=lambda g: -len(g))
        asked = [g for g in groups if all(called(self.plain[n], "questions") for n in g)]
        if named:
            groups = [g for g in groups if any(n in named for n in g)]
            ranked = [*([named] if len(named) == 1 else []), *groups]
        elif len(asked) == 1 and len(groups) == 1:
            return asked[0], None
        else:
            known = [g for g in groups if not all(self._by_name(n) is not None for n in g)]
            ranked = [*known, *(g for g in groups if g not in known)]
        if len(left) == 1 or (len(named) == 1 and groups == [named]):
            return left if len(left) == 1 else named, None
        ranked += [[n] for n in left] if len(left) <= MOST_CHOICES else []
        ranked = [list(g) for g in dict.fromkeys(map(tuple, ranked))]
        if left not in ranked:
            # Criteria on several scales, too: scores next to categories.
            ranked.insert(len(ranked) if named else 1, left)
        choices = [(words.labels_are(g), {"label": g[0] if len(g) == 1 else g}) for g in ranked[:MOST_READINGS]]
        return ranked[0], Doubt(words.several_labels(left), tuple(choices))

    def _like_labels(self, name: str) -> bool:
        view = self.views[name]
        if view.values is None:
            return len(view.distinct) <= MOST_SHARED_VALUES
        return len(view.values) <= MOST_SHARED_VALUES and view.whole
