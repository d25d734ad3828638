"""The page of assay look --browser: what it shows and takes, the requests it refuses, and that it keeps nothing."""

from __future__ import annotations

import http.client
import json
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest

import assay
from assay.cli.labels import NAMES, command_for
from assay.cli.output import as_typed
from assay.collecting import look_page
from assay.collecting.look_page import LookPage, serving
from assay.errors import AssayError
from waiting import wait_until

ROWS = [(1 + i % 5, 1 + (i + i // 5) % 5, 1 + (i + i // 7) % 5, 1 + (i + i // 9) % 5) for i in range(30)]
SHEET = "ID,Ann,Bob,Cho,gpt-4o,Mean\n" + "".join(
    f"q{i},{','.join(map(str, row))},{sum(row[:3]) / 3:.2f}\n" for i, row in enumerate(ROWS)
)
UNCLEAR = "user,post,stars\n" + "".join(f"n{j},p{i:02},{1 + (i * j) % 5}\n" for i in range(30) for j in range(1, 4))
WORDS = partial(as_typed, typed=NAMES)


class Client:
    """Sends requests to a page, and follows its answer to a form."""

    def __init__(self, address: str) -> None:
        self.host, _, key = address.removeprefix("http://").rstrip("/").partition("/")
        self.base = f"/{key}"

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, str, dict[str, str]]:
        connection = http.client.HTTPConnection(self.host, timeout=60)
        connection.request(method, path, body or None, headers)
        reply = connection.getresponse()
        found = reply.status, reply.read().decode(), {name.lower(): value for name, value in reply.getheaders()}
        connection.close()
        return found

    def get(self, path: str = "/") -> str:
        status, text, _ = self.send("GET", self.base + path)
        assert status == 200, text
        return text

    def drop(self, name: str, content: str) -> str:
        status, text, headers = self.send("POST", f"{self.base}/files?{urlencode({'name': name})}", content.encode())
        assert (status, headers.get("location")) == (303, f"{self.base}/"), text
        return self.get()

    def do(self, act: str, **form: str | list[str]) -> str:
        status, text, _ = self.send("POST", f"{self.base}/{act}", urlencode(form, doseq=True).encode())
        assert status == 303, text
        return self.get()

    def wait(self) -> None:
        """Wait for the report."""
        wait_until(lambda: not json.loads(self.get("/running"))["running"], lambda: self.get(), seconds=120)


@pytest.fixture
def page() -> Iterator[LookPage]:
    with tempfile.TemporaryDirectory() as folder:
        yield LookPage(Path(folder), WORDS, command_for)


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with serving(0, WORDS, command_for) as (server, _, address):
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield Client(address)
        server.shutdown()
        thread.join(10)
    assert list(tmp_path.iterdir()) == [], "nothing is kept"


def words(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def roles(html: str) -> dict[str, str]:
    """The chosen role of each column."""
    rows = re.findall(r'<th scope="row">(.*?)</th>.*?<option value="[^"]*" selected>(.*?)</option>', html, re.DOTALL)
    return {unescape(name): role for name, role in rows}


@pytest.mark.slow
def test_dropped_file_shows_roles_analyses_and_command(client: Client) -> None:
    assert "Drop a table of labels here" in client.get()
    html = client.drop("../my sheet.csv", SHEET)
    said = words(html)
    assert "my sheet.csv Remove my sheet.csv 30 rows × 6 columns" in said
    assert "120 labels, 30 items, 3 humans, 1 judge, ordinal:1-5" in said
    assert roles(html)["Mean"] == "computed (ignored)"
    assert "Assumed that 'gpt-4o' is a judge (by name), and 'Ann', 'Bob', 'Cho' human. Tick the judges " in said, (
        "the page has a control for it"
    )
    assert "Assumed scale 1-5. If wrong, set the scale " in said
    assert "✓ replacement test (gpt-4o)" in said
    assert re.search(r"assay report 'my sheet.csv' --expertise crowd --wide --item ID .*--judges gpt-4o", said)
    assert "/assay-" not in html, "the temporary folder does not appear"


@pytest.mark.slow
def test_role_is_changed_and_changes_are_undone(client: Client) -> None:
    client.drop("sheet.csv", SHEET)
    html = client.do("role", file="sheet.csv", column="Ann", role="judge")
    assert (roles(html)["Ann"], roles(html)["gpt-4o"]) == ("judge labels", "judge labels")
    assert "2 humans, 2 judges" in words(html)
    html = client.do("role", file="sheet.csv", column="Mean", role="person")
    assert "3 humans, 2 judges" in words(html)
    html = client.do("role", file="sheet.csv", column="Bob", role="computed")
    assert "2 humans, 2 judges" in words(html)
    html = client.do("again", file="sheet.csv")
    assert "3 humans, 1 judge" in words(html)
    assert "Undo my changes" not in html
    assert words(client.do("role", file="sheet.csv", column="Nobody", role="judge")) == words(html), "an old page"


@pytest.mark.slow
def test_question_is_answered_by_one_of_the_readings(client: Client) -> None:
    table = "post,first,second,third\n" + "".join(f"p{i},{1 + i % 5},{1 + i % 4},{1 + i % 3}\n" for i in range(24))
    html = client.drop("posts.csv", table)
    answers = [unescape(one) for one in re.findall(r'name="answer" value="(.*?)"', html)]
    assert answers == [f"'first', 'second', 'third' are {what}" for what in (
        "annotators", "questions that one human answered", "questions that one judge answered",
    )]  # fmt: skip
    assert "Make the report" not in html
    said = words(client.do("answer", file="posts.csv", answer=answers[0]))
    assert "72 labels, 24 items" in said
    assert "To decide" not in said
    assert "One question" not in said


def test_judges_and_scale_are_set(client: Client) -> None:
    html = client.drop("long.csv", UNCLEAR)
    assert "90 labels, 30 items, 3 humans, 0 judges" in words(html)
    assert "No judge yet" in html
    html = client.do("judges", file="long.csv", judge=["n2", "n3"])
    assert "1 human, 2 judges" in words(html)
    html = client.do("scale", file="long.csv", scale="interval:0-10")
    assert "interval:0-10" in words(html)
    html = client.do("scale", file="long.csv", scale="1-3")
    assert "This is not possible: " in words(html), "and the last reading stays"
    assert "1 human, 2 judges, interval:0-10" in words(html)
    assert "3 humans, 0 judges" in words(client.do("judges", file="long.csv"))


def test_two_files_are_joined_and_ids_match_loosely_on_request(client: Client) -> None:
    people = "".join(line.rpartition(",")[0].rpartition(",")[0] + "\n" for line in SHEET.splitlines())
    judge = "ID,gpt-4o\n" + "".join(f"Q-{i:03},{row[3]}\n" for i, row in enumerate(ROWS))
    client.drop("people.csv", people)
    client.do("answer", file="people.csv", answer="'Ann', 'Bob', 'Cho' are annotators")
    said = words(client.drop("judge.csv", judge))
    assert "no item id is in both" in said
    said = words(client.do("match", match="loose"))
    assert "120 labels, 30 items, 3 humans, 1 judge" in said
    assert "30 of 30 item ids match loosely" in said
    assert "assay report people.yaml --labels-from judge.yaml --expertise crowd --match loose" in said
    assert "One" not in client.send("GET", f"{client.base}/download/people.yaml")[1]
    assert "read:\n- people.csv\n" in client.get("/download/people.yaml")
    said = words(client.do("remove", file="judge.csv"))
    assert "judge.csv" not in said


@pytest.mark.slow
def test_report_is_made_by_the_command_that_is_shown(client: Client) -> None:
    client.drop("sheet.csv", SHEET)
    assert client.send("GET", f"{client.base}/open")[0] == 404, "no report has been made"
    html = client.do("report", expertise="skilled")
    assert "Making the report" in html
    client.wait()
    said = words(client.get())
    assert "The report is made Can gpt-4o replace a skilled annotator?" in said
    status, report, headers = client.send("GET", f"{client.base}/open")
    assert status == 200
    assert "Can gpt-4o replace a skilled annotator?" in report
    assert headers["content-security-policy"].startswith("sandbox "), "it reaches no other address of the page"
    assert "allow-same-origin" not in headers["content-security-policy"]
    found = json.loads(client.get("/download/report.json"))
    assert found["kind"] == "Report"
    attached = client.send("GET", f"{client.base}/download/report.html")[2]["content-disposition"]
    assert attached == "attachment; filename*=UTF-8''report.html"
    html = client.do("judges", file="sheet.csv", judge=["Ann"])
    assert "The report is made" not in html, "it was about other judges"
    assert client.send("GET", f"{client.base}/download/report.html")[0] == 404


@pytest.mark.slow
def test_report_without_judge_is_about_annotators(client: Client) -> None:
    client.drop("long.csv", UNCLEAR)
    html = client.do("report")
    assert "assay agreement long.csv" in words(html)
    assert "Whose place" not in html
    client.wait()
    said = words(client.get())
    assert "Krippendorff" in said
    assert "Download the numbers" not in said


@pytest.mark.slow
def test_failed_report_shows_the_reason(tmp_path: Path) -> None:
    page = LookPage(tmp_path, WORDS, lambda *_: "assay report gone.csv --expertise crowd")
    page.add("sheet.csv", SHEET.encode())
    page.do("report", {})
    assert page.run is not None
    page.run.wait()
    html = page.html("/key")
    assert "The report could not be made: the file or folder &#39;gone.csv&#39; does not exist" in words(
        html.replace("&#39;", "&amp;#39;")
    )
    assert "Open the report" not in html
    with pytest.raises(KeyError):
        page.download("report.html")


def test_report_is_stopped(tmp_path: Path) -> None:
    page = LookPage(tmp_path, WORDS, lambda *_: "assay demo --seed 1")
    page.add("sheet.csv", SHEET.encode())
    page.do("report", {})
    run = page.run
    assert run is not None
    page.do("stop", {})
    assert not run.running
    assert page.run is None
    assert "Making the report" not in page.html("/key")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("<img src=x>.exe", "x", "this file type is not supported"),
        ("empty.csv", "", "empty.csv is empty"),
        ("reading.yaml", "read: [/etc/passwd]", "states how another file is read; drop that file"),
        ("report.html", "<p>", "rename report.html: the report has this name here"),
        ("t.parquet", "no such thing", "t.parquet is not a Parquet file"),
    ],
)
def test_unreadable_files_are_refused_with_the_reason(client: Client, name: str, content: str, why: str) -> None:
    length = {"Content-Length": str(len(content))}
    client.send("POST", f"{client.base}/files?{urlencode({'name': name})}", content.encode(), **length)
    html = client.get()
    assert why in words(html)
    assert "<img" not in html
    assert "/assay-" not in html


@pytest.mark.slow
def test_cells_and_names_are_escaped(client: Client) -> None:
    bold = SHEET.replace("ID,", "<b>ID</b>,").replace("q1,", "<script>1</script>,")
    html = client.drop("<i>t</i>.csv", bold)
    assert "&lt;b&gt;ID" in html
    assert "<script>" not in html
    assert "<b>" not in html
    assert "<i>" not in html


def test_requests_from_elsewhere_are_refused(client: Client) -> None:
    for headers in ({"Host": "elsewhere.example"}, {"Host": "localhost"}, {"Origin": "https://elsewhere.example"},
                    {"Origin": "null"}):  # fmt: skip
        assert client.send("GET", f"{client.base}/", **headers)[0] == 421
        assert client.send("POST", f"{client.base}/files?name=t.csv", SHEET.encode(), **headers)[0] == 421
    for path in ("/", "/wrong/", f"{client.base[:-1]}/", f"{client.base}x/", f"{client.base}/static/../look_page.py",
                 f"{client.base}/static/form.js", f"{client.base}/download/..%2F..%2Fetc%2Fpasswd"):  # fmt: skip
        assert client.send("GET", path)[0] == 404, path
    assert client.send("POST", "/wrong/files?name=t.csv", SHEET.encode())[0] == 404
    assert client.send("POST", f"{client.base}/files", b"x", **{"Content-Length": "-1"})[0] == 411
    assert "section" not in client.get(), "no file was taken"
    policy = client.send("GET", f"{client.base}/")[2]["content-security-policy"]
    assert "unsafe" not in policy


@pytest.mark.slow
def test_more_than_32_mb_and_more_than_four_files_are_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    much = {"Content-Length": str(32 * 1024 * 1024 + 1)}
    status, said, _ = client.send("POST", f"{client.base}/files?name=t.csv", b"x", **much)
    assert (status, said) == (
        413, "the file is larger than 32 MB; name it in the command: assay look FILE --browser"
    )  # fmt: skip
    assert said in unescape(client.get())
    monkeypatch.setattr(look_page, "LARGEST", len(SHEET))
    for number in range(4):
        assert f"s{number}.csv" in client.drop(f"s{number}.csv", SHEET)
    assert "at most 4 files are joined; remove one first" in client.drop("s4.csv", SHEET)
    assert "at most" not in client.drop("s3.csv", SHEET), "a file of the same name is replaced"
    client.do("role", file="s3.csv", column="Ann", role="judge")
    assert "s3.csv replaces the file of this name, and is read without your changes to it" in client.drop(
        "s3.csv", SHEET
    )


@pytest.mark.slow
def test_port_in_use_is_refused(client: Client) -> None:
    port = int(client.host.rpartition(":")[2])
    with pytest.raises(AssayError, match=f"port {port} is in use"), serving(port, WORDS, command_for):
        pass


def test_file_of_the_command_is_copied_and_read_as_stated(page: LookPage, tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text(SHEET)
    page.add(path.name, path, {"judges": ["Cho", "gpt-4o"]})
    labels = assay.read(path, judges=["Cho", "gpt-4o"])
    assert page.whole[0] is not None
    assert page.whole[0].labels is not None
    assert page.whole[0].labels.judges == labels.judges == ("Cho", "gpt-4o")
    page.add(path.name, path, {"judges": ["nobody"]})
    assert page.sheets["sheet.csv"].stated == {}, "options of another file do not hold for this one"
    assert path.read_text() == SHEET


@pytest.mark.slow
def test_files_of_the_same_stem_are_joined(client: Client) -> None:
    people = "".join(f"{','.join(line.split(',')[:4])}\n" for line in SHEET.splitlines())
    client.drop("labels.csv", people)
    client.do("answer", file="labels.csv", answer="'Ann', 'Bob', 'Cho' are annotators")
    said = words(client.drop("labels.tsv", "ID\tgpt-4o\n" + "".join(f"q{i}\t{row[3]}\n" for i, row in enumerate(ROWS))))
    assert "120 labels, 30 items, 3 humans, 1 judge" in said
    assert "assay report labels.yaml --labels-from labels.tsv.yaml" in said
    assert "read:\n- labels.tsv\n" in client.get("/download/labels.tsv.yaml")


@pytest.mark.slow
@pytest.mark.parametrize(("column", "role"), [("ID", "computed"), ("Mean", "item column")])
def test_role_that_changes_nothing_is_refused(client: Client, column: str, role: str) -> None:
    before = roles(client.drop("sheet.csv", SHEET))
    html = client.do("role", file="sheet.csv", column=column, role=role)
    assert f"This is not possible: column '{column}' would still be read as {before[column]};" in words(html)
    assert roles(html) == before
    assert "Undo my changes" not in html


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [[], ["Ann"]])
def test_human_annotator_stays_human(client: Client, chosen: list[str]) -> None:
    client.drop("sheet.csv", SHEET)
    client.do("judges", file="sheet.csv", judge=chosen)
    html = client.do("role", file="sheet.csv", column="Bob", role="item column")
    assert roles(html)["gpt-4o"] == "human labels", "the user has stated it"
    assert f"{3 - len(chosen)} humans, {len(chosen)} judge" in words(html)


def test_column_of_humans_and_judges_is_a_role(client: Client) -> None:
    rows = "".join(
        f"q{i},{who},{label},{'judge' if who == 'm' else 'human'}\n"
        for i, row in enumerate(ROWS)
        for who, label in zip(("ann", "bob", "m"), row, strict=False)
    )
    client.drop("long.csv", "item,who,score,type\n" + rows)
    html = client.do("role", file="long.csv", column="type", role="kind")
    assert roles(html)["type"] == "human or judge"
    assert "2 humans, 1 judge" in words(html)
    assert "--kind type" in words(html)


@pytest.mark.slow
def test_report_is_made_of_names_with_commas_and_dashes(page: LookPage) -> None:
    sheet = SHEET.replace("Ann,Bob", '"Smith, Ann",-Bob', 1)
    page.add("-sheet.csv", sheet.encode())
    (page.folder / "json.py").write_text("raise SystemExit('imported')")
    page.do("report", {})
    assert page.run is not None
    page.run.wait()
    assert page.run.made, page.run.said
    table = json.loads(page.download("report.json"))
    assert "Smith, Ann" in json.dumps(table)


@pytest.mark.slow
def test_old_page_makes_no_report_of_other_labels(client: Client) -> None:
    html = client.drop("sheet.csv", SHEET)
    (version,) = re.findall(r'name="version" value="(\d+)"', html)
    client.do("role", file="sheet.csv", column="Ann", role="judge")
    html = client.do("report", expertise="crowd", version=version)
    assert "the files were changed in another window" in words(html)
    assert "Making the report" not in html
    assert "in another window" not in client.do("role", file="sheet.csv", column="Ann", role="person")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "two\0parts.csv"])
def test_impossible_name_is_refused(client: Client, name: str) -> None:
    html = client.drop(name, SHEET)
    assert "cannot be written" in words(html)
    assert "<section" not in html


@pytest.mark.slow
def test_judges_are_kept_in_a_table_with_one_row_per_annotator(client: Client) -> None:
    marks = {"ann": 0, "bob": 1, "cho": 2, "helper": 1}
    rows = "".join(f"{who},{','.join(str(1 + (3 * n + j * j) % 5) for j in range(9))}\n" for who, n in marks.items())
    client.drop("form.csv", f"annotator,{','.join(f'q{j}' for j in range(9))}\n" + rows)
    assert "3 humans, 1 judge" in words(client.do("judges", file="form.csv", judge="helper"))
    html = client.do("role", file="form.csv", column="q1", role="computed")
    assert "3 humans, 1 judge" in words(html)
    html = client.do("role", file="form.csv", column="q2", role="annotator column")
    assert "3 humans, 1 judge" in words(html)
    assert "--judges helper" in words(html)


@pytest.mark.slow
def test_command_finds_packages_of_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command runs in the folder of the page, and paths of Python are relative to that of ``assay look``."""
    for name in ("page", "lib"):
        (tmp_path / name).mkdir()
    (tmp_path / "lib" / "sitecustomize.py").write_text(f"open({str(tmp_path / 'found')!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["lib", os.environ.get("PYTHONPATH", "")]))
    page = LookPage(tmp_path / "page", WORDS, lambda *_: "assay --version")
    page.add("sheet.csv", SHEET.encode())
    page.do("report", {})
    assert page.run is not None
    page.run.wait()
    assert (tmp_path / "found").exists()


@pytest.mark.slow
def test_messages_name_the_controls_of_the_page(client: Client) -> None:
    nines = "".join(f"q{i},{1 + i % 5},{9 if i % 6 == 0 else 1 + i % 4}\n" for i in range(24))
    said = words(client.drop("my nines.csv", "ID,Ann,Bob\n" + nines))
    assert (
        "Run assay look 'my nines.csv' --browser --missing 9 if it is a missing value, or set the scale to "
        "interval:1-9 if it is a label" in said
    ), "no control of the page has codes of missing values"
    said = words(client.drop("one.csv", "item,rater_id\n" + "".join(f"q{i // 2},a{i % 5}\n" for i in range(24))))
    assert "no column with the labels was found (change the roles of columns)" in said
    apart = "".join(f"q{i},{1 + i % 5},{10 * (i % 10)}\n" for i in range(24))
    said = words(client.drop("apart.csv", "ID,Ann,Bob\n" + apart))
    assert "Convert them to one scale, or set the scale)" in said, "also in a reading that is not possible yet"
    long = "".join(f"q{i // 2},a{i % 2},{('Yes', 'yes', 'no')[i % 3]}\n" for i in range(24))
    said = words(client.drop("long.csv", "item,annotator,label\n" + long))
    assert "Run assay look long.csv --browser --label-spelling merge if they are the same, or run" in said


@pytest.mark.slow
def test_scale_of_a_file_that_is_not_readable_yet_is_set(client: Client) -> None:
    apart = "".join(f"q{i},{1 + i % 5},{10 * (i % 10)}\n" for i in range(24))
    client.drop("apart.csv", "ID,Ann,Bob\n" + apart)
    html = client.do("scale", file="apart.csv", scale="interval:0-90")
    answer = next(unescape(one) for one in re.findall(r'name="answer" value="(.*?)"', html))
    said = words(client.do("answer", file="apart.csv", answer=answer))
    assert "48 labels, 24 items, 2 humans, 0 judges, interval:0-90" in said


@pytest.mark.slow
def test_ignored_item_of_a_table_with_one_row_per_annotator_is_ignored(client: Client) -> None:
    rows = "".join(f"ann{i},{','.join(str(1 + (3 * i + j * j) % 5) for j in range(9))}\n" for i in range(3))
    client.drop("form.csv", f"annotator,{','.join(f'q{j}' for j in range(9))}\n" + rows)
    html = client.do("role", file="form.csv", column="q1", role="computed")
    assert (roles(html)["q0"], roles(html)["q1"]) == ("item id", "computed (ignored)")
    assert "24 labels, 8 items, 3 humans" in words(html)
    html = client.do("role", file="form.csv", column="q1", role="item")
    assert (roles(html)["q1"], "27 labels, 9 items" in words(html)) == ("item id", True)
