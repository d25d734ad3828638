"""Studies of the same items, each with its own question and store: one report on all of them."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from walking import Asked, answer, begin, judges, models, said

pytestmark = pytest.mark.slow  # a whole workflow

ITEMS = [{"item": f"t{n:02d}", "text": f"Text {n}. Clear {n % 5 + 1}, true {n % 3 == 0}."} for n in range(30)]


def clear(text: str, noise: random.Random) -> int:
    return min(max(int(re.findall(r"Clear (\d)", text)[-1]) + noise.choice([0, 0, 1, -1]), 1), 5)


def true(text: str, noise: random.Random) -> str:
    return "yes" if ("true True" in text) != (noise.random() < 0.1) else "no"


@pytest.fixture
def studies(tmp_path: Path, run: Any) -> list[Path]:
    chance, made = random.Random(1), []
    for name, scale, rule in (("clear", "1-5", clear), ("true", "nominal:yes,no", true)):
        folder = begin(
            run, tmp_path / name, ITEMS, "text", f"How {name}?", scale, judges=judges("mine"), people={"overlap": 3},
            questions=[{"name": name, "text": f"How {name}?", "scale": scale, "show": ["text"]}],
        )  # fmt: skip
        answer(folder, ("ana", "ben", "cem"), lambda _, task, by=rule: {task.questions[0].id: by(task.text, chance)})
        made.append(folder)

    def reply(asked: Asked) -> str:
        text = said(asked)
        rule = clear if "How clear" in text else true
        return json.dumps({"label": rule(text, random.Random(text))})

    models(reply)
    return made


def test_one_report_on_several_studies_of_the_same_items(studies, run, tmp_path):
    for one in studies:
        assert run("judge", one)[0] == 0
    page = tmp_path / "report.html"
    code, out, err = run("report", *studies, "--expertise", "crowd", "-o", page)
    assert code == 0, err
    numbers = json.loads(page.with_suffix(".json").read_text("utf-8"))
    assert [one["criterion"] for one in numbers["table"]] == ["clear", "true"]
    html = page.read_text("utf-8")
    assert f"joined by {len(ITEMS)} items" in html
    # What the page suggests reads the same studies.
    suggested = re.findall(r"assay (?:disagreement|estimate|look) [^<]*", html)
    assert all(f"{studies[0]} --labels-from {studies[1]}" in one for one in suggested)
    # A table of further labels joins as well: another judge's, by the ids of the items.
    more = tmp_path / "other.csv"
    rows = [f"{one['item']},other,{n % 5 + 1},clear" for n, one in enumerate(ITEMS)]
    more.write_text("\n".join(["item,annotator,label,criterion", *rows]) + "\n", encoding="utf-8")
    code, out, err = run("report", studies[0], more, "--judges", "other", "--expertise", "crowd", "-o", page, "--force")
    assert code == 0, err
    assert {"mine", "other"} <= set(re.findall(r"\b(mine|other)\b", out))
