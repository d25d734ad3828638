"""The structure that docs/architecture.md promises: which way imports run, no circles, no corridors, short ways."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType

import pytest

import assay
from assay.cli import app as cli
from sources import statements

pytestmark = pytest.mark.xdist_group("house")  # each worker would read all files again

HOUSE = Path(assay.__file__).parent

# From the top down; what shares a line is on one floor. A room may import from lower floors only.
FLOORS = [
    {"cli"},
    {"mcp_server", "pytest_plugin"},
    {"testing"},
    {"verdict"},
    {"planning"},
    {"simulation"},
    {"collecting"},
    {"judging"},
    {"training"},
    {"replacement", "concordance", "psychometrics", "preference", "ideas", "estimates", "variation"},
    {"looking"},
    {"reading"},
    {"study"},
    {"statistics"},
    {"data"},
    {"estimation"},
    {"reporting"},
    {"similarity"},
    {"plugins"},
    {"errors"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
ENTRANCE = {"__init__", "__main__", "_doors", "_version", "measures", "plan", "results"}
"""Outside the floors: the names that a caller imports, how they are looked up, and the version."""

LONGEST = 60
"""Lines of a function's body, at most: a longer one asks for help."""

LARGEST, LARGEST_OF_TABLES = 6000, 8000
"""Lines of the modules of a package, without its subpackages, at most; and of those that hold tables."""

CORRIDOR = 150
"""A file that one other file imports has at least so many lines, or its name is a term of the field."""

WRITTEN_TO = {
    "collecting.assignment.OpenPlaces",
    "collecting.look_page.DroppedFile",
    "collecting.report_process.ReportProcess",
    "data.chunked.chunk_store.Survey",
    "data.formats.platforms.intake.PlatformAnswer",
    "judging.services.client._Known",
    "judging.prompts._Filling",
    "statistics.comparisons.odd_one_out.PairModel",
    "statistics.comparisons.triplets.PairCounts",
    "study.store.connection.Store",
    "study.store.work.Change",
}
"""Dataclasses that change while something is worked through."""

COMPARED = {"Tokens", "PairedAdvantage", "PairCounts", "PairwiseScore", "Part", "Table", "EpsilonCurveSettings"}
"""Classes that hold arrays or tables and are never compared."""

ARRAYS = re.compile(r"\b(Floats|Ints|Bools|NDArray|DataFrame|Series|Codes)\b")

TERMS = {
    "cli.app",  # where the program starts
    "testing",  # the functions that tests of users import
    "collecting.hosting.server",
    "concordance.page",  # what a page shows of a question: one in each room that a report asks
    "estimates.page",
    "ideas.page",
    "statistics.rogan_gladen",
    "preference.page",
    "psychometrics.page",
    "study.starter",
    "reporting.references",
    "training.page",
    "variation.page",
}
"""Files that may be shorter and serve one other."""

WAYS = {
    "alt-test": (30, ["labels.csv", "--judge", "gpt-4o", "--epsilon", "0.1"]),
    "agreement": (28, ["labels.csv"]),
    "raters": (26, ["labels.csv", "--quick"]),
    "ratings": (26, ["votes.csv", "--scale", "preference", "--repeat", "repeat", "--judges", "gpt-4o"]),
    "ideas": (27, ["odd_ones.csv", "--scale", "odd-one-out", "--judges", "gpt-4o"]),
    "g-study": (26, ["labels.csv", "--design", "i x a", "--object", "i", "--facets", "i=item,a=annotator"]),
    "report": (68, ["labels.csv", "--expertise", "crowd"]),
}
"""Files that a command enters until its line is printed, at most. What the verdict asks stands in `statistics`, where
routes and estimates ask it too: labels and scores, strata, copies, item-level agreement. So do agreement and the others
about items that depend on one another."""

LABELS = ["--item", "id", "--annotator", "worker", "--label", "stars", "--judges", "gpt-4o,llama", "--scale", "1-5"]
"""How examples/labels.csv is read."""

MODULES = {
    ".".join(("assay", *path.relative_to(HOUSE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(HOUSE.rglob("*.py"))
}


NAMED = re.compile(r"""["'](assay(?:\.\w+)+)(?::[\w ]+)?["']""")
"""A text that is the name of a module, or of something in it."""


def room_of(module: str) -> str:
    """The package directly under assay, or the module's own name."""
    return module.split(".")[1] if "." in module else "__init__"


def imports_of(module: str) -> Iterator[tuple[str, int]]:
    """Every module of assay that this one imports, with its line.

    Imports in functions and for type checking count. So does a text that names a module, as ``"assay.reading:read"``,
    because it is imported by that name. Within a room it does not: the table of commands names their functions.
    """
    path = MODULES[module]
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in statements(path):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            # "from package import x" imports the module x if there is one, and else the package.
            inside = [f"{origin}.{name.name}" for name in node.names]
            names = [full if full in MODULES else origin for full in inside]
        yield from ((name, node.lineno) for name in dict.fromkeys(names) if name in MODULES)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        named = (name for name in NAMED.findall(line) if name in MODULES and room_of(name) != room_of(module))
        yield from ((name, number) for name in named)


@cache
def imports() -> dict[str, list[tuple[str, int]]]:
    """What each module imports."""
    return {module: list(imports_of(module)) for module in MODULES}


def told(offenders: list[str]) -> str:
    return f"{len(offenders)} found\n" + "\n".join(offenders)


def test_every_room_has_its_floor():
    unknown = sorted({room_of(module) for module in MODULES} - ENTRANCE - set(FLOOR))
    assert not unknown, told(
        [f"assay.{room}: on no floor of this test, or in no room of the design" for room in unknown]
    )


def test_imports_run_downward():
    offenders = []
    for module, imported in imports().items():
        room = room_of(module)
        if room in ENTRANCE:
            continue
        for name, line in imported:
            other = room_of(name)
            if other in (room, "_version"):
                continue
            if FLOOR.get(other, -1) <= FLOOR.get(room, len(FLOORS)):
                why = "on the same floor" if FLOOR.get(other) == FLOOR.get(room) else "above it"
                offenders.append(f"{module}:{line} imports {name}, {why}")
    assert not offenders, told(offenders)


def test_no_files_import_each_other():
    """Not in a circle of any length, nor where an import is put off into a function."""
    offenders = [" -> ".join((*circle, circle[0])) for circle in circles()]
    assert not offenders, told(offenders)


def circles() -> list[list[str]]:
    """A shortest circle through each group of files that reach one another."""
    ends = {module: {name for name, _ in imported} - {module} for module, imported in imports().items()}
    found: list[list[str]] = []
    seen: set[str] = set()
    for start in ends:
        if start in seen:
            continue
        # Breadth first from the start until it comes back to it.
        came_from: dict[str, str] = {}
        queue = [start]
        while queue and start not in came_from:
            now = queue.pop(0)
            for after in sorted(ends[now]):
                if after not in came_from:
                    came_from[after] = now
                    queue.append(after)
        if start in came_from:
            circle = [came_from[start]]
            while circle[-1] != start:
                circle.append(came_from[circle[-1]])
            found.append(circle[::-1])
            seen.update(circle)
    return found


@cache
def bodies() -> list[tuple[int, str]]:
    """Lines of each function's body without its docstring, and where it is."""
    found = []
    for module, path in MODULES.items():
        for node in statements(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
                lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
                found.append((lines, f"{module}:{node.lineno} {node.name}"))
    return sorted(found, reverse=True)


def test_no_function_is_long():
    offenders = [f"{lines} lines: {name}" for lines, name in bodies() if lines > LONGEST]
    assert not offenders, told(offenders)


def test_no_file_is_a_corridor():
    """A newcomer walks through a file that exists for one other file's sake and learns nothing there."""
    importers: dict[str, set[str]] = {module: set() for module in MODULES}
    for module, imported in imports().items():
        for name, _ in imported:
            importers[name].add(module)
    offenders = []
    for module, path in MODULES.items():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        alone = len(importers[module]) == 1 and path.name != "__init__.py" and "migrations" not in module
        if alone and lines < CORRIDOR and module.removeprefix("assay.") not in TERMS:
            offenders.append(f"{module}, {lines} lines, only for {importers[module].pop()}")
    assert not offenders, told(offenders)


def test_no_class_name_appears_twice():
    places: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        for node in statements(path):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{module}:{node.lineno}")
    offenders = [f"{name}: {', '.join(where)}" for name, where in sorted(places.items()) if len(where) > 1]
    assert not offenders, told(offenders)


def dataclasses_of(path: Path) -> Iterator[tuple[ast.ClassDef, dict[str, ast.expr]]]:
    """Each dataclass of a file and the arguments of its decorator."""
    for node in statements(path):
        if isinstance(node, ast.ClassDef):
            for how in node.decorator_list:
                name, told_it = (how.func, how.keywords) if isinstance(how, ast.Call) else (how, [])
                if isinstance(name, ast.Name) and name.id == "dataclass":
                    yield node, {one.arg: one.value for one in told_it if one.arg}


def says(options: dict[str, ast.expr], name: str, value: bool) -> bool:
    return isinstance(node := options.get(name), ast.Constant) and node.value is value


def test_what_is_made_once_stays_as_it_was_made():
    open_ones = {
        f"{module.removeprefix('assay.')}.{node.name}"
        for module, path in MODULES.items()
        for node, options in dataclasses_of(path)
        if not says(options, "frozen", True)
    }
    assert open_ones == WRITTEN_TO


def test_results_and_holders_of_arrays_are_not_compared():
    """``==`` of two arrays is an array, and of two results that hold some an error."""
    offenders, seen = [], 0
    for module, path in MODULES.items():
        for node, options in dataclasses_of(path):
            fields = [ast.unparse(one.annotation) for one in node.body if isinstance(one, ast.AnnAssign)]
            result = any("Result" in ast.unparse(base) for base in node.bases)
            if result or any(ARRAYS.search(field) for field in fields):
                seen += 1
                if not says(options, "eq", False) and node.name not in COMPARED:
                    offenders.append(f"{module}.{node.name}")
    assert not offenders, told(offenders)
    assert seen > 100


@pytest.mark.parametrize(
    "command", [one if one == "alt-test" else pytest.param(one, marks=pytest.mark.slow) for one in WAYS]
)
def test_a_command_enters_few_files(command, tmp_path, capsys):
    """What runs while modules are imported does not count, so that the command runs once before."""
    if command == "raters":
        pytest.importorskip("numpyro", reason='the rater model needs the extra "raters"')
    examples = Path(__file__).parents[1] / "examples"
    most, (name, *options) = WAYS[command]
    given = [command, str(examples / name), *options, *(LABELS if name == "labels.csv" else [])]
    given += ["--output", str(tmp_path / "page.html")] if command == "report" else []
    run(given)
    entered = files_entered(given)
    assert len(entered) <= most, told(sorted(entered))
    capsys.readouterr()


def run(given: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(given)
    assert not stopped.value.code, given


def files_entered(given: list[str]) -> set[str]:
    """Files below src/assay of which a function runs."""
    home, entered, importing = f"{HOUSE}{os.sep}", set(), 0

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal importing
        code = frame.f_code
        if event in ("call", "return") and code.co_name == "<module>":
            importing += 1 if event == "call" else -1
        elif event == "call" and not importing and code.co_filename.startswith(home):
            entered.add(code.co_filename[len(home) :])

    sys.setprofile(watch)
    try:
        run(given)
    finally:
        sys.setprofile(None)
    return entered


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("import assay.errors", ["assay.errors"]),
        ("from assay import errors, Annotations", ["assay.errors", "assay"]),
        ("def f():\n    from assay.data import scales", ["assay.data.scales"]),
        ("if TYPE_CHECKING:\n    from .scales import Scale", ["assay.data.scales"]),
        ("from . import scales", ["assay.data.scales"]),
        ("from .. import errors", ["assay.errors"]),
        ("import numpy", []),
        ('READER = "assay.reading:labels_of"', ["assay.reading"]),
        ('importlib.import_module("assay.reading")', ["assay.reading"]),
        ('"see assay.reading"', []),
    ],
)
def test_imports_are_found_in_every_position(code, wanted, tmp_path, monkeypatch):
    path = tmp_path / "trial.py"
    path.write_text(code)
    monkeypatch.setitem(MODULES, "assay.data.trial", path)
    assert [name for name, _ in imports_of("assay.data.trial")] == wanted


def test_file_names_of_tests_are_unique():
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names)), "pytest collects one of two files of a name alone"


@pytest.mark.xdist_group("house")
def test_tests_of_one_group_share_a_process(request: pytest.FixtureRequest) -> None:
    """pytest-xdist tells groups by the end of a test's name; where it does not, what is made once is made often."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        assert request.node.nodeid.endswith("@house")


def test_packages_are_small_enough_to_know():
    lines: dict[str, int] = {}
    for path in MODULES.values():
        package = path.parent.relative_to(HOUSE.parent).as_posix()
        lines[package] = lines.get(package, 0) + len(path.read_text(encoding="utf-8").splitlines())
    most = {"assay/data": LARGEST_OF_TABLES, "assay/study": LARGEST_OF_TABLES}
    assert {name: n for name, n in lines.items() if n > most.get(name, LARGEST)} == {}
