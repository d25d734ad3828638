"""The card: planted judges get the right marks, and no wrong ones."""

import dataclasses
import json
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

import assay
from assay import Annotations, card
from assay.data.words import PROVENANCE
from assay.errors import DataError, DesignError
from assay.estimation.intervals import Estimate
from assay.verdict import words
from assay.verdict.card import NO_MARGIN, CardSettings
from assay.verdict.cells import (
    DIMENSIONS,
    LEAST_ANNOTATORS,
    TOWARD,
    Boundaries,
    CardRow,
    CellMeasure,
    SpreadContrast,
    cell_p_values,
)

pytestmark = pytest.mark.xdist_group("card")  # one process, so that each table is made once

LESSONS = Path(__file__).parents[2] / "examples" / "lessons.csv"

BY_TEACHER = {"object": "teacher", "lesson": "lesson", "family": "family", "group": "race"}


def observed(seed, teachers=80, lessons=4, segments=3, people=12):
    """Teachers rated by annotators, two in most lessons, and families of two judges with one property each."""
    rng = np.random.default_rng(seed)

    def draw(sd, *shape):
        return sd * rng.normal(size=shape)

    shape = (teachers, lessons, segments)
    group = (np.arange(teachers) % 2)[:, None, None]
    lesson, segment = draw(0.45, teachers, lessons)[..., None], draw(0.3, *shape)
    content = draw(0.45, teachers)[:, None, None] + lesson + segment - 0.2 * group
    elsewhere = draw(0.7, teachers)[:, None, None] + lesson + segment - 0.2 * group
    labels = {f"p{k:02}": content + draw(0.3, 1) + draw(0.6, *shape) for k in range(people)}
    for j in "12":
        labels |= {
            f"good{j}": content + draw(0.5, *shape),
            f"invalid{j}": elsewhere + draw(0.5, *shape),
            f"severe{j}": content - 1.2 + draw(0.5, *shape),
            f"unfair{j}": content - 0.7 * group + draw(0.5, *shape),
            f"noise{j}": draw(1.0, *shape),
        }
    seen = np.zeros((people, teachers, lessons), dtype=bool)
    for i in range(teachers):
        for o in range(lessons):
            seen[rng.choice(people, 2, replace=False), i, o] = True
    places = [(i, o, s) for i in range(teachers) for o in range(lessons) for s in range(segments)]
    names = np.array([f"{i:03}-{o}-{s}" for i, o, s in places]).reshape(shape)
    frames = []
    for k, (who, x) in enumerate(labels.items()):
        keep = np.broadcast_to(seen[k][..., None] if k < people else np.True_, shape)
        label = 1 + np.digitize(x[keep], (-1.2, -0.4, 0.4, 1.2))
        frames.append(pl.DataFrame({"item": names[keep], "annotator": who, "label": label}))
    items = pl.DataFrame({
        "item": names.ravel(), "teacher": [f"t{i:03}" for i, _, _ in places],
        "lesson": [f"{i:03}-{o}" for i, o, _ in places], "race": ["b" if i % 2 else "a" for i, _, _ in places],
    })  # fmt: skip
    judges = [name for name in labels if not name.startswith("p")]
    about = pl.DataFrame({"annotator": judges, "family": [name[:-1] for name in judges]})
    return Annotations.from_frame(pl.concat(frames), judges=judges, scale="1-5", items=items, annotator_table=about)


@cache
def seen(seed):
    return observed(seed)


@cache
def full_card(seed):
    """The card of ten judges from 80 teachers."""
    return card(seen(seed), **BY_TEACHER)


@cache
def small_card():
    """The card of ten judges from 30 teachers."""
    return card(observed(1, teachers=30), **BY_TEACHER)


def families(found, which="marks"):
    return {row.name: getattr(row, which) for row in found.rows if row.kind == "family"}


DESERVED = {
    "good": dict.fromkeys(("concordance", "confidence", "validity", "bias", "fairness"), "✓"),
    "invalid": {"validity": "✗", "fairness": "✓"},
    "severe": {"bias": "✗", "validity": "✓"},
    "unfair": {"fairness": "✗"},
    "noise": {"concordance": "✗", "helpfulness": "✗"},
}


@pytest.mark.slow
def test_card_marks_planted_families():
    right, wrong, asked = 0, 0, 0
    for seed in range(2):
        found = full_card(seed)
        for name, truth in DESERVED.items():
            for dimension, mark in truth.items():
                alone, corrected = (families(found, which)[name][dimension] for which in ("alone", "marks"))
                asked, right = asked + 1, right + (alone == mark)
                wrong += alone in "✓✗" and alone != mark
                wrong += corrected in "✓✗" and corrected != mark
    assert wrong == 0
    assert right / asked >= 0.9


@pytest.mark.slow
def test_card_does_not_pass_useless_judges():
    """A coin, a constant and a copy of an annotator who guesses, 12 studies: none is concordant or helpful."""
    claims = 0
    for seed in range(12):
        labels = assay.simulate(100, 4, annotator_noise=0.3, judges={"coin": 1.0}, scale="1-5", seed=seed)
        rows = labels.labels.select("item", "annotator", "label")
        rng = np.random.default_rng(seed)
        items = rows["item"].unique(maintain_order=True)
        guess = pl.DataFrame({"item": items, "annotator": "ann_9", "label": rng.integers(1, 6, len(items))})
        rows = pl.concat([
            rows, guess.cast(rows.schema), guess.with_columns(annotator=pl.lit("copy")).cast(rows.schema),
            guess.with_columns(annotator=pl.lit("constant"), label=pl.lit(3)).cast(rows.schema),
        ])  # fmt: skip
        found = card(Annotations.from_frame(rows, judges=["coin", "copy", "constant"], scale="1-5"), epsilon=0.1)
        for row in found.rows:
            claims += sum(row.alone[d] == "✓" for d in ("replacement", "concordance", "helpfulness"))
            assert row.repeats == ("ann_9" if row.name == "copy" else None)
    assert claims / (12 * 9) <= 0.05


@pytest.mark.slow
def test_card_explains_missing_data():
    labels = assay.simulate(60, 4, annotator_noise=0.3, judges={"m": 0.2}, scale="1-5", seed=3)
    found = card(labels)
    row = found.rows[0]
    marks = {d: row.marks[d] for d in DIMENSIONS}
    assert {d for d, mark in marks.items() if mark == "–"} == {
        "replacement", "confidence", "validity", "bias", "fairness",
    }  # fmt: skip
    printed = " ".join(found.summary().split())
    assert "Replacement: requires a margin: set expertise=... (--expertise) or epsilon=... (--epsilon)." in printed
    assert "requires several items of each object of measurement (--object)" in printed
    assert f"Bias: requires {LEAST_ANNOTATORS} annotators" in printed
    assert "Fairness: requires a column with groups of objects (--group)" in printed
    with_margin = card(labels, epsilon=0.2, group="item").rows[0]
    assert with_margin.marks["replacement"] == "✓"
    needs = "requires two groups of at least 10 objects; the largest have 1, 1"
    assert needs in card(labels, group="item").summary()
    text = assay.read(
        pl.DataFrame({"item": ["a", "b"] * 3, "annotator": list("pppqqq"), "label": ["x y", "z", "w", "u", "v", "t"]})
        .unique(["item", "annotator"], maintain_order=True), scale="text", judges=["q"],
    )  # fmt: skip
    assert set(card(text).rows[0].marks.values()) == {"–"}


def scored(rows, **columns):
    """A table from (item, annotator, label) and columns of the items, in which j, j1 and j2 are judges."""
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    items = pl.DataFrame({"item": frame["item"].unique(maintain_order=True), **columns})
    judges = [name for name in frame["annotator"].unique(maintain_order=True) if name.startswith("j")]
    about = pl.DataFrame({"annotator": judges, "family": ["of j"] * len(judges)})
    return Annotations.from_frame(frame, judges=judges, scale="1-5", items=items, annotator_table=about)


@pytest.mark.slow
@pytest.mark.parametrize("lessons", [["1", "2"] * 3, ["s1", "s2", "t1", "t2", "u1", "u2"]])
def test_card_treats_lesson_one_of_each_teacher_as_different(lessons):
    """Three annotators give teachers s, t, u 1, 3, 5 in both lessons; the judge gives 1, 3, 5, then 3, 3, 3.

    Minus the mean, 3: annotators −2, 0, 2 in both, the judge −2, 0, 2, then 0, 0, 0. Products of one teacher at
    different lessons minus those of different teachers:
    c_h = (4 + 0 + 4)/3 + 4/3 = 4; c_hm = (0 + 0 + 0 + 4 + 0 + 4)/6 + 2/3 = 2;
    c_m = 0 + 1/3. The correlation of scores is 2/√(4/3) = √3, which is unbiased, so that it may be above 1.
    """
    of = dict(zip(("s1", "s2", "t1", "t2", "u1", "u2"), (1, 1, 3, 3, 5, 5), strict=True))
    rows = [(item, who, label) for item, label in of.items() for who in ("p", "q", "r")]
    rows += [(item, "j", label if item[1] == "1" else 3) for item, label in of.items()]
    labels = scored(rows, teacher=list("ssttuu"), lesson=lessons)
    found = card(labels, object="teacher", lesson="lesson", alpha=0.3).table
    assert found.filter(dimension="validity")["judge_value"].to_list() == pytest.approx([3**0.5])


@pytest.mark.slow
def test_card_is_the_same_however_lessons_are_named():
    """examples/lessons.csv numbers the lessons of each teacher: four names for 160 lessons."""
    rows = pl.read_csv(LESSONS)
    named = rows.with_columns(lesson=pl.col("teacher") + "-" + pl.col("lesson").cast(pl.String))
    found, same = (card(assay.read(table, scale="1-4"), **BY_TEACHER, expertise="skilled") for table in (rows, named))
    assert found.table.equals(same.table)
    assert found.cells.rows() == [
        ("enc1", "✗", "✗", "–", "?", "–", "?", "?"), ("enc2", "?", "✗", "–", "?", "–", "?", "?"),
        ("gpt-a", "✓", "✓", "–", "✓", "–", "?", "✓"), ("gpt-b", "✓", "✓", "–", "✓", "–", "?", "✓"),
        ("encoder", "–", "✗", "?", "?", "–", "?", "?"), ("gpt", "–", "✓", "✓", "✓", "–", "✓", "✓"),
    ]  # fmt: skip


@pytest.mark.slow
def test_report_is_the_same_however_lessons_are_named():
    rows = pl.read_csv(LESSONS).filter(pl.col("teacher") < "t14", ~pl.col("annotator").is_in(["enc2", "gpt-b"]))
    named = rows.with_columns(lesson=pl.col("teacher") + "-" + pl.col("lesson").cast(pl.String))
    by_lesson = {"object": "teacher", "lesson": "lesson", "expertise": "skilled"}
    found, same = (assay.report(assay.read(table, scale="1-4"), **by_lesson).card for table in (rows, named))
    assert found.table.equals(same.table)


def test_card_refuses_an_item_of_several_objects():
    rows = [(item, who, 3) for item in "ab" for who in ("p", "q", "j")]
    with pytest.raises(DesignError, match="an item has several values of 'annotator': objects and lessons are columns"):
        card(scored(rows), object="annotator")


def summaries(seed, systems, articles=30, gap=1.0, guess=False):
    """Summaries of articles by the same systems, from good to bad, four annotators, and two judges drawn like them (or
    at random): both have differences in severity and the same error variance."""
    rng = np.random.default_rng(seed)
    content = 0.4 * rng.normal(size=(articles, 1)) + 0.4 * rng.normal(size=(articles, systems))
    content = content + np.linspace(gap, -gap, systems)
    names = [f"{i:02}-{s}" for i in range(articles) for s in range(systems)]
    rows = []
    for who in ("p0", "p1", "p2", "p3", "j1", "j2"):
        x = content + 0.3 * rng.normal() + 0.6 * rng.normal(size=content.shape)
        label = 1 + np.digitize(x, (-1.2, -0.4, 0.4, 1.2))
        if guess and who in ("j1", "j2"):
            label = rng.integers(1, 6, content.shape)
        rows += list(zip(names, [who] * len(names), label.ravel().tolist(), strict=True))
    return scored(rows, article=[n[:2] for n in names], system=[n[3:] for n in names])


BY_SCORES = ("confidence", "validity", "helpfulness")


@pytest.mark.parametrize("guess", [False, True])
@pytest.mark.parametrize("lesson", [None, "system"])
def test_card_has_no_score_cells_if_systems_mask_objects(guess, lesson):
    """Human labels of one article diverge: c_h is below 0, so that a clone of an annotator had ✗ and a guess ✓."""
    found = card(summaries(0, 2, guess=guess), object="article", lesson=lesson, family="family")
    assert {row.alone[d] for row in found.rows for d in BY_SCORES} == {"–"}
    assert "single labels" not in found.summary()
    assert (
        "Confidence, Validity, Helpfulness: agreement among annotators on the objects is not demonstrated at level "
        "0.05; collect labels of more objects, or of more items or lessons of each. If the items of an object are "
        "outputs of different systems, give the option object the column of systems."
    ) in found.needs()


@pytest.mark.slow
def test_card_by_system_follows_its_advice():
    labels = summaries(1, 8, articles=12)
    assert {row.marks["validity"] for row in card(labels, object="article").rows} == {"–"}
    assert {row.marks["validity"] for row in card(labels, object="system").rows} == {"✓"}
    # Two systems are too few objects, with that reason; without objects the items have an answer.
    few = summaries(0, 2)
    assert "agreement among annotators on the objects is not estimable" in card(few, object="system").summary()
    assert {row.marks["helpfulness"] for row in card(few).rows} == {"✓"}


def test_card_explains_missing_helpfulness_without_agreement():
    rng = np.random.default_rng(3)
    rows = [(f"i{i}", who, int(rng.integers(1, 6))) for i in range(40) for who in ("p", "q", "r", "j")]
    found = card(scored(rows))
    assert found.rows[0].marks["helpfulness"] == "–"
    assert (
        "Helpfulness: agreement among annotators is not demonstrated at level 0.05; collect labels of more items, each "
        "by two annotators."
    ) in found.needs()


def test_card_of_two_annotators_explains_missing_cells():
    rows = [row for row in summaries(2, 4, gap=0.0).labels.rows() if row[1] in ("p0", "p1", "j1")]
    labels = scored(rows, article=[n[:2] for n in dict.fromkeys(row[0] for row in rows)])
    found = card(labels, object="article")
    marks = found.rows[0].marks
    assert [marks[d] for d in ("concordance", "validity", "helpfulness")] == ["–", "–", "–"]
    assert found.needs()[1].startswith(
        "Concordance, Validity, Helpfulness: not estimable without one of the annotators"
    )


@pytest.mark.simulation
@pytest.mark.parametrize("gap", [1.0, 0.4])
@pytest.mark.parametrize("systems", [2, 4])
def test_card_fails_judge_drawn_like_annotators_in_at_most_one_of_twenty_studies(systems, gap):
    """40 studies of 30 articles, two such judges each: validity and helpfulness ✗, unadjusted, in at most 5%."""
    failed = dict.fromkeys(BY_SCORES, 0)
    below = 0
    for seed in range(40):
        found = card(summaries(100 + seed, systems, gap=gap), object="article")
        below += found.summary().replace("\n", " ").count("below the required share")
        for row in found.rows:
            for dimension in BY_SCORES:
                failed[dimension] += row.alone[dimension] == "✗"
    assert max(*failed.values(), below) <= 0.05 * 80


@pytest.mark.slow
def test_sentences_mention_replacement_without_validity():
    row = card(seen(1), **BY_TEACHER, epsilon=0.3, judges=["invalid1", "good1"])
    judges = {r.name: r for r in row.rows if r.kind == "judge"}
    line = next(x for x in row.sentences() if x.startswith("invalid1"))
    mentioned = "its scores of objects do not measure the same construct" in line
    marks = judges["invalid1"].marks
    assert mentioned == (marks["replacement"] == "✓" and marks["validity"] == "✗")


@pytest.mark.slow
def test_single_judge_labels_are_correlated_with_annotators_scores():
    """Confidence remains –; labels of a good judge are above the required share, noise is below."""
    for seed in range(2):
        found = full_card(seed)
        rows = found.table.filter(pl.col("measure") == TOWARD)
        assert set(rows["mark"]) == {"–"}
        by_judge = {row["judge"]: row for row in rows.iter_rows(named=True)}
        assert set(by_judge) == set(found.settings.judges or seen(seed).judges)
        assert by_judge["good1"]["p_above"] < 0.01
        assert by_judge["good1"]["judge_value"] > by_judge["good1"]["human_value"]
        assert by_judge["noise1"]["p_below"] < 0.01
        assert by_judge["invalid1"]["p_below"] < 0.01
        lines = {line.split(":")[0]: line for line in found.sentences()}
        assert "its single labels correlate 0." in lines["good1"]
        assert "above the required share" in lines["good1"]
        assert "below the required share" in lines["noise1"]


@pytest.mark.slow
def test_squared_correlation_of_one_label_is_dependability():
    """The squared correlation of one label with universe scores is Φ of one rater."""
    human = {row["measure"]: row["human_value"] for row in small_card().table.iter_rows(named=True)}
    assert human[TOWARD] ** 2 == pytest.approx(human["Φ"], abs=0.01)


@pytest.mark.slow
def test_marks_are_corrected_for_judges_and_criteria_within_a_dimension():
    found = small_card()
    loose = card(observed(1, teachers=30), **BY_TEACHER, adjust=False)
    assert [r.alone for r in found.rows] == [r.marks for r in loose.rows] == [r.alone for r in loose.rows]
    fewer = sum(mark in "✓✗" for r in found.rows for mark in r.marks.values())
    more = sum(mark in "✓✗" for r in loose.rows for mark in r.marks.values())
    assert fewer < more
    p = np.array([max(one.above for one in r.parts["concordance"]) for r in found.rows if r.kind == "family"])
    order = np.argsort(p)
    holm = np.maximum.accumulate(np.minimum(1, p[order] * (len(p) - np.arange(len(p)))))
    marks = [r.marks["concordance"] == "✓" for r in found.rows if r.kind == "family"]
    assert [marks[i] for i in order] == (holm <= 0.05).tolist()


@pytest.mark.slow
def test_next_steps_follow_replacement():
    labels = assay.simulate(90, 4, annotator_noise=0.3, judges={"good": 0.2, "poor": 0.95}, scale="1-5", seed=2)
    found = card(labels, expertise="skilled")
    marks = {row.name: row.marks["replacement"] for row in found.rows}
    assert marks == {"good": "✓", "poor": "✗"}
    assert found.next_steps()[0].startswith("Next: let good label further items")
    assert found.next_steps()[1].startswith("Next: review the largest disagreements of poor")
    assert card(labels).next_steps() == []


@pytest.mark.slow
def test_human_baseline_compares_each_annotator_with_others():
    labels = assay.simulate(80, 4, annotator_noise=0.25, judges={"m": 0.2}, scale="1-5", seed=4)
    found = card(labels, epsilon=0.2, human_baseline=True)
    kinds = [("m", "judge"), *((f"ann_{k}", "annotator") for k in range(1, 5))]
    assert [(r.name, r.kind) for r in found.rows] == kinds
    person = next(r for r in found.rows if r.name == "ann_2")
    alone = card(
        Annotations.from_frame(
            labels.labels.filter(pl.col("annotator") != "m"), judges=["ann_2"], scale="1-5"
        ), epsilon=0.2,
    ).rows[0]  # fmt: skip
    assert [p.found.estimate for d in DIMENSIONS for p in person.parts[d]] == pytest.approx(
        [p.found.estimate for d in DIMENSIONS for p in alone.parts[d]], nan_ok=True
    )


def test_categories_have_no_severity_and_their_agreement_is_by_equal_labels():
    rng = np.random.default_rng(5)
    truth = rng.choice(list("abc"), 120)
    said = {w: np.where(rng.random(120) < 0.75, truth, rng.choice(list("abc"), 120)) for w in ("p", "q", "r", "m")}
    frame = pl.concat(
        [pl.DataFrame({"item": [f"i{i}" for i in range(120)], "annotator": w, "label": x}) for w, x in said.items()]
    )
    found = card(Annotations.from_frame(frame, judges=["m"], scale="nominal:a,b,c"))
    assert (found.rows[0].marks["bias"], found.rows[0].marks["concordance"]) == ("–", "✓")
    agreement = found.rows[0].parts["concordance"][1]
    pairs = [np.mean(said["m"] == said[w]) for w in "pqr"]
    pooled = np.concatenate([said[w] for w in "pqr"])
    chance = sum(np.mean(said["m"] == c) * np.mean(pooled == c) for c in "abc")
    assert agreement.judge == pytest.approx((np.mean(pairs) - chance) / (1 - chance), abs=1e-9)


def test_ordered_words_and_votes_are_numbered_in_the_order_of_their_scale():
    rng = np.random.default_rng(2)
    quality = rng.normal(size=80)
    answers = {who: np.clip(np.rint(quality + 0.5 * rng.normal(size=80)), -1, 1).astype(int) for who in "abcm"}

    def rows_of(label, scale):
        rows = [(f"k{k:02}", who, label(int(v))) for who, each in answers.items() for k, v in enumerate(each)]
        frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
        found = card(Annotations.from_frame(frame, judges=["m"], scale=scale), epsilon=0.15)
        return {row["dimension"]: row["estimate"] for row in found.table.iter_rows(named=True)}

    numbers = rows_of(lambda v: v + 2, assay.Ordinal(1, 3))
    # "high" is the first and "low" the second word of the alphabet.
    ordered = rows_of(lambda v: ["low", "mid", "high"][v + 1], assay.Ordinal(["low", "mid", "high"]))
    assert ordered["concordance"] == pytest.approx(numbers["concordance"])
    assert rows_of(lambda v: v, assay.Preference())["concordance"] == pytest.approx(numbers["concordance"])


def test_bias_is_compared_with_spread_of_annotators():
    d = np.array([0.1, -0.2, 0.3, 0.0, -0.1, 0.2])
    near, far = (SpreadContrast(phi, d, 0.001, 1.5, 0.05) for phi in (0.05, 2.0))
    assert near.value > 0 > far.value
    assert near.spread == pytest.approx(np.sqrt(d.var(ddof=1) - 0.001))
    for one in (near, far):
        low, high = one.ends(0.9)
        assert low < one.value < high
        side, p = (0, one.one_sided(0)) if one.value > 0 else (1, one.one_sided(1))
        assert one.ends(1 - 2 * p)[side] == pytest.approx(0, abs=1e-6)
    assert far.one_sided(1) < 0.01
    assert near.one_sided(1) == pytest.approx(0.5)


@pytest.mark.slow
def test_card_table_plot_and_errors():
    found = card(observed(0, teachers=20), **BY_TEACHER, judges=["good1", "good2", "noise1"])
    assert found.cells.columns[:2] == ["judge", "replacement"]
    assert json.loads(json.dumps(found.to_dict()))["table"][0]["dimension"] == "replacement"
    marks = [t.get_text() for t in found.plot().texts]
    assert marks == [row.marks[d] for row in found.rows for d in DIMENSIONS]
    small = observed(0, teachers=10)
    for bad, message in (
        ({"judges": ["unknown"]}, "unknown"), ({"lesson": "lesson"}, "set object=..."),
        ({"object": "school"}, "school"), ({"group": "colour"}, "colour"), ({"family": "maker"}, "maker"),
    ):  # fmt: skip
        with pytest.raises((DataError, DesignError), match=message):
            card(small, **bad)
    with pytest.raises(DesignError, match="name the judges"):
        card(assay.simulate(20, 3, seed=1).where(kind="human"))


@pytest.mark.slow
@pytest.mark.usefixtures("few_truths")
def test_card_gives_verdicts_of_report():
    labels = assay.read(Path(__file__).parents[2] / "examples/labels.csv", judges=["gpt-4o", "llama"])
    found, reported = assay.card(labels, expertise="crowd"), assay.report(labels, expertise="crowd").card
    assert [row.marks["replacement"] for row in found.rows] == [row.marks["replacement"] for row in reported.rows]
    assert [(row.name, row.marks["replacement"], row.alone["replacement"]) for row in found.rows[:2]] == [
        ("gpt-4o", "?", "✓"),
        ("llama", "?", "?"),
    ]


def test_cell_p_values_are_largest_above_and_smallest_below():
    value = Estimate(0.1, 0.0, 0.2, 0.05)
    parts = (CellMeasure("a", value, 0.01, 0.9), CellMeasure("b", value, 0.04, 0.02, needs=(0.06, 0.03)))
    assert cell_p_values(parts) == (0.06, 0.04)
    assert cell_p_values((parts[0], CellMeasure("c", value, 0.1, 0.7))) == (0.1, 1.0)
    assert np.isnan(cell_p_values((*parts, CellMeasure.absent("why")))).all()
    assert np.isnan(cell_p_values(())).all()


def test_spread_contrast_ends_by_hand():
    """Six annotators with variance .035, error variance of means .005, boundary √(2.25 v + .01); the judge .3 away."""
    d = np.array([0.1, -0.2, 0.3, 0.0, -0.1, 0.2])
    one = SpreadContrast(-0.3, d, 0.005, 1.5, 0.1)
    assert (one.spread, one.value) == pytest.approx((np.sqrt(0.03), np.sqrt(2.25 * 0.03 + 0.01) - 0.3))
    reach = stats.t.ppf(0.95, 5) * np.sqrt(0.035 / 6)
    low, high = (np.sqrt(2.25 * (5 * 0.035 / stats.chi2.ppf(q, 5) - 0.005) + 0.01) for q in (0.95, 0.05))
    here = np.sqrt(2.25 * 0.03 + 0.01)
    assert one.ends(0.9) == pytest.approx(
        (one.value - np.hypot(reach, here - low), one.value + np.hypot(reach, high - here))
    )
    near = SpreadContrast(0.05, d, 0.005, 1.5, 0.1)  # the smallest distance is that at the annotators' mean
    assert near.ends(0.9)[1] == pytest.approx(here - 0.05 + np.hypot(0.05, high - here))
    assert SpreadContrast(0.0, d * 0, 0.005, 1.5, 0.1).value == pytest.approx(0.1)  # no spread: the floor


def test_spread_contrast_p_values_match_ends():
    one = SpreadContrast(-0.3, np.array([0.1, -0.2, 0.3, 0.0, -0.1, 0.2]), 0.005, 1.5, 0.1)
    for side in (0, 1):
        for null in (one.value - 0.03, one.value - 0.01, one.value + 0.01, one.value + 0.03):
            p = one.one_sided(side, null)
            if p < 0.5:
                assert one.ends(1 - 2 * p)[side] == pytest.approx(null, abs=1e-6)
    below, above = one.one_sided(0, one.value - 0.02), one.one_sided(1, one.value - 0.02)
    assert (below < 0.5, above) == (True, 0.5)
    part = one.part("bias", 0.9)
    assert (part.found.low, part.found.high) == pytest.approx(one.ends(0.9))
    assert (part.above, part.below) == (one.one_sided(0), one.one_sided(1))
    assert part.found.p(one.value - 0.02) == pytest.approx(2 * below)
    assert part.found.p(one.value) == 1.0


def test_an_item_has_one_group():
    rows = [("a", "x", 1, "g1"), ("a", "m", 2, "g2"), ("b", "x", 1, "g1"), ("b", "m", 1, "g1")]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "group"], orient="row")
    with pytest.raises(DesignError, match="an item has several values of 'group'"):
        card(Annotations.from_frame(frame, judges=["m"], scale="1-2"), group="group")


@pytest.mark.slow
def test_bias_and_fairness_match_slow_reference():
    """Differences judge minus annotator: means by annotator; a regression on the group with annotator means."""
    labels = observed(3, teachers=24)
    parts = {row.name: row.parts for row in card(labels, **BY_TEACHER, judges=["unfair1"]).rows}["unfair1"]
    both = labels.where(annotator="unfair1").labels.select("item", judge="label")
    rows = labels.where(kind="human").labels.join(both, on="item").join(labels.items, on="item")
    rows = rows.with_columns(y=pl.col("judge") - pl.col("label")).sort("annotator", "item")
    people = rows["annotator"].unique(maintain_order=True).to_list()
    d, squares = [], []
    for who in people:
        mine = rows.filter(annotator=who)
        d.append(mine["y"].mean())
        sums = mine.with_columns(pl.col("y") - d[-1]).group_by("teacher").agg(pl.col("y").sum())["y"].to_numpy()
        squares.append((sums**2).sum() * len(sums) / (len(sums) - 1) / mine.height**2)
    severity = parts["bias"][0]
    assert severity.judge == pytest.approx(np.mean(d))
    assert severity.human == pytest.approx(np.sqrt(np.var(d, ddof=1) - np.mean(squares)))
    x = np.column_stack([rows["race"] == "b", *(rows["annotator"] == who for who in people)]).astype(float)
    y = rows["y"].to_numpy().astype(float)
    slope = np.linalg.lstsq(x, y, rcond=None)[0]
    fair = parts["fairness"][0]
    assert fair.measure == "b minus a"
    assert fair.judge == pytest.approx(slope[0])
    spread = labels.where(kind="human").labels["label"].cast(pl.Float64).std(ddof=0)
    assert fair.found.estimate == pytest.approx(0.25 * spread - abs(slope[0]))
    of = [(rows["teacher"] == teacher).to_numpy() for teacher in rows["teacher"].unique().to_list()]
    scores = [x[at].T @ (y - x @ slope)[at] for at in of]
    meat = sum(np.outer(one, one) for one in scores)
    bread = np.linalg.inv(x.T @ x)
    assert fair.found.standard_error == pytest.approx(np.sqrt((bread @ meat @ bread)[0, 0] * 24 / 23))
    error = fair.found.standard_error
    assert fair.below == pytest.approx(stats.t.cdf(fair.found.estimate / error, 11))  # the smaller group minus 1


def test_replacement_cell_is_the_verdict():
    labels = assay.simulate(90, 4, annotator_noise=0.3, judges={"good": 0.2, "poor": 0.95}, scale="1-5", seed=2)
    good, poor = (row.parts["replacement"][0] for row in card(labels, expertise="skilled").rows)
    assert (good.above, good.below, poor.above, poor.below) == (0.0, 1.0, 1.0, 0.0)
    rho = assay.alt_test(labels, "good", expertise="skilled").advantage_probability
    assert (good.judge, good.found.estimate) == (rho.estimate, rho.estimate)
    assert (good.found.low, good.found.high) == pytest.approx(rho.interval(0.9))


# -- words and settings --------------------------------------------------------------------------------


def a_row(name="m", kind="judge", criterion=None, test=None, parts=None, **marks):
    every = dict.fromkeys(DIMENSIONS, "?") | marks
    none = {d: (CellMeasure.absent(""),) for d in DIMENSIONS}
    return CardRow(name, kind, criterion, none | (parts or {}), test, every)


def test_card_sentence_lists_passes_and_failures():
    rows = (
        a_row(replacement="✓", bias="✓", fairness="✗"), a_row("k", criterion="tone", validity="✗", helpfulness="–"),
        a_row("new"), a_row("part", bias="–"), a_row("none", **dict.fromkeys(DIMENSIONS, "–")),
    )  # fmt: skip
    assert [words.card_sentence(row, 0.05) for row in rows] == [
        "m: passes Replacement, Bias; fails Fairness.",
        "k, tone: fails Validity.",
        "new: all criteria undecided.",
        "part: all criteria with sufficient data undecided.",
        "none: insufficient data for all criteria.",
    ]
    test = assay.alt_test(panel(), "m3", epsilon=0.1)
    assert words.card_sentence(a_row(test=test), 0.05) == (
        "m: all criteria undecided; h2 excluded from its comparison (labels match unusually often)."
    )
    contrary = "; its labels agree with single annotators, but its scores of objects do not measure the same construct."
    both, one, other = {"replacement": "✓", "validity": "✗"}, {"validity": "✗"}, {"replacement": "✓"}
    ends = [words.card_sentence(a_row(**marks), 0.05).endswith(contrary) for marks in (both, one, other)]
    assert ends == [True, False, False]


@pytest.mark.parametrize(
    ("above", "below", "human", "side"),
    [(0.05, 0.95, 0.7, "above"), (0.95, 0.05, 0.7, "below"), (0.06, 0.06, 0.7, ""), (0.01, 0.99, np.nan, "")],
)
def test_card_sentence_reports_significant_correlation_of_single_labels(above, below, human, side):
    value = Estimate(0.1, 0.0, 0.2, 0.05)
    one = CellMeasure(TOWARD, value, above, below, 0.61, human)
    sentence = words.card_sentence(a_row(parts={"confidence": (CellMeasure.absent("a single judge"), one)}), 0.05)
    more = (
        "; its single labels correlate 0.61 with the annotators' scores (one annotator's: 0.70), "
        f"{side} the required share (not adjusted)"
    )
    assert sentence == f"m: all criteria undecided{more if side else ''}."


def test_card_needs_lists_each_requirement_once():
    value, reasoned = Estimate(0.1, 0.0, 0.2, 0.05), Estimate(0.1, np.nan, np.nan, np.nan, "labels do not vary")
    known = (CellMeasure("ρ", value, 0.1, 0.9),)
    parts = {
        "replacement": known,
        "concordance": (CellMeasure("correlation", value, 0.1, 0.9), CellMeasure("", value, 0.1, 0.9)),
        # The correlation of single labels does not decide the cell, which has a reason.
        "confidence": (CellMeasure.absent("requires an object"), CellMeasure(TOWARD, reasoned, np.nan, np.nan)),
        "validity": (CellMeasure.absent("requires an object"),),
        "bias": (CellMeasure("severity", reasoned, np.nan, np.nan),),
        "fairness": (CellMeasure.absent("requires a group"),),
        "helpfulness": known,
    }
    again = dict.fromkeys(DIMENSIONS, known) | {"confidence": (CellMeasure.absent("requires an object"),)}
    assert words.card_needs([a_row(parts=parts), a_row("k", parts=again)]) == [
        "Confidence, Validity: requires an object.", "Bias: labels do not vary.", "Fairness: requires a group.",
    ]  # fmt: skip


def test_card_steps_for_passing_and_failing_judges():
    rows = (
        a_row("a", criterion="x", replacement="✓"), a_row("a", criterion="y", replacement="✓"),
        a_row("b", replacement="✗"), a_row("c"), a_row("fam", kind="family", replacement="✓"),
        a_row("ann", kind="annotator", replacement="✗"),
    )  # fmt: skip
    passing, failing = words.card_steps(rows)
    assert passing.startswith("Next: let a label further items, and report corrected estimates")
    assert failing.startswith("Next: review the largest disagreements of b with ")
    assert words.card_steps(rows[3:]) == []


@pytest.mark.slow
def test_scores_require_several_items_and_two_annotators():
    rows = [(f"i{k:02}", who, 1 + (k + len(who)) % 5) for k in range(12) for who in ("p", "qq", "j")]
    several = [f"o{k % 4}" for k in range(12)]
    why = {}
    for people, objects in ((2, None), (1, several), (2, several)):
        some = [row for row in rows if row[1] != "qq" or people == 2]
        found = card(scored(some, object=several), object=None if objects is None else "object").rows[0].parts
        why[people, objects is not None] = [found[d][0].found.reason for d in BY_SCORES]
    assert why[2, False][:2] == ["requires several items of each object of measurement (--object)"] * 2
    assert why[1, True] == ["requires two or more annotators"] * 3
    assert not any("two or more annotators" in reason for reason in why[2, True] if reason)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((10, 12, 9), ["a minus b"]),  # the second is the largest; 9 objects are too few
        ((10, 12, 11), ["a minus b", "c minus b"]),
        ((10, 10), ["b minus a"]),
        ((9, 30), "requires two groups of at least 10 objects; the largest have 30, 9"),
    ],
)
def test_fairness_compares_groups_of_ten_with_largest(sizes, expected):
    """A last object is in no group."""
    groups = [*np.repeat(list("abc"[: len(sizes)]), sizes).tolist(), None]
    rows = [(f"i{k:02}", who, 1 + (k * (2 + len(who))) % 5) for k in range(len(groups)) for who in ("p", "qq", "j")]
    found = card(scored(rows, group=groups), group="group").rows[0].parts["fairness"]
    assert (found[0].found.reason if isinstance(expected, str) else [one.measure for one in found]) == expected


def test_fairness_skips_groups_without_common_annotator():
    rows = [(f"i{k:02}", who, 1 + (k * len(who)) % 5) for k in range(20) for who in ("p" if k < 10 else "qq", "j")]
    (found,) = card(scored(rows, group=["a"] * 10 + ["b"] * 10), group="group").rows[0].parts["fairness"]
    assert found.found.reason == "b minus a: no annotator labelled both groups"


def test_fairness_and_bias_require_an_order():
    rows = [(f"i{k}", who, "xy"[(k * len(who)) % 2]) for k in range(8) for who in ("p", "qq", "j")]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    found = card(Annotations.from_frame(frame, judges=["j"], scale="nominal:x,y"), group="item").rows[0].parts
    for dimension in ("bias", "fairness"):
        assert found[dimension][0].found.reason == "severity is not defined for unordered categories"


@pytest.mark.parametrize(("shared", "people", "enough"), [(5, 6, True), (4, 6, False), (5, 5, False)])
def test_bias_requires_six_annotators_with_five_shared_items(shared, people, enough):
    rows = [(f"i{k}", "j", 3) for k in range(8)]
    rows += [(f"i{k}", f"p{r}", 1 + (r + k) % 5) for r in range(people) for k in range(shared)]
    rows += [(f"i{k}", "few", 5) for k in range(4)]  # counts nowhere
    (one,) = card(scored(rows)).rows[0].parts["bias"]
    if enough:
        assert one.judge == pytest.approx(3 - np.mean([v for _, who, v in rows if who[0] == "p"]))
    else:
        assert one.found.reason == "requires 6 annotators with 5 items that the judge also labelled"


def test_cells_are_absent_without_human_labels():
    """Of the second criterion the judge alone has labels."""
    rows = [(f"i{k}", who, c, 1 + k % 3) for k in range(6) for who in ("p", "q", "m") for c in "xy"]
    frame = pl.DataFrame(
        [row for row in rows if row[1:3] != ("p", "y") and row[1:3] != ("q", "y")],
        schema=["item", "annotator", "criterion", "label"], orient="row",
    )  # fmt: skip
    found = {row.criterion: row.parts for row in card(Annotations.from_frame(frame, judges=["m"], scale="1-3")).rows}
    assert {one.found.reason for d, parts in found["y"].items() for one in parts if d != "replacement"} == {
        "no human labels, or no labels of the judge"
    }
    assert found["x"]["concordance"][0].judge == 1


@pytest.mark.slow
def test_replacement_cell_is_absent_without_test_or_margin():
    def reasons(labels, **options):
        return {row.name: row.parts["replacement"][0].found.reason for row in card(labels, **options).rows}

    found = reasons(panel(), epsilon=0.1, family="maker")
    assert found["m1"] is None
    assert found["a"] == "a family is not an annotator; see its judges"
    assert set(reasons(panel()).values()) == {NO_MARGIN.removeprefix("replacement ")}
    assert reasons(panel(1), epsilon=0.1)["m1"].startswith("no test: ")
    guesses = assay.simulate(40, 3, annotator_noise=1.0, judges={"j": 1.0}, scale="1-5", seed=1)
    assert reasons(guesses, epsilon=0.1) == {"j": "agreement among annotators is too low to test a judge"}


def test_card_fits_a_terminal():
    """Seven whole words do not fit next to a name: the criteria are rows, the judges are columns."""
    name = "a-judge-of-26-letters-long"
    found = card(
        assay.simulate(30, 4, scale="1-5", judges={name: 0.2}, documents=10), object="document", expertise="crowd"
    )
    head, *rows = found.summary().splitlines()[2:10]
    assert head.split() == [name]
    assert [row.split() for row in rows] == [[d.capitalize(), found.rows[0].marks[d]] for d in DIMENSIONS]
    assert max(map(len, (head, *rows))) <= 80


def test_card_settings():
    assert CardSettings().signed() == CardSettings(judges=("gpt",)).signed() == {}
    plain, given = CardSettings(), CardSettings(epsilon=0.0)
    assert (plain.has_margin, given.has_margin, CardSettings(expertise="crowd").has_margin) == (False, True, True)
    assert plain.confidence == 0.9  # 5% at each end
    assert plain.interval == (
        "90% intervals, objects and annotators as samples; pass and fail are each demonstrated at the one-sided 5% "
        "level, Holm-adjusted over judges and criteria"
    )
    bare = CardSettings(alpha=0.1, adjust=False).interval
    assert bare == (
        "80% intervals, objects and annotators as samples; pass and fail are each demonstrated at the one-sided 10% "
        "level, not adjusted"
    )
    bounds = CardSettings(concordance=0.1, confidence_share=0.2, validity=0.3, bias=0.4, fairness=0.5).boundaries
    assert bounds == Boundaries(0.1, 0.2, 0.3, 0.4, 0.5)
    assert CardSettings(object="o", lesson="l").lesson == "l"
    assert words.definitions(Boundaries())["concordance"].endswith("at least ¾ of human–human agreement")
    given = words.definitions(bounds)
    assert [given[d] for d in ("concordance", "bias", "fairness")] == [
        "human–judge agreement at least 0.1 of human–human agreement",
        "severity within 0.4 SDs of the annotators' severities",
        "group differences within ½ SD of labels from the annotators'",
    ]
    with pytest.raises(DesignError, match=r"set object=\.\.\."):
        CardSettings(lesson="l")
    with pytest.raises(DesignError, match="both set the margin"):
        CardSettings(epsilon=0.0, expertise="crowd")


@pytest.mark.parametrize(
    ("repeated", "options", "notes"),
    [
        (False, {"epsilon": 0.1}, ()),
        (True, {"epsilon": 0.1, "repeats": "first"}, ("repeated labels: first",)),
        (False, {}, (NO_MARGIN,)),
        (True, {"repeats": "first"}, ("repeated labels: first", NO_MARGIN)),
    ],
)  # fmt: skip
def test_card_notes(repeated, options, notes):
    rows = panel().labels.select("item", "annotator", "label")
    if repeated:
        rows = pl.concat([rows.with_columns(run=pl.lit(1)), rows[:1].with_columns(run=pl.lit(2))])
    labels = Annotations.from_frame(rows, judges=["m1", "m2", "m3", "m4"], scale="1-5",
                                    repeat="run" if repeated else None)  # fmt: skip
    assert card(labels, **options).notes == (PROVENANCE["file"], *notes)


def test_card_notes_have_the_provenance_of_each_judge():
    labels = panel()
    labels = dataclasses.replace(labels, reading=dataclasses.replace(labels.reading, asked=("m1",)))
    assert card(labels, epsilon=0.1, judges=["m1"]).notes == (PROVENANCE["asked"],)
    assert card(labels, epsilon=0.1, judges=["m1", "m2"]).notes == (
        f"{PROVENANCE['asked']} (m1)", f"{PROVENANCE['file']} (m2)"
    )  # fmt: skip


MAKERS = {"m1": "a", "m2": "b", "m3": "a", "m4": None}


@cache
def panel(people=3):
    """Judges with their makers and annotators h1, h2, h3; m3 copies h2."""
    labels = assay.simulate(40, 3, annotator_noise=0.4, judges={"m1": 0.2, "m2": 0.5, "m4": 0.3}, scale="1-5", seed=5)
    names = {f"ann_{k}": f"h{k}" for k in range(1, 4)}
    rows = labels.labels.select("item", pl.col("annotator").cast(pl.String).replace(names), "label")
    rows = pl.concat([rows, rows.filter(annotator="h2").with_columns(annotator=pl.lit("m3"))])
    rows = rows.filter(~pl.col("annotator").is_in([f"h{k}" for k in range(people + 1, 4)]))
    about = pl.DataFrame({"annotator": list(MAKERS), "maker": list(MAKERS.values())})
    return Annotations.from_frame(rows, judges=list(MAKERS), scale="1-5", annotator_table=about)


@pytest.mark.slow
def test_families_have_at_least_two_judges():
    assert families(card(panel())) == {}
    assert list(families(card(panel(), family="maker"))) == ["a"]
    with pytest.raises(DataError, match="'makers' is not in the table of annotators; did you mean 'maker'"):
        card(panel(), family="makers")


@pytest.mark.slow
@pytest.mark.parametrize(("baseline", "people", "tested"), [(True, 3, True), (True, 2, False), (False, 3, False)])
def test_rows_are_judges_families_and_annotators(baseline, people, tested):
    """m3 copies h2, who is excluded from families."""
    found = card(panel(people), epsilon=0.1, family="maker", human_baseline=baseline)
    rows = [(row.name, row.kind) for row in found.rows]
    assert rows[:5] == [*((name, "judge") for name in MAKERS), ("a", "family")]
    assert rows[5:] == ([(name, "annotator") for name in ("h1", "h2", "h3")] if tested else [])
    if people == 2:  # one annotator is too few to test a judge
        return
    assert [row.repeats for row in found.rows[:4]] == [None, None, "h2", None]
    rest = panel(people).where(annotator=[name for name in panel(people).annotators["annotator"] if name != "h2"])
    without = card(rest, family="maker").rows[4]
    for one, other in zip(found.rows[4].parts["concordance"], without.parts["concordance"], strict=True):
        np.testing.assert_equal((one.judge, one.found.estimate), (other.judge, other.found.estimate))


@pytest.mark.slow
def test_annotator_is_tested_as_judge_against_others():
    labels = panel()
    for options in ({"epsilon": 0.3, "alpha": 0.1}, {"expertise": "crowd"}):
        rows = {row.name: row for row in card(labels, **options, human_baseline=True, adjust=False).rows}
        frame = labels.where(kind="human").labels.select("item", "annotator", "label")
        alone = Annotations.from_frame(frame, judges=["h1"], scale="1-5")
        for name, table in (("h1", alone), ("m1", labels)):
            one = assay.alt_test(table, name, **options)
            assert rows[name].test.verdict == one.verdict
            assert rows[name].test.advantage_probability.estimate == one.advantage_probability.estimate


@pytest.mark.slow
@pytest.mark.parametrize("adjust", [True, False])
def test_marks_are_adjusted_over_judges_and_over_families(adjust):
    """Holm's p by hand: the k-th smallest times how many are left, never below one before."""
    found = card(panel(), epsilon=0.1, family="maker", human_baseline=True, adjust=adjust)
    seen = set()
    for dimension in DIMENSIONS[1:]:  # verdicts are adjusted before
        for kind in ("judge", "family", "annotator"):
            rows = [row for row in found.rows if row.kind == kind]
            p = np.array([cell_p_values(row.parts[dimension]) for row in rows])
            holm = p.copy()
            for side in range(2):
                known = np.flatnonzero(~np.isnan(p[:, side]))
                order = known[np.argsort(p[known, side])]
                left = np.arange(len(order), 0, -1)
                holm[order, side] = np.minimum(np.maximum.accumulate(p[order, side] * left), 1)
            for row, alone, both in zip(rows, p, holm if adjust else p, strict=True):
                for given, mark in ((alone, row.alone[dimension]), (both, row.marks[dimension])):
                    above, below = given <= 0.05
                    assert mark == ("–" if np.isnan(given[0]) else "✓" if above else "✗" if below else "?")
                    seen.add(mark)
    assert seen >= {"✓", "?", "–"}


def test_fairness_by_two_columns_is_that_by_their_combinations():
    """A judge that is too high in one of four combinations of place and sex."""
    rng = np.random.default_rng(1)
    n = 200
    place, sex = np.arange(n) % 2, np.arange(n) // 2 % 2
    truth = rng.normal(3, 1, n)
    shift = 1.5 * ((place == 1) & (sex == 1))
    rows = [
        {"item": f"i{i:03}", "annotator": who,
         "label": int(np.clip(np.round(truth[i] + 0.3 * rng.normal() + (shift[i] if who == "m" else 0)), 1, 6))}
        for i in range(n) for who in ("a", "b", "c", "m")
    ]  # fmt: skip
    items = pl.DataFrame({"item": [f"i{i:03}" for i in range(n)], "place": place, "sex": sex})
    items = items.with_columns(both=pl.concat_str("place", "sex", separator=" × "))
    labels = assay.read(pl.DataFrame(rows), judges=["m"], scale="1-6", items=items)
    crossed, joined = (
        assay.card(labels, group=group).table.filter(dimension="fairness") for group in ("place, sex", "both")
    )
    assert crossed.drop("reason").rows() == joined.drop("reason").rows()
    assert crossed["mark"].to_list().count("✗") > 0
    assert any("1 × 1" in one for one in crossed["measure"])
    raters = [assay.rater_model(labels, group, quick=True, starts=1).fairness.rows for group in ("place,sex", "both")]
    assert raters[0].equals(raters[1])
    with pytest.raises(DataError, match="column 'age' is not in"):
        assay.card(labels, group="place,age")
