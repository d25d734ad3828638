"""Recordings and captions: delivery in parts, refused files, and permitted hosts."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import pytest
import yaml
from annotating import STARS, Served, write_study

from assay.errors import StudyError
from assay.judging.plan import Plan
from assay.study.definition import load_study
from assay.study.store.connection import open_store
from assay.study.store.intake import sync_study

VTT = "WEBVTT\n\n00:00.000 --> 00:30.000\nHello.\n"


def sound(seconds: float = 0.2, rate: int = 8000) -> bytes:
    """A WAV of silence."""
    data = bytes([128]) * int(seconds * rate)
    form = struct.pack("<IHHIIHH", 16, 1, 1, rate, rate, 1, 8)
    return (
        b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + form + b"data" + struct.pack("<I", len(data)) + data
    )


def study_of(folder: Path, rows: list[dict[str, Any]], **items: Any) -> Path:
    """A study of clips with captions, with files of all kinds."""
    judges = items.pop("judges", [])
    show = items.pop("show", ["clip"])
    more = {"conditions": items.pop("conditions")} if "conditions" in items else {}
    write_study(
        folder, items=rows, questions=[{**STARS, "show": show}], people={"order": "fixed"}, judges=judges, **more
    )
    path = folder / "study.yaml"
    content = yaml.safe_load(path.read_text())
    content["items"] |= {"media": {"clip": "said"}} | items
    path.write_text(yaml.safe_dump(content))
    files = {"a.wav": sound(), "a.vtt": VTT.encode(), "empty.mp3": b"", "text.mp3": b"no sound at all", "a.srt": b"1\n"}
    files |= {"film.mp4": b"\0\0\0\x18ftypisom", "film.webm": b"\x1a\x45\xdf\xa3", "page.vtt": b"<html>"}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def test_recording_is_served_in_parts_to_its_person_only(tmp_path: Path) -> None:
    rows = [{"item": "i1", "clip": "a.wav", "said": "a.vtt"}, {"item": "i2", "clip": "film.webm", "said": ""}]
    with Served(study_of(tmp_path / "s", rows), ["ana", "ben"]) as page:
        ana = page.annotator("ana")
        one, two = ana.pages()[0]
        html = ana.send("GET", "/work").text
        found = re.search(
            r'<audio class="recording" src="([^"]+)" controls [^>]*><track kind="captions" src="([^"]+)"', html
        )
        assert found
        address, captions = found.groups()
        assert "a.wav" not in html
        assert "a.vtt" not in html, "file names can reveal their author"
        reply = ana.send("GET", address)
        assert (reply.status, reply.body, reply.headers["content-type"]) == (200, sound(), "audio/wav")
        part = ana.send("GET", address, headers={"Range": "bytes=44-47"})
        assert (part.status, part.body) == (206, sound()[44:48])
        assert part.headers["content-range"] == f"bytes 44-47/{len(sound())}"
        assert ana.send("GET", address, headers={"Range": "bytes=99999-"}).status == 416
        assert "file" not in part.headers.get("content-disposition", "")
        words = ana.send("GET", captions)
        assert (words.text, words.headers["content-type"].split(";")[0]) == (VTT, "text/vtt")
        assert "media-src 'self';" in words.headers["content-security-policy"]
        second = ana.send("GET", f"/work/{two.page}").text
        assert f'<video class="recording" src="/images/{two.id}/0" controls' in second
        assert ana.send("GET", f"/images/{two.id}/0").headers["content-type"] == "video/webm"
        assert ana.send("GET", f"/images/{two.id}/1").status == 404
        assert page.annotator("ben").send("GET", f"/images/{one.id}/0").status == 404


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"clip": "empty.mp3"}, "the recording 'empty.mp3' of item 'i1' (column 'clip') is an empty file; it would"),
        ({"clip": "text.mp3"}, "is no MP3 inside; it would not be heard or seen"),
        ({"clip": "a.avi"}, "is not of a kind that the page shows (mp3, m4a, aac, ogg, oga, opus, wav, flac"),
        ({"clip": "../a.wav"}, "does not exist, or is outside the study folder"),
        ({"clip": "https://cdn.example.org/a.mp3"}, "with media_hosts: [cdn.example.org] and https"),
        ({"clip": "a.wav", "said": "a.srt"}, "captions 'a.srt' of item 'i1' (column 'said') is not of a kind"),
        ({"clip": "a.wav", "said": "page.vtt"}, "is no VTT inside; it would not be seen"),
        ({"clip": "a.wav", "said": "https://cdn.example.org/a.vtt"}, "is on another host; the page loads files from"),
    ],
)  # fmt: skip
def test_unplayable_media_are_refused(tmp_path: Path, row: dict[str, str], why: str) -> None:
    (tmp_path / "a.wav").write_bytes(sound())
    folder = study_of(tmp_path / "s", [{"item": "i1", "said": "", **row}])
    with pytest.raises(StudyError, match=re.escape(why)):
        Served(folder)


def test_policy_permits_recordings_from_hosts_of_the_study_only(tmp_path: Path) -> None:
    address = "https://cdn.example.org/clips/a.mp4?v=1"
    rows = [{"item": "i1", "clip": address, "said": "a.vtt"}]
    with Served(study_of(tmp_path / "s", rows, media_hosts=["cdn.example.org"])) as page:
        reply = page.annotator().send("GET", "/work")
        assert f'src="{address}"' in reply.text
        assert "media-src 'self' https://cdn.example.org;" in reply.headers["content-security-policy"]
    for other in (
        "http://cdn.example.org/a.mp4",
        "https://cdn.example.org.evil.org/a.mp4",
        "https://a@cdn.example.org/a.mp4",
    ):
        with pytest.raises(StudyError, match="is on another host, and the page loads files from this server only"):
            Served(study_of(tmp_path / "t", [{**rows[0], "clip": other}], media_hosts=["cdn.example.org"]))
    with pytest.raises(StudyError, match="is not of a kind that the page shows"):
        Served(
            study_of(
                tmp_path / "u", [{**rows[0], "clip": address.replace("mp4", "m3u8")}], media_hosts=["cdn.example.org"]
            )
        )


@pytest.mark.parametrize(
    ("items", "why"),
    [
        ({"images": ["clip"]}, "items.media[0]: 'clip' is also listed in images"),
        ({"markdown": ["said"]}, "items.markdown[0]: 'said' holds a file, not text"),
        ({"show": ["clip", "said"]}, "questions[0]: shows 'said', which holds captions"),
        ({"media_hosts": ["https://a.org/"]}, "items.media_hosts: 'https://a.org/' is not a host; write it without"),
    ],
)  # fmt: skip
def test_columns_with_two_roles_are_refused(tmp_path: Path, items: dict[str, Any], why: str) -> None:
    folder = study_of(tmp_path / "s", [{"item": "i1", "clip": "a.wav", "said": "a.vtt"}], **items)
    with pytest.raises(StudyError) as error:
        load_study(folder)
    assert why in str(error.value)


@pytest.mark.slow
def test_model_gets_no_recording_and_function_gets_its_path(tmp_path: Path) -> None:
    model = {"name": "gpt", "model": "gpt-4o-mini"}
    own = {"name": "own", "provider": "python", "model": "hear.py:hear"}
    rows = [{"item": "i1", "clip": "a.wav", "said": "a.vtt", "words": "Hello."}]

    def plan(name: str, **about: Any) -> None:
        study = load_study(study_of(tmp_path / name, rows, **about))
        (study.folder / "hear.py").write_text("def hear(item):\n    return 1\n")
        with open_store(study) as store:
            sync_study(store, study)
            Plan(study, store)._refuse_unaskable()

    with pytest.raises(StudyError, match=r"'stars' shows 'clip', a recording, which gpt cannot be sent; give judges a"):
        plan("a", judges=[model, own])
    plan("b", judges=[own])
    plan("c", judges=[model], conditions={"show": {"words": ["words"]}})
    with Served(tmp_path / "a") as page:  # annotators hear the recording; models do not get it
        assert "<audio" in page.annotator().send("GET", "/work").text
