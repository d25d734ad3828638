"""Markdown of items, instructions and guidelines: as safe HTML, and passage by passage what changed.

HTML in a text is escaped, and nothing is loaded from other hosts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from html import unescape
from typing import Any
from urllib.parse import unquote
from xml.etree.ElementTree import tostring

from markupsafe import Markup, escape


@lru_cache(maxsize=2000)
def item_html(text: str, *, formulas: bool = False) -> Markup:
    """Return the text of an item as HTML, without pictures.

    Examples
    --------
    >>> print(item_html("*Hi* <b>you</b>"), end="")
    <p><em>Hi</em> &lt;b&gt;you&lt;/b&gt;</p>
    """
    return Markup(_parser(formulas).render(text))  # the parser escapes the text and adds its own tags only


def guide_html(text: str, pictures: Mapping[str, str]) -> Markup:
    """Return instructions or guidelines as HTML, with pictures of the study folder.

    Parameters
    ----------
    pictures : dict
        By path of a picture as the text names it, its address on the server. For other pictures only their
        description is shown.
    """
    return Markup(_parser(False, pictures=True).render(text, {"pictures": pictures}))


def pictures_in(text: str) -> Iterator[str]:
    """Return the paths of the pictures in instructions or guidelines, as the text names them."""
    for block in _parser(False, pictures=True).parse(text) if "![" in text else ():
        for token in block.children or ():
            if token.type == "image":
                yield unquote(str(token.attrGet("src") or ""))


@lru_cache(maxsize=4)
def _parser(formulas: bool, *, pictures: bool = False) -> Any:
    from markdown_it import MarkdownIt

    # HTML in the text is escaped, images would load from other hosts, and headings must rank below those of the page.
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    parser.disable(["html_block", "html_inline"])
    if pictures:
        parser.add_render_rule("image", _picture)
    else:
        parser.disable(["image"])
    if formulas:
        _lay_out_formulas(parser)
    parser.add_render_rule("heading_open", lambda *_: '<p class="md-heading">')
    parser.add_render_rule("heading_close", lambda *_: "</p>\n")
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("table_open", _table)
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    parser.add_render_rule("th_open", _cell)
    parser.add_render_rule("td_open", _cell)
    parser.add_render_rule("ordered_list_open", _numbered)
    return parser


def _link(_renderer: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    address = escape(str(tokens[index].attrGet("href") or ""))
    return f'<a href="{address}" target="_blank" rel="noopener noreferrer">'


def _picture(_renderer: Any, tokens: Any, index: int, _options: Any, env: Any) -> str:
    words = escape(tokens[index].content)
    address = env["pictures"].get(unquote(str(tokens[index].attrGet("src") or "")))
    return str(words) if address is None else f'<img src="{escape(address)}" alt="{words}">'


LONGEST_NAME = 100
"""Most characters of a table's accessible name."""


def _table(_renderer: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    """A table in a scrollable, focusable box, named after its first row with text."""
    words: list[str] = []
    for token in tokens[index:]:
        if token.type == "table_close" or (token.type == "tr_close" and any(words)):
            break
        if token.type == "inline":
            words.append(" ".join(one.content for one in token.children if one.content))
    name = ", ".join(filter(None, words))[:LONGEST_NAME]
    # Not a region: landmarks need unique names, and two texts can have tables with the same name.
    group = f' role="group" aria-label="{escape(name)}"' if name else ""
    return f'<div class="table" tabindex="0"{group}><table>\n'


def _cell(_renderer: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    """A cell with its alignment as a class, because the page forbids inline styles; a number is not wrapped."""
    aligned = str(tokens[index].attrGet("style") or "").removeprefix("text-align:")
    text = tokens[index + 1].content
    number = any(sign.isdigit() for sign in text) and not any(sign.isalpha() for sign in text)
    classes = " ".join(filter(None, [aligned and f"to-{aligned}", "one-line" if number else ""]))
    return f'<{tokens[index].tag} class="{classes}">' if classes else f"<{tokens[index].tag}>"


def _numbered(_renderer: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    """A list with a class for the width of its last number."""
    first, level = int(tokens[index].attrGet("start") or 1), tokens[index].level
    last = first - 1
    for token in tokens[index:]:
        if token.type == "ordered_list_close" and token.level == level:
            break
        last += token.type == "list_item_open" and token.level == level + 1
    start = f' start="{first}"' if first != 1 else ""
    return f'<ol{start} class="digits-{len(str(last))}">\n'


# -- changes -----------------------------------------------------------------------------------------

INSTRUCTIONS = ""
"""The part of a guide with the instructions; the other parts are named after their question."""


@dataclass(frozen=True)
class GuideChange:
    """What changed in one part of a guide.

    Attributes
    ----------
    part : str
        A question by its text; empty for the instructions.
    passages : tuple of (bool, str)
        Each changed passage: whether it is new (else it was removed), and its text.
    """

    part: str
    passages: tuple[tuple[bool, str], ...]


def guide_passages(form: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the passages of the instructions and of each question, as annotators read them.

    Parameters
    ----------
    form : dict
        The texts of a page, as the store keeps them.

    Returns
    -------
    dict
        By name of a question, its text, the passages of its guidelines and the meanings of its labels; under an empty
        name the passages of the instructions. Passages are separated by blank lines.
    """
    found = {INSTRUCTIONS: _passages(form.get("instructions", ""))}
    for question in form.get("questions", ()):
        reads = question["reads"]
        meanings = [f"{label}: {meaning}" for label, meaning in (reads.get("meanings") or {}).items()]
        found[question["name"]] = [reads["text"], *_passages(reads.get("guidelines", "")), *meanings]
    return found


def guide_changes(before: Mapping[str, Sequence[str]], now: Mapping[str, Sequence[str]]) -> tuple[GuideChange, ...]:
    """Return the changed passages of each part; questions that were added or removed are no changes of the others.

    Examples
    --------
    >>> guide_changes({"": ["Read it.", "Be fair."]}, {"": ["Read it twice.", "Be fair."]})
    (GuideChange(part='', passages=((False, 'Read it.'), (True, 'Read it twice.'))),)
    """
    found = []
    for name in (one for one in now if one in before):
        changed = tuple(_changed(before[name], now[name]))
        if changed:
            found.append(GuideChange("" if name == INSTRUCTIONS else now[name][0], changed))
    return tuple(found)


def _changed(before: Sequence[str], now: Sequence[str]) -> Iterator[tuple[bool, str]]:
    for kind, a, b, c, d in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        if kind != "equal":
            yield from ((False, text) for text in before[a:b])
            yield from ((True, text) for text in now[c:d])


def _passages(text: str) -> list[str]:
    return [one.strip("\n") for one in re.split(r"\n[ \t]*\n", text) if one.strip()]


# -- formulas ----------------------------------------------------------------------------------------

LONGEST_FORMULA = 4000
"""Most characters of a LaTeX formula: about a page. For longer ones the page shows the source."""

_DEFINES = re.compile(r"\\(?:def|let|gdef|edef|(?:re)?newcommand|newenvironment|DeclareMathOperator)\b")
"""LaTeX that defines commands can expand without limit, so the page shows the source."""

_ELEMENTS = """math mrow mi mn mo mtext ms mspace mfrac msqrt mroot mstyle mpadded mphantom menclose mfenced
msub msup msubsup munder mover munderover mmultiscripts mprescripts none mtable mtr mlabeledtr mtd"""
_ATTRIBUTES = """display displaystyle scriptlevel mathvariant stretchy symmetric fence separator form accent accentunder
largeop movablelimits minsize maxsize lspace rspace width height depth linethickness notation open close separators
columnalign rowalign columnspacing rowspacing columnlines rowlines frame columnspan rowspan"""
_MATHML, _OF_MATHML = frozenset(_ELEMENTS.split()), frozenset(_ATTRIBUTES.split())
"""The permitted elements and attributes of MathML: none that link, load or set styles."""


def _lay_out_formulas(parser: Any) -> None:
    """Make a parser read ``$…$``, ``$$…$$``, ``\\(…\\)`` and ``\\[…\\]`` as LaTeX."""
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.texmath import texmath_plugin

    parser.use(dollarmath_plugin, allow_labels=False, allow_space=False, allow_digits=False, double_inline=True)
    parser.use(texmath_plugin, delimiters="brackets")
    for name in ("math_inline", "math_inline_double", "math_block"):
        parser.add_render_rule(name, _formula)


def _formula(_renderer: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    latex = str(tokens[index].content).strip()
    display = "inline" if tokens[index].type == "math_inline" else "block"
    return _mathml(latex, display) or f"<code>{escape(latex)}</code>"


def _mathml(latex: str, display: str) -> str:
    """A formula as MathML; empty if it cannot be parsed."""
    from latex2mathml.converter import convert_to_element

    if not latex or len(latex) > LONGEST_FORMULA or _DEFINES.search(latex):
        return ""
    try:
        made = convert_to_element(latex, display=display)
        for one in made.iter():
            if one.tag not in _MATHML:
                return ""
            one.attrib = {name: value for name, value in one.attrib.items() if name in _OF_MATHML}
            one.text = one.text and unescape(one.text)  # the text has character references, and `tostring` escapes it
        made.set("alttext", latex)
        return tostring(made, encoding="unicode")
    except Exception:  # the converter raises many kinds of errors; the source is shown instead
        return ""
