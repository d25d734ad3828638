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
def counting(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of an encoder as sentence-transformers keeps one."""
    folder = tmp_path_factory.mktemp("encoders") / "counting"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n# Counting\n")
    return str(folder)


@pytest.fixture
def kept_encoder(monkeypatch: pytest.MonkeyPatch, counting: str) -> str:
    """The folder of an encoder that counts words and, like those of sentence-transformers, can be saved."""
    import teaching

    teaching.put_in_place(monkeypatch)
    return counting
