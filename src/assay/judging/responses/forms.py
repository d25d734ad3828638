"""The forms in which a response can state a label: `FINDERS`; a new form is a new row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from assay.data.scales import Scale
from assay.judging.responses.prose import find_only_label, find_only_number, find_only_side
from assay.judging.responses.statements import (
    Statement,
    find_bold_ending,
    find_fitting,
    find_given,
    find_in_json,
    find_in_keyed_lines,
    find_in_lines,
    find_in_marks,
    find_in_other_languages,
    find_in_sentences,
    find_last_line,
    find_under_headings,
)


class Finder(NamedTuple):
    """A form in which a response can state a label."""

    find: Callable[[str, Scale], Iterator[Statement]]
    is_sure: bool = False
    """Whether the last of all sure statements counts; of the other finders, the first with a statement decides."""
    is_whole: bool = False
    """Whether a truncated response can contain the statement."""
    any_word: bool | None = None
    """Whether it is for scales on which any word is a label, or for the others alone; None for all scales."""


FINDERS = (
    Finder(find_in_json, is_sure=True, is_whole=True),
    Finder(find_in_marks, is_sure=True, is_whole=True),
    Finder(find_in_sentences, is_sure=True),
    Finder(find_under_headings, is_sure=True),
    Finder(find_in_other_languages, is_sure=True, any_word=False),
    Finder(find_given, is_sure=True, any_word=False),
    Finder(find_fitting, is_sure=True, any_word=False),
    Finder(find_last_line, is_sure=True, any_word=False),
    Finder(find_in_keyed_lines, any_word=True),
    Finder(find_in_lines),
    Finder(find_in_keyed_lines, any_word=False),
    Finder(find_bold_ending, any_word=False),
    Finder(find_only_label, any_word=False),
    Finder(find_only_number, any_word=False),
    Finder(find_only_side, any_word=False),
)
"""In order of priority. All except the first ignore the JSON objects of the response."""
