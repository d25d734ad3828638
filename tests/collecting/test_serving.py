"""Changes of a study while it is served, and the notices for its study lead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from annotating import SECRET, STARS, Clock, Served, write_study
from fastapi import Request

from assay.collecting import serving
from assay.collecting.invitations import renew_lead_link, secret_of, study_id
from assay.collecting.languages import words
from assay.collecting.serving import FAULT_SHOWN, NOT_TAKEN_IN, AppState, Faults, Refused, Serving, cause_of
from assay.errors import StudyError
from assay.study import schema
from assay.study.definition import load_study
from assay.study.store.intake import sync_study
from assay.study.store.people import find


def rewrite(page: Served, **changes: Any) -> None:
    path = page.folder / "study.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | changes))


def test_changes_are_followed_and_the_notice_stays(serve: Callable[..., Served], clock: Any) -> None:
    page = serve(items=2)
    served: Serving = page.app.state.assay
    first = served.now()
    assert (first.notice, served.edit_notice(), served.now() is first) == ("", "", True)
    rewrite(page, questions=[STARS, {"name": "why", "text": "Why?", "scale": "text"}])
    assert served.edit_notice() == NOT_TAKEN_IN
    assert served.now() is first
    sync_study(page.store, load_study(page.folder))
    second = served.now()
    asked = "Since then annotators answer 'stars' (version 1), 'why' (version 1) in the current version"
    assert asked in unescape(second.notice)
    assert [one.definition.name for one in second.design.questions] == ["stars", "why"]
    assert served.edit_notice() == ""
    clock.later(days=1)  # a new notice would have another date
    rewrite(page, name="Another name")  # annotators do not see it
    sync_study(page.store, load_study(page.folder))
    third = served.now()
    assert third is not second
    assert third.design.study.config.name == "Another name"
    assert third.notice == second.notice


def test_edited_folder_is_not_applied(serve: Callable[..., Served]) -> None:
    page = serve(items=2)
    served: Serving = page.app.state.assay
    path = page.folder / "study.yaml"
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2] + "\n: [")
    assert served.edit_notice() == NOT_TAKEN_IN
    path.write_text(whole)
    assert served.edit_notice() == ""
    (page.folder / "items.jsonl").unlink()
    assert served.edit_notice() == NOT_TAKEN_IN


def test_invalid_change_keeps_the_earlier_study_with_message(
    serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = serve(items=2)
    served: Serving = page.app.state.assay
    first = served.now()
    rewrite(page, name="Another name")
    sync_study(page.store, load_study(page.folder))

    def fail() -> Any:
        raise StudyError("no items are left")

    with monkeypatch.context() as patched:
        patched.setattr(served, "_make_state", fail)
        assert served.now() is first
    assert first.trouble == "The study was changed and cannot be shown: no items are left"
    assert served.now() is first, "it is not tried again before the study changes again"


# -- the parts, one by one --------------------------------------------------------------------------


def test_database_failures_are_shown_for_a_day(clock: Clock) -> None:
    clock.stopped = 1_800_000_000.0  # 15 January 2027, 08:00
    faults = Faults()
    assert faults.words() == ""
    assert faults.add(OSError("disk full\nmore")) == "disk full"
    first = '<time datetime="2027-01-15T08:00:00Z" data-local>15 January 2027, 08:00 UTC</time>'
    rest = "Answers wait in the annotators' browsers until they are saved."
    assert faults.words() == f"The study's database could not be used ({first}; 1 request): disk full. {rest}"
    clock.later(minutes=1)
    faults.add(OSError("<b>gone</b>"))
    last = first.replace(":00:00Z", ":01:00Z").replace("08:00 UTC", "08:01 UTC")
    told = f"The study's database could not be used ({first} to {last}; 2 requests): &lt;b&gt;gone&lt;/b&gt;. {rest}"
    assert faults.words() == told
    clock.ahead += FAULT_SHOWN
    assert faults.words() == told
    clock.ahead += 1
    assert faults.words() == ""
    faults.add(OSError("again"))
    assert "; 1 request): again." in faults.words(), "failures of earlier days are not counted"
    clock.ahead += FAULT_SHOWN
    faults.add(OSError("again"))
    assert "; 2 requests): again." in faults.words()
    assert FAULT_SHOWN == 24 * 60 * 60


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (OSError("a  b\tc\nsecond line"), "a b c"), (OSError("\n  x  \ny"), "x"), (OSError(""), "OSError"),
        (ValueError("  "), "ValueError"), (OSError("x" * 300), "x" * 300), (OSError("x" * 301), "x" * 300),
        (OSError("database is locked"), "database is locked (by another program)"),
    ],
)  # fmt: skip
def test_why_a_database_failed_is_one_line(error: Exception, cause: str) -> None:
    assert cause_of(error) == cause


def test_cause_is_the_message_of_the_driver() -> None:
    wrapped = RuntimeError("SELECT secret")
    wrapped.orig = OSError("no such table")  # type: ignore[attr-defined]
    assert cause_of(wrapped) == "no such table"


def test_time_tag_is_in_utc() -> None:
    assert serving.time_tag(None) == ""
    assert serving.time_tag(0.0) == '<time datetime="1970-01-01T00:00:00Z" data-local>01 January 1970, 00:00 UTC</time>'


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A study that is served, with a person."""
    people = {"consent": "Please read."}
    with Served(write_study(tmp_path_factory.mktemp("served") / "study", items=1, people=people)) as page:
        yield page


def asked(address: str = "/work", method: str = "GET", **cookies: str) -> Request:
    """A request as the application gets it."""
    path, _, query = address.partition("?")
    headers = [(b"host", b"testserver"), (b"cookie", "; ".join(f"{k}={v}" for k, v in cookies.items()).encode())]
    about = {"type": "http", "scheme": "http", "server": ("testserver", 80), "root_path": "", "state": {}}
    return Request(about | {"method": method, "path": path, "query_string": query.encode(), "headers": headers})


@pytest.mark.parametrize(
    ("base_url", "secure"), [(None, False), ("http://example.org", False), ("https://example.org", True), ("", False)]
)
def test_link_is_stored_in_a_cookie_of_the_study(study: Served, base_url: str | None, secure: bool) -> None:
    state = AppState(study.design, SECRET, base_url)
    response = state.admit("/work", "assay", "a-token")
    assert (response.status_code, response.headers["location"]) == (303, "/work")
    parts = {one.strip().casefold() for one in response.headers["set-cookie"].split(";")}
    assert parts - {"secure"} == {
        f"assay_{study_id(study.store)}=a-token", "httponly", f"max-age={schema.LINK_DAYS * 86400:.0f}", "path=/",
        "samesite=lax",
    }  # fmt: skip
    assert ("secure" in parts) == secure


def test_cookie_of_the_study_precedes_the_old_one(study: Served) -> None:
    state = AppState(study.design, SECRET)
    own = f"assay_{study_id(study.store)}"
    given = ({own: "new", "assay": "old"}, "new"), ({"assay": "old"}, "old"), ({"assay_xyz": "other"}, None)
    for cookies, token in given:
        assert state.token_in(asked(**cookies), "assay") == token


def test_name_in_browser_is_opaque_and_unique(serve: Callable[..., Served]) -> None:
    pages = [serve(items=1, who=["ana", "ben"]) for _ in range(2)]

    def name(page: Served, secret: str, person: str = "ana") -> str:
        found = find(page.store, person)
        assert found is not None
        return AppState(page.design, secret).name_in_browser(found)

    one, other = pages
    digest = sha256(f"{SECRET}/{study_id(one.store)}/ana".encode()).hexdigest()[:16]
    assert name(one, SECRET) == digest
    assert len({digest, name(other, SECRET), name(one, "t" * 32), name(one, SECRET, "ben")}) == 4
    # The study's own secret identifies the study.
    own = secret_of(one.store, None)
    assert name(one, own) == sha256(f"{own}/ana".encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("consent", "to", "agreed"), [("", "", True), ("text", "", False), ("text", "old", False), ("text", "now", True)]
)
def test_consent_applies_to_the_current_text(serve: Callable[..., Served], consent: str, to: str, agreed: bool) -> None:
    page = serve(items=1, people={"consent": consent} if consent else {})
    person = find(page.store, "ana")
    assert person is not None
    consented_to = page.design.consent_digest() if to == "now" else to or None
    state = AppState(page.design, SECRET)
    assert state.has_agreed(replace(person, consented_to=consented_to)) == agreed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "address", "language", "back"),
    [
        ("GET", "/work", None, "/work"), ("GET", "/work?a=1&b=2", None, "/work?a=1&b=2"), ("POST", "/work", None, ""),
        ("GET", "/join/token", None, ""), ("GET", "/work", "de", ""), ("GET", "/joining", None, "/joining"),
    ],
)  # fmt: skip
def test_return_address_after_choosing_a_language(
    serve: Callable[..., Served], method: str, address: str, language: str | None, back: str
) -> None:
    for hosts, policy in ((["a.org", "b.org"], "media-src 'self' https://a.org https://b.org;"), ([], None)):
        people = {} if language is None else {"language": language}
        first = serve(items=1, people=people)
        rewrite(first, items={"file": "items.jsonl", "media_hosts": hosts})
        with first.again() as page:
            state, about = AppState(page.design, SECRET), {"title": "T", "text": "Words."}
            found = state.page("notice.html", 404, asked(address, method), **about)
        html = bytes(found.body).decode()
        assert (found.status_code, "Words." in html) == (404, True)
        assert re.findall(r'href="/language\?back=([^"]*)"', html) == ([quote(back)] if back else [])
        said = found.headers.get("content-security-policy")
        assert said is None if policy is None else policy in said


def test_person_of_refuses_missing_link_and_broken_study(study: Served) -> None:
    for trouble, token, status, error in (("", None, 401, "link"), ("", "", 401, "link"), ("x", "t", 503, "refused")):
        state = AppState(study.design, SECRET)
        state.trouble = trouble
        with pytest.raises(Refused) as refused:
            serving.person_of(state, asked(), token)
        assert (refused.value.status, refused.value.error) == (status, error)


def test_static_file_is_cached_permanently_only_by_version(study: Served) -> None:
    visitor, version = study.visitor(), AppState(study.design, SECRET).version
    for one, said in ((version, "public, max-age=31536000, immutable"), ("v1", "no-store")):
        assert visitor.send("GET", f"/static/{one}/work.js").headers["cache-control"] == said
    assert visitor.send("GET", f"/static/{version}/b.js").status == 404


def test_pages_link_static_files_by_version(tmp_path: Path) -> None:
    with Served(write_study(tmp_path / "study", items=1)) as page:
        version = AppState(page.design, SECRET).version
        for person, address in ((page.annotator(), "/work"), (page.visitor(), "/"), (page.lead(), "/lead")):
            links = re.findall(r'(?:href|src)="/static/([^"]*)/[^/"]*"', person.send("GET", address).text)
            assert set(links) == {version}, address


def test_leads_follows_the_newest_link_unless_unread(study: Served) -> None:
    state, cookie = AppState(study.design, SECRET), f"assay_lead_{study_id(study.store)}"
    token = state.signer.lead_token()
    for name in (cookie, "assay_lead"):
        assert state.leads(asked(**{name: token}))
        assert not state.leads(asked(**{name: "t"}))
    assert not state.leads(asked())
    renew_lead_link(study.store)
    assert state.leads(asked(**{cookie: token}), unread=True), "while the database cannot be read"
    assert not state.leads(asked(**{cookie: token}))
    assert not state.leads(asked(**{cookie: token}), unread=True)


@pytest.mark.parametrize(
    ("token", "text"), [(None, "with the study lead's link"), ("", "study lead's link"), ("t", "incomplete or invalid")]
)
def test_check_lead_reports_the_reason(study: Served, token: str | None, text: str) -> None:
    with pytest.raises(Refused) as refused:
        serving.check_lead(AppState(study.design, SECRET), token)
    assert text in str(refused.value)
    assert (refused.value.status, refused.value.error) == (403, "link")


def test_templates_are_english_by_default_and_escape_text(serve: Callable[..., Served]) -> None:
    state = AppState(serve(items=1, name="My <b>study</b>").design, SECRET)
    about = {"title": "A <i>title</i>", "text": "<u>Words</u>"}
    english, german = state.html("notice.html", **about), state.html("notice.html", words("de"), back="/b", **about)
    for html, language in ((english, "en"), (german, "de")):
        assert f'lang="{language}"' in html
        assert str(words(language).say("Skip to the content")) in html
        assert "A &lt;i&gt;title&lt;/i&gt;" in html
        assert "<u>" not in html
    assert ("/language?back=" in english, "/language?back=/b" in german) == (False, True)
