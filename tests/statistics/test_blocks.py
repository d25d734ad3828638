"""Levels within levels: how many differences are left, by counting."""

from __future__ import annotations

import numpy as np
import pytest

from assay.statistics.blocks import contrasts


@pytest.mark.parametrize(
    ("fine", "coarse", "left"),
    [
        ([0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1], 1),  # two of one group, one of the other
        ([0, 1, 2, 3], [0, 0, 1, 1], 2),
        ([0, 1, 2], [0, 1, 2], 0),
        ([0, 0, 1, 1], [0, 0, 0, 0], 1),
        ([0, 1, 0, 1], [0, 0, 1, 1], None),  # crossed
        ([0, 0, 1, 1], [0, 0, 0, 1], None),
    ],
)
def test_differences_within_levels_of_another_term(fine, coarse, left):
    assert contrasts(np.array(fine), np.array(coarse)) == left
