"""The saved answers of questions that depend on the package `data` are unchanged."""

import pytest

from asking import differences_from_kept, each_kept

pytestmark = pytest.mark.usefixtures("few_truths")
QUESTIONS = (
    "agreement", "alt_test_by", "disagreement", "position_bias", "nested_icc", "odd_one_out_agreement",
)  # fmt: skip


@pytest.mark.parametrize(("name", "further"), each_kept(QUESTIONS))
def test_data_answers_are_unchanged(name: str, further: bool) -> None:
    assert not differences_from_kept(name, further)
