"""Who may reach the page, and under which addresses: refused before anything listens."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest
from annotating import SECRET, Served

from assay.collecting.invitations import signer_of
from assay.collecting.server import check_reach, lead_link, links
from assay.errors import StudyError
from assay.study.store.people import set_state

LONG = "x" * 16


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1.2.3"])
def test_this_machine_needs_no_secret(host: str) -> None:
    check_reach(host, 0, None)
    check_reach(host, 0, LONG)


@pytest.mark.parametrize(
    ("host", "secret", "words"),
    [
        ("127.0.0.1", "x" * 15, r"^the secret must have at least 16 characters; make one with: openssl rand -hex 32$"),
        ("0.0.0.0", "", "^the secret must have at least 16 characters"),
        ("0.0.0.0", None, r"^--host 0\.0\.0\.0 lets other machines in; set a secret first"),
        ("example.org", None, r"^--host example\.org lets other machines in"),
    ],
)
def test_other_machines_need_a_long_one(host: str, secret: str | None, words: str) -> None:
    with pytest.raises(StudyError, match=words):
        check_reach(host, 0, secret)
    check_reach("0.0.0.0", 0, LONG)


def test_a_port_that_is_taken_or_is_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StudyError, match=rf"^port {port} of 127\.0\.0\.1 is taken already; choose"):
            check_reach("127.0.0.1", port, None)
    check_reach("127.0.0.1", port, None)
    for none in (65536, -1):
        with pytest.raises(StudyError, match=rf"^--port {none}: a port is a number from 0 to 65535$"):
            check_reach("127.0.0.1", none, None)


def test_links_of_the_lead_and_of_all_who_are_not_revoked(serve: Callable[..., Served]) -> None:
    page = serve(who=("ana", "ben"))
    set_state(page.store, "ben", "revoked")
    lead, people = links(page.study, "http://label.example.org/", SECRET)
    assert lead == lead_link(signer_of(page.study, page.store, SECRET), "http://label.example.org")
    assert lead.startswith("http://label.example.org/lead/join/")
    assert list(people) == ["ana"]
    assert people["ana"].startswith("http://label.example.org/")
    assert people["ana"].endswith(page.links["ana"])
