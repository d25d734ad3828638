"""Mechanical Turk: flattened and JSON answers, several pairs in one HIT, swapped sides, personal data."""

from __future__ import annotations

import csv
import io
import json

import pytest

import assay
from assay.data.formats import FormatSettings
from assay.data.formats.platforms import intake, mturk
from assay.errors import DataError

TIME = "Fri Nov 20 09:{:02}:00 PST 2026"


def batch(*rows):
    text = io.StringIO()
    columns = dict.fromkeys(c for row in rows for c in row)
    writer = csv.DictWriter(text, columns, quoting=csv.QUOTE_ALL, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def row(worker, key, status="Approved", minute=0, **cells):
    return {
        "HITId": f"H{key}",
        "AssignmentId": f"{worker}{key}{minute}",
        "WorkerId": worker,
        "AssignmentStatus": status,
        "SubmitTime": TIME.format(minute),
        "WorkTimeInSeconds": "30",
        "Input.key": key,
        "Input.text": f"text {key}&#44; so",
        **cells,
    }


@pytest.fixture
def rows(put):
    """The rows that the reader makes of a batch, with the workers' ids."""

    def read(*given, item="key", workers="ids", **options):
        return mturk.read_mturk(put("batch.csv", batch(*given)), item, FormatSettings(workers=workers, **options))

    return read


def test_read_mturk_flattened_answers(put, answers, excluded):
    flat = ("Answer.kind.Good", "Answer.kind.Bad", "Answer.Answer.stars")
    cells = {
        "ann": dict(zip(flat, ("true", "false", "4"), strict=True)),
        "bob": dict(zip(flat, ("false", "false", "2"), strict=True)),
    }
    path = put(
        "batch.csv",
        batch(
            row("A1", "k1", **cells["ann"]),
            row("A2", "k1", "Rejected", **cells["ann"]),
            row("A1", "k2", "Submitted", **cells["bob"]),
        ),
    )
    scales = {"kind": "nominal", "stars": "1-5"}
    labels = assay.read(path, item="key", scale=scales, workers="ids")
    assert answers(labels) == {("k1", "A1", "kind", "Good"), ("k1", "A1", "stars", "4"), ("k2", "A1", "stars", "2")}
    assert excluded(labels) == {intake.REJECTED: 2, intake.EMPTY: 1}
    assert labels.items["text"].to_list() == ["text k1, so", "text k2, so"]
    assert "1 assignment submitted but not yet approved" in labels.reading.notes
    assert len(assay.read(path, item="key", scale=scales, rejected=True)) == 5


def test_read_mturk_codes_workers(put):
    path = put("batch.csv", batch(row("A1", "k1", **{"Answer.stars": "4"}), row("A2", "k1", **{"Answer.stars": "2"})))
    names = [assay.read(path, scale="1-5", salt=salt).humans for salt in ("", "", "pepper")]
    assert names[0] == names[1] != names[2]
    assert all(name.startswith("worker-") for name in names[0])


def test_read_mturk_json_answers(put, answers, excluded):
    form = [{"kind": {"Good": False, "Bad": True}, "mood": {"label": "happy"}, "stars": 4, "why": ""}]
    path = put("batch.csv", batch(row("A1", "k1", **{"Answer.taskAnswers": json.dumps(form)})))
    labels = assay.read(path, item="key", workers="ids", scale={"kind": "nominal", "mood": "nominal", "stars": "1-5"})
    assert answers(labels, "criterion", "label") == {("kind", "Bad"), ("mood", "happy"), ("stars", "4")}
    assert excluded(labels) == {intake.EMPTY: 1}


def test_read_mturk_several_swapped_pairs(put, answers, excluded):
    def pairs(worker, key, order, *votes):
        cells = {f"Input.id{k}": o for k, o in enumerate(order, 1)}
        cells |= {"Answer.stars": "1"}  # a 1 that is not a side stays a 1
        cells |= {f"Input.left{k}": f"left {k}" for k in (1, 2)}
        return row(worker, key, **cells, **{f"Answer.pref{k}": v for k, v in enumerate(votes, 1)})

    path = put("batch.csv", batch(pairs("A1", "k1", "12", "-1", "-1"), pairs("A2", "k1", "12", "0", "1")))
    labels = assay.read(path, item="key", numbered=["pref"], swap="id", workers="ids", criteria=["pref"])
    stars = assay.read(path, item="key", numbered=["pref"], swap="id", criteria=["stars"], scale="1-5")
    assert stars.labels["label"].to_list() == [1, 1]
    assert answers(labels, "item", "annotator", "criterion", "label", "position") == {
        ("k1#1", "A1", "pref", -1, 1),
        ("k1#2", "A1", "pref", 1, 1),
        ("k1#1", "A2", "pref", 0, None),
        ("k1#2", "A2", "pref", -1, 2),
    }
    assert labels.scale.spec == "preference"
    assert labels.items.select("key", "left").rows() == [("k1", "left 1"), ("k1", "left 2")]
    literal = assay.read(path, item="key")
    assert literal.criteria == ("pref1", "pref2", "stars")
    assert any("If sides were swapped" in note for note in literal.reading.notes)
    odd = put("odd.csv", batch(pairs("A1", "k1", "12", "-1", "5")))
    assert excluded(assay.read(odd, numbered=["pref"], swap="id", criteria=["pref"]))[intake.OFF_SCALE] == 1
    bad = put("bad.csv", batch(pairs("A1", "k1", "13", "-1", "1")))
    with pytest.raises(DataError, match=r"row 2: 'Input.id2' must be 1 \(as listed\) or 2 \(swapped\); it is '3'"):
        assay.read(bad, numbered=["pref"], swap="id")
    with pytest.raises(DataError, match=r"'Input.order1' .* it is missing"):
        assay.read(path, numbered=["pref"], swap="order")


def test_read_mturk_uses_later_batch(put, answers, excluded):
    again = {**row("A1", "k1", minute=9, **{"Answer.stars": "5"}), "HITId": "another"}
    path = put("batch.csv", batch(again, row("A1", "k1", minute=1, **{"Answer.stars": "1"})))
    labels = assay.read(path, scale="1-5", workers="ids")
    assert answers(labels, "annotator", "label") == {("A1", 5)}
    assert excluded(labels) == {intake.SUPERSEDED: 1}


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ({"Answer.q": "4", "Input.q": "5"}, {"q": "4"}),
        ({"Answer.q": ""}, {"q": None}),
        ({"Answer.q": "a &amp; b"}, {"q": "a & b"}),
        ({"Answer.Answer.q": "4"}, {"q": "4"}),
        ({"Answer.q.a": "true", "Answer.q.b": "false", "Answer.q.c": "TRUE"}, {"q": mturk.set_of(["a", "c"])}),
        ({"Answer.q.a": "false"}, {"q": None}),
        ({"Answer.taskAnswers": '[{"q": {"label": "yes"}, "r": {"1": true, "2": false}, "s": 3}]'},
         {"q": "yes", "r": "1", "s": "3"}),
        ({"Answer.taskAnswers": "none"}, {"taskAnswers": "none"}),
        ({"Answer.q": '[{"a": 1}]'}, {"q": '[{"a": 1}]'}),
    ],
)  # fmt: skip
def test_mturk_answers_of_row(rows, cells, found):
    read = rows(row("A1", "k1", **cells, **{"Answer.other": "text"}))
    answered = {question: answer for question, answer in found.items() if answer is not None}
    assert dict(read.labels.select("criterion", "label").rows()) == {**answered, "other": "text"}
    assert sum(e.count for e in read.reading.exclusions) == len(found) - len(answered)


def test_mturk_inputs_of_numbered_item(rows):
    inputs = {"Input.text1": "a", "Input.text2": "b", "Input.id1": "x", "Input.task": "t"}
    answered = {f"Answer.{q}": "1" for q in ("pref1", "pref2", "pref12", "whole", "q12")}
    one = row("A1", "k1", **answered, **inputs)
    del one["Input.text"]
    read = rows(one, numbered=["pref"])
    assert set(read.labels.select("item", "criterion").rows()) == {
        ("k1#1", "pref"), ("k1#2", "pref"), ("k1#12", "pref"), ("k1", "whole"), ("k1", "q12"),
    }  # fmt: skip
    items = {one.pop("item"): {k: v for k, v in one.items() if v is not None} for one in read.items.to_dicts()}
    assert items["k1#1"] == {"key": "k1", "task": "t", "text": "a", "id": "x"}
    assert items["k1#2"] == {"key": "k1", "task": "t", "text": "b"}
    assert items["k1"] == {"key": "k1", "task": "t", "text1": "a", "text2": "b", "id1": "x"}


def test_read_mturk_items_without_inputs_are_hits(put, answers):
    rows = [{**row("A1", "k1", **{"Answer.stars": "5"}), "HITId": "h1"},
            {**row("A2", "k1", **{"Answer.stars": "3"}), "HITId": ""}]  # fmt: skip
    bare = [{k: v for k, v in one.items() if not k.startswith("Input.")} for one in rows]
    labels = assay.read(put("batch.csv", batch(*bare)), scale="1-5", workers="ids")
    assert answers(labels, "item", "annotator", "label") == {("h1", "A1", 5), ("row 3", "A2", 3)}


@pytest.mark.parametrize(
    ("times", "last"),
    [
        (("Fri Nov 20 09:10:30 PST 2026", "Fri Nov 20 09:10:00 PST 2026"), 0),
        (("Fri Nov 20 09:10:00 PST 2026", "Fri Nov 20 09:10:30 PST 2026"), 1),
        (("Fri Nov 20 19:10:00 PST 2026", "Fri Nov 20 09:10:00 PST 2026"), 0),
        (("Tue Dec 01 09:10:00 PST 2026", "Mon Nov 30 09:10:00 PST 2026"), 0),
        (("Fri Jan 01 09:10:00 PST 2027", "Mon Nov 30 09:10:00 PST 2026"), 0),
        (("Fri Nov 20 09:10:00 PST 2026", "Fri Nov 20 09:10:00 EST 2026"), 1),  # one file has one time zone
        (("Fri Nov 20 09:10:00 PST 2026", ""), 0),
        (("Fri Nov 20 09:10:00 PST 2026", "2027-11-20 09:10"), 0),
        (("Fri Nov 20 09:10:00 PST 2026", "Fri Nov 99 09:10:00 PST 2027"), 0),
        (("2027-11-20 09:10", ""), 1),
    ],
)
def test_mturk_latest_submission_is_used(rows, times, last):
    answered = (row("A1", "k1", minute=k, **{"Answer.q": str(k)}) | {"SubmitTime": t} for k, t in enumerate(times))
    assert rows(*answered).labels["label"].to_list() == [last]


@pytest.mark.real_data
@pytest.mark.parametrize("file", ["batch_five_pairs", "batch_task_answers", "batch_flattened"])
def test_read_mturk_real_layouts(real_data, expected, answers, file):
    rows = [r for r in expected("formats/mturk") if r["file"] == f"{file}.csv" and r["status"] == "ok"]
    path = real_data / "formats" / "mturk" / f"{file}.csv"
    if file == "batch_five_pairs":
        labels = assay.read(path, item="HITId", numbered=["pref", "why"], criteria=["pref"], swap="id", workers="ids")
        systems = {-1: "system1", 0: "tie", 1: "system2"}
        found = {(i, a, systems[v]) for i, a, _, v in answers(labels)}
        assert found == {(f"{r['item_or_hit']}#{r['control'][4:]}", r["worker"], r["value"]) for r in rows}
        return
    scales = {"food": "nominal", "mood": "nominal", "stars": "1-5", "comment": "text"}
    labels = assay.read(path, item="item_id", workers="ids", scale=scales)
    found = {row for row in answers(labels) if row[2] != "comment"}
    assert found == {(r["item_or_hit"], r["worker"], r["control"], r["value"]) for r in rows}


@pytest.mark.real_data
def test_read_mturk_swap_changes_separability_votes(real_data):
    """Sums of five votes are far from 0 only after the sides are swapped back, as described in the data's notes."""
    files = sorted((real_data / "preference").glob("*.csv"))
    if not files:
        pytest.skip("needs shared/data/preference")

    def extremity(**options):
        labels = assay.read(files[0], format="mturk", scale="preference", **options)
        votes = labels.labels.with_columns(source=labels.labels["item"].str.replace(r"#\d$", ""))
        sums = votes.group_by("source", "annotator").agg(total="label").select("total")
        return sums["total"].list.sum().abs().mean() / 5

    assert extremity(numbered=["pref"], swap="id") > 1.4 * extremity(numbered=["pref"])


# -- function by function ------------------------------------------------------------------------------


def test_mturk_questions_of_sides(rows):
    def sides(*answers, **options):
        given = (
            row(f"A{k}", "k1", **{f"Answer.{q}": a for q, a in one.items()},
                **{f"Input.id{place}": "1" for place in ("", 1, 2)})
            for k, one in enumerate(answers)
        )  # fmt: skip
        return set(rows(*given, swap="id", **options).scales)

    assert sides({"a": "-1", "b": "1"}, {"a": "", "b": "0"}) == {"a"}
    assert sides({"p1": "-1", "p2": "1"}, numbered=["p"]) == {"p"}
    with pytest.raises(DataError, match=r"csv: swap=\.\.\. requires answers of −1, 0 and 1; the questions are a, b"):
        sides({"a": "1", "b": ""}, {"a": "", "b": "0"})


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"label": "yes"}, "yes"), ({"label": {"a": True}}, "a"), ({"label": "true", "b": "true"}, "b|label"),
        ({"a": "TRUE", "b": False}, "a"), ({"a": False}, None), ({}, None), (None, None), ("", None), (0, "0"),
        ("a &lt; b", "a < b"),
    ],
)  # fmt: skip
def test_mturk_answer_as_one_value(rows, given, word):
    read = rows(row("A1", "k1", **{"Answer.taskAnswers": json.dumps([{"q": given, "other": "text"}])}))
    found = dict(read.labels.select("criterion", "label").rows())
    assert found == {"other": "text"} | ({} if word is None else {"q": word})


def test_mturk_names_of_inputs_and_workers(rows):
    def names(worker="A1", **options):
        """The item and the annotator of one row with these inputs."""
        inputs = options.pop("inputs", {"a": "1"})
        one = {k: v for k, v in row(worker, "k1", **{"Answer.q": "1"}).items() if not k.startswith("Input.")}
        inputs = {f"Input.{k}": v for k, v in inputs.items()}
        return rows(one | inputs, item=None, **options).labels.select("item", "annotator").row(0)

    item, worker = names(workers="codes")
    assert (item, worker) == names(workers="codes")
    assert item.startswith("input-")
    assert len(item) == len("input-") + 12
    assert names(inputs={"a": "1", "b": "2"}) == names(inputs={"b": "2", "a": "1"}) != names(inputs={"a": "12"})
    assert worker != names("A2", workers="codes")[1]
    salted = [names(workers="codes", salt="x" * n)[1] for n in (63, 64, 65)]
    assert salted[0] != salted[1] == salted[2]


def test_read_mturk_notes(put):
    def notes(*rows, **options):
        return assay.read(put("batch.csv", batch(*rows)), item="key", scale="interval", **options).reading.notes

    plain = [row("A1", "k1", **{"Answer.q": "1"}), row("A2", "k1", **{"Answer.q": "0"})]
    assert notes(*plain) == ("workers are named by codes; to keep their ids, set workers='ids'",)
    assert notes(*plain, workers="ids") == ()
    waiting = [row("A1", "k1", "Submitted", **{"Answer.q": "-1"}), row("A2", "k1", "Submitted", **{"Answer.q": "1"})]
    assert notes(*waiting, workers="ids") == (
        "2 assignments submitted but not yet approved",
        "answers −1 and 1 are assumed to be the first and the second shown, unchanged. If sides were swapped, name the "
        "input with the order in swap=...",
    )
    unnamed = assay.read(put("batch.csv", batch(*plain)), scale="interval", workers="ids").reading.notes
    assert unnamed == ("equal inputs are one item; name your own id with item=... (key, text)",)
    with pytest.raises(DataError, match=r"has no column 'WorkerId'; it is not a batch file of Mechanical Turk"):
        assay.read(put("batch.csv", "a,b\n1,2\n"), format="mturk")


def test_read_mturk_counts_rejected_assignment_once(put, excluded):
    rows = [row("A1", "k1", **{"Answer.q": "1"}), row("A2", "k1", "Rejected", **{"Answer.q": ""})]
    assert excluded(assay.read(put("b.csv", batch(*rows)), item="key", scale="interval")) == {intake.REJECTED: 1}
    found = assay.read(put("b.csv", batch(*rows)), item="key", scale="interval", rejected=True)
    assert excluded(found) == {intake.EMPTY: 1}
    assert found.labels["seconds"].to_list() == [30.0]


def test_read_mturk_excludes_remarks_and_rejections_without_a_status(put, answers, excluded):
    rows = [row(who, key, **{"Answer.clarity": str(1 + (i + j) % 5), "Answer.comment": "", "Answer.else": ""})
            for i, key in enumerate("abcdefgh") for j, who in enumerate(("A1", "A2"))]  # fmt: skip
    for k, remark in enumerate(("hard to say", "a good one", "it depends")):
        rows[k] |= {"Answer.comment": "ok", "Answer.else": remark}
    for one in rows:
        del one["AssignmentStatus"]
        one["RejectionTime"] = ""
    rows[-1]["RejectionTime"] = TIME.format(9)
    labels = assay.read(put("batch.csv", batch(*rows)), item="key", workers="ids", scale="1-5")
    assert labels.criteria == ("clarity",)
    assert len(answers(labels)) == 15
    assert excluded(labels) == {intake.REJECTED: 1}
    assert labels.labels["comment"].drop_nulls().to_list() == ["ok"] * 3
    assert any("'comment', 'else': remarks on the answers, not labels" in note for note in labels.reading.notes)
    with pytest.raises(DataError, match="set the scale of clarity, comment"):
        assay.read(put("batch.csv", batch(*rows)), item="key", criteria=["clarity", "comment"])


def test_read_plain_batch_excludes_rejected(put, excluded):
    lines = [f"t{i},{who},{1 + (i + j) % 5},{'Rejected' if i == j else 'Approved'}"
             for i in range(8) for j, who in enumerate(("A1", "A2", "A3"))]  # fmt: skip
    path = put("t.csv", "\n".join(["item,annotator,label,AssignmentStatus", *lines]))
    labels = assay.read(path, scale="1-5")
    assert len(labels) == 21
    assert excluded(labels) == {intake.REJECTED: 3}
    assert any("'AssignmentStatus' is Rejected in 3 rows" in note for note in labels.reading.notes)
    status = assay.read(path, label="AssignmentStatus", scale="nominal")
    assert len(status) == 24


def test_numbered_answers_without_inputs_advise_no_columns(tmp_path):
    rows = [
        {k: v for k, v in row(w, "a", **{f"Answer.score{i}": str((i + len(w)) % 3) for i in range(1, 5)}).items()
         if not k.startswith("Input.")}
        for w in ("W", "WW", "WWW")
    ]  # fmt: skip
    (tmp_path / "batch.csv").write_text(batch(*rows))
    labels = assay.read(tmp_path / "batch.csv", numbered=["score"])
    assert (labels.n_items, len(labels)) == (4, 12)
    assert not [note for note in labels.reading.notes if note.endswith("()")]
