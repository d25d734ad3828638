"""Times of ratings, compared with alternatives, in one run.

    python benchmarks/preference.py [--battles 1_000_000 --models 50]

Calls are compared: evalica (``python -m pip install evalica``) is given Python lists of names and winners, assay
the table that `assay.read` made of the same names; reading is timed separately. A table caches its names,
so that its first call takes longer than those after it; both are reported. Elo of many random orders is compared with
a plain loop over the battles, timed over one order and scaled up.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable

import numpy as np
import polars as pl

import assay
from assay.preference.boards import RUN_CELLS


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


def compare_calls(n: int, models: int) -> None:
    """One fit of Bradley and Terry, and one run of Elo over a tenth of the battles, from names."""
    import evalica

    winner = {"model_a": evalica.Winner.X, "model_b": evalica.Winner.Y, "tie": evalica.Winner.Draw}
    for name, ours, theirs, frame in (
        ("Bradley-Terry", lambda votes: assay.ratings(votes, method="none"), evalica.bradley_terry,
         battles(n, models)),
        ("Elo, one order", lambda votes: assay.ratings(votes, model="elo", n_orders=1, method="none"), evalica.elo,
         battles(n // 10, models, seed=1)),
    ):  # fmt: skip
        ours(assay.read(frame.head(1000)))  # late imports
        first, second = frame["model_a"].to_list(), frame["model_b"].to_list()
        winners = [winner[w] for w in frame["winner"]]
        tables: list[assay.Annotations] = []
        reading = seconds(lambda frame=frame, tables=tables: tables.append(assay.read(frame)))
        fresh = min(seconds(lambda table=table, ours=ours: ours(table), 1) for table in tables)
        again = seconds(lambda table=tables[0], ours=ours: ours(table))
        other = seconds(lambda call=theirs, given=(first, second, winners): call(*given))
        print(
            f"{name}, {frame.height:,} battles of {models} models by name: evalica {1000 * other:.0f} ms; assay "
            f"{1000 * fresh:.0f} ms the first time ({fresh / other:.2f} of that), {1000 * again:.0f} ms again "
            f"({again / other:.2f}); the table is read in {1000 * reading:.0f} ms"
        )


def estimates(votes: assay.Annotations) -> dict[str, float]:
    """The rating of each system."""
    rows = assay.ratings(votes, method="none").rows
    return dict(zip(rows["system"], rows["estimate"], strict=True))


def bradley_terry(n: int, models: int) -> None:
    frame = battles(n, models)
    votes = assay.read(frame)
    whole = seconds(lambda: assay.ratings(votes, n_resamples=1000), 2)
    print(f"Bradley-Terry, {n:,} battles of {models} models, 1,000 bootstraps, from the table: {whole:.2f} s")
    import evalica

    found = estimates(votes)
    winner = {"model_a": evalica.Winner.X, "model_b": evalica.Winner.Y, "tie": evalica.Winner.Draw}
    lists = (frame["model_a"].to_list(), frame["model_b"].to_list(), [winner[w] for w in frame["winner"]])
    scores = evalica.bradley_terry(*lists, tolerance=1e-10, limit=10_000).scores
    log = 400 * np.log10(np.array([scores[name] for name in sorted(found)], dtype=float))
    apart = np.abs(np.array([found[name] for name in sorted(found)]) - 1000 - (log - log.mean())).max()
    print(f"largest difference from evalica's fit: {apart:.1e} points")


def added(n: int, models: int) -> None:
    """Adding a thousand battles to a leaderboard, compared with reading and rating all of them."""
    frame = battles(n, models).with_columns(item=pl.format("i{}", pl.int_range(n)))
    more = battles(1000, models, seed=5).with_columns(item=pl.format("n{}", pl.int_range(1000)))
    board = assay.ratings(assay.read(frame), method="none")
    further = assay.read(more)
    ours = seconds(lambda: board.add(further), clock=time.process_time)
    both = pl.concat([frame, more])
    again = seconds(lambda: assay.ratings(assay.read(both), method="none"), 2, time.process_time)
    print(
        f"1,000 battles added to {n:,}: {ours:.2f} s of processor time; all of them read and rated again {again:.2f} s"
    )


def elo(n: int, models: int) -> None:
    votes = assay.read(battles(n, models, seed=1))
    ours = seconds(lambda: assay.ratings(votes, model="elo", n_orders=100, method="none"), 2, time.process_time)
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
    arguments.add_argument("--models", type=int, default=50)
    chosen = arguments.parse_args()
    if importlib.util.find_spec("evalica"):
        compare_calls(chosen.battles, chosen.models)
        bradley_terry(chosen.battles, chosen.models)
    else:
        print("evalica is not installed: no comparison for Bradley-Terry")
    added(chosen.battles, chosen.models)
    elo(chosen.battles // 10, chosen.models)
