"""What the tests of the commands share: a table, and a way to run a command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import assay
from assay.cli import app as cli

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """80 items, 3 people and 2 judges, in a file with column names of its own."""
    path = tmp_path_factory.mktemp("labels") / "labels.csv"
    prior = (0.15, 0.2, 0.3, 0.2, 0.15)
    labels = assay.simulate(n_items=80, scale="1-5", prior=prior, judges={"gpt-4o": 0.15, "llama": 0.9}, seed=5).labels
    labels.rename({"item": "id", "annotator": "worker", "label": "stars"}).write_csv(path)
    return str(path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command: exit status, standard output, standard error."""

    def command(*arguments: str | Path) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            cli.main([str(one) for one in arguments])
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out, err

    return command
