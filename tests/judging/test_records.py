"""Judges that are no models: functions, commands, logs of other tools."""

from __future__ import annotations

import json
import sys
import zipfile

import pytest

from assay.errors import JudgeError, StudyError
from assay.judging.dry_run import estimate_study, requests_of
from assay.judging.run import judge_study
from assay.reading import study_labels

RULES = """
import asyncio
seen = []
def stars(columns, question):
    seen.append((dict(columns), question))
    if "q00002" in columns["text"]:
        raise KeyError("no such word")
    return {"label": 1 + len(columns["text"]) % 5, "reasoning": "its length"}
async def later(columns, question):
    await asyncio.sleep(0.01)
    return "I think it is a 4. Final answer: 4"
def nothing(columns, question):
    return None
number = 3
"""


def program(make_study, judge, n=4, rules=RULES, **parts):
    base = {"base_url": None, "model": ""}
    study = make_study(n, judge=base | judge, **parts)
    (study.folder / "rules.py").write_text(rules)
    return study


def test_a_function_of_the_studys_folder_is_a_judge(make_study):
    study = program(make_study, {"provider": "python", "function": "rules:stars"})
    done = judge_study(study, allow_code=True)
    assert (done.answered, done.failed, done.cost) == (3, 1, 0.0)
    assert list(done.reasons) == ["m1: no reply: rules:stars raised KeyError: 'no such word'"]
    labels = study_labels(study).labels
    assert labels["label"].to_list() == [1 + len("text @q00000@") % 5] * 3
    assert sys.modules["assay_judge_rules"].seen[0] == ({"text": "text @q00000@"}, "quality")


def test_an_async_function_may_reply_with_a_text(make_study):
    study = program(make_study, {"provider": "python", "function": "rules:later"})
    assert judge_study(study, allow_code=True).answered == 4
    assert set(study_labels(study).labels["label"]) == {4}


def test_no_label_is_missing_and_not_guessed(make_study):
    done = judge_study(program(make_study, {"provider": "python", "function": "rules:nothing"}), allow_code=True)
    assert (done.answered, done.missing) == (0, 4)


def test_code_of_a_folder_runs_only_where_somebody_allows_it(make_study, capsys):
    from assay.cli.app import main

    rules = "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n" + RULES
    study = program(make_study, {"provider": "python", "function": "rules:stars"}, rules=rules)
    with pytest.raises(JudgeError, match=r"judge 'm1' runs code .*: rules:stars\. Read it, and .* with --allow-code"):
        judge_study(study)
    estimate_study(study)
    (shown, *_) = requests_of(study)
    assert shown.body["columns"] == {"text": "text @q00000@"}
    assert "# a program is given" in str(shown)
    assert not (study.folder / "ran").exists()
    for words, code in (((), 2), (("--allow-code",), 0)):
        with pytest.raises(SystemExit) as ended:
            main(["judge", str(study.folder), *words])
        assert ended.value.code == code
        assert (study.folder / "ran").exists() == (code == 0)


SCRIPT = """
import json, sys
asked = json.loads(sys.stdin.readline())
if "q00001" in asked["columns"]["text"]:
    sys.exit("the model file is gone")
print("thinking aloud ...")
print(json.dumps({"label": 5 if asked["question"] == "quality" else 1}))
"""


def test_a_command_is_a_judge(make_study):
    study = program(make_study, {"provider": "command", "command": [sys.executable, "rate.py"]}, n=3)
    (study.folder / "rate.py").write_text(SCRIPT)
    done = judge_study(study, allow_code=True)
    assert (done.answered, done.failed) == (2, 1)
    assert "exited with 1: the model file is gone" in " ".join(done.reasons)
    assert set(study_labels(study).labels["label"]) == {5}


def test_a_command_that_hangs_is_ended(make_study):
    judge = {"provider": "command", "command": [sys.executable, "-c", "import time; time.sleep(60)"]}
    study = program(make_study, judge | {"limits": {"timeout": 0.3}}, n=1)
    done = judge_study(study, allow_code=True)
    assert done.reasons == {"m1: no reply: no reply within 0.3 s": 1}


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        ({"provider": "python", "function": "rulez:stars"}, "there is no .*rulez.py, and no module rulez is installed"),
        ({"provider": "python", "function": "rules:sters"}, "rules has no function 'sters'"),
        ({"provider": "python", "function": "rules:number"}, "rules:number is no function"),
        ({"provider": "command", "command": ["no-such-program"]}, "no-such-program cannot be started"),
    ],
)
def test_programs_that_cannot_run(make_study, judge, words):
    with pytest.raises(JudgeError, match=words):
        judge_study(program(make_study, judge), allow_code=True)


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        ({"provider": "python"}, r"judges\[0\].function: is missing: provider 'python' needs it"),
        ({"provider": "python", "function": "rules.stars"}, "must be module:function, as in rules:stars"),
        ({"provider": "openai", "model": "x", "function": "rules:stars"}, "is for provider: python"),
        ({"provider": "command", "command": []}, "is missing: provider 'command' needs it"),
    ],
)
def test_programs_that_are_not_named(make_study, judge, words):
    with pytest.raises(StudyError, match=words):
        program(make_study, judge)


# -- logs of other tools ----------------------------------------------------------------------------


HEADER = {
    "version": 2, "status": "success", "results": {"scores": []},
    "eval": {
        "task": "t", "task_id": "x", "model": "m/tested", "config": {"epochs": 1},
        "scorers": [{"name": "rating", "options": {"model": {"model": "m/rater"}}}],
    },
}  # fmt: skip


def test_a_log_of_inspect_is_a_judge(make_study):
    study = make_study(3, judge={"provider": "recorded", "file": "log.eval", "base_url": None})
    with zipfile.ZipFile(study.folder / "log.eval", "w") as archive:
        archive.writestr("header.json", json.dumps(HEADER))
        for i in range(3):
            scores = {"rating": {"value": i + 2, "history": []}}
            sample = {"id": f"q{i:05}", "epoch": 1, "input": "in", "metadata": {}, "scores": scores}
            archive.writestr(f"samples/{i}.json", json.dumps(sample))
    done = judge_study(study)
    assert (done.answered, done.cost) == (3, 0.0)
    assert study_labels(study).labels["label"].to_list() == [2, 3, 4]


def test_a_table_of_another_judge_is_read_and_nobody_is_asked(make_study):
    judge = {"provider": "recorded", "file": "other.csv", "base_url": None}
    study = make_study(3, judge=judge)
    table = "item,annotator,label\n" + "".join(f"q{i:05},m1,{i + 2}\nq{i:05},m2,1\n" for i in range(3))
    (study.folder / "other.csv").write_text(table)
    assert judge_study(study).answered == 3
    assert study_labels(study).labels["label"].to_list() == [2, 3, 4]
    study = make_study(3, judge=judge | {"name": "m3"})
    with pytest.raises(StudyError, match="has labels of m1, m2; call the judge 'm3' as one of them"):
        judge_study(study)


def test_a_file_that_is_neither_replies_nor_labels_is_refused(make_study):
    study = make_study(1, judge={"provider": "recorded", "file": "other.csv", "base_url": None})
    (study.folder / "other.csv").write_text("a\n1\n")
    with pytest.raises(StudyError, match="the file of judge 'm1', cannot be read: "):
        judge_study(study)
