"""What changed since an older report: which cells, of whom, and what must not be read from that."""

import json
from pathlib import Path

import polars as pl
import pytest

import assay
from assay.verdict.changes import OldReport
from assay.verdict.report import Report, report

pytestmark = [pytest.mark.usefixtures("few_truths", "sketches"), pytest.mark.xdist_group("changes")]

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
    with pytest.raises(assay.DataError, match=words):
        OldReport.read(place)
