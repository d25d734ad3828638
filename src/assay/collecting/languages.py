"""The languages of the annotation page: one catalogue per language, with the English text of the code as key.

The study's own texts (name, questions, items, instructions, consent) are not translated.
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
    """An English message that is translated into the reader's language.

    Parameters
    ----------
    template : str
        The key in the catalogues, with a field ``{name}`` for each value.
    **values
        Numbers, texts that are not translated, or further messages.
    """

    template: str
    values: Mapping[str, Any]

    def __new__(cls, template: str, **values: Any) -> Said:
        """Make the message, filled in in English."""
        said = super().__new__(cls, template.format(**values) if values else template)
        said.template, said.values = template, values
        return said

    def filled(self, **values: Any) -> Said:
        """Return the same message with these values."""
        return Said(self.template, **values)


class ColumnTitle(str):
    """The title of an item's column, which the study states for some languages, see `Question.title_of`."""

    by_language: Mapping[str, str]

    def __new__(cls, by_language: Mapping[str, str]) -> ColumnTitle:
        """Make the title that is shown in every other language."""
        title = super().__new__(cls, by_language[""])
        title.by_language = by_language
        return title


@dataclass(frozen=True)
class Catalogue:
    """One language: its native name, its HTML tag, the direction of its script, and its translations.

    Attributes
    ----------
    page, script : dict
        Translations of the messages of the server, and of the page's script, by their English text.
    """

    language: str
    name: str
    tag: str
    dir: str
    page: Mapping[str, str]
    script: Mapping[str, str]

    def say(self, template: str, **values: Any) -> str:
        """Translate an English message; without a translation it stays English."""
        found = self.page.get(template) or self.script.get(template) or template
        if not values:
            return found
        filled = {name: self.own(value) for name, value in values.items()}
        return (escape(found) if any(isinstance(v, Markup) for v in filled.values()) else found).format(**filled)

    def own(self, value: Any) -> Any:
        """Translate a `Said` or `ColumnTitle`; return any other value, such as a text of a person, unchanged."""
        if isinstance(value, ColumnTitle):
            return value.by_language.get(self.language, str(value))
        return self.say(value.template, **value.values) if isinstance(value, Said) else value

    def date(self, day: date) -> str:
        """Return a date in words."""
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
    """Return the catalogue of a language; English needs no translations."""
    found = {} if language == "en" else json.loads((_CATALOGUES / f"{language}.json").read_text(encoding="utf-8"))
    return Catalogue(language, *_NAMES[language], found.get("page", {}), found.get("script", {}))


def languages() -> tuple[Catalogue, ...]:
    """Return all languages of the annotation page."""
    return tuple(words(language) for language in _NAMES)


_ENGLISH_NAMES = {"english": "en", "german": "de", "spanish": "es", "chinese": "zh", "arabic": "ar"}


def language_called(name: str) -> str | None:
    """Return the language with a name such as ``de``, ``de-AT``, ``German`` or ``Deutsch``; None if there is none."""
    low = name.strip().casefold()
    own = {name.casefold(): language for language, (name, _tag, _dir) in _NAMES.items()}
    tag = re.split(r"[-_]", low)[0]
    return _ENGLISH_NAMES.get(low) or own.get(low) or (tag if tag in _NAMES else None)


def pick_language(chosen: str | None, accepted: str, of_person: str = "") -> str:
    """Return the language that a person chose, else that of their invitation, else that preferred by their browser.

    Parameters
    ----------
    chosen : str, optional
        The value of the page's cookie.
    accepted : str
        The header Accept-Language: ``de-AT,de;q=0.9,en;q=0.8``.
    of_person : str
        The language in their invitation, see `language_called`.
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
    """Return the English description of a label or scale as a translatable message."""
    text = allowed if isinstance(allowed, str) else allowed.describe()
    for one in _ALLOWED:
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(one.template))
        if found := re.fullmatch(pattern, text, re.DOTALL):
            return one.filled(**found.groupdict())
    return text
