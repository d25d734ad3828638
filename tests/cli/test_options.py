"""The options of the commands are the settings of the questions, and errors name the options."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import assay
from assay.cli import app as cli
from assay.cli import labels as shared
from assay.cli.labels import ALL_JUDGES, whole_command
from assay.cli.output import as_typed
from assay.concordance.coefficient import AgreementSettings, GradingScaleSettings
from assay.errors import AssayError
from assay.estimation.options import Limits, Settings, hints_of
from assay.planning import PlanSettings
from assay.replacement.panel import AltTestBySettings, AltTestSettings
from assay.verdict.report import ReportSettings

EXAMPLES = Path(__file__).parents[2] / "examples"
Run = Callable[..., tuple[int, str, str]]

QUESTIONS: list[tuple[str, tuple[type[Settings], ...], dict[str, str]]] = [
    ("alt-test", (AltTestBySettings,), {}),
    ("report", (ReportSettings,), {"judges": "--only"}),
    ("agreement", (AgreementSettings,), {}),
    ("scales", (GradingScaleSettings,), {"scale": "--scale-column"}),
    ("plan alt-test", (PlanSettings, AltTestSettings), {"judge": "--only"}),
]
NOT_OFFERED = {
    "plan alt-test": {"expert", "gold", "clusters", "method", "n_resamples", "confidence"},
}


def arguments(command: str) -> dict[str, Any]:
    return {a.name: a for a in cli.app_of(command).assemble_argument_collection()}


@pytest.mark.parametrize(("command", "settings", "named"), QUESTIONS, ids=[c for c, _, _ in QUESTIONS])
def test_options_are_settings_of_the_question(command, settings, named):
    offered = arguments(command)
    seen: set[str] = set()
    for one in settings:
        defaults = {f.name: f.default for f in fields(one)}
        for name, (_, limits) in hints_of(one).items():
            if name in NOT_OFFERED.get(command, ()) or (limits.hidden and name not in offered) or name in seen:
                continue
            seen.add(name)
            option = offered[named.get(name, "--" + name.replace("_", "-"))]
            assert limits.help
            if named.get(name) != "--only":  # the commands state it themselves
                assert option.parameter.help.startswith(limits.help)
            default = defaults[name]
            if isinstance(default, int | float | str) and not isinstance(default, bool) and name != "by":
                assert option.show_default == str(default)


@pytest.mark.parametrize("name", sorted(NOT_OFFERED["plan alt-test"]))
def test_plan_omits_options_without_effect(name):
    assert "--" + name.replace("_", "-") not in arguments("plan alt-test")


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The arguments of the questions' functions, which do nothing."""
    import assay.concordance.agreement as summary
    import assay.planning as planning
    import assay.replacement.alt_test as alt_test

    found: dict[str, Any] = {}

    def stop(*_: Any, **options: Any) -> None:
        found.update(options)
        raise KeyboardInterrupt

    monkeypatch.setattr(alt_test, "alt_test", stop)
    monkeypatch.setattr(summary, "agreement", stop)
    monkeypatch.setattr(planning, "plan_alt_test", stop)
    return found


READ = ("--item", "id", "--annotator", "worker", "--label", "stars", "--judges", "gpt-4o,llama", "--scale", "1-5")


@pytest.mark.slow
def test_options_pass_only_given_values(run: Run, table: str, called: dict[str, Any]) -> None:
    assert run("alt-test", table, *READ, "--judge", "llama", "--epsilon", ".1")[0] == 130
    assert called == {"epsilon": 0.1}


def test_options_have_types_of_settings(run: Run, table: str, called: dict[str, Any]) -> None:
    words = ("--epsilon", "0", "--min-items", "20", "--test", "t", "--balance", "--ties", "share")
    assert run("alt-test", table, *READ, "--judge", "llama", *words)[0] == 130
    assert called == {"epsilon": 0.0, "min_items": 20, "test": "t", "balance": True, "ties": "share"}


def test_list_options_are_separated_by_commas(run: Run, table: str, called: dict[str, Any]) -> None:
    assert run("agreement", table, *READ, "--coefficients", "icc(a,1), qwk", "--who", "humans,human pairs")[0] == 130
    assert called == {"coefficients": ["icc(a,1)", "qwk"], "who": ["humans", "human pairs"]}
    called.clear()
    assert (
        run("plan", "alt-test", "--n-items", "30,50", "--epsilon", ".1,.2", "--categories", "3", "--fdr", ".1")[0]
        == 130
    )
    assert called == {"n_items": [30, 50], "epsilon": [0.1, 0.2], "categories": 3, "fdr": 0.1}
    called.clear()
    assert run("plan", "alt-test", "--categories", "1-5", "--expertise", "crowd", "--normalise", "rank")[0] == 130
    assert called == {"categories": "1-5", "expertise": "crowd", "normalise": "rank"}


@pytest.mark.parametrize(
    ("arguments", "start", "end"),
    [
        (("alt-test", "{}", "--n-resamples", "3"), "--n-resamples must be ", "; got 3"),
        (("alt-test", "{}", "--min-humans", "0"), "--min-humans must be ", "; got 0"),
        (("alt-test", "{}", "--epsilon", "nan"), "--epsilon must ", "; got nan"),
        (("alt-test", "{}", "--fail-under", "7"), "--fail-under must lie between 0 and 1", "; got 7.0"),
        (("agreement", "{}", "--seed", "-1", "--method", "percentile"), "--seed must be ", "; got -1"),
        (("agreement", "{}", "--who", "human"), "--who must be humans, ", "got 'human'; did you mean 'humans'?"),
        (("agreement", "{}", "--confidence", "1"), "--confidence must lie between 0 and 1", "; got 1.0"),
        (("scales", "{}", "--well-aligned", "2"), "--well-aligned must lie between 0 and 1", "; got 2.0"),
        (("plan", "alt-test", "--n-items", "30,x"), "Invalid value for --n-items: ", "'x' is not a whole number"),
        (("plan", "alt-test", "--power", "1"), "--power must lie between 0 and 1", "; got 1.0"),
        (("plan", "alt-test", "--spread", "inf"), "--spread must be ", "; got inf"),
        (("plan", "alt-test", "--epsilon", ".1", "--expertise", "crowd"), "--epsilon ... and --expertise ... ",
         "give one"),
        (("demo", "--seed", "-1"), "--seed must be ", "; got -1"),
    ],
)  # fmt: skip
def test_options_refuse_values_out_of_range(run: Run, table: str, arguments, start, end) -> None:
    code, out, err = run(*(table if a == "{}" else a for a in arguments))
    assert (code, out) == (2, "")
    assert err.startswith(f"assay: {start}")
    assert err.endswith(f"{end}\n")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("agreement", "{}", "--annotators", "sample"), "--annotators is now --raters fixed or --raters random"),
        (("alt-test", "{}", "--annotators", "crowd"), "--annotators is now --expertise ..."),
        (("ratings", "{}", "--threshold=3"), "--threshold is now --separability-threshold ..."),
        (("card", "{}", "--people"), "--people is now --human-baseline ..."),
        (
            ("plan", "alt-test", "--annotators", "3"),
            "--annotators is now --expertise ..., and their number --n-annotators",
        ),
    ],
)
def test_renamed_options_are_refused_with_new_name(run: Run, table: str, arguments, words) -> None:
    code, out, err = run(*(table if a == "{}" else a for a in arguments))
    assert (code, out, err) == (2, "", f"assay: {words}\n")


TYPED = {
    "judges": "--judges", "scale": "--scale", "epsilon": "--epsilon", "expertise": "--expertise", "by": "--by",
    "repeats": "--repeats", "wide": "--wide", "n_items": "--n-items", "who": "--who", "split_item": "--split-item",
}  # fmt: skip


@pytest.mark.parametrize(
    ("python", "typed"),
    [
        ("name the judges with judges=[...]", "name the judges with --judges ..."),
        ("name the judges with judges=['gpt', ...]", "name the judges with --judges gpt,..."),
        ("choose one with labels.where(criterion=...)", "choose one with --where criterion=..."),
        ("take labels.where(kind='human')", "take --where kind=human"),
        ("assay.alt_test_by(labels, judge, by='criterion'), or", "--by criterion, or"),
        ("with scale={'stars': '1-5'}", "with --scale 'stars=1-5'"),
        ("categories (scale=assay.Ordinal(...))", "categories (--scale ...)"),
        ("say scale=assay.Ordinal(1, 5)", "say --scale ..."),
        ("with expertise='expert' (.2), 'skilled' (.15) or 'crowd' (.1), or give epsilon=...",
         "with --expertise expert (.2), skilled (.15) or crowd (.1), or give --epsilon ..."),
        ("repeats='first', 'last' or 'each'", "--repeats first, last or each"),
        ("columns of a wide table; say layout='wide' too", "columns of a wide table; say --wide too"),
        ("one row per label; say layout='long' too", "one row per label; say layout='long' too"),
        ("name your field with users=...", "name your field with --option users=..."),
        ("name them with --option users=...", "name them with --option users=..."),
        ("name it with ranges={'a': (lowest, highest)}", "name it with ranges={'a': (lowest, highest)}"),
        ("n_items must be at least 2", "--n-items must be at least 2"),
        ("split_item '(' does not fit", "--split-item '(' does not fit"),
        ("judge 'x' is not in the table", "judge 'x' is not in the table"),
        ("criterion == 3, a<b, 'who=x'", "criterion == 3, a<b, 'who=x'"),
    ],
)  # fmt: skip
def test_as_typed_translates_python_options(python, typed):
    assert as_typed(python, TYPED) == typed


def test_reading_error_names_reading_option(run: Run, table: str) -> None:
    """A question can have an option of the same name."""
    code, _, err = run("scales", table, *READ[:-2], "--scale", "1-3")
    assert code == 2
    assert "--scale-column" not in err


def test_settings_without_text_form_are_not_options():
    assert not {"--ranges"} & {name for c, _, _ in QUESTIONS for name in arguments(c)}
    assert isinstance(hints_of(GradingScaleSettings)["ranges"][1], Limits)


@pytest.mark.slow
def test_missing_spelling_and_decimal_options(run, tmp_path):
    path = tmp_path / "sheet.csv"
    cells = ["Agree", "agree", "N/A", "no"] * 10
    rows = [f"q{i // 2},{'ab'[i % 2]},{cell}" for i, cell in enumerate(cells)]
    path.write_text("\n".join(["item,annotator,label", *rows]))
    code, _, err = run("agreement", path)
    assert (code, "set --missing N/A if they are missing values, or --missing '' if they are categories" in err) == (
        2,
        True,
    )
    code, _, err = run("agreement", path, "--missing", "N/A")
    assert (code, "Set --label-spelling merge if they are the same" in err) == (2, True)
    code, _, err = run("agreement", path, "--missing", "N/A", "--label-spelling", "merge")
    assert (code, "note: 10 rows excluded: missing label (N/A)" in err) == (0, True)
    code, _, err = run("agreement", path, "--missing", "", "--label-spelling", "apart")
    assert (code, "4 categories without order" in err) == (0, True)
    path.write_text(
        "item,annotator,label\n" + "".join(f'q{i},{who},"{i % 5 + 1},00{i % 3}"\n' for i in range(9) for who in "ab")
    )
    code, _, err = run("agreement", path)
    assert (code, "Set --decimal comma or --decimal point" in err) == (2, True)
    code, _, err = run("agreement", path, "--decimal", "comma")
    assert (code, "note: labels parsed as numbers with a decimal comma" in err) == (0, True)
    code, _, err = run("agreement", path, "--missing=-99", "--decimal", "point")
    assert (code, "no label is '-99', listed in --missing" in err) == (0, True)


def test_plan_without_pilot_refuses_reading_options(run: Run) -> None:
    code, _, err = run("plan", "alt-test", "--items", "50", "--n-studies", "20", "--expertise", "crowd")
    assert (code, "for the number of items use --n-items" in err) == (2, True)


@pytest.mark.slow
def test_hyphen_reads_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    sheet = "ID,Ann,Bob\n" + "".join(f"q{k},{1 + k % 5},{1 + k % 4}\n" for k in range(20))
    for words in (
        ("look", "-", "--wide"),
        ("agreement", "-", "--wide", "--coefficients", "exact-agreement", "--n-resamples", "40"),
    ):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(sheet.encode())))
        code, out, err = run(*words)
        assert code == 0, err
        assert "20 items" in out


@pytest.mark.parametrize("quality", ["weight", "ann=1,bob=2,cho=1"])
def test_quality_option_takes_column_or_names(run, tmp_path, quality):
    """A column of the annotator table, which is text in a CSV file, and the same weights by name."""
    people = tmp_path / "people.csv"
    people.write_text("annotator,weight\nann,1\nbob,2\ncho,1\n")
    reading = {"item": "id", "annotator": "worker", "label": "stars", "judges": ["gpt-4o", "llama"], "scale": "1-5"}
    labels = assay.read(EXAMPLES / "labels.csv", **reading)
    wanted = assay.alt_test(labels, "gpt-4o", epsilon=0.2, quality={"ann": 1, "bob": 2, "cho": 1})
    options = [f"--{name}={','.join(value) if isinstance(value, list) else value}" for name, value in reading.items()]
    status, out, err = run(
        "alt-test", EXAMPLES / "labels.csv", *options, "--only", "gpt-4o", "--epsilon", "0.2", "--annotator-table",
        people, "--quality", quality, "--json",
    )  # fmt: skip
    assert (status, err) == (0, "")
    assert json.loads(out)["advantage_probability"]["estimate"] == wanted.advantage_probability.estimate
    plain = assay.alt_test(labels, "gpt-4o", epsilon=0.2)
    assert plain.advantage_probability.estimate != wanted.advantage_probability.estimate


def test_quality_refuses_text_weights(run, tmp_path):
    people = tmp_path / "people.csv"
    people.write_text("annotator,weight\nann,high\nbob,2\ncho,1\n")
    status, out, err = run(
        "alt-test", EXAMPLES / "labels.csv", "--item=id", "--annotator=worker", "--label=stars", "--scale=1-5",
        "--judges=gpt-4o,llama", "--only=gpt-4o", "--epsilon=0.2", "--annotator-table", people, "--quality", "weight",
    )  # fmt: skip
    assert (status, out) == (2, "")
    assert "the quality of annotator 'ann' must be a number above 0; got 'high'" in err


# -- which judges, and the whole command -------------------------------------------------------------

TABLE = pl.DataFrame({"item": ["a", "a", "a"], "annotator": ["ann", "m", "n"], "label": [1, 2, 3]})


def test_tested_selects_judges():
    both = assay.read(TABLE, judges=["m", "n"])
    for chosen in (shared.Tested(only=["n"]), shared.Tested(judge=["n"])):
        assert (chosen.names(), chosen.among(both), chosen.one("one")) == (["n"], ["n"], {"judge": "n"})
    assert (ALL_JUDGES.names(), ALL_JUDGES.among(both), ALL_JUDGES.one("one")) == (None, ["m", "n"], {})
    assert shared.Tested(only=["m", "n"]).among(both) == ["m", "n"]
    with pytest.raises(AssayError, match=r"^route requires one judge; --only names 2$"):
        shared.Tested(only=["m", "n"]).one("route requires one judge")
    with pytest.raises(AssayError, match="--judge is an earlier name of --only; give --only"):
        shared.Tested(only=["m"], judge=["m"]).names()
    nobody = assay.read(TABLE, judges=[], humans=["ann", "m", "n"])
    assert ALL_JUDGES.among(nobody) == []
    with pytest.raises(
        AssayError, match=r"the table does not name its judges\. Name all judges with --judges m,n, and the"
    ):
        shared.Tested(only=["m", "n"]).among(nobody)


@pytest.mark.parametrize(
    ("words", "options", "wanted"),
    [
        (["agreement", "a.csv"], {}, "assay agreement a.csv"),
        (["agreement", "my labels.csv"], {"judges": ["m", "n"]}, "assay agreement 'my labels.csv' --judges m,n"),
        (["agreement", "a.csv", "--judges", "m"], {"judges": ("m", "n")}, "assay agreement a.csv --judges m,n"),
        (["agreement", "--judges=m", "a.csv"], {"judges": ["n"]}, "assay agreement a.csv --judges n"),
        (["agreement", "a.csv"], {"scale": {"x": "1-5", "y": "0-9"}},
         "assay agreement a.csv --scale x=1-5 --scale y=0-9"),
        (["agreement", "a.csv"], {"item": "item", "annotator": "who", "label": "label"},
         "assay agreement a.csv --annotator who"),
        (["agreement", "a.csv"], {"layout": "wide", "split_item": "no"},
         "assay agreement a.csv --wide --split-item no"),
        (["agreement", "a.csv", "--wide"], {"layout": "wide"}, "assay agreement a.csv --wide"),
        (["agreement", "a.csv"], {"layout": "long"}, "assay agreement a.csv"),
        (["agreement", "a.csv"], {"annotator_table": "people.csv"},
         "assay agreement a.csv --annotator-table people.csv"),
        (["agreement", "/dev/stdin"], {}, "assay agreement -"),
        (["report", "a.csv"], {}, "assay report a.csv --expertise crowd"),
        (["alt-test", "a.csv", "--epsilon", ".1"], {}, "assay alt-test a.csv --epsilon .1"),
        (["alt-test", "a.csv", "--gold", "g"], {"judges": "m"}, "assay alt-test a.csv --gold g --judges m"),
        (["report", "a.csv", "--expertise", "expert"], {}, "assay report a.csv --expertise expert"),
        ([], {}, "assay"),
    ],
)  # fmt: skip
def test_whole_command_adds_reading_options(words, options, wanted):
    assert whole_command(options, words) == wanted


@pytest.mark.slow
def test_where_takes_a_number_in_another_spelling_and_keeps_people(run, tmp_path):
    rows = [f"q{i},{who},{1 + (i + k) % 3}," for i in range(40) for k, who in enumerate(("ann", "bob", "cho"))]
    rows += [f"q{i},m,{1 + i % 3},{heat}" for i in range(40) for heat in ("0.0", "0.7")]
    path = tmp_path / "heat.csv"
    path.write_text("\n".join(["item,annotator,label,heat", *rows]) + "\n", encoding="utf-8")
    given = ("alt-test", path, "--judges", "m", "--scale", "1-3", "--conditions", "heat", "--expertise", "crowd")
    code, _, err = run(*given)
    assert (code, "several values of 'heat' (0.0, 0.7); choose one with --where heat=..." in err) == (2, True)
    found = [run(*given, "--where", f"heat={heat}") for heat in ("0.0", "0")]
    assert found[0][0] == 0
    assert found[0] == found[1]
    assert "alt-test|items:40|humans:3|" in found[0][1]
