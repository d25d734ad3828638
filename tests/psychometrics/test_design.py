"""Designs as the field writes them, and the effects that they have."""

from __future__ import annotations

import pytest

from assay.errors import DesignError
from assay.psychometrics.design import parse


def names(text: str) -> list[str]:
    return [effect.name for effect in parse(text).effects]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("p x i", {"p", "i", "pi"}),
        ("i:p", {"p", "i:p"}),
        ("p x i x o", {"p", "i", "o", "pi", "po", "io", "pio"}),
        ("p x (r:t)", {"p", "t", "r:t", "pt", "pr:t"}),
        ("(i:p) x o", {"p", "o", "i:p", "po", "io:p"}),
        ("i:(p x o)", {"p", "o", "po", "i:po"}),
        ("i:o:p", {"p", "o:p", "i:o:p"}),
        ("(i x o):p", {"p", "i:p", "o:p", "io:p"}),
        # Hardy, equation 1, and r x o:i that it leaves out.
        ("r x (s:o:i)", {"i", "r", "o:i", "s:o:i", "ri", "ro:i", "rs:o:i"}),
        ("j x r x (o:i)", {"j", "r", "i", "o:i", "jr", "ji", "ri", "jo:i", "ro:i", "jri", "jro:i"}),
        ("(r:f) x (o:i)", {"f", "i", "r:f", "o:i", "fi", "ri:f", "fo:i", "ro:fi"}),
    ],
)  # fmt: skip
def test_a_design_has_the_effects_of_brennan(text, wanted):
    # ``ri:f`` and ``ir:f`` are one effect; the order of letters is that of the design.
    assert {frozenset(e.index) for e in parse(text).effects} == {frozenset(name.replace(":", "")) for name in wanted}
    assert len(names(text)) == len(wanted)


def test_names_say_what_is_nested_in_what():
    assert names("r x (s:o:i)") == ["r", "i", "o:i", "s:o:i", "ri", "ro:i", "rs:o:i"]
    assert names("rater x (lesson:teacher)")[-2:] == ["raterxteacher", "raterxlesson:teacher"]


@pytest.mark.parametrize("text", ["r x (s:o:i)", "r×(s:o:i)", "r * (s : o : i)", "(s:o:i) x r", "r x ((s:o):i)"])
def test_ways_to_write_one_design(text):
    assert {e.index for e in parse(text).effects} == {e.index for e in parse("r x (s:o:i)").effects}


def test_an_effect_is_found_whatever_the_order_of_its_letters():
    design = parse("r x (s:o:i)")
    assert design.effect("ir") is design.effect("ri")
    assert design.effect("sr:o:i").name == "rs:o:i"
    with pytest.raises(DesignError, match="effect 'rp' is not in the design"):
        design.effect("rp")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it ends where a facet should stand"),
        ("r x", "it ends where a facet should stand"),
        ("r x (s:o", "a bracket is not closed"),
        ("r x s)", r"'\)' is not expected"),
        ("r s", "'s' is not expected"),
        ("r x x", "'x' stands where a facet should"),
        ("r x (o:r)", "r appears twice"),
        ("p + i", r"'\+' is not expected"),
        ("p", "has one facet"),
        ("a x b x c x d x e x f x g", "7 facets; 6 are the most"),
    ],
)
def test_what_is_no_design_is_refused_in_words(text, words):
    with pytest.raises(DesignError, match=words):
        parse(text)
