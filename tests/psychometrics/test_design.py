"""Designs as the field writes them, and the effects that they have."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay.errors import DataError, DesignError
from assay.psychometrics.design import (
    Confounding,
    DisattenuationSettings,
    DStudySettings,
    GStudySettings,
    LoopSettings,
    Term,
    complete_table,
    parse,
    resolve_confounding,
)


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


def test_effect_lookup_ignores_letter_order():
    design = parse("r x (s:o:i)")
    assert design.effect("ir") is design.effect("ri")
    assert design.effect("sr:o:i").name == "rs:o:i"
    with pytest.raises(DesignError, match="effect 'rp' is not in the design"):
        design.effect("rp")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a facet is missing at the end"),
        ("r x", "a facet is missing at the end"),
        ("r x (s:o", "a bracket is not closed"),
        ("r x s)", r"'\)' is not expected"),
        ("r s", "'s' is not expected"),
        ("r x x", "'x' is not a facet"),
        ("r x (o:r)", "r appears twice"),
        ("p + i", r"'\+' is not expected"),
        ("p", "has one facet"),
        ("a x b x c x d x e x f x g", "7 facets; at most 6"),
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

            "r, s has one level, so that its variance is unknown; collect more levels, or set fixed=r if there "
            "are no others"

    ))  # fmt: skip
    assert Confounding(parse("r x i"), (), (), (), None).why_not(coefficient, sizes) is None
    assert Confounding(parse("r x i"), (), (), (), None, not_estimable="why").why_not(coefficient, sizes) == "why"


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


# -- which effects these labels tell apart -------------------------------------------------------------------


def labels_of(cells, text, measured, value=None, **options) -> Confounding:
    """Cells are levels of the facets in the order of the design; labels are any that vary, unless given."""
    design = parse(text)
    codes = dict(zip(design.facets, np.array(cells).T, strict=True))
    value = np.random.default_rng(3).normal(size=len(cells)) if value is None else np.array(value, dtype=float)
    return resolve_confounding(design, value, codes, GStudySettings(text, measured, **options))


def lessons_of(*each, raters=3):
    """Raters by lessons of teachers, so many of each."""
    teacher = np.repeat(np.arange(len(each)), each)
    return [(r, o, i) for o, i in enumerate(teacher.tolist()) for r in range(raters)]


def found_in(found: Confounding) -> list[tuple[str, int, int | None]]:
    return [(t.name, t.levels, t.contrasts) for t in found.terms]


def test_three_differences_tell_lessons_from_teachers():
    # Of four teachers three have two lessons; 21 labels less their 12 pairs of rater and teacher are 9.
    found = labels_of(lessons_of(1, 2, 2, 2), "r x (o:i)", "i")
    assert found_in(found) == [("r", 3, 2), ("i", 4, 3), ("o:i", 7, 3), ("ri", 12, 8), ("ro:i,e", 21, 0)]
    assert (found.cautions, found.notes, found.not_estimable, found.complete) == ((), (), None, None)
    assert not found.replicated


@pytest.mark.parametrize(
    ("each", "levels", "differences"), [((1, 1, 2, 2), 6, "2 contrasts"), ((1, 1, 1, 2), 5, "1 contrast")]
)
def test_fewer_differences_make_one_term_of_two(each, levels, differences):
    found = labels_of(lessons_of(*each), "r x (o:i)", "i")
    assert [t.name for t in found.terms][:2] == ["r", "i,o:i"]
    assert found.cautions[0] == (
        f"o:i and i are confounded: 4 levels of i contain {levels} levels of o:i, {differences} in total; they are "
        "fitted as one term, i,o:i."
    )
    assert found.cautions[-1] == (
        "the object's variance is confounded with that of o:i: coefficients are not estimable."
    )
    assert found.not_estimable == "the object's variance is confounded with that of its interactions"
    with pytest.raises(DesignError, match=r"are confounded.*\. confounded='merge' merges them"):
        labels_of(lessons_of(*each), "r x (o:i)", "i", confounded="refuse")
    assert labels_of(lessons_of(*each), "r x (o:i)", "i", least_contrasts=1).cautions == ()


def test_of_two_differences_one_may_ask_for_as_few():
    cells = lessons_of(1, 1, 2, 2)
    assert labels_of(cells, "r x (o:i)", "i", least_contrasts=2).cautions == ()


@pytest.mark.parametrize(("again", "apart"), [(0, False), (1, False), (2, False), (3, True)])
def test_labels_of_the_same_cell_tell_the_highest_interaction_from_error(again, apart):
    cells = [(p, r) for p in range(4) for r in range(3)]
    found = labels_of([*cells, *cells[:again]], "p x r", "p")
    assert found.replicated == apart
    names = ["p", "r", "pr", "e"] if apart else ["p", "r", "pr,e"]
    assert [t.name for t in found.terms] == names
    assert (found.terms[-1].levels, found.terms[-1].contrasts, found.terms[-1].code) == (12 + again, again, None)
    said = {1: "1 contrast", 2: "2 contrasts"}
    assert found.notes == (() if again not in said else (
        f"cells of p x r have several labels, {said[again]} in total, too few to separate pr from error",
    ))  # fmt: skip
    assert labels_of([*cells, *cells[:2]], "p x r", "p", least_contrasts=2).replicated


@pytest.mark.parametrize(("more", "merged"), [(2, True), (3, False)])
def test_levels_with_one_label_each_are_the_residual(more, merged):
    # Six items of each of four teachers; so many items have a second label, by another rater.
    cells = [(k, k // 6, k % 2) for k in range(24)] + [(k, k // 6, 1 - k % 2) for k in range(more)]
    found = labels_of(cells, "(s:i) x r", "i")
    words = f"s:i is confounded with the residual: its 24 levels have {24 + more} labels, {more} contrasts in total"
    assert any(c.startswith(words) for c in found.cautions) == merged
    assert any(t.effects[0].name == "s:i" for t in found.terms if t.code is not None) != merged


def test_omitted_effects_are_in_the_residual():
    cells = [(p, r, t) for p in range(4) for r in range(4) for t in range(4)]
    found = labels_of(cells, "p x r x t", "p", omit=("tp", "rt"))
    assert [t.name for t in found.terms] == ["p", "r", "t", "pr", "prt,e"]
    assert [e.name for e in found.terms[-1].omitted] == ["pt", "rt"]
    assert found.terms[-1].cell == {"p", "r", "t"}
    for omitted in ("p", "prt"):
        with pytest.raises(
            DesignError, match=f"neither the object's effect nor the residual can be .*; got {omitted}$"
        ):
            labels_of(cells, "p x r x t", "p", omit=omitted)
    # With several labels a cell the highest interaction is not the residual.
    twice = labels_of(cells * 2, "p x r x t", "p", omit="prt")
    assert [t.name for t in twice.terms] == ["p", "r", "t", "pr", "pt", "rt", "e"]
    with pytest.raises(DesignError, match="neither the object's effect"):
        labels_of(cells * 2, "p x r x t", "p", omit="p")


def test_a_facet_of_one_level_leaves_the_design():
    cells = [(p, 0, t) for p in range(5) for t in range(4)]
    found = labels_of(cells, "p x r x t", "p")
    assert (found.design.facets, found.single) == (("p", "t"), ("r",))
    assert found.cautions == ("r has one level and is removed from the design: results apply to that level only.",)
    fixed = labels_of(cells, "p x r x t", "p", fixed="r")
    assert (fixed.design.facets, fixed.single, fixed.cautions) == (("p", "t"), (), ())
    with pytest.raises(DesignError, match="the object r has one level; a G-study needs several"):
        labels_of(cells, "p x r x t", "r")
    with pytest.raises(DesignError, match="r has one level, so that its effects are confounded with others"):
        labels_of(cells, "p x r x t", "p", confounded="refuse")


ADDED = [p + r for p in range(4) for r in range(3)]


@pytest.mark.parametrize(
    ("people", "raters", "value", "words"),
    [
        (4, 3, [p for p in range(4) for _ in range(3)], "the labels of each object are all equal"),
        (4, 3, ADDED, "p, r explain the labels exactly"),
    ],
)
def test_labels_without_error_are_refused(people, raters, value, words):
    cells = [(p, r) for p in range(people) for r in range(raters)]
    with pytest.raises(DesignError, match=f"{words}, so that no error can be estimated"):
        labels_of(cells, "p x r", "p", value)
    # The analysis of variance needs none; an error of one label is enough.
    assert labels_of(cells, "p x r", "p", value, estimator="anova").cautions == ()
    off = [v + 0.1 * (k == 5) for k, v in enumerate(value)]
    assert [t.name for t in labels_of(cells, "p x r", "p", off).terms] == ["p", "r", "pr,e"]


def test_what_adds_up_exactly_has_its_finest_term_in_the_residual():
    cells = [(p, r) for p in range(4) for r in range(5)]
    found = labels_of(cells, "p x r", "p", [p + r for p, r in cells])
    assert [t.name for t in found.terms] == ["p", "r,pr,e"]
    assert found.cautions == (
        "r and the residual have no solution: 5 of 5 levels of r have more than one label, and their residuals "
        "(12 contrasts) are exactly 0, so that the likelihood is unbounded as the residual variance goes "
        "to 0; it is fitted as part of the residual, r,pr,e.",
    )
    assert found.complete is None


@pytest.mark.parametrize("value", [[], [2.0, 2, 2]])
def test_labels_that_do_not_vary_have_no_variance(value):
    codes = {f: np.arange(len(value)) for f in "pr"}
    with pytest.raises(DesignError, match="all labels are equal; a G-study needs labels that vary"):
        resolve_confounding(parse("p x r"), np.array(value), codes, GStudySettings("p x r", "p"))


# -- options ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "defaults"),
    [
        (GStudySettings, {"confounded": "merge", "least_contrasts": 3, "estimator": "reml", "n_resamples": 200,
                          "confidence": 0.95, "seed": 0, "repeats": "error", "method": None, "by": None}),
        (DisattenuationSettings, {"by": "kind", "weights": "pairs", "n_resamples": 200, "confidence": 0.95,
                                  "n_pairs": 1500, "observed_high": 0.3, "implied_low": 0.5, "least_contrasts": 3}),
    ],
)  # fmt: skip
def test_what_a_design_is_asked_by_default(made, defaults):
    found = made("r x (o:i)", "i")
    assert {name: getattr(found, name) for name in defaults} == defaults
    assert made("p x r", "p", omit="pr", reverse="a", annotators="b").omit == ("pr",)


def test_what_numbers_are_projected_by_default():
    assert DStudySettings().target == LoopSettings().target == 0.7
    assert DStudySettings().coefficient == "dependability"
    assert DStudySettings().merged == LoopSettings().merged == "careful"
    found = LoopSettings()
    assert found.sizes == tuple(range(1, 11)) == LoopSettings(sizes=range(1, 11)).sizes
    assert (found.ensemble, found.combine, found.another, found.correlation, found.judge_price) == (
        3, "sum", "other", 1.0, 0.0
    )  # fmt: skip


DESIGN = ("p x r", "p")


@pytest.mark.parametrize(
    ("made", "given", "name", "taken", "refused"),
    [
        (GStudySettings, DESIGN, "least_contrasts", (1,), (0,)),
        (GStudySettings, DESIGN, "n_resamples", (20,), (19,)),
        (GStudySettings, DESIGN, "confidence", (0.01, 0.99), (0.0, 1.0)),
        (GStudySettings, DESIGN, "seed", (0,), (-1,)),
        (DStudySettings, (), "target", (0.01, 0.99), (0.0, 1.0)),
        (DStudySettings, (), "price", (0.0,), (-0.01,)),
        (LoopSettings, (), "ensemble", (2,), (1,)),
        (LoopSettings, (), "correlation", (-1.0, 1.0), (-1.01, 1.01)),
        (LoopSettings, (), "target", (0.01, 0.99), (0.0, 1.0)),
        (LoopSettings, (), "price", (0.0,), (-0.01,)),
        (LoopSettings, (), "judge_price", (0.0,), (-0.01,)),
        (DisattenuationSettings, DESIGN, "n_resamples", (20,), (19,)),
        (DisattenuationSettings, DESIGN, "n_pairs", (20,), (19,)),
        (DisattenuationSettings, DESIGN, "observed_high", (0.0, 1.0), (-0.01, 1.01)),
        (DisattenuationSettings, DESIGN, "implied_low", (0.0, 1.0), (-0.01, 1.01)),
    ],
)
def test_numbers_within_their_limits_are_taken(made, given, name, taken, refused):
    for value in taken:
        assert getattr(made(*given, **{name: value}), name) == value
    for value in refused:
        with pytest.raises(DesignError, match=name if name != "n_resamples" else "resamples"):
            made(*given, **{name: value})


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e4])
@pytest.mark.parametrize(("share", "nothing"), [(0.5e-12, True), (2e-12, False)])
def test_zero_tolerance_is_scale_free(scale, share, nothing):
    """An error that sums to 0 in each row and column, with that share of the squares about the mean."""
    cells = [(p, r) for p in range(4) for r in range(5)]
    added = np.array([p + 10.0 * r for p, r in cells])
    error = np.zeros((4, 5))
    error[:2, :2] = [[1, -1], [-1, 1]]
    error = error.ravel() * np.sqrt(share * ((added - added.mean()) ** 2).sum() / 4)
    found = labels_of(cells, "p x r", "p", scale * (added + error))
    assert [t.name for t in found.terms] == (["p", "r,pr,e"] if nothing else ["p", "r", "pr,e"])


def test_facets_without_a_column_are_refused_with_the_option_that_names_it() -> None:
    labels = assay.simulate(30, 3, scale="1-5", seed=1)
    with pytest.raises(DesignError) as refused:
        assay.g_study(labels, design="i x r", object="i", facets={"r": "annotator"})
    assert str(refused.value).startswith(
        "no column is called 'i', as the design calls it: name the column of each facet with "
        "facets={'i': '...', 'r': 'annotator'}; the table has item, annotator, label"
    )
    with pytest.raises(DesignError, match="called 'i', 'r', as the design calls them"):
        assay.g_study(labels, design="i x r", object="i")
    with pytest.raises(DataError, match="did you mean 'annotator'"):
        assay.g_study(labels, design="item x annotators", object="item")
    named = assay.g_study(labels, design="i x r", object="i", facets={"i": "item", "r": "annotator"})
    assert set(named.table["quantity"]) >= {"σ²(i)", "σ²(r)", "σ²(ir,e)"}
