"""What *Replace* does not cover: planted faults are found, and judges without faults have none."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import assay
from assay.replacement import words
from assay.replacement.limitations import Limitation, _welch_p, limitations_of

pytestmark = pytest.mark.usefixtures("few_truths")

N = 240


def study(judge: Any, seed: int = 0, **items: Any) -> tuple[assay.Annotations, np.ndarray]:
    """Three annotators, three labels; ``judge`` makes the judge's labels from an honest judge's, a label or None."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, N, p=(0.5, 0.3, 0.2))
    draw = lambda: np.where(rng.random(N) < 0.2, rng.integers(0, 3, N), truth)  # noqa: E731
    columns = {f"h{j}": draw() for j in range(3)}
    columns["m"] = judge(rng, draw(), truth)
    names = [f"i{k:03}" for k in range(N)]
    frame = pl.DataFrame({
        "item": names * 4, "annotator": np.repeat(list(columns), N),
        "label": ["abc"[int(v)] if v >= 0 else None for v in np.concatenate(list(columns.values()))],
    }).drop_nulls()  # fmt: skip
    about = pl.DataFrame({"item": names, **items}) if items else None
    return assay.Annotations.from_frame(frame, judges=["m"], scale=assay.Nominal("abc"), items=about), truth


def result_of(judge: Any, seed: int = 0, **items: Any) -> assay.results.AltTest:
    return assay.alt_test(study(judge, seed, **items)[0], "m", epsilon=0.4, min_agreement_ratio=0.1)


TOPIC = [f"t{k % 3}" for k in range(N)]
FAULTS = {
    "unanswered_labels": (lambda rng, m, t: np.where((t == 2) & (rng.random(N) < 0.7), -1, m), {}),
    "label_rarely_given": (lambda rng, m, t: np.where((m == 2) & (rng.random(N) < 0.8), 0, m), {}),
    "worst_group": (lambda rng, m, t: np.where(np.arange(N) % 3 == 1, rng.permutation(m), m), {"topic": TOPIC}),
    "decline": (lambda rng, m, t: np.where(np.arange(N) > 170, rng.permutation(m), m), {}),
}


@pytest.mark.parametrize("code", FAULTS)
def test_limitations_find_a_planted_fault(code):
    judge, items = FAULTS[code]
    test = result_of(judge, **items)
    assert test.verdict == "replace"
    assert code in {one.code for one in test.limitations}
    assert all(one.p <= 0.05 for one in test.limitations)
    assert "Limits of the verdict: " in test.summary()
    assert [one["code"] for one in test.to_dict()["limitations"]] == [one.code for one in test.limitations]


def test_limitations_follow_an_undecided_verdict():
    """A judge that guesses for one of two groups is often Undecided: that group is the reason, not too few items."""
    judge, items = FAULTS["worst_group"]
    labels = study(judge, **items)[0]
    test = assay.alt_test(labels, "m", epsilon=0.2)
    assert test.verdict == "undecided"
    assert [(one.code, one.value) for one in test.limitations] == [("worst_group", "t1")]
    assert "Limits of the verdict: on 80 items (“topic” is t1) it agrees less with annotators" in test.summary()
    both = pl.concat([labels.to_polars().with_columns(criterion=pl.lit(name)) for name in ("clear", "short")])
    found = assay.alt_test_by(assay.read(both, judges=["m"], items=labels.items), "m", epsilon=0.2)
    lines = found.summary().splitlines()
    assert sum(line.startswith("    Limits of the verdict: on 80 items (“topic” is t1)") for line in lines) == 2


def test_limitations_name_the_suffix_of_item_ids():
    """Aspects that are pooled: the group is an aspect's name, as the item ids have it."""
    judge, _ = FAULTS["worst_group"]
    labels = study(judge)[0]
    aspects = dict(zip([f"i{k:03}" for k in range(N)], ["Asymmetry", "Border", "Colour"] * (N // 3), strict=True))
    frame = labels.to_polars().with_columns(item=pl.format("{}__{}", "item", pl.col("item").replace(aspects)))
    test = assay.alt_test(assay.read(frame, judges=["m"], split_item="no"), "m", epsilon=0.2)
    assert [(one.what, one.value, one.n) for one in test.limitations] == [("suffix", "Border", 80)]
    assert "on 80 items (“suffix” is Border) it agrees less with annotators" in test.summary()


def test_limitations_name_the_group_and_the_label():
    judge, items = FAULTS["worst_group"]
    test = result_of(judge, **items)
    [one] = [one for one in test.limitations if one.code == "worst_group"]
    assert (one.what, one.value, one.n) == ("topic", "t1", 80)
    assert one.here < one.elsewhere
    sentence = words._limitation(one, numeric=False)
    assert sentence.startswith(
        "on 80 items (“topic” is t1) it agrees less with annotators than elsewhere (agreement wi"
    )
    assert f"{sentence}; see assay alt-test --where topic=t1" in words.limitations(test)
    [rare] = [one for one in result_of(FAULTS["label_rarely_given"][0]).limitations if one.code == "label_rarely_given"]
    assert rare.what == "c"
    assert rare.here < 0.75 * rare.elsewhere
    assert words._limitation(rare, numeric=False).startswith(f"it gives “c” on {100 * rare.here:.0f}% of items; annot")


@pytest.mark.slow
def test_honest_judges_rarely_have_a_limitation():
    found = []
    for seed in range(20):
        labels, _ = study(lambda rng, m, t: np.where(rng.random(N) < 0.2, -1, m), seed, topic=TOPIC)
        counts = assay.alt_test(labels, "m", epsilon=0.2).win_counts
        found.append(bool(limitations_of(counts.table, counts.judge)))
    assert np.mean(found) <= 0.1


def test_unanswered_items_are_counted_under_replace_only():
    missing = lambda rng, m, t: np.where(np.arange(N) < 60, -1, m)  # noqa: E731
    test = result_of(missing)
    assert test.verdict == "replace"
    assert words.limitations(test)[0] == "it left 60 of 240 items (25%) unanswered"
    coin = assay.alt_test(
        study(lambda rng, m, t: np.where(np.arange(N) < 60, -1, rng.permutation(m)))[0], "m", epsilon=0.2
    )
    assert coin.verdict != "replace"
    assert (coin.limitations, words.limitations(coin)) == ((), [])


def test_limitations_of_numbers_use_squared_distances():
    rng = np.random.default_rng(0)
    truth = 3 + rng.standard_normal(N)
    draw = lambda: np.clip(np.round(truth + 0.6 * rng.standard_normal(N)), 1, 5)  # noqa: E731
    judge = draw()
    judge[:80] = rng.permutation(judge[:80])
    columns = {**{f"h{j}": draw() for j in range(3)}, "m": judge}
    names = [f"i{k:03}" for k in range(N)]
    frame = pl.DataFrame({"item": names * 4, "annotator": np.repeat(list(columns), N),
                          "label": np.concatenate(list(columns.values()))})  # fmt: skip
    about = pl.DataFrame({"item": names, "length": np.arange(N) * 1.5})
    labels = assay.Annotations.from_frame(frame, judges=["m"], scale="1-5", items=about)
    test = assay.alt_test(labels, "m", epsilon=0.3, min_agreement_ratio=0.2)
    found = limitations_of(test.win_counts.table, judge)
    groups = [one for one in found if one.code == "worst_group" and one.what == "length"]
    assert groups[0].value == "0 to 88.5"
    people = np.column_stack([columns[f"h{j}"] for j in range(3)])
    apart = ((judge[:, None] - people) ** 2).mean(axis=1)
    among = np.mean([(people[:, a] - people[:, b]) ** 2 for a, b in ((0, 1), (0, 2), (1, 2))], axis=0)
    assert groups[0].here == pytest.approx(np.mean((among - apart)[:60]))
    assert groups[0].elsewhere == pytest.approx(np.mean((among - apart)[60:]))
    assert "squared distance among annotators" in words._limitation(groups[0], numeric=True)


def test_welch_p_is_that_of_scipy():
    rng = np.random.default_rng(2)
    a, b = rng.normal(0, 1, 20), rng.normal(0.3, 2, 50)
    assert _welch_p(a, b) == pytest.approx(stats.ttest_ind(a, b, equal_var=False, alternative="less").pvalue)
    assert _welch_p(np.ones(5), np.ones(5)) == 1


def test_commands_of_limitations_run(tmp_path, run):
    """Only one value of an item column, not a part of a column of numbers, has a command, and it runs."""
    judge, _ = FAULTS["worst_group"]
    day = [float(k % 3 == 1) * 500 + k for k in range(N)]
    for items in ({"the topic": [f"t {k % 3}" for k in range(N)]}, {"day": day}):
        labels = study(judge, **items)[0]
        test = assay.alt_test(labels, "m", epsilon=0.4, min_agreement_ratio=0.1)
        said = [one for one in words.limitations(test) if " it agrees less " in one]
        assert said
        commands = [one.partition("; see assay ")[2] for one in said]
        if "day" in items:
            assert not any(commands)
            continue
        (command,) = commands
        assert command == "alt-test --where 'the topic=t 1'"
        labels.to_polars().join(labels.items, on="item").write_csv(tmp_path / "labels.csv")
        verb, *options = shlex.split(command)
        status, _, error = run(verb, str(tmp_path / "labels.csv"), "--judges", "m", *options, "--epsilon", "0.4")
        assert status == 0, error


@pytest.mark.parametrize(
    ("one", "sentence"),
    [
        (Limitation("unanswered_labels", "", "", 9, np.nan, np.nan, 0.01),
         "the unanswered items differ from the others in the annotators' labels (p = 0.010)"),
        (Limitation("unanswered_disputed", "", "", 9, 0.5, 0.2, 0.01),
         "annotators disagree more on the unanswered items than on the others (p = 0.010)"),
        (Limitation("decline", "item order", "", 90, -0.3, 0.0, 0.01),
         "its agreement decreases with “item order” (in the last third, agreement with annotators minus that among "
         "them −0.30, elsewhere +0.00; p = 0.010)"),
        (Limitation("worst_group", "date", "the last third", 30, -0.3, 0.1, 0.01),
         "on 30 items (the last third by “date”) it agrees less with annotators than elsewhere (agreement with "
         "annotators minus that among them −0.30, elsewhere +0.10; p = 0.010)"),
    ],
)  # fmt: skip
def test_sentences_of_limitations(one, sentence):
    assert words._limitation(one, numeric=False) == sentence


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
def test_a_card_shows_limitations_under_its_headline():
    from assay.replacement.page import card

    judge, items = FAULTS["worst_group"]
    found = card(result_of(judge, **items))
    assert found.limits[0].startswith("On 80 items (“topic” is t1) it agrees less with annotators than elsewhere")
    labels, _ = study(judge, **items)
    report = assay.report(labels, epsilon=0.4, min_agreement_ratio=0.1)
    assert found.limits[0] in report.markdown()
    assert found.limits[0] in report.summary()
    page = report.html()
    assert page.index("Limits of the verdict:") < page.index("Next:")


def rounded_study(judge: Any) -> assay.Annotations:
    """Three annotators give whole tens of 0–100; ``judge`` makes the judge's labels from unrounded ones."""
    rng = np.random.default_rng(3)
    truth = rng.normal(60, 15, N)
    draw = lambda: np.clip(truth + 8 * rng.normal(size=N), 0, 100)  # noqa: E731
    columns = {**{f"h{j}": 10 * np.round(draw() / 10) for j in range(3)}, "m": judge(draw())}
    frame = pl.DataFrame({
        "item": [f"i{k:03}" for k in range(N)] * 4, "annotator": np.repeat(list(columns), N),
        "label": np.concatenate(list(columns.values())),
    })  # fmt: skip
    return assay.Annotations.from_frame(frame, judges=["m"], scale=assay.Interval(0, 100))


def test_limitations_count_a_number_as_the_nearest_label_of_annotators():
    """61.3 is not among the labels of annotators; a judge that stays below 75 rarely gives 80 or 90."""

    def rare(judge: Any) -> set[str]:
        test = assay.alt_test(rounded_study(judge), "m", epsilon=0.4, min_agreement_ratio=0.1)
        assert test.verdict == "replace"
        return {one.what for one in test.limitations if one.code == "label_rarely_given"}

    assert rare(lambda own: np.round(own, 1)) == set()
    assert rare(lambda own: np.minimum(np.round(own, 1), 74)) >= {"80"}


def test_limitations_sort_dates_written_as_text():
    """One month after another: as text, 10/1/2026 would come before 3/1/2026."""
    judge, _ = FAULTS["decline"]
    dates = [f"{1 + k // 20}/1/2026" for k in range(N)]
    found = result_of(judge, opened=dates).limitations
    assert {(one.code, one.what) for one in found} >= {("decline", "opened"), ("worst_group", "opened")}
    (last,) = (one for one in found if one.code == "worst_group" and one.what == "opened")
    assert (last.value, last.n) == ("the last third", 80)


def documents(seed: int, kind: str = "", n: int = 240) -> assay.Annotations:
    """A judge drawn like three annotators, whose errors the 10 items of a document share; with a planted fault."""
    rng = np.random.default_rng(seed)
    document, own = np.arange(n) // 10, lambda size: rng.random(size)
    topic = rng.integers(0, 4, n // 10)[document]
    truth = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    if kind == "skipped":
        truth = np.where(own(n) < 0.6, rng.integers(0, 4, n // 10)[document], truth)
    draw = lambda: np.where(own(n) < np.where(own(n // 10) < 0.2, 0.8, 0.05)[document], rng.integers(0, 4, n), truth)  # noqa: E731
    label = np.stack([draw() for _ in range(4)])
    given = np.ones(label.shape, dtype=bool)
    if kind == "skipped":
        given[0] = (own(n // 10) > 0.25)[document]
    if kind == "worst_group":
        label[0] = np.where(topic == 1, rng.integers(0, 4, n), label[0])
    if kind == "unanswered_labels":
        given[0] = (truth != 2) | (own(n) < 0.2)
    if kind == "label_rarely_given":
        label[0] = np.where((label[0] == 1) & (own(n) < 0.8), 0, label[0])
    who, item = np.nonzero(given)
    names = np.array([f"i{k:03d}" for k in range(n)])
    frame = pl.DataFrame({"item": names[item], "annotator": np.array(["m", "a", "b", "c"])[who],
                          "label": np.array(list("wxyz"))[label[who, item]]})  # fmt: skip
    about = pl.DataFrame({"item": names, "document": [f"d{k:02d}" for k in document], "topic": [f"t{k}" for k in topic],
                          "writer": [f"w{k:02d}" for k in document]})  # fmt: skip
    return assay.Annotations.from_frame(frame, judges=["m"], scale=assay.Nominal("wxyz"), items=about)


@pytest.mark.parametrize(("kind", "n"), [("", 10), ("skipped", 20)])
def test_limitations_of_documents_are_rare_for_a_judge_like_the_annotators(kind, n):
    """At most about 5%; with tests of independent items .60, and .17 if the judge skips documents at random."""
    found = [assay.alt_test(documents(seed, kind), "m", epsilon=0.1, clusters="document").limitations
             for seed in range(n)]  # fmt: skip
    assert sum(bool(one) for one in found) <= 0.15 * n
    assert not {limit.what for one in found for limit in one} & {"document", "writer"}


@pytest.mark.parametrize("code", ["worst_group", "unanswered_labels", "label_rarely_given"])
def test_limitations_of_documents_find_a_planted_fault(code):
    tests = [assay.alt_test(documents(seed, code), "m", epsilon=0.1, clusters="document") for seed in range(8)]
    found = [{one.code for one in test.limitations} for test in tests]
    assert sum(code in codes for codes in found) >= 5


def test_limitations_of_clusters_of_one_item_are_those_of_independent_items():
    judge, items = FAULTS["worst_group"]
    own = {"own": [f"u{k}" for k in range(N)]}
    plain = result_of(judge, **items)
    labels = study(judge, **items, **own)[0]
    alone = assay.alt_test(labels, "m", epsilon=0.4, min_agreement_ratio=0.1, clusters="own")
    assert [(one.code, one.what, one.value) for one in alone.limitations] == [
        (one.code, one.what, one.value) for one in plain.limitations
    ]
    # The degrees of freedom are those of effective clusters, not Welch's.
    assert np.log(alone.limitations[0].p) == pytest.approx(np.log(plain.limitations[0].p), rel=0.1)
