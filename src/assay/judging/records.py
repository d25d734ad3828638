"""Judges without a service: recorded responses, functions, commands, trained raters."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import AssayError, JudgeError, StudyError, counted, listing
from assay.judging.services.http import CallFailed, Completion, Provider, Request, Sent, chat_body
from assay.study.schema import Judge, System


class Recording:
    """Writes replies as lines that `Recorded` reads."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, request: Request, completion: Completion) -> None:
        """Write a reply down.

        Raises
        ------
        StudyError
            If the file cannot be written; the content of the store is kept.
        """
        line = dict(request.about) | {"reply": completion.text}
        line |= {
            k: v
            for k, v in vars(completion).items()
            if k not in ("text", "sent", "abstained") and v not in (None, (), "")
        }
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            raise StudyError(
                f"{self._path} cannot be written ({error.strerror}); the answers so far are in the store and will not "
                "be requested again"
            ) from None


class Recorded:
    """Responses from a JSONL file: ``item``, ``judge`` and ``reply``, and further keys that they depend on.

    A line answers a request when all it says besides (``question``, ``repeat``, ``attempt``, ``order``,
    a condition) is so of the request; the line that says most is taken. Another file is one that `assay.read` reads,
    such as the log of an evaluation tool: its labels of the annotator that is called as the judge, or of its only one,
    are the replies.
    """

    _REPLY = (
        *("reply", "finish", "tokens_in", "tokens_out", "model", "reasoning", "tokens"),
        *("cached_in", "written_in", "reasoning_out", "why"),
    )

    def __init__(self, path: Path, judge: Judge | None = None) -> None:
        self._path = path
        self._lines: dict[tuple[str, str], list[dict[str, Any]]] = {}
        if not path.is_file():
            raise StudyError(f"{path} is not there; study.yaml names it as a file of recorded replies")
        if judge is not None and not _holds_lines(path):
            self._lines = _labels_of(path, judge)
            return
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
        """Return the recorded response; raise `CallFailed` if there is none."""
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
        """Return the request in OpenAI's format."""
        return Sent(chat_body(request, request.schema))

    def _fits(self, line: Mapping[str, Any], about: Mapping[str, Any]) -> bool:
        return all(about.get(k) == v for k, v in line.items() if k not in ("item", "judge", *self._REPLY))

    async def close(self) -> None:
        """Nothing to close."""


def _holds_lines(path: Path) -> bool:
    """Whether a file's first line is a reply, or its name says that it should be."""
    if path.suffix not in (".jsonl", ".ndjson"):
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        first = next((line for line in file if line.strip()), "")
    try:
        found = json.loads(first or "{}")
    except json.JSONDecodeError:
        return True  # and the line is said to be none
    return not isinstance(found, dict) or not found or "reply" in found or "text" in found


def _labels_of(path: Path, judge: Judge) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The labels of one judge in a file of another tool, as replies."""
    from assay.reading import read

    try:
        found = read(path)
    except AssayError as error:
        raise StudyError(f"{path}, the file of judge '{judge.name}', cannot be read: {error}") from None
    names = list(dict.fromkeys(found.labels["annotator"].to_list()))
    if judge.name not in names and len(names) > 1:
        raise StudyError(
            f"{path} has labels of {listing(names)}; call the judge '{judge.name}' as one of them, so that it is clear "
            "whose are meant"
        )
    mine = found.labels.filter(found.labels["annotator"] == (judge.name if judge.name in names else names[0]))
    several = "criterion" in mine.columns and mine["criterion"].n_unique() > 1
    lines: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in mine.iter_rows(named=True):
        line = {"item": row["item"], "judge": judge.name, "reply": json.dumps({"label": row["label"]})}
        line |= {"question": row["criterion"]} if several else {}
        line |= {"repeat": row["repeat"]} if row.get("repeat") is not None else {}
        lines.setdefault((str(row["item"]), judge.name), []).append(line)
    return lines


class Outputs(Recorded):
    """Outputs of a system from a JSONL file: ``item``, ``system`` (or ``judge``) and ``text`` (or ``reply``).

    Lines that do not say which output of the item they are (``repeat``) are numbered in the order of the file.

    Raises
    ------
    StudyError
        If an item has more or fewer outputs than the system's repeats.
    """

    def __init__(self, path: Path, system: System) -> None:
        super().__init__(path)
        self._lines = {key: lines for key, lines in self._lines.items() if key[1] == system.name}
        for (item, _), lines in self._lines.items():
            for number, line in enumerate(lines, 1):
                line.setdefault("repeat", number)
            if sorted(line["repeat"] for line in lines) != list(range(1, system.repeats + 1)):
                raise StudyError(
                    f"{path} has {counted(len(lines), 'output')} of '{system.name}' on item '{item}', but "
                    f"{system.repeats} are "
                    "required, numbered from 1; complete them, remove that item's lines so that the model is called, "
                    f"or set 'repeats: {len(lines)}' for this system"
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
        """Return the request to the model."""
        return await self.others.sent(request)

    async def close(self) -> None:
        """Let go of connections."""
        await self.others.close()


# -- programs --------------------------------------------------------------------------------------------


class Program:
    """A judge that is a program of the user's: given the displayed columns, it returns a label, or text with a
    label."""

    def __init__(self, judge: Judge, timeout: float) -> None:
        self.judge, self._timeout = judge, timeout

    async def complete(self, request: Request) -> Completion:
        """One call; what goes wrong in it is the item's failure."""
        try:
            found = await asyncio.wait_for(self.run(request), self._timeout)
            text, reasoning = _reply_of(found)
        except TimeoutError:
            raise CallFailed("rejected", f"no reply within {self._timeout:g} s") from None
        several = found["label"] if isinstance(found, Mapping) and isinstance(found.get("label"), Mapping) else {}
        nothing = not text and not isinstance(found, str)
        abstained = None if nothing else tuple(name for name, label in several.items() if label is None)
        return Completion(text, reasoning=reasoning, model=request.model, abstained=abstained)

    def run(self, request: Request) -> Awaitable[Any]:
        """Return the output of the program."""
        raise NotImplementedError

    async def sent(self, request: Request) -> Sent:
        """Return the input of the program."""
        return Sent(given(request))

    async def close(self) -> None:
        """Nothing to close."""


def given(request: Request) -> dict[str, Any]:
    """Return the input of a program: the displayed columns (options in the order displayed), the question, the
    prompt."""
    columns, about = dict(request.columns), request.about
    return {"columns": columns, "question": about.get("question"), "messages": list(request.messages)}


def _reply_of(found: Any) -> tuple[str, str | None]:
    """Return the text of a program's output, and its reasoning."""
    if isinstance(found, str):
        return found, None
    reasoning = found.get("reasoning") if isinstance(found, Mapping) else None
    label = found.get("label") if isinstance(found, Mapping) else found
    if label is None:
        return "", reasoning
    if isinstance(label, Mapping):  # the labels of several questions
        return json.dumps(label, default=_plain_label), reasoning
    try:
        return json.dumps({"label": label}), reasoning
    except TypeError:
        return json.dumps({"label": _plain_label(label)}), reasoning


def _plain_label(label: Any) -> Any:
    """A number of numpy's as Python's; another object as its text."""
    return getattr(label, "item", lambda: str(label))()


class FunctionJudge(Program):
    """A function of a module in the study's folder, or of one that is installed.

    Called as ``function(columns, question)``; it gives a label, a text with one, or a dict of ``label`` and
    ``reasoning``. One that is not ``async`` runs in a thread.
    """

    def __init__(self, judge: Judge, folder: Path, timeout: float) -> None:
        super().__init__(judge, timeout)
        self._call = _function(judge, folder)

    async def run(self, request: Request) -> Any:
        """Call it."""
        arguments = (dict(request.columns), request.about.get("question"))
        try:
            if inspect.iscoroutinefunction(self._call):
                return await self._call(*arguments)
            return await asyncio.to_thread(self._call, *arguments)
        except Exception as error:  # a program of the user's can raise anything
            raise CallFailed("rejected", f"{self.judge.function} raised {type(error).__name__}: {error}") from None


def _function(judge: Judge, folder: Path) -> Callable[..., Any]:
    module_name, _, name = str(judge.function).partition(":")
    path = folder / f"{module_name.replace('.', '/')}.py"
    try:
        if path.is_file():
            spec = importlib.util.spec_from_file_location(f"assay_judge_{module_name.replace('.', '_')}", path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(module_name)
        found = getattr(module, name)
    except ModuleNotFoundError as error:
        raise JudgeError(f"judge '{judge.name}': there is no {path}, and no module {error.name} is installed") from None
    except AttributeError:
        raise JudgeError(f"judge '{judge.name}': {module_name} has no function '{name}'") from None
    except Exception as error:
        raise JudgeError(f"judge '{judge.name}': {module_name} cannot be loaded: {error!r}") from None
    if not callable(found):
        raise JudgeError(f"judge '{judge.name}': {judge.function} is no function")
    checked: Callable[..., Any] = found
    return checked


_APART: dict[str, Any] = {
    "start_new_session": True,
    "creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
}
"""A command has a separate process group, which Ctrl-C does not reach: first the POSIX option, then that of Windows."""


def _end(process: asyncio.subprocess.Process) -> None:
    """Kill a command with its child processes; on Windows, which has no process groups, the command alone."""
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.terminate()  # there, that is to kill it


class CommandJudge(Program):
    """A command that reads one question as a line of JSON and writes its reply, once for every question.

    It runs in the study folder, without a shell; its output is the response, and an exit code other than 0 is a failure
    of the item.
    """

    def __init__(self, judge: Judge, folder: Path, timeout: float) -> None:
        super().__init__(judge, timeout)
        self._folder = folder

    async def run(self, request: Request) -> Any:
        """Run it."""
        pipe = asyncio.subprocess.PIPE
        words = self.judge.command
        try:
            process = await asyncio.create_subprocess_exec(
                *words, stdin=pipe, stdout=pipe, stderr=pipe, cwd=self._folder, **_APART
            )
        except OSError as error:
            raise CallFailed("fatal", f"{words[0]} cannot be started ({error.strerror})") from None
        try:
            line = json.dumps(given(request), ensure_ascii=False) + "\n"
            out, said = await process.communicate(line.encode("utf-8", "backslashreplace"))
        finally:
            if process.returncode is None:
                _end(process)
                # The loop may end at once: its pipes are closed before. Who left its group may hold them open.
                with suppress(TimeoutError):
                    await asyncio.wait_for(process.communicate(), 1)
        if process.returncode:
            last = (said.decode(errors="replace").strip().splitlines() or ["nothing on standard error"])[-1]
            raise CallFailed("rejected", f"{words[0]} exited with {process.returncode}: {last[:300]}")
        return out.decode(errors="replace").strip()


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

    async def complete(self, request: Request) -> Completion:
        """The rater's label, and as its reasoning the number before it was rounded."""
        return await asyncio.to_thread(self._rate, request)

    def _rate(self, request: Request) -> Completion:
        from assay.training.rater import saved_rater

        item = request.about["item"]
        try:
            rater = saved_rater((self._folder / self._model).resolve())
            column = rater.about["text"]
            text = str(request.columns.get(column) or "")
            if not text.strip():
                raise StudyError(f"item '{item}' has no text in column '{column}', which the rater was trained on")
            label, words = rater.rate_one(text, str(request.about["question"]))
        except StudyError as error:
            raise CallFailed("rejected", str(error)) from None
        except AssayError as error:  # of the rater, and so of every item
            raise CallFailed("fatal", str(error)) from None
        return Completion(label, model=self._model, reasoning=words)

    async def sent(self, request: Request) -> Sent:
        """What would be sent: nothing leaves this machine."""
        return Sent(chat_body(request, request.schema))

    async def close(self) -> None:
        """Nothing to close."""
