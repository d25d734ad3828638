"""Labels that annotators write differently are refused, with the option that resolves it; honest labels are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import assay
from assay.data.names import label_key
from assay.errors import DataError


def table(**columns: Any) -> pl.DataFrame:
    """A long table from the labels of each annotator."""
    rows = [(f"i{k}", who, label) for who, labels in columns.items() for k, label in enumerate(labels)]
    return pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row", strict=False)


def people(n: int = 40, seed: int = 0) -> dict[str, list[float]]:
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n)
    return {who: np.clip(np.round(3 + 1.2 * quality + rng.normal(0, 0.7, n)), 1, 5).tolist() for who in "abcj"}


@pytest.mark.parametrize(
    ("change", "ends"),
    [
        (lambda x: (x - 1) / 4, "0 to 1"),
        (lambda x: 2 * x, "2 to 10"),
        (lambda x: (x - 1) * 25, "0 to 100"),
        (lambda x: float(x > 3), "0 to 1"),
    ],
)
def test_read_refuses_another_range(change, ends):
    labels = people()
    labels["j"] = [change(x) for x in labels["j"]]
    with pytest.raises(DataError, match=rf"of 'j' range from {ends}, labels of the other annotators from 1 to 5"):
        assay.read(table(**labels))
    low, high = min(map(min, labels.values())), max(map(max, labels.values()))
    assert len(assay.read(table(**labels), scale=f"interval:{low:g}-{high:g}")) == 160


def test_read_refuses_a_negative_mark_of_one_annotator():
    labels = people()
    labels["j"][3] = labels["j"][9] = -1
    with pytest.raises(DataError, match="'j' has the label -1 in 2 rows") as error:
        assay.read(table(**labels))
    assert error.value.advised == {"missing": [-1]}
    assert len(assay.read(table(**labels), missing=[-1])) == 158


def test_read_accepts_means_and_habits():
    labels = people()
    labels["j"] = [x - 0.25 if x > 1 else x for x in labels["j"]]  # a mean of several samples
    labels["a"] = [min(x, 3) for x in labels["a"]]  # a strict annotator
    labels["b"] = [3] * 40  # a careless one
    assert len(assay.read(table(**labels))) == 160


@pytest.mark.slow
def test_honest_labels_are_not_refused():
    """At most 1% of studies with biased, careless and few annotators."""
    refused = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        quality, labels = rng.normal(size=30), {}
        for who in range(int(rng.integers(2, 7))):
            own = rng.normal(0, 0.7) + rng.uniform(0.3, 1.5) * rng.normal(size=30) + quality * (rng.random() > 0.1)
            labels[f"p{who}"] = np.clip(np.round(4 + 1.4 * own), 1, 7).tolist()
        try:
            assay.read(table(**labels))
        except DataError:
            refused += 1
    assert refused <= 2


def test_read_refuses_another_vocabulary():
    words = {"a": ["yes", "no"] * 10, "b": ["no", "yes"] * 10, "c": ["Y", "N"] * 10}
    with pytest.raises(DataError, match=r"labels of 'c' \('N', 'Y'\) are labels of no other annotator \('no', 'yes'\)"):
        assay.read(table(**words))
    assert len(assay.read(table(**words), codes={"Y": "yes", "N": "no"}).scale.categories or ()) == 0
    assert set(assay.read(table(**words), codes={"Y": "yes", "N": "no"}).labels["label"]) == {"yes", "no"}
    one = words | {"c": ["maybe"] * 20}  # one label of their own is no other vocabulary
    assert len(assay.read(table(**one))) == 60


def test_read_refuses_a_renamed_category():
    old, new = ["fine", "toxic"] * 10, ["fine", "toxic language"] * 10
    renamed = table(a=old + new, b=old + new, c=(["toxic", "fine"] * 10) + new)
    with pytest.raises(DataError, match="'toxic' and 'toxic language' never occur on the same item"):
        assay.read(renamed)
    codes = {"fine": "fine", "toxic": "toxic language", "toxic language": "toxic language"}
    assert assay.read(renamed, codes=codes).labels["label"].n_unique() == 2
    # Degrees meet on items; words with a usual order are no doubt.
    degrees = ["agree", "agree strongly", "disagree"]
    rng = np.random.default_rng(0)
    assert len(assay.read(table(**{who: rng.choice(degrees, 40).tolist() for who in "abc"}))) == 120


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<p>yes</p>", "yes"), ("Q&amp;A", "Q&A"), ("['joy', 'fear']", "['fear', 'joy']"), ("b;a", "a;b"),
        ("don’t know", "don't know"), ("so–so", "so-so"), ("ﬁne", "fine"), ("<b class='x'>no</b>", "No"),
    ],
)  # fmt: skip
def test_labels_in_two_spellings_are_refused_or_merged(one, other):
    both = table(a=[one, "third"] * 8, b=[other, "third"] * 8)
    with pytest.raises(DataError, match="labels differ only in spelling") as error:
        assay.read(both)
    assert "label_spelling='merge'" in str(error.value)
    merged = assay.read(both, label_spelling="merge")
    assert merged.labels["label"].n_unique() == 2
    assert any("merged" in note for note in merged.reading.notes)
    assert assay.read(both, label_spelling="apart").labels["label"].n_unique() == 3


def test_label_key_keeps_different_labels_apart():
    different = pl.Series(["a;b", "a;c", "x < y", "a, and then b", "[a]", "b-a", "a-b"])
    assert label_key(different).n_unique() == len(different)


def test_numbers_are_equal_by_value():
    thirds = table(a=[1 / 3, 2 / 3, 1.0] * 5, b=[0.3333333333, 0.6666666667, 1.0] * 5)
    assert assay.read(thirds).labels["label"].n_unique() == 3
    assert float(assay.measures.exact_agreement(assay.read(thirds))) == 1


def test_words_that_contain_numbers():
    bracketed = assay.read(table(a=["[[1]]", "[[3]]"] * 5, b=["[[2]]", "[[3]]"] * 5))
    assert bracketed.scale == assay.Ordinal(1, 3)
    assert any("without brackets" in note for note in bracketed.reading.notes)
    named = table(a=["Agree (3)", "Neutral (2)"] * 5, b=["Disagree (1)", "Agree (3)"] * 5)
    notes = assay.read(named).reading.notes
    assert any("scale='ordinal:Disagree (1)<Neutral (2)<Agree (3)'" in note for note in notes)


def test_read_accepts_labels_that_differ_only_in_case():
    rows = [
        {"item": k, "annotator": w, "label": ("true", "True", "b")[(k + j) % 3]}
        for k in range(9)
        for j, w in enumerate("xyz")
    ]
    assert len(assay.read(pl.DataFrame(rows), label_spelling="apart")) == 27


@pytest.mark.parametrize("top", [5, 7, 9, 10, 20])
def test_labels_of_few_high_items_are_no_codes_of_missing_answers(top):
    """Counts in which one item is far above the others, for all annotators."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        errors = np.minimum(rng.poisson(1.5 * np.exp(0.8 * rng.normal(size=40))), top)
        labels = {who: np.minimum(errors + rng.integers(0, 2, 40), top).tolist() for who in "abc"}
        assert len(assay.read(table(**labels))) == 120


@pytest.mark.parametrize(("code", "most"), [(9, 9), (99, 99), (-9, 5)])
def test_codes_of_missing_answers_of_all_annotators_are_refused(code, most):
    labels = people()
    for k, who in enumerate("abcj"):
        labels[who][5 * k] = labels[who][5 * k + 3] = code
    with pytest.raises(
        DataError, match=f"have the label {code} in 8 rows, the other labels range from 1 to 5"
    ) as error:
        assay.read(table(**labels))
    assert error.value.advised == {"missing": [code]}
    assert len(assay.read(table(**labels), missing=[code])) == 152
    assert len(assay.read(table(**labels), scale=f"interval:{min(code, 1)}-{most}")) == 160


def test_a_column_of_the_same_labels_in_other_words_is_a_doubt():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 60)
    draw = lambda: np.where(rng.random(60) < 0.1, 1 - truth, truth)  # noqa: E731
    names = [f"i{k}" for k in range(60)]
    columns = {"item": names, "ann": ["ny"[v] for v in draw()], "bob": ["ny"[v] for v in draw()]}
    topic = {"topic": [("sport", "news")[v] for v in rng.integers(0, 2, 60)]}
    labels = assay.read(pl.DataFrame(columns | topic), layout="wide")
    assert labels.humans == ("ann", "bob"), "an unrelated column with as many values describes the items"
    french = pl.DataFrame(columns | {"cho": [("non", "oui")[v] for v in draw()]})
    with pytest.raises(DataError, match=r"'cho' \(.*\) seems to hold labels as those of 'ann'"):
        assay.read(french, layout="wide")
    assert assay.read(french, layout="wide", columns=["ann", "bob"]).humans == ("ann", "bob")


def test_judge_in_a_column_next_to_labels_of_people_labels_each_item_once(tmp_path):
    """As a merge of the model's labels to those of people leaves them."""
    rows = [(f"t{k}", who, (k + len(who)) % 2, k % 2, k % 3) for k in range(40) for who in ("a", "bb", "ccc")]
    table = pl.DataFrame(rows, schema=["tweet_id", "worker", "stance", "gpt4o", "party"], orient="row")
    table.write_csv(tmp_path / "tweets.csv")
    judged = {
        "a file": assay.read(tmp_path / "tweets.csv", judges=["gpt4o"]),
        "a frame": assay.read(table, judges=["gpt4o"]),
        "one that is named whole": assay.read(
            table, judges=["gpt4o"], item="tweet_id", annotator="worker", label="stance"
        ),
    }
    for what, found in judged.items():
        assert (found.humans, found.judges, len(found)) == (("a", "bb", "ccc"), ("gpt4o",), 160), what
        own = found.labels.filter(pl.col("annotator") == "gpt4o").select("item", "label")
        assert dict(own.rows()) == {f"t{k}": k % 2 for k in range(40)}, what
        assert found.items.columns == ["item", "party"], what
    unlabelled = table.with_columns(pl.when(pl.col("tweet_id") != "t3").then("gpt4o").alias("gpt4o"))
    assert len(assay.read(unlabelled, judges=["gpt4o"])) == 159
    with pytest.raises(DataError, match="'gpt4o' has one value for each item: a judge's labels, or a description"):
        assay.read(tmp_path / "tweets.csv")
    look = assay.look(tmp_path / "tweets.csv", judges=[])
    assert "replacement test (no judge; set judges=['gpt4o'])" in str(look)
    with pytest.raises(DataError, match="judge 'gpt5' is not in "):
        assay.read(tmp_path / "tweets.csv", judges=["gpt5"])


def test_column_of_systems_is_not_advised_as_a_judge():
    rows = [
        (f"t{k}", who, (k + len(who)) % 2, ("gpt-4o", "llama-3")[k % 2])
        for k in range(40)
        for who in ("a", "bb", "ccc")
    ]
    table = pl.DataFrame(rows, schema=["item", "annotator", "label", "model"], orient="row")
    assert "replacement test (no judge; set judges=[...])" in str(assay.look(table))


def test_judge_in_a_column_of_several_criteria_labels_each_once():
    rows = [
        (f"t{k}", c, who, (k + len(c)) % 5 + 1, k % 5 + 1)
        for k in range(20)
        for c in ("tone", "depth")
        for who in "abc"
    ]
    table = pl.DataFrame(rows, schema=["item", "criterion", "annotator", "label", "gpt-4o"], orient="row")
    found = assay.read(table, judges=["gpt-4o"], scale="1-5")
    assert (len(found), found.criteria, found.judges) == (160, ("depth", "tone"), ("gpt-4o",))


def test_judge_in_a_column_with_several_labels_of_an_item_is_refused_with_what_to_do(tmp_path):
    """The advice, followed literally, reads one table."""
    rows = [(f"t{k}", who, (k + len(who)) % 2, (k + len(who)) % 2) for k in range(40) for who in ("a", "bb", "ccc")]
    table = pl.DataFrame(rows, schema=["tweet_id", "worker", "stance", "gpt4o"], orient="row")
    table.write_csv(tmp_path / "tweets.csv")
    with pytest.raises(DataError) as refused:
        assay.read(tmp_path / "tweets.csv", judges=["gpt4o"], label="stance")
    assert str(refused.value).endswith(
        "'gpt4o' is a column, not one of the annotators in 'worker', and each row is one label. Write the labels of "
        "'gpt4o' to a second file with one row per item, with the columns 'tweet_id' and 'gpt4o', and name both files"
    )
    table.select("tweet_id", "gpt4o").unique("tweet_id").write_csv(tmp_path / "judge.csv")
    table.drop("gpt4o").write_csv(tmp_path / "people.csv")
    found = assay.read([tmp_path / "people.csv", tmp_path / "judge.csv"], judges=["gpt4o"])
    assert (found.humans, found.judges, len(found)) == (("a", "bb", "ccc"), ("gpt4o",), 160)


def test_only_column_of_the_item_numbers_no_repeats():
    """Iterations of one text, such as drafts, are the items if nothing else names them."""
    rows = [(k, who, 1 + (k * seed) % 5) for k in range(30) for seed, who in enumerate(("ann", "bob", "cho"), 2)]
    labels = assay.read(pl.DataFrame(rows, schema=["iteration", "annotator", "score"], orient="row"))
    assert (labels.n_items, labels.humans, len(labels)) == (30, ("ann", "bob", "cho"), 90)
