"""Tables of many designs, with usual names, unusual names and no names: read rightly, or asked about.

Labels come from a latent quality of each item, so that annotators agree. A table is *right* if it is read as its design
says, *asked* if it is refused with the right reading among the choices, *poor* if it is refused without it, and *wrong*
if it is read as something else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

import assay
from assay.errors import AssayError, DataError

Rng = np.random.Generator
Cells = Counter[tuple[str, ...]]


@dataclass(frozen=True)
class Design:
    """The columns of a table, and those of item, annotator and labels; a wide table has several annotators."""

    columns: dict[str, list[Any]]
    item: tuple[str, ...] = ("item",)
    who: tuple[str, ...] = ("who",)
    labels: tuple[str, ...] = ("label",)


def five(rng: Rng, value: float, noise: float = 0.8) -> int:
    return int(np.clip(round(3 + 1.2 * (value + noise * rng.normal())), 1, 5))


def rows_of(rng: Rng, n_items: int, n_people: int, each: int, **further: Callable[[float], Any]) -> list[list[Any]]:
    """Item, annotator and label in random order; further labels are made from the quality of the item."""
    rows = []
    for i in range(n_items):
        quality = rng.normal()
        people = rng.choice(n_people, each, replace=False).tolist()
        rows += [[i, who, five(rng, quality), *(make(quality) for make in further.values())] for who in people]
    return [rows[k] for k in rng.permutation(len(rows))]


def plain(rng: Rng) -> Design:
    rows = rows_of(rng, 40, 6, 6)
    return Design(
        {"item": [f"d{r[0]:03}" for r in rows], "who": [f"p{r[1]}" for r in rows], "label": [r[2] for r in rows]}
    )


def crowd(rng: Rng) -> Design:
    """More annotators than items, both with numbers as ids."""
    rows = rows_of(rng, 60, 80, 5)
    return Design(
        {"item": [1000 + r[0] for r in rows], "who": [13 + 7 * r[1] for r in rows], "label": [r[2] for r in rows]}
    )


def demographics(rng: Rng) -> Design:
    rows = rows_of(rng, 40, 15, 4)
    gender, age = rng.choice(["m", "f"], 15).tolist(), rng.integers(1, 6, 15).tolist()
    topic, length = rng.choice(["news", "blog", "web"], 40).tolist(), rng.integers(5, 50, 40).tolist()
    return Design({
        "item": [f"d{r[0]}" for r in rows], "who": [r[1] for r in rows], "gender": [gender[r[1]] for r in rows],
        "age": [age[r[1]] for r in rows], "topic": [topic[r[0]] for r in rows], "length": [length[r[0]] for r in rows],
        "label": [r[2] for r in rows],
    })  # fmt: skip


def texts(rng: Rng) -> Design:
    rows = rows_of(rng, 40, 10, 4)
    text = "This is the text number {} of those that annotators judged in this study"
    return Design({
        "item": [r[0] for r in rows], "text": [text.format(r[0]) for r in rows], "who": [f"w{r[1]}" for r in rows],
        "label": [r[2] for r in rows],
    })  # fmt: skip


def yes_or_no(rng: Rng) -> Design:
    rows = rows_of(rng, 80, 9, 4)
    return Design({"item": [f"t{r[0]}" for r in rows], "who": [r[1] for r in rows],
                   "label": ["yes" if r[2] > 3 else "no" for r in rows]})  # fmt: skip


def criteria(rng: Rng) -> Design:
    rows = rows_of(rng, 40, 6, 3, fluency=lambda q: five(rng, q), coherence=lambda q: five(rng, q))
    return Design({
        "item": [f"s{r[0]}" for r in rows], "who": [f"w{r[1]}" for r in rows], "fluency": [r[3] for r in rows],
        "coherence": [r[4] for r in rows],
    }, labels=("fluency", "coherence"))  # fmt: skip


def lessons(rng: Rng) -> Design:
    """Lessons 1 to 4 of each teacher."""
    rows: list[list[Any]] = []
    for teacher in range(12):
        own = rng.normal()
        for lesson in range(1, 5):
            quality = own + 0.5 * rng.normal()
            rows += [[f"T{teacher}", lesson, f"R{w}", five(rng, quality)] for w in rng.choice(6, 3, replace=False)]
    rows = [rows[k] for k in rng.permutation(len(rows))]
    names = ("teacher", "lesson", "who", "label")
    return Design({n: [r[k] for r in rows] for k, n in enumerate(names)}, item=("teacher", "lesson"))


def systems(rng: Rng) -> Design:
    """Outputs of three systems on each document."""
    rows: list[list[Any]] = []
    for doc in range(25):
        for system in range(3):
            quality = rng.normal() + 0.4 * system
            rows += [[f"d{doc}", f"sys{system}", f"ann{w}", five(rng, quality)] for w in range(3)]
    rows = [rows[k] for k in rng.permutation(len(rows))]
    names = ("doc", "system", "who", "label")
    return Design({n: [r[k] for r in rows] for k, n in enumerate(names)}, item=("doc", "system"))


def criteria_in_rows(rng: Rng) -> Design:
    rows: list[list[Any]] = []
    for doc in range(25):
        for criterion in ("fluency", "coherence", "relevance"):
            quality = rng.normal()
            rows += [[f"d{doc}", criterion, f"ann{w}", five(rng, quality)] for w in range(3)]
    rows = [rows[k] for k in rng.permutation(len(rows))]
    return Design({n: [r[k] for r in rows] for k, n in enumerate(("item", "criterion", "who", "label"))})


def seconds(rng: Rng) -> Design:
    rows = rows_of(rng, 50, 6, 3)
    return Design({
        "item": [f"x{r[0]}" for r in rows], "who": [f"w{r[1]}" for r in rows], "label": [r[2] for r in rows],
        "seconds": rng.integers(5, 400, len(rows)).tolist(),
    })  # fmt: skip


def row_numbers(rng: Rng) -> Design:
    rows = rows_of(rng, 50, 6, 3)
    return Design({
        "n": list(range(1, len(rows) + 1)), "item": [f"x{r[0]}" for r in rows], "who": [f"w{r[1]}" for r in rows],
        "when": [f"2025-01-{1 + k % 28:02} 10:{k % 60:02}:00" for k in range(len(rows))], "label": [r[2] for r in rows],
    })  # fmt: skip


def wide(rng: Rng) -> Design:
    names = ("Ann", "Bob", "Cho", "Dee")
    quality = rng.normal(size=30)
    columns = {name: [five(rng, q) for q in quality] for name in names}
    return Design({"item": [f"q{k}" for k in range(30)], **columns}, who=names, labels=())


DESIGNS = (plain, crowd, demographics, texts, yes_or_no, criteria, lessons, systems, criteria_in_rows, seconds,
           row_numbers, wide)  # fmt: skip
USUAL = {"item": ["item_id", "doc_id", "question_id", "tweet_id"], "who": ["worker_id", "rater", "coder", "annotator"],
         "label": ["rating", "score", "stars", "label"]}  # fmt: skip
OTHER = {"item": ["snippet", "claim", "unit", "key"], "who": ["student", "user_id", "initials", "who"],
         "label": ["offensiveness", "stance", "q", "value"]}  # fmt: skip


def renamed(design: Design, how: str, rng: Rng) -> dict[str, str]:
    """New names of the columns: usual ones, unusual ones, or ``x1`` to ``xk`` in random order."""
    if how == "none":
        order = rng.permutation(len(design.columns))
        return {name: f"x{order[k] + 1}" for k, name in enumerate(design.columns)}
    pool = USUAL if how == "usual" else OTHER
    return {name: str(rng.choice(pool[name])) if name in pool else name for name in design.columns}


def changed(frame: pl.DataFrame, how: str, rng: Rng) -> pl.DataFrame:
    if how == "cells missing":
        return frame.filter(pl.Series(rng.random(frame.height) > rng.uniform(0.1, 0.5)))
    if how == "columns shuffled":
        return frame.select(list(rng.permutation(frame.columns)))
    if how == "30 rows":
        return frame.head(30)
    if how == "columns added":
        paths = [f"/data/f{k}.txt" for k in rng.integers(0, 9, frame.height)]
        return frame.with_columns(a1=pl.Series(rng.choice(["p", "q", "r"], frame.height)), path=pl.Series(paths))
    return frame


CHANGES = ("as it is", "cells missing", "columns shuffled", "30 rows", "columns added")


def number(value: Any) -> str:
    return str(float(value)) if isinstance(value, int | float) else str(value)


def wanted(frame: pl.DataFrame, design: Design, names: dict[str, str]) -> Cells:
    if not design.labels:
        long = frame.unpivot([names[n] for n in design.who], index=names["item"])
        return Counter((str(item), who, "", number(label)) for item, who, label in long.iter_rows())
    criterion = names.get("criterion")
    several = len(design.labels) > 1
    return Counter(
        ("/".join(str(row[names[part]]) for part in design.item), str(row[names[design.who[0]]]),
         str(row[criterion]) if criterion else names[label] if several else "", number(row[names[label]]))
        for row in frame.iter_rows(named=True) for label in design.labels
    )  # fmt: skip


def cells(labels: assay.Annotations) -> tuple[Cells, Cells]:
    """The labels, also with the parts of each item in the other order."""
    rows = labels.labels.iter_rows(named=True)
    found = Counter((r["item"], r["annotator"], r.get("criterion") or "", number(r["label"])) for r in rows)
    return found, Counter({("/".join(reversed(key[0].split("/"))), *key[1:]): n for key, n in found.items()})


def outcome(frame: pl.DataFrame, right: Cells) -> tuple[str, str]:
    """``right``, ``asked``, ``poor`` or ``wrong``; and what was read or asked."""
    try:
        labels = assay.read(frame)
    except AssayError as error:
        choices: Sequence[Any] = [one for _, one in getattr(error, "choices", ()) if one] or [error.advised]
        tried = [assay.read(frame, **one) for one in choices if one]  # every printed call has been run
        return ("asked" if any(right in cells(one) for one in tried) else "poor"), str(error)
    return ("right" if right in cells(labels) else "wrong"), f"{labels!r}: {labels.reading.notes}"


def tried(seeds: Sequence[int], names: Sequence[str], changes: Sequence[str]) -> tuple[Counter[str], list[str]]:
    counts: Counter[str] = Counter()
    wrong = []
    for seed in seeds:
        for make in DESIGNS:
            for how in names:
                for change in changes:
                    rng = np.random.default_rng([seed, DESIGNS.index(make), len(how), CHANGES.index(change)])
                    design = make(rng)
                    own = renamed(design, how, rng)
                    frame = changed(pl.DataFrame(design.columns).rename(own), change, rng)
                    found, said = outcome(frame, wanted(frame, design, own))
                    counts[found] += 1
                    if found == "wrong":
                        wrong.append(f"{make.__name__}, {how} names, {change}, seed {seed}: {own} {said}")
    return counts, wrong


@pytest.mark.slow
def test_tables_with_usual_names_are_read() -> None:
    counts, wrong = tried([0], ["usual"], ["as it is", "columns shuffled"])
    assert not wrong, wrong
    assert counts["poor"] == 0
    assert counts["right"] >= 0.8 * counts.total(), counts


@pytest.mark.slow
def test_tables_without_names_are_asked_about() -> None:
    counts, wrong = tried([0], ["none"], ["as it is"])
    assert not wrong, wrong
    assert counts == {"asked": len(DESIGNS)}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["usual", "other", "none"])
def test_no_table_is_read_wrongly(how: str) -> None:
    """A poor question does not contain the right reading; it needs a column with another name, or fewer columns."""
    few, wrong = tried(range(1, 3), [how], CHANGES[:3])
    others, more = tried(range(1, 3), [how], CHANGES[3:])
    assert not wrong + more, wrong + more
    counts = few + others
    assert few["poor"] <= 0.01 * few.total(), few
    assert counts["right"] + counts["asked"] >= 0.7 * counts.total(), counts


# -- columns of labels that are called as a column of annotators -----------------------------------------


def wide_table(*names: str, labels: tuple[object, ...] = (1, 2, 3, 4, 5), n: int = 60) -> pl.DataFrame:
    """A row per item, and a column of labels under each name, three quarters of which are the same."""
    rng = np.random.default_rng(len(names))
    truth = rng.integers(0, len(labels), n)
    own = {
        name: [labels[k] for k in np.where(rng.random(n) < 0.75, truth, rng.integers(0, len(labels), n))]
        for name in names
    }
    return pl.DataFrame({"item": [f"q{k}" for k in range(n)], **own})


@pytest.mark.parametrize("labels", [(1, 2, 3, 4, 5), (0, 1), ("yes", "no"), ("good", "fair", "poor")])
@pytest.mark.parametrize(
    ("names", "judges", "people"),
    [
        (("ana", "ben", "carla", "judge"), ("judge",), ("ana", "ben", "carla")),
        (("human_1", "human_2", "judge"), ("judge",), ("human_1", "human_2")),
        (("annotator_1", "annotator_2", "judge"), ("judge",), ("annotator_1", "annotator_2")),
        (("expert", "crowd", "judge"), ("judge",), ("crowd", "expert")),
        (("expert", "user", "judge", "gpt-4o"), ("gpt-4o", "judge"), ("expert", "user")),
        (("rater", "judge"), ("judge",), ("rater",)),
    ],
)
def test_column_called_judge_holds_labels_where_it_has_those_of_the_others(tmp_path, names, judges, people, labels):
    path = tmp_path / "labels.csv"
    wide_table(*names, labels=labels).write_csv(path)
    found = assay.read(path, judges=list(judges))
    assert (found.humans, found.judges, len(found)) == (people, judges, 60 * len(names))


def test_labels_written_with_a_point_are_those_without(tmp_path):
    """As pandas writes a column with a missing label: 4.0 for 4."""
    for names in (("ana", "ben", "judge"), ("rater", "judge")):
        table = wide_table(*names).with_columns(pl.col("judge").cast(pl.Float64))
        table.with_columns(pl.when(pl.col("item") != "q7").then("judge").alias("judge")).write_csv(
            tmp_path / "labels.csv"
        )
        found = assay.read(tmp_path / "labels.csv", judges=["judge"])
        assert (found.judges, len(found)) == (("judge",), 60 * len(names) - 1)
    wide_table("label", "judge").with_columns(pl.col("judge").cast(pl.Float64)).write_csv(tmp_path / "labels.csv")
    with pytest.raises(DataError, match="'judge' could name the annotators, or hold labels"):
        assay.read(tmp_path / "labels.csv")


@pytest.mark.parametrize("n", [8, 60])
def test_gold_labels_next_to_a_judge_name_no_annotators(tmp_path, n):
    wide_table("gold", "judge", n=n).write_csv(tmp_path / "labels.csv")
    found = assay.look(tmp_path / "labels.csv")
    assert {one.name: one.kind for one in found.columns} == {"item": "item", "gold": "gold", "judge": "judge"}


@pytest.mark.parametrize(
    "names",
    [("label", "judge"), ("score", "judge"), ("quality", "judge"), ("toxicity", "rater"), ("majority", "judge")],
)
def test_column_that_could_name_annotators_or_hold_labels_is_asked_about(tmp_path, names):
    path = tmp_path / "labels.csv"
    wide_table(*names).write_csv(path)
    asked = f"'{names[1]}' could name the annotators, or hold labels: it has the values of '{names[0]}'"
    with pytest.raises(DataError, match=asked):
        assay.read(path)
    assert len(assay.read(path, item="item", annotator=names[1], label=names[0])) == 60
    judges = ["judge"] if "judge" in names else []
    wide = {"layout": "wide", "item": "item", "columns": list(names), "exclude": [], "judges": judges}
    assert len(assay.read(path, **wide)) == 120


def test_numbers_of_annotators_name_them_where_items_have_several_rows(tmp_path):
    rng = np.random.default_rng(0)
    rows = [(f"q{k}", who, int(rng.integers(1, 6))) for k in range(40) for who in (1, 2, 3, 4, 5)]
    pl.DataFrame(rows, schema=["item", "rater", "toxicity"], orient="row").write_csv(tmp_path / "labels.csv")
    assert assay.read(tmp_path / "labels.csv").humans == ("1", "2", "3", "4", "5")


@pytest.mark.parametrize(
    ("names", "judges"),
    [
        (("human1", "human2", "judge_run1", "judge_run2"), {"judge_run1", "judge_run2"}),
        (("Human annotation", "GPT-4 annotation", "Claude annotation"), {"GPT-4 annotation", "Claude annotation"}),
        (("human_score", "judge_score"), {"judge_score"}),
        (("anno_1", "anno_2", "anno_3", "gpt_label"), {"gpt_label"}),
        (("human", "judge"), {"judge"}),
    ],
)
@pytest.mark.parametrize("labels", [(1, 2, 3, 4, 5), (0, 1)])
def test_names_of_judges_next_to_those_of_people(tmp_path, names, judges, labels):
    table = wide_table(*names, labels=labels)
    table = table.select(
        pl.Series("Unnamed: 0", range(0, 180, 3)), pl.all(), pl.lit("gpt-4o").alias("judge_model"),
        pl.Series("latency_ms", range(60)), (pl.Series("cost_usd", range(60)) / 1e4),
    )  # fmt: skip
    table.write_csv(tmp_path / "labels.csv")
    found = {one.name: one.kind for one in assay.look(tmp_path / "labels.csv").columns}
    assert {name for name, kind in found.items() if kind == "judge"} == judges
    assert {name for name, kind in found.items() if kind == "person"} == {*names} - judges


def test_votes_of_several_annotators_and_a_judge_on_named_systems_are_all_read(tmp_path):
    table = wide_table("annotator_1", "annotator_2", "gpt4_preference", labels=("A", "B", "tie"))
    table = table.select(
        "item", pl.lit("ours").alias("system_1"), pl.lit("baseline").alias("system_2"), pl.exclude("item")
    )
    table.write_csv(tmp_path / "votes.csv")
    found = assay.read(tmp_path / "votes.csv", judges=["gpt4_preference"])
    assert (found.humans, found.judges, len(found)) == (("annotator_1", "annotator_2"), ("gpt4_preference",), 180)


def test_person_in_a_column_next_to_the_labels_of_judges_labels_each_item_once():
    rows = [(f"q{k}", who, (k + len(who)) % 5 + 1, k % 5 + 1) for k in range(40) for who in ("gpt-4o", "llama-3")]
    table = pl.DataFrame(rows, schema=["id", "judge_model", "judge_score", "human_score"], orient="row")
    found = assay.read(table, humans=["human_score"], judges=["gpt-4o", "llama-3"])
    assert (found.humans, found.judges, len(found)) == (("human_score",), ("gpt-4o", "llama-3"), 120)


@pytest.mark.parametrize("name", ["copie", "seg", "Aufsatz"])
def test_numbers_of_rows_are_no_labels(tmp_path, name):
    table = wide_table("correcteur_1", "correcteur_2", "juge_gpt4", labels=tuple(range(21)), n=70)
    table.select(pl.Series(name, range(1, 71)), pl.exclude("item")).write_csv(tmp_path / "labels.csv", separator=";")
    found = assay.read(tmp_path / "labels.csv", judges=["juge_gpt4"])
    assert (found.humans, found.n_items, len(found)) == (("correcteur_1", "correcteur_2"), 70, 210)
    assert set(found.items["item"]) == {str(k) for k in range(1, 71)}
