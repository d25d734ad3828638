"""What a rater model warns of and says, at each of its limits, from parts that are given."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from rated import model_of, planted

from assay.errors import DataError
from assay.psychometrics import words
from assay.psychometrics.raters import model as module
from assay.psychometrics.raters.density import Density
from assay.psychometrics.raters.fit import Chains
from assay.psychometrics.raters.model import fit_cautions

MODES = {"mode": [1], "share": [1.0], "severity_apart": [0.0], "variability_apart": [0.0]}
FITS = {"annotator": ["a", "b"], "p": [0.5, 0.5], "misfit": [0.0, 0.0]}


RATERS = planted([[[0.0, 0.0]]])
"""Two raters who give 40 items the same labels."""


def cautions(modes=None, checked=None, psi=(0.5, 0.5), confidence=0.95, **columns) -> list[str]:
    """Cautions about a fit of two raters, with other columns of their table."""
    found = planted([[[0.0, 0.0]]], log_psi=np.log([[psi]]), confidence=confidence)
    table = dataclasses.replace(found.table, **columns)
    found = dataclasses.replace(found, density=Density(table, found.density.layout))
    return list(fit_cautions(found, pl.DataFrame(checked or FITS), pl.DataFrame(modes or MODES)))


def test_a_model_of_sound_labels_warns_of_nothing():
    assert cautions() == []
    table = RATERS.table
    apart = cautions(item=table.item + 40 * table.rater, subject=table.subject + 40 * table.rater,
                     items=tuple(f"i{k}" for k in range(80)), subjects=tuple(f"i{k}" for k in range(80)))  # fmt: skip
    assert apart[0].startswith("raters form 2 disjoint subsets")


def test_raters_turned_round_and_alone_are_named():
    table = RATERS.table
    # One in four labels of b is that of a; the others are the other way round.
    turned = np.where((table.rater == 1) & (table.item % 4 > 0), 2 - table.value, table.value)
    (said,) = cautions(value=turned)
    r = np.corrcoef(turned[table.rater == 0], turned[table.rater == 1])[0, 1]
    assert said.startswith(
        f"labels are negatively correlated with the others': a (r = −{-r:.2f} with the mean of the others), "
        f"b (r = −{-r:.2f} with"
    )
    # Six in ten: r is about −.2, which 40 items do not show at level .05 (one-sided p = .11, for two raters .22).
    weak = np.where((table.rater == 1) & (table.item % 5 < 3), 2 - table.value, table.value)
    assert cautions(value=weak) == []
    assert "negatively correlated" in cautions(value=weak, confidence=0.7)[0]
    # Of 40 items of a and 40 of b the first is of both.
    both = {"items": tuple(f"i{k}" for k in range(80)), "subjects": tuple(f"i{k}" for k in range(80))}
    item = np.where((table.rater == 1) & (table.item > 0), table.item + 39, table.item)
    lonely = cautions(item=item, subject=item, **both)
    assert any(one.startswith("almost every label of all raters is the only one") for one in lonely)


def test_one_rater_alone_is_named():
    """Two raters of 40 items, and the first of 960 more."""
    table = RATERS.table
    more = {"item": np.arange(40, 1000), "rater": 0, "criterion": 0, "group": 0, "subject": np.arange(40, 1000)}
    columns = {name: np.r_[getattr(table, name), np.broadcast_to(one, 960)] for name, one in more.items()}
    names = tuple(f"i{k}" for k in range(1000))
    said = cautions(**columns, value=np.r_[table.value, np.arange(960) % 3], items=names, subjects=names)
    assert any(one.startswith("almost every label of a is the only one of its item") for one in said)


@pytest.mark.parametrize(("psi", "named"), [((0.15, 0.5), False), ((0.149, 0.5), True)])
def test_a_rater_without_scatter_is_named_below_015(psi, named):
    found = cautions(psi=psi)
    assert [one.split(" is below")[0] for one in found] == (["ψ of a"] if named else [])


@pytest.mark.parametrize(
    ("share", "phi", "psi", "said"),
    [
        (
            0.05,
            0.051,
            0.0,
            "another local optimum holds 5% of the posterior and differs by up to 0.05 in φ and 0.00 in ψ",
        ),
        (
            0.05,
            0.0,
            0.2,
            "another local optimum holds 5% of the posterior and differs by up to 0.00 in φ and 0.20 in ψ",
        ),
        (0.049, 0.9, 0.9, None),
        (0.4, 0.05, 0.05, None),
    ],
)
def test_another_mode_that_says_something_else_is_warned_of(share, phi, psi, said):
    modes = {"mode": [1, 2, 3], "share": [0.9, share, 0.01], "severity_apart": [9.0, phi, 5.0],
             "variability_apart": [9.0, psi, 5.0]}  # fmt: skip
    found = cautions(modes)
    assert len(found) == (1 if said else 0)
    if said:
        assert found[0] == f"{said}; intervals describe only the best one."


@pytest.mark.parametrize(("p", "misfit", "named"), [(0.01, 0.051, True), (0.011, 0.5, False), (0.001, 0.05, False)])
def test_labels_that_the_model_does_not_expect_are_warned_of(p, misfit, named):
    found = cautions(checked={"annotator": ["a", "b"], "p": [p, 0.5], "misfit": [misfit, 0.0]})
    assert len(found) == (1 if named else 0)
    if named:
        assert found[0] == (
            "misfit for a (predictive p ≤ 0.01; more than 5% of labels unexpected). Do not interpret their φ and ψ."
        )
        both = cautions(checked={"annotator": ["a", "b"], "p": [p, p], "misfit": [misfit, misfit]})
        assert both[0].startswith("misfit for a, b (")


# -- sentences ----------------------------------------------------------------------------------------


def consistency(psi, sd) -> list[str]:
    """What is said of the ψ of three raters, whose logarithms are drawn with these standard deviations."""
    fit = planted([[[0.0, 0.0, 0.0]]], log_psi=np.log([[psi]]))
    drawn = fit.draws.copy()
    drawn[:, 3:] += np.random.default_rng(1).normal(size=(len(drawn), 3)) * sd
    said = model_of(dataclasses.replace(fit, draws=drawn)).sentences()
    return [one for one in said if "variab" in one and not one.startswith(("ψ", "Model", "Penalized"))]


def test_who_is_less_or_more_consistent_is_named():
    apart, rest = consistency([0.9, 0.3, 0.5], 0.1)
    assert apart.startswith("Significantly more variable than the mean (ψ, categories): a (0.90 ")
    assert "; less variable: b (0.30 " in apart
    assert rest == "1 of 3 raters: no significant difference in variability."
    first = consistency([0.8, 0.1, 0.9], 0.1)[0]
    assert first.index("c (") < first.index("a (") < first.index("; less")  # the most variable first
    last = consistency([0.2, 3.0, 0.1], 0.1)[0]
    assert last.index("; less variable: ") < last.index("c (") < last.index("a (")
    # With ten times the spread nothing is known.
    assert consistency([0.9, 0.3, 0.5], 1.0) == ["3 of 3 raters: no significant difference in variability."]


@pytest.mark.parametrize("judges", [(), (0, 1, 2)])
def test_no_comparison_without_humans_or_judges(judges):
    said = model_of(planted([[[0.0, 1.0, 2.0]]], judges=judges)).sentences()
    assert not [one for one in said if one.startswith("Judges − humans")]


def test_judges_less_people_are_means():
    """Of the judges .5 and 1, of people 0, 1 and 2."""
    said = model_of(planted([[[0.0, 1.0, 0.5, 2.0, 1.0]]], judges=(2, 4), spread=0.1)).sentences()
    (line,) = [one for one in said if one.startswith("Judges − humans")]
    assert line.startswith("Judges − humans, mean severity: −0.25 categories [")


def modes_said(shares, apart=(0.0, 0.0), starts=10, labels=100) -> str:
    n = len(shares)
    modes = pl.DataFrame({"mode": list(range(1, n + 1)), "share": shares,
                          "severity_apart": [0.0, *[apart[0]] * (n - 1)],
                          "variability_apart": [0.0, *[apart[1]] * (n - 1)]})  # fmt: skip
    return words.optima_line(modes, starts, module.RIVAL, partial=labels > module.MANY_LABELS)


def test_modes_are_counted_and_those_with_mass_described():
    assert modes_said([1.0]) == "10 starts, 1 local optimum."
    assert modes_said([1.0], starts=1) == "1 start, 1 local optimum."
    assert modes_said([0.96, 0.04], (0.3, 0.2)) == "10 starts, 2 local optima; the best holds 96% of the mass."
    assert modes_said([0.95, 0.05], (0.3, 0.2)) == (
        "10 starts, 2 local optima; the best holds 95% of the mass; those with at least 5% differ by up to "
        "0.30 in φ and "
        "0.20 in ψ."
    )
    assert modes_said([1.0], labels=module.MANY_LABELS).startswith("10 starts,")
    assert modes_said([1.0], labels=module.MANY_LABELS + 1) == "10 starts on a part of the subjects, 1 local optimum."


@pytest.mark.parametrize("quick", [True, False])
def test_a_fit_that_did_not_converge_has_a_remedy(quick):
    chains = None if quick else Chains(np.zeros((2, 9, 4)), 0, 1.0)
    found = model_of(planted([[[0.0, 1.0]]], chains=chains, draws=[[0.0, 1.0]] * 18), problems=["it stopped"])
    remedy = "try more starts, or MCMC (omit --quick)"
    if not quick:
        remedy = f"take more draws (draws={2 * found.fitted.settings.draws}), or inspect the local optima"
    assert found.sentences()[0] == f"NOT CONVERGED: it stopped. Do not use these numbers; {remedy}."


# -- raters by name, and the sentences of a model --------------------------------------------------------


def test_a_rater_less_another_is_a_contrast_of_their_severities():
    model = model_of(planted([[[0.5, 9.0, 2.0]]], spread=0.1))
    found = model.compare("c", "a")
    assert found.estimate == pytest.approx(1.5)
    assert found.low < 1.5 < found.high
    assert model.compare("a", "c").estimate == pytest.approx(-1.5)
    for pair in (("a", "d"), ("d", "a")):
        with pytest.raises(DataError, match="rater 'd'"):
            model.compare(*pair)


def test_criterion_table_has_spread_mean_and_slopes():
    """Parameters are ln ψ of two groups, two criteria and two raters; the first group counts: .2 and .6."""
    x = np.array([0.1, 0.3, 0.4, 0.8, 9, 9, 9, 9])
    layout = SimpleNamespace(psi=np.identity(8), shape=(2, 2, 2))
    grid = SimpleNamespace(traits=SimpleNamespace(criteria=(1, 0), names=("t", "u")))
    density = SimpleNamespace(
        layout=layout, grids=[grid], slopes=lambda x, xp, grid: np.array([[0.5, 0.0], [1.25, 0.75]])
    )
    table = SimpleNamespace(criteria=("c", "d"), categories=((1, 2), (1, 2, 3)))
    found = module._items(SimpleNamespace(table=table, density=density, center=x))
    assert found.select("criterion", "categories", "slope").rows() == [("c", 2, "t 1.25, u 0.75"), ("d", 3, "t 0.50")]
    assert found["spread"].to_list() == pytest.approx(np.exp([-0.2, 0.2]).tolist())


NAMED = pl.DataFrame({"annotator": ["a", "b"]})


class Labelled(tuple):
    """A table without labels."""

    categories = "of 1-5"
    crowd = False
    counts = np.array([[60, 60, 60]])


@pytest.mark.parametrize("unfair", [True, False])
@pytest.mark.parametrize("method", ["quick", "converged", "not"])
def test_summary_starts_with_convergence(method, unfair, monkeypatch):
    alphas = []
    monkeypatch.setattr(
        words, "severity_lines", lambda rows, alpha, unit, side: alphas.append(alpha) or ["severe", unit, side]
    )
    monkeypatch.setattr(words, "variability_lines", lambda rows, unit: ["variable", unit])
    monkeypatch.setattr(module, "_variability_rows", lambda found, alpha: alphas.append(alpha) or NAMED)
    monkeypatch.setattr(words, "judge_line", lambda one, unit, doubtful: f"{one} {unit}")
    monkeypatch.setattr(words, "model_line", lambda unit, categories: f"model {unit} {categories}")
    monkeypatch.setattr(module, "_judges_minus_humans", lambda found: ["judges"])
    monkeypatch.setattr(words, "optima_line", lambda modes, starts, rival, partial: "modes")
    chains = None if method == "quick" else SimpleNamespace(divergences=1)
    model = SimpleNamespace(
        fitted=SimpleNamespace(chains=chains, normal=chains is None, table=Labelled(), rope=0.3,
                               settings=SimpleNamespace(confidence=0.9, draws=500, starts=10)), unit="points",
        converged=method != "not", rows=NAMED, doubtful={}, modes=None,
        diagnostics=SimpleNamespace(
            rows=pl.DataFrame({"rhat": [1.001, 1.004], "effective_draws": [1234.0, 2000]}), problems=("it stopped.",)
        ),
        groups=None,
        fairness=SimpleNamespace(sentences=lambda rope, unit, doubtful: [f"unfair {rope} {unit}"]) if unfair else None,
    )  # fmt: skip
    found = list(module._sentences(model))
    unfair_lines = ["unfair 0.3 points"] if unfair else []
    rest = [
        "model points of 1-5",
        "severe",
        "points",
        -1,
        "variable",
        "points",
        "judges points",
        *unfair_lines,
        "modes",
    ]
    assert found[-len(rest) :] == rest
    assert alphas == pytest.approx([0.1, 0.1])
    first = "\n".join(found[: -len(rest)])
    assert ("Penalized ML approximation" in first) == (method == "quick")
    assert ("Converged: R-hat at most 1.004, at least 1,234 effective draws, 1 divergence." in first) == (
        method == "converged"
    )
    assert ("NOT CONVERGED" in first) == (method == "not")
