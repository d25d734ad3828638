"""Annotators out of line on the dashboard: measures by hand, marks, what the pages say, and honest annotators."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from annotating import Served, write_study

from assay.collecting.behaviour import (
    LabelsInOrder,
    OutOfLine,
    agreements_with_others,
    compared_questions,
    far_below_others,
    labels_on_scale,
    median_log_time,
    repeated_answers,
)
from assay.statistics.outliers import out_of_line

STARS = {"name": "stars", "text": "How many stars?", "scale": "1-5"}


def numbers(rows: list[tuple[str, int, float]], span: float = 4.0) -> LabelsInOrder:
    """Answers (person, item, value) in their order."""
    people = tuple(sorted({who for who, _, _ in rows}))
    who, item, value = zip(*rows, strict=True)
    codes = np.array([people.index(one) for one in who])
    given = np.array(value, dtype=float)
    return LabelsInOrder(people, np.array(item), codes, given, given, span)


class TestMeasuresOfAnnotators:
    def test_time_is_the_median_of_logarithms(self) -> None:
        seconds = [2.0, 4, 8, 16, 32, 64, 3, 5, 9, 12]
        value, error = median_log_time(seconds)
        assert np.exp(value) == pytest.approx(np.sqrt(8 * 9))
        deviation = 1.4826 * np.median(np.abs(np.log(seconds) - value))
        assert error == pytest.approx(1.2533 * deviation / np.sqrt(10))
        assert np.isnan(median_log_time(seconds[:9])[0])

    def test_agreement_is_corrected_for_that_of_other_items(self) -> None:
        rows = [(who, i, float(1 + i % 5)) for i in range(20) for who in ("ann", "bob")]
        rows += [("cho", i, float(1 + (i + 2) % 5)) for i in range(20)]
        found = numbers(rows)
        value, error, n = agreements_with_others(found)["ann"]
        # On each item bob is equal and cho 2 or 3 apart; the same labels on random items are 1.6 apart on average.
        equal = np.array([[1 - abs((1 + i % 5) - (1 + (i + 2) % 5)) / 4 for i in range(20)], [1.0] * 20]).mean()
        chance = np.mean([1 - abs(a - b) / 4 for a in range(5) for b in range(5)])
        assert value == pytest.approx((equal - chance) / (1 - chance))
        assert (error > 0, n) == (True, 20)

    def test_agreement_by_chance_is_zero(self) -> None:
        rng = np.random.default_rng(0)
        rows = [(who, i, float(rng.integers(1, 6))) for i in range(600) for who in ("ann", "bob", "cho")]
        value, error, _ = agreements_with_others(numbers(rows))["ann"]
        assert abs(value) < 3 * error

    def test_many_different_numbers_are_rounded_for_chance(self) -> None:
        rng = np.random.default_rng(1)
        truth = rng.uniform(0, 100, 300)
        rows = [(who, i, float(truth[i] + rng.normal(0, 5))) for i in range(300) for who in ("ann", "bob", "cho")]
        found = numbers(rows, span=100.0)
        exact, _, n = agreements_with_others(found)["ann"]
        mine = found.person == 0
        others = found.value[~mine]
        own = [1 - np.abs(x - others).mean() / 100 for x in found.value[mine]]
        same = [1 - np.abs(x - found.value[~mine & (found.item == i)]).mean() / 100
                for x, i in zip(found.value[mine], found.item[mine], strict=True)]  # fmt: skip
        assert exact == pytest.approx((np.mean(same) - np.mean(own)) / (1 - np.mean(own)), abs=0.002)
        assert n == 300

    def test_repeats_are_in_the_order_of_answers(self) -> None:
        rows = [("ann", i, value) for i, value in enumerate([1.0, 1, 2, 2, 2, 3, 4, 4, 5, 5])]
        value, error, n = repeated_answers(numbers(rows), "ann")
        assert np.sin(value) ** 2 == pytest.approx(5 / 9)
        assert error == pytest.approx(1 / (2 * np.sqrt(9)))
        assert n == 9

    def test_categories_differ_or_not(self) -> None:
        rows = [(who, i, float(i % 3)) for i in range(12) for who in ("ann", "bob")]
        assert agreements_with_others(numbers(rows, span=0.0))["ann"][0] == 1.0

    def test_half_of_the_others_median_is_required(self) -> None:
        values = np.log(np.array([[9.0], [20], [20], [20], [20], [11]]))
        both = np.concatenate([values, np.full((6, 2), 0.6)], axis=1)
        assert far_below_others(both)[:, 0].tolist() == [True, False, False, False, False, False]
        assert far_below_others(both)[:, 2].all()


ENDS = np.linspace(-1.2, 1.2, 4).tolist()
"""Ends of the five categories."""


def honest(rng: np.random.Generator, people: int, each: int, world: str, bad: str = "") -> set[int]:
    """The annotators who are marked in a simulated study, in which annotator 0 may be bad."""
    n = people * each // 3
    truth, camp = rng.normal(0, 1, n), np.arange(people) % 2 if world == "camps" else np.zeros(people)
    noise = np.full(people, 0.6) if world == "alike" else np.exp(rng.normal(np.log(0.6), 0.35, people))
    shift, pace, topic = rng.normal(0, 0.3, people), np.log(20) + rng.normal(0, 0.4, people), rng.random(n) < 0.3
    rows: list[tuple[int, int, float]] = []
    seconds: list[list[float]] = [[] for _ in range(people)]
    for i in rng.permutation(n):
        for a in rng.choice(people, 3, replace=False):
            seen = truth[i] * (-1 if camp[a] and topic[i] else 1) + shift[a] + rng.normal(0, noise[a])
            value, took = float(bisect_right(ENDS, seen)), math.exp(pace[a] + rng.normal(0, 0.6))
            if a == 0 and bad:
                value = 3.0 if bad == "constant" else value
                took = np.exp(np.log(2) + rng.normal(0, 0.4)) if bad == "fast" else took
            rows.append((a, i, value))
            seconds[a].append(took)
    found = numbers([(f"{a:02}", i, value) for a, i, value in rows])
    values, errors = np.full((people, 3), np.nan), np.full((people, 3), np.nan)
    agreement = agreements_with_others(found)
    for a in range(people):
        values[a, 0], errors[a, 0] = median_log_time(seconds[a])
        values[a, 1], errors[a, 1], _ = agreement[f"{a:02}"]
        values[a, 2], errors[a, 2], _ = repeated_answers(found, f"{a:02}")
    return {one.person for one in out_of_line(values, errors, (False, False, True), far_below_others(values))}


@pytest.mark.simulation
@pytest.mark.parametrize(("people", "each"), [(6, 40), (15, 60), (40, 25)])
@pytest.mark.parametrize("world", ["alike", "differ", "camps"])
def test_honest_annotators_are_marked_in_few_studies(people: int, each: int, world: str) -> None:
    # At most 4 of 150 in the recorded runs: .05 of 60 and three standard errors (.028).
    found = [honest(np.random.default_rng([s, people]), people, each, world) for s in range(60)]
    assert np.mean([bool(one) for one in found]) <= 0.05 + 3 * 0.028


@pytest.mark.slow
@pytest.mark.parametrize(("bad", "least"), [("constant", 0.9), ("fast", 0.5)])
def test_bad_annotators_are_found(bad: str, least: float) -> None:
    # 1.00 and .73 of 60 studies of 15 annotators with 60 items.
    found = [0 in honest(np.random.default_rng([s, 15]), 15, 60, "differ", bad) for s in range(15)]
    assert np.mean(found) >= least


# -- the pages ---------------------------------------------------------------------------------------


def study(folder: Path) -> Path:
    rows = [{"item": f"r{n}", "review": f"Text {n}"} for n in range(ITEMS)]
    return write_study(folder, items=rows, questions=[STARS], people={"order": "fixed"})


PEOPLE = ("ana", "ben", "cem", "dee", "eva", "fay")
ITEMS = 14  # annotators with ten answers are compared


def answer(page: Served, name: str, chance: random.Random) -> None:
    person = page.annotator(name)
    for number in range(1, ITEMS + 1):
        (task,) = person.work(number)[:1]
        label = 3 if name == "fay" else 1 + (number + (chance.random() < 0.2)) % 5
        seconds = 1.5 if name == "fay" else 20 * chance.uniform(0.6, 1.7)
        assert person.answer(task, {task.questions[0].id: label}, seconds=seconds).status == 200
    person.wire.close()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory):
    with Served(study(tmp_path_factory.mktemp("behaviour") / "study"), PEOPLE) as page:
        for name in PEOPLE:
            answer(page, name, random.Random(name))
        yield page


@pytest.mark.slow
def test_dashboard_marks_the_one_with_the_reason(desk: Served) -> None:
    rows = {one.name: one.out_of_line for one in desk.app.state.assay.now().watch.look().people}
    assert {name for name, marks in rows.items() if marks} == {"fay"}
    measures = {one.measure: one for one in rows["fay"]}
    assert measures["time"].value == pytest.approx(1.5)
    assert measures["time"].words.startswith("1.5 s per item (others ")
    lead = desk.lead()
    html = lead.send("GET", "/lead").text
    assert html.count("out of line") == 1
    sheet = lead.send("GET", "/lead/person?name=fay").text
    assert "1.5 s per item (others " in sheet
    assert "at most one in twenty marks any" in sheet
    assert 'name="reason" value="1.5 s per item' in sheet or "same answer as before" in sheet
    assert "Not out of line with the others" in lead.send("GET", "/lead/person?name=ana").text


@pytest.mark.slow
def test_annotator_who_always_chooses_the_left_is_marked(tmp_path: Path) -> None:
    rows = [{"item": f"r{n}", "one": f"First {n}", "two": f"Second {n}"} for n in range(24)]
    better = {"name": "better", "text": "Which is better?", "scale": "preference", "options": ["one", "two"]}
    with Served(write_study(tmp_path / "pairs", items=rows, questions=[better]), PEOPLE) as page:
        for name in PEOPLE:
            person, chance = page.annotator(name), random.Random(name)
            for _ in range(24):
                (task,) = person.work()[:1]
                label = "first" if name == "fay" else chance.choice(["first", "second"])  # as the page shows them
                assert person.answer(task, {task.questions[0].id: label}, seconds=20).status == 200
            person.wire.close()
        sheet = page.lead().send("GET", "/lead/person?name=fay").text
        assert "same answer as before in 100% (others " in sheet
        assert "same answer as before" not in page.lead().send("GET", "/lead/person?name=ana").text


def test_annotator_is_paused_excluded_and_readmitted_on_their_page(desk: Served) -> None:
    lead = desk.lead()
    assert "They receive items." in lead.send("GET", "/lead/person?name=eva").text
    reply = lead.form("/lead/people/state", name="eva", state="paused", back="person")
    assert "Paused: they receive no items." in reply.text or reply.status == 303
    assert "Paused: they receive no items." in lead.send("GET", "/lead/person?name=eva").text
    lead.form("/lead/people/state", name="eva", state="active", back="person")
    lead.form("/lead/people/exclude", name="eva", reason="did not read", back="person")
    sheet = lead.send("GET", "/lead/person?name=eva").text
    assert "Excluded: did not read." in sheet
    assert "Include their answers again" in sheet
    lead.form("/lead/people/readmit", name="eva", back="person")
    assert "Include their answers again" not in lead.send("GET", "/lead/person?name=eva").text


@pytest.mark.slow
def test_few_annotators_are_not_compared(tmp_path: Path) -> None:
    with Served(study(tmp_path / "few"), ("ana", "ben")) as page:
        for name in ("ana", "ben"):
            answer(page, name, random.Random(1))
        sheet = page.lead().send("GET", "/lead/person?name=ana").text
        assert "2 of 5 annotators have 10 answers" in sheet


@pytest.mark.slow
def test_study_without_answers_has_a_dashboard(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Served(study(tmp_path / "new"), ("ana",)) as page:
        assert page.lead().send("GET", "/lead").status == 200
        assert "0 of 5 annotators have 10 answers" in page.lead().send("GET", "/lead/person?name=ana").text
    assert not caplog.records


def test_scales_that_a_study_varies_are_compared_apart(tmp_path: Path) -> None:
    rows = [{"item": f"r{n}", "review": f"Text {n}"} for n in range(2)]
    question = {"name": "quality", "text": "How good?", "scale": "interval:0-10"}
    scales = ["interval:0-10", "interval:0-100"]
    folder = write_study(tmp_path / "scales", items=rows, questions=[question], conditions={"scale": scales})
    with Served(folder, ("ana",)) as page:
        found = [(scale.bounds, spec) for _, scale, spec in compared_questions(page.design)]
    assert found == [((0, 10), "interval:0-10"), ((0, 100), "interval:0-100")]
    labels = pl.DataFrame(
        {"condition": ['{"scale": "interval:0-10"}', '{"scale": "interval:0-100"}'], "label": [5, 50]}
    )
    assert [labels_on_scale(labels, spec)["label"].to_list() for spec in scales] == [[5], [50]]
    assert labels_on_scale(labels, None).height == 2


def test_words_of_reasons() -> None:
    assert OutOfLine("agreement", -0.04, 0.61, 0.01).words == "agreement with others −0.04 (others 0.61)"
    assert OutOfLine("repeats", 1.0, 0.22, 0.0001).words == "same answer as before in 100% (others 22%)"
    assert OutOfLine("repeats", 1.0, 0.22, 0.0001).p_words == "p < 0.001"
