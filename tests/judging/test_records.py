"""Judges that are no models: functions, commands, logs of other tools."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
import sys
import zipfile

import numpy as np
import pytest

from assay.errors import JudgeError, StudyError
from assay.judging import records
from assay.judging.dry_run import estimate_study, requests_of
from assay.judging.records import Outputs, OutputsFirst, Recorded, Recording
from assay.judging.run import judge_study
from assay.judging.services.http import CallFailed, Completion, Request, Sent
from assay.reading import study_labels
from assay.study.schema import System

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


def test_function_of_the_studys_folder_is_a_judge(make_study):
    study = program(make_study, {"provider": "python", "model": "rules:stars"})
    done = judge_study(study, allow_code=True)
    assert (done.answered, done.failed, done.cost) == (3, 1, 0.0)
    assert list(done.reasons) == ["m1: no reply: rules:stars raised KeyError: 'no such word'"]
    labels = study_labels(study).labels
    assert labels["label"].to_list() == [1 + len("text @q00000@") % 5] * 3
    assert sys.modules["assay_judge_rules"].seen[0] == ({"text": "text @q00000@"}, "quality")


def test_async_function_may_reply_with_a_text(make_study):
    study = program(make_study, {"provider": "python", "model": "rules:later"})
    assert judge_study(study, allow_code=True).answered == 4
    assert set(study_labels(study).labels["label"]) == {4}


def test_no_label_is_missing_and_not_guessed(make_study):
    done = judge_study(program(make_study, {"provider": "python", "model": "rules:nothing"}), allow_code=True)
    assert (done.answered, done.missing) == (0, 4)


def test_program_judge_requires_allow_code(make_study, capsys):
    from assay.cli.app import main

    rules = "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n" + RULES
    study = program(make_study, {"provider": "python", "model": "rules:stars"}, rules=rules)
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


def test_command_is_a_judge(make_study):
    study = program(make_study, {"provider": "command", "model": f"{shlex.quote(sys.executable)} rate.py"}, n=3)
    (study.folder / "rate.py").write_text(SCRIPT)
    done = judge_study(study, allow_code=True)
    assert (done.answered, done.failed) == (2, 1)
    assert "exited with 1: the model file is gone" in " ".join(done.reasons)
    assert set(study_labels(study).labels["label"]) == {5}


def test_command_that_hangs_is_ended(make_study):
    judge = {"provider": "command", "model": shlex.join([sys.executable, "-c", "import time; time.sleep(60)"])}
    study = program(make_study, judge | {"limits": {"timeout": 0.3}}, n=1)
    done = judge_study(study, allow_code=True)
    assert done.reasons == {"m1: no reply: no reply within 0.3 s": 1}


@pytest.mark.slow
def test_command_that_hangs_is_ended_where_processes_have_no_groups(make_study, monkeypatch):
    monkeypatch.delattr(os, "killpg")  # as on Windows
    monkeypatch.delattr(signal, "SIGKILL")
    code = "import os, time; open(f'began-{os.getpid()}', 'w'); time.sleep(60)"
    judge = {"provider": "command", "model": shlex.join([sys.executable, "-c", code]), "limits": {"timeout": 3}}
    study = program(make_study, judge, n=1)
    assert judge_study(study, allow_code=True).reasons == {"m1: no reply: no reply within 3 s": 1}
    (began,) = study.folder.glob("began-*")
    with pytest.raises(ProcessLookupError):
        os.kill(int(began.name.partition("-")[2]), 0)


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        ({"provider": "python", "model": "rulez:stars"}, "there is no .*rulez.py, and no module rulez is installed"),
        ({"provider": "python", "model": "rules:sters"}, "rules has no function 'sters'"),
        ({"provider": "python", "model": "rules:number"}, "rules:number is no function"),
        ({"provider": "command", "model": "no-such-program"}, "no-such-program cannot be started"),
    ],
)
def test_programs_that_cannot_run(make_study, judge, words):
    with pytest.raises(JudgeError, match=words):
        judge_study(program(make_study, judge), allow_code=True)


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        ({"provider": "python"}, r"judges\[0\].model: is missing"),
        ({"provider": "python", "model": "rules.stars"}, "must be module:function, as in rules:stars"),
        ({"provider": "python", "function": "rules:stars"}, "old key 'function': write 'model: module:function'"),
        ({"provider": "command", "model": " "}, r"judges\[0\].model: is missing"),
        ({"provider": "command", "model": "rate 'x"}, r"judges\[0\].model: is not a command line: No closing"),
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


@pytest.mark.slow
def test_log_of_inspect_is_a_judge(make_study):
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


def test_recorded_table_of_another_judge(make_study):
    judge = {"provider": "recorded", "file": "other.csv", "base_url": None}
    study = make_study(3, judge=judge)
    table = "item,annotator,label\n" + "".join(f"q{i:05},m1,{i + 2}\nq{i:05},m2,1\n" for i in range(3))
    (study.folder / "other.csv").write_text(table)
    assert judge_study(study).answered == 3
    assert study_labels(study).labels["label"].to_list() == [2, 3, 4]
    study = make_study(3, judge=judge | {"name": "m3"})
    with pytest.raises(StudyError, match="has labels of m1, m2; call the judge 'm3' as one of them"):
        judge_study(study)


def test_file_that_is_neither_replies_nor_labels_is_refused(make_study):
    study = make_study(1, judge={"provider": "recorded", "file": "other.csv", "base_url": None})
    (study.folder / "other.csv").write_text("a\n1\n")
    with pytest.raises(StudyError, match="the file of judge 'm1', cannot be read: "):
        judge_study(study)


# -- replies of a file, by hand -----------------------------------------------------------------------


def written(path, *lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + "\n")
    return path


def replied(provider, **about):
    """The recorded reply to a request about item i1 and judge m1, unless something else is said."""
    request = Request("m", [], about={"item": "i1", "judge": "m1"} | about)
    try:
        return asyncio.run(provider.complete(request))
    except CallFailed as error:
        return f"{error.kind}: {error}"


def test_line_that_says_most_is_taken_of_those_that_fit(tmp_path):
    base = {"item": "i1", "judge": "m1"}
    path = written(
        tmp_path / "r.jsonl", base | {"reply": 1}, base | {"reply": "2", "repeat": 2},
        base | {"reply": "3", "repeat": 2, "scale": "1-7"}, base | {"judge": "m2", "reply": "4", "question": "tone"},
        {"item": 7, "judge": "m1", "reply": "5", "tokens_in": 30, "finish": "length", "reasoning": None},
    )  # fmt: skip
    given = Recorded(path)
    assert replied(given).text == "1"
    assert replied(given, repeat=1).text == "1"
    assert replied(given, repeat=2).text == "2"
    assert replied(given, repeat=2, scale="1-7").text == "3"
    assert replied(given, judge="m2", question="tone").text == "4"
    assert replied(given, judge="m2", question="other") == "rejected: no reply is recorded in r.jsonl"
    assert replied(given, item="i2") == "rejected: no reply is recorded in r.jsonl"
    seven = replied(given, item="7")
    assert (seven.text, seven.tokens_in, seven.finish, seven.reasoning) == ("5", 30, "length", None)


def test_recorded_rejects_invalid_lines(tmp_path):
    path = tmp_path / "r.jsonl"
    for text in ('{"item": "a", "judge": "m1"}', "{", '"a"'):
        path.write_text('{"item": "a", "judge": "m1", "reply": 1}\n\n' + text + "\n")
        with pytest.raises(StudyError, match=re.escape(f"{path}, line 3: needs item, judge and reply (")):
            Recorded(path)
    with pytest.raises(StudyError, match=r"gone\.jsonl is not there; study\.yaml names it as a file of recorded"):
        Recorded(tmp_path / "gone.jsonl")


def test_recording_keeps_every_key(tmp_path):
    path = tmp_path / "r.jsonl"
    recording = Recording(path)
    about = {"item": "i1", "judge": "m1", "repeat": 2}
    reply = Completion("é 4", tokens_in=30, reasoning="why", sent=Sent({"a": 1}), tokens=(), cached_in=0)
    recording.add(Request("m", [], about=about), reply)
    line = json.loads(path.read_text(encoding="utf-8"))
    assert line == about | {"reply": "é 4", "finish": "stop", "tokens_in": 30, "reasoning": "why", "cached_in": 0}
    assert "é" in path.read_text(encoding="utf-8")
    found = replied(Recorded(path), repeat=2)
    assert (found.text, found.tokens_in, found.reasoning, found.cached_in) == ("é 4", 30, "why", 0)


def test_outputs_are_numbered_and_complete(tmp_path):
    def lines(*rows):
        return written(tmp_path / "o.jsonl", *({"item": item, "system": of, "text": text} | more
                                              for item, of, text, more in rows))  # fmt: skip

    system = System.model_validate({"name": "s1", "model": "m", "repeats": 2})
    rows = [
        ("i1", "s1", "a", {}),
        ("i1", "s1", "b", {}),
        ("i2", "s1", "d", {"repeat": 2}),
        ("i2", "s1", "c", {"repeat": 1}),
    ]
    given = Outputs(lines(*rows, ("i1", "s2", "of another", {})), system)
    texts = [replied(given, judge="s1", item=item, repeat=n).text for item in ("i1", "i2") for n in (1, 2)]
    assert texts == ["a", "b", "c", "d"]
    has = [given.has(Request("m", [], about={"item": item, "judge": of})) for item, of in (
        ("i1", "s1"), ("i3", "s1"), ("i1", "s2"))]  # fmt: skip
    assert has == [True, False, False]
    for wrong in (rows[:1], [*rows[:2], ("i1", "s1", "x", {})], [rows[0], ("i1", "s1", "x", {"repeat": 3})]):
        words = rf"of 's1' on item 'i1', but 2 are required, numbered from 1; .* set 'repeats: {len(wrong)}' for this"
        with pytest.raises(StudyError, match=words):
            Outputs(lines(*wrong), system)


def test_model_is_asked_where_a_file_has_no_outputs(tmp_path):
    class Model:
        async def complete(self, request):
            return Completion("of the model")

        async def sent(self, request):
            return Sent({"model": "m"})

    path = written(tmp_path / "o.jsonl", *[{"item": "i1", "system": "s1", "text": "of the file"}] * 5)
    both = OutputsFirst(Outputs(path, System.model_validate({"name": "s1", "model": "m", "repeats": 5})), Model())
    assert [replied(both, judge="s1", item=item, repeat=1).text for item in ("i1", "i2")] == [
        "of the file",
        "of the model",
    ]
    assert asyncio.run(both.sent(Request("m", []))).body == {"model": "m"}


@pytest.mark.parametrize(
    ("name", "text", "holds"),
    [
        ("r.jsonl", '{"item": 1, "reply": 2}', True), ("r.ndjson", '\n\n{"text": "x"}', True), ("r.jsonl", "", True),
        ("r.jsonl", "{}", True), ("r.jsonl", "[1]", True), ("r.jsonl", "not json", True),
        ("r.jsonl", '{"item": 1, "label": 2}', False), ("r.csv", '{"reply": 1}', False),
    ],
)  # fmt: skip
def test_which_files_hold_replies_and_which_labels(tmp_path, name, text, holds):
    (tmp_path / name).write_text(text)
    assert records._holds_lines(tmp_path / name) == holds


@pytest.mark.parametrize(
    ("found", "text", "reasoning"),
    [
        ("I say 4", "I say 4", None), (4, '{"label": 4}', None), (["a"], '{"label": ["a"]}', None),
        ({"label": "b", "reasoning": "why"}, '{"label": "b"}', "why"), ({"reasoning": "why"}, "", "why"),
        (None, "", None), ({"label": np.int64(3)}, '{"label": 3}', None), (np.float64(0.5), '{"label": 0.5}', None),
        ({"label": False}, '{"label": false}', None), (0, '{"label": 0}', None),
    ],
)  # fmt: skip
def test_program_output_as_response(found, text, reasoning):
    assert records._reply_of(found) == (text, reasoning)
