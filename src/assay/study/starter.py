"""`assay init`: a new study that runs as it is, and is meant to be edited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from assay.errors import StudyError, listing
from assay.study.definition import STUDY_FILE
from assay.study.schema import StudyFile

SCHEMA_FILE = "study.schema.json"


def study_schema() -> dict[str, Any]:
    """The JSON Schema of study.yaml, by which editors complete and check it."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **StudyFile.model_json_schema()}


def init_study(folder: str | Path) -> list[Path]:
    """Make a study that runs as it is, offline, and is meant to be edited.

    Parameters
    ----------
    folder : path
        Made if it is not there. Nothing in it is overwritten.

    Returns
    -------
    list of path
        The files that were made.

    Raises
    ------
    StudyError
        Where a file that would be made is there already.
    """
    target = Path(folder)
    files = {**_NEW_STUDY, SCHEMA_FILE: json.dumps(study_schema(), indent=1) + "\n"}
    taken = [name for name in files if (target / name).exists()]
    if taken:
        raise StudyError(f"{target} holds {listing(taken)} already; name a new folder, nothing was changed")
    made = []
    for name, text in files.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        made.append(path)
    return made


_EXAMPLES = {
    "r01": ("The soup was cold and nobody cared.", 1, (1, 2, 1)),
    "r02": ("Lovely evening, we will be back.", 5, (5, 5, 4)),
    "r03": ("Good food, slow service.", 3, (3, 4, 3)),
    "r04": ("Fine for a quick lunch.", 3, (3, 3, 4)),
    "r05": ("The best bread in town, and kind people.", 5, (5, 5, 5)),
    "r06": ("Overpriced, but the view makes up for it.", 4, (3, 4, 3)),
    "r07": ("We waited an hour and left.", 1, (1, 1, 1)),
    "r08": ("Nothing special.", 2, (3, 2, 3)),
}

_NEW_STUDY = {
    STUDY_FILE: """\
# yaml-language-server: $schema=./study.schema.json
name: Stars for restaurant reviews

items:
  file: items.csv          # one row an item; csv, tsv, json, jsonl or parquet
  id: item                 # the column that names it
  # document: restaurant   # items of one document are kept from being each other's demonstrations
  # images: [photo]        # columns with the path or URL of an image

questions:
  - name: stars
    text: How many stars would the writer of this review give?
    scale: 1-5             # or interval:0-100, ordinal:low<mid<high, [a list, of categories],
                           # text, preference (options: two columns), odd-one-out (options: three)
    meanings: {1: very bad, 5: excellent}
    guidelines: Judge the whole visit as the writer saw it, not the food alone.

labels: labels.csv         # what people answered: item, annotator, label (and criterion)

judges:
  - name: example          # answers from a file, so that this study runs offline; remove it
    provider: recorded
    file: replies.jsonl

  # - name: mini
  #   model: gpt-4o-mini
  #   key: OPENAI_API_KEY                    # the NAME of the environment variable, never the key
  #   strategy: chain-of-thought             # zero-shot, few-shot or chain-of-thought
  #   temperature: 0
  # - name: local
  #   model: llama3.1
  #   base_url: http://localhost:11434/v1    # Ollama, vLLM, llama.cpp, any gateway
  #   strategy: few-shot
  #   demonstrations: {count: 4, use: cross-fitted}
  #   repeats: 3
  # - name: panel
  #   of: [mini, local]
  #   rule: majority                         # or mean, median

# people:                  # how people are asked, on the page that assay serve opens
#   overlap: 3             # people for each item; without it, everybody answers everything
#   quota: 50
#   instructions: Read the whole review first.

# conditions:              # every combination is asked, each a column of the table
#   scale: [1-5, interval:0-100]             # meanings belong to a scale: give the question its
#                                            # by_scale: {"interval:0-100": {meanings: {0: very bad, 100: excellent}}}
#   temperature: [0, 1]
#   prompt: [default, strict]                # prompts/strict.txt

limits:
  concurrency: 20
  # requests_per_minute: 500
  # tokens_per_minute: 200000
  max_cost: 5              # dollars for the whole study
""",
    "items.csv": "item,review\n" + "".join(f'{name},"{text}"\n' for name, (text, _, _) in _EXAMPLES.items()),
    "labels.csv": "item,annotator,label\n"
    + "".join(
        f"{name},{person},{label}\n"
        for name, (_, _, labels) in _EXAMPLES.items()
        for person, label in zip(("ana", "ben", "chi"), labels, strict=True)
    ),
    "replies.jsonl": "".join(
        json.dumps({"item": name, "judge": "example", "reply": json.dumps({"label": stars})}) + "\n"
        for name, (_, stars, _) in _EXAMPLES.items()
    ),
    "prompts/strict.txt": """\
You rate texts for a research study. Be sparing with the ends of the scale.

{{ question }}
{{ guidelines }}

Allowed: {{ scale }}.
{{ meanings }}

{{ format }}
""",
    ".gitignore": "study.db*\n.env\n",
}
