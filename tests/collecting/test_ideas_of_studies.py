"""From single texts to validated measures on the command line, with odd-one-out choices of experts and judges."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from annotating import Served, write_study
from systems import Scripted

import assay
from assay.cli.app import main
from assay.judging.run import judge_study
from assay.judging.services.http import Request
from assay.study.definition import load_study

IDEAS = ["sum", "carry", "column", "tens", "units", "borrow", "table", "array", "group", "half"]
NOTES = [
    {"item": f"{lesson}n{i}", "lesson": lesson, "note": f"Pupils {' '.join(IDEAS[i : i + 4])} (note {i})."}
    for lesson in ("L1", "L2") for i in range(6)
]  # fmt: skip
ODD = {"name": "odd", "text": "Which note is least like the other two?", "scale": "odd-one-out", "options": ["note"]}
BINARY = {"name": "binary", "text": "Do both hold the same ideas?", "scale": "0-1", "options": ["note"]}
CONTINUOUS = {"name": "continuous", "text": "How alike are they?", "scale": "interval:0-1", "options": ["note"]}
JUDGES = [
    {"name": name, "model": "tiny", "base_url": "http://127.0.0.1:9/v1", "repeats": 2} for name in ("looks", "coin")
]
PURPOSE = "{{ question }} The lesson is about numbers. {{ scale }} {{ format }}"


def odd_of(notes: list[int]) -> str:
    """The note that is least similar to the other two."""
    far = [sum(abs(a - b) for b in notes) for a in notes]
    return "ABC"[far.index(max(far))]


class Replies:
    """One judge reads the notes, and does so better with the lesson's topic in its prompt; the other ignores them."""

    def __init__(self) -> None:
        self.chance = random.Random(1)

    def __call__(self, request: Request) -> str:
        chance, about = self.chance, request.about
        words = [m["content"] for m in request.messages if m["role"] == "user"]
        notes = [int(n) for n in re.findall(r"note (\d)", words[0])]
        looks = about["judge"] == "looks"
        if looks and about["question"] == "binary" and about["item"] == "L1n0 | L1n1" and about["repeat"] == 1:
            return "I would rather not."
        if about["question"] == "odd":
            looks = looks and chance.random() < (0.95 if "about numbers" in request.messages[0]["content"] else 0.6)
            return json.dumps({"label": odd_of(notes) if looks else chance.choice("ABC")})
        apart = abs(notes[0] - notes[1]) if looks else chance.randrange(6)
        return json.dumps({"label": int(apart < 2) if about["question"] == "binary" else round(1 - apart / 5, 2)})


def run(*words: str) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(list(words))


def notes_study(folder: Path, **parts: Any) -> Path:
    made = write_study(folder, items=NOTES, judges=JUDGES, **parts)
    content = (made / "study.yaml").read_text()
    (made / "study.yaml").write_text(content.replace("file: items.jsonl", "file: items.jsonl\n  document: lesson"))
    return made


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A study of odd-one-out choices, with judges with two prompts, and a study of pairs."""
    odd = notes_study(
        tmp_path / "odd", questions=[ODD], people={"pairs": 5}, conditions={"prompt": ["default", "purpose"]}
    )
    (odd / "prompts").mkdir()
    (odd / "prompts" / "purpose.txt").write_text(PURPOSE)
    script = Scripted(Replies())
    made = type("Service", (), {"__new__": lambda *_, **__: script})  # providers are recognised by their class
    monkeypatch.setattr("assay.judging.services.providers.Service", made)
    return odd, notes_study(tmp_path / "pairs", questions=[BINARY, CONTINUOUS])


@pytest.mark.served
def test_from_single_texts_to_validated_measures(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    odd, pairs = folders
    chance = random.Random(2)
    with Served(odd, ("expert",)) as served:
        person = served.annotator("expert")
        while tasks := person.work():
            for task in tasks:
                notes = [int(n) for n in re.findall(r"note (\d)", task.text)]
                label = odd_of(notes) if chance.random() < 0.8 else chance.choice("ABC")
                person.keep(task, {task.questions[0].id: label})
    run("judge", str(odd))
    run("judge", str(pairs))
    assert "1 unparseable" in capsys.readouterr().out
    run("ideas", str(odd), "--measures", f"words,{pairs}", "--n-resamples", "100")
    printed = capsys.readouterr()
    assert "1 row excluded: looks: no label in the reply" in printed.err, "an unreadable reply is missing, and no vote"
    assert "without a label" not in printed.err, "there are no questions about single texts"
    assert "(30 pairs)" in " ".join(printed.out.split()), "the counted judge is named"
    verdict = "valid|baseline|partly_valid_undecided|partly_valid|low|undecided|not_testable"
    found = re.findall(rf"^(.+?)  +(?:{verdict})[^−\d]*(−?\d\.\d\d) \[", printed.out, re.MULTILINE)
    rho = {name: float(value.replace("−", "-")) for name, value in found}
    assert set(rho) == {"words", *(
        f"{judge} ({how})" for judge in ("looks", "coin")
        for how in ("prompt=default", "prompt=purpose", "criterion=binary", "criterion=continuous")
    )}  # fmt: skip
    # The judge that ignores the notes is distinguished from the other with either prompt.
    assert min(v for name, v in rho.items() if "looks" in name) > 0.5
    assert max(v for name, v in rho.items() if "coin" in name) < 0.5
    # The two conditions of the triplet prompt are compared under the same draws.
    compared = r"Same judge: ρ of looks \(.*\) − ρ of looks \(prompt=default\): 0\.\d\d \["
    assert re.search(compared, " ".join(printed.out.split())), printed.out


def test_triplets_have_a_column_per_place_for_what_differs(tmp_path: Path) -> None:
    """`author` differs in most triplets: of the triplets that share it, it is no property by which others differ."""
    notes = [
        {**one, "author": "llm" if int(one["item"][-1]) > 2 else "teacher", "year": 2000 + int(one["item"][-1])}
        for one in NOTES
    ]
    folder = write_study(
        tmp_path / "odd", items=notes, judges=JUDGES, questions=[ODD | {"show": []}], people={"pairs": 5}
    )
    content = (folder / "study.yaml").read_text()
    (folder / "study.yaml").write_text(content.replace("file: items.jsonl", "file: items.jsonl\n  document: lesson"))
    script = Scripted(Replies())
    assert judge_study(load_study(folder), providers={"looks": script, "coin": script}).answered > 0
    labels = assay.read(folder)
    assert not {"author", "year"} & {*labels.items.columns}, "some triplets share it"
    assert "lesson" in labels.items.columns or "document" in labels.items.columns, "all triplets share it"
    of = {one["item"]: one for one in notes}
    for row in labels.items.iter_rows(named=True):
        for place in ("first", "second", "third"):
            member = of[row[f"{place}_item"]]
            assert (row[f"{place}_author"], row[f"{place}_year"]) == (member["author"], member["year"])
    assert {"first_author", "third_year"} <= {*labels.technical_columns}, "no strata of a verdict"
    text = [f"{place}_author" for place in ("first", "second", "third")]
    named, default = (
        assay.validate_similarity(labels, annotators=["looks"], measures=["words"], n_resamples=40, **more)
        for more in ({"authors": text}, {})
    )
    assert default.by_authors.equals(named.by_authors)
    assert default.by_authors["authors"].to_list()[:3] == ["llm and llm", "llm and teacher", "teacher and teacher"]
