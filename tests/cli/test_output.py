"""Parts of options and output: typed values, options from settings, forms of a result."""

from __future__ import annotations

import ast
import csv
import io
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import polars as pl
import pytest
from cyclopts import Token

import assay
from assay.cli import output
from assay.cli.app import main
from assay.cli.output import Output, as_typed, range_words, typed_value
from assay.errors import AssayError
from assay.estimation.options import Limits


def test_import_of_main_module_prints_nothing(capsys):
    import assay.__main__  # noqa: F401 - to import it asks nothing

    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("low", "high", "low_open", "high_open", "words"),
    [
        (None, None, False, False, ""), (0, 1, False, False, "0 to 1"), (0, 1, True, True, "above 0 and below 1"),
        (0, 1, True, False, "above 0 and at most 1"), (0, 1, False, True, "at least 0 and below 1"),
        (40, None, False, False, "at least 40"), (None, 2.5, False, False, "at most 2.5"),
        (None, 2.5, False, True, "below 2.5"), (1 / 3, None, True, False, "above 0.333333"),
    ],
)  # fmt: skip
def test_range_words(low, high, low_open, high_open, words):
    assert range_words(Limits(low=low, high=high, low_open=low_open, high_open=high_open)) == words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""), (False, ""), ("", ""), (True, "True"), (0, "0"), (0.0, "0.0"), (5, "5"), ("words", "words"),
        ((1, 2), "1,2"), (["a"], "a"), ((), ""),
    ],
)  # fmt: skip
def test_defaults_have_text_form(value, text):
    assert output._default(value) == text


@pytest.mark.parametrize(
    ("hint", "typed"),
    [
        (int | None, int), (float, float), (bool, bool), (str | None, str), (Any, str),
        (Literal["a", "b"], Literal["a", "b"]),
        (Literal["a"] | int, Literal["a"]), (Sequence[int] | int | None, list[int]), (tuple[float, ...], list[float]),
        (Sequence[str], list[str]), (Sequence[Literal["a"]], list[str]), (Mapping[str, int], list[output._NAME_VALUE]),
        (Callable[[str], int], None), (Callable[[str], int] | str, str), (Mapping[str, Any], None),
    ],
)  # fmt: skip
def test_typed_kind_of_option_types(hint, typed):
    assert output._typed_kind(hint) == typed
    assert output._optional(hint) == (hint is Any or type(None) in getattr(hint, "__args__", ()))


def tokens(*texts: str) -> list[Any]:
    return [Token(value=text) for text in texts]


def test_commas_split_names_and_numbers():
    assert output.commas(None, tokens("a, b,,icc(a,1)", "c")) == ["a", "b", "icc(a,1)", "c"]
    assert output.list_parser(int)(None, tokens("30,50")) == [30, 50]
    assert output.list_parser(float)(None, tokens(".5, 2")) == [0.5, 2.0]
    assert output.list_parser(str)(None, tokens("30,x")) == ["30", "x"]
    for kind, words in ((int, "'1.5' is not a whole number"), (float, "'x' is not a number")):
        with pytest.raises(ValueError, match=words):
            output.list_parser(kind)(None, tokens("1,1.5,x"))


@pytest.mark.parametrize(
    ("encoding", "printed"), [("utf-8", "é"), ("UTF8", "é"), (None, "é"), ("ascii", r"\u00e9"), ("cp1252", r"\u00e9")]
)
def test_print_json_respects_encoding(encoding, printed, monkeypatch):
    written: list[str] = []
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(encoding=encoding, write=written.append))
    output.print_json({"name": "é"})
    assert "".join(written) == f'{{\n  "name": "{printed}"\n}}\n'


def test_pairs_parse_names_and_values():
    whole = output.name_values("--n", int | Sequence[int])
    assert whole(None, tokens("o=1-4,r=1, 2,3", "s=7")) == [("o", (1, 2, 3, 4)), ("r", (1, 2, 3)), ("s", (7,))]
    assert whole(None, tokens("o=3-3")) == [("o", (3,))]
    # One name can be a column if the option allows it; two names cannot.
    assert output.name_values("--quality", float, column=True)(None, tokens("weight")) == "weight"
    assert output.name_values("--quality", float, column=True)(None, tokens("a=2")) == [("a", 2.0)]
    for wrong, column in (("weight", False), ("weight,other", False)):
        with pytest.raises(AssayError, match="takes NAME=VALUE; got"):
            output.name_values("--quality", float, column=column)(None, tokens(wrong))
    with pytest.raises(AssayError, match="takes NAME=VALUE; got 'a'"):
        output.name_values("--quality", float, column=True)(None, tokens("a", "b"))
    for text in ("o=4-3", "o=1-10002", "o=x", "o=1.5"):
        with pytest.raises(ValueError, match=r"o=... takes whole numbers: o=1-10 or o=1,2,3; got '"):
            whole(None, tokens(text))
    assert len(whole(None, tokens("o=1-10001"))[0][1]) == 10_001
    assert output.name_values("--price", float)(None, tokens("o=.5,r=2")) == [("o", 0.5), ("r", 2.0)]
    with pytest.raises(ValueError, match=r"o=... takes a number; got 'x'"):
        output.name_values("--price", float)(None, tokens("o=x"))
    assert output.name_values("--facets", str)(None, tokens("o=a+b")) == [("o", "a+b")]
    assert output.name_values("--facets", str | Sequence[str])(None, tokens("o=a+b,r=c")) == [
        ("o", ("a", "b")),
        ("r", ("c",)),
    ]
    for text in ("o", "o=", "=a"):
        with pytest.raises(AssayError, match="--facets takes NAME=VALUE; got"):
            output.name_values("--facets", str)(None, tokens(text))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a,b", "a,b"),
        ("1-5", "1-5"),
        ("icc(a,1)", "'icc(a,1)'"),
        ("two words", "'two words'"),
        ("a<b", "'a<b'"),
        ("…", "…"),
    ],
)
def test_typed_value_quotes_special_characters(value, text):
    assert typed_value(value) == text


def result(judge: str, value: float) -> Any:
    frame = pl.DataFrame({"estimate": [value], "n": [1200]})
    return SimpleNamespace(
        table=frame,
        symbol="ρ",
        counted="items",
        judge=judge,
        summary=lambda: f"{judge}!",
        to_dict=lambda: {"judge": judge},
    )


def test_output_has_one_form(capsys):
    one, two = result("x", 0.5), result("y", 0.25)
    Output().show(one, two)
    assert capsys.readouterr().out == "   ρ  items\n0.50  1,200\n\nx!\n\n   ρ  items\n0.25  1,200\n\ny!\n"
    Output().show(one, symbol="κ", drop=["n"])
    assert capsys.readouterr().out == "   κ\n0.50\n\nx!\n"
    Output(csv=True).show(one, two)
    assert capsys.readouterr().out == "judge,estimate,n\nx,0.5,1200\ny,0.25,1200\n"
    Output(csv=True).show(one)
    assert capsys.readouterr().out == "estimate,n\n0.5,1200\n"
    Output(json=True).show(one)
    assert json.loads(capsys.readouterr().out) == {"judge": "x"}
    Output(json=True).show(one, two)
    assert json.loads(capsys.readouterr().out) == [{"judge": "x"}, {"judge": "y"}]
    Output().words(one)
    assert capsys.readouterr().out == "x!\n"
    Output(csv=True).words(one)
    assert capsys.readouterr().out == "estimate,n\n0.5,1200\n"
    assert [Output().as_text, *(Output(**{form: True}).as_text for form in ("json", "csv"))] == [True, False, False]
    with pytest.raises(AssayError, match=r"--json and --csv exclude each other; give one"):
        Output(json=True, csv=True)


def test_output_prints_other_tables(capsys):
    frame = pl.DataFrame({"name": ["a"], "n": [1200]})
    for how, wanted in (({}, "name      n\na     1,200\n"), ({"csv": True}, "name,n\na,1200\n")):
        Output(**how).rows(frame)
        assert capsys.readouterr().out == wanted
    Output(json=True).rows(frame)
    assert json.loads(capsys.readouterr().out) == [{"name": "a", "n": 1200}]


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(help="Rounds."), "Rounds."),
        (Limits(low=1, help="Rounds."), "Rounds. [range: at least 1]"),
        (Limits(low=1, help="Rounds, at least 1."), "Rounds, at least 1."),
        (Limits(low=0, high=1, help=""), " [range: 0 to 1]"),
    ],
)
def test_option_help_states_range(limits, words):
    assert output._parameter("--n", float, float, limits, "").help == words
    lists = output._parameter("--n", Sequence[Literal["a", "b"]], list[str], limits, "")
    assert lists.help == f"{words} [choices: a, b]"
    assert (lists.n_tokens, lists.show_default, lists.negative) == (1, False, None)
    on, off = (output._parameter("--n", bool, bool, limits, default) for default in ("True", "False"))
    assert (on.negative, on.show_default, off.negative, off.show_default) == (None, "True", (), "False")


def test_as_typed_repeats_scale_option():
    said = "say scale={'speed': 'nominal', 'tone': 'ordinal:bad<good'} if the labels have it"
    assert as_typed(said, {"scale": "--scale"}) == (
        "say --scale 'speed=nominal' --scale 'tone=ordinal:bad<good' if the labels have it"
    )
    assert as_typed("say scale={'tone': '1-5'}", {"scale": "--scale"}) == "say --scale 'tone=1-5'"


STEERING = "\x1b[2J\x9b31m\u202egood\x07"
WRITTEN_OUT = r"\u001b[2J\u009b31m\u202egood\u0007"


@pytest.fixture
def steering_labels(tmp_path):
    """Two annotators, one with a name that would clear the screen, and a judge."""
    rows = [(f"i{i}", who, 1 + (i + n) % 3) for i in range(12) for n, who in enumerate((STEERING, "bob", "m"))]
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,label\n" + "".join(f"{i},{who},{label}\n" for i, who, label in rows), "utf-8")
    return path


def steers(text):
    return [one for one in text if one not in "\t\n" and (ord(one) < 32 or 127 <= ord(one) < 160 or one == "\u202e")]


def assay_prints(capsys, *words):
    with pytest.raises(SystemExit):
        main([str(word) for word in words])
    return capsys.readouterr()


@pytest.mark.parametrize(
    "command",
    [
        ("look",),
        ("alt-test", "--judges", "m", "--epsilon", "0.1"),
        ("alt-test", "--judges", "m", "--epsilon", "0.1", "--json"),
        ("agreement", "--judges", STEERING + "x"),
    ],
)
def test_output_escapes_control_characters(command, steering_labels, capsys):
    name, *options = command
    out, err = assay_prints(capsys, name, steering_labels, *options)
    assert WRITTEN_OUT in out + err
    assert not steers(out + err)


@pytest.mark.slow
def test_json_and_csv_keep_control_characters(steering_labels, capsys, monkeypatch):
    words = ("agreement", steering_labels, "--judges", "m")
    rows = json.loads(assay_prints(capsys, *words, "--json").out)["table"]
    assert STEERING in [row["first"] for row in rows]
    exact = assay_prints(capsys, *words, "--csv").out
    assert STEERING in [row["first"] for row in csv.DictReader(io.StringIO(exact))]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert assay_prints(capsys, *words, "--csv").out == exact.replace(STEERING, WRITTEN_OUT)


def test_printed_result_escapes_control_characters(steering_labels):
    found = assay.alt_test(assay.read(steering_labels, judges="m"), epsilon=0.1)
    assert STEERING in found.summary()
    assert str(found) == found.summary().replace(STEERING, WRITTEN_OUT)
    assert not steers(repr(found))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.slow
def test_progress_bar_escapes_markup(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "120")
    with output.progress_bar("Asking", patience=0.01) as tell:
        tell(f"[red]m[/nope] {STEERING}", 1, 2)
        time.sleep(0.5)  # then the bar is drawn
    assert f"[red]m[/nope] {WRITTEN_OUT}" in terminal.getvalue()


@pytest.mark.slow
def test_only_output_module_prints():
    # Other text goes through say() and note(), which escape control characters.
    folder = Path(output.__file__).parent
    printing = {
        (path.name, node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None)
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert {one for one in printing if one[0] != "output.py"} == {("studies.py", "Your choice: ")}


@pytest.mark.parametrize("names", [["Smith, Ann", "Bob"], ['the "old" one', " x "], ["icc(a,1)", "b"], ['"q", r']])
def test_names_are_read_as_they_are_typed(names: list[str]) -> None:
    assert output.commas(None, tokens(output.typed_list(names))) == names


def test_message_types_names_with_commas() -> None:
    said = output.as_typed("set columns=['Smith, Ann', 'Bob']", {"columns": "--columns"})
    assert said == """set --columns '"Smith, Ann",Bob'"""


def test_as_typed_writes_an_option_without_a_value_for_true():
    typed = {"quick": "--quick", "judges": "--judges"}
    assert as_typed("sampling (quick=True fits it without)", typed) == "sampling (--quick fits it without)"
    assert as_typed("run assay.rater_model(labels, quick=True)", typed) == "run --quick"
    assert as_typed("set assay.read(path, judges=['True'], quick=True)", typed) == "set --judges True --quick"
