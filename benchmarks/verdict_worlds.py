"""The guards of the verdict in worlds where annotators are not alike. Tables of docs/type-one-error.md.

    python benchmarks/verdict_worlds.py                      # 40 studies a cell; some minutes
    python benchmarks/verdict_worlds.py --studies 100 copies # one table: copies, columns, groups, limits, route, half

- copies: how often an honest judge, and a copy of one annotator, is said to match an annotator.
- columns: *Replace* for judges that know item columns only, and for honest judges with the same columns.
- groups: two groups of annotators who follow different truths.
- limits: limitations under *Replace*, of honest judges and of planted faults.
- route: the share of items that judges get that ignore the items.
- half: level and power of the test against half of five annotators or more.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

import assay
from assay.estimation.intervals import partial_conjunction
from assay.replacement.alt_test import AltTest
from assay.statistics.wins import exact_p, noninferior_p
from type_one_error import show

Array = np.ndarray
EPSILON = 0.15


def study(people: Array, judge: Array, numeric: bool = False, **items: Any) -> assay.Annotations:
    """One table; NaN is a missing label. Item ids are shuffled, so that their order tells nothing."""
    n = len(people)
    names = [f"k{k:04d}" for k in np.random.default_rng(7).permutation(n)]
    columns = {**{f"h{j}": people[:, j] for j in range(people.shape[1])}, "judge": judge}
    frame = pl.DataFrame({
        "item": names * len(columns), "annotator": np.repeat(list(columns), n),
        "label": np.concatenate(list(columns.values())).astype(float),
    }).filter(pl.col("label").is_not_nan())  # fmt: skip
    scale: Any = assay.Interval(1, 5)
    if not numeric:
        scale = assay.Nominal(("a", "b", "c", "d"))
        words = pl.Series(["a", "b", "c", "d"])
        frame = frame.with_columns(label=words.gather(frame["label"].cast(pl.Int64)))
    about = pl.DataFrame({"item": names, **items}) if items else None
    return assay.Annotations.from_frame(frame, judges=["judge"], scale=scale, items=about)


def put_to_test(people: Array, judge: Array, numeric: bool = False, **items: Any) -> AltTest:
    return assay.alt_test(study(people, judge, numeric, **items), "judge", epsilon=EPSILON, method="none")


def noisy(rng: np.random.Generator, truth: Array, error: float, k: int = 2) -> Array:
    return np.where(rng.random(len(truth)) < error, rng.integers(0, k, len(truth)), truth).astype(float)


def rated(rng: np.random.Generator, truth: Array, sd: float = 0.8) -> Array:
    return np.clip(np.round(truth + sd * rng.standard_normal(len(truth))), 1, 5)


# -- copies --------------------------------------------------------------------------------------------

ALIKE, CARELESS = (0.3, 0.3, 0.3), (0.2, 0.2, 0.6)
CAREFUL, TWO_RANDOM = (0.05, 0.5, 0.5), (0.2, 0.2, 1.0, 1.0)


def people_of(kind: str, n: int, rng: np.random.Generator) -> tuple[Array, Callable[[], Array]]:
    """The annotators, and a function that draws an honest judge."""
    truth = (rng.random(n) < 0.3).astype(int)
    if kind == "log-normal care":
        errors = np.minimum(0.25 * np.exp(0.7 * rng.standard_normal(4)), 1.0)
        return np.column_stack([noisy(rng, truth, e) for e in errors]), lambda: noisy(rng, truth, 0.25)
    if kind == "two groups":
        other = np.where(rng.random(n) < 0.25, 1 - truth, truth)
        return np.column_stack([noisy(rng, t, 0.15) for t in (truth, truth, other, other)]), lambda: noisy(
            rng, truth, 0.15
        )
    if kind == "1-5":
        score = 3 + rng.standard_normal(n)
        return np.column_stack([rated(rng, score) for _ in range(3)]), lambda: rated(rng, score)
    if kind == "1-5, one careless":
        score = 3 + rng.standard_normal(n)
        return np.column_stack([rated(rng, score, sd) for sd in (0.8, 0.8, 3.0)]), lambda: rated(rng, score)
    if kind == "two together":
        together, own = noisy(rng, truth, 0.4), noisy(rng, truth, 0.1)
        return np.column_stack([own, together, together]), lambda: noisy(rng, truth, 0.1)
    errors = {"alike": ALIKE, "one careless": CARELESS, "one careful": CAREFUL, "two random": TWO_RANDOM}[kind]
    own = 0.05 if kind == "one careful" else errors[0]
    return np.column_stack([noisy(rng, truth, e) for e in errors]), lambda: noisy(rng, truth, own)


KINDS = ("alike", "one careless", "one careful", "two random", "log-normal care", "two groups", "1-5",
         "1-5, one careless", "two together")  # fmt: skip


def copies(studies: int) -> Iterator[dict[str, object]]:
    for kind in KINDS:
        for n in (60, 100, 200, 600):
            found: Counter[str] = Counter()
            for seed in range(studies):
                rng = np.random.default_rng([seed, n])
                people, honest = people_of(kind, n, rng)
                one = honest()
                judges = {
                    "honest": one, "copy": people[:, 0], "80%": np.where(rng.random(n) < 0.8, people[:, 0], honest()),
                }  # fmt: skip
                for name, judge in judges.items():
                    tests = put_to_test(people, judge, kind.startswith("1-5")).win_counts
                    match = tests.match_tests.found
                    found[name] += tests.matched is not None
                    found[f"{name} sides"] += match is not None and match.kind == "sides_with"
            yield {"kind": kind, "items": n, **{name: found[name] / studies for name in (
                "honest", "honest sides", "copy", "80%", "80% sides")}}  # fmt: skip


# -- item columns --------------------------------------------------------------------------------------


def column_worlds(n: int, rng: np.random.Generator) -> Iterator[tuple[str, bool, Array, Array, Mapping[str, Any]]]:
    """The name of a world, whether labels are numbers, the truth, what the judge knows, and the item columns."""
    x = rng.standard_normal(n)
    yield (
        "length",
        False,
        (0.75 * x + 0.66 * rng.standard_normal(n) > 0.5).astype(int),
        x > 0.5,
        {"length": 100 + 20 * x},
    )
    score = 3 + 0.75 * x + 0.66 * rng.standard_normal(n)
    yield "length, 1-5", True, score, np.clip(np.round(3 + 1.1 * x), 1, 5), {"length": 100 + 20 * x}
    for size in (2, 3, 5):
        document = np.arange(n) // size
        base = rng.random(document.max() + 1) < 0.4
        truth = np.where(rng.random(n) < 0.2, rng.random(n) < 0.4, base[document]).astype(int)
        often = np.array([np.bincount(truth[document == d], minlength=2).argmax() for d in range(document.max() + 1)])
        yield f"document of {size}", False, truth, often[document], {"document": [f"d{d}" for d in document]}
    system, topic = rng.integers(0, 8, n), rng.integers(0, 8, n)
    effect = rng.standard_normal(8)[system] + rng.standard_normal(8)[topic]
    yield "system + topic", False, (effect + 0.6 * rng.standard_normal(n) > 0).astype(int), effect > 0, {
        "system": [f"s{k}" for k in system], "topic": [f"t{k}" for k in topic],
    }  # fmt: skip
    yield from pattern_worlds(n, rng)
    truth = (rng.random(n) < 0.3).astype(int)
    yield "8 columns that show nothing", False, truth, rng.random(n) < 0.3, {
        f"x{k}": rng.standard_normal(n) if k % 2 else [f"v{v}" for v in rng.integers(0, 5, n)] for k in range(8)
    }  # fmt: skip


def pattern_worlds(n: int, rng: np.random.Generator) -> Iterator[tuple[str, bool, Array, Array, Mapping[str, Any]]]:
    """Worlds in which a part of a column's cells nearly decides the label."""
    day = rng.integers(0, 365, n)
    date = [datetime(2025, 1, 1) + timedelta(int(d)) for d in day]
    code = rng.integers(0, 6, n)
    has = rng.random((n, 8)) < 0.3
    tags = ["; ".join(f"tag{k}" for k in np.flatnonzero(row)) for row in has]
    grade = rng.integers(1, 11, n)
    parts: dict[str, tuple[Array, dict[str, Any]]] = {
        "month of a date": (np.array([d.month for d in date]), {"created": date}),
        "weekday of a date": (np.array([d.weekday() for d in date]), {"created": [d.isoformat() for d in date]}),
        "site of a link": (code, {"url": [f"https://site{c}.org/{k}" for k, c in enumerate(code)]}),
        "folder of a path": (code, {"file": [f"scans/set{c}/{k}.png" for k, c in enumerate(code)]}),
        "one tag of a list": (has[:, 2].astype(int), {"tags": tags}),
        "one of ten numbers": (grade, {"grade": grade}),
    }  # fmt: skip
    for name, (part, items) in parts.items():
        effect = np.array([-1.3, 1.3]) if "tag" in name else 1.3 * rng.standard_normal(13)
        score = 3 + effect[part]
        yield name, True, score + 0.5 * rng.standard_normal(n), np.clip(np.round(score), 1, 5), items


def columns(studies: int) -> Iterator[dict[str, object]]:
    for n in (60, 100, 200):
        replaced: Counter[tuple[str, str]] = Counter()
        for seed in range(studies):
            rng = np.random.default_rng([seed, n, 1])
            for name, numeric, truth, known, items in column_worlds(n, rng):
                *three, honest, again = (
                    rated(rng, truth, 0.7) if numeric else noisy(rng, truth, 0.2) for _ in range(5)
                )
                people = np.column_stack(three)
                judges = (
                    ("knows", known.astype(float), items), ("honest", honest, items), ("honest, no columns", again, {}),
                )  # fmt: skip
                for which, judge, about in judges:
                    replaced[name, which] += put_to_test(people, judge, numeric, **about).verdict == "replace"
        for name in dict.fromkeys(name for name, _ in replaced):
            yield {
                "items": n,
                "column": name,
                **{which: replaced[name, which] / studies for which in ("knows", "honest", "honest, no columns")},
            }


# -- groups of annotators ------------------------------------------------------------------------------


def groups(studies: int) -> Iterator[dict[str, object]]:
    for per_group in (2, 3):
        for apart in (0.0, 0.1, 0.25):
            for n in (60, 100, 200):
                found: Counter[str] = Counter()
                for seed in range(studies):
                    rng = np.random.default_rng([seed, n, 2])
                    truth = (rng.random(n) < 0.4).astype(int)
                    other = np.where(rng.random(n) < apart, 1 - truth, truth)
                    people = np.column_stack([noisy(rng, t, 0.15) for t in (truth, other) for _ in range(per_group)])
                    test = put_to_test(people, noisy(rng, truth, 0.15))
                    found["groups"] += test.verdict_tests.groups is not None
                    found[test.verdict] += 1
                yield {"annotators": 2 * per_group, "apart": apart, "items": n, **{
                    name: found[name] / studies for name in ("groups", "replace", "mixed", "undecided")}}  # fmt: skip


# -- limitations ---------------------------------------------------------------------------------------


def limits(studies: int) -> Iterator[dict[str, object]]:
    for prior in ((0.7, 0.3), (0.9, 0.1), (0.5, 0.3, 0.2)):
        for n in (60, 200):
            found: Counter[str] = Counter()
            for seed in range(studies):
                rng = np.random.default_rng([seed, n, 3])
                k = len(prior)
                truth = rng.choice(k, n, p=prior)
                people = np.column_stack([noisy(rng, truth, 0.25, k) for _ in range(3)])
                honest = noisy(rng, truth, 0.25, k)
                level = rng.integers(0, 3, n)
                rare = k - 1
                judges = {
                    "honest": honest,
                    "20% missing": np.where(rng.random(n) < 0.2, np.nan, honest),
                    "refuses 60% of a label": np.where((truth == rare) & (rng.random(n) < 0.6), np.nan, honest),
                    "finds 30% of a label": np.where((honest == rare) & (rng.random(n) > 0.3), 0, honest),
                    "coin on one of three values": np.where(level == 0, rng.permutation(honest), honest),
                }
                for name, judge in judges.items():
                    test = put_to_test(people, judge, topic=[f"t{v}" for v in level])
                    found[name] += bool(limitations(test))
            yield {"labels": "/".join(f"{100 * p:.0f}" for p in prior), "items": n, **{
                name: found[name] / studies for name in judges}}  # fmt: skip


def limitations(test: AltTest) -> list[Any]:
    """Those of a test, for any verdict."""
    from assay.replacement.limitations import limitations_of

    return limitations_of(test.win_counts.table, test.win_counts.judge)


# -- route ---------------------------------------------------------------------------------------------


def route(studies: int) -> Iterator[dict[str, object]]:
    for n, epsilon in ((600, 0.1), (200, 0.15)):
        shares: dict[str, list[float]] = {}
        for seed in range(studies):
            rng = np.random.default_rng([seed, n, 4])
            every = 2_000
            topic = rng.integers(0, 6, every)
            truth = (rng.random(every) < np.array([0.05, 0.1, 0.3, 0.7, 0.9, 0.95])[topic]).astype(int)
            people = np.column_stack([noisy(rng, truth, 0.2) for _ in range(3)])
            people[n:] = np.nan
            sure = rng.random(every)
            judges = {
                "as good as annotators": noisy(rng, truth, 0.2),
                "copies one, coin elsewhere": np.r_[people[:n, 0], rng.integers(0, 2, every - n)],
                "knows the topic": (topic > 2).astype(float),
                "constant": np.zeros(every),
            }
            for name, judge in judges.items():
                labels = study(people, judge, topic=[f"t{t}" for t in topic], sure=sure)
                found = assay.route(labels, "judge", signal="sure", epsilon=epsilon)
                shares.setdefault(name, []).append(found.share)
        yield {"labelled": n, "ε": epsilon, **{name: float(np.mean(each)) for name, each in shares.items()}}


# -- as good as half -----------------------------------------------------------------------------------


def half(studies: int) -> Iterator[dict[str, object]]:
    """Level: the judge is at the margin for all annotators, or for all but one fewer than half; and power."""
    for m in (5, 8):
        for n in (30, 60, 100):
            rates: Counter[str] = Counter()
            many = 10 * studies
            for seed in range(many):
                rng = np.random.default_rng([seed, n, m])
                for name, behind in (("level, all", [EPSILON] * m),
                                     ("level, uneven", [-0.4] * (m // 2 + m % 2 - 1) + [EPSILON] * (m // 2 + 1)),
                                     ("power", [0.0] * m)):  # fmt: skip
                    tie = 0.6
                    d = np.array(behind)
                    lose, win = (1 - tie + d) / 2, (1 - tie - d) / 2
                    u = rng.random((n, m))
                    outcome = np.where(u < win, 1.0, np.where(u < np.maximum(win, 0) + np.maximum(lose, 0), -1.0, 0.0))
                    counts = np.stack([(outcome == v).sum(axis=0) for v in (1, 0, -1)], axis=1).astype(float)
                    p, least = exact_p(counts, EPSILON)[0], -(-m // 2)
                    rates[f"{name}: Simes"] += float(partial_conjunction(p, least)) <= 0.05
                    rates[f"{name}: combined"] += noninferior_p(p, least, outcome, EPSILON) <= 0.05
            yield {"annotators": m, "items": n, **{name: count / many for name, count in rates.items()}}


TABLES = {"copies": copies, "columns": columns, "groups": groups, "limits": limits, "route": route, "half": half}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], default=list(TABLES))
    parser.add_argument("--studies", type=int, default=40)
    options = parser.parse_args()
    for name in options.tables:
        rows = list(TABLES[name](options.studies))
        show(f"{name}, {options.studies} studies a cell", rows[0], (row.values() for row in rows))


if __name__ == "__main__":
    main()
