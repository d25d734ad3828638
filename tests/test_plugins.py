"""A package that adds a format and a similarity, installed next to assay as pip would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
import polars as pl

from assay.data.formats import Rows
from assay.data.formats.registry import Format
from assay.similarity.protocol import OfFunction
from assay.similarity.registry import Named


def read(path, item, settings):
    rows = [line.split("|") for line in path.read_text().splitlines()[1:]]
    return Rows(pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row"))


PIPES = Format("pipes", "labels between vertical bars", read, lambda file: file.first_line == "#pipes")


def same_length(one, other):
    return float(len(one) == len(other))


LENGTHS = Named(lambda: OfFunction(same_length), "1 for texts of the same length, else 0")
NOT_A_FORMAT = 5


def tiny_parts(labels, options):
    from assay.reporting.page import Part

    return (Part("Number of labels", (f"The table has {len(labels)} labels.",)),)


def count(source):
    import assay

    print(len(assay.read(source)))
"""
FURTHER = """
from assay.cli.commands import Command
from assay.verdict.report import ReportPart

NUMBER = ReportPart("number", "tiny:tiny_parts")
COUNT = Command("count", "Print the number of labels.", "labels.txt", run="tiny:count")
"""
POINTS = {"assay.formats": ["pipes = tiny:PIPES"], "assay.similarities": ["lengths = tiny:LENGTHS"]}
MORE = {"assay.report_parts": ["number = tiny_more:NUMBER"], "assay.commands": ["count = tiny_more:COUNT"]}


def install(folder: Path, points: dict[str, list[str]], module: str = MODULE) -> None:
    """Write the files of a package as pip leaves them."""
    folder.mkdir(exist_ok=True)
    (folder / "tiny.py").write_text(module)
    about = folder / "tiny_plugin-1.0.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-plugin\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "".join(f"[{group}]\n" + "".join(f"{line}\n" for line in lines) for group, lines in points.items())
    )


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the package on its path."""
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); sys.argv = ['-c', *sys.argv[1:]]; " + arguments[0]
    return subprocess.run(
        [sys.executable, "-c", code, *arguments[1:]], capture_output=True, text=True, check=False, cwd=folder
    )


COMMAND = "from assay.cli.app import main; main()"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    install(tmp_path / "site", POINTS | MORE)
    (tmp_path / "site" / "tiny_more.py").write_text(FURTHER)
    return tmp_path / "site"


@pytest.fixture
def labels(folder: Path) -> Path:
    path = folder / "labels.txt"
    rows = [f"i{k}|{who}|{1 + (k + (who == 'cho')) % 3}" for k in range(12) for who in ("ann", "bob", "cho")]
    path.write_text("\n".join(["#pipes", *rows]) + "\n")
    return path


@pytest.mark.slow
def test_format_of_a_plugin_is_recognised_and_named(folder: Path, labels: Path) -> None:
    for given in ("", ", format='pipes'"):
        done = run(folder, f"import assay; print(assay.read({str(labels)!r}{given}).n_items)")
        assert (done.stdout, done.stderr) == ("12\n", "")
    done = run(folder, f"import assay; assay.read({str(labels)!r}, format='pipe')")
    assert "did you mean 'pipes'?" in done.stderr


@pytest.mark.slow
def test_similarity_of_a_plugin_is_used_and_suggested(folder: Path) -> None:
    ask = "import assay; print(assay.similarity_matrix(['ab', 'cd', 'efg'], {!r}).tolist())"
    done = run(folder, ask.format("lengths"))
    assert (done.stdout, done.stderr) == ("[[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]\n", "")
    assert "did you mean 'lengths'?" in run(folder, ask.format("length")).stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "module", "words"),
    [
        ("pipes = tiny:NOT_A_FORMAT", MODULE, "must be an instance of assay.data.formats.registry.Format; got int"),
        ("pipes = tiny:PIPES", "import no_such_module", "cannot be imported: ModuleNotFoundError"),
        ("arena = tiny:PIPES", MODULE, "assay has a part named 'arena' already"),
    ],
)
def test_broken_plugin_is_named_with_its_package(
    tmp_path: Path, labels: Path, line: str, module: str, words: str
) -> None:
    install(tmp_path / "site", {"assay.formats": [line]}, module)
    done = run(tmp_path / "site", f"import assay; assay.read({str(labels)!r})")
    assert words in done.stderr
    assert "of tiny-plugin (group assay.formats)" in done.stderr


@pytest.mark.slow
def test_command_of_a_plugin_runs_and_is_listed(folder: Path, labels: Path) -> None:
    done = run(folder, COMMAND, "count", str(labels))
    assert (done.stdout, done.stderr) == ("36\n", "")
    assert "From other packages\n  count         Print the number of labels." in run(folder, COMMAND, "--help").stdout


BROKEN = {
    "broken = no_such_module:X": ("broken", "cannot be imported: ModuleNotFoundError"),
    "tally = tiny_more:COUNT": ("tally", "has the name 'count'; use the same name for both"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("line", "name", "words"), [(line, *found) for line, found in BROKEN.items()])
def test_broken_command_of_a_plugin_is_one_line_and_keeps_the_help(
    folder: Path, line: str, name: str, words: str
) -> None:
    install(folder, {"assay.commands": [line]})
    done = run(folder, COMMAND, name, "labels.txt")
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    shown = run(folder, COMMAND, "--help").stdout
    assert words in " ".join(shown.split())
    assert "  report " in shown


@pytest.mark.slow
def test_command_of_a_plugin_cannot_have_a_known_name(folder: Path) -> None:
    install(folder, {"assay.commands": ["report = tiny_more:COUNT"]})
    shown = " ".join(run(folder, COMMAND, "--help").stdout.split())
    assert "assay has a part named 'report' already; rename the entry point" in shown


@pytest.mark.slow
def test_command_of_a_plugin_in_a_group_runs_and_is_listed(folder: Path, labels: Path) -> None:
    more = FURTHER.replace('Command("count"', 'Command("plan count"')
    (folder / "tiny_more.py").write_text(more)
    install(folder, POINTS | {"assay.commands": ["plan count = tiny_more:COUNT"]})
    assert run(folder, COMMAND, "plan", "count", str(labels)).stdout == "36\n"
    assert "  count         Print the number of labels." in run(folder, COMMAND, "plan").stdout


@pytest.mark.slow
def test_mistyped_command_of_a_plugin_is_suggested(folder: Path) -> None:
    assert "Did you mean assay count?" in run(folder, COMMAND, "coumt").stderr


@pytest.mark.slow
def test_report_part_of_a_plugin_is_on_the_page(folder: Path, labels: Path) -> None:
    code = (
        f"import assay; print([s.title for s in assay.report(assay.read({str(labels)!r}, judges=['cho']), epsilon=0.2, "
    )
    done = run(folder, code + "n_resamples=20, min_items=5).page.sections])")
    assert "'Number of labels'" in done.stdout, done.stderr


@pytest.mark.slow
def test_provider_of_a_plugin_is_found(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    module = (
        "from assay.judging.services.providers import ProviderRow\n"
        "ECHO = ProviderRow(lambda judge, row, access: 'echo of ' + judge.name, is_free=True)\n"
    )
    install(tmp_path / "site", {"assay.providers": ["echo = tiny:ECHO"]}, module)
    code = (
        "from pathlib import Path; from assay.judging.services.providers import Access, provider_for; "
        "from assay.study.schema import Judge; judge = Judge(name='m', provider='echo', model='x'); "
        "print(provider_for(judge, Access(Path('.'), 1, 1)))"
    )
    done = run(tmp_path / "site", code)
    assert (done.stdout, done.stderr) == ("echo of m\n", "")
