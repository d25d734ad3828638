"""Several leads: their links and roles, what a reader may do, and who is named in the log."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from annotating import Annotator, Served, write_study

from assay.collecting.invitations import LeadAccess, LinkRefusedError, further_leads, set_lead
from assay.errors import StudyError

STARS = {"name": "stars", "text": "How many stars?", "scale": "1-5"}


@pytest.fixture
def page(tmp_path: Path):
    folder = write_study(tmp_path / "study", items=[{"item": "r1", "review": "Text"}], questions=[STARS])
    with Served(folder, ("ana",)) as served:
        yield served


def lead_link(html: str, name: str) -> str:
    """The link of a further lead on the dashboard."""
    (found,) = re.findall(rf"<bdi>{name}</bdi> \(\w+\) <input [^>]*value=\"[^\"]*(/lead/join/[^\"]+)\"", html)
    return found


def opened(page: Served, link: str) -> Annotator:
    visitor = page.visitor(link)
    assert visitor.join().status == 200
    return visitor


@pytest.mark.slow
def test_further_lead_changes_the_study_and_is_named_in_the_log(page: Served) -> None:
    lead = page.lead()
    assert lead.form("/lead/leads", name="Mia", role="lead").status == 303
    mia = opened(page, lead_link(lead.send("GET", "/lead").text, "Mia"))
    assert "Signed in as Mia" in mia.send("GET", "/lead").text
    mia.form("/lead/people/exclude", name="ana", reason="test")
    log = lead.send("GET", "/lead/log").text
    assert re.search(r"excluded</th><td><a [^>]*><bdi>ana</bdi></a></td>.*?<bdi>Mia</bdi>", log)
    assert re.search(r"new lead link</th><td><bdi>Mia</bdi></td>.*?<bdi>study lead</bdi>", log)


@pytest.mark.slow
def test_reader_sees_and_changes_nothing(page: Served) -> None:
    lead = page.lead()
    lead.form("/lead/leads", name="Rio", role="reader")
    html = lead.send("GET", "/lead").text
    rio = opened(page, lead_link(html, "Rio"))
    seen = rio.send("GET", "/lead").text
    assert "Signed in to read" in seen
    assert 'class="lead reads"' in seen
    for secret in re.findall(r"/(?:lead/)?join/[\w.-]+", html):
        assert secret not in seen, "a reader sees no link with which to act"
    further = ("/lead/people/exclude", "/lead/reopen", "/lead/reason", "/lead/blind")
    posts = {*re.findall(r'action="(/lead/[^"]+)"', html), *further}
    assert len(posts) > 8
    for path in posts:
        reply = rio.form(path, name="ana", words="x", item="r1", task="1", state="paused", reason="text", role="lead")
        assert reply.status == 403, path
        assert "Your link is for reading" in reply.text
    assert rio.send("GET", "/lead/items").status == 200
    assert rio.send("GET", "/lead/log").status == 200
    assert "paused" not in lead.send("GET", "/lead/log").text


def test_ended_and_renewed_links_are_refused(page: Served) -> None:
    lead = page.lead()
    lead.form("/lead/leads", name="Mia", role="lead")
    mia = opened(page, lead_link(lead.send("GET", "/lead").text, "Mia"))
    lead.form("/lead/leads/end", name="Mia")
    reply = mia.send("GET", "/lead")
    assert reply.status == 403
    assert "This link was ended by the study lead." in reply.text
    lead.form("/lead/leads", name="Mia", role="lead")
    assert mia.send("GET", "/lead").status == 403, "the old link stays ended"
    assert opened(page, lead_link(lead.send("GET", "/lead").text, "Mia")).send("GET", "/lead").status == 200
    # A new link of the study lead leaves the links of others as they are.
    lead.form("/lead/link")
    assert further_leads(page.store) == {"Mia": "lead"}


def test_lead_who_is_not_there_cannot_be_ended(page: Served) -> None:
    with pytest.raises(StudyError, match="there is no lead called 'Zoe'"):
        set_lead(page.store, "Zoe", None)
    with pytest.raises(StudyError, match="1 to 200 characters"):
        set_lead(page.store, " ", "lead")


def test_tokens_of_leads(page: Served) -> None:
    signer = page.app.state.assay.now().signer
    set_lead(page.store, "Mia", "reader")
    assert signer.check_lead(signer.lead_token()) == LeadAccess()
    token = signer.lead_token("Mia")
    assert signer.check_lead(token) == LeadAccess("Mia", "reader")
    assert signer.check_lead(token, unread=True) == LeadAccess("Mia", "reader")
    set_lead(page.store, "Mia", "lead")
    with pytest.raises(LinkRefusedError, match="ended by the study lead"):
        signer.check_lead(token)
