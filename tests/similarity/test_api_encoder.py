"""Embeddings by a service: a real server on this machine, that is busy, wrong or slow on request."""

from __future__ import annotations

import io
import json
import threading
import urllib.error
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import assay
from assay.errors import DataError, DesignError
from assay.similarity import api_encoder
from assay.similarity.api_encoder import ApiEncoder
from assay.similarity.registry import similarity_named

KEY = "sk-test-0123456789"


class Service:
    """What the server was asked, and how it answers next."""

    def __init__(self) -> None:
        self.asked: list[dict] = []
        self.keys: list[str | None] = []
        self.next: list[tuple[int, dict[str, str], str]] = []
        self.shuffled = True
        self.rows = lambda texts, size: [[float(text.count(c)) + 0.01 for c in "abcdefgh"[:size]] for text in texts]

    def answer(self, body: dict) -> tuple[int, dict[str, str], str]:
        if self.next:
            return self.next.pop(0)
        rows = self.rows(body["input"], body.get("dimensions", 8))
        data = [{"index": k, "embedding": row} for k, row in enumerate(rows)]
        return 200, {}, json.dumps({"data": data[::-1] if self.shuffled else data})


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    made = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            made.asked.append({"path": self.path, **body})
            made.keys.append(self.headers.get("Authorization"))
            status, headers, text = made.answer(body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()  # which is how soon it ends
    made.url = f"http://127.0.0.1:{server.server_port}/v1"
    monkeypatch.setenv("MY_KEY", KEY)
    yield made
    server.shutdown()
    server.server_close()


def encoder(service: Service, **options) -> ApiEncoder:
    return ApiEncoder("small-1", service.url, "MY_KEY", first_wait=0.001, **options)


def test_rows_come_in_the_order_of_the_texts_in_batches(service):
    texts = ["aab", "b", "cc", "dad", "e"]
    found = encoder(service, batch=2).encode(texts)
    np.testing.assert_allclose(found, service.rows(texts, 8), rtol=1e-6)
    assert sorted(len(one["input"]) for one in service.asked) == [1, 2, 2]
    assert {one["path"] for one in service.asked} == {"/v1/embeddings"}
    assert {one["model"] for one in service.asked} == {"small-1"}
    assert set(service.keys) == {f"Bearer {KEY}"}
    assert "dimensions" not in service.asked[0]
    assert encoder(service, dimensions=3).encode(["abc"]).shape == (1, 3)


def test_it_is_a_measure_by_its_name_and_a_text_is_paid_for_once(service, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    name = f"api-embeddings:small-1,url={service.url},key=MY_KEY"
    found = assay.similarity_matrix(["aab", "aba", "cc"], name)
    assert found[0, 1] == pytest.approx(1)
    assert found[0, 2] < 0.2
    asked = len(service.asked)
    again = assay.similarity_matrix(["cc", "aab", "aba"], name)
    np.testing.assert_allclose(again[np.ix_([1, 2, 0], [1, 2, 0])], found, atol=1e-6)
    assert len(service.asked) == asked
    # Another model, address or number of dimensions is another encoder.
    assay.similarity_matrix(["cc", "aab"], f"{name},dimensions=4")
    assert len(service.asked) == asked + 1
    one = similarity_named(name)
    assert one.name == "api-embeddings:small-1"
    assert one.about == f"embeddings by small-1 (asked at {service.url[7:-3]}) of whole texts, cosine"
    assert KEY not in repr(one)
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_service_is_asked_again(service, status):
    service.next = [(status, {"Retry-After": "0.01"}, "busy")] * 3
    assert encoder(service).encode(["ab"]).shape == (1, 8)
    assert len(service.asked) == 4


def test_a_service_that_stays_busy_is_given_up_with_what_is_kept(service):
    service.next = [(503, {"Retry-After": "0"}, '{"error": {"message": "overloaded"}}')] * 20
    with pytest.raises(DataError, match=r"HTTP 503 for 'small-1': overloaded; tried 6 times. Finished encodings"):
        encoder(service).encode(["ab"])
    assert len(service.asked) == 6


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, f"Incorrect key {KEY}", r"the key in MY_KEY was refused \(HTTP 401\)"),
        (404, '{"error": {"message": "no model small-1"}}', "HTTP 404 for 'small-1': no model small-1"),
        (400, json.dumps({"error": f"maximum context length, {KEY}"}), "shorter pieces may help: context="),
        (302, "", "it sends on to another address"),
    ],
)
def test_what_is_refused_is_said_once_and_without_the_key(service, status, body, words):
    service.next = [(status, {"Location": "http://127.0.0.1:1/"}, body)] * 3
    with pytest.raises(DataError, match=words) as error:
        encoder(service).encode(["ab"])
    assert KEY not in str(error.value)
    assert len(service.asked) == 1


@pytest.mark.parametrize("body", ["hello", '{"data": []}', '{"data": [{"embedding": "x"}]}', "[]"])
def test_a_reply_that_holds_no_rows_is_refused(service, body):
    service.next = [(200, {}, body)]
    with pytest.raises(DataError, match=r"holds no embeddings|rows for 1 texts"):
        encoder(service).encode(["ab"])


def test_a_service_that_is_not_there_is_said_to_give_no_answer():
    with pytest.raises(DataError, match=r"127\.0\.0\.1:1: no answer"):
        ApiEncoder("m", "http://127.0.0.1:1/v1", first_wait=0.0).encode(["ab"])


def test_api_key_is_read_from_the_environment_only(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(DesignError, match="environment variable OPENAI_API_KEY, which is not set"):
        ApiEncoder("m").encode(["ab"])
    for options, words in (
        ({"key_name": "sk-abc"}, "it is no key itself"),
        ({"key_name": "MY KEY"}, "it is no key itself"),
        ({"key_name": ""}, "it is no key itself"),
        ({"url": "https://host/v1?key=secret"}, "an address holds no key"),
        ({"url": "ftp://host/v1"}, "is no address"),
        ({"url": "https:///v1"}, "is no address"),
        ({"url": "https://me:secret@host/v1"}, "an address holds no key"),
        ({"url": "https://secret@host/v1"}, "an address holds no key"),
        ({"url": "https://:secret@host/v1"}, "an address holds no key"),
        ({"url": "http://elsewhere.example/v1"}, "for all to read; give an address with https"),
        ({"url": "elsewhere"}, "is no address"),
    ):
        with pytest.raises(DesignError, match=words):
            ApiEncoder("m", **options)


def test_long_texts_go_in_pieces_and_nothing_is_cut_off():
    short = ApiEncoder("m", "http://localhost/v1", context=16)
    text = " ".join(["word"] * 30)
    pieces = short.pieces(text)
    assert len(pieces) > 1
    assert " ".join(pieces) == text
    assert max(len(piece.encode()) for piece in pieces) <= 32
    assert "".join(short.pieces("x" * 100)).replace(" ", "") == "x" * 100
    assert short.pieces("few words") == ["few words"]


def test_a_number_that_no_encoder_can_work_with_is_refused():
    for name, words in (
        ("embeddings:M,batch=-1", "embeddings: batch must be 1 or more; got '-1'"),
        ("api-embeddings:m,dimensions=0", "api-embeddings: dimensions must be 1 or more; got '0'"),
        ("api-embeddings", "after 'api-embeddings:' comes the model"),
    ):
        with pytest.raises(DesignError, match=words):
            similarity_named(name)


def test_the_least_number_is_taken():
    assert similarity_named("api-embeddings:m,url=http://localhost/v1,dimensions=1,batch=1").name


@pytest.mark.parametrize(
    ("url", "key_name"),
    [
        ("http://localhost:1/v1", "OPENAI_API_KEY"), ("http://127.0.0.1/v1", "KEY"), ("http://[::1]:8/v1", "KEY"),
        ("http://elsewhere.example/v1", "none"), ("https://elsewhere.example/v1", "MY_KEY_2"),
    ],
)  # fmt: skip
def test_a_key_goes_to_this_machine_or_by_https(url, key_name):
    assert ApiEncoder("m", url, key_name).url == url


def test_which_key_is_sent(service, monkeypatch):
    monkeypatch.setenv("MY_KEY", "  secret ")
    monkeypatch.delenv("NO_KEY", raising=False)
    for name in ("MY_KEY", "none", "NO_KEY"):  # a service on this machine may ask for none
        ApiEncoder("m", service.url, name).encode(["a"])
    assert service.keys == ["Bearer secret", None, None]
    with pytest.raises(DesignError, match="environment variable NO_KEY, which is not set"):
        ApiEncoder("m", "https://elsewhere.example/v1", "NO_KEY").encode(["a"])


def test_rows_are_kept_by_address_model_and_dimensions():
    one = ApiEncoder("m", "https://host.example/v1")
    assert one.key == ApiEncoder("m", "https://host.example/v1/", "OTHER_KEY", batch=3, context=100).key
    others = [ApiEncoder("n", one.url), ApiEncoder("m", "https://b.example/v1"), ApiEncoder("m", one.url, dimensions=3)]
    assert len({encoder.key for encoder in (one, *others)}) == 4
    assert one.source == "asked at host.example"


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("x" * 32, ["x" * 32]),  # 16 tokens of 2 bytes at least
        ("é" * 16, ["é" * 16]),
        ("é" * 17, ["é" * 8, "é" * 8 + " é"]),
        (" ".join(["seven77"] * 5), [" ".join(["seven77"] * 4), "seven77"]),  # 4 × 8 bytes with their spaces
        (" ".join(["eight888"] * 4), [" ".join(["eight888"] * 3), "eight888"]),
        (" ".join(["seven77"] * 9), [" ".join(["seven77"] * 4)] * 2 + ["seven77"]),
    ],
)
def test_a_piece_has_no_more_bytes_than_are_surely_read(text, pieces):
    assert ApiEncoder("m", "http://localhost/v1", context=16).pieces(text) == pieces


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"error": {"message": "too long"}}', "too long"), ('{"error": "too long"}', "too long"),
        ('{"message": "too long"}', "too long"), ("too long", "too long"), ("[1]", r"\[1\]"),
    ],
)  # fmt: skip
def test_the_message_of_an_error(service, body, words):
    service.next = [(404, {}, body)]
    with pytest.raises(DataError, match=f"HTTP 404 for 'small-1': {words}$"):
        encoder(service).encode(["a"])


@pytest.mark.parametrize(
    ("asked", "waits"),
    [
        (None, [1, 2, 4, 8, 16, 32, 60, 60]),  # twice as long each time, a minute at most
        ("3", [3] * 8),
        ("0", [0] * 8),
        ("0.5", [0.5] * 8),
        ("-1", [0] * 8),
        ("300", [60] * 8),
        ("Wed, 21 Oct 2015", [1, 2, 4, 8, 16, 32, 60, 60]),
    ],
)
def test_how_long_is_waited_for_a_busy_service(monkeypatch, asked, waits):
    slept, tried = [], []

    class Busy:
        def open(self, request, timeout):
            tried.append(timeout)
            headers = {} if asked is None else {"Retry-After": asked}
            raise urllib.error.HTTPError(request.full_url, 503, "busy", headers, io.BytesIO(b"busy"))

    monkeypatch.setattr(api_encoder, "MOST_TRIES", 9)
    monkeypatch.setattr(api_encoder.time, "sleep", slept.append)
    monkeypatch.setattr(api_encoder.urllib.request, "build_opener", lambda *handlers: Busy())
    with pytest.raises(DataError, match=r"HTTP 503 for 'm': busy; tried 9 times\. Finished encodings are kept"):
        ApiEncoder("m", "http://localhost/v1", "none").encode(["a"])
    assert slept == waits
    assert len(tried) == 9


@pytest.mark.parametrize(
    ("status", "again"),
    [(400, False), (401, False), (404, False), (408, True), (409, True), (429, True), (499, False), (500, True)],
)
def test_which_refusals_may_pass(service, status, again):
    service.next = [(status, {}, "no")] * 6
    with pytest.raises(DataError, match=f"HTTP {status}|key in MY_KEY"):
        encoder(service, dimensions=4).encode(["a", "b"])
    body = {"model": "small-1", "input": ["a", "b"], "encoding_format": "float", "dimensions": 4}
    assert service.asked == [{"path": "/v1/embeddings", **body}] * (6 if again else 1)


@pytest.mark.parametrize(("n", "pieces"), [(16, ["x" * 16]), (17, ["xxxx xxxx xxxx", "xxxx x"])])
def test_a_piece_has_sixteen_bytes_however_little_is_read(n, pieces):
    """A word is cut at a quarter of that; with the spaces between them three quarters have 15 bytes."""
    assert ApiEncoder("m", "http://localhost/v1", context=1).pieces("x" * n) == pieces


@pytest.mark.parametrize(
    ("status", "said", "hint"),
    [(400, "Context too long", True), (400, "no such model", False), (422, "context too long", False)],
)
def test_shorter_pieces_are_proposed_where_the_text_was_too_long(service, status, said, hint):
    service.next = [(status, {}, said)]
    with pytest.raises(DataError) as refused:
        encoder(service).encode(["a"])
    assert str(refused.value).endswith(
        f": HTTP {status} for 'small-1': {said}" + ("; shorter pieces may help: context=..." if hint else "")
    )


@pytest.mark.parametrize(
    ("rows", "n", "read"),
    [([[1.0, 2.0]], 1, True), ([[1.0, 2.0]], 2, False), ([[1.0], [2.0]], 1, False), ([1.0], 1, False), ([], 1, False)],
)
def test_a_reply_has_a_row_for_each_text(service, rows, n, read):
    service.next = [(200, {}, json.dumps({"data": [{"embedding": row} for row in rows]}))]
    if read:
        assert encoder(service).encode(["a"] * n).tolist() == rows
    else:
        with pytest.raises(DataError, match=f": {len(rows)} rows for {n} texts, or rows of unequal length$"):
            encoder(service).encode(["a"] * n)


def test_rows_of_every_call_are_of_one_length(service):
    service.rows = lambda texts, size: [[1.0] * len(text) for text in texts]
    assert encoder(service, batch=1).encode(["ab", "cd"]).shape == (2, 2)
    with pytest.raises(DataError, match=r"asked at 127\.0\.0\.1:\d+: rows of 'small-1' differ in length from call to"):
        encoder(service, batch=1).encode(["ab", "c"])
