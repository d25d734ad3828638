"""How often is each cell of the card right? Simulated observations of teachers with planted judges; docs/coverage.md.

    python benchmarks/card_right.py middle 40
    python benchmarks/card_right.py systems 40

A world of the sizes of paper 002: latent content of teacher .13, lesson .20 and segment .09 of the variance, people's
severity .10, person × teacher .02, person × lesson .08, error .38, cut into 1-4. Families of three judges differ in one
thing each. With ``systems``: articles with outputs of the same systems, and two judges drawn like the annotators.
"""

from __future__ import annotations

import sys
from collections import defaultdict

import numpy as np
import polars as pl

import assay

SHAPES = {"small": (40, 3, 4, 12), "middle": (100, 4, 4, 15), "large": (200, 5, 4, 20), "paper": (300, 5, 6, 20)}
"""Teachers, lessons of each, segments of each, people."""

TEACHER, LESSON, SEGMENT, SEVERITY, PERSON_TEACHER, PERSON_LESSON, ERROR = 0.13, 0.20, 0.09, 0.10, 0.02, 0.08, 0.38
CUTS = (-0.6, 0.2, 1.0)

PLANTED = {
    "good": {"concordance": "✓", "confidence": "✓", "validity": "✓", "bias": "✓", "fairness": "✓", "helpfulness": "✓"},
    "person": {
        "concordance": "✓",
        "confidence": "✓",
        "validity": "✓",
        "bias": "",
        "fairness": "✓",
        "helpfulness": "✓",
    },
    "unreliable": {"confidence": "✗"},
    "invalid": {"validity": "✗"},
    "biased": {"bias": "✗", "validity": "✓"},
    "unfair": {"fairness": "✗"},
    "noise": {"concordance": "✗", "confidence": "✗", "helpfulness": "✗"},
}
"""The true cells of each family, if the truth is far from the boundary. A family drawn like annotators has a new
severity in each study: see `severe`."""

BOUNDARY = 1.5 * SEVERITY**0.5 + 0.1
"""Of bias, about, in units of the latent scale."""


def severe(mean: float) -> str:
    """The right mark of a family of this severity: within half of the boundary, beyond it, or neither for sure."""
    return "✓" if abs(mean) <= BOUNDARY / 2 else "✗" if abs(mean) > BOUNDARY else ""


def normal(rng: np.random.Generator, variance: float, *shape: int) -> np.ndarray:
    return np.sqrt(variance) * rng.normal(size=shape)


def study(shape: str, seed: int) -> tuple[assay.Annotations, float]:
    """One study: half to four fifths of the lessons are seen by two people, the others by one. And the severity of the
    family that is drawn like annotators."""
    rng = np.random.default_rng(seed)
    teachers, lessons, segments, people = SHAPES[shape]
    t = normal(rng, TEACHER, teachers)[:, None, None]
    lesson = normal(rng, LESSON, teachers, lessons)[:, :, None]
    segment = normal(rng, SEGMENT, teachers, lessons, segments)
    group = np.arange(teachers) % 2
    content = t + lesson + segment - 0.2 * group[:, None, None]
    labels: dict[str, np.ndarray] = {}

    def cut(x: np.ndarray) -> np.ndarray:
        return 1 + np.digitize(x, CUTS)

    def person(severity: float) -> np.ndarray:
        x = content + severity + normal(rng, PERSON_TEACHER, teachers)[:, None, None]
        x = x + normal(rng, PERSON_LESSON, teachers, lessons)[:, :, None]
        return cut(x + normal(rng, ERROR * rng.uniform(0.6, 1.4), *content.shape))

    for k in range(people):
        labels[f"p{k:02}"] = person(float(normal(rng, SEVERITY, 1)[0]))
    severity = normal(rng, SEVERITY, 3)
    shared = normal(rng, TEACHER, teachers)[:, None, None]  # an invalid family sees this instead
    for j in range(3):
        own = float(normal(rng, 0.02, 1)[0])
        error = normal(rng, 0.25, *content.shape)
        labels[f"good{j}"] = cut(content + own + error)
        labels[f"person{j}"] = person(float(severity[j]))
        labels[f"unreliable{j}"] = cut(lesson + segment - 0.2 * group[:, None, None] + own + error)
        labels[f"invalid{j}"] = cut(1.5 * shared + lesson + segment - 0.2 * group[:, None, None] + own + error)
        labels[f"biased{j}"] = cut(content + 1.1 + own + error)
        labels[f"unfair{j}"] = cut(content - 0.6 * group[:, None, None] + own + error)
        labels[f"noise{j}"] = cut(normal(rng, 1.0, *content.shape))
    seen = {f"p{k:02}": np.zeros((teachers, lessons), dtype=bool) for k in range(people)}
    for i in range(teachers):
        for o in range(lessons):
            for k in rng.choice(people, 2 if rng.random() < 0.65 else 1, replace=False):
                seen[f"p{k:02}"][i, o] = True
    rows, name = (
        [],
        np.array([[[f"t{i:03}-{o}-{s}" for s in range(segments)] for o in range(lessons)] for i in range(teachers)]),
    )
    for who, label in labels.items():
        keep = (
            seen[who][:, :, None] & np.ones(segments, dtype=bool) if who in seen else np.ones(content.shape, dtype=bool)
        )
        rows.append(pl.DataFrame({"item": name[keep], "annotator": who, "label": label[keep]}))
    items = pl.DataFrame({
        "item": name.ravel(),
        "teacher": np.repeat([f"t{i:03}" for i in range(teachers)], lessons * segments),
        "lesson": np.repeat([f"t{i:03}-{o}" for i in range(teachers) for o in range(lessons)], segments),
        "race": np.repeat(np.where(group == 1, "b", "a"), lessons * segments),
    })  # fmt: skip
    judges = [w for w in labels if w not in seen]
    about = pl.DataFrame({"annotator": judges, "family": [j[:-1] for j in judges]})
    metadata = {"items": items, "annotator_table": about}
    table = assay.Annotations.from_frame(pl.concat(rows), judges=judges, scale="1-4", **metadata)
    return table, float(severity.mean())


def main(shape: str, studies: int) -> None:
    """The share of studies in which each planted cell is right, open, or wrong; corrected and not."""
    counts: dict[tuple[str, str], list[str]] = defaultdict(list)
    alone: dict[tuple[str, str], list[str]] = defaultdict(list)
    for seed in range(studies):
        ask = {"object": "teacher", "lesson": "lesson", "family": "family", "group": "race"}
        table, severity = study(shape, 7000 + seed)
        found = assay.card(table, **ask)
        for row in found.rows:
            if row.kind == "family":
                for dimension, planted in PLANTED[row.name].items():
                    truth = planted or severe(severity)
                    if not truth:
                        continue
                    counts[row.name, dimension].append(row.marks[dimension] + truth)
                    alone[row.name, dimension].append(row.alone[dimension] + truth)
    print("| family | question | truth | right | right, alone | wrong |\n|---|---|---|---|---|---|")
    for (name, dimension), marks in counts.items():
        truth = "".join(sorted({m[1] for m in marks}))
        right, each = (np.mean([m[0] == m[1] for m in x]) for x in (marks, alone[name, dimension]))
        wrong = np.mean([m[0] in "✓✗" and m[0] != m[1] for m in marks])
        print(f"| {name} | {dimension} | {truth} | {right:.2f} | {each:.2f} | {wrong:.2f} |")


def outputs(seed: int, systems: int, gap: float) -> assay.Annotations:
    """Outputs of the same systems, from good to bad, on 30 articles; four annotators, two judges drawn like them."""
    rng = np.random.default_rng(seed)
    content = np.linspace(gap, -gap, systems) + normal(rng, 0.16, 30, 1) + normal(rng, 0.16, 30, systems)
    names = [f"{i:02}-{s}" for i in range(30) for s in range(systems)]
    rows = []
    for who in ("p0", "p1", "p2", "p3", "j0", "j1"):
        x = content + normal(rng, 0.09, 1) + normal(rng, 0.36, *content.shape)
        label = 1 + np.digitize(x.ravel(), (-1.2, -0.4, 0.4, 1.2))
        rows.append(pl.DataFrame({"item": names, "annotator": who, "label": label}))
    items = pl.DataFrame({"item": names, "article": [name[:2] for name in names]})
    return assay.Annotations.from_frame(pl.concat(rows), judges=["j0", "j1"], scale="1-5", items=items)


def same_systems(studies: int) -> None:
    """The share of ✗, each alone, among judges drawn like the annotators."""
    print("| systems | about their mean | validity | helpfulness |\n|---|---|---|---|")
    for systems in (2, 4):
        for gap in (1.0, 0.4):
            found = [assay.card(outputs(100 + seed, systems, gap), object="article") for seed in range(studies)]
            each = [row.alone for one in found for row in one.rows]
            shares = (np.mean([marks[d] == "✗" for marks in each]) for d in ("validity", "helpfulness"))
            print(f"| {systems} | ±{gap:g} | {' | '.join(f'{share:.2f}' for share in shares)} |")


if __name__ == "__main__" and sys.argv[1:2] == ["systems"]:
    same_systems(int(sys.argv[2]) if len(sys.argv) > 2 else 40)
elif __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "middle", int(sys.argv[2]) if len(sys.argv) > 2 else 40)
