"""Who may answer: annotators by name, a personal signed link for each, no passwords."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from assay.collecting.design import StudyDesign
from assay.errors import StudyError, listing
from assay.study.definition import Study
from assay.study.store.connection import Store
from assay.study.store.intake import sync_study
from assay.study.store.people import ADJUDICATOR, Person, add_people, find, invited_person

LONGEST_NAME = 200
"""Characters of a person's name, and of the id by which a crowd's address names somebody."""


class LinkRefusedError(Exception):
    """A link that opens nothing; the words say why to whoever followed it."""


class Signer:
    """Makes links that cannot be guessed or altered, and reads them back; each names the study that it opens.

    Parameters
    ----------
    secret : str
        Whoever knows it can make links.
    study : str
        Names the study among all that may be served with this secret, see `study_id`.
    days : float
        How long a link is good.
    alone : bool
        Whether no other study has this secret, so that a link that names no study, as assay made them before,
        can only be of this one.
    lead_link : function
        How many links the lead has had; only the last is good.
    """

    def __init__(
        self,
        secret: str,
        study: str,
        days: float = 90,
        *,
        alone: bool = False,
        lead_link: Callable[[], int] = lambda: 1,
    ) -> None:
        from itsdangerous import URLSafeTimedSerializer

        self.study, self.alone, self._lead_link, self._newest = study, alone, lead_link, 1
        self.seconds = round(days * 86400)
        options = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
        self._persons = URLSafeTimedSerializer(secret, salt="assay person", signer_kwargs=options)
        self._lead = URLSafeTimedSerializer(secret, salt="assay lead", signer_kwargs=options)

    def person_token(self, name: str, link: int) -> str:
        """What stands in a person's link and cookie."""
        return str(self._persons.dumps([self.study, name, link]))

    def lead_token(self) -> str:
        """What stands in the link and cookie of whoever leads the study."""
        number = self._newest_link()
        return str(self._lead.dumps([self.study] if number == 1 else [self.study, number]))

    def person(self, token: str) -> tuple[str, int]:
        """Name and number of the link.

        Raises
        ------
        LinkRefusedError
            For a token that was altered, is too old, or is of another study.
        """
        match self._read(self._persons, token):
            case [str() as study, str() as name, int() as link]:
                self._check_study(study)
            case [str() as name, int() as link]:
                self._check_study(None)
            case _:
                raise LinkRefusedError("This link is not one of ours.")
        return name, link

    def _newest_link(self) -> int:
        self._newest = self._lead_link()
        return self._newest

    def check_lead(self, token: str, *, unread: bool = False) -> None:
        """Raise LinkRefusedError unless the token is that of this study's lead.

        ``unread``, where the database fails: of the newest link as it was when it was last read.
        """
        number = 1
        match self._read(self._lead, token):
            case [str() as study]:
                self._check_study(study)
            case [str() as study, int() as number]:
                self._check_study(study)
            case _:
                self._check_study(None)
        if number != (self._newest if unread else self._newest_link()):
            raise LinkRefusedError("There is a newer link for the lead; please use that one.")

    def _check_study(self, named: str | None) -> None:
        """Refuse a link that names another study; or none, where it may be of another."""
        if named is None and not self.alone:
            raise LinkRefusedError(
                "This link was made before links named their study, so it may be of another one. "
                "Ask whoever leads the study for a new one."
            )
        if named is not None and named != self.study:
            raise LinkRefusedError("This link is of another study. Open it at the address that it was sent with.")

    def _read(self, serializer: Any, token: str) -> Any:
        from itsdangerous import BadData

        try:
            content, made_at = serializer.loads(token, return_timestamp=True)
        except (BadData, ValueError):
            raise LinkRefusedError(
                "This link is not complete, or is not one of ours. Copy it again from the message that brought it."
            ) from None
        # Nobody else can date a link: one from the future was made before the clock of the server went back. With
        # `max_age`, itsdangerous would call it expired.
        if int(time.time()) - made_at.timestamp() > self.seconds:  # in whole seconds, as it is dated
            raise LinkRefusedError("This link has expired. Ask whoever leads the study for a new one.")
        return content


_SECRET, _STUDY, _LEAD = "page's secret", "page's study", "lead's link"
"""Settings: the secret that was drawn for this study, what names it in its links, how many links its lead has had."""


def secret_of(store: Store, secret: str | None) -> str:
    """The secret given; else one that is drawn once and kept in the store, so that links live on."""
    return secret or str(store.keep(_SECRET, secrets.token_urlsafe(32)))


def study_id(store: Store) -> str:
    """What names a study in its links and cookies: drawn once, and as long-lived as its store."""
    return str(store.keep(_STUDY, secrets.token_hex(8)))


def signer_of(study: Study, store: Store, secret: str | None = None) -> Signer:
    """What makes and reads the links of a study, with the secret given or the study's own."""
    used = secret_of(store, secret)
    alone, days = used == store.setting(_SECRET), study.config.people.link_days
    return Signer(used, study_id(store), days, alone=alone, lead_link=lambda: int(store.setting(_LEAD) or 1))


def renew_lead_link(store: Store) -> None:
    """Let the lead's link so far open nothing any more, in whatever browser; the signer then makes the next."""
    with store.exclusive():
        store.set(_LEAD, int(store.setting(_LEAD) or 1) + 1)


def invite(design: StudyDesign, name: str, attributes: Mapping[str, Any] | None = None) -> Person:
    """Add somebody who may answer.

    Raises
    ------
    StudyError
        For a name that is taken (by a judge, by labels in a file, by somebody invited), or that is
        empty or too long; and for attributes that leave open to which group the person belongs.
    """
    _invite(design, {one_line(name): attributes or {}})
    return invited_person(design.store, one_line(name))


def invite_all(study: Study, store: Store, people: Mapping[str, Mapping[str, Any]]) -> list[Person]:
    """Add those of these people who are not invited yet, by name with their attributes: all of them, or nobody.

    The store is brought to what the study says first.

    Returns
    -------
    list of Person
        Who were invited already; their links and attributes stay as they are.
    """
    sync_study(store, study)
    design = StudyDesign(study, store)
    wanted = {one_line(name): about for name, about in people.items()}
    known = [person for person in (find(store, name) for name in wanted) if person is not None]
    _invite(design, {name: wanted[name] for name in wanted if name not in {person.name for person in known}})
    return known


def _invite(design: StudyDesign, people: Mapping[str, Mapping[str, Any]], role: str = "annotator") -> None:
    clean = {name: {str(k).strip(): v for k, v in about.items()} for name, about in people.items()}
    for name, about in clean.items():
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise StudyError(f"a name has 1 to {LONGEST_NAME} printable characters on one line")
        if role != ADJUDICATOR:
            design.check_attributes(name, about)
    add_people(design.store, clean, role)


NAME_COLUMNS = ("name", "annotator", "person")
"""One of these names the people of a sheet."""


def read_people(path: Path) -> dict[str, dict[str, str]]:
    """The people of a sheet, by name: all columns but that of the name (and of links) are their attributes.

    Raises
    ------
    StudyError
        For a sheet without a column of names, an empty name, or a name that appears twice.
    """
    from assay.data.formats.sheets import read_sheet

    frame = read_sheet(path).frame
    column = next((one for one in frame.columns if one.strip().lower() in NAME_COLUMNS), None)
    if column is None:
        raise StudyError(
            f"{path} has no column 'name'; it has {listing(frame.columns)}. Call the one with the names 'name'"
        )
    found: dict[str, dict[str, str]] = {}
    for number, row in enumerate(frame.iter_rows(named=True), start=1):
        name = one_line(str(row.pop(column) or ""))
        if not name:
            raise StudyError(f"{path}: row {number} has no name in column '{column}'")
        if name in found:
            raise StudyError(f"{path}: '{name}' appears twice; each person has one row")
        about = {str(key).strip(): str(value or "").strip() for key, value in row.items()}
        found[name] = {key: value for key, value in about.items() if value and key.lower() != "link"}
    if not found:
        raise StudyError(f"{path} has no rows; give each person one")
    return found


def invite_adjudicator(design: StudyDesign, name: str) -> Person:
    """Add somebody who decides between the answers of others; what they say counts as nobody's label.

    Raises
    ------
    StudyError
        For a name that is taken, as of somebody who answers the study too; or where triplets are drawn.
    """
    if design.drawn_from is not None:
        raise StudyError("triplets are drawn while people answer, so there is nothing to decide between")
    _invite(design, {one_line(name): {}}, ADJUDICATOR)
    return invited_person(design.store, one_line(name))


def one_line(name: str) -> str:
    """A name as it is kept: single spaces, none around it."""
    return " ".join(name.split())


def admit_person(store: Store, signer: Signer, token: str) -> Person:
    """The person to whom a link or cookie belongs.

    Raises
    ------
    LinkRefusedError
        Where it was altered, is too old, was replaced by a newer one, or has been ended.
    """
    name, link = signer.person(token)
    person = find(store, name)
    if person is None:
        raise LinkRefusedError("This link belongs to nobody of this study.")
    if person.state == "revoked":
        raise LinkRefusedError("This link has been ended by whoever leads the study.")
    if person.link != link:
        raise LinkRefusedError("There is a newer link for you; please use that one.")
    return person


def personal_link(signer: Signer, person: Person, base_url: str) -> str:
    """A person's own link."""
    return f"{base_url.rstrip('/')}/join/{signer.person_token(person.name, person.link)}"


def checked_address(base_url: str) -> str:
    """An address that people can reach the page at: scheme, host and port, and nothing behind them.

    Raises
    ------
    StudyError
        For any other.
    """
    try:
        parts = urlsplit(base_url.strip())
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        usable = usable and not re.search(r"[\s@\\]", parts.netloc)
    except ValueError:
        usable = False
    if not usable:
        raise StudyError(
            f"--base-url takes where people reach the page, such as https://label.example.org; got '{base_url}'"
        )
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise StudyError(
            f"--base-url takes a host without a path, as the page has addresses of its own below it; got '{base_url}'. "
            f"Give the study a host name of its own: {parts.scheme}://{parts.netloc}"
        )
    return f"{parts.scheme}://{parts.netloc}"


def read_attributes(text: str) -> dict[str, str]:
    """``expertise=nurse, gender=f`` as a dictionary.

    Raises
    ------
    StudyError
        For a part without ``=``.
    """
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name or not value:
            raise StudyError(f"an attribute is written NAME=VALUE; got '{part}'")
        found[name] = value
    return found
