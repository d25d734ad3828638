"""Names of items, annotators and criteria: trimmed, told apart, and which of annotators look like models."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.coding import Codes, coded
from assay.errors import DataError, counted, listing

Spelling = Literal["refuse", "merge", "apart"]
"""What becomes of names that differ only in case or inner spaces."""

PLURALS = {"item": "items", "annotator": "annotators", "criterion": "criteria", "label": "labels"}


class SpellingError(DataError):
    """Names differ only in spelling, and nothing says whether they are one."""

    def __init__(self, message: str, shown: str = "") -> None:
        super().__init__(message)
        self.shown = shown


_AROUND = r"^[\s\p{Cf}]+|[\s\p{Cf}]+$"
_INSIDE = r"[\s\p{Cf}]+"
_NOT_PLAIN = r"[^\x21-\x40\x5b-\x7e]"
"""Whatever is not a visible ASCII character without case."""


class Coded(NamedTuple):
    """A column of names as numbers."""

    names: pl.Series
    """The different names, in one order."""
    codes: Codes
    """The position of each row's name."""

    def where(self, keep: NDArray[np.bool_]) -> Coded:
        """Some of the rows, with the names that are left."""
        codes = self.codes[keep]
        left = np.zeros(len(self.names), dtype=bool)
        left[codes] = True
        if left.all():
            return Coded(self.names, codes)
        return Coded(self.names.filter(pl.Series(left)), (np.cumsum(left, dtype=np.int32) - np.int32(1))[codes])

    def reordered(self, names: Sequence[str]) -> Coded:
        """The same with the names in another order."""
        place = {name: i for i, name in enumerate(names)}
        moved = np.array([place[name] for name in self.names.to_list()], dtype=np.int32)
        return Coded(pl.Series(self.names.name, names, dtype=pl.String), moved[self.codes])

    def renamed(self, names: pl.Series) -> Coded:
        """The same with other names, one for each; those that become equal are one."""
        distinct, back = coded(names)
        return Coded(distinct, back[self.codes])

    def column(self) -> pl.Series:
        """The name of each row."""
        return self.names.gather(pl.Series(self.codes.astype(np.uint32)))


# -- trimmed ----------------------------------------------------------------------------------------


def trimmed(found: Coded, role: str) -> tuple[Coded, list[str]]:
    """Names without the spaces around them; and a note, where there were some."""
    bare = without_spaces(found.names)
    changed = found.names != bare
    if not changed.any():
        return found, []
    rows = int(np.isin(found.codes, np.flatnonzero(changed.to_numpy())).sum())
    shown = listing([repr(name) for name in found.names.filter(changed).head(4)], 3)
    return found.renamed(bare), [f"spaces around names of {PLURALS[role]} taken off in {counted(rows, 'row')}: {shown}"]


def without_spaces(names: pl.Series) -> pl.Series:
    """Names without white space and invisible characters at their ends."""
    return names.str.replace_all(_AROUND, "")


# -- told apart -------------------------------------------------------------------------------------


def alike(names: pl.Series) -> pl.Series:
    """What is equal where names differ only in case, in inner spaces or in how their letters are encoded."""
    if not names.str.contains(_NOT_PLAIN).any():
        return names
    return names.str.normalize("NFKC").str.to_lowercase().str.replace_all(_INSIDE, " ")


def one_spelling(found: Coded, role: str, how: Spelling, source: str) -> tuple[Coded, list[str]]:
    """Names that differ only in spelling refused, as one (the most frequent spelling, then the first), or kept apart.

    Raises
    ------
    DataError
        With ``how="refuse"``, where there are such names.
    """
    key = alike(found.names)
    if key is found.names or key.n_unique() == len(key):
        return found, []
    rows = np.bincount(found.codes, minlength=len(key))
    table = pl.DataFrame({"name": found.names, "key": key, "rows": rows})
    groups = table.filter(pl.col("key").is_duplicated()).group_by("key", maintain_order=True).agg("name")["name"]
    shown = groups_in_words(groups.to_list())
    if how == "refuse":
        raise SpellingError(refusal(role, shown, source), shown)
    if how == "apart":
        return found, [f"{PLURALS[role]} that differ only in spelling are kept apart: {shown}"]
    chosen = table.select(pl.col("name").sort_by("rows", descending=True, maintain_order=True).first().over("key"))
    return found.renamed(chosen["name"]), [f"{PLURALS[role]} that differ only in spelling are taken as one: {shown}"]


def refusal(role: str, shown: str, source: str) -> str:
    """Words for names that differ only in spelling, with the option that decides."""
    option = "label_spelling" if role == "label" else "spelling"
    return (
        f"{source}: {PLURALS[role]} differ only in case or spaces: {shown}. Say with {option}='merge' that they are "
        f"one, or with {option}='apart' that they are different"
    )


def groups_in_words(groups: Sequence[Sequence[str]]) -> str:
    """``'Ann', 'ann'; 'Q 1', 'Q1' and 3 more``."""
    shown = "; ".join(listing([repr(name) for name in group], 4) for group in groups[:3])
    return shown + (f"; and {len(groups) - 3} more" if len(groups) > 3 else "")


def spelled_as(names: pl.Series, known: pl.Series, role: str, how: Spelling, source: str) -> pl.Series:
    """The names of a second table, as the labels spell them.

    Raises
    ------
    DataError
        With ``how="refuse"``, where one differs from a known name only in spelling.
    """
    names = without_spaces(names)
    strange = ~names.is_in(known.implode())
    if how == "apart" or not strange.any():
        return names
    there = pl.DataFrame({"key": alike(known), "known": known}).unique("key", keep="first", maintain_order=True)
    table = pl.DataFrame({"name": names, "key": alike(names), "strange": strange})
    table = table.join(there, on="key", how="left", maintain_order="left")
    respelled = table.filter(pl.col("strange") & pl.col("known").is_not_null())
    if not respelled.height:
        return names
    if how == "refuse":
        shown = groups_in_words(respelled.select("known", "name").rows())
        raise SpellingError(refusal(role, shown, f"{source} and the table of {PLURALS[role]}"), shown)
    return table.select(pl.when("strange").then(pl.coalesce("known", "name")).otherwise("name").alias(names.name))[
        names.name
    ]


# -- models -----------------------------------------------------------------------------------------

_FAMILIES = (
    r"(chat)?gpt|llama|gemini|gemma-?\d|mistral|mixtral|ministral|magistral|codestral|qwen|qwq|deepseek|vicuna|alpaca|"
    r"dolly-v?\d|grok|kimi-?k\d|falcon-?\d|command-?(r|a|light|xlarge)|olmo|dbrx|jamba|nemotron|wizardlm|internlm|"
    r"baichuan|hunyuan|ernie-?bot|minimax|chatglm|glm-?\d|davinci|(text|chat)-bison|palm-?2|phi-?\d|yi-\d|zephyr-?\d|"
    r"prometheus|copilot|flan-?t5|smollm|starling-lm|solar-\d|granite-\d|nova-(pro|lite|micro|premier)|llms?|"
    r"language[-_ ]?model"
)
_MODEL = re.compile(
    rf"(?<![a-z0-9])({_FAMILIES})(?!(?!pro|flash|guard|vl|j\b|neo|turbo|coder)[a-z])"
    r"|(?<![a-z])claude([-_. :/]*(\d|v\d|opus|sonnet|haiku|instant|code|judge)|$)"
    r"|(?<![a-z])(opus|sonnet|haiku)[-_. ]?\d"
    r"|^o[134]([-_ ](mini|preview|pro|high|low).*)?$"
    r"|^(openai|anthropic|google|vertex|bedrock|azure|meta|meta-llama|mistralai|xai|x-ai|cohere|huggingface|together|"
    r"openrouter|ollama|groq|fireworks|nvidia|microsoft)[/:]"
    r"|\d+(\.\d+)?b[-_](instruct|chat|it|base|hf)\b"
    r"|^judge$|^(judge|grader|ai|base|reward|large)[-_ ]?model|^model([-_ ]?[a-z0-9]{1,2})?$"
    r"|^ai[-_ ](judge|rater|grader|annotator|assistant|labell?er)",
    re.IGNORECASE,
)


def like_models(names: Iterable[str], among: Collection[str] = ()) -> list[str]:
    """The names that look like a language model's: ``gpt-4o``, ``llama``, ``mistralai/mixtral-8x7b``.

    ``o1`` and ``o3`` do, but not where an ``o2`` stands beside them: there they number observers.
    """
    observers = any(name.lower() == "o2" for name in among)
    return [n for n in names if _MODEL.search(n) and not (observers and re.fullmatch(r"[oO]\d", n))]
