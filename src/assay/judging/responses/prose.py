"""Which label does a response in plain sentences give, where none of them states one in a usual form?

``This response is harmful because it explains how to pick a lock.`` names one label of the scale, and says it of what
is judged. Labels that are denied, supposed, quoted, asked about or said of a part do not count. Where two labels are
left, or the only one is merely mentioned, none is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.data.scales import Label, Scale
from assay.judging.criteria import is_answer
from assay.judging.responses.label_words import ITEM, THING, WORD, is_in_doubt, label_on_scale, stated_label
from assay.judging.responses.statements import (
    CONFIDENCE,
    OTHER_THING,
    READING,
    SUPPOSES,
    WISHES,
    Statement,
    is_reported,
)

LONGEST_PROSE = 1_500
"""Characters of a response whose only label is looked for: in a longer one, labels are mentioned on the way."""

MOST_MENTIONS = 20
"""Labels that a short text names at most: a response with more goes in circles."""

_SENTENCE_ENDS = re.compile(r"(?<=[.!?。！？])(?<!\bi\.e\.)(?<!\be\.g\.)[\"”’')*_]*\s+|\n+|;\s+")

# -- what is said of the item ----------------------------------------------------------------------------

_OF_PART = r"(?:first|second|third|last|opening|closing|following|previous|other|earlier|next|reference|gold|original)"
_PLACE = r"(?:here|overall|itself|throughout|as\s+a\s+whole)"
_WHICH = r"(?:\s+(?:of|in|by|from|about|between|for)\s+(?:(?:the|this|that)\s+)?[\w'-]+(?:\s+[\w'-]+)?)?"
_SUBJECT = (
    r"(?:(?<!\bof )\b(?:it|this(?:\s+one)?|that|everything|they|s?he)"
    rf"|(?<!\bof )\b(?:the|this|that|these|your|its|their|his|her|my)\s+(?:(?!{_OF_PART}\s)[\w'-]+\s+){{0,2}}{ITEM}"
    rf"{_WHICH}(?:\s+{_PLACE})?(?:\s+[\"“][^\"“”\n]*[\"”])?"
    rf"|^\W*(?:overall\s+)?{ITEM}|\b(?:(?:das|der|die|le|la|el|il|lo)\s+|l')\w+)"
)
_IS = (
    r"(?:\s+(?:\w+ly\s+)?(?:is|are|was|were|seems|appears|reads|sounds|feels|looks|remains|stays|comes\s+(?:across|off)"
    r"|strikes\s+me|functions|acts|works|ist|est|es|está|è|é)|'s)(?:\s+(?:to\s+be|being|as|like))?"
)
_OBJECT = (
    r"(?:it|(?:the|this|that|your)\s+(?!(?:greeting|title|headline|opening|introduction|beginning|ending)\b)[\w'-]+"
    r"|this|that)"
)
_SETS = (
    r"(?:(?:call|consider|deem|find|label|mark|tag|flag|treat|regard|view|rank|send|put|peg|slot|forward|class|go|opt|lean"
    r"|select|pick|assign|award|land|answer|say|recommend|classify|identify)(?:t?ing)?"
    r"|(?:describ|judg|rat|grad|cod|fil|plac|rout|characteri[sz]|categori[sz]|scor|settl|choos|giv|vot|conclud|arriv|estimat)(?:e|ing))"
)
"""Verbs of a judge: ``I'd send this one to the``, ``it should be routed to``."""

_IS_SET = (
    r"(?:label+ed|classified|classed|categori[sz]ed|tagged|flagged|rated|graded|described|considered|coded|marked|deemed"
    r"|judged|treated|handled|regarded|viewed|seen|routed|sent|filed|placed|put|assigned|forwarded|characteri[sz]ed|scored"
    r"|ranked|directed|recorded)"
)
_GETS = (
    r"(?<!\bto )(?:(?:gets|getting|earn(?:s|ing)?|deserv(?:es?|ing)"  # dialect: kept
    r"|merit(?:s|ing)?|receiv(?:es?|ing)|warrant(?:s|ing)?"
    r"|fit(?:s|ting)?|match(?:es|ing)?|reach(?:es|ing)?|hits?|constitut(?:es?|ing)|represents?|reflects?"
    r"|(?:correspond|amount|point)(?:s|ing)?\s+to(?:wards?)?|(?:suggest|indicat|signal)(?:s|es|ing)|(?:count|qualif|serv|function|act|pass)(?:y|e|ies|es|s|ying|ing)?\s+as)"
    r"|(?:fall|fit|belong|goes|go|com|land|lean|tend|sit)(?:s|es|e|ing)?\s+(?:\w+\s+)?"
    r"(?:under|in|into|to|within|with|at|around|towards?))"
)
_BEST_IS = (
    r"\b(?:my|(?:the|a)\s+(?:\w+ly\s+)?(?:best|right|appropriate|correct|closest|proper|suitable|fitting|likeliest|nearest"
    r"|(?:most|better|more)\s+\w+))\s+[\w'-]+(?:\s+(?:for|to)\s+[\w'-]+(?:\s+[\w'-]+)?)?\s+(?:is|would\s+be)(?:\s+to)?"
)
_JUDGED = (
    rf"\bI(?:'d|'m|'ll|'ve)?\s+(?:[\w'-]+\s+){{0,3}}?{_SETS}(?:\s+(?!that\b)[\w'-]+){{0,5}}?"
    rf"|\b(?:call|consider|deem|judge|find|label|rate|mark|classify|categori[sz]e|tag|flag|grade|describe|code)(?:ing)?"
    rf"\s+{_OBJECT}(?:\s+(?:as|to\s+be))?|\bfound\s+{_OBJECT}"
    rf"|\b(?:file|put|place)\s+{_OBJECT}\s+(?:under|in|into|with|at)"
    rf"|\b(?:makes?|making|renders?|leaves)\s+{_OBJECT}{_WHICH}"
    rf"|\b{_IS_SET}(?:\s+(?:as|to|under|in|into|with|at))?|\b{_GETS}"
    r"|\b(?:deals?|dealing|concerned)\s+(?:\w+ly\s+)?with|\bfocus(?:es|ed)?\s+(?:\w+ly\s+)?on"
    r"|\bis\s+(?:primarily|mainly|mostly|chiefly|really)\s+about"
    r"|\b(?:it|this|(?:the|this)\s+(?:article|text|piece|passage|story|document|paper|question|email))(?:\s+is|'s)\s+about"
    r"|\b(?:statement|claim|assertion|idea|proposition|view|notion)\s+that\s+[^,;:]{1,120}\s(?:is|was)"
    rf"|{_SUBJECT}\s+(?:is\s+)?(?:\w+ly\s+)?(?:express|convey|concern|show|display|us|offer|is\s+at)(?:e?s|ing)?"
    rf"|^\W*(?:so\s+)?{_SUBJECT}\s[^,;:]{{0,120}}\s(?:and|but)\s+(?:is|was|are)"
    r"|\b(?:we\s+have(?:\s+here)?|what\s+we\s+have\s+here\s+is|there\s+is|I\s+(?:see|detect)"
    r"|would\s+(?:choose|select|answer)|i\.e\.,?|namely)"
    rf"|{_BEST_IS}|\bI\s+(?:\w+\s+)?(?:conclude|infer|gather)\s+that\s+[^,;]{{1,60}}\s(?:is|are|was)"
    r"|\bleans?(?:\s+\w+ly)?(?:\s+towards?)?"
    r"|\bnot\s+[^.;]{1,60}?(?:\bbut|,\s+(?:but|only|rather|just|merely))(?:\s+(?:only|rather|just|merely))?"
)
_QUALIFIERS = (
    r"(?:\s*[,:]?\s+(?:an?|the|more|most|likely|best|clear(?:ly)?|definitely|certainly|primarily|mainly|overall|simply"
    r"|plainly|therefore|thus|ultimately|generally|still|also|just|really|indeed|obviously|essentially|predominantly"
    r"|undoubtedly|unambiguously|explicitly|fully|completely|strictly|purely|roughly|around|approximately|rather|solid"
    r"|strong|case|example|one|written|in|at|on|of|under|as|with|towards?|category|class|code|level|label|type|kind|being"
    r"|insgesamt|globalement|eher|klar|eindeutig|deutlich|merely|only|sehr|plutôt|très|clairement|nettement|muy|claramente|chiaramente|molto|muito))*"
)
_LEAD = re.compile(rf"(?:{_SUBJECT}{_IS}|{_JUDGED}){_QUALIFIERS}\s*[\"“'‘`*_(]*$", re.IGNORECASE)
"""What leads to the label of the item: ``The review is clearly``, ``I'd call this``, ``It falls under``."""

_I = re.compile(
    r"(?:^|[,:]\s+)(?:so\s+)?(?:I(?:\s+do|\s+therefore)?|(I'd|I\s+would))\s+[*_\"]*$"
    r"|\b(?:recommend(?:ation)?|decision|verdict|decide|choose|opt|leaning)\b[^.,;:]{0,40}\s(to)\s+[*_\"]*$",
    re.IGNORECASE,
)
"""And to one that is a verb: ``I strongly disagree.``"""

_THIRD = re.compile(
    rf"(?:{_SUBJECT}|\bthe\s+(?:\w+\s+)?(?:study|evidence|source|excerpt))(?:\s+(?:directly|clearly|fully|therefore|thus|also|indeed))?\s+[*_\"]*$",
    re.IGNORECASE,
)
"""And to one in the third person: ``The passage directly supports the claim.``"""

_AUTHOR_WOULD = (
    r"\bthe\s+(?:\w+\s+)?(?:author|writer|speaker|user|reviewer|commenter|poster|narrator|respondent|customer|student)"
    r"\s+would(?:\s+(?:most|very))?(?:\s+(?:likely|probably|certainly|clearly|surely))?"
    r"(?:\s+(?:answer|say|choose|select|respond|pick))?"
)
"""And to the label that the author would give, if that is asked: ``The author would most likely disagree.``"""

_FIRST = re.compile(
    r"(?:^|[,:;]\s|\bI\s+(?:think|believe|feel)|\b(?:so|that|overall|balance))\s*(?:(?:an?|the)\s+)?[\"“'‘`*_(]*$",
    re.IGNORECASE,
)
_IS_A = (
    r"(?:is|are|seems|feels|looks|sounds|appears|would\s+be|strikes|comes|works|best|most|makes|probably|clearly|really"
    r"|certainly|also|still|perhaps)\b[^.;:!?,\n]{0,40}?\b"
)
_FITS = re.compile(
    rf"[\"”'’`*_)]*\s+(?:(?:{_IS_A})?(?:fits?|applies|suits?|match(?:es)?|describes|captures|reflects|represents"
    r"|summari[sz]es|sums|it\s+is\W*$|where\s+(?:it|this)\s+(?:belongs|goes|lands)"
    r"|where\s+I(?:'d|\s+would)?\s+(?:put|place|land))"
    rf"|{_IS_A}(?:fair|right|appropriate|suitable|accurate|reasonable|fitting|justified|warranted|apt|correct|better"
    r"|best|closest|label|category|option|choice|pick|call|answer|rating|score|verdict|grade|classification|description"
    rf"|sense))(?=\W|$){OTHER_THING}[^.;:!?,\n]*",
    re.IGNORECASE,
)
"""What says of the label before it that it is right: ``Half true is probably the most accurate description``."""

_UNREAL = re.compile(
    r"\b(?:could|might|may|should(?!\s+be\s+\w+ed\b)|cannot|can't"  # dialect: kept
    r"|if|whether|unless|until|were\s+(?:it|the)|had\s+(?:it|the)"
    rf"|would\s+(?!(?:\w+ly\s+)?{_SETS}\b|be\s+(?:my|to)\b|(?:generally|normally|commonly|ordinarily|widely|therefore|thus|best)\s+be\s+{_IS_SET}\b|(?:fall|belong|count|qualify|fit|function|serve)\b)|would\s+have|'d\s+have"
    r"|(?:was|were)\s+(?:going|about|inclined)|wanted\s+to|fails?\s+to|hard|difficult|easy|easily"
    r"|guidelines?|policy|definition|defin(?:es|ed)|codebook"
    r"|(?:some|many|most|several|other|few)\s+(?:people|would|(?!serious\b|obvious\b|various\b)\w+s(?=\s))"
    r"|others|critics|experts|another\s+\w+|depends|supposed|expected|intended|meant|asked|asks|instructions?(?!\s+(?:is|are|was|were)\b)|prompt|rubric|example"
    rf"|seemed|looked|first(?!\s+(?:one|{THING}))|initially|at\s+a\s+glance|tempt\w*|previous\w*|usually|typically|often|sometimes"
    r"|partly|partially|mostly(?!\s+about)|somewhat|almost|nearly|barely|hardly"
    r"|declin\w+|refus(?:e|es|ed|ing)|unable|hesita\w+|reluctant|avoid\w*|resist\w*|chances?|odds|probability|likelihood"
    r"|not|never|no|neither|nor|without(?!\s+(?:an?|any|the)\b)|doubt\w*|unclear|impossible|quote[sd]?|says|said|claims|titled?|called|thinks|believes|feels\s+that|hopes|want(?:s|ed)?|wonders|so\s+far|I(?:'d|\s+would)?\s+need"
    r"|(?:repl(?:y|ies|ied)|argue[sd]?|state[sd]?|writes|wrote|report(?:s|ed)|complain(?:s|ed)|mention(?:s|ed)|assert(?:s|ed)"
    r"|insist(?:s|ed)|suspect(?:s|ed)|tells|told|admit(?:s|ted)|maintain(?:s|ed)|allege[sd]?|announce[sd]?|comment(?:s|ed)"
    r"|remark(?:s|ed)|respond(?:s|ed)|add(?:s|ed)|fear(?:s|ed)|assume[sd]|agree[sd]|predict(?:s|ed)|warn(?:s|ed))\s+"
    r"(?:\w+\s+)?that"
    r"|nothing|nobody|none|knows|notes|explains|wenn|falls(?!\s+(?:\w+\s+)?(?:under|in|into|within)\b)|si|nicht|kein\w*|pas|non|não)\b"
    r"|n't\b|\?",
    re.IGNORECASE,
)
"""Words of a clause that does not say what the item is."""

_DENIES = re.compile(
    r"(?:\b(?:not|never|no|nor|neither|hardly|without|than|instead\s+of|opposed\s+to"
    r"|isn't|aren't|wasn't|doesn't\s+\w+|don't\s+\w+)\s+(?:(?:an?|the|really|quite|simply|merely|just|necessarily|exactly|about|of|for)\s+)*|\bnon-?|\bnothing\s+to\s+do\s+with\s+"
    r"|\b(?:border(?:s|ing)|verg(?:es|ing))\s+on\s+|\b(?:close|next|near)\s+to\s+|\bshort\s+of\s+)"
    r"[\"“'‘`*_(]*$",
    re.IGNORECASE,
)
"""What directly leads to a label that is not the item's."""

_DEGREE_OF = r"(?:risk|priority|quality|severity|urgency|level)"
_AFTER = re.compile(
    rf"[\"”'’`*_)\]]*(?:-{_DEGREE_OF})?(?:\s+(?:about\s+(?:this|it)|in\s+(?:tone|nature|sentiment|content|general|quality|this\s+\w+)"
    rf"|{_PLACE}(?:\s+(?:the|this)\s+\w+)?|(?:in|by)\s+(?:the|this)\s+(?:evidence|context|reference|premise|{ITEM})|(?:{ITEM}|description|account)(?:\s+of\b[^.,;]*)?|best|language|behaviou?r|material|news|one|case|example))*[\"”'’`*_)]*"
    r"(?:\s*(?:[.,;:!)(—–]|$|\s-\s)|\s+(?:because|since|as|due|given|with|rather|and|for|from|to|about|towards?|à|zu|für|pour|contra"
    r"|where|but|though|although|while|even|instead|which|when|despite|not|per)\b)",
    re.IGNORECASE,
)
"""What may follow: ``is harmful content``, and not ``is good practice``."""

_CONDITION = re.compile(
    r"\W*(?:with(?:out)?|in\s+(?:an?|another|other))\b(?=.*(?<!\bI )\bwould\b)|\W*(?:add|fix|remove|replace)\b.*\band\b"
    r"|\W*(?:(?:so|then|thus|hence|therefore|and|but|overall)\s*,?\s+)?(?:if|unless|were|had|wenn|falls|sofern|si|se|als)\b(?!\s+I\s+(?:must|had|have)\b)(?![^.]*,\s*but\b)",
    re.IGNORECASE,
)
_CLAUSE_ENDS = re.compile(
    r",\s+(?!and\b)|:\s+|\s(?:[-–—]|->|→|=>|⇒)\s+|\b(?:so(?!\s+(?:far|much|many))|but|therefore|hence|thus)\b"
)


def is_long(text: str) -> bool:
    """Whether a text is no short prose, also for its gaps: patterns are slow on hundreds of spaces."""
    return len(text) > LONGEST_PROSE or re.search(r"\s{20}", text) is not None


_REFUSES = re.compile(
    r"\bI\s+(?:can(?:no|')t|cannot|won't|will\s+not)\s+(?:help|assist|comply|rate|judge|label|classify|provide|score)\b",
    re.IGNORECASE,
)


def find_only_label(text: str, scale: Scale) -> Iterator[Statement]:
    """``The article deals primarily with politics.``: the only label that a short text says of the item."""
    options = [str(one) for one in scale.categories or ()]
    if (
        is_long(text)
        or _REFUSES.search(text)
        or scale.numeric
        or scale.kind not in ("nominal", "ordinal")
        or not options
    ):
        return
    said: dict[Label, int] = {}
    sentences = list(sentences_of(text))
    if sum(len(list(mentions_of(sentence, options))) for _, sentence in sentences) > MOST_MENTIONS:
        return
    for start, sentence in sentences:
        for found in mentions_of(sentence, options) if _OF_SCALE.search(sentence) is None else ():
            label = label_on_scale(found[0], scale)
            before, rest = sentence[: found.start()], sentence[found.end() :]
            equal = re.search(r"\bas\s+$", before) and re.match(r"\s+as\b", rest)  # as good as the other one
            defines = re.match(r"\W*(?:an?|any|every|each)\b", before, re.IGNORECASE) and _WHEN.match(rest)
            if (
                label is None
                or equal
                or defines
                or denies(before)
                or not is_meant(text, start, before, start + found.end())
            ):
                continue
            subject = _I.search(before)
            ending = _VERB_ENDS.match(rest)
            verb = subject and ending and (ending[1] is None or subject[1] or subject[2])
            verb = verb or (str(label).endswith("s") and ending and _THIRD.search(before))
            # Negative sentiment.
            alone = _ARTICLE.fullmatch(before) and (
                _ALONE.fullmatch(rest) or (found[0].casefold() == "none" and _OF_ALL.fullmatch(rest))
            )
            verb = verb or (ending and re.search(rf"{_AUTHOR_WOULD}\s+[*_\"“]*$", before, re.IGNORECASE))
            fits = is_fitting(before, rest)
            if not verb and not alone and not fits and _LEAD.search(before) is None:
                said.setdefault(label, -1)  # merely mentioned
            elif (
                verb
                or alone
                or (
                    (
                        fits
                        or (is_answer(scale) and _THAT.match(rest))
                        or _AFTER.match(rest)
                        or _again(before, rest)
                        or _takes_object(label)
                    )
                    and not is_in_doubt(rest, label, scale)
                )
            ):
                said[label] = start
            else:
                return
    if len(said) == 1:
        ((label, at),) = said.items()
        if at >= 0:
            yield Statement(at, len(text), label)


_ALONE = re.compile(
    rf"(?:-{_DEGREE_OF})?\s+{ITEM}(?:\s+(?:overall|indeed|by\s+any\s+(?:standard|measure)))?\W*", re.IGNORECASE
)
_OF_SCALE = re.compile(
    r"\b(?:scale|labels|options|categories|levels)\b[^.]{0,40}\b(?:from|between|runs?|are)\b", re.IGNORECASE
)
"""A sentence about the scale: ``The scale runs from poor to excellent``."""

_OF_ALL = re.compile(r"\s+of\s+(?:the|these|those|them)\b[^.,;:!?]{0,60}\W*", re.IGNORECASE)
"""What follows "none" in a sentence that is the label: ``None of the listed policies is violated``."""

_ARTICLE = re.compile(r"\W*(?:(?:an?|the)\s+)?(?:\w+ly\s+)?", re.IGNORECASE)
_WHEN = re.compile(r"\W*(?:only\s+)?(?:when|whenever|if|as\s+long\s+as|provided)\b", re.IGNORECASE)
"""What follows a label in a definition: ``An answer is correct when``."""

_THAT = re.compile(r"\s+that\b(?![^\n]*\b(?:but|however|yet|though|although)\b)", re.IGNORECASE)
"""What follows an answer about a statement: ``It is false that``."""

_VERB_ENDS = re.compile(
    r"\W*(?:[.!]|$|with\s+(?:this|that|the)\s+(?:statement|claim|item|sentence|author|view|idea)\b"
    rf"|((?:it|this|that|(?:the|this)\s+{ITEM})\b(?!\s+(?:if|when)\b)))",
    re.IGNORECASE,
)


def _takes_object(label: Label) -> bool:
    """Whether a label is a preposition, with its object behind it: ``The author is against the tax.``"""
    return str(label).casefold() in ("against", "in favor", "in favour", "for")


def _again(before: str, rest: str) -> bool:
    """Whether a clause ends in the noun of its subject: ``The leaf is an oak leaf.``"""
    noun = re.match(r"\s+(\w{3,})(?=[.,;!]|$)", rest)
    return noun is not None and re.search(rf"\b{noun[1]}\b", before, re.IGNORECASE) is not None


def is_fitting(before: str, rest: str) -> bool:
    """Whether a clause begins with a label and says that it is right."""
    fits = _FITS.match(rest) if _FIRST.search(before) else None
    return fits is not None and _UNREAL.search(fits[0].replace("would be", "").replace("partially", "")) is None


def denies(before: str) -> bool:
    """Whether words right before a label deny it."""
    return _DENIES.search(before) is not None


def is_meant(text: str, start: int, before: str, end: int) -> bool:
    """Whether a label after these words of a sentence is neither supposed, denied, asked about nor quoted."""
    is_question = re.match(r"[^.!?\n]{0,80}\?", text[end:]) is not None
    is_question = (
        is_question or re.match(r"\W*but\s+(?:(?:it|this)\s+)?(?:is|was|are)(?:n't|\s+not)\b", text[end:]) is not None
    )
    would = re.search(r"\bI(?:'d|\s+would)\b", before)
    is_supposed = (
        _CONDITION.match(before)
        or READING.search(before)
        or (would and SUPPOSES.match(before[: would.start()]))
        or _UNREAL.search(
            re.sub(rf"{_BEST_IS}|{_AUTHOR_WOULD}", "", _CLAUSE_ENDS.split(before)[-1], flags=re.IGNORECASE)
        )
    )
    return not (is_supposed or is_question or is_reported(text, start + len(before), end))


def sentences_of(text: str) -> Iterator[tuple[int, str]]:
    """The sentences and lines of a text with their positions."""
    at = 0
    for end in [*_SENTENCE_ENDS.finditer(text), None]:
        sentence = text[at : len(text) if end is None else end.start()]
        if sentence.strip():
            yield at, sentence
        at = len(text) if end is None else end.end()


LONGEST_CODE = 6
"""Letters of labels in capitals from which on they are words: ``SUPPORTS``."""


def mentions_of(sentence: str, options: list[str]) -> Iterator[re.Match[str]]:
    """The labels that a sentence names, the longest first where one holds another; letters and codes in their case."""
    ordered = sorted(options, key=len, reverse=True)
    spelled = (r"[\s_-]+".join(map(re.escape, re.split(r"[\s_-]+", one))) for one in ordered)
    is_code = (len(one) < 3 or (one.isupper() and len(one) < LONGEST_CODE) for one in ordered)
    words = "|".join(one if code else f"(?i:{one})" for one, code in zip(spelled, is_code, strict=True))
    bare = rf"(?<![\w'’-])(?:{words})(?![\w'’]|[*_]*-(?!{_DEGREE_OF}\b)\w)"
    quoted = rf"(?<=[\s(:]')(?:{words})(?='(?!\w))"
    return re.finditer(f"{bare}|{quoted}", sentence)


# -- numbers ---------------------------------------------------------------------------------------------

_UNIT = re.compile(
    r"\s*-?(?:stars?\b|points?\b|(?:out\s+of|of|von|sur|de|su|di|z|из|/)\s*\d+(?:\.\d+)?(?:\s+(?:stars|points))?|%|\s+on\s+the\s+(?:\w+\s+)?scale)",
    re.IGNORECASE,
)
_VALUE = re.compile(
    rf"(?<![\w.,/:<>=~±-])(?:\d+(?:\.\d+)?|{WORD.pattern}(?=\s*-?(?:stars|points|out\s+of|of\s+\d)))"
    r"(?![\w/]|[.,]\d|\s*[-–]\s*\d)",
    re.IGNORECASE,
)
_VALUE_LEAD = re.compile(
    rf"(?:{_SUBJECT}{_IS}|{_SUBJECT}\s+(?:got|gained|scored|earned|achieve[sd]|reached|received)"  # dialect: kept
    rf"|{_JUDGED}|\b(?:at|worth|scores|enough\s+for|worthy\s+of)"
    r"|\b(?:criteri(?:a|on)|requirements?|descriptions?|descriptors?|definition|standards?|conditions)\s+(?:for|of)"
    r"|\b(?:score|rating|grade|value|similarity)\s+of|\bI\s+(?:\w+\s+)?(?:estimate|(?:land|settle|end\s+up|arrive)\s+(?:on|at))"
    r"|\bI\s+(?:estimate|see|get)\s+(?:an?|the)\s+[\w'-]+\s+(?:of|at))"
    r"(?:\s+(?:about|around|roughly|approximately|an?|only|just|clearly|certainly|definitely|probably|at|worth|of|score|de|bei|auf|di"
    r"|rating|grade|level|solid|strong))*\s*[\"“'‘`*_(]*$",
    re.IGNORECASE,
)
_VALUE_AFTER = re.compile(
    rf"[\"”'’`*_)]*(?:\s+(?:{_PLACE}|for\s+me|from\s+me|in\s+(?:total|my\s+\w+)|(?:of|in|on)\s+the\s+(?:rubric|scale|guide\w*|codebook)))?"
    r"\s*(?:[.;!)(—–]|,\s|:\s|$|\s-\s|\b(?:because|since|as|due|given|with|for|on|rather\s+than|but\s+not|and\s+not|not)\b)",
    re.IGNORECASE,
)
_BOUNDS = re.compile(
    r"\b(?:on|using)\s+(?:an?|the)\s+(?:scale\s+)?(?:of\s+|from\s+)?\d+\s*(?:to|-|–)\s*\d+(?:\s+scale)?,?",
    re.IGNORECASE,
)


def find_only_number(text: str, scale: Scale) -> Iterator[Statement]:
    """``On a scale of 1 to 10, this translation is about an 8.``: the only number of a short text."""
    if is_long(text) or not scale.numeric:
        return
    text = _BOUNDS.sub(lambda one: " " * len(one[0]), text)
    found, until = [], -1
    for start, sentence in sentences_of(text):
        for one in _VALUE.finditer(sentence):
            if start + one.start() >= until:  # else it is the top of the last one
                unit = _UNIT.match(sentence, one.end())
                until = start + (one.end() if unit is None else unit.end())
                found += [] if denies(sentence[: one.start()]) else [(start, sentence, one, unit)]
    if len(found) != 1:
        return
    ((start, sentence, one, unit),) = found
    end = one.end() if unit is None else unit.end()
    before, rest = sentence[: one.start()], sentence[end:]
    is_named = unit is not None and unit[0].endswith("scale")  # 4.0 on the similarity scale
    label = label_on_scale(sentence[one.start() : one.end() if is_named else end], scale)
    leads = (
        is_fitting(before, rest) or _VALUE_LEAD.search(before) or (unit is not None and not before.strip(" *_-\"'`"))
    )
    if (
        label is None
        or not leads
        or not (_VALUE_AFTER.match(rest) or is_fitting(before, rest))
        or is_in_doubt(rest, label, scale)
    ):
        return
    if is_meant(text, start, before, start + end):
        yield Statement(start, start + end, label)


# -- sides -----------------------------------------------------------------------------------------------

_COMPARES = re.compile(
    r"\b(?:better|best|wins|loses|worse|weaker|superior|stronger|preferable|prefer\w*|tied?|draw|equal(?:ly)?|odd|belong"
    r"|differs|different|outlier|apart)\b",
    re.IGNORECASE,
)
_OPINION = re.compile(
    r"^[\s*_\"'“`>]*(?:(?:(?:I'm|I\s+am)\s+(?:\w+\s+){0,2}(?:\d+\s?%\s+)?(?:sure|certain|confident|convinced)\s+that|overall|still|so|thus|therefore|hence|and|but|on\s+balance|for\s+me"
    r"|in\s+(?:my\s+(?:view|opinion)|short|sum|the\s+end))\s*,?\s+)*"
    r"(?:I\s+(?:\w+ly\s+)?(?:find|think|believe|feel|consider|judge|see|conclude|would\s+say)\s+(?:that\s+)?|I'd\s+say\s+"
    r"(?:that\s+)?|my\s+(?:preference|vote|pick)\s+(?:is(?:\s+for)?|goes\s+to)\s+)?",
    re.IGNORECASE,
)
_RESPECT = re.compile(
    r"^\W*(?:(?:in\s+terms\s+of|on|regarding|for|as\s+for|concerning|with\s+respect\s+to|when\s+it\s+comes\s+to|if)\b"
    r"|\w+-wise\b)(?!\s+(?:balance|the\s+whole|me\b))",
    re.IGNORECASE,
)
_PARTS = re.compile(r"(?:,|:|;|\s[-–—])\s+|\s+(?=(?:and|but|so|because|since|as)\s)")


def find_only_side(text: str, scale: Scale) -> Iterator[Statement]:
    """``I find B slightly better, mostly for tone.``: the only side that the clauses of a short text prefer."""
    if is_long(text) or scale.kind not in ("preference", "odd-one-out"):
        return
    found: list[tuple[int, Label]] = []
    named: set[Label] = set()
    if scale.kind == "odd-one-out":  # where these words deny nothing
        text = _DOES_NOT_FIT.sub(lambda one: "differs".ljust(len(one[0])), text)
    for start, sentence in sentences_of(text):
        whole = label_on_scale(_OPINION.sub("", sentence), scale)
        at = len(sentence) if _RESPECT.match(sentence) else 0
        for end in [*([] if whole is not None else _PARTS.finditer(sentence, at)), None]:
            until = len(sentence) if end is None else end.start()
            clause = sentence[at:until]
            bare = _BARE.fullmatch(clause)
            if bare is not None:
                label = label_on_scale(bare[2], scale)
            elif _COMPARES.search(clause):
                label = label_on_scale(_OPINION.sub("", clause), scale)
            else:
                label = None
            if label is not None:
                is_listed = bare is not None and (bare[1] or _ends_with_label(sentence[:at], scale))
                is_said = (
                    _COMPARES.search(clause)
                    and not WISHES.match(sentence)
                    and is_meant(text, start, sentence[:until], start + until)
                )
                named.add(label)
                found += [(start + at, label)] if is_said and not is_listed else []
            at = until if end is None else end.end()
    if found and len(named) == 1:
        yield Statement(found[-1][0], len(text), found[-1][1])


_DOES_NOT_FIT = re.compile(r"\b(?:does(?:\s+not|n't)|do(?:\s+not|n't))\s+(?:belong|fit|match)(?:\s+in)?\b", re.I)

_BARE = re.compile(r"[\s,]*(?:(and|but)\s+)?((?:(?:an?|the)\s+)?\S+)\s*", re.IGNORECASE)
"""A clause that only names a label, maybe next to others: ``The options are A and tie``, ``anything but a tie``."""


def _ends_with_label(text: str, scale: Scale) -> bool:
    last = re.search(r"[\w-]+(?=\W*$)", text)
    return last is not None and label_on_scale(last[0], scale) is not None


# -- conclusions -----------------------------------------------------------------------------------------
# The patterns above know how a statement is phrased; these only where a label is: at the end of the last sentence after
# a word of conclusion, alone below a heading, or first in the response after a word of confidence.

_CONCLUDES = re.compile(
    r"(?:(?:^|[,;:.—–-]\s+|\band\s+)so(?!\s+(?:far|that)\b)|\b(?:hence|thus|therefore|thereby|consequently|accordingly"
    r"|which\s+(?:makes|means|leaves|puts|gives)|in\s+(?:short|sum|summary|conclusion|other\s+words)|on\s+balance"
    r"|all\s+in\s+all|to\s+conclude|taken\s+together|taking\s+everything\s+together|i\.e\.,?|meaning))\b"
    r"(?P<between>[^.;:!?]{0,60})$",
    re.IGNORECASE,
)
"""A word of conclusion in the clause of the label."""

_NAMED = re.compile(
    r"(?:^[\s*_\"“'`>]*(?:(?:it|this|that)(?:\s+one)?\s+|(?:in|an?|the)\s+)?|(?:->|→|=>|⇒)\s*|\bI(?:'m|\s+am)\s+(?:\w+ly\s+)?"
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

_WORD_OF_LABEL = re.compile(r"[^\W\d_](?:[^\W_]|[^\w\s])")
"""More than a letter, which can be an article, or a number: ``B2``, ``C#``."""


_BOX = re.compile(r"[☐☑☒○●]|\[[ xX]\]")


def find_conclusion(text: str, scale: Scale) -> Iterator[Statement]:
    """``No data is disclosed, therefore it does not leak.``: the label with which the last sentence ends."""
    options = [str(one) for one in scale.categories or ()]
    if is_long(text) or _BOX.search(text) or scale.numeric or scale.kind not in ("nominal", "ordinal"):
        return
    start, sentence = next(reversed(list(sentences_of(text))), (0, ""))
    sentence = sentence if options else ""
    found = [one for one in mentions_of(sentence, options) if not denies(sentence[: one.start()])]
    if not found:
        return
    last = found[-1]
    before, label = sentence[: last.start()], label_on_scale(last[0], scale)
    is_word = str(label).casefold() in ("yes", "no", "true", "false")  # an answer, where others may only be listed
    leads = any(one.search(before) for one in (_CONCLUDES, _SET, _NAMED)) or (is_word and re.search(r",\s+$", before))
    clause = re.split(r"[,;:]\s|->|→|=>|⇒", before)[-1]
    others = {label_on_scale(one[0], scale) for one in found[:-1]} - {label}
    if (
        label is None
        or not _WORD_OF_LABEL.search(last[0])
        or not leads
        or others
        or not _ENDS.match(sentence, last.end())
    ):
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
    r"|response(?!.*\?)|answer\s+[ab]|confidence|language)\b",
    re.IGNORECASE,
)


def find_below_heading(text: str, scale: Scale) -> Iterator[Statement]:
    """``## Sentiment``, then ``**Positive**``: the only line below a heading that is a label and nothing else."""
    if scale.numeric or not scale.categories or is_long(text):
        return
    lines = [line for line in text.splitlines() if line.strip()]
    labels = [stated_label(line, scale, line=True) for line in lines]
    there = [i for i, label in enumerate(labels) if label is not None]
    if len(there) == 1 and there[0] > 0:
        heading = lines[there[0] - 1]
        if _HEADING.fullmatch(heading) and not _NO_RESULT.search(heading):
            yield Statement(0, len(text), labels[there[0]])


def find_confident_opening(text: str, scale: Scale) -> Iterator[Statement]:
    """``Probably a 4, though others may differ.``: the label that a response begins with after such a word."""
    lead = CONFIDENCE.match(text)
    if lead is not None and not is_long(text):
        label = stated_label(text[lead.end() :].partition("\n")[0], scale, line=True)
        if label is not None:
            yield Statement(0, lead.end(), label)
