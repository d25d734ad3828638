"""What the verdict refuses, no other command grants in other words."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import assay

N, LABELLED = 400, 240
USELESS = ("constant", "coin", "topic", "copy")


@cache
def study(seed: int) -> assay.Annotations:
    """Three annotators of 240 of 400 items, a judge as good as they are, and four useless ones."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, 4, N)
    truth = (rng.random(N) < np.array([0.1, 0.3, 0.7, 0.9])[topic]).astype(int)
    draw = lambda: np.where(rng.random(N) < 0.25, rng.integers(0, 2, N), truth)  # noqa: E731
    people = [draw() for _ in range(3)]
    judges = {
        "good": draw(), "constant": np.zeros(N, dtype=int), "coin": rng.integers(0, 2, N), "topic": (topic > 1) * 1,
        "copy": np.where(np.arange(N) < LABELLED, people[0], rng.integers(0, 2, N)),
    }  # fmt: skip
    columns = {**{f"h{j}": one[:LABELLED] for j, one in enumerate(people)}, **judges}
    names = [f"k{k:04}" for k in rng.permutation(N)]
    rows = [(names[k], who, "ny"[int(v)]) for who, each in columns.items() for k, v in enumerate(each)]
    items = pl.DataFrame({
        "item": names, "topic": [f"t{t}" for t in topic], "sure": rng.random(N),
        "article": [f"a{k // 2}" for k in rng.permutation(N)],
    })  # fmt: skip
    labels = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return assay.Annotations.from_frame(labels, judges=list(judges), scale=assay.Nominal("ny"), items=items)


@pytest.mark.slow
@pytest.mark.parametrize("judge", USELESS)
def test_no_command_grants_what_the_verdict_refuses(judge):
    labels = study(1)
    test = assay.alt_test(labels, judge, epsilon=0.2)
    assert test.verdict != "replace"
    routed = assay.route(labels, judge, signal="sure", epsilon=0.2)
    assert (routed.share, routed.reason is not None) == (0, True)
    one = assay.card(labels.where(annotator=["h0", "h1", "h2", judge]), epsilon=0.2)
    marks = one.rows[0].marks
    assert marks["replacement"] != "✓"
    assert {marks[d] for d in ("concordance", "validity", "helpfulness")}.isdisjoint("✓") or judge == "copy"
    compared = assay.compare_judges(labels, epsilon=0.2, judges=[judge, "coin" if judge != "coin" else "constant"])
    assert not compared.lead_is_clear


@pytest.mark.slow
def test_commands_grant_what_the_verdict_grants():
    labels = study(1)
    assert assay.alt_test(labels, "good", epsilon=0.2).verdict == "replace"
    routed = assay.route(labels, "good", signal="sure", epsilon=0.2)
    assert (routed.share, routed.reason) == (1, None)
    assert (
        assay.card(labels.where(annotator=["h0", "h1", "h2", "good"]), epsilon=0.2).rows[0].marks["replacement"] == "✓"
    )
    (caution,) = assay.estimate(labels, "good").run.cautions
    assert caution.startswith("5 settings of judges and prompts")


def test_an_estimate_warns_of_a_judge_that_matches_one_annotator():
    found = assay.estimate(study(1), "copy", sampling="trust")
    assert any("the labels of 'copy' match h0's more often" in one for one in found.run.cautions)
    assert any(note.startswith("provenance: labels from a file") for note in found.run.notes)


@pytest.mark.slow
@pytest.mark.parametrize("judge", USELESS)
def test_a_gate_passes_no_useless_judge(judge, tmp_path: Path):
    labels = study(1)
    table = labels.labels.join(labels.items, on="item")
    table.filter(pl.col("annotator").is_in(["h0", "h1", "h2", judge])).write_csv(tmp_path / "labels.csv")
    (tmp_path / "assay.toml").write_text(
        f'labels = "labels.csv"\njudge = "{judge}"\n\n[verdict]\nepsilon = 0.2\n\n'
        '[read]\nitem = "item"\nannotator = "annotator"\nlabel = "label"\n'
    )
    found = assay.gate(policy=str(tmp_path / "assay.toml"))
    assert found.status in ("fail", "undecided"), found.summary()
    assert "may replace" not in found.summary()


@cache
def votes(seed: int) -> assay.Annotations:
    """Three annotators and three judges on pairs of outputs: a good one, one that takes the first, and a coin."""
    rng = np.random.default_rng(seed)
    better = rng.normal(size=300)
    columns = {f"h{j}": better + 0.8 * rng.normal(size=300) > 0 for j in range(3)}
    columns |= {"good": better + 0.8 * rng.normal(size=300) > 0, "first": better > -9, "coin": rng.random(300) < 0.5}
    rows = [(f"q{k:03}", who, 1 if v else -1) for who, each in columns.items() for k, v in enumerate(each)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return assay.Annotations.from_frame(frame, judges=["good", "first", "coin"], scale=assay.Preference())


@pytest.mark.parametrize("judge", ["first", "coin"])
def test_no_command_grants_useless_votes(judge):
    labels = votes(0)
    assert assay.alt_test(labels, judge, epsilon=0.15).verdict != "replace"
    one = labels.where(annotator=["h0", "h1", "h2", judge])
    assert "✓" not in assay.card(one, epsilon=0.15).rows[0].marks.values()
    other = "coin" if judge == "first" else "first"
    assert not assay.compare_judges(labels, epsilon=0.15, judges=[judge, other]).lead_is_clear
    good = assay.card(labels.where(annotator=["h0", "h1", "h2", "good"]), epsilon=0.15).rows[0].marks
    assert good["replacement"] == "✓"


@pytest.mark.simulation
def test_useless_judges_are_sold_in_few_studies():
    sold = dict.fromkeys(USELESS, 0)
    for seed in range(20):
        labels = study(seed)
        for judge in USELESS:
            verdict = assay.alt_test(labels, judge, epsilon=0.2, method="none").verdict
            sold[judge] += verdict == "replace" or assay.route(labels, judge, signal="sure", epsilon=0.2).share > 0
    assert max(sold.values()) <= 1, sold
