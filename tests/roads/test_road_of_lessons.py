"""The paper on labels of low reliability: lessons of teachers, raters and models, then every table of G-theory."""

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

DESIGN = ("--design", "r x (o:i)", "--object", "i", "--facets", "r=annotator,o=lesson,i=teacher")
CRITERIA = ("clarity", "depth")
CHANCE = random.Random(2)
SKILL = {f"t{t:02d}": CHANCE.gauss(0, 0.8) for t in range(24)}
ITEMS = [
    {"item": f"{teacher}-{n}", "teacher": teacher, "lesson": n, "race": ("black", "white")[int(teacher[1:]) % 2],
     "text": f"Lesson {n} of {teacher}, quality {skill + CHANCE.gauss(0, 0.5):.2f}."}
    for teacher, skill in SKILL.items()
    for n in range(3)
]  # fmt: skip
SEVERITY = {"ana": -0.7, "ben": 0.0, "cem": 0.4, "enc1": 0.2, "enc2": 0.1}


def rated(who: str, text: str, chance: random.Random) -> int:
    quality = float(re.findall(r"quality (-?\d+\.\d+)", text)[-1])
    return min(max(round(3 + quality + SEVERITY[who] + chance.gauss(0, 0.4)), 1), 5)


@pytest.fixture
def study(tmp_path: Path, run: Any) -> Path:
    chance = random.Random(5)
    folder = begin(
        run, tmp_path / "my-study", ITEMS, "text", "How good is it?", "1-5", people={"overlap": 3},
        questions=[{"name": name, "text": f"How good is its {name}?", "scale": "1-5", "show": ["text"]}
                   for name in CRITERIA],
        judges=judges("enc1", "enc2"),
    )  # fmt: skip

    def rate(name, task):
        return {asked.id: str(rated(name, task.text, chance)) for asked in task.questions}

    def reply(asked: Asked) -> str:
        who, text = asked["model"], said(asked)
        return json.dumps({"label": rated(who, text, random.Random(f"{who} {text}"))})

    assert answer(folder, ("ana", "ben", "cem"), rate) == 3 * len(ITEMS)
    models(reply)
    return folder


def test_one_study_of_lessons_gives_every_table(study, run):
    code, out, _ = run("judge", study)
    assert code == 0
    assert f"{4 * len(ITEMS)} of {4 * len(ITEMS)} labels collected" in out
    code, out, _ = run("agreement", study, "--coefficients", "cohen-kappa,qwk,pearson")
    assert code == 0, out
    assert {"clarity", "depth"} <= set(out.split())
    code, out, _ = run("g-study", study, *DESIGN, "--by", "kind", "--json")
    assert code == 0, out
    studies = {(row["group"], row["criterion"]) for row in json.loads(out)["table"]}
    assert studies == {(kind, criterion) for kind in ("human", "judge") for criterion in CRITERIA}
    code, out, _ = run("disattenuate", study, *DESIGN, "--n-resamples", "20", "--json")
    assert code == 0, out
    found = {(row["criterion"], row["correlation"]) for row in json.loads(out)["table"]}
    assert {(c, "eq. 3 (Eρ²)") for c in CRITERIA} <= found
    page = study / "raters.html"
    code, out, _ = run("raters", study, "--object", "teacher", "--group", "race", "--quick", "-o", page)
    assert code == 0, out
    said_of_raters = " ".join(out.split())
    assert re.search(r"Significantly more severe than the mean \(categories\): ana", said_of_raters)
    assert "Group white vs. black" in said_of_raters or "Group black vs. white" in said_of_raters
    assert page.read_text().count("<svg") >= 3
    code, out, _ = run("plan", "loop", study, *DESIGN, "--sizes", "1,2,4", "--json")
    assert code == 0, out
    assert len(json.loads(out)["table"]) == len(CRITERIA) * 4 * 3
    code, out, _ = run("plan", "d-study", study, *DESIGN)
    assert code == 0, out
    assert re.search(r"More (lessons|annotators) help most", " ".join(out.split()))
    code, out, _ = run(
        "card", study, "--expertise", "skilled", "--object", "teacher", "--lesson", "lesson", "--group", "race",
        "-o", study / "card.html",
    )  # fmt: skip
    assert code == 0, out
    code, out, _ = run("report", study, "--expertise", "skilled", "--output", study / "report.html")
    assert code == 0, out
    assert "Label distributions" in (study / "report.html").read_text()


def test_lessons_have_one_set_of_labels_in_both_languages(study, run):
    run("judge", study)
    labels = assay.read(study)
    assert (labels.n_items, labels.criteria, labels.judges) == (len(ITEMS), CRITERIA, ("enc1", "enc2"))
    _, out, _ = run("raters", study, "--quick", "--starts", "1", "--json")
    rows = json.loads(out)["table"]
    wanted = assay.rater_model(labels, quick=True, starts=1)
    assert [row["estimate"] for row in rows] == pytest.approx(wanted.rows["estimate"].to_list())
