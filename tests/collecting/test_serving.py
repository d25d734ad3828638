"""Changes of a study while it is served, and the notices for its study lead."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from annotating import STARS, Served
from fastapi import HTTPException

from assay.collecting import serving
from assay.collecting.invitations import LinkRefusedError
from assay.collecting.languages import words
from assay.collecting.serving import FAULT_SHOWN, NOT_TAKEN_IN, AppState, Faults, Refused, Serving, cause_of
from assay.errors import StudyError
from assay.study.definition import load_study
from assay.study.store.intake import sync_study


def rewrite(page: Served, **changes: Any) -> None:
    path = page.folder / "study.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | changes))


def test_changes_are_followed_and_the_notice_stays(serve: Callable[..., Served]) -> None:
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


@pytest.fixture
def hour(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A time as shown on the page."""
    clock = SimpleNamespace(at=1_800_000_000.0)  # 15 January 2027, 08:00
    monkeypatch.setattr(serving.time, "time", lambda: clock.at)
    return clock


def test_database_failures_are_shown_for_a_day(hour: Any) -> None:
    faults = Faults()
    assert faults.words() == ""
    assert faults.add(OSError("disk full\nmore")) == "disk full"
    first = '<time datetime="2027-01-15T08:00:00Z" data-local>15 January 2027, 08:00 UTC</time>'
    rest = "Answers wait in the annotators' browsers until they are saved."
    assert faults.words() == f"The study's database could not be used ({first}; 1 request): disk full. {rest}"
    hour.at += 60
    faults.add(OSError("<b>gone</b>"))
    last = first.replace(":00:00Z", ":01:00Z").replace("08:00 UTC", "08:01 UTC")
    told = f"The study's database could not be used ({first} to {last}; 2 requests): &lt;b&gt;gone&lt;/b&gt;. {rest}"
    assert faults.words() == told
    hour.at += FAULT_SHOWN
    assert faults.words() == told
    hour.at += 1
    assert faults.words() == ""
    faults.add(OSError("again"))
    assert "; 1 request): again." in faults.words(), "failures of earlier days are not counted"
    hour.at += FAULT_SHOWN
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


@pytest.mark.parametrize(
    ("base_url", "secure"), [(None, False), ("http://example.org", False), ("https://example.org", True), ("", False)]
)
def test_link_is_stored_in_a_cookie_of_the_study(base_url: str | None, secure: bool) -> None:
    state = made_state(base_url=base_url, signer=SimpleNamespace(study="abc", seconds=77))
    response = state.admit("/work", "assay", "a-token")
    assert (response.status_code, response.headers["location"]) == (303, "/work")
    parts = {one.strip().casefold() for one in response.headers["set-cookie"].split(";")}
    assert parts - {"secure"} == {"assay_abc=a-token", "httponly", "max-age=77", "path=/", "samesite=lax"}
    assert ("secure" in parts) == secure


def made_state(**parts: Any) -> AppState:
    """A study with these parts."""
    state = AppState.__new__(AppState)
    vars(state).update(parts)
    return state


def test_cookie_of_the_study_precedes_the_old_one() -> None:
    state = made_state(signer=SimpleNamespace(study="abc"))
    for cookies, token in (
        ({"assay_abc": "new", "assay": "old"}, "new"), ({"assay": "old"}, "old"), ({"assay_xyz": "other"}, None),
    ):  # fmt: skip
        assert state.token_in(SimpleNamespace(cookies=cookies), "assay") == token


def test_name_in_browser_is_opaque_and_unique() -> None:
    def name(secret: str, study: str, alone: bool, person: str = "ana") -> str:
        return made_state(secret=secret, signer=SimpleNamespace(study=study, alone=alone)).name_in_browser(
            SimpleNamespace(name=person)
        )

    assert name("s", "x", alone=True) == name("s", "y", alone=True) == sha256(b"s/ana").hexdigest()[:16]
    assert name("s", "x", alone=False) == sha256(b"s/x/ana").hexdigest()[:16]
    each = [name("s", "x", alone=False), name("s", "y", alone=False), name("t", "x", alone=False)]
    assert len({*each, name("s", "x", alone=False, person="ben")}) == 4


@pytest.mark.parametrize(
    ("consent", "consented_to", "agreed"),
    [("", None, True), (None, None, True), ("text", None, False), ("text", "old", False), ("text", "now", True)],
)
def test_consent_applies_to_the_current_text(consent: str | None, consented_to: str | None, agreed: bool) -> None:
    design = SimpleNamespace(people=SimpleNamespace(consent=consent), consent_digest=lambda: "now")
    assert made_state(design=design).has_agreed(SimpleNamespace(consented_to=consented_to)) == agreed


@pytest.mark.parametrize(
    ("method", "address", "language", "back"),
    [
        ("GET", "/work", None, "/work"), ("GET", "/work?a=1&b=2", None, "/work?a=1&b=2"), ("POST", "/work", None, ""),
        ("GET", "/join/token", None, ""), ("GET", "/work", "de", ""), ("GET", "/joining", None, "/joining"),
    ],
)  # fmt: skip
def test_return_address_after_choosing_a_language(method: str, address: str, language: str | None, back: str) -> None:
    path, _, query = address.partition("?")
    asked = SimpleNamespace(
        method=method, url=SimpleNamespace(path=path, query=query), headers={}, cookies={}, state=SimpleNamespace()
    )
    for hosts, policy in ((["a.org", "b.org"], "media-src 'self' https://a.org https://b.org;"), ([], None)):
        config = SimpleNamespace(items=SimpleNamespace(media_hosts=hosts))
        people = SimpleNamespace(language=language)
        state = made_state(design=SimpleNamespace(people=people, study=SimpleNamespace(config=config)))
        seen: list[Any] = []
        state.html = lambda template, words, seen=seen, **values: seen.append((template, values)) or "text"  # type: ignore[method-assign]
        found = state.page("x.html", 404, asked, a=1)
        assert (seen, found.status_code, found.body) == ([("x.html", {"back": back, "a": 1})], 404, b"text")
        said = found.headers.get("content-security-policy")
        assert said is None if policy is None else policy in said


def test_person_of_refuses_missing_link_and_broken_study() -> None:
    for trouble, token, status, error in (("", None, 401, "link"), ("", "", 401, "link"), ("x", "t", 503, "refused")):
        with pytest.raises(Refused) as refused:
            serving.person_of(made_state(trouble=trouble), SimpleNamespace(), token)
        assert (refused.value.status, refused.value.error) == (status, error)


def test_stamp_is_time_and_size(tmp_path: Path) -> None:
    assert serving._stamp(tmp_path / "none") is None
    assert serving._stamp(tmp_path) is None
    (tmp_path / "a").write_text("abc")
    assert serving._stamp(tmp_path / "a") == ((tmp_path / "a").stat().st_mtime_ns, 3)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [("f1", "f1", False), ("f1", "f2", True)],  # a form has the ids of its questions
)
def test_notice_reports_visible_changes(before: str, after: str, told: bool) -> None:
    question = SimpleNamespace(definition=SimpleNamespace(name="stars"), version=3)
    one, other = (SimpleNamespace(form=form, questions=[question]) for form in (before, after))
    words = serving._notice(one, other)
    assert ("annotators answer &#39;stars&#39; (version 3) in the current version" in words) == told
    assert bool(words) == told


def test_static_file_is_cached_permanently_only_by_version(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("")
    state = made_state(static={"a.js": tmp_path / "a.js"}, version="v2")
    for version, said in (("v2", "public, max-age=31536000, immutable"), ("v1", "no-store")):
        assert serving.static(version, "a.js", state).headers["cache-control"] == said
    with pytest.raises(HTTPException) as refused:
        serving.static("v2", "b.js", state)
    assert refused.value.status_code == 404


@pytest.mark.parametrize(("cookies", "token"), [({}, ""), ({"assay_lead": "t"}, "t"), ({"assay_lead_s1": "u"}, "u")])
def test_leads_passes_unread_to_the_signer(cookies: dict[str, str], token: str) -> None:
    asked: list[Any] = []

    class Asked:
        study = "s1"

        def check_lead(self, token: str, *, unread: bool = False) -> None:
            asked.append((token, unread))
            if len(asked) > 2:
                raise LinkRefusedError("no")

    state = made_state(signer=Asked())
    request = SimpleNamespace(cookies=cookies)
    assert state.leads(request)
    assert state.leads(request, unread=True)
    assert not state.leads(request)
    assert asked == [(token, False), (token, True), (token, False)]


@pytest.mark.parametrize(
    ("token", "text"), [(None, "with the study lead's link"), ("", "study lead's link"), ("t", "not this one")]
)
def test_check_lead_reports_the_reason(token: str | None, text: str) -> None:
    def refuse(token: str) -> None:
        raise LinkRefusedError("not this one")

    with pytest.raises(Refused) as refused:
        serving.check_lead(made_state(signer=SimpleNamespace(check_lead=refuse)), token)
    assert text in str(refused.value)
    assert (refused.value.status, refused.value.error) == (403, "link")


def test_templates_are_english_by_default_and_escape_text() -> None:
    assert serving._templates().from_string("{{ x }}").render(x="<b>") == "&lt;b&gt;"
    seen: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        template = SimpleNamespace(render=lambda values: seen.append(values) or "text")
        patch.setattr(serving, "_templates", lambda: SimpleNamespace(get_template=lambda name: template))
        state = made_state(_name="My study", design=SimpleNamespace(laid_out=lambda text, address: text))
        assert state.html("x.html", a=1) == state.html("x.html", words("de"), back="/b") == "text"
    assert [one["words"] for one in seen] == [words("en"), words("de")]
    assert [(one["study"], one["back"], one.get("a")) for one in seen] == [
        ("My study", "", 1),
        ("My study", "/b", None),
    ]
