"""Odd replies made of parts, each with the label that a careful person reads from it: about 1,000 a kind of scale."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from typing import Any

from assay.data.scales import Nominal, Scale, parse_scale, plain_number


@dataclass(frozen=True)
class OddReply:
    """A reply, the label that it states, None where it states none; and of which sort it is."""

    text: str
    label: Any
    sort: str


SCALES: dict[str, Scale] = {
    "whole numbers": parse_scale("1-5"),
    "many whole numbers": parse_scale("ordinal:0-10"),
    "fractions": parse_scale("interval:0-100"),
    "numbers from 0 to 1": parse_scale("interval:0-1"),
    "numbered categories": Nominal(list(range(1, 13))),
    "letters": Nominal(["A", "B", "C", "AB"]),
    "signs": Nominal(["C", "C++", "C#", "Java", "A+", "A"]),
    "yes and no": parse_scale("nominal:yes,no"),
    "phrases": parse_scale("nominal:HasProperty,Part-Of,Result-In,None of the above"),
    "ordered words": parse_scale("ordinal:low<mid<mid-high<high"),
    "preference": parse_scale("preference"),
    "odd one out": parse_scale("odd-one-out"),
}

WORDS = {"preference": {-1: ["first", "A"], 1: ["second", "B"], 0: ["tie"]}}

PLAIN = ["{x}", "{x}.", "**{x}**", "`{x}`", '"{x}"', "({x})", "[{x}]", " {x}\n", "> {x}", "- {x}", "“{x}”", "«{x}»"]
PLAIN += ["### Answer\n{x}", "- [x] {x}", "| label |\n|---|\n| {x} |", "~~{other}~~ {x}"]
STATED = [
    *('{{"label": {j}}}', '{{"label": "{x}"}}', '```json\n{{"label": {j}}}\n```', "{{'label': '{x}'}}"),
    *('{{"reasoning": "{other} came to mind first.", "label": {j}}}', '{{"label": {j}, "confidence": 0.9}}'),
    *("##{x}##", "[[{x}]]", "<label>{x}</label>", "<answer>{x}</answer>", "\\boxed{{{x}}}"),
    *("Answer: {x}", "**Answer:** {x}", "**Final answer: {x}**", "Label: {x}", "The label is {x}.", "My answer is {x}"),
    *("Answer - {x}", "answer: **{x}**", "Final label: `{x}`"),
    *("Answer: {other}\n\nWait, no. Answer: {x}", "It is not {other}, so the answer is {x}."),
    *("The answer is {x}, not {other}.", "If it were longer, the answer would be {other}.\nThe answer is {x}."),
]
THOUGHTS = [
    "<think>It could be {other}. No.</think>\n",
    "At first sight {other} seems possible.\nThe details tell otherwise.\n\n",
    "Step 1: I read the text.\nStep 2: I compare with {other}.\n\n",
    "Der Text ist kurz.\n\n", "Le texte est court.\n\n", "El texto es corto.\n\n",
    "文章很短。\n\n", "この文章は短い。\n\n",
    "النص قصير.\n\n", "Текст короткий.\n\n", "본문은 짧습니다.\n\n", "पाठ छोटा है।\n\n",
]  # fmt: skip
LANGUAGES = [
    "Antwort: {x}", "Réponse : {x}", "Respuesta: {x}", "答案：{x}", "回答：{x}", "Ответ: {x}",
    "الجواب: {x}", "정답: {x}",
    "Risposta: {x}", "Resposta: {x}", "Odpowiedź: {x}", "Cevap: {x}", "Bewertung: {x}", "评分：{x}", "評価：{x}",
    "Die Antwort lautet {x}.", "La réponse est {x}.", "La respuesta es {x}.", "La risposta è {x}.", "A resposta é {x}.",
    "答案是{x}。", "答えは {x} です。", "정답은 {x}입니다.",
]  # fmt: skip
REFUSALS = [
    "I'm sorry, but I can't help with that.", "As an AI, I cannot judge this.", "I must decline to rate {x}.",
    "I cannot decide between {x} and {other}.", "Ich kann das nicht beurteilen.", "Je ne peux pas répondre.",
    "I won't choose.", "我无法回答。", "No comment", "",
]  # fmt: skip
NEGATED = [
    "not {x}", "It is not {x}.", "The label is not {x}.", "Answer: not {x}", "Definitely not {x}", "never {x}",
    "It isn't {x}.", "Anything but {x}.", "I would not say {x}.", "It cannot be {x}", "I would rule out {x}.",
    "Everything except {x}.", "**Not {x}**", "~~{x}~~", "Answer: ~~{x}~~", "- [ ] {x}", "##not {x}##", "[[not {x}]]",
    '{{"label": "not {x}"}}', '{{"not_label": {j}}}', '{{"rejected": {j}}}', "The label should not be {x}.",
    "If it were longer, the answer would be {x}.", "Were it longer, I would say {x}.", "Should the answer be {x}?",
    "I doubt that it is {x}.", "Some would say {x}.", "Is it {x}?", "<think>The answer is {x}.",
    "Es ist nicht {x}.", "Antwort: nicht {x}", "Die Antwort ist nicht {x}.", "Réponse : pas {x}",
    "La réponse n'est pas {x}.", "Si c'est long, la réponse est {x}.", "Respuesta: no {x}", "La respuesta no es {x}.",
    "答案：不是{x}", "答案不是{x}。", "如果更长，答案是{x}。", "回答：{x}ではない", "答えは{x}ではない。",
    "Ответ: не {x}", "ليس {x}", "정답은 {x}이 아닙니다.",
]  # fmt: skip
UNDECIDED = [
    "{x} or {other}", "{x} / {other}", "{x}/{other}", "either {x} or {other}", "Answer: {x} or {other}",
    "between {x} and {other}", "{x} & {other}", "{x}, {other}",
    '{{"label": "{x} or {other}"}}', '{{"label": "{x}/{other}"}}',
    '{{"label": "{x}, {other}"}}', "Answer: {x}/{other}", "Answer: {x}, {other}", "[[{x}/{other}]]",
    "##{x} {other}##",
    "<label>{x}|{other}</label>", "{x}\n{other}", "{x} ({other})", "Answer: {x}? {other}?", "{x} and {other}",
    "{x}; {other}", "{x} + {other}", "Label: {x}; {other}", "{x} und {other}", "{x} oder {other}", "{x} ou {other}",
    '{{"label": [{j}, {k}]}}', '{{"answer": {j}, "rating": {k}}}',
    "{x} to {other}", "from {x} to {other}", "{x} - {other}", "Answer: {x}–{other}",
    "somewhere between {x} and {other}",
    "Answer: {x} - maybe {other}", "Answer: {x} (or {other})", "neither {x} nor {other}", "**{x}** or **{other}**",
    "**{x}**, **{other}**", "- {x}\n- {other}", "Possible labels: {x}, {other}.", "The options are {x} and {other}.",
    "If good, answer {x}; if bad, {other}.", "I am torn: {x} at first glance, {other} at second.",
    "Antwort: {x} oder {other}", "Die Antwort ist {x} oder {other}.", "zwischen {x} und {other}",
    "Réponse : {x} ou {other}", "La réponse est {x} ou {other}.", "entre {x} et {other}", "Respuesta: {x} o {other}",
    "答案：{x}或{other}", "答案是{x}或{other}。", "在{x}和{other}之间", "回答：{x}か{other}",
    "答えは{x}か{other}です。", "Ответ: {x} или {other}", "الجواب: {x} أو {other}", "정답: {x} 또는 {other}",
    "정답은 {x} 또는 {other}입니다.",
]  # fmt: skip
SPOILED = ["-{x}", "~{x}", "<{x}", "{x}?", "{x}…{other}", "{x}%", "^{x}", "≠{x}", "!={x}", "{x}/7", "{x}-{x}x"]
"""Signs that make something else of a label: nothing is to be read, or the label where the sign says nothing."""


def spellings(kind: str, label: Any) -> list[str]:
    return WORDS.get(kind, {}).get(label, [str(label)])


def odd_replies(kind: str, number: int = 1000, seed: int = 0) -> list[OddReply]:
    """That many different replies on a scale of a kind, or all that the parts give."""
    scale, chance = SCALES[kind], random.Random(f"{kind} {seed}")
    found: dict[str, OddReply] = {}
    for _ in range(20 * number):
        one = _one(kind, scale, chance)
        found.setdefault(one.text, one)
        if len(found) == number:
            break
    return list(found.values())


def _labels(scale: Scale, chance: random.Random) -> list[Any]:
    if scale.categories is not None:
        return list(scale.categories)
    low, high = scale.bounds or (0, 100)
    drawn = {round(chance.uniform(low, high), 2) for _ in range(6)} | {int(low), int(high)}
    return [int(one) if float(one).is_integer() else one for one in sorted(drawn)]


def _one(kind: str, scale: Scale, chance: random.Random) -> OddReply:
    label, *others = chance.sample(_labels(scale, chance), 2)
    x, other = chance.choice(spellings(kind, label)), chance.choice(spellings(kind, others[0]))
    named = {"x": x, "other": other, "j": json.dumps(x if kind == "preference" else label)}
    named["k"] = json.dumps(other if kind == "preference" else others[0])
    sort = chance.choice(
        ["stated"] * 4 + ["plain", "language", "refusal", "negated", "undecided", "undecided", "spoiled"]
    )
    if sort == "stated":
        text = chance.choice([*THOUGHTS, "", ""]).format(**named) + chance.choice(STATED).format(**named)
        if scale.numeric and chance.random() < 0.2 and kind != "numbers from 0 to 1":
            text = f"Answer: {x} {chance.choice(['because it is', 'as it is', '- it is'])} fine"
        return OddReply(text + chance.choice(["", "", "\n", "\n\nI hope that this helps!"]), label, sort)
    if sort == "plain":
        return OddReply(chance.choice(PLAIN).format(**named), label, sort)
    if sort == "language":
        return OddReply(
            chance.choice([*THOUGHTS, ""]).format(**named) + chance.choice(LANGUAGES).format(**named), label, sort
        )
    parts = {"refusal": REFUSALS, "negated": NEGATED, "undecided": UNDECIDED, "spoiled": SPOILED}[sort]
    text = chance.choice(parts).format(**named)
    if sort in ("refusal", "undecided") and chance.random() < 0.5:
        text = chance.choice(["", *THOUGHTS]).format(**named) + text
    return OddReply(text, _legitimate(text, scale, label), sort)


def _legitimate(text: str, scale: Scale, label: Any) -> Any:
    """What some of these spellings state all the same: 4/5 where 5 is the top, 40% of 100, -0, a tie."""
    if scale.kind == "preference" and re.search(r"\bA[ –]tie\b", text):
        return 0
    if scale.contains("mid-high") and re.search(r"\bmid[-–]high\b", text):
        return "mid-high"
    if scale.categories == ("yes", "no") and re.search(r'\{"rejected": "', text):
        return label
    if not (scale.numeric and scale.bounds):
        return None
    top = plain_number(scale.bounds[1])
    x = re.escape(str(label))
    fraction = re.search(rf"(?<![\d.]){x} ?/ ?{top}(?![\d.])", text)
    percent = scale.bounds == (0, 100) and text == f"{label}%"
    return label if fraction or percent or (text == "-0" and label == 0) else None
