"""Writes the simulated tables of this folder that the documents use: python examples/make.py.

All data are simulated, except those in ``pandalm``. ``labels.csv``, ``votes.csv``, ``odd_ones.csv`` and
``checked.csv`` stay as they are.
"""

import csv
import json
import re
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent

OPENINGS = "The food", "The service", "The room", "Our table", "The soup", "The bread", "The wine", "The view"
VISITS = (
    "We came on a Monday",
    "Lunch with friends",
    "Dinner for two",
    "A birthday",
    "After the theatre",
    "With children",
)
ENDINGS = {
    1: ("was a disgrace", "made us leave"), 2: ("was poor", "took an hour"), 3: ("was fine", "did the job"),
    4: ("was good", "pleased us"), 5: ("was the best in town", "could not be better"),
}  # fmt: skip


def write(name: str, rows: list[dict[str, object]], before: str = "") -> None:
    with (HERE / name).open("w", newline="", encoding="utf-8") as file:
        file.write(before)
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def write_lines(name: str, rows: list[dict[str, object]]) -> None:
    (HERE / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def stars(rng: np.random.Generator, truth: float, noise: float, low: int = 1, high: int = 5) -> int:
    return int(np.clip(round(truth + rng.normal(0, noise)), low, high))


def panel() -> None:
    """Three people and six judges on 150 essays, 1 to 5; m1 to m4 make the same errors."""
    rng = np.random.default_rng(52)
    truth, shared, own = rng.normal(3, 1.1, 150), rng.normal(0, 0.9, 150), rng.normal(0, 0.9, (150, 2))
    errors = {f"m{k}": shared for k in range(1, 5)} | {"m5": own[:, 0], "m6": own[:, 1]}
    rows: list[dict[str, object]] = []
    for i in range(150):
        item = {"item": f"e{i + 1:03}"}
        rows += [{**item, "annotator": name, "label": stars(rng, truth[i], 0.7)} for name in ("ann", "bob", "cho")]
        rows += [{**item, "annotator": m, "label": stars(rng, truth[i] + e[i], 0.4)} for m, e in errors.items()]
    write("panel.csv", rows)


def sheet() -> None:
    """A sheet as a team keeps it: a title, a form's columns, a mean, comments; people rated 120 of 400 reviews."""
    rng = np.random.default_rng(11)
    asked = set(rng.choice(400, 120, replace=False).tolist())
    rows = []
    for i in range(400):
        truth = rng.choice(5, p=[0.16, 0.16, 0.22, 0.26, 0.2]) + 1
        first, second = (f"{rng.choice(OPENINGS)} {rng.choice(ENDINGS[int(truth)])}" for _ in range(2))
        text = f"{rng.choice(VISITS)}, table {i + 1}. {first}. {second}."
        people: list[object] = [stars(rng, truth, noise) if i in asked else "" for noise in (0.6, 0.6, 0.7)]
        if i in asked and rng.random() < 0.04:
            people[2] = "n/a"
        given = [one for one in people if isinstance(one, int)]
        rows.append(
            {
                "Timestamp": f"3/{1 + i // 20}/2026 {9 + i % 8}:{i % 60:02}:00",
                "Review ID": f"R-{i + 1:03}",
                "Review": text,
                "Ann": people[0],
                "Bob": people[1],
                "Cho": people[2],
                "gpt-4o": stars(rng, truth + 0.1, 0.5),
                "Mean": f"{np.mean(given):.2f}" if given else "",
                "Comments": "hard to say" if i % 37 == 5 else "",
            }
        )
    write("sheet.csv", rows, "Pilot of the review study\n\n")


def lessons() -> None:
    """Lessons of teachers, rated by four people and two families of judges."""
    rng = np.random.default_rng(1)
    raters = {"ann": "people", "bob": "people", "cho": "people", "dan": "people"}
    raters |= {"enc1": "encoder", "enc2": "encoder", "gpt-a": "gpt", "gpt-b": "gpt"}
    severity = dict(zip(raters, rng.normal(0, 0.25, len(raters)), strict=True))
    rows: list[dict[str, object]] = []
    for teacher in range(40):
        skill = rng.normal(0, 0.7)
        for lesson in range(1, 5):
            race = "white" if rng.random() < 0.6 else "black"
            known = {"item": f"t{teacher:02}-{lesson}", "teacher": f"t{teacher:02}", "lesson": lesson, "race": race}
            day = rng.normal(0, 0.5)
            for rater, family in raters.items():
                truth = 2.5 + skill + day if family != "encoder" else 2.5 + 0.4 * skill + rng.normal(0, 0.5)
                who = {"annotator": rater, "kind": "human" if family == "people" else "judge", "family": family}
                rows.append({**known, **who, "label": stars(rng, truth + severity[rater], 0.5, 1, 4)})
    write("lessons.csv", rows)


def outputs() -> None:
    """Answers of two systems, all rated by a judge that likes length, some by people."""
    rng = np.random.default_rng(2)
    rows = []
    for question in range(200):
        topic, seen = rng.normal(0, 0.7), rng.random() < 0.4
        for system, lead in (("aspen", 0.0), ("birch", 0.25)):
            length = int(rng.normal(300 + 200 * (system == "birch"), 60))
            truth = 3 + topic + lead + rng.normal(0, 0.5)
            item = {
                "item": f"q{question:03}-{system}",
                "question": f"q{question:03}",
                "system": system,
                "characters": length,
            }
            said = {"gpt-4o": stars(rng, truth + (length - 400) / 400, 0.4)}
            said |= {who: stars(rng, truth, 0.5) for who in ("ann", "bob", "cho") if seen}
            rows += [{**item, "annotator": who, "label": label} for who, label in said.items()]
    write("outputs.csv", rows)


def months() -> None:
    """A judge's labels in June and July, and what June's version says of some of July's texts."""
    rng = np.random.default_rng(3)
    june, july, anchors = [], [], []
    for number in range(300):
        truth = rng.normal(3, 1)
        item = f"c{number:03}"
        if number < 200:
            june.append({"item": item, "annotator": "gpt-4o", "label": stars(rng, truth, 0.4)})
            if number % 2 == 0:
                june += [
                    {"item": item, "annotator": who, "label": stars(rng, truth, 0.6)} for who in ("ann", "bob", "cho")
                ]
        if number >= 100:
            july.append({"item": item, "annotator": "gpt-4o", "label": stars(rng, truth + 0.4, 0.4)})
            if rng.random() < 0.3:
                anchors.append({"item": item, "annotator": "gpt-4o", "label": stars(rng, truth, 0.4)})
    write("june.csv", june)
    write("july.csv", july)
    write("july-by-june-version.csv", anchors)


def ranges() -> None:
    """The same items on three ranges of numbers."""
    rng = np.random.default_rng(4)
    rows = []
    for i in range(60):
        quality = rng.uniform(0.1, 0.9)
        for top, noise in ((5, 0.06), (10, 0.16), (100, 0.08)):
            for who in ("ann", "bob", "cho", "gpt-4o", "llama"):
                answer = np.clip(quality + rng.normal(0, noise if who in ("gpt-4o", "llama") else 0.08), 0, 1)
                row = {
                    "item": f"q{i:02}",
                    "annotator": who,
                    "label": round(float(top * answer), 1),
                    "scale": f"0-{top}",
                }
                rows.append({**row, "benchmark": "essays" if i % 2 else "facts"})
    write("ranges.csv", rows)


def battles() -> None:
    """Votes of 40 users on three systems, as arenas publish them."""
    rng = np.random.default_rng(5)
    strength = {"aspen": 0.0, "birch": 0.5, "cedar": 1.0}
    rows = []
    for number in range(240):
        one, other = rng.permutation(list(strength))[:2].tolist()
        wins = rng.random() < 1 / (1 + np.exp(strength[other] - strength[one]))
        winner = "tie" if rng.random() < 0.1 else "model_a" if wins else "model_b"
        rows.append({"question_id": f"b{number:03}", "model_a": one, "model_b": other, "winner": winner,
                     "judge": f"user{number % 40}"})  # fmt: skip
    write("battles.csv", rows)


CITIES = "Paris", "Rome", "Oslo", "Lima", "Cairo", "Quito", "Kyiv", "Dakar", "Hanoi", "Sofia"


def texts() -> None:
    """What two systems wrote, four times each at two temperatures; what people and a judge wrote; notes on lessons."""
    rng = np.random.default_rng(6)
    ways = {
        "m1": ("It is {}.", "{}.", "The answer is {}.", "That would be {}."),
        "m2": (
            "The capital is the city of {}, of course.",
            "Of course, the city of {}.",
            "The city of {} is the capital.",
            "As is well known, {} is the capital.",
        ),
    }
    files = {"outputs.jsonl": (CITIES, (1.0,)), "more-outputs.jsonl": (CITIES[::-1][:6], (1.0,)),
             "temperatures.jsonl": (CITIES, (0.2, 1.0))}  # fmt: skip
    for name, (cities, temperatures) in files.items():
        rows = []
        for i, city in enumerate(cities):
            for temperature in temperatures:
                for system, said in ways.items():
                    for number in range(1, 5):
                        which = 0 if rng.random() > temperature else number - 1
                        right = city if rng.random() > 0.3 * temperature else str(rng.choice(CITIES))
                        row = {"item": f"q{i}", "model": system, "number": number, "text": said[which].format(right)}
                        rows.append(row if len(temperatures) == 1 else {**row, "temperature": temperature})
        write_lines(name, rows)
    answers = []
    for i in range(60):
        city = CITIES[i % 10]
        for who in ("ann", "bob", "cho", "m1"):
            right = city if rng.random() > 0.15 else str(rng.choice(CITIES))
            text = str(rng.choice(["It is {}.", "{}.", "The capital is {}."])).format(right)
            answers.append({"item": f"q{i:02}", "annotator": who, "label": text})
    write("answers.csv", answers)
    dialogues = [
        {"item": f"d{i:02}", "dialogue": f"A: Where in {city}? B: At the station, at {i + 1}. A: Fine."}
        for i, city in enumerate(CITIES)
    ]
    write("dialogues.csv", list(dialogues))
    ideas = "asks for reasons", "shows two ways", "waits for an answer", "praises the result", "counts aloud"
    notes: list[dict[str, object]] = []
    for i in range(16):
        first, second = rng.permutation(ideas)[:2].tolist()
        note = f"In minute {3 * i + 2} the teacher {first} and {second}."
        notes.append(
            {
                "item": f"n{i + 1:02}",
                "note": note,
                "lesson": f"lesson {i // 8 + 1}",
                "author": ("ann", "bob", "gpt-4o")[i % 3],
            }
        )
    write("notes.csv", notes)


def export() -> None:
    """Two tasks as Label Studio exports them: one answered by two people, one answered and skipped."""

    def answer(number: int, who: int, stars: int | None) -> dict[str, object]:
        value = {"from_name": "stars", "to_name": "text", "type": "rating", "value": {"rating": stars}}
        result = [] if stars is None else [value]
        return {"id": number, "completed_by": who, "was_cancelled": stars is None, "result": result}

    answers = {"q1": [answer(1, 2, 4), answer(2, 3, 5)], "q2": [answer(3, 2, 1), answer(9, 3, None)]}
    tasks = [
        {"id": number, "data": {"key": key}, "annotations": given, "predictions": []}
        for number, (key, given) in enumerate(answers.items(), 1)
    ]
    (HERE / "export.json").write_text(json.dumps(tasks, indent=1) + "\n", encoding="utf-8")
    users = [{"id": 2, "username": "ann"}, {"id": 3, "username": "bob"}]
    (HERE / "users.json").write_text(json.dumps(users) + "\n", encoding="utf-8")


def opinions() -> None:
    """Is a comment offensive: four people and three judges on 150 comments; gpt-4o gives probabilities.

    gpt-4o knows who disagrees and is too sure; llama guesses, five times; mistral gives the most
    frequent answer, once.
    """
    rng, labels = np.random.default_rng(51), ("no", "somewhat", "yes")
    rows: list[dict[str, object]] = []
    for i in range(150):
        people = rng.dirichlet((1.1, 0.7, 0.8))
        sure = people**2 / (people**2).sum()
        flat = 0.35 * rng.dirichlet((1.0, 1.0, 1.0)) + 0.65 / 3
        item = {"item": f"c{i + 1:03}"}
        empty = dict.fromkeys((f"p_{label}" for label in labels), "")
        given = [(who, 1, int(rng.choice(3, p=people)), empty) for who in ("ann", "bob", "cho", "dan")]
        shares = dict(zip(empty, map(str, np.round(sure, 4).tolist()), strict=True))
        given.append(("gpt-4o", 1, int(sure.argmax()), shares))
        given += [("llama", repeat, int(rng.choice(3, p=flat)), empty) for repeat in range(1, 6)]
        given.append(("mistral", 1, int(people.argmax()), empty))
        rows += [
            {**item, "annotator": who, "repeat": repeat, "label": labels[label], **some}
            for who, repeat, label, some in given
        ]
    write("opinions.csv", rows)


def form() -> None:
    """Responses to a Google form, one row per person, and the ratings of a model in a file with its own names."""
    rng = np.random.default_rng(29)
    truth = rng.choice(5, 60, p=[0.12, 0.2, 0.25, 0.25, 0.18]) + 1
    rows: list[dict[str, object]] = []
    for number, (name, noise) in enumerate({"Ann": 0.6, "Bob": 0.6, "Cho": 0.7, "Dee": 0.7}.items()):
        given = {
            f"How helpful is the answer? [Answer {i + 1}]": stars(rng, level, noise) for i, level in enumerate(truth)
        }
        rows.append({"Timestamp": f"2026/03/0{number + 2} 9:1{number}:00 am GMT+1", "Your name": name, **given})
    write("form.csv", rows)
    write(
        "model.csv",
        [{"answer_id": f"Answer {i + 1}", "gpt-4o": stars(rng, level, 0.35)} for i, level in enumerate(truth)],
    )


NOTEBOOKS = {"verdict.ipynb": "tutorial-notebook.md", "scales.ipynb": "grading-scales.md"}
"""Notebooks, and the page whose text and Python each has."""


def notebook(page: Path) -> dict[str, object]:
    """A page as a notebook that runs in the folder of the examples."""
    text = page.read_text(encoding="utf-8").replace('"examples/', '"')
    parts = re.split(r"^```python\n(.*?)^```\n", text, flags=re.M | re.S)
    cells: list[dict[str, object]] = []
    for number, part in enumerate(parts):
        source = re.sub(r"\[([^\]]*)\]\((?!http)[^)]*\)", r"\1", part).strip()
        if not source:
            continue
        cell: dict[str, object] = {"cell_type": "code" if number % 2 else "markdown", "id": f"cell-{number}"}
        more = {"execution_count": None, "outputs": []} if number % 2 else {}
        cells.append({**cell, "metadata": {}, **more, "source": source.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def notebooks() -> None:
    """The cells of two pages of the documents."""
    for name, page in NOTEBOOKS.items():
        found = notebook(HERE.parent / "docs" / page)
        (HERE / name).write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for make in (opinions, panel, sheet, lessons, outputs, months, ranges, battles, texts, export, form, notebooks):
        make()
