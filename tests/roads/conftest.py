"""Each paper as one study: from a new study folder to its last table, by commands only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "collecting"))  # people who answer the page
sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))  # a server that answers for models


@pytest.fixture(scope="session", autouse=True)
def _models() -> Iterator[None]:
    from walking import MODELS

    with MODELS:
        yield
