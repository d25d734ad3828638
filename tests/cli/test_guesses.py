"""Wrong guesses at commands and options: each gets the right suggestion or none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cli.app import main, visible_arguments
from assay.cli.commands import BY_NAME
from assay.cli.guesses import COMMANDS, EARLIER, OPTIONS, RENAMED, SENTENCES

Run = Callable[..., tuple[int, str, str]]
TABLE = str(Path(__file__).parents[2] / "examples" / "sheet.csv")


@pytest.mark.parametrize("old", RENAMED)
def test_earlier_command_names_the_new_one_and_keeps_the_arguments(run: Run, old: str) -> None:
    new = RENAMED[old]
    now = f"assay: assay {old} is now assay {new}"
    if old != "plan":  # which is a group of commands today
        assert run(old) == (2, "", f"{now}\n")
    assert run(old, "--seed", "1", "my file.csv") == (
        2, "", f"{now}; run: assay {new} --seed 1 'my file.csv'\n"
    )  # fmt: skip
    command, _, option = new.partition(" --")
    assert command in BY_NAME
    if option:
        assert f"--{option.split()[0]}" in {one.name for one in visible_arguments(command)}


@pytest.mark.parametrize(("guess", "command"), COMMANDS.items())
def test_guessed_command_suggests_the_right_one(run: Run, guess: str, command: str) -> None:
    assert run(guess, "a.csv") == (2, "", f'assay: Unknown command "{guess}". Did you mean assay {command}?\n')
    assert command.partition(" --")[0] in BY_NAME or command in ("--help", "--version")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("alt-tst",), 'Unknown command "alt-tst". Did you mean assay alt-test?'),
        (("banana",), 'Unknown command "banana". See assay --help'),
        (("plan", "label"), 'Unknown command "plan label". Did you mean assay plan labels?'),
        (("people", "x"), 'Unknown command "people x". It has invite, links, pay, exclude, erase'),
    ],
)
def test_unknown_command_suggests_only_a_near_one(run: Run, words: tuple[str, ...], answer: str) -> None:
    assert run(*words) == (2, "", f"assay: {answer}\n")


# The 34 options that people of the field type first, with the answer of a command that has the option, or of alt-test.
GUESSES = {
    "--eps": ("alt-test", "--epsilon"), "--html": ("agreement", "--output"), "--out": ("report", "--output"),
    "--output-dir": ("agreement", "--output"), "--metric": ("alt-test", "--score"),
    "--bootstrap": ("agreement", "--n-resamples"), "--n-boot": ("alt-test", "--n-resamples"),
    "--rater": ("alt-test", "--annotator"), "--raters": ("alt-test", "--humans"), "--people": ("report", "--humans"),
    "--human": ("alt-test", "--humans"), "--id": ("alt-test", "--item"), "--id-col": ("agreement", "--item"),
    "--ci": ("agreement", "--confidence"), "--config": ("alt-test", "--reading"),
    "--on-missing": ("alt-test", "--missing"), "--open": ("report", None), "--verbose": ("alt-test", None),
    "-v": ("alt-test", None), "--quiet": ("alt-test", None), "-q": ("alt-test", None), "--limit": ("alt-test", None),
    "--jobs": ("alt-test", None), "--yes": ("report", "--force"), "--dry-run": ("alt-test", None),
    "--n-items": ("alt-test", None), "--clusters": ("card", "--object"),
}  # fmt: skip


def test_guesses_cover_the_table() -> None:
    assert {*OPTIONS} <= {*GUESSES, "--margin", "--n-bootstrap", "--n", "--items"}


@pytest.mark.parametrize("option", GUESSES)
def test_guessed_option_suggests_the_right_one_or_none(run: Run, option: str) -> None:
    command, right = GUESSES[option]
    code, out, err = run(command, TABLE, option, "1")
    assert (code, out) == (2, "")
    hint = "" if right is None else f" Did you mean {right}?"
    assert err == f"assay: Unknown option: {option}.{hint}\n"
    assert right is None or right in {name for one in visible_arguments(command) for name in one.names}


@pytest.mark.parametrize("option", SENTENCES)
def test_guessed_option_without_counterpart_gets_a_sentence(run: Run, option: str) -> None:
    code, out, err = run("alt-test", TABLE, option, "1")
    assert (code, out, err) == (2, "", f"assay: Unknown option: {option}. {SENTENCES[option]}\n")


@pytest.mark.parametrize("option", EARLIER)
def test_earlier_option_names_the_new_one_if_the_command_has_it(run: Run, option: str) -> None:
    command = "ratings" if option == "--next" else "alt-test"
    known = {name for one in visible_arguments(command) for name in one.names}
    if option not in known:
        assert EARLIER[option] in known
        assert run(command, TABLE, option, "1") == (2, "", f"assay: {option} is now {EARLIER[option]}\n")


@pytest.mark.parametrize(
    ("command", "option", "right"),
    [
        ("judge", "-v", "--verbose"), ("serve", "-q", "--quiet"), ("agreement", "--metric", "--coefficients"),
        ("plan alt-test", "--n-item", "--n-items"), ("alt-test", "--epsilonn", "--epsilon"),
        ("alt-test", "--scael", "--scale"), ("alt-test", "--banana", None),
    ],
)  # fmt: skip
def test_option_suggestion_depends_on_the_command(run: Run, command: str, option: str, right: str | None) -> None:
    code, _, err = run(*command.split(), *([] if command.startswith("plan") else [TABLE]), option)
    assert code == 2
    assert err.endswith(f"Unknown option: {option}." + ("\n" if right is None else f" Did you mean {right}?\n"))


@pytest.mark.parametrize(
    ("words", "list_"),
    [
        (("report", "{}", "--judges", "a", "b"), "--judges a,b"),
        (("report", "{}", "--judges", "a", "b", "c", "--json"), "--judges a,b,c"),
        (("agreement", "{}", "--wide", "--columns", "ann", "bob", "cho"), "--columns ann,bob,cho"),
        (("agreement", "{}", "none.csv"), None),
        (("agreement", "{}", "--scale", "1-5", "none.csv"), None),
    ],
)
def test_names_separated_by_spaces_are_answered_with_commas(
    run: Run, words: tuple[str, ...], list_: str | None
) -> None:
    code, _, err = run(*(TABLE if one == "{}" else one for one in words))
    assert code == 2
    if list_ is None:
        assert "commas" not in err
    else:
        assert err.endswith(f"; names of {list_.split()[0]} are separated by commas: {list_}\n")
        assert run("agreement", TABLE, *list_.split())[2] != err


def test_option_of_another_model_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    votes = str(Path(TABLE).with_name("votes.csv"))
    for words, answer in (
        (("ratings", votes, "--k", "4"), "--k ... is an option of --model elo; got --model bradley-terry"),
        (("ratings", votes, "--model", "elo", "--next-pairs", "2"), "--next-pairs requires --model bradley-terry"),
        (("raters", votes, "--model", "rasch", "--quick"),
         "--quick is an option of --model hierarchical, not of --model rasch"),
        (("separability", votes, "--sweep", "--pairs", "p.csv"), "--sweep requires one benchmark and draws no pairs"),
        (("separability", votes, "--sweep", "--n-items", "3"), "--choose, --n-items and --n-pairs select pairs of"),
    ):  # fmt: skip
        with pytest.raises(SystemExit) as ended:
            main([*words, "--scale", "preference", "--repeat", "repeat", "--judges", "gpt-4o"])
        assert ended.value.code == 2
        assert answer in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (("reviews.csv",), "to see what a file supports, run: assay look reviews.csv"),
        (("alt-test", TABLE, "gpt-4o"), "alt-test does not accept gpt-4o; if it is a judge, write --judges gpt-4o"),
        (("alt-test", TABLE, "--epsilon", "0,1"), "--epsilon must be a number; got '0,1'; write 0.1"),
    ],
)
def test_line_of_a_newcomer_is_answered_with_what_to_type(run: Run, line: tuple[str, ...], words: str) -> None:
    code, _, err = run(*line)
    assert (code, err.rstrip("\n").endswith(words)) == (2, True), err
