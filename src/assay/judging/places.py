"""Which criterion is each place of a response about?"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from assay.data.scales import Scale
from assay.judging.criteria import ASIDE_KEYS, IN_BRACKETS, LABEL_KEYS, NAMING_KEYS, Criterion, folded
from assay.judging.responses.label_words import (
    BULLET,
    LONGEST_LINE,
    NEAR,
    WORD,
    WRAPPING,
    label_on_scale,
    stated_label,
    takes_any_word,
)
from assay.judging.responses.statements import OF_OTHERS, Statement, cells_label, clause_before, is_quoted

CRITERION_LINE = re.compile(
    r"^[ \t*_#>`\"|•▪●✅❌✔✘-]{0,20}(?:(?:\d{1,3}|[a-z])[.)][ \t]{0,4}[*_`\"]{0,4})?"
    r"(?P<name>[^\W\d_][^:：\n|*]{0,80})[*_`\"]{0,4}"
    r"(?:[ \t]*\([^()\n]{1,40}\)[*_`\"]{0,4})?(?:[ \t]{0,20}[:：|=]|[ \t]{1,20}[-–—][ \t])"
    r"[ \t]{0,20}(?P<rest>\S[^\n]*)$",
    re.MULTILINE,
)
_CRITERION_ROW = re.compile(
    r"^[ \t]*\|[^|\n]*\|[ \t*_`]{0,20}(?P<name>[^\W\d_][^|\n*]{0,80})[*_`]{0,4}[ \t]{0,20}\|(?P<rest>[^\n]*)$",
    re.MULTILINE,
)
"""A row of a table with the name in its second cell, as the first has a number."""

_CRITERION_HEADING = re.compile(
    r"^[ \t>]*(?:#{1,6}[ \t]+[*_]*|[*_]{2,3})(?P<name>[^\W\d_][^:：\n|*#]{0,80}?)[*_:：# \t]{0,20}\n"
    r"\s*(?P<rest>[^#\n][^\n]{0,79})$",
    re.MULTILINE,
)
"""A heading that is the name, above a line that is the label."""

_PART_ENDS = re.compile(r" {0,3}[,;|] {1,3}(?:and )?|\. {1,3}| {1,3}and ")
_CRITERION_PART = re.compile(
    r"[\s*_#>•-]*(?P<name>[^\W\d][^:：=\n|*]{0,60}?)[*_]*\s*(?:[:：=→–—]|\s-\s|\b(?:is|gets|an?)\b(?:\s+an?\b)?)\s*(?P<rest>[*_\"'`]*[-+]?\d[^:：=\n]{0,20}?)[.\s]*"
)
"""A part of a line that labels several criteria by numbers: ``Accuracy: 2, fluency: 4 and tone: 3``."""

_CRITERION_TAG = re.compile(r"<(?P<name>[^<>/\n]{1,80})>\s*(?P<rest>[^<>\n]{1,200}?)\s*</[^<>\n]{1,80}>")
_USUAL = frozenset(map(folded, (*LABEL_KEYS, *ASIDE_KEYS)))
_ATTRIBUTE = re.compile(r"\b\w+\s*=\s*[\"']?(?P<value>[^\"'<>=]+)")


def find_criterion_lines(text: str, scale: Scale, criterion: Criterion) -> list[Statement]:
    """The lines and tags of a reply that label one criterion each: ``Coherence: 3``, ``<coherence>3</coherence>``.

    One of another criterion has `OF_OTHERS` for its label. ``Overall: 3`` is one of these if a label of a criterion
    that the study asks about is there too. So is ``Stars: 3``, the name of another criterion and a usual key of a
    label, if the own criterion or a third one has a line.
    """
    found, ranks, usual, has_own = [], [], [], False
    if not (criterion.is_one_of_several or criterion.may_be_named(text)):
        return []
    places = [(one, criterion.rank(one["name"])) for one in CRITERION_LINE.finditer(text)]
    parts = _parts_of_lines(text, criterion) if scale.numeric and criterion.is_one_of_several else []
    whole = [(one.start(), one.end()) for one, _ in parts]
    places = [each for each in places if not any(each[0].start() <= at < each[0].end() for at, _ in whole)] + parts
    for pattern in (_CRITERION_ROW, _CRITERION_HEADING):
        places += [(one, criterion.rank(one["name"])) for one in pattern.finditer(text)]
    tags = [(one, _tag_rank(one["name"], criterion)) for one in _CRITERION_TAG.finditer(text)]
    if not criterion.is_one_of_several and any(rank is not None for _, rank in tags):
        tags = [(one, Criterion.OTHER if _is_other_tag(one, rank) else rank) for one, rank in tags]
    places += tags
    for one, rank in sorted(places, key=lambda place: place[0].start()):
        if rank is None and criterion.is_other_usual(one["name"]):
            usual.append(Statement(one.start(), one.end(), OF_OTHERS, about=folded(one["name"])))
        has_own |= rank is not None and rank >= 0
        if rank is None or (rank >= 0 and criterion.is_generic) or is_quoted(text, one.start("rest")):
            continue
        label = cells_label(one["rest"], scale) if one[0].lstrip().startswith("|") else None
        if one.re is _CRITERION_HEADING:
            label = label_on_scale(BULLET.sub("", one["rest"]), scale)
        elif label is None:
            label = stated_label(one["rest"], scale, line=True)
            if label is None and one["name"].rstrip('*_`" ').endswith(")"):  # Clarity (4/5): well structured
                label = label_on_scale(one["name"].rpartition("(")[2], scale)
        is_number = scale.numeric and re.match(r"[\s*_\"'`]*[-+]?\d", one["rest"]) is not None
        if label is not None or is_number:
            label, about = (label, "") if rank >= 0 else (OF_OTHERS, folded(IN_BRACKETS.sub("", one["name"])))
            found.append(Statement(one.start(), one.end(), label, about=about, is_own=rank >= 0))
            ranks.append(rank)
    is_whole_only = all(rank == Criterion.WHOLE for rank in ranks)
    found = [one for one in found if one.about == "overall"] if is_whole_only else found
    is_usual = has_own or len({one.about for one in usual}) > 1
    return sorted([*usual, *found], key=lambda one: one.at) if is_usual else found


def _parts_of_lines(text: str, criterion: Criterion) -> list[tuple[re.Match[str], int | None]]:
    """The parts of lines that label a criterion in each of their parts."""
    found = []
    for line in re.finditer(r"[^\n]+", text):
        if line.end() - line.start() > NEAR:
            continue
        ends = [one.span() for one in _PART_ENDS.finditer(text, line.start(), line.end())]
        begins, stops = [line.start(), *(end for _, end in ends)], [*(at for at, _ in ends), line.end()]
        spans = [span for span in zip(begins, stops, strict=True) if text[slice(*span)].strip(" .")]
        parts = [_CRITERION_PART.fullmatch(text, *span) for span in spans] if len(spans) > 1 else []
        ranked = [(one, criterion.rank(one["name"])) for one in parts if one is not None]
        if len(ranked) == len(spans) > 1 and all(rank is not None for _, rank in ranked):
            found += ranked
    return found


def _is_other_tag(one: re.Match[str], rank: int | None) -> bool:
    """Whether a tag next to the own one labels something else: ``<feasibility>3</feasibility>``."""
    return rank is None and folded(one["name"]) not in _USUAL


def _tag_rank(tag: str, criterion: Criterion) -> int | None:
    """The rank of the criterion that a tag names: ``<coherence>``, ``<score name="coherence">``."""
    named = (criterion.rank(one) for one in (tag, *(one["value"] for one in _ATTRIBUTE.finditer(tag))))
    return next((one for one in named if one is not None), None)


_TAG = re.compile(r"<(?P<close>/?)(?P<tag>[^<>/\n]{1,80})>")
_MARKUP = re.compile(r"^[\s*_#>`|•▪●✅❌✔✘-]*(?:(?:\d+|[a-z])[.)]\s+)?", re.IGNORECASE)
_NAMING = re.compile(
    rf"^[*_\"']*(?:{'|'.join(sorted(NAMING_KEYS))})[*_\"']*(?:\s+\w+)?\s*[:：=]\s*(?=\S)", re.IGNORECASE
)
_BREAK = re.compile(r"^\s*(?:#{1,6}\s|(?:-\s*){3,}$|(?:\*\s*){3,}$|_{3,}\s*$)")
"""Lines with which another part of a reply begins: headings of Markdown and rules."""

LABEL_KEY = re.compile(r"[\"']label[\"']\s*:\s*[\"']?", re.IGNORECASE)
_ASKED_FORM = re.compile(r"[\"'*_\s]*(?:final\b|label\b|answer\b)", re.IGNORECASE)
"""The beginning of a statement that answers the question, after any discussion."""

_REST_ENDS = re.compile(r"\b(?:because|since|as|due|given|so|but|although|though|while)\b|[.;!?](?:\s|$)|[。！？；]")
_ARTICLE = r"(?:(?:the|its|their|this|that|his|her|my|overall)\s+){0,2}"
_ABOUT = rf"\b(?:for|on|in|of|regarding|concerning|für|pour|para|por|per)\s+{_ARTICLE}"


_NAMING_TAG = re.compile(
    rf"<(?:{'|'.join(sorted(NAMING_KEYS))})>\s*(?P<name>[^<>\n]{{1,80}}?)\s*</[^<>\n]{{1,80}}>", re.IGNORECASE
)


def _run_in(names: str) -> re.Pattern[str]:
    """How a sentence begins that is about one criterion, or says which one is judged.

    ``**Coherence.** The text …``, ``Coherence of the text:``, ``As for coherence, …``, ``Task: rate coherence``.
    """
    begin = rf"(?:^|(?<=[.!?;]\s))[*_]*{_ARTICLE}"
    return re.compile(
        rf"{begin}(?P<head>{names})(?:\s+(?:of|score|rating|assessment|evaluation)\b[^\n:：.]{{0,40}})?"
        r"[*_`\"]*[ \t]*(?:[.:：|=→–—(\[]|-\s)"
        rf"|{begin}(?:regarding|concerning|on|for|as for|as to|in terms of|when it comes to|with regard to)\s+"
        rf"{_ARTICLE}(?P<about>{names})\s*[,:]"
        r"|\b(?<!not )(?<!n't )(?:rate|rating|assess|assessing|evaluate|evaluating|judge|judging|score|scoring|grade"
        rf"|grading|asked\s+(?:about|for))\s+{_ARTICLE}(?P<task>{names})\b(?!\s+(?:a\s+)?\d)",
        re.IGNORECASE,
    )


def _name_of(found: re.Match[str]) -> str:
    return next(one for one in (found["head"], found["about"], found["task"]) if one)


class ReplyPart(NamedTuple):
    """The beginning of a part of a response, the rank of its criterion, and whether the part names the criterion."""

    start: int
    rank: int | None
    is_named: bool = False


class CriterionPlaces:
    """Which criterion each place of a reply is about: by headings and tags above it, or by the words around it.

    Parameters
    ----------
    text : str
        The response, with spaces instead of its JSON objects.
    scale : Scale
        The scale of the question: a line that is one of its labels is no heading.
    criterion : Criterion
    """

    def __init__(self, text: str, scale: Scale, criterion: Criterion) -> None:
        self.text, self.scale, self.criterion = text, scale, criterion
        self.headings: list[Statement] = []
        self._mention = criterion.mention(scale)
        self._run_in = None if self._mention is None else _run_in(self._mention.pattern)
        parts = sorted([*self._headings(), *self._tags()], key=lambda part: part.start)
        self.parts = parts if any(one.rank not in (None, Criterion.WHOLE) for one in parts) else []

    def _rank(self, name: str) -> int | None:
        rank = self.criterion.rank(name)
        return None if rank is not None and rank >= 0 and self.criterion.is_generic else rank

    def _headings(self) -> Iterator[ReplyPart]:
        now = ReplyPart(0, None)
        for line in re.finditer(r"[^\n]+", self.text):
            end = line.start() + len(line[0].rstrip())
            words = _MARKUP.sub("", line[0])
            bare = _NAMING.sub("", words)
            name = IN_BRACKETS.sub("", bare).strip(WRAPPING + "：-– ")
            is_break = _BREAK.match(line[0]) is not None
            if is_break:
                name = re.split(r"[:：|=–—]|\s-\s", name, maxsplit=1)[0]
            rank = self._rank(name) if len(name) <= LONGEST_LINE else None
            if is_break and rank is None and self._mention is not None:
                named = {self._rank(one[0]) for one in self._mention.finditer(line[0])}
                rank = named.pop() if len(named) == 1 else None
            lead = len(line[0]) - len(words)
            begun = list(self._run_in.finditer(words)) if self._run_in is not None else []
            is_label = not takes_any_word(self.scale) and label_on_scale(name, self.scale) is not None
            if is_break or (rank is not None and not is_label):
                if rank is not None:
                    self.headings.append(Statement(line.start(), end, None))
                now = ReplyPart(line.start(), rank, is_named=bare != words)
                yield now
            elif begun and (begun[-1]["task"] or words.rstrip(" *_").endswith((":", "："))):
                now = ReplyPart(line.start() + lead + begun[-1].end(), self._rank(_name_of(begun[-1])))
                yield now
            elif begun:
                for one in begun:
                    yield ReplyPart(line.start() + lead + one.end(), self._rank(_name_of(one)))
                yield now._replace(start=line.end())

    def _tags(self) -> Iterator[ReplyPart]:
        opened: set[str] = set()
        for one in _NAMING_TAG.finditer(self.text):
            rank = self._rank(one["name"])
            if rank is not None:
                yield ReplyPart(one.end(), rank, is_named=True)
        for one in _TAG.finditer(self.text):
            name = one["tag"].split()[0] if one["tag"].split() else ""
            rank = None if one["close"] else _tag_rank(one["tag"], self.criterion)
            if rank is not None:
                opened |= {one["tag"], name}
                yield ReplyPart(one.end(), rank, is_named=True)
            elif one["close"] and one["tag"] in opened:
                yield ReplyPart(one.start(), None)

    def part(self, at: int) -> ReplyPart:
        """The part in which a place is."""
        place = bisect.bisect_right(self.parts, at, key=lambda one: one.start)
        return self.parts[place - 1] if place else ReplyPart(0, None)

    def own_text(self) -> str:
        """Return the text with spaces instead of the parts about other criteria."""
        text = self.text
        for one, following in pairwise([*self.parts, ReplyPart(len(text), None)]):
            if one.rank is not None and one.rank < 0:
                start = text.rfind("\n", 0, one.start) + 1  # with its heading
                text = text[:start] + re.sub(r"[^\n]", " ", text[start : following.start]) + text[following.start :]
        return text

    def attribute(self, found: Sequence[Statement], text: str) -> list[Statement]:
        """The statements, each with the criterion that it is of: `is_own`, or `OF_OTHERS` for its label.

        The only statement in the requested form belongs to the question, in any part of the response.
        """
        asked = [one for one in found if one.decides and self._is_asked_form(one, text)]
        done = []
        for one in found:
            rank = None if one.is_own or one.label is OF_OTHERS else self._bound_rank(one, text)
            if rank is None and not one.is_own and one.label is not OF_OTHERS:
                part = self.part(self._place(one, text))
                is_answer = len(asked) == 1 and one is asked[0] and not part.is_named
                rank = None if is_answer else part.rank
            if rank is None:
                done.append(one)
            elif rank >= 0:
                done.append(replace(one, is_own=True))
            else:
                done.append(replace(one, label=OF_OTHERS))
        return done

    def _is_asked_form(self, one: Statement, text: str) -> bool:
        said = text[one.at : one.end]
        return (
            LABEL_KEY.search(said) is not None if said[:1] == "{" else _ASKED_FORM.match(said.lstrip("<")) is not None
        )

    def _place(self, one: Statement, text: str) -> int:
        """Return the position of a statement; for one at the very beginning or end, the first or last line with
        words."""
        if one.end > 0 and one.at < len(text):
            return one.at
        words = list(re.finditer(r"[\w★⭐]", text))
        return words[-1 if one.at else 0].start() if words else one.at

    def _bound_rank(self, one: Statement, text: str) -> int | None:
        """The rank of the criterion that the words of a statement name: "4 for relevance", "relevance score: 4"."""
        if self._mention is None:
            return None
        name = f"(?P<name>{self._mention.pattern})"
        place = self._place(one, text)
        if place == one.at:
            head, said, begin = clause_before(text, one.at), text[one.at : one.end], one.end
        else:
            head, said, begin = "", "", text.rfind("\n", 0, place) + 1
        if said[:1] == "{":
            said = ""
        rest = _REST_ENDS.split(text[begin : begin + NEAR].partition("\n")[0], maxsplit=1)[0]
        before = rest[: self._label_at(rest, one.label)]
        after = rest[len(before) :]
        for pattern, words in (
            (rf"(?:.*\W|^){name}", before),
            (rf"^\W*[\w./]+(?:\s+\w+)?\W{{1,4}}{name}", after),
            (rf"^[^,]{{0,60}}?{_ABOUT}{name}", after),
            (rf".*{name}", said),
            (rf"(?:.*\W|^){name}(?:'s|-wise|的|の)?\W*$", head),
            (rf".*{_ABOUT}{name}", head),
        ):
            match = re.search(pattern, words, re.IGNORECASE | re.DOTALL)
            rank = None if match is None else self._rank(match["name"])
            if rank is not None:
                return rank
        return None

    def _label_at(self, rest: str, label: Any) -> int:
        """Return the beginning of a statement's label after its introduction; 0 if it is not found."""
        found = re.search(rf"\d|{WORD.pattern}|[★⭐]", rest, re.IGNORECASE) if self.scale.numeric else None
        if not self.scale.numeric and isinstance(label, str):
            found = re.search(re.escape(label), rest, re.IGNORECASE)
        return 0 if found is None else found.start()
