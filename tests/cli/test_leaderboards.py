"""The commands about votes and outputs: leaderboards, next pairs, several benchmarks, a sweep."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

VOTES = ("--scale", "preference", "--repeat", "repeat", "--judges", "gpt-4o", "--n-resamples", "40")
OUTPUTS = ("--annotator", "model", "--label", "text", "--repeat", "number", "--scale", "text", "--humans", "m1,m2")
EXAMPLE = str(Path(__file__).parents[2] / "examples" / "votes.csv")


def write_outputs(path: Path, apart: float, temperatures: tuple[float, ...] = ()) -> None:
    rng = np.random.default_rng(int(100 * apart))
    words, rows = [f"w{i}" for i in range(30)], []
    for i in range(8):
        base = rng.choice(words, 6)
        for heat in temperatures or (0.5,):
            for model in ("m1", "m2"):
                mine = np.where(rng.random(6) < apart * (model == "m2"), rng.choice(words, 6), base)
                for number in (1, 2, 3):
                    text = " ".join(np.where(rng.random(6) < 0.2 * heat, rng.choice(words, 6), mine))
                    rows.append({"item": f"q{i}", "model": model, "number": number, "text": text, "temperature": heat})
    frame = pl.DataFrame(rows)
    (frame if temperatures else frame.drop("temperature")).write_ndjson(path)


@pytest.mark.slow
def test_ratings_summary_begins_with_judge_order(run):
    code, out, _ = run("ratings", EXAMPLE, *VOTES)
    assert code == 0
    table, words = out.split("\n\n")[:2]
    assert table.splitlines()[0].split()[0] == "who"
    assert " ".join(words.split()).startswith("gpt-4o and humans: same order demonstrated for 2 of 3 pairs")
    alone = run("ratings", EXAMPLE, *VOTES, "--who", "humans")[1]
    assert alone.splitlines()[0].split()[0] == "system"
    assert "Excluded: 300 votes: by a rater that --who ... does not name." in " ".join(alone.split())
    code, _, err = run("ratings", EXAMPLE, *VOTES, "--who", "gpt-4")
    assert code == 2
    assert "did you mean 'gpt-4o'" in err


def test_ratings_prints_next_pairs_as_text_and_csv(run):
    out = run("ratings", EXAMPLE, *VOTES, "--next-pairs", "2")[1]
    heading = (
        "Pairs to compare next, by the information of one more vote about all ratings. Difference and width of its "
        "interval in points, information in percent of the largest:"
    )
    ratings, pairs = " ".join(out.split()).split(heading)
    assert (ratings.split()[0], pairs.split()[:2]) == ("who", ["first", "second"])
    first, second = (line.split() for line in out[out.index("Pairs to compare next") :].splitlines()[2:4])
    assert first[-3] == "100"
    assert 0 < int(second[-3]) < 100
    rows = list(csv.DictReader(io.StringIO(run("ratings", EXAMPLE, *VOTES, "--next-pairs", "2", "--csv")[1])))
    assert {(row["first"], row["second"]) for row in rows} == {("aspen", "birch"), ("birch", "cedar")}
    assert [float(row["information"]) for row in rows] == sorted((float(r["information"]) for r in rows), reverse=True)
    assert run("ratings", EXAMPLE, *VOTES, "--next-pairs", "0")[0] == 2


def test_separability_reads_several_benchmarks(run, tmp_path):
    write_outputs(tmp_path / "near.jsonl", 0.1)
    write_outputs(tmp_path / "far.jsonl", 0.9)
    files = [str(tmp_path / name) for name in ("near.jsonl", "far.jsonl")]
    code, out, _ = run("separability", *files, *OUTPUTS, "-o", str(tmp_path / "page.html"))
    assert code == 0
    assert [line.split()[2] for line in out.splitlines()[1:4]] == ["–", "far", "near"]
    assert "Separability by group" in (tmp_path / "page.html").read_text()
    code, _, err = run("separability", files[0], files[0], *OUTPUTS)
    assert (code, "is named twice" in err) == (2, True)
    (tmp_path / "again").mkdir()  # files of one name are named by their paths
    files[1] = str(tmp_path / "again" / "near.jsonl")
    write_outputs(Path(files[1]), 0.9)
    out = run("separability", *files, *OUTPUTS, "--method", "none", "--json")[1]
    assert {row["group"] for row in json.loads(out)["rows"]} - {None} == set(files)


def test_separability_sweep_writes_page(run, tmp_path):
    write_outputs(tmp_path / "t.jsonl", 0.5, (0.5, 1.0))
    words = (
        "separability",
        "--sweep",
        str(tmp_path / "t.jsonl"),
        *OUTPUTS,
        "--condition",
        "temperature",
        "--n-draws",
        "2",
    )
    code, out, _ = run(*words, "-o", str(tmp_path / "page.html"))
    assert code == 0
    assert "All outputs (temperature = 0.5, K = 3, C = 9)" in out
    assert "temperature = 1.0" in out
    assert "Mean separability with its interval for each setting" in (tmp_path / "page.html").read_text()
    hot = json.loads(run(*words, "--baseline", "1.0", "--k", "2", "--c", "4", "--json")[1])
    assert [row["value"] for row in hot["table"]] == ["temperature = 1.0, K = 3, C = 9", "2", "4", "0.5"]


@pytest.mark.slow
def test_consistency_command_measures_strength(run):
    code, out, _ = run("consistency", EXAMPLE, *VOTES, "--measure", "strength", "--by", "separability")
    assert code == 0
    assert "mean preference strength" in " ".join(out.split())
