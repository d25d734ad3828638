"""Nothing that a test encodes stays on the machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.similarity import protocol


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker has the encoders and topics: their libraries take some fifteen seconds to import."""
    for item in items:
        if item.path.parent.name == "similarity":
            item.add_marker(pytest.mark.xdist_group("encoders"))


@pytest.fixture(autouse=True)
def kept_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of the test's own, and no network."""
    folder = tmp_path / "kept"
    monkeypatch.setenv("ASSAY_CACHE", str(folder))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    yield folder
    protocol.forget_rows()
