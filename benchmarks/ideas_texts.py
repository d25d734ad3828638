"""Error rates of the validation of measures: intervals over new texts, tests, ceiling, verdicts.

    python benchmarks/ideas_texts.py coverage [studies]     # intervals of ρ and of differences, the permutation test
    python benchmarks/ideas_texts.py ceiling [studies]      # what other choices, and the experts' minds, would reach
    python benchmarks/ideas_texts.py verdict [studies]      # planted measures: all that experts see, .8, half, nothing
    python benchmarks/ideas_texts.py size                   # 10^6 choices over 1,000 texts, 10^7 over 5,000: times

Texts lie at random places (normal in three dimensions, clusters, a line, heavy tails); triplets by the rule of
`assay.sample_triplets`; experts choose by Luce's rule, with lapses. A study has separate texts, so that truth is what
endless texts of these documents would give with as many judgments a pair. Prints the tables of docs/coverage.md.
"""

from __future__ import annotations

import resource
import sys
import time
from functools import cache
from typing import get_args

import numpy as np

import assay
from assay.estimation.intervals import adjust_p
from assay.ideas.validate import Ceiling, TextInference, decide
from assay.ideas.words import SimilarityVerdict
from assay.statistics.comparisons.odd_one_out import (
    KEPT,
    PLACES,
    PairTable,
    choice_probabilities,
    correlation,
    mean_half_correlation,
    step_to_whole,
)
from assay.statistics.comparisons.round_robin import (
    ExpertRanks,
    RoundRobin,
    TextBlocks,
    p_of_permutations,
    permuted_correlations,
)

DESIGNS = 4

COVERAGE = (
    (1, 15, 8, "normal", 0.0), (1, 30, 4, "heavy", 0.0), (1, 60, 4, "normal", 0.2), (2, 15, 6, "clusters", 0.2),
    (3, 20, 5, "normal", 0.0), (6, 12, 8, "line", 0.0), (3, 8, 6, "normal", 0.0), (1, 8, 6, "normal", 0.0),
    (1, 10, 4, "normal", 0.2), (1, 12, 12, "clusters", 0.0),
)  # fmt: skip
"""Documents, texts, judgments of each pair, world, lapses."""

CEILINGS = (
    (1, 10, 4, "normal", 0.0), (1, 15, 8, "normal", 0.0), (1, 20, 6, "normal", 0.2), (2, 15, 10, "clusters", 0.0),
    (3, 12, 5, "line", 0.2), (2, 25, 8, "heavy", 0.0), (5, 8, 12, "normal", 0.0), (1, 60, 4, "normal", 0.0),
)  # fmt: skip

VERDICTS = ((1, 8, 4), (1, 12, 4), (1, 15, 4), (1, 15, 8), (2, 25, 5), (3, 10, 8))

AMOUNTS = (3.0, 1.2, 0.45, 0.0, None)
"""Noise of a measure's places, in standard deviations; None is a measure of unrelated places."""


@cache
def design(n: int, floor: int, seed: int) -> np.ndarray:
    """Triplets by the rule, as positions."""
    overlap = -(-floor // (n - 2))
    drawn = assay.sample_triplets([f"{i:03d}" for i in range(n)], floor=-(-floor // overlap), seed=seed).triplets
    member = drawn.select("first_item", "second_item", "third_item").to_numpy().astype(int)
    return np.tile(member, (overlap, 1))


def places(world: str, n: int, rng: np.random.Generator, document: int = 0) -> np.ndarray:
    """Texts of a document; where its clusters lie belongs to the document and stays."""
    if world == "clusters":
        centres = np.random.default_rng((77, document)).normal(size=(5, 3)) * 1.5
        return centres[rng.integers(5, size=n)] + 0.4 * rng.normal(size=(n, 3))
    if world == "line":
        return rng.uniform(-2, 2, size=(n, 1))
    if world == "heavy":
        return rng.standard_t(3, size=(n, 3)) * 0.7
    return rng.normal(size=(n, 3)) * (1.4 if world == "sharp" else 1.0)


def likelihoods(place: np.ndarray, member: np.ndarray, lapse: float, sharp: float = 0.5) -> np.ndarray:
    """How likely each pair of a triplet is kept together."""
    far = [((place[member[..., i]] - place[member[..., j]]) ** 2).sum(axis=-1) for i, j in PLACES]
    return (1 - lapse) * choice_probabilities(-sharp * np.stack(far, axis=-1)) + lapse / 3


def robin_of(member: np.ndarray, odd: np.ndarray, document: np.ndarray) -> RoundRobin:
    table = PairTable.of(member, odd, len(document))
    kept = KEPT[odd][:, None] == np.arange(3)
    return RoundRobin(
        table.first, table.second, document, table.position(member, len(document)), member[:, ::-1], kept
    )  # fmt: skip


def study(
    d: int, n: int, floor: int, world: str, lapse: float, rng: np.random.Generator, place: np.ndarray | None = None
) -> tuple[RoundRobin, np.ndarray]:
    """Choices about new texts, or about those given."""
    if place is None:
        place = np.concatenate([places(world, n, rng, k) for k in range(d)])
    drawn = [rng.permutation(n)[design(n, floor, int(rng.integers(DESIGNS)))] + k * n for k in range(d)]
    member = np.concatenate(drawn)
    edges = np.cumsum(likelihoods(place, member, lapse), axis=1)[:, :2]
    odd = KEPT[(rng.random(len(member))[:, None] > edges).sum(axis=1)]
    return robin_of(member, odd, np.repeat(np.arange(d), n)), place


def seen(place: np.ndarray, amount: float | None, rng: np.random.Generator) -> np.ndarray:
    """The places of a measure."""
    noise = rng.normal(size=place.shape) * place.std()
    return noise if amount is None else place + amount * noise


def distances(robin: RoundRobin, place: np.ndarray) -> np.ndarray:
    return -((place[robin.first] - place[robin.second]) ** 2).sum(axis=1)


def endless(d: int, n: int, floor: int, world: str, lapse: float, reps: int = 8, big: int = 120) -> np.ndarray:
    """ρ of each measure with as many judgments a pair about very many texts."""
    rng = np.random.default_rng(4)
    numbers = np.bincount(study(1, n, floor, "normal", 0.0, rng)[0].counts[1])
    found = []
    for _ in range(reps):
        parts = []
        for k in range(d):
            place = places(world, big, rng, k)
            i, j = np.triu_indices(big, 1)
            many = rng.choice(len(numbers), len(i), p=numbers / numbers.sum())
            third = rng.integers(big - 2, size=(len(i), many.max()))
            third += third >= i[:, None]
            third += third >= j[:, None]
            three = np.stack(
                [np.broadcast_to(i[:, None], third.shape), np.broadcast_to(j[:, None], third.shape), third], 2
            )
            keep = rng.random(third.shape) < likelihoods(place, three, lapse)[..., 0]
            keep &= np.arange(third.shape[1]) < many[:, None]
            views = [seen(place, a, rng) for a in AMOUNTS]
            far = [-((view[i] - view[j]) ** 2).sum(axis=1) for view in views]
            parts.append(np.stack([keep.sum(axis=1) / many, *far]))
        whole = np.concatenate(parts, axis=1)
        found.append([correlation(whole[0], row) for row in whole[1:]])
    return np.mean(found, axis=0)


def coverage(studies: int) -> None:
    print("| documents x texts x judgments | ρ | covered | equal: significant | a difference covered | nothing: test |")
    print("|---|---|---|---|---|---|")
    for d, n, floor, world, lapse in COVERAGE:
        true = endless(d, n, floor, world, lapse)
        held, equal, gap, seeing = [], [], [], []
        for seed in range(studies):
            rng = np.random.default_rng((seed, n, floor))
            robin, place = study(d, n, floor, world, lapse, rng)
            ranks, inference = ExpertRanks(robin), TextInference(robin, 0.95)
            views = [seen(place, a, rng) for a in (*AMOUNTS, AMOUNTS[1])]
            of = [ranks.influence(distances(robin, view)) for view in views]
            ends = [inference.correlation(one, robin.variance(one)) for one in of[:5]]
            held.append([one.low <= t <= one.high for one, t in zip(ends, true, strict=True)])
            equal.append(inference.difference(of[1].plus(of[5], -1.0)).p(0) <= 0.05)
            apart = inference.difference(of[2].plus(of[1], -1.0))
            gap.append(apart.low <= true[2] - true[1] <= apart.high)
            every = TextBlocks.of(robin.document).fill(robin.first, robin.second, distances(robin, views[4]))
            found, drawn = permuted_correlations(ranks, [every], 199, rng)
            seeing.append(p_of_permutations(found[0], drawn[:, 0]) <= 0.05)
        rhos = " ".join(f"{t:.2f}" for t in true)
        covered = " ".join(f"{v:.3f}".lstrip("0") for v in np.mean(held, axis=0))
        print(f"| {d} x {n} x {floor} {world} | {rhos} | {covered} | {np.mean(equal):.3f} | {np.mean(gap):.3f} | "
              f"{np.mean(seeing):.3f} |", flush=True)  # fmt: skip


def minds(robin: RoundRobin, place: np.ndarray, lapse: float) -> np.ndarray:
    """Mean chance of each pair over all thirds."""
    found = np.empty(len(robin))
    for p, (a, b) in enumerate(zip(robin.first.tolist(), robin.second.tolist(), strict=True)):
        thirds = np.flatnonzero(robin.document == robin.document[a])
        thirds = thirds[(thirds != a) & (thirds != b)]
        three = np.stack([np.full(len(thirds), a), np.full(len(thirds), b), thirds], axis=1)
        found[p] = likelihoods(place, three, lapse)[:, 0].mean()
    return found


def ceiling_of(robin: RoundRobin, rng: np.random.Generator) -> Ceiling:
    member = robin.third[:, ::-1]
    halves = mean_half_correlation(robin, rng)
    return Ceiling.of(halves, step_to_whole(robin, member, rng), ExpertRanks(robin).reliability(), robin, 0.95)


def ceiling(studies: int) -> None:
    print("| documents x texts x judgments | again: true, said, covers | best: true, said, covers |")
    print("|---|---|---|")
    for d, n, floor, world, lapse in CEILINGS:
        said, true, ends = [], [], []
        for seed in range(studies):
            rng = np.random.default_rng((seed, n, floor))
            robin, place = study(d, n, floor, world, lapse, rng)
            one = ceiling_of(robin, rng)
            said.append((one.again.estimate, one.best.estimate))
            ends.append((one.again.low, one.again.high, one.best.low, one.best.high))
            shares = []
            for _ in range(6):
                other, _ = study(d, n, floor, world, lapse, rng, place)
                full = np.full((d * n, d * n), np.nan)
                full[other.first, other.second] = other.share
                shares.append(full[robin.first, robin.second])
            mind = minds(robin, place, lapse)
            again = [correlation(a, b) for a, b in zip(shares[::2], shares[1::2], strict=True)]
            true.append((np.mean(again), np.mean([correlation(a, mind) for a in shares])))
        (again, best), low_high = np.mean(true, axis=0), np.array(ends).T
        covers = [np.mean((low_high[k] <= t) & (t <= low_high[k + 1])) for k, t in ((0, again), (2, best))]
        a, b = np.mean(said, axis=0)
        print(f"| {d} x {n} x {floor} {world} | {again:.3f}, {a:.3f}, {covers[0]:.3f} | "
              f"{best:.3f}, {b:.3f}, {covers[1]:.3f} |", flush=True)  # fmt: skip


def share_of_best(wanted: float, d: int, n: int, floor: int, world: str) -> float:
    """The noise with which a measure reaches a share of the best possible ρ."""
    if wanted >= 1:
        return 0.0
    rng = np.random.default_rng(9)
    worlds = [study(d, n, floor, world, 0.0, rng) for _ in range(150)]  # 40 leave the share uncertain by .02
    low, high = 0.0, 8.0
    best = np.mean([correlation(robin.share, minds(robin, place, 0.0)) for robin, place in worlds])
    for _ in range(12):
        middle = (low + high) / 2
        found = np.mean(
            [
                correlation(r.share, distances(r, seen(p, middle, np.random.default_rng(k))))
                for k, (r, p) in enumerate(worlds)
            ]
        )
        low, high = (middle, high) if found / best > wanted else (low, middle)
    return (low + high) / 2


def verdict(studies: int) -> None:
    """Each measure alone, and with a random baseline: "same author"."""
    print(
        "| documents x texts x judgments | measure | valid | partly | partly, undecided | low | undecided | not "
        "testable |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for d, n, floor in VERDICTS:
        world = "clusters" if d == 3 else "sharp"
        noises = [share_of_best(w, d, n, floor, world) for w in (0.8, 0.5)]
        kinds = {
            "R = 1": "minds",
            "R = .8": noises[0],
            "R = .5": noises[1],
            "nothing": None,
            "constant by document": "flat",
        }
        answers: dict[str, list[str]] = {name: [] for name in kinds}
        for seed in range(studies):
            rng = np.random.default_rng((seed, n, floor, 1))
            robin, place = study(d, n, floor, world, 0.0, rng)
            ranks, inference, top = ExpertRanks(robin), TextInference(robin, 0.95), ceiling_of(robin, rng)
            author = rng.integers(4, size=d * n)
            baseline = ranks.influence((author[robin.first] == author[robin.second]).astype(float))
            for name, how in kinds.items():
                if how == "flat" and d == 1:
                    continue
                if how == "minds":
                    values = minds(robin, place, 0.0)
                else:
                    values = robin.of_pair * 1.0 if how == "flat" else distances(robin, seen(place, how, rng))
                every = TextBlocks.of(robin.document).fill(robin.first, robin.second, values)
                found, drawn = permuted_correlations(ranks, [every], 199, rng)
                p = adjust_p(np.array([p_of_permutations(found[0], drawn[:, 0])]), "holm")[0]
                one = decide(
                    ranks.influence(values), p, [("author", baseline)], top, inference, len(robin.at)
                )  # fmt: skip
                answers[name].append(one.verdict)
        for name, given in answers.items():
            if given:
                shares = " | ".join(f"{np.mean([a == w for a in given]):.2f}" for w in get_args(SimilarityVerdict))
                print(f"| {d} x {n} x {floor} {world} | {name} | {shares} |", flush=True)


def size() -> None:
    for n, choices in ((1000, 1_000_000), (5000, 10_000_000)):
        rng = np.random.default_rng(0)
        place = rng.normal(size=(n, 3))
        member = np.argsort(rng.random((choices, 6)), axis=1)[:, :3] if n < 6 else rng.integers(n, size=(choices, 3))
        member = member[
            (member[:, 0] != member[:, 1]) & (member[:, 0] != member[:, 2]) & (member[:, 1] != member[:, 2])
        ]
        edges = np.cumsum(likelihoods(place, member, 0.0), axis=1)[:, :2]
        odd = KEPT[(rng.random(len(member))[:, None] > edges).sum(axis=1)]
        start = time.perf_counter()
        robin = robin_of(member, odd, np.zeros(n, dtype=int))
        ranks, inference = ExpertRanks(robin), TextInference(robin, 0.95)
        _ = ranks.rank, ranks.own
        once = time.perf_counter() - start
        values = distances(robin, seen(place, 1.0, rng))
        start = time.perf_counter()
        of = ranks.influence(values)
        found = inference.correlation(of, robin.variance(of))
        each = time.perf_counter() - start
        every = TextBlocks.of(robin.document).fill(robin.first, robin.second, values)
        start = time.perf_counter()
        permuted_correlations(ranks, [every], 3, rng)
        permuted = (time.perf_counter() - start) / 4
        start = time.perf_counter()
        top = ceiling_of(robin, rng)
        ceiled = time.perf_counter() - start
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{len(member):,} choices, {n:,} texts, {len(robin):,} pairs: once {once:.1f} s, a measure {each:.1f} s, "
              f"a permutation {permuted:.2f} s, the ceiling {ceiled:.0f} s ({top.best.estimate:.3f}), {memory:.1f} GB; "
              f"ρ = {found.estimate:.4f} [{found.low:.4f}, {found.high:.4f}]", flush=True)  # fmt: skip


if __name__ == "__main__":
    what = sys.argv[1] if len(sys.argv) > 1 else "coverage"
    number = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    {"coverage": coverage, "ceiling": ceiling, "verdict": verdict}.get(what, lambda _: size())(number)
