"""Parts of the commands about labels: scales, conditions, rows, next commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import assay
from assay.cli import labels as shared
from assay.cli.labels import LabelOptions, alt_test, command_for, hidden_columns, ratings, separability
from assay.cli.output import TYPED, Output
from assay.errors import AssayError, DataError, DesignError
from assay.ideas.choices import MapSettings
from assay.reporting.page import NextStep

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def typed() -> Iterator[Callable[..., object]]:
    """Sets the words of the command that runs."""
    token = TYPED.set(())
    yield lambda *words: TYPED.set(words)
    TYPED.reset(token)


@pytest.mark.parametrize(
    ("given", "scale"),
    [
        (None, None), ([], None), (["1-5"], "1-5"), (["stars=1-5"], {"stars": "1-5"}),
        (["stars=1-5", "why=text"], {"stars": "1-5", "why": "text"}),
        (["x=nominal:a=b"], {"x": "nominal:a=b"}),
    ],
)  # fmt: skip
def test_scale_option_takes_one_or_several(given, scale):
    assert LabelOptions(scale=given).read_options("a.csv") == ({} if given is None else {"scale": scale})


def test_scale_option_requires_criteria_for_several():
    with pytest.raises(AssayError, match=r"^for several scales give CRITERION=SCALE; got '1-5'$"):
        LabelOptions(scale=["stars=1-5", "1-5"]).read_options("a.csv")
    found = [LabelOptions(item=names).read_options("a.csv") for names in (None, [], ["id"], ["id", "page"])]
    assert found == [{}, {"item": "item"}, {"item": "id"}, {"item": ["id", "page"]}]


def test_wide_and_layout_must_match():
    given = ((False, None), (False, "auto"), (False, "long"), (True, None), (True, "auto"), (True, "wide"))
    found = [LabelOptions(wide=wide, layout=layout).read_options("a.csv") for wide, layout in given]
    assert found == [{}, *({"layout": one} for one in ("auto", "long", "wide", "wide", "wide"))]
    with pytest.raises(AssayError, match=r"^--wide and --layout long exclude each other; give one$"):
        LabelOptions(wide=True, layout="long").read_options("a.csv")


def test_where_option_takes_one_or_several_values():
    frame = pl.DataFrame({"item": ["a", "b", "c", "d"], "annotator": "ann", "label": [1, 2, 3, 1]})
    items = pl.DataFrame({"item": ["a", "b", "c", "d"], "kind": ["x", "y", "x,y", "z"], "page": [1, 2, 3, 3]})
    labels = assay.Annotations.from_frame(frame, scale="1-3", items=items)

    def left(condition: str) -> list[str]:
        return shared._filter_labels(labels, condition).labels["item"].sort().to_list()

    assert left("kind=x") == ["a"]
    assert left("kind=y,z") == ["b", "d"]
    assert left("kind=x,y") == ["c"]
    assert left("page=1,3") == ["a", "c", "d"]
    with pytest.raises(AssayError, match=r"^--where takes COLUMN=VALUE; got 'kind'$"):
        left("kind")


def test_similarity_reads_table_if_file_exists(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_text("first,second,similarity\na,b,.5\n")
    Path("words").write_text("no table: it has no ending")
    assert shared.similarity("pairs.csv").rows() == [("a", "b", 0.5)]
    assert shared.similarity("words").name == "words"
    with pytest.raises(DesignError, match=r"'none\.csv' is not in assay"):
        shared.similarity("none.csv")


@pytest.mark.parametrize(
    ("ends", "heard", "taken"),
    [((True, True), "y\n", True), ((True, True), " YES \n", True), ((True, True), "\n", False),
     ((True, False), "y\n", False), ((False, True), "y\n", False)],
)  # fmt: skip
def test_advised_reading_requires_yes_at_terminal(monkeypatch, typed, ends, heard, taken):
    said: list[str] = []
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: ends[0], readline=lambda: heard))
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: ends[1], write=said.append))
    typed("agreement", "a.csv")
    assert shared._accepts_reading(DataError("who judges?", advised={"judges": ["m"]})) is taken
    wanted = "who judges? If this is right, run: assay agreement a.csv --judges m\nRead it this way? [y/N] \n"
    assert "".join(said) == (wanted if all(ends) else "")


def look(scale: str, *people: str, judges: tuple[str, ...] = ()) -> Any:
    scales = {"stars": assay.Ordinal(1, 5), "votes": assay.Preference(), "text": assay.Text()}
    labels = SimpleNamespace(scales={"": scales[scale]}, humans=people, judges=judges, crossed_condition=None)
    labels.with_one_vote = labels
    analyses = [
        SimpleNamespace(name="agreement", supported=False),
        SimpleNamespace(name="agreement", supported=len(people) + len(judges) > 1 or scale == "votes"),
    ]
    return SimpleNamespace(labels=labels, options={"scale": "1-5"} if scale == "stars" else {}, analyses=analyses)


def test_command_for_chooses_first_analysis():
    assert command_for(SimpleNamespace(labels=None), ["a.csv"]) is None
    assert command_for(look("stars", "ann"), ["a.csv"]) is None
    one = ["a.csv"]
    assert command_for(look("stars", "ann", "bob"), one) == "assay agreement a.csv --scale 1-5"
    judged = look("stars", "ann", "bob", judges=("m",))
    assert command_for(judged, one) == "assay report a.csv --scale 1-5 --expertise crowd"
    assert command_for(look("stars", "ann", judges=("m",)), one) == "assay agreement a.csv --scale 1-5"
    assert command_for(look("votes", "ann", "bob", judges=("m",)), one) == "assay ratings a.csv"
    assert command_for(look("text", "ann", "bob"), one) == "assay ideas a.csv"
    assert command_for(look("votes", "ann"), ["a.csv", "b.csv", "c.csv"]) == (
        "assay ratings a.csv --labels-from b.csv,c.csv"
    )


def test_next_command_keeps_reading_options(typed):
    typed("report", "a.csv", "--item", "id", "--wide", "--judges=m,n", "--epsilon", ".1", "--scale", "1-5")
    read = "--item id --wide --judges=m,n --scale 1-5"
    step = NextStep("words", "disagreement", "m", "kind=x")
    assert shared._next_command(["a.csv"], step) == f"assay disagreement a.csv {read} --where kind=x --first judges"
    typed("report", "a.csv", "b.csv", "--labels-from", "c.csv", "--scale", "1-5")
    both = ["a.csv", "b.csv", "c.csv"]
    assert shared._next_command(both, step) == (
        "assay disagreement a.csv --labels-from b.csv,c.csv --scale 1-5 --where kind=x --first judges"
    )
    typed("report", "a.csv", "--item", "id", "--wide", "--judges=m,n", "--epsilon", ".1", "--scale", "1-5")
    step = NextStep("words", "estimate", "m")
    assert shared._next_command(["a.csv"], step) == f"assay estimate a.csv {read} --only m"


ROWS = pl.DataFrame(
    [
        ("c", None, "humans", "ann", "bob", "alpha", 0.5), ("c", None, "pairs", "ann", "cho", "alpha", 0.6),
        ("c", None, "consensus", "m", "people", "alpha", 0.7), ("c", None, "humans", "all", None, "kappa", 0.8),
    ],
    schema=["criterion", "group", "who", "first", "second", "coefficient", "estimate"], orient="row",
)  # fmt: skip


def test_join_names_puts_raters_in_one_column():
    found = shared._join_names(ROWS)
    assert found.columns == ["criterion", "group", "between", "coefficient", "estimate"]
    # In a pair the first comes first; elsewhere the second, with which it is compared, comes first.
    assert found["between"].to_list() == ["bob & ann", "ann & cho", "people & m", "all"]


def test_brief_rows_keep_headline_coefficient():
    def left(**given: Any) -> list[float]:
        return shared._brief_rows(ROWS, "alpha", given)["estimate"].to_list()

    assert left() == [0.5, 0.7]
    assert left(who=["pairs"]) == [0.5, 0.6, 0.7]
    assert left(coefficients=["alpha", "kappa"]) == [0.5, 0.7, 0.8]
    assert shared._brief_rows(ROWS[1:2], "alpha", {})["estimate"].to_list() == [0.6]  # no other rows


def test_hidden_columns_are_empty_or_constant():
    frame = pl.DataFrame({"who": ["people"] * 2, "system": ["a", "b"], "group": [None, None]})
    assert hidden_columns(frame) == ("group", "who")
    assert hidden_columns(frame.select("who", "system")) == ("who",)
    assert hidden_columns(frame.drop("system")) == ("group",)
    assert hidden_columns(frame.with_columns(who=pl.Series(["people", "m"]))) == ("group",)


def test_ideas_refuses_options_of_other_labels():
    shared._refuse_other_options({"confidence": 0.9}, MapSettings, "texts", "odd ones out")
    with pytest.raises(AssayError, match=r"^--with-judges is for odd ones out; the labels are texts$"):
        shared._refuse_other_options({"confidence": 0.9, "with_judges": True}, MapSettings, "texts", "odd ones out")
    assert shared._split_measures("words, rouge-l,embeddings:M,split=whole,,") == [
        "words", "rouge-l", "embeddings:M,split=whole"
    ]  # fmt: skip


def test_benchmarks_are_named_after_files():
    read = SimpleNamespace(outputs=lambda path: f"of {path}", humans=None)
    assert shared._benchmarks("in/a.csv", ["in/b.csv"], read) == {"a": "of in/a.csv", "b": "of in/b.csv"}
    assert shared._benchmarks("in/a.csv", ["on/a.csv"], read) == {"in/a.csv": "of in/a.csv", "on/a.csv": "of on/a.csv"}
    with pytest.raises(DesignError, match=r"^'b\.csv' is named twice; name each benchmark once$"):
        shared._benchmarks("a.csv", ["b.csv", "b.csv"], read)


def asked(found: Any, **options: Any) -> Any:
    """The options of a command whose question returns this result."""
    return SimpleNamespace(
        options=SimpleNamespace(options=lambda: options),
        labels=SimpleNamespace(read=lambda source: found, outputs=None),
        compute=lambda *given, **how: found, answer=lambda *given, **how: found, to=lambda *given, **how: None,
        show=lambda row, found, out, **how: print("shown"), output=Output(),
    )  # fmt: skip


def test_fail_under_compares_winning_rates(monkeypatch, capsys):
    tests = {"a": SimpleNamespace(winning_rate=0.5), "b": SimpleNamespace(winning_rate=0.75)}
    monkeypatch.setattr(shared, "_run_tests", lambda *given: ([SimpleNamespace(tests=tests)], ()))
    monkeypatch.setattr(Output, "show", lambda *given, **how: None)
    ask = asked(SimpleNamespace(judges=("m",)))
    ends = [alt_test("a.csv", fail_under=least, ask=ask) for least in (None, 0, 0.5, 0.51, 0.75, 1)]
    assert ends == [0, 0, 0, 1, 1, 1]
    for least in (-0.1, 1.1):
        with pytest.raises(DesignError, match="fail_under must lie between 0 and 1"):
            alt_test("a.csv", fail_under=least, ask=ask)


def test_alt_test_dispatches_by_judges_and_domains(monkeypatch):
    for place, name in (("alt_test", "alt_test"), ("compare", "compare_judges"), ("domains", "alt_test_by")):
        monkeypatch.setattr(f"assay.replacement.{place}.{name}", lambda table, who, name=name, **given: (name, who))
    one, two = SimpleNamespace(criteria=("c",)), SimpleNamespace(criteria=("c", "d"))
    assert shared._run_tests(one, ["m"], {}) == ([("alt_test", "m")], shared._ALT_TEST_COLUMNS)
    assert shared._run_tests(one, ["m", "n"], {}) == ([("compare_judges", ["m", "n"])], ("kind", "passed"))
    domains = ([("alt_test_by", "m"), ("alt_test_by", "n")], ())
    assert shared._run_tests(two, ["m", "n"], {}) == shared._run_tests(one, ["m", "n"], {"by": "half"}) == domains
    with pytest.raises(DesignError, match="is for several domains"):
        shared._run_tests(one, ["m"], {"correction": "within"})


def test_next_pairs_are_printed_after_ratings(capsys):
    found = SimpleNamespace(
        next_pairs=lambda n: pl.DataFrame({"first": ["a"], "second": ["b"], "difference": [0.25 * n]})
    )
    ratings("a.csv", ask=asked(found))
    assert capsys.readouterr().out == "shown\n"
    ratings("a.csv", next_pairs=1, ask=asked(found))
    assert capsys.readouterr().out == (
        "shown\n\nPairs to compare next, by the information of one more vote about all ratings:\n"
        "first  second  difference\na      b             0.25\n"
    )
    alone = asked(found)
    alone.output = Output(csv=True)
    ratings("a.csv", next_pairs=2, ask=alone)
    assert capsys.readouterr().out == "first,second,difference\na,b,0.5\n"
    ratings("a.csv", ask=alone)
    assert capsys.readouterr().out == "shown\n"
    for wrong, words in ((0, "next_pairs must be a whole number of at least 1; got 0"), (1.5, "whole number")):
        with pytest.raises(DesignError, match=words):
            ratings("a.csv", next_pairs=wrong, ask=asked(found))


def test_separability_pairs_require_file(tmp_path, capsys):
    drawn: list[Any] = []

    def pairs(n: int, **how: Any) -> pl.DataFrame:
        drawn.append((n, how))
        return pl.DataFrame({"pair_of": ["i", "i", "j"]})

    found = SimpleNamespace(pairs=pairs, run=SimpleNamespace(settings=SimpleNamespace(seed=7)))
    separability("a.csv", ask=asked(found))
    assert drawn == []
    for options in ({"choose": "top"}, {"n_items": 3}, {"n_pairs": 4}, {"n_pairs": 6}):
        with pytest.raises(DesignError, match="select pairs of outputs; name their file with --pairs"):
            separability("a.csv", ask=asked(found), **options)
    out = tmp_path / "pairs.csv"
    separability("a.csv", pairs=out, ask=asked(found))
    separability("a.csv", pairs=out, choose="top", n_items=1, n_pairs=1, ask=asked(found))
    assert drawn == [
        (5, {"n_items": None, "choose": "weighted", "seed": 7}), (1, {"n_items": 1, "choose": "top", "seed": 7})
    ]  # fmt: skip
    words = f"3 pairs of outputs of 2 items written to {out}\n"
    assert capsys.readouterr().err == words * 2
    for name, options in (("items", {"n_items": 0}), ("items", {"n_items": 1.5}), ("pairs", {"n_pairs": 0}),
                          ("pairs", {"n_pairs": 1.5})):  # fmt: skip
        with pytest.raises(DesignError, match=f"--n-{name} must be a whole number of at least 1"):
            separability("a.csv", pairs=out, ask=asked(found), **options)


def test_look_at_platform_export_has_no_columns(capsys):
    """Its layout is known; for a sheet every column is listed with its role."""
    folder = Path(__file__).parents[2] / "examples"
    shared.look(str(folder / "export.json"), labels=LabelOptions())
    export = capsys.readouterr().out.splitlines()
    shared.look(str(folder / "labels.csv"), labels=LabelOptions(item=["id"], annotator="worker", label=["stars"]))
    sheet = capsys.readouterr().out.splitlines()
    assert (export[1:3], export.count("Check these assumptions:")) == (["", "Check these assumptions:"], 1)
    assert sheet[2].split() == ["column", "role", "reason", "examples", "evidence"]
    assert [line.split()[0] for line in sheet[3:6]] == ["id", "worker", "stars"]
    assert sheet[6] == ""


def test_look_types_the_options_of_a_format(run, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2] / "examples")
    code, said, _ = run("look", "export.json", "--item", "key", "--option", "users=users.json")
    assert code == 0
    assert "Next command:   assay agreement export.json --option users=users.json --item key --scale 1-5" in said


def test_scales_prints_groups_and_conditions_above_its_table(run, tmp_path):
    """Tables 5 and 6 of the paper: pooled in the terminal, by benchmark in JSON."""
    ranges = pl.read_csv(EXAMPLES / "ranges.csv")
    judges = ranges.filter(pl.col("annotator").is_in(["gpt-4o", "llama"]))
    cold = judges.with_columns(pl.col("label") * 0.9, heat=pl.lit(0.1))
    people = ranges.join(judges, on="annotator", how="anti").with_columns(heat=pl.lit(None, pl.Float64))
    pl.concat([people, judges.with_columns(heat=pl.lit(1.0)), cold]).write_csv(tmp_path / "heat.csv")
    pl.DataFrame({"annotator": ["ann", "bob", "cho"], "gender": ["f", "m", "f"]}).write_csv(tmp_path / "people.csv")
    given = (
        "scales", tmp_path / "heat.csv", "--judges", "gpt-4o,llama", "--scale", "interval:0-100", "--conditions",
        "scale,heat", "--condition", "heat", "--baseline", "1.0", "--annotator-table", tmp_path / "people.csv",
        "--group", "gender", "--method", "none",
    )  # fmt: skip
    code, out, err = run(*given)
    assert code == 0, err
    groups, conditions, main = out.split("\n\n")[:3]
    assert groups.splitlines()[0].split()[:4] == ["group", "scale", "measure", "annotators"]
    assert sum(line.startswith("f - m ") for line in groups.splitlines()) == 6  # ICC and nMAE on three scales
    assert sum("icc, minus 1.0" in line for line in conditions.splitlines()) == 6  # two judges
    assert main.splitlines()[0].split()[:3] == ["scale", "benchmark", "what"]
    stored = json.loads(run(*given, "--json")[1])
    assert {row["benchmark"] for row in stored["groups"]} == {"all", "essays", "facts"}
