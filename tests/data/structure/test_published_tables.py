"""Tables of the shapes that repositories publish: computed columns, nested criteria, aliases, lists, forms, groups."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import assay
from assay.errors import DataError

CRITERIA = ("tone", "depth", "style")


def graded(people: tuple[str, ...] = ("a", "b"), n: int = 60) -> pl.DataFrame:
    """A sheet of criteria for each annotator, each followed by the annotator's total."""
    rng, rows = random.Random(5), []
    for i in range(n):
        row: dict[str, Any] = {"item_id": f"q{i}", "topic": rng.choice(["food", "travel"])}
        true = [rng.randint(0, 2) for _ in CRITERIA]
        for who in people:
            own = [one if rng.random() < 0.8 else rng.randint(0, 2) for one in true]
            row |= {f"{who}_{name}": one for name, one in zip(CRITERIA, own, strict=True)} | {f"{who}_total": sum(own)}
        rows.append(row)
    return pl.DataFrame(rows)


def roles(source: Any, **options: Any) -> dict[str, str]:
    return {one.name: one.kind for one in assay.look(source, **options).columns}


def test_read_ignores_totals_of_each_annotator():
    # The judge has no total. So it is not a criterion: it would say which labels the annotators gave.
    frame = graded(("a", "b", "gpt")).drop("gpt_total").rename({"b_total": "b_points"})
    frame = frame.with_columns(pl.col("a_total", "b_points") * 10, consensus_total=10 * pl.col("a_total"))
    found = roles(frame, judges=["gpt"])
    assert (found["a_total"], found["b_points"], found["consensus_total"]) == ("computed", "computed", "computed")
    assert found["topic"] == "item column"
    assert len(assay.read(frame, judges=["gpt"])) == 540


@pytest.mark.parametrize("weights", [(10, 5, 5), (20, -3, 8)])
def test_read_ignores_sums_of_labels_under_any_name(weights):
    one = graded(("a",)).drop("a_total").rename({f"a_{name}": name for name in CRITERIA})
    sums = sum(weight * one[name] for name, weight in zip(CRITERIA, weights, strict=True))
    how = {"humans": ["ann"], "columns": [*CRITERIA], "split_columns": "criterion", "item": "item_id", "layout": "wide"}
    assert roles(one.with_columns(result=sums), **how)["result"] == "computed"
    assert roles(one.with_columns(result=sums), exclude=[], **how)["result"] == "item column"
    off = sums + pl.Series([int(i == 7) for i in range(60)])
    assert roles(one.with_columns(result=off), **how)["result"] == "item column"


def test_look_describes_a_sheet_in_which_no_row_is_whole():
    """The last row could be a total; no row above it has both labels."""
    first, second = [3, None] * 4, [None, 2] * 4
    frame = pl.DataFrame({"doc": [f"d{n}" for n in range(9)], "ann": [*first, 4], "ben": [*second, 5]})
    assert roles(frame) == {"doc": "item", "ann": "person", "ben": "person"}
    assert roles(pl.DataFrame({"criterion": ["good", "bad", "ok"] * 20})) == {"criterion": "person"}


def between(rng: random.Random) -> pl.DataFrame:
    """Each participant rates all sentences by one criterion."""
    rows = []
    for p in range(12):
        for i in range(10):
            label = min(6, max(1, i // 2 + 1 + rng.randint(-1, 1)))
            rows.append((f"p{p:02}", ("original", "apt")[p % 2], ("young", "old")[p % 3 == 0], f"s{i}", label))
    rng.shuffle(rows)
    return pl.DataFrame(rows, ["participant_id", "rating_criterion", "age", "sentence_id", "rating"], orient="row")


def test_read_separates_criteria_of_different_annotators():
    labels = assay.read(between(random.Random(1)))
    assert (labels.criteria, labels.n_items, len(labels.humans)) == (("apt", "original"), 10, 12)
    pooled = assay.read(between(random.Random(1)).drop("rating_criterion"))
    assert pooled.criteria != labels.criteria


def aliases(rng: random.Random) -> pl.DataFrame:
    """Traces judged by models, which an id, a name and a family name; each task has several traces."""
    models = {"qwen2.5-7b": "qwen", "qwen2.5-14b": "qwen", "llama3.1-8b": "llama"}
    rows = [
        (f"t{k}-{fault}", f"k{k}", model, model.replace("-", ":", 1), family, rng.choice(["yes", "no"]))
        for k in range(20) for fault in ("f1", "f2", "clean") for model, family in models.items()
    ]  # fmt: skip
    return pl.DataFrame(rows, ["trace", "task_id", "judge_id", "judge_model", "judge_family", "verdict"], orient="row")


def test_read_takes_no_name_of_a_judge_for_the_item():
    frame = aliases(random.Random(2))
    judges = ["llama3.1-8b", "qwen2.5-14b", "qwen2.5-7b"]
    with pytest.raises(DataError, match="could be judges") as error:
        assay.read(frame)
    assert error.value.advised is not None
    assert (error.value.advised["item"], error.value.advised["annotator"]) == ("trace", "judge_id")
    labels = assay.read(frame, judges=judges)
    assert (labels.n_items, sorted(labels.judges)) == (60, judges)


@pytest.mark.parametrize("form", ["['joy', 'fear']", '["joy", "fear"]', "['joy' 'fear']", "[joy, fear]"])
def test_read_lists_in_brackets_have_the_labels_without_marks(form):
    rng, rows = random.Random(3), []
    for i in range(30):
        for who in ("ann", "bob", "cho"):
            own = rng.sample(["joy", "fear", "anger"], rng.randint(0, 2))
            quote = next((q for q in "'\"" if q in form), "")
            between_ = ", " if "," in form else " "
            rows.append((f"q{i}", who, f"[{between_.join(f'{quote}{one}{quote}' for one in own)}]"))
    frame = pl.DataFrame(rows, ["item", "annotator", "label"], orient="row")
    with pytest.raises(DataError, match="list several of anger, fear, joy: set scale='several'"):
        assay.read(frame, label_spelling="merge")
    labels = assay.read(frame, scale="several")
    assert labels.criteria == ("anger", "fear", "joy")
    said = labels.where(criterion="joy").to_polars().filter(pl.col("label") == "yes")
    assert len(said) == sum("joy" in label for _, _, label in rows)


def test_read_asks_for_a_person_before_it_takes_ids_of_items_for_annotators():
    rng = random.Random(4)
    rows = [
        (f"Q{q}", style, *(rng.randint(1, 5) for _ in range(3))) for q in range(30) for style in ("plain", "rushed")
    ]
    frame = pl.DataFrame(rows, ["question_id", "style", "accuracy", "empathy", "fluency"], orient="row")
    with pytest.raises(DataError, match="no name says who answered") as error:
        assay.read(frame)
    shown = [options for _, options in error.value.choices][:6]
    one_human = {"item": ["question_id", "style"], "humans": ["human"]}
    assert any(one_human.items() <= options.items() for options in shown)
    who = [options.get("annotator") for options in shown]
    assert "question_id" not in who or who.index("question_id") > who.index("style")


def test_read_separates_scores_of_a_judge_by_group(tmp_path: Path):
    rng = random.Random(6)
    scores = {
        group: [{"id": i, "tone": rng.randint(1, 5), "depth": rng.randint(1, 5), "reasoning": f"{group} {i}: fair"}
                for i in range(12)]
        for group in ("base", "prompted", "tuned")
    }  # fmt: skip
    path = tmp_path / "scores.json"
    for settings in ({"judge_model": "gpt-4o"}, {"metadata": {"judge": "gpt-4o", "rubric": {"tone": "1-5"}}}):
        path.write_text(json.dumps({**settings, "scores": scores}))
        labels = assay.read(path, judges=["gpt-4o"], item=["id", "group"], label=["tone", "depth"])
        assert (labels.n_items, labels.judges, len(labels)) == (36, ("gpt-4o",), 72)
        with pytest.raises(DataError, match="is 'group', which has the same values in most items, part of the item"):
            assay.read(path)


def test_read_takes_no_offered_choices_for_labels(tmp_path: Path):
    rng, rows = random.Random(7), []
    for i in range(40):
        offered = rng.sample(["inn", "park", "shrine", "house"], 4)
        answer = rng.choice(offered)
        said = answer if rng.random() < 0.6 else rng.choice(offered)
        rows.append({"index": f"q{i}", "choices": offered, "answer_ann": answer, "answer_bob": said})
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(rows))
    labels = assay.read(path, columns=["answer_ann", "answer_bob"])
    assert (labels.n_items, len(labels)) == (40, 80)
    with pytest.raises(DataError) as error:
        assay.read(path)
    assert "choices" not in str(error.value).partition("Choose")[0]


def test_read_places_to_be_filled_in_are_not_one_label():
    frame = pl.DataFrame({"id": ["1", "2"], "ann": ["<first>", "<second>"], "bob": ["<first>", "<second>"]})
    assert len(assay.read(frame, columns=["ann", "bob"], item="id")) == 4
    with pytest.raises(DataError, match="differ only in spelling"):
        assay.read(frame.with_columns(bob=pl.Series(["<p>yes</p>", "yes"])), columns=["ann", "bob"], item="id")


ASKED = ("How much effort?", "Would you share it?")


def form(tmp_path: Path, *, numbered: bool) -> Path:
    """A form that asks two questions about each of four images."""
    rng = random.Random(8)
    names = [f"{q} [image {k}]" if numbered else q for k in range(1, 5) for q in ASKED]
    rows = [
        [f"p{i}@example.org", str(rng.randint(18, 30)), *(str(rng.randint(1, 7)) for _ in names)] for i in range(30)
    ]
    path = tmp_path / "form.csv"
    path.write_text("\n".join(",".join(row) for row in [["Your e-mail", "Your age", *names], *rows]))
    return path


def test_read_refuses_a_form_that_repeats_its_questions(tmp_path: Path):
    with pytest.raises(
        DataError, match=r"several columns with the same name: .*such as 'How much effort\? \[item 1\]'"
    ):
        assay.read(form(tmp_path, numbered=False))


def test_read_numbers_in_brackets_are_items_of_a_form(tmp_path: Path):
    labels = assay.read(form(tmp_path, numbered=True), layout="transposed", annotator="Your e-mail")
    assert (labels.n_items, labels.criteria, len(labels.humans)) == (4, ASKED, 30)
    assert sorted(labels.items["item"]) == [f"image {k}" for k in range(1, 5)]


def test_read_a_constant_class_is_not_the_only_label():
    rng = random.Random(9)
    rows = [(f"q{i}", 1, rng.choice(["yes", "no"]), rng.choice(["yes", "no"])) for i in range(40)]
    frame = pl.DataFrame(rows, ["query_id", "label", "intent_kept", "realistic"], orient="row")
    with pytest.raises(DataError, match="'intent_kept', 'realistic' share a scale") as error:
        assay.read(frame)
    assert "only 'label'" not in str(error.value)


def test_read_keeps_the_end_of_the_scale_of_each_item():
    rng, rows = random.Random(11), []
    for i in range(40):
        end = rng.choice([1, 2, 4])
        rows += [(f"q{i}", who, rng.randint(0, 4 * end) / 4, end) for who in ("rater1", "rater2")]
    frame = pl.DataFrame(rows, ["item", "rater_id", "score", "max_score"], orient="row")
    assert roles(frame)["max_score"] == "item column"
    highest = frame.with_columns(max_score=pl.col("score").max().over("item"))
    assert roles(highest)["max_score"] == "computed"


def test_read_files_of_annotators_share_the_columns_of_items(tmp_path: Path):
    rng, paths = random.Random(10), []
    for who in ("ann", "bob", "cho"):
        rows = [
            (f"c{i}", f"dev{i % 7}@example.org", f"fix number {i}", rng.choice(["calm", "glad"]), rng.randint(2, 7))
            for i in range(40)
        ]  # fmt: skip
        frame = pl.DataFrame(rows, ["commit", "author", "message", "emotion", "strength"], orient="row")
        paths.append(tmp_path / f"{who}.csv")
        frame.write_csv(paths[-1])
    sources = [str(path) for path in paths]
    with pytest.raises(DataError) as error:
        assay.read(sources)
    assert error.value.choices
    assert not any("annotator" in options for _, options in error.value.choices)
    for _, options in error.value.choices:
        assert assay.read(sources, **options).humans == ("ann", "bob", "cho")
    labels = assay.read(sources, label=["emotion", "strength"])
    assert (labels.n_items, labels.criteria, len(labels)) == (40, ("emotion", "strength"), 240)


def test_question_about_annotators_called_as_items_names_their_reading_first():
    # An `id` of annotators next to items and two questions.
    rows = [(100 + p, f"t{i}", (i + p) % 2, (i * p) % 3 % 2) for p in range(12) for i in range(10) if (i + p) % 4]
    frame = pl.DataFrame(rows, schema=["id", "tweet.id", "hate.speech", "offensive"], orient="row")
    with pytest.raises(DataError, match=r"is the annotator 'id'.*\n +'id' names the annotators") as asked:
        assay.read(frame)
    assert "not yet" not in str(asked.value)
