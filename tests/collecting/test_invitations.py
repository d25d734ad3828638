"""Links open one study only, and only if made by its server."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from annotating import SECRET, Annotator, Served, lead_path, write_study
from fastapi.testclient import TestClient
from itsdangerous import URLSafeTimedSerializer

from assay.collecting.hosting.app import make_app
from assay.collecting.invitations import (
    LinkRefusedError,
    Signer,
    invite,
    invite_all,
    read_attributes,
    read_people,
    renew_lead_link,
    secret_of,
    signer_of,
    study_id,
)
from assay.errors import StudyError
from assay.study import schema
from assay.study.store import tables
from assay.study.store.people import find


@pytest.mark.slow
def test_link_of_another_study_with_the_same_secret_is_refused(serve: Callable[..., Served]) -> None:
    here, other = serve(), serve()
    for link in (other.links["ana"], lead_path(other.study, other.store)):
        reply = here.visitor(link).join()
        assert reply.status == 403
        assert "belongs to another study" in reply.text
        assert not reply.cookies
    lead = other.lead()
    assert here.visitor().send("GET", "/lead", None, {"Cookie": lead.cookie}).status == 403


@pytest.mark.slow
def test_two_studies_in_one_browser_are_independent(serve: Callable[..., Served]) -> None:
    """One browser, one host, two ports: it sends the cookies of both to both."""
    here, other = serve(), serve()
    cookies = [one.cookie for page in (here, other) for one in (page.annotator(), page.lead())]
    assert len({cookie.partition("=")[0] for cookie in cookies}) == 4
    for page in (here, other):
        person = page.visitor()
        person.cookie = "; ".join(cookies)
        assert person.send("GET", "/work").status == 200
        assert person.send("GET", "/lead").status == 200


@pytest.mark.slow
def test_cookies_are_http_only_and_same_site(serve: Callable[..., Served]) -> None:
    page = serve()
    for method, link in (("POST", page.links["ana"]), ("GET", page.lead().link)):
        (cookie,) = page.visitor().send(method, link).cookies
        told = [part.strip().lower() for part in cookie.split(";")[1:]]
        assert {"httponly", "samesite=lax", "path=/"} <= set(told)
        assert "secure" not in told


@pytest.mark.slow
def test_unsent_answers_are_stored_by_study(serve: Callable[..., Served]) -> None:
    """One person, one secret, two studies at one address, one after the other."""
    here, other = serve(), serve()
    names = [page.annotator().pages()[1]["person"] for page in (here, other)]
    assert names[0] != names[1]


def old_token(secret: str, salt: str, content: Any) -> str:
    """A link as signed before links named their study."""
    options = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
    return str(URLSafeTimedSerializer(secret, salt=salt, signer_kwargs=options).dumps(content))


@pytest.mark.slow
def test_old_links_open_a_study_with_its_own_secret(serve: Callable[..., Served]) -> None:
    page = serve()
    own = secret_of(page.store, None)
    wire = page.client(make_app(page.study, page.store, own))
    ana = Annotator(wire, f"/join/{old_token(own, 'assay person', ['ana', 1])}")
    assert ana.join().status == 200
    assert Annotator(wire, f"/lead/join/{old_token(own, 'assay lead', 'lead')}").join().status == 200
    ana.cookie = f"assay={old_token(own, 'assay person', ['ana', 1])}"
    assert ana.work(), "so does their earlier cookie"
    assert ana.pages()[1]["person"] == hashlib.sha256(f"{own}/ana".encode()).hexdigest()[:16]


def test_ambiguous_old_links_are_refused_with_message(serve: Callable[..., Served]) -> None:
    page = serve()
    for link in (
        f"/join/{old_token(SECRET, 'assay person', ['ana', 1])}",
        f"/lead/join/{old_token(SECRET, 'assay lead', 'lead')}",
    ):
        reply = page.visitor(link).join()
        assert reply.status == 403
        assert "made before links named their study" in reply.text


def test_copied_folder_without_store_is_another_study(tmp_path: Path) -> None:
    with Served(write_study(tmp_path / "a")) as one, Served(write_study(tmp_path / "b")) as two:
        assert study_id(one.store) != study_id(two.store)
    with Served(tmp_path / "a", ()) as again:
        assert study_id(again.store) == study_id(one.store)


@pytest.mark.slow
def test_page_shows_who_is_signed_in(serve: Callable[..., Served]) -> None:
    page = serve(who=("Ana <i>Ruiz",), people={"consent": "Read this."})
    ana = page.annotator("Ana <i>Ruiz", join=False)
    name = "Ana &lt;i&gt;Ruiz"
    assert name in ana.send("GET", ana.link).text
    ana.join(agree=False)
    assert f"Signed in as <bdi>{name}" in ana.send("GET", "/consent").text
    agreed = ana.form("/consent", agree="yes")
    assert (agreed.status, agreed.headers["location"]) == (303, "/work")  # requested again, not posted again
    assert f"<bdi>{name}" in ana.send("GET", "/work").text
    assert "Signed in as the study lead" in page.lead().send("GET", "/lead").text


def test_link_preview_reserves_nothing(serve: Callable[..., Served]) -> None:
    """A preview in a chat follows redirects and keeps cookies, but runs no script and sends no form."""
    page = serve(people={"overlap": 1})
    preview = TestClient(page.app, follow_redirects=True)
    reply = preview.get(page.links["ana"])
    assert reply.status_code == 200
    assert "assay" not in "".join(preview.cookies)
    for path in ("/work", "/pages?after=0", "/"):
        assert preview.get(path).status_code == 401
    assert page.rows(tables.tasks) == []
    ana = page.annotator()
    assert ana.work()
    assert page.rows(tables.tasks) != []
    expiry = {row.id: row.expires_at for row in page.rows(tables.tasks)}
    preview.get(page.links["ana"])
    assert {row.id: row.expires_at for row in page.rows(tables.tasks)} == expiry, "it renews no reservation"
    for path in (ana.link, "/"):
        assert ana.send("GET", path).headers["location"] == "/work", "an admitted person continues directly"
    assert json.dumps(page.history()) == "[]"


@pytest.mark.parametrize("column", ["name", "Annotator", " person "])
def test_read_people_uses_one_name_column(tmp_path: Path, column: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"group,{column}, age ,Link,name of cat\nnurse,  Ana   Ruiz ,31,https://x,\n,ben,,,Tom\n")
    assert read_people(path) == {"Ana Ruiz": {"group": "nurse", "age": "31"}, "ben": {"name of cat": "Tom"}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("who,age\nana,31\n", "has no column 'name'; it has who, age. Rename the column with the names to 'name'"),
        ("name,age\nana,31\n ,32\n", "row 2 has no name in column 'name'"),
        ("name,age\nana,31\nben,30\n ana ,32\n", "'ana' appears twice; use one row per person"),
        ("name,age\n", "has no rows; add one row per person"),
    ],
)
def test_read_people_refuses_invalid_tables(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(text)
    with pytest.raises(StudyError, match=re.escape(words)):
        read_people(path)


def test_read_attributes_requires_equals_signs() -> None:
    assert read_attributes("expertise=nurse, gender = f ,,") == {"expertise": "nurse", "gender": "f"}
    assert read_attributes("formula=a=b") == {"formula": "a=b"}
    assert read_attributes("") == {}
    for wrong in ("nurse", "=nurse", "expertise="):
        with pytest.raises(StudyError, match=re.escape(f"attributes must have the form NAME=VALUE; got '{wrong}'")):
            read_attributes(f"a=b,{wrong}")


@pytest.mark.parametrize(("name", "taken"), [("x" * 200, True), ("x" * 201, False), (" ", False), ("a\x07b", False)])
def test_name_has_at_most_200_characters_on_one_line(serve: Callable[..., Served], name: str, taken: bool) -> None:
    page = serve(who=())
    if taken:
        assert invite(page.design, f"  {name} ").name == name
    else:
        with pytest.raises(StudyError, match="a name must have 1 to 200 printable characters on one line"):
            invite(page.design, name)


def test_invited_annotators_keep_link_and_attributes(serve: Callable[..., Served]) -> None:
    page = serve(who={"ana": {"job": "nurse"}})
    known = invite_all(page.study, page.store, {" ana": {"job": "doctor"}, "ben": {" job ": "clerk"}})
    assert [one.name for one in known] == ["ana"]
    assert [find(page.store, name).attributes for name in ("ana", "ben")] == [{"job": "nurse"}, {"job": "clerk"}]


def test_link_is_valid_for_its_days_and_while_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    now, number = [1_800_000_000], [1]
    monkeypatch.setattr("time.time", lambda: now[0])
    signer = Signer("x" * 32, "s1", 0.5, lead_link=lambda: number[0])
    token, lead = signer.person_token("ana", 3), signer.lead_token()
    now[0] += 43_200  # half a day, and not a second more
    assert signer.person(token) == ("ana", 3)
    signer.check_lead(lead)
    number[0] = 2
    signer.check_lead(lead, unread=True)  # the database fails: as it was when it was last read
    with pytest.raises(LinkRefusedError, match="There is a newer link for the study lead"):
        signer.check_lead(lead)
    with pytest.raises(LinkRefusedError, match="There is a newer link for the study lead"):
        signer.check_lead(lead, unread=True)
    signer.check_lead(signer.lead_token())
    with pytest.raises(LinkRefusedError, match="invalid"):
        signer.person(lead)
    now[0] += 1
    with pytest.raises(LinkRefusedError, match="This link has expired"):
        signer.person(token)


@pytest.mark.slow
@pytest.mark.parametrize("back", [1, 3600, 3 * 86_400, 400 * 86_400], ids=["second", "hour", "3 days", "400 days"])
def test_signer_accepts_links_after_the_clock_was_set_back(
    serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch, back: int
) -> None:
    page = serve(people={})
    ana, lead, now = page.annotator("ana"), page.lead(), time.time()
    new = page.links["ana"].removeprefix("/join/")
    with monkeypatch.context() as clock:
        clock.setattr("time.time", lambda: now - back)
        assert ana.send("GET", "/work").status == lead.send("GET", "/lead").status == 200  # by their cookies
        assert page.visitor(f"/join/{new}").join().status == page.lead().send("GET", "/lead").status == 200
    with monkeypatch.context() as clock:
        clock.setattr("time.time", lambda: now + schema.LINK_DAYS * 86_400 + 60)
        refused = page.visitor(f"/join/{new}").join()
    assert (refused.status, "This link has expired" in refused.text) == (403, True)


def test_link_is_valid_for_90_days_by_default() -> None:
    assert Signer("x" * 32, "s1").seconds == 90 * 24 * 60 * 60


def test_each_renewal_counts_as_one_lead_link(serve: Callable[..., Served]) -> None:
    page = serve(who=())
    signer = signer_of(page.study, page.store, SECRET)
    before = [signer.lead_token()]
    for number in (2, 3):
        renew_lead_link(page.store)
        assert page.store.setting("lead's link") == number
        for old in before:
            with pytest.raises(LinkRefusedError, match="There is a newer link for the study lead"):
                signer.check_lead(old)
        before.append(signer.lead_token())
        signer.check_lead(before[-1])
    assert signer.alone is False
    own = secret_of(page.store, None)
    assert own == secret_of(page.store, None)
    assert signer_of(page.study, page.store).alone is True
    assert signer_of(page.study, page.store).seconds == 90 * 86400
