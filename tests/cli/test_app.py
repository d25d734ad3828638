"""The command line: output, streams and exit status."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import assay
from assay.cli import app as cli
from assay.cli.commands import BY_NAME, Command

COLUMNS = ("--item", "id", "--annotator", "worker", "--label", "stars", "--judges", "gpt-4o,llama")


Run = Callable[..., tuple[int, str, str]]


def test_alt_test_prints_table_and_verdict(run: Run, table: str) -> None:
    code, out, err = run("alt-test", table, *COLUMNS, "--scale", "1-5", "--epsilon", "0.1", "--judge", "gpt-4o")
    assert code == 0
    assert out.splitlines()[0].split()[:2] == ["annotator", "ρ"]
    assert not {"statistic", "quality", "difference"} & set(out.splitlines()[0].split())
    assert "Replace: gpt-4o may replace these annotators." in out
    assert "alt-test|items:80|humans:3|judge:gpt-4o" in out
    assert err == ""


def test_alt_test_compares_all_judges(run: Run, table: str) -> None:
    code, out, _ = run("alt-test", table, *COLUMNS, "--scale", "1-5", "--expertise", "crowd")
    assert code == 0
    assert "optimal judge (mean of annotators; for reference)" in out
    assert "gpt-4o is significantly closer to the annotators." in " ".join(out.split())


def test_json_option_prints_only_json(run: Run, table: str) -> None:
    code, out, err = run("alt-test", table, *COLUMNS, "--expertise", "crowd", "--judge", "llama", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["judge"] == "llama"
    assert found["settings"]["seed"] == 0
    assert err.startswith("note: Assumed scale 1-5. If wrong, set --scale ...")


def test_csv_option_prints_all_digits(run: Run, table: str) -> None:
    _, out, _ = run("alt-test", table, *COLUMNS, "--expertise", "crowd", "--judge", "gpt-4o", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["annotator"] for row in rows] == ["ann_1", "ann_2", "ann_3"]
    assert {"estimate", "low", "high", "n", "p_adjusted"} <= set(rows[0])


@pytest.mark.slow
def test_fail_under_sets_exit_status(run: Run, table: str) -> None:
    arguments = ("alt-test", table, *COLUMNS, "--expertise", "crowd", "--judge")
    assert run(*arguments, "gpt-4o", "--fail-under", "0.5")[0] == 0
    assert run(*arguments, "llama", "--fail-under", "0.5")[0] == 1
    assert run(*arguments, "llama")[0] == 0
    assert run(*arguments[:-1], "--fail-under", "0.5")[0] == 1  # one judge of two is below it


@pytest.mark.slow
def test_alt_test_tests_criteria_separately(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    assay.simulate(n_items=50, criteria=["clear", "true"], seed=1).labels.write_csv(path)
    code, out, _ = run("alt-test", str(path), "--judges", "judge", "--expertise", "skilled")
    assert code == 0
    assert "of 2 (criterion; Benjamini–Yekutieli across all criteria)" in " ".join(out.split())
    code, out, _ = run(
        "alt-test", str(path), "--judges", "judge", "--expertise", "skilled", "--where", "criterion=clear"
    )
    assert code == 0
    assert "out of" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--judge", "gtp-4o", "--epsilon", ".1"), "'gtp-4o' is not in the judges of the table; did you mean"),
        ((), "set --expertise expert (.2)"),
        (("--epsilon", "2"), "epsilon must lie between 0 and 1; got 2.0"),
        (("--epsilon", "abc"), "--epsilon must be a number; got 'abc'"),
        (("--min-items", "many"), "--min-items must be a whole number; got 'many'"),
        (("--epsilon",), "--epsilon requires a value; see assay alt-test --help"),
        (("--epsilon", ".1", "--scael", "1-5"), "Unknown option: --scael. Did you mean --scale?"),
        (("--epsilon", ".1", "--scale", "1-3"), "off the scale (row "),
        (("--epsilon", ".1", "--where", "worker"), "--where must be COLUMN=VALUE; got 'worker'"),
        (("--epsilon", ".1", "--criterion", "star"), "column 'star' is not in"),
        (("--epsilon", ".1", "--similarity", "sound"), "similarity 'sound' is not in assay; it has words, characters"),
    ],
)  # fmt: skip
def test_alt_test_refuses_bad_input_in_one_line(run: Run, table: str, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = run("alt-test", table, *COLUMNS, *arguments)
    assert code == 2
    assert out == ""
    lines = [line for line in err.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 1
    assert lines[0].startswith("assay: ")
    assert message.replace('"', "") in lines[0].replace('"', "")  # cyclopts before 4.6 puts options in quotes


@pytest.mark.parametrize("arguments", [("alt-tst",), ("alt-test",), ("alt-test", "nothing.csv", "--epsilon", ".1")])
def test_unknown_command_and_missing_file_are_refused(run: Run, arguments: tuple[str, ...]) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("alt-test",), "alt-test requires SOURCE: a file, folder or study of labels; see assay alt-test --help"),
        (("drift", "a.csv"), "drift requires AFTER: labels of the later run; see assay drift --help"),
        (("plan", "validate", "a.csv"), "plan validate does not accept a.csv; see assay plan validate --help"),
        (("drift", "a.csv", "b.csv", "c.csv", "d.csv"), "drift does not accept c.csv, d.csv; see assay drift --help"),
    ],
)
def test_missing_and_surplus_arguments_are_named(run: Run, arguments: tuple[str, ...], message: str) -> None:
    assert run(*arguments) == (2, "", f"assay: {message}\n")


def test_problems_of_a_study_are_one_line_each_in_order(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("pydantic", reason='opening a study needs the extra "judge"')
    (tmp_path / "study.yaml").write_text(
        "items: {file: items.csv, idd: id}\n"
        "people: {overlap: three}\n"
        "judges: {mine: openai:gpt-5-mini}\n"
        "questions: [{name: q, text: Good?, scale: 1-5}]\n"
        "name: x\n"
    )
    code, out, err = run("study", "status", str(tmp_path))
    path = tmp_path / "study.yaml"
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        f"assay: {path}, line 1, items.idd: is not a key here; did you mean 'id'?",
        f"  {path}, line 2, people.overlap: must be a whole number or a mapping",
        f"  {path}, line 3, judges: must be a list",
    ]


def test_signature_is_printed_unchanged(run: Run, table: str) -> None:
    _, out, _ = run("g-study", table, *COLUMNS, "--design", "item x annotator", "--object", "item")
    assert "|facets:item=item,annotator=annotator|" in "".join(out.splitlines())


@pytest.mark.slow
@pytest.mark.usefixtures("few_truths", "without_pictures")
def test_report_writes_page(run: Run, table: str, tmp_path: Path) -> None:
    page = tmp_path / "deep" / "page.html"
    code, out, err = run(
        "report", table, *COLUMNS, "--epsilon", "0.2", "--min-agreement-ratio", "0.3", "--output", str(page)
    )
    assert code == 0
    assert "gpt-4o may replace one of these annotators." in out
    assert f"written to {page}" in err
    assert "gpt-4o may replace one of these annotators." in page.read_text(encoding="utf-8")


@pytest.mark.usefixtures("sketches")
def test_demo_reports_known_verdicts(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("demo", "--output", str(tmp_path / "report.html"))
    assert code == 0
    assert out.startswith("A simulated study, not real data")
    assert "careful may replace a skilled annotator." in out
    settled = "150 items do not settle whether it is as good as half of the annotators."
    assert f"Undecided for middling: {settled}" in " ".join(out.split())
    assert "Do not replace a skilled annotator with careless: it is worse than at least 2 of 4" in " ".join(out.split())


def test_similarity_option_takes_name_or_table(run: Run, tmp_path: Path) -> None:
    rows = ["item,annotator,label"]
    for i in range(40):
        rows += [f"i{i},ann,red apple", f"i{i},bob,green apple", f"i{i},m,{'red apple' if i % 2 else 'a chair'}"]
    path = tmp_path / "texts.csv"
    path.write_text("\n".join(rows) + "\n")
    common = ("alt-test", str(path), "--judges", "m", "--scale", "text", "--epsilon", ".2")
    assert run(*common, "--similarity", "words")[0] == 0
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("a,b,s\nred apple,green apple,.6\nred apple,a chair,.1\ngreen apple,a chair,.1\n")
    code, out, _ = run(*common, "--similarity", str(pairs))
    assert code == 0
    assert "Notes: score similarity" in out


@pytest.mark.slow
def test_help_lists_commands_and_options(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    for command in ("alt-test", "report", "demo"):
        assert command in out
    code, out, _ = run("alt-test", "--help-all")
    assert code == 0
    assert "Example: assay alt-test" in out
    assert "--min-class" in out


@pytest.mark.xdist_group("pages")  # the options of all commands are read in one process
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_page_is_written_where_the_reader_of_the_output_stops(tmp_path, unbuffered):
    """As in ``assay agreement … | head -1``: the page is written, and the exit status is that of the command."""
    sheet, page = Path(__file__).parents[2] / "examples" / "sheet.csv", tmp_path / "page.html"
    quick = ["--coefficients", "exact-agreement", "--n-resamples", "40"]
    words = ["-m", "assay", "agreement", str(sheet), "--judges", "gpt-4o", *quick, "--output", str(page)]
    read, write = os.pipe()
    os.close(read)
    try:
        where = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run([sys.executable, *words], stdout=write, stderr=subprocess.PIPE, text=True, env=where)
    finally:
        os.close(write)
    assert done.returncode == 0, done.stderr
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "pipe" not in done.stderr.lower()


def test_commands_take_further_files_by_position(run, tmp_path):
    people, judge = tmp_path / "people.csv", tmp_path / "gpt.csv"
    rows = [(i, i % 3 + 1, (i + i // 4) % 3 + 1, (i + i // 5) % 3 + 1) for i in range(40)]
    people.write_text("id,ann,bob\n" + "\n".join(f"{i},{a},{b}" for i, a, b, _ in rows), encoding="utf-8")
    judge.write_text("id,gpt-4o\n" + "\n".join(f"{i},{j}" for i, *_, j in rows), encoding="utf-8")
    for command in ("agreement", "alt-test --expertise crowd", "probes", "card --expertise crowd", "disagreement"):
        name, *options = command.split()
        found = run(name, people, judge, *options, "--judges", "gpt-4o", "--json")
        assert found[0] == 0, found
        assert found[1] == run(name, people, "--labels-from", judge, *options, "--judges", "gpt-4o", "--json")[1]
        assert "gpt-4o" in found[1]


@pytest.mark.parametrize("row", BY_NAME.values(), ids=list(BY_NAME))
def test_short_help_fits_a_page_with_example_and_main_options(row: Command, run: Run) -> None:
    code, out, _ = run(row.name, "--help")
    assert code == 0
    assert len(out.splitlines()) <= 40
    assert max(map(len, out.splitlines())) <= 80
    assert f"Example: {row.line} " in re.sub(r"\s+", " ", out)
    assert out.count("Example:") == 1
    shown = set(re.findall(r"(?m)^  (--[\w-]+)", out))
    everything = {one.name for one in cli.visible_arguments(row.name) if one.index is None}
    assert shown <= everything
    left = re.search(rf"(\d+) more options?: assay {row.name} --help-all", out)
    assert len(everything) - len(shown) == (int(left[1]) if left else 0)
    assert set(re.findall(r"(?<!assay )--[\w-]+", row.line)) <= shown | UNUSUAL, "the example shows what help explains"


UNUSUAL = {"--criterion", "--repeat", "--condition", "--humans", "--conditions", "--option"}


LOOK_HELP = """\
Usage: assay look SOURCES... [OPTIONS]

Show how a file will be read, any ambiguities, and the analyses it supports.

Example:
  assay look examples/sheet.csv

  SOURCES...              A file, folder or study of labels; several files are
                          joined by item.
  --write                 Save the reading options to this file.
  --browser               Open a local page: drop files, change roles by a
                          click, make the report.
  --port                  Port of the page, with --browser; 0 takes a free one.
  --item                  Column with the item id.
  --annotator             Column with the annotator.
  --label                 Column with the label.
  --judges                Names of all judges in the table.
  --scale                 Scale of the labels: 1-5, interval:0-100,
                          ordinal:low<mid<high, nominal:yes,no, several, text,
                          preference.
  --wide                  One row per item, one column per annotator.
  --reading               File of reading options, from assay look FILE --write.
  --json                  Print the result as JSON.

28 more options: assay look --help-all
"""


def test_short_help_of_look(run: Run) -> None:
    assert run("look", "--help") == (0, LOOK_HELP, "")
    assert run("look", "-h") == (0, LOOK_HELP, "")
    none = run("people", "links", "--help")[1]
    assert none.startswith(
        "Usage: assay people links STUDY NAMES... [OPTIONS]\n\nPrint the personal links of the study lead"
    )


def test_help_entry_wraps_long_names() -> None:
    def entry(name: str, words: str, *choices: str) -> list[str]:
        parameter = SimpleNamespace(help=words)
        made: Any = SimpleNamespace(index=None, names=(name,), parameter=parameter, get_choices=lambda: choices)
        return cli._entry(made)

    assert entry(f"--{'x' * 20}", "Words. [default: 1]") == [f"  --{'x' * 20}  Words."]
    assert entry(f"--{'x' * 21}", "Words.") == [f"  --{'x' * 21}", f"{' ' * 26}Words."]
    assert entry("--a", "") == [f"  --a{' ' * 21}"]
    assert entry("--a", "Which.", *"wxyz") == [f"  --a{' ' * 21}Which. [w, x, y, z]"]
    assert entry("--a", "Which.", *"vwxyz") == [f"  --a{' ' * 21}Which."]
    assert entry("--a", "x" * 54 + " y") == [f"  --a{' ' * 21}{'x' * 54}", f"{' ' * 26}y"]


@pytest.mark.slow
def test_short_help_lists_question_before_reading(run: Run) -> None:
    out = run("report", "--help")[1]
    assert out.index("--epsilon") < out.index("--item") < out.index("--json")
    assert "[expert, skilled, crowd]" in re.sub(r"\s+", " ", out)
    assert "--n-resamples" not in out
    assert "--n-resamples" in run("report", "--help-all")[1]
    assert run("report", "-h") == run("report", "--help")
    assert run("plan", "--help-all") == run("plan", "--help") == run("plan")


def test_first_screen_imports_no_command_and_has_at_most_30_entries(run: Run) -> None:
    code = "import sys; from assay.cli.app import main\ntry: main(['--help'])\nfinally: print('polars' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n")
    out = run("--help")[1]
    assert run() == run("-h") == (0, out, "")
    entries = re.findall(r"(?m)^  ([a-z][a-z-]*) ", out)
    further = [name for name, row in BY_NAME.items() if row.further]
    assert entries == list(dict.fromkeys(name.partition(" ")[0] for name in BY_NAME if name not in further))
    assert len(entries) <= 30
    assert f"\nFurther commands: {', '.join(further)}\n" in out
    titles = ["Verdict", "After a yes", "Agreement", "Comparing", "Planning", "Studies", "Files"]
    assert re.findall(r"(?m)^([A-Z][^:\n]*)$", out)[1:] == titles
    assert max(map(len, out.splitlines())) <= 80
    words = re.sub(r"\s+", " ", out)
    for name, row in BY_NAME.items():
        assert (f" {name} {row.does}" in words) == (" " not in name and not row.further)


@pytest.mark.parametrize("family", cli.FAMILIES)
def test_group_screen_lists_its_commands(run: Run, family: str) -> None:
    out = run(family, "--help")[1]
    assert run(family) == (0, out, "")
    words = re.sub(r"\s+", " ", out)
    inside = [row for row in BY_NAME.values() if row.name.startswith(f"{family} ")]
    assert len(inside) >= 5
    assert all(f" {row.name.partition(' ')[2]} {row.does}" in words for row in inside)


def test_import_assay_is_lazy() -> None:
    heavy = "('polars', 'numpy', 'scipy', 'matplotlib', 'cyclopts', 'pydantic', 'jinja2', 'joblib')"
    code = f"import sys, assay; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.usefixtures("without_pictures")
def test_report_and_alt_test_on_real_data(run: Run, tmp_path: Path, real_data: Path) -> None:
    wax, lesion = str(real_data / "alt_test" / "wax"), str(real_data / "alt_test" / "lesion")
    code, out, _ = run("report", wax, "--expertise", "crowd", "--output", str(tmp_path / "r.html"))
    assert code == 0
    assert "Undecided for gemini_pro" in out  # p = 0.0504 after Holm's adjustment for six judges
    assert "margin ε = 0.1 (p = 0.0504)" in " ".join(out.split())
    code, out, _ = run("alt-test", wax, "--judge", "gemini_pro", "--expertise", "crowd")
    assert "Replace: gemini_pro may replace these annotators." in out
    code, out, _ = run("alt-test", lesion, "--judge", "gpt-4o", "--expertise", "skilled", "--split-item", "no")
    assert code == 0
    assert "Published rule: does not pass (ω = 0.00, 0 of 6 annotators" in out
    code, out, said = run("alt-test", lesion, "--judge", "gpt-4o", "--expertise", "skilled", "--correction", "within")
    assert code == 0
    assert "each question is a criterion; --split-item no pools them" in said
    assert "Published rule: passes in 2 of 5" in out


@pytest.mark.slow
def test_ideas_page_has_available_parts(run: Run, tmp_path: Path) -> None:
    """The parts for measures, for agreement on triplets with two choices, and for pairs."""
    whole = pl.read_csv(Path(__file__).parents[2] / "examples" / "odd_ones.csv")
    whole.filter(pl.col("annotator") != "gpt-4o").write_csv(tmp_path / "people.csv")
    whole.filter(pl.col("annotator") == "ana").unique("item").write_csv(tmp_path / "one.csv")
    titles = {
        "measures": "Validity of similarity measures", "agreement": "Agreement on the odd one out",
        "pairs": "Similarity of texts",
    }  # fmt: skip
    wanted = {
        ("people.csv", "--measures", "words", "--n-resamples", "20"): {"measures", "agreement", "pairs"},
        ("people.csv",): {"agreement", "pairs"},
        ("one.csv",): {"pairs"},
    }
    for (name, *more), parts in wanted.items():
        page = tmp_path / "page.html"
        code, out, err = run("ideas", tmp_path / name, "--scale", "odd-one-out", *more, "--output", page)
        assert code == 0, err
        text = page.read_text("utf-8")
        assert {part for part, title in titles.items() if title in text} == parts
        assert ("same odd-one-out choice on" in out) == ("agreement" in parts)


@pytest.mark.slow
def test_agreement_names_coefficient_in_header_or_rows(run: Run, table: str) -> None:
    for names, several in (("cohen-kappa", False), ("cohen-kappa,scott-pi", True)):
        code, out, err = run(
            "agreement", table, *COLUMNS, "--scale", "1-5", "--coefficients", names, "--n-resamples", "20"
        )
        assert code == 0, err
        header = next(line for line in out.splitlines() if line.startswith("between "))
        assert ("Cohen's κ" in header, "estimate" in header) == (not several, several)
        rows = [line for line in out.splitlines() if line.startswith("humans ")]
        assert [("Cohen's κ" in row, "Scott's π" in row) for row in rows] == (
            [(True, False), (False, True)] if several else [(False, False)]
        )
