"""What cannot be asked as the study stands: looked for before judges are paid, and before a page opens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from assay.errors import StudyError, listing
from assay.study.definition import MOST_PROBLEMS, Study
from assay.study.items import Item, file_within
from assay.study.schema import PAIR, PAIR_ABOUT, Question, scale_of

REMOTE = ("http://", "https://", "//")

IMAGES = {
    **{".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif"},
    **{".webp": "image/webp", ".avif": "image/avif", ".bmp": "image/bmp"},
}
"""Kinds of images that cannot hold a script, by the end of the file's name."""

_BEGINS = {
    **{"image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8\xff", "image/gif": b"GIF8", "image/bmp": b"BM"},
    **{"image/webp": b"RIFF....WEBP", "image/avif": b"....ftyp"},
}
"""How a file of each kind begins; a dot is any byte."""


def is_image(path: Path) -> bool:
    """Whether a file begins as an image of the kind that its name says."""
    begins = _BEGINS[IMAGES[path.suffix.lower()]]
    with path.open("rb") as file:
        found = file.read(len(begins))
    return len(found) == len(begins) and all(b in (a, ord(".")) for a, b in zip(found, begins, strict=True))


def refuse_unaskable(study: Study, asked: Iterable[Question], items: Iterable[tuple[str, Item]], *, page: bool) -> None:
    """Say all that stands in the way of asking, at once.

    Parameters
    ----------
    asked : iterable of Question
        What judges, or people, are asked.
    items : iterable of (role, Item)
        What is shown, and for what: "item", "source", "check", "warm-up".
    page : bool
        Whether people will be asked on a page, which shows less than a model can be sent. A study that says how people
        are asked (``people:``) is held to it before its judges are paid: what a page needs changes what they are sent.

    Raises
    ------
    StudyError
    """
    where = f"{study.folder}/study.yaml"
    columns: dict[str, None] = {}
    found: list[str] = []
    for role, item in items:
        columns |= dict.fromkeys(item.fields) if role in ("item", "source") else {}
        found += _image_problems(study, item) if page else []
    if study.systems:
        columns |= dict.fromkeys((*PAIR, *PAIR_ABOUT))
    questions = list(asked)
    found += _column_problems(study, questions, columns, page=page)
    found += _page_problems(study, questions) if page else []
    if found:
        more = [f"and {len(found) - MOST_PROBLEMS} more"] if len(found) > MOST_PROBLEMS else []
        raise StudyError("\n".join([*(f"{where}: {one}" for one in found[:MOST_PROBLEMS]), *more]))


def _column_problems(
    study: Study, questions: Iterable[Question], columns: Mapping[str, None], *, page: bool
) -> Iterator[str]:
    """Columns that are not there, and those of which nobody has said whether they are shown."""
    part, varied = study.config.items, study.config.conditions.show
    compared = {one.outputs_of for one in study.config.questions}
    for one in questions:
        named = (*(one.choices if one.outputs_of else one.options), *(one.show or ()))
        for column in dict.fromkeys(named):
            if column not in columns:
                yield f"'{one.name}' shows the column '{column}', which no item has"
        never = (*one.options, *one.choices, *part.images, *([part.document] if part.document else []))
        written = (*PAIR, *PAIR_ABOUT) if study.systems else ()
        rest = [c for c in columns if c not in (*never, *written)]
        by_condition = bool(varied) and not page
        if one.show is None and not by_condition and len(rest) > (0 if one.options else 1):
            who = "systems are sent" if one.name in compared else "people see" if page else "judges are sent"
            yield (
                f"question '{one.name}' must say with 'show' which columns {who}, so that none tells who wrote a text; "
                f"the items have {listing(rest)} "
                + ("(show: [] for none beside the options)" if one.options else f"(show: [{rest[0]}] for one alone)")
            )
    for name, shown in varied.items():
        for column in shown:
            if column not in columns:
                yield f"conditions.show: '{name}' shows the column '{column}', which no item has"


def _page_problems(study: Study, questions: Iterable[Question]) -> Iterator[str]:
    """What a model can be asked and a page cannot."""
    compared = {one.outputs_of for one in study.config.questions}
    on_page = [one for one in questions if one.name not in compared]
    not_numbers = [one.name for one in on_page if not scale_of(one.scale).numeric]
    if study.config.conditions.scale and not_numbers:
        yield (
            f"conditions.scale makes a session for each scale, but {listing(not_numbers)} "
            "is not answered with a number; ask it in a study of its own"
        )
    for one in on_page:
        if one.meanings and one.kind.places:
            yield (
                f"'{one.name}' has meanings, which the page has no place for on the scale '{one.scale}': "
                "its answers are the options themselves; say it in guidelines"
            )


def _is_no_image(path: Path) -> str:
    return "an empty file" if not path.stat().st_size else f"no {path.suffix.removeprefix('.').upper()} inside"


def _image_problems(study: Study, item: Item) -> Iterator[str]:
    """Images that nobody would see."""
    for column in study.config.items.images:
        name = str(item.fields.get(column) or "")
        why, inside = None, file_within(study.folder, name) if name and not name.startswith(REMOTE) else None
        if name.startswith(REMOTE):
            why = "is elsewhere; the page asks nobody but this server, so put it beside study.yaml"
        elif name and Path(name).suffix.lower() not in IMAGES:
            kinds = listing([kind.removeprefix(".") for kind in IMAGES])
            why = f"is not of a kind that the page shows ({kinds}); an SVG may hold a script, so save it as PNG"
        elif name and inside is None:
            why = "is not there, or not within the study's folder; give its path from study.yaml on"
        elif inside is not None and not is_image(inside):
            why = f"is {_is_no_image(inside)}; nobody would see anything"
        if why is not None:
            yield f"the image '{name}' of item '{item.name}' (column '{column}') {why}"
