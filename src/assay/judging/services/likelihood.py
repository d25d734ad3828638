"""How likely was each label, by the probabilities of tokens?"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.data.scales import Label, Scale
from assay.judging.criteria import Criterion
from assay.judging.places import LABEL_KEY
from assay.judging.responses.label_words import ENDING

LEAST_ON_LABELS = 0.5
"""Required probability on labels: with less, the position is not that of a label, or the model meant something else."""

_NEGLIGIBLE = 0.01
"""Probability of a token that may be two labels, below which it does not matter which."""

_WIDEST = 1000
"""Whole numbers of a range that are looked for as labels."""

_BEFORE_LABEL = " \t\r\n\"'`*_([{:#"
_ANY_KEY = re.compile(r"[\"'](?P<key>[^\"'\n]{1,100})[\"']\s*[:,]\s*")


@dataclass(frozen=True)
class LabelLikelihood:
    """The probability of each label at the stated position: ``shares`` that sum to 1, or the ``reason`` if there are
    none.

    ``on_labels`` is the probability that labels have together.
    """

    shares: Mapping[Label, float] = field(default_factory=dict)
    on_labels: float = 0.0
    reason: str | None = None


def label_likelihood(
    tokens: Sequence[tuple[str, Sequence[tuple[str, float]]]],
    label: Label,
    scale: Scale,
    words: Mapping[Label, str],
    criterion: str = "",
) -> LabelLikelihood:
    """Return the probability of each label, from the alternative tokens at the position of the stated label.

    Parameters
    ----------
    tokens : list of (token, alternatives)
        The reply, token by token; alternatives with their log probabilities, the token itself among them.
    label : label
        The parsed label.
    words : dict
        The model's words for labels, if they differ from the labels.
    criterion : str
        The question's own criterion: a label behind its key is the one that counts.
    """
    if not any(there for _, there in tokens):
        return LabelLikelihood(reason="the service sent no probabilities of tokens")
    spelled = _label_spellings(scale, words)
    place = _label_place(tokens, spelled.get(label, str(label)), Criterion(criterion))
    if place is None:
        return LabelLikelihood(reason="the label is not where tokens have probabilities")
    at, skipped = place
    ahead = tokens[at][0][:skipped]
    masses: dict[Label, float] = {}
    parts = [(_rest(token, ahead), math.exp(value)) for token, value in tokens[at][1]]
    whole = {text for text, _ in parts}
    said = _rest(tokens[at][0], ahead)
    for text, mass in parts:
        fitting = [one for one, word in spelled.items() if text and word.casefold().startswith(text)]
        exact = next((one for one in fitting if spelled[one].casefold() == text), None)
        # A token that is a label and also begins other labels counts for it, if the others have separate tokens.
        split = [one for one in fitting if one != exact and spelled[one].casefold() not in whole]
        if exact is not None and (not split or mass < _NEGLIGIBLE):
            masses[exact] = masses.get(exact, 0.0) + mass
        elif exact is None and len(fitting) == 1:
            masses[fitting[0]] = masses.get(fitting[0], 0.0) + mass
        elif fitting and mass >= _NEGLIGIBLE:
            divided = _divide_token(tokens, at, exact, split, spelled, text) if text == said else None
            if divided is None:
                two = " and ".join(repr(spelled[one]) for one in fitting[:2])
                return LabelLikelihood(
                    reason=f"{two} begin with the same token, so their probabilities cannot be separated"
                )
            for one, share in divided.items():
                masses[one] = masses.get(one, 0.0) + share * mass
    total = sum(masses.values())
    if total < LEAST_ON_LABELS:
        return LabelLikelihood(on_labels=total, reason=f"the labels have {total:.2f} of the probability of their place")
    shares = {one: masses.get(one, 0.0) / total for one in spelled if scale.categories is not None or one in masses}
    return LabelLikelihood(shares, min(1.0, total))


def _label_spellings(scale: Scale, words: Mapping[Label, str]) -> dict[Label, str]:
    """How each label is written."""
    if words:
        return dict(words)
    labels: Sequence[Label] = scale.categories or ()
    if not labels and scale.bounds is not None and scale.bounds[1] - scale.bounds[0] <= _WIDEST:
        labels = range(math.ceil(scale.bounds[0]), math.floor(scale.bounds[1]) + 1)
    return {one: str(one) for one in labels}


def _label_place(tokens: Sequence[tuple[str, Any]], word: str, criterion: Criterion) -> tuple[int, int] | None:
    """Return the token in which the stated label begins, and the number of its characters before the label."""
    text = "".join(token for token, _ in tokens)
    keys = [found.end() for found in LABEL_KEY.finditer(text)]
    label = re.compile(rf"(?<![\w.-]){re.escape(word)}(?![\w]|\.\d*[1-9])", re.IGNORECASE)
    starts = [found.start() for found in label.finditer(text)]
    begin = next((at for at in reversed(starts) if at in keys), starts[-1] if starts else None)
    own = _end_of_own_key(text, criterion)
    if own is not None:  # {"coherence": {"score": 3}, …}: the first such label behind the own key
        begin = next((at for at in starts if at >= own), begin)
    position = 0
    for place, (token, there) in enumerate(tokens):
        if begin is not None and position <= begin < position + len(token):
            return (place, begin - position) if there else None
        position += len(token)
    return None


def _end_of_own_key(text: str, criterion: Criterion) -> int | None:
    """Return the end of the last key that names the criterion most closely; None if there is none."""
    if criterion.is_aside:
        return None
    ranked = ((criterion.rank(one["key"]), one.end()) for one in _ANY_KEY.finditer(text))
    found = [(rank, end) for rank, end in ranked if rank is not None]
    best = min((rank for rank, _ in found), default=None)
    return max((end for rank, end in found if rank == best), default=None)


def _rest(token: str, ahead: str) -> str:
    """Return the part of a token that can be a label: without the characters before, and those that end it."""
    text = token[len(ahead) :] if ahead and token.startswith(ahead) else token
    return text.lstrip(_BEFORE_LABEL).rstrip(ENDING).casefold()


def _divide_token(
    tokens: Sequence[tuple[str, Any]],
    at: int,
    exact: Label | None,
    split: Sequence[Label],
    spelled: Mapping[Label, str],
    begun: str,
) -> dict[Label, float] | None:
    """How a token that begins several labels is divided among them, by what might have followed it."""
    if at + 1 >= len(tokens) or not tokens[at + 1][1]:
        return None
    shares: dict[Label, float] = {}
    for token, value in tokens[at + 1][1]:
        following = token.rstrip(ENDING).casefold()
        fitting = [one for one in split if following and spelled[one].casefold().startswith(begun + following)]
        if len(fitting) > 1:
            return None
        one = fitting[0] if fitting else exact
        if one is not None:
            shares[one] = shares.get(one, 0.0) + math.exp(value)
    total = sum(shares.values())
    return {one: share / total for one, share in shares.items()} if total else None
