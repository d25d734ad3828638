"""Every question takes the one table, a path, a frame or, where that is unambiguous, plain arrays."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import assay
from assay.errors import AssayError, DataError, DesignError
from assay.reading import labels_of
from laws import PUBLIC

LABELS = Path(__file__).parents[1] / "examples" / "labels.csv"
PEOPLE = ["ann", "bob", "cho"]
MATRIX = [[1, 1, 1], [2, 2, 3], [3, 3, 3], [3, 3, 3], [2, 2, 2], [1, 2, 3], [4, 4, 4], [1, 1, 2], [2, 2, 2]]


def people() -> pl.DataFrame:
    return pl.read_csv(LABELS).filter(pl.col("worker").is_in(PEOPLE))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["fleiss_kappa", "krippendorff_alpha", "exact_agreement", "agreement", "icc", "disagreement"]
)
def test_a_frame_a_path_and_the_table_give_the_same(name: str, tmp_path: Path) -> None:
    question = PUBLIC[name]
    people().write_csv(tmp_path / "people.csv")
    options = {} if name == "icc" else {"n_resamples": 40}
    options |= {"coefficients": ["fleiss-kappa", "krippendorff-alpha-ordinal"]} if name == "agreement" else {}
    found = [question(one, **options).to_dict() for one in (
        assay.read(tmp_path / "people.csv"), tmp_path / "people.csv", str(tmp_path / "people.csv"), people(),
        people().to_pandas())]  # fmt: skip
    assert all(one["data"] == found[0]["data"] if "data" in one else True for one in found)
    assert len({str(one.get("estimate")) for one in found}) == 1


def test_two_arrays_are_two_annotators() -> None:
    # Of three items two agree, and chance would give (1·1 + 1·2 + 1·0) / 9 = 1/3: κ = (2/3 − 1/3) / (2/3) = 1/2.
    for one, two in (
        ([1, 2, 3], [1, 2, 2]),
        (np.array([1, 2, 3]), (1, 2, 2)),
        (pd.Series([1, 2, 3]), pl.Series([1, 2, 2])),
    ):
        assert assay.measures.cohen_kappa(one, two).estimate == pytest.approx(0.5)
    assert assay.measures.cohen_kappa(["a", "b", None], ["a", "b", "c"]).estimate == pytest.approx(1)


def test_krippendorff_alpha_of_a_matrix_is_that_of_its_frame() -> None:
    wide = pl.DataFrame(MATRIX, schema=["a", "b", "c"], orient="row").with_columns(
        item=pl.format("i{}", pl.int_range(9))
    )
    wanted = assay.measures.krippendorff_alpha(assay.read(wide, layout="wide")).estimate
    assert assay.measures.krippendorff_alpha(MATRIX).estimate == pytest.approx(wanted)
    with_gaps = np.array(MATRIX, dtype=float)
    with_gaps[0, 0] = np.nan
    assert assay.measures.krippendorff_alpha(with_gaps).run.to_dict()["facts"]["labels"] == 26


def test_krippendorff_alpha_takes_rows_as_items_if_there_are_more_annotators() -> None:
    # 2 items by 3 annotators, labels 1 1 1 and 2 2 1: of 12 ordered pairs in items, 0 and 4 differ, each by weight 1/2,
    # so D_o = (0 + 4/2) / 6 = 1/3. Of all 6 labels four are 1 and two are 2: D_e = 2 · 4 · 2 / (6 · 5) = 8/15.
    matrix = [[1, 1, 1], [2, 2, 1]]
    assert assay.measures.krippendorff_alpha(matrix, level="nominal").estimate == pytest.approx(
        1 - (1 / 3) / (8 / 15)
    )  # 3/8
    # Its transpose has 3 items by 2 annotators, 1 2, 1 2 and 1 1: D_o = (2 + 2 + 0) / 6 = 2/3, α = 1 − 5/4.
    turned = np.array(matrix).T
    assert assay.measures.krippendorff_alpha(turned, level="nominal").estimate == pytest.approx(-1 / 4)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (([1, 2, 3],), "got a list"),
        (([1, 2], [1, 2, 3]), "they have 2 and 3"),
        (([None, None], [None, None]), "contain no label"),
        ((3,), "cannot read a table from int"),
        (("nowhere.csv",), "the file or folder 'nowhere.csv' does not exist"),
        (("https://example.org/labels.csv",), "'https://example.org/labels.csv' is an address: download the file"),
        (([],), "got a list"),
    ],
)
def test_what_is_none_of_these_is_refused(given: tuple[object, ...], words: str) -> None:
    with pytest.raises(AssayError, match=words):
        assay.measures.cohen_kappa(*given)


@pytest.mark.slow
def test_the_only_judge_need_not_be_named() -> None:
    frame = pl.read_csv(LABELS).filter(pl.col("worker") != "llama")
    named = assay.read(frame, judges=["gpt-4o"])
    wanted = assay.alt_test(named, "gpt-4o", epsilon=0.1).signature
    assert assay.alt_test(named, epsilon=0.1).signature == wanted
    assert assay.alt_test(frame, "gpt-4o", epsilon=0.1).signature == wanted
    with pytest.raises(DesignError, match="needs the name of a judge, one of gpt-4o, llama"):
        assay.alt_test(assay.read(LABELS, judges=["gpt-4o", "llama"]), epsilon=0.1)
    with pytest.raises(DataError, match=r"judges=\['gpt-4o', 'llama'\]"):
        assay.alt_test(LABELS, epsilon=0.1)


def test_several_judges_are_tested_by_compare_judges() -> None:
    both = assay.read(LABELS, judges=["gpt-4o", "llama"])
    for given, options in (((["gpt-4o", "llama"],), {}), ((), {"judge": ("gpt-4o", "llama")})):
        with pytest.raises(DesignError, match="alt_test tests one judge, such as 'gpt-4o'; compare_judges"):
            assay.alt_test(both, *given, epsilon=0.1, **options)


def test_labels_that_are_read_are_not_read_again() -> None:
    with pytest.raises(DataError, match="these labels are read already"):
        assay.read(assay.read(LABELS, judges=["gpt-4o", "llama"]))


def one_model() -> pl.DataFrame:
    return pl.read_csv(LABELS).filter(pl.col("worker") != "llama")


ASKED = {
    "alt_test": lambda table: assay.alt_test(table, "gpt-4o", epsilon=0.1),
    "alt_test by keyword": lambda table: assay.alt_test(table, judge="gpt-4o", epsilon=0.1),
    "alt_test by place": lambda table: assay.alt_test(labels=table, judge="gpt-4o", epsilon=0.1),
    "alt_test_paired": lambda table: assay.alt_test_paired(
        table, "gpt-4o", sets=[["ann", "bob"], ["cho", "dee"]], epsilon=0.1
    ),
    "compare_judges": lambda table: assay.compare_judges(table, judges=["gpt-4o"], epsilon=0.1),
    "compare_judges by place": lambda table: assay.compare_judges(table, "gpt-4o", epsilon=0.1),
    "card": lambda table: assay.card(table, judges=["gpt-4o"], epsilon=0.1),
    "probes": lambda table: assay.probes(table, judges=["gpt-4o"]),
    "report": lambda table: assay.report(table, judges=["gpt-4o"], epsilon=0.1),
    "estimate": lambda table: assay.estimate(table, "gpt-4o"),
    "estimate of several": lambda table: assay.estimate(table, judge=["gpt-4o"]),
    "monitor": lambda table: assay.monitor(table, "gpt-4o", baseline=40),
    "drift": lambda table: assay.drift(table, table, judge="gpt-4o"),
    "drift by keyword": lambda table: assay.drift(before=table, after=table, judge="gpt-4o"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
def test_question_reads_the_judge_that_it_names_as_a_judge(name: str, tmp_path: Path) -> None:
    frame = pl.concat([one_model(), one_model().filter(pl.col("worker") == "cho").with_columns(worker=pl.lit("dee"))])
    frame.write_csv(tmp_path / "labels.csv")
    wanted = ASKED[name](assay.read(frame, judges=["gpt-4o"])).signature
    sources = [tmp_path / "labels.csv", frame, frame.to_pandas()]
    for source in sources[:1] if name == "report" else sources:  # a report asks the other questions
        assert ASKED[name](source).signature == wanted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "source"),
    [
        *((name, LABELS) for name in ASKED if name != "alt_test_paired"),
        *((name, pl.read_csv(LABELS)) for name in ("compare_judges", "card", "estimate of several", "drift")),
    ],
)
def test_question_refuses_a_second_model_with_calls_that_work(name: str, source: object) -> None:
    with pytest.raises(DataError) as refused:
        ASKED[name](source)
    said = str(refused.value)
    assert "'llama' has the name of a model, but this call names only gpt-4o as a judge" in said
    assert "judges=" not in re.sub(r"assay\.read\([^)]*\)", "", said)  # no option that the question does not have
    judges, people = (
        eval(call, {"assay": assay, "frame": source}) for call in re.findall(r"assay\.read\([^)]*\)", said)
    )
    assert (judges.judges, judges.humans) == (("gpt-4o", "llama"), ("ann", "bob", "cho"))
    assert (people.judges, people.humans) == (("gpt-4o",), ("ann", "bob", "cho", "llama"))


def test_drift_reads_anchors_of_a_path_or_frame() -> None:
    table = assay.read(one_model(), judges=["gpt-4o"])
    wanted = assay.drift(table, table, anchors=table, judge="gpt-4o").summary().splitlines()[:-1]
    assert assay.drift(table, table, anchors=one_model(), judge="gpt-4o").summary().splitlines()[:-1] == wanted


@pytest.mark.slow
def test_question_takes_all_models_that_it_names() -> None:
    wanted = assay.read(LABELS, judges=["gpt-4o", "llama"])
    for source in (LABELS, pl.read_csv(LABELS)):
        found = assay.compare_judges(source, judges=["gpt-4o", "llama"], epsilon=0.1)
        assert found.signature == assay.compare_judges(wanted, judges=["gpt-4o", "llama"], epsilon=0.1).signature


def test_question_refuses_an_option_of_reading_with_the_call_that_takes_it() -> None:
    frame = pl.read_csv(LABELS)
    with pytest.raises(DesignError) as refused:
        assay.alt_test(frame, "gpt-4o", judges=["gpt-4o", "llama"], epsilon=0.1)
    assert str(refused.value) == (
        "alt_test has no option 'judges'; assay.read has it. Read the table first: "
        "assay.read(frame, judges=['gpt-4o', 'llama'])"
    )
    assert assay.read(frame, judges=["gpt-4o", "llama"]).judges == ("gpt-4o", "llama")
    # The judges that the call names stay named.
    with pytest.raises(DesignError, match=r"assay\.read\(frame, judges=\['gpt-4o'\], scale='1-5'\)$"):
        assay.alt_test(one_model(), "gpt-4o", scale="1-5", epsilon=0.1)
    with pytest.raises(DesignError, match=r"no option 'judge'; .*assay\.read\(frame, judges=\['gpt-4o'\]\)$"):
        assay.measures.krippendorff_alpha(one_model(), judge="gpt-4o")
    with pytest.raises(DesignError, match="did you mean 'epsilon'"):
        assay.alt_test(one_model(), "gpt-4o", epsilonn=0.1)


@pytest.mark.parametrize(
    ("options", "humans"),
    [({"judges": ["gpt-4o"]}, ["llama"]),
     ({"judges": ["gpt-4o"], "humans": ["ann", "bob", "cho"]}, ["ann", "bob", "cho", "llama"])],
)  # fmt: skip
def test_question_refuses_an_option_of_reading_with_calls_that_name_all_models(
    options: dict[str, list[str]], humans: list[str]
) -> None:
    frame = pl.read_csv(LABELS)
    with pytest.raises(
        DesignError, match=r"no option 'judges'; assay\.read has it\. 'llama' has the name of a model"
    ) as refused:
        assay.alt_test(frame, epsilon=0.1, **options)
    calls = re.findall(r"assay\.read\([^)]*\)", str(refused.value))
    judges, people = (eval(call, {"assay": assay, "frame": frame}) for call in calls)
    assert (judges.judges, judges.humans) == (("gpt-4o", "llama"), ("ann", "bob", "cho"))
    assert (people.judges, people.humans) == (("gpt-4o",), ("ann", "bob", "cho", "llama"))
    assert calls[1].endswith(f"humans={humans})")
    with pytest.raises(DataError, match="'gpt-4' is not in a table in memory; did you mean 'gpt-4o'"):
        assay.alt_test(frame, judges=["gpt-4"], epsilon=0.1)


@pytest.mark.slow
def test_question_names_a_judge_of_any_name() -> None:
    frame = one_model().with_columns(worker=pl.col("worker").replace({"gpt-4o": "zed"}))
    assert assay.alt_test(frame, "zed", epsilon=0.1).n_annotators == 3
    with pytest.raises(DataError, match="'zedd' is not in a table in memory; did you mean 'zed'"):
        assay.alt_test(frame, "zedd", epsilon=0.1)
    # A table that says who is a judge is taken at its word.
    told = frame.with_columns(
        kind=pl.when(pl.col("worker") == "zed").then(pl.lit("judge")).otherwise(pl.lit("human"))
    )  # fmt: skip
    assert assay.alt_test(told, "zed", epsilon=0.1).n_annotators == 3
    with pytest.raises(DataError, match=r"'ann' is a human annotator of the table; its judges are zed\. If 'ann'"):
        assay.alt_test(told, "ann", epsilon=0.1)


@pytest.mark.slow
def test_question_refuses_an_unclear_table_with_a_call_that_works() -> None:
    frame = one_model().with_columns(stars=pl.when(pl.int_range(pl.len()) == 9).then(pl.lit("-")).otherwise("stars"))
    with pytest.raises(DataError, match=r"If that is right, read the table first: (.*)$") as refused:
        assay.alt_test(frame, "gpt-4o", epsilon=0.1)
    (call,) = re.findall(r"assay\.read\([^)]*\)", str(refused.value))
    assert call == "assay.read(frame, judges=['gpt-4o'], missing=['-'])"
    assert assay.read(frame, judges=["gpt-4o"], missing=["-"]).judges == ("gpt-4o",)


@pytest.mark.parametrize(
    ("said", "spec"),
    [((1, 5), "ordinal:1-5"), ([1, 2, 3, 4, 5], "ordinal:1-5"), (5, "ordinal:1-5"), ((0.0, 5.0), "interval:0-5"),
     ("1-5", "ordinal:1-5"), (assay.Ordinal(1, 5), "ordinal:1-5")],
)  # fmt: skip
def test_scales_as_people_say_them(said: object, spec: str) -> None:
    assert assay.read(LABELS, humans=PEOPLE, scale=said).scale.spec == spec


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (["low", "high"], "ordinal:low<high"),
        ((1, 3, 9), "interval:1-9"),
        ((), "is not a scale"),
        (True, "scale must be"),
    ],
)
def test_scales_that_say_two_things_or_none(said: object, words: str) -> None:
    with pytest.raises(AssayError, match=words):
        assay.read(LABELS, humans=PEOPLE, scale=said)


def test_judge_is_not_judges() -> None:
    for source in (LABELS, people()):
        with pytest.raises(AssayError, match=r"judges=\['...'\], not judge=..."):
            assay.read(source, judge="gpt-4o")


def test_the_items_of_a_matrix_are_in_the_notes_and_two_arrays_have_none():
    two, matrix = ([1, 2, 3], [1, 2, 2]), [[1, 1], [2, 2], [3, 2]]
    pair, whole = (labels_of("agreement", given, None)[0].reading.notes for given in (two, (matrix,)))
    side = "each row of the matrix is one item: 3 items by 2 annotators; if the rows are annotators, give the transpose"
    assert side not in pair
    assert side in whole
    assert set(whole) == {side, *pair}


def test_python_names_the_nearest_of_what_assay_has_not() -> None:
    with pytest.raises(AttributeError) as missing:
        assay.alttest  # noqa: B018 - asked for, and not there
    assert (missing.value.name, missing.value.obj) == ("alttest", assay)


@pytest.mark.parametrize(
    ("option", "right"),
    [("rater", "annotator"), ("rating", "label"), ("id", "item"), ("na_values", "missing"), ("sheet_name", "sheet")],
)
def test_read_suggests_the_option_that_a_usual_name_means(option, right):
    with pytest.raises(DesignError, match=f"option '{option}' is not in the options of read; did you mean '{right}'"):
        assay.read("examples/labels.csv", **{option: "x"})


def test_questions_about_one_judge_answer_judges_and_human_annotators():
    labels = assay.simulate(n_items=30, n_annotators=3, seed=1)
    human = labels.humans[0]
    with pytest.raises(
        DesignError, match=r"alt_test takes one judge: alt_test\(labels, 'judge'\); compare_judges tests"
    ):
        assay.alt_test(labels, judges=["judge"], epsilon=0.1)
    for ask in (
        lambda: assay.alt_test(labels, judges=human, epsilon=0.1),
        lambda: assay.alt_test(labels, human, epsilon=0.1),
        lambda: assay.card(labels, judges=[human]),
        lambda: assay.estimate(labels, human),
    ):
        with pytest.raises(AssayError, match=f"'{human}' is a human annotator of the table; its judges are judge. If"):
            ask()


def test_coefficient_of_raters_one_by_one_names_the_call():
    labels = assay.simulate(n_items=30, n_annotators=3, seed=1)
    words = r"cohen_kappa\(\) takes the raters as one list: cohen_kappa\(labels, annotators=\['ann', 'bob'\]\)"
    with pytest.raises(TypeError, match=words):
        assay.measures.cohen_kappa(labels, "ann", "bob")
