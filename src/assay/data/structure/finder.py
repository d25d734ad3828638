"""Find the structure of a table: which columns hold the item, the annotators and the labels.

The rows decide (`assay.data.structure.dependence`). A column belongs to another if each value of the latter has a
single value of the former; columns that make rows unique, more often than chance would, are the item and the annotator;
labels are the columns that are left. Names choose between readings that the rows allow, and decide alone only where a
table has too few rows. If several readings are left, the structure has a question for the user.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from assay.data import words
from assay.data.names import model_names
from assay.data.structure.cells import LEAST_COUNTED, ROWS_INSPECTED, ColumnView, total_of_counts
from assay.data.structure.keys import RowKey
from assay.data.structure.one_scale import on_one_scale, on_same_values
from assay.data.structure.role_names import (
    COUNTED,
    GENERAL_MODELS,
    ID,
    called,
    called_people,
    called_person_ids,
    criteria_of_one,
    is_human,
    plain_name,
    stem,
)
from assay.data.structure.roles import ROWS, Role, Stated, Structure
from assay.data.structure.search import MOST_PEOPLE
from assay.data.structure.sides import find_battles
from assay.data.structure.wide import LEAST_CONSTANT, WideSearch


def find_structure(frame: pl.DataFrame, views: Mapping[str, ColumnView], stated: Stated) -> Structure:
    """Find the structure of a table.

    Parameters
    ----------
    frame : polars.DataFrame
        The table as read; a column ``_row`` has the numbers of its rows.
    views : mapping
        Views of its columns (`assay.data.structure.cells.views_of`).
    stated : Stated
        The roles that the user has specified; they are never questioned.
    """
    found = StructureSearch(views, stated, frame.head(ROWS_INSPECTED)).find()
    if not (found.questions or found.errors) or not (empty := _empty_labels(views)):
        return found
    if not found.questions:
        return replace(found, errors=(*found.errors, words.empty_labels(empty)))
    first, *others = found.questions
    return replace(found, questions=(first._replace(text=f"{words.empty_labels(empty)}; {first.text}"), *others))


def _empty_labels(views: Mapping[str, ColumnView]) -> list[str]:
    """The columns without a value whose names are those of labels or of who gives them: a form to be filled in."""
    empty = {n: plain_name(n) for n, view in views.items() if not view.filled}
    return [n for n, plain in empty.items() if is_human(n) or called_people(plain)
            or any(called(plain, role) for role in ("label", "judge", "questions", "gold"))]  # fmt: skip


MOST_WORDS = 3
"""Largest number of words in an annotator's name: texts of items that mention a model have more."""


RESPONSE_IDS = ("response id", "responseid")
"""Names of the ids of forms that were filled in, one by each person."""

NAMES_PEOPLE = 3
"""How surely a column of a key says who answered, so that people who are columns too have only some of the labels."""

SEVERITIES = {"critical": 25, "major": 5, "minor": 1, "neutral": 0, "no error": 0, "none": 0}
"""The weight of an error of each severity in MQM (Multidimensional Quality Metrics), as translations are rated."""


class StructureSearch(WideSearch):
    """Finds the structure of one table."""

    def find(self) -> Structure:
        """Return the structure, by the shape that the user or the rows decide."""
        self.stated = stated = self._with_named_columns()
        self.views = {**self.views, **self._nearly_labels()}
        shape = stated.shape
        said = any(getattr(stated, role) is not None for role in ("shape", "columns", "item", "annotator", "label"))
        plain = shape is None and stated.annotator is None and stated.label is None
        if stated.columns is not None or (plain and len(find_battles(self.frame, self.views)) > 1):
            shape = shape or "wide"
        headless = [n for n, v in self.views.items() if v.filled and n in set(v.distinct.to_list())]
        places = sorted(int(n) for n in headless if n.isdigit())
        # Columns can be numbered: 1, 2, 3.
        numbered = len(places) == len(headless) and places == [places[0] + k for k in range(len(places))]
        if len(headless) > 1 and not said and not numbered and 2 * len(headless) >= len(self.views):
            columns = tuple(Role(n, "unknown", "", v.examples(), "doubtful") for n, v in self.views.items())
            return Structure("long", columns, errors=(words.no_header(headless),))
        if statistics := self._statistics():
            columns = tuple(Role(n, "unknown", "", v.examples(), "doubtful") for n, v in self.views.items())
            return Structure("long", columns, errors=(words.statistics(statistics),))
        if shape is None and self._has_runs_of_columns():
            shape = "wide"
        if shape == "wide":
            return self.wide()
        if shape == "transposed":
            return self.transposed()
        if shape is None and stated.annotator is None and stated.label is None:
            counts = self._counts()
            if counts:
                return self._counted(counts)
            shares = self._shares()
            if shares:
                columns = tuple(Role(n, "probability" if n in shares else "unknown", "", v.examples())
                                for n, v in self.views.items())  # fmt: skip
                return Structure("counts", columns, errors=(words.shares(shares),))
        unnamed = {
            role for role in ("item", "annotator", "label") if getattr(stated, role) is not None
        } <= stated.by_name
        if shape is None and unnamed and (errors := self._errors_in_texts()) is not None:
            return errors
        key = self._key_of_one_annotator() or self._key()
        if key is not None or shape == "long":
            return self._unread() if key is None else self.long(key)
        if self.questions and self._keys_are_questions():
            self.questions = []
        if self.questions:
            return self._asked_who()
        if self._asks_about_one_model():
            return self._asked_who()
        once = stated.annotator in self.views and self.views[str(stated.annotator)].unique
        labelled = stated.label is not None and not self._labels_data(stated.label)
        if labelled or (stated.annotator is not None and not (once and stated.item is None)):
            return self._unread()
        if self._form_questions():
            return self.transposed()
        return self._unread() if once else self.wide()

    def _nearly_labels(self) -> dict[str, ColumnView]:
        """The columns of numbers, except a few cells (a date, a number without its %), on the scale of other columns.

        They have the roles that they would have without these cells, which reading them then refuses with their rows.
        """
        near = {n: one for n, v in self.views.items() if (one := v.corrected) and self.other_role(n)[0] == "unknown"}
        if not near:
            return {}
        views = {**self.views, **near}
        known = [n for n, v in views.items() if v.numeric and self.other_role(n)[0] == "unknown"]
        return {n: one for n, one in near.items() if any(on_same_values(one, views[o]) for o in known if o != n)}

    def _labels_data(self, label: str) -> bool:
        """Whether a column called label holds one class, or titles, next to columns that could be labels."""
        view = self.views.get(label) if "label" in self.stated.by_name else None
        if view is None or not (view.n_values <= 1 or (view.unique and view.spaced)):
            return False
        others = [n for n in self.views if n != label]
        could = [n for n in others if self.views[n].could_be_labels and self._by_name(n) is None]
        many = view.filled >= LEAST_CONSTANT and any(self.views[n].n_values > 1 for n in could)
        return many or criteria_of_one(others) is not None

    def _with_named_columns(self) -> Stated:
        """What the user has specified; people and judges who are columns of the table are those that hold its labels.

        Humans who all have names of models are named only because of that, and are not all of them.
        """
        stated = self.stated
        further = (stated.columns, stated.annotator, None if "label" in stated.by_name else stated.label)
        if not stated.people <= set(self.views) or any(one is not None for one in further):
            return stated
        if not (stated.humans and stated.judges) or stated.shape not in (None, "wide") or stated.split_columns:
            return stated
        if len(model_names(stated.humans)) == len(stated.humans):
            return stated
        if any(self._witness(n)[0] >= NAMES_PEOPLE for key in self._keys for n in key):
            return stated
        self._check_copies()
        return replace(stated, columns=tuple(n for n in self.views if n in stated.people), label=None)

    def _has_runs_of_columns(self) -> bool:
        """Whether the user names columns as annotators, and the item and the repeat of each row."""
        stated = self.stated
        if stated.item is None or stated.repeat is None or stated.columns is not None or stated.label is not None:
            return False
        rows = [n for n in (stated.item, stated.criterion, stated.repeat) if n is not None]
        return bool(stated.people) and {*stated.people, *rows} <= {*self.views} and not self._twice(rows)

    def _check_copies(self) -> None:
        """Refuse people with one label for each item whose rows differ in what is neither criterion nor repeat."""
        item = self.stated.item
        for key in (one for one in self._keys if item is None or item in one):
            whole = [n for n in key if not any(self._is_extra(n, one) or n == getattr(self.stated, one)
                                               for one in ("criterion", "repeat"))]  # fmt: skip
            for name in self.stated.humans or ():
                of = self._described(name, key)
                further = [n for n in whole if of is not None and n not in of]
                if of is not None and further and {*further} != {*whole}:
                    self.errors.append(words.copied_labels(name, of, further))
                    return

    def _key_of_one_annotator(self) -> RowKey | None:
        """The item of each row, and the column with the name of the one judge or person who answered, if any.

        Columns called as people or models are, next to such a name, are annotators themselves.
        """
        stated, views = self.stated, self.views
        once = [n for n, v in views.items() if v.n_values == 1 and v.filled == v.rows]
        judges = [n for n in once if self._names_judges(n)]
        named = judges or self._one_person(once)
        open_ = [n for n, v in views.items() if n not in named and v.could_be_labels and self._by_name(n) is None]
        others = [n for n in open_ if is_human(n) or called_people(self.plain[n]) == 2
                  or (model_names([n]) and not self._is_system(n))]  # fmt: skip
        one = criteria_of_one(others)
        # `llm_judge_score, llm_judge_pass` next to the name of that judge are its criteria.
        others = [] if one is not None and {*others} <= {*one.annotator_of} and model_names(one.annotators) else others
        if not any(is_human(n) or called_people(self.plain[n]) == 2 for n in others):
            others = [n for n in others if not self._is_criterion_of_model(n)]
        said = stated.columns is not None or stated.people & {*views} or stated.shape not in (None, "long")
        if not named or others or said or stated.annotator not in (None, named[0]):
            return None
        why = words.model_reason(judges[:1]) if judges else "by its name"
        item, joint, within = self._items_of_rows()
        if item is None and not joint:
            usual = ("item", "system", "criterion", "repeat", "condition")
            keys = [k for k in self._all_keys[1] if all(ID.search(self.plain[n]) or any(
                called(self.plain[n], one) for one in usual) for n in k)]  # fmt: skip
            key = self._split_key(named[0], (*keys[0], named[0]), why) if keys else None
            return key if key is None else key._replace(found=False)
        whole = (item,) if item is not None else tuple(joint)
        key = RowKey(named[0], whole, within.get("criterion"), within.get("repeat"), why)
        if not judges and called_people(self.plain[named[0]]) < 2 and stated.annotator is None:
            self._confirm(words.one_person(named[0], self.views[named[0]].examples()), {"annotator": named[0]})
        return key if within else self._with_extra(key)

    def _is_criterion_of_model(self, name: str) -> bool:
        """Whether a column names a model that another one says, and what it alone judged: ``llm_pass``."""
        parts = self.plain[name].split()
        what = [part for part in parts if part not in GENERAL_MODELS]
        others = [self.plain[n].split() for n in self.views if n != name]
        return 0 < len(what) < len(parts) and not any(one[-len(what) :] == what for one in others)

    def _one_person(self, once: Sequence[str]) -> list[str]:
        """The column of one value with the person who gave the labels of each row, in a column that is called so."""
        labelled = any(called(plain, "label") and self.views[n].could_be_labels for n, plain in self.plain.items())
        named = [n for n in once if called_people(self.plain[n]) and not self._is_system(n)
                 and (self.views[n].is_text or called_person_ids(self.plain[n]))]  # fmt: skip
        return named if labelled and len(named) == 1 and self.frame.height > 1 else []

    def _asks_about_one_model(self) -> bool:
        """Ask whether the one model of a column gave the labels of each item, or wrote what has them."""
        item, label, views = self.stated.item, self.stated.label, self.views
        models = [n for n, v in views.items() if v.n_values == 1 and self._is_system(n) and model_names(v.distinct)]
        if item not in views or label not in views or not views[str(item)].unique or len(models) != 1:
            return False
        if self.stated.annotator is not None or not self.stated.alone or self.stated.people:
            return False
        self._ask_judge_or_system(models[0], str(label), str(item))
        return True

    def _counts(self) -> list[str]:
        """The columns that hold how many annotators chose each category; empty if the table has none."""
        whole = [n for n, v in self.views.items() if v.numeric and v.whole and v.share_filled == 1
                 and self._by_name(n) is None and (v.ends or (-1,))[0] >= 0]  # fmt: skip
        tried = [whole, whole[1:]] if whole and self.views[whole[0]].unique else [whole]
        for names in tried:
            if len(names) > 2 and total_of_counts(self._cells(names)):
                return names
        named = [n for n in whole if COUNTED.fullmatch(self.plain[n])]
        further = {n for n in whole if not self.views[n].unique} - {*named}
        if len(named) > 1 and not further and not self._names_people:
            return named
        first = next(iter(self.views.values()), None)
        if first is not None and first.is_text and first.unique:
            others = [n for n in self.views if n != first.name]
            square = len(others) == first.rows >= 2 and set(others) == set(first.distinct.to_list())
            if square and all(self.views[n].numeric and self.views[n].whole for n in others):
                return others
        return []

    def _counted(self, counts: list[str]) -> Structure:
        columns = [Role(n, "label" if n in counts else "item", "a count" if n in counts else "", v.examples())
                   for n, v in self.views.items()]  # fmt: skip
        named = {cell for v in self.views.values() if v.is_text for cell in v.distinct}
        said = words.counts(counts, total_of_counts(self._cells(counts)), square=named >= set(counts))
        return Structure("counts", tuple(columns), errors=(said,))

    def _shares(self) -> list[str]:
        """Columns with the share of each category, which sum to 1 (or 100) in each row; empty if there are none."""
        numbers = [n for n, v in self.views.items() if v.numeric and v.share_filled == 1 and self._by_name(n) is None
                   and not (v.unique and v.whole) and (v.ends or (-1,))[0] >= 0]  # fmt: skip
        if len(numbers) < 3 or self._names_people or all(self.views[n].whole for n in numbers):
            return []
        sums = self._cells(numbers).sum(axis=1)
        if len(sums) < LEAST_COUNTED:
            return []
        return numbers if any(bool(np.allclose(sums, total, atol=0.01 * total)) for total in (1, 100)) else []

    def _errors_in_texts(self) -> Structure | None:
        """A table with one row per error in a text, so that an annotator has several rows for one text; None if not."""
        cells = {
            n: {c.lower().replace("-", " ") for c in v.distinct.head(9)} for n, v in self.views.items() if v.is_text
        }
        severity = next((n for n, own in cells.items() if {"major", "minor"} <= own <= {*SEVERITIES}), None)
        people = [n for n in self.views if called_people(self.plain[n]) == 2]
        if severity is None or len(people) != 1:
            return None
        rest = [n for n, v in self.views.items() if n not in (severity, people[0]) and not v.free and self._repeats(n)]
        names = [
            n for n in rest if called(self.plain[n], "item") or self._is_system(n) or self.plain[n].endswith(" id")
        ]
        item: list[str] = []
        for name in sorted(names, key=lambda n: -self.views[n].n_values):
            if not item or self._belongs(name, item) is False:
                item.append(name)
        if not item or not self._twice((*item, people[0])):
            return None
        weights = {one: weight for one, weight in SEVERITIES.items() if weight and one in cells[severity]}
        columns = tuple(Role(n, "unknown", "", v.examples(), "doubtful") for n, v in self.views.items())
        return Structure("long", columns, errors=(words.errors_in_texts(severity, weights, item, people[0]),))

    def _form_questions(self) -> list[str]:
        """The columns of a form with one row per annotator, one question each; empty if the table is not a form."""
        often = Counter(stem(plain) for plain in self.plain.values())
        asked = [v.name for v in self.views.values() if self._by_name(v.name) is None and v.could_be_labels
                 and not (v.unique and v.is_text)
                 and (often[stem(self.plain[v.name])] > 2
                      or not (v.counts_rows or (v.unique and called(self.plain[v.name], "item"))))]  # fmt: skip
        family = [name for name in asked if often[stem(self.plain[name])] > 2]
        if family:
            # Next to numbered questions, a single one about the person has other answers: an age.
            asked = [n for n in asked if n in family or any(on_one_scale(self.views[n], self.views[f]) for f in family)]
        people = self._people_column() if self.stated.annotator is None else self.stated.annotator
        if self._rows_of_annotators is not None or (self.stated.shape == "transposed" and family):
            return [name for name in family or asked if name != people]
        varied = {stem(self.plain[name]) for name in asked if self.views[name].n_values > 1 and name != people}
        # A constant column next to numbered questions, such as consent or a page, is not a question.
        numbered = [name for name in asked if stem(self.plain[name]) in varied]
        if people is not None and len(numbered) >= 3 and len(varied) <= max(1, len(numbered) // 4):
            return numbered
        if people is None or len(asked) < 3:
            return []
        kinds = {stem(self.plain[name]) for name in asked}
        many = len(asked) >= self.frame.height or len(asked) > MOST_PEOPLE
        return asked if many or len(kinds) <= max(1, len(asked) // 4) or _grid(asked) else []

    def _keys_are_questions(self) -> bool:
        """Whether answers to a form identify its rows by chance, next to a column that names who filled it in."""
        who = self._people_column()
        named = who is not None and (called_people(self.plain[who]) > 0 or self.plain[who] in RESPONSE_IDS)
        return named and {n for key in self._keys for n in key} <= {*self._form_questions()}

    @cached_property
    def _rows_of_annotators(self) -> str | None:
        """The column that names an annotator in each row: the specified annotators, or a minority of models."""
        said = self.stated.people
        if said & set(self.views):
            return None
        texts = [v for v in self.views.values() if v.unique and v.is_text]
        if said:
            return next((v.name for v in texts if said <= set(v.distinct.to_list())), None)
        first = next(iter(self.views.values()), None)
        if first not in texts or first is None or first.rows > MOST_PEOPLE or model_names(self.views):
            return None
        cells = first.distinct.to_list()
        if len(cells) > 1 and all(map(is_human, cells)) and not any(map(is_human, self.views)):
            return first.name if len(self.views) > 2 else None
        short = all(len(cell.split()) <= MOST_WORDS for cell in cells)
        return first.name if short and 0 < len(model_names(cells, cells)) < len(cells) / 2 else None

    def _people_column(self) -> str | None:
        """A column whose cells name one annotator each."""
        if self._rows_of_annotators is not None:
            return self._rows_of_annotators
        found = [
            v.name for v in self.views.values()
            if v.unique and called_people(self.plain[v.name]) and not called(self.plain[v.name], "item")
        ]  # fmt: skip
        if found:
            return found[0]
        stamped = any(self._by_name(name) == "time stamp" for name in self.views)
        ids = [v.name for v in self.views.values() if self.plain[v.name] in RESPONSE_IDS and v.unique]
        return ids[0] if ids else next(iter(self.views), None) if stamped else None

    def transposed(self) -> Structure:
        """One row per annotator, one column per item, as forms write them."""
        stated, excluded = self.stated, self.stated.exclude or ()
        people = self._people_column() if stated.annotator is None else stated.annotator
        stamps = stated.annotator is None and people in self.views and self._by_name(str(people)) == "time stamp"
        asked = list(stated.columns or [n for n in self._form_questions() if n not in (people, *excluded)])
        options: dict[str, Any] = {"layout": "transposed"}
        if people == ROWS:
            options["annotator"] = ROWS
        elif people is None or stamps:
            options["annotator"] = ROWS
            self._confirm("rows look like annotators and columns like items, but no column names the annotators",
                          {"layout": "transposed", "annotator": ROWS})  # fmt: skip
        else:
            options["annotator"] = people
            if stated.shape is None and not (stated.judges and people == self._rows_of_annotators):
                self._confirm(f"rows look like annotators (named by '{people}') and columns like items",
                              {"layout": "transposed", "annotator": people})  # fmt: skip
        options["columns"] = asked
        grid = _grid(asked)
        if grid is not None:
            options["split_item"] = grid
        if not stamps and people in self.views:
            self.name_judges(self.views[str(people)].distinct.to_list(), options)
        columns = []
        for name, view in self.views.items():
            kind, why = self.other_role(name)
            if name == people and not stamps:
                kind, why = "annotator", "a different annotator in each row"
            elif name in asked and name not in excluded:
                kind, why = "item", "a question"
            elif kind == "unknown":
                kind, why = "technical", "not a question"
            columns.append(Role(name, kind, why, view.examples()))
        return Structure("transposed", tuple(columns), options, self._asked(), tuple(self.errors))


_GRID = r"(?s)^(?P<item>.+?) ?\[(?P<criterion>.+)\]$"
"""A question of a form's grid: ``Rate response 1 [Helpful]``."""


def _grid(names: Sequence[str]) -> str | None:
    """The pattern that splits the questions of a form's grid into item and criterion; None if they are not a grid."""
    found = [re.fullmatch(_GRID, name) for name in names]
    pairs = {(one["item"], one["criterion"]) for one in found if one}
    items, criteria = ({pair[i] for pair in pairs} for i in (0, 1))
    whole = bool(names) and all(found) and len(pairs) == len(names) == len(items) * len(criteria)
    if not whole or min(len(items), len(criteria)) < 2:
        return None
    # `How helpful? [Answer 1]`: criteria have no numbers.
    swapped = all(re.search(r"\d$", one) for one in criteria) and not any(re.search(r"\d$", one) for one in items)
    return r"(?s)^(?P<criterion>.+?) ?\[(?P<item>.+)\]$" if swapped else _GRID
