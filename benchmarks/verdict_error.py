"""How often is the verdict wrong, where people are correlated, items share clusters, or labels are balanced?

    python benchmarks/verdict_error.py             # prints the tables of docs/type-one-error.md; ten minutes
    python benchmarks/verdict_error.py clusters    # one of: people, labels, clusters, balance

Counts are drawn, not labels, except where labels are what is asked about. Seeds are none that tests use.
"""

from __future__ import annotations

import itertools
import sys

import numpy as np
from scipy.special import ndtri

from assay.replacement import decision
from assay.replacement.panel import AltTestSettings, AltTestTable
from assay.replacement.studies import score_studies
from assay.simulation import LabelSource, simulate
from assay.statistics.wins import count_wins
from type_one_error import boundary_noise, outcomes, show

LEVEL, SEED = 0.05, 20261122
N_STUDIES = 4000
SIZES = (15, 30, 60, 100, 200)


def shares(p: np.ndarray, reverse: np.ndarray, published: np.ndarray, backwards: bool = False) -> tuple[float, float]:
    """How often "as good as half" (or "worse than half") is shown, and how often ω (the losing rate) reaches half."""
    found = decision.conjunctions(p, reverse, np.ones(p.shape[-1]), 0.5)[int(backwards)]
    rate = decision.by_rejects(published, LEVEL).mean(axis=-1)
    return float(np.mean(found <= LEVEL)), float(np.mean(decision.passes(rate, 0.5)))


# -- people who share items and the judge -----------------------------------------------------------


def correlated(chances: list[np.ndarray], n: int, alike: float, rng: np.random.Generator) -> np.ndarray:
    """Counts of studies in which the outcomes over annotators depend on the item: (studies, annotators, 1, 3).

    An item's difficulty, shared with weight ``alike``, decides by thresholds between win, tie and loss.
    """
    m, found = len(chances), []
    low, high = (np.array([ndtri(np.clip(np.cumsum(c)[k], 0, 1)) for c in chances]) for k in (0, 1))
    step = max(1, 4_000_000 // (n * m))
    for start in range(0, N_STUDIES, step):
        size = min(step, N_STUDIES - start)
        latent = np.sqrt(alike) * rng.standard_normal((size, n, 1)).astype(np.float32)
        latent = latent + np.sqrt(1 - alike) * rng.standard_normal((size, n, m)).astype(np.float32)
        wins, losses = (latent <= low).sum(axis=1), (latent > high).sum(axis=1)
        found.append(np.stack([wins, n - wins - losses, losses], axis=-1)[:, :, None])
    return np.concatenate(found).astype(float)


def rates_of(
    m: int, short: int, n: int, epsilon: float, ties: float, rest: float, alike: float, backwards: bool = False
):
    """`shares` where ``short`` annotators are truly beaten by .4, or beat the judge; E[d] of the others is ``rest``."""
    rng = np.random.default_rng([SEED, m, n, int(100 * ties), int(backwards)])
    far = min(epsilon + 0.4, 1 - ties) if backwards else max(epsilon - 0.4, ties - 1)
    chances = [outcomes(ties, far if j < short else rest) for j in range(m)]
    counts = correlated(chances, n, alike, rng)
    p, reverse = decision.best_p(counts, epsilon)
    return shares(p, reverse, decision.p_values(counts, epsilon)[1 + backwards], backwards)


def people() -> None:
    """Annotators correlated over items, at the worst case of a wrong verdict, and where all are as good."""
    grid = [(0.15, 0.0), (0.15, 0.5), (0.15, 0.85), (0.05, 0.95)]
    head = ["annotators", "ε", "ties", *(f"{w}, n = {n}" for w in ("verdict", "published") for n in SIZES)]
    kinds = (
        ("Wrongly as good: one short of half is beaten, the others at the boundary", False, None),
        ("Wrongly worse: one short of half is better by .4, the others at the boundary", True, None),
        ("True non-inferiority: no annotator is beaten, every annotator as good as the judge", False, 0.0),
    )
    for title, backwards, rest in kinds:
        rows = []
        for m, (epsilon, ties) in itertools.product((3, 5, 10, 20), grid):
            if backwards and epsilon < 0.1:
                continue  # no room to be worse by much
            short = 0 if rest is not None else (m + 1) // 2 - 1
            found = [
                rates_of(m, short, n, epsilon, ties, epsilon if rest is None else rest, 0.5, backwards) for n in SIZES
            ]
            rows.append([m, f"{epsilon:g}", f"{ties:g}", *(a for a, _ in found), *(b for _, b in found)])
        show(f"{title}; correlated people", head, rows)


# -- the whole verdict, from labels -----------------------------------------------------------------


def verdict_of(
    m: int, human: float, judge: float, sizes: tuple[int, ...], epsilon: float, n_studies: int
) -> np.ndarray:
    """P(replace), P(do not replace), P(passes as published): (3, sizes)."""
    prior = (0.5, 0.3, 0.2)
    source = LabelSource.of(3, prior, 0.0)
    settings = AltTestSettings(epsilon=epsilon, min_items=2)
    table = AltTestTable.of(simulate(30, 2, scale=source.scale, prior=prior), settings)
    total, step, done = np.zeros((3, len(sizes))), max(1, 400_000 // (sizes[-1] * m)), 0
    rng = np.random.default_rng([SEED, m, int(100 * human)])
    while done < n_studies:
        cumulative = source.priors(rng, step)
        truth = source.draw(rng.random((step, sizes[-1])), cumulative)
        answers = source.answer(rng, truth, cumulative, np.full(m, human))
        scored = score_studies(
            table.rule, answers, source.answer(rng, truth, cumulative, np.array([judge]))[..., 0], np.ones((step, m)),
            sizes, settings.min_agreement_ratio,
        )  # fmt: skip
        verdict = scored.ends(settings, epsilon)
        omega = decision.by_rejects(decision.p_values(scored.counts, epsilon)[1], LEVEL).mean(axis=-1)
        total += [(verdict == 0).sum(axis=0), (verdict == 1).sum(axis=0), decision.passes(omega, 0.5).sum(axis=0)]
        done += step
    return total / done


def labels() -> None:
    """Easy and hard tasks, from labels: a judge at the boundary of all, and one as good as people."""
    rows, sizes = [], (15, 30, 100, 200)
    for (task, human), m in itertools.product((("easy", 0.1), ("middling", 0.3), ("hard", 0.45)), (3, 5, 10)):
        noise = boundary_noise(0.15, human, m, np.array([0.5, 0.3, 0.2]), 0.0, "accuracy")
        wrong = verdict_of(m, human, noise, sizes, 0.15, 1500)
        right = verdict_of(m, human, human, sizes, 0.15, 1500)
        each = (wrong[0], wrong[2], wrong[1], right[0], right[2])
        rows.append([task, m, *(float(v) for one in each for v in one)])
    names = ("replace", "passes", "do_not_replace", "replace, as good", "passes, as good")
    head = ["task", "annotators", *(f"{w}, n = {n}" for w in names for n in sizes)]
    show("The whole verdict, from labels, ε = .15", head, rows)


# -- clusters ---------------------------------------------------------------------------------------

UNEQUAL = {10: [0.3, 0.15, 0.1, 0.1, 0.08, 0.08, 0.05, 0.05, 0.05, 0.04], 30: [0.1] * 4 + [0.05] * 6 + [0.015] * 20}


def in_clusters(
    sizes: np.ndarray, chances: list[np.ndarray], alike: float, epsilon: float, n_studies: int, seed: int
) -> tuple[float, float, float, float]:
    """Verdict and ω with clusters, then without: `shares` of either. Items of a cluster are correlated by ``alike``."""
    rng, m = np.random.default_rng([SEED, seed]), len(chances)
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    signs = []
    for chance in chances:
        own = np.broadcast_to(chance, (n_studies, len(sizes), 3))
        if alike:
            own = rng.gamma(np.maximum(chance * (1 - alike) / alike, 1e-9), size=own.shape)
            own = own / np.maximum(own.sum(axis=-1, keepdims=True), 1e-300)
        edges = own[:, cluster].cumsum(axis=-1)[..., :2]
        signs.append(1 - (rng.random((n_studies, len(cluster), 1)) > edges).sum(axis=-1))
    sign = np.stack(signs, axis=1).ravel()
    group = np.repeat(np.arange(n_studies * m), len(cluster))
    counts = count_wins(sign, group, n_studies * m)
    clustering = clusters.clustering_of(
        counts, decision.t_parts(counts)[1], group, np.tile(cluster, n_studies * m), sign, None
    )

    def by_study(p: np.ndarray) -> np.ndarray:
        return p.reshape(n_studies, m)

    found: list[float] = []
    for one in (clustering, None):
        p, reverse = (by_study(p) for p in decision.best_p(counts, epsilon, one))
        found += shares(p, reverse, by_study(decision.p_values(counts, epsilon, one)[1]))
    return found[0], found[1], found[2], found[3]


def clusters() -> None:
    """Items that share clusters: 200 items, 3 annotators, one of them beaten."""
    rows = []
    for number, equal, alike, ties in itertools.product((10, 30), (True, False), (0.0, 0.1, 0.3), (0.3, 0.6, 0.85)):
        parts = np.full(number, 1 / number) if equal else np.array(UNEQUAL[number])
        sizes = np.maximum(np.rint(200 * parts).astype(int), 1)
        at = outcomes(ties, 0.15)
        case = number * 100 + int(alike * 10) + int(ties * 1000) + equal
        wrong = in_clusters(sizes, [outcomes(ties, max(-0.25, ties - 1)), at, at], alike, 0.15, 2000, case)
        right = in_clusters(sizes, [outcomes(ties, 0.0)] * 3, alike, 0.15, 1000, case + 1)
        rows.append([number, "equal" if equal else "unequal", f"{alike:g}", f"{ties:g}", *wrong, *right[:2]])
    show(
        "Clusters: false and true non-inferiority, with and without the option clusters",
        ["clusters", "sizes", "alike", "ties", "verdict", "ω", "verdict, without", "ω, without",
         "rightly, verdict", "rightly, ω"], rows,
    )  # fmt: skip


# -- balance ----------------------------------------------------------------------------------------


def random_design(rng: np.random.Generator) -> tuple[int, float, np.ndarray, np.ndarray, np.ndarray]:
    """Items, ε, and share, ties and E[d] of each class; the mean of E[d] is ε."""
    while True:
        k, n, epsilon = (
            int(rng.choice([2, 3, 4, 6])),
            int(rng.choice([40, 60, 100, 200])),
            float(rng.choice([0.1, 0.15, 0.2])),
        )
        share = rng.dirichlet(np.full(k, 1.5))
        difference = epsilon + rng.normal(0, 0.15, k)
        difference += epsilon - difference.mean()
        if share.min() * n >= 5 and np.abs(difference).max() < 1:
            ties = np.minimum(rng.choice([0, 0.3, 0.5, 0.7, 0.85, 0.95], k), 1 - np.abs(difference))
            return n, epsilon, share, ties, difference


def balanced(
    n: int, epsilon: float, share: np.ndarray, ties: np.ndarray, difference: np.ndarray, seed: int
) -> np.ndarray:
    """P(p <= .05) of the verdict's test and of C.1, forwards and backwards: (2, 2)."""
    rng = np.random.default_rng([SEED, seed])
    of_class = rng.multinomial(n, share, size=4 * N_STUDIES)
    of_class = of_class[(of_class >= 5).all(axis=1)][:N_STUDIES]
    chance = [outcomes(t, d) for t, d in zip(ties, difference, strict=True)]
    counts = np.stack([rng.multinomial(of_class[:, c], chance[c]) for c in range(len(share))], axis=1)[:, None] * 1.0
    each = decision.best_p(counts, epsilon), decision.p_values(counts, epsilon)[1:]
    return np.array([[np.mean(p <= LEVEL) for p in one] for one in each])


def balance() -> None:
    """Balanced labels: designs that differ by class, and 150 at random."""
    cases = {
        "one class rare (10%), alike": (100, 0.15, (0.9, 0.1), (0.5, 0.5), (0.15, 0.15)),
        "rare class, fewer ties": (100, 0.15, (0.9, 0.1), (0.75, 0.25), (0.15, 0.15)),
        "rare class, fewer ties, judge weak there": (100, 0.15, (0.9, 0.1), (0.9, 0.3), (0.0, 0.3)),
        "rare class, more ties": (100, 0.15, (0.9, 0.1), (0.3, 0.7), (0.15, 0.15)),
        "rare class of 7%, judge never wins": (100, 0.15, (0.93, 0.07), (0.95, 0.7), (0.0, 0.3)),
        "judge never wins": (60, 0.1, (0.85, 0.15), (0.9, 0.9), (0.1, 0.1)),
        "five classes, four rare": (200, 0.15, (0.8, *(0.05,) * 4), (0.95, *(0.8,) * 4), (0.05, *(0.175,) * 4)),
    }  # fmt: skip
    rows = []
    for i, (name, (n, epsilon, *rest)) in enumerate(cases.items()):
        found = balanced(n, epsilon, *map(np.array, rest), seed=i)
        rows.append([name, n, f"{epsilon:g}", *map(float, found.ravel())])
    rng = np.random.default_rng([SEED, 7])
    many = np.array([balanced(*random_design(rng), seed=100 + i) for i in range(150)])
    for name, q in (("150 designs at random: median", 0.5), ("95% of them below", 0.95), ("the highest", 1.0)):
        rows.append([name, "", "", *map(float, np.quantile(many, q, axis=0).ravel())])
    show(
        "Balanced labels", ["classes", "n", "ε", "verdict's test", "reverse", "C.1", "reverse, C.1"], rows,
    )  # fmt: skip


def main() -> None:
    tables = {"people": people, "labels": labels, "clusters": clusters, "balance": balance}
    for name in sys.argv[1:] or tables:
        tables[name]()


if __name__ == "__main__":
    main()
