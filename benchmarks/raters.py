"""The rater model compared with JAGS: same model, same priors, in one run; and times of quick=True on real tables.

    python benchmarks/raters.py                    # simulated: 60 items, 5 raters, JAGS and assay
    python benchmarks/raters.py --lesion FOLDER    # the folder of the lesion data: MCMC and quick=True
    python benchmarks/raters.py --coverage 200     # how often intervals hold the truth
    python benchmarks/raters.py --numbers 200      # the same of the linear model
    python benchmarks/raters.py --crowds 4         # the same of many raters with few labels
    python benchmarks/raters.py --accused 200      # false alarms of fairness, and power

JAGS is Debian's ``jags``; without it, a message is printed and the rest runs. Times are of this machine at this moment;
only the ratios within a run are comparable.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import assay
from assay.psychometrics.raters.fit import rhat_and_samples

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "psychometrics"))
from measured import measured
from rated import crowd, rated

MODEL = """
model {
  for (i in 1:I) {
    theta[i] ~ dnorm(0, 1)
    for (j in 1:J) {
      for (k in 1:K) { up[i, j, k] <- exp((k - 1) * alpha[j] * theta[i] - height[j, k]) }
      xi[i, j] ~ dcat(up[i, j, 1:K])
    }
  }
  for (n in 1:N) {
    for (k in 1:K) {
      p[n, k] <- exp(-pow(k - xi[item[n], crit[n]] - phi[rater[n]] - eta[crit[n]], 2)
                     / (2 * exp(2 * (lpsi[rater[n]] + ltau[crit[n]]))))
    }
    x[n] ~ dcat(p[n, 1:K])
  }
  for (r in 1:R) {
    raw[r] ~ dnorm(0, 1)
    phi[r] <- raw[r] - mean(raw[])
    lpsi[r] ~ dnorm(log(0.5), 1)
    psi[r] <- exp(lpsi[r])
  }
  for (j in 1:J) {
    eta[j] ~ dnorm(0, 4)
    rawtau[j] ~ dnorm(0, 4)
    ltau[j] <- rawtau[j] - mean(rawtau[])
    lalpha[j] ~ dnorm(0, 4)
    alpha[j] <- exp(lalpha[j])
    height[j, 1] <- 0
    for (k in 2:K) { gamma[j, k] ~ dnorm(0, 0.25); height[j, k] <- height[j, k - 1] + gamma[j, k] }
  }
}
"""
"""Eq. 4 to 6 with the priors of `assay.psychometrics.raters.density.PRIORS`."""


def jags(found: assay.results.RaterModel, chains: int, draws: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Draws of φ and ψ, (chains, draws, raters) each, and the seconds that sampling took."""
    table = found.fitted.table
    ideal = np.full((len(table.items), len(table.criteria)), 2)
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        (at / "model.txt").write_text(MODEL)
        values = {
            "I": len(table.items), "J": len(table.criteria), "K": table.n_categories, "N": len(table),
            "R": len(table.raters), "item": table.item + 1, "crit": table.criterion + 1, "rater": table.rater + 1,
            "x": table.value + 1,
        }  # fmt: skip
        said = (f'"{n}" <- {_r(v)}' for n, v in values.items())
        (at / "data.txt").write_text("\n".join(said) + "\n")
        cell = np.unique(table.item * ideal.shape[1] + table.criterion, return_inverse=True)[1]
        mean = np.bincount(cell, table.value) / np.bincount(cell)
        ideal.ravel()[np.unique(table.item * ideal.shape[1] + table.criterion)] = np.rint(mean) + 1
        starts = f'"xi" <- structure({_r(ideal.T.ravel())}, .Dim = c({ideal.shape[0]}, {ideal.shape[1]}))\n'
        for c in range(chains):
            seed = f'".RNG.name" <- "base::Mersenne-Twister"\n".RNG.seed" <- {c + 1}\n'
            (at / f"start{c + 1}.txt").write_text(starts + seed)
        lines = ["model in model.txt", "data in data.txt", f"compile, nchains({chains})"]
        lines += [f"parameters in start{c + 1}.txt, chain({c + 1})" for c in range(chains)]
        lines += ["initialize", "update 1000", "monitor phi", "monitor psi", f"update {draws}", "coda *", "exit"]
        (at / "run.txt").write_text("\n".join(lines) + "\n")
        began = time.perf_counter()
        done = subprocess.run(["jags", "run.txt"], cwd=at, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - began
        if not (at / "CODAindex.txt").exists():
            raise RuntimeError(done.stdout + done.stderr)
        index = [line.split() for line in (at / "CODAindex.txt").read_text().splitlines()]
        kept = [np.loadtxt(at / f"CODAchain{c + 1}.txt")[:, 1] for c in range(chains)]
        of = {n: np.stack([k[int(a) - 1 : int(b)] for k in kept]) for n, a, b in index}
    phi, psi = (np.stack([of[f"{n}[{r + 1}]"] for r in range(len(table.raters))], -1) for n in ("phi", "psi"))
    return phi, psi, seconds


def _r(value: object) -> str:
    return f"c({', '.join(str(int(v)) for v in value)})" if isinstance(value, np.ndarray) else str(value)


def compare_with_jags(draws: int) -> None:
    """Posterior means and effective draws a second of both."""
    truth = rated(60, criteria=2, categories=4, seed=3)
    found = assay.rater_model(truth.labels, chains=2, warmup=400, draws=draws)
    print(found.summary().splitlines()[0])
    chains = found.fitted.chains
    assert chains is not None
    mine = found.fitted.density.layout.severity(chains.x).mean(axis=-2)
    ours = rhat_and_samples(mine)[1].min() / chains.seconds
    print(f"assay: {chains.seconds:.1f} s, {ours:.1f} effective draws of phi a second (the least)")
    if shutil.which("jags") is None:
        print("JAGS is not installed (Debian: apt-get install jags), no comparison")
        return
    phi, psi, seconds = jags(found, 2, draws * 3)
    rhat, size = rhat_and_samples(phi)
    theirs = size.min() / seconds
    print(f"JAGS: {seconds:.1f} s, {theirs:.2f} a second, R-hat {rhat.max():.3f}; ratio {ours / theirs:.1f}")
    for name, one, other in (
        ("phi", mine, phi),
        ("psi", np.exp(found.fitted.density.layout.variability(chains.x).mean(axis=-2)), psi),
    ):
        apart = np.abs(one.mean((0, 1)) - other.mean((0, 1))) / other.std((0, 1))
        print(f"{name}: posterior means differ by at most {apart.max():.2f} posterior standard deviations")


def lesion(folder: str) -> None:
    """The four features of 0 to 2."""
    labels = assay.read(folder)
    labels = labels.where(criterion=[c for c in labels.criteria if c != "Color"])
    began = time.perf_counter()
    quick = assay.rater_model(labels, quick=True)
    print(f"quick=True: {time.perf_counter() - began:.1f} s")
    began = time.perf_counter()
    found = assay.rater_model(labels)
    print(f"sampling: {time.perf_counter() - began:.1f} s; {found.summary().splitlines()[0]}")
    apart = (found.rows["estimate"] - quick.rows["estimate"]).abs().max()
    print(f"phi of the two methods differs by at most {apart:.3f}")


TEN = {"phi": tuple(np.linspace(-0.8, 0.8, 10)), "psi": (0.4, 1.0, 0.5, 0.8, 0.6, 0.4, 0.9, 0.5, 0.7, 0.6)}
DESIGNS = {
    "60 items, 5 raters, one criterion": (60, {}),
    "60 items, 5 raters, two criteria": (60, {"criteria": 2}),
    "60 items, 10 raters, one criterion": (60, TEN),
    "60 items, 10 raters, four criteria": (60, {**TEN, "criteria": 4}),
    "120 items, half of them per rater, 6 raters": (
        120,
        {"phi": (-0.6, -0.3, 0.0, 0.0, 0.3, 0.6), "psi": (0.5, 0.7, 0.4, 0.9, 0.6, 0.5), "seen": 0.5},
    ),
}
"""Items and the other arguments of `rated`; seeds 1000 and up."""


NUMBERS = {
    "30 items": (30, {}),
    "100 items": (100, {}),
    "60 items, two raters": (60, {"phi": (-3.0, 3.0), "psi": (4.0, 8.0)}),
    "60 items, three criteria, 40% missing": (60, {"criteria": 3, "seen": 0.6}),
    "120 items of 40 teachers, half missing": (120, {"objects": 40, "seen": 0.5, "object": "teacher"}),
    "100 items, exponential ideal ratings": (100, {"shape": "exponential"}),
    "100 items, whole numbers 0–100, 2% at an end": (100, {"scale": "interval:0-100", "trait": 0.0, "omega": 20.0}),
    "the same, 11% at an end": (100, {"scale": "interval:0-100", "trait": 0.0, "omega": 30.0}),
    "the same, 28% at an end": (100, {"scale": "interval:0-100", "trait": 0.0, "omega": 45.0}),
}
"""Items and the other arguments of `measured`, with the column of the object; seeds 1000 and up."""


def numbers(n: int) -> None:
    """The linear model with quick=True: coverage, and by how much differences in φ are shrunk."""
    print("| table | φ | ψ | slope of φ |")
    print("|---|---|---|---|")
    for name, (items, asked) in NUMBERS.items():
        made = {k: v for k, v in asked.items() if k != "object"}
        held, slopes = [], []
        for seed in range(n):
            truth = measured(items, **made, seed=1000 + seed)
            rows = assay.rater_model(truth.labels, quick=True, starts=1, draws=500, object=asked.get("object")).rows
            low, high = rows["low", "psi_low"].to_numpy(), rows["high", "psi_high"].to_numpy()
            true = np.stack([truth.phi, truth.psi], -1)
            held.append((low <= true) & (true <= high))
            slopes.append(rows["estimate"].to_numpy() @ truth.phi / (truth.phi @ truth.phi))
        inside = np.array(held)
        share, error = inside.mean(axis=(0, 1)), inside.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(n)
        cells = [f"{100 * s:.1f}% ± {100 * e:.1f}" for s, e in zip(share, error, strict=True)]
        print("|", " | ".join([name, *cells, f"{np.mean(slopes):.3f}"]), "|", flush=True)


def coverage(n: int) -> None:
    """quick=True: coverage of intervals, and errors of estimates."""
    print("| studies | held φ | held ψ | correlation φ | correlation ψ |")
    print("|---|---|---|---|---|")
    for name, (items, asked) in DESIGNS.items():
        held, found, true = [], [], []
        for seed in range(n):
            truth = rated(items, **asked, seed=1000 + seed)
            rows = assay.rater_model(truth.labels, quick=True, starts=2).rows
            low, high = rows["low", "psi_low"].to_numpy(), rows["high", "psi_high"].to_numpy()
            true.append(np.stack([truth.phi, truth.psi], -1))
            found.append(rows["estimate", "psi"].to_numpy())
            held.append((low <= true[-1]) & (true[-1] <= high))
        inside, one, other = np.array(held), np.concatenate(found), np.concatenate(true)
        share = inside.mean(axis=(0, 1))
        error = inside.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(n)
        related = [np.corrcoef(one[:, i], other[:, i])[0, 1] for i in (0, 1)]
        cells = [f"{100 * s:.1f}% ± {100 * e:.1f}" for s, e in zip(share, error, strict=True)]
        print("|", " | ".join([name, *cells, *(f"{r:.3f}" for r in related)]), "|", flush=True)


TEN_STEPS = {"error": 1.2, "quality": 1.2, "categories": 10}
CROWDS = {
    "20 raters, 45 to 75 labels": (20, 300, 4, {}),
    "60 raters, 15 to 40 labels": (60, 400, 4, {}),
    "60 raters, 1 to 12 labels, equal severity": (60, 80, 4, {"sd": 0.0}),
    "60 raters, 10 to 30 labels, 1 to 10, severity with an SD of 1.8": (60, 300, 4, {**TEN_STEPS, "sd": 1.8}),
    "260 raters, 2 to 6 labels, 1 to 10": (260, 300, 4, {**TEN_STEPS, "sd": 0.9, "most": (2, 6)}),
}
"""Raters, items, labels of an item, and the other arguments of `crowd`; seeds 1000 and up."""


def crowds(n: int) -> None:
    """quick=True: coverage of φ, its errors, and significant raters whose estimate has the wrong sign."""
    print("| raters | tables | φ | half-width | significant | wrong sign or equal raters |")
    print("|---|---|---|---|---|---|")
    for name, (raters, items, each, asked) in CROWDS.items():
        held, half, significant, false = [], [], [], []
        for seed in range(n):
            truth = crowd(raters, items, each, **asked, seed=1000 + seed)
            rows = assay.rater_model(truth.labels, quick=True).rows
            low, high, found = (rows[c].to_numpy() for c in ("low", "high", "estimate"))
            named = rows["p_adjusted"].to_numpy() <= 0.05
            held.append(((low <= truth.phi) & (truth.phi <= high)).mean())
            half.append((high - low).mean() / 2)
            significant.append(named.mean())
            false.append((named & (found * truth.phi <= 0)).any() if asked.get("sd") != 0 else named.any())
        error = np.std(held, ddof=1) / np.sqrt(n)
        cells = [f"{100 * np.mean(held):.1f}% ± {100 * error:.1f}", f"{np.mean(half):.2f}"]
        cells += [f"{100 * np.mean(significant):.0f}%", f"{sum(false)} of {n} tables"]
        print("|", " | ".join([name, str(n), *cells]), "|", flush=True)


ACCUSED = {
    "no bias, no gap": {},
    "no bias, the groups' means a standard deviation apart": {"gap": 1.0},
    "one rater with a bias of −.6, means apart": {"gap": 1.0, "bias": {2: -0.6}},
}
"""Six equal raters except for the bias, 120 items, half of them in each group; seeds 5000 and up."""


def accused(n: int) -> None:
    """quick=True: studies with a significant rater, and with the biased rater."""
    print("| studies | any rater significant | the biased rater | another rater |")
    print("|---|---|---|---|")
    for name, asked in ACCUSED.items():
        named = []
        for seed in range(n):
            labels = rated(120, (0.0,) * 6, (0.6,) * 6, **asked, seed=5000 + seed).labels
            found = assay.rater_model(labels, "dialect", quick=True, starts=1).fairness
            raters = found.rows.filter(pl.col("verdict").is_in(["more_severe", "more_lenient"]))["annotator"].to_list()
            named.append([bool(raters), "ann_3" in raters, bool(set(raters) - {"ann_3"})])
        share = np.mean(named, axis=0)
        cells = [f"{100 * s:.1f}% ± {100 * np.sqrt(s * (1 - s) / n):.1f}" for s in share]
        shown = cells if "bias" in asked else [cells[0], "", ""]
        print("|", " | ".join([name, *shown]), "|", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lesion")
    parser.add_argument("--coverage", type=int)
    parser.add_argument("--accused", type=int)
    parser.add_argument("--numbers", type=int)
    parser.add_argument("--crowds", type=int)
    parser.add_argument("--draws", type=int, default=1000)
    given = parser.parse_args()
    if given.lesion:
        lesion(given.lesion)
    elif given.coverage:
        coverage(given.coverage)
    elif given.numbers:
        numbers(given.numbers)
    elif given.crowds:
        crowds(given.crowds)
    elif given.accused:
        accused(given.accused)
    else:
        compare_with_jags(given.draws)
