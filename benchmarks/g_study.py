"""Time variance components and lme4 in one run: python benchmarks/g_study.py, from the repository root.

Four kinds of table: the twelve items of the CLASS ratings (if ../shared/data has them), a complete table of 16 systems
x 100 documents x 9 raters, an unbalanced one of 100,000 labels, 73,421 ratings of lecturers by students. Without R and
lme4 it reports that and times assay alone. Prints seconds, ratios, and the largest excess of assay's criterion over
lme4's.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from assay.psychometrics.components import fit_components
from assay.psychometrics.design import DesignSettings, parse

CLASS = Path("../shared/data/class_observation/class_data.csv")
ITEMS = ("CLPC", "CLNC", "CLTS", "CLRSP", "CLBM", "CLPRDT", "CLILF", "CLCU", "CLAPS", "CLQF", "CLINSTD", "CLSTENG")

R = """
suppressMessages(library(lme4));
args <- commandArgs(trailingOnly = TRUE); d <- read.csv(args[1])
for (v in strsplit(args[2], ",")[[1]]) d[[v]] <- factor(d[[v]])
start <- proc.time()[["elapsed"]]
m <- suppressMessages(suppressWarnings(lmer(as.formula(args[3]), d)))
seconds <- proc.time()[["elapsed"]] - start
cat(seconds, sprintf("%.8f", REMLcrit(m)), sep = "\\n")
"""


def class_tables():
    """One table an item: label, teacher, lesson, rater."""
    rows = list(csv.DictReader(CLASS.open()))
    for item in ITEMS:
        mine = [r for r in rows if r[item]]
        columns = {f: [r[c] for r in mine] for f, c in (("i", "NCTETID"), ("o", "OBSID"), ("r", "RATERID"))}
        codes = {f: np.unique(v, return_inverse=True)[1].astype(np.int64) for f, v in columns.items()}
        yield item, np.array([float(r[item]) for r in mine]), codes


def crossed(rng):
    """16 systems x 100 documents x 9 raters."""
    s, d, r = (a.ravel() for a in np.indices((16, 100, 9)))
    value = rng.normal(size=16)[s] * 0.5 + rng.normal(size=100)[d] * 0.45 + rng.normal(size=9)[r] * 0.3
    value += rng.normal(size=(16, 100))[s, d] * 0.55 + rng.normal(size=(16, 9))[s, r] * 0.22
    value += rng.normal(size=(100, 9))[d, r] * 0.3 + rng.normal(size=len(s)) * 0.77
    return value, {"s": s, "d": d, "r": r}


def unbalanced(rng, n=100_000, teachers=3_000, lessons=20_000, raters=60):
    """Lessons in teachers, a few labels each by raters drawn at random."""
    of = np.sort(rng.integers(0, teachers, lessons))
    o = rng.integers(0, lessons, n)
    i, r = of[o], rng.integers(0, raters, n)
    taste = rng.normal(size=teachers * raters)[i * raters + r]
    value = rng.normal(size=teachers)[i] * 0.45 + rng.normal(size=lessons)[o] * 0.4 + rng.normal(size=raters)[r] * 0.3
    return value + taste * 0.3 + rng.normal(size=n) * 0.7, {"i": i, "o": o, "r": r}


def evaluations(rng, n=73_421, students=2_972, lecturers=1_128):
    """Students rate some of the lecturers, as in lme4's InstEval; no pair twice."""
    pair = rng.choice(students * lecturers, n, replace=False)
    s, d = pair // lecturers, pair % lecturers
    value = rng.normal(size=students)[s] * 0.33 + rng.normal(size=lecturers)[d] * 0.52 + rng.normal(size=n) * 1.18
    return np.clip(np.rint(value + 3.2), 1, 5), {"s": s, "d": d}


def ours(design, measured, value, codes):
    """Seconds and fit from arrays: identified terms, then variances."""
    start = time.perf_counter()
    fitted = fit_components(parse(design), value, codes, DesignSettings(design=design, object=measured))
    return time.perf_counter() - start, fitted


def theirs(folder, value, codes, formula):
    """Seconds and criterion of lmer; factors are made before the clock starts."""
    path = folder / "table.csv"
    np.savetxt(path, np.column_stack([value, *codes.values()]), delimiter=",", header=",".join(["y", *codes]),
               comments="", fmt=["%.10g"] + ["%d"] * len(codes))  # fmt: skip
    script = folder / "fit.R"
    script.write_text(R)
    done = subprocess.run(["Rscript", str(script), str(path), ",".join(codes), formula], capture_output=True, text=True,
                          check=True)  # fmt: skip
    seconds, criterion = done.stdout.split()
    return float(seconds), float(criterion)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", default="", help="class, crossed, unbalanced or evaluations")
    options.add_argument("--without-lme4", action="store_true")
    given = options.parse_args()
    r = shutil.which("Rscript") is not None and not given.without_lme4
    r = r and subprocess.run(["Rscript", "-e", "library(lme4)"], capture_output=True, check=False).returncode == 0
    if not r:
        print("R with lme4 is missing here: assay alone is timed")
    nested = "y ~ 1 + (1|i) + (1|i:o) + (1|r) + (1|r:i)"
    jobs = {}
    if CLASS.exists():
        jobs["class, twelve items"] = ("r x (o:i)", "i", nested, [(v, c) for _, v, c in class_tables()])
    else:
        print("the CLASS table is missing here")
    rng = np.random.default_rng(1)
    formula = "y ~ 1 + (1|s) + (1|d) + (1|r) + (1|s:d) + (1|s:r) + (1|d:r)"
    jobs["crossed, 16 x 100 x 9"] = ("s x d x r", "s", formula, [crossed(rng)])
    # Some raters see a lesson twice, so that ro:i is a term.
    jobs["unbalanced, 100,000 labels"] = ("r x (o:i)", "i", f"{nested} + (1|i:o:r)", [unbalanced(rng)])
    rated = "y ~ 1 + (1|d) + (1|s)"
    jobs["evaluations, 73,421 ratings"] = ("d x s", "d", rated, [evaluations(rng)])
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (design, measured, formula, tables) in jobs.items():
            if given.only not in name:
                continue
            ours(design, measured, *tables[0])  # imports
            each = [ours(design, measured, value, codes) for value, codes in tables]
            mine = sum(seconds for seconds, _ in each)
            row = {"table": name, "assay": round(mine, 4)}
            if r:
                other = [theirs(Path(folder), value, codes, formula) for value, codes in tables]
                total = sum(seconds for seconds, _ in other)
                worse = max(fit.fit.deviance - c for (_, fit), (_, c) in zip(each, other, strict=True))
                row |= {"lme4": round(total, 3), "ratio": round(total / mine, 1), "criterion above": f"{worse:.1e}"}
            found.append(row)
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
