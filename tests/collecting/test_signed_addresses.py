"""Prolific's secured addresses: the participant's id is taken from a token whose signature is checked."""

from __future__ import annotations

import io
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason='the page needs the extra "serve"')
pytest.importorskip("fastapi", reason='the page needs the extra "serve"')
pytest.importorskip("jwt", reason='needs the extra "prolific"')
pytest.importorskip("cryptography", reason='needs the extra "prolific"')

import jwt
from annotating import Served
from cryptography.hazmat.primitives.asymmetric import rsa

from assay.collecting import crowd
from assay.collecting.crowd import signed_parameters
from assay.collecting.serving import Refused
from assay.study.store import tables

PID = "5f0c2e9b8a1d4c3e2b1a0f9e"
CODES = {"completed": "C-DONE"}
OWN, OTHER = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))


def token(key: Any = OWN, *, kid: str = "one", algorithm: str = "RS256", **claims: Any) -> str:
    given = {"PROLIFIC_PID": PID, "STUDY_ID": "a" * 24, "SESSION_ID": "b" * 24}
    known = {"aud": "https://testserver", "exp": time.time() + 300, "prolific": given, **claims}
    known = {name: value for name, value in known.items() if value is not None}
    return jwt.encode(known, key, algorithm=algorithm, headers={"kid": kid})


ADDRESS = "https://api.prolific.com/.well-known/study/jwks.json"
"""Where Prolific publishes its keys, by its API reference."""


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The platform's public keys; the requests for them."""
    found = {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(OWN.public_key())), "kid": "one", "use": "sig"}
    body, asked = json.dumps({"keys": [found]}).encode(), []

    def fetch(opener: Any, request: urllib.request.Request, *_: Any, **__: Any) -> io.BytesIO:
        assert request.full_url == ADDRESS
        asked.append(ADDRESS)
        return io.BytesIO(body)

    crowd.platform_keys.cache_clear()
    monkeypatch.setattr(urllib.request.OpenerDirector, "open", fetch)
    yield asked
    crowd.platform_keys.cache_clear()


@pytest.fixture
def page(serve: Callable[..., Served], keys: list[str]) -> Served:
    del keys
    return serve(who=(), people={"crowd": {"platform": "prolific-signed", "places": 2, "codes": CODES}})


def test_participant_with_signed_address_takes_part(page: Served, keys: list[str]) -> None:
    signed = token()
    visitor = page.visitor()
    reply = visitor.send("GET", f"/enter?prolific_token={signed}")
    assert reply.status == 200
    given = reply.text.partition('name="given" value="')[2].partition('"')[0].replace("&#34;", '"')
    assert json.loads(given) == {"prolific_token": signed}, "the id is not taken from the page"
    assert visitor.form("/enter", given=given).status == 303
    (visit,) = page.rows(tables.visits)
    assert (visit.person, visit.given) == (PID, {"STUDY_ID": "a" * 24, "SESSION_ID": "b" * 24})
    assert len(keys) == 1, "the keys are kept"


@pytest.mark.parametrize(
    "bad",
    [
        {"key": OTHER}, {"kid": "two"}, {"exp": time.time() - 60}, {"exp": None}, {"aud": "https://elsewhere.example"},
        {"aud": None}, {"prolific": None}, {"prolific": "x"},
        {"key": "secret" * 8, "algorithm": "HS256"}, {"key": None, "algorithm": "none"},
    ],
    ids=["key", "key id", "expired", "no end", "other host", "no host", "no parameters", "text", "HMAC", "unsigned"],
)  # fmt: skip
def test_bad_signature_is_refused(page: Served, bad: dict[str, Any]) -> None:
    signed = token(**bad)
    reply = page.visitor().send("GET", f"/enter?prolific_token={signed}")
    assert reply.status == 403
    assert "is not signed by the platform" in reply.text
    if bad.get("exp") is None:  # a page that was opened in time can be sent later
        assert page.visitor().form("/enter", given=json.dumps({"prolific_token": signed})).status == 403
    assert page.rows(tables.visits) == []


def test_unsigned_parameters_are_refused(page: Served) -> None:
    query = f"PROLIFIC_PID={PID}&STUDY_ID={'a' * 24}&SESSION_ID={'b' * 24}"
    assert page.visitor().send("GET", f"/enter?{query}").status == 403
    given = json.dumps({"PROLIFIC_PID": PID, "STUDY_ID": "a" * 24, "SESSION_ID": "b" * 24})
    assert page.visitor().form("/enter", given=given).status == 403
    assert page.rows(tables.visits) == []


def test_page_that_was_opened_in_time_is_accepted_for_an_hour(keys: list[str]) -> None:
    del keys
    query = {"prolific_token": token(exp=time.time() - 1800)}
    with pytest.raises(Refused):
        signed_parameters(query, "testserver")
    assert signed_parameters(query, "testserver", 3600)["PROLIFIC_PID"] == PID
    with pytest.raises(Refused):
        signed_parameters({"prolific_token": token(exp=time.time() - 4000)}, "testserver", 3600)


@pytest.mark.parametrize("named", ["testserver", "https://testserver", ["x.example", "https://TESTSERVER:443/a"]])
def test_host_is_named_in_several_forms(keys: list[str], named: Any) -> None:
    del keys
    assert signed_parameters({"prolific_token": token(aud=named)}, "testserver")["PROLIFIC_PID"] == PID


def test_keys_that_cannot_be_fetched_refuse_for_now(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise urllib.error.URLError("no route")

    crowd.platform_keys.cache_clear()
    monkeypatch.setattr(urllib.request.OpenerDirector, "open", refuse)
    with pytest.raises(Refused) as found:
        signed_parameters({"prolific_token": token()}, "testserver")
    assert found.value.status == 503
