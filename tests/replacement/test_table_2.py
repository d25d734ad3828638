"""Table 2 of the paper, worked out again from counts that are kept here: no data set is needed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from table_2 import COUNTS, DATA_SETS, TABLE_2, counts_of

from assay.replacement import decision
from assay.statistics import wins

KEPT = json.loads(COUNTS.read_text())
CELLS = [(name, judge) for name in DATA_SETS for judge in TABLE_2[name]]


@pytest.mark.parametrize(("name", "judge"), CELLS)
def test_counts_give_the_published_figures(name, judge):
    """From wins, ties and losses to omega and rho: as printed, and to all digits of the authors' program.

    ``python tests/replacement/table_2.py ../shared/data/alt_test`` writes the counts from the labels.
    """
    study, wanted = KEPT[name], KEPT[name]["judges"][judge]
    counts = np.array(wanted["wins_ties_losses"], dtype=float)[:, None, :]
    assert (counts.sum(axis=(1, 2)) >= decision.SMALL).all()
    found = decision.decide(counts, study["epsilon"], study["fdr"], "published")
    omega = decision.winning_rate(found.rejected, np.ones(len(counts)))
    rho = float(wins.average_advantage(counts))
    assert omega == pytest.approx(wanted["winning_rate"], abs=1e-9)
    assert rho == pytest.approx(wanted["advantage_probability"], abs=1e-9)
    np.testing.assert_allclose(found.p_adjusted, wanted["p_adjusted"], rtol=0, atol=1e-9)
    assert decision.passes(omega, 0.5) == wanted["passed"]
    # The paper rounds to two digits.
    _, printed_omega, printed_rho = TABLE_2[name][judge]
    assert omega == pytest.approx(printed_omega, abs=0.0051)
    assert rho == pytest.approx(printed_rho, abs=0.0051)


@pytest.mark.parametrize("name", DATA_SETS)
def test_both_advantages_follow_from_the_counts(name):
    for judge in KEPT[name]["judges"].values():
        counts = np.array(judge["wins_ties_losses"], dtype=float)
        n = counts.sum(axis=1)
        rho_judge, rho_human = wins.advantage(counts[:, None, :])
        np.testing.assert_allclose(rho_judge, (counts[:, 0] + counts[:, 1]) / n)
        np.testing.assert_allclose(rho_human, (counts[:, 2] + counts[:, 1]) / n)
        p = decision.one_sided(counts[:, None, :], KEPT[name]["epsilon"], "t")[1]
        omega = decision.by_rejects(p, KEPT[name]["fdr"]).mean()
        # The annotators that are tested one by one and many at a time are the same.
        assert omega == pytest.approx(judge["winning_rate"])


@pytest.mark.real_data
@pytest.mark.parametrize("name", DATA_SETS)
def test_counts_on_file_equal_those_of_labels(real_data, name):
    assert counts_of(real_data / "alt_test" / name) == KEPT[name]
