"""The paper on the alternative annotator test: three annotators, two models, two aspects, then every table."""

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

ASPECTS = ("coherence", "relevance")
ITEMS = [{"item": f"s{n:02d}", "text": f"Summary {n}. Truth {1 + n * 7 % 5}."} for n in range(60)]
ERROR = {"ana": 0.5, "ben": 0.6, "cem": 0.5, "good": 0.2, "bad": 2.5}


def rated(who: str, text: str, chance: random.Random) -> int:
    truth = int(re.findall(r"Truth (\d)", text)[-1])
    return min(max(round(truth + chance.gauss(0, ERROR[who])), 1), 5)


@pytest.fixture
def study(tmp_path: Path, run: Any) -> Path:
    chance = random.Random(4)
    folder = begin(
        run, tmp_path / "my-study", ITEMS, "text", "How is it?", "1-5", people={"overlap": 3},
        questions=[{"name": name, "text": f"How is its {name}?", "scale": "1-5", "show": ["text"]} for name in ASPECTS],
        judges=judges("good", "bad"),
    )  # fmt: skip

    def rate(name, task):
        return {asked.id: str(rated(name, task.text, chance)) for asked in task.questions}

    def reply(asked: Asked) -> str:
        who, text = asked["model"], said(asked)
        return json.dumps({"label": rated(who, text, random.Random(f"{who} {text}"))})

    assert answer(folder, ("ana", "ben", "cem"), rate) == 3 * len(ITEMS)
    models(reply)
    return folder


def test_one_study_of_aspects_gives_every_table(study, run):
    code, out, _ = run("judge", study)
    assert code == 0
    assert "240 of 240 labels collected" in out
    # Table 1.
    code, out, _ = run("look", study)
    assert "✓ replacement test (" in out
    code, out, _ = run("agreement", study, "--who", "humans", "--coefficients", "exact-agreement,fleiss-kappa,nmae")
    assert code == 0, out
    # Tables 2 and 5: each aspect.
    code, out, _ = run("alt-test", study, "--epsilon", "0.2", "--json")
    assert code == 0, out
    passed = {(one["judge"], row["criterion"]): row["passed"] for one in json.loads(out) for row in one["table"]}
    assert passed == {(judge, aspect): judge == "good" for judge in ("good", "bad") for aspect in ASPECTS}
    # F1 against the others, by category.
    code, out, _ = run("disagreement", study)
    assert code == 0, out
    # Figure 2, of one aspect.
    code, out, _ = run(
        "plan", "alt-test", "--pilot", study, "--where", f"criterion={ASPECTS[0]}", "--only", "good",
        "--epsilon", "0.2", "--n-items", "30,60", "--n-studies", "20",
    )  # fmt: skip
    assert code == 0, out
    # One page of both aspects; figure 3 and table 6 of one.
    code, out, _ = run("report", study, "--epsilon", "0.2", "--output", study / "both.html")
    assert code == 0, out
    code, out, _ = run(
        "report", study, "--where", f"criterion={ASPECTS[0]}", "--epsilon", "0.2", "--output", study / "report.html"
    )
    assert code == 0, out
    page = (study / "report.html").read_text()
    assert "The winning rate at every margin ε" in page
    assert "Label distributions" in page


def test_one_aspect_is_the_same_test_in_python(study, run):
    run("judge", study)
    _, out, _ = run("alt-test", study, "--where", f"criterion={ASPECTS[1]}", "--epsilon", "0.2", "--json")
    found = {row["judge"]: row["winning_rate"] for row in json.loads(out)["table"]}
    wanted = assay.compare_judges(assay.read(study).where(criterion=ASPECTS[1]), epsilon=0.2)
    assert found == dict(zip(wanted.table["judge"], wanted.table["winning_rate"], strict=True))
