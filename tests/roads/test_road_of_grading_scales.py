"""The paper on grading scales: the same pairs on three scales, from people and models, then every table."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from walking import Asked, answer, begin, judges, models, said

import assay

pytestmark = pytest.mark.slow  # a whole workflow

SCALES = ("interval:0-5", "interval:0-10", "interval:0-100")
ITEMS = [
    {"item": f"s{n:02d}", "benchmark": ("sts", "sick")[n % 2], "text": f"Pair {n}. Truth {n * 37 % 101}."}
    for n in range(30)
]


def truth(text: str) -> float:
    return float(re.findall(r"Truth (\d+)", text)[-1]) / 100


def placed(where: float, low: float, high: float) -> float:
    return round(low + min(max(where, 0), 1) * (high - low), 1)


@pytest.fixture
def study(tmp_path: Path, run: Any) -> Path:
    folder = begin(
        run, tmp_path / "my-study", ITEMS, "text", "How similar?", SCALES[0],
        people={"overlap": 3}, conditions={"scale": list(SCALES)}, judges=judges("fine", "coarse"),
    )  # fmt: skip
    noise = random.Random(1)

    def rate(name, task):
        (asked,) = task.questions
        return {asked.id: placed(truth(task.text) + noise.gauss(0, 0.12), asked.low, asked.high)}

    def reply(asked: Asked) -> str:
        text = said(asked)
        low, high = map(float, re.findall(r"a number from (\S+) to (\d+)", text)[-1])
        off = random.Random(text).gauss(0, 0.1)
        # The second judge answers in fifths of the scale.
        where = truth(text) + off if asked["model"] == "fine" else round(truth(text) * 5) / 5
        return json.dumps({"label": placed(where, low, high)})

    assert answer(folder, ("ana", "ben", "cem"), rate) == 3 * 90
    models(reply)
    return folder


def test_one_study_on_three_scales_gives_every_table(study, run):
    code, out, _ = run("judge", study)
    assert code == 0
    assert "180 of 180 labels collected" in out
    code, out, _ = run("look", study)
    assert f"Next command:   assay scales {study}" in out
    code, out, _ = run("scales", study, "-o", study / "scales.html")
    assert code == 0, out
    assert "Items are split by their column 'benchmark'" in out
    assert (study / "scales.html").stat().st_size > 10_000
    code, out, _ = run("scales", study, "--json")
    rows = {(one["scale"], one["benchmark"], one["what"]) for one in json.loads(out)["table"]}
    wanted = {(scale, part, one) for scale in SCALES for part in ("all", "sts", "sick") for one in ("icc", "nmae")}
    assert wanted <= rows
    code, out, _ = run("agreement", study)
    assert code == 2
    code, out, _ = run("agreement", study, "--where", f"scale={SCALES[0]}", "--coefficients", "nmae,pearson")
    assert code == 0
    assert "scale interval:0-5)" in out


def test_labels_of_one_scale_are_on_that_scale(study):
    labels = assay.read(study)
    whole = labels.scale_of("rating")
    assert (whole.spec, labels.where(scale=SCALES[1]).scale_of("rating").spec) == (SCALES[2], SCALES[1])
    assert labels.where(scale=list(SCALES[:2])).scale_of("rating") == whole
