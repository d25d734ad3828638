"""Labels of published judges, replayed as recorded replies from their items, are those labels again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from assay import alt_test
from assay.judging.run import judge_study
from assay.reading import read, study_labels
from assay.study.definition import load_study

DATA = Path(__file__).parents[3] / "shared" / "data" / "alt_test"
SCALES = {"wax": None, "cebab_stars": "1-5"}
"""None: the categories that the labels name."""


def replayed(name: str, folder: Path):
    """A study whose recorded judges say what the data's models said, as prose and JSON by turns."""
    source = DATA / name
    people = json.loads((source / "human_annotations.json").read_text())
    models = json.loads((source / "llm_annotations.json").read_text())
    labels = {label for one in (people | models).values() for label in one.values()}
    scale = SCALES[name] or sorted(map(str, labels))
    (folder / "items.jsonl").write_text((source / "items.jsonl").read_text())
    columns = [c for c in json.loads((source / "items.jsonl").read_text().splitlines()[0]) if c != "item"]
    known = {json.loads(line)["item"] for line in (source / "items.jsonl").read_text().splitlines()}
    rows = [{"item": i, "annotator": who, "label": said} for who, one in people.items() for i, said in one.items()]
    (folder / "people.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    shapes = ["{j}", '{{"label": {j}}}', "##{x}##", "Answer: {x}", "I read it twice.\n\n**{x}**"]
    replies = [
        {"item": item, "judge": who, "reply": shapes[n % len(shapes)].format(x=said, j=json.dumps(said))}
        for who, one in models.items()
        for n, (item, said) in enumerate(one.items())
        if item in known
    ]
    (folder / "replies.jsonl").write_text("\n".join(json.dumps(row) for row in replies))
    content = {
        "items": {"file": "items.jsonl"},
        "questions": [{"name": "label", "text": "Which label fits?", "scale": scale, "show": columns}],
        "labels": "people.jsonl",
        "judges": [{"name": who, "provider": "recorded", "file": "replies.jsonl"} for who in models],
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(content))
    return load_study(folder)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("name", list(SCALES))
def test_replayed_judges_give_the_published_verdicts(name, tmp_path):
    if not DATA.exists():
        pytest.skip(f"the real data are not in {DATA}")
    study = replayed(name, tmp_path)
    done = judge_study(study)
    assert (done.missing, done.failed) == (0, 0)
    table = study_labels(study)
    original = read(DATA / name)
    key = ["item", "annotator", "label"]
    mine, theirs = (t.labels.select(key).sort(key) for t in (table, original))
    assert mine.rows() == theirs.rows()
    expected = json.loads((DATA / name / "expected.json").read_text())
    for judge, verdict in expected["judges"].items():
        result = alt_test(table, judge, epsilon=expected["epsilon"], fdr=expected["fdr"], score=expected["score"])
        assert result.winning_rate == pytest.approx(verdict["winning_rate"], abs=1e-9)
        assert result.advantage_probability.estimate == pytest.approx(verdict["advantage_probability"], abs=1e-9)
        assert result.passed == verdict["passed"]
