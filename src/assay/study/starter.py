"""`assay init`: a new study that runs offline and is meant to be edited."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from assay.data.scales import OddOneOut, Scale, SpanLabels
from assay.errors import DataError, StudyError, counted, listing, unknown
from assay.statistics.comparisons.triplets import Sampler, Triplet, name_of
from assay.study.definition import STUDY_FILE
from assay.study.items import chance, items_of_file, read_rows
from assay.study.schema import TRIPLET, ItemsPart, StudyFile, kind_of, scale_of

SCHEMA_FILE = "study.schema.json"


def study_schema() -> dict[str, Any]:
    """Return the JSON Schema of study.yaml, with which editors complete and check it."""
    schema = StudyFile.model_json_schema()
    items = schema["properties"]["items"]
    items["anyOf"] = [{"type": "string"}, {"$ref": items.pop("$ref")}]  # the name of the file alone
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


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
    return _write_files(Path(folder), _STARTS[kind]())


def _write_files(target: Path, contents: Mapping[str, str | bytes]) -> list[Path]:
    """Write the files of a new study, or none of them."""
    files = {**contents, SCHEMA_FILE: _schema_text()}
    taken = [name for name in files if (target / name).exists()]
    if taken:
        raise StudyError(f"{target} already has {listing(taken)}; choose a new folder. Nothing was changed")
    made = []
    for name, content in files.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        made.append(path)
    return made


_IDS = ("item", "id", "item_id", "item id", "uid", "uuid", "key", "nr", "no", "number")
"""Usual names of the column with the ids, in lower case."""


def init_from_sheet(
    folder: str | Path, items: str | Path, text: Sequence[str], ask: str, scale: str, column: str | None = None
) -> list[Path]:
    """Create a study from a table of items: study.yaml, a copy of the table, and no example files.

    A table without a column of ids is written as ``items.csv`` with an added one: its row numbers.

    Parameters
    ----------
    folder : path
        Created if it does not exist. Nothing in it is overwritten.
    items : path
        CSV, TSV, JSON, JSONL, Parquet or a spreadsheet, one row per item.
    text : list of str
        The columns to display, or those to compare on the scales preference and ranking; all others stay hidden.
    ask : str
        The question.
    scale : str
        Its scale, as in study.yaml.
    column : str, optional
        The column with the ids; by default one called item or id, or the only one whose name ends in id.

    Returns
    -------
    list of path
        The new files.

    Raises
    ------
    StudyError
        If the table cannot be read, a column or an id is missing, an id appears twice, or the scale is unknown.
    """
    source = Path(items)
    if not source.is_file():
        raise StudyError(f"{source} does not exist; --items must be the file with the items")
    if not ask.strip():
        raise StudyError("--ask must be the question about each item, such as --ask 'How polite is this post?'")
    try:
        asked = scale_of(scale)
    except DataError as error:
        raise StudyError(f"--scale: {error}") from None
    shown = _shown_columns(asked, scale, text)
    rows = list(read_rows(source))
    if not rows:
        raise StudyError(f"{source} has no items")
    if isinstance(asked, OddOneOut) and len(rows) < 3:
        raise StudyError(f"--scale odd-one-out compares three texts; {source} has {counted(len(rows), 'item')}")
    columns = list(dict.fromkeys(name for row in rows for name in row))
    for name in (*text, *([] if column is None else [column])):
        if name not in columns:
            raise StudyError(unknown("column", name, columns, str(source)))
    found = column or _id_column([name for name in columns if name not in text], source)
    files: dict[str, str | bytes] = {}
    if found is None:
        name, found = "items.csv", "item"
        files[name] = _numbered(rows, columns)
    else:
        name = source.name
        files[name] = source.read_bytes()
        try:
            list(items_of_file(source, ItemsPart.model_validate({"id": found}), "items"))
        except StudyError as error:
            raise StudyError(f"{error}. If another column has the ids, name it with --id") from None
    target = Path(folder)
    study = _SHEET.format(
        name=_written(target.resolve().name),
        file=_written(name),
        id=_written(found),
        shown=shown,
        ask=_written(ask),
        question="odd" if isinstance(asked, OddOneOut) else "rating",
        scale=_written(scale),
        people=_PAIRS if isinstance(asked, OddOneOut) else _PEOPLE,
    )
    return _write_files(target, {STUDY_FILE: study, **files, ".gitignore": _IGNORED})


def _shown_columns(asked: Scale, scale: str, text: Sequence[str]) -> str:
    """The lines of a question about its columns: shown, compared or marked."""
    odd = isinstance(asked, OddOneOut)
    compared = 0 if odd else len(kind_of(asked).places)
    if compared and len(text) != compared:
        raise StudyError(f"--scale {scale} compares the texts of {compared} columns; --text has {len(text)}")
    if (odd or isinstance(asked, SpanLabels)) and len(text) != 1:
        verb = "compares the texts" if odd else "marks the text"
        raise StudyError(f"--scale {scale} {verb} of one column; --text has {len(text)}")
    lines = _PAIRED if compared else _COMPARED if odd else _MARKED if isinstance(asked, SpanLabels) else _SHOWN
    return lines.format(", ".join(map(_written, text)))


def _id_column(columns: Sequence[str], source: Path) -> str | None:
    """The column with the ids: one with a usual name, otherwise the only one whose name ends in *id*."""
    usual = next((name for name in columns if name.strip().lower() in _IDS), None)
    ends = [name for name in columns if re.search(r"(?:\b|_)(?:id|ID|Id)$|[a-z]I[Dd]$", name.strip())]
    if usual is None and len(ends) > 1:
        quoted = [f"'{name}'" for name in ends]
        raise StudyError(f"{source}: {listing(quoted)} can be the ids of the items; name one with --id")
    return usual or next(iter(ends), None)


def _numbered(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """The rows as CSV, each with its number."""
    made = io.StringIO()
    table = csv.DictWriter(made, ["item", *columns], lineterminator="\n")
    table.writeheader()
    for number, row in enumerate(rows, start=1):
        table.writerow(
            {"item": number}
            | {k: v if isinstance(v, str) else _written(v) for k, v in row.items() if v not in (None, "")}
        )
    return made.getvalue()


def _written(value: Any) -> str:
    """A value in JSON, which is YAML."""
    return json.dumps(value, ensure_ascii=False, default=str)


_SHEET = """\
# yaml-language-server: $schema=./study.schema.json
name: {name}

items:
  file: {file}
  id: {id}                 # column with the item id

questions:
  - name: {question:<16} # the criterion in the table
    text: {ask}
    scale: {scale}
{shown}
    # guidelines: ...

{people}
# judges:
#   - name: mini
#     model: gpt-4o-mini
#     key: OPENAI_API_KEY  # the NAME of the environment variable, never the key
"""


_SHOWN = """\
    show: [{}]        # all other columns stay hidden; {{column: Title}} titles a column on the page
    # meanings: {{1: very bad, 5: excellent}}"""

_COMPARED = """\
    options: [{}]      # three items are compared by this column
    show: []               # other columns to show"""

_PAIRED = """\
    options: [{}]
    show: []               # other columns to show"""

_MARKED = """\
    show: [{0}]        # words of this column are marked
    # of: {{{0}: Why?}}    # a box for a text about each marked span"""

_PEOPLE = """\
# people:                  # the annotators, who use the page of assay serve
#   overlap: 3             # annotators per item; all by default
#   quota: 50              # items per annotator
"""

_PAIRS = """\
people:                    # the annotators, who use the page of assay serve
  pairs: 3                 # how often any two items are in the same three
  # quota: 50              # triplets per annotator
"""

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
