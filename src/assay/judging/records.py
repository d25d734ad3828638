"""Replies without a service: written down by a run and answered from (``recorded``), or a trained rater's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import AssayError, StudyError, counted
from assay.judging.http import CallFailed, Completion, Provider, Request, Sent, chat_body
from assay.study.schema import System


class Recording:
    """Writes replies as lines that `Recorded` reads."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, request: Request, completion: Completion) -> None:
        """Write a reply down.

        Raises
        ------
        StudyError
            Where the file cannot be written; what the store holds stays.
        """
        line = dict(request.about) | {"reply": completion.text}
        line |= {k: v for k, v in vars(completion).items() if k not in ("text", "sent") and v is not None}
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            raise StudyError(
                f"{self._path} cannot be written ({error.strerror}); what was answered is in the store, "
                "and is not asked again"
            ) from None


class Recorded:
    """Replies from a JSONL file: ``item``, ``judge`` and ``reply``, and whatever else they hang on.

    A line answers a request when all it says besides (``question``, ``repeat``, ``attempt``, ``order``,
    a condition) is so of the request; the line that says most is taken.
    """

    _REPLY = ("reply", "finish", "tokens_in", "tokens_out", "model", "reasoning")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: dict[tuple[str, str], list[dict[str, Any]]] = {}
        if not path.is_file():
            raise StudyError(f"{path} is not there; study.yaml names it as a file of recorded replies")
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                try:
                    record = self._record(json.loads(line))
                    key = (str(record["item"]), str(record["judge"]))
                    record["reply"] = str(record["reply"])
                except (json.JSONDecodeError, KeyError, TypeError) as error:
                    raise StudyError(f"{path}, line {number}: needs item, judge and reply ({error!r})") from None
                self._lines.setdefault(key, []).append(record)

    def _record(self, record: dict[str, Any]) -> dict[str, Any]:
        """A line under the names that are read here."""
        return record

    async def complete(self, request: Request) -> Completion:
        """The recorded reply; `CallFailed` where there is none."""
        about = request.about
        lines = self._lines.get((str(about["item"]), str(about["judge"])), [])
        fitting = [line for line in lines if self._fits(line, about)]
        if not fitting:
            raise CallFailed("rejected", f"no reply is recorded in {self._path.name}")
        line = max(fitting, key=len)
        return Completion(
            text=line["reply"], **{name: line[name] for name in self._REPLY[1:] if line.get(name) is not None}
        )

    async def sent(self, request: Request) -> Sent:
        """What a model in OpenAI's format would be sent."""
        return Sent(chat_body(request, request.schema))

    def _fits(self, line: Mapping[str, Any], about: Mapping[str, Any]) -> bool:
        return all(about.get(k) == v for k, v in line.items() if k not in ("item", "judge", *self._REPLY))

    async def close(self) -> None:
        """Nothing to close."""


class Outputs(Recorded):
    """Outputs of a system from a JSONL file: ``item``, ``system`` (or ``judge``) and ``text`` (or ``reply``).

    Lines that do not say which output of the item they are (``repeat``) are numbered in the order of the file.

    Raises
    ------
    StudyError
        Where an item has more or fewer outputs than the study wants of the system.
    """

    def __init__(self, path: Path, system: System) -> None:
        super().__init__(path)
        self._lines = {key: lines for key, lines in self._lines.items() if key[1] == system.name}
        for (item, _), lines in self._lines.items():
            for number, line in enumerate(lines, 1):
                line.setdefault("repeat", number)
            if sorted(line["repeat"] for line in lines) != list(range(1, system.repeats + 1)):
                raise StudyError(
                    f"{path} has {counted(len(lines), 'output')} of '{system.name}' on item '{item}', and "
                    f"{system.repeats} are wanted, numbered from 1; complete them, take that item's lines out so that "
                    f"the model is asked, or say 'repeats: {len(lines)}' for this system"
                )

    def _record(self, record: dict[str, Any]) -> dict[str, Any]:
        other = {"system": "judge", "text": "reply"}
        return {other.get(name, name): value for name, value in record.items()}

    def has(self, request: Request) -> bool:
        """Whether there are outputs of this item."""
        return (str(request.about["item"]), str(request.about["judge"])) in self._lines


@dataclass(frozen=True)
class OutputsFirst:
    """Outputs from a file for the items that it has, and a model's for the others."""

    written: Outputs
    others: Provider

    async def complete(self, request: Request) -> Completion:
        """From the file, or from one call."""
        return await (self.written if self.written.has(request) else self.others).complete(request)

    async def sent(self, request: Request) -> Sent:
        """What the model would be sent."""
        return await self.others.sent(request)

    async def close(self) -> None:
        """Let go of connections."""
        await self.others.close()


class TrainedReplies:
    """Ratings by a rater that ``assay train`` wrote, of the text column of a study's items.

    Parameters
    ----------
    folder : Path
        The study's.
    model : str
        The rater's folder, from there.
    """

    def __init__(self, folder: Path, model: str) -> None:
        self._folder, self._model = folder, model
        self._texts: dict[str, str] | None = None

    async def complete(self, request: Request) -> Completion:
        """The rater's label, and as its reasoning the number before it was rounded."""
        return await asyncio.to_thread(self._rate, str(request.about["item"]), str(request.about["question"]))

    def _rate(self, item: str, question: str) -> Completion:
        from assay.training.rater import saved_rater

        try:
            rater = saved_rater((self._folder / self._model).resolve())
            label, words = rater.rate_one(self._text_of(item, rater.about["text"]), question)
        except StudyError as error:
            raise CallFailed("rejected", str(error)) from None
        except AssayError as error:  # of the rater, and so of every item
            raise CallFailed("fatal", str(error)) from None
        return Completion(label, model=self._model, reasoning=words)

    def _text_of(self, item: str, column: str) -> str:
        """An item's text."""
        if self._texts is None:
            from assay.study.definition import load_study

            self._texts = {one.name: str(one.fields.get(column) or "") for one in load_study(self._folder).items()}
        text = self._texts.get(item, "")
        if not text.strip():
            raise StudyError(f"item '{item}' has no text in column '{column}', which the rater was trained on")
        return text

    async def sent(self, request: Request) -> Sent:
        """What would be sent: nothing leaves this machine."""
        return Sent(chat_body(request, request.schema))

    async def close(self) -> None:
        """Nothing to close."""
