"""The paper on ideas: triplets drawn from texts, choices of people and a model, then the validity of measures."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from walking import answer, begin, judges, models, said

import assay

THEMES = (("sea", "sun", "sand"), ("rock", "mud", "hill"), ("tax", "law", "vote"))


NOTE = re.compile(rf"(?:(?:{'|'.join(word for theme in THEMES for word in theme)}) ){{5}}n\d+")


def odd_of(text: str, chance: random.Random) -> str:
    """The option whose note has another theme than the other two; one at random if all themes differ."""
    notes = NOTE.findall(text)
    assert len(notes) == 3, text
    themes = [next(k for k, theme in enumerate(THEMES) if note.split()[0] in theme) for note in notes]
    alone = [place for place in range(3) if themes.count(themes[place]) == 1]
    return "ABC"[alone[0] if len(alone) == 1 else chance.randrange(3)]


@pytest.fixture
def study(tmp_path: Path, run: Any) -> Path:
    chance = random.Random(3)
    items = [
        {"item": f"t{n:02d}", "lesson": f"L{n // 9}", "author": ("expert", "gpt")[n % 2],
         "note": " ".join(chance.choices(THEMES[n % 3], k=5)) + f" n{n}"}
        for n in range(18)
    ]  # fmt: skip
    folder = begin(
        run, tmp_path / "my-study", items, "note", "Which is the odd one out?", "odd-one-out",
        items={"file": "my-study.jsonl", "document": "lesson"}, people={"pairs": 3, "overlap": 2},
        judges=judges("gpt"),
    )  # fmt: skip

    def choose(_, task):
        (asked,) = task.questions
        return {asked.id: odd_of(task.text, chance)}

    assert answer(folder, ("ana", "ben"), choose) > 100
    models(lambda asked: json.dumps({"label": odd_of(said(asked), random.Random(said(asked)))}))
    return folder


@pytest.mark.slow
def test_one_study_gives_choices_and_every_table(study, run):
    code, out, _ = run("study", "status", study)
    assert "pairs of items displayed 3 times (100%)" in out
    code, out, _ = run("judge", study)
    assert (code, "0 unparseable" in out) == (0, True)
    code, out, _ = run("look", study)
    assert f"Next command:   assay ideas {study}" in out
    code, out, _ = run("ideas", study, "--measures", "rouge-1,bleu-mean", "-o", study / "ideas.html")
    assert code == 0
    assert {"gpt", "rouge-1", "bleu-mean"} <= {line.split()[0] for line in out.splitlines() if line}
    assert (study / "ideas.html").stat().st_size > 10_000
    code, out, _ = run("agreement", study)
    assert code == 0
    assert "clusters:document" in out
    code, out, _ = run("alt-test", study, "--expertise", "crowd")
    assert "2 clusters; at least 10 are required" in " ".join(out.split())
    code, out, _ = run("alt-test", study, "--expertise", "crowd", "--clusters", "none")
    strata = " ".join(out.split()).partition("strata: ")[2].partition(";")[0].partition(". ")[0]
    assert strata.startswith("document, lesson")
    assert "first" not in strata
    labels = assay.read(study)
    assert {"first", "second", "third", "first_item"} <= set(labels.reading.drawn)


@pytest.mark.slow
def test_comments_on_essays_become_texts_of_triplets(tmp_path, run):
    """Figures 5 and 6: marked passages, each with what it shows; then triplets of what was written."""
    essays = [{"item": f"e{n}", "essay": f"Claim {n} fails. A reason follows. It ends {n}."} for n in range(3)]
    asked = {"name": "notes", "text": "Mark passages.", "scale": "spans:strength,weakness", "show": ["essay"],
             "of": {"essay": "What do you notice?"}}  # fmt: skip
    folder = begin(run, tmp_path / "essays", essays, "essay", asked["text"], asked["scale"], questions=[asked])

    def comment(name, task):
        (one,) = task.questions
        return {one.id: json.dumps([[0, 5, "strength", f"{name} likes it"], [8, 13, "weakness", f"{name}: vague"]])}

    assert answer(folder, ("ana", "ben"), comment) == 6
    code, out, _ = run("agreement", folder)
    assert code == 0, out
    spans, drawn = tmp_path / "spans.csv", tmp_path / "drawn.csv"
    code, out, _ = run("export", folder, spans, "--what", "spans")
    assert code == 0, out
    texts = pl.read_csv(spans)
    assert texts.filter(pl.col("span_of") == "e0").select("annotator", "criterion", "words", "label").rows() == [
        (name, f"notes: {label}", words, text)
        for name in ("ana", "ben")
        for label, words, text in (("strength", "Claim", f"{name} likes it"), ("weakness", "fails", f"{name}: vague"))
    ]  # fmt: skip
    code, out, err = run(
        "plan", "triplets", spans, "--text", "label", "--name", "label", "--document", "span_of", "--floor", "1",
        "-o", drawn,
    )  # fmt: skip
    assert code == 0, err
    assert set(pl.read_csv(drawn)["document"]) == {"e0", "e1", "e2"}
