"""The structure of a table with one row per label.

The columns of a key are the item, the annotator and perhaps a criterion or a repeat. Other columns describe what they
have one value for; a column that has several for each item and each annotator holds labels or describes one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data import words
from assay.data.names import model_names, natural, possible_judges
from assay.data.structure.annotators import AnnotatorSearch, of_one
from assay.data.structure.dependence import crossed, sameness
from assay.data.structure.keys import LEAST_FILLED, RowKey, columns_of
from assay.data.structure.one_scale import on_one_scale
from assay.data.structure.role_names import (
    ENDS_IN_ID,
    FALSE,
    HUMAN_FLAG,
    KIND,
    MACHINE_FLAG,
    MACHINE_KINDS,
    PEOPLE_KINDS,
    TRUE,
    by_criterion,
    called,
    data_of,
    human_names,
    is_human,
)
from assay.data.structure.roles import IGNORED, PLACE, ROWS, Choice, Doubt, Role, RoleKind, Structure

MOST_KINDS = 12
"""Values of a column with the kinds of annotators."""

MOST_IDS = 8
"""Columns of ids of which two are tried as the item together."""

LEAST_TWICE = 0.1
"""Share of rows whose item has several, from which they can be several answers; fewer are written twice."""

SWAPPED = 0.1
"""How much more labels can agree within annotators than within items: more suggests that the two are exchanged."""


class LongSearch(AnnotatorSearch):
    """Finds the structure of a table with one row per label."""

    def _asked_who(self) -> Structure:
        """The structure of a table in which nothing says who answered."""
        columns = [Role(n, "unknown", "", v.examples(), "doubtful") for n, v in self.views.items()]
        first, *others = [options for _, options in self.questions[0].choices if options] or [{}]
        options = {role: name for role, name in first.items() if all(one.get(role) == name for one in others)}
        return Structure("long", tuple(columns), options, tuple(self.questions), tuple(self.errors))

    def long(self, key: RowKey) -> Structure:
        """One row per label."""
        stated, key = self.stated, self._with_criterion_of_people(key)
        labels, question = self._labels(key)
        found = key.options
        if labels:
            found["label"] = labels[0] if len(labels) == 1 else labels
        kinds = (n for n in self.views if self.plain[n] == "kind" and self._is_kind(n))
        kind = stated.kind or next(kinds, None)
        options = {role: name for role, name in found.items() if name != role}
        if not labels:
            self.errors.append(self._only_marks(key) or words.missing_role("label"))
        models = self._only_systems(key, labels)
        if question is not None and not models:
            self.questions.append(question)
        said = {role for role in ("item", "annotator") if getattr(stated, role) is not None} - stated.by_name
        if not self.questions and not said and not models:
            self._check_exchanged(key, labels, options)
        if not said and all(one is question for one in self.questions):
            asked = len(self.questions)
            self._check_stations(key, labels)
            if len(self.questions) == asked:  # what the item is, is one question
                self._ask_version(key)
                if stated.item is None and key.criterion is None:
                    self._ask_criterion(key.item)
        taken: dict[str, RoleKind] = dict.fromkeys(key.item, "item")
        taken |= {key.who: "annotator", **dict.fromkeys(labels, "label")}
        taken |= {name: role for role, name in (("criterion", key.criterion), ("repeat", key.repeat)) if name}  # type: ignore[misc]
        taken |= {kind: "kind"} if kind else {}
        columns = [self._long_role(name, taken, key) for name in self.views]
        names = self.views[key.who].distinct.to_list()
        if models:
            self._ask_judges_or_systems_of_rows(key, labels, question, options)
        elif kind is None and not self._ask_machines(key.who, options):
            self.name_judges(names, options)
        if kind is None and {*names} <= {*options.get("judges", self.stated.judges or ())}:
            self._ask_people_of_items(key, labels, options)
        elif kind is None and "judges" not in options:
            self._ask_judges_of_items(key, labels)
        return Structure("long", tuple(columns), options, self._asked(), tuple(self.errors))

    def _with_criterion_of_people(self, key: RowKey) -> RowKey:
        """The key with a column called as criteria are, if each annotator was asked about one of them."""
        named = [n for n, v in self.views.items() if called(self.plain[n], "criterion") and v.is_text and v.n_values > 1
                 and n not in (*key.members, self.stated.label, *self.excluded)]  # fmt: skip
        of_people = [n for n in named if self._belongs(n, (key.who,))] if key.criterion is None else []
        return key._replace(criterion=of_people[0]) if of_people else key

    def _only_systems(self, key: RowKey, labels: Sequence[str]) -> bool:
        """Whether the column that could say who answered has the names of systems only, and is called so."""
        names = self.views[key.who].distinct.to_list()
        if not labels or not names or not self._is_system(key.who) or self.stated.annotator is not None:
            return False
        if {*names} <= self.stated.people:
            return False  # the user says that they answered
        return bool(model_names(names)) and not any(map(is_human, names))

    def _ask_judges_or_systems_of_rows(
        self, key: RowKey, labels: Sequence[str], question: Doubt | None, options: dict[str, Any]
    ) -> None:
        """Ask whether a column of systems names judges, or what one human or judge labelled."""
        options["judges"] = self.views[key.who].distinct.to_list()
        given = [labels] if question is None else [columns_of(one["label"]) for _, one in question.choices]
        choices: list[Choice] = []
        for own in given:
            label = own[0] if len(own) == 1 else [*own]
            said = words.are_judges(options["judges"])
            said = said if question is None else f"{said}; {words.labels_are(own)}"
            rated = self._rated(key.who, key.item, own, key.criterion)
            # A person's labels, or those of a judge that is named, are not the models'.
            if self.questions or not (rated and (self.stated.people & {*own} or all(map(is_human, own)))):
                choices.append((said, {**key.options, "label": label, "judges": options["judges"]}))
            choices += rated
        if len(choices) == 1:
            options.clear()
            options |= choices[0][1]
        self.questions.append(Doubt(words.judges_or_systems(key.who), tuple(choices)))

    def _ask_machines(self, who: str, options: dict[str, Any]) -> bool:
        """Ask whether the annotators that another column calls machines are judges; return whether one does."""
        if self.stated.judges is not None or self.stated.humans is not None:
            return False
        kinds = {
            HUMAN_FLAG: (TRUE, FALSE), MACHINE_FLAG: (FALSE, TRUE), KIND: (PEOPLE_KINDS, MACHINE_KINDS),
        }  # fmt: skip
        for name, view in self.views.items():
            person, machine = next((of for form, of in kinds.items() if form.fullmatch(self.plain[name])), ((), ()))
            cells = {str(cell).lower() for cell in view.distinct.head(MOST_KINDS).to_list()} if machine else set()
            if name == who or len(cells) < 2 or not cells <= {*person, *machine}:
                continue
            pairs = (
                pl.DataFrame({"who": self.views[who].texts, "is": view.texts.str.to_lowercase()}).drop_nulls().unique()
            )
            judges = pairs.filter(pl.col("is").is_in([*machine]))["who"].to_list()
            if pairs["who"].is_unique().all() and judges and len(judges) < pairs.height:
                options["judges"] = natural(judges)
                self.questions.append(Doubt(possible_judges(options["judges"], words.by_column(name)),
                                            ((words.are_judges(judges), {"judges": options["judges"]}),)))  # fmt: skip
                return True
        return False

    def _ask_people_of_items(self, key: RowKey, labels: Sequence[str], options: Mapping[str, Any]) -> None:
        """Ask whether a column called as a person is, next to labels of judges alone, has that person's labels."""
        others = [n for n, v in self.views.items() if n not in (*key.members, *labels) and is_human(n)
                  and n not in self.excluded and v.could_be_labels]  # fmt: skip
        people = [n for n in others if self._described(n, key) not in (None, (key.who,))
                  and any(on_one_scale(self.views[n], self.views[o]) for o in labels)]  # fmt: skip
        # Next to several criteria, one value for each item says nothing about any of them.
        single = len(labels) == 1 and key.criterion is None
        if people and single and self.stated.alone and not self.stated.people:
            judges = {"judges": [*options.get("judges", ())]}
            with_people = words.holds_labels_of_person(people), {"humans": people, **judges}
            choices = with_people, (words.describes_items(people), judges)
            self.questions.append(Doubt(words.person_of_items(people), choices))

    def _ask_judges_of_items(self, key: RowKey, labels: Sequence[str]) -> None:
        """Ask whether a column called as a model is, next to labels of people alone, has a judge's labels."""
        unit = (*key.item, key.criterion) if key.criterion else tuple(key.item)
        others = [n for n in model_names(self.views) if n not in (*key.members, *labels, *self.excluded)
                  and self.views[n].could_be_labels and self.other_role(n)[0] not in (*IGNORED, "confidence")
                  and not data_of(n, self.views)]  # fmt: skip
        judges = [n for n in others if self._belongs(n, unit)
                  and any(on_one_scale(self.views[n], self.views[o]) for o in labels)]  # fmt: skip
        if judges and len(labels) > 1 and self.stated.judges is None and self.stated.alone:
            of_criteria = {n: who for n, (who, _) in by_criterion(judges, labels).items() if model_names([who])}
            who = list(dict.fromkeys(of_criteria.values()))
            names, none = [*of_criteria], dict[str, list[str]](judges=[])
            if who:
                answers = (words.are_judges(who), {"judges": who}), (words.describes_items(names), none)
                self.questions.append(Doubt(words.judge_of_items(names), answers))
        # Next to several columns of labels, one value for each item says nothing about any of them.
        if judges and len(labels) == 1 and self.stated.judges is None and self.stated.alone:
            choices: list[Choice] = [(words.are_judges(judges), {"judges": judges})]
            choices.append((words.describes_items(judges), {"judges": []}))
            self.questions.append(Doubt(words.judge_of_items(judges), tuple(choices)))

    def _only_marks(self, key: RowKey) -> str:
        """The problem of several columns with one mark or nothing, in a table without labels; empty without them."""
        once = [v for n, v in self.views.items() if n not in key.members and v.n_values == 1 and v.filled < v.rows]
        marked = [v.name for v in once if v.distinct[0] == once[0].distinct[0]]
        return words.only_marks(once[0].distinct[0], marked) if len(marked) > 1 else ""

    def _long_role(self, name: str, taken: Mapping[str, RoleKind], key: RowKey) -> Role:
        view = self.views[name]
        if name in taken:
            kind = taken[name]
            if getattr(self.stated, kind, None) == name:
                return Role(name, kind, "as specified", view.examples(), "stated")
            of_item = key.why.removeprefix("as specified; ")
            why = {"annotator": key.why, "item": of_item, "label": words.LABEL_REASON}.get(kind, "by name")
            return Role(name, kind, why if key.found else "by name", view.examples())
        kind_, why = self.other_role(name)
        of = self._described(name, key) if view.filled else None
        if kind_ == "computed" and of is not None and self._exceeds_labels(name, of, taken):
            kind_ = "item column"
        if of is not None and key.who not in of and name in self.stated.people:
            is_judge = name in (self.stated.judges or ())
            kind_, why = ("judge", "listed in judges") if is_judge else ("person", "listed in humans")
            return Role(name, kind_, why, view.examples(), "stated")
        if kind_ in ("unknown", "item column", "comment") and of is not None:  # a text to label can be called comment
            kind_ = "annotator column" if of == (key.who,) else "item column"
            return Role(name, kind_, words.one_value_each(of), view.examples(), of=of)
        if kind_ == "unknown":
            kind_ = "answer column"
        return Role(name, kind_, why, view.examples())

    def _exceeds_labels(self, name: str, of: Sequence[str], taken: Mapping[str, RoleKind]) -> bool:
        """Whether a maximum is above all labels of some unit: the end of their scale, ``max_score``, not computed."""
        label = next((self.views[n].numbers for n, kind in taken.items() if kind == "label"), None)
        end = self.views[name].numbers
        if label is None or end is None or "max" not in self.plain[name]:
            return False
        both = pl.DataFrame({"of": crossed([self.views[n].codes for n in of]), "label": label, "end": end}).drop_nulls()
        return bool((both["label"] <= both["end"]).all()) and not bool(
            both.group_by("of").agg((pl.col("label") == pl.col("end")).any())["label"].all())  # fmt: skip

    def _check_exchanged(self, key: RowKey, labels: Sequence[str], options: dict[str, Any]) -> None:
        """Ask who answered if labels agree more within other units than within the items of this reading."""
        if not key.found:
            return
        could = [key.who, *key.item]
        fixed = [n for n in (key.criterion, key.repeat, key.condition) if n is not None]

        def agreement(who: str) -> float:
            units = crossed([self.views[n].codes for n in (*(o for o in could if o != who), *fixed)])
            found = [sameness(units, self.views[n].codes, self.views[n].values) for n in labels]
            return float(np.mean(found)) if found else float("nan")

        here = agreement(key.who)
        # Labels that agree in no unit, as random ones do, say nothing about it.
        better = [n for n in key.item if agreement(n) > max(here, 0) + SWAPPED]
        if better:
            choices = []
            for who in (key.who, *better):
                item = sorted((n for n in could if n != who), key=lambda n: (-self.views[n].n_values, n))
                answer = {**options, "item": item[0] if len(item) == 1 else item, "annotator": who}
                choices.append((words.answered_by(who, self.views[who].examples(), item), answer))
            self.questions.append(Doubt(words.exchanged(key.item, key.who), tuple(choices)))

    def _ask_version(self, key: RowKey) -> None:
        """Ask whether a part of the item called iteration numbers repeated answers."""
        for name in key.item if len(key.item) > 1 and key.repeat is None else ():
            rest = [n for n in key.item if n != name]
            if called(self.plain[name], "version") and self.views[name].whole:
                repeats = {"item": rest[0] if len(rest) == 1 else rest, "repeat": name}
                choices = ((words.numbers_repeats(name), repeats), (words.item_is(key.item), {"item": [*key.item]}))
                self.questions.append(Doubt(words.version_or_repeat(name), choices))
                return

    def _check_stations(self, key: RowKey, labels: Sequence[str]) -> None:
        """Ask whether a column of annotators is part of the item, as a station with separate examiners is.

        Labels of one item agree more within its values than across them, and each of them has several labels.
        """
        fixed = [n for n in (key.criterion, key.repeat, key.condition) if n is not None]
        units = crossed([self.views[n].codes for n in (*key.item, *fixed)])

        def agreement(units: NDArray[np.int64]) -> float:
            found = [sameness(units, self.views[n].codes, self.views[n].values) for n in labels]
            return float(np.mean(found)) if found else float("nan")

        for name, view in self.views.items():
            several = 2 <= view.n_values <= self.views[key.who].n_values / 2 and view.share_filled == 1
            if not key.found or name in (*key.members, *labels) or not several or not self._belongs(name, (key.who,)):
                continue
            finer = crossed([units, view.codes])
            sizes = np.unique(finer[finer >= 0], return_counts=True)[1]
            # Groups of annotators, such as their gender, have one label of many items by chance.
            if float(np.mean(sizes > 1)) >= LEAST_FILLED and agreement(finer) > max(agreement(units), 0) + SWAPPED:
                readings = [[*key.item, name], list(key.item)]
                choices = tuple((words.item_is(one), {"item": one[0] if len(one) == 1 else one}) for one in readings)
                self.questions.append(Doubt(words.part_of_item(key.item, name, key.who), choices))
                return

    def _ask_columns_of_labels(self, item: str | None) -> bool:
        """Ask whether a column of labels is a person's, next to others with its values; return whether it can be."""
        likely = [self.stated.label, *(n for n in self.views if called(self.plain[n], "label"))]
        label = next((n for n in likely if n in self.views), None)
        if label is None:
            return False
        if item is not None and not self.views[item].unique:
            return self._ask_one_column(label, item)
        alike = [n for n in self.views if n not in (label, item, *self.excluded)
                 and self._has_values_of(n, label) and self._by_name(n) in (None, "gold")]  # fmt: skip
        judges = model_names(alike)
        people = human_names(alike) or [label]
        both = [n for n in self.views if n in people or n in judges]
        options = {"layout": "wide", **({} if item is None else {"item": item}), "columns": both}
        choice = words.are_judges(judges, people), {**options, "humans": people, "judges": judges}
        if judges:
            self.questions.append(Doubt(words.missing_role("annotator"), (choice, (words.labels_are([label]), {}))))
        return bool(judges) or self._ask_one_column(label, item)

    def _ask_one_column(self, label: str, item: str | None) -> bool:
        """Ask who gave the labels of the only column that has some; return whether its rows are items."""
        whole: Any = self._joint_item([label]) or (self._further_parts(item, [], [label]) if item else [])
        if not whole and item is not None and not self.views[item].unique:
            return False
        self.questions = [one for one in self.questions if not any("item" in given for _, given in one.choices)]
        choices = self._answered_by_one([label], {"item": whole or item or ROWS})
        self.questions.append(Doubt(words.only_column(label), tuple(choices)))
        return True

    def _repeated_items(self, key: Sequence[str]) -> str:
        """The problem of several rows of one item, which no column of criteria or repeats distinguishes."""
        views = [self.views[n] for n in key if n in self.views]
        if not views or key[0] not in self.views or len(views[0].distinct) == views[0].filled:
            return ""
        names = [one.name for one in views]
        rows = pl.DataFrame([one.texts.rename(one.name) for one in views])
        if self.row_numbers is not None and len(self.row_numbers) == rows.height:
            rows = rows.with_columns(self.row_numbers)
        rows = rows.drop_nulls(names)
        twice = rows.filter(rows.select(names).is_duplicated())
        if not twice.height:
            return ""
        first = twice.join(twice.head(1).select(names), on=names, maintain_order="left")
        numbers = first[ROWS].to_list() if ROWS in first.columns else []
        more = twice.select(names).unique().height - 1
        return words.repeated_item(twice[0, 0], numbers, more, stated=self.stated.shape == "wide")

    def _further_parts(self, item: str | None, within: Sequence[str], labels: Sequence[str]) -> list[str]:
        """An item whose rows further columns tell apart, such as a system and a condition, with these columns."""
        if item is None or self.stated.item is not None or not self._repeated_items([item, *within]):
            return []
        parts: list[str] = []
        kinds = ("item", "system", "condition", "version", "criterion", "repeat")
        names = [*self.views]
        first = min((names.index(n) for n in labels if n in names), default=0)
        # Columns that say how an output was made come before its labels.
        could = [n for n in names if n not in (item, *labels, *self.excluded) and not self.views[n].free
                 and (self._is_system(n) or any(called(self.plain[n], one) for one in kinds)
                      or (names.index(n) < first and self.views[n].is_text))]  # fmt: skip
        for name in sorted(could, key=lambda n: self._twice((item, n))):
            left = self._twice((item, *parts))
            if left and self._twice((item, *parts, name)) < left:
                parts.append(name)
        return [] if not parts or self._twice((item, *parts)) else [item, *parts]

    def _joint_item(self, labels: Sequence[str]) -> list[str]:
        """Two columns of ids that together name each row once, such as a run and its step; empty without them."""
        ids = [n for n, v in self.views.items() if n not in (*labels, *self.excluded) and v.share_filled == 1
               and v.n_values > 1 and not v.free
               and (called(self.plain[n], "item") or self._is_system(n)
                    or ENDS_IN_ID.search(self.plain[n]))]  # fmt: skip
        if any(self.views[n].unique for n in ids):
            return []
        return next((list(pair) for pair in combinations(ids[:MOST_IDS], 2) if not self._twice(pair)), [])

    def _answered_by_one(self, labels: Sequence[str], options: Mapping[str, Any]) -> list[Choice]:
        """The readings in which one human or judge gave all labels: for several criteria, or votes several times."""
        again = self.stated.compared is not None
        given = {**options, "columns": [*labels], "split_columns": "repeat" if again else "criterion"}
        said = words.repeats_of_one if again else words.answered_by_one
        return [(said(labels, who), answer) for who, answer in of_one(given)]

    def _ask_rows_without_names(self, problem: str, labels: Sequence[str], item: Sequence[str]) -> bool:
        """Ask who gave the labels in several rows of one item, if this is the problem; return whether it is asked."""
        stated, places = self.stated, {self.stated.annotator, self.stated.repeat}
        settled = PLACE in places or stated.shape == "wide" or stated.columns is not None or not (item and labels)
        if settled or not self._repeated_items(item) or self._twice(item) < LEAST_TWICE * self.views[item[0]].rows:
            return False
        # Each description of an image has an id, next to that of the image.
        finer = [[n] for n, v in self.views.items() if n not in (*item, *labels) and stated.item is None
                 and self._belongs(item[0], (n,)) and v.n_values > self.views[item[0]].n_values
                 and self._repeated_items([n])]  # fmt: skip
        choices = [one for key in (*finer, item) for one in self._rows_without_names(labels, key)]
        self.questions.append(Doubt(problem, tuple(choices)))
        return True

    def _rows_without_names(self, labels: Sequence[str], item: Sequence[str]) -> list[Choice]:
        """The readings of rows of one item in which people without names answered, or one annotator several times."""
        free = [n for n, v in self.views.items() if v.could_be_labels and n not in item]
        alike = [n for n in self.views if n in labels or (
            n in free and any(on_one_scale(self.views[n], self.views[one]) for one in labels))]  # fmt: skip
        own = [n for n in alike if not self._belongs(n, item)]
        # A judge labelled the item once, and its label is there in each row.
        judges = [n for n in alike if n not in own and (n in self.stated.people or model_names([n]))]
        given: dict[str, Any] = {"item": item[0] if len(item) == 1 else [*item]}
        more = {"judges": judges} if judges else {}
        people = {**given, "layout": "long", "annotator": PLACE, "label": own[0] if len(own) == 1 else own, **more}
        found: list[Choice] = [(words.row_is(item, own, ""), people)] if own else []
        if own and judges:
            found.append((f"{words.row_is(item, own, 'human')}: {words.name_them(own)}", {}))
        else:
            found += [(words.row_is(item, own or labels, who), {**answer, "repeat": PLACE})
                      for who, answer in of_one({**given, "columns": own or [*labels]})]  # fmt: skip
        return found

    def _unread(self) -> Structure:
        """A long table in which a role is missing."""
        stated, named = self.stated, self._named_annotator()
        item = stated.item or self._named_item(named or "")
        if (
            named is None
            and stated.annotator is None
            and stated.alone
            and stated.shape is None
            and self._ask_columns_of_labels(item)
        ):
            return self._asked_who()
        found = {"item": item, "annotator": stated.annotator or named}
        if stated.label is None:
            likely = [n for n in self.views if called(self.plain[n], "label") and n not in found.values()]
            found["label"] = likely[0] if likely else None
        else:
            found["label"] = stated.label
        missing = [role for role, name in found.items() if name is None]
        if missing == ["annotator"] and stated.alone and stated.shape is None:
            key, label = [str(found["item"])], [str(found["label"])]
            missing = [] if self._ask_rows_without_names(self._repeated_items(key), label, key) else missing
        self.errors += map(words.missing_role, missing)
        roles: dict[str, RoleKind] = {name: role for role, name in found.items() if name is not None}  # type: ignore[misc]
        columns = [Role(n, *((roles[n], "by name") if n in roles else self.other_role(n)), v.examples())
                   for n, v in self.views.items()]  # fmt: skip
        options = {role: name for role, name in found.items() if name is not None and name != role}
        return Structure("long", tuple(columns), options, self._asked(), tuple(self.errors))
