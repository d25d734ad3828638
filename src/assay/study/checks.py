"""Problems of a study that prevent collecting labels: found before judges are paid for, and before a page opens."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from assay.errors import StudyError, listing
from assay.study.definition import MOST_PROBLEMS, Study
from assay.study.items import Item, file_within
from assay.study.schema import OUTPUT_ABOUT, PAIR, PAIR_ABOUT, Question, role_of, scale_of

REMOTE = ("http://", "https://", "//")

IMAGES = {
    **{".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif"},
    **{".webp": "image/webp", ".avif": "image/avif", ".bmp": "image/bmp"},
}
"""Kinds of images that cannot hold a script, by the end of the file's name."""

MEDIA = {
    **{".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".aac": "audio/aac", ".ogg": "audio/ogg", ".oga": "audio/ogg"},
    **{".opus": "audio/ogg", ".wav": "audio/wav", ".flac": "audio/flac", ".weba": "audio/webm"},
    **{".mp4": "video/mp4", ".m4v": "video/mp4", ".webm": "video/webm", ".ogv": "video/ogg"},
}
"""Kinds of audio and video that browsers play, by the end of the file's name."""

CAPTIONS = {".vtt": "text/vtt"}
"""Kinds of captions."""

_BEGINS = {
    **{"image/png": rb"\x89PNG", "image/jpeg": rb"\xff\xd8\xff", "image/gif": rb"GIF8", "image/bmp": rb"BM"},
    **{"image/webp": rb"RIFF.{4}WEBP", "image/avif": rb".{4}ftyp"},
    **{"audio/mpeg": rb"ID3|\xff[\xe2-\xfb]", "audio/aac": rb"ID3|\xff[\xf0\xf1\xf8\xf9]", "audio/ogg": rb"OggS"},
    **{"audio/mp4": rb".{4}ftyp", "audio/wav": rb"RIFF.{4}WAVE", "audio/flac": rb"fLaC|ID3"},
    **{"audio/webm": rb"\x1a\x45\xdf\xa3", "video/webm": rb"\x1a\x45\xdf\xa3", "video/ogg": rb"OggS"},
    **{"video/mp4": rb".{4}ftyp", "text/vtt": rb"(?:\xef\xbb\xbf)?WEBVTT(?:\s|$)"},
}
"""How a file of each kind begins."""


def image_kind(begin: bytes) -> str | None:
    """The type of an image by its first bytes; None for anything else."""
    kinds = {kind: pattern for kind, pattern in _BEGINS.items() if kind.startswith("image/")}
    kinds["image/avif"] = rb".{4}ftypavi[fs]"  # other films begin with ftyp as well
    return next((kind for kind, pattern in kinds.items() if re.match(pattern, begin, re.DOTALL)), None)


def _is_of_kind(path: Path, kind: str) -> bool:
    """Whether a file begins as one of the kind that its name says."""
    with path.open("rb") as file:
        return re.match(_BEGINS[kind], file.read(16), re.DOTALL) is not None


def refuse_unaskable(
    study: Study, asked: Iterable[Question], items: Iterable[tuple[str, Item]], *, page: bool, models: bool = False
) -> None:
    """Raise one error with every problem that prevents collecting labels.

    Parameters
    ----------
    asked : iterable of Question
        The questions for judges, or for annotators.
    items : iterable of (role, Item)
        The displayed items, and their role: "item", "source", "check", "warm-up".
    page : bool
        Whether annotators will answer on a page, which can display less than a prompt. A study with ``people:`` is
        checked for the page before its judges are paid for, because changes for the page change the requests.
    models : bool
        Whether judges are about to be asked.

    Raises
    ------
    StudyError
    """
    where = f"{study.folder}/study.yaml"
    columns: dict[str, None] = {}
    found: list[str] = []
    questions = list(asked)
    for role, item in items:
        found += _unmarkable(questions, item)
        columns |= dict.fromkeys(item.fields) if role in ("item", "source") else {}
        found += _file_problems(study, item) if page else []
    found += _column_problems(study, questions, columns, page=page)
    found += _page_problems(study, questions) if page else []
    found += _unsendable(study, questions, columns) if models else []
    if found:
        more = [f"and {len(found) - MOST_PROBLEMS} more"] if len(found) > MOST_PROBLEMS else []
        raise StudyError("\n".join([*(f"{where}: {one}" for one in found[:MOST_PROBLEMS]), *more]))


def _column_problems(
    study: Study, questions: Iterable[Question], columns: Mapping[str, None], *, page: bool
) -> Iterator[str]:
    """Find columns that do not exist, and columns that the study neither shows nor hides."""
    part, varied, written = study.config.items, study.config.conditions.show, study.config.written
    for one in questions:
        made = _made_columns(one, written)
        named = (*(one.choices if one.outputs_of else one.options), *(one.show or ()), *_marked_column(one))
        for column in dict.fromkeys(named):
            if column not in columns and column not in made:
                yield f"'{one.name}' shows the column '{column}', which no item has"
            elif column in OUTPUT_ABOUT and column in made:
                yield f"'{one.name}' shows the column '{column}', which names the author of a text; remove it"
        never = (*one.options, *one.choices, *_marked_column(one), *part.images, *part.media, *part.hidden)
        rest = [c for c in columns if c not in (*never, *made)]
        by_condition = bool(varied) and not page
        if one.show is None and not by_condition and len(rest) > (0 if one.options or one.of else 1):
            who = "systems are sent" if one.name == written else "people see" if page else "judges are sent"
            yield (
                f"question '{one.name}' requires 'show', the columns that {who}, because others can reveal the author "
                f"of a text; the items have {listing(rest)} "
                + ("(show: [] for the options alone)" if one.options else f"(show: [{rest[0]}] for one alone)")
            )
    every = {column for one in questions for column in _made_columns(one, written) if column not in OUTPUT_ABOUT}
    for name, shown in varied.items():
        for column in shown:
            if column not in columns and column not in every:
                yield f"conditions.show: '{name}' shows the column '{column}', which no item has"


def _made_columns(question: Question, written: str | None) -> tuple[str, ...]:
    """Return the columns that items get from the outputs of systems: those of a pair, or of one output."""
    if question.outputs_of is not None:
        return (*PAIR, *PAIR_ABOUT)
    is_about = written is not None and (role_of(question, written) == "output" or question.drawn_from == written)
    return (str(written), *OUTPUT_ABOUT) if is_about else ()


def _unmarkable(questions: Iterable[Question], item: Item) -> Iterator[str]:
    """Lists and objects where spans are marked in a text."""
    for one in questions:
        value = item.fields.get(one.marked or "")
        if isinstance(value, list | dict):
            yield f"item '{item.name}': '{one.name}' marks spans in '{one.marked}', which holds no text"


def _marked_column(question: Question) -> tuple[str, ...]:
    return () if question.marked is None else (question.marked,)


def _unsendable(study: Study, questions: Iterable[Question], columns: Mapping[str, None]) -> Iterator[str]:
    """Recordings before judges that are models: no provider of assay's is sent one."""
    part, varied = study.config.items, study.config.conditions.show
    models = [one.name for one in study.judges if not one.is_program and one.provider != "recorded"]
    for one in questions if models else ():
        by_condition = [column for some in varied.values() for column in some]
        shown = {*(by_condition if varied else one.shown_columns(columns, part.hidden)), *one.options}
        for column in (c for c in part.media if c in shown):
            yield (
                f"'{one.name}' shows '{column}', a recording, which {listing(models)} cannot be sent; give judges a "
                "column with its words alone, as with conditions: {show: {words: [transcript]}}, or ask a function of "
                "yours, which is given the path (provider: python)"
            )


def _page_problems(study: Study, questions: Iterable[Question]) -> Iterator[str]:
    """Find questions that a model can answer and a page cannot ask."""
    on_page = [one for one in questions if one.name != study.config.written]
    parts = [role_of(one, study.config.written) for one in on_page if scale_of(one.scale).numeric]
    not_numbers = [
        one.name for one in on_page
        if not scale_of(one.scale).numeric and (not parts or role_of(one, study.config.written) in parts)
    ]  # fmt: skip
    if study.config.conditions.scale and not_numbers:
        yield (
            f"conditions.scale makes a session for each scale, but {listing(not_numbers)} "
            "is not answered with a number; ask it in a separate study"
        )
    for one in on_page:
        if one.meanings and one.kind.places:
            yield (
                f"'{one.name}' has meanings, which the page has no place for on the scale '{one.scale}': "
                "its answers are the options themselves; say it in guidelines"
            )


@dataclass(frozen=True)
class _FileKind:
    """The files that a column of items can name: the name of the kind, the accepted files, the fix for others."""

    name: str
    kinds: Mapping[str, str]
    remedy: str


_IMAGE = _FileKind("image", IMAGES, "an SVG may hold a script, so save it as PNG")
_MEDIUM = _FileKind("recording", MEDIA, "convert it, as with ffmpeg")
_CAPTION = _FileKind("file of captions", CAPTIONS, "write it as WebVTT")


def _file_problems(study: Study, item: Item) -> Iterator[str]:
    """Find images, recordings and captions that would not be displayed."""
    part = study.config.items
    columns = [(c, _IMAGE) for c in part.images] + [(c, _MEDIUM) for c in part.media]
    for column, of in [*columns, *((c, _CAPTION) for c in part.captions.values())]:
        name = str(item.fields.get(column) or "")
        why = _why_unseen(study, name, of) if name else None
        if why is not None:
            yield f"the {of.name} '{name}' of item '{item.name}' (column '{column}') {why}"


def picture_problem(study: Study, name: str) -> str | None:
    """Return why the annotation page would not show a picture of the study folder; None if it would."""
    return _why_unseen(study, name, _IMAGE)


def _why_unseen(study: Study, name: str, of: _FileKind) -> str | None:
    """Return the reason why a file of an item would not be displayed; None if it would."""
    end = Path(name).suffix.lower()
    if name.startswith(REMOTE):
        hosts = study.config.items.media_hosts
        if of is not _MEDIUM:
            return "is on another host; the page loads files from this server only, so put it next to study.yaml"
        if is_allowed_address(name, hosts):
            return None if media_kind(name) else _other_kind(of)
        return (
            "is on another host, and the page loads files from this server only: put it next to study.yaml, or allow "
            "browsers to load it, which reveals them to the host, with "
            f"media_hosts: [{urlsplit(name).netloc or 'HOST'}] and https"
        )
    if end not in of.kinds:
        return _other_kind(of)
    inside = file_within(study.folder, name)
    if inside is None:
        return "does not exist, or is outside the study folder; give its path relative to study.yaml"
    if _is_of_kind(inside, of.kinds[end]):
        return None
    found = "an empty file" if not inside.stat().st_size else f"no {end.removeprefix('.').upper()} inside"
    return f"is {found}; it would not be {'heard or seen' if of is _MEDIUM else 'seen'}"


def _other_kind(of: _FileKind) -> str:
    kinds = listing([kind.removeprefix(".") for kind in of.kinds], len(of.kinds))
    return f"is not of a kind that the page shows ({kinds}); {of.remedy}"


def media_kind(name: str) -> str | None:
    """The type of an audio or video, by the end of its path or address; None for any other."""
    path = urlsplit(name).path if name.startswith(REMOTE) else name
    return MEDIA.get(Path(path).suffix.lower())


def is_allowed_address(name: str, hosts: Collection[str]) -> bool:
    """Whether browsers may fetch a recording from an address: by https, from a host that the study names."""
    try:
        parts = urlsplit(name)
    except ValueError:
        return False
    return parts.scheme == "https" and parts.netloc.lower() in hosts
