"""G-studies on the command line, on pages and in the report."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from tables import FACETS, lessons

import assay
from assay.cli.app import main
from assay.psychometrics.page import d_study_parts, disattenuation_parts, g_study_parts, report_generalizability
from assay.verdict.report import FURTHER, ReportSettings

ASKED = ["--design", "r x (o:i)", "--object", "i", "--facets", "r=annotator,o=lesson,i=teacher", "--method", "none"]


@pytest.fixture(scope="module")
def labels():
    return lessons(12, 3, 3, judges=2, seed=2)


@pytest.fixture
def source(labels, tmp_path):
    path = tmp_path / "lessons.csv"
    columns = {c: labels.column(c) for c in ("teacher", "lesson")}
    labels.labels.with_columns(**columns).write_csv(path)
    return [str(path), "--judges", "m0,m1", "--scale", "interval:-50-50"]


def run(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    said = capsys.readouterr()
    return end.value.code, said.out, said.err


@pytest.mark.slow
def test_a_command_gives_what_the_function_gives(source, labels, capsys):
    code, out, _ = run(["g-study", *source, *ASKED, "--by", "kind", "--json"], capsys)
    assert code == 0
    found = json.loads(out)
    wanted = assay.g_study(labels, "r x (o:i)", "i", facets=FACETS, by="kind", method="none")
    assert [row["estimate"] for row in found["table"]] == pytest.approx(wanted.table["estimate"].to_list())


def test_plan_d_study_gives_the_numbers_of_d_study(source, labels, capsys):
    more = ["--where", "kind=human", "--levels", "r=1,2", "--levels", "o=1-3", "--price", "2", "--prices", "o=10"]
    code, out, _ = run(["plan", "d-study", *source, *ASKED, *more, "--target", "0.5", "--json"], capsys)
    assert code == 0
    study = assay.g_study(labels.where(kind="human"), "r x (o:i)", "i", facets=FACETS, method="none")
    wanted = study.d_study(r=[1, 2], o=[1, 2, 3], price=2.0, prices={"o": 10.0}, target=0.5)
    rows = json.loads(out)["table"]
    assert [row["estimate"] for row in rows] == pytest.approx(wanted.table["estimate"].to_list())
    assert [row["cost"] for row in rows] == wanted.table["cost"].to_list()


def test_plan_loop_gives_the_numbers_of_human_in_the_loop(source, labels, capsys):
    asked = [
        "plan",
        "loop",
        *source,
        *ASKED,
        "--sizes",
        "1,3",
        "--combine",
        "composite",
        "--correlation",
        ".5",
        "--json",
    ]
    code, out, _ = run(asked, capsys)
    assert code == 0
    study = assay.g_study(labels, "r x (o:i)", "i", facets=FACETS, by="kind", method="none")
    wanted = study.human_in_the_loop(sizes=[1, 3], combine="composite", correlation=0.5)
    rows = json.loads(out)["table"]
    assert [row["scenario"] for row in rows] == wanted.table["scenario"].to_list()
    assert [row["estimate"] for row in rows] == pytest.approx(wanted.table["estimate"].to_list())


@pytest.mark.slow
def test_disattenuation_gives_the_numbers_of_disattenuated_correlation(source, labels, capsys):
    asked = [a for a in ASKED if a not in ("--method", "none")]
    code, out, _ = run(["disattenuate", *source, *asked, "--n-resamples", "20", "--json"], capsys)
    assert code == 0
    wanted = assay.disattenuated_correlation(labels, "r x (o:i)", "i", facets=FACETS, n_resamples=20)
    rows = json.loads(out)["table"]
    found = [np.nan if row["estimate"] is None else row["estimate"] for row in rows]
    np.testing.assert_allclose(found, wanted.table["estimate"].to_list())
    assert "eq. 3 (Eρ²)" in wanted.table["correlation"].to_list()


@pytest.mark.parametrize(
    ("command", "more", "words"),
    [
        ("g-study", [], "--design is required: design with facets crossed (x) and nested (:)"),
        ("g-study", [*ASKED, "--facets", "r"], "--facets takes NAME=VALUE; got 'r'"),
        ("g-study", [*ASKED[:4], "--facets", "r=annotator,o=leson,i=teacher"], "did you mean 'lesson'"),
        ("plan d-study", [*ASKED, "--levels", "o=few"], "--levels: o=... takes whole numbers"),
        ("plan d-study", [*ASKED, "--prices", "o=dear"], "--prices: o=... takes a number"),
        ("plan d-study", [*ASKED, "--levels", "x=1-3"], "facet 'x' is not in the design"),
    ],
)
def test_what_cannot_be_read_is_one_line(command, more, words, source, capsys):
    code, out, err = run([*command.split(), *source, *more], capsys)
    assert code == 2
    assert out == ""
    assert words in err.splitlines()[-1]


@pytest.mark.slow
def test_pages_have_tables_and_pictures(source, labels, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert run(["g-study", *source, *ASKED, "--by", "kind", "-o", str(page)], capsys)[0] == 0
    assert page.read_text().count("<svg") == 1
    study = assay.g_study(labels, "r x (o:i)", "i", facets=FACETS, by="kind", method="none")
    same = assay.disattenuated_correlation(labels, "r x (o:i)", "i", facets=FACETS, n_resamples=20)
    for parts in (
        g_study_parts(study), d_study_parts(study.d_study(o=[1, 2])), disattenuation_parts(same),
        d_study_parts(study.human_in_the_loop(sizes=[1, 2])),
    ):  # fmt: skip
        for part in parts:
            assert part.words
            assert all(frame.height for _, frame in part.frames)
            assert all(draw().figure is not None for _, draw in part.pictures)


@pytest.mark.slow
def test_report_on_clusters_has_a_g_study():
    labels = assay.simulate(40, 3, scale="1-5", judges={"gpt": 0.2, "llama": 0.4}, documents=8, spread=0.7, seed=1)
    settings = ReportSettings(epsilon=0.2, clusters="document", n_resamples=20)
    assert "generalizability" in FURTHER
    titles = [part.title for part in report_generalizability(labels, settings.shared(None))]
    assert titles[0].startswith("Generalizability: ")
    assert titles[1] == "Universe-score correlation of human and judge"
    bare = ReportSettings(epsilon=0.2, n_resamples=20)
    assert report_generalizability(labels, bare.shared(None)) == ()
    words = pl.DataFrame(
        {"item": ["a", "a", "b", "b"], "annotator": ["x", "y", "x", "y"], "label": ["p", "q", "q", "p"]}
    )
    assert report_generalizability(assay.read(words), settings.shared(None)) == ()
