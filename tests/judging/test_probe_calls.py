"""What judges are asked once more, with one thing changed that should change nothing."""

from __future__ import annotations

import json

import pytest
from chat_server import ChatServer, Say

from assay.errors import StudyError
from assay.judging.dry_run import estimate_study
from assay.judging.run import judge_study
from assay.reading import study_labels

ALL = ["repeat", "padded", "stripped", "hint", "sibling"]
PRICE = {"price": {"input": 1.0, "output": 1.0}}


def last(body):
    return body["messages"][-1]["content"]


@pytest.mark.slow
def test_probes_label_a_sample_and_are_distinguished(make_study):
    with ChatServer(lambda n, b, server: Say('{"label": 2}' if "Another annotator" in last(b) else None)) as server:
        server.script = lambda n, b, s: Say('{"label": 2}' if "Another annotator" in last(b) else '{"label": 3}')
        judge = {"base_url": server.url, "sibling": "tiny-2"} | PRICE
        study = make_study(10, judge=judge, probes=dict.fromkeys(ALL, 4))
        (estimate,) = estimate_study(study).judges
        assert (estimate.calls, estimate.probes) == (30, 20)
        assert "m1: 30 calls (20 of them probes), about" in estimate_study(study).summary()
        assert judge_study(study).answered == 30
        assert {body["model"] for body in server.requests} == {"tiny", "tiny-2"}
        assert judge_study(study).answered == 0
    plain = study_labels(study)
    assert (plain.labels.height, "probe" in plain.labels.columns) == (10, False)
    assert "it answers a probe, which is no further label" in str(plain.reading)
    full = study_labels(study, probes=True).labels
    assert full["probe"].value_counts().sort("probe").rows() == [
        (None, 10), ("hint", 4), ("padded", 4), ("repeat", 4), ("sibling", 4), ("stripped", 4)
    ]  # fmt: skip
    hinted = full.filter(probe="hint")
    assert hinted["label"].to_list() == [2] * 4
    assert set(hinted["hint"]) <= {1, 2, 3, 4, 5}
    assert len({tuple(sorted(full.filter(probe=one)["item"])) for one in ALL}) == 1, "one sample"


def test_probes_change_one_thing(make_study):
    text = "# A title\n\n**Bold** words and\n- one `code`\n"
    with ChatServer(lambda n, b, server: Say()) as server:
        study = make_study(
            1, server.url, items={"file": "items.csv"}, probes={"padded": 50, "stripped": 50, "hint": 50}
        )
        (study.folder / "items.csv").write_text(f'item,text\nq1,"{text}"\n')
        judge_study(study)
        sent = {last(body) for body in server.requests}
    assert any("- # A title\n\n- **Bold** words and\n\n- - one `code`" in one for one in sent)
    assert any("A title Bold words and one code" in one for one in sent)
    assert sum("Another annotator gave the label " in one for one in sent) == 1
    assert len(sent) == 4


def test_a_function_gets_the_text_of_a_probe_and_is_not_asked_what_it_cannot_see(make_study):
    """It has columns and no prompt: a hint would be a repeated call, and the probe would always pass."""
    judge = {"provider": "python", "model": "rules:stars"}
    study = make_study(1, judge=judge, items={"file": "items.csv"}, probes={"padded": 5, "hint": 5})
    (study.folder / "items.csv").write_text('item,text\nq1,"One line\nand another"\n')
    rules = "def stars(columns, question):\n    return 2 if columns['text'].startswith('- One line') else 4\n"
    (study.folder / "rules.py").write_text(rules)
    assert judge_study(study, allow_code=True).answered == 2
    found = study_labels(study, probes=True).labels
    assert dict(found.select("probe", "label").rows()) == {None: 4, "padded": 2}


@pytest.mark.slow
def test_swapped_options_are_shown_the_other_way_and_read_back(make_study):
    question = {"name": "which", "text": "Which?", "scale": "preference", "options": ["a", "b"], "order": "fixed"}
    with ChatServer(lambda n, b, server: Say('{"label": "first"}')) as server:
        parts = {"items": {"file": "items.csv"}, "probes": {"swapped": 50}}
        study = make_study(1, server.url, questions=[question], **parts)
        (study.folder / "items.csv").write_text("item,a,b\nq1,@left@,@right@\n")
        assert judge_study(study).answered == 2
        first, second = (last(body) for body in server.requests)
    assert first.index("@left@") < first.index("@right@")
    assert second.index("@right@") < second.index("@left@")
    found = study_labels(study, probes=True).labels
    assert dict(found.select("probe", "label").rows()) == {None: -1, "swapped": 1}


@pytest.mark.slow
def test_hint_column_is_a_plain_number(make_study):
    tokens = [('{"label": ', {}), ("50", {"50": 0.6, "100": 0.4}), ("}", {})]
    with ChatServer(lambda n, b, server: Say('{"label": 50}', tokens=tokens)) as server:
        question = [{"name": "quality", "text": "How good?", "scale": "interval:0-100"}]
        judge = {"base_url": server.url, "score": "expected"}
        study = make_study(1, judge=judge, questions=question, probes={"hint": 50})
        assert judge_study(study).answered == 2
        (hinted,) = [last(body) for body in server.requests if "Another" in last(body)]
    assert hinted.endswith(("the label 0.", "the label 100."))
    table = study_labels(study, probes=True)  # where both answers have the same, a column is the item's
    assert table.labels["label"].to_list() == pytest.approx([70, 70])
    assert table.column("said").to_list() == [50, 50]
    assert table.column("p_100").to_list() == pytest.approx([0.4, 0.4])
    assert set(table.labels["hint"]) in ({None, 0}, {None, 100})


@pytest.mark.slow
def test_probes_that_are_taken_away_leave_the_labels(make_study):
    with ChatServer() as server:
        judge_study(make_study(5, server.url, probes={"repeat": 5}))
        study = make_study(5, server.url)
        assert judge_study(study, changed="new-version").answered == 0
        assert server.count == 10
    assert study_labels(study).labels.height == 5


@pytest.mark.parametrize(
    ("probes", "words"),
    [
        ({"swapped": 5}, r"probes\.swapped: changes nothing here: no question has options; remove it"),
        ({"sibling": 5}, r"probes\.sibling: requires a judge with sibling: the name of another model"),
        ({"repeat": 0}, r"probes\.repeat: .* greater than or equal to 1"),
        ({"repaet": 5}, "Input should be|input should be"),
        ({"of": ["repeat"]}, r"old key 'of': write 'probes: \{swapped: 50\}'"),
    ],
)
def test_probes_that_ask_nothing_are_refused(make_study, probes, words):
    with pytest.raises(StudyError, match=words):
        make_study(2, probes=probes)


@pytest.mark.slow
def test_recorded_reply_answers_a_probe_by_name(make_study):
    study = make_study(1, judge={"provider": "recorded", "file": "r.jsonl"}, probes={"repeat": 1})
    lines = [{"item": "q00000", "judge": "m1", "reply": "4"}]
    lines += [{"item": "q00000", "judge": "m1", "probe": "repeat", "reply": "2"}]
    (study.folder / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert judge_study(study).answered == 2
    assert dict(study_labels(study, probes=True).labels.select("probe", "label").rows()) == {None: 4, "repeat": 2}
