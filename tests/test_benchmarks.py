"""The scripts of `benchmarks` run with the assay of today: each is imported, and the quick ones run on a few labels."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import assay

FOLDER = Path(__file__).parent.parent / "benchmarks"
if not FOLDER.is_dir():
    pytest.skip("the benchmarks are not next to these tests", allow_module_level=True)

Load = Callable[[str], ModuleType]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Imports a script as one that is run from its folder; `coverage` is also the name of a library."""
    monkeypatch.syspath_prepend(FOLDER)

    def loaded(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"benchmark_{name}", FOLDER / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)  # where dataclasses look their module up
        spec.loader.exec_module(module)
        return module

    return loaded


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_benchmark_imports(name: str, load: Load) -> None:
    try:
        assert load(name).__doc__
    except assay.errors.MissingExtra as error:
        pytest.skip(str(error))
    except ModuleNotFoundError as error:
        if str(error.name).startswith("assay"):
            raise
        pytest.skip(f"needs a library: {error}")


def test_preference_benchmark_runs(load: Load, capsys: pytest.CaptureFixture[str]) -> None:
    script = load("preference")
    found = script.estimates(assay.read(script.battles(2000, 5)))
    assert sorted(found, key=found.__getitem__) == [f"model{k:03d}" for k in range(5)], "strengths rise with the number"
    script.added(2000, 5)
    script.elo(200, 5)
    more, orders = capsys.readouterr().out.splitlines()
    assert more.startswith("1,000 battles added to 2,000: ")
    assert orders.startswith("Elo, 100 random orders of 200 battles: ")


def test_preference_benchmark_runs_with_evalica(load: Load, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("evalica")
    script = load("preference")
    script.call_beside_call(2000, 5)
    script.bradley_terry(2000, 5)
    apart = capsys.readouterr().out.splitlines()[-1].split()
    assert apart[:4] == ["largest", "difference", "from", "evalica's"]
    assert float(apart[-2]) < 1e-6


def test_ideas_benchmark_runs(load: Load, capsys: pytest.CaptureFixture[str]) -> None:
    # 50 texts are 50 * 49 / 2 = 1,225 pairs; of 3 * 20,000 places each occurs about 49 times, and so at least once.
    load("ideas").main(20_000, 50)
    assert capsys.readouterr().out.startswith("20,000 choices, 50 texts: 1,225 pairs seen, 0 never\n")
