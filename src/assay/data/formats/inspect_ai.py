"""Scores in the logs of Inspect AI: ``.eval`` (a zip) and ``.json``."""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from assay.data.formats import Rows
from assay.data.formats.intake import EMPTY, UNSCORED, Intake, PlatformAnswer, own_id
from assay.data.formats.tables import load_json
from assay.errors import DataError, counted, listing

FAILED = "the sample ended in an error"
ZSTANDARD = 93
JUDGE_KEYS = ("judge_model", "grader_model", "model")
"""Keys of a score's metadata under which scorers name the model that judged."""


BY_RULE = "given by a rule, not by a judge"
RULES = frozenset(("match", "includes", "pattern", "answer", "exact", "f1", "choice", "math", "equals"))
"""Inspect's own scorers that compare an output with a target and ask no model."""


def read_inspect(
    path: Path,
    *,
    item: str | None = None,
    criteria: Sequence[str] | None = None,
    judge: str | Mapping[str, str] | None = None,
    with_model: bool = False,
) -> Rows:
    """The scores that model graders gave to the samples of a log.

    A scorer that gives several values is several criteria (``scorer.aspect``); epochs are repeated answers of
    one judge. Where a person edited a score, the judge's own counts.

    Parameters
    ----------
    item : str
        The key of the sample's metadata that holds your item id; the sample's id when not given.
    criteria : list of str
        The scorers (or ``scorer.aspect``) wanted. Inspect's scorers that follow a rule (``match``, ``includes`` …) are
        no judges and count only where they are named here.
    judge : str or mapping of scorer to str
        Who judged; taken from the log where it says so (scorer's arguments, roles, the score's metadata), else
        the scorer stands for its model.
    with_model : bool
        Name items ``id@model``, to read logs of several evaluated models into one table.
    """
    intake = Intake(path)
    header, samples = _eval(path) if path.suffix.lower() == ".eval" else _json(path)
    spec = header.get("eval") or {}
    graders = _graders(header)
    given = judge if isinstance(judge, Mapping) else {}
    edited = 0
    rules: dict[str, None] = {}
    for sample in samples:
        epochs = int((spec.get("config") or {}).get("epochs") or 1)
        where = f"sample {sample.get('id')}, epoch {sample.get('epoch')}"
        metadata = sample.get("metadata") or {}
        name = own_id(item, metadata, f"{path}, {where}") or str(sample["id"])
        if with_model:
            name = f"{name}@{spec.get('model')}"
        if sample.get("error"):
            intake.exclude(FAILED)
        intake.item(name, _about(sample, metadata, spec))
        for scorer, score in (sample.get("scores") or {}).items():
            history = score.get("history") or []
            changed = any((change or {}).get("provenance") for change in history)
            edited += changed
            own = history[0] if changed else score
            if _is_rule(scorer, own, graders, {*(criteria or ()), *given}):
                intake.exclude(BY_RULE)
                rules.setdefault(scorer)
                continue
            who = judge if isinstance(judge, str) else given.get(scorer) or _judge(scorer, own, graders)
            base = PlatformAnswer(name, who, where, kind="judge", repeat=_epoch(sample, epochs))
            _add(intake, scorer, own.get("value"), base, len(history))
    if rules:
        intake.note(
            f"scorers that follow a rule, not taken as judges: {listing(list(rules))} (criteria=[...] names them)"
        )
    if edited:
        intake.note(f"{counted(edited, 'score')} edited by a person: the judge's own, earlier one counts")
    if header.get("status") != "success":
        intake.note(f"the log's status is '{header.get('status')}': it may hold only part of the samples")
    if criteria is not None:
        seen = {a.criterion: None for a in intake.answers if a.criterion is not None}
        criteria = [c for name in criteria for c in [s for s in seen if s.startswith(f"{name}.")] or [name]]
    return intake.rows(criteria)


def _is_rule(scorer: str, score: Mapping[str, Any], graders: Mapping[str | None, str], named: Collection[str]) -> bool:
    """Whether a score is a rule's: its scorer is known to ask no model, the log names none, and nobody asked for it."""
    name = scorer.rpartition("/")[2]
    asked_for = any(one in (scorer, name) or one.startswith(f"{scorer}.") for one in named)
    return name in RULES and not asked_for and _judge(scorer, score, graders) == scorer


def _add(intake: Intake, scorer: str, value: Any, base: PlatformAnswer, changes: int) -> None:
    """One answer for each value of a score."""
    aspects = value if isinstance(value, dict) else {None: value}
    for aspect, one in aspects.items():
        criterion = scorer if aspect is None else f"{scorer}.{aspect}"
        if isinstance(one, bool):
            one = str(one).lower()
        if one is None or isinstance(one, list | dict) or one == "":
            intake.exclude(EMPTY)
        elif isinstance(one, float) and math.isnan(one):
            intake.exclude(UNSCORED)
        else:
            about = {"edited": changes > 1}
            intake.answers.append(replace(base, label=one, criterion=criterion, about=about))


def _epoch(sample: Mapping[str, Any], epochs: int) -> int | None:
    epoch = int(sample.get("epoch") or 1)
    return epoch if epochs > 1 or epoch > 1 else None


def _about(sample: Mapping[str, Any], metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    output = (sample.get("output") or {}).get("completion")
    plain = {k: v for k, v in metadata.items() if isinstance(v, str | int | float | bool)}
    about = {"input": sample.get("input"), "target": sample.get("target"), "output": output, **plain}
    about["system"] = spec.get("model")
    return {k: v for k, v in about.items() if v is not None}


def _graders(header: Mapping[str, Any]) -> dict[str | None, str]:
    """The model behind each scorer, as far as the log's header tells; under None the role of the grader."""
    graders: dict[str | None, str] = {}
    roles = (header.get("eval") or {}).get("model_roles") or {}
    if roles.get("grader"):
        graders[None] = _model_name(roles["grader"]) or "grader"
    for scorer in (header.get("eval") or {}).get("scorers") or ():
        model = _model_name((scorer.get("options") or {}).get("model"))
        if model:
            graders[scorer.get("name")] = model
    for result in (header.get("results") or {}).get("scores") or ():
        model = _model_name((result.get("params") or {}).get("model"))
        if model:
            graders[result.get("scorer")] = model
    return graders


def _model_name(model: Any) -> str | None:
    if isinstance(model, list):
        return " + ".join(filter(None, map(_model_name, model))) or None
    found = model.get("model") if isinstance(model, dict) else model
    return None if found is None else str(found)


def _judge(scorer: str, score: Mapping[str, Any], graders: Mapping[str | None, str]) -> str:
    metadata = score.get("metadata") or {}
    said = next((metadata[key] for key in JUDGE_KEYS if isinstance(metadata.get(key), str)), None)
    return graders.get(scorer) or said or (graders.get(None) if "grading" in metadata else None) or scorer


# -- the two kinds of log -----------------------------------------------------------------------------


def _json(path: Path) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    log = load_json(path)
    if not isinstance(log, dict) or "eval" not in log:
        raise DataError(f"{path} is not a log of Inspect AI")
    return log, iter(log.get("samples") or ())


def _eval(path: Path) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        raise DataError(f"{path} is not a log of Inspect AI: an .eval file is a zip archive") from None
    names = archive.namelist()
    start = next((n for n in ("header.json", "_journal/start.json") if n in names), None)
    if start is None:
        raise DataError(f"{path} is not a log of Inspect AI: the archive holds no header.json")
    header = {"status": "started", **_member(path, archive, start)}

    def samples() -> Iterator[dict[str, Any]]:
        with archive:
            for name in names:
                if name.startswith("samples/") and name.endswith(".json"):
                    yield _member(path, archive, name)

    return header, samples()


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    """One JSON file of the archive."""
    info = archive.getinfo(name)
    try:
        text = archive.read(info)
    except NotImplementedError:
        if info.compress_type != ZSTANDARD:
            raise DataError(f"{path}: '{name}' is compressed in a way that is not read here") from None
        text = _unpack(path, info)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
        raise DataError(f"{path}: '{name}' is damaged ({error})") from None
    try:
        found: dict[str, Any] = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: '{name}' is not JSON ({error.msg}); the log may be damaged") from None
    return found


def _unpack(path: Path, info: zipfile.ZipInfo) -> bytes:
    """A member packed with Zstandard, which zipfile reads from Python 3.14 on: Polars unpacks it.

    JSON holds no raw control characters, so one column of lines split at U+0001 is the text itself.
    """
    with path.open("rb") as file:
        file.seek(info.header_offset)
        head = file.read(30)
        file.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
        packed = file.read(info.compress_size)
    try:
        lines = pl.read_csv(io.BytesIO(packed), separator="\x01", quote_char=None, has_header=False, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path}: '{info.filename}' is damaged ({str(error).splitlines()[0]})") from None
    return "\n".join(lines.to_series().fill_null("")).encode()
