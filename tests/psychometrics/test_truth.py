"""The truth recovered from simulated tables: variances without bias, intervals that cover what they say.

The table of docs/coverage.md is made by benchmarks/g_study_coverage.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from assay.psychometrics.components import fit_components, uncertainty, weights
from assay.psychometrics.design import DesignSettings, parse
from assay.statistics.components.blocks import cross_codes
from assay.statistics.components.reml import Ratio

SPREAD = {"p": 0.7, "t": 0.5, "r:t": 0.4, "pt": 0.6, "pr:t": 1.0}
DESIGN = "p x (r:t)"


def drawn(rng, n=25, tasks=4, raters=3, missing=0.0):
    """Labels of a design with known variances."""
    parsed = parse(DESIGN)
    cells = np.indices((n, raters, tasks)).reshape(3, -1)
    cells = cells[:, rng.random(cells.shape[1]) >= missing]
    codes = dict(zip(parsed.facets, cells, strict=True))
    value = np.zeros(cells.shape[1])
    for effect in parsed.effects:
        code, levels = cross_codes(*(codes[f] for f in parsed.facets if f in effect.index))
        value += SPREAD[effect.name] * rng.normal(size=levels)[code]
    return parsed, value, codes


def fitted(seed, missing=0.0):
    parsed, value, codes = drawn(np.random.default_rng([7, seed]), missing=missing)
    return fit_components(parsed, value, codes, DesignSettings(design=DESIGN, object="p"))


@pytest.mark.slow
@pytest.mark.parametrize(("missing", "tables"), [(0.0, 120), (0.25, 10)])
def test_variances_have_no_bias_that_shows(missing, tables):
    found = np.array([fitted(seed, missing).theta for seed in range(tables)])
    names = [t.effects[0].name for t in fitted(0, missing).confounding.terms]
    truth = np.array([SPREAD[n] ** 2 for n in names])
    error = found.std(axis=0, ddof=1) / np.sqrt(tables)
    assert (np.abs(found.mean(axis=0) - truth) < 4 * error).all()


@pytest.mark.simulation
def test_intervals_cover_what_they_say():
    held: dict[str, list[bool]] = {}
    for seed in range(80):
        fit = fitted(seed)
        sure = uncertainty(fit, "profile", 0, 0.95, 0)
        terms = fit.confounding.terms
        truth = np.array([sum(SPREAD[e.name] ** 2 for e in t.effects) for t in terms])
        by_size = weights(terms, fit.confounding.design, "p", (), {})
        asked = {t.name: Ratio(row) for t, row in zip(terms, np.eye(len(terms)), strict=True)}
        asked |= {"Eρ²": by_size.generalizability, "Φ": by_size.dependability}
        for name, quantity in asked.items():
            one = sure.estimate(quantity)
            held.setdefault(name, []).append(bool(one.low <= quantity.value(truth) <= one.high))
    shares = {name: float(np.mean(each)) for name, each in held.items()}
    # Three standard errors of 80 tables below 92%; all together 92 to 97.5.
    assert all(share >= 0.92 - 0.073 for share in shares.values()), shares
    assert 0.92 <= np.mean([*shares.values()]) <= 0.975, shares
