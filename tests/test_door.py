"""Every question takes the one table, a path, a frame or, where that is unambiguous, plain arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import assay
from assay.errors import AssayError, DataError, DesignError
from assay.reading import labels_of

LABELS = Path(__file__).parents[1] / "examples" / "labels.csv"
PEOPLE = ["ann", "bob", "cho"]
MATRIX = [[1, 1, 1], [2, 2, 3], [3, 3, 3], [3, 3, 3], [2, 2, 2], [1, 2, 3], [4, 4, 4], [1, 1, 2], [2, 2, 2]]


def people() -> pl.DataFrame:
    return pl.read_csv(LABELS).filter(pl.col("worker").is_in(PEOPLE))


@pytest.mark.parametrize(
    "name", ["fleiss_kappa", "krippendorff_alpha", "exact_agreement", "agreement", "icc", "disagreement"]
)
def test_a_frame_a_path_and_the_table_give_the_same(name: str, tmp_path: Path) -> None:
    question = getattr(assay, name)
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
        assert assay.cohen_kappa(one, two).estimate == pytest.approx(0.5)
    assert assay.cohen_kappa(["a", "b", None], ["a", "b", "c"]).estimate == pytest.approx(1)


def test_the_longer_side_of_a_matrix_is_the_items() -> None:
    wide = pl.DataFrame(MATRIX, schema=["a", "b", "c"], orient="row").with_columns(
        item=pl.format("i{}", pl.int_range(9))
    )
    wanted = assay.krippendorff_alpha(assay.read(wide)).estimate
    assert assay.krippendorff_alpha(MATRIX).estimate == pytest.approx(wanted)
    assert assay.krippendorff_alpha(np.array(MATRIX).T).estimate == pytest.approx(wanted)
    with_gaps = np.array(MATRIX, dtype=float)
    with_gaps[0, 0] = np.nan
    assert assay.krippendorff_alpha(with_gaps).run.to_dict()["facts"]["labels"] == 26


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (([[1, 2], [3, 4]],), "does not say which side is the items"),
        (([1, 2, 3],), "that is none of these"),
        (([1, 2], [1, 2, 3]), "they have 2 and 3"),
        (([None, None], [None, None]), "hold no label"),
        ((3,), "cannot read a table from int"),
        (("nowhere.csv",), "there is no file or folder"),
        (([],), "that is none of these"),
    ],
)
def test_what_is_none_of_these_is_refused(given: tuple[object, ...], words: str) -> None:
    with pytest.raises(AssayError, match=words):
        assay.cohen_kappa(*given)


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
        ((), "says no scale"),
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


def test_which_side_of_a_matrix_is_taken_as_the_items_is_said_and_two_arrays_have_none():
    two, matrix = ([1, 2, 3], [1, 2, 2]), [[1, 1], [2, 2], [3, 2]]
    pair, whole = (labels_of("agreement", given, None)[0].reading.notes for given in (two, (matrix,)))
    side = "3 items by 2 annotators: the longer side of a matrix is taken as the items"
    assert side not in pair
    assert side in whole
    assert set(whole) == {side, *pair}


def test_python_names_the_nearest_of_what_assay_has_not() -> None:
    with pytest.raises(AttributeError) as missing:
        assay.alttest  # noqa: B018 - asked for, and not there
    assert (missing.value.name, missing.value.obj) == ("alttest", assay)
