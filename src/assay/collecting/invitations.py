"""Invitations: annotators by name, each with a personal signed link instead of a password."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from assay.collecting.design import StudyDesign
from assay.errors import StudyError, listing
from assay.study import schema
from assay.study.definition import Study
from assay.study.store.connection import Store
from assay.study.store.intake import sync_study
from assay.study.store.people import ADJUDICATOR, Person, add_people, find, invited_person

LONGEST_NAME = 200
"""Most characters of a person's name, and of a participant id on a crowd platform."""


class LinkRefusedError(Exception):
    """A link that is not accepted; the message tells its user why."""


LeadRole = Literal["lead", "reader"]
"""A lead can change the study; a reader sees the dashboard only."""

ROLES: tuple[LeadRole, ...] = get_args(LeadRole)


@dataclass(frozen=True)
class LeadAccess:
    """Whose link a request came with: of the study lead, without a name, or of a further lead."""

    name: str = ""
    role: LeadRole = "lead"


class Signer:
    """Makes and checks signed links, each for one study.

    Parameters
    ----------
    secret : str
        The signing key; anyone who knows it can make links.
    study : str
        Identifies the study among all studies with this secret, see `study_id`.
    days : float
        Validity of a link in days.
    alone : bool
        Whether no other study has this secret, so that a link without a study, from an earlier version of assay, can
        only belong to this one.
    lead_link : function
        Returns the number of study lead links made so far; only the last is valid.
    leads : function
        Returns further leads by name, with the number of their valid ``link`` and their ``role``.
    """

    def __init__(
        self,
        secret: str,
        study: str,
        days: float = 90,
        *,
        alone: bool = False,
        lead_link: Callable[[], int] = lambda: 1,
        leads: Callable[[], Mapping[str, Mapping[str, Any]]] = dict,
    ) -> None:
        from itsdangerous import URLSafeTimedSerializer

        self._leads, self._known_leads = leads, dict[str, Mapping[str, Any]]()
        self.study, self.alone, self._lead_link, self._newest = study, alone, lead_link, 1
        self.seconds = round(days * 86400)
        options = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
        self._persons = URLSafeTimedSerializer(secret, salt="assay person", signer_kwargs=options)
        self._lead = URLSafeTimedSerializer(secret, salt="assay lead", signer_kwargs=options)

    def person_token(self, name: str, link: int) -> str:
        """Return the token in a person's link and cookie."""
        return str(self._persons.dumps([self.study, name, link]))

    def lead_token(self, name: str = "") -> str:
        """Return the token in the link and cookie of the study lead, or of a further lead."""
        if name:
            return str(self._lead.dumps([self.study, name, self._leads()[name]["link"]]))
        number = self._newest_link()
        return str(self._lead.dumps([self.study] if number == 1 else [self.study, number]))

    def person(self, token: str) -> tuple[str, int]:
        """Return the person's name and the number of the link.

        Raises
        ------
        LinkRefusedError
            If the token was altered, has expired, or belongs to another study.
        """
        match self._read(self._persons, token):
            case [str() as study, str() as name, int() as link]:
                self._check_study(study)
            case [str() as name, int() as link]:
                self._check_study(None)
            case _:
                raise LinkRefusedError("This link is invalid.")
        return name, link

    def _newest_link(self) -> int:
        self._newest = self._lead_link()
        return self._newest

    def check_lead(self, token: str, *, unread: bool = False) -> LeadAccess:
        """Return whose link it is; raise LinkRefusedError unless it belongs to the study lead or a further lead.

        With ``unread``, for a failing database, compare with the links as last read.
        """
        number = 1
        match self._read(self._lead, token):
            case [str() as study, str() as name, int() as link]:
                self._check_study(study)
                return self._further_lead(name, link, unread=unread)
            case [str() as study]:
                self._check_study(study)
            case [str() as study, int() as number]:
                self._check_study(study)
            case _:
                self._check_study(None)
        if number != (self._newest if unread else self._newest_link()):
            raise LinkRefusedError("There is a newer link for the study lead; please use that one.")
        return LeadAccess()

    def _further_lead(self, name: str, link: int, *, unread: bool) -> LeadAccess:
        if not unread:
            self._known_leads = dict(self._leads())
        about = self._known_leads.get(name)
        if about is None or about["link"] != link or about["role"] not in ROLES:
            raise LinkRefusedError("This link was ended by the study lead.")
        return LeadAccess(name, about["role"])

    def _check_study(self, named: str | None) -> None:
        """Refuse a link of another study, and a link without a study unless it can only belong to this one."""
        if named is None and not self.alone:
            raise LinkRefusedError(
                "This link was made before links named their study, so it can belong to another one. "
                "Ask the study lead for a new one."
            )
        if named is not None and named != self.study:
            raise LinkRefusedError("This link belongs to another study. Open it at the address that it was sent with.")

    def _read(self, serializer: Any, token: str) -> Any:
        from itsdangerous import BadData

        try:
            content, made_at = serializer.loads(token, return_timestamp=True)
        except (BadData, ValueError):
            raise LinkRefusedError(
                "This link is incomplete or invalid. Copy it again from the message that you received."
            ) from None
        # The signature covers the date, so a link from the future was made before the server's clock was set back.
        # With `max_age`, itsdangerous would treat it as expired.
        if int(time.time()) - made_at.timestamp() > self.seconds:  # whole seconds, as in the token
            raise LinkRefusedError("This link has expired. Ask the study lead for a new one.")
        return content


_SECRET, _STUDY, _LEAD = "page's secret", "page's study", "lead's link"
"""Settings: the study's own secret, the study's id in links, and the number of study lead links made so far."""

_LEADS = "further leads"
"""Setting: by name, the number of links made so far, and the role: lead, reader or ended."""


def secret_of(store: Store, secret: str | None) -> str:
    """Return the given secret, or a random one that is kept in the store so that links stay valid."""
    return secret or str(store.keep(_SECRET, secrets.token_urlsafe(32)))


def study_id(store: Store) -> str:
    """Return the study's id in links and cookies: random, and kept in the store."""
    return str(store.keep(_STUDY, secrets.token_hex(8)))


def signer_of(study: Study, store: Store, secret: str | None = None) -> Signer:
    """Return the signer of a study's links, with the given secret or the study's own."""
    used = secret_of(store, secret)
    alone, days = used == store.setting(_SECRET), schema.LINK_DAYS
    return Signer(
        used,
        study_id(store),
        days,
        alone=alone,
        lead_link=lambda: int(store.setting(_LEAD) or 1),
        leads=lambda: store.setting(_LEADS) or {},
    )


def further_leads(store: Store) -> dict[str, LeadRole]:
    """Return the further leads with a valid link, by name."""
    return {name: one["role"] for name, one in (store.setting(_LEADS) or {}).items() if one["role"] in ROLES}


def set_lead(store: Store, name: str, role: LeadRole | None) -> None:
    """Make a link to the dashboard, which ends an earlier one of this name; or end it without a role.

    Raises
    ------
    StudyError
        For an empty or long name, and for a lead who is not there.
    """
    name = one_line(name)
    if not name or len(name) > LONGEST_NAME:
        raise StudyError(f"the name of a lead has 1 to {LONGEST_NAME} characters")
    with store.exclusive():
        leads = dict(store.setting(_LEADS) or {})
        if role is None and leads.get(name, {}).get("role") not in ROLES:
            raise StudyError(f"there is no lead called '{name}'")
        before = leads.get(name, {"link": 0})
        store.set(_LEADS, leads | {name: {"link": before["link"] + 1, "role": role or "ended"}})


def renew_lead_link(store: Store) -> None:
    """Invalidate the study lead's current link in all browsers; the signer then makes the next one."""
    with store.exclusive():
        store.set(_LEAD, int(store.setting(_LEAD) or 1) + 1)


def invite(design: StudyDesign, name: str, attributes: Mapping[str, Any] | None = None) -> Person:
    """Add an annotator.

    Raises
    ------
    StudyError
        If the name is already used (by a judge, by labels in a file, by another annotator), is empty or too long, or
        if the attributes do not determine the annotator's group.
    """
    _invite(design, {one_line(name): attributes or {}})
    return invited_person(design.store, one_line(name))


def invite_all(study: Study, store: Store, people: Mapping[str, Mapping[str, Any]]) -> list[Person]:
    """Add all annotators who are not invited yet, by name with their attributes; on an error, add none.

    The store is updated to the study first.

    Returns
    -------
    list of Person
        Annotators who were already invited; their links and attributes are unchanged.
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
            raise StudyError(f"a name must have 1 to {LONGEST_NAME} printable characters on one line")
        if role != ADJUDICATOR:
            design.check_attributes(name, about)
    add_people(design.store, clean, role)


NAME_COLUMNS = ("name", "annotator", "person")
"""Names of the column with the annotators' names."""


def read_people(path: Path) -> dict[str, dict[str, str]]:
    """Read annotators from a table, by name; all columns except the name and the link are attributes.

    Raises
    ------
    StudyError
        If the table has no column of names, an empty name, or a repeated name.
    """
    from assay.data.formats.sheets import read_sheet

    frame = read_sheet(path).frame
    column = next((one for one in frame.columns if one.strip().lower() in NAME_COLUMNS), None)
    if column is None:
        raise StudyError(
            f"{path} has no column 'name'; it has {listing(frame.columns)}. Rename the column with the names to 'name'"
        )
    found: dict[str, dict[str, str]] = {}
    for number, row in enumerate(frame.iter_rows(named=True), start=1):
        name = one_line(str(row.pop(column) or ""))
        if not name:
            raise StudyError(f"{path}: row {number} has no name in column '{column}'")
        if name in found:
            raise StudyError(f"{path}: '{name}' appears twice; use one row per person")
        about = {str(key).strip(): str(value or "").strip() for key, value in row.items()}
        found[name] = {key: value for key, value in about.items() if value and key.lower() != "link"}
    if not found:
        raise StudyError(f"{path} has no rows; add one row per person")
    return found


def invite_adjudicator(design: StudyDesign, name: str) -> Person:
    """Add an adjudicator, who decides between the answers of others; their decisions are not used as annotations.

    Raises
    ------
    StudyError
        If the name is already used, for example by an annotator of the study, or if the study draws triplets.
    """
    if not design.listed:
        raise StudyError("a study that draws triplets while annotators answer has no items to adjudicate")
    _invite(design, {one_line(name): {}}, ADJUDICATOR)
    return invited_person(design.store, one_line(name))


def one_line(name: str) -> str:
    """Return a name with single spaces, and none around it."""
    return " ".join(name.split())


def admit_person(store: Store, signer: Signer, token: str) -> Person:
    """Return the person of a link or cookie.

    Raises
    ------
    LinkRefusedError
        If it was altered, has expired, was replaced by a newer one, or was deactivated.
    """
    name, link = signer.person(token)
    person = find(store, name)
    if person is None:
        raise LinkRefusedError("This link does not belong to any participant in this study.")
    if person.state == "revoked":
        raise LinkRefusedError("The study lead has deactivated this link.")
    if person.link != link:
        raise LinkRefusedError("There is a newer link for you; please use that one.")
    return person


def personal_link(signer: Signer, person: Person, base_url: str) -> str:
    """Return a person's link."""
    return f"{base_url.rstrip('/')}/join/{signer.person_token(person.name, person.link)}"


def checked_address(base_url: str) -> str:
    """Return a public address: scheme, host and port, without a path.

    Raises
    ------
    StudyError
        If it is not such an address.
    """
    try:
        parts = urlsplit(base_url.strip())
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        usable = usable and not re.search(r"[\s@\\]", parts.netloc)
    except ValueError:
        usable = False
    if not usable:
        raise StudyError(
            f"--base-url must be the public address of the page, such as https://label.example.org; got '{base_url}'"
        )
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise StudyError(
            f"--base-url cannot have a path, because the page uses paths itself; got '{base_url}'. "
            f"Use a separate host name for the study: {parts.scheme}://{parts.netloc}"
        )
    return f"{parts.scheme}://{parts.netloc}"


def read_attributes(text: str) -> dict[str, str]:
    """Parse attributes such as ``expertise=nurse, gender=f`` into a dictionary.

    Raises
    ------
    StudyError
        If a part has no ``=``.
    """
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name or not value:
            raise StudyError(f"attributes must have the form NAME=VALUE; got '{part}'")
        found[name] = value
    return found
