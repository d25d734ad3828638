"""The sentences of `assay.look`, of the notes on columns and of the questions about a table, made from codes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assay.errors import counted, listing

SHAPES = {
    "long": "one row per label", "wide": "one row per item, one column per annotator",
    "transposed": "one row per annotator, one column per item", "counts": "one column per category, with counts",
}  # fmt: skip
"""Layouts of a table."""

ROLES = {
    "item": "item id", "annotator": "annotator", "label": "label", "criterion": "criterion", "repeat": "repeat",
    "kind": "human or judge", "person": "human labels", "judge": "judge labels", "item column": "item metadata",
    "annotator column": "annotator metadata", "answer column": "describes the label",
    "probability": "probability of a label", "confidence": "confidence in a label",
    "gold": "item metadata (gold label)", "computed": "computed (ignored)", "time stamp": "time stamp (ignored)",
    "comment": "comment (ignored)", "row number": "row number (ignored)", "technical": "technical (ignored)",
    "empty": "empty (ignored)", "unknown": "unknown role",
}  # fmt: skip
"""Roles of columns, as `assay.look` prints them."""

CONDITION = "condition"
"""The role of a column that the option ``conditions`` names."""

_NOTES = {
    "item": "parsed as item id", "annotator": "parsed as annotator", "label": "parsed as label",
    "criterion": "parsed as criterion", "repeat": "parsed as repeat",
    "person": "parsed as human labels", "judge": "parsed as judge labels", "labels": "parsed as labels",
    "computed": "ignored (computed)", "time stamp": "ignored (time stamp)", "comment": "ignored (comment)",
    "row number": "ignored (row number)", "technical": "ignored (technical)", "empty": "ignored (empty)",
    "item column": "kept as item metadata", "annotator column": "kept as annotator metadata",
    "answer column": "kept next to the labels", "probability": "kept as probabilities of the labels",
    "confidence": "kept as confidence in the labels",
    "gold": "kept as item metadata (gold label)",
}  # fmt: skip
_WITH_REASON = ("computed", "item column", "gold")

ROLES_NOTED = tuple(name for name in _NOTES if name != "labels")
"""Roles that a note of reading names, in the order of the notes."""

ANALYSES = {
    "replacement_test": "replacement test", "agreement": "agreement", "rating_scales": "rating scales",
    "separability": "separability",
    "pairwise_votes": "pairwise votes", "triplets": "triplets", "g_study": "G-study", "fairness": "fairness",
    "corrected_estimates": "corrected estimates",
}  # fmt: skip
"""Analyses that a table can support."""

_REASONS = {
    "no_judge": "no judge",
    "judge_unspecified": "no judge; set judges=[...]",
    "no_human_labels": "no human labels",
    "too_few_humans": "fewer than two human annotators",
    "no_common_criterion": "no criterion has labels of humans and of a judge",
    "odd_one_out_choices": "labels are odd-one-out choices",
    "free_text": "labels are free text",
    "no_scale_column": "no column with the scale",
    "not_votes": "labels are not first, second or tie",
    "read_as_votes": "set scale='preference'",
    "unnamed_systems": "no columns 'first' and 'second' that name the two systems",
    "not_triplets": "labels are not A, B or C",
    "read_as_triplets": "set scale='odd-one-out'",
    "no_nested_column": "no nested column, and fewer than two items with at least two labels",
    "labels_not_numeric": "labels are not numbers",
    "items_by_raters": "items × raters",
    "no_group_column": "no group column",
    "unordered_labels": "labels have no order",
    "all_items_human_labelled": "every item has human labels; add items that only the judge has labelled",
}
"""Reasons that need neither a name nor a number."""

RECOMMENDED_HUMANS = 3
"""Human annotators from which a verdict is likely: with two, each is compared with only one other."""

REQUIRED_ITEMS = 30
"""Comparable items of an annotator that the replacement test requires by default (its `min_items`)."""


def role_note(role: str, columns: Sequence[str], reason: str) -> str:
    """Return the note on the columns of one role.

    Parameters
    ----------
    role : str
        One of `ROLES_NOTED`, or ``labels`` of annotators who can be human or judges.
    columns : sequence of str
        The names of the columns.
    reason : str
        The reason that all of them have; empty if they differ.
    """
    names = listing([f"'{name}'" for name in columns], 6)
    return f"{names} {_NOTES[role]}" + (f": {reason}" if reason and role in _WITH_REASON else "")


def left_out_notes(columns: Sequence[str]) -> list[str]:
    """Return the note on columns of labels that ``columns=...`` does not name; none without any."""
    names = listing([f"'{name}'" for name in columns], 6)
    return [f"{names} could be labels but not in columns=...: item columns, not strata"] if columns else []


def analysis_detail(reason: str, names: Sequence[str], number: int | None, criteria: Sequence[str] = ()) -> str:
    """Return the words in brackets after the name of an analysis.

    Parameters
    ----------
    reason : str
        A code; see `assay.looking.Analysis`.
    names : sequence of str
        Judges or columns.
    number : int or None
        The number of items or annotators.
    criteria : sequence of str
        Criteria.
    """
    if reason in _REASONS:
        return _REASONS[reason].replace("[...]", str(list(names) or "[...]"))
    listed = listing(names, 3)
    if reason == "few_humans":
        return f"{listed}; {number} human annotators, at least {RECOMMENDED_HUMANS} are recommended"
    if reason in ("few_items", "few_items_of"):
        on = f" on {listing(criteria, 3)}" if reason == "few_items_of" else ""
        return f"{listed}; no annotator has the required {REQUIRED_ITEMS} comparable items{on}"
    if reason == "items_with_two_labels":
        return f"{counted(number or 0, 'item')} with at least two labels"
    if reason == "items_without_human_labels":
        return f"{counted(number or 0, 'item')} without human labels"
    return f"by {listed}" if reason == "by_column" else listed


def analysis_line(name: str, supported: bool, detail: str) -> str:
    """Return the line on one analysis, such as ``✓ replacement test (gpt-4o)``."""
    return f"{'✓' if supported else '–'} {ANALYSES[name]}" + (f" ({detail})" if detail else "")


def human_counts_line(
    n_items: int, of_item: tuple[int, int], of_annotator: tuple[int, int], n_criteria: int = 0
) -> str:
    """Return the line on human labels, with the smallest and the largest number of annotators and of items.

    With several criteria, the numbers are those within one of them.
    """
    numbers = [f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high in (of_item, of_annotator)]
    noun = "annotator" if of_item == (1, 1) else "annotators"
    within = "within each criterion, " if n_criteria > 1 else ""
    return (
        f"{counted(n_items, 'item')} with human labels: {within}{numbers[0]} {noun} per item, {numbers[1]} items per "
        "annotator."
    )


def _repeat_rules(*, numeric: bool) -> str:
    """The rules for repeated labels; the mean is for numbers only."""
    mean = ", 'mean'" if numeric else ""
    return f"repeats='first', 'last'{mean}, 'majority' or 'each'"


def repeated_labels(found: Sequence[tuple[str, str, int]], *, numeric: bool) -> str:
    """Return the error for repeated labels without a rule; ``found`` has items, annotators and numbers of labels."""
    names, (item, annotator, n) = list(dict.fromkeys(name for _, name, _ in found)), found[0]
    return (
        "the table contains repeated labels of the same annotator for the same question "
        f"({counted(len(found), 'question')}, by {listing(names, 4)}; such as {n} labels of '{item}' by {annotator}); "
        f"specify how to combine them with {_repeat_rules(numeric=numeric)}"
    )


def repeats_required(*, numeric: bool) -> str:
    """Return the line of a look at a table with repeated labels."""
    return f"Repeated labels: tests and agreement require {_repeat_rules(numeric=numeric)}."


def model_reason(names: Sequence[str]) -> str:
    """Return the reason why annotators with these names could be judges."""
    return "names of models" if len(names) > 1 else "name of a model"


def assumed_judges(names: Sequence[str], finding: str = "") -> str:
    """Return the sentence on annotators that are assumed to be judges.

    ``finding`` is what a question says of them: in brackets its reason, and perhaps who is then human.
    """
    quoted = listing([f"'{name}'" for name in names], 4)
    of_model = f" ({model_reason(names)})"
    if not finding or finding.startswith(of_model):
        rest = finding.removeprefix(of_model)
        finding = " (by name)" + (rest if rest.startswith(", and ") else "")  # what else follows is advice
    return f"Assumed that {quoted} {'are judges' if len(names) > 1 else 'is a judge'}{finding}. Set judges=[...]"


def and_human(names: Sequence[str]) -> str:
    """Return the end of a finding on judges: that the other columns are then people's."""
    return f", and {listing([repr(name) for name in names], 6)} human"


# -- the structure of a table ------------------------------------------------------------------------------------

LABEL_REASON = "differs within items and within annotators"
SUM_TO_ONE = "named after the labels; each row sums to 1"


def shape_of(shape: str, within: Sequence[str] = ()) -> str:
    """Return the layout of a table; an item of a wide one can have a row for each criterion or repeat (``within``)."""
    of = "".join(f" and {kind}" for kind in within)
    return SHAPES[shape].replace("one row per item", f"one row per item{of}") if shape == "wide" else SHAPES[shape]


def _names(columns: Sequence[str], most: int = 4) -> str:
    return listing([f"'{name}'" for name in columns], most)


def _either(texts: Sequence[str]) -> str:
    return " or ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def missing_role(role: str) -> str:
    """Return the sentence on a role without a column."""
    content = {"item": "the item id", "annotator": "the annotators", "label": "the labels"}[role]
    return f"no column with {content} was found (set {role}=...)"


def no_header(columns: Sequence[str]) -> str:
    """Return the problem of a table whose first row contains cells, not names of columns."""
    return (
        f"the names of the columns {_names(columns)} are also among their cells, so the first row seems to be data; "
        "add a row of names above it, such as item, annotator, label, or set layout=... if these are names"
    )


def key_reason(columns: Sequence[str], chance: float) -> str:
    """Return the reason why columns identify a row; ``chance`` is the expected number of repeated rows."""
    return f"no two rows share {listing(list(columns))} ({chance:,.0f} would by chance)"


def one_value_each(columns: Sequence[str]) -> str:
    """Return the reason why a column describes others."""
    return f"one value for each {listing(list(columns))}"


def counts(columns: Sequence[str], total: int, *, square: bool = False) -> str:
    """Return the sentence on a table of counts; ``total`` is the sum of each row, or 0."""
    why = ": rows and columns have the same names" if square else ", by their names"
    why = f": each row sums to {total}" if total else why
    return f"{_names(columns)} hold counts, not labels{why}. A table of counts {_NOT_WHO}"


_NOT_WHO = "does not say who gave which label; read one row per label, or one column per annotator"


def statistics(columns: Sequence[str]) -> str:
    """Return the sentence on a table of statistics, such as the agreement of pairs of annotators."""
    return (
        f"{_names(columns)} hold statistics, not labels, by their names: the table contains no annotations; read the "
        "table of the labels from which they were computed (or set columns=[...] if they are labels)"
    )


def shares(columns: Sequence[str]) -> str:
    """Return the sentence on a table with the share of each category."""
    return (
        f"{_names(columns)} hold shares of categories, not labels: each row sums to one total. A table of shares "
        f"{_NOT_WHO} (or set columns=[...] if they are labels)"
    )


def columns_are_counts(columns: Sequence[str]) -> str:
    """Return the answer that columns count the annotators who chose each category, which needs another table."""
    return f"{_names(columns, 3)} count annotators per category: read one row per label"


def who_answered(sizes: Mapping[str, int], key: Sequence[str] = ()) -> str:
    """Return the question about who answered; ``sizes`` are the numbers of values of the possible columns."""
    columns = [f"'{name}' ({counted(size, 'value')})" for name, size in sizes.items()]
    unique = f"{listing(list(key))} together identify a row, but no name says who answered: " if key else ""
    return f"{unique}is the annotator {_either(columns)}?"


def no_annotator_named(key: Sequence[str], who: Sequence[str]) -> str:
    """Return the question about rows that items and their repeats or criteria identify, without an annotator."""
    end = f": is it {_names(who)}?" if who else "; add a column with the annotators (or set annotator=...)"
    return f"{listing(list(key))} together identify a row, and no other column names who answered{end}"


def name_no_annotators(columns: Sequence[str]) -> str:
    """Return the answer that columns do not name annotators, which needs a column that does."""
    return f"{_names(columns)} {'does' if len(columns) == 1 else 'do'} not name annotators: add a column that does"


def version_or_repeat(column: str) -> str:
    """Return the question whether a column numbers repeated answers or versions of the item."""
    return f"'{column}' can number repeated answers, or versions of the item"


def numbers_repeats(column: str) -> str:
    """Return the answer that a column numbers repeated answers."""
    return f"'{column}' numbers repeated answers"


def answered_by(column: str, examples: str, item: Sequence[str]) -> str:
    """Return the answer that a column names the annotators of an item."""
    return f"'{column}' names the annotators ({examples}) of each {listing(list(item))}"


def one_annotator_each(item: str, annotator: str) -> str:
    """Return the finding that each item has one row, so that only names say who answered."""
    return f"each '{item}' has one row; by its name, '{annotator}' is the annotator"


def labels_are(columns: Sequence[str]) -> str:
    """Return the answer that these columns hold the labels."""
    return f"{_names(columns)} {'hold' if len(columns) > 1 else 'holds'} the labels"


def only_marks(mark: str, columns: Sequence[str] = ()) -> str:
    """Return the problem of labels that are all one mark, next to empty cells."""
    where = f"{_names(columns)} {'contain' if len(columns) > 1 else 'contains'}" if columns else "labels are"
    return (
        f"{where} only '{mark}' or empty; if an empty cell means that it was not chosen, write a label there as well, "
        "such as no"
    )


def several_labels(columns: Sequence[str]) -> str:
    """Return the question about the columns that hold labels."""
    return f"{_names(columns, 6)} could each hold labels (set label=...)"


def several_scales(groups: Sequence[Sequence[str]]) -> str:
    """Return the question about the columns that hold labels in a wide table."""
    return f"{_either([_names(g, 3) for g in groups])} could hold the annotators' labels (set columns=[...])"


def columns_are_annotators(columns: Sequence[str]) -> str:
    """Return the answer that columns are annotators."""
    return f"{_names(columns, 3)} are annotators"


def votes_compare(columns: Sequence[str], compared: Sequence[str]) -> str:
    """Return the answer that columns are annotators, whose votes compare what two others contain."""
    return f"{_names(columns, 3)} are annotators, with votes that compare {_names(compared)}"


def answered_by_one(columns: Sequence[str], who: str) -> str:
    """Return the answer that columns are questions, or criteria, with the labels of one human or judge."""
    if len(columns) == 1:
        return f"{_names(columns)} has the labels of one {who}"
    return f"{_names(columns, 3)} are questions that one {who} answered"


def labels_of_criteria(column: str, who: str, criterion: str) -> str:
    """Return the answer that a column holds the labels of one human or judge, for the criteria of another column."""
    return f"'{column}' has the labels of one {who}, and '{criterion}' names their criteria"


def criteria_of(columns: Sequence[str], who: str) -> str:
    """Return the answer that columns are the criteria of the annotator whom their names begin or end with."""
    return f"{_names(columns, 3)} are criteria, labelled by one annotator, '{who}'"


def criteria_of_numbered(columns: Sequence[str], annotators: Sequence[str]) -> str:
    """Return the answer that columns are the criteria of the annotators whose numbers they have."""
    return f"{_names(columns, 3)} are criteria, labelled by annotators {listing(list(annotators))}"


def repeats_of_one(columns: Sequence[str], who: str) -> str:
    """Return the answer that columns are repeated labels of one human or judge."""
    return f"{_names(columns, 3)} are repeated labels of one {who}"


def columns_are_repeats(columns: Sequence[str]) -> str:
    """Return the answer that numbered columns are repeated labels of one annotator."""
    return f"{_names(columns, 3)} are repeated labels of one annotator"


def rows_are_annotators(column: str | None) -> str:
    """Return the answer that each row is an annotator; ``column`` names them, if one does."""
    named = f", named by '{column}'," if column else ""
    return f"each row is an annotator{named} and each column an item"


def people_or_questions(columns: Sequence[str], scale: str) -> str:
    """Return the question whether columns are annotators or questions."""
    asked = f"{_names(columns)} share a scale ({scale}): are they annotators, or questions to one person?"
    return f"{asked} If some are models, set judges=[...]"


def empty_labels(names: Sequence[str]) -> str:
    """Return the sentence on columns called as those of labels or annotators that hold nothing."""
    return f"{_names(names)} {'has' if len(names) == 1 else 'have'} no values"


def numbered_answers(named: str) -> str:
    """Return the question about answers of one form that differ in their number alone."""
    return f"{named} are numbered answers of one assignment: to one question on several items, or to several questions?"


NUMBERED_ARE_ITEMS = "each number is an item"
NUMBERED_ARE_CRITERIA = "each number is a question (a criterion)"


def part_of_item(item: Sequence[str], column: str, annotator: str) -> str:
    """Return the question whether a column that describes annotators is part of the item."""
    return (
        f"labels of one {listing(list(item))} agree more within each '{column}', which has its own values of "
        f"'{annotator}': is '{column}' part of the item?"
    )


def several_rows_of_item(item: str, columns: Sequence[str]) -> str:
    """Return the question whether further columns are part of an item that has several rows."""
    return f"item '{item}' has more than one row: is {_names(columns)} part of the item?"


def part_or_criterion(column: str) -> str:
    """Return the question whether a column is part of the item or names criteria."""
    return f"is '{column}', which has the same values in most items, part of the item, or does it name criteria?"


def names_criteria(column: str) -> str:
    """Return the answer that a column names the criterion of each row."""
    return f"'{column}' names the criterion of each row"


def which_item(items: Sequence[Sequence[str]]) -> str:
    """Return the question which columns together are the item."""
    return f"is the item {_either([' and '.join(repr(name) for name in one) for one in items])}?"


def item_is(columns: Sequence[str]) -> str:
    """Return the answer that columns together are the item."""
    return f"the item is {_names(columns)}"


def exchanged(item: Sequence[str], annotator: str) -> str:
    """Return the question whether item and annotator are exchanged."""
    return (
        f"labels agree less within each {listing(list(item))} than if another column were the annotator; is "
        f"'{annotator}' the annotator?"
    )


OTHER_NAME = "its name is not combined as those of the other columns are"
"""The reason why a column on the scale of the labels is none of them."""


def one_person(column: str, name: str) -> str:
    """Return the question whether the one name in a column called as a person is that of the annotator."""
    return f"'{column}' contains one name ({name}): did this person give the labels?"


def judges_or_systems(column: str) -> str:
    """Return the question about a column of names of models."""
    return f"'{column}' contains only models, which can be judges or the systems that are rated"


def all_models(names: Sequence[str]) -> str:
    """Return the question about columns that are all called as judges or systems are."""
    return f"{_names(names)} can be judges and annotators, or the systems that are rated"


def columns_are_rated(names: Sequence[str], who: str) -> str:
    """Return the answer that columns are systems that one human or judge rated."""
    return f"{_names(names, 3)} are rated, by one {who}"


def people_or_systems(names: Sequence[str]) -> str:
    """Return the question about parts of names of columns that could be annotators or rated systems."""
    return f"{_names(names)}, in the names of columns, can be annotators, or the systems that are rated"


def is_rated(column: str, labels: Sequence[str], who: str) -> str:
    """Return the answer that a column names the systems whose outputs one human or judge labelled."""
    return f"'{column}' is rated, and {answered_by_one(labels, who)}"


def is_rated_by_several(column: str, people: Sequence[str], judges: Sequence[str]) -> str:
    """Return the answer that a column names the systems whose outputs several annotators labelled."""
    found = [f"{_names(people)} {'are humans' if len(people) > 1 else 'is a human'}"] if people else []
    found += [f"{_names(judges)} {'are judges' if len(judges) > 1 else 'is a judge'}"] if judges else []
    return f"'{column}' is rated; {' and '.join(found)}"


def one_annotator_or_several(columns: Sequence[str], who: str) -> str:
    """Return the question about columns whose names begin or end with the same annotator."""
    return f"{_names(columns)} name '{who}': are they the criteria of one annotator, or annotators?"


def are_judges(names: Sequence[str], people: Sequence[str] = ()) -> str:
    """Return the answer that annotators are judges, and that others, if there are any, are human."""
    found = f"{_names(names)} {'are judges' if len(names) > 1 else 'is a judge'}"
    return found + (f", and {_names(people)} {'are' if len(people) > 1 else 'is'} human" if people else "")


def holds_labels_of_person(names: Sequence[str]) -> str:
    """Return the answer that columns hold people's labels, under any name."""
    several = len(names) > 1
    return f"{_names(names)} {'hold' if several else 'holds'} the labels of {'people' if several else 'a person'}"


def describes_items(names: Sequence[str]) -> str:
    """Return the answer that columns describe the items, and hold no labels."""
    return f"{_names(names)} {'describe' if len(names) > 1 else 'describes'} the items"


def gold_or_person(names: Sequence[str]) -> str:
    """Return the question about columns that could hold gold labels or people's, next to judges alone."""
    if len(names) > 1:
        return f"are {_names(names)} gold labels, or labels of people?"
    return f"is '{names[0]}' a gold label, or the label of a person?"


def are_gold(names: Sequence[str]) -> str:
    """Return the answer that columns hold gold labels."""
    return f"{_names(names)} {'hold' if len(names) > 1 else 'holds'} gold labels"


def person_of_items(names: Sequence[str]) -> str:
    """Return the question about columns with one value for each item, next to labels of judges."""
    has = "have" if len(names) > 1 else "has"
    return f"{_names(names)} {has} one value for each item: a person's labels, or a description of the item?"


def judge_of_items(names: Sequence[str]) -> str:
    """Return the question about columns with one value for each item, next to labels of people."""
    has = "have" if len(names) > 1 else "has"
    return f"{_names(names)} {has} one value for each item: a judge's labels, or a description of the item?"


def combined(template: str) -> str:
    """Return the reason of a column whose name combines two roles, after a first reason."""
    return f", its name combines annotator and {'repeat' if 'repeat' in template else 'criterion'}"


def copied_labels(column: str, item: Sequence[str], further: Sequence[str]) -> str:
    """Return the problem of a person's labels that are copied to all rows of an item, which differ in other columns."""
    one, rows = listing(list(item)), _names(further)
    return (
        f"'{column}' has one value for each {one}, which has several rows that differ in {rows}: set "
        f"repeat='{further[0]}' if it numbers repeated answers, or annotator='{further[0]}' if it names who answered, "
        f"with these names in judges=[...] and '{column}' in humans=[...]"
    )


def labels_by_criterion(parts: Mapping[str, tuple[str, str]]) -> str:
    """Return the problem of columns named as annotators that each have an annotator's labels of one criterion."""
    who = list(dict.fromkeys(one for one, _ in parts.values()))
    several = len(parts) > 1
    return (
        f"{_names([*parts])} {'are criteria' if several else 'is a criterion'} of {_names(who)}: name "
        f"{'these annotators' if len(who) > 1 else 'this annotator'} (judges={who} or humans={who})"
    )


def same_for_criteria(column: str, criterion: str) -> str:
    """Return the finding that a column has one label for all criteria of an item."""
    return f"'{column}' has the same label for each '{criterion}' of an item, as one copied label has"


def all_human() -> str:
    """Return the answer that all annotators are human."""
    return "all are human"


def without_prefix(names: Sequence[str], who: str) -> str:
    """Return the assumption about columns whose names do not say who answered, next to others that do."""
    names_none = f"{_names(names)} {'do' if len(names) > 1 else 'does'} not name an annotator"
    return f"{names_none}, unlike the other columns: assumed to hold the labels of '{who}'"


def lists_are(kind: str) -> str:
    """Return the answer that the labels in lists are criteria, or that each list is a category."""
    return "each listed label is a criterion, yes or no" if kind == "several" else "each combination is one category"


def mark_is(marks: Sequence[str], what: str) -> str:
    """Return the answer that labels are missing values, or categories."""
    return f"{_names(marks)}: {what}"


def answers_vary(numbers: Sequence[str], conditions: Sequence[str], *, criterion: bool) -> str:
    """Return the remedy for repeated answers that a number of repeats or experimental conditions tell apart."""
    parts, options = [], []
    if numbers:
        parts, options = [f"column '{numbers[0]}' numbers the answers"], [f"repeat='{numbers[0]}'"]
    if conditions:
        one = len(conditions) == 1
        of = f"column{'' if one else 's'} {_names(conditions)}"
        if criterion and one:
            of = f"{of} names criteria, set criterion='{conditions[0]}'; if it"
        parts.append(f"{of} {'is an experimental condition' if one else 'are experimental conditions'}")
        options.append(f"conditions={list(conditions)}")
    return f"if {' and '.join(parts)}, set {', '.join(options)}"


def scale_by_name(scale: str, name: str) -> str:
    """Return the note that the name of a criterion or of the column of labels states their scale."""
    return f"Assumed scale {scale.removeprefix('ordinal:')}, by the name '{name}'"


def loose_criteria(matches: Mapping[str, str], *, matched: bool) -> str:
    """Return the note on criteria of two tables that differ in spelling, or in a scale in brackets."""
    pairs = listing([f"'{one}' = '{other}'" for one, other in matches.items()], 4)
    return (
        f"criteria match loosely: {pairs}"
        if matched
        else (f"criteria of the tables would match loosely: {pairs}; set match='loose' if they are the same")
    )


def no_common_criteria(first: Sequence[str], second: Sequence[str]) -> str:
    """Return the note on two tables without a common criterion."""
    return f"no criterion is in both tables: {listing(first, 4)}; {listing(second, 4)}"


def marks_in_columns(mark: str, columns: Sequence[str]) -> str:
    """Return the note that a mark is a missing value in columns that are not labels."""
    return f"'{mark}' is a missing value in {'columns' if len(columns) > 1 else 'column'} {_names(columns)}"


def by_column(column: str) -> str:
    """Return the reason that a column gives."""
    return f"by column '{column}'"


def no_annotators(names: Sequence[str]) -> str:
    """Return the answer that columns or names are not annotators."""
    return f"{_names(names)} {'are not annotators' if len(names) > 1 else 'is not an annotator'}"


def free_text_labels(columns: Sequence[str]) -> str:
    """Return the finding that columns of free text could be labels."""
    hold = f"columns {_names(columns)} hold" if len(columns) > 1 else f"column {_names(columns)} holds"
    return f"{hold} free text, which could be the labels of an annotator"


def crossed_columns(doubt: str) -> str:
    """Return the finding that names of columns combine annotators and criteria."""
    return f"each column name combines an annotator and a criterion, {doubt}"


def split_names(name: str, template: str, parts: Sequence[str] = ()) -> str:
    """Return the answer that the names of columns are split by a template: ``A_1`` is annotator A, repeat 1."""
    first, second = re.fullmatch(r"(annotator|criterion|repeat).*?(annotator|criterion|repeat)", template).groups()  # type: ignore[union-attr]
    mark = template.removeprefix(first).removesuffix(second)
    left, right = parts or (part.strip() for part in name.split(mark, 1))
    return f"'{name}' is {first} '{left}' and {second} '{right}'"


def numbered_columns(columns: Sequence[str]) -> str:
    """Return the question what the numbers in the names of columns are."""
    return (
        f"{_names(columns)} combine two parts, and their names do not say whether these are annotators, criteria or "
        "repeated labels"
    )


def only_column(name: str) -> str:
    """Return the question about a table with one column of labels."""
    return f"only '{name}' could hold labels, and no column names who answered: is it one human or one judge?"


def unread_objects(columns: Sequence[str]) -> str:
    """Return the problem of a table whose labels could be in objects of an unknown form."""
    contain = "contain" if len(columns) > 1 else "contains"
    return f"{_names(columns)} {contain} objects of another form than those that assay reads; write one row per label"


def errors_in_texts(severity: str, weights: Mapping[str, int], item: Sequence[str], annotator: str) -> str:
    """Return the problem of a table with one row per error, and the line of pandas that sums them to a score."""
    by = [*item, annotator]
    summed = (
        f"table = frame.assign(score=frame[{severity!r}].str.lower().map({dict(weights)}).fillna(0))"
        f".groupby({by!r}, as_index=False)['score'].sum()"
    )
    names = repr(item[0] if len(item) == 1 else list(item))
    return (
        f"rows are single errors, with their '{severity}', so one {listing(by)} has several rows; sum "
        f"the weights of the errors to one score, for example with pandas: {summed}; then "
        f"assay.read(table, item={names}, annotator={annotator!r}, label='score', scale='interval'). A text without "
        "errors needs a row, too, such as no-error"
    )


def could_name_annotators(name: str, labels: str | None = None) -> str:
    """Return the finding that one column of labels could name the annotators, or one of annotators hold labels."""
    if labels is not None:
        return f"'{name}' could name the annotators, or hold labels: it has the values of '{labels}'"
    read = f"(then set annotator='{name}', item=... and label=[...]); it is read as one annotator's labels"
    return f"'{name}' could name the annotators {read}"


def identical_annotators(pair: Sequence[str], items: int) -> str:
    """Return the note on two annotators with the same labels."""
    return f"{_names(pair)} have the same labels on all {counted(items, 'item')} that both labelled"


def repeated_item(item: str, rows: Sequence[object], more: int, *, stated: bool) -> str:
    """Return the problem of an item with several rows in a wide table, as ``more`` items have.

    ``rows`` has their numbers, if known.
    """
    said = [f"rows {listing(list(map(str, rows)), 3)}"] if rows else []
    said += [f"{more:,} more such {'item' if more == 1 else 'items'}"] if more else []
    where = f" ({'; '.join(said)})" if said else ""
    if stated:
        return (
            f"item '{item}' has more than one row{where}; a wide table has one row per item; a long table has columns "
            "of annotators and labels and is read without layout='wide'"
        )
    return (
        f"item '{item}' has more than one row{where}, and no column names who answered; remove a row that is there "
        "twice, or add a column with the annotators (or set annotator=...)"
    )


def row_is(item: Sequence[str], labels: Sequence[str], who: str) -> str:
    """Return the answer that each row of an item has the labels of another annotator, or repeated labels of one."""
    of = f"rows of one {listing(list(item))}"
    if who:
        return f"in the {of}, one {who} gave {_names(labels)} repeatedly"
    return f"in each of the {of}, another person without a name gave {_names(labels)}"


def name_them(labels: Sequence[str]) -> str:
    """Return what to do about labels whose annotator only another table can name."""
    return f"add a column that says who gave {_names(labels)}"


def left_out(columns: Sequence[str], examples: str, labels: Sequence[str]) -> str:
    """Return the question about columns that are named as those of the labels, but have other cells."""
    are, does = ("are", "do they") if len(columns) > 1 else ("is", "does it")
    return f"{_names(columns)} ({examples}) {are} named as {_names(labels)} {are}: {does} also hold labels?"


def labels_on_another_scale(
    name: str, reason: str, kind: str, own: tuple[float, float] | None = None, top: float = 0
) -> str:
    """Return the problem of a column with labels on another scale; ``kind`` says who gave them, and why.

    ``own`` are its smallest and largest number, and ``top`` is the largest of the other columns.
    """
    end = ", or it is not a judge here" if "model" in kind else ""
    how = ""
    if own is not None and own[0] < own[1] <= _SHORT < _PERCENT / 2 < top <= _PERCENT:
        shift = f"(x − {own[0]:g})" if own[0] else "x"
        how = f" (from {own[0]:g}-{own[1]:g} to 0-100: {_PERCENT / (own[1] - own[0]):g} · {shift})"
    elif own is not None and not top and 0 <= own[0] < own[1] <= 1 and own != (0, 1):
        how = ". If it is the probability of one label, write the annotators' labels as 1 (this label) and 0 instead"
    if reason == OTHER_NAME:
        return f"'{name}' {kind}, but {reason}: name it as they are, or list all columns with columns=[...]{end}"
    return f"'{name}' {kind}, but its column holds {reason}: write its labels as the annotators do{how}{end}"


_SHORT, _PERCENT = 10, 100
"""The end of a short scale, and of percent."""


def other_words(name: str, own: str, other: str, others: str) -> str:
    """Return the doubt about a column that seems to hold an annotator's labels in other words."""
    return (
        f"'{name}' ({own}) seems to hold labels as those of '{other}' ({others}) in other words. If it is an "
        "annotator, write its labels as the others do; if not, list the annotators' columns with columns=[...]"
    )


def criterion_of_file(names: Sequence[str], known: str) -> str:
    """Return the note on a file whose labels are of the criterion of the other files."""
    own = f"'{names[0]}' counts as" if names else "labels without a criterion are of"
    return f"{own} '{known}', the criterion of the other file"


def annotators_by_place(names: Sequence[str], *, drawn: bool = False) -> str:
    """Return the note on lists whose labels are of annotators without names."""
    by = (
        "a place that is drawn within each item, since every list is sorted, and that"
        if drawn
        else "their place, which"
    )
    return (
        f"annotators of {listing(list(names))} have no names; they are named by {by} can be another person's in "
        "another item"
    )


def repeats_by_place(names: Sequence[str], who: str) -> str:
    """Return the note on lists whose labels are repeated labels of one annotator."""
    return f"labels of {listing(list(names))} are repeated labels of one annotator, '{who}', numbered by their place"


def rows_by_place(item: Sequence[str], *, people: bool) -> str:
    """Return the note on rows of one item that no column distinguishes."""
    of = f"rows of one {listing(list(item))} are"
    if not people:
        return f"{of} repeated labels of one annotator, numbered by their place"
    return (
        f"{of} labels of annotators without names; they are named by a place that is drawn within each item, since "
        "rows can be sorted, and that can be another person's in another item"
    )


def people_or_repeats(names: Sequence[str], least: int, most: int) -> str:
    """Return the question whether labels in lists without names are of several annotators or repeats of one."""
    contain = "contain" if len(names) > 1 else "contains"
    number = most if least == most else f"{least} to {most}"
    return (
        f"{_names(names)} {contain} lists of {number} labels without names: are they labels of several annotators, or "
        "repeated labels of one, such as runs of a judge?"
    )


def place_is(names: Sequence[str], what: str, *, repeats: bool) -> str:
    """Return the answer that each place of a list is an annotator or a judge, or a repeated label of one."""
    return f"each place in {_names(names)} is {'a repeated label of one' if repeats else _article(what)} {what}"


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiou" else "a"


def unread_answers(names: Sequence[str]) -> str:
    """Return the note on objects that could be answers, next to labels in other columns."""
    return f"{listing([repr(name) for name in names])}: objects like answers, not read as labels"


def no_voter(name: str) -> str:
    """Return the note on votes without a column that names who voted; ``name`` is then the annotator's."""
    return f"no column names who voted; the annotator is called '{name}', and is human unless judges=['{name}'] is set"


def keys_without_labels(keys: Sequence[str], name: str) -> str:
    """Return the note on keys of an object of labels that have no labels, such as comments and totals."""
    return f"{_names(keys)} in {name}: not read as labels"


def names_annotators(column: str) -> str:
    """Return the note on a column that is called annotator from here on."""
    return f"'{column}' names the annotators, read as column 'annotator'"


def one_row_per_answer(columns: Sequence[str], keys: str = "") -> str:
    """Return the note on lists or objects that became one row per answer; ``keys`` are what their keys are."""
    are = f": {'its' if len(columns) == 1 else 'their'} keys are the {keys}" if keys else ""
    return f"one row per answer in {listing(columns)}{are}"


def labels_of_objects(labels: Mapping[str, str]) -> str:
    """Return the note on columns whose objects have one label next to comments; ``labels`` has its key."""
    keys = list(dict.fromkeys(labels.values()))
    return f"{_names(list(labels))}: the label of each object is its {_either([repr(key) for key in keys])}"


def keys_are(columns: Sequence[str], objects: Sequence[str]) -> str:
    """Return the question whether the keys of objects are criteria or annotators."""
    return f"{_names(columns, 6)}, the keys of {_names(objects)}, can be criteria or annotators: who gave the labels?"


def keys_are_rated(who: Sequence[str], objects: Sequence[str]) -> str:
    """Return the question whether the keys of an object of objects are annotators or rated systems."""
    keys = f", keys of {_names(objects)}," if objects else ", with labels by criterion,"
    return f"{_names(who, 6)}{keys} can be annotators, or the systems that are rated: who gave the labels?"


def pairs_of_texts(number: int, column: str, rows: int) -> str:
    """Return the note on votes in which each row is an item, although pairs of texts come again."""
    return f"{rows:,} rows show {number:,} pairs of texts: to make each pair an item, set item={column!r}"


def texts_on_one_side(swapped: int, column: str) -> str:
    """Return the note on votes whose two texts were shown in both orders."""
    return (
        "votes on one item show its two texts in both orders. The text that is first by its letters is now the first "
        f"in all votes ({swapped:,} swapped: column {column})"
    )


def turned_texts(swapped: int, first: str, second: str, column: str) -> str:
    """Return the note on votes of a second table that shows the two texts of items in the other order."""
    return (
        f"the second table shows '{first}' and '{second}' of some items in the other order: {swapped:,} of its votes "
        f"are swapped (column {column})"
    )


BLANKS_BEFORE_QUOTES = "blanks before quotation marks are not part of the cells"


def further_cells(
    line: int, cells: int, columns: int, separator: str, last: tuple[str, str], lines: Sequence[int]
) -> str:
    """Return the problem of a row with more cells than the header has columns, and of further ``lines``.

    ``last`` is the name of the last column, if it holds free text, and the text from there on.
    """
    mark = {"\t": "a tab"}.get(separator, f"'{separator}'")
    also = f" (also line{'s' if len(lines) > 1 else ''} {listing([str(n) for n in lines], 3)})" if lines else ""
    rule = f"line {line} has {cells} cells{also}, but the header has {columns}"
    name, text = last
    if not name:
        return f"{rule}. If {mark} is part of a text, put the text in quotation marks; if not, remove the further cells"
    clean = text.strip().strip('"').strip()
    shown = clean if len(clean) <= MOST_SHOWN else f"{clean[:MOST_SHOWN]}..."
    spaced = ", without a space before them" if re.match(r'\s+"', text) else ""
    return f"{rule}. If {mark} is part of the text in '{name}', put it in quotation marks{spaced}: \"{shown}\""


MOST_SHOWN = 60
"""Characters of a cell that a sentence shows."""


def numbered_first_row(number: int) -> str:
    """Return the problem of a table whose first row is the first of its numbered rows, not a header."""
    return (
        f"the first column is called '{number}', and its cells continue with {number + 1}, {number + 2}, so the first "
        "row seems to be data; add a row of names above it, such as item, annotator, label, or set layout=... if these "
        "are names"
    )


# -- labels that annotators write differently ----------------------------------------------------------------------


def _range(ends: tuple[float, float]) -> str:
    return f"{ends[0]:g} to {ends[1]:g}"


def other_range(source: str, names: str, own: tuple[float, float], others: tuple[float, float]) -> str:
    """Return the doubt about an annotator whose labels have another range."""
    ends = f"{min(own[0], others[0]):g}-{max(own[1], others[1]):g}"
    return (
        f"{source}: labels of {names} range from {_range(own)}, labels of the other annotators from {_range(others)}. "
        f"Convert them to one scale, or set scale='interval:{ends}' if they are on one scale"
    )


def possible_codes(
    source: str, names: Sequence[str], marks: Sequence[float], number: int, others: tuple[float, float]
) -> str:
    """Return the doubt about numbers beyond all other labels, which can be codes of missing answers."""
    single = len(marks) == 1
    have, rest = ("has", "labels of the other annotators") if len(names) == 1 else ("have", "the other labels")
    shown = ", ".join(f"{mark:g}" for mark in marks)
    ends = f"{min(*marks, others[0]):g}-{max(*marks, others[1]):g}"
    missing, label = ("it is a missing value", "it is a label") if single else ("they are missing", "they are labels")
    return (
        f"{source}: {_names(names)} {have} the {'label' if single else 'labels'} {shown} in {counted(number, 'row')}, "
        f"{rest} range from {_range(others)}. Set missing=[{shown}] if {missing}, or scale='interval:{ends}' if {label}"
    )


def other_vocabulary(source: str, names: Sequence[str], own: Sequence[str], others: Sequence[str]) -> str:
    """Return the doubt about annotators whose labels no other annotator gives."""
    return (
        f"{source}: labels of {_names(names)} ({listing([repr(v) for v in own], 4)}) are labels of no other annotator "
        f"({listing([repr(v) for v in others], 4)}). Write the same labels, for example with codes={{...}}, or set "
        "scale='nominal:...' with all categories"
    )


def renamed_label(source: str, short: str, long: str, codes: Mapping[str, str]) -> str:
    """Return the doubt about two labels that could be two names of one category."""
    merge = f"set codes={dict(codes)!r}" if len(codes) <= MOST_CODES else "write one of them"
    return (
        f"{source}: '{short}' and '{long}' never occur on the same item, as if a category had two names. If they are "
        f"one category, {merge}; if not, set scale='nominal:...' with all categories"
    )


MOST_CODES = 6
"""Labels up to which a sentence contains the codes of all."""


PROVENANCE: Mapping[str, str] = {
    "asked": "provenance: asked by assay; its requests had no annotator's label of the item",
    "file": "provenance: labels from a file; whether the judge saw annotators' labels of these items is not known. The "
    "result applies to items whose labels it has not seen",
}
"""Where a judge's labels come from; in verdicts, cards and estimates."""
