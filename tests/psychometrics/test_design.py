"""Designs as the field writes them, and the effects that they have."""

from __future__ import annotations

import numpy as np
import pytest

from assay.errors import DesignError
from assay.psychometrics.design import Confounding, Term, complete_table, parse


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


# -- terms ---------------------------------------------------------------------------------------------------


def test_a_merged_term_has_the_facets_of_all_or_of_any_of_its_effects():
    design = parse("r x (s:o:i)")
    both = Term((design.effect("o:i"), design.effect("s:o:i")), np.arange(3), 3)
    assert both.name == "o:i,s:o:i"
    assert both.facets("careful") == {"o", "i"}
    assert both.facets("usual") == {"s", "o", "i"}
    assert both.level.tolist() == [0, 1, 2]
    rest = Term((), None, 9, cell=frozenset("rsoi"))
    assert rest.name == "e"
    assert rest.facets("careful") == rest.facets("usual") == {"r", "s", "o", "i"}
    assert Term((design.effects[-1],), None, 9).name == "rs:o:i,e"


@pytest.mark.parametrize(
    ("coefficient", "sizes", "told"),
    [
        ("generalizability", {}, True),
        ("generalizability", {"r": 1, "o": 5}, True),
        ("generalizability", {"r": 2}, False),
        ("dependability", {}, False),
    ],
)
def test_a_facet_of_one_level_leaves_the_relative_coefficient_of_one_level(coefficient, sizes, told):
    found = Confounding(parse("r x o x i"), (), (), (), None, single=("r", "s"))
    why = found.why_not(coefficient, sizes)
    assert why == (None if told else (
        "r, s has one level, so that nothing shows how others would differ; take more of them, or fixed=r where there "
        "are no others"
    ))  # fmt: skip
    assert Confounding(parse("r x i"), (), (), (), None).why_not(coefficient, sizes) is None
    assert Confounding(parse("r x i"), (), (), (), None, untold="why").why_not(coefficient, sizes) == "why"


def test_levels_of_a_nested_facet_are_numbered_within_what_holds_it():
    design = parse("r x (o:i)")
    codes = {"r": np.array([0, 1, 0, 1]), "o": np.array([5, 6, 7, 7]), "i": np.array([0, 0, 1, 1])}
    assert design.nested_levels("o", codes).tolist() == [0, 1, 0, 0]
    assert design.nested_levels("r", codes).tolist() == [0, 1, 0, 1]
    assert design.codes_of({"i", "o"}, codes).tolist() == [0, 1, 2, 2]
    assert design.codes_of({"i", "r"}, codes).tolist() == [0, 2, 1, 3]  # in the order of the design: r, then i
    assert design.drop({"r"}).facets == ("o", "i")
    assert names("r x (o:i)") == ["r", "i", "o:i", "ri", "ro:i"]


def test_a_complete_table_has_the_strata_of_its_design():
    # Two raters of two lessons each of two teachers; every effect but the last has a variance of its own.
    design = parse("r x (o:i)")
    codes = {
        f: np.array(c) for f, c in zip("roi", ([0, 1] * 4, [0, 0, 1, 1, 2, 2, 3, 3], [0] * 4 + [1] * 4), strict=True)
    }
    value = np.array([1.0, 2, 3, 5, 6, 6, 9, 8])
    found = complete_table(design, design.effects[:-1], value, codes, True)
    assert found.df.tolist() == [1, 1, 2, 1, 2]  # r, i, o:i, ri, ro:i
    # Labels that a level of each effect holds: 4 of r, 4 of i, 2 of o:i, 2 of ri.
    assert found.weights[0].tolist() == [4, 0, 0, 2, 1]
    assert found.weights[1].tolist() == [0, 4, 2, 2, 1]
    assert found.squares.sum() == pytest.approx(8 * value.var())
    assert complete_table(design, design.effects[:-1], value[:-1], {f: c[:-1] for f, c in codes.items()}, True) is None
