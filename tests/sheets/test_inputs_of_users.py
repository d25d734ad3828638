"""Inputs as people of language technology, education and medicine write them, each with the correct reading.

A table is read correctly, or refused with the correct reading among the calls that the message prints, each of which is
run. An input without a correct reading (counts, questions to one person, another vocabulary) is refused in words that
name the reason.
"""

from __future__ import annotations

import json
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
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
    numbers,
    records,
    scores,
    text,
    wide,
    words,
    written,
)

import assay

INPUTS: dict[str, Case] = {}


def given(function: Case) -> Case:
    INPUTS[function.__name__] = function
    return function


# -- leftover columns ----------------------------------------------------------------------------------------


@given
def reader_study(folder: Path, rng: Rng) -> Given:
    """Readers of scans, with their experience and the time of each reading."""
    birads, years = scores(rng, 40, 8), rng.integers(2, 25, 8).tolist()
    pairs = [(i, w) for i in range(40) for w in rng.choice(8, 3, replace=False).tolist()]
    rows = [(f"1.2.840.{i}", f"reader{w}", years[w], "abcd"[i % 4], int(birads[i, w]), 20 + 7 * i % 90)
            for i, w in pairs]  # fmt: skip
    names = ("study_uid", "reader", "years_experience", "density", "birads", "read_seconds")
    return Given(long(folder, names, rows), [(r[0], r[1], "", r[4]) for r in rows])


@given
def score_annotator_and_annotation_type(folder: Path, rng: Rng) -> Given:
    rows = [(f"tw{i}", kind, who, int(label)) for i in range(30) for kind in ("sentiment", "irony")
            for who, label in zip(("mk", "jl", "rs"), scores(rng, 1, 3)[0], strict=True)]  # fmt: skip
    path = long(folder, ("text_id", "annotation_type", "score_annotator", "rater_score"), rows)
    return Given(path, [(i, who, kind, label) for i, kind, who, label in rows])


@given
def variable_and_value(folder: Path, rng: Rng) -> Given:
    """As `melt` of pandas writes them."""
    rows = [(f"e{i}", w, kind, int(label)) for i in range(30) for kind in ("voice", "structure", "evidence")
            for w, label in zip((11, 12, 13), scores(rng, 1, 3)[0], strict=True)]  # fmt: skip
    return Given(
        long(folder, ("essay", "scorer", "variable", "value"), rows), [(i, who, kind, x) for i, who, kind, x in rows]
    )


@given
def label_id_of_each_row(folder: Path, rng: Rng) -> Given:
    found = words(rng, ("neg", "neu", "pos"))
    rows = [(9000 + 3 * k + w, f"s{k}", who, found[who][k]) for k in range(40) for w, who in enumerate(PEOPLE)]
    path = long(folder, ("label_id", "sentence_id", "coder", "code"), rows)
    return Given(path, [(i, who, "", label) for _, i, who, label in rows])


@given
def label_id_next_to_label_name(folder: Path, rng: Rng) -> Given:
    found, ids = words(rng, ("neg", "neu", "pos")), {"neg": 1, "neu": 2, "pos": 3}
    rows = [(f"s{k}", who, ids[found[who][k]], found[who][k]) for k in range(40) for who in PEOPLE]
    path = long(folder, ("sentence_id", "annotator_id", "label_id", "label_name"), rows)
    return Given(path, [(i, who, "", label) for i, who, _, label in rows], asked=True)


@given
def confidence_on_the_scale_of_the_label(folder: Path, rng: Rng) -> Given:
    toxicity, sure = scores(rng, 50, 6), rng.integers(1, 6, (50, 6))
    rows = [(f"c{i}", f"w{w}", int(toxicity[i, w]), int(sure[i, w])) for i in range(50)
            for w in rng.choice(6, 3, replace=False).tolist()]  # fmt: skip
    path = long(folder, ("comment_id", "worker", "toxicity", "how_sure"), rows)
    return Given(path, [(i, who, "", label) for i, who, label, _ in rows], asked=True)


@given
def stations_of_an_examination(folder: Path, rng: Rng) -> Given:
    """Two examiners per student and station, with a total and a global rating."""
    rows, right = [], list[Row]()
    for student in range(31000, 31020):
        for station in range(1, 5):
            quality = rng.normal()
            for who in rng.choice(["Huber", "Klein", "Lang", "Moser"], 2, replace=False).tolist():
                total = int(np.clip(18 + 5 * (quality + 0.5 * rng.normal()), 0, 30))
                rating = int(np.clip(np.rint(3 + 1.2 * (quality + 0.7 * rng.normal())), 1, 5))
                rows.append((student, station, who, total, rating, "12.03.2024"))
                item = f"{student}/{station}"
                right += [(item, who, "checklist_total", total), (item, who, "global_rating", rating)]
    names = ("student_no", "station", "examiner", "checklist_total", "global_rating", "exam_date")
    return Given(long(folder, names, rows), right, asked=True)


@given
def histology_next_to_doctors(folder: Path, rng: Rng) -> Given:
    """The gold standard has the categories of the doctors and of the judge."""
    found = words(rng, ("benign", "malignant"), 60)
    columns = {"Dr. A": found["ann"], "Dr. B": found["bob"], "AI": found["cho"]}
    gold = {"histology": [a if k % 4 else b for k, (a, b) in enumerate(zip(*list(found.values())[:2], strict=True))]}
    return Given(wide(folder, columns | gold, "case"), cells_of(columns), options={"judges": ["AI"]})


@given
def named_raters_next_to_scores(folder: Path, rng: Rng) -> Given:
    labels, names = scores(rng, 30, 2, 6), np.array(["Smith", "Jones", "Kim", "Lee", "Roth"])
    who = np.array([rng.choice(5, 2, replace=False) for _ in range(30)])
    columns = {"rater_1": names[who[:, 0]], "rater_2": names[who[:, 1]], "score_1": labels[:, 0],
               "score_2": labels[:, 1], "final score": labels.mean(axis=1)}  # fmt: skip
    right = [(f"i{i:02}", names[who[i, k]], "", labels[i, k]) for i in range(30) for k in (0, 1)]
    return Given(wide(folder, columns, "essay"), right)


# -- questions, systems and worker ids -----------------------------------------------------------------------


@given
def questions_without_annotator(folder: Path, rng: Rng) -> Given:
    names = ("Q1_clear", "Q2_fair", "Q3_useful")
    path = wide(folder, dict(zip(names, scores(rng, 30, 3).T.tolist(), strict=True)), "essay")
    return Given(path, refused="are they annotators, or questions to one person")


@given
def systems_with_rater(folder: Path, rng: Rng) -> Given:
    names = ("bart", "pegasus", "t5")
    rows = [(f"d{i}", who, *scores(rng, 1, 3)[0].tolist()) for i in range(25) for who in PEOPLE]
    right = [(r[0], r[1], name, r[2 + k]) for r in rows for k, name in enumerate(names)]
    return Given(long(folder, ("doc", "rater", *names), rows), right, asked=True)


@given
def systems_without_rater(folder: Path, rng: Rng) -> Given:
    names = ("BART", "PEGASUS", "T5", "GPT-3")
    given = dict(zip(names, scores(rng, 30, 4).T.tolist(), strict=True))
    right = [(f"i{k:02}/{name}", "human", "", own[k]) for name, own in given.items() for k in range(30)]
    return Given(wide(folder, given, "doc"), right, asked=True)


@given
def workers_next_to_answers(folder: Path, rng: Rng) -> Given:
    labels, columns, right = scores(rng, 30, 3), dict[str, list[int]](), list[Row]()
    workers = np.array([rng.choice(9, 3, replace=False) + 100 for _ in range(30)])
    for k in range(3):
        columns |= {f"worker_{k + 1}": workers[:, k].tolist(), f"answer_{k + 1}": labels[:, k].tolist()}
        right += [(f"i{i:02}", workers[i, k], "", labels[i, k]) for i in range(30)]
    return Given(wide(folder, columns, "text_id"), right)


@given
def rater_ids_next_to_scores(folder: Path, rng: Rng) -> Given:
    labels, raters = scores(rng, 40, 2, 6), np.array([rng.choice(7, 2, replace=False) + 1 for _ in range(40)])
    names = ("rater1_id", "rater1_score", "rater2_id", "rater2_score")
    columns = dict(zip(names, np.stack([raters, labels], axis=2).reshape(40, 4).T.tolist(), strict=True))
    right = [(f"i{i:02}", raters[i, k], "", labels[i, k]) for i in range(40) for k in (0, 1)]
    return Given(wide(folder, columns, "essay_id"), right)


@given
def respondents_in_rows(folder: Path, rng: Rng) -> Given:
    labels = scores(rng, 8, 25)
    columns = {"respondent": [f"P{i}" for i in range(25)], **{f"Q{k + 1}": labels[k].tolist() for k in range(8)}}
    right = [(f"Q{k + 1}", f"P{i}", "", labels[k, i]) for k in range(8) for i in range(25)]
    return Given(written(folder, columns), right, asked=True)


@given
def lessons_of_teachers(folder: Path, rng: Rng) -> Given:
    names, rows = ("CLAS_PC", "CLAS_TS", "CLAS_QF"), []
    for teacher in range(12):
        for lesson in range(1, 4):
            both = rng.choice(["AB", "CD", "EF", "GH"], 2, replace=False).tolist()
            rows += [(f"T{teacher:02}", lesson, who, *scores(rng, 1, 3, 7)[0].tolist()) for who in both]
    right = [(f"{r[0]}/{r[1]}", r[2], name, r[3 + k]) for r in rows for k, name in enumerate(names)]
    return Given(long(folder, ("TeacherID", "Lesson", "Observer", *names), rows), right, asked=True)


@given
def physician_and_nurse(folder: Path, rng: Rng) -> Given:
    pain = np.clip(rng.normal(50, 20, (40, 1)) + rng.normal(0, 8, (40, 2)), 0, 100).astype(int).tolist()
    rows = [(f"pt{k // 2:02}", k % 2 + 1, *pain[k]) for k in range(40)]
    names = ("physician_vas", "nurse_vas")
    right = [(f"{r[0]}/{r[1]}", name, "", r[2 + k]) for r in rows for k, name in enumerate(names)]
    return Given(long(folder, ("patient", "visit", *names), rows), right, asked=True)


# -- counts and shares ---------------------------------------------------------------------------------------


def counted(rng: Rng, least: int, most: int) -> np.ndarray:
    return np.array([rng.multinomial(rng.integers(least, most + 1), rng.dirichlet([0.5] * 3)) for _ in range(40)])


@given
def counts_with_total(folder: Path, rng: Rng) -> Given:
    yes, no = rng.integers(0, 6, (2, 40))
    columns = {"comment_id": range(40), "n_yes": yes, "n_no": no, "n_total": yes + no}
    return Given(written(folder, columns), refused="hold counts, not labels, by their names")


@given
def counts_of_different_numbers(folder: Path, rng: Rng) -> Given:
    columns = dict(zip(("positive", "neutral", "negative"), counted(rng, 3, 6).T.tolist(), strict=True))
    return Given(wide(folder, columns, "tweet_id"), refused="count annotators per category: read one row per label")


@given
def crossed_counts_with_margins(folder: Path, rng: Rng) -> Given:
    path = text(folder, "ann \\ bob,yes,no,All\nyes,22,3,25\nno,4,11,15\nAll,26,14,40\n")
    return Given(path, refused="rows and columns have the same names")


@given
def shares_of_labels(folder: Path, rng: Rng) -> Given:
    columns = dict(zip(("entailment", "neutral", "contradiction"), (counted(rng, 5, 5) / 5).T.tolist(), strict=True))
    return Given(wide(folder, columns, "snippet_id"), refused="hold shares of categories, not labels")


@given
def counts_in_objects(folder: Path, rng: Rng) -> Given:
    rows = [{"uid": f"u{i}", "votes": {"yes": int(n), "no": 5 - int(n)}} for i, n in enumerate(rng.integers(0, 6, 30))]
    return Given(records(folder, rows), refused="hold counts, not labels: each row sums to 5")


# -- matrices ------------------------------------------------------------------------------------------------


@given
def raters_in_rows(folder: Path, rng: Rng) -> Given:
    labels, who = scores(rng, 15, 4), ["Dr. Weiß", "Dr. Braun", "Dr. Roth", "Dr. Grün"]
    columns = {"Rater": who, **{f"Slide{k}": labels[k].tolist() for k in range(15)}}
    right = [(f"Slide{k}", name, "", labels[k, j]) for k in range(15) for j, name in enumerate(who)]
    return Given(written(folder, columns), right, asked=True)


@given
def no_header(folder: Path, rng: Rng) -> Given:
    path = text(folder, "".join(f"doc{i},{','.join(rng.choice(['yes', 'no', 'unsure'], 3))}\n" for i in range(25)))
    return Given(path, refused="so the first row seems to be data")


# -- lists and objects ---------------------------------------------------------------------------------------


def answers_of(rng: Rng, n: int = 30) -> list[dict[str, int]]:
    """The answers 0 or 1 of three of six workers on each item."""
    found = []
    for _ in range(n):
        truth = int(rng.integers(0, 2))
        found.append({f"a{w}": truth if rng.random() < 0.8 else 1 - truth for w in rng.choice(6, 3, replace=False)})
    return found


def answered(answers: Sequence[Mapping[str, int]]) -> list[Row]:
    return [(f"x{i}", who, "", label) for i, one in enumerate(answers) for who, label in one.items()]


@given
def objects_by_annotator(folder: Path, rng: Rng) -> Given:
    answers = answers_of(rng)
    rows = {
        f"x{i}": {"text": f"Tweet {i}", "number of annotations": 3, "annotators": ",".join(one), "annotations": one,
                  "soft_label": {"0": 0.25, "1": 0.75}}
        for i, one in enumerate(answers)
    }  # fmt: skip
    return Given(text(folder, json.dumps(rows), "t.json"), answered(answers))


@given
def lists_as_python_prints_them(folder: Path, rng: Rng) -> Given:
    answers = answers_of(rng)
    rows = [(f"x{i}", str(list(one)), str(list(one.values()))) for i, one in enumerate(answers)]
    return Given(long(folder, ("id", "annotators", "annotations"), rows), answered(answers))


@given
def lists_as_numpy_prints_them(folder: Path, rng: Rng) -> Given:
    answers = answers_of(rng)
    rows = [(f"x{i}", str(np.array(list(one))), str(np.array(list(one.values())))) for i, one in enumerate(answers)]
    return Given(long(folder, ("id", "worker_ids", "labels"), rows), answered(answers))


@given
def objects_as_python_prints_them(folder: Path, rng: Rng) -> Given:
    answers = answers_of(rng)
    return Given(long(folder, ("id", "annotations"), [(f"x{i}", str(one)) for i, one in enumerate(answers)]),
                 answered(answers))  # fmt: skip


@given
def lists_of_objects(folder: Path, rng: Rng) -> Given:
    answers = answers_of(rng)
    rows = [{"case_id": f"x{i}", "ratings": [{"rater": w, "score": v, "when": "2024-01-01"} for w, v in one.items()]}
            for i, one in enumerate(answers)]  # fmt: skip
    return Given(records(folder, rows), answered(answers))


@given
def scores_without_names(folder: Path, rng: Rng) -> Given:
    labels = scores(rng, 30, 3).tolist()
    rows = [{"qid": f"q{i}", "answer": f"Some answer {i} to it", "human_scores": one} for i, one in enumerate(labels)]
    return Given(records(folder, rows), [(f"q{i}", k + 1, "", v) for i, one in enumerate(labels)
                                         for k, v in enumerate(one)])  # fmt: skip


@given
def objects_by_annotator_and_criterion(folder: Path, rng: Rng) -> Given:
    rows, right = [], list[Row]()
    for i in range(25):
        found = dict(zip(PEOPLE, scores(rng, 3, 2).tolist(), strict=True))
        evals = {who: {"fluency": one[0], "relevance": one[1]} for who, one in found.items()}
        rows.append({"id": f"x{i}", "evals": evals})
        right += [(f"x{i}", who, criterion, v) for who, one in evals.items() for criterion, v in one.items()]
    return Given(records(folder, rows), right)


# -- one label in two spellings ------------------------------------------------------------------------------


def respelled(folder: Path, rng: Rng, labels: Sequence[str], spell: Callable[[str], str], refused: str = "") -> Given:
    """One annotator spells the labels of the others differently."""
    columns = words(rng, labels)
    right = () if refused else cells_of(columns)
    columns["cho"] = [spell(label) for label in columns["cho"]]
    return Given(wide(folder, columns), right, refused, NAMED, asked=True)


@given
def decomposed_letters(folder: Path, rng: Rng) -> Given:
    return respelled(folder, rng, ("Übung", "Prüfung"), lambda label: unicodedata.normalize("NFD", label))


@given
def underscores_and_capitals(folder: Path, rng: Rng) -> Given:
    labels = ("not relevant", "somewhat relevant", "relevant")
    return respelled(folder, rng, labels, lambda label: label.upper().replace(" ", "_"), "differ only in spelling")


@given
def hyphens_and_periods(folder: Path, rng: Rng) -> Given:
    labels = ("agree", "strongly agree", "disagree")
    return respelled(folder, rng, labels, lambda label: label.replace(" ", "-") + ".", "differ only in spelling")


@given
def spaces_in_sums(folder: Path, rng: Rng) -> Given:
    found = respelled(folder, rng, ("3+3", "3+4", "4+4"), lambda x: x.replace("+", " + "), "differ only in spelling")
    return Given(found.source, (), found.refused, {**NAMED, "scale": "nominal"})


@given
def another_language(folder: Path, rng: Rng) -> Given:
    return respelled(folder, rng, ("no", "yes"), {"no": "non", "yes": "oui"}.__getitem__, "'cho' is listed in humans")


@given
def another_language_of_an_unnamed_annotator(folder: Path, rng: Rng) -> Given:
    found = another_language(folder, rng)
    return Given(found.source, (), "in other words. If it is an annotator, write its labels", {"layout": "wide"})


@given
def numbers_with_words(folder: Path, rng: Rng) -> Given:
    said = {"1": "1 = never", "2": "2 = sometimes", "3": "3 = always"}
    return respelled(folder, rng, ("1", "2", "3"), said.__getitem__, "'cho' is listed in humans")


# -- other ranges, and codes of missing answers --------------------------------------------------------------


@given
def judge_up_to_hundred(folder: Path, rng: Rng) -> Given:
    columns = numbers(rng, 40) | {"llama": [20 * v for v in numbers(rng, 40)["ann"]]}
    return Given(wide(folder, columns), refused="'llama' is listed in judges, but", options={"judges": ["llama"]})


def coded(folder: Path, rng: Rng, code: int, words_: str) -> Given:
    """Every annotator has two missing answers with a code."""
    columns = numbers(rng, 60)
    for column in columns.values():
        for k in rng.choice(60, 2, replace=False):
            column[k] = code
    right = [row for row in cells_of(columns) if row[3] != code]
    return Given(wide(folder, columns), right, words_, NAMED)


@given
def missing_answers_as_99(folder: Path, rng: Rng) -> Given:
    return coded(folder, rng, 99, "'ann', 'bob', 'cho' have the label 99 in 6 rows")


@given
def missing_answers_as_9(folder: Path, rng: Rng) -> Given:
    return coded(folder, rng, 9, "Set missing=[9] if it is a missing value")


@given
def missing_answers_as_minus_9(folder: Path, rng: Rng) -> Given:
    return coded(folder, rng, -9, "'ann', 'bob', 'cho' have the label -9 in 6 rows, the other labels range from 1 to 5")


@given
def missing_answers_as_998_and_999(folder: Path, rng: Rng) -> Given:
    labels = scores(rng, 60, 3, 7).tolist()
    rows = [(f"i{i}", f"R{k}", {5: 998, 11: 999}.get(i, labels[i][k])) for i in range(60) for k in range(3)]
    right = [(i, who, "", label) for i, who, label in rows if label < 900]
    said = "have the labels 998, 999 in 6 rows, the other labels range from 1 to 7. Set missing=[998, 999]"
    return Given(long(folder, ("case_id", "rater", "severity"), rows), right, said)


# -- ranks ---------------------------------------------------------------------------------------------------


@given
def ranks_of_systems(folder: Path, rng: Rng) -> Given:
    rows = [(f"q{i}", who, *(rng.permutation(3) + 1).tolist()) for i in range(25) for who in PEOPLE]
    right = [(r[0], r[1], name, r[2 + k]) for r in rows for k, name in enumerate(("sysA", "sysB", "sysC"))]
    return Given(long(folder, ("query", "annotator", "sysA", "sysB", "sysC"), rows), right, asked=True)


# -- spreadsheets --------------------------------------------------------------------------------------------


def marked(folder: Path, rng: Rng, *marks: str, end: str = "") -> Given:
    columns = numbers(rng)
    path = wide(folder, {who: [f"{v}{marks[k % len(marks)] if k in (3, 9) and who == 'bob' else ''}"
                               for k, v in enumerate(column)] for who, column in columns.items()})  # fmt: skip
    return Given(text(folder, path.read_text() + end), cells_of(columns), options=NAMED)


@given
def footnote_stars(folder: Path, rng: Rng) -> Given:
    return marked(folder, rng, "*", "**", end=",,,\n* the rater was unsure,,,\n")


@given
def footnote_numbers(folder: Path, rng: Rng) -> Given:
    return marked(folder, rng, "†", "¹")


@given
def unit_of_all_labels(folder: Path, rng: Rng) -> Given:
    columns = numbers(rng)
    found = {who: [f"{v} pt{'s' * (v > 1)}" for v in column] for who, column in columns.items()}
    return Given(wide(folder, found), cells_of(columns), options=NAMED)


@given
def three_header_rows(folder: Path, rng: Rng) -> Given:
    labels = scores(rng, 20, 4).tolist()
    names = [("Coherence", "Ann"), ("Coherence", "Bob"), ("Fluency", "Ann"), ("Fluency", "Bob")]
    head = [["", "Coherence", "", "Fluency", ""], ["ID", "Ann", "Bob", "Ann", "Bob"], ["", *["(1-5)"] * 4]]
    path = xlsx(folder / "t.xlsx", {"Sheet1": [*head, *([f"i{k}", *row] for k, row in enumerate(labels))]})
    right = [(f"i{k}", who, kind, v) for k, row in enumerate(labels) for (kind, who), v in zip(names, row, strict=True)]
    return Given(path, right)


def two_levels(rng: Rng) -> tuple[pd.DataFrame, list[Row]]:
    labels = scores(rng, 20, 4)
    columns = pd.MultiIndex.from_product([["ann", "bob"], ["clarity", "tone"]], names=["rater", "criterion"])
    frame = pd.DataFrame(labels, index=pd.Index([f"i{k}" for k in range(20)], name="item"), columns=columns)
    return frame, [(f"i{k}", who, kind, labels[k, j]) for k in range(20) for j, (who, kind) in enumerate(columns)]


@given
def columns_with_two_levels(folder: Path, rng: Rng) -> Given:
    return Given(*two_levels(rng))


@given
def columns_with_two_levels_in_a_file(folder: Path, rng: Rng) -> Given:
    frame, right = two_levels(rng)
    frame.to_csv(folder / "t.csv")
    return Given(folder / "t.csv", right)


@given
def rows_with_two_levels(folder: Path, rng: Rng) -> Given:
    labels = scores(rng, 20, 3)
    index = pd.MultiIndex.from_product([[f"i{k}" for k in range(20)], PEOPLE], names=["item", "rater"])
    right = [(f"i{k}", who, "", labels[k, j]) for k in range(20) for j, who in enumerate(PEOPLE)]
    return Given(pd.Series(labels.ravel(), index=index, name="score").to_frame(), right)


@given
def missing_values_of_mysql(folder: Path, rng: Rng) -> Given:
    labels = scores(rng, 30, 4).tolist()
    rows = [(i, f"u{w}", r"\N" if (i + w) % 9 == 0 else str(labels[i][w]), r"\N" if i % 3 else "a comment here")
            for i in range(30) for w in range(4)]  # fmt: skip
    path = long(folder, ("item_id", "user_id", "rating", "comment"), rows, separator="\t")
    return Given(path, [(i, who, "", label) for i, who, label, _ in rows if label != r"\N"])


@given
def labels_that_became_dates(folder: Path, rng: Rng) -> Given:
    columns = words(rng, ("2024-02-01", "2024-04-03", "2024-06-05"))
    return Given(wide(folder, columns), refused="look like dates", options={"columns": list(PEOPLE)})


@given
def german_grades(folder: Path, rng: Rng) -> Given:
    grades = {who: [(v + 1) / 2 for v in column] for who, column in numbers(rng, 40, 11).items()}
    rows = [(f"i{k:02}", who, f"{v:.1f}".replace(".", ","), "31.12.2023") for who, column in grades.items()
            for k, v in enumerate(column)]  # fmt: skip
    return Given(long(folder, ("Aufsatz", "Prüfer", "Note", "Datum"), rows, separator=";"), cells_of(grades))


@given
def mean_and_range_of_raters(folder: Path, rng: Rng) -> Given:
    columns = numbers(rng)
    rows = np.array(list(columns.values()))
    computed = {"Ø": rows.mean(axis=0).round(2).tolist(), "Diff": np.ptp(rows, axis=0).tolist()}
    return Given(wide(folder, columns | computed), cells_of(columns), options=NAMED)


@given
def errors_of_formulas(folder: Path, rng: Rng) -> Given:
    columns = numbers(rng)
    columns["bob"][4], columns["cho"][7] = "#N/A", "#REF!"
    right = [row for row in cells_of(columns) if not str(row[3]).startswith("#")]
    return Given(wide(folder, columns), right, options=NAMED)


@given
def words_for_missing_values(folder: Path, rng: Rng) -> Given:
    columns = numbers(rng, 40)
    columns["ann"][3], columns["cho"][9] = "n/a (image too dark)", "not assessable"
    right = [row for row in cells_of(columns) if isinstance(row[3], int)]
    return Given(wide(folder, columns), right, options=NAMED, asked=True)


@given
def rows_of_sections(folder: Path, rng: Rng) -> Given:
    columns = numbers(rng)
    lines = wide(folder, columns).read_text().splitlines()
    for k in (21, 11, 1):
        lines.insert(k, f"Class {k},,,")
    return Given(text(folder, "\n".join(lines)), cells_of(columns), options=NAMED)


# -- labels in other notations -------------------------------------------------------------------------------


def rewritten(folder: Path, rng: Rng, write: Callable[[int], str], n: int = 30, top: int = 5, **given: Any) -> Given:
    """Labels of three annotators, each written by a function of its number."""
    columns = numbers(rng, n, top)
    path = wide(folder, {who: [write(v) for v in column] for who, column in columns.items()})
    return Given(path, cells_of(columns), options=NAMED, **given)


@given
def filled_and_empty_stars(folder: Path, rng: Rng) -> Given:
    return rewritten(folder, rng, lambda v: "★" * v + "☆" * (5 - v))


@given
def plus_signs(folder: Path, rng: Rng) -> Given:
    return rewritten(folder, rng, lambda v: "+" * v, top=3)


@given
def minus_and_plus_signs(folder: Path, rng: Rng) -> Given:
    """A minus is a missing value among numbers, and the lowest label of pathologists."""
    found = rewritten(folder, rng, lambda v: "-+"[v > 1] * max(v - 1, 1), top=4)
    return Given(found.source, refused="'-' next to '+' can be missing values or the lowest label", options=NAMED)


@given
def apostrophes_between_thousands(folder: Path, rng: Rng) -> Given:
    columns = {who: [250 * v for v in column] for who, column in numbers(rng, 30, 20).items()}
    path = wide(folder, {who: [f"{v:,}".replace(",", "'") for v in column] for who, column in columns.items()})
    return Given(path, cells_of(columns), options=NAMED)


@given
def fractions_in_one_letter(folder: Path, rng: Rng) -> Given:
    columns = {who: [(v + 1) / 2 for v in column] for who, column in numbers(rng, 30, 9).items()}
    path = wide(folder, {who: [f"{int(v)}{'½' * (v % 1 > 0)}" for v in column] for who, column in columns.items()})
    return Given(path, cells_of(columns), options=NAMED)


@given
def judge_writes_parts_of_five(folder: Path, rng: Rng) -> Given:
    columns = numbers(rng, 40)
    path = wide(folder, {who: [f"{v}/5" if who == "cho" else str(v) for v in each] for who, each in columns.items()})
    return Given(path, cells_of(columns), options={"judges": ["cho"], "humans": ["ann", "bob"]})


MEANINGS = {1: "1 = never", 2: "2 = sometimes", 3: "3 = always"}


@given
def numbers_with_their_meaning(folder: Path, rng: Rng) -> Given:
    found = rewritten(folder, rng, MEANINGS.__getitem__, top=3)
    right = [(i, who, kind, MEANINGS[v]) for i, who, kind, v in found.rows]
    return Given(found.source, right, "ordinal:1 = never<2 = sometimes<3 = always", NAMED, asked=True)


@given
def meaning_of_the_ends_only(folder: Path, rng: Rng) -> Given:
    write = {1: "1 (not at all)", 5: "5 (very much)"}
    return rewritten(folder, rng, lambda v: write.get(v, str(v)), refused="mix numbers and text", asked=True)


@given
def grades_with_a_plus(folder: Path, rng: Rng) -> Given:
    """Labels 0, 1+, 2+ and 3+."""
    columns = numbers(rng, 30, 4)
    path = wide(folder, {who: [f"{v - 1}+" if v > 1 else "0" for v in column] for who, column in columns.items()})
    return Given(path, [(*row[:3], row[3] - 1) for row in cells_of(columns)], "codes=", NAMED, asked=True)


@given
def meaning_in_some_columns(folder: Path, rng: Rng) -> Given:
    """Two of three annotators write the meaning of each number."""
    labels = scores(rng, 30, 3, 3).tolist()
    rows = {f"rater{w + 1}": [str(v[w]) if w == 2 else MEANINGS[v[w]] for v in labels] for w in range(3)}
    right = [(f"i{k:02}", f"rater{w + 1}", "", v[w]) for k, v in enumerate(labels) for w in range(3)]
    return Given(wide(folder, rows), right, "does it also hold labels?", asked=True)


def converted(folder: Path, rng: Rng, dates: Mapping[str, str], labels: Sequence[str], who: Iterable[str]) -> Given:
    """A spreadsheet has converted some labels of these annotators to dates."""
    found = words(rng, labels)
    rows = {f"rater {k + 1}": [dates.get(v, v) if name in who else v for v in found[name]]
            for k, name in enumerate(PEOPLE)}  # fmt: skip
    right = [(f"i{k:02}", f"rater {w + 1}", "", v) for w, one in enumerate(found.values()) for k, v in enumerate(one)]
    return Given(wide(folder, rows, separator=";"), right, "look like dates", asked=True)


@given
def ranges_that_became_dates(folder: Path, rng: Rng) -> Given:
    return converted(folder, rng, {"1-5": "5-Jan", "6-10": "10-Jun"}, ("1-5", "6-10", "11-15"), PEOPLE)


@given
def ranges_of_one_annotator_that_became_dates(folder: Path, rng: Rng) -> Given:
    return converted(folder, rng, {"1-2": "02-Jan", "3-4": "04-Mar"}, ("1-2", "3-4", "5-6"), ["bob"])


@given
def decimals_that_became_dates(folder: Path, rng: Rng) -> Given:
    return converted(folder, rng, {"1.5": "01. Mai", "2.5": "02. Mai"}, ("1", "1.5", "2", "2.5", "3"), PEOPLE)


@given
def dates_of_either_order(folder: Path, rng: Rng) -> Given:
    """Nothing shows whether the labels were 1/2 or 2/1."""
    found = converted(folder, rng, {"1/2": "2-Jan", "2/1": "1-Feb"}, ("1/2", "2/1"), PEOPLE)
    return Given(found.source, (), "look like dates", {"columns": ["rater 1", "rater 2", "rater 3"]})


@given
def ranges_of_ages(folder: Path, rng: Rng) -> Given:
    columns = words(rng, ("18-24", "25-34", "35-44"))
    return Given(wide(folder, columns), cells_of(columns), "ordinal:18-24<25-34<35-44", NAMED, asked=True)


# -- crosses -------------------------------------------------------------------------------------------------


def crossed(folder: Path, rng: Rng, names: Mapping[str, str]) -> Given:
    """One row per item and annotator, and a cross in the column of the label."""
    found = words(rng, list(names), 20)
    rows = [(f"d{k}", who, *("x" if label == one else "" for one in names))
            for who, labels in found.items() for k, label in enumerate(labels)]  # fmt: skip
    right = [(f"d{k}", who, "", label) for who, labels in found.items() for k, label in enumerate(labels)]
    return Given(long(folder, ("document", "rater", *names.values()), rows), right)


@given
def crosses_under_categories(folder: Path, rng: Rng) -> Given:
    return crossed(folder, rng, {"ok": "ok", "minor": "minor", "major": "major"})


@given
def crosses_under_categories_of_a_question(folder: Path, rng: Rng) -> Given:
    return crossed(folder, rng, {"warm": "tone:::warm", "cold": "tone:::cold"})


@given
def several_crosses_in_a_row(folder: Path, rng: Rng) -> Given:
    rows = [(f"d{k}", who, "x", "" if k % 3 else "x", "x" if k % 2 else "") for k in range(20) for who in PEOPLE]
    path = long(folder, ("document", "rater", "joy", "anger", "fear"), rows)
    return Given(path, refused="'anger', 'fear' contain only 'x' or empty")


@given
def crosses_for_yes(folder: Path, rng: Rng) -> Given:
    columns = {f"rater{k}": ["x" if v == "yes" else "" for v in one]
               for k, one in enumerate(words(rng, ("yes", "no")).values())}  # fmt: skip
    return Given(wide(folder, columns), refused="contain only 'x' or empty; if an empty cell means")


# -- forms, markers and totals -------------------------------------------------------------------------------


@given
def form_with_consent_and_address(folder: Path, rng: Rng) -> Given:
    labels = scores(rng, 6, 9)
    columns = {"Start Date": [f"2024-01-01 10:0{w}:00" for w in range(9)],
               "IP Address": [f"1.1.1.{w}" for w in range(9)],
               "Respondent ID": [f"{7000 + 13 * w}" for w in range(9)], "Collector ID": ["4022"] * 9,
               "Q1": ["Yes"] * 9, **{f"{k + 1}_Q2": labels[k].tolist() for k in range(6)}}  # fmt: skip
    right = [(f"{k + 1}_Q2", 7000 + 13 * w, "", labels[k, w]) for k in range(6) for w in range(9)]
    return Given(written(folder, columns), right, asked=True)


@given
def second_marker_of_some(folder: Path, rng: Rng) -> Given:
    labels, rows = scores(rng, 20, 2, 25), []
    for k in range(20):
        both = rng.choice(["AB", "CD", "EF"], 2, replace=False)
        rows += [
            (2000 + k, place, both[w], int(labels[k, w])) for w, place in enumerate(("1st", "2nd")) if w * (k % 2) < 1
        ]
    right = [(candidate, who, "", mark) for candidate, _, who, mark in rows]
    return Given(long(folder, ("Candidate No", "Marking", "Marker", "Mark"), rows), right, asked=True)


@given
def first_and_second_marker(folder: Path, rng: Rng) -> Given:
    labels = scores(rng, 20, 2, 20).T.tolist()
    columns = {
        "First marker": labels[0],
        "Second marker": labels[1],
        "Agreed": [max(v) for v in zip(*labels, strict=True)],
    }
    return Given(wide(folder, columns, "script"), cells_of({n: columns[n] for n in list(columns)[:2]}), asked=True)


@given
def markers_in_french(folder: Path, rng: Rng) -> Given:
    columns = {f"Correcteur {k + 1}": one for k, one in enumerate(numbers(rng, 20, 20).values())}
    return Given(wide(folder, columns, "copie", separator=";"), cells_of(columns))


@given
def column_called_judge(folder: Path, rng: Rng) -> Given:
    columns = dict(zip(("rater1", "rater2", "judge"), numbers(rng).values(), strict=True))
    more = {"judge_logprob": rng.uniform(-1, 0, 30).round(3).tolist()}
    return Given(wide(folder, columns | more), cells_of(columns), options={"judges": ["judge"]})


@given
def texts_of_a_judge(folder: Path, rng: Rng) -> Given:
    columns = {"human": numbers(rng)["ann"], "gpt-4o": [f"It is fine. Rating: {k % 5 + 1}" for k in range(30)]}
    return Given(wide(folder, columns), refused="'human' has the name of an annotator, but its column holds numbers")


def with_last_row(folder: Path, rng: Rng, name: str, of: Callable[[np.ndarray], np.ndarray]) -> Given:
    labels = scores(rng, 12, 3)
    rows = [(f"i{k:02}", *one) for k, one in enumerate(labels.tolist())]
    names = ("rater1", "rater2", "rater3")
    path = long(folder, ("essay", *names), [*rows, (name, *of(labels).round(2).tolist())])
    return Given(path, cells_of(dict(zip(names, labels.T.tolist(), strict=True))))


@given
def totals_in_the_last_row(folder: Path, rng: Rng) -> Given:
    return with_last_row(folder, rng, "Gesamtergebnis", lambda labels: labels.sum(axis=0).astype(float))


@given
def means_in_the_last_row(folder: Path, rng: Rng) -> Given:
    return with_last_row(folder, rng, "Klasse", lambda labels: labels.mean(axis=0))


@given
def pivot_table(folder: Path, rng: Rng) -> Given:
    columns = numbers(rng, 12)
    lines = wide(folder, columns, "Row Labels").read_text()
    return Given(text(folder, f"Average of Score,Column Labels,,\n{lines}"), cells_of(columns), options=NAMED)


# -- files ---------------------------------------------------------------------------------------------------


@given
def file_of_each_annotator(folder: Path, rng: Rng) -> Given:
    columns, files = numbers(rng, 15), []
    for who, labels in columns.items():
        wide(folder, {"score": labels}, "essay").rename(folder / f"{who}.csv")
        files.append(folder / f"{who}.csv")
    return Given(files, cells_of(columns))


@given
def file_of_each_annotator_with_criteria(folder: Path, rng: Rng) -> Given:
    files, right = [], list[Row]()
    for who in PEOPLE:
        columns = dict(zip(("clarity", "tone"), scores(rng, 15, 2).T.tolist(), strict=True))
        wide(folder, columns, "essay").rename(folder / f"{who}.csv")
        files.append(folder / f"{who}.csv")
        right += [(i, who, criterion, v) for i, criterion, _, v in cells_of(columns)]
    return Given(files, right)


@given
def frame_as_pandas_writes_it(folder: Path, rng: Rng) -> Given:
    columns = numbers(rng, 12)
    frame = pd.DataFrame({"item": [f"i{k:02}" for k in range(12)], **columns})
    return Given(text(folder, frame.to_json(), "t.json"), cells_of(columns), options=NAMED)


@given
def frame_as_pandas_splits_it(folder: Path, rng: Rng) -> Given:
    columns = numbers(rng, 12)
    frame = pd.DataFrame({"item": [f"i{k:02}" for k in range(12)], **columns})
    return Given(text(folder, frame.to_json(orient="split"), "t.json"), cells_of(columns), options=NAMED)


@given
def encoding_of_another_script(folder: Path, rng: Rng) -> Given:
    path = wide(folder, dict(zip(("张三", "李四", "王五"), numbers(rng, 12).values(), strict=True)), "编号")
    path.write_bytes(path.read_text().encode("gbk"))
    return Given(path, refused="is neither UTF-8 nor UTF-16 nor Windows text")


@given
def objects_in_text_in_objects(folder: Path, rng: Rng) -> Given:
    """As workers of Ground Truth answer."""
    answers = answers_of(rng)
    rows = [{"datasetObjectId": f"x{i}", "annotations": [
        {"workerId": f"private.{w}", "annotationData": {"content": json.dumps({"class": {"label": v}})}}
        for w, v in one.items()]} for i, one in enumerate(answers)]  # fmt: skip
    return Given(
        text(folder, json.dumps(rows), "t.json"), [(i, f"private.{w}", "", v) for i, w, _, v in answered(answers)]
    )


@given
def objects_of_another_form(folder: Path, rng: Rng) -> Given:
    rows = [{"id": f"x{i}", "content": f"text {i}", "classes": [
        {"classname": "good", "annotated_by": [{"annotator": who} for who in PEOPLE]}]} for i in range(10)]  # fmt: skip
    return Given(
        records(folder, rows), refused="'classes' contains objects of another form than those that assay reads"
    )


@given
def flat_export_of_label_studio(folder: Path, rng: Rng) -> Given:
    """The labels differ between the annotations of one task, the text does not."""
    rows, right = [], list[Row]()
    for who, labels in words(rng, ("good", "bad"), 12).items():
        for k, label in enumerate(labels):
            rows.append((k + 1, 100 + len(rows), who, f"text {k}", label, 3.5, "2024-03-01", "2024-03-01"))
            right.append((k + 1, who, "tone", label))
    names = ("id", "annotation_id", "annotator", "text", "tone", "lead_time", "created_at", "updated_at")
    return Given(long(folder, names, rows), right)


@given
def several_voters_on_one_instruction(folder: Path, rng: Rng) -> Given:
    """As AlpacaEval writes the annotations of several people."""
    rows, right = [], list[Row]()
    for k in range(12):
        for w, vote in enumerate(rng.integers(1, 3, 4).tolist()):
            rows.append({"instruction": f"do {k}", "output_1": f"first text {k}", "output_2": f"second text {k}",
                         "annotator_index": w, "preference": vote})  # fmt: skip
            right.append((f"do {k}", w, "", 2 * vote - 3))
    return Given(text(folder, json.dumps(rows), "t.json"), right)


# -- the test ------------------------------------------------------------------------------------------------


def test_inputs_of_users_are_many() -> None:
    assert len(INPUTS) >= 50


@pytest.mark.parametrize("name", INPUTS)
def test_read_inputs_of_users(name: str, tmp_path: Path) -> None:
    check_reading(INPUTS[name], tmp_path)


def test_a_workbook_of_people_and_a_file_of_the_judge_are_read_as_advised(tmp_path, run, monkeypatch):
    """The commands of the errors, one after the other, end in an analysis; no error asks to remove what one added."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    truth = rng.integers(1, 6, 60)
    scores = {name: np.where(rng.random(60) < 0.2, rng.integers(1, 6, 60), truth) for name in ("Ann", "Bob", "gpt-4o")}
    sheet = {
        name: [["doc", "score"], *([f"D{k:02}", int(x)] for k, x in enumerate(scores[name]))] for name in ("Ann", "Bob")
    }
    xlsx(tmp_path / "coders.xlsx", sheet)
    pl.DataFrame({"doc": [f"D{k:02}" for k in range(60)], "gpt-4o": scores["gpt-4o"]}).write_csv("model.csv")
    command = ["agreement", "coders.xlsx", "model.csv", "--coefficients", "exact-agreement"]
    for _ in range(4):
        status, _, error = run(*command)
        if status == 0:
            break
        command = shlex.split(error.partition("If this is right, run: assay ")[2])
    assert status == 0, error
    assert "--sheet Ann,Bob" in shlex.join(command)
    assert "model.csv is a text file, so --sheet ... is not used for it" in error


def test_advice_about_one_of_several_sheets_is_a_call_and_a_command_that_read_it(tmp_path, run, monkeypatch):
    """Each of two teams heads the columns of its people in its own way."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    heads = {
        "Team A": ("Text", "Place", "Ann (1-5)", "Bob (1-5)", "Rude"),
        "Team B": ("Text", "Place", "Cho", "Dan", "Rude?"),
    }
    sheets = {
        name: [
            head,
            *([f"T{k:02}", f"Ward {k % 4}", *map(int, rng.integers(1, 6, 2)), ("Yes", "No")[k % 2]] for k in range(40)),
        ]
        for name, head in heads.items()
    }
    xlsx(tmp_path / "teams.xlsx", sheets)
    how = {"item": "Text", "layout": "wide", "columns": ["Ann (1-5)", "Bob (1-5)"], "match": "loose"}
    with pytest.raises(assay.errors.DataError) as refused:
        assay.read("teams.xlsx", sheet=["Team A", "Team B"], **how)
    call = re.search(r"assay\.read\(.*\)$", str(refused.value), re.MULTILINE)[0]
    assert call.startswith("assay.read('teams.xlsx', sheet='Team A', ")
    read = eval(call)
    assert (read.n_items, len(read.humans)) == (40, 4)
    typed = ["--item", "Text", "--wide", "--columns", "Ann (1-5),Bob (1-5)", "--match", "loose"]
    for command in ("look", "agreement"):
        _, _, error = run(command, "teams.xlsx", "--sheet", "Team A,Team B", *typed)
        look = re.search(r"assay (look teams.xlsx --sheet 'Team B' .* --write 'Team B.yaml')", error)[1]
        assert "Then leave 'Team B' out of --sheet, and use --labels-from 'Team B.yaml'." in error
        assert run(*shlex.split(look), "--force")[0] == 0
    status, out, _ = run("agreement", "teams.xlsx", "--sheet", "Team A", *typed, "--labels-from", "Team B.yaml")
    assert (status, "4 humans" in out) == (0, True)
