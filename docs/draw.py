"""Draws the pictures of the how-tos: python docs/draw.py [names] [--to FOLDER], from the project's folder.

Texts, of which there are no examples, are invented here: words of an idea, and common words.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.axes import Axes

import assay
from assay.replacement import page
from assay.reporting.pictures import off_screen
from assay.verdict import report

FOLDER = Path(__file__).parent / "pictures"
table = assay.read(
    "examples/labels.csv", item="id", annotator="worker", label="stars", judges=["gpt-4o", "llama"], scale="1-5"
)
judges = assay.compare_judges(table, expertise="crowd")
tests = list(judges.tests.values())
votes = assay.read("examples/votes.csv", scale="preference", repeat="repeat", judges=["gpt-4o"])
pandalm = assay.read("examples/pandalm/votes.csv", judges=["gpt-3.5-turbo", "PandaLM-7B"])
comments = assay.read("examples/opinions.csv", judges=["gpt-4o", "llama", "mistral"], scale="ordinal:no<somewhat<yes")
essays = assay.read("examples/panel.csv", judges=["m1", "m2", "m3", "m4", "m5", "m6"], scale="1-5")
odd = assay.read("examples/odd_ones.csv", scale="odd-one-out", judges=["gpt-4o"])
WORDS = ["red", "green", "blue", "old", "new", "small", "large", "thin", "wide", "tall", "round", "flat"]


def outputs() -> assay.Annotations:
    """Five outputs of two systems for each of 60 items, which tell them apart more or less."""
    rng = np.random.default_rng(1)
    rows = []
    for i in range(60):
        apart = i / 60
        for system, own in (("birch", WORDS[:6]), ("cedar", WORDS[6:])):
            for k in range(1, 6):
                pool = own if rng.random() < apart else WORDS
                rows.append((f"i{i}", system, k, " ".join(rng.choice(pool, 5, replace=False))))
    frame = pl.DataFrame(rows, schema=["item", "annotator", "repeat", "label"], orient="row")
    return assay.read(frame, scale="text", repeat="repeat", humans=["birch", "cedar"])


def answers() -> assay.Annotations:
    """Return texts of nine annotators and three judges about 60 items: human-like, in a separate phrase, random."""
    rng = np.random.default_rng(2)
    rows = []
    for i in range(60):
        idea = rng.choice(WORDS, 4, replace=False)
        people = {f"person {k}": rng.choice(idea, 2 + k % 2, replace=False) for k in range(9)}
        judges = {
            "like people": rng.choice(idea, 3, replace=False),
            "in its own words": [*rng.choice(idea, 1), "a", "thing"],
            "at random": rng.choice(WORDS, 3, replace=False),
        }
        rows += [(f"i{i}", who, " ".join(said)) for who, said in (people | judges).items()]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return assay.read(frame, scale="text", judges=["like people", "in its own words", "at random"])


def card() -> Axes:
    """The card of three judges whose truth is known; its text stays text, so that a test can read it."""
    judges = {"careful": 0.15, "middling": 0.45, "careless": 0.9}
    labels = assay.simulate(300, 8, scale="1-5", judges=judges, documents=60, seed=7)
    return assay.card(labels, object="document", expertise="skilled").plot()


pictures = {
    "card": card,
    "forest": lambda: judges.tests["gpt-4o"].plot(),
    "epsilon": lambda: page.epsilon_curves(tests),
    "size": lambda: page.size_curves(tests),
    "labels": lambda: report.label_shares(table),
    "ratings": lambda: assay.ratings(votes).plot(),
    "opinions": lambda: assay.opinions(comments).plot(),
    "spread": lambda: assay.opinions(comments).plot_spread(),
    "panel": lambda: assay.panel(essays).plot(),
    "leaderboards": lambda: assay.ratings(pandalm, clusters="task").plot(),
    "wins": lambda: assay.ratings(votes).plot_wins(),
    "separability": lambda: assay.separability(outputs()).plot(),
    "annotators": lambda: assay.annotator_similarity(answers()).plot(),
    "sets": lambda: assay.consistency(votes, by="separability", who=["humans"]).plot_values(),
    "raters": lambda: assay.rater_model(table, quick=True).plot(),
    "measures": lambda: assay.validate_similarity(odd, ["words", "rouge-1"]).plot(),
}
to, names = FOLDER, sys.argv[1:]
if "--to" in names:
    to = Path(names.pop(names.index("--to") + 1))
    names.remove("--to")
for name, draw in pictures.items():
    if names and name not in names:
        continue
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none" if name == "card" else "path"}), off_screen():
        ax = draw()
        ax.figure.savefig(to / f"{name}.svg", metadata={"Date": None, "Creator": None})
    print(to / f"{name}.svg")
