"""A store for the tests that read and write it; some files define their own study."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from assay.study.store.connection import Store


@pytest.fixture
def store(tmp_path) -> Iterator[Store]:
    from small_store import small_store

    with small_store(tmp_path) as opened:
        yield opened
