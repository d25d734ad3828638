"""What `look` says of a table: what it can answer and what it lacks, and what may be a slip."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import assay
from assay import looking
from assay.looking import _answerable, _doubts_of


def answers(labels: assay.Annotations) -> dict[str, tuple[bool, str]]:
    return {one.question: (one.yes, one.why) for one in _answerable(labels)}


def table(
    people: int = 3, judges: tuple[str, ...] = ("m",), scale: str = "1-5", **items: list[object]
) -> assay.Annotations:
    names = [f"i{i}" for i in range(8)]
    rows = [(item, f"p{k}", 1 + (i + k) % 5) for i, item in enumerate(names[:6]) for k in range(people)]
    rows += [(item, judge, 1 + i % 5) for i, item in enumerate(names) for judge in judges]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return assay.Annotations.from_frame(frame, judges=judges, scale=scale, items=pl.DataFrame({"item": names, **items}))


def test_what_a_table_can_answer():
    found = answers(table(lesson=["a", "b", "c", "d"] * 2, id=list(range(8)), same=["x"] * 8))
    assert found == {
        "may m stand in for people?": (True, ""),
        "agreement?": (True, "6 items with two labels or more"),
        "on which scale to ask?": (False, "no column says on which scale was asked"),
        "which is better (votes)?": (False, "no votes; labels are not first, second or tie"),
        "the same ideas (triplets)?": (False, "no odd ones out; labels are not A, B or C"),
        "lessons and raters (G-study)?": (True, "by lesson"),
        "is the judge fair to groups?": (True, "by lesson"),
        "corrected estimates?": (True, "2 items with the judge's label alone"),
    }


def test_what_a_table_lacks():
    alone = answers(table(judges=(), few=["a", "b"] * 4))
    assert alone["may a judge stand in for people?"] == (False, "no judge: name it with judges=[...]")
    assert alone["is the judge fair to groups?"] == (False, "no judge")
    assert alone["corrected estimates?"] == (False, "no judge")
    assert answers(table(people=0))["corrected estimates?"] == (False, "no labels of people")
    one = answers(table(people=1))
    assert one["may m stand in for people?"] == (False, "fewer than two people")
    assert one["corrected estimates?"] == (True, "2 items with the judge's label alone")
    assert assay.estimate(table(people=1), "m").table["n"][0] == 6
    assert answers(table(people=2))["may m stand in for people?"] == (True, "with 2 people; 3 or more tell more")
    many = answers(table(seven=[*"abcdefg", "g"], six=[*"abcdef", "f", "f"]))
    assert many["lessons and raters (G-study)?"] == (True, "by seven, six")
    assert many["is the judge fair to groups?"] == (True, "by six")
    assert answers(table(two=["a", "b"] * 4))["lessons and raters (G-study)?"] == (True, "by two")
    some = table()
    every = some.where(item=[f"i{i}" for i in range(6)])
    assert answers(every)["corrected estimates?"] == (
        False, "every item has people's labels: add items that the judge alone has labelled"
    )  # fmt: skip
    letters = [("a", "p", "A"), ("b", "q", "C")]
    odd = assay.read(pl.DataFrame(letters, schema=["item", "annotator", "label"], orient="row"))
    assert answers(odd)["the same ideas (triplets)?"] == (False, "no odd ones out; read with scale='odd-one-out'")
    apart = every.where(annotator="p0")
    assert answers(apart)["agreement?"] == (False, "0 items with two labels or more")
    votes = assay.read(pl.DataFrame({"item": ["a", "b"] * 2, "annotator": list("ppqq"), "label": ["first", "tie"] * 2}),
                       scale="preference")  # fmt: skip
    assert answers(votes)["which is better (votes)?"] == (True, "")


def test_what_may_be_a_slip():
    rows = [(f"i{i}", who, 1 + (i + k) % 3) for i in range(12) for k, who in enumerate(("anna", "Anna", "m"))]
    frame = pl.DataFrame([*rows[:-1], ("i11", "m", 50)], schema=["item", "annotator", "label"], orient="row")
    items = pl.DataFrame({"item": [f"i{i}" for i in range(12)], "text": [None, None, "same", "same", *"abcdefgh"]})
    labels = assay.Annotations.from_frame(frame, judges=["m"], items=items, spelling="apart", scale="interval")
    assert _doubts_of(labels, ()) == [
        "'Anna', 'anna' are nearly the same annotator",
        "label 50 of m on 'i11' is far from 1 to 3",
        "items 'i2', 'i3' share their text",
    ]
    fewer = labels.where(item=[f"i{i}" for i in range(6, 12)])  # 18 labels: too few to say what is far
    assert _doubts_of(fewer, ()) == ["'Anna', 'anna' are nearly the same annotator"]


def test_what_is_far_from_nearly_all_others_is_said():
    def far(*labels: float) -> list[str]:
        frame = pl.DataFrame({"item": [f"i{n}" for n in range(len(labels))], "annotator": "ann", "label": labels})
        doubts = _doubts_of(assay.Annotations.from_frame(frame, scale="interval"), ())
        return [one.removeprefix("label ").replace(" of ann on ", " ") for one in doubts]

    many = [1.0, 3.0] * 20
    assert far(*many, 9.5) == ["9.5 'i40' is far from 1 to 3"]
    assert far(*many, 9) == []  # three times the range of the others, no more
    assert far(*many, -5.5) == ["-5.5 'i40' is far from 1 to 3"]
    assert far(*many, -5) == []
    assert far(*[2.0] * 40, 5.5) == ["5.5 'i40' is far from 2 to 2"]
    assert far(*[2.0] * 40, 5) == []
    assert far(*[1.0, 3.0] * 13, 9.5) == ["9.5 'i26' is far from 1 to 3"]
    assert far(*[1.0, 3.0] * 12, 9.5) == []  # 25 are too few to say what is far
    assert far(*[0.0, 2.0] * 20, 8.5) == ["8.5 'i40' is far from 0 to 2"]
    assert far(*[-2.0, 0.0] * 20, 6.5) == ["6.5 'i40' is far from -2 to 0"]
    # Of 101 labels two at an end are far from the others; three are too many to be slips.
    most = [1.0, 3.0] * 49
    for slip in (-50.0, 50.0):
        assert far(*most, 3.0, slip, slip) == [f"{slip:g} 'i{n}' is far from 1 to 3" for n in (99, 100)]
        assert far(*most, slip, slip, slip) == []
    assert far(*many * 6, 50, 51, 52, 53) == [f"{50 + n} 'i{240 + n}' is far from 1 to 3" for n in range(3)]


def test_votes_are_told_by_their_words(tmp_path):
    def options(*labels: str, **more: Any) -> dict[str, Any]:
        rows = "".join(f"i{n},{who},{label}\n" for who in ("ann", "bob") for n, label in enumerate(labels))
        (tmp_path / "labels.csv").write_text("item,annotator,label\n" + rows)
        return assay.look(tmp_path / "labels.csv", **more).options

    assert options("first", "second", "tie")["scale"] == "preference"
    assert options("first", "second", "second")["scale"] == "preference"
    assert "scale" not in options("first", "second", "third")
    assert options("first", "second", "tie", scale="nominal")["scale"] == "nominal"
    assert options("1", "3", "2")["scale"] == "1-3"
    assert "scale" not in options("1", "3", "2.5")


def test_lines_say_what_to_look_at_and_what_is_not_read(tmp_path):
    (tmp_path / "labels.csv").write_text("item,annotator,label\n" + "".join(
        f"i{i},{who},{1 + (i + k) % 3}\n" for i in range(6) for k, who in enumerate(("ann", "bob"))))  # fmt: skip
    found = assay.look(tmp_path / "labels.csv", judges=["bob"])
    assert found.head.endswith("labels.csv: 12 rows × 3 columns, one row a label")
    assert "  may bob stand in for people? no: fewer than two people" in found.lines()
    assert "  agreement? yes: 6 items with two labels or more" in found.lines()
    assert found.summary().splitlines()[-1] == f"Read it with: {found.call}"


def test_what_is_lacking_is_no_doubt(tmp_path):
    (tmp_path / "labels.csv").write_text("item,annotator\n" + "".join(f"i{i},{'ab'[i % 2]}\n" for i in range(8)))
    found = assay.look(tmp_path / "labels.csv")
    assert found.lacking == ("no column that holds the label was found",)
    assert found.doubts == ()


def test_a_total_of_words_is_not_looked_for(tmp_path):
    """A column that its name calls computed stays out, and nothing is added up of columns of words."""
    (tmp_path / "words.csv").write_text("item,ann,bob,cho,total\n" + "".join(
        f"i{i},{'yes' if i % 2 else 'no'},{'yes' if i % 3 else 'no'},{'yes' if i % 5 else 'no'},{i % 4}\n"
        for i in range(12)))  # fmt: skip
    found = assay.look(tmp_path / "words.csv")
    roles = {one.name: (one.role, one.why) for one in found.columns}
    assert roles["total"] == ("computed", "by its name")
    assert [name for name, (role, _) in roles.items() if role == "person"] == ["ann", "bob", "cho"]


def test_of_two_columns_neither_is_told_out_by_its_range(tmp_path):
    """Of three columns one on a far wider range is no annotator; of two nobody can say which."""

    def people(*columns: str) -> list[str]:
        rows = {"ann": [1 + i % 5 for i in range(12)], "bob": [1 + (i + 1) % 5 for i in range(12)]}
        frame = pl.DataFrame({"item": [f"i{i}" for i in range(12)], **rows, "cho": [40 * one for one in rows["ann"]]})
        frame.select("item", "ann", *columns).write_csv(tmp_path / "some.csv")
        return [one.name for one in assay.look(tmp_path / "some.csv").columns if one.role == "person"]

    assert people("bob", "cho") == ["ann", "bob"]
    assert people("cho") == ["ann", "cho"]


def files(folder: Any, *names: str) -> list[Any]:
    for name in names:
        who = name.removesuffix(".csv")
        (folder / name).write_text("item,annotator,label\n" + "".join(f"i{i},{who},{1 + i % 3}\n" for i in range(6)))
    return [folder / name for name in names]


def test_the_call_names_one_file_or_a_list(tmp_path):
    one, other = files(tmp_path, "ann.csv", "bob.csv")
    single, both = assay.look(one), assay.look([one, other])
    assert single.call.startswith(f"assay.read('{one}'")
    assert both.call.startswith(f"assay.read(['{one}', '{other}']")
    assert (single.source, both.source) == (str(one), "2 files")
    assert assay.look([one]).call == single.call
    memory = assay.look(pl.read_csv(one))
    assert (memory.source, memory.head) == (
        "a table in memory",
        "a table in memory: 6 rows × 3 columns, one row a label",
    )
    for found in (single, both):
        labels = eval(found.call, {"assay": assay})
        assert labels.fingerprint == found.labels.fingerprint
        assert labels.scale == assay.Ordinal(1, 3)


def test_roles_are_looked_for_unless_several_columns_are_the_labels(tmp_path):
    frame = pl.DataFrame(
        {"item": list("abcd"), "annotator": ["x", "y"] * 2, "food": [1, 2, 3, 1], "mood": [1, 2, 2, 3]}
    )
    assert [(one.name, one.role) for one in assay.look(frame, label="food").columns][:3] == [
        ("item", "item"), ("annotator", "annotator"), ("food", "label")
    ]  # fmt: skip
    told = assay.look(frame, label=["food", "mood"])
    assert (told.columns, told.shape, told.n_rows, told.n_columns) == ((), None, 4, 4)
    assert told.options == {"label": ("food", "mood"), "scale": "1-3"}
    assert told.labels.criteria == ("food", "mood")
    empty = assay.look(frame.rename({"food": "label"}).head(0))
    assert (empty.columns, empty.labels, empty.lacking) == ((), None, ("a table in memory has no rows",))
    assert empty.summary().endswith("It cannot be read as it is.")
    assert empty.to_dict()["call"] is None
    with pytest.raises(
        assay.errors.AssayError, match="a table in memory cannot be read yet: a table in memory has no rows"
    ):
        empty.write(tmp_path / "r.yaml")


def test_a_look_is_kept_and_read_again(tmp_path):
    both = files(tmp_path, "ann.csv", "gpt-4o.csv")
    found = assay.look(both)
    assert found.doubts == ("'gpt-4o' looks like a model, and nothing says who is a judge",)
    again = assay.read(found.write(tmp_path / "r.yaml"))
    assert (again.judges, again.fingerprint) == (("gpt-4o",), found.labels.fingerprint)
    assert assay.look(tmp_path / "r.yaml").doubts == ()  # said by the reading
    said = assay.look(both, judges=["ann"], humans=["gpt-4o"])
    assert (said.labels.judges, said.doubts) == (("ann",), ())


def test_which_questions_need_a_second_label_a_condition_or_no_text():
    """One item with two labels is enough to agree on; texts are not compared as labels."""

    def read(*rows: tuple[object, ...], names: tuple[str, ...] = ("item", "annotator", "label"), **how: Any) -> Any:
        return answers(assay.Annotations.from_frame(pl.DataFrame(rows, schema=list(names), orient="row"), **how))

    one = read(("i", "p", 1), ("i", "q", 2), ("j", "p", 1), scale="1-3")
    assert one["agreement?"] == (True, "1 item with two labels or more")
    assert one["may a judge stand in for people?"][0] is False
    texts = read(("i", "p", "so"), ("i", "q", "no"), ("j", "p", "yes"), scale="text")
    assert texts["agreement?"][0] is False
    assert texts["on which scale to ask?"] == (False, "no column says on which scale was asked")
    asked = read(
        ("i", "p", 1, "x"), ("i", "q", 2, "x"), ("i", "p", 1, "y"), names=("item", "annotator", "label", "range"),
        scale="1-3", conditions=["range"],
    )  # fmt: skip
    assert asked["on which scale to ask?"] == (True, "")
    worded = read(
        ("i", "p", 1, "x"), ("i", "q", 2, "x"), ("i", "p", 1, "y"), names=("item", "annotator", "label", "wording"),
        scale="1-3", conditions=["wording"],
    )  # fmt: skip
    assert worded["on which scale to ask?"] == (False, "no column says on which scale was asked")
    ends = [("i", "p", 1, "1-3"), ("i", "q", 2, "1-3"), ("i", "p", 1, "1 to 5")]
    named = ("item", "annotator", "label", "asked_on")
    told = {"long": False, "2026-11": False, "1.0.2-3": False, None: True, "0-10": True}
    for more, known in ([], True), *(([("i", "q", 2, name)], known) for name, known in told.items()):
        found = read(*ends, *more, names=named, scale="1-3", conditions=["asked_on"])
        assert found["on which scale to ask?"][0] is known


def test_of_many_judges_three_are_named_and_a_text_that_all_share_is_a_template():
    assert "may m1, m2, m3 and 1 more stand in for people?" in answers(table(judges=("m1", "m2", "m3", "m4")))
    assert _doubts_of(table(prompt=["same"] * 8), ()) == []
    # Of two texts the one that two items share may be a slip.
    assert _doubts_of(table(prompt=["same"] * 2 + ["other"] + [None] * 5), ()) == [
        "items 'i0', 'i1' share their prompt"
    ]


def test_the_call_says_which_columns_are_what_and_whose_labels_are_votes():
    frame = pl.DataFrame({"id": list("abca"), "who": list("xxyy"), "stars": [1, 2, 3, 4], "score": [2, 3, 4, 5]})
    assert assay.look(frame).options == {"item": "id", "annotator": "who", "label": "score", "scale": "2-5"}
    wide = pl.DataFrame({"ID": list("abc"), "Ann": [4, 2, 1], "Bob": [5, 2, 1], "gpt-4o": [4, 3, 1]})
    assert assay.look(wide).options == {
        "layout": "wide", "item": "ID", "columns": ["Ann", "Bob", "gpt-4o"], "judges": ["gpt-4o"], "scale": "1-5"
    }  # fmt: skip
    votes = assay.look(pl.DataFrame({"item": ["a", "b"] * 2, "annotator": list("ppqq"), "label": ["first", "tie"] * 2}))
    assert isinstance(votes.labels.scale, assay.Preference)
    assert "which is better (votes)?" in [one.question for one in votes.answers if one.yes]


def test_what_stops_the_reading_is_lacking_and_no_doubt():
    frame = pl.DataFrame({"item": ["a", "a", "b"], "annotator": ["x", "x", "y"], "label": [1, 2, 3]})
    found = assay.look(frame)
    (why,) = found.lacking
    assert why.startswith("1 answer given more than once (item 'a', annotator 'x': rows 1, 2); remove the extra rows")
    assert (found.labels, found.doubts) == (None, ())


def test_the_likelier_of_two_ways_to_find_the_rows_is_a_doubt(monkeypatch):
    """Where the rows can be found only when something is said, it is said for the reader and is the first doubt."""
    frame = pl.DataFrame({"id": list("abca"), "who": list("xxyy"), "stars": [1, 2, 3, 4]})
    sure, asked = looking.rows_of_source, []

    def unsure(source: Any, paths: Any, settings: Any) -> Any:
        asked.append(settings.label)
        if settings.label == "label":
            raise assay.errors.DataError("'stars' or 'moons'?", advised={"label": "stars"})
        return sure(source, paths, settings)

    monkeypatch.setattr(looking, "rows_of_source", unsure)
    found = assay.look(frame)
    assert (asked, found.doubts, found.labels.labels["label"].to_list()) == (
        ["label", "stars"], ("'stars' or 'moons'?",), [1, 2, 3, 4]
    )  # fmt: skip
    monkeypatch.setattr(looking, "rows_of_source", lambda *given: unsure(*given[:2], looking.ReadSettings()))
    with pytest.raises(assay.errors.DataError, match="'stars' or 'moons'"):
        assay.look(frame)
