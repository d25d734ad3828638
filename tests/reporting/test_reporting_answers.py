"""Results with most text and pictures equal the stored results."""

import pytest

from asking import differences_from_kept, each_kept

pytestmark = pytest.mark.usefixtures("few_truths")
QUESTIONS = (
    "agreement", "card", "g_study", "rater_model", "alt_test",
)  # fmt: skip


@pytest.mark.parametrize(("name", "further"), each_kept(QUESTIONS))
def test_stored_answers_are_unchanged(name: str, further: bool) -> None:
    assert not differences_from_kept(name, further)
