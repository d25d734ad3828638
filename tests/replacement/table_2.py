"""Table 2 of the paper, and what it takes to work it out again without the labels.

``python tests/replacement/table_2.py ../shared/data/alt_test`` writes table_2.json: for each judge and annotator how
often the judge was closer, equally close and further, counted by `reference` (the procedure word for word), with
what the authors' own program gives for it (``expected.json`` of that folder). Counts only: the labels stay where
they are, and annotators have no names.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import references

DATA_SETS = {"wax": "crowd", "mtbench": "expert", "cebab_stars": "crowd", "lesion": "skilled"}

# Accuracy with the majority vote or mean Pearson, omega, rho.
TABLE_2 = {
    "wax": {
        "gemini_flash": (0.38, 0.38, 0.69), "gemini_pro": (0.39, 0.5, 0.74), "gpt-4o": (0.38, 0.5, 0.73),
        "gpt-4o-mini": (0.24, 0.0, 0.59), "llama-31": (0.24, 0.0, 0.57), "mistral-v03": (0.17, 0.0, 0.50),
    },
    "mtbench": {
        "gemini_flash": (0.62, 0.0, 0.72), "gemini_pro": (0.62, 0.0, 0.76), "gpt-4o": (0.68, 0.0, 0.77),
        "gpt-4o-mini": (0.60, 0.0, 0.74), "llama-31": (0.54, 0.0, 0.69), "mistral-v03": (0.52, 0.0, 0.68),
    },
    "cebab_stars": {
        "gemini_flash": (0.75, 0.6, 0.82), "gemini_pro": (0.78, 0.8, 0.87),
        "gpt-4o": (0.80, 0.9, 0.90), "gpt-4o-mini": (0.79, 0.9, 0.89), "llama-31": (0.78, 0.6, 0.85),
        "mistral-v03": (0.76, 0.5, 0.83),
    },
    "lesion": {
        "gemini_flash": (0.70, 0.17, 0.71), "gemini_pro": (0.73, 1.0, 0.81), "gpt-4o": (0.67, 0.0, 0.62),
        "gpt-4o-mini": (0.72, 0.67, 0.73),
    },
}  # fmt: skip

COUNTS = Path(__file__).with_suffix(".json")


def counts_of(folder: Path) -> dict[str, Any]:
    """One data set: settings, and for each judge the counts and the published outcome."""
    published = json.loads((folder / "expected.json").read_text())
    humans = json.loads((folder / "human_annotations.json").read_text())
    judges = json.loads((folder / "llm_annotations.json").read_text())
    score = {"accuracy": references.accuracy, "neg_rmse": references.neg_rmse}[published["score"]]
    found = {}
    for judge, wanted in published["judges"].items():
        one = references.alt_test(humans, judges[judge], score, published["epsilon"], min_items=30)
        found[judge] = {
            "wins_ties_losses": [[one.better[h], one.tied[h], one.worse[h]] for h in one.n],
            "p_adjusted": [wanted["annotators"][h]["by_adjusted_p"] for h in one.n],
            "winning_rate": wanted["winning_rate"],
            "advantage_probability": wanted["advantage_probability"],
            "passed": wanted["passed"],
        }
    return {"epsilon": published["epsilon"], "fdr": published["fdr"], "judges": found}


def written(counts: dict[str, Any]) -> str:
    """As JSON, a list of numbers on one line."""
    text = json.dumps(counts, indent=1)
    return re.sub(r"\[[^\[\]{}]*\]", lambda m: " ".join(m[0].split()), text) + "\n"


if __name__ == "__main__":
    COUNTS.write_text(written({name: counts_of(Path(sys.argv[1]) / name) for name in DATA_SETS}))
