"""The store's answers as one table: columns that say something, scales that hold every label, ensembles by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')

import sqlalchemy as sa

from assay.data.columns import CONTENT
from assay.data.scales import Interval, Nominal, parse_scale, words_of
from assay.study.schema import Question
from assay.study.store import table, work_log


def row(item: str, label: Any, **more: Any) -> Any:
    """An answer as the database gives it."""
    return SimpleNamespace(**{
        "item": item, "annotator": "ann", "label": label, "repeat": 1, "condition": "{}", "shown": None,
        "seconds": None, "reasoning": None, "excluded_at": None, "excluded_for": "", "does": None, "there": True,
        "role": "item", "question": 1, "active": True, "status": "valid", "reason": None,
    } | more)  # fmt: skip


def frame(*rows: Any, content: int = 1) -> pl.DataFrame:
    return table._frame([table._label_row(one, "quality", one.label, content) for one in rows], ["temperature"])


def test_columns_are_there_where_they_say_something():
    plain = frame(row("a", 1.0), row("b", 2.5, condition='{"temperature": 0.5}'))
    assert plain.columns == ["item", "annotator", "criterion", "label", "temperature"]
    assert plain.rows() == [("a", "ann", "quality", 1.0, None), ("b", "ann", "quality", 2.5, 0.5)]
    assert frame(row("a", 1), row("a", 1, repeat=2))["repeat"].to_list() == [1, 2]
    assert frame(row("a", 1), content=2)[CONTENT].to_list() == [2]
    pairs = frame(row("a", "x", shown={"order": ["x", "y"], "position": 1, "about": {"page": 3}}), row("b", 2.0))
    assert pairs.select("label", "order", "position", "page").rows() == [("x", "x>y", 1, 3), ("2", None, None, None)]
    mixed = frame(*(row("a", 1.0, shown={"about": {"page": page}}) for page in (3, "iv")))
    assert mixed["page"].to_list() == ["3", "iv"]
    gone = frame(row("a", 1, excluded_at=5.0, seconds=2.5), row("b", 1, does="adjudicator"))
    assert gone.select("seconds", "excluded").rows() == [(2.5, True), (None, True)]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, None),
        ({"there": False}, "the item is no longer in the study"),
        ({"question": 2}, "the question has changed since, or is no longer asked"),
        ({"annotator": "judge"}, "the judge is no longer in the study"),
        ({"active": False}, "the judge, its prompt or the item has changed since"),
        ({"excluded_at": 1.0}, "ann is excluded"),
        ({"excluded_at": 1.0, "excluded_for": "asleep"}, "ann is excluded: asleep"),
        ({"does": "adjudicator"}, "ann decides between the answers of others"),
        ({"status": "missing", "reason": "refused"}, "ann: refused"),
    ],
)
def test_why_an_answer_does_not_count(changed, words):
    one = row("a", 1, **changed)
    assert table._exclusion_reason(one, {1: None}, {"ann"}, excluded_people=False) == words
    kept = "excluded_at" in changed or "does" in changed
    assert table._exclusion_reason(one, {1: None}, {"ann"}, excluded_people=True) == (None if kept else words)


def test_scale_holds_labels_of_other_scales_and_means():
    def scale(labels: list[Any], specs: list[str | None] | None = None, own: Any = None) -> Any:
        columns = {"criterion": ["q"] * len(labels), "label": labels} | ({} if specs is None else {"scale": specs})
        return table.common_scale(own or parse_scale("1-5"), pl.DataFrame(columns), "q")

    assert scale([1, 5]) == parse_scale("1-5")
    assert scale([1.0, 2.25]) == Interval(1, 5)  # a mean
    assert scale(["a", "d"], own=parse_scale("nominal:a,b")) == Nominal()
    assert scale([1, 90], ["1-5", "0-100"]) == Interval(0, 100)
    assert scale([1, 9], ["2-5", None]) == Interval(2, 5)
    assert scale([1, 9], ["1-5", "interval"]) == Interval()
    assert scale([], own=parse_scale("nominal:a,b")) == parse_scale("nominal:a,b")


def test_annotator_kinds():
    people = [
        {"annotator": "ann", "kind": "human", "definition": {"attributes": {"age": 30}}},
        {"annotator": "m", "kind": "judge",
         "definition": {"model": "x", "strategy": "few-shot", "demonstrations": {"use": 4}}},
        {"annotator": "both", "kind": "judge", "definition": {"of": ["m", "n"], "rule": "mean"}},
    ]  # fmt: skip
    found = table._annotators_frame(people)
    assert found.select("annotator", "model", "strategy", "demonstrations", "age").rows() == [
        ("ann", None, None, None, 30), ("m", "x", "few-shot", 4, None), ("both", None, "mean of m, n", None, None)
    ]  # fmt: skip
    # Attributes of a sheet are texts there; a name that is a number stays a name.
    sheet = [{"annotator": "7", "kind": "human", "definition": {"attributes": {"age": "30", "zip": "02139"}}}]
    assert table._annotators_frame(sheet).rows() == [("7", "human", 30, "02139")]


def test_ensembles_answer_once_under_each_condition():
    def definition(rule: str, *of: str) -> dict[str, Any]:
        return {"annotator": rule, "definition": {"of": list(of), "rule": rule, "seed": 1}}

    given = [("i1", "m", 1, 0.0), ("i1", "m", 4, 1.0), ("i1", "n", 2, 0.0), ("i2", "m", 3, 0.0)]
    labels = pl.DataFrame(given, schema=["item", "annotator", "label", "temperature"], orient="row")
    labels = labels.with_columns(criterion=pl.lit("q"), order=pl.lit("a>b"), repeat=pl.lit(2))
    whole, notes = table.add_ensembles(
        labels, ["temperature", "order"], [definition("mean", "m", "n"), definition("majority", "m", "n"),
                                           definition("median", "nobody")],
    )  # fmt: skip
    means = whole.filter(annotator="mean").select("item", "temperature", "label", "repeat").rows()
    assert means == [("i1", 0.0, 1.5, 1), ("i1", 1.0, 4.0, 1), ("i2", 0.0, 3.0, 1)]
    assert whole.height == 4 + 3 + 3
    assert notes == [
        "majority: 1 of 3 majorities were ties, drawn by seed",
        "median: none of its judges has answered yet",
    ]
    words = labels.with_columns(label=pl.Series(["x", "y", "x", "z"]))
    whole, notes = table.add_ensembles(words, ["temperature"], [definition("mean", "m", "n")])
    assert whole.filter(annotator="mean")["label"].to_list() == ["x", "y", "z"]
    assert notes == ["mean: labels that are not numbers have no mean; their majority counts"]
    assert table.add_ensembles(labels, [], [{"annotator": "m", "definition": {}}])[0] is labels
    assert table.combine_votes([3, 1], "median", "") == (2, False)
    assert table.combine_votes([5, 1, 2], "median", "") == (2, False)


def log_frame(*rows: tuple[Any, ...]) -> pl.DataFrame:
    schema = ["assignment", "question", "condition", "item", "annotator", "repeat", "label"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_first_label_of_each_person_to_each_item_counts():
    labels = log_frame(
        (5, 1, "{}", "a", "ann", 2, "4"), (9, 1, "{}", "a", "ann", 1, "3"), (7, 1, "{}", "a", "ann", 1, "2"),
        (1, 2, "{}", "a", "ann", 1, "1"), (2, 1, "{}", "a", "bob", 1, "5"), (3, 1, "x", "a", "ann", 1, "1"),
        (4, 1, "{}", "b", "eve", 1, "1"),
    )  # fmt: skip
    found = work_log.first_labels(labels, 1, ["eve"])
    assert sorted(found["assignment"].to_list()) == [2, 3, 7]
    assert sorted(work_log.first_labels(labels, 2, [])["assignment"].to_list()) == [1]


@pytest.mark.parametrize(
    ("written", "read", "kind"),
    [
        (["1", "5"], [1, 5], pl.Int64), (["1", "2.5"], [1.0, 2.5], pl.Float64), (['"a"', '"b"'], ["a", "b"], pl.String),
        (['"a"', "2", "2.5"], ["a", "2", "2.5"], pl.String)
    ],
)  # fmt: skip
def test_labels_as_they_are_written_and_read(written, read, kind):
    found = work_log.read_labels(pl.DataFrame({"label": pl.Series(written, dtype=pl.String)}))
    assert (found.to_list(), found.dtype) == (read, kind)


def test_one_label_on_another_scale_widens_the_question_s():
    labels = pl.DataFrame({"criterion": ["q"], "label": [9], "scale": ["0-10"]})
    assert table.common_scale(parse_scale("1-5"), labels, "q") == Interval(0, 10)
    none = labels.with_columns(criterion=pl.lit("other"))
    assert table.common_scale(parse_scale("1-5"), none, "q") == parse_scale("1-5")
    nothing = pl.DataFrame({"criterion": ["q"], "label": [9], "scale": pl.Series([None], dtype=pl.String)})
    assert table.common_scale(parse_scale("1-5"), nothing, "q") == parse_scale("1-5")


# -- an answer that is a list ------------------------------------------------------------------------

RANKING = Question(name="best", text="Rank them.", scale="ranking", options=["a", "b", "c"])
SPANS = Question(name="who", text="Mark.", scale="spans:person,place", of="text")
SEVERAL = Question(name="tone", text="Which?", scale="several:calm,kind,odd")


def test_several_labels_are_a_criterion_each():
    assert list(table.labels_in_table(SEVERAL, "i", ["odd", "calm"])) == [
        ("tone: calm", "i", "yes"), ("tone: kind", "i", "no"), ("tone: odd", "i", "yes"),
    ]  # fmt: skip
    assert {label for *_, label in table.labels_in_table(SEVERAL, "i", [])} == {"no"}
    plain = Question(name="q", text="?", scale="1-5")
    assert list(table.labels_in_table(plain, "i", 4)) == [("q", "i", 4)]


@pytest.mark.parametrize("ranked", ["ABC", "ACB", "BAC", "BCA", "CAB", "CBA"])
def test_ranking_is_a_vote_on_every_two_texts(ranked):
    """-1 where the first of the pair, as its name says, is ranked before the second."""
    text = dict(zip("ABC", "abc", strict=True))
    better = [text[letter] for letter in ranked]
    for item in (f"i{n}" for n in range(8)):
        found = list(table.labels_in_table(RANKING, item, list(ranked)))
        assert [criterion for criterion, *_ in found] == ["best"] * 3
        pairs = [name.removeprefix(f"{item}: ").split(" / ") for _, name, _ in found]
        assert [sorted(pair) for pair in pairs] == [["a", "b"], ["a", "c"], ["b", "c"]]
        assert [label for *_, label in found] == [-1 if better.index(x) < better.index(y) else 1 for x, y in pairs]


def test_which_text_of_a_pair_is_the_first_is_drawn_by_item():
    """Half of 600 is 300, with a standard deviation of 12; and what was drawn once stays."""
    firsts = [first for n in range(200) for _, first, second in table.ranked_pairs(f"i{n}", ("a", "b", "c"))
              if first < second]  # fmt: skip
    assert 250 < len(firsts) < 350
    names = [name for name, _, _ in table.ranked_pairs("i0", ("a", "b", "c"))]
    assert names == [f"i0: {first} / {second}" for _, first, second in table.ranked_pairs("i0", ("a", "b", "c"))]


def test_spans_are_a_label_of_every_word_that_they_touch():
    text = "Ann saw Rome"  # words from 0 to 3, 4 to 7 and 8 to 12
    assert words_of(text) == ((0, 3), (4, 7), (8, 12))

    def yes(*spans: list[Any]) -> list[str]:
        found = list(table.labels_in_table(SPANS, "i", list(spans), text))
        assert [criterion for criterion, *_ in found] == ["who: person", "who: place"] * 3
        assert [item for _, item, _ in found] == [f"i: text {n}" for n in (1, 1, 2, 2, 3, 3)]
        return [f"{criterion[5:]} {item[-1]}" for criterion, item, label in found if label == "yes"]

    assert yes() == []
    assert yes([0, 3, "person"], [8, 12, "place"]) == ["person 1", "place 3"]
    assert yes([3, 4, "person"]) == []  # the blank between two words
    assert yes([2, 5, "person"]) == ["person 1", "person 2"]
    assert yes([0, 8, "place"], [11, 12, "person"]) == ["place 1", "place 2", "person 3"]


def items(**more: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({"item": ["i1", "i2"], "text": ["Ann saw", None], "topic": ["x", "y"], **more})


def test_pairs_and_words_are_items_with_all_that_is_known_of_the_whole():
    plain = Question(name="q", text="?", scale="1-5")
    ranked = table.add_parts(items(), [RANKING])
    assert ranked.columns == ["pair_of", "item", "first", "second", "text", "topic"]
    assert ranked["pair_of"].to_list() == ["i1"] * 3 + ["i2"] * 3
    assert ranked["topic"].to_list() == ["x"] * 3 + ["y"] * 3
    names = [(one, *pair) for one in ("i1", "i2") for pair in table.ranked_pairs(one, ("a", "b", "c"))]
    assert ranked.select("pair_of", "item", "first", "second").rows() == names
    words = table.add_parts(items(), [SPANS])
    assert words.rows(named=True) == [
        {"span_of": "i1", "item": "i1: text 1", "word": "Ann", "text": "Ann saw", "topic": "x"},
        {"span_of": "i1", "item": "i1: text 2", "word": "saw", "text": "Ann saw", "topic": "x"},
    ]
    # The whole items stay where anything is asked about them; what two questions mark is one item.
    assert table.add_parts(items(), [plain]).equals(items())
    for asked, n in (([plain, RANKING], 2 + 6), ([SPANS, SPANS], 2), ([SPANS, RANKING], 6 + 2), ([SPANS, plain], 4)):
        found = table.add_parts(items(), asked)
        assert found.height == n
        assert found["item"].is_unique().all()
        assert ("i1" in found["item"].to_list()) is (plain in asked)
    marked_elsewhere = SPANS.model_copy(update={"of": "note"})
    assert table.add_parts(items(), [marked_elsewhere, plain]).select(items().columns).equals(items())
    about = table.add_parts(items(word=["its own", "word"]), [SPANS])
    assert about["word_of_item"].to_list() == ["its own"] * 2


def test_pair_of_a_ranking_keeps_the_order_in_which_it_was_shown():
    """The three were displayed as c, a, b; each pair in that order, and the position that of the better one."""
    one = row("i", ["B", "A", "C"], shown={"order": ["c", "a", "b"]})
    found = list(table._label_rows(one, RANKING, 1, ""))
    assert [sorted(each["order"].split(">")) for each in found] == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert [each["order"] for each in found] == ["a>b", "c>a", "c>b"]
    assert [each["order"].split(">")[each["position"] - 1] for each in found] == ["b", "a", "b"]
    assert [each["position"] for each in found] == [2, 2, 2]
    turned = list(table._label_rows(row("i", ["C", "A", "B"], shown={"order": ["c", "a", "b"]}), RANKING, 1, ""))
    assert [each["position"] for each in turned] == [1, 1, 1]
    for plain in (row("i", ["B", "A", "C"]), row("i", ["B", "A", "C"], shown={"about": {"page": 2}})):
        assert all("order" not in each and "position" not in each for each in table._label_rows(plain, RANKING, 1, ""))
    several = list(table._label_rows(row("i", ["odd"], shown={"order": ["x", "y"], "position": 2}), SEVERAL, 1, ""))
    assert [(each["item"], each["order"], each["position"]) for each in several] == [("i", "x>y", 2)] * 3


def test_columns_of_items_have_one_type():
    """Of words and numbers all are words, as they were written; lists and objects are JSON text."""

    def of(*cells: Any, **more: Any) -> pl.DataFrame:
        rows = [SimpleNamespace(item=f"i{n}", known=None, document=None, fields={"x": cell}) for n, cell in
                enumerate(cells)]  # fmt: skip
        for name, values in more.items():
            for one, value in zip(rows, values, strict=True):
                setattr(one, name, value)
        db: Any = SimpleNamespace(execute=lambda query: SimpleNamespace(all=lambda: rows))
        return table._items_frame(db, table.tables.items.c.role == "item")

    assert of(1, 2.5, None)["x"].to_list() == [1.0, 2.5, None]
    assert of(1, "a", None)["x"].to_list() == ["1", "a", None]
    assert of("1", "2.5", None)["x"].to_list() == [1.0, 2.5, None]
    assert of("01", "2")["x"].to_list() == ["01", "2"]
    assert of("1", document=["3"]).rows(named=True) == [{"item": "i0", "document": "3", "x": 1}]
    assert of(True, "a")["x"].to_list() == ["True", "a"]
    assert of(True, 2)["x"].to_list() == ["True", "2"]
    assert of([2, "a"], {"b": 1}, "c")["x"].to_list() == ['[2,"a"]', '{"b":1}', "c"]
    assert of(1, 2).columns == ["item", "x"]
    assert of(1, 2, document=["d", None])["document"].to_list() == ["d", None]
    parts = of(1, 2, known=[{"part": "test"}, None])
    assert (parts.columns, parts["part"].to_list()) == (["item", "part", "x"], ["test", None])
    named = of(1, fields=[{"item": "no", "document": "no", "y": 2}])
    assert named.rows(named=True) == [{"item": "i0", "y": 2}]


def test_pairs_are_counted_within_documents_from_which_a_triplet_can_be_drawn():
    """Of 3 items there are 3 pairs, of 4 there are 6; of 2 no triplet is drawn."""
    with sa.create_engine("sqlite://").connect() as db:
        db.execute(sa.text("create table items (item, active, role, document)"))
        of = [("x", 3), ("y", 4), ("z", 2)]
        rows = [(f"{document}{n}", 1, "item", document) for document, size in of for n in range(size)]
        rows += [("old", 0, "item", "z"), ("drawn", 1, "triplet", "z"), ("again", 0, "triplet", "z")]
        for one in rows:
            db.execute(sa.text("insert into items values (:a, :b, :c, :d)"), dict(zip("abcd", one, strict=True)))
        assert table.n_pairs(db) == 9
        assert table.n_triplets(db) == 2
