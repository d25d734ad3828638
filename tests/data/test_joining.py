"""Tables of the same items as one: separate layouts, ids that are written differently."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import polars as pl
import pytest

import assay
from assay.data.columns import Reading
from assay.data.formats import Rows
from assay.data.formats.registry import join_files, settle_scales
from assay.data.joining import loose_matches
from assay.data.scales import Nominal, Scale
from assay.errors import DataError, DesignError

N = 12


def truth(n: int) -> int:
    return 1 + n * 7 % 5


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A form with a question for each answer, and a model's labels in a long and in a wide file."""
    with (tmp_path / "form.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["Timestamp", "Your name", *(f"How helpful? [Answer {n}]" for n in range(N))])
        for who in range(3):
            given = [max(1, truth(n) - (n % 4 == who)) for n in range(N)]
            rows.writerow(["2026/11/02 10:12:01 AM", ("Ana", "Ben", "Cem")[who], *given])
    long = [{"id": f"Answer {n}", "model": "gpt-4o", "score": truth(n)} for n in range(N)]
    pl.DataFrame(long).write_csv(tmp_path / "model.csv")
    pl.DataFrame({"id": [f"Answer {n}" for n in range(N)], "gpt-4o": [truth(n) for n in range(N)]}).write_csv(
        tmp_path / "wide.csv"
    )
    return tmp_path


def people(folder: Path) -> assay.Annotations:
    return assay.read(folder / "form.csv", layout="transposed", annotator="Your name")


def model(folder: Path, file: str = "model.csv") -> assay.Annotations:
    if file == "wide.csv":
        return assay.read(folder / file, layout="wide", judges=["gpt-4o"])
    return assay.read(folder / file, item="id", annotator="model", label="score", judges=["gpt-4o"])


@pytest.mark.slow
@pytest.mark.parametrize("file", ["model.csv", "wide.csv"])
def test_a_form_and_a_models_file_are_joined(folder: Path, file: str) -> None:
    with pytest.raises(assay.errors.DataError, match="no item id is in both, but 12 of 12 match loosely") as refused:
        people(folder).join(model(folder, file))
    assert refused.value.advised == {"match": "loose"}
    one, other = people(folder), model(folder, file)
    for labels in (one.join(other, "loose"), other.join(one, "loose")):
        assert (len(labels), labels.n_items, labels.judges) == (4 * N, N, ("gpt-4o",))
        assert labels.humans == ("Ana", "Ben", "Cem")
        assert labels.scale == assay.Ordinal(1, 5)
        assert any("12 of 12 item ids match loosely" in line for line in labels.reading.lines())
    row = one.join(other, "loose").labels.filter(item="How helpful? [Answer 5]").sort("annotator")
    assert row.select("annotator", "label").rows() == [("Ana", 1), ("Ben", 1), ("Cem", 1), ("gpt-4o", 1)]
    row = one.join(other, "loose").labels.filter(item="How helpful? [Answer 4]").sort("annotator")
    assert row["label"].to_list() == [3, 4, 4, 4]


@pytest.mark.slow
def test_readings_are_joined_by_commands(folder: Path, run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    form = ("form.csv", "--layout", "transposed", "--annotator", "Your name")
    assert run("look", *form, "--write", "form.yaml")[0] == 0
    options = ("--item", "id", "--annotator", "model", "--label", "score", "--judges", "gpt-4o")
    assert run("look", "model.csv", *options, "--write", "model.yaml")[0] == 0
    code, _, said = run("agreement", "form.yaml", "--labels-from", "model.yaml")
    assert code == 2
    assert "match loosely ('Answer 0' = 'How helpful? [Answer 0]'); set --match loose" in said
    code, out, _ = run("agreement", "form.yaml", "--labels-from", "model.yaml", "--match", "loose")
    assert code == 0
    assert "3 humans and 1 judge on 12 items" in out
    code, out, _ = run("look", "form.yaml", "model.yaml", "--match", "loose")
    assert "Read as Annotations(48 labels, 12 items, 3 humans, 1 judge, ordinal:1-5)." in out
    # A file with usual columns needs no reading file; the options are for it.
    code, out, _ = run("agreement", "form.yaml", "--labels-from", "wide.csv", "--judges", "gpt-4o", "--match", "loose")
    assert (code, "3 humans and 1 judge on 12 items" in out) == (0, True)


def test_the_layout_of_one_file_is_not_that_of_another(folder: Path) -> None:
    files = [folder / "form.csv", folder / "wide.csv"]
    labels = assay.read(files, layout="transposed", annotator="Your name", match="loose", judges=["gpt-4o"])
    assert (len(labels), labels.humans, labels.judges) == (4 * N, ("Ana", "Ben", "Cem"), ("gpt-4o",))
    with pytest.raises(assay.errors.DataError) as refused:
        assay.read(files)
    assert f"assay.read(['{files[0]}', '{files[1]}'], layout='transposed'" in str(refused.value)
    assert "judges=[]" not in str(refused.value)


@pytest.mark.parametrize(
    ("first", "second", "matched"),
    [
        (["Q-01", "Q-02", "Q-03"], ["q 1", "q 2", "q 3"], {"q 1": "Q-01", "q 2": "Q-02", "q 3": "Q-03"}),
        (["img/a.png", "img/b.png", "img/c.png"], ["a", "b", "c"], {n: f"img/{n}.png" for n in "abc"}),
        (["Item 7", "Item 8", "Item 9"], ["7", "8", "9"], {n: f"Item {n}" for n in "789"}),
        # Two ids with the same number have no partner, and half of the ids is not most of them.
        (["a 1", "b 1", "a 2", "b 2"], ["1", "2", "3"], {}),
        (["x1", "x2", "y", "z"], ["X1", "X2", "u", "v"], {}),
        (["a", "b", "c"], ["d", "e", "f"], {}),
        # The first text of a training set is not the first text of a test set.
        (["train_0", "train_1", "train_2"], ["test_0", "test_1", "test_2"], {}),
        (["train_0", "train_1", "train_2"], ["0", "1", "2"], {str(n): f"train_{n}" for n in range(3)}),
        (
            ["latest0", "latest1", "latest2"],
            ["dev 0", "dev 1", "dev 2"],
            {f"dev {n}": f"latest{n}" for n in range(3)},
        ),
    ],
)
def test_loose_matches_have_one_partner(first: list[str], second: list[str], matched: dict[str, str]) -> None:
    assert loose_matches(pl.Series(first), pl.Series(second)) == matched


def wide(**columns: list[object]) -> pl.DataFrame:
    return pl.DataFrame({"item": ["a", "b", "c"], **columns})


def table(judges: tuple[str, ...] = (), scale: str | None = None, **columns: list[object]) -> assay.Annotations:
    return assay.read(wide(**columns), layout="wide", judges=list(judges), scale=scale)


def test_scales_hold_the_labels_of_both() -> None:
    one = table(ann=[1, 2, 3], bob=[1, 1, 3])
    assert one.join(table(("m",), m=[2, 5, 4])).scale == assay.Ordinal(1, 5)
    fractions = table(("m",), "interval:0-10", m=[2.5, 5, 4])
    assert one.join(fractions).scale == assay.Interval(0, 10)
    words = table(ann=["yes", "no", "no"])
    assert words.join(table(("m",), m=["maybe", "no", "yes"])).scale == words.scale
    named = table(("m",), "nominal:no,maybe", m=["maybe", "no", "no"])
    listed = table(scale="nominal:yes,no", ann=["yes", "no", "no"]).join(named).scale
    assert listed == assay.Nominal(["yes", "no", "maybe"])
    with pytest.raises(assay.errors.DataError, match="on different scales"):
        one.join(table(("m",), m=["yes", "no", "yes"]))


def test_what_cannot_be_joined_is_refused() -> None:
    one = table(ann=[1, 2, 3], bob=[1, 2, 3])
    with pytest.raises(assay.errors.DataError, match="'bob' is a human in one table and a judge in the other"):
        one.join(table(("bob",), bob=[3, 3, 3]))
    with pytest.raises(assay.errors.DataError, match="no item is in both tables"):
        one.join(assay.read(pl.DataFrame({"item": ["x", "y"], "m": [1, 2]}), layout="wide", judges=["m"]))
    rated = assay.read(
        pl.DataFrame({"item": ["a", "b"] * 2, "annotator": ["ann"] * 4, "criterion": ["x", "x", "y", "y"],
                      "label": [1, 2, 3, 1]})
    )  # fmt: skip
    with pytest.raises(assay.errors.DataError, match="one table has the criteria x, y and the other none"):
        rated.join(table(("m",), m=[1, 2, 3]))
    assert rated.where(criterion="x").join(table(("m",), m=[1, 2, 3])).criteria == ("x",)


def test_attributes_of_both_tables_are_kept() -> None:
    one = assay.read(wide(ann=[1, 2, 3]).with_columns(topic=pl.Series(["t", "u", "t"])), layout="wide", columns=["ann"])
    other = assay.read(wide(m=[1, 2, 2]).with_columns(length=pl.Series([5, 70, 9])), layout="wide", columns=["m"],
                       judges=["m"])  # fmt: skip
    whole = one.join(other)
    about = whole.items.sort("item").select("item", "topic", "length")
    assert about.rows() == [("a", "t", 5), ("b", "u", 70), ("c", "t", 9)]
    assert "joined by 3 items that both tables have" in whole.reading.lines()


def test_a_file_with_other_options_is_read_alone(folder: Path, run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    form = {"layout": "transposed", "annotator": "Your name"}
    with pytest.raises(assay.errors.DataError) as refused:
        assay.read(["form.csv", "model.csv"], **form, match="loose")
    options = "item='id', judges=['gpt-4o'], layout='long', annotator='model', label='score'"
    first = "assay.read('form.csv', annotator='Your name', layout='transposed')"
    call = f"{first}.join(assay.read('model.csv', {options}), match='loose')"
    assert f"'gpt-4o' is a judge: {call}" in str(refused.value)
    assert eval(call).judges == ("gpt-4o",)
    typed = ("--layout", "transposed", "--annotator", "Your name", "--match", "loose", "--expertise", "crowd")
    code, _, said = run("alt-test", "form.csv", "--labels-from", "model.csv", *typed)
    assert code == 2
    command = "assay look model.csv --item id --judges gpt-4o --annotator model --label score --write model.yaml"
    assert command in " ".join(said.split())
    assert run(*command.split()[1:])[0] == 0
    assert "Then use --labels-from model.yaml." in said
    assert run("look", "form.csv", *typed[:4], "--write", "form.yaml")[0] == 0
    assert run("agreement", "form.yaml", "--labels-from", "model.yaml", *typed[4:6])[0] == 0


def test_a_single_model_in_a_column_is_a_judge_or_a_system() -> None:
    """Its name was read as the labels of an annotator called model."""
    frame = pl.DataFrame(
        {"id": [f"a{n}" for n in range(N)], "model": ["gpt-4o"] * N, "score": [truth(n) for n in range(N)]}
    )
    found = assay.look(frame)
    assert found.labels is None
    assert found.errors == ("'model' contains only models, which can be judges or the systems that are rated",)
    judged, rated, by_judge = [assay.read(frame, **options) for _, options in found.readings]
    assert (judged.judges, judged.humans) == (("gpt-4o",), ())
    assert (rated.judges, rated.humans) == ((), ("human",))
    assert (by_judge.judges, by_judge.humans, by_judge.criteria) == (("judge",), (), ("score",))
    # Beside an annotator with the same labels, a column called model has labels.
    labels = {"id": [f"a{n}" for n in range(N)], "ann": ["yes", "no"] * (N // 2), "model": ["no", "no"] * (N // 2)}
    assert assay.read(pl.DataFrame(labels), judges=["model"]).judges == ("model",)


def sheet_of_all(n: int = 60) -> pl.DataFrame:
    """Three people, a judge and stars of each item on one scale, and the year."""
    level = [truth(i // 3) for i in range(n)]
    near = {who: [min(5, v + (i % k == 0)) for i, v in enumerate(level)] for who, k in WHO.items()}
    return pl.DataFrame({"id": [f"d{i}" for i in range(n)], **near}).with_columns(
        stars=pl.Series([1 + i % 5 for i in range(n)]), year=pl.Series([2001 + i % 4 for i in range(n)])
    )


WHO = {"ann": 4, "bob": 5, "cho": 7, "gpt-4o": 6}


def test_join_of_columns_of_one_sheet_is_the_sheet():
    sheet = sheet_of_all()
    people = assay.read(sheet, columns=["ann", "bob", "cho"])
    model = assay.read(sheet, columns=["gpt-4o"], judges=["gpt-4o"])
    whole = assay.read(sheet, columns=list(WHO), judges=["gpt-4o"])
    joined = people.join(model)
    assert joined.items.columns == whole.items.columns
    assert not any("not in columns" in note for note in joined.reading.notes)
    found = [assay.alt_test(one, epsilon=0.2) for one in (joined, whole)]
    assert [one.verdict for one in found] == ["replace"] * 2
    assert found[0].summary().splitlines()[:6] == found[1].summary().splitlines()[:6]


@pytest.mark.parametrize("lowest", [0, 4])
def test_join_refuses_judge_on_another_scale(lowest):
    ids = [f"d{n}" for n in range(12)]
    ann, bob = [lowest, *range(10, 100, 9), 100], [lowest, *range(12, 102, 9), 98]
    people = pl.DataFrame({"item": ids, "ann": ann, "bob": bob})
    model = pl.DataFrame({"item": ids, "gpt-4o": [1 + n % 5 for n in range(12)]})

    def read(scale: str | None) -> list[assay.Annotations]:
        given = ((people, []), (model, ["gpt-4o"]))
        return [assay.read(one, layout="wide", judges=judges, scale=scale) for one, judges in given]

    one, other = read(None)
    with pytest.raises(DataError, match=rf"'gpt-4o' range from 1 to 5, .* from {lowest} to 100"):
        one.join(other)
    one, other = read("interval:0-100")
    assert len(one.join(other)) == 36, "who states the scale of both knows it"


def test_labels_that_columns_leave_out_are_no_strata():
    read = assay.read(sheet_of_all(), columns=["ann", "bob", "gpt-4o"], judges=["gpt-4o"])
    assert read.reading.left_out == ("cho",), "stars next to annotators' names describe the item"
    assert "'cho' could be labels but not in columns=...: item columns, not strata" in read.reading.notes
    assert "cho" in read.items.columns
    said = assay.alt_test(read, epsilon=0.2).summary()
    assert "stars" in said
    assert "cho" not in said


WORDS = ("bad", "ok", "good")


def label_studio(folder: Path, name: str, words: Sequence[str], who: Mapping[int, str]) -> Path:
    """An export with the words that annotators chose for 30 answers."""

    def chosen(n: int, a: int) -> list[dict[str, object]]:
        value = {"choices": [words[(n + (n % 7 == a)) % 3]]}
        return [{"type": "choices", "from_name": "quality", "to_name": "answer", "value": value}]

    tasks = [
        {"id": n, "data": {"answer_id": f"a{n:02}"}, "predictions": [], "annotations": [
            {"id": 100 * a + n, "completed_by": {"id": a, "email": one}, "result": chosen(n, a), "was_cancelled": False}
            for a, one in who.items()
        ]}
        for n in range(30)
    ]  # fmt: skip
    path = folder / name
    path.write_text(json.dumps(tasks))
    return path


def promptfoo(folder: Path) -> Path:
    """An export with a judge's scores of these answers: 0, 0.5 or 1."""
    results = []
    for n in range(30):
        score = (0, 0.5, 1)[(n + (n % 5 == 0)) % 3]
        graded = {"type": "llm-rubric", "value": "good?", "provider": "openai:gpt-4o", "metric": "quality"}
        component = {"pass": score >= 0.5, "score": score, "reason": "r", "assertion": graded}
        results.append({
            "promptIdx": 0, "testIdx": n, "vars": {"answer_id": f"a{n:02}"}, "response": {"output": f"text {n}"},
            "provider": {"id": "echo"}, "prompt": {"raw": "p", "label": "p"}, "score": score, "success": True,
            "gradingResult": {"pass": True, "score": score, "reason": "r", "componentResults": [component]},
        })  # fmt: skip
    path = folder / "pf.json"
    path.write_text(json.dumps({"evalId": "e", "results": {"version": 3, "prompts": [], "results": results}}))
    return path


PEOPLE = {1: "ann@x.org", 2: "bob@x.org"}


def test_exports_with_other_labels_are_refused_as_plain_tables_are(tmp_path):
    people, judge = label_studio(tmp_path, "ls.json", WORDS, PEOPLE), promptfoo(tmp_path)
    said = r"labels of 'openai:gpt-4o' \('0.0', '0.5', '1.0'\) are labels of no other annotator \('bad', 'good', 'ok'\)"
    for files in ([people, judge], [judge, people]):
        with pytest.raises(DataError, match=said):
            assay.read(files, item="answer_id")
    more = label_studio(tmp_path, "more.json", ("schlecht", "mittel", "gut"), {3: "cem@x.org"})
    with pytest.raises(DataError, match=r"'cem@x.org' \('gut', 'mittel', 'schlecht'\) are labels of no other"):
        assay.read([people, more], item="answer_id")
    with pytest.raises(DataError, match=r"'cem@x.org' .* are labels of no other annotator"):
        assay.read(people, item="answer_id").join(assay.read(more, item="answer_id"))
    every = "nominal:bad,gut,good,mittel,ok,schlecht"
    one, other = (assay.read(path, item="answer_id", scale=every) for path in (people, more))
    assert len(one.join(other)) == 90, "who states all categories knows them"


@pytest.mark.parametrize("scale", [None, "ordinal:bad<ok<good"])
def test_codes_are_those_of_an_export_with_its_numbers(tmp_path, scale):
    people, judge = label_studio(tmp_path, "ls.json", WORDS, PEOPLE), promptfoo(tmp_path)
    codes = {"0": "bad", "0.5": "ok", "1": "good"}
    alone = assay.read(judge, item="answer_id", codes=codes, scale=scale)
    assert alone.labels["label"].value_counts().sort("label")["label"].to_list() == ["bad", "good", "ok"]
    both = assay.read([people, judge], item="answer_id", codes=codes, scale=scale)
    assert [len(both), both.scale.kind] == [90, "nominal" if scale is None else "ordinal"]
    with pytest.raises(DataError, match=r"such as '1.0' .* are not among the codes: 0 = bad, 0.5 = ok;"):
        assay.read(judge, item="answer_id", codes={"0": "bad", "0.5": "ok"}, scale=scale)


def test_annotator_off_the_scale_of_another_export_does_not_vanish():
    def part(source: str, who: str, labels: Sequence[str], scale: Scale | None) -> Rows:
        frame = pl.DataFrame({"item": list("abcdef"), "annotator": who, "criterion": "q", "label": labels})
        return Rows(
            frame.with_columns(_row=pl.int_range(1, 7)),
            reading=Reading(source, 6),
            scales={"q": scale} if scale else {},
        )

    people = part("a.json", "ann", ["ok", "bad"] * 3, Nominal(("bad", "ok")))
    joined = join_files([people, part("b.json", "gpt", ["0", "1"] * 3, None)])
    with pytest.raises(DataError, match=r"every label of 'gpt' is off its scale .*; each must be one of bad, ok"):
        settle_scales(joined, None)
    some = join_files([people, part("b.json", "gpt", ["0", "ok"] * 3, None)])
    assert settle_scales(some, None)[0].labels.height == 9, "a platform accepts labels off its scale"


# -- criteria that files call by different names -----------------------------------------------------------


def of_criterion(folder: Path, name: str, who: Sequence[str], criterion: str | None) -> Path:
    """A file with labels of a criterion; without a column of criteria if it is None."""
    rows = [{"item": f"q{k:02d}", "annotator": one, "label": 1 + (k + i) % 4} | ({} if criterion is None else
            {"criterion": criterion}) for k in range(40) for i, one in enumerate(who)]  # fmt: skip
    pl.DataFrame(rows).write_csv(folder / name)
    return folder / name


@pytest.mark.parametrize("people_say", ["quality", None])
def test_labels_without_a_criterion_are_of_the_only_one_that_the_other_file_has(people_say: str | None, tmp_path: Path):
    people = of_criterion(tmp_path, "people.csv", ("ann", "bob", "cho"), people_say)
    judge = of_criterion(tmp_path, "judge.csv", ("gpt-4o",), None if people_say else "quality")
    labels = assay.read([people, judge], judges=["gpt-4o"])
    assert (labels.criteria, labels.labels["criterion"].null_count(), len(labels)) == (("quality",), 0, 160)
    assert any("are of 'quality', the criterion of the other file" in note for note in labels.reading.notes)
    assert assay.alt_test(labels, "gpt-4o", expertise="crowd").n_items == 40


def test_one_criterion_of_each_file_is_one_question_if_files_match_loosely(tmp_path: Path):
    people = of_criterion(tmp_path, "people.csv", ("ann", "bob", "cho"), "quality")
    judge = of_criterion(tmp_path, "judge.csv", ("gpt-4o",), "llm-rubric")
    apart = assay.read([people, judge], judges=["gpt-4o"])
    with pytest.raises(DesignError, match=r"'gpt-4o' llm-rubric: no criterion .*; if they are one .* match='loose'"):
        assay.alt_test_by(apart, "gpt-4o", expertise="crowd")
    looked = assay.look([people, judge], judges=["gpt-4o"])
    assert "– replacement test (no criterion has labels of humans and of a judge)" in looked.summary()
    one = assay.read([people, judge], judges=["gpt-4o"], match="loose")
    assert one.criteria == ("quality",)
    joined = assay.read(people).join(assay.read(judge, judges=["gpt-4o"]), match="loose")
    for labels in (one, joined):
        assert any("'llm-rubric' counts as 'quality'" in note for note in labels.reading.notes)
        assert assay.alt_test(labels, "gpt-4o", expertise="crowd").n_items == 40
    # Two criteria of one annotator are two questions.
    again = of_criterion(tmp_path, "again.csv", ("ann",), "tone")
    assert assay.read([people, again], match="loose").criteria == ("quality", "tone")


def test_exports_read_with_a_field_of_their_items_match_loosely(tmp_path: Path):
    """With ``item="id"``, ids of two exports stayed apart with any ``match``."""
    for name, who, more in (("one.json", "ana", ""), ("two.json", "gpt-4o", ".txt")):
        tasks = [{
            "id": 100 + k, "data": {"id": f"q{k:03d}{more}", "text": f"An answer {k}"},
            "annotations": [{"id": k, "completed_by": {"email": who}, "result": [
                {"from_name": "quality", "to_name": "text", "type": "rating", "value": {"rating": 1 + k % 5}}]}],
        } for k in range(12)]  # fmt: skip
        (tmp_path / name).write_text(json.dumps(tasks))
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    assert assay.read(files, item="id", judges=["gpt-4o"], match="loose").n_items == 12


def ratings_of(prefix: str, n: int, who: Sequence[str], criteria: Sequence[str]) -> pl.DataFrame:
    """Labels 2 to 4 of items with numbered ids."""
    rows = [
        (f"{prefix}{k:03}", one, c, (k + len(one) + len(c)) % 3 + 2) for k in range(n) for one in who for c in criteria
    ]
    return pl.DataFrame(rows, schema=["item", "annotator", "criterion", "label"], orient="row")


def test_items_of_an_annotator_in_two_sets_are_further_items_though_both_are_numbered(tmp_path: Path):
    """note_001 of the study and new-0001 of the rest are no copies: the judge labelled both."""
    study = ratings_of("note_", 30, ["ann", "bob", "gpt-4o"], ["tone"])
    rest = ratings_of("new-0", 90, ["gpt-4o"], ["tone"])
    how = {"judges": ["gpt-4o"], "scale": "1-5"}
    joined = assay.read(study, **how).join(assay.read(rest, **how))
    assert (joined.n_items, len(joined)) == (120, 180)
    study.write_csv(tmp_path / "study.csv")
    rest.write_csv(tmp_path / "rest.csv")
    assert assay.read([tmp_path / "study.csv", tmp_path / "rest.csv"], **how).n_items == 120
    same = rest[:30].with_columns(item=pl.col("item").str.replace("new-0", "x/note_") + ".txt")
    with pytest.raises(DataError, match="set match='loose' if they are the same items, or write the ids of one table"):
        assay.read(study, **how).join(assay.read(same, **how))
    other = rest.with_columns(annotator=pl.lit("llama"))
    with pytest.raises(DataError, match="30 of 90 match loosely"):
        assay.read(study, **how).join(assay.read(other, judges=["llama"], scale="1-5"))


@pytest.mark.parametrize("files", [False, True])
def test_criteria_that_differ_in_spelling_or_a_scale_match_loosely(tmp_path: Path, files: bool):
    one = ratings_of("n", 30, ["ann"], ["Clear tone [1-5]", "Depth (0 to 10)"])
    other = ratings_of("n", 30, ["bob"], ["clear_tone", "depth"])
    one.write_csv(tmp_path / "one.csv")
    other.write_csv(tmp_path / "other.csv")

    def both(match: Literal["exact", "loose"]) -> assay.Annotations:
        if files:
            return assay.read([tmp_path / "one.csv", tmp_path / "other.csv"], match=match)
        return assay.read(one).join(assay.read(other), match)

    assert len(both("exact").criteria) == 4
    assert any("would match loosely: 'clear_tone' = 'Clear tone [1-5]'" in note for note in both("exact").reading.notes)
    matched = both("loose")
    assert matched.criteria == ("Clear tone [1-5]", "Depth (0 to 10)")
    assert [matched.scale_of(c).spec for c in matched.criteria] == ["ordinal:1-5", "ordinal:0-10"]
    third = assay.read(ratings_of("n", 30, ["cho"], ["style"]))
    assert "no criterion is in both tables" in assay.read(one).join(third).reading.notes[-1]


@pytest.mark.parametrize(
    ("name", "spec"),
    [("Depth (0-10)", "0-10"), ("depth [1 to 7]", "1-7"), ("Depth (3-4)", "2-4"), ("depth (n = 5)", "2-4")],
)
def test_name_of_a_criterion_or_of_the_labels_states_their_scale(name: str, spec: str):
    frame = ratings_of("n", 30, ["ann", "bob"], [name])
    for labels in (
        assay.read(frame),
        assay.read(frame.rename({"label": name}, strict=True).drop("criterion"), label=name, annotator="annotator"),
    ):
        assert labels.scale.spec == f"ordinal:{spec}"
        assert any(f"Assumed scale {spec}" in note for note in labels.reading.notes)
