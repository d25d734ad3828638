"""The structure of a table with one row per item and one column per annotator."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from assay.data import words
from assay.data.names import model_names
from assay.data.structure.annotators import of_one
from assay.data.structure.cells import ColumnView, computed_columns, could_be_counts, is_sum_of, last_is_total
from assay.data.structure.dependence import dependence
from assay.data.structure.long import LongSearch
from assay.data.structure.one_scale import MOST_SHARED_VALUES, VERY_FEW_ROWS, on_one_scale, scale_groups, values_of
from assay.data.structure.readings import MOST_CHOICES
from assay.data.structure.role_names import (
    AVERAGE,
    AVERAGE_ROW,
    ENDS_IN_ID,
    GENERAL_MODELS,
    ID,
    NUMBERED,
    PREDICTED,
    SUMMARY_ROW,
    SYSTEM_NAME,
    CrossedNames,
    called,
    called_people,
    called_person_ids,
    could_be_systems,
    criteria_of_one,
    crossed_names,
    crossed_part,
    human_names,
    is_human,
    numbered_alike,
    numbered_names,
    numbered_people,
    plain_name,
    stem,
)
from assay.data.structure.roles import LEFT_OUT, ROWS, Choice, Doubt, Role, RoleKind, Structure, hold, quote
from assay.data.structure.search import MOST_PEOPLE
from assay.data.structure.sides import PAIR
from assay.data.values import TICKS
from assay.errors import listing

LEAST_NUMBERED = 10
"""Rows whose numbers no annotator's labels are."""

RENAMED = 0.5
"""Rows that break a dependence, relative to chance, up to which two columns hold the same labels in other words."""

_NO_IDENTIFIER: tuple[RoleKind | None, ...] = (
    "probability",
    "confidence",
    "computed",
    "gold",
    "time stamp",
    "row number",
    "empty",
)


LEAST_CONSTANT = 20
"""Rows from which a column with one value has no labels; of fewer items, an annotator can give all the same."""


class WideSearch(LongSearch):
    """Finds the structure of a table with one row per item."""

    def wide(self) -> Structure:
        """One row per item, one column per annotator."""
        stated = self.stated
        item, joint, within = self._items_of_rows()
        roles = {n: self.other_role(n) for n in self.views if n not in (item, *joint, *within.values())}
        models, open_ = self._without_models(self._possible_labels(roles))
        labels, crossing = (list(stated.columns), None) if stated.columns is not None else self._one_scale(open_, roles)
        if stated.columns is None:
            labels = self._without_computed(labels, roles)
        labels, options = self._with_free_texts(labels or self._called_labels(roles), roles)
        parts = self._further_parts(item, [*within.values()], labels)
        if joint and stated.criterion is None and "criterion" not in within:
            self._ask_criterion(joint)
        if joint or parts:
            options["item"] = joint or parts
        elif item != "item":
            options["item"] = ROWS if item is None else item
        options |= within
        crossing = self._ask_names(labels, crossing, options)
        self._ask_copies(labels, item, within)
        if crossing is None and stated.columns is None:
            self._ask_gold(labels, options)
        judges = {*options.get("judges", ()), *(stated.judges or ())}
        if stated.shape != "wide" and stated.columns is None:
            self._check_annotator_column(labels)
        refused = self._refused(labels, [] if item is None else [item, *within.values()])
        alone = len(labels) == 1 and stated.alone and stated.shape != "wide" and not judges.intersection(labels)
        if alone and (parts or (not models and not refused)):
            self._ask_only_column(labels[0], open_, options)
        elif parts:
            self._ask_parts(parts)
        elif refused:
            self._ask_or_refuse(refused, labels, (item, *within.values()))
        elif models and len(labels) == 1 and {*labels} - judges and stated.columns is None and isinstance(item, str):
            self._ask_judge_or_system(models[0], labels[0], item)
        elif alone:
            self._ask_only_column(labels[0], open_, options)
        elif crossing is None and stated.split_columns is None and stated.columns is None and numbered_names(labels):
            self._ask_numbers(labels)
        elif not judges and stated.alone and stated.shape is None and stated.columns is None and crossing is None:
            self._ask_people_or_questions(labels, open_, options)
        left = [] if stated.columns is None else self._labels_left_out(open_, labels, roles)
        for name in (n for n, (kind, _) in roles.items() if kind == "unknown" and n not in labels):
            given = "not in humans or judges" if stated.people and stated.people == {*labels} else "not in columns"
            why = self._why_metadata(name) if stated.columns is None else given
            roles[name] = ("item column", f"{LEFT_OUT}{why}" if name in left else why)
        roles |= self._sums_of_labels({n for n, (kind, _) in roles.items() if kind == "item column"} - {*left}, labels)
        columns = []
        for name, view in self.views.items():
            kind, why = roles.get(name, ("item", "as specified" if stated.item == name else self._why_item(view)))
            if name in labels:
                says = crossing if stated.split_columns is None else None
                who = self._split_annotator(name, judges) if says is None else says.annotator_of[name]
                kind, why = ("judge", "listed in judges") if who in judges else ("person", self._why_labels(view))
                why = "name of a model" if who in options.get("judges", ()) else why
                why += "" if says is None or name in says.unnamed else words.combined(says.template)
            elif name in within.values():
                kind = "criterion" if name == within.get("criterion") else "repeat"
                why = "as specified" if getattr(stated, kind) == name else "by name"
            columns.append(Role(name, kind, why, view.examples(3 if name in labels else 2)))
        rows = {} if item is None else self._computed_rows(item, labels)
        return Structure("wide", tuple(columns), options, self._asked(), tuple(self.errors), rows)

    def _sums_of_labels(self, names: Collection[str], labels: Sequence[str]) -> dict[str, tuple[RoleKind, str]]:
        """Columns that are sums of labels of one annotator, or of all, and those called so (`ann_total`): no strata."""
        says = crossed_names(labels)
        groups: dict[str, list[str]] = {"": [*labels]}
        for name, who in {} if says is None else says.annotator_of.items():
            groups.setdefault(who, []).append(name)
        found: dict[str, tuple[RoleKind, str]] = {}
        for name in () if self.stated.exclude == () else names:
            for who, of in groups.items():
                cells = [one.to_numpy() for n in (name, *of) if (one := self.views[n].numbers) is not None]
                rest = {name.removeprefix(who), name.removesuffix(who)} - {name}
                if len(cells) == len(of) + 1 > 2 and is_sum_of(cells[0], np.stack(cells[1:])):
                    found[name] = ("computed", f"a sum of {listing(of, 4)}")
                elif any(called(plain_name(one), "computed") for one in rest):
                    found[name] = ("computed", "by name")
        return found

    def _split_annotator(self, name: str, judges: Collection[str]) -> str:
        """The judge that the name of a column says by the stated template; for others the whole name."""
        template = re.sub("criterion|repeat|item", ".+", re.escape(self.stated.split_columns or "annotator"))
        found = (one for one in judges if re.fullmatch(template.replace("annotator", re.escape(one)), name))
        return next(found, name)

    def _labels_left_out(
        self, open_: list[str], labels: Sequence[str], roles: Mapping[str, tuple[RoleKind, str]]
    ) -> list[str]:
        """The columns that would be labels, as those that ``columns=...`` names are, if they were named, too.

        Stars or a score next to annotators' names describe the item.
        """
        asked, refused = len(self.questions), len(self.errors)
        found, _ = self._one_scale([*open_], {**roles})
        del self.questions[asked:], self.errors[refused:]
        known = [self.views[one] for one in labels]
        alike = [n for n in open_ if n not in labels and any(on_one_scale(self.views[n], one) for one in known)]
        if crossed_names(labels) is not None or self.stated.split_columns is not None:
            # Next to `A1 agents, A2 agents`, `Final agents` is another annotator's, or computed from them.
            return [n for n in open_ if n in alike or (n in found and n not in labels)]
        return [n for n in alike if n in found and not called(self.plain[n], "label")]

    def _ask_names(
        self, labels: list[str], crossing: CrossedNames | None, options: dict[str, Any]
    ) -> CrossedNames | None:
        """Ask what the names of the columns say; also add the options, and return how the names are combined."""
        if self.stated.split_columns is not None:
            options["columns"] = labels
            return crossing
        crossing = crossing or crossed_names(labels)
        people = labels
        if crossing is not None:
            options["split_columns"] = crossing.template
            people = crossing.annotators
            self._ask_order(labels[0], crossing)
            options |= self._named_in(crossing, labels)
        options["columns"] = labels
        if crossing is not None and self.stated.columns is None:
            self._ask_rated(crossing, options)
        if crossing is not None and len(people) == 1:
            self._ask_one_or_several(labels, people[0], options)
        else:
            self._ask_judges_or_systems(people, options)
        return crossing

    def _with_free_texts(
        self, labels: list[str], roles: dict[str, tuple[RoleKind, str]]
    ) -> tuple[list[str], dict[str, Any]]:
        """The labels, with free texts where all could be texts of models; and the first options."""
        options: dict[str, Any] = {"layout": "wide"}
        free = [n for n, (kind, why) in roles.items() if kind == "comment" and why.startswith("free text")]
        texts = [n for n in self.views if n in free or n in labels]
        if len(texts) > 1 and free and self.stated.columns is None and all(map(self._is_short_text_of_model, labels)):
            labels, options["scale"] = texts, "text"
            self._confirm(words.free_text_labels(texts), {"scale": "text"})
        # In a table with one row per item, text that is not a label usually is the item that was judged.
        roles.update({name: ("item column", roles[name][1]) for name in free if name not in labels})
        return labels, options

    def _possible_labels(self, roles: dict[str, tuple[RoleKind, str]]) -> list[str]:
        """The columns without another role that could be labels; those that votes compare get theirs."""
        words = {*PAIR, "tie"}
        voters = [n for n, v in self.views.items() if n not in PAIR and v.filled and words >= {*v.distinct.to_list()}]
        if voters and all(n in self.views for n in PAIR):
            why = "one of the two systems or texts that votes compare"
            roles.update({n: ("item column", why) for n in PAIR if roles.get(n, ("",))[0] == "unknown"})
        unknown = [n for n, (kind, _) in roles.items() if kind == "unknown"]
        if self.stated.compared is not None and len(voters) > 1:
            roles.update({n: ("item column", "no vote") for n in unknown if n not in voters})
            return [n for n in unknown if n in voters]
        averages = [n for n in unknown if AVERAGE.fullmatch(self.plain[n]) and n not in self.stated.people
                    and not self.views[n].whole and not model_names([n])]  # fmt: skip
        roles.update(dict.fromkeys(averages, ("computed", "by name")))
        could = [n for n in unknown
                 if self.views[n].could_be_labels and not self._counts_rows(n) and n not in averages
                 and (n in self.stated.people or not ENDS_IN_ID.search(self.plain[n]))]  # fmt: skip
        apart = self._only_values(could)
        roles.update(dict.fromkeys(apart, ("item column", "one value that no other column contains")))
        return [n for n in could if n not in apart]

    def _only_values(self, names: Sequence[str]) -> list[str]:
        """Columns of one text in all rows, which no other of these columns contains, next to texts that vary."""
        cells = {n: {*self.views[n].distinct.to_list()} for n in names if self.views[n].is_text}
        varied = {one for own in cells.values() if len(own) > 1 for one in own}
        known = {*self.stated.people, *human_names(names), *model_names(names)}
        many = [n for n in cells if varied and self.views[n].filled >= LEAST_CONSTANT and n not in known]
        return [n for n in many if len(cells[n]) == 1 and not cells[n] & varied]

    def _counts_rows(self, name: str) -> bool:
        """Whether a column has the numbers of so many rows, as labels have not by chance."""
        return self.views[name].counts_rows and self.views[name].rows >= LEAST_NUMBERED

    def _refused(self, labels: Sequence[str], key: Sequence[str]) -> str:
        """Why a table with one row per item cannot be read; empty if it can."""
        cells = {cell for n in labels if n in self.views for cell in self.views[n].distinct}
        if len(cells) == 1 and cells <= {*TICKS} and any(self.views[n].share_filled < 1 for n in labels):
            return words.only_marks(cells.pop(), labels)
        if not labels:
            return self._unread_objects() or "no column could hold an annotator's labels: set columns=[...]"
        return self._repeated_items(key)

    def _ask_or_refuse(self, refused: str, labels: Sequence[str], key: Sequence[str | None]) -> None:
        """Ask who answered in rows of one item, if it is this that no column says; else refuse the table."""
        if not self._ask_rows_without_names(refused, labels, [n for n in key if n is not None]):
            self.errors.append(refused)

    def _unread_objects(self) -> str:
        """The problem of columns with objects, if there are any."""
        found = [n for n, v in self.views.items() if v.filled and v.distinct.str.contains(r"^(\[\s*)?\{").all()]
        return words.unread_objects(found) if found else ""

    def _ask_judges_or_systems(self, names: Sequence[str], options: dict[str, Any]) -> None:
        """Name the judges among columns; if all are called as systems, one person could have rated them."""
        self.name_judges(names, options, of_columns=True)
        if self._asks_of_questions(names, options.get("judges", ())):
            self.questions.pop()  # that one of them is a judge
            del options["judges"]
            return
        systems = [n for n in names if n in options.get("judges", ()) or SYSTEM_NAME.fullmatch(n)]
        if len(names) < 2 or len(systems) < len(names) or self.stated.people:
            return
        if "judges" in options:
            self.questions.pop()  # that some of them are judges
        # A column called `human` has a person's labels, or texts of people next to those of systems.
        people = [n for n in names if is_human(n)]
        judges = [n for n in names if n not in people] or list(names)
        options["judges"] = judges
        choices: list[Choice] = [
            (words.are_judges(judges, [n for n in people if n not in judges]), {"judges": judges}),
        ]
        choices += self._rated_columns(names, options)
        self.questions.append(Doubt(words.all_models(list(names)), tuple(choices)))

    def _asks_of_questions(self, names: Sequence[str], judges: Sequence[str]) -> bool:
        """Whether names begin with a word for any model next to those of questions: ``llm_recall, faithfulness``."""
        stated, rest = self.stated, [n for n in names if n not in judges]
        if not (judges and stated.alone and stated.shape is None and stated.columns is None) or human_names(rest):
            return False
        plain = [plain_name(n).split() for n in judges]
        general = all(one[0] in GENERAL_MODELS and not called(" ".join(one[1:]), "label") for one in plain)
        return general and all(len(one) > 1 for one in plain) and any(called(plain_name(n), "questions") for n in rest)

    def _ask_one_or_several(self, labels: Sequence[str], who: str, options: dict[str, Any]) -> None:
        """Ask whether columns that name the same annotator are criteria, or annotators."""
        judge = {"judges": [who]} if model_names([who]) else {}
        if self.stated.people == {who} or not self.stated.alone:
            # One of several files has the labels of one annotator.
            self.name_judges([who], options)
            return
        options |= judge
        alike = [n for n in labels if on_one_scale(self.views[n], self.views[labels[0]])]
        several = {"layout": "wide", "item": options.get("item", "item"), "columns": alike}
        several |= {"judges": alike} if judge else {}
        choices = [(words.criteria_of(labels, who), {"split_columns": options["split_columns"], **judge})]
        if len(alike) > 1:
            choices.append((words.columns_are_annotators(alike), several))
        self.questions.append(Doubt(words.one_annotator_or_several(labels, who), tuple(choices)))

    def _ask_rated(self, crossing: CrossedNames, options: Mapping[str, Any]) -> None:
        """Ask whether the annotators in names of columns are those, or systems whose outputs one annotator rated."""
        names = crossing.annotators
        if self.stated.people or "criterion" not in crossing.template or not could_be_systems(names):
            return
        rated = self._rated_columns(names, options)
        order = words.crossed_columns(crossing.ambiguity) if crossing.ambiguity else None
        for i, asked in enumerate(self.questions):
            if asked.text == order:  # which part is the annotator: perhaps neither
                self.questions[i] = Doubt(asked.text, (*asked.choices, *rated))
                return
        choices = (words.columns_are_annotators(names), {"columns": options["columns"]}), *rated
        self.questions.append(Doubt(words.people_or_systems(names), choices))

    def _rated_columns(self, names: Sequence[str], options: Mapping[str, Any]) -> list[Choice]:
        """The readings in which names of columns say what one human or judge rated."""
        template = str(options.get("split_columns", "annotator")).replace("annotator", "item")
        given = {**options, "split_columns": template}
        return [(words.columns_are_rated([*names], who), answer) for who, answer in of_one(given)]

    def _named_in(self, crossing: CrossedNames, labels: Sequence[str]) -> dict[str, list[str]]:
        """The annotators of columns that the user names; asks about columns that do not name theirs."""
        if crossing.unnamed:
            who = crossing.annotator_of[crossing.unnamed[0]]
            self._confirm(words.without_prefix(crossing.unnamed, who), {"split_columns": crossing.template})
        stated = {"judges": self.stated.judges or (), "humans": self.stated.humans or ()}
        if not self.stated.people or not self.stated.people <= {*labels}:
            return {}
        return {role: list(dict.fromkeys(crossing.annotator_of[n] for n in names)) for role, names in stated.items()}

    def _ask_copies(self, labels: Sequence[str], item: str | None, within: Mapping[str, str]) -> None:
        """Ask whether labels that are the same for all criteria of an item were given for each of them."""
        if item is None or item not in self.views or "criterion" not in within or "repeat" in within:
            return
        for name in labels:
            if self.views[name].n_values > 1 and self._belongs(name, [item]):
                self._confirm(words.same_for_criteria(name, within["criterion"]), {"criterion": within["criterion"]})

    def _gold_next_to(self, labels: Sequence[str]) -> list[str]:
        """The columns of gold labels on the scale of the labels."""
        gold = [n for n in self.views if n not in labels and self.other_role(n)[0] == "gold"]
        return [n for n in gold if labels and on_one_scale(self.views[n], self.views[labels[0]])]

    def _with_gold(self, gold: Sequence[str], labels: Sequence[str], judges: Sequence[str]) -> dict[str, list[str]]:
        """The options that read gold labels as those of people, next to judges."""
        return {"columns": [n for n in self.views if n in (*gold, *labels)], "humans": [*gold], "judges": [*judges]}

    def _ask_gold(self, labels: Sequence[str], options: Mapping[str, Any]) -> None:
        """Ask whether gold labels next to judges alone are those of a person, with whom judges can be compared."""
        judges, gold = [*options.get("judges", ()), *(self.stated.judges or ())], self._gold_next_to(labels)
        if gold and self.stated.alone and not self.stated.humans and {*labels} <= {*judges}:
            person = words.holds_labels_of_person(gold), self._with_gold(gold, labels, judges)
            choices = person, (words.are_gold(gold), {"judges": judges})
            self.questions.append(Doubt(words.gold_or_person(gold), choices))

    def _is_short_text_of_model(self, name: str) -> bool:
        """Whether a column is called as a model is, and has almost as many texts as rows: it has no categories."""
        view = self.views[name]
        return bool(model_names([name])) and view.is_text and view.n_values > view.filled / 2 > VERY_FEW_ROWS / 2

    def _without_models(self, names: list[str]) -> tuple[list[str], list[str]]:
        """Those of several columns that are called as systems are and contain names of models only; and the others."""
        cells = {name: [str(cell) for cell in self.views[name].distinct.to_list()] for name in names}
        models = [n for n in names if self._is_system(n) and cells[n] and model_names(cells[n]) == cells[n]]
        models = models if len(names) > 1 else []
        return models, [n for n in names if n not in models]

    def _ask_judge_or_system(self, who: str, label: str, item: str) -> None:
        """Ask whether the models of a column gave the labels of another one, or wrote what a person labelled."""
        models = [str(cell) for cell in self.views[who].distinct.to_list()]
        answers = {"layout": "long", "item": item, "annotator": who, "label": label, "judges": models}
        further = [n for n, v in self.views.items() if n not in (who, label, item) and v.could_be_labels
                   and v.is_text and self.views[label].is_text and 2 <= v.n_values <= MOST_SHARED_VALUES
                   and self._by_name(n) in (None, "item column")]  # fmt: skip
        every = [n for n in self.views if n in (label, *further)]
        both = f"{words.are_judges(models)}; {words.labels_are(every)}", answers | {"label": every}
        choices = [
            (words.are_judges(models), answers),
            *([both] if further else []),
            *self._rated(who, (item,), [label]),
        ]
        self.questions.append(Doubt(words.judges_or_systems(who), tuple(choices)))

    def _called_labels(self, roles: Mapping[str, tuple[RoleKind, str]]) -> list[str]:
        """The columns with another role by their names that are called as labels are, too: ``category``."""
        if self.stated.columns is not None:
            return []
        return [n for n, (kind, why) in roles.items() if kind == "item column" and why == "by name"
                and called(self.plain[n], "label") and self.views[n].could_be_labels]  # fmt: skip

    def _ask_only_column(self, label: str, open_: Sequence[str], options: Mapping[str, Any]) -> None:
        """Ask who gave the labels of the only column that could hold some, or those of criteria on several scales."""
        if objects := self._unread_objects():
            self.errors.append(objects)
        if objects or self.questions:
            return  # which columns hold labels is asked
        item = options.get("item", "item")
        item = (self._joint_item(open_) or item) if item == ROWS else item
        choices = self._answered_by_one([label], {"item": item})
        criterion = next((n for n, v in self.views.items() if called(self.plain[n], "criterion") and self._repeats(n)
                          and v.share_filled == 1), None)  # fmt: skip
        if criterion is not None and self.stated.criterion is None:
            one = {"layout": "wide", "item": item, "columns": [label], "criterion": criterion}
            choices = [(words.labels_of_criteria(label, who, criterion), {**one, role: [label]})
                       for who, role in (("human", "humans"), ("judge", "judges"))]  # fmt: skip
        if further := self._criteria_after([label], open_):
            choices += self._answered_by_one(further, {"item": item})
        self.questions.append(Doubt(words.only_column(label), tuple(choices)))

    def _criteria_after(self, labels: Sequence[str], open_: Sequence[str]) -> list[str]:
        """The labels with columns after the first of them that could be labels on other scales; empty without any."""
        names = [*self.views]
        first = min(names.index(n) for n in labels)
        every = [n for n in names if n in labels or (n in open_ and names.index(n) > first)]
        return every if len(every) > len(labels) else []

    def _ask_people_or_questions(self, labels: list[str], open_: Sequence[str], options: Mapping[str, Any]) -> None:
        """Ask whether columns are annotators or questions, if no name of one says that they are annotators."""
        asked = [n for n in labels if called(self.plain[n], "questions")]
        people = {*human_names(labels), *(n for n in labels if called_people(self.plain[n]) == 2)}
        if not asked and (self.stated.people & set(labels) or len(people) >= 2):
            return
        compared = self.stated.compared
        if compared is None and not people and labels != (numbered := numbered_alike(labels)) and numbered:
            labels, options = numbered, {**options, "columns": numbered}
        said = words.columns_are_annotators(labels) if compared is None else words.votes_compare(labels, compared)
        choices: list[Choice] = [
            (said, {k: v for k, v in options.items() if k != "judges"}),
            *self._answered_by_one(labels, options),
        ]  # fmt: skip
        if compared is None and (further := self._criteria_after(labels, open_)):
            choices += self._answered_by_one(further, options)
        parts = [re.fullmatch(r"(.+?)([ _.-]+)\d+", n) for n in labels]
        others = [n for n in labels if n not in people]
        gold = self._gold_next_to(labels) if compared is None else []
        if {n.lower() for n in people} - {"ann"} and others and not asked:  # Ann is a name, too
            choices.insert(1, (words.are_judges(others, [*people]), {**choices[0][1], "judges": others}))
        elif gold:
            both = {**choices[0][1], **self._with_gold(gold, labels, labels)}
            choices.insert(1, (words.are_judges(labels, gold), both))
        stems = {one.groups() for one in parts if one}
        if all(parts) and len(stems) == 1:
            name, mark = stems.pop()
            repeats = {**choices[0][1], "split_columns": f"annotator{mark}repeat"}
            choices += [(words.columns_are_repeats(labels), repeats)] if called(plain_name(name), "repeat") else []
        views = [self.views[n] for n in labels]
        if all(v.whole and v.share_filled == 1 for v in views) and could_be_counts(self._cells(labels)):
            choices.append((words.columns_are_counts(labels), {}))
        unique = [n for n, v in self.views.items() if v.unique and n not in labels
                  and (called_people(self.plain[n]) == 2 or (v.is_text and not v.free))]  # fmt: skip
        technical = {n for n in unique if self._by_name(n) == "technical" and not ID.search(self.plain[n])}
        who = min(unique, key=lambda n: (-called_people(self.plain[n]), n in technical), default=None)
        named = who is not None and not (called(self.plain[who], "item") or NUMBERED.fullmatch(self.plain[who]))
        if not named and any(self._by_name(n) == "time stamp" for n in self.views):
            # A row with a time is one submission, such as a form that one annotator has filled in.
            item = options.get("item", ROWS)
            who, named = (item if isinstance(item, str) else ROWS), True
        if named and self.frame.height <= MOST_PEOPLE:
            turned = {"layout": "transposed", "annotator": who, "columns": labels}
            choices.append((words.rows_are_annotators(None if who == ROWS else who), turned))
        self.questions.append(Doubt(words.people_or_questions(labels, self._why_labels(self.views[labels[0]])),
                                       tuple(choices)))  # fmt: skip

    def _ask_order(self, name: str, crossing: CrossedNames) -> None:
        """Ask which part of each name is the annotator, if the names do not show it."""
        if crossing.ambiguity:
            templates = (crossing.template, _swapped(crossing.template))
            who = crossing.annotator_of[name]
            at = name.find(who) if crossing.template.startswith("annotator") else name.rfind(who)
            mark = len(re.sub("annotator|criterion|repeat", "", crossing.template))
            parts = (who, name[at + len(who) + mark :]) if at == 0 else (name[: at - mark], who)
            choices = tuple((words.split_names(name, one, parts), {"split_columns": one}) for one in templates)
            self.questions.append(Doubt(words.crossed_columns(crossing.ambiguity), choices))

    def _ask_numbers(self, labels: list[str]) -> None:
        """Ask what the number in the name of each column is: a repeat, a criterion or an annotator."""
        mark, pairs = numbered_names(labels) or ("", [])
        numbers = [all(pair[k].isdigit() for pair in pairs) for k in (0, 1)]
        templates = [f"annotator{mark}criterion", f"criterion{mark}annotator"]
        if any(numbers):
            who = "annotator{}repeat" if numbers[1] else "repeat{}annotator"
            templates.insert(0, who.format(mark))
        # Names of questions are no annotators: the number next to one is an annotator or a repeat.
        asked = [all(called(plain_name(pair[k]), "questions") for pair in pairs) for k in (0, 1)]
        if any(asked):
            templates = [f"criterion{mark}annotator" if asked[0] else f"annotator{mark}criterion"]
        choices = [(words.split_names(labels[0], one, pairs[0]), {"split_columns": one}) for one in templates]
        choices.append((words.columns_are_annotators(labels), {}))
        shape = {"layout": "wide", "columns": labels}
        self.questions.append(Doubt(words.numbered_columns(labels), tuple((said, shape | o) for said, o in choices)))

    def _check_annotator_column(self, labels: list[str]) -> None:
        """Ask if the cells of one label column seem to name who gave the labels of the others."""
        named = [n for n in labels if called_people(self.plain[n]) == 2 and self._repeats(n)]
        if len(named) != 1 or len(labels) < 2:
            return
        who = named[0]
        given = {value for n in labels if n != who for value in values_of(self.views[n])}
        cells = values_of(self.views[who])
        # An annotator can use labels that no other uses; if half of the cells are such labels, they are likely names.
        if called_person_ids(self.plain[who]) or 2 * len(cells - given) >= len(cells):
            self.questions.append(Doubt(words.could_name_annotators(who)))

    def _ask_parts(self, whole: list[str]) -> None:
        """Ask whether columns that tell the rows of an item apart are part of it."""
        texts = self.views[whole[0]].texts.drop_nulls()
        said = words.several_rows_of_item(texts.filter(texts.is_duplicated())[0], whole[1:])
        if not self._ask_criterion(whole, said):
            self._confirm(said, {"item": whole})

    def _why_item(self, view: ColumnView) -> str:
        return f"{len(view.distinct)} different values" if view.unique else "by name"

    def _why_metadata(self, name: str) -> str:
        view = self.views[name]
        return "values differ in kind from the annotators' labels" if not view.unique else "different in every row"

    def _items_of_rows(self) -> tuple[str | None, list[str], dict[str, str]]:
        """The column whose cells name the items, or several that do together; and those of criteria and repeats."""
        item = self._item_of_rows()
        for members in self._keys:
            key = self._split_key("", members, "")
            within = {role: n for role, n in (("criterion", key.criterion), ("repeat", key.repeat)) if n is not None}
            rest = [n for n in members if n not in within.values()]
            # A different text in each row, such as a reply, is not the item next to items that come again in each run.
            named = within and len(rest) == 1 and (rest[0] == self.stated.item or called(self.plain[rest[0]], "item"))
            if item is not None and item == self.stated.item != rest[0] and self.views[item].unique:
                named = False
            if named or (item is None and self.stated.item is None):
                return (rest[0], [], within) if len(rest) == 1 else (None, rest, within)
        said = {role: getattr(self.stated, role) for role in ("criterion", "repeat")}
        return item, [], {role: n for role, n in said.items() if n is not None and n != item}

    def _item_of_rows(self) -> str | None:
        """The column whose cells name the rows; None if there is none."""
        if self.stated.item is not None:
            return self.stated.item
        named = [n for n in self.views if called(self.plain[n], "item") and self.views[n].filled]
        unique = [n for n in named if self.views[n].unique]
        exact = [n for n in unique if self.plain[n] in ("item", "item id", "id")]
        if exact or len(unique) == 1:
            chosen = (exact or unique)[0]
            # A text names the item, too, but numbers such as E0001 are what other files have.
            codes = [n for n in self._identifiers() if self._numbers_items(n)] if self.views[chosen].spaced else []
            return codes[0] if len(codes) == 1 else chosen
        if unique:
            ids = [n for n in unique if ID.search(self.plain[n])]
            return (ids or unique)[0]
        texts = [n for n, v in self.views.items() if v.unique and v.is_text and self._by_name(n) is None]
        first = next(iter(self.views), None)
        numbers = [first] if first is not None and self.views[first].unique and self.views[first].counts_rows else []
        odd = [n for n in numbers if n is not None and (NUMBERED.fullmatch(self.plain[n]) or self._counts_rows(n))]
        repeated = [n for n in named if self.views[n].is_text] if not self._keys else []
        found = texts or self._identifiers() or repeated or odd
        # A reason that is another in each row is not the item, if columns identify the rows together.
        reason = bool(found) and self._by_name(found[0]) == "comment" and bool(self._keys)
        return found[0] if found and not reason else None

    def _numbers_items(self, name: str) -> bool:
        """Whether a column of text numbers the items: ``E0001``, ``E0002``."""
        view = self.views[name]
        return view.is_text and not view.spaced and bool(view.distinct.str.contains(r"^[\p{L}_-]{1,10}\d+$").all())

    def _identifiers(self) -> list[str]:
        """The columns with a different short text in each row, by any name; numbers only if named as ids."""
        found = [
            n for n, v in self.views.items()
            if v.unique and self._by_name(n) not in _NO_IDENTIFIER and called_people(self.plain[n]) < 2
            and (self._by_name(n) != "technical" or ID.search(self.plain[n]))
            and ((v.is_text and not (v.free and v.spaced))
                 or ((v.is_text or v.whole) and bool(ID.search(self.plain[n]))))
        ]  # fmt: skip
        return [n for n in found if ID.search(self.plain[n])] or found

    def _one_scale(
        self, open_: list[str], roles: dict[str, tuple[RoleKind, str]]
    ) -> tuple[list[str], CrossedNames | None]:
        """The columns whose labels could be on one scale, and how their names are crossed; others describe the item."""
        one = criteria_of_one(open_) if self.stated.split_columns is None else None
        if one is not None:
            for name in (n for n in open_ if n not in one.annotator_of):
                roles[name] = ("item column", f"does not name '{one.annotators[0]}'")
            return list(one.annotator_of), one
        if self.stated.split_columns is None and (numbered := numbered_people(open_)) is not None:
            return self._ask_numbered_people(open_, numbered, roles)
        known = [n for n in open_ if n in self.stated.people or model_names([n])]
        groups = scale_groups(open_, self.views)
        if not groups:
            return [], None
        if (crossing := self._crossed_scales(open_, groups)) is not None:
            names = list(crossing.annotator_of)
            for name in (n for n in open_ if n not in names):
                roles[name] = ("item column", self._why_metadata(name))
            return names, crossing
        named = [n for n in open_ if self._names_labels(n)]
        best = max(groups, key=lambda g: (len(g), any(n in known for n in g), any(n in named for n in g),
                                          -open_.index(g[0])))  # fmt: skip
        rivals = [g for g in groups if g is not best and len(g) == len(best)]
        best = self._without_constants(best, known)
        self._ask_predictions(best, known, [g for g in groups if not {*g} & {*best}])
        if rivals and len(best) > 1 and not any(n in known for n in best):
            choices = tuple(
                (words.labels_are(g), {"layout": "wide", "columns": g}) for g in (best, *rivals)[:MOST_CHOICES]
            )
            self.questions.append(Doubt(words.several_scales([best, *rivals]), choices))
        elif len(open_) - len(best) >= len(best) and not any(n in known for n in best) and best[0] not in named:
            self._mixed(open_)
            if len(best) == 1 and not any(self.views[n].is_text for n in open_):
                self._confirm(words.several_scales([[n] for n in open_]), {"columns": open_})
                return open_, None
        crossing = crossed_names(best)
        part = crossed_part(best) if crossing is None else []
        if part:
            best, crossing = part, crossed_names(part)
        humans = human_names(best)
        if len(humans) > 1:
            # Stars next to rater1 and rater2 describe the item, although they are on the same scale.
            about = [n for n in best if n not in humans and n not in known and called(self.plain[n], "label")]
            roles.update(dict.fromkeys(about, ("item column", "by name")))
            best, open_ = [n for n in best if n not in about], [n for n in open_ if n not in about]
        siblings = [] if crossing or self.stated.compared else self._siblings(best, [n for n in roles if n not in best])
        for name in (n for n in open_ if n not in best):
            self._make_metadata(name, best, roles, asked=name in siblings)
        if siblings:
            every = [n for n in self.views if n in best or n in siblings]
            choices = ((words.labels_are(every), {"columns": every}), (words.labels_are(best), {"columns": best}))
            said = words.left_out(siblings, self.views[siblings[0]].examples(), best)
            self.questions.append(Doubt(said, choices))
        return best, crossing

    def _names_labels(self, name: str) -> bool:
        """Whether a column is called as labels are, or as what a person says: ``human_declined``."""
        first, _, last = self.plain[name].rpartition(" ")
        return called(self.plain[name], "label") or called(last, "label") or bool(first and is_human(name))

    def _ask_numbered_people(
        self, open_: Sequence[str], numbered: CrossedNames, roles: dict[str, tuple[RoleKind, str]]
    ) -> tuple[list[str], CrossedNames | None]:
        """Ask whether columns with the numbers of annotators hold further criteria: ``error_1`` next to ``rater_1``."""
        names = list(numbered.annotator_of)
        own = [n for n in names if is_human(n)]
        further = [n for n in names if n not in own]
        roles.update({n: ("item column", self._why_metadata(n)) for n in open_ if n not in names})
        both = words.criteria_of_numbered(names, numbered.annotators), {
            "columns": names, "split_columns": numbered.template,
        }  # fmt: skip
        choices: list[Choice] = [both, (words.labels_are(own), {"layout": "wide", "columns": own})]
        if all(on_one_scale(self.views[n], self.views[own[0]]) for n in further):
            everyone = {"layout": "wide", "columns": names}
            choices.append((words.are_judges(further, own), {**everyone, "judges": further}))
            choices.append((words.all_human(), {**everyone, "judges": []}))
        said = words.left_out(further, self.views[further[0]].examples(), own)
        self.questions.append(Doubt(said, tuple(choices)))
        return names, numbered

    def _ask_predictions(self, best: list[str], known: Sequence[str], others: Sequence[list[str]]) -> None:
        """Ask whether a prediction and what it is compared with are the labels, next to scores of the same items."""
        predicted = [n for n in best if n in known]
        scored = [g for g in others if len(g) >= len(best) and not any(self.views[n].is_text or n in known for n in g)]
        if scored and predicted and all(PREDICTED.match(self.plain[n]) and self.views[n].is_text for n in predicted):
            scores = scored[0]
            choices: list[Choice] = [(words.labels_are(best), {"columns": best})]
            choices += [(words.answered_by_one(scores, who), answer) for who, answer in of_one({"columns": scores})]
            self.questions.append(Doubt(words.several_scales([best, scores]), tuple(choices)))

    def _crossed_scales(self, open_: list[str], groups: Sequence[list[str]]) -> CrossedNames | None:
        """How columns combine an annotator and a criterion, if criteria have several scales: asks which are labels."""
        names = open_ if crossed_names(open_) else crossed_part(open_)
        found = crossed_names(names)
        if found is None or found.unnamed:
            return None
        # Those with different scales are criteria: annotators share the scales of all.
        own = [{n for n in names if found.annotator_of[n] == one} for one in found.annotators]
        by_scale = "criterion" in found.template and sorted(map(sorted, own)) == sorted(map(sorted, groups))
        found = found.exchanged() if by_scale else found
        who = found.annotators
        if not by_scale and (found.ambiguity or {*human_names(who), *model_names(who)} != {*who}):
            return None
        criteria: dict[str, list[str]] = {}
        for name, criterion in found.criterion_of.items():
            criteria.setdefault(criterion, []).append(name)
        whole = all(any({*own} <= {*g} for g in groups) and len(own) == len(who) for own in criteria.values())
        parts = [part for g in groups if (part := [n for n in g if n in names])]
        if not whole or len(parts) < 2 or "repeat" in found.template:
            return None
        split = {"split_columns": found.template}
        choices = [(words.labels_are(g), {"columns": g, **split}) for g in (names, *parts)]
        self.questions.append(Doubt(words.several_scales(parts), tuple(choices[:MOST_CHOICES])))
        return found

    def _without_constants(self, labels: list[str], known: Sequence[str]) -> list[str]:
        """Labels without columns of one value, such as a number of the task, next to numbered columns that vary."""
        varied = Counter(stem(self.plain[n]) for n in labels if self.views[n].n_values > 1)
        numbered = [stem for stem, often in varied.items() if often > 1 and "0" in stem]
        once = [
            n for n in labels if self.views[n].n_values == 1 and n not in known and stem(self.plain[n]) not in varied
        ]
        return [n for n in labels if n not in once] if numbered and not human_names(once) else labels

    def _siblings(self, labels: list[str], others: Sequence[str]) -> list[str]:
        """Columns with other cells that are numbered as those of the labels: ``rater2`` of three."""
        stems = {stem(self.plain[n]) for n in labels}
        numbered = len(labels) > 1 and len(stems) == 1 and not any(self.plain[n] in stems for n in labels)
        return [n for n in others if numbered and self.views[n].filled and stem(self.plain[n]) in stems]

    def _mixed(self, open_: Sequence[str]) -> None:
        texts = [n for n in open_ if self.views[n].is_text]
        numbers = [n for n in open_ if n not in texts]
        if texts and numbers:
            likely = numbers if len(numbers) > 1 or len(texts) < 2 else texts
            self.questions.append(Doubt(
                f"{hold(texts)} text and {hold(numbers)} numbers; name the annotators' columns with columns={likely}",
                ((words.labels_are(likely), {"columns": likely}),),
            ))  # fmt: skip

    def _make_metadata(
        self, name: str, labels: Sequence[str], roles: dict[str, tuple[RoleKind, str]], *, asked: bool
    ) -> None:
        """Make a column with values on another scale item metadata; for a judge's column, report the problem."""
        view, others = self.views[name], [self.views[n] for n in labels]
        if view.is_text or others[0].is_text:
            why = (
                "words that no annotator's column contains"
                if others[0].is_text
                else "words, while other columns hold numbers"
            )
            why = "numbers, while other columns hold words" if others[0].is_text and not view.is_text else why
        else:
            tops = sorted(one.ends[1] for one in others if one.ends)
            low, high = view.ends or (0, 0)
            why = f"{low:g} to {high:g}, while other columns end at {tops[(len(tops) - 1) // 2]:g}"
            why = words.OTHER_NAME if (low, high) in {one.ends for one in others} else why
        roles[name] = ("item column", why)
        if asked:
            return
        stated = next((role for role in ("judges", "humans") if name in (getattr(self.stated, role) or ())), None)
        models = [] if set(model_names(view.distinct)) >= set(view.distinct) else model_names([name])
        if models and PREDICTED.match(self.plain[name]):
            # What a system predicted, such as the intent of a message, describes an item whose reply has numbers.
            other = (view.is_text and not others[0].is_text) or any(PREDICTED.match(self.plain[n]) for n in labels)
            models = [] if other else models
        if stated or models or (human_names([name]) and len(model_names(labels)) == len(labels)):
            kind = f"is listed in {stated}" if stated else f"has the name of {'a model' if models else 'an annotator'}"
            top = max((one.ends[1] for one in others if one.ends), default=0)
            said = words.labels_on_another_scale(name, why, kind, own=view.ends, top=top)
            if stated:
                self.errors.append(said)
            else:
                self.questions.append(Doubt(said, self._without(name, labels, is_judge=bool(models))))
        elif view.values is None or others[0].values is None:
            same = [one for one in others if self._renames(view, one)][:1]
            self.questions += [Doubt(words.other_words(name, view.examples(), o.name, o.examples())) for o in same]

    def _without(self, name: str, labels: Sequence[str], *, is_judge: bool) -> tuple[Choice, ...]:
        """The readings of a judge's column on another scale next to gold labels on its own, and of the others."""
        gold = [n for n in self._gold_next_to([name]) if n not in labels]
        if not gold or not is_judge:
            return ()  # its labels have to be written as the others are
        pair = {"layout": "wide", "columns": [*gold, name], "humans": gold, "judges": [name]}
        rest = words.labels_are(labels), {"layout": "wide", "columns": [*labels]}
        return rest, (words.are_judges([name], gold), pair)

    def _renames(self, one: ColumnView, other: ColumnView) -> bool:
        """Whether a column seems to hold the labels of another one in other words: each nearly decides the other."""
        if one.n_values != other.n_values or not 2 <= one.n_values <= MOST_SHARED_VALUES:
            return False
        both = dependence(one.codes, other.codes), dependence(other.codes, one.codes)
        return all(found.holds is not None and found.broken <= RENAMED * found.chance for found in both)

    def _without_computed(self, labels: list[str], roles: dict[str, tuple[RoleKind, str]]) -> list[str]:
        models = {*model_names(labels, labels), *(self.stated.judges or ())}
        suspects = [n for n, (kind, _) in roles.items() if kind == "computed" and n not in labels]
        if self.stated.exclude == () or len(labels) > MOST_PEOPLE:
            return labels
        for one in computed_columns(self.views, labels, models, suspects):
            if one.could_be_person and one.name in labels:
                self.questions.append(Doubt(
                    f"'{one.name}' equals the {one.how} of {quote(one.of)} and could be computed from them",
                    ((f"'{one.name}' is computed", {"exclude": [one.name]}),),
                ))  # fmt: skip
            roles[one.name] = ("computed", f"equals the {one.how} of {listing(list(one.of), 4)}")
        return [n for n in labels if roles[n][0] != "computed"]

    def _computed_rows(self, item: str, labels: list[str]) -> dict[str, tuple[str, ...]]:
        """Rows that are not items: averages and totals of the rows above them."""
        if item not in self.views or not labels or self.stated.exclude == ():
            return {}
        names = self.views[item].texts.to_list()
        named = [t for i, t in enumerate(names) if t and i >= 2 and AVERAGE_ROW.fullmatch(t)]
        views = [self.views[n] for n in labels if n in self.views]
        named += self._summaries(names, views)
        numbers = len(views) == len(labels) > 1 and all(v.numeric for v in views)
        if not named and names[-1] and numbers and last_is_total(self._cells(labels)):
            named = [names[-1]]
        return {"computed from the rows above it": tuple(named)} if named else {}

    def _summaries(self, names: Sequence[str | None], views: Sequence[ColumnView]) -> list[str]:
        """The last rows that are named as summaries, with numbers below words."""
        last = len(names)
        if last <= 2 or not SUMMARY_ROW.fullmatch(names[-1] or ""):
            return []
        rows = list(zip(*(one.texts.to_list() for one in views), strict=True)) or [()] * last
        number = [[bool(cell and re.fullmatch(r"[-+]?[\d.,]+ ?%?", cell)) for cell in row if cell] for row in rows]
        while last > 2 and SUMMARY_ROW.fullmatch(names[last - 1] or "") and number[last - 1] and all(number[last - 1]):
            last -= 1
        if any(map(any, number[:last])):
            return []
        return [name for name in names[last:] if name and not AVERAGE_ROW.fullmatch(name)]


def _swapped(template: str) -> str:
    """The template of names that combine an annotator and a criterion in the other order."""
    mark = template.removeprefix("annotator").removeprefix("criterion")
    mark = mark.removesuffix("annotator").removesuffix("criterion")
    return f"criterion{mark}annotator" if template.startswith("annotator") else f"annotator{mark}criterion"
