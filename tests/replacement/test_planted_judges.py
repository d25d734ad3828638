"""The verdicts on planted judges of known quality, with annotators of known quality."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache

import numpy as np
import polars as pl
import pytest

from assay.data.annotations import Annotations
from assay.data.scales import Interval, Nominal, Ordinal, Preference, Text
from assay.replacement.alt_test import AltTest, alt_test
from assay.replacement.page import card
from assay.similarity.lexical import word_similarity

pytestmark = pytest.mark.xdist_group("planted judges")  # one process, so that each table is made once

SEEDS = 10  # benchmarks/verdict_error.py has many more
KINDS = ("a", "b", "c", "d")
PRIOR = np.array([0.4, 0.3, 0.2, 0.1])


def noisy(rng: np.random.Generator, truth: np.ndarray, noise: float) -> np.ndarray:
    """The truth or, with a probability, a draw from the prior."""
    return np.where(rng.random(len(truth)) < noise, rng.choice(4, len(truth), p=PRIOR), truth)


def table_of(people: np.ndarray, judges: dict[str, np.ndarray], scale) -> Annotations:
    """People's labels, (items, people), and judges', as a table."""
    n, m = people.shape
    columns = {**{f"h{j}": people[:, j] for j in range(m)}, **judges}
    frame = pl.DataFrame(
        {
            "item": np.tile([f"i{i:04}" for i in range(n)], len(columns)),
            "annotator": np.repeat(list(columns), n),
            "label": np.concatenate(list(columns.values())),
        }
    )
    if scale.kind == "nominal":
        frame = frame.with_columns(pl.Series(KINDS).gather(frame["label"]).alias("label"))
    return Annotations.from_frame(frame, judges=list(judges), scale=scale)


@cache
def categories(seed: int, n: int = 300, m: int = 5, noise: float = 0.25) -> Annotations:
    """People who err alike, and judges of every worth."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(4, n, p=PRIOR)
    people = np.stack([noisy(rng, truth, noise) for _ in range(m)], axis=1)
    votes = (people[:, :, None] == np.arange(4)).sum(axis=1)
    judges = {
        "as good": noisy(rng, truth, noise),
        "better": noisy(rng, truth, 0.05),
        "worse": noisy(rng, truth, 0.8),
        "constant": np.zeros(n, dtype=int),
        "random": rng.choice(4, n, p=PRIOR),
        "copier": votes.argmax(axis=1),
    }
    return table_of(people, judges, Nominal(KINDS))


@cache
def ratings(seed: int, n: int = 300, m: int = 4, spread: float = 0.6, noise: float = 0.45) -> Annotations:
    """Ratings 1-5 of mostly good items."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(3.9, spread, n)
    rate = lambda spread: np.clip(np.rint(truth + spread * rng.standard_normal(n)), 1, 5).astype(int)  # noqa: E731
    people = np.stack([rate(noise) for _ in range(m)], axis=1)
    judges = {"as good": rate(noise), "always 4": np.full(n, 4), "random": rng.choice(people.ravel(), n)}
    return table_of(people, judges, Ordinal(1, 5))


@cache
def fine_ratings(seed: int, answer: float = 73.0) -> Annotations:
    """Whole numbers from 0 to 100, and judges that say the same of each item, or about the same."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(70, 9, 150)
    people = np.clip(np.rint(truth[:, None] + 7 * rng.standard_normal((150, 4))), 0, 100)
    wavering = np.clip(answer + rng.normal(0, 0.5, 150), 0, 100)
    return table_of(people, {"always 73": np.full(150, answer), "about 73": wavering}, Interval(0, 100))


def verdicts(make, judge: str, **options) -> list[AltTest]:
    return [alt_test(make(seed), judge, method="none", **options) for seed in range(SEEDS)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("judge", "right"),
    [("as good", "replace"), ("better", "replace"), ("copier", "replace"), ("worse", "do_not_replace")],
)
def test_planted_judges_get_the_right_verdict(judge, right):
    found = Counter(test.verdict for test in verdicts(categories, judge, epsilon=0.15))
    assert found[right] >= 0.95 * SEEDS, found


@pytest.mark.slow
@pytest.mark.parametrize(("judge", "epsilon"), [("worse", 0.2), ("constant", 0.4), ("random", 0.4)])
def test_useless_judge_does_not_replace(judge, epsilon):
    found = Counter(test.verdict for test in verdicts(categories, judge, epsilon=epsilon))
    assert found["replace"] <= 0.05 * SEEDS, found


@pytest.mark.slow
def test_constant_passes_published_rule_only():
    found = verdicts(ratings, "always 4", expertise="expert")
    assert sum(test.passed for test in found) >= 0.9 * SEEDS
    told = Counter((test.verdict, test.reason) for test in found)
    assert told["do_not_replace", "agreement_ratio_too_low"] >= 0.95 * SEEDS, told
    good = Counter(test.verdict for test in verdicts(ratings, "as good", expertise="expert"))
    assert good["replace"] >= 0.95 * SEEDS, good
    drawn = Counter(test.verdict for test in verdicts(ratings, "random", expertise="expert"))
    assert drawn["replace"] <= 0.05 * SEEDS, drawn


@pytest.mark.slow
@pytest.mark.parametrize("normalise", [None, "zscore"])
def test_constant_on_fine_scale_does_not_replace(normalise):
    """0-100 has too many labels to try each; a judge that always says 73 still meets a constant 73."""

    for judge in ("always 73", "about 73"):
        found = Counter(test.verdict for test in verdicts(fine_ratings, judge, expertise="expert", normalise=normalise))
        assert found["replace"] <= 0.05 * SEEDS, (judge, found)


@pytest.mark.slow
def test_rare_labels_that_the_judge_never_gives():
    def make(seed: int) -> Annotations:
        rng = np.random.default_rng(seed)
        truth = (rng.random(200) < 0.05).astype(int)
        people = np.stack([truth ^ (rng.random(200) < 0.02) for _ in range(3)], axis=1)
        return table_of(people, {"always ok": np.zeros(200, dtype=int)}, Nominal(KINDS[:2]))

    found = verdicts(make, "always ok", expertise="crowd")
    assert sum(test.passed for test in found) >= 0.9 * SEEDS
    told = Counter((test.verdict, test.reason) for test in found)
    assert told["do_not_replace", "agreement_ratio_too_low"] >= 0.7 * SEEDS, told
    assert not any(test.verdict == "replace" for test in found)


DAYS = np.random.default_rng(5).integers(0, 365, 200)
DATES = [datetime(2025, 1, 1) + timedelta(int(day)) for day in DAYS]
PATTERNS = {
    "month": (np.array([date.month - 1 for date in DATES]), [f"{date:%d/%m/%Y}" for date in DATES]),
    "weekday": (DAYS % 7, DATES),
    "site": (DAYS % 6, [f"https://www.site{day % 6}.org/{k}" for k, day in enumerate(DAYS)]),
    "folder": (DAYS % 6, [f"scans/set{day % 6}/{k}.png" for k, day in enumerate(DAYS)]),
    "tag": (DAYS % 3 // 2, [f"post; {'sport' if day % 3 == 2 else 'news'}; tag{k % 8}" for k, day in enumerate(DAYS)]),
    "number": (DAYS % 10, (DAYS % 10).tolist()),
}
"""A part of each cell of a column, and the cells."""


@pytest.mark.slow
@pytest.mark.parametrize("pattern", PATTERNS)
def test_judge_that_knows_a_part_of_a_column_does_not_replace(pattern):
    """The part nearly decides the label, so that the judge is as close to annotators as they are."""
    part, cells = PATTERNS[pattern]
    found = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        known = 3 + rng.permutation(np.linspace(-2, 2, part.max() + 1))[part]
        content = known + 0.6 * rng.normal(size=(1, 200))

        def given(labels):
            return np.clip(np.round(labels), 1, 5).astype(int)

        people = given(content + 0.4 * rng.normal(size=(3, 200))).T
        judges = {"part": given(known), "reads": given(content + 0.4 * rng.normal(size=(1, 200)))[0]}
        labels = table_of(people, judges, Interval(1, 5))
        labels = replace(labels, items=labels.items.with_columns(column=pl.Series(cells)))
        found.append([alt_test(labels, judge, epsilon=0.15).verdict for judge in judges])
    assert [one for one, _ in found].count("replace") == 0
    assert [one for _, one in found].count("replace") >= 0.75 * SEEDS


@pytest.mark.slow
@pytest.mark.parametrize("m", [3, 6])
def test_random_annotators_are_not_testable(m):
    def make(seed: int) -> Annotations:
        rng = np.random.default_rng(seed)
        return table_of(rng.integers(0, 4, (100, m)), {"coin": rng.integers(0, 4, 100)}, Nominal(KINDS))

    found = verdicts(make, "coin", expertise="expert")
    # As published, a coin may replace people who toss coins.
    assert sum(test.passed for test in found) >= 0.6 * SEEDS
    told = Counter((test.verdict, test.reason) for test in found)
    assert told["not_testable", "human_agreement_too_low"] >= 0.85 * SEEDS, told
    assert not any(test.verdict == "replace" for test in found)


@pytest.mark.slow
def test_wrong_for_one_class_shows_when_classes_count_the_same():
    @cache
    def make(seed: int) -> Annotations:
        rng = np.random.default_rng(seed)
        truth = rng.choice(4, 500, p=PRIOR)
        people = np.stack([noisy(rng, truth, 0.1) for _ in range(3)], axis=1)
        blind = np.where(truth == 3, 0, noisy(rng, truth, 0.1))
        return table_of(people, {"blind": blind}, Nominal(KINDS))

    plain = Counter(test.verdict for test in verdicts(make, "blind", epsilon=0.15))
    equal = Counter(test.verdict for test in verdicts(make, "blind", epsilon=0.15, balance=True))
    assert plain["replace"] >= 0.9 * SEEDS, plain  # on the average item it is as good
    assert equal["replace"] <= 0.05 * SEEDS, equal


def test_disagreeing_annotators_give_mixed():
    rng = np.random.default_rng(0)
    truth = rng.choice(4, 400, p=PRIOR)
    people = np.stack([noisy(rng, truth, noise) for noise in (0.02, 0.02, 0.9, 0.9)], axis=1)
    test = alt_test(table_of(people, {"judge": noisy(rng, truth, 0.6)}, Nominal(KINDS)), "judge", epsilon=0.1)
    assert test.verdict == "mixed"
    assert (test.reason, test.reason_text) == ("", "")


# -- free text --------------------------------------------------------------------------------------

WORDS = [f"word{i}" for i in range(60)]


def texts(seed: int, judge: str, stray: float, n: int = 100) -> Annotations:
    """Three people who describe items in stock phrases and, except for a share of random words, in words of the item;
    now and then they write a dash. The judge looks, gives people's texts of other items, or stock phrases alone."""
    rng = np.random.default_rng(seed)
    topics = [rng.choice(WORDS, 4, replace=False) for _ in range(n)]
    stock = ["it", "is", "about", "the"]

    def say(i: int) -> str:
        words = [word if rng.random() > stray else rng.choice(WORDS) for word in topics[i]]
        return " ".join([*stock[: rng.integers(2, 5)], *words])

    def person(i: int) -> str:
        return str(rng.choice(["-", "?", "n/a"])) if rng.random() < 0.08 else say(i)

    people = np.array([[person(i) for _ in range(3)] for i in range(n)])
    answers = {
        "looks": lambda i: say(i),
        "draws": lambda i: people[(i + rng.integers(1, n)) % n, rng.integers(3)],
        "stock": lambda i: f"it is about the {rng.choice(['thing', 'matter', 'point', 'case', 'question'])}",
    }[judge]
    table = np.column_stack([people, [answers(i) for i in range(n)]])
    frame = pl.DataFrame(
        {
            "item": np.repeat([f"i{i:03}" for i in range(n)], 4),
            "annotator": np.tile(["h0", "h1", "h2", "judge"], n),
            "label": table.ravel(),
        }
    )
    return Annotations.from_frame(frame, judges=["judge"], scale=Text())


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["draws", "stock"])
def test_random_texts_do_not_replace(judge):
    """People agree on stock phrases alone, and their commonest texts are dashes, further off than any stock phrase."""
    options = {"epsilon": 0.25, "similarity": word_similarity, "method": "none"}
    found = [alt_test(texts(seed, judge, stray=1.0), "judge", **options) for seed in range(8)]
    assert (
        sum(test.verdict_tests.p_noninferior <= 0.05 for test in found) >= 6
    )  # as good as people, who say nothing either
    assert not any(test.verdict == "replace" for test in found)


@pytest.mark.slow
def test_text_judge_differs_from_random_texts():
    options = {"epsilon": 0.2, "similarity": word_similarity, "method": "none"}
    found = Counter(alt_test(texts(seed, "looks", stray=0.3), "judge", **options).verdict for seed in range(8))
    assert found["replace"] >= 7, found


def test_constant_baseline_is_printed_if_closer():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 0, 1], 80, p=[0.2, 0.1, 0.7])
    people = np.stack([np.where(rng.random(80) < 0.2, rng.choice([-1, 0, 1], 80), truth) for _ in range(3)], axis=1)
    test = alt_test(
        table_of(people, {"always second": np.ones(80, dtype=int)}, Preference()), "always second", epsilon=0.1
    )
    assert test.constant_baseline is not None
    assert (
        test.constant_baseline.label,
        test.constant_baseline.closer,
        test.constant_baseline.equal,
        test.constant_baseline.further,
    ) == (1, 0, 80, 0)
    never = table_of(people, {"always first": -np.ones(80, dtype=int)}, Preference())
    found = card(alt_test(never, "always first", epsilon=0.1)).details
    side = "always answering “second” (the same side of each pair as read, in any position) is closer to the annotators"
    assert any(line.startswith(f"Constant baseline: {side} on ") for line in found)
