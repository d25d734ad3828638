"""The languages of the pages on which people answer: a catalogue each, by the English words that the code says.

What a study says (its name, questions, items, instructions, consent) stays as its author wrote it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from assay.data.scales import Scale

_CATALOGUES = Path(__file__).parent / "catalogues"


class Said(str):
    """Words of ours, in English, that are read in the language of whoever reads them.

    Parameters
    ----------
    template : str
        As it stands in the catalogues, with a place ``{name}`` for each value.
    **values
        Numbers, words that stay as they are, or words of ours.
    """

    template: str
    values: Mapping[str, Any]

    def __new__(cls, template: str, **values: Any) -> Said:
        """The English words."""
        said = super().__new__(cls, template.format(**values) if values else template)
        said.template, said.values = template, values
        return said

    def filled(self, **values: Any) -> Said:
        """The same words with their values."""
        return Said(self.template, **values)


@dataclass(frozen=True)
class Catalogue:
    """One language: its name in itself, as HTML names it, the direction of its script, its words.

    Attributes
    ----------
    page, script : dict
        By the English words: what the server says, and what the page's script says.
    """

    language: str
    name: str
    tag: str
    dir: str
    page: Mapping[str, str]
    script: Mapping[str, str]

    def say(self, template: str, **values: Any) -> str:
        """English words in this language; they stay English where the catalogue lacks them."""
        found = self.page.get(template) or self.script.get(template) or template
        if not values:
            return found
        filled = {name: self.own(value) for name, value in values.items()}
        return (escape(found) if any(isinstance(v, Markup) for v in filled.values()) else found).format(**filled)

    def own(self, value: Any) -> Any:
        """In this language where the words are ours; what a study or a person said stays as it is."""
        return self.say(value.template, **value.values) if isinstance(value, Said) else value

    def date(self, day: date) -> str:
        """A day in words."""
        return self.say("{day} {month} {year}", day=day.day, month=Said(_MONTHS[day.month - 1]), year=day.year)


_MONTHS = (
    *(Said("January"), Said("February"), Said("March"), Said("April"), Said("May"), Said("June"), Said("July")),
    *(Said("August"), Said("September"), Said("October"), Said("November"), Said("December")),
)

_NAMES = {
    "en": ("English", "en", "ltr"),
    "de": ("Deutsch", "de", "ltr"),
    "es": ("Español", "es", "ltr"),
    "zh": ("简体中文", "zh-Hans", "ltr"),
    "ar": ("العربية", "ar", "rtl"),
}


@lru_cache(maxsize=len(_NAMES))
def words(language: str) -> Catalogue:
    """The words of a language; English is what the code says."""
    found = {} if language == "en" else json.loads((_CATALOGUES / f"{language}.json").read_text(encoding="utf-8"))
    return Catalogue(language, *_NAMES[language], found.get("page", {}), found.get("script", {}))


def languages() -> tuple[Catalogue, ...]:
    """All languages of the pages."""
    return tuple(words(language) for language in _NAMES)


_ENGLISH_NAMES = {"english": "en", "german": "de", "spanish": "es", "chinese": "zh", "arabic": "ar"}


def language_called(name: str) -> str | None:
    """The language that a sheet of people names: ``de``, ``de-AT``, ``German`` or ``Deutsch``; None for any other."""
    low = name.strip().casefold()
    own = {name.casefold(): language for language, (name, _tag, _dir) in _NAMES.items()}
    tag = re.split(r"[-_]", low)[0]
    return _ENGLISH_NAMES.get(low) or own.get(low) or (tag if tag in _NAMES else None)


def pick_language(chosen: str | None, accepted: str, of_person: str = "") -> str:
    """The language that a person chose on the page, that was said of them, or that their browser asks for first.

    Parameters
    ----------
    chosen : str, optional
        What the page's cookie holds.
    accepted : str
        The header Accept-Language: ``de-AT,de;q=0.9,en;q=0.8``.
    of_person : str
        What their invitation says, see `language_called`.
    """
    if chosen in _NAMES:
        return chosen
    if (named := language_called(of_person)) is not None:
        return named
    ranked = []
    for place, part in enumerate(accepted.split(",")[:50]):
        tag, _, weight = part.strip().partition(";")
        read = re.fullmatch(r"\s*q=([01](?:\.\d{0,3})?)\s*", weight)
        wanted = float(read[1]) if read else 0.0 if weight else 1.0
        language = tag.strip().lower().partition("-")[0]
        if language in _NAMES and wanted > 0:
            ranked.append((-wanted, place, language))
    return min(ranked)[2] if ranked else "en"


_ALLOWED = (
    Said("a category"),
    Said("a whole number from {low} to {high}"),
    Said("a number from {low} to {high}"),
    Said("a number of at least {low}"),
    Said("a number of at most {high}"),
    Said("a number"),
    Said("text"),
    Said("A, B or C"),
    Said("left, right or no preference"),
    Said("left or right"),
    Said("left"),
    Said("right"),
    Said("no preference"),
    Said("left: {grade}"),
    Said("right: {grade}"),
    Said("one of {labels}"),
    Said("all that apply of {labels}"),
    Said("all of {labels}, the best first"),
    Said("spans of the text, each labelled as one of {labels}"),
)


def allowed_words(allowed: Scale | str) -> str:
    """What a label is or may be, which scales say in English, as words of ours that are read in any language."""
    text = allowed if isinstance(allowed, str) else allowed.describe()
    for one in _ALLOWED:
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(one.template))
        if found := re.fullmatch(pattern, text, re.DOTALL):
            return one.filled(**found.groupdict())
    return text
