"""Tables for the tests of generalizability: published ones, and ones drawn from known variances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

import assay
from assay.data.annotations import Annotations

CLASS = Path(__file__).parents[2].parent / "shared" / "data" / "class_observation" / "class_data.csv"
ITEMS = ("CLPC", "CLNC", "CLTS", "CLRSP", "CLBM", "CLPRDT", "CLILF", "CLCU", "CLAPS", "CLQF", "CLINSTD", "CLSTENG")
LESSONS = {"r": "annotator", "o": "OBSID", "i": "NCTETID"}
SEGMENTS = {"s": "CHAPNUM", **LESSONS}

# Brennan, Generalizability Theory (2001), the synthetic data sets.
DATA_1 = [
    "101000000000", "111001000000", "111110000000", "110110010000", "111110100000",
    "111011100000", "111111100000", "111101111100", "111111111110", "111111111111",
]  # fmt: skip
"""Number 1, p x i: ten persons, twelve items."""
DATA_3 = [
    [2, 6, 7, 5, 2, 5, 5, 5], [4, 5, 6, 7, 6, 7, 5, 7], [5, 5, 4, 6, 5, 4, 5, 5], [5, 9, 8, 6, 5, 7, 7, 6],
    [4, 3, 5, 6, 4, 5, 6, 4], [4, 4, 4, 7, 6, 4, 7, 8], [2, 6, 6, 5, 2, 7, 7, 5], [3, 4, 4, 5, 6, 6, 6, 4],
    [0, 5, 4, 5, 5, 5, 5, 3], [6, 8, 7, 6, 6, 8, 8, 6],
]  # fmt: skip
"""Number 3, p x i x o: four items on the first occasion, the same four on the second; number 2 as (i:p)."""
DATA_4 = [
    [5, 6, 5, 5, 5, 3, 4, 5, 6, 7, 3, 3], [9, 3, 7, 7, 7, 5, 5, 5, 7, 7, 5, 2], [3, 4, 3, 3, 5, 3, 3, 5, 6, 5, 1, 6],
    [7, 5, 5, 3, 3, 1, 4, 3, 5, 3, 3, 5], [9, 2, 9, 7, 7, 7, 3, 7, 2, 7, 5, 3], [3, 4, 3, 5, 3, 3, 6, 3, 4, 5, 1, 2],
    [7, 3, 7, 7, 7, 5, 5, 7, 5, 5, 5, 4], [5, 8, 5, 7, 7, 5, 5, 4, 3, 2, 1, 1], [9, 9, 8, 8, 6, 6, 6, 5, 5, 8, 1, 1],
    [4, 4, 4, 3, 3, 5, 6, 5, 5, 7, 1, 1],
]  # fmt: skip
"""Number 4, p x (r:t): four raters for each of three tasks."""


def table(
    rows: Sequence[Mapping[str, object]], judges: Sequence[str] = (), scale: str = "interval:-100-100"
) -> Annotations:
    """Labels of rows with an annotator, a label and facets; every row is a separate item."""
    named = [{"item": f"i{n:05d}", **row} for n, row in enumerate(rows)]
    return assay.read(pl.DataFrame(named), judges=list(judges), scale=scale)


def brennan(number: int) -> Annotations:
    """One of Brennan's data sets."""
    if number == 1:
        rows = [{"p": p, "i": i, "label": int(v)} for p, line in enumerate(DATA_1) for i, v in enumerate(line)]
    elif number in (2, 3):
        rows = [
            {"p": p, "i": k % 4 if number == 3 else k, "o": k // 4, "label": v}
            for p, line in enumerate(DATA_3) for k, v in enumerate(line)
        ]  # fmt: skip
    else:
        rows = [
            {"p": p, "t": k // 4, "r": k, "label": v} for p, line in enumerate(DATA_4) for k, v in enumerate(line)
        ]  # fmt: skip
    return table([{"annotator": "a", **row} for row in rows])


def lessons(
    n: int = 40, per: int = 4, raters: int = 5, *, variances: Sequence[float] = (0.4, 0.3, 0.2, 0.1, 0.5),
    seed: int = 0, missing: float = 0.0, judges: int = 0, apart: float = 0.0,
) -> Annotations:  # fmt: skip
    """Raters crossed with lessons in teachers: variances of i, o:i, r, ri and the rest.

    Judges share the teachers' true scores, but for ``apart`` of their variance, and see their own lessons' effects.
    """
    rng = np.random.default_rng(seed)
    i, o, r, ri, e = np.sqrt(variances)
    people, models = [f"h{k}" for k in range(raters)], [f"m{k}" for k in range(judges)]
    teacher = {"h": rng.normal(size=n) * i}
    teacher["m"] = np.sqrt(1 - apart) * teacher["h"] + np.sqrt(apart) * rng.normal(size=n) * i
    severity = {name: rng.normal() * r for name in people + models}
    rows = []
    for t in range(n):
        taste = {name: rng.normal() * ri for name in people + models}
        for k in range(per):
            lesson = {"h": rng.normal() * o, "m": rng.normal() * o}
            rows += [
                {"teacher": f"t{t:03d}", "lesson": f"t{t:03d}-{k}", "annotator": name,
                 "label": teacher[name[0]][t] + lesson[name[0]] + severity[name] + taste[name] + rng.normal() * e}
                for name in people + models
                if rng.random() >= missing
            ]  # fmt: skip
    return table(rows, models)


FACETS = {"r": "annotator", "o": "lesson", "i": "teacher"}
