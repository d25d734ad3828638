"""What a trained rater needs besides the base install; its tests are skipped, saying so, where that is missing."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

MISSING = [name for name in ("torch", "sentencex", "safetensors") if importlib.util.find_spec(name) is None]


@pytest.fixture(autouse=True)
def _torch() -> None:
    if MISSING:
        pytest.skip(f'training a rater needs the extra "train": {", ".join(MISSING)} is missing')


@pytest.fixture
def kept_encoder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The folder of an encoder that may be kept, as sentence-transformers' may, and counts words."""
    import teaching

    folder = tmp_path / "counting"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n# Counting\n")

    for module in ("documents", "rater"):
        monkeypatch.setattr(f"assay.training.{module}.SentenceEncoder", teaching.Counting)
    return str(folder)
