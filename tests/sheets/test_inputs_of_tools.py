"""Inputs as evaluation tools, raters of errors, examiners and workbooks write them, with the correct readings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from corpus import xlsx
from inputs import (
    NAMED,
    PEOPLE,
    Case,
    Given,
    Rng,
    Row,
    cells_of,
    check_reading,
    long,
    scores,
    text,
    wide,
    words,
    written,
)

INPUTS: dict[str, Case] = {}


def given(function: Case) -> Case:
    INPUTS[function.__name__] = function
    return function


# -- names of columns that combine two parts ---------------------------------------------------------------------


@given
def sessions_of_raters(folder: Path, rng: Rng) -> Given:
    """Each rater labels each subject twice; the names alone do not show what a number is."""
    names = ("A_1", "A_2", "B_1", "B_2")
    columns = dict(zip(names, scores(rng, 20, 4).T.tolist(), strict=True))
    right = [(f"i{k:02}", name[0], "", label) for name in names for k, label in enumerate(columns[name])]
    return Given(wide(folder, columns), right, asked=True)


@given
def sessions_of_numbered_raters(folder: Path, rng: Rng) -> Given:
    """Four columns with names of people are two raters."""
    names = ("rater1_1", "rater1_2", "rater2_1", "rater2_2")
    columns = dict(zip(names, scores(rng, 20, 4).T.tolist(), strict=True))
    right = [(f"i{k:02}", name[:6], "", label) for name in names for k, label in enumerate(columns[name])]
    return Given(wide(folder, columns), right, asked=True)


@given
def prompts_and_raters_without_a_mark(folder: Path, rng: Rng) -> Given:
    names = [f"P{p}R{r}" for p in (1, 2, 3) for r in (1, 2)]
    columns = dict(zip(names, scores(rng, 20, 6).T.tolist(), strict=True))
    right = [(f"i{k:02}", name[2:], name[:2], label) for name in names for k, label in enumerate(columns[name])]
    return Given(wide(folder, columns), right, asked=True)


def header(folder: Path, rows: list[str], labels: np.ndarray) -> Path:
    return text(folder, "\n".join([*rows, *(f"st{k}," + ",".join(map(str, row)) for k, row in enumerate(labels))]))


@given
def prompts_above_raters(folder: Path, rng: Rng) -> Given:
    labels = scores(rng, 20, 4)
    path = header(folder, [",Prompt 1,,Prompt 2,", "student,R1,R2,R1,R2"], labels)
    return Given(path, [(f"st{k}", f"R{1 + j % 2}", f"Prompt {1 + j // 2}", labels[k, j])
                        for k in range(20) for j in range(4)])  # fmt: skip


@given
def names_above_names(folder: Path, rng: Rng) -> Given:
    """Nothing shows which of two rows has the annotators: both orders are readings."""
    labels = scores(rng, 20, 4)
    path = header(folder, [",zel,,mur,", "student,kio,pax,kio,pax"], labels)
    return Given(path, [(f"st{k}", ("kio", "pax")[j % 2], ("zel", "mur")[j // 2], labels[k, j])
                        for k in range(20) for j in range(4)], asked=True)  # fmt: skip


@given
def two_raters_above_three_criteria(folder: Path, rng: Rng) -> Given:
    """The upper row of the header has few names, as a title does."""
    labels = scores(rng, 20, 6)
    path = header(folder, [",Smith,,,Jones,,", "essay,content,form,style,content,form,style"], labels)
    return Given(path, [(f"st{k}", ("Smith", "Jones")[j // 3], ("content", "form", "style")[j % 3], labels[k, j])
                        for k in range(20) for j in range(6)])  # fmt: skip


@given
def raters_above_criteria_above_sessions(folder: Path, rng: Rng) -> Given:
    labels = scores(rng, 20, 8)
    rows = [",rater 1,,,,rater 2,,,", ",content,,form,,content,,form,", "essay" + ",s1,s2" * 4]
    return Given(header(folder, rows, labels), [
        (f"st{k}", f"rater {1 + j // 4}", f"{('content', 'form')[j // 2 % 2]} / s{1 + j % 2}", labels[k, j])
        for k in range(20) for j in range(8)
    ])  # fmt: skip


# -- workbooks and encodings ----------------------------------------------------------------------------------------


@given
def sheet_of_each_rater(folder: Path, rng: Rng) -> Given:
    labels = scores(rng, 20, 3)
    sheets = {who: [("essay", "score"), *((f"e{k}", int(labels[k, j])) for k in range(20))]
              for j, who in enumerate(("Dr. Anna", "Boris", "Clara"))}  # fmt: skip
    right = [(e, who, "", x) for who, rows in sheets.items() for e, x in rows[1:]]
    return Given(xlsx(folder / "t.xlsx", sheets), right, asked=True)


@given
def sheet_of_each_rater_with_criteria(folder: Path, rng: Rng) -> Given:
    labels = scores(rng, 20, 6)
    sheets = {who: [("essay", "content", "style"), *((f"e{k}", *labels[k, j : j + 2].tolist()) for k in range(20))]
              for j, who in enumerate(("Anna", "Boris", "Clara"))}  # fmt: skip
    right = [(row[0], who, c, x) for who, rows in sheets.items() for row in rows[1:]
             for c, x in zip(("content", "style"), row[1:], strict=True)]  # fmt: skip
    return Given(xlsx(folder / "t.xlsx", sheets), right, asked=True)


@given
def sheet_of_each_criterion(folder: Path, rng: Rng) -> Given:
    labels = scores(rng, 20, 6)
    sheets = {name: [("segment", *PEOPLE), *((f"e{k}", *labels[k, 3 * j : 3 * j + 3].tolist()) for k in range(20))]
              for j, name in enumerate(("fluency", "adequacy"))}  # fmt: skip
    right = [(row[0], who, name, x) for name, rows in sheets.items() for row in rows[1:]
             for who, x in zip(PEOPLE, row[1:], strict=True)]  # fmt: skip
    return Given(xlsx(folder / "t.xlsx", sheets), right, options=NAMED, asked=True)


@given
def encoding_of_central_europe(folder: Path, rng: Rng) -> Given:
    found = words(rng, ("zgodność", "sprzeczność"), 20)
    columns = dict(zip(("Łukasz", "Żaneta", "Paweł"), found.values(), strict=True))
    path = wide(folder, columns, "zdanie", ";")
    path.write_bytes(path.read_text("utf-8").encode("cp1250"))
    return Given(path, cells_of(columns), options={"humans": list(columns)})


@given
def encoding_of_central_europe_with_carons(folder: Path, rng: Rng) -> Given:
    found = words(rng, ("souhlasí", "nevím"), 20)
    columns = dict(zip(("Jiří", "Šárka", "Zdeněk"), found.values(), strict=True))
    path = wide(folder, columns, "položka", ";")
    path.write_bytes(path.read_text("utf-8").encode("cp1250"))
    return Given(path, cells_of(columns), options={"humans": list(columns)})


@given
def encoding_of_short_words_of_another_script(folder: Path, rng: Rng) -> Given:
    path = wide(folder, dict(zip(("Ян", "Ия", "Лев"), words(rng, ("да", "нет"), 20).values(), strict=True)), "текст")
    path.write_bytes(path.read_text("utf-8").encode("cp1251"))
    return Given(path, refused="is neither UTF-8 nor UTF-16 nor Windows text")


# -- exports of evaluation tools ------------------------------------------------------------------------------------


@given
def outputs_in_objects(folder: Path, rng: Rng) -> Given:
    """The text of an output is neither an annotator nor a label; the feedback is numbers, not comments."""
    labels, names = scores(rng, 20, 3, 2), ("feedback.rater_1", "feedback.rater_2", "feedback.rater_3")
    rows = [(f"run-{k}", "qa", json.dumps({"question": f"q{k}"}), json.dumps({"answer": f"a{k}"}), *labels[k].tolist(),
             round(float(rng.uniform(0.3, 3)), 3)) for k in range(20)]  # fmt: skip
    right = [(f"run-{k}", who, "", labels[k, j]) for k in range(20) for j, who in enumerate(names)]
    return Given(long(folder, ("id", "name", "inputs", "outputs", *names, "latency"), rows), right, asked=True)


@given
def reason_of_a_judge(folder: Path, rng: Rng) -> Given:
    names = ("annotator_1_pass", "annotator_2_pass", "llm_judge_pass")
    found = dict(zip(names, words(rng, ("TRUE", "FALSE"), 20).values(), strict=True))
    path = wide(folder, {**found, "llm_judge_reason": [f"The answer {k} is fine" for k in range(20)]})
    return Given(path, cells_of(found), asked=True)


@given
def turns_of_conversations(folder: Path, rng: Rng) -> Given:
    """Votes on two turns of a question are no repeated votes."""
    systems, rows, right = ("gpt-4", "claude-v1", "vicuna-13b"), [], list[Row]()
    for question in range(81, 101):
        first, second = sorted(rng.choice(systems, 2, replace=False).tolist())
        for who in ("author_0", "author_1", "expert_3"):
            for turn in (1, 2):
                vote = int(rng.integers(-1, 2))
                winner = ("model_a", "tie", "model_b")[vote + 1]
                rows.append({"question_id": question, "model_a": first, "model_b": second, "winner": winner,
                             "judge": who, "turn": turn})  # fmt: skip
                right.append((f"{question}/{turn}", who, "", vote))
    return Given(text(folder, "\n".join(map(json.dumps, rows)), "t.jsonl"), right)


@given
def raw_preferences(folder: Path, rng: Rng) -> Given:
    """The preference comes twice; it is one vote."""
    rows, right = [], list[Row]()
    for k in range(20):
        for who in rng.choice(9, 4, replace=False).tolist():
            vote = int(rng.integers(1, 3))
            rows.append({"instruction": f"do {k}", "output_1": f"first text {k}", "output_2": f"second text {k}",
                         "annotator": who, "preference": vote, "raw_preference": vote})  # fmt: skip
            right.append((f"do {k}", who, "", 2 * vote - 3))
    return Given(text(folder, json.dumps(rows), "t.json"), right)


@given
def statistics_of_metrics(folder: Path, rng: Rng) -> Given:
    """The name of a metric is no annotator, and its sum no label."""
    rows = [{"instance_id": f"id{k}", "stats": [{"name": {"name": name, "split": "test"}, "count": 1, "sum": k % 2,
             "mean": k % 2} for name in ("exact_match", "f1")]} for k in range(10)]  # fmt: skip
    return Given(text(folder, json.dumps(rows), "t.json"), refused="'stats' contains objects of another form")


# -- examinations and errors ----------------------------------------------------------------------------------------


@given
def stations_with_their_own_examiners(folder: Path, rng: Rng) -> Given:
    """A station describes its examiners as their experience does, but candidates do another task at each."""
    rows = [(f"C{c:02}", f"S{s}", f"E{2 * s + e}", int(label)) for c in range(20) for s in range(1, 7)
            for e, label in enumerate(scores(rng, 1, 2)[0])]  # fmt: skip
    path = long(folder, ("candidate", "station", "examiner", "score"), rows)
    return Given(path, [(f"{c}/{s}", who, "", x) for c, s, who, x in rows], asked=True)


@given
def stations_with_two_labels(folder: Path, rng: Rng) -> Given:
    """Which columns hold labels, and whether a station is part of the item, are two questions."""
    rows = [(f"C{c:02}", f"S{s}", f"E{2 * s + e}", *map(int, labels)) for c in range(20) for s in range(1, 7)
            for e, labels in enumerate(np.stack([scores(rng, 1, 2)[0], scores(rng, 1, 2)[0]], axis=1))]  # fmt: skip
    path = long(folder, ("candidate", "station", "examiner", "global_rating", "technique"), rows)
    right = [(f"{c}/{s}", who, name, x) for c, s, who, *labels in rows
             for name, x in zip(("global_rating", "technique"), labels, strict=True)]  # fmt: skip
    return Given(path, right, asked=True)


@given
def groups_of_annotators(folder: Path, rng: Rng) -> Given:
    """Annotators of two sites agree as much across sites as within them: the site describes the annotators."""
    labels = scores(rng, 30, 6)
    rows = [(f"t{k}", f"w{w}", ("north", "south")[w % 2], int(labels[k, w])) for k in range(30) for w in range(6)]
    path = long(folder, ("text_id", "annotator_id", "site", "score"), rows)
    return Given(path, [(t, who, "", x) for t, who, _, x in rows])


@given
def several_errors_of_a_segment(folder: Path, rng: Rng) -> Given:
    rows = [(f"sys{s}", k, who, rng.choice(("Terminology", "Fluency")), rng.choice(("Minor", "Major")))
            for s in range(3) for k in range(20) for who in PEOPLE for _ in range(int(rng.integers(1, 4)))]  # fmt: skip
    return Given(
        long(folder, ("system", "seg_id", "rater", "category", "severity"), rows), refused="rows are single errors"
    )


@given
def one_error_of_a_segment(folder: Path, rng: Rng) -> Given:
    """Its category and its severity are two labels."""
    rows = [(f"sys{s}", k, who, rng.choice(("Terminology", "Fluency", "Style")), rng.choice(("Minor", "Major")))
            for s in range(3) for k in range(20) for who in PEOPLE]  # fmt: skip
    path = long(folder, ("system", "seg_id", "rater", "category", "severity"), rows)
    return Given(path, [(f"{k}/{s}", who, "", x) for s, k, who, _, x in rows], asked=True)


@given
def set_and_total_of_two_raters(folder: Path, rng: Rng) -> Given:
    """The constant number of the set and the sum of both scores are no raters."""
    labels = scores(rng, 30, 2)
    rows = [(k + 1, 1, f"Dear newspaper {k}, computers are good", *labels[k].tolist(), "", int(labels[k].sum()))
            for k in range(30)]  # fmt: skip
    names = ("essay_id", "essay_set", "essay", "rater1_domain1", "rater2_domain1", "rater3_domain1", "domain1_score")
    right = [(k + 1, f"rater{j + 1}_domain1", "", labels[k, j]) for k in range(30) for j in (0, 1)]
    return Given(long(folder, names, rows), right)


@given
def people_with_answers(folder: Path, rng: Rng) -> Given:
    """Combinations of age, gender and an answer identify rows by chance."""
    labels = scores(rng, 60, 8)
    rows = [(k + 1, int(rng.integers(18, 70)), "fm"[k % 2], *labels[k].tolist()) for k in range(60)]
    right = [(f"item{j + 1}", k + 1, "", labels[k, j]) for k in range(60) for j in range(8)]
    return Given(
        long(folder, ("participant", "age", "gender", *(f"item{j}" for j in range(1, 9))), rows), right, asked=True
    )


@given
def raters_in_rows_without_a_name(folder: Path, rng: Rng) -> Given:
    labels = scores(rng, 20, 4)
    rows = [(f"Rater {who}", *labels[:, j].tolist()) for j, who in enumerate("ABCD")]
    path = long(folder, ("", *(f"Essay {k}" for k in range(20))), rows)
    right = [(f"Essay {k}", f"Rater {who}", "", labels[k, j]) for k in range(20) for j, who in enumerate("ABCD")]
    return Given(path, right, asked=True)


@given
def unit_on_which_all_differ(folder: Path, rng: Rng) -> Given:
    """A column of four different labels is an item as the others are."""
    columns = {f"Unit {k}": [1, 2, 2, 1 + k % 3] for k in range(1, 10)} | {"Unit 6": [2, 3, 4, 1]}
    path = written(folder, {"Observer": [f"Observer {who}" for who in "ABCD"], **columns})
    right = [(unit, f"Observer {'ABCD'[j]}", "", x) for unit, labels in columns.items() for j, x in enumerate(labels)]
    return Given(path, right, asked=True)


# -- labels -----------------------------------------------------------------------------------------------------------


@given
def codes_with_zeros(folder: Path, rng: Rng) -> Given:
    """Codes of a code book have no distances."""
    columns = words(rng, ("000", "201", "506"), 30)
    return Given(wide(folder, columns), cells_of(columns), options=NAMED, asked=True)


@given
def question_marks(folder: Path, rng: Rng) -> Given:
    """Stages of sleep, two of which a scorer does not know."""
    columns = words(rng, ("W", "N1", "REM"), 30)
    columns["bob"][4] = columns["bob"][9] = "?"
    right = [row for row in cells_of(columns) if row[3] != "?"]
    return Given(wide(folder, columns), right, options=NAMED, asked=True)


@given
def parts_of_numbers(folder: Path, rng: Rng) -> Given:
    """Categories of mammograms, next to the seconds of reading."""
    found = words(rng, ("1", "2", "3", "4A", "4B", "5"), 30)
    rows = [(f"case{k}", who, found[who][k], int(rng.integers(20, 90))) for k in range(30) for who in PEOPLE]
    path = long(folder, ("case_id", "reader", "birads", "read_time_s"), rows)
    return Given(path, [(c, who, "", x) for c, who, x, _ in rows], asked=True)


@pytest.mark.parametrize("name", INPUTS)
def test_read_inputs_of_tools(name: str, tmp_path: Path) -> None:
    check_reading(INPUTS[name], tmp_path)
