"""Skip the tests of a trained rater, with a reason, if its optional dependencies are missing."""

from __future__ import annotations

import importlib.util

import pytest

MISSING = [name for name in ("torch", "sentencex", "safetensors") if importlib.util.find_spec(name) is None]


@pytest.fixture(scope="session", autouse=True)  # before the fixtures of modules, which also train raters
def _torch() -> None:
    if MISSING:
        pytest.skip(f'training a rater requires the extra "train": {", ".join(MISSING)} is missing')


@pytest.fixture(scope="session")
def counting(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The folder of an encoder that counts words, and a cache with its rows: no model is loaded."""
    from teaching import counting_encoder

    folder = tmp_path_factory.mktemp("encoders")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(folder / "cache"))
        counting_encoder(folder / "narrow", 3)
        return counting_encoder(folder / "counting"), str(folder / "cache")


@pytest.fixture
def kept_encoder(monkeypatch: pytest.MonkeyPatch, counting: tuple[str, str]) -> str:
    """The folder of an encoder that counts words and, like those of sentence-transformers, can be saved."""
    monkeypatch.setenv("ASSAY_CACHE", counting[1])
    return counting[0]
