"""`assay init`: a new study that runs offline and is meant to be edited."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from assay.errors import StudyError, listing, unknown
from assay.statistics.triplets import Sampler, Triplet, name_of
from assay.study.definition import STUDY_FILE
from assay.study.items import chance
from assay.study.schema import TRIPLET, StudyFile

SCHEMA_FILE = "study.schema.json"


def study_schema() -> dict[str, Any]:
    """Return the JSON Schema of study.yaml, with which editors complete and check it."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **StudyFile.model_json_schema()}


@cache
def _schema_text() -> str:
    return json.dumps(study_schema(), indent=1) + "\n"


Start = Literal["rating", "preference", "ideas"]
"""The question of a new study: rate each text, choose the better of two, or choose the odd one out of three."""


def init_study(folder: str | Path, kind: Start = "rating") -> list[Path]:
    """Create a study that runs offline and is meant to be edited.

    Parameters
    ----------
    folder : path
        Created if it does not exist. Nothing in it is overwritten.
    kind : {"rating", "preference", "ideas"}
        The question.

    Returns
    -------
    list of path
        The new files.

    Raises
    ------
    StudyError
        If one of the files exists already, or the kind is unknown.
    """
    if kind not in _STARTS:
        raise StudyError(unknown("kind", kind, _STARTS, "the kinds of studies"))
    target = Path(folder)
    files = {**_STARTS[kind](), SCHEMA_FILE: _schema_text()}
    taken = [name for name in files if (target / name).exists()]
    if taken:
        raise StudyError(f"{target} already has {listing(taken)}; choose a new folder. Nothing was changed")
    made = []
    for name, text in files.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        made.append(path)
    return made


_IGNORED = "study.db*\n.env\n"

_MORE_JUDGES = """\
  # - name: mini
  #   model: gpt-4o-mini
  #   key: OPENAI_API_KEY                    # the NAME of the environment variable, never the key
  #   prompt: own                            # prompts/own.txt; by default assay's own prompt
  #   repeats: 10
  # - name: local
  #   model: llama3.1
  #   base_url: http://localhost:11434/v1    # Ollama, vLLM, llama.cpp, any gateway
"""

_LIMITS = """
limits:
  concurrency: 20
  max_cost: 5              # dollars for the whole study
"""

# -- ratings -------------------------------------------------------------------------------------------

_EXAMPLES = {
    "r01": ("The soup was cold and no one cared.", 1, (1, 2, 1)),
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
  file: items.csv          # one row per item: csv, tsv, json, jsonl or parquet
  id: item                 # column with the item id
  # document: restaurant   # items of one document are never few-shot examples for each other
  # images: [photo]        # columns with the path or URL of an image

questions:
  - name: stars
    text: How many stars would the writer of this review give?
    scale: 1-5             # or interval:0-100, ordinal:low<mid<high, [a list, of categories],
                           # text, preference (options: two columns; with grades, preference:slightly<much),
                           # odd-one-out (options: three)
    meanings: {1: very bad, 5: excellent}
    guidelines: Judge the whole visit from the writer's view, not only the food.

labels: labels.csv         # human labels: item, annotator, label (and criterion)

judges:
  - name: example          # responses from a file, so that this study runs offline; remove it
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

# people:                  # the annotators, who use the page of assay serve
#   overlap: 3             # annotators per item; all by default
#   quota: 50              # items per annotator
#   instructions: Read the whole review first.

# conditions:              # every combination is run; each is a column of the table
#   scale: [1-5, interval:0-100]             # meanings belong to a scale: for the other scale, add to the question
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
You rate texts for a research study. Use the ends of the scale sparingly.

{{ question }}
{{ guidelines }}

Allowed: {{ scale }}.
{{ meanings }}

{{ format }}
""",
    ".gitignore": _IGNORED,
}

# -- preferences -----------------------------------------------------------------------------------------

_TWO = {
    "a1": (
        "How do I keep basil alive?",
        "Water it when the soil is dry and give it six hours of light.",
        "Good luck.",
        -1,
    ),
    "a2": ("Why is the sky blue?", "Because of the sea.", "Air scatters blue light more than red.", 1),
    "a3": ("What is 17 times 3?", "51.", "The answer is 51.", 0),
    "a4": ("How do I sleep better?", "Go to bed at the same time every day.", "Sleep is when you rest.", -1),
    "a5": ("Which river runs through Vienna?", "A river.", "The Danube.", 1),
    "a6": ("How long do I boil an egg?", "Six minutes for a soft yolk, ten for a hard one.", "Until it is done.", -1),
}

_PREFERENCE = {
    STUDY_FILE: """\
# yaml-language-server: $schema=./study.schema.json
name: Which answer is better?

items:
  file: items.csv          # one row per pair: the question and the two answers
  id: item

questions:
  - name: better
    text: Which answer is more helpful?
    scale: preference      # first, second or tie
    options: [one, two]    # the two columns to compare, in both orders
    show: [question]       # other columns to display; [] for none
    ties: true             # false: no ties; people: annotators can choose a tie, judges cannot

labels: labels.csv         # human labels: item, annotator, label (first, second or tie)

judges:
  - name: example          # responses from a file, so that this study runs offline; remove it
    provider: recorded
    file: replies.jsonl
"""
    + _MORE_JUDGES
    + """
# Models whose outputs are compared in pairs (instead of the labels and the columns one and two above):
# questions:
#   - {name: answer, text: Answer the question., scale: text, show: [question]}
#   - {name: better, text: Which answer is more helpful?, scale: preference, options: [answer], show: [question]}
# systems:
#   - {name: small, model: gpt-4o-mini, key: OPENAI_API_KEY, repeats: 5}
#   - {name: local, model: llama3.1, base_url: http://localhost:11434/v1, repeats: 5}
"""
    + _LIMITS,
    "items.csv": "item,question,one,two\n"
    + "".join(f'{name},"{asked}","{one}","{two}"\n' for name, (asked, one, two, _) in _TWO.items()),
    "labels.csv": "item,annotator,label\n"
    + "".join(
        f"{name},{person},{('first', 'tie', 'second')[label + 1] if (name, person) != ('a3', 'ben') else 'second'}\n"
        for name, (*_, label) in _TWO.items()
        for person in ("ana", "ben", "chi")
    ),
    "replies.jsonl": "".join(
        json.dumps({"item": name, "judge": "example", "order": order, "reply": json.dumps({"label": said})}) + "\n"
        for name, (*_, label) in _TWO.items()
        for order, words in (("one>two", ("first", "tie", "second")), ("two>one", ("second", "first", "first")))
        for said in [words[label + 1]]
    ),
    ".gitignore": _IGNORED,
}
"""The judge of the example prefers the first option if annotators see no difference."""

# -- odd-one-out choices ---------------------------------------------------------------------------------

_NOTES = {
    "algebra": {
        "n1": ("Ask where the 3 on both sides went.", "balance"),
        "n2": ("They drop the 3 without subtracting it from both sides.", "balance"),
        "n3": ("Have them explain what the equals sign means.", "equals"),
        "n4": ("The equals sign is read as 'and then'.", "equals"),
    },
    "fractions": {
        "n5": ("They add tops and bottoms.", "adding"),
        "n6": ("Numerators and denominators are both summed.", "adding"),
        "n7": ("Let them draw one half and one third first.", "drawing"),
        "n8": ("A picture of both parts would help.", "drawing"),
    },
}


def _ideas() -> dict[str, str]:
    """The judge of the example chooses the note with another idea, in any order of the notes."""
    idea = {name: about for notes in _NOTES.values() for name, (_, about) in notes.items()}
    sampler = Sampler({lesson: list(notes) for lesson, notes in _NOTES.items()}, 3)
    drawn: list[Triplet] = []
    while (triplet := sampler.next(chance(0, "triplet", len(drawn)))) is not None:  # as the study draws them
        sampler.add([triplet])
        drawn.append(triplet)
    replies = []
    for triplet in drawn:
        ideas = [idea[name] for name in triplet]
        odd = next(place for place, one in zip(TRIPLET, ideas, strict=True) if ideas.count(one) == 1)
        for order in itertools.permutations(TRIPLET):
            said = json.dumps({"label": "ABC"[order.index(odd)]})
            replies.append({"item": name_of(triplet), "judge": "example", "order": ">".join(order), "reply": said})
    return {
        STUDY_FILE: _IDEAS,
        "items.csv": "item,lesson,note\n"
        + "".join(f'{n},{lesson},"{text}"\n' for lesson, notes in _NOTES.items() for n, (text, _) in notes.items()),
        "replies.jsonl": "".join(json.dumps(one) + "\n" for one in replies),
        ".gitignore": _IGNORED,
    }


_IDEAS = (
    """\
# yaml-language-server: $schema=./study.schema.json
name: Which notes express the same ideas?

items:
  file: items.csv          # one row per text
  id: item
  document: lesson         # the three texts of a triplet come from one document

questions:
  - name: odd
    text: Which note differs from the other two in content, regardless of style?
    scale: odd-one-out
    options: [note]        # one column: triplets are drawn, so that all pairs of a document's texts occur
    show: []               # other columns to display, such as [purpose]

people:
  pairs: 3                 # how often each pair of texts is displayed; invite annotators with: assay people invite

judges:
  - name: example          # responses from a file, so that this study runs offline; remove it
    provider: recorded
    file: replies.jsonl
"""
    + _MORE_JUDGES
    + """
# conditions:              # with and without the column purpose
#   show: {without: [], with: [purpose]}
"""
    + _LIMITS
)

_STARTS: Mapping[str, Callable[[], Mapping[str, str]]] = {
    "rating": lambda: _NEW_STUDY,
    "preference": lambda: _PREFERENCE,
    "ideas": _ideas,
}
