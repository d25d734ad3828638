"""Parts of the commands about labels: scales, conditions, rows, next commands."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import assay
from assay.cli import labels as shared
from assay.cli.labels import LabelOptions, command_for, hidden_columns
from assay.cli.output import TYPED
from assay.errors import AssayError, DataError, DesignError
from assay.looking import Look

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


def test_where_option_takes_one_or_several_values(tmp_path):
    frame = pl.DataFrame({"item": ["a", "b", "c", "d"], "annotator": "ann", "label": [1, 2, 3, 1]})
    file = tmp_path / "labels.csv"
    frame.with_columns(topic=pl.Series(["x", "y", "x,y", "z"]), page=pl.Series([1, 2, 3, 3])).write_csv(file)

    def left(condition: str) -> list[str]:
        found = LabelOptions(scale=["1-3"], where=[condition]).read(str(file))
        return found.labels["item"].sort().to_list()

    assert left("topic=x") == ["a"]
    assert left("topic=y,z") == ["b", "d"]
    assert left("topic=x,y") == ["c"]
    assert left("page=1,3") == ["a", "c", "d"]
    with pytest.raises(AssayError, match=r"^--where must be COLUMN=VALUE; got 'topic'$"):
        left("topic")


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


def look(scale: str, *people: str, judges: tuple[str, ...] = ()) -> Look:
    labels = ("first", "second", "tie") if scale == "preference" else (1, 2, 3)
    rows = [(f"i{i}", who, labels[(i + k) % 3]) for i in range(6) for k, who in enumerate((*people, *judges))]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return assay.look(frame, scale=scale, **({"judges": list(judges)} if judges else {}))


@pytest.mark.slow
def test_command_for_chooses_first_analysis():
    one = ["a.csv"]
    assert command_for(look("1-5", "ann"), one) is None
    assert command_for(look("1-5", "ann", "bob"), one) == "assay agreement a.csv --scale 1-5"
    judged = look("1-5", "ann", "bob", judges=("m",))
    assert command_for(judged, one, "crowd") == "assay report a.csv --expertise crowd --judges m --scale 1-5"
    assert command_for(look("1-5", "ann", judges=("m",)), one) == "assay agreement a.csv --judges m --scale 1-5"
    votes = "assay ratings a.csv --judges m --scale preference"
    assert command_for(look("preference", "ann", "bob", judges=("m",)), one) == votes
    assert command_for(look("preference", "ann"), ["a.csv", "b.csv", "c.csv"]) == (
        "assay ratings a.csv --labels-from b.csv,c.csv --scale preference"
    )


@pytest.fixture
def agreement_rows(run, tmp_path) -> Callable[..., list[str]]:
    """The first column that `assay agreement` prints, without the heading."""
    rows = [(f"i{i}", who, (i + k) % 3 + 1) for i in range(8) for k, who in enumerate(("ann", "bob", "m"))]
    pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row").write_csv(tmp_path / "labels.csv")
    read = ("--judges", "m", "--scale", "1-3", "--method", "none", "--draws", "2")

    def between(*options: str) -> list[str]:
        out = run("agreement", tmp_path / "labels.csv", *read, *options)[1]
        cells = [re.split(r"\s{2,}", line)[0] for line in out.split("\n\n")[0].splitlines()[1:]]
        return [name for name in cells if name]

    return between


def test_agreement_names_both_raters_in_one_column(agreement_rows):
    # In a pair the first comes first; elsewhere the second, with which it is compared, comes first.
    assert agreement_rows("--who", "pairs", "--coefficients", "qwk") == ["ann & bob", "ann & m", "bob & m"]
    assert agreement_rows("--who", "humans,consensus", "--coefficients", "qwk")[:2] == [
        "humans", "m & humans' consensus"
    ]  # fmt: skip


@pytest.mark.slow
def test_agreement_prints_headline_coefficient_without_pairs(agreement_rows):
    brief = agreement_rows()
    assert brief[0] == "humans"
    assert not {"ann & bob", "ann & m"} & set(brief)
    assert agreement_rows("--who", "humans", "--coefficients", "mae,qwk") == ["humans", "humans"]


def test_agreement_prints_no_row_for_each_of_many_annotators(run, tmp_path):
    rows = [(f"i{i}", f"w{k:02}", (i + k) % 3 + 1) for i in range(4) for k in range(21)]
    pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row").write_csv(tmp_path / "labels.csv")
    read = (tmp_path / "labels.csv", "--scale", "1-3", "--method", "none", "--coefficients", "exact-agreement")
    brief, rest = (run("agreement", *read, *more)[1] for more in ((), ("--who", "rest")))
    assert "other humans' consensus" not in brief
    assert "w20 & other humans' consensus" in rest


def test_hidden_columns_are_empty_or_constant():
    frame = pl.DataFrame({"who": ["people"] * 2, "system": ["a", "b"], "group": [None, None]})
    assert hidden_columns(frame) == ("group", "who")
    assert hidden_columns(frame.select("who", "system")) == ("who",)
    assert hidden_columns(frame.drop("system")) == ("group",)
    assert hidden_columns(frame.with_columns(who=pl.Series(["people", "m"]))) == ("group",)


def test_lists_of_measures_keep_commas_of_their_options():
    assert shared._split_measures("words, rouge-l,embeddings:M,split=whole,,") == [
        "words", "rouge-l", "embeddings:M,split=whole"
    ]  # fmt: skip


def test_look_ends_with_2_if_the_file_cannot_be_read(run, tmp_path):
    path = tmp_path / "judges.csv"
    path.write_text("id,gpt-4o,llama-3\n" + "".join(f"q{i},{i % 3},{i % 2}\n" for i in range(20)))
    status, out, err = run("look", path)
    assert (status, err) == (2, "")
    assert "This file cannot be read without more options:" in out
    status, out, err = run("look", path, "--json")
    assert status == 2
    assert json.loads(out)["errors"]
    assert err.startswith(f"assay: {path} cannot be read without more options: 'gpt-4o', 'llama-3' can be judges")
    assert run("look", path, "--judges", "gpt-4o,llama-3")[0] == 0


def settings_file(folder: Path, *, runs: bool) -> Path:
    """Labels of two people in two weeks, and of a model with two tones at two lengths; R's NA for people's settings."""
    rows = [
        (f"t{k}", who, "human", week, "NA", "NA", (k + week) % 4 + 1)
        for k in range(31) for who in ("ann", "bob", "cho") for week in (1, 2)
    ]  # fmt: skip
    rows += [
        (f"t{k}", "gpt-4o", "judge", 1, tone, length, (k + len(tone)) % 4 + 1)
        for k in range(31) for tone in ("dry", "warm") for length in ("50", "200")
    ]  # fmt: skip
    names = ["text", "rater", "kind", "run" if runs else "week", "tone", "length", "score"]
    path = folder / "settings.csv"
    pl.DataFrame(rows, schema=names, orient="row").write_csv(path)
    return path


@pytest.mark.parametrize(
    ("stated", "runs"),
    [
        ((), False),
        pytest.param((), True, marks=pytest.mark.slow),
        pytest.param(("--conditions", "tone,length"), False, marks=pytest.mark.slow),
        (("--conditions", "tone,length"), True),
        (("--conditions", "tone,length", "--missing", "NA"), False),
        pytest.param(("--conditions", "tone,length", "--missing", "NA"), True, marks=pytest.mark.slow),
    ],
)
@pytest.mark.usefixtures("few_truths", "few_checks", "without_pictures")
def test_look_prints_a_next_command_that_runs_with_conditions_and_repeats(run, tmp_path, stated, runs):
    path = settings_file(tmp_path, runs=runs)
    if stated:
        stated = (*stated, "--repeat", "run") if runs else (*stated[:1], f"week,{stated[1]}", *stated[2:])
    status, out, _ = run("look", path, "--item", "text", "--scale", "1-4", *stated)
    command = re.search("Next command: +assay (.*)", out)[1]
    assert status == 0
    assert "--where" in command
    assert ("--repeats first" in command) == runs
    status, out, err = run(*shlex.split(command), "--n-resamples", "40", "-o", tmp_path / "page.html")
    assert (status, "gpt-4o" in out) == (0, True), err


def test_look_prints_a_leaderboard_of_all_votes_of_several_pairs_of_outputs(run, tmp_path):
    """Five pairs of outputs an item, as a condition: a leaderboard is of all votes, not those on the first pair."""
    rows = [(f"d{i}", pair, who, *(("x", "y") if (i + pair) % 2 else ("y", "x")), ("first", "second")[i % 2])
            for i in range(20) for pair in range(1, 6) for who in ("ann", "bob")]  # fmt: skip
    path = tmp_path / "votes.csv"
    names = ["item", "pair", "annotator", "first", "second", "label"]
    pl.DataFrame(rows, schema=names, orient="row").write_csv(path)
    status, out, _ = run("look", path)
    command = re.search("Next command: +assay (.*)", out)[1]
    assert (status, command) == (0, f"ratings {path} --conditions pair")
    assert "|votes:200|" in run(*shlex.split(command), "--n-resamples", "40")[1]


def test_look_at_repeated_answers_proposes_columns_that_tell_them_apart(run, tmp_path):
    path = settings_file(tmp_path, runs=False)
    status, out, _ = run("look", path, "--item", "text", "--scale", "1-4")
    assert "'week', 'tone', 'length' are experimental conditions, set --conditions week,tone,length" in out
    assert "--conditions week,tone,length --expertise crowd" in out
    twice = pl.read_csv(path)[[0, 0, 2]].with_columns(minutes=pl.Series([3, 4, 5]))
    twice.write_csv(tmp_path / "twice.csv")  # one answer twice: its minutes can be anything
    status, out, _ = run("look", tmp_path / "twice.csv", "--item", "text", "--scale", "1-4")
    assert (status, "set --conditions minutes" in out, "Next command" in out) == (2, True, False)


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
