"""Every sheet of the corpus is read correctly: at once, by the command that `look` prints, or refused."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from corpus import JUDGE, KINDS, Wanted, xlsx

import assay
from assay.errors import AssayError

Run = Callable[..., tuple[int, str, str]]
pytestmark = pytest.mark.xdist_group("sheets")


LEAST_KINDS, LEAST_ANSWERED = 64, 55
MOST_QUESTIONS, LEAST_UNASKED = 2, 2 / 3


def misread(labels: assay.Annotations, wanted: Wanted) -> str:
    """How a table differs from the correct reading; empty if it does not."""
    if wanted.refused:
        return f"read as {labels!r}, and it should be refused"
    if set(labels.judges) != set(wanted.judges) or set(labels.humans) != set(wanted.people):
        return f"people {labels.humans}, judges {labels.judges}"
    if labels.n_items != wanted.n_items or labels.criteria != wanted.criteria:
        return f"{labels.n_items} items, criteria {labels.criteria}"
    found: dict[tuple[str, str], set[object]] = {}
    for item, who, label in labels.labels.select("item", "annotator", "label").iter_rows():
        found.setdefault((item if wanted.named else "", who), set()).add(label)
    told = {(i if wanted.named else "", w): v for w, cells in wanted.cells.items() for i, v in cells.items()}
    for key in told if wanted.named and wanted.cells else ():
        if found.get(key) != {told[key]}:
            return f"{key}: {found.get(key)} instead of {told[key]}"
    if wanted.named and wanted.cells and set(found) != set(told):
        return f"further labels: {sorted(set(found) - set(told))[:4]}"
    return ""


def outcome(name: str, folder: Path) -> str:
    """``at once``, ``by the call``, ``asked``, ``refused`` or ``misread: ...``."""
    kind = KINDS[name]
    path = kind.write(folder)
    try:
        labels = assay.read(path)
    except AssayError:
        pass
    else:
        wrong = misread(labels, kind.wanted)
        return f"misread: {wrong}" if wrong else "at once"
    try:
        look = assay.look(path)
    except AssayError as error:
        return "refused" if kind.wanted.refused in str(error) else f"misread: {error}"
    if look.readings:
        wrong = [misread(assay.read(path, **options), kind.wanted) for _, options in look.readings if options]
        return "asked" if "" in wrong else f"misread: {wrong}"
    if look.labels is None:
        right = kind.wanted.refused and kind.wanted.refused in " ".join(look.errors)
        return "refused" if right else f"refused: {look.errors}"
    wrong = misread(eval(look.call, {"assay": assay}), kind.wanted)
    return f"misread: {wrong}" if wrong else "by the call"


def test_corpus_has_enough_kinds() -> None:
    assert len(KINDS) >= LEAST_KINDS


@pytest.mark.parametrize("name", [pytest.param(one, marks=[pytest.mark.slow] * (i % 2)) for i, one in enumerate(KINDS)])
def test_read_misreads_no_sheet(name: str, tmp_path: Path) -> None:
    found = outcome(name, tmp_path)
    assert not found.startswith("misread"), found
    if found.startswith("refused"):
        assert KINDS[name].wanted.refused, found


def test_most_kinds_are_readable() -> None:
    """Kinds that must not be refused; the test above reads each of them, half of them in the slow tests."""
    assert sum(not kind.wanted.refused for kind in KINDS.values()) >= LEAST_ANSWERED


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n, kind in KINDS.items() if not kind.wanted.refused])
def test_look_command_reads_sheet(name: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = KINDS[name].write(tmp_path).relative_to(tmp_path)
    readings = [options for _, options in assay.look(path).readings if options]
    right = next((one for one in readings if not misread(assay.read(path, **one), KINDS[name].wanted)), {})
    more = [f"--{k.replace('_', '-')}={v if isinstance(v, str) else ','.join(map(str, v))}" for k, v in right.items()]
    code, out, err = run("look", str(path), "--write", "reading.yaml", *more)
    assert code == 0, err
    line = re.search(r"^Next command: +assay (.+)$", out, flags=re.MULTILINE)
    assert line is not None, out
    words = shlex.split(line[1])
    if "--expertise" in words:
        del words[words.index("--expertise") : words.index("--expertise") + 2]
    # The options are the same for all commands: the exported table shows it.
    code, _, err = run("export", words[1], "out.jsonl", *words[2:])
    assert code == 0, err
    wrong = misread(assay.read("out.jsonl", judges=judges_of(name)), KINDS[name].wanted)
    assert not wrong, wrong
    wrong = misread(assay.read("reading.yaml"), KINDS[name].wanted)
    assert not wrong, wrong


@pytest.mark.slow
def test_usual_sheets_need_few_questions(tmp_path: Path) -> None:
    found = []
    for name, kind in KINDS.items():
        (tmp_path / name).mkdir()
        path = kind.write(tmp_path / name)
        try:
            look = assay.look(path)
        except AssayError:
            continue
        if not kind.wanted.refused:
            found.append(len(look.errors))
    assert max(found) <= MOST_QUESTIONS
    assert sum(n == 0 for n in found) >= LEAST_UNASKED * len(found)


def judges_of(name: str) -> list[str]:
    return list(KINDS[name].wanted.judges)


def test_misread_finds_differences(tmp_path: Path) -> None:
    labels = assay.read(KINDS["canonical"].write(tmp_path), judges=[JUDGE])
    assert not misread(labels, KINDS["canonical"].wanted)
    assert misread(labels.where(annotator=["Ann", JUDGE]), KINDS["canonical"].wanted)
    assert misread(labels, KINDS["wide_words"].wanted)


def test_read_wide_keeps_text_as_item_metadata(tmp_path):
    path = tmp_path / "sheet.csv"
    rows = [
        f"r{n},The soup of table {n} was cold and came late; nobody knew why.,{n % 5 + 1},{n % 4 + 1}"  # dialect: kept
        for n in range(30)
    ]
    path.write_text("\n".join(["key,review,ann,bob", *rows]))
    labels = assay.read(path, layout="wide")
    assert (labels.humans, labels.judges) == (("ann", "bob"), ())
    assert labels.items.filter(pl.col("item") == "r7")["review"].to_list() == [
        "The soup of table 7 was cold and came late; nobody knew why."  # dialect: kept
    ]
    assert any("'review' kept as item metadata: free text" in line for line in labels.reading.notes)


def test_read_codes_from_sheet_of_workbook(tmp_path, run):
    path = xlsx(tmp_path / "book.xlsx", {
        "Labels": [["item", "ann", "bob"], *([f"i{n}", n % 3 + 1, n % 2 + 1] for n in range(20))],
        "Key": [["code", "meaning"], [1, "never"], [2, "sometimes"], [3, "always"]],
    })  # fmt: skip
    labels = assay.read(path, layout="wide")
    assert "sheet 'Key' could define codes; to use it, set codes='Key'" in labels.reading.notes
    words = assay.read(path, layout="wide", codes="Key")
    assert set(words.labels["label"]) == {"never", "sometimes", "always"}
    code, _, said = run("agreement", path, "--wide", "--codes", "Key", "--scale", "ordinal:never<sometimes<always")
    assert (code, "codes replaced by words: 1 = never" in said) == (0, True)
    assert "--codes Key" in run("look", path, "--wide", "--codes", "Key")[1]
