"""A judge's table as a measure, short names, and a table that fits a terminal."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from assay.cli import app

EXAMPLE = Path(__file__).parents[2] / "examples" / "odd_ones.csv"


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    """The human annotators of the example in one file, its judge in another."""
    frame = pl.read_csv(EXAMPLE)
    frame.filter(pl.col("annotator") != "gpt-4o").write_csv(tmp_path / "people.csv")
    frame.filter(pl.col("annotator") == "gpt-4o").write_csv(tmp_path / "judge.csv")
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *given: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        app.main(["ideas", *given, "--scale", "odd-one-out", "--n-resamples", "99"])
    assert not stopped.value.code
    return capsys.readouterr().out


@pytest.mark.slow
def test_ideas_reads_file_of_choices_as_measure(apart, capsys):
    """A file of choices is read with any annotators; ρ is the same as from one table."""
    alone = said(capsys, str(apart / "people.csv"), "--measures", str(apart / "judge.csv"))
    together = said(capsys, str(EXAMPLE), "--judges", "gpt-4o")
    row = next(line for line in alone.splitlines() if line.startswith("gpt-4o "))
    assert row.split() == next(line for line in together.splitlines() if line.startswith("gpt-4o ")).split()
    assert "expert test–retest" in alone


@pytest.mark.slow
def test_ideas_reads_file_of_pair_numbers_as_measure(apart, capsys):
    names = [f"note {k:02d}" for k in range(1, 13)]
    rows = [
        (f"{a} {b}", "bot", a, b, (i * j % 7) / 7) for i, a in enumerate(names) for j, b in enumerate(names) if i < j
    ]
    columns = ["item", "annotator", "first_item", "second_item", "label"]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(apart / "pairs.csv")
    found = said(capsys, str(apart / "people.csv"), "--measures", str(apart / "pairs.csv"))
    (line,) = (line for line in found.splitlines() if line.startswith("bot "))
    # Without a column of items, each two texts are an item; numbers of the same pair are averaged.
    twice = pl.DataFrame(rows, schema=columns, orient="row").drop("item")
    moved = [twice.with_columns(pl.col("label") + by, repeat=n) for n, by in ((1, 0.1), (2, -0.1))]
    pl.concat(moved).write_csv(apart / "bare.csv")
    found = said(capsys, str(apart / "people.csv"), "--measures", str(apart / "bare.csv"))
    assert line in found.splitlines()


@pytest.mark.slow
def test_ideas_names_one_judge_in_two_files_after_the_files(tmp_path, run, monkeypatch):
    """Several formats of one judge's numbers, and its own choices (table 3)."""
    monkeypatch.chdir(tmp_path)
    names = [f"note {k:02d}" for k in range(1, 13)]
    rows = [("gpt-4o", a, b, i * j % 7) for i, a in enumerate(names) for j, b in enumerate(names) if i < j]
    pairs = pl.DataFrame(rows, schema=["annotator", "first_item", "second_item", "label"], orient="row")
    pairs.write_csv("continuous.csv")
    pairs.with_columns(pl.col("label") // 4).write_csv("binary.csv")
    code, out, err = run(
        "ideas", EXAMPLE, "--scale", "odd-one-out", "--judges", "gpt-4o", "--measures", "binary.csv,continuous.csv",
        "--n-resamples", "99",
    )  # fmt: skip
    assert code == 0, err
    first = {line.split("  ")[0] for line in out.splitlines() if line.startswith("gpt-4o")}
    assert {"gpt-4o", "gpt-4o (binary.csv)", "gpt-4o (continuous.csv)"} <= first


@pytest.mark.slow
def test_ideas_table_omits_summary_columns(apart, capsys):
    head = said(capsys, str(EXAMPLE), "--judges", "gpt-4o", "--measures", "words").splitlines()[0]
    assert head.split() == ["measure", "verdict", "ρ", "share", "p", "same", "texts"]


@pytest.mark.slow
def test_several_values_of_an_option_are_a_sweep(capsys):
    """As a mapping of settings in Python."""
    import assay

    swept = said(capsys, str(EXAMPLE), "--judges", "gpt-4o", "--measures", "words,rouge-1,stem=none|porter")
    labels = assay.read(EXAMPLE, scale="odd-one-out", judges=["gpt-4o"])
    sweep = {"stem=none": "rouge-1,stem=none", "stem=porter": "rouge-1,stem=porter"}
    found = assay.validate_similarity(labels, {"words": "words", "rouge-1": sweep}, n_resamples=99)
    (best,) = (row for row in found.table.iter_rows(named=True) if row["measure"].startswith("rouge-1 stem="))
    line = next(line for line in swept.splitlines() if line.startswith(f"{best['measure']} "))
    assert f"{best['estimate']:.2f}" in line
    assert "is the best of 2 settings" in " ".join(swept.split())
    assert found.sweeps.height == 2


def test_style_of_pairs_in_a_file(tmp_path, run):
    rows = [("he runs", "he walks", "the boy runs", "the boy walks", 3, 4), ("a b", "c d", "a b", "c d", 1, 1)]
    columns = ["first", "second", "first_after", "second_after", "gpt_before", "gpt_after"]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(tmp_path / "pairs.csv")
    page = tmp_path / "style.html"
    code, out, _ = run("ideas", tmp_path / "pairs.csv", "--style", "--measures", "words", "-o", page)
    assert code == 0
    # Words, by twice the shared ones: 2 of 4, then 4 of 6, and 0; the judge: 4 to 5.
    assert "gpt: +25.0%" in out
    assert "words: +33.3%" in out
    assert "Change of similarity with style" in page.read_text("utf-8")
    code, _, err = run("ideas", tmp_path / "pairs.csv", "--style", "--floor", "3")
    assert code == 2
    assert "--floor is for odd-one-out choices" in err
    code, _, err = run("ideas", tmp_path / "none.csv", "--style")
    assert code == 2
    assert "does not exist" in err


@pytest.mark.slow
def test_a_change_between_two_prompts_is_also_in_percent(tmp_path, run):
    """Table 4: the same judge under two prompts, one of which ignores half of the texts."""
    frame = pl.read_csv(EXAMPLE)
    judge = frame.filter(pl.col("annotator") == "gpt-4o")
    other = judge.with_columns(label=pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.lit("B")).otherwise("label"))
    people = frame.filter(pl.col("annotator") != "gpt-4o").with_columns(prompt=pl.lit(None, pl.String))
    both = [people, *(one.with_columns(prompt=pl.lit(name)) for one, name in ((judge, "plain"), (other, "half")))]
    pl.concat(both).write_csv(tmp_path / "prompts.csv")
    given = ("--scale", "odd-one-out", "--judges", "gpt-4o", "--conditions", "prompt", "--n-resamples", "99")
    code, out, err = run("ideas", tmp_path / "prompts.csv", *given)
    assert code == 0, err
    line = next(part for part in " ".join(out.split()).split("Same judge: ")[1:])
    assert line.startswith("ρ of gpt-4o (prompt=plain) − ρ of gpt-4o (prompt=half): ")
    assert "%" in line.partition(". ")[0]
