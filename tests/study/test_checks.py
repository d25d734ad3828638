"""The problems that prevent collecting labels, in words; signatures of files; addresses that a browser can load."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')

from assay.errors import StudyError
from assay.study import checks
from assay.study.definition import load_study
from assay.study.items import Item

HEADS = {
    "image/png": b"\x89PNG\r\n", "image/jpeg": b"\xff\xd8\xff\xe0", "image/gif": b"GIF89a", "image/bmp": b"BM..",
    "image/webp": b"RIFF....WEBP", "image/avif": b"....ftypavif", "audio/aac": b"\xff\xf1.", "audio/ogg": b"OggS",
    "audio/mpeg": b"\xff\xfb.", "audio/mp4": b"\n\n\n\nftypM4A", "audio/wav": b"RIFF....WAVE", "audio/flac": b"fLaC",
    "audio/webm": b"\x1a\x45\xdf\xa3", "video/webm": b"\x1a\x45\xdf\xa3", "video/ogg": b"OggS",
    "video/mp4": b"....ftypisom", "text/vtt": b"\xef\xbb\xbfWEBVTT\n",
}  # fmt: skip
ALSO = [
    *(("audio/mpeg", b"ID3."), ("audio/aac", b"ID3."), ("audio/flac", b"ID3."), ("text/vtt", b"WEBVTT")),
    *(("audio/mpeg", b"\xff\xe2"), ("audio/aac", b"\xff\xf0"), ("audio/aac", b"\xff\xf8"), ("audio/aac", b"\xff\xf9")),
]
NOT = [("audio/mpeg", b"\xff\xe1"), ("audio/aac", b"\xff\xf2"), ("text/vtt", b"WEBVTTX"), ("image/png", b"PNG")]


def test_file_begins_as_its_kind_says(tmp_path: Path) -> None:
    assert set(HEADS) == set(checks._BEGINS)
    for kind, head in [*HEADS.items(), *ALSO]:
        (tmp_path / "file").write_bytes(head)
        assert checks._is_of_kind(tmp_path / "file", kind), (kind, head)
        (tmp_path / "file").write_bytes(b" " + head)
        assert not checks._is_of_kind(tmp_path / "file", kind) or b"...." in head, (kind, head)
    for kind, head in NOT:
        (tmp_path / "file").write_bytes(head)
        assert not checks._is_of_kind(tmp_path / "file", kind), (kind, head)


def test_kinds_that_are_shown() -> None:
    assert set(checks.IMAGES.values()) | set(checks.MEDIA.values()) | set(checks.CAPTIONS.values()) == set(HEADS)
    of = [checks.media_kind(name) for name in ("a.MP3", "https://x.org/b.webm?c=1", "https://x.org/?c=a.mp3", "a.png")]
    assert of == ["audio/mpeg", "video/webm", None, None]


@pytest.mark.parametrize(
    ("address", "may"),
    [
        ("https://cdn.org/a.mp3", True), ("https://CDN.org/a.mp3", True), ("http://cdn.org/a.mp3", False),
        ("https://other.org/a.mp3", False), ("https://cdn.org:8080/a.mp3", False), ("https://[cdn.org/a.mp3", False),
    ],
)  # fmt: skip
def test_allowed_media_addresses(address: str, may: bool) -> None:
    assert checks.is_allowed_address(address, ["cdn.org"]) is may


def study_of(folder: Path, rows: Sequence[str], **content: Any) -> Any:
    asked = {"questions": [{"name": "q", "text": "How good?", "scale": "1-5"}]} | content
    (folder / "study.yaml").write_text(yaml.safe_dump({"items": {"file": "items.csv"}} | asked, sort_keys=False))
    (folder / "items.csv").write_text("\n".join(rows) + "\n")
    return load_study(folder)


def problems(study: Any, fields: Sequence[dict[str, Any]], **how: Any) -> list[str]:
    items = [("item", Item(f"i{number}", None, one)) for number, one in enumerate(fields)]
    try:
        checks.refuse_unaskable(study, study.config.questions, items, **({"page": False} | how))
    except StudyError as error:
        return [line.removeprefix(f"{study.folder}/study.yaml: ") for line in str(error).splitlines()]
    return []


def test_five_problems_are_said_and_the_rest_counted(tmp_path: Path) -> None:
    part = {"file": "items.csv", "images": ["photo"]}
    study = study_of(tmp_path, ["item,text,photo", "i0,a,x.png"], items=part)
    gone = [{"text": "a", "photo": f"{n}.png"} for n in range(7)]
    why = "does not exist, or is outside the study folder; give its path relative to study.yaml"
    words = [f"the image '{n}.png' of item 'i{n}' (column 'photo') {why}" for n in range(5)]
    assert problems(study, gone[:5], page=True) == words
    assert problems(study, gone[:6], page=True) == [*words, "and 1 more"]
    assert problems(study, gone, page=True) == [*words, "and 2 more"]
    assert problems(study, gone) == []
    assert problems(study, [{"text": "a", "photo": ""}, {"text": "b"}], page=True) == []
    (tmp_path / "0.png").write_bytes(b"")
    assert problems(study, gone[:1], page=True) == [
        "the image '0.png' of item 'i0' (column 'photo') is an empty file; it would not be seen"
    ]


def test_show_is_needed_where_there_is_a_choice(tmp_path: Path) -> None:
    one, two = [{"text": "a"}], [{"text": "a", "topic": "b"}]
    study = study_of(tmp_path, ["item,text,topic", "i0,a,b"])
    must = (
        "question 'q' requires 'show', the columns that {}, because others can reveal the author of a text; "
        "the items have text, topic (show: [text] for one alone)"
    )
    assert problems(study, one) == []
    assert problems(study, two) == [must.format("judges are sent")]
    assert problems(study, two, page=True) == [must.format("people see")]
    asked = {"name": "q", "text": "Which?", "scale": "preference", "options": ["a", "b"]}
    pairs = study_of(tmp_path, ["item,a,b,topic", "i0,x,y,z"], questions=[asked])
    both = {"a": "x", "b": "y"}
    assert problems(pairs, [both]) == []
    assert problems(pairs, [both | {"topic": "z"}]) == [
        "question 'q' requires 'show', the columns that judges are sent, because others can reveal the author of a "
        "text; the items have topic (show: [] for the options alone)"
    ]
    assert problems(pairs, [{"a": "x"}]) == ["'q' shows the column 'b', which no item has"]
    varied = study_of(tmp_path, ["item,text,topic", "i0,a,b"], conditions={"show": {"bare": ["text", "gone"]}})
    assert problems(varied, two) == ["conditions.show: 'bare' shows the column 'gone', which no item has"]


def test_recordings_are_for_people_and_programs(tmp_path: Path) -> None:
    part = {"file": "items.csv", "media": ["clip"]}
    asked = [{"name": "q", "text": "?", "scale": "1-5", "show": ["clip"]}]
    model = {"name": "m", "provider": "openai", "model": "gpt"}
    recorded = {"name": "old", "provider": "recorded", "file": "replies.jsonl"}
    program = {"name": "mine", "provider": "python", "model": "judge:rate"}
    words = (
        "'q' shows 'clip', a recording, which {} cannot be sent; give judges a column with its words alone, as with "
        "conditions: {{show: {{words: [transcript]}}}}, or ask a function of yours, which is given the path "
        "(provider: python)"
    )
    (tmp_path / "judge.py").write_text("def rate(item):\n    return 1\n")
    (tmp_path / "replies.jsonl").write_text("")
    for judges, wanted in (
        ([recorded, program], []), ([model, recorded], [words.format("m")]),
        ([model, model | {"name": "n"}], [words.format("m, n")]),
    ):  # fmt: skip
        study = study_of(tmp_path, ["item,clip", "i0,a.mp3"], items=part, questions=asked, judges=judges)
        assert problems(study, [{"clip": "a.mp3"}], models=True) == wanted
        assert problems(study, [{"clip": "a.mp3"}]) == []


def test_page_problems(tmp_path: Path) -> None:
    question = {"name": "q", "text": "Which?", "scale": "nominal:a,b"}
    study = study_of(tmp_path, ["item,text", "i0,a"], questions=[question], conditions={"scale": ["1-5", "0-100"]})
    with pytest.raises(StudyError, match=r"conditions\.scale makes a session for each scale, but q is not answered"):
        checks.refuse_unaskable(study, study.config.questions, [], page=True)


def test_spans_are_marked_in_texts(tmp_path: Path) -> None:
    question = {"name": "q", "text": "Mark.", "scale": "spans:a,b", "of": "text"}
    study = study_of(tmp_path, ["item,text", "i0,a"], questions=[question])
    assert problems(study, [{"text": ["a"]}, {"text": {"a": 1}}, {"text": "a"}, {"text": 1}]) == [
        "item 'i0': 'q' marks spans in 'text', which holds no text",
        "item 'i1': 'q' marks spans in 'text', which holds no text",
    ]
    asked = study.config.questions[0]
    assert [asked.marked_text(one) for one in ({"text": "a"}, {"text": None}, {}, {"text": 1})] == ["a", "", "", "1"]
