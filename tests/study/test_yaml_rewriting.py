"""Changes of single values in study.yaml: comments, order and the form of all other values stay."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.errors import StudyError
from assay.study.rewriting import rewritten

FILE = Path("study.yaml")

COMMENTED = """\
# A study of reviews.
name: Reviews   # on its pages
questions:
  - name: stars
    text: How many stars?
    scale: 1-5

people:
  # Agreed with the ethics board.
  consent: |
    Please read this.
  overlap: 2    # annotators per item
  instructions: |  # version of May
    Read it.

    Be fair.

  # The last line.
judges: []
"""

CHANGES: dict[str, tuple[str, list[Any], Any, str]] = {
    "a number with a comment": (
        COMMENTED, ["people", "overlap"], 3,
        COMMENTED.replace("overlap: 2    # ann", "overlap: 3    # ann"),
    ),
    "a block of lines": (
        COMMENTED, ["people", "instructions"], "Read it twice.\n\nBe fair: 1 # 2.\n",
        COMMENTED.replace("    Read it.\n", "    Read it twice.\n").replace("Be fair.", "Be fair: 1 # 2."),
    ),
    "a block that becomes one line": (
        COMMENTED, ["people", "consent"], "Yes: or no?",
        COMMENTED.replace("|\n    Please read this.", "'Yes: or no?'"),
    ),
    "a key that is added after a block": (
        COMMENTED, ["people", "quota"], 5,
        COMMENTED.replace("    Be fair.\n", "    Be fair.\n  quota: 5\n"),
    ),
    "a key of a part in a list": (
        COMMENTED, ["questions", 0, "guidelines"], "One.\nTwo.",
        COMMENTED.replace("scale: 1-5\n", "scale: 1-5\n    guidelines: |-\n      One.\n      Two.\n"),
    ),
    "a missing part": ("a: 1\n", ["people", "overlap"], 3, "a: 1\npeople:\n  overlap: 3\n"),
    "a file without a last line end": ("a: 1", ["people", "overlap"], 3, "a: 1\npeople:\n  overlap: 3"),
    "line ends of Windows": (
        "a: 1\r\npeople:\r\n  quota: 2\r\n", ["people", "instructions"], "One.\nTwo.\n",
        "a: 1\r\npeople:\r\n  quota: 2\r\n  instructions: |\r\n    One.\r\n    Two.\r\n",
    ),
    "brackets": ("people: {quota: 2, order: fixed}", ["people", "quota"], None, "people: {quota: null, order: fixed}"),
    "empty brackets": ("people: {}", ["people", "quota"], 2, "people: {quota: 2}"),
    "a key added in brackets": (
        "people: {\n  quota: 2,  # few\n}", ["people", "until"], "2027-03-01T18:00+01:00",
        "people: {\n  quota: 2, until: '2027-03-01T18:00+01:00',  # few\n}",
    ),
    "brackets of the whole file": ('{"a": 1}', ["people", "quota"], 2, '{"a": 1, people: {quota: 2}}'),
    "lines in brackets": ("people: {a: 1}", ["people", "a"], "x, y\n]", 'people: {a: "x, y\\n]"}'),
    "a mapping in lines": (
        "people:\n  overlap:\n    job:\n      nurse: 2\n  # then\n  quota: 1\n", ["people", "overlap"], 3,
        "people:\n  overlap:\n    3\n  # then\n  quota: 1\n",
    ),
    "a number in a mapping": (
        "people:\n  overlap: {job: {nurse: 2, doctor: 1}} # both\n", ["people", "overlap", "job", "nurse"], 4,
        "people:\n  overlap: {job: {nurse: 4, doctor: 1}} # both\n",
    ),
    "a key without a value": ("people:\n  quota:\n  order: fixed\n", ["people", "quota"], 2,
                              "people:\n  quota: 2\n  order: fixed\n"),
    "one line that becomes a block": (
        "people:\n  instructions: Read.  # short\n  quota: 2\n", ["people", "instructions"], "A\nB\n",
        "people:\n  instructions: |  # short\n    A\n    B\n  quota: 2\n",
    ),
    "a text that begins with a space": ("a: 1\n", ["a"], " x\ny", 'a: " x\\ny"\n'),
    "a byte order mark": ("\ufeffa: 1\nb: 2\n", ["a"], 3, "\ufeffa: 3\nb: 2\n"),
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGES)
def test_rewritten_changes_one_value(case: str) -> None:
    before, where, value, after = CHANGES[case]
    assert rewritten(FILE, before, where, value) == after


def test_rewritten_refuses_forms_in_which_other_values_would_change() -> None:
    text = "people:\n  quota: &n 2\nother: *n\n"
    with pytest.raises(StudyError, match=r"study.yaml: people.quota cannot be changed without a change of other lines"):
        rewritten(FILE, text, ["people", "quota"], 3)
    with pytest.raises(StudyError, match=r"people.order cannot be changed"):
        rewritten(FILE, "base: &b {order: fixed}\npeople: *b\n", ["people", "order"], "shuffled")
    with pytest.raises(StudyError, match="line 1: "):
        rewritten(FILE, "people: {", ["people", "quota"], 3)


@pytest.mark.slow
def test_rewritten_texts_are_read_as_they_were_written() -> None:
    """Random texts in random places: the reader finds the new value there, and all others as before."""
    chance = random.Random(48)
    pieces = [
        "a",
        "#",
        ": ",
        "- ",
        "\n",
        "\n\n",
        " ",
        "\t",
        "'",
        '"',
        "{",
        "]",
        ",",
        "|",
        "é",
        "😀",
        "\u2028",
        "\x85",
        "%",
        "&",
    ]
    content = {
        "people": {"consent": "Do you\nagree?\n", "overlap": {"job": {"nurse": 2}}, "quota": 3},
        "questions": [{"name": "a", "text": "Why?\n"}, {"name": "b", "text": "# no"}],
    }
    places: list[list[Any]] = [
        ["people", "consent"], ["people", "instructions"], ["questions", 0, "text"], ["questions", 1, "guidelines"],
    ]  # fmt: skip
    for style in (None, False, True):
        text = yaml.safe_dump(content, default_flow_style=style, sort_keys=False, allow_unicode=True)
        for _ in range(150):
            where, value = chance.choice(places), "".join(chance.choices(pieces, k=chance.randrange(9)))
            made = yaml.safe_load(rewritten(FILE, text, where, value))
            part = made[where[0]] if len(where) == 2 else made[where[0]][where[1]]
            assert part.pop(where[-1]) == value
            expected = yaml.safe_load(text)
            of = expected[where[0]] if len(where) == 2 else expected[where[0]][where[1]]
            of.pop(where[-1], None)
            assert made == expected
