"""What every test may use: real data where they lie beside the checkout, and one Hypothesis profile."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Derandomised, so that a run here and a run elsewhere try the same examples.
settings.register_profile(
    "steady",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("steady")

REAL_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def real_data() -> Path:
    """The folder of real data sets, outside the project; a test that needs it says so when it is not there."""
    if not REAL_DATA.is_dir():
        pytest.skip(f"needs the real data sets, which are not at {REAL_DATA}")
    return REAL_DATA
