"""The commands for use after a positive verdict: labels, judge, output files and exit status."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import assay

JUDGES = ("--judges", "m", "--judges", "n", "--scale", "1-5")
READING = {"judges": ["m", "n"], "scale": "1-5"}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two judges label 60 items, three annotators every other one; a later run has the labels of m one higher."""
    folder = tmp_path_factory.mktemp("labels")
    frame = assay.simulate(n_items=60, n_annotators=3, judges={"m": 0.2, "n": 0.6}, scale="1-5", seed=3).labels
    mine = pl.col("annotator") == "m"
    sampled = pl.col("item").str.slice(-1).cast(pl.Int64) % 2 == 0
    frame.filter(sampled | pl.col("annotator").is_in(["m", "n"])).write_csv(folder / "all.csv")
    later = frame.with_columns(label=pl.when(mine).then((pl.col("label") + 1).clip(1, 5)).otherwise(pl.col("label")))
    later.write_csv(folder / "later.csv")
    return folder


def test_estimate_uses_named_judges(run, source):
    labels = assay.read(source / "all.csv", **READING)
    for named in (["n"], ["m", "n"]):
        only = [word for name in named for word in ("--only", name)]
        status, out, _ = run("estimate", source / "all.csv", *JUDGES, "--confidence", "0.9", *only, "--json")
        wanted = assay.estimate(labels, confidence=0.9, judge=named)
        assert status == 0
        assert json.loads(out)["table"] == json.loads(json.dumps(wanted.to_dict()["table"]))
    status, _, err = run("estimate", source / "all.csv", *JUDGES)
    assert (status, "specify the judge with --only ...; the table has m, n" in err) == (2, True)


def test_commands_with_one_judge_refuse_two(run, source):
    both = (*JUDGES, "--only", "m", "--only", "n")
    for command, rule in (("drift", "drift tests"), ("monitor", "monitor tests"), ("route", "route requires")):
        files = [source / "all.csv"] * (2 if command == "drift" else 1)
        signal = ("--signal", "judges", "--epsilon", "0.2") if command == "route" else ()
        status, _, err = run(command, *files, *both, *signal)
        assert status == 2
        assert f"{rule} one judge; --only names 2" in err


@pytest.mark.slow
def test_drift_compares_runs_in_order(run, source, tmp_path):
    runs = [assay.read(source / name, **READING) for name in ("all.csv", "later.csv")]
    for extra, anchors in (((), {}), (("--anchors", source / "all.csv"), {"anchors": runs[0]})):
        _, out, _ = run("drift", source / "all.csv", source / "later.csv", *JUDGES, "--only", "m", *extra, "--json")
        wanted = assay.drift(*runs, judge="m", **anchors)
        assert json.loads(out)["table"] == json.loads(json.dumps(wanted.to_dict()["table"]))
    mine = tmp_path / "later.csv"
    mine.write_bytes((source / "later.csv").read_bytes())
    for files in ((source / "all.csv", mine), (mine, source / "all.csv")):
        status, _, err = run("drift", *files, *JUDGES, "--only", "m", "--output", mine, "--force")
        assert status == 2
        assert "later.csv" in err
        assert mine.read_bytes() == (source / "later.csv").read_bytes()


@pytest.mark.parametrize(("later", "alarm"), [((1, 2), False), ((5,), True)])
def test_monitor_alarm_sets_exit_status(run, tmp_path, later, alarm):
    """The labels of m are 1 and 2 in turn for 200 items, and then these."""
    labels = [1 + k % 2 if k < 200 else later[k % len(later)] for k in range(300)]
    rows = [(f"i{k:03}", who, label) for k, label in enumerate(labels) for who in ("m", "n", "ann")]
    pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row").write_csv(tmp_path / "grows.csv")
    status, out, _ = run("monitor", tmp_path / "grows.csv", *JUDGES, "--only", "m", "--baseline", "200", "--json")
    wanted = assay.monitor(assay.read(tmp_path / "grows.csv", **READING), judge="m", baseline=200)
    assert (status, wanted.alarm is not None) == (int(alarm), alarm)
    assert json.loads(out)["alarm"] == wanted.alarm


def test_route_writes_rule_and_human_queue(run, source, tmp_path):
    given = ("route", source / "all.csv", *JUDGES, "--only", "m", "--signal", "judges", "--epsilon", "0.2")
    rule, queue = tmp_path / "rule.json", tmp_path / "people.jsonl"
    assert run(*given)[0] == 0
    assert list(tmp_path.iterdir()) == []
    status, _, err = run(*given, "--rule", rule, "--queue", queue)
    assert status == 0
    wanted = assay.route(assay.read(source / "all.csv", **READING), judge="m", signal="judges", epsilon=0.2)
    people = wanted.decide().filter(pl.col("queue") == "human")
    assert pl.read_ndjson(queue)["item"].to_list() == people["item"].to_list()
    assert 0 < people.height <= 60
    wanted.write(tmp_path / "wanted.json")
    assert rule.read_text() == (tmp_path / "wanted.json").read_text()
    assert f"the rule is written to {rule}" in err
    assert f"human queue of {people.height} items written to {queue}" in err
    for path in (rule, queue):  # neither is replaced without --force
        option = "--rule" if path is rule else "--queue"
        status, _, err = run(*given, option, path)
        assert status == 2
        assert "exists and is not overwritten" in err
        assert run(*given, option, path, "--force")[0] == 0


def test_rows_without_a_label_are_counted_and_queued(run, tmp_path):
    """Two spreadsheets: people and the judge label 60 of the rows of one, and the judge the other; 12 have no label."""
    people, more = tmp_path / "people.csv", tmp_path / "more.csv"
    words = ["yes" if (i * 7) % 10 < 4 else "no" for i in range(160)]
    rows = [
        {"id": f"t{(i * 37) % 160}", "ann": words[i], "bob": words[i], "cho": words[i], "gpt": words[i]}
        for i in range(60)
    ]
    pl.DataFrame(rows).write_csv(people)
    pl.DataFrame([
        {"id": f"t{(i * 37) % 160}", "gpt": words[i] if i % 8 else None} for i in range(60, 160)
    ]).write_csv(more)  # fmt: skip
    conf = tmp_path / "conf.csv"
    pl.DataFrame({"item": [f"t{i}" for i in range(160)], "sure": [(i * 13) % 97 / 97 for i in range(160)]}).write_csv(
        conf
    )
    files = (people, "--labels-from", more, "--judges", "gpt", "--scale", "nominal:no,yes")
    status, out, err = run("estimate", *files, "--json")
    assert (status, err.count("12 items without a label")) == (0, 1)
    found = json.loads(out)
    assert [one["count"] for one in found["exclusions"]] == [12]
    assert "|items:148|excluded:12|labelled:60|" in found["signature"]
    queue = tmp_path / "queue.csv"
    status, out, _ = run(
        "route", *files, "--items", conf, "--signal", "sure", "--epsilon", "0.3", "--queue", queue
    )  # fmt: skip
    assert status == 0
    assert "Human queue: 12 of 160 items, 12 of them without a label or signal of the judge." in " ".join(out.split())
    assert pl.read_csv(queue).height == 12


def test_drift_prints_common_notes_once(run, tmp_path):
    rows = [{"item": f"i{k}", "annotator": who, "label": 1 + (k + shift) % 3} for k in range(12)
            for who, shift in (("ann", 0), ("bob", k // 8), ("gpt-4o", k // 6))]  # fmt: skip
    old, new = str(tmp_path / "old.csv"), str(tmp_path / "new.csv")
    pl.DataFrame(rows).write_csv(old)
    pl.DataFrame([*rows[:-1], {**rows[-1], "label": None}]).write_csv(new)
    code, _, err = run("drift", old, new, "--judges", "gpt-4o", "--anchors", old)
    assert code == 0
    notes = err.splitlines()
    assert notes[0].startswith("note: Assumed scale 1-3. If wrong, set --scale")
    assert notes[1].startswith(f"note: {new}: ")
    assert len(notes) == 2


def test_summary_names_options_of_the_command(run, tmp_path):
    rows = [{"item": f"i{k}", "annotator": who, "label": 1 + k % 3} for k in range(12) for who in ("ann", "gpt-4o")]
    old, new = str(tmp_path / "old.csv"), str(tmp_path / "new.csv")
    pl.DataFrame(rows).write_csv(old)
    pl.DataFrame([{**row, "item": f"x{row['item']}"} for row in rows]).write_csv(new)
    _, out, _ = run("drift", old, new, "--judges", "gpt-4o", "--scale", "1-3")
    said = " ".join(out.split())
    assert "--text ... names a column of texts" in said
    assert "(--anchors ...)" in said
    assert "=..." not in said
    run("drift", old, new, "--judges", "gpt-4o", "--scale", "1-3", "-o", str(tmp_path / "page.html"))
    assert "text=..." in (tmp_path / "page.html").read_text(encoding="utf-8"), "a page is read by people of Python, too"
