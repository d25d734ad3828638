"""What the codes of a verdict are called in sentences, on every face: summary, page, gate, command line."""

from __future__ import annotations

from collections.abc import Mapping

from assay.errors import counted
from assay.replacement.decision import Reason
from assay.reporting.tables import number

_REASONS: Mapping[Reason, str] = {
    "nobody has enough items": "nobody has enough items",
    "too few clusters": "too few clusters of items",
    "too few items": "{items} do not settle whether it is as good as at least {k} of {annotators}",
    "it repeats an annotator": "it repeats an annotator's labels",
    "people are not shown to agree": "people are not shown to agree with each other",
    "people hardly agree": "people hardly agree with each other",
    "item_level_agreement_undecided": "item-level agreement is not demonstrated",
    "agreement_ratio_undecided": "an agreement ratio above {least} is not demonstrated",
    "agreement_ratio_too_low": "its agreement ratio is below {least}",
}


def reason_words(reason: Reason, least: float, k: int, n_annotators: int, n_items: int) -> str:
    """The sentence of a reason, to follow a colon.

    ``least`` is the required agreement ratio, ``k`` the number of annotators that the judge must be as good as.
    """
    return _REASONS[reason].format(
        least=number(least), items=counted(n_items, "item"), k=k, annotators=counted(n_annotators, "annotator")
    )
