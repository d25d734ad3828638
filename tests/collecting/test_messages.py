"""Messages of the study lead: who receives them, replies to comments, the record, and erasure."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from annotating import Annotator, Served, write_study

from assay.study.store.people import erase

STARS = {"name": "stars", "text": "How many stars?", "scale": "1-5"}


@pytest.fixture
def page(tmp_path: Path):
    rows = [{"item": f"r{n}", "review": f"Text {n}"} for n in range(4)]
    folder = write_study(tmp_path / "study", items=rows, questions=[STARS], people={"order": "fixed"})
    with Served(folder, ("ana", "ben")) as served:
        yield served


def received(person: Annotator) -> list[tuple[str | None, str]]:
    """The messages in a response to the page's script."""
    reply = person.send("GET", "/pages?after=0")
    return [(one["about"], one["words"]) for one in reply.json()["messages"]]


def on_page(person: Annotator) -> list[dict[str, Any]]:
    """The messages in the page itself."""
    html = person.send("GET", "/work").text
    (found,) = re.findall(r'data-messages="([^"]*)"', html)
    return list(json.loads(found.replace("&#34;", '"').replace("&#39;", "'").replace("&amp;", "&")))


@pytest.mark.slow
def test_message_to_all_reaches_those_who_are_invited(page: Served) -> None:
    ana, lead = page.annotator("ana"), page.lead()
    lead.form("/lead/messages", words="  Rate the service only, not the food. ")
    assert received(ana) == [(None, "Rate the service only, not the food.")]
    assert [one["words"] for one in on_page(ana)] == ["Rate the service only, not the food."]
    assert "Rate the service only, not the food." in lead.send("GET", "/lead").text
    lead.form("/lead/people", name="cem")
    assert received(page.annotator("cem")) == []


@pytest.mark.slow
def test_reply_reaches_one_annotator_with_their_comment(page: Served) -> None:
    ana, ben, lead = page.annotator("ana"), page.annotator("ben"), page.lead()
    (task,) = ana.work(1)[:1]
    assert ana.answer(task, {task.questions[0].id: 3}, comment="Is <sarcasm> negative?").status == 200
    assert 'name="about" value="Is &lt;sarcasm&gt; negative?"' in lead.send("GET", "/lead").text
    lead.form("/lead/messages", name="ana", item="r0", about="Is <sarcasm> negative?", words="Yes.", back="person")
    assert received(ana) == [("Is <sarcasm> negative?", "Yes.")]
    assert received(ben) == []
    sheet = lead.send("GET", "/lead/person?name=ana").text
    assert "To “Is &lt;sarcasm&gt; negative?”" in sheet
    assert "Yes." in sheet


def test_messages_are_in_the_record_of_those_who_received_them(page: Served) -> None:
    lead = page.lead()
    lead.form("/lead/messages", words="To all.")
    lead.form("/lead/messages", name="ana", words="To Ana.")

    def recorded(path: str) -> list[tuple[str | None, str]]:
        with zipfile.ZipFile(io.BytesIO(lead.send("GET", path).body)) as file:
            rows = [json.loads(line) for line in file.read("messages.jsonl").decode().splitlines()]
        return [(row["person"], row["words"]) for row in rows]

    assert recorded("/lead/answers.zip") == [(None, "To all."), ("ana", "To Ana.")]
    assert recorded("/lead/person.zip?name=ben") == [(None, "To all.")]
    erase(page.store, "ana")
    assert recorded("/lead/answers.zip") == [(None, "To all.")]


@pytest.mark.parametrize(
    ("fields", "words"),
    [({"words": "   "}, "The message is empty."), ({"words": "Hello", "name": "zoe"}, "no annotator is called")],
)
def test_message_without_words_or_to_nobody_is_refused(page: Served, fields: dict[str, str], words: str) -> None:
    reply = page.lead().form("/lead/messages", **fields)
    assert reply.status == 422
    assert words in reply.text


def test_only_the_lead_writes(page: Served) -> None:
    assert page.annotator("ana").form("/lead/messages", words="Hello").status in (401, 403)
