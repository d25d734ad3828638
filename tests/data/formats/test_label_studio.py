"""Label Studio: full JSON, snapshots and the flat forms; positions, skips, drafts, deleted accounts."""

from __future__ import annotations

import json

import polars as pl
import pytest

import assay
from assay.data.formats import FormatSettings
from assay.data.formats.exports import write
from assay.data.formats.platforms import intake, label_studio
from assay.data.formats.platforms.intake import name_table
from assay.errors import AssayError, DataError
from assay.estimation.result import Exclusion

CONFIG = """<View><Text name="t" value="$text"/>
  <Rating name="stars" toName="t" maxRating="4"/><Number name="score" toName="t" min="0" max="10"/>
  <Choices name="topic" toName="t"><Choice value="Food"/><Choice value="Other thing" alias="other"/></Choices>
  <Choices name="tags" toName="t" choice="multiple"><Choice value="x"/><Choice value="y"/></Choices>
  <TextArea name="why" toName="t"/><Pairwise name="better" toName="l,r"/></View>"""


def result(control, kind, **value):
    return {"from_name": control, "to_name": "t", "type": kind, "value": value}


def stars(n):
    return result("stars", "rating", rating=n)


def annotation(number, who, *results, **more):
    return {"id": number, "completed_by": who, "result": list(results), "was_cancelled": False, **more}


def task(number, *annotations, predictions=(), drafts=(), **data):
    return {
        "id": number,
        "data": {"key": f"k{number}", "text": f"text {number}", **data},
        "annotations": list(annotations),
        "predictions": list(predictions),
        "drafts": list(drafts),
    }


def test_read_label_studio_counts_every_entry(put, answers, excluded):
    path = put(
        "export.json",
        [
            task(
                1,
                annotation(1, 7, stars(3), created_at="2030-01-01T10:00:00Z", lead_time=4.5),
                annotation(2, 8, was_cancelled=True),
                annotation(3, None, stars(1)),
                drafts=[{"id": 1, "result": [stars(2)]}],
            ),
            task(2, annotation(4, 7), annotation(5, 8, stars(2))),
            task(3),
        ],
    )
    labels = assay.read(path, item="key", users={7: "ann", 8: "bob"}, scale="1-4")
    assert answers(labels) == {("k1", "ann", "stars", 3), ("k2", "bob", "stars", 2)}
    assert excluded(labels) == {intake.SKIPPED: 1, intake.UNKNOWN_ANNOTATOR: 1, intake.DRAFT: 1, intake.EMPTY: 1}
    assert labels.items["text"].to_list() == ["text 1", "text 2"]
    assert labels.column("seconds").to_list() == [4.5, None]


def test_read_label_studio_uses_later_annotation(put, answers, excluded):
    why = result("why", "textarea", text=["because"])
    later = annotation(2, 7, stars(4), created_at="2030-01-02")
    path = put("export.json", [task(1, later, annotation(1, 7, stars(1), why, created_at="2030-01-01"))])
    labels = assay.read(path, scale="1-4")
    assert answers(labels) == {("1", "7", "stars", 4)}
    assert excluded(labels) == {intake.SUPERSEDED: 2}


def test_read_label_studio_superseding_ignores_criteria(put, excluded):
    why = result("why", "textarea", text=["because"])
    path = put("export.json", [task(1, annotation(1, 7, stars(1)), annotation(2, 7, why), annotation(3, 8, stars(2)))])
    labels = assay.read(path, scale="1-4", criteria=["stars"])
    assert labels.humans == ("8",)
    assert excluded(labels) == {intake.SUPERSEDED: 1, intake.NOT_SELECTED: 1}


def test_read_label_studio_excludes_labels_off_configured_scale(put, answers, excluded):
    path = put(
        "export.json",
        [
            task(1, annotation(1, 7, stars(9), result("topic", "choices", choices=["other"]))),
            task(
                2,
                annotation(
                    2, 7, stars(4), result("score", "number", number=2.5), result("tags", "choices", choices=["y", "x"])
                ),
            ),
        ],
    )
    labels = assay.read(path, config=put("config.xml", CONFIG))
    assert answers(labels) == {
        ("1", "7", "topic", "other"),
        ("2", "7", "stars", "4"),
        ("2", "7", "score", "2.5"),
        ("2", "7", "tags", "x|y"),
    }
    assert excluded(labels) == {intake.OFF_SCALE: 1}
    assert "labels off the scale: task 1, annotation 1: '9'" in labels.reading.notes
    assert {c: labels.scale_of(c).spec for c in labels.criteria} == {
        "stars": "ordinal:1-4",
        "score": "interval:0-10",
        "topic": "nominal:Food,other",
        "tags": "nominal",
    }
    assert labels.where(criterion="stars").labels["label"].to_list() == [4]


def test_read_label_studio_requires_scale_for_numbers_and_text(put):
    path = put("export.json", [task(1, annotation(1, 7, stars(3), result("why", "textarea", text=["so"])))])
    with pytest.raises(DataError, match=r"set the scale of stars .*or read one kind with criteria="):
        assay.read(path)
    labels = assay.read(path, scale={"stars": "1-5"})
    assert labels.where(criterion="stars").labels["label"].to_list() == [3]
    assert labels.scale_of("why").spec == "text"


def test_read_label_studio_converts_sides_to_options(put, answers):
    def pair(number, left, right, *annotations):
        return task(number, *annotations, left=left, right=right, pair="p")

    def chosen(side):
        return result("better", "pairwise", selected=side)

    path = put(
        "export.json",
        [
            pair(1, "m1", "m2", annotation(1, 7, chosen("left"))),
            pair(2, "m2", "m1", annotation(2, 8, chosen("right"))),
            pair(3, "m2", "m1", annotation(3, 9, chosen("left"))),
            pair(4, "m2", "m1", annotation(4, 10, result("seen", "choices", choices=["yes"]))),
            pair(5, "m1", "m1", annotation(5, 11, chosen("left"))),
        ],
    )
    labels = assay.read(path, item="pair", shown=["left", "right"], criteria=["better"], unchosen_is_tie=True)
    assert answers(labels, "annotator", "label", "position") == {
        ("7", -1, 1),
        ("8", -1, 2),
        ("9", 1, 1),
        ("10", 0, None),
    }
    assert Exclusion("row", 1, intake.AMBIGUOUS) in labels.reading.exclusions
    assert labels.items.select("first", "second").row(0) == ("m1", "m2")
    assert labels.scale.spec == "preference"


def test_read_label_studio_converts_odd_one_to_own_letter(put, answers):
    def triplet(number, order, letter):
        fields = dict(zip(("a", "b", "c"), order, strict=True))
        return task(number, annotation(number, number, result("odd", "choices", choices=[letter])), **fields, t="t1")

    path = put("export.json", [triplet(1, "xyz", "A"), triplet(2, "yxz", "B"), triplet(3, "zyx", "A")])
    labels = assay.read(path, item="t", shown=["a", "b", "c"], scale="odd-one-out")
    assert answers(labels, "annotator", "label") == {("1", "A"), ("2", "A"), ("3", "C")}


def test_read_label_studio_predictions_are_judges(put):
    made = {"model_version": "gpt", "result": [stars(2)], "created_at": "2030-01-01"}
    path = put("export.json", [task(1, annotation(1, 7, stars(3)), predictions=[made, 12])])
    labels = assay.read(path, scale="1-4")
    assert (labels.humans, labels.judges) == (("7",), ("gpt",))
    assert any("1 prediction given only by number" in note for note in labels.reading.notes)
    assert assay.read(path, scale="1-4", predictions=False).judges == ()


FLAT = """"annotation_id","annotator","created_at","id","lead_time","stars","topic","updated_at"
1,"7","2030-01-01",1,2.5,"[{""rating"":3}]","Food","2030-01-01"
2,"None","2030-01-01",1,2.5,"[{""rating"":1}]","Food","2030-01-01"
3,"8","2030-01-01",1,2.5,"","","2030-01-01"
,"","",2,"","","",""
"""


def test_read_label_studio_flat_export_with_criteria(put, answers, excluded):
    path = put("export.csv", FLAT)
    labels = assay.read(path, scale="1-4")
    assert answers(labels) == {("1", "7", "stars", 3)}
    assert excluded(labels) == {
        intake.UNKNOWN_ANNOTATOR: 1,
        intake.EMPTY: 1,
        "task without an annotation": 1,
    }
    assert "answers: stars; assumed data: topic (if wrong, set criteria=[...])" in labels.reading.notes
    both = assay.read(path, scale={"stars": "1-4", "topic": "nominal"}, criteria=["stars", "topic"])
    assert answers(both) == {("1", "7", "stars", "3"), ("1", "7", "topic", "Food")}


def test_read_label_studio_json_min_unanswered_control(put, answers):
    row = {"id": 1, "annotator": 7, "annotation_id": 1, "lead_time": 1, "updated_at": "", "created_at": ""}
    path = put("min.json", [{**row, "stars": [{"rating": 2}]}, {**row, "id": 2, "annotation_id": 2, "stars": "data"}])
    assert answers(assay.read(path, scale="1-4")) == {("1", "7", "stars", 2)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"item": "kee"}, "field 'kee' is not in .*task 1; did you mean 'key'"),
        ({"criteria": ["star"]}, "question 'star' is not in .*did you mean 'stars'"),
        ({"scale": "7-9"}, "every label is off its scale .*whole number from 7 to 9"),
        ({"shown": ["a"]}, "two or three fields"),
        ({"usres": {}}, "option 'usres' is not in the options of read; did you mean 'users'"),
        ({"config": "nowhere.xml"}, "nowhere.xml cannot be parsed"),
        ({"format": "label_studio"}, "did you mean 'label-studio'"),
    ],
)
def test_read_label_studio_errors_name_the_problem(put, options, message):
    path = put("export.json", [task(1, annotation(1, 7, stars(3)))])
    with pytest.raises(AssayError, match=message):
        assay.read(path, **options)


PROJECTS = {
    "rating": "item_id",
    "choices": "item_id",
    "pairwise": "pair_id",
    "odd_one_out": "triplet_id",
    "ui": "id",
    "deleted_user": "item_id",
}


@pytest.mark.real_data
@pytest.mark.parametrize("project", PROJECTS)
def test_read_label_studio_real_exports(real_data, expected, answers, excluded, project):
    folder = real_data / "label_studio"
    rows = [r for r in expected("label_studio") if r["file"] == f"{project}.json"]
    config = folder / f"{project}.config.xml"
    labels = assay.read(
        folder / f"{project}.json",
        item=PROJECTS[project],
        users=folder / "users.json",
        keep_unknown=True,
        **({"config": config} if config.is_file() else {"scale": "1-5"}),
    )
    sides = {"left": "-1", "right": "1"}
    wanted = {
        (
            r["item"],
            r["annotator"] or "unknown",
            r["control"],
            "|".join(sorted(sides.get(r["value"], r["value"]).split("|"))),
        )
        for r in rows
        if r["status"] == "ok"
    }
    assert {(*key, str(value).removesuffix(".0")) for *key, value in answers(labels)} == wanted
    for status, reason in (("skipped", intake.SKIPPED), ("empty", intake.EMPTY), ("superseded", intake.SUPERSEDED)):
        assert excluded(labels).get(reason, 0) == sum(r["status"] == status for r in rows)


@pytest.mark.real_data
@pytest.mark.parametrize("form", ["csv", "tsv", "min.json", "snapshot_default.json", "snapshot_full.json"])
def test_read_label_studio_all_forms_agree(real_data, answers, form):
    folder = real_data / "label_studio"

    def labels(name):
        read = assay.read(
            folder / name,
            item="item_id",
            users=folder / "users.json",
            criteria=["stars", "score"],
            scale={"stars": "1-5", "score": "interval:0-100"},
            predictions=False,
        )
        return answers(read)

    # A snapshot's flat form omits the deleted draft, like the JSON.
    assert labels(f"rating.{form}") == labels("rating.json")


def test_read_label_studio_names_users(put):
    users = [{"id": 1, "email": "ann@example.org", "username": "ann"}, {"id": 2, "email": "", "username": "bob"}]
    wanted = {"1": "ann@example.org", "2": "bob", "3": "3"}
    assert name_table(put("users.json", [*users, {"id": 3}])) == wanted
    assert name_table({1: "ann", "2": 5}) == {"1": "ann", "2": "5"}
    assert name_table(None) == {}
    for wrong in ([*users, {"name": "eve"}], ["ann"], [["id"]], 5):
        with pytest.raises(DataError, match=r"must contain \{id: name\} or a list of users with id and email"):
            name_table(put("users.json", wrong))


# -- notes and attributes ---------------------------------------------------------------------------------

NUMBERS = "annotators are user numbers of one server; name them with users=..."


def test_read_label_studio_notes(put):
    made = [{"model_version": "gpt", "result": [stars(2)]}, 12, {"model_version": "gpt", "result": []}]
    path = put("export.json", [task(1, annotation(1, 7, stars(3), updated_by=9, ground_truth=True), predictions=made)])
    labels = assay.read(path, scale="1-4")
    assert labels.reading.notes == (
        "items are named by task number; name your own field with item=... (key, text)",
        "1 annotation last changed by another user than the author",
        "1 prediction given only by number; a snapshot with expanded predictions contains their answers",
        NUMBERS,
    )
    assert [str(one) for one in labels.reading.exclusions] == [f"1 row: {intake.EMPTY}"]
    assert labels.items.to_dict(as_series=False) == {"item": ["1"], "key": ["k1"], "text": ["text 1"]}
    own = annotation(1, {"id": 7, "email": ""}, stars(3), updated_by=7)
    many = put("many.json", [task(1, own, **dict.fromkeys("abcdefgh", "x"))])
    notes = assay.read(many, scale="1-4", users={"7": "ann"}).reading.notes
    assert notes[0].endswith("item=... (key, text, a, b, c, d and 4 more)")
    assert len(notes) == 1
    flat = assay.read(put("export.csv", FLAT), scale="1-4")
    assert flat.reading.notes == (
        "a flat export contains no skips, drafts, predictions and ground truth; JSON contains them",
        "answers: stars; assumed data: topic (if wrong, set criteria=[...])",
        "items are named by task number; name your own field with item=... (stars, topic)",
        NUMBERS,
        "1 item without a label",
    )
    assert flat.labels["seconds"].to_list() == [2.5]


def test_read_label_studio_keeps_sides_without_shown(put):
    def pair(number, left, right, side):
        return task(
            number, annotation(number, number, result("better", "pairwise", selected=side)), left=left, right=right
        )

    path = put("pairs.json", [pair(1, "m1", "m2", "left"), pair(2, "m2", "m1", "right")])
    labels = assay.read(path)
    assert labels.labels.select("annotator", "label").rows() == [("1", -1), ("2", 1)]
    assert labels.column("position").to_list() == [1, 2]
    assert "better: the left option is the first; name the fields with shown=[...]" in labels.reading.notes
    assert "scale stated in the export: better preference" in labels.reading.notes
    named = assay.read(path, shown=["left", "right"])
    assert named.labels["label"].to_list() == [-1, -1]
    assert not any("left counts as the first" in note for note in named.reading.notes)


def test_read_label_studio_keeps_position_of_odd_one(put):
    def triplet(number, order, letter):
        fields = dict(zip(("a", "b", "c"), order, strict=True))
        return task(number, annotation(number, number, result("odd", "choices", choices=[letter])), **fields)

    path = put("export.json", [triplet(1, "xyz", "A"), triplet(2, "yxz", "B"), triplet(3, "zyx", "C")])
    labels = assay.read(path, shown=["a", "b", "c"], scale="odd-one-out")
    assert labels.labels["label"].to_list() == ["A", "A", "A"]
    assert labels.column("position").to_list() == [1, 2, 3]


def test_write_label_studio_writes_judge_labels(tmp_path):
    frame = pl.DataFrame(
        {"item": ["q1", "q1", "q2"], "annotator": ["ann", "gpt", "gpt"], "label": [4, 5, 2],
         "kind": ["human", "judge", "judge"], "told": ["é", "é", "x"], "own": ["a", "b", "c"]}
    )  # fmt: skip
    written = write(assay.read(frame, scale="1-5"), tmp_path / "out.json", "label-studio")
    assert written.notes == ("1 human label not written: predictions are labels of models",)
    text = (tmp_path / "out.json").read_text("utf-8")
    rating = {"from_name": "label", "to_name": "text", "type": "rating"}
    assert json.loads(text) == [
        {"data": {"item": "q1", "told": "é"}, "predictions": [
            {"model_version": "gpt", "result": [{**rating, "value": {"rating": 5}}]}]},
        {"data": {"item": "q2", "told": "x"}, "predictions": [
            {"model_version": "gpt", "result": [{**rating, "value": {"rating": 2}}]}]},
    ]  # fmt: skip
    assert '"told": "é"' in text  # dialect: kept
    alone = assay.read(frame.filter(pl.col("annotator") == "gpt"), scale="1-5")
    assert write(alone, tmp_path / "out.json", "label-studio").notes == ()


# -- function by function ------------------------------------------------------------------------------


@pytest.fixture
def rows(put):
    """The rows that the reader makes of an export."""

    def read(content, item=None, **options):
        return label_studio.read_label_studio(put("export.json", content), item, FormatSettings(**options))

    return read


def labels_of(read):
    """Labels by control."""
    return dict(read.labels.select("criterion", "label").rows())


@pytest.mark.parametrize(
    ("one", "label"),
    [
        ({"type": "rating", "value": {"rating": 3}}, "3"),
        ({"type": "rating", "value": {"rating": 3, "start": 1}}, None),  # a region of the item
        ({"type": "number", "value": {"number": 0}}, "0"),
        ({"type": "choices", "value": {"choices": ["b", "a"]}}, "a|b"),
        ({"type": "choices", "value": {"choices": []}}, None),
        ({"type": "textarea", "value": {"text": ["x", "y"]}}, "x\ny"),
        ({"type": "pairwise", "value": {"selected": "left"}}, "-1"),
        ({"type": "pairwise", "value": None}, "0"),
        ({"type": "labels", "value": {"labels": ["x"]}}, None),
        ({"value": {"rating": 3}}, None),
    ],
)
def test_controls_skip_regions(rows, one, label):
    read = rows([task(1, annotation(1, 7, {"from_name": "q", **one}, result("why", "textarea", text=["so"])))])
    assert labels_of(read) == {"why": "so"} | ({} if label is None else {"q": label})
    reasons = [e.reason for e in read.reading.exclusions]
    assert reasons == ([] if label is not None else [f"'{one.get('type', '')}': not a label of the whole item"])


def flat(*cells, **more):
    """Annotations in the flat form, with cells of the control q and of another control."""
    own = [{"id": k, "annotation_id": k, "annotator": 7, "q": cell} for k, cell in enumerate(cells, 1)]
    return [{**one, "other": "x", **more} for one in own]


@pytest.mark.parametrize(
    ("cell", "scale", "label"),
    [
        ('{"choices": ["b", "a"]}', "nominal", "a|b"), ({"choices": ["b"]}, "nominal", "b"),
        ('{"choices": []}', "text", None), ('{"choices": "b"}', "text", None), ("[1]", "text", None),
        ('[{"rating": 3}]', None, "3"), ('[{"number": 2.5}]', "interval", "2.5"),
        ('[{"selected": "left"}]', "preference", "-1"), ('[{"rating": 3}, {"rating": 4}]', "text", None),
        ('[{"rating": 3, "start": 1}]', "text", None), ("Food", "text", None),
        ("[", "text", None),
    ],
)  # fmt: skip
def test_flat_cells_contain_json(rows, cell, scale, label):
    """A cell without the JSON of an answer is text, unless the control has other answers that are not choices."""

    def q(*cells):
        read = rows(flat(*cells), criteria=["q", "other"])
        found = read.labels.filter(item=str(len(cells)), criterion="q")["label"].to_list()
        return (found[0] if found else None), read.scales

    typed, numeric = label is not None, scale in (None, "interval", "preference")
    found, scales = q(cell)
    assert found == (label if typed else cell)
    if typed:
        assert (scales["q"].spec if "q" in scales else None) == scale
    if not numeric:
        assert q('{"choices": ["z"]}', cell)[0] == (label if typed else cell)
    if numeric or not typed:
        assert q('[{"rating": 5}]', cell)[0] == label


def test_flat_cells_without_answers_and_seconds(rows):
    read = rows(flat(None, "", [], 0), criteria=["q", "other"])
    assert read.labels.filter(criterion="q").select("item", "label").rows() == [("4", "0")]
    seconds = [rows(flat("x", lead_time=time), criteria=["q"]).labels for time in (None, "", "2.5", 0)]
    assert [one["seconds"].to_list() if "seconds" in one.columns else None for one in seconds] == [
        None, None, [2.5], [0.0],
    ]  # fmt: skip


def test_read_config_with_partial_scales(put):
    config = """<View><Rating name="a"/><Number name="b" min="1"/><Number name="c" max="1"/><Choices name="d"/>
      <Choices name="e"><View><Choice alias="x" value="y"/><Choice value="z"/></View></Choices>
      <Choices name="f" choice="single-radio"><Choice value="z"/></Choices><Header name="g" value="h"/></View>"""
    found = label_studio.read_config(put("config.xml", config))
    assert {name: scale.spec for name, scale in found.items()} == {
        "a": "ordinal:1-5", "b": "interval", "c": "interval", "d": "nominal", "e": "nominal:x,z", "f": "nominal:z",
    }  # fmt: skip
    for wrong in ("<View>", "x"):
        with pytest.raises(DataError, match=r"config\.xml cannot be parsed as a labelling configuration"):
            label_studio.read_config(put("config.xml", wrong))


@pytest.mark.parametrize(
    ("who", "keep", "name"),
    [
        (7, False, "ann"), ("7", False, "ann"), (8, False, "8"), ({"id": 7}, False, "ann"),
        ({"id": 7, "email": "eve@x"}, False, "eve@x"), (None, False, None), ("None", False, None), ("", False, None),
        (None, True, "unknown"), ("None", True, "unknown"), ({}, True, "unknown"), (7, True, "ann"),
    ],
)  # fmt: skip
def test_person_of_annotation(rows, who, keep, name):
    other = annotation(2, 99, stars(1))
    read = rows([task(1, annotation(1, who, stars(3)), other)], users={7: "ann"}, keep_unknown=keep)
    assert read.labels["annotator"].to_list() == [*([] if name is None else [name]), "99"]
    assert [e.reason for e in read.reading.exclusions] == ([] if name else [intake.UNKNOWN_ANNOTATOR])


def test_read_label_studio_items_with_several_tasks(rows, put):
    def items(*tasks):
        made = [task(n, annotation(k, k, stars(3)), key=key) for k, (n, key) in enumerate(tasks, 1)]
        read = rows(made, "key", users={k: f"ann {k}" for k in range(9)})
        return read.labels["item"].to_list(), read.reading.notes

    assert items((1, "a"), (2, "b"), (1, "a")) == (["a", "b", "a"], ())
    later = "some items have several tasks: for each annotator, the later answer is used"
    assert items((1, "a"), (2, "b"), (3, "b")) == (["a", "b", "b"], (later,))
    with pytest.raises(DataError, match=r"export\.json contains only the numbers of annotations; export them in full"):
        rows([task(1, 5)])
    for tasks in ({"id": 1}, [1], [{"id": 1}, 2]):
        with pytest.raises(DataError, match="must contain a list of tasks, as Label Studio exports them"):
            assay.read(put("x.json", tasks), format="label-studio")
    with pytest.raises(DataError, match="requires the two or three fields shown next to each other; got 4"):
        rows([task(1)], shown=list("abcd"))


def test_read_label_studio_notes_edited_annotations(rows):
    def edited(**made):
        read = rows([task(1, annotation(1, 7, stars(3), **made))], users={7: "ann"})
        return sum("1 annotation last changed by another user" in note for note in read.reading.notes)

    assert [edited(), edited(updated_by=None), edited(updated_by=7), edited(updated_by=9)] == [0, 0, 0, 1]
    assert edited(completed_by={"id": 7, "email": "x"}, updated_by=7) == 0


@pytest.mark.parametrize(
    ("scale", "label", "kind", "value"),
    [
        ("preference", -1, "choices", {"choices": ["first"]}), ("preference", 0, "choices", {"choices": ["tie"]}),
        ("preference", 1, "choices", {"choices": ["second"]}), ("1-5", 4, "rating", {"rating": 4}),
        ("interval:0-1", 0.5, "number", {"number": 0.5}), ("text", "so", "textarea", {"text": ["so"]}),
        ("nominal:a,b", "b", "choices", {"choices": ["b"]}),
    ],
)  # fmt: skip
def test_write_label_studio_results_by_scale(tmp_path, scale, label, kind, value):
    frame = pl.DataFrame({"item": ["a"], "annotator": ["m"], "criterion": ["q"], "label": [label], "kind": ["judge"]})
    write(assay.read(frame, scale=scale), tmp_path / "p.json", "label-studio")
    (written,) = json.loads((tmp_path / "p.json").read_text("utf-8"))
    assert written["predictions"][0]["result"] == [{"from_name": "q", "to_name": "text", "type": kind, "value": value}]


def test_write_label_studio_one_task_per_item(tmp_path):
    frame = pl.DataFrame({
        "item": ["a", "a", "a", "b"], "annotator": ["m", "n", "ann", "m"], "label": [4, 5, 3, 2],
        "kind": ["judge", "judge", "human", "judge"], "topic": ["x", "x", "x", "y"], "mood": ["u", "v", "u", "u"],
    })  # fmt: skip
    labels = assay.read(frame, scale="1-5", items=pl.DataFrame({"item": ["a", "b"], "text": ["t", None]}))
    written = write(labels, tmp_path / "p.json", "label-studio")
    assert written.notes == ("1 human label not written: predictions are labels of models",)
    tasks = json.loads((tmp_path / "p.json").read_text("utf-8"))
    assert [one["data"] for one in tasks] == [{"item": "a", "text": "t", "topic": "x"}, {"item": "b", "topic": "y"}]
    first = tasks[0]["predictions"]
    assert [(p["model_version"], p["result"][0]["value"]["rating"]) for p in first] == [("m", 4), ("n", 5)]
    assert (first[0]["result"][0]["from_name"], first[0]["result"][0]["to_name"]) == ("label", "text")
    alone = labels.where(annotator=["m", "n"])
    assert write(alone, tmp_path / "p.json", "label-studio").notes == ()
    with pytest.raises(DataError, match="predictions are judge labels; the table contains none"):
        write(labels.where(annotator="ann"), tmp_path / "p.json", "label-studio")


def test_read_label_studio_flat_export_with_config(put, answers):
    path, config = put("export.csv", FLAT), put("config.xml", CONFIG)
    labels = assay.read(path, config=config)
    assert answers(labels) == {("1", "7", "stars", "3"), ("1", "7", "topic", "Food")}
    assert labels.scale_of("topic").spec == "nominal:Food,other"
    assert not any("assumed data" in note for note in labels.reading.notes)
    nameless = put("nameless.xml", '<View><Rating maxRating="4"/></View>')
    assert answers(assay.read(path, config=nameless, scale="1-4")) == {("1", "7", "stars", 3)}


def test_read_label_studio_unchosen_pairs_are_ties(put, answers):
    def seen(number):
        return annotation(number, number, result("topic", "choices", choices=["Food"]))

    path, config = put("pairs.json", [task(1, seen(7)), task(2, seen(8))]), put("config.xml", CONFIG)
    ties = assay.read(path, config=config, unchosen_is_tie=True, criteria=["better"])
    assert answers(ties, "item", "label", "annotator") == {
        ("1", 0, "7"), ("2", 0, "8"),
    }  # fmt: skip
    assert assay.read(path, config=config).criteria == ("topic",)
    assert assay.read(path, unchosen_is_tie=True, scale="nominal").criteria == ("topic",)
