"""Prompts in the forms that the five papers publish, sent verbatim: from study.yaml to labels.

Each prompt is in other words than the paper's. The form of the request and of the response is the paper's: which
columns, turns, scales, keys and words. Each setting lists responses of models to such a prompt, with their labels
decided by hand.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from chat_server import ChatServer, Say, rows

from assay.judging.dry_run import estimate_study
from assay.judging.run import judge_study
from assay.reading import study_labels
from assay.study.definition import Study, load_study


@dataclass(frozen=True)
class Setting:
    """A published setting.

    Parameters
    ----------
    source : str
        The paper, with its table or box.
    replies : list of str
        One an item. ``{}`` is the place of the word for the option that contains ``@pick@``, see ``words``.
    labels : mapping
        The labels by criterion, one an item; a single label is that of all items and orders.
    words : list of str
        What the prompt calls the options, in the order shown.
    calls : int
        Requests an item and scale: one for all criteria with the same text, one for each order of a pair.
    """

    source: str
    prompt: str
    questions: Sequence[Mapping[str, Any]]
    replies: Sequence[str]
    labels: Mapping[str, Any]
    columns: Mapping[str, str] = field(default_factory=lambda: {"text": "Item."})
    words: Sequence[str] = ()
    calls: int = 1
    judge: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)


def criteria(names: Sequence[str], scale: str, **keys: Any) -> list[dict[str, Any]]:
    """Questions with the same text, so that one request asks all."""
    return [{"name": name, "text": "Rate it.", "scale": scale, **keys} for name in names]


def one(name: str, scale: str, **keys: Any) -> list[dict[str, Any]]:
    return [{"name": name, "text": "Rate it.", "scale": scale, **keys}]


# -- IDEAlign: appendix C ------------------------------------------------------------------------------------

TEACHERS = "Three teachers wrote remarks on an essay about {{ item.topic }}.\n\n"
THREE = "".join(f"Remark {name}: {{{{ options.{name} }}}}\n\n" for name in "ABC")
TWO = "Remark A: {{ item.a }}\n\nRemark B: {{ item.b }}\n\n"
REMARKS = {"topic": "rivers", "a": "Add facts. @pick@", "b": "Check your commas.", "c": "Mind the spelling."}
ODD = one("odd", "odd-one-out", options=["a", "b", "c"], show=["topic"])

IDEALIGN = [
    Setting(
        "IDEAlign C.1, odd one out", "user:\n" + TEACHERS + THREE + "Which asks for another change than the two "
        "others? Write ##A## for remark A, ##B## for remark B, ##C## for remark C.",
        ODD,
        ["##{}##", " ##{}##\n", "**##{}##**", "A and B and C ask for changes.\n\n##{}##", "## {} ##", "{}", "Remark {}",
         "##{}##\n\nRemark {} is about content, the others are about form.", "The odd one out is ##{}##."],
        {"odd": "A"}, REMARKS, ("A", "B", "C"),
    ),
    Setting(
        "IDEAlign C.2, odd one out, no form requested", "system:\nYou help teachers of mathematics.\nuser:\nThe "
        "lesson: {{ item.topic }}.\n\n" + THREE + "Which set of notes is unlike the others in its ideas?",
        ODD,
        ["The set of notes that is least like the others is **{}**.", "Notes {}", "{}.", "**Set {}**",
         "Set {} is the odd one out. It looks at content, while the other two look at form.", "Answer: {}"],
        {"odd": "A"}, REMARKS, ("A", "B", "C"),
    ),
    Setting(
        "IDEAlign C.1, with another name of the options",
        "user:\n" + TEACHERS + THREE.replace("Remark", "Sample") + "Which sample is the odd one out?",
        [ODD[0] | {"says": {"A": "Sample A", "B": "Sample B", "C": "Sample C"}}],
        ["Sample {}", "**Sample {}**", "The odd one out is Sample {}.", "{}", "Sample {}\n", "##{}##", "sample {}"],
        {"odd": "A"}, REMARKS, ("A", "B", "C"),
    ),
    Setting(
        "IDEAlign C.3, binary, averaged over ten responses", "user:\n" + TEACHERS + TWO + "Do they ask for like "
        "changes? Write ##1## if yes, ##0## if no.",
        one("alike", "0-1"),
        ["##1##", "##0##", "The answer is ##1##.", "Both are about facts.\n\n##1##", "0", "##0##\n\nThey differ."],
        {"alike": [1, 0, 1, 1, 0, 0]}, REMARKS, calls=10, judge={"repeats": 10, "temperature": 1},
    ),
    Setting(
        "IDEAlign C.3, continuous", "user:\n" + TEACHERS + TWO + "Write how alike they are as a number (float) from "
        "0 to 1, in the form ##number##.",
        one("alike", "interval:0-1"),
        ["##0.75##", "##0##", "##1.0##", "##.5##", "Similarity: ##0.2##", "0.35", "##0.8##\n\nBoth ask for facts."],
        {"alike": [0.75, 0, 1, 0.5, 0.2, 0.35, 0.8]}, REMARKS,
    ),
]  # fmt: skip

# -- separability: pairs by the raters of AlpacaEval ------------------------------------------------------------

OUTPUTS = {"task": "Name a fruit.", "one": "An apple. @pick@", "two": "A stone."}
PAIR = {"options": ["one", "two"], "show": ["task"], "ties": False}
ALPACA = """\
system:
You rank models by their outputs, as a group of people would.
user:
{"instruction": "{{ item.task }}"}
{"model": "NAME1", "output": "{{ options.first }}"}
{"model": "NAME2", "output": "{{ options.second }}"}

"""

SEPARABILITY = [
    Setting(
        "separability, AlpacaEval with m and M", ALPACA.replace("NAME1", "m").replace("NAME2", "M")
        + "Write the name of the better one, m or M, and no other word.",
        one("better", "preference", says={"A": "m", "B": "M"}, **PAIR),
        ["{}", "**{}**", "{}\n", '"{}"', "{}.", "Model {}", "I prefer {}.", "`{}`", "{} is better", "Best: {}"],
        {"better": -1}, OUTPUTS, ("m", "M"), calls=2,
    ),
    Setting(
        "separability, AlpacaEval with ranks", ALPACA.replace("NAME1", "model_1").replace("NAME2", "model_2")
        + "Write a Python list, the best first: [{'model': NAME, 'rank': RANK}, ...]. It is parsed by a program.",
        one("better", "preference", says={"A": "model_1", "B": "model_2"}, **PAIR),
        ["[{{'model': '{0}', 'rank': 1}}, {{'model': '{1}', 'rank': 2}}]",
         '[{{"model": "{0}", "rank": 1}}, {{"model": "{1}", "rank": 2}}]',
         '[{{"model": "{1}", "rank": 2}}, {{"model": "{0}", "rank": 1}}]',
         "```python\n[\n    {{'model': '{0}', 'rank': 1}},\n    {{'model': '{1}', 'rank': 2}}\n]\n```",
         '{{"ordered_models": [{{"model": "{0}", "rank": 1}}, {{"model": "{1}", "rank": 2}}]}}',
         '{{"concise_explanation": "It is a fruit; {1} is none.", "ordered_models": [{{"rank": 1, "model": "{0}"}}, '
         '{{"rank": 2, "model": "{1}"}}]}}'],
        {"better": -1}, OUTPUTS, ("model_1", "model_2"), calls=2,
    ),
]  # fmt: skip

# -- All that glitters: the GPT raters N, ND and NR --------------------------------------------------------------

LESSON = {"text": "T: Why is it so? S: Because both halves are equal."}
GLITTERS = [
    Setting(
        "All that glitters, number", "user:\nDialogue is talk that builds on ideas. The lesson:\n{{ item.text "
        "}}\nRate it on {{ question }} from {{ low }} to {{ high }}. Number:",
        one("dialogue", "1-7"),
        ["5", " 5", "5\n", "Rating: 5", "5/7", "5 out of 7", "**5**", "I would rate it a 5."],
        {"dialogue": 5}, LESSON,
    ),
    Setting(
        "All that glitters, number with descriptions", "user:\n{{ item.text }}\n{% for line in rubric %}{{ line "
        "}}\n{% endfor %}{{ meanings }}\nThe score, a single number:",
        one("dialogue", "1-3", rubric={1: "no dialogue", 2: "some dialogue", 3: "dialogue throughout"}),
        ["2", "2: some dialogue", "Score: 2", "2 (some dialogue)", "2 - some dialogue"],
        {"dialogue": 2}, LESSON,
    ),
    Setting(
        "All that glitters, number after reasons", "user:\n{{ item.text }}\nFirst write your reasons, then the "
        "rating from 1 to 7 in the form 'Reasons: ... Rating (only specify a number between 1-7): '",
        one("dialogue", "1-7"),
        ["Reasons: One pupil gives a cause; 1 of 3 turns.\n\nRating (only specify a number between 1-7): 4",
         "Reasons: The 2 halves are named.\nRating: 4", "The teacher asks why. A 7 would need more pupils.\n\n4",
         "Reasoning: there is 1 question.\n\n**Rating: 4**", "Reasons: short. Rating (1-7): 4"],
        {"dialogue": 4}, LESSON,
    ),
]  # fmt: skip

# -- Grading scales: tables 8 to 13 ------------------------------------------------------------------------------

SCALES = {"conditions": {"scale": ["interval:0-5", "interval:0-10", "interval:0-100"]}}
RANGE = 'Write a single number ("{{ low }}"–"{{ high }}") and no other text.'
SENTENCES = {"first": "A cat sits.", "second": "A cat is sitting."}
NUMBERS = ["4", "3.5", "0", "5", " 2.75\n", "4.0", "**4.5**", "Score: 3.2", "1.5.", '"4"']
AS_NUMBERS = [4, 3.5, 0, 5, 2.75, 4, 4.5, 3.2, 1.5, 4]
MT_BENCH = (
    """\
system:
You are an expert in how well models follow instructions.
user:
Score the response from {{ low }} to {{ high }}, one decimal place allowed.
Category: "{{ item.category }}" Question: "{{ item.prompt }}" Response: "{{ item.answer }}"
Four dimensions count: (1) helpfulness (2) correctness (3) depth (4) clarity.
0.0–1.0 is poor, 4.1–5.0 is excellent. Write JSON in this form:
{"score": <float 0.0–5.0>, "criteria_scores": {"helpfulness": <0.0–5.0>, "correctness": <0.0–5.0>,
"depth": <0.0–5.0>, "clarity": <0.0–5.0>}}
"""
    + RANGE
)
SUMMARY = (
    """\
system:
You are an expert in judging summaries.
user:
Judge the SUMMARY by the TEXT alone on four metrics from {{ low }} to {{ high }}; decimals are allowed (3.5).
(1) Relevance (2) Coherence (3) Fluency (4) Consistency
TEXT: "{{ item.document }}" SUMMARY: "{{ item.summary }}"
Write JSON in this form: {"relevance": X, "coherence": X, "fluency": X, "consistency": X, "overall": X} """
    + RANGE
)
OF_SUMMARY = {"document": "It rained in Rome.", "summary": "Rome had rain."}
FIVE = ["relevance", "coherence", "fluency", "consistency", "overall"]
FIVE_VALUES = {"relevance": 4.5, "coherence": 4, "fluency": 5, "consistency": 2.5, "overall": 3.5}
FOUR = ["helpfulness", "correctness", "depth", "clarity"]
SCORED = {"score": 3.5, "criteria_scores": {"helpfulness": 4.0, "correctness": 3.0, "depth": 2.5, "clarity": 4.5}}


def in_json(found: Mapping[str, Any]) -> list[str]:
    """JSON as models write it where a prompt requests an object and no other text."""
    text = json.dumps(found)
    return [
        text,
        json.dumps(found, indent=2),
        f"```json\n{json.dumps(found, indent=2)}\n```",
        f"```\n{text}\n```",
        f"Here is my evaluation:\n\n{text}",
        f"```json\n{text}\n```\n\n**Explanation:** The first value is the highest that I can give for this item.",
        str(found),
        text[:-1].rstrip() + ",}",
    ]


GRADING = [
    Setting(
        "Grading scales, table 8", "system:\nYou are an expert in similar meaning.\nuser:\nRate how close two "
        "sentences "
        'are from "{{ low }}" to "{{ high }}". Weigh:\n(1) Meaning. (2) Syntax. (3) Words. (4) Concepts.\nSentence 1: '
        "“{{ item.first }}” Sentence 2: “{{ item.second }}” " + RANGE,
        one("close", "interval:0-5"), NUMBERS, {"close": AS_NUMBERS}, SENTENCES, calls=3, parts=SCALES,
    ),
    Setting(
        "Grading scales, table 9", "system:\nYou are an expert in toxic language.\nuser:\nRate how toxic the text "
        "is from "
        '"{{ low }}" to "{{ high }}". Text: “{{ item.text }}” ' + RANGE,
        one("toxicity", "interval:0-5"), NUMBERS, {"toxicity": AS_NUMBERS}, calls=3, parts=SCALES,
    ),
    Setting(
        "Grading scales, table 10, whose prompt names 0–100 on each scale", "system:\nYou are an expert in "
        "ethics.\nuser:\nRate the decision on a 0–100 scale. Scenario: “{{ item.text }}” " + RANGE,
        one("quality", "interval:0-100"), ["85", "72.5", "0", "100", "**90**", "85.", "85%", "85/100"],
        {"quality": [85, 72.5, 0, 100, 90, 85, 85, 85]},
    ),
    Setting(
        "Grading scales, table 11, five scores in nested JSON", MT_BENCH, criteria(["score", *FOUR], "interval:0-5"),
        [*in_json(SCORED), "Score: 3.5\n" + "\n".join(f"{k}: {v}" for k, v in SCORED["criteria_scores"].items())],
        {"score": 3.5, **SCORED["criteria_scores"]},
        {"category": "writing", "prompt": "Write.", "answer": "Written."},
    ),
    Setting(
        "Grading scales, table 11, the score alone", MT_BENCH, one("score", "interval:0-5"), in_json(SCORED),
        {"score": 3.5},
        {"category": "writing", "prompt": "Write.", "answer": "Written."},
    ),
    Setting(
        "Grading scales, table 11, the score under another name", MT_BENCH, one("quality", "interval:0-5"),
        in_json(SCORED),
        {"quality": 3.5}, {"category": "writing", "prompt": "Write.", "answer": "Written."},
    ),
    Setting(
        "Grading scales, table 12, on three scales", SUMMARY, criteria(FIVE, "interval:0-5"), in_json(FIVE_VALUES),
        FIVE_VALUES,
        OF_SUMMARY, calls=3, parts=SCALES,
    ),
    Setting(
        "Grading scales, table 12, overall alone", SUMMARY, one("overall", "interval:0-5"), in_json(FIVE_VALUES),
        {"overall": 3.5}, OF_SUMMARY,
    ),
    Setting(
        "Grading scales, table 13", "system:\nYou are an expert in the truth of answers.\nuser:\nQuestion: "
        "“{{ item.prompt }}” Answer: “{{ item.answer }}” Rate it from 0 to 5 by (1) facts (2) completeness. " + RANGE,
        one("truth", "interval:0-5"), NUMBERS, {"truth": AS_NUMBERS}, {"prompt": "Is it?", "answer": "It is."},
    ),
]  # fmt: skip

# -- The alternative annotator test: boxes H.1 to H.12 -----------------------------------------------------------

RELATIONS = [
    "HasProperty", "PartOf", "Material-MadeOf", "Emotion-Evaluation", "Time", "Location", "Function",
    "Has-Prerequisite",
    "Result-In", "Action", "Thematic", "Category-Exemplar-Pairs", "Members-of-the-same-Category", "Synonym", "Antonym",
    "Common-Phrase", "None-of-the-above",
]  # fmt: skip
OF_RELATIONS = [[*in_json({"relation": one}), one, f"**{one}**", f"Relation: {one}"] for one in RELATIONS]
HELP = ["Irrelevant", "No", "Partially", "Yes", "Ignore"]
OF_HELP = [[*in_json({"Answer": one}), one, f"Answer: {one}", f"**{one}**"] for one in HELP]
FENCE = "\nWrite JSON in this form:\n```json\n{%s}\n```\n"
RAW = "{%% raw %%}" + FENCE + "{%% endraw %%}"
ASPECTS = ["food", "service", "ambiance", "noise"]
REVIEWED = {"food": "Positive", "service": "Negative", "ambiance": "unknown", "noise": "unknown", "stars": 3}
FRAMES = ["re1", "re2", "hi1", "co1", "mo1", "ec1"]
FRAMED = {"re1": "yes", "re2": "no", "hi1": "no", "co1": "yes", "mo1": "no", "ec1": "no"}
RATED = {"coherence": 4, "consistency": 5, "fluency": 3, "relevance": 2}
LESION = {"Asymmetry": 1, "Border": 2, "Color": 4, "Dermo": 0, "Blue": 0}
PNG = b"\x89PNG"
QUALITY = {1: "very bad", 2: "bad", 3: "OK", 4: "good", 5: "very good"}

ALTERNATIVE = [
    Setting(
        "alternative annotator test, H.1", "user:\nA cue, an association and why they go together. Name their "
        "relation, "
        "one of:\n{% for name in labels %}* {{ name }}\n{% endfor %}"
        + RAW % '\n"relation": "name of the relation"\n' + "Cue: {{ item.cue }} Association: {{ item.other }}",
        one("relation", "nominal:" + ",".join(RELATIONS)),
        [text for texts in OF_RELATIONS for text in texts],
        {"relation": [name for name, texts in zip(RELATIONS, OF_RELATIONS, strict=True) for _ in texts]},
        {"cue": "pen", "other": "ink"},
    ),
    Setting(
        "alternative annotator test, H.2, two of its questions", "user:\nA post and a response to it. {{ question "
        "}} The "
        'default is "Yes".' + RAW % '\n"Answer": "Irrelevant/No/Partially/Yes/Ignore"\n' + "** Post **\n{{ item.post }}"
        "\n\n** Response **\n{{ item.response }}",
        [{"name": name, "text": f"Does it {name}?", "scale": "nominal:" + ",".join(HELP)} for name in ("include",
        "help")],
        [text for texts in OF_HELP for text in texts],
        {"include": (found := [name for name, texts in zip(HELP, OF_HELP, strict=True) for _ in texts]), "help": found},
        {"post": "I ask.", "response": "I answer."}, calls=2,
    ),
    Setting(
        "alternative annotator test, H.4", "user:\nTwo conversations. Which model is better? Write 'model a', "
        "'model b' or "
        "'tie'." + RAW % '\n"winner": "model a/model b/tie"\n' + "**** Model A ****\n{{ options.first }}\n\n**** "
        "Model B ****\n{{ options.second }}",
        one("better", "preference", options=["one", "two"], show=[]),
        ['{{"winner": "{}"}}', '```json\n{{\n  "winner": "{}"\n}}\n```', "{}", "winner: {}", "**{}**", "The winner "
        "is {}."],
        {"better": -1}, OUTPUTS, ("model a", "model b"), calls=2,
    ),
    Setting(
        "alternative annotator test, H.4, ties", "user:\n**** Model A ****\n{{ options.first }}\n\n**** Model B ****\n"
        "{{ options.second }}\nWrite 'model a', 'model b' or 'tie'." + RAW % '"winner": "model a/model b/tie"',
        one("better", "preference", options=["one", "two"], show=[]),
        ['{"winner": "tie"}', "tie", '```json\n{"winner": "tie"}\n```', "It is a tie."],
        {"better": 0}, OUTPUTS, calls=2,
    ),
    Setting(
        "alternative annotator test, H.5", "user:\nAnswer each question on the article with yes or no:\n" + "".join(
            f'"{name}": "Is frame {name} in it?"\n' for name in FRAMES)
        + RAW % ", ".join(f'"{name}": "yes/no"' for name in FRAMES) + "** Article **\n{{ item.text }}",
        criteria(FRAMES, "nominal:no,yes"),
        [*in_json(FRAMED), "\n".join(f"{name}: {value}" for name, value in FRAMED.items()),
         json.dumps({name: value.capitalize() for name, value in FRAMED.items()})],
        FRAMED,
    ),
    Setting(
        "alternative annotator test, H.8, aspects and stars", "user:\nThe sentiment of a review on four aspects and "
        "its stars "
        "(1-5)." + RAW % (", ".join(f'"{name}": "Positive/Negative/unknown"' for name in ASPECTS) + ', "stars": int')
        + "** Review **\n{{ item.text }}",
        [*criteria(ASPECTS, "nominal:Positive,Negative,unknown"), *criteria(["stars"], "1-5")],
        [*in_json(REVIEWED), json.dumps(REVIEWED | {"stars": "3"}),
         "\n".join(f"{name}: {value}" for name, value in REVIEWED.items())],
        REVIEWED,
    ),
    Setting(
        "alternative annotator test, H.9", "user:\nRate the summary on each aspect from 1 to 5.\n* Relevance\n* "
        "Consistency\n"
        "* Fluency\n* Coherence" + RAW % ", ".join(f'"{name}": int (1-5)' for name in RATED) + "** Document **\n"
        "{{ item.document }}\n\n** Summary **\n{{ item.summary }}",
        criteria([*RATED], "1-5"),
        [*in_json(RATED), json.dumps({name.capitalize(): value for name, value in RATED.items()}),
         "\n".join(f"* {name.capitalize()}: {value}" for name, value in RATED.items())],
        RATED, OF_SUMMARY,
    ),
    Setting(
        "alternative annotator test, H.9 with four demonstrations", "user:\nDocument: {{ item.document }} Summary: "
        "{{ item.summary }} Rate its coherence (1-5)." + RAW % '"coherence": int (1-5)' + "\nassistant:\n"
        '{"coherence": {{ label }}}',
        one("coherence", "1-5"), in_json({"coherence": 4}), {"coherence": 4}, OF_SUMMARY,
        judge={"strategy": "few-shot", "demonstrations": {"count": 4}}, parts={"labels": "labels.csv"},
    ),
    Setting(
        "alternative annotator test, H.10", "user:\nRate the quality of a prompt:\n{% for line in rubric %}{{ line }}\n"
        "{% endfor %}" + RAW % '"quality": int (1-5)' + "** Prompt **\n{{ item.text }}",
        one("quality", "1-5", rubric=QUALITY), [*in_json({"quality": 4}), "4", "4 - good", "Quality: 4"],
        {"quality": 4},
    ),
    Setting(
        "alternative annotator test, H.11, an image", "user:\n{{ item.photo }}\nAssess five features of the image."
        + RAW % '"Asymmetry": int (0-2), "Border": int (0-2), "Color": int (1-6), "Dermo": int (0-2), "Blue": int '
        '(0-2)',
        [*criteria(["Asymmetry", "Border", "Dermo", "Blue"], "0-2"), *criteria(["Color"], "1-6")],
        in_json(LESION), LESION, {"photo": "lesion.png"},
        parts={"items": {"file": "items.jsonl", "images": ["photo"]}},
    ),
    Setting(
        "alternative annotator test, H.12, words about an image", "user:\nWhat does the tangram resemble? A few "
        "words.\n{{ item.photo }}\nComplete: this shape looks like",
        one("shape", "text"), ["a flying elephant", "snake", "an old lady looking up"],
        {"shape": ["a flying elephant", "snake", "an old lady looking up"]}, {"photo": "tangram.png"},
        parts={"items": {"file": "items.jsonl", "images": ["photo"]}},
    ),
]  # fmt: skip

UNREAD = "SELECT reason, reply FROM answers WHERE reason IS NOT NULL"
SETTINGS = [*IDEALIGN, *SEPARABILITY, *GLITTERS, *GRADING, *ALTERNATIVE]


def in_folder(folder: Path, setting: Setting, url: str) -> Study:
    """The study of a setting: an item for each response, with its number between @ signs in each column."""
    (folder / "prompts").mkdir()
    (folder / "prompts" / "published.txt").write_text(setting.prompt, encoding="utf-8")
    lines = []
    for n in range(len(setting.replies)):
        shown = {name: f"{value} @{n}@" for name, value in setting.columns.items()}
        if "photo" in shown:
            shown["photo"] = f"{n}.png"
            (folder / shown["photo"]).write_bytes(PNG + b"@%d@" % n)
        lines.append({"item": f"q{n:03d}", "text": "", **shown})
    (folder / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    judge = {"name": "m", "model": "tiny", "base_url": url, "prompt": "published", "verbatim": True}
    content = {"items": {"file": "items.jsonl"}, "judges": [judge | setting.judge]}
    content["questions"] = [{"show": [*setting.columns]} | asked for asked in setting.questions]
    if setting.judge.get("strategy") == "few-shot":
        rows = "".join(f"q{n:03d},{name},{n % 5 + 1}\n" for n in range(len(setting.replies)) for name in ("ana", "ben"))
        (folder / "labels.csv").write_text("item,annotator,label\n" + rows, encoding="utf-8")
    (folder / "study.yaml").write_text(yaml.safe_dump(content | setting.parts, sort_keys=False), encoding="utf-8")
    return load_study(folder)


def sent_text(body: Mapping[str, Any]) -> str:
    """All text of a request, images as their bytes."""
    found = []
    for message in body["messages"]:
        parts = message["content"] if isinstance(message["content"], list) else [{"text": message["content"]}]
        for part in parts:
            url = part.get("image_url", {}).get("url")
            found.append(part["text"] if url is None else base64.b64decode(url.split(",")[1]).decode("latin-1"))
    return "\n".join(found)


def reply_of(setting: Setting, text: str) -> str:
    """The response to a request; where options have words, the word of the place of ``@pick@`` is inserted first."""
    reply = setting.replies[int(re.findall(r"@(\d+)@", text)[-1])]
    if not setting.words:
        return reply
    options = setting.questions[0]["options"]
    places = sorted(options, key=lambda name: text.index(setting.columns[name]))
    chosen = next(n for n, name in enumerate(places) if "@pick@" in setting.columns[name])
    others = [word for n, word in enumerate(setting.words) if n != chosen]
    return reply.format(setting.words[chosen], *others)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=[setting.source for setting in SETTINGS])
def test_published_setting_reads_every_response(tmp_path: Path, setting: Setting) -> None:
    sent: list[str] = []

    def script(n: int, body: dict[str, Any], server: ChatServer) -> Say:
        sent.append(sent_text(body))
        return Say(reply_of(setting, sent[-1]))

    with ChatServer(script) as server:
        study = in_folder(tmp_path, setting, server.url)
        (estimate,) = estimate_study(study).judges
        done = judge_study(study)
        roles = {tuple(one["role"] for one in body["messages"]) for body in server.requests}
    calls = setting.calls * len(setting.replies)
    assert (done.missing, done.failed, done.reasked) == (0, 0, 0), rows(study, UNREAD)
    assert (server.count, estimate.calls) == (calls, calls), "each request once"
    assert len(roles) == 1
    published = setting.prompt.split("{{")[0].split("{%")[0].split("user:\n")[-1]
    assert all(published in text and "<item-" not in text for text in sent), "the prompt as it is, without marks"
    labels = study_labels(study).where(annotator="m").labels
    for asked in setting.questions:
        found = labels if "criterion" not in labels.columns else labels.filter(pl.col("criterion") == asked["name"])
        wanted = setting.labels[asked["name"]]
        listed = wanted if isinstance(wanted, list) else [wanted] * len(setting.replies)
        pairs = zip(found["item"], found["label"], strict=True)
        listed = [str(one) for one in listed] if found["label"].dtype == pl.String else listed
        off = [(setting.replies[int(item[1:])], label) for item, label in pairs if label != listed[int(item[1:])]]
        assert not off, f"{asked['name']}: {off}"
        assert set(found["item"]) == {f"q{n:03d}" for n in range(len(setting.replies))}
