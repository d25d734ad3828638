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
from pathlib import Path

import numpy as np
import polars as pl

import assay
import published_procedure as published
from assay.data.annotations import Annotations


def best(
    function: Callable[..., object], repeat: int, fresh: Callable[[], object] | None = None
) -> tuple[float, object]:
    """Shortest time of ``function``, called each time with what ``fresh`` makes outside the clock."""
    times, result = [], None
    for _ in range(repeat):
        given = [] if fresh is None else [fresh()]
        start = time.perf_counter()
        result = function(*given)
        times.append(time.perf_counter() - start)
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
"""The data sets of the paper that are not text: score and epsilon."""


def published_data_sets() -> None:
    """Every judge of the paper's four labelled data sets, each tested by itself; tables read before."""
    if not DATA.is_dir():
        print(f"every judge of the paper's data sets: not here ({DATA})")
        return
    seconds = dict.fromkeys(("loop", "none", "percentile", "first", "summary"), 0.0)
    for name, (score, called, epsilon) in LABELLED.items():
        humans = json.loads((DATA / name / "human_annotations.json").read_text())
        judges = json.loads((DATA / name / "llm_annotations.json").read_text())
        labels = assay.read(DATA / name, split_item="no")  # pooled, as the paper does
        seconds["loop"] += best(lambda: [published.alt_test(humans, j, score, epsilon) for j in judges.values()], 2)[0]  # noqa: B023
        for method in ("none", "percentile"):

            def ours(method: str = method) -> list[float]:
                each = (assay.alt_test(labels, j, epsilon=epsilon, score=called, method=method) for j in judges)  # noqa: B023
                return [test.winning_rate for test in each]

            seconds[method] += best(ours, 9)[0]

        def in_words() -> list[str]:
            return [assay.alt_test(labels, j, epsilon=epsilon, score=called).summary() for j in judges]  # noqa: B023

        seconds["first"] += best(in_words, 1)[0]
        seconds["summary"] += best(in_words, 3)[0]
    points, whole = seconds["loop"] / seconds["none"], seconds["loop"] / seconds["percentile"]
    print(
        f"every judge of the paper's four labelled data sets: loop {seconds['loop']:.2f} s; assay "
        f"{1000 * seconds['none']:.1f} ms, {points:.0f}x; with intervals, which the loop has not, "
        f"{1000 * seconds['percentile']:.0f} ms, {whole:.1f}x; with the verdict and the summary, once its exact tables "
        f"and the number of items are made, {seconds['summary']:.2f} s (the first time {seconds['first']:.2f} s)"
    )


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
    """One judge, 10 of 1,000 annotators an item, from 10^4 labels up; each size in a process of its own."""
    print("labels        read     alt-test   both    peak memory")
    size = 10_000
    while size <= largest:
        done = subprocess.run(
            [sys.executable, __file__, "--one-size", str(size)], capture_output=True, text=True, check=True
        )
        print(done.stdout, end="", flush=True)
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
    parser.add_argument("--one-size", type=int)
    arguments = parser.parse_args()
    if arguments.one_size:
        one_size(arguments.one_size)
    else:
        published_data_sets()
        compare_six_judges()
        hundred_bootstraps()
        start_up()
        growth(100_000 if arguments.quick else 10_000_000)
