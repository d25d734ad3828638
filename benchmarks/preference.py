"""How long ratings take, beside what a user would pick instead, in one run.

    python benchmarks/preference.py [--battles 1_000_000 --models 100]

The Bradley–Terry fit stands beside evalica's (``python -m pip install evalica``), where it is there; Elo beside a plain
loop over the battles, timed over one order and scaled up.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import polars as pl

import assay
from assay.preference.leaderboard import RUN_CELLS
from assay.statistics import tournaments


def seconds(run: Callable[[], object], times: int = 3, clock: Callable[[], float] = time.perf_counter) -> float:
    best = np.inf
    for _ in range(times):
        start = clock()
        run()
        best = min(best, clock() - start)
    return best


def battles(n: int, models: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    strength = np.linspace(-1.5, 1.5, models)
    a = rng.integers(0, models, n)
    b = (a + rng.integers(1, models, n)) % models
    lean = strength[a] - strength[b] + rng.logistic(size=n)
    names = pl.Series([f"model{i:03d}" for i in range(models)])
    winner = np.where(np.abs(lean) < 0.3, "tie", np.where(lean > 0, "model_a", "model_b"))
    return pl.DataFrame({"model_a": names.gather(a), "model_b": names.gather(b), "winner": winner})


def plain_elo(first: list[int], second: list[int], got: list[float], models: int) -> list[float]:
    ratings = [1000.0] * models
    for a, b, s in zip(first, second, got, strict=True):
        step = 32 * (s - 1 / (1 + 10 ** ((ratings[b] - ratings[a]) / 400)))
        ratings[a] += step
        ratings[b] -= step
    return ratings


def bradley_terry(n: int, models: int) -> None:
    frame = battles(n, models)
    votes = assay.read(frame)
    whole = seconds(lambda: assay.bradley_terry(votes, n_resamples=1000), 2)
    print(f"Bradley-Terry, {n:,} battles of {models} models, 1,000 bootstraps, from the table: {whole:.2f} s")
    codes = {name: i for i, name in enumerate(sorted(set(frame["model_a"]) | set(frame["model_b"])))}
    a, b = (frame[c].replace_strict(codes).to_numpy() for c in ("model_a", "model_b"))
    score = frame["winner"].replace_strict({"model_a": 1.0, "model_b": 0.0, "tie": 0.5}).to_numpy()

    def fit() -> np.ndarray:
        wins = np.bincount(a * models + b, score, models**2) + np.bincount(b * models + a, 1 - score, models**2)
        return tournaments.bradley_terry(wins.reshape(models, models))

    ours = seconds(fit)
    print(f"the fit alone, from arrays: {1000 * ours:.1f} ms")
    try:
        import evalica
    except ImportError:
        print("evalica is not here, so nothing stands beside it")
        return
    words = {"model_a": evalica.Winner.X, "model_b": evalica.Winner.Y, "tie": evalica.Winner.Draw}
    xs, ys = frame["model_a"].to_list(), frame["model_b"].to_list()
    winners = [words[w] for w in frame["winner"]]
    theirs = seconds(lambda: evalica.bradley_terry(xs, ys, winners, tolerance=1e-10, limit=10_000), 1)
    scores = evalica.bradley_terry(xs, ys, winners, tolerance=1e-10, limit=10_000).scores
    log = np.log(np.array([scores[name] for name in sorted(codes)], dtype=float))
    apart = np.abs(fit() - (log - log.mean())).max()
    print(
        f"evalica: {1000 * theirs:.1f} ms, {theirs / ours:.0f} times as long; largest difference {apart:.1e} log odds"
    )


def elo(n: int, models: int) -> None:
    votes = assay.read(battles(n, models, seed=1))
    ours = seconds(lambda: assay.elo(votes, n_orders=100, method="none"), 2, time.process_time)
    table = votes.labels.with_columns(first=votes.column("first"), second=votes.column("second"))
    codes = {name: i for i, name in enumerate(sorted(set(table["first"]) | set(table["second"])))}
    a, b = (table[c].replace_strict(codes).to_list() for c in ("first", "second"))
    got = ((1 - table["label"].to_numpy()) / 2).tolist()
    plain = 100 * seconds(lambda: plain_elo(a, b, got, models), 5, time.process_time)
    print(
        f"Elo, 100 random orders of {n:,} battles: {ours:.2f} s of processor time; a plain loop {plain:.1f} s, "
        f"{plain / ours:.1f} times as long ({RUN_CELLS // n} orders at a time)"
    )


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--battles", type=int, default=1_000_000)
    arguments.add_argument("--models", type=int, default=100)
    chosen = arguments.parse_args()
    bradley_terry(chosen.battles, chosen.models)
    elo(chosen.battles // 10, chosen.models)
