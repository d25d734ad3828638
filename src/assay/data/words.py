"""The sentences of `assay.look` and of the notes on columns, made from codes."""

from __future__ import annotations

from collections.abc import Sequence

from assay.errors import counted, listing

SHAPES = {
    "long": "one row per label", "wide": "one row per item, one column per annotator",
    "transposed": "one row per annotator, one column per item",
}  # fmt: skip
"""Layouts of a table."""

ROLES = {
    "item": "item id", "annotator": "annotator", "label": "label", "criterion": "criterion", "repeat": "repeat",
    "kind": "human or judge", "person": "human labels", "judge": "judge labels", "item column": "item metadata",
    "gold": "item metadata (gold label)", "computed": "computed (ignored)", "time stamp": "time stamp (ignored)",
    "comment": "comment (ignored)", "row number": "row number (ignored)", "technical": "technical (ignored)",
    "empty": "empty (ignored)", "unknown": "unknown role",
}  # fmt: skip
"""Roles of columns, as `assay.look` prints them."""

_NOTES = {
    "item": "parsed as item id", "annotator": "parsed as annotator", "label": "parsed as label",
    "criterion": "parsed as criterion", "person": "parsed as human labels", "judge": "parsed as judge labels",
    "computed": "ignored (computed)", "time stamp": "ignored (time stamp)", "comment": "ignored (comment)",
    "row number": "ignored (row number)", "technical": "ignored (technical)", "empty": "ignored (empty)",
    "item column": "kept as item metadata", "gold": "kept as item metadata (gold label)",
}  # fmt: skip
_WITH_REASON = ("computed", "item column", "gold")

ROLES_NOTED = tuple(_NOTES)
"""Roles that a note of reading names, in the order of the notes."""

ANALYSES = {
    "replacement_test": "replacement test", "agreement": "agreement", "rating_scales": "rating scales",
    "pairwise_votes": "pairwise votes", "triplets": "triplets", "g_study": "G-study", "fairness": "fairness",
    "corrected_estimates": "corrected estimates",
}  # fmt: skip
"""Analyses that a table can support."""

_REASONS = {
    "no_judge": "no judge",
    "judge_unspecified": "no judge; set judges=[...]",
    "no_human_labels": "no human labels",
    "too_few_humans": "fewer than two human annotators",
    "odd_one_out_choices": "labels are odd-one-out choices",
    "free_text": "labels are free text",
    "no_scale_column": "no column with the scale",
    "not_votes": "labels are not first, second or tie",
    "read_as_votes": "set scale='preference'",
    "not_triplets": "labels are not A, B or C",
    "read_as_triplets": "set scale='odd-one-out'",
    "no_nested_column": "no nested column",
    "no_group_column": "no group column",
    "all_items_human_labelled": "every item has human labels; add items that only the judge has labelled",
}
"""Reasons that need neither a name nor a number."""

RECOMMENDED_HUMANS = 3
"""Human annotators from which a verdict is likely: with two, each is compared with only one other."""


def role_note(role: str, columns: Sequence[str], reason: str) -> str:
    """Return the note on the columns of one role.

    Parameters
    ----------
    role : str
        One of `ROLES_NOTED`.
    columns : sequence of str
        The names of the columns.
    reason : str
        The reason that all of them have; empty if they differ.
    """
    names = listing([f"'{name}'" for name in columns], 6)
    return f"{names} {_NOTES[role]}" + (f": {reason}" if reason and role in _WITH_REASON else "")


def analysis_detail(reason: str, names: Sequence[str], number: int | None) -> str:
    """Return the words in brackets after the name of an analysis.

    Parameters
    ----------
    reason : str
        A code; see `assay.looking.Analysis`.
    names : sequence of str
        Judges or columns.
    number : int or None
        The number of items or annotators.
    """
    if reason in _REASONS:
        return _REASONS[reason]
    listed = listing(names, 3)
    if reason == "few_humans":
        return f"{listed}; {number} human annotators, at least {RECOMMENDED_HUMANS} are recommended"
    if reason == "items_with_two_labels":
        return f"{counted(number or 0, 'item')} with at least two labels"
    if reason == "items_without_human_labels":
        return f"{counted(number or 0, 'item')} without human labels"
    return f"by {listed}" if reason == "by_column" else listed


def analysis_line(name: str, supported: bool, detail: str) -> str:
    """Return the line on one analysis, such as ``✓ replacement test (gpt-4o)``."""
    return f"{'✓' if supported else '–'} {ANALYSES[name]}" + (f" ({detail})" if detail else "")


def assumed_judges(names: Sequence[str]) -> str:
    """Return the sentence on annotators that are assumed to be judges."""
    quoted = listing([f"'{name}'" for name in names], 4)
    return f"Assumed that {quoted} {'are judges' if len(names) > 1 else 'is a judge'} (by name). Set judges=[...]"
