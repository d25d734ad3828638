"""The first screen of a report over planted studies: the verdict first, its sign and its next step never against it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import polars as pl
import pytest

import assay

pytestmark = pytest.mark.usefixtures("few_truths")

SIGNS = {"replace": "good", "do_not_replace": "bad", "mixed": "split", "undecided": "open", "not_testable": "open"}
QUICK: dict[str, Any] = {"epsilon": 0.1, "n_resamples": 40}


def planted(seed: int, n_items: int, judges: dict[str, float]) -> pl.DataFrame:
    return assay.simulate(n_items=n_items, scale="1-5", judges=judges, seed=seed).to_polars()


@cache
def study(name: str) -> Any:
    if name == "good and random":
        frame = planted(2, 200, {"good": 0.1, "coin": 1.0})
    elif name == "few items":
        frame = planted(4, 45, {"good": 0.3, "other": 0.4})
    else:
        sizes = {"two undecided": (60, 60), "one of two": (200, 45)}[name]
        judges = [{"good": 0.35 if name == "two undecided" else 0.1}, {"good": 0.45}]
        parts = [planted(seed, n, judge) for seed, n, judge in zip((3, 8), sizes, judges, strict=True)]
        frame = pl.concat(
            [part.with_columns(criterion=pl.lit(c)) for part, c in zip(parts, ("clear", "kind"), strict=True)]
        )
    labels = assay.read(frame.select(c for c in frame.columns if c != "truth"), scale="1-5")
    return assay.report(labels, **QUICK)


@pytest.fixture
def page_of(without_pictures: None) -> Callable[[str], str]:
    """The pages, made once and without pictures: tests read words and where they are."""
    return page


@cache
def page(name: str) -> str:
    return str(study(name).html())


STUDIES = pytest.mark.parametrize("name", ["good and random", "few items", "two undecided", "one of two"])


def alt_tests(report: Any, judge: str) -> dict[str | None, Any]:
    if report.comparison is not None:
        return {None: report.comparison.tests[judge]}
    return dict(report.by[judge].tests)


def test_studies_have_each_kind_of_verdict() -> None:
    found = {t.verdict for name in ("good and random", "few items") for t in study(name).comparison.tests.values()}
    assert {"replace", "do_not_replace", "undecided"} <= found
    assert {t.verdict for t in alt_tests(study("two undecided"), "good").values()} == {"undecided"}
    assert {t.verdict for t in alt_tests(study("one of two"), "good").values()} == {"replace", "undecided"}


@STUDIES
def test_the_verdict_is_before_the_card(name: str, page_of: Callable[[str], str]) -> None:
    page, text = page_of(name), study(name).markdown()
    headline = study(name).cards[0].headline
    assert 0 < page.index("<h2>") < page.index('<table class="card">')
    assert text.index(headline) < text.index("| Replacement |")


@STUDIES
def test_the_headline_agrees_with_its_sign_and_its_card(name: str) -> None:
    report = study(name)
    marks = {(row["judge"], row["criterion"]): row["mark"] for row in report.card.table.iter_rows(named=True)
             if row["dimension"] == "replacement"}  # fmt: skip
    for card in report.cards:
        tests = alt_tests(report, card.judge)
        verdicts = {test.verdict for test in tests.values()}
        tones = {SIGNS[verdict] for verdict in verdicts}
        assert card.tone == (tones.pop() if len(tones) == 1 else "open")
        assert ("may replace" in card.headline) <= (verdicts == {"replace"})
        if len(tests) == 1:
            assert ("may replace" in card.headline) == (verdicts == {"replace"})
            assert ("Undecided" in card.headline) == (verdicts == {"undecided"})
        for criterion, test in tests.items():
            passed = marks[card.judge, criterion] == "✓"
            assert passed == (test.verdict == "replace"), (card.judge, criterion)
            assert (marks[card.judge, criterion] == "✗") <= (test.verdict == "do_not_replace")


@STUDIES
def test_the_next_step_takes_the_largest_need(name: str) -> None:
    for card in study(name).cards:
        tests = alt_tests(study(name), card.judge).values()
        if {test.verdict for test in tests} != {"undecided"}:
            continue
        needs = [test.sample_size.n_items for test in tests]
        stated = re.search(r"about ([\d,]+) items", card.step.words)
        if None in needs:
            assert "revise the judge or test another one, or add items" in card.step.words
        else:
            assert stated is not None, card.step.words
            assert int(stated[1].replace(",", "")) == max(needs)


@STUDIES
def test_no_page_answers_before_its_tests(name: str, page_of: Callable[[str], str]) -> None:
    words = " ".join(re.sub(r"<[^>]+>", " ", page_of(name)).split())
    assert not re.search(r"may [\w-]+ (stand in|replace)[^.]*\? *yes", words, flags=re.I)
    first = words.index(study(name).cards[0].headline)
    assert "may replace" not in words[:first]


def test_tables_have_labels_instead_of_codes() -> None:
    for name in ("good and random", "one of two"):
        text = study(name).markdown()
        assert "| Undecided |" in text or "| Do not replace |" in text
        assert "| Replace |" in text
        assert "| do_not_replace |" not in text
        assert "| replace |" not in text
