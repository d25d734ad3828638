"""A report that a page asks for: the command that makes it, in a separate process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads allow-popups; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
)
"""Policy of a report: its origin is not that of the page that shows it, so it can reach none of its addresses."""


def near(path: Path, place: Path) -> str:
    """A path from a place in a folder above it; otherwise the whole path."""
    return str(path.relative_to(place) if path.is_relative_to(place) else path)


@dataclass
class ReportProcess:
    """A command that makes a report.

    Attributes
    ----------
    words : sequence of str
        The words of the command, without the program's name and the output.
    page : Path
        The report to make.
    place : Path
        The current directory of the command.
    environment : mapping
        Further variables.
    """

    words: Sequence[str]
    page: Path
    place: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        # -P: no Python file of the place, such as statistics.py, is imported
        command = [sys.executable, "-P", "-m", "assay", *self.words, "--output", near(self.page, self.place)]
        paths = [str(Path(one).resolve()) for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **self.environment}
        self._process = subprocess.Popen(
            command, cwd=self.place, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self._printed: tuple[bytes, bytes] = b"", b""
        self._end = threading.Thread(target=self._read, daemon=True)
        self._end.start()

    def _read(self) -> None:
        self._printed = self._process.communicate()

    @property
    def running(self) -> bool:
        """Whether the command still runs."""
        return self._end.is_alive()

    @property
    def made(self) -> bool:
        """Whether it has made the report."""
        return not self.running and self._process.returncode == 0 and self.page.exists()

    @property
    def said(self) -> str:
        """What it printed in the end: the result, or why there is none."""
        return self._printed[0 if self.made else 1].decode("utf-8", "replace").strip().removeprefix("assay: ")

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end of the command, or for some seconds; return whether it still runs."""
        self._end.join(seconds)
        return self.running

    def stop(self) -> None:
        """Stop the command."""
        self._process.kill()
        self.wait()
