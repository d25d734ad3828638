"""potato: user states, exports, positions of pairs and triads, old double answers."""

from __future__ import annotations

import json

import polars as pl
import pytest

import assay
from assay.data.formats import FormatSettings
from assay.data.formats.platforms import intake, potato
from assay.errors import DataError

CONFIG = """
data_files: [data/items.jsonl]
item_properties: {id_key: key, text_key: text}
annotation_schemes:
  - {annotation_type: likert, name: stars, size: 5}
  - {annotation_type: radio, name: kind, labels: [Good, Bad]}
  - {annotation_type: multiselect, name: tags, labels: [x, y]}
  - {annotation_type: pairwise, name: better, items_key: answers}
  - {annotation_type: triad_test, name: odd, items_field: notes}
"""
ITEMS = [
    {
        "key": "k1",
        "text": "one",
        "answers": ["long text", "short text"],
        "systems": ["m2", "m1"],
        "notes": ["c", "a", "b"],
    },
    {
        "key": "k2",
        "text": "two",
        "answers": ["long text", "short text"],
        "systems": ["m1", "m2"],
        "notes": ["p", "p", "q"],
    },
]


def triad(*shown_and_chosen):
    return json.dumps({"design": "complete", "triads": [list(shown_and_chosen)]})


def state(user, labels, **more):
    pairs = {
        item: [[{"schema": s, "name": n}, v] for s, names in schemas.items() for n, v in names.items()]
        for item, schemas in labels.items()
    }
    return {"user_id": user, "instance_id_ordering": [], "instance_id_to_label_to_value": pairs, **more}


def line(user, item, labels):
    return {"instance_id": item, "user_id": user, "labels": labels}


@pytest.fixture
def rows(put):
    """The rows that the reader makes of lines, with these schemas."""

    def read(*lines, schemes=()):
        config = put("c.yaml", {"annotation_schemes": [*schemes]})
        return potato.read_potato(put("lines.jsonl", [*lines]), None, FormatSettings(config=config))

    return read


@pytest.fixture
def project(put):
    put("p/config.yaml", CONFIG)
    put("p/data/items.jsonl", ITEMS)

    def add(user, labels, **more):
        path = put(f"p/annotation_output/{user}/user_state.json", state(user, labels, **more))
        return path.parents[2]

    return add


def test_read_potato_every_schema(project, answers):
    project("bob", {"k1": {"better": {"selection": "tie"}, "odd": {"odd": triad("b", "a", "c", "b")}}})
    path = project(
        "ann",
        {
            "k1": {
                "stars": {"4": "4"},
                "kind": {"Good": "Good"},
                "tags": {"y": "y", "x": "x"},
                "better": {"selection": "A"},
                "odd": {"odd": triad("a", "b", "c", "b")},
                "why": {"text_box": "so"},
            },
            "k2": {"better": {"selection": "A"}},
        },
    )
    labels = assay.read(path, shown="systems")
    assert answers(labels) == {
        ("k1", "ann", "stars", "4"),
        ("k1", "ann", "kind", "Good"),
        ("k1", "ann", "tags", "x|y"),
        ("k1", "ann", "why", "so"),
        ("k1", "ann", "better", "1"),  # A is m2, and m1 is the first
        ("k2", "ann", "better", "-1"),
        ("k1", "bob", "better", "0"),
        ("k1", "ann", "odd", "C"),  # b is the third in the item's own order: c, a, b
        ("k1", "bob", "odd", "C"),
    }
    assert labels.scale_of("stars").spec == "ordinal:1-5"
    assert labels.scale_of("kind").spec == "nominal:Good,Bad"
    assert labels.items["text"].to_list() == ["one", "two"]


def test_read_potato_equal_texts_of_triad_are_ambiguous(project, excluded):
    path = project("ann", {"k2": {"stars": {"2": "2"}, "odd": {"odd": triad("p", "q", "p", "p")}}})
    assert excluded(assay.read(path)) == {intake.AMBIGUOUS: 1}


def test_read_potato_triads_are_separate_items(project, answers):
    design = json.dumps({"triads": [["x", "y", "z", "y"], ["z", "y", "w", "w"]]})
    labels = assay.read(project("ann", {"k1": {"odd": {"odd": design}}}))
    assert answers(labels, "item", "label", "position") == {("k1#1", "B", 2), ("k1#2", "A", 3)}


def test_read_potato_uses_last_change(project, answers, excluded):
    both = {"k1": {"stars": {"3": "3", "5": "5"}}, "k2": {"stars": {"1": "1", "2": "2"}}}
    changes = [
        {"timestamp": 2.0, "schema_name": "stars", "new_value": "3"},
        {"timestamp": 1.0, "schema_name": "stars", "new_value": "5"},
    ]
    seen = {"k1": {"annotation_changes": changes, "total_time_ms": 1500}}
    labels = assay.read(project("ann", both, instance_id_to_behavioral_data=seen))
    assert answers(labels, "item", "label", "seconds") == {("k1", 3, 1.5)}
    assert excluded(labels) == {intake.AMBIGUOUS: 1}


def test_read_potato_excludes_pair_in_unknown_order(project, excluded):
    order = {"k1": {"better": ["x"]}}
    path = project(
        "ann",
        {"k1": {"better": {"selection": "A"}}, "k2": {"better": {"selection": "B"}}},
        instance_id_to_presentation_order=order,
    )
    assert excluded(assay.read(path)) == {potato.SHUFFLED: 1}


def test_read_potato_exports(put, answers):
    row = {"instance_id": "k1", "user_id": "ann", "labels": {"stars": {"4": "4"}}, "spans": {}, "links": {}}
    assert answers(assay.read(put("annotations.jsonl", [row]), scale="1-5")) == {("k1", "ann", "stars", 4)}
    table = put("annotations.csv", "instance_id,user_id,stars.4,stars.5\nk1,ann,4,\nk2,ann,,5\n")
    labels = assay.read(table, format="potato", scale="1-5")
    assert answers(labels) == {("k1", "ann", "stars", 4), ("k2", "ann", "stars", 5)}


def test_read_potato_refuses_folder_without_states(tmp_path):
    with pytest.raises(DataError, match=r"no user's folder with user_state\.json"):
        assay.read(tmp_path, format="potato")


# -- part by part -------------------------------------------------------------------------------------


def test_read_potato_converts_positions(project):
    chosen = {"k1": {"better": {"selection": "B"}}, "k2": {"better": {"selection": "B"}}}
    project("bob", {"k1": {"better": {"selection": "tie"}}, "k2": {"better": {"selection": "neither"}}})
    path = project("ann", chosen)
    named, plain = assay.read(path, shown="systems"), assay.read(path)
    for labels, first, second in ((named, -1, 1), (plain, 1, 1)):
        found = labels.labels.select("item", "annotator", "label").sort("item", "annotator").rows()
        assert found == [("k1", "ann", first), ("k1", "bob", 0), ("k2", "ann", second)]
        places = dict(zip(labels.labels["label"], labels.column("position"), strict=True))
        assert places == {first: 2, 0: None, second: 2}
        assert [str(one) for one in labels.reading.exclusions] == [f"1 row: {intake.AMBIGUOUS}"]
    note = "better: A is assumed to be the first; name the options A and B with shown=..."
    assert (note in named.reading.notes, note in plain.reading.notes) == (False, True)
    assert named.items.select("first", "second").rows() == [("m1", "m2")] * 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("items.csv", "key,text\n1,one\n2,two\n"), ("items.tsv", "key\ttext\n1\tone\n2\ttwo\n"),
        ("items.json", '[{"key": 1, "text": "one"}, {"key": 2, "text": "two"}, {"text": "nameless"}]'),
        ("items.json", '{"key": 1, "text": "one"}\n{"key": 2, "text": "two"}\n'),
        ("items.jsonl", '{"key": 1, "text": "one"}\n{"key": 2, "text": "two"}\n'),
    ],
)  # fmt: skip
def test_read_potato_data_files(project, put, name, text):
    path = project("ann", {"1": {"stars": {"2": "2"}}, "2": {"stars": {"3": "3"}}})
    put("p/config.yaml", CONFIG.replace("data/items.jsonl", f"gone.csv, {name}"))
    put(f"p/{name}", text)
    assert assay.read(path).items.to_dict(as_series=False) == {"item": ["1", "2"], "text": ["one", "two"]}


@pytest.mark.parametrize(
    ("schema", "spec"),
    [
        ({"annotation_type": "likert", "size": 7}, "ordinal:1-7"), ({"annotation_type": "likert"}, None),
        ({"annotation_type": "radio", "labels": ["a", {"name": "b"}]}, "nominal:a,b"),
        ({"annotation_type": "radio"}, None),
        ({"annotation_type": "text", "size": 3}, "text"), ({"annotation_type": "multiselect"}, "nominal"),
        ({"annotation_type": "pairwise"}, "preference"), ({"annotation_type": "triad_test"}, "odd-one-out"), ({}, None),
    ],
)  # fmt: skip
def test_read_potato_scales_of_configuration(rows, schema, spec):
    scales = rows(line("ann", "k", {"q": {"1": "1"}}), schemes=[{"name": "q", **schema}]).scales
    assert (scales["q"].spec if scales else None) == spec


def test_read_potato_changes_without_time(project, excluded):
    both = {"k1": {"kind": {"Good": "Good", "Bad": "Bad"}}, "k2": {"stars": {"1": "1", "2": "2"}}}
    good, bad = ({"schema_name": "kind", "new_value": word} for word in ("Good", "Bad"))
    changes = [good, bad | {"timestamp": 0.5}, good]
    seen = {"k1": {"annotation_changes": changes}}
    labels = assay.read(project("ann", both, instance_id_to_behavioral_data=seen))
    assert labels.labels.select("item", "label").rows() == [("k1", "Bad")]
    assert excluded(labels) == {intake.AMBIGUOUS: 1}


def test_read_potato_triads_require_three_texts(project, excluded):
    path = project("ann", {"k1": {"odd": {"odd": triad("a", "b", "c", "b")}}})
    project("bob", {"k1": {"odd": {"odd": triad("a", "b", "c", "d")}}})
    project("chi", {"k1": {"odd": {"odd": triad("a", "b", "b")}}})
    labels = assay.read(path)
    assert labels.labels.select("annotator", "label").rows() == [("ann", "C")]
    assert labels.column("position").to_list() == [2]
    assert labels.items.select("first", "second", "third").row(0) == ("c", "a", "b")
    assert excluded(labels) == {intake.AMBIGUOUS: 2}


def test_read_potato_numbers_without_configuration(put):
    rows = [{"instance_id": f"k{n}", "user_id": "ann", "labels": {"stars": {str(n): str(n)}}} for n in range(1, 4)]
    assert assay.read(put("annotations.jsonl", rows)).labels["label"].to_list() == [1, 2, 3]
    line = json.dumps(rows[0])
    assert [potato.is_potato_line(text) for text in (line, "[1]", "x", '{"user_id": 1}')] == [True, False, False, False]


@pytest.mark.real_data
def test_read_potato_real_project(real_data, expected, answers):
    labels = assay.read(real_data / "formats" / "potato")
    notes = {row["item"]: [row["first"], row["second"], row["third"]] for row in labels.items.iter_rows(named=True)}
    sides = {"-1": "A", "1": "B", "0": "tie"}

    def value(item, criterion, label):
        if criterion == "odd":
            return notes[item]["ABC".index(label)]
        return sides[label] if criterion == "better" else label

    found = {(i, a, c, value(i, c, v)) for i, a, c, v in answers(labels)}
    assert found == {(r["item"], r["annotator"], r["schema"], r["value"]) for r in expected("formats/potato")}


# -- function by function ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "given", "label", "written"),
    [
        ("t", {"any": "so"}, "so", True), ("t", {"any": "so", "more": "x"}, "any|more", True),
        ("new", {"text_box": "so"}, "so", True),
        ("new", {"text": "so"}, "so", True), ("new", {"text": "true"}, "text", False),
        ("new", {"text": "on"}, "text", False), ("new", {"text": "text"}, "text", False),
        ("new", {"other": "so"}, "other", False),
    ],
)  # fmt: skip
def test_read_potato_text_answers(rows, schema, given, label, written):
    """By the schema, otherwise by the name of the one box."""
    schemes = ({"name": "t", "annotation_type": "text"},)
    read = rows(line("ann", "k", {schema: given}), schemes=schemes)
    assert read.labels["label"].to_list() == [label]
    assert {name: scale.spec for name, scale in read.scales.items()} == ({schema: "text"} if written else {})


@pytest.mark.parametrize(
    ("kind", "given", "label"),
    [
        ("likert", {"4": "on", "text_box": "not sure"}, 4), ("likert", {"scale_4": "4"}, 4),
        ("radio", {"a": "on", "free_response": "so"}, "a"),
        ("multiselect", {"a": "on", "b": "on", "text_box": "so"}, "a|b"),
        ("radio", {"text_box": "on"}, "text_box"),
    ],
)  # fmt: skip
def test_read_potato_choices_next_to_a_text_box(rows, kind, given, label):
    """Words are no choice, unless the configuration names one so."""
    labels = ["text_box"] if label == "text_box" else None
    read = rows(line("ann", "k", {"q": given}), schemes=({"name": "q", "annotation_type": kind, "labels": labels},))
    assert read.labels["label"].to_list() == [label]


@pytest.mark.parametrize("kind", ["likert", "radio", "multiselect"])
@pytest.mark.parametrize("box", ["text_box", "free_response", "bad_text"])
def test_read_potato_counts_words_instead_of_a_choice(rows, kind, box):
    """A box of a likert question ended in a ValueError."""
    lines = line("ann", "k1", {"q": {box: "not sure"}}), line("ann", "k2", {"q": {"3": "3"}})
    read = rows(*lines, schemes=({"name": "q", "annotation_type": kind},))
    assert [str(label) for label in read.labels["label"]] == ["3"]
    assert [(e.reason, e.count) for e in read.reading.exclusions] == [(potato.IN_WORDS, 1)]


def test_read_potato_counts_every_entry(rows, put):
    given = {"a": {}, "b": {"text": "so"}, "c": {"x": "x"}, "d": {"selection": "A"}}
    read = rows(line("ann", "k0", {}), line("ann", "k", given))
    assert read.labels.select("criterion", "label", "_row", "position").rows() == [
        ("b", "so", "ann: k", None), ("c", "x", "ann: k", None), ("d", "-1", "ann: k", 1),
    ]  # fmt: skip
    assert [(e.reason, e.count) for e in read.reading.exclusions] == [(intake.EMPTY, 2)]
    assert {name: scale.spec for name, scale in read.scales.items()} == {"b": "text", "d": "preference"}
    made = state(
        "ann", {"k": {"d": {"selection": "A"}, "e": {"selection": "B"}}},
        instance_id_to_presentation_order={"k": {"d": ["x"]}},
        instance_id_to_behavioral_data={"k": {"total_time_ms": 2000}},
    )  # fmt: skip
    read = potato.read_potato(put("ann/user_state.json", made), None, FormatSettings())
    assert read.labels.select("criterion", "label", "position", "seconds").rows() == [("e", 1, 2, 2.0)]
    assert [(e.reason, e.count) for e in read.reading.exclusions] == [(potato.SHUFFLED, 1)]
    assert {name: scale.spec for name, scale in read.scales.items()} == {"e": "preference"}


def test_potato_folders_of_project(put, tmp_path):
    def scale(path, config=None):
        """The scale of stars, of which each configuration has another."""
        read = potato.read_potato(path, None, FormatSettings(config=config))
        assert read.labels.select("item", "annotator", "label").rows() == [("k", "ann", 3)]
        return read.scales["stars"].spec if read.scales else None

    def config(size):
        return {"annotation_schemes": [{"name": "stars", "annotation_type": "likert", "size": size}]}

    made = state("ann", {"k": {"stars": {"3": "3"}}})
    own = put("own.yaml", config(7))
    put("a/config.yaml", config(5))
    output = put("a/annotation_output/ann/user_state.json", made).parents[1]
    put("b/ann/user_state.json", made)
    assert scale(tmp_path / "a") == scale(output) == "ordinal:1-5"
    assert scale(output, own) == scale(tmp_path / "b", own) == "ordinal:1-7"
    assert scale(tmp_path / "b") is None
    lines = put("a/x.jsonl", [line("ann", "k", {"stars": {"3": "3"}})])
    assert [scale(lines), scale(lines, own)] == [None, "ordinal:1-7"]
    assert [potato.is_potato(p) for p in (tmp_path / "a", output, tmp_path / "b", output / "ann")] == [True] * 3 + [
        False
    ]


def test_potato_entries_of_exports(put, tmp_path):
    def entries(path, *more):
        read = potato.read_potato(path, None, FormatSettings())
        found = read.labels.select("annotator", "item", "criterion", "label", *more).rows()
        return found, sum(e.count for e in read.reading.exclusions)

    frame = {"instance_id": [1, 2], "user_id": ["ann", "bob"], "stars": [4.0, None], "tags": [["x", "y"], None]}
    pl.DataFrame(frame).write_parquet(tmp_path / "t.parquet")
    assert entries(tmp_path / "t.parquet") == ([("ann", "1", "stars", "4"), ("ann", "1", "tags", "x|y")], 1)
    table = put("t.tsv", "instance_id\tuser_id\ta.x\ta.y\tplain\nk\tann\t1\t\tz\n")
    assert entries(table) == ([("ann", "k", "a", "x")], 0)
    lines = put("t.jsonl", [line(2, 1, None), line(2, 3, {"a": {"x": "x"}})])
    assert entries(lines) == ([("2", "3", "a", "x")], 1)
    made = state("", {"k": {"a": {"x": 1}}}, instance_id_to_behavioral_data={"k": {"total_time_ms": 0}})
    path = put("ann/user_state.json", made)
    wanted = [("ann", "k", "a", "x", 0.0)], 0
    assert [entries(one, "seconds") for one in (path, path.parent, tmp_path)] == [wanted] * 3


def test_read_potato_refuses_invalid_configuration(put):
    lines = put("d/lines.jsonl", [line("ann", "7", {"a": {"x": "x"}})])
    for text, words in (("a: [", "cannot be read as potato's configuration"), ("- a", "it contains no settings")):
        with pytest.raises(DataError, match=words):
            potato.read_potato(lines, None, FormatSettings(config=put("c.yaml", text)))
    put("d/x.jsonl", [{"id": 7, "text": "so"}, {"text": "nameless"}])

    def items(**config):
        return potato.read_potato(lines, None, FormatSettings(config=put("d/c.yaml", config))).items

    assert items(other=1) is None
    assert items(data_files=["x.jsonl"]).rows() == [("7", "so")]
