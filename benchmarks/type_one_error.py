"""How often does the alternative annotator test reject what is true? The tables of docs/type-one-error.md.

    python benchmarks/type_one_error.py            # prints the tables as Markdown; three minutes

Judges are exactly at the boundary of the null hypothesis, rho_h − rho_f = epsilon. Where the number of wins,
ties and losses decides, error rates are sums over all possible counts, without any simulation.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, ndtr, xlogy

import assay
from assay.replacement import decision
from assay.replacement.panel import AltTestSettings, AltTestTable
from assay.replacement.studies import score_studies
from assay.simulation import LabelSource, simulate

LEVEL = 0.05
SEED = 20250601
N_SIMULATED = 20_000
PRIOR, STARS = (0.4, 0.3, 0.2, 0.1), (0.05, 0.1, 0.25, 0.35, 0.25)


def outcomes(ties: float, difference: float) -> np.ndarray:
    """Probabilities of win, tie and loss of the judge, so that E[d] = P(loss) − P(win) is ``difference``."""
    return np.array([(1 - ties - difference) / 2, ties, (1 - ties + difference) / 2]).clip(0)


def all_counts(n: int) -> np.ndarray:
    """Wins, ties and losses of n items, every outcome."""
    win, tie = np.indices((n + 1, n + 1)).reshape(2, -1)
    return np.stack([win, tie, n - win - tie], axis=1)[win + tie <= n].astype(float)


def rejecting(counts: np.ndarray, epsilon: float, test: str, reverse: bool = False) -> np.ndarray:
    """The counts for which one annotator's test has p <= .05."""
    one, side = counts[:, None, None, :], 1 + reverse
    p = decision.one_sided(one, epsilon, "exact" if test == "exact" else "t")[side][:, 0]
    if test == "wilcoxon":
        error = decision.t_parts(one)[1][:, 0]
        p = np.where(error > 1e-12, decision.wilcoxon_p(counts, epsilon)[int(reverse)], p)
    return counts[p <= LEVEL]


def probability(counts: np.ndarray, ties: float, difference: float) -> float:
    """Of any of these counts."""
    if not len(counts):
        return 0.0
    log = gammaln(counts[0].sum() + 1) - gammaln(counts + 1).sum(axis=1)
    return float(np.exp(log + xlogy(counts, outcomes(ties, difference)).sum(axis=1)).sum())


def exact_level(n: int, ties: float, epsilon: float, test: str) -> float:
    """P(p <= .05) of one annotator's test at the boundary: the sum over all counts of n items."""
    return probability(rejecting(all_counts(n), epsilon, test), ties, epsilon)


def worst_level(n: int, epsilon: float, test: str, reverse: bool = False) -> float:
    """The largest P(p <= .05) at the boundary, over 400 shares of ties, closest to each other at the ends."""
    counts = rejecting(all_counts(n), epsilon, test, reverse)
    shares = (1 - epsilon) * (1 - np.cos(np.linspace(0, np.pi, 400))) / 2
    return max(probability(counts, ties, epsilon) for ties in shares)


def balanced_level(
    n: int, share: Sequence[float], ties: Sequence[float], differences: Sequence[float], seed: int
) -> float:
    """P(p <= .05) with the weights of C.1, where classes occur with probability ``share``; simulated."""
    rng = np.random.default_rng(seed)
    of_class = rng.multinomial(n, share, size=N_SIMULATED)
    chances = [outcomes(t, d) for t, d in zip(ties, differences, strict=True)]
    counts = np.stack([rng.multinomial(of_class[:, c], chances[c]) for c in range(len(share))], axis=1)
    p = decision.p_values(counts[:, None].astype(float), float(np.mean(differences)))[1][:, 0]
    return float(np.mean(p <= LEVEL))


def independent(m: int, better: int, n: int, epsilon: float, ties: float, seed: int) -> tuple[float, float]:
    """False discovery rate and P(omega >= .5): ``better`` annotators clearly beaten, the others at the boundary."""
    rng = np.random.default_rng(seed)
    chances = [outcomes(ties, epsilon - 0.4 if j < better else epsilon) for j in range(m)]
    counts = np.stack([rng.multinomial(n, chance, size=N_SIMULATED) for chance in chances], axis=1)
    p = decision.p_values(counts[:, :, None, :].astype(float), epsilon)[1]
    rejected = decision.by_rejects(p, LEVEL)
    false = rejected[:, better:].sum(axis=1)
    return float(np.mean(false / np.maximum(rejected.sum(axis=1), 1))), float(np.mean(rejected.mean(axis=1) >= 0.5))


def rates_of(m: int, better: int, n: int, epsilon: float, ties: float, rest: float, seed: int) -> tuple[float, float]:
    """P("as good as at least half" is shown) and P(omega >= .5): ``better`` annotators beaten by .4, E[d] of the others
    is ``rest``."""
    rng = np.random.default_rng(seed)
    beaten = max(epsilon - 0.4, ties - 1)  # so many ties leave no room for more
    chances = [outcomes(ties, beaten if j < better else rest) for j in range(m)]
    counts = np.stack([rng.multinomial(n, chance, size=N_SIMULATED) for chance in chances], axis=1)
    counts = counts[:, :, None, :].astype(float)
    p, reverse = decision.best_p(counts, epsilon)
    as_good = decision.conjunctions(p, reverse, np.ones(m), 0.5)[0]
    published = decision.by_rejects(decision.p_values(counts, epsilon)[1], LEVEL).mean(axis=1)
    return float(np.mean(as_good <= LEVEL)), float(np.mean(decision.passes(published, 0.5)))


def verdict_tables() -> None:
    """The verdict's first half, "as good as at least half of the annotators", and the published rule."""
    sizes, head = (15, 30, 60, 100, 200), ["annotators", "ties"]
    cases = [(m, ties) for m in (3, 5, 10, 20) for ties in (0.0, 0.5, 0.85)]
    for title, better_of, rest in (
        (
            "Wrongly as good: one short of half is beaten, the others at the boundary, ε = .15",
            lambda m: (m + 1) // 2 - 1,
            0.15,
        ),
        (
            "True non-inferiority: no annotator beaten by .4, every annotator as good as the judge, ε = .15",
            lambda m: 0,
            0.0,
        ),
    ):
        rows = []
        for m, ties in cases:
            found = [rates_of(m, better_of(m), n, 0.15, ties, rest, SEED + 7 * n + m) for n in sizes]
            rows.append([m, f"{ties:g}", *(a for a, _ in found), *(b for _, b in found)])
        show(title, head + [f"{w}, n = {n}" for w in ("verdict", "published") for n in sizes], rows)


# -- the whole test, from labels --------------------------------------------------------------------


def answering(k: int, noise: float, prior: np.ndarray, spread: float) -> np.ndarray:
    """P(label | truth) of an annotator of `assay.simulate`: (truths, labels)."""
    meant = (1 - noise) * np.eye(k) + noise * prior
    if not spread:
        return meant
    edges = np.concatenate([[-np.inf], np.arange(k - 1) + 0.5, [np.inf]])
    given = np.diff(ndtr((edges[None, :] - np.arange(k)[:, None]) / spread), axis=1)
    return meant @ given


def true_outcomes(judge: float, human: float, m: int, prior: np.ndarray, spread: float, score: str) -> np.ndarray:
    """P(win), P(tie), P(loss) of the judge against one of m like annotators, by enumerating all labels."""
    k = len(prior)
    f, h, *others = np.array(list(itertools.product(range(k), repeat=m + 1))).T
    if score == "accuracy":
        lead = sum((o == f).astype(int) - (o == h) for o in others)
    else:
        lead = sum((o - h) ** 2 - (o - f) ** 2 for o in others)
    of_judge, of_human = answering(k, judge, prior, spread), answering(k, human, prior, spread)
    found = np.zeros(3)
    for truth in range(k):
        p = prior[truth] * of_judge[truth, f] * np.prod([of_human[truth, label] for label in (h, *others)], axis=0)
        found += [p[lead > 0].sum(), p[lead == 0].sum(), p[lead < 0].sum()]
    return found


def boundary_noise(epsilon: float, human: float, m: int, prior: np.ndarray, spread: float, score: str) -> float:
    """The noise of a judge with rho_h − rho_f = epsilon exactly."""

    def excess(noise: float) -> float:
        win, _, loss = true_outcomes(noise, human, m, prior, spread, score)
        return float(loss - win - epsilon)

    return float(brentq(excess, human / 2, 1.0, xtol=1e-12))


def whole(
    scale: int | str, human: float, m: int, prior: Sequence[float], spread: float, epsilon: float, sizes: Sequence[int]
) -> tuple[float, float, np.ndarray]:
    """Judge's noise and share of ties at the boundary; P(one test rejects), P(any does), P(passes): (3, sizes)."""
    source = LabelSource.of(scale, prior, spread)
    table = AltTestTable.of(simulate(2, 2, scale=source.scale, prior=prior), AltTestSettings(epsilon=epsilon))
    chances = np.array(prior)
    noise = boundary_noise(epsilon, human, m, chances, spread, table.score.name)
    total, step = np.zeros((3, len(sizes))), 1000
    for block in range(N_SIMULATED // step):
        rng = np.random.default_rng([SEED, block])
        cumulative = source.priors(rng, step)
        truth = source.draw(rng.random((step, sizes[-1])), cumulative)
        judge = source.answer(rng, truth, cumulative, np.array([noise]))[..., 0]
        people = source.answer(rng, truth, cumulative, np.full(m, human))
        counts = score_studies(table.rule, people, judge, np.ones((step, m)), sizes).counts
        p = decision.p_values(counts, epsilon)[1]
        rejected = decision.by_rejects(p, LEVEL)
        for row, found in zip(total, (p <= LEVEL, rejected.any(axis=2, keepdims=True)), strict=False):
            row += found.mean(axis=2).sum(axis=0)
        total[2] += (rejected.mean(axis=2) >= 0.5).sum(axis=0)
    return noise, float(true_outcomes(noise, human, m, chances, spread, table.score.name)[1]), total / N_SIMULATED


def in_documents(documents: int, n: int, epsilon: float, n_studies: int) -> list[float]:
    """P(one test rejects) and P(passes), first as if items were independent, then with ``clusters``."""
    noise = boundary_noise(epsilon, 0.3, 3, np.array(PRIOR), 0.0, "accuracy")
    found = np.zeros((n_studies, 2, 2))
    for study in range(n_studies):
        labels = simulate(n, 3, prior=PRIOR, annotator_noise=0.3, judges=noise, documents=documents, seed=SEED + study)
        for i, clusters in enumerate((None, "document")):
            test = assay.alt_test(labels, "judge", epsilon=epsilon, method="none", clusters=clusters)
            found[study, i] = (test.annotators["p"] <= LEVEL).mean(), test.passed
    return [float(v) for v in found.mean(axis=0).ravel()]


# -- tables -----------------------------------------------------------------------------------------


def show(title: str, head: Iterable[object], rows: Iterable[Iterable[object]]) -> None:
    cells = [[f"{c:.3f}" if isinstance(c, float) else str(c) for c in row] for row in rows]
    names = [str(h) for h in head]
    print(f"\n### {title}\n")
    print("| " + " | ".join(names) + " |")
    print("|" + "---|" * len(names))
    for row in cells:
        print("| " + " | ".join(row) + " |", flush=True)


def exact_tables() -> None:
    """The exact test and the others: the worst of all shares of ties, and the power."""
    many = (10, 15, 20, 29, 30, 50, 100, 200)
    rows = []
    for epsilon in (0.1, 0.15, 0.2):
        for test in ("wilcoxon", "t", "exact"):
            levels = [worst_level(n, epsilon, test) if test != "wilcoxon" or n < 30 else "—" for n in many]
            rows.append([f"{epsilon:g}", {"wilcoxon": "Wilcoxon"}.get(test, test), *levels])
    show("One test, the worst of all shares of ties", ["ε", "test", *(f"n = {n}" for n in many)], rows)
    show(
        "The reverse test: the judge is found worse", ["ε", "test", *(f"n = {n}" for n in many)],
        [
            [f"{epsilon:g}", test, *(worst_level(n, epsilon, test, reverse=True) for n in many)]
            for epsilon in (0.1, 0.15, 0.2)
            for test in ("t", "exact")
        ],
    )  # fmt: skip
    some = (15, 30, 50, 100)
    rows = []
    for epsilon, ties in itertools.product((0.1, 0.2), (0.3, 0.5, 0.7)):
        found = [
            [probability(rejecting(all_counts(n), epsilon, test), ties, epsilon - 0.25) for n in some]
            for test in ("t", "exact")
        ]
        rows.append([f"{epsilon:g}", f"{ties:g}", *found[0], *found[1]])
    head = ["ε", "ties", *(f"{test}, n = {n}" for test in ("t", "exact") for n in some)]
    show("Power where E[d] = ε − .25", head, rows)


def main() -> None:
    grid = [(e, t) for e in (0.1, 0.15, 0.2) for t in (0.0, 0.3, 0.5, 0.7, 1 - e)]
    sizes = (30, 50, 100, 200)
    show(
        "One t-test, from 30 items up", ["ε", "ties", *(f"n = {n}" for n in sizes)],
        ([f"{e:g}", f"{t:g}", *(exact_level(n, t, e, "t") for n in sizes)] for e, t in grid),
    )  # fmt: skip
    exact_tables()
    verdict_tables()
    small = (10, 20, 29)
    show(
        "One test below 30 items: Wilcoxon's signed-rank test and the t-test",
        ["ε", "ties", *(f"{name}, n = {n}" for name in ("Wilcoxon", "t") for n in small)],
        (
            [f"{e:g}", f"{t:g}", *(exact_level(n, t, e, name) for name in ("wilcoxon", "t") for n in small)]
            for e, t in grid
        ),
    )  # fmt: skip
    cases = {
        "three even classes, alike": ((1 / 3, 1 / 3, 1 / 3), (0.5, 0.5, 0.5), (0.15, 0.15, 0.15)),
        "one class rare (10%), alike": ((0.9, 0.1), (0.5, 0.5), (0.15, 0.15)),
        "rare class, fewer ties": ((0.9, 0.1), (0.75, 0.25), (0.15, 0.15)),
        "rare class, fewer ties, judge weak there": ((0.9, 0.1), (0.9, 0.3), (0.0, 0.3)),
        "rare class, more ties": ((0.9, 0.1), (0.3, 0.7), (0.15, 0.15)),
        "five classes, one of 60%, fewer ties in the others": (
            (0.6, 0.1, 0.1, 0.1, 0.1), (0.8, 0.4, 0.4, 0.4, 0.4), (0.15,) * 5,
        ),
    }  # fmt: skip
    wide = (50, 100, 200, 1000)
    show(
        "One t-test with balancing weights (C.1), ε = .15", ["classes", *(f"n = {n}" for n in wide)],
        ([name, *(balanced_level(n, *case, seed=SEED + n) for n in wide)] for name, case in cases.items()),
    )  # fmt: skip
    rows = []
    for m in (2, 3, 5, 10, 20):
        for better in sorted({0, (m + 1) // 2 - 1, m // 2, m - 1}):
            found = [independent(m, better, n, 0.15, 0.5, SEED + n) for n in (30, 100)]
            fewer = better / m < 0.5
            rows.append([m, better, *(f for f, _ in found), *(o if fewer else "—" for _, o in found)])
    show(
        "Independent annotators: the false discovery rate, and how often the judge passes that should not",
        ["annotators", "truly beaten", "FDR, n = 30", "FDR, n = 100", "passes, n = 30", "passes, n = 100"], rows,
    )  # fmt: skip
    rows = []
    for name, scale, prior, human, spread in (("4 categories", 4, PRIOR, 0.3, 0.0), ("1–5", "1-5", STARS, 0.1, 0.7)):
        for m, epsilon in itertools.product((3, 5), (0.1, 0.15, 0.2)):
            noise, ties, found = whole(scale, human, m, prior, spread, epsilon, (30, 200))
            rows.append([name, m, f"{epsilon:g}", f"{noise:.2f}", f"{ties:.2f}", *map(float, found.ravel())])
    events = ("one test rejects", "any test rejects (FDR)", "judge passes")
    show(
        "The whole test, from simulated labels",
        ["labels", "annotators", "ε", "judge's noise", "ties", *(f"{e}, n = {n}" for e in events for n in (30, 200))],
        rows,
    )
    rows = []
    for epsilon in (0.1, 0.15, 0.2):
        noise = boundary_noise(epsilon, 0.3, 3, np.array(PRIOR), 0.0, "accuracy")
        found = []
        for test in ("published", "t"):
            plan = assay.plan.alt_test(
                small, epsilon=epsilon, annotator_noise=0.3, judge_noise=noise, prior=PRIOR, min_items=2, test=test,
                n_studies=N_SIMULATED, seed=SEED,
            )  # fmt: skip
            found += plan.table["passes"].to_list()
        rows.append([f"{epsilon:g}", *found])
    show(
        "The judge at the boundary passes with fewer than 30 items, 4 categories, 3 annotators",
        ["ε", *(f"{name}, n = {n}" for name in ("Wilcoxon", "t") for n in small)], rows,
    )  # fmt: skip
    show(
        "Items of the same document, 100 items, ε = .15, half alike; 1,000 studies, from labels",
        ["documents", "one test rejects", "judge passes", "one test rejects, clusters", "judge passes, clusters"],
        ([documents, *in_documents(documents, 100, 0.15, 1000)] for documents in (100, 50, 20, 10, 5)),
    )


if __name__ == "__main__":
    main()
