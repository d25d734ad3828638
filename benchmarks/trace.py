"""The path of a number: files that a command enters, and switches between packages.

    python benchmarks/trace.py            # the alt-test of the README, and all coefficients of agreement
    python benchmarks/trace.py --check    # exit status 1 where a goal is missed
    python benchmarks/trace.py --paths    # and which room calls which, how often, and which files most

A file is entered when one of its functions runs; what runs while a module is being imported does not count. A switch
is a call whose caller, the nearest function of assay below it, lives in another room (`concordance` -> `statistics`).
"""

from __future__ import annotations

import argparse
import io
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import CodeType, FrameType

import assay
from assay.cli.app import main as command

HOUSE = str(Path(assay.__file__).parent) + "/"
LABELS = Path(__file__).resolve().parent.parent / "examples" / "labels.csv"
JUDGES, SCALE = ["gpt-4o", "llama"], "1-5"
ALT_TEST = (
    "alt-test", str(LABELS), "--item", "id", "--annotator", "worker", "--label", "stars",
    "--judges", ",".join(JUDGES), "--scale", SCALE, "--epsilon", "0.1",
)  # fmt: skip
MOST_FUNCTIONS, MOST_SWITCHES = 350, 3000
"""Functions that an alternative annotator test enters, and switches between files of all coefficients of agreement."""
MOST_SHOWN = 20
"""Pairs of files that are shown, those with the most switches."""


class Trace:
    """Files entered and calls between rooms, while it is active."""

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()
        self.functions: set[CodeType] = set()
        self.file_switches = 0
        self.switches: Counter[tuple[str, str]] = Counter()
        self._stack: list[str] = []
        self._importing = 0
        self._place: dict[CodeType, str | None] = {}

    def run(self, action: Callable[[], object]) -> None:
        """Do it, and keep count."""
        sys.setprofile(self._event)
        try:
            action()
        finally:
            sys.setprofile(None)

    def _event(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event not in ("call", "return"):
            return
        if code.co_name == "<module>":
            self._importing += 1 if event == "call" else -1
            return
        file = self._file_of(code)
        if self._importing or file is None:
            return
        if event == "return":
            if self._stack:
                self._stack.pop()
            return
        self.files[file] += 1
        self.functions.add(code)
        self.file_switches += bool(self._stack) and self._stack[-1] != file
        if self._stack and room_of(self._stack[-1]) != room_of(file):
            self.switches[self._stack[-1], file] += 1
        self._stack.append(file)

    def _file_of(self, code: CodeType) -> str | None:
        if code not in self._place:
            inside = code.co_filename.startswith(HOUSE)
            self._place[code] = code.co_filename.removeprefix(HOUSE) if inside else None
        return self._place[code]


def room_of(file: str) -> str:
    return file.split("/")[0].removesuffix(".py")


def alt_test(*more: str) -> None:
    """The README's command, in this process."""
    try:
        command([*ALT_TEST, *more])
    except SystemExit as done:
        if done.code:
            raise


def show(name: str, trace: Trace, paths: bool) -> None:
    print(
        f"{name}: {len(trace.functions)} functions of {len(trace.files)} files; {trace.file_switches} switches between "
        f"files, {trace.switches.total()} between rooms"
    )
    for file, calls in sorted(trace.files.items()):
        print(f"    {file:40}{calls:8,} calls")
    if paths:
        rooms: Counter[tuple[str, str]] = Counter()
        for (caller, callee), calls in trace.switches.items():
            rooms[room_of(caller), room_of(callee)] += calls
        for (caller, callee), calls in (*rooms.most_common(), *trace.switches.most_common(MOST_SHOWN)):
            print(f"    {caller + ' -> ' + callee:60}{calls:8,} switches")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit status 1 where a goal is missed")
    parser.add_argument("--paths", action="store_true", help="which room calls which, how often, and which files most")
    options = parser.parse_args()

    labels = assay.read(LABELS, item="id", annotator="worker", label="stars", judges=JUDGES, scale=SCALE)
    compared, one, asked, agreement = Trace(), Trace(), Trace(), Trace()
    with redirect_stdout(io.StringIO()) as printed, redirect_stderr(io.StringIO()):
        compared.run(alt_test)
        one.run(lambda: alt_test("--judge", JUDGES[0]))
        asked.run(lambda: print(assay.alt_test(labels, JUDGES[0], expertise="crowd").summary()))
        # All coefficients that these labels allow, from the table to the printed summary.
        agreement.run(lambda: print(assay.agreement(labels).summary()))
    for question in ("compare-judges|", "alt-test|", "agreement|"):
        assert question in printed.getvalue(), printed.getvalue()
    show("assay alt-test", compared, options.paths)
    show(f"assay alt-test --judge {JUDGES[0]}", one, options.paths)
    show("assay.alt_test, from the table to its summary", asked, options.paths)
    show("assay.agreement", agreement, options.paths)
    missed = len(asked.functions) > MOST_FUNCTIONS or agreement.file_switches > MOST_SWITCHES
    print(
        f"goals: alt-test at most {MOST_FUNCTIONS} functions, agreement at most {MOST_SWITCHES:,} switches of files:",
        end=" ",
    )
    print("missed" if missed else "kept")
    sys.exit(1 if missed and options.check else 0)


if __name__ == "__main__":
    main()
