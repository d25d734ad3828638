"""Phrases that this project does not use, each with a replacement, and the texts in which they are counted."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sources import nodes_with_words

PHRASES: dict[str, str] = {
    # the verdict
    r"stands? in for|standing in for": "replace",
    r"(these|those) (labels|judgments|votes) cannot tell": "not testable",
    r"cannot (be told|tell)": "undecided; cannot be determined",
    r"people differ": "mixed; annotators disagree",
    r"hardly": "a number, or 'barely'",
    r"less (ε|eps\b|epsilon)": "within the margin ε",
    r"low cost is worth": "non-inferiority margin",
    r"(looks?|looking|looked) at (the|its|these|those|them|all)? ?items?": "item-level agreement",
    r"(is|are|was|were|be) (not )?shown (to|as|that|good|bad|worse|amiss|fit)|not shown": "demonstrated; significantly",
    r"retention|keeps? (enough|more|less|at least|what)|what (the judge|it) keeps": "agreement ratio R",
    r"(put )?in the judge's place": "tested in the same way",
    r"(is|are|was|leaves?|left) open": "is undecided",
    r"(this table )?cannot say": "insufficient data",
    r"would (probably |hardly )?tell|to tell of|tells? (of|where|how|what|whether)": "show; report",
    r"told(?! by)": "reported; determined; given",
    r"(planned|first|next|each|every|second|of the|is a|this is) looks?": "interim analysis; observation",
    r"looks? (taken|planned|of|over)": "interim analysis; observation",
    # annotators
    r"whoever|whichever|whatever": "anyone who; any",
    r"nobody": "no annotator; no one",
    r"somebody|anybody|everybody": "the role, such as 'an annotator'",
    r"annotator's road|roads?": "method; path",
    # verbs
    r"stands?(?! in for)|standing|stood": "is; appears",
    r"mend(s|ed|ing)?": "fix; revise",
    r"amiss|lest|thereof|anew|upon|nay": "wrong; so that not; again; on",
    r"(set|put|placed) (beside|against|side by side)": "compare with",
    r"pass(es|ed)? over": "skip",
    r"taken (for|as|to be)|takes? (items|it|them|people|both) (for|as)": "treated as; assumed",
    r"lacks?|lacking": "is missing; has no",
    r"earn(s|ed)?": "pass; receive",
    r"speaks? (of|for)": "applies to; describes",
    r"says? so|as said": "reports; as specified; use OPTION",
    r"carr(y|ies) over|how far": "generalizes; how reliable; how much",
    r"likeness(es)?": "similarity",
    # constructions
    r"of (its|their|his|one's|your) own": "own; separate",
    r"of (which|whom|whose) (each|none|one|some|all)|(by|to|from|of) whom": "a second sentence",
    r"in place of": "instead of",
    r"at hand": "available",
    r"beside": "next to; with; compared with",
    r"but for|none but|nothing but|no more than": "except; only",
    r"can not": "cannot",
    r"(is|are) no (number|column|judge|item|table|file|criterion|label|random|plan|report|rule|question|word)": (
        "is not a ..."
    ),
    r"less (that|those|the|its|half|their|people's)": "minus",
}  # dialect: kept
"""Patterns of whole words in any letter case, and what to write instead."""

KEPT = "# dialect: kept"
"""At the end of a line that must keep a phrase: a quotation, a file format, an input of a test."""

_ALL = re.compile(rf"\b(?:{'|'.join(f'(?P<p{i}>{pattern})' for i, pattern in enumerate(PHRASES))})\b")
# The same without groups, which finds them five times as fast: a branch is left at its first letter.
_ANY = re.compile(rf"\b(?:{'|'.join(re.sub(r'[(](?![?])', '(?:', pattern) for pattern in PHRASES)})\b")
_PAGES = (".md", ".html", ".toml", ".yaml", ".yml")


class Text(NamedTuple):
    """A piece of text of a file, and the line on which it begins."""

    line: int
    words: str


def texts_in(path: Path) -> Iterator[Text]:
    """Yield every text of a page, a script or a Python file: prose, strings, comments and names."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _python(source)
    elif path.suffix == ".js":
        for line, words in enumerate(source.splitlines(), 1):
            yield from (Text(line, one) for one in re.findall(r"\"[^\"]* [^\"]*\"|`[^`]* [^`]*`|//.*|/\*.*\*/", words))
    elif path.suffix in _PAGES:
        if path.suffix == ".md":  # blocks of code become empty lines
            source = re.sub(r"^ *```.*?^ *```", lambda block: "\n" * block[0].count("\n"), source, flags=re.M | re.S)
        for line, words in enumerate(source.splitlines(), 1):
            yield Text(line, re.sub(r"<[^>]*>|\{%.*?%\}|`[^`]*`", " ", words))


def _python(source: str) -> Iterator[Text]:
    # Tokens take most of the time: they are read only where a line has a phrase after a number sign.
    if any("#" in line and _ANY.search(line.partition("#")[2].lower()) for line in source.splitlines()):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield Text(token.start[0], token.string)
    inside: set[int] = set()
    for node in nodes_with_words(source):
        match node:
            case ast.JoinedStr():
                inside |= {id(part) for part in node.values}
                parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
                yield Text(node.lineno, "".join(parts))
            case ast.Constant(value=str(words)) if id(node) not in inside:
                yield from (Text(node.lineno + i, line) for i, line in enumerate(words.splitlines()) if " " in line)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield Text(node.lineno, _as_words(node.name))
            case ast.arg():
                yield Text(node.lineno, _as_words(node.arg))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield Text(node.lineno, _as_words(name))


def _as_words(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").lower()


def found_in(path: Path) -> Iterator[str]:
    """Yield one line for each phrase in a file, with its replacement."""
    lines = path.read_text(encoding="utf-8").splitlines()
    replacements = list(PHRASES.values())
    for line, words in texts_in(path):
        if line <= len(lines) and KEPT in lines[line - 1]:
            continue
        for match in _ANY.finditer(words := words.lower()):
            named = _ALL.match(words, match.start())
            number = next(i for i in range(len(PHRASES)) if named[f"p{i}"])
            yield f"{path}:{line}: '{match[0]}' → {replacements[number]}"
