"""Public functions that use every kind of interval give their pinned answers."""

import pytest

from asking import differences_from_kept, each_kept

pytestmark = pytest.mark.usefixtures("few_truths")
QUESTIONS = (
    "agreement", "alt_test", "estimate", "icc", "krippendorff_alpha", "bias", "ratings", "triplet_similarity",
)  # fmt: skip


@pytest.mark.parametrize(("name", "further"), each_kept(QUESTIONS))
def test_answers_are_those_of_before(name: str, further: bool) -> None:
    assert not differences_from_kept(name, further)
