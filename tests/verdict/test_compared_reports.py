"""What changed since an older report: which cells, of whom, and what must not be read from that."""

import json
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import assay
from assay.verdict.changes import OldReport, changes_since
from assay.verdict.report import Report, report

pytestmark = [pytest.mark.usefixtures("few_truths", "without_pictures"), pytest.mark.xdist_group("changes")]

OPTIONS = {"expertise": "skilled", "n_resamples": 40}


def judged(noise: float, name: str = "gpt-4o") -> assay.Annotations:
    """Four people and a judge that answers this often at random."""
    labels = assay.simulate(150, 4, judges={"judge": noise}, seed=7)
    frame = labels.labels.with_columns(pl.col("annotator").replace({"judge": name}))
    return assay.Annotations.from_frame(frame, judges=[name], scale=labels.scale)


@pytest.fixture(scope="module")
def weak(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weak")
    report(judged(0.9), **OPTIONS).save(folder / "report.html")
    return folder / "report.json"


@pytest.fixture(scope="module")
def better(weak: Path) -> Report:
    return report(judged(0.1), compare=str(weak), **OPTIONS)


@pytest.mark.slow
def test_cells_that_moved_are_said_with_their_marks(better: Report) -> None:
    changes = better.page.changes
    assert changes is not None
    assert changes.words[0] == (
        "3 of 7 cells of the card differ from report.json: gpt-4o: replacement ✗ → ✓, concordance ✗ → ✓, helpfulness "
        "✗ → ✓."
    )
    assert "The labels are not the same ones." in changes.words
    assert changes.words[-1].startswith("A mark that moved tells what is shown now, not that a judge changed")
    row = changes.tables[0].frame.row(0, named=True)
    marks = better.card.table.filter(dimension="replacement").row(0, named=True)
    assert (row["before"], row["now"]) == ("✗", "✓")
    assert row["since"] == pytest.approx(marks["estimate"])
    assert row["then_high"] < row["since_low"]
    assert "Since the older report:\n  3 of 7 cells" in better.summary()
    assert better.page.html().index("What changed") < better.page.html().index("The judges side by side")


def test_nothing_changed_is_said(weak: Path) -> None:
    again = report(judged(0.9), compare=str(weak), **OPTIONS).page.changes
    assert again is not None
    assert again.words == ("No cell of the card differs from report.json.", "The labels are the same ones.")


def test_one_judge_that_is_gone_stands_beside_one_that_is_new(weak: Path) -> None:
    found = report(judged(0.1, "gpt-5"), compare=str(weak), epsilon=0.2, n_resamples=40).page.changes
    assert found is not None
    assert "gpt-4o → gpt-5: replacement ✗ → ✓" in found.words[0]
    assert "gpt-5 is set beside gpt-4o, which is not in these labels." in found.words
    (options,) = (line for line in found.words if line.startswith("Options differ: "))
    assert "expertise skilled then, None now" in options
    assert "epsilon None then, 0.2 now" in options


def test_two_new_judges_are_not_guessed_to_be_the_old_one(weak: Path) -> None:
    labels = assay.simulate(60, 4, judges={"gpt-5": 0.1, "gpt-6": 0.1}, seed=7)
    found = report(labels, compare=str(weak), **OPTIONS).page.changes
    assert found is not None
    assert found.words[0] == "No judge is on this card and on that of report.json."
    assert "Only then: gpt-4o." in found.words
    assert "Only now: gpt-6, gpt-5." in found.words
    assert not found.tables


def test_the_numbers_on_the_page_are_those_beside_it(weak: Path) -> None:
    page = (weak.with_suffix(".html")).read_text(encoding="utf-8")
    inside = page.partition('<script type="application/json" id="report">')[2].partition("</script>")[0]
    beside = json.loads(weak.read_text(encoding="utf-8"))
    assert json.loads(inside) == beside
    titles = [one["title"] for one in beside["sections"]]
    assert "Annotator by annotator" in titles
    table = beside["sections"][titles.index("Annotator by annotator")]["tables"][0]["columns"]
    assert table["annotator"] == ["ann_1", "ann_2", "ann_3", "ann_4"]
    assert all(0 < value < 1 for value in table["estimate"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "there is no file"),
        ("not JSON", "is no report; name the .json file"),
        ('{"kind": "Agreement", "signature": "x"}', "is no report; name the .json file"),
        ('{"kind": "Report", "signature": "x", "card": null}', "has no card to compare with"),
    ],
)
def test_what_is_no_report_is_refused(tmp_path: Path, text: str | None, words: str) -> None:
    place = tmp_path / "old.json"
    if text is not None:
        place.write_text(text, encoding="utf-8")
    with pytest.raises(assay.errors.DataError, match=words):
        OldReport.read(place)


COLUMNS = ("judge", "criterion", "dimension", "measure", "mark", "estimate", "low", "high")


def compared(before: list[tuple], now: list[tuple], data: str = "old", **settings: object):
    """Of cards whose numbers are these rows."""
    then = [dict(zip(COLUMNS, row, strict=True)) for row in before]
    old = OldReport("far/old.json", {"card": {"table": then}, "data": "old", "settings": {"alpha": 0.05, "judges": 1}})
    card = SimpleNamespace(table=pl.DataFrame(now, schema=list(COLUMNS), orient="row", infer_schema_length=None))
    return changes_since(old, card, {"alpha": 0.05, **settings}, data)


def test_cells_are_set_beside_each_other_by_judge_criterion_and_question() -> None:
    before = [
        ("a", "x", "replacement", "ρ", "✓", 0.5, 0.4, 0.6),
        ("a", "x", "bias", "slope", "?", 0.1, -0.1, 0.3),
        ("a", "x", "bias", "share", "?", 0.2, 0.0, 0.4),
        ("a", "y", "replacement", "ρ", "?", 0.6, 0.4, 0.8),
        ("a", "y", "validity", "r", "✓", 0.9, 0.8, 1.0),
        ("b", "x", "replacement", "ρ", "✓", 0.7, 0.6, 0.8),
        ("gone", "x", "replacement", "ρ", "✗", 0.3, 0.2, 0.4),
    ]
    now = [
        ("a", "x", "replacement", "ρ", "✓", 0.55, 0.45, 0.65),
        ("a", "x", "bias", "share", "✓", 0.25, 0.15, 0.35),
        ("a", "x", "bias", "slope", "✓", 0.15, 0.05, 0.25),
        ("a", "y", "replacement", "ρ", "✗", 0.2, 0.1, 0.3),
        ("a", "y", "validity", None, "–", None, None, None),
        ("a", "y", "new question", "m", "✓", 1.0, 1.0, 1.0),
        ("b", "x", "replacement", "ρ", "?", 0.5, 0.3, 0.7),
        ("new", "x", "replacement", "ρ", "✗", 0.35, 0.2, 0.4),
    ]
    found = compared(before, now)
    assert found.words == (
        "4 of 6 cells of the card differ from old.json: a, x: bias ? → ✓; a, y: replacement ? → ✗, validity ✓ → –; "
        "b, x: replacement ✓ → ?.",
        "The labels are the same ones.",
        "new is set beside gone, which is not in these labels.",
    )
    rows = found.tables[0].frame.rows()
    assert rows == [
        ("a", "x", "bias", "?", "✓", 0.2, 0.0, 0.4, 0.25, 0.15, 0.35),  # the first measure that the card of now has
        ("a", "y", "replacement", "?", "✗", 0.6, 0.4, 0.8, 0.2, 0.1, 0.3),
        ("a", "y", "validity", "✓", "–", 0.9, 0.8, 1.0, None, None, None),
        ("b", "x", "replacement", "✓", "?", 0.7, 0.6, 0.8, 0.5, 0.3, 0.7),
        ("a", "x", "replacement", "✓", "✓", 0.5, 0.4, 0.6, 0.55, 0.45, 0.65),
        ("gone → new", "x", "replacement", "✗", "✗", 0.3, 0.2, 0.4, 0.35, 0.2, 0.4),
    ]


def test_labels_and_options_that_differ_are_said() -> None:
    before = [("a", None, "replacement", "ρ", "✓", 0.5, 0.4, 0.6), ("b", None, "bias", "m", "✓", 0.5, 0.4, 0.6)]
    now = [("a", None, "replacement", "ρ", "✓", 0.5, 0.4, 0.6)]
    same = compared(before, now, judges=2, title="new", margin=0.2)  # whose judges and what title is no difference
    assert same.words == (
        "No cell of the card differs from old.json.", "The labels are the same ones.",
        "Options differ: margin None then, 0.2 now.", "Only then: b.",
    )  # fmt: skip
    assert "criterion" not in same.tables[0].frame.columns
    moved = compared(before, [(*now[0][:4], "?", *now[0][5:])], data="new")
    assert moved.words[:2] == (
        "1 of 1 cell of the card differs from old.json: a: replacement ✓ → ?.", "The labels are not the same ones."
    )  # fmt: skip
    assert moved.words[-1].endswith("is asked by assay.drift (assay drift).")
    assert len(moved.words) == 4
