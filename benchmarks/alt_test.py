"""The alternative annotator test: assay against a plain Python loop, its growth to 10 million labels, start-up.

    python benchmarks/alt_test.py            # all; --quick leaves out the 10 million labels

Loop and assay run on the same labels in the same process, and their answers are compared before any ratio
is printed. Wall seconds, the best of the repetitions named.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

import assay
import published_procedure as published
from assay.data.annotations import Annotations
from assay.estimation.statistic import Ints


def best(
    function: Callable[..., object], repeat: int, fresh: Callable[[], object] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, object]:  # fmt: skip
    """Shortest time of ``function``, called each time with what ``fresh`` makes outside the clock."""
    times, result = [], None
    for _ in range(repeat):
        given = [] if fresh is None else [fresh()]
        start = clock()
        result = function(*given)
        times.append(clock() - start)
    return min(times), result


def study(n_items: int, n_annotators: int, n_judges: int, seed: int = 0) -> tuple[pl.DataFrame, list[str]]:
    """Complete labels 1-5 from people and judges around a true label."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, n_items)
    frames = []
    for k in range(n_annotators + n_judges):
        judge = k >= n_annotators
        name = f"judge_{k - n_annotators}" if judge else f"ann_{k}"
        labels = np.clip(truth + rng.integers(-1, 2, n_items), 1, 5)
        frames.append(pl.DataFrame({"item": [f"i{i}" for i in range(n_items)], "annotator": name, "label": labels}))
    return pl.concat(frames), [f"judge_{k}" for k in range(n_judges)]


def nested(frame: pl.DataFrame) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for item, annotator, label in frame.select("item", "annotator", "label").iter_rows():
        found.setdefault(annotator, {})[item] = label
    return found


def compare_six_judges() -> None:
    frame, judges = study(6400, 3, 6)
    everyone = nested(frame)
    humans = {k: v for k, v in everyone.items() if k not in judges}
    for name, score in (("accuracy", published.accuracy), ("neg_rmse", published.neg_rmse)):
        loop, expected = best(
            lambda score=score: {j: published.alt_test(humans, everyone[j], score, 0.2) for j in judges}, 1
        )

        def ours(labels: Annotations, method: str, name: str = name) -> object:
            return assay.compare_judges(labels, epsilon=0.2, score=name, method=method)

        # Each repetition gets a table just read, with nothing cached; the loop gets its dictionaries made, too.
        def fresh() -> Annotations:
            return Annotations.from_frame(frame, judges=judges, scale=assay.Ordinal(1, 5))

        points, found = best(lambda labels: ours(labels, "none"), 7, fresh)
        whole, _ = best(lambda labels: ours(labels, "percentile"), 3, fresh)
        answers = {j: (t.winning_rate, t.advantage_probability.estimate) for j, t in found.tests.items()}
        assert all(np.allclose(answers[j], expected[j], atol=1e-12) for j in judges), "the answers differ"
        print(
            f"six judges, 6,400 items x 3 annotators, {name}: loop {loop:.2f} s; "
            f"assay {points:.4f} s, {loop / points:.0f}x; with 2,000-resample intervals and paired comparison,\n"
            f"    which the loop has not: {whole:.3f} s, {loop / whole:.1f}x"
        )


DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "alt_test"
LABELLED = {
    "wax": (published.accuracy, "accuracy", 0.1), "mtbench": (published.accuracy, "accuracy", 0.2),
    "cebab_stars": (published.neg_rmse, "neg_rmse", 0.1), "lesion": (published.neg_rmse, "neg_rmse", 0.15),
}  # fmt: skip
"""The data sets of the paper that are available and not text: score and epsilon. 22 judges."""

STAND_INS = {
    "LGBTeen": (4, 880, 2.91, 5, "accuracy", 0.2), "Framing": (4, 2552, 3.0, 3, "accuracy", 0.15),
    "CEBaB-A": (10, 1008, 4.0, 3, "accuracy", 0.1), "SummEval": (3, 6400, 3.0, 5, "neg_rmse", 0.2),
    "10k Prompts": (13, 1698, 2.26, 5, "neg_rmse", 0.15),
}  # fmt: skip
"""The other five of its nine, which are not: annotators, items, annotators an item and categories (table 1), score and
epsilon. Labels are drawn; six judges each, which makes 52 runs with the others."""


@dataclass(frozen=True)
class Runs:
    """Every judge of one data set: labels as the loop takes them, and the same as a table."""

    humans: dict[str, dict[str, float]]
    judges: dict[str, dict[str, float]]
    labels: Annotations
    score: Callable[[float, list[float]], float]
    called: str
    epsilon: float

    def in_words(self) -> list[str]:
        """The summary of each judge, tested by itself."""
        each = (assay.alt_test(self.labels, j, epsilon=self.epsilon, score=self.called) for j in self.judges)
        return [test.summary() for test in each]


def available_runs() -> list[Runs]:
    """The data sets of the paper; labels are pooled, as it does."""
    return [
        Runs(
            json.loads((DATA / name / "human_annotations.json").read_text()),
            json.loads((DATA / name / "llm_annotations.json").read_text()),
            assay.read(DATA / name, split_item="no"), score, called, epsilon,
        )
        for name, (score, called, epsilon) in LABELLED.items()
    ]  # fmt: skip


def simulated_set(m: int, n: int, each: float, categories: int, called: str, epsilon: float, seed: int) -> Runs:
    """A data set of these sizes: people say what is true in 7 of 10 items, judges in 4 to 8."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, categories + 1, n)

    def said(share: float) -> Ints:
        return np.where(rng.random(n) < share, truth, rng.integers(1, categories + 1, n))

    asked = rng.random((n, m)).argsort(axis=1).argsort(axis=1) < (int(each) + (rng.random(n) < each % 1))[:, None]
    found: dict[str, dict[str, float]] = {}
    for k in range(m + 6):
        labels = said(0.7 if k < m else 0.4 + 0.08 * (k - m)).tolist()
        items = np.flatnonzero(asked[:, k]).tolist() if k < m else range(n)
        found[f"ann_{k}" if k < m else f"judge_{k - m}"] = {f"i{i}": labels[i] for i in items}
    rows = [(item, who, label) for who, given in found.items() for item, label in given.items()]
    judges = {who: given for who, given in found.items() if who.startswith("judge")}
    humans = {who: given for who, given in found.items() if who not in judges}
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    labels = Annotations.from_frame(frame, judges=list(judges), scale=assay.Ordinal(1, categories))
    return Runs(humans, judges, labels, getattr(published, called), called, epsilon)


def published_runs() -> None:
    """Every judge of the paper's labelled data sets, each tested by itself; tables read before."""
    known = available_runs() if DATA.is_dir() else []
    if not known:
        print(f"the judges of the paper's data sets: not here ({DATA})")
    drawn = [simulated_set(*sizes, seed) for seed, sizes in enumerate(STAND_INS.values())]
    for what, runs in (
        ("the four available labelled data sets", known),
        ("four, and five simulated ones", known + drawn),
    ):
        if runs:
            time_runs(what, runs)
    if known:
        for what, of in (("four labelled data sets", "known"), ("four and the simulated ones", "all")):
            times = [one_process("--first", of).split() for _ in range(3)]
            wall, processor = (min(float(one[i]) for one in times) for i in (0, 1))
            print(
                f"    verdict and summary of the judges of the {what}, the first time in a process: {wall:.2f} s, "
                f"{processor:.2f} s of processor time (the least of three processes; imports not counted)"
            )


def time_runs(what: str, runs: list[Runs]) -> None:
    """Processor time, since all of these take one core: loop, test, intervals, summary."""

    def total(each: Callable[[Runs], object], repeat: int) -> float:
        return sum(best(lambda one=one: each(one), repeat, clock=time.process_time)[0] for one in runs)

    def looped(one: Runs) -> object:
        return [published.alt_test(one.humans, judge, one.score, one.epsilon) for judge in one.judges.values()]

    def tested(one: Runs, method: str) -> list[float]:
        how = {"epsilon": one.epsilon, "score": one.called, "method": method}
        return [assay.alt_test(one.labels, judge, **how).winning_rate for judge in one.judges]

    loop, again = total(looped, 2), total(Runs.in_words, 4)
    none, jackknife, resampled = (
        total(lambda one, method=method: tested(one, method), 9) for method in ("none", "jackknife", "percentile")
    )
    print(
        f"{sum(len(one.judges) for one in runs)} judges, {what}, processor time: loop {loop:.2f} s; assay "
        f"{1000 * none:.1f} ms, {loop / none:.0f}x; with intervals, which the loop has not, {1000 * jackknife:.0f} ms, "
        f"{loop / jackknife:.1f}x; with 2,000 resamples {1000 * resampled:.0f} ms, {loop / resampled:.1f}x; with the "
        f"verdict and the summary, asked again, {again:.2f} s"
    )


def first_time(of: str) -> None:
    """In a separate process: the summaries of all judges once, after reading and importing."""
    runs = available_runs()
    if of == "all":
        runs += [simulated_set(*sizes, seed) for seed, sizes in enumerate(STAND_INS.values())]
    assay.alt_test  # noqa: B018 - imported now, as the summary's own modules are
    from scipy import special  # noqa: F401

    wall, processor = time.perf_counter(), time.process_time()
    for one in runs:
        one.in_words()
    print(time.perf_counter() - wall, time.process_time() - processor)


def one_process(*words: str) -> str:
    """The output of this script in a separate process."""
    done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True, check=True)
    return done.stdout


def hundred_bootstraps() -> None:
    frame, judges = study(400, 6, 1)
    labels = Annotations.from_frame(frame, judges=judges, scale=assay.Ordinal(1, 5))
    everyone = nested(frame)
    humans = {k: v for k, v in everyone.items() if k not in judges}
    for name, score in (("accuracy", published.accuracy), ("neg_rmse", published.neg_rmse)):
        test = assay.alt_test(labels, judges[0], epsilon=0.2, score=name, method="none")
        loop, theirs = best(
            lambda score=score: published.size_study(humans, everyone[judges[0]], score, 0.2, 100, 100, 0), 1
        )
        ours, curve = best(lambda test=test: test.size_curve((100,), n_annotators=3, n_draws=100), 5)
        print(
            f"100 bootstraps of 3 annotators x 100 items, {name}: loop {loop:.2f} s, assay {ours:.4f} s, "
            f"{loop / ours:.0f}x (omega {theirs[0]:.2f} and {curve.winning_rate[0]:.2f}, "
            f"rho {theirs[1]:.3f} and {curve.advantage_probability[0]:.3f})"
        )


def growth(largest: int) -> None:
    """One judge, 10 of 1,000 annotators an item, from 10^4 labels up; each size in a separate process."""
    print("labels        read     alt-test   both    peak memory")
    size = 10_000
    while size <= largest:
        print(one_process("--one-size", str(size)), end="", flush=True)
        size *= 10


def one_size(n_labels: int) -> None:
    n_items = n_labels // 10
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, n_items)
    people = min(1000, max(20, n_labels // 500))
    first = rng.integers(0, people, n_items)[:, None]
    annotator = (first + np.arange(10) * (people // 10)) % people
    label = np.clip(truth[:, None] + rng.integers(-1, 2, (n_items, 10)), 1, 5)
    frame = pl.DataFrame(
        {"item": np.repeat(np.arange(n_items), 10), "annotator": annotator.ravel(), "label": label.ravel()}
    )
    judge = pl.DataFrame(
        {
            "item": np.arange(n_items),
            "annotator": np.int64(-1),
            "label": np.clip(truth + rng.integers(-1, 2, n_items), 1, 5),
        }
    )
    frame = pl.concat([frame, judge])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    read, labels = best(lambda: Annotations.from_frame(frame, judges=["-1"], scale=assay.Ordinal(1, 5)), 1)
    test, _ = best(lambda: assay.alt_test(labels, "-1", expertise="crowd"), 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{n_labels:>12,}  {read:6.2f} s  {test:6.2f} s  {read + test:6.2f} s  "
        f"{peak / 1e6:.2f} GB ({before / 1e6:.2f} GB before)"
    )


def start_up() -> None:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for what, command in (
        ("import assay", [sys.executable, "-c", "import assay"]),
        ("import assay and read, alt_test", [sys.executable, "-c", "import assay; assay.read, assay.alt_test"]),
        ("assay --help", [sys.executable, "-m", "assay", "--help"]),
    ):

        def run(command: list[str] = command) -> None:
            subprocess.run(command, check=True, capture_output=True, env=environment)

        run()
        seconds, _ = best(run, 5)
        print(f"{what}: {seconds:.2f} s (whole process, compiled bytecode)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one-size", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--first", choices=("known", "all"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one_size:
        one_size(arguments.one_size)
    elif arguments.first:
        first_time(arguments.first)
    else:
        published_runs()
        compare_six_judges()
        hundred_bootstraps()
        start_up()
        growth(100_000 if arguments.quick else 10_000_000)
