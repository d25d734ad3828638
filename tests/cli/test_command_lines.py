"""Mutated command lines: an answer, or one line that states the error; never an internal error.

A small share runs by default, more with ``pytest -m slow``, and the number in the environment variable ``ASSAY_LINES``.
Every line is determined by its number.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import assay
from assay.data.formats.exports import write

Run = Callable[..., tuple[int, str, str]]
ALL, SHARE = int(os.environ.get("ASSAY_LINES", "160")), 2

QUICK = ("--n-resamples", "40", "--seed", "3")
OWN = ("--item", "id", "--annotator", "worker", "--label", "stars")
JUDGES = ("--judges", "gpt-4o,llama")
SOURCES: dict[str, tuple[tuple[str, ...], ...]] = {
    "numbers": (
        ("own.csv", *OWN, *JUDGES, "--scale", "1-5"),
        ("plain.csv", "--scale", "1-5"),
        ("plain.csv",),
        ("plain.jsonl", "--scale", "interval:0-10"),
        ("plain.parquet", "--scale", "1-5", "--items", "items.csv", "--annotator-table", "people.csv"),
        ("wide.csv", "--wide", "--item", "id", *JUDGES, "--scale", "1-5"),
        ("wide.csv", "--wide", "--item", "id", "--columns", "ann_1,ann_2,ann_3,gpt-4o", "--judges", "gpt-4o"),
        ("own.csv", *OWN, "--humans", "ann_1,ann_2,ann_3"),
        ("folder",),
        ("plain.csv", "--where", "annotator=ann_1,ann_2,ann_3,gpt-4o"),
        ("plain.csv", "--spelling", "apart"),
    ),
    "words": (
        ("words.csv", "--judges", "gpt-4o"),
        ("words.csv", "--judges", "gpt-4o", "--scale", "nominal:a,b,c"),
        ("words.csv", "--humans", "ann_1,ann_2,ann_3"),
    ),
    "criteria": (("criteria.csv", "--judges", "gpt-4o"), ("criteria.csv", "--judges", "gpt-4o", "--scale", "nominal")),
    "scales": (("ranges.csv", "--scale-column", "range", "--judges", "gpt-4o"),),
}
"""Valid labels, and the options that read them."""

TEST = (
    ("--only", "gpt-4o"), ("--judge", "gpt-4o"), ("--min-items", "10"), ("--fdr", ".2"), ("--threshold", ".6"),
    ("--test", "t"), ("--score", "accuracy"), ("--json",), ("--csv",), ("--method", "bca"),
    ("--confidence", ".9"), ("--method", "none"), ("--balance",), ("--min-humans", "3"), ("--seed", "9"),
)  # fmt: skip
COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, ...], ...]]] = {
    "alt-test": (("numbers", "words", "criteria"), ("--epsilon", ".1", *QUICK), (*TEST, ("--fail-under", ".1"))),
    "report": (("numbers", "words"), ("--expertise", "crowd", "-o", "page.html", *QUICK), (TEST[0], *TEST[2:5])),
    "agreement": (
        ("numbers", "words", "criteria"),
        ("--draws", "10", *QUICK),
        (("--who", "humans,judges"), ("--who", "consensus"), ("--coefficients", "krippendorff-alpha-nominal"),
         ("--json",), ("--csv",), ("--method", "jackknife"), ("--confidence", ".8"),
         ("--adjust", "bh"), ("-o", "page.html"), ("--coefficients", "cohen-kappa"), ("--method", "none")),
    ),
    "scales": (("scales",), QUICK, (("--json",), ("--csv",), ("--threshold", ".3"), ("--confidence", ".9"))),
    "plan alt-test": (
        ("none",),
        ("--n-items", "30,40", "--n-studies", "20"),
        (("--n-annotators", "3,4"), ("--epsilon", ".1"), ("--expertise", "crowd"), ("--judge-noise", ".4"),
         ("--categories", "1-5"), ("--categories", "3"), ("--power", ".7"), ("--json",), ("--csv",), ("--spread", ".5"),
         ("--labels-per-item", "2"), ("--seed", "1"), ("--test", "t")),
    ),
    "import": (("numbers", "words"), ("-o", "out.csv"), (("-o", "out.jsonl"), ("-o", "out.parquet"), ("--json",))),
    "export": (
        ("numbers", "words"),
        ("out.csv",),
        (("--to", "table"), ("out.json", "--to", "hugging-face"), ("out.json", "--to", "label-studio")),
    ),
}  # fmt: skip
"""By name: the labels, the required options, and optional ones."""

WRONG = (
    ("--epsilon", "7"), ("--epsilon", "x"), ("--scael", "1-5"), ("--scale", "1-2"), ("--scale", "5-1"), ("--scale", ""),
    ("--judges", "nobody"), ("--judges", ""), ("--humans", "gpt-4o"), ("--only", "nobody"), ("--only", ""),
    ("--item", "nowhere"), ("--label", "item"), ("--annotator", "item"), ("--label", "label,label"), ("--wide",),
    ("--columns", "ann_1"), ("--where", "annotator"), ("--where", "annotator=nobody"), ("--where", "x=1"),
    ("--split-item", "("), ("--split-item", "_"), ("--items", "nothing.csv"), ("--items", "folder"),
    ("--annotator-table", "items.csv"), ("--format", "mturk"), ("--format", "nope"), ("--option", "users"),
    ("--option", "users=x"), ("--criterion", "annotator"), ("--repeat", "annotator"), ("--conditions", "nowhere"),
    ("--n-resamples", "0"), ("--confidence", "1"), ("--seed", "-1"), ("--method", "nope"), ("--who", "nobody"),
    ("--coefficients", "kapa"), ("--similarity", "words"), ("--score", "similarity"), ("--score", "neg_rmse"),
    ("--normalise", "rank"), ("--gold", "nowhere"), ("--gold", "gold"), ("--quality", "weight"), ("--expert", "ann_1"),
    ("--clusters", "half"), ("--clusters", "nowhere"), ("--by", "half"), ("--by", "nowhere"), ("--repeats", "mean"),
    ("--json", "--csv"), ("-o", "folder"), ("-o", "plain.csv/x.html"), ("--to", "alt-test"), ("--spelling", "lower"),
    ("--scale", "text"), ("--scale", "preference"), ("--scale", "nominal:a"), ("--scale", "stars=1-5"), ("--", "--x"),
    ("--scale-column", "nowhere"), ("--pilot", "plain.csv"), ("--pilot", "words.csv", "--only", "gpt-4o"), ("more",),
    ("--epsilon", "nan"), ("--min-items", "-1"), ("--categories", "text"), ("--n-items", "1"), ("--n-items", ""),
)  # fmt: skip
"""Options that are wrong for most commands."""


def line(number: int) -> tuple[str, ...]:
    """The command line of this number; three of four are valid."""
    draw = random.Random(number)
    command = draw.choices(list(COMMANDS), (6, 1, 3, 1, 3, 2, 2))[0]
    kinds, always, options = COMMANDS[command]
    kind = draw.choice(kinds)
    source = () if kind == "none" else draw.choice(SOURCES[kind])
    some = draw.sample(options, min(len(options), draw.choice((0, 1, 1, 2)))) if command != "export" else ()
    words = [*command.split(), *source[:1], *always, *source[1:], *(word for one in some for word in one)]
    if command == "export":
        target = draw.choice(options) if draw.random() < 0.6 else ()
        words = [command, *source[:1], *([] if len(target) > 2 else always), *target, *source[1:]]
    if draw.random() < 1 / 4:
        what = draw.choice(("add", "add", "add", "drop", "swap"))
        if what == "add":
            words += draw.choice(WRONG)
        elif what == "drop":
            del words[draw.randrange(1, len(words))]
        else:
            words[draw.randrange(1, len(words))] = draw.choice(("", "x", "-1", "folder", "empty.csv", "é", "1,2", "--"))
    return tuple(words)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Valid labels in every format that the lines read."""
    folder = tmp_path_factory.mktemp("lines")
    judges = {"gpt-4o": 0.15, "llama": 0.7}
    numbers = assay.simulate(n_items=40, scale="1-5", judges=judges, seed=5).labels
    kinds = numbers.with_columns(kind=pl.col("annotator").is_in(["gpt-4o", "llama"]).replace_strict(
        {True: "judge", False: "human"}, return_dtype=pl.String))  # fmt: skip
    kinds.write_csv(folder / "plain.csv")
    kinds.write_ndjson(folder / "plain.jsonl")
    kinds.write_parquet(folder / "plain.parquet")
    numbers.rename({"item": "id", "annotator": "worker", "label": "stars"}).write_csv(folder / "own.csv")
    numbers.pivot("annotator", index="item", values="label").rename({"item": "id"}).write_csv(folder / "wide.csv")
    items = numbers.select("item").unique(maintain_order=True).with_row_index("n")
    items.select("item", half=pl.col("n") % 2, gold=1 + pl.col("n") % 5).write_csv(folder / "items.csv")
    people = kinds.select("annotator", "kind").unique(maintain_order=True)
    people.with_row_index("weight", 1).write_csv(folder / "people.csv")
    words = assay.simulate(n_items=40, scale=3, judges={"gpt-4o": 0.2}, seed=6).labels
    words.write_csv(folder / "words.csv")
    criteria = assay.simulate(n_items=35, criteria=["clear", "true"], judges={"gpt-4o": 0.2}, seed=7).labels
    criteria.write_csv(folder / "criteria.csv")
    both = [assay.simulate(n_items=20, scale=f"0-{top}", judges={"gpt-4o": 0.2}, seed=8).labels for top in (5, 10)]
    ranges = [one.with_columns(range=pl.lit(f"0-{top}")) for one, top in zip(both, (5, 10), strict=True)]
    pl.concat(ranges).write_csv(folder / "ranges.csv")
    write(assay.read(folder / "plain.csv", scale="1-5"), folder / "folder", "alt-test")
    (folder / "empty.csv").touch()
    return folder


def tried(run: Run, number: int) -> bool:
    """Whether a command succeeds; otherwise it states the error in one line."""
    words = line(number)
    code, _, err = run(*words)
    said = [one for one in err.splitlines() if one.startswith("assay: ")]
    assert code in (0, 1, 2), (number, words)
    assert "internal error" not in err, (number, words, err)
    assert len(said) == (code == 2), (number, words, err)
    return code != 2


LEAST_SOUND = 0.4
"""Least share of valid lines in a block of 150: about half are valid in all, 68 in the worst block."""


def of_all(run: Run, numbers: range) -> None:
    """Run every line of a range; enough of them are valid."""
    assert sum([tried(run, number) for number in numbers]) >= LEAST_SOUND * len(numbers)


@pytest.fixture
def here(files: Path, sketches: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)


@pytest.mark.slow
def test_command_lines_answer_or_refuse(run: Run, here: None) -> None:
    of_all(run, range(0, ALL, ALL // SHARE))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, ALL, ALL // 4))
def test_command_lines_all(run: Run, here: None, start: int) -> None:
    of_all(run, range(start, start + ALL // 4))
