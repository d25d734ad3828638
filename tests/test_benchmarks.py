"""Every benchmark runs, on sizes of a second or two: its figures are measured with the sizes of docs/benchmarks.md."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import assay

ROOT = Path(__file__).parents[1]
SMALL = {
    "agreement": "--folder 20_000",
    "agreement_closer": "--items 15 --studies 3",
    "agreement_intervals": "--items 15 --people 3 --studies 5",
    "agreement_rare": "--studies 1 --items 8 --rates .1",
    "agreement_sample": "--items 15 --annotators 3 --studies 3",
    "boards": "--studies 1",
    "chunks": "20_000",
    "collecting": "--people 10 --answers 6 --think 0.1 --kills 1",
    "estimates": "coverage --studies 2",
    "g_study": "--only class --without-lme4",
    "g_study_coverage": "--tables 2",
    "ideas": "20000 100",
    "ideas_coverage": "2 0 1",
    "ideas_texts": "coverage 2",
    "judge_lead": "--studies 2 --items 20",
    "judging": "50 --rounds 1",
    "planted_judges": "95/5 --studies 1",
    "preference": "--battles 20000 --models 10",
    "probe_rates": "2 calls",
    "raters": "--numbers 1",
    "serving": "people --people 6 --answers 2 --think 0.1 --kills 0 --items 50",
    "similarity": "--items 3 --outputs 2 --words 8",
    "timings": "trace",
    "trace": "",
    "verdict_worlds": "--studies 1 copies",
    "watch_and_route": "alarms --studies 1",
}
"""The arguments of a small run; figures of so few studies mean nothing."""

NEEDED = {
    "collecting": ("aiohttp", "starlette"), "judging": ("aiohttp",), "raters": ("numpyro",),
    "serving": ("aiohttp", "starlette"), "similarity": ("bert_score",),
}  # fmt: skip
MINUTES = {
    "alt_test", "best_copy_test", "card_right", "coverage", "planning", "published_procedure", "training",
    "type_one_error", "verdict_error",
}  # fmt: skip
"""Without a size of a few seconds."""


def test_benchmarks_are_listed() -> None:
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("benchmarks are not next to these tests")
    assert {path.stem for path in (ROOT / "benchmarks").glob("*.py")} == {*SMALL, *MINUTES}


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_benchmark_runs(name: str) -> None:
    for module in NEEDED.get(name, ()):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"needs {module}")
    environment = {**os.environ, "PYTHONPATH": str(Path(assay.__file__).parents[1])}
    command = [sys.executable, f"benchmarks/{name}.py", *SMALL[name].split()]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=240)
    # 1 is a promise that so small a run, beside other tests, does not keep; a crash has a traceback.
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 0 or name == "serving"
    assert done.stdout.strip()
