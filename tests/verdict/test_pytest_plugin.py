"""The plugin for pytest, run by pytest in a folder with labels."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import assay.testing

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
PLUGIN = ("-p", "no:assay", "-p", "assay.pytest_plugin", "-p", "no:xdist")
"""Loaded by its module, also where it is not installed."""

TESTS = """
def test_good(assert_may_replace):
    options = {"judges": ["good", "coin"], "scale": "1-5"}
    found = assert_may_replace("labels.csv", "good", read=options, expertise="crowd")
    assert found.verdict == "replace"


def test_coin(assert_may_replace):
    options = {"judges": ["good", "coin"], "scale": "1-5"}
    assert_may_replace("labels.csv", "coin", read=options, expertise="crowd")


def test_policy(assert_gate):
    assert assert_gate("assay.toml").exit_code == 0


def test_without_fixtures():
    pass
"""
POLICY = """
labels = "labels.csv"
judge = "{judge}"
[read]
judges = ["good", "coin"]
scale = "1-5"
[verdict]
expertise = "crowd"
[drift]
before = "{before}"
most = 0.1
"""


@pytest.fixture(autouse=True)
def source(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes of these tests import the source next to them."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Labels as CSV, and their policy asked once: pytester forgets the modules that are imported after it."""
    path = tmp_path_factory.mktemp("labels") / "labels.csv"
    found = assay.simulate(
        n_items=200, n_annotators=3, annotator_noise=0.3, judges={"good": 0.2, "coin": 1.0}, scale="1-5", seed=4
    )
    found.labels.write_csv(path)
    policy = path.with_name("assay.toml")
    policy.write_text(POLICY.format(judge="good", before="labels.csv"), "utf-8")
    assert assay.gate(str(policy)).exit_code == 0
    return path.read_text("utf-8")


@pytest.fixture
def project(labels: str, pytester: pytest.Pytester) -> pytest.Pytester:
    (pytester.path / "labels.csv").write_text(labels, "utf-8")
    pytester.makefile(".toml", assay=POLICY.format(judge="good", before="labels.csv"))
    return pytester


def test_plugin_fixtures_fail_and_are_summarised(project: pytest.Pytester) -> None:
    project.makepyfile(test_of_a_project=TESTS)
    found = project.runpytest_inprocess(*PLUGIN, "--junit-xml=found.xml", "-o", "junit_family=xunit1")
    found.assert_outcomes(passed=3, failed=1)
    text = found.stdout.str()
    found.stdout.fnmatch_lines(
        [
            "*= assay =*",
            "test_of_a_project.py::test_coin: Do not replace these annotators with coin: *",
            "*::test_good: Replace: good may replace these annotators.*Non-inferiority:*Agreement ratio*",
            "test_of_a_project.py::test_policy: verdict: pass*drift: pass*",
        ]
    )
    assert "test_without_fixtures:" not in text
    cases = {case.get("name"): case for case in ET.parse(project.path / "found.xml").iter("testcase")}
    properties = [one.get("value", "") for one in cases["test_good"].iter("property") if one.get("name") == "assay"]
    assert len(properties) == 1
    assert properties[0].startswith("Replace: good may replace")


@pytest.mark.slow
def test_policy_among_the_arguments_is_tested(project: pytest.Pytester) -> None:
    found = project.runpytest_inprocess(*PLUGIN, "-v", "assay.toml")
    found.assert_outcomes(passed=2)
    found.stdout.fnmatch_lines(["assay.toml::verdict PASSED*", "assay.toml::drift PASSED*"])


def test_policy_in_a_folder_is_not_collected(project: pytest.Pytester) -> None:
    project.makepyfile(test_of_a_project="def test_one(): pass")
    project.runpytest_inprocess(*PLUGIN, ".").assert_outcomes(passed=1)


def test_checks_fail_by_name_without_a_traceback(project: pytest.Pytester) -> None:
    project.makefile(".toml", gate=POLICY.format(judge="coin", before="nowhere.csv"))
    found = project.runpytest_inprocess(*PLUGIN, "gate.toml")
    found.assert_outcomes(failed=2)
    text = found.stdout.str()
    assert "verdict: fail – Do not replace these annotators with coin" in text
    assert "drift: error – " in text
    assert "nowhere.csv" in text
    assert "Traceback" not in text
    assert "pytest_plugin.py" not in text


@pytest.mark.parametrize(
    ("text", "words"), [("labels = ", "cannot be read as TOML"), ('judge = "good"\n[verdict]\n', "must set labels")]
)
def test_policy_with_an_error_fails(project: pytest.Pytester, text: str, words: str) -> None:
    project.makefile(".toml", assay=text)
    found = project.runpytest_inprocess(*PLUGIN, "assay.toml")
    found.assert_outcomes(failed=1)
    assert words in found.stdout.str()


def test_other_toml_files_are_not_policies(project: pytest.Pytester) -> None:
    project.makefile(".toml", other="[tool]\nname = 'x'\n")
    found = project.runpytest_inprocess(*PLUGIN, "other.toml")
    assert found.parseoutcomes().keys() <= {"error", "errors", "warnings"}
    assert "verdict" not in found.stdout.str()


@pytest.mark.slow
def test_results_of_workers_are_summarised(project: pytest.Pytester) -> None:
    """In separate processes; the other tests run pytest in this one, where no other file may have their file's name."""
    pytest.importorskip("xdist")
    project.makepyfile(test_of_a_project=TESTS)
    found = project.runpytest_subprocess(*PLUGIN[:-2], "-n", "1", "-k", "good")
    found.assert_outcomes(passed=1)
    found.stdout.fnmatch_lines(["*= assay =*", "test_of_a_project.py::test_good: Replace: good may replace*"])


def test_entry_point_leads_to_the_plugin() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["pytest11"]
    assert points == {"assay": "assay.pytest_plugin"}


@pytest.mark.slow
def test_plugin_imports_no_method() -> None:
    """Pytest loads it in every project, so it imports neither Polars nor the package's methods."""
    code = "import sys, assay.pytest_plugin; print(sorted({m.partition('.')[0] for m in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'pytest'" in run.stdout
    assert not {"'polars'", "'numpy'", "'scipy'", "'matplotlib'"} & set(run.stdout.strip("[]\n").split(", "))
