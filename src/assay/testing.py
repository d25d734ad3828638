"""Assertions for pytest: a test that fails if a judge can no longer replace annotators.

The fixtures of the same names (`assay.pytest_plugin`) also print the verdict below the tests.

from assay.testing import assert_may_replace

def test_the_judge():
    assert_may_replace("labels.csv", "gpt-4o", expertise="crowd", read={"judges": ["gpt-4o"]})
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from assay.data.annotations import Annotations
from assay.reading import read_where
from assay.replacement.alt_test import AltTest, alt_test
from assay.replacement.page import card
from assay.verdict.gate import GateResult, gate
from assay.verdict.words import verdict_check


def assert_may_replace(
    labels: Annotations | str | os.PathLike[str], judge: str, *, read: Mapping[str, Any] | None = None, **options: Any
) -> AltTest:
    """Fail unless the verdict on the judge is ``replace``.

    Parameters
    ----------
    labels : Annotations or path
    judge : str
        The judge; other judges of a file are named with ``read``.
    read : mapping, optional
        Options of `assay.read`, if labels are a path; ``where`` keeps rows, as in a policy.
    **options
        Of `assay.alt_test`: ``expertise``, ``epsilon``, ``min_agreement_ratio`` …

    Returns
    -------
    AltTest

    Raises
    ------
    AssertionError
        With the verdict, its tests and the advice.
    """
    # A path is passed unchanged, so that the name given here is read as a judge.
    table: Any = labels if isinstance(labels, Annotations) or read is None else read_where(labels, read)
    test = alt_test(table, judge, **options)
    if test.verdict != "replace":
        advice = " ".join(card(test).advice.split())
        raise AssertionError(f"{verdict_check(test)} {advice}".strip())
    return test


def assert_gate(policy: str | os.PathLike[str] = "assay.toml") -> GateResult:
    """Fail unless every check of a policy file passes.

    A policy without [verdict] does not test whether the judge can replace annotators.

    Raises
    ------
    AssertionError
        With the result of each check.
    """
    found = gate(os.fspath(policy))
    if found.exit_code:
        raise AssertionError(found.summary())
    return found
