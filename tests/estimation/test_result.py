"""Names of results in other libraries and in papers: they exist, or the error names the attribute."""

from __future__ import annotations

import copy
import hashlib
import pickle

import pytest

import assay
from assay.errors import DesignError
from assay.estimation.result import OTHER_NAMES, Result, fingerprint_with

ONE, TWO = [1, 2, 3, 3, 1] * 6, [1, 2, 3, 2, 1] * 6


@pytest.fixture(scope="module")
def kappa() -> Result:
    return assay.measures.cohen_kappa(ONE, TWO)


@pytest.fixture(scope="module")
def judged() -> Result:
    return assay.alt_test(assay.simulate(n_items=60, n_annotators=3, seed=7), "judge", expertise="skilled")


def test_result_converts_to_pandas_and_float(kappa) -> None:
    frame = kappa.to_pandas()
    assert list(frame.columns) == kappa.table.columns
    assert frame["estimate"][0] == kappa.estimate == float(kappa)
    assert kappa.head().equals(kappa.table)
    assert kappa.head(0).height == 0


def test_float_of_several_estimates_names_the_columns(judged) -> None:
    with pytest.raises(DesignError, match="name one by its columns: annotator"):
        float(judged)
    assert judged.head(2).equals(judged.table[:2])


@pytest.mark.parametrize(("name", "attribute"), [("value", "estimate"), ("ci", "interval(0.95)")])
def test_coefficient_names_the_attribute_of_other_libraries(kappa, name, attribute) -> None:
    with pytest.raises(AttributeError) as refused:
        getattr(kappa, name)
    assert str(refused.value) == f"'Coefficient' object has no attribute '{name}'; use .{attribute}"
    assert refused.value.name == name


@pytest.mark.parametrize("name", ["rho", "omega", "R", "p_value"])
def test_alt_test_names_the_attributes_of_the_paper(judged, name) -> None:
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}'; use \.\w+") as refused:
        getattr(judged, name)
    attribute = str(refused.value).rpartition("use .")[2].partition("(")[0]
    assert attribute in OTHER_NAMES[name] + ("p",)
    assert hasattr(judged, attribute)


def test_unknown_attribute_has_no_advice(kappa) -> None:
    with pytest.raises(AttributeError, match=r"^'Coefficient' object has no attribute 'banana'$"):
        _ = kappa.banana
    assert not hasattr(kappa, "banana")


def test_result_can_be_copied_and_pickled(kappa) -> None:
    assert copy.copy(kappa).estimate == kappa.estimate
    assert pickle.loads(pickle.dumps(kappa.table)).equals(kappa.table)
    assert copy.deepcopy(kappa).summary() == kappa.summary()


@pytest.mark.slow
def test_a_notebook_shows_one_screen():
    found = assay.agreement(assay.simulate(60, 3, judges={"gpt": 0.2}, seed=1))
    shown = found._repr_html_()
    assert shown.count("<tr") == 21
    assert f"… and {found.table.height - 20} more rows: <code>.table</code>" in shown
    assert "<th>interval</th>" not in shown
    assert len(shown) < 8_000


def test_fingerprint_with_further_values_by_hand():
    """The first six bytes of BLAKE2b, as those of labels: twelve digits, in the order of the names."""
    mixed = hashlib.blake2b(b"abc\0file\0\1\2\0unit\0'doc'", digest_size=6).hexdigest()
    assert fingerprint_with("abc", unit="doc", file=b"\1\2", absent=None) == mixed
    assert len(mixed) == 12
    assert fingerprint_with("abc", absent=None) == "abc"
