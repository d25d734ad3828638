"""The gate: four statuses, four exit codes, as text, JSON, Markdown and JUnit; the example jobs by a shell."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import yaml

import assay
from assay.cli import app as cli
from assay.data.formats.registry import ReadSettings
from assay.errors import DataError, DesignError
from assay.estimates.corrected import EstimateSettings
from assay.estimation.intervals import Estimate
from assay.estimation.result import Run
from assay.replacement.panel import AltTestSettings
from assay.testing import assert_gate, assert_may_replace
from assay.verdict import gate
from assay.verdict.words import verdict_check

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def folder(tmp_path):
    """Labels of three annotators, a good judge and a random one; and labels of an earlier run."""
    labels = assay.simulate(
        n_items=200, n_annotators=3, annotator_noise=0.3, judges={"good": 0.2, "coin": 1.0}, scale="1-5", seed=4
    )
    labels.labels.write_csv(tmp_path / "labels.csv")
    moved = labels.labels.with_columns(
        label=pl.when((pl.col("annotator") == "good") & (pl.col("label") < 5)).then(pl.col("label") + 1)
        .otherwise(pl.col("label"))
    )  # fmt: skip
    moved.write_csv(tmp_path / "before.csv")
    labels.labels.filter(pl.col("item") < "item_011").write_csv(tmp_path / "few.csv")
    return tmp_path


def policy(folder: Path, text: str, judge: str = "good", labels: str = "labels.csv") -> str:
    path = folder / "assay.toml"
    read = 'judges = ["good", "coin"]\nscale = "1-5"'
    path.write_text(f'labels = "{labels}"\njudge = "{judge}"\n[read]\n{read}\n{text}')
    return str(path)


VERDICT = '[verdict]\nexpertise = "crowd"\n'


@pytest.mark.parametrize(
    ("text", "judge", "labels", "status", "code", "words"),
    [
        (VERDICT, "good", "labels.csv", "pass", 0, "Non-inferiority: as good as at least 2 of 3"),
        (VERDICT, "coin", "labels.csv", "fail", 1, "Do not replace these annotators with coin"),
        (VERDICT, "good", "few.csv", "undecided", 2, "Undecided for good"),
        (VERDICT, "god", "labels.csv", "error", 3, "did you mean 'good'"),
        (VERDICT, "good", "label.csv", "error", 3, "does not exist"),
        (VERDICT + "[drift]\nbefore = 'before.csv'\nmost = 0.1", "good", "labels.csv", "fail", 1,
         "allowed ±0.1."),
        (VERDICT + "[drift]\nbefore = 'labels.csv'\nmost = 0.1", "good", "labels.csv", "pass", 0,
         "drift: pass – change +0.00"),
        ("[[estimate]]\nat_most = 1.5", "good", "labels.csv", "fail", 1, "required: at most 1.5"),
        ("[[estimate]]\nmost_half_width = 0.5", "good", "labels.csv", "pass", 0, "half-width of at most 0.5"),
        ("[[estimate]]\nmost_half_width = 0.01", "good", "labels.csv", "undecided", 2, "human-labelled items"),
    ],
)  # fmt: skip
def test_gate_has_four_statuses(folder, text, judge, labels, status, code, words):
    found = assay.gate(policy(folder, text, judge, labels))
    assert (found.status, found.exit_code) == (status, code)
    assert words in found.summary()
    comment = found.markdown()
    assert f"assay gate: {status}" in comment
    suite = ET.fromstring(found.junit())
    assert int(suite.get("tests")) == len(found.checks)
    failures = [one.get("type") for one in suite.iter("failure")]
    assert (failures != [], "undecided" in failures) == (code in (1, 2), code == 2)
    assert (suite.find(".//error") is not None) == (code == 3)
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("unchanged", [0, 1])
def test_gate_fails_if_every_label_changed_by_the_same_amount(tmp_path, unchanged):
    rows = [{"item": f"q{i:02}", "annotator": "gpt", "label": i % 4 + 1} for i in range(60)]
    moved = [row | {"label": row["label"] + (i >= unchanged)} for i, row in enumerate(rows)]
    pl.DataFrame(rows).write_csv(tmp_path / "before.csv")
    pl.DataFrame(moved).write_csv(tmp_path / "after.csv")
    made = tmp_path / "drift.toml"
    made.write_text(
        'labels = "after.csv"\njudge = "gpt"\n[read]\njudges = ["gpt"]\nscale = "1-5"\n'
        '[drift]\nbefore = "before.csv"\nmost = 0.2\n'
    )
    found = assay.gate(str(made))
    assert (found.status, found.exit_code) == ("fail", 1)
    assert f"change {'+0.98' if unchanged else '+1.00'} [0.9" in found.summary()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no check"),
        ("[verdit]\n", "did you mean 'verdict'"),
        ("[verdict]\nexpertise = 'crowd'\nepsilonn = 0.1", "did you mean 'epsilon'"),
        ("[verdict]\nexpertise = 'crwd'", "did you mean 'crowd'"),
        ("[drift]\nmost = 0.1", 'must set before = "..."'),
        ("[drift]\nbefore = 'before.csv'\nmost = 'much'", "must be a number"),
        ("[[estimate]]\ntarget = 'mean'", "must set at_least"),
        ("[[estimate]]\nat_lest = 0.5", "did you mean 'at_least'"),
        ("[verdict\n", "cannot be read as TOML"),
    ],
)
def test_gate_explains_invalid_policy(folder, text, words):
    found = assay.gate(policy(folder, text))
    assert found.exit_code == 3
    assert words in found.summary()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("judge", "text"),
    [
        ("constant", "[drift]\nbefore = 'labels.csv'\nmost = 0.1"),
        ("coin", "[[estimate]]\nmost_half_width = 0.5"),
        ("inverted", "[[estimate]]\nmost_half_width = 0.5"),
    ],
)
def test_gate_without_a_verdict_does_not_say_replace(judge, text, folder):
    """Judges that cannot replace an annotator pass these checks; with [verdict] they do not."""
    labels = pl.read_csv(folder / "labels.csv")
    good = labels.filter(pl.col("annotator") == "good")
    label = {"constant": pl.lit(3), "coin": pl.col("label").shuffle(seed=1), "inverted": 6 - pl.col("label")}[judge]
    bad = good.with_columns(annotator=pl.lit("bad"), label=label.cast(pl.Int64))
    pl.concat([labels, bad]).write_csv(folder / "labels.csv")
    path = policy(folder, text, "bad")
    written = Path(path).read_text().replace('"coin"]', '"coin", "bad"]')
    Path(path).write_text(written)
    found = assay.gate(path)
    assert (found.status, found.exit_code) == ("pass", 0)
    notice = "The policy has no [verdict], so the judge is not tested against the annotators; a judge that ignores the "
    texts = [found.summary(), found.markdown(), found.junit(), json.dumps(found.to_dict()), str(found.table)]
    assert all("replace" not in one.lower() for one in texts)
    assert all(notice in one for one in (texts[0], texts[1], texts[3]))
    assert found.summary().startswith("Pass (exit 0).\n")
    assert found.markdown().startswith("### ✅ assay gate: pass\n")
    assert assert_gate(path).status == "pass"
    # With [verdict] the same judge fails or is undecided.
    Path(path).write_text(f"{written}\n{VERDICT}")
    tested = assay.gate(path)
    assert tested.status in ("fail", "undecided")
    assert notice not in tested.summary()
    with pytest.raises(AssertionError, match=rf"(Fail|Undecided) \(exit {tested.exit_code}\)"):
        assert_gate(path)


@pytest.mark.slow
def test_gate_runs_other_checks_after_error(folder):
    found = assay.gate(policy(folder, VERDICT + "[drift]\nbefore = 'nowhere.csv'\nmost = 0.1"))
    assert [one.status for one in found.checks] == ["pass", "error"]
    assert found.exit_code == 3


def test_gate_names_the_section_of_an_error(folder):
    labels = pl.read_csv(folder / "labels.csv").with_columns(repeat=pl.lit(1))
    twice = pl.concat([labels, labels.filter(pl.col("annotator") == "good").with_columns(repeat=pl.lit(2))])
    twice.write_csv(folder / "twice.csv")
    found = assay.gate(policy(folder, VERDICT + "[drift]\nbefore = 'nowhere.csv'\nmost = 0.1", labels="twice.csv"))
    assert [one.status for one in found.checks] == ["error", "error"]
    assert found.checks[0].words.startswith("[verdict] of the policy: the table contains repeated labels")
    assert found.checks[1].words.startswith("[drift] of the policy: the file or folder ")


@pytest.fixture
def varied(folder):
    """Labels of two conditions, in one of which the good judge's labels are random."""
    labels = pl.read_csv(folder / "labels.csv")
    mixed = labels.with_columns(pl.col("label").shuffle(seed=2).over("annotator"))
    label = pl.when(pl.col("annotator") == "good").then(mixed["label"]).otherwise(pl.col("label"))
    both = [labels.with_columns(prompt=pl.lit("long")), labels.with_columns(label=label, prompt=pl.lit("a=b,c"))]
    pl.concat(both).write_csv(folder / "varied.csv")
    return folder


def with_reading(path: str, line: str) -> str:
    text = Path(path).read_text()
    Path(path).write_text(text.replace("[read]\n", f"[read]\n{line}\n"))
    return path


@pytest.mark.parametrize(
    ("where", "status"),
    [
        ("'prompt=long'", "pass"), ("['prompt=long']", "pass"), ("{prompt = 'long'}", "pass"),
        ("'prompt=a=b,c'", "fail"), ("{prompt = ['long'], annotator = ['good', 'ann']}", "error"),
        ("3", "error"), ("'prompt'", "error"), ("'prompt=short'", "error"),
    ],
)  # fmt: skip
def test_gate_reads_rows_that_the_policy_chooses(varied, where, status):
    path = with_reading(policy(varied, VERDICT, labels="varied.csv"), f"conditions = ['prompt']\nwhere = {where}")
    assert assay.gate(path).status == status, assay.gate(path).summary()


@pytest.mark.parametrize(
    ("where", "ends"),
    [("prompt=long", None), (["prompt=long"], None), ({"prompt": "long"}, None), ({"prompt": ["long"]}, None),
     ("prompt=a=b,c", AssertionError), ("prompt", DesignError), ("prompt=short", DataError), (3, DesignError)],
)  # fmt: skip
def test_assertion_reads_rows_as_a_policy_does(varied, where, ends):
    read = {"judges": ["good", "coin"], "scale": "1-5", "conditions": ["prompt"], "where": where}
    with nullcontext() if ends is None else pytest.raises(ends):
        assert_may_replace(varied / "varied.csv", "good", read=read, expertise="crowd")


def test_assertion_and_policy_state_the_same_limits(folder):
    """The judge leaves out 30 of 200 items, more often those with high labels."""
    labels = pl.read_csv(folder / "labels.csv")
    high = labels.group_by("item").agg(pl.col("label").mean()).sort("label", "item", descending=True)["item"][:30]
    labels.filter(~((pl.col("annotator") == "good") & pl.col("item").is_in(high.implode()))).write_csv(
        folder / "gaps.csv"
    )
    (check,) = assay.gate(policy(folder, VERDICT, labels="gaps.csv")).checks
    assert check.status == "pass"
    assert "Limits of the verdict: the unanswered items differ from the others" in check.words
    read = {"judges": ["good", "coin"], "scale": "1-5"}
    test = assert_may_replace(folder / "gaps.csv", "good", read=read, expertise="crowd")
    assert verdict_check(test) == check.words
    with pytest.raises(AssertionError) as refused:
        assert_may_replace(folder / "gaps.csv", "coin", read=read, expertise="crowd")
    (check,) = assay.gate(policy(folder, VERDICT, "coin", labels="gaps.csv")).checks
    assert str(refused.value) == f"{check.words} {check.advice}"


def test_gate_prints_the_cautions_of_an_estimate(folder):
    """Items of 20 documents, whose labels depend on one another."""
    labels = pl.read_csv(folder / "labels.csv")
    document = pl.col("item").str.slice(-3).cast(pl.Int64) // 10
    shift = pl.when(pl.col("annotator").is_in(["good", "coin"])).then(0).otherwise((document % 3) - 1)
    labels = labels.with_columns(document=pl.format("text {}", document), label=(pl.col("label") + shift).clip(1, 5))
    labels.write_csv(folder / "grouped.csv")
    found = assay.gate(policy(folder, "[[estimate]]\nmost_half_width = 0.5", labels="grouped.csv"))
    own = assay.estimate(assay.read(folder / "grouped.csv", judges=["good", "coin"], scale="1-5"), "good").cautions
    assert own
    assert f"Caution: {own[0]}" in found.checks[0].words
    assert all(part in found.markdown() for part in own)


@pytest.mark.parametrize("command", [False, True])
def test_advice_of_gate_works_in_the_policy(varied, command, capsys):
    path = with_reading(policy(varied, VERDICT, labels="varied.csv"), "conditions = ['prompt']")
    words = assay.gate(path).checks[0].words
    if command:
        with pytest.raises(SystemExit, match="3"):
            cli.main(["gate", path])
        words = " ".join(capsys.readouterr().out.split())
    (advice,) = re.findall(r"choose one with (where = '[^']*') in \[read\]", words)
    assert assay.gate(with_reading(path, advice)).status == "fail"  # a verdict, on the condition that is bad


def test_advice_of_gate_names_judges_as_the_policy_does(folder):
    labels = pl.read_csv(folder / "labels.csv")
    kind = pl.when(pl.col("annotator").is_in(["good", "coin"])).then(pl.lit("judge")).otherwise(pl.lit("human"))
    labels.with_columns(kind=kind).write_csv(folder / "kinds.csv")
    path = policy(folder, VERDICT, labels="kinds.csv")
    Path(path).write_text(Path(path).read_text().replace('judges = ["good", "coin"]\n', ""))
    words = assay.gate(path).checks[0].words
    (advice,) = re.findall(r"add it with (judges = \[[^]]*\])", words)
    assert assay.gate(with_reading(path, advice)).status == "pass"


@pytest.mark.parametrize(
    ("typed", "code", "words"),
    [
        (["--where", "prompt=long"], 0, "may replace"),
        (["--where", "prompt=a=b,c"], 1, "Do not replace"),
        (["--where", "prompt=short"], 3, "prompt 'short' is not in the table"),
        (["--where", "prompt=long", "--judges", "coin,good"], 0, "may replace"),
        (["--where", "prompt=long", "--scale", "1-3"], 3, "off the scale"),
        (["--where", "prompt=long", "--humans", "good"], 3, "good"),
        (["--store", "s.db"], 3, "set store in the study's study.yaml"),
        (["--labels-from", "before.csv"], 3, "name all files in labels of the policy"),
        (["--option", "users=users.json"], 3, "in [read] of the policy"),
    ],
)
def test_gate_command_applies_or_refuses_every_reading_option(varied, typed, code, words, capsys):
    path = with_reading(policy(varied, VERDICT, labels="varied.csv"), "conditions = ['prompt']")
    with pytest.raises(SystemExit) as ended:
        cli.main(["gate", path, *typed])
    assert ended.value.code == code
    printed = capsys.readouterr()
    assert words in " ".join((printed.out + printed.err).split())


def test_gate_explains_missing_policy(tmp_path):
    found = assay.gate(str(tmp_path / "assay.toml"))
    assert found.exit_code == 3
    assert "as in examples/assay.toml" in found.summary()


def test_gate_json_has_the_numbers_of_the_verdict(folder):
    drifted = VERDICT + "[drift]\nbefore = 'labels.csv'\nmost = 0.1\n[[estimate]]\nat_least = 1\n"
    made = assay.gate(policy(folder, drifted, "coin"))
    labels = assay.read(folder / "labels.csv", judges=["good", "coin"], scale="1-5")
    test = assay.alt_test(labels, "coin", expertise="crowd")
    tests = test.verdict_tests
    row, drift, mean = made.to_dict()["table"]
    assert row["quantity"] == "agreement_ratio"
    assert (row["estimate"], row["verdict"], row["epsilon"]) == (test.agreement_ratio.estimate, "do_not_replace", 0.1)
    assert [row[f"p_{name}"] for name in ("noninferior", "item_level", "ratio_above")] == [
        tests.p_noninferior, tests.p_item_level, tests.p_ratio_above,
    ]  # fmt: skip
    assert (row["advantage_probability"], row["winning_rate"]) == (test.advantage_probability.estimate, 0.0)
    assert (drift["quantity"], mean["quantity"], drift["verdict"], mean["epsilon"]) == (
        "judge drift",
        "mean",
        None,
        None,
    )
    first, *others = made.to_dict()["checks"]
    assert (first["test"]["verdict"], first["test"]["reason"]) == ("do_not_replace", "worse_than_half")
    assert first["test"]["table"] == json.loads(json.dumps(test.to_dict()["table"]))
    assert [one["test"] for one in others] == [None, None]


@pytest.mark.slow
def test_gate_command_exits_and_writes(folder, capsys):
    path = policy(folder, VERDICT, "coin")
    with pytest.raises(SystemExit) as stopped:
        cli.main(["gate", path, "--comment", str(folder / "c.md"), "--junit", str(folder / "j.xml"), "--json"])
    assert stopped.value.code == 1
    assert json.loads(capsys.readouterr().out)["status"] == "fail"
    assert "Do not replace" in (folder / "c.md").read_text()
    ET.parse(folder / "j.xml")


def test_gate_command_overwrites_only_its_results(folder, capsys):
    path = policy(folder, VERDICT, "coin")
    for _ in range(2):
        with pytest.raises(SystemExit) as stopped:
            cli.main(["gate", path, "--comment", str(folder / "c.md"), "--junit", str(folder / "j.xml")])
        assert stopped.value.code == 1
    capsys.readouterr()
    for option, name in (("--comment", "notes.md"), ("--junit", "tests.xml")):
        (folder / name).write_text("mine", "utf-8")
        with pytest.raises(SystemExit) as stopped:
            cli.main(["gate", path, option, str(folder / name)])
        assert stopped.value.code == 3
        assert "exists and is not overwritten" in capsys.readouterr().err
        assert (folder / name).read_text("utf-8") == "mine"


def test_gate_reads_several_files_of_the_same_items(folder):
    """People in one file, and the judge of the week in another."""
    labels = pl.read_csv(folder / "labels.csv")
    judges = pl.col("annotator").is_in(["good", "coin"])
    labels.filter(~judges).write_csv(folder / "people.csv")
    labels.filter(judges).write_csv(folder / "week.csv")
    path = Path(policy(folder, VERDICT))
    whole = assay.gate(str(path))
    text = path.read_text("utf-8")
    path.write_text(text.replace('"labels.csv"', '["people.csv", "week.csv"]'), "utf-8")
    found = assay.gate(str(path))
    assert (found.status, found.checks[0].words) == (whole.status, whole.checks[0].words)
    for files in ("[]", "[1]", "3"):
        path.write_text(text.replace('"labels.csv"', files), "utf-8")
        assert "must set labels = " in assay.gate(str(path)).summary()
    path.write_text(text.replace('"labels.csv"', '["people.csv", "weak.csv"]'), "utf-8")
    assert "weak.csv' does not exist" in assay.gate(str(path)).summary()


def one_judge(folder: Path) -> Path:
    """A file with one judge, which only the call names as a judge."""
    labels = pl.read_csv(folder / "labels.csv").filter(pl.col("annotator") != "coin")
    labels.write_csv(folder / "one.csv")
    return folder / "one.csv"


def test_pytest_helpers(folder):
    labels = assay.read(folder / "labels.csv", judges=["good", "coin"], scale="1-5")
    assert assert_may_replace(labels, "good", expertise="crowd").verdict == "replace"
    assert assert_may_replace(one_judge(folder), "good", expertise="crowd", epsilon=None).verdict == "replace"
    with pytest.raises(AssertionError, match="Do not replace these annotators with coin"):
        assert_may_replace(
            folder / "labels.csv", "coin", read={"judges": ["good", "coin"], "scale": "1-5"}, expertise="crowd"
        )
    assert assert_gate(policy(folder, VERDICT)).exit_code == 0
    with pytest.raises(AssertionError, match=r"Fail \(exit 1\)\."):
        assert_gate(policy(folder, VERDICT, "coin"))


def steps(name: str) -> list[str]:
    """The shell lines of an example job that run assay."""
    job = yaml.safe_load((EXAMPLES / "ci" / name).read_text())
    if name.startswith("github"):
        return [step["run"] for step in job["jobs"]["gate"]["steps"] if "assay gate" in step.get("run", "")]
    return job["judge"]["script"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "judge", "code"),
    [("github-action.yml", "god", 3), ("github-action.yml", None, 0), ("gitlab-ci.yml", None, 1)],
)
def test_example_jobs_by_a_shell(name, judge, code, folder):
    """Once with assay, which starts slowly; then with a command that writes and exits in the same way."""
    command = folder / "assay"
    run = f'exec "{sys.executable}" -m assay "$@"' if judge else f'[ "$3" = --comment ] && touch "$4"; exit {code}'
    command.write_text(f"#!/bin/sh\n{run}\n")
    command.chmod(0o755)
    path, summary = policy(folder, VERDICT, judge or "good"), folder / "summary.md"
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "POLICY": path, "GITHUB_STEP_SUMMARY": str(summary)}
    (line,) = steps(name)
    ran = subprocess.run(["bash", "-e", "-c", line], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == code, ran.stderr
    assert (folder / "gate.md").is_file()
    assert summary.exists() == name.startswith("github")


def test_example_policy_passes():
    assert assay.gate(str(EXAMPLES / "assay.toml")).status == "pass"


# -- each check by hand --------------------------------------------------------------------------------

LIKELY = " with 80% probability, if the estimate is true."


@pytest.mark.parametrize(
    ("one", "most", "status", "words", "advice"),
    [
        ((0.01, -0.1, 0.1), 0.1, "pass", "+0.01 [-0.10, 0.10], allowed ±0.1", ""),
        ((0.01, -0.09, 0.11), 0.1, "undecided", "+0.01 [-0.09, 0.11], allowed ±0.1", 101),  # 40 (1.4294 · .1 / .09)²
        ((-0.01, -0.11, 0.09), 0.1, "undecided", "-0.01 [-0.11, 0.09], allowed ±0.1", 101),
        ((0.1, 0.05, 0.15), 0.1, "undecided", "+0.10 [0.05, 0.15], allowed ±0.1", 4000),  # at most a hundred times
        ((0.12, 0.05, 0.19), 0.1, "undecided", "+0.12 [0.05, 0.19], allowed ±0.1", 1002),  # beyond: to fail
        ((0.3, 0.11, 0.49), 0.1, "fail", "+0.30 [0.11, 0.49], allowed ±0.1", ""),
        ((0.3, 0.1, 0.5), 0.1, "undecided", "+0.30 [0.10, 0.50], allowed ±0.1", 82),
        ((-0.3, -0.49, -0.11), 0.1, "fail", "-0.30 [-0.49, -0.11], allowed ±0.1", ""),
        ((0.099, 0.0985, 0.1005), 0.1, "undecided", "+0.10 [0.10, 0.10], allowed ±0.1", 82),
    ],
)  # fmt: skip
def test_drift_check_status_and_advice(monkeypatch, one, most, status, words, advice):
    line = SimpleNamespace(estimate=one[0], low=one[1], high=one[2], reason=None)
    made = SimpleNamespace(lines={gate.JUDGE: line}, n={gate.JUDGE: 40}, cautions=())
    monkeypatch.setattr(gate, "drift", lambda *_, **__: made)
    monkeypatch.setattr(gate, "_read", lambda *_: None)
    policy = {"judge": "m", "drift": {"before": "b.csv", "most": most}}
    found = gate._drift_check(policy, NUMBERS, Path(), SimpleNamespace(before=None))
    assert (found.name, found.status, found.n) == ("drift", status, 40)
    assert found.words.replace("−", "-") == f"change {words}."
    assert found.advice == (f"With about {advice:,} anchor items the check is conclusive{LIKELY}" if advice else "")
    line.reason = "no anchors"
    silent = gate._drift_check(policy, NUMBERS, Path(), SimpleNamespace(before=None))
    assert (silent.status, silent.words, silent.advice) == ("undecided", "no anchors.", "")


@pytest.mark.parametrize(
    ("one", "bounds", "status", "advice"),
    [
        ((0.8, 0.7, 0.9), {"at_least": 0.7}, "pass", ""),
        ((0.8, 0.7, 0.9), {"at_most": 0.9}, "pass", ""),
        ((0.8, 0.7, 0.9), {"most_half_width": 0.101}, "pass", ""),
        ((0.8, 0.7, 0.9), {"at_least": 0.7294}, "undecided",
         f"With about 310 more human-labelled items the check is conclusive{LIKELY}"),
        ((0.8, 0.7, 0.9), {"at_least": 0.73, "at_most": 0.88}, "undecided",
         f"With about 317 more human-labelled items the check is conclusive{LIKELY}"),
        ((0.8, 0.7, 0.9), {"most_half_width": 0.06}, "undecided",
         "With about 178 more human-labelled items the check is conclusive."),
        ((0.8, 0.7, 0.9), {"at_least": 0.75, "most_half_width": 0.2}, "undecided",
         "A check that is conclusive with 80% probability requires more human-labelled items than the table has "
         "items."),
        ((0.8, 0.7, 0.9), {"most_half_width": 0.04}, "undecided",
         "A conclusive check requires more human-labelled items than the table has items."),
        ((0.8, 0.7, 0.9), {"at_least": 0.9}, "undecided",
         f"With about 105 more human-labelled items the check is conclusive{LIKELY}"),
        ((0.8, 0.7, 0.9), {"at_least": 0.91}, "fail", ""),
        ((0.8, 0.7, 0.9), {"at_most": 0.69}, "fail", ""),
        ((0.8, 0.7, 0.9), {"at_most": 0.7}, "undecided",
         f"With about 105 more human-labelled items the check is conclusive{LIKELY}"),
        ((0.8, 0.7, 0.9), {"at_least": 0.6, "at_most": 0.95, "most_half_width": 0.2}, "pass", ""),
    ],
)  # fmt: skip
def test_estimate_check_status_and_advice(monkeypatch, one, bounds, status, advice):
    number = SimpleNamespace(estimate=one[0], low=one[1], high=one[2], reason=None)
    line = SimpleNamespace(slice=None, quantity="mean", found=number, n=100, n_all=500)
    made = SimpleNamespace(lines=[line], contrasts=(), target="mean", cautions=())
    monkeypatch.setattr(gate, "estimate", lambda *_, **__: made)
    (found,) = gate._estimate_checks(bounds, "estimate 1", {"judge": "m"}, None)
    assert (found.status, found.advice, found.n) == (status, advice, 100)
    bound_words = {"at_least": "at least", "at_most": "at most", "most_half_width": "a half-width of at most"}
    wants = " and ".join(f"{bound_words[name]} {bound:g}" for name, bound in bounds.items())
    assert found.words == f"mean 0.800 [0.700, 0.900]; required: {wants}."
    number.low, number.reason = math.nan, "too few items"
    (silent,) = gate._estimate_checks(bounds, "estimate 1", {"judge": "m"}, None)
    assert (silent.status, silent.words) == ("undecided", "too few items.")
    number.reason = "did you mean 'mean'?"
    assert gate._estimate_checks(bounds, "estimate 1", {"judge": "m"}, None)[0].words == "did you mean 'mean'?"


@pytest.mark.parametrize("bad", ["true", '"1"', "inf", "nan"])
def test_policy_numbers_are_finite(folder, bad):
    path = policy(folder, f"[drift]\nbefore = 'labels.csv'\nmost = {bad}\n[[estimate]]\nat_most = {bad}\n")
    found = assay.gate(path)
    assert [check.status for check in found.checks] == ["error", "error"]
    assert found.checks[0].words.startswith("[drift] of the policy: most must be a number; got ")
    assert found.checks[1].words.startswith("[estimate] of the policy: at_most must be a number; got ")


NUMBERS = SimpleNamespace(scales={})
PASS_RATE = '[[estimate]]\nname = "pass rate"\n'


@pytest.fixture
def outputs(tmp_path):
    """Yes/no labels of outputs of three systems to 200 questions, of which the second passes more often."""
    rng = np.random.default_rng(1)
    rows = []
    for system, rate in (("v1", 0.5), ("v2", 0.9), ("v3", 0.5)):
        for k in range(200):
            passed = rng.random() < rate
            names = [n for n in ("ann", "bob", "good") if n == "good" or k % 2]
            rows += [
                {"item": f"{system}-{k:03}", "system": system, "question": k, "annotator": name,
                 "label": "yes" if passed ^ (rng.random() < 0.1) else "no"}
                for name in names
            ]  # fmt: skip
    pl.DataFrame(rows).write_csv(tmp_path / "outputs.csv")

    def made(text: str) -> str:
        path = tmp_path / "outputs.toml"
        read = '[read]\njudges = ["good"]\nscale = "nominal:no,yes"\n'
        path.write_text(f'labels = "outputs.csv"\njudge = "good"\n{read}{PASS_RATE}{text}')
        return str(path)

    return made


def test_policy_checks_each_system_and_their_differences(outputs):
    paired = 'of = "yes"\ncontrast = "system"\nsources = "question"\n'
    each = assay.gate(outputs(paired + "at_least = 0.7"))
    names = [f"estimate pass rate: {one}" for one in ("v1", "v2", "v3")]
    assert [one.name for one in each.checks] == names
    assert [one.status for one in each.checks] == ["fail", "pass", "fail"]
    assert "share of “yes” 0." in each.checks[0].words
    both = assay.gate(outputs(paired + "most_half_width = 0.2\ndifference_at_most = 0.1\nbaseline = 'v1'"))
    assert [one.name for one in both.checks][3:] == ["estimate pass rate: v2 − v1", "estimate pass rate: v3 − v1"]
    assert both.checks[3].status == "fail"
    table = assay.estimate(
        assay.read(str(Path(outputs("")).parent / "outputs.csv"), judges=["good"], scale="nominal:no,yes"), "good",
        contrast="system", sources="question", baseline="v1",
    ).table.filter(quantity="yes")  # fmt: skip
    assert [one.found.estimate for one in both.checks] == pytest.approx(table["estimate"].to_list())
    slices = assay.gate(outputs('of = "yes"\nby = "system"\nat_least = 0.7\nslices = ["v2"]'))
    assert [(one.name, one.status) for one in slices.checks] == [("estimate pass rate: v2", "pass")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("at_least = 0.5", 'the shares of the labels no, yes; choose the one that is checked with of = "...", such as '
         'of = "yes"'),
        ('of = "ja"\nat_least = 0.5', "number 'ja' is not in the estimate"),
        ('of = "yes"\nmost_half_width = 5', "most_half_width = 5 is of a share; give it as a share, such as 0.05"),
        ('of = "yes"\nat_least = 80', "at_least = 80 is of a share; give it as a share, such as 0.8"),
        ('of = "yes"\ndifference_at_most = 0.1', "name the column of systems with contrast"),
        ('of = "yes"\nby = "system"\nslices = "v4"\nat_least = 0.5', "slice 'v4' is not in the estimate"),
        ('of = "yes"\nsytem = "v1"\nat_least = 0.5', "; it has name, of, by, contrast, sources, at_least, at_most, "
         "most_half_width, slices, "),
    ],
)  # fmt: skip
def test_policy_about_shares_asks_for_the_label_and_refuses_percent(outputs, text, words):
    found = assay.gate(outputs(text))
    assert (found.exit_code, len(found.checks)) == (3, 1)
    assert words in found.summary()
    drift = assay.gate(outputs('of = "yes"\nat_least = 0.5\n[drift]\nbefore = "outputs.csv"\nmost = 5'))
    assert drift.checks[0].words == "[drift] of the policy: most = 5 is of a share; give it as a share, such as 0.05."


def test_documentation_has_all_keys_of_a_policy():
    text = (Path(__file__).parents[2] / "docs" / "estimates.md").read_text(encoding="utf-8")
    rows = text.partition("### Keys of a policy")[2].partition("### In pytest")[0]
    keys = {*re.findall(r"`(\w+)`", rows)}
    assert {*gate._TOP, *gate._DRIFT, *gate._ESTIMATE, "criteria"} - {"read", "verdict", "drift", "estimate"} <= keys
    assert {f"`{one}`" for one in ("[read]", "[verdict]", "[drift]", "[[estimate]]")} <= {*re.findall("`[^`]*`", rows)}
    known = {f.name for one in (EstimateSettings, AltTestSettings, ReadSettings) for f in fields(one)}
    assert keys <= {*gate._TOP, *gate._DRIFT, *gate._ESTIMATE, "criteria", *known}


def test_policy_numbers_can_be_zero_or_negative(folder):
    found = assay.gate(policy(folder, "[[estimate]]\nat_least = -1\n[[estimate]]\nat_least = 0\n"))
    assert [check.status for check in found.checks] == ["pass", "pass"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("criteria", "given", "names"),
    [
        (["tone", "style"], "", ["verdict of style", "verdict of tone"]),
        (["tone", "style"], 'criteria = ["style"]\n', ["verdict of style"]),
        (None, "", ["verdict"]),
    ],
)
def test_verdict_has_one_check_per_criterion(tmp_path, criteria, given, names):
    labels = assay.simulate(60, 3, judges={"good": 0.2}, scale="1-5", criteria=criteria, seed=1)
    labels.labels.write_csv(tmp_path / "labels.csv")
    path = tmp_path / "assay.toml"
    path.write_text(
        f'labels = "labels.csv"\njudge = "good"\n[read]\njudges = ["good"]\nscale = "1-5"\n{VERDICT}{given}'
    )
    assert sorted(check.name for check in assay.gate(str(path)).checks) == names


# -- the result as text, Markdown and JUnit --------------------------------------------------------------

CHECKS = (
    gate.GateCheck("verdict", "pass", "m: replace."),
    gate.GateCheck("drift", "undecided", "a | b.", "About 50 anchor items."),
    gate.GateCheck("estimate <1>", "fail", "too low."),
    gate.GateCheck("estimate 2", "error", "no file."),
)


RUN = Run("gate", gate.GateSettings(policy="p.toml"), "", cautions=("Mind this.",))


def answer(status, *checks):
    return gate.GateResult(status, checks, RUN)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("pass", "Pass (exit 0)"),
        ("fail", "Fail (exit 1)"),
        ("undecided", "Undecided (exit 2)"),
        ("error", "Error (exit 3)"),
    ],
)
def test_gate_summary_has_a_line_per_check(status, words):
    assert answer(status, *CHECKS[:2]).summary().splitlines() == [
        f"{words}.",
        "verdict: pass – m: replace.",
        "drift: undecided – a | b.",
        "  About 50 anchor items.",
        *RUN.closing(),
    ]


def test_gate_junit_counts_undecided_checks_as_failures():
    suite = ET.fromstring(answer("error", *CHECKS).junit())
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["4", "2", "1", "0"]
    cases = {case.get("name"): case for case in suite}
    assert list(cases) == ["verdict", "drift", "estimate <1>", "estimate 2"]
    assert cases["verdict"].find("system-out").text == "m: replace."
    for name, kind, status, words in (
        ("drift", "failure", "undecided", "a | b. About 50 anchor items."),
        ("estimate <1>", "failure", "fail", "too low."),
        ("estimate 2", "error", "error", "no file."),
    ):
        (only,) = cases[name]
        assert (only.tag, only.get("type"), only.get("message")) == (kind, status, words)


def test_gate_table_has_estimates_or_reasons():
    found = Estimate(0.5, 0.4, 0.6, 0.05)
    missing = Estimate(0.5, math.nan, math.nan, math.nan, "why not")
    made = answer(
        "pass", gate.GateCheck("a", "pass", "words", found=found, n=9),
        gate.GateCheck("b", "undecided", "other words", found=missing), CHECKS[3],
    ).table  # fmt: skip
    assert made.select("check", "status", "estimate", "low", "n", "reason").row(0) == (
        "a",
        "pass",
        0.5,
        0.4,
        9,
        None,
    )
    assert made["reason"].to_list() == [None, "other words", "no file."]
    assert made["estimate"].to_list()[2] is None


def test_gate_status_is_worst_check(monkeypatch):
    monkeypatch.setattr(gate, "_policy", lambda path: {"labels": "x", "judge": "m"})
    monkeypatch.setattr(gate, "_read", lambda source, policy: SimpleNamespace(fingerprint="f"))
    for checks, status in (
        (CHECKS, "error"), (CHECKS[:3], "fail"), (CHECKS[:2], "undecided"), (CHECKS[:1], "pass"),
    ):  # fmt: skip
        monkeypatch.setattr(gate, "_checks", lambda *_, checks=checks: (list(checks), ()))
        assert gate.gate(policy="p.toml").status == status


def test_drift_check_of_documents(tmp_path):
    """Changes that a document's items share are one change each: the interval with clusters is wider."""
    rng, n = np.random.default_rng(6), 200
    document = np.arange(n) // 10
    truth, names = rng.normal(3, 1, n), [f"i{k:03d}" for k in range(n)]
    for name in ("labels", "before"):  # the policy names a second judge
        noise = [rng.normal(0, 0.8, 20)[document] + rng.normal(0, 0.3, n), rng.normal(0, 0.5, n)]
        label = np.clip(np.round(truth + np.array([*noise, noise[1]])), 1, 5).astype(int).ravel()
        columns = {"item": names * 3, "annotator": np.repeat(["good", "a", "coin"], n), "label": label}
        pl.DataFrame({**columns, "document": [f"d{k:02d}" for k in document] * 3}).write_csv(tmp_path / f"{name}.csv")
    text = "[drift]\nbefore = 'before.csv'\nmost = 0.1"
    plain = assay.gate(policy(tmp_path, text)).checks[0]
    clustered = assay.gate(policy(tmp_path, text + "\nclusters = 'document'")).checks[0]
    assert "Caution: 200 items share 20 values of “document”" in plain.words
    assert "Caution" not in clustered.words
    assert clustered.found.estimate == plain.found.estimate
    assert clustered.found.high - clustered.found.low > 1.5 * (plain.found.high - plain.found.low)
    wrong = assay.gate(policy(tmp_path, text + "\nclusters = 'documents'")).checks[0]
    assert (wrong.status, "did you mean 'document'" in wrong.words) == ("error", True)
