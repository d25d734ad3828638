"""Draws the pictures of the how-tos from the example labels: python docs/draw.py, from the project's folder."""

from pathlib import Path

import assay
from assay.replacement import pictures
from assay.verdict import labels

FOLDER = Path(__file__).parent / "pictures"
table = assay.read(
    "examples/labels.csv", item="id", annotator="worker", label="stars", judges=["gpt-4o", "llama"], scale="1-5"
)
judges = assay.compare_judges(table, annotators="crowd")
tests = list(judges.tests.values())
votes = assay.read("examples/votes.csv", scale="preference", repeat="repeat", judges=["gpt-4o"])
odd = assay.read("examples/odd_ones.csv", scale="odd-one-out", judges=["gpt-4o"])
found = {
    "forest": judges.tests["gpt-4o"].plot(),
    "epsilon": pictures.epsilon_curves(tests),
    "size": pictures.size_curves(tests),
    "labels": labels.label_shares(table),
    "ratings": assay.bradley_terry(votes).plot(),
    "sets": assay.consistency(votes, by="separability", who=["humans"]).plot_values(),
    "raters": assay.rater_model(table, quick=True).plot(),
    "measures": assay.validate_similarity(odd, ["words", "rouge-1"]).plot(),
}
for name, ax in found.items():
    ax.figure.set_facecolor("white")
    ax.figure.patch.set_alpha(1)
    ax.figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None, "Creator": None})
    print(FOLDER / f"{name}.svg")
