"""`look`: the supported analyses with their reasons, possible slips, and the options that read a file."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import assay
from assay import looking
from assay.data import words
from assay.errors import AssayError
from assay.looking import Analysis, possible_slips, supported_analyses
from assay.replacement.panel import AltTestSettings


def analyses(labels: assay.Annotations) -> dict[str, tuple[bool, str]]:
    return {one.name: (one.supported, one.detail) for one in supported_analyses(labels)}


FEW = "; no annotator has the required 30 comparable items"


def table(
    people: int = 3, judges: tuple[str, ...] = ("m",), scale: str = "1-5", **items: list[object]
) -> assay.Annotations:
    names = [f"i{i}" for i in range(8)]
    rows = [(item, f"p{k}", 1 + (i + k) % 5) for i, item in enumerate(names[:6]) for k in range(people)]
    rows += [(item, judge, 1 + i % 5) for i, item in enumerate(names) for judge in judges]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return assay.Annotations.from_frame(frame, judges=judges, scale=scale, items=pl.DataFrame({"item": names, **items}))


def test_supported_analyses_of_table():
    found = analyses(table(lesson=["a", "b", "c", "d"] * 2, id=list(range(8)), same=["x"] * 8))
    assert found == {
        "replacement_test": (False, "m" + FEW),
        "agreement": (True, "6 items with at least two labels"),
        "rating_scales": (False, "no column with the scale"),
        "pairwise_votes": (False, "labels are not first, second or tie"),
        "triplets": (False, "labels are not A, B or C"),
        "g_study": (True, "by lesson"),
        "fairness": (True, "by lesson"),
        "corrected_estimates": (True, "2 items without human labels"),
    }


def test_supported_analyses_have_codes_and_numbers():
    found = {one.name: one for one in supported_analyses(table(people=2, lesson=["a", "b"] * 4))}
    assert found["replacement_test"] == Analysis("replacement_test", False, "few_items", ("m",), criteria=("",))
    two = supported_analyses(assay.simulate(n_items=40, n_annotators=2, judges={"m": 0.3}, seed=1))[0]
    assert two == Analysis("replacement_test", True, "few_humans", ("m",), 2)
    assert two.detail == "m; 2 human annotators, at least 3 are recommended"
    assert found["agreement"] == Analysis("agreement", True, "items_with_two_labels", (), 6)
    assert found["g_study"] == Analysis("g_study", True, "by_column", ("lesson",))
    assert found["corrected_estimates"] == Analysis("corrected_estimates", True, "items_without_human_labels", (), 2)
    assert found["triplets"] == Analysis("triplets", False, "not_triplets")


def test_supported_analyses_give_reasons():
    alone = analyses(table(judges=(), few=["a", "b"] * 4))
    assert alone["replacement_test"] == (False, "no judge; set judges=[...]")
    assert alone["fairness"] == (False, "no judge")
    assert alone["corrected_estimates"] == (False, "no judge")
    assert analyses(table(people=0))["corrected_estimates"] == (False, "no human labels")
    one = analyses(table(people=1))
    assert one["replacement_test"] == (False, "fewer than two human annotators")
    assert one["corrected_estimates"] == (True, "2 items without human labels")
    assert assay.estimate(table(people=1), "m").table["n"][0] == 6
    many = analyses(table(seven=[*"abcdefg", "g"], six=[*"abcdef", "f", "f"]))
    assert many["g_study"] == (True, "by seven, six")
    assert many["fairness"] == (True, "by six")
    words = analyses(table(scale="nominal:1,2,3,4,5", few=["a", "b"] * 4))
    assert words["fairness"] == (False, "labels have no order")
    assert analyses(table(two=["a", "b"] * 4))["g_study"] == (True, "by two")
    some = table()
    every = some.where(item=[f"i{i}" for i in range(6)])
    assert analyses(every)["corrected_estimates"] == (
        False, "every item has human labels; add items that only the judge has labelled"
    )  # fmt: skip
    letters = [("a", "p", "A"), ("b", "q", "C")]
    odd = assay.read(pl.DataFrame(letters, schema=["item", "annotator", "label"], orient="row"))
    assert analyses(odd)["triplets"] == (False, "set scale='odd-one-out'")
    apart = every.where(annotator="p0")
    assert analyses(apart)["agreement"] == (False, "0 items with at least two labels")
    votes = assay.read(pl.DataFrame({"item": ["a", "b"] * 2, "annotator": list("ppqq"), "label": ["first", "tie"] * 2}),
                       scale="preference")  # fmt: skip
    assert analyses(votes)["pairwise_votes"] == (False, "no columns 'first' and 'second' that name the two systems")
    named = assay.read(pl.DataFrame({"item": ["a", "b"] * 2, "annotator": list("ppqq"), "first": "m1", "second": "m2",
                                     "label": ["first", "tie"] * 2}), scale="preference")  # fmt: skip
    assert analyses(named)["pairwise_votes"] == (True, "")


def test_supported_analyses_exclude_replacement_test_of_triplets():
    rows = [(f"t{i}", who, "ABC"[(i + k) % 3]) for i in range(4) for k, who in enumerate(("p", "q", "m"))]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    found = analyses(assay.read(frame, scale="odd-one-out", judges=["m"]))
    assert found["replacement_test"] == (False, "labels are odd-one-out choices")
    assert found["triplets"] == (True, "")


def test_possible_slips_of_table():
    rows = [(f"i{i}", who, 1 + (i + k) % 3) for i in range(12) for k, who in enumerate(("anna", "Anna", "m"))]
    frame = pl.DataFrame([*rows[:-1], ("i11", "m", 50)], schema=["item", "annotator", "label"], orient="row")
    items = pl.DataFrame({"item": [f"i{i}" for i in range(12)], "text": [None, None, "same", "same", *"abcdefgh"]})
    labels = assay.Annotations.from_frame(frame, judges=["m"], items=items, spelling="apart", scale="interval")
    assert possible_slips(labels, ()) == [
        "annotators 'Anna', 'anna' differ only in spelling",
        "label 50 of m on 'i11' is far outside 1 to 3",
        "items 'i2', 'i3' share their text",
    ]
    fewer = labels.where(item=[f"i{i}" for i in range(6, 12)])  # 18 labels: too few to find outlying labels
    assert possible_slips(fewer, ()) == ["annotators 'Anna', 'anna' differ only in spelling"]


def test_possible_slips_find_outlying_labels():
    def far(*labels: float) -> list[str]:
        frame = pl.DataFrame({"item": [f"i{n}" for n in range(len(labels))], "annotator": "ann", "label": labels})
        slips = possible_slips(assay.Annotations.from_frame(frame, scale="interval"), ())
        return [one.removeprefix("label ").replace(" of ann on ", " ") for one in slips]

    many = [1.0, 3.0] * 20
    assert far(*many, 9.5) == ["9.5 'i40' is far outside 1 to 3"]
    assert far(*many, 9) == []  # exactly three times the range of the others
    assert far(*many, -5.5) == ["-5.5 'i40' is far outside 1 to 3"]
    assert far(*many, -5) == []
    assert far(*[2.0] * 40, 5.5) == ["5.5 'i40' is far outside 2 to 2"]
    assert far(*[2.0] * 40, 5) == []
    assert far(*[1.0, 3.0] * 13, 9.5) == ["9.5 'i26' is far outside 1 to 3"]
    assert far(*[1.0, 3.0] * 12, 9.5) == []  # 25 labels are too few
    assert far(*[0.0, 2.0] * 20, 8.5) == ["8.5 'i40' is far outside 0 to 2"]
    assert far(*[-2.0, 0.0] * 20, 6.5) == ["6.5 'i40' is far outside -2 to 0"]
    # Two of 101 labels at one end are slips; three are too many.
    most = [1.0, 3.0] * 49
    for slip in (-50.0, 50.0):
        assert far(*most, 3.0, slip, slip) == [f"{slip:g} 'i{n}' is far outside 1 to 3" for n in (99, 100)]
        assert far(*most, slip, slip, slip) == []
    assert far(*many * 6, 50, 51, 52, 53) == [f"{50 + n} 'i{240 + n}' is far outside 1 to 3" for n in range(3)]


def test_look_recognises_votes(tmp_path):
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


def test_look_lines_list_analyses(tmp_path):
    (tmp_path / "labels.csv").write_text("item,annotator,label\n" + "".join(
        f"i{i},{who},{1 + (i + k) % 3}\n" for i in range(6) for k, who in enumerate(("ann", "bob"))))  # fmt: skip
    found = assay.look(tmp_path / "labels.csv", judges=["bob"])
    assert found.head.endswith("labels.csv: 12 rows × 3 columns, one row per label")
    assert "  – replacement test (fewer than two human annotators)" in found.lines()
    assert "  ✓ agreement (6 items with at least two labels)" in found.lines()
    assert found.lines()[:2] == ["Check these assumptions:", "  ! Assumed scale 1-3. If wrong, set scale=..."]
    assert found.summary().splitlines()[-1] == f"Python: {found.call}"


def test_look_missing_role_is_an_error(tmp_path):
    (tmp_path / "labels.csv").write_text("item,annotator\n" + "".join(f"i{i},{'ab'[i % 2]}\n" for i in range(8)))
    found = assay.look(tmp_path / "labels.csv")
    assert found.errors == ("no column with the labels was found (set label=...)",)
    assert found.ambiguities == ()


def test_look_ignores_total_of_words(tmp_path):
    """A column is computed by its name, and columns of words have no total."""
    (tmp_path / "words.csv").write_text("item,ann,bob,cho,total\n" + "".join(
        f"i{i},{'yes' if i % 2 else 'no'},{'yes' if i % 3 else 'no'},{'yes' if i % 5 else 'no'},{i % 4}\n"
        for i in range(12)))  # fmt: skip
    found = assay.look(tmp_path / "words.csv")
    roles = {one.name: (one.kind, one.why) for one in found.columns}
    assert roles["total"] == ("computed", "by name")
    assert [name for name, (role, _) in roles.items() if role == "person"] == ["ann", "bob", "cho"]


def test_look_range_requires_three_columns(tmp_path):
    """One of three columns on a much wider range is not an annotator; for two columns, this is undecided."""

    def people(*columns: str) -> list[str]:
        rows = {"ann": [1 + i % 5 for i in range(12)], "bob": [1 + (i + 1) % 5 for i in range(12)]}
        frame = pl.DataFrame({"item": [f"i{i}" for i in range(12)], **rows, "cho": [40 * one for one in rows["ann"]]})
        frame.select("item", "ann", *columns).write_csv(tmp_path / "some.csv")
        return [one.name for one in assay.look(tmp_path / "some.csv").columns if one.kind == "person"]

    assert people("bob", "cho") == ["ann", "bob"]
    assert people("cho") == ["ann", "cho"]
    assert "'ann' or 'cho' could hold the annotators' labels" in assay.look(tmp_path / "some.csv").errors[0]


def files(folder: Any, *names: str) -> list[Any]:
    for name in names:
        who = name.removesuffix(".csv")
        (folder / name).write_text("item,annotator,label\n" + "".join(f"i{i},{who},{1 + i % 3}\n" for i in range(6)))
    return [folder / name for name in names]


def test_look_call_names_files(tmp_path):
    one, other = files(tmp_path, "ann.csv", "bob.csv")
    single, both = assay.look(one), assay.look([one, other])
    assert single.call.startswith(f"assay.read('{one}'")
    assert both.call.startswith(f"assay.read(['{one}', '{other}']")
    assert (single.source, both.source) == (str(one), "2 files")
    assert assay.look([one]).call == single.call
    memory = assay.look(pl.read_csv(one))
    assert (memory.source, memory.head) == (
        "a table in memory",
        "a table in memory: 6 rows × 3 columns, one row per label",
    )
    for found in (single, both):
        labels = eval(found.call, {"assay": assay})
        assert labels.fingerprint == found.labels.fingerprint
        assert labels.scale == assay.Ordinal(1, 3)


def test_look_with_several_label_columns(tmp_path):
    frame = pl.DataFrame(
        {"item": list("abcd"), "annotator": ["x", "y"] * 2, "food": [1, 2, 3, 1], "mood": [1, 2, 2, 3]}
    )
    assert [(one.name, one.kind) for one in assay.look(frame, label="food").columns][:3] == [
        ("item", "item"), ("annotator", "annotator"), ("food", "label")
    ]  # fmt: skip
    several = assay.look(frame, label=["food", "mood"])
    assert (several.columns, several.shape, several.n_rows, several.n_columns) == ((), None, 4, 4)
    assert several.options == {"label": ("food", "mood"), "scale": "1-3"}
    assert several.labels.criteria == ("food", "mood")
    empty = assay.look(frame.rename({"food": "label"}).head(0))
    assert (empty.columns, empty.labels, empty.errors) == ((), None, ("a table in memory has no rows",))
    assert empty.summary().endswith("This file cannot be read without more options:\n  ! a table in memory has no rows")
    assert empty.to_dict()["call"] is None
    with pytest.raises(
        assay.errors.AssayError, match="a table in memory cannot be read without more options: a table in memory"
    ):
        empty.write(tmp_path / "r.yaml")


def test_look_write_then_read(tmp_path):
    both = files(tmp_path, "ann.csv", "gpt-4o.csv")
    found = assay.look(both)
    assert found.ambiguities == ("Assumed that 'gpt-4o' is a judge (by name). Set judges=[...]",)
    again = assay.read(found.write(tmp_path / "r.yaml"))
    assert (again.judges, again.fingerprint) == (("gpt-4o",), found.labels.fingerprint)
    assert assay.look(tmp_path / "r.yaml").ambiguities == ()  # specified in the reading file
    given = assay.look(both, judges=["ann"], humans=["gpt-4o"])
    assert (given.labels.judges, given.ambiguities) == (("ann",), ())


def test_supported_analyses_of_small_tables():
    """One item with two labels is enough for agreement; free text is not supported."""

    def read(*rows: tuple[object, ...], names: tuple[str, ...] = ("item", "annotator", "label"), **how: Any) -> Any:
        return analyses(assay.Annotations.from_frame(pl.DataFrame(rows, schema=list(names), orient="row"), **how))

    one = read(("i", "p", 1), ("i", "q", 2), ("j", "p", 1), scale="1-3")
    assert one["agreement"] == (True, "1 item with at least two labels")
    assert one["replacement_test"][0] is False
    texts = read(("i", "p", "so"), ("i", "q", "no"), ("j", "p", "yes"), scale="text")
    assert texts["agreement"] == (False, "labels are free text")
    assert texts["rating_scales"] == (False, "no column with the scale")
    asked = read(
        ("i", "p", 1, "x"), ("i", "q", 2, "x"), ("i", "p", 1, "y"), names=("item", "annotator", "label", "range"),
        scale="1-3", conditions=["range"],
    )  # fmt: skip
    assert asked["rating_scales"] == (True, "")
    worded = read(
        ("i", "p", 1, "x"), ("i", "q", 2, "x"), ("i", "p", 1, "y"), names=("item", "annotator", "label", "wording"),
        scale="1-3", conditions=["wording"],
    )  # fmt: skip
    assert worded["rating_scales"] == (False, "no column with the scale")
    ends = [("i", "p", 1, "1-3"), ("i", "q", 2, "1-3"), ("i", "p", 1, "1 to 5")]
    named = ("item", "annotator", "label", "asked_on")
    ranges = {"long": False, "2026-11": False, "1.0.2-3": False, None: True, "0-10": True}
    for more, known in ([], True), *(([("i", "q", 2, name)], known) for name, known in ranges.items()):
        found = read(*ends, *more, names=named, scale="1-3", conditions=["asked_on"])
        assert found["rating_scales"][0] is known


def test_supported_analyses_name_three_judges():
    assert analyses(table(judges=("m1", "m2", "m3", "m4")))["replacement_test"] == (
        False,
        "m1, m2, m3 and 1 more" + FEW,
    )
    assert possible_slips(table(prompt=["same"] * 8), ()) == []
    # If there are two texts, the one that two items share is a possible slip.
    assert possible_slips(table(prompt=["same"] * 2 + ["other"] + [None] * 5), ()) == [
        "items 'i0', 'i1' share their prompt"
    ]


def test_look_options_name_roles_and_scale():
    frame = pl.DataFrame({"id": list("abca"), "who": list("xxyy"), "stars": [1, 2, 3, 4], "score": [2, 3, 4, 5]})
    assert assay.look(frame).options == {"item": "id", "annotator": "who", "label": "score", "scale": "2-5"}
    wide = pl.DataFrame({"ID": list("abc"), "Ann": [4, 2, 1], "Bob": [5, 2, 1], "gpt-4o": [4, 3, 1]})
    assert assay.look(wide).options == {
        "layout": "wide", "item": "ID", "columns": ["Ann", "Bob", "gpt-4o"], "judges": ["gpt-4o"], "scale": "1-5"
    }  # fmt: skip
    votes = assay.look(pl.DataFrame({"item": ["a", "b"] * 2, "annotator": list("ppqq"), "label": ["first", "tie"] * 2}))
    assert isinstance(votes.labels.scale, assay.Preference)
    assert not {one.name for one in votes.analyses if one.supported} & {"pairwise_votes", "g_study"}


def test_look_refused_table_has_errors():
    frame = pl.DataFrame({"item": ["a", "a", "b"], "annotator": ["x", "x", "y"], "label": [1, 2, 3]})
    found = assay.look(frame)
    (why,) = found.errors
    assert why.startswith("1 answer given several times (item 'a', annotator 'x': rows 1, 2); remove the extra rows")
    assert (found.labels, found.ambiguities) == (None, ())


def test_look_adds_ambiguity_of_source(monkeypatch):
    """If the rows can only be read with an option, look sets it and reports it as the first ambiguity."""
    frame = pl.DataFrame({"id": list("abca"), "who": list("xxyy"), "stars": [1, 2, 3, 4]})
    certain, asked = looking.rows_of_source, []

    def uncertain(source: Any, paths: Any, settings: Any) -> Any:
        asked.append(settings.label)
        if settings.label == "label":
            raise assay.errors.DataError("'stars' or 'moons'?", advised={"label": "stars"})
        return certain(source, paths, settings)

    monkeypatch.setattr(looking, "rows_of_source", uncertain)
    found = assay.look(frame)
    assert (asked, found.ambiguities, found.labels.labels["label"].to_list()) == (
        ["label", "stars"], ("'stars' or 'moons'?",), [1, 2, 3, 4]
    )  # fmt: skip
    monkeypatch.setattr(looking, "rows_of_source", lambda *given: uncertain(*given[:2], looking.ReadSettings()))
    with pytest.raises(assay.errors.DataError, match="'stars' or 'moons'"):
        assay.look(frame)


def test_a_look_shows_its_report():
    found = assay.look(pl.DataFrame({"id": ["a", "b"], "ann": [1, 2], "bob": [1, 2], "gpt-4o": [1, 2]}))
    assert repr(found) == found.summary()
    assert repr(found).startswith("a table in memory: 2 rows × 4 columns")


WIDE = pl.DataFrame({
    "ID": [f"i{i}" for i in range(12)],
    **{name: [1 + (i + k) * (i + 1) % 5 for i in range(12)] for k, name in enumerate(("Ann", "Bob", "gpt-4o"))},
    "Len": [30 + 7 * i for i in range(12)],
})  # fmt: skip
LONG = pl.DataFrame(
    [(f"i{i}", who, 1 + i % 4 + ((i + k) % 3 == 0), "ab"[i % 2]) for i in range(20) for k, who in enumerate("pqr")],
    schema=["post", "user", "stars", "part"], orient="row",
)  # fmt: skip


def kinds(found: looking.Look) -> dict[str, str]:
    return {one.name: one.kind for one in found.columns}


@pytest.mark.parametrize(
    ("column", "kind", "options", "read"),
    [
        ("Bob", "judge", {"columns": ["Ann", "Bob", "gpt-4o"], "judges": ["Bob", "gpt-4o"]}, (1, 2)),
        ("gpt-4o", "item column", {"columns": ["Ann", "Bob"]}, (2, 0)),
        ("gpt-4o", "person", {"columns": ["Ann", "Bob", "gpt-4o"], "humans": ["Ann", "Bob", "gpt-4o"]}, (3, 0)),
        ("Len", "item", {"item": "Len", "columns": ["Ann", "Bob", "gpt-4o"], "judges": ["gpt-4o"]}, (2, 1)),
    ],
)
def test_role_is_given_in_wide_table(column: str, kind: Any, options: dict[str, Any], read: tuple[int, int]) -> None:
    found = assay.look(WIDE)
    stated = found.with_role(column, kind, {})
    assert stated == {"layout": "wide", "item": "ID", **options}
    again = assay.look(WIDE, **stated)
    assert again.labels is not None
    assert (len(again.labels.humans), len(again.labels.judges)) == read
    assert kinds(again) == {**kinds(found), **({"ID": "item column"} if kind == "item" else {}), column: kind}


def test_ignored_column_states_nothing_about_others() -> None:
    found = assay.look(WIDE)
    assert found.with_role("Bob", "computed", {"scale": "1-9", "item": "Bob"}) == {"scale": "1-9", "exclude": ["Bob"]}
    back = found.with_role("Bob", "person", {"exclude": ["Bob", "Len"], "scale": "1-9"})
    assert back == {"scale": "1-9", "exclude": ["Len"], "layout": "wide", "item": "ID",
                    "columns": ["Ann", "Bob", "gpt-4o"], "judges": ["gpt-4o"]}  # fmt: skip


def test_computed_column_becomes_annotator() -> None:
    frame = WIDE.with_columns(Mean=(pl.col("Ann") + pl.col("Bob")) / 2)
    found = assay.look(frame)
    assert kinds(found)["Mean"] == "computed"
    again = assay.look(frame, **found.with_role("Mean", "person", {}))
    assert again.labels is not None
    assert again.labels.humans == ("Ann", "Bob", "Mean")


def test_roles_are_swapped_in_long_table() -> None:
    found = assay.look(LONG)
    assert kinds(found) == {"post": "item", "user": "annotator", "stars": "label", "part": "item column"}
    stated = found.with_role("user", "item", {"judges": ["r"]})
    assert stated == {"judges": ["r"], "item": "user", "annotator": "post", "label": "stars"}
    again = assay.look(LONG, **{**stated, "judges": ["i3"]})
    assert again.labels is not None
    assert (again.labels.n_items, again.labels.judges) == (3, ("i3",))
    assert found.with_role("stars", "judge", {"label": "stars"}) == {
        "layout": "wide", "item": "post", "columns": ["stars"], "judges": ["stars"],
    }  # fmt: skip


def test_role_is_given_in_table_of_annotators() -> None:
    frame = pl.DataFrame({"Name": ["Ann", "Bob", "Cho", "Dee"], "Time": [9, 8, 7, 6],
                          **{f"q{k}": [1 + (k * j) % 5 for j in range(4)] for k in range(12)}})  # fmt: skip
    found = assay.look(frame, layout="transposed", annotator="Name")
    stated = found.with_role("q3", "annotator column", {"layout": "transposed", "annotator": "Name"})
    assert stated["columns"] == [one.name for one in found.columns if one.kind == "item" and one.name != "q3"]
    assert (stated["layout"], stated["annotator"]) == ("transposed", "Name")
    assert list(found.roles_of(found.columns[0])) == ["annotator", "item", "annotator column", "computed"]


@pytest.mark.slow
@pytest.mark.parametrize("role", ["item", "annotator", "label", "criterion", "repeat"])
@pytest.mark.parametrize("frame", [WIDE, LONG], ids=["wide", "long"])
def test_stated_role_is_kept_or_refused(frame: pl.DataFrame, role: str) -> None:
    """No column that the user gives a role gets another one, and no other column gets this role."""
    for column in frame.columns:
        try:
            found = assay.look(frame, **{role: column})
        except AssayError:
            continue
        if found.labels is not None:
            assert found.options.get(role) == column, (column, found.options)


@pytest.mark.slow
def test_stated_annotator_of_a_form_is_kept() -> None:
    stamps = [f"2026-03-0{day} 09:00" for day in range(1, 5)]
    frame = pl.DataFrame({"Timestamp": stamps, "Name": ["Ann", "Bob", "Cho", "Dee"],
                          **{f"Answer {k}": [1 + (k * j) % 5 for j in range(4)] for k in range(12)}})  # fmt: skip
    assert assay.look(frame).options["annotator"] == "Name"
    assert assay.look(frame, annotator="Timestamp").options["annotator"] == "Timestamp"


def test_excluded_columns_have_no_role() -> None:
    with pytest.raises(AssayError, match="no column with the labels was found"):
        assay.read(LONG, exclude=["stars"])
    with pytest.raises(AssayError, match="no column names who answered"):
        assay.read(LONG.drop("part"), exclude=["user"])
    assert assay.read(LONG, exclude=["part"]).n_items == 20


def test_short_texts_of_a_judge_next_to_texts_of_annotators_are_free_text() -> None:
    long = [
        f"The writer of number {i} says that the claim is not supported by the evidence in the text" for i in range(30)
    ]
    frame = pl.DataFrame({"id": [f"i{i}" for i in range(30)], "ann": long, "bob": [f"{one}, too" for one in long],
                          "gpt-4o": [f"unsupported {i}" for i in range(30)]})  # fmt: skip
    found = assay.look(frame)
    assert found.labels is not None
    assert (found.labels.humans, found.labels.judges, found.labels.scale.kind) == (("ann", "bob"), ("gpt-4o",), "text")
    named = frame.with_columns(pl.Series("gpt-4o", ["yes", "no"] * 15))
    assert assay.look(named).labels.judges == ("gpt-4o",)
    assert assay.look(named).labels.humans == (), "categories of a judge are labels; texts describe the item"


def test_look_says_that_rows_are_numbered() -> None:
    assert "no item id found; rows are numbered" in assay.look(WIDE.select("Ann", "Bob", "gpt-4o")).notes
    assert "no item id found; rows are numbered" not in assay.look(WIDE).notes


def test_look_counts_annotators_per_item_and_items_per_annotator():
    rows = [
        ("a", "ann", 1),
        ("a", "bob", 2),
        ("a", "gpt-4o", 2),
        ("b", "ann", 3),
        ("b", "gpt-4o", 3),
        ("c", "gpt-4o", 1),
    ]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    said = assay.look(frame, judges=["gpt-4o"], scale="1-5").summary()
    assert "2 items with human labels: 1 to 2 annotators per item, 1 to 2 items per annotator." in said
    alone = assay.look(frame.filter(pl.col("annotator") == "ann"), humans=["ann"], scale="1-5").summary()
    assert "2 items with human labels: 1 annotator per item, 2 items per annotator." in alone
    judges = assay.look(frame.filter(pl.col("annotator") == "gpt-4o"), judges=["gpt-4o"], scale="1-5").summary()
    assert "with human labels" not in judges


def test_look_counts_within_each_criterion():
    """Three annotators label 40 items in turn: 40 items of each in all, 13 or 14 of each on a criterion."""
    rows = [(f"i{i:02}", "gpt-4o", 1 + i % 5, one) for i in range(40) for one in ("depth", "tone")]
    rows += [(f"i{i:02}", who, 1 + (i + k) % 5, "tone") for i in range(40) for k, who in enumerate("abc")]
    rows += [(f"i{i:02}", "abc"[(i + k) % 3], 1 + i % 5, "depth") for i in range(40) for k in range(2)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "criterion"], orient="row")
    found = assay.look(frame, judges=["gpt-4o"], scale="1-5")
    assert (
        "40 items with human labels: within each criterion, 2 to 3 annotators per item, 26 to 40 items per annotator."
        in found.summary()
    )
    assert f"✓ replacement test (gpt-4o{FEW} on depth)" in found.summary()
    assert found.analyses[0] == Analysis("replacement_test", True, "few_items_of", ("gpt-4o",), criteria=("depth",))
    alone = assay.look(frame.filter((pl.col("annotator") != "a") | (pl.col("criterion") == "tone"))).analyses
    assert next(one for one in alone if one.name == "agreement").number == 40
    tone = frame.filter(pl.col("criterion") == "tone").drop("criterion")
    assert "✓ replacement test (gpt-4o)" in assay.look(tone, judges=["gpt-4o"], scale="1-5").summary()
    assert AltTestSettings(epsilon=0.1).min_items == words.REQUIRED_ITEMS


@pytest.mark.parametrize(("scale", "rules"), [("1-5", "'first', 'last', 'mean', 'majority' or 'each'"),
                                              ("nominal", "'first', 'last', 'majority' or 'each'")])  # fmt: skip
def test_look_names_the_rules_for_repeated_labels(scale, rules):
    rows = [(f"i{i}", who, 1 + (i + k) % 3, k) for i in range(6) for who in ("ann", "bob") for k in range(2)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "repeat"], orient="row")
    said = f"Repeated labels: tests and agreement require repeats={rules}."
    assert said in assay.look(frame, humans=["ann", "bob"], scale=scale).lines()
    once = frame.filter(pl.col("repeat") == 0)
    assert said not in assay.look(once, humans=["ann", "bob"], scale=scale).lines()


def test_g_study_of_items_by_raters_needs_no_nested_column():
    assert analyses(table())["g_study"] == (True, "items × raters")
    assert assay.g_study(table(), design="i x r", object="i", facets={"i": "item", "r": "annotator"}).table.height
    alone = analyses(table(people=1, judges=()))["g_study"]
    assert alone == (False, "no nested column, and fewer than two items with at least two labels")
    words_of = assay.read(
        pl.DataFrame({"item": [*"abcabc"], "annotator": [*"pppqqq"], "label": ["good", "bad", "fair"] * 2}),
        humans=["p", "q"],
    )
    assert analyses(words_of)["g_study"] == (False, "labels are not numbers")
    # A column of a judge's labels, one per item, has no items nested in it.
    copied = table(GPT_tone=[1, 2, 3, 4, 5, 1, 2, 3], lesson=["x", "y"] * 4)
    assert analyses(copied)["g_study"] == (True, "by lesson")


@pytest.mark.slow
def test_role_of_one_column_is_that_of_an_annotator_of_several_criteria() -> None:
    parts = [f"{who}_{part}" for part in ("tone", "facts") for who in ("Ann", "Bob", "gpt")]
    rows = {one: [1 + (i + k) * (i + 1) % 5 for i in range(20)] for k, one in enumerate(parts)}
    frame = pl.DataFrame({"ID": [f"i{i}" for i in range(20)], **rows})
    found = assay.look(frame)
    assert found.labels is not None
    assert (found.labels.judges, found.labels.criteria) == (("gpt",), ("facts", "tone"))
    stated = found.with_role("Ann_facts", "judge", {})
    again = assay.look(frame, **stated)
    assert again.labels is not None
    assert again.labels.judges == ("Ann", "gpt")
    back = assay.look(frame, **again.with_role("gpt_tone", "person", stated))
    assert back.labels is not None
    assert (back.labels.humans, back.labels.judges) == (("Bob", "gpt"), ("Ann",))


def test_stated_column_of_humans_and_judges_is_shown() -> None:
    frame = LONG.with_columns(type=pl.when(pl.col("user") == "r").then(pl.lit("judge")).otherwise(pl.lit("human")))
    found = assay.look(frame, item="post", annotator="user", label="stars", kind="type")
    assert kinds(found)["type"] == "kind"
    assert found.labels is not None
    assert found.labels.judges == ("r",)


def test_possible_slips_name_identical_annotators():
    """Two of three annotators have the same labels on 40 items, on a third of which the other one differs."""
    rows = [(f"q{i}", who, i % 4 + (who == "cho" and i % 3 == 0)) for i in range(40) for who in ("ann", "bob", "cho")]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    said = "'ann', 'bob' have the same labels on all 40 items that both labelled"
    assert possible_slips(assay.Annotations.from_frame(frame), ()) == [said]
    one_apart = frame.with_columns(label=pl.col("label") + ((pl.col("item") == "q7") & (pl.col("annotator") == "bob")))
    assert possible_slips(assay.Annotations.from_frame(one_apart), ()) == []
    all_equal = frame.with_columns(label=pl.col("item").str.slice(1).cast(pl.Int64) % 4)
    assert possible_slips(assay.Annotations.from_frame(all_equal), ()) == []
    few = frame.filter(pl.col("item").str.len_chars() == 2)  # 10 items
    assert possible_slips(assay.Annotations.from_frame(few), ()) == []


def test_identical_annotators_are_compared_within_conditions():
    """Five votes on each of three shared items are 15 answers, not 5 × 5 on each; items are counted once."""
    rows = [(f"q{i}", who, k, 0) for i in range(3) for who in ("ann", "bob") for k in range(5)]
    rows += [(f"q{i}", "cho", k, (i + k) % 3) for i in range(30) for k in range(5)]
    starts = [(who, range(start, start + 13)) for who, start in (("ann", 3), ("bob", 16))]
    rows += [(f"q{i}", who, k, (i + k) % 2) for who, own in starts for i in own for k in range(5)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "pair", "label"], orient="row")
    assert possible_slips(assay.read(frame, conditions=["pair"], scale="nominal"), ()) == []
    same = frame.filter(annotator="ann").with_columns(annotator=pl.lit("dan"))
    both = assay.read(pl.concat([frame, same]), conditions=["pair"], scale="nominal")
    assert possible_slips(both, ()) == ["'ann', 'dan' have the same labels on all 16 items that both labelled"]


def findings() -> pl.DataFrame:
    """Labels of two people and a model on two findings, in columns that name the person and the finding."""
    rng = np.random.default_rng(1)
    grades = np.array(["absent", "uncertain", "present"])
    names = [f"{who}_{finding}" for finding in ("effusion", "nodule") for who in ("Adler", "Brandt", "LLM")]
    return pl.DataFrame(
        {"report": [f"R{k:02}" for k in range(40)], **{n: grades[rng.integers(0, 3, 40)] for n in names}}
    )


def test_reading_in_which_a_judge_is_no_annotator_is_not_offered():
    found = assay.look(findings())
    assert not any("not yet" in said or "criterion 'Adler'" in said for said, _ in found.readings)
    assert found.labels is not None
    assert (found.labels.judges, found.labels.criteria) == (("LLM",), ("effusion", "nodule"))


def test_columns_of_a_judge_are_judge_labels_if_the_user_says_how_names_are_split():
    frame = findings()
    columns = [one for one in frame.columns if one != "report"]
    for options in ({"columns": columns}, {}):
        found = assay.look(
            frame, layout="wide", item="report", split_columns="annotator_criterion", judges=["LLM"], **options
        )
        roles = kinds(found)
        assert {name for name, kind in roles.items() if kind == "judge"} == {"LLM_effusion", "LLM_nodule"}
    turned = frame.rename({one: "_".join(reversed(one.split("_"))) for one in columns})
    found = assay.look(turned, layout="wide", item="report", split_columns="criterion_annotator", judges=["LLM"])
    assert kinds(found)["nodule_LLM"] == "judge"


def test_look_ticks_no_replacement_test_that_would_be_undecided():
    """Neither the test nor the command of a study in which no annotator has the required items."""
    frame = assay.simulate(n_items=20, n_annotators=3, judges={"gpt-4o": 0.3}, scale="1-5", seed=1).to_polars()
    found = assay.look(frame.drop("kind"), judges=["gpt-4o"], scale="1-5")
    assert f"– replacement test (gpt-4o{FEW})" in found.summary()
    assert "alt-test" not in found.summary()


def test_look_keeps_a_text_called_comment_as_item_metadata():
    """Toxicity data call their texts comments; a comment on an answer differs between annotators."""
    rows = [
        (f"c{i}", f"text number {i}", f"p{j}", f"I think {i}{j}", 1 + (i + j) % 5) for i in range(40) for j in range(3)
    ]
    frame = pl.DataFrame(rows, schema=["comment_id", "comment", "worker", "remark", "toxicity"], orient="row")
    roles = {one.name: one.kind for one in assay.look(frame).columns}
    assert (roles["comment"], roles["remark"]) == ("item column", "comment")


def test_look_shows_conditions_as_specified():
    frame = pl.DataFrame({"item": list("aabb"), "annotator": ["m", "m", "n", "n"], "label": [1, 2, 2, 1],
                          "prompt": list("pqpq")})  # fmt: skip
    found = assay.look(frame, conditions=["prompt"], judges=["m"])
    row = found.table.row(by_predicate=pl.col("column") == "prompt", named=True)
    assert (row["role"], row["reason"], row["evidence"]) == (words.CONDITION, "as specified", "stated")
