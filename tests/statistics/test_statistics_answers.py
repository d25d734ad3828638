"""Public functions that use the kernels give their pinned answers."""

import pytest

from asking import differences_from_kept, each_kept

pytestmark = pytest.mark.usefixtures("few_truths")
QUESTIONS = (
    "alt_test", "compare_judges", "g_study", "disattenuated_correlation", "ratings", "ratings: elo",
    "icc", "odd_one_out_agreement", "consistency", "nested_icc", "correlation",
)  # fmt: skip


@pytest.mark.parametrize(("name", "further"), each_kept(QUESTIONS))
def test_answers_are_those_of_before(name: str, further: bool) -> None:
    assert not differences_from_kept(name, further)
