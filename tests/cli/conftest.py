"""Fixtures of the tests of the commands."""

from __future__ import annotations

import pytest

import assay


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with the labels of 80 items by 3 annotators and 2 judges, in columns with unusual names."""
    path = tmp_path_factory.mktemp("labels") / "labels.csv"
    prior = (0.15, 0.2, 0.3, 0.2, 0.15)
    labels = assay.simulate(n_items=80, scale="1-5", prior=prior, judges={"gpt-4o": 0.15, "llama": 0.9}, seed=5).labels
    labels.rename({"item": "id", "annotator": "worker", "label": "stars"}).write_csv(path)
    return str(path)
