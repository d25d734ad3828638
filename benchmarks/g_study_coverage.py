"""How often do intervals of G-studies hold the truth? Tables drawn from known variances; run from the repository root.

python benchmarks/g_study_coverage.py [--tables 300] [--seed 1] [--method profile]

Prints the table of docs/coverage.md: of each design and quantity, the share of 95% intervals that hold the true value,
below and above it. Some are
projections to other numbers of levels (D-study).
"""

from __future__ import annotations

import argparse

import numpy as np

from assay.psychometrics.components import fit_components, uncertainty, weights
from assay.psychometrics.design import DesignSettings, parse
from assay.statistics.components.blocks import cross_codes
from assay.statistics.components.reml import Ratio

DESIGNS = {
    # design, object, levels of each facet, share of labels missing, standard deviation of each effect
    "p x i, 30 x 8": ("p x i", "p", {"p": 30, "i": 8}, 0.0, {"p": 0.7, "i": 0.4, "pi": 1.0}),
    "i x r, 80 x 2": ("i x r", "i", {"i": 80, "r": 2}, 0.0, {"i": 2.3, "r": 0.77, "ir": 1.05}),
    "i x r, 80 x 3": ("i x r", "i", {"i": 80, "r": 3}, 0.0, {"i": 2.3, "r": 0.77, "ir": 1.05}),
    "i x r, 80 x 5": ("i x r", "i", {"i": 80, "r": 5}, 0.0, {"i": 2.3, "r": 0.77, "ir": 1.05}),
    "p x (r:t), 25 x 4 x 3": (
        "p x (r:t)", "p", {"p": 25, "t": 4, "r": 3}, 0.0, {"p": 0.7, "t": 0.5, "r:t": 0.4, "pt": 0.6, "pr:t": 1.0},
    ),
    "r x (o:i), 60 x 4, 8 raters, half missing": (
        "r x (o:i)", "i", {"r": 8, "i": 60, "o": 4}, 0.5, {"i": 0.6, "o:i": 0.6, "r": 0.5, "ri": 0.3, "ro:i": 0.8},
    ),
    "r x (o:i), 20 x 3, 5 raters, half missing": (
        "r x (o:i)", "i", {"r": 5, "i": 20, "o": 3}, 0.5, {"i": 0.6, "o:i": 0.6, "r": 0.5, "ri": 0.3, "ro:i": 0.8},
    ),
}  # fmt: skip


def draw(design, sizes, missing, spread, rng):
    """Labels and the levels of each facet."""
    parsed = parse(design)
    cells = np.indices([sizes[f] for f in parsed.facets]).reshape(len(parsed.facets), -1)
    cells = cells[:, rng.random(cells.shape[1]) >= missing]
    codes = dict(zip(parsed.facets, cells, strict=True))
    value = np.zeros(cells.shape[1])
    for effect in parsed.effects:
        code, n = cross_codes(*(codes[f] for f in parsed.facets if f in effect.index))
        value += spread[effect.name] * rng.normal(size=n)[code]
    return parsed, value, codes


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tables", type=int, default=300)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--method", default="profile")
    options.add_argument("--only", default="")
    given = options.parse_args()
    for name, (design, measured, sizes, missing, spread) in DESIGNS.items():
        if given.only not in name:
            continue
        settings = DesignSettings(design=design, object=measured)
        found: dict[str, list[int]] = {}
        for k in range(given.tables):
            parsed, value, codes = draw(design, sizes, missing, spread, np.random.default_rng([given.seed, k]))
            fitted = fit_components(parsed, value, codes, settings)
            sure = uncertainty(fitted, given.method, 200, 0.95, k)
            terms = fitted.confounding.terms
            truth = np.array([sum(spread[e.name] ** 2 for e in t.effects) for t in terms])
            by_size = weights(terms, parsed, measured, (), {})
            asked = {t.name: Ratio(row) for t, row in zip(terms, np.eye(len(terms)), strict=True)}
            asked |= {"Eρ²": by_size.generalizability, "Φ": by_size.dependability}
            others = [f for f in parsed.facets if f != measured]
            for numbers in ({others[0]: 3}, dict.fromkeys(others, 3), {others[-1]: 10}):
                projected = weights(terms, parsed, measured, (), numbers)
                label = ", ".join(f"{n} {f}" for f, n in numbers.items())
                asked |= {f"Φ, {label}": projected.dependability, f"Eρ², {label}": projected.generalizability}
            for what, quantity in asked.items():
                one, true = sure.estimate(quantity), float(quantity.value(truth))
                found.setdefault(what, []).append(-1 if true < one.low else 1 if true > one.high else 0)
        for what, sides in found.items():
            side = np.array(sides)
            shares = " | ".join(f"{np.mean(side == k):.1%}" for k in (0, -1, 1))
            print(f"| {name} | {what} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
