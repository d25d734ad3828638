"""How often could any test tell a copy from an honest judge? A bound for the tables of docs/type-one-error.md.

    python benchmarks/best_copy_test.py

The test is given quantities that no study knows: label frequencies, annotator errors, and the share that a copy copies.
By the Neyman-Pearson lemma no other test with the same false-alarm rate detects more copies. The copied annotator is
unknown: the likelihood of a copy is the mean over the annotators.
"""

from __future__ import annotations

import numpy as np

from planted_judges import PANELS, SEED, SIZES, WORLDS, World

STUDIES, FALSE = 1_000, 0.02
"""Studies a cell, and the share of honest judges that may be accused."""

IMPOSSIBLE = -1e300
"""The evidence of labels that a copy cannot have given, as a number that sorts above all others."""


def answers_given_truth(world: World) -> np.ndarray:
    """P(answer | truth), from a million answers of each truth: (labels, labels)."""
    rng, k = np.random.default_rng(SEED), len(world.priors[0])
    rows = []
    for truth in range(k):
        group = np.zeros(1_000_000, dtype=int)
        rows.append(np.bincount(world.answer(rng, np.full(len(group), truth), group), minlength=k) / len(group))
    return np.array(rows)


def power(world: World, n: int, people: int, share: float) -> float:
    """How many copies of a share of the labels are found where 2% of honest judges are accused."""
    rng = np.random.default_rng([SEED, n, people, int(100 * share)])
    prior, given = np.array(world.priors[0]), answers_given_truth(world)
    group = np.zeros(n, dtype=int)
    evidence: dict[str, list[float]] = {"honest": [], "copy": []}
    for _ in range(STUDIES):
        truth = world.draw(rng, group)
        said = np.stack([world.answer(rng, truth, group) for _ in range(people)], axis=1)
        weight = prior * np.prod(given[:, said], axis=2).T  # (items, truths)
        honest = weight / weight.sum(axis=1, keepdims=True) @ given  # P(judge's label | people's labels)
        copied = np.where(rng.random(n) < share, said[:, 0], world.draw(rng, group))
        for who, label in (("honest", world.answer(rng, truth, group)), ("copy", copied)):
            same = (said == label[:, None]) * share + (1 - share) * prior[label][:, None]
            with np.errstate(divide="ignore"):
                each = np.log(same).sum(axis=0) - np.log(honest[np.arange(n), label]).sum()
            evidence[who].append(max(float(np.logaddexp.reduce(each)), IMPOSSIBLE))
    known, found = np.array(evidence["honest"]), np.array(evidence["copy"])
    bound = np.quantile(known, 1 - FALSE, method="higher")
    # Ties at the bound are accused with the probability that makes the level exact.
    above, at = (known > bound).mean(), (known == bound).mean()
    return float((found > bound).mean() + (found == bound).mean() * max(0.0, FALSE - above) / at)


def main() -> None:
    """One table: worlds of one group of items, sizes and panels; whole copies / 80%."""
    print("| | " + " | ".join(f"{n} items" for n in SIZES) + " |\n|---|" + "---|" * len(SIZES))
    for world in WORLDS:
        if len(world.priors) > 1 or world.name == "texts":
            continue
        cells = []
        for n in SIZES:
            both = [[power(world, n, m, share) for m in PANELS] for share in (1.0, 0.8)]
            cells.append(" / ".join(f"{min(row):.2f}–{max(row):.2f}" for row in both))
        print(f"| {world.name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
