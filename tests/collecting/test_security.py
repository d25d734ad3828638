"""The annotation page before people who mean no good: nothing runs, nothing leaks, nothing breaks."""

from __future__ import annotations

import json
import re
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from annotating import STARS, Annotator, Network, Reply, Served, Server, tasks_of, write_study
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import assay.collecting
from assay.study import checks
from assay.study.store import tables
from assay.study.store.people import set_state

MARKUP = "<script>alert('x')</script><img src=x onerror=alert(1)>\"'><b>bold</b>&amp;</textarea></title>{{ 7*7 }}"
SQL = "x'); DROP TABLE answers; --\" OR 1=1 /* $1 %s %(a)s ? :a \\"
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
POLICY = {
    **{"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self' data:"},
    **{"media-src": "'self'"},
    **{"connect-src": "'self'", "form-action": "'self'", "base-uri": "'none'", "frame-ancestors": "'none'"},
    **{"manifest-src": "'self'", "worker-src": "'self'"},
}
WHY = {"name": "why", "text": "Why?", "scale": "text", "optional": True}


class Parts(HTMLParser):
    """A page as a browser would parse it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.text += data


def check_html(html: str) -> Parts:
    """All scripts and styles of a page are files of this server."""
    parts = Parts(html)
    for tag, attributes in parts.tags:
        assert tag not in ("style", "iframe", "object", "embed", "base", "b"), (tag, attributes)
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (tag, attributes)
        assert tag != "script" or (attributes.get("src") or "").startswith("/static/"), attributes
        for name in ("src", "href", "action"):
            where = attributes.get(name)
            assert where is None or re.match(r"(/(?!/)|#|http://127\.0\.0\.1|data:image/)", where), (tag, attributes)
    return parts


def check_headers(reply: Reply) -> None:
    for name, value in HEADERS.items():
        assert reply.headers.get(name) == value, (name, reply)
    policy = dict(part.strip().split(" ", 1) for part in reply.headers["content-security-policy"].split(";"))
    assert policy == POLICY
    assert "server" not in reply.headers
    assert "x-powered-by" not in reply.headers


def hostile(**about: Any) -> dict[str, Any]:
    questions = [
        {"name": "stars", "text": f"How many? {MARKUP}", "scale": "1-5", "guidelines": MARKUP, "show": ["text"]},
        {"name": "tone", "text": "Which?", "scale": [MARKUP, SQL], "meanings": {SQL: MARKUP}, "show": ["text"]},
        {"name": MARKUP[:30], "text": "Why?", "scale": "text", "show": [f"column {MARKUP}"], "optional": True},
        {"name": "side", "text": "Which side?", "scale": "preference", "options": ["one", "two"], "show": []},
    ]
    item = {"text": MARKUP, f"column {MARKUP}": MARKUP, "one": MARKUP, "two": SQL}
    people = {"instructions": MARKUP, "consent": MARKUP, **about.pop("people", {})}
    items = [{"item": f"{n} {MARKUP}", **item} for n in range(3)]
    return {"questions": questions, "items": items, "people": people, "name": MARKUP, **about}


# -- markup -----------------------------------------------------------------------------------------


def test_markup_is_escaped_on_all_pages(serve: Any) -> None:
    name = "<b onclick=x>Ana</b> '\"&"
    page = serve(**hostile(), who=(name,))
    ana = page.annotator(name, join=False)
    ana.join(agree=False)
    assert MARKUP in check_html(ana.send("GET", "/consent").text).text
    ana.join()
    html = ana.send("GET", "/work").text
    parts = check_html(html)
    assert parts.text.count(MARKUP) >= 6
    assert "<script>alert" not in html
    assert "49" not in parts.text  # it is not interpreted as a template
    task = tasks_of(html)[0]
    first, tone, why, side = (question.id for question in task.questions)
    assert (
        ana.send("PUT", f"/drafts/{task.id}", {"revision": 0, "body": {"t": MARKUP, "</script>": "'\">"}}).status == 204
    )
    drafted = ana.work(task.page)[0]
    assert drafted.draft["body"] == {"t": MARKUP, "</script>": "'\">"}
    labels = {first: 3, tone: MARKUP, why: MARKUP, side: "first"}
    assert ana.answer(task, labels, comment=MARKUP, flag=MARKUP).status == 200
    conflict = ana.answer(task, labels).json()["html"]
    fetched = ana.send("GET", "/pages?after=0").json()["pages"]
    assert fetched
    for one in (conflict, *(page["html"] for page in fetched), ana.send("GET", f"/work/{task.page}").text):
        assert MARKUP in check_html(one).text
        assert "<script>alert" not in one
    (kept,) = [one for one in ana.work(task.page) if one.id == task.id]
    assert {question.id: question.given for question in kept.questions}[why] == json.dumps(MARKUP, ensure_ascii=False)
    other = ana.work()[0]
    assert ana.answer(other, {}, skip=MARKUP, comment="</script><script>alert(2)</script>").status == 200
    check_html(ana.send("GET", f"/work/{other.page}").text)
    lead = page.lead()
    for path in ("/lead", "/lead/live"):
        html = lead.send("GET", path).text
        parts = check_html(html)
        assert name in parts.text or any(name in (value or "") for _, about in parts.tags for value in about.values())
        assert "<script>alert" not in html
    # Refusals also contain it as text.
    for reply in (
        lead.form("/lead/people", name=name, attributes=""),
        lead.form("/lead/people", name="x", attributes=MARKUP.replace("=", "")),
        page.visitor().send("GET", "/nowhere/<script>alert(1)</script>"),
        page.visitor(f"/join/{escape('<script>alert(1)</script>').replace('/', '')}").join(),
    ):
        assert reply.status >= 400
        check_html(reply.text)
        assert "<script>alert" not in reply.text


def test_templates_have_no_inline_script_style_or_unescaped_text() -> None:
    folder = Path(assay.collecting.__file__).parent / "templates"
    for path in folder.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|\|\s*safe\b|autoescape|Markup", text), path.name
        assert all("src=" in tag and tag.endswith("></script>") for tag in re.findall(r"<script.*?</script>", text)), (
            path
        )
        assert not re.search(r"(?:src|href|action)=[\"'](?!/|#|\{\{)", text), path.name
    for path in (folder.parent / "static").glob("*.js"):
        assert not re.search(r"\beval\(|new Function|document\.write", path.read_text(encoding="utf-8")), path.name


def test_downloads_are_attachments(serve: Any) -> None:
    page = serve(questions=[STARS, WHY])
    ana = page.annotator()
    task = ana.work()[0]
    stars, why = (question.id for question in task.questions)
    assert ana.answer(task, {stars: 1, why: '=HYPERLINK("http://x")'}).status == 200
    reply = page.lead().send("GET", "/lead/labels.csv")
    assert reply.headers["content-disposition"].startswith("attachment")
    assert reply.headers["content-type"].startswith("text/csv")


# -- from elsewhere ---------------------------------------------------------------------------------

ELSEWHERE: tuple[dict[str, str], ...] = (
    {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://testserver.evil.example"},
    {"Origin": "http://testserver:81"},
    {"Origin": "http://testserver@evil.example"},
    {"Origin": "http://testserver", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "http://testserver", "Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Referer": "http://testserver/work"},
    {},
)


@pytest.mark.parametrize("headers", ELSEWHERE, ids=lambda one: " ".join(one.values()) or "nothing")
def test_cross_site_requests_are_refused(serve: Any, headers: dict[str, str]) -> None:
    page = serve(who=("ana", "ben"), people={"consent": "Read this."})
    ana, lead = page.annotator(), page.lead()
    task = ana.work()[0]
    before = [page.rows(table) for table in tables.TABLES]
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    posts = [
        (ana, "POST", "/answers", json.dumps(ana.body(task)).encode(), {"Content-Type": "application/json"}),
        (ana, "PUT", f"/drafts/{task.id}", b'{"revision": 0, "body": {}}', {"Content-Type": "application/json"}),
        (ana, "POST", "/answers", json.dumps(ana.body(task)).encode(), {"Content-Type": "text/plain"}),
        (ana, "POST", "/consent", b"agree=yes", form),
        (lead, "POST", "/lead/people", b"name=eve&attributes=", form),
        (lead, "POST", "/lead/people/state", b"name=ben&state=revoked", form),
        (lead, "POST", "/lead/people/link", b"name=ben", form),
        (lead, "POST", "/lead/study", b"state=paused", form),
        (lead, "POST", "/lead/reopen", f"task={task.id}".encode(), form),
    ]
    for who, method, path, body, kind in posts:
        reply = who.wire.send(method, path, {"Cookie": who.cookie, **kind, **headers}, body)
        assert reply.status == 403, (path, reply)
        check_headers(reply)
    assert [page.rows(table) for table in tables.TABLES] == before


def test_requests_without_link_get_no_validation_details(serve: Any) -> None:
    page = serve()
    visitor = page.visitor()
    replies = [visitor.send("GET", path) for path in ("/work/x", "/pages", "/pages?after=-1", "/images/x/x")]
    replies += [visitor.send("POST", "/answers", {}), visitor.send("PUT", "/drafts/x", {}), visitor.form("/consent")]
    assert {reply.status for reply in replies} == {401}
    replies = [visitor.form(f"/lead/{path}") for path in ("people", "people/state", "people/link", "study", "reopen")]
    assert {reply.status for reply in replies} == {403}


def test_cookies_are_restricted_to_the_page(serve: Any) -> None:
    page = serve()
    for link in (page.links["ana"], page.lead().link):
        method = "POST" if link.startswith("/join/") else "GET"
        (cookie,) = page.visitor().send(method, link).cookies
        parts = {part.strip().lower().partition("=")[0] for part in cookie.split(";")[1:]}
        assert {"httponly", "samesite", "path", "max-age"} <= parts
        assert "samesite=lax" in cookie.lower() or "samesite=strict" in cookie.lower()
    from assay.collecting.hosting.app import make_app

    secure = page.client(make_app(page.study, page.store, "another secret for tests", "https://x.example"))
    from assay.collecting.invitations import signer_of
    from assay.study.store.people import find

    person = find(page.store, "ana")
    assert person is not None
    token = signer_of(page.study, page.store, "another secret for tests").person_token("ana", person.link)
    here = {"Origin": secure.origin}
    assert "secure" in secure.send("POST", f"/join/{token}", here, None).cookies[0].lower()


def test_every_reply_has_its_headers(serve: Any) -> None:
    page = serve()
    ana, lead, visitor = page.annotator(), page.lead(), page.visitor()
    task = ana.work()[0]
    replies = [ana.send("GET", path) for path in ("/", "/work", "/work/1", "/work/99", "/work/x", "/pages?after=0")]
    replies += [ana.send("GET", path) for path in ("/pages", "/pages?after=-1", "/consent", "/images/1/0", "/nowhere")]
    replies += [ana.answer(task), ana.answer(task), ana.answer(task, {}, revision=1), ana.answer(99, {})]
    replies += [
        ana.send("POST", "/answers", b"{", {"Content-Type": "application/json"}),
        ana.send("DELETE", "/answers"),
    ]
    replies += [ana.send("PUT", "/drafts/1", {"revision": 1, "body": {}}), ana.send("PUT", "/drafts/x", {})]
    replies += [lead.send("GET", path) for path in ("/lead", "/lead/live", "/lead/labels.csv", "/lead/answers.zip")]
    replies += [visitor.send("GET", path) for path in ("/", "/work", "/lead", "/join/x", "/lead/join/x", "/health")]
    replies += [
        visitor.send("GET", "/static/now/work.js"),
        visitor.send("GET", "/static/now/x"),
        visitor.send("OPTIONS", "/work"),
    ]
    replies += [visitor.send("HEAD", "/work"), visitor.send("TRACE", "/work"), visitor.send("POST", "/work", b"")]
    replies += [ana.wire.send("POST", "/answers", {}, b"x"), ana.send("POST", "/answers", b"x" * 600_000)]
    for reply in replies:
        check_headers(reply)
        assert reply.status < 500
        if "text/html" in reply.headers.get("content-type", ""):
            check_html(reply.text)
        public = "public" in reply.headers.get("cache-control", "")
        assert public or reply.headers["cache-control"] == "no-store", reply
    assert {reply.status for reply in replies} >= {200, 303, 401, 403, 404, 405, 409, 413, 422}


# -- paths and sizes --------------------------------------------------------------------------------

OUTSIDE = ("../outside.png", "pictures/../../outside.png", "link.png", "linked/outside.png", "fine.svg", "fine.html")


def test_images_are_served_only_from_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if a file was changed after the page had checked all files."""
    monkeypatch.setattr(checks, "_file_problems", lambda *_: ())
    outside = tmp_path / "outside.png"
    outside.write_bytes(b"\x89PNG\r\n\x1a\noutside")
    folder = tmp_path / "study"
    paths = [*OUTSIDE, str(outside), "/etc/passwd", "study.yaml", "study.db", "missing.png", ".", "fine.png\x00.png"]
    items = [{"item": f"i{n:02d}", "text": "x", "photo": path} for n, path in enumerate([*paths, "fine.png"])]
    write_study(
        folder,
        items=items,
        questions=[{**STARS, "show": ["photo"]}],
        people={"order": "fixed", "ahead": 20},
    )
    text = (folder / "study.yaml").read_text().replace("file: items.jsonl", "file: items.jsonl\n  images: [photo]")
    (folder / "study.yaml").write_text(text)
    (folder / "fine.png").write_bytes(b"\x89PNG\r\n\x1a\nfine")
    (folder / "fine.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    (folder / "fine.html").write_text("<script>alert(1)</script>")
    (folder / "pictures").mkdir()
    (folder / "link.png").symlink_to(outside)
    (folder / "linked").symlink_to(tmp_path)
    with Served(folder) as page:
        ana = page.annotator()
        tasks = {one.place: one.id for one in ana.pages()[0]}
        assert len(tasks) == len(items)
        for place, item in enumerate(items, start=1):
            reply = ana.send("GET", f"/images/{tasks[place]}/0")
            check_headers(reply)
            if item["photo"] == "fine.png":
                assert (reply.status, reply.body) == (200, b"\x89PNG\r\n\x1a\nfine")
                assert reply.headers["content-type"] == "image/png"
            else:
                assert reply.status == 404, item
                assert b"outside" not in reply.body
        for path in (f"/images/{tasks[1]}/1", f"/images/{tasks[1]}/-1", "/images/0/0", f"/images/{10**30}/0"):
            assert ana.send("GET", path).status in (404, 422), path


@pytest.mark.parametrize(
    "path",
    [
        *("../app.py", "..%2fapp.py", "%2e%2e/app.py", "%2e%2e%2fapp.py", "....//app.py", "..\\app.py", "..%5capp.py"),
        *(
            "/etc/passwd",
            "%2fetc%2fpasswd",
            "work.js/../../app.py",
            "work.js%00.css",
            "",
            ".",
            "%",
            "%zz",
            "a" * 5000,
        ),
    ],
)
def test_only_known_static_files_are_served(serve: Any, path: str) -> None:
    reply = serve().visitor().send("GET", f"/static/now/{path}")
    assert reply.status in (404, 405), reply
    assert b"import" not in reply.body
    assert b"root:" not in reply.body


def test_endless_bodies_are_refused(serve: Any) -> None:
    page = serve()
    ana = page.annotator()
    task = ana.work()[0]
    body = ana.body(task)
    huge = json.dumps({**body, "comment": "x" * 600_000}).encode()
    assert ana.send("POST", "/answers", huge, {"Content-Type": "application/json"}).status == 413
    assert ana.send("PUT", f"/drafts/{task.id}", {"revision": 0, "body": {"x": "y" * 600_000}}).status == 413
    assert ana.send("POST", "/answers", {**body, "comment": "x" * 5000}).status == 422
    assert ana.send("POST", "/answers", {**body, "labels": {str(n): 1 for n in range(5000)}}).status == 422
    assert ana.form("/lead/people", name="x" * 600_000).status == 413

    def endless() -> Any:
        for _ in range(100):
            yield b'{"task": "' + b"x" * 65_536

    headers = {"Origin": "http://testserver", "Cookie": ana.cookie, "Content-Type": "application/json"}
    with TestClient(page.app) as client:
        sent = client.post("/answers", content=endless(), headers=headers)
    assert sent.status_code == 413
    assert page.rows(tables.answers) == []
    assert ana.send("POST", "/answers", body).status == 200


def test_server_refuses_endless_and_mislabelled_bodies(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", items=2)
    with Served(folder) as page:
        link = page.links["ana"]
    with Server(folder) as server:
        ana = Annotator(Network(server.url), link)
        ana.join()
        import socket

        host = server.url.removeprefix("http://")
        lines = f"POST /answers HTTP/1.1\r\nHost: {host}\r\nOrigin: {server.url}\r\nCookie: {ana.cookie}\r\n"
        lines += "Content-Type: application/json\r\n"
        for length in ("Content-Length: 99999999999\r\n", "Transfer-Encoding: chunked\r\n"):
            with socket.create_connection(("127.0.0.1", server.port), timeout=20) as raw:
                raw.sendall((lines + length + "\r\n").encode())
                chunk = b"x" * 65_536
                try:
                    for _ in range(40):
                        raw.sendall(b"%x\r\n%s\r\n" % (len(chunk), chunk) if "chunked" in length else chunk)
                except (ConnectionError, TimeoutError):
                    pass  # the server has closed the connection, which is permitted
                try:
                    answer = raw.recv(200)
                except ConnectionError:
                    answer = b""
            assert answer.startswith(b"HTTP/1.1 413") or answer == b"", answer
        assert ana.answer(ana.work()[0]).status == 200
        ana.wire.close()
        assert "Traceback" not in server.log.read_text()


# -- odd input --------------------------------------------------------------------------------------

ODD_TEXTS = (
    "\x00",
    "a\x00b",
    "\ud800",
    "\udfff\ud800",
    "\u202e",
    "\x1b[31m",
    "\uffff",
    "é" * 100,
    SQL,
    MARKUP,
    "'",
    '"',
    "\\",
)


def test_sql_and_special_characters_are_stored_as_text(serve: Any, url: str) -> None:
    page = serve(questions=[STARS, WHY], store=url, items=40)
    ana, lead = page.annotator(), page.lead()
    names = [table.name for table in tables.TABLES]
    queue = ana.work()
    for odd in ODD_TEXTS:
        task = queue.pop(0) if queue else (queue := ana.work()).pop(0)
        stars, why = (question.id for question in task.questions)
        draft = ana.send("PUT", f"/drafts/{task.id}", {"revision": 0, "body": {"text": odd, odd: [odd, {odd: odd}]}})
        assert draft.status == 204, odd
        assert ana.send("GET", f"/work/{task.page}").status == 200, odd
        reply = ana.answer(task, {stars: 3, why: f"because {odd}"}, comment=odd, flag=odd)
        assert reply.status == 200, (odd, reply.text)
        assert ana.answer(task.id, {}, revision=1, skip=odd).status == 200
        assert ana.answer(task.id, {stars: odd, why: odd}, revision=2).status == 422
        assert ana.answer(task.id, {odd: 1}, revision=2).status == 422
        assert ana.send("POST", "/answers", {**ana.body(task), "key": odd * 10}).status == 422
        for path, fields in (
            ("/lead/people", {"name": f"{odd} {task.id}", "attributes": f"{odd}={odd}"}),
            ("/lead/people/state", {"name": odd, "state": "paused"}),
            ("/lead/people/link", {"name": odd}),
            ("/lead/study", {"state": odd}),
            ("/lead/reopen", {"task": odd}),
        ):
            body = "&".join(
                f"{name}=" + "".join(f"%{byte:02x}" for byte in value.encode("utf-8", "surrogatepass"))
                for name, value in fields.items()
            )
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            assert lead.send("POST", path, body.encode(), form).status in (303, 404, 422), (path, odd)
        assert lead.send("GET", "/lead").status == 200, odd
        assert ana.send("GET", "/work").status == 200, odd
    with page.store.reading() as db:
        for name in names:
            db.execute(sa.text(f"select count(*) from {name}")).scalar_one()
    reasons = [row["comment"] for row in page.history() if row["comment"]]
    assert SQL in reasons
    assert MARKUP in reasons
    assert lead.send("GET", "/lead/answers.zip").status == 200
    assert lead.send("GET", "/lead/labels.csv").status in (200, 404)


def odd_bodies(good: bytes, task: int) -> list[bytes]:
    def labelled(labels: bytes) -> bytes:
        return re.sub(rb'"labels": {[^}]*}', lambda _: b'"labels": {' + labels + b"}", good)

    return [
        *(b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b"\x00", b"NaN", b"{}", b"[[]]", good + good),
        b"[" * 100_000 + b"]" * 100_000,
        b'{"task":' * 50_000,
        labelled(b'"1": ' + b"[" * 100_000 + b"]" * 100_000),
        good.replace(b'"revision": 0', b'"revision": ' + b"9" * 5000),
        good.replace(b'"revision": 0', b'"revision": 1e400'),
        good.replace(b'"revision": 0', b'"revision": 99999999999999999999'),
        good.replace(b'"revision": 0', b'"revision": 0.5'),
        good.replace(b'"revision": 0', b'"revision": true'),
        good.replace(b'"seconds": 1.5', b'"seconds": Infinity'),
        good.replace(b'"task": %d' % task, b'"task": ' + b"9" * 4000),
        good.replace(b'"task": %d' % task, b'"task": "1 or 1=1"'),
        good.replace(b'"task": %d' % task, b'"task": -1'),
        good.replace(b'"task": %d' % task, b'"task": 0'),
        good.replace(b'"labels"', b'"comment": {"a": 1}, "labels"'),
        good.replace(b'"labels"', b'"unknown": 1, "labels"'),
        labelled(b'"1": 3, "\\ud800": 1'),
        labelled(b'"1": "\\ud800"'),
        labelled(b'"1": ' + b"9" * 5000),
    ]


def test_malformed_bodies_are_refused(serve: Any, url: str) -> None:
    page = serve(store=url)
    ana = page.annotator()
    task = ana.work()[0]
    good = json.dumps(ana.body(task)).encode()
    kinds = ("application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x", "")
    for body in odd_bodies(good, task.id):
        for kind in kinds if len(body) < 1000 else kinds[:1]:
            for method, path in (("POST", "/answers"), ("PUT", f"/drafts/{task.id}")):
                reply = ana.send(method, path, body, {"Content-Type": kind})
                assert reply.status in (400, 403, 404, 409, 413, 415, 422), (body[:80], kind, reply)
                check_headers(reply)
                assert reply.json()["message"] if reply.body and reply.status != 413 else True
    for depth in (30, 500, 5000):
        nested = b'{"revision": 0, "body": {"x": ' + b"[" * depth + b"]" * depth + b"}}"
        reply = ana.send("PUT", f"/drafts/{task.id}", nested, {"Content-Type": "application/json"})
        assert reply.status in (204, 422, 400), (depth, reply)
        assert ana.send("GET", f"/work/{task.page}").status == 200
    for kind in kinds[1:]:  # a form of another site could send these kinds; only JSON is read
        assert ana.send("POST", "/answers", good, {"Content-Type": kind}).status in (400, 415, 422), kind
    assert page.rows(tables.answers) == []
    # A repeated key is read as one of them, and the stored label is valid either way.
    twice = good.replace(b'"labels": {', b'"labels": {"%s": 99, ' % task.questions[0].id.encode())
    assert ana.send("POST", "/answers", twice, {"Content-Type": "application/json"}).status in (200, 422)
    assert {row["label"] for row in page.history()} <= {1, 2, 3, 4, 5}


# -- a fuzzer ---------------------------------------------------------------------------------------

ROUTES = (
    *("/", "/health", "/consent", "/work", "/work/{}", "/pages", "/pages?after={}", "/answers", "/drafts/{}", "/lead"),
    *("/images/{}/{}", "/static/{}/{}", "/join/{}", "/lead/join/{}", "/lead/live", "/lead/people"),
    *(
        "/lead/people/state",
        "/lead/people/link",
        "/lead/study",
        "/lead/reopen",
        "/lead/labels.csv",
        "/lead/answers.zip",
        "/{}",
        "/lead/{}",
    ),
)
_texts = st.one_of(
    st.sampled_from(["ana", "1", "2", "yes", "active", "paused", "open", "first", "", *ODD_TEXTS]),
    st.text(max_size=40),
    st.integers().map(str),
)
_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), _texts, st.integers(0, 6)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_texts, inner, max_size=4)),
    max_leaves=12,
)
_answers = st.fixed_dictionaries(
    {
        "task": st.one_of(st.integers(1, 8), _values),
        "key": st.one_of(st.just("a-key-of-tests"), st.uuids().map(str), _values),
    },
    optional={
        "revision": st.one_of(st.integers(0, 3), _values),
        "labels": st.one_of(st.dictionaries(st.sampled_from(["1", "2", "3"]), _values, max_size=3), _values),
        "skip": _values,
        "comment": _values,
        "flag": _values,
        "seconds": _values,
        "body": st.one_of(st.dictionaries(_texts, _values, max_size=3), _values),
    },
)
_forms = st.dictionaries(st.sampled_from(["name", "attributes", "state", "task", "agree"]), _texts, max_size=5)


def percent(text: str, safe: str = "") -> str:
    return "".join(c if c in safe else "".join(f"%{b:02X}" for b in c.encode("utf-8", "surrogatepass")) for c in text)


LEAD_FORMS = ("/lead/people", "/lead/people/state", "/lead/people/link", "/lead/study", "/lead/reopen")


@st.composite
def aimed(draw: Any, labels: dict[str, Any]) -> tuple[str, str, bytes | None, dict[str, str], str]:
    """A request that is valid except for one field: it gets further than one in which everything is invalid."""
    odd, task = draw(_values), draw(st.integers(1, 6))
    kind = draw(st.sampled_from(["answer", "answer", "draft", "form"]))
    if kind == "form":
        fields = {"name": "ana", "state": "active", "task": "1", "attributes": "", **draw(_forms)}
        body = "&".join(f"{name}={percent(value)}" for name, value in fields.items()).encode()
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        return "POST", draw(st.sampled_from(LEAD_FORMS)), body, form, "lead"
    sent: dict[str, Any] = {"revision": draw(st.integers(0, 2)), "body": {"why": odd}}
    if kind == "answer":
        sent = {"task": task, "key": str(draw(st.uuids())), "revision": sent["revision"], "labels": {**labels}}
        places = ["task", "key", "revision", "labels", "skip", "comment", "flag", "seconds", *labels, "9"]
        place = draw(st.sampled_from(places))
        (sent["labels"] if place in "1239" else sent)[place] = odd
    where = ("POST", "/answers") if kind == "answer" else ("PUT", f"/drafts/{task}")
    return *where, json.dumps(sent).encode(), {"Content-Type": "application/json"}, "ana"


@st.composite
def requests(draw: Any, labels: dict[str, Any]) -> tuple[str, str, bytes | None, dict[str, str], str]:
    if draw(st.booleans()):
        return draw(aimed(labels))
    route = draw(st.sampled_from(ROUTES))
    while "{}" in route:
        route = route.replace("{}", percent(draw(_texts), draw(st.sampled_from(["", "./"]))), 1)
    method = draw(st.sampled_from(["GET", "POST", "PUT", "GET", "POST", "HEAD", "DELETE", "PATCH", "OPTIONS"]))
    headers: dict[str, str] = {}
    body: bytes | None = None
    if method not in ("GET", "HEAD", "OPTIONS"):
        kind = draw(st.sampled_from(["json", "form", "bytes"]))
        if kind == "json":
            found = draw(st.one_of(_answers, _answers, _values))
            body, headers = json.dumps(found).encode(), {"Content-Type": "application/json"}
        elif kind == "form":
            fields = draw(_forms)
            body = "&".join(f"{name}={percent(value)}" for name, value in fields.items()).encode()
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
        else:
            body = draw(st.binary(max_size=200))
            kinds = [
                "application/json",
                "multipart/form-data; boundary=x",
                "application/x-www-form-urlencoded; charset=x",
            ]
            headers = {"Content-Type": draw(st.sampled_from(kinds))}
    cookie = draw(st.sampled_from(["ana", "ana", "lead", "lead", "odd", "none"]))
    if cookie == "odd":
        headers["Cookie"] = f"assay={percent(draw(_texts), 'abcdefgh.')}; assay_lead={percent(draw(_texts))}; assay"
    return method, route, body, headers, cookie


def fuzz(page: Served, examples: int, labels: dict[str, Any]) -> None:
    ana, lead = page.annotator(), page.lead()
    cookies = {"ana": ana.cookie, "lead": lead.cookie, "none": "", "odd": ""}
    ana.work()
    quiet = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]

    @settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=quiet)
    @given(requests(labels))
    def run(request: tuple[str, str, bytes | None, dict[str, str], str]) -> None:
        method, path, body, headers, cookie = request
        sender = Annotator(wire, "")
        sender.cookie = cookies[cookie]
        reply = sender.send(method, path, body, headers)
        assert reply.status < 500
        check_headers(reply)
        if cookie == "ana" and reply.status == 403:  # the lead has sent her a newer link, or revoked it
            set_state(page.store, "ana", "active")
            cookies["ana"] = page.annotator().cookie
        if "text/html" in reply.headers.get("content-type", ""):
            check_html(reply.text)

    wire = page.client()
    run()
    assert page.history(), "some requests reached the store"
    on_scale = {row["label"] for row in page.history() if row["criterion"] == "stars" and row["label"] is not None}
    assert on_scale <= {1, 2, 3, 4, 5}


def test_fuzzer_finds_no_server_error(serve: Any, tmp_path: Path) -> None:
    side = {"name": "side", "text": "Which?", "scale": "preference", "options": ["text", "text2"], "show": []}
    items = [{"item": f"i{n}", "text": "a", "text2": "b"} for n in range(20)]
    questions = [{**STARS, "show": ["text"]}, {**WHY, "show": ["text"]}, side]
    page = serve(questions=questions, items=items, people={"consent": "Read this.", "overlap": 2})
    fuzz(page, 300, {"1": 3, "2": "Because.", "3": "first"})


def test_fuzzer_finds_no_server_error_with_postgresql(serve: Any, postgres: str, url: str) -> None:
    if not url.startswith("postgresql"):
        pytest.skip("the other test does this")
    page = serve(questions=[STARS, WHY], items=20, people={"overlap": 2}, store=url)
    fuzz(page, 120, {"1": 3, "2": "Because."})
