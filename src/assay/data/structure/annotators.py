"""Who answered, and on which item: a table with one row per label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from assay.data import words
from assay.data.names import model_names, numbered_texts
from assay.data.structure.dependence import crossed, dependence, repetition
from assay.data.structure.keys import KeySearch, RowKey
from assay.data.structure.one_scale import MOST_SHARED_VALUES, on_one_scale, scale_groups, values_of
from assay.data.structure.readings import MOST_CHOICES, MOST_READINGS
from assay.data.structure.role_names import (
    FALSE,
    GENERAL_MODELS,
    ID,
    NUMBERED,
    TRUE,
    called,
    called_people,
    called_person_ids,
    crossed_names,
    human_names,
    is_human,
    numbered_names,
    plain_name,
    stem,
)
from assay.data.structure.roles import ROWS, Choice, Doubt
from assay.data.structure.search import MOST_PEOPLE

LEAST_CROSSED = 0.5
"""Share of the combinations of items and criteria from which a column could name criteria."""

MOST_DOUBLED = 0.05
"""Share of rows up to which ids that come again are rows that a table has twice by mistake: items that several
annotators label, or that have several criteria, have half of their rows again."""

_FURTHER = ("criterion", "repeat", "condition")
"""Roles of columns that identify a row next to the item and the annotator."""


def of_one(options: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The options that read columns as the criteria, unless they say something else, of one human, and of one judge."""
    given = {name: value for name, value in options.items() if name not in ("judges", "humans")}
    given = {"layout": "wide", "split_columns": "criterion", **given}
    names = given["columns"]
    human, judge = ("human", {**given, "humans": ["human"]}), ("judge", {**given, "judges": ["judge"]})
    if "item" in given["split_columns"]:
        return [human, judge]  # names of what is rated do not say who rated it
    # Columns that say who answered leave one of the two.
    if all(map(is_human, names)):
        return [human]
    return [judge] if len(model_names(names)) == len(names) else [human, judge]


class AnnotatorSearch(KeySearch):
    """Finds the column that says who answered, and that of the item."""

    def _witness(self, name: str) -> tuple[int, str]:
        """How surely a column says who answered, apart from the rows: 0 if nothing does; and the reason."""
        view, stated = self.views[name], self.stated
        if stated.annotator == name:
            return 9, "as specified"
        if name in (stated.item, stated.label, stated.criterion, stated.repeat) or name in stated.people:
            return 0, ""
        if self._names_judges(name) and view.n_values > 1:
            return 2, "names of models"
        if name in self._labels_of_people:
            return 0, ""
        cells = view.distinct.to_list() if view.values is None else []
        if stated.people and stated.people & set(cells):
            return 8, "it contains the annotators that you name"
        answers = {cell.lower() for cell in cells}
        if any(called(self.plain[name], one) for one in _FURTHER) or (answers and answers <= {*TRUE, *FALSE}):
            return 0, ""
        if self._is_system(name) and self._names_judges_elsewhere:
            return 0, ""  # what the judges rate
        strength = called_people(self.plain[name])
        if strength == 2:
            return 6 if self.plain[name] == "annotator" else 5, "by its name"
        if cells and sum("@" in cell for cell in cells) > 0.8 * len(cells):
            return 4, "e-mail addresses"
        models = model_names(cells, cells) if 2 <= len(cells) <= MOST_PEOPLE and not view.spaced else []
        # `ModelA, ModelB, Tie` are votes.
        votes = any(cell.strip().lower() in ("tie", "both", "neither", "draw") for cell in cells)
        # Ids of texts name the models that wrote some of them: `scenario_12_openai`, next to a column of judges.
        ids = (ID.search(self.plain[name]) or called(self.plain[name], "item")) and self._names_judges_elsewhere
        if models and len(models) < len(cells) and not votes and not ids:
            return 3, "names of models among its values"
        if strength:
            return 2, "by its name"
        return (1, "names of models") if called(self.plain[name], "system") and models else (0, "")

    @cached_property
    def _names_judges_elsewhere(self) -> bool:
        """Whether another column than one of systems names judges, or names of several columns of labels do."""
        named = {n for n, v in self.views.items() if v.could_be_labels and v.n_values <= MOST_SHARED_VALUES}
        sure = [n for n in model_names([*named]) if not GENERAL_MODELS & {*self.plain[n].split()}]
        return len(sure) > 1 or any(map(self._names_judges, self.views))

    @cached_property
    def _labels_of_people(self) -> set[str]:
        """Columns on one scale called as annotators are, in a table without a column of labels: ``ana, ben, judge``."""
        if any(called(plain, "label") and not self.views[n].free for n, plain in self.plain.items()):
            return set()
        near = [{n, *alike} for n in self.views if (alike := self._labels_next_to(n))]
        if near:
            return set().union(*near)
        people = [n for n, v in self.views.items() if not v.counts_rows and n not in self.excluded
                  and called_people(self.plain[n]) == 2 and not called_person_ids(self.plain[n])]  # fmt: skip
        often = Counter(stem(self.plain[n]) for n in people)
        # Texts could be names, except in columns that are numbered: ``rater_a, rater_b``.
        named = [n for n in people if self.views[n].numeric or often[stem(self.plain[n])] > 1]
        groups = scale_groups(named, self.views)
        return set(groups[0]) if groups and len(groups[0]) > 1 else set()

    def _labels_next_to(self, name: str) -> list[str]:
        """The columns whose values are those of a column called as an annotator is, in a table with a row per item.

        A column that says who answered has names or ids for values, and not the labels of the other columns.
        """
        plain, view = self.plain, self.views[name]
        if not called_people(plain[name]) or called_person_ids(plain[name]) or view.counts_rows or not view.filled:
            return []
        if self._names_judges(name):
            return []
        said = {*self.excluded, self.stated.item, self.stated.annotator, self.stated.label}
        others = [n for n, v in self.views.items() if n not in (name, *said) and v.filled and not v.counts_rows]
        alike = [n for n in others if self._has_values_of(n, name) and self._by_name(n) in (None, "gold")]
        items = [n for n in others if n not in alike and called(plain[n], "item")]
        repeated = any(self._repeats(n) and not self._twice((n, name)) for n in items)
        if name in said or repeated or any(called(plain[n], "questions") for n in alike):
            return []
        named = human_names(alike) or model_names(alike) or any(called(plain[n], "gold") for n in alike)
        return alike if len(alike) > 1 or named else []

    def _has_values_of(self, name: str, other: str) -> bool:
        """Whether two columns are on one scale and have most of their values in common."""
        one, two = self.views[name], self.views[other]
        if max(one.n_values, two.n_values) > MOST_SHARED_VALUES:
            return False
        first, second = values_of(one), values_of(two)
        return on_one_scale(one, two) and 2 * len(first & second) >= len(first | second)

    def _key(self) -> RowKey | None:
        """Who answered, and on which item; None, perhaps with a question, if the table has no row per label."""
        stated = self.stated
        if stated.item is not None and stated.annotator is not None and stated.annotator != ROWS:
            return self._with_extra(RowKey(stated.annotator, (stated.item,), why="as specified"))
        keys = [
            k
            for k in map(self._with_judge, self._keys)
            if all(n in k for n in (stated.item, stated.annotator) if n is not None)
        ]
        alone = [n for n, v in self.views.items() if self.plain[n] == "annotator" and v.n_values == 1]
        repeated = [k for k in self._keys if stated.repeat in k and stated.item in (None, *k)] if alone else []
        if repeated:
            return self._split_key(alone[0], (*repeated[0], alone[0]), "by its name")
        ranked = sorted(
            ((max(self._witness(n)[0] for n in k), k) for k in keys), key=lambda one: -one[0]
        )  # fmt: skip
        if ranked and ranked[0][0] >= 2:
            found = self._key_of(ranked[0][1])
            alike = [k for k in keys if k not in self._keys and found.who in k and len(k) > 2]
            if len(alike) > 1 and stated.item is None:
                items = [[n for n in k if n != found.who] for k in alike]
                choices = [self._choices(found.who, k) for k in alike]
                mixed = [one[i] for i in range(MOST_CHOICES) for one in choices if i < len(one)]
                self.questions.append(Doubt(words.which_item(items), tuple(mixed[:MOST_READINGS])))
                return None
            return found
        named = self._named_key()
        if named is not None:
            return named
        if len(self._labels_of_people) > 1:
            return None
        if stated.annotator is None and self._items_nearly_once:
            return None
        keys = [k for _, k in ranked] or self._possible_keys()
        return self._who_is_asked(keys, sure=bool(ranked)) if keys else None

    @cached_property
    def _items_nearly_once(self) -> bool:
        """Whether ids name each row once, except for a few rows that are there twice: no item has several labels."""
        ids = [v for n, v in self.views.items() if called(self.plain[n], "item") or n == self.stated.item]
        return any(0 < v.filled - len(v.distinct) <= MOST_DOUBLED * v.filled for v in ids)

    def _with_judge(self, key: tuple[str, ...]) -> tuple[str, ...]:
        """A key with the judge and the item instead of one column that names both: ``session_id``."""
        for judge in (n for n in self.views if n not in key and self._names_judges(n)):
            for both in (n for n in key if n != self.stated.item and self._belongs(judge, [n])):
                if called(self.plain[both], "judge"):  # `judge_id` of each `judge_model`
                    continue
                parts = [n for n in self.views if n not in (*key, judge) and self._repeats(n)
                         and self._belongs(n, [both]) and self._belongs(both, [n, judge])]  # fmt: skip
                if parts:
                    return (parts[0], judge, *(n for n in key if n != both))
        return key

    def _possible_keys(self) -> list[tuple[str, ...]]:
        """Sets of columns that identify a row, in a table with too few rows to exclude chance."""
        views = self.views.values()
        if any(v.unique and not v.dates and (v.is_text or (v.whole and not v.counts_rows)
               or v.name == self.stated.item or called_people(self.plain[v.name]) == 2) for v in views):  # fmt: skip
            return []
        found = []
        for key in self._all_keys[1]:
            labels = self._label_candidates(key)
            alike = [n for n in key if any(on_one_scale(self.views[n], self.views[o]) for o in labels)]
            if labels and len(alike) < 2:
                found.append(key)
        return sorted(found, key=lambda k: -max(self._witness(n)[0] for n in k))

    def _key_of(self, members: tuple[str, ...]) -> RowKey:
        """The roles of the members of a key, one of which has a name or a value that says who answered."""
        best = max(self._witness(n)[0] for n in members)
        who = [n for n in members if self._witness(n)[0] == best]
        chosen = who[0]
        if len(who) > 1:
            # Texts belong to items: a member with texts is not who answered.
            rest = [n for n in who if not self._texts_of(n)] or who
            chosen = rest[0]
            if len(rest) > 1:
                choices = [each for one in rest for each in self._choices(one, members)]
                self.questions.append(Doubt(words.who_answered(self._sizes(rest)), tuple(choices)))
        rows = repetition([self.views[n].codes for n in members])
        why = self._witness(chosen)[1]
        return self._split_key(chosen, members, f"{why}; {words.key_reason(members, rows.chance)}")

    def _split_key(self, who: str, members: Sequence[str], why: str) -> RowKey:
        rest = [n for n in members if n != who]
        extra: dict[str, str] = {}
        for role in _FURTHER:
            said = getattr(self.stated, role, None)
            fits = [said] if said in rest else [n for n in rest if self._is_extra(n, role)]
            if fits and len(rest) > 1:
                extra[role] = fits[0]
                rest.remove(fits[0])
        rest.sort(key=lambda n: (-self.views[n].n_values, n))
        return RowKey(
            who, tuple(rest), extra.get("criterion"), extra.get("repeat"), why, extra.get("condition"), found=bool(why)
        )

    def _is_extra(self, name: str, role: str) -> bool:
        view = self.views[name]
        if called(self.plain[name], role):
            return role != "repeat" or view.whole or numbered_texts(view.distinct) is not None
        if role != "criterion" or not view.is_text or called(self.plain[name], "item"):
            return False
        values = [plain_name(cell) for cell in view.distinct.to_list()]
        words_of = [v for v in values if called(v, "questions") and not any(map(str.isdigit, v))]
        return len(values) <= MOST_SHARED_VALUES and 2 * len(words_of) >= len(values)

    def _ask_criterion(self, members: Sequence[str], said: str = "") -> bool:
        """Ask whether a part of the item, with the same few words in nearly each of them, names criteria: ``field``.

        Returns whether there is one, whose name does not say what it is.
        """
        usual = ("system", "condition", "version", "occasion", "rated", "repeat")
        for name in sorted(members, key=lambda n: self.views[n].n_values) if len(members) > 1 else ():
            view, rest = self.views[name], [n for n in members if n != name]
            if called(self.plain[name], "item") and not any(called(self.plain[n], "item") for n in rest):
                continue
            cells = {*view.distinct.str.to_lowercase()}
            few = view.is_text and 2 <= view.n_values <= MOST_SHARED_VALUES and not cells <= {*TRUE, *FALSE}
            if not few or any(called(self.plain[name], role) for role in usual) or model_names(view.distinct):
                continue
            items, rows = (crossed([self.views[n].codes for n in names]) for names in (rest, members))
            if len(np.unique(rows)) < LEAST_CROSSED * len(np.unique(items)) * view.n_values:
                continue
            choices = (
                (words.item_is(members), {"item": [n for n in self.views if n in members]}),
                (words.names_criteria(name), {"item": rest[0] if len(rest) == 1 else rest, "criterion": name}),
            )
            self.questions.append(Doubt(said or words.part_or_criterion(name), choices))
            return True
        return False

    def _with_extra(self, key: RowKey) -> RowKey:
        """Add columns that are called criterion or repeat to a key."""
        extra: dict[str, str] = {}
        for role in ("criterion", "repeat"):
            said = getattr(self.stated, role)
            free = [n for n in self.views if n not in key.members and n != self.stated.label]
            fits = [said] if said else [n for n in free if called(self.plain[n], role)]
            fits = [n for n in fits if said or role == "criterion" or self.views[n].whole]
            if fits:
                extra[role] = fits[0]
        return key._replace(criterion=extra.get("criterion"), repeat=extra.get("repeat"))

    def _texts_of(self, name: str) -> bool:
        """Whether a column of free text belongs to this column."""
        return any(v.free and v.name != name and self._belongs(v.name, [name]) for v in self.views.values())

    def _who_is_asked(self, keys: Sequence[tuple[str, ...]], *, sure: bool) -> RowKey | None:
        """Ask who answered, if only the rows could decide it; None if columns could be annotators."""
        labels = self._label_candidates(keys[0])
        groups = scale_groups(labels, self.views) if labels else []
        people = groups[0] if groups and len(groups[0]) > 1 else []
        if crossed_names(people) or numbered_names(people):
            return None  # names that combine an annotator and a criterion: ``clarity_1, clarity_2``
        if people and (self.stated.people & set(people) or model_names(people) or len(human_names(people)) > 1):
            return None
        if not labels:
            return None
        stated = {self.stated.item, self.stated.criterion, self.stated.repeat}
        further = {n for k in keys for n in k if any(self._is_extra(n, one) for one in _FURTHER)}
        pairs = [(n, k) for k in keys for n in k if n not in stated | further and not {*k} - {n} <= further]
        names = [one for one in pairs if not (self.views[one[0]].free and self.views[one[0]].spaced)]
        pairs = names if names or further.intersection(keys[0]) else pairs
        if not pairs:
            if self._people_next_to(labels, keys[0]):
                return None
            self._ask_unnamed(keys[0], sorted(further.intersection(keys[0])))
            return None
        if sure:
            pairs = list({n: (n, k) for n, k in reversed(pairs)}.values())[::-1]
        pairs = [one for one in pairs if called_people(self.plain[one[0]]) == 2] or pairs
        pairs = [one for one in pairs if not self._is_system(one[0])] or pairs
        pairs = [one for one in pairs if not self._texts_of(one[0]) and not self.views[one[0]].free] or pairs
        other = [one for one in pairs if not called(self.plain[one[0]], "item")]
        # Instances and visits number the occasions of an item, by one person or by several.
        settled = len(other) == 1 and not called(self.plain[other[0][0]], "occasion")
        if sure and settled and len(pairs) > 1 and not people:
            who, members = other[0]
            rows = repetition([self.views[n].codes for n in members])
            return self._split_key(who, members, words.key_reason(members, rows.chance))
        pairs.sort(key=lambda one: -self._witness(one[0])[0])
        # A column of one annotator for each item is named as such, and not part of a key.
        inside = {n for k in keys for n in k}
        outside = [n for n in self.views if n not in inside and called_people(self.plain[n]) == 2]
        # It also can be that each item has one answer of each annotator, and that a further column describes it.
        single = [(n, (m, n)) for n in outside for m in keys[0] if sure and not self._twice((m, n))]
        pairs = [*single, *((n, (*keys[0], n)) for n in outside if sure), *pairs]
        each = [(called(self.plain[n], "item"), self._choices(n, k)) for n, k in pairs[: MOST_READINGS // 2]]
        each = each if not all(is_item for is_item, _ in each) else [(False, own) for _, own in each]
        # A question asks about few of many readings: those of a column called as an item is come last.
        choices = [own[0] for is_item, own in each if not is_item]
        if people:
            item = list(keys[0]) if len(keys[0]) > 1 else keys[0][0]
            choices.append((words.columns_are_annotators(people), {"layout": "wide", "item": item, "columns": people}))
        item = [n for n in self.views if n in keys[0]]
        given, unsure = (people, None) if people else self._labels(RowKey(keys[0][0], keys[0][1:]))
        others = [n for n in labels if people and n not in people]
        for own in filter(None, (given, others)) if unsure is None and not further & {*item} else ():
            choices += self._rows_are_items(item, own)
        choices += [own[0] for is_item, own in each if is_item] + [one for _, own in each for one in own[1:]]
        choices = choices[:MOST_READINGS]
        could = list(dict.fromkeys(n for n, _ in pairs))
        self.questions.append(Doubt(words.who_answered(self._sizes(could), keys[0] if sure else ()), tuple(choices)))
        return None

    def _people_rate(self, item: tuple[str, ...]) -> bool:
        """Whether people, and others, have columns on one scale, with several labels for an item: of its systems."""
        open_ = [n for n, v in self.views.items() if v.could_be_labels and not v.counts_rows and not self._is_system(n)]
        groups = scale_groups(open_, self.views)
        if any(called(self.plain[n], "label") for n in open_):
            return False
        return any(len(g) > 1 and any(is_human(n) and not self._belongs(n, item) for n in g) for g in groups)

    def _people_next_to(self, labels: Sequence[str], key: Sequence[str]) -> list[str]:
        """Columns with one value for each item, on the scale of the labels; they or these are called as annotators."""
        judged = bool(model_names(labels) or self.stated.people & {*labels})
        others = [n for n in self.views if n not in labels and n not in key and self._described(n, tuple(key))]
        return [n for n in others if (judged or is_human(n) or model_names([n])) and self.views[n].could_be_labels
                and any(on_one_scale(self.views[n], self.views[o]) for o in labels)]  # fmt: skip

    def _ask_unnamed(self, key: Sequence[str], numbered: Sequence[str]) -> None:
        """Ask about a table of items and their criteria or repeats, in which nothing else could name an annotator."""
        choices: list[Choice] = []
        item = tuple(n for n in key if n not in numbered)
        alone = [n for n, v in self.views.items() if n not in key and v.n_values == 1
                 and (called_people(self.plain[n]) or model_names(v.distinct))]  # fmt: skip
        labels, several = self._labels(RowKey(numbered[0], item))
        if alone and item and labels and several is None:
            extra = {role: n for n in numbered for role in _FURTHER if self._is_extra(n, role)}
            one = RowKey(alone[0], item, extra.get("criterion"), extra.get("repeat"), "", extra.get("condition"))
            options = {**one.options, "label": labels[0] if len(labels) == 1 else labels}
            choices.append((words.answered_by(alone[0], self.views[alone[0]].examples(), item), options))
            who = alone[:1]
        else:
            who = [n for n in numbered if not self._is_extra(n, "criterion")]
            of_runs = self._runs_of_a_judge(item, numbered, labels if several is None else [])
            named = [choice for name in who for choice in self._choices(name, key)]
            choices += [*of_runs, *((said, {"layout": "long", **more} if of_runs else more) for said, more in named)]
            given, unsure = self._labels(RowKey(key[0], tuple(key[1:])))
            whole = [n for n in self.views if n in key]
            if given and unsure is None:
                choices += self._rows_are_items(whole, given)
            elif who:
                people = [n for n in given if is_human(n)]
                choices[:0] = self._rows_are_items(whole, people) if people else []
                choices.append((words.name_no_annotators(numbered), {}))
        self.questions.append(Doubt(words.no_annotator_named(key, who), tuple(choices)))

    def _rows_are_items(self, item: Sequence[str], labels: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
        """The readings in which one human or judge gave the labels of each row, which several columns name together."""
        one = of_one({"item": item[0] if len(item) == 1 else [*item], "columns": [*labels]})
        return [(f"{words.item_is(item)}, and {words.answered_by_one(labels, who)}", more) for who, more in one]

    def _runs_of_a_judge(self, item: Sequence[str], numbered: Sequence[str], labels: Sequence[str]) -> list[Choice]:
        """The reading in which a column numbers the runs of models, whose columns have their labels."""
        runs = [n for n in numbered if self._is_extra(n, "repeat")]
        if not labels or {*model_names(labels)} != {*labels} or not len(item) == len(runs) == len(numbered) == 1:
            return []
        options = {"layout": "wide", "item": item[0], "repeat": runs[0], "columns": [*labels], "judges": [*labels]}
        return [(words.numbers_repeats(runs[0]), options)]

    def _rated(
        self, who: str, item: Sequence[str], labels: Sequence[str], criterion: str | None = None
    ) -> list[Choice]:
        """The readings in which a column names what one human or judge labelled, as a part of the item.

        With a column of criteria there is one column of labels, whose name is that of the human or judge.
        """
        further = [who] if who not in item and not self._belongs(who, [*item]) else []
        item = [n for n in self.views if n in (*item, *further)]
        options = {"layout": "wide", "item": item[0] if len(item) == 1 else item, "columns": [*labels]}
        if criterion is None:
            judges = model_names(labels)
            people = [n for n in labels if n not in judges and is_human(n)]
            several: list[Choice] = []
            if len(people) + len(judges) == len(labels) > 1:
                more = {"judges": judges} if judges else {}
                several.append((words.is_rated_by_several(who, people, judges), {**options, **more}))
            if several and self.stated.people & {*labels}:
                return several
            return several + [(words.is_rated(who, labels, each), answer) for each, answer in of_one(options)]
        if len(labels) > 1:
            return []
        options["criterion"] = criterion
        one_of = [("human", {**options, "humans": [*labels]}), ("judge", {**options, "judges": [*labels]})]
        return [(words.is_rated(who, labels, one), answer) for one, answer in one_of[: 1 if is_human(labels[0]) else 2]]

    def _sizes(self, names: Sequence[str]) -> dict[str, int]:
        return {name: self.views[name].n_values for name in names}

    def _choices(self, who: str, members: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
        """The readings in which a column says who answered, one for each answer to which columns hold labels."""
        key = self._split_key(who, members, "")
        options = key.options
        said = words.answered_by(who, self.views[who].examples(), key.item)
        labels, question = self._labels(key)
        if question is not None:
            return [(f"{said}; {text}", {**options, **more}) for text, more in question.choices[:MOST_CHOICES]]
        return [(said, {**options, "label": labels[0] if len(labels) == 1 else labels} if labels else options)]

    def _named_key(self) -> RowKey | None:
        """Item and annotator by their names, for tables with too few rows to show them."""
        stated = self.stated
        who = stated.annotator or self._named_annotator()
        if who is None or who == ROWS:
            return None
        item = stated.item or self._named_item(who)
        if item is None or (stated.annotator is None and self._is_system(who) and self._people_rate((item,))):
            return None
        key = self._with_extra(RowKey(who, (item,), why="by its name"))
        found, _ = self._labels(key)
        if not found and (stated.label is None and not self._repeats(item)):
            return None
        if stated.annotator is None and not self._repeats(item):
            if len(found) == 1 and not called_person_ids(self.plain[who]) and self._has_values_of(found[0], who):
                both = [found[0], who]
                self.questions.append(Doubt(words.could_name_annotators(who, found[0]), (
                    (words.columns_are_annotators(both), {"layout": "wide", "item": item, "columns": both}),
                    (words.answered_by(who, self.views[who].examples(), (item,)), {**key.options, "label": found[0]}),
                )))  # fmt: skip
            elif stated.alone and stated.item is None:
                self._confirm(words.one_annotator_each(item, who), {"item": item, "annotator": who})
        systems = [n for n in self.views if n not in (*key.members, *found) and self._is_system(n)]
        if len(systems) == 1 and stated.item is None and self.views[systems[0]].n_values > 1:
            # Outputs of several systems on one document are several items.
            finer = key._replace(item=(item, systems[0]))
            several = dependence(self.views[systems[0]].codes, self.views[item].codes).broken > 0
            key = finer if several and not self._twice(finer.members) else key
        return key

    def _named_annotator(self) -> str | None:
        there = [n for n in self.views if n not in self.excluded]
        fits = [(self._witness(n)[0], n) for n in there if self._repeats(n) and not self.views[n].free]
        fits = [(rank, n) for rank, n in fits if rank >= 1 and n not in (self.stated.item, self.stated.label)]
        # One value under a name such as "name" or "user" says who answered only in one of several files.
        alone = self.stated.alone
        fits = [(rank, n) for rank, n in fits if rank > 2 or not alone or self.views[n].n_values > 1]
        exact = [n for n in there if self.plain[n] == "annotator" and n not in (self.stated.item, *self.stated.people)]
        if exact and not any(rank >= 8 for rank, _ in fits):
            return exact[0]
        best = max((rank for rank, _ in fits), default=0)
        fits = [(rank, n) for rank, n in fits if rank == best]
        ids = [n for _, n in fits if self.plain[n].endswith(("id", "ids"))]
        names = ids if len(ids) == 1 else [n for _, n in fits]
        if len(names) > 1:
            self._could_hold("annotator", names)
        return names[0] if names else None

    def _named_item(self, who: str) -> str | None:
        fits = [n for n in self.views if n not in (who, self.stated.label, *self.excluded)
                and called(self.plain[n], "item") and self.views[n].filled]  # fmt: skip
        exact = [n for n in fits if self.plain[n] in ("item", "item id")]
        if exact:
            return exact[0]
        # Another id that comes again, such as `seg_id`, is the item of a table without a usual name.
        fits = fits or [n for n, v in self.views.items() if n not in (who, self.stated.label, *self.excluded)
                        and self.plain[n].endswith(" id") and not called_people(self.plain[n])
                        and self._repeats(n) and self._by_name(n) is None and v.share_filled == 1]  # fmt: skip
        fits = [n for n in fits if not NUMBERED.fullmatch(self.plain[n])] or fits
        # Items come again if several annotators label them.
        fits = [n for n in fits if self._repeats(n)] or fits
        ids = [n for n in fits if ID.search(self.plain[n]) or self.plain[n].endswith("ids")]
        if ids:
            fits = ids
        if len(fits) > 1:
            # Columns that each belong to the other name the same items.
            apart = [n for n in fits if self._belongs(n, [fits[0]]) is False]
            repeated = [n for n in fits if self._repeats(n)]
            fits = [fits[0]] if not apart else repeated if len(repeated) == 1 else fits
        if len(fits) > 1:
            self._could_hold("item", fits)
        return fits[0] if fits else None
