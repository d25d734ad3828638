"""Which label does a short response conclude with, where no statement in a usual form gives one?

The other finders know how a statement is phrased. These know only where a label stands: at the end of the last
sentence after a word of conclusion, alone below a heading, or first in the response after a word of confidence. Any
other label, a denial, a supposition or a quotation in the same clause leaves the response without a label.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.data.scales import Scale
from assay.judging.responses.label_words import is_in_doubt, label_on_scale, stated_label
from assay.judging.responses.prose import denies, is_long, is_meant, mentions_of, sentences_of
from assay.judging.responses.statements import Statement

_CONCLUDES = re.compile(
    r"(?:(?:^|[,;:.—–-]\s+|\band\s+)so(?!\s+(?:far|that)\b)|\b(?:hence|thus|therefore|thereby|consequently|accordingly"
    r"|which\s+(?:makes|means|leaves|puts|gives)|in\s+(?:short|sum|summary|conclusion|other\s+words)|on\s+balance"
    r"|all\s+in\s+all|to\s+conclude|taken\s+together|taking\s+everything\s+together|i\.e\.,?|meaning))\b"
    r"(?P<between>[^.;:!?]{0,60})$",
    re.IGNORECASE,
)
"""A word of conclusion in the clause of the label."""

_NAMED = re.compile(
    r"(?:^\W*(?:(?:it|this|that)(?:\s+one)?\s+|(?:in|an?|the)\s+)?|(?:->|→|=>|⇒)\s*|\bI(?:'m|\s+am)\s+(?:\w+ly\s+)?"
    r"|(?:^|[,;:.—–-]\s+)(?:(?:final|overall|my|the)\s+)?(?:category|label|class|sentiment|verdict|rating|grade|answer|severity"
    r"|tone|stance|topic|intent|emotion|priority)\s+)[\"“'‘`*_(]*$",
    re.IGNORECASE,
)
"""What leads to a label directly: nothing, an arrow, ``category technical``, ``it leaks``."""

_SET = re.compile(
    r"(?:\b(?:I|we|I'd|I'll|my|you\s+can)\b|^\W*(?:mark|put|count|label|file|record|log|note|tag|code|rate|score|classify|treat)\b)"
    r"[^.;:!?]{0,60}\b(?:as|under|at|to)\s+(?:an?\s+|the\s+)?[\"“'‘`*_(]*$",
    re.IGNORECASE,
)
"""What the model does with the item: ``Mark me down as``, ``I'd set severity to``."""

_PART = re.compile(
    r"\b(?:first|second|third|fourth|last|final|opening|closing|introduct\w+|intro|beginning|ending|half|paragraphs?"
    r"|sentences?|steps?|lines?|greeting|title|headline|sections?|parts?|premise|option|example|reference|gold|expected|previous|earlier|other"
    r"|another|calls?|called|names?|described\s+by|compares?|compared|would|could|might|may|if|whether|when|unless)\b",
    re.IGNORECASE,
)
"""Words of a clause about a part of the item, about something else, or not about what is."""

_ENDS = re.compile(
    r"[\"”'’`*_)\]]*(?:\s+(?:(?:on\s+|about\s+|with\s+)?(?:it|this|that)|here|overall|(?:the|this)\s+(?:claim|statement|hypothesis|premise|item|text)))?"
    r"[\"”'’`*_)\]]*(?:\s*[.!]?\s*$|\s*(?:,|\s[-–—]|\()?\s*(?:because|since|as\s|given|due\s|not\s|rather\s+than|despite)\b)",
    re.IGNORECASE,
)
"""The end of the clause, or its reason."""


_BOX = re.compile(r"[☐☑☒○●]|\[[ xX]\]")


def find_conclusion(text: str, scale: Scale) -> Iterator[Statement]:
    """``No data is disclosed, therefore it does not leak.``: the label with which the last sentence ends."""
    options = [str(one) for one in scale.categories or ()]
    if is_long(text) or scale.numeric or scale.kind not in ("nominal", "ordinal") or not options or _BOX.search(text):
        return
    start, sentence = next(reversed(list(sentences_of(text))), (0, ""))
    found = [one for one in mentions_of(sentence, options) if not denies(sentence[: one.start()])]
    if not found:
        return
    last = found[-1]
    before, label = sentence[: last.start()], label_on_scale(last[0], scale)
    is_word = str(label).casefold() in ("yes", "no", "true", "false")  # an answer, where others may only be listed
    leads = any(one.search(before) for one in (_CONCLUDES, _SET, _NAMED)) or (is_word and re.search(r",\s+$", before))
    clause = re.split(r"[,;:]\s|->|→|=>|⇒", before)[-1]
    others = {label_on_scale(one[0], scale) for one in found[:-1]} - {label}
    if label is None or not leads or others or not _ENDS.match(sentence, last.end()):
        return
    if _PART.search(clause) or not is_meant(text, start, before, start + last.end()):
        return
    if not is_in_doubt(sentence[last.end() :], label, scale):
        yield Statement(start, len(text), label)


_HEADING = re.compile(
    r"[ \t]*(?:#{1,6}[ \t]+\S[^\n]{0,40}|(?:\*\*|__)[^*_\n]{1,40}(?:\*\*|__):?|[^\W\d][\w \t-]{0,30}:)[ \t]*"
)
_NO_RESULT = re.compile(
    r"\b(?:input|text|tweet|review|example|options?|labels|categories|scale|first|initial|draft|reference|gold|expected"
    r"|response|answer\s+[ab]|confidence|language)\b",
    re.IGNORECASE,
)


def find_below_heading(text: str, scale: Scale) -> Iterator[Statement]:
    """``## Sentiment``, then ``**Positive**``: the only line below a heading that is a label and nothing else."""
    if scale.numeric or not scale.categories or is_long(text):
        return
    lines = [line for line in text.splitlines() if line.strip()]
    labels = [label_on_scale(line, scale) for line in lines]
    there = [i for i, label in enumerate(labels) if label is not None]
    if len(there) == 1 and there[0] > 0:
        heading = lines[there[0] - 1]
        if _HEADING.fullmatch(heading) and not _NO_RESULT.search(heading):
            yield Statement(0, len(text), labels[there[0]])


_CONFIDENCE = re.compile(
    r"[\s*_\"'“]*(?:(?:very|most|quite|almost)\s+)?(?:probably|likely|clearly|definitely|certainly|surely|plainly|undoubtedly"
    r"|evidently|presumably)\b(?:\s+(?:an?|the)(?=\s))?\s*",
    re.IGNORECASE,
)


def find_confident_opening(text: str, scale: Scale) -> Iterator[Statement]:
    """``Probably a 4, though others may differ.``: the label that a response begins with after such a word."""
    lead = _CONFIDENCE.match(text)
    if lead is not None and not is_long(text):
        label = stated_label(text[lead.end() :].partition("\n")[0], scale, line=True)
        if label is not None:
            yield Statement(0, lead.end(), label)
