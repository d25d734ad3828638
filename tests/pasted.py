"""Runs the shell blocks of a page of the documents as a newcomer pastes them: in order, beside a copy of examples/.

A block that starts with ``# needs ...`` is not run: it needs something that the project does not hold. Lines that
install something are run by ``.ci/run``. A YAML block that starts with ``# NAME/study.yaml`` is that file; where its
models would be asked, a server on this machine answers. People's answers are given by whoever is passed as ``answer``.
"""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from waiting import wait_until

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_BLOCK = re.compile(r"^```(sh|console|yaml)\n(.*?)^```", flags=re.M | re.S)
_ENDS = re.compile(r"\s*```text\n[^\n]*\(exit (\d)\)")
_NEEDS = re.compile(r"# needs (.*)\n")
_INSTALLS = ("python -m pip ", "python -m pytest")


@dataclass(frozen=True)
class Block:
    """A block of a page: commands, or a study's file."""

    line: int
    commands: tuple[str, ...] = ()
    needs: str | None = None
    path: str | None = None
    text: str = ""
    ends: int = 0
    """The exit status of its last command: what is printed below the block says it, if it is not 0."""


def blocks(page: Path) -> Iterator[Block]:
    """What a newcomer pastes or writes, in order."""
    whole = page.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(whole):
        kind, text = found.groups()
        line = whole.count("\n", 0, found.start()) + 2
        if kind == "yaml":
            if name := re.match(r"# (\S+/study\.yaml)\n", text):
                yield Block(line, path=name[1], text=text)
            continue
        needs = _NEEDS.match(text)
        ends = _ENDS.match(whole, found.end())
        yield Block(line, tuple(_commands(kind, text)), needs[1] if needs else None, ends=int(ends[1]) if ends else 0)


def _commands(kind: str, text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        if kind == "console" and not line.startswith("$ "):
            continue
        for one in line.removeprefix("$ ").split(" && "):
            words = re.sub(r"\s+# .*", "", " ".join(one.split())).strip()
            if words and not words.startswith("#"):
                yield words


def is_install(command: str) -> bool:
    """Whether a command installs something, or runs these tests; ``.ci/run`` runs it."""
    return command.startswith(_INSTALLS)


def runnable(page: Path) -> list[Block]:
    """The blocks that are run."""
    return [b for b in blocks(page) if b.path or (b.needs is None and not all(map(is_install, b.commands)))]


# -- models ---------------------------------------------------------------------------------------------


class _Model(BaseHTTPRequestHandler):
    """A model that says anything that it may say."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = body.get("response_format", {}).get("json_schema", {}).get("schema")
        said = json.dumps(_any_of(asked)) if asked else random.choice(("They meet.", "At the station.", "B is late."))
        reply = {
            "id": "1", "object": "chat.completion", "created": 1, "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }  # fmt: skip
        sent = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def _any_of(schema: dict[str, Any]) -> Any:
    """Something that fits a JSON schema."""
    if "enum" in schema:
        return random.choice(schema["enum"])
    if "anyOf" in schema:
        return _any_of(schema["anyOf"][0])
    if schema.get("type") == "object":
        return {name: _any_of(one) for name, one in schema["properties"].items()}
    if schema.get("type") in ("number", "integer"):
        value = random.uniform(schema.get("minimum", 0), schema.get("maximum", 1))
        return round(value, 0 if schema["type"] == "integer" else 2)
    return "Something."


@contextmanager
def models() -> Iterator[str]:
    """A server that answers for every model; where it is."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Model)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


# -- a newcomer -----------------------------------------------------------------------------------------

WARM_START = Path(__file__).with_name("warm_start.py")


def environment() -> dict[str, str]:
    """Where commands find assay, and draw without a display."""
    source = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    return os.environ | {"PYTHONPATH": source, "MPLBACKEND": "agg"}


@contextmanager
def warm_start() -> Iterator[Path]:
    """Where commands are forked from a process that has imported what they need; ``assay serve`` starts by itself."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # the path of a socket must be short
        address = Path(folder) / "warm"
        forking = subprocess.Popen(
            [sys.executable, str(WARM_START), "serve", str(address)], env=environment(), stdin=subprocess.DEVNULL
        )
        try:
            wait_until(lambda: address.exists() or forking.poll() is not None, "no warm start", seconds=300)
            assert forking.poll() is None, "the process that commands are forked from has ended"
            yield address
        finally:
            forking.kill()
            forking.wait()


Answer = Callable[[str], None]
"""Follows somebody's link and answers until the page says that it is the end."""


class Newcomer:
    """Somebody with a copy of the examples in a folder of their own, and a page of the documents."""

    def __init__(self, folder: Path, warm: Path, address: str = "", answer: Answer | None = None) -> None:
        self.folder, self.address, self.answer = folder, address, answer
        shutil.copytree(ROOT / "examples", folder / "examples")
        shim = folder / ".bin" / "assay"
        shim.parent.mkdir()
        python = shlex.quote(sys.executable)
        shim.write_text(
            f'#!/bin/sh\n[ "$1" = serve ] && exec {python} -m assay "$@"\n'
            f'exec {python} -I -S {shlex.quote(str(WARM_START))} ask {shlex.quote(str(warm))} "$@"\n'
        )
        shim.chmod(0o755)
        self.before: list[str] = []
        self.environment = environment() | {"PATH": f"{shim.parent}{os.pathsep}{os.environ['PATH']}"}

    def paste(self, page: Path) -> int:
        """Run every block of a page; how many commands were run."""
        done = 0
        for block in runnable(page):
            if block.path is not None:
                self._write(block)
            for command in block.commands if block.path is None else ():
                if is_install(command):
                    continue
                self._run(f"{page.name}:{block.line}", command, block.ends if command is block.commands[-1] else 0)
                done += 1
        return done

    def _write(self, block: Block) -> None:
        """A study's file, its models answered for on this machine."""
        assert block.path is not None
        study = yaml.safe_load(block.text)
        for model in [*study.get("judges", ()), *study.get("systems", ())]:
            if "of" not in model:
                model.pop("key", None)
                model["base_url"] = self.address
        path = self.folder / block.path
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(study, sort_keys=False), encoding="utf-8")

    def _run(self, where: str, command: str, ends: int) -> None:
        if command.startswith("assay serve"):
            return self._serve(where, command)
        if command.startswith("export "):
            self.before.append(command)
        ended = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "\n".join([*self.before, command])],
            cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=600,
        )  # fmt: skip
        assert ended.returncode == ends, f"{where}: {command}\nexit {ended.returncode}\n{ended.stderr[-2000:]}"
        assert "Traceback" not in ended.stderr, f"{where}: {command}\n{ended.stderr[-2000:]}"
        return None

    def _links(self, study: str, address: str) -> list[str]:
        """Where everybody answers."""
        said = subprocess.run(
            ["bash", "-c", "\n".join([*self.before, f"assay people links {study} --base-url {address}"])],
            cwd=self.folder, env=self.environment, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        return [line.split("\t")[1] for line in said.splitlines() if not line.startswith("(study lead)")]

    def _serve(self, where: str, command: str) -> None:
        """Serve until everybody has answered, then press Ctrl-C."""
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        log = self.folder / ".served"
        with log.open("w") as out:
            served = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", "\n".join([*self.before, f"exec {command} --port {port}"])],
                cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip
        try:
            health = f"http://127.0.0.1:{port}/health"
            wait_until(lambda: _answers(health) or served.poll() is not None, f"{where}: {command} does not answer")
            assert served.poll() is None, f"{where}: {command}\n{log.read_text()[-2000:]}"
            if "--base-url" in command:  # where people elsewhere would answer
                return
            links = self._links(shlex.split(command)[2], f"http://127.0.0.1:{port}")
            assert links, f"{where}: nobody is invited"
            assert self.answer is not None, f"{where} asks people"
            for link in links:
                self.answer(link)
        finally:
            served.send_signal(signal.SIGINT)
            served.wait(30)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False
