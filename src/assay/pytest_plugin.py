"""The plugin for pytest, which pytest loads where assay is installed.

- The fixtures ``assert_may_replace`` and ``assert_gate`` are the functions of `assay.testing`. Their results are also
  printed below the tests, and are properties in JUnit XML.
- A policy file among the arguments, ``pytest tests assay.toml``, has one test for each of its checks.

Every import of assay is inside a function, because pytest loads this module in every project.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from assay.replacement.alt_test import AltTest
    from assay.verdict.gate import GateCheck, GateResult

T = TypeVar("T")

POLICY = "assay.toml"

PROPERTY = "assay"
"""Name of the property of a test that contains a result."""


def _record(node: pytest.Item, words: str) -> None:
    # Properties are part of the report, so results of the workers of pytest-xdist arrive too.
    node.user_properties.append((PROPERTY, " ".join(words.split())))


def _recorded(node: pytest.Item, check: Callable[..., T], words: Callable[[T], str]) -> Callable[..., T]:
    """Return the same function, which also records its result for the summary."""

    def recorded(*args: Any, **options: Any) -> T:
        try:
            found = check(*args, **options)
        except AssertionError as failed:
            _record(node, str(failed))
            raise
        _record(node, words(found))
        return found

    return recorded


@pytest.fixture(name="assert_may_replace")
def _assert_may_replace(request: pytest.FixtureRequest) -> Callable[..., AltTest]:
    """Fail unless the verdict on a judge is *Replace*; as `assay.testing.assert_may_replace`."""
    from assay.testing import assert_may_replace
    from assay.verdict.words import verdict_check

    return _recorded(request.node, assert_may_replace, verdict_check)


@pytest.fixture(name="assert_gate")
def _assert_gate(request: pytest.FixtureRequest) -> Callable[..., GateResult]:
    """Fail unless every check of a policy passes; as `assay.testing.assert_gate`."""
    from assay.testing import assert_gate

    return _recorded(request.node, assert_gate, lambda found: " ".join(map(_line, found.checks)))


def _line(check: GateCheck) -> str:
    return " ".join(f"{check.name}: {check.status} – {check.words} {check.advice}".split())


# -- a policy among the arguments -----------------------------------------------------------------------


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a policy that is among the arguments of pytest; files in folders are not collected."""
    if file_path.suffix == ".toml" and parent.session.isinitpath(file_path):
        try:
            policy = tomllib.loads(file_path.read_text("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            policy = {}
        if "judge" in policy or file_path.name == POLICY:
            return PolicyFile.from_parent(parent, path=file_path)
    return None


class PolicyFile(pytest.File):
    """A policy: one test for each check. The gate runs once, with the first test."""

    result: GateResult | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """One test for each check that the policy names."""
        try:
            policy = tomllib.loads(self.path.read_text("utf-8"))
            numbers = [f"estimate {one.get('name', i + 1)}" for i, one in enumerate(policy.get("estimate", []))]
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError, TypeError):
            policy, numbers = {}, []  # the gate reports it
        for name in [name for name in ("verdict", "drift") if name in policy] + numbers or ["policy"]:
            yield PolicyCheck.from_parent(self, name=name)

    def checks(self, name: str) -> list[GateCheck]:
        """Return the checks of one test: a verdict has one for each criterion; all for an error in the policy."""
        from assay.verdict.gate import gate

        if self.result is None:
            self.result = gate(str(self.path))
        every = self.result.checks
        parts = ("verdict of ",) if name == "verdict" else (f"{name}: ",)
        named = [one for one in every if one.name == name or one.name.startswith(parts)]
        return named or list(every)


class PolicyCheck(pytest.Item):
    """One check of a policy; it fails unless its status is ``pass``."""

    parent: PolicyFile

    def runtest(self) -> None:
        """Run the check."""
        found = self.parent.checks(self.name)
        for one in found:
            _record(self, _line(one))
        not_passed = [_line(one) for one in found if one.status != "pass"]
        if not_passed:
            raise AssertionError("\n".join(not_passed))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the result of the check, without a traceback."""
        if excinfo.errisinstance(AssertionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The place of the check in messages."""
        return self.path, None, f"{self.path.name}: {self.name}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the results of all tests that used the fixtures or a policy."""
    lines = {
        (report.nodeid, value)
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, value in report.user_properties
        if name == PROPERTY
    }
    if lines:
        terminalreporter.section("assay")
        for node, value in sorted(lines):
            terminalreporter.write_line(f"{node}: {value}")
